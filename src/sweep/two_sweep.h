/* two_sweep.h  forward dynamics of serial chains in two sweeps: the Riccati equation of R87's
 *              two-point boundary problem, swept from the base.
 *
 * aba.h needs three sweeps, because velocities start at the base and the filter at the tip.  Here
 * the filter starts at the base too.  It carries what lies inboard as seen from body k, if body k
 * gives the force F to its child:
 *     alpha(k) = beta(k) - C(k) F,      C the compliance, beta the acceleration without F
 * The base has C = 0 and beta = -g.  For each body:
 *
 *   outward   w    = R' w(parent) + H_w* v                                 RK88-I (2.2)
 *             C'   = phi* C(parent) phi,   beta' = phi* beta(parent) + c   R87 (45), (46)
 *             C''  = (1 + C'M)^-1 C'
 *             y    = (1 + C'M)^-1 h,       h = H* - C' [r; 0]
 *             D'   = h* M y + armature - [r; 0]* C' [r; 0]
 *             e    = T - [r; 0]* (beta' - c) - y* (M beta' + b)
 *             beta = beta' - C'' (M beta' + b) + y D'^-1 e
 *             C    = C'' + y D'^-1 y*
 *   inward    vdot  = D'^-1 (e - y* F)
 *             alpha = beta - C F
 *             F(parent) = phi (M alpha + b + F + [r; 0] vdot)              R87 (24)
 *
 * from      the force X = M alpha + b + F through the joint, X on the body:
 *           alpha = beta' - C' (X + [r; 0] vdot) + H* vdot,
 *           T = H X + [r; 0]* (alpha - H* vdot - c) + armature vdot.  C'' is symmetric and
 *           1 - C''M = (1 + C'M)^-1.
 * M         is used as M = sum d l l*, its factor from the table (inertia_factors.h): six
 *           measurements of the acceleration, one after the other,
 *               s = C l,  g = d / (1 + d l*s),  C -= s g s*,  x -= s g l*x  for x = y, beta
 *           while D' += g (l*y)(l*y)* and e -= g (l*y)(l*beta), so that D' is a sum of positive
 *           terms and no matrix is inverted but the joint's own.
 * letters   as in aba.h: classical accelerations, c with the lever's part, b with the wrenches, T
 *           less friction and springs, r of an exact rotor.  b of a body that carries an exact rotor
 *           has w x r v.
 * result    C of the last body is J M^-1 J', RJK91's Omega(0).
 * limits    Unbranched chains.  D' is the inertia that the hinge of body k finds between body k alone
 *           and what lies inboard.  So a link needs an inertia of its own about its hinge, or an
 *           armature, and light links cost digits: docs/theory/two-sweep.md.
 * writes    sine cosine; R, p and H where they depend on q; V(angular); P = C, A = beta and then
 *           alpha; U = y, D = D' factored, e; f = F; losses write x
 * returns   0, or the body whose hinge does not move its own inertia, or which is so light beside
 *           what it carries that few digits would be left */
#ifndef SOAI_TWO_SWEEP_H
#define SOAI_TWO_SWEEP_H
#include "articulate.h"
#include "hinge.h"
#include "../table/inertia_factors.h"

/* C is kept as an articulated inertia is, with the halves of its six-vectors exchanged: [linear;
 * angular].  Then phi* C phi is what phi P phi* is for P, with R' and -R'p. */
SOAI_INLINE void exchange(const real x[6], real out[6]) {
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        out[j] = x[(j + 3) % 6];
}
SOAI_INLINE void compliance_mul(const real *C, const real f[6], real out[6]) {
    real x[6];
    exchange(f, x);
    abi_mul(C, x, x);
    exchange(x, out);
}
/* C -= x y', where the sum over all such terms is symmetric */
SOAI_INLINE void compliance_subtract(const real x[6], const real y[6], real *C) {
    real u[6];
    real w[6];
    exchange(x, u);
    exchange(y, w);
    abi_subtract(u, w, C, C);
}
/* C' = phi* C(parent) phi */
SOAI_INLINE void compliance_out(pose X, const real *C, real *out) {
    real back[9];
    real p[3];
    real zero[ABI_SIZE];
    SOAI_UNROLL
    for (int j = 0; j < 9; ++j)
        back[j] = X.R[3 * (j % 3) + j / 3];
    rot_tmul(X.R, X.p, p);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        p[j] = -p[j];
    SOAI_UNROLL
    for (int j = 0; j < ABI_SIZE; ++j)
        zero[j] = REAL(0);
    abi_in_add(back, p, C, zero, out);
}

