/* test_world_hand.c  intervention from outside: pulls on bodies and joints, states set by the
 * caller. */
#include "worlds.h"

static const char floating[] =
    "name: pulled\n"
    "duration: 10\n"
    "gravity: [0, 0, 0]\n"
    "parts:\n"
    "  - {name: robot, model: two-puma, floating: true, friction_scale: 0}\n"
    "  - name: satellite\n"
    "    body: {mass: 30, box: [0.7, 0.24, 0.6]}\n"
    "    place: {xyz: [3, -0.1, 0.2]}\n"
    "    twist: {angular: [0.1, 0.2, -0.1], linear: [-0.01, 0.008, 0.006]}\n"
    "recording: {rate: 200}\n";
static const char falling[] =
    "name: drop\n"
    "duration: 2\n"
    "parts:\n"
    "  - {name: ground, fixed: true, body: {}}\n"
    "  - {name: ball, body: {mass: 0.1, sphere: 20 mm}, place: [0, 0, 0.05]}\n"
    "shapes:\n"
    "  - {name: floor, on: ground, plane: {}}\n"
    "  - {name: skin, on: ball, sphere: 20 mm}\n"
    "contacts:\n"
    "  - {between: [skin, floor], law: hunt-crossley, stiffness: 1e6, loss: 5, friction: 0.4}\n"
    "recording: {rate: 500}\n";

static int body_of(const stage *s, const char *joint) {
    const int b = soa_model_find_joint(soa_world_model(s->world), joint);
    if (b < 0) fail_msg("no joint %s", joint);
    return b;
}
static int v_index(const stage *s, const char *joint) {
    soa_body_info info;
    soa_model_body(soa_world_model(s->world), body_of(s, joint), &info);
    return info.v_index;
}
static void *saved(const stage *s) {
    void *state = malloc(soa_world_state_size(s->world));
    assert_non_null(state);
    soa_world_save_state(s->world, state);
    return state;
}
static void same_bytes(const char *what, const stage *one, const stage *two) {
    void *a = saved(one), *b = saved(two);
    if (memcmp(a, b, soa_world_state_size(one->world))) fail_msg("%s: the states differ", what);
    free(a);
    free(b);
}

/* x = F t^2 / 2m, v = F t / m; the work is F x, and the body's momentum F t. */
static void a_force_moves_by_its_mass(void **unused) {
    (void)unused;
    stage s = opened(floating);
    const double F[3] = {6, -3, 9}, mass = 30, t = 1;
    double x0[3], v0[3], v[3];
    memcpy(x0, q_of(&s, "satellite.root"), sizeof x0);
    velocity_of(&s, "satellite.root", v0);
    soa_world_pull pull = {.body = body_of(&s, "satellite.root"), .force = {F[0], F[1], F[2]}};
    OK(soa_world_set_pulls(s.world, &pull, 1, NULL, 0));
    run_to(&s, t);
    velocity_of(&s, "satellite.root", v);
    double work = 0;
    for (int k = 0; k < 3; ++k) {
        const double x = q_of(&s, "satellite.root")[k];
        near("velocity", v[k], v0[k] + F[k] * t / mass, 1e-9);
        near("place", x, x0[k] + v0[k] * t + F[k] * t * t / (2 * mass), 1e-9);
        work += F[k] * (x - x0[k]);
    }
    soa_world_summary sum = summary_of(&s);
    near("work", sum.disturbed, work, 1e-9);
    assert_true(sum.is_free);
    near("energy", sum.energy_error_rel, 0, 1e-8);
    near("momentum", sum.momentum_error_rel, 0, 1e-11);
    OK(soa_world_set_pulls(s.world, NULL, 0, NULL, 0));
    run_to(&s, 1.5);
    double after[3];
    velocity_of(&s, "satellite.root", after);
    for (int k = 0; k < 3; ++k)
        near("let go", after[k], v[k], 1e-9);
    printf("  free body: energy within %.1e, momentum within %.1e\n", sum.energy_error_rel,
           sum.momentum_error_rel);
    closed(&s);
}

/* A damped spring on a hand of the floating robot and on a corner of the satellite: both balances
 * close, the points come to where they are pulled, and no spring is stronger than its bound. */
