/* test_friction.c  sliding, sticking, rolling, stacking, tipping: each against its closed form. */
#include "worlds.h"

static const double g = 9.80665;

/* --- a block on a slope ----------------------------------------------------------------------- */
/* Gravity is turned instead of the plane; the block stands 1.9 mm above it, just touching. */
static stage block(double slope, double friction, const char *law, const double twist[6],
                   double duration) {
    return made(
        "name: slope\nduration: %g\ngravity: [%.17g, 0, %.17g]\n"
        "parts:\n  - {name: block, body: {mass: 2, box: [0.2, 0.15, 0.1]}, place: [0, 0, 0.0519], "
        "twist: [%g, "
        "%g, %g, %g, %g, %g]}\n"
        "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: block, box: [0.2, "
        "0.15, 0.1]}\n"
        "contacts:\n  - {between: [skin, floor], friction: %.17g, %s}\nrecording: {rate: 100}\n",
        duration, g * sin(slope), -g * cos(slope), twist[0], twist[1], twist[2], twist[3], twist[4],
        twist[5], friction, law);
}
static const char *const laws[3] = {"law: safe, stiffness: 40, damping: 200",
                                    "law: hunt-crossley, stiffness: 1e6, loss: 2",
                                    "law: linear, stiffness: 3e4, damping: 300"};
static const double rest[6] = {0};

/* Below the friction angle: nothing creeps; at 90 % and 99 % of it. */
static void sticks_for_a_minute(void **state) {
    (void)state;
    for (int c = 0; c < 4; ++c) {
        const double mu = 0.5, slope = (c == 3 ? 0.99 : 0.9) * atan(mu);
        stage s = block(slope, mu, laws[c % 3], rest, 62);
        run_to(&s, 2);
        double q0[7], worst = 0, weight = 0;
        memcpy(q0, q_of(&s, "block.root"), sizeof q0);
        const double began = cpu_time();
        while (soa_world_time(s.world) < 62) {
            OK(tick(&s));
            const double *q = q_of(&s, "block.root");
            for (int k = 0; k < 7; ++k)
                worst = fmax(worst, fabs(q[k] - q0[k]));
        }
        soa_world_contact points[8];
        const int n = soa_world_contacts(s.world, points, 8);
        double pull = 0;
        for (int i = 0; i < n; ++i) {
            weight += points[i].pressure * points[i].normal[2];
            pull += points[i].tangential[0];
        }
        printf("  law %d, %.0f %% of the friction angle: moved %.2e m in 60 s; forces %.9f, %.9f "
               "of weight; %.2f s\n",
               c % 3, 100 * slope / atan(mu), worst, fabs(weight) / (2 * g * cos(slope)),
               fabs(pull) / (2 * g * sin(slope)), cpu_time() - began);
        assert_true(worst < 1e-8);
        near("pressure", fabs(weight), 2 * g * cos(slope), 1e-5);
        near("friction", fabs(pull), 2 * g * sin(slope), 1e-5);
        closed(&s);
    }
}

/* Above it: a = g (sin - mu cos). */
static void slides_down(void **state) {
    (void)state;
    for (int c = 0; c < 3; ++c) {
        const double mu = 0.3, slope = 0.5, a = g * (sin(slope) - mu * cos(slope));
        stage s = block(slope, mu, laws[c], rest, 4);
        run_to(&s, 1);
        const double v0 = v_of(&s, "block.root")[3];
        run_to(&s, 3);
        printf("  law %d: acceleration %.9f, closed form %.9f\n", c,
               (v_of(&s, "block.root")[3] - v0) / 2, a);
        near("acceleration", (v_of(&s, "block.root")[3] - v0) / 2, a, 1e-6 * a);
        closed(&s);
    }
}

