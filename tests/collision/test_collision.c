/* test_collision.c  checks of shapes, bounds, broad phase, patches. */
#include "check.h"

#include "soa/collision.h"

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static int whole(dice *d, int below) {
    return (int)roll(d, 0, below);
}
static soa_frame random_frame(dice *d, double reach) {
    return soa_frame_from_rpy(roll(d, -3, 3), roll(d, -3, 3), roll(d, -3, 3),
                              roll(d, -reach, reach), roll(d, -reach, reach),
                              roll(d, -reach, reach));
}

/* A cube as a polytope with edges and faces. */
static const double CUBE[8][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                  {-1, -1, 1},  {1, -1, 1},  {-1, 1, 1},  {1, 1, 1}};
static const int CUBE_NEXT[24] = {1, 2, 4, 0, 3, 5, 3, 0, 6, 2, 1, 7,
                                  5, 6, 0, 4, 7, 1, 7, 4, 2, 6, 5, 3};
static const int CUBE_NEXT_START[9] = {0, 3, 6, 9, 12, 15, 18, 21, 24};
static const int CUBE_FACES[24] = {0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4,
                                   2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5};
static const int CUBE_FACE_START[7] = {0, 4, 8, 12, 16, 20, 24};
static const soa_shape cube = {.type = SOA_SHAPE_POLYTOPE,
                               .vertex_count = 8,
                               .vertices = CUBE[0],
                               .neighbour_start = CUBE_NEXT_START,
                               .neighbours = CUBE_NEXT,
                               .face_count = 6,
                               .face_start = CUBE_FACE_START,
                               .faces = CUBE_FACES};
static const soa_shape box = {.type = SOA_SHAPE_BOX, .half = {1, 1, 1}},
                       plane = {.type = SOA_SHAPE_PLANE},
                       ball = {.type = SOA_SHAPE_SPHERE, .radius = 0.5},
                       capsule = {.type = SOA_SHAPE_CAPSULE, .half = {0, 0, 1}, .radius = 0.2},
                       cylinder = {.type = SOA_SHAPE_CYLINDER, .half = {1, 0, 1}};

static void refused(soa_shape s, soa_status expected, const char *word) {
    soa_report report = {0};
    assert_int_equal(soa_shape_check(&s, &report), expected);
    if (!strstr(report.text, word))
        print_message("\"%s\" does not say \"%s\"\n", report.text, word);
    assert_non_null(strstr(report.text, word));
    assert_int_equal(soa_shape_check(&s, NULL), expected);
}
static void checks(void **unused) {
    (void)unused;
    const soa_shape good[] = {cube, box, plane, ball, capsule, cylinder};
    for (int i = 0; i < 6; ++i)
        assert_int_equal(soa_shape_check(&good[i], NULL), SOA_OK);
    assert_int_equal(soa_shape_check(NULL, NULL), SOA_E_ARGUMENT);
    soa_shape s = ball;
    s.type = (soa_shape_type)77;
    refused(s, SOA_E_ARGUMENT, "77");
    s = ball;
    s.radius = -1;
    refused(s, SOA_E_ARGUMENT, "radius");
    s = ball;
    s.radius = NAN;
    refused(s, SOA_E_NOT_FINITE, "radius");
    s = box;
    s.half[1] = -2;
    refused(s, SOA_E_ARGUMENT, "along y");
    s = cylinder;
    s.half[0] = INFINITY;
    refused(s, SOA_E_NOT_FINITE, "along x");
    s = capsule;
    s.half[2] = -1;
    refused(s, SOA_E_ARGUMENT, "along z");
    s = cube;
    s.vertex_count = 0;
    refused(s, SOA_E_ARGUMENT, "without vertices");
    s = cube;
    s.vertices = NULL;
    refused(s, SOA_E_ARGUMENT, "without vertices");
    s = cube;
    s.neighbours = NULL;
    refused(s, SOA_E_ARGUMENT, "neighbour");
    s = cube;
    s.faces = NULL;
    refused(s, SOA_E_ARGUMENT, "corners");
    int list[24];
    memcpy(list, CUBE_NEXT, sizeof list);
    list[5] = 8;
    s = cube;
    s.neighbours = list;
    refused(s, SOA_E_ARGUMENT, "neighbours");
    memcpy(list, CUBE_FACES, sizeof list);
    list[7] = -1;
    s = cube;
    s.faces = list;
    refused(s, SOA_E_ARGUMENT, "corners");
    int start[7] = {0, 4, 8, 12, 14, 20, 24};
    s = cube;
    s.face_start = start;
    refused(s, SOA_E_ARGUMENT, "corners");
    double v[8][3];
    memcpy(v, CUBE, sizeof v);
    v[6][2] = NAN;
    s = cube;
    s.vertices = v[0];
    refused(s, SOA_E_NOT_FINITE, "vertex 6");
}

