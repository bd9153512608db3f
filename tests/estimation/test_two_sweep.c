/* test_two_sweep.c  forward dynamics in two sweeps from the base, against soa_aba, soa_compliance
 * and the sweeps in __float128; what light links cost.
 *
 * Prints the table of docs/theory/two-sweep.md.  SOA_SEED=n chooses other machines. */
#include "check.h"
#include "dynamics/work.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "trees.h"

extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;
#define OK(call) assert_int_equal(call, SOA_OK)

static soa_input input_of(const tree_state *s) {
    return (soa_input){
        .q = s->q, .v = s->v, .tau = s->tau, .wrenches = s->wrench, .wrench_count = 3};
}
/* The last link of the first chain, and a frame on it. */
static int last_frame(const soa_model *m) {
    soa_body_info info;
    int body = 1;
    for (int i = 2; i <= soa_model_body_count(m); ++i) {
        OK(soa_model_body(m, i, &info));
        if (info.parent == body) body = i;
    }
    OK(soa_model_body(m, body, &info));
    return info.frame;
}

typedef struct errors {
    worst_case qdd, compliance;
} errors;
static void judge(const soa_model *m, long seed, errors *e) {
    soa_work *w = NULL;
    OK(soa_work_create(m, &w));
    const size_t nv = (size_t)soa_model_nv(m);
    double *got = calloc(nv + 1, sizeof *got), *aba = calloc(nv + 1, sizeof *aba);
    tree_state s = random_tree_state(m, seed);
    const soa_input in = input_of(&s);
    const int frame = last_frame(m);
    for (int a = 0; a < 2; ++a) {
        const soa_axes axes = a ? SOA_AXES_BODY : SOA_AXES_WORLD;
        double C[36], Omega[36];
        const soa_status status = soa_fd_two_sweep(m, w, &in, frame, axes, got, C);
        if (status) fail_msg("seed %ld: %s", seed, soa_status_text(status));
        OK(soa_aba(m, w, s.q, s.v, s.tau, s.wrench, 3, aba));
        OK(soa_compliance(m, w, s.q, &frame, 1, axes, Omega));
        note(&e->qdd, relative(got, aba, nv), seed);
        note(&e->compliance, relative(C, Omega, 36), seed);
    }
    OK(soa_fd_two_sweep(m, w, &in, 0, SOA_AXES_WORLD, got, NULL)); /* the frame is ignored */
    note(&e->qdd, relative(got, aba, nv), seed);
    OK(soa_fd_two_sweep(m, w, &(soa_input){0}, 0, SOA_AXES_WORLD, got, NULL));
    OK(soa_aba(m, w, NULL, NULL, NULL, NULL, 0, aba));
    note(&e->qdd, relative(got, aba, nv), seed);
    free(got);
    free(aba);
    free_tree_state(&s);
    soa_work_free(w);
}

static void chains_of_all_joints(void **state) {
    (void)state;
    errors e = {0};
    for (int i = 0; i < 300; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m = random_tree(
            seed, 1 + i % 25, (i % 2 ? TREE_FITTED : 0) | (i % 3 ? TREE_CHAINS : TREE_CHAIN));
        judge(m, seed, &e);
        soa_model_free(m);
    }
    conclude("vdot against soa_aba: all joints, springs, rotors, wrenches", &e.qdd, 1e-9);
    conclude("C of the tip against soa_compliance", &e.compliance, 1e-9);
}
/* Exact rotors, and shipped arms. */
static void rotors_and_arms(void **state) {
    (void)state;
    errors e = {0};
    const char *const stock[] = {"arm7", "puma560", "chain:30", "two-puma"};
    for (size_t i = 0; i < sizeof stock / sizeof *stock; ++i)
        for (int ideal = 0; ideal < 2; ++ideal) {
            const soa_model *m = NULL;
            const soa_read_options options = {.ideal = ideal};
            OK(soa_stock_model_create(stock[i], &options, &m, NULL));
            judge(m, first_seed() + (long)i, &e);
            soa_model_free(m);
        }
    for (int i = 0; i < 60; ++i) {
        const long seed = first_seed() + i;
        dice d = {(uint64_t)seed * 977};
        soa_body_def body[12];
        char names[12][16];
        for (int b = 0; b < 12; ++b) {
            snprintf(names[b], sizeof names[b], "link%d", b + 1);
            body[b] =
                soa_body_default(names[b], b, roll(&d, 0, 1) < 0.7 ? SOA_REVOLUTE : SOA_PRISMATIC);
            body[b].placement = random_place(&d, 0.4);
            roll_many(&d, 0.2, 1, 3, body[b].joint.axis);
            soa_body_box(body + b, roll(&d, 0.5, 5), roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5),
                         roll(&d, 0.1, 0.5));
            roll_many(&d, -0.2, 0.2, 3, body[b].com);
            if (body[b].joint.type == SOA_REVOLUTE) {
                body[b].joint.rotor_inertia = roll(&d, 1e-4, 1e-3);
                body[b].joint.gear_ratio = roll(&d, -40, 40);
                body[b].joint.rotor_model = SOA_ROTOR_EXACT;
            }
        }
        soa_model_def def = soa_model_default("rotors", body, 12);
        const soa_model *m = NULL;
        soa_report report;
        if (soa_model_create(&def, &m, &report)) fail_msg("seed %ld: %s", seed, report.text);
        judge(m, seed, &e);
        soa_model_free(m);
    }
    conclude("vdot against soa_aba: shipped arms, exact rotors", &e.qdd, 1e-9);
    conclude("C of the tip against soa_compliance", &e.compliance, 1e-9);
}

