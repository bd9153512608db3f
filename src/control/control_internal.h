/* control_internal.h  what is behind a soa_control, and the steps its laws are made of.
 *
 * u: coordinates that nobody drives and that are solved for (passive ones in trees with driven
 * joints); a: the others. */
#ifndef SOAI_CONTROL_INTERNAL_H
#define SOAI_CONTROL_INTERNAL_H
#include "../dynamics/coordinates.h"
#include "../spatial/algebra.h"
#include "soa/control.h"

enum { SOAI_TASK_ROWS = 6 * SOA_FRAME_TASKS, SOAI_CONTROL_VECTORS = 8 };

/* Beside SOA_COMPENSATE_...: the machine's own Coulomb friction, friction * sign(v). */
enum { SOAI_COULOMB_SIGN = 1 << 8 };

/* A machine with loops, closed_machine.c. */
typedef struct soai_closed {
    soa_constraints *constraints;       /* NULL: a tree, nothing below is there */
    unsigned char *primary;             /* nv: stay independent as long as the loops allow it */
    unsigned char *dependent;           /* nv: follow the others */
    int rank, *which;                   /* how many depend, and which */
    double *G, *row_size;               /* rows x nv, G_d^-1 G after the split; rows */
    int most, chosen, own;              /* candidates; of them those chosen, of these the law's
                                         * own */
    int *choice;                        /* nv */
    double *b, *r, *A;                  /* nv; candidates x nv; candidates^2, factored */
    double *x, *force, *spare;          /* nv each */
    double *task;                       /* SOAI_TASK_ROWS x nv: J_g */
    double *inertia, *factor, *inverse; /* nv^2 each: M_r */
} soai_closed;

struct soa_control {
    const soa_model *model;
    soai_closed closed;
    soa_work *work;
    void *from_heap;
    int nq, nv;
    unsigned compensate;
    double coulomb_rate;
    int passives, free;              /* how many u; how many f: u and SOA_DRIVE_OTHER */
    unsigned char *drive;            /* nv */
    int *passive;                    /* numbers of f, those of u first */
    double *M_ff, *small;            /* free^2, factored: M_uu's factor leads it; free */
    double *q_ref;                   /* nq */
    double *x[SOAI_CONTROL_VECTORS]; /* nv each: scratch of laws */
    double *unit, *column;           /* nv each: scratch of the steps below */
    double *rows, *rows_f;           /* SOAI_TASK_ROWS x nv; x free: M_ff^-1 J_f' */
    double *hands_u;                 /* 6 (SOA_HANDS + 1) x passives: J_u of hands and object */
    double *whole;                   /* (2 SOAI_TASK_ROWS)^2 */
    double *base, *base_f;           /* 6 x nv; 6 x SOAI_TASK_ROWS: motion of a base due to rows */
    unsigned char *driven;           /* by body: its tree has driven coordinates */
    double *omega, *lambda, *factor; /* SOAI_TASK_ROWS^2 each */
};

static inline int soai_own(const soa_control *c, int j) {
    return c->drive[j] == SOA_DRIVE_OWN;
}
/* tau = own part of `from`. */
static inline void soai_write_own(const soa_control *c, const double *from, double *tau) {
    for (int j = 0; j < c->nv; ++j)
        tau[j] = soai_own(c, j) ? from[j] : 0;
}
/* tau = own part of `torque`, of E*torque for a machine with loops; torque is changed then. */
soa_status soai_control_write(soa_control *c, const double *q, double *torque, double *tau);

/* Right pointers, finite numbers, unit quaternions. */
soa_status soai_control_begin(soa_control *c, const double *q, const double *v);
/* The estimated machine: M a + terms of `which` at v (friction at v too) - J' wrenches, all
 * coordinates. */
soa_status soai_control_torques(soa_control *c, const double *q, const double *v, const double *a,
                                const soa_wrench *wrenches, int wrench_count, unsigned which,
                                double *tau);
