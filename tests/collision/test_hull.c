/* test_hull.c  hulls of points and of meshes: closed, convex, containing all points; distances of
 * large ones proved. */
#include "check.h"

#include "soa/io.h"
#include <unistd.h>

static const double *vertex(const soa_shape *s, int i) {
    return s->vertices + 3 * i;
}
static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* Unit normal (Newell) and place of a face. */
static double face_plane(const soa_shape *s, int face, double n[3]) {
    n[0] = n[1] = n[2] = 0;
    const int first = s->face_start[face], end = s->face_start[face + 1];
    const double *o = vertex(s, s->faces[first]);
    for (int k = first + 1; k + 1 < end; ++k) {
        const double *p = vertex(s, s->faces[k]), *q = vertex(s, s->faces[k + 1]);
        const double u[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]},
                     v[3] = {q[0] - o[0], q[1] - o[1], q[2] - o[2]};
        n[0] += u[1] * v[2] - u[2] * v[1];
        n[1] += u[2] * v[0] - u[0] * v[2];
        n[2] += u[0] * v[1] - u[1] * v[0];
    }
    const double length = sqrt(dot(n, n));
    for (int i = 0; i < 3; ++i)
        n[i] /= length;
    return dot(n, o);
}
/* How far a point is outside. */
static double outside(const soa_shape *s, const double x[3]) {
    double most = -INFINITY, n[3];
    for (int f = 0; f < s->face_count; ++f) {
        const double d = face_plane(s, f, n);
        most = fmax(most, dot(n, x) - d);
    }
    return most;
}
/* Every edge of a face is the other way round an edge of another; neighbours are just these; V - E
 * + F = 2. */
static void is_closed(const soa_shape *s) {
    int edges = 0;
    for (int f = 0; f < s->face_count; ++f)
        for (int k = s->face_start[f]; k < s->face_start[f + 1]; ++k) {
            const int a = s->faces[k],
                      b = s->faces[k + 1 < s->face_start[f + 1] ? k + 1 : s->face_start[f]];
            int there = 0, back = 0;
            for (int m = s->neighbour_start[a]; m < s->neighbour_start[a + 1]; ++m)
                there += s->neighbours[m] == b;
            for (int m = s->neighbour_start[b]; m < s->neighbour_start[b + 1]; ++m)
                back += s->neighbours[m] == a;
            assert_int_equal(there, 1);
            assert_int_equal(back, 1);
            ++edges;
        }
    assert_int_equal(s->neighbour_start[s->vertex_count], edges);
    assert_int_equal(s->vertex_count - edges / 2 + s->face_count, 2);
}
static void cloud(dice *d, int count, int on_sphere, double size, double *x) {
    for (int i = 0; i < count; ++i) {
        double *p = x + 3 * i, r;
        do {
            roll_many(d, -1, 1, 3, p);
            r = dot(p, p);
        } while (!(r < 1 && r > 0.01));
        for (int k = 0; k < 3; ++k)
            p[k] *= size / (on_sphere ? sqrt(r) : 1);
    }
}

static void cube(void **unused) {
    (void)unused;
    double x[8 + 6 + 12 + 20][3]; /* corners, middles of faces and edges, inner points, all twice */
    int n = 0;
    for (int a = -1; a <= 1; ++a) {
        for (int b = -1; b <= 1; ++b) {
            for (int c = -1; c <= 1; ++c) {
                x[n][0] = a;
                x[n][1] = b;
                x[n++][2] = 100 + c;
            }
        }
    }
    soa_shape s;
    soa_report report;
    assert_int_equal(soa_hull_from_points(x[0], n, &s, &report), SOA_OK);
    assert_int_equal(soa_shape_check(&s, &report), SOA_OK);
    assert_int_equal(s.vertex_count, 8);
    assert_int_equal(s.face_count, 6);
    for (int f = 0; f < 6; ++f)
        assert_int_equal(s.face_start[f + 1] - s.face_start[f], 4);
    for (int i = 0; i < 8; ++i)
        assert_int_equal(s.neighbour_start[i + 1] - s.neighbour_start[i], 3);
    is_closed(&s);
    for (int i = 0; i < n; ++i)
        assert_true(outside(&s, x[i]) <= 1e-13);
    assert_true(fabs(outside(&s, (double[]){0, 0, 100}) + 1) <= 1e-13); /* normals point outwards */
    soa_hull_free(&s);
    assert_null(s.vertices);
    soa_hull_free(NULL);
}

