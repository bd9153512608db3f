/* test_distance.c  distance and penetration of convex shapes against an independent computation.
 *
 * It enumerates features, in long double (__float128 if that is not enough), over all pairs,
 * triples and quadruples of vertices, whether or not they are edges or faces of the hulls. For
 * disjoint hulls: the smallest distance of vertex/vertex, vertex/edge, vertex/triangle and
 * edge/edge. For overlapping ones: the smallest overlap along all normals of triangles and products
 * of edges. Allowed: |error of d| <= 1e-9 |d| + 1e-14 (extent + offset), where extent is how far
 * the shapes reach from their frames and offset the distance between these. The points must lie on
 * their shapes and be d apart along the normal, and the normal must separate the shapes by d. For
 * any convex shape this is a proof in itself; for curved shapes it is the test. SOA_PAIRS in the
 * environment: how many pairs (make gjk-campaign: a million). */
#include "check.h"

#include "soa/collision.h"

#define L(x) ((long double)(x))
enum { VERTICES_MOST = 10, EDGES_MOST = 45, TRIANGLES_MOST = 120 };

#define NUMBER long double
#define NAME(x) x
#include "feature_judge.h"
#undef NUMBER
#undef NAME
/* The same again in quadruple precision: for edges so nearly parallel that long double cannot tell
 * their normal. */
__extension__ typedef __float128 quad;
#define NUMBER quad
#define NAME(x) x##_quad
#include "feature_judge.h"

/* ---- pairs ----------------------------------------------------------------------------------- */
typedef struct pair {
    soa_shape a, b;
    double va[VERTICES_MOST][3], vb[VERTICES_MOST][3];
    soa_frame A, B;
    const char *kind;
} pair;

static int whole(dice *d, int below) {
    return (int)roll(d, 0, below);
}
static void random_frame(dice *d, double reach, soa_frame *out) {
    const double axis[3] = {roll(d, -1, 1), roll(d, -1, 1), roll(d, -1, 1) + 1e-3};
    const double p[3] = {roll(d, -reach, reach), roll(d, -reach, reach), roll(d, -reach, reach)};
    *out = soa_frame_from_axis_angle(axis, roll(d, -3.2, 3.2), p);
}
static double log_roll(dice *d, double low, double high) {
    return pow(10, roll(d, low, high));
}
static void cloud(dice *d, int count, double size, soa_shape *s, double (*v)[3]) {
    *s = (soa_shape){.type = SOA_SHAPE_POLYTOPE, .vertex_count = count, .vertices = v[0]};
    for (int k = 0; k < count; ++k)
        roll_many(d, -size, size, 3, v[k]);
}
static void any_shape(dice *d, double size, soa_shape *s, double (*v)[3]) {
    switch (whole(d, 5)) {
    case 0: *s = (soa_shape){.type = SOA_SHAPE_SPHERE, .radius = size * roll(d, 0, 1)}; break;
    case 1:
        *s = (soa_shape){.type = SOA_SHAPE_CAPSULE,
                         .half = {0, 0, size * roll(d, 0, 1)},
                         .radius = size * roll(d, 0, 0.5)};
        break;
    case 2:
        *s =
            (soa_shape){.type = SOA_SHAPE_BOX,
                        .half = {size * roll(d, 0, 1), size * roll(d, 0, 1), size * roll(d, 0, 1)}};
        break;
    default: cloud(d, 1 + whole(d, 8), size, s, v);
    }
    if (whole(d, 4) == 0) s->radius = size * roll(d, 0, 0.3);
}
static void lattice(dice *d, int count, soa_shape *s, double (*v)[3]) {
    cloud(d, count, 1, s, v);
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 3; ++i)
            v[k][i] = whole(d, 4) - 1;
}
static void box_of_vertices(dice *d, soa_shape *s, double (*v)[3]) {
    double h[3];
    for (int i = 0; i < 3; ++i)
        h[i] = 1 + whole(d, 3);
    cloud(d, 8, 1, s, v);
    for (int k = 0; k < 8; ++k)
        for (int i = 0; i < 3; ++i)
            v[k][i] = k >> i & 1 ? h[i] : -h[i];
}

/* One of the two shapes, with its vertices. */
typedef struct side {
    soa_shape *shape;
    double (*v)[3];
} side;

