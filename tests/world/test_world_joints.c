/* test_world_joints.c  machines in worlds: joints with friction and stops; floating machines and
 * their invariants (momentum, centre of mass, energy); loops; pushes. */
#include "worlds.h"
#include "soa/io.h"

#include <unistd.h>

/* --- joints ----------------------------------------------------------------------------------- */
/* A pendulum as a saved model: one link on a hinge about y with friction, its mass 0.5 m below. */
static char pendulum_file[64];
static void write_pendulum(double coulomb, double viscous, double lower, double upper,
                           double stiffness) {
    soa_body_def link = soa_body_default("link", 0, SOA_REVOLUTE);
    link.joint_name = "hinge";
    link.joint.axis[0] = 0;
    link.joint.axis[1] = 1;
    link.joint.axis[2] = 0;
    link.joint.friction_positive = link.joint.friction_negative = coulomb;
    link.joint.damping = viscous;
    link.joint.stiffness = stiffness;
    link.joint.lower = lower;
    link.joint.upper = upper;
    link.mass = 2;
    link.com[2] = -0.5;
    for (int k = 0; k < 3; ++k)
        link.inertia[k] = 0.01;
    const soa_model_def def = soa_model_default("pendulum", &link, 1);
    const soa_model *model = NULL;
    OK(soa_model_create(&def, &model, NULL));
    snprintf(pendulum_file, sizeof pendulum_file, "/tmp/soa_pendulum_%ld.soa", (long)getpid());
    OK(soa_model_save(model, pendulum_file, NULL));
    soa_model_free(model);
}
static stage pendulum(double gravity, double angle, double rate, const char *more) {
    stage s = made("name: pendulum\nduration: 100\ngravity: [0, 0, %.17g]\nparts:\n  - {name: p, "
                   "model: %s, positions: "
                   "{hinge: %.17g}, rates: {hinge: %.17g}%s}\n"
                   "recording: {rate: 100}\n",
                   -gravity, pendulum_file, angle, rate, more);
    unlink(pendulum_file);
    return s;
}
static const double J = 2 * 0.25 + 0.01;

/* Held below its limit by friction it does not creep; without gravity it stops after J v^2 / (2
 * f). */
static void friction_holds_and_stops(void **state) {
    (void)state;
    write_pendulum(3, 0, -INFINITY, INFINITY, 0);
    stage s = pendulum(9.80665, 0.3, 0, ""); /* gravity's 2.9 N m */
    run_to(&s, 1);
    const double q0 = q_of(&s, "p.hinge")[0];
    run_to(&s, 61);
    printf("  held at 0.97 of its friction: gives %.1e rad, then creeps %.1e rad in 60 s\n",
           q0 - 0.3, q_of(&s, "p.hinge")[0] - q0);
    near("gives", q0, 0.3, 1e-3); /* it starts unstrained, and falls into its friction */
    near("creep", q_of(&s, "p.hinge")[0], q0, 1e-9);
    closed(&s);
    write_pendulum(3, 0, -INFINITY, INFINITY, 0);
    s = pendulum(0, 0, 4, "");
    run_to(&s, 3);
    const double far = J * 16 / (2 * 3);
    printf("  stops after %.6f rad, closed form %.6f\n", q_of(&s, "p.hinge")[0], far);
    near("stops", q_of(&s, "p.hinge")[0], far, 2e-4);
    near("rest", v_of(&s, "p.hinge")[0], 0, 1e-9);
    near("rubbed", summary_of(&s).rubbed, -J * 8, 1e-3);
    closed(&s);
}

/* Viscous: v = v0 exp(-c t / J); spring: sqrt(k / J). */
static void viscous_and_spring(void **state) {
    (void)state;
    write_pendulum(0, 0.7, -INFINITY, INFINITY, 0);
    stage s = pendulum(0, 0, 4, "");
    run_to(&s, 1);
    near("viscous", v_of(&s, "p.hinge")[0], 4 * exp(-0.7 / J), 1e-7);
    near("its energy", summary_of(&s).viscous, 0.5 * J * 16 * (1 - exp(-1.4 / J)), 1e-6);
    closed(&s);
    write_pendulum(0, 0, -INFINITY, INFINITY, 30);
    s = pendulum(0, 0.2, 0, "");
    run_to(&s, 1);
    near("spring", q_of(&s, "p.hinge")[0], 0.2 * cos(sqrt(30 / J)), 1e-6);
    closed(&s);
}

