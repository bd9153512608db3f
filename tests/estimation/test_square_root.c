/* test_square_root.c  forward dynamics with factored inertias (soa_fd_ud): on trees of every joint
 * type, and how many digits it keeps where soa_aba loses them.
 *
 *   test_square_root [FILE.svg]   also draws the picture
 *
 * Prints the tables of docs/theory/inertia-updates.md.  SOA_SEED=n chooses other machines. */
#include "check.h"
#include "dynamics/work.h"
#include "soa/io.h"
#include "soa/plot.h"
#include "soa/soa.h"
#include "trees.h"

extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;
#define OK(call) assert_int_equal(call, SOA_OK)

/* ---- trees ----------------------------------------------------------------------------------- */
static double *ones(size_t n) {
    double *x = calloc(n + 1, sizeof *x);
    return x;
}
static float *rounded(const double *x, size_t n) {
    float *f = calloc(n + 1, sizeof *f);
    for (size_t j = 0; j < n; ++j)
        f[j] = (float)x[j];
    return f;
}
static void judge(const soa_model *m, long seed, worst_case *e, worst_case *single) {
    soa_work *w = NULL;
    OK(soa_work_create(m, &w));
    tree_state s = random_tree_state(m, seed);
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m);
    double *got = ones(nv), *aba = ones(nv), *twice = ones(nv);
    const soa_input in = {
        .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3};
    soa_status status = soa_fd_ud(m, w, &in, got);
    if (status) fail_msg("seed %ld: %s", seed, soa_status_text(status));
    OK(soa_aba(m, w, s.q, s.v, s.tau, s.wrench, 3, aba));
    note(e, relative(got, aba, nv), seed);
    OK(soa_fd_ud(m, w, &(soa_input){0}, got));
    OK(soa_aba(m, w, NULL, NULL, NULL, NULL, 0, aba));
    note(e, relative(got, aba, nv), seed);
    float *q = rounded(s.q, nq), *v = rounded(s.v, nv), *tau = rounded(s.tau, nv);
    float *fext = calloc(6 * (size_t)soa_model_body_count(m), sizeof *fext), *x = rounded(aba, nv);
    for (size_t j = 0; j < 6 * (size_t)soa_model_body_count(m); ++j)
        fext[j] = (float)(j % 7) - 3;
    status = soa_fd_ud_f(m, w, q, v, tau, fext, x);
    if (status) fail_msg("seed %ld, float: %s", seed, soa_status_text(status));
    for (size_t j = 0; j < nv; ++j)
        got[j] = x[j];
    OK(soa_aba_f(m, w, q, v, tau, fext, x));
    for (size_t j = 0; j < nv; ++j)
        twice[j] = x[j];
    note(single, relative(got, twice, nv), seed);
    OK(soa_fd_ud_f(m, w, q, NULL, NULL, NULL, x));
    free(q);
    free(v);
    free(tau);
    free(fext);
    free(x);
    free(got);
    free(aba);
    free(twice);
    free_tree_state(&s);
    soa_work_free(w);
}
static void trees_of_all_joints(void **state) {
    (void)state;
    worst_case e = {0}, single = {0};
    for (int i = 0; i < 300; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m = random_tree(seed, 1 + i % 25,
                                         (i % 2 ? TREE_FITTED : 0) | (i % 3 ? TREE_BRANCHED : 0) |
                                             (i % 5 ? 0 : TREE_MASSLESS));
        judge(m, seed, &e, &single);
        soa_model_free(m);
    }
    const char *const stock[] = {"arm7",    "quadruped", "satellite",
                                 "puma560", "two-puma",  "chain:30"};
    for (size_t i = 0; i < sizeof stock / sizeof *stock; ++i) {
        const soa_model *m = NULL;
        const soa_read_options ideal = {.ideal = true};
        OK(soa_stock_model_create(stock[i], &ideal, &m, NULL));
        judge(m, first_seed(), &e, &single);
        soa_model_free(m);
    }
    conclude("soa_fd_ud against soa_aba: all joints, massless links", &e, 1e-9);
    conclude("soa_fd_ud_f against soa_aba_f", &single, 1e-2);
}

/* ---- digits ---------------------------------------------------------------------------------- */
enum { MOST = 1000 };
/* Revolute joints about z, links of mass[i]. */
static const soa_model *chain_of(long seed, int n, const double *mass) {
    dice d = {(uint64_t)seed * 5021 + 17};
    soa_body_def *body = calloc((size_t)n, sizeof *body);
    char(*names)[16] = calloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; ++i) {
        snprintf(names[i], sizeof names[i], "link%d", i + 1);
        body[i] = soa_body_default(names[i], i, SOA_REVOLUTE);
        body[i].placement = random_place(&d, 0.5);
        body[i].joint.axis[0] = body[i].joint.axis[1] = 0;
        body[i].joint.axis[2] = 1;
        soa_body_box(body + i, mass[i], roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5));
        roll_many(&d, -0.2, 0.2, 3, body[i].com);
    }
    soa_model_def def = soa_model_default("chain", body, n);
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("seed %ld: %s", seed, report.text);
    free(body);
    free(names);
    return m;
}

