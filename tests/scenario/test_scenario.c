/* test_scenario.c  scenario files: what is read (every field of tests/scenarios/example.yaml), what
 * is refused (status, line, column, text: scenario_mistakes.h), that attacks have no effect, and
 * the cases of a sweep. */
#include "check.h"
#include "scenario/scenario_internal.h"
#include "scenario_mistakes.h"
#include <ctype.h>
#include <locale.h>

#define RADIANS(degrees) ((degrees)*3.14159265358979323846 / 180)

static const char *example_path(void) {
    static char path[1024];
    const char *root = getenv("SOA_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/scenarios/example.yaml", root ? root : ".");
    return path;
}

static soa_scenario parse_(const char *text, int line) {
    soa_scenario s;
    soa_report report;
    if (soa_scenario_parse(text, strlen(text), "t.yaml", &s, &report) != SOA_OK)
        fail_msg("line %d: refused: %s", line, report.text);
    return s;
}
#define parse(text) parse_(text, __LINE__)

static void near_(double found, double expected, const char *what, int line) {
    if (!(fabs(found - expected) <= 1e-15 * (1 + fabs(expected))))
        fail_msg("line %d: %s is %.17g, expected %.17g", line, what, found, expected);
}
#define near(found, expected) near_(found, expected, #found, __LINE__)
static void all_near_(const double *found, int n, const double *expected, const char *what,
                      int line) {
    for (int i = 0; i < n; ++i)
        near_(found[i], expected[i], what, line);
}
#define all_near(found, n, ...) all_near_(found, n, (const double[]){__VA_ARGS__}, #found, __LINE__)
#define same(found, expected) assert_string_equal(found, expected)
static void placed_(const soa_frame *frame, double roll, double pitch, double yaw, double x,
                    double y, double z, int line) {
    soa_frame e = soa_frame_from_rpy(roll, pitch, yaw, x, y, z);
    all_near_(frame->R, 9, e.R, "rotation", line);
    all_near_(frame->p, 3, e.p, "position", line);
}
#define placed(frame, ...) placed_(&(frame), __VA_ARGS__, __LINE__)
#define marked(thing, l, c)                  \
    do {                                     \
        assert_int_equal((thing).line, l);   \
        assert_int_equal((thing).column, c); \
    } while (0)

/* --- the example, field by field -------------------------------------------------------------- */
static void test_parts(const soa_scenario *s) {
    assert_int_equal(s->part_count, 6);
    const soa_part *p = s->parts;
    same(p->name, "robot");
    same(p->model, "two-puma");
    assert_int_equal(p->floating, 1);
    assert_int_equal(p->fixed, 0);
    assert_int_equal(p->massless_links, 0);
    near(p->mass, 0);
    near(p->friction_scale, 0);
    near(p->effort, 150);
    assert_int_equal(p->limits, 1);
    assert_int_equal(p->collisions, SOA_COLLISIONS_NONE);
    near(p->mass_scale, 1);
    near(p->inertia_scale, 1);
    near(p->damping_scale, 1);
    near(p->rotor_scale, 1);
    placed(p->place, 0, 0, 0, 0, 0, 0);
    all_near(p->twist, 6, 0, 0, 0, 0, 0, 0);
    assert_int_equal(p->position_count, 3);
    same(p->positions[0].name, "left_joint2");
    near(p->positions[0].value, RADIANS(90));
    marked(p->positions[0].mark, 12, 17);
    same(p->positions[1].name, "left_joint3");
    near(p->positions[1].value, RADIANS(-90));
    same(p->positions[2].name, "slide");
    near(p->positions[2].value, 0.005);
    assert_int_equal(p->rate_count, 1);
    same(p->rates[0].name, "left_joint1");
    near(p->rates[0].value, RADIANS(10));
    marked(p->mark, 8, 5);
    assert_int_equal(p->has_motors, 1);
    assert_int_equal(p->motor_count, 3);
    same(p->motors[1].name, "right_joint1");
    marked(p->motors[1].mark, 16, 21);
    assert_int_equal(p->frame_count, 1);
    same(p->frames[0].name, "left_eye");
    same(p->frames[0].on, "left_hand");
    placed(p->frames[0].place, 0, 0, 0, 0, 0, 0.02);
    near(p->stop_stiffness, 2000);
    near(p->stop_damping, 5);

    p = &s->parts[1];
    same(p->name, "satellite");
    assert_null(p->model);
    assert_int_equal(p->floating, 1);
    assert_int_equal(p->fixed, 0);
    near(p->mass, 300);
    all_near(p->com, 3, 0, 0, 0);
    all_near(p->inertia, 6, 12.5, 18.5, 18.5, 0, 0, 0); /* m (y^2 + z^2) / 12 and so on */
    placed(p->place, 0, 0, 0, 0.9, 0, 0.1);
    all_near(p->twist, 6, 0, 0.01, 0, 0.01, 0, 0);
    assert_int_equal(p->position_count, 0);
    near(p->friction_scale, 1);

    p = &s->parts[2];
    near(p->mass, 2);
    all_near(p->com, 3, 0.01, 0, 0);
    all_near(p->inertia, 6, 0.1, 0.2, 0.25, 0.01, 0, -0.01);
    assert_int_equal(p->massless_links, 1);
    near(p->mass_scale, 1.1);
    near(p->inertia_scale, 0.9);
    near(p->damping_scale, 0.5);
    near(p->rotor_scale, 2);
    placed(p->place, 0, 0, 0, 0, 0, 5);

    near(s->parts[3].inertia[0], 0.4 * 0.05 * 0.05);
    near(s->parts[4].inertia[2], 0.5 * 2 * 0.1 * 0.1);

    p = &s->parts[5];
    assert_int_equal(p->fixed, 1);
    assert_int_equal(p->floating, 0);
    near(p->mass, 0);
    all_near(p->place.R, 9, 0, 0, 1, 1, 0, 0, 0, 1, 0); /* 120 degrees about (1, 1, 1) */
}

