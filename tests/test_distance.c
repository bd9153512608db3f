/* test_distance.c  distance and penetration of convex shapes against an independent judge.
 *
 * The judge enumerates features, in long double, over all pairs, triples and quadruples of vertices without asking which of
 * them are edges or faces of the hulls: of disjoint hulls the least distance of vertex/vertex, vertex/edge, vertex/triangle
 * and edge/edge; of overlapping ones the least overlap along all normals of triangles and products of edges.
 * Allowed: |error of d| <= 1e-9 |d| + 1e-14 (extent + offset), where extent is how far the shapes reach from their frames
 * and offset the distance of these.  The points must lie on their shapes and be d apart along the normal, and the normal
 * must part the shapes by d: for any convex shape that is a proof of its own, and for curved ones it is the test.
 * SOA_PAIRS in the environment: how many pairs (make gjk-campaign: a million).                                       */
#include "check.h"

#include "soa/collision.h"

#define L(x) ((long double)(x))
enum { VERTICES_MOST = 10, EDGES_MOST = 45, TRIANGLES_MOST = 120 };

static long double dot(const long double a[3], const long double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static void cross(const long double a[3], const long double b[3], long double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}
static void minus(const long double a[3], const long double b[3], long double c[3]) {
    for (int i = 0; i < 3; ++i) c[i] = a[i] - b[i];
}

/* ---- the judge ----------------------------------------------------------------------------------------------------- */
typedef struct solid { /* the core's vertices in the world, less an origin near both */
    int count;
    long double x[VERTICES_MOST][3];
    int edges, edge[EDGES_MOST][2], triangles, triangle[TRIANGLES_MOST][3];
    long double n[TRIANGLES_MOST][3], nn[TRIANGLES_MOST], along[EDGES_MOST][3], ll[EDGES_MOST];
} solid;

static void solid_features(solid *s) {
    s->edges = s->triangles = 0;
    for (int i = 0; i < s->count; ++i)
        for (int j = i + 1; j < s->count; ++j) {
            const int e = s->edges++;
            s->edge[e][0] = i, s->edge[e][1] = j;
            minus(s->x[j], s->x[i], s->along[e]);
            s->ll[e] = dot(s->along[e], s->along[e]);
            for (int k = j + 1; k < s->count; ++k) {
                long double f[3];
                const int t = s->triangles++;
                s->triangle[t][0] = i, s->triangle[t][1] = j, s->triangle[t][2] = k;
                minus(s->x[k], s->x[i], f);
                cross(s->along[e], f, s->n[t]);
                s->nn[t] = dot(s->n[t], s->n[t]);
            }
        }
}
static void solid_of(const soa_shape *shape, const soa_frame *pose, const double origin[3], solid *s) {
    double local[VERTICES_MOST][3] = {{0}};
    s->count = 1;
    if (shape->type == SOA_SHAPE_CAPSULE) {
        s->count = 2;
        local[0][2] = -shape->half[2], local[1][2] = shape->half[2];
    } else if (shape->type == SOA_SHAPE_BOX) {
        s->count = 8;
        for (int k = 0; k < 8; ++k)
            for (int i = 0; i < 3; ++i) local[k][i] = k >> i & 1 ? shape->half[i] : -shape->half[i];
    } else if (shape->type == SOA_SHAPE_POLYTOPE) {
        s->count = shape->vertex_count;
        assert_true(s->count <= VERTICES_MOST);
        memcpy(local, shape->vertices, (size_t)s->count * sizeof *local);
    }
    for (int k = 0; k < s->count; ++k)
        for (int i = 0; i < 3; ++i) {
            s->x[k][i] = L(pose->p[i]) - L(origin[i]);
            for (int j = 0; j < 3; ++j) s->x[k][i] += L(pose->R[3 * i + j]) * L(local[k][j]);
        }
    solid_features(s);
}

/* least squared distance of a vertex of a to a vertex, edge or triangle of b */
static long double vertices_to(const solid *a, const solid *b, long double best) {
    for (int i = 0; i < a->count; ++i) {
        const long double *p = a->x[i];
        long double u[3], v[3], c[3];
        for (int j = 0; j < b->count; ++j) {
            minus(p, b->x[j], u);
            const long double d = dot(u, u);
            if (d < best) best = d;
        }
        for (int e = 0; e < b->edges; ++e) {
            minus(p, b->x[b->edge[e][0]], u);
            const long double t = dot(u, b->along[e]);
            if (!(t > 0 && t < b->ll[e])) continue;
            for (int k = 0; k < 3; ++k) c[k] = u[k] - b->along[e][k] * (t / b->ll[e]);
            const long double d = dot(c, c);
            if (d < best) best = d;
        }
        for (int t = 0; t < b->triangles; ++t) {
            minus(p, b->x[b->triangle[t][0]], u);
            const long double h = dot(u, b->n[t]), d = h * h;
            if (!(d < best * b->nn[t])) continue;
            int inside = 1;
            for (int k = 0; k < 3 && inside; ++k) {
                const long double *q = b->x[b->triangle[t][k]], *r = b->x[b->triangle[t][(k + 1) % 3]];
                long double e[3];
                minus(r, q, e);
                minus(p, q, v);
                cross(e, v, c);
                inside = dot(c, b->n[t]) >= 0;
            }
            if (inside) best = d / b->nn[t];
        }
    }
    return best;
}
static long double edges_to(const solid *a, const solid *b, long double best) {
    for (int e = 0; e < a->edges; ++e)
        for (int f = 0; f < b->edges; ++f) {
            long double r[3], n[3];
            cross(a->along[e], b->along[f], n);
            const long double nn = dot(n, n);
            minus(b->x[b->edge[f][0]], a->x[a->edge[e][0]], r);
            const long double h = dot(r, n), d = h * h;
            if (!(d < best * nn)) continue;
            long double c[3];
            cross(r, b->along[f], c);
            const long double s = dot(c, n);
            cross(r, a->along[e], c);
            const long double t = dot(c, n);
            if (s > 0 && s < nn && t > 0 && t < nn) best = d / nn;
        }
    return best;
}
static long double judge_distance(const solid *a, const solid *b) {
    return sqrtl(edges_to(a, b, vertices_to(b, a, vertices_to(a, b, INFINITY))));
}
/* How far A lies beyond B along n, from B's top to A's bottom: no more than the distance for any unit n. */
static long double parted_by(const solid *a, const solid *b, const long double n[3]) {
    long double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < a->count; ++i) low = fminl(low, dot(n, a->x[i]));
    for (int i = 0; i < b->count; ++i) high = fmaxl(high, dot(n, b->x[i]));
    return low - high;
}
static void try_normal(const solid *a, const solid *b, const long double n[3], long double nn, long double *best) {
    if (!(nn > 0)) return;
    const long double length = sqrtl(nn);
    long double u[3] = {n[0] / length, n[1] / length, n[2] / length};
    *best = fminl(*best, -parted_by(a, b, u));
    for (int i = 0; i < 3; ++i) u[i] = -u[i];
    *best = fminl(*best, -parted_by(a, b, u));
}
/* Least overlap over all normals; 0 if there is none to try (both on one line). */
static long double judge_depth(const solid *a, const solid *b) {
    long double best = INFINITY;
    for (int t = 0; t < a->triangles; ++t) try_normal(a, b, a->n[t], a->nn[t], &best);
    for (int t = 0; t < b->triangles; ++t) try_normal(a, b, b->n[t], b->nn[t], &best);
    for (int e = 0; e < a->edges; ++e)
        for (int f = 0; f < b->edges; ++f) {
            long double n[3];
            cross(a->along[e], b->along[f], n);
            try_normal(a, b, n, dot(n, n), &best);
        }
    return best == INFINITY ? 0 : best;
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */
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
    *out = soa_frame_axis_angle(axis, roll(d, -3.2, 3.2), p);
}
static double log_roll(dice *d, double low, double high) {
    return pow(10, roll(d, low, high));
}
static void cloud(dice *d, int count, double size, soa_shape *s, double (*v)[3]) {
    *s = (soa_shape){.type = SOA_SHAPE_POLYTOPE, .vertex_count = count, .vertices = v[0]};
    for (int k = 0; k < count; ++k) roll_many(d, -size, size, 3, v[k]);
}
static void any_shape(dice *d, double size, soa_shape *s, double (*v)[3]) {
    switch (whole(d, 5)) {
    case 0: *s = (soa_shape){.type = SOA_SHAPE_SPHERE, .radius = size * roll(d, 0, 1)}; break;
    case 1:
        *s = (soa_shape){
            .type = SOA_SHAPE_CAPSULE, .half = {0, 0, size * roll(d, 0, 1)}, .radius = size * roll(d, 0, 0.5)};
        break;
    case 2:
        *s = (soa_shape){.type = SOA_SHAPE_BOX,
                         .half = {size * roll(d, 0, 1), size * roll(d, 0, 1), size * roll(d, 0, 1)}};
        break;
    default: cloud(d, 1 + whole(d, 8), size, s, v);
    }
    if (whole(d, 4) == 0) s->radius = size * roll(d, 0, 0.3);
}
static void lattice(dice *d, int count, soa_shape *s, double (*v)[3]) {
    cloud(d, count, 1, s, v);
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 3; ++i) v[k][i] = whole(d, 4) - 1;
}
static void box_of_vertices(dice *d, soa_shape *s, double (*v)[3]) {
    double h[3];
    for (int i = 0; i < 3; ++i) h[i] = 1 + whole(d, 3);
    cloud(d, 8, 1, s, v);
    for (int k = 0; k < 8; ++k)
        for (int i = 0; i < 3; ++i) v[k][i] = k >> i & 1 ? h[i] : -h[i];
}

