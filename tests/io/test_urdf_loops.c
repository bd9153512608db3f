/* test_urdf_loops.c  loops in URDF files and shipped models: what is read, what is refused, what
 * the linter reports, and that the same machine described in four ways (URDF, shipped, linkage, C)
 * moves in the same way. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"
#include <unistd.h>

#define MASS                                                                             \
    "<inertial><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' " \
    "iyz='0'/></inertial>"
#define LINK(name) "<link name='" name "'>" MASS "</link>\n"
#define JOINT(name, type, parent, child, more)                                              \
    "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child \
    "'/>" more "</joint>\n"
#define AXIS "<axis xyz='0 0 1'/>"
/* Two arms of two joints each; lines 1 to 10, what is inside starts on line 11. */
#define ARMS(inside)                                                                     \
    "<robot name='arms'>\n<link name='base'/>\n" LINK("a") LINK("b") LINK("c") LINK("d") \
        JOINT("ja", "continuous", "base", "a", AXIS)                                     \
            JOINT("jb", "continuous", "a", "b", "<origin xyz='1 0 0'/>" AXIS)            \
                JOINT("jc", "continuous", "base", "c", "<origin xyz='0 1 0'/>" AXIS)     \
                    JOINT("jd", "spherical", "c", "d", "<origin xyz='1 0 0'/>") inside   \
        "</robot>\n"
#define ENDS "<link1 link='b' xyz='0 1 0'/><link2 link='d'/>"

static soa_constraint_list parse(const char *text, const soa_read_options *options,
                                 const soa_model **model) {
    soa_constraint_list list;
    soa_report report;
    if (soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text), .name = "t.urdf"},
                       options, model, &list, &report))
        fail_msg("refused: %s", report.text);
    return list;
}

