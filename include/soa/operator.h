/* soa/operator.h  the spatial operator algebra: write an expression, run it as O(n) sweeps or form
 *                 it as a matrix.
 *
 *   soa_expr_parse("(I - H psi K)' inv(D) (I - H psi K) (T - H phi (M phi' a + b + B f0))", ...)
 *
 * An expression maps one space to another; a vector is an expression that starts from
 * SOA_SPACE_ONE.  Spaces are checked when it is built.  Names, definitions and equation numbers:
 * docs/operators.md.  Expressions are immutable and share their parts, which are counted without
 * locks: one thread at a time.  Building, planning and rewriting allocate, running a plan does not.
 * message, room: where a sentence for people goes on a failure, cut to room bytes; NULL or room 0:
 * not wanted.  Empty on success and where the status says all.
 * Machines: trees and forests with any joints, fixed or floating.  Rotor inertia in the reflected
 * form is part of D and Mass; exact rotors and mimic joints are refused (open the model ideal). */
#ifndef SOA_OPERATOR_H
#define SOA_OPERATOR_H

#include "soa/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_space {
    SOA_SPACE_ONE,   /* a single number: where vectors start                    */
    SOA_SPACE_JOINT, /* nv                                                      */
    SOA_SPACE_LINK,  /* 6 per body, in the body's frame                         */
    SOA_SPACE_EDGE,  /* 6 per body, in its parent's frame                       */
    SOA_SPACE_TIP,   /* 6 per named frame, in that frame                        */
    SOA_SPACE_BASE,  /* 6, the world                                            */
    SOA_SPACE_COUNT
} soa_space;
SOA_API const char *soa_space_name(soa_space space);

/* Which way information runs: along the tree to the base (causal), from it (anticausal), not at
 * all, or both. */
typedef enum soa_causality { SOA_MEMORYLESS, SOA_CAUSAL, SOA_ANTICAUSAL, SOA_MIXED } soa_causality;

/* ---- expressions ----------------------------------------------------------------------------- */
typedef struct soa_expr soa_expr;

/* A vector of the caller's, by name; or, with `from` tip or base, an operator: a matrix between
 * these two spaces. */
typedef struct soa_variable {
    const char *name;
    soa_space space;
    soa_space from; /* 0, SOA_SPACE_ONE: a vector */
} soa_variable;

/* From text.  A mistake (SOA_E_FORMAT) is reported with a line that shows the text and one with a
 * caret under the place. variables NULL with 0: none.  Release with soa_expr_free. */
SOA_API soa_status soa_expr_parse(const char *text, const soa_variable *variables,
                                  int variable_count, const soa_expr **expr, char *message,
                                  size_t room);
/* Both sides of "LEFT = RIGHT", without variables; release both. */
SOA_API soa_status soa_expr_parse_equation(const char *text, const soa_expr **left,
                                           const soa_expr **right, char *message, size_t room);
/* By calls: each returns a new expression (release it) or NULL when an argument is NULL, a name is
 * unknown or longer than 31 letters, spaces do not match or memory is short.  Arguments stay the
 * caller's and may be released at once. */
