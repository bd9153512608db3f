/* test_world_external.c  phases whose torques a function of the caller gives (law external): it is
 * asked once a tick in these phases alone, only its joints take its torques, nothing is added to
 * them, and everything around it (other laws, transitions, blend, journals) is as with the laws
 * that are built in. */
#include "worlds.h"

enum { JOINTS = 7 };
#define ARM "name: mixed\nduration: 1\nparts: [{name: a, model: 'planar-chain:7', limits: false}]\n"
#define REACH                                                                    \
    "{name: reach, actions: [{law: inverse-dynamics, part: a, time: 0.2, goal: " \
    "{joint2: 0.4, joint4: -0.5}}], next: [{to: mine, when: {signal: phase_time, above: 0.3}}]}"
/* `mine` acts for 0.3 s, then a built-in law again. */
#define PHASES(actions)                                                                            \
    "control: {rate: 500, saturate: false, phases: [" REACH                                        \
    ", {name: mine, blend: 0.1, actions: [" actions                                                \
    "], next: [{to: after, when: {signal: phase_time, above: 0.3}}]}, {name: after, blend: 0.05, " \
    "actions: [{law: joint-pd, part: a}]}]}\nrecording: {rate: 500, checkpoint: 0.1}\n"

/* --- joint-pd, once built in and once as a function ------------------------------------------- */
static const double K = 60;
static const double D = 12;

typedef struct holder {
    soa_control *control;
    double start[JOINTS]; /* where it was first asked */
    int asked;
    double first, last; /* s */
    int noise;          /* index of a joint whose torque it fills with nonsense; -1: none */
    double given[JOINTS];
} holder;
static holder holder_for(const soa_world *world) {
    holder h = {.noise = -1};
    const soa_control_def def = soa_control_default(NULL);
    OK(soa_control_create(soa_world_model(world), &def, &h.control));
    return h;
}
static soa_status hold_joints(void *user, const soa_world *world, double t, const double *q,
                              const double *v, double *tau) {
    holder *h = user;
    double stiffness[JOINTS];
    double damping[JOINTS];
    assert_string_equal(soa_world_phase(world), "mine");
    if (!h->asked++) {
        memcpy(h->start, q, sizeof h->start);
        h->first = t;
    }
    h->last = t;
    for (int i = 0; i < JOINTS; ++i) {
        stiffness[i] = K;
        damping[i] = D;
        assert_true(tau[i] == 0);
    }
    const soa_joint_reference there = {h->start, NULL, NULL};
    const soa_joint_gains gains = {stiffness, damping};
    const soa_status s = soa_control_joint_pd(h->control, q, v, &there, &gains, tau);
    if (h->noise >= 0) tau[h->noise] += 1e6;
    memcpy(h->given, tau, sizeof h->given);
    return s;
}
#define PD "{law: joint-pd, part: a, stiffness: 60, damping: 12}"

static double apart(const stage *one, const stage *two) {
    double worst = 0;
    for (int i = 0; i < JOINTS; ++i) {
        const double gap[3] = {soa_world_q(one->world)[i] - soa_world_q(two->world)[i],
                               soa_world_v(one->world)[i] - soa_world_v(two->world)[i],
                               soa_world_tau(one->world)[i] - soa_world_tau(two->world)[i]};
        for (int k = 0; k < 3; ++k)
            worst = gap[k] == gap[k] ? fmax(worst, fabs(gap[k])) : INFINITY;
    }
    return worst;
}

static void same_as_the_built_in_law(void **state) {
    (void)state;
    stage law = made(ARM PHASES(PD));
    stage own = made(ARM PHASES("{law: external, part: a}"));
    holder h = holder_for(own.world);
    OK(soa_world_set_torque(own.world, hold_joints, &h));
    assert_int_equal(soa_world_set_torque(law.world, hold_joints, &h), SOA_E_ARGUMENT);
    double worst = 0;
    while (soa_world_time(law.world) < 0.9) {
        OK(tick(&law));
        OK(tick(&own));
        assert_string_equal(soa_world_phase(law.world), soa_world_phase(own.world));
        worst = fmax(worst, apart(&law, &own));
    }
    printf("  joint-pd built in and as a function: %.1e apart; asked %d times, %g to %g s\n", worst,
           h.asked, h.first, h.last);
    near("apart", worst, 0, 1e-9);
    assert_string_equal(soa_world_phase(own.world), "after");
    /* once a tick from the phase's beginning to its end, and never outside */
    near("asked", h.asked, 1 + (h.last - h.first) * 500, 1e-6);
    near("for as long as the phase lasts", h.last - h.first, 0.3, 0.0021);
    soa_control_free(h.control);
    closed(&law);
    closed(&own);
}