static void test_shapes(const soa_scenario *s) {
    assert_int_equal(s->shape_count, 9);
    const soa_scene_shape *x = s->shapes;
    same(x[0].name, "left_finger1");
    same(x[0].group, "left");
    same(x[0].frame, "robot.left_hand");
    placed(x[0].place, 0, 0, 0, 0.05, 0, 0.1);
    assert_int_equal(x[0].shape.type, SOA_SHAPE_SPHERE);
    near(x[0].shape.radius, 0.015);
    assert_null(x[0].mesh);
    near(x[0].mesh_scale, 1);
    same(x[1].name, "left_finger2"); /* the rest by << from the first */
    same(x[1].group, "left");
    same(x[1].frame, "robot.left_hand");
    placed(x[1].place, 0, 0, 0, -0.05, 0, 0.1);
    near(x[1].shape.radius, 0.015);
    marked(x[1].mark, 39, 5);
    near(x[2].shape.radius, 0.015);
    assert_int_equal(x[3].shape.type, SOA_SHAPE_BOX);
    assert_null(x[3].group);
    same(x[3].frame, "satellite");
    all_near(x[3].shape.half, 3, 0.35, 0.25, 0.25);
    near(x[3].shape.radius, 0.001);
    assert_int_equal(x[4].shape.type, SOA_SHAPE_CAPSULE);
    near(x[4].shape.radius, 0.02);
    near(x[4].shape.half[2], 0.25);
    placed(x[4].place, 0, RADIANS(90), 0, 0, 0, 0.4);
    assert_int_equal(x[5].shape.type, SOA_SHAPE_CYLINDER);
    near(x[5].shape.half[0], 0.1);
    near(x[5].shape.half[2], 0.15);
    near(x[5].shape.radius, 0);
    assert_int_equal(x[6].shape.type, SOA_SHAPE_POLYTOPE);
    assert_int_equal(x[6].shape.vertex_count, 4);
    all_near(x[6].shape.vertices, 12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0.01);
    assert_int_equal(x[7].shape.type, SOA_SHAPE_POLYTOPE);
    same(x[7].mesh, "meshes/bracket.stl");
    near(x[7].mesh_scale, 0.001);
    assert_int_equal(x[7].shape.vertex_count, 0);
    assert_int_equal(x[8].shape.type, SOA_SHAPE_PLANE);
    same(x[8].frame, "world");

    assert_int_equal(s->contact_count, 4);
    const soa_contact_pair *c = s->contacts;
    same(c[0].group1, "left");
    same(c[0].group2, "hull");
    assert_int_equal(c[0].law, SOA_CONTACT_SAFE);
    near(c[0].margin, 0.002);
    near(c[0].stiffness, 40);
    near(c[0].damping, 200);
    near(c[0].least_distance, 0.0002);
    near(c[0].friction, 0.7);
    near(c[0].tangential_stiffness, 5e4);
    near(c[0].tangential_damping, 100);
    assert_int_equal(c[0].patch, 1);
    marked(c[0].mark, 48, 5);
    assert_int_equal(c[1].law, SOA_CONTACT_PAPER);
    near(c[1].stiffness, 10);
    near(c[1].friction, 0);
    assert_int_equal(c[1].patch, 0);
    assert_int_equal(c[2].law, SOA_CONTACT_HUNT_CROSSLEY);
    near(c[2].stiffness, 1e8);
    near(c[2].exponent, 1.2);
    near(c[2].loss, 0.3);
    assert_int_equal(c[3].law, SOA_CONTACT_LINEAR);
    near(c[3].stiffness, 20000);
    near(c[3].damping, 30);
    near(c[3].margin, 0.0005);
}

static void test_constraints(const soa_scenario *s) {
    assert_int_equal(s->constraint_count, 7);
    const soa_constraint_def *c = s->constraints;
    const char *const *f = s->constraint_frames, *const *j = s->constraint_joints;
    assert_int_equal(c[0].kind, SOA_LOOP);
    same(c[0].name, "hinge");
    near(c[0].stiffness, 3);
    near(c[0].rest, 0.5);
    same(f[0], "robot.base_link");
    same(f[1], "probe");
    assert_int_equal(c[0].joint, SOA_UNIVERSAL);
    all_near(c[0].axis, 3, 0, 0, 1);
    all_near(c[0].axis2, 3, 0, 2, 0);
    near(c[0].damping, 0.1);
    near(c[0].friction, 0.2);
    placed(c[0].place1, 0, 0, 0, 1, 0, 0);
    placed(c[0].place2, 0, 0, RADIANS(90), 0, 0, 0);
    marked(s->constraint_marks[0], 54, 5);
    assert_int_equal(c[1].kind, SOA_DISTANCE);
    assert_null(c[1].name);
    same(f[2], "probe");
    same(f[3], "world");
    near(c[1].value, 5);
    assert_int_equal(c[2].kind, SOA_RATIO);
    assert_null(f[4]);
    same(j[2 * SOA_RATIO_TERMS], "robot.left_joint1");
    same(j[2 * SOA_RATIO_TERMS + 1], "robot.right_joint1");
    assert_null(j[2 * SOA_RATIO_TERMS + 2]);
    all_near(c[2].coefficient, 4, 1, -2, 0, 0);
    near(c[2].value, RADIANS(10));
    assert_int_equal(c[3].kind, SOA_ROLLING);
    near(c[3].value, 0.1);
    assert_int_equal(c[4].kind, SOA_VELOCITY);
    assert_int_equal(c[4].row_count, 1);
    all_near(c[4].rows[0], 6, 0, 0, 0, 0, 1, 0);
    assert_int_equal(c[4].rows_in_frame2, 1);
    assert_null(c[4].drive);
    assert_int_equal(c[5].kind, SOA_PLANE);
    near(c[5].value, -5e-3);
    assert_int_equal(c[6].kind, SOA_DISC);
    near(c[6].value, 0.1);
    for (int i = 0; i < 7; ++i)
        assert_int_equal(c[i].frame1 | c[i].frame2, 0);

    assert_int_equal(s->spring_count, 1);
    same(s->springs[0].name, "tie");
    same(s->springs[0].frame[0], "robot.base_link");
    same(s->springs[0].frame[1], "probe");
    all_near(s->springs[0].place[0], 3, 0, 0, 0.1);
    all_near(s->springs[0].place[1], 3, 1, 2, 3);
    near(s->springs[0].stiffness, 2000);
    near(s->springs[0].damping, 5);
    near(s->springs[0].length, 0.3);

    near(s->estimator.joint_torque_noise, 0.05);
    near(s->estimator.acceleration_noise, 0.2);
    assert_int_equal(s->estimator.wrench_count, 2);
    same(s->estimator.wrenches[0].frame, "robot.left_hand");
    near(s->estimator.wrenches[0].force, 20);
    near(s->estimator.wrenches[0].torque, 0);
    near(s->estimator.wrenches[1].torque, 2);
    assert_int_equal(s->disturbance_count, 2);
    same(s->disturbances[0].frame, "satellite");
    near(s->disturbances[0].start, 1);
    near(s->disturbances[0].duration, 0.1);
    all_near(s->disturbances[0].wrench, 6, 0, 0, 0, 1, 2, 3);
    all_near(s->disturbances[1].wrench, 6, 1, 2, 3, 4, 5, 6);
    marked(s->disturbances[1].mark, 64, 5);
}