static void springs_balance(void **unused) {
    (void)unused;
    stage s = opened(floating);
    const soa_model *model = soa_world_model(s.world);
    soa_world_pull pulls[2] = {
        {.body = body_of(&s, "robot.left_joint6"), .at = {0, 0, 0.14}, .to = {0.5, 0.4, 0.9}},
        {.body = body_of(&s, "satellite.root"), .at = {0.35, 0.12, 0.3}, .to = {3, 0.5, 1}}};
    pulls[0].stiffness = 200;
    pulls[0].damping = 80;
    pulls[0].most = 50;
    pulls[1].stiffness = 500;
    pulls[1].damping = 100;
    OK(soa_world_set_pulls(s.world, pulls, 2, NULL, 0));
    soa_work *work;
    OK(soa_work_create(model, &work));
    double away[2] = {0};
    for (int pass = 0; pass < 2; ++pass) {
        if (pass) run_to(&s, 8);
        OK(soa_kinematics(model, work, soa_world_q(s.world), soa_world_v(s.world), NULL));
        soa_body_info info;
        soa_frame at;
        soa_model_body(model, pulls[1].body, &info);
        OK(soa_pose(model, work, info.frame, &at));
        double square = 0;
        for (int k = 0; k < 3; ++k) {
            double p = at.p[k];
            for (int j = 0; j < 3; ++j)
                p += at.R[3 * k + j] * pulls[1].at[j];
            square += pow(p - pulls[1].to[k], 2);
        }
        away[pass] = sqrt(square);
    }
    soa_work_free(work);
    soa_world_summary sum = summary_of(&s);
    printf("  springs: corner %.3g m away, then %.3g m; work %.4g J, energy within %.1e, momentum "
           "within %.1e\n",
           away[0], away[1], sum.disturbed, sum.energy_error_rel, sum.momentum_error_rel);
    assert_true(away[1] < 0.05 * away[0]);
    near("energy", sum.energy_error_rel, 0, 1e-6);
    near("momentum", sum.momentum_error_rel, 0, 1e-10);
    closed(&s);
}

/* A joint is drawn to an angle by a torque within the floating machine: no momentum comes of it. */
static void a_held_joint(void **unused) {
    (void)unused;
    stage s = opened(floating);
    const double goal = q_of(&s, "robot.left_joint2")[0] + 0.3;
    soa_world_hold hold = {.v = v_index(&s, "robot.left_joint2"),
                           .to = goal,
                           .stiffness = 800,
                           .damping = 250,
                           .most = 60};
    OK(soa_world_set_pulls(s.world, NULL, 0, &hold, 1));
    run_to(&s, 6);
    soa_world_summary sum = summary_of(&s);
    near("joint", q_of(&s, "robot.left_joint2")[0], goal, 5e-3);
    near("energy", sum.energy_error_rel, 0, 1e-6);
    near("momentum", sum.momentum_error_rel, 0, 1e-10);
    assert_true(sum.disturbed > 0);
    closed(&s);
}

/* Pulls that were set and taken back, and refused ones, leave no trace; nor does one of no force
 * leave one in momentum. */
static void no_pull_no_trace(void **unused) {
    (void)unused;
    const char *const texts[] = {floating, falling};
    for (int n = 0; n < 2; ++n) {
        stage one = opened(texts[n]), two = opened(texts[n]);
        soa_world_pull pull = {.body = 1, .force = {1, 2, 3}};
        soa_world_hold hold = {.v = 0, .stiffness = 1};
        OK(soa_world_set_pulls(two.world, &pull, 1, NULL, 0));
        OK(soa_world_set_pulls(two.world, NULL, 0, NULL, 0));
        const int bodies = soa_model_body_count(soa_world_model(two.world)),
                  nv = soa_model_nv(soa_world_model(two.world));
        for (int k = 0; k < 8; ++k) {
            soa_world_pull bad = pull;
            if (k == 0) bad.body = 0;
            if (k == 1) bad.body = bodies + 1;
            if (k == 2) bad.force[1] = NAN;
            if (k == 3) bad.to[2] = INFINITY;
            if (k == 4) bad.at[0] = NAN;
            if (k == 5) bad.stiffness = -1;
            if (k == 6) bad.damping = NAN;
            if (k == 7) bad.most = -1;
            assert_int_not_equal(soa_world_set_pulls(two.world, &bad, 1, NULL, 0), SOA_OK);
        }
        hold.v = v_index(&two, n ? "ball.root" : "satellite.root"); /* a free joint has no angle */
        assert_int_equal(soa_world_set_pulls(two.world, NULL, 0, &hold, 1), SOA_E_ARGUMENT);
        hold.v = nv;
        assert_int_equal(soa_world_set_pulls(two.world, NULL, 0, &hold, 1), SOA_E_ARGUMENT);
        assert_int_equal(soa_world_set_pulls(two.world, &pull, SOA_WORLD_PULLS + 1, NULL, 0),
                         SOA_E_ARGUMENT);
        assert_int_equal(soa_world_set_pulls(two.world, NULL, 1, NULL, 0), SOA_E_ARGUMENT);
        assert_int_equal(soa_world_set_pulls(NULL, &pull, 1, NULL, 0), SOA_E_ARGUMENT);
        for (int k = 0; k < 100; ++k) {
            OK(tick(&one));
            OK(tick(&two));
        }
        same_bytes(texts[n], &one, &two);
        closed(&one);
        closed(&two);
    }
}

