/* soa/control.h  control laws, paths and the supervisor that switches them: the same code in
 *                simulation and on a robot.
 *
 * A law is a plain function of a soa_control (the controller's estimate of the machine with room to
 * compute in), the measured (q, v) and what is wanted; it writes torques of nv numbers, zero where
 * the law does not drive.  The model may hold other things than the robot, e.g. a floating
 * satellite as a second root: only some coordinates are driven.  Nothing allocates but create;
 * nothing is clamped unless told.  Inputs are checked; on any status but SOA_OK nothing is written.
 * Outputs must not overlap inputs.  docs/theory/control.md.
 *   NULL     Pointers are needed, q and v too, unless the text says otherwise; no wrenches: NULL
 *            with a count of 0.
 *   status   Those of soa/dynamics.h; SOA_E_FRAME: a goal or pose that is no rotation, or not
 *            finite; SOA_E_ARGUMENT: also gains, bounds or times below 0; SOA_E_SINGULAR: what
 *            nobody drives, or a task, moves no inertia.  The body at fault:
 *            soa_work_failed_body(soa_control_work(control)). */
#ifndef SOA_CONTROL_H
#define SOA_CONTROL_H

#include "soa/grasp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- machines with loops ---------------------------------------------------------------------- */
/* With soa_control_def.constraints the laws compute with the closed machine.  The loops make some
 * coordinates follow the others: of those that nobody drives first, then of those that others
 * drive, then of own ones that are not primary.  Own coordinates that follow get no torque and no
 * feedback.
 *   joint PD, impedance, PASSIVE coordination, soa_control_compensation (a must be NULL): tau =
 *   E*rho of WD89 inverse dynamics, operational space, hybrid, base attitude, LINEARISING
 *   coordination relative to a frame that does not move with the machine: through the closed
 *   machine's forward dynamics, so that what nobody drives moves as it must
 * The others refuse (SOA_E_ARGUMENT): passivity, decoupled, generalized Jacobian.  Dense: O(nv
 * rows^2), and O(n + rows^2) for each driven coordinate. */

/* --- the controller's model ------------------------------------------------------------------- */
/* Who moves a velocity coordinate. */
enum {
    SOA_DRIVE_NONE = 0, /* nobody: a floating base, a satellite, a free hinge */
    SOA_DRIVE_OWN = 1,  /* this law */
    SOA_DRIVE_OTHER = 2 /* another law: torque not written here, acceleration taken as zero or as
                         * given */
};
/* What laws add for the estimated machine's own sake; or-ed. */
enum {
    SOA_COMPENSATE_GRAVITY = 1,
    SOA_COMPENSATE_CORIOLIS = 2,
    SOA_COMPENSATE_VISCOUS = 4,
    SOA_COMPENSATE_COULOMB = 8, /* friction * tanh(v / coulomb_rate) */
    SOA_COMPENSATE_SPRINGS = 16,
    SOA_COMPENSATE_DEFAULT = 1 | 2 | 4 | 16,
    SOA_COMPENSATE_ALL = 31
};
typedef struct soa_control_def {
    const unsigned char *drive; /* nv numbers as above, copied; NULL: all SOA_DRIVE_OWN */
    unsigned compensate;        /* default SOA_COMPENSATE_DEFAULT */
    double coulomb_rate;        /* rad/s or m/s, > 0; default 1e-3 */
    soa_constraints
        *constraints; /* over `model`: a machine with loops.  Used by this control alone, none of
                       * them driven in time; it must outlive the control.  NULL: a tree */
    const unsigned char
        *primary; /* nv flags, copied: own coordinates that stay independent as long as the loops
                   * allow it (WD89's primary joints); NULL: no preference.  Read with constraints
                   * alone */
} soa_control_def;
SOA_API soa_control_def soa_control_default(const unsigned char *drive);

/* The estimated parameters (WD89's hats) are those of `model`: another model than the simulated one
 * if they are wrong.  It must outlive the control.  Holds a soa_work of its own; one thread at a
 * time.  Memory: aligned to 64 bytes, else SOA_E_MEMORY; size 0 and SOA_E_ARGUMENT: the definition
 * is out of range. */
