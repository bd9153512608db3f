/* soa/forms.h  the same dynamics in the papers' other forms, each a plain call.
 *
 * soa/dynamics.h holds the calls a controller or a simulation uses.  Here stand the formulations
 * the papers derive on the way: judges of those calls, tools for people who think in filters and
 * operators, and forms that suit other machines (many cores).  Conventions and sign rules are those
 * of docs/notation.md; NULL, overlap and status those of soa/dynamics.h, SOA_E_HINGE_SINGULAR where
 * articulated inertias are made. */
#ifndef SOA_FORMS_H
#define SOA_FORMS_H

#include "soa/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- estimation: R87's filter, smoother and two-point boundary problem ------------------------ */
/* R87 (35) to (47): soa_aba's recursion in spatial accelerations, as printed (soa_aba itself uses
 * the classical ones), with everything it computes on the way kept in the work space for the
 * readers below, until the next call that takes q; after that they answer SOA_E_ORDER.  O(n). */
SOA_API soa_status soa_smoother(const soa_model *model, soa_work *work, const double *q,
                                const double *v, const double *tau, const soa_wrench *wrenches,
                                int wrench_count);

/* What the filter and the smoother know at the joint of a body: R87's names, in the axes of that
 * body, at its joint.  R87 counts from the tip: its k-1 are the children of the body (their
 * contributions are summed), k+1 its parent. "minus" is the body's own side of the joint, "plus"
 * the parent's side, still in the body's axes.  The first nv entries (nv x nv, 6 x nv) of an array
 * are used, row by row.
 *   - Gravity is a base acceleration: lambda_plus of a root body is -g, where (44) has zero.
 *   - tau is what is left of the torque after friction and springs.  Mimic joints are joints of
 *     their own here, under the torques with which they keep up.
 *   - Reflected rotor inertia is R(k), the covariance of a measurement noise that R87 sets to zero
 *     after (57): D = H P- H' + R, and H P+ = R D^-1 H P- instead of zero.  An exact rotor also
 *     couples, gain = (P- H' + r) D^-1; then x_plus - x_minus is the couple [r a; 0] of the motor
 *     on its carrier.  Otherwise x_plus = x_minus (17).
 *   - Never compare innovations across papers: RK88-I's FD1 and FD3 share one value, R87 and FD4
 *     another (this one), FO00 has a third (docs/notation.md). */
typedef struct soa_smoothed {
    int nv;
    double H[36];           /* nv x 6  state-to-output map                          (20) */
    double b[6], n[6];      /* bias force less wrenches, bias acceleration          (7), (15) */
    double z_minus[6];      /* predicted state                                      (36) */
    double P_minus[36];     /* articulated inertia, predicted error covariance      (37) */
    double D[36];           /* nv x nv  joint axis inertia, innovation covariance   (38), (57) */
    double gain[36];        /* 6 x nv  Kalman gain G                                (39) */
    double tau[6];          /* nv  measurement                                      (20) */
    double innovation[6];   /* nv  e-                                               (40) */
    double z_plus[6];       /* filtered state                                       (41) */
    double residual[6];     /* nv  e+ = D^-1 e-                                     (42) */
    double P_plus[36];      /* updated error covariance                             (43) */
    double lambda_plus[6];  /* costate: spatial acceleration of the parent's side   (45) */
    double acceleration[6]; /* nv  a, of the joint                                  (46) */
    double lambda_minus[6]; /* costate: spatial acceleration of the body            (47) */
    double x_minus[6];      /* state: force through the joint, z- + P- lambda-      (34) */
    double x_plus[6];       /* z+ + P+ lambda+                                      (34), (17) */
} soa_smoothed;
/* body: 1 to n. */
SOA_API soa_status soa_smoother_read(const soa_model *model, const soa_work *work, int body,
                                     soa_smoothed *out);
/* Covariances after the smoother, 6 x 6 each, any may be NULL: of the costates, Delta+ (81) and
 * Delta- (82), and of the error of the smoothed state, S = P - P Delta P (65), the same on both
 * sides of the joint (exact rotors: that of the parent's side, and no covariance).  Delta- is the
 * compliance of the body in the whole machine, J M^-1 J' of its own frame.  The first call after
 * soa_smoother costs O(n), others O(1). */
SOA_API soa_status soa_smoother_covariance(const soa_model *model, soa_work *work, int body,
                                           double *delta_plus, double *delta_minus, double *S);

