/* test_factor.c  the small dense factorisations against LAPACK. */
#include "check.h"

#include "base/base_internal.h"
#include <lapacke.h>

enum { MOST = 24 };
static unsigned long long state;
static double uniform(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}
static double worst_of(int n, const double *a, const double *b) {
    double worst = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        if (!(fabs(a[i] - b[i]) <= worst)) worst = fabs(a[i] - b[i]);
        if (fabs(b[i]) > size) size = fabs(b[i]);
    }
    return worst / (size > 1e-3 ? size : 1e-3);
}
/* m x n of a given rank */
static void of_rank(int m, int n, int rank, double *A) {
    double L[MOST * MOST], R[MOST * MOST];
    for (int i = 0; i < m * rank; ++i)
        L[i] = uniform();
    for (int i = 0; i < rank * n; ++i)
        R[i] = uniform();
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            A[n * i + j] = 0;
            for (int k = 0; k < rank; ++k)
                A[n * i + j] += L[rank * i + k] * R[n * k + j];
        }
}

static void singular_values(void **unused) {
    (void)unused;
    state = 11;
    double worst = 0;
    for (int t = 0; t < 300; ++t) {
        const int n = 1 + t % 12, m = n + t % 5, rank = 1 + t % n;
        double A[MOST * MOST], B[MOST * MOST], s[MOST], r[MOST], V[MOST * MOST], back[MOST * MOST],
            work[MOST];
        of_rank(m, n, rank, A);
        memcpy(B, A, sizeof A);
        assert_int_equal(
            0, LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', m, n, B, n, r, NULL, 1, NULL, 1, work));
        memcpy(B, A, sizeof A);
        assert_true(soai_svd(m, n, B, s, V));
        double e = worst_of(n, s, r);
        for (int i = 0; i < m; ++i) /* U S V' = A */
            for (int j = 0; j < n; ++j) {
                back[n * i + j] = 0;
                for (int k = 0; k < n; ++k)
                    back[n * i + j] += B[n * i + k] * V[n * j + k];
            }
        if (!(worst_of(m * n, back, A) <= e)) e = worst_of(m * n, back, A);
        if (!(e <= worst)) worst = e;
    }
    print_message("seed 11: worst %.1e\n", worst);
    assert_true(worst <= 1e-13);
}

static void qr_with_pivots(void **unused) {
    (void)unused;
    state = 12;
    double worst = 0;
    for (int t = 0; t < 300; ++t) {
        const int m = 1 + t % 13, n = 1 + (t / 3) % 11, small = m < n ? m : n, rank = 1 + t % small;
        double A[MOST * MOST], B[MOST * MOST], beta[MOST], x[MOST];
        int pivot[MOST];
        of_rank(m, n, rank, A);
        memcpy(B, A, sizeof A);
        assert_int_equal(rank, soai_qr(m, n, B, beta, pivot, 1e-10));
        for (int j = 0; j < n; ++j) { /* Q R P' = A, column by column */
            double col[MOST];
            for (int i = 0; i < m; ++i) {
                x[i] = i <= j ? B[n * i + j] : 0;
                col[i] = A[n * i + pivot[j]];
            }
            soai_qr_apply(m, n, B, beta, 0, x);
            const double e = worst_of(m, x, col);
            if (!(e <= worst)) worst = e;
            soai_qr_apply(m, n, B, beta, 1, x);
            for (int i = 0; i < m; ++i)
                col[i] = i <= j ? B[n * i + j] : 0;
            if (!(worst_of(m, x, col) <= worst)) worst = worst_of(m, x, col);
        }
    }
    print_message("seed 12: worst %.1e\n", worst);
    assert_true(worst <= 1e-13);
}

static void cholesky_with_pivots(void **unused) {
    (void)unused;
    state = 13;
    double worst = 0;
    for (int t = 0; t < 300; ++t) {
        const int n = 1 + t % 13, rank = 1 + t % n;
        double F[MOST * MOST], A[MOST * MOST], L[MOST * MOST];
        int pivot[MOST];
        of_rank(n, rank, rank, F);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                A[n * i + j] = 0;
                for (int k = 0; k < rank; ++k)
                    A[n * i + j] += F[rank * i + k] * F[rank * j + k];
            }
        memcpy(L, A, sizeof A);
        const int found = soai_cholesky_pivoted(n, L, pivot, 1e-12);
        assert_true(found <= rank);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) {
                double sum = 0;
                for (int k = 0; k <= j && k < found; ++k)
                    sum += L[n * i + k] * L[n * j + k];
                const double e = fabs(sum - A[n * pivot[i] + pivot[j]]);
                if (!(e <= worst)) worst = e;
            }
    }
    print_message("seed 13: worst %.1e\n", worst);
    assert_true(worst <= 1e-10);
}

