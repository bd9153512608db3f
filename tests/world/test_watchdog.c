/* test_watchdog.c  warnings about runs that continue but not as intended: each appears when it
 * should, with its number, and not otherwise. Bounds of sampled laws are compared with the
 * simulated loop on both sides of them. */
#include "worlds.h"

/* The warning of a code and name (NULL: any), or NULL. */
static const soa_world_warning *warning_of(const stage *s, const char *code, const char *name) {
    int count = 0;
    const soa_world_warning *all = soa_world_warnings(s->world, &count);
    for (int i = 0; i < count; ++i)
        if (!strcmp(all[i].code, code) && (!name || !strcmp(all[i].name, name))) return &all[i];
    return NULL;
}
static const soa_world_warning *warned(const stage *s, const char *code, const char *name,
                                       const char *remedy) {
    const soa_world_warning *x = warning_of(s, code, name);
    if (!x) fail_msg("no warning '%s' of '%s'", code, name ? name : "anything");
    if (!strstr(x->remedy, remedy)) fail_msg("'%s' is not in: %s", remedy, x->remedy);
    return x;
}
static void silent(const stage *s) {
    int count = 0;
    const soa_world_warning *all = soa_world_warnings(s->world, &count);
    if (count) fail_msg("[%s] %s: %s", all[0].code, all[0].name, all[0].remedy);
}
static int has_code(const stage *s, const char *code) {
    return warning_of(s, code, NULL) != NULL;
}
static double mass_of_one(const stage *s) {
    soa_work *work = NULL;
    double M = 0;
    OK(soa_work_create(soa_world_model(s->world), &work));
    OK(soa_crba(soa_world_model(s->world), work, soa_world_q(s->world), &M));
    soa_work_free(work);
    return M;
}

/* --- motors ----------------------------------------------------------------------------------- */
#define HELD(effort, more)                                                                        \
    "duration: 1\nparts:\n  - {name: p, model: planar-chain:1, effort: " effort "}\n"             \
    "control: {rate: 100, phases: [{name: up, actions: [{law: joint-pd, name: lift, part: p" more \
    "}]}]}\n"
static void weak_motors(void **state) {
    (void)state;
    stage s = opened(HELD("0.5", ", goal: {joint1: 1}, stiffness: 50, damping: 5"));
    run_to(&s, 1);
    const soa_world_warning *x = warned(&s, "saturated", "p.joint1", "law 'lift' of phase 'up'");
    near("share of the run", x->value, 0.99, 0.011);
    assert_non_null(strstr(x->remedy, "limit of 0.5 N m"));
    closed(&s);
    s = opened(HELD("500", ", goal: {joint1: 1}, time: 0.5, stiffness: 50, damping: 5"));
    run_to(&s, 1);
    silent(&s);
    closed(&s);
    /* for a moment at its limit: 4 of 100 ticks */
    s = opened(HELD("9", ", goal: {joint1: 0.1}, stiffness: 200, damping: 20"));
    int limited = 0;
    while (soa_world_time(s.world) < 1 - 1e-9) {
        OK(tick(&s));
        limited += fabs(soa_world_tau(s.world)[0]) >= 9;
    }
    printf("  %d of 100 ticks at the limit\n", limited);
    assert_true(limited > 0 && limited < 10);
    silent(&s);
    closed(&s);
}

/* --- sampled laws ----------------------------------------------------------------------------- */
/* A joint with gravity compensated that starts with a rate; its rate after a while over that at the
 * start. */
