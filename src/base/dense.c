/* dense.c  small dense algebra: eigenvalues of a symmetric 3 x 3, linear solve, SPD inverse. */
#include "base_internal.h"
#include <math.h>

void soai_sym3_eigenvalues(const double S[6], double values[3]) {
    double A[3][3] = {{S[0], S[3], S[4]}, {S[3], S[1], S[5]}, {S[4], S[5], S[2]}};
    for (int sweep = 0; sweep < 30; ++sweep) {
        const double off = fabs(A[0][1]) + fabs(A[0][2]) + fabs(A[1][2]);
        const double size = fabs(A[0][0]) + fabs(A[1][1]) + fabs(A[2][2]);
        if (!(off > 1e-18 * size)) break;
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                if (A[p][q] == 0) continue;
                const double theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                const double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; ++k) {
                    const double a = A[k][p], b = A[k][q];
                    A[k][p] = c * a - s * b;
                    A[k][q] = s * a + c * b;
                }
                for (int k = 0; k < 3; ++k) {
                    const double a = A[p][k], b = A[q][k];
                    A[p][k] = c * a - s * b;
                    A[q][k] = s * a + c * b;
                }
            }
    }
    for (int i = 0; i < 3; ++i)
        values[i] = A[i][i];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2 - i; ++j)
            if (values[j] > values[j + 1]) {
                const double t = values[j];
                values[j] = values[j + 1];
                values[j + 1] = t;
            }
}

static const double unit_rounding = 2.3e-16;

/* Smallest pivot that counts as nonzero: elimination leaves rounding of the largest entry where the
 * exact pivot is zero. NaN if an entry is NaN. */
static double least_pivot(int n, const double *A) {
    double size = 0;
    for (int i = 0; i < n * n; ++i)
        if (!(fabs(A[i]) <= size)) size = fabs(A[i]);
    return n * unit_rounding * size;
}
int soai_solve(int n, double *A, double *x) {
    const double least = least_pivot(n, A);
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(A[n * r + c]) > fabs(A[n * best + c])) best = r;
        if (!(fabs(A[n * best + c]) > least)) return 0;
        for (int j = 0; best != c && j < n; ++j) {
            const double t = A[n * c + j];
            A[n * c + j] = A[n * best + j];
            A[n * best + j] = t;
        }
        const double t = x[c];
        x[c] = x[best];
        x[best] = t;
        for (int r = c + 1; r < n; ++r) {
            const double s = A[n * r + c] / A[n * c + c];
            for (int j = c; s != 0 && j < n; ++j)
                A[n * r + j] -= s * A[n * c + j];
            x[r] -= s * x[c];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j)
            x[i] -= A[n * i + j] * x[j];
        x[i] /= A[n * i + i];
    }
    return 1;
}

/* L U factors in place; row exchanges go to `order`. Returns 0 if a pivot is zero. */
static int eliminate(int n, double *A, double *order) {
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(A[n * r + c]) > fabs(A[n * best + c])) best = r;
        if (!(fabs(A[n * best + c]) > 0)) return 0;
        order[c] = best;
        for (int j = 0; best != c && j < n; ++j) {
            const double t = A[n * c + j];
            A[n * c + j] = A[n * best + j];
            A[n * best + j] = t;
        }
        for (int r = c + 1; r < n; ++r) {
            const double s = A[n * r + c] /= A[n * c + c];
            for (int j = c + 1; s != 0 && j < n; ++j)
                A[n * r + j] -= s * A[n * c + j];
        }
    }
    return 1;
}
static void substitute(int n, const double *A, const double *order, double *x) {
    for (int c = 0; c < n; ++c) {
        const int from = (int)order[c];
        const double t = x[c];
        x[c] = x[from];
        x[from] = t;
    }
    for (int c = 0; c < n; ++c)
        for (int r = c + 1; r < n; ++r)
            x[r] -= A[n * r + c] * x[c];
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j)
            x[i] -= A[n * i + j] * x[j];
        x[i] /= A[n * i + i];
    }
}
/* Sum of the absolute values of `count` numbers that are `step` apart. */
static double sum_of(int count, const double *x, int step) {
    double sum = 0;
    for (int i = 0; i < count; ++i)
        sum += fabs(x[(size_t)step * (size_t)i]);
    return sum;
}
double soai_solve_measured(int n, double *A, double *x, double *room) {
    double *order = room, *unit = room + n, size = 0, inverse = 0;
    for (int c = 0; c < n; ++c) {
        const double sum = sum_of(n, A + c, n);
        if (!(sum <= size)) size = sum;
    }
    if (!eliminate(n, A, order)) return INFINITY;
    for (int c = 0; c < n; ++c) { /* columns of A^-1 */
        for (int r = 0; r < n; ++r)
            unit[r] = r == c;
        substitute(n, A, order, unit);
        const double sum = sum_of(n, unit, 1);
        if (!(sum <= inverse)) inverse = sum;
    }
    const double condition = size * inverse;
    if (!(condition <= SOAI_MOST_CONDITION)) return condition >= 0 ? condition : INFINITY;
    substitute(n, A, order, x);
    return condition;
}

/* Largest row sum of absolute values (1-norm); only the lower triangle is read. */
static double norm_symmetric(int n, const double *A) {
    double most = 0;
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int j = 0; j < n; ++j)
            sum += fabs(A[i >= j ? n * i + j : n * j + i]);
        if (!(sum <= most)) most = sum;
    }
    return most;
}
double soai_spd_inverse(int n, const double *A, double *L, double *inverse) {
    for (int j = 0; j < n; ++j) { /* A = L L' */
        double d = A[n * j + j];
        for (int m = 0; m < j; ++m)
            d -= L[n * j + m] * L[n * j + m];
        if (!(d > n * 2.3e-16 * A[n * j + j])) return 0;
        L[n * j + j] = sqrt(d);
        for (int i = j + 1; i < n; ++i) {
            double x = A[n * i + j];
            for (int m = 0; m < j; ++m)
                x -= L[n * i + m] * L[n * j + m];
            L[n * i + j] = x / L[n * j + j];
        }
    }
    for (int j = 0; j < n; ++j) /* L^-1, column by column */
        for (int i = j; i < n; ++i) {
            double x = i == j;
            for (int m = j; m < i; ++m)
                x -= L[n * i + m] * inverse[n * m + j];
            inverse[n * i + j] = x / L[n * i + i];
        }
    for (int i = 0; i < n; ++i) /* L^-T L^-1; rows from i on still hold L^-1 */
        for (int j = 0; j <= i; ++j) {
            double x = 0;
            for (int m = i; m < n; ++m)
                x += inverse[n * m + i] * inverse[n * m + j];
            inverse[n * i + j] = inverse[n * j + i] = x;
        }
    const double size = norm_symmetric(n, A) * norm_symmetric(n, inverse);
    return size > 0 && size <= 1e300 ? 1 / size : 0;
}
