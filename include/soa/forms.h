/* soa/forms.h  the same dynamics in the other forms of the papers, one function for each.
 *
 * soa/dynamics.h holds the functions that a controller or a simulation uses.  This header holds the
 * formulations that the papers derive: for checks of those functions, for readers of the papers,
 * and for other machines (many cores).  Conventions and signs are those of docs/notation.md.  NULL,
 * overlap and status are those of soa/dynamics.h; functions that form articulated inertias may
 * return SOA_E_HINGE_SINGULAR. */
#ifndef SOA_FORMS_H
#define SOA_FORMS_H

#include "soa/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- estimation: R87's filter, smoother and two-point boundary problem ------------------------ */
/* R87 (35) to (47): the recursion of soa_aba in spatial accelerations, as printed (soa_aba uses
 * classical ones).  All intermediate quantities are kept in the work space for the readers below,
 * until the next call that takes q; after that the readers return SOA_E_ORDER.  O(n). */
SOA_API soa_status soa_smoother(const soa_model *model, soa_work *work, const double *q,
                                const double *v, const double *tau, const soa_wrench *wrenches,
                                int wrench_count);

/* What the filter and the smoother know at the joint of a body, with the names of R87, in the axes
 * of that body, at its joint.  R87 counts from the tip: its k-1 are the children of the body, whose
 * contributions are added, and its k+1 is the parent.  "minus" is the side of the body, "plus" the
 * side of the parent, also in the axes of the body.  Of each array the first nv entries (nv x nv, 6
 * x nv) are used, row by row.
 *   - Gravity is a base acceleration: lambda_plus of a root body is -g, where (44) has zero.
 *   - tau is the torque minus friction and springs.  Mimic joints are independent joints here, with
 *     the torques that make them follow.
 *   - Reflected rotor inertia is R(k), the covariance of a measurement noise that R87 sets to zero
 *     after (57): D = H P- H' + R, and H P+ = R D^-1 H P- instead of zero.  An exact rotor also
 *     couples, gain = (P- H' + r) D^-1; then x_plus - x_minus is the couple [r a; 0] of the motor
 *     on its carrier.  Otherwise x_plus = x_minus (17).
 *   - Do not compare innovations across papers: FD1 and FD3 of RK88-I have one value, R87 and FD4
 *     another (this one), and FO00 a third (docs/notation.md). */
typedef struct soa_smoothed {
    int nv;
    double H[36];       /* nv x 6  state-to-output map  (20) */
    double b[6];        /* bias force minus wrenches  (7) */
    double n[6];        /* bias acceleration  (15) */
    double z_minus[6];  /* predicted state  (36) */
    double P_minus[36]; /* articulated inertia, covariance of the predicted error  (37) */
    /* nv x nv  inertia of the joint axis, innovation covariance  (38), (57) */
    double D[36];
    double gain[36];        /* 6 x nv  Kalman gain G  (39) */
    double tau[6];          /* nv  measurement  (20) */
    double innovation[6];   /* nv  e-  (40) */
    double z_plus[6];       /* filtered state  (41) */
    double residual[6];     /* nv  e+ = D^-1 e-  (42) */
    double P_plus[36];      /* covariance of the filtered error  (43) */
    double lambda_plus[6];  /* costate: spatial acceleration on the parent's side  (45) */
    double acceleration[6]; /* nv  a, of the joint  (46) */
    double lambda_minus[6]; /* costate: spatial acceleration of the body  (47) */
    double x_minus[6];      /* state: force through the joint, z- + P- lambda-  (34) */
    double x_plus[6];       /* z+ + P+ lambda+  (34), (17) */
} soa_smoothed;
/* body: 1 to n. */
SOA_API soa_status soa_smoother_read(const soa_model *model, const soa_work *work, int body,
                                     soa_smoothed *out);
/* Covariances after the smoother, 6 x 6 each; each may be NULL.  Of the costates: Delta+ (81) and
 * Delta- (82).  Of the error of the smoothed state: S = P - P Delta P (65), the same on both sides
 * of the joint (with an exact rotor: that of the parent's side, which is then not a covariance).
 * Delta- is the compliance of the body in the whole machine, J M^-1 J' of its frame.  The first
 * call after soa_smoother costs O(n), the others O(1). */