typedef struct loop {
    double growth;
    int gain, spring;
    double value;
} loop;
static loop sampled(double stiffness, double damping, double delay, const char *law,
                    double seconds) {
    stage s = made("duration: 10\ngravity: [0, 0, 0]\nparts:\n  - {name: p, model: planar-chain:1, "
                   "rates: {joint1: 1e-6}}\n"
                   "control: {rate: 100, sensors: {delay: %.17g}, phases: [{name: go, actions: "
                   "[{law: %s, part: p, "
                   "stiffness: %.17g, damping: %.17g}]}]}\n",
                   delay, law, stiffness, damping);
    double most = 0;
    run_to(&s, seconds);
    while (soa_world_time(s.world) < seconds + 0.5) {
        OK(tick(&s));
        most = fmax(most, fabs(v_of(&s, "p.joint1")[0]));
    }
    const soa_world_warning *x = warning_of(&s, "sampled-gain", NULL);
    const loop l = {most / 1e-6, x != NULL, has_code(&s, "sampled-spring"), x ? x->value : 0};
    closed(&s);
    return l;
}
static void damping_bound(void **state) {
    (void)state;
    stage s = opened(
        "duration: 1\nparts:\n  - {name: p, model: planar-chain:1}\nrecording: {rate: 100}\n");
    const double I = mass_of_one(&s), dt = 0.01;
    closed(&s);
    for (int late = 0; late <= 3; ++late) {
        const double bound = 2 * sin(PI / (2 * (2 * late + 1)));
        for (int above = 0; above < 2; ++above) {
            const double d = (above ? 1.02 : 0.98) * bound;
            const loop pd = sampled(0, d * I / dt, late * dt, "joint-pd", 4);
            const loop id = sampled(0, d / dt, late * dt, "inverse-dynamics", 4);
            printf("  %d ticks late, D dt / I = %.3f: rate grows by %.2g, %s\n", late, d, pd.growth,
                   pd.gain ? "warned" : "silent");
            assert_int_equal(pd.gain, above);
            assert_int_equal(id.gain, above);
            if (above) {
                near("D dt / I", pd.value, d, 1e-9);
                near("D dt", id.value, d, 1e-9);
            }
            assert_true(above ? pd.growth > 2 : pd.growth < 0.5);
            assert_true(above ? id.growth > 2 : id.growth < 0.5);
        }
    }
}
static void spring_bound(void **state) {
    (void)state;
    const double dt = 0.01, K = 100;
    for (int above = 0; above < 2; ++above) {
        const double D = (above ? 0.5 : 1.5) * K * dt / 2;
        const loop l = sampled(K, D, 0, "inverse-dynamics", 9);
        printf("  K dt / 2 D = %.2f: rate grows by %.2g, %s\n", K * dt / 2 / D, l.growth,
               l.spring ? "warned" : "silent");
        assert_int_equal(l.spring, above);
        assert_false(l.gain);
        assert_true(above ? l.growth > 2 : l.growth < 0.5);
    }
}
/* The other laws' gains. */
static void gains_of_laws(void **state) {
    (void)state;
    static const struct {
        const char *keys;
        int warned;
    } laws[] = {
        {"law: passivity, part: a, stiffness: 5, damping: 0.01", 0},
        {"law: passivity, part: a, stiffness: 300, damping: 0.01", 1},
        {"law: decoupled, part: a, stiffness: 5, damping: 10", 0},
        {"law: decoupled, part: a, stiffness: 5, damping: 250", 1},
        {"law: operational, frame: a.link7", 0},
        {"law: operational, frame: a.link7, damping: [10, 250]", 1},
        {"law: impedance, frame: a.link7, stiffness: [0.1, 50], damping: [0.01, 20]", 0},
        {"law: impedance, frame: a.link7, stiffness: [0.1, 50], damping: [0.01, 20000]", 1}};
    for (size_t k = 0; k < sizeof laws / sizeof *laws; ++k) {
        stage s = made("duration: 1\nparts:\n  - {name: a, model: arm7, positions: {joint2: 0.7, "
                       "joint4: -1.2, joint6: "
                       "0.5}}\ncontrol: {rate: 100, phases: [{name: go, actions: [{%s}]}]}\n",
                       laws[k].keys);
        OK(tick(&s));
        if (has_code(&s, "sampled-gain") != laws[k].warned)
            fail_msg("%s: not %d", laws[k].keys, laws[k].warned);
        closed(&s);
    }
}
static const char *const light = "duration: 1\nparts:\n  - {name: a, model: arm7, effort: 50, "
                                 "positions: {joint2: 0.7, joint4: -1.2}}\n"
                                 "control: {rate: 100, phases: [{name: hold, actions: [{law: "
                                 "joint-pd, part: a, goal: {joint1: 0.2}, "
                                 "stiffness: 100, damping: 20}]}]}\n";
