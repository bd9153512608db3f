/* distance.c  distance of two convex shapes by the algorithm of Gilbert, Johnson & Keerthi.
 *
 * The difference of the cores, A - B, is convex; its point v nearest to 0 is the distance.  A
 * simplex of its vertices is kept, v the simplex's point nearest to 0; each step adds the vertex w
 * farthest along -v and keeps only the vertices that carry the new v.  For every v met, v.w/|v| <=
 * distance <= |v|: the search ends when the two meet, so that an answer is proved before it is
 * given:
 *
 *   1. in double, from the last search's simplex if there is one; ends when |v| - v.w/|v| <= 2e-15
 *      size (cylinders: + 1e-12 |v|);
 *   2. where rounding prevents that (thin simplices, shapes that all but touch), again in twice
 *      double (exact.c);
 *   3. where 0 is inside, penetration.c.
 *
 * Radii are added at the end: spheres and capsules overlap exactly by their cores.  A plane needs
 * one support.  Cost: some 3 to 8 steps of two supports each, one step when warm.  At most
 * STEPS_MOST in each part. */
#include "collision_internal.h"
#include "../base/base_internal.h"

enum { STEPS_MOST = 96 };
enum { APART, INSIDE, UNSURE };

/* Vertices stay where they are in `room`; at[0] to at[n - 1] are those of the simplex, at[n] is the
 * next free place. */
typedef struct simplex {
    soai_vertex room[4];
    int n, at[4];
    double share[4]; /* v = sum of share[k] w of vertex k */
    double v[3];
} simplex;
#define VERTEX(s, k) ((s)->room[(s)->at[k]])

/* Nearest point to 0 of a triangle: gives the corners that carry it as bits 1 2 4, their shares,
 * the point (Ericson 5.1.5). In the middle of the face the point comes from the normal, which is
 * exact even if it all but touches 0. */
static int near_triangle(const double p[3], const double a[3], const double b[3], double share[3],
                         double v[3]) {
    double e[3], f[3], n[3];
    for (int i = 0; i < 3; ++i) {
        e[i] = a[i] - p[i];
        f[i] = b[i] - p[i];
    }
    const double d1 = -SOAI_DOT(e, p), d2 = -SOAI_DOT(f, p);
    share[0] = share[1] = share[2] = 0;
    if (d1 <= 0 && d2 <= 0) {
        share[0] = 1;
        memcpy(v, p, 3 * sizeof *v);
        return 1;
    }
    const double d3 = -SOAI_DOT(e, a), d4 = -SOAI_DOT(f, a);
    if (d3 >= 0 && d4 <= d3) {
        share[1] = 1;
        memcpy(v, a, 3 * sizeof *v);
        return 2;
    }
    const double d5 = -SOAI_DOT(e, b), d6 = -SOAI_DOT(f, b);
    if (d6 >= 0 && d5 <= d6) {
        share[2] = 1;
        memcpy(v, b, 3 * sizeof *v);
        return 4;
    }
    const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
    if (vc <= 0 && d1 >= 0 && d3 <= 0) {
        const double t = d1 / (d1 - d3);
        share[0] = 1 - t;
        share[1] = t;
        for (int i = 0; i < 3; ++i)
            v[i] = p[i] + t * e[i];
        return 3;
    }
    if (vb <= 0 && d2 >= 0 && d6 <= 0) {
        const double t = d2 / (d2 - d6);
        share[0] = 1 - t;
        share[2] = t;
        for (int i = 0; i < 3; ++i)
            v[i] = p[i] + t * f[i];
        return 5;
    }
    if (va <= 0 && d4 >= d3 && d5 >= d6) {
        const double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        share[1] = 1 - t;
        share[2] = t;
        for (int i = 0; i < 3; ++i)
            v[i] = a[i] + t * (b[i] - a[i]);
        return 6;
    }
    soai_cross(e, f, n);
    const double sum = 1 / (va + vb + vc), s = SOAI_DOT(n, p) / SOAI_DOT(n, n);
    share[0] = va * sum;
    share[1] = vb * sum;
    share[2] = vc * sum;
    for (int i = 0; i < 3; ++i)
        v[i] = s * n[i];
    return 7;
}

