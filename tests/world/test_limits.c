/* test_limits.c  stops and contacts that need no entry in the scenario: limits of joints,
 * <collision> shapes of URDF parts; and the effect of a scenario's scales. */
#include "worlds.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/soa-limits-XXXXXX";

static void put(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The world of a scenario whose files are in the folder; NULL, and why: it is refused. */
static stage tried(const char *text, soa_report *report) {
    char name[200];
    stage s = {malloc(sizeof *s.scenario), NULL};
    snprintf(name, sizeof name, "%s/test.yaml", folder);
    assert_non_null(s.scenario);
    if (soa_scenario_parse(text, strlen(text), name, s.scenario, report))
        fail_msg("%s\n%s", report->text, text);
    if (soa_world_create(s.scenario, &s.world, report)) s.world = NULL;
    return s;
}
static stage here(const char *text) {
    soa_report report;
    stage s = tried(text, &report);
    if (!s.world) fail_msg("%s\n%s", report.text, text);
    return s;
}
static void refused(const char *text, const char *words) {
    soa_report report;
    stage s = tried(text, &report);
    if (s.world) fail_msg("not refused:\n%s", text);
    if (!strstr(report.text, words)) fail_msg("'%s' does not say '%s'", report.text, words);
    soa_scenario_free(s.scenario);
    free(s.scenario);
}

static const soa_world_warning *warned(const stage *s, const char *code, const char *name) {
    int count;
    const soa_world_warning *list = soa_world_warnings(s->world, &count);
    for (int i = 0; i < count; ++i)
        if (!strcmp(list[i].code, code) && (!name || !strcmp(list[i].name, name))) return &list[i];
    return NULL;
}
static int warning_count(const stage *s) {
    int count;
    soa_world_warnings(s->world, &count);
    return count;
}
static const soa_world_part *part_of(const stage *s, const char *name) {
    int count;
    const soa_world_part *list = soa_world_parts(s->world, &count);
    for (int i = 0; i < count; ++i)
        if (!strcmp(list[i].name, name)) return &list[i];
    fail_msg("no part '%s'", name);
    return NULL;
}
/* The margin of the pair of two shapes; -1: they do not meet. */
static double pair_margin(const stage *s, const char *a, const char *b) {
    for (int i = 0; i < soa_world_pair_count(s->world); ++i) {
        soa_world_pair pair;
        soa_world_shape x, y;
        OK(soa_world_get_pair(s->world, i, &pair));
        OK(soa_world_get_shape(s->world, pair.a, &x));
        OK(soa_world_get_shape(s->world, pair.b, &y));
        const int one = !strcmp(x.name, a) && !strcmp(y.name, b);
        const int other = !strcmp(x.name, b) && !strcmp(y.name, a);
        if (one || other) return pair.margin;
    }
    return -1;
}

#define INERTIAL(mass, inertia) INERTIAL_AT("0 0 0", mass, inertia)
#define INERTIAL_AT(place, mass, inertia)                                               \
    "<inertial><origin xyz='" place "'/><mass value='" mass "'/><inertia ixx='" inertia \
    "' iyy='" inertia "' izz='" inertia "' ixy='0' ixz='0' "                            \
    "iyz='0'/></inertial>"
#define COLLISION(shape) "<collision>" shape "</collision>"
#define AT(place, shape) "<origin xyz='" place "'/><geometry>" shape "</geometry>"
#define JOINT(name, type, a, b, place, axis, lower, upper)                                     \
    "<joint name='" name "' type='" type "'><parent link='" a "'/><child link='" b             \
    "'/><origin xyz='" place "'/><axis xyz='" axis "'/><limit lower='" lower "' upper='" upper \
    "' effort='10' velocity='10'/></joint>"

static const char rod[] =
    "<robot name='rod'><link name='base'/><link name='a'><inertial><origin xyz='0 0 -0.25'/>"
    "<mass value='1'/><inertia ixx='0.02' iyy='0.02' izz='0.001' ixy='0' ixz='0' iyz='0'/>"
    "</inertial></link>" JOINT("j", "revolute", "base", "a", "0 0 0", "0 1 0", "-0.5",
                               "0.5") "</robot>";

/* --- limits ----------------------------------------------------------------------------------- */
/* A joint that arrives at its stop goes no deeper than 1 % of its range, comes to rest, and the
 * energy adds up. */
static void limits_act(void **state) {
    (void)state;
    put("rod.urdf", rod);
    for (int off = 0; off < 2; ++off) {
        stage s = here(off ? "name: l\nduration: 2\nparts: [{name: r, model: rod.urdf, limits: "
                             "false, positions: {j: 0.4}, "
                             "rates: {j: 5}}]\n"
                           : "name: l\nduration: 2\nparts: [{name: r, model: rod.urdf, positions: "
                             "{j: 0.4}, rates: {j: "
                             "5}}]\n");
        double most = 0;
        while (soa_world_time(s.world) < 2 - 1e-9) {
            OK(tick(&s));
            most = fmax(most, fabs(*q_of(&s, "r.j")));
        }
        const soa_world_summary sum = summary_of(&s);
        const soa_world_part *part = part_of(&s, "r");
        printf("  limits %s: reaches %.4f of 0.5 rad, balance %.1e, %d stops\n", off ? "off" : "on",
               most, sum.energy_error_rel, part->stops);
        assert_true(sum.energy_error_rel <= 1e-7);
        assert_int_equal(part->limits, 1);
        assert_int_equal(part->stops, !off);
        assert_int_equal(warning_count(&s), 0);
        if (off) assert_true(most > 1 && sum.stopped == 0);
        if (!off) assert_true(most > 0.5 && most <= 0.51 && sum.stopped < -0.5);
        closed(&s);
    }
}

/* Numbers that the scenario gives are taken as they are. */
static void given_stops(void **state) {
    (void)state;
    put("rod.urdf", rod);
    stage s = here(
        "name: l\nparts: [{name: r, model: rod.urdf, stop_stiffness: 700, stop_damping: 3}]\n");
    near("stiffness", part_of(&s, "r")->stop_stiffness[1], 700, 0);
    near("damping", part_of(&s, "r")->stop_damping[0], 3, 0);
    closed(&s);
    s = here("name: l\nparts: [{name: r, model: rod.urdf, stop_stiffness: 700}]\n");
    near("critical", part_of(&s, "r")->stop_damping[0], 2 * sqrt(700 * 0.0825), 1e-6);
    closed(&s);
}

/* A follower's limits bound the joint that it follows, whichever way it turns. */
static void followers_have_limits(void **state) {
    (void)state;
    put("mimic.urdf",
        "<robot name='m'><link name='base'/><link name='a'>" INERTIAL(
            "1",
            "0.1") "</link><link name='b'>" INERTIAL("1",
                                                     "0.1") "</link>" JOINT("lead", "revolute",
                                                                            "base", "a", "0 0 0",
                                                                            "0 0 1", "-2",
                                                                            "0.2") "<joint "
                                                                                   "name='follow' "
                                                                                   "type='revolute'"
                                                                                   "><parent "
                                                                                   "link='base'/"
                                                                                   "><child "
                                                                                   "link='b'/"
                                                                                   "><origin "
                                                                                   "xyz='1 0 0'/>"
                                                                                   "<axis xyz='0 0 "
                                                                                   "1'/><limit "
                                                                                   "lower='-0.5' "
                                                                                   "upper='0.7' "
                                                                                   "effort='1' "
                                                                                   "velocity='1'/>"
                                                                                   "<mimic "
                                                                                   "joint='lead' "
                                                                                   "multiplier='-2'"
                                                                                   " offset='0.1'/"
                                                                                   "></joint></"
                                                                                   "robot>");
    /* follow in [-0.5, 0.7]: lead in [-0.3, 0.3], its own upper limit is 0.2 */
    for (int side = 0; side < 2; ++side) {
        stage s = here(side ? "name: m\nduration: 1\ngravity: [0, 0, 0]\nparts: [{name: m, model: "
                              "mimic.urdf, rates: "
                              "{lead: 1}}]\n"
                            : "name: m\nduration: 1\ngravity: [0, 0, 0]\nparts: [{name: m, model: "
                              "mimic.urdf, rates: "
                              "{lead: -1}}]\n");
        double least = 0, most = 0;
        while (soa_world_time(s.world) < 1 - 1e-9) {
            OK(tick(&s));
            least = fmin(least, *q_of(&s, "m.lead"));
            most = fmax(most, *q_of(&s, "m.lead"));
        }
        assert_true(side ? most > 0.19 && most < 0.206 : least < -0.29 && least > -0.306);
        assert_true(summary_of(&s).energy_error_rel <= 1e-7);
        closed(&s);
    }
}

/* A start outside is said; nothing is thrown. */
static void starts_outside(void **state) {
    (void)state;
    put("rod.urdf", rod);
    stage s = here("name: l\nduration: 1\ngravity: [0, 0, 0]\nparts: [{name: r, model: rod.urdf, "
                   "positions: {j: 0.9}}]\n");
    const soa_world_warning *w = warned(&s, "start-outside-limits", "r.j");
    assert_non_null(w);
    near("its position", w->value, 0.9, 0);
    run_to(&s, 1);
    near("stays", *q_of(&s, "r.j"), 0.9, 0);
    closed(&s);
    /* on it is within */
    s = here("name: l\nparts: [{name: r, model: rod.urdf, positions: {j: 0.5}}]\n");
    assert_int_equal(warning_count(&s), 0);
    closed(&s);
}

/* Machines without motors fall into their stops, faster than motors would move them: at most 2 % of
 * the range. */
static void machines_keep_within(void **state) {
    (void)state;
    static const char *const models[] = {"puma560", "arm7", "two-puma"};
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k) {
        char text[400];
        snprintf(text, sizeof text,
                 "name: f\nduration: 2\ngravity: [1, 2, -9]\nparts: [{name: m, model: %s, "
                 "friction_scale: 0}]\n",
                 models[k]);
        stage s = here(text);
        double worst = 0;
        while (soa_world_time(s.world) < 2 - 1e-9) {
            OK(tick(&s));
            for (int b = 1; b <= soa_model_body_count(soa_world_model(s.world)); ++b) {
                soa_body_info info;
                soa_model_body(soa_world_model(s.world), b, &info);
                if (info.nq != 1) continue;
                const double q = soa_world_q(s.world)[info.q_index];
                worst =
                    fmax(worst, fmax(q - info.upper, info.lower - q) / (info.upper - info.lower));
            }
        }
        const soa_world_summary sum = summary_of(&s);
        printf("  %s: at most %.4f of the range beyond a limit, stops took %.3g J, balance %.1e\n",
               models[k], worst, -sum.stopped, sum.energy_error_rel);
        assert_true(worst <= 0.02 && sum.energy_error_rel <= 1e-6);
        closed(&s);
    }
}