SOA_API soa_status soa_smoother_covariance(const soa_model *model, soa_work *work, int body,
                                           double *delta_plus, double *delta_minus, double *S);

/* Forces, wrenches and accelerations from noisy joint data, with covariances: the same filter and
 * smoother, with measurement noise R and process noise Q of the caller's choice.  What the robot
 * knows at one instant: q and v; torques and accelerations of its joints, each with a variance; and
 * wrenches on bodies, with a mean and a covariance.  The estimate is the one of least weighted
 * squares, which is the conditional mean if all errors are normal and independent:
 *     tau measured = true + normal(tau_variance)      a measured = true + normal(a_variance)
 *     unknown wrench = normal(mean, covariance)       equations of motion: exact
 * A struct with q, v, tau alone is forward dynamics: torques are exact (variance 0), accelerations
 * are not measured (variance infinite).  docs/theory/estimation.md. */
typedef struct soa_unknown_wrench {
    int frame; /* of a moving body; the wrench acts at its origin */
    soa_axes axes;
    double mean[6]; /* [n; f] */
    /* 6 x 6, symmetric, positive semi-definite; zero rows: this component is known */
    double covariance[36];
} soa_unknown_wrench;
typedef struct soa_estimator_input {
    const double *q;            /* nq; NULL: neutral */
    const double *v;            /* nv; NULL: zero */
    const double *tau;          /* nv, measured torques; NULL: zero */
    const double *tau_variance; /* nv, 0 to INFINITY (not measured); NULL: exact */
    const double *a;            /* nv, measured accelerations; NULL: zero */
    const double *a_variance;   /* nv, 0 (exact) to INFINITY; NULL: not measured */
    const soa_wrench *wrenches; /* known ones */
    int wrench_count;
    const soa_unknown_wrench *unknowns;
    int unknown_count;
} soa_estimator_input;
/* If the variances are right, chi_square of many measurements has the chi-square distribution with
 * `degrees` degrees of freedom: the number of measured torques minus that of accelerations that are
 * not measured. */
typedef struct soa_estimator_result {
    double chi_square;
    int degrees;
} soa_estimator_result;
/* One body, in its axes, at its joint.  Of arrays for the joint the first nv (nv x nv) entries. */
typedef struct soa_estimate {
    int nv;
    double acceleration[6]; /* of the joint */
    double acceleration_covariance[36];
    double torque[6]; /* of the joint, without the error of its measurement */
    double torque_covariance[36];
    /* Measured torque minus its prediction from the measurements outboard, while the joints inboard
     * accelerate as measured, and the covariance of that: with exact accelerations R87 (40), (57)
     * with R.  The covariance is infinite if an acceleration of the joint is not measured. */
    double innovation[6];
    double innovation_covariance[36];
    double force[6]; /* through the joint, x of R87 */
    double force_covariance[36];
    double lambda[6]; /* spatial acceleration of the body minus gravity */
    double lambda_covariance[36];
    double wrench[6]; /* of the surroundings on the body: the known ones and the unknown ones */
    double wrench_covariance[36];
} soa_estimate;
/* Memory must be aligned to 64 bytes, else SOA_E_MEMORY.  The model must outlive it.  Models with
 * mimic joints: SOA_E_MIMIC.  One per thread. */
typedef struct soa_estimator soa_estimator;
SOA_API size_t soa_estimator_size(const soa_model *model);
SOA_API soa_status soa_estimator_init(const soa_model *model, void *memory, size_t size,
                                      soa_estimator **estimator);
SOA_API soa_status soa_estimator_create(const soa_model *model, soa_estimator **estimator);
SOA_API void soa_estimator_free(soa_estimator *estimator); /* only for soa_estimator_create */
/* work: of the same model.  result may be NULL.  No allocation, O(n).
 *   SOA_E_ARGUMENT  a negative variance or NaN; a covariance that is none; a frame of the world
 *   SOA_E_SINGULAR  at soa_estimator_failed_body: the torque of its joint is exact and follows
 *                   exactly from what is known outboard, or its acceleration follows from nothing.
 *                   Give more variance, or measure it. */