static void test_sensors(const soa_scene_control *c) {
    near(c->rate, 500);
    assert_int_equal(c->saturate, 1);
    near(c->mass_estimate, 1.05);
    near(c->inertia_estimate, 1);
    near(c->damping_estimate, 1);
    near(c->sensors.position_noise, 1e-5);
    near(c->sensors.rate_noise, 1e-4);
    all_near(c->sensors.pose_noise, 2, 1e-4, 2e-4);
    all_near(c->sensors.twist_noise, 2, 3e-4, 3e-4);
    near(c->sensors.force_noise, 0.1);
    near(c->sensors.torque_noise, 0.01);
    all_near(c->sensors.imu_noise, 2, 1e-3, 0.01);
    near(c->sensors.delay, 0.002);
}
static void test_impedance(const soa_action *a) {
    assert_int_equal(a->kind, SOA_ACT_IMPEDANCE);
    same(a->name, "left");
    same(a->frame, "robot.left_hand");
    same(a->relative_to, "satellite");
    assert_int_equal(a->has_goal, 1);
    assert_int_equal(a->goal_is_offset, 0);
    placed(a->goal, RADIANS(90), 0, 0, 0, 0.4, 0);
    near(a->time, 4);
    all_near(a->stiffness, 2, 100, 800);
    all_near(a->damping, 2, 40, 300);
    all_near(a->force, 6, 0, 0, 0, 0, 0, -5);
    near(a->max_force, 100);
    near(a->max_torque, 20);
    assert_null(a->part);
    marked(a->mark, 74, 11);
}
static void test_inverse_dynamics(const soa_action *a) {
    assert_int_equal(a->kind, SOA_ACT_INVERSE_DYNAMICS);
    same(a->name, "inverse-dynamics");
    same(a->part, "robot");
    assert_int_equal(a->joint_count, 2);
    same(a->joints[0].name, "left_");
    same(a->joints[1].name, "slide");
    assert_int_equal(a->position_count, 1);
    assert_int_equal(a->has_goal, 1);
    same(a->positions[0].name, "left_joint1");
    near(a->positions[0].value, 0.3);
    near(a->time, 1);
    all_near(a->stiffness, 2, 25, 25);
    all_near(a->damping, 2, 10, 10);
    assert_null(a->frame);
}
static void test_approach(const soa_phase *p) {
    same(p->name, "approach");
    near(p->blend, 0);
    assert_int_equal(p->action_count, 2);
    test_impedance(&p->actions[0]);
    test_inverse_dynamics(&p->actions[1]);
    assert_int_equal(p->transition_count, 1);
    const soa_transition *t = p->transitions;
    same(t->to, "contact");
    assert_int_equal(t->condition_count, 2);
    same(t->conditions[0].signal, "error.left");
    assert_int_equal(t->conditions[0].compare, SOA_BELOW);
    near(t->conditions[0].value, 0.005);
    near(t->conditions[0].hold, 0.5);
    same(t->conditions[1].signal, "phase_time");
    assert_int_equal(t->conditions[1].compare, SOA_ABOVE);
    near(t->conditions[1].value, 4);
    near(t->conditions[1].hold, 0);
}
static void test_contact_phase(const soa_phase *p) {
    const soa_action *a = p->actions;
    assert_int_equal(a->kind, SOA_ACT_HYBRID);
    same(a->relative_to, "world");
    assert_int_equal(a->has_goal, 0);
    assert_int_equal(a->force_rows, 1u << 5 | 1u << 0);
    all_near(a->force_gain, 2, 0.2, 0.2);
    a = &p->actions[1];
    assert_int_equal(a->kind, SOA_ACT_BASE_HOLD);
    same(a->part, "robot");
    all_near(a->stiffness, 2, 3, 3);
    assert_int_equal(p->transition_count, 2);
    assert_int_equal(p->transitions[0].condition_count, 1);
    same(p->transitions[0].conditions->signal, "touching.left");
    near(p->transitions[0].conditions->hold, 0.1);
    same(p->transitions[1].to, "approach");
}
static void test_coordination(const soa_phase *p) {
    const soa_action *a = p->actions;
    near(p->blend, 0.2);
    assert_int_equal(a->kind, SOA_ACT_COORDINATION);
    same(a->frame, "satellite");
    assert_int_equal(a->hand_count, 2);
    same(a->hands[0], "robot.left_hand");
    same(a->hands[1], "robot.right_hand");
    same(a->relative_to, "robot.base_link");
    assert_int_equal(a->goal_is_offset, 1);
    placed(a->goal, 0, 0, RADIANS(30), 0, 0, 0.3);
    near(a->time, 10);
    all_near(a->stiffness, 2, 20, 30);
    all_near(a->damping, 2, 8, 9);
    near(a->squeeze, 40);
    near(a->share, 0.6);
    all_near(a->force_gain, 2, 0.5, 1);
    assert_int_equal(a->passive, 1);
    all_near(a->follow_stiffness, 2, 20, 200);
    all_near(a->follow_damping, 2, 15, 15);
    assert_int_equal(p->transition_count, 0);
    assert_int_equal(p->action_count, 2);
    a = p->actions + 1;
    assert_int_equal(a->kind, SOA_ACT_EXTERNAL);
    same(a->name, "external");
    same(a->part, "robot");
    assert_int_equal(a->joint_count, 1);
    same(a->joints[0].name, "slide");
    assert_int_equal(a->frame_count, 2);
    same(a->frames[0], "robot.left_hand");
    same(a->frames[1], "robot.right_hand");
}
static void test_control(const soa_scenario *s) {
    const soa_scene_control *c = &s->control;
    test_sensors(c);
    assert_int_equal(c->phase_count, 3);
    test_approach(&c->phases[0]);
    test_contact_phase(&c->phases[1]);
    test_coordination(&c->phases[2]);
}

static void test_rest(const soa_scenario *s) {
    same(s->file, example_path());
    same(s->name, "grapple");
    same(s->text, "two PUMA 560 arms on a free-floating base catch a satellite");
    near(s->duration, 40);
    assert_true(s->seed == 1);
    assert_int_equal(s->has_gravity, 1);
    all_near(s->gravity, 3, 0, 0, 0);
    near(s->assembly_bound, 0.3490658503988659);
    assert_int_equal(s->integration.method, SOA_INTEGRATE_EXPLICIT);
    assert_int_equal(s->integration.order, 5);
    near(s->integration.relative_tolerance, 1e-8);
    near(s->integration.absolute_tolerance, 1e-10);
    near(s->integration.step, 0.01);
    near(s->integration.max_joint_step, 0.1);
    assert_int_equal(s->integration.keep_momentum, 1);
    near(s->recording.rate, 200);
    near(s->recording.checkpoint, 2);
    same(s->success.object, "satellite");
    same(s->success.relative_to, "robot.base_link");
    same(s->success.fingers, "left");
    assert_int_equal(s->success.finger_count, 2);
    same(s->success.finger_groups[1], "right");
    same(s->success.from_phase, "coordinate");
    near(s->success.hold, 10);
    near(s->success.position_error, 0.005);
    near(s->success.attitude_error, RADIANS(1));
    near(s->success.force_low, 20);
    near(s->success.force_high, 80);
    assert_int_equal(s->variation_count, 7);
    same(s->variations[0].path, "satellite.mass_scale");
    near(s->variations[0].low, 0.7);
    near(s->variations[0].high, 1.3);
    same(s->variations[2].path, "satellite.twist[1]");
    near(s->variations[2].high, RADIANS(1));
    near(s->variations[3].low, 0.09);
    near(s->variations[5].high, 0.004);
    assert_true(s->source_size > 4000 && strlen(s->source) == s->source_size &&
                s->source[0] == '#');
}

