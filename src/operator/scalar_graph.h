/* scalar_graph.h  internals of the graph of scalars: nodes, their arithmetic, and the data of one
 * body. */
#ifndef SOAI_GRAPH_H
#define SOAI_GRAPH_H
#include "plan.h"

typedef int node; /* index of a row; 0 is the constant zero */

/* CONSTANT: a nonzero `a` marks a number of the model that must not be merged with any other
 * (soa_scalar_graph_options.generic). INPUT: `a` is the array, `b` the index. */
enum { CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, SINE, COSINE, SQUARE_ROOT };
/* IN_OWN: vectors and operators of the caller, one after the other in the order of their first use */
enum { IN_Q, IN_THD, IN_THDD, IN_T, IN_F0, IN_OWN };
typedef struct graph_row {
    int op, a, b;
    int body, part; /* body and part of the work where it was first needed */
    double value;
    int next; /* in its bucket */
} graph_row;

/* Parts of the work: the rows of R87's Tables II and III, and what those leave out. */
#define SOAI_PARTS(X)                                                                      \
    X(POSE, "poses", "rotations, origins and joint maps, constants turned to the axes")    \
    X(P_MOVE, "P moved", "P = M + sum phi P+ phi', without the turn: inertia propagation") \
    X(GAIN, "gain", "D, inv(D), G")                                                        \
    X(P_UPDATE, "P updated", "P+ = P - G H P")                                             \
    X(P_TURN, "P turned", "P+ to the parent's axes")                                       \
    X(Z_MOVE, "z moved", "state propagation, phi z without the turn")                      \
    X(INNOVATION, "innovation", "e = T - H z")                                             \
    X(RESIDUAL, "residual", "inv(D) e")                                                    \
    X(Z_UPDATE, "z updated", "z+ = z + G e")                                               \
    X(Z_TURN, "z turned", "z+ to the parent's axes")                                       \
    X(L_MOVE, "costate moved", "phi' lambda without the turn")                             \
    X(L_TURN, "costate turned", "to the body's axes")                                      \
    X(L_UPDATE, "costate updated", "psi' lambda + x across the joint")                     \
    X(ACCELERATION, "acceleration", "G' lambda, and sums in joint space")                  \
    X(PHI, "phi", "recursions of phi and phi' (velocities, bias accelerations, forces)")   \
    X(BIAS, "a, b", "bias accelerations and forces from velocities")                       \
    X(INERTIA, "M", "products with M, Mc and P")                                           \
    X(REST, "others", "sums of links, tips, base")                                         \
    X(MC_MASS, "Mc mass", "mass of the composite body")                                    \
    X(MC_CENTRE, "Mc centre", "its mass centre, times the mass")                           \
    X(MC_INERTIA, "Mc inertia", "its rotational inertia")                                  \
    X(MC_TURN, "Mc turned", "to the parent's axes")                                        \
    X(COLUMN, "column", "Mc H' and H x: an entry of the mass matrix")                      \
    X(COLUMN_MOVE, "column moved", "x = phi x without the turn")                           \
    X(COLUMN_TURN, "column turned", "to the parent's axes")                                \
    X(FACTOR, "factor", "mass matrix = L' d L")                                            \
    X(SOLVE, "solve", "two triangles and d")                                               \
    X(COSTATE, "Delta", "costate covariances, R87 (81), (82), and roots of D")             \
    X(DENSE, "dense", "products and solves with small matrices, between sweeps")
enum {
#define SOAI_PART_CODE_(code, name, what) PART_##code,
    SOAI_PARTS(SOAI_PART_CODE_)
#undef SOAI_PART_CODE_
        PART_COUNT
};

/* The steps from a body to its parent, in order: a rotation about coordinate axis k by sign *
 * angle, any other rotation, or a shift of the origin. */
enum { STEP_TURN, STEP_ROTATE, STEP_MOVE };
typedef struct graph_step {
    int kind, k, sign;
    node angle, c, s;
    node R[9];
    node p[3];
} graph_step;
enum { MOST_PASSAGE = 5 };
typedef struct passage {
    int count;
    graph_step step[MOST_PASSAGE];
} passage;

typedef struct graph_body {
    passage in; /* to the parent: rotations and shifts */
    /* Body axes to the axes of the graph (world axes), or nothing. */
    passage world;
    node M[10];  /* m, h, I: xx yy zz xy xz yz */
    node Mc[10]; /* the same with everything outward */
    /* U = P H', G = U inv(D): 6 per dof. D: its factors, d inverted. */
    node P[36], U[36], G[36], D[36];
    node H[36];       /* columns of H', 6 per dof */
    node costate[36]; /* Delta */
    /* Per dof: 1 + the only component of its column, if it is +1 or -1 */
    int unit[6], sign[6];
    /* All dofs are such and there is no rotor: G is known on them, H P+ = 0 */
    int free_axes;
} graph_body;

enum { BUCKETS = 1 << 16, MOST_NODES = 4000000 };
struct soa_scalar_graph {
    const soa_machine *m;
    soa_scalar_graph_options options;
    graph_row *r;
    int count, room, failed, singular, parameters;
    int inward, body, part, turn_part, move_part; /* labels of the nodes made next */
    int *bucket;
    graph_body *body_of; /* nb + 1 */
    node *out;
    int out_count;
    char *needed;                        /* per node: the result needs it */
    const soa_expr *own[MOST_VARIABLES]; /* of the caller: in the order of IN_OWN */
    int own_count;
    int refused; /* numbers of the caller cannot be used */
};

node soai_make(soa_scalar_graph *g, int op, int a, int b, double number);
node soai_constant(soa_scalar_graph *g, double x);
node soai_parameter(soa_scalar_graph *g, double x); /* a number of the model */
int soai_is(const soa_scalar_graph *g, node x, double number);
node soai_add(soa_scalar_graph *g, node x, node y);
node soai_subtract(soa_scalar_graph *g, node x, node y);
node soai_multiply(soa_scalar_graph *g, node x, node y);
node soai_reciprocal(soa_scalar_graph *g, node x);
node soai_negate(soa_scalar_graph *g, node x);
node soai_sine(soa_scalar_graph *g, node x);
node soai_cosine(soa_scalar_graph *g, node x);
node soai_square_root(soa_scalar_graph *g, node x);

/* scalar_graph_pose.c: poses, joint maps and constants of every body. */
void soai_graph_pose(soa_scalar_graph *g);
/* scalar_graph_dense.c: where the numbers of a caller's leaf begin in the array of IN_OWN (-1: they
 * cannot be used), and how many there are; products (0: cannot be used) and solves. */
int soai_graph_own(soa_scalar_graph *g, const soa_expr *leaf);
size_t soai_graph_own_size(const soa_scalar_graph *g, const soa_expr *leaf);
int soai_graph_matrix(soa_scalar_graph *g, const soa_expr *leaf, int turned, const node *x,
                      node *y);
void soai_graph_solve(soa_scalar_graph *g, int n, node *A, node *x);

/* scalar_graph_steps.c: poses, then articulated or composite inertias, then the plan's operations.
 * `out` receives the nodes of the result. by_matrix: multiply by inv(Mass), formed and factored.
 * Returns 0 on failure. */
int soai_graph_fill(soa_scalar_graph *g, const soa_plan *plan, int by_matrix, node *out);

#endif
