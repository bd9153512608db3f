/* test_world_elements.c  springs between points, rolling discs, massless links held by loops:
 * closed forms. */
#include "worlds.h"

#include <stdlib.h>
#include <unistd.h>

/* A weight on a damped spring, and two balls on one: oscillations in closed form. */
static void springs(void **state) {
    (void)state;
    const double m = 2, k = 300, c = 4, g = 9.81, t = 1.3;
    stage s =
        made("duration: 2\nparts: [{name: b, body: {mass: %g, sphere: 0.1}, place: [0, 0, -0.5]}]\n"
             "springs: [{name: s, frames: [world, b], stiffness: %g, damping: %g}]\n"
             "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\nrecording: "
             "{rate: 100}\n",
             m, k, c);
    run_to(&s, t);
    const double low = m * g / k, d = c / (2 * m), w = sqrt(k / m - d * d);
    const double x = low * (1 - exp(-d * t) * (cos(w * t) + d / w * sin(w * t)));
    near("weight on a spring", q_of(&s, "b.root")[2], -0.5 - x, 1e-9);
    near("energy", summary_of(&s).energy_error_rel, 0, 1e-10);
    assert_false(summary_of(&s).is_free);
    closed(&s);
    s = made("duration: 2\ngravity: [0, 0, 0]\n"
             "parts: [{name: a, body: {mass: 1, sphere: 0.1}}, {name: b, body: {mass: 3, sphere: "
             "0.1}, place: [0.5, 0, "
             "0]}]\n"
             "springs: [{name: s, frames: [a, b], stiffness: 300, length: 0.4}]\n"
             "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\nrecording: "
             "{rate: 100}\n");
    run_to(&s, t);
    const double both = sqrt(300 / 0.75); /* reduced mass 3/4 */
    near("two balls on a spring", q_of(&s, "b.root")[0] - q_of(&s, "a.root")[0],
         0.4 + 0.1 * cos(both * t), 1e-9);
    near("momentum", summary_of(&s).momentum_error_rel, 0, 1e-12);
    assert_true(summary_of(&s).is_free);
    closed(&s);
}
/* The spring of a loop's own joint: a bar hinged to the world by a loop with a torsion spring, no
 * gravity. */
static void spring_of_a_loop(void **state) {
    (void)state;
    stage s = made(
        "duration: 2\ngravity: [0, 0, 0]\n"
        "parts: [{name: b, body: {mass: 2, inertia: [0.1, 0.1, 0.1, 0, 0, 0], com: [0.5, 0, 0]}}]\n"
        "constraints: [{kind: loop, name: hinge, frames: [world, b], joint: revolute, stiffness: "
        "30, rest: 0.3, "
        "damping: 0.4}]\n"
        "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\nrecording: {rate: "
        "100}\n");
    const double I = 0.1 + 2 * 0.25, t = 1.3, d = 0.4 / (2 * I), w = sqrt(30 / I - d * d);
    run_to(&s, t);
    const double angle = 0.3 * (1 - exp(-d * t) * (cos(w * t) + d / w * sin(w * t)));
    const double *q = q_of(&s, "b.root");
    near("angle of the hinge", 2 * atan2(q[6], q[3]), angle, 1e-9);
    near("energy", summary_of(&s).energy_error_rel, 0, 1e-10);
    closed(&s);
}

/* A coin in steady precession: its axis leans by `lean` from the vertical and turns with Omega
 * about it.  With C, A the moments of inertia about the axis and across it, s and m the sine and
 * cosine of the lean, the spin about the axis is
 *     n = m (A Omega^2 - M g r / s) / (Omega (C + M r^2)),    w = Omega (z - m a) + n a,    v = -(r
 *     n / s) z x a
 * and after one turn the centre is back where it was. */
