/* test_world_motors.c  which joints have motors, which of them a law drives, and several laws on
 * the same joints: passive joints are not driven but taken into account, gravity is compensated
 * once. */
#include "worlds.h"

/* Opens a scenario that must be refused; the message holds every text of the list (NULL-ended). */
static void refused(const char *scenario, int line, const char *const *texts) {
    soa_scenario read;
    soa_world *world = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status s = soa_scenario_parse(scenario, strlen(scenario), "test.yaml", &read, &report);
    if (!s) {
        s = soa_world_create(&read, &world, &report);
        soa_scenario_free(&read);
    }
    if (!s) fail_msg("not refused:\n%s", scenario);
    char place[32];
    snprintf(place, sizeof place, "test.yaml:%d:", line);
    if (!strstr(report.text, place)) fail_msg("'%s' is not in: %s", place, report.text);
    for (int k = 0; texts[k]; ++k)
        if (!strstr(report.text, texts[k])) fail_msg("'%s' is not in: %s", texts[k], report.text);
}
#define REFUSED(scenario, line, ...) \
    refused(scenario, line, (const char *const[]){__VA_ARGS__, NULL})

/* --- passive joints --------------------------------------------------------------------------- */
/* A law moves the first joint of a double pendulum, the second swings; error of the first at the
 * end, rad. */
static double error_of_first(const char *motors, const char *law, double rate) {
    stage s = made(
        "name: under\nduration: 2\n"
        "parts:\n  - {name: m, model: planar-chain:2%s}\n"
        "control: {rate: %.17g, phases: [{name: go, actions: [{law: %s, part: m, joints: joint1, "
        "goal: {joint1: 0.5}, time: 1, stiffness: 100, damping: 20}]}]}\n"
        "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\n",
        motors, rate, law);
    run_to(&s, 2);
    const double off = q_of(&s, "m.joint1")[0] - 0.5;
    assert_true(fabs(q_of(&s, "m.joint2")[0]) > 0.05); /* it does swing */
    near("torque of the passive joint", soa_world_tau(s.world)[1], 0, 0);
    closed(&s);
    return off;
}
/* Torques are held for a tick while the second joint swings, which costs an error of first order in
 * the tick and nothing else: extrapolated to a tick of zero, the path is followed. */
static void passive_joint_is_computed_with(void **state) {
    (void)state;
    static const char *const motors[] = {"", ", motors: [joint1]", ", motors: joint1"};
    double first[3];
    for (int k = 0; k < 3; ++k) {
        const double slow = error_of_first(motors[k], "inverse-dynamics", 1000);
        const double fast = error_of_first(motors[k], "inverse-dynamics", 2000);
        const double faster = error_of_first(motors[k], "inverse-dynamics", 4000);
        /* first and second order taken out */
        const double limit = (8 * faster - 6 * fast + slow) / 3;
        printf("  error %.3e rad at 1 kHz, %.3e at 4 kHz, %.1e extrapolated\n", slow, faster,
               limit);
        near("error at a tick of zero", limit, 0, 1e-8);
        first[k] = slow;
    }
    near("a motor without a law is no motor", first[1], first[0], 0);
    near("one name or a list", first[2], first[1], 0);
}

/* Joints without motors swing as in a world without any controller. */
static void no_motors_no_torque(void **state) {
    (void)state;
    static const char *const parts =
        "duration: 1\nparts:\n  - {name: m, model: planar-chain:3, motors: none}\n"
        "  - {name: o, model: planar-chain:1}\n";
    stage with =
        made("%scontrol: {rate: 100, phases: [{name: go, actions: [{law: joint-pd, part: o}]}]}\n",
             parts);
    stage without = made("%srecording: {rate: 100}\n", parts);
    run_to(&with, 1);
    run_to(&without, 1);
    for (int i = 0; i < 3; ++i)
        near("swings", soa_world_q(with.world)[i], soa_world_q(without.world)[i], 1e-12);
    closed(&with);
    closed(&without);
}