/* --- collisions ------------------------------------------------------------------------------- */
/* #: the leg's number; @: where its hip is. */
static const char leg[] =
    "<link name='thigh#'>" INERTIAL_AT("0 0 -0.08", "0.15", "0.0004") COLLISION(AT(
        "0 0 -0.08",
        "<box size='0.02 0.02 0.12'/>")) "</link><link name='shin#'>" INERTIAL_AT("0 0 -0.08",
                                                                                  "0.03", "0.0001")
        COLLISION(AT(
            "0 0 -0.08",
            "<capsule radius='0.008' length='0.1'/>")) "</link><link "
                                                       "name='foot#'"
                                                       ">" COLLISION(AT(
                                                           "0 0 0",
                                                           "<sphere "
                                                           "radius='0.016'/"
                                                           ">")) "</"
                                                                 "link"
                                                                 ">" JOINT("h"
                                                                           "i"
                                                                           "p"
                                                                           "#",
                                                                           "r"
                                                                           "e"
                                                                           "v"
                                                                           "o"
                                                                           "l"
                                                                           "u"
                                                                           "t"
                                                                           "e",
                                                                           "b"
                                                                           "a"
                                                                           "s"
                                                                           "e",
                                                                           "t"
                                                                           "h"
                                                                           "i"
                                                                           "g"
                                                                           "h"
                                                                           "#",
                                                                           "@",
                                                                           "0"
                                                                           " "
                                                                           "1"
                                                                           " "
                                                                           "0",
                                                                           "-"
                                                                           "1"
                                                                           "."
                                                                           "5",
                                                                           "1"
                                                                           "."
                                                                           "5")
                                                                     JOINT(
                                                                         "kne"
                                                                         "e#",
                                                                         "rev"
                                                                         "olu"
                                                                         "te",
                                                                         "thi"
                                                                         "gh"
                                                                         "#",
                                                                         "shi"
                                                                         "n#",
                                                                         "0 "
                                                                         "0 "
                                                                         "-0."
                                                                         "16",
                                                                         "0 "
                                                                         "1 "
                                                                         "0",
                                                                         "-2."
                                                                         "6",
                                                                         "2."
                                                                         "6") "<joint "
                                                                              "name='ankle#' "
                                                                              "type='fixed'><"
                                                                              "parent "
                                                                              "link='shin#'/"
                                                                              "><child "
                                                                              "link='foot#'/"
                                                                              "><origin xyz='0 "
                                                                              "0 -0.16'/></joint>";
