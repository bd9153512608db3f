/* rnea.h  inverse dynamics, O(n), by two sweeps.
 *
 * In operator form, RJK91 (2) with (3) to (5), RK88-I (3.19), a the papers' bias acceleration:
 *     T = H phi [M phi* (H* vdot + a) + b + B f(0)]
 * For each body, with phi between it and its parent, and H_w* the angular rows of the joint map H*:
 *
 *   outward   w = R' w(parent) + H_w* v             RK88-I (2.2); FO00 (3), R87 (11), (12), angular
 *             A = phi* A(parent) + H* vdot + c      FO00 (4), R87 (13) to (15); RK88-I (2.4), (2.5)
 *             f = M A + b - wrench                  FO00 (5), its f_i; R87 (16), RK88-I (2.22) less
 *                                                   their phi terms; RK88-I (2.23)
 *   inward    T = H f + armature vdot               FO00 (8), R87 (20); f of the body is complete
 *             f(parent) += phi f                    FO00 (6), (7), the phi term of R87 (16)
 *
 * letters  A is a_i of FO00 and lambda of R87; c is hdot qdot and n(k); f, once complete, is f_i^J
 *          of FO00 and x(k) of R87; vdot is qddot and a(k); H* is h of FO00.
 * T        tau less friction and springs, which are added at the end.
 * c        the a of the operator form, in two parts.  The lever's, w(parent) x (w(parent) x p), p
 *          the body's origin in the parent (l(k+1,k) of RK88-I), RK88-I (2.5), is contained in
 *          W(parent) p, below.  The joint's own, with [w_J; v_J] = H* v:
 *              [w x w_J;  (2 w - w_J) x v_J] + (apparent rate of H*) v
 *          RK88-I (2.19) turning, (2.32) with its missing factor 2 sliding; reasons in aba.h.
 * numbers  RK88-I's vector form (docs/decisions/vector-form.md).  Accelerations are classical,
 *          A = [wdot; acc], acc that of the body's origin, so that no linear velocity is needed.
 *          FO00's and R87's are spatial: alpha = A - [0; w x v_o], v_o the velocity of the origin,
 *          and the term v_i x I_i v_i of FO00 (5), in R87 (7), becomes b = [w x I w;  w x (w x h)],
 *          I (3 x 3) about the body's origin, h the first moment.
 * ours     The acceleration of a point s of the body is acc + W s,  W = [wdot] + [w][w],  [y] the
 *          cross-product matrix: nine numbers per body that serve the child's origin and the body's
 *          own force.
 * base     w = 0 and A = -g: RK88-I (2.1), FO00 after (5).
 * rotors   Reflected inertia is an armature; those of joints on an axis are added at the end
 *          (step_armatures).
 *          An exact rotor, r = Jm (gear ratio) u in the parent's axes, u its axis, adds
 *          r vdot + w(parent) x r v to the moment of the parent's f, and r . wdot(parent) to its
 *          own torque: docs/theory/rotors-and-mimic.md.
 * others   Mimic joints: soa_rnea adds a follower's torque, times its ratio, to its leader's
 *          (coordinates.h).
 * writes   sine cosine; R (not of level joints), p and H where they depend on q; V(angular) A f;
 *          e of exact rotors (r . wdot(parent)); W in P of the bodies with a child that is
 *          not a pivot (b->levers, joint.h)
 * returns  0 always */
#ifndef SOAI_RNEA_H
#define SOAI_RNEA_H
#include "steps.h"

/* w and A = [wdot; acc] of body i from its parent's. */
SOAI_INLINE void step_vector_motion(const view_table *k, kernel_work *w, const body_table *b, int i,
                                    int kind, int nv, const real *v_tree, const real *vdot_tree,
                                    real omega[3], real A[6]) {
    body_work *own = PASSED(w, b, i);
    const body_work *in = PASSED_IN(w, b);
    real turn[2];
    const real *R = joint_R(w, b, i, kind, turn);
    /* phi* A(parent), with the lever: acc + W p        RK88-I (2.5) */
    if (b->parent) {
        const real *W = in->P;
        real p[3], at[3];
        joint_rot_back(kind, R, in->A, A);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            at[j] = in->A[3 + j];
        if (!IS_PIVOT(kind)) {
            joint_origin(w, b, i, kind, p);
            SOAI_UNROLL
            for (int j = 0; j < 3; ++j)
                at[j] += W[3 * j] * p[0] + W[3 * j + 1] * p[1] + W[3 * j + 2] * p[2];
        }
        joint_rot_back(kind, R, at, A + 3);
    } else { /* the world is at rest: W = 0, so p does not matter */
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            A[j] = REAL(0);
        joint_rot_back(kind, R, in->A + 3, A + 3);
    }
    /* omega = R' omega(parent) + H_w* v                RK88-I (2.2); omega(world) = 0 */
    step_turning(k, w, b, i, kind, nv, in->V, v_tree, omega);
    /* + H* vdot + the joint's part of c                RK88-I (2.4); sliding (2.32), corrected */
    step_joint_acceleration(k, w, b, kind, nv, omega, v_tree + b->iv, vdot_tree + b->iv, A);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        own->V[j] = omega[j];
    v6_copy(A, own->A);
}

