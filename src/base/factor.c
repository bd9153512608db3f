/* factor.c  small dense factorisations that find the rank: pivoted QR, pivoted Cholesky, pivoted L
 * D L', SVD.
 *
 * Matrices are stored row by row. Sizes are those of constraints and tasks (tens), or nv where the
 * caller chose a dense method. Nothing is allocated; the caller provides all memory. */
#include "base_internal.h"
#include <math.h>

/* A P = Q R by Householder reflections with column pivoting (Golub & Van Loan 5.4.2). A (m x n) is
 * overwritten by R on and above the diagonal and by the reflectors below it. beta: factors of the
 * reflectors, min(m, n) of them. Column j of R was column pivot[j] of A. Returns the rank: the
 * number of diagonal entries above `tolerance` times the first. */
int soai_qr(int m, int n, double *A, double *beta, int *pivot, double tolerance) {
    const int k = m < n ? m : n;
    int rank = 0;
    double first = 0;
    for (int j = 0; j < n; ++j)
        pivot[j] = j;
    for (int j = 0; j < k; ++j) {
        int best = j;
        double most = -1;
        /* Norms are computed afresh for each column: updated ones would suffer cancellation. */
        for (int c = j; c < n; ++c) {
            double sum = 0;
            for (int r = j; r < m; ++r)
                sum += A[n * r + c] * A[n * r + c];
            if (sum > most) {
                most = sum;
                best = c;
            }
        }
        if (best != j) {
            const int p = pivot[j];
            pivot[j] = pivot[best];
            pivot[best] = p;
            for (int r = 0; r < m; ++r) {
                const double x = A[n * r + j];
                A[n * r + j] = A[n * r + best];
                A[n * r + best] = x;
            }
        }
        const double size = sqrt(most > 0 ? most : 0);
        if (j == 0) first = size;
        if (size > tolerance * first && size > 0) ++rank;
        beta[j] = 0;
        if (!(size > 0)) continue;
        const double head = A[n * j + j], alpha = head > 0 ? -size : size, v0 = head - alpha;
        const double by = 1 / v0;
        for (int r = j + 1; r < m; ++r)
            A[n * r + j] *= by; /* v = (1, ...) */
        beta[j] = -v0 / alpha;
        A[n * j + j] = alpha;
        for (int c = j + 1; c < n; ++c) {
            double s = A[n * j + c];
            for (int r = j + 1; r < m; ++r)
                s += A[n * r + j] * A[n * r + c];
            s *= beta[j];
            A[n * j + c] -= s;
            for (int r = j + 1; r < m; ++r)
                A[n * r + c] -= s * A[n * r + j];
        }
    }
    return rank;
}
/* x = Q' x if transposed, otherwise x = Q x; x has m numbers. */
void soai_qr_apply(int m, int n, const double *A, const double *beta, int transposed, double *x) {
    const int k = m < n ? m : n;
    for (int i = 0; i < k; ++i) {
        const int j = transposed ? i : k - 1 - i;
        double s = x[j];
        for (int r = j + 1; r < m; ++r)
            s += A[n * r + j] * x[r];
        s *= beta[j];
        x[j] -= s;
        for (int r = j + 1; r < m; ++r)
            x[r] -= s * A[n * r + j];
    }
}

/* P' A P = L L' for a positive semidefinite A (n x n). Only the lower triangle is read; L replaces
 * it, with rows and columns in pivot order. Stops when no pivot is above `tolerance` times the
 * first and returns the rank. Rows past the rank hold their first `rank` entries of L. The upper
 * triangle is scratch. */
int soai_cholesky_pivoted(int n, double *A, int *pivot, double tolerance) {
    double first = 0;
    for (int j = 0; j < n; ++j)
        pivot[j] = j;
    for (int j = 0; j < n; ++j) {
        int best = j;
        for (int i = j + 1; i < n; ++i)
            if (A[n * i + i] > A[n * best + best]) best = i;
        const double d = A[n * best + best];
        if (j == 0) first = d;
        if (!(d > tolerance * first) || !(d > 0)) return j;
        if (best != j) { /* exchange rows and columns j and best of the lower triangle */
            const int p = pivot[j];
            pivot[j] = pivot[best];
            pivot[best] = p;
            for (int c = 0; c < j; ++c) {
                const double x = A[n * j + c];
                A[n * j + c] = A[n * best + c];
                A[n * best + c] = x;
            }
            for (int c = j + 1; c < best; ++c) {
                const double x = A[n * c + j];
                A[n * c + j] = A[n * best + c];
                A[n * best + c] = x;
            }
            for (int r = best + 1; r < n; ++r) {
                const double x = A[n * r + j];
                A[n * r + j] = A[n * r + best];
                A[n * r + best] = x;
            }
            A[n * best + best] = A[n * j + j];
        }
        const double root = sqrt(d);
        A[n * j + j] = root;
        /* Copy of column j in the upper part of row j, for contiguous access below. */
        double *const column = A + n * j;
        int from = n; /* its first nonzero entry */
        for (int r = n - 1; r > j; --r) {
            column[r] = A[n * r + j];
            if (column[r] == 0) continue;
            column[r] = A[n * r + j] /= root;
            from = r;
        }
        for (int r = from; r < n; ++r) {
            const double by = column[r];
            double *const row = A + n * r;
            for (int c = from; c <= r && by != 0; ++c)
                row[c] -= by * column[c];
        }
    }
    return n;
}

