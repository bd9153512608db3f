/* soa/control.h  control laws, paths, and the supervisor that switches laws: the same code for
 *                simulation and for a robot.
 *
 * A law is a function of a soa_control (the controller's estimated model, with its work space), of
 * the measured q and v, and of what is wanted.  It writes torques, nv numbers; they are zero for
 * coordinates that the law does not drive.  The model may contain more than the robot, for example
 * a floating satellite as a second root; then only some coordinates are driven.  No function
 * allocates, except create.  Torques are bounded only where a field says so.  Inputs are checked.
 * On any status other than SOA_OK nothing is written.  Outputs must not overlap inputs.
 * docs/theory/control.md.
 *   NULL     Pointers are needed, those to q and v too, unless the text says otherwise.  No
 * wrenches:
 *            NULL with a count of 0.
 *   status   As in soa/dynamics.h.  SOA_E_FRAME: a goal or pose is not a rotation, or not finite.
 *            SOA_E_ARGUMENT: also gains, bounds or times below 0.  SOA_E_SINGULAR: passive
 * coordinates
 *            or a task move no inertia.  soa_work_failed_body(soa_control_work(control)) is the
 * body. */
#ifndef SOA_CONTROL_H
#define SOA_CONTROL_H

#include "soa/grasp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- machines with loops ---------------------------------------------------------------------- */
/* With soa_control_def.constraints the laws compute with the closed machine.  The loops make some
 * coordinates depend on others.  Dependent coordinates are chosen first among the passive ones,
 * then among those that other laws drive, then among this law's coordinates that are not primary.
 * Dependent coordinates of this law get no torque and no feedback.
 *   joint PD, impedance, PASSIVE coordination, soa_control_compensation (a must be NULL):
 *       tau = E*rho of WD89
 *   inverse dynamics, operational space, hybrid, base attitude, LINEARISING coordination relative
 * to a
 *   frame that does not move with the machine:
 *       the forward dynamics of the closed machine, so that passive coordinates move as they must
 * Passivity, decoupled control and the generalized Jacobian refuse loops (SOA_E_ARGUMENT).  The
 * computation is dense: O(nv rows^2), and O(n + rows^2) for each driven coordinate. */

/* --- the controller's model ------------------------------------------------------------------- */
/* What moves a velocity coordinate. */
enum {
    SOA_DRIVE_NONE = 0, /* nothing, it is passive: a floating base, a satellite, a free hinge */
    SOA_DRIVE_OWN = 1,  /* this law */
    /* Another law: its torque is not written here, its acceleration is zero unless it is given. */
    SOA_DRIVE_OTHER = 2
};
/* Which forces of the estimated machine the laws compensate; combine with |. */
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
    /* A machine with loops: constraints over `model`, used by this control alone, none of them
     * driven in time.  They must outlive the control.  NULL: a tree. */
    soa_constraints *constraints;
    /* nv flags, copied: coordinates of this law that stay independent as long as the loops allow it
     * (WD89's primary joints).  NULL: no preference.  Used with constraints only. */
    const unsigned char *primary;
} soa_control_def;
SOA_API soa_control_def soa_control_default(const unsigned char *drive);

/* `model` holds the estimated parameters (WD89's hats); for wrong estimates, pass another model
 * than the simulated one.  It must outlive the control.  A control contains a work space and
 * belongs to one thread at a time.  Memory must be aligned to 64 bytes, else SOA_E_MEMORY.  Size 0
 * and SOA_E_ARGUMENT: the definition is out of range. */
typedef struct soa_control soa_control;
SOA_API size_t soa_control_size(const soa_model *model, const soa_control_def *def);
SOA_API soa_status soa_control_init(const soa_model *model, const soa_control_def *def,
                                    void *memory, size_t size, soa_control **control);
SOA_API soa_status soa_control_create(const soa_model *model, const soa_control_def *def,
                                      soa_control **control);
SOA_API void soa_control_free(soa_control *control); /* only for create */
SOA_API soa_work *soa_control_work(soa_control *control);
/* Which coordinates depend on others through the loops at q: nv flags, all 0 for a tree. */
SOA_API soa_status soa_control_dependent_coordinates(soa_control *control, const double *q,
                                                     unsigned char *flags);
