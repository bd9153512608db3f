/* test_urdf.c  the URDF reader and its linter: what is read, what is refused (with status, line and
 * text), what gives a warning. With SOA_REFERENCE_DIR set, every URDF in its folder models is
 * loaded and linted too. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <libxml/parser.h>
#include <libxml/xmlmemory.h>

#include "soa/io.h"

/* --- helpers ---------------------------------------------------------------------------------- */

#define MASS                                                                             \
    "<inertial><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' " \
    "iyz='0'/></inertial>"
#define LINK(name) "<link name='" name "'>" MASS "</link>\n"
#define LIMIT "<limit lower='-1' upper='1' effort='10' velocity='5'/>"
#define JOINT(name, type, parent, child, more)                                              \
    "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child \
    "'/>" more "</joint>\n"
#define ROBOT(inside) "<robot name='r'>\n" inside "</robot>\n"
/* A base, a link, one joint between them. Lines: 1 robot, 2 link a, 3 link b, 4 joint j. */
#define ONE(type, more) ROBOT(LINK("a") LINK("b") JOINT("j", type, "a", "b", more))

static const soa_read_options fixed_base = {0, 0}, floating_base = {1, 0}, ideal = {0, 1},
                              floating_ideal = {1, 1};

#define assert_near(value, expected, tolerance) near_(value, expected, tolerance, #value, __LINE__)
static void near_(double value, double expected, double tolerance, const char *what, int line) {
    /* equal infinities too; NaN fails */
    if (value == expected || fabs(value - expected) <= tolerance) return;
    fail_msg("line %d: %s is %.17g, expected %.17g to %g", line, what, value, expected, tolerance);
}

static const soa_model *load_(const char *text, const soa_read_options *options, int line) {
    const soa_model *model = NULL;
    soa_report report;
    soa_status status =
        soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text), .name = "t.urdf"},
                       options, &model, NULL, &report);
    if (status != SOA_OK || model == NULL) fail_msg("line %d: refused: %s", line, report.text);
    return model;
}
#define load(text, options) load_(text, options, __LINE__)

/* Refused with that status, on that line (-1: any), in words that contain `word`; the model pointer
 * stays untouched. */
static void refuse_(const char *text, size_t length, const soa_read_options *options,
                    soa_status status, int line, const char *word, int at) {
    int sentinel;
    const soa_model *before = (const soa_model *)(void *)&sentinel, *model = before;
    soa_report report;
    soa_status got =
        soa_urdf_parse(&(soa_urdf_source){.text = text, .length = length, .name = "t.urdf"},
                       options, &model, NULL, &report);
    if (got == SOA_OK) {
        soa_model_free(model);
        fail_msg("line %d: accepted, expected '%s'", at, soa_status_text(status));
    }
    if (model != before) fail_msg("line %d: the model was written in spite of an error", at);
    if (got != status || report.status != status)
        fail_msg("line %d: status '%s', expected '%s': %s", at, soa_status_text(got),
                 soa_status_text(status), report.text);
    if (line >= 0 && report.line != line)
        fail_msg("line %d: names line %d, expected %d: %s", at, report.line, line, report.text);
    if (strstr(report.text, word) == NULL)
        fail_msg("line %d: '%s' is not in: %s", at, word, report.text);
    if (strncmp(report.text, "t.urdf:", 7) != 0)
        fail_msg("line %d: no file name in: %s", at, report.text);
}
#define refuse(text, status, line, word) \
    refuse_(text, strlen(text), NULL, status, line, word, __LINE__)

static soa_body_info body_(const soa_model *model, const char *joint, int line) {
    soa_body_info info = {0};
    int body = soa_model_find_joint(model, joint);
    if (body < 1) fail_msg("line %d: no joint '%s'", line, joint);
    assert_int_equal(soa_model_body(model, body, &info), SOA_OK);
    return info;
}
#define body_of(model, joint) body_(model, joint, __LINE__)

static soa_frame_info frame_(const soa_model *model, const char *name, int line) {
    soa_frame_info info = {0};
    int frame = soa_model_find_frame(model, name);
    if (frame < 0) fail_msg("line %d: no frame '%s'", line, name);
    assert_int_equal(soa_model_frame(model, frame, &info), SOA_OK);
    return info;
}
#define frame_of(model, name) frame_(model, name, __LINE__)

static void assert_vector_(const double *v, double x, double y, double z, double tolerance,
                           int line) {
    const double e[3] = {x, y, z};
    for (int i = 0; i < 3; ++i)
        if (!(fabs(v[i] - e[i]) <= tolerance))
            fail_msg("line %d: vector (%.17g %.17g %.17g), expected (%.17g %.17g %.17g)", line,
                     v[0], v[1], v[2], x, y, z);
}
#define assert_vector(v, x, y, z) assert_vector_(v, x, y, z, 1e-15, __LINE__)

/* --- what is read ----------------------------------------------------------------------------- */

static void test_single_link(void **state) {
    (void)state;
    const soa_model *model = load("<robot name='stone'><link name='rock'/></robot>", &fixed_base);
    assert_string_equal(soa_model_name(model), "stone");
    assert_int_equal(soa_model_nq(model), 0);
    assert_int_equal(soa_model_body_count(model), 0);
    soa_frame_info rock = frame_of(model, "rock");
    assert_int_equal(rock.body, 0);
    assert_true(rock.is_link);
    soa_model_free(model);

    model = load(ROBOT(LINK("rock")), &floating_base);
    assert_int_equal(soa_model_nq(model), 7);
    assert_int_equal(soa_model_nv(model), 6);
    soa_body_info root = body_of(model, "root");
    assert_int_equal(root.type, SOA_FREE);
    assert_string_equal(root.link, "rock");
    assert_near(root.mass, 1, 0);
    soa_model_free(model);
}

/* Depth first, children in document order of the joints, wherever links and joints stand. */
static void test_order(void **state) {
    (void)state;
    const soa_model *model =
        load(ROBOT(JOINT("c2", "revolute", "c", "c2",
                         LIMIT) LINK("c2") JOINT("right", "revolute", "base", "b", LIMIT) LINK("b")
                       JOINT("left", "revolute", "base", "c", LIMIT) LINK("c1") LINK("c")
                           JOINT("c1", "revolute", "c", "c1", LIMIT)
                               JOINT("b1", "revolute", "b", "b1", LIMIT) LINK("b1") LINK("base")),
             &fixed_base);
    static const char *const links[] = {"b", "b1", "c", "c2", "c1"}, *const joints[] = {
                                                                         "right", "b1", "left",
                                                                         "c2", "c1"};
    static const int parents[] = {0, 1, 0, 3, 3};
    assert_int_equal(soa_model_body_count(model), 5);
    for (int i = 0; i < 5; ++i) {
        soa_body_info info;
        assert_int_equal(soa_model_body(model, i + 1, &info), SOA_OK);
        assert_string_equal(info.link, links[i]);
        assert_string_equal(info.joint, joints[i]);
        assert_int_equal(info.parent, parents[i]);
        assert_int_equal(info.v_index, i);
    }
    soa_model_free(model);
}

static void test_defaults(void **state) {
    (void)state;
    const soa_model *model = load(ONE("revolute", ""), NULL);
    soa_body_info info = body_of(model, "j");
    assert_vector(info.axis, 1, 0, 0);
    assert_vector(info.placement.p, 0, 0, 0);
    for (int i = 0; i < 9; ++i)
        assert_near(info.placement.R[i], i % 4 == 0 ? 1 : 0, 0);
    assert_true(isinf(info.upper) && isinf(info.lower) && isinf(info.max_speed) &&
                isinf(info.max_effort));
    assert_near(info.damping, 0, 0);
    assert_int_equal(info.mimic, -1);
    double gravity[3];
    soa_model_gravity(model, gravity);
    assert_vector(gravity, 0, 0, -9.81);
    soa_model_free(model);
}

static void test_joint_types(void **state) {
    (void)state;
    static const struct {
        const char *text;
        soa_joint_type type;
        int nq, nv;
    } cases[] = {
        {ONE("revolute", LIMIT), SOA_REVOLUTE, 1, 1},
        {ONE("continuous", ""), SOA_REVOLUTE, 1, 1},
        {ONE("prismatic", LIMIT), SOA_PRISMATIC, 1, 1},
        {ONE("floating", ""), SOA_FREE, 7, 6},
        {ONE("planar", ""), SOA_PLANAR, 3, 3},
        {ONE("spherical", ""), SOA_SPHERICAL, 4, 3},
        {ONE("universal", "<soa axis2='0 1 0'/>"), SOA_UNIVERSAL, 2, 2},
        {ONE("cylindrical", ""), SOA_CYLINDRICAL, 2, 2},
        {ONE("helical", "<axis xyz='0 0 1'/><soa pitch='0.05'/>"), SOA_HELICAL, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const soa_model *model = load(cases[i].text, NULL);
        soa_body_info info = body_of(model, "j");
        assert_int_equal(info.type, cases[i].type);
        assert_int_equal(info.nq, cases[i].nq);
        assert_int_equal(info.nv, cases[i].nv);
        if (info.type == SOA_HELICAL) assert_near(info.pitch, 0.05, 0);
        if (info.type == SOA_UNIVERSAL) assert_vector(info.axis2, 0, 1, 0);
        soa_model_free(model);
    }
    /* both mean nothing */
    const soa_model *model = load(ONE("fixed", "<axis xyz='0 0 0'/><limit lower='x'/>"), NULL);
    assert_int_equal(soa_model_nv(model), 0);
    assert_int_equal(frame_of(model, "b").body, 0);
    soa_model_free(model);
}

/* (axis2, axis x axis2, axis) right-handed; cyclic for the coordinate axes. */
static void test_planar_axes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double axis2[3];
    } cases[] = {{ONE("planar", "<axis xyz='0 0 1'/>"), {1, 0, 0}},
                 {ONE("planar", "<axis xyz='1 0 0'/>"), {0, 1, 0}},
                 {ONE("planar", "<axis xyz='0 1 0'/>"), {0, 0, 1}},
                 {ONE("planar", "<axis xyz='0 0 -2'/>"), {1, 0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const soa_model *model = load(cases[i].text, NULL);
        soa_body_info info = body_of(model, "j");
        assert_vector(info.axis2, cases[i].axis2[0], cases[i].axis2[1], cases[i].axis2[2]);
        soa_model_free(model);
    }
    const soa_model *model = load(ONE("planar", "<axis xyz='3 -2 1'/>"), NULL);
    soa_body_info info = body_of(model, "j");
    const double *a = info.axis, *b = info.axis2;
    assert_near(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], 0, 1e-15);
    assert_near(b[0] * b[0] + b[1] * b[1] + b[2] * b[2], 1, 1e-15);
    soa_model_free(model);
    model = load(ONE("planar", "<axis xyz='0 0 1'/><soa axis2='0 2 0'/>"), NULL);
    assert_vector(body_of(model, "j").axis2, 0, 1, 0);
    soa_model_free(model);
}