static char dog[8000];
static void make_dog(void) {
    int at = snprintf(dog, sizeof dog, "<robot name='dog'><link name='base'>%s</link>",
                      INERTIAL("1.2", "0.01") COLLISION(AT("0 0 0", "<box size='0.4 0.2 0.05'/>")));
    static const char *const hips[4] = {"0.19 0.12 0", "0.19 -0.12 0", "-0.19 0.12 0",
                                        "-0.19 -0.12 0"};
    for (int n = 0; n < 4; ++n)
        for (const char *c = leg; *c; ++c) {
            char one[2] = {*c == '#' ? (char)('1' + n) : *c, 0};
            at += snprintf(dog + at, sizeof dog - (size_t)at, "%s", *c == '@' ? hips[n] : one);
        }
    at += snprintf(dog + at, sizeof dog - (size_t)at, "</robot>");
    assert_true(at < (int)sizeof dog);
}
#define DOG                                                                                       \
    "{name: dog, model: dog.urdf, floating: true, place: [0, 0, 0.4], twist: [0.3, 0.2, 0.1, 0, " \
    "0, 0], "                                                                                     \
    "positions: {hip1: 0.7, knee1: -1.4, hip2: 0.7, knee2: -1.4, hip3: -0.7, knee3: 1.4, hip4: "  \
    "-0.7, knee4: 1.4}"
