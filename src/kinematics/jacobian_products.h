/* jacobian_products.h  the massless twin: a copy of the model whose links weigh nothing and whose
 *                      tips carry balls.
 *
 * Its mass matrix M is J*W^2 J + damping^2 1, so M, M^-1 x and M^-1 are the Jacobian products of
 * the model.  The twin is a real soa_model with a work space of its own;
 * only its inertias change from call to call. */
#ifndef SOAI_TIPS_H
#define SOAI_TIPS_H
#include "../dynamics/work.h"
#include "soa/forms.h"

struct soa_tip_work {
    const soa_model *model;
    soa_model *twin;
    soa_work *work;                                  /* of the twin */
    double *lower, *upper;                           /* nq: limits in the caller's coordinates,
                                                      * followers' included */
    double *composite;                               /* 10 per body */
    double *gradient, *next_gradient, *step, *check; /* nv */
    double *share;                                   /* tree dof: part of the damping it carries */
    char *held;                                      /* nv: at a limit, and would go on */
    char *turns;                                     /* nv: an angle, or the rate of one */
    double *q, *trial, *best;                        /* nq */
    int body, limited;                               /* limited: some coordinate has limits */
};

/* Every ball off; one ball on; and, when all are on, the damping.  Degrees of freedom that are
 * `held` (NULL: none) get an inertia that nothing moves. */
void soai_twin_clear(soa_tip_work *t);
void soai_twin_add(soa_tip_work *t, const soa_tip *tip);
void soai_twin_damp(soa_tip_work *t, double damping_squared, const char *held);
/* Frame and weights usable? */
soa_status soai_tip_check(const soa_model *m, soa_tip_work *t, const soa_tip *tip);

#endif