/* --- symmetric indefinite matrices: L D L' with 1 x 1 and 2 x 2 pivots ------------------------ */
/* Bunch and Kaufman; Golub & Van Loan 4.4.4.  Only lower triangles are read and written, and columns
 * already eliminated are not exchanged. */
static void swap(double *a, double *b) {
    const double t = *a;
    *a = *b;
    *b = t;
}

/* size 1 or 2; row: the one to be exchanged with the last row of the pivot.  0: no pivot is above
 * `least`. */
typedef struct pivot {
    int size, row;
} pivot;
static pivot choose_pivot(int n, const double *A, int k, double least) {
    const double alpha = 0.6403882032022076; /* (1 + sqrt 17) / 8 */
    const double diagonal = fabs(A[n * k + k]);
    double most = 0, other = 0; /* off the diagonal: of column k, and of row and column r */
    int r = k;
    for (int i = k + 1; i < n; ++i) {
        if (fabs(A[n * i + k]) > most) {
            most = fabs(A[n * i + k]);
            r = i;
        }
    }
    if (!(diagonal > least) && !(most > least)) return (pivot){0, k};
    if (!(diagonal < alpha * most)) return (pivot){1, k};
    for (int i = k; i < n; ++i) {
        if (i == r) continue;
        const double a = fabs(i > r ? A[n * i + r] : A[n * r + i]);
        if (a > other) other = a;
    }
    if (diagonal * other >= alpha * most * most) return (pivot){1, k};
    if (fabs(A[n * r + r]) >= alpha * other) return (pivot){1, r};
    return (pivot){2, r};
}
/* Exchanges rows and columns `at` and p > at of what is left from column k on. */
static void exchange(int n, double *A, double *x, int k, int at, int p) {
    if (p == at) return;
    if (at != k) swap(&A[n * at + k], &A[n * p + k]);
    for (int c = at + 1; c < p; ++c)
        swap(&A[n * c + at], &A[n * p + c]);
    for (int i = p + 1; i < n; ++i)
        swap(&A[n * i + at], &A[n * i + p]);
    swap(&A[n * at + at], &A[n * p + p]);
    swap(&x[at], &x[p]);
}
static void eliminate_one(int n, double *A, double *x, int k) {
    const double d = A[n * k + k];
    for (int i = k + 1; i < n; ++i) {
        const double l = A[n * i + k] / d;
        for (int c = k + 1; c <= i; ++c)
            A[n * i + c] -= l * A[n * c + k];
        x[i] -= l * x[k];
    }
    for (int i = k + 1; i < n; ++i)
        A[n * i + k] /= d;
}
/* The same with the 2 x 2 pivot at k; 0 if its determinant is not above least^2. */
static int eliminate_two(int n, double *A, double *x, int k, double least) {
    const double a = A[n * k + k], b = A[n * (k + 1) + k], d = A[n * (k + 1) + k + 1];
    const double det = a * d - b * b;
    if (!(fabs(det) > least * least)) return 0;
    for (int i = k + 2; i < n; ++i) {
        const double u = A[n * i + k], v = A[n * i + k + 1];
        const double l0 = (u * d - v * b) / det, l1 = (v * a - u * b) / det;
        for (int c = k + 2; c <= i; ++c)
            A[n * i + c] -= l0 * A[n * c + k] + l1 * A[n * c + k + 1];
        x[i] -= l0 * x[k] + l1 * x[k + 1];
    }
    for (int i = k + 2; i < n; ++i) {
        const double u = A[n * i + k], v = A[n * i + k + 1];
        A[n * i + k] = (u * d - v * b) / det;
        A[n * i + k + 1] = (v * a - u * b) / det;
    }
    return 1;
}
/* D, then L' and the exchanges in reverse order.  order[k]: the row exchanged with k; for both rows
 * of a 2 x 2 pivot  -1 - that row. */
