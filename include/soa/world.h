/* soa/world.h  time (libsoa-sim): machines that move, and pictures of how they did.
 *
 * The integrator is SUNDIALS' ARKODE: explicit Runge-Kutta with error control.  Calls here may
 * allocate; they neither print nor exit.  Same binary, same input: the same bits.  Pointers are
 * needed unless the text says otherwise; reports may be NULL.  A world belongs to one thread at a
 * time. */
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

/* One moment of a motion. The arrays belong to the simulation and hold only during the call that
 * shows them. */
typedef struct soa_sim_sample {
    double t;          /* s */
    const double *q;   /* nq numbers, quaternions unit */
    const double *v;   /* nv numbers */
    double kinetic;    /* J */
    double potential;  /* J, gravity and springs */
    double dissipated; /* J, taken by viscous and Coulomb friction since the start */
    double supplied;   /* J, work of the applied torques since the start */
    double balance;    /* J, kinetic + potential + dissipated - supplied, less its first value:
                           zero but for the error of the integration */
} soa_sim_sample;

/* Shown every sample; the answer true ends the simulation there. */
typedef bool soa_sim_sample_fn(void *user, const soa_sim_sample *sample);
/* Joint torques applied at (t, q, v): nv numbers, smooth between samples. */
typedef soa_status soa_sim_torque_fn(void *user, double t, const double *q, const double *v,
                                     double *tau);

typedef struct soa_sim_options {
    double duration;           /* s, default 2 */
    double sample_time;        /* s between samples, default 0.005; steps end on samples */
    double relative_tolerance; /* of the error per step and coordinate, default 1e-8 */
    double absolute_tolerance; /* default 1e-10 in every coordinate's own unit */
    int order;                 /* of the Runge-Kutta pair: 2, 3, 4, 5, 6 or 8; default 5 */
    long max_steps;            /* default 10,000,000 */
    soa_sim_torque_fn *torque; /* default NULL: no torque */
    void *torque_user;
    soa_sim_sample_fn *sample; /* default NULL */
    void *sample_user;
} soa_sim_options;
SOA_API soa_sim_options soa_sim_options_default(void);

typedef struct soa_sim_result {
    double t;                                   /* time reached, s */
    long samples, steps, rejected, evaluations; /* accepted and rejected steps, forward dynamics */
    long stops, releases;                       /* joints that came to rest and stuck or turned;
                                                 * that broke loose */
    double wall_time;                           /* s */
    double kinetic_start, potential_start, kinetic, potential;
    double viscous, coulomb; /* J, dissipated */
    double supplied;
    double balance;       /* J, at the end */
    double balance_worst; /* J, largest |balance| of all samples */
    double energy_scale;  /* J, largest of kinetic, |potential - start|, dissipated, |supplied| */
} soa_sim_result;

/* Moves the machine from (q, v) for options->duration under gravity, springs, friction and the
 * applied torques. v NULL: at rest.  options NULL: the defaults.  q and v stay as they are.  Stops
 * at joint limits are not modelled.
 *
 * Coulomb friction is set-valued at rest: a joint at v = 0 sticks while the torque that holds it
 * stays within [-friction_positive, friction_negative].  Zero crossings of sliding joints and the
 * break-away of stuck ones are located as events and every stretch between them is smooth, so the
 * error control means what it says; which joints stick is the solution of a small linear
 * complementarity problem in M^-1.
 *
 * result is written also when a later step fails (as far as it went).  A status of options->torque
 * ends it.  Status: SOA_E_ARGUMENT, SOA_E_MEMORY, SOA_E_NO_CONVERGENCE (integrator), or what the
 * dynamics found. */
SOA_API soa_status soa_simulate(const soa_model *model, const double *q, const double *v,
                                const soa_sim_options *options, soa_sim_result *result,
                                soa_report *report);

/* --- cores ------------------------------------------------------------------------------------ */
/* A soa_parallel_for (soa/forms.h) on OpenMP's threads.  user: NULL, or an int: how many threads at
 * most.  Without OpenMP it runs one task after the other, and soa_openmp_thread_count is 1. */
SOA_API void soa_openmp_parallel_for(void *user, int count, soa_parallel_task *task, void *data);
SOA_API int soa_openmp_thread_count(void);