SOA_API const soa_model *soa_control_model(const soa_control *control);

/* --- WD89 section 3: one recursion for every law ---------------------------------------------- */
/* f_j = F_j + sum of f of the children,  rho_j = s_j' f_j + eta_j,  tau = E' rho.  O(n).
 * rho may be NULL; it has `rows` numbers, tau has `columns` (tree: nv). */
typedef struct soa_feedback {
    /* 6 per body, 1 to n: feedback vectors [n; f], body axes, at its origin; NULL: zero */
    const double *F;
    /* `rows` numbers: feedback of the joints (nv), then of cut joints; NULL: zero */
    const double *eta;
    int rows; /* nv or more; without E it is nv */
    /* rows x columns, v = E(Q) Qdot of a closed machine (soa_embedding_state); NULL: a tree, tau
     * = rho */
    const double *E;
    int columns; /* not read without E */
} soa_feedback;
SOA_API soa_status soa_control_recursion(soa_control *control, const double *q,
                                         const soa_feedback *feedback, double *rho, double *tau);
/* F (6 n numbers) and eta (nv) of the inverse dynamics controller for the commanded accelerations a
 * (NULL: zero): F = I v' + v x* I v; eta = the torques of friction, springs and rotors, as far as
 * def.compensate includes them.  Gravity is a base acceleration if it is compensated (WD89 has
 * none).  O(n). */
SOA_API soa_status soa_control_inverse_feedback(soa_control *control, const double *q,
                                                const double *v, const double *a, double *F,
                                                double *eta);

/* --- the machine's own torques ---------------------------------------------------------------- */
/* Accelerations of the passive coordinates, from the condition that their torques are zero.  On
 * entry `a` (nv) holds those of the driven coordinates, on return all.  wrenches: known external
 * wrenches.  Only passive coordinates in trees with driven joints are solved for; others are zero.
 * O(n) for each of them, and a Cholesky factorisation.  SOA_E_SINGULAR: they move no inertia. */
SOA_API soa_status soa_control_passive_acceleration(soa_control *control, const double *q,
                                                    const double *v, const soa_wrench *wrenches,
                                                    int wrench_count, double *a);
/* tau = M a + (C v, gravity, friction, springs as in def.compensate) - J' wrenches, on the
 * coordinates of this law; a NULL: zero.  For frame laws without compensation (their `plain` flag),
 * to be added once.  O(n). */
SOA_API soa_status soa_control_compensation(soa_control *control, const double *q, const double *v,
                                            const double *a, const soa_wrench *wrenches,
                                            int wrench_count, double *tau);

/* --- laws of joints --------------------------------------------------------------------------- */
/* The wanted motion.  Errors are e = q_d (-) q, a tangent vector (soa_q_difference), and e' = v_d -
 * v.  Only entries of this law's coordinates are read; but a of a SOA_DRIVE_OTHER coordinate is
 * read too, as the acceleration that it has. */
typedef struct soa_joint_reference {
    const double *q; /* needed */
    const double *v; /* NULL: zero */
    const double *a; /* NULL: zero */
} soa_joint_reference;
/* nv numbers each, >= 0; NULL: zero. */
typedef struct soa_joint_gains {
    const double *stiffness;
    const double *damping;
} soa_joint_gains;

/* tau = K e + D e' + gravity and springs; with SOA_COMPENSATE_VISCOUS also the viscous friction at
 * v_d.  No dynamics. */
SOA_API soa_status soa_control_joint_pd(soa_control *control, const double *q, const double *v,
                                        const soa_joint_reference *reference,
                                        const soa_joint_gains *gains, double *tau);
typedef struct soa_inverse_dynamics_options {
    const soa_wrench *wrenches; /* known external wrenches, which the law takes into account */
    int wrench_count;
} soa_inverse_dynamics_options;
/* WD89 section 3: accelerations a = a_d + D e' + K e (gains in 1/s^2 and 1/s) through the estimated
 * dynamics.  Passive coordinates are solved for (soa_control_passive_acceleration), so that
 * e'' + D e' + K e = 0 holds on a floating base too.  a_out (nv, may be NULL): the resulting
 * accelerations.  options NULL: no wrenches. */