/* A stop without loss gives back all, with loss less; it never pulls. */
static void stops_push_only(void **state) {
    (void)state;
    for (int c = 0; c < 2; ++c) {
        write_pendulum(0, 0, -1, 1, 0);
        stage s = pendulum(0, 0, 2,
                           c ? ", stop_stiffness: 3000, stop_damping: 20"
                             : ", stop_stiffness: 3000, stop_damping: 0");
        double most = 0, before = 2;
        while (soa_world_time(s.world) < 0.9) {
            OK(tick(&s));
            const double q = q_of(&s, "p.hinge")[0], v = v_of(&s, "p.hinge")[0];
            most = fmax(most, q);
            if (v < 0) assert_true(v <= before + 1e-9); /* on its way back it is never held */
            before = v;
        }
        const double back = -v_of(&s, "p.hinge")[0], zeta = 20 / (2 * sqrt(3000 * J));
        if (!c) {
            near("given back", back, 2, 1e-6);
            near("depth", most, 1 + 2 * sqrt(J / 3000), 1e-3);
        }
        /* the force is cut where it would pull: between the half-wave that pulls and this */
        if (c)
            assert_true(back < 2 * exp(-zeta * 2) &&
                        back > 2 * exp(-zeta * PI / sqrt(1 - zeta * zeta)));
        assert_true(summary_of(&s).stopped <= 1e-6);
        closed(&s);
    }
}

/* Torques stay within the joint's effort. */
static void saturation(void **state) {
    (void)state;
    write_pendulum(0, 0, -INFINITY, INFINITY, 0);
    stage s = made("name: pendulum\nduration: 10\ngravity: [0, 0, 0]\nparts:\n  - {name: p, model: "
                   "%s, effort: 1.5}\n"
                   "control: {rate: 100, phases: [{name: go, actions: [{law: joint-pd, part: p, "
                   "goal: {hinge: 100}, "
                   "stiffness: 50, damping: 0}]}]}\n",
                   pendulum_file);
    unlink(pendulum_file);
    run_to(&s, 1);
    near("torque", soa_world_tau(s.world)[0], 1.5, 0);
    near("motion", v_of(&s, "p.hinge")[0], 1.5 / J, 1e-7);
    near("supplied", summary_of(&s).supplied, 0.5 * 1.5 * 1.5 / J, 1e-6);
    closed(&s);
}

/* The PUMA 560 dropped with its friction: a world against soa_simulate. */
typedef struct path {
    double q[201][6];
    int count;
} path;
static bool keep_path(void *user, const soa_sim_sample *sample) {
    path *p = user;
    if (p->count < 201) memcpy(p->q[p->count++], sample->q, 6 * sizeof(double));
    return 0;
}
static void puma_drops_alike(void **state) {
    (void)state;
    for (int rub = 0; rub < 2; ++rub) {
        stage s = made("name: drop\nduration: 1\nparts:\n  - {name: p, model: puma560, limits: "
                       "false, friction_scale: "
                       "%d}\nrecording: "
                       "{rate: 100}\n",
                       rub);
        soa_read_options none = {0};
        const soa_model *model = NULL;
        OK(soa_model_open("puma560", &none, &model, NULL, NULL));
        (void)model;
        path p = {.count = 0};
        soa_sim_options o = soa_sim_options_default();
        o.duration = 1;
        o.sample_time = 0.01;
        o.sample = keep_path;
        o.sample_user = &p;
        double q[6];
        memcpy(q, soa_world_q(s.world), sizeof q);
        soa_sim_result r;
        /* soa_world_model keeps Coulomb friction as the part's scale has it */
        OK(soa_simulate(soa_world_model(s.world), q, NULL, &o, &r, NULL));
        double worst = 0;
        for (int i = 1; i <= 100; ++i) {
            run_to(&s, 0.01 * i);
            for (int k = 0; k < 6; ++k)
                worst = fmax(worst, fabs(soa_world_q(s.world)[k] - p.q[i][k]));
        }
        printf("  %s friction: largest difference %.1e rad in 1 s (%ld stops, %ld releases)\n",
               rub ? "with" : "without", worst, r.stops, r.releases);
        assert_true(worst <= (rub ? 5e-3 : 1e-6));
        soa_model_free(model);
        closed(&s);
    }
}