/* R87 (69), (70): joint accelerations due to joint moments, bias forces and bias accelerations, in
 * O(n).  Their sum is soa_aba's qdd.  Reads q, v, tau, wrenches.  All three results are needed.
 *   a1  applied torques less friction and springs
 *   a2  forces V x* M V, wrenches, weight (R87 counts gravity among the forces (7)), rotors'
 *       gyroscopic couples
 *   a3  accelerations V x H'v and the apparent rate of H' */
SOA_API soa_status soa_acceleration_parts(const soa_model *model, soa_work *work,
                                          const soa_input *input, double *a1, double *a2,
                                          double *a3);

/* R87 (23) to (31): the closed sums over transition matrices phi(k, j), each taken from (2) and the
 * bodies' poses, not by recursion: a check of soa_rnea and soa_crba.  Reads q, v, a, wrenches.  Any
 * output may be NULL.  O(n d).
 *   lambda  6 per body  (23), with gravity as a base acceleration
 *   x       6 per body  (24)
 *   mass    nv x nv     m(k, i) = H r(k, i) H'  (28), (30)
 *   bias    nv          V^k  (31), gravity and wrenches included
 *   tau     nv          (20) of x, plus friction and springs; = mass a + bias + friction and
 *           springs  (30) */
SOA_API soa_status soa_inverse_sums(const soa_model *model, soa_work *work, const soa_input *input,
                                    double *x, double *lambda, double *mass, double *bias,
                                    double *tau);

/* R87 (16) to (21): the two-point boundary problem.  Of the four six-vectors at its ends two are
 * given, by or-ing: */
enum {
    SOA_BASE_ACCELERATION = 1, /* of the base link, spatial, without gravity; zero: the base
                                * stands */
    SOA_BASE_FORCE = 2,        /* what surroundings exert on the base link; zero: the base floats */
    SOA_TIP_FORCE = 4,         /* what surroundings exert on the tip; zero: the tip is free */
    SOA_TIP_ACCELERATION = 8   /* of the tip, spatial, without gravity */
};
/* base vectors: world axes, at the world's origin, where the base link is at this instant.  tip
 * vectors: the tip frame's axes and origin.  All zero is R87 (21): standing base, free tip. */
typedef struct soa_boundary {
    int given;               /* two of the above; 0 means SOA_BASE_ACCELERATION | SOA_TIP_FORCE;
                              * stays as it is */
    bool torques;            /* false: joint accelerations are given, torques found (inverse
                              * dynamics); true: the converse */
    int tip;                 /* frame of the tip; 0 (the world): none, with SOA_TIP_FORCE only */
    double base_velocity[6]; /* of the base link */
    double base_inertia[10]; /* of the base link, about its origin: m, m c, I xx yy zz xy xz yz;
                              * zero: none */
    /* two given, two found */
    double base_acceleration[6], base_force[6], tip_force[6], tip_acceleration[6];
} soa_boundary;
/* Reads q, v, wrenches.  given: nv joint accelerations or torques (NULL: zero); found: the other.
 * x (forces through the joints) and lambda (true spatial accelerations): 6 per body, may be NULL.
 * Wrenches on frames of the world are left out: use base_force.
 *   accelerations given  every pair but base and tip acceleration, which exclude each other
 *                        (SOA_E_ARGUMENT)
 *   torques given        SOA_BASE_... with SOA_TIP_...; a tip acceleration needs a tip that can
 *                        move in all six directions (SOA_E_SINGULAR).  Models with mimic joints are
 *                        refused (SOA_E_MIMIC).
 * A floating base without inertia of its own or of what it carries is SOA_E_SINGULAR.  O(n). */
SOA_API soa_status soa_boundary_problem(const soa_model *model, soa_work *work,
                                        const soa_input *input, const double *given,
                                        soa_boundary *ends, double *found, double *x,
                                        double *lambda);

/* --- inertia updates: R87 (43), (50), (51) ---------------------------------------------------- */
/* Ways to carry an inertia over a joint (update) and to the parent (propagation); equal but for
 * rounding. */
