/* least_norm.c  positive semidefinite systems by pivoted Cholesky of the matrix scaled to unit
 *               diagonal.
 *
 * With P'S P = [L1; L2] L1', the rows of [-L2 L1^-1, 1] span the null space; a solution with zeros
 * at the dependent rows becomes the one of least norm when its part along the null space is taken
 * away.  O(n^3) once, then O(n^2). */
#include "least_norm.h"
#include "../base/base_internal.h"
#include "../base/small_algebra.h"
#include <math.h>

static void backward(const soai_least *s, double *x) {
    for (int i = s->rank - 1; i >= 0; --i) {
        for (int k = i + 1; k < s->rank; ++k)
            x[i] -= s->L[s->n * k + i] * x[k];
        x[i] /= s->L[s->n * i + i];
    }
}

void soai_least_factor(soai_least *s, int n, const double *S, const double *floor,
                       double tolerance) {
    s->n = n;
    for (int i = 0; i < n; ++i) {
        const double d = fmax(S[n * i + i], floor ? floor[i] : 0);
        s->scale[i] = d > 0 ? 1 / sqrt(d) : 1;
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            const int is_zero = floor && (!(S[n * i + i] > floor[i]) || !(S[n * j + j] > floor[j]));
            s->L[n * i + j] = is_zero ? 0 : S[n * i + j] * s->scale[i] * s->scale[j];
        }
    s->rank = soai_cholesky_pivoted(n, s->L, s->pivot, tolerance);
    double least = INFINITY, most = 0;
    for (int k = 0; k < s->rank; ++k) {
        least = fmin(least, s->L[n * k + k]);
        most = fmax(most, s->L[n * k + k]);
    }
    s->condition = s->rank ? most / least * (most / least) : 1;
    for (int d = s->rank; d < n; ++d) {
        double *row = s->N + n * (d - s->rank), *x = s->part;
        for (int k = 0; k < s->rank; ++k)
            x[k] = -s->L[n * d + k];
        backward(s, x);
        for (int k = 0; k < n; ++k)
            row[k] = 0;
        for (int k = 0; k < s->rank; ++k)
            row[s->pivot[k]] = x[k] * s->scale[s->pivot[k]];
        row[s->pivot[d]] = s->scale[s->pivot[d]];
        for (int pass = 0; pass < 2; ++pass)
            for (int e = 0; e < d - s->rank; ++e) {
                const double along = soai_dot(n, s->N + n * e, row);
                for (int k = 0; k < n; ++k)
                    row[k] -= along * s->N[n * e + k];
            }
        const double length = sqrt(soai_dot(n, row, row));
        for (int k = 0; k < n; ++k)
            row[k] /= length;
    }
}

double soai_least_solve(const soai_least *s, const double *b, const double *size, double *x) {
    const int n = s->n;
    double *y = s->part, whole = 0, worst = 0;
    for (int k = 0; k < n; ++k) {
        const int r = s->pivot[k];
        y[k] = b[r] * s->scale[r];
        whole = fmax(whole, fabs((size ? size : b)[r]) * s->scale[r]);
    }
    for (int i = 0; i < s->rank; ++i)
        y[i] = (y[i] - soai_dot(i, s->L + n * i, y)) / s->L[n * i + i];
    for (int d = s->rank; d < n; ++d) {
        const double off = fabs(y[d] - soai_dot(s->rank, s->L + n * d, y));
        if (!(off <= worst)) worst = off;
    }
    backward(s, y);
    for (int k = 0; k < n; ++k)
        x[s->pivot[k]] = k < s->rank ? y[k] * s->scale[s->pivot[k]] : 0;
    for (int e = 0; e < n - s->rank; ++e) {
        const double along = soai_dot(n, s->N + n * e, x);
        for (int k = 0; k < n; ++k)
            x[k] -= along * s->N[n * e + k];
    }
    return worst > 0 ? worst / whole : worst;
}