/* --- names ------------------------------------------------------------------------------------ */
#define ARM "duration: 1\nparts:\n  - {name: m, model: planar-chain:12%s}\n"
#define LAW(keys) "control: {phases: [{name: go, actions: [{law: " keys "}]}]}\n"
/* Torques at the start, after which joints were driven. */
static unsigned driven_by(const char *part_keys, const char *law_keys) {
    stage s = made(ARM "control: {phases: [{name: go, actions: [{%s}]}]}\n", part_keys, law_keys);
    OK(tick(&s));
    unsigned bits = 0;
    for (int i = 0; i < 12; ++i)
        if (soa_world_tau(s.world)[i] != 0) bits |= 1u << i;
    closed(&s);
    return bits;
}
static void lists_and_beginnings(void **state) {
    (void)state;
    assert_int_equal(driven_by("", "law: joint-pd, part: m"), 0xfff);
    /* joint1 is the name of a joint: joint10, joint11, joint12 are not meant */
    assert_int_equal(driven_by("", "law: joint-pd, part: m, joints: joint1"), 1);
    assert_int_equal(driven_by("", "law: joint-pd, part: m, joints: [joint1, joint3]"), 5);
    assert_int_equal(driven_by("", "law: joint-pd, part: m, joints: join"), 0xfff);
    assert_int_equal(driven_by(", motors: [joint1, joint2]", "law: joint-pd, part: m"), 3);
    assert_int_equal(
        driven_by(", motors: [joint1, joint2]", "law: joint-pd, part: m, joints: joint"), 3);
    assert_int_equal(driven_by(", motors: all", "law: joint-pd, part: m, joints: joint12"), 0x800);
    static const char *const laws[] = {"inverse-dynamics", "passivity", "decoupled"};
    for (int k = 0; k < 3; ++k) {
        char keys[100];
        snprintf(keys, sizeof keys, "law: %s, part: m, joints: [joint2, joint3]", laws[k]);
        assert_int_equal(driven_by("", keys), 6);
    }
    /* laws of frames: the chosen joints between the frame and its root */
    assert_int_equal(driven_by("", "law: impedance, frame: m.link3"), 7);
    assert_int_equal(driven_by("", "law: impedance, frame: m.link3, joints: joint2"), 2);
    assert_int_equal(
        driven_by("", "law: operational, frame: m.link6, joints: [joint2, joint4], stiffness: 1"),
        10);
    assert_int_equal(driven_by("", "law: hybrid, frame: m.link6, joints: [joint2, joint4], "
                                   "force_rows: [fx], force: [0,0,0,1,0,0]"),
                     10);
}
static void base_hold_takes_joints(void **state) {
    (void)state;
    stage s = made("duration: 1\ngravity: [0, 0, 0]\nparts:\n"
                   "  - {name: m, model: arm7, floating: true, twist: [0.1, 0, 0, 0, 0, 0]}\n  - "
                   "{name: o, model: arm7}\n"
                   "control: {phases: [{name: go, actions: [{law: base-hold, part: m, joints: "
                   "[joint1, joint2, "
                   "joint4]}]}]}\n");
    OK(tick(&s));
    const double *tau = soa_world_tau(s.world);
    assert_true(tau[6] != 0 && tau[7] != 0 && tau[9] != 0);
    near("joint3", tau[8], 0, 0);
    for (int i = 10; i < 20; ++i)
        near("not its joint", tau[i], 0, 0);
    closed(&s);
}
static void mistakes_are_refused(void **state) {
    (void)state;
    static const char *const part =
        "duration: 1\nparts:\n  - {name: m, model: planar-chain:2, motors: [joint1]}\n";
    char text[1000];
#define WITH(keys) (snprintf(text, sizeof text, "%s" LAW(keys), part), text)
    REFUSED(WITH("joint-pd, part: m, joints: joint2"), 4, "action 'joint-pd', joints",
            "'m.joint2' has no motor", "'motors' of part 'm'");
    REFUSED(WITH("joint-pd, part: m, joints: [joint1, jont2]"), 4, "no joint called 'jont2'",
            "did you mean 'm.joint2'?");
    REFUSED(WITH("joint-pd, part: m, goal: {joint2: 1}"), 4,
            "goal of joint 'm.joint2', which has no motor");
    REFUSED(WITH("impedance, frame: m.link2, joints: joint2"), 4, "'m.joint2' has no motor");
    REFUSED(WITH("joint-pd, part: m, joints: []"), 4, "joints: expected the name of a joint",
            "a list of 0");
    REFUSED(WITH("joint-pd, part: m, joints: [joint1, joint1]"), 4,
            "joints: 'joint1' is listed twice");
    REFUSED(WITH("coordination, object: m.link2, hands: [m.link1, m.link2], joints: joint1"), 4,
            "takes no key 'joints'");
#undef WITH
    REFUSED("duration: 1\nparts:\n  - {name: m, model: planar-chain:2}\n" LAW(
                "joint-pd, part: m, joints: joint1, goal: {joint2: 1}"),
            4, "goal of joint 'm.joint2'", "'joints' do not choose");
    REFUSED("duration: 1\nparts:\n  - {name: m, model: planar-chain:2}\n" LAW(
                "impedance, frame: m.link1, joints: joint2"),
            4, "'joint2' means no joint that moves the frame");
    REFUSED("duration: 1\nparts:\n  - {name: m, model: planar-chain:2, motors: none}\n" LAW(
                "joint-pd, part: m"),
            4, "part 'm' has no joint with a motor");
    REFUSED("duration: 1\nparts:\n  - {name: m, model: planar-chain:2, motors: none}\n" LAW(
                "impedance, frame: m.link2"),
            4, "no joint with a motor moves frame 'm.link2'");
    REFUSED("duration: 1\nparts:\n  - {name: m, model: planar-chain:2, motors: [elbow]}\n", 3,
            "motors of part 'm'", "no joint called 'elbow'");
    REFUSED("duration: 1\nparts:\n  - {name: m, model: arm7, floating: true, motors: [root]}\n", 3,
            "'m.root' is a floating root");
    REFUSED("duration: 1\nparts:\n  - {name: m, body: {mass: 1, sphere: 0.1}, motors: none}\n", 3,
            "takes no key 'motors'");
}

