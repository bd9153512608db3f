/* test_inertia_updates.c  R87's equivalent inertia updates: equal on trees of every joint type,
 * different in rounding.
 *
 * Prints the table of docs/theory/inertia-updates.md: errors on spatial chains of 10 to 1,000 links
 * against the sweeps in __float128. SOA_SEED=n chooses other models and other poses. */
#include "check.h"
#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include "soa/io.h"
#include "soa/soa.h"

extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;
#define OK(call) assert_int_equal(call, SOA_OK)

static const char *const names[SOA_UPDATE_COUNT] = {"(43)",   "(43) U", "(50)", "(50)'", "(51)",
                                                    "(43) 0", "UD",     "(84)", "(29)",  "(33)"};
static int is_composite(int update) {
    return update == SOA_COMPOSITE_29 || update == SOA_COMPOSITE_33;
}
static const soa_model *stock(const char *name, int floating) {
    const soa_model *m = NULL;
    soa_report report;
    const soa_read_options options = {.floating = floating};
    if (soa_stock_model_create(name, &options, &m, &report)) fail_msg("%s: %s", name, report.text);
    return m;
}
static double *pose(const soa_model *m, long seed) {
    const size_t nv = (size_t)soa_model_nv(m);
    double *q = calloc((size_t)soa_model_nq(m) + 1, 8), *step = calloc(nv + 1, 8);
    dice d = {(uint64_t)seed * 31 + 3};
    roll_many(&d, -3.1, 3.1, nv, step);
    soa_q_neutral(m, q);
    OK(soa_q_integrate(m, q, step, 1, q));
    free(step);
    return q;
}

/* Every update and storage gives the P of the sweeps; (29) and (33) give one composite inertia. */
static void equal_on_trees(void **state) {
    (void)state;
    worst_case w[SOA_UPDATE_COUNT] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + 100; ++seed) {
        char name[32];
        snprintf(name, sizeof name, "random:%ld", seed);
        const soa_model *m = stock(name, 0);
        soa_work *a, *b;
        OK(soa_work_create(m, &a));
        OK(soa_work_create(m, &b));
        double *q = pose(m, seed), P[36], r[36];
        OK(soa_smoother(m, a, q, NULL, NULL, NULL, 0));
        for (int body = 1; body <= soa_model_body_count(m); ++body) {
            soa_smoothed s;
            OK(soa_smoother_read(m, a, body, &s));
            for (int u = 0; u < SOA_UPDATE_COUNT; ++u)
                for (int storage = 0; storage < 2; ++storage) {
                    const soa_status s_of = soa_articulated_inertia(m, b, q, (soa_inertia_update)u,
                                                                    (soa_storage)storage, body, P);
                    if (u == SOA_UPDATE_UD && s_of == SOA_E_JOINT) continue; /* an exact rotor */
                    OK(s_of);
                    if (u == SOA_COMPOSITE_29 && !storage) memcpy(r, P, sizeof r);
                    note(w + u, relative(P, is_composite(u) ? r : s.P_minus, 36), seed);
                }
            /* with every joint locked H r H' is the joint's own block of the mass matrix; checked
             * by closed sums */
            soa_body_info info;
            OK(soa_model_body(m, body, &info));
            if (info.nv == 1 && info.mimic < 0 && info.rotor_inertia == 0) {
                const size_t n = (size_t)soa_model_nv(m), at = (size_t)info.v_index;
                double *M = calloc(n * n, 8), x = 0;
                OK(soa_crba(m, b, q, M));
                int followed = 0; /* a leader's diagonal holds its followers too */
                for (int i = 1; i <= soa_model_body_count(m); ++i) {
                    soa_body_info other;
                    OK(soa_model_body(m, i, &other));
                    followed |= other.mimic == body;
                }
                for (int j = 0; j < 36; ++j)
                    x += s.H[j / 6] * r[j] * s.H[j % 6];
                if (!followed) note(w + SOA_COMPOSITE_29, relative(&x, M + n * at + at, 1), seed);
                free(M);
            }
        }
        free(q);
        soa_work_free(a);
        soa_work_free(b);
        soa_model_free(m);
    }
    for (int u = 0; u < SOA_UPDATE_COUNT; ++u) {
        char line[80];
        snprintf(line, sizeof line, "R87 %s, full and symmetric, random trees", names[u]);
        conclude(line, w + u, 1e-11);
    }
}