SOA_API soa_status soa_estimator_update(soa_estimator *estimator, soa_work *work,
                                        const soa_estimator_input *input,
                                        soa_estimator_result *result);
/* body: 1 to n.  SOA_E_ORDER before a successful update.  O(1). */
SOA_API soa_status soa_estimator_read(const soa_estimator *estimator, int body, soa_estimate *out);
/* One of the unknown wrenches that the update was given: its estimate, in its frame and axes, and
 * the covariance of that (NULL: not wanted). */
SOA_API soa_status soa_estimator_wrench(const soa_estimator *estimator,
                                        const soa_unknown_wrench *unknown, double value[6],
                                        double covariance[36]);
/* The body at fault in the last failed update, or -1. */
SOA_API int soa_estimator_failed_body(const soa_estimator *estimator);

/* R87 (69), (70): joint accelerations due to joint moments, bias forces and bias accelerations,
 * O(n).  Their sum is qdd of soa_aba.  Reads q, v, tau, wrenches.  All three results are needed.
 *   a1  applied torques minus friction and springs
 *   a2  forces V x* M V, wrenches, weight (R87 counts gravity among the forces (7)), gyroscopic
 *       couples of rotors
 *   a3  accelerations V x H'v and the apparent rate of H' */
SOA_API soa_status soa_acceleration_parts(const soa_model *model, soa_work *work,
                                          const soa_input *input, double *a1, double *a2,
                                          double *a3);

/* R87 (23) to (31): the closed sums over transition matrices phi(k, j), which are taken from (2)
 * and the poses of the bodies, not by recursion.  They check soa_rnea and soa_crba.  Reads q, v, a,
 * wrenches.  Each output may be NULL.  O(n d).
 *   lambda  6 per body  (23), with gravity as a base acceleration
 *   x       6 per body  (24)
 *   mass    nv x nv     m(k, i) = H r(k, i) H'  (28), (30)
 *   bias    nv          V^k  (31), with gravity and wrenches
 *   tau     nv          (20) of x, plus friction and springs; equals mass a + bias + friction and
 *           springs  (30) */
SOA_API soa_status soa_inverse_sums(const soa_model *model, soa_work *work, const soa_input *input,
                                    double *x, double *lambda, double *mass, double *bias,
                                    double *tau);

/* R87 (16) to (21): the two-point boundary problem.  It has four six-vectors at its ends, of which
 * two are given.  Combine two of these with |: */
enum {
    SOA_BASE_ACCELERATION = 1, /* of the base link, spatial, without gravity; zero: a fixed base */
    SOA_BASE_FORCE = 2,        /* of the surroundings on the base link; zero: a floating base */
    SOA_TIP_FORCE = 4,         /* of the surroundings on the tip; zero: a free tip */
    SOA_TIP_ACCELERATION = 8   /* of the tip, spatial, without gravity */
};
/* Base vectors are in world axes at the origin of the world, where the base link is at this
 * instant. Tip vectors are in the axes of the tip frame at its origin.  All zero is R87 (21): fixed
 * base, free tip. */
typedef struct soa_boundary {
    /* two of the above; 0 means SOA_BASE_ACCELERATION | SOA_TIP_FORCE; not changed */
    int given;
    /* false: joint accelerations are given, torques are found (inverse dynamics); true: the
     * converse */
    bool torques;
    int tip;                 /* frame of the tip; 0 (the world): no tip, with SOA_TIP_FORCE only */
    double base_velocity[6]; /* of the base link */
    /* Of the base link about its origin: m, m c, I xx yy zz xy xz yz; zero: no inertia */
    double base_inertia[10];
    /* Two of these are given, two are found. */
    double base_acceleration[6];
    double base_force[6];
    double tip_force[6];
    double tip_acceleration[6];
} soa_boundary;
/* Reads q, v, wrenches.  given: nv joint accelerations or torques (NULL: zero); found: the others.
 * x (forces through the joints) and lambda (true spatial accelerations): 6 per body, may be NULL.
 * Wrenches on frames of the world are ignored; use base_force.
 *   accelerations given  every pair except base and tip acceleration, which exclude each other
 *                        (SOA_E_ARGUMENT)
 *   torques given        SOA_BASE_... with SOA_TIP_...; a tip acceleration needs a tip that can
 *                        move in all six directions (SOA_E_SINGULAR).  Models with mimic joints are
 *                        refused (SOA_E_MIMIC).
 * SOA_E_SINGULAR: a floating base without inertia that carries nothing with inertia.  O(n). */
