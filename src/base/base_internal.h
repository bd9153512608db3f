/* base_internal.h  helpers shared by all rooms. */
#ifndef SOAI_BASE_INTERNAL_H
#define SOAI_BASE_INTERNAL_H
#include "soa/base.h"
#include <string.h>

/* Fills a report (NULL is fine) and returns the status. Exported for libsoa-io and libsoa-sim, like all soai_ that carry SOA_API.
 * In libsoa itself only the formats of C89: the C libraries of small targets (newlib) know neither %zu nor %llu. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
SOA_API soa_status
soai_report(soa_report *report, soa_status status, int body, int line, const char *format, ...);

/* Laying out a room in memory the caller gives: the next `bytes`, aligned, `*at` bytes from its start; with memory NULL
 * only counts. */
#define SOAI_ALIGN 64u
SOA_API void *soai_take(char *memory, size_t *at, size_t bytes);

/* FNV-1a, 64 bit: finds damage, not malice. */
SOA_API uint64_t soai_checksum(const void *data, size_t size);

/* No NaN and no infinity. */
int soai_all_finite(const double *x, size_t n);
int soai_all_finite_f(const float *x, size_t n);

/* Eigenvalues of a symmetric 3 x 3 (xx yy zz xy xz yz), ascending, by Jacobi rotations. */
SOA_API void soai_sym3_eigenvalues(const double S[6], double values[3]);

/* x = inv(A) x, A n x n row by row and destroyed, Gaussian elimination with row pivoting; 0 where A is singular: no pivot
 * above the rounding of A's largest entry is left. */
SOA_API int soai_solve(int n, double *A, double *x);
/* The same with a measure: gives back |A| |A^-1| in the 1-norm; above SOAI_MOST_CONDITION, or infinite, A counts as
 * singular and x is left alone.  room: 2 n numbers. */
double soai_solve_measured(int n, double *A, double *x, double *room);
/* A matrix that is singular shows about 1e15 and more, since its entries are rounded; an answer at 1e13 has three digits. */
#define SOAI_MOST_CONDITION 1e13

/* factor.c: QR with pivots, its Q applied, Cholesky with pivots (both give a rank), L D L' with pivots, SVD. */
int soai_qr(int m, int n, double *A, double *beta, int *pivot, double tolerance);
void soai_qr_apply(int m, int n, const double *A, const double *beta, int transposed, double *x);
int soai_cholesky_pivoted(int n, double *A, int *pivot, double tolerance);
int soai_ldl_solve(int n, double *A, double *x, int *order);
int soai_svd(int m, int n, double *A, double *s, double *V);
/* inverse = A^-1, A symmetric and positive definite (n x n, lower triangle read), by Cholesky factors kept in `factor`
 * (n x n).  Gives back 1 / (|A| |A^-1|) in the 1-norm; 0, and no inverse, where A is not positive definite to rounding.
 */
double soai_spd_inverse(int n, const double *A, double *factor, double *inverse);

#endif
