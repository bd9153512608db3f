/* test_accuracy.c  forward dynamics of spatial chains of 1,000 links, from straight to tangled,
 * against the other form of the sweep (spatial accelerations) in __float128. */
#include "check.h"
#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include "soa/dynamics.h"
#include "soa/io.h"

extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;

/* max|difference| / max|reference| of aba in double against __float128 at one state */
static double error_of(const soa_model *m, soa_work *w, const double *q, const double *v,
                       const double *tau) {
    const size_t n = (size_t)soa_model_nv(m);
    const soai_view_double view = soai_model_view(m);
    void *work = calloc(1, soai_kernels_quad.work_bytes);
    quad *arrays = calloc(soai_kernels_quad.work_reals(&view) + 1, sizeof(quad));
    quad *Q = calloc(n, sizeof(quad)), *V = calloc(n, sizeof(quad)), *T = calloc(n, sizeof(quad)),
         *A = calloc(n, sizeof(quad));
    double *got = calloc(n, sizeof(double)), *reference = calloc(n, sizeof(double));
    soai_kernels_quad.work_place(&view, work, arrays);
    for (size_t i = 0; i < n; ++i) {
        Q[i] = q[i];
        V[i] = v[i];
        T[i] = tau[i];
    }
    assert_int_equal(soai_kernels_quad.aba_spatial(&view, work, Q, V, T, NULL, A), 0);
    assert_int_equal(soa_aba(m, w, q, v, tau, NULL, 0, got), SOA_OK);
    double worst = 0, size = 0;
    for (size_t i = 0; i < n; ++i) {
        reference[i] = (double)A[i];
        size = fmax(size, fabs(reference[i]));
        const double d = fabs((double)(A[i] - (quad)got[i]));
        if (!(d <= worst)) worst = d;
    }
    free(work);
    free(arrays);
    free(Q);
    free(V);
    free(T);
    free(A);
    free(got);
    free(reference);
    return worst / size;
}

static void long_chain(void **state) {
    (void)state;
    soa_report report;
    const soa_model *m;
    soa_work *w;
    if (soa_stock_model_create("chain:1000", NULL, &m, &report)) fail_msg("%s", report.text);
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    const size_t n = (size_t)soa_model_nv(m);
    double *q = calloc(n, 8), *v = calloc(n, 8), *tau = calloc(n, 8), *zero = calloc(n, 8);
    worst_case rest = {0}, moving = {0};
    static const double angles[] = {0, 1e-3, 0.1, 3.14}; /* up to these */
    for (long s = first_seed(); s < first_seed() + 20; ++s) {
        dice d = {(uint64_t)s};
        const double most = angles[s % 4];
        roll_many(&d, -most, most, n, q);
        roll_many(&d, -1, 1, n, v);
        roll_many(&d, -1, 1, n, tau);
        note(&rest, error_of(m, w, q, zero, zero), s);
        note(&rest, error_of(m, w, q, zero, tau), s);
        note(&moving, error_of(m, w, q, v, tau), s);
        for (size_t i = 0; i < n; ++i)
            v[i] = v[i] < 0 ? -1 : 1;
        note(&moving, error_of(m, w, q, v, tau), s);
    }
    conclude("aba, 1,000 links, at rest", &rest, 1e-13);
    conclude("aba, 1,000 links, joint speeds of +-1 rad/s", &moving, 1e-13);
    free(q);
    free(v);
    free(tau);
    free(zero);
    soa_work_free(w);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_chain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
