/* plan.h  internals of a plan: values and the operations that compute them. */
#ifndef SOAI_PLAN_H
#define SOAI_PLAN_H
#include "machine.h"

enum { MOST_VALUES = 4000 };

typedef struct value {
    int code, space, a, b; /* arguments, -1 none */
    double x, y;
    const soa_expr *leaf; /* OP_INPUT, OP_MATRIX: its data; OP_SOLVE: the inverted expression */
    int level;
} value;
typedef struct builder {
    value v[MOST_VALUES];
    int count;
    const char *why;      /* why it failed */
    const soa_expr *what; /* where it failed */
} builder;

/* Done between sweeps, not body by body: dense operations, and sums in spaces that belong to no body. */
static inline int soai_between_sweeps(const value *v) {
    return v->code == OP_SOLVE || v->code == OP_MATRIX || v->code == OP_PSEUDO ||
           (v->code == OP_SUM && v->space >= SOA_SPACE_BASE);
}
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
    double x, y;
    const double *second;
} solve;
struct soa_plan {
    soa_machine *machine;
    builder *values;
    int last, first, sweeps, recursions, articulates, composes;
    int derivative; /* it is linear in the direction */
    soai_op *ops;
    int *start; /* first operation of each sweep; sweeps + 1 */
    double *memory, **slot;
    double *input; /* slot of the unknown vector if the expression is an operator */
    solve *solves;
    int solve_count;
    const soa_expr **blocks; /* leaves of OP_BLOCKS and OP_HINGES, computed before a run */
    int block_count;
    int closures; /* the machine's when the plan was made, if it uses such a space; else -1 */
    /* Forward dynamics as one filter and one smoother: 1 without tip forces, 2 with them. */
    int fused;
    double *forces; /* used if fused: 6 per body */
};

/* Runs without copying the result. */
soa_status soai_plan_run_all(soa_plan *p);

#endif
