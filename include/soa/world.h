/* soa/world.h  time (libsoa-sim): simulations, worlds, sweeps.
 *
 * The integrators are those of SUNDIALS (ARKODE, CVODE).  Functions here may allocate; they neither
 * print nor exit.  The same binary with the same input gives the same bits.  Pointers are needed
 * unless the text says otherwise; reports may be NULL.  A world belongs to one thread at a time. */
#ifndef SOA_WORLD_H
#define SOA_WORLD_H

#include "soa/constraint.h"
#include "soa/forms.h"
#include "soa/grasp.h"
#include "soa/journal.h"
#include "soa/plot.h"
#include "soa/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One moment of a motion.  The arrays belong to the simulation and are valid only during the call
 * that receives them. */
typedef struct soa_sim_sample {
    double t;          /* s */
    const double *q;   /* nq numbers, quaternions of unit length */
    const double *v;   /* nv numbers */
    double kinetic;    /* J */
    double potential;  /* J, gravity and springs */
    double dissipated; /* J, by viscous and Coulomb friction since the start */
    double supplied;   /* J, work of the applied torques since the start */
    /* J: kinetic + potential + dissipated - supplied, minus its first value.  Zero except for the
     * error of the integration. */
    double balance;
} soa_sim_sample;

/* Called for every sample; true ends the simulation there. */
typedef bool soa_sim_sample_fn(void *user, const soa_sim_sample *sample);
/* Joint torques applied at (t, q, v): nv numbers, smooth between samples. */
typedef soa_status soa_sim_torque_fn(void *user, double t, const double *q, const double *v,
                                     double *tau);

typedef struct soa_sim_options {
    double duration;           /* s, default 2 */
    double sample_time;        /* s between samples, default 0.005; steps end on samples */
    double relative_tolerance; /* of the error per step and coordinate; default 1e-8 */
    double absolute_tolerance; /* in the unit of each coordinate; default 1e-10 */
    int order;                 /* of the Runge-Kutta pair: 2, 3, 4, 5, 6 or 8; default 5 */
    long max_steps;            /* default 10,000,000 */
    soa_sim_torque_fn *torque; /* default NULL: no torque */
    void *torque_user;
    soa_sim_sample_fn *sample; /* default NULL */
    void *sample_user;
} soa_sim_options;
SOA_API soa_sim_options soa_sim_options_default(void);

typedef struct soa_sim_result {
    double t; /* time reached, s */
    long samples;
    long steps;       /* accepted */
    long rejected;    /* rejected steps */
    long evaluations; /* of forward dynamics */
    long stops;       /* how often a joint came to rest, and stuck or reversed */
    long releases;    /* how often a stuck joint broke loose */
    double wall_time; /* s */
    double kinetic_start;
    double potential_start;
    double kinetic; /* J, at the end, like the next ones */
    double potential;
    double viscous; /* J, dissipated */
    double coulomb; /* J, dissipated */
    double supplied;
    double balance;
    double balance_worst; /* J, largest |balance| of all samples */
    double energy_scale;  /* J, largest of kinetic, |potential - start|, dissipated, |supplied| */
} soa_sim_result;

/* Moves the machine from (q, v) for options->duration under gravity, springs, friction and the
 * applied torques.  v NULL: at rest.  options NULL: the defaults.  q and v are not changed.  Stops
 * at joint limits are not modelled.
 *
 * Coulomb friction: a joint at v = 0 sticks while the torque that holds it stays within
 * [-friction_positive, friction_negative].  The times at which a sliding joint comes to rest and at
 * which a stuck joint breaks loose are located as events.  Between events the motion is smooth, so
 * that the error control is valid.  Which joints stick follows from a small linear complementarity
 * problem in M^-1.
 *
 * result is also written if a later step fails; it then describes the motion so far.  If
 * options->torque returns a status other than SOA_OK, the simulation ends with it.  Status:
 * SOA_E_ARGUMENT, SOA_E_MEMORY, SOA_E_NO_CONVERGENCE (the integrator), or a status of the
 * dynamics. */