static void test_axis_normalised(void **state) {
    (void)state;
    const soa_model *model = load(ONE("revolute", "<axis xyz='0 3 -4'/>" LIMIT), NULL);
    assert_vector(body_of(model, "j").axis, 0, 0.6, -0.8);
    soa_model_free(model);
    /* its square overflows */
    model = load(ONE("revolute", "<axis xyz='1e200 0 1e200'/>" LIMIT), NULL);
    assert_vector(body_of(model, "j").axis, sqrt(0.5), 0, sqrt(0.5));
    soa_model_free(model);
    /* and underflows */
    model = load(ONE("revolute", "<axis xyz='0 -3e-200 4e-200'/>" LIMIT), NULL);
    assert_vector(body_of(model, "j").axis, 0, -0.6, 0.8);
    soa_model_free(model);
    model = load(ONE("universal", "<axis xyz='0 1e-300 0'/><soa axis2='0 0 1e-300'/>"), NULL);
    assert_vector(body_of(model, "j").axis, 0, 1, 0);
    assert_vector(body_of(model, "j").axis2, 0, 0, 1);
    soa_model_free(model);
    static const char *const rotors[] = {
        ONE("revolute", LIMIT "<soa rotor_inertia='1' rotor_axis='0 0 1e-200'/>"),
        ONE("revolute", LIMIT "<soa rotor_inertia='1' rotor_axis='0 0 1e200'/>")};
    for (int i = 0; i < 2; ++i) {
        model = load(rotors[i], NULL);
        assert_vector(body_of(model, "j").rotor_axis, 0, 0, 1);
        soa_model_free(model);
    }
}

