/* penetration.c  least translation that parts two overlapping cores: expanding polytope (van den
 *                Bergen).
 *
 * A hull of points of the difference is grown from inside: the face nearest to 0 is pushed out by
 * the support along its normal until that no longer moves it.  With n a face's normal and d its
 * distance, the least d of all faces <= depth <= h(n) = support along n: again an answer is proved
 * before it is given, and h(n) always parts the shapes.  The points are exact doubles.  A side of a
 * plane that double cannot tell, and normals of thin faces, are computed in twice double, so that
 * the hull stays a hull for flat, parallel and repeated faces.  d may be negative: the first
 * tetrahedron (four far points) need not contain 0.
 * The points of A and B that touch come from the foot of 0 on the face; where that lies beside the
 * three corners, on another part of the same plane, they are the nearest ones after A is moved out
 * along n.
 * Memory: some 50 kB of stack.  Where it is full, the least h(n) met is given.  Cost: some 2 to 100
 * us. */
#include "collision_internal.h"
#include "../spatial/double_double.h"

enum { POINTS_MOST = 256, FACES_MOST = 2 * POINTS_MOST };

typedef struct face {
    double n[3], d;
    short v[3], next[3]; /* next[k]: across the edge from v[k] to v[k + 1] */
    short mark;          /* -1 free, 0 unseen, 1 visible, 2 not visible: in this step */
} face;
typedef struct point {
    double x[3], a[3]; /* of the difference, and of A where it comes from; of B: a - x */
} point;
typedef struct hull {
    point p[POINTS_MOST];
    face f[FACES_MOST];
    int point_count, face_count; /* faces used so far, free ones included */
    short free_face[FACES_MOST];
    int free_count;
    double size;
} hull;

/* (b - a) x (c - a), unit, and its length; exact but for the last rounding.  0: no area. */
static int normal_of(const double *a, const double *b, const double *c, double n[3], double *d) {
    double e[3], f[3];
    for (int i = 0; i < 3; ++i) {
        e[i] = b[i] - a[i];
        f[i] = c[i] - a[i];
    }
    soai_cross(e, f, n);
    double nn = SOAI_DOT(n, n), far = SOAI_DOT(n, a);
    if (!(nn > 0.01 * SOAI_DOT(e, e) * SOAI_DOT(f, f) &&
          far * far > 1e-12 * nn * SOAI_DOT(a, a))) { /* thin, or near 0 */
        twice u[3], v[3], m[3], x[3];
        twice_difference(b, a, u);
        twice_difference(c, a, v);
        twice_cross(u, v, m);
        twice_vector(a, x);
        far = twice_dot(m, x).h;
        /* scaled, for thin faces' squares are small */
        const double scale = fmax(fabs(m[0].h), fmax(fabs(m[1].h), fabs(m[2].h)));
        if (!(scale > 0)) return 0;
        for (int i = 0; i < 3; ++i)
            n[i] = m[i].h / scale;
        far /= scale;
        nn = SOAI_DOT(n, n);
    }
    const double length = sqrt(nn);
    if (!(length > 0)) return 0;
    for (int i = 0; i < 3; ++i)
        n[i] /= length;
    *d = far / length;
    return 1;
}

static double greatest_of(const twice x[3]) {
    return fmax(fabs(x[0].h), fmax(fabs(x[1].h), fabs(x[2].h)));
}
/* Side of x: 1 above the face, 0 in its plane, -1 below. */
static int side_of(const hull *h, const face *f, const double x[3]) {
    const double *a = h->p[f->v[0]].x;
    const double u[3] = {x[0] - a[0], x[1] - a[1], x[2] - a[2]}, s = SOAI_DOT(f->n, u);
    if (fabs(s) > 4e-14 * h->size) return s > 0 ? 1 : -1;
    twice e[3], g[3], m[3], w[3];
    twice_difference(h->p[f->v[1]].x, a, e);
    twice_difference(h->p[f->v[2]].x, a, g);
    twice_difference(x, a, w);
    twice_cross(e, g, m);
    const twice volume = twice_dot(m, w);
    /* below what twice double itself rounds: in the plane */
    if (fabs(volume.h) <= 1e-30 * greatest_of(e) * greatest_of(g) * greatest_of(w)) return 0;
    return twice_sign(volume);
}