/* Factors M_ff at q for the first n of f: n = passives, M_uu; n = free, all. */
soa_status soai_passive_factor(soa_control *c, const double *q, int n);
/* x = M^-1 x for the first n of f, their numbers one after the other; factored. */
void soai_passive_solve(const soa_control *c, int n, double *x);
/* a_u of the accelerations a of the others under wrenches; M_uu factored. */
soa_status soai_passive_accelerations(soa_control *c, const double *q, const double *v,
                                      const soa_wrench *wrenches, int wrench_count, double *a);
/* a_u such that what stands in `torque` for a_u = 0 vanishes at u; M_uu factored. */
void soai_passive_cancel(soa_control *c, const double *torque, double *a);

/* closed_machine.c: which coordinates depend on which at q; x = E*x; what cut joints take,
 * added. */
soa_status soai_closed_split(soa_control *c, const double *q);
void soai_closed_reduce(const soa_control *c, double *x);
soa_status soai_closed_add_cut(soa_control *c, const double *q, const double *v, double *torque);
soa_status soai_closed_prepare(soa_control *c, const double *q, const double *v,
                               const soa_wrench *wrenches, int count);
/* a: wanted of driven coordinates on entry, all on return.  torque: own ones. */
soa_status soai_closed_inverse(soa_control *c, const double *q, const double *v,
                               const soa_wrench *wrenches, int count, double *a, double *torque);
soa_status soai_closed_compliance(soa_control *c, const double *q, const double *v, int rows,
                                  double *omega);

/* A wrench made smaller as a whole until its parts are within their bounds (> 0). */
void soai_clamp_wrench(double max_force, double max_torque, double F[6]);
/* Goal's motion in the world, and errors; base_rate (may be NULL): angular velocity of
 * `relative_to`, world axes. Kinematics stand. */
soa_status soai_frame_error(soa_control *c, int frame, int relative_to, const soa_motion *goal,
                            soa_frame_error *error, double base_rate[3]);
/* Acceleration (world axes) less that of the point of `relative_to` where the frame is, so that as
 * seen from there e'' + D e' + K e = 0. */
void soai_wanted_acceleration(const soa_frame_error *e, const double base_rate[3],
                              const double K[6], const double D[6], double A[6]);
int soai_motion_fits(const soa_motion *goal);
/* V of a body's point moved by r: [w; v + w x r]. */
static inline void soai_shift_motion(const double V[6], const double r[3], double out[6]) {
    double t[3];
    v3_cross(V, r, t);
    for (int j = 0; j < 3; ++j) {
        out[j] = V[j];
        out[3 + j] = V[3 + j] + t[j];
    }
}

/* Frames whose classical accelerations are wanted along the rows asked for of the axes R (to
 * world); relative > 0: less the acceleration of the point of that frame's body that is `arm` away
 * from its origin (world axes). */
typedef struct soai_hand_task {
    int frame, relative;
    unsigned rows;
    double R[9], arm[3];
} soai_hand_task;
/* Rows, drift and Lambda at (q, v), kept in the control until the next law. */
typedef struct soai_task_space {
    int rows;
    double drift[SOAI_TASK_ROWS], rcond;
} soai_task_space;
soa_status soai_task_prepare(soa_control *c, const double *q, const double *v,
                             const soai_hand_task *tasks, int count, double damping,
                             soai_task_space *space);
/* Torques (all coordinates) under known wrenches that give the rows these accelerations; a (may be
 * NULL): of all. */
soa_status soai_task_solve(soa_control *c, const double *q, const double *v,
                           const soai_task_space *space, const double *wanted,
                           const soa_wrench *wrenches, int wrench_count, const double *posture,
                           double *torque, double *a);
soa_status soai_closed_task(soa_control *c, const double *q, const double *v,
                            const soai_task_space *space, const double *wanted,
                            const soa_wrench *wrenches, int count, const double *posture,
                            double *torque, double *a_out);
/* Whether a frame moves with what is driven (and not by itself, like a satellite, or not at
 * all). */
int soai_frame_is_driven(const soa_control *c, int frame);
#endif
