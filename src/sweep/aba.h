/* aba.h  forward dynamics, O(n), by R87's filter and smoother.
 *
 * In operator form, RJK91 (13) to (15), RK88-I (4.16) to (4.18):
 *     vdot = (I - H psi K)* D^-1 (I - H psi K) (T - H phi [M phi* a + b + B f(0)])
 * with psi = phi (1 - G H) between neighbours, RJK91 (9), (10), and K = E_phi G, after RJK91 (7).
 * RK88-I (4.4), (4.10), (5.2) have K = S L and Psi = psi S, so that its H Psi L is this H psi K.
 * It is computed in the equivalent form R87 (35) to (47), whose innovations eps are other numbers
 * (docs/notation.md, "Innovations").
 * R87's letters here: n(k) is c, e- is eps, e+ is nu, lambda-(k) is A, lambda+(k) + n(k) is a', and
 * a(k), the joint's acceleration, is vdot.  c is also the a of RJK91 and RK88-I above.  R' is the
 * transpose of R; in a' the prime is part of the name.
 *
 * For each body, with phi between it and its parent, and H_w* the angular rows of the joint map:
 *
 *   outward   w    = R' w(parent) + H_w* v                                 RK88-I (2.2)
 *   inward    P    = M + sum over children of phi P+ phi*                  R87 (37)
 *             z    = b - wrench + sum over children of phi z+
 *                    + w x r v of a child's exact rotor                    R87 (36)
 *             D    = H P H* + armature (with mimic joints also guards)     R87 (38)
 *             G    = U D^-1,  U = P H* + [r; 0] of an exact rotor          R87 (39)
 *             eps  = T - H z + [r; 0] . c of an exact rotor                R87 (40)
 *             nu   = D^-1 eps                                              R87 (42)
 *             P+   = P - U G*                                              R87 (43)
 *             z+   = z + P+ c + G eps                                      R87 (41)
 *   outward   a'   = phi* A(parent) + c                                    R87 (45), (46)
 *             vdot = nu - G* a'                                            R87 (46)
 *             A    = a' + H* vdot                                          R87 (47)
 *
 * ends     A tip has no children: P = M, z = b - wrench, which is R87 (35) in (37) and (36).  The
 *          base: w = 0, and A = -g in the place of the zero of R87 (44), RK88-I (2.1).
 * T        tau less friction and springs.
 * b        [w x I w;  w x (w x h)], RK88-I (2.23), I about the body's origin, h the first moment.
 *          R87 (7) has the wrench on the body in b; f(0) of the papers is minus a wrench.
 * c        two parts.  The lever's, t = w(parent) x (w(parent) x p), RK88-I (2.5), in the parent's
 *          axes, p the body's origin in the parent (l(k+1,k) of RK88-I; p(k) of the papers is the
 *          mass centre).  The joint's own, with [w_J; v_J] = H* v:
 *              [w x w_J;  (2 w - w_J) x v_J] + (apparent rate of H*) v
 *          With w = w(parent) + w_J the first row is w(parent) x w_J; the second is Coriolis'
 *          2 w(parent) x v_J and w_J x v_J, since v_J turns with the body.  This is RK88-I (2.19)
 *          for a turning joint, and (2.32) with its missing factor 2 for a sliding one.
 * numbers  Accelerations are classical, A = [wdot; acceleration of the body's origin]: then b and c
 *          need the angular velocity w alone and no linear velocity has to cancel, which on long
 *          chains saves two to four digits (docs/decisions/vector-form.md).  R87's are spatial:
 *          alpha = A - [0; w x v_o], v_o the velocity of the origin, and its z is larger by
 *          P [0; w x v_o].  R87 (36) to (47) follow, with f = P A + z (34), from
 *          A = phi* A(parent) + H* vdot + c (18), (19), f = M A + b - wrench + sum of phi f (16)
 *          and T = H f (20), with an armature T = H f + armature vdot.  Both forms have these, each
 *          with its c and b: the recursion is the same.
 * rotors   Reflected inertia is an armature.  It stands where R(k), the covariance of the
 *          measurement noise, stands in R87 after (57), D = H P H* + R; there R is zero.  (39) to
 *          (43), (46) to (48) and (50) hold with that D as they are; (51), H G = 1 and H P+ = 0
 *          (R87's section XI) do not.
 *          An exact rotor (one-dof joints only) has r = Jm (gear ratio) u, u its axis: the couple
 *          the parent must supply per unit of vdot.
 *          U, after D is taken, and eps have r in the body's axes; the parent's z has w x r v, with
 *          w and r in the parent's axes.  The rotor feels the motion of the parent, in which the
 *          joint's own c has no part, hence + [r; 0] . c: docs/theory/rotors-and-mimic.md.
 * others   Friction and springs are taken off the torques first; mimic joints are a projection at
 *          the end, which also removes their guards (articulate.h).
 * frames   Any body axes, with the origin on the joint's axis; the library gives the aligned ones
 *          (aligned_frames.c).
 * writes   sine cosine; R (not of level joints), p and H where they depend on q; V(angular) A;
 *          G (not of a free joint without armatures; of joints on an axis 1 - H G in the place of
 *          H G, hinge.h), nu (in e); of bodies with children P and the sum of phi z+ and of rotors'
 *          couples (in f); with mimic joints, or if the work space keeps them, also U D, for
 *          minv_mul on the same tables.  Mimic joints overwrite f, e, A and write x, Y, W; losses
 *          write x.
 * returns  0, or the body whose hinge moves no inertia (RJK91 after (9) and RK88-I near (4.4) take
 *          D > 0 for granted); k->stuck: one that moves none at any q; where mimic joints leave no
 *          answer, the last body */