SOA_API soa_status soa_control_inverse_dynamics(soa_control *control, const double *q,
                                                const double *v,
                                                const soa_joint_reference *reference,
                                                const soa_joint_gains *gains,
                                                const soa_inverse_dynamics_options *options,
                                                double *tau, double *a_out);
/* Laws that use the structure of M and C (dM/dt - 2C is skew) instead of cancelling them, O(n) by
 * soa_coriolis_mul.  gains.stiffness is L (1/s) for SLOTINE_LI, K (N m/rad) for the others; the
 * damping is D (N m s/rad). */
typedef enum soa_passivity {
    /* tau = M a_r + C(q,v) v_r + g + D s;  v_r = v_d + L e,  a_r = a_d + L e',  s = v_r - v.  On a
     * floating base v_r of passive coordinates follows from (M s) = 0 there, and a_r from their
     * zero torque: V = s'M s / 2, V' = -s'D s. */
    SOA_SLOTINE_LI,
    SOA_WEN_BAYARD_1, /* tau = M a_d + C(q,v) v_d + g + K e + D e' */
    SOA_WEN_BAYARD_2, /* tau = M a_d + C(q,v_d) v_d + g + K e + D e' */
    SOA_WEN_BAYARD_3, /* tau = M a_d + C(q,v_d) v + g + K e + D e' */
    SOA_PASSIVITY_COUNT
} soa_passivity;
/* lyapunov (may be NULL): V (SLOTINE_LI: s'M s / 2; others: e''M e' / 2 + e'K e / 2). */
SOA_API soa_status soa_control_passivity(soa_control *control, soa_passivity form, const double *q,
                                         const double *v, const soa_joint_reference *reference,
                                         const soa_joint_gains *gains, double *tau,
                                         double *lyapunov);
/* RJK91 section 6, innovations coordinates.  s of SLOTINE_LI becomes sigma = D^1/2 (I + H phi K)*
 * s, and each number of sigma is damped separately:
 *     tau = M a_r + C v_r + g + (I + H phi K) D^1/2 diag(rate) sigma
 * V = |sigma|^2 / 2 equals s'M s / 2; if all rates are k, then |sigma| = |sigma(0)| e^(-k t)
 * exactly.  stiffness: L; NULL: zero.  rate: nv numbers, 1/s, which must be equal if some
 * coordinate is passive (SOA_E_ARGUMENT).  sigma (nv) may be NULL.  Mimic joints: SOA_E_MIMIC. */
SOA_API soa_status soa_control_decoupled(soa_control *control, const double *q, const double *v,
                                         const soa_joint_reference *reference,
                                         const double *stiffness, const double *rate, double *tau,
                                         double *sigma);

/* --- laws of frames --------------------------------------------------------------------------- */
/* A moving pose, for example of a goal, relative to some frame.  twist [w; v] and the classical
 * acceleration of its origin are relative to that frame and in its axes. */
typedef struct soa_motion {
    soa_frame pose;
    double twist[6];
    double acceleration[6];
} soa_motion;
SOA_API soa_motion soa_motion_at_rest(const soa_frame *pose); /* NULL: at the identity */

/* Where a frame is relative to its goal. */
typedef struct soa_frame_error {
    /* rotation vector and position from the frame to the goal, in the goal's axes */
    double error[6];
    /* their rates as seen from `relative_to`; angular: rate of the goal minus rate of the frame */
    double rate[6];
    /* The goal in the world: pose, twist and acceleration, world axes, as if `relative_to` did not
     * accelerate. */
    soa_frame goal;
    double twist[6];
    double acceleration[6];
} soa_frame_error;
/* Computes the kinematics of (q, v) in the work space of the control. */
SOA_API soa_status soa_control_frame_error(soa_control *control, const double *q, const double *v,
                                           int frame, int relative_to, const soa_motion *goal,
                                           soa_frame_error *error);
/* The motion of a frame relative to another, with acceleration zero: where a path starts when a
 * phase begins. */
SOA_API soa_status soa_control_relative_motion(soa_control *control, const double *q,
                                               const double *v, int frame, int relative_to,
                                               soa_motion *motion);