/* --- closed chains ---------------------------------------------------------------------------- */
/* One moment of a closed machine's motion; the arrays hold only during the call that shows them. */
typedef struct soa_closed_sample {
    double t;
    const double *q, *v;
    double kinetic, potential;     /* J */
    double supplied, dissipated;   /* J since the start: torques, drives and efforts of cut joints;
                                    * friction */
    double balance;                /* J, kinetic + potential + dissipated - supplied, less its first
                                    * value */
    double position_error;         /* largest |g| after projection, m or rad */
    double rate_error;             /* largest |G v + dg/dt| after projection */
    const soa_closed_report *last; /* rank, condition and redundancy at this moment */
} soa_closed_sample;

/* Shown after every step or sample; the answer true ends the simulation there. */
typedef bool soa_closed_sample_fn(void *user, const soa_closed_sample *sample);

typedef struct soa_closed_sim_options {
    double start;              /* s, default 0: drives and torques may depend on time */
    double duration;           /* s, default 1 */
    double sample_time;        /* s; steps end on samples, and these are shown.  Default 0: every
                                * step is shown */
    double relative_tolerance; /* of the error per step, default 1e-8; turning angles count as at
                                * most 1 rad */
    double absolute_tolerance; /* default 1e-10, in every coordinate's own unit */
    int order;                 /* of the Runge-Kutta pair: 2, 3, 4, 5, 6 or 8; default 5 */
    double max_step;           /* s, default 0: none */
    long max_steps;            /* default 10,000,000 */
    soa_closed_options closed; /* method, rank tolerance, consistency, damping; see soa_closed_fd */
    bool no_projection;        /* true: none, so g drifts (or Baumgarte's terms in `closed` hold
                                * it) */
    soa_sim_torque_fn *torque; /* joint torques; default NULL */
    void *torque_user;
    soa_closed_sample_fn *sample; /* default NULL */
    void *sample_user;
} soa_closed_sim_options;
SOA_API soa_closed_sim_options soa_closed_sim_options_default(void);

typedef struct soa_closed_sim_result {
    double t;                          /* time reached */
    long steps, rejected, evaluations; /* accepted and rejected steps, soa_closed_fd */
    long projections, retries;         /* projections; steps taken again because theirs, or a stage,
                                        * failed */
    long passages;                     /* steps over a singular configuration, chosen so that no
                                        * stage meets it */
    long stops, releases;              /* rubbing coordinates that came to rest; that broke loose */
    double relief;                     /* largest factor by which the tolerance was raised over a
                                        * passage; 1: never */
    double wall_time;                  /* s */
    double kinetic_start, potential_start, kinetic, potential;
    double supplied, dissipated;
    double balance, balance_worst;     /* J, at the end; largest */
    double energy_scale;               /* J, largest of kinetic, |potential - start|, dissipated,
                                        * |supplied| */
    double drift_worst;                /* largest |g| that a projection found, m or rad */
    double position_error, rate_error; /* largest after projection */
    int rows, rank_least, rank_most;   /* over all accepted states */
    double condition_worst;            /* of the independent rows, over all evaluations */
    char redundancy[256];              /* the first redundancy found, in words; empty: none */
} soa_closed_sim_result;

/* Moves the machine with its constraints from (q, v) under gravity, springs, friction and the
 * applied torques.  The start is projected; one that is open by more than 1e-3 is refused
 * (SOA_E_INCONSISTENT).  After every step q and v are projected back, by the least mass-weighted
 * change; error control and order of the method are not touched by that. options NULL: the
 * defaults.
 * v NULL: at rest, or for drives the least motion that follows them.  q and v hold the last state
 * when all went well.  Singular configurations on the way are passed over between the stages of a
 * step, by orders 5 and more; lower ones stop there with SOA_E_SINGULAR.
 * Coulomb friction, of joints of the tree and of cut ones, sticks as in soa_simulate: stops and
 * break-aways are events.  Where loops leave fewer freedoms than there are stuck joints, their
 * holding torques are not unique; the machine breaks loose when no torques within the bounds hold
 * it.  The friction of cut joints is set to zero in the constraints while the simulation runs, and
 * put back.  Allocates.
 * Status: SOA_E_ARGUMENT, SOA_E_MEMORY, SOA_E_NO_CONVERGENCE, or what the dynamics found; the
 * report names time and constraint.  result is written as far as it went. */