SOA_API soa_status soa_simulate(const soa_model *model, const double *q, const double *v,
                                const soa_sim_options *options, soa_sim_result *result,
                                soa_report *report);

/* --- cores ------------------------------------------------------------------------------------ */
/* A soa_parallel_for (soa/forms.h) on the threads of OpenMP.  user: NULL, or an int with the
 * largest number of threads.  Without OpenMP, tasks run one after the other, and
 * soa_openmp_thread_count is 1. */
SOA_API void soa_openmp_parallel_for(void *user, int count, soa_parallel_task *task, void *data);
SOA_API int soa_openmp_thread_count(void);

/* --- closed chains ---------------------------------------------------------------------------- */
/* One moment of the motion of a closed machine.  The arrays are valid only during the call that
 * receives them. */
typedef struct soa_closed_sample {
    double t;
    const double *q;
    const double *v;
    double kinetic;    /* J */
    double potential;  /* J */
    double supplied;   /* J since the start, by torques, drives, and efforts of cut joints */
    double dissipated; /* J since the start, by friction */
    /* J: kinetic + potential + dissipated - supplied, minus its first value. */
    double balance;
    double position_error;         /* largest |g| after projection, m or rad */
    double rate_error;             /* largest |G v + dg/dt| after projection */
    const soa_closed_report *last; /* rank, condition and redundancy at this moment */
} soa_closed_sample;

/* Called after every step or sample; true ends the simulation there. */
typedef bool soa_closed_sample_fn(void *user, const soa_closed_sample *sample);

typedef struct soa_closed_sim_options {
    double start;    /* s: drives and torques may depend on the time; default 0 */
    double duration; /* s, default 1 */
    /* s: time between calls of `sample`; steps end there.  Default 0: called after every step. */
    double sample_time;
    /* Of the error per step; angles count as at most 1 rad; default 1e-8 */
    double relative_tolerance;
    double absolute_tolerance; /* in the unit of each coordinate; default 1e-10 */
    int order;                 /* of the Runge-Kutta pair: 2, 3, 4, 5, 6 or 8; default 5 */
    double max_step;           /* s; default 0: no bound */
    long max_steps;            /* default 10,000,000 */
    /* method, rank tolerance, consistency, damping; see soa_closed_fd */
    soa_closed_options closed;
    /* true: no projection; then g drifts, unless the Baumgarte terms in `closed` prevent it */
    bool no_projection;
    soa_sim_torque_fn *torque; /* joint torques; default NULL */
    void *torque_user;
    soa_closed_sample_fn *sample; /* default NULL */
    void *sample_user;
} soa_closed_sim_options;
SOA_API soa_closed_sim_options soa_closed_sim_options_default(void);

typedef struct soa_closed_sim_result {
    double t;   /* time reached */
    long steps; /* accepted */
    long rejected;
    long evaluations; /* of soa_closed_fd */
    long projections;
    long retries;  /* steps that were repeated because their projection or a stage failed */
    long passages; /* steps over a singular configuration, chosen so that no stage is at it */
    long stops;    /* how often a coordinate with friction came to rest */
    long releases; /* how often one broke loose */
    double relief; /* largest factor by which the tolerance was raised over a passage; 1: never */
    double wall_time; /* s */
    double kinetic_start;
    double potential_start;
    double kinetic;
    double potential;
    double supplied;
    double dissipated;
    double balance;        /* J, at the end */
    double balance_worst;  /* J, largest */
    double energy_scale;   /* J, largest of kinetic, |potential - start|, dissipated, |supplied| */
    double drift_worst;    /* largest |g| that a projection found, m or rad */
    double position_error; /* largest after projection */
    double rate_error;     /* largest after projection */
    int rows;
    int rank_least; /* over all accepted states */
    int rank_most;
    double condition_worst; /* of the independent rows, over all evaluations */
    char redundancy[256];   /* the first redundancy that was found, in words; empty: none */
} soa_closed_sim_result;