static void test_origin(void **state) {
    (void)state;
    /* Fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll). */
    const soa_model *model =
        load(ONE("revolute", "<origin xyz='1 2 3' rpy='0.1 0.2 0.3'/>" LIMIT), NULL);
    soa_body_info info = body_of(model, "j");
    double cr = cos(.1), sr = sin(.1), cp = cos(.2), sp = sin(.2), cy = cos(.3), sy = sin(.3);
    const double R[9] = {cy * cp,
                         cy * sp * sr - sy * cr,
                         cy * sp * cr + sy * sr,
                         sy * cp,
                         sy * sp * sr + cy * cr,
                         sy * sp * cr - cy * sr,
                         -sp,
                         cp * sr,
                         cp * cr};
    for (int i = 0; i < 9; ++i)
        assert_near(info.placement.R[i], R[i], 1e-15);
    assert_vector(info.placement.p, 1, 2, 3);
    soa_model_free(model);
    /* A quarter turn about z as a quaternion. */
    model =
        load(ONE("revolute", "<origin quat_xyzw='0 0 .7071067811865476 .7071067811865476'/>" LIMIT),
             NULL);
    info = body_of(model, "j");
    const double Q[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    for (int i = 0; i < 9; ++i)
        assert_near(info.placement.R[i], Q[i], 1e-15);
    soa_model_free(model);
}

static void test_limits_and_dynamics(void **state) {
    (void)state;
    const soa_model *model =
        load(ONE("revolute", "<limit lower=' -1.5' upper='+.25e1 ' velocity='3.' effort='inf'/>"
                             "<dynamics damping='0.7' friction='0.2'/>"),
             NULL);
    soa_body_info info = body_of(model, "j");
    assert_near(info.lower, -1.5, 0);
    assert_near(info.upper, 2.5, 0);
    assert_near(info.max_speed, 3, 0);
    assert_near(info.max_effort, (double)INFINITY, 0);
    assert_near(info.damping, 0.7, 0);
    assert_near(info.friction_positive, 0.2, 0);
    assert_near(info.friction_negative, 0.2, 0);
    soa_model_free(model);
    /* URDF: lower and upper default to 0 */
    model = load(ONE("prismatic", "<limit effort='4' velocity='1'/>"), NULL);
    info = body_of(model, "j");
    assert_near(info.lower, 0, 0);
    assert_near(info.upper, 0, 0);
    assert_near(info.max_effort, 4, 0);
    soa_model_free(model);
    model = load(ONE("continuous", "<limit lower='0' upper='0' effort='4' velocity='1'/>"), NULL);
    info = body_of(model, "j");
    assert_true(isinf(info.lower) && isinf(info.upper));
    assert_near(info.max_speed, 1, 0);
    soa_model_free(model);
}

#define FOLLOWS(joint, more) LIMIT "<mimic joint='" joint "' " more "/>"
#define THREE_JOINTS(j1, j2, j3) LINK("base") LINK("l1") LINK("l2") LINK("l3") j1 j2 j3
#define THREE                                                                                \
    THREE_JOINTS(                                                                            \
        JOINT("j1", "revolute", "base", "l1", FOLLOWS("j3", "multiplier='2' offset='.25'")), \
        JOINT("j2", "prismatic", "l1", "l2", FOLLOWS("j1", "multiplier='-3' offset='.5'")),  \
        JOINT("j3", "revolute", "l2", "l3", LIMIT))

/* j2 follows j1 follows j3, which comes last: q2 = -3 (2 q3 + 0.25) + 0.5. */
static void test_mimic(void **state) {
    (void)state;
    const soa_model *model = load(ROBOT(THREE), NULL);
    assert_int_equal(soa_model_nq(model), 1);
    assert_int_equal(soa_model_nv(model), 1);
    int last = soa_model_find_joint(model, "j3");
    soa_body_info j1 = body_of(model, "j1"), j2 = body_of(model, "j2");
    assert_int_equal(j1.mimic, last);
    assert_near(j1.mimic_ratio, 2, 0);
    assert_near(j1.mimic_offset, 0.25, 0);
    assert_int_equal(j2.mimic, last);
    assert_near(j2.mimic_ratio, -6, 0);
    assert_near(j2.mimic_offset, -0.25, 0);
    assert_int_equal(j2.nq, 0);
    soa_model_free(model);
    model = load(ROBOT(THREE), &ideal);
    assert_int_equal(soa_model_nq(model), 3);
    assert_int_equal(body_of(model, "j1").mimic, -1);
    soa_model_free(model);
    /* Wild robots keep <mimic> when they make a joint fixed. */
    model = load(ONE("fixed", "<mimic joint='nowhere'/>"), NULL);
    soa_model_free(model);
}

static void test_inertial(void **state) {
    (void)state;
    /* Turned by +90 degrees about z: x' = y, y' = -x, so Ixx and Iyy swap, Ixy changes sign, (Ixz,
     * Iyz) -> (-Iyz, Ixz). */
    const soa_model *model =
        load(ROBOT(LINK("a") "<link name='b'><inertial><origin xyz='1 2 3' rpy='0 0 "
                             "1.5707963267948966'/><mass value='2'/>"
                             "<inertia ixx='1' iyy='2' izz='2.5' ixy='.1' ixz='.2' "
                             "iyz='.3'/></inertial></link>" JOINT("j", "continuous", "a", "b", "")),
             NULL);
    soa_body_info info = body_of(model, "j");
    const double I[6] = {2, 1, 2.5, -.1, -.3, .2};
    assert_near(info.mass, 2, 0);
    assert_vector(info.com, 1, 2, 3);
    for (int i = 0; i < 6; ++i)
        assert_near(info.inertia[i], I[i], 1e-15);
    assert_near(soa_model_mass(model), 2, 0);
    soa_model_free(model);
    /* Without a rotation the numbers pass unchanged, to the bit. */
    model = load(
        ROBOT(LINK("a") "<link name='b'><inertial><origin xyz='.1 0 0'/><mass value='.3'/>"
                        "<inertia ixx='.7' iyy='.8' izz='.9' ixy='.01' ixz='.02' "
                        "iyz='.03'/></inertial></link>" JOINT("j", "continuous", "a", "b", "")),
        NULL);
    info = body_of(model, "j");
    const double K[6] = {.7, .8, .9, .01, .02, .03};
    for (int i = 0; i < 6; ++i)
        assert_near(info.inertia[i], K[i], 0);
    soa_model_free(model);
    /* A massless inner link: none at all, or all zero, or empty. */
    static const char *const inner[] = {
        "",
        "<inertial/>",
        ("<inertial><mass value='0'/><inertia ixx='0' iyy='0' "
         "izz='0' ixy='0' ixz='0' iyz='0'/></inertial>"),
    };
    for (int i = 0; i < 3; ++i) {
        char text[2000];
        snprintf(text, sizeof text,
                 ROBOT(LINK("a") "<link name='m'>%s</link>" LINK("b") JOINT(
                     "j", "continuous", "a", "m", "") JOINT("k", "prismatic", "m", "b", LIMIT)),
                 inner[i]);
        model = load(text, NULL);
        assert_near(body_of(model, "j").mass, 0, 0);
        assert_int_equal(soa_model_nv(model), 2);
        soa_model_free(model);
    }
}

/* Links on fixed joints: mass merged, frame kept; sum of two equal spheres 2 m apart. */
static void test_fixed_merging(void **state) {
    (void)state;
    const soa_model *model =
        load(ROBOT(LINK("a") LINK("b")
                       LINK("tool") "<link name='tip'/>" JOINT("j", "continuous", "a", "b", "")
                           JOINT("f", "fixed", "b", "tool", "<origin xyz='2 0 0' rpy='0 0 1'/>")
                               JOINT("g", "fixed", "tool", "tip", "<origin xyz='0 0 5'/>")
                                   JOINT("h", "fixed", "a", "w", "") LINK("w")),
             NULL);
    assert_int_equal(soa_model_body_count(model), 1);
    soa_body_info info = body_of(model, "j");
    assert_near(info.mass, 2, 0);
    assert_vector(info.com, 1, 0, 0);
    assert_near(info.inertia[0], .02, 1e-15);
    assert_near(info.inertia[1], 2.02, 1e-14);
    soa_frame_info tip = frame_of(model, "tip");
    assert_int_equal(tip.body, 1);
    assert_vector(tip.placement.p, 2, 0, 5);
    assert_near(tip.placement.R[0], cos(1), 1e-15);
    assert_int_equal(frame_of(model, "a").body, 0);
    assert_int_equal(frame_of(model, "w").body, 0);
    soa_model_free(model);
}

static void test_root(void **state) {
    (void)state;
    const soa_model *model = load(ONE("revolute", LIMIT), &floating_base);
    assert_int_equal(soa_model_nv(model), 7);
    assert_int_equal(soa_model_find_joint(model, "root"), 1);
    soa_body_info root = body_of(model, "root");
    assert_int_equal(root.type, SOA_FREE);
    assert_int_equal(root.parent, 0);
    assert_string_equal(root.link, "a");
    assert_vector(root.placement.p, 0, 0, 0);
    soa_model_free(model);
    model = load(ONE("revolute", LIMIT), &floating_ideal);
    assert_int_equal(soa_model_nv(model), 7);
    soa_model_free(model);
    /* Names that the base could want for itself. */
    static const char *const clash[] = {
        ROBOT(LINK("world") LINK("b") JOINT("world", "revolute", "world", "b", LIMIT)),
        ROBOT(LINK("root") LINK("b") JOINT("root", "revolute", "root", "b", LIMIT)),
        ROBOT(LINK("a") LINK("b") JOINT("a", "revolute", "a", "b", LIMIT)),
        ROBOT(LINK("a") LINK("b") LINK("c") JOINT("root", "fixed", "a", "b", "")
                  JOINT("root_1", "continuous", "b", "c", ""))};
    for (int i = 0; i < 4; ++i) {
        model = load(clash[i], NULL);
        assert_int_equal(soa_model_nv(model), 1);
        soa_model_free(model);
    }
    refuse_(clash[1], strlen(clash[1]), &floating_base, SOA_E_NAME, 4, "root", __LINE__);
}

static void test_extension(void **state) {
    (void)state;
    const soa_model *model = load(
        ONE("revolute", LIMIT "<dynamics damping='1' friction='2'/><soa rotor_inertia='2e-4' "
                              "gear_ratio='-62.5' rotor_model='exact' "
                              "rotor_axis='0 0 1' stiffness='3' rest='.1' friction_negative='5'/>"),
        NULL);
    soa_body_info info = body_of(model, "j");
    assert_near(info.rotor_inertia, 2e-4, 0);
    assert_near(info.gear_ratio, -62.5, 0);
    assert_int_equal(info.rotor_model, SOA_ROTOR_EXACT);
    assert_vector(info.rotor_axis, 0, 0, 1);
    assert_near(info.stiffness, 3, 0);
    assert_near(info.rest, .1, 0);
    assert_near(info.friction_positive, 2, 0);
    assert_near(info.friction_negative, 5, 0);
    soa_model_free(model);
}

#define GEAR(inside) "<transmission name='t'>" inside "</transmission>"
static void test_transmission(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double gear;
    } cases[] = {
        {ROBOT(LINK("a") LINK("b") JOINT("j", "continuous", "a", "b", "<soa rotor_inertia='1e-4'/>")
                   GEAR("<joint name='j'/><actuator "
                        "name='m'><mechanicalReduction>50</mechanicalReduction></actuator>")),
         50},
        {ROBOT(GEAR("<actuator name='m'/><joint name='j'/><mechanicalReduction> -7.5 "
                    "</mechanicalReduction>") LINK("a") LINK("b")
                   JOINT("j", "continuous", "a", "b", "<soa rotor_inertia='1e-4'/>")),
         -7.5},
        {ROBOT(LINK("a") LINK("b")
                   JOINT("j", "continuous", "a", "b", "<soa rotor_inertia='1e-4' gear_ratio='3'/>")
                       GEAR("<joint name='j'/><mechanicalReduction>50</mechanicalReduction>")),
         3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const soa_model *model = load(cases[i].text, NULL);
        assert_near(body_of(model, "j").gear_ratio, cases[i].gear, 0);
        soa_model_free(model);
    }
    /* Without a rotor inertia nobody reads it. */
    const soa_model *model =
        load(ROBOT(LINK("a") LINK("b") JOINT("j", "continuous", "a", "b", "")
                       GEAR("<joint name='j'/><mechanicalReduction>x</mechanicalReduction>")),
             NULL);
    assert_near(body_of(model, "j").rotor_inertia, 0, 0);
    soa_model_free(model);
}

/* Encodings, references, namespaces, multi-line tags, foreign elements. */
static void test_xml_forms(void **state) {
    (void)state;
    const soa_model *model = load(
        "\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?><!-- hi --><robot name='r&amp;d &#65;'>"
        "<link name='a'/><gazebo><link name='a'/><joint/></gazebo><sensor:cam x='1'/></robot>",
        NULL);
    assert_string_equal(soa_model_name(model), "r&d A");
    soa_model_free(model);
    model = load("<?xml version='1.0' encoding='ISO-8859-1'?><robot name='r'><link "
                 "name='\xe9paule'/></robot>",
                 NULL);
    assert_true(soa_model_find_frame(model, "\xc3\xa9paule") >= 0);
    soa_model_free(model);
    model = load("<robot name='r' xmlns='http://www.ros.org' xmlns:x='u'><link name='a'/><x:link "
                 "name='a'/></robot>",
                 NULL);
    assert_int_equal(soa_model_frame_count(model) >= 1, 1);
    soa_model_free(model);
    model = load("<robot><link name='a'/></robot>", NULL); /* no name */
    assert_string_equal(soa_model_name(model), "robot");
    soa_model_free(model);
}

/* A chain of n links, tip first in the document, and a star: no recursion, no quadratic time. */
static void test_large(void **state) {
    (void)state;
    enum { N = 10000 };
    size_t room = (size_t)N * 512 + 1000, used = 0;
    char *text = malloc(room);
    assert_non_null(text);
    for (int star = 0; star < 2; ++star) {
        used = (size_t)snprintf(text, room, "<robot name='long'>");
        for (int i = N; i >= 1; --i)
            used += (size_t)snprintf(
                text + used, room - used,
                JOINT("j%d", "continuous", "l%d", "l%d", "<origin xyz='.1 0 0'/>") LINK("l%d"), i,
                star ? 0 : i - 1, i, i);
        used += (size_t)snprintf(text + used, room - used, LINK("l0") "</robot>");
        assert_true(used < room);
        const soa_model *model = load(text, NULL);
        assert_int_equal(soa_model_nv(model), N);
        assert_int_equal(soa_model_find_joint(model, star ? "j10000" : "j1"), 1);
        assert_int_equal(soa_model_find_joint(model, star ? "j1" : "j10000"), N);
        soa_model_free(model);
    }
    free(text);
}

static void test_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                        "fr_FR.UTF-8", "fr_FR.utf8", "ru_RU.UTF-8"};
    char before[64] = "C";
    const char *now = setlocale(LC_NUMERIC, NULL);
    if (now != NULL) snprintf(before, sizeof before, "%s", now);
    size_t i = 0;
    while (i < sizeof names / sizeof *names && setlocale(LC_NUMERIC, names[i]) == NULL)
        ++i;
    if (i == sizeof names / sizeof *names) {
        print_message("no locale with a decimal comma is installed: not tested\n");
        skip();
    }
    const soa_model *model = load(ONE("continuous", "<dynamics damping='1.5'/>"), NULL);
    double damping = body_of(model, "j").damping;
    soa_model_free(model);
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    setlocale(LC_NUMERIC, before);
    assert_string_equal(text, "1,5"); /* the caller's locale is back */
    assert_near(damping, 1.5, 0);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void test_refuse_structure(void **state) {
    (void)state;
    refuse("<robot name='r'/>", SOA_E_TREE, 1, "no <link>");
    refuse("<sdf/>", SOA_E_FORMAT, 1, "<sdf>");
    refuse(ROBOT(LINK("a") LINK("b")), SOA_E_TREE, 3, "'a', 'b'");
    refuse(ROBOT(LINK("a") LINK("b") LINK("c") LINK("d") LINK("e")), SOA_E_TREE, 3, "5 links");
    refuse(ROBOT(LINK("a") LINK("a")), SOA_E_NAME, 3, "'a' is used twice");
    refuse(ROBOT(LINK("a") "<link/>"), SOA_E_NAME, 3, "no name");
    refuse(ROBOT(LINK("a") LINK("b") LINK("c") JOINT("j", "fixed", "a", "b", "")
                     JOINT("j", "fixed", "a", "c", "")),
           SOA_E_NAME, 6, "'j' is used twice");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("", "fixed", "a", "b", "")), SOA_E_NAME, 4, "no name");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("j", "fixed", "a", "c", "")), SOA_E_NAME, 4,
           "'c' does not exist");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("j", "fixed", "c", "b", "")), SOA_E_NAME, 4,
           "parent link 'c' does not exist");
    refuse(ROBOT(LINK("a") LINK("b") "<joint name='j' type='fixed'><child link='b'/></joint>"),
           SOA_E_TREE, 4, "no parent");
    refuse(ROBOT(LINK("a") LINK("b") "<joint name='j' type='fixed'><parent link='a'/></joint>"),
           SOA_E_TREE, 4, "no child");
    refuse(ROBOT(LINK("a")
                     LINK("b") "<joint name='j' type='fixed'><parent link='a'/>\n<child/></joint>"),
           SOA_E_TREE, 5, "no child");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("j", "fixed", "a", "b", "")
                     JOINT("k", "fixed", "a", "b", "")),
           SOA_E_TREE, 5, "'k' and of joint 'j' (line 4)");
    refuse(ROBOT(LINK("a") JOINT("j", "fixed", "a", "a", "")), SOA_E_TREE, 3, "ring");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("j", "fixed", "a", "b", "")
                     JOINT("k", "fixed", "b", "a", "")),
           SOA_E_TREE, -1, "ring");
    refuse(ROBOT(LINK("r") LINK("a") LINK("b") LINK("c") JOINT("j", "fixed", "a", "b", "")
                     JOINT("k", "fixed", "b", "a", "") JOINT("l", "fixed", "b", "c", "")),
           SOA_E_TREE, -1, "ring");
}

