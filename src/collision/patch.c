/* patch.c  several points where two shapes rest on each other, so that a face can stand on a face.
 *
 * soa_shape_distance gives the common normal n.  Each shape then gives the feature that it turns
 * towards the other: a face, an edge or a vertex (by the angle between n and the face or edge, not
 * by nearness, so that the answer does not hang on rounding).  Seen along n, the two are clipped
 * against each other (Sutherland & Hodgman); each corner of what is left lies on both, and its
 * distance is counted along n.  Against a plane the points are vertices.  A cylinder's cap is an
 * octagon fixed in it, and the nearest point joins the corners if none of them is as near.  Cost:
 * that of the distance and O(corners of the two faces); finding a polytope's face is O(faces). */
#include "collision_internal.h"
#include "../base/base_internal.h"

enum { CORNERS_MOST = 32, CLIPPED_MOST = 2 * CORNERS_MOST + 2 };
/* faces within 37, edges within 30 degrees of square to n */
static const double FACE_COS = 0.8, EDGE_SIN = 0.5;

typedef struct feature {
    int count; /* 1 vertex, 2 edge, more: face */
    double x[CORNERS_MOST][3];
    unsigned id;
} feature;

static unsigned mix(unsigned a, unsigned b) { /* FNV-1a over words */
    return (a ^ b) * 16777619u;
}

static void box_feature(const soa_shape *s, const double d[3], feature *f) {
    int i = fabs(d[0]) > fabs(d[1]) ? 0 : 1;
    if (fabs(d[2]) > fabs(d[i])) i = 2;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    double corner[3];
    for (int m = 0; m < 3; ++m)
        corner[m] = d[m] > 0 ? s->half[m] : -s->half[m];
    if (fabs(d[i]) >= FACE_COS) {
        f->count = 4;
        f->id = (unsigned)(2 * i + (d[i] > 0));
        for (int m = 0; m < 4; ++m) {
            f->x[m][i] = corner[i];
            f->x[m][j] = m == 1 || m == 2 ? s->half[j] : -s->half[j];
            f->x[m][k] = m >= 2 ? s->half[k] : -s->half[k];
        }
        return;
    }
    const int e = fabs(d[j]) < fabs(d[k]) ? j : k; /* the edge most square to n */
    f->count = fabs(d[e]) < EDGE_SIN ? 2 : 1;
    f->id = 8 + (unsigned)((d[0] > 0) | (d[1] > 0) << 1 | (d[2] > 0) << 2);
    for (int m = 0; m < f->count; ++m)
        memcpy(f->x[m], corner, sizeof corner);
    if (f->count == 2) {
        f->x[0][e] = -s->half[e];
        f->x[1][e] = s->half[e];
        f->id = 16 + 8 * (unsigned)e + (f->id & ~(1u << e) & 7u);
    }
}

static void cylinder_feature(const soa_shape *s, const double d[3], feature *f) {
    const double r = sqrt(d[0] * d[0] + d[1] * d[1]), z = d[2] > 0 ? s->half[2] : -s->half[2];
    f->id = d[2] > 0;
    if (fabs(d[2]) >= FACE_COS) {
        static const double c[8] = {1,  0.70710678118654757,  0, -0.70710678118654757,
                                    -1, -0.70710678118654757, 0, 0.70710678118654757};
        f->count = 8;
        for (int m = 0; m < 8; ++m) {
            f->x[m][0] = s->half[0] * c[m];
            f->x[m][1] = s->half[0] * c[(m + 6) % 8];
            f->x[m][2] = z;
        }
        return;
    }
    f->count = fabs(d[2]) < EDGE_SIN ? 2 : 1;
    f->id = f->count == 2 ? 2 : 3 + f->id;
    for (int m = 0; m < f->count; ++m) {
        f->x[m][0] = s->half[0] * d[0] / r;
        f->x[m][1] = s->half[0] * d[1] / r;
        if (f->count == 1) {
            f->x[m][2] = z;
        } else if (m) {
            f->x[m][2] = s->half[2];
        } else {
            f->x[m][2] = -s->half[2];
        }
    }
}