/* How a pair of each kind is made from two random clouds at random places. */
static void as_they_are(dice *d, pair *q) {
    (void)d;
    (void)q;
}
static void any_type(dice *d, pair *q) {
    any_shape(d, 1, &q->a, q->va);
    any_shape(d, 1, &q->b, q->vb);
}
/* One or both flat; exactly, or tilted so that rounding thickens them. */
static void flat(dice *d, pair *q) {
    const side sides[2] = {{&q->a, q->va}, {&q->b, q->vb}};
    for (int s = 0; s <= whole(d, 2); ++s)
        for (int k = 0; k < sides[s].shape->vertex_count; ++k)
            sides[s].v[k][2] = 0.3 * whole(d, 2) * sides[s].v[0][0];
    if (whole(d, 3) == 0) {
        q->B = q->A;
        q->B.p[0] += roll(d, -2, 2);
        q->B.p[1] += roll(d, -2, 2);
    }
    if (whole(d, 2)) { /* in a plane that is no axis's */
        const double x = roll(d, -1, 1), y = roll(d, -1, 1);
        for (int s = 0; s < 2; ++s)
            for (int k = 0; k < sides[s].shape->vertex_count; ++k)
                sides[s].v[k][2] = x * sides[s].v[k][0] + y * sides[s].v[k][1];
    }
}
static void collinear(dice *d, pair *q) {
    const side sides[2] = {{&q->a, q->va}, {&q->b, q->vb}};
    for (int s = 0; s <= whole(d, 2); ++s) {
        const double e[3] = {roll(d, -1, 1), roll(d, -1, 1), whole(d, 2) * roll(d, -1, 1)};
        for (int k = 0; k < sides[s].shape->vertex_count; ++k) {
            const double t = roll(d, -1, 1);
            for (int i = 0; i < 3; ++i)
                sides[s].v[k][i] = t * e[i];
        }
    }
    if (whole(d, 3) == 0) {
        q->B = q->A;
        q->B.p[0] += roll(d, -2, 2);
    }
}
/* Some vertices again, as they are or off by an ulp. */
static void duplicate(dice *d, pair *q) {
    const side sides[2] = {{&q->a, q->va}, {&q->b, q->vb}};
    for (int s = 0; s < 2; ++s)
        for (int k = 1; k < sides[s].shape->vertex_count; ++k) {
            const int from = whole(d, k);
            if (whole(d, 2)) continue;
            memcpy(sides[s].v[k], sides[s].v[from], sizeof sides[s].v[k]);
            if (whole(d, 2)) sides[s].v[k][whole(d, 3)] *= 1 + 0x1p-52;
        }
}
static void size_ratio(dice *d, pair *q) {
    const double r = log_roll(d, -6, 6), reach = 1 + r;
    for (int k = 0; k < q->b.vertex_count; ++k)
        for (int i = 0; i < 3; ++i)
            q->vb[k][i] *= r;
    random_frame(d, reach, &q->B);
}
static void size_ratio_any_type(dice *d, pair *q) {
    any_shape(d, 1, &q->a, q->va);
    any_shape(d, log_roll(d, -6, 6), &q->b, q->vb);
}
/* As near as rounding lets them be, or nearly, or just overlapping. */
static void touching(dice *d, pair *q) {
    soa_distance out;
    random_frame(d, 3, &q->B);
    if (soa_shape_distance(&q->a, &q->A, &q->b, &q->B, NULL, &out) != SOA_OK) return;
    if (!(out.distance > 0)) return;
    double gap;
    if (whole(d, 3)) {
        gap = (whole(d, 2) ? 1 : -1) * log_roll(d, -18, -2);
    } else {
        gap = 0;
    }
    for (int i = 0; i < 3; ++i)
        q->B.p[i] += (out.distance - gap) * out.normal[i];
}
static void touching_any_type(dice *d, pair *q) {
    any_type(d, q);
    touching(d, q);
}
static void far_away(dice *d, pair *q) {
    random_frame(d, log_roll(d, 1, 7), &q->B);
}
static void both_far(dice *d, pair *q) {
    const double far = log_roll(d, 1, 7), x = roll(d, -far, far), y = roll(d, -far, far);
    q->A.p[0] += x;
    q->B.p[0] += x;
    q->A.p[1] += y;
    q->B.p[1] += y;
}
/* The same axes, lattice sizes and offsets: faces, edges and vertices meet exactly. */
static void parallel_faces(dice *d, pair *q) {
    box_of_vertices(d, &q->a, q->va);
    box_of_vertices(d, &q->b, q->vb);
    if (whole(d, 2)) q->A = soa_frame_identity();
    q->B = q->A;
    for (int i = 0; i < 3; ++i)
        q->B.p[i] += whole(d, 13) - 6;
}
/* Boxes turned against each other by next to nothing. */
static void all_but_parallel(dice *d, pair *q) {
    box_of_vertices(d, &q->a, q->va);
    box_of_vertices(d, &q->b, q->vb);
    const double axis[3] = {roll(d, -1, 1), roll(d, -1, 1), roll(d, -1, 1)};
    const double p[3] = {whole(d, 13) - 6, whole(d, 13) - 6, roll(d, -6, 6)};
    const soa_frame turn = soa_frame_from_axis_angle(axis, log_roll(d, -17, -4), p);
    q->B = soa_frame_compose(&q->A, &turn);
}
/* Needles and plates. */
static void thin(dice *d, pair *q) {
    const side sides[2] = {{&q->a, q->va}, {&q->b, q->vb}};
    for (int s = 0; s < 2; ++s) {
        const double f[3] = {log_roll(d, -6, 0), log_roll(d, -6, 0), 1};
        for (int k = 0; k < sides[s].shape->vertex_count; ++k)
            for (int i = 0; i < 3; ++i)
                sides[s].v[k][i] *= f[i];
    }
    random_frame(d, 0.5, &q->B);
}
static void on_a_lattice(dice *d, pair *q) {
    lattice(d, 1 + whole(d, 10), &q->a, q->va);
    lattice(d, 1 + whole(d, 10), &q->b, q->vb);
    q->A = q->B = soa_frame_identity();
    for (int i = 0; i < 3; ++i)
        q->B.p[i] = whole(d, 7) - 3;
}
/* One inside the other. */
static void deep(dice *d, pair *q) {
    random_frame(d, 0.2, &q->A);
    random_frame(d, 0.2, &q->B);
}