/* Joints 5 to 7 are the function's, the others a built-in law's; what the function gives for the
 * others is not taken. */
static void takes_only_its_joints(void **state) {
    (void)state;
#define FIRST                                                                                     \
    "{law: joint-pd, part: a, joints: [joint1, joint2, joint3, joint4], stiffness: 60, damping: " \
    "12}"
    stage law = made(ARM PHASES(PD));
    stage own = made(ARM PHASES(FIRST ", {law: external, part: a, joints: [joint5, joint6]}, "
                                      "{law: external, name: tip, part: a, joints: joint7}"));
    holder h = holder_for(own.world);
    h.noise = 1;
    OK(soa_world_set_torque(own.world, hold_joints, &h));
    double worst = 0;
    while (soa_world_time(law.world) < 0.9) {
        OK(tick(&law));
        OK(tick(&own));
        worst = fmax(worst, apart(&law, &own));
    }
    printf("  divided among a law and a function: %.1e apart, %d calls\n", worst, h.asked);
    near("apart", worst, 0, 1e-9);
    near("one call for two actions", h.asked, 1 + (h.last - h.first) * 500, 1e-6);
    soa_control_free(h.control);
    closed(&law);
    closed(&own);
}

/* A law at the joints of the function adds its torque alone: gravity is not compensated again. */
static void gravity_is_not_added(void **state) {
    (void)state;
    stage own =
        made(ARM "control: {rate: 500, saturate: false, phases: [{name: mine, actions: [{law: "
                 "joint-pd, name: damp, part: a, stiffness: 0, damping: 2}, {law: external, "
                 "part: a}, {law: inverse-dynamics, part: a, joints: joint1, stiffness: 0, "
                 "damping: 0}]}]}\n");
    holder h = holder_for(own.world);
    double q[JOINTS];
    double v[JOINTS];
    for (int i = 0; i < JOINTS; ++i) {
        q[i] = 0.1 * (i + 1);
        v[i] = 0.3 - 0.1 * i;
    }
    OK(soa_world_set_state(own.world, q, v, NULL));
    OK(soa_world_set_torque(own.world, hold_joints, &h));
    OK(tick(&own));
    double most = 0;
    /* The inverse dynamics at joint 1 keeps its torque of inertia; gravity and friction go. */
    for (int i = 1; i < JOINTS; ++i) {
        near("torque", soa_world_tau(own.world)[i], h.given[i] - 2 * v[i], 1e-10);
        most = fmax(most, fabs(h.given[i]));
    }
    assert_true(most > 1); /* there is gravity */
    soa_control_free(h.control);
    closed(&own);
}

/* --- what is refused -------------------------------------------------------------------------- */
static void create_refuses(const char *text, const char *expected) {
    soa_scenario scenario;
    soa_world *world = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    OK(soa_scenario_parse(text, strlen(text), "test.yaml", &scenario, &report));
    if (soa_world_create(&scenario, &world, &report) == SOA_OK) fail_msg("not refused:\n%s", text);
    if (!strstr(report.text, expected)) fail_msg("'%s' is not in: %s", expected, report.text);
    soa_scenario_free(&scenario);
}
static void mistakes_are_refused(void **state) {
    (void)state;
    create_refuses(ARM PHASES("{law: external, part: a}, {law: external, name: b, part: a, joints: "
                              "joint3}"),
                   "the actions 'external' and 'b' both take the program's torque of joint "
                   "'a.joint3'");
    create_refuses(ARM PHASES("{law: external, part: a, joints: joint8}"),
                   "part 'a' has no joint called 'joint8'");
    create_refuses(ARM PHASES("{law: external, part: a, frames: [a.link8]}"),
                   "there is no frame 'a.link8'; did you mean 'a.link");
    soa_scenario scenario;
    soa_world *world = NULL;
    soa_report report;
    static const char plain[] = ARM PHASES(PD);
    OK(soa_scenario_parse(plain, strlen(plain), "test.yaml", &scenario, &report));
    assert_false(soa_scenario_find_external(&scenario, NULL, NULL));
    scenario.control.external = true;
    assert_int_equal(soa_world_create(&scenario, &world, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "add {law: external, part: PART} to the actions"));
    soa_scenario_free(&scenario);

    stage own = made(ARM PHASES("{law: external, part: a}"));
    int phase = -1;
    int action = -1;
    assert_true(soa_scenario_find_external(own.scenario, &phase, &action));
    assert_int_equal(phase, 1);
    assert_int_equal(action, 0);
    soa_sweep_options options = soa_sweep_options_default();
    assert_int_equal(soa_scenario_sweep(own.scenario, &options, NULL, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "phase 'mine', action 'external' come from a program"));
    /* Without a function the phases before are run. */
    assert_int_equal(soa_world_run(own.world, NULL, NULL, &report), SOA_E_ARGUMENT);
    printf("  %s\n", report.text);
    assert_non_null(
        strstr(report.text, "the torques of phase 'mine', action 'external' come from"));
    near("until the phase", soa_world_time(own.world), 0.3, 0.0041);
    closed(&own);

    /* A function that was taken away again, and one that gives a NaN. */
    own = made(ARM PHASES("{law: external, part: a}"));
    holder h = holder_for(own.world);
    OK(soa_world_set_torque(own.world, hold_joints, &h));
    run_to(&own, 0.4);
    OK(soa_world_set_torque(own.world, NULL, NULL));
    assert_int_equal(soa_world_tick(own.world, &report), SOA_E_ARGUMENT);
    soa_control_free(h.control);
    closed(&own);
    own = made(ARM PHASES("{law: external, part: a}"));
    h = holder_for(own.world);
    OK(soa_world_set_torque(own.world, hold_joints, &h));
    run_to(&own, 0.4);
    h.start[2] = NAN;
    assert_true(soa_world_tick(own.world, &report) != SOA_OK);
    assert_non_null(strstr(report.text, "the controller"));
    soa_control_free(h.control);
    closed(&own);
}

