/* test_world_state.c  saved and restored worlds, damaged states, callers' controllers, sensors. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"
#include "world/world_internal.h"

#define OK(call) assert_int_equal(call, SOA_OK)
#define near(what, got, expected, tolerance)                                             \
    do {                                                                                 \
        if (!(fabs((got) - (expected)) <= (tolerance)))                                  \
            fail_msg("%s: got %.17g, expected %.17g, allowed %.3g", what, (double)(got), \
                     (double)(expected), (double)(tolerance));                           \
    } while (0)

static const char *const scenarios[] = {"kill-arm",    "kill-stick",  "kill-float",
                                        "kill-smooth", "resume-laws", "push"};
enum { SCENARIOS = 6 };

static void open_scenario(const char *name, soa_scenario *scenario) {
    const char *source = getenv("SOA_SOURCE_DIR");
    char path[1000];
    soa_report report;
    snprintf(path, sizeof path, "%s/tests/scenarios/%s.yaml", source ? source : ".", name);
    if (soa_scenario_read(path, scenario, &report)) fail_msg("%s", report.text);
}
static soa_world *make(const soa_scenario *scenario) {
    soa_world *world = NULL;
    soa_report report;
    if (soa_world_create(scenario, &world, &report)) fail_msg("%s", report.text);
    return world;
}
static void parse(const char *text, soa_scenario *scenario) {
    soa_report report;
    if (soa_scenario_parse(text, strlen(text), "test.yaml", scenario, &report))
        fail_msg("%s", report.text);
}
static void tick(soa_world *world) {
    soa_report report;
    if (soa_world_tick(world, &report)) fail_msg("%s", report.text);
}
static void *saved(const soa_world *world) {
    void *state = malloc(soa_world_state_size(world));
    assert_non_null(state);
    soa_world_save_state(world, state);
    return state;
}

/* --- the same bits ---------------------------------------------------------------------------- */
/* Every few ticks the state goes into a world made just now; both must go on to the same bytes.
 * The first one is asked for everything between ticks, the second for nothing. */
static void every_tick_resumes(void **unused) {
    (void)unused;
    for (int k = 0; k < SCENARIOS; ++k) {
        soa_scenario scenario;
        open_scenario(scenarios[k], &scenario);
        soa_world *one = make(&scenario);
        const size_t size = soa_world_state_size(one);
        double *values = malloc((size_t)soa_world_signal_count(one) * sizeof *values);
        double *other_values = malloc((size_t)soa_world_signal_count(one) * sizeof *values);
        assert_non_null(values);
        assert_non_null(other_values);
        const int ticks = (int)(scenario.duration / soa_world_tick_length(one) + 0.5),
                  stride = ticks / 12;
        int compared = 0;
        for (int t = 0; t < ticks; t += stride) {
            soa_world *two = make(&scenario);
            void *state = saved(one);
            OK(soa_world_restore_state(two, state, size));
            OK(soa_world_signal_values(one, values));
            OK(soa_world_signal_values(two, other_values));
            assert_memory_equal(values, other_values,
                                (size_t)soa_world_signal_count(one) * sizeof *values);
            for (int n = 0; n < stride; ++n) {
                soa_world_summary summary;
                tick(one);
                OK(soa_world_signal_values(one, values));
                OK(soa_world_summarise(one, &summary));
                if (n >= 3) continue;
                tick(two);
                void *a = saved(one), *b = saved(two);
                for (size_t i = 0; i < size; ++i)
                    if (((char *)a)[i] != ((char *)b)[i])
                        fail_msg("%s: after %d + %d ticks byte %d of %d differs", scenarios[k], t,
                                 n + 1, (int)i, (int)size);
                free(a);
                free(b);
                ++compared;
            }
            free(state);
            soa_world_free(two);
        }
        printf("  %-12s %d states of %d bytes the same after being read back\n", scenarios[k],
               compared, (int)size);
        assert_true(compared > 10);
        free(values);
        free(other_values);
        soa_world_free(one);
        soa_scenario_free(&scenario);
    }
}