SOA_API soa_status soa_boundary_problem(const soa_model *model, soa_work *work,
                                        const soa_input *input, const double *given,
                                        soa_boundary *ends, double *found, double *x,
                                        double *lambda);

/* --- inertia updates: R87 (43), (50), (51) ---------------------------------------------------- */
/* Formulas that carry an inertia over a joint (update) and to the parent (propagation).  They are
 * equal except for rounding. */
typedef enum soa_inertia_update {
    SOA_UPDATE_43,      /* P+ = P - (P H') D^-1 (H P), both products formed, as printed */
    SOA_UPDATE_43_U,    /* P+ = P - U D^-1 U', U = P H' formed once, as fast codes do */
    SOA_UPDATE_50,      /* P+ = (I - G H) P */
    SOA_UPDATE_50_T,    /* P+ = P (I - G H)' */
    SOA_UPDATE_51,      /* P+ = (I - G H) P (I - G H)' + G R G', R the reflected rotor inertia */
    SOA_UPDATE_43_ZERO, /* the same, and then H P+ = 0 is set (not where there is a rotor) */
    /* P = U diag(d) U', its factors carried instead of P; exact rotors: SOA_E_JOINT */
    SOA_UPDATE_UD,
    SOA_UPDATE_84,    /* (84): mass, mass centre and inertia as 3 x 3 blocks, 21 parameters */
    SOA_COMPOSITE_29, /* r of (29): composite inertia, all joints locked, no update */
    /* (33): the same in 10 parameters, mass, mass centre and inertia, as printed */
    SOA_COMPOSITE_33,
    SOA_UPDATE_COUNT
} soa_inertia_update;
typedef enum soa_storage {
    /* all 36 numbers of every matrix are computed; nothing keeps P symmetric */
    SOA_STORAGE_FULL,
    SOA_STORAGE_SYMMETRIC /* the 21 on and above the diagonal */
} soa_storage;
/* P of a body at q by the chosen formula: P- of R87, predicted, 36 numbers, body axes, about its
 * joint.  Plain 6 x 6 code that shares nothing with soa_aba.  body 0: the inertia that the base
 * feels.  storage is ignored by UD, (84) and (33), which
 * have 21, 21 and 10 parameters.  O(n). */
SOA_API soa_status soa_articulated_inertia(const soa_model *model, soa_work *work, const double *q,
                                           soa_inertia_update update, soa_storage storage, int body,
                                           double P[36]);

/* --- square-root filter: forward dynamics with factored inertias ------------------------------ */
/* qdd of soa_aba from q, v, tau, wrenches, with the articulated inertias carried as P = U diag(d) U*
 * (unit triangular, positive weights), so that nothing is subtracted from an inertia:
 * docs/theory/inertia-updates.md.  For heavy loads on light links, where soa_aba loses about as many
 * digits as the ratio of masses has, and for single precision.  2.5 times the operations of soa_aba and
 * about six times its time.
 * Trees with every type of joint, friction, springs, reflected rotors; exact rotors (SOA_E_JOINT)
 * and mimic joints (SOA_E_MIMIC) are refused.  O(n). */
SOA_API soa_status soa_fd_ud(const soa_model *model, soa_work *work, const soa_input *input,
                             double *qdd);
/* The same in single precision; arguments as soa_aba_f (q is needed).  The factors of the links'
 * inertias are made in double, once, and rounded. */