/* The same sweeps in __float128, on the same tables. */
static double error_in_quad(const soa_work *w, const tree_state *s, const double *got) {
    const soai_view_double *view = &w->aligned;
    const size_t nq = (size_t)view->nq, nv = (size_t)view->nv;
    void *work = calloc(1, soai_kernels_quad.work_bytes);
    quad *arrays = calloc(soai_kernels_quad.work_reals(view) + 1, sizeof(quad));
    quad *x = calloc(nq + 3 * nv, sizeof(quad)), *vdot = calloc(nv + 1, sizeof(quad));
    soai_kernels_quad.work_place(view, work, arrays);
    for (size_t j = 0; j < nq; ++j)
        x[j] = s->q[j];
    for (size_t j = 0; j < nv; ++j) {
        x[nq + j] = s->v[j];
        x[nq + nv + j] = s->tau[j];
    }
    assert_int_equal(soai_kernels_quad.aba(view, work, x, x + nq, x + nq + nv, NULL, vdot), 0);
    double worst = 0, size = 0;
    for (size_t j = 0; j < nv; ++j) {
        const double error = fabs((double)((quad)got[j] - vdot[j]));
        size = fmax(size, fabs((double)vdot[j]));
        if (!(error <= worst)) worst = error;
    }
    free(work);
    free(arrays);
    free(x);
    free(vdot);
    return worst / size;
}
/* Every second link scaled. */
static const soa_model *chain_with_light_links(long seed, double scale) {
    enum { LINKS = 12 };
    dice d = {(uint64_t)seed * 7127};
    soa_body_def body[LINKS];
    char names[LINKS][16];
    for (int b = 0; b < LINKS; ++b) {
        snprintf(names[b], sizeof names[b], "link%d", b + 1);
        body[b] = soa_body_default(names[b], b, SOA_REVOLUTE);
        body[b].placement = random_place(&d, 0.4);
        roll_many(&d, 0.2, 1, 3, body[b].joint.axis);
        soa_body_box(body + b, roll(&d, 0.5, 5), roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5),
                     roll(&d, 0.1, 0.5));
        roll_many(&d, -0.2, 0.2, 3, body[b].com);
        if (b % 2 == 0) {
            body[b].mass *= scale;
            for (int j = 0; j < 6; ++j)
                body[b].inertia[j] *= scale;
        }
    }
    soa_model_def def = soa_model_default("light links", body, LINKS);
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("seed %ld: %s", seed, report.text);
    return m;
}
static void light_links(void **state) {
    (void)state;
    static const double scales[] = {1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8};
    enum { SCALES = sizeof scales / sizeof *scales, CHAINS = 20 };
    double two[SCALES] = {0}, three[SCALES] = {0};
    int refused[SCALES] = {0};
    for (int k = 0; k < SCALES; ++k)
        for (long seed = first_seed(); seed < first_seed() + CHAINS; ++seed) {
            const soa_model *m = chain_with_light_links(seed, scales[k]);
            soa_work *w = NULL;
            OK(soa_work_create(m, &w));
            tree_state s = random_tree_state(m, seed);
            double x[12], error;
            const soa_status status = soa_fd_two_sweep(
                m, w, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, 0, SOA_AXES_WORLD, x, NULL);
            if (status) {
                assert_int_equal(status, SOA_E_HINGE_SINGULAR);
                assert_int_equal(soa_work_failed_body(w) % 2, 1); /* a light one */
                ++refused[k];
            } else {
                error = error_in_quad(w, &s, x);
                if (!(error <= two[k])) two[k] = error;
            }
            OK(soa_aba(m, w, s.q, s.v, s.tau, NULL, 0, x));
            error = error_in_quad(w, &s, x);
            if (!(error <= three[k])) three[k] = error;
            free_tree_state(&s);
            soa_work_free(w);
            soa_model_free(m);
        }
    printf("  error of vdot against __float128, every second of 12 links scaled, worst of %d "
           "chains (seed %ld)\n  %-18s",
           CHAINS, first_seed(), "scale");
    for (int k = 0; k < SCALES; ++k)
        printf("  %7.0e", scales[k]);
    printf("\n  %-18s", "soa_fd_two_sweep");
    for (int k = 0; k < SCALES; ++k)
        printf("  %.1e", two[k]);
    printf("\n  %-18s", "of them refused");
    for (int k = 0; k < SCALES; ++k)
        printf("  %7d", refused[k]);
    printf("\n  %-18s", "soa_aba");
    for (int k = 0; k < SCALES; ++k)
        printf("  %.1e", three[k]);
    printf("\n");
    for (int k = 0; k < SCALES; ++k) {
        assert_true(three[k] <= 1e-11);
        assert_true(two[k] <= 1e-3);
    }
    assert_true(two[0] <= 1e-11 && refused[0] == 0);
    assert_int_equal(refused[SCALES - 1], CHAINS);
}

