/* ud.h  forward dynamics with the articulated inertia carried as P = U diag(d) U*: R87's square-root
 *       filter, without square roots.
 *
 * aba.h takes the share of the hinge off P by a subtraction, P+ = P - U G*, and where P is large and
 * P+ small (a heavy load on light links, once six hinges have let it go) the difference has few
 * digits.  Here nothing is subtracted from an inertia: the factors U, unit upper triangular, and d,
 * positive weights, are what passes from body to body.
 *
 * The same happens to forces: z contains the bias forces of the load, and they cancel in the same
 * way.  So they are carried as accelerations.  Each column u of U has an acceleration zeta beside it,
 * and what lies outboard answers an acceleration A of the body with the force
 *     f = sum d u (u*A + zeta) + z,
 * z being torques and wrenches alone.  By Gauss's principle this is a problem of least squares,
 * sum d (u*A + zeta)^2 / 2, and zeta is one more row of U, the seventh, on which all that is done to
 * the others is done too.
 *
 *   outward   as aba.h;  zeta of M: U diag(d) zeta = [w x I w; w x (w x h)]   RK88-I (2.23)
 *             z = - wrench
 *   inward    U, d, zeta of M + sum over children of phi P+ phi*:          R87 (37)
 *               the columns phi u+ with weights d+, beside those of M, made triangular by modified
 *               weighted Gram-Schmidt (Thornton)
 *             for each degree of freedom of the hinge:
 *               D   = H P H* + armature,  G = P H* D^-1                    R87 (38), (39)
 *               g   = H U diag(d) zeta D^-1, the seventh row of G
 *               eps = T - H z,  nu = D^-1 eps - g,  z <- z + G eps         R87 (40), (42), (41)
 *               P  <- P - G D G*, in U, d and zeta (Bierman)               R87 (43)
 *             zeta+ = zeta + u+* c                                         R87 (41)
 *   outward   as aba.h, the degrees of freedom of a hinge in the other order
 *
 * hinge     The coordinates of the hinge come last in the order of the triangle (inertia_factors.h).
 *           Where H is one of them and there is no armature, D = d(6), G = column 6 of U, and P+ is
 *           what is left without that column: the hinge costs nothing and H P+ = 0 exactly.
 *           Bierman's update serves any H and any armature (measurement noise).  Without one the
 *           first column with H u != 0 loses its weight, exactly.
 * several   degrees of freedom of one hinge are taken one after the other, as if massless bodies
 *           were between them: the last column of H* first.
 * factors   of M come from the table, made in double once: from a rounded M they could not be had.
 * limits    no exact rotors (their noise correlates with the state), no mimic joints.
 * letters   as in aba.h.  Here U is the factor, not P H*.
 * writes    as aba, but P of a body holds U and d, and A, until the last sweep, zeta; no U, D for
 *           minv_mul
 * returns   0, or the body whose hinge moves no inertia */
#ifndef SOAI_UD_H
#define SOAI_UD_H
#include "aba.h"
#include "../table/inertia_factors.h"

enum {
    UD_MOST = 12 /* columns when a child joins: six of each */
};

/* Rows of columns, one row for each place of the order, and the weights of the columns. */
typedef struct ud_columns {
    real row[6][UD_MOST];
    real bias[UD_MOST]; /* the seventh row */
    real weight[UD_MOST];
} ud_columns;

/* U, d and zeta of the columns: modified weighted Gram-Schmidt, from the last row on.  A weight is a
 * sum of squares. */
