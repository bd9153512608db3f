/* plan.h  internals of a plan: values and the operations that compute them. */
#ifndef SOAI_PLAN_H
#define SOAI_PLAN_H
#include "machine.h"
#include "polynomial.h"

enum { MOST_VALUES = 4000 };

typedef struct value {
    int code, space, a, b; /* arguments, -1 none */
    double x, y;
    const soa_expr *leaf; /* OP_INPUT, OP_MATRIX: its data; OP_SOLVE: the inverted expression */
    int level;            /* the pass over the bodies */
    int sweep;            /* the sweep, as the papers count them */
    int depth; /* of recursions of different operators within the pass, and the last of them */
    int recursion;
} value;
/* The words of a value. */
typedef struct known_value {
    polynomial p;
    int value;
} known_value;
typedef struct builder {
    value v[MOST_VALUES];
    int count;
    alphabet letters;
    known_value *known;
    int known_count, known_room;
    int all;              /* with the values that only steps use (select.c), after the others */
    const char *why;      /* why it failed */
    const soa_expr *what; /* where it failed */
} builder;

/* Done between sweeps, not body by body: dense operations, and sums in spaces that belong to no body. */
static inline int soai_between_sweeps(const value *v) {
    return v->code == OP_SOLVE || v->code == OP_MATRIX || v->code == OP_PSEUDO ||
           (v->code == OP_SUM && v->space >= SOA_SPACE_BASE);
}
typedef struct selection selection; /* select.h */

/* inv(E) x or pinv(E) x in small spaces, with E formed by runs of its own plan; or a caller's matrix
 */
typedef struct solve {
    soa_plan *plan;
    int pseudo, gears;
    double *matrix, *out;
    const double *given, *in; /* given: the caller's, rows x columns */
    const soa_expr *written;  /* the inverted expression as the plan's expression has it */
    double *room;
    int level, turned, rows, columns;
    int value; /* the value that it computes */
    /* A sum: out = x in + y second (NULL: none), `rows` numbers. */
    int sum;
    int compliance; /* the matrix is Omega of the only tip */
    double x, y;
    const double *second;
} solve;
/* A vector of links of the caller, and its place in the frames chosen for the bodies. */
typedef struct link_copy {
    const double *from;
    double *to;
    int motion;
} link_copy;
struct soa_plan {
    soa_machine *machine;
    builder *values;
    int last, first, passes, sweeps, recursions, articulates, composes;
    int *first_sweep; /* of each pass; passes + 1 */
    int derivative;   /* it is linear in the direction */
    soai_op *ops;
    int *start; /* first operation, or step, of each pass; passes + 1 */
    int users;  /* it must run in the user's frames */
    /* On the aligned tables: the steps, and those of a run that finds D and G there.  Without a
     * selection operations in the user's frames. */
    selection *chosen;
    soai_step *steps, *again;
    int *start_again;
    soai_tips tips;    /* in the frames chosen for their bodies */
    double *fext;      /* likewise the wrenches */
    link_copy *copies; /* and vectors of links that the caller gave */
    int copy_count;
    int poses; /* some joint keeps its pose */
    int sub;   /* it forms the matrix of a solve, column by column */
    double *memory, **slot;
    double *input; /* slot of the unknown vector if the expression is an operator */
    solve *solves;
    int solve_count;
    const soa_expr **blocks; /* leaves of OP_BLOCKS and OP_HINGES, computed before a run */
    int block_count;
    int closures; /* the machine's when the plan was made, if it uses such a space; else -1 */
};

/* Runs without copying the result. */
soa_status soai_plan_run_all(soa_plan *p);

/* values.c: the values of an expression, `last` the one that it is (negative, with `why` and `what`,
 * if it cannot be planned); NULL: no memory. */
builder *soai_values_of(const soa_expr *e, int *last);
void soai_values_free(builder *b);
/* The number of a value, a new one if there is none like it; -2 and `why` without success. */
int soai_value_of(builder *b, value v);
/* The value with these words. */
int soai_value_of_polynomial(builder *b, const polynomial *p);
/* The vector V. */
int soai_value_of_velocity(builder *b);
/* The joints' part of the vector a: without E g. */
int soai_value_of_bias(builder *b);

/* Of an operation: 1 inward, -1 outward, 0 any; does it need its own value at neighbouring bodies;
 * does it need P, D or G? */
int soai_op_way(int code);
int soai_op_is_recursion(int code);
int soai_op_uses_P(int code);
/* Is that pass inward, if the first one is (first > 0) or is not? */
int soai_is_inward(int pass, int first);
/* Does the plan have a block operator of that leaf? */
int soai_plan_computes(const soa_plan *p, int leaf);
/* A vector of the machine's data or the caller's. */
static inline int soai_is_data(const value *v) {
    return v->code == OP_INPUT && v->leaf && !soai_is_zero(v->leaf);
}
/* An operator with a block of its own for each body or joint. */
static inline int soai_is_block_op(int code) {
    return code == OP_BLOCKS || code == OP_BLOCKS_T || code == OP_HINGES || code == OP_HINGES_T;
}
/* plan_run.c: places for all values, and the operations or steps in order. */
soa_status soai_plan_lay_out(soa_plan *p);

#endif