static void test_refuse_joints(void **state) {
    (void)state;
    refuse(ONE("revolut", ""), SOA_E_JOINT, 4, "did you mean 'revolute'");
    refuse(ONE("teleport", ""), SOA_E_JOINT, 4, "'teleport' is unknown");
    refuse(ROBOT(LINK("a") LINK("b") "<joint name='j'><parent link='a'/><child link='b'/></joint>"),
           SOA_E_JOINT, 4, "no type");
    refuse(ONE("revolute", "\n<axis xyz='0 0 0'/>"), SOA_E_JOINT, 5, "no direction");
    refuse(ONE("planar", "\n<axis xyz='0 -0 1e-320'/>"), SOA_E_JOINT, 5, "no direction");
    refuse(ONE("universal", ""), SOA_E_JOINT, 4, "axis2");
    refuse(ONE("universal", "<soa axis2='0 0 0'/>"), SOA_E_JOINT, 4, "no direction");
    refuse(ONE("universal", "\n<soa axis2='1 0 0'/>"), SOA_E_JOINT, 5,
           "is parallel to the axis (1 0 0)");
    refuse(ONE("planar", "\n<soa axis2='1 1 0'/>"), SOA_E_JOINT, 5,
           "leaves the plane with normal (1 0 0)");
    refuse(ONE("spherical", "\n<soa stiffness='1'/>"), SOA_E_JOINT, 5, "cannot have a spring");
    refuse(ONE("helical", ""), SOA_E_JOINT, 4, "pitch");
    refuse(ONE("revolute", "<soa rotor_model='ideal'/>"), SOA_E_JOINT, 4, "reflected");
    refuse(ONE("revolute", "\n<soa rotor_inertia='-1'/>"), SOA_E_JOINT, 5,
           "<soa rotor_inertia=\"-1\"> is negative");
    refuse(ONE("revolute", "\n<dynamics damping='-1'/>"), SOA_E_JOINT, 5,
           "<dynamics damping=\"-1\"> is negative");
    refuse(ONE("revolute", "\n<mimic joint='x'/>"), SOA_E_MIMIC, 5, "'x', which does not exist");
    refuse(ONE("revolute", "\n<mimic/>"), SOA_E_MIMIC, 5, "names no joint");
    refuse(ONE("revolute", "\n<mimic joint='j'/>"), SOA_E_MIMIC, 5, "itself");
    refuse(ONE("planar", "\n<mimic joint='j'/>"), SOA_E_MIMIC, 5, "is planar");
    refuse(ROBOT(LINK("a") LINK("b") LINK("c") JOINT("j", "fixed", "a", "b", "")
                     JOINT("k", "continuous", "b", "c", "<mimic joint='j'/>")),
           SOA_E_MIMIC, 6, "which is fixed");
    refuse(ROBOT(LINK("a") LINK("b") LINK("c")
                     JOINT("j", "continuous", "a", "b", "<mimic joint='k'/>")
                         JOINT("k", "continuous", "b", "c", "<mimic joint='j'/>")),
           SOA_E_MIMIC, -1, "itself through");
}

static void test_refuse_numbers(void **state) {
    (void)state;
    refuse(ONE("fixed", "\n<origin xyz='1 2'/>"), SOA_E_FORMAT, 5,
           "2 numbers found where 3 are needed");
    refuse(ONE("fixed", "\n<origin xyz='1 2 3 4'/>"), SOA_E_FORMAT, 5, "4 numbers");
    refuse(ONE("fixed", "\n<origin xyz=''/>"), SOA_E_FORMAT, 5, "0 numbers");
    refuse(ONE("fixed", "\n<origin xyz='1 abc 3'/>"), SOA_E_FORMAT, 5, "'abc' is not a number");
    refuse(ONE("fixed", "\n<origin xyz='1,5 0 3'/>"), SOA_E_FORMAT, 5, "'1,5' is not a number");
    refuse(ONE("fixed", "\n<origin xyz='1 2 0x10'/>"), SOA_E_FORMAT, 5, "'0x10'");
    refuse(ONE("fixed", "\n<origin xyz='1 2 1e'/>"), SOA_E_FORMAT, 5, "'1e'");
    refuse(ONE("fixed", "\n<origin xyz='1 2 1e+'/>"), SOA_E_FORMAT, 5, "'1e+'");
    refuse(ONE("fixed", "\n<origin xyz='1 2 .'/>"), SOA_E_FORMAT, 5, "'.'");
    refuse(ONE("fixed", "\n<origin xyz='1 2 3m'/>"), SOA_E_FORMAT, 5, "'3m'");
    refuse(ONE("fixed", "\n<origin xyz='1 2 --3'/>"), SOA_E_FORMAT, 5, "'--3'");
    refuse(ONE("fixed", "\n<origin rpy='0 0 ${pi}'/>"), SOA_E_FORMAT, 5, "run xacro");
    refuse(ONE("fixed", "\n<origin rpy='0 0 NaN'/>"), SOA_E_NOT_FINITE, 5, "'NaN'");
    refuse(ONE("fixed", "\n<origin rpy='0 0 inf'/>"), SOA_E_NOT_FINITE, 5, "'inf'");
    refuse(ONE("fixed", "\n<origin rpy='0 0 1e999'/>"), SOA_E_NOT_FINITE, 5, "'1e999'");
    refuse(ONE("fixed", "\n<origin quat_xyzw='0 0 0 0'/>"), SOA_E_QUATERNION, 5, "length is 0");
    refuse(ONE("fixed", "\n<origin rpy='0 0 0' quat_xyzw='0 0 0 1'/>"), SOA_E_FRAME, 5, "keep one");
    refuse(ONE("revolute", "\n<limit lower='nan' upper='1'/>"), SOA_E_NOT_FINITE, 5, "'nan'");
    refuse(ONE("revolute", "\n<limit lower='low' upper='1'/>"), SOA_E_FORMAT, 5, "'low'");
    refuse(ONE("revolute", "\n<dynamics damping='1 2'/>"), SOA_E_FORMAT, 5,
           "2 numbers found where 1 is needed");
    refuse(ONE("revolute", "\n<axis xyz='0 0 one'/>"), SOA_E_FORMAT, 5, "'one'");
    refuse(ONE("revolute", "\n<mimic joint='j' multiplier='two'/>"), SOA_E_FORMAT, 5, "'two'");
    refuse(ROBOT(LINK("a") LINK("b") JOINT("j", "continuous", "a", "b", "<soa rotor_inertia='1'/>")
                     GEAR("<joint name='j'/>\n<mechanicalReduction>much</mechanicalReduction>")),
           SOA_E_FORMAT, 6, "'much'");
}

#define INERTIAL(inside) ROBOT("<link name='a'>\n<inertial>" inside "</inertial></link>")
#define INERTIA(x, y, z, xy, xz, yz) \
    "<inertia ixx='" x "' iyy='" y "' izz='" z "' ixy='" xy "' ixz='" xz "' iyz='" yz "'/>"
static void test_refuse_inertials(void **state) {
    (void)state;
    refuse(INERTIAL("<origin xyz='0 0 0'/>" INERTIA("1", "1", "1", "0", "0", "0")), SOA_E_INERTIA,
           3, "without <mass>");
    refuse(INERTIAL("<mass/>" INERTIA("1", "1", "1", "0", "0", "0")), SOA_E_INERTIA, 3,
           "'value' is missing");
    refuse(INERTIAL("<mass value='1'/>\n<inertia ixx='1' iyy='1'/>"), SOA_E_INERTIA, 4,
           "'izz' is missing");
    refuse(INERTIAL("<mass value='heavy'/>"), SOA_E_FORMAT, 3, "'heavy'");
    refuse(INERTIAL("<mass value='1'/>" INERTIA("1", "1", "1", "0", "0", "z")), SOA_E_FORMAT, 3,
           "'z'");
    /* in the linter's words */
    refuse(INERTIAL("<mass value='-1'/>" INERTIA("1", "1", "1", "0", "0", "0")), SOA_E_INERTIA, 3,
           "link 'a': mass -1 kg; a mass cannot be negative, correct it");
    refuse(INERTIAL("<mass value='1'/>\n" INERTIA("1", "1", "1", "2", "0", "0")), SOA_E_INERTIA, 4,
           "link 'a': principal moments -1 1 3 kg m^2; none can be negative");
    refuse(INERTIAL("<mass value='1'/>\n" INERTIA("1", "-1", "1", "0", "0", "0")), SOA_E_INERTIA, 4,
           "principal moments -1 1 1 kg m^2");
}

