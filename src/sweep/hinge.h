/* hinge.h  what the articulated-body recursion does at a hinge, once for all kinds of joint.
 *          Letters as in aba.h.
 *
 *   gathered_inertia     P  = M + sum over children of phi P+ phi*               R87 (37)
 *   gathered_force       z += sum over children of phi z+                        R87 (36)
 *   angular_velocity     w  = R' w(parent) + H_w* v                              RK88-I (2.2)
 *   gyroscopic_force     b - wrench                                              RK88-I (2.23)
 *   lever                the lever's part of c                                   RK88-I (2.5)
 *   acceleration_out     phi* A(parent) + the lever's part of c                  R87 (45)
 *   hinge_add            V += H* x
 *   hinge_project        x  = H f
 *   hinge_inertia        U  = P H*
 *   hinge_gain           D  = H P H* + armature                                  R87 (38)
 *                        U += [r; 0] of an exact rotor,  G = U D^-1              R87 (39)
 *                        0 where D is not safely positive
 *   hinge_innovation     eps = T - H z                                           R87 (40)
 *   hinge_solve          out = D^-1 x
 *   hinge_keep           G and nu (in e) for the smoother
 *   add_joint_bias       c += [w x w_J; (2 w - w_J) x v_J] + (apparent rate of H*) v,
 *                        [w_J; v_J] = H* v   RK88-I (2.19) turning, (2.32) corrected sliding
 *   hinge_accelerate     vdot = nu - G* a'                                       R87 (46)
 *                        A = a' + H* vdot                                        R87 (47)
 *   inertia_after_hinge  P+ = P - U G*                                           R87 (43)
 *   force_after_hinge    z+ = z + P+ c + G eps                                   R87 (41)
 *   pass_inertia         P(parent) += phi P+ phi*                                R87 (37)
 *   pass_force           z(parent) += phi z+                                     R87 (36)
 *   pass_rotor           z(parent) += w(parent) x r v of an exact rotor          aba.h, "rotors"
 *
 * H* comes from hinge_column with literal zeros and ones, and the compiler drops the products with
 * them (with the flags of CMakeLists.txt: numbers finite, zeros without sign).  Two facts cannot be
 * found in this way and are stated here for the kinds they hold for:
 *   on an axis      no exact rotor, so H U = H P H* = D - armature and, with G = U D^-1 and
 *                   P+ = P - U G*,
 *                       H G = 1 - armature D^-1,   H P+ = armature D^-1 U*.
 *                   With packed inertias (SOAI_ABI_PACKED) the row H P+ is computed like the
 *                   others.  With other inertias no joint on an axis has an armature
 *                   (hinge_armature), so H G = 1, and H P+ is set to zero, not computed
 *   free joints     G = 1, so P+ = 0 and z+ = T: nothing but the joint's own force reaches the
 *                   parent
 * The second does not hold for a free joint with an armature (hinge_is_free). */
#ifndef SOAI_HINGE_H
#define SOAI_HINGE_H
#include "steps.h"

/* ---- sums from the children ------------------------------------------------------------------ */
/* A tip has none: P = M and z = b - wrench, R87 (35) in (37) and (36).  The first child to arrive
 * (b->starts) sets the parent's sums: P to M plus its share, z to its share.  The others add. */
/* P of the body: its sum; of a tip M, from the table if that has it in the form of P
 * (SOAI_ABI_PACKED), else made in the argument M. */
SOAI_INLINE const real *gathered_inertia(joint J, real *M) {
    if (J.b->child) return J.own->P;
#if SOAI_ABI_PACKED
    (void)M;
    return J.b->P;
#else
    abi_set(J.b->M, M);
    return M;
#endif
}
SOAI_INLINE void gathered_force(joint J, real z[6]) {
    if (!J.b->child) return;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        z[j] += J.own->f[j];
}
/* V += H* x */
SOAI_INLINE void hinge_add(joint J, int kind, const real *x, real V[6]) {
    for (int c = 0; c < joint_size(J, kind); ++c) {
        real H[6];
        hinge_column(J, kind, c, H);
        v6_add_scaled(x[c], H, V);
    }
}

