/* exact.c  the search of distance.c in twice double, for the few pairs that double cannot decide.
 *
 * The points of the difference are doubles and taken as exact.  Of the at most four vertices every
 * subset is tried, its point nearest to 0 computed in twice double, and the nearest one kept whose
 * shares are all positive: no case is argued away, so none can go wrong.  Supports are taken in
 * double: that errs by an ulp of the size, no more.  Cost: some 10 us a step. */
#include "collision_internal.h"
#include "../spatial/double_double.h"

enum { STEPS_MOST = 200 };

/* Point nearest to 0 of the span of the vertices in `bits`; 0 unless it lies between them.  share:
 * of all four. */
static int nearest_of(const soai_vertex p[4], int bits, twice v[3], twice share[4]) {
    int c[4], n = 0;
    for (int i = 0; i < 4; ++i) {
        share[i] = twice_of(0);
        if (bits >> i & 1) c[n++] = i;
    }
    twice x[4][3];
    for (int k = 0; k < n; ++k)
        twice_vector(p[c[k]].w, x[k]);
    if (n == 1) {
        share[c[0]] = twice_of(1);
        memcpy(v, x[0], sizeof x[0]);
        return 1;
    }
    twice e[3], f[3], m[3], t[3];
    twice_difference(p[c[1]].w, p[c[0]].w, e);
    if (n == 2) {
        const twice num = twice_minus(twice_dot(x[0], e)), den = twice_dot(e, e);
        if (twice_sign(num) <= 0 || !twice_less(num, den)) return 0;
        const twice s = twice_div(num, den);
        share[c[1]] = s;
        share[c[0]] = twice_sub(twice_of(1), s);
        for (int i = 0; i < 3; ++i)
            v[i] = twice_add(x[0][i], twice_mul(s, e[i]));
        return 1;
    }
    twice_difference(p[c[2]].w, p[c[0]].w, f);
    twice_cross(e, f, m);
    if (n == 3) {
        const twice mm = twice_dot(m, m);
        if (twice_sign(mm) <= 0) return 0;
        for (int k = 0; k < 3; ++k) {
            twice_cross(x[(k + 1) % 3], x[(k + 2) % 3], t);
            share[c[k]] = twice_div(twice_dot(m, t), mm);
            if (twice_sign(share[c[k]]) <= 0) return 0;
        }
        const twice s = twice_div(twice_dot(m, x[0]), mm);
        for (int i = 0; i < 3; ++i)
            v[i] = twice_mul(s, m[i]);
        return 1;
    }
    twice g[3];
    twice_difference(p[c[3]].w, p[c[0]].w, g);
    const double edges =
        sqrt(twice_dot(e, e).h) * sqrt(twice_dot(f, f).h) * sqrt(twice_dot(g, g).h);
    /* no volume that twice double could tell from none */
    if (!(fabs(twice_dot(m, g).h) > 1e-29 * edges)) return 0;
    for (int k = 0; k < 4; ++k) { /* 0 on the inner side of each face: the fourth vertex's */
        const int i = (k + 1) & 3, j = (k + 2) & 3, l = (k + 3) & 3;
        twice a[3], b[3], d[3];
        twice_difference(p[j].w, p[i].w, a);
        twice_difference(p[l].w, p[i].w, b);
        twice_difference(p[k].w, p[i].w, d);
        twice_cross(a, b, t);
        if (twice_sign(twice_dot(t, d)) * -twice_sign(twice_dot(t, x[i])) < 0) return 0;
    }
    for (int i = 0; i < 3; ++i)
        v[i] = twice_of(0);
    return 1;
}

int soai_distance_exact(soai_pair *pair, soai_nearest *out) {
    soai_vertex p[4];
    twice v[3], share[4] = {{1, 0}}, vv;
    int n = 1, step;
    double d[3] = {0}, size = 0;
    for (int i = 0; i < 3; ++i)
        d[i] = -pair->p[i];
    if (!(SOAI_DOT(d, d) > 0)) d[0] = 1;
    soai_pair_support(pair, d, &p[0]);
    twice_vector(p[0].w, v);
    vv = twice_dot(v, v);
    for (int i = 0; i < 3; ++i)
        size = fmax(size, fabs(p[0].w[i]));
    for (step = 1; step <= STEPS_MOST; ++step) {
        const double length = sqrt(vv.h);
        if (!(length > 1e-20 * size)) return 0; /* far below an ulp of the points: inside */
        for (int i = 0; i < 3; ++i)
            d[i] = v[i].h / length;
        soai_pair_support(pair, d, &p[n]);
        for (int i = 0; i < 3; ++i)
            size = fmax(size, fabs(p[n].w[i]));
        const double lower = SOAI_DOT(d, p[n].w);
        if (length - lower <= (pair->curved ? 1e-12 * length : 0)) break;
        ++n;
        twice best = vv, best_v[3], best_share[4], u[3], s[4];
        int bits = 0;
        for (int b = 1; b < 1 << n; ++b) {
            if (b == 15 && lower > 1e-15 * size) continue; /* a lower bound above 0: not inside */
            if (!nearest_of(p, b, u, s)) continue;
            const twice uu = twice_dot(u, u);
            if (!twice_less(uu, best)) continue;
            best = uu;
            bits = b;
            memcpy(best_v, u, sizeof u);
            memcpy(best_share, s, sizeof s);
        }
        if (!bits) { /* no nearer one: v is it */
            --n;
            break;
        }
        if (bits == 15) return 0;
        int kept = 0;
        for (int k = 0; k < n; ++k) {
            if (bits >> k & 1) {
                p[kept] = p[k];
                share[kept++] = best_share[k];
            }
        }
        n = kept;
        memcpy(v, best_v, sizeof v);
        vv = best;
    }
    out->iterations += step;
    out->distance = sqrt(vv.h);
    for (int i = 0; i < 3; ++i) {
        out->normal[i] = v[i].h / out->distance;
        out->a[i] = out->b[i] = 0;
        for (int k = 0; k < n; ++k) {
            out->a[i] += share[k].h * p[k].a[i];
            out->b[i] += share[k].h * p[k].b[i];
        }
    }
    return 1;
}