static void others_are_refused(void **unused) {
    (void)unused;
    soa_scenario scenario, seeded, other;
    open_scenario("kill-arm", &scenario);
    soa_world *world = make(&scenario);
    const size_t size = soa_world_state_size(world);
    tick(world);
    char *state = saved(world);
    assert_int_equal(soa_world_restore_state(world, state, size - 1), SOA_E_FORMAT);
    assert_int_equal(soa_world_restore_state(NULL, state, size), SOA_E_FORMAT);
    assert_int_equal(soa_world_restore_state(world, NULL, size), SOA_E_FORMAT);
    seeded = scenario;
    seeded.seed = 12; /* another seed: other noise */
    soa_world *second = make(&seeded);
    assert_int_equal(soa_world_restore_state(second, state, size), SOA_E_FORMAT);
    soa_world_free(second);
    OK(soa_scenario_vary(&scenario, 3, &other, NULL, NULL)); /* a case of its sweep */
    second = make(&other);
    assert_int_equal(soa_world_restore_state(second, state, size), SOA_E_FORMAT);
    soa_world_free(second);
    soa_scenario_free(&other);
    /* one number, changed in C */
    soa_contact_pair *pairs = malloc((size_t)scenario.contact_count * sizeof *pairs);
    assert_non_null(pairs);
    memcpy(pairs, scenario.contacts, (size_t)scenario.contact_count * sizeof *pairs);
    pairs[0].stiffness *= 1.0000001;
    seeded = scenario;
    seeded.contacts = pairs;
    second = make(&seeded);
    assert_int_equal(soa_world_restore_state(second, state, size), SOA_E_FORMAT);
    soa_world_free(second);
    free(pairs);
    char *before = saved(world); /* a refused state leaves the world as it was */
    state[size / 2] ^= 1;
    assert_int_equal(soa_world_restore_state(world, state, size), SOA_E_CHECKSUM);
    char *after = saved(world);
    assert_memory_equal(before, after, size);
    tick(world);
    free(before);
    free(after);
    free(state);
    soa_world_free(world);
    soa_scenario_free(&scenario);
}

/* Bytes of the state changed at random, its checksum made good again: whatever comes, no memory but
 * the world's is touched. */
static void damaged_states(void **unused) {
    (void)unused;
    const long seed = first_seed();
    dice d = {(uint64_t)seed};
    int refused = 0, failed = 0, went_on = 0;
    for (int k = 0; k < SCENARIOS; ++k) {
        soa_scenario scenario;
        open_scenario(scenarios[k], &scenario);
        scenario.integration.relative_tolerance = 1e-3;
        scenario.integration.absolute_tolerance = 1e-4;
        soa_world *world = make(&scenario);
        const size_t size = soa_world_state_size(world);
        for (int n = 0; n < 20; ++n)
            tick(world);
        unsigned char *good = saved(world), *bad = malloc(size);
        assert_non_null(bad);
        for (int trial = 0; trial < 150; ++trial) {
            memcpy(bad, good, size);
            const int flips = 1 + (int)roll(&d, 0, 4);
            for (int n = 0; n < flips; ++n) {
                size_t at = (size_t)roll(&d, 0, (double)size);
                if (trial % 3 == 0) at = at / 4 * 4; /* low bytes of integers */
                if (trial % 5 == 0)
                    for (size_t i = at / 4 * 4; i < at / 4 * 4 + 4 && i < size; ++i)
                        bad[i] = 0xff;
                else
                    bad[at] = (unsigned char)roll(&d, 0, 256);
            }
            memcpy(bad + offsetof(soai_state, scenario), good + offsetof(soai_state, scenario),
                   sizeof(uint64_t));
            const uint64_t sum = soai_state_checksum(bad, size);
            memcpy(bad + offsetof(soai_state, checksum), &sum, sizeof sum);
            if (soa_world_restore_state(world, bad, size)) {
                ++refused;
                continue;
            }
            soa_report report;
            soa_world_summary summary;
            soa_status s = SOA_OK;
            for (int n = 0; n < 2 && !s; ++n)
                s = soa_world_tick(world, &report);
            if (s) {
                ++failed;
                assert_true(report.text[0] != 0);
            } else {
                ++went_on;
            }
            soa_world_summarise(world, &summary);
        }
        OK(soa_world_restore_state(world, good, size));
        tick(world);
        free(good);
        free(bad);
        soa_world_free(world);
        soa_scenario_free(&scenario);
    }
    printf("  seed %ld: %d damaged states refused, %d ended in a clear failure, %d went on\n", seed,
           refused, failed, went_on);
    assert_true(refused > 10 && went_on > 10);
}