/* Rotation vector of R (length at most pi), and the converse.  NULL counts as no rotation. */
SOA_API void soa_rotation_to_vector(const double R[9], double rho[3]);
SOA_API void soa_rotation_from_vector(const double rho[3], double R[9]);

typedef struct soa_frame_law {
    int frame;           /* the hand */
    int relative_to;     /* the frame in which its goal is given; 0: the world */
    double stiffness[6]; /* about and along the axes of the goal, angular first */
    double damping[6];
    /* Bounds of the wanted wrench, which is scaled down as a whole; 0: no bound */
    double max_force;
    double max_torque;
    bool plain; /* IMPEDANCE: true: without compensation, for several hands that share one */
} soa_frame_law;
SOA_API soa_frame_law soa_frame_law_default(int frame, int relative_to); /* all else 0 */

/* Where soa_control_impedance writes results.  NULL, also for each field: not wanted. */
typedef struct soa_impedance_result {
    double *wrench; /* 6 numbers: the wanted wrench, world axes, at the origin of the hand */
    soa_frame_error *error;
} soa_impedance_result;
/* Impedance: the wrench F = K e + D e' + force on the hand, bounded by the law; tau = J'F on the
 * coordinates of this law, plus compensation.  force (may be NULL): an additional wrench [n; f]
 * that the hand shall exert, in the axes of the goal.  On a floating base with the goal relative to
 * the base, J is that of the motion relative to the base; so the law is passive. */
SOA_API soa_status soa_control_impedance(soa_control *control, const double *q, const double *v,
                                         const soa_frame_law *law, const soa_motion *goal,
                                         const double force[6], double *tau,
                                         const soa_impedance_result *result);

/* Operational space: the hands get the accelerations a = a_goal + D e' + K e (gains in 1/s^2 and
 * 1/s) along the chosen rows, through Lambda = (J_g M^-1 J_g')^-1.  J_g is the generalized Jacobian
 * (Umetani & Yoshida), which takes into account the coordinates f that this law does not drive.
 * Coordinates of other laws are assumed to get the torques that keep them from accelerating:
 *     J_g M_r^-1 J_g' = J M^-1 J' - J_f M_ff^-1 J_f',     J_g' F = J_a'F - M_af M_ff^-1 J_f'F
 * Several frames may be controlled at once, each with its rows, for example a hand and the attitude
 * of the base.  A goal relative to a frame that moves with the driven machine (its base) is pursued
 * relative to it: e'' + D e' + K e = 0 as seen from that frame, however it moves.  Frames of other
 * trees (a satellite) are assumed not to accelerate.  O(n) + O(rows^3). */
typedef struct soa_frame_task {
    soa_frame_law law; /* its max_force, max_torque and plain are not read */
    unsigned rows;     /* axes of the goal, as in soa_task; SOA_ROWS_ALL */
    soa_motion goal;
} soa_frame_task;
enum { SOA_FRAME_TASKS = 8 };
typedef struct soa_operational_options {
    /* Of Lambda near singularities, relative as in soa_operational_space; 0: none */
    double damping;
    /* nv torques of a second aim, projected so that they do not disturb the tasks; NULL: none */
    const double *posture;
    const soa_wrench *wrenches; /* known external wrenches, which the law takes into account */
    int wrench_count;
} soa_operational_options;
/* Where results are written.  NULL, also for each field: not wanted. */
typedef struct soa_operational_result {
    double *a;              /* nv resulting accelerations */
    soa_frame_error *error; /* one per task */
    double *rcond;          /* as in soa_operational_space */
} soa_operational_result;
/* 1 to SOA_FRAME_TASKS tasks.  options NULL: zeros.  SOA_E_SINGULAR: rcond < 1e-12 without damping,
 * or no driven coordinate moves a frame; rcond is written then too. */
SOA_API soa_status soa_control_operational_space(soa_control *control, const double *q,
                                                 const double *v, const soa_frame_task *tasks,
                                                 int count, const soa_operational_options *options,
                                                 double *tau, const soa_operational_result *result);