static void test_refuse_xml(void **state) {
    (void)state;
    refuse("", SOA_E_FORMAT, -1, "XML");
    refuse("robot", SOA_E_FORMAT, 1, "XML");
    refuse("<robot name='r'>\n<link name='a'>\n</robot>", SOA_E_FORMAT, 3, "link");
    refuse("<robot name='r'>\n<link name='a' name='b'/></robot>", SOA_E_FORMAT, 2, "redefined");
    refuse("<robot name='r'><link name='&none;'/></robot>", SOA_E_FORMAT, 1, "none");
    refuse_("<robot>\0</robot>", 16, NULL, SOA_E_FORMAT, -1, "XML", __LINE__);
    /* No document types: entity bombs, files read through entities, outside definitions. */
    refuse("<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>\n"
           "<robot name='&c;'><link name='a'/></robot>",
           SOA_E_FORMAT, 1, "DOCTYPE");
    refuse("<!DOCTYPE r [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><robot name='r'><link "
           "name='a'/>&f;</robot>",
           SOA_E_FORMAT, 1, "DOCTYPE");
    refuse("\n<!DOCTYPE robot SYSTEM 'http://localhost/x.dtd'><robot name='r'><link "
           "name='a'/></robot>",
           SOA_E_FORMAT, 2, "DOCTYPE");
    /* XML nested beyond reason. */
    enum { DEPTH = 100000 };
    char *deep = malloc((size_t)DEPTH * 3 + 32);
    assert_non_null(deep);
    size_t used = (size_t)snprintf(deep, 32, "<robot name='r'>");
    for (int i = 0; i < DEPTH; ++i) {
        memcpy(deep + used, "<a>", 3);
        used += 3;
    }
    refuse_(deep, used, NULL, SOA_E_FORMAT, 1, "depth", __LINE__);
    free(deep);
    /* Larger than any robot. */
    size_t huge = ((size_t)64 << 20) + 1;
    char *much = calloc(huge, 1);
    if (much != NULL) refuse_(much, huge, NULL, SOA_E_FORMAT, 0, "64 MiB", __LINE__);
    free(much);
    /* Foreign bytes in names do not spoil the message. */
    refuse("<robot name='r'><link name='a'/><joint name='&#10;&#x1F916;\xc3\xa9' "
           "type='fixed'/></robot>",
           SOA_E_TREE, 1, "joint '");
}

/* Long names and values: the report stays in its 256 bytes, whole characters only. */
static void test_long_names(void **state) {
    (void)state;
    char text[5000], name[2001];
    for (int shift = 0; shift < 4; ++shift) {
        for (int i = 0; i < 2000; i += 2)
            memcpy(name + i, "\xc3\xa9", 2);
        name[2000] = 0;
        memset(name, 'x', (size_t)shift);
        if (shift % 2) name[shift] = 'x';
        snprintf(text, sizeof text,
                 "<robot name='r'><link name='a'/><joint name='%s' type='%s'/></robot>", name,
                 name);
        const soa_model *model = NULL;
        soa_report report;
        assert_int_equal(
            soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text), .name = name},
                           NULL, &model, NULL, &report),
            SOA_E_JOINT);
        size_t length = strlen(report.text);
        assert_in_range(length, 40, sizeof report.text - 1);
        for (size_t i = 0; i < length; ++i) {
            unsigned char c = (unsigned char)report.text[i], d = (unsigned char)report.text[i + 1];
            if (c < 0x80) continue;
            if (c != 0xc3 || d != 0xa9) fail_msg("broken UTF-8 at byte %zu of: %s", i, report.text);
            ++i;
        }
    }
}

static void test_arguments(void **state) {
    (void)state;
    const soa_model *model = NULL;
    soa_report report;
    const char *text = ROBOT(LINK("a"));
    assert_int_equal(soa_urdf_parse(&(soa_urdf_source){0}, NULL, &model, NULL, &report),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text)}, NULL,
                                    NULL, NULL, &report),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_urdf_read(NULL, NULL, &model, NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_urdf_lint(NULL, NULL, NULL, NULL, NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(
        soa_urdf_parse(&(soa_urdf_source){.text = "<", .length = 1}, NULL, &model, NULL, NULL),
        SOA_E_FORMAT); /* no report wanted */
    assert_null(model);
    assert_int_equal(soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text)}, NULL,
                                    &model, NULL, NULL),
                     SOA_OK);
    soa_model_free(model);
}

/* --- files ------------------------------------------------------------------------------------ */

static char folder[256];

static int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/soa_urdf_XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* every test removes what it made */
}

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void test_read_file(void **state) {
    (void)state;
    const soa_model *model = NULL;
    soa_report report;
    write_file("one.urdf", ONE("revolute", LIMIT));
    assert_int_equal(soa_urdf_read(path_of("one.urdf"), NULL, &model, NULL, &report), SOA_OK);
    assert_int_equal(soa_model_nv(model), 1);
    soa_model_free(model);
    model = NULL;
    remove(path_of("one.urdf"));
    assert_int_equal(soa_urdf_read(path_of("one.urdf"), NULL, &model, NULL, &report), SOA_E_FILE);
    assert_non_null(strstr(report.text, "one.urdf"));
    /* a directory */
    assert_int_equal(soa_urdf_read(folder, NULL, &model, NULL, &report), SOA_E_FILE);
    assert_int_equal(soa_urdf_lint(path_of("one.urdf"), NULL, NULL, NULL, NULL, &report),
                     SOA_E_FILE);
    assert_null(model);
}

/* Lines: the start of the tag, beyond 65,535 too, where libxml2 stops counting. */
static void test_lines(void **state) {
    (void)state;
    refuse("<robot\n name='r'>\n<link\n  name='a'/>\n<link name='b'/>\n<joint\n  name='j'\n  "
           "type='odd'\n>\n<parent "
           "link='a'/>"
           "<child link='b'/></joint></robot>",
           SOA_E_JOINT, 6, "odd");
    enum { LINES = 100000 };
    char *text = malloc(LINES + 200);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "<robot name='r'>");
    memset(text + used, '\n', LINES);
    strcpy(text + used + LINES, "<link name='a'/><link name='b'/></robot>");
    refuse(text, SOA_E_TREE, LINES + 1, "'a', 'b'");
    free(text);
}

/* --- memory ----------------------------------------------------------------------------------- */

static long allocations_left; /* negative: no limit */
static long live;

static bool spend(void) {
    if (allocations_left < 0) return true;
    if (allocations_left == 0) return false;
    --allocations_left;
    return true;
}
static void *limited_malloc(size_t size) {
    void *p = spend() ? malloc(size) : NULL;
    live += p != NULL;
    return p;
}
static void *limited_realloc(void *old, size_t size) {
    void *p = spend() ? realloc(old, size) : NULL;
    live += p != NULL && old == NULL;
    return p;
}
static char *limited_strdup(const char *text) {
    char *p = limited_malloc(strlen(text) + 1);
    if (p != NULL) strcpy(p, text);
    return p;
}
static void limited_free(void *p) {
    live -= p != NULL;
    free(p);
}
/* Every allocation of a reading fails once: SOA_E_MEMORY and nothing left behind, or (where libxml2
 * can do without) the right model. */
static void test_allocation_failures(void **state) {
    (void)state;
    xmlFreeFunc old_free;
    xmlMallocFunc old_malloc;
    xmlReallocFunc old_realloc;
    xmlStrdupFunc old_strdup;
    const char *text = ROBOT(
        THREE GEAR("<joint name='j1'/>") "<!-- c --><loop_joint name='l' type='spherical'>"
                                         "<link1 link='l1'/><link2 "
                                         "link='l3'/></loop_joint><constraint name='g' type='gear'>"
                                         "<term joint='j3' coefficient='1'/></constraint>");
    const soa_model *model = load(text, NULL); /* libxml2's own start-up */
    soa_model_free(model);
    write_file("m.urdf", text);
    xmlMemGet(&old_free, &old_malloc, &old_realloc, &old_strdup);
    xmlMemSetup(limited_free, limited_malloc, limited_realloc, limited_strdup);
    int failures = 0, done = 0, wrong = 0, leaks = 0;
    for (int n = 0; !done && n < 5000; ++n) {
        soa_report report;
        model = NULL;
        xmlResetLastError();
        live = 0;
        allocations_left = n;
        soa_status status = soa_urdf_read(path_of("m.urdf"), NULL, &model, NULL, &report);
        done = allocations_left > 0;
        allocations_left = -1;
        xmlResetLastError();
        if (status == SOA_E_MEMORY)
            ++failures;
        else if (status != SOA_OK || soa_model_nq(model) != 1 || soa_model_body_count(model) != 3 ||
                 soa_model_mass(model) != 3)
            ++wrong;
        soa_model_free(model);
        if (live != 0) ++leaks;
    }
    int lint_done = 0, lint_failures = 0;
    for (int n = 0; !lint_done && n < 5000; ++n) {
        soa_report report;
        xmlResetLastError();
        live = 0;
        allocations_left = n;
        soa_status status = soa_urdf_lint(path_of("m.urdf"), NULL, NULL, NULL, NULL, &report);
        lint_done = allocations_left > 0;
        allocations_left = -1;
        xmlResetLastError();
        if (status == SOA_E_MEMORY)
            ++lint_failures;
        else if (status != SOA_OK)
            ++wrong;
        if (live != 0) ++leaks;
    }
    xmlMemSetup(old_free, old_malloc, old_realloc, old_strdup);
    remove(path_of("m.urdf"));
    assert_true(done && lint_done);
    print_message("%d allocations failed in turn while reading, %d while checking\n", failures,
                  lint_failures);
    assert_in_range(failures, 20, 5000);
    assert_int_equal(wrong, 0);
    assert_int_equal(leaks, 0);
}

/* --- linter ----------------------------------------------------------------------------------- */

typedef struct heard {
    int count, level[3], last_line, line_of_rule, times;
    const char *rule;
    bool unordered, empty;
    char text[600];
} heard;

static void hear(void *user, const soa_lint *remark) {
    heard *h = user;
    ++h->count;
    ++h->level[remark->level];
    if (remark->line < h->last_line) h->unordered = true;
    h->last_line = remark->line;
    if (remark->text[0] == 0 || remark->rule[0] == 0) h->empty = true;
    if (h->rule == NULL || strcmp(h->rule, remark->rule) == 0) {
        if (h->times++ == 0) {
            h->line_of_rule = remark->line;
            snprintf(h->text, sizeof h->text, "[%s] %s", remark->rule, remark->text);
        }
    }
}

