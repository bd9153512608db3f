/* test_integrators.c  the integration methods: they agree, have their order, do not pass through
 * thin shapes, and their cost grows with what is near. */
#include "worlds.h"

/* Ball on a plane with gravity, friction and spin, and a pendulum arm beside it: all of a world but
 * control. */
static stage scene(const char *integration) {
    return made("name: scene\nduration: 1\ngravity: [0, 0, -9.80665]\nparts:\n"
                "  - {name: ball, body: {mass: 0.5, sphere: 50 mm}, place: [0, 0, 0.08], twist: "
                "[0, 8, 0, 0.4, 0.1, 0]}\n"
                "  - {name: arm, model: puma560, friction_scale: 0, place: [0, 2, 1]}\n"
                "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: ball, "
                "sphere: 50 mm}\n"
                "contacts:\n  - {between: [skin, floor], friction: 0.3, law: hunt-crossley, "
                "stiffness: 1e6, exponent: 1.5, "
                "loss: 0.3, tangential_stiffness: 1e4, tangential_damping: 20}\n"
                "recording: {rate: 100}\nintegration: %s\n",
                integration);
}
static void methods_agree(void **state) {
    (void)state;
    static const char *const ways[] = {
        "{method: explicit, order: 2, relative_tolerance: 1e-6, absolute_tolerance: 1e-8}",
        "{method: explicit, order: 3}",
        "{method: explicit, order: 4}",
        "{method: explicit, order: 5}",
        "{method: explicit, order: 6}",
        "{method: explicit, order: 8}",
        "{method: implicit}",
        "{method: implicit, order: 3}",
        "{method: cvode}",
        "{method: fixed, step: 20 us}"};
    static const double tolerance[] = {1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-3, 1e-4, 1e-4, 1e-3, 1e-3};
    stage best =
        scene("{method: explicit, order: 5, relative_tolerance: 1e-11, absolute_tolerance: 1e-13}");
    run_to(&best, 0.4);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        const double began = cpu_time();
        stage s = scene(ways[i]);
        run_to(&s, 0.4);
        double arm = 0, ball = 0;
        for (int k = 0; k < 3; ++k)
            ball = fmax(ball, fabs(q_of(&s, "ball.root")[k] - q_of(&best, "ball.root")[k]));
        const double *qa = q_of(&s, "arm.joint1"), *qb = q_of(&best, "arm.joint1");
        for (int k = 0; k < 6; ++k)
            arm = fmax(arm, fabs(qa[k] - qb[k]));
        const soa_world_summary m = summary_of(&s);
        printf("  %-40.40s ball %.1e m, arm %.1e rad off; %lld steps, %lld evaluations, energy "
               "%.1e; %.2f s\n",
               ways[i], ball, arm, m.steps, m.evaluations, m.energy_error_rel, cpu_time() - began);
        assert_true(ball <= tolerance[i] && arm <= tolerance[i]);
        closed(&s);
    }
    closed(&best);
}

/* Fixed steps: the error falls by 2^order when the step is halved. */
static void fixed_has_its_order(void **state) {
    (void)state;
    static const int orders[3] = {2, 3, 4};
    stage best = made("name: s\nduration: 1\nparts:\n  - {name: arm, model: puma560, "
                      "friction_scale: 0}\nrecording: {rate: "
                      "50}\nintegration: {method: explicit, order: 8, relative_tolerance: 1e-13, "
                      "absolute_tolerance: 1e-14}\n");
    run_to(&best, 0.2);
    for (int o = 0; o < 3; ++o) {
        double error[2] = {0};
        for (int half = 0; half < 2; ++half) {
            stage s = made(
                "name: s\nduration: 1\nparts:\n  - {name: arm, model: puma560, friction_scale: "
                "0}\nrecording: {rate: 50}\nintegration: {method: fixed, order: %d, step: %g}\n",
                orders[o], half ? 0.002 : 0.004);
            run_to(&s, 0.2);
            for (int k = 0; k < 6; ++k)
                error[half] =
                    fmax(error[half], fabs(soa_world_q(s.world)[k] - soa_world_q(best.world)[k]));
            closed(&s);
        }
        printf("  order %d: errors %.2e, %.2e: order %.2f\n", orders[o], error[0], error[1],
               log2(error[0] / error[1]));
        assert_true(log2(error[0] / error[1]) > orders[o] - 0.4);
    }
    closed(&best);
}

/* A small fast ball and a thin plate: it does not pass while it moves less than plate and margins
 * in 1 us. */