SOA_API soa_status soa_closed_simulate(soa_constraints *constraints, double *q, double *v,
                                       const soa_closed_sim_options *options,
                                       soa_closed_sim_result *result, soa_report *report);

/* --- grasps ----------------------------------------------------------------------------------- */
/* A one-sided contact that would break, slip or tip: its margin (soa_grasp_check_contacts) has come
 * down to zero. */
typedef struct soa_grasp_event {
    double t;
    int contact;                    /* its number in the grasp */
    const soa_contact_check *check; /* forces, and which event */
    const double *q, *v;
} soa_grasp_event;
typedef enum soa_grasp_answer {
    SOA_GRASP_STOP,    /* the simulation ends there, well */
    SOA_GRASP_RELEASE, /* the contact is switched off, and the motion goes on */
    SOA_GRASP_IGNORE   /* it holds as if it were two-sided, from now on */
} soa_grasp_answer;
typedef soa_grasp_answer soa_grasp_event_fn(void *user, const soa_grasp_event *event);

/* A contact switched on or off at a time.  On: its places must meet (within 1e-3), and velocities
 * change by the impulse of soa_grasp_impulse, which keeps the momentum; what kinetic energy is lost
 * counts as dissipated. */
typedef struct soa_grasp_change {
    double t;
    int contact;
    bool on;
} soa_grasp_change;

typedef struct soa_grasp_sample {
    double t;
    const double *q, *v;
    double kinetic, potential, supplied, dissipated, balance; /* as in soa_closed_sample */
    int contacts;                                             /* that are on             */
    const double *force;                                      /* f(0), 6 for each        */
    const soa_contact_check *checks;
    double position_error, rate_error; /* of the contacts, after projection */
} soa_grasp_sample;
typedef bool soa_grasp_sample_fn(void *user, const soa_grasp_sample *sample);

typedef struct soa_grasp_sim_options {
    double start, duration, sample_time;           /* s; as in soa_closed_sim_options */
    double relative_tolerance, absolute_tolerance; /* 1e-8, 1e-10 */
    int order;                                     /* 5 */
    double max_step;
    long max_steps;
    soa_grasp_options grasp; /* method and so on; rank_tolerance 1e-10 and consistency 1e-2 for
                              * stages that are off the constraints by the error of a step */
    soa_sim_torque_fn *torque;
    void *torque_user;
    soa_grasp_event_fn *event; /* default NULL: stop */
    void *event_user;
    soa_grasp_sample_fn *sample;
    void *sample_user;
    const soa_grasp_change *changes; /* in order of time */
    int change_count;
} soa_grasp_sim_options;
SOA_API soa_grasp_sim_options soa_grasp_sim_options_default(void);

typedef struct soa_grasp_sim_result {
    double t;
    long steps, rejected, evaluations, projections;
    long events, releases, closures; /* of contacts: margins that ended; switched off; closed */
    bool stopped;                    /* true: by an event or the sample function */
    soa_grasp_event last;            /* t and contact of the last event (-1: none); the pointers are
                                      * NULL */
    soa_contact_event last_event;
    double wall_time;
    double kinetic_start, potential_start, kinetic, potential;
    double supplied, dissipated, lost; /* lost: of dissipated, at closures */
    double balance, balance_worst, energy_scale;
    double position_error, rate_error; /* largest after projection */
    double margin_least;               /* N, of all one-sided contacts at all steps */
} soa_grasp_sim_result;

/* Moves arms and object, held by the contacts that are on, from (q, v): soa_grasp_fd under error
 * control, positions and velocities of the contacts projected after each step.  Friction cones are
 * watched continually (RK88-II appendix A): the margin of each one-sided contact is an event
 * function of the integrator, and the caller answers.  A margin that is negative from the
 * beginning, or after another contact let go, is an event there.  The grasp is left as the motion
 * left it; q and v (NULL: at rest) hold the last state when all went well.  options NULL: the
 * defaults.  Joints with Coulomb friction are refused (SOA_E_ARGUMENT), and contacts open by more
 * than 1e-3 (SOA_E_INCONSISTENT).  Allocates. */
