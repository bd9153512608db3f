/* test_urdf_shapes.c  visual shapes of URDF links: shapes, colours, meshes in packages, missing and
 * hostile files; in a scene. */
#include "scene.h"
#include "worlds.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/soa-shapes-XXXXXX";

static const char *put(const char *name, const char *text) {
    static char path[4][200];
    static int turn;
    char *p = path[turn = (turn + 1) % 4];
    snprintf(p, 200, "%s/%s", folder, name);
    FILE *file = fopen(p, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return p;
}

/* A tetrahedron with one edge of 1, one of 2, one of 3 along the axes. */
static const char tetrahedron[] =
    "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
static const char stl[] =
    "solid t\nfacet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\n"
    "endfacet\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1\nvertex 1 0 1\nvertex 0 1 1\nendloop\n"
    "endfacet\nendsolid t\n";

#define LINK(name, more)                                                                         \
    "<link name='" name "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' " \
    "ixz='0' iyz='0'/></inertial>" more "</link>"
#define JOINT(name, type, a, b)                                                          \
    "<joint name='" name "' type='" type "'><parent link='" a "'/><child link='" b       \
    "'/><origin xyz='0 0 1'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' " \
    "velocity='1'/></joint>"
#define VISUAL(shape, more)                                                            \
    "<visual><origin xyz='0.1 0.2 0.3' rpy='0 0 1.5707963267948966'/><geometry>" shape \
    "</geometry>" more "</visual>"

static const char robot[] =
    "<robot name='r'><material name='red'><color rgba='1 0 0 0.5'/></material>" LINK(
        "base", VISUAL("<box size='1 2 3'/>", "<material name='red'/>"))
        LINK("arm",
             VISUAL("<cylinder radius='0.5' length='4'/>",
                    "<material name='own'><color rgba='0 0.5 7 1'/></material>")
                 VISUAL("<sphere radius='0.25'/>", "<material name='own'/>") VISUAL(
                     "<capsule radius='0.1' length='1'/>",
                     "")) LINK("tool",
                               VISUAL("<mesh filename='t.obj' scale='0.1 0.1 -0.1'/>",
                                      "<material name='nobody'/>")
                                   VISUAL("<mesh filename='package://pack/meshes/t.stl'/>", ""))
            LINK("bad",
                 VISUAL("<mesh filename='missing.stl'/>",
                        "") VISUAL("<mesh filename='package://nowhere/t.stl'/>",
                                   "") VISUAL("<mesh filename='http://example.com/t.stl'/>",
                                              "") VISUAL("<mesh filename='broken.stl'/>", "")
                     VISUAL("<mesh/>", "") VISUAL("<mesh filename='notes.txt'/>", "") VISUAL(
                         "<mesh filename='.'/>", "") VISUAL("<box size='1 -2 3'/>", "")
                         VISUAL("<box size='1 nan 3'/>", "") VISUAL(
                             "<cone/>",
                             "") "<visual/>"
                                 "<collision><geometry><sphere radius='9'/></geometry></collision>")
                JOINT("turn", "revolute", "base", "arm") JOINT("glue", "fixed", "arm", "tool")
                    JOINT("slide", "prismatic", "arm", "bad") "</robot>";

static void shapes_and_colours(void **unused) {
    (void)unused;
    soa_urdf_shape_list list;
    soa_report report;
    const char *path = put("r.urdf", robot);
    if (soa_urdf_read_shapes(path, &list, &report)) fail_msg("%s", report.text);
    for (int i = 0; i < list.note_count; ++i)
        printf("  %s\n", list.notes[i]);
    assert_int_equal(list.count, 6);
    assert_int_equal(list.note_count, 10); /* meshes that are not there share one */
    assert_non_null(strstr(list.notes[4], "mesh '.' is a folder, a pipe or a device, not a file"));
    assert_non_null(strstr(list.notes[8], "1 mesh of package 'nowhere' is not found"));
    assert_non_null(strstr(list.notes[9], "mesh 'missing.stl' does not exist"));
    const soa_urdf_shape *s = list.shapes;
    assert_true(s[0].shape.type == SOA_SHAPE_BOX && !strcmp(s[0].link, "base"));
    near("half", s[0].shape.half[2], 1.5, 1e-15);
    assert_true(s[0].has_colour && s[0].colour[0] == 1 && s[0].colour[3] == 0.5);
    near("turned", s[0].place.R[3], 1, 1e-15);
    near("moved", s[0].place.p[1], 0.2, 1e-15);
    assert_true(s[1].shape.type == SOA_SHAPE_CYLINDER && s[1].shape.half[0] == 0.5 &&
                s[1].shape.half[2] == 2);
    assert_true(s[1].has_colour && s[1].colour[2] == 1); /* 7 is bounded */
    assert_true(s[2].shape.type == SOA_SHAPE_SPHERE && s[2].shape.radius == 0.25);
    assert_true(s[2].has_colour && s[2].colour[1] == 0.5); /* a material of another visual */
    assert_true(s[3].shape.type == SOA_SHAPE_CAPSULE && s[3].shape.half[2] == 0.5 &&
                !s[3].has_colour);
    for (int k = 4; k < 6; ++k) {
        assert_true(s[k].is_mesh && !strcmp(s[k].link, "tool") && !s[k].has_colour);
        const soa_shape *m = &s[k].shape;
        assert_true(m->face_count == (k == 4 ? 4 : 2) && m->vertex_count == (k == 4 ? 4 : 6));
        for (int f = 0; f <= m->face_count; ++f)
            assert_int_equal(m->face_start[f], 3 * f);
        for (int c = 0; c < 3 * m->face_count; ++c)
            assert_true(m->faces[c] >= 0 && m->faces[c] < m->vertex_count);
    }
    /* scaled, mirrored, and still seen from outside: the volume by the divergence theorem is
     * positive */
    const soa_shape *m = &s[4].shape;
    double volume = 0, low = 0;
    for (int f = 0; f < m->face_count; ++f) {
        const double *a = m->vertices + 3 * m->faces[3 * f],
                     *b = m->vertices + 3 * m->faces[3 * f + 1],
                     *c = m->vertices + 3 * m->faces[3 * f + 2];
        volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                   a[2] * (b[0] * c[1] - b[1] * c[0])) /
                  6;
        low = fmin(low, fmin(a[2], fmin(b[2], c[2])));
    }
    near("volume", volume, 1e-3, 1e-9);
    near("lowest", low, -0.3, 1e-7);
    soa_urdf_shape_list_free(&list);
    assert_int_equal(list.count, 0);
    soa_urdf_shape_list_free(&list);
}