static void chatter_is_named(void **state) {
    (void)state;
    stage s = opened(light);
    OK(tick(&s));
    assert_true(has_code(&s, "sampled-gain")); /* before it chatters */
    assert_false(has_code(&s, "chatter"));
    run_to(&s, 1);
    const soa_world_warning *x = warned(&s, "chatter", NULL, "law 'joint-pd' of phase 'hold'");
    printf("  %s: %s\n", x->name, x->remedy);
    assert_true(x->value > 12.5);
    closed(&s);
}
/* What is counted is part of the state. */
static void counted_in_the_state(void **state) {
    (void)state;
    stage s = opened(light), again = opened(light);
    run_to(&s, 0.4);
    void *kept = malloc(soa_world_state_size(s.world));
    assert_non_null(kept);
    soa_world_save_state(s.world, kept);
    run_to(&s, 1);
    OK(soa_world_restore_state(again.world, kept, soa_world_state_size(s.world)));
    run_to(&again, 1);
    int one = 0, other = 0;
    const soa_world_warning *a = soa_world_warnings(s.world, &one),
                            *b = soa_world_warnings(again.world, &other);
    assert_int_equal(one, other);
    assert_true(one > 1);
    assert_memory_equal(a, b, (size_t)one * sizeof *a);
    free(kept);
    closed(&s);
    closed(&again);
}

/* --- goals ------------------------------------------------------------------------------------ */
static void goals_out_of_reach(void **state) {
    (void)state;
#define REACH(keys)                                                                              \
    "duration: 2\nparts:\n  - {name: a, model: puma560, friction_scale: 0, positions: {joint2: " \
    "0.3, joint3: -0.3, "                                                                        \
    "joint5: 0.9}}\n"                                                                            \
    "control: {rate: 500, phases: [{name: go, actions: [{" keys "}]}]}\n"
    stage s = opened(
        REACH("law: operational, name: hand, frame: a.link6, goal: {xyz: [3, 4, 0]}, time: 5"));
    OK(tick(&s));
    const soa_world_warning *x = warned(&s, "out-of-reach", "a.link6", "law 'hand'");
    assert_true(x->value > 4 && x->value < 6);
    closed(&s);
    s = opened(
        REACH("law: operational, frame: a.link6, goal: {offset: true, xyz: [0, 0, 0.1]}, time: 1"));
    run_to(&s, 2);
    silent(&s);
    closed(&s);
    s = opened(REACH("law: operational, name: hand, frame: a.link6, goal: {offset: true, xyz: [0, "
                     "0, 0.9]}, time: 1"));
    while (!has_code(&s, "singular"))
        OK(tick(&s)); /* stretched out */
    assert_true(warned(&s, "singular", "a.link6", "law 'hand' of phase 'go'")->value > 1e3);
    closed(&s);
    s = opened(REACH("law: inverse-dynamics, part: a, goal: {joint2: 9}, time: 10"));
    OK(tick(&s));
    near("beyond the limits",
         warned(&s, "out-of-reach", "a.joint2", "outside the joint's limits")->value, 9, 0);
    closed(&s);
    /* near enough, but out of the plane in which the arm moves */
    static const char *const plane = "duration: 3\ngravity: [0, 0, 0]\nparts:\n  - {name: a, "
                                     "model: planar-chain:3, positions: {joint2: 1, joint3: "
                                     "1}, "
                                     "damping_scale: 1}\ncontrol: {rate: 500, phases: [{name: go, "
                                     "actions: [{law: impedance, name: hand, frame: "
                                     "a.link3, goal: {offset: true, xyz: %s}, time: 0.5, "
                                     "stiffness: [0, 50], damping: [0, 20]}]}]}\n";
    s = made(plane, "[0, 0, 0]");
    soa_body_info joint;
    OK(soa_model_body(soa_world_model(s.world), 1, &joint));
    run_to(&s, 3);
    silent(&s);
    closed(&s);
    char off[80];
    snprintf(off, sizeof off, "[%.17g, %.17g, %.17g]", 0.05 * joint.axis[0], 0.05 * joint.axis[1],
             0.05 * joint.axis[2]);
    s = made(plane, off);
    run_to(&s, 3);
    near("misses by", warned(&s, "out-of-reach", "a.link3", "comes no nearer")->value, 0.05, 1e-3);
    closed(&s);
}