static void test_example(void **state) {
    (void)state;
    soa_scenario s;
    soa_report report;
    if (soa_scenario_read(example_path(), &s, &report) != SOA_OK) fail_msg("%s", report.text);
    assert_int_equal(report.status, SOA_OK);
    test_parts(&s);
    test_shapes(&s);
    test_constraints(&s);
    test_control(&s);
    test_rest(&s);
    soa_scenario_free(&s);
    soa_scenario_free(&s); /* harmless */
    soa_scenario_free(NULL);
}

/* --- defaults and ways to write --------------------------------------------------------------- */
static void test_defaults(void **state) {
    (void)state;
    soa_scenario s = parse("parts: [{name: a, model: b.urdf}]\n"), d = soa_scenario_default("t");
    same(s.name, "t");
    assert_null(s.text);
    near(s.duration, d.duration);
    assert_true(s.seed == d.seed);
    assert_int_equal(s.has_gravity, 0);
    all_near(s.gravity, 3, 0, 0, -9.81);
    assert_int_equal(s.parts[0].floating, 0);
    assert_true(memcmp(&s.control, &d.control, sizeof d.control) == 0);
    assert_true(memcmp(&s.integration, &d.integration, sizeof d.integration) == 0);
    assert_true(memcmp(&s.recording, &d.recording, sizeof d.recording) == 0);
    assert_null(s.success.object);
    assert_int_equal(s.shape_count + s.contact_count + s.constraint_count + s.disturbance_count +
                         s.variation_count,
                     0);
    soa_scenario_free(&s);

    s = parse(
        PARTS
        "shapes:\ncontacts:\nconstraints: []\ndisturbances: ~\ncontrol:\nintegration:\nrecording: "
        "null\nsuccess:\nsweep:\n");
    assert_int_equal(s.part_count, 2); /* nothing after a key is as if it were not there */
    soa_scenario_free(&s);

    static const int orders[4] = {5, 4, 5, 4};
    static const char *const methods[4] = {"explicit", "implicit", "cvode", "fixed, step: 1 ms"};
    for (int i = 0; i < 4; ++i) {
        char text[300];
        snprintf(text, sizeof text, PARTS "integration: {method: %s}\n", methods[i]);
        s = parse(text);
        assert_int_equal(s.integration.method, i);
        assert_int_equal(s.integration.order, orders[i]);
        soa_scenario_free(&s);
    }
    for (int k = 0; k < SOA_ACT_KIND_COUNT; ++k) {
        soa_action a = soa_action_default((soa_action_kind)k);
        assert_int_equal(a.kind, k);
        assert_true(a.stiffness[0] > 0 && a.damping[1] > 0 && a.share == 0.5 && a.time == 0);
    }
    soa_contact_pair c = soa_contact_pair_default("a", "b");
    assert_true(c.least_distance < c.margin && c.law == SOA_CONTACT_SAFE);
    s = parse(CONTACT("between: [ball, ground], margin: 0.1 mm")); /* least_distance follows */
    near(s.contacts[0].least_distance, 1e-5);
    soa_scenario_free(&s);
}

static void test_units(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"5", 5},
        {"5 m", 5},
        {"5mm", 0.005},
        {"5  mm", 0.005},
        {"-3 cm", -0.03},
        {"2 um", 2e-6},
        {"2 \302\265m", 2e-6},
        {"1.5 km", 1500},
        {"90 deg", RADIANS(90)},
        {"180deg", RADIANS(180)},
        {"1 rad", 1},
        {"5 mrad", 0.005},
        {"\"7 mm\"", 0.007},
        {"'8'", 8},
        {"+.5e1", 5},
        {"1.", 1},
        {"-0", 0},
        {"1e-300", 1e-300},
        {"1E+3 mm", 1},
        {"0.1 mm", 1e-4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[300];
        snprintf(text, sizeof text, PART("name: a, model: b, positions: {j: %s}"), rows[i].text);
        soa_scenario s = parse(text);
        if (s.parts[0].positions[0].value != rows[i].value)
            fail_msg("'%s' is %.17g, expected %.17g", rows[i].text, s.parts[0].positions[0].value,
                     rows[i].value);
        soa_scenario_free(&s);
    }
}
/* Two parts and more */
static soa_scenario parse_more(const char *more) {
    char text[400];
    snprintf(text, sizeof text, PARTS "%s", more);
    return parse(text);
}
static void duration_is(const char *more, double expected) {
    soa_scenario s = parse_more(more);
    near(s.duration, expected);
    soa_scenario_free(&s);
}
static void test_other_units(void **state) {
    (void)state;
    duration_is("duration: 40 s\n", 40);
    duration_is("duration: 2 min\n", 120);
    duration_is("duration: 1500 ms\n", 1.5);
    soa_scenario s = parse_more("gravity: [0, 0, -1.62 m/s^2]\n");
    near(s.gravity[2], -1.62);
    soa_scenario_free(&s);
    s = parse_more("control: {rate: 1 kHz}\n");
    near(s.control.rate, 1000);
    soa_scenario_free(&s);
    s = parse_more("disturbances: [{frame: sat, duration: 1, torque: [1 Nm, 0, 2 N m], "
                   "force: [1 kN, 0, 0]}]\n");
    all_near(s.disturbances[0].wrench, 6, 1, 0, 2, 1000, 0, 0);
    soa_scenario_free(&s);
}

/* Numbers have a point whatever the locale, which is left as it was. */
static void test_locale(void **state) {
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    for (int i = 0; i < 3; ++i)
        if (setlocale(LC_ALL, names[i])) break;
    soa_scenario s = parse(PARTS "duration: 1.5\n");
    near(s.duration, 1.5);
    soa_scenario_free(&s);
    setlocale(LC_ALL, "C");
}

static void test_yaml(void **state) {
    (void)state;
    soa_scenario s = parse("\357\273\277%YAML 1.2\n---\nparts: # a comment\n- name: \"a\\x62\"\r\n "
                           " model: &m 'it''s.urdf'\n"
                           "- {name: c, model: *m}\n- name: d\n  model: >-\n    two\n    "
                           "lines\ntext: |\n  first\n  second\n...\n");
    assert_int_equal(s.part_count, 3);
    same(s.parts[0].name, "ab");
    same(s.parts[0].model, "it's.urdf");
    same(s.parts[1].model, "it's.urdf");
    same(s.parts[2].model, "two lines");
    same(s.text, "first\nsecond\n");
    soa_scenario_free(&s);
    /* << with a list: the first that has a key counts, the map's own before all */
    s = parse("parts:\n- &a {name: a, model: x, effort: 1}\n- &b {name: b, model: y, effort: 2, "
              "mass_scale: 3}\n"
              "- {<<: [*a, *b], name: c}\n");
    same(s.parts[2].name, "c");
    same(s.parts[2].model, "x");
    near(s.parts[2].effort, 1);
    near(s.parts[2].mass_scale, 3);
    soa_scenario_free(&s);
}