/* Largest relative error of D over the hinges but the last, and of qdd relative to the largest. */
typedef struct digits {
    double D, qdd;
} digits;
static void worse(digits *all, digits one) {
    if (!(one.D <= all->D)) all->D = one.D;
    if (!(one.qdd <= all->qdd)) all->qdd = one.qdd;
}
enum { PLAIN, UD, PLAIN_F, UD_F, WAYS };
static const char *const ways[WAYS] = {"soa_aba", "soa_fd_ud", "soa_aba_f", "soa_fd_ud_f"};

typedef struct reference {
    quad *D, *qdd;
} reference;
/* The coordinate along which the hinge moves, in the aligned frames. */
static int axis_of(const soai_body_double *b) {
    return b->kind >= SOAI_KIND_LEVEL_X ? (b->kind - SOAI_KIND_LEVEL_X) % 3 : b->kind;
}
static reference reference_of(const soa_work *w, const tree_state *s) {
    const soai_view_double *view = &w->aligned;
    const size_t n = (size_t)view->nv;
    void *work = calloc(1, soai_kernels_quad.work_bytes);
    quad *arrays = calloc(soai_kernels_quad.work_reals(view) + 1, sizeof(quad));
    quad *x = calloc(3 * n, sizeof(quad));
    reference r = {calloc(n + 1, sizeof(quad)), calloc(n + 1, sizeof(quad))};
    soai_kernels_quad.work_place(view, work, arrays);
    for (size_t j = 0; j < n; ++j) {
        x[j] = s->q[j];
        x[n + j] = s->v[j];
        x[2 * n + j] = s->tau[j];
    }
    assert_int_equal(soai_kernels_quad.aba(view, work, x, x + n, x + 2 * n, NULL, r.qdd), 0);
    for (size_t j = 0; j + 1 < n; ++j) {
        quad P[36];
        soai_kernels_quad.inertia(work, (int)j + 1, P);
        r.D[j] = P[7 * axis_of(view->body + j + 1)];
    }
    free(work);
    free(arrays);
    free(x);
    return r;
}
static digits digits_of(const soa_model *m, soa_work *w, const tree_state *s, const reference *r,
                        int way) {
    const size_t n = (size_t)soa_model_nv(m);
    double *qdd = ones(n);
    float *x = rounded(s->q, n), *v = rounded(s->v, n), *tau = rounded(s->tau, n);
    digits e = {0, 0};
    if (way == PLAIN) OK(soa_aba(m, w, s->q, s->v, s->tau, NULL, 0, qdd));
    if (way == UD) OK(soa_fd_ud(m, w, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, qdd));
    if (way >= PLAIN_F) {
        OK((way == UD_F ? soa_fd_ud_f : soa_aba_f)(m, w, x, v, tau, NULL, x));
        for (size_t j = 0; j < n; ++j)
            qdd[j] = x[j];
    }
    double size = 0;
    for (size_t j = 0; j < n; ++j) {
        const double error = fabs((double)((quad)qdd[j] - r->qdd[j]));
        size = fmax(size, fabs((double)r->qdd[j]));
        if (!(error <= e.qdd)) e.qdd = error;
    }
    e.qdd /= size;
    for (size_t j = 0; j + 1 < n; ++j) {
        const int at = 7 * axis_of(w->aligned.body + j + 1), body = (int)j + 1;
        double P[36];
        float Pf[36];
        if (way == PLAIN) w->k->inertia(&w->w, body, P);
        if (way == UD) w->k->ud_inertia(&w->aligned, &w->w, w->factors, body, P);
        if (way == PLAIN_F) w->kf->inertia(w->w_f, body, Pf);
        if (way == UD_F) w->kf->ud_inertia(&w->aligned_f, w->w_f, w->factors_f, body, Pf);
        const double D = way >= PLAIN_F ? (double)Pf[at] : P[at];
        const double error = fabs((double)(((quad)D - r->D[j]) / r->D[j]));
        if (!(error <= e.D)) e.D = error;
    }
    free(qdd);
    free(x);
    free(v);
    free(tau);
    return e;
}
/* The worst of several chains, in each way. */
static void measure(int n, double tip, int scattered, int chains, int single, digits *out) {
    double *mass = ones((size_t)n);
    memset(out, 0, WAYS * sizeof *out);
    for (long seed = first_seed(); seed < first_seed() + chains; ++seed) {
        dice d = {(uint64_t)seed * 331};
        for (int i = 0; i < n; ++i)
            mass[i] = scattered ? pow(10, roll(&d, -6, 6)) : roll(&d, 0.5, 2);
        if (!scattered) mass[n - 1] = tip;
        const soa_model *m = chain_of(seed, n, mass);
        soa_work *w = NULL;
        OK(soa_work_create(m, &w));
        tree_state s = random_tree_state(m, seed);
        for (int j = 0; j < n; ++j) { /* the same numbers in float */
            s.q[j] = (float)s.q[j];
            s.v[j] = (float)s.v[j];
            s.tau[j] = (float)s.tau[j];
        }
        reference r = reference_of(w, &s);
        for (int way = 0; way < (single ? WAYS : PLAIN_F); ++way)
            worse(out + way, digits_of(m, w, &s, &r, way));
        free(r.D);
        free(r.qdd);
        free_tree_state(&s);
        soa_work_free(w);
        soa_model_free(m);
    }
    free(mass);
}
static void print_row(const char *what, const digits *e, int single) {
    printf("  %-30s", what);
    for (int way = 0; way < WAYS; ++way) {
        if (way >= PLAIN_F && !single)
            printf("         -        -");
        else
            printf("   %.1e  %.1e", e[way].D, e[way].qdd);
    }
    printf("\n");
}

