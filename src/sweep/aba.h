/* aba.h  forward dynamics, O(n):  vdot = (I - H psi K)* D^-1 (I - H psi K) (T - H phi [M phi* a + b
 *        + B f(0)])
 *
 * Three sweeps.  Outward: velocities.  Inward, the filter: articulated inertias P, forces z,
 * innovations eps.  Outward, the smoother: accelerations.  For each joint, with phi between the
 * body and its parent and H* the joint map:
 *
 *     P    = M + sum over children of phi P+ phi*       z   = b + sum over children of phi z+
 *          R87 (37), (36)
 *     D    = H P H*,  G = P H* D^-1                     eps = T - H z,  nu = D^-1 eps
 *          R87 (38) to (40), (42)
 *     P+   = P - G H P                                  z+  = z + P+ c + G eps
 *          R87 (43), (41)
 *     a'   = phi* A(parent) + c
 *          R87 (44)
 *     vdot = nu - G* a',  A = a' + H* vdot
 *     R87 (45) to (47)
 *
 * source   R87 (35) to (47), filter and smoother; RJK91 (8) to (13); RK88-I (5.16), (5.17); FO00
 *          (12) to (14) as articulated bodies.  docs/notation.md says how their innovations differ.
 * numbers  Accelerations are classical, A = [wdot; acceleration of the origin]: then b and c need
 *          the angular velocity w alone and no linear velocity has to cancel, which on long chains
 *          saves four digits.  R87 and FO00 have spatial accelerations in the same equations; b and
 *          c are RK88-I (2.23) and (2.19), (2.5).  Gravity is the acceleration of the base, upward.
 * rotors   A rotor adds its inertia to D, and an exact one its couple to U = P H* (steps.h).
 *          Friction and springs are taken off the torques first; mimic joints are a projection at
 *          the end (articulate.h).
 * frames   Any; the library gives the aligned ones (aligned_frames.c).
 * writes   R p V(angular) P z(in f) A G nu(in e); with mimic joints, or if the work space keeps
 *          them, also U D, for minv_mul on the same tables
 * returns  0, or the body whose hinge moves no inertia */
#ifndef SOAI_ABA_H
#define SOAI_ABA_H
#include "articulate.h"
#include "hinge.h"

/* Outward: velocities. */
SOAI_INLINE void aba_outward(joint J, int kind, const real *q, const real *v) {
    real x[6];
    joint_pose(J, kind, q); /* R, p                                             */
    hinge_load(J, kind, v, x);
    /* w = R' w(parent) + H_w v         RK88-I (2.2) */
    angular_velocity(J, kind, joint_read(J, kind), x, J.at->V);
}

/* Inward: the filter.  0 where the hinge moves no inertia. */
SOAI_INLINE int aba_inward(joint J, int kind, const real *v, const real *tau, const real *fext) {
    const pose X = joint_read(J, kind);
    real M[ABI_SIZE];
    real U[36];
    real D[36];
    real G[36];
    real z[6];
    real c[6];
    real t[3];
    real x[6];
    real eps[6];
    real nu[6];
    /* P = M + sum phi P+ phi*                 R87 (37) */
    const real *P = gathered_inertia(J, M);
    hinge_columns(J, kind, P, U); /* U = P H* */
    /* D = H U, G = U D^-1                     R87 (38, 39) */
    if (!hinge_gain(J, kind, P, U, D, G)) return 0;
    /* b                                       RK88-I (2.23) */
    gyroscopic_force(J, J.at->V, fext, z);
    /* z = b + sum phi z+                      R87 (36) */
    gathered_force(J, z);
    hinge_load(J, kind, v, x);
    v6_zero(c);
    /* c, the joint's part                     RK88-I (2.19) */
    hinge_rate(J, kind, J.at->V, x, c);
    /* eps = tau - H z                         R87 (40) */
    hinge_innovation(J, kind, tau, z, c, eps);
    /* nu = D^-1 eps                           R87 (42) */
    hinge_solve(J, kind, D, eps, nu);
    hinge_keep(J, kind, P, U, D, G, nu); /* for the smoother */
    if (!J.b->parent) return 1;
    /* c, the parent's part: w x (w x p)       RK88-I (2.5) */
    lever(X, J.at_in->V, t);
    /* P+ = P - U G*, z+ = z + P+ c + G eps,   R87 (43, 41) both moved to the parent
     * R87 (37, 36) */
    pass_hinge(J, kind, X, P, U, D, G, c, t, eps, z);
    pass_rotor(J, kind, x); /* an exact rotor's gyroscopic couple */
    return 1;
}

/* Outward: the smoother. */
SOAI_INLINE void aba_smooth(joint J, int kind, const real *v, real *vdot) {
    const pose X = joint_read(J, kind);
    real A[6];
    real x[6];
    hinge_load(J, kind, v, x);
    acceleration_out(J, X, A);          /* a' = phi* A(parent)                     R87 (44)      */
    hinge_rate(J, kind, J.at->V, x, A); /*      + c                                              */
    /* vdot = nu - G* a',   R87 (45) A = a' + H* vdot                        R87 (46) */
    hinge_accelerate(J, kind, J.w->e + J.b->iv, J.w->G + 6 * J.b->iv, A, x);
    v6_copy(A, J.own->A);
    hinge_store(J, kind, x, vdot);
}

SOAI_SWEEP int aba(const view_table *k, kernel_work *w, const real *q, const real *v,
                   const real *tau, const real *fext, real *vdot) {
    if (k->stuck) return k->stuck;
    tau = torques_after_losses(k, w, q, v, tau);
    angles(k, w, q);
    v6_zero(w->b[0].V);
    base_acceleration(k, w->b[0].A); /* -gravity                                RK88-I (2.1)  */
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, aba_outward(joint_at(k, w, b, i), kind, q, v))
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        int moves = 0;
        WITH_ALIGNED_KIND(b, moves = aba_inward(joint_at(k, w, b, i), kind, v, tau, fext))
        if (!moves) return i;
    }
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, aba_smooth(joint_at(k, w, b, i), kind, v, vdot))
    }
    return mimic_constrain(k, w, vdot);
}

#endif
