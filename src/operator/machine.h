/* machine.h  a model with tips and a state, as plans and the dense oracle see it. */
#ifndef SOAI_MACHINE_H
#define SOAI_MACHINE_H
#include "../dynamics/work.h"
#include "expr.h"
#include "../sweep/operator_program.h"

enum { MOST_VARIABLES = 32 };
/* Numbers of closed chains, closure.c.  SELECT and GAMMAO have as many rows as the constraints. */
enum {
    CLOSURE_GEARS,
    CLOSURE_GAMMA,
    CLOSURE_SELECT,
    CLOSURE_GAMMAO,
    CLOSURE_HELD,
    CLOSURE_OBJECT,
    CLOSURE_BIAS,
    CLOSURE_EMBED,
    CLOSURE_REST,
    CLOSURE_COUNT
};
typedef struct machine_variable {
    char name[32];
    int space, from; /* from: SOA_SPACE_ONE for a vector, else the operator's input space */
    int leaf;        /* LEAF_VARIABLE, LEAF_MATRIX, LEAF_BLOCKS */
    double *value;
} machine_variable;

struct soa_machine {
    const soa_model *model;
    soa_work *work;
    int size[SOA_SPACE_COUNT];
    soai_tips tips;
    double *q, *thd, *thdd, *torque, *f0, *fext; /* fext: 6 (nb + 1), acting on the body */
    double base[6];
    int posed;       /* R, p of every body are valid for this state */
    int articulated; /* P, D, U are valid */
    int composed;    /* composite is valid */
    /* The same on the aligned tables: one kind or the other, for both are in the same arrays. */
    int aligned_posed, aligned_articulated, omega_in_P;
    int wrenches;      /* fext is not zero */
    double *composite; /* m, h, I of each body with everything outward; 10 (nb + 1) */
    /* Direction of derivatives, and its recursions; blocks of 36 numbers, nb + 1 */
    double *dq, *dthd, *dthdd, *dtorque, *df0;
    double *wrench_turn, *dP, *dMc;
    int changed_P, changed_Mc; /* dP, dMc are valid */
    machine_variable variable[MOST_VARIABLES];
    int variable_count;
    double *costate; /* Delta; made by the first plan that uses it */
    double *root[2]; /* roots of D, and their inverses; the same */
    double *closure[CLOSURE_COUNT];
    int geared;       /* the rows of constraints name joints */
    int closures;     /* counts changes of the sizes of their spaces */
    double condition; /* largest condition of the inverses in the last run */
    int rank;         /* lowest rank of the pseudo-inverses in it; -1: none */
    char why[400];    /* why the last run failed; empty if the status says all */
};

/* The caller's velocities or accelerations, and torques, as the tree has them (mimic joints); NULL:
 * zero.  out: one number for each joint of the tree. */
void soai_to_tree(const soa_machine *m, const double *v, double *out);
void soai_torque_to_tree(const soa_machine *m, const double *tau, double *out);

/* Called before a run. */
void soai_run_begins(soa_machine *m);
/* Record why a run failed: the inverse of `what` at this condition, or the joint of a body. They
 * return the status. */
soa_status soai_run_singular(soa_machine *m, const soa_expr *what, double condition);
soa_status soai_run_hinge(soa_machine *m, int body);

/* Number of doubles of a vector inside plans: link and edge vectors have a row for the world. */
size_t soai_slot_size(const soa_machine *m, int space);
/* Where its numbers begin: after the row of the world. */
static inline size_t soai_slot_start(int space) {
    return space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE ? 6 : 0;
}
/* Computes R, p unless valid. */
void soai_pose(soa_machine *m);
/* Computes P, D, U unless valid. SOA_E_HINGE_SINGULAR: the body is in soa_work_failed_body. */
soa_status soai_articulate(soa_machine *m);
/* Computes the composite inertias unless valid. */
void soai_compose(soa_machine *m);
/* Computes dP, dMc unless valid; the articulated or composite inertias are valid. */
void soai_change_P(soa_machine *m);
void soai_change_Mc(soa_machine *m);
/* Arrays of the direction: made with the machine, released with it; 0: no memory. */
int soai_direction_create(soa_machine *m);
void soai_direction_free(soa_machine *m);
/* Adds to the blocks of Wx a wrench in world axes, given in body axes: its couple, its force, and
 * the point of action of the force. */
void soai_turning_wrench(double block[36], const double couple[3], const double force[3],
                         const double point[3]);
/* The blocks of Wx, dP, dMc; NULL of other leaves. */
const double *soai_change_blocks(const soa_machine *m, const soa_expr *leaf);
/* Nonzero if plans may run on the aligned tables: no exact rotors, no mimic joints. */
int soai_machine_aligns(const soa_machine *m);
/* Value of a vector leaf that is data (T, thd, thdd, f0, g, variables), or NULL. */
const double *soai_vector(const soa_machine *m, const soa_expr *leaf);
/* The numbers of a caller's operator, or NULL. */
const double *soai_matrix(const soa_machine *m, const soa_expr *leaf);
/* What the caller has set for a leaf, or NULL. */
const double *soai_own(const soa_machine *m, const soa_expr *leaf);
/* The numbers of the caller's vector or operator of that name and kind; made on first use with
 * `room` numbers.  NULL if the table is full or memory is short. */
double *soai_own_place(soa_machine *m, const char *name, const machine_variable *kind, size_t room);

/* closure.c: the numbers of a leaf of closed chains, or NULL. */
const double *soai_closure(const soa_machine *m, int leaf);
void soai_closure_free(soa_machine *m);

/* block_operators.c: operators with a block of 36 numbers for each body.  create makes room for one
 * that is computed (0: no memory), compute fills it for this state. */
int soai_blocks_create(soa_machine *m, const soa_expr *leaf);
const double *soai_blocks(soa_machine *m, const soa_expr *leaf);
soa_status soai_blocks_compute(soa_machine *m, const soa_expr *leaf);
/* Number of the moving body whose link has that name; 0 and a message if there is none. */
int soai_link_named(const soa_model *model, const char *name, char *message, size_t room);

/* pseudo_inverse.c: y = pinv(A) x, A rows x columns.  Returns the rank, and the condition of what it
 * inverted; -1: not finite.  room: soai_pseudo_room numbers. */
#define SOAI_RANK_TOLERANCE 1e-10
size_t soai_pseudo_room(int rows, int columns);
int soai_pseudo_solve(int rows, int columns, const double *A, const double *x, double *y,
                      double *room, double *condition);

#endif
