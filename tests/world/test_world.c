/* test_world.c  motions: closed forms of sliding and sticking, energy balance, determinism,
 * pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

#define PI 3.14159265358979323846
#define OK(call) assert_int_equal(call, SOA_OK)

/* Fails unless |got - expected| <= tolerance, so NaN fails. */
static void near(const char *what, double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s: got %.17g, expected %.17g, off by %.3g, allowed %.3g", what, got, expected,
                 got - expected, tolerance);
}

static const soa_model *stock(const char *name) {
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_stock_model_create(name, NULL, &model, &report);
    if (status != SOA_OK) fail_msg("%s: %s", name, report.text);
    return model;
}

static soa_sim_result simulate(const soa_model *model, const double *q, const double *v,
                               const soa_sim_options *o) {
    soa_sim_result result;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_simulate(model, q, v, o, &result, &report);
    if (status != SOA_OK) fail_msg("%s: %s", soa_model_name(model), report.text);
    return result;
}

/* The last sample, and a checksum of all. */
typedef struct last {
    int nq, nv;
    double t, q[64], v[64];
    uint64_t hash;
    long stop_after, count;
} last;

static bool keep(void *user, const soa_sim_sample *s) {
    last *l = user;
    l->t = s->t;
    memcpy(l->q, s->q, (size_t)l->nq * sizeof(double));
    memcpy(l->v, s->v, (size_t)l->nv * sizeof(double));
    for (int i = 0; i < l->nq + l->nv + 2; i++) {
        double x;
        if (i < l->nq) {
            x = s->q[i];
        } else if (i < l->nq + l->nv) {
            x = s->v[i - l->nq];
        } else if (i == l->nq + l->nv) {
            x = s->balance;
        } else {
            x = s->t;
        }
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        l->hash = (l->hash ^ bits) * 1099511628211u;
    }
    return ++l->count == l->stop_after;
}

static soa_sim_options watched(const soa_model *model, double duration, last *l) {
    *l = (last){.nq = soa_model_nq(model), .nv = soa_model_nv(model)};
    assert_true(l->nq <= 64 && l->nv <= 64);
    soa_sim_options o = soa_sim_options_default();
    o.duration = duration;
    o.sample = keep;
    o.sample_user = l;
    return o;
}

/* 2 kg on a slide along x with Coulomb friction. */
static const soa_model *slider(double up, double down, double stiffness) {
    soa_body_def block = soa_body_default("block", 0, SOA_PRISMATIC);
    block.joint.axis[0] = 1;
    block.joint.axis[2] = 0;
    block.joint.friction_positive = up;
    block.joint.friction_negative = down;
    block.joint.stiffness = stiffness;
    soa_body_box(&block, 2, 0.1, 0.1, 0.1);
    soa_model_def def = soa_model_default("slider", &block, 1);
    const soa_model *model = NULL;
    OK(soa_model_create(&def, &model, NULL));
    return model;
}

/* --- one block: everything in closed form ----------------------------------------------------- */

static void block_stops(void **state) {
    (void)state;
    const soa_model *model = slider(3, 5, 0);
    last l;
    soa_sim_options o = watched(model, 4, &l);
    for (int way = 1; way >= -1; way -= 2) {
        const double q = 0, v = 2 * way, force = way > 0 ? 3 : 5;
        soa_sim_result r = simulate(model, &q, &v, &o);
        near("where it stops", l.q[0], way * 2 * 4 / (2 * force), 1e-8);
        near("rest", l.v[0], 0, 0);
        near("Coulomb loss", r.coulomb, 4, 1e-8);
        near("balance", r.balance_worst, 0, 1e-8);
        assert_int_equal(r.stops, 1);
        assert_int_equal(r.releases, 0);
    }
    soa_model_free(model);
}

/* A spring pulls it to and fro; each half swing loses 2 f/k; it sticks where the spring is weaker
 * than friction. */
