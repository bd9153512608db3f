/* derivative_steps.h  one body of the recursions of dP and dMc, the changes of articulated and
 *                     composite inertias in a direction dq.
 *
 * With delta = H* dq, what the joint displaces, and X = phi(parent, k):  dX = X Theta,
 * Theta y = delta x* y.  So
 *   dMc(parent) += X (Theta Mc + Mc Theta* + dMc) X*
 *   dP(parent)  += X (Theta P+ + P+ Theta* + dP+) X*
 *   dP+ = (1 - G H) dP (1 - G H)* - G dH P+ - P+ dH* G*
 * dG does not occur in dP+: P+ is stationary in the gain.
 * source  docs/theory/operator-derivatives.md
 * Matrices are 36 numbers; they are symmetric, except H*, dH*, U, G, which are columns. */
#ifndef SOAI_DERIVATIVE_STEPS_H
#define SOAI_DERIVATIVE_STEPS_H
#include "steps.h"

/* The joint of one body: what it displaces, the columns of H* and their changes. */
typedef struct displaced_joint {
    real delta[6];
    real H[36], dH[36]; /* 6 per degree of freedom */
} displaced_joint;
SOAI_INLINE void displace_joint(const view_table *k, const kernel_work *w, const body_table *b,
                                const real *dq, displaced_joint *to) {
    const int varies = joint_varies(b), last = b->nv - 1;
    real turn[6];
    v6_zero(to->delta);
    v6_zero(turn);
    for (int c = 0; c < b->nv; ++c) {
        real one[6];
        v6_zero(one);
        one[c] = REAL(1);
        v6_zero(to->H + 6 * c);
        joint_add(k, w, b, b->kind, b->nv, one, to->H + 6 * c);
        v6_add_scaled(dq[c], to->H + 6 * c, to->delta);
        v6_zero(to->dH + 6 * c);
    }
    if (!varies) return;
    v6_add_scaled(-dq[last], to->H + 6 * last, turn);
    for (int c = 0; c < b->nv; ++c) /* dH* = -cross(Ht* dq) H* */
        cross_motion(turn, to->H + 6 * c, to->dH + 6 * c);
}
/* S += Theta A + A Theta* */
SOAI_INLINE void add_turning(const real delta[6], const real A[36], real S[36]) {
    for (int c = 0; c < 6; ++c) {
        real t[6];
        cross_force(delta, A + 6 * c, t);
        for (int r = 0; r < 6; ++r) {
            S[6 * c + r] += t[r];
            S[6 * r + c] += t[r];
        }
    }
}
/* out += X S X* */
SOAI_INLINE void add_moved_inward(const real *R, const real *p, const real S[36], real out[36]) {
    real half[36];
    for (int c = 0; c < 6; ++c) { /* X S by columns */
        v6_zero(half + 6 * c);
        force_in_add(R, p, S + 6 * c, half + 6 * c);
    }
    for (int r = 0; r < 6; ++r) {
        real row[6];
        for (int c = 0; c < 6; ++c)
            row[c] = half[6 * c + r];
        force_in_add(R, p, row, out + 6 * r);
    }
}
/* G = P H* D^-1, and P+ = P - G H P */
SOAI_INLINE void gain_and_rest(const kernel_work *w, const body_table *b, const real *P,
                               const displaced_joint *by, real G[36], real P_plus[36]) {
    real U[36];
    for (int c = 0; c < b->nv; ++c)
        abi_mul(P, by->H + 6 * c, U + 6 * c);
    for (int r = 0; r < 6; ++r) {
        real x[6];
        for (int c = 0; c < b->nv; ++c)
            x[c] = U[6 * c + r];
        step_hinge_solve(w, b, b->nv, x);
        for (int c = 0; c < b->nv; ++c)
            G[6 * c + r] = x[c];
    }
    for (int j = 0; j < 6; ++j) {
        abi_column(P, j, P_plus + 6 * j);
        for (int c = 0; c < b->nv; ++c)
            v6_add_scaled(-U[6 * c + j], G + 6 * c, P_plus + 6 * j);
    }
}
/* x - G H x */
SOAI_INLINE void without_joint(int nv, const displaced_joint *by, const real G[36], const real x[6],
                               real out[6]) {
    real e[6];
    for (int c = 0; c < nv; ++c)
        e[c] = v6_dot(by->H + 6 * c, x);
    v6_copy(x, out);
    for (int c = 0; c < nv; ++c)
        v6_add_scaled(-e[c], G + 6 * c, out);
}
/* S = (1 - G H) dP (1 - G H)* - G dH P+ - P+ dH* G* */
SOAI_INLINE void change_after_joint(const body_table *b, const displaced_joint *by,
                                    const real G[36], const real P_plus[36], const real *dP,
                                    real S[36]) {
    real left[36];
    for (int j = 0; j < 6; ++j)
        without_joint(b->nv, by, G, dP + 6 * j, left + 6 * j);
    for (int r = 0; r < 6; ++r) {
        real row[6];
        for (int j = 0; j < 6; ++j)
            row[j] = left[6 * j + r];
        without_joint(b->nv, by, G, row, S + 6 * r);
    }
    for (int c = 0; joint_varies(b) && c < b->nv; ++c) {
        real t[6]; /* P+ dH* */
        for (int j = 0; j < 6; ++j)
            t[j] = v6_dot(P_plus + 6 * j, by->dH + 6 * c);
        for (int j = 0; j < 36; ++j)
            S[j] -= G[6 * c + j % 6] * t[j / 6] + t[j % 6] * G[6 * c + j / 6];
    }
}
/* dP of the parent; dP: 36 numbers per body. */
SOAI_SWEEP __attribute__((noinline)) void step_change_P(const view_table *k, const kernel_work *w,
                                                        const body_table *b, int i, const real *dq,
                                                        real *dP) {
    displaced_joint by;
    real G[36], P_plus[36], S[36];
    if (!b->parent) return;
    displace_joint(k, w, b, dq + b->iv, &by);
    gain_and_rest(w, b, w->b[i].P, &by, G, P_plus);
    change_after_joint(b, &by, G, P_plus, dP + 36 * i, S);
    add_turning(by.delta, P_plus, S);
    add_moved_inward(w->b[i].R, w->b[i].p, S, dP + 36 * b->parent);
}
/* dMc of the parent; Mc: 10 numbers per body. */
SOAI_SWEEP __attribute__((noinline)) void step_change_Mc(const view_table *k, const kernel_work *w,
                                                         const body_table *b, int i, const real *dq,
                                                         const real *Mc, real *dMc) {
    displaced_joint by;
    real A[36], S[36];
    if (!b->parent) return;
    displace_joint(k, w, b, dq + b->iv, &by);
    for (int c = 0; c < 6; ++c) {
        real one[6];
        v6_zero(one);
        one[c] = REAL(1);
        rigid_mul(Mc + 10 * i, one, A + 6 * c);
    }
    for (int j = 0; j < 36; ++j)
        S[j] = dMc[36 * i + j];
    add_turning(by.delta, A, S);
    add_moved_inward(w->b[i].R, w->b[i].p, S, dMc + 36 * b->parent);
}

#endif