#define GROUND "name: d\nduration: 2\nparts:\n  - {name: ground, fixed: true, body: {}}\n"
#define FLOOR "shapes: [{name: floor, on: ground, plane: {}}]\n"

/* It lands, stays above the floor and lies there with its weight. */
static void dog_lands(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here(GROUND "  - " DOG "}\n" FLOOR);
    const soa_world_part *part = part_of(&s, "dog");
    assert_int_equal(part->collisions, 13);
    assert_int_equal(part->in_use, 13);
    assert_true(part->can_touch);
    near("stiffness", part->law.stiffness * pow(part->law.margin, 1.5), 1.92 * 9.81, 1e-9);
    double least = 1;
    const clock_t begun = clock();
    while (soa_world_time(s.world) < 2 - 1e-9) {
        OK(tick(&s));
        least = fmin(least, q_of(&s, "dog.root")[2]);
    }
    const double wall = (double)(clock() - begun) / CLOCKS_PER_SEC;
    const soa_world_summary sum = summary_of(&s);
    soa_world_contact touch[64];
    const int count = soa_world_contacts(s.world, touch, 64);
    double pressure = 0;
    for (int i = 0; i < count && i < 64; ++i)
        pressure += touch[i].pressure;
    printf("  lowest %.4f m, at rest with %.6f N on %d points (weight %.6f), balance %.1e, created "
           "%.1e J, %.1f times "
           "real "
           "time\n",
           least, pressure, count, 1.92 * 9.81, sum.energy_error_rel, sum.contact_created,
           2 / wall);
    assert_true(least > 0.02 && sum.touches > 3);
    near("weight", pressure, 1.92 * 9.81, 0.02);
    assert_true(sum.energy_error_rel <= 1e-6 && sum.contact_created <= 1e-6);
    assert_int_equal(warning_count(&s), 0);
    closed(&s);
}