/* Moves the machine with its constraints from (q, v) under gravity, springs, friction and the
 * applied torques.  The start is projected; loops that are open by more than 1e-3 are refused
 * (SOA_E_INCONSISTENT).  After every step q and v are projected back by the least change in the
 * metric of the mass matrix, which affects neither the error control nor the order of the method.
 * options NULL: the defaults.  v NULL: at rest, or with drives the least motion that follows them.
 * On SOA_OK q and v are the last state.  With order 5 or more, a singular configuration on the way
 * is passed between the stages of a step; lower orders stop there with SOA_E_SINGULAR.
 * Coulomb friction, of joints of the tree and of cut joints, sticks as in soa_simulate, with
 * events.  If the loops leave fewer degrees of freedom than there are stuck joints, their holding
 * torques are not unique; the machine breaks loose when no torques within the bounds can hold it.
 * While the simulation runs, the friction of cut joints in the constraints is zero; it is restored
 * at the end.  Allocates.
 * Status: SOA_E_ARGUMENT, SOA_E_MEMORY, SOA_E_NO_CONVERGENCE, or a status of the dynamics; the
 * report names the time and the constraint.  result describes the motion so far. */
SOA_API soa_status soa_closed_simulate(soa_constraints *constraints, double *q, double *v,
                                       const soa_closed_sim_options *options,
                                       soa_closed_sim_result *result, soa_report *report);

/* --- grasps ----------------------------------------------------------------------------------- */
/* A one-sided contact is about to break, slip or tip: its margin (soa_grasp_check_contacts) has
 * fallen to zero. */
typedef struct soa_grasp_event {
    double t;
    int contact;                    /* its number in the grasp */
    const soa_contact_check *check; /* forces, and which event */
    const double *q;
    const double *v;
} soa_grasp_event;
typedef enum soa_grasp_answer {
    SOA_GRASP_STOP,    /* the simulation ends there with SOA_OK */
    SOA_GRASP_RELEASE, /* the contact is switched off, and the motion continues */
    SOA_GRASP_IGNORE   /* from now on it holds as if it were two-sided */
} soa_grasp_answer;
typedef soa_grasp_answer soa_grasp_event_fn(void *user, const soa_grasp_event *event);

/* A contact that is switched on or off at a given time.  To be switched on, its places must meet
 * (within 1e-3).  Velocities change by the impulse of soa_grasp_impulse, which keeps the momentum;
 * the kinetic energy that is lost counts as dissipated. */
typedef struct soa_grasp_change {
    double t;
    int contact;
    bool on;
} soa_grasp_change;

typedef struct soa_grasp_sample {
    double t;
    const double *q;
    const double *v;
    double kinetic; /* this and the next four as in soa_closed_sample */
    double potential;
    double supplied;
    double dissipated;
    double balance;
    int contacts;        /* number of contacts that are on */
    const double *force; /* f(0), 6 for each */
    const soa_contact_check *checks;
    double position_error; /* of the contacts, after projection */
    double rate_error;
} soa_grasp_sample;
typedef bool soa_grasp_sample_fn(void *user, const soa_grasp_sample *sample);

typedef struct soa_grasp_sim_options {
    double start; /* s; this and the next two as in soa_closed_sim_options */
    double duration;
    double sample_time;
    double relative_tolerance; /* default 1e-8 */
    double absolute_tolerance; /* default 1e-10 */
    int order;                 /* default 5 */
    double max_step;
    long max_steps;
    /* Method and so on.  Default rank_tolerance 1e-10 and consistency 1e-2, because stages are off
     * the constraints by the error of a step. */
    soa_grasp_options grasp;
    soa_sim_torque_fn *torque;
    void *torque_user;
    soa_grasp_event_fn *event; /* default NULL: SOA_GRASP_STOP */
    void *event_user;
    soa_grasp_sample_fn *sample;
    void *sample_user;
    const soa_grasp_change *changes; /* in the order of time */
    int change_count;
} soa_grasp_sim_options;
SOA_API soa_grasp_sim_options soa_grasp_sim_options_default(void);

