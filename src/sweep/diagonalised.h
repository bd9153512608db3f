/* diagonalised.h  the innovations factors of the mass matrix, and the bias of the diagonalised
 *                 equations of motion.
 *
 * M = m m*,  m = (I + H phi K) D^1/2,  D^1/2 the Cholesky factor C of each block, D = C C'.   RJK91
 *     (11) to (13) nu = m* v = C'(v + G'V+),  V+ = phi* V(parent)         nu' + mu = eps = m^-1 T
 *     RJK91 section 6 mu = m^-1 (C(q, v) v) - (dm/dt)* v
 * m^-1 (C v) = C^-1 H psi (M alpha + b), alpha the accelerations at v' = 0: by (16) the torques C v
 * need not be formed. (dm/dt)* v by differentiating the articulated-body recursion, rates as seen
 * in the body's axes, s = H*v:
 *     U' = P'H* + P H*'                 (an exact rotor's couple c: plus c x s)
 *     D' = H P'H* + H' U + U*H*'
 *     P+' = P' - U'G* - G U'* + G D'G*,           P'(parent) += phi (P+' + s x* P+ - P+ s x) phi*
 *     X = C^-1 D' C'^-1,  Phi(X) its lower half with half the diagonal:   dC/dt = C Phi(X)
 *     mu = C^-1 (H y - U'* V+ - U* (V+)' - D'v) + Phi(X) nu,      y = M alpha + b + sum phi (y - G
 *     H y)
 * docs/theory/diagonalised.md derives it.
 * needs   articulate()       cost  O(n): one sweep for a factor, outward and inward for mu
 * writes  f, A (factors); V, A, f, B (as P') (mu) */
#ifndef SOAI_DIAGONAL_H
#define SOAI_DIAGONAL_H
#include "steps.h"

/* The factors, as soa_factor numbers them. */
enum {
    FACTOR_L,
    FACTOR_L_ADJOINT,
    FACTOR_L_INVERSE,
    FACTOR_L_INVERSE_ADJOINT,
    FACTOR_ROOT,
    FACTOR_ROOT_ADJOINT,
    FACTOR_ROOT_INVERSE,
    FACTOR_ROOT_INVERSE_ADJOINT
};

SOAI_INLINE real real_sqrt(real x) {
#if SOAI_NUMBER == SOAI_COMPLEX
    return csqrt(x);
#elif SOAI_NUMBER == SOAI_QUAD
    return sqrtq(x);
#else
    return sqrt(x);
#endif
}

/* C with D = C C', lower triangle row by row, from what the articulated recursion left of D. */
SOAI_INLINE void cholesky_of(const kernel_work *w, const body_table *b, int nv, real C[36]) {
    const real *D = w->D + b->id;
    if (nv == 1) {
        C[0] = real_sqrt(REAL(1) / D[0]);
        return;
    }
    for (int c = 0; c < nv; ++c) {
        const real s = real_sqrt(D[nv * c + c]);
        C[nv * c + c] = s;
        for (int r = c + 1; r < nv; ++r)
            C[nv * r + c] = D[nv * r + c] * s;
    }
}
/* x = C x, C'x, C^-1 x, C'^-1 x */
SOAI_INLINE void cholesky_mul(int n, const real *C, real *x) {
    for (int r = n - 1; r >= 0; --r) {
        x[r] = C[n * r + r] * x[r];
        for (int c = 0; c < r; ++c)
            x[r] += C[n * r + c] * x[c];
    }
}
SOAI_INLINE void cholesky_tmul(int n, const real *C, real *x) {
    for (int c = 0; c < n; ++c) {
        x[c] = C[n * c + c] * x[c];
        for (int r = c + 1; r < n; ++r)
            x[c] += C[n * r + c] * x[r];
    }
}
SOAI_INLINE void cholesky_solve(int n, const real *C, real *x) {
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < r; ++c)
            x[r] -= C[n * r + c] * x[c];
        x[r] = x[r] / C[n * r + r];
    }
}
SOAI_INLINE void cholesky_tsolve(int n, const real *C, real *x) {
    for (int c = n - 1; c >= 0; --c) {
        for (int r = c + 1; r < n; ++r)
            x[c] -= C[n * r + c] * x[r];
        x[c] = x[c] / C[n * c + c];
    }
}