/* --- several laws on the same joints ---------------------------------------------------------- */
#define STILL                                                                                 \
    "duration: 1\nparts:\n  - {name: a, model: arm7, positions: {joint2: 0.7, joint4: -1.2, " \
    "joint6: 0.5}}\n"
/* Torques of the first tick of an arm at rest, at its goal. */
static void torques_at_rest(const char *actions, double *tau) {
    stage s =
        made(STILL "control: {saturate: false, phases: [{name: go, actions: [%s]}]}\n", actions);
    OK(tick(&s));
    memcpy(tau, soa_world_tau(s.world), 7 * sizeof *tau);
    closed(&s);
}
static void gravity_is_compensated_once(void **state) {
    (void)state;
    static const char *const pairs[] = {
        "{law: joint-pd, part: a}",
        "{law: joint-pd, part: a}, {law: joint-pd, name: b, part: a}",
        "{law: joint-pd, part: a, joints: [joint2, joint4]}, {law: joint-pd, name: b, part: a}",
        "{law: impedance, frame: a.link7}, {law: joint-pd, part: a}",
        "{law: joint-pd, part: a}, {law: impedance, frame: a.link4}",
        "{law: impedance, frame: a.link7}, {law: impedance, name: b, frame: a.link5}, {law: "
        "joint-pd, part: a}",
        "{law: inverse-dynamics, part: a}, {law: impedance, frame: a.link7}",
        "{law: impedance, frame: a.link7}, {law: inverse-dynamics, part: a}",
        "{law: inverse-dynamics, part: a}, {law: inverse-dynamics, name: b, part: a, joints: "
        "joint2}",
        "{law: operational, frame: a.link7}, {law: joint-pd, part: a}",
        "{law: operational, frame: a.link7}, {law: passivity, part: a}, {law: decoupled, part: a}",
        ("{law: inverse-dynamics, part: a, joints: [joint1, joint2, joint3, joint4]}, "
         "{law: joint-pd, part: a, joints: [joint5, joint6, joint7]}"),
        "{law: hybrid, frame: a.link7, force_rows: [fz]}, {law: joint-pd, part: a}",
    };
    stage s = made(STILL);
    double gravity[7], tau[7], worst = 0;
    soa_work *work = NULL;
    const soa_model *model = soa_world_model(s.world);
    OK(soa_work_create(model, &work));
    OK(soa_gravity_torque(model, work, soa_world_q(s.world), gravity));
    assert_true(fabs(gravity[1]) > 1);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; ++k) {
        torques_at_rest(pairs[k], tau);
        for (int i = 0; i < 7; ++i) {
            near(pairs[k], tau[i], gravity[i], 1e-9);
            worst = fmax(worst, fabs(tau[i] - gravity[i]));
        }
    }
    printf("  %zu sets of laws hold an arm at rest: torque off gravity's by %.1e N m at most\n",
           sizeof pairs / sizeof *pairs, worst);
    soa_work_free(work);
    closed(&s);
}

