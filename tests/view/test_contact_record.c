/* test_contact_record.c  contacts in the record: the force on each shape, compared with the
 * contacts themselves. */
#include "worlds.h"

enum { MOST = 512 };

static int column(const soa_world *world, const char *shape, const char *part) {
    char name[300];
    snprintf(name, sizeof name, "contact.%s.%s", shape, part);
    for (int i = 0; i < soa_world_signal_count(world); ++i)
        if (!strcmp(soa_world_signal_name(world, i, NULL), name)) return i;
    return -1;
}

/* Force and point of every shape from the list of contacts, another way round: contacts first, then
 * shapes. */
static int compare(soa_world *w, double *values) {
    static const char *const parts[6] = {"x", "y", "z", "fx", "fy", "fz"};
    static soa_world_contact contacts[MOST];
    const int count = soa_world_contacts(w, contacts, MOST);
    assert_true(count <= MOST);
    OK(soa_world_signal_values(w, values));
    double all[3] = {0}, scale = 1e-9;
    int touching = 0;
    for (int s = 0; s < soa_world_shape_count(w); ++s) {
        soa_world_shape shape;
        OK(soa_world_get_shape(w, s, &shape));
        if (column(w, shape.name, "x") < 0) continue;
        double force[3] = {0}, at[3] = {0}, weight = 0, seen[6], size = 1e-9;
        int touches = 0;
        for (int k = 0; k < 6; ++k) {
            const int c = column(w, shape.name, parts[k]);
            const char *unit;
            assert_true(c >= 0);
            soa_world_signal_name(w, c, &unit);
            assert_string_equal(unit, k < 3 ? "m" : "N");
            seen[k] = values[c];
        }
        for (int i = 0; i < count; ++i) {
            const soa_world_contact *c = &contacts[i];
            const int on_a = !strcmp(c->shape_a, shape.name),
                      on_b = !strcmp(c->shape_b, shape.name);
            if (!on_a && !on_b) continue;
            ++touches;
            weight += fabs(c->pressure);
            for (int k = 0; k < 3; ++k) {
                const double f = c->normal[k] * c->pressure + c->tangential[k];
                force[k] += on_a ? f : -f;
                at[k] += fabs(c->pressure) * c->point[k];
                size += fabs(f);
            }
        }
        for (int k = 0; k < 3; ++k) {
            near("force", seen[3 + k], force[k], 1e-12 * size);
            all[k] += seen[3 + k];
            if (!touches)
                assert_true(isnan(seen[k]));
            else if (weight > 0)
                near("point", seen[k], at[k] / weight, 1e-12 * (1 + fabs(at[k] / weight)));
            else
                assert_true(isfinite(seen[k]));
        }
        scale += size;
        touching += touches > 0;
    }
    for (int k = 0; k < 3; ++k)
        near("action and reaction", all[k], 0, 1e-12 * scale);
    return touching;
}

static void check(const char *name, double end, int every, int at_least) {
    const char *text = soa_stock_scenario_text(name);
    stage s = opened(text ? text : name);
    double *values = malloc((size_t)soa_world_signal_count(s.world) * sizeof *values);
    assert_non_null(values);
    int most = 0;
    for (int n = 0; soa_world_time(s.world) < end; ++n) {
        OK(tick(&s));
        if (n % every) continue;
        const int touching = compare(s.world, values);
        if (touching > most) most = touching;
    }
    printf("  %s: up to %d shapes touch\n", text ? name : "made here", most);
    assert_true(most >= at_least);
    free(values);
    closed(&s);
}

static void shipped(void **unused) {
    (void)unused;
    check("stack", 0.5, 3, 4);
    check("slope", 0.5, 3, 2);
    check("billiard", 1.5, 3, 2);
}

/* Single points and patches, a ball between two boxes, gravity aslant. */
static void mixed(void **unused) {
    (void)unused;
    check(
        "duration: 1\ngravity: [1, -2, -9]\nparts:\n  - {name: low, body: {mass: 2, box: [0.3, "
        "0.3, 0.1]}, place: [0, "
        "0, 0.0505]}\n"
        "  - {name: ball, body: {mass: 1, sphere: 0.05}, place: [0, 0, 0.155]}\n"
        "  - {name: ground, fixed: true, body: {}}\n"
        "shapes:\n  - {name: floor, on: ground, plane: {}}\n  - {name: slab, on: low, box: [0.3, "
        "0.3, 0.1]}\n"
        "  - {name: skin, on: ball, sphere: 0.05}\n"
        "contacts:\n  - {between: [floor, slab], law: linear, stiffness: 20000, damping: 200, "
        "margin: 1 mm, friction: "
        "0.4, tangential_stiffness: 20000, tangential_damping: 50, patch: true}\n"
        "  - {between: [slab, skin], law: hunt-crossley, stiffness: 1e6, loss: 1, margin: 1 mm, "
        "friction: 0.2, "
        "tangential_stiffness: 20000, tangential_damping: 50}\n"
        "  - {between: [floor, skin], law: linear, stiffness: 20000, damping: 200, margin: 1 mm}\n"
        "recording: {rate: 500}\n",
        0.6, 1, 3);
}

/* More shapes than are recorded one by one: the groups alone; shapes that meet none are not
 * recorded either. */
static void crowds(void **unused) {
    (void)unused;
    char text[1 << 14];
    for (int balls = 31; balls <= 32; ++balls) {
        int n = snprintf(text, sizeof text,
                         "duration: 1\nparts:\n  - {name: ground, fixed: true, body: {}}\n");
        for (int i = 0; i < balls; ++i)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {name: p%d, body: {mass: 1, sphere: 0.05}, place: [%d, 0, 1]}\n", i,
                          i);
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "shapes:\n  - {name: floor, on: ground, plane: {}}\n  - {name: idle, on: "
                      "ground, at: [0, 9, 0], "
                      "sphere: 0.1}\n");
        for (int i = 0; i < balls; ++i)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {name: s%d, group: ball, on: p%d, sphere: 0.05}\n", i, i);
        snprintf(text + n, sizeof text - (size_t)n,
                 "contacts: [{between: [floor, ball], law: linear, stiffness: 1000, damping: 10, "
                 "margin: 1 mm}]\n");
        stage s = opened(text);
        assert_int_equal(column(s.world, "s0", "fx") >= 0, balls == 31);
        assert_int_equal(column(s.world, "floor", "fx") >= 0, balls == 31);
        assert_true(column(s.world, "idle", "fx") < 0);
        assert_true(column(s.world, "ball", "pressure") >= 0);
        closed(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped), cmocka_unit_test(mixed),
                                       cmocka_unit_test(crowds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