/* --- states ----------------------------------------------------------------------------------- */
/* The state goes where it is put, both balances go on, and a saved copy goes on to the same
 * bits. */
static void a_state_that_is_set(void **unused) {
    (void)unused;
    stage s = opened(floating), other = opened(floating);
    const int nq = soa_model_nq(soa_world_model(s.world)),
              nv = soa_model_nv(soa_world_model(s.world));
    run_to(&s, 0.5);
    double *q = malloc((size_t)nq * sizeof *q), *v = malloc((size_t)nv * sizeof *v);
    assert_non_null(q);
    assert_non_null(v);
    memcpy(q, soa_world_q(s.world), (size_t)nq * sizeof *q);
    for (int i = 0; i < nv; ++i)
        v[i] = 0.1 * sin(i + 1);
    soa_body_info info;
    soa_model_body(soa_world_model(s.world), body_of(&s, "robot.right_joint3"), &info);
    q[info.q_index] += 0.4;
    soa_model_body(soa_world_model(s.world), body_of(&s, "satellite.root"), &info);
    for (int k = 3; k < 7; ++k)
        q[info.q_index + k] *= 2; /* made unit */
    soa_report report;
    OK(soa_world_set_state(s.world, q, v, &report));
    for (int k = 3; k < 7; ++k)
        near("quaternion", soa_world_q(s.world)[info.q_index + k], q[info.q_index + k] / 2, 1e-14);
    assert_memory_equal(soa_world_v(s.world), v, (size_t)nv * sizeof *v);
    near("time", soa_world_time(s.world), 0.5, 1e-12);
    run_to(&s, 1);
    soa_world_summary sum = summary_of(&s);
    near("energy", sum.energy_error_rel, 0, 1e-7);
    near("momentum", sum.momentum_error_rel, 0, 1e-10);
    /* at rest; the world's own numbers */
    OK(soa_world_set_state(s.world, soa_world_q(s.world), NULL, &report));
    for (int i = 0; i < nv; ++i)
        assert_true(soa_world_v(s.world)[i] == 0);
    void *state = saved(&s);
    OK(soa_world_restore_state(other.world, state, soa_world_state_size(s.world)));
    for (int k = 0; k < 20; ++k) {
        OK(tick(&s));
        OK(tick(&other));
    }
    same_bytes("after a set state was read back", &s, &other);
    /* refused: as it was */
    free(state);
    state = saved(&s);
    q[0] = NAN;
    assert_int_equal(soa_world_set_state(s.world, q, v, &report), SOA_E_NOT_FINITE);
    q[0] = 0;
    v[nv - 1] = INFINITY;
    assert_int_equal(soa_world_set_state(s.world, q, v, &report), SOA_E_NOT_FINITE);
    for (int k = 3; k < 7; ++k)
        q[info.q_index + k] = 0;
    assert_int_not_equal(soa_world_set_state(s.world, q, NULL, &report), SOA_OK);
    assert_true(report.text[0] != 0);
    assert_int_equal(soa_world_set_state(s.world, NULL, NULL, &report), SOA_E_ARGUMENT);
    void *after = saved(&s);
    assert_memory_equal(state, after, soa_world_state_size(s.world));
    free(state);
    free(after);
    free(q);
    free(v);
    closed(&s);
    closed(&other);
}