SOA_API soa_status soa_grasp_simulate(soa_grasp *grasp, double *q, double *v,
                                      const soa_grasp_sim_options *options,
                                      soa_grasp_sim_result *result, soa_report *report);

/* --- worlds ----------------------------------------------------------------------------------- */
/* A scenario that moves: all parts as one model, contacts, sensors, supervisor and laws.  Time goes
 * in ticks, the periods of the controller (without one, of the record); torques are held within a
 * tick.  What changes is one block of memory, so a world can be saved at any tick and goes on to
 * the same bits.  docs/scenarios.md. */
typedef struct soa_world soa_world;
/* The scenario must outlive the world.  On a fault the report names its place in the file.
 * Allocates. */
SOA_API soa_status soa_world_create(const soa_scenario *scenario, soa_world **world,
                                    soa_report *report);
SOA_API void soa_world_free(soa_world *world);
/* One tick: sensors, controller, motion.  Does not allocate but for what the integrator does on its
 * own (docs/worlds.md).  A tick that fails leaves the world within it: every later one answers the
 * same, until a state is restored. */
SOA_API soa_status soa_world_tick(soa_world *world, soa_report *report);
/* Torques of the caller's own controller, asked at the start of every tick and held: q and v as the
 * sensors give them; tau: nv numbers, zero on entry; those of joints without motors are ignored,
 * the others bounded if control.saturate says so.  A status ends the run, and so does a number that
 * is not finite.  Only with scenario->control.external.  What the function keeps is not part of the
 * world's state: the caller saves it. */
typedef soa_status soa_world_torque_fn(void *user, const soa_world *world, double t,
                                       const double *q, const double *v, double *tau);
/* torque NULL: none.  SOA_E_ARGUMENT without control.external. */
SOA_API soa_status soa_world_set_torque(soa_world *world, soa_world_torque_fn *torque, void *user);

/* --- a hand in the world ---
 * Puts the state at (q, v), v NULL: at rest, at the world's time; quaternions are made unit, loops
 * are closed from there by the nearest state that closes them.  Contacts and sticking joints begin
 * anew (their friction holds what it holds from here), so do delayed sensors; supervisor and laws
 * go on as they were.  Energy and momentum balances go on from the new state.  Refused, the world
 * as it was: numbers that are none (SOA_E_NOT_FINITE), loops that cannot be closed, shapes that
 * overlap by more than their margin (SOA_E_ARGUMENT), a world whose tick failed.  Allocates. */
SOA_API soa_status soa_world_set_state(soa_world *world, const double *q, const double *v,
                                       soa_report *report);
/* A force on a body, in all coming ticks: `force`, and a damped spring from a point of the body to
 * a point in the world. The spring's part r = stiffness (to - point) - damping (velocity of the
 * point) is r / sqrt(1 + (|r| / most)^2): never more than `most`, and smooth. */
typedef struct soa_world_pull {
    int body;                        /* 1 ... soa_model_body_count */
    double at[3];                    /* the point, in the body's own axes from its origin      */
    double force[3];                 /* N, world axes                                          */
    double to[3];                    /* the spring's other end, world                          */
    double stiffness, damping, most; /* N/m, N s/m, N; most 0: no bound                        */
} soa_world_pull;
/* A damped spring at a joint coordinate, likewise bounded.  Not at coordinates of spherical and
 * free joints. */
typedef struct soa_world_hold {
    int v;                           /* number of the velocity coordinate                      */
    double to;                       /* of its position, rad or m                              */
    double stiffness, damping, most; /* N m/rad (N/m), N m s/rad (N s/m), N m (N)              */
} soa_world_hold;
#define SOA_WORLD_PULLS 16
/* Replaces all pulls and holds there were; at most SOA_WORLD_PULLS of each, 0: none.  They count as
 * disturbances do: their work in the energy balance, the impulse of pulls in the momentum balance.
 * Not part of the state that is saved: a run that was pulled is not repeated by its scenario.
 * SOA_E_ARGUMENT, SOA_E_NOT_FINITE: nothing is changed. */