static void block_on_spring(void **state) {
    (void)state;
    const double k = 50, f = 3, start = 0.5;
    const soa_model *model = slider(f, f, k);
    last l;
    soa_sim_options o = watched(model, 5, &l);
    soa_sim_result r = simulate(model, &start, NULL, &o);
    double x = start;
    int halves = 0;
    while (k * fabs(x) > f) {
        x = -x + (x > 0 ? 1 : -1) * 2 * f / k;
        halves++;
    }
    near("where it sticks", l.q[0], x, 1e-8);
    assert_int_equal(r.stops, halves);
    near("potential", r.potential, 0.5 * k * x * x, 1e-8);
    near("Coulomb loss", r.coulomb, 0.5 * k * (start * start - x * x), 1e-8);
    near("balance", r.balance_worst / r.energy_scale, 0, 1e-8);

    /* too weak a spring from the start: it never moves */
    const double near_rest = 0.059;
    r = simulate(model, &near_rest, NULL, &o);
    near("stuck", l.q[0], near_rest, 0);
    assert_int_equal(r.stops, 0);
    soa_model_free(model);
}

static soa_status ramp(void *user, double t, const double *q, const double *v, double *tau) {
    (void)q;
    (void)v;
    tau[0] = *(double *)user * t;
    return SOA_OK;
}

/* A growing force breaks it loose when it reaches the friction: m v = s (t - t0)^2 / 2 with s t0 =
 * f. */
static void block_breaks_loose(void **state) {
    (void)state;
    const soa_model *model = slider(3, 5, 0);
    for (int way = 1; way >= -1; way -= 2) {
        double slope = 2 * way, f = way > 0 ? 3 : 5, t0 = f / 2, T = 4;
        const double q = 0;
        last l;
        soa_sim_options o = watched(model, T, &l);
        o.torque = ramp;
        o.torque_user = &slope;
        soa_sim_result r = simulate(model, &q, NULL, &o);
        near("speed", l.v[0], way * (T - t0) * (T - t0) / 2, 1e-7);
        near("place", l.q[0], way * (T - t0) * (T - t0) * (T - t0) / 6, 1e-7);
        near("balance", r.balance_worst / r.energy_scale, 0, 1e-8);
        assert_true(r.supplied > 0);
        assert_int_equal(r.releases, 1);
        assert_int_equal(r.stops, 0);
    }
    soa_model_free(model);
}

/* --- machines --------------------------------------------------------------------------------- */

static const double qn[6] = {0, PI / 4, PI, 0, PI / 4, 0};

static void puma_drop(void **state) {
    (void)state;
    const soa_model *model = stock("puma560");
    last l, finer;
    soa_sim_options o = watched(model, 2, &l);
    soa_sim_result r = simulate(model, qn, NULL, &o);
    near("time", r.t, 2, 0);
    near("balance / energy", r.balance_worst / r.energy_scale, 0, 1e-7);
    assert_true(r.coulomb > 0 && r.viscous > 0 && r.potential < r.potential_start &&
                r.samples == 401);

    /* a tighter run ends at the same place */
    soa_sim_options tight = watched(model, 2, &finer);
    tight.relative_tolerance = 1e-12;
    tight.absolute_tolerance = 1e-13;
    tight.order = 8;
    soa_sim_result t = simulate(model, qn, NULL, &tight);
    assert_int_equal(t.stops, r.stops);
    assert_int_equal(t.releases, r.releases);
    for (int i = 0; i < 6; i++)
        near("q at 2 s", l.q[i], finer.q[i], 1e-6);
    near("tight balance / energy", t.balance_worst / t.energy_scale, 0, 1e-10);
    printf("puma560 drop: balance %.1e of %.1f J, %ld steps, %ld stops, %ld releases; tight %.1e\n",
           r.balance_worst / r.energy_scale, r.energy_scale, r.steps, r.stops, r.releases,
           t.balance_worst / t.energy_scale);
    soa_model_free(model);
}