typedef struct soa_control soa_control;
SOA_API size_t soa_control_size(const soa_model *model, const soa_control_def *def);
SOA_API soa_status soa_control_init(const soa_model *model, const soa_control_def *def,
                                    void *memory, size_t size, soa_control **control);
SOA_API soa_status soa_control_create(const soa_model *model, const soa_control_def *def,
                                      soa_control **control);
SOA_API void soa_control_free(soa_control *control); /* only for create */
SOA_API soa_work *soa_control_work(soa_control *control);
/* Which coordinates follow others through the loops at q: nv flags, all 0 for a tree. */
SOA_API soa_status soa_control_dependent_coordinates(soa_control *control, const double *q,
                                                     unsigned char *flags);
SOA_API const soa_model *soa_control_model(const soa_control *control);

/* --- WD89 section 3: one recursion for every law ---------------------------------------------- */
/* f_j = F_j + sum of f of the children,  rho_j = s_j' f_j + eta_j,  tau = E' rho.
 *   F    6 per body (bodies 1 .. n): spatial feedback vectors [n; f], body axes, at the body's
 *        origin; NULL: zero
 *   eta  rows numbers: feedback functions of the joints (nv), then of cut joints; NULL: zero
 *   E    rows x columns, v = E(Q) Qdot of a closed machine (soa_embedding_state); NULL: a tree, tau
 *        = rho
 *   rho  rows numbers, may be NULL;  tau  columns numbers (tree: nv)
 * rows >= nv; without E it is nv and columns is not read.  O(n). */
typedef struct soa_feedback {
    const double *F;
    const double *eta;
    int rows;
    const double *E;
    int columns;
} soa_feedback;
SOA_API soa_status soa_control_recursion(soa_control *control, const double *q,
                                         const soa_feedback *feedback, double *rho, double *tau);
/* F and eta of the inverse dynamics controller for the commanded accelerations a: F = I v' + v x* I
 * v, eta = what friction, springs and rotors take (those of def.compensate).  Gravity, as a base
 * acceleration, if compensated (WD89 has none).  6 n and nv numbers, both needed; a NULL: zero.
 * O(n). */
SOA_API soa_status soa_control_inverse_feedback(soa_control *control, const double *q,
                                                const double *v, const double *a, double *F,
                                                double *eta);

/* --- the machine's own torques ---------------------------------------------------------------- */
/* Accelerations of coordinates nobody drives, solved from their zero torques; `a` (nv) holds the
 * driven ones on entry and all on return.  Wrenches: known external ones.  Only coordinates in
 * trees with driven joints are solved, others are zero. O(n) for each such coordinate, and a
 * Cholesky factor.  SOA_E_SINGULAR: they move no inertia. */
SOA_API soa_status soa_control_passive_acceleration(soa_control *control, const double *q,
                                                    const double *v, const soa_wrench *wrenches,
                                                    int wrench_count, double *a);
/* tau = M a + (C v, gravity, friction, springs as def.compensate says) - J' wrenches on own
 * coordinates; a NULL: zero.  What a phase adds once beside frame laws that do not (their `plain`
 * flag).  O(n). */
SOA_API soa_status soa_control_compensation(soa_control *control, const double *q, const double *v,
                                            const double *a, const soa_wrench *wrenches,
                                            int wrench_count, double *tau);

/* --- laws of joints --------------------------------------------------------------------------- */
/* What is wanted; entries of coordinates that are not own are not read, but a of SOA_DRIVE_OTHER:
 * taken as what they do.  q is needed; v, a NULL: zero.  Errors e = q_d (-) q are tangent vectors
 * (soa_q_difference), e' = v_d - v. */
typedef struct soa_joint_reference {
    const double *q, *v, *a;
} soa_joint_reference;
/* nv numbers each, >= 0; NULL: zero. */
typedef struct soa_joint_gains {
    const double *stiffness, *damping;
} soa_joint_gains;

/* tau = K e + D e' + gravity (and springs; with SOA_COMPENSATE_VISCOUS what friction takes at v_d).
 * No dynamics. */
SOA_API soa_status soa_control_joint_pd(soa_control *control, const double *q, const double *v,
                                        const soa_joint_reference *reference,
                                        const soa_joint_gains *gains, double *tau);
