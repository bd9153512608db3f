/* control_internal.h  what is behind a soa_control, and the steps its laws are made of.
 *
 * u: coordinates that nobody drives and that are solved for (passive ones in trees with driven joints); a: the others.  */
#ifndef SOAI_CONTROL_INTERNAL_H
#define SOAI_CONTROL_INTERNAL_H
#include "../dynamics/coordinates.h"
#include "../spatial/algebra.h"
#include "soa/control.h"

enum { SOAI_TASK_ROWS = 6 * SOA_FRAME_TASKS, SOAI_CONTROL_VECTORS = 8 };

struct soa_control {
    const soa_model *model;
    soa_work *work;
    void *from_heap;
    int nq, nv;
    unsigned compensate;
    double coulomb_rate;
    int passives, others;            /* how many u; how many SOA_DRIVE_OTHER                       */
    unsigned char *drive;            /* nv                                                         */
    int *passive;                    /* u: their numbers                                           */
    double *M_uu, *small;            /* passives^2, factored; passives                             */
    double *q_ref;                   /* nq                                                         */
    double *x[SOAI_CONTROL_VECTORS]; /* nv each: scratch of laws                                   */
    double *unit, *column;           /* nv each: scratch of the steps below                        */
    double *rows, *rows_u;           /* SOAI_TASK_ROWS x nv, x passives                            */
    double *omega, *lambda, *factor; /* SOAI_TASK_ROWS^2 each                                      */
};

static inline int soai_own(const soa_control *c, int j) {
    return c->drive[j] == SOA_DRIVE_OWN;
}
/* tau = own part of what stands in `from`. */
static inline void soai_write_own(const soa_control *c, const double *from, double *tau) {
    for (int j = 0; j < c->nv; ++j) tau[j] = soai_own(c, j) ? from[j] : 0;
}

/* Right pointers, finite numbers, unit quaternions. */
soa_status soai_control_begin(soa_control *c, const double *q, const double *v);
/* The estimated machine: M a + terms of `which` at v (friction at v too) - J' wrenches, all coordinates. */
soa_status soai_control_torques(soa_control *c, const double *q, const double *v, const double *a,
                                const soa_wrench *wrenches, int wrench_count, unsigned which, double *tau);
/* Factors M_uu at q. */
soa_status soai_passive_factor(soa_control *c, const double *q);
/* x_u = M_uu^-1 x_u, numbers of u one after the other; M_uu factored. */
void soai_passive_solve(const soa_control *c, double *x);
/* a_u such that what stands in `torque` for a_u = 0 vanishes at u; M_uu factored. */
void soai_passive_cancel(soa_control *c, const double *torque, double *a);

/* A wrench made smaller as a whole until its parts are within their bounds (> 0). */
void soai_clamp_wrench(double max_force, double max_torque, double F[6]);
/* Goal's motion in the world, and errors; kinematics stand. */
soa_status soai_frame_error(soa_control *c, int frame, int relative_to, const soa_motion *goal, soa_frame_error *error);
int soai_motion_fits(const soa_motion *goal);
/* V of a body's point moved by r: [w; v + w x r]. */
static inline void soai_shift_motion(const double V[6], const double r[3], double out[6]) {
    double t[3];
    v3_cross(V, r, t);
    for (int j = 0; j < 3; ++j) out[j] = V[j], out[3 + j] = V[3 + j] + t[j];
}

/* Frames and the classical accelerations wanted of them, along the rows asked for of the axes R (to world). */
typedef struct soai_hand_task {
    int frame;
    unsigned rows;
    double R[9], a[6];
} soai_hand_task;
soa_status soai_operational(soa_control *c, const double *q, const double *v, const soai_hand_task *tasks, int count,
                            const soa_operational_options *options, double *tau, double *a_out, double *rcond);
#endif