typedef struct soa_grasp_sim_result {
    double t;
    long steps;
    long rejected;
    long evaluations;
    long projections;
    long events;   /* how often a margin fell to zero */
    long releases; /* how often a contact was switched off */
    long closures; /* how often a contact was closed */
    bool stopped;  /* true: by an event or by the sample function */
    /* time and contact of the last event (-1: none); its pointers are NULL */
    soa_grasp_event last;
    soa_contact_event last_event;
    double wall_time;
    double kinetic_start;
    double potential_start;
    double kinetic;
    double potential;
    double supplied;
    double dissipated;
    double lost; /* the part of `dissipated` that was lost at closures */
    double balance;
    double balance_worst;
    double energy_scale;
    double position_error; /* largest after projection */
    double rate_error;     /* largest after projection */
    double margin_least;   /* N, of all one-sided contacts at all steps */
} soa_grasp_sim_result;

/* Moves arms and object from (q, v), held by the contacts that are on: soa_grasp_fd under error
 * control.  Positions and velocities of the contacts are projected after each step.  Friction cones
 * (RK88-II appendix A) are monitored: the margin of each one-sided contact is an event function of
 * the integrator, and `event` answers.  A margin that is negative at the start, or after another
 * contact was released, is an event at once.  Afterwards the grasp is as the motion left it.  On
 * SOA_OK q and v are the last state.  v NULL: at rest.  options NULL: the defaults.
 * SOA_E_ARGUMENT: a joint has Coulomb friction.  SOA_E_INCONSISTENT: a contact is open by more than
 * 1e-3.  Allocates. */
SOA_API soa_status soa_grasp_simulate(soa_grasp *grasp, double *q, double *v,
                                      const soa_grasp_sim_options *options,
                                      soa_grasp_sim_result *result, soa_report *report);

/* --- worlds ----------------------------------------------------------------------------------- */
/* A world is a scenario in motion: all parts as one model, contacts, sensors, supervisor and laws.
 * The time advances in ticks, the periods of the controller (without a controller, of the record).
 * Torques are held within a tick.  Everything that changes is in one block of memory, so a world
 * can be saved at any tick and then continues with the same bits.  docs/scenarios.md. */
typedef struct soa_world soa_world;
/* The scenario must outlive the world.  On failure the report has the place in the file.
 * Allocates. */
SOA_API soa_status soa_world_create(const soa_scenario *scenario, soa_world **world,
                                    soa_report *report);
SOA_API void soa_world_free(soa_world *world);
/* One tick: sensors, controller, motion.  Only the integrator may allocate (docs/worlds.md).  After
 * a tick that failed, every later one returns the same status, until a state is restored. */
SOA_API soa_status soa_world_tick(soa_world *world, soa_report *report);
/* A controller of the caller.  It is called at the start of every tick with q and v as the sensors
 * give them, and writes tau, nv numbers, which are zero on entry.  Torques of joints without motors
 * are ignored; the others are bounded if control.saturate is true.  A status other than SOA_OK, or
 * a number that is not finite, ends the run.  Only with scenario->control.external, or where phases
 * have actions of SOA_ACT_EXTERNAL.  In such a phase it is called once a tick, after the
 * supervisor's decision (soa_world_phase), and only the torques of these actions' joints are taken;
 * in other phases it is not called.  What the function stores is not part of the state of the
 * world; the caller must save it. */
typedef soa_status soa_world_torque_fn(void *user, const soa_world *world, double t,
                                       const double *q, const double *v, double *tau);
/* torque NULL: none; a tick in a phase that needs one then fails with SOA_E_ARGUMENT.
 * SOA_E_ARGUMENT: control.external is false, and no phase has an action of SOA_ACT_EXTERNAL. */
SOA_API soa_status soa_world_set_torque(soa_world *world, soa_world_torque_fn *torque, void *user);

