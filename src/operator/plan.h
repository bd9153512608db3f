/* plan.h  a plan inside: values, and the operations that make them. */
#ifndef SOAI_PLAN_H
#define SOAI_PLAN_H
#include "machine.h"

enum { MOST_VALUES = 4000 };

typedef struct value {
    int code, space, a, b; /* arguments, -1 none */
    double x, y;
    const soa_expr *leaf; /* OP_INPUT, OP_MATRIX: its data; OP_SOLVE: what is inverted */
    int level;
} value;
typedef struct builder {
    value v[MOST_VALUES];
    int count;
    const char *why;      /* failed */
    const soa_expr *what; /* at this */
} builder;

typedef struct
    solve { /* inv(E) x in tip or base space: E formed by runs of its own plan; or a matrix of the caller's */
    soa_plan *plan;
    double *matrix, *out;
    const double *given, *in; /* given: the caller's, rows x columns */
    const soa_expr *written;  /* what is inverted, as the plan's expression has it */
    double *room;
    int level, turned, rows, columns;
} solve;
struct soa_plan {
    soa_machine *machine;
    builder *values;
    int last, first, sweeps, recursions, articulates, composes;
    soai_op *ops;
    int *start; /* of each sweep in ops; sweeps + 1 */
    double *memory, **slot;
    double *input; /* the unknown vector's slot, where the expression is an operator */
    solve *solves;
    int solve_count;
    int fused;      /* 1 forward dynamics without tip forces, 2 with them: run as one filter and one smoother */
    double *forces; /* then: 6 per body */
};

#endif
