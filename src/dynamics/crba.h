/* crba.h  the mass matrix.
 *
 * crba      composite bodies are gathered inward in body frames; each column's force and each joint map is turned once into the
 *           axes of its root body, so an entry M(i,j) is one 6-vector product.  O(n d), 6 multiplications an entry.
 *           FO00 (9), (10).
 * mass_r87  R87 (32) as printed: r(i) composite, x(i) = r H*, x(k) = phi x(k-1), m(k,i) = H x(k).
 * Both write all of M (nv x nv, tree coordinates).                                                                  */
#ifndef SOAI_CRBA_H
#define SOAI_CRBA_H
#include "steps.h"

/* Column c of H*, any kind. */
SOAI_INLINE void step_column(const view_table *k, const kernel_work *w, const body_table *b, int kind, int c,
                             real H[6]) {
    v6_zero(H);
    switch (kind) {
    CASE_ON_AXIS:
        H[AXIS_OF(kind)] = REAL(1);
        break;
    case SOAI_KIND_REVOLUTE:
        for (int j = 0; j < 3; ++j) H[j] = REAL(b->axis[j]);
        break;
    case SOAI_KIND_PRISMATIC:
        for (int j = 0; j < 3; ++j) H[3 + j] = REAL(b->axis[j]);
        break;
    case SOAI_KIND_SPHERICAL:
    case SOAI_KIND_FREE: H[c] = REAL(1); break;
    default: joint_column(k, w, b, c, H);
    }
}

/* A motion (or force) of body i, to the axes and origin of the frame that Rw, pw refer to. */
SOAI_INLINE void motion_to_root(const kernel_work *w, int i, const real H[6], real out[6]) {
    rot_mul(w->Rw + 9 * i, H, out);
    rot_mul(w->Rw + 9 * i, H + 3, out + 3);
    v3_cross_add(w->pw + 3 * i, out, out + 3);
}
SOAI_INLINE void force_to_root(const kernel_work *w, int i, const real f[6], real out[6]) {
    rot_mul(w->Rw + 9 * i, f, out);
    rot_mul(w->Rw + 9 * i, f + 3, out + 3);
    v3_cross_add(w->pw + 3 * i, out + 3, out);
}

/* r H* e_c for the composite inertia r */
SOAI_INLINE void composite_column(const view_table *k, const kernel_work *w, const body_table *b, int kind, int c,
                                  const real r[10], real f[6]) {
    if (ON_AXIS(kind)) { /* [I e; e x h] */
        static const unsigned char sym[3][3] = {{XX, XY, XZ}, {XY, YY, YZ}, {XZ, YZ, ZZ}};
        const int ax = AXIS_OF(kind);
        SOAI_UNROLL for (int j = 0; j < 3; ++j) f[j] = r[4 + sym[ax][j]];
        f[3 + ax] = REAL(0), f[3 + NEXT(ax)] = -r[1 + LAST(ax)], f[3 + LAST(ax)] = r[1 + NEXT(ax)];
    } else {
        real H[6];
        step_column(k, w, b, kind, c, H);
        rigid_mul(r, H, f);
    }
}

SOAI_INLINE void mass_mirror(int n, real *M) {
    enum { BLOCK = 16 };
    for (int i0 = 0; i0 < n; i0 += BLOCK)
        for (int j0 = 0; j0 <= i0; j0 += BLOCK)
            for (int i = i0; i < i0 + BLOCK && i < n; ++i)
                for (int j = j0; j < j0 + BLOCK && j < i; ++j)
                    M[(size_t)n * (size_t)j + (size_t)i] = M[(size_t)n * (size_t)i + (size_t)j];
}

