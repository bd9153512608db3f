/* test_grasp_simulate.c  motions of grasps: slipping and breaking as events, closing, opening;
 * sliding. */
#include "floating_arms.h"
#include "soa/world.h"

static const double half_pi = 1.57079632679489661923;

/* --- a box between two fingers on a lift ------------------------------------------------------ */

typedef struct squeeze {
    double mass, all, friction; /* of the box, of everything                     */
    double force, fall;         /* squeeze at t = 0 and how fast it is lowered   */
    double shake, rate;         /* acceleration of the lift: shake * sin(rate t) */
    soa_grasp_answer answer;
    double slip[2];
    int number[2], count;
    soa_contact_event kind[2];
} squeeze;

static soa_status hands(void *user, double t, const double *q, const double *v, double *tau) {
    const squeeze *k = user;
    (void)q;
    (void)v;
    tau[0] = k->all * (9.81 + k->shake * sin(k->rate * t));
    tau[1] = k->force - k->fall * t;
    tau[2] = -tau[1];
    return SOA_OK;
}
static soa_grasp_answer answer(void *user, const soa_grasp_event *event) {
    squeeze *k = user;
    if (k->count < 2) {
        k->slip[k->count] = event->t;
        k->number[k->count] = event->contact;
        k->kind[k->count++] = event->check->event;
    }
    return k->answer;
}
static const soa_model *lift_and_box(squeeze *k) {
    soa_body_def body[4] = {
        soa_body_default("lift", 0, SOA_PRISMATIC), soa_body_default("left", 1, SOA_PRISMATIC),
        soa_body_default("right", 1, SOA_PRISMATIC), soa_body_default("box", 0, SOA_FREE)};
    const double mass[4] = {5, 0.5, 0.5, 2};
    for (int i = 0; i < 4; ++i)
        soa_body_box(&body[i], mass[i], 0.2, 0.1, 0.15);
    for (int i = 1; i < 3; ++i) {
        body[i].joint.axis[0] = 1;
        body[i].joint.axis[2] = 0;
    }
    soa_model_def def = soa_model_default("lift", body, 4);
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    k->mass = 2;
    k->all = 8;
    return m;
}
static soa_grasp *hold(const soa_model *m, soa_contact_type type, double friction) {
    soa_grasp *g = NULL;
    soa_report report;
    assert_int_equal(SOA_OK, soa_grasp_create(m, 2, &g));
    for (int i = 0; i < 2; ++i) {
        soa_contact_def c = soa_contact_default(type, soa_model_find_frame(m, i ? "right" : "left"),
                                                soa_model_find_frame(m, "box"));
        c.place_arm = c.place_object =
            soa_frame_from_rpy(0, i ? -half_pi : half_pi, 0, i ? 0.1 : -0.1, 0, 0);
        c.one_sided = true;
        c.friction = friction;
        if (soa_grasp_add(g, &c, NULL, &report)) fail_msg("%s", report.text);
    }
    return g;
}
/* The first time at which the box is too heavy for the squeeze: m (g + a) / 2 = friction *
 * squeeze. */
static double expected_slip(const squeeze *k) {
    double a = 0, step = 1e-4;
#define SPARE(t)                                \
    (k->friction * (k->force - k->fall * (t)) - \
     k->mass * (9.81 + k->shake * sin(k->rate * (t))) / 2)
    while (SPARE(a + step) > 0)
        a += step;
    double b = a + step;
    for (int i = 0; i < 60; ++i) {
        const double half = (a + b) / 2;
        if (SPARE(half) > 0)
            a = half;
        else
            b = half;
    }
#undef SPARE
    return a;
}