/* Switched off, it falls, and that is said. */
static void dog_falls_through(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here(GROUND "  - " DOG ", collisions: false}\n" FLOOR);
    assert_int_equal(soa_world_pair_count(s.world), 0);
    assert_non_null(warned(&s, "cannot-touch", "dog"));
    assert_true(!part_of(&s, "dog")->can_touch);
    run_to(&s, 1);
    assert_true(q_of(&s, "dog.root")[2] < -4);
    closed(&s);
}

/* Alone in its world it has no pairs, no shapes and no warning: it costs nothing. */
static void dog_alone(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here("name: d\nduration: 1\nparts:\n  - " DOG "}\n");
    assert_int_equal(soa_world_pair_count(s.world) + soa_world_shape_count(s.world), 0);
    assert_int_equal(part_of(&s, "dog")->collisions, 13);
    assert_int_equal(warning_count(&s), 0);
    closed(&s);
}

/* What contacts say of a part, or of a link, counts; the last that fits. */
static void contacts_override(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here(
        GROUND "  - " DOG "}\n" FLOOR
               "contacts:\n  - {between: [dog, floor], law: linear, stiffness: 1e5, margin: 3 mm}\n"
               "  - {between: [dog.foot2, floor], law: linear, stiffness: 1e5, margin: 4 mm}\n");
    near("the part", pair_margin(&s, "dog.base", "floor"), 3e-3, 0);
    near("the link", pair_margin(&s, "dog.foot2", "floor"), 4e-3, 0);
    closed(&s);
    s = here(
        GROUND
        "  - " DOG "}\n" FLOOR
        "contacts: [{between: [dog.foot2, floor], law: linear, stiffness: 1e5, margin: 4 mm}]\n");
    near("the default", pair_margin(&s, "dog.foot1", "floor"), 2e-4, 0);
    near("the link", pair_margin(&s, "dog.foot2", "floor"), 4e-3, 0);
    closed(&s);
    refused(GROUND "  - " DOG "}\n" FLOOR
                   "contacts: [{between: [dog.tail, floor], law: linear, stiffness: 1e5}]\n",
            "'dog.tail' is no shape or group");
}

/* Shapes that the scenario gives a body are the only ones it touches with. */
static void shapes_replace(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here(
        GROUND "  - " DOG "}\nshapes:\n  - {name: floor, on: ground, plane: {}}\n"
               "  - {name: paw, on: dog.foot1, sphere: 16 mm}\n"
               "contacts: [{between: [paw, floor], law: linear, stiffness: 1e5, margin: 3 mm}]\n");
    near("given", pair_margin(&s, "paw", "floor"), 3e-3, 0);
    near("replaced", pair_margin(&s, "dog.foot1", "floor"), -1, 0);
    near("of the same body", pair_margin(&s, "dog.shin1", "floor"), -1, 0);
    near("another body", pair_margin(&s, "dog.thigh1", "floor"), 2e-4, 0);
    closed(&s);
}

/* Links of one machine touch only where that is asked; never neighbours. */
static void self_collisions(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here(GROUND "  - " DOG ", collisions: self}\n");
    assert_true(pair_margin(&s, "dog.shin1", "dog.shin2") > 0);
    assert_true(pair_margin(&s, "dog.base", "dog.shin1") > 0);
    near("parent and child", pair_margin(&s, "dog.base", "dog.thigh1"), -1, 0);
    near("fixed to each other", pair_margin(&s, "dog.shin1", "dog.foot1"), -1, 0);
    /* 9 bodies: base, 4 thighs, 4 shins with 2 shapes each; neighbours are base-thigh and
     * thigh-shin */
    const int pairs = 4 * 2 /* base, shins */ + 6 /* thighs */ + 12 * 2 /* thigh, other shin */ +
                      6 * 4 /* shins */;
    assert_int_equal(soa_world_pair_count(s.world), pairs);
    closed(&s);
}

/* The lighter of two machines decides how they meet. */
static void two_machines(void **state) {
    (void)state;
    put("dog.urdf", dog);
    stage s = here("name: d\nparts:\n  - " DOG
                   ", mass_scale: 3}\n  - {name: b, model: dog.urdf, floating: true, place: [1, "
                   "0, 1]}\n");
    assert_int_equal(soa_world_pair_count(s.world), 13 * 13);
    assert_true(part_of(&s, "b")->law.stiffness < part_of(&s, "dog")->law.stiffness);
    assert_int_equal(warning_count(&s), 0);
    closed(&s);
}