static void kinds(void **unused) {
    (void)unused;
    const char *text =
        ARMS("<loop_joint name='u' type='universal'><link1 link='b' xyz='0 .5 0' rpy='0 0 "
             "1.5'/><link2 link='world' "
             "xyz='1 2 3'/>"
             "<axis xyz='0 2 0'/><soa axis2='0 0 3'/><dynamics damping='.5' "
             "friction='.25'/></loop_joint>\n"
             "<loop_joint name='h' type='helical'>" ENDS AXIS "<soa pitch='.01'/></loop_joint>\n"
             "<loop_joint name='p' type='planar'>" ENDS AXIS "</loop_joint>\n"
             "<loop_joint name='x' type='prismatic'>" ENDS
             "<soa stiffness='3' rest='.5' rotor_inertia='.25' gear_ratio='-7' "
             "rotor_model='exact' rotor_axis='0 1 0'/></loop_joint>\n"
             "<constraint name='bar' type='distance' value='.7'>" ENDS "</constraint>\n"
             "<constraint name='mesh' type='gear' value='.1'><term joint='jc' "
             "coefficient='2'/><term joint='ja' "
             "coefficient='-1'/>"
             "</constraint>\n"
             "<constraint name='ball' type='rolling' value='.2'>" ENDS "</constraint>\n"
             "<constraint name='skate' type='velocity' axes='link2'>" ENDS
             "<row linear='0 1 0'/><row angular='1 0 0' "
             "linear='0 0 .5'/></constraint>\n"
             "<constraint name='table' type='plane' value='.3'>" ENDS "</constraint>\n");
    const soa_model *m = NULL;
    soa_constraint_list list = parse(text, NULL, &m);
    assert_int_equal(9, list.count);
    const soa_constraint_def *d = list.defs;
    static const char *const names[9] = {"u",    "h",    "p",     "x",    "bar",
                                         "mesh", "ball", "skate", "table"};
    static const soa_constraint_kind kind[9] = {SOA_LOOP,    SOA_LOOP,     SOA_LOOP,
                                                SOA_LOOP,    SOA_DISTANCE, SOA_RATIO,
                                                SOA_ROLLING, SOA_VELOCITY, SOA_PLANE};
    for (int i = 0; i < 9; ++i) {
        assert_string_equal(names[i], d[i].name);
        assert_int_equal(kind[i], d[i].kind);
        if (kind[i] == SOA_RATIO) continue;
        assert_int_equal(soa_model_find_frame(m, "b"), d[i].frame1);
        assert_int_equal(i ? soa_model_find_frame(m, "d") : 0, d[i].frame2);
    }
    const soa_frame turned = soa_frame_from_rpy(0, 0, 1.5, 0, .5, 0);
    assert_memory_equal(&turned, &d[0].place1, sizeof turned);
    assert_true(d[0].place2.p[2] == 3 && d[0].joint == SOA_UNIVERSAL && d[0].axis[1] == 1 &&
                d[0].axis2[2] == 1);
    assert_true(d[0].damping == .5 && d[0].friction == .25);
    assert_true(d[1].joint == SOA_HELICAL && d[1].pitch == .01 && d[1].axis[2] == 1);
    assert_true(d[2].joint == SOA_PLANAR && d[2].axis2[0] == 1); /* as of <joint type="planar"> */
    /* URDF's default axis */
    assert_true(d[3].joint == SOA_PRISMATIC && d[3].axis[0] == 1 && d[3].axis[2] == 0);
    assert_true(d[3].stiffness == 3 && d[3].rest == .5 && d[3].rotor_inertia == .25 &&
                d[3].gear_ratio == -7);
    assert_true(d[3].rotor_model == SOA_ROTOR_EXACT && d[3].rotor_axis[1] == 1 &&
                d[2].gear_ratio == 1);
    assert_true(d[4].value == .7 && d[6].value == .2 && d[8].value == .3);
    assert_true(d[5].value == .1 && d[5].coordinate[0] == soa_model_find_joint(m, "jc") &&
                d[5].coefficient[0] == 2 && d[5].coordinate[1] == soa_model_find_joint(m, "ja") &&
                d[5].coefficient[1] == -1 && !d[5].coordinate[2]);
    assert_true(d[7].row_count == 2 && d[7].rows_in_frame2 && d[7].rows[0][4] == 1 &&
                d[7].rows[1][0] == 1 && d[7].rows[1][5] == .5 && d[7].rows[0][0] == 0);
    soa_constraints *all = NULL;
    soa_report report;
    assert_int_equal(SOA_OK, soa_constraints_from_list(&list, m, 1, &all, &report));
    assert_int_equal(4 + 5 + 3 + 5 + 1 + 1 + 3 + 2 + 1, soa_constraints_row_count(all));
    assert_string_equal("skate", soa_constraints_name(all, 7));
    soa_constraints_free(all);
    list.defs[3].frame2 = 99;
    assert_int_equal(SOA_E_NAME, soa_constraints_from_list(&list, m, 1, &all, &report));
    soa_constraint_list_free(&list);
    assert_true(list.count == 0 && list.defs == NULL);
    soa_constraint_list_free(NULL);
    soa_model_free(m);

    /* options: no friction; a floating base puts the links where they were */
    list = parse(text, &(soa_read_options){.ideal = true}, &m);
    assert_true(list.defs[0].damping == 0 && list.defs[0].friction == 0);
    soa_constraint_list_free(&list);
    soa_model_free(m);
    list = parse(text, &(soa_read_options){.floating = true}, &m);
    assert_true(list.defs[0].frame1 == soa_model_find_frame(m, "b") &&
                list.defs[5].coordinate[0] == soa_model_find_joint(m, "jc"));
    soa_constraint_list_free(&list);
    soa_model_free(m);
    list = parse(ARMS(""), NULL, &m);
    assert_true(list.count == 0);
    soa_constraint_list_free(&list);
    soa_model_free(m);

    /* the plain call reads the tree, and refuses the same files */
    assert_int_equal(
        SOA_OK,
        soa_urdf_parse(&(soa_urdf_source){.text = text, .length = strlen(text), .name = "t"}, NULL,
                       &m, NULL, &report));
    assert_int_equal(6, soa_model_nv(m));
    soa_model_free(m);
}