/* f = M A + b, with W = [wdot] + [w][w] kept for children that are not pivots; h the
 * first moment:
 *     moment  I wdot + w x I w + h x acc        RK88-I (2.22), (2.23), about the body's origin
 *     force   m acc + W h
 * The x part of I wdot + w x I w is
 *     Ixx wdot_x + (Izz - Iyy) wy wz - Ixy Wzx + Ixz Wyx + Iyz (Wyy - Wzz)
 * and the y and z parts follow by x -> y -> z -> x.  keep: W for the children, where they need
 * it. */
SOAI_INLINE void step_vector_force(const body_table *b, const real omega[3], const real A[6],
                                   real keep[9], real f[6]) {
    const konst m = b->M[0];
    const konst *h = b->M + 1;
    const konst *I = b->M + 4;
    const real *acc = A + 3;
    const real xx = omega[0] * omega[0];
    const real yy = omega[1] * omega[1];
    const real zz = omega[2] * omega[2];
    const real xy = omega[0] * omega[1];
    const real xz = omega[0] * omega[2];
    const real yz = omega[1] * omega[2];
    const real W[9] = {-(yy + zz), xy - A[2], xz + A[1], xy + A[2], -(xx + zz),
                       yz - A[0],  xz - A[1], yz + A[0], -(xx + yy)};
    f[0] = I[XX] * A[0] + I[ZZ] * yz - I[YY] * yz - I[XY] * W[6] + I[XZ] * W[3] +
           I[YZ] * (yy - zz) + (h[1] * acc[2] - h[2] * acc[1]);
    f[1] = I[YY] * A[1] + I[XX] * xz - I[ZZ] * xz - I[YZ] * W[1] + I[XY] * W[7] +
           I[XZ] * (zz - xx) + (h[2] * acc[0] - h[0] * acc[2]);
    f[2] = I[ZZ] * A[2] + I[YY] * xy - I[XX] * xy - I[XZ] * W[5] + I[YZ] * W[2] +
           I[XY] * (xx - yy) + (h[0] * acc[1] - h[1] * acc[0]);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        f[3 + j] = m * acc[j] + W[3 * j] * h[0] + W[3 * j + 1] * h[1] + W[3 * j + 2] * h[2];
    if (b->levers) {
        SOAI_UNROLL
        for (int j = 0; j < 9; ++j)
            keep[j] = W[j];
    }
}