/* Without any visual the collision shapes are drawn; from memory without a folder no mesh is looked
 * for. */
static void collision_instead(void **unused) {
    (void)unused;
    static const char text[] = "<robot name='r'>" LINK(
        "one", "<collision><geometry><box size='1 1 1'/></geometry></collision>"
               "<collision><geometry><mesh filename='t.obj'/></geometry></collision>") "</robot>";
    soa_urdf_shape_list list;
    soa_report report;
    OK(soa_urdf_parse_shapes(
        &(soa_urdf_source){.text = text, .length = sizeof text - 1, .name = "r"}, &list, &report));
    assert_true(list.count == 1 && !list.note_count);
    soa_urdf_shape_list_free(&list);
    OK(soa_urdf_parse_shapes(
        &(soa_urdf_source){
            .text = text, .length = sizeof text - 1, .name = "r", .directory = folder},
        &list, &report));
    assert_int_equal(list.count, 2);
    soa_urdf_shape_list_free(&list);
}

static void refused(void **unused) {
    (void)unused;
    soa_urdf_shape_list list;
    soa_report report;
    static const char bomb[] =
        "<!DOCTYPE r [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;'>]><robot name='&b;'/>";
    assert_true(soa_urdf_parse_shapes(
                    &(soa_urdf_source){.text = bomb, .length = sizeof bomb - 1, .name = "r"}, &list,
                    &report) != SOA_OK &&
                report.text[0]);
    assert_true(
        soa_urdf_parse_shapes(&(soa_urdf_source){.text = "<robot", .length = 6, .name = "r"}, &list,
                              &report) != SOA_OK &&
        report.text[0]);
    assert_int_equal(soa_urdf_read_shapes("/nowhere/at/all.urdf", &list, &report), SOA_E_FILE);
    assert_int_equal(soa_urdf_read_shapes(NULL, &list, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_urdf_parse_shapes(
                         &(soa_urdf_source){.text = bomb, .length = 1, .name = "r"}, NULL, NULL),
                     SOA_E_ARGUMENT);
}

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (; (text = strstr(text, word)) != NULL; ++text)
        ++count;
    return count;
}

