/* box_lcp.h  linear complementarity problem with bounds, small and dense: which joints stick.
 *
 * Find x with  w = A x + b,  lo <= x <= hi,  and for every i one of
 *     x = lo and w >= 0,     lo < x < hi and w = 0,     x = hi and w <= 0.
 * A is symmetric positive definite, so x is unique.
 *
 * Block principal pivoting (Judice & Pires 1994): change all wrong guesses at once while this
 * reduces their number. Otherwise change only the last one (Murty), which always terminates. */
#ifndef SOAI_BOX_LCP_H
#define SOAI_BOX_LCP_H

#include "../base/small_algebra.h"

/* x = A^-1 x; A (n x n, lower half) becomes its Cholesky factor.  False if A is not positive
 * definite. */
static inline bool soai_solve_positive(int n, double *A, double *x) {
    if (!soai_cholesky(n, n, A, 0)) return false;
    soai_cholesky_solve(n, n, A, x);
    return true;
}

/* state[i]: -1 at lo, 0 between, +1 at hi. scratch has n * n + n numbers, pick has n ints. Returns
 * 0 on failure. */
static inline int soai_box_lcp(int n, const double *A, const double *b, const double *lo,
                               const double *hi, double *x, int *state, double *scratch,
                               int *pick) {
    double *S = scratch, *r = scratch + n * n;
    int fewest = n + 1, patience = 10;
    for (int i = 0; i < n; i++)
        state[i] = 0;
    for (int round = 0; round < 50 + 20 * n; round++) {
        int m = 0;
        for (int i = 0; i < n; i++) {
            if (state[i] == 0)
                pick[m++] = i;
            else
                x[i] = state[i] < 0 ? lo[i] : hi[i];
        }
        for (int k = 0; k < m; k++) {
            int i = pick[k];
            r[k] = -b[i];
            for (int j = 0; j < n; j++)
                if (state[j] != 0) r[k] -= A[i * n + j] * x[j];
            for (int l = 0; l <= k; l++)
                S[k * m + l] = A[i * n + pick[l]];
        }
        if (!soai_solve_positive(m, S, r)) return 0;
        for (int k = 0; k < m; k++)
            x[pick[k]] = r[k];

        int wrong = 0, last = 0;
        for (int i = 0; i < n; i++) {
            double w = b[i], size = fabs(b[i]), slack = 1e-12 * (hi[i] - lo[i]);
            for (int j = 0; j < n; j++) {
                w += A[i * n + j] * x[j];
                size += fabs(A[i * n + j] * x[j]);
            }
            int next = state[i];
            if (state[i] == 0 && x[i] < lo[i] - slack)
                next = -1;
            else if (state[i] == 0 && x[i] > hi[i] + slack)
                next = 1;
            else if (state[i] != 0 && state[i] * w > 1e-14 * size)
                next = 0;
            pick[i] = next;
            if (next != state[i]) {
                wrong++;
                last = i;
            }
        }
        if (wrong == 0) return 1;
        if (wrong < fewest) {
            fewest = wrong;
            patience = 10;
        } else if (patience > 0) {
            patience--;
        }
        for (int i = 0; i < n; i++)
            if (patience > 0 || i == last) state[i] = pick[i];
    }
    return 0;
}

#endif