/* --- a caller's controller -------------------------------------------------------------------- */
static const char rod[] =
    "gravity: [0, 0, 0]\nduration: 1\nparts:\n  - {name: rod, model: 'planar-chain:1'}\n";

typedef struct caller {
    double torque;
    int64_t calls, bad_at;
    soa_status status;
} caller;
static soa_status give(void *user, const soa_world *world, double t, const double *q,
                       const double *v, double *tau) {
    caller *c = user;
    (void)q;
    (void)v;
    assert_true(soa_world_time(world) == t && tau[0] == 0);
    tau[0] = c->torque;
    if (c->bad_at == c->calls && !c->status) tau[0] = NAN;
    if (c->bad_at == c->calls++) return c->status;
    return SOA_OK;
}

static void own_controller(void **unused) {
    (void)unused;
    soa_scenario scenario;
    soa_report report;
    parse(rod, &scenario);
    soa_world *world = make(&scenario);
    caller c = {.torque = 0.25, .bad_at = -1};
    /* it did not ask for one */
    assert_int_equal(soa_world_set_torque(world, give, &c), SOA_E_ARGUMENT);
    soa_world_free(world);
    scenario.control.external = true;
    scenario.control.rate = 100;
    world = make(&scenario);
    near("tick", soa_world_tick_length(world), 0.01, 1e-15);
    OK(soa_world_set_torque(world, give, &c));
    OK(soa_world_run(world, NULL, NULL, &report));
    assert_int_equal(c.calls, 100);
    soa_body_info info;
    OK(soa_model_body(soa_world_model(world), 1, &info));
    const double about =
        info.inertia[1] + info.mass * (info.com[0] * info.com[0] + info.com[2] * info.com[2]);
    near("angle", soa_world_q(world)[0], 0.5 * 0.25 / about, 1e-9);
    soa_world_free(world);
    for (int way = 0; way < 2; ++way) { /* a NaN; a status of its own */
        world = make(&scenario);
        c = (caller){.torque = 1, .bad_at = 7, .status = way ? SOA_E_SINGULAR : SOA_OK};
        OK(soa_world_set_torque(world, give, &c));
        const soa_status s = soa_world_run(world, NULL, NULL, &report);
        assert_int_equal(s, way ? SOA_E_SINGULAR : SOA_E_NOT_FINITE);
        printf("  %s\n", report.text);
        assert_non_null(strstr(report.text, way ? "the controller gave up at t = 0.07 s"
                                                : "at t = 0.07 s, joint 'rod.joint1'"));
        near("it stands where it was", soa_world_time(world), 0.07, 1e-12);
        assert_int_equal(soa_world_tick(world, &report), s); /* and says so again */
        assert_true(report.text[0] != 0);
        soa_world_summary summary;
        OK(soa_world_summarise(world, &summary));
        soa_world_free(world);
    }
    scenario.control.phase_count = 1;
    assert_int_equal(soa_world_create(&scenario, &world, &report), SOA_E_ARGUMENT);
    scenario.control.phase_count = 0;
    soa_scenario_free(&scenario);
}