/* y = x + H z, z(parent) += phi (z + G x);   inverse: y = x - H z, z(parent) += phi (z + G y).  y
 * may be x. */
SOAI_INLINE void step_factor_in(const view_table *k, kernel_work *w, const body_table *b, int i,
                                int kind, int nv, int inverse, const real *x, real *y) {
    real z[6], h[6], g[6];
    v6_copy(w->b[i].f, z);
    joint_project(k, w, b, kind, nv, z, h);
    for (int c = 0; c < nv; ++c) {
        const real from = x[b->iv + c], to = inverse ? from - h[c] : from + h[c];
        y[b->iv + c] = to;
        g[c] = inverse ? to : from;
    }
    if (!b->parent) return;
    step_hinge_solve(w, b, nv, g);
    for (int c = 0; c < nv; ++c)
        v6_add_scaled(g[c], w->U + 6 * (b->iv + c), z);
    step_force_in(w, b, i, kind, z, w->b[b->parent].f);
}
/* y = x + G'V+, V = V+ + H*x;   inverse: y = x - G'V+, V = V+ + H*y.  y may be x. */
SOAI_INLINE void step_factor_out(const view_table *k, kernel_work *w, const body_table *b, int i,
                                 int kind, int nv, int inverse, const real *x, real *y) {
    real *V = w->b[i].A, g[6], rate[6];
    if (b->parent)
        step_motion_out(w, b, i, kind, w->b[b->parent].A, 0, V);
    else
        v6_zero(V);
    for (int c = 0; c < nv; ++c)
        g[c] = v6_dot(w->U + 6 * (b->iv + c), V);
    step_hinge_solve(w, b, nv, g);
    for (int c = 0; c < nv; ++c) {
        const real from = x[b->iv + c], to = inverse ? from - g[c] : from + g[c];
        y[b->iv + c] = to;
        rate[c] = inverse ? to : from;
    }
    joint_add(k, w, b, kind, nv, rate, V);
}
SOAI_INLINE void step_root(const kernel_work *w, const body_table *b, int factor, const real *x,
                           real *y) {
    const int n = b->nv;
    real C[36], *at = y + b->iv;
    cholesky_of(w, b, n, C);
    for (int c = 0; c < n; ++c)
        at[c] = x[b->iv + c];
    switch (factor) {
    case FACTOR_ROOT: cholesky_mul(n, C, at); break;
    case FACTOR_ROOT_ADJOINT: cholesky_tmul(n, C, at); break;
    case FACTOR_ROOT_INVERSE: cholesky_solve(n, C, at); break;
    default: cholesky_tsolve(n, C, at);
    }
}

/* y = (factor) x; y may be x. */
SOAI_SWEEP void factor_mul(const view_table *k, kernel_work *w, int factor, const real *x,
                           real *y) {
    const int inverse = factor == FACTOR_L_INVERSE || factor == FACTOR_L_INVERSE_ADJOINT;
    if (factor == FACTOR_L || factor == FACTOR_L_INVERSE) {
        for (int i = 0; i <= k->nb; ++i)
            v6_zero(w->b[i].f);
        for (int i = k->nb; i >= 1; --i)
            step_factor_in(k, w, k->body + i, i, k->body[i].kind, k->body[i].nv, inverse, x, y);
    } else if (factor == FACTOR_L_ADJOINT || factor == FACTOR_L_INVERSE_ADJOINT) {
        for (int i = 1; i <= k->nb; ++i)
            step_factor_out(k, w, k->body + i, i, k->body[i].kind, k->body[i].nv, inverse, x, y);
    } else {
        for (int i = 1; i <= k->nb; ++i)
            step_root(w, k->body + i, factor, x, y);
    }
}

/* P += K + K' */
SOAI_INLINE void abi_add_both(const real K[36], real *P) {
    for (int i = 0; i < 3; ++i) {
        for (int j = i; j < 3; ++j) {
            P[ABI_A(SYM(i, j))] += K[6 * i + j] + K[6 * j + i];
            P[ABI_C(SYM(i, j))] += K[6 * (3 + i) + 3 + j] + K[6 * (3 + j) + 3 + i];
        }
        for (int j = 0; j < 3; ++j)
            P[ABI_B(i, j)] += K[6 * i + 3 + j] + K[6 * (3 + j) + i];
    }
}