static void slipping(void **unused) {
    (void)unused;
    static const soa_contact_type type[2] = {SOA_CONTACT_POINT, SOA_CONTACT_SOFT_FINGER};
    double worst = 0;
    for (int shaken = 0; shaken < 2; ++shaken)
        for (int which = 0; which < 2; ++which) {
            squeeze k = {.friction = 0.6,
                         .force = 60,
                         .fall = 30,
                         .shake = shaken ? 4 : 0,
                         .rate = 7,
                         .answer = SOA_GRASP_STOP};
            const soa_model *m = lift_and_box(&k);
            soa_grasp *g = hold(m, type[which], k.friction);
            double q[16], v[16] = {0};
            soa_q_neutral(m, q);
            soa_grasp_sim_options o = soa_grasp_sim_options_default();
            soa_grasp_sim_result r;
            soa_report report;
            o.duration = 5;
            o.torque = hands;
            o.torque_user = &k;
            o.event = answer;
            o.event_user = &k;
            o.relative_tolerance = 1e-10;
            if (soa_grasp_simulate(g, q, v, &o, &r, &report)) fail_msg("%s", report.text);
            const double when = expected_slip(&k);
            printf(
                "  %s%s: slips at %.12f s (%.12f), contact %d, balance %.1e of %.1f J, gap %.1e\n",
                which ? "soft finger" : "point", shaken ? ", shaken" : "", r.t, when,
                r.last.contact, r.balance_worst, r.energy_scale, r.position_error);
            worst = fmax(worst, fabs(r.t - when));
            assert_true(r.stopped && r.events == 1 && r.last_event == SOA_CONTACT_SLIPS &&
                        k.kind[0] == SOA_CONTACT_SLIPS);
            assert_true(fabs(r.t - r.last.t) < 1e-12 && r.position_error < 1e-12 &&
                        r.balance_worst < 1e-7);
            soa_grasp_free(g);
            soa_model_free(m);
        }
    printf("  slip times off by %.1e s\n", worst);
    assert_true(worst < 1e-8);
}

/* Let go, the box falls freely; ignored, the grasp goes on as if glued. */
static void letting_go(void **unused) {
    (void)unused;
    for (int glue = 0; glue < 2; ++glue) {
        squeeze k = {.friction = 0.6,
                     .force = 60,
                     .fall = 30,
                     .answer = glue ? SOA_GRASP_IGNORE : SOA_GRASP_RELEASE};
        const soa_model *m = lift_and_box(&k);
        soa_grasp *g = hold(m, SOA_CONTACT_POINT, k.friction);
        double q[16], v[16] = {0};
        soa_q_neutral(m, q);
        v[0] = v[8] = 1; /* all rise: lift; the box's third linear rate */
        soa_grasp_sim_options o = soa_grasp_sim_options_default();
        soa_grasp_sim_result r;
        soa_report report;
        o.duration = 1.8;
        o.torque = hands;
        o.torque_user = &k;
        o.event = answer;
        o.event_user = &k;
        o.relative_tolerance = 1e-10;
        if (soa_grasp_simulate(g, q, v, &o, &r, &report)) fail_msg("%s", report.text);
        const double when = expected_slip(&k), fall = o.duration - when;
        printf("  %s: %ld events, %ld released at %.9f and %.9f s; the box's speed upward %.9f, "
               "after a free fall %.9f\n",
               glue ? "ignored" : "released", r.events, r.releases, k.slip[0], k.slip[1], v[8],
               1 - 9.81 * fall);
        assert_int_equal(glue ? 2 : 0, soa_grasp_contact_count(g, NULL));
        assert_true(r.events == 2 && fabs(k.slip[0] - when) < 1e-8 &&
                    r.balance_worst < 1e-6 * r.energy_scale);
        if (glue) {
            assert_true(fabs(v[8] - 1) < 1e-8 && r.releases == 0);
        } else {
            /* one finger alone cannot hold it */
            assert_true(r.releases == 2 && k.slip[1] - k.slip[0] < 1e-9);
            assert_true(fabs(v[8] - (1 - 9.81 * fall)) < 1e-7);
        }
        soa_grasp_free(g);
        soa_model_free(m);
    }
}

/* --- a box on a table: four corners slide without friction ------------------------------------ */