/* The journal of a run says whether a function of the caller gave the torques, and it goes on to the
 * same samples where the function is given again. */
static void own_controller_resumes(void **unused) {
    (void)unused;
    static const char path[] = "own-controller.soalog";
    soa_scenario scenario;
    soa_scenario again;
    soa_world *world;
    soa_journal *journal;
    soa_report report;
    caller c = {.torque = 0.25, .bad_at = -1};
    for (int external = 0; external < 2; ++external) {
        double end[2];
        parse(rod, &scenario);
        scenario.control.external = external != 0;
        for (int whole = 0; whole < 2; ++whole) {
            soa_log *log;
            world = make(&scenario);
            if (external) OK(soa_world_set_torque(world, give, &c));
            OK(soa_world_create_journal(world, path, &journal, &report));
            OK(soa_world_run(world, journal, &(soa_run_options){.until = whole ? 1 : 0.5},
                             &report));
            OK(soa_journal_close(journal, &report));
            end[whole] = soa_world_q(world)[0];
            soa_world_free(world);
            OK(soa_log_open(path, &log, &report));
            OK(soa_scenario_from_log(log, path, &again, &report));
            assert_int_equal(again.control.external, external);
            soa_scenario_free(&again);
            soa_log_close(log);
            if (whole) continue;
            OK(soa_world_resume(path, &again, &world, &journal, &report));
            if (external) OK(soa_world_set_torque(world, give, &c));
            OK(soa_world_run(world, journal, NULL, &report));
            OK(soa_journal_close(journal, &report));
            end[0] = soa_world_q(world)[0];
            soa_world_free(world);
            soa_scenario_free(&again);
        }
        assert_true(end[0] == end[1] && (end[0] != 0) == external);
        soa_scenario_free(&scenario);
    }
    assert_int_equal(remove(path), 0);
}

/* --- sensors ---------------------------------------------------------------------------------- */
enum { MOST = 20000 };
typedef struct seen {
    int count;
    double q[MOST], v[MOST];
} seen;
static soa_status watch(void *user, const soa_world *world, double t, const double *q,
                        const double *v, double *tau) {
    seen *s = user;
    (void)world;
    (void)t;
    (void)tau;
    if (s->count < MOST) {
        s->q[s->count] = q[0];
        s->v[s->count++] = v[0];
    }
    return SOA_OK;
}
static void noise_is_normal(void **unused) {
    (void)unused;
    soa_scenario scenario;
    static seen s;
    parse(rod, &scenario);
    scenario.control.external = true;
    scenario.control.rate = 1000;
    scenario.duration = MOST / 1000.0;
    scenario.control.sensors.position_noise = 2e-3;
    scenario.control.sensors.rate_noise = 0.05;
    for (int seed = 1; seed <= 3; ++seed) {
        scenario.seed = (uint64_t)seed;
        soa_world *world = make(&scenario);
        s.count = 0;
        OK(soa_world_set_torque(world, watch, &s));
        OK(soa_world_run(world, NULL, NULL, NULL));
        assert_int_equal(s.count, MOST);
        for (int k = 0; k < 2; ++k) {
            const double *x = k ? s.v : s.q;
            const double sigma = k ? 0.05 : 2e-3;
            double mean = 0, square = 0, fourth = 0, lag = 0, cross = 0;
            for (int i = 0; i < MOST; ++i)
                mean += x[i] / MOST;
            for (int i = 0; i < MOST; ++i) {
                square += x[i] * x[i] / MOST;
                fourth += pow(x[i] / sigma, 4) / MOST;
            }
            for (int i = 1; i < MOST; ++i)
                lag += x[i] * x[i - 1] / (sigma * sigma * MOST);
            for (int i = 0; i < MOST; ++i)
                cross += s.q[i] * s.v[i] / (2e-3 * 0.05 * MOST);
            const double root = sqrt(MOST);
            near("mean", mean / sigma, 0, 5 / root);
            near("variance", square / (sigma * sigma), 1, 5 * sqrt(2) / root);
            near("fourth moment", fourth, 3, 5 * sqrt(96) / root);
            near("one sample and the next", lag, 0, 5 / root);
            near("two sensors", cross, 0, 5 / root);
        }
        soa_world_free(world);
    }
    soa_scenario_free(&scenario);
}