enum { KINDS = 16 };
/* A pair of the kind, from its seed alone. */
static void make_pair(long seed, pair *q) {
    dice d = {(uint64_t)seed * 0x2545f4914f6cdd1du + 12345};
    roll(&d, 0, 1);
    memset(q, 0, sizeof *q);
    cloud(&d, 4 + whole(&d, 5), 1, &q->a, q->va);
    cloud(&d, 4 + whole(&d, 5), 1, &q->b, q->vb);
    random_frame(&d, 1.5, &q->A);
    random_frame(&d, 1.5, &q->B);
    double(*const both[2])[3] = {q->va, q->vb};
    soa_shape *const shapes[2] = {&q->a, &q->b};
    switch (seed % KINDS) {
    case 0: q->kind = "random"; break;
    case 1:
        q->kind = "any type";
        any_shape(&d, 1, &q->a, q->va);
        any_shape(&d, 1, &q->b, q->vb);
        break;
    case 2: /* one or both flat; exactly, or tilted so that rounding thickens them */
        q->kind = "flat";
        for (int s = 0; s <= whole(&d, 2); ++s)
            for (int k = 0; k < shapes[s]->vertex_count; ++k) both[s][k][2] = 0.3 * whole(&d, 2) * both[s][0][0];
        if (whole(&d, 3) == 0) q->B = q->A, q->B.p[0] += roll(&d, -2, 2), q->B.p[1] += roll(&d, -2, 2);
        if (whole(&d, 2)) { /* in a plane that is no axis's */
            const double x = roll(&d, -1, 1), y = roll(&d, -1, 1);
            for (int s = 0; s < 2; ++s)
                for (int k = 0; k < shapes[s]->vertex_count; ++k) both[s][k][2] = x * both[s][k][0] + y * both[s][k][1];
        }
        break;
    case 3:
        q->kind = "collinear";
        for (int s = 0; s <= whole(&d, 2); ++s) {
            const double e[3] = {roll(&d, -1, 1), roll(&d, -1, 1), whole(&d, 2) * roll(&d, -1, 1)};
            for (int k = 0; k < shapes[s]->vertex_count; ++k) {
                const double t = roll(&d, -1, 1);
                for (int i = 0; i < 3; ++i) both[s][k][i] = t * e[i];
            }
        }
        if (whole(&d, 3) == 0) q->B = q->A, q->B.p[0] += roll(&d, -2, 2);
        break;
    case 4: /* each vertex again, as it is or off by an ulp */
        q->kind = "duplicate";
        for (int s = 0; s < 2; ++s)
            for (int k = 1; k < shapes[s]->vertex_count; ++k) {
                const int from = whole(&d, k);
                if (whole(&d, 2)) continue;
                memcpy(both[s][k], both[s][from], sizeof both[s][k]);
                if (whole(&d, 2)) both[s][k][whole(&d, 3)] *= 1 + 0x1p-52;
            }
        break;
    case 5: {
        q->kind = "size ratio";
        const double r = log_roll(&d, -6, 6), reach = 1 + r;
        for (int k = 0; k < q->b.vertex_count; ++k)
            for (int i = 0; i < 3; ++i) q->vb[k][i] *= r;
        random_frame(&d, reach, &q->B);
        break;
    }
    case 6: /* as near as rounding lets them be, or nearly, or just overlapping */
    case 7: {
        q->kind = seed % KINDS == 6 ? "touching" : "touching, any type";
        if (seed % KINDS == 7) any_shape(&d, 1, &q->a, q->va), any_shape(&d, 1, &q->b, q->vb);
        soa_distance out;
        random_frame(&d, 3, &q->B);
        if (soa_shape_distance(&q->a, &q->A, &q->b, &q->B, NULL, &out) == SOA_OK && out.distance > 0) {
            const double gap = whole(&d, 3) ? (whole(&d, 2) ? 1 : -1) * log_roll(&d, -18, -2) : 0;
            for (int i = 0; i < 3; ++i) q->B.p[i] += (out.distance - gap) * out.normal[i];
        }
        break;
    }
    case 8: {
        q->kind = "far away";
        random_frame(&d, log_roll(&d, 1, 7), &q->B);
        break;
    }
    case 9: /* the same axes, lattice sizes and offsets: faces, edges and vertices meet exactly */
        q->kind = "parallel faces";
        box_of_vertices(&d, &q->a, q->va);
        box_of_vertices(&d, &q->b, q->vb);
        if (whole(&d, 2)) q->A = soa_frame_identity();
        q->B = q->A;
        for (int i = 0; i < 3; ++i) q->B.p[i] += whole(&d, 13) - 6;
        break;
    case 10: {
        q->kind = "both far from the origin";
        const double far = log_roll(&d, 1, 7), x = roll(&d, -far, far), y = roll(&d, -far, far);
        q->A.p[0] += x, q->B.p[0] += x, q->A.p[1] += y, q->B.p[1] += y;
        break;
    }
    case 11: /* needles and plates */
        q->kind = "thin";
        for (int s = 0; s < 2; ++s) {
            const double f[3] = {log_roll(&d, -6, 0), log_roll(&d, -6, 0), 1};
            for (int k = 0; k < shapes[s]->vertex_count; ++k)
                for (int i = 0; i < 3; ++i) both[s][k][i] *= f[i];
        }
        random_frame(&d, 0.5, &q->B);
        break;
    case 12: { /* boxes turned against each other by next to nothing */
        q->kind = "all but parallel";
        box_of_vertices(&d, &q->a, q->va);
        box_of_vertices(&d, &q->b, q->vb);
        const double axis[3] = {roll(&d, -1, 1), roll(&d, -1, 1), roll(&d, -1, 1)};
        const double p[3] = {whole(&d, 13) - 6, whole(&d, 13) - 6, roll(&d, -6, 6)};
        const soa_frame turn = soa_frame_axis_angle(axis, log_roll(&d, -17, -4), p);
        q->B = soa_frame_compose(&q->A, &turn);
        break;
    }
    case 13:
        q->kind = "lattice";
        lattice(&d, 1 + whole(&d, 10), &q->a, q->va);
        lattice(&d, 1 + whole(&d, 10), &q->b, q->vb);
        q->A = q->B = soa_frame_identity();
        for (int i = 0; i < 3; ++i) q->B.p[i] = whole(&d, 7) - 3;
        break;
    case 14: /* one inside the other */
        q->kind = "deep";
        random_frame(&d, 0.2, &q->A);
        random_frame(&d, 0.2, &q->B);
        break;
    case 15:
        q->kind = "size ratio, any type";
        any_shape(&d, 1, &q->a, q->va);
        any_shape(&d, log_roll(&d, -6, 6), &q->b, q->vb);
        break;
    }
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
    if (s->type == SOA_SHAPE_CYLINDER) most = sqrt(s->half[0] * s->half[0] + s->half[2] * s->half[2]);
    return most + s->radius;
}
static double offset_of(const pair *q) {
    const double x = q->B.p[0] - q->A.p[0], y = q->B.p[1] - q->A.p[1], z = q->B.p[2] - q->A.p[2];
    return sqrt(x * x + y * y + z * z);
}
static double far_of(const pair *q) { /* of world coordinates: what points are rounded to */
    double most = 0;
    for (int i = 0; i < 3; ++i) most = fmax(most, fmax(fabs(q->A.p[i]), fabs(q->B.p[i])));
    return most;
}