/* The box touches the shape on all six sides: distances to half spaces there are 0. */
static void bounds(void **unused) {
    (void)unused;
    worst_case error = {0};
    const soa_shape all[] = {cube, box, ball, capsule, cylinder};
    for (long seed = first_seed(); seed < first_seed() + 200; ++seed) {
        dice d = {(uint64_t)seed};
        soa_shape s = all[seed % 5];
        if (seed % 3 == 0) s.radius = roll(&d, 0, 1);
        const soa_frame X = random_frame(&d, 5);
        const double margin = roll(&d, 0, 0.1);
        soa_bounds b;
        assert_int_equal(soa_shape_bounds(&s, &X, margin, &b), SOA_OK);
        for (int i = 0; i < 3; ++i)
            for (int high = 0; high < 2; ++high) { /* the half space beyond that side */
                soa_frame P = soa_frame_identity();
                const double out = high ? -1 : 1; /* its z axis points to the shape */
                memset(P.R, 0, sizeof P.R);
                P.R[3 * i + 2] = out;
                P.R[3 * ((i + 1) % 3)] = 1;
                P.R[3 * ((i + 2) % 3) + 1] = out;
                P.p[i] = high ? b.high[i] : b.low[i];
                soa_distance r;
                assert_int_equal(soa_shape_distance(&s, &X, &plane, &P, NULL, &r), SOA_OK);
                note(&error, fabs(r.distance - margin), seed);
            }
    }
    conclude("bounds touch the shape on every side", &error, 1e-14);
    soa_bounds b;
    soa_frame X = soa_frame_identity();
    X.p[2] = 0.5;
    assert_int_equal(soa_shape_bounds(&plane, &X, 0.1, &b), SOA_OK);
    assert_true(b.high[2] == 0.6 && b.low[2] < -1e299 && b.high[0] > 1e299 && b.low[1] < -1e299);
    assert_int_equal(soa_shape_bounds(&box, &X, NAN, &b), SOA_E_NOT_FINITE);
    X.p[1] = NAN;
    assert_int_equal(soa_shape_bounds(&box, &X, 0, &b), SOA_E_NOT_FINITE);
    assert_int_equal(soa_shape_bounds(NULL, &X, 0, &b), SOA_E_ARGUMENT);
}

