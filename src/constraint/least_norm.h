/* least_norm.h  S x = b for a positive semidefinite S: its rank, how far b is outside its image, x
 *               of least norm. */
#ifndef SOAI_LEAST_NORM_H
#define SOAI_LEAST_NORM_H

typedef struct soai_least {
    int n, rank;
    double condition;     /* estimate, on the independent rows, of S scaled to unit diagonal */
    double *L, *N;        /* n x n each: factor in pivot order; orthonormal rows with S N' = 0 */
    double *scale, *part; /* n each */
    int *pivot;
} soai_least;

/* The rooms are given.  floor (n; NULL: 0): a diagonal entry not above it is rounding, and its row
 * counts as zero. */
void soai_least_factor(soai_least *s, int n, const double *S, const double *floor,
                       double tolerance);
/* size: magnitudes that went into b (n; NULL: |b|).  Gives back how far b is outside the image,
 * relative to those. */
double soai_least_solve(const soai_least *s, const double *b, const double *size, double *x);

#endif