/* --- states and journals ---------------------------------------------------------------------- */
/* A function without memory. */
static soa_status damp(void *user, const soa_world *world, double t, const double *q,
                       const double *v, double *tau) {
    (void)user;
    (void)world;
    (void)t;
    for (int i = 0; i < JOINTS; ++i)
        tau[i] = -3 * q[i] - 2 * v[i];
    return SOA_OK;
}
static void goes_on_to_the_same_bits(void **state) {
    (void)state;
    static const char path[] = "external.soalog";
    static const char text[] = ARM PHASES("{law: external, part: a, frames: [a.link7, a.link4]}");
    soa_report report;
    soa_log *log;
    double end[JOINTS];
    for (int flag = 0; flag < 2; ++flag) { /* the flag is not needed, and changes nothing */
        soa_scenario scenario;
        soa_scenario again;
        soa_world *world;
        soa_journal *journal;
        OK(soa_scenario_parse(text, strlen(text), "external.yaml", &scenario, &report));
        scenario.control.external = flag;
        OK(soa_world_create(&scenario, &world, &report));
        OK(soa_world_set_torque(world, damp, NULL));
        OK(soa_world_create_journal(world, path, &journal, &report));
        OK(soa_world_run(world, journal, &(soa_run_options){.until = 0.45}, &report));
        OK(soa_journal_close(journal, &report));
        const size_t size = soa_world_state_size(world);
        void *saved = malloc(size);
        assert_non_null(saved);
        soa_world_save_state(world, saved);
        OK(soa_world_run(world, NULL, NULL, &report));
        if (flag) assert_memory_equal(soa_world_q(world), end, sizeof end);
        memcpy(end, soa_world_q(world), sizeof end);
        OK(soa_world_restore_state(world, saved, size));
        near("restored", soa_world_time(world), 0.45, 0.0021);
        OK(soa_world_run(world, NULL, NULL, &report));
        assert_memory_equal(soa_world_q(world), end, sizeof end);
        free(saved);
        soa_world_free(world);
        soa_scenario_free(&scenario);

        OK(soa_world_resume(path, &again, &world, &journal, &report));
        assert_true(again.control.external); /* so that who resumes it knows */
        OK(soa_world_set_torque(world, damp, NULL));
        OK(soa_world_run(world, journal, NULL, &report));
        OK(soa_journal_close(journal, &report));
        assert_memory_equal(soa_world_q(world), end, sizeof end);
        soa_world_free(world);
        soa_scenario_free(&again);
        OK(soa_log_open(path, &log, &report));
        assert_true(soa_log_find_signal(log, "sensor.wrist.a.link7.fz") >= 0);
        assert_true(soa_log_find_signal(log, "sensor.wrist.a.link4.nx") >= 0);
        assert_true(soa_log_find_signal(log, "sensor.wrist.a.link5.nx") < 0);
        soa_log_close(log);
    }
    assert_int_equal(remove(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_built_in_law), cmocka_unit_test(takes_only_its_joints),
        cmocka_unit_test(gravity_is_not_added), cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(goes_on_to_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