static void random_points(void **unused) {
    (void)unused;
    worst_case beyond = {0};
    for (long seed = first_seed(); seed < first_seed() + 60; ++seed) {
        dice d = {(uint64_t)seed};
        enum { MOST = 1000 };
        static double x[3 * MOST];
        const int count = 4 + (int)roll(&d, 0, seed % 4 ? 60 : MOST - 4);
        const double size = pow(10, roll(&d, -6, 6));
        cloud(&d, count, seed % 2 == 0, size, x);
        soa_shape s;
        soa_report report;
        assert_int_equal(soa_hull_from_points(x, count, &s, &report), SOA_OK);
        assert_int_equal(soa_shape_check(&s, &report), SOA_OK);
        is_closed(&s);
        for (int i = 0; i < count; ++i)
            note(&beyond, outside(&s, x + 3 * i) / size, seed);
        soa_hull_free(&s);
    }
    conclude("points beyond their hull, over its size", &beyond, 1e-13);
}

/* Large hulls: the points lie on them, d apart, and the normal parts all vertices by d: a proof,
 * without a second solver. With edges (climbing) as without (scanning). */
static void large(void **unused) {
    (void)unused;
    enum { MOST = 1000 };
    static double x[2][3 * MOST];
    worst_case gap = {0}, surface = {0}, scan = {0}, warm = {0};
    for (long seed = first_seed(); seed < first_seed() + 40; ++seed) {
        dice d = {(uint64_t)seed};
        soa_shape s[2];
        soa_frame X[2];
        for (int k = 0; k < 2; ++k) {
            cloud(&d, MOST, 1, 1, x[k]);
            assert_int_equal(soa_hull_from_points(x[k], MOST, &s[k], NULL), SOA_OK);
        }
        soa_distance_cache cache = {0};
        for (int step = 0; step < 10; ++step) {
            for (int k = 0; k < 2; ++k)
                X[k] = soa_frame_from_rpy(0.02 * step + (double)seed, 1 - k, 0.01 * step,
                                          1.5 * k + (seed % 3 ? 0.6 : 0.45) * k, 0.1 * step * k,
                                          0.2 * k);
            soa_distance r, again;
            assert_int_equal(soa_shape_distance(&s[0], &X[0], &s[1], &X[1], NULL, &r), SOA_OK);
            assert_int_equal(soa_shape_distance(&s[0], &X[0], &s[1], &X[1], &cache, &again),
                             SOA_OK);
            note(&warm, fabs(again.distance - r.distance), seed);
            double low = INFINITY, high = -INFINITY;
            for (int k = 0; k < 2; ++k) {
                double local[3], world[3];
                const double *p = k ? r.point_b : r.point_a;
                for (int i = 0; i < 3; ++i)
                    world[i] = p[i] - X[k].p[i];
                for (int i = 0; i < 3; ++i)
                    local[i] =
                        X[k].R[i] * world[0] + X[k].R[3 + i] * world[1] + X[k].R[6 + i] * world[2];
                note(&surface, fabs(outside(&s[k], local)), seed);
                for (int i = 0; i < s[k].vertex_count; ++i) {
                    const double *v = vertex(&s[k], i);
                    double h = 0;
                    for (int j = 0; j < 3; ++j)
                        h += r.normal[j] * (X[k].p[j] + dot(X[k].R + 3 * j, v));
                    if (k == 0) low = fmin(low, h);
                    if (k == 1) high = fmax(high, h);
                }
            }
            note(&gap, fabs(low - high - r.distance), seed);
            soa_shape bare[2] = {s[0], s[1]};
            for (int k = 0; k < 2; ++k)
                bare[k].neighbours = bare[k].neighbour_start = NULL;
            assert_int_equal(soa_shape_distance(&bare[0], &X[0], &bare[1], &X[1], NULL, &again),
                             SOA_OK);
            note(&scan, fabs(again.distance - r.distance), seed);
        }
        for (int k = 0; k < 2; ++k)
            soa_hull_free(&s[k]);
    }
    conclude("1,000 vertices: the normal parts them by d", &gap, 4e-14);
    conclude("1,000 vertices: the points are on the surfaces", &surface, 4e-14);
    conclude("1,000 vertices: climbing as scanning", &scan, 4e-14);
    conclude("1,000 vertices: warm as cold", &warm, 4e-14);
}