/* Keeps those of three vertices whose bit is set; share goes with them. */
static void keep(simplex *s, int i, int j, int k, int bits, const double share[3]) {
    const int corner[3] = {s->at[i], s->at[j], s->at[k]};
    int n = 0, used = 0;
    for (int m = 0; m < 3; ++m) {
        if (bits >> m & 1) {
            s->share[n] = share[m];
            s->at[n++] = corner[m];
            used |= 1 << corner[m];
        }
    }
    s->n = n;
    for (int m = 0; m < 4; ++m)
        if (!(used >> m & 1)) s->at[n++] = m;
}

/* v, shares and vertices of the simplex nearest to 0; 0 if 0 is inside.  Vertices 0 to 2: any.  The
 * last of 4 is new. */
static int reduce(simplex *s) {
    double share[3];
    if (s->n == 1) {
        s->share[0] = 1;
        memcpy(s->v, VERTEX(s, 0).w, sizeof s->v);
        return 1;
    }
    if (s->n == 2) {
        const double *p = VERTEX(s, 0).w, *a = VERTEX(s, 1).w;
        double e[3];
        for (int i = 0; i < 3; ++i)
            e[i] = a[i] - p[i];
        const double num = -SOAI_DOT(p, e), den = SOAI_DOT(e, e);
        if (!(num > 0)) {
            keep(s, 0, 0, 0, 1, (double[]){1, 0, 0});
            memcpy(s->v, VERTEX(s, 0).w, sizeof s->v);
        } else if (num >= den) {
            keep(s, 1, 1, 1, 1, (double[]){1, 0, 0});
            memcpy(s->v, VERTEX(s, 0).w, sizeof s->v);
        } else {
            const double t = num / den;
            s->share[0] = 1 - t;
            s->share[1] = t;
            for (int i = 0; i < 3; ++i)
                s->v[i] = p[i] + t * e[i];
        }
        return 1;
    }
    if (s->n == 3) {
        const int bits = near_triangle(VERTEX(s, 2).w, VERTEX(s, 0).w, VERTEX(s, 1).w, share, s->v);
        keep(s, 2, 0, 1, bits, share);
        return 1;
    }
    const double *p = VERTEX(s, 3).w;
    double e[3][3], n[3][3];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            e[k][i] = VERTEX(s, k).w[i] - p[i];
    for (int k = 0; k < 3; ++k)
        soai_cross(e[k], e[(k + 1) % 3], n[k]);
    const double volume = SOAI_DOT(n[0], e[2]);
    double best = INFINITY, best_share[3] = {0}, v[3];
    int best_bits = 0, best_face = 0;
    for (int k = 0; k < 3; ++k) { /* the faces that meet in the new vertex and have 0 outside */
        if (SOAI_DOT(n[k], p) * volume < 0) continue;
        const int bits = near_triangle(p, VERTEX(s, k).w, VERTEX(s, (k + 1) % 3).w, share, v);
        const double vv = SOAI_DOT(v, v);
        if (vv < best) {
            best = vv;
            best_bits = bits;
            best_face = k;
            memcpy(best_share, share, sizeof share);
            memcpy(s->v, v, sizeof v);
        }
    }
    if (!best_bits) return 0;
    keep(s, 3, best_face, (best_face + 1) % 3, best_bits, best_share);
    return 1;
}

static int index_is_usable(const soa_shape *shape, int index) {
    switch (shape->type) {
    case SOA_SHAPE_SPHERE: return index == 0;
    case SOA_SHAPE_CAPSULE: return index == 0 || index == 1;
    case SOA_SHAPE_BOX: return index >= 0 && index < 8;
    case SOA_SHAPE_POLYTOPE: return index >= 0 && index < shape->vertex_count;
    default: return index == -1;
    }
}

