/* test_fourbar.c  motions of closed chains: the pendulum (IFToMM A01), windows of four-bars through
 * their singular configurations (A02), a four-bar for 1,000 s, skew planes, energy with drives and
 * friction, and failures that name the constraint. */
#include "check.h"

#include "stock/closed.h"
#include "soa/soa.h"
#include "soa/world.h"

#define PI 3.14159265358979323846
enum { MOST = 16 };

static int sanitized(void) {
    const char *s = getenv("SOA_SANITIZE");
    return s && s[0];
}
static soai_mechanism make(const char *name, soa_joint_type closer, const soa_frame *turn) {
    soai_mechanism k;
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soai_mechanism_make(name, closer, turn, &k, &report)) fail_msg("%s: %s", name, report.text);
    return k;
}
static const soa_model *model_of(soa_body_def *bodies, int count) {
    soa_model_def def = soa_model_default("test", bodies, count);
    const soa_model *m = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    def.gravity[1] = -9.81;
    def.gravity[2] = 0;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    return m;
}
static soa_closed_sim_result simulate(soa_constraints *c, double *q, double *v,
                                      const soa_closed_sim_options *o) {
    soa_closed_sim_result r;
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soa_closed_simulate(c, q, v, o, &r, &report)) fail_msg("%s", report.text);
    return r;
}
static void tell(const char *what, const soa_closed_sim_result *r) {
    printf("  %s: %.6g s, %ld steps (%ld rejected, %ld again), %ld evaluations, %.2f s; g %.1e "
           "(%.1e before projection), "
           "rate %.1e, energy %.1e of %.3g J, rank %d to %d of %d, condition %.1e, %ld passages "
           "(relief %.0f)\n",
           what, r->t, r->steps, r->rejected, r->retries, r->evaluations, r->wall_time,
           r->position_error, r->drift_worst, r->rate_error, r->balance_worst, r->energy_scale,
           r->rank_least, r->rank_most, r->rows, r->condition_worst, r->passages, r->relief);
}
static soa_closed_sim_options fine(double duration) {
    soa_closed_sim_options o = soa_closed_sim_options_default();
    o.duration = duration;
    o.order = 8;
    o.relative_tolerance = 1e-12;
    o.absolute_tolerance = 1e-13;
    return o;
}

/* --- R4: the point mass on sliders, on a free joint (spinning, so that quaternions turn), and as a
 * hinged pendulum */