SOA_API const soa_expr *soa_expr_leaf(const char *name);
SOA_API const soa_expr *soa_expr_variable(const char *name, soa_space space);
/* tip or base each */
SOA_API const soa_expr *soa_expr_operator(const char *name, soa_space from, soa_space to);
SOA_API const soa_expr *soa_expr_identity(soa_space space);
SOA_API const soa_expr *soa_expr_sum(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_difference(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_product(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_scale(double factor, const soa_expr *a);
SOA_API const soa_expr *soa_expr_adjoint(const soa_expr *a);
SOA_API const soa_expr *soa_expr_inverse(const soa_expr *a);
SOA_API void soa_expr_free(const soa_expr *expr);
/* The space it maps from (SOA_SPACE_ONE: it is a vector) and to. */
SOA_API soa_space soa_expr_domain(const soa_expr *expr);
SOA_API soa_space soa_expr_codomain(const soa_expr *expr);
SOA_API soa_causality soa_expr_causality(const soa_expr *expr);
/* As text that parses to the same expression; returns the length without the final zero, which may
 * be more than fits in room bytes (as snprintf does). */
SOA_API size_t soa_expr_print(const soa_expr *expr, char *text, size_t room);
/* Looking inside, for those who draw or print: what kind of node it is, and its parts (the
 * expression's own). */
typedef enum soa_expr_kind {
    SOA_EXPR_LEAF,
    SOA_EXPR_SUM,
    SOA_EXPR_PRODUCT,
    SOA_EXPR_SCALE,
    SOA_EXPR_ADJOINT,
    SOA_EXPR_INVERSE
} soa_expr_kind;
typedef struct soa_expr_info {
    soa_expr_kind kind;
    int count;              /* parts: none of a leaf, one of a multiple, an adjoint, an inverse */
    double factor;          /* of a multiple                                                     */
    const char *name;       /* of a leaf; else NULL                                              */
    const char *what;       /* of a leaf of the algebra: its meaning; NULL: the caller's         */
    const char *definition; /* of a leaf: in terms of others; NULL: primitive                    */
} soa_expr_info;
SOA_API soa_status soa_expr_get_info(const soa_expr *expr, soa_expr_info *info);
/* not to be released; NULL past the end */
SOA_API const soa_expr *soa_expr_part(const soa_expr *expr, int index);
/* Names of all leaves, NULL past the end, with what they are. */
SOA_API const char *soa_expr_leaf_name(int index, const char **what);

/* The papers' algorithms by name: FD1 FD2 FD3 FD4 ID ...; names, texts and sources by number, NULL
 * past the end. */
SOA_API const char *soa_expr_form_name(int index, const char **text, const char **what);
/* Release expr.  SOA_E_NAME: there is no such form. */
SOA_API soa_status soa_expr_from_form(const char *name, const soa_expr **expr);

/* ---- rewriting ------------------------------------------------------------------------------- */
typedef void soa_derivation_fn(void *user, const char *rule, const char *result);

/* An equivalent expression whose plan costs least, found by trying at most `bound` forms (0:
 * 2,000); `fn` (may be NULL) sees the start, then each form on the way with the rule that led to
 * it.  Release better. */
SOA_API soa_status soa_expr_improve(const soa_expr *expr, int bound, soa_derivation_fn *fn,
                                    void *user, const soa_expr **better);
/* Proves left = right by rewriting (ideal machines): SOA_OK proved, SOA_E_NO_CONVERGENCE not
 * settled, SOA_E_ARGUMENT spaces that differ. */
SOA_API soa_status soa_expr_prove(const soa_expr *left, const soa_expr *right,
                                  soa_derivation_fn *fn, void *user);

/* ---- running --------------------------------------------------------------------------------- */
typedef struct soa_machine soa_machine; /* a model, the frames of its tips, a state */
/* Starts at the neutral q with everything else zero.  tips NULL with 0: none.  The model must
 * outlive it; one thread at a time uses it and its plans.  Allocates.  SOA_E_NAME: a tip that is no
 * frame or does not move; SOA_E_JOINT, SOA_E_MIMIC: an exact rotor, a mimic joint. */
SOA_API soa_status soa_machine_create(const soa_model *model, const int *tips, int tip_count,
                                      soa_machine **machine, soa_report *report);
SOA_API void soa_machine_free(soa_machine *machine);
/* numbers in a vector of that space */
SOA_API int soa_machine_space_size(const soa_machine *machine, soa_space space);
/* q (NULL: neutral) and the vectors; any may be NULL for zero.  f0: 6 per tip, on the environment
 * (RK88's sign); wrenches act on the machine and are part of b.  Later calls see this state. */
SOA_API soa_status soa_machine_set_state(soa_machine *machine, const double *q, const double *v,
                                         const double *a, const double *tau, const double *f0,
                                         const soa_wrench *wrenches, int wrench_count);
/* A vector of the caller's, of soa_machine_space_size numbers; copied.  At most 32 vectors and
 * operators of the caller's (SOA_E_MEMORY), names of at most 31 letters.  Allocates at first, then
 * plans made before see the new numbers. */
SOA_API soa_status soa_machine_set_vector(soa_machine *machine, const char *name, soa_space space,
                                          const double *value);
/* An operator of the caller's between the tips and the base (either way, or within one of them),
 * size(to) x size(from) row by row: which tips close a loop, how a load is shared.  Plans made
 * before see the new numbers. */
SOA_API soa_status soa_machine_set_matrix(soa_machine *machine, const char *name, soa_space from,
                                          soa_space to, const double *matrix);

/* A vector expression planned into sweeps.  The machine must outlive the plan; the expression need
 * not.  SOA_E_ARGUMENT: no vector, or no O(n) form is known; SOA_E_NAME: a vector or operator of
 * the caller's was not set. */
typedef struct soa_plan soa_plan;
SOA_API soa_status soa_plan_create(soa_machine *machine, const soa_expr *expr, soa_plan **plan,
                                   char *message, size_t room);
SOA_API void soa_plan_free(soa_plan *plan);
/* Runs at the machine's state.  result: soa_machine_space_size of the space that the expression
 * maps to.  O(n) per factor; no allocation.  SOA_E_HINGE_SINGULAR: D has no inverse;
 * SOA_E_SINGULAR: nor has a matrix to be solved with (its estimated condition is above 1e13);
 * soa_machine_failure says which. */
SOA_API soa_status soa_plan_run(soa_plan *plan, double *result);
/* Why the last soa_plan_run or soa_machine_dense_matrix with this machine failed: which inverse,
 * its estimated condition; which joint.  Empty: it did not, or the status says all.  Valid until
 * the next run. */
SOA_API const char *soa_machine_failure(const soa_machine *machine);
/* The largest condition number |A| |A^-1| (1-norm) of the matrices that the last run inverted,
 * those of D and of factors with a known inverse aside; 1: none. */
SOA_API double soa_machine_condition(const soa_machine *machine);
SOA_API int soa_plan_sweep_count(const soa_plan *plan);
SOA_API int soa_plan_recursion_count(const soa_plan *plan);
/* The sweeps as recursions, as the papers print them; returns the length as soa_expr_print does. */
SOA_API size_t soa_plan_explain(const soa_plan *plan, char *text, size_t room);
/* The same one line at a time, in order. */
typedef struct soa_plan_step {
    int sweep;         /* from 1; 0 before the first; -2 the recursion of P, D and G, -1 that of Mc,
                        * which come first */
    soa_causality way; /* of its loop: causal tips to base, anticausal base to tips; memoryless: no
                        * loop, dense */
    soa_causality runs; /* the step itself: along the tree one way or the other, or at each body */
    soa_space space;    /* of the value it makes */
    bool recursion;     /* true: needs its own value at the neighbours */
    const char *factor; /* the operator applied, as in expressions; "+" a sum or multiple */
    char left[48];      /* "z2(k)" */
    char right[200];    /* "z1(k) + sum psi(k,c) z2(c)"; a remark may follow after spaces */
} soa_plan_step;
typedef void soa_plan_step_fn(void *user, const soa_plan_step *step);
SOA_API void soa_plan_visit_steps(const soa_plan *plan, soa_plan_step_fn *fn, void *user);

/* ---- a vector expression as scalar operations for one model ---------------------------------- */
/* Every product and sum that is left when known zeros and constants have been removed and equal
 * results are computed once; changes of sign are not counted.  Not for plans with a dense solve, or
 * with vectors or operators of the caller's. */
typedef struct soa_scalar_graph soa_scalar_graph;
typedef struct soa_scalar_graph_options {
    soa_axes axes;  /* SOA_AXES_BODY: each body's own.  SOA_AXES_WORLD: those of the world at each
                    * body's origin; links' constants are turned once, and nothing in the
                    * recursions */
    bool by_matrix; /* inv(Mass) x by forming the mass matrix (composite inertias, R87 (32)),
                    * factoring and solving */
    bool generic;   /* lengths, masses, inertias of the model that happen to be 1 count as any
                  * number */
} soa_scalar_graph_options;
/* options may be NULL: body axes, as planned.  The machine must outlive the graph; what it is made
 * of is its model and tips, not its state.  Status as soa_plan_create, SOA_E_HINGE_SINGULAR too. */
SOA_API soa_status soa_scalar_graph_create(soa_machine *machine, const soa_expr *expr,
                                           const soa_scalar_graph_options *options,
                                           soa_scalar_graph **graph, char *message, size_t room);
SOA_API void soa_scalar_graph_free(soa_scalar_graph *graph);
typedef struct soa_count {
    long additions, multiplications, divisions, sines; /* subtractions are additions; sines and
                                                        * cosines together */
} soa_count;
/* Operations of a body (0: all) in one part of the work (-1: all). */
SOA_API soa_status soa_scalar_graph_operations(const soa_scalar_graph *graph, int body, int part,
                                               soa_count *count);
/* Names of the parts (rows of R87's Tables II and III among them), NULL past the end. */
SOA_API const char *soa_scalar_graph_part_name(int part, const char **what);
/* The same operations as a C function void name(q, thd, thdd, T, f0, result); free() the text,
 * `length` bytes and a zero. External wrenches are none. */
SOA_API soa_status soa_scalar_graph_emit_c(const soa_scalar_graph *graph, const char *name,
                                           char **text, size_t *length);

/* The matrix of any expression, rows x columns = sizes of its spaces, row by row: built from
 * definitions with dense arithmetic alone, the oracle of the plans, at the machine's state.
 * O(n^3); allocates.  SOA_E_HINGE_SINGULAR: D has no inverse; SOA_E_SINGULAR: another inverse does
 * not exist (estimated condition above 1e13); soa_machine_failure says which.  SOA_E_NAME: a vector
 * or operator of the caller's was not set. */
SOA_API soa_status soa_machine_dense_matrix(soa_machine *machine, const soa_expr *expr,
                                            double *matrix);

#ifdef __cplusplus
}
#endif
#endif