/* ---- one pair ------------------------------------------------------------------------------------------------------ */
typedef struct tally { /* worst errors over what is allowed */
    worst_case distance, depth, points, normal, warm;
    long apart, overlapping;
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
        print_message("seed %ld (%s): %s\n", seed, q->kind, soa_status_text(status));
        note(&t->distance, INFINITY, seed);
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
    note(&t->normal, fabs((double)(sqrtl(dot(n, n)) - 1)) / 1e-14, seed);
    note(&t->normal, (double)(fabsl(parted - core) / allowed), seed);
    if (core > allowed) {
        ++t->apart;
        note(&t->distance, (double)(fabsl(judge_distance(&a, &b) - core) / allowed), seed);
    } else {
        ++t->overlapping;
        const long double depth = judge_depth(&a, &b);
        long double e = fabsl(depth + core);
        if (e > allowed && depth < allowed) e = fabsl(judge_distance(&a, &b) - core); /* flat: 0 deep, but not apart */
        note(&t->depth, (double)(e / allowed), seed);
    }
    /* the points: on their surfaces, distance * normal apart */
    long double x[3], y[3], r[3];
    const double rounding = allowed + 1e-15 * far_of(q);
    for (int i = 0; i < 3; ++i) {
        x[i] = L(out.point_a[i]) - L(q->A.p[i]) + L(q->a.radius) * n[i];
        y[i] = L(out.point_b[i]) - L(q->A.p[i]) - L(q->b.radius) * n[i];
        r[i] = L(out.point_a[i]) - L(out.point_b[i]) - L(out.distance) * n[i];
    }
    note(&t->points, (double)(off_surface(&a, x) / rounding), seed);
    note(&t->points, (double)(off_surface(&b, y) / rounding), seed);
    note(&t->points, (double)(sqrtl(dot(r, r)) / (rounding + 1e-6 * fabs(out.distance))), seed);

    /* warm: at the same place, then a little farther, and with B and A changed */
    soa_distance again;
    soa_frame B = q->B;
    for (int step = 0; step < 2; ++step) {
        if (soa_shape_distance(&q->a, &q->A, &q->b, &B, NULL, &out) != SOA_OK ||
            soa_shape_distance(&q->a, &q->A, &q->b, &B, &cache, &again) != SOA_OK) {
            note(&t->warm, INFINITY, seed);
            return;
        }
        note(&t->warm, fabs(out.distance - again.distance) / (2 * allowed), seed);
        const soa_frame turn = soa_frame_rpy(1e-3, -2e-3, 1e-3, 1e-3 * extent, 2e-3 * extent, -1e-3 * extent);
        B = soa_frame_compose(&B, &turn);
    }
    if (soa_shape_distance(&q->b, &q->B, &q->a, &q->A, NULL, &again) != SOA_OK) again.distance = NAN;
    if (soa_shape_distance(&q->a, &q->A, &q->b, &q->B, NULL, &out) != SOA_OK) out.distance = NAN;
    note(&t->warm, fabs(out.distance - again.distance) / (2 * allowed), seed);
}

