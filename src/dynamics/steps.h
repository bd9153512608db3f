/* steps.h  the per-body steps every sweep is made of.
 *
 * Ours is parent-first storage: the papers' causal (tip to base) sweep is the descending loop, the anticausal one the
 * ascending loop.  A step touches body i and its parent only.                                                       */
#ifndef SOAI_STEPS_H
#define SOAI_STEPS_H
#include "joint.h"

/* c = V x H*v + (apparent rate of H*) v: the papers' a(k), spatial form.  RK88-I (2.19), (2.32) corrected; FO00 (4). */
SOAI_INLINE void step_bias(const view_table *k, const kernel_work *w, const body_table *b, int kind, int nv,
                           const real V[6], const real *v, real c[6]) {
    real t[3];
    switch (kind) {
    case SOAI_KIND_REVOLUTE:
        v3_cross_k(V, b->axis, t);
        SOAI_UNROLL for (int i = 0; i < 3; ++i) c[i] = t[i] * v[0];
        v3_cross_k(V + 3, b->axis, t);
        SOAI_UNROLL for (int i = 0; i < 3; ++i) c[3 + i] = t[i] * v[0];
        break;
    case SOAI_KIND_PRISMATIC:
        v3_cross_k(V, b->axis, t);
        SOAI_UNROLL for (int i = 0; i < 3; ++i) c[i] = REAL(0), c[3 + i] = t[i] * v[0];
        break;
    default: {
        real vJ[6];
        v6_zero(vJ);
        joint_add(k, w, b, kind, nv, v, vJ);
        cross_motion(V, vJ, c);
        if (kind == SOAI_KIND_GENERAL) joint_ring(k, w, b, v, v, c);
    }
    }
}

/* V(i) = phi* V(parent) + H* v; c(i).  R87 (13), RK88-I (2.25), FO00 (3). */
SOAI_INLINE void step_velocity(const view_table *k, kernel_work *w, const body_table *b, int i, int kind, int nv,
                               const real *v_tree) {
    const real *v = v_tree + b->iv;
    real V[6], c[6];
    if (b->parent) {
        motion_out(w->R + 9 * i, w->p + 3 * i, w->V + 6 * b->parent, V);
    } else {
        v6_zero(V);
    }
    joint_add(k, w, b, kind, nv, v, V);
    step_bias(k, w, b, kind, nv, V, v, c);
    v6_copy(V, w->V + 6 * i);
    v6_copy(c, w->c + 6 * i);
}

/* b(i) = V x* M V, less the external wrench.  R87 (14), RK88-I (2.23) spatial form, FO00 (7). */
SOAI_INLINE void step_bias_force(const body_table *b, const real V[6], const real *fext, real out[6]) {
    real h[6];
    rigid_mul_k(b->M, V, h);
    cross_force(V, h, out);
    if (fext) {
        SOAI_UNROLL for (int j = 0; j < 6; ++j) out[j] -= fext[j];
    }
}

/* The base acceleration that stands for gravity: -g, RK88-I (2.1) with the sign of ERRATA. */
SOAI_INLINE void step_base(const view_table *k, real A[6]) {
    A[0] = A[1] = A[2] = REAL(0);
    SOAI_UNROLL for (int j = 0; j < 3; ++j) A[3 + j] = REAL(-k->gravity[j]);
}

/* The exact rotor of joint i sits on the parent and spins about u with G v: its momentum beyond what the parent's
 * inertia holds is Jm G v u =: rotor v.  Its couple on the parent: rotor vdot + w x rotor v; its torque on the joint:
 * rotor . wdot(parent) + G^2 Jm vdot (the armature).                                                                */
SOAI_INLINE void step_rotor_gyro(const view_table *k, kernel_work *w, const body_table *b, const real *v, real *force) {
    if (!b->rotor || !b->parent) return;
    real t[3];
    v3_cross_k(w->V + 6 * b->parent, k->dof[b->iv].rotor, t);
    for (int j = 0; j < 3; ++j) force[6 * b->parent + j] += t[j] * v[b->iv];
}
/* The rotor's couple per unit of vdot, in the axes of body i. */
SOAI_INLINE void step_rotor_couple(const view_table *k, const kernel_work *w, const body_table *b, int i, real out[3]) {
    const konst *r = k->dof[b->iv].rotor;
    const real g[3] = {REAL(r[0]), REAL(r[1]), REAL(r[2])};
    rot_tmul(w->R + 9 * i, g, out);
}