/* --- changing a running world ----------------------------------------------------------------- */
/* Sets the state to (q, v) at the time of the world; v NULL: at rest.  Quaternions are scaled to
 * unit length, and loops are closed by the nearest state that closes them.  Contacts, sticking
 * joints (their friction holds from here) and delayed sensors start again; supervisor and laws
 * continue as they were.  Balances of energy and momentum continue from the new state.  These are
 * refused, and the world is unchanged: numbers that are not finite (SOA_E_NOT_FINITE), loops that
 * cannot be closed, shapes that overlap by more than their margin (SOA_E_ARGUMENT), a world whose
 * tick failed.  Allocates. */
SOA_API soa_status soa_world_set_state(soa_world *world, const double *q, const double *v,
                                       soa_report *report);
/* A force on a body in all later ticks: the constant `force`, and a damped spring from a point of
 * the body to a point in the world.  With r = stiffness (to - point) - damping (velocity of the
 * point), the spring exerts r / sqrt(1 + (|r| / most)^2): smooth, and never more than `most`. */
typedef struct soa_world_pull {
    int body;         /* 1 to soa_model_body_count */
    double at[3];     /* the point, in the axes of the body, from its origin */
    double force[3];  /* N, world axes */
    double to[3];     /* the other end of the spring, world */
    double stiffness; /* N/m */
    double damping;   /* N s/m */
    double most;      /* N; 0: no bound */
} soa_world_pull;
/* A damped spring at a joint coordinate, bounded in the same way.  Not for coordinates of spherical
 * and free joints. */
typedef struct soa_world_hold {
    int v;            /* number of the velocity coordinate */
    double to;        /* wanted position, rad or m */
    double stiffness; /* N m/rad or N/m */
    double damping;   /* N m s/rad or N s/m */
    double most;      /* N m or N; 0: no bound */
} soa_world_hold;
#define SOA_WORLD_PULLS 16
/* Replaces all pulls and holds, at most SOA_WORLD_PULLS of each; 0: none.  They count as
 * disturbances: their work in the energy balance, the impulse of pulls in the momentum balance.
 * They are not part of the state that is saved, and the scenario does not repeat a run that was
 * pulled.  SOA_E_ARGUMENT, SOA_E_NOT_FINITE: nothing is changed. */
SOA_API soa_status soa_world_set_pulls(soa_world *world, const soa_world_pull *pulls,
                                       int pull_count, const soa_world_hold *holds, int hold_count);

/* --- reading a world -------------------------------------------------------------------------- */
/* What the readers from here to soa_world_signal_values return is valid as long as the world; names
 * need its scenario too.  q, v, tau: nq, nv, nv numbers.  Their addresses do not change, but the
 * numbers change with every tick, set_state and restore; copy them to keep them.  tau: torques of
 * the motors in the last tick. */
SOA_API const soa_model *soa_world_model(const soa_world *world);
/* The constraints of the models, then those of the scenario; NULL: none.  They belong to the
 * world. */
SOA_API const soa_constraints *soa_world_constraints(const soa_world *world);
SOA_API double soa_world_time(const soa_world *world);
SOA_API double soa_world_tick_length(const soa_world *world);
SOA_API const double *soa_world_q(const soa_world *world);
SOA_API const double *soa_world_v(const soa_world *world);
SOA_API const double *soa_world_tau(const soa_world *world);
SOA_API const char *soa_world_phase(const soa_world *world); /* "" without a supervisor */

/* What happened in the last tick: touch, release, slip, stick, limit, phase; "more": there were
 * more, which were not kept. */
typedef struct soa_world_event {
    double t;
    char kind[12];
    char text[100];
} soa_world_event;
SOA_API const soa_world_event *soa_world_events(const soa_world *world, int *count);