static heard lint_(const char *text, const char *rule, int at) {
    heard h = {.rule = rule};
    int errors = -1, warnings = -1;
    soa_report report;
    write_file("lint.urdf", text);
    soa_status status = soa_urdf_lint(path_of("lint.urdf"), hear, &h, &errors, &warnings, &report);
    if (status != SOA_OK) fail_msg("line %d: the linter could not read: %s", at, report.text);
    if (errors != h.level[SOA_LINT_ERROR] || warnings != h.level[SOA_LINT_WARNING])
        fail_msg("line %d: counts %d %d, heard %d %d", at, errors, warnings, h.level[2],
                 h.level[1]);
    if (h.unordered) fail_msg("line %d: remarks are not in line order", at);
    if (h.empty) fail_msg("line %d: a remark without rule or text", at);
    remove(path_of("lint.urdf"));
    return h;
}

/* The rule speaks, once, on that line, in words that contain `word`. */
static void remarks_(const char *text, const char *rule, int line, const char *word, int at) {
    heard h = lint_(text, rule, at);
    if (h.times != 1)
        fail_msg("line %d: rule %s was heard %d times (%d remarks)", at, rule, h.times, h.count);
    if (h.line_of_rule != line)
        fail_msg("line %d: %s names line %d, expected %d", at, h.text, h.line_of_rule, line);
    if (strstr(h.text, word) == NULL) fail_msg("line %d: '%s' is not in: %s", at, word, h.text);
}
#define remarks(text, rule, line, word) remarks_(text, rule, line, word, __LINE__)

/* And no other does. */
static void alone_(const char *text, const char *rule, int line, const char *word, int at) {
    heard h = lint_(text, NULL, at);
    if (h.count != 1) fail_msg("line %d: %d remarks, the first: %s", at, h.count, h.text);
    remarks_(text, rule, line, word, at);
}
#define alone(text, rule, line, word) alone_(text, rule, line, word, __LINE__)

/* A steel-like box, 1 kg of 1000 kg/m^3. */
#define GOOD_INERTIA INERTIA("1.6667e-3", "1.6667e-3", "1.6667e-3", "0", "0", "0")
#define GOOD_LINK(name) \
    "<link name='" name "'><inertial><mass value='1'/>" GOOD_INERTIA "</inertial></link>\n"
#define AXIS "<axis xyz='0 0 1'/>"
#define GOOD_ONE(more) \
    ROBOT("<link name='a'/>\n" GOOD_LINK("b") JOINT("j", "revolute", "a", "b", AXIS LIMIT more))
/* A joint's child with that inside. Lines: 2 link a, 3 link b, 4 what is inside. */
#define CHILD(inside)                                  \
    ROBOT("<link name='a'/>\n<link name='b'>\n" inside \
          "</link>" JOINT("j", "revolute", "a", "b", AXIS LIMIT))

static void test_lint_silence(void **state) {
    (void)state;
    heard h = lint_(GOOD_ONE(""), NULL, __LINE__);
    if (h.count != 0) fail_msg("a clean model is blamed: %s", h.text);
}

/* What is no URDF at all is told like anything else; the counts are always set. */
static void test_lint_no_urdf(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule, *word;
        int line;
    } cases[] = {
        {"<robot name='r'>\n<link name='a'>\n</robot>", "xml", "[xml] not well-formed XML: ", 3},
        {"\n<!DOCTYPE robot><robot name='r'/>", "doctype", "[doctype] a document type", 2},
        {"<!-- -->\n<sdf/>", "robot-element", "[robot-element] the outermost element is <sdf>", 2},
        {"<mujoco/>", "robot-element", "<mujoco>", 1},
        {"robot", "xml", "[xml] not well-formed XML: ", 1},
        {"", "xml", "[xml] not well-formed XML: ", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        heard h = lint_(cases[i].text, NULL, __LINE__);
        assert_int_equal(h.count, 1);
        assert_int_equal(h.level[SOA_LINT_ERROR], 1);
        if (cases[i].line > 0) assert_int_equal(h.line_of_rule, cases[i].line);
        if (strstr(h.text, cases[i].word) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].word, h.text);
    }
    /* larger than any robot: a file without blocks */
    heard h = {.rule = "too-large"};
    int errors = 7, warnings = 7;
    soa_report report;
    write_file("large.urdf", "<robot/>");
    assert_int_equal(truncate(path_of("large.urdf"), ((off_t)64 << 20) + 1), 0);
    assert_int_equal(soa_urdf_lint(path_of("large.urdf"), hear, &h, &errors, &warnings, &report),
                     SOA_OK);
    remove(path_of("large.urdf"));
    assert_int_equal(report.status, SOA_OK);
    assert_int_equal(h.times, 1);
    assert_int_equal(errors, 1);
    assert_int_equal(warnings, 0);
    /* no such file: nothing was looked at */
    errors = warnings = 7;
    assert_int_equal(soa_urdf_lint(path_of("none.urdf"), hear, &h, &errors, &warnings, &report),
                     SOA_E_FILE);
    assert_int_equal(errors, 0);
    assert_int_equal(warnings, 0);
    assert_int_equal(h.count, 1);
    write_file("bad.urdf", "<robot>");
    assert_int_equal(soa_urdf_lint(path_of("bad.urdf"), NULL, NULL, &errors, NULL, NULL), SOA_OK);
    assert_int_equal(errors, 1);
    remove(path_of("bad.urdf"));
}

static void test_lint_inertia(void **state) {
    (void)state;
#define BODY(mass, inertia) CHILD("<inertial><mass value='" mass "'/>\n" inertia "</inertial>")
    remarks(BODY("-2", GOOD_INERTIA), "negative-mass", 4, "-2 kg");
    /* told once */
    assert_int_equal(lint_(BODY("-2", GOOD_INERTIA), NULL, __LINE__).level[SOA_LINT_ERROR], 1);
    remarks(BODY("1", INERTIA("1", "1", "1", "0", "2", "0")), "inertia-indefinite", 5, "-1");
    remarks(BODY("1", INERTIA(".001", ".002", ".004", "0", "0", "0")), "inertia-triangle", 5,
            "0.004 > 0.001 + 0.002");
    /* a^2 = 5 / 2, 1 / (4/3 pi a^3) */
    remarks(BODY("1", INERTIA("1", "1", "1", "0", "0", "0")), "inertia-density", 5,
            "1.58 1.58 1.58 m and 0.0604 kg/m^3, lighter than air");
    remarks(BODY("1", INERTIA("1e-6", "1e-6", "1e-6", "0", "0", "0")), "inertia-density", 5,
            "osmium");
    remarks(BODY("0", GOOD_INERTIA), "zero-mass-with-inertia", 4, "0.0016667");
    remarks(BODY("1", "<inertia ixx='.001' iyy='.001' izz='.001' ixy='0' ixz='0'/>"),
            "inertia-product", 5, "no 'iyz', taken as 0; write it");
    remarks(BODY("1", "<inertia ixx='.001' iyy='.001' izz='.001'/>"), "inertia-product", 5,
            "no 'ixy', 'ixz', 'iyz', taken as 0; write them");
    /* One cause, one finding. */
    alone(BODY("1", INERTIA("0", "0", "0", "0", "0", "0")), "point-tip", 3, "joint 'j'");
    alone(CHILD("<inertial><mass value='1'/></inertial>"), "point-tip", 3, "1 kg, but no inertia");
    alone(BODY("nan", GOOD_INERTIA), "bad-number", 4, "'nan'");
    alone(BODY("1,5", GOOD_INERTIA), "bad-number", 4, "'1,5'");
    alone(CHILD("<inertial><mass/>" GOOD_INERTIA "</inertial>"), "missing-attribute", 4, "'value'");
    alone(CHILD("<inertial>" GOOD_INERTIA "</inertial>"), "inertial-incomplete", 4,
          "without <mass>");
    alone(BODY("1", "<inertia/>"), "missing-attribute", 5,
          "attributes 'ixx', 'iyy', 'izz' are missing");
    alone(BODY("1", "<inertia ixx='1' iyy='1' ixy='0'/>"), "missing-attribute", 5,
          "attribute 'izz' is missing");
    alone(BODY("1", INERTIA("x", "0", "0", "0", "0", "0")), "bad-number", 5, "'x'");
    alone(BODY("-2", GOOD_INERTIA), "negative-mass", 4, "-2 kg");
    /* A point that is fixed to what has inertia, and one far from the axis, can be moved. */
    remarks(ROBOT("<link name='a'/>" GOOD_LINK("b") "<link name='c'>\n<inertial><mass "
                                                    "value='1'/></inertial></link>" JOINT(
                                                        "j", "continuous", "a", "b", AXIS)
                                                        JOINT("f", "fixed", "b", "c", "")),
            "inertia-zero", 4, "1 kg without inertia");
    remarks(CHILD("<inertial><origin xyz='.1 0 0'/><mass value='1'/></inertial>"), "inertia-zero",
            4, "1 kg");
    /* Thin rods and plates have no volume to judge. */
    assert_int_equal(
        lint_(BODY("1", INERTIA(".01", ".01", ".02", "0", "0", "0")), "inertia-density", __LINE__)
            .times,
        0);
    /* A principal frame turned by 45 degrees: 1e-3, 2e-3 -> products. */
    assert_int_equal(
        lint_(BODY("1", INERTIA(".0015", ".0015", ".002", ".0005", "0", "0")), NULL, __LINE__)
            .count,
        0);
    remarks(BODY("1", INERTIA(".0015", ".0015", ".004", ".0005", "0", "0")), "inertia-triangle", 5,
            "0.004 > 0.001 + 0.002");
    remarks(CHILD("<inertial><origin xyz='120 0 5'/><mass value='1'/>" GOOD_INERTIA "</inertial>"),
            "com-far", 4, "120");
    remarks(CHILD("<inertial><origin xyz='120 0 5'/><mass value='1'/>" GOOD_INERTIA "</inertial>"),
            "origin-far", 4, "120");
    remarks(CHILD("<inertial><origin xyz='0 0 .4'/><mass value='1'/>" GOOD_INERTIA
                  "</inertial><collision><geometry><box size='.1 .1 .1'/></geometry></collision>"),
            "com-far", 4, "outside its geometry");
    assert_int_equal(lint_(CHILD("<inertial><origin xyz='0 0 .4'/><mass value='1'/>" GOOD_INERTIA
                                 "</inertial><collision><origin xyz='0 0 .4' rpy='1 0 "
                                 "0'/><geometry><box size='.1 .1 .1'/>"
                                 "</geometry></collision>"),
                           NULL, __LINE__)
                         .count,
                     0);
    remarks(CHILD("<inertial><origin rpy='0 90 0'/><mass value='1'/>" GOOD_INERTIA "</inertial>"),
            "rpy-degrees", 4, "radians");
}