static void refusals(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        soa_status status;
        const char *words;
    } bad[] = {
        {"<loop_joint name='l' type='revolute'><link1 link='b'/>" AXIS "</loop_joint>", SOA_E_NAME,
         "names no link2"},
        {"<loop_joint name='l' type='revolute'><link1 link='q'/><link2 link='d'/></loop_joint>",
         SOA_E_NAME, "link1 'q'"},
        {"<loop_joint name='l' type='revolut'>" ENDS "</loop_joint>", SOA_E_JOINT,
         "did you mean 'revolute'?"},
        {"<loop_joint name='l'>" ENDS "</loop_joint>", SOA_E_JOINT, "is unknown"},
        {"<loop_joint type='revolute'>" ENDS "</loop_joint>", SOA_E_NAME, "has no name"},
        {"<loop_joint name='0123456789012345678901234567890X' type='revolute'>" ENDS
         "</loop_joint>",
         SOA_E_NAME, "longer than 31"},
        {"<loop_joint name='l' type='revolute'>" ENDS "<axis xyz='0 0 0'/></loop_joint>",
         SOA_E_JOINT, "no direction"},
        {"<loop_joint name='l' type='revolute'>" ENDS "<axis xyz='0 0 x'/></loop_joint>",
         SOA_E_FORMAT, "not a number"},
        {"<loop_joint name='l' type='universal'>" ENDS AXIS "</loop_joint>", SOA_E_JOINT,
         "second axis"},
        {"<loop_joint name='l' type='universal'>" ENDS AXIS "<soa axis2='0 0 1'/></loop_joint>",
         SOA_E_JOINT, "parallel"},
        {"<loop_joint name='l' type='helical'>" ENDS AXIS "</loop_joint>", SOA_E_JOINT, "pitch"},
        {"<loop_joint name='l' type='fixed'><link1 link='b'/><link2 link='b'/></loop_joint>",
         SOA_E_ARGUMENT, "two bodies"},
        {"<loop_joint name='l' type='fixed'><link1 link='base'/><link2 link='world'/></loop_joint>",
         SOA_E_ARGUMENT, "both frames are on body 0"},
        {"<loop_joint name='l' type='spherical'>" ENDS "<dynamics damping='-1'/></loop_joint>",
         SOA_E_NOT_FINITE, "negative"},
        {"<constraint name='l' type='distanse' value='1'>" ENDS "</constraint>", SOA_E_JOINT,
         "did you mean 'distance'?"},
        {"<constraint name='l' type='distance'>" ENDS "</constraint>", SOA_E_ARGUMENT,
         "'value' is missing"},
        {"<constraint name='l' type='distance' value='0'>" ENDS "</constraint>", SOA_E_ARGUMENT,
         "above 0"},
        {"<constraint name='l' type='rolling' value='-1'>" ENDS "</constraint>", SOA_E_ARGUMENT,
         "radius"},
        {"<constraint name='l' type='gear'/>", SOA_E_ARGUMENT, "without joints"},
        {"<constraint name='l' type='gear'><term joint='no' coefficient='1'/></constraint>",
         SOA_E_NAME, "no such joint"},
        {"<constraint name='l' type='gear'><term joint='jd' coefficient='1'/></constraint>",
         SOA_E_JOINT, "is spherical"},
        {"<constraint name='l' type='gear'><term joint='ja'/></constraint>", SOA_E_ARGUMENT,
         "'coefficient' is missing"},
        {"<constraint name='l' type='gear'><term joint='ja' coefficient='0'/></constraint>",
         SOA_E_ARGUMENT, "no coordinate"},
        {"<constraint name='l' type='gear'><term joint='ja' coefficient='1'/><term joint='jb' "
         "coefficient='1'/><term "
         "joint='jc' coefficient='1'/><term joint='ja' coefficient='1'/><term joint='ja' "
         "coefficient='1'/></constraint>",
         SOA_E_ARGUMENT, "more than 4"},
        {"<constraint name='l' type='velocity'>" ENDS "</constraint>", SOA_E_ARGUMENT, "no <row>"},
        {"<constraint name='l' type='velocity'>" ENDS "<row/></constraint>", SOA_E_ARGUMENT,
         "all zero"},
        {"<constraint name='l' type='velocity' axes='x'>" ENDS "<row linear='1 0 0'/></constraint>",
         SOA_E_ARGUMENT, "\"link1\" or \"link2\""},
        {"<constraint name='l' type='distance' value='1'>" ENDS
         "</constraint><loop_joint name='l' type='fixed'>" ENDS "</loop_joint>",
         SOA_E_NAME, "used twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char text[4096];
        snprintf(text, sizeof text, ARMS("%s\n"), bad[i].text);
        const soa_model *m = NULL;
        soa_report report;
        soa_constraint_list list = {7, NULL};
        for (int closed = 0; closed < 2; ++closed) {
            soa_status s = closed ? soa_urdf_parse(&(soa_urdf_source){.text = text,
                                                                      .length = strlen(text),
                                                                      .name = "t.urdf"},
                                                   NULL, &m, &list, &report)
                                  : soa_urdf_parse(&(soa_urdf_source){.text = text,
                                                                      .length = strlen(text),
                                                                      .name = "t.urdf"},
                                                   NULL, &m, NULL, &report);
            if (s != bad[i].status || m != NULL || !strstr(report.text, bad[i].words))
                fail_msg("case %zu: status %d, not %d: %s", i, s, bad[i].status, report.text);
            if (closed) assert_int_equal(0, list.count);
            if (report.line != 11) fail_msg("case %zu: line %d: %s", i, report.line, report.text);
        }
    }
}