SOA_API soa_status soa_world_set_pulls(soa_world *world, const soa_world_pull *pulls,
                                       int pull_count, const soa_world_hold *holds, int hold_count);

/* What the readers from here to soa_world_signal_values point to lives as long as the world; names,
 * as long as its scenario too. q, v, tau: nq, nv, nv numbers that stay where they are and change
 * with every tick, set_state and restore: copy what is to be kept.  tau: what the motors do in the
 * last tick.  world must not be NULL. */
SOA_API const soa_model *soa_world_model(const soa_world *world);
/* The constraints of models and of the scenario, in this order; NULL: none.  They belong to the
 * world. */
SOA_API const soa_constraints *soa_world_constraints(const soa_world *world);
SOA_API double soa_world_time(const soa_world *world);
SOA_API double soa_world_tick_length(const soa_world *world);
SOA_API const double *soa_world_q(const soa_world *world);
SOA_API const double *soa_world_v(const soa_world *world);
SOA_API const double *soa_world_tau(const soa_world *world);
SOA_API const char *soa_world_phase(const soa_world *world); /* "" without a supervisor */

/* What happened in the last tick: touch, release, slip, stick, limit, phase; "more": later ones
 * were not kept. */
typedef struct soa_world_event {
    double t;
    char kind[12], text[100];
} soa_world_event;
SOA_API const soa_world_event *soa_world_events(const soa_world *world, int *count);

/* Points where shapes touch now. */
typedef struct soa_world_contact {
    const char *shape_a, *shape_b;
    double point[3], normal[3]; /* from b to a */
    double distance, pressure;  /* m, N */
    double tangential[3];       /* N, on a */
    bool sliding;
} soa_world_contact;
/* Writes at most `most` of them (NULL: none) and returns how many there are, which may be more. */
SOA_API int soa_world_contacts(const soa_world *world, soa_world_contact *contacts, int most);

/* The scenario's shapes, then the <collision> shapes of its URDF parts that can touch something,
 * named "part.link" ("part.link.NAME" or "part.link.2" where a link has several) in a group named
 * as the part; hulls made, each where it sits on its body; and which two may touch. */
typedef struct soa_world_shape {
    const char *name, *group;
    int body;        /* of the world's model, 0: the world */
    soa_frame place; /* in the body's frame                */
    const soa_shape *shape;
} soa_world_shape;
typedef struct soa_world_pair {
    int a, b;
    double margin; /* m: nearer than this they touch */
} soa_world_pair;
/* index: 0 to count - 1, else SOA_E_ARGUMENT; a and b are numbers of shapes. */
SOA_API int soa_world_shape_count(const soa_world *world);
SOA_API soa_status soa_world_get_shape(const soa_world *world, int index, soa_world_shape *shape);
SOA_API int soa_world_pair_count(const soa_world *world);
SOA_API soa_status soa_world_get_pair(const soa_world *world, int index, soa_world_pair *pair);

/* Everything measured, by name (NULL past the end; unit may be NULL), for the record.  values:
 * signal_count numbers, as they are now; NaN: not measured yet, or nothing there. */
SOA_API int soa_world_signal_count(const soa_world *world);
SOA_API const char *soa_world_signal_name(const soa_world *world, int index, const char **unit);
SOA_API soa_status soa_world_signal_values(soa_world *world, double *values);

/* The block of everything that changes, state_size bytes without pointers, aligned as you like.
 * restore: only into a world of the same scenario, models and version (SOA_E_FORMAT else),
 * undamaged (SOA_E_CHECKSUM); on a fault the world is as it was. */
SOA_API size_t soa_world_state_size(const soa_world *world);
SOA_API void soa_world_save_state(const soa_world *world, void *memory);
SOA_API soa_status soa_world_restore_state(soa_world *world, const void *memory, size_t size);

/* Something the run wants its user to know: one entry for each code and name, with the worst value
 * seen. docs/worlds.md lists the codes.  The texts belong to the world; the list is valid until the
 * next tick. */
typedef struct soa_world_warning {
    double t;         /* s, when it was first seen */
    double value;     /* worst, in the unit that the remedy names; NaN: none */
    char code[24];    /* "saturated", "chatter", ... */
    char name[96];    /* of the law, joint, part, loop or shape */
    char remedy[256]; /* what was found and what to do about it */
} soa_world_warning;
SOA_API const soa_world_warning *soa_world_warnings(const soa_world *world, int *count);