/* Saddle systems, as constraints make them: many zeros on the diagonal. */
static void indefinite_solve(void **unused) {
    (void)unused;
    state = 14;
    double worst = 0;
    for (int t = 0; t < 500; ++t) {
        const int n = 1 + t % 20, zeros = n / 3;
        double A[MOST * MOST], B[MOST * MOST], x[MOST], y[MOST];
        int order[MOST];
        lapack_int pivot[MOST];
        for (int i = 0; i < n; ++i) {
            x[i] = y[i] = uniform();
            for (int j = 0; j <= i; ++j)
                A[n * i + j] = A[n * j + i] = j >= n - zeros ? 0 : uniform();
        }
        memcpy(B, A, sizeof A);
        assert_int_equal(0, LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'L', n, 1, B, n, pivot, y, 1));
        memcpy(B, A, sizeof A);
        assert_true(soai_ldl_solve(n, B, x, order));
        double back[MOST], size = 0; /* the residual, which does not depend on the condition */
        for (int i = 0; i < n; ++i) {
            back[i] = 0;
            for (int j = 0; j < n; ++j)
                back[i] += A[n * i + j] * (x[j] - y[j]);
            if (fabs(x[i]) > size) size = fabs(x[i]);
        }
        for (int i = 0; i < n; ++i)
            if (!(fabs(back[i]) / (1 + size) <= worst)) worst = fabs(back[i]) / (1 + size);
    }
    print_message("seed 14: worst residual %.1e\n", worst);
    assert_true(worst <= 1e-13);
    double zero[4] = {0}, x[2] = {1, 1};
    int order[2];
    assert_false(soai_ldl_solve(2, zero, x, order));
}

/* Full rank: the solution and the condition of LAPACK; one rank less: refused, however large or
 * small the numbers. */
static void solve_with_condition(void **unused) {
    (void)unused;
    state = 15;
    double worst = 0, apart = 0, least = INFINITY;
    for (int t = 0; t < 600; ++t) {
        const int n = 1 + t % 12, full = t % 2 == 0 || n == 1;
        const double scale = pow(10, (t % 7 - 3) * 40);
        double A[MOST * MOST], B[MOST * MOST], x[MOST], y[MOST], z[MOST], room[2 * MOST], rcond;
        lapack_int pivot[MOST];
        of_rank(n, n, full ? n : n - 1, A);
        for (int i = 0; i < n * n; ++i)
            A[i] *= scale;
        for (int i = 0; i < n; ++i)
            x[i] = y[i] = z[i] = uniform();
        memcpy(B, A, sizeof A);
        const double condition = soai_solve_measured(n, B, x, room);
        memcpy(B, A, sizeof A);
        const int solved = soai_solve(n, B, z);
        if (!full) {
            if (!(condition >= least)) least = condition;
            assert_true(condition > SOAI_MOST_CONDITION);
            assert_memory_equal(x, y, (size_t)n * sizeof *x);
            continue;
        }
        assert_true(solved);
        memcpy(B, A, sizeof A);
        const double size = LAPACKE_dlange(LAPACK_ROW_MAJOR, '1', n, n, A, n);
        assert_int_equal(0, LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, B, n, pivot, y, 1));
        assert_int_equal(0, LAPACKE_dgecon(LAPACK_ROW_MAJOR, '1', n, B, n, size, &rcond));
        /* LAPACK's is a lower bound of ours, seldom below a third */
        if (!(condition * rcond <= 1 + apart)) apart = condition * rcond - 1;
        assert_true(condition * rcond >= 1 - 1e-9);
        const double e = worst_of(n, x, y) / condition, f = worst_of(n, z, y) / condition;
        if (!(e <= worst)) worst = e;
        if (!(f <= worst)) worst = f;
    }
    print_message("seed 15: worst %.1e of the condition; up to %.1f times LAPACK's estimate; "
                  "singular from %.1e\n",
                  worst, 1 + apart, least);
    assert_true(worst <= 1e-14);
    assert_true(apart <= 9);
    double nan[4] = {1, 0, NAN, 1}, x[2] = {1, 1}, room[4];
    assert_false(soai_solve(2, nan, x));
    double nan_too[4] = {1, 0, NAN, 1};
    assert_false(soai_solve_measured(2, nan_too, x, room) <= SOAI_MOST_CONDITION);
    /* all mass on a line: the pivot that is left is rounding, not zero */
    double line[9];
    const double d[3] = {0.36, 0.48, 0.8}; /* a unit vector, rounded */
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            line[3 * r + c] = 3e-7 * ((r == c) - d[r] * d[c]);
    double w[3] = {1, 2, 3};
    assert_false(soai_solve(3, line, w));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_values),      cmocka_unit_test(qr_with_pivots),
        cmocka_unit_test(cholesky_with_pivots), cmocka_unit_test(indefinite_solve),
        cmocka_unit_test(solve_with_condition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