/* --- every key -------------------------------------------------------------------------------- */
/* Whether a place in a file, as a path without numbers ("parts[].frames[].at"), belongs to a
 * section of keys. */
static int is_section(const char *path, const char *section) {
    static const struct {
        const char *section, *path; /* the path's end; "=" before it: the whole path */
    } places[] = {{"scenario", "="},
                  {"place", ".place"},
                  {"place", ".at"},
                  {"place", ".place1"},
                  {"place", ".place2"},
                  {"place", ".goal"},
                  {"parts", "=.parts[]"},
                  {"body", "=.parts[].body"},
                  {"size", ".sphere"},
                  {"size", ".capsule"},
                  {"size", ".cylinder"},
                  {"frames", "=.parts[].frames[]"},
                  {"twist", "=.parts[].twist"},
                  {"shapes", "=.shapes[]"},
                  {"contacts", "=.contacts[]"},
                  {"constraints", "=.constraints[]"},
                  {"springs", "=.springs[]"},
                  {"disturbances", "=.disturbances[]"},
                  {"estimator", "=.estimator"},
                  {"wrenches", "=.estimator.wrenches[]"},
                  {"control", "=.control"},
                  {"estimate", "=.control.estimate"},
                  {"sensors", "=.control.sensors"},
                  {"phases", "=.control.phases[]"},
                  {"actions", "=.control.phases[].actions[]"},
                  {"next", "=.control.phases[].next[]"},
                  {"when", "=.control.phases[].next[].when"},
                  {"when", "=.control.phases[].next[].when[]"},
                  {"integration", "=.integration"},
                  {"recording", "=.recording"},
                  {"success", "=.success"}};
    int known = 0;
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
        if (strcmp(places[k].section, section) != 0) continue;
        known = 1;
        const char *end = places[k].path;
        if (end[0] == '=') {
            if (strcmp(path, end + 1) == 0) return 1;
            continue;
        }
        const size_t n = strlen(end), length = strlen(path);
        if (length >= n && strcmp(path + length - n, end) == 0) return 1;
    }
    if (!known) fail_msg("section '%s' has no place in this table", section);
    return 0;
}
/* How often a key of a section is in the tree of a file. */
static int count_key(const soai_node *node, const char *path, const char *section,
                     const char *key) {
    int count = 0;
    char below[200];
    for (int i = 0; node->type != SOAI_SCALAR && i < node->count; ++i) {
        if (node->type == SOAI_MAP) {
            count += is_section(path, section) && strcmp(node->keys[i]->text, key) == 0;
            snprintf(below, sizeof below, "%s.%s", path, node->keys[i]->text);
        } else
            snprintf(below, sizeof below, "%s[]", path);
        count += count_key(node->items[i], below, section, key);
    }
    return count;
}
static char *text_of(const char *path, size_t *size) {
    const char *root = getenv("SOA_SOURCE_DIR");
    char full[500];
    snprintf(full, sizeof full, "%s/%s", root ? root : ".", path);
    FILE *file = fopen(full, "rb");
    if (!file) fail_msg("%s cannot be opened", full);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    *size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}
/* The chapter of docs/scenarios.md that explains a section. */
static char *chapter_of(const char *docs, const char *section) {
    static const char *const chapters[][2] = {
        {"scenario", "## Top level"},      {"place", "## How things are written"},
        {"parts", "## `parts`"},           {"body", "## `parts`"},
        {"frames", "## `parts`"},          {"twist", "## `parts`"},
        {"size", "## `shapes`"},           {"shapes", "## `shapes`"},
        {"contacts", "## `contacts`"},     {"constraints", "## `constraints`"},
        {"springs", "## `springs`"},       {"disturbances", "## `disturbances`"},
        {"estimator", "## `estimator`"},   {"wrenches", "## `estimator`"},
        {"control", "## `control`"},       {"estimate", "## `control`"},
        {"sensors", "## `control`"},       {"phases", "## `control`"},
        {"actions", "## `control`"},       {"next", "## `control`"},
        {"when", "## `control`"},          {"integration", "## `integration`"},
        {"recording", "## `integration`"}, {"success", "## `success`"}};
    for (size_t k = 0; k < sizeof chapters / sizeof *chapters; ++k) {
        if (strcmp(chapters[k][0], section) != 0) continue;
        const char *start = strstr(docs, chapters[k][1]);
        if (!start) fail_msg("docs/scenarios.md has no chapter '%s'", chapters[k][1]);
        const char *end = start ? strstr(start + 3, "\n## ") : NULL;
        return strndup(start, end ? (size_t)(end - start) : strlen(start));
    }
    fail_msg("section '%s' has no chapter in this table", section);
    return NULL;
}
/* Whether a chapter names a key as code: `key`, or within `{key: ...}` and the like. */
static int names_key(const char *chapter, const char *key) {
    const size_t n = strlen(key);
    int code = 0;
    for (const char *c = chapter; *c; ++c) {
        if (*c == '`') code = !code;
        if (*c == '\n' && c[1] == '\n') code = 0;
        const int begins =
            c > chapter && !isalnum((unsigned char)c[-1]) && c[-1] != '_' && c[-1] != '.';
        if (code && begins && strncmp(c, key, n) == 0 && !isalnum((unsigned char)c[n]) &&
            c[n] != '_')
            return 1;
    }
    return 0;
}
/* The reader's own tables against the example, which has every key, and the documentation, which
 * explains every key. */