/* Outward: v from nu, V, alpha at v' = 0 in A, M alpha + b in f. */
SOAI_INLINE void step_diagonal_out(const view_table *k, kernel_work *w, const body_table *b, int i,
                                   const real *nu, real *v_tree) {
    const int nv = b->nv;
    body_work *own = w->b + i;
    const body_work *in = w->b + b->parent;
    real C[36], g[6], s[6], c[6], h[6], f[6], *v = v_tree + b->iv;
    motion_out(own->R, own->p, in->V, own->V);
    motion_out(own->R, own->p, in->A, own->A);
    for (int j = 0; j < nv; ++j) {
        v[j] = nu[b->iv + j];
        g[j] = v6_dot(w->U + 6 * (b->iv + j), own->V);
    }
    cholesky_of(w, b, nv, C);
    cholesky_tsolve(nv, C, v); /* v + G'V+ */
    step_hinge_solve(w, b, nv, g);
    for (int j = 0; j < nv; ++j)
        v[j] -= g[j];
    v6_zero(s);
    joint_add(k, w, b, b->kind, nv, v, s);
    for (int j = 0; j < 6; ++j)
        own->V[j] += s[j];
    cross_motion(own->V, s, c);
    joint_apparent_rate(k, w, b, v, v, c);
    for (int j = 0; j < 6; ++j)
        own->A[j] += c[j];
    step_bias_force(b, own->V, 0, f);
    rigid_mul_k(b->M, own->A, h);
    for (int j = 0; j < 6; ++j)
        own->f[j] = h[j] + f[j];
    step_rotor_gyro(k, b, v_tree, w->b[b->parent].V, w->b[b->parent].f);
}

/* P+' + s x* P+ - P+ s x of body i, moved into the parent's P'.  G = U D^-1, rate of U and D
 * given. */
SOAI_INLINE void step_inertia_rate(const kernel_work *w, const body_table *b, int i,
                                   const real s[6], const real *G, const real *U_rate,
                                   const real *D_rate, const real *P_rate, real *into) {
    const int nv = b->nv;
    real rate[ABI_SIZE], after[ABI_SIZE], K[36];
    for (int j = 0; j < ABI_SIZE; ++j) {
        rate[j] = P_rate[j];
        after[j] = w->b[i].P[j];
    }
    for (int c = 0; c < nv; ++c) {
        real half[6]; /* U' - G D'/2: the three terms are half G* + G half* */
        v6_copy(U_rate + 6 * c, half);
        for (int r = 0; r < nv; ++r)
            v6_add_scaled(REAL(-0.5) * D_rate[nv * r + c], G + 6 * r, half);
        abi_subtract(half, G + 6 * c, rate, rate);
        abi_subtract(G + 6 * c, half, rate, rate);
        abi_subtract(w->U + 6 * (b->iv + c), G + 6 * c, after, after);
    }
    for (int c = 0; c < 6; ++c) {
        real column[6], turned[6];
        abi_column(after, c, column);
        cross_force(s, column, turned);
        for (int r = 0; r < 6; ++r)
            K[6 * r + c] = turned[r];
    }
    abi_add_both(K, rate);
    abi_in_add(w->b[i].R, w->b[i].p, rate, into, into);
}