static int new_face(hull *h, int a, int b, int c) {
    int k;
    if (h->free_count) {
        k = h->free_face[--h->free_count];
    } else if (h->face_count < FACES_MOST) {
        k = h->face_count++;
    } else {
        k = -1;
    }
    if (k < 0) return -1;
    face *f = &h->f[k];
    f->v[0] = (short)a;
    f->v[1] = (short)b;
    f->v[2] = (short)c;
    f->mark = 0;
    if (normal_of(h->p[a].x, h->p[b].x, h->p[c].x, f->n, &f->d)) return k;
    f->mark = -1;
    h->free_face[h->free_count++] = (short)k;
    return -1;
}

/* Takes x into the hull, above face `from`.  0: no room. */
static int grow(hull *h, int from, const point *x) {
    short stack[FACES_MOST], rim[FACES_MOST][3], starts[POINTS_MOST], made[FACES_MOST];
    int depth = 0, rims = 0;
    if (h->point_count == POINTS_MOST) return 0;
    for (int i = 0; i < h->face_count; ++i)
        if (h->f[i].mark > 0) h->f[i].mark = 0;
    h->f[from].mark = 1;
    stack[depth++] = (short)from;
    while (depth) { /* visible faces go; where one meets a face that stays is the rim */
        const int k = stack[--depth];
        const face *f = &h->f[k];
        for (int e = 0; e < 3; ++e) {
            face *g = &h->f[f->next[e]];
            if (!g->mark) {
                g->mark = side_of(h, g, x->x) >= 0 ? 1 : 2;
                if (g->mark == 1) stack[depth++] = f->next[e];
            }
            if (g->mark == 2) {
                rim[rims][0] = f->v[e];
                rim[rims][1] = f->v[(e + 1) % 3];
                rim[rims][2] = f->next[e];
                ++rims;
            }
        }
    }
    int gone = 0;
    for (int i = 0; i < h->face_count; ++i)
        gone += h->f[i].mark == 1;
    if (rims < 3 || FACES_MOST - h->face_count + h->free_count + gone < rims) return 0;
    for (int i = 0; i < h->face_count; ++i) {
        if (h->f[i].mark == 1) {
            h->f[i].mark = -1;
            h->free_face[h->free_count++] = (short)i;
        }
    }
    const int p = h->point_count++;
    h->p[p] = *x;
    for (int i = 0; i < p; ++i)
        starts[i] = -1;
    for (int r = 0; r < rims; ++r) {
        const int k = new_face(h, rim[r][0], rim[r][1], p);
        if (k < 0 || starts[rim[r][0]] >= 0) return 0;
        made[r] = (short)k;
        starts[rim[r][0]] = (short)k;
        face *g = &h->f[rim[r][2]];
        h->f[k].next[0] = rim[r][2];
        for (int e = 0; e < 3; ++e)
            if (g->v[e] == rim[r][1] && g->v[(e + 1) % 3] == rim[r][0]) g->next[e] = (short)k;
    }
    for (int r = 0; r < rims; ++r) { /* edge end - p of one is edge p - start of the next */
        const int k = made[r], after = starts[rim[r][1]];
        if (after < 0) return 0;
        h->f[k].next[1] = (short)after;
        h->f[after].next[2] = (short)k;
    }
    return 1;
}

static point support(soai_pair *pair, const double n[3], double sign) {
    soai_vertex v;
    point out;
    soai_pair_support(pair, (double[]){-sign * n[0], -sign * n[1], -sign * n[2]}, &v);
    memcpy(out.x, v.w, sizeof v.w);
    memcpy(out.a, v.a, sizeof v.a);
    return out;
}

