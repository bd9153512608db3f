/* test_contact.c  contacts: the laws as functions, one ball on a plane against closed forms and a
 * fine reference, and random crowds: energy is never created, momentum is conserved. */
#include "world/world_internal.h"
#include "worlds.h"

/* --- the laws --------------------------------------------------------------------------------- */
static soa_contact_pair law_of(soa_contact_law law) {
    soa_contact_pair p = soa_contact_pair_default("a", "b");
    p.law = law;
    p.margin = 2e-3;
    p.least_distance = 2e-4;
    p.stiffness = 40;
    p.damping = 200;
    if (law == SOA_CONTACT_LINEAR) p.stiffness = 3e4;
    if (law == SOA_CONTACT_HUNT_CROSSLEY) {
        p.stiffness = 1e7;
        p.exponent = 1.5;
        p.loss = 0.4;
    }
    return p;
}
static double force_of(const soa_contact_pair *p, double d, double rate, double *stored,
                       int *saved) {
    double f, e;
    int below;
    OK(soai_contact_force(p, d, rate, &f, stored ? stored : &e, saved ? saved : &below));
    return f;
}

static void laws_as_written(void **state) {
    (void)state;
    dice d = {(uint64_t)first_seed()};
    printf("  seed %ld\n", first_seed());
    soa_contact_pair p = law_of(SOA_CONTACT_PAPER);
    for (int i = 0; i < 10000; ++i) { /* WD89: f = Kp (e - d) / d - Kd d', of either sign */
        const double gap = 2e-3 * roll(&d, 1e-4, 1), rate = roll(&d, -1, 1);
        near("paper", force_of(&p, gap, rate, NULL, NULL), 40 * (2e-3 - gap) / gap - 200 * rate,
             1e-9 * 40 * 2e-3 / gap);
    }
    assert_true(force_of(&p, 1.9e-3, 1, NULL, NULL) < 0); /* it pulls */
    double f, e;
    int saved;
    for (int i = 0; i < 2; ++i)
        assert_int_equal(soai_contact_force(&p, -1e-5 * i, 0, &f, &e, &saved), SOA_E_ARGUMENT);
    for (int law = SOA_CONTACT_PAPER; law <= SOA_CONTACT_LINEAR; ++law) {
        p = law_of((soa_contact_law)law);
        assert_int_equal(soai_contact_force(&p, NAN, 0, &f, &e, &saved), SOA_E_NOT_FINITE);
        assert_true(force_of(&p, 2e-3, -1, &e, &saved) == 0 && e == 0 && !saved);
        assert_true(force_of(&p, 1, -1, &e, &saved) == 0 && e == 0 && !saved);
        for (int i = 0; law != SOA_CONTACT_PAPER && i < 10000; ++i) {
            const double gap = roll(&d, -2e-3, 2e-3), rate = roll(&d, -1, 1), x = 2e-3 - gap;
            const double got = force_of(&p, gap, rate, NULL, &saved);
            assert_true(got >= 0); /* never pulling */
            assert_int_equal(saved, law == SOA_CONTACT_SAFE && gap < 2e-4);
            if (law == SOA_CONTACT_HUNT_CROSSLEY)
                near("Hunt-Crossley", got, fmax(0, 1e7 * pow(x, 1.5) * (1 - 0.4 * rate)),
                     1e-9 * 1e3);
            if (law == SOA_CONTACT_LINEAR) near("linear", got, fmax(0, 3e4 * x - 200 * rate), 1e-9);
            if (law == SOA_CONTACT_SAFE && gap >= 2e-4)
                near("safe", got, fmax(0, 40 * x / gap - 200 * rate), 1e-9);
        }
    }
    /* below the least distance: continuous in value and slope, then straight */
    p = law_of(SOA_CONTACT_SAFE);
    const double m = 2e-4, h = 1e-9;
    const double at = force_of(&p, m, 0, NULL, NULL), up = force_of(&p, m + h, 0, NULL, NULL),
                 down = force_of(&p, m - h, 0, NULL, NULL);
    near("value", at, 40 * (2e-3 - m) / m, 1e-9);
    near("slope above", (up - at) / h, -40 * 2e-3 / (m * m), 1e-4 * 2e6);
    near("slope below", (at - down) / h, -40 * 2e-3 / (m * m), 1e-4 * 2e6);
    near("straight", force_of(&p, m - 1e-3, 0, NULL, NULL), at + 1e-3 * 40 * 2e-3 / (m * m), 1e-6);
}