/* P of body 1 in __float128: articulated, or the composite of a chain on a free joint, its mass
 * matrix' first block. */
static void reference(const soa_model *m, const double *q, int composite, quad P[36]) {
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m);
    const soai_view_double view = soai_model_view(m);
    void *work = calloc(1, soai_kernels_quad.work_bytes);
    quad *arrays = calloc(soai_kernels_quad.work_reals(&view) + 1, sizeof(quad)),
         *Q = calloc(nq, sizeof(quad));
    soai_kernels_quad.work_place(&view, work, arrays);
    for (size_t i = 0; i < nq; ++i)
        Q[i] = q[i];
    if (composite) {
        quad *M = calloc(nv * nv, sizeof(quad));
        soai_kernels_quad.crba(&view, work, Q, M);
        for (size_t j = 0; j < 36; ++j)
            P[j] = M[nv * (j / 6) + j % 6];
        free(M);
    } else {
        assert_int_equal(soai_kernels_quad.articulate(&view, work, Q), 0);
        soai_kernels_quad.inertia(work, 1, P);
    }
    free(work);
    free(arrays);
    free(Q);
}
static double error_of(const double P[36], const quad R[36]) {
    double worst = 0, size = 0;
    for (int j = 0; j < 36; ++j) {
        const double e = fabs((double)((quad)P[j] - R[j]));
        size = fmax(size, fabs((double)R[j]));
        if (!(e <= worst)) worst = e;
    }
    return worst / size;
}
static double asymmetry_of(const double P[36]) {
    double worst = 0, size = 0;
    for (int j = 0; j < 36; ++j) {
        const double e = fabs(P[j] - P[6 * (j % 6) + j / 6]);
        size = fmax(size, fabs(P[j]));
        if (!(e <= worst)) worst = e;
    }
    return worst / size;
}

static const char *form_of(soa_inertia_update update, soa_storage storage) {
    if (update == SOA_UPDATE_84 || update == SOA_UPDATE_UD) return "21 numbers";
    if (update == SOA_COMPOSITE_33) return "10 numbers";
    return storage ? "symmetric" : "full";
}

/* What the figures of the page rest on: the symmetric forms stay at rounding, at any length. */
static void long_chains(void **state) {
    (void)state;
    static const int lengths[] = {10, 30, 100, 300, 1000};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, POSES = 3 };
    double error[SOA_UPDATE_COUNT][2][LENGTHS] = {{{0}}}, skew[SOA_UPDATE_COUNT][LENGTHS] = {{0}},
           sweep[LENGTHS] = {0};
    for (int l = 0; l < LENGTHS; ++l) {
        char name[32];
        snprintf(name, sizeof name, "chain:%d", lengths[l]);
        const soa_model *m[2] = {stock(name, 0), stock(name, 1)};
        soa_work *w[2];
        OK(soa_work_create(m[0], &w[0]));
        OK(soa_work_create(m[1], &w[1]));
        for (long seed = first_seed(); seed < first_seed() + POSES; ++seed)
            for (int composite = 0; composite < 2; ++composite) {
                double *q = pose(m[composite], seed), P[36];
                quad R[36];
                reference(m[composite], q, composite, R);
                for (int u = 0; u < SOA_UPDATE_COUNT; ++u)
                    for (int storage = 0; is_composite(u) == composite && storage < 2; ++storage) {
                        OK(soa_articulated_inertia(m[composite], w[composite], q,
                                                   (soa_inertia_update)u, (soa_storage)storage, 1,
                                                   P));
                        const double e = error_of(P, R);
                        if (!(e <= error[u][storage][l])) error[u][storage][l] = e;
                        if (!storage) skew[u][l] = fmax(skew[u][l], asymmetry_of(P));
                    }
                if (!composite) {
                    soa_smoothed s;
                    OK(soa_smoother(m[0], w[0], q, NULL, NULL, NULL, 0));
                    OK(soa_smoother_read(m[0], w[0], 1, &s));
                    const double e = error_of(s.P_minus, R);
                    if (!(e <= sweep[l])) sweep[l] = e;
                }
                free(q);
            }
        for (int i = 0; i < 2; ++i) {
            soa_work_free(w[i]);
            soa_model_free(m[i]);
        }
    }
    printf("  error of P at the base, largest of 36 numbers, worst of %d poses (seed %ld)\n", POSES,
           first_seed());
    printf("  %-22s", "links");
    for (int l = 0; l < LENGTHS; ++l)
        printf("%9d", lengths[l]);
    for (int u = 0; u < SOA_UPDATE_COUNT; ++u)
        for (int storage = 0; storage < 2; ++storage) {
            const int fixed = u == SOA_UPDATE_84 || u == SOA_COMPOSITE_33 || u == SOA_UPDATE_UD;
            if (fixed && !storage) continue;
            printf("\n  R87 %-6s %-11s", names[u],
                   form_of((soa_inertia_update)u, (soa_storage)storage));
            for (int l = 0; l < LENGTHS; ++l)
                printf("  %.1e", error[u][storage][l]);
        }
    printf("\n  %-22s", "soa_aba's sweep");
    for (int l = 0; l < LENGTHS; ++l)
        printf("  %.1e", sweep[l]);
    printf("\n  asymmetry of the full forms");
    for (int u = 0; u < SOA_UPDATE_COUNT; ++u) {
        if (u == SOA_UPDATE_84 || u == SOA_COMPOSITE_33 || u == SOA_UPDATE_UD) continue;
        printf("\n  R87 %-18s", names[u]);
        for (int l = 0; l < LENGTHS; ++l)
            printf("  %.1e", skew[u][l]);
    }
    printf("\n");
    for (int l = 0; l < LENGTHS; ++l) {
        assert_true(sweep[l] <= 1e-13);
        for (int u = 0; u < SOA_UPDATE_COUNT; ++u)
            assert_true(error[u][1][l] <= 1e-12);
    }
    /* where the product H P is taken to be the transpose of P H', P drifts from symmetry */
    assert_true(error[SOA_UPDATE_43_U][0][LENGTHS - 1] > 10 * error[SOA_UPDATE_43][0][LENGTHS - 1]);
    assert_true(error[SOA_UPDATE_50_T][0][LENGTHS - 1] > 10 * error[SOA_UPDATE_50][0][LENGTHS - 1]);
}