/* Friction and spring torque of tree coordinate j, to be overcome by tau. */
SOAI_INLINE real step_loss(const dof_table *d, real q, real v) {
    return d->damping * v + real_sign(v, d->friction_positive, -d->friction_negative) + d->stiffness * (q - d->rest);
}
/* tau += sign * losses, over the joints that have them */
SOAI_INLINE void step_losses(const view_table *k, const real *q, const real *v, konst sign, real *tau) {
    if (!k->losses) return;
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        for (int c = 0; c < b->nv; ++c) { /* springs only stand where q and v have the same size */
            const int has_q = b->kind != SOAI_KIND_SPHERICAL && b->kind != SOAI_KIND_FREE;
            tau[b->iv + c] += sign * step_loss(k->dof + b->iv + c, has_q ? q[b->iq + c] : REAL(0), v[b->iv + c]);
        }
    }
}

/* Pose of body i in the world. */
SOAI_INLINE void step_pose(const view_table *k, kernel_work *w, int i) {
    const int parent = k->body[i].parent;
    const real *R = w->R + 9 * i, *p = w->p + 3 * i;
    real *Rw = w->Rw + 9 * i, *pw = w->pw + 3 * i;
    if (!parent) {
        for (int j = 0; j < 9; ++j) Rw[j] = R[j];
        for (int j = 0; j < 3; ++j) pw[j] = p[j];
        return;
    }
    rot_rot(w->Rw + 9 * parent, R, Rw);
    rot_mul(w->Rw + 9 * parent, p, pw);
    for (int j = 0; j < 3; ++j) pw[j] += w->pw[3 * parent + j];
}

/* D = L d L', in place (lower triangle, row by row); 0 where a pivot is not safely positive.  `scale` is the size of
 * the inertia D was taken from: a hinge that moves only rounding errors of it counts as moving nothing.             */
#define SOAI_HINGE_TOLERANCE 1e-14
SOAI_INLINE int block_factor(int n, real *D, real scale) {
    for (int j = 0; j < n; ++j) {
        for (int m = 0; m < j; ++m) D[n * j + j] -= D[n * j + m] * D[n * j + m] * D[n * m + m];
        if (!real_all_above(D[n * j + j], scale)) return 0;
        for (int i = j + 1; i < n; ++i) {
            for (int m = 0; m < j; ++m) D[n * i + j] -= D[n * i + m] * D[n * j + m] * D[n * m + m];
            D[n * i + j] = D[n * i + j] / D[n * j + j];
        }
    }
    return 1;
}
SOAI_INLINE void block_solve(int n, const real *D, real *x) {
    for (int i = 1; i < n; ++i)
        for (int m = 0; m < i; ++m) x[i] -= D[n * i + m] * x[m];
    for (int i = 0; i < n; ++i) x[i] = x[i] / D[n * i + i];
    for (int i = n - 1; i-- > 0;)
        for (int m = i + 1; m < n; ++m) x[i] -= D[n * m + i] * x[m];
}

/* x = D^-1 x for the joint of b. */
SOAI_INLINE void step_hinge_solve(const kernel_work *w, const body_table *b, int nv, real *x) {
    if (nv == 1)
        x[0] = x[0] * w->D[b->id];
    else
        block_solve(nv, w->D + b->id, x);
}

/* U = P H*, D = H U (+ rotor), factored; P becomes P+ = P - U D^-1 U' and is handed to the parent.
 * R87 (37) to (39), (43); RJK91 (8) to (10); FO00 (13), (14).  Returns 0 where D is singular. */