/* Thrown along the plane it stops after v^2 / (2 mu g), and stays. */
static void thrown_block_stops(void **state) {
    (void)state;
    for (int c = 0; c < 3; ++c) {
        const double twist[6] = {0, 0, 0, 1.5, 0, 0};
        stage s = block(0, 0.4, laws[c], twist, 8);
        run_to(&s, 3);
        const double x = q_of(&s, "block.root")[0], far = 1.5 * 1.5 / (2 * 0.4 * g);
        run_to(&s, 8);
        printf("  law %d: %.6f m, closed form %.6f m; then moved %.1e m in 5 s\n", c, x, far,
               q_of(&s, "block.root")[0] - x);
        near("where it stops", x, far, 5e-3 * far); /* it rocks a little while it settles */
        near("stays", q_of(&s, "block.root")[0], x, 1e-8);
        closed(&s);
    }
}

/* Two shapes begin to slide and stop once, at however many points they touch. */
static void patch_slips_as_one(void **state) {
    (void)state;
    const double twist[6] = {0, 0, 0, 1.5, 0, 0};
    stage s = block(0, 0.4, laws[2], twist, 3);
    int slips = 0, sticks = 0, sliding = 0, most = 0;
    while (soa_world_time(s.world) < 3 - 1e-9) {
        OK(tick(&s));
        int count;
        const soa_world_event *e = soa_world_events(s.world, &count);
        for (int i = 0; i < count; ++i) {
            const int slip = !strcmp(e[i].kind, "slip"), stick = !strcmp(e[i].kind, "stick");
            slips += slip;
            sticks += stick;
            if (slip || stick) { /* in turn */
                assert_int_equal(sliding, stick);
                sliding = slip;
            }
        }
        soa_world_contact c;
        const int points = soa_world_contacts(s.world, &c, 0);
        most = points > most ? points : most;
    }
    printf("  %d points; %d slips, %d sticks\n", most, slips, sticks);
    assert_true(most >= 4 && slips > 0 && slips == sticks && !sliding);
    assert_int_equal(summary_of(&s).slips, slips);
    closed(&s);
}

/* Friction turns with the motion: thrown across a slope at the friction angle, |v| + v_down is
 * kept, so at last the block slides straight down with half its speed. */
static void direction_follows(void **state) {
    (void)state;
    const double mu = 0.4, slope = atan(mu), twist[6] = {0, 0, 0, 0, 1, 0};
    stage s = block(slope, mu, laws[2], twist, 6);
    double worst = 0, v[3];
    run_to(&s, 0.3);
    velocity_of(&s, "block.root", v);
    const double kept = hypot(v[0], v[1]) + v[0];
    for (double t = 0.4; t < 2; t += 0.1) {
        run_to(&s, t);
        velocity_of(&s, "block.root", v);
        worst = fmax(worst, fabs(hypot(v[0], v[1]) + v[0] - kept));
    }
    printf("  |v| + v_down kept to %.1e of %.3f; at last %.4f down, %.4f across\n", worst, kept,
           v[0], v[1]);
    assert_true(worst < 5e-3 * kept);
    assert_true(fabs(v[1]) < 0.05 && fabs(v[0] - kept / 2) < 0.02);
    closed(&s);
}