SOAI_SWEEP int crba(const view_table *k, kernel_work *w, const real *q, real *M) {
    const size_t n = (size_t)k->nv;
    SOAI_UNROLL_BODIES for (int i = 1; i <= k->nb; ++i) { /* base to tips: poses in the root body, joint maps there */
        const body_table *b = k->body + i;
#define SOAI_STEP_(kind, nd) joint_position(k, w, b, i, kind, q)
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        rigid_set(b->M, w->b[i].P);
        if (b->parent) {
            step_pose(k, w, i);
        } else {
            for (int j = 0; j < 9; ++j) w->Rw[9 * i + j] = REAL(j % 4 == 0);
            for (int j = 0; j < 3; ++j) w->pw[3 * i + j] = REAL(0);
        }
#define SOAI_STEP_(kind, nd)                                                                 \
    if (ON_AXIS(kind)) { /* [Rw e; pw x Rw e] */                                             \
        real *S = w->S + 6 * b->iv;                                                          \
        SOAI_UNROLL for (int j = 0; j < 3; ++j) S[j] = w->Rw[9 * i + 3 * j + AXIS_OF(kind)]; \
        v3_cross(w->pw + 3 * i, S, S + 3);                                                   \
    } else {                                                                                 \
        for (int c = 0; c < nd; ++c) {                                                       \
            real H[6];                                                                       \
            step_column(k, w, b, kind, c, H);                                                \
            motion_to_root(w, i, H, w->S + 6 * (b->iv + c));                                 \
        }                                                                                    \
    }
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
    }
    SOAI_UNROLL_BODIES for (int i = k->nb; i >= 1; --i) { /* tips to base */
        const body_table *b = k->body + i;
        const real *r = w->b[i].P;
#define SOAI_STEP_(kind, nd)                                                        \
    for (int c = 0; c < nd; ++c) {                                                  \
        real f[6], x[6], g[6];                                                      \
        composite_column(k, w, b, kind, c, r, f);                                   \
        joint_project(k, w, b, kind, nd, f, x);                                     \
        real *row = M + n * (size_t)(b->iv + c);                                    \
        for (int j = 0; j < b->iv; ++j) row[j] = REAL(0);                           \
        for (int j = 0; j <= c; ++j) row[b->iv + j] = x[j];                         \
        row[b->iv + c] += k->dof[b->iv + c].armature;                               \
        force_to_root(w, i, f, g);                                                  \
        if (b->rotor && b->parent) {                                                \
            real couple[3], t[3];                                                   \
            step_rotor_couple(k, w, b, i, couple);                                  \
            rot_mul(w->Rw + 9 * i, couple, t);                                      \
            for (int j = 0; j < 3; ++j) g[j] += t[j];                               \
        }                                                                           \
        for (int a = b->parent; a; a = k->body[a].parent) {                         \
            const int at = k->body[a].iv, count = k->body[a].nv;                    \
            for (int j = at; j < at + count; ++j) row[j] = v6_dot(w->S + 6 * j, g); \
        }                                                                           \
    }
        SOAI_BY_KIND(b, SOAI_STEP_)
#undef SOAI_STEP_
        if (b->parent) rigid_in_add(w->b[i].R, w->b[i].p, r, w->b[b->parent].P);
    }
    mass_mirror(k->nv, M);
    return 0;
}

SOAI_SWEEP int mass_r87(const view_table *k, kernel_work *w, const real *q, real *M) {
    const size_t n = (size_t)k->nv;
    for (size_t j = 0; j < n * n; ++j) M[j] = REAL(0);
    positions(k, w, q);
    for (int i = 1; i <= k->nb; ++i) rigid_set(k->body[i].M, w->b[i].P);
    for (int i = k->nb; i >= 1; --i) { /* r(i) stands: all outboard bodies have been added */
        const body_table *b = k->body + i;
        for (int c = 0; c < b->nv; ++c) {
            real H[6], x[6], g[6], t[6];
            step_column(k, w, b, b->kind, c, H);
            rigid_mul(w->b[i].P, H, x); /* x(i) = r(i) H*(i) */
            for (int a = i; a;) {       /* m(k,i) = H(k) x(k) */
                const body_table *o = k->body + a;
                joint_project(k, w, o, o->kind, o->nv, x, g);
                for (int j = 0; j < o->nv; ++j)
                    M[n * (size_t)(b->iv + c) + (size_t)(o->iv + j)] =
                        M[n * (size_t)(o->iv + j) + (size_t)(b->iv + c)] = g[j];
                if (a == i && b->rotor) {
                    real couple[3];
                    step_rotor_couple(k, w, b, i, couple);
                    for (int j = 0; j < 3; ++j) x[j] += couple[j];
                }
                v6_zero(t);
                force_in_add(w->b[a].R, w->b[a].p, x, t); /* x(k) = phi(k,k-1) x(k-1) */
                v6_copy(t, x);
                a = o->parent;
            }
            M[(n + 1) * (size_t)(b->iv + c)] += k->dof[b->iv + c].armature;
        }
        if (b->parent) rigid_in_add(w->b[i].R, w->b[i].p, w->b[i].P, w->b[b->parent].P);
    }
    return 0;
}

#endif