/* A coordinate that the assembly of loops moved at the start. */
typedef struct soa_world_move {
    char name[128];  /* the joint; "joint[k]" where it has several coordinates */
    double from, to; /* rad or m */
} soa_world_move;
SOA_API const soa_world_move *soa_world_assembly(const soa_world *world, int *count);

/* What stops one part and what it touches with; by number of the part. */
typedef struct soa_world_part {
    const char *name;
    int limits;               /* coordinates with limits; a follower's (mimic) count as those of the
                               * joint it follows */
    int stops;                /* of them, with a stop: all, or none */
    double stop_stiffness[2]; /* least and most of the stops, N m/rad or N/m */
    double stop_damping[2];   /* N m s/rad or N s/m */
    int shapes;               /* of the scenario that sit on it */
    int collisions;           /* <collision> shapes of its URDF that can be used */
    int in_use;               /* of them, those that can touch something here */
    bool moves, floats;       /* it has bodies that move; its root is free */
    double mass;              /* of what moves, kg */
    bool can_touch;           /* one of its shapes can touch another part */
    soa_contact_pair law;     /* of its collision shapes, where contacts say nothing; of two
                               * machines, the lighter's */
} soa_world_part;
SOA_API const soa_world_part *soa_world_parts(const soa_world *world, int *count);

/* A <collision> that cannot be used, so that its link cannot touch there. */
typedef struct soa_world_gap {
    const char *part, *link;
    const char *mesh;  /* the file, or its name in the URDF; NULL: no mesh */
    const char *fault; /* why */
} soa_world_gap;
SOA_API const soa_world_gap *soa_world_gaps(const soa_world *world, int *count);

typedef struct soa_world_summary {
    double t, wall_time, real_time_factor;
    long long ticks, steps, rejected, evaluations, touches, releases, slips;
    long long saves; /* evaluations at accepted states below a contact's least distance */
    double kinetic, potential, stored, supplied, viscous, rubbed, stopped, contact,
        disturbed;           /* J: energies; works since the start */
    double energy_error_rel; /* of the balance, largest, over the largest energy in play */
    double contact_created;  /* J, most by which work of contacts and what they store together ever
                          * rose: 0 but for errors */
    bool is_free;            /* momentum means something: no gravity, nothing touches the world */
    double
        momentum_error_rel; /* largest |h - h(0) - impulses| over the largest sum of |h_i|; worse of
                             * linear and angular */
    double closure_error;   /* m or rad, of loops */
    bool judged, held;      /* success was asked for; and given */
    bool has_goal;          /* a law gave the object a goal; else errors are its motion since it
                             * counts */
    char verdict[256];      /* why it is held or not; empty unless judged */
    double position_error_m, attitude_error_deg; /* largest over the time of holding */
    int fingers_lost, fingers_slipped, finger_count;
    double slip_worst_m;
    /* mean, least and most while holding */
    double internal_force_N, internal_force_least, internal_force_most;
    const char *phase;
    const soa_world_warning *warnings; /* as soa_world_warnings returns them */
    int warning_count, more_warnings;  /* more_warnings: how many there were no room for */
    const soa_world_move *assembly;    /* as soa_world_assembly returns them */
    int assembly_count;
    int constraint_rows, constraint_rank; /* of the loops at the start; rank: rows that do not
                                           * repeat others */
    const char *redundancy;               /* which constraints repeat others at the start, in words;
                                           * empty: none */
    const soa_world_part *parts;          /* as soa_world_parts returns them */
    int part_count;
    const soa_world_gap *gaps; /* as soa_world_gaps returns them */
    int gap_count;
} soa_world_summary;
/* At any time; `judged` things are final only at the end. */
SOA_API soa_status soa_world_summarise(soa_world *world, soa_world_summary *summary);
/* A new journal with the world's signals and its scenario's text, file, seed and case:
 * soa_journal_create, whose status it has.  The caller closes it. */
SOA_API soa_status soa_world_create_journal(soa_world *world, const char *path,
                                            soa_journal **journal, soa_report *report);