static void delay_is_exact(void **unused) {
    (void)unused;
    soa_scenario scenario;
    static seen s;
    parse(rod, &scenario);
    const soa_named_value rate = {.name = "joint1", .value = 0.7};
    soa_part part = scenario.parts[0];
    part.rates = &rate;
    part.rate_count = 1;
    scenario.parts = &part;
    scenario.control.external = true;
    scenario.control.rate = 1000;
    for (int delay = 0; delay <= 7; ++delay) {
        scenario.control.sensors.delay = 1e-3 * delay;
        soa_world *world = make(&scenario);
        double q[60];
        s.count = 0;
        OK(soa_world_set_torque(world, watch, &s));
        for (int n = 0; n < 60; ++n) {
            q[n] = soa_world_q(world)[0];
            tick(world);
        }
        for (int n = 0; n < 60; ++n)
            assert_true(s.q[n] == q[n > delay ? n - delay : 0]);
        soa_world_free(world);
    }
    soa_scenario_free(&scenario);
}

static int column(const soa_world *world, const char *name) {
    for (int i = 0; i < soa_world_signal_count(world); ++i)
        if (!strcmp(soa_world_signal_name(world, i, NULL), name)) return i;
    fail_msg("there is no signal '%s'", name);
    return -1;
}

/* In free fall an inertial unit feels nothing; before the first tick is over, what holds it up
 * against gravity. */
static void inertial_unit(void **unused) {
    (void)unused;
    soa_scenario scenario;
    parse("duration: 1\nparts:\n  - {name: robot, model: two-puma, floating: true, friction_scale: "
          "0, twist: [0.3, 0, "
          "0, 0, 0, 1],\n"
          "     place: {rpy: [0, 30 deg, 0]}}\n"
          "control: {rate: 100, phases: [{name: idle}]}\n",
          &scenario);
    soa_world *world = make(&scenario);
    double *values = malloc((size_t)soa_world_signal_count(world) * sizeof *values);
    assert_non_null(values);
    tick(world);
    OK(soa_world_signal_values(world, values));
    near("at first", values[column(world, "sensor.imu.robot.az")], 9.81 * cos(0.5235987755982988),
         1e-9);
    near("at first", values[column(world, "sensor.imu.robot.ax")], -9.81 * sin(0.5235987755982988),
         1e-9);
    tick(world);
    OK(soa_world_signal_values(world, values));
    near("angular rate", values[column(world, "sensor.imu.robot.wx")],
         0.3 * cos(0.5235987755982988), 1e-2);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    parse("duration: 1\nparts:\n  - {name: robot, model: two-puma, floating: true, friction_scale: "
          "0, twist: [0, 0, 0, "
          "0, 0, 1]}\n"
          "control: {rate: 100, phases: [{name: idle}]}\n",
          &scenario);
    world = make(&scenario);
    for (int n = 0; n < 5; ++n)
        tick(world);
    OK(soa_world_signal_values(world, values));
    near("falling", values[column(world, "sensor.imu.robot.az")], 0, 1e-6);
    free(values);
    soa_world_free(world);
    soa_scenario_free(&scenario);
}

/* A ball at rest on a plate held by an arm of one joint: contact and wrist sensors give its weight,
 * a tick late. */