static soa_status shove(void *user, double t, const double *q, const double *v, double *tau) {
    (void)user;
    (void)q;
    (void)v;
    tau[3] = 8 * t;
    tau[1] = 0.12 * 8 * t; /* 0.12 m above the middle */
    tau[2] = 0.05;
    return SOA_OK;
}
static void sliding_and_tipping(void **unused) {
    (void)unused;
    soa_body_def body = soa_body_default("box", 0, SOA_FREE);
    soa_body_box(&body, 2, 0.4, 0.3, 0.3);
    const soa_model_def def = soa_model_default("box", &body, 1);
    const soa_model *m = NULL;
    soa_grasp *g = NULL;
    soa_report report;
    assert_int_equal(SOA_OK, soa_model_create(&def, &m, NULL));
    assert_int_equal(SOA_OK, soa_grasp_create(m, 4, &g));
    for (int i = 0; i < 4; ++i) {
        soa_contact_def c =
            soa_contact_default(SOA_CONTACT_SLIDING_POINT, 0, soa_model_find_frame(m, "box"));
        c.axes_on_arm = c.one_sided = true;
        c.place_object.p[0] = i & 1 ? 0.2 : -0.2;
        c.place_object.p[1] = i & 2 ? 0.15 : -0.15;
        c.place_object.p[2] = -0.15;
        if (soa_grasp_add(g, &c, NULL, &report)) fail_msg("%s", report.text);
        soa_constraint_def row[2];
        int count = 0;
        assert_int_equal(SOA_OK, soa_grasp_contact_constraints(g, i, row, &count));
        assert_true(count == 1 && row[0].kind == SOA_PLANE);
    }
    double q[7], v[6] = {0, 0, 0.7, 0.3, -0.2, 0};
    soa_q_neutral(m, q);
    q[2] = 0.15;
    soa_grasp_sim_options o = soa_grasp_sim_options_default();
    soa_grasp_sim_result r;
    o.duration = 5;
    o.torque = shove;
    o.relative_tolerance = 1e-9;
    if (soa_grasp_simulate(g, q, v, &o, &r, &report)) fail_msg("%s", report.text);
    const double when = 2 * 9.81 * 0.2 / (8 * 0.12); /* m g b = force * height */
    printf("  box shoved: a corner lifts at %.10f s (%.10f), gap %.1e m, balance %.1e of %.1f J; "
           "turned by %.2f rad\n",
           r.t, when, r.position_error, r.balance_worst, r.energy_scale, 2 * acos(q[3]));
    assert_true(r.stopped && r.last_event == SOA_CONTACT_BREAKS && fabs(r.t - when) < 1e-8);
    assert_true(r.position_error < 1e-13 && fabs(q[2] - 0.15) < 1e-13 &&
                r.balance_worst < 1e-6 * r.energy_scale);
    soa_grasp_free(g);
    soa_model_free(m);
}

/* --- momentum, over closing and letting go ---------------------------------------------------- */

enum { ARM = 4 };
typedef struct watcher {
    const soa_model *m;
    soa_work *w;
    int started;
    double start[6], off, size;
} watcher;
static bool momentum_kept(void *user, const soa_grasp_sample *s) {
    watcher *k = user;
    double h[6]; /* about the centre of mass */
    assert_int_equal(SOA_OK, soa_momentum(k->m, k->w, s->q, s->v, h, NULL));
    if (!k->started) {
        memcpy(k->start, h, sizeof h);
        k->started = 1;
    }
    for (int i = 0; i < 6; ++i) {
        k->size = fmax(k->size, fabs(h[i]));
        if (!(fabs(h[i] - k->start[i]) <= k->off)) k->off = fabs(h[i] - k->start[i]);
    }
    return 0;
}
static soa_status motors(void *user, double t, const double *q, const double *v, double *tau) {
    (void)user;
    (void)q;
    (void)v;
    for (int i = 0; i < 2 * ARM; ++i)
        tau[6 + i] = 1.5 * sin((0.3 + 0.11 * i) * t + i);
    return SOA_OK;
}
static void momentum(void **unused) {
    (void)unused;
    static const soa_contact_type type[5] = {SOA_CONTACT_POINT, SOA_CONTACT_RIGID, SOA_CONTACT_LINE,
                                             SOA_CONTACT_SLIDING_FACE, SOA_CONTACT_SLIDING_POINT};
    const char *slow = getenv("SOA_SANITIZE");
    const int step = slow && slow[0] ? 4 : 1; /* points and sliding points only */
    double worst = 0;
    for (int which = 0; which < 5; which += step) {
        watcher k = {.m = floating_arms(ARM, 40, 8)};
        soa_grasp *g = NULL;
        soa_work *w = NULL;
        soa_report report;
        assert_int_equal(SOA_OK, soa_work_create(k.m, &k.w));
        assert_int_equal(SOA_OK, soa_work_create(k.m, &w));
        assert_int_equal(SOA_OK, soa_grasp_create(k.m, 2, &g));
        double q[64], v[64] = {0};
        soa_q_neutral(k.m, q);
        for (int i = 0; i < 2 * ARM; ++i)
            q[7 + i] = (i < ARM ? -1 : 1) * 0.15 * (1 + i % 3);
        q[7 + 2 * ARM] = 2.2;
        q[7 + 2 * ARM + 2] = 0.1;
        assert_int_equal(SOA_OK, soa_kinematics(k.m, w, q, NULL, NULL));
        const int held = soa_model_find_frame(k.m, "object");
        soa_frame at;
        soa_pose(k.m, w, held, &at);
        at = soa_frame_inverse(&at);
        for (int arm = 0; arm < 2; ++arm) {
            char name[16];
            snprintf(name, sizeof name, "%s%d", arm ? "right" : "left", ARM);
            soa_contact_def c =
                soa_contact_default(type[which], soa_model_find_frame(k.m, name), held);
            soa_frame tip;
            c.place_arm.p[0] = 0.3;
            soa_pose(k.m, w, c.arm, &tip);
            tip = soa_frame_compose(&tip, &c.place_arm);
            c.place_object = soa_frame_compose(&at, &tip);
            int number;
            if (soa_grasp_add(g, &c, &number, &report)) fail_msg("%s", report.text);
            soa_grasp_switch(g, number, 0);
        }
        for (int i = 0; i < 6; ++i)
            v[6 + 2 * ARM + i] = 0.4 - 0.15 * i; /* the object comes flying */
        const soa_grasp_change changes[4] = {{0, 0, 1}, {0, 1, 1}, {0.6, 0, 0}, {1.1, 1, 0}};
        soa_grasp_sim_options o = soa_grasp_sim_options_default();
        soa_grasp_sim_result r;
        o.duration = 1.6;
        o.torque = motors;
        o.relative_tolerance = 1e-11;
        o.absolute_tolerance = 1e-12;
        o.order = 8;
        o.sample = momentum_kept;
        o.sample_user = &k;
        o.changes = changes;
        o.change_count = 4;
        if (soa_grasp_simulate(g, q, v, &o, &r, &report)) fail_msg("%s", report.text);
        printf("  caught by two hands, let go at 0.6 and 1.1 s: momentum off by %.1e of %.1f, %.3f "
               "J lost in catching, "
               "balance %.1e, %ld steps\n",
               k.off, k.size, r.lost, r.balance_worst, r.steps);
        assert_true(k.started && k.off < 1e-9 * k.size && r.lost > 1e-3 &&
                    r.balance_worst < 1e-8 * r.energy_scale);
        assert_true(r.closures == 2 && r.releases == 2 && r.position_error < 1e-12);
        worst = fmax(worst, r.position_error);
        soa_grasp_free(g);
        soa_work_free(w);
        soa_work_free(k.w);
        soa_model_free(k.m);
    }
    printf("  contacts of five types, sliding ones too, open by %.1e at most\n", worst);
}