static bool not_neighbours(void *user, int i, int j) {
    ++*(long *)user;
    return j - i != 1;
}
static void broad_phase(void **unused) {
    (void)unused;
    enum { MOST = 400, PAIRS = MOST * MOST / 2 };
    static soa_bounds b[MOST];
    static int order[MOST], pairs[PAIRS][2];
    static char met[MOST][MOST];
    for (long seed = first_seed(); seed < first_seed() + 30; ++seed) {
        dice d = {(uint64_t)seed};
        const int count = seed == 1 ? 0 : 1 + whole(&d, MOST);
        for (int i = 0; i < count; ++i)
            order[i] = i;
        double x[MOST][3];
        for (int i = 0; i < count; ++i)
            for (int k = 0; k < 3; ++k)
                x[i][k] = roll(&d, -5, 5) * (k == seed % 3 ? 3 : 1);
        for (int step = 0; step < 5; ++step) { /* moving a little, then all at once */
            for (int i = 0; i < count; ++i)
                for (int k = 0; k < 3; ++k) {
                    x[i][k] += step == 3 ? roll(&d, -9, 9) : roll(&d, -0.1, 0.1);
                    if (seed % 4 == 0) x[i][k] = floor(x[i][k]); /* ties, boxes that just touch */
                    b[i].low[k] = x[i][k] - 0.5;
                    b[i].high[k] = x[i][k] + 0.5;
                }
            for (int i = 0; i < count && i < 2; ++i) /* half spaces */
            {
                for (int k = 0; k < 3; ++k) {
                    b[i].low[k] = -1e300;
                    b[i].high[k] = k == 2 ? 0 : 1e300;
                }
            }
            int found = -1, expected = 0, wanted = 0;
            assert_int_equal(soa_bounds_pairs(b, count, order, NULL, NULL, pairs, PAIRS, &found),
                             SOA_OK);
            memset(met, 0, sizeof met);
            for (int k = 0; k < found; ++k) {
                assert_true(pairs[k][0] < pairs[k][1]);
                assert_int_equal(met[pairs[k][0]][pairs[k][1]]++, 0);
            }
            for (int i = 0; i < count; ++i)
                for (int j = i + 1; j < count; ++j) {
                    int meet = 1;
                    for (int k = 0; k < 3; ++k)
                        meet &= b[i].low[k] <= b[j].high[k] && b[j].low[k] <= b[i].high[k];
                    expected += meet;
                    wanted += meet && j - i != 1;
                    assert_int_equal(met[i][j], meet);
                }
            assert_int_equal(found, expected);
            long asked = 0;
            assert_int_equal(
                soa_bounds_pairs(b, count, order, not_neighbours, &asked, pairs, found / 2, &found),
                SOA_OK);
            assert_int_equal(asked, expected);
            assert_int_equal(found, wanted);
        }
    }
    int found;
    order[0] = 3;
    assert_int_equal(soa_bounds_pairs(b, 2, order, NULL, NULL, pairs, PAIRS, &found),
                     SOA_E_ARGUMENT);
    order[0] = 0;
    order[1] = 1;
    b[1].low[2] = NAN;
    assert_int_equal(soa_bounds_pairs(b, 2, order, NULL, NULL, pairs, PAIRS, &found),
                     SOA_E_NOT_FINITE);
    assert_int_equal(soa_bounds_pairs(NULL, 2, order, NULL, NULL, pairs, PAIRS, &found),
                     SOA_E_ARGUMENT);
}

/* ---- patches --------------------------------------------------------------------------------- */
/* How far a world point is outside the shape (a cylinder, a box or a cube, a plane, a ball, a
 * capsule). */
static double outside(const soa_shape *s, const soa_frame *X, const double p[3]) {
    double u[3], x[3];
    for (int i = 0; i < 3; ++i)
        u[i] = p[i] - X->p[i];
    for (int i = 0; i < 3; ++i)
        x[i] = X->R[i] * u[0] + X->R[3 + i] * u[1] + X->R[6 + i] * u[2];
    const double z = fabs(x[2]) - s->half[2];
    switch (s->type) {
    case SOA_SHAPE_PLANE: return x[2];
    case SOA_SHAPE_CYLINDER: return fmax(hypot(x[0], x[1]) - s->half[0], z);
    case SOA_SHAPE_SPHERE: return sqrt(dot(x, x)) - s->radius;
    case SOA_SHAPE_CAPSULE: return hypot(hypot(x[0], x[1]), z > 0 ? z : 0) - s->radius;
    default: return fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2]))) - 1;
    }
}
/* What holds for every patch; gives its count. */
static int patch_of(const soa_shape *a, const soa_frame *A, const soa_shape *b, const soa_frame *B,
                    double margin, soa_patch *p, double slack) {
    soa_distance d;
    assert_int_equal(soa_shape_patch(a, A, b, B, margin, NULL, &d, p), SOA_OK);
    assert_true(p->count >= 0 && p->count <= SOA_PATCH_MOST);
    if (!(d.distance <= margin)) {
        assert_int_equal(p->count, 0);
        return 0;
    }
    assert_true(p->count >= 1);
    double least = INFINITY;
    for (int k = 0; k < p->count; ++k) {
        const soa_patch_point *q = &p->points[k];
        assert_true(q->distance <= margin);
        least = fmin(least, q->distance);
        const double round =
            a->type == SOA_SHAPE_CYLINDER || b->type == SOA_SHAPE_CYLINDER ? 1e-6 : 1e-12;
        for (int i = 0; i < 3; ++i)
            assert_true(fabs(q->point_a[i] - q->point_b[i] - q->distance * p->normal[i]) <= round);
        assert_true(fabs(outside(a, A, q->point_a)) <= slack);
        assert_true(fabs(outside(b, B, q->point_b)) <= slack);
        for (int m = 0; m < k; ++m)
            assert_true(p->points[m].id != q->id);
    }
    assert_true(fabs(least - d.distance) <= 1e-6 * fmax(margin, -d.distance) + 1e-12);
    return p->count;
}

