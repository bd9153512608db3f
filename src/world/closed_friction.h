/* closed_friction.h  Coulomb friction of a closed machine: joint coordinates, cut or not, that
 * slide or stick.
 *
 * The rate of a coordinate is row . v. Each coordinate has a mode:
 *     slides up, down   has the friction of its mode, not of sign(rate)
 *     stuck             held at rest by a torque h within [-up, down]
 *     pinned            at rest because others are stuck, its own torque at a bound. Loops leave
 *                       fewer degrees of freedom than joints, so the distribution of h among the
 *                       joints is not unique: we take the solution of least norm.
 * Let N be the response of the machine to torques (soa_closed_response), J the rows of the stuck
 * coordinates and a their second rates without h. Then  J N J' h = -a.  At an event the coordinates
 * at rest are divided again into stuck and sliding ones, by the complementarity problem of
 * box_lcp.h in J N J'. */
#ifndef SOAI_RUBBING_H
#define SOAI_RUBBING_H
#include "soa/constraint.h"

typedef enum soai_mode {
    SOAI_PINNED_DOWN = -2,
    SOAI_DOWN = -1,
    SOAI_STUCK = 0,
    SOAI_UP = 1,
    SOAI_PINNED_UP = 2
} soai_mode;

typedef struct soai_rub {
    int dof;                    /* degree of freedom in the tree, or -1: cut joint */
    int constraint, coordinate; /* number of the constraint, and coordinate, of a cut joint */
    double up, down;            /* friction torque for rate > 0 and for rate < 0 */
    soai_mode mode;
    double rate, rest; /* at the state of the last soai_rubbing_at */
    double *row;       /* nv numbers */
} soai_rub;

typedef struct soai_rubbing {
    soa_constraints *constraints;
    soa_work *work;
    const soa_model *model;
    int count, stuck_count, nv, cut; /* cut: how many belong to cut joints */
    soai_rub *list;
    int *stuck, *state, *pick; /* indices into the list */
    /* N: count x nv numbers. */
    double *N, *A, *whole, *hold, *x, *lo, *hi, *b, *free, *scratch;
    double largest; /* largest response so far */
    double *numbers;
    int *integers;
} soai_rubbing;

/* Finds the coordinates with friction. Removes the friction of cut joints from the constraints;
 * release restores it. */
soa_status soai_rubbing_init(soai_rubbing *r, soa_constraints *constraints, soa_work *work);
void soai_rubbing_release(soai_rubbing *r);
/* soai_rubbing_at computes rows, rates and rests at (q, v). Then the friction of the modes is added
 * to tau, minus that of sign(v), which soa_aba adds itself. */
soa_status soai_rubbing_at(soai_rubbing *r, const double *q, const double *v);
void soai_rubbing_torque(const soai_rubbing *r, const double *v, double *tau);
/* Call after soa_closed_fd has computed qdd without holding torques. Computes these (r->hold, in
 * the order of r->stuck) and adds them to tau. */
soa_status soai_rubbing_hold(soai_rubbing *r, const double *qdd, double *tau);
/* Marks as stuck: coordinates slower than `tiny`, and those that were stuck or pinned. Others keep
 * sliding. */
void soai_rubbing_gather(soai_rubbing *r, double tiny);
/* Divides the stuck coordinates again; qdd as for soai_rubbing_hold. gather and list update
 * r->stuck. */
void soai_rubbing_list(soai_rubbing *r);
soa_status soai_rubbing_divide(soai_rubbing *r, const double *qdd);
/* Changes v so that the stuck coordinates are at rest, by an impulse on them. Call after
 * soa_closed_fd at this state. */
soa_status soai_rubbing_settle(soai_rubbing *r, double *v);
/* Two event functions for each coordinate, positive until the event. r->hold must be valid. */
void soai_rubbing_watch(const soai_rubbing *r, double *g);
/* Number of a coordinate whose event the root finder missed because it was already past at the
 * start: it moves against its mode, or needs more torque than its bound. -1: none. */
int soai_rubbing_overdue(const soai_rubbing *r);
/* Power dissipated by sliding. */
double soai_rubbing_power(const soai_rubbing *r);
/* Name of the joint, for messages. */
const char *soai_rubbing_name(const soai_rubbing *r, int number);

#endif