/* Stored energy is the integral of the force at no speed, from d to the margin (Simpson). */
static void stored_is_the_integral(void **state) {
    (void)state;
    for (int law = SOA_CONTACT_PAPER; law <= SOA_CONTACT_LINEAR; ++law) {
        const soa_contact_pair p = law_of((soa_contact_law)law);
        const double lows[3] = {1e-3, 1.5e-4, law == SOA_CONTACT_PAPER ? 2e-5 : -1e-3};
        for (int c = 0; c < 3; ++c) {
            enum { N = 20000 };
            const double low = lows[c];
            double sum = 0, stored;
            for (int i = 0; i < N; ++i) { /* d = margin - u^2: smooth for the power 1.5 */
                const double top = sqrt(2e-3 - low), a = top * i / N, b = top * (i + 1) / N,
                             mid = 0.5 * (a + b);
                sum += (b - a) / 6 *
                       (2 * a * force_of(&p, 2e-3 - a * a, 0, NULL, NULL) +
                        8 * mid * force_of(&p, 2e-3 - mid * mid, 0, NULL, NULL) +
                        2 * b * force_of(&p, 2e-3 - b * b, 0, NULL, NULL));
            }
            force_of(&p, low, 0, &stored, NULL);
            near("stored", stored, sum, 1e-7 * sum + 1e-12);
        }
    }
}

/* --- a ball and a plane ----------------------------------------------------------------------- */
static const char *const law_text[4] = {
    "law: paper, margin: 2 mm, stiffness: 40, damping: %g",
    "law: safe, margin: 2 mm, least_distance: 0.2 mm, stiffness: 40, damping: %g",
    "law: hunt-crossley, margin: 2 mm, stiffness: 1e7, exponent: 1.5, loss: %g",
    "law: linear, margin: 2 mm, stiffness: 3e4, damping: %g"};