/* The simplex of the last search where it now is; 0 if there is none. */
static int warm_start(soai_pair *pair, const soa_distance_cache *cache, simplex *s) {
    if (!cache || cache->count < 1 || cache->count > 3) return 0;
    for (int k = 0; k < cache->count; ++k)
        if (!index_is_usable(pair->a, cache->a[k]) || !index_is_usable(pair->b, cache->b[k]))
            return 0;
    if (soai_is_numbered(pair->a)) pair->hint_a = cache->a[0];
    if (soai_is_numbered(pair->b)) pair->hint_b = cache->b[0];
    if (pair->curved) return 0;
    for (int k = 0; k < cache->count; ++k) {
        soai_vertex *q = &VERTEX(s, k);
        double x[3];
        q->ia = cache->a[k];
        q->ib = cache->b[k];
        soai_support_point(pair->a, q->ia, q->a);
        soai_support_point(pair->b, q->ib, x);
        soai_turn(pair->R, x, q->b);
        for (int i = 0; i < 3; ++i) {
            q->b[i] += pair->p[i];
            q->w[i] = q->a[i] - q->b[i];
        }
    }
    s->n = cache->count;
    return reduce(s);
}

static double larger(double a, double b) { /* fmax is a call */
    return a > b ? a : b;
}
static double greatest(const double x[3]) {
    const double a = fabs(x[0]), b = fabs(x[1]), c = fabs(x[2]);
    if (a > b) return a > c ? a : c;
    return b > c ? b : c;
}

/* Shares of a face once more, from what is left: those of a long thin one are good to half the
 * digits.  Then v must be what they say; 0: the face is too thin for its normal to be known in
 * double. */
static int refine(simplex *s, double size) {
    if (s->n < 3) return 1;
    const double *p = VERTEX(s, 0).w, *a = VERTEX(s, 1).w, *b = VERTEX(s, 2).w;
    double e[3], f[3], r[3], n[3], c[3];
    for (int i = 0; i < 3; ++i) {
        e[i] = a[i] - p[i];
        f[i] = b[i] - p[i];
        r[i] = s->v[i] - (p[i] + s->share[1] * e[i] + s->share[2] * f[i]);
    }
    soai_cross(e, f, n);
    const double nn = SOAI_DOT(n, n);
    soai_cross(r, f, c);
    const double de = SOAI_DOT(n, c) / nn;
    soai_cross(e, r, c);
    const double df = SOAI_DOT(n, c) / nn;
    s->share[1] += de;
    s->share[2] += df;
    s->share[0] -= de + df;
    for (int i = 0; i < 3; ++i)
        c[i] = fabs(p[i] + s->share[1] * e[i] + s->share[2] * f[i] - s->v[i]);
    const double least = fmin(s->share[0], fmin(s->share[1], s->share[2]));
    return greatest(c) <= 1e-14 * size && least >= -1e-12;
}

/* Part 1.  *s: where it ended.  Goes on while a step betters v, for the sake of the normal. */
static int search(soai_pair *pair, const soa_distance_cache *cache, simplex *s, int *steps) {
    const double relative = pair->curved ? 1e-12 : 0;
    double low = -INFINITY, size = 0;
    for (int k = 0; k < 4; ++k)
        s->at[k] = k;
    if (!warm_start(pair, cache, s)) {
        double v[3];
        const int known = cache && cache->count > 0 && greatest(cache->direction) > 0;
        for (int i = 0; i < 3; ++i)
            v[i] = known ? cache->direction[i] : -pair->p[i];
        if (!(greatest(v) > 0)) v[0] = 1;
        soai_pair_support(pair, v, &VERTEX(s, 0));
        s->n = 1;
        reduce(s);
    }
    for (int k = 0; k < s->n; ++k)
        size = larger(size, greatest(VERTEX(s, k).w));
    for (*steps = 1; *steps <= STEPS_MOST; ++*steps) {
        soai_vertex *w = &VERTEX(s, s->n);
        const double vv = SOAI_DOT(s->v, s->v), length = sqrt(vv);
        if (!(length > 1e-15 * size)) return UNSURE;
        soai_pair_support(pair, s->v, w);
        size = larger(size, greatest(w->w));
        const double lower = SOAI_DOT(s->v, w->w) / length;
        low = larger(low, lower);
        if (length - lower <= relative * length) return refine(s, size) ? APART : UNSURE;
        const int good = length - lower <= 2e-15 * size;
        if (!pair->curved)
            for (int k = 0; k < s->n; ++k)
                if (VERTEX(s, k).ia == w->ia && VERTEX(s, k).ib == w->ib)
                    return good && refine(s, size) ? APART : UNSURE;
        simplex before;
        if (good) before = *s;
        ++s->n;
        if (!reduce(s)) {
            if (good) {
                *s = before;
                return refine(s, size) ? APART : UNSURE;
            }
            return low > 1e-13 * size ? UNSURE : INSIDE;
        }
        if (!(SOAI_DOT(s->v, s->v) < vv)) {
            if (good) {
                *s = before;
                return refine(s, size) ? APART : UNSURE;
            }
            return UNSURE;
        }
    }
    return UNSURE;
}