/* Inward: rates of P, U, D; y in f; mu. */
SOAI_INLINE void step_diagonal_in(const view_table *k, kernel_work *w, const body_table *b, int i,
                                  const real *nu, const real *v_tree, real *mu) {
    const int nv = b->nv;
    const real *v = v_tree + b->iv, *U = w->U + 6 * b->iv, *P = w->b[i].P, *P_rate = w->B + 36 * i;
    real s[6], before[6], before_rate[6], c[6], H_rate[36], G[36], U_rate[36], D_rate[36], C[36],
        e[6], x[6];
    v6_zero(s);
    joint_add(k, w, b, b->kind, nv, v, s);
    motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].V, before); /* V+ */
    motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].A, before_rate);
    cross_motion(w->b[i].V, s, c);
    for (int j = 0; j < 6; ++j)
        before_rate[j] += c[j]; /* (V+)' */

    joint_inertia(k, w, b, b->kind, nv, P_rate, U_rate); /* P'H* */
    for (int j = 0; j < nv; ++j) {
        joint_project(k, w, b, b->kind, nv, U_rate + 6 * j, x);
        for (int r = 0; r < nv; ++r)
            D_rate[nv * r + j] = x[r];
    }
    for (int j = 0; j < nv && joint_varies(b); ++j) {
        real unit[6], t[6];
        v6_zero(unit);
        v6_zero(H_rate + 6 * j);
        unit[j] = REAL(1);
        joint_apparent_rate(k, w, b, v, unit, H_rate + 6 * j);
        abi_mul(P, H_rate + 6 * j, t);
        for (int r = 0; r < 6; ++r)
            U_rate[6 * j + r] += t[r];
        for (int r = 0; r < nv; ++r) {
            const real d = v6_dot(H_rate + 6 * j, U + 6 * r);
            D_rate[nv * j + r] += d;
            D_rate[nv * r + j] += d;
        }
    }
    joint_project(k, w, b, b->kind, nv, w->b[i].f, e); /* H y */
    if (b->rotor) {
        real couple[3], t[3];
        step_rotor_couple(k, w, b, i, couple);
        v3_cross(couple, s, t);
        for (int j = 0; j < 3; ++j)
            U_rate[j] += t[j];
        for (int j = 0; j < 3; ++j)
            e[0] += k->dof[b->iv].rotor[j] * w->b[b->parent].A[j];
    }
    for (int j = 0; j < 6; ++j) {
        for (int r = 0; r < nv; ++r)
            x[r] = U[6 * r + j];
        step_hinge_solve(w, b, nv, x);
        for (int r = 0; r < nv; ++r)
            G[6 * r + j] = x[r];
    }
    if (b->parent) {
        real y[6];
        v6_copy(w->b[i].f, y);
        for (int j = 0; j < nv; ++j)
            v6_add_scaled(-e[j], G + 6 * j, y);
        force_in_add(w->b[i].R, w->b[i].p, y, w->b[b->parent].f);
        step_inertia_rate(w, b, i, s, G, U_rate, D_rate, P_rate, w->B + 36 * b->parent);
    }

    real *out = mu + b->iv;
    for (int j = 0; j < nv; ++j) {
        x[j] = e[j] - v6_dot(U_rate + 6 * j, before) - v6_dot(U + 6 * j, before_rate);
        for (int r = 0; r < nv; ++r)
            x[j] -= D_rate[nv * j + r] * v[r];
    }
    cholesky_of(w, b, nv, C);
    cholesky_solve(nv, C, x);
    for (int pass = 0; pass < 2; ++pass) /* X = C^-1 D' C'^-1: columns, then rows */
        for (int j = 0; j < nv; ++j) {
            real column[6];
            for (int r = 0; r < nv; ++r)
                column[r] = D_rate[pass ? nv * j + r : nv * r + j];
            cholesky_solve(nv, C, column);
            for (int r = 0; r < nv; ++r)
                D_rate[pass ? nv * j + r : nv * r + j] = column[r];
        }
    for (int j = 0; j < nv; ++j) {
        x[j] += REAL(0.5) * D_rate[nv * j + j] * nu[b->iv + j];
        for (int r = 0; r < j; ++r)
            x[j] += D_rate[nv * j + r] * nu[b->iv + r];
    }
    for (int j = 0; j < nv; ++j)
        out[j] = x[j];
}

/* v and mu of nu, articulated inertias standing.  v and mu must not be nu. */
SOAI_SWEEP void diagonal_bias(const view_table *k, kernel_work *w, const real *nu, real *v,
                              real *mu) {
    v6_zero(w->b[0].V);
    v6_zero(w->b[0].A);
    v6_zero(w->b[0].f);
    for (int i = 0; i <= k->nb; ++i)
        for (int j = 0; j < ABI_SIZE; ++j)
            w->B[36 * i + j] = REAL(0);
    for (int i = 1; i <= k->nb; ++i)
        step_diagonal_out(k, w, k->body + i, i, nu, v);
    for (int i = k->nb; i >= 1; --i)
        step_diagonal_in(k, w, k->body + i, i, nu, v, mu);
}

#endif