static void no_tunnel(void **state) {
    (void)state;
    static const double speeds[4] = {1, 10, 100, 300};
    for (int i = 0; i < 4; ++i) {
        stage s = made("name: shot\nduration: 1\ngravity: [0, 0, 0]\nparts:\n  - {name: ball, "
                       "body: {mass: 1 g, sphere: 2 mm}, "
                       "place: [0.0123, 0.0045, 0.3], twist: [0, 0, 0, 0, 0, %g]}\n"
                       "shapes:\n  - {name: plate, on: world, box: [0.2, 0.2, 0.001]}\n  - {name: "
                       "skin, on: ball, sphere: 2 mm}\n"
                       "contacts:\n  - {between: [skin, plate], friction: 0.3, law: linear, "
                       "margin: 0.5 mm, stiffness: %g, "
                       "damping: 0}\nrecording: {rate: 100}\n",
                       -speeds[i], 1e-3 * speeds[i] * speeds[i] / (0.4e-3 * 0.4e-3));
        double touch = -1;
        while (soa_world_time(s.world) < 0.31 / speeds[i] + 0.1) {
            OK(tick(&s));
            if (event_of(&s, "touch") && touch < 0) touch = event_of(&s, "touch")->t;
        }
        const double when = (0.3 - 0.0005 - 0.002 - 0.0005) / speeds[i];
        double v[3];
        velocity_of(&s, "ball.root", v);
        printf("  %3.0f m/s: touch %.2e s off, comes back with %.6f of it\n", speeds[i],
               touch - when, v[2] / speeds[i]);
        near("touch", touch, when, 1.1e-6);
        near("comes back", v[2], speeds[i], 1e-2 * speeds[i]);
        closed(&s);
    }
}

/* --- many ------------------------------------------------------------------------------------- */
static stage boxes(int side, double spacing) {
    static char parts[1 << 14], shapes[1 << 14];
    dice d = {(uint64_t)first_seed()};
    parts[0] = shapes[0] = 0;
    for (int i = 0, p = 0, h = 0; i < side * side; ++i) {
        p += snprintf(parts + p, sizeof parts - (size_t)p,
                      "  - {name: b%d, body: {mass: 1, box: [0.1, 0.1, 0.1]}, place: {xyz: [%.3f, "
                      "%.3f, 0.08], rpy: "
                      "[%.3f, %.3f, %.3f]}}\n",
                      i, spacing * (i % side), spacing * (i / side), roll(&d, -0.2, 0.2),
                      roll(&d, -0.2, 0.2), roll(&d, -3, 3));
        h += snprintf(shapes + h, sizeof shapes - (size_t)h,
                      "  - {name: s%d, group: boxes, on: b%d, box: [0.1, 0.1, 0.1]}\n", i, i);
    }
    return made("name: boxes\nduration: 1\nparts:\n%sshapes:\n  - {name: floor, group: ground, on: "
                "world, plane: {}}\n%s"
                "contacts:\n  - {between: [boxes, boxes], friction: 0.5, law: linear, stiffness: "
                "2e4, damping: 100}\n"
                "  - {between: [boxes, ground], friction: 0.5, law: linear, stiffness: 2e4, "
                "damping: 100}\nrecording: {rate: "
                "50}\n"
                "integration: {relative_tolerance: 1e-4, absolute_tolerance: 1e-6}\n",
                parts, shapes);
}
static void many_boxes_settle(void **state) {
    (void)state;
    double each[2];
    for (int big = 0; big < 2; ++big) {
        const int side = big ? 10 : 5;
        stage s = boxes(side, 0.2);
        const double began = cpu_time();
        run_to(&s, 0.7);
        const double used = cpu_time() - began;
        const soa_world_summary m = summary_of(&s);
        each[big] = used / (double)m.evaluations / (side * side);
        printf("  %3d boxes, 0.7 s: %lld steps, %lld evaluations, %.2f s, %.2f us for each box and "
               "evaluation; kinetic "
               "%.1e J, energy %.1e, created %.1e J\n",
               side * side, m.steps, m.evaluations, used, 1e6 * each[big], m.kinetic,
               m.energy_error_rel, m.contact_created);
        assert_true(m.kinetic < 1e-3);
        closed(&s);
    }
    assert_true(each[1] < 2.5 * each[0]); /* with pairs it would be four times */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_agree),
        cmocka_unit_test(fixed_has_its_order),
        cmocka_unit_test(no_tunnel),
        cmocka_unit_test(many_boxes_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