/* Generalized Jacobian: the motion of a frame for velocities of this law's coordinates while the
 * momenta of passive coordinates are zero.  6 x nv; other columns are zero.  O(n) per row. */
SOA_API soa_status soa_control_generalised_jacobian(soa_control *control, const double *q,
                                                    int frame, soa_axes axes, double *J);

/* Hybrid control: motion along some axes of the goal as in operational space, force along the
 * others: F = F_d + kp (F_d - F_m) + ki integral, with damping D of the motion there.  F_m is the
 * measured force that the hand exerts. */
typedef struct soa_hybrid_law {
    soa_frame_law law;
    unsigned force_rows;      /* bits of the rows with force control */
    double force_gain[2];     /* kp, ki (1/s) */
    double max_integral;      /* bound of ki * integral in each row, N or N m */
    double damping_of_lambda; /* as soa_operational_options.damping */
} soa_hybrid_law;
typedef struct soa_hybrid_state { /* plain data; zeros at the beginning; copy it to save it */
    double integral[6];
} soa_hybrid_state;
/* All are needed.  Forces [n; f] are those of the hand on its surroundings, at the origin of the
 * hand, in the axes of the goal. */
typedef struct soa_hybrid_input {
    const soa_motion *goal;
    const double *force;    /* 6: wanted */
    const double *measured; /* 6: measured */
    double dt;              /* s since the last call */
} soa_hybrid_input;
/* error may be NULL. */
SOA_API soa_status soa_control_hybrid(soa_control *control, const double *q, const double *v,
                                      const soa_hybrid_law *law, const soa_hybrid_input *input,
                                      soa_hybrid_state *state, double *tau, soa_frame_error *error);

/* Gains for the attitude of a floating base. */
typedef struct soa_attitude_law {
    int frame;        /* of the base */
    double stiffness; /* 1/s^2 */
    double damping;   /* 1/s */
} soa_attitude_law;
/* Holds the attitude of a floating base by the momentum of the joints: operational space with the
 * angular rows of the base; options->posture as there.  The goal is in the world.  options and
 * error may be NULL. */
SOA_API soa_status soa_control_base_attitude(soa_control *control, const double *q, const double *v,
                                             const soa_attitude_law *law, const soa_motion *goal,
                                             const soa_operational_options *options, double *tau,
                                             soa_frame_error *error);

/* --- several hands, one object ---------------------------------------------------------------- */
enum { SOA_HANDS = 8 };
typedef enum soa_coordination_form {
    /* The acceleration of the object is a_goal + D e' + K e (gains in 1/s^2 and 1/s), as seen from
     * relative_to.  The hands accelerate with it, through the generalized Lambda of all hands
     * together. */
    SOA_COORDINATE_LINEARISING,
    /* The wrench K e + D e' + M a_goal + C V_goal (gains in N/m, N s/m, N m/rad, N m s/rad).  The
     * arms are only compensated. */
    SOA_COORDINATE_PASSIVE
} soa_coordination_form;
typedef struct soa_coordination {
    soa_coordination_form form;
    int object;              /* frame of the object */
    int relative_to;         /* frame in which its goal is given */
    int hands;               /* number of hands */
    int hand[SOA_HANDS];     /* their frames, at the contacts */
    double share[SOA_HANDS]; /* part of the load that each bears, >= 0; all zero: equal parts */
    /* m: lever arm by which wrist moments are weighted against forces; small: small moments.
     * Default 0.2 */
    double couple_length;
    double stiffness[6]; /* axes of the goal, angular first */
    double damping[6];
    /* N: each hand pushes towards the middle of the hands; for three hands or more see
     * docs/theory/control.md */
    double squeeze;
    double squeeze_gain[2]; /* kp, ki (1/s) on the measured internal force */
    double max_integral;    /* N, bound of ki * integral; default 50 */
    double max_force;       /* bounds of the object's wrench, scaled as a whole; 0: no bound */
    double max_torque;
    /* angular, linear: each hand stays at its grasp pose on the object */
    double follow_stiffness[2];
    double follow_damping[2];
    bool has_grasp;             /* true: `grasp` is given; false: follow_stiffness is not used */
    soa_frame grasp[SOA_HANDS]; /* each hand in the object's frame when it took hold */
    bool plain;                 /* PASSIVE: true: without compensation */
    double damping_of_lambda;   /* LINEARISING: as soa_operational_options.damping */
} soa_coordination;
/* PASSIVE, couple_length and max_integral as above, everything else 0; fill in the hands. */
SOA_API soa_coordination soa_coordination_default(int object, int relative_to);
typedef struct soa_coordination_state { /* plain data; zeros at the beginning */
    double integral;
} soa_coordination_state;
typedef struct soa_coordination_result {
    soa_frame_error error; /* of the object */
    double wrench[6];      /* wanted, on the object, at the origin of its frame, world axes */
    double hand_wrench[SOA_HANDS][6]; /* of each hand on the object, at its origin, world axes */
    double squeeze;                   /* wanted internal force, N */
} soa_coordination_result;
typedef struct soa_coordination_input {
    const soa_motion *goal; /* of the object, needed */
    /* N: the internal force, from soa_control_internal_force or a sensor; NULL: it is not
     * regulated */
    const double *measured;
    double dt; /* s since the last call */
} soa_coordination_input;
/* The inertia of the object is that of its body in the estimated model; its pose and twist are in q
 * and v.  result may be NULL.  O(n) + O(hands^3). */
