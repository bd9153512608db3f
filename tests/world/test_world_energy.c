/* test_world_energy.c  the energy ledger of worlds: every change of energy is booked.
 *
 * Random machines with every element that dissipates, stores or drives, one kind at a time and
 * all together. The balance
 *     kinetic + potential - start = motors - viscous + Coulomb + stops + contacts + disturbances
 * must hold to the error of the integration: within a bound, and better with a tighter
 * tolerance. */
#include "worlds.h"

#include <stdlib.h>
#include <unistd.h>

enum { MACHINES = 40 };

/* A random serial machine of revolute and prismatic joints.  `what` chooses what its joints
 * have. */
enum {
    DAMPING = 1,
    FRICTION = 2,
    SPRINGS = 4,
    ROTORS = 8,
    MIMIC = 16,
    STOPS = 32,
    LOOP = 64,    /* a cut joint with damping, friction and a spring */
    POINTS = 128, /* spring-dampers between points */
    PUSHED = 256,
    DRIVEN = 512,
    ALL = 1023
};
static char path[] = "/tmp/soa-energy-XXXXXX";

static void write_machine(dice *d, int what, int joints) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "<robot name='m'><link name='l0'/>\n");
    for (int i = 1; i <= joints; ++i) {
        const double m = roll(d, 0.5, 2);
        const int slides = i % 3 == 0;
        const char *turns = what & STOPS ? "revolute" : "continuous";
        const char *type = slides ? "prismatic" : turns;
        fprintf(f,
                "<link name='l%d'><inertial><origin xyz='%g %g %g'/><mass value='%g'/><inertia "
                "ixx='%g' iyy='%g' izz='%g' "
                "ixy='0' ixz='0' iyz='0'/></inertial></link>\n",
                i, roll(d, 0, 0.3), roll(d, -0.1, 0.1), roll(d, -0.1, 0.1), m, 0.02 * m, 0.03 * m,
                0.025 * m);
        fprintf(f,
                "<joint name='j%d' type='%s'><parent link='l%d'/><child link='l%d'/><origin "
                "xyz='%g %g %g' rpy='%g %g %g'/>"
                "<axis xyz='%d %d %d'/>",
                i, type, i - 1, i, roll(d, 0.1, 0.4), roll(d, -0.1, 0.1), roll(d, -0.1, 0.1),
                roll(d, -1, 1), roll(d, -1, 1), roll(d, -1, 1), i % 3 == 1, i % 3 == 2, i % 3 == 0);
        const double far = what & STOPS ? roll(d, 0.2, 0.5) : 100;
        if (slides || what & STOPS)
            fprintf(f, "<limit lower='%g' upper='%g' effort='200' velocity='20'/>", -far, far);
        fprintf(f, "<dynamics damping='%g' friction='%g'/>",
                what & DAMPING ? roll(d, 0.05, 0.5) : 0, what & FRICTION ? roll(d, 0.1, 1) : 0);
        fprintf(f, "<soa stiffness='%g' rest='0.1' rotor_inertia='%g' gear_ratio='20'/>",
                what & SPRINGS || slides ? roll(d, 5, 40) : 0,
                what & ROTORS ? roll(d, 1e-5, 1e-4) : 0);
        if ((what & MIMIC) && i == joints && joints % 3 && joints > 1)
            fprintf(f, "<mimic joint='j1' multiplier='%g' offset='0.1'/>", roll(d, -1.5, 1.5));
        fprintf(f, "</joint>\n");
    }
    fprintf(f, "</robot>\n");
    assert_int_equal(fclose(f), 0);
}
static double balance_of(long seed, int what, double tolerance, double *stopped) {
    dice d = {(uint64_t)seed * 7919 + (uint64_t)what};
    const int joints = 3 + (int)(seed % 3);
    write_machine(&d, what, joints);
    char more[2000] = "";
    size_t at = 0;
    if (what & LOOP)
        at += (size_t)snprintf(
            more + at, sizeof more - at,
            "constraints: [{kind: loop, name: bar, frames: [m.l%d, ball], joint: cylindrical, "
            "axis: [0, 1, "
            "1], damping: %g, friction: %g, stiffness: 3, rest: 0.2}]\nassembly_bound: 0\n",
            joints - 1, roll(&d, 0.1, 1), roll(&d, 0.05, 0.5));
    if (what & POINTS)
        at += (size_t)snprintf(more + at, sizeof more - at,
                               "springs: [{name: a, frames: [world, m.l%d], place1: [0.5, 0.2, 1], "
                               "stiffness: 60, damping: 3, "
                               "length: 0.3}, {name: b, frames: [m.l1, arm.link1], place2: [0.1, "
                               "0, 0], stiffness: 30, damping: 2}]\n",
                               joints);
    if (what & PUSHED)
        at += (size_t)snprintf(more + at, sizeof more - at,
                               "disturbances: [{frame: m.l%d, start: 0.1, duration: 0.2, wrench: "
                               "[1, 2, 1, 4, 3, 5]}]\n",
                               joints);
    if (what & DRIVEN)
        snprintf(more + at, sizeof more - at,
                 "control: {rate: 200, phases: [{name: go, actions: [{law: joint-pd, part: arm, "
                 "goal: {joint1: 0.7}, "
                 "time: 0.4, "
                 "stiffness: 30, damping: 5}]}]}\n");
    stage s = made("duration: 0.8\n"
                   "parts:\n  - {name: m, model: %s, rates: {j1: 3, j2: -2}%s}\n"
                   "  - {name: arm, model: 'planar-chain:2', place: [0.3, 0.3, 0.2]}\n"
                   "  - {name: ball, body: {mass: 0.7, box: [0.1, 0.2, 0.3]}}\n"
                   "integration: {relative_tolerance: %g, absolute_tolerance: %g}\n%s",
                   path, what & STOPS ? ", stop_stiffness: 2000, stop_damping: 20" : "", tolerance,
                   0.01 * tolerance, more);
    run_to(&s, 0.8);
    const soa_world_summary sum = summary_of(&s);
    for (int i = 0; i < sum.warning_count; ++i)
        if (!strcmp(sum.warnings[i].code, "energy-balance"))
            fail_msg("seed %ld, %d: %s %g", seed, what, sum.warnings[i].remedy,
                     sum.warnings[i].value);
    if (stopped) *stopped += fabs(sum.stopped) + fabs(sum.rubbed) + fabs(sum.viscous);
    closed(&s);
    return sum.energy_error_rel;
}

