/* closed.h  private: closed mechanisms that tests and benches share.
 *
 *   fourbar      crank 0.4, coupler 0.9, rocker 0.7 on a base of 1 m: a crank that turns all round
 *   windows:N    IFToMM A02: N windows of four-bars, 2N + 1 uniform links; singular where they lie
 *                flat
 *   andrews      Andrews' squeezing mechanism (IFToMM A03), with its spring and drive
 *   bricard      IFToMM A04: one degree of freedom more than counting says
 *   ring:N       a chain of N links, axes in turn, its tip held at a point of the world
 * Planar ones move in the plane z = 0 turned by `turn` (NULL: not), gravity and all. */
#ifndef SOAI_CLOSED_H
#define SOAI_CLOSED_H
#include "soa/constraint.h"

typedef struct soai_mechanism {
    const soa_model *model;
    soa_constraints *constraints;
    soa_joint_type closer; /* of all its loops */
    double *q, *v;         /* the start */
    /* joint torques as soa_closed_simulate takes them; NULL: none */
    soa_status (*torque)(void *user, double t, const double *q, const double *v, double *tau);
} soai_mechanism;

/* closer: the joint that closes the loops, SOA_REVOLUTE or (planar ones, ring) SOA_SPHERICAL. */
soa_status soai_mechanism_make(const char *name, soa_joint_type closer, const soa_frame *turn,
                               soai_mechanism *out, soa_report *report);
void soai_mechanism_free(soai_mechanism *mechanism);

/* Andrews: joints of our tree in the order of its coordinates beta Theta gamma Phi delta Omega
 * epsilon; energy of its spring. */
extern const int soai_andrews_order[7];
double soai_andrews_spring(double gamma);

#endif