static void test_lint_tree(void **state) {
    (void)state;
    const char *bare = CHILD("");
    alone(bare, "massless-tip", 3, "'b'");
    /* Mass on a link fixed to it, or further out, or a rotor, is enough. */
    assert_int_equal(lint_(ROBOT("<link name='a'/><link name='b'/>" GOOD_LINK("c")
                                     JOINT("j", "revolute", "a", "b", AXIS LIMIT)
                                         JOINT("f", "fixed", "b", "c", "")),
                           NULL, __LINE__)
                         .count,
                     0);
    const char *inner =
        ROBOT("<link name='a'/>\n<link name='b'/>\n" GOOD_LINK("c")
                  JOINT("j", "revolute", "a", "b", AXIS LIMIT)
                      JOINT("k", "revolute", "b", "c", "<axis xyz='1 0 0'/>" LIMIT));
    assert_int_equal(lint_(inner, "massless-tip", __LINE__).times, 0);
    remarks(inner, "missing-inertial", 3, "joint 'j'");
    assert_int_equal(lint_(inner, "hinge-singular", __LINE__).times, 0);
    /* Two joints about one line with nothing between them: the tip need not move. */
    remarks(ROBOT("<link name='a'/>\n<link name='b'/>\n" GOOD_LINK("c")
                      JOINT("j", "revolute", "a", "b", AXIS LIMIT)
                          JOINT("k", "revolute", "b", "c", AXIS LIMIT)),
            "hinge-singular", 3, "joint 'j'");
    assert_int_equal(
        lint_(ROBOT("<link name='a'/><link name='b'/>" JOINT(
                  "j", "revolute", "a", "b", AXIS LIMIT "<soa rotor_inertia='1' gear_ratio='2'/>")),
              "massless-tip", __LINE__)
            .times,
        0);
    /* Two points, one on each side of the axis: only together do they have inertia. */
#define POINT(name) "<link name='" name "'><inertial><mass value='1'/></inertial></link>"
    const char *points = ROBOT("<link name='a'/><link name='b'/>" POINT("c") POINT("d") JOINT(
        "j", "continuous", "a", "b", AXIS) JOINT("f", "fixed", "b", "c", "<origin xyz='.1 0 0'/>")
                                   JOINT("g", "fixed", "b", "d", "<origin xyz='-.1 0 0'/>"));
    assert_int_equal(lint_(points, "point-tip", __LINE__).times, 0);
    const char *pair = ROBOT("<link name='a'/><link name='b'/>" GOOD_LINK("c")
                                 JOINT("j", "continuous", "a", "b", AXIS "<mimic joint='k'/>")
                                     JOINT("k", "continuous", "a", "c", AXIS));
    assert_int_equal(lint_(pair, "massless-tip", __LINE__).times, 0);
    remarks(ROBOT("<link name='a'>\n<inertial><mass value='4'/>" GOOD_INERTIA "</inertial></link>"),
            "fixed-base-inertia", 3, "4 kg");
    remarks(ROBOT(LINK("a") LINK("b")), "several-roots", 3, "2 links");
    /* names that are nearly right; that a link is left over comes of it */
#define TWO(parent, child) \
    ROBOT("<link name='a'/>\n" GOOD_LINK("b") JOINT("j", "continuous", parent, child, AXIS))
    alone(TWO("aa", "b"), "unknown-link", 4, "parent link 'aa' does not exist; did you mean 'a'?");
    alone(TWO("a", "bb"), "unknown-link", 4, "child link 'bb' does not exist; did you mean 'b'?");
    /* not its own parent */
    alone(TWO("a", "aa"), "unknown-link", 4, "does not exist; add the link");
    alone(TWO("a", ""), "missing-child", 4, "no child");
    alone(ROBOT("<link name='a'/>\n<link/>\n"), "missing-name", 3, "<link>");
    remarks(TWO("a", "bb"), "unknown-link", 4, "'b'");
    remarks(ROBOT(LINK("a") LINK("b") LINK("c") LINK("d") JOINT("j", "fixed", "a", "bb", "")),
            "several-roots", 3, "4 links");
    remarks(ROBOT("<link name='a'/>" GOOD_LINK("b") JOINT("root", "continuous", "a", "b", AXIS)),
            "root-name", 3, "rename it");
    alone(ROBOT("<link name='a'/>\n<link name='a'/>\n"), "duplicate-name", 3, "'a'");
    remarks(ROBOT(LINK("a") LINK(" b ") JOINT("j", "continuous", "a", " b ", AXIS)), "name-blank",
            3, "blank");
    remarks(ROBOT(LINK("r") LINK("a") JOINT("j", "continuous", "a", "a", "")), "cycle", 4, "'j'");
}

static void test_lint_joints(void **state) {
    (void)state;
#define MOVING(type, more) \
    ROBOT("<link name='a'/>\n" GOOD_LINK("b") JOINT("j", type, "a", "b", more))
    remarks(MOVING("revolute", "\n<axis xyz='0 3 4'/>" LIMIT), "axis-not-unit", 5,
            "length 5 and is used as (0 0.6 0.8)");
    remarks(MOVING("revolute", "\n<axis xyz='0 1e-200 0'/>" LIMIT), "axis-not-unit", 5,
            "length 1e-200 and is used as (0 1 0)");
    remarks(MOVING("revolute", AXIS LIMIT "\n<soa rotor_inertia='1' rotor_axis='0 0 0'/>"),
            "axis-zero", 5, "the joint's axis is taken");
    remarks(MOVING("revolute", AXIS LIMIT "\n<origin quat_xyzw='0 0 0 1e200'/>"), "quaternion", 5,
            "length is 1e+200");
    remarks(MOVING("revolute", LIMIT), "axis-missing", 4, "1 0 0");
    remarks(MOVING("revolute", AXIS), "limit-missing", 4, "no <limit>");
    remarks(MOVING("revolute", AXIS "\n<limit lower='0' effort='1' velocity='1'/>"),
            "limit-missing", 5, "no upper");
    remarks(MOVING("prismatic", AXIS "\n<limit lower='0' upper='1' effort='1'/>"), "limit-missing",
            5, "no velocity");
    remarks(MOVING("revolute", AXIS "\n<limit lower='2' upper='1' effort='1' velocity='1'/>"),
            "limit-order", 5, "2 is above");
    remarks(MOVING("revolute", AXIS "\n<limit lower='1' upper='1' effort='1' velocity='1'/>"),
            "limit-empty", 5, "both 1");
    remarks(MOVING("revolute", AXIS "\n<limit lower='0' upper='1' effort='0' velocity='1'/>"),
            "limit-zero-effort", 5, "0 N m");
    remarks(MOVING("prismatic", AXIS "\n<limit lower='0' upper='1' effort='1' velocity='0'/>"),
            "limit-zero-velocity", 5, "0 m/s");
    remarks(MOVING("revolute", AXIS "\n<limit lower='0' upper='1' effort='-1' velocity='1'/>"),
            "limit-negative", 5, "-1");
    remarks(MOVING("revolute", AXIS "\n<limit lower='-180' upper='180' effort='1' velocity='1'/>"),
            "limit-degrees", 5,
            "-180 to 180; they are in radians, not degrees: write -3.14159 to 3.14159");
    remarks(MOVING("continuous", AXIS "\n<mimic joint='x'/>"), "mimic-unknown", 5, "'x'");
    remarks(MOVING("continuous", AXIS "\n<mimic joint='jj'/>"), "mimic-unknown", 5,
            "correct the name"); /* not itself */
    remarks(MOVING("continuous", AXIS "\n<mimic joint=''/>"), "mimic-unknown", 5, "names no joint");
    remarks(MOVING("continuous", AXIS "\n<mimic joint='j'/>"), "mimic-cycle", 5,
            "mimics itself; name another");
    alone(ROBOT("<link name='a'/>\n" GOOD_LINK("b") GOOD_LINK("c")
                    JOINT("j", "continuous", "a", "b", AXIS)
                        JOINT("k", "continuous", "b", "c", AXIS "<mimic joint='jj'/>")),
          "mimic-unknown", 6, "'jj', which does not exist; did you mean 'j'?");
#define GEARED(inside) \
    ROBOT("<link name='a'/>\n" GOOD_LINK("b") JOINT("j", "continuous", "a", "b", AXIS) inside)
    alone(
        GEARED("<constraint name='g' type='gear'><term joint='jj' coefficient='1'/></constraint>"),
        "unknown-joint", 5, "no such joint; did you mean 'j'?");
    alone(GEARED("<constraint name='g' type='gears'/>"), "constraint-type", 5,
          "did you mean 'gear'?");
    alone(GEARED("<constraint name='g'/>"), "constraint-type", 5, "has no type; write distance");
    remarks(MOVING("fixed", "\n<mimic joint='x'/>"), "mimic-ignored", 5, "fixed");
    /* a ring */
    assert_int_equal(lint_(MOVING("continuous", AXIS "<mimic joint='j'/>"), NULL, __LINE__).count,
                     1);
    remarks(MOVING("revolut", ""), "joint-type", 4, "revolute");
    alone(MOVING("universal", AXIS "\n<soa axis2='0 0 1'/>"), "axis-parallel", 5, "(0 0 1)");
    alone(MOVING("planar", AXIS "\n<soa axis2='0 4 3'/>"), "axis-not-in-plane", 5,
          "cosine between them is 0.6");
    alone(MOVING("continuous", AXIS "\n<soa rotor_inertia='-1'/>"), "joint-negative", 5,
          "rotor_inertia=\"-1\"");
    alone(MOVING("continuous", AXIS "\n<dynamics damping='-1'/>"), "joint-negative", 5,
          "<dynamics damping=\"-1\">");
    assert_int_equal(
        lint_(MOVING("continuous", AXIS "<dynamics damping='-1' friction='-1'/>"
                                        "<soa friction_positive='-2' friction_negative='-2'/>"),
              "joint-negative", __LINE__)
            .times,
        4); /* all of them */
    alone(MOVING("spherical", "\n<soa rotor_inertia='1' rotor_model='exact'/>"), "soa-rotor-model",
          5, "is spherical");
    alone(MOVING("floating", "\n<soa stiffness='2'/>"), "soa-stiffness", 5, "stiffness 2");
    alone(MOVING("revolute", AXIS "\n<limit effort='1' velocity='1'/>"), "limit-missing", 5,
          "no lower and upper");
    alone(MOVING("revolute", AXIS "\n<limit lower='x' upper='0' effort='1' velocity='1'/>"),
          "bad-number", 5, "'x'");
    remarks(ROBOT("<link name='base'/>" GOOD_LINK("l1") GOOD_LINK("l2") GOOD_LINK("l3")
                      JOINT("j1", "continuous", "base", "l1", AXIS) JOINT(
                          "j2", "continuous", "l1", "l2", AXIS "<mimic joint='j1' multiplier='2'/>")
                          JOINT("j3", "continuous", "l2", "l3",
                                AXIS "<mimic joint='j2' multiplier='3'/>")),
            "mimic-chain", 7, "a multiple 6");
}