static void pairs(void **unused) {
    (void)unused;
    const char *asked = getenv("SOA_PAIRS");
    const long count = asked ? strtol(asked, NULL, 10) : 4000, first = first_seed();
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
        printf("  %-26s %8ld apart %8ld overlap; error / allowed: d %.1e depth %.1e points %.1e (%ld) normal %.1e "
               "(%ld) warm %.1e (%ld); steps %d\n",
               name[k], o->apart, o->overlapping, o->distance.error, o->depth.error, o->points.error, o->points.seed,
               o->normal.error, o->normal.seed, o->warm.error, o->warm.seed, o->steps_most);
        t.apart += o->apart, t.overlapping += o->overlapping;
        worst_case *const to[] = {&t.distance, &t.depth, &t.points, &t.normal, &t.warm};
        const worst_case *const from[] = {&o->distance, &o->depth, &o->points, &o->normal, &o->warm};
        for (int m = 0; m < 5; ++m) {
            to[m]->count += from[m]->count;
            if (!(from[m]->error <= to[m]->error)) to[m]->error = from[m]->error, to[m]->seed = from[m]->seed;
        }
    }
    printf("  %ld pairs from seed %ld: %ld apart, %ld overlapping\n", count, first, t.apart, t.overlapping);
    conclude("distance, error over 1e-9 d + 1e-14 (extent + offset)", &t.distance, 1);
    conclude("depth, the same", &t.depth, 1);
    conclude("normal parts the shapes, the same", &t.normal, 1);
    conclude("points on the surfaces, d apart, the same", &t.points, 1);
    conclude("warm and swapped as cold, the same", &t.warm, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
