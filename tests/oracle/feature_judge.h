/* feature_judge.h  distance and depth of two hulls of few points by enumeration of features, for
 * number type NUMBER.
 *
 * Included once for each number type; NAME(x) makes its names. All pairs and triples of points are
 * treated as edges and triangles, whether or not they belong to the hull: inner ones only add
 * larger distances or larger overlaps. */
/* sqrtl is accurate to 64 bits, a Newton step to twice that. */
static NUMBER NAME(root)(NUMBER x) {
    if (!(x > 0) || x > 1e300) return x > 0 ? x : 0;
    NUMBER r = (NUMBER)sqrtl((long double)x);
    if (!(r > 0)) return 0;
    r = (r + x / r) / 2;
    return r;
}
static NUMBER NAME(least)(NUMBER a, NUMBER b) {
    return b < a ? b : a;
}
static NUMBER NAME(most)(NUMBER a, NUMBER b) {
    return b > a ? b : a;
}
static NUMBER NAME(dot)(const NUMBER a[3], const NUMBER b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static void NAME(cross)(const NUMBER a[3], const NUMBER b[3], NUMBER c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
static void NAME(minus)(const NUMBER a[3], const NUMBER b[3], NUMBER c[3]) {
    for (int i = 0; i < 3; ++i)
        c[i] = a[i] - b[i];
}

/* Vertices of the core in the world, relative to an origin near both. */
typedef struct NAME(solid) {
    int count;
    NUMBER x[VERTICES_MOST][3];
    int edges, edge[EDGES_MOST][2], triangles, triangle[TRIANGLES_MOST][3];
    NUMBER n[TRIANGLES_MOST][3], nn[TRIANGLES_MOST], along[EDGES_MOST][3], ll[EDGES_MOST];
} NAME(solid);

static void NAME(solid_features)(NAME(solid) * s) {
    s->edges = s->triangles = 0;
    for (int i = 0; i < s->count; ++i)
        for (int j = i + 1; j < s->count; ++j) {
            const int e = s->edges++;
            s->edge[e][0] = i;
            s->edge[e][1] = j;
            NAME(minus)(s->x[j], s->x[i], s->along[e]);
            s->ll[e] = NAME(dot)(s->along[e], s->along[e]);
            for (int k = j + 1; k < s->count; ++k) {
                NUMBER f[3];
                const int t = s->triangles++;
                s->triangle[t][0] = i;
                s->triangle[t][1] = j;
                s->triangle[t][2] = k;
                NAME(minus)(s->x[k], s->x[i], f);
                NAME(cross)(s->along[e], f, s->n[t]);
                s->nn[t] = NAME(dot)(s->n[t], s->n[t]);
            }
        }
}
static void NAME(solid_of)(const soa_shape *shape, const soa_frame *pose, const double origin[3],
                           NAME(solid) * s) {
    double local[VERTICES_MOST][3] = {{0}};
    s->count = 1;
    if (shape->type == SOA_SHAPE_CAPSULE) {
        s->count = 2;
        local[0][2] = -shape->half[2];
        local[1][2] = shape->half[2];
    } else if (shape->type == SOA_SHAPE_BOX) {
        s->count = 8;
        for (int k = 0; k < 8; ++k)
            for (int i = 0; i < 3; ++i)
                local[k][i] = k >> i & 1 ? shape->half[i] : -shape->half[i];
    } else if (shape->type == SOA_SHAPE_POLYTOPE) {
        s->count = shape->vertex_count;
        assert_true(s->count <= VERTICES_MOST);
        memcpy(local, shape->vertices, (size_t)s->count * sizeof *local);
    }
    for (int k = 0; k < s->count; ++k)
        for (int i = 0; i < 3; ++i) {
            s->x[k][i] = (NUMBER)(pose->p[i]) - (NUMBER)(origin[i]);
            for (int j = 0; j < 3; ++j)
                s->x[k][i] += (NUMBER)(pose->R[3 * i + j]) * (NUMBER)(local[k][j]);
        }
    NAME(solid_features)(s);
}

/* Smallest squared distance of a vertex of a to a vertex, edge or triangle of b. */
static NUMBER NAME(vertices_to)(const NAME(solid) * a, const NAME(solid) * b, NUMBER best) {
    for (int i = 0; i < a->count; ++i) {
        const NUMBER *p = a->x[i];
        NUMBER u[3], v[3], c[3];
        for (int j = 0; j < b->count; ++j) {
            NAME(minus)(p, b->x[j], u);
            const NUMBER d = NAME(dot)(u, u);
            if (d < best) best = d;
        }
        for (int e = 0; e < b->edges; ++e) {
            NAME(minus)(p, b->x[b->edge[e][0]], u);
            const NUMBER t = NAME(dot)(u, b->along[e]);
            if (!(t > 0 && t < b->ll[e])) continue;
            for (int k = 0; k < 3; ++k)
                c[k] = u[k] - b->along[e][k] * (t / b->ll[e]);
            const NUMBER d = NAME(dot)(c, c);
            if (d < best) best = d;
        }
        for (int t = 0; t < b->triangles; ++t) {
            NAME(minus)(p, b->x[b->triangle[t][0]], u);
            const NUMBER h = NAME(dot)(u, b->n[t]), d = h * h;
            if (!(d < best * b->nn[t])) continue;
            int inside = 1;
            for (int k = 0; k < 3 && inside; ++k) {
                const NUMBER *q = b->x[b->triangle[t][k]], *r = b->x[b->triangle[t][(k + 1) % 3]];
                NUMBER e[3];
                NAME(minus)(r, q, e);
                NAME(minus)(p, q, v);
                NAME(cross)(e, v, c);
                inside = NAME(dot)(c, b->n[t]) >= 0;
            }
            if (inside) best = d / b->nn[t];
        }
    }
    return best;
}
static NUMBER NAME(edges_to)(const NAME(solid) * a, const NAME(solid) * b, NUMBER best) {
    for (int e = 0; e < a->edges; ++e)
        for (int f = 0; f < b->edges; ++f) {
            NUMBER r[3], n[3];
            NAME(cross)(a->along[e], b->along[f], n);
            const NUMBER nn = NAME(dot)(n, n);
            NAME(minus)(b->x[b->edge[f][0]], a->x[a->edge[e][0]], r);
            const NUMBER h = NAME(dot)(r, n), d = h * h;
            if (!(d < best * nn)) continue;
            NUMBER c[3];
            NAME(cross)(r, b->along[f], c);
            const NUMBER s = NAME(dot)(c, n);
            NAME(cross)(r, a->along[e], c);
            const NUMBER t = NAME(dot)(c, n);
            if (s > 0 && s < nn && t > 0 && t < nn) best = d / nn;
        }
    return best;
}
static NUMBER NAME(judge_distance)(const NAME(solid) * a, const NAME(solid) * b) {
    return NAME(root)(
        NAME(edges_to)(a, b, NAME(vertices_to)(b, a, NAME(vertices_to)(a, b, INFINITY))));
}
/* Separation along n, from B's top to A's bottom: at most the distance, for any unit n. */
static NUMBER NAME(parted_by)(const NAME(solid) * a, const NAME(solid) * b, const NUMBER n[3]) {
    NUMBER low = INFINITY, high = -INFINITY;
    for (int i = 0; i < a->count; ++i)
        low = NAME(least)(low, NAME(dot)(n, a->x[i]));
    for (int i = 0; i < b->count; ++i)
        high = NAME(most)(high, NAME(dot)(n, b->x[i]));
    return low - high;
}
static void NAME(try_normal)(const NAME(solid) * a, const NAME(solid) * b, const NUMBER n[3],
                             NUMBER nn, NUMBER *best) {
    if (!(nn > 0)) return;
    const NUMBER length = NAME(root)(nn);
    NUMBER u[3] = {n[0] / length, n[1] / length, n[2] / length};
    *best = NAME(least)(*best, -NAME(parted_by)(a, b, u));
    for (int i = 0; i < 3; ++i)
        u[i] = -u[i];
    *best = NAME(least)(*best, -NAME(parted_by)(a, b, u));
}
/* Smallest overlap over all normals; 0 if there is none to try (both on one line). */
static NUMBER NAME(judge_depth)(const NAME(solid) * a, const NAME(solid) * b) {
    NUMBER best = INFINITY;
    for (int t = 0; t < a->triangles; ++t)
        NAME(try_normal)(a, b, a->n[t], a->nn[t], &best);
    for (int t = 0; t < b->triangles; ++t)
        NAME(try_normal)(a, b, b->n[t], b->nn[t], &best);
    for (int e = 0; e < a->edges; ++e)
        for (int f = 0; f < b->edges; ++f) {
            NUMBER n[3];
            NAME(cross)(a->along[e], b->along[f], n);
            NAME(try_normal)(a, b, n, NAME(dot)(n, n), &best);
        }
    return best == INFINITY ? 0 : best;
}

static NUMBER NAME(size_of)(NUMBER x) {
    return x < 0 ? -x : x;
}
/* |distance or -depth of the cores - the given value|. A value <= allowed is taken for an
 * overlap. A depth close to zero may also be a distance: of cores that touch, or of flat ones in
 * one plane. */
static NUMBER NAME(error_of)(const NAME(solid) * a, const NAME(solid) * b, NUMBER said,
                             NUMBER allowed) {
    const int overlap = !(said > allowed);
    const NUMBER depth = overlap ? NAME(judge_depth)(a, b) : 0, deep = NAME(size_of)(depth + said);
    if (overlap && !(depth < allowed)) return deep;
    const NUMBER far = NAME(size_of)(NAME(judge_distance)(a, b) - said);
    return overlap ? NAME(least)(deep, far) : far;
}