/* A point where shapes touch now. */
typedef struct soa_world_contact {
    const char *shape_a;
    const char *shape_b;
    double point[3];
    double normal[3];     /* from b to a */
    double distance;      /* m */
    double pressure;      /* N */
    double tangential[3]; /* N, on a */
    bool sliding;
} soa_world_contact;
/* Writes at most `most` contacts (contacts NULL: none) and returns how many there are, which may be
 * more. */
SOA_API int soa_world_contacts(const soa_world *world, soa_world_contact *contacts, int most);

/* The shapes are those of the scenario, then the <collision> shapes of its URDF parts that can
 * touch something.  The latter are named "part.link" ("part.link.NAME" or "part.link.2" if a link
 * has several), in a group with the name of the part.  Each has its hull and its place on its
 * body. */
typedef struct soa_world_shape {
    const char *name;
    const char *group;
    int body;        /* of the model of the world; 0: the world */
    soa_frame place; /* in the frame of the body */
    const soa_shape *shape;
} soa_world_shape;
/* Two shapes that may touch. */
typedef struct soa_world_pair {
    int a; /* numbers of shapes */
    int b;
    double margin; /* m: closer than this they touch */
} soa_world_pair;
/* index: 0 to count - 1, else SOA_E_ARGUMENT. */
SOA_API int soa_world_shape_count(const soa_world *world);
SOA_API soa_status soa_world_get_shape(const soa_world *world, int index, soa_world_shape *shape);
SOA_API int soa_world_pair_count(const soa_world *world);
SOA_API soa_status soa_world_get_pair(const soa_world *world, int index, soa_world_pair *pair);

/* All signals that are recorded, by name (NULL past the end; unit may be NULL).  values:
 * signal_count numbers, as they are now; NaN: not measured yet, or there is nothing to measure. */
SOA_API int soa_world_signal_count(const soa_world *world);
SOA_API const char *soa_world_signal_name(const soa_world *world, int index, const char **unit);
SOA_API soa_status soa_world_signal_values(soa_world *world, double *values);

/* The state: everything that changes, state_size bytes without pointers, of any alignment.
 * restore: only into a world of the same scenario, models and version (else SOA_E_FORMAT), and
 * undamaged (else SOA_E_CHECKSUM); on failure the world is unchanged. */
SOA_API size_t soa_world_state_size(const soa_world *world);
SOA_API void soa_world_save_state(const soa_world *world, void *memory);
SOA_API soa_status soa_world_restore_state(soa_world *world, const void *memory, size_t size);

/* A remark of the run for its user: one entry for each code and name, with the worst value that was
 * seen.  docs/worlds.md lists the codes.  The texts belong to the world; the list is valid until
 * the next tick. */
typedef struct soa_world_warning {
    double t;         /* s, when it was first seen */
    double value;     /* the worst, in the unit that the remedy names; NaN: none */
    char code[24];    /* "saturated", "chatter", ... */
    char name[96];    /* of the law, joint, part, loop or shape */
    char remedy[256]; /* what was found, and what to do */
} soa_world_warning;
SOA_API const soa_world_warning *soa_world_warnings(const soa_world *world, int *count);

/* A coordinate that moved when the loops were closed at the start. */
typedef struct soa_world_move {
    char name[128]; /* the joint; "joint[k]" if it has several coordinates */
    double from;    /* rad or m */
    double to;
} soa_world_move;
SOA_API const soa_world_move *soa_world_assembly(const soa_world *world, int *count);

/* Limits, stops and shapes of one part; by number of the part. */
typedef struct soa_world_part {
    const char *name;
    /* coordinates with limits; a follower (mimic) has those of its leader */
    int limits;
    int stops;                /* how many of these have a stop: all, or none */
    double stop_stiffness[2]; /* least and greatest of the stops, N m/rad or N/m */
    double stop_damping[2];   /* N m s/rad or N s/m */
    int shapes;               /* shapes of the scenario on it */
    int collisions;           /* <collision> shapes of its URDF that can be used */
    int in_use;               /* how many of these can touch something here */
    bool moves;               /* it has bodies that move */
    bool floats;              /* its root is free */
    double mass;              /* of the bodies that move, kg */
    bool can_touch;           /* one of its shapes can touch another part */
    /* Of its collision shapes, unless `contacts` of the scenario says otherwise; between two
     * machines, that of the lighter one holds */
    soa_contact_pair law;
} soa_world_part;
SOA_API const soa_world_part *soa_world_parts(const soa_world *world, int *count);

