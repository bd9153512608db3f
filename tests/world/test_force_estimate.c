/* test_force_estimate.c  external forces estimated from noisy joint sensors in scenarios, against the
 * forces that act there: unbiased, with errors of the size that the covariance says, also of a
 * floating machine, with delay, and of what is refused. */
#include "worlds.h"

/* A mean of n numbers may differ from what is expected by so many of its standard deviations. */
#define DEVIATION 5

typedef struct watched {
    int f[3], c[3][3], chi;
    double *values;
} watched;
static int signal_index(const stage *s, const char *name) {
    for (int i = 0; i < soa_world_signal_count(s->world); ++i)
        if (!strcmp(soa_world_signal_name(s->world, i, NULL), name)) return i;
    fail_msg("no signal '%s'", name);
    return -1;
}
static watched watch(const stage *s, const char *frame) {
    static const char axis[] = "xyz";
    watched w = {.chi = signal_index(s, "estimate.chi_square")};
    char name[200];
    for (int r = 0; r < 3; ++r) {
        snprintf(name, sizeof name, "estimate.%s.f%c", frame, axis[r]);
        w.f[r] = signal_index(s, name);
        for (int c = r; c < 3; ++c) {
            snprintf(name, sizeof name, "covariance.%s.f%c_f%c", frame, axis[r], axis[c]);
            w.c[r][c] = w.c[c][r] = signal_index(s, name);
        }
    }
    w.values = calloc((size_t)soa_world_signal_count(s->world), sizeof *w.values);
    return w;
}
static void read_values(const stage *s, watched *w) {
    OK(soa_world_signal_values(s->world, w->values));
}
/* (f - true)' C^-1 (f - true), by Cholesky; and the largest error in standard deviations. */
static double normalised(const watched *w, const double force[3]) {
    double L[3][3] = {{0}}, x[3], sum = 0;
    for (int r = 0; r < 3; ++r) {
        x[r] = w->values[w->f[r]] - force[r];
        for (int c = 0; c <= r; ++c) {
            double y = w->values[w->c[r][c]];
            for (int k = 0; k < c; ++k)
                y -= L[r][k] * L[c][k];
            L[r][c] = r == c ? sqrt(y) : y / L[c][c];
        }
        for (int k = 0; k < r; ++k)
            x[r] -= L[r][k] * x[k];
        x[r] /= L[r][r];
        sum += x[r] * x[r];
    }
    assert_true(sum >= 0);
    return sum;
}

/* A seven-joint arm holds a pose and is pushed twice. */
static const char arm_text[] =
    "duration: 3\n"
    "seed: %d\n"
    "parts: [{name: arm, model: arm7, positions: {joint2: 0.6, joint4: 1.2, joint6: 0.7}%s}]\n"
    "gravity: %s\n"
    "disturbances:\n"
    "  - {frame: arm.%s, start: 1, duration: 0.5, force: [8, -3, 5]}\n"
    "  - {frame: arm.%s, start: 2, duration: 0.5, force: [0, 6, -10]}\n"
    "estimator: {joint_torque_noise: %g, acceleration_noise: %g, wrenches: [{frame: arm.link7, "
    "force: 20 N}]}\n"
    "control:\n"
    "  rate: 500\n"
    "  sensors: {delay: %g}\n"
    "  phases: [{name: hold, actions: [{law: inverse-dynamics, part: arm, stiffness: 100, damping: "
    "20}]}]\n"
    "recording: {rate: 500}\n";