static void remember(soa_distance_cache *cache, const simplex *s, const double normal[3]) {
    if (!cache) return;
    memset(cache, 0, sizeof *cache);
    cache->count = s->n;
    for (int k = 0; k < s->n; ++k) {
        cache->a[k] = VERTEX(s, k).ia;
        cache->b[k] = VERTEX(s, k).ib;
    }
    memcpy(cache->direction, normal, sizeof cache->direction);
}

static void read_off(const simplex *s, soai_nearest *n) {
    n->distance = sqrt(SOAI_DOT(s->v, s->v));
    for (int i = 0; i < 3; ++i) {
        n->normal[i] = s->v[i] / n->distance;
        n->a[i] = n->b[i] = 0;
        for (int k = 0; k < s->n; ++k) {
            n->a[i] += s->share[k] * VERTEX(s, k).a[i];
            n->b[i] += s->share[k] * VERTEX(s, k).b[i];
        }
    }
}

int soai_distance_apart(soai_pair *pair, soai_nearest *out) {
    simplex s;
    int steps;
    if (search(pair, NULL, &s, &steps) != APART) return soai_distance_exact(pair, out);
    read_off(&s, out);
    out->iterations += steps;
    return 1;
}

/* a (not a plane) against the half space z <= 0 of plane: n the plane's normal, x the deepest
 * point, world axes. */
static double above_plane(const soa_shape *shape, const soa_frame *pose, const soa_frame *plane,
                          int hint, double n[3], double x[3], int *index) {
    double d[3], local[3], height = 0;
    for (int i = 0; i < 3; ++i)
        n[i] = plane->R[3 * i + 2];
    soai_turn_back(pose->R, n, d);
    for (int i = 0; i < 3; ++i)
        d[i] = -d[i];
    *index = hint;
    soai_shape_support(shape, d, local, index);
    soai_turn(pose->R, local, x);
    for (int i = 0; i < 3; ++i) {
        height += n[i] * ((pose->p[i] - plane->p[i]) + x[i]);
        x[i] += pose->p[i];
    }
    return height;
}
static void plane_distance(const soa_shape *a, const soa_frame *pose_a, const soa_shape *b,
                           const soa_frame *pose_b, soa_distance_cache *cache, soa_distance *out) {
    const int a_is_plane = a->type == SOA_SHAPE_PLANE;
    const soa_shape *shape = a_is_plane ? b : a;
    int hint = 0, index;
    if (cache && cache->count == 1) hint = a_is_plane ? cache->b[0] : cache->a[0];
    if (!index_is_usable(shape, hint)) hint = 0;
    double n[3], x[3];
    const double height = above_plane(shape, a_is_plane ? pose_b : pose_a,
                                      a_is_plane ? pose_a : pose_b, hint, n, x, &index);
    const double sign = a_is_plane ? -1 : 1;
    double *on_shape = a_is_plane ? out->point_b : out->point_a;
    double *on_plane = a_is_plane ? out->point_a : out->point_b;
    for (int i = 0; i < 3; ++i) {
        on_shape[i] = x[i] - shape->radius * n[i];
        on_plane[i] = x[i] - height * n[i];
        out->normal[i] = sign * n[i];
    }
    out->distance = height - shape->radius;
    out->iterations = 1;
    if (!cache) return;
    memset(cache, 0, sizeof *cache);
    cache->count = 1;
    *(a_is_plane ? cache->b : cache->a) = index;
    memcpy(cache->direction, out->normal, sizeof out->normal);
}