/* --- the linter ------------------------------------------------------------------------------- */
typedef struct heard {
    char text[4096];
} heard;
static void hear(void *user, const soa_lint *remark) {
    heard *h = user;
    const size_t at = strlen(h->text);
    snprintf(h->text + at, sizeof h->text - at, "%d %c [%s] %s\n", remark->line,
             "NWE"[remark->level], remark -> rule, remark -> text);
}
static void lint(const char *text, const char *const *words, const char *never) {
    char path[] = "/tmp/soa_urdf_loops_XXXXXX";
    const int fd = mkstemp(path);
    heard h = {""};
    soa_report report;
    assert_true(fd >= 0);
    assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
    close(fd);
    const soa_status s = soa_urdf_lint(path, hear, &h, NULL, NULL, &report);
    unlink(path);
    if (s) fail_msg("%s", report.text);
    for (; *words; ++words)
        if (!strstr(h.text, *words)) fail_msg("'%s' was not said: %s", *words, h.text);
    if (never && strstr(h.text, never)) fail_msg("'%s' was said: %s", never, h.text);
}

static void remarks(void **unused) {
    (void)unused;
    /* closed at q = 0, moving: the square base, a, b, c, d; nothing to say but what is redundant */
    lint(ARMS("<loop_joint name='s' type='spherical'><link1 link='b' xyz='0 1 0'/><link2 "
              "link='d'/></loop_joint>\n"),
         (const char *const[]){"11 N [loop-redundant] 1 of 3 rows", NULL}, " W [loop");
    lint(ARMS("<loop_joint name='s' type='spherical'><link1 link='b' xyz='0 1.1 0'/><link2 "
              "link='d'/></loop_joint>\n"),
         (const char *const[]){"11 N [loop-open] loop_joint 's' is open by 0.1", NULL},
         "not-closable");
    lint(ARMS("<loop_joint name='s' type='spherical'><link1 link='b' xyz='0 9 0'/><link2 "
              "link='d'/></loop_joint>\n"),
         (const char *const[]){"11 W [loop-not-closable] loop_joint 's' is open by 8", NULL}, NULL);
    lint(ARMS("<loop_joint name='s' type='revolute'>" ENDS "<axis xyz='0 0 2'/></loop_joint>\n"),
         (const char *const[]){"11 W [axis-not-unit] loop_joint 's'", NULL}, NULL);
    lint(ARMS("<loop_joint name='s' type='revolute'>" ENDS "</loop_joint>\n"),
         (const char *const[]){"11 N [axis-missing] loop_joint 's'", NULL}, NULL);
    lint(ARMS("<loop_joint name='s' type='floating'>" ENDS "</loop_joint>\n"),
         (const char *const[]){"11 W [loop-free]", NULL}, NULL);
    lint(ARMS("<loop_joint name='s' type='fixed'>" ENDS
              "</loop_joint>\n<loop_joint name='t' type='fixed'>"
              "<link1 link='a'/><link2 link='world'/></loop_joint>\n"),
         (const char *const[]){"[loop-locked]", NULL}, NULL);
    lint(ARMS("<loop_joint name='s' type='spherical' typ='x'><link1 lnk='b' link='b'/><link2 "
              "link='d'/><aksis/>"
              "</loop_joint>\n<constraint name='g' type='gear'><term joint='ja' coefficient='1' "
              "ratio='2'/></constraint>\n"),
         (const char *const[]){
             "attribute 'typ' is not read; did you mean 'type'?", "attribute 'lnk'", "<aksis>",
             "12 N [unknown-attribute] constraint 'g', <term>: attribute 'ratio'", NULL},
         NULL);
    lint(ARMS("<loop_joint name='s' type='revolute'><link1 link='zz'/><link2 link='d' rpy='0 90 "
              "0'/></loop_joint>\n"),
         (const char *const[]){"11 E [unknown-link] loop_joint 's': link1 'zz'",
                               "11 W [rpy-degrees]", NULL},
         NULL);
    lint(ARMS("<loop_joint name='s' type='fixed'><link1 link='base'/><link2 "
              "link='world'/></loop_joint>\n"),
         (const char *const[]){"11 E [constraint] loop_joint \"s\": both frames", NULL},
         "not-loadable");
    lint(ARMS("<loop_jiont name='s'/>\n"),
         (const char *const[]){"did you mean <loop_joint>?", NULL}, NULL);
    /* two parents: told how */
    lint(ARMS(JOINT("again", "fixed", "b", "d", "")),
         (const char *const[]){"make it a <loop_joint>", NULL}, NULL);
}