static void rolling_coin(void **state) {
    (void)state;
    static const double leans[] = {0.5, 1.0, 1.3}, speeds[] = {3, -5, 8};
    const double M = 0.3, r = 0.2, C = 0.5 * M * r * r, A = 0.25 * M * r * r, g = 9.81;
    worst_case place = {0}, axis = {0}, closure = {0};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const double lean = leans[i], turn = speeds[j], s = sin(lean), m = cos(lean);
            const double n = m * (A * turn * turn - M * g * r / s) / (turn * (C + M * r * r));
            /* the axis a = (0, -s, m): turned about x by `lean`; z x a = (s, 0, 0) */
            const double w[3] = {0, -n * s + turn * m * s, turn * (1 - m * m) + n * m}, v = -r * n;
            const double period = 2 * PI / fabs(turn);
            stage st =
                made("duration: %.17g\n"
                     "parts: [{name: coin, body: {mass: %g, inertia: [%.17g, %.17g, %.17g, 0, 0, "
                     "0]}, place: {xyz: [0, 0, "
                     "%.17g], rpy: [%.17g, 0, 0]}, twist: [%.17g, %.17g, %.17g, %.17g, 0, 0]}]\n"
                     "constraints: [{kind: disc, name: rim, frames: [world, coin], value: %g}]\n"
                     "integration: {relative_tolerance: 1e-11, absolute_tolerance: "
                     "1e-13}\nrecording: {rate: %.17g}\n",
                     1.0001 * period, M, A, A, C, r * s, lean, w[0], w[1], w[2], v, r, 64 / period);
            assert_int_equal(summary_of(&st).assembly_count, 0); /* it does roll */
            for (int tick_number = 0; tick_number < 64; ++tick_number) {
                OK(tick(&st));
                const double *q = q_of(&st, "coin.root"), x = q[4], y = q[5];
                note(&axis, fabs(1 - 2 * (x * x + y * y) - m), 10 * i + j); /* the lean stays */
            }
            const double *q = q_of(&st, "coin.root");
            note(&place, sqrt(q[0] * q[0] + q[1] * q[1] + pow(q[2] - r * s, 2)), 10 * i + j);
            note(&closure, summary_of(&st).closure_error, 10 * i + j);
            near("energy", summary_of(&st).energy_error_rel, 0, 1e-9);
            closed(&st);
        }
    conclude("the coin is back after one turn, m", &place, 1e-8);
    conclude("its lean stays", &axis, 1e-8);
    conclude("closure", &closure, 1e-12);
}
/* An upright coin rolls straight on; one that lies flat is not rolling, and is refused. */
static void upright_coin(void **state) {
    (void)state;
    stage s = made("duration: 2\n"
                   "parts: [{name: coin, body: {mass: 1, cylinder: {radius: 0.1, length: 1 mm}}, "
                   "place: {xyz: [0, 0, 0.1], rpy: "
                   "[90 deg, 0, 0]}, twist: {angular: [0, 20, 0], linear: [2, 0, 0]}}]\n"
                   "constraints: [{kind: disc, name: rim, frames: [world, coin], value: 0.1}]\n"
                   "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\n");
    run_to(&s, 2);
    near("it rolled", q_of(&s, "coin.root")[0], 4, 1e-8);
    near("straight on", q_of(&s, "coin.root")[1], 0, 1e-9);
    closed(&s);
    soa_scenario scenario;
    soa_report report;
    soa_world *world = NULL;
    const char flat[] =
        "parts: [{name: coin, body: {mass: 1, sphere: 0.1}, place: [0, 0, 0.000001]}]\n"
        "constraints: [{kind: disc, name: rim, frames: [world, coin], value: 0.1}]\n";
    OK(soa_scenario_parse(flat, sizeof flat - 1, "flat.yaml", &scenario, &report));
    assert_int_not_equal(soa_world_create(&scenario, &world, &report), SOA_OK);
    printf("  %s\n", report.text);
    assert_true(report.text[0] != 0);
    soa_scenario_free(&scenario);
}

/* A flyball governor whose spring-dampers are massless telescopes: they simulate because their
 * loops hold them, and as spring-dampers between points they give the same motion. */
