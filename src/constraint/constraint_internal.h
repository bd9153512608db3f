/* constraint_internal.h  what the files of this room share. */
#ifndef SOAI_CONSTRAINT_INTERNAL_H
#define SOAI_CONSTRAINT_INTERNAL_H
#include "../dynamics/work.h"
#include "soa/constraint.h"

enum { NAME_ROOM = 128, MOST_FREE = 6, MOST_TREES = 2 * SOA_RATIO_TERMS };

/* One equation at the present state.  force1 and force2 are the wrenches [n; f] of a unit
 * multiplier on the two frames, in world axes at the origins of frame1 and frame2 (of the model's
 * frames, not of the places in them). */
typedef struct constraint_row {
    double force1[6], force2[6];
    double g;        /* residual, 0 for velocity rows          */
    double drift;    /* dg/dt by time alone                    */
    double gamma;    /* second rate of g at vdot = 0           */
    int on_velocity; /* nonholonomic: no residual to project   */
    int absolute;    /* of frame 1 against the world           */
} constraint_row;

typedef struct constraint {
    soa_constraint_def def;
    char name[NAME_ROOM];
    int used, on;
    int rows;                          /* while on */
    int free;                          /* free coordinates of a cut joint */
    int trees[MOST_TREES], tree_count; /* trees of the forest that its rows touch */
    double b1[3], b2[3], a[3];         /* right-handed, a the axis, in place1 */
    double effort[MOST_FREE], rate[MOST_FREE];
    double cut_force[2][6]; /* of efforts, springs and friction on the two frames, at the last state
                             * with velocities */
    double near[MOST_FREE]; /* coordinates: angles are counted nearest to these */
    int counted;            /* a spring or a ratio needs its coordinates */
    double spring;          /* J, at the last state with velocities */
} constraint;

/* G M^-1 G' from G and Y, factored with its rank; then x with G M^-1 G' x = b, zero at redundant
 * rows.  Rows are scaled to their natural size, so that pivots are pure numbers, 1 at best: a row
 * that fades away is seen as well as one that becomes like others. */
typedef struct gram {
    int rows, rank;
    double condition, damping;
    double left; /* largest pivot that was taken for zero */
} gram;

struct soa_constraints {
    const soa_model *model;
    soa_constraint_capacity capacity;
    void *from_heap;
    constraint *list;
    constraint_row *row; /* of all constraints that are on, in order */
    int *owner;          /* of a row: its constraint */
    int *pivot, *order;  /* rows; rows + nv */
    double *G, *Y;       /* rows x nv: G, and M^-1 G' row by row */
    double *L, *N;       /* rows x rows: factor of G M^-1 G'; combinations of dependent rows */
    double *natural; /* rows: largest number of the row of G over what it may be in other poses, at
                      * most 1 */
    double *scale, *right, *lambda, *gamma, *rate, *g, *part; /* rows */
    double *cut, *vdot, *torque, *step, *q, *try_q;           /* nv, and nq for the last two */
    double drift;     /* largest |g| that the last projection found */
    double *strength; /* of rows of G: size over what it would be without cancellation, 0 to 1 */
    /* the trees that stand on the world: M and so M^-1 have no entries between them */
    int trees, *tree, *tree_first, *tree_dof, *tree_mark; /* tree of each body; its coordinates in
                                                           * tree_dof; room */
    double *spread;                                       /* nv */
    /* rotors of cut joints, cut_inertia.c: room for as many rows as there are of constraints */
    int inertias;
    constraint_row *inertia_row;
    int *inertia_owner;
    double *B, *Z; /* inertias x nv: rates of the rotors, and M^-1 B' row by row            */
    double *W, *W_next, *S, *S_right,
        *part2; /* diagonal of W, its entries beside it; K and its making; two parts      */
    gram last;  /* of the last soa_closed_fd, and its method; AUTO: none stands */
    soa_closed_method last_method;
    double *M, *K, *beta, *x; /* dense methods: nv^2, (nv + rows)^2, nv + rows */
};

int soai_is_rotation(const soa_frame *X); /* and a finite shift */

/* Rows at (q, v, t), with kinematics left in the work space.  Fills row, owner, and cut: the
 * torques of cut joints (efforts, friction).  v NULL: only positions are of interest; no gamma, no
 * cut torques.  Gives the number of rows, or a status. */
soa_status soai_constraint_evaluate(soa_constraints *c, soa_work *w, const double *q,
                                    const double *v, double t, int *rows);
/* Rows of G from those of `row`, and their natural sizes. */
void soai_constraint_form(soa_constraints *c, soa_work *w, int rows, double *G);

/* What the cut joints take at the acceleration a (NULL: zero), over all coordinates: out = B'W (B a
 * + rest) of their rotors less the torques of their springs, dampers, friction and efforts. */
soa_status soai_cut_losses(soa_constraints *c, soa_work *w, const double *q, const double *v,
                           const double *a, double *out);
/* The methods leave what soa_closed_response needs: in c->last, c->last_method. */
void soai_gram_factor(soa_constraints *c, int rows, const soa_closed_options *options, gram *s);
void soai_gram_basic(const soa_constraints *c, const gram *s, const double *b, double *x);

/* Of the multipliers that do the same, those of least norm. */
void soai_gram_least(soa_constraints *c, const gram *s, double *lambda);

/* Motion of a place in a frame: pose, velocity and classical acceleration, world axes, from
 * standing kinematics. */
typedef struct place {
    double R[9], p[3], w[3], v[3], wd[3], vd[3];
    double arm[3]; /* from the frame's origin, world axes */
} place;
soa_status soai_place_of(const soa_model *m, soa_work *work, int frame, const soa_frame *in,
                         place *out);

/* Articulated inertias at q, in the user's frames: for soai_minv_apply and the sweeps of contact
 * forces. */
soa_status soai_minv_prepare_posed(soa_work *w, const double *q);
/* The same for soai_minv_apply alone, in aligned frames, which takes less time. */
soa_status soai_minv_prepare(soa_work *w, const double *q);
/* M^-1 x with either of them valid.  The tree's M alone. */
void soai_minv_apply(soa_work *w, const double *x, double *y);

/* The machine's M is the tree's and B'W B of the rotors of cut joints (cut_inertia.c); c may be
 * NULL: none.  B stands after soai_constraint_form.
 * prepare  for the next two, articulated inertias standing
 * minv     y = M^-1 x
 * correct  vdot of the tree alone to that of the machine
 * force    f += B'W (B a + rest); a NULL: zero; without rest where `rest` is 0
 * mass     M += B'W B, dense */
soa_status soai_cut_prepare(soa_constraints *c, soa_work *w);
void soai_cut_minv(soa_constraints *c, soa_work *w, const double *x, double *y);
void soai_cut_correct(soa_constraints *c, double *vdot);
void soai_cut_force(soa_constraints *c, const double *a, int rest, double *f);
void soai_cut_mass(soa_constraints *c, double *M);
/* Coordinates where the rows of G and Y of a constraint may have entries: those of its trees, or
 * all where mimic joints or rotors of cut joints tie trees together; ascending within a tree.
 * Gives their number. */
int soai_support(const soa_constraints *c, int number, int *list);
/* Whether rows of two constraints may have coordinates in common. */
int soai_touch(const soa_constraints *c, int one, int two);
/* Y = (M^-1 G')' row by row, all prepared.  Rows of constraints that share no tree go through one
 * sweep together. */
void soai_columns(soa_constraints *c, soa_work *w, int rows);

#endif