static void touch_and_wrist(void **unused) {
    (void)unused;
    soa_scenario scenario;
    parse("duration: 1\n"
          "parts:\n"
          "  - {name: rod, model: 'planar-chain:1', frames: [{name: hand, on: link1, at: [0.5, 0, "
          "0]}]}\n"
          "  - {name: ball, body: {mass: 0.1, sphere: 20 mm}, place: [0.5, 0, 0.0305]}\n"
          "shapes:\n"
          "  - {name: plate, on: rod.hand, box: [0.2, 0.2, 0.02]}\n"
          "  - {name: skin, on: ball, sphere: 20 mm}\n"
          "contacts: [{between: [plate, skin], law: linear, stiffness: 2000, damping: 20, margin: "
          "1 mm}]\n"
          "control:\n"
          "  rate: 200\n"
          "  sensors: {delay: 10 ms}\n"
          "  phases: [{name: hold, actions: [{law: joint-pd, part: rod, stiffness: 200, damping: "
          "30},\n"
          "                                  {law: impedance, name: hand, frame: rod.hand, "
          "stiffness: 0, damping: 0}]}]\n"
          "integration: {relative_tolerance: 1e-7}\n",
          &scenario);
    soa_world *world = make(&scenario);
    const size_t n = (size_t)soa_world_signal_count(world);
    double *values = malloc(n * sizeof *values), before[4] = {0};
    assert_non_null(values);
    const int pressure = column(world, "contact.skin.pressure"),
              felt = column(world, "sensor.contact.skin.force");
    for (int k = 0; k < 200; ++k) {
        tick(world);
        OK(soa_world_signal_values(world, values));
        /* two ticks of delay, measured when the tick began */
        if (k > 5) assert_true(values[felt] == before[2]);
        for (int i = 3; i > 0; --i)
            before[i] = before[i - 1];
        before[0] = values[pressure];
    }
    near("contact", values[felt], 0.981, 0.02);
    near("wrist, on the ball", values[column(world, "sensor.wrist.rod.hand.fz")], 0.981, 0.02);
    assert_true(values[column(world, "sensor.contact.skin.touching")] == 1);
    free(values);
    soa_world_free(world);
    soa_scenario_free(&scenario);
}

/* --- the summary ------------------------------------------------------------------------------ */
/* Several groups of fingers count together; a time that is no whole number of ticks ends on the
 * last whole one. */
static void fingers_and_ends(void **unused) {
    (void)unused;
    soa_scenario scenario;
    parse("duration: 0.1037\ngravity: [0, 0, 0]\n"
          "parts:\n  - {name: ball, body: {mass: 1, sphere: 0.1}}\n  - {name: ground, fixed: true, "
          "body: {}}\n"
          "shapes:\n  - {name: a, on: ground, at: [0.1505, 0, 0], sphere: 0.05}\n  - {name: b, on: "
          "ground, at: "
          "[-0.1505, 0, 0], sphere: 0.05}\n"
          "  - {name: skin, on: ball, sphere: 0.1}\n"
          "contacts: [{between: [a, skin]}, {between: [b, skin]}]\n"
          "control: {rate: 100, phases: [{name: idle}]}\n"
          "success: {object: ball, fingers: [a, b], from_phase: idle, hold: 0.05}\n",
          &scenario);
    soa_world *world = make(&scenario);
    soa_world_summary summary;
    OK(soa_world_run(world, NULL, NULL, NULL));
    OK(soa_world_summarise(world, &summary));
    near("end", summary.t, 0.10, 1e-12);
    assert_int_equal(summary.finger_count, 2);
    assert_int_equal(summary.fingers_lost, 0);
    assert_int_equal(summary.held, 1);
    soa_world_free(world);
    soa_scenario_free(&scenario);
}