enum { RATIOS = 11, RATIOS_F = 6, CHAINS = 15, LINKS = 20 };
static const char *picture;
static void draw(double error[WAYS][RATIOS]) {
    double x[RATIOS];
    for (int k = 0; k < RATIOS; ++k)
        x[k] = pow(10, k);
    soa_plot_curve curves[WAYS];
    for (int way = 0; way < WAYS; ++way)
        curves[way] = (soa_plot_curve){.name = ways[way], .y = error[way], .markers = true};
    const soa_plot_panel panel = {"largest relative error of D", true, curves, WAYS};
    const soa_plot plot = {.title = "Articulated inertia of a hinge under a heavy load",
                           .subtitle = "20 links of mass 0.5 to 2, against __float128",
                           .x_label = "mass of the last link",
                           .x_log = true,
                           .x = x,
                           .count = RATIOS,
                           .panels = &panel,
                           .panel_count = 1};
    soa_report report;
    if (soa_plot_write_svg(&plot, picture, &report)) fail_msg("%s", report.text);
}
static void heavy_loads(void **state) {
    (void)state;
    digits e[WAYS];
    double error[WAYS][RATIOS];
    printf("  largest relative error of D, then of qdd, against __float128 (seed %ld)\n  %-30s",
           first_seed(), "");
    for (int way = 0; way < WAYS; ++way)
        printf("%19s", ways[way]);
    printf("\n");
    measure(MOST, 1, 0, 1, 0, e);
    print_row("1000 links, one chain", e, 0);
    assert_true(e[UD].D <= 1e-13);
    measure(30, 1, 1, CHAINS, 0, e);
    print_row("30 links, masses 1e-6 to 1e6", e, 0);
    assert_true(e[UD].D <= 1e-11);
    for (int k = 0; k < RATIOS; ++k) {
        char what[40];
        const double tip = pow(10, k);
        snprintf(what, sizeof what, "20 links, load %.0e", tip);
        const int single = k < RATIOS_F;
        measure(LINKS, tip, 0, CHAINS, single, e);
        print_row(what, e, single);
        for (int way = 0; way < WAYS; ++way)
            error[way][k] = way < PLAIN_F || single ? e[way].D : NAN;
        assert_true(e[UD].D <= 1e-12);
        assert_true(!single || e[UD_F].D <= 1e-4);
    }
    /* the reason for the form: what is lost without it */
    assert_true(error[PLAIN][8] > 100 * error[UD][8]);
    assert_true(error[PLAIN_F][5] > 30 * error[UD_F][5]);
    if (picture) draw(error);
}