static stage ball_on_plane(soa_contact_law law, double loss, double gravity, double height,
                           double speed, const char *more) {
    char how[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(how, sizeof how, law_text[law], loss);
#pragma GCC diagnostic pop
    return made(
        "name: drop\nduration: 10\ngravity: [0, 0, %.17g]\n"
        "parts:\n  - {name: ball, body: {mass: 0.5, sphere: 50 mm}, place: [0, 0, %.17g], twist: "
        "[0, 0, 0, 0, "
        "0, %.17g]}\n"
        "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: ball, sphere: 50 "
        "mm}\n"
        "contacts:\n  - {between: [skin, floor], friction: 0, %s}\nrecording: {rate: 1000}\n%s\n",
        -gravity, height + 0.05, speed, how, more);
}

/* Against small steps of RK4 on one coordinate, cut at the touch (a closed form) and at the
 * release. */
static void bounce_against_reference(void **state) {
    (void)state;
    static const double losses[4] = {20, 20, 0.3, 20};
    for (int law = 0; law < 4; ++law) {
        const double g = 9.80665, m = 0.5, h0 = 0.102;
        stage s = ball_on_plane((soa_contact_law)law, losses[law], g, h0, 0, "");
        const soa_contact_pair *p = &s.scenario->contacts[0];
        const double touch = sqrt(2 * (h0 - 2e-3) / g);
        double x = 2e-3, v = -g * touch, t = touch, dt = 1e-8, release = 0, least = x, seen = 0,
               gone = 0;
        while (t < touch + 0.2 && release == 0) {
            double k[4][2];
            for (int i = 0; i < 4; ++i) {
                double c;
                if (i == 0) {
                    c = 0;
                } else if (i == 3) {
                    c = dt;
                } else {
                    c = dt / 2;
                }
                const double xx = x + c * (i ? k[i - 1][0] : 0);
                const double vv = v + c * (i ? k[i - 1][1] : 0);
                k[i][0] = vv;
                k[i][1] = force_of(p, fmin(xx, 2e-3 * (1 - 1e-15)), vv, NULL, NULL) / m - g;
            }
            const double x1 = x + dt / 6 * (k[0][0] + 2 * k[1][0] + 2 * k[2][0] + k[3][0]);
            const double v1 = v + dt / 6 * (k[0][1] + 2 * k[1][1] + 2 * k[2][1] + k[3][1]);
            if (x1 >= 2e-3) release = t + (2e-3 - x) / v;
            x = x1;
            v = v1;
            t += dt;
            least = fmin(least, x);
            if (t - touch > 1e-6 && dt < 2e-7) dt = 2e-7;
        }
        assert_true(release > 0);
        const double up = t + v / g, top = x + 0.5 * v * v / g; /* the next highest point */
        double z_top = 0, low = 1;
        while (soa_world_time(s.world) < up + 0.01) {
            OK(tick(&s));
            const soa_world_event *e = event_of(&s, "touch");
            if (e && seen == 0) seen = e->t;
            e = event_of(&s, "release");
            if (e && gone == 0) gone = e->t;
            const double z = q_of(&s, "ball.root")[2] - 0.05;
            low = fmin(low, z);
            /* from the parabola at this sample */
            if (gone != 0 && fabs(soa_world_time(s.world) - up) < 6e-4)
                z_top = z + 0.5 * v_of(&s, "ball.root")[5] * v_of(&s, "ball.root")[5] / g;
        }
        const soa_world_summary sum = summary_of(&s);
        printf("  law %d: touch %.3g s off, release %.3g s off (contact %.4g ms), next height %.3g "
               "m off of %.4g, "
               "balance %.1e\n",
               law, seen - touch, gone - release, 1e3 * (release - touch), z_top - top, top,
               sum.energy_error_rel);
        near("touch", seen, touch, 2e-6);
        near("release", gone, release, 2e-5);
        near("height", z_top, top, 1e-5 * top);
        assert_true(sum.energy_error_rel <= 1e-6);
        if (law) assert_true(sum.contact_created <= 1e-8);
        closed(&s);
    }
}

/* Hunt & Crossley without gravity: with a = loss speed, b = loss (speed after):  a - ln(1 + a) = -b
 * - ln(1 - b), whatever the exponent; for small loss the coefficient of restitution is 1 - 2/3 loss
 * speed. */
static void hunt_crossley_restitution(void **state) {
    (void)state;
    static const double speeds[4] = {0.01, 0.1, 1, 3};
    for (int i = 0; i < 4; ++i) {
        const double loss = 0.3, a = loss * speeds[i];
        double low = 0, high = 1 - 1e-15;
        for (int k = 0; k < 200; ++k) {
            const double b = 0.5 * (low + high);
            if (-b - log1p(-b) < a - log1p(a))
                low = b;
            else
                high = b;
        }
        const double e = 0.5 * (low + high) / a;
        stage s =
            ball_on_plane(SOA_CONTACT_HUNT_CROSSLEY, loss, 0, 0.003, -speeds[i],
                          "integration: {relative_tolerance: 1e-10, absolute_tolerance: 1e-12}");
        run_to(&s, 0.02 / speeds[i] + 0.05);
        const double got = v_of(&s, "ball.root")[5] / speeds[i];
        printf("  %5.3g m/s: restitution %.9f, exact %.9f, 1 - 2/3 loss v = %.6f\n", speeds[i], got,
               e, 1 - 2. / 3 * a);
        near("restitution", got, e, 1e-6);
        if (a < 0.05) near("small loss", got, 1 - 2. / 3 * a, a * a);
        closed(&s);
    }
}

/* Linear without loss: contact lasts pi sqrt(m/k) and gives all back. */
static void linear_contact_time(void **state) {
    (void)state;
    stage s = ball_on_plane(SOA_CONTACT_LINEAR, 0, 0, 0.012, -0.1, "");
    double touch = 0, release = 0;
    while (release == 0 && soa_world_time(s.world) < 1) {
        OK(tick(&s));
        if (event_of(&s, "touch")) touch = event_of(&s, "touch")->t;
        if (event_of(&s, "release")) release = event_of(&s, "release")->t;
    }
    near("touch", touch, 0.1, 2e-6);
    near("contact time", release - touch, PI * sqrt(0.5 / 3e4), 2e-5);
    near("all given back", v_of(&s, "ball.root")[5], 0.1, 1e-8);
    closed(&s);
}

/* --- crowds ----------------------------------------------------------------------------------- */
/* Boxes, balls, capsules and cylinders thrown at each other, with friction, under every law that
 * never pulls. */
static void shape_text(dice *d, int kind, char *body, char *shape, size_t size) {
    const double a = roll(d, 0.04, 0.15), b = roll(d, 0.04, 0.15), c = roll(d, 0.04, 0.15),
                 m = roll(d, 0.2, 3);
    if (kind == 0) {
        snprintf(body, size, "{mass: %.4f, box: [%.4f, %.4f, %.4f]}", m, a, b, c);
        snprintf(shape, size, "box: [%.4f, %.4f, %.4f]", a, b, c);
    }
    if (kind == 1) {
        snprintf(body, size, "{mass: %.4f, sphere: %.4f}", m, a / 2);
        snprintf(shape, size, "sphere: %.4f", a / 2);
    }
    if (kind >= 2) {
        snprintf(body, size, "{mass: %.4f, cylinder: {radius: %.4f, length: %.4f}}", m, a / 2,
                 b + a);
        snprintf(shape, size, "%s: {radius: %.4f, length: %.4f}",
                 kind == 2 ? "capsule" : "cylinder", a / 2, b);
    }
}
static stage crowd(long seed, int ground, int patch, int count, int law) {
    const double middle[3] = {0.15, 0.15, ground ? 0.05 : 0.25}; /* things fly towards it */
    char text[1 << 14], body[200], shape[200], shapes[1 << 12] = "shapes:\n";
    dice d = {(uint64_t)seed * 7919u};
    size_t at = 0, to = strlen(shapes);
    at += (size_t)snprintf(text, sizeof text,
                           "name: crowd\nduration: 1\ngravity: [0, 0, %s]\nparts:\n",
                           ground ? "-9.80665" : "0");
    for (int i = 0; i < count; ++i) {
        const double turn[3] = {roll(&d, -3, 3), roll(&d, -3, 3), roll(&d, -3, 3)};
        double place[3] = {0.3 * (i % 2), 0.3 * (i / 2 % 2), 0.15 + 0.3 * (i / 4)}, twist[6];
        for (int k = 0; k < 3; ++k) {
            twist[k] = roll(&d, -6, 6);
            twist[3 + k] = 2.5 * (middle[k] - place[k]) / 0.3 + roll(&d, -0.5, 0.5);
        }
        shape_text(&d, (int)roll(&d, 0, 4), body, shape, sizeof body);
        at += (size_t)snprintf(
            text + at, sizeof text - at,
            "  - {name: p%d, body: %s, place: {xyz: [%g, %g, %g], rpy: [%g, %g, %g]}, twist: [%g, "
            "%g, %g, %g, %g, %g]}\n",
            i, body, place[0], place[1], place[2], turn[0], turn[1], turn[2], twist[0], twist[1],
            twist[2], twist[3], twist[4], twist[5]);
        to += (size_t)snprintf(shapes + to, sizeof shapes - to,
                               "  - {name: s%d, group: things, on: p%d, %s}\n", i, i, shape);
    }
    if (ground)
        to += (size_t)snprintf(shapes + to, sizeof shapes - to,
                               "  - {name: floor, on: world, plane: {}}\n");
    static const char *const laws[3] = {"law: safe, stiffness: 40, damping: 30",
                                        "law: hunt-crossley, stiffness: 1e7, loss: 0.2",
                                        "law: linear, stiffness: 5e4, damping: 10"};
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "%scontacts:\n  - &how {between: [things, things], friction: %g, "
                           "tangential_stiffness: 2e4, "
                           "tangential_damping: 5, patch: %s, %s}\n%s"
                           "recording: {rate: 200}\nintegration: {relative_tolerance: 1e-8, "
                           "absolute_tolerance: 1e-10}\n",
                           shapes, roll(&d, 0, 1), patch ? "true" : "false", laws[law],
                           ground ? "  - {<<: *how, between: [things, floor]}\n" : "");
    assert_true(at < sizeof text && to < sizeof shapes);
    return opened(text);
}
/* created: most that work and stored energy of the contacts together ever rose; more: beyond where
 * they started */
