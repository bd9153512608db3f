/* kinematics.h  poses, velocities, accelerations; and the momentum-like sums that follow from them.
 * source  RK88-I (2.24) to (2.27); FO00 (3), (4).  Accelerations are spatial and without
 *         gravity. */
#ifndef SOAI_KINEMATICS_H
#define SOAI_KINEMATICS_H
#include "crba.h"

SOAI_SWEEP int kinematics(const view_table *k, kernel_work *w, const real *q, const real *v,
                          const real *a) {
    positions(k, w, q);
    v6_zero(w->b[0].V);
    v6_zero(w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        real V[6], A[6];
        WITH_KIND(b, {
            step_velocity(k, w, b, i, kind, nv, v, V);
            step_acceleration(k, w, b, i, kind, nv, V, v, a, A, w->c + 6 * i);
        })
        step_pose(k, w, i);
    }
    return 0;
}

/* Columns of J for the point `at` (world axes) of body i, angular rows first; other columns are not
 * touched. */
SOAI_SWEEP void jacobian(const view_table *k, kernel_work *w, int i, const real at[3], real *J) {
    const size_t n = (size_t)k->nv;
    for (; i; i = k->body[i].parent) {
        const body_table *b = k->body + i;
        real arm[3];
        for (int j = 0; j < 3; ++j)
            arm[j] = w->pw[3 * i + j] - at[j];
        for (int c = 0; c < b->nv; ++c) {
            real H[6], col[6];
            step_column(k, w, b, b->kind, c, H);
            rot_mul(w->Rw + 9 * i, H, col);
            rot_mul(w->Rw + 9 * i, H + 3, col + 3);
            v3_cross_add(arm, col, col + 3); /* v(at) = v(i) + w x (at - p(i)) */
            for (int r = 0; r < 6; ++r)
                J[n * (size_t)r + (size_t)(b->iv + c)] = col[r];
        }
    }
}

/* Kinetic energy, and momentum [angular about the world's origin; linear] in world axes, after
 * kinematics(). */
SOAI_SWEEP void momentum(const view_table *k, const kernel_work *w, const real *v, real *kinetic,
                         real h[6]) {
    real twice = REAL(0);
    v6_zero(h);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        real m[6], g[6];
        rigid_mul_k(b->M, w->b[i].V, m);
        twice += v6_dot(m, w->b[i].V);
        force_to_root(w, i, m, g);
        for (int j = 0; j < 6; ++j)
            h[j] += g[j];
        for (int c = 0; c < b->nv; ++c)
            twice += k->dof[b->iv + c].armature * v[b->iv + c] * v[b->iv + c];
        if (b->rotor && b->parent) {
            real r[3], t[3];
            for (int j = 0; j < 3; ++j)
                r[j] = k->dof[b->iv].rotor[j] * v[b->iv];
            twice += REAL(2) * v3_dot(r, w->b[b->parent].V);
            rot_mul(w->Rw + 9 * b->parent, r, t);
            for (int j = 0; j < 3; ++j)
                h[j] += t[j];
        } else if (b->rotor) {
            for (int j = 0; j < 3; ++j)
                h[j] += k->dof[b->iv].rotor[j] * v[b->iv];
        }
    }
    *kinetic = REAL(0.5) * twice;
}

/* sum of m (p + R c), world axes, after kinematics() or with poses standing. */
SOAI_SWEEP void first_moment(const view_table *k, const kernel_work *w, real *mass,
                             real moment[3]) {
    *mass = moment[0] = moment[1] = moment[2] = REAL(0);
    for (int i = 1; i <= k->nb; ++i) {
        const konst *M = k->body[i].M;
        const real h[3] = {REAL(M[1]), REAL(M[2]), REAL(M[3])};
        real t[3];
        rot_mul(w->Rw + 9 * i, h, t);
        *mass += M[0];
        for (int j = 0; j < 3; ++j)
            moment[j] += t[j] + M[0] * w->pw[3 * i + j];
    }
}

/* Centroidal momentum matrix, rows about the point `com`: column = momentum of the composite body
 * moved by H*. */
SOAI_SWEEP void centroidal(const view_table *k, kernel_work *w, const real com[3], real *A) {
    const size_t n = (size_t)k->nv;
    for (int i = 1; i <= k->nb; ++i)
        rigid_set(k->body[i].M, w->b[i].P);
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        real arm[3];
        for (int j = 0; j < 3; ++j)
            arm[j] = w->pw[3 * i + j] - com[j];
        for (int c = 0; c < b->nv; ++c) {
            real H[6], f[6], g[6];
            step_column(k, w, b, b->kind, c, H);
            rigid_mul(w->b[i].P, H, f);
            if (b->rotor) {
                real couple[3];
                step_rotor_couple(k, w, b, i, couple);
                for (int j = 0; j < 3; ++j)
                    f[j] += couple[j];
            }
            rot_mul(w->Rw + 9 * i, f, g);
            rot_mul(w->Rw + 9 * i, f + 3, g + 3);
            v3_cross_add(arm, g + 3, g);
            for (int r = 0; r < 6; ++r)
                A[n * (size_t)r + (size_t)(b->iv + c)] = g[r];
        }
        if (b->parent)
            rigid_in_add(w->b[i].R, w->b[i].p, w->b[i].P, w->b[b->parent].P, w->b[b->parent].P);
    }
}

#endif