/* What pushed at time t. */
static void pushed(double t, double force[3]) {
    static const double one[3] = {8, -3, 5}, two[3] = {0, 6, -10}, none[3] = {0};
    const double *f = none;
    if (t > 1 - 1e-9 && t < 1.5 - 1e-9) f = one;
    if (t > 2 - 1e-9 && t < 2.5 - 1e-9) f = two;
    memcpy(force, f, 3 * sizeof *force);
}
typedef struct outcome {
    double nees, chi, worst;
    long n;
} outcome;
/* Runs; every reading is compared with the force of its own time, `delay` and one tick ago. */
static outcome run_arm(const char *more, const char *gravity, const char *link, double noise,
                       double acceleration_noise, double delay, int seed) {
    stage s = made(arm_text, seed, more, gravity, link, link, noise, acceleration_noise, delay);
    watched w = watch(&s, "arm.link7");
    outcome o = {0};
    read_values(&s, &w);
    assert_true(isnan(w.values[w.f[0]]) && isnan(w.values[w.chi])); /* not measured yet */
    while (soa_world_time(s.world) < 3 - 1e-9) {
        double force[3];
        OK(tick(&s));
        read_values(&s, &w);
        pushed(soa_world_time(s.world) - 0.002 - delay, force);
        if (soa_world_time(s.world) < 0.002 + delay + 1e-9) continue;
        o.nees += normalised(&w, force);
        o.chi += w.values[w.chi];
        for (int k = 0; k < 3; ++k)
            o.worst = fmax(o.worst, fabs(w.values[w.f[k]] - force[k]));
        ++o.n;
    }
    o.nees /= (double)o.n;
    o.chi /= (double)o.n;
    free(w.values);
    closed(&s);
    return o;
}
static void judge(const char *what, outcome o, double degrees) {
    const double
        n = (double)o.n,
        u = (o.nees - 3) / sqrt(6 / n),
        /* seven torques, three components estimated; of the prior only what |f| / 20 N is */
        most = degrees - 3 + 3 * 0.4 + DEVIATION * sqrt(2 * degrees / n),
        least = degrees - 3 - DEVIATION * sqrt(2 * degrees / n);
    printf("  %-28s error' C^-1 error: mean %.3f, %+.2f standard deviations from 3; chi-square "
           "%.2f; largest error %.2g N\n",
           what, o.nees, u, o.chi, o.worst);
    assert_true(fabs(u) <= DEVIATION);
    assert_true(o.chi >= least && o.chi <= most);
}
static void estimates_are_as_good_as_their_covariance_says(void **state) {
    (void)state;
    judge("arm", run_arm("", "[0, 0, -9.81]", "link7", 0.05, 0.2, 0, 1), 7);
    judge("arm, other noise", run_arm("", "[0, 0, -9.81]", "link7", 0.5, 0.01, 0, 2), 7);
    judge("arm, exact accelerations", run_arm("", "[0, 0, -9.81]", "link7", 0.05, 0, 0, 3), 7);
    judge("arm, delay of 5 ticks", run_arm("", "[0, 0, -9.81]", "link7", 0.05, 0.2, 0.01, 4), 7);
    judge("floating arm", run_arm(", floating: true", "[0, 0, 0]", "link7", 0.05, 0.2, 0, 5), 7);
}
/* Sensors almost without noise show the forces. */
static void good_sensors_show_the_force(void **state) {
    (void)state;
    const outcome o = run_arm("", "[0, 0, -9.81]", "link7", 1e-3, 1e-3, 0, 1);
    printf("  noise of 1e-3: largest error %.2g N\n", o.worst);
    assert_true(o.worst < 0.1);
    judge("noise of 1e-3", o, 7);
    /* so good that they contradict each other by rounding */
    stage s = made(arm_text, 1, "", "[0, 0, 0]", "link7", "link7", 1e-8, 0.0, 0.0);
    soa_report report;
    assert_int_equal(soa_world_tick(s.world, &report), SOA_E_SINGULAR);
    assert_non_null(strstr(report.text, "give more joint_torque_noise"));
    closed(&s);
}
/* Pushes on another link than the estimator was told of do not fit: chi-square shows it. */
static void chi_square_shows_forces_elsewhere(void **state) {
    (void)state;
    const outcome right = run_arm("", "[0, 0, -9.81]", "link7", 0.05, 0.2, 0, 1),
                  wrong = run_arm("", "[0, 0, -9.81]", "link3", 0.05, 0.2, 0, 1);
    printf("  mean chi-square %.2f with the right link, %.1f with another\n", right.chi, wrong.chi);
    assert_true(wrong.chi > 3 * right.chi);
}
/* Without a controller, and without anything else that measures. */
static void a_machine_without_motors(void **state) {
    (void)state;
    stage s = made("duration: 1\n"
                   "parts: [{name: p, model: planar-chain:3}]\n"
                   "estimator: {joint_torque_noise: 0.01, wrenches: [{frame: p.tip, force: 5}]}\n"
                   "disturbances: [{frame: p.tip, start: 0, duration: 1, force: [1, 0, 2]}]\n"
                   "recording: {rate: 100}\n");
    watched w = watch(&s, "p.tip");
    double nees = 0;
    int n = 0;
    while (soa_world_time(s.world) < 1 - 1e-9) {
        OK(tick(&s));
        read_values(&s, &w);
        const double force[3] = {1, w.values[w.f[1]], 2};
        /* y is out of the plane: nothing is learned of it */
        near("variance along y", w.values[w.c[1][1]], 25, 1e-9);
        near("force along y", w.values[w.f[1]], 0, 1e-9);
        nees += normalised(&w, force);
        ++n;
    }
    nees /= n;
    printf("  planar chain: error' C^-1 error in the plane: mean %.2f of 2\n", nees);
    assert_true(fabs(nees - 2) <= DEVIATION * sqrt(4.0 / n));
    free(w.values);
    closed(&s);
}
static void refused(const char *text, const char *words) {
    soa_scenario scenario;
    soa_world *world = NULL;
    soa_report report;
    soa_status s = soa_scenario_parse(text, strlen(text), "test.yaml", &scenario, &report);
    if (!s) {
        s = soa_world_create(&scenario, &world, &report);
        soa_scenario_free(&scenario);
    }
    assert_true(s != SOA_OK);
    if (!strstr(report.text, words)) fail_msg("got '%s', expected '%s'", report.text, words);
}
static void what_is_refused(void **state) {
    (void)state;
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: a.link9, force: 1}]}\n",
            "there is no frame 'a.link9'; did you mean 'a.link");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: a.base, force: 1}]}\n",
            "frame");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: world, force: 1}]}\n",
            "joints do not feel wrenches on the world");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: a.link7}]}\n",
            "expected a standard deviation above 0, force or torque");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 0, wrenches: [{frame: a.link7, force: 1}]}\n",
            "joint_torque_noise");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {wrenches: [{frame: a.link7, force: 1}]}\n",
            "estimator: key 'joint_torque_noise' is missing");
    refused("parts: [{name: a, model: arm7}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: a.link7, force: 1}, {frame: "
            "a.link7, torque: 1}]}\n",
            "a.link7");
    refused("parts: [{name: a, model: four-bar}]\n"
            "estimator: {joint_torque_noise: 1, wrenches: [{frame: a.rocker, force: 1}]}\n",
            "the scenario has loops");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_as_good_as_their_covariance_says),
        cmocka_unit_test(good_sensors_show_the_force),
        cmocka_unit_test(chi_square_shows_forces_elsewhere),
        cmocka_unit_test(a_machine_without_motors), cmocka_unit_test(what_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