/* One body of the outward sweep: its motion, then its force. */
SOAI_INLINE void rnea_outward(const view_table *k, kernel_work *w, const body_table *b, int i,
                              const real *q, const real *v, const real *vdot, const real *fext) {
    real omega[3];
    real A[6];
    real *f = w->b[i].f;
    WITH_ALIGNED_KIND(b, {
        joint_position(k, w, b, i, kind, q);
        step_vector_motion(k, w, b, i, kind, nv, v, vdot, omega, A);
    })
    step_vector_force(b, omega, A, PASSED(w, b, i)->P, f); /* W is kept in P */
    if (fext) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            f[j] -= fext[6 * (i - 1) + j];
    }
    if (b->rotor && b->parent) {
        /* exact rotor: r vdot + w(parent) x r v to the parent's f; r . wdot(parent), in e, to its
         * own torque */
        const body_work *in = PASSED_IN(w, b);
        real *f_in = w->b[b->parent].f;
        step_rotor_gyro(k, b, v, in->V, f_in);
        for (int j = 0; j < 3; ++j)
            f_in[j] += k->dof[b->iv].rotor[j] * vdot[b->iv];
        w->e[b->iv] = REAL(0);
        for (int j = 0; j < 3; ++j)
            w->e[b->iv] += k->dof[b->iv].rotor[j] * in->A[j];
    }
}
/* One body of the inward sweep: T = H f + armature vdot, FO00 (8); f(parent) += phi f, FO00 (7). */
SOAI_INLINE void rnea_pass(const view_table *k, kernel_work *w, const body_table *b, int i,
                           int kind, int nv, const real *vdot, real *tau) {
    const real *f = w->b[i].f;
    real x[6];
    joint_project(k, w, b, kind, nv, f, x);
    SOAI_UNROLL
    for (int j = 0; j < nv; ++j) {
        tau[b->iv + j] = x[j];
        if (!ON_AXIS(kind)) /* of those on an axis: step_armatures */
            tau[b->iv + j] +=
                (nv == 1 ? b->armature : k->dof[b->iv + j].armature) * vdot[b->iv + j];
    }
    if (b->parent) step_force_in(w, b, i, kind, f, w->b[b->parent].f);
}
SOAI_INLINE void rnea_inward(const view_table *k, kernel_work *w, const body_table *b, int i,
                             const real *vdot, real *tau) {
    WITH_ALIGNED_KIND(b, rnea_pass(k, w, b, i, kind, nv, vdot, tau))
    if (b->rotor && b->parent) tau[b->iv] += w->e[b->iv];
}
/* The two sweeps.  k: the model's table; w: the work space; fext: a wrench for each body, in its
 * axes at its origin, or NULL.  SOAI_OUTWARD, SOAI_INWARD_ACROSS (joint.h) run their statement for
 * each body i, b its row in the table; ACROSS: generated code may change the order of separate
 * limbs.  WITH_ALIGNED_KIND runs its statement with kind and nv, those of b's joint. */
SOAI_SWEEP int rnea(const view_table *k, kernel_work *w, const real *q, const real *v,
                    const real *vdot, const real *fext, real *tau) {
    angles(k, w, q);
    base_acceleration(k, w->b[0].A); /* A(base) = -g   RK88-I (2.1) */
    SOAI_OUTWARD(k, rnea_outward(k, w, b, i, q, v, vdot, fext))
    SOAI_INWARD_ACROSS(k, rnea_inward(k, w, b, i, vdot, tau))
    step_armatures(k, vdot, tau);        /* + armature vdot of joints on an axis */
    step_losses(k, q, v, (konst)1, tau); /* + friction + springs */
    return 0;
}

/* y = H f + armature x of one joint */
SOAI_INLINE void mass_mul_torque(const view_table *k, const kernel_work *w, const body_table *b,
                                 int i, int kind, int nv, const real *x, real *y) {
    real t[6];
    joint_project(k, w, b, kind, nv, w->b[i].f, t);
    for (int j = 0; j < nv; ++j)
        y[b->iv + j] = t[j] + k->dof[b->iv + j].armature * x[b->iv + j];
}
/* y = (mass matrix) x = (H phi M phi* H* + armature) x, RJK91 (3): the same two sweeps without
 * velocities and gravity,
 *     A = phi* A(parent) + H* x,   f = M A + sum of phi f,   y = H f + armature x;
 * an exact rotor adds r x to the parent's f and r . wdot(parent) to y.
 * Needs R and p of every body and H (positions); writes A, f. */
SOAI_SWEEP void mass_mul(const view_table *k, kernel_work *w, const real *x, real *y) {
    v6_zero(w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        real A[6];
        motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].A, A);
        WITH_KIND(b, joint_add(k, w, b, kind, nv, x + b->iv, A))
        v6_copy(A, w->b[i].A);
        rigid_mul_k(b->M, A, w->b[i].f);
        if (b->rotor && b->parent)
            for (int j = 0; j < 3; ++j)
                w->b[b->parent].f[j] += k->dof[b->iv].rotor[j] * x[b->iv];
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        WITH_KIND(b, mass_mul_torque(k, w, b, i, kind, nv, x, y))
        if (b->rotor && b->parent)
            for (int j = 0; j < 3; ++j)
                y[b->iv] += k->dof[b->iv].rotor[j] * w->b[b->parent].A[j];
        if (b->parent) force_in_add(w->b[i].R, w->b[i].p, w->b[i].f, w->b[b->parent].f);
    }
}

#endif
