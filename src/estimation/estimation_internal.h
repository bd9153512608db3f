/* estimation_internal.h  what the forms share. */
#ifndef SOAI_FORMS_INTERNAL_H
#define SOAI_FORMS_INTERNAL_H
#include "../sweep/minv.h"
#include "../dynamics/work.h"
#include "../spatial/six_by_six.h"
#include "soa/forms.h"

/* Costate covariances Delta- of all bodies, R87 (81), (82), into w->E (36 per body); U and D stand.
 * base: Delta- of the base, NULL for zero, which is (44).  O(n). */
void soai_costate_covariance(soa_work *w, const double *base);

/* One body of the filter, R87 (36) to (43), and of the smoother, (44) to (47), in spatial
 * accelerations and any joint: compiled once for the forms that have sums of their own between
 * bodies.  The filter returns 0 where the hinge moves no inertia. */
int soai_filter_body(const soai_view_double *k, kernel_work *w, int i, const double *v,
                     const double *tau);
void soai_smooth_body(const soai_view_double *k, kernel_work *w, int i, const double *v,
                      double *vdot);

/* G = U D^-1 (6 x nv, by rows) and P+ = P - G U', R87 (39), (43), of the joint of b. */
void soai_gain_and_update(const soa_work *w, const soai_body_double *b, const double P[36],
                          double *G, double after[36]);

#endif