typedef enum soa_inertia_update {
    SOA_UPDATE_43,    /* P+ = P - (P H') D^-1 (H P), both products formed, as printed */
    SOA_UPDATE_43_U,  /* P+ = P - U D^-1 U', U = P H' formed once: what fast codes do */
    SOA_UPDATE_50,    /* P+ = (I - G H) P */
    SOA_UPDATE_50_T,  /* P+ = P (I - G H)' */
    SOA_UPDATE_51,    /* P+ = (I - G H) P (I - G H)' + G R G', R the reflected rotor inertia */
    SOA_UPDATE_84,    /* (84): mass, mass centre and inertia as 3 x 3 blocks, 21 parameters */
    SOA_COMPOSITE_29, /* r of (29): no update, all joints locked; composite inertia */
    SOA_COMPOSITE_33, /* (33): the same in 10 parameters, mass, mass centre and inertia, as
                       * printed */
    SOA_UPDATE_COUNT
} soa_inertia_update;
typedef enum soa_storage {
    SOA_STORAGE_FULL,     /* all 36 numbers of every matrix are computed: nothing keeps P
                           * symmetric */
    SOA_STORAGE_SYMMETRIC /* the 21 on and above the diagonal */
} soa_storage;
/* P of a body (R87's P-, predicted; 36 numbers, body axes, about its joint) at q by that way, in
 * plain 6 x 6 code that shares nothing with soa_aba.  body 0: what the base feels.  storage is
 * ignored by (84) and (33), whose parameters are 21 and 10.  O(n). */
SOA_API soa_status soa_articulated_inertia(const soa_model *model, soa_work *work, const double *q,
                                           soa_inertia_update update, soa_storage storage, int body,
                                           double P[36]);

/* --- diagonalised equations of motion: RJK91 section 6 ---------------------------------------- */
/* M = m m*, m = (I + H phi K) D^1/2: RJK91 (11) to (13).  D^1/2 is the square root of D, or its
 * Cholesky factor C (lower triangle, D = C C') where a joint has several degrees of freedom.
 * Models with mimic joints: SOA_E_MIMIC. */
typedef enum soa_factor {
    SOA_FACTOR_L,                   /* I + H phi K                 inward  */
    SOA_FACTOR_L_ADJOINT,           /* (I + H phi K)*              outward */
    SOA_FACTOR_L_INVERSE,           /* I - H psi K                 inward  */
    SOA_FACTOR_L_INVERSE_ADJOINT,   /* (I - H psi K)*              outward */
    SOA_FACTOR_ROOT,                /* D^1/2 = C                   joint by joint, as the next
                                     * three */
    SOA_FACTOR_ROOT_ADJOINT,        /* C*                                  */
    SOA_FACTOR_ROOT_INVERSE,        /* D^-1/2 = C^-1                       */
    SOA_FACTOR_ROOT_INVERSE_ADJOINT /* C*^-1                               */
} soa_factor;
/* y = (factor at q) x, nv numbers each, neither NULL; y may be x.  O(n). */
SOA_API soa_status soa_mass_factor_mul(const soa_model *model, soa_work *work, const double *q,
                                       soa_factor factor, const double *x, double *y);

/* The equations of motion in residual rates nu:  nu' + mu(q, nu) = eps,  kinetic energy nu.nu / 2,
 *     nu.mu = 0. nu = D^1/2* (I + H phi K)* v         mu is quadratic in nu         eps = D^-1/2 (I
 *     - H psi K) T
 * T is every torque: tau, gravity, springs, friction at v, and J' wrenches.  Inputs and outputs
 * must not overlap; nu must be given, v and tau NULL are zero.  Models with mimic joints:
 * SOA_E_MIMIC.  O(n) each. */
SOA_API soa_status soa_nu_from_v(const soa_model *model, soa_work *work, const double *q,
                                 const double *v, double *nu);
SOA_API soa_status soa_nu_to_v(const soa_model *model, soa_work *work, const double *q,
                               const double *nu, double *v);
SOA_API soa_status soa_nu_bias(const soa_model *model, soa_work *work, const double *q,
                               const double *nu, double *mu);
SOA_API soa_status soa_nu_force(const soa_model *model, soa_work *work, const soa_input *input,
                                double *eps);
/* Reads q, tau, wrenches (v follows from nu): nu' = eps - mu, and the v of this nu (q' follows from
 * it, soa_q_rate): all an integrator of (q, nu) needs. */
SOA_API soa_status soa_nu_rate(const soa_model *model, soa_work *work, const soa_input *input,
                               const double *nu, double *v, double *nu_rate);

/* --- Jacobian products and inverse kinematics: RJK91 section 2 -------------------------------- */
/* J J* of `count` frames, 6 count x 6 count, each frame's rows in world axes or its own: the
 * recursion (20) for Omega with D = 1 and phi for psi.  count >= 1.  O(n), then O(d) for each pair
 * of frames. */