/* In a scene: a link merged into its parent is drawn on the body that carries it, where it sits. */
static void in_a_scene(void **unused) {
    (void)unused;
    const char *path = put("r.urdf", robot);
    soa_report report;
    const soa_model *model = NULL;
    if (soa_urdf_read(path, NULL, &model, NULL, &report)) fail_msg("%s", report.text);
    view_scene *scene = NULL;
    const view_source source = {.kind = "model", .live = 1, .model = model, .spec = path};
    OK(view_scene_create(&source, &scene, &report));
    app_out out;
    out_start(&out, -1);
    OK(view_scene_json(scene, &out));
    out_char(&out, 0);
    assert_int_equal(occurrences(out.data, "\"role\": \"visual\""), 6);
    assert_int_equal(occurrences(out.data, "\"type\": \"mesh\""), 2);
    const char *tool = strstr(out.data, "{\"name\": \"tool\", \"group\"");
    assert_non_null(tool);
    double place[3];
    int body;
    assert_int_equal(
        sscanf(tool,
               "{\"name\": \"tool\", \"group\": \"tool\", \"body\": %d, \"place\": [%lf, %lf, %lf",
               &body, &place[0], &place[1], &place[2]),
        4);
    assert_true(body == soa_model_find_joint(model, "turn") && body > 0);
    near("merged link", place[2], 1.3, 1e-12);
    assert_non_null(strstr(out.data, "missing.stl"));
    out_free(&out);
    view_scene_free(scene);
    soa_model_free(model);

    /* as a part of a scenario: names with the part's, files from where the scenario is */
    const char *yaml =
        put("s.yaml", "duration: 1\nparts:\n  - {name: bot, model: r.urdf, place: [5, 0, 0]}\n");
    soa_scenario scenario;
    soa_world *world = NULL;
    if (soa_scenario_read(yaml, &scenario, &report) || soa_world_create(&scenario, &world, &report))
        fail_msg("%s", report.text);
    const view_source part = {.kind = "scenario", .live = 1, .scenario = &scenario, .world = world};
    OK(view_scene_create(&part, &scene, &report));
    out_start(&out, -1);
    OK(view_scene_json(scene, &out));
    out_char(&out, 0);
    assert_int_equal(occurrences(out.data, "\"role\": \"visual\""), 6);
    const char *base = strstr(out.data, "{\"name\": \"bot.base\", \"group\"");
    assert_non_null(base);
    assert_int_equal(
        sscanf(base,
               "{\"name\": \"bot.base\", \"group\": \"bot.base\", \"body\": %d, \"place\": [%lf",
               &body, place),
        2);
    assert_int_equal(body, 0);
    near("placed", place[0], 5.1, 1e-12);
    out_free(&out);
    view_scene_free(scene);
    soa_world_free(world);
    soa_scenario_free(&scenario);
}

static int make_files(void **unused) {
    (void)unused;
    char path[200];
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/pack", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/pack/meshes", folder);
    mkdir(path, 0700);
    put("t.obj", tetrahedron);
    put("pack/meshes/t.stl", stl);
    put("broken.stl", "this is no mesh");
    put("notes.txt", "no");
    return 0;
}
static int remove_files(void **unused) {
    (void)unused;
    static const char *const names[] = {"t.obj",
                                        "pack/meshes/t.stl",
                                        "pack/meshes",
                                        "pack",
                                        "broken.stl",
                                        "notes.txt",
                                        "r.urdf",
                                        "s.yaml",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (remove(path)) return -1;
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_and_colours),
                                       cmocka_unit_test(collision_instead),
                                       cmocka_unit_test(refused), cmocka_unit_test(in_a_scene)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