SOAI_INLINE int step_articulate(const view_table *k, kernel_work *w, const body_table *b, int i, int kind, int nv) {
    real *P = w->P + 21 * i, *U = w->U + 6 * b->iv, *D = w->D + b->id;
    real local[6];
    const int one = nv == 1;
    real *u = one ? local : U; /* one column lives in registers */
    joint_inertia(k, w, b, kind, nv, P, u);
    const real size = kind == SOAI_KIND_PRISMATIC ? P[6] + P[7] + P[8]
                      : kind == SOAI_KIND_REVOLUTE || kind == SOAI_KIND_SPHERICAL ? P[0] + P[1] + P[2] : REAL(0);
    const real least = size * REAL(SOAI_HINGE_TOLERANCE);
    if (one) {
        real d;
        joint_project(k, w, b, kind, nv, u, &d); /* D = H P H*            R87 (38) */
        d += k->dof[b->iv].armature;
        if (__builtin_expect(!real_all_above(d, least), 0)) return 0;
        const real dinv = REAL(1) / d;
        D[0] = dinv;
        if (b->rotor) {
            real couple[3];
            step_rotor_couple(k, w, b, i, couple);
            for (int j = 0; j < 3; ++j) u[j] += couple[j];
        }
        v6_copy(u, U);
        if (!b->parent) return 1;
        real Y[6];
        SOAI_UNROLL for (int j = 0; j < 6; ++j) Y[j] = u[j] * dinv; /* G = P H* D^-1 (39) */
        abi_subtract(u, Y, P);                                     /* P+ = P - G H P    (43) */
    } else {
        for (int r = 0; r < nv; ++r) {
            real row[6];
            joint_project(k, w, b, kind, nv, U + 6 * r, row);
            for (int c = 0; c < nv; ++c) D[nv * r + c] = row[c];
            D[nv * r + r] += k->dof[b->iv + r].armature;
        }
        if (!block_factor(nv, D, least)) return 0;
        if (!b->parent) return 1;
        real Y[36];
        for (int j = 0; j < 6; ++j) {
            real x[6];
            for (int c = 0; c < nv; ++c) x[c] = U[6 * c + j];
            block_solve(nv, D, x);
            for (int c = 0; c < nv; ++c) Y[6 * c + j] = x[c];
        }
        for (int c = 0; c < nv; ++c) abi_subtract(U + 6 * c, Y + 6 * c, P);
    }
    abi_in_add(w->R + 9 * i, w->p + 3 * i, P, w->P + 21 * b->parent); /* P(parent) += phi P+ phi*  (37) */
    return 1;
}

/* eps = tau - H z (+ rotor), z+ = z + P+ c + U D^-1 eps, handed to the parent.  R87 (40), (41), (36) in FO00's form. */
SOAI_INLINE void step_innovate(const view_table *k, kernel_work *w, const body_table *b, int i, int kind, int nv,
                               const real *tau, const real *c, int with_bias) {
    const real *U = w->U + 6 * b->iv, *P = w->P + 21 * i;
    real *z = w->f + 6 * i, *e = w->e + b->iv;
    real x[6];
    joint_project(k, w, b, kind, nv, z, x);
    SOAI_UNROLL for (int j = 0; j < nv; ++j) x[j] = tau[b->iv + j] - x[j];
    if (with_bias && b->rotor) { /* the rotor does not feel the joint's own c */
        real couple[3];
        step_rotor_couple(k, w, b, i, couple);
        x[0] += v3_dot(couple, c);
    }
    SOAI_UNROLL for (int j = 0; j < nv; ++j) e[j] = x[j];
    if (!b->parent) return;
    real zp[6];
    v6_copy(z, zp);
    if (with_bias) {
        real Pc[6];
        abi_mul(P, c, Pc);
        SOAI_UNROLL for (int j = 0; j < 6; ++j) zp[j] += Pc[j];
    }
    step_hinge_solve(w, b, nv, x);
    for (int j = 0; j < nv; ++j) v6_add_scaled(x[j], U + 6 * j, zp);
    force_in_add(w->R + 9 * i, w->p + 3 * i, zp, w->f + 6 * b->parent);
}

/* a' = phi* A(parent) + c;  vdot = D^-1 (eps - U'a');  A = a' + H* vdot.  R87 (44) to (47); FO00 after (14). */
SOAI_INLINE void step_accelerate(const view_table *k, kernel_work *w, const body_table *b, int i, int kind, int nv,
                                 const real *c, int with_bias, real *vdot) {
    const real *U = w->U + 6 * b->iv, *e = w->e + b->iv;
    real A[6], x[6];
    if (b->parent || with_bias)
        motion_out(w->R + 9 * i, w->p + 3 * i, w->A + 6 * b->parent, A);
    else
        v6_zero(A);
    if (with_bias) {
        SOAI_UNROLL for (int j = 0; j < 6; ++j) A[j] += c[j];
    }
    for (int j = 0; j < nv; ++j) x[j] = e[j] - v6_dot(U + 6 * j, A);
    step_hinge_solve(w, b, nv, x);
    joint_add(k, w, b, kind, nv, x, A);
    v6_copy(A, w->A + 6 * i);
    SOAI_UNROLL for (int j = 0; j < nv; ++j) vdot[b->iv + j] = x[j];
}

#endif