static void test_every_key(void **state) {
    (void)state;
    size_t size = 0;
    char *example = text_of("tests/scenarios/example.yaml", &size), *docs;
    soa_report report = {0};
    soai_reader reader = {.file = "example.yaml", .report = &report};
    soai_node *tree = NULL;
    assert_true(soai_yaml(&reader, example, size, &tree));
    docs = text_of("docs/scenarios.md", &size);
    int count = 0, wrong = 0;
    const char *key, *section = NULL;
    for (; (key = soa_scenario_key(count, &section)); ++count) {
        char *chapter = chapter_of(docs, section);
        const int used = count_key(tree, "", section, key), named = names_key(chapter, key);
        if (!used) printf("  tests/scenarios/example.yaml: no '%s' of %s\n", key, section);
        if (!named) printf("  docs/scenarios.md: no `%s` in the chapter of %s\n", key, section);
        wrong += !used + !named;
        for (int i = 0; i < count; ++i) { /* each once */
            const char *other_section = NULL, *other = soa_scenario_key(i, &other_section);
            wrong += strcmp(other, key) == 0 && strcmp(other_section, section) == 0;
        }
        free(chapter);
    }
    printf("  %d keys\n", count);
    assert_true(count > 150);
    assert_int_equal(wrong, 0);
    assert_null(soa_scenario_key(-1, NULL));
    assert_null(soa_scenario_key(count, NULL));
    free(example);
    free(docs);
    soai_arena_free(&reader.tree);
    soai_arena_free(&reader.data);
}
/* An unknown key is answered with all keys that are valid there, each once. */
static void test_all_keys_listed(void **state) {
    (void)state;
    static const struct {
        const char *section, *text;
    } unknown[] = {
        {"parts", "parts:\n- {name: a, model: b, zzzzzz: 1}\n"},
        {"shapes", "parts:\n- {name: a, model: b}\nshapes:\n- {name: s, on: a, zzzzzz: 1}\n"},
        {"contacts", "parts:\n- {name: a, model: b}\ncontacts:\n- {zzzzzz: 1}\n"},
        {"constraints", "parts:\n- {name: a, model: b}\nconstraints:\n- {zzzzzz: 1}\n"},
        {"disturbances", "parts:\n- {name: a, model: b}\ndisturbances:\n- {zzzzzz: 1}\n"},
        {"integration", "parts:\n- {name: a, model: b}\nintegration: {zzzzzz: 1}\n"},
        {"success", "parts:\n- {name: a, model: b}\nsuccess: {zzzzzz: 1}\n"},
        {"actions", "parts:\n- {name: a, model: b}\ncontrol: {phases: [{name: p, actions: "
                    "[{zzzzzz: 1}]}]}\n"}};
    for (size_t k = 0; k < sizeof unknown / sizeof *unknown; ++k) {
        soa_scenario s;
        soa_report report;
        const char *name = "a-file-whose-name-is-rather-long-and-is-shown-in-every-message.yaml";
        assert_int_equal(
            soa_scenario_parse(unknown[k].text, strlen(unknown[k].text), name, &s, &report),
            SOA_E_NAME);
        const char *list = strstr(report.text, "expected one of ");
        if (!list) fail_msg("%s", report.text);
        list += strlen("expected one of ");
        int listed = 1, keys = 0;
        for (const char *c = list; *c; ++c)
            listed += *c == ',';
        const char *key, *section = NULL;
        for (int i = 0; (key = soa_scenario_key(i, &section)); ++i) {
            if (strcmp(section, unknown[k].section) != 0) continue;
            ++keys;
            int found = 0;
            const size_t n = strlen(key);
            for (const char *c = list; c; c = strchr(c, ',') ? strchr(c, ',') + 2 : NULL)
                found += strncmp(c, key, n) == 0 && (c[n] == ',' || !c[n]);
            if (found != 1) fail_msg("'%s' is listed %d times: %s", key, found, report.text);
        }
        assert_int_equal(listed, keys);
    }
}

/* --- mistakes --------------------------------------------------------------------------------- */
static void test_mistakes(void **state) {
    (void)state;
    int wrong = 0, count = (int)(sizeof mistakes / sizeof *mistakes);
    for (int i = 0; i < count; ++i) {
        const struct mistake *m = &mistakes[i];
        soa_scenario s, before;
        memset(&s, 0x5a, sizeof s);
        before = s;
        soa_report report;
        char expected[sizeof report.text];
        snprintf(expected, sizeof expected, "t.yaml:%d:%d: %s", m->line, m->column, m->answer);
        soa_status status = soa_scenario_parse(m->text, strlen(m->text), "t.yaml", &s, &report);
        if (status == m->status && report.status == status && report.line == m->line &&
            report.body == -1 && strcmp(report.text, expected) == 0 &&
            memcmp(&s, &before, sizeof s) == 0 &&
            soa_scenario_parse(m->text, strlen(m->text), NULL, &s, NULL) == status)
            continue;
        printf("mistake %d: %s\n  expected %d %s\n  found    %d %s\n", i, m->text, (int)m->status,
               expected, (int)status, report.text);
        ++wrong;
    }
    printf("  %d mistakes, %d answered otherwise than expected\n", count, wrong);
    assert_int_equal(wrong, 0);
}

static void refuse_file_(const char *path, soa_status status, const char *word, int line) {
    soa_scenario s;
    soa_report report;
    soa_status found = soa_scenario_read(path, &s, &report);
    if (found != status || !strstr(report.text, word))
        fail_msg("line %d: %d %s", line, (int)found, report.text);
}
#define refuse_file(path, status, word) refuse_file_(path, status, word, __LINE__)