/* Gears of the file reach the world. */
static void ratios(void **unused) {
    (void)unused;
    soa_scenario scenario;
    parse("duration: 0.5\nparts:\n  - {name: a, model: 'planar-chain:1'}\n  - {name: b, model: "
          "'planar-chain:1', "
          "place: [0, 1, 0]}\n"
          "constraints: [{kind: ratio, terms: {a.joint1: 1, b.joint1: -2}}]\n",
          &scenario);
    soa_world *world = make(&scenario);
    OK(soa_world_run(world, NULL, NULL, NULL));
    assert_true(fabs(soa_world_q(world)[1]) > 0.01);
    near("gear", soa_world_q(world)[0], 2 * soa_world_q(world)[1], 1e-10);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    soa_report report;
    static const char wrong[] =
        "parts:\n  - {name: a, model: 'planar-chain:2'}\nconstraints:\n  - {kind: ratio, "
        "terms: {a.joint1: 1, a.joint9: -2}}\n";
    OK(soa_scenario_parse(wrong, sizeof wrong - 1, "gear.yaml", &scenario, &report));
    assert_int_equal(soa_world_create(&scenario, &world, &report), SOA_E_NAME);
    assert_non_null(strstr(report.text, "gear.yaml:4:5: "));
    assert_non_null(strstr(report.text, "there is no joint 'a.joint9'; did you mean 'a.joint"));
    soa_scenario_free(&scenario);
}