static void crowds(int ground, int patch, int cases, const char *name, double created) {
    worst_case energy = {0, 0, 0}, made_up = {0, 0, 0}, more = {0, 0, 0}, momentum = {0, 0, 0};
    long long touches = 0;
    const double began = cpu_time();
    if (getenv("SOA_CASES")) cases *= atoi(getenv("SOA_CASES"));
    for (long seed = first_seed(); seed < first_seed() + cases; ++seed) {
        stage s = crowd(seed, ground, patch, 4, (int)(seed % 3));
        const double kinetic = summary_of(&s).kinetic;
        soa_status status = SOA_OK;
        while (!status && soa_world_time(s.world) < 0.5 - 1e-9)
            status = tick(&s);
        if (status) fail_msg("seed %ld", seed);
        if (getenv("SOA_TALK")) {
            printf("    seed %ld: %lld steps, %lld rejected, %lld evaluations, created %.2e, "
                   "balance %.2e, %.2f s\n",
                   seed, summary_of(&s).steps, summary_of(&s).rejected, summary_of(&s).evaluations,
                   summary_of(&s).contact_created / kinetic, summary_of(&s).energy_error_rel,
                   cpu_time() - began);
            fflush(stdout);
        }
        const soa_world_summary sum = summary_of(&s);
        note(&energy, sum.energy_error_rel, seed);
        note(&made_up, sum.contact_created / kinetic, seed);
        note(&more, fmax(0, sum.contact + sum.stored) / kinetic, seed);
        if (!ground) note(&momentum, sum.momentum_error_rel, seed);
        touches += sum.touches;
        closed(&s);
    }
    printf("  %s: %d scenes, %lld touches, %.2f s\n", name, cases, touches, cpu_time() - began);
    assert_true(touches > cases);
    conclude("energy balance / largest energy", &energy, 1e-5);
    conclude("energy created by contacts / kinetic energy at start", &made_up, created);
    conclude("energy given by contacts beyond what they took", &more, 1e-10);
    if (!ground) conclude("momentum", &momentum, 1e-11);
}
static void free_crowds(void **state) {
    (void)state;
    crowds(0, 0, 50, "free, one point for each pair", 1e-6);
    crowds(0, 1, 12, "free, patches", 1e-6);
}
static void crowds_on_ground(void **state) {
    (void)state;
    crowds(1, 0, 20, "on the ground, one point", 1e-6);
    crowds(1, 1, 12, "on the ground, patches", 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_as_written),          cmocka_unit_test(stored_is_the_integral),
        cmocka_unit_test(bounce_against_reference), cmocka_unit_test(hunt_crossley_restitution),
        cmocka_unit_test(linear_contact_time),      cmocka_unit_test(free_crowds),
        cmocka_unit_test(crowds_on_ground),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