static void refusals(void **unused) {
    (void)unused;
    squeeze k = {.friction = 0.6, .force = 60};
    const soa_model *m = lift_and_box(&k);
    soa_grasp *g = hold(m, SOA_CONTACT_POINT, 0.6);
    double q[16], v[16] = {0}, open[16];
    soa_q_neutral(m, q);
    memcpy(open, q, sizeof q);
    open[3] += 0.05;
    soa_grasp_sim_options o = soa_grasp_sim_options_default();
    soa_grasp_sim_result r;
    soa_report report;
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(NULL, q, v, &o, &r, &report));
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(g, q, v, &o, NULL, &report));
    assert_int_equal(SOA_E_INCONSISTENT, soa_grasp_simulate(g, open, v, &o, &r, &report));
    assert_non_null(strstr(report.text, "open by 0.05"));
    open[3] = NAN;
    assert_int_equal(SOA_E_NOT_FINITE, soa_grasp_simulate(g, open, v, &o, &r, &report));
    o.order = 7;
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(g, q, v, &o, &r, &report));
    o = soa_grasp_sim_options_default();
    o.duration = NAN;
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(g, q, v, &o, &r, &report));
    const soa_grasp_change bad = {0, 7, 1}, late[2] = {{1, 0, 0}, {0.5, 1, 0}};
    o = soa_grasp_sim_options_default();
    o.changes = &bad;
    o.change_count = 1;
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(g, q, v, &o, &r, &report));
    o.changes = late;
    o.change_count = 2;
    assert_int_equal(SOA_E_ARGUMENT, soa_grasp_simulate(g, q, v, &o, &r, &report));
    o = soa_grasp_sim_options_default();
    o.torque = hands;
    o.torque_user = &k;
    k.force = 1; /* it slips at once, and the default is to stop */
    assert_int_equal(SOA_OK, soa_grasp_simulate(g, q, v, &o, &r, &report));
    assert_true(r.stopped && r.t == 0 && r.events == 1);
    soa_grasp_free(g);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slipping), cmocka_unit_test(letting_go),
                                       cmocka_unit_test(sliding_and_tipping),
                                       cmocka_unit_test(momentum), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