SOA_API soa_status soa_jjt(const soa_model *model, soa_work *work, const double *q,
                           const int *frames, int count, soa_axes axes, double *JJt);

/* J*J is the mass matrix of the same tree with massless links and a ball at each tip: mass 1,
 * inertia 1.  So the sweeps for mass matrices serve it and its inverse.  Weights: a ball of mass
 * linear^2 and inertia angular^2; zero leaves those rows of J out.  Damping adds damping^2 to the
 * diagonal, as a rotor would. */
typedef struct soa_tip {
    int frame;
    double angular, linear; /* weights, 0 to 1e6 */
} soa_tip;

/* Room for these calls and for inverse kinematics, in place of a soa_work; one per thread.  Aligned
 * to 64 bytes, else SOA_E_MEMORY.  The model must outlive it. */
typedef struct soa_tip_work soa_tip_work;
SOA_API size_t soa_tip_work_size(const soa_model *model);
SOA_API soa_status soa_tip_work_init(const soa_model *model, void *memory, size_t size,
                                     soa_tip_work **work);
SOA_API soa_status soa_tip_work_create(const soa_model *model, soa_tip_work **work);
SOA_API void soa_tip_work_free(soa_tip_work *work); /* only for soa_tip_work_create */
/* named by the last failure, or -1 */
SOA_API int soa_tip_work_failed_body(const soa_tip_work *work);

/* A = J*W^2 J + damping^2 1, nv x nv, O(n d); y = A^-1 x, O(n); A^-1, O(n^2).  SOA_E_SINGULAR where
 * A has lost rank: more degrees of freedom than rows, or a singular pose, without damping enough (0
 * to 1e6).  Models with mimic joints need damping > 0 for the inverses (SOA_E_MIMIC).  tips NULL
 * with 0: none.  y may be x. */
SOA_API soa_status soa_jtj(const soa_model *model, soa_tip_work *work, const double *q,
                           const soa_tip *tips, int count, double damping, double *A);
SOA_API soa_status soa_jtj_inverse_mul(const soa_model *model, soa_tip_work *work, const double *q,
                                       const soa_tip *tips, int count, double damping,
                                       const double *x, double *y);
SOA_API soa_status soa_jtj_inverse(const soa_model *model, soa_tip_work *work, const double *q,
                                   const soa_tip *tips, int count, double damping, double *inverse);

/* Inverse kinematics: q such that every tip's frame stands in its pose (in the world).
 * Levenberg-Marquardt steps on the configuration manifold, each by soa_jtj_inverse_mul's recursion,
 * O(n) a step.  Tips with angular = 0 want the position only.  Limits of joints with as many q as v
 * hold: the start is moved into them, and the answer is within them. */
typedef struct soa_ik_target {
    soa_tip tip;
    soa_frame pose;
} soa_ik_target;
typedef struct soa_ik_options { /* zeros: the defaults */
    int most_steps;             /* 200 */
    double tolerance;           /* 1e-9, of the residual */
    bool ignore_limits;
} soa_ik_options;
typedef struct soa_ik_result {
    double residual; /* root of the sum of squares of weighted errors: rotation vectors in rad,
                      * positions in m */
    int steps;
} soa_ik_result;
/* q is the start and, on SOA_OK, the answer.  SOA_E_NO_CONVERGENCE: q is the best found, its
 * residual in `result`: the limit of steps was reached, or no step lowers the residual (out of
 * reach, or a local minimum: another start may help).  On any other status q and result are as they
 * were: SOA_E_FRAME (a pose that is no rotation), SOA_E_ARGUMENT (no target; a frame that does not
 * move; two weights of 0; options below 0).  options, result may be NULL. */
SOA_API soa_status soa_inverse_kinematics(const soa_model *model, soa_tip_work *work,
                                          const soa_ik_target *targets, int count,
                                          const soa_ik_options *options, double *q,
                                          soa_ik_result *result);

/* --- global sparse forms: FO00 (23) to (29) --------------------------------------------------- */
/* Forward dynamics with the joints' constraint forces as unknowns, beside the accelerations of the
 * links or instead of them.  Forms for reading forces and for judging soa_aba;
 * docs/theory/constraint-forces.md.  Both write
 *
 *   qdd     nv numbers, as soa_aba, from q, v, tau, wrenches
 *   forces  6 per body (may be NULL): the whole force through the joint, as soa_joint_force after
 *           soa_rnea
 *   beta    6 - nv(joint) per body, one after the other in the order of the bodies (may be NULL):
 *           the components of that force that the joint takes up itself.  force = T beta + (what
 *           the joint's torque makes), T' H* = 0
 *
 * Memory: soa_fd_constraint_forces_size bytes, aligned as double (SOA_E_MEMORY); no allocation.
 * Friction, springs, reflected rotors and wrenches as in soa_aba; exact rotors (SOA_E_JOINT) and
 * mimic joints (SOA_E_MIMIC) are refused. */