/* --- falls ------------------------------------------------------------------------------------ */
static void falling_parts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double fell; /* m; 0: no warning */
    } worlds[] = {
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}}]\n", 9.81 * 2},
        {"gravity: [0, 0, 0]\nparts: [{name: ball, body: {mass: 1, sphere: 0.1}, twist: [0, 0, 0, "
         "0, 0, -5]}]\n",
         0},
        /* a floor, but no contact with it */
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, place: [0, 0, 1]}]\n"
         "shapes: [{name: skin, on: ball, sphere: 0.1}, {name: floor, on: world, plane: {}}]\n",
         9.81 * 2},
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, place: [0, 0, 1]}]\n"
         "shapes: [{name: skin, on: ball, sphere: 0.1}, {name: floor, on: world, plane: {}}]\n"
         "contacts: [{between: [skin, floor], law: linear, stiffness: 1e4, damping: 100}]\n",
         0},
        /* on its way to the floor */
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, place: [0, 0, 50]}]\n"
         "shapes: [{name: skin, on: ball, sphere: 0.1}, {name: floor, on: world, plane: {}}]\n"
         "contacts: [{between: [skin, floor], law: linear, stiffness: 1e4, damping: 100}]\n",
         0},
        /* past a table that it misses */
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, place: [3, 0, 1]}, {name: table, "
         "fixed: true, body: {}}]\n"
         "shapes: [{name: skin, on: ball, sphere: 0.1}, {name: top, on: table, box: [1, 1, 0.1]}]\n"
         "contacts: [{between: [skin, top], law: linear, stiffness: 1e4, damping: 100}]\n",
         9.81 * 2},
        {"parts: [{name: ball, model: arm7, floating: true}]\n", 9.81 * 2},
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, massless_links: true}]\n", 9.81 * 2},
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}, twist: [0, 0, 0, 0, 0, 5]}]\n",
         9.81 * 2 - 10},
        {"parts: [{name: ball, model: planar-chain:3}]\n", 0},
        {"parts: [{name: ball, body: {mass: 1, sphere: 0.1}}]\n"
         "constraints: [{kind: distance, frames: [world, ball], value: 3, place1: {xyz: [3, 0, "
         "0]}}]\n",
         0},
    };
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; ++k) {
        stage s = made("duration: 2\n%srecording: {rate: 50}\n", worlds[k].text);
        run_to(&s, 2);
        const soa_world_warning *x = warning_of(&s, "falls-forever", "ball");
        if (!x != !(worlds[k].fell > 0))
            fail_msg("%s: %s", worlds[k].text, x ? x->remedy : "no warning");
        if (x) near(worlds[k].text, x->value, worlds[k].fell, 1e-6);
        closed(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_motors),        cmocka_unit_test(damping_bound),
        cmocka_unit_test(spring_bound),       cmocka_unit_test(gains_of_laws),
        cmocka_unit_test(chatter_is_named),   cmocka_unit_test(counted_in_the_state),
        cmocka_unit_test(goals_out_of_reach), cmocka_unit_test(falling_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
