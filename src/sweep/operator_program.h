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
    OP_INPUT,
    OP_PLACE,      /* what only steps of a pair use (select.c) */
    OP_POSE,       /* R, p, H* from q, in a */
    OP_ARTICULATE, /* P, D, G */
    OP_COMPOSE     /* composite inertias, to out */
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

/* Steps of operator_steps.h: what a plan on the aligned tables is made of. */
enum {
    STEP_RNE,
    STEP_SPIN,
    STEP_MOTION,
    STEP_GATHER,
    STEP_ARTICULATE,
    STEP_ARTICULATE_FILTER,
    STEP_FILTER_BIAS,
    STEP_FILTER,
    STEP_SMOOTH,
    STEP_SMOOTH_BIAS,
    STEP_SPATIAL,
    STEP_COSTATE,
    STEP_PSI_T,
    STEP_BIAS,
    STEP_FORCE,
    STEP_INERTIA,
    STEP_P,
    STEP_H,
    STEP_H_T,
    STEP_G,
    STEP_G_T,
    STEP_D,
    STEP_DINV,
    STEP_JR,
    STEP_X,
    STEP_X_T,
    STEP_S,
    STEP_S_T,
    STEP_B,
    STEP_B_T,
    STEP_SUM_JOINT,
    STEP_SUM_LINK,
    STEP_SUM_TIP,
    STEP_SOLVE /* between passes: a dense solve or the caller's operator */
};
typedef struct soai_step {
    int code;
    int keep;            /* GATHER, FILTER: the result itself is read later */
    int stride;          /* from one row of `out` to the next: 6, or in the work of the bodies */
    double x, y;         /* sums: x a + y b */
    const double *a, *b; /* arguments, operator_steps.h says which; NULL: zero */
    const double *tips;  /* GATHER, FILTER: forces at the tips, added times y; NULL: none */
    double *out; /* the result; also where sums from children are gathered, and a, if in it */
    double *out2, *out3; /* e and D^-1 e, or the accelerations of the joints; NULL: not needed */
} soai_step;
struct soai_tips;
typedef struct soai_step_data {
    const double *q; /* NULL: the poses are known */
    const double *thd;
    const double *fext; /* a wrench for each body, from the first on, or NULL */
    const double *zero; /* as many zeros as there are joint entries */
    const struct soai_tips *tips;
    int poses; /* some joint keeps its pose in the work space */
    int keeps; /* P, D, U, G are read by later steps or runs */
} soai_step_data;

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