static __attribute__((noinline, unused)) void ud_triangle(ud_columns *w, real *P, real *zeta) {
    for (int j = 5; j >= 0; --j) {
        real weighted[UD_MOST];
        real d = REAL(0);
        SOAI_UNROLL
        for (int k = 0; k < UD_MOST; ++k) {
            weighted[k] = w->weight[k] * w->row[j][k];
            d += weighted[k] * w->row[j][k];
        }
        P[SOAI_FACTOR_D + j] = d;
        const real inverse = real_all_above(d, REAL(0)) ? REAL(1) / d : REAL(0);
        for (int i = 0; i < j; ++i) {
            real u = REAL(0);
            SOAI_UNROLL
            for (int k = 0; k < UD_MOST; ++k)
                u += weighted[k] * w->row[i][k];
            u = u * inverse;
            P[SOAI_U(i, j)] = u;
            SOAI_UNROLL
            for (int k = 0; k < UD_MOST; ++k)
                w->row[i][k] -= u * w->row[j][k];
        }
        real t = REAL(0);
        SOAI_UNROLL
        for (int k = 0; k < UD_MOST; ++k)
            t += weighted[k] * w->bias[k];
        zeta[j] = t * inverse;
        SOAI_UNROLL
        for (int k = 0; k < UD_MOST; ++k)
            w->bias[k] -= zeta[j] * w->row[j][k];
    }
}
/* Column j of U, in the body's coordinates. */
SOAI_INLINE void ud_column(int kind, const real *P, int j, real u[6]) {
    v6_zero(u);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i) {
        if (i < j) u[soai_factor_order[kind][i]] = P[SOAI_U(i, j)];
    }
    u[soai_factor_order[kind][j]] = REAL(1);
}
/* The sums of P's angular and of its linear diagonal. */
SOAI_INLINE void ud_traces(int kind, const real *P, real *turn, real *slide) {
    *turn = *slide = REAL(0);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i) {
        real x = P[SOAI_FACTOR_D + i];
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j) {
            if (j > i) x += P[SOAI_FACTOR_D + j] * (P[SOAI_U(i, j)] * P[SOAI_U(i, j)]);
        }
        if (soai_factor_order[kind][i] < 3)
            *turn += x;
        else
            *slide += x;
    }
}
/* U diag(d) zeta = b, from the last place on; what d = 0 cannot take stays in b. */
SOAI_INLINE void ud_bias(int kind, const konst *factor, real b[6], real zeta[6]) {
    SOAI_UNROLL
    for (int j = 5; j >= 0; --j) {
        const real f = b[soai_factor_order[kind][j]];
        const konst d = factor[SOAI_FACTOR_D + j];
        zeta[j] = REAL(0);
        if (!(d > 0)) continue;
        zeta[j] = f / d;
        b[soai_factor_order[kind][j]] = REAL(0);
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i) {
            if (i < j) b[soai_factor_order[kind][i]] -= factor[SOAI_U(i, j)] * f;
        }
    }
}
/* Place of column c of H* in the order, where it is a coordinate; else -1. */
SOAI_INLINE int ud_place(int kind, int c) {
    if (ON_AXIS(kind)) return 5;
    if (kind == SOAI_KIND_SPHERICAL) return 3 + c;
    return kind == SOAI_KIND_FREE ? c : -1;
}
/* Bierman's update for column c of H*: P <- P - G D G*; returns D = H P H* + armature, sets G and its
 * seventh row.  Running sums: a = armature + sum f v and g = sum v u of the columns so far, f = u*H*,
 * v = d f. */
SOAI_INLINE real ud_hinge(joint J, int kind, int c, real *P, real *zeta, real G[6], real *seventh) {
    const int place = ud_place(kind, c);
    real H[6];
    real g[6]; /* in the order */
    real g_bias = REAL(0);
    real a = REAL(hinge_armature(J, kind, c));
    hinge_column(J, kind, c, H);
    v6_zero(g);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        real *d = P + SOAI_FACTOR_D + j;
        if (j < place) continue; /* f = 0 */
        real u[6];
        ud_column(kind, P, j, u);
        const real f = v6_dot(u, H);
        const real v = *d * f;
        const real next = a + f * v;
        if (!real_all_above(next, REAL(0))) continue; /* nothing has moved yet */
        const real share = real_all_above(a, REAL(0)) ? f / a : REAL(0);
        *d = *d * (a / next);
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i) {
            if (i >= j) continue;
            const real entry = P[SOAI_U(i, j)];
            P[SOAI_U(i, j)] = entry - share * g[i];
            g[i] += v * entry;
        }
        const real before = zeta[j];
        zeta[j] = before - share * g_bias;
        g_bias += v * before;
        g[j] += v;
        a = next;
    }
    const real inverse = real_all_above(a, REAL(0)) ? REAL(1) / a : REAL(0);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        G[soai_factor_order[kind][i]] = g[i] * inverse;
    *seventh = g_bias * inverse;
    return a;
}
/* The columns phi u+ and those that the parent has so far, or of its M, become its U, d and zeta.
 * in: the parent's row of factors. */