typedef struct marks {
    int found, x, y; /* coordinates of the mass; x < 0: a hinge, its angle from x */
    worst_case off;
} marks;
static bool at_mark(void *user, const soa_closed_sample *s) {
    static const double mark[4][3] = {{0.5, -0.391048791550546388, -0.920369948785192204},
                                      {1, 0.986291751131875319, -0.165010853125541169},
                                      {5, -0.942305435043757335, -0.334754338414000581},
                                      {10, -0.275087462576116860, -0.961419205099125064}};
    marks *m = user;
    const double got[2] = {m->x < 0 ? cos(s->q[0]) : s->q[m->x],
                           m->x < 0 ? sin(s->q[0]) : s->q[m->y]};
    for (int i = 0; i < 4; ++i) {
        if (fabs(s->t - mark[i][0]) <= 1e-12) {
            ++m->found;
            note(&m->off, relative(got, mark[i] + 1, 2), i);
        }
    }
    return 0;
}
static void pendulum(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; ++kind) {
        static const char *const name[3] = {"two sliders and a distance",
                                            "a free body and a distance", "a hinge"};
        soa_body_def b[2];
        double q[7] = {0}, v[6] = {0};
        marks m = {.x = 0, .y = 1};
        int count = 1;
        if (kind == 0) {
            b[0] = soa_body_default("x", 0, SOA_PRISMATIC);
            b[1] = soa_body_default("y", 1, SOA_PRISMATIC);
            b[0].joint.axis[0] = 1;
            b[0].joint.axis[2] = 0;
            b[1].joint.axis[1] = 1;
            b[1].joint.axis[2] = 0;
            b[1].mass = 1;
            count = 2;
            q[0] = -1;
        } else if (kind == 1) {
            b[0] = soa_body_default("ball", 0, SOA_FREE);
            soa_body_sphere(&b[0], 1, 0.1);
            b[0].inertia[0] *= 1.5;
            q[0] = -1;
            q[3] = 1;
            v[0] = 0.4;
            v[1] = 2;
            v[2] = -0.3;
        } else {
            b[0] = soa_body_default("rod", 0, SOA_REVOLUTE);
            b[0].mass = 1;
            b[0].com[0] = 1;
            q[0] = PI;
            m.x = -1;
        }
        const soa_model *model = model_of(b, count);
        soa_constraints *c = NULL;
        const soa_constraint_capacity room = {1, 6, 1};
        assert_int_equal(SOA_OK, soa_constraints_create(model, &room, &c));
        soa_body_info last;
        soa_model_body(model, count, &last);
        soa_constraint_def d = soa_constraint_default(SOA_DISTANCE, 0, last.frame);
        d.value = 1;
        d.name = "string";
        if (kind < 2) assert_int_equal(SOA_OK, soa_constraints_add(c, &d, NULL, NULL));
        soa_closed_sim_options o = fine(10);
        o.sample_time = 0.5;
        o.sample = at_mark;
        o.sample_user = &m;
        const soa_closed_sim_result r = simulate(c, q, v, &o);
        tell(name[kind], &r);
        assert_int_equal(4, m.found);
        conclude("the mass at 0.5, 1, 5 and 10 s", &m.off, 1e-9);
        assert_true(r.position_error <= 1e-14 && r.balance_worst <= 1e-10 * r.energy_scale);
        soa_constraints_free(c);
        soa_model_free(model);
    }
}