/* Four far points.  Gives how many dimensions the difference has; n: normal to it if fewer than
 * 3. */
static int first_points(soai_pair *pair, hull *h, double n[3]) {
    double best = 0, e[3] = {0}, d;
    for (int axis = 0; axis < 3; ++axis) {
        const double u[3] = {axis == 0, axis == 1, axis == 2};
        const point x = support(pair, u, -1), y = support(pair, u, 1);
        const double t[3] = {y.x[0] - x.x[0], y.x[1] - x.x[1], y.x[2] - x.x[2]};
        for (int i = 0; i < 3; ++i)
            h->size = fmax(h->size, fmax(fabs(x.x[i]), fabs(y.x[i])));
        if (SOAI_DOT(t, t) > best) {
            best = SOAI_DOT(t, t);
            h->p[0] = x;
            h->p[1] = y;
            memcpy(e, t, sizeof t);
        }
    }
    n[0] = n[1] = 0;
    n[2] = 1;
    if (!(best > 0)) return 0;
    /* across the line: both ways along two directions square to it */
    int k;
    if (fabs(e[0]) < fabs(e[1])) {
        k = fabs(e[0]) < fabs(e[2]) ? 0 : 2;
    } else {
        k = fabs(e[1]) < fabs(e[2]) ? 1 : 2;
    }
    double u[2][3], area = 0, t[3];
    soai_cross(e, (double[]){k == 0, k == 1, k == 2}, u[0]);
    soai_cross(e, u[0], u[1]);
    const double length = sqrt(SOAI_DOT(u[0], u[0]));
    for (int i = 0; i < 3; ++i)
        n[i] = u[0][i] / length;
    for (int side = 0; side < 4; ++side) {
        const point x = support(pair, u[side >> 1], side & 1 ? 1 : -1);
        twice a[3], b[3], c[3];
        twice_difference(h->p[1].x, h->p[0].x, a);
        twice_difference(x.x, h->p[0].x, b);
        twice_cross(a, b, c);
        const double aa = twice_dot(c, c).h;
        if (aa > area) {
            area = aa;
            h->p[2] = x;
        }
    }
    if (!(area > 0) || !normal_of(h->p[0].x, h->p[1].x, h->p[2].x, t, &d)) return 1;
    memcpy(n, t, sizeof t);
    double most = 0;
    for (int side = 0; side < 2; ++side) {
        const point x = support(pair, n, side ? 1 : -1);
        twice a[3], b[3], c[3], m[3];
        twice_difference(h->p[1].x, h->p[0].x, a);
        twice_difference(h->p[2].x, h->p[0].x, b);
        twice_difference(x.x, h->p[0].x, c);
        twice_cross(a, b, m);
        const double volume = twice_dot(m, c).h;
        if (fabs(volume) > fabs(most)) {
            most = volume;
            h->p[3] = x;
        }
    }
    if (most == 0) return 2;
    if (most > 0) { /* the fourth below the first three */
        const point x = h->p[1];
        h->p[1] = h->p[2];
        h->p[2] = x;
    }
    return 3;
}

/* The face that is nearest when no support moves it any more (best), with the point that proves it
 * (top).  0: no hull. */