/* --- one four-bar, described in three ways --------------------------------------------------- */
static void accelerate(const soa_model *m, const soa_constraint_list *list,
                       const char *const joints[3], const double angle[3], double qdd[3],
                       double *lambda) {
    soa_constraints *c = NULL;
    soa_work *w = NULL;
    soa_body_info b;
    double q[3], v[3] = {0}, a[3], tau[3];
    assert_int_equal(3, soa_model_nv(m));
    assert_int_equal(SOA_OK, soa_constraints_from_list(list, m, 1, &c, NULL));
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    for (int i = 0; i < 3; ++i) {
        soa_model_body(m, soa_model_find_joint(m, joints[i]), &b);
        q[b.q_index] = angle[i];
        tau[b.v_index] = 0.3 * (i + 1);
        v[b.v_index] = i == 0 ? 2 : 0;
    }
    double error[2];
    assert_int_equal(SOA_OK, soa_closed_assemble(c, w, 0, NULL, q, NULL));
    assert_int_equal(SOA_OK, soa_closed_project(c, w, 0, q, v, error));
    assert_int_equal(SOA_OK, soa_closed_fd(c, w, NULL, &(soa_input){.q = q, .v = v, .tau = tau}, a,
                                           lambda, NULL));
    for (int i = 0; i < 3; ++i) {
        soa_model_body(m, soa_model_find_joint(m, joints[i]), &b);
        qdd[i] = a[b.v_index];
    }
    soa_constraints_free(c);
    soa_work_free(w);
}

static const char *const bar_joints[3] = {"A", "B", "D"};
static const double bar_angles[3] = {0.4, -0.3, 0.1};