static void test_arguments(void **state) {
    (void)state;
    soa_scenario s;
    soa_report report;
    assert_int_equal(soa_scenario_read(NULL, &s, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_scenario_read("a.yaml", NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_scenario_parse(NULL, 3, "a", &s, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_scenario_parse("", 0, "a", NULL, NULL), SOA_E_ARGUMENT);
    /* an empty text */
    assert_int_equal(soa_scenario_parse(NULL, 0, NULL, &s, &report), SOA_E_FORMAT);
    refuse_file("/nonexistent/a.yaml", SOA_E_FILE, "/nonexistent/a.yaml: No such file");
    refuse_file("/", SOA_E_FILE, "Is a directory");
    /* of a long name the end is shown */
    char name[400];
    memset(name, 'x', sizeof name);
    strcpy(name + 380, "/end.yaml");
    assert_int_equal(soa_scenario_parse("a: 1", 4, name, &s, &report), SOA_E_NAME);
    assert_non_null(strstr(report.text, "x/end.yaml:1:1: scenario: unknown key 'a'"));
    assert_true(strncmp(report.text, "...x", 4) == 0);
}

/* --- attacks ---------------------------------------------------------------------------------- */
typedef struct long_text {
    char *at;
    size_t size;
} long_text;
static void add(long_text *t, const char *what, long times) {
    size_t n = strlen(what);
    t->at = realloc(t->at, t->size + n * (size_t)times + 1);
    assert_non_null(t->at);
    for (long i = 0; i < times; ++i, t->size += n)
        memcpy(t->at + t->size, what, n + 1);
}
static void refuse_(long_text t, soa_status status, const char *word, int line) {
    soa_scenario s;
    soa_report report;
    soa_status found = soa_scenario_parse(t.at, t.size, "t.yaml", &s, &report);
    if (found == SOA_OK) fail_msg("line %d: accepted", line);
    if (found != status || !strstr(report.text, word))
        fail_msg("line %d: %d %s", line, (int)found, report.text);
    free(t.at);
}
#define refuse(t, status, word) refuse_(t, status, word, __LINE__)

static void test_attacks(void **state) {
    (void)state;
    static const char *const nests[] = {"[", "{a: ", "- ", "? ", "!x [", "[[", "{? "};
    for (size_t i = 0; i < sizeof nests / sizeof *nests; ++i) {
        long_text t = {0};
        add(&t, nests[i], 1000000 / (long)strlen(nests[i]));
        soa_scenario s;
        soa_report report;
        assert_int_equal(soa_scenario_parse(t.at, t.size, "t.yaml", &s, &report), SOA_E_FORMAT);
        free(t.at);
    }
    /* deeper than is read, less deep than is counted */
    for (int closed = 0; closed < 2; ++closed) {
        long_text t = {0};
        add(&t, "[", 500);
        if (closed) add(&t, "]", 500);
        refuse(t, SOA_E_FORMAT, "within each other more than 32 deep");
    }
    long_text t = {0};
    add(&t, "# a large file\n", 300000);
    refuse(t, SOA_E_FORMAT, "more than 4194304 bytes");
    t = (long_text){0};
    add(&t, "a: [1", 1);
    add(&t, ",1", 1100000);
    refuse(t, SOA_E_FORMAT, "more than 1000000 values");
    t = (long_text){0}; /* a list of lists of lists, each the same by an alias */
    add(&t,
        PARTS CONTROL "law: base-hold, part: robot}\n      next:\n        - &t {to: reach, when: "
                      "[&c {signal: phase_time, above: 1}",
        1);
    add(&t, ",*c", 3000);
    add(&t, "]}\n", 1);
    add(&t, "        - *t\n", 9000);
    refuse(t, SOA_E_FORMAT, "more than 1000000 values");
    t = (long_text){0};
    add(&t, "parts: [", 1);
    add(&t, "{name: a, model: b},", 10001);
    add(&t, "]\n", 1);
    refuse(t, SOA_E_FORMAT, "a list of 10001; at most 10000 are read");
    t = (long_text){0}; /* merging the same map again and again */
    add(&t, "a: &m {k0: 1", 1);
    for (int i = 1; i < 5000; ++i) {
        char key[24];
        snprintf(key, sizeof key, ",k%d: 1", i);
        add(&t, key, 1);
    }
    add(&t, "}\nb: [", 1);
    add(&t, "{<<: *m},", 5000);
    add(&t, "]\n", 1);
    refuse(t, SOA_E_FORMAT, "more than 1000000 values");
    t = (long_text){0};
    add(&t, "a: [", 1);
    add(&t, "&x 1,", 1001);
    add(&t, "]\n", 1);
    refuse(t, SOA_E_FORMAT, "more than 1000 anchors");
    t = (long_text){0};
    add(&t, "k", 3000000);
    add(&t, ": 1\n", 1);
    refuse(t, SOA_E_NAME, "unknown key 'kkkk");
    t = (long_text){0};
    add(&t, "\"\\u00e9", 1); /* cut within a letter where it is shown */
    add(&t, "\303\251", 50);
    add(&t, "\": 1\n", 1);
    refuse(t, SOA_E_NAME, "\303\251...'");
    static const char *const broken[] = {
        "\377", "a: \300\200", "a: \355\240\200", "a: \364\220\200\200", "a: \342\202", "a\200"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; ++i) {
        t = (long_text){0};
        add(&t, broken[i], 1);
        refuse(t, SOA_E_FORMAT, "is not UTF-8");
    }
}

/* Every beginning of the example, and the example with letters changed: read or refused with a
 * text, nothing else. */
static void test_damage(void **state) {
    (void)state;
    static const char letters[] = "{}[]:,-#&*!|>'\"%@` \n\tax01.e<~?\\";
    soa_scenario s;
    soa_report report;
    assert_int_equal(soa_scenario_read(example_path(), &s, &report), SOA_OK);
    size_t size = s.source_size;
    char *source = malloc(size);
    assert_non_null(source);
    memcpy(source, s.source, size);
    soa_scenario_free(&s);
    dice d = {(uint64_t)first_seed()};
    printf("  seed %ld\n", first_seed());
    int read = 0, count = 0;
    for (int i = 0; i < 1500; ++i) {
        size_t length = i < 500 ? size * (size_t)i / 500 : size;
        /* exactly its size, so that sanitizers see reads past its end */
        char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, source, length);
        for (int k = 0; i >= 500 && k < 1 + i % 3; ++k)
            copy[(size_t)roll(&d, 0, (double)length)] =
                letters[(size_t)roll(&d, 0, sizeof letters - 1)];
        soa_status status = soa_scenario_parse(copy, length, "t.yaml", &s, &report);
        if (status == SOA_OK) {
            soa_scenario_free(&s);
            ++read;
        } else if (!report.text[0] || strncmp(report.text, "t.yaml:", 7) != 0) {
            fail_msg("damage %d: status %d, text '%s'", i, (int)status, report.text);
        }
        ++count;
        free(copy);
    }
    printf("  %d damaged files, %d of them still scenarios\n", count, read);
    free(source);
}

/* --- sweeps ----------------------------------------------------------------------------------- */
static void test_uniform(void **state) {
    (void)state;
    /* found by Python's integers */
    assert_true(soa_scenario_uniform(1, 0, 0) == 0x1.631405e8db1b0p-1);
    assert_true(soa_scenario_uniform(1, 0, 1) == 0x1.b15e57852cedep-2);
    assert_true(soa_scenario_uniform(1, 99, 3) == 0x1.5c9c435e7e500p-8);
    assert_true(soa_scenario_uniform(UINT64_MAX, UINT64_MAX, UINT64_MAX) == 0x1.656c5fd21f038p-2);
    /* mean, variance and neighbours of a grid of them: 5 standard deviations */
    enum { N = 200 };
    double sum = 0, square = 0, beside = 0, below = 0;
    for (uint64_t i = 0; i < N; ++i)
        for (uint64_t k = 0; k < N; ++k) {
            double u = soa_scenario_uniform(7, i, k) - 0.5,
                   right = soa_scenario_uniform(7, i, k + 1) - 0.5,
                   down = soa_scenario_uniform(7, i + 1, k) - 0.5;
            assert_true(u >= -0.5 && u < 0.5);
            sum += u;
            square += u * u;
            beside += u * right;
            below += u * down;
        }
    double n = (double)N * N;
    printf("  mean %.2e, variance - 1/12 %.2e, neighbours %.2e %.2e\n", sum / n,
           square / n - 1 / 12., beside / n, below / n);
    assert_true(fabs(sum / n) < 5 * sqrt(1 / 12. / n));
    assert_true(fabs(square / n - 1 / 12.) < 5 * sqrt(1 / 180. / n));
    assert_true(fabs(beside / n) < 5 / 12. / sqrt(n));
    assert_true(fabs(below / n) < 5 / 12. / sqrt(n));
}

enum { EXAMPLE_VARIATIONS = 7, EXAMPLE_CASES = 200 };
/* What the values of one case change in the example, and that nothing else has changed, the
 * original not at all. */
static void check_case(const soa_scenario *s, const soa_scenario *v, const double *values) {
    near(v->parts[1].mass_scale, values[0]);
    for (int c = 0; c < 4; ++c)
        near(v->contacts[c].friction, values[1]);
    near(v->parts[1].twist[1], values[2]);
    near(v->parts[1].place.p[2], values[3]);
    all_near(v->control.sensors.pose_noise, 2, values[4], values[4]);
    near(v->control.sensors.delay, values[5]);
    near(v->control.mass_estimate, values[6]);
    near(v->parts[0].mass_scale, 1);
    near(v->parts[1].twist[3], 0.01);
    near(v->parts[1].place.p[0], 0.9);
    near(v->contacts[0].stiffness, 40);
    near(v->control.sensors.rate_noise, 1e-4);
    near(s->parts[1].mass_scale, 1);
    near(s->contacts[0].friction, 0.7);
    near(s->control.mass_estimate, 1.05);
    assert_ptr_equal(v->shapes, s->shapes);
}
/* Values fill their range: something within a tenth of it from each end. */
static void check_range(const soa_variation *range, double low, double high) {
    const double width = range->high - range->low;
    assert_true(low < range->low + 0.1 * width && high > range->high - 0.1 * width);
}
static void test_vary(void **state) {
    (void)state;
    soa_scenario s, v;
    soa_report report;
    double first[EXAMPLE_VARIATIONS], values[EXAMPLE_VARIATIONS], low[EXAMPLE_VARIATIONS],
        high[EXAMPLE_VARIATIONS];
    assert_int_equal(soa_scenario_read(example_path(), &s, &report), SOA_OK);
    assert_int_equal(soa_scenario_vary(&s, 42, &v, first, &report), SOA_OK);
    const uint64_t seed = v.seed;
    soa_scenario_free(&v);
    for (int i = 0; i < EXAMPLE_VARIATIONS; ++i) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (uint64_t k = 0; k < EXAMPLE_CASES; ++k) {
        const uint64_t number = EXAMPLE_CASES - 1 - k; /* any order */
        assert_int_equal(soa_scenario_vary(&s, number, &v, values, NULL), SOA_OK);
        if (number == 42) {
            assert_memory_equal(values, first, sizeof first);
            assert_true(v.seed == seed && seed != s.seed);
        }
        for (int i = 0; i < EXAMPLE_VARIATIONS; ++i) {
            assert_true(values[i] >= s.variations[i].low && values[i] <= s.variations[i].high);
            low[i] = fmin(low[i], values[i]);
            high[i] = fmax(high[i], values[i]);
        }
        check_case(&s, &v, values);
        soa_scenario_free(&v);
    }
    for (int i = 0; i < EXAMPLE_VARIATIONS; ++i)
        check_range(&s.variations[i], low[i], high[i]);
    assert_int_equal(soa_scenario_vary(NULL, 0, &v, NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_scenario_vary(&s, 0, NULL, NULL, &report), SOA_E_ARGUMENT);
    soa_scenario_free(&s);
}

/* A scenario filled in C is checked as well. */
static void test_vary_own(void **state) {
    (void)state;
    soa_scenario again;
    soa_report report;
    double value;
    soa_part part = soa_part_default("box");
    soa_variation change = {.path = "box.mass_scale", .low = 1, .high = 2};
    soa_scenario own = soa_scenario_default("own");
    own.parts = &part;
    own.part_count = 1;
    own.variations = &change;
    own.variation_count = 1;
    assert_int_equal(soa_scenario_vary(&own, 0, &again, &value, &report), SOA_OK);
    near(again.parts[0].mass_scale, 1 + soa_scenario_uniform(1, 0, 0));
    soa_scenario_free(&again);
    change.path = "box.mass_scal";
    assert_int_equal(soa_scenario_vary(&own, 0, &again, &value, &report), SOA_E_NAME);
    same(report.text,
         "nothing that varies is called 'box.mass_scal'; did you mean 'box.mass_scale'?");
    change.path = NULL;
    assert_int_equal(soa_scenario_vary(&own, 0, &again, &value, &report), SOA_E_NAME);
    change.path = "box.mass_scale";
    change.high = NAN;
    value = -3;
    assert_int_equal(soa_scenario_vary(&own, 0, &again, &value, &report), SOA_E_ARGUMENT);
    near(value, -3);
    change.high = 0.5;
    assert_int_equal(soa_scenario_vary(&own, 0, &again, &value, &report), SOA_E_ARGUMENT);
}

/* Every path there is changes something. */
static void vary_path(const char *path, uint64_t number) {
    char text[600];
    double value;
    soa_scenario v;
    soa_report report;
    const char *range =
        strcmp(path, "contact.least_distance") == 0 ? "[0.1 mm, 0.2 mm]" : "[0.5, 0.6]";
    snprintf(text, sizeof text, CONTACT("between: [ball, ground]") "sweep:\n  %s: %s\n", path,
             range);
    soa_scenario s = parse(text);
    assert_int_equal(soa_scenario_vary(&s, number, &v, &value, &report), SOA_OK);
    assert_true(memcmp(&v.control, &s.control, sizeof v.control) ||
                memcmp(v.parts, s.parts, 2 * sizeof *v.parts) ||
                memcmp(v.contacts, s.contacts, sizeof *v.contacts));
    soa_scenario_free(&v);
    soa_scenario_free(&s);
}
static void test_vary_paths(void **state) {
    (void)state;
    static const char *const paths[] = {"sat.mass_scale",
                                        "sat.inertia_scale",
                                        "sat.damping_scale",
                                        "sat.friction_scale",
                                        "sat.rotor_scale",
                                        "sat.effort",
                                        "sat.twist[0]",
                                        "sat.twist[5]",
                                        "sat.place[0]",
                                        "sat.place[2]",
                                        "contact.margin",
                                        "contact.least_distance",
                                        "contact.stiffness",
                                        "contact.damping",
                                        "contact.exponent",
                                        "contact.loss",
                                        "contact.friction",
                                        "contact.tangential_stiffness",
                                        "contact.tangential_damping",
                                        "sensors.position_noise",
                                        "sensors.rate_noise",
                                        "sensors.pose_noise",
                                        "sensors.pose_noise[1]",
                                        "sensors.twist_noise",
                                        "sensors.twist_noise[0]",
                                        "sensors.force_noise",
                                        "sensors.torque_noise",
                                        "sensors.imu_noise",
                                        "sensors.imu_noise[1]",
                                        "sensors.delay",
                                        "control.mass_estimate",
                                        "control.inertia_estimate",
                                        "control.damping_estimate"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i)
        vary_path(paths[i], i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),   cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_units),     cmocka_unit_test(test_other_units),
        cmocka_unit_test(test_locale),    cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_every_key), cmocka_unit_test(test_all_keys_listed),
        cmocka_unit_test(test_mistakes),  cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_attacks),   cmocka_unit_test(test_damage),
        cmocka_unit_test(test_uniform),   cmocka_unit_test(test_vary),
        cmocka_unit_test(test_vary_own),  cmocka_unit_test(test_vary_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