static void resting(void **unused) {
    (void)unused;
    soa_patch p, q;
    const soa_frame I = soa_frame_identity();
    const soa_shape *cubes[2] = {&box, &cube};
    for (int over = 0; over < 2; ++over) { /* a little above, a little below */
        const double gap = over ? 0.005 : -0.005;
        for (int k = 0; k < 2; ++k) {
            const soa_frame on = soa_frame_from_rpy(0, 0, 0.3, 0.2, 0.1, 1 + gap);
            assert_int_equal(patch_of(cubes[k], &on, &plane, &I, 0.01, &p, 1e-12), 4);
            assert_int_equal(patch_of(&plane, &I, cubes[k], &on, 0.01, &p, 1e-12), 4);
            for (int m = 0; m < 2; ++m) {
                const soa_frame same = soa_frame_from_rpy(0, 0, 0, 0, 0, 2 + gap),
                                turned = soa_frame_from_rpy(0, 0, 0.78, 0, 0, 2 + gap);
                const soa_frame aside = soa_frame_from_rpy(0, 0, 0, 0.5, 0.3, 2 + gap);
                assert_int_equal(patch_of(cubes[k], &same, cubes[m], &I, 0.01, &p, 1e-12), 4);
                assert_int_equal(patch_of(cubes[k], &turned, cubes[m], &I, 0.01, &p, 1e-12), 8);
                assert_int_equal(patch_of(cubes[k], &aside, cubes[m], &I, 0.01, &p, 1e-12), 4);
                for (int i = 0; i < 4; ++i)
                    assert_true(fabs(p.points[i].distance - gap) <= 1e-12);
                /* the area that they share: 1.5 x 1.7 */
                double low[2] = {9, 9}, high[2] = {-9, -9};
                for (int i = 0; i < 4; ++i) {
                    for (int j = 0; j < 2; ++j) {
                        low[j] = fmin(low[j], p.points[i].point_a[j]);
                        high[j] = fmax(high[j], p.points[i].point_a[j]);
                    }
                }
                assert_true(fabs(high[0] - low[0] - 1.5) <= 1e-12 &&
                            fabs(high[1] - low[1] - 1.7) <= 1e-12);
                /* a step later the points are the same ones */
                const soa_frame later =
                    soa_frame_from_rpy(1e-5, 2e-5, 1e-4, 0.5001, 0.3001, 2 + gap);
                assert_int_equal(patch_of(cubes[k], &later, cubes[m], &I, 0.01, &q, 1e-3), 4);
                for (int i = 0; i < 4; ++i) {
                    int known = 0;
                    for (int j = 0; j < 4; ++j)
                        known += p.points[i].id == q.points[j].id;
                    assert_int_equal(known, 1);
                }
                const soa_frame edge =
                    soa_frame_from_rpy(0.78539816339744828, 0, 0, 0.5, 0.1, 1 + sqrt(2) + gap);
                assert_int_equal(patch_of(cubes[k], &edge, cubes[m], &I, 0.01, &p, 1e-9), 2);
            }
            const soa_frame lying =
                soa_frame_from_rpy(1.5707963267948966, 0, 0.2, 0.1, 0.2, 1.2 + gap);
            assert_int_equal(patch_of(&capsule, &lying, cubes[k], &I, 0.01, &p, 1e-9), 2);
            assert_int_equal(patch_of(cubes[k], &I, &capsule, &lying, 0.01, &p, 1e-9), 2);
            const soa_frame up = soa_frame_from_rpy(0, 0, 0, 0.1, 0.2, 2 + gap),
                            roller = soa_frame_from_rpy(1.5707963267948966, 0, 0, 0, 0.3, 2 + gap);
            assert_true(patch_of(&cylinder, &up, cubes[k], &I, 0.01, &p, 0.08) >= 3);
            assert_int_equal(patch_of(&cylinder, &roller, cubes[k], &I, 0.01, &p, 1e-9), 2);
            const soa_frame ball_on = soa_frame_from_rpy(0, 0, 0, 0.1, 0.2, 1.5 + gap);
            assert_int_equal(patch_of(&ball, &ball_on, cubes[k], &I, 0.01, &p, 1e-9), 1);
        }
        const soa_frame up = soa_frame_from_rpy(0, 0, 0.3, 0, 0, 1 + gap),
                        lie = soa_frame_from_rpy(1.5707963267948966, 0, 0.3, 0, 0, 1 + gap);
        assert_int_equal(patch_of(&cylinder, &up, &plane, &I, 0.01, &p, 1e-9), 6);
        assert_int_equal(patch_of(&cylinder, &lie, &plane, &I, 0.01, &p, 1e-9), 2);
        const soa_frame flat = soa_frame_from_rpy(1.5707963267948966, 0, 0, 0, 0, 0.2 + gap),
                        beside = soa_frame_from_rpy(0, 0, 0, 0.4 + gap, 0, 0.5);
        assert_int_equal(patch_of(&capsule, &flat, &plane, &I, 0.01, &p, 1e-9), 2);
        assert_int_equal(patch_of(&capsule, &beside, &capsule, &I, 0.01, &p, 1e-9), 2);
        const soa_frame across = soa_frame_from_rpy(0.3, 0, 0, 0.4 + gap, 0, 0);
        assert_int_equal(patch_of(&capsule, &across, &capsule, &I, 0.01, &p, 1e-9), 1);
    }
}