/* A <collision> that cannot be used; its link cannot touch there. */
typedef struct soa_world_gap {
    const char *part;
    const char *link;
    const char *mesh;  /* the file, or its name in the URDF; NULL: no mesh */
    const char *fault; /* why it cannot be used */
} soa_world_gap;
SOA_API const soa_world_gap *soa_world_gaps(const soa_world *world, int *count);

typedef struct soa_world_summary {
    double t;
    double wall_time;
    double real_time_factor;
    long long ticks;
    long long steps;
    long long rejected;
    long long evaluations;
    long long touches;
    long long releases;
    long long slips;
    long long saves; /* evaluations at accepted states below the least distance of a contact */
    /* J: energies now. */
    double kinetic;
    double potential;
    double stored; /* in contacts */
    /* J: work since the start (docs/worlds.md). */
    double supplied;
    double viscous;
    double rubbed;
    double stopped;
    double contact;
    double disturbed;
    double energy_error_rel; /* largest error of the balance, over the largest energy involved */
    /* J: the largest increase of the work of contacts plus the energy stored in them; 0 except for
     * errors */
    double contact_created;
    bool is_free; /* momentum is conserved: no gravity, and nothing touches the world */
    /* Largest |h - h(0) - impulses| over the largest sum of |h_i|, linear or angular */
    double momentum_error_rel;
    double closure_error; /* m or rad, of loops */
    bool judged;          /* the scenario says what success is */
    bool held;            /* and there was success */
    /* A law gave the object a goal; otherwise errors are its motion since it counts */
    bool has_goal;
    char verdict[256];       /* why it is held or not; empty unless judged */
    double position_error_m; /* largest while success is judged */
    double attitude_error_deg;
    int fingers_lost;
    int fingers_slipped;
    int finger_count;
    double slip_worst_m;
    double internal_force_N; /* mean while success is judged; then least and greatest */
    double internal_force_least;
    double internal_force_most;
    const char *phase;
    const soa_world_warning *warnings; /* as soa_world_warnings returns them */
    int warning_count;
    int more_warnings;              /* number of warnings for which there was no room */
    const soa_world_move *assembly; /* as soa_world_assembly returns them */
    int assembly_count;
    int constraint_rows;         /* of the loops at the start */
    int constraint_rank;         /* number of rows that do not repeat others */
    const char *redundancy;      /* which constraints repeat others at the start; empty: none */
    const soa_world_part *parts; /* as soa_world_parts returns them */
    int part_count;
    const soa_world_gap *gaps; /* as soa_world_gaps returns them */
    int gap_count;
} soa_world_summary;
/* At any time; what concerns success is final only at the end. */
SOA_API soa_status soa_world_summarise(soa_world *world, soa_world_summary *summary);
/* Creates a journal with the signals of the world and with text, file, seed and case of its
 * scenario.  Status as soa_journal_create.  The caller closes it. */
SOA_API soa_status soa_world_create_journal(soa_world *world, const char *path,
                                            soa_journal **journal, soa_report *report);
/* The scenario of a journal as it was run, with its file, seed and case.  `name` is for messages.
 * SOA_E_FORMAT: the journal contains no scenario, or its text can no longer be read.  Release with
 * soa_scenario_free. */
SOA_API soa_status soa_scenario_from_log(const soa_log *log, const char *name,
                                         soa_scenario *scenario, soa_report *report);