/* --- R5 --------------------------------------------------------------------------------------- */
static bool window_marks(void *user, const soa_closed_sample *s) {
    static const double mark[2][5] = {
        {1, -0.195020301949435, -0.980799205662174, -6.67667803688116, 1.32757832516049},
        {10, 0.328458111540815, 0.944518538178601, 1.42305147020694, -0.494868845487043}};
    worst_case *off = user;
    const double x = cos(s->q[0]), y = sin(s->q[0]), got[4] = {x, y, -y * s->v[0], x * s->v[0]};
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            if (fabs(s->t - mark[i][0]) <= 1e-12) note(off, fabs(got[j] - mark[i][1 + j]), i);
    return 0;
}
static void windows(void **unused) {
    (void)unused;
    const soa_frame skew = soa_frame_from_rpy(0.4, -0.7, 1.1, 0.3, -0.2, 0.5);
    static const struct {
        soa_joint_type closer;
        soa_closed_method method;
        int skew, order;
    } way[] = {
        {SOA_REVOLUTE, SOA_CLOSED_AUTO, 0, 8},    {SOA_REVOLUTE, SOA_CLOSED_FORCES, 0, 8},
        {SOA_SPHERICAL, SOA_CLOSED_FORCES, 0, 5}, {SOA_SPHERICAL, SOA_CLOSED_KKT, 0, 8},
        {SOA_REVOLUTE, SOA_CLOSED_FORCES, 1, 8},  {SOA_REVOLUTE, SOA_CLOSED_NULL_SPACE, 1, 8}};
    for (size_t n = 0; n < sizeof way / sizeof *way; ++n) {
        soai_mechanism k = make("windows:2", way[n].closer, way[n].skew ? &skew : NULL);
        soa_closed_sim_options o = fine(10);
        worst_case off = {0};
        o.sample_time = 1;
        o.order = way[n].order;
        o.closed.method = way[n].method;
        if (o.order == 5) {
            o.relative_tolerance = 1e-11;
            o.absolute_tolerance = 1e-12;
        }
        o.sample = window_marks;
        o.sample_user = &off;
        const soa_closed_sim_result r = simulate(k.constraints, k.q, k.v, &o);
        tell(way[n].skew ? "windows, skew" : "windows", &r);
        assert_int_equal(8, off.count);
        conclude("B0 and its velocity at 1 and 10 s", &off, 1e-6);
        assert_true(r.position_error <= 1e-10);
        assert_true(r.balance_worst <= 1e-8 * r.energy_scale);
        assert_true(r.passages > 0);
        soai_mechanism_free(&k);
    }
}
/* Steps of low order are too short to pass: they say so, and when. */
static void windows_low_order(void **unused) {
    (void)unused;
    for (int order = 2; order <= 4; ++order) {
        soai_mechanism k = make("windows:2", SOA_REVOLUTE, NULL);
        soa_closed_sim_options o = soa_closed_sim_options_default();
        soa_closed_sim_result r;
        soa_report report = {SOA_OK, -1, 0, ""};
        o.duration = 10;
        o.order = order;
        o.relative_tolerance = 1e-6;
        o.absolute_tolerance = 1e-7;
        assert_int_equal(SOA_E_SINGULAR,
                         soa_closed_simulate(k.constraints, k.q, k.v, &o, &r, &report));
        printf("  order %d: %s\n", order, report.text);
        assert_non_null(strstr(report.text, "loop"));
        assert_true(r.t > 0.5 && r.t < 0.7144); /* flat for the first time at 0.71436 s */
        soai_mechanism_free(&k);
    }
}
/* Exactly there: rows are lost and that is said; the accelerations obey the rows that are left. */
static void windows_flat(void **unused) {
    (void)unused;
    soai_mechanism k = make("windows:2", SOA_REVOLUTE, NULL);
    soa_work *w = NULL;
    assert_int_equal(SOA_OK, soa_work_create(k.model, &w));
    double qdd[4][5], G[50], gamma[10];
    for (int i = 0; i < 5; ++i) {
        k.q[i] = 0;
        k.v[i] = i < 3 ? -4 : 4;
    }
    assert_int_equal(SOA_OK,
                     soa_constraints_evaluate(k.constraints, w, &(soa_input){.q = k.q, .v = k.v},
                                              NULL, NULL, G, gamma));
    for (int method = SOA_CLOSED_AUTO; method <= SOA_CLOSED_NULL_SPACE; ++method) {
        soa_closed_options o = soa_closed_options_default();
        soa_closed_report report;
        o.method = (soa_closed_method)method;
        assert_int_equal(SOA_OK,
                         soa_closed_fd(k.constraints, w, &o, &(soa_input){.q = k.q, .v = k.v},
                                       qdd[method], NULL, &report));
        assert_int_equal(2, report.rank);
        assert_int_equal(8, report.redundant);
        assert_non_null(strstr(report.text, "loop"));
        for (int r = 0; r < 10; ++r) {
            double x = gamma[r];
            for (int j = 0; j < 5; ++j)
                x += G[5 * r + j] * qdd[method][j];
            assert_true(fabs(x) <= 1e-10);
        }
        assert_true(relative(qdd[method], qdd[0], 5) <= 1e-11);
    }
    soa_work_free(w);
    soai_mechanism_free(&k);
}

/* --- a four-bar for 1,000 s ------------------------------------------------------------------- */
static void thousand_seconds(void **unused) {
    (void)unused;
    soai_mechanism k = make("fourbar", SOA_REVOLUTE, NULL);
    soa_closed_sim_options o = fine(sanitized() ? 30 : 1000);
    const soa_closed_sim_result r = simulate(k.constraints, k.q, k.v, &o);
    tell("four-bar", &r);
    printf("  the crank turned by %.1f rad\n", k.q[0]);
    assert_true(r.position_error <= 1e-10);
    assert_true(r.rate_error <= 1e-10);
    assert_true(r.balance_worst <= 1e-8 * r.energy_scale);
    soai_mechanism_free(&k);
}

