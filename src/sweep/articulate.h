/* articulate.h  articulated inertias, the two halves of M^-1, and mimic joints.
 *
 * source  R87 (37) to (39), (43); RJK91 (8) to (13); docs/theory/rotors-and-mimic.md
 * writes  P U D; f (= z) e A in the halves of M^-1 */
#ifndef SOAI_ARTICULATE_H
#define SOAI_ARTICULATE_H
#include "steps.h"

/* The two halves of M^-1, with P, U, D standing.  Innovations e = x - H psi (K x + z), z standing
 * in f (forces on the bodies' surroundings); then y = (I - H psi K)* D^-1 e, with A = psi* H* D^-1
 * e. */
SOAI_SWEEP void minv_filter(const view_table *k, kernel_work *w, const real *x) {
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, {
            LEVEL_STEP(kind, level_innovate(w, b, i, kind, x); break);
            step_filter(k, w, b, i, kind, nv, INNOVATE, 0, x);
        })
    }
}
SOAI_SWEEP void minv_smooth(const view_table *k, kernel_work *w, real *y) {
    v6_zero(w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, {
            LEVEL_STEP(kind, level_smooth(k, w, b, i, kind, 0, 0, y); break);
            step_smooth(k, w, b, i, kind, nv, 0, 0, y);
        })
    }
}
/* y = M^-1 x */
SOAI_SWEEP void minv_mul(const view_table *k, kernel_work *w, const real *x, real *y) {
    for (int i = 0; i <= k->nb; ++i)
        v6_zero(w->b[i].f);
    minv_filter(k, w, x);
    minv_smooth(k, w, y);
}

/* Poses and articulated inertias at q; q NULL: the poses stand. */
SOAI_SWEEP int articulate(const view_table *k, kernel_work *w, const real *q) {
    if (q) positions(k, w, q);
    if (k->stuck) return k->stuck;
    for (int i = 1; i <= k->nb; ++i)
        if (!k->body[i].child) abi_set(k->body[i].M, w->b[i].P);
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        int fine = 1;
        WITH_KIND(b, fine = step_filter(k, w, b, i, kind, nv, ARTICULATE, 0, 0))
        if (!fine) return i;
    }
    return 0;
}

/* The least share of a leader's inertia that is not the guard's: below is what rounding leaves. */
#if SOAI_NUMBER == SOAI_FLOAT || SOAI_NUMBER == SOAI_FLOAT_LANES
#define SOAI_HOLD_TOLERANCE 1e-5
#else
#define SOAI_HOLD_TOLERANCE 1e-13
#endif
/* W = L d L', in place, of any size; block_factor is for hinges.  Pivots are positive, those of
 * rows with a hold negative: -(hold) (share of the leader's inertia that is not the guard's). */
SOAI_INLINE int mimic_factor(const view_table *k, real *W) {
    const int n = k->nm;
    for (int j = 0; j < n; ++j) {
        const konst hold = k->mimic[j].hold;
        for (int m = 0; m < j; ++m)
            W[n * j + j] -= W[n * j + m] * W[n * j + m] * W[n * m + m];
        if (!real_all_above(hold > 0 ? -W[n * j + j] : W[n * j + j],
                            REAL(hold * (konst)SOAI_HOLD_TOLERANCE)))
            return 0;
        for (int i = j + 1; i < n; ++i) {
            for (int m = 0; m < j; ++m)
                W[n * i + j] -= W[n * i + m] * W[n * j + m] * W[n * m + m];
            W[n * i + j] = W[n * i + j] / W[n * j + j];
        }
    }
    return 1;
}
SOAI_INLINE void mimic_solve(int n, const real *W, real *x) {
    for (int i = 1; i < n; ++i)
        for (int m = 0; m < i; ++m)
            x[i] -= W[n * i + m] * x[m];
    for (int i = 0; i < n; ++i)
        x[i] = x[i] / W[n * i + i];
    for (int i = n - 1; i-- > 0;)
        for (int m = i + 1; m < n; ++m)
            x[i] -= W[n * m + i] * x[m];
}
/* Mimic joints are an exact coordinate map v = Gamma v_reduced.  On the tree it reads G v = 0, one
 * row (follower - ratio leader) each, and the torques that keep it are G' lambda:
 *     vdot = x - M^-1 G' (G M^-1 G')^-1 G x,     x the acceleration of the tree without them.  O(n)
 *     per mimic joint.
 * Where M is singular although Gamma'M Gamma is not, all this has M + guards in the place of M, on
 * followers and leaders.  On motions with G v = 0 that is K = sum ratio^2 guard more on each leader
 * e, taken off by its acceleration x' = e'vdot as one more unknown:  (M + guards) vdot = T + G'
 * lambda + e K x'.  Then [G; e'] stands for G, with -1/K at e on the diagonal of W;
 * docs/theory/rotors-and-mimic.md. */
SOAI_SWEEP int mimic_prepare(const view_table *k, kernel_work *w) {
    const int nm = k->nm, nv = k->nv;
    for (int r = 0; r < nm; ++r) {
        for (int j = 0; j < nv; ++j)
            w->x[j] = REAL(0);
        w->x[k->mimic[r].follower] = REAL(1);
        w->x[k->mimic[r].leader] -= k->mimic[r].ratio;
        minv_mul(k, w, w->x, w->Y + r * nv);
    }
    for (int r = 0; r < nm; ++r)
        for (int c = 0; c < nm; ++c)
            w->W[nm * r + c] = w->Y[c * nv + k->mimic[r].follower] -
                               k->mimic[r].ratio * w->Y[c * nv + k->mimic[r].leader];
    for (int r = 0; r < nm; ++r)
        w->W[(nm + 1) * r] -= k->mimic[r].hold;
    return mimic_factor(k, w->W) ? 0 : 1;
}
SOAI_SWEEP void mimic_project(const view_table *k, kernel_work *w, real *vdot) {
    const int nm = k->nm, nv = k->nv;
    real *g = w->x;
    for (int r = 0; r < nm; ++r)
        g[r] = vdot[k->mimic[r].follower] - k->mimic[r].ratio * vdot[k->mimic[r].leader];
    mimic_solve(nm, w->W, g);
    for (int r = 0; r < nm; ++r)
        for (int j = 0; j < nv; ++j)
            vdot[j] -= w->Y[r * nv + j] * g[r];
}

/* The torques that are left after friction and springs, in w->x where the model has them. */
SOAI_INLINE const real *torques_after_losses(const view_table *k, kernel_work *w, const real *q,
                                             const real *v, const real *tau) {
    if (!k->losses) return tau;
    for (int j = 0; j < k->nv; ++j)
        w->x[j] = tau[j];
    step_losses(k, q, v, (konst)-1, w->x);
    return w->x;
}
/* Projects the tree's accelerations on the motions that mimic joints allow; 0, or a body. */
SOAI_INLINE int mimic_constrain(const view_table *k, kernel_work *w, real *vdot) {
    if (!k->nm) return 0;
    if (mimic_prepare(k, w)) return k->nb;
    if (vdot) mimic_project(k, w, vdot);
    return 0;
}

#endif