/* WD89 section 3: accelerations a = a_d + D e' + K e (gains in 1/s^2, 1/s) through the estimated
 * dynamics; what nobody drives is solved (soa_control_passive_acceleration), so that on a floating
 * base e'' + D e' + K e = 0 too.  a_out (nv, may be NULL): the accelerations that follow. */
typedef struct soa_inverse_dynamics_options { /* NULL: none */
    const soa_wrench *wrenches;               /* known external wrenches, taken into account */
    int wrench_count;
} soa_inverse_dynamics_options;
SOA_API soa_status soa_control_inverse_dynamics(soa_control *control, const double *q,
                                                const double *v,
                                                const soa_joint_reference *reference,
                                                const soa_joint_gains *gains,
                                                const soa_inverse_dynamics_options *options,
                                                double *tau, double *a_out);
/* Laws that use no cancellation but the structure of M and C (dM/dt - 2C skew), O(n) by
 *   soa_coriolis_mul: SLOTINE_LI     tau = M a_r + C(q,v) v_r + g + D s     v_r = v_d + L e, a_r =
 *   a_d + L e', s = v_r - v WEN_BAYARD_1   tau = M a_d + C(q,v) v_d + g + K e + D e'
 *   WEN_BAYARD_2   tau = M a_d + C(q,v_d) v_d + g + K e + D e'
 *   WEN_BAYARD_3   tau = M a_d + C(q,v_d) v + g + K e + D e'
 * gains.stiffness is L (1/s) for SLOTINE_LI, K (N m/rad) for the others; damping D (N m s/rad).  On
 * a floating base v_r of passive coordinates follows from (M s) = 0 there, and a_r from their zero
 * torque: V = s'M s / 2, V' = -s'D s (docs). */
typedef enum soa_passivity {
    SOA_SLOTINE_LI,
    SOA_WEN_BAYARD_1,
    SOA_WEN_BAYARD_2,
    SOA_WEN_BAYARD_3,
    SOA_PASSIVITY_COUNT
} soa_passivity;
/* lyapunov (may be NULL): V above (SLOTINE_LI: s'M s / 2; others: e''M e' / 2 + e'K e / 2). */
SOA_API soa_status soa_control_passivity(soa_control *control, soa_passivity form, const double *q,
                                         const double *v, const soa_joint_reference *reference,
                                         const soa_joint_gains *gains, double *tau,
                                         double *lyapunov);
/* RJK91 section 6, innovations coordinates: s of SLOTINE_LI becomes sigma = D^1/2 (I + H phi K)* s,
 * each of whose numbers is damped by itself: tau = M a_r + C v_r + g + (I + H phi K) D^1/2
 * diag(rate) sigma.  V = |sigma|^2 / 2 is s'M s / 2; rates that are all k give |sigma| = |sigma(0)|
 * e^(-k t) exactly.  stiffness: L; rate: nv numbers, 1/s, equal ones where something is not driven
 * (SOA_E_ARGUMENT).  stiffness NULL: zero; sigma (nv) may be NULL.  Mimic joints: SOA_E_MIMIC. */
SOA_API soa_status soa_control_decoupled(soa_control *control, const double *q, const double *v,
                                         const soa_joint_reference *reference,
                                         const double *stiffness, const double *rate, double *tau,
                                         double *sigma);

/* --- laws of frames --------------------------------------------------------------------------- */
/* A moving pose: of a goal in the frame it is relative to.  twist [w; v] and classical acceleration
 * of its origin, both relative to that frame and in its axes. */
typedef struct soa_motion {
    soa_frame pose;
    double twist[6], acceleration[6];
} soa_motion;
SOA_API soa_motion soa_motion_at_rest(const soa_frame *pose); /* at rest; NULL: at the identity */

/* Where a frame is against its goal, in the goal's axes: rotation vector and position from the
 * frame to the goal, and their rates as seen from the frame `relative_to` (angular: the goal's rate
 * less the frame's).  Then the goal in the world: pose, twist and acceleration, world axes, as if
 * `relative_to` had no acceleration of its own. */