SOA_API soa_status soa_control_coordination(soa_control *control, const double *q, const double *v,
                                            const soa_coordination *law,
                                            const soa_coordination_input *input,
                                            soa_coordination_state *state, double *tau,
                                            soa_coordination_result *result);
/* The internal force in given wrenches of the hands (6 each, on the object, world axes, at the
 * origins of the hands): what remains without the part that moves the object, along the direction
 * of squeezing.  > 0: the object is pressed. */
SOA_API soa_status soa_control_internal_force(soa_control *control, const double *q,
                                              const soa_coordination *law,
                                              const double *hand_wrenches, double *force);

/* --- paths ------------------------------------------------------------------------------------ */
/* s, s', s'' of a path from 0 to 1, at rest before its start and after its end. */
typedef enum soa_profile_kind { SOA_PROFILE_QUINTIC, SOA_PROFILE_TRAPEZOID } soa_profile_kind;
typedef struct soa_profile {
    soa_profile_kind kind;
    double time; /* s; 0: at the end at once */
    double ramp; /* TRAPEZOID: time of speeding up and of slowing down, each; at most time / 2 */
} soa_profile;
SOA_API soa_profile soa_profile_quintic(double time);
/* The fastest profile of that kind with |s'| <= speed and |s''| <= acceleration.  Both are > 0.
 * One may be infinite, but not the acceleration of a trapezoid. */
SOA_API soa_status soa_profile_fastest(soa_profile_kind kind, double speed, double acceleration,
                                       soa_profile *profile);
/* profile NULL: zeros. */
SOA_API void soa_profile_at(const soa_profile *profile, double t, double s[3]);

/* A joint path: q = q0 + s (q1 - q0) on the configuration manifold.  a may be NULL. */
SOA_API soa_status soa_path_joint(const soa_model *model, const double *q0, const double *q1,
                                  const double s[3], double *q, double *v, double *a);
/* A pose path: the position on a straight line, the rotation about a constant axis. */
SOA_API soa_status soa_path_pose(const soa_frame *from, const soa_frame *to, const double s[3],
                                 soa_motion *motion);
/* A pose path that starts with the motion `from` and ends at rest at `to`: quintic in position and
 * rotation vector. */
SOA_API soa_status soa_path_pose_from_motion(const soa_motion *from, const soa_frame *to,
                                             double time, double t, soa_motion *motion);

typedef struct soa_path_limits {
    const double *speed;        /* nv numbers, > 0; NULL: max_speed of the model */
    const double *acceleration; /* nv numbers, > 0; NULL: no limit */
    /* true: |tau| of inverse dynamics stays within max_effort of the model */
    bool effort;
} soa_path_limits;
/* The shortest time for the joint path within the limits.  effort is checked at 69 samples, and the
 * time is found by bisection.  SOA_E_INCONSISTENT: gravity alone needs more than max_effort.
 * SOA_E_ARGUMENT: nothing limits the time. */