SOA_API soa_status soa_fd_ud_f(const soa_model *model, soa_work *work, const float *q,
                               const float *v, const float *tau, const float *fext, float *qdd);

/* --- diagonalised equations of motion: RJK91 section 6 ---------------------------------------- */
/* M = m m*, m = (I + H phi K) D^1/2: RJK91 (11) to (13).  D^1/2 is the square root of D, or its
 * Cholesky factor C (lower triangle, D = C C') for a joint with several degrees of freedom.  Models
 * with mimic joints: SOA_E_MIMIC. */
typedef enum soa_factor {
    SOA_FACTOR_L,                   /* I + H phi K, inward */
    SOA_FACTOR_L_ADJOINT,           /* (I + H phi K)*, outward */
    SOA_FACTOR_L_INVERSE,           /* I - H psi K, inward */
    SOA_FACTOR_L_INVERSE_ADJOINT,   /* (I - H psi K)*, outward */
    SOA_FACTOR_ROOT,                /* D^1/2 = C, as the next three: joint by joint */
    SOA_FACTOR_ROOT_ADJOINT,        /* C* */
    SOA_FACTOR_ROOT_INVERSE,        /* D^-1/2 = C^-1 */
    SOA_FACTOR_ROOT_INVERSE_ADJOINT /* C*^-1                               */
} soa_factor;
/* y = (factor at q) x, nv numbers each; both are needed, and y may be x.  O(n). */
SOA_API soa_status soa_mass_factor_mul(const soa_model *model, soa_work *work, const double *q,
                                       soa_factor factor, const double *x, double *y);

/* The equations of motion in residual rates nu:
 *     nu' + mu(q, nu) = eps,   kinetic energy nu.nu / 2,   nu.mu = 0
 *     nu = D^1/2* (I + H phi K)* v,   mu quadratic in nu,   eps = D^-1/2 (I - H psi K) T
 * T contains all torques: tau, gravity, springs, friction at v, and J' wrenches.  Inputs and
 * outputs must not overlap.  nu is needed; v and tau are zero if NULL.  Models with mimic joints:
 * SOA_E_MIMIC.  O(n) each. */
SOA_API soa_status soa_nu_from_v(const soa_model *model, soa_work *work, const double *q,
                                 const double *v, double *nu);
SOA_API soa_status soa_nu_to_v(const soa_model *model, soa_work *work, const double *q,
                               const double *nu, double *v);
SOA_API soa_status soa_nu_bias(const soa_model *model, soa_work *work, const double *q,
                               const double *nu, double *mu);
SOA_API soa_status soa_nu_force(const soa_model *model, soa_work *work, const soa_input *input,
                                double *eps);
/* nu' = eps - mu, and the v of this nu, from which q' follows (soa_q_rate): what an integrator of
 * (q, nu) needs.  Reads q, tau, wrenches; v of the input is ignored, it follows from nu. */
SOA_API soa_status soa_nu_rate(const soa_model *model, soa_work *work, const soa_input *input,
                               const double *nu, double *v, double *nu_rate);

/* --- Jacobian products and inverse kinematics: RJK91 section 2 -------------------------------- */
/* J J* of `count` frames (count >= 1), 6 count x 6 count, the rows of each frame in world axes or
 * in its own axes.  Recursion (20) for Omega with D = 1 and phi instead of psi.  O(n), then O(d)
 * for each pair of frames. */
SOA_API soa_status soa_jjt(const soa_model *model, soa_work *work, const double *q,
                           const int *frames, int count, soa_axes axes, double *JJt);

/* J*J is the mass matrix of the same tree with massless links and a ball at each tip, of mass 1 and
 * inertia 1.  So the sweeps for mass matrices compute it and its inverse.  With weights, the ball
 * has mass linear^2 and inertia angular^2; a zero weight leaves those rows of J out.  Damping adds
 * damping^2 to the diagonal, like a rotor. */
typedef struct soa_tip {
    int frame;
    double angular; /* weights, 0 to 1e6 */
    double linear;
} soa_tip;