/* Newell's normal, good for faces that are not quite plane. */
static void face_normal(const soa_shape *s, int face, double n[3]) {
    const int first = s->face_start[face], end = s->face_start[face + 1];
    const double *o = s->vertices + 3 * s->faces[first];
    n[0] = n[1] = n[2] = 0;
    for (int k = first + 1; k + 1 < end; ++k) {
        const double *p = s->vertices + 3 * s->faces[k], *q = s->vertices + 3 * s->faces[k + 1];
        const double u[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]},
                     v[3] = {q[0] - o[0], q[1] - o[1], q[2] - o[2]};
        double c[3];
        soai_cross(u, v, c);
        for (int i = 0; i < 3; ++i)
            n[i] += c[i];
    }
}
static void polytope_feature(const soa_shape *s, const double d[3], int at, feature *f) {
    soai_shape_support(s, d, f->x[0], &at);
    f->count = 1;
    f->id = (unsigned)at;
    int best = -1;
    double most = FACE_COS;
    for (int k = 0; k < s->face_count; ++k) {
        double n[3];
        face_normal(s, k, n);
        const double along = SOAI_DOT(n, d), c = along > 0 ? along / sqrt(SOAI_DOT(n, n)) : 0;
        if (c > most) {
            most = c;
            best = k;
        }
    }
    if (best >= 0) {
        const int first = s->face_start[best], corners = s->face_start[best + 1] - first;
        f->count = corners < CORNERS_MOST ? corners : CORNERS_MOST;
        f->id = mix(1u << 30, (unsigned)best);
        for (int m = 0; m < f->count; ++m) /* of very many corners some, evenly */
            memcpy(f->x[m], s->vertices + 3 * s->faces[first + (int)((long)m * corners / f->count)],
                   sizeof f->x[m]);
        return;
    }
    if (!s->neighbours || s->face_count < 1) return;
    const double *x = f->x[0];
    double least = EDGE_SIN;
    for (int k = s->neighbour_start[at]; k < s->neighbour_start[at + 1]; ++k) {
        const double *y = s->vertices + 3 * s->neighbours[k],
                     e[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
        const double length = sqrt(SOAI_DOT(e, e));
        if (!(length > 0) || !(fabs(SOAI_DOT(e, d)) < least * length)) continue;
        least = fabs(SOAI_DOT(e, d)) / length;
        memcpy(f->x[1], y, sizeof f->x[1]);
        f->count = 2;
        const int other = s->neighbours[k];
        f->id = mix(mix(1u << 29, (unsigned)(at < other ? at : other)),
                    (unsigned)(at < other ? other : at));
    }
}

/* What the shape turns towards n (world axes), in world axes less `origin`. */
static void feature_of(const soa_shape *s, const soa_frame *pose, const double n[3], double sign,
                       int hint, const double origin[3], feature *f) {
    double d[3];
    soai_turn_back(pose->R, n, d);
    for (int i = 0; i < 3; ++i)
        d[i] *= sign;
    switch (s->type) {
    case SOA_SHAPE_CAPSULE:
        f->count = fabs(d[2]) < EDGE_SIN ? 2 : 1;
        f->id = f->count == 2 ? 2 : d[2] > 0;
        for (int m = 0; m < f->count; ++m) {
            f->x[m][0] = f->x[m][1] = 0;
            if (f->count == 2 ? m : d[2] > 0) {
                f->x[m][2] = s->half[2];
            } else {
                f->x[m][2] = -s->half[2];
            }
        }
        break;
    case SOA_SHAPE_BOX: box_feature(s, d, f); break;
    case SOA_SHAPE_CYLINDER: cylinder_feature(s, d, f); break;
    case SOA_SHAPE_POLYTOPE: polytope_feature(s, d, hint, f); break;
    default:
        f->count = 1;
        f->id = 0;
        memset(f->x[0], 0, sizeof f->x[0]);
    }
    for (int m = 0; m < f->count; ++m) {
        double x[3];
        soai_turn(pose->R, f->x[m], x);
        for (int i = 0; i < 3; ++i)
            f->x[m][i] = x[i] + (pose->p[i] - origin[i]);
    }
}

/* ---- seen along n: u, v and height ----------------------------------------------------------- */
typedef struct corner {
    double u, v, a, b; /* heights on A and on B */
    unsigned id, edge; /* edge: that which begins here */
} corner;
typedef struct view {
    double n[3], t[2][3], origin[3];
} view;

static void look(const view *w, const feature *f, double out[][3]) {
    for (int m = 0; m < f->count; ++m) {
        out[m][0] = SOAI_DOT(w->t[0], f->x[m]);
        out[m][1] = SOAI_DOT(w->t[1], f->x[m]);
        out[m][2] = SOAI_DOT(w->n, f->x[m]);
    }
}
/* Height of a face's plane as g[0] u + g[1] v + g[2] (mean normal of its triangles); 0: seen
 * edge-on. */
static int plane_of(const double (*x)[3], int count, double g[3]) {
    double n[3] = {0};
    for (int k = 1; k + 1 < count; ++k) {
        const double p[3] = {x[k][0] - x[0][0], x[k][1] - x[0][1], x[k][2] - x[0][2]};
        const double q[3] = {x[k + 1][0] - x[0][0], x[k + 1][1] - x[0][1], x[k + 1][2] - x[0][2]};
        double c[3];
        soai_cross(p, q, c);
        for (int i = 0; i < 3; ++i)
            n[i] += c[i];
    }
    if (!(fabs(n[2]) > 1e-3 * sqrt(SOAI_DOT(n, n)))) return 0;
    g[0] = -n[0] / n[2];
    g[1] = -n[1] / n[2];
    g[2] = x[0][2] - g[0] * x[0][0] - g[1] * x[0][1];
    return 1;
}

/* Corners of `subject` (an edge or a face) above the face `clip`; heights: [0] of the subject. */
static int clip(const double (*subject)[3], int count, const double (*face)[3], int sides,
                corner *out) {
    corner in[CLIPPED_MOST];
    double area = 0;
    for (int k = 0; k < sides; ++k) {
        const double *p = face[k], *q = face[(k + 1) % sides];
        area +=
            (p[0] - face[0][0]) * (q[1] - face[0][1]) - (p[1] - face[0][1]) * (q[0] - face[0][0]);
    }
    const double turn = area > 0 ? 1 : -1; /* inside is to the left, or to the right */
    for (int k = 0; k < count; ++k)
        out[k] = (corner){subject[k][0],   subject[k][1],  subject[k][2], 0,
                          (unsigned)k + 1, (unsigned)k + 1};
    const int open = count == 2;
    double extent = 0;
    for (int k = 0; k < count; ++k)
        extent = fmax(extent, fmax(fabs(subject[k][0]), fabs(subject[k][1])));
    for (int s = 0; s < sides && count; ++s) {
        const double *p = face[s], *q = face[(s + 1) % sides];
        const double eu = turn * (q[0] - p[0]), ev = turn * (q[1] - p[1]);
        memcpy(in, out, (size_t)count * sizeof *in);
        int kept = 0;
        /* equal faces keep their corners */
        const double slack = -1e-9 * extent * (fabs(eu) + fabs(ev));
        for (int k = 0; k < count; ++k) {
            const corner *c = &in[k], *d = &in[(k + 1) % count];
            const double x = eu * (c->v - p[1]) - ev * (c->u - p[0]),
                         y = eu * (d->v - p[1]) - ev * (d->u - p[0]);
            if (x >= slack && kept < CLIPPED_MOST) out[kept++] = *c;
            if (open && k + 1 == count) break;
            if ((x >= slack) != (y >= slack) && kept < CLIPPED_MOST) {
                const double t = x / (x - y);
                corner *o = &out[kept++];
                *o = (corner){c->u + t * (d->u - c->u),
                              c->v + t * (d->v - c->v),
                              c->a + t * (d->a - c->a),
                              0,
                              0,
                              0};
                o->id = mix(mix(1u << 20, c->edge), 64u + (unsigned)s);
                /* leaving: goes on along the side */
                o->edge = x >= slack ? 64u + (unsigned)s : c->edge;
            }
        }
        count = kept;
    }
    return count;
}
/* Two edges side by side: the ends of what they share. */
static int overlap(const double (*a)[3], const double (*b)[3], corner *out) {
    const double eu = a[1][0] - a[0][0], ev = a[1][1] - a[0][1], fu = b[1][0] - b[0][0],
                 fv = b[1][1] - b[0][1];
    const double ee = eu * eu + ev * ev, ff = fu * fu + fv * fv, cross = eu * fv - ev * fu;
    if (!(cross * cross < 1e-6 * ee * ff)) return 0; /* across each other: one point */
    const double s0 = ((b[0][0] - a[0][0]) * eu + (b[0][1] - a[0][1]) * ev) / ee;
    const double s1 = ((b[1][0] - a[0][0]) * eu + (b[1][1] - a[0][1]) * ev) / ee;
    const double low = fmax(0, fmin(s0, s1)), high = fmin(1, fmax(s0, s1));
    if (!(low < high)) return 0;
    for (int k = 0; k < 2; ++k) {
        const double s = k ? high : low, t = (s - s0) / (s1 - s0);
        const double u = a[0][0] + s * eu, v = a[0][1] + s * ev;
        out[k] = (corner){
            u, v, a[0][2] + s * (a[1][2] - a[0][2]), b[0][2] + t * (b[1][2] - b[0][2]), 0, 0};
        /* which end it is: of A, or of B */
        if (s <= 0) {
            out[k].id = 1;
        } else if (s >= 1) {
            out[k].id = 2;
        } else if (fabs(t) < 0.5) {
            out[k].id = 3;
        } else {
            out[k].id = 4;
        }
    }
    return 2;
}

/* At most SOA_PATCH_MOST: the deepest, then each time the one farthest from those taken. */
static void take(soa_patch *patch, const soa_patch_point *all, int count) {
    if (count <= SOA_PATCH_MOST) {
        memcpy(patch->points, all, (size_t)count * sizeof *all);
        patch->count = count;
        return;
    }
    double room[4 * CORNERS_MOST + 8];
    int next = 0;
    for (int k = 0; k < count; ++k) {
        room[k] = INFINITY;
        if (all[k].distance < all[next].distance) next = k;
    }
    for (patch->count = 0; patch->count < SOA_PATCH_MOST;) {
        const soa_patch_point *p = &patch->points[patch->count++];
        patch->points[patch->count - 1] = all[next];
        room[next] = -1;
        int farthest = -1;
        for (int k = 0; k < count; ++k) {
            if (room[k] < 0) continue;
            const double e[3] = {all[k].point_a[0] - p->point_a[0],
                                 all[k].point_a[1] - p->point_a[1],
                                 all[k].point_a[2] - p->point_a[2]};
            room[k] = fmin(room[k], SOAI_DOT(e, e));
            if (farthest < 0 || room[k] > room[farthest]) farthest = k;
        }
        if (farthest < 0) return;
        next = farthest;
    }
}

/* ---- against a plane: vertices --------------------------------------------------------------- */
typedef struct list {
    soa_patch_point p[4 * CORNERS_MOST];
    int count;
} list;
typedef struct ground {
    const soa_shape *shape;
    const soa_frame *pose, *plane;
    double n[3]; /* of the plane */
    int shape_is_b;
    double margin;
} ground;

static void rest(const ground *g, const double local[3], unsigned id, list *out) {
    double x[3], height = 0;
    soai_turn(g->pose->R, local, x);
    for (int i = 0; i < 3; ++i) {
        height += g->n[i] * ((g->pose->p[i] - g->plane->p[i]) + x[i]);
        x[i] += g->pose->p[i];
    }
    if (!(height - g->shape->radius <= g->margin)) return;
    soa_patch_point q = {.distance = height - g->shape->radius, .id = id};
    for (int i = 0; i < 3; ++i) {
        const double on_shape = x[i] - g->shape->radius * g->n[i],
                     on_plane = x[i] - height * g->n[i];
        q.point_a[i] = g->shape_is_b ? on_plane : on_shape;
        q.point_b[i] = g->shape_is_b ? on_shape : on_plane;
    }
    if (out->count < 4 * CORNERS_MOST) {
        out->p[out->count++] = q;
        return;
    }
    int worst = 0; /* of very many the deepest */
    for (int k = 1; k < out->count; ++k)
        if (out->p[k].distance > out->p[worst].distance) worst = k;
    if (q.distance < out->p[worst].distance) out->p[worst] = q;
}
static void rest_on_plane(const ground *g, list *out) {
    const soa_shape *s = g->shape;
    double d[3], x[3];
    soai_turn_back(g->pose->R, g->n, d);
    for (int i = 0; i < 3; ++i)
        d[i] = -d[i];
    int count;
    if (s->type == SOA_SHAPE_SPHERE) {
        count = 1;
    } else if (s->type == SOA_SHAPE_CAPSULE) {
        count = 2;
    } else if (s->type == SOA_SHAPE_BOX) {
        count = 8;
    } else {
        count = 0;
    }
    for (int k = 0; k < count; ++k) {
        soai_support_point(s, k, x);
        rest(g, x, (unsigned)k + 1, out);
    }
    for (int k = 0; s->type == SOA_SHAPE_POLYTOPE && k < s->vertex_count; ++k)
        rest(g, s->vertices + 3 * k, (unsigned)k + 1, out);
    if (s->type != SOA_SHAPE_CYLINDER) return;
    const double r = sqrt(d[0] * d[0] + d[1] * d[1]);
    if (fabs(d[2]) >= FACE_COS) {
        for (int k = 0; k < 6;
             /* standing: points fixed in the cap, and the deepest of its rim if it is deeper */
             ++k) {
            static const double c[6] = {1, 0.5, -0.5, -1, -0.5, 0.5}, h = 0.86602540378443865;
            static const double t[6] = {0, 1, 1, 0, -1, -1};
            const double p[3] = {s->half[0] * c[k], s->half[0] * h * t[k],
                                 d[2] > 0 ? s->half[2] : -s->half[2]};
            rest(g, p, (unsigned)k + 1, out);
        }
        return;
    }
    for (int k = 0; k < 2; ++k) { /* lying or leaning: the lowest point of each rim */
        const double p[3] = {s->half[0] * d[0] / r, s->half[0] * d[1] / r,
                             k ? s->half[2] : -s->half[2]};
        rest(g, p, (unsigned)k + 7, out);
    }
}

soa_status soa_shape_patch(const soa_shape *a, const soa_frame *pose_a, const soa_shape *b,
                           const soa_frame *pose_b, double margin, soa_distance_cache *cache,
                           soa_distance *nearest, soa_patch *patch) {
    soa_distance d;
    if (!patch) return SOA_E_ARGUMENT;
    if (!isfinite(margin)) return SOA_E_NOT_FINITE;
    const soa_status status = soa_shape_distance(a, pose_a, b, pose_b, cache, &d);
    if (status != SOA_OK) return status;
    if (nearest) *nearest = d;
    patch->count = 0;
    memcpy(patch->normal, d.normal, sizeof d.normal);
    if (!(d.distance <= margin)) return SOA_OK;

    list all;
    all.count = 0;
    if (a->type == SOA_SHAPE_PLANE || b->type == SOA_SHAPE_PLANE) {
        const int shape_is_b = a->type == SOA_SHAPE_PLANE;
        ground g = {shape_is_b ? b : a,
                    shape_is_b ? pose_b : pose_a,
                    shape_is_b ? pose_a : pose_b,
                    {0},
                    shape_is_b,
                    margin};
        for (int i = 0; i < 3; ++i)
            g.n[i] = g.plane->R[3 * i + 2];
        rest_on_plane(&g, &all);
    } else {
        view w;
        feature fa, fb;
        double xa[CORNERS_MOST][3], xb[CORNERS_MOST][3], g[3];
        corner c[CLIPPED_MOST];
        int count = 0, swapped = 0;
        for (int i = 0; i < 3; ++i) {
            w.n[i] = d.normal[i];
            w.origin[i] = 0.5 * (d.point_a[i] + d.point_b[i]);
        }
        int k;
        if (fabs(w.n[0]) < fabs(w.n[1])) {
            k = fabs(w.n[0]) < fabs(w.n[2]) ? 0 : 2;
        } else {
            k = fabs(w.n[1]) < fabs(w.n[2]) ? 1 : 2;
        }
        soai_cross(w.n, (double[]){k == 0, k == 1, k == 2}, w.t[0]);
        const double length = sqrt(SOAI_DOT(w.t[0], w.t[0]));
        for (int i = 0; i < 3; ++i)
            w.t[0][i] /= length;
        soai_cross(w.n, w.t[0], w.t[1]);
        feature_of(a, pose_a, w.n, -1, 0, w.origin, &fa);
        feature_of(b, pose_b, w.n, 1, 0, w.origin, &fb);
        look(&w, &fa, xa);
        look(&w, &fb, xb);
        if (fa.count == 2 && fb.count == 2) {
            count = overlap((const double(*)[3])xa, (const double(*)[3])xb, c);
        } else if (fa.count > 1 && fb.count > 2 && plane_of((const double(*)[3])xb, fb.count, g)) {
            count = clip((const double(*)[3])xa, fa.count, (const double(*)[3])xb, fb.count, c);
            for (int m = 0; m < count; ++m)
                c[m].b = g[0] * c[m].u + g[1] * c[m].v + g[2];
        } else if (fa.count > 2 && fb.count == 2 && plane_of((const double(*)[3])xa, fa.count, g)) {
            count = clip((const double(*)[3])xb, fb.count, (const double(*)[3])xa, fa.count, c);
            swapped = 1;
            for (int m = 0; m < count; ++m) {
                c[m].b = c[m].a;
                c[m].a = g[0] * c[m].u + g[1] * c[m].v + g[2];
            }
        }
        for (int m = 0; m < count; ++m) {
            soa_patch_point q = {.distance = c[m].a - c[m].b - a->radius - b->radius};
            if (!(q.distance <= margin)) continue;
            q.id = mix(mix(mix(2166136261u, fa.id), mix(fb.id, (unsigned)swapped)), c[m].id);
            for (int i = 0; i < 3; ++i) {
                const double foot = w.origin[i] + c[m].u * w.t[0][i] + c[m].v * w.t[1][i];
                q.point_a[i] = foot + (c[m].a - a->radius) * w.n[i];
                q.point_b[i] = foot + (c[m].b + b->radius) * w.n[i];
            }
            all.p[all.count++] = q;
        }
    }
    /* the nearest point, unless one of these is as near */
    double least = INFINITY;
    for (int m = 0; m < all.count; ++m)
        least = fmin(least, all.p[m].distance);
    if (!(least <= d.distance + 1e-6 * fmax(margin, -d.distance))) {
        soa_patch_point q = {.distance = d.distance, .id = 0};
        memcpy(q.point_a, d.point_a, sizeof q.point_a);
        memcpy(q.point_b, d.point_b, sizeof q.point_b);
        if (all.count == 4 * CORNERS_MOST) --all.count;
        all.p[all.count++] = q;
    }
    take(patch, all.p, all.count);
    return SOA_OK;
}