#ifndef SOAI_ABA_H
#define SOAI_ABA_H
#include "articulate.h"
#include "hinge.h"

/* Outward: velocities. */
SOAI_INLINE void aba_outward(joint J, int kind, const real *q, const real *v) {
    real rate[6];
    joint_pose(J, kind, q);                                         /* R, p where kept */
    joint_entries(J, kind, v, rate);                                /* v of this joint */
    angular_velocity(J, kind, joint_read(J, kind), rate, J.own->V); /* omega   RK88-I (2.2) */
}

/* Inward: the filter.  0 where the hinge moves no inertia. */
SOAI_INLINE int aba_inward(joint J, int kind, const real *v, const real *tau, const real *fext) {
    const pose X = joint_read(J, kind);
    real M[ABI_SIZE];
    abi_rotated Q;
    real U[36];
    real Dfac[36];
    real G[36];
    real z[6];
    real c[6];
    real t[3];
    real rate[6];
    real eps[6];
    real nu[6];
    real z_plus[6];
    const real *P = gathered_inertia(J, M); /* P = M + sum phi P+ phi*   R87 (37) */
    hinge_inertia(J, kind, P, U); /* U = P H* (free joint without armature: U = P, not formed) */
    /* D = H P H* + armature,  U += [r; 0],  G = U D^-1   R87 (38), (39) */
    if (!hinge_gain(J, kind, P, U, Dfac, G)) return 0;
    gyroscopic_force(J, J.own->V, fext, z); /* b - wrench   RK88-I (2.23) */
    gathered_force(J, z);                   /* z = b - wrench + sum phi z+   R87 (36) */
    joint_entries(J, kind, v, rate);        /* v of this joint */
    v6_zero(c);
    add_joint_bias(J, kind, J.own->V, rate, c); /* c, the joint's part   RK88-I (2.19), (2.32) */
    hinge_innovation(J, kind, tau, z, c, eps);  /* eps = T - H z   R87 (40) */
    hinge_solve(J, kind, Dfac, eps, nu);        /* nu = D^-1 eps   R87 (42) */
    hinge_keep(J, kind, P, U, Dfac, G, nu);     /* for the smoother */
    if (!J.b->parent) return 1;
    lever(X, J.parent->V, t); /* c, the lever's part   RK88-I (2.5) */
    /* P+ = P - U G* and z+ = z + P+ c + G eps, in the parent's axes   R87 (43), (41) */
    inertia_after_hinge(J, kind, X, P, U, Dfac, G, Q);
    force_after_hinge(J, kind, X, Q, G, c, t, eps, z, z_plus);
    pass_inertia(J, kind, Q, X.p); /* P(parent) += phi P+ phi*   R87 (37) */
    pass_force(J, X.p, z_plus);    /* z(parent) += phi z+   R87 (36) */
    pass_rotor(J, kind, rate);     /* z(parent) += omega(parent) x r v of an exact rotor */
    return 1;
}

/* Outward: the smoother. */
SOAI_INLINE void aba_smooth(joint J, int kind, const real *v, real *vdot) {
    const pose X = joint_read(J, kind);
    const real *nu = J.w->e + J.b->iv;
    const real *G = J.w->G + 6 * J.b->iv;
    real A[6];
    real rate[6];
    real accel[6];
    joint_entries(J, kind, v, rate);            /* v of this joint */
    acceleration_out(J, X, A);                  /* phi* A(parent) + c's lever   R87 (45) */
    add_joint_bias(J, kind, J.own->V, rate, A); /* a' = that + c's joint part   R87 (46) */
    /* vdot = nu - G* a'    R87 (46)
     * A = a' + H* vdot     R87 (47); on an axis both by (48) */
    hinge_accelerate(J, kind, nu, G, A, accel);
    v6_copy(A, J.own->A);
    put_joint_entries(J, kind, accel, vdot); /* vdot of this joint */
}

/* The three sweeps.  k: the model's table; w: the work space; fext: a wrench for each body, in its
 * axes at its origin, or NULL; vdot: NULL for what the filter leaves alone.  WITH_ALIGNED_KIND
 * (joint.h) runs its statement with `kind`, the kind of body b's joint, as a constant. */
SOAI_SWEEP int aba(const view_table *k, kernel_work *w, const real *q, const real *v,
                   const real *tau, const real *fext, real *vdot) {
    if (k->stuck) return k->stuck;
    tau = torques_after_losses(k, w, q, v, tau); /* T */
    angles(k, w, q);
    v6_zero(w->b[0].V);              /* omega(base) = 0   RK88-I (2.1) */
    base_acceleration(k, w->b[0].A); /* A(base) = -g   RK88-I (2.1) */
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
    if (vdot) {
        for (int i = 1; i <= k->nb; ++i) {
            const body_table *b = k->body + i;
            WITH_ALIGNED_KIND(b, aba_smooth(joint_at(k, w, b, i), kind, v, vdot))
        }
    }
    return mimic_constrain(k, w, vdot);
}

#endif