/* Redundancy as observability (R87 section XIV): what the tip can do, from J = U S V' of its frame,
 * with its rows weighted by `angular` and `linear` of the tip.
 *   singular    S, descending.  With weights 1: how fast the tip moves along directions[i] for joint
 *               rates along joints[i], and how large a force along it the torques feel.
 *   directions  U: row i, [angular; linear] in the axes asked for.  From `rank` on: the tip cannot
 *               move along it, and wrenches along it are held by the bearings, without torques.
 *   gramian     J J*: the observability Gramian of the tip's force.
 * Singular values are accurate to rounding of the largest, not to its root as the eigenvalues of the
 * Gramian are; those above 1e-10 of the largest count in the rank. */
typedef struct soa_observability_result {
    int rank;
    int redundant; /* nv - rank */
    double singular[6];
    double directions[36];
    double gramian[36];
} soa_observability_result;
/* joints: 6 x nv, row i is row i of V', zero from `rank` on.  redundant: nv x nv or NULL; its first
 * nv - rank rows are an orthonormal basis of the joint rates that leave the tip at rest.  Both are
 * in the coordinates of v.  O(n), with `redundant` O(n^2).  Kinematics in the work space are lost. */
SOA_API soa_status soa_observability(const soa_model *model, soa_work *work, const double *q,
                                     const soa_tip *tip, soa_axes axes,
                                     soa_observability_result *out, double *joints,
                                     double *redundant);
/* The Gramians of R87's system along the chain, 36 numbers per body, in its axes about its joint;
 * either may be NULL.  O(n).  Models with mimic joints: SOA_E_MIMIC.
 *   observability    O(k) = phi* O(parent) phi + H*H: of a force on body k by the torques of its
 *                    joint and those inboard; J J* of the body
 *   controllability  C(k) = phi C(child) phi* from C = W^2 at the tip: of the force at joint k by
 *                    forces at the tip; zero beside the path.  tip is not read if this is NULL.
 * The eigenvalues of O(k) C(k) are the squares of the singular values of the tip's Jacobian with all
 * joints outboard of k locked: where along the arm its abilities come from. */
SOA_API soa_status soa_observability_gramians(const soa_model *model, soa_work *work,
                                              const double *q, const soa_tip *tip,
                                              double *observability, double *controllability);

/* The work space of these functions and of inverse kinematics, in place of a soa_work; one per
 * thread.  Memory must be aligned to 64 bytes, else SOA_E_MEMORY.  The model must outlive it. */
typedef struct soa_tip_work soa_tip_work;
SOA_API size_t soa_tip_work_size(const soa_model *model);
SOA_API soa_status soa_tip_work_init(const soa_model *model, void *memory, size_t size,
                                     soa_tip_work **work);
SOA_API soa_status soa_tip_work_create(const soa_model *model, soa_tip_work **work);
SOA_API void soa_tip_work_free(soa_tip_work *work); /* only for soa_tip_work_create */
/* The body at fault in the last failed call, or -1. */
SOA_API int soa_tip_work_failed_body(const soa_tip_work *work);

/* A = J*W^2 J + damping^2 1 (nv x nv, O(n d)); y = A^-1 x (O(n)); A^-1 (O(n^2)).  damping: 0 to
 * 1e6.  SOA_E_SINGULAR: A has lost rank, because there are more degrees of freedom than rows or the
 * pose is singular, and there is not enough damping.  Models with mimic joints need damping > 0 for
 * the inverses (SOA_E_MIMIC).  tips NULL with count 0: none.  y may be x. */
SOA_API soa_status soa_jtj(const soa_model *model, soa_tip_work *work, const double *q,
                           const soa_tip *tips, int count, double damping, double *A);
SOA_API soa_status soa_jtj_inverse_mul(const soa_model *model, soa_tip_work *work, const double *q,
                                       const soa_tip *tips, int count, double damping,
                                       const double *x, double *y);
SOA_API soa_status soa_jtj_inverse(const soa_model *model, soa_tip_work *work, const double *q,
                                   const soa_tip *tips, int count, double damping, double *inverse);

