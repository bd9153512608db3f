/* rnea.h  inverse dynamics, O(n):  T = H phi [M phi* (H* vdot + a) + b + B f(0)]
 *
 * passes  outward V, A, f | inward T
 * source  RK88-I (2.24) to (2.30), in operator form (3.19); R87 (16) to (21); FO00 (1) to (8)
 * ours    spatial accelerations, so a(k) = V x H*v and b(k) = V x* M V; external wrenches act on the body (minus)
 * writes  R p V c A f                                                                                               */
#ifndef SOAI_RNEA_H
#define SOAI_RNEA_H
#include "steps.h"

SOAI_SWEEP int rnea(const view_table *k, kernel_work *w, const real *q, const real *v, const real *a, const real *fext,
                    real *tau) {
    step_base(k, w->b[0].A);
    v6_zero(w->b[0].V);
    SOAI_UNROLL_BODIES for (int i = 1; i <= k->nb; ++i) { /* base to tips */
        const body_table *b = k->body + i;
        real V[6], A[6], c[6], f[6], MA[6];
#define SOAI_STEP_(kind, n)                   \
    joint_position(k, w, b, i, kind, q);      \
    step_velocity(k, w, b, i, kind, n, v, V); \
    step_acceleration(k, w, b, i, kind, n, V, v, a, A, c)
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        step_bias_force(b, V, fext ? fext + 6 * (i - 1) : 0, f); /* b(k) - external */
        rigid_mul_k(b->M, A, MA);
        SOAI_UNROLL for (int j = 0; j < 6; ++j) w->b[i].f[j] = f[j] + MA[j]; /* M alpha + b */
        if (b->rotor && b->parent) {
            step_rotor_gyro(k, w, b, v);
            for (int j = 0; j < 3; ++j) w->b[b->parent].f[j] += k->dof[b->iv].rotor[j] * a[b->iv];
        }
    }
    SOAI_UNROLL_BODIES for (int i = k->nb; i >= 1; --i) { /* tips to base */
        const body_table *b = k->body + i;
        const real *f = w->b[i].f;
#define SOAI_STEP_(kind, n)                                                            \
    {                                                                                  \
        real x[6];                                                                     \
        joint_project(k, w, b, kind, n, f, x); /* T = H f */                           \
        SOAI_UNROLL for (int j = 0; j < n; ++j) tau[b->iv + j] =                       \
            x[j] + (n == 1 ? b->armature : k->dof[b->iv + j].armature) * a[b->iv + j]; \
    }
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        if (b->rotor && b->parent)
            for (int j = 0; j < 3; ++j) tau[b->iv] += k->dof[b->iv].rotor[j] * w->b[b->parent].A[j];
        if (b->parent) force_in_add(w->b[i].R, w->b[i].p, f, w->b[b->parent].f); /* f(p) += phi f */
    }
    step_losses(k, q, v, (konst)1, tau);
    return 0;
}

/* y = M x: the same two sweeps without velocities and gravity.  Poses must stand in R, p. */
SOAI_SWEEP void mass_mul(const view_table *k, kernel_work *w, const real *x, real *y) {
    v6_zero(w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        real A[6];
        motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].A, A);
#define SOAI_STEP_(kind, n) joint_add(k, w, b, kind, n, x + b->iv, A)
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        v6_copy(A, w->b[i].A);
        rigid_mul_k(b->M, A, w->b[i].f);
        if (b->rotor && b->parent)
            for (int j = 0; j < 3; ++j) w->b[b->parent].f[j] += k->dof[b->iv].rotor[j] * x[b->iv];
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
#define SOAI_STEP_(kind, n)                                                                          \
    {                                                                                                \
        real t[6];                                                                                   \
        joint_project(k, w, b, kind, n, w->b[i].f, t);                                               \
        for (int j = 0; j < n; ++j) y[b->iv + j] = t[j] + k->dof[b->iv + j].armature * x[b->iv + j]; \
    }
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        if (b->rotor && b->parent)
            for (int j = 0; j < 3; ++j) y[b->iv] += k->dof[b->iv].rotor[j] * w->b[b->parent].A[j];
        if (b->parent) force_in_add(w->b[i].R, w->b[i].p, w->b[i].f, w->b[b->parent].f);
    }
}

#endif