static int open_file(void **state) {
    (void)state;
    const int handle = mkstemp(path);
    return handle < 0 ? -1 : close(handle);
}
static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void one_element_at_a_time(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int what;
    } elements[] = {{"nothing", 0},
                    {"viscous friction", DAMPING},
                    {"Coulomb friction", FRICTION},
                    {"springs", SPRINGS},
                    {"rotors", ROTORS},
                    {"mimic joints with friction", MIMIC | DAMPING | FRICTION | SPRINGS | ROTORS},
                    {"stops", STOPS},
                    {"cut joints", LOOP},
                    {"springs between points", POINTS},
                    {"disturbances", PUSHED},
                    {"motors", DRIVEN}};
    for (size_t k = 0; k < sizeof elements / sizeof *elements; ++k) {
        worst_case balance = {0};
        for (long seed = 1; seed <= MACHINES / 5; ++seed)
            note(&balance, balance_of(seed, elements[k].what, 1e-9, NULL), seed);
        conclude(elements[k].name, &balance, 1e-8);
    }
}
static void all_together(void **state) {
    (void)state;
    worst_case coarse = {0}, fine = {0};
    double losses = 0;
    for (long seed = 1; seed <= MACHINES; ++seed) {
        dice d = {(uint64_t)seed};
        const int what = (int)roll(&d, 0, ALL + 1 - 1e-9) | (seed % 4 ? 0 : ALL);
        note(&coarse, balance_of(seed, what, 1e-7, &losses), seed);
        note(&fine, balance_of(seed, what, 1e-10, NULL), seed);
    }
    assert_true(losses > MACHINES); /* J: something was lost */
    conclude("at 1e-7", &coarse, 2e-6);
    conclude("at 1e-10", &fine, 5e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_element_at_a_time),
                                       cmocka_unit_test(all_together)};
    return cmocka_run_group_tests(tests, open_file, remove_file);
}