static void bad_calls(void **state) {
    (void)state;
    const soa_model *m = stock("arm7", 0);
    soa_work *w;
    OK(soa_work_create(m, &w));
    double P[36] = {77}, q[7] = {0};
    assert_int_equal(soa_articulated_inertia(m, w, q, SOA_UPDATE_COUNT, SOA_STORAGE_FULL, 1, P),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_articulated_inertia(m, w, q, SOA_UPDATE_43, (soa_storage)2, 1, P),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_articulated_inertia(m, w, q, SOA_UPDATE_43, SOA_STORAGE_FULL, 8, P),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_articulated_inertia(m, w, q, SOA_UPDATE_43, SOA_STORAGE_FULL, 1, NULL),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_articulated_inertia(m, NULL, q, SOA_UPDATE_43, SOA_STORAGE_FULL, 1, P),
                     SOA_E_ARGUMENT);
    q[3] = NAN;
    assert_int_equal(soa_articulated_inertia(m, w, q, SOA_UPDATE_43, SOA_STORAGE_FULL, 1, P),
                     SOA_E_NOT_FINITE);
    assert_true(P[0] == 77);
    soa_work_free(w);
    soa_model_free(m);
    /* a tip without inertia: no P past its joint, but a composite */
    soa_body_def body[2] = {soa_body_default("arm", 0, SOA_REVOLUTE),
                            soa_body_default("tip", 1, SOA_REVOLUTE)};
    soa_body_box(body, 1, .1, .2, .3);
    const soa_model_def def = soa_model_default("massless tip", body, 2);
    OK(soa_model_create(&def, &m, NULL));
    OK(soa_work_create(m, &w));
    assert_int_equal(soa_articulated_inertia(m, w, NULL, SOA_UPDATE_51, SOA_STORAGE_FULL, 1, P),
                     SOA_E_HINGE_SINGULAR);
    assert_int_equal(soa_work_failed_body(w), 2);
    OK(soa_articulated_inertia(m, w, NULL, SOA_COMPOSITE_33, SOA_STORAGE_FULL, 1, P));
    soa_work_free(w);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_on_trees),
                                       cmocka_unit_test(long_chains), cmocka_unit_test(bad_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
