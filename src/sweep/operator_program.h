/* operator_program.h  what a plan hands to the kernels: sweeps of per-body operations on vectors
 *                     ("slots"). */
#ifndef SOAI_PROGRAM_H
#define SOAI_PROGRAM_H

/* code, spaces from -> to, way: in(ward), out(ward) or 0 for any, whether it accumulates into the
 * parent */
#define SOAI_OPS(X)                                                                \
    X(OP_PHI, LINK, LINK, 1)                                                       \
    X(OP_PHI_T, LINK, LINK, -1)                                                    \
    X(OP_PSI, LINK, LINK, 1)                                                       \
    X(OP_PSI_T, LINK, LINK, -1)                                                    \
    X(OP_SHIFT, EDGE, LINK, 1)                                                     \
    X(OP_SHIFT_T, LINK, EDGE, -1)                                                  \
    X(OP_X, LINK, EDGE, 0)                                                         \
    X(OP_X_T, EDGE, LINK, 0)                                                       \
    X(OP_H, LINK, JOINT, 0)                                                        \
    X(OP_H_T, JOINT, LINK, 0)                                                      \
    X(OP_G, JOINT, LINK, 0)                                                        \
    X(OP_G_T, LINK, JOINT, 0)                                                      \
    X(OP_P, LINK, LINK, 0)                                                         \
    X(OP_M, LINK, LINK, 0)                                                         \
    X(OP_MC, LINK, LINK, 0)                                                        \
    X(OP_D, JOINT, JOINT, 0)                                                       \
    X(OP_DINV, JOINT, JOINT, 0)                                                    \
    X(OP_JR, JOINT, JOINT, 0)                                                      \
    X(OP_B, TIP, LINK, 0)                                                          \
    X(OP_B_T, LINK, TIP, 0)                                                        \
    X(OP_E, BASE, LINK, 0)                                                         \
    X(OP_E_T, LINK, BASE, 1)                                                       \
    X(OP_BIAS, LINK, LINK, 0)   /* a from V and thd */                             \
    X(OP_FORCE, LINK, LINK, 0)  /* b from V          */                            \
    X(OP_BLOCKS, LINK, LINK, 0) /* 6 x 6 for each body, in b: 36 numbers a body */ \
    X(OP_BLOCKS_T, LINK, LINK, 0)                                                  \
    X(OP_HINGES, JOINT, JOINT, 0) /* nv x nv for each joint, likewise */           \
    X(OP_HINGES_T, JOINT, JOINT, 0)                                                \
    X(OP_AT, LINK, LINK, 0)          /* keeps body x */                            \
    X(OP_CENTRIPETAL, LINK, LINK, 0) /* [0; omega x v] of V */                     \
    X(OP_CROSS, LINK, LINK, 0)                                                     \
    X(OP_CROSS_FORCE, LINK, LINK, 0)                                               \
    X(OP_HT, LINK, JOINT, 0)                                                       \
    X(OP_HT_T, JOINT, LINK, 0)                                                     \
    X(OP_LINEAR, LINK, LINK, 0)                                                    \
    X(OP_CHANGE_P, JOINT, LINK, 1)                                                 \
    X(OP_CHANGE_MC, JOINT, LINK, 1)                                                \
    X(OP_BC, CONSTRAINT, LINK, 0)                                                  \
    X(OP_BC_T, LINK, CONSTRAINT, 0)
enum {
#define SOAI_OP_CODE_(code, from, to, way) code,
    SOAI_OPS(SOAI_OP_CODE_)
#undef SOAI_OP_CODE_
        OP_SUM, /* out = x a + y b, in any space */
    OP_SOLVE,   /* tip or base space, dense, after a sweep */
    OP_MATRIX,  /* the caller's operator, likewise         */
    OP_PSEUDO,  /* the inverse of least norm, likewise     */
    OP_INPUT
};

typedef struct soai_op {
    int code, space; /* space of the result */
    double x, y;     /* OP_SUM; OP_AT: x is the body */
    /* OP_MC: b holds the composite inertias, 10 per body; OP_BLOCKS, OP_HINGES: 36 per body.
     * OP_CROSS: b x a.  OP_CROSS_FORCE: a x* b, b a force.  OP_CHANGE_P, OP_CHANGE_MC: a is dq, b
     * as of OP_MC, out gets blocks */
    const double *a, *b;
    double *out;
} soai_op;

/* Frames of the tip space: body, and pose in the body.  Rows of constraints: body i has the terms
 * first[i] to first[i + 1] - 1, each a row and its wrench in body axes; first NULL: none. */
typedef struct soai_tips {
    int count;
    int *body;
    double *R, *p;
    int *first, *row;
    double *wrench;
} soai_tips;

#endif