/* ---- velocities, forces, accelerations ------------------------------------------------------- */
SOAI_INLINE void angular_velocity(joint J, int kind, pose X, const real *v, real w[3]) {
    real V[6];
    v6_zero(V);
    if (J.b->parent) rot_tmul(X.R, J.parent->V, V);
    hinge_add(J, kind, v, V);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        w[j] = V[j];
}
/* b = [w x I w;  w x (w x h)], less the wrench on the body. */
SOAI_INLINE void gyroscopic_force(joint J, const real w[3], const real *fext, real b[6]) {
    step_turning_force(J.b, w, fext ? fext + 6 * (J.i - 1) : 0, b);
}
/* w x (w x p), w the parent's, parent axes: what turning adds to the acceleration of the body's
 * origin. */
SOAI_INLINE void lever(pose X, const real w[3], real out[3]) {
    real t[3];
    v3_cross(w, X.p, t);
    v3_cross(w, t, out);
}
/* phi* A(parent) and the lever's part of c:  [R' wdot;  R' (acc + wdot x p + w x (w x p))],
 * wdot, acc and w the parent's
 * R87 (45), RK88-I (2.5) */
SOAI_INLINE void acceleration_out(joint J, pose X, real A[6]) {
    const real *in = J.parent->A;
    real a[3];
    lever(X, J.parent->V, a);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        a[j] += in[3 + j];
    v3_cross_add(in, X.p, a);
    rot_tmul(X.R, in, A);
    rot_tmul(X.R, a, A + 3);
}

/* ---- the hinge ------------------------------------------------------------------------------- */
SOAI_INLINE void hinge_project(joint J, int kind, const real f[6], real *x) {
    for (int c = 0; c < joint_size(J, kind); ++c) {
        real H[6];
        hinge_column(J, kind, c, H);
        x[c] = v6_dot(H, f);
    }
}
SOAI_INLINE void hinge_inertia(joint J, int kind, const real *P, real *U) {
    if (hinge_is_free(J, kind)) return; /* U = P */
    for (int c = 0; c < joint_size(J, kind); ++c) {
        real H[6];
        hinge_column(J, kind, c, H);
        abi_mul(P, H, U + 6 * c);
    }
}
/* D and G.  Dfac is D in the form that hinge_solve needs: 1/D for one degree of freedom, L d L' for
 * several, free_factor's three blocks for a free joint without armatures (hinge_is_free).  An
 * exact rotor couples the joint to the parent: it adds to U after D is taken
 * (step_rotor_couple). */
SOAI_INLINE int hinge_gain(joint J, int kind, const real *P, real *U, real *Dfac, real *G) {
    const int n = joint_size(J, kind);
    real size[6];
    hinge_size(J.k, J.w, J.b, kind, n, P[ABI_A(XX)] + P[ABI_A(YY)] + P[ABI_A(ZZ)],
               P[ABI_C(XX)] + P[ABI_C(YY)] + P[ABI_C(ZZ)], size);
    if (hinge_is_free(J, kind)) return free_factor(J.k, J.b, P, size, Dfac);
    if (n == 1) {
        real d;
        hinge_project(J, kind, U, &d);
        d += hinge_armature(J, kind, 0);
        if (__builtin_expect(!real_all_above(d, size[0] * REAL(SOAI_HINGE_TOLERANCE)), 0)) return 0;
        Dfac[0] = REAL(1) / d; /* kept inverted */
        if (hinge_has_rotor(J, kind)) {
            real couple[3];
            step_rotor_couple(J.k, J.w, J.b, J.i, couple);
            SOAI_UNROLL
            for (int j = 0; j < 3; ++j)
                U[j] += couple[j];
        }
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            G[j] = U[j] * Dfac[0];
        return 1;
    }
    for (int r = 0; r < n; ++r) {
        hinge_project(J, kind, U + 6 * r, Dfac + n * r);
        Dfac[n * r + r] += hinge_armature(J, kind, r);
    }
    if (!block_factor(n, Dfac, size)) return 0;
    for (int j = 0; j < 6 * n; ++j)
        G[j] = U[j]; /* G L d L' = U, column by column: first L', */
    for (int i = 1; i < n; ++i) {
        for (int m = 0; m < i; ++m)
            v6_add_scaled(-Dfac[n * i + m], G + 6 * m, G + 6 * i);
    }
    for (int i = 0; i < n; ++i) { /* then d, */
        const real inverse = REAL(1) / Dfac[n * i + i];
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            G[6 * i + j] = G[6 * i + j] * inverse;
    }
    for (int i = n - 2; i >= 0; --i) { /* then L */
        for (int m = i + 1; m < n; ++m)
            v6_add_scaled(-Dfac[n * m + i], G + 6 * m, G + 6 * i);
    }
    return 1;
}
SOAI_INLINE void hinge_solve(joint J, int kind, const real *Dfac, const real *x, real *out) {
    const int n = joint_size(J, kind);
    for (int j = 0; j < n; ++j)
        out[j] = x[j];
    if (n == 1)
        out[0] = x[0] * Dfac[0];
    else if (hinge_is_free(J, kind))
        free_solve(Dfac, out);
    else
        block_solve(n, Dfac, out);
}
/* U and D as articulate leaves them. */
SOAI_INLINE void hinge_keep_for_minv(joint J, int kind, const real *P, const real *U,
                                     const real *Dfac) {
    const int n = joint_size(J, kind);
    real *kept = J.w->U + 6 * J.b->iv;
    real *factors = J.w->D + J.b->id;
    if (!hinge_is_free(J, kind)) {
        for (int j = 0; j < 6 * n; ++j)
            kept[j] = U[j];
        for (int j = 0; j < n * n; ++j)
            factors[j] = Dfac[j];
        return;
    }
    for (int r = 0; r < 6; ++r) {
        abi_column(P, r, kept + 6 * r);
        v6_copy(kept + 6 * r, factors + 6 * r);
    }
    block_factor_any(6, factors, 0);
}
/* Leaves G and nu for the smoother and, where products with M^-1 follow (mimic_prepare, loops), U
 * and D.  Of joints on an axis 1 - H G = armature D^-1 is left in the place of H G, the entry of G
 * along the axis: hinge_accelerate reads it. */