/* The scenario of a journal as it was run, its file, seed and case included; `name` is for
 * messages.  Refused (SOA_E_FORMAT) where the journal holds none or its text can no longer be read.
 * Release with soa_scenario_free. */
SOA_API soa_status soa_scenario_from_log(const soa_log *log, const char *name,
                                         soa_scenario *scenario, soa_report *report);
/* Goes on with a journal whose run was stopped or killed: its scenario as it was run (file, seed
 * and case are in the journal; models and meshes are opened again and must not have changed), a
 * world at the journal's last checkpoint (at the start if it has none), and the journal, cut back
 * to there.  What soa_world_run then writes is what a run that was never interrupted would have
 * written, to the byte.  `scenario` must stay where it is as long as the world; free the world
 * first.  On a fault nothing is made. */
SOA_API soa_status soa_world_resume(const char *path, soa_scenario *scenario, soa_world **world,
                                    soa_journal **journal, soa_report *report);
/* From the world's time to the end, recording to `journal` (NULL: nowhere), which stays open.
 * options NULL: zeros.  progress: seen after every tick; true ends the run there, with a
 * checkpoint and SOA_OK: soa_world_time tells how far it came.  Status: that of the tick that
 * failed (its events are recorded), or of the journal: when the record fails the run stops, and its
 * report says until when all is safe. */
typedef bool soa_run_progress_fn(void *user, soa_world *world);
typedef struct soa_run_options {
    double until; /* s; 0: the scenario's duration */
    soa_run_progress_fn *progress;
    void *user;
} soa_run_options;
SOA_API soa_status soa_world_run(soa_world *world, soa_journal *journal,
                                 const soa_run_options *options, soa_report *report);
/* Graphviz text of the supervisor's phases; see soa_supervisor_diagram.  SOA_E_ARGUMENT where there
 * is none. */
SOA_API soa_status soa_world_diagram(const soa_world *world, char *text, size_t size,
                                     size_t *length);

/* --- sweeps ----------------------------------------------------------------------------------- */
/* Cases 0 .. cases-1 of a scenario, their quantities drawn by soa_scenario_vary, as a table (CSV):
 * a line per case in order, the same bytes for any number of threads and ranks on machines of one
 * kind.  Finished cases are kept beside the table, in TABLE.cases, until it is whole, so that a
 * sweep that was stopped or killed can go on.  docs/grapple.md. */
typedef struct soa_sweep_result {
    int cases, done;                             /* asked for; rows there are */
    int kept;                                    /* of them, from the sweep before */
    int mine, ran;                               /* cases of this rank; run so far */
    int held, faults, warned;                    /* of all rows: held; ended by a fault; ended with
                                                  * warnings */
    bool stopped;                                /* true: ended before all were done */
    double position_error_m, attitude_error_deg; /* largest of the cases that held */
    double momentum_error_rel, energy_error_rel; /* largest of all; momentum: NaN where no case is
                                                  * free */
} soa_sweep_result;
typedef struct soa_sweep_options {
    int cases;         /* default 100 */
    int threads;       /* default 0: all */
    const char *table; /* file; NULL: none, and nothing is kept */
    bool resume;       /* true: goes on with the cases kept; else such a file is refused */
    int rank, ranks;   /* default 0 of 1 */
    /* Ranks: everybody's bytes, one after the other, to everybody (malloc).  All ranks call it
     * equally often. */
    soa_status (*exchange)(void *user, const char *mine, size_t size, char **all, size_t *all_size);
    /* asked by all threads, all the time; NULL: never */
    bool (*stop)(void *user);
    /* after every case, one thread at a time */
    void (*progress)(void *user, const soa_sweep_result *now);
    void *user;
} soa_sweep_options;
SOA_API soa_sweep_options soa_sweep_options_default(void);
/* A case that ends in a fault is a row that says so.  SOA_OK also when stopped; result (may be
 * NULL) as far as it went.  SOA_E_FILE: the table, or another rank, failed; or what
 * soa_world_create finds in the scenario.  Allocates. */
SOA_API soa_status soa_scenario_sweep(const soa_scenario *scenario,
                                      const soa_sweep_options *options, soa_sweep_result *result,
                                      soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
