/* soa/operator.h  the spatial operator algebra: write an expression, run it as O(n) sweeps, or
 *                 form it as a matrix.
 *
 *   soa_expr_parse("(I - H psi K)' inv(D) (I - H psi K) (T - H phi (M phi' a + b + B f0))", ...)
 *
 * An expression maps one space to another; a vector is an expression that maps from SOA_SPACE_ONE.
 * Spaces are checked when the expression is built.  Names, definitions and equation numbers:
 * docs/operators.md.  Expressions are immutable and share parts, which have reference counts
 * without locks; so only one thread at a time may use expressions that share parts.  Building,
 * planning and rewriting allocate; running a plan does not.
 * message, room: on failure a text for people is written to message, at most `room` bytes; NULL
 * with room 0: not wanted.  It is empty on success, and if the status says everything.
 * Machines: trees and forests with any joints, fixed or floating.  Reflected rotor inertia is part
 * of D and Mass.  With mimic joints, joint space is that of the tree with all its joints free:
 * states are the caller's, primary space too, and Eq is the map Gamma between them, so that
 * Eq' Mass Eq is the mass matrix of soa_crba.  Exact rotors are refused (open the model with
 * `ideal`). */
#ifndef SOA_OPERATOR_H
#define SOA_OPERATOR_H

#include "soa/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_space {
    SOA_SPACE_ONE,   /* a single number; vectors map from it */
    SOA_SPACE_JOINT, /* nv */
    SOA_SPACE_LINK,  /* 6 per body, in the body's frame */
    SOA_SPACE_EDGE,  /* 6 per body, in its parent's frame */
    SOA_SPACE_TIP,   /* 6 per named frame, in that frame */
    SOA_SPACE_BASE,  /* 6, the world */
    /* of closed chains (soa_machine_set_constraints and the functions after it); 0 until then */
    SOA_SPACE_CONSTRAINT, /* one per equation of the constraints or contacts */
    SOA_SPACE_OBJECT,     /* 6 per held object, in the axes of its frame C */
    SOA_SPACE_PRIMARY,    /* one per primary coordinate of WD89's embedding */
    SOA_SPACE_COUNT
} soa_space;
SOA_API const char *soa_space_name(soa_space space);

/* The direction in which information moves along the tree: to the base (causal), from the base
 * (anticausal), not at all (memoryless), or both ways (mixed). */
typedef enum soa_causality { SOA_MEMORYLESS, SOA_CAUSAL, SOA_ANTICAUSAL, SOA_MIXED } soa_causality;

/* ---- expressions ----------------------------------------------------------------------------- */
typedef struct soa_expr soa_expr;

/* A vector or an operator of the caller, by name. */
typedef struct soa_variable {
    const char *name;
    soa_space space;
    soa_space from; /* 0, SOA_SPACE_ONE: a vector; else an operator from there to `space` */
    /* of an operator from joint, link or edge to the same space: one block for each body, so that
     * it is memoryless and costs O(n) */
    bool blocks;
} soa_variable;

/* Makes an expression from text: names of the leaves, of the caller's letters and of the forms below
 * (FD1), Greek letters too; adjoint ' ^T or a star that touches the factor before it only; inverse
 * inv(A) or A^-1; blank or * between factors.  After a mistake (SOA_E_FORMAT), the message shows the text, and a
 * caret in the next line marks the place.  variables NULL with 0: none; letters may be declared in the
 * text too: "x: joint, A: tip>base; A J x".  Release with soa_expr_free. */
SOA_API soa_status soa_expr_parse(const char *text, const soa_variable *variables,
                                  int variable_count, const soa_expr **expr, char *message,
                                  size_t room);
/* Both sides of "LEFT = RIGHT"; release both. */
SOA_API soa_status soa_expr_parse_equation(const char *text, const soa_variable *variables,
                                           int variable_count, const soa_expr **left,
                                           const soa_expr **right, char *message, size_t room);