SOA_API soa_status soa_path_joint_profile(soa_control *control, const double *q0, const double *q1,
                                          soa_profile_kind kind, const soa_path_limits *limits,
                                          soa_profile *profile);
/* The shortest time for a pose path.  speed and acceleration: angular and linear limits; 0: no
 * limit. */
SOA_API soa_status soa_path_pose_profile(const soa_frame *from, const soa_frame *to,
                                         soa_profile_kind kind, const double speed[2],
                                         const double acceleration[2], soa_profile *profile);

/* --- supervisor ------------------------------------------------------------------------------- */
/* A state machine: phases, and transitions on measured signals.  The description consists of arrays
 * of the caller; the state is plain data. */
enum { SOA_SIGNAL_PHASE_TIME = -1, SOA_PHASE_CONDITIONS = 64 };
typedef struct soa_supervisor_condition {
    int signal; /* index of the signal, or SOA_SIGNAL_PHASE_TIME */
    bool above; /* true: signal > value; false: signal < value; NaN fulfils neither */
    double value;
    double hold; /* s for which this must have been so without a break; 0: now */
} soa_supervisor_condition;
typedef struct soa_supervisor_transition {
    int to;              /* phase */
    int condition_count; /* all must hold; 0: at once */
    const soa_supervisor_condition *conditions;
} soa_supervisor_transition;
typedef struct soa_supervisor_phase {
    const char *name;
    double blend; /* s in which torques change from those of the phase before */
    int transition_count;
    /* The first whose conditions all hold is taken */
    const soa_supervisor_transition *transitions;
} soa_supervisor_phase;
typedef struct soa_supervisor {
    int phase_count; /* the first phase is the start */
    const soa_supervisor_phase *phases;
    int signal_count;
    const char *const *signal_names; /* for the diagram; NULL: numbers */
} soa_supervisor;
typedef struct soa_supervisor_state { /* plain data; copy it to save it */
    int phase;
    int before;     /* the phase before; -1 at the start */
    int transition; /* the transition of `before` that was taken; -1 at the start */
    int changes;
    double time;       /* s in this phase */
    double blend_time; /* s since the last change, for soa_supervisor_blend */
    /* s for which each condition of this phase has held; -1: it does not hold */
    double held[SOA_PHASE_CONDITIONS];
} soa_supervisor_state;

/* Checks the description: targets, signals, finite numbers, at most SOA_PHASE_CONDITIONS in a
 * phase. */
SOA_API soa_status soa_supervisor_check(const soa_supervisor *supervisor, soa_report *report);
/* The state at the beginning.  Status as in soa_supervisor_check. */
SOA_API soa_status soa_supervisor_start(const soa_supervisor *supervisor,
                                        soa_supervisor_state *state);
/* One sample: dt seconds after the last one, with the signals measured now.  At most one transition
 * is taken; the time of the new phase is then 0.  changed (may be NULL): whether one was taken. */
SOA_API soa_status soa_supervisor_tick(const soa_supervisor *supervisor,
                                       soa_supervisor_state *state, const double *signals,
                                       double dt, bool *changed);
/* Switches n torques without a jump.  Call it once after each tick, with tau of the laws of the new
 * phase; tau is changed in place.  At the sample of a change, `offset` becomes last - tau; then
 * (1 - quintic(time / blend)) offset is added to tau.  last: torques of the sample before, read at
 * a change only, else it may be NULL.  offset: n numbers of the caller; a checkpoint must contain
 * them. */
SOA_API soa_status soa_supervisor_blend(const soa_supervisor *supervisor,
                                        const soa_supervisor_state *state, bool changed, int n,
                                        const double *last, double *offset, double *tau);
/* Graphviz text of phases and transitions.  length (may be NULL): bytes needed, with the final
 * zero.  SOA_E_MEMORY: `text` is too short; only length is written.  text NULL with size 0: only
 * the length is computed (SOA_OK). */
SOA_API soa_status soa_supervisor_diagram(const soa_supervisor *supervisor, char *text, size_t size,
                                          size_t *length);

#ifdef __cplusplus
}
#endif
#endif
