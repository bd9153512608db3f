/* closed_friction.h  Coulomb friction of a closed machine: coordinates of joints, cut or not, that slide or stick.
 *
 * A coordinate's rate is row . v.  Each has a mode:
 *     slides up, down   feels the friction of its mode, not of sign(rate)
 *     stuck             held at rest by a torque h within [-up, down]
 *     pinned            at rest because others are stuck, its own torque at a bound (loops leave fewer freedoms than
 *                       joints, so which of them bears how much is not unique: h is the answer of least norm)
 * With N the response of the machine to torques (soa_closed_response), J the rows of the stuck ones and a their second
 * rates without h:   J N J' h = -a.  At events the coordinates at rest divide anew, by the complementarity problem of
 * box_lcp.h in J N J'.                                                                                               */
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
    int dof;                    /* of the tree, or -1: cut                     */
    int constraint, coordinate; /* of a cut joint                              */
    double up, down;            /* torque against rate > 0 and against rate < 0 */
    soai_mode mode;
    double rate, rest; /* at the state of soai_rubbing_at */
    double *row;       /* nv                              */
} soai_rub;

typedef struct soai_rubbing {
    soa_constraints *constraints;
    soa_work *work;
    const soa_model *model;
    int count, stuck_count, nv, cut; /* cut: some of them are of cut joints */
    soai_rub *list;
    int *stuck, *state, *pick;                                       /* numbers in the list           */
    double *N, *A, *whole, *hold, *x, *lo, *hi, *b, *free, *scratch; /* N: count x nv */
    double largest;                                                  /* response so far */
    double *numbers;
    int *integers;
} soai_rubbing;

/* Finds what rubs and takes the friction of cut joints out of the constraints; release puts it back. */
soa_status soai_rubbing_init(soai_rubbing *r, soa_constraints *constraints, soa_work *work);
void soai_rubbing_release(soai_rubbing *r);
/* Rows, rates and rests at (q, v); then the friction of the modes in tau, less that of sign(v) which soa_aba takes. */
soa_status soai_rubbing_at(soai_rubbing *r, const double *q, const double *v);
void soai_rubbing_torque(const soai_rubbing *r, const double *v, double *tau);
/* After soa_closed_fd gave qdd without holding torques: those (r->hold, in order of r->stuck), added to tau. */
soa_status soai_rubbing_hold(soai_rubbing *r, const double *qdd, double *tau);
/* Coordinates nearer to rest than `tiny` and those that stuck or were pinned become stuck; others slide on. */
void soai_rubbing_gather(soai_rubbing *r, double tiny);
/* The stuck ones divide; qdd as for hold.  gather and list keep r->stuck. */
void soai_rubbing_list(soai_rubbing *r);
soa_status soai_rubbing_divide(soai_rubbing *r, const double *qdd);
/* v so that the stuck ones are at rest, by an impulse on them; after soa_closed_fd at this state. */
soa_status soai_rubbing_settle(soai_rubbing *r, double *v);
/* Two functions for each, positive until its event; hold stands. */
void soai_rubbing_watch(const soai_rubbing *r, double *g);
/* One whose event the root finder did not see, because it was past it at the start: it runs against its mode, or is
 * held by more than its bound; -1: none. */
int soai_rubbing_overdue(const soai_rubbing *r);
/* Power that sliding takes. */
double soai_rubbing_power(const soai_rubbing *r);
/* Its joint, for words. */
const char *soai_rubbing_name(const soai_rubbing *r, int number);

#endif