SOAI_INLINE void ud_pass(joint J, int kind, pose X, const real *P, const real *zeta,
                         const konst *in) {
    const unsigned char *order = soai_factor_order[J.k->body[J.b->parent].kind];
    ud_columns w;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        real u[6];
        real n[3];
        real f[3];
        ud_column(kind, P, j, u);
        rot_mul(X.R, u, n);
        rot_mul(X.R, u + 3, f);
        v3_cross_add(X.p, f, n);
        const real both[6] = {n[0], n[1], n[2], f[0], f[1], f[2]};
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i)
            w.row[i][j] = both[order[i]];
        w.bias[j] = zeta[j];
        w.weight[j] = P[SOAI_FACTOR_D + j];
    }
    const int starts = J.b->starts;
    const real *sum = J.parent->P;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        w.bias[6 + j] = J.parent->A[j];
        w.weight[6 + j] = starts ? REAL(in[SOAI_FACTOR_D + j]) : sum[SOAI_FACTOR_D + j];
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i) {
            w.row[i][6 + j] = REAL(i == j);
            if (i < j) w.row[i][6 + j] = starts ? REAL(in[SOAI_U(i, j)]) : sum[SOAI_U(i, j)];
        }
    }
    ud_triangle(&w, J.parent->P, J.parent->A);
}

/* Outward: velocities; bias forces as accelerations. */
SOAI_INLINE void ud_outward(joint J, int kind, const konst *factor, const real *q, const real *v,
                            const real *fext) {
    aba_outward(J, kind, q, v);
    real b[6];
    gyroscopic_force(J, J.own->V, 0, b);
    ud_bias(kind, factor, b, J.own->A);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        J.own->f[j] = fext ? b[j] - fext[6 * (J.i - 1) + j] : b[j];
}
/* Inward: the filter.  0 where the hinge moves no inertia. */
SOAI_INLINE int ud_inward(joint J, int kind, const konst *factors, const real *v, const real *tau) {
    const int n = joint_size(J, kind);
    const pose X = joint_read(J, kind);
    const konst *factor = factors + SOAI_FACTOR_SIZE * J.i;
    real P[SOAI_FACTOR_SIZE];
    real zeta[6];
    real T[6];
    real z[6];
    real c[6];
    real t[3];
    real rate[6];
    real turn;
    real slide;
    real size[6];
    for (int j = 0; j < SOAI_FACTOR_SIZE; ++j)
        P[j] = J.b->child ? J.own->P[j] : REAL(factor[j]);
    v6_copy(J.own->A, zeta);
    v6_copy(J.own->f, z); /* z = - wrench + sum phi z+   R87 (36) */
    ud_traces(kind, P, &turn, &slide);
    hinge_size(J.k, J.w, J.b, kind, n, turn, slide, size);
    joint_entries(J, kind, tau, T);
    for (int m = n - 1; m >= 0; --m) {
        real H[6];
        real g;
        real *G = J.w->G + 6 * (J.b->iv + m);
        const real D = ud_hinge(J, kind, m, P, zeta, G, &g); /* R87 (38), (39), (43) */
        if (!real_all_above(D, size[m] * REAL(SOAI_HINGE_TOLERANCE))) return 0;
        hinge_column(J, kind, m, H);
        const real eps = T[m] - v6_dot(H, z);                                 /* R87 (40) */
        J.w->e[J.b->iv + m] = eps / D - g;                                    /* nu   R87 (42) */
        v6_add_scaled(eps, G, z);                                             /* z+   R87 (41) */
        if (ON_AXIS(kind)) G[AXIS_OF(kind)] = hinge_armature(J, kind, 0) / D; /* hinge_keep */
    }
    if (!J.b->parent) return 1;
    joint_entries(J, kind, v, rate);
    v6_zero(c);
    lever(X, J.parent->V, t);
    rot_tmul(X.R, t, c + 3);
    add_joint_bias(J, kind, J.own->V, rate, c);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        real u[6];
        ud_column(kind, P, j, u);
        zeta[j] += v6_dot(u, c); /* R87 (41) */
    }
    ud_pass(J, kind, X, P, zeta, factors + SOAI_FACTOR_SIZE * J.b->parent); /* R87 (37) */
    force_in_add(X.R, X.p, z, J.parent->f);                                 /* R87 (36) */
    return 1;
}