/* Makes an expression by function calls.  Each returns a new expression (release it), or NULL: an
 * argument is NULL, a name is unknown or longer than 31 bytes, spaces do not match, or there is no
 * memory.  Arguments remain with the caller and may be released at once. */
SOA_API const soa_expr *soa_expr_leaf(const char *name);
SOA_API const soa_expr *soa_expr_variable(const char *name, soa_space space);
SOA_API const soa_expr *soa_expr_operator(const char *name, soa_space from, soa_space to);
/* An operator of the caller with one block for each body; space: joint, link or edge. */
SOA_API const soa_expr *soa_expr_blocks(const char *name, soa_space space);
/* at(link): keeps the six numbers of one link and makes all others zero.  So at(i) phi at(j), also
 * written phi(i, j), is the block phi(i, j).  The machine must have a moving link of that name, of
 * at most 63 bytes. */
SOA_API const soa_expr *soa_expr_at(const char *link);
SOA_API const soa_expr *soa_expr_zero(soa_space from, soa_space to);
SOA_API const soa_expr *soa_expr_identity(soa_space space);
SOA_API const soa_expr *soa_expr_sum(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_difference(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_product(const soa_expr *a, const soa_expr *b);
SOA_API const soa_expr *soa_expr_scale(double factor, const soa_expr *a);
SOA_API const soa_expr *soa_expr_adjoint(const soa_expr *a);
SOA_API const soa_expr *soa_expr_inverse(const soa_expr *a);
/* pinv(a): the inverse of least norm (Moore and Penrose), of any a.  Singular values below 1e-10 of
 * the largest count as zero; soa_machine_rank tells how many are left. */
SOA_API const soa_expr *soa_expr_pseudoinverse(const soa_expr *a);
/* Of a link vector x or f, body by body: cross(x) y = x x y of motions; bar(f) y = y x* f, the
 * change of a force f that turns with y.  cross(x)' f = -x x* f, bar(f)' = -bar(f). */
SOA_API const soa_expr *soa_expr_cross(const soa_expr *x);
SOA_API const soa_expr *soa_expr_bar(const soa_expr *f);
SOA_API void soa_expr_free(const soa_expr *expr);
/* The space that it maps from (SOA_SPACE_ONE: it is a vector), and the space that it maps to. */
SOA_API soa_space soa_expr_domain(const soa_expr *expr);
SOA_API soa_space soa_expr_codomain(const soa_expr *expr);
SOA_API soa_causality soa_expr_causality(const soa_expr *expr);
/* As text that parses to the same expression.  Returns the length without the final zero, which may
 * be larger than `room` (as snprintf does). */
SOA_API size_t soa_expr_print(const soa_expr *expr, char *text, size_t room);
/* For drawing and printing: the kind of the top node, and its parts, which belong to the
 * expression. */
typedef enum soa_expr_kind {
    SOA_EXPR_LEAF,
    SOA_EXPR_SUM,
    SOA_EXPR_PRODUCT,
    SOA_EXPR_SCALE,
    SOA_EXPR_ADJOINT,
    SOA_EXPR_INVERSE,
    SOA_EXPR_PSEUDOINVERSE,
    SOA_EXPR_CROSS,
    SOA_EXPR_BAR
} soa_expr_kind;
typedef struct soa_expr_info {
    soa_expr_kind kind;
    /* Number of parts: a leaf has none; a multiple, an adjoint and inverses have one */
    int count;
    double factor;          /* of a multiple */
    const char *name;       /* of a leaf; else NULL */
    const char *what;       /* the meaning of a leaf of the algebra; NULL: a leaf of the caller */
    const char *definition; /* of a leaf, in terms of others; NULL: primitive */
    bool blocks;            /* of an operator of the caller: one block for each body */
} soa_expr_info;
SOA_API soa_status soa_expr_get_info(const soa_expr *expr, soa_expr_info *info);
/* Not to be released; NULL past the end. */
SOA_API const soa_expr *soa_expr_part(const soa_expr *expr, int index);
/* The names of all leaves with their meaning; NULL past the end. */
SOA_API const char *soa_expr_leaf_name(int index, const char **what);

/* The algorithms of the papers by name: FD1 FD2 FD3 FD4 ID ...  Names, texts and sources by number;
 * NULL past the end. */
SOA_API const char *soa_expr_form_name(int index, const char **text, const char **what);
/* Release expr.  SOA_E_NAME: there is no such form. */
SOA_API soa_status soa_expr_from_form(const char *name, const soa_expr **expr);

/* The identities of the papers by name, "RK88-I (a.35)", as texts "LEFT = RIGHT"; NULL past the
 * end. */
SOA_API const char *soa_expr_identity_name(int index, const char **text);
/* The index of that name, or of the first name that holds all words of `name`: "a.35", "RJK91 (16)".
 * -1: there is none. */
SOA_API int soa_expr_find_identity(const char *name);

/* ---- rewriting ------------------------------------------------------------------------------- */
typedef void soa_derivation_fn(void *user, const char *rule, const char *result);

/* An equivalent expression whose plan costs least among at most `bound` forms that are tried (0:
 * 2,000).  `fn` (may be NULL) is called for the start and for each form on the way, with the rule
 * that led to it.  Release `better`. */
SOA_API soa_status soa_expr_improve(const soa_expr *expr, int bound, soa_derivation_fn *fn,
                                    void *user, const soa_expr **better);
/* The rules of the rewriter: name and both sides; `ideal`: it holds for machines without rotors only.
 * NULL past the end.  Each is proved in the tests, and its adjoint is used, too. */
SOA_API const char *soa_expr_rule_name(int index, const char **left, const char **right,
                                       bool *ideal);
/* Derives `to` from `from`, step by step: `fn` (may be NULL) is called for `from` and for each form
 * on the way, the last of which is `to` (up to the order of its terms), with the rule that led to
 * it.  At most `bound` forms are tried from each end (0: 4,000).  For ideal machines.
 * SOA_E_NO_CONVERGENCE: no way was found; soa_expr_prove may still know whether they are equal.
 * SOA_E_ARGUMENT: the spaces differ. */
SOA_API soa_status soa_expr_derive(const soa_expr *from, const soa_expr *to, int bound,
                                   soa_derivation_fn *fn, void *user);
/* Proves left = right by rewriting, for ideal machines.  Letters of the caller, vectors and inverses
 * without a known form are opaque.  SOA_OK: proved.  SOA_E_NO_CONVERGENCE:
 * undecided.  SOA_E_ARGUMENT: the spaces differ. */
SOA_API soa_status soa_expr_prove(const soa_expr *left, const soa_expr *right,
                                  soa_derivation_fn *fn, void *user);

/* ---- derivatives ----------------------------------------------------------------------------- */
/* The derivative in the direction dq, dthd, dthdd, dT, df0 (soa_machine_set_direction), as an
 * expression of the same spaces; d(...) in the text of expressions is the same.  `fn` (may be NULL)
 * is called for each rule that is used.  Vectors and operators of the caller, g, M, S, B, Jr are
 * constants; f0 is given in the axes of its tip.  SOA_E_ARGUMENT: the expression contains a
 * derivative or a direction already (second derivatives are not supported), or Delta, Sigma,
 * sqrt(D) and other leaves that have no rule; or it has more than 300 nodes; or the space of an
 * identity is open.  pinv is differentiated at constant rank.  Release `derivative`. */
SOA_API soa_status soa_expr_differentiate(const soa_expr *expr, soa_derivation_fn *fn, void *user,
                                          const soa_expr **derivative);
/* The argument of the state. */
typedef enum soa_direction {
    SOA_DIRECTION_Q,
    SOA_DIRECTION_V,
    SOA_DIRECTION_A,
    SOA_DIRECTION_TAU,
    SOA_DIRECTION_F0,
    SOA_DIRECTION_COUNT
} soa_direction;
/* The Jacobian of a vector expression with respect to one argument of the state, as an operator from
 * joint space (f0: tip space): d(vector) = operator dq for every dq.  SOA_E_ARGUMENT as
 * soa_expr_differentiate; SOA_E_NO_CONVERGENCE: not an operator expression, since dP or dMc occurs
 * (P, D, G, K, psi, Mc in the expression): use soa_plan_jacobian.  Release `jacobian`. */
SOA_API soa_status soa_expr_jacobian(const soa_expr *expr, soa_direction with,
                                     const soa_expr **jacobian);

/* ---- running --------------------------------------------------------------------------------- */
typedef struct soa_machine soa_machine; /* a model, the frames of its tips, a state */
/* Starts at the neutral q with everything else zero.  tips NULL with 0: none.  The model must
 * outlive the machine.  One thread at a time uses it and its plans.  Allocates.  SOA_E_NAME: a tip
 * is not a frame, or does not move.  SOA_E_JOINT: an exact rotor. */
SOA_API soa_status soa_machine_create(const soa_model *model, const int *tips, int tip_count,
                                      soa_machine **machine, soa_report *report);
SOA_API void soa_machine_free(soa_machine *machine);
/* Length of a vector of that space. */
SOA_API int soa_machine_space_size(const soa_machine *machine, soa_space space);
/* Sets the state for later calls: q (NULL: neutral) and the vectors (NULL: zero).  f0: 6 per tip,
 * on the environment (the sign of RK88).  Wrenches act on the machine and are part of b. */
SOA_API soa_status soa_machine_set_state(soa_machine *machine, const double *q, const double *v,
                                         const double *a, const double *tau, const double *f0,
                                         const soa_wrench *wrenches, int wrench_count);
/* Sets the direction of derivatives, d(...): changes of q in the tangent space, as soa_q_integrate
 * takes them, of v, a, tau, and of f0 (NULL: zero).  It is zero at first, and calls of
 * soa_machine_set_state do not change it. */
SOA_API soa_status soa_machine_set_direction(soa_machine *machine, const double *dq,
                                             const double *dv, const double *da, const double *dtau,
                                             const double *df0);
/* Sets a vector of the caller, soa_machine_space_size numbers, which are copied.  At most 32
 * vectors and operators of the caller (SOA_E_MEMORY), with names of at most 31 bytes.  Allocates
 * the first time; later calls change the numbers, also for plans made before. */
SOA_API soa_status soa_machine_set_vector(soa_machine *machine, const char *name, soa_space space,
                                          const double *value);
/* Sets an operator of the caller, size(to) x size(from), row by row: which tips close a loop, how a
 * load is shared.  It is applied as a matrix between sweeps, O(size(to) size(from)).  Plans made
 * before use the new numbers. */
SOA_API soa_status soa_machine_set_matrix(soa_machine *machine, const char *name, soa_space from,
                                          soa_space to, const double *matrix);

/* Sets an operator of the caller that has one block for each body, from a space to itself: joint
 * (nv x nv of each joint, one after the other), link or edge (6 x 6 of each body), row by row. */
SOA_API soa_status soa_machine_set_blocks(soa_machine *machine, const char *name, soa_space space,
                                          const double *blocks);
/* Number of numbers that soa_machine_set_blocks takes; 0: that space has no blocks. */
SOA_API size_t soa_machine_blocks_size(const soa_machine *machine, soa_space space);

/* --- closed chains: numbers for the leaves Bc Rc gammac, Ao Mo bo Tc gammao, Eq ed --------------
 * They belong to a state and are copied; soa_machine_set_state does not change them.  They are
 * filled from the constraints of a model by soa_constraints_close_machine, from a grasp by
 * soa_grasp_close_machine, from an embedding by soa_embedding_close_machine.  Plans that use them
 * give SOA_E_ORDER after the size of such a space has changed. */

/* What a unit multiplier of one row does to one link. */
typedef struct soa_row_wrench {
    int row;
    int frame;        /* of the model; on a frame that does not move it does nothing */
    double wrench[6]; /* [n; f] in the frame's axes, at its origin */
} soa_row_wrench;
/* Gc thdd + gammac = 0, Gc = Bc' phi' H' + Rc'; the forces act as + Gc' lambda on the joints.
 * joint_rows (rows x nv): coefficients of the joint rates themselves, as of gears; gamma (rows);
 * both may be NULL: zero. */
SOA_API soa_status soa_machine_set_constraints(soa_machine *machine, int rows,
                                               const soa_row_wrench *wrenches, int wrench_count,
                                               const double *joint_rows, const double *gamma);
/* Objects that the tips hold, RK88-II: A (6 tips x 6 objects), their motion seen at the tips, in
 * the tips' axes; M (6 objects x 6 objects); b (6 objects).  selection (6 tips x rows of
 * soa_machine_set_constraints): the force of each row on the objects, at the tips; gamma (rows):
 * what is left of the contacts' second rate.  selection and gamma may be NULL. */
SOA_API soa_status soa_machine_set_objects(soa_machine *machine, int objects, const double *A,
                                           const double *M, const double *b,
                                           const double *selection, const double *gamma);
/* Primary coordinates, WD89: E (nv x count); rest (nv): joint accelerations for Qdd = 0; NULL:
 * zero. */
SOA_API soa_status soa_machine_set_primary(soa_machine *machine, int count, const double *E,
                                           const double *rest);

/* A vector expression, planned as sweeps.  The machine must outlive the plan; the expression need
 * not.  SOA_E_ARGUMENT: it is not a vector, or no O(n) form is known.  SOA_E_NAME: a vector or
 * operator of the caller was not set. */
typedef struct soa_plan soa_plan;
SOA_API soa_status soa_plan_create(soa_machine *machine, const soa_expr *expr, soa_plan **plan,
                                   char *message, size_t room);
SOA_API void soa_plan_free(soa_plan *plan);
/* Runs at the state of the machine.  result: soa_machine_space_size numbers of the space that the
 * expression maps to.  O(n) per factor; no allocation.  SOA_E_HINGE_SINGULAR: D has no inverse.
 * SOA_E_SINGULAR: another matrix has none (its estimated condition number is above 1e13).
 * soa_machine_failure says which. */
SOA_API soa_status soa_plan_run(soa_plan *plan, double *result);
/* Why the last soa_plan_run or soa_machine_dense_matrix with this machine failed: which inverse,
 * its estimated condition number, which joint.  Empty: it did not fail, or the status says
 * everything.  Valid until the next run. */
SOA_API const char *soa_machine_failure(const soa_machine *machine);
/* The largest condition number |A| |A^-1| (1-norm) of the matrices that the last run inverted,
 * except D and factors with a known inverse; 1: there were none. */
SOA_API double soa_machine_condition(const soa_machine *machine);
/* The lowest rank of the matrices of which the last run took the inverse of least norm; -1: there
 * were none. */
SOA_API int soa_machine_rank(const soa_machine *machine);
/* The Jacobian with respect to one argument of the state, rows x columns, row by row, of the plan of
 * d(vector): the plan is run once for each unit direction, O(n) per column.  Columns: the
 * size of joint space, for f0 of tip space.  The direction of the machine is zero afterwards.  SOA_E_ARGUMENT: it is the
 * plan of another vector. */
SOA_API soa_status soa_plan_jacobian(soa_plan *plan, soa_direction with, double *matrix);
/* Sweeps as the papers count them: recursions of one operator in one direction are one.  A pass
 * over the bodies may do several that go the same way. */
SOA_API int soa_plan_sweep_count(const soa_plan *plan);
SOA_API int soa_plan_pass_count(const soa_plan *plan);
SOA_API int soa_plan_recursion_count(const soa_plan *plan); /* those within the sweeps */
/* The sweeps as recursions, as the papers print them.  Returns the length as soa_expr_print
 * does. */
SOA_API size_t soa_plan_explain(const soa_plan *plan, char *text, size_t room);
/* The same, one line at a time, in order. */
typedef struct soa_plan_step {
    /* From 1; 0: before the first.  The recursions of P, D, G and of Mc belong to the inward sweep
     * that needs them.  With Delta, roots of D, derivatives or blocks they come before all sweeps:
     * -2 that of P, D, G, -1 that of Mc, -3 that of Delta and the roots of D */
    int sweep;
    /* Of its loop: causal from tips to base, anticausal from base to tips; memoryless: no loop,
     * dense */
    soa_causality way;
    soa_causality runs; /* of the step: along the tree one way or the other, or at each body */
    soa_space space;    /* of the value that it computes */
    bool recursion;     /* true: needs its own value at neighbouring bodies */
    /* The operator that is applied, as in expressions; "+" a sum or multiple */
    const char *factor;
    char left[48];   /* "z2(k)" */
    char right[200]; /* "z1(k) + sum psi(k,c) z2(c)"; a remark may follow after spaces */
} soa_plan_step;
typedef void soa_plan_step_fn(void *user, const soa_plan_step *step);
SOA_API void soa_plan_visit_steps(const soa_plan *plan, soa_plan_step_fn *fn, void *user);

/* ---- a vector expression as scalar operations for one model ---------------------------------- */
/* All products and sums that remain when known zeros and constants are removed and equal results
 * are computed once.  Changes of sign are not counted.  Solves in small spaces are by elimination
 * without a choice of pivots, as suits symmetric positive definite matrices (J inv(Mass) J').  Not
 * for plans with an inverse of least norm. */
typedef struct soa_scalar_graph soa_scalar_graph;
typedef struct soa_scalar_graph_options {
    /* BODY: the axes of each body.  WORLD: world axes at the origin of each body; constants of
     * the links are rotated once, and nothing is rotated in the recursions. */
    soa_axes axes;
    /* inv(Mass) x by forming the mass matrix (composite inertias, R87 (32)), factoring and
     * solving */
    bool by_matrix;
    /* lengths, masses and inertias of the model that happen to be 1 are treated like any number */
    bool generic;
} soa_scalar_graph_options;
/* options NULL: body axes, as planned.  The machine must outlive the graph, which depends on its
 * model and tips but not on its state.  Status as soa_plan_create, also SOA_E_HINGE_SINGULAR. */
SOA_API soa_status soa_scalar_graph_create(soa_machine *machine, const soa_expr *expr,
                                           const soa_scalar_graph_options *options,
                                           soa_scalar_graph **graph, char *message, size_t room);
SOA_API void soa_scalar_graph_free(soa_scalar_graph *graph);
typedef struct soa_count {
    long additions; /* with subtractions */
    long multiplications;
    long divisions;
    long sines; /* with cosines */
    long roots; /* square roots */
} soa_count;
/* Operations of a body (0: all bodies) in one part of the work (-1: all parts). */
SOA_API soa_status soa_scalar_graph_operations(const soa_scalar_graph *graph, int body, int part,
                                               soa_count *count);
/* Names of the parts, among them the rows of Tables II and III of R87; NULL past the end. */
SOA_API const char *soa_scalar_graph_part_name(int part, const char **what);
/* The same operations as a C function: void name(q, thd, thdd, T, f0, result), or, with vectors or
 * operators of the caller, void name(q, thd, thdd, T, f0, own, result): `own` has their numbers as
 * the set functions take them, one after the other in the order that a comment tells.  Release the
 * text, which has `length` bytes and a zero, with free().  There are no external wrenches. */
SOA_API soa_status soa_scalar_graph_emit_c(const soa_scalar_graph *graph, const char *name,
                                           char **text, size_t *length);

/* The matrix of any expression at the state of the machine, rows x columns are the sizes of its
 * spaces, row by row.  It is built from definitions with dense arithmetic alone, and serves as an
 * oracle for the plans.  O(n^3); allocates.  SOA_E_HINGE_SINGULAR: D has no inverse.
 * SOA_E_SINGULAR: another inverse does not exist (estimated condition number above 1e13).
 * soa_machine_failure says which.  SOA_E_NAME: a vector or operator of the caller was not set. */
SOA_API soa_status soa_machine_dense_matrix(soa_machine *machine, const soa_expr *expr,
                                            double *matrix);

#ifdef __cplusplus
}
#endif
#endif