/* Column j of the factor of M: l, and d. */
SOAI_INLINE konst inertia_column(int kind, const konst *factor, int j, real l[6]) {
    v6_zero(l);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i) {
        if (i < j) l[soai_factor_order[kind][i]] = REAL(factor[SOAI_U(i, j)]);
    }
    l[soai_factor_order[kind][j]] = REAL(1);
    return factor[SOAI_FACTOR_D + j];
}
/* 1 + d l*s is the factor by which a measurement reduces C.  What is reduced so much was made large
 * by a light link inboard, and about the square of the factor is lost of the digits of vdot: at this
 * limit ten or more of sixteen. */
#define SOAI_TWO_SWEEP_MOST 1e6

/* The link's own inertia, measurement by measurement; y (6 x n), beta, e, D (n x n) as above.  0
 * where too few digits are left. */
SOAI_INLINE int measure_inertia(joint J, int kind, const konst *factor, real *C, real *y,
                                real beta[6], real *e, real *D) {
    const int n = joint_size(J, kind);
    int safe = 1;
    for (int j = 0; j < 6; ++j) {
        real l[6];
        real s[6];
        real gain[6];
        real x[6];
        const konst d = inertia_column(kind, factor, j, l);
        compliance_mul(C, l, s);
        const real reduction = REAL(1) + d * v6_dot(l, s);
        const real g = REAL(d) / reduction;
        safe &= !real_all_above(reduction, REAL(SOAI_TWO_SWEEP_MOST));
        const real x_beta = g * v6_dot(l, beta);
        for (int c = 0; c < n; ++c)
            x[c] = v6_dot(l, y + 6 * c);
        for (int c = 0; c < n; ++c) {
            for (int m = 0; m < n; ++m)
                D[n * c + m] += g * x[c] * x[m];
            e[c] -= x[c] * x_beta;
            v6_add_scaled(-(g * x[c]), s, y + 6 * c);
        }
        v6_add_scaled(-x_beta, s, beta);
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i)
            gain[i] = g * s[i];
        compliance_subtract(s, gain, C);
    }
    return safe;
}
/* b, less wrenches, with w x r v of the child's exact rotor */
SOAI_INLINE void chain_bias_force(joint J, const real *v, const real *fext, real b[6]) {
    const int child = J.b->child;
    gyroscopic_force(J, J.own->V, fext, b);
    if (child) step_rotor_gyro(J.k, J.k->body + child, v, J.own->V, b);
}
/* y D'^-1 by columns */
SOAI_INLINE void gain_of_chain(int n, const real *D, const real *y, real *G) {
    for (int j = 0; j < 6; ++j) {
        real x[6];
        for (int c = 0; c < n; ++c)
            x[c] = y[6 * c + j];
        block_solve(n, D, x);
        for (int c = 0; c < n; ++c)
            G[6 * c + j] = x[c];
    }
}

/* Outward: velocities, compliance, free acceleration.  0, or the body at fault: this one where D' is
 * not safely positive, its parent where that is too light. */