/* Outward: the smoother. */
SOAI_INLINE void ud_smooth(joint J, int kind, const real *v, real *vdot) {
    const pose X = joint_read(J, kind);
    const real *nu = J.w->e + J.b->iv;
    const real *G = J.w->G + 6 * J.b->iv;
    real A[6];
    real rate[6];
    real accel[6];
    joint_entries(J, kind, v, rate);
    acceleration_out(J, X, A);                  /* R87 (45) */
    add_joint_bias(J, kind, J.own->V, rate, A); /* R87 (46) */
    if (ON_AXIS(kind)) {
        hinge_accelerate(J, kind, nu, G, A, accel); /* R87 (46), (47) */
    } else {
        for (int m = 0; m < joint_size(J, kind); ++m) {
            real H[6];
            hinge_column(J, kind, m, H);
            accel[m] = nu[m] - v6_dot(G + 6 * m, A); /* R87 (46) */
            v6_add_scaled(accel[m], H, A);           /* R87 (47) */
        }
    }
    v6_copy(A, J.own->A);
    put_joint_entries(J, kind, accel, vdot);
}

/* factors: rows of inertia_factors.h of the same table.  No mimic joints, no exact rotors. */
SOAI_SWEEP int aba_ud(const view_table *k, kernel_work *w, const konst *factors, const real *q,
                      const real *v, const real *tau, const real *fext, real *vdot) {
    if (k->stuck) return k->stuck;
    tau = torques_after_losses(k, w, q, v, tau); /* T */
    angles(k, w, q);
    v6_zero(w->b[0].V);
    base_acceleration(k, w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(
            b, ud_outward(joint_at(k, w, b, i), kind, factors + SOAI_FACTOR_SIZE * i, q, v, fext))
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        int moves = 0;
        WITH_ALIGNED_KIND(b, moves = ud_inward(joint_at(k, w, b, i), kind, factors, v, tau))
        if (!moves) return i;
    }
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, ud_smooth(joint_at(k, w, b, i), kind, v, vdot))
    }
    return 0;
}

/* P of a body inward of its children, as 36 numbers, after aba_ud. */
SOAI_SWEEP void ud_inertia(const view_table *k, const kernel_work *w, const konst *factors,
                           int body, real *out) {
    const int kind = k->body[body].kind;
    const konst *factor = factors + SOAI_FACTOR_SIZE * body;
    real P[SOAI_FACTOR_SIZE];
    for (int j = 0; j < SOAI_FACTOR_SIZE; ++j)
        P[j] = k->body[body].child ? w->b[body].P[j] : REAL(factor[j]);
    for (int j = 0; j < 36; ++j)
        out[j] = REAL(0);
    for (int j = 0; j < 6; ++j) {
        real u[6];
        ud_column(kind, P, j, u);
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                out[6 * r + c] += P[SOAI_FACTOR_D + j] * u[r] * u[c];
    }
}

#endif