/* The same motion in the plane and in a skew one, by every method; and the order of the method is
 * kept. */
static void skew_plane(void **unused) {
    (void)unused;
    const soa_frame skew = soa_frame_from_rpy(0.7, 0.5, -2.1, 0.1, 2, -0.3);
    double q[4][3];
    worst_case apart = {0};
    for (int n = 0; n < 4; ++n) {
        soai_mechanism k = make("fourbar", n % 2 ? SOA_SPHERICAL : SOA_REVOLUTE, n ? &skew : NULL);
        soa_closed_sim_options o = fine(5);
        o.closed.method = n == 3 ? SOA_CLOSED_FORCES : SOA_CLOSED_AUTO;
        const soa_closed_sim_result r = simulate(k.constraints, k.q, k.v, &o);
        assert_int_equal(2, r.rank_least);
        assert_int_equal(2, r.rank_most);
        memcpy(q[n], k.q, sizeof q[n]);
        note(&apart, relative(q[n], q[0], 3), n);
        soai_mechanism_free(&k);
    }
    conclude("q after 5 s, skew planes and closers", &apart, 1e-9);
    double error[3];
    for (int n = 0; n < 3; ++n) { /* fixed steps: max_step with tolerances that never bind */
        soai_mechanism k = make("fourbar", SOA_REVOLUTE, NULL);
        soa_closed_sim_options o = fine(5);
        o.order = 4;
        o.max_step = 0.005 / (1 << n);
        o.relative_tolerance = o.absolute_tolerance = 1e-3;
        simulate(k.constraints, k.q, k.v, &o);
        error[n] = fabs(k.q[0] - q[0][0]);
        soai_mechanism_free(&k);
    }
    const double order = log(error[0] / error[2]) / log(4);
    printf("  order 4 with projection: errors %.1e %.1e %.1e, observed order %.2f\n", error[0],
           error[1], error[2], order);
    assert_true(order > 3.5);
}

/* --- energy with drives, efforts and friction; failures --------------------------------------- */
static void turning(void *user, double t, double out[3]) { /* an angle: start + speed t + wobble */
    const double *start = user;
    out[0] = start[0] + start[1] * t + 0.1 * (1 - cos(3 * t));
    out[1] = start[1] + 0.3 * sin(3 * t);
    out[2] = 0.9 * cos(3 * t);
}
static soa_status push(void *user, double t, const double *q, const double *v, double *tau) {
    (void)user;
    tau[0] += 0.5 * sin(2 * t) - 0.1 * v[0];
    tau[1] += 0.2 * cos(q[1]);
    return SOA_OK;
}
static void energy(void **unused) {
    (void)unused;
    for (int driven = 0; driven < 2; ++driven) {
        soai_mechanism k = make("fourbar", SOA_REVOLUTE, NULL);
        const soa_constraint_capacity room = {2, 12, 1};
        soa_constraints *c = NULL;
        assert_int_equal(SOA_OK, soa_constraints_create(k.model, &room, &c));
        soa_constraint_def loop, drive = soa_constraint_default(SOA_RATIO, 0, 0);
        double start[2] = {k.q[0], 2}, effort = 0.7;
        int number;
        assert_int_equal(SOA_OK, soa_constraints_get_def(k.constraints, 0, &loop));
        loop.damping = 0.3;
        assert_int_equal(SOA_OK, soa_constraints_add(c, &loop, &number, NULL));
        assert_int_equal(SOA_OK, soa_constraints_set_effort(c, number, &effort));
        drive.coordinate[0] = 1;
        drive.coefficient[0] = 1;
        drive.drive = turning;
        drive.user = start;
        drive.name = "motor";
        if (driven) assert_int_equal(SOA_OK, soa_constraints_add(c, &drive, NULL, NULL));
        soa_closed_sim_options o = fine(5);
        o.torque = push;
        const soa_closed_sim_result r = simulate(c, k.q, k.v, &o);
        tell(driven ? "driven four-bar" : "pushed four-bar", &r);
        printf("  supplied %.6g J, dissipated %.6g J\n", r.supplied, r.dissipated);
        assert_true(r.dissipated > 0.1);
        assert_true(r.balance_worst <= 1e-9 * r.energy_scale);
        double angle[3];
        turning(start, 5, angle);
        if (driven)
            assert_true(fabs(k.q[0] - angle[0]) <= 1e-12 && fabs(k.v[0] - angle[1]) <= 1e-12);
        soa_constraints_free(c);
        soai_mechanism_free(&k);
    }
}