/* Inverse kinematics: a q for which the frame of every tip has its wanted pose in the world.  Each
 * step is a Levenberg-Marquardt step on the configuration manifold, by the recursion of
 * soa_jtj_inverse_mul, O(n).  For a tip with angular = 0 only the position counts.  Limits of
 * joints with nq = nv are kept: the start is moved into them, and the answer is within them. */
typedef struct soa_ik_target {
    soa_tip tip;
    soa_frame pose;
} soa_ik_target;
/* Zeros are the defaults. */
typedef struct soa_ik_options {
    int most_steps;   /* 0: 200 */
    double tolerance; /* of the residual; 0: 1e-9 */
    bool ignore_limits;
} soa_ik_options;
typedef struct soa_ik_result {
    /* root of the sum of squares of the weighted errors: rotation vectors in rad, positions in m */
    double residual;
    int steps;
} soa_ik_result;
/* q is the start and, on SOA_OK, the answer.  SOA_E_NO_CONVERGENCE: q is the best that was found,
 * with its residual in `result`; either the limit of steps was reached, or no step lowers the
 * residual (the poses are out of reach, or it is a local minimum, and another start may help).  On
 * any other status q and result are unchanged: SOA_E_FRAME (a pose is not a rotation),
 * SOA_E_ARGUMENT (no target; a frame that does not move; two weights of 0; options below 0).
 * options and result may be NULL. */
SOA_API soa_status soa_inverse_kinematics(const soa_model *model, soa_tip_work *work,
                                          const soa_ik_target *targets, int count,
                                          const soa_ik_options *options, double *q,
                                          soa_ik_result *result);

/* --- global sparse forms: FO00 (23) to (29) --------------------------------------------------- */
/* Forward dynamics in which the constraint forces of the joints are unknowns, together with the
 * accelerations of the links or alone.  For reading these forces, and as a check of soa_aba;
 * docs/theory/constraint-forces.md.  Both functions write
 *
 *   qdd     nv numbers, as soa_aba, from q, v, tau, wrenches
 *   forces  6 per body (may be NULL): the whole force through the joint, as soa_joint_force after
 *           soa_rnea
 *   beta    6 - nv(joint) per body, one after the other in the order of the bodies (may be NULL):
 *           the components of that force that the joint itself bears.
 *           force = T beta + (what the torque of the joint contributes), T' H* = 0
 *
 * Memory: soa_fd_constraint_forces_size bytes, aligned as double (SOA_E_MEMORY).  No allocation.
 * Friction, springs, reflected rotors and wrenches as in soa_aba.  Exact rotors (SOA_E_JOINT) and
 * mimic joints (SOA_E_MIMIC) are refused. */
SOA_API size_t soa_fd_constraint_forces_size(const soa_model *model);
/* (27): accelerations and constraint forces together, eliminated along the tree.  Any tree or
 * forest, and any inertias that soa_aba accepts (also massless inner links).  O(n). */
SOA_API soa_status soa_fd_constraint_forces(const soa_model *model, soa_work *work, void *memory,
                                            size_t size, const soa_input *input, double *qdd,
                                            double *forces, double *beta);
/* (28): constraint forces alone, block tridiagonal, for unbranched chains and several of them.
 * O(n).  SOA_E_BRANCHED: a body has two children.  SOA_E_INERTIA: the inertia of a link has no
 * inverse.  soa_work_failed_body is that body. */
SOA_API soa_status soa_fd_tridiagonal(const soa_model *model, soa_work *work, void *memory,
                                      size_t size, const soa_input *input, double *qdd,
                                      double *forces, double *beta);
/* T of `body`, 6 rows by 6 - nv(joint) columns, row by row in body axes, as the last of these two
 * functions used it with this memory (memory that has not been used is not detected).  The columns
 * are orthonormal, T' H* = 0. */
SOA_API soa_status soa_fd_constraint_forces_basis(const soa_model *model, const void *memory,
                                                  int body, double *T);