static void solve_back(int n, const double *A, double *x, const int *order) {
    for (int k = n - 1; k >= 0;) {
        if (order[k] >= 0) {
            x[k] /= A[n * k + k];
            for (int i = k + 1; i < n; ++i)
                x[k] -= A[n * i + k] * x[i];
            swap(&x[k], &x[order[k]]);
            k -= 1;
            continue;
        }
        const int j = k - 1, p = -order[k] - 1;
        const double a = A[n * j + j], b = A[n * k + j], d = A[n * k + k], det = a * d - b * b;
        const double u = x[j], v = x[k];
        x[j] = (u * d - v * b) / det;
        x[k] = (v * a - u * b) / det;
        for (int i = k + 1; i < n; ++i) {
            x[j] -= A[n * i + j] * x[i];
            x[k] -= A[n * i + k] * x[i];
        }
        swap(&x[k], &x[p]);
        k -= 2;
    }
}

/* x = A^-1 x for a symmetric indefinite A (n x n, lower triangle read, destroyed).  order: scratch,
 * n integers.  Returns 0 if A is singular to rounding. */
int soai_ldl_solve(int n, double *A, double *x, int *order) {
    double size = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            if (fabs(A[n * i + j]) > size) size = fabs(A[n * i + j]);
    const double least = n * 2.3e-16 * size;
    if (!(size > 0) && n) return 0;
    for (int k = 0; k < n;) {
        const pivot p = choose_pivot(n, A, k, least);
        if (!p.size) return 0;
        exchange(n, A, x, k, k + p.size - 1, p.row);
        if (p.size == 1) {
            order[k] = p.row;
            eliminate_one(n, A, x, k);
        } else {
            order[k] = order[k + 1] = -p.row - 1;
            if (!eliminate_two(n, A, x, k, least)) return 0;
        }
        k += p.size;
    }
    solve_back(n, A, x, order);
    return 1;
}

/* A = U S V' by one-sided Jacobi rotations, m >= n. A (m x n) is overwritten by U S, whose columns
 * are orthogonal. V is n x n; s holds the singular values, descending. Returns 0 if 60 sweeps were
 * not enough. */
int soai_svd(int m, int n, double *A, double *s, double *V) {
    int settled = n < 2;
    for (int i = 0; i < n * n; ++i)
        V[i] = 0;
    for (int i = 0; i < n; ++i)
        V[n * i + i] = 1;
    for (int sweep = 0; sweep < 60 && !settled; ++sweep) {
        settled = 1;
        for (int p = 0; p < n; ++p)
            for (int q = p + 1; q < n; ++q) {
                double a = 0, b = 0, c = 0;
                for (int r = 0; r < m; ++r) {
                    a += A[n * r + p] * A[n * r + p];
                    b += A[n * r + q] * A[n * r + q];
                    c += A[n * r + p] * A[n * r + q];
                }
                if (!(fabs(c) > 1e-16 * sqrt(a * b)) || c == 0) continue;
                if (fabs(c) > 1e-15 * sqrt(a * b)) settled = 0;
                const double zeta = (b - a) / (2 * c),
                             t = (zeta > 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                const double cs = 1 / sqrt(1 + t * t), sn = cs * t;
                for (int r = 0; r < m; ++r) {
                    const double x = A[n * r + p], y = A[n * r + q];
                    A[n * r + p] = cs * x - sn * y;
                    A[n * r + q] = sn * x + cs * y;
                }
                for (int r = 0; r < n; ++r) {
                    const double x = V[n * r + p], y = V[n * r + q];
                    V[n * r + p] = cs * x - sn * y;
                    V[n * r + q] = sn * x + cs * y;
                }
            }
    }
    for (int c = 0; c < n; ++c) {
        double sum = 0;
        for (int r = 0; r < m; ++r)
            sum += A[n * r + c] * A[n * r + c];
        s[c] = sqrt(sum);
    }
    for (int c = 0; c < n; ++c) { /* sort, descending */
        int best = c;
        for (int j = c + 1; j < n; ++j)
            if (s[j] > s[best]) best = j;
        if (best == c) continue;
        const double x = s[c];
        s[c] = s[best];
        s[best] = x;
        for (int r = 0; r < m; ++r) {
            const double y = A[n * r + c];
            A[n * r + c] = A[n * r + best];
            A[n * r + best] = y;
        }
        for (int r = 0; r < n; ++r) {
            const double y = V[n * r + c];
            V[n * r + c] = V[n * r + best];
            V[n * r + best] = y;
        }
    }
    return settled;
}