/* Without projection the loop drifts open; Baumgarte's terms hold it, projection closes it. */
static void drift(void **unused) {
    (void)unused;
    double open[3];
    for (int n = 0; n < 3; ++n) {
        soai_mechanism k = make("fourbar", SOA_REVOLUTE, NULL);
        soa_closed_sim_options o = soa_closed_sim_options_default();
        o.duration = 20;
        o.relative_tolerance = 1e-6;
        o.absolute_tolerance = 1e-7;
        o.no_projection = n < 2;
        if (n == 1) {
            o.closed.baumgarte[0] = 40;
            o.closed.baumgarte[1] = 400;
        }
        open[n] = simulate(k.constraints, k.q, k.v, &o).position_error;
        soai_mechanism_free(&k);
    }
    printf(
        "  largest |g| in 20 s at tolerance 1e-6: drifting %.1e, Baumgarte %.1e, projected %.1e\n",
        open[0], open[1], open[2]);
    assert_true(open[0] > 10 * open[1] && open[1] < 1e-4 && open[2] < 1e-13);
}

/* Many windows: loops that share no tree are swept together (SOA_CLOSED_FORCES); the dense methods
 * do not know. */
static void many_windows(void **unused) {
    (void)unused;
    enum { N = 12, NV = 2 * N + 1, ROWS = 6 * N };
    double apart = 0, size = 0;
    static const soa_joint_type closer[2] = {SOA_SPHERICAL, SOA_REVOLUTE};
    for (int n = 0; n < 2; ++n) {
        soai_mechanism k = make("windows:12", closer[n], NULL);
        soa_work *w = NULL;
        double v[NV], tau[NV], a[2][NV], lambda[2][ROWS], pull[2][NV] = {{0}}, G[ROWS * NV];
        assert_int_equal(NV, soa_model_nv(k.model));
        assert_int_equal(SOA_OK, soa_work_create(k.model, &w));
        for (int j = 0; j < NV; ++j) {
            v[j] = sin(j);
            tau[j] = 20 * cos(3 * j);
        }
        assert_int_equal(SOA_OK, soa_closed_project(k.constraints, w, 0, k.q, v, NULL));
        for (int i = 0; i < 2; ++i) {
            soa_closed_options o = soa_closed_options_default();
            o.method = i ? SOA_CLOSED_KKT : SOA_CLOSED_FORCES;
            assert_int_equal(SOA_OK, soa_closed_fd(k.constraints, w, &o,
                                                   &(soa_input){.q = k.q, .v = v, .tau = tau}, a[i],
                                                   lambda[i], NULL));
        }
        assert_int_equal(SOA_OK,
                         soa_constraints_evaluate(k.constraints, w, &(soa_input){.q = k.q, .v = v},
                                                  NULL, NULL, G, NULL));
        for (int i = 0; i < 2; ++i)
            for (int r = 0; r < soa_constraints_row_count(k.constraints); ++r)
                for (int j = 0; j < NV; ++j)
                    pull[i][j] += G[NV * r + j] * lambda[i][r];
        for (int j = 0; j < NV; ++j) {
            size = fmax(size, fmax(fabs(a[1][j]), fabs(pull[1][j])));
            apart = fmax(apart, fmax(fabs(a[0][j] - a[1][j]), fabs(pull[0][j] - pull[1][j])));
        }
        soa_work_free(w);
        soai_mechanism_free(&k);
    }
    printf("  12 windows: swept together and dense apart by %.1e of %.1f\n", apart, size);
    assert_true(apart <= 1e-10 * size && size > 1);
}