/* --- two sweeps, from the base: RK88-I section 5 ---------------------------------------------- */
/* qdd of soa_aba from q, v, tau, wrenches, for unbranched chains and several of them, in one sweep
 * outward and one inward: R87's two-point boundary problem with its Riccati equation swept from the
 * base; docs/theory/two-sweep.md.  Friction, springs and rotors as in soa_aba.  O(n).
 *
 * compliance: J M^-1 J' (6 x 6, row by row) of `frame`, which must be on a last link, in its own
 * axes or in world axes: RJK91's Omega(0), which the outward sweep leaves.  NULL: not wanted, and
 * frame and axes are ignored.  World axes cost one more sweep.
 *
 * SOA_E_BRANCHED: a body carries more than one.  SOA_E_HINGE_SINGULAR: the hinge of a link does not
 * move that link's own inertia, or a link is lighter than about 1e-6 of what it carries.  Unlike
 * soa_aba, this call does not allow massless inner links without an armature, and light links cost
 * digits: about the square of the ratio.  SOA_E_MIMIC.  SOA_E_ARGUMENT also where the frame
 * is not on a last link.  soa_work_failed_body is the body. */
SOA_API soa_status soa_fd_two_sweep(const soa_model *model, soa_work *work, const soa_input *input,
                                    int frame, soa_axes axes, double *qdd, double *compliance);

/* --- divide and conquer ----------------------------------------------------------------------- */
/* Forward dynamics in O(log n) steps on as many cores.  The machine is cut into segments; pairs of
 * them are joined to articulated bodies with two handles (Featherstone 1999), level by level of a
 * balanced tree.  In trees and forests, a branch is assembled first and then attached to its body.
 * docs/theory/divide-and-conquer.md.
 *
 * libsoa creates no threads here.  The caller provides an executor, which calls task(data, i) for
 * every i from 0 to count - 1, in any order and possibly at the same time, and returns when all are
 * done.  NULL: one after the other.  The result has the same bits with every executor.
 * soa_openmp_parallel_for (soa/world.h) is one. */
typedef void soa_parallel_task(void *data, int index);
typedef void soa_parallel_for(void *user, int count, soa_parallel_task *task, void *data);

typedef struct soa_divide soa_divide;
/* The segments of a model.  grain: number of bodies in a run that is not cut further.  1 gives the
 * shortest critical path.  For few threads about bodies / (threads + 1.5) is good, because work
 * inside a run costs less than joining segments.  Allocates; soa_divide_fd does not.  The model
 * must outlive it.  Exact rotors (SOA_E_JOINT) and mimic joints (SOA_E_MIMIC) are refused. */
SOA_API soa_status soa_divide_create(const soa_model *model, int grain, soa_divide **divide);
SOA_API void soa_divide_free(soa_divide *divide);
/* qdd of soa_aba, from q, v, tau, wrenches.  One call at a time per soa_divide.  `user` is passed
 * to `run`. */
SOA_API soa_status soa_divide_fd(soa_divide *divide, const soa_input *input, soa_parallel_for *run,
                                 void *user, double *qdd);
/* The body at fault in the last failed call, or -1. */
SOA_API int soa_divide_failed_body(const soa_divide *divide);

/* Operations of one call: additions, multiplications, divisions and roots; without sines, checks
 * and copies. */
typedef struct soa_divide_count {
    /* Of the tree of segments; each of the four sweeps passes through all of them */
    int levels;
    int segments; /* tasks of one sweep */
    double flops; /* of all tasks */
    /* Of the longest task of every level of every sweep: they must follow one another */
    double critical;
    /* Of the recursion of soa_aba in spatial accelerations, counted in the same way */
    double aba;
} soa_divide_count;
SOA_API soa_status soa_divide_operations(const soa_divide *divide, soa_divide_count *count);
/* Number of tasks of a level (0: the leaves), and operations of its longest task in the four
 * sweeps; either may be NULL. */
SOA_API soa_status soa_divide_level(const soa_divide *divide, int level, int *tasks,
                                    double *longest);

#ifdef __cplusplus
}
#endif
#endif