/* The same with a machine that has a loop, driven at its crank alone: it stays where it is, whoever
 * holds it. */
static void held_at_the_crank(void **state) {
    (void)state;
    static const char *const laws[] = {
        "{law: joint-pd, part: m, stiffness: 0, damping: 0}",
        "{law: joint-pd, part: m, stiffness: 0, damping: 0}, "
        "{law: joint-pd, name: b, part: m, joints: A, stiffness: 0, damping: 0}",
        "{law: joint-pd, part: m, stiffness: 0, damping: 0}, "
        "{law: inverse-dynamics, part: m, goal: {A: 0.6}}"};
    double first = 0;
    for (int k = 0; k < 3; ++k) {
        stage s = made(
            "duration: 1\nparts:\n  - {name: m, model: four-bar, motors: A, positions: {A: 0.6}}\n"
            "control: {rate: 1000, phases: [{name: hold, actions: [%s]}]}\n",
            laws[k]);
        OK(tick(&s));
        const double torque = soa_world_tau(s.world)[0];
        if (!k) first = torque;
        assert_true(fabs(torque) > 0.1);
        near("torque of the crank", torque, first, 1e-9);
        for (int i = 1; i < soa_model_nv(soa_world_model(s.world)); ++i)
            near("no motor", soa_world_tau(s.world)[i], 0, 0);
        run_to(&s, 0.2);
        near("stays", q_of(&s, "m.A")[0], 0.6, 1e-6);
        closed(&s);
    }
    printf("  crank of a four-bar held with %.6f N m by one law or two\n", first);
}

/* A motion split among inverse dynamics laws is the motion of one law. */
static void split_laws_are_one(void **state) {
    (void)state;
#define GOAL(joints) ", joints: " joints ", time: 0.5, stiffness: 100, damping: 20, goal: "
    static const char *const whole =
        "{law: inverse-dynamics, part: a, time: 0.5, stiffness: 100, damping: 20, "
        "goal: {joint1: 0.4, joint2: 1, joint4: -0.8, joint6: 0}}";
    static const char *const split = "{law: inverse-dynamics, part: a" GOAL(
        "[joint1, joint3, joint5]") "{joint1: 0.4}}, "
                                    "{law: inverse-dynamics, name: b, part: a" GOAL(
                                        "joint2") "{joint2: 1}}, "
                                                  "{law: inverse-dynamics, name: c, part: a" GOAL(
                                                      "[joint4, joint6, joint7]") "{joint4: -0.8, "
                                                                                  "joint6: 0}}";
    stage one = made(STILL "control: {rate: 500, phases: [{name: go, actions: [%s]}]}\n", whole);
    stage more = made(STILL "control: {rate: 500, phases: [{name: go, actions: [%s]}]}\n", split);
    double worst = 0;
    while (soa_world_time(one.world) < 0.6) {
        OK(tick(&one));
        OK(tick(&more));
        for (int i = 0; i < 7; ++i)
            worst = fmax(worst, fabs(soa_world_q(one.world)[i] - soa_world_q(more.world)[i]));
    }
    printf("  one law or three: %.1e rad apart\n", worst);
    near("apart", worst, 0, 1e-9);
    closed(&one);
    closed(&more);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(passive_joint_is_computed_with),
                                       cmocka_unit_test(no_motors_no_torque),
                                       cmocka_unit_test(lists_and_beginnings),
                                       cmocka_unit_test(base_hold_takes_joints),
                                       cmocka_unit_test(mistakes_are_refused),
                                       cmocka_unit_test(gravity_is_compensated_once),
                                       cmocka_unit_test(held_at_the_crank),
                                       cmocka_unit_test(split_laws_are_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