static const char arm[] = "<robot name='arm'><link name='base'>" COLLISION(
    AT("0 0 0.05", "<box size='0.2 0.2 0.1'/>")) "</link><link name='turn'>" INERTIAL("2", "0.01")
    COLLISION(AT("0 0 0.05", "<cylinder radius='0.08' length='0.2'/>")) "</link>" JOINT(
        "yaw", "revolute", "base", "turn", "0 0 0.1", "0 0 1", "-3", "3") "</robot>";
/* A link that overlaps the table by design is left out and said; a floating part in the floor is
 * refused. */
static void overlaps(void **state) {
    (void)state;
    put("arm.urdf", arm);
    put("dog.urdf", dog);
    stage s = here("name: o\nduration: 1\nparts:\n  - {name: table, fixed: true, body: {}}\n  - "
                   "{name: arm, model: "
                   "arm.urdf}\nshapes: [{name: top, on: table, box: [1, 1, 0.2]}]\n");
    assert_int_equal(soa_world_pair_count(s.world), 0); /* the base cannot move against the table */
    const soa_world_warning *w = warned(&s, "overlap-left-out", NULL);
    assert_non_null(w);
    assert_true(w->value > 0.02 && strstr(w->remedy, "arm.turn"));
    run_to(&s, 0.1);
    closed(&s);
    refused("name: o\nparts:\n  - {name: ground, fixed: true, body: {}}\n  - {name: dog, model: "
            "dog.urdf, floating: true, "
            "place: [0, 0, 0.2]}\n" FLOOR,
            "overlap by ");
}

#define BRICK(mesh)                                                        \
    "<robot name='brick'><link name='b'>" INERTIAL("1", "0.01") COLLISION( \
        "<geometry><mesh filename='" mesh "' scale='0.1 0.1 0.1'/></geometry>") "</link></robot>"
#define BRICK_FALLS "  - {name: brick, model: brick.urdf, floating: true, place: [0, 0, 0.2]"
static const char cube[] =
    "v -1 -1 -1\nv 1 -1 -1\nv -1 1 -1\nv 1 1 -1\nv -1 -1 1\nv 1 -1 1\nv -1 1 1\nv 1 1 1\n"
    "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";

/* A mesh touches by its hull; one that is missing, damaged or endless is named, and refused where
 * it was asked for. */
static void meshes(void **state) {
    (void)state;
    put("cube.obj", cube);
    put("bad.obj", "nothing\n");
    put("brick.urdf", BRICK("cube.obj"));
    stage s = here(GROUND BRICK_FALLS "}\n" FLOOR);
    run_to(&s, 2);
    near("lies", q_of(&s, "brick.root")[2], 0.1, 3e-4);
    assert_true(summary_of(&s).energy_error_rel <= 1e-6);
    assert_int_equal(warning_count(&s), 0);
    closed(&s);
    static const char *const bad[] = {"gone.obj", "bad.obj", "package://nowhere/x.stl", "pipe.stl",
                                      "/dev/zero"};
    char pipe[200];
    snprintf(pipe, sizeof pipe, "%s/pipe.stl", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        char text[1000];
        snprintf(text, sizeof text, BRICK("%s"), bad[k]);
        put("brick.urdf", text);
        s = here(GROUND BRICK_FALLS "}\n" FLOOR);
        const soa_world_warning *w = warned(&s, "mesh-missing", "brick.b");
        assert_non_null(w);
        if (!strstr(w->remedy, bad[k])) fail_msg("'%s' does not name '%s'", w->remedy, bad[k]);
        assert_non_null(warned(&s, "cannot-touch", "brick"));
        const soa_world_summary sum = summary_of(&s);
        assert_int_equal(sum.gap_count, 1);
        assert_string_equal(sum.gaps[0].link, "b");
        closed(&s);
        refused(GROUND BRICK_FALLS ", collisions: true}\n" FLOOR, "link 'b' cannot be used");
    }
    unlink(pipe);
    /* nothing else is there: no warning, but the summary has it */
    put("brick.urdf", BRICK("gone.obj"));
    s = here("name: d\nparts:\n" BRICK_FALLS "}\n");
    assert_int_equal(warning_count(&s), 0);
    assert_int_equal(summary_of(&s).gap_count, 1);
    closed(&s);
    refused("name: d\nparts: [{name: p, model: puma560, collisions: true}]\n",
            "no URDF file with <collision>");
}

