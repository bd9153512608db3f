/* classical.h  inverse dynamics in the classical vector form, RK88-I (2.1)-(2.13): the oracle of
 * the sweeps.
 *
 * 3-vectors in world axes, plain Newton-Euler, classical accelerations. Uses only the public
 * description of a model. */
#ifndef CLASSICAL_H
#define CLASSICAL_H

#include "soa/dynamics.h"

/* A body in world axes. Velocities, accelerations and moments refer to its frame's origin. */
typedef struct classical_body {
    double R[9], o[3];             /* axes and origin */
    double w[3], v[3];             /* angular velocity, velocity of the origin */
    double wdot[3], vdot[3];       /* angular acceleration, classical acceleration of origin */
    double N[3], F[3];             /* exerted on the body through its joint, about the origin */
    double turn[6][3], move[6][3]; /* joint: d w / d v_k and d v / d v_k */
    double vj[6], aj[6];           /* its own velocities and accelerations (mimic resolved) */
    double spin[3];                /* exact rotor on the parent: Jm G qdot u */
} classical_body;

/* Motion of all bodies including the world: body[0 .. n]. base_acceleration: classical acceleration
 * of the world. v and a may be NULL. */
void classical_motion(const soa_model *model, const double *q, const double *v, const double *a,
                      const double base_acceleration[3], classical_body *body);
/* tau of soa_rnea. Fills body[0 .. n], with the base accelerated by -gravity. */
void classical_inverse(const soa_model *model, const double *q, const double *v, const double *a,
                       const soa_wrench *wrenches, int wrench_count, classical_body *body,
                       double *tau);

/* Sums over bodies after classical_motion: kinetic energy with rotors; momentum [angular; linear]
 * about the centre of mass; centre of mass. */
double classical_kinetic(const soa_model *model, const classical_body *body);
void classical_momentum(const soa_model *model, const classical_body *body, double h[6],
                        double com[3]);
/* Potential energy of gravity, zero at the world's origin, and of springs. */
double classical_potential(const soa_model *model, const double *q, const classical_body *body);

/* A frame of the model, from the body that carries it: pose, velocity, classical acceleration, in
 * world axes. */
void classical_frame(const soa_model *model, const classical_body *body, int frame, soa_frame *pose,
                     double V[6], double A[6]);

/* Definition that builds the same body. link[k]: link number of body k, link[0] = 0. */
soa_body_def classical_definition(const soa_body_info *body, const int *link);

#endif