/* Whatever meets whatever: what a patch promises holds. */
static void any_patch(void **unused) {
    (void)unused;
    const soa_shape *all[] = {&cube, &box, &ball, &capsule, &cylinder, &plane};
    long met = 0;
    for (long seed = first_seed(); seed < first_seed() + 4000; ++seed) {
        dice d = {(uint64_t)seed};
        const soa_shape *a = all[whole(&d, 6)], *b = all[whole(&d, 5)];
        const soa_frame A = random_frame(&d, 1.5), B = random_frame(&d, 1.5);
        soa_patch p;
        /* the ball at a capsule's upper end may be inside the capsule */
        const int ends = a->type == SOA_SHAPE_CAPSULE || b->type == SOA_SHAPE_CAPSULE;
        met += patch_of(a, &A, b, &B, 0.05, &p, ends ? 0.2 : 1e-6) > 0;
    }
    printf("  %ld patches\n", met);
    soa_patch p;
    soa_frame I = soa_frame_identity();
    assert_int_equal(soa_shape_patch(&box, &I, &box, &I, NAN, NULL, NULL, &p), SOA_E_NOT_FINITE);
    assert_int_equal(soa_shape_patch(&box, &I, &box, &I, 1, NULL, NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_shape_patch(&plane, &I, &plane, &I, 1, NULL, NULL, &p), SOA_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(checks), cmocka_unit_test(bounds),
                                       cmocka_unit_test(broad_phase), cmocka_unit_test(resting),
                                       cmocka_unit_test(any_patch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