/* The kind of a pair is its seed modulo KINDS. */
static const struct {
    const char *name;
    void (*make)(dice *d, pair *q);
} kinds[] = {
    {"random", as_they_are},
    {"any type", any_type},
    {"flat", flat},
    {"collinear", collinear},
    {"duplicate", duplicate},
    {"size ratio", size_ratio},
    {"touching", touching},
    {"touching, any type", touching_any_type},
    {"far away", far_away},
    {"parallel faces", parallel_faces},
    {"both far from the origin", both_far},
    {"thin", thin},
    {"all but parallel", all_but_parallel},
    {"lattice", on_a_lattice},
    {"deep", deep},
    {"size ratio, any type", size_ratio_any_type},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The pair of a seed, made from the seed alone. */
static void make_pair(long seed, pair *q) {
    dice d = {(uint64_t)seed * 0x2545f4914f6cdd1du + 12345};
    roll(&d, 0, 1);
    memset(q, 0, sizeof *q);
    cloud(&d, 4 + whole(&d, 5), 1, &q->a, q->va);
    cloud(&d, 4 + whole(&d, 5), 1, &q->b, q->vb);
    random_frame(&d, 1.5, &q->A);
    random_frame(&d, 1.5, &q->B);
    q->kind = kinds[seed % KINDS].name;
    kinds[seed % KINDS].make(&d, q);
}

static double reach_of(const soa_shape *s) {
    double most = 0;
    if (s->type == SOA_SHAPE_POLYTOPE)
        for (int k = 0; k < s->vertex_count; ++k) {
            const double *x = s->vertices + 3 * k;
            most = fmax(most, sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
        }
    if (s->type == SOA_SHAPE_BOX)
        most = sqrt(s->half[0] * s->half[0] + s->half[1] * s->half[1] + s->half[2] * s->half[2]);
    if (s->type == SOA_SHAPE_CAPSULE) most = s->half[2];
    if (s->type == SOA_SHAPE_CYLINDER)
        most = sqrt(s->half[0] * s->half[0] + s->half[2] * s->half[2]);
    return most + s->radius;
}
static double offset_of(const pair *q) {
    const double x = q->B.p[0] - q->A.p[0], y = q->B.p[1] - q->A.p[1], z = q->B.p[2] - q->A.p[2];
    return sqrt(x * x + y * y + z * z);
}
static double far_of(const pair *q) { /* of world coordinates: what points are rounded to */
    double most = 0;
    for (int i = 0; i < 3; ++i)
        most = fmax(most, fmax(fabs(q->A.p[i]), fabs(q->B.p[i])));
    return most;
}

/* ---- one pair -------------------------------------------------------------------------------- */
/* As note; the first failures are named. */
static void judge(worst_case *w, const char *what, double error, long seed, const pair *q) {
    static int named;
    if (!(error <= 1) && named++ < 40)
        print_message("seed %ld (%s): %s, %g times what is allowed\n", seed, q->kind, what, error);
    note(w, error, seed);
}
typedef struct tally { /* worst errors over what is allowed */
    worst_case distance, depth, points, normal, warm;
    long apart, overlapping, again; /* again: judged in quadruple precision */
    int steps_most;
} tally;

/* Distance of a world point (less origin) from the surface of the core. */
static long double off_surface(const solid *s, const long double x[3]) {
    solid one = {.count = 1};
    memcpy(one.x[0], x, sizeof one.x[0]);
    return sqrtl(vertices_to(&one, s, INFINITY));
}

static void judge_pair(long seed, const pair *q, tally *t) {
    soa_distance out;
    soa_distance_cache cache = {0};
    const soa_status status = soa_shape_distance(&q->a, &q->A, &q->b, &q->B, &cache, &out);
    if (status != SOA_OK) {
        judge(&t->distance, soa_status_text(status), INFINITY, seed, q);
        return;
    }
    if (out.iterations > t->steps_most) t->steps_most = out.iterations;
    const double extent = reach_of(&q->a) + reach_of(&q->b),
                 allowed = 1e-9 * fabs(out.distance) + 1e-14 * (extent + offset_of(q));
    const double radii = q->a.radius + q->b.radius;
    solid a, b;
    solid_of(&q->a, &q->A, q->A.p, &a);
    solid_of(&q->b, &q->B, q->A.p, &b);
    const long double n[3] = {L(out.normal[0]), L(out.normal[1]), L(out.normal[2])};
    const long double core = L(out.distance) + L(radii), parted = parted_by(&a, &b, n);
    /* the normal: of unit length, and it parts the cores by what is said */
    judge(&t->normal, "normal", fabs((double)(sqrtl(dot(n, n)) - 1)) / 1e-14, seed, q);
    judge(&t->normal, "normal", (double)(fabsl(parted - core) / allowed), seed, q);
    double error = (double)(error_of(&a, &b, core, allowed) / allowed);
    if (!(error <= 0.05)) { /* is it the judge's? */
        solid_quad aq, bq;
        solid_of_quad(&q->a, &q->A, q->A.p, &aq);
        solid_of_quad(&q->b, &q->B, q->A.p, &bq);
        error = (double)(error_of_quad(&aq, &bq, core, allowed) / allowed);
        ++t->again;
    }
    if (core > allowed)
        ++t->apart;
    else
        ++t->overlapping;
    judge(core > allowed ? &t->distance : &t->depth, core > allowed ? "distance" : "depth", error,
          seed, q);
    /* the points: on their surfaces, distance * normal apart; the last to 1e-6 of d, for of two
     * faces turned against each other by less than that and equally deep one gives the normal and
     * the other may give the points */
    long double x[3], y[3], r[3];
    const double rounding = allowed + 1e-15 * far_of(q);
    for (int i = 0; i < 3; ++i) {
        x[i] = L(out.point_a[i]) - L(q->A.p[i]) + L(q->a.radius) * n[i];
        y[i] = L(out.point_b[i]) - L(q->A.p[i]) - L(q->b.radius) * n[i];
        r[i] = L(out.point_a[i]) - L(out.point_b[i]) - L(out.distance) * n[i];
    }
    judge(&t->points, "points", (double)(off_surface(&a, x) / rounding), seed, q);
    judge(&t->points, "points", (double)(off_surface(&b, y) / rounding), seed, q);
    judge(&t->points, "points", (double)(sqrtl(dot(r, r)) / (rounding + 1e-6 * fabs(out.distance))),
          seed, q);

    /* warm: at the same place, then a little farther, and with B and A changed */
    soa_distance again;
    soa_frame B = q->B;
    for (int step = 0; step < 2; ++step) {
        if (soa_shape_distance(&q->a, &q->A, &q->b, &B, NULL, &out) != SOA_OK ||
            soa_shape_distance(&q->a, &q->A, &q->b, &B, &cache, &again) != SOA_OK) {
            judge(&t->warm, "warm", INFINITY, seed, q);
            return;
        }
        judge(&t->warm, "warm", fabs(out.distance - again.distance) / (2 * allowed), seed, q);
        const soa_frame turn =
            soa_frame_from_rpy(1e-3, -2e-3, 1e-3, 1e-3 * extent, 2e-3 * extent, -1e-3 * extent);
        B = soa_frame_compose(&B, &turn);
    }
    if (soa_shape_distance(&q->b, &q->B, &q->a, &q->A, NULL, &again) != SOA_OK)
        again.distance = NAN;
    if (soa_shape_distance(&q->a, &q->A, &q->b, &q->B, NULL, &out) != SOA_OK) out.distance = NAN;
    judge(&t->warm, "warm", fabs(out.distance - again.distance) / (2 * allowed), seed, q);
}

static void pairs(void **unused) {
    (void)unused;
    const char *asked = getenv("SOA_PAIRS");
    const long count = asked ? strtol(asked, NULL, 10) : 10000, first = first_seed();
    tally t = {0}, kind[KINDS] = {0};
    const char *name[KINDS] = {0};
    for (long seed = first; seed < first + count; ++seed) {
        pair q;
        make_pair(seed, &q);
        judge_pair(seed, &q, &kind[seed % KINDS]);
        name[seed % KINDS] = q.kind;
    }
    for (int k = 0; k < KINDS; ++k) {
        const tally *o = &kind[k];
        if (!name[k]) continue;
        printf("  %-26s %8ld apart %8ld overlap; error / allowed: d %.1e depth %.1e points %.1e "
               "normal %.1e warm "
               "%.1e; steps %d\n",
               name[k], o->apart, o->overlapping, o->distance.error, o->depth.error,
               o->points.error, o->normal.error, o->warm.error, o->steps_most);
        t.apart += o->apart;
        t.overlapping += o->overlapping;
        t.again += o->again;
        worst_case *const to[] = {&t.distance, &t.depth, &t.points, &t.normal, &t.warm};
        const worst_case *const from[] = {&o->distance, &o->depth, &o->points, &o->normal,
                                          &o->warm};
        for (int m = 0; m < 5; ++m) {
            to[m]->count += from[m]->count;
            if (!(from[m]->error <= to[m]->error)) {
                to[m]->error = from[m]->error;
                to[m]->seed = from[m]->seed;
            }
        }
    }
    printf("  %ld pairs from seed %ld: %ld apart, %ld overlapping; %ld judged again in quadruple "
           "precision\n",
           count, first, t.apart, t.overlapping, t.again);
    conclude("distance, error over 1e-9 d + 1e-14 (extent + offset)", &t.distance, 1);
    conclude("depth, the same", &t.depth, 1);
    conclude("normal parts the shapes, the same", &t.normal, 1);
    conclude("points on the surfaces, d apart, the same", &t.points, 1);
    conclude("warm and swapped as cold, the same", &t.warm, 1);
}

/* ---- curved shapes and half spaces: the proof alone ------------------------------------------ */
/* Farthest reach of the grown shape along the unit n, less an origin. */
static long double reach_along(const soa_shape *s, const soa_frame *X, const double origin[3],
                               const long double n[3]) {
    long double at = 0, d[3], h = L(s->radius);
    for (int i = 0; i < 3; ++i) {
        at += n[i] * (L(X->p[i]) - L(origin[i]));
        d[i] = L(X->R[i]) * n[0] + L(X->R[3 + i]) * n[1] + L(X->R[6 + i]) * n[2];
    }
    if (s->type == SOA_SHAPE_CAPSULE) h += L(s->half[2]) * fabsl(d[2]);
    if (s->type == SOA_SHAPE_BOX)
        for (int i = 0; i < 3; ++i)
            h += L(s->half[i]) * fabsl(d[i]);
    if (s->type == SOA_SHAPE_CYLINDER)
        h += L(s->half[2]) * fabsl(d[2]) + L(s->half[0]) * hypotl(d[0], d[1]);
    if (s->type == SOA_SHAPE_POLYTOPE) {
        long double most = -INFINITY;
        for (int k = 0; k < s->vertex_count; ++k) {
            const long double x[3] = {L(s->vertices[3 * k]), L(s->vertices[3 * k + 1]),
                                      L(s->vertices[3 * k + 2])};
            most = fmaxl(most, dot(d, x));
        }
        h += most;
    }
    return at + h;
}
/* A beyond B along n; with the shapes' radii */
static long double gap_along(const pair *q, const long double n[3]) {
    const long double m[3] = {-n[0], -n[1], -n[2]};
    return -reach_along(&q->a, &q->A, q->A.p, m) - reach_along(&q->b, &q->B, q->A.p, n);
}
/* How far a world point is from the surface of the shape grown by nothing; polytopes: of their
 * hull. */
static long double off(const soa_shape *s, const soa_frame *X, const double origin[3],
                       const long double x[3]) {
    if (s->type != SOA_SHAPE_CYLINDER) {
        solid c;
        solid_of(s, X, origin, &c);
        return off_surface(&c, x);
    }
    long double u[3], d[3];
    for (int i = 0; i < 3; ++i)
        u[i] = x[i] - (L(X->p[i]) - L(origin[i]));
    for (int i = 0; i < 3; ++i)
        d[i] = L(X->R[i]) * u[0] + L(X->R[3 + i]) * u[1] + L(X->R[6 + i]) * u[2];
    return fabsl(fmaxl(hypotl(d[0], d[1]) - L(s->half[0]), fabsl(d[2]) - L(s->half[2])));
}
/* Greatest gap over all directions, by search from many: the negative depth of overlapping
 * shapes. */
static long double best_gap(const pair *q, dice *d) {
    long double best = -INFINITY, n[3] = {0};
    for (int start = 0; start < 1000; ++start) {
        const long double u[3] = {L(roll(d, -1, 1)), L(roll(d, -1, 1)), L(roll(d, -1, 1))};
        const long double length = sqrtl(dot(u, u)),
                          m[3] = {u[0] / length, u[1] / length, u[2] / length};
        const long double g = gap_along(q, m);
        if (g > best) {
            best = g;
            memcpy(n, m, sizeof m);
        }
    }
    long double step = 0.1L;
    for (int round = 0; round < 150 && step > 1e-10L; ++round) {
        int better = 0;
        for (int k = 0; k < 24; ++k) {
            long double m[3];
            for (int i = 0; i < 3; ++i)
                m[i] = n[i] + step * L(roll(d, -1, 1));
            const long double length = sqrtl(dot(m, m));
            for (int i = 0; i < 3; ++i)
                m[i] /= length;
            const long double g = gap_along(q, m);
            if (g > best) {
                best = g;
                memcpy(n, m, sizeof m);
                better = 1;
            }
        }
        if (!better) step *= 0.5L;
    }
    return best;
}

static void curved(void **unused) {
    (void)unused;
    worst_case proof = {0}, points = {0}, deepest = {0}, warm = {0};
    const char *asked = getenv("SOA_PAIRS");
    const long count = asked ? strtol(asked, NULL, 10) / 50 : 1500;
    long overlapping = 0;
    int steps = 0;
    for (long seed = first_seed(); seed < first_seed() + count; ++seed) {
        dice d = {(uint64_t)seed * 77 + 5};
        pair q = {.kind = "cylinder"};
        const double size = seed % 5 == 0 ? log_roll(&d, -4, 4) : 1;
        q.a = (soa_shape){.type = SOA_SHAPE_CYLINDER, .half = {roll(&d, 0, 1), 0, roll(&d, 0, 1)}};
        if (seed % 11 == 0) q.a.half[2 * (seed % 2)] = 0; /* a disc, a segment */
        if (seed % 3)
            any_shape(&d, size, &q.b, q.vb);
        else
            q.b = (soa_shape){.type = SOA_SHAPE_CYLINDER,
                              .half = {size * roll(&d, 0, 1), 0, size * roll(&d, 0, 1)}};
        random_frame(&d, 1, &q.A);
        random_frame(&d, 1 + size, &q.B);
        if (seed % 7 == 0) memcpy(q.B.R, q.A.R, sizeof q.A.R); /* parallel axes */
        if (seed % 4 == 0) {                                   /* touching, or nearly */
            soa_distance out;
            assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, NULL, &out), SOA_OK);
            const double gap = (whole(&d, 2) ? 1 : -1) * log_roll(&d, -10, -1) * (1 + size);
            for (int i = 0; i < 3; ++i)
                q.B.p[i] += (out.distance - gap) * out.normal[i];
        }
        soa_distance out, again;
        soa_distance_cache cache = {0};
        assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, &cache, &out), SOA_OK);
        assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, &cache, &again), SOA_OK);
        if (out.iterations > steps) steps = out.iterations;
        const double scale = fabs(out.distance) + reach_of(&q.a) + reach_of(&q.b);
        const long double n[3] = {L(out.normal[0]), L(out.normal[1]), L(out.normal[2])};
        judge(&proof, "normal", (double)fabsl(gap_along(&q, n) - L(out.distance)) / scale, seed,
              &q);
        judge(&warm, "warm", fabs(again.distance - out.distance) / scale, seed, &q);
        long double x[3], y[3], r[3];
        for (int i = 0; i < 3; ++i) {
            x[i] = L(out.point_a[i]) - L(q.A.p[i]) + L(q.a.radius) * n[i];
            y[i] = L(out.point_b[i]) - L(q.A.p[i]) - L(q.b.radius) * n[i];
            r[i] = L(out.point_a[i]) - L(out.point_b[i]) - L(out.distance) * n[i];
        }
        judge(&points, "points", (double)off(&q.a, &q.A, q.A.p, x) / scale, seed, &q);
        judge(&points, "points", (double)off(&q.b, &q.B, q.A.p, y) / scale, seed, &q);
        judge(&points, "points", (double)sqrtl(dot(r, r)) / scale, seed, &q);
        if (out.distance + q.a.radius + q.b.radius > 0) continue;
        ++overlapping;
        if (overlapping % 2) continue;
        judge(&deepest, "depth", (double)(best_gap(&q, &d) - L(out.distance)) / scale, seed, &q);
    }
    printf("  cylinders: %ld pairs from seed %ld, %ld overlapping, %d steps at most\n", count,
           first_seed(), overlapping, steps);
    conclude("cylinders: the normal parts them by d, over the size", &proof, 1e-9);
    conclude("cylinders: points on the surfaces, d apart, the same", &points, 1e-6);
    conclude("cylinders: no direction parts them sooner, the same", &deepest, 1e-6);
    conclude("cylinders: warm as cold, the same", &warm, 1e-9);
}