static void refused(void **state) {
    (void)state;
    const soa_model *m = NULL;
    soa_work *w = NULL;
    double x[64], C[36];
    /* a branch */
    OK(soa_stock_model_create("quadruped", NULL, &m, NULL));
    OK(soa_work_create(m, &w));
    assert_int_equal(soa_fd_two_sweep(m, w, &(soa_input){0}, 0, SOA_AXES_WORLD, x, NULL),
                     SOA_E_BRANCHED);
    assert_true(soa_work_failed_body(w) > 0);
    soa_work_free(w);
    soa_model_free(m);
    /* an inner link without inertia: soa_aba can, this cannot; with an armature it can */
    soa_body_def body[3] = {soa_body_default("a", 0, SOA_REVOLUTE),
                            soa_body_default("b", 1, SOA_REVOLUTE),
                            soa_body_default("c", 2, SOA_PRISMATIC)};
    for (int i = 0; i < 3; ++i)
        body[i].placement = soa_frame_from_rpy(0.3, 0.2 * i, 0.1, 0.4, 0.1, 0.2);
    soa_body_box(body, 1, .1, .2, .3);
    soa_body_box(body + 2, 1, .1, .2, .3);
    for (int fitted = 0; fitted < 2; ++fitted) {
        body[1].joint.rotor_inertia = fitted ? 1e-3 : 0;
        body[1].joint.gear_ratio = 10;
        const soa_model_def def = soa_model_default("massless", body, 3);
        OK(soa_model_create(&def, &m, NULL));
        OK(soa_work_create(m, &w));
        double aba[3];
        OK(soa_aba(m, w, NULL, NULL, NULL, NULL, 0, aba));
        const soa_status s = soa_fd_two_sweep(m, w, &(soa_input){0}, 3, SOA_AXES_WORLD, x, C);
        assert_int_equal(s, fitted ? SOA_OK : SOA_E_HINGE_SINGULAR);
        if (fitted)
            assert_true(relative(x, aba, 3) <= 1e-12);
        else
            assert_int_equal(soa_work_failed_body(w), 2);
        soa_work_free(w);
        soa_model_free(m);
    }
    /* arguments */
    OK(soa_stock_model_create("arm7", NULL, &m, NULL));
    OK(soa_work_create(m, &w));
    const soa_input in = {0};
    x[0] = 77;
    assert_int_equal(soa_fd_two_sweep(m, w, NULL, 0, SOA_AXES_WORLD, x, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_two_sweep(m, w, &in, 0, SOA_AXES_WORLD, NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_two_sweep(m, w, &in, 0, SOA_AXES_WORLD, x, C), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_two_sweep(m, w, &in, 9999, SOA_AXES_WORLD, x, C), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_two_sweep(m, w, &in, last_frame(m), (soa_axes)9, x, C), SOA_E_ARGUMENT);
    double q[7] = {0, NAN};
    assert_int_equal(soa_fd_two_sweep(m, w, &(soa_input){.q = q}, 0, SOA_AXES_WORLD, x, NULL),
                     SOA_E_NOT_FINITE);
    assert_true(x[0] == 77);
    soa_work_free(w);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_of_all_joints),
                                       cmocka_unit_test(rotors_and_arms),
                                       cmocka_unit_test(light_links), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