SOAI_INLINE void hinge_keep(joint J, int kind, const real *P, const real *U, const real *Dfac,
                            const real *G, const real *nu) {
    const int n = joint_size(J, kind);
    real *kept = J.w->G + 6 * J.b->iv;
    for (int c = 0; c < n; ++c) {
        J.w->e[J.b->iv + c] = nu[c];
        if (!hinge_is_free(J, kind)) v6_copy(G + 6 * c, kept + 6 * c);
    }
    if (ON_AXIS(kind)) kept[AXIS_OF(kind)] = hinge_armature(J, kind, 0) * Dfac[0];
    if (J.k->nm || J.w->keeps) hinge_keep_for_minv(J, kind, P, U, Dfac);
}
/* eps = T - H z; the argument tau is T, friction and springs taken off.  An exact rotor does not
 * feel the joint's own c, which the smoother will put in a'. */
SOAI_INLINE void hinge_innovation(joint J, int kind, const real *tau, const real z[6],
                                  const real c[6], real *eps) {
    real Hz[6];
    joint_entries(J, kind, tau, eps);
    hinge_project(J, kind, z, Hz);
    for (int j = 0; j < joint_size(J, kind); ++j)
        eps[j] -= Hz[j];
    if (hinge_has_rotor(J, kind)) {
        real couple[3];
        step_rotor_couple(J.k, J.w, J.b, J.i, couple);
        eps[0] += v3_dot(couple, c);
    }
}

/* What the joint adds to wdot and to the acceleration of the body's origin when v is constant:
 * [w x w_J;  (2 w - w_J) x v_J] + (apparent rate of H*) v,  [w_J; v_J] = H* v. */
SOAI_INLINE void add_joint_bias(joint J, int kind, const real w[3], const real *v, real c[6]) {
    real vJ[6];
    real twice[3];
    v6_zero(vJ);
    hinge_add(J, kind, v, vJ);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        twice[j] = w[j] + w[j] - vJ[j];
    v3_cross_add(w, vJ, c);
    v3_cross_add(twice, vJ + 3, c + 3);
    hinge_apparent_rate(J, kind, v, c);
}
SOAI_INLINE void hinge_accelerate(joint J, int kind, const real *nu, const real *G, real A[6],
                                  real *x) {
    const int n = joint_size(J, kind);
    if (ON_AXIS(kind)) {
        /* The row of R87 (48) along the axis, A = a' + H* (nu - G* a'):
         *     A[ax] = nu - (sum over the other j of G[j] a'[j]) + (1 - H G) a'[ax]
         * G[ax] holds 1 - H G (hinge_keep), zero without armature; then vdot = A[ax] - a'[ax].
         * `before` is a'[ax]. */
        const int ax = AXIS_OF(kind);
        const real before = A[ax];
        A[ax] = (nu[0] - G[NEXT(ax)] * A[NEXT(ax)] - G[3 + ax] * A[3 + ax]) -
                (G[LAST(ax)] * A[LAST(ax)] +
                 (G[3 + NEXT(ax)] * A[3 + NEXT(ax)] + G[3 + LAST(ax)] * A[3 + LAST(ax)])) +
                G[ax] * before;
        x[0] = A[ax] - before;
        return;
    }
    for (int c = 0; c < n; ++c) {
        x[c] = nu[c] - (hinge_is_free(J, kind) ? A[c] : v6_dot(G + 6 * c, A));
    }
    hinge_add(J, kind, x, A);
}

