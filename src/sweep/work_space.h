/* work_space.h  what every sweep shares: the number type, the model's tables and the work space.
 *
 * The work space is one struct per body and a set of arrays of `real`, laid out once by
 * kernel_layout from the list below; the list is also the documentation of what a sweep may leave
 * for the next.  Sizes: B per body (world included), Q per tree coordinate, V per tree degree of
 * freedom, D per entry of the D blocks, N per row of mimic. */
#ifndef SOAI_KERNEL_H
#define SOAI_KERNEL_H
#include "../spatial/algebra.h"

#include "../table/tables.h"

#if SOAI_NUMBER == SOAI_FLOAT || SOAI_NUMBER == SOAI_FLOAT_LANES
typedef soai_body_float body_table;
typedef soai_dof_float dof_table;
typedef soai_view_float view_table;
#else
typedef soai_body_double body_table;
typedef soai_dof_double dof_table;
typedef soai_view_double view_table;
#endif

/* One per body, the world included: what the outward and inward sweeps pass along.  Kept together
 * so that a sweep touches two places, the body's and its parent's. */
/* clang-format off */
typedef struct body_work {
    real P[24];      /* articulated inertia (ABI_SIZE numbers); composite (crba); W (rnea) */
    real R[9], p[3]; /* rotation body to parent, body's origin in the parent (joint_position) */
    real V[6];       /* spatial velocity, body axes; rnea, aba: its first three alone */
    real A[6];       /* acceleration (gravity as the base's): rnea, aba classical, else spatial */
    real f[6];       /* through the joint (rnea); sum of phi z+ (aba); z (aba_spatial, minv_mul) */
    real pad[2];
} body_work;

/*   name     size         written by         what it holds */
#define SOAI_WORK_LIST(X)                                                                          \
    X(c,      6 * B)     /* kinematics, minv   joint's bias acceleration; minv: marks of a path */ \
    X(H,      6 * V)     /* joint_position     columns of H* where they depend on q */             \
    X(U,      6 * V)     /* articulate, aba    P H* (columns), with the rotor's couple */          \
    X(D,      1 * D)     /* articulate, aba    H P H* + armature, factored for step_hinge_solve */ \
    X(e,      1 * V)     /* aba, rnea, minv    nu = D^-1 eps (minv: eps); rnea: a rotor's torque */\
    X(x,      1 * V)     /*                    a tree vector of the caller's */                    \
    X(Rw,     9 * B)     /* kinematics         rotation body to world (crba: to the root) */       \
    X(pw,     3 * B)     /* kinematics         position of the same */                             \
    X(S,      6 * V + 3) /* crba, derivatives  columns of H* in world (or root) axes */            \
    X(F,      6 * V)     /* derivatives        change of velocity with q */                        \
    X(Z,      6 * V)     /* derivatives        change of acceleration with v */                    \
    X(B,      36 * B)    /* derivatives        composite d(force)/d(velocity); compliance: psi */ \
    X(E,      36 * B)    /* derivatives        the same of world wrenches; compliance: Omega */    \
    X(Y,      1 * N * V) /* mimic_prepare      M^-1 G' of the mimic joints */                      \
    X(W,      1 * N * N) /* mimic_prepare      G M^-1 G', factored */                              \
    X(sine,   Q + 3)     /* angles             of every tree coordinate that is an angle */        \
    X(cosine, Q + 3)     /* angles             the same */                                         \
    X(G,      6 * V)     /* aba                G = U D^-1 (columns) */
/* clang-format on */

typedef struct kernel_work {
    body_work *b;
#define SOAI_WORK_FIELD_(name, size) real *name;
    SOAI_WORK_LIST(SOAI_WORK_FIELD_)
#undef SOAI_WORK_FIELD_
    int keeps; /* nonzero: aba leaves U and D, so that minv_mul can follow it */
} kernel_work;

/* The work of body i, and of its parent, as far as it only passes between neighbours: sums inward,
 * A.  Lanes keep it by the place on the path from the base (soai_level): limbs swept one after the
 * other then use the same lines of the cache. */
#if SOAI_LANES > 1
#define PASSED(w, b, i) ((w)->b + (b)->path)
#define PASSED_IN(w, b) ((w)->b + (b)->path_in)
#else
#define PASSED(w, b, i) ((w)->b + (i))
#define PASSED_IN(w, b) ((w)->b + (b)->parent)
#endif

/* Numbers of `real` in all arrays; with memory, sets the pointers too. */
SOAI_INLINE size_t kernel_layout(const view_table *k, kernel_work *w, real *memory) {
    const size_t B = (size_t)k->nb + 1, Q = (size_t)k->nq, V = (size_t)k->nv, D = (size_t)k->nd,
                 N = (size_t)k->nm;
    size_t at = B * (sizeof(body_work) / sizeof(real));
    (void)Q;
    (void)D;
    (void)N;
    if (memory) {
        w->b = (body_work *)(void *)memory;
        w->keeps = 0;
    }
#define SOAI_WORK_PLACE_(name, size)   \
    if (memory) w->name = memory + at; \
    at += size;
    SOAI_WORK_LIST(SOAI_WORK_PLACE_)
#undef SOAI_WORK_PLACE_
    return at;
}

#endif
