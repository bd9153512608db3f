/* mass.h  the mass matrix by composite bodies, O(n d), d the mean number of ancestors.
 *
 * One inward sweep.  The composite inertia r of a body and those beyond gives the force x = r H*
 * that moves them by the joint; on its way to the base x gives one entry of M at each joint it
 * passes:
 *
 *     r(k)   = M(k) + sum over children of phi r phi*
 *            R87 (33)
 *     x(k,k) = r(k) H*(k),  x(i,k) = phi x(i's child, k),  m(i,k) = H(i) x(i,k)
 *     R87 (32)
 *
 * source   R87 (32), (33); FO00 (9), (10)
 * needs    bodies numbered branch by branch, so that the columns of the bodies beyond one follow
 *          its own
 * rotors   A rotor's inertia adds to m(k,k); an exact rotor's couple acts on the parent, so it adds
 *          to x once m(k,k) is taken.
 * frames   Any; the library gives the aligned ones (aligned_frames.c).
 * writes   R p P(as r) S(as x, six numbers a column) M (nv x nv, tree coordinates) */
#ifndef SOAI_MASS_H
#define SOAI_MASS_H
#include "hinge.h"

/* r: the body's own inertia and what its children brought.  The last child, which comes first,
 * starts the sum. */
SOAI_INLINE void composite_inertia(joint J, real r[10]) {
    if (!J.b->child) {
        rigid_set(J.b->M, r);
        return;
    }
    SOAI_UNROLL
    for (int j = 0; j < 10; ++j)
        r[j] = J.own->P[j];
}
SOAI_INLINE void composite_to_parent(joint J, pose X, const real r[10]) {
    real sum[10];
    if (!J.b->parent) return;
    rigid_set(J.k->body[J.b->parent].M, sum);
    SOAI_UNROLL
    for (int j = 0; j < 10; ++j)
        sum[j] = J.b->starts ? sum[j] : J.parent->P[j];
    rigid_in_add(X.R, X.p, r, sum, J.parent->P);
}
/* The rotor of the joint, once m(k,k) is taken. */
SOAI_INLINE void add_rotor(joint J, int kind, int c, int k, real x[6], real *M) {
    if (ON_AXIS(kind)) return; /* an armature: step_mass_armatures */
    M[((size_t)J.k->nv + 1) * (size_t)k] += J.k->dof[J.b->iv + c].armature;
    if (!J.b->rotor) return;
    real couple[3];
    step_rotor_couple(J.k, J.w, J.b, J.i, couple);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        x[j] += couple[j];
}
/* The force x of a column, at the joint it has reached: an entry of M, and then on to the
 * parent. */
SOAI_INLINE void mass_entry(joint J, int kind, int column, const real x[6], real *M) {
    const size_t n = (size_t)J.k->nv;
    real m[6];
    hinge_project(J, kind, x, m); /* m(i,k) = H(i) x(i,k)                    R87 (32) */
    for (int c = 0; c < joint_size(J, kind); ++c) {
        const real entry = joint_sense(J.b, kind, m[c]);
        M[n * (size_t)column + (size_t)(J.b->iv + c)] = entry;
        M[n * (size_t)(J.b->iv + c) + (size_t)column] = entry;
    }
}
SOAI_INLINE void mass_shift(joint J, pose X, const real x[6], real *out) {
    real f[6];
    if (!J.b->parent) return;
    v6_zero(f);
    force_in_add(X.R, X.p, x, f); /* x(parent,k) = phi x(i,k)               R87 (32) */
    v6_copy(f, out);
}

SOAI_INLINE void mass_inward(joint J, int kind, real *M) {
    const int n = joint_size(J, kind);
    const pose X = joint_read(J, kind);
    real *columns = J.w->S;
    real x[6];
    real H[6];
    real r[10];
    /* r = M + sum phi r phi*                  R87 (33) */
    composite_inertia(J, r);
    for (int k = J.b->iv + n; k < J.b->end; ++k) { /* the bodies beyond */
        v6_copy(columns + 6 * k, x);
        mass_entry(J, kind, k, x, M);
        mass_shift(J, X, x, columns + 6 * k);
    }
    for (int c = 0; c < n; ++c) { /* its own                                          */
        const int k = J.b->iv + c;
        hinge_column(J, kind, c, H);
        rigid_mul(r, H, x); /* x(k,k) = r(k) H*(k)                     R87 (32) */
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            x[j] = joint_sense(J.b, kind, x[j]);
        mass_entry(J, kind, k, x, M);
        add_rotor(J, kind, c, k, x, M);
        mass_shift(J, X, x, columns + 6 * k);
    }
    composite_to_parent(J, X, r); /* phi r phi*                              R87 (33) */
}

SOAI_SWEEP int mass(const view_table *k, kernel_work *w, const real *q, real *M) {
    for (size_t j = 0; j < (size_t)k->nv * (size_t)k->nv; ++j)
        M[j] = REAL(0);
    angles(k, w, q);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, joint_pose(joint_at(k, w, b, i), kind, q))
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, mass_inward(joint_at(k, w, b, i), kind, M))
    }
    step_mass_armatures(k, M);
    return 0;
}

#endif