/* A ball put back into the air falls anew; one put into the ground is refused; friction's memory
 * does not outlast the jump. */
static void a_contact_that_is_left(void **unused) {
    (void)unused;
    stage s = opened(falling);
    run_to(&s, 1);
    double q[7];
    memcpy(q, soa_world_q(s.world), sizeof q);
    assert_true(soa_world_contacts(s.world, NULL, 0) == 1);
    q[2] = 0.05;
    OK(soa_world_set_state(s.world, q, NULL, NULL));
    assert_int_equal(soa_world_contacts(s.world, NULL, 0), 0);
    void *state = saved(&s);
    q[2] = 0.01;
    soa_report report;
    assert_int_equal(soa_world_set_state(s.world, q, NULL, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "overlap"));
    void *after = saved(&s);
    assert_memory_equal(state, after, soa_world_state_size(s.world));
    free(state);
    free(after);
    run_to(&s, 2);
    soa_world_summary sum = summary_of(&s);
    printf("  a ball lifted: energy within %.1e, contacts created %.1e J\n", sum.energy_error_rel,
           sum.contact_created);
    near("energy", sum.energy_error_rel, 0, 1e-5);
    near("created", sum.contact_created, 0, 1e-6);
    near("rests again, a margin above the floor", q_of(&s, "ball.root")[2], 0.022, 3e-4);
    closed(&s);
}

/* Two bars hung from the world and from each other: one that is moved by hand takes the other
 * along. */
static void a_loop_stays_closed(void **unused) {
    (void)unused;
    stage s = opened(
        "duration: 5\ngravity: [0, 0, -9.81]\nparts:\n"
        "  - {name: a, body: {mass: 1, box: [0.4, 0.04, 0.04]}, place: [0.2, 0, 1]}\n"
        "  - {name: b, body: {mass: 0.5, box: [0.4, 0.04, 0.04]}, place: [0.6, 0, 1]}\n"
        "constraints:\n"
        "  - {kind: loop, frames: [world, a], joint: revolute, axis: [0, 1, 0], place1: [0, 0, 1], "
        "place2: [-0.2, 0, 0]}\n"
        "  - {kind: loop, frames: [a, b], joint: spherical, place1: [0.2, 0, 0], place2: [-0.2, 0, "
        "0]}\n"
        "recording: {rate: 100}\n");
    run_to(&s, 0.3);
    double q[14], v[12];
    memcpy(q, soa_world_q(s.world), sizeof q);
    memcpy(v, soa_world_v(s.world), sizeof v);
    q[9] += 0.1;
    v[10] += 1; /* b pushed up: open by 10 cm, and opening */
    OK(soa_world_set_state(s.world, q, v, NULL));
    const double *now = soa_world_q(s.world);
    const double *r = now + 3, *u = now + 10; /* ends of the rods, from their quaternions */
    double gap = 0;
    const double ends[2][3] = {{1 - 2 * (r[2] * r[2] + r[3] * r[3]),
                                2 * (r[1] * r[2] + r[0] * r[3]), 2 * (r[1] * r[3] - r[0] * r[2])},
                               {1 - 2 * (u[2] * u[2] + u[3] * u[3]),
                                2 * (u[1] * u[2] + u[0] * u[3]), 2 * (u[1] * u[3] - u[0] * u[2])}};
    for (int k = 0; k < 3; ++k)
        gap = fmax(gap, fabs(now[k] + 0.2 * ends[0][k] - now[7 + k] + 0.2 * ends[1][k]));
    near("the rods meet", gap, 0, 1e-8);
    assert_true(fabs(now[9] - q[9]) < 0.1);
    run_to(&s, 1.5);
    const soa_world_summary sum = summary_of(&s);
    printf("  rods moved by hand: closure %.1e m, energy within %.1e\n", sum.closure_error,
           sum.energy_error_rel);
    near("closure", sum.closure_error, 0, 1e-8);
    near("energy", sum.energy_error_rel, 0, 1e-6);
    closed(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_force_moves_by_its_mass),
        cmocka_unit_test(springs_balance),
        cmocka_unit_test(a_held_joint),
        cmocka_unit_test(no_pull_no_trace),
        cmocka_unit_test(a_state_that_is_set),
        cmocka_unit_test(a_contact_that_is_left),
        cmocka_unit_test(a_loop_stays_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