static void massless_telescopes(void **state) {
    (void)state;
    static const char frame[] = "<robot name='gov'><link name='base'/>\n"
                                "<link name='shaft'><inertial><origin xyz='0 0 .5'/><mass "
                                "value='0.3'/><inertia ixx='0.025' iyy='0.025' "
                                "izz='0.001' "
                                "ixy='0' ixz='0' iyz='0'/></inertial></link>\n"
                                "<joint name='spin' type='continuous'><parent link='base'/><child "
                                "link='shaft'/><axis xyz='0 0 1'/></joint>\n"
                                "<link name='slider'><inertial><mass value='3'/><inertia "
                                "ixx='0.005' iyy='0.005' izz='0.005' ixy='0' ixz='0' "
                                "iyz='0'/></inertial></link>\n"
                                "<joint name='s' type='prismatic'><parent link='shaft'/><child "
                                "link='slider'/><axis xyz='0 0 1'/><limit "
                                "lower='-9' "
                                "upper='9' effort='1e9' velocity='1e9'/></joint>\n"
                                "<link name='rod'><inertial><origin xyz='.7 0 0'/><mass "
                                "value='2'/><inertia ixx='0.001' iyy='0.05' izz='0.05' "
                                "ixy='0' "
                                "ixz='0' iyz='0'/></inertial></link>\n"
                                "<joint name='b' type='continuous'><parent link='shaft'/><child "
                                "link='rod'/><origin xyz='0.05 0 1'/><axis "
                                "xyz='0 1 "
                                "0'/></joint>\n";
    static const char telescope[] = "<link name='cyl'/><joint name='c' type='continuous'><parent "
                                    "link='slider'/><child link='cyl'/><origin "
                                    "xyz='0.05 0 "
                                    "0'/><axis xyz='0 1 0'/></joint>\n"
                                    "<link name='pis'/><joint name='p' type='prismatic'><parent "
                                    "link='cyl'/><child link='pis'/><axis xyz='1 0 "
                                    "0'/><limit "
                                    "lower='-9' upper='9' effort='1e9' velocity='1e9'/><dynamics "
                                    "damping='40'/><soa stiffness='800' "
                                    "rest='.5'/></joint>\n"
                                    "<loop_joint name='pin' type='revolute'><link1 "
                                    "link='pis'/><link2 link='rod' xyz='.5 0 0'/><axis xyz='0 1 "
                                    "0'/></loop_joint>\n";
    double at[2][3];
    for (int links = 0; links < 2; ++links) {
        char path[] = "/tmp/soa-governor-XXXXXX";
        const int handle = mkstemp(path);
        assert_true(handle >= 0);
        FILE *f = fdopen(handle, "w");
        fprintf(f, "%s%s</robot>\n", frame, links ? telescope : "");
        fclose(f);
        stage s = made("duration: 1\nparts: [{name: g, model: %s, positions: {b: 0.5, s: 0.2}, "
                       "rates: {spin: 6}}]\n%s"
                       "integration: {relative_tolerance: 1e-10, absolute_tolerance: 1e-12}\n",
                       path,
                       links ? ""
                             : "springs: [{name: t, frames: [g.slider, g.rod], place1: [0.05, 0, "
                               "0], place2: [0.5, 0, 0], "
                               "stiffness: 800, damping: 40, length: 0.5}]\n");
        run_to(&s, 1);
        at[links][0] = q_of(&s, "g.spin")[0];
        at[links][1] = q_of(&s, "g.s")[0];
        at[links][2] = q_of(&s, "g.b")[0];
        near("energy", summary_of(&s).energy_error_rel, 0, 1e-8);
        closed(&s);
        unlink(path);
    }
    for (int k = 0; k < 3; ++k)
        near("telescope = spring", at[1][k], at[0][k], 1e-7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(springs), cmocka_unit_test(spring_of_a_loop),
        cmocka_unit_test(rolling_coin), cmocka_unit_test(upright_coin),
        cmocka_unit_test(massless_telescopes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