/* The machine of a model and its loops as a URDF file. */
static void write_urdf(const soa_model *m, const soa_constraint_def *loop, char *text,
                       size_t size) {
    size_t at = (size_t)snprintf(text, size, "<robot name='f'><link name='base'/>");
    for (int i = 0; i < 3; ++i) {
        soa_body_info b;
        soa_model_body(m, i + 1, &b);
        at += (size_t)snprintf(text + at, size - at,
                               "<link name='%s'><inertial><origin xyz='%.17g %.17g %.17g'/><mass "
                               "value='%.17g'/><inertia ixx='%.17g' "
                               "iyy='%.17g' izz='%.17g' ixy='%.17g' ixz='%.17g' "
                               "iyz='%.17g'/></inertial></link><joint name='%s' "
                               "type='continuous'><parent link='%s'/><child link='%s'/><origin "
                               "xyz='%.17g %.17g %.17g'/><axis xyz='0 -1 "
                               "0'/></joint>",
                               b.link, b.com[0], b.com[1], b.com[2], b.mass, b.inertia[0],
                               b.inertia[1], b.inertia[2], b.inertia[3], b.inertia[4], b.inertia[5],
                               b.joint, i == 1 ? "crank" : "base", b.link, b.placement.p[0],
                               b.placement.p[1], b.placement.p[2]);
    }
    snprintf(text + at, size - at,
             "<loop_joint name='C' type='revolute'><link1 link='coupler' xyz='%.17g 0 "
             "%.17g'/><link2 link='rocker' "
             "xyz='%.17g 0 %.17g'/><axis xyz='0 -1 0'/></loop_joint></robot>",
             loop->place1.p[0], loop->place1.p[2], loop->place2.p[0], loop->place2.p[2]);
}
static void by_urdf(const soa_model *m, const soa_constraint_def *loop, double qdd[3]) {
    char text[8192];
    double lambda[5];
    const soa_model *read = NULL;
    write_urdf(m, loop, text, sizeof text);
    soa_constraint_list closed = parse(text, NULL, &read);
    accelerate(read, &closed, bar_joints, bar_angles, qdd, lambda);
    soa_constraint_list_free(&closed);
    soa_model_free(read);
}

/* The same machine as a linkage that is cut at B, the coupler hanging on the rocker. */
static soa_linkage_tree *cut_at_b(const soa_model *m, const soa_constraint_def *loop) {
    soa_link_def link[3];
    soa_edge_def edge[4];
    soa_report report;
    for (int i = 0; i < 3; ++i) {
        soa_body_info b;
        soa_model_body(m, i + 1, &b);
        link[i] = soa_link_default(b.link);
        link[i].mass = b.mass;
        memcpy(link[i].com, b.com, sizeof b.com);
        memcpy(link[i].inertia, b.inertia, sizeof b.inertia);
        edge[i] = soa_edge_default(b.joint, i == 1, i + 1, SOA_REVOLUTE);
        edge[i].place1 = b.placement;
        memcpy(edge[i].joint.axis, b.axis, sizeof b.axis);
    }
    edge[1].use = SOA_EDGE_CUT;
    edge[3] = soa_edge_default("C", 2, 3, SOA_REVOLUTE);
    edge[3].place1 = loop->place1;
    edge[3].place2 = loop->place2;
    memcpy(edge[3].joint.axis, loop->axis, sizeof loop->axis);
    const soa_linkage_def def = soa_linkage_default("linkage", link, 3, edge, 4);
    soa_linkage_tree *tree = NULL;
    assert_int_equal(SOA_OK, soa_linkage_span(&def, &tree, &report));
    assert_int_equal(1, tree->loop_count);
    assert_true(tree->joints[3].reversed);
    return tree;
}
static void set_joint(const soa_model *m, const char *joint, double angle, double rate, double *q,
                      double *v) {
    soa_body_info b;
    soa_model_body(m, soa_model_find_joint(m, joint), &b);
    q[b.q_index] = angle;
    v[b.v_index] = rate;
}
/* The state of the shipped machine in the cut one: A and D as there; C is the relative angle of
 * coupler and rocker. */