/* --- balls ------------------------------------------------------------------------------------ */
/* A ball set down sliding rolls after 2 v / (7 mu g), with 5/7 v. */
static void ball_comes_to_roll(void **state) {
    (void)state;
    const double mu = 0.2, v0 = 2, r = 0.05;
    stage s = made("name: roll\nduration: 3\ngravity: [0, 0, -9.80665]\nparts:\n  - {name: ball, "
                   "body: {mass: 1, "
                   "sphere: 50 mm}, place: [0, 0, %.17g], twist: [0, 0, 0, 2, 0, 0]}\n"
                   "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: ball, "
                   "sphere: 50 mm}\n"
                   "contacts:\n  - {between: [skin, floor], friction: 0.2, law: linear, margin: "
                   "0.1 mm, stiffness: "
                   "1e5, damping: 100}\nrecording: {rate: 1000}\n",
                   r + 1e-4 - g / 1e5);
    double when = 0, v[3];
    while (soa_world_time(s.world) < 1.5) {
        OK(tick(&s));
        velocity_of(&s, "ball.root", v);
        /* turns about y alone: body and world axes share it */
        const double slip = v[0] - v_of(&s, "ball.root")[1] * r;
        if (when == 0 && slip < 1e-3 * v0) when = soa_world_time(s.world);
    }
    printf("  rolls after %.5f s, closed form %.5f; speed %.7f, closed form %.7f\n", when,
           2 * v0 / (7 * mu * g), v[0], 5. / 7 * v0);
    near("when", when, 2 * v0 / (7 * mu * g), 2e-3);
    near("speed", v[0], 5. / 7 * v0, 2e-4);
    const double before = v[0];
    run_to(&s, 3);
    velocity_of(&s, "ball.root", v);
    near("rolls on", v[0], before, 1e-6);
    closed(&s);
}

/* Equal elastic balls: head-on they exchange velocities; oblique, the part along the line of
 * centres. */
static void billiard_pairs(void **state) {
    (void)state;
    for (int c = 0; c < 5; ++c) {
        const double off = 0.012 * c, r = 0.03; /* across the line of flight */
        stage s = made("name: pair\nduration: 1\ngravity: [0, 0, 0]\nparts:\n"
                       "  - {name: a, body: {mass: 0.17, sphere: 30 mm}, place: [-0.2, %.17g, 0], "
                       "twist: [0, 0, 0, 1, 0, 0]}\n"
                       "  - {name: b, body: {mass: 0.17, sphere: 30 mm}}\n"
                       "shapes:\n  - {name: sa, group: balls, on: a, sphere: 30 mm}\n  - {name: "
                       "sb, group: balls, on: b, sphere: "
                       "30 mm}\n"
                       "contacts:\n  - {between: [balls, balls], friction: 0, law: hunt-crossley, "
                       "stiffness: 1e9, loss: 0, "
                       "margin: 0.1 mm}\n"
                       "recording: {rate: 1000}\n",
                       off);
        run_to(&s, 0.5);
        double va[3], vb[3];
        velocity_of(&s, "a.root", va);
        velocity_of(&s, "b.root", vb);
        const double reach = 2 * r + 1e-4, sine = off / reach, cosine = sqrt(1 - sine * sine);
        /* b leaves along the line of centres, from a's centre to b's; a short contact turns the
         * line a little */
        const double nb[3] = {cosine, -sine, 0};
        for (int k = 0; k < 3; ++k) {
            near("struck ball", vb[k], cosine * nb[k], 3e-3);
            near("striking ball", va[k], (k == 0) - cosine * nb[k], 3e-3);
            near("momentum", va[k] + vb[k], k == 0, 1e-12);
        }
        if (!c) near("head-on", vb[0], 1, 1e-7);
        const double energy = va[0] * va[0] + va[1] * va[1] + vb[0] * vb[0] + vb[1] * vb[1];
        near("energy", energy, 1, 1e-7);
        closed(&s);
    }
}