typedef struct soa_frame_error {
    double error[6], rate[6];
    soa_frame goal;
    double twist[6], acceleration[6];
} soa_frame_error;
/* Kinematics of (q, v) are computed in control's work space. */
SOA_API soa_status soa_control_frame_error(soa_control *control, const double *q, const double *v,
                                           int frame, int relative_to, const soa_motion *goal,
                                           soa_frame_error *error);
/* The motion of a frame in another (acceleration zero): where a path starts when a phase begins. */
SOA_API soa_status soa_control_relative_motion(soa_control *control, const double *q,
                                               const double *v, int frame, int relative_to,
                                               soa_motion *motion);
/* Rotation vector of R (length at most pi), and back; NULL counts as no rotation. */
SOA_API void soa_rotation_to_vector(const double R[9], double rho[3]);
SOA_API void soa_rotation_from_vector(const double rho[3], double R[9]);

typedef struct soa_frame_law {
    int frame, relative_to;          /* the hand; the frame in which its goal is given (0: the
                                      * world) */
    double stiffness[6], damping[6]; /* along and about the goal's axes, angular first */
    double max_force, max_torque;    /* of the wrench asked for: it is scaled down as a whole; 0: no
                                      * bound */
    bool plain;                      /* IMPEDANCE: true: no compensation added (several hands,
                                      * one compensation) */
} soa_frame_law;
SOA_API soa_frame_law soa_frame_law_default(int frame, int relative_to); /* all else 0 */

/* Impedance: F = K e + D e' + force, clamped, on the hand; tau = own part of J'F + compensation.
 * force: [n; f] feedforward that the hand is to exert, goal's axes, may be NULL.  wrench (may be
 * NULL): what was asked, world axes, at the hand's origin; error may be NULL.  On a floating base
 * with the goal relative to it, own J' is the motion relative to the base: passive. */
typedef struct soa_impedance_result { /* where results are written; NULL, also of each: not
                                       * wanted */
    double *wrench;                   /* 6 numbers */
    soa_frame_error *error;
} soa_impedance_result;
SOA_API soa_status soa_control_impedance(soa_control *control, const double *q, const double *v,
                                         const soa_frame_law *law, const soa_motion *goal,
                                         const double force[6], double *tau,
                                         const soa_impedance_result *result);

/* Operational space: the hands get the accelerations a = a_goal + D e' + K e (1/s^2, 1/s) along the
 * rows asked for, through Lambda = (J_g M^-1 J_g')^-1 with the generalized Jacobian (Umetani &
 * Yoshida) of f, what nobody or somebody else drives; others are taken to apply what keeps their
 * joints from accelerating:
 *     J_g M_r^-1 J_g' = J M^-1 J' - J_f M_ff^-1 J_f',     J_g' F = J_a'F - M_af M_ff^-1 J_f'F
 * Several frames at once, each with its own rows, e.g. a hand and the base's attitude.  A goal
 * given in a frame that moves with the driven machine (its base) is pursued relative to it: e'' + D
 * e' + K e = 0 as seen from there, whatever that frame does.  Frames of other trees (a satellite)
 * are taken not to accelerate.  O(n) + O(rows^3). */
typedef struct soa_frame_task {
    soa_frame_law law; /* its max_force, max_torque and plain are not read */
    unsigned rows;     /* of the goal's axes, as in soa_task; SOA_ROWS_ALL */
    soa_motion goal;
} soa_frame_task;
enum { SOA_FRAME_TASKS = 8 };
typedef struct soa_operational_options {
    double damping;             /* of Lambda near singularities, relative as in
                                 * soa_operational_space; 0: none */
    const double *posture;      /* nv torques of a second aim, projected so that the tasks do not
                                 * feel it; NULL: none */
    const soa_wrench *wrenches; /* known external wrenches, taken into account */
    int wrench_count;
} soa_operational_options;
typedef struct soa_operational_result { /* where results are written; NULL, also of each: not
                                         * wanted */
    double *a;                          /* nv accelerations that follow */
    soa_frame_error *error;             /* one per task */
    double *rcond;                      /* as of soa_operational_space */
} soa_operational_result;
/* 1 to SOA_FRAME_TASKS tasks.  options NULL: zeros.
 * SOA_E_SINGULAR: rcond < 1e-12 without damping, or nothing that is driven moves a frame; rcond is
 * written then too. */