typedef struct nearest_face {
    double n[3], depth; /* unit normal, h(n) */
    short v[3];         /* points that carry it */
} nearest_face;
static int expand(soai_pair *pair, hull *h, nearest_face *best, int *steps) {
    static const short corners[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    static const short across[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (int k = 0; k < 4; ++k) {
        if (new_face(h, corners[k][0], corners[k][1], corners[k][2]) != k) return 0;
        memcpy(h->f[k].next, across[k], sizeof across[k]);
    }
    h->point_count = 4;
    best->depth = INFINITY;
    for (*steps = 0; *steps < POINTS_MOST; ++*steps) {
        int nearest = -1;
        for (int k = 0; k < h->face_count; ++k)
            if (h->f[k].mark >= 0 && (nearest < 0 || h->f[k].d < h->f[nearest].d)) nearest = k;
        if (nearest < 0) return 0;
        const face *f = &h->f[nearest];
        const point x = support(pair, f->n, 1);
        const double high = SOAI_DOT(f->n, x.x);
        const int done =
            high - f->d <= (pair->curved ? 1e-12 * fabs(high) : 0) || side_of(h, f, x.x) <= 0;
        if (done || high < best->depth) {
            best->depth = high;
            memcpy(best->n, f->n, sizeof f->n);
            for (int i = 0; i < 3; ++i)
                best->v[i] = f->v[i];
        }
        for (int i = 0; i < 3; ++i)
            h->size = fmax(h->size, fabs(x.x[i]));
        if (done || !grow(h, nearest, &x)) break;
    }
    return isfinite(best->depth);
}

/* The points of A and B at the foot of 0 on the face; 0 if that lies beside it (on another one of
 * the same plane). */
static int foot_on(const hull *h, const short v[3], double a[3], double b[3]) {
    twice x[3][3], e[3], g[3], m[3], c[3];
    for (int k = 0; k < 3; ++k)
        twice_vector(h->p[v[k]].x, x[k]);
    twice_difference(h->p[v[1]].x, h->p[v[0]].x, e);
    twice_difference(h->p[v[2]].x, h->p[v[0]].x, g);
    twice_cross(e, g, m);
    const twice mm = twice_dot(m, m);
    if (twice_sign(mm) <= 0) return 0;
    double sum = 0;
    for (int i = 0; i < 3; ++i)
        a[i] = b[i] = 0;
    for (int k = 0; k < 3; ++k) {
        twice_cross(x[(k + 1) % 3], x[(k + 2) % 3], c);
        const double share = twice_div(twice_dot(m, c), mm).h;
        if (!(share >= -1e-15)) return 0;
        const point *p = &h->p[v[k]];
        sum += share;
        for (int i = 0; i < 3; ++i) {
            a[i] += share * p->a[i];
            b[i] += share * (p->a[i] - p->x[i]);
        }
    }
    return fabs(sum - 1) <= 1e-14; /* not so: the face is too thin */
}

int soai_penetration(soai_pair *pair, int surely, soai_nearest *out) {
    hull h;
    h.point_count = h.face_count = h.free_count = 0;
    h.size = 0;
    nearest_face f = {.depth = 0};
    int steps = 0, found = 0;
    const int dimensions = first_points(pair, &h, f.n);
    if (!isfinite(h.size)) return 0;
    if (dimensions == 3) {
        if (!expand(pair, &h, &f, &steps)) return 0;
        if (f.depth < 0 && !surely) return 0;
        found = foot_on(&h, f.v, out->a, out->b);
        for (int k = 0; !found && k < h.face_count; ++k) /* another part of the same plane */
            if (h.f[k].mark >= 0 && fabs(h.f[k].d - f.depth) <= 4e-15 * h.size &&
                SOAI_DOT(h.f[k].n, f.n) > 1 - 1e-12)
                found = foot_on(&h, h.f[k].v, out->a, out->b);
    }
    /* A moved by -(depth + away) n is `away` from B along n; flat differences have depth 0 */
    if (!found) {
        const double away = h.size > 0 ? 1e-3 * h.size : 1, by = f.depth + away;
        soai_pair moved = *pair;
        for (int i = 0; i < 3; ++i)
            moved.p[i] += by * f.n[i];
        soai_nearest parted = {0};
        if (!soai_distance_apart(&moved, &parted)) return 0;
        for (int i = 0; i < 3; ++i) {
            out->a[i] = parted.a[i];
            out->b[i] = parted.b[i] - by * f.n[i];
        }
    }
    for (int i = 0; i < 3; ++i)
        out->normal[i] = -f.n[i];
    out->distance = -f.depth;
    out->iterations += steps;
    return 1;
}