static void carry_state(const soa_model *m, const soa_constraint_list *list, const soa_model *cut,
                        double *q, double *v) {
    soa_constraints *c = NULL;
    soa_work *w = NULL;
    soa_report report;
    const soa_constraint_def *d = list->defs;
    double q0[3] = {bar_angles[0], bar_angles[1], bar_angles[2]}, v0[3] = {2, 0, 0}, angle, rate;
    soa_loop_def C = {"C", 2, 3, d->place1, d->place2, soa_joint_default(SOA_REVOLUTE)};
    memcpy(C.joint.axis, d->axis, sizeof d->axis);
    assert_int_equal(SOA_OK, soa_constraints_from_list(list, m, 1, &c, &report));
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    assert_int_equal(SOA_OK, soa_closed_assemble(c, w, 0, NULL, q0, &report));
    assert_int_equal(SOA_OK, soa_closed_project(c, w, 0, q0, v0, NULL));
    assert_int_equal(SOA_OK, soa_kinematics(m, w, q0, v0, NULL));
    assert_int_equal(SOA_OK, soa_loop_coordinates(m, w, &C, &angle, &rate, NULL));
    set_joint(cut, "A", q0[0], v0[0], q, v);
    set_joint(cut, "D", q0[2], v0[2], q, v);
    set_joint(cut, "C", angle, rate, q, v);
    soa_constraints_free(c);
    soa_work_free(w);
}
static double *of_joint(const soa_model *m, const char *joint, double *v) {
    soa_body_info b;
    soa_model_body(m, soa_model_find_joint(m, joint), &b);
    return v + b.v_index;
}
/* B's torque acts as an effort of the cut joint, those of A and D as torques. */
static void by_linkage(const soa_model *m, const soa_constraint_list *list, double qdd[3]) {
    soa_linkage_tree *tree = cut_at_b(m, list->defs);
    const soa_model *cut = NULL;
    soa_constraints *c = NULL;
    soa_work *w = NULL;
    soa_report report;
    double q[3] = {0}, v[3] = {0}, tau[3] = {0}, a[3], effort = 0.6, angle, rate;
    assert_int_equal(SOA_OK, soa_model_create(&tree->model, &cut, &report));
    soa_constraint_def loop = soa_constraint_from_loop(tree->loops);
    const soa_constraint_list one = {1, &loop};
    assert_int_equal(SOA_OK, soa_constraints_from_list(&one, cut, 1, &c, &report));
    assert_int_equal(SOA_OK, soa_work_create(cut, &w));
    assert_int_equal(SOA_OK, soa_constraints_set_effort(c, 0, &effort));
    carry_state(m, list, cut, q, v);
    *of_joint(cut, "A", tau) = 0.3;
    *of_joint(cut, "D", tau) = 0.9;
    assert_int_equal(
        SOA_OK, soa_closed_fd(c, w, NULL, &(soa_input){.q = q, .v = v, .tau = tau}, a, NULL, NULL));
    assert_int_equal(SOA_OK, soa_kinematics(cut, w, q, v, a));
    qdd[0] = *of_joint(cut, "A", a);
    qdd[2] = *of_joint(cut, "D", a);
    assert_int_equal(SOA_OK, soa_loop_coordinates(cut, w, tree->loops, &angle, &rate, qdd + 1));
    soa_constraints_free(c);
    soa_work_free(w);
    soa_model_free(cut);
    soa_linkage_tree_free(tree);
}
static void four_bar(void **unused) {
    (void)unused;
    const soa_model *m = NULL;
    soa_constraint_list list;
    soa_report report;
    double shipped[3], read[3], linked[3], lambda[5];
    assert_int_equal(SOA_OK, soa_model_open("four-bar", NULL, &m, &list, &report));
    assert_int_equal(1, list.count);
    accelerate(m, &list, bar_joints, bar_angles, shipped, lambda);
    by_urdf(m, list.defs, read);
    by_linkage(m, &list, linked);
    printf("  shipped %.15g %.15g %.15g\n", shipped[0], shipped[1], shipped[2]);
    assert_true(relative(read, shipped, 3) <= 1e-12);
    assert_true(relative(linked, shipped, 3) <= 1e-11);
    soa_constraint_list_free(&list);
    soa_model_free(m);
}