SOA_API soa_status soa_control_operational_space(soa_control *control, const double *q,
                                                 const double *v, const soa_frame_task *tasks,
                                                 int count, const soa_operational_options *options,
                                                 double *tau, const soa_operational_result *result);
/* Generalized Jacobian: motion of a frame for own velocities while the momenta of passive
 * coordinates are zero; 6 x nv, columns that are not own are zero.  O(n) per row. */
SOA_API soa_status soa_control_generalised_jacobian(soa_control *control, const double *q,
                                                    int frame, soa_axes axes, double *J);

/* Hybrid: motion along some of the goal's axes as OPERATIONAL, force along the others (bits of
 *     force_rows): F = F_d + kp (F_d - F_m) + ki integral, with damping D of motion there; F_m is
 *     what the hand exerts, measured. */
typedef struct soa_hybrid_law {
    soa_frame_law law;
    unsigned force_rows;
    double force_gain[2];     /* kp, ki (1/s) */
    double max_integral;      /* bound of ki * integral in each row, N or N m */
    double damping_of_lambda; /* as soa_operational_options.damping */
} soa_hybrid_law;
typedef struct soa_hybrid_state { /* plain: copy it to keep it */
    double integral[6];
} soa_hybrid_state;
/* Goal, and forces [n; f] of the hand on its surroundings at the hand's origin, goal's axes; all
 * are needed. */
typedef struct soa_hybrid_input {
    const soa_motion *goal;
    const double *force;    /* 6: wanted */
    const double *measured; /* 6: measured */
    double dt;              /* s since the last call */
} soa_hybrid_input;
/* state: zeros to begin with.  error may be NULL. */
SOA_API soa_status soa_control_hybrid(soa_control *control, const double *q, const double *v,
                                      const soa_hybrid_law *law, const soa_hybrid_input *input,
                                      soa_hybrid_state *state, double *tau, soa_frame_error *error);

/* Angular gains, 1/s^2 and 1/s, for the attitude of a floating base. */
typedef struct soa_attitude_law {
    int frame; /* of the base */
    double stiffness, damping;
} soa_attitude_law;
/* A floating base's attitude held by the joints' momentum: operational space with the base's
 * angular rows; posture (may be NULL) as above.  The goal is in the world; options, error may be
 * NULL. */
SOA_API soa_status soa_control_base_attitude(soa_control *control, const double *q, const double *v,
                                             const soa_attitude_law *law, const soa_motion *goal,
                                             const soa_operational_options *options, double *tau,
                                             soa_frame_error *error);