static void failures(void **unused) {
    (void)unused;
    soa_closed_sim_options o = fine(5);
    soa_closed_sim_result r;
    soa_report report;
    /* a rocker driven beyond where the linkage can follow */
    soai_mechanism k = make("fourbar", SOA_REVOLUTE, NULL);
    const soa_constraint_capacity room = {2, 12, 1};
    soa_constraints *c = NULL;
    soa_constraint_def loop, drive = soa_constraint_default(SOA_RATIO, 0, 0);
    assert_int_equal(SOA_OK, soa_constraints_create(k.model, &room, &c));
    assert_int_equal(SOA_OK, soa_constraints_get_def(k.constraints, 0, &loop));
    assert_int_equal(SOA_OK, soa_constraints_add(c, &loop, NULL, NULL));
    double start[2] = {k.q[2], 2};
    drive.coordinate[0] = 3;
    drive.coefficient[0] = 1;
    drive.drive = turning;
    drive.user = start;
    drive.name = "motor";
    assert_int_equal(SOA_OK, soa_constraints_add(c, &drive, NULL, NULL));
    double q[MOST], v[MOST] = {0};
    memcpy(q, k.q, 3 * sizeof *q);
    const soa_status beyond = soa_closed_simulate(c, q, v, &o, &r, &report);
    printf("  %s\n", report.text);
    assert_int_not_equal(SOA_OK, beyond);
    assert_non_null(strstr(report.text, "t = "));
    assert_true(strstr(report.text, "motor") || strstr(report.text, "loop1"));
    assert_true(r.t > 0 && r.t < 5 && r.steps > 0);
    assert_memory_equal(q, k.q, 3 * sizeof *q); /* left alone */
    /* open at the start */
    q[2] += 0.1;
    assert_int_equal(SOA_E_INCONSISTENT, soa_closed_simulate(k.constraints, q, v, &o, &r, &report));
    printf("  %s\n", report.text);
    assert_non_null(strstr(report.text, "loop1"));
    q[2] = NAN;
    assert_int_equal(SOA_E_NOT_FINITE, soa_closed_simulate(k.constraints, q, v, &o, &r, &report));
    /* friction of a cut joint is put back, also after a failure */
    loop.friction = 1;
    loop.name = "rubbing";
    assert_int_equal(SOA_OK, soa_constraints_remove(c, 0));
    assert_int_equal(SOA_OK, soa_constraints_add(c, &loop, NULL, NULL));
    assert_int_not_equal(SOA_OK, soa_closed_simulate(c, k.q, v, &o, &r, &report));
    assert_int_equal(SOA_OK, soa_constraints_get_def(c, 0, &loop));
    assert_true(loop.friction == 1);
    /* what makes no sense */
    assert_int_equal(SOA_E_ARGUMENT, soa_closed_simulate(NULL, k.q, v, &o, &r, &report));
    o.order = 7;
    assert_int_equal(SOA_E_ARGUMENT, soa_closed_simulate(k.constraints, k.q, v, &o, &r, &report));
    o = fine(NAN);
    assert_int_equal(SOA_E_ARGUMENT, soa_closed_simulate(k.constraints, k.q, v, &o, &r, &report));
    o = fine(5);
    o.max_steps = 3;
    assert_int_equal(SOA_E_NO_CONVERGENCE,
                     soa_closed_simulate(k.constraints, k.q, v, &o, &r, &report));
    soa_constraints_free(c);
    soai_mechanism_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum),          cmocka_unit_test(windows),
        cmocka_unit_test(windows_flat),      cmocka_unit_test(thousand_seconds),
        cmocka_unit_test(skew_plane),        cmocka_unit_test(energy),
        cmocka_unit_test(windows_low_order), cmocka_unit_test(drift),
        cmocka_unit_test(failures),          cmocka_unit_test(many_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
