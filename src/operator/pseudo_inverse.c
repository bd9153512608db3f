/* pseudo_inverse.c  inverse of least norm of a small matrix times a vector, by singular values.
 *
 * One-sided Jacobi: the longer side's columns are rotated until they are orthogonal, W V = U S; the
 * rotations are V, the lengths of the columns the singular values. */
#include "machine.h"
#include <math.h>

enum { MOST_TURNS = 60 };
/* Columns as orthogonal as this are left alone: rounding. */
static const double orthogonal = 1e-15;

size_t soai_pseudo_room(int rows, int columns) {
    const size_t few = (size_t)(rows < columns ? rows : columns);
    return (size_t)rows * (size_t)columns + few * few + 2 * few;
}

/* Makes columns a and b of the m x n matrix W orthogonal, and turns those of V likewise.  Returns 1
 * if they were not. */
static int turn_columns(int m, int n, double *W, double *V, int a, int b) {
    double aa = 0, bb = 0, ab = 0;
    for (int r = 0; r < m; ++r) {
        aa += W[n * r + a] * W[n * r + a];
        bb += W[n * r + b] * W[n * r + b];
        ab += W[n * r + a] * W[n * r + b];
    }
    if (!(fabs(ab) > orthogonal * sqrt(aa * bb)) || ab == 0) return 0;
    const double cot = (bb - aa) / (2 * ab);
    const double t = (cot < 0 ? -1 : 1) / (fabs(cot) + sqrt(cot * cot + 1));
    const double c = 1 / sqrt(t * t + 1), s = c * t;
    for (int r = 0; r < m + n; ++r) {
        double *x = r < m ? W + n * r : V + n * (r - m);
        const double old = x[a];
        x[a] = c * old - s * x[b];
        x[b] = s * old + c * x[b];
    }
    return 1;
}

int soai_pseudo_solve(int rows, int columns, const double *A, const double *x, double *y,
                      double *room, double *condition) {
    const int upright = rows >= columns;
    const int m = upright ? rows : columns, n = upright ? columns : rows;
    double *W = room, *V = W + (size_t)m * (size_t)n, *size = V + (size_t)n * (size_t)n,
           *t = size + n, most = 0, least = 0;
    int rank = 0;
    for (int r = 0; r < m; ++r)
        for (int c = 0; c < n; ++c)
            W[n * r + c] = upright ? A[columns * r + c] : A[columns * c + r];
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            V[n * r + c] = r == c;
    for (int turn = 0, turned = 1; turned && turn < MOST_TURNS; ++turn) {
        turned = 0;
        for (int a = 0; a < n; ++a)
            for (int b = a + 1; b < n; ++b)
                turned |= turn_columns(m, n, W, V, a, b);
    }
    for (int c = 0; c < n; ++c) {
        double sum = 0;
        for (int r = 0; r < m; ++r)
            sum += W[n * r + c] * W[n * r + c];
        size[c] = sqrt(sum);
        if (!(size[c] <= most)) most = size[c]; /* NaN stays */
    }
    *condition = INFINITY;
    if (!(most < INFINITY)) return -1;
    least = most;
    /* W = U S V':  pinv(W) = V S^-1 U', and of its transpose U S^-1 V'. */
    for (int c = 0; c < n; ++c) {
        const int kept = size[c] > SOAI_RANK_TOLERANCE * most;
        t[c] = 0;
        rank += kept;
        if (!kept) continue;
        if (size[c] < least) least = size[c];
        for (int r = 0; r < (upright ? m : n); ++r)
            t[c] += upright ? W[n * r + c] * x[r] : V[n * r + c] * x[r];
        t[c] /= upright ? size[c] * size[c] : size[c]; /* U S is kept in W */
    }
    for (int r = 0; r < columns; ++r) {
        y[r] = 0;
        for (int c = 0; c < n; ++c) {
            const int kept = size[c] > SOAI_RANK_TOLERANCE * most;
            if (kept) y[r] += upright ? V[n * r + c] * t[c] : W[n * r + c] / size[c] * t[c];
        }
    }
    *condition = rank ? most / least : 1;
    return rank;
}