SOA_API size_t soa_fd_constraint_forces_size(const soa_model *model);
/* (27): accelerations and constraint forces together, eliminated along the tree.  Any tree or
 * forest, any link inertias that soa_aba takes (massless inner links too).  O(n). */
SOA_API soa_status soa_fd_constraint_forces(const soa_model *model, soa_work *work, void *memory,
                                            size_t size, const soa_input *input, double *qdd,
                                            double *forces, double *beta);
/* (28): constraint forces alone, block tridiagonal on unbranched chains (and forests of them).
 * O(n).  SOA_E_BRANCHED for a body with two children, SOA_E_INERTIA for a link whose inertia has no
 * inverse; soa_work_failed_body names the body. */
SOA_API soa_status soa_fd_tridiagonal(const soa_model *model, soa_work *work, void *memory,
                                      size_t size, const soa_input *input, double *qdd,
                                      double *forces, double *beta);
/* T of `body`, 6 rows by 6 - nv(joint) columns, row by row in body axes, as the last of these two
 * calls on that memory used it (memory that none has used is not noticed): orthonormal columns, T'
 * H* = 0. */
SOA_API soa_status soa_fd_constraint_forces_basis(const soa_model *model, const void *memory,
                                                  int body, double *T);

/* --- divide and conquer ----------------------------------------------------------------------- */
/* Forward dynamics in O(log n) steps on as many cores: the machine is cut into segments, which are
 * put together pair by pair to articulated bodies with two handles (Featherstone 1999), level by
 * level of a balanced tree.  Trees and forests too: what branches off is put together first and
 * hangs on its body.  docs/theory/divide-and-conquer.md.
 *
 * libsoa has no threads of its own: the caller gives an executor, which calls task(data, i) for
 * every i from 0 to count - 1, in any order, at the same time or not, and returns when all are
 * done.  NULL: one after the other.  The answer has the same bits whatever the executor.
 * soa_openmp_parallel_for of soa/world.h is one. */
typedef void soa_parallel_task(void *data, int index);
typedef void soa_parallel_for(void *user, int count, soa_parallel_task *task, void *data);

typedef struct soa_divide soa_divide;
/* The segments of a model.  grain: bodies in a run that is not cut further.  1 for the shortest
 * critical path; about bodies / (threads + 1.5) for few threads, as a run costs less inside than
 * putting two together and the last of a path least.  Allocates; soa_divide_fd does not.  The model
 * must outlive it.  Exact rotors (SOA_E_JOINT) and mimic joints (SOA_E_MIMIC) are refused. */
SOA_API soa_status soa_divide_create(const soa_model *model, int grain, soa_divide **divide);
SOA_API void soa_divide_free(soa_divide *divide);
/* qdd of soa_aba, from q, v, tau, wrenches.  One call at a time per soa_divide.  user is handed to
 * run. */
SOA_API soa_status soa_divide_fd(soa_divide *divide, const soa_input *input, soa_parallel_for *run,
                                 void *user, double *qdd);
/* Body named by the last failed call, or -1. */
SOA_API int soa_divide_failed_body(const soa_divide *divide);

/* Operations of one call: additions, multiplications, divisions and roots; sines, checks and copies
 * left out. */
typedef struct soa_divide_count {
    int levels;      /* of the tree of segments; each of the four sweeps goes through all of them */
    int segments;    /* tasks of one sweep */
    double flops;    /* all */
    double critical; /* of the longest task of every level of every sweep: all that must follow one
                      * another */
    double aba;      /* of soa_aba's recursion in spatial accelerations, counted in the same way */
} soa_divide_count;
SOA_API soa_status soa_divide_operations(const soa_divide *divide, soa_divide_count *count);
/* Tasks of a level (0 the leaves), and operations of its longest task over the four sweeps; either
 * may be NULL. */
SOA_API soa_status soa_divide_level(const soa_divide *divide, int level, int *tasks,
                                    double *longest);

#ifdef __cplusplus
}
#endif
#endif