static int is_usable(const soa_shape *s) {
    if ((unsigned)s->type >= SOA_SHAPE_TYPE_COUNT) return 0;
    return s->type != SOA_SHAPE_POLYTOPE || (s->vertex_count > 0 && s->vertices);
}

soa_status soa_shape_distance(const soa_shape *a, const soa_frame *pose_a, const soa_shape *b,
                              const soa_frame *pose_b, soa_distance_cache *cache,
                              soa_distance *result) {
    if (!a || !b || !pose_a || !pose_b || !result || !is_usable(a) || !is_usable(b))
        return SOA_E_ARGUMENT;
    if (a->type == SOA_SHAPE_PLANE && b->type == SOA_SHAPE_PLANE) return SOA_E_ARGUMENT;
    double sum = 0; /* not finite if one of them is not */
    for (int i = 0; i < 9; ++i)
        sum += pose_a->R[i] * 0 + pose_b->R[i] * 0;
    for (int i = 0; i < 3; ++i)
        sum += pose_a->p[i] * 0 + pose_b->p[i] * 0;
    if (!(sum == 0)) return SOA_E_NOT_FINITE;

    soa_distance out;
    if (a->type == SOA_SHAPE_PLANE || b->type == SOA_SHAPE_PLANE) {
        plane_distance(a, pose_a, b, pose_b, cache, &out);
    } else {
        soai_pair pair = {.a = a, .b = b, .pose_a = pose_a, .pose_b = pose_b};
        double apart[3];
        for (int i = 0; i < 3; ++i) {
            apart[i] = pose_b->p[i] - pose_a->p[i];
            for (int j = 0; j < 3; ++j)
                pair.R[3 * i + j] = pose_a->R[i] * pose_b->R[j] +
                                    pose_a->R[3 + i] * pose_b->R[3 + j] +
                                    pose_a->R[6 + i] * pose_b->R[6 + j];
        }
        soai_turn_back(pose_a->R, apart, pair.p);
        pair.curved = !soai_is_numbered(a) || !soai_is_numbered(b);

        simplex s;
        soai_nearest n = {0};
        int steps = 0;
        const int answer = search(&pair, cache, &s, &steps);
        if (answer == APART) {
            read_off(&s, &n);
            remember(cache, &s, n.normal);
        } else {
            const int found = (answer == INSIDE && soai_penetration(&pair, 0, &n)) ||
                              soai_distance_exact(&pair, &n) || soai_penetration(&pair, 1, &n);
            if (!found)
                return isfinite(SOAI_DOT(s.v, s.v)) ? SOA_E_NO_CONVERGENCE : SOA_E_NOT_FINITE;
            s.n = s.n > 3 ? 3 : s.n;
            remember(cache, &s, n.normal);
        }
        soai_turn(pose_a->R, n.a, out.point_a);
        soai_turn(pose_a->R, n.b, out.point_b);
        soai_turn(pose_a->R, n.normal, out.normal);
        for (int i = 0; i < 3; ++i) {
            out.point_a[i] += pose_a->p[i] - a->radius * out.normal[i];
            out.point_b[i] += pose_a->p[i] + b->radius * out.normal[i];
        }
        out.distance = n.distance - a->radius - b->radius;
        out.iterations = steps + n.iterations;
    }
    if (!isfinite(out.distance) || !soai_all_finite(out.normal, 3)) return SOA_E_NOT_FINITE;
    *result = out;
    return SOA_OK;
}