/* --- R9: machines that float ------------------------------------------------------------------ */
static void floating_arms(void **state) {
    (void)state;
    for (int keep = 0; keep < 2; ++keep) {
        stage s = made(
            "name: float\nduration: 2\ngravity: [0, 0, 0]\nparts:\n"
            "  - {name: robot, model: two-puma, floating: true, friction_scale: 0, damping_scale: "
            "0, twist: [0.1, "
            "-0.05, 0.2, 0.03, 0.02, -0.04], positions: {left_joint2: 0.5, right_joint3: -0.4}}\n"
            "control: {rate: 200, phases: [{name: go, actions: [{law: joint-pd, part: robot, goal: "
            "{left_joint1: 1, "
            "left_joint2: -0.5, right_joint3: 1, right_joint5: 0.7}, time: 1.5, stiffness: 200, "
            "damping: 30}]}]}\n"
            "integration: {keep_momentum: %s}\nrecording: {rate: 200}\n",
            keep ? "true" : "false");
        const soa_model *m = soa_world_model(s.world);
        soa_work *work;
        OK(soa_work_create(m, &work));
        double c0[3] = {0}, p0[3], worst = 0;
        for (int i = 0; i <= 20; ++i) {
            if (i) run_to(&s, 0.1 * i);
            double c[3] = {0}, p[3] = {0}, mass = 0;
            OK(soa_kinematics(m, work, soa_world_q(s.world), soa_world_v(s.world), NULL));
            for (int b = 1; b <= soa_model_body_count(m); ++b) {
                soa_body_info info;
                soa_frame at;
                double V[6], arm[3];
                soa_model_body(m, b, &info);
                OK(soa_pose(m, work, info.frame, &at));
                OK(soa_velocity(m, work, info.frame, SOA_AXES_WORLD, V));
                for (int k = 0; k < 3; ++k)
                    arm[k] = at.R[3 * k] * info.com[0] + at.R[3 * k + 1] * info.com[1] +
                             at.R[3 * k + 2] * info.com[2];
                const double turn[3] = {V[1] * arm[2] - V[2] * arm[1],
                                        V[2] * arm[0] - V[0] * arm[2],
                                        V[0] * arm[1] - V[1] * arm[0]};
                for (int k = 0; k < 3; ++k) {
                    c[k] += info.mass * (at.p[k] + arm[k]);
                    p[k] += info.mass * (V[3 + k] + turn[k]);
                }
                mass += info.mass;
            }
            for (int k = 0; k < 3; ++k) {
                c[k] /= mass;
                p[k] /= mass;
            }
            if (!i) {
                memcpy(c0, c, sizeof c0);
                memcpy(p0, p, sizeof p0);
            }
            for (int k = 0; k < 3; ++k)
                worst = fmax(worst, fabs(c[k] - c0[k] - 0.1 * i * p0[k]));
        }
        const soa_world_summary sum = summary_of(&s);
        assert_true(sum.kinetic > 0.1 && fabs(sum.supplied) > 0.1);
        printf(
            "  keep_momentum %s: momentum %.1e, centre of mass off its line %.1e m, energy %.1e\n",
            keep ? "true " : "false", sum.momentum_error_rel, worst, sum.energy_error_rel);
        assert_true(sum.is_free);
        assert_true(sum.momentum_error_rel <= (keep ? 1e-12 : 1e-7));
        assert_true(worst <= 1e-7);
        assert_true(sum.energy_error_rel <= 1e-6);
        soa_work_free(work);
        closed(&s);
    }
}