/* A saved state goes on alike; one of a machine whose shapes have changed since is refused. */
static void states_belong(void **state) {
    (void)state;
    put("dog.urdf", dog);
    const char *text = GROUND "  - " DOG "}\n" FLOOR;
    stage s = here(text), other = here(text);
    run_to(&s, 0.5);
    const size_t size = soa_world_state_size(s.world);
    void *first = malloc(size), *second = malloc(size);
    assert_true(first && second);
    soa_world_save_state(s.world, first);
    OK(soa_world_restore_state(other.world, first, size));
    run_to(&s, 0.6);
    run_to(&other, 0.6);
    soa_world_save_state(s.world, first);
    soa_world_save_state(other.world, second);
    assert_memory_equal(first, second, size);
    closed(&other);
    char *changed = strdup(dog);
    char *radius = strstr(changed, "0.016");
    assert_non_null(radius);
    radius[4] = '7';
    put("dog.urdf", changed);
    other = here(text);
    assert_int_equal(soa_world_restore_state(other.world, first, size), SOA_E_FORMAT);
    free(changed);
    free(first);
    free(second);
    closed(&other);
    closed(&s);
}

/* --- scales and momentum ---------------------------------------------------------------------- */
/* Pushed by 1 N and turned by 1 N m for 1 s. */
static void scales_are_apart(void **state) {
    (void)state;
    static const double scale[3][2] = {{2, 1}, {1, 2}, {3, 0.5}};
    for (int k = 0; k < 3; ++k) {
        stage s = made("name: m\nduration: 1\ngravity: [0, 0, 0]\nparts: [{name: b, body: {mass: "
                       "1, inertia: [1, 1, 1, 0, 0, "
                       "0]}, mass_scale: %g, inertia_scale: %g}]\ndisturbances: [{frame: b, "
                       "duration: 1, wrench: [0, 0, 1, "
                       "0, 0, 1]}]\n",
                       scale[k][0], scale[k][1]);
        run_to(&s, 1);
        near("turning rate", soa_world_v(s.world)[2], 1 / scale[k][1], 1e-9);
        near("speed", soa_world_v(s.world)[5], 1 / scale[k][0], 1e-9);
        closed(&s);
    }
}

static int has_signal(const stage *s, const char *name) {
    for (int i = 0; i < soa_world_signal_count(s->world); ++i)
        if (!strcmp(soa_world_signal_name(s->world, i, NULL), name)) return 1;
    return 0;
}
static void momentum_where_free(void **state) {
    (void)state;
    stage s =
        made("name: m\ngravity: [0, 0, 0]\nparts: [{name: r, model: two-puma, floating: true}]\n");
    assert_true(has_signal(&s, "momentum.linear_error") && summary_of(&s).is_free);
    closed(&s);
    s = made("name: m\ngravity: [0, 0, 0]\nparts: [{name: r, model: two-puma}]\n");
    assert_true(!has_signal(&s, "momentum.linear_error") &&
                !has_signal(&s, "momentum.angular_error"));
    assert_true(!summary_of(&s).is_free);
    closed(&s);
}

int main(void) {
    assert_non_null(mkdtemp(folder));
    make_dog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_act),
        cmocka_unit_test(given_stops),
        cmocka_unit_test(followers_have_limits),
        cmocka_unit_test(starts_outside),
        cmocka_unit_test(machines_keep_within),
        cmocka_unit_test(dog_lands),
        cmocka_unit_test(dog_falls_through),
        cmocka_unit_test(dog_alone),
        cmocka_unit_test(contacts_override),
        cmocka_unit_test(shapes_replace),
        cmocka_unit_test(self_collisions),
        cmocka_unit_test(two_machines),
        cmocka_unit_test(overlaps),
        cmocka_unit_test(meshes),
        cmocka_unit_test(states_belong),
        cmocka_unit_test(scales_are_apart),
        cmocka_unit_test(momentum_where_free),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) || failed;
}