static void test_lint_words(void **state) {
    (void)state;
    remarks(GOOD_ONE("\n<dynamic damping='1'/>"), "unknown-element", 5, "did you mean <dynamics>");
    remarks(GOOD_ONE("\n<whatever/>"), "unknown-element", 5, "<whatever>");
    remarks(GOOD_ONE("\n<dynamics dampin='1'/>"), "unknown-attribute", 5, "did you mean 'damping'");
    remarks(GOOD_ONE("\n<origin XYZ='1 2 3'/>"), "unknown-attribute", 5, "did you mean 'xyz'");
    remarks(GOOD_ONE("\n<dynamics q='1'/>"), "unknown-attribute", 5,
            "known there: damping friction");
    remarks(GOOD_ONE("<origin xyz='1 2 3'/>\n<origin xyz='1 2 4'/>"), "duplicate-element", 5,
            "<origin>");
    remarks("<robot name='r' xmlns:xacro='x'>\n<link name='a'/><xacro:property name='b'/></robot>",
            "xacro", 2, "run xacro");
    remarks("<robot><link name='a'/></robot>", "missing-name", 1, "<robot>");
    remarks(CHILD("<visual><geometry><box size='1 1'/></geometry></visual>"), "bad-number", 4,
            "2 numbers");
    remarks(CHILD("<visual><geometry><cylinder radius='1'/></geometry></visual>"),
            "missing-attribute", 4, "length");
    remarks(CHILD("<visual><geometry><sphere radius='-1'/></geometry></visual>"), "shape-size", 4,
            "above 0");
    assert_int_equal(
        lint_(GOOD_ONE("\n<calibration rising='0'/><safety_controller k_velocity='1'/>"), NULL,
              __LINE__)
            .count,
        0);
}

/* Everything is told, not only the first; in line order (checked by lint_). */
static void test_lint_many(void **state) {
    (void)state;
    heard h =
        lint_(ROBOT(JOINT("j", "revolut", "a", "x", "<origin xyz='1'/>") LINK("a") LINK("a") JOINT(
                  "k", "revolute", "a", "b", "<axis xyz='0 0 0'/><limit lower='2' upper='l'/>")
                        LINK("b") JOINT("m", "continuous", "b", "a", "<mimic joint='n'/>")),
              "bad-number", __LINE__);
    assert_int_equal(h.times, 2);
    assert_in_range(h.level[SOA_LINT_ERROR], 7, 100);
}

static void make(const char *name) {
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static void test_lint_files(void **state) {
    (void)state;
#define SEEN(file) CHILD("<visual><geometry><mesh filename='" file "'/></geometry></visual>")
    remarks(SEEN("package://nowhere_at_all/m.stl"), "package-not-found", 4,
            "'nowhere_at_all' (1 mesh)");
    remarks(SEEN("m.stl"), "mesh-missing", 4, "m.stl");
    remarks(SEEN("file:///no/such/m.stl"), "mesh-missing", 4, "/no/such/m.stl");
    remarks(SEEN("http://localhost/m.stl"), "mesh-scheme", 4, "http");
    remarks(SEEN(""), "mesh-missing", 4, "names no file");
    /* pkg/m.stl beside the file; and a package.xml above it that names the package otherwise than
     * its folder. */
    make("pkg");
    make("pkg/urdf");
    write_file("pkg/m.stl", "solid");
    write_file("pkg/package.xml", "<package>\n <name> real_name\n</name></package>\n");
    heard h = lint_(SEEN("package://pkg/m.stl"), "mesh-missing", __LINE__);
    assert_int_equal(h.times, 0);
    remarks(SEEN("package://pkg/n.stl"), "mesh-missing", 4, "pkg/n.stl");
    static const struct {
        const char *mesh, *rule;
    } cases[] = {{SEEN("package://real_name/m.stl"), NULL},
                 {SEEN("package://pkg/m.stl"), NULL},
                 {SEEN("../m.stl"), NULL},
                 {SEEN("package://real_name/n.stl"), "mesh-missing"},
                 {SEEN("package://real/m.stl"), "package-not-found"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        soa_report report;
        heard found = {.rule = "package-not-found"}, missing = {.rule = "mesh-missing"};
        write_file("pkg/urdf/r.urdf", cases[i].mesh);
        assert_int_equal(
            soa_urdf_lint(path_of("pkg/urdf/r.urdf"), hear, &found, NULL, NULL, &report), SOA_OK);
        assert_int_equal(
            soa_urdf_lint(path_of("pkg/urdf/r.urdf"), hear, &missing, NULL, NULL, &report), SOA_OK);
        const char *rule;
        if (found.times) {
            rule = found.rule;
        } else if (missing.times) {
            rule = missing.rule;
        } else {
            rule = NULL;
        }
        if ((rule == NULL) != (cases[i].rule == NULL) ||
            (rule != NULL && strcmp(rule, cases[i].rule) != 0))
            fail_msg("%s: rule %s, expected %s", cases[i].mesh, rule != NULL ? rule : "none",
                     cases[i].rule != NULL ? cases[i].rule : "none");
    }
    static const char *const made[] = {"pkg/urdf/r.urdf", "pkg/urdf", "pkg/m.stl",
                                       "pkg/package.xml", "pkg"};
    for (int i = 0; i < 5; ++i)
        remove(path_of(made[i]));
}

/* --- robots as they are ----------------------------------------------------------------------- */

static void print_fault(void *user, const soa_lint *remark) {
    if (remark->level == SOA_LINT_ERROR)
        print_message("  %s:%d: %s: %s\n", (const char *)user, remark->line, remark->rule,
                      remark->text);
}

static void test_reference_models(void **state) {
    (void)state;
    const char *base = getenv("SOA_REFERENCE_DIR");
    if (base == NULL || base[0] == 0) {
        print_message("SOA_REFERENCE_DIR is not set: robots in the wild are not loaded\n");
        skip();
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/models", base);
    DIR *models = opendir(path);
    assert_non_null(models);
    int files = 0, bad = 0;
    for (struct dirent *entry; (entry = readdir(models)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".urdf") != 0) continue;
        snprintf(path, sizeof path, "%s/models/%s", base, entry->d_name);
        ++files;
        int nv[4] = {0, 0, 0, 0};
        for (int i = 0; i < 4; ++i) {
            const soa_model *model = NULL;
            soa_report report;
            soa_read_options options = {.floating = i & 1, .ideal = i >> 1};
            if (soa_urdf_read(path, &options, &model, NULL, &report) != SOA_OK) {
                print_message("refused (floating %d, ideal %d): %s\n", i & 1, i >> 1, report.text);
                ++bad;
                continue;
            }
            nv[i] = soa_model_nv(model);
            soa_model_free(model);
        }
        if (nv[1] != nv[0] + 6 || nv[3] != nv[2] + 6 || nv[2] < nv[0]) {
            print_message("%s: nv %d %d %d %d\n", entry->d_name, nv[0], nv[1], nv[2], nv[3]);
            ++bad;
        }
        int errors = -1, warnings = -1;
        soa_report report;
        if (soa_urdf_lint(path, print_fault, entry->d_name, &errors, &warnings, &report) !=
                SOA_OK ||
            errors != 0)
            ++bad;
        print_message("%-32s nv %3d, mimic %2d, %2d errors, %2d warnings\n", entry->d_name, nv[0],
                      nv[2] - nv[0], errors, warnings);
    }
    closedir(models);
    assert_in_range(files, 1, 10000);
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_link),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_joint_types),
        cmocka_unit_test(test_planar_axes),
        cmocka_unit_test(test_axis_normalised),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_limits_and_dynamics),
        cmocka_unit_test(test_mimic),
        cmocka_unit_test(test_inertial),
        cmocka_unit_test(test_fixed_merging),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_extension),
        cmocka_unit_test(test_transmission),
        cmocka_unit_test(test_xml_forms),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_refuse_structure),
        cmocka_unit_test(test_refuse_joints),
        cmocka_unit_test(test_refuse_numbers),
        cmocka_unit_test(test_refuse_inertials),
        cmocka_unit_test(test_refuse_xml),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_lint_silence),
        cmocka_unit_test(test_lint_no_urdf),
        cmocka_unit_test(test_lint_inertia),
        cmocka_unit_test(test_lint_tree),
        cmocka_unit_test(test_lint_joints),
        cmocka_unit_test(test_lint_words),
        cmocka_unit_test(test_lint_many),
        cmocka_unit_test(test_lint_files),
        cmocka_unit_test(test_reference_models),
    };
    return cmocka_run_group_tests_name("urdf", tests, make_folder, remove_folder);
}