/* Massless links: the same body. */
static void massless_links_are_free(void **state) {
    (void)state;
    double at[2][12];
    for (int c = 0; c < 2; ++c) {
        stage s = made("name: body\nduration: 1\ngravity: [0.3, 0, -2]\nparts:\n"
                       "  - {name: b, body: {mass: 3, com: [0.02, -0.01, 0.03], inertia: [0.1, "
                       "0.15, 0.2, 0.01, 0, 0.02]}, "
                       "massless_links: %s,\n"
                       "     place: {xyz: [0.1, 0.2, 0.3], rpy: [0.2, 0.1, -0.3]}, twist: [0.4, "
                       "0.3, -0.5, 0.1, 0.2, 0.3], "
                       "frames: [{name: tip, on: b, at: {xyz: [0.1, 0, 0]}}]}\n"
                       "disturbances:\n  - {frame: b.tip, start: 0.2, duration: 0.3, wrench: [0.1, "
                       "-0.2, 0.1, 1, 2, -1]}\n"
                       "recording: {rate: 100}\n",
                       c ? "true" : "false");
        run_to(&s, 1);
        const soa_model *m = soa_world_model(s.world);
        soa_work *work;
        soa_frame pose;
        OK(soa_work_create(m, &work));
        OK(soa_kinematics(m, work, soa_world_q(s.world), soa_world_v(s.world), NULL));
        OK(soa_pose(m, work, soa_model_find_frame(m, "b.tip"), &pose));
        memcpy(at[c], pose.R, sizeof pose.R);
        memcpy(at[c] + 9, pose.p, sizeof pose.p);
        soa_work_free(work);
        closed(&s);
    }
    for (int k = 0; k < 12; ++k)
        near("same pose", at[1][k], at[0][k], 1e-6);
}

/* A push gives its impulse, linear and angular. */
static void push_gives_impulse(void **state) {
    (void)state;
    stage s = made(
        "name: push\nduration: 1\ngravity: [0, 0, 0]\nparts:\n  - {name: b, body: {mass: 2, "
        "sphere: 0.1}}\n"
        "disturbances:\n  - {frame: b, start: 0.123, duration: 0.25, wrench: [0, 0, 0.03, 4, 0, "
        "0]}\nrecording: {rate: 100}\n");
    run_to(&s, 1);
    double v[3];
    velocity_of(&s, "b.root", v);
    near("speed", v[0], 0.5, 1e-6);
    near("turning", v_of(&s, "b.root")[2], 0.25 * 0.03 / (0.4 * 2 * 0.01), 1e-6);
    assert_true(summary_of(&s).momentum_error_rel <= 1e-12);
    closed(&s);
}

/* A loop stays closed: two bodies on a hinge, swinging under gravity, as a double pendulum does. */
static void loops_stay_closed(void **state) {
    (void)state;
    stage s = made("name: loop\nduration: 3\nparts:\n  - {name: a, body: {mass: 1, box: [0.4, "
                   "0.05, 0.05]}, place: [0.2, 0, 0]}\n "
                   " - {name: b, body: {mass: 1, box: [0.4, 0.05, 0.05]}, place: [0.6, 0, 0]}\n"
                   "constraints:\n  - {kind: loop, frames: [world, a], joint: revolute, axis: [0, "
                   "1, 0], place2: [-0.2, 0, 0]}\n"
                   "  - {kind: loop, frames: [a, b], joint: spherical, place1: [0.2, 0, 0], "
                   "place2: [-0.2, 0, 0]}\nrecording: "
                   "{rate: 100}\n");
    run_to(&s, 3);
    const soa_world_summary sum = summary_of(&s);
    printf("  closure %.1e m, energy %.1e\n", sum.closure_error, sum.energy_error_rel);
    assert_true(sum.closure_error <= 1e-8);
    assert_true(sum.energy_error_rel <= 1e-5);
    closed(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(friction_holds_and_stops), cmocka_unit_test(viscous_and_spring),
        cmocka_unit_test(stops_push_only),          cmocka_unit_test(saturation),
        cmocka_unit_test(puma_drops_alike),         cmocka_unit_test(floating_arms),
        cmocka_unit_test(massless_links_are_free),  cmocka_unit_test(push_gives_impulse),
        cmocka_unit_test(loops_stay_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