static void same_bits(void **state) {
    (void)state;
    const soa_model *model = stock("puma560");
    last first, second;
    soa_sim_options o = watched(model, 1, &first);
    soa_sim_result a = simulate(model, qn, NULL, &o);
    o = watched(model, 1, &second);
    soa_sim_result b = simulate(model, qn, NULL, &o);
    assert_true(first.hash == second.hash);
    assert_int_equal(a.steps, b.steps);
    assert_int_equal(a.evaluations, b.evaluations);
    soa_model_free(model);
}

/* Every joint type, mimic joints, springs, rotors and friction of all kinds. */
static void random_machines(void **state) {
    (void)state;
    double worst = 0;
    long stops = 0, releases = 0;
    for (int seed = 0; seed < 40; seed++) {
        char name[32];
        snprintf(name, sizeof name, "random:%d", seed);
        const soa_model *model = stock(name);
        double *q = calloc((size_t)(soa_model_nq(model) + soa_model_nv(model) + 1), sizeof(double)),
               *v = q + soa_model_nq(model);
        assert_non_null(q);
        soa_q_neutral(model, q);
        for (int i = 0; i < soa_model_nv(model); i++)
            v[i] = (i * 7 + seed) % 5 == 0 ? 0 : 0.3 * ((i * 5 + seed) % 7 - 3);
        soa_sim_options o = soa_sim_options_default();
        o.duration = 0.5;
        o.sample_time = 0.05;
        o.relative_tolerance = 1e-9;
        o.absolute_tolerance = 1e-11;
        soa_sim_result r = simulate(model, q, v, &o);
        double relative = r.balance_worst / fmax(r.energy_scale, 1);
        if (!(relative <= 1e-7))
            fail_msg("%s: balance is off by %.3g of %.3g J", name, r.balance_worst, r.energy_scale);
        if (relative > worst) worst = relative;
        stops += r.stops;
        releases += r.releases;
        free(q);
        soa_model_free(model);
    }
    assert_true(stops > 20);
    printf("random machines: worst balance %.1e, %ld stops, %ld releases\n", worst, stops,
           releases);
}

/* No torque, no gravity: momentum stays and the energy too. */
static void satellite_keeps_momentum(void **state) {
    (void)state;
    const soa_model *model = stock("satellite");
    last l;
    soa_sim_options o = watched(model, 5, &l);
    double q[21], v[20], before[6], after[6], com[3], moved[3];
    soa_q_neutral(model, q);
    for (int i = 0; i < 20; i++)
        v[i] = 0.02 * (i % 5 - 2);
    soa_work *work;
    OK(soa_work_create(model, &work));
    OK(soa_momentum(model, work, q, v, before, com));
    soa_sim_result r = simulate(model, q, v, &o);
    OK(soa_momentum(model, work, l.q, l.v, after, moved));
    for (int i = 0; i < 3; i++) {
        near("linear momentum", after[3 + i], before[3 + i], 1e-7);
        near("path of the centre of mass", moved[i] - com[i],
             5 * before[3 + i] / soa_model_mass(model), 1e-8);
        near("angular momentum", after[i], before[i], 1e-6);
    }
    near("balance", r.balance_worst / r.energy_scale, 0, 1e-7);
    soa_work_free(work);
    soa_model_free(model);
}

/* Small swings of a rod about its end: period 2 pi sqrt(2 l / (3 g)), first correction 1 +
 * a^2/16. */
static void pendulum_period(void **state) {
    (void)state;
    const soa_model *model = stock("planar-chain:1");
    const double amplitude = 0.01, inertia = 0.25 + (1 + 0.02 * 0.02) / 12;
    const double period = 2 * PI * sqrt(inertia / (9.81 * 0.5)) * (1 + amplitude * amplitude / 16);
    last l;
    soa_sim_options o = watched(model, period, &l);
    o.relative_tolerance = 1e-12;
    o.absolute_tolerance = 1e-14;
    const double q = -PI / 2 + amplitude;
    soa_sim_result r = simulate(model, &q, NULL, &o);
    near("angle after a period", l.q[0], q, 1e-9);
    near("time", l.t, period, 0);
    near("balance", r.balance_worst, 0, 1e-10);
    soa_model_free(model);
}