/* ---- to the parent --------------------------------------------------------------------------- */
/* Q = R P+ R', P+ in the parent's axes:  P+ = P - U G*   R87 (43).  A free joint has P+ = 0, and Q
 * is not set. */
SOAI_INLINE void inertia_after_hinge(joint J, int kind, pose X, const real *P, const real *U,
                                     const real *Dfac, const real *G, abi_rotated Q) {
    real after[ABI_SIZE];
    if (hinge_is_free(J, kind)) return;
    if (ON_AXIS(kind)) {
        abi_subtract_axis(AXIS_OF(kind), Dfac[0], P, after);
    } else {
        for (int c = 0; c < joint_size(J, kind); ++c)
            abi_subtract(U + 6 * c, G + 6 * c, c ? after : P, after);
    }
    abi_rotate(X.R, after, Q);
}
/* out = R z+, z+ in the parent's axes:  z+ = z + P+ c + G eps   R87 (41).  c: the joint's part,
 * body axes; t: the lever's, parent axes.  A free joint has z+ = z + eps. */
SOAI_INLINE void force_after_hinge(joint J, int kind, pose X, const abi_rotated Q, const real *G,
                                   const real c[6], const real t[3], const real *eps,
                                   const real z[6], real out[6]) {
    const int is_free = hinge_is_free(J, kind);
    real sum[6];  /* z + G eps */
    real c_in[6]; /* c, parent axes */
    v6_copy(z, sum);
    if (is_free) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            sum[j] += eps[j];
    } else {
        for (int j = 0; j < joint_size(J, kind); ++j)
            v6_add_scaled(eps[j], G + 6 * j, sum);
    }
    rot_mul(X.R, sum, out);
    rot_mul(X.R, sum + 3, out + 3);
    if (is_free) return;
    rot_mul(X.R, c, c_in);
    rot_mul(X.R, c + 3, c_in + 3);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        c_in[3 + j] += t[j];
    abi_rotated_mul_add(Q, c_in, out);
}
/* P(parent) += phi P+ phi*   R87 (37), from Q.  A free joint passes none, but the first child sets
 * the parent's sum all the same. */
SOAI_INLINE void pass_inertia(joint J, int kind, const abi_rotated Q, const real p[3]) {
#if SOAI_ABI_PACKED
    const real *M = J.k->body[J.b->parent].P;
#else
    real M[ABI_SIZE];
    abi_set(J.k->body[J.b->parent].M, M);
#endif
    if (hinge_is_free(J, kind)) {
        if (!J.b->starts) return;
        SOAI_UNROLL
        for (int j = 0; j < ABI_SIZE; ++j)
            J.parent->P[j] = M[j];
        return;
    }
#if SOAI_ABI_PACKED
    abi_translate_add(Q, p, J.b->starts ? M : J.parent->P, J.parent->P);
#else
    SOAI_UNROLL
    for (int j = 0; j < ABI_SIZE; ++j)
        M[j] = J.b->starts ? M[j] : J.parent->P[j];
    abi_translate_add(Q, Q + 12, Q + 6, p, M, J.parent->P);
#endif
}
/* z(parent) += phi z+   R87 (36), with phi z+ = [n + p x f; f] of R z+ = [n; f] */
SOAI_INLINE void pass_force(joint J, const real p[3], const real z_plus[6]) {
    real f[6];
    v6_copy(z_plus, f);
    v3_cross_add(p, z_plus + 3, f);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        J.parent->f[j] = J.b->starts ? f[j] : J.parent->f[j] + f[j];
}

/* The exact rotor on the parent: w(parent) x (rotor v), see steps.h. */
SOAI_INLINE void pass_rotor(joint J, int kind, const real *v) {
    if (!hinge_has_rotor(J, kind)) return;
    real t[3];
    v3_cross_k(J.parent->V, J.k->dof[J.b->iv].rotor, t); /* rotor: r in the parent's axes */
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        J.parent->f[j] += t[j] * v[0];
}

#endif