static void flat_and_bad(void **unused) {
    (void)unused;
    soa_shape s;
    soa_report report;
    double x[50][3];
    dice d = {7};
    for (int i = 0; i < 50; ++i) { /* a square in a slanting plane, with inner points */
        if (i < 4) {
            x[i][0] = i & 1 ? 1 : -1;
        } else {
            x[i][0] = roll(&d, -0.9, 0.9);
        }
        if (i < 4) {
            x[i][1] = i & 2 ? 1 : -1;
        } else {
            x[i][1] = roll(&d, -0.9, 0.9);
        }
        x[i][2] = 0.5 * x[i][0] + 0.25 * x[i][1] + 3;
    }
    assert_int_equal(soa_hull_from_points(x[0], 50, &s, &report), SOA_OK);
    assert_int_equal(soa_shape_check(&s, &report), SOA_OK);
    assert_int_equal(s.vertex_count, 4);
    assert_int_equal(s.face_count, 2);
    double n[3], m[3];
    face_plane(&s, 0, n);
    face_plane(&s, 1, m);
    assert_true(fabs(dot(n, m) + 1) <= 1e-14);
    soa_hull_free(&s);
    for (int i = 0; i < 50; ++i) {
        x[i][0] = 0.1 * i;
        x[i][1] = 0.3 * i;
        x[i][2] = 1 - 0.1 * i;
    }
    assert_int_equal(soa_hull_from_points(x[0], 50, &s, &report), SOA_OK);
    assert_int_equal(soa_shape_check(&s, &report), SOA_OK);
    assert_int_equal(s.vertex_count, 2);
    assert_int_equal(s.neighbours[0], 1);
    assert_int_equal(s.neighbours[1], 0);
    soa_hull_free(&s);
    for (int i = 0; i < 50; ++i)
        memcpy(x[i], x[0], sizeof x[i]);
    assert_int_equal(soa_hull_from_points(x[0], 50, &s, &report), SOA_OK);
    assert_int_equal(s.vertex_count, 1);
    soa_hull_free(&s);
    x[3][1] = NAN;
    assert_int_equal(soa_hull_from_points(x[0], 50, &s, &report), SOA_E_NOT_FINITE);
    assert_non_null(strstr(report.text, "3"));
    assert_int_equal(soa_hull_from_points(x[0], 0, &s, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_hull_from_points(NULL, 4, &s, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_hull_from_points(x[0], 4, NULL, NULL), SOA_E_ARGUMENT);
}

/* ---- meshes ---------------------------------------------------------------------------------- */
static char folder[] = "/tmp/soa-hull-XXXXXX";
static const char *put(const char *name, const char *text) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}
static const char STL[] =
    "solid t\n"
    "facet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 2 0\nvertex 1 0 0\nendloop\nendfacet\n"
    "facet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 4\nendloop\nendfacet\n"
    "facet normal -1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 4\nvertex 0 2 0\nendloop\nendfacet\n"
    "facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 2 0\nvertex 0 0 4\nendloop\nendfacet\n"
    "endsolid t\n";
static const char OBJ[] = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 4\nv 0.1 0.1 0.1\nf 1 3 2\nf 1 2 4\nf "
                          "1 4 3\nf 2 3 4\nf 1 2 5\n";
static const char DAE[] =
    "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
    "version=\"1.4.1\"><asset>"
    "<unit name=\"meter\" "
    "meter=\"1\"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id=\"g\"><mesh>"
    "<source id=\"p\"><float_array id=\"a\" count=\"12\">0 0 0 1 0 0 0 2 0 0 0 "
    "4</float_array><technique_common>"
    "<accessor source=\"#a\" count=\"4\" stride=\"3\"><param name=\"X\" type=\"float\"/><param "
    "name=\"Y\" "
    "type=\"float\"/>"
    "<param name=\"Z\" type=\"float\"/></accessor></technique_common></source><vertices "
    "id=\"v\"><input "
    "semantic=\"POSITION\" source=\"#p\"/></vertices><triangles count=\"4\"><input "
    "semantic=\"VERTEX\" source=\"#v\" "
    "offset=\"0\"/><p>0 2 1 0 1 3 0 3 2 1 2 "
    "3</p></triangles></mesh></geometry></library_geometries>"
    "<library_visual_scenes><visual_scene id=\"s\"><node id=\"n\"><translate>10 0 "
    "0</translate><instance_geometry "
    "url=\"#g\"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene "
    "url=\"#s\"/></scene></COLLADA>";

static void is_tetrahedron(const soa_shape *s, double shift) {
    assert_int_equal(soa_shape_check(s, NULL), SOA_OK);
    assert_int_equal(s->vertex_count, 4);
    assert_int_equal(s->face_count, 4);
    is_closed(s);
    const double corner[4][3] = {{0, 0, 0}, {0.001, 0, 0}, {0, 0.002, 0}, {0, 0, 0.004}};
    for (int k = 0; k < 4; ++k) {
        int met = 0;
        for (int i = 0; i < 4; ++i) {
            const double *v = vertex(s, i), e[3] = {v[0] - shift - corner[k][0],
                                                    v[1] - corner[k][1], v[2] - corner[k][2]};
            met += sqrt(dot(e, e)) <= 1e-9;
        }
        assert_int_equal(met, 1);
    }
}
static void meshes(void **unused) {
    (void)unused;
    const double milli[3] = {1e-3, 1e-3, 1e-3};
    soa_shape s;
    soa_report report;
    assert_non_null(mkdtemp(folder));
    const struct {
        const char *name, *text;
        double shift;
    } file[] = {{"t.stl", STL, 0}, {"t.obj", OBJ, 0}, {"t.dae", DAE, 0.01}};
    for (int k = 0; k < 3; ++k) {
        const char *path = put(file[k].name, file[k].text);
        const soa_status status = soa_hull_from_mesh(path, milli, &s, &report);
        if (status) print_message("%s\n", report.text);
        assert_int_equal(status, SOA_OK);
        is_tetrahedron(&s, file[k].shift);
        soa_hull_free(&s);
        assert_int_equal(soa_hull_from_mesh(path, NULL, &s, &report), SOA_OK);
        soa_hull_free(&s);
        assert_int_equal(soa_hull_from_mesh(path, (double[]){1, 0, 1}, &s, &report),
                         SOA_E_ARGUMENT);
        remove(path);
    }
    const char *path = put("bad.stl", "this is no mesh");
    assert_int_equal(soa_hull_from_mesh(path, NULL, &s, &report), SOA_E_FORMAT);
    assert_non_null(strstr(report.text, "bad.stl"));
    remove(path);
    assert_int_equal(soa_hull_from_mesh("/nowhere/at/all.stl", NULL, &s, &report), SOA_E_FILE);
    assert_non_null(strstr(report.text, "all.stl"));
    assert_int_equal(soa_hull_from_mesh(NULL, NULL, &s, &report), SOA_E_ARGUMENT);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cube), cmocka_unit_test(random_points),
                                       cmocka_unit_test(large), cmocka_unit_test(flat_and_bad),
                                       cmocka_unit_test(meshes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