/* --- mistakes and pictures -------------------------------------------------------------------- */

static soa_status broken(void *user, double t, const double *q, const double *v, double *tau) {
    (void)user;
    (void)q;
    (void)v;
    (void)tau;
    return t > 0.5 ? SOA_E_ARGUMENT : SOA_OK;
}

static void mistakes(void **state) {
    (void)state;
    const soa_model *model = slider(1, 1, 0);
    const double q = 0, bad = NAN;
    soa_sim_result r;
    soa_report report;
    soa_sim_options o = soa_sim_options_default();
    assert_int_equal(soa_simulate(NULL, &q, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_simulate(model, NULL, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_simulate(model, &q, NULL, &o, NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_simulate(model, &bad, NULL, &o, &r, &report), SOA_E_NOT_FINITE);
    assert_int_equal(soa_simulate(model, &q, &bad, &o, &r, &report), SOA_E_NOT_FINITE);
    o.duration = NAN;
    assert_int_equal(soa_simulate(model, &q, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    o = soa_sim_options_default();
    o.sample_time = 0;
    assert_int_equal(soa_simulate(model, &q, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    o = soa_sim_options_default();
    o.order = 7;
    assert_int_equal(soa_simulate(model, &q, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "order is 7"));
    o = soa_sim_options_default();
    o.torque = broken;
    assert_int_equal(soa_simulate(model, &q, NULL, &o, &r, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "t = 0.5"));
    o = soa_sim_options_default();
    o.max_steps = 10;
    assert_int_equal(soa_simulate(model, &q, NULL, &o, &r, &report), SOA_E_NO_CONVERGENCE);

    last l; /* the caller may end it */
    o = watched(model, 2, &l);
    l.stop_after = 11;
    OK(soa_simulate(model, &q, NULL, &o, &r, &report));
    near("ended by the caller", r.t, 0.05, 1e-15);
    OK(soa_simulate(model, &q, NULL, NULL, &r, NULL));
    soa_model_free(model);
}

static void pictures(void **state) {
    (void)state;
    char path[] = "/tmp/soa_plot_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const double x[5] = {1, 10, 100, 1000, 10000}, y[5] = {1, NAN, 3, INFINITY, -2},
                 z[5] = {5, 50, 500, 5e3, 5e4};
    soa_plot_curve curves[2] = {{.name = "a<b & c", .y = y},
                                {.name = "z", .y = z, .markers = true}};
    soa_plot_panel panels[2] = {
        {.y_label = "y (m)", .curves = curves, .curve_count = 1},
        {.y_label = "z (ns)", .y_log = true, .curves = curves, .curve_count = 2}};
    soa_plot plot = {.title = "t",
                     .x_label = "x",
                     .x_log = true,
                     .x = x,
                     .count = 5,
                     .panels = panels,
                     .panel_count = 2};
    soa_report report;
    OK(soa_plot_write_svg(&plot, path, &report));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static char text[65536];
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    assert_non_null(strstr(text, "a&lt;b &amp; c"));
    assert_non_null(strstr(text, "</svg>"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_non_null(strstr(text, ">10000<"));

    /* one point, no points, a constant: still a picture */
    plot.count = 1;
    OK(soa_plot_write_svg(&plot, path, &report));
    plot.count = 0;
    OK(soa_plot_write_svg(&plot, path, &report));
    unlink(path);
    plot.count = 5;
    assert_int_equal(soa_plot_write_svg(&plot, "/nowhere/x.svg", &report), SOA_E_FILE);
    assert_non_null(strstr(report.text, "/nowhere/x.svg"));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(soa_plot_write_svg(&plot, "/dev/full", &report), SOA_E_FILE);
    assert_int_equal(soa_plot_write_svg(NULL, path, &report), SOA_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_stops),
        cmocka_unit_test(block_on_spring),
        cmocka_unit_test(block_breaks_loose),
        cmocka_unit_test(puma_drop),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(random_machines),
        cmocka_unit_test(satellite_keeps_momentum),
        cmocka_unit_test(pendulum_period),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