/* A saved model is the tree alone; a list of loops is always set. */
static void saved_without_loops(void **unused) {
    (void)unused;
    const soa_model *m = NULL;
    soa_constraint_list list;
    soa_report report;
    char path[] = "/tmp/soa_urdf_loops_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(SOA_OK, soa_model_open("four-bar", NULL, &m, &list, &report));
    assert_int_equal(SOA_OK, soa_model_save(m, path, &report));
    soa_constraint_list_free(&list);
    soa_model_free(m);
    list.count = 5;
    assert_int_equal(SOA_OK, soa_model_open(path, NULL, &m, &list, &report));
    assert_int_equal(0, list.count);
    unlink(path);
    soa_model_free(m);
    list.count = 5;
    assert_int_equal(SOA_E_FILE, soa_model_open("/no/such.urdf", NULL, &m, &list, &report));
    assert_int_equal(0, list.count);
}

/* --- shipped ones against the reference ------------------------------------------------------- */
static void shipped(void **unused) {
    (void)unused;
    const soa_model *m = NULL;
    soa_constraint_list list;
    soa_report report;
    soa_constraints *c = NULL;
    soa_work *w = NULL;
    soa_closed_report closed;
    double qdd[7], g[15], error[2];
    assert_int_equal(SOA_OK, soa_model_open("andrews", NULL, &m, &list, &report));
    assert_int_equal(SOA_OK, soa_constraints_from_list(&list, m, 1, &c, &report));
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    /* The published start, its order beta Theta gamma Phi delta Omega epsilon; the spring does not
     * count at rest there */
    double q[7] = {-0.0617138900142764496, 0,
                   0.455279819163070380,   0.487364979543842550,
                   0.222668390165885885,   1.23054744454982119,
                   -0.222668390165885885};
    const double tau[7] = {33e-3}, expected[7] = {14222.4439199541139, -10666.8329399655854};
    assert_int_equal(SOA_OK,
                     soa_constraints_evaluate(c, w, &(soa_input){.q = q}, g, NULL, NULL, NULL));
    for (int i = 0; i < 15; ++i)
        assert_true(fabs(g[i]) <= 1e-15);
    assert_int_equal(
        SOA_OK, soa_closed_fd(c, w, NULL, &(soa_input){.q = q, .tau = tau}, qdd, NULL, &closed));
    assert_int_equal(6, closed.rank);
    printf("  andrews: accelerations at the start off by %.1e\n", relative(qdd, expected, 7));
    assert_true(relative(qdd, expected, 7) <= 1e-13);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_constraint_list_free(&list);
    soa_model_free(m);

    assert_int_equal(SOA_OK, soa_model_open("bricard", NULL, &m, &list, &report));
    assert_int_equal(SOA_OK, soa_constraints_from_list(&list, m, 1, &c, &report));
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    double p[5] = {0, 0, 0, 0, 0}, v[5] = {1, -1, 1, -1, 1};
    assert_int_equal(SOA_OK, soa_closed_project(c, w, 0, p, v, error));
    for (int i = 0; i < 5; ++i)
        assert_true(fabs(p[i]) <= 1e-15 && fabs(fabs(v[i]) - 1) <= 1e-14); /* closed; it moves so */
    assert_int_equal(SOA_OK,
                     soa_closed_fd(c, w, NULL, &(soa_input){.q = p, .v = v}, qdd, NULL, &closed));
    assert_int_equal(4, closed.rank);
    assert_int_equal(1, closed.redundant);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_constraint_list_free(&list);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(remarks),
                                       cmocka_unit_test(four_bar),
                                       cmocka_unit_test(saved_without_loops),
                                       cmocka_unit_test(shipped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