SOAI_INLINE int two_sweep_outward(joint J, int kind, const konst *factor, const real *q,
                                  const real *v, const real *tau, const real *fext) {
    const int n = joint_size(J, kind);
    const konst *M = J.b->M;
    real *C = J.own->P;
    real *y = J.w->U + 6 * J.b->iv;
    real *D = J.w->D + J.b->id;
    real *e = J.w->e + J.b->iv;
    real rate[6];
    real beta[6];
    real couple[6];
    real b[6];
    real size[6];
    real nu[6];
    real G[36];
    joint_pose(J, kind, q);
    joint_entries(J, kind, v, rate);
    const pose X = joint_read(J, kind);
    angular_velocity(J, kind, X, rate, J.own->V); /* omega   RK88-I (2.2) */
    if (!J.b->child) v6_zero(J.own->f);           /* F of a tip: its wrenches are in b */
    SOAI_UNROLL
    for (int j = 0; j < ABI_SIZE; ++j)
        C[j] = REAL(0);
    if (J.b->parent) compliance_out(X, J.parent->P, C); /* C' */
    acceleration_out(J, X, beta);                       /* beta' - c's joint part */
    joint_entries(J, kind, tau, e);
    v6_zero(couple);
    for (int j = 0; j < n * n; ++j)
        D[j] = REAL(0);
    if (hinge_has_rotor(J, kind)) step_rotor_couple(J.k, J.w, J.b, J.i, couple);
    for (int c = 0; c < n; ++c) {
        hinge_column(J, kind, c, y + 6 * c);
        D[(n + 1) * c] = REAL(hinge_armature(J, kind, c));
    }
    if (hinge_has_rotor(J, kind)) { /* one degree of freedom */
        real yields[6];
        compliance_mul(C, couple, yields);
        v6_add_scaled(REAL(-1), yields, y); /* h = H* - C' [r; 0] */
        D[0] -= v6_dot(couple, yields);
        e[0] -= v6_dot(couple, beta);
    }
    add_joint_bias(J, kind, J.own->V, rate, beta); /* beta' */
    if (!measure_inertia(J, kind, factor, C, y, beta, e, D)) return J.b->parent;
    chain_bias_force(J, v, fext, b);
    for (int c = 0; c < n; ++c)
        e[c] -= v6_dot(y + 6 * c, b);
    hinge_size(J.k, J.w, J.b, kind, n, REAL(M[4] + M[5] + M[6]), REAL(3 * M[0]), size);
    if (!block_factor(n, D, size)) return J.i;
    compliance_mul(C, b, b);
    v6_add_scaled(REAL(-1), b, beta); /* beta' - C'' (M beta' + b) */
    gain_of_chain(n, D, y, G);
    for (int c = 0; c < n; ++c)
        nu[c] = e[c];
    for (int c = 0; c < n; ++c) {
        v6_add_scaled(nu[c], G + 6 * c, beta); /* + y D'^-1 e */
        real minus[6];
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            minus[j] = -G[6 * c + j];
        compliance_subtract(y + 6 * c, minus, C); /* C = C'' + y D'^-1 y* */
    }
    v6_copy(beta, J.own->A);
    return 0;
}

/* Inward: forces and accelerations. */
SOAI_INLINE void two_sweep_inward(joint J, int kind, const real *v, const real *fext, real *vdot) {
    const int n = joint_size(J, kind);
    const pose X = joint_read(J, kind);
    const real *y = J.w->U + 6 * J.b->iv;
    const real *F = J.own->f;
    real *alpha = J.own->A;
    real x[6];
    real b[6];
    real f[6];
    real g[6];
    for (int c = 0; c < n; ++c)
        x[c] = J.w->e[J.b->iv + c] - v6_dot(y + 6 * c, F);
    block_solve(n, J.w->D + J.b->id, x); /* vdot = D'^-1 (e - y* F) */
    put_joint_entries(J, kind, x, vdot);
    if (!J.b->parent) return;
    compliance_mul(J.own->P, F, g);
    v6_add_scaled(REAL(-1), g, alpha); /* alpha = beta - C F */
    rigid_mul_k(J.b->M, alpha, f);
    chain_bias_force(J, v, fext, b);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        f[j] += b[j] + F[j];
    if (hinge_has_rotor(J, kind)) {
        real couple[3];
        step_rotor_couple(J.k, J.w, J.b, J.i, couple);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            f[j] += couple[j] * x[0];
    }
    rot_mul(X.R, f, g);
    rot_mul(X.R, f + 3, g + 3);
    v3_cross_add(X.p, g + 3, g);
    v6_copy(g, J.parent->f); /* F(parent) = phi (...) */
}

/* factors: rows of inertia_factors.h of the same table.  No mimic joints, no branches. */
SOAI_SWEEP int two_sweep(const view_table *k, kernel_work *w, const konst *factors, const real *q,
                         const real *v, const real *tau, const real *fext, real *vdot) {
    tau = torques_after_losses(k, w, q, v, tau); /* T */
    angles(k, w, q);
    v6_zero(w->b[0].V);
    base_acceleration(k, w->b[0].A); /* beta(base) = -g   RK88-I (2.1) */
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        int bad = 0;
        WITH_ALIGNED_KIND(b,
                          bad = two_sweep_outward(joint_at(k, w, b, i), kind,
                                                  factors + SOAI_FACTOR_SIZE * i, q, v, tau, fext))
        if (bad) return bad;
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, two_sweep_inward(joint_at(k, w, b, i), kind, v, fext, vdot))
    }
    return 0;
}
/* C of a body as 36 numbers, row by row, angular rows first */
SOAI_SWEEP void two_sweep_compliance(const kernel_work *w, int body, real *C) {
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            C[6 * r + c] = abi_entry(w->b[body].P, (r + 3) % 6, (c + 3) % 6);
}

#endif