/* --- several hands, one object ---------------------------------------------------------------- */
enum { SOA_HANDS = 8 };
typedef enum soa_coordination_form {
    SOA_COORDINATE_LINEARISING, /* object's acceleration a_goal + D e' + K e (gains 1/s^2, 1/s),
                                 * seen from relative_to; hands accelerate with it, through the
                                 * generalized Lambda of all at once */
    SOA_COORDINATE_PASSIVE      /* wrench K e + D e' + M a_goal + C V_goal (gains N/m, N s/m, N
                                 * m/rad ...); the arms' compensation only */
} soa_coordination_form;
typedef struct soa_coordination {
    soa_coordination_form form;
    int object, relative_to;    /* frames: of the object, and in which its goal is given */
    int hands, hand[SOA_HANDS]; /* frames of the hands, at their contacts */
    double share[SOA_HANDS];    /* of the load, >= 0; zeros: equal */
    double couple_length;       /* m: wrist moments count as forces at this arm; small: few moments.
                                 * default 0.2 */
    double stiffness[6], damping[6]; /* goal's axes, angular first */
    double squeeze;               /* N: each hand pushes towards the middle of the hands; see docs
                                   * for three and more */
    double squeeze_gain[2];       /* kp, ki (1/s) on the measured internal force */
    double max_integral;          /* N, bound of ki * integral; default 50 */
    double max_force, max_torque; /* of the object's wrench, scaled as a whole; 0: no bound */
    double follow_stiffness[2], follow_damping[2]; /* angular, linear: each hand stays with the
                                                    * object (grasp poses) */
    bool has_grasp;                                /* true: `grasp` are given; else
                                                    * follow_stiffness is not used */
    soa_frame grasp[SOA_HANDS];                    /* of each hand in the object's frame, when it
                                                    * took hold */
    bool plain;                                    /* PASSIVE: no compensation added */
    double damping_of_lambda;                      /* LINEARISING: as
                                                    * soa_operational_options.damping */
} soa_coordination;
/* PASSIVE, couple_length and max_integral as said, all else 0: hands must follow. */
SOA_API soa_coordination soa_coordination_default(int object, int relative_to);
typedef struct soa_coordination_state { /* plain */
    double integral;
} soa_coordination_state;
typedef struct soa_coordination_result {
    soa_frame_error error;            /* of the object */
    double wrench[6];                 /* asked for, on the object, at its frame's origin, world
                                       * axes */
    double hand_wrench[SOA_HANDS][6]; /* of each hand on the object, at the hand's origin, world
                                       * axes */
    double squeeze;                   /* internal force asked for, N */
} soa_coordination_result;
typedef struct soa_coordination_input {
    const soa_motion *goal; /* of the object, needed */
    const double *measured; /* N: the internal force, of soa_control_internal_force or a sensor;
                             * NULL: not regulated */
    double dt;              /* s since the last call */
} soa_coordination_input;
/* The object's inertia is that of its body in the estimated model, its pose and twist are in (q,
 * v).  state: zeros to begin with.  result may be NULL.  O(n) + O(hands^3). */
SOA_API soa_status soa_control_coordination(soa_control *control, const double *q, const double *v,
                                            const soa_coordination *law,
                                            const soa_coordination_input *input,
                                            soa_coordination_state *state, double *tau,
                                            soa_coordination_result *result);
/* The internal force in given hand wrenches (6 each, on the object, world axes, at the hands'
 * origins): what is left of them without the part that moves the object, along the squeeze.  > 0:
 * pressed. */
SOA_API soa_status soa_control_internal_force(soa_control *control, const double *q,
                                              const soa_coordination *law,
                                              const double *hand_wrenches, double *force);

/* --- paths ------------------------------------------------------------------------------------ */
/* s, s', s'' of a path from 0 to 1; before its start and after its end it stands still. */
typedef enum soa_profile_kind { SOA_PROFILE_QUINTIC, SOA_PROFILE_TRAPEZOID } soa_profile_kind;
typedef struct soa_profile {
    soa_profile_kind kind;
    double time; /* s; 0: at the end at once */
    double ramp; /* TRAPEZOID: time of speeding up, and of slowing down, at most time / 2 */
} soa_profile;
SOA_API soa_profile soa_profile_quintic(double time);
/* Fastest profile of that kind with |s'| <= speed, |s''| <= acceleration (> 0; one may be infinite,
 * but not the acceleration of a trapezoid). */
SOA_API soa_status soa_profile_fastest(soa_profile_kind kind, double speed, double acceleration,
                                       soa_profile *profile);
/* profile NULL: zeros. */
SOA_API void soa_profile_at(const soa_profile *profile, double t, double s[3]);

/* Joints: q = q0 + s (q1 - q0) on the configuration manifold; a may be NULL. */
SOA_API soa_status soa_path_joint(const soa_model *model, const double *q0, const double *q1,
                                  const double s[3], double *q, double *v, double *a);
/* A pose: position on a straight line, rotation by a constant axis. */
SOA_API soa_status soa_path_pose(const soa_frame *from, const soa_frame *to, const double s[3],
                                 soa_motion *motion);
/* The same from a motion to a rest at `to`: starts with motion->twist (quintic in position and
 * rotation vector). */
SOA_API soa_status soa_path_pose_from_motion(const soa_motion *from, const soa_frame *to,
                                             double time, double t, soa_motion *motion);

typedef struct soa_path_limits {
    const double *speed, *acceleration; /* nv numbers, > 0; NULL: the model's max_speed; none */
    bool effort;                        /* true: |tau| of inverse dynamics within the model's
                                         * max_effort */
} soa_path_limits;
/* Shortest time for the joint path within the limits (effort: at 69 samples, by bisection on the
 * time).  SOA_E_INCONSISTENT: gravity alone needs more than max_effort.  SOA_E_ARGUMENT: nothing
 * bounds the time. */