/* --- bad input in C --------------------------------------------------------------------------- */
/* What the file reader would have refused; `change` spoils one thing of a good scenario. */
typedef struct scene {
    soa_part part[2];
    soa_scene_shape shape[2];
    soa_contact_pair contact;
    soa_disturbance push;
    soa_action action;
    soa_phase phase;
    soa_scenario scenario;
} scene;
static void good_scene(scene *x) {
    memset(x, 0, sizeof *x);
    x->part[0] = soa_part_default("arm");
    x->part[0].model = "arm7";
    x->part[1] = soa_part_default("ball");
    x->part[1].mass = 1;
    x->part[1].place.p[2] = 3;
    for (int k = 0; k < 3; ++k)
        x->part[1].inertia[k] = 0.1;
    for (int k = 0; k < 2; ++k) {
        x->shape[k].name = k ? "skin" : "tip";
        x->shape[k].frame = k ? "ball" : "arm.link7";
        x->shape[k].place = soa_frame_identity();
        x->shape[k].shape.type = SOA_SHAPE_SPHERE;
        x->shape[k].shape.radius = 0.1;
    }
    x->contact = soa_contact_pair_default("tip", "skin");
    x->push = (soa_disturbance){.frame = "ball", .duration = 0.1, .wrench = {0, 0, 0, 1, 0, 0}};
    x->action = soa_action_default(SOA_ACT_JOINT_PD);
    x->action.part = "arm";
    x->phase = (soa_phase){.name = "hold", .actions = &x->action, .action_count = 1};
    x->scenario = soa_scenario_default("scene");
    x->scenario.parts = x->part;
    x->scenario.part_count = 2;
    x->scenario.shapes = x->shape;
    x->scenario.shape_count = 2;
    x->scenario.contacts = &x->contact;
    x->scenario.contact_count = 1;
    x->scenario.disturbances = &x->push;
    x->scenario.disturbance_count = 1;
    x->scenario.control.phases = &x->phase;
    x->scenario.control.phase_count = 1;
    x->scenario.success.object = "ball";
}
static void spoil(scene *x, int which) {
    soa_scene_control *c = &x->scenario.control;
    switch (which) {
    case 0: x->part[1].mass = 0; break;
    case 1: x->part[1].mass = NAN; break;
    case 2: x->part[1].inertia[0] = -1; break;
    case 3: x->part[1].place.p[0] = INFINITY; break;
    case 4: x->part[1].twist[3] = NAN; break;
    case 5: x->part[0].mass_scale = 0; break;
    case 6: x->part[0].name = NULL; break;
    case 7: x->part[0].model = "no-such-model"; break;
    case 8: x->part[0].friction_scale = -1; break;
    case 9: x->shape[0].frame = "arm.link9"; break;
    case 10: x->shape[0].shape.radius = -1; break;
    case 11: x->shape[0].name = NULL; break;
    case 12: x->contact.stiffness = -40; break;
    case 13: x->contact.stiffness = NAN; break;
    case 14: x->contact.margin = 0; break;
    case 15: x->contact.friction = -0.1; break;
    case 16: x->contact.least_distance = 1; break;
    case 17: x->contact.law = (soa_contact_law)77; break;
    case 18: x->push.wrench[0] = NAN; break;
    case 19: x->push.frame = "bal"; break;
    case 20: x->action.part = "arn"; break;
    case 21: x->action.stiffness[0] = -1; break;
    case 22: x->action.kind = SOA_ACT_KIND_COUNT; break;
    case 23: x->action.time = NAN; break;
    case 24: x->phase.blend = -1; break;
    /* more than there may be; none of them is looked at */
    case 25: x->phase.action_count = 9; break;
    case 26: x->scenario.duration = 0; break;
    case 27: x->scenario.duration = 1e18; break;
    case 28: x->scenario.duration = NAN; break;
    case 29: c->rate = 0; break;
    case 30: c->rate = 1e12; break;
    case 31: c->sensors.position_noise = -1; break;
    case 32: c->sensors.delay = 1e12; break;
    case 33: c->mass_estimate = 0; break;
    case 34: x->scenario.integration.relative_tolerance = 0; break;
    case 35: x->scenario.integration.method = SOA_INTEGRATE_FIXED; break; /* without a step */
    case 36: x->scenario.integration.order = 7; break;
    case 37: x->scenario.success.object = "bal"; break;
    case 38: x->scenario.success.from_phase = "held"; break;
    case 39: x->scenario.part_count = 0; break;
    case 40: x->scenario.contact_count = -1; break;
    case 41:
        x->part[1].place.p[2] = 1.2;
        x->shape[1].shape.radius = 1;
        break; /* around the whole arm */
    case 42:
        x->scenario.has_gravity = true;
        x->scenario.gravity[0] = NAN;
        break;
    default: break;
    }
}
static void bad_scenes(void **unused) {
    (void)unused;
    enum { MISTAKES = 43 };
    static scene x;
    soa_report report;
    soa_world *world = NULL;
    good_scene(&x);
    if (soa_world_create(&x.scenario, &world, &report)) fail_msg("%s", report.text);
    tick(world);
    soa_world_free(world);
    for (int k = 0; k < MISTAKES; ++k) {
        good_scene(&x);
        static soa_action many[9];
        if (k == 25) {
            for (int a = 0; a < 9; ++a)
                many[a] = x.action;
            x.phase.actions = many;
        }
        spoil(&x, k);
        world = (soa_world *)&x; /* not written */
        const soa_status s = soa_world_create(&x.scenario, &world, &report);
        if (!s || !report.text[0] || world != (soa_world *)&x)
            fail_msg("mistake %d was taken: %s", k, report.text);
        assert_int_equal(soa_world_create(&x.scenario, &world, NULL), s);
    }
    assert_int_equal(soa_world_create(NULL, &world, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_world_tick(NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_world_run(NULL, NULL, NULL, NULL), SOA_E_ARGUMENT);
    soa_world_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tick_resumes),
                                       cmocka_unit_test(others_are_refused),
                                       cmocka_unit_test(damaged_states),
                                       cmocka_unit_test(own_controller),
                                       cmocka_unit_test(own_controller_resumes),
                                       cmocka_unit_test(noise_is_normal),
                                       cmocka_unit_test(delay_is_exact),
                                       cmocka_unit_test(inertial_unit),
                                       cmocka_unit_test(touch_and_wrist),
                                       cmocka_unit_test(fingers_and_ends),
                                       cmocka_unit_test(ratios),
                                       cmocka_unit_test(bad_scenes)};
    return cmocka_run_group_tests_name("world_state", tests, NULL, NULL);
}