static void half_spaces(void **unused) {
    (void)unused;
    worst_case error = {0};
    for (long seed = first_seed(); seed < first_seed() + 2000; ++seed) {
        dice d = {(uint64_t)seed * 31 + 7};
        pair q = {.kind = "plane"};
        any_shape(&d, 1, &q.a, q.va);
        if (seed % 4 == 0)
            q.a = (soa_shape){.type = SOA_SHAPE_CYLINDER,
                              .half = {roll(&d, 0, 1), 0, roll(&d, 0, 1)}};
        q.b = (soa_shape){.type = SOA_SHAPE_PLANE};
        random_frame(&d, 2, &q.A);
        random_frame(&d, 2, &q.B);
        soa_distance out, back;
        assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, NULL, &out), SOA_OK);
        assert_int_equal(soa_shape_distance(&q.b, &q.B, &q.a, &q.A, NULL, &back), SOA_OK);
        const long double down[3] = {-L(q.B.R[2]), -L(q.B.R[5]), -L(q.B.R[8])};
        const long double expected = -reach_along(&q.a, &q.A, q.B.p, down);
        note(&error, (double)fabsl(expected - L(out.distance)), seed);
        note(&error, fabs(out.distance - back.distance), seed);
        for (int i = 0; i < 3; ++i) {
            note(&error, fabs(out.normal[i] - q.B.R[3 * i + 2]), seed);
            note(&error, fabs(out.normal[i] + back.normal[i]), seed);
            note(&error, fabs(out.point_a[i] - back.point_b[i]), seed);
            note(&error, fabs(out.point_a[i] - out.point_b[i] - out.distance * out.normal[i]),
                 seed);
        }
    }
    conclude("half spaces: distance, points, normal, both ways round", &error, 1e-14);
}