/* The updates of soa_articulated_inertia on the same chains: does it help to set H P+ = 0? */
static double worst_D(const soa_model *m, soa_work *w, const tree_state *s, soa_inertia_update u,
                      const reference *r) {
    double worst = 0;
    for (int body = 1; body < soa_model_body_count(m); ++body) {
        double P[36];
        OK(soa_articulated_inertia(m, w, s->q, u, SOA_STORAGE_SYMMETRIC, body, P));
        const double error = fabs((double)(((quad)P[14] - r->D[body - 1]) / r->D[body - 1]));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}
static void updates_under_load(void **state) {
    (void)state;
    static const soa_inertia_update updates[] = {SOA_UPDATE_43, SOA_UPDATE_43_ZERO, SOA_UPDATE_51,
                                                 SOA_UPDATE_84, SOA_UPDATE_UD};
    static const char *const names[] = {"(43)", "(43) 0", "(51)", "(84)", "UD"};
    enum { UPDATES = sizeof updates / sizeof *updates, LOADS = 4 };
    double worst[UPDATES][LOADS] = {{0}}, mass[LINKS];
    for (int k = 0; k < LOADS; ++k)
        for (long seed = first_seed(); seed < first_seed() + CHAINS; ++seed) {
            dice d = {(uint64_t)seed * 331};
            roll_many(&d, 0.5, 2, LINKS, mass);
            mass[LINKS - 1] = pow(10, 3 * k);
            const soa_model *m = chain_of(seed, LINKS, mass);
            soa_work *w = NULL;
            OK(soa_work_create(m, &w));
            tree_state s = random_tree_state(m, seed);
            reference r = reference_of(w, &s);
            for (int u = 0; u < UPDATES; ++u) {
                const double error = worst_D(m, w, &s, updates[u], &r);
                if (!(error <= worst[u][k])) worst[u][k] = error;
            }
            free(r.D);
            free(r.qdd);
            free_tree_state(&s);
            soa_work_free(w);
            soa_model_free(m);
        }
    printf("  soa_articulated_inertia, symmetric: largest relative error of D, 20 links\n  %-10s",
           "load");
    for (int k = 0; k < LOADS; ++k)
        printf("%9.0e", pow(10, 3 * k));
    for (int u = 0; u < UPDATES; ++u) {
        printf("\n  %-10s", names[u]);
        for (int k = 0; k < LOADS; ++k)
            printf("  %.1e", worst[u][k]);
    }
    printf("\n");
    for (int k = 0; k < LOADS; ++k)
        assert_true(worst[UPDATES - 1][k] <= 1e-12);
}

/* ---- refusals -------------------------------------------------------------------------------- */
static void refused(void **state) {
    (void)state;
    const soa_model *m = NULL;
    soa_work *w = NULL;
    double x[64] = {77};
    float xf[64] = {77}, qf[64] = {0};
    soa_body_def body[2] = {soa_body_default("arm", 0, SOA_REVOLUTE),
                            soa_body_default("tip", 1, SOA_REVOLUTE)};
    soa_body_box(body, 1, .1, .2, .3);
    for (int k = 0; k < 3; ++k) { /* no inertia at the tip; an exact rotor; a mimic joint */
        if (k) soa_body_box(body + 1, 1, .1, .2, .3);
        body[1].joint.rotor_inertia = k == 1 ? 1e-3 : 0;
        body[1].joint.gear_ratio = 10;
        body[1].joint.rotor_model = k == 1 ? SOA_ROTOR_EXACT : SOA_ROTOR_REFLECTED;
        body[1].joint.mimic = k == 2 ? 1 : body[1].joint.mimic;
        const soa_status wanted[] = {SOA_E_HINGE_SINGULAR, SOA_E_JOINT, SOA_E_MIMIC};
        const soa_model_def def = soa_model_default("refused", body, 2);
        soa_report report;
        if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
        OK(soa_work_create(m, &w));
        assert_int_equal(soa_fd_ud(m, w, &(soa_input){0}, x), wanted[k]);
        assert_int_equal(soa_work_failed_body(w), 2);
        assert_int_equal(soa_fd_ud_f(m, w, qf, NULL, NULL, NULL, xf), wanted[k]);
        assert_int_equal(soa_work_failed_body(w), 2);
        soa_work_free(w);
        soa_model_free(m);
    }
    OK(soa_stock_model_create("arm7", NULL, &m, NULL));
    OK(soa_work_create(m, &w));
    assert_int_equal(soa_fd_ud(m, w, NULL, x), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_ud(m, w, &(soa_input){0}, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_ud_f(m, w, NULL, NULL, NULL, NULL, xf), SOA_E_ARGUMENT);
    double q[7] = {0, NAN};
    float fext[42] = {0, INFINITY};
    assert_int_equal(soa_fd_ud(m, w, &(soa_input){.q = q}, x), SOA_E_NOT_FINITE);
    qf[2] = NAN;
    assert_int_equal(soa_fd_ud_f(m, w, qf, NULL, NULL, NULL, xf), SOA_E_NOT_FINITE);
    qf[2] = 0;
    assert_int_equal(soa_fd_ud_f(m, w, qf, NULL, NULL, fext, xf), SOA_E_NOT_FINITE);
    assert_int_equal(soa_work_failed_body(w), 1);
    assert_true(x[0] == 77 && xf[0] == 77);
    soa_work_free(w);
    soa_model_free(m);
}

int main(int argc, char **argv) {
    picture = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_of_all_joints), cmocka_unit_test(heavy_loads),
        cmocka_unit_test(updates_under_load), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