SOA_API soa_status soa_path_joint_profile(soa_control *control, const double *q0, const double *q1,
                                          soa_profile_kind kind, const soa_path_limits *limits,
                                          soa_profile *profile);
/* Shortest time of a pose path: speed and acceleration, angular and linear (0: no bound). */
SOA_API soa_status soa_path_pose_profile(const soa_frame *from, const soa_frame *to,
                                         soa_profile_kind kind, const double speed[2],
                                         const double acceleration[2], soa_profile *profile);

/* --- supervisor ------------------------------------------------------------------------------- */
/* A machine of phases over measured signals.  The description is the caller's arrays; the state is
 * plain data. */
enum { SOA_SIGNAL_PHASE_TIME = -1, SOA_PHASE_CONDITIONS = 64 };
typedef struct soa_supervisor_condition {
    int signal; /* index into the signals, or SOA_SIGNAL_PHASE_TIME */
    bool above; /* true: signal > value, else signal < value; NaN is neither */
    double value;
    double hold; /* s for which it must have been so without a break; 0: now */
} soa_supervisor_condition;
typedef struct soa_supervisor_transition {
    int to;              /* phase */
    int condition_count; /* all must hold; 0: at once */
    const soa_supervisor_condition *conditions;
} soa_supervisor_transition;
typedef struct soa_supervisor_phase {
    const char *name;
    double blend; /* s over which torques pass from the phase before */
    int transition_count;
    const soa_supervisor_transition *transitions; /* in order: the first whose conditions all hold
                                                   * is taken */
} soa_supervisor_phase;
typedef struct soa_supervisor {
    int phase_count; /* the first is the start */
    const soa_supervisor_phase *phases;
    int signal_count;
    const char *const *signal_names; /* for the diagram; NULL: numbers */
} soa_supervisor;
typedef struct soa_supervisor_state { /* plain: copy it to keep it */
    int phase, before;                /* before: -1 at the start */
    int transition;                   /* of `before`, that was taken last; -1 */
    int changes;
    double time;                       /* in this phase */
    double blend_time;                 /* since the last change, for soa_supervisor_blend */
    double held[SOA_PHASE_CONDITIONS]; /* s for which each condition of this phase has held; -1: it
                                        * does not */
} soa_supervisor_state;

/* Checks the description: targets, signals, finite numbers, at most SOA_PHASE_CONDITIONS in a
 * phase. */
SOA_API soa_status soa_supervisor_check(const soa_supervisor *supervisor, soa_report *report);
/* The state at the beginning; status as of the check. */
SOA_API soa_status soa_supervisor_start(const soa_supervisor *supervisor,
                                        soa_supervisor_state *state);
/* One sample: dt seconds have passed since the last, signals are measured now.  At most one
 * transition.  changed may be NULL; the new phase's time is 0 at this sample. */
SOA_API soa_status soa_supervisor_tick(const soa_supervisor *supervisor,
                                       soa_supervisor_state *state, const double *signals,
                                       double dt, bool *changed);
/* Bumpless switching of n torques: at the sample of a change `offset` (the caller's n numbers, part
 * of what a checkpoint keeps) becomes last - tau, afterwards tau gets (1 - quintic(time / blend))
 * offset added.  last: torques of the sample before, read at a change only (NULL otherwise).  tau
 * is in and out.  Call it once after each tick, with tau of the new phase's laws. */
SOA_API soa_status soa_supervisor_blend(const soa_supervisor *supervisor,
                                        const soa_supervisor_state *state, bool changed, int n,
                                        const double *last, double *offset, double *tau);
/* Graphviz text of phases and transitions; length (may be NULL): bytes needed with the final zero.
 * SOA_E_MEMORY: text is too short, nothing is written but length.  text NULL with size 0 asks for
 * the length alone (SOA_OK). */
SOA_API soa_status soa_supervisor_diagram(const soa_supervisor *supervisor, char *text, size_t size,
                                          size_t *length);

#ifdef __cplusplus
}
#endif
#endif