/* Caches that are old, of other shapes or rubbish change nothing but the time. */
static void strange_caches(void **unused) {
    (void)unused;
    for (long seed = first_seed(); seed < first_seed() + 300; ++seed) {
        dice d = {(uint64_t)seed};
        pair q;
        make_pair(seed, &q);
        soa_distance cold, odd;
        assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, NULL, &cold), SOA_OK);
        soa_distance_cache cache = {.count = whole(&d, 7) - 1};
        for (int k = 0; k < 4; ++k) {
            cache.a[k] = whole(&d, 14) - 2;
            cache.b[k] = whole(&d, 14) - 2;
        }
        roll_many(&d, -1, 1, 3, cache.direction);
        if (seed % 5 == 0) cache.direction[1] = NAN;
        assert_int_equal(soa_shape_distance(&q.a, &q.A, &q.b, &q.B, &cache, &odd), SOA_OK);
        assert_true(fabs(odd.distance - cold.distance) <=
                    1e-9 * fabs(cold.distance) +
                        2e-14 * (reach_of(&q.a) + reach_of(&q.b) + offset_of(&q)));
    }
}

static void bad_input(void **unused) {
    (void)unused;
    double v[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    soa_shape s = {.type = SOA_SHAPE_POLYTOPE, .vertex_count = 4, .vertices = v[0]},
              plane = {.type = SOA_SHAPE_PLANE};
    soa_frame X = soa_frame_identity(), Y = X;
    soa_distance out = {.distance = 42};
    Y.p[0] = 3;
    assert_int_equal(soa_shape_distance(NULL, &X, &s, &Y, NULL, &out), SOA_E_ARGUMENT);
    assert_int_equal(soa_shape_distance(&s, &X, &s, NULL, NULL, &out), SOA_E_ARGUMENT);
    assert_int_equal(soa_shape_distance(&s, &X, &s, &Y, NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_shape_distance(&plane, &X, &plane, &Y, NULL, &out), SOA_E_ARGUMENT);
    soa_shape none = s;
    none.vertex_count = 0;
    assert_int_equal(soa_shape_distance(&none, &X, &s, &Y, NULL, &out), SOA_E_ARGUMENT);
    none = s;
    none.type = (soa_shape_type)99;
    assert_int_equal(soa_shape_distance(&none, &X, &s, &Y, NULL, &out), SOA_E_ARGUMENT);
    Y.p[1] = NAN;
    assert_int_equal(soa_shape_distance(&s, &X, &s, &Y, NULL, &out), SOA_E_NOT_FINITE);
    Y.p[1] = 0;
    Y.R[4] = INFINITY;
    assert_int_equal(soa_shape_distance(&s, &X, &s, &Y, NULL, &out), SOA_E_NOT_FINITE);
    Y.R[4] = 1;
    /* a vertex that is not a number, wherever it is: refused, or not asked */
    for (int k = 0; k < 12; ++k) {
        const double keep = v[k / 3][k % 3];
        v[k / 3][k % 3] = NAN;
        const soa_status status = soa_shape_distance(&s, &X, &s, &Y, NULL, &out);
        assert_true(status == SOA_E_NOT_FINITE || status == SOA_OK ||
                    status == SOA_E_NO_CONVERGENCE);
        if (status != SOA_OK) assert_true(out.distance == 42 || isfinite(out.distance));
        v[k / 3][k % 3] = keep;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs), cmocka_unit_test(curved), cmocka_unit_test(half_spaces),
        cmocka_unit_test(strange_caches), cmocka_unit_test(bad_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