/* Continues a run that was stopped or killed, from its journal.  Makes the scenario as it was run
 * (file, seed and case are in the journal; models and meshes are opened again and must not have
 * changed), a world at the last checkpoint (at the start if there is none), and the journal, cut
 * back to that point.  What soa_world_run then writes is, to the byte, what an uninterrupted run
 * would have written.  `scenario` must stay at its address as long as the world; free the world
 * first.  On failure nothing is made.  Where scenario->control.external is true, the torques came
 * from a function of the caller: give it to soa_world_set_torque before the run goes on. */
SOA_API soa_status soa_world_resume(const char *path, soa_scenario *scenario, soa_world **world,
                                    soa_journal **journal, soa_report *report);
/* Called after every tick; true ends the run there, with a checkpoint and SOA_OK. */
typedef bool soa_run_progress_fn(void *user, soa_world *world);
typedef struct soa_run_options {
    double until; /* s; 0: the duration of the scenario */
    soa_run_progress_fn *progress;
    void *user;
} soa_run_options;
/* Runs from the time of the world to the end, and records to `journal` (NULL: nowhere), which stays
 * open.  options NULL: zeros.  soa_world_time is the time that was reached.  Status: that of a tick
 * that failed (its events are recorded), or that of the journal; if the record fails, the run
 * stops, and the report says until when the data are safe. */
SOA_API soa_status soa_world_run(soa_world *world, soa_journal *journal,
                                 const soa_run_options *options, soa_report *report);
/* Graphviz text of the phases, as soa_supervisor_diagram.  SOA_E_ARGUMENT: there are none. */
SOA_API soa_status soa_world_diagram(const soa_world *world, char *text, size_t size,
                                     size_t *length);

/* --- sweeps ----------------------------------------------------------------------------------- */
/* Runs the cases 0 to cases - 1 of a scenario, with quantities drawn by soa_scenario_vary, and
 * writes a table (CSV) with one line per case in order.  Its bytes are the same for any number of
 * threads and ranks on machines of one kind.  Until the table is complete, finished cases are kept
 * next to it in TABLE.cases, so that a sweep that was stopped or killed can continue.
 * docs/grapple.md. */
typedef struct soa_sweep_result {
    int cases;               /* number of cases of the sweep */
    int done;                /* number of finished cases */
    int kept;                /* how many of these are from the sweep before */
    int mine;                /* cases of this rank */
    int ran;                 /* cases of this rank that have run */
    int held;                /* finished cases with success */
    int faults;              /* finished cases that ended with a fault */
    int warned;              /* finished cases with warnings */
    bool stopped;            /* true: ended before all were done */
    double position_error_m; /* largest of the cases with success */
    double attitude_error_deg;
    double momentum_error_rel; /* largest of all; NaN: no case is free */
    double energy_error_rel;   /* largest of all */
} soa_sweep_result;
typedef struct soa_sweep_options {
    int cases;         /* default 100 */
    int threads;       /* default 0: all that OpenMP has */
    const char *table; /* file; NULL: none, and no cases are kept */
    /* true: continues with the cases that were kept; false: refuses such a file */
    bool resume;
    int rank;  /* default 0 */
    int ranks; /* default 1 */
    /* With several ranks: gives every rank the bytes of all ranks, one after the other, in memory
     * from malloc.  All ranks call it the same number of times. */
    soa_status (*exchange)(void *user, const char *mine, size_t size, char **all, size_t *all_size);
    /* Called often, by all threads; true ends the sweep.  NULL: never. */
    bool (*stop)(void *user);
    /* Called after every case, by one thread at a time. */
    void (*progress)(void *user, const soa_sweep_result *now);
    void *user;
} soa_sweep_options;
SOA_API soa_sweep_options soa_sweep_options_default(void);
/* A case that ends with a fault is a row that says so.  SOA_OK also if the sweep was stopped.
 * result (may be NULL) describes the sweep so far.  SOA_E_FILE: the table, or another rank, failed.
 * Also the status of soa_world_create for the scenario.  Allocates. */
SOA_API soa_status soa_scenario_sweep(const soa_scenario *scenario,
                                      const soa_sweep_options *options, soa_sweep_result *result,
                                      soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