/* --- boxes ------------------------------------------------------------------------------------ */
static void stack_stands(void **state) {
    (void)state;
    char parts[2000] = "", shapes[2000] = "";
    for (int i = 0; i < 5; ++i) {
        snprintf(parts + strlen(parts), sizeof parts - strlen(parts),
                 "  - {name: b%d, body: {mass: 1, box: [0.1, 0.1, 0.1]}, place: [0, 0, %g]}\n", i,
                 0.05 + 0.1019 * i + 0.0019);
        snprintf(shapes + strlen(shapes), sizeof shapes - strlen(shapes),
                 "  - {name: s%d, group: boxes, on: b%d, box: [0.1, 0.1, 0.1]}\n", i, i);
    }
    stage s = made(
        "name: stack\nduration: 10\ngravity: [0, 0, -9.80665]\nparts:\n%sshapes:\n  - {name: "
        "floor, group: "
        "ground, on: world, plane: {}}\n%s"
        "contacts:\n  - {between: [boxes, boxes], friction: 0.5, stiffness: 40, damping: 100}\n"
        "  - {between: [boxes, ground], friction: 0.5, stiffness: 40, damping: 100}\nrecording: "
        "{rate: 100}\n",
        parts, shapes);
    const double began = cpu_time();
    run_to(&s, 5);
    double at[5][7], worst = 0;
    for (int i = 0; i < 5; ++i) {
        const char name[] = {'b', (char)('0' + i), '.', 'r', 'o', 'o', 't', 0};
        memcpy(at[i], q_of(&s, name), sizeof at[i]);
    }
    run_to(&s, 10);
    for (int i = 0; i < 5; ++i) {
        const char name[] = {'b', (char)('0' + i), '.', 'r', 'o', 'o', 't', 0};
        for (int k = 0; k < 7; ++k)
            worst = fmax(worst, fabs(q_of(&s, name)[k] - at[i][k]));
    }
    soa_world_contact points[64];
    const int n = soa_world_contacts(s.world, points, 64);
    double force[5] = {0};
    for (int i = 0; i < n; ++i) { /* on the upper of the two */
        int low;
        if (!strcmp(points[i].shape_a, "floor") || !strcmp(points[i].shape_b, "floor")) {
            low = 0;
        } else if (points[i].shape_a[1] < points[i].shape_b[1]) {
            low = points[i].shape_a[1] - '0' + 1;
        } else {
            low = points[i].shape_b[1] - '0' + 1;
        }
        force[low] += fabs(points[i].pressure * points[i].normal[2]);
    }
    printf("  moved %.1e m or rad from 5 s to 10 s; %d points; %.2f s\n", worst, n,
           cpu_time() - began);
    assert_true(worst < 1e-7);
    for (int i = 0; i < 5; ++i)
        near("carries what is above", force[i], (5 - i) * g, 1e-4);
    closed(&s);
}

/* A box on its edge falls back or over: the centre of mass behind or beyond the edge. */
static void box_tips_at_its_angle(void **state) {
    (void)state;
    const double a = 0.1, h = 0.3, critical = atan(a / h); /* of the diagonal */
    for (int side = -1; side <= 1; side += 2) {
        const double turn = critical + 0.01 * side, c = cos(turn), si = sin(turn);
        /* the edge at the origin */
        const double x = -(c * a / 2 - si * h / 2), z = si * a / 2 + c * h / 2;
        stage s = made("name: tip\nduration: 3\ngravity: [0, 0, -9.80665]\nparts:\n  - {name: box, "
                       "body: {mass: 1, box: "
                       "[0.1, 0.1, 0.3]}, place: {xyz: [%.17g, 0, %.17g], rpy: [0, %.17g, 0]}}\n"
                       "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: "
                       "box, box: [0.1, 0.1, 0.3]}\n"
                       "contacts:\n  - {between: [skin, floor], friction: 0.8, law: linear, "
                       "stiffness: 1e5, damping: 200, "
                       "margin: 1 mm}\nrecording: {rate: 100}\n",
                       x, z + 1e-3 - g / 2e5, turn);
        run_to(&s, 3);
        const double up = q_of(&s, "box.root")[2];
        printf("  %+.2f rad from the critical angle: centre %.3f m high at rest\n", 0.01 * side,
               up);
        near("lies or stands", up, side > 0 ? a / 2 : h / 2, 2e-3);
        closed(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sticks_for_a_minute), cmocka_unit_test(slides_down),
        cmocka_unit_test(thrown_block_stops),  cmocka_unit_test(direction_follows),
        cmocka_unit_test(ball_comes_to_roll),  cmocka_unit_test(billiard_pairs),
        cmocka_unit_test(stack_stands),        cmocka_unit_test(box_tips_at_its_angle),
        cmocka_unit_test(patch_slips_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
