/* world_internal.h  the world's data, shared by its files.
 *
 * compose.c            parts of a scenario as one soa_model
 * stops.c              joints at their limits
 * solids.c             shapes of the scenario and of URDF parts, which of them meet, by which law
 * contact.c            contact forces, friction, sticking
 * motion.c             accelerations of everything, and steps in time
 * stability.c          whether fixed steps are short enough
 * sensors.c            readings, with noise and delay
 * joint_choice.c       which joints a part's motors and a law's `joints` mean
 * controller.c         supervisor, laws, torques
 * recut.c              another spanning tree if a scenario names joints that are cut
 * world_constraints.c  constraints of models and of the scenario, and their forces
 * springs.c            spring-dampers between two points
 * pulls.c              states set and pulls made from outside
 * warnings.c           warnings of a run; moves made by the assembly of loops
 * watchdog.c           laws that saturate or chatter, goals out of reach, parts that fall for ever
 * verdict.c            whether the object is held, and why
 * check_scenario.c     checks of a scenario; which states belong to it
 * world.c              opening, ticks, saved states, the summary
 * run.c                recording a run and resuming it */
#ifndef SOAI_WORLD_INTERNAL_H
#define SOAI_WORLD_INTERNAL_H

#include "integration_fault.h"
#include "../base/base_internal.h"
#include "soa/control.h"
#include "soa/io.h"
#include "soa/scenario.h"
#include "soa/world.h"

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

/* --- compose.c -------------------------------------------------------------------------------- */
/* Factors between the controller's estimate of the parts and their true values. */
typedef struct soai_estimate {
    double mass, inertia, damping;
} soai_estimate;
/* Makes one model of all parts, and lists the constraints of their models (soa_constraint_list_free
 * releases them). Frames, joints and constraints are named "part.name". The frame of a body given
 * in the scenario has the part's name. */
soa_status soai_world_model(const soa_scenario *scenario, const soai_estimate *estimate,
                            const soa_model **model, soa_constraint_list *loops,
                            soa_report *report);
/* recut.c: replaces a part's model and loops by ones with another spanning tree if the scenario
 * names a joint that is cut. */
soa_status soai_recut(const soa_scenario *scenario, const soa_part *part, const soa_model **model,
                      soa_constraint_list *loops, soa_report *report);
/* Reports a mistake at `mark` of the scenario's file. */
soa_status soai_scenario_fault(const soa_scenario *scenario, soa_mark mark, soa_status status,
                               soa_report *report, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* --- contact.c -------------------------------------------------------------------------------- */
typedef struct soai_solid { /* a shape at its place */
    soa_shape shape;
    soa_frame place;
    int frame, body;
    const char *name, *group;
    const char *link; /* "part.link" of a URDF's <collision>; NULL: a shape of the scenario */
    int part;         /* -1: the world */
    int source;       /* number of the scenario's shape, or of the part's <collision> */
    int replaced;     /* a <collision> on a body for which the scenario gives shapes */
    soa_shape hull;   /* released by soa_hull_free */
} soai_solid;
typedef struct soai_meeting { /* two shapes that may touch, and their law */
    int a, b, law;
} soai_meeting;
/* A point where two shapes touch, in one evaluation. */
typedef struct soai_touch {
    int meeting, slot; /* slot -1: has none yet */
    unsigned id;
    double point[3], normal[3]; /* midway between the shapes; from b to a */
    double distance, rate;
    /* Normal force, N; energy of the normal and tangential springs, J. */
    double pressure, stored;
    /* Velocity of a relative to b, perpendicular to the normal; tangential force on a. */
    double velocity[3], tangential[3];
    double bound; /* friction * pressure */
    /* margin - distance - offset; depth that does not count; share of the law. */
    double depth, offset, weight;
    double stiffness;                 /* tangential stiffness */
    double spring_rate[3], slip_rate; /* rate of the tangential spring; slip in m/s */
    /* Power into the normal spring, W; energy that its depth implies, J. */
    double tank_rate, said;
    int sliding, saved; /* saved: below the least distance */
} soai_touch;
/* A lasting touch, kept from step to step. In y: its tangential spring (3), and the energy its
 * normal spring took (J). */
enum { SOAI_TANK = 3, SOAI_SLOT_NUMBERS };
typedef struct soai_slot {
    int meeting; /* -1: free */
    unsigned id;
    int sliding, unused; /* no padding: states are compared as bytes */
    /* m: slip since the touch began, and up to when fingers began to count. */
    double slipped, before;
    double point[3], t; /* where and when it was last seen */
    double depth, offset, weight;
} soai_slot;
/* True if a solid has this name or belongs to this group or link. */
int soai_in_group(const soai_solid *solid, const char *name);
soa_status soai_contact_force(const soa_contact_pair *law, double distance, double rate,
                              double *force, double *stored, int *saved);

/* --- world_constraints.c ---------------------------------------------------------------------- */
/* A constraint between two bodies. For RATIO only lambda is used. */
typedef struct soai_loop {
    soa_constraint_kind kind;
    const char *name;
    soa_mark mark;
    int frame[2], body[2], part[2]; /* part -1: the world */
    int free, turns;                /* coordinates of its cut joint; those with a single number */
    soa_frame place[2];
    /* at the last soai_loops_feel: poses of the frames; wrenches on the bodies at the frames'
     * origins, in world axes */
    soa_frame at[2];
    double lambda, wrench[2][6];
} soai_loop;
/* A free coordinate of a cut joint that has friction. */
typedef struct soai_cut {
    int loop, coordinate;
    double friction;
} soai_cut;

/* --- springs.c -------------------------------------------------------------------------------- */
typedef struct soai_spring {
    const soa_scene_spring *def;
    int frame[2], body[2];
    double rest;
} soai_spring;

enum {
    SOAI_SUPPLIED,  /* work of motors */
    SOAI_VISCOUS,   /* energy taken by viscous friction of joints */
    SOAI_RUBBED,    /* work of Coulomb friction of joints (negative) */
    SOAI_STOPPED,   /* work of stops */
    SOAI_CONTACT,   /* work of contacts */
    SOAI_DISTURBED, /* work of disturbances */
    SOAI_IMPULSE,   /* six numbers: impulse of disturbances about the origin */
    SOAI_LEDGER = SOAI_IMPULSE + 6
};

typedef struct soai_stats {
    int64_t steps, rejected, evaluations, touches, releases, slips, saves;
    /* Largest number of touches at which the stability of fixed steps was judged. */
    int64_t judged;
    double wall; /* s */
    double energy_start, energy_scale, balance_worst;
    double momentum_start[6], momentum_scale[2], momentum_worst[2];
    double closure_worst;
    /* J: smallest value so far of the sum of work of contacts and their stored energy; largest rise
     * above it. */
    double contact_least, created_worst;
    /* grasped: all fingers have touched at the same time. */
    int grasped, fingers_lost, fingers_slipped, unused;
    /* m: slip of a finger since the phase that counts. */
    double slip_worst;
    double squeeze_least, squeeze_most, squeeze_sum, position_worst, attitude_worst;
    int64_t hold_samples;
} soai_stats;

enum { SOAI_WARNINGS = 32 };
typedef struct soai_warnings {
    int32_t count, more; /* more: warnings for which there was no room */
    soa_world_warning entry[SOAI_WARNINGS];
} soai_warnings;

/* Everything that changes during the motion, without pointers: a checkpoint is a copy of it. Arrays
 * follow it. */
typedef struct soai_state {
    uint64_t checksum; /* of everything that follows, in a saved copy */
    uint64_t scenario; /* identifies the scenario: states of others are refused */
    int64_t tick;
    double t, step; /* time; length of the next step */
    double kept;    /* time when touches were last updated */
    double stored_start;
    /* rank_most: largest rank of the constraints' rows at accepted states. */
    int32_t rank_most, unused;
    soai_stats stats;
    soai_warnings warnings;
} soai_state;

enum { SOAI_RECORDED = 32 };
typedef struct soai_controller soai_controller;
typedef struct soai_sensors soai_sensors;

struct soa_world {
    const soa_scenario *scenario;
    const soa_model *model;
    soa_work *work;
    soa_constraints *constraints;  /* NULL: none */
    soa_constraint_list own_loops; /* from the models */
    soai_loop *loops;
    soai_cut *cuts;
    int stop_count; /* number of coordinates with stops */
    int loop_count, cut_count, closed_rows, closed_rank;
    /* The next evaluation is at an accepted state; multipliers are needed. */
    int fresh, feeling;
    /* One number per row; 6 per constraint, in the block: coordinates of cut joints. */
    double *lambda, *turns;
    soai_spring *springs;
    int spring_count;
    unsigned char *given, *given_rate; /* nv: positions and rates that the scenario gives */
    char redundancy[256];              /* which constraints are redundant at the start; or empty */
    int nq, nv, bodies;
    /* nv numbers each. */
    double *friction_up, *friction_down, *damping, *lower, *upper, *stop_k, *stop_c, *stop_soft,
        *effort;
    unsigned char *actuated, *angle; /* nv; nq: it is an angle */
    int *v_of_q;
    int *body_frame; /* bodies + 1 */

    soai_solid *solids;
    int solid_count;
    soa_contact_pair *laws; /* those of the scenario, then one for each part */
    int law_count;
    soa_urdf_collision_list *collisions; /* one for each part */
    soa_world_part *parts;
    soa_world_gap *gaps;
    int gap_count;
    char **texts; /* names of solids */
    int text_count;
    soai_meeting *meetings;
    int meeting_count, *meeting_of; /* solids x solids, -1: none */
    /* Solids that meet others, if they are few: their forces are recorded. */
    int recorded_count, recorded[SOAI_RECORDED];
    int *order, (*pairs)[2];
    soa_bounds *bounds;
    soa_frame *pose;
    double *twist;     /* twists of solids, 6 each, in world axes at the frame's origin */
    soai_touch *touch; /* of the last evaluation */
    int touch_count, touch_most;
    int slot_count;
    /* First slot of each meeting, -1: none; next slot of each slot. Computed from the slots. */
    int *first_slot, *next_slot;
    unsigned char *met; /* one flag per meeting, zero between calls */
    soa_bounds *reach;  /* boxes of what solids can reach within a tick */
    double *wrench;     /* 6 for each body, in world axes at its origin */
    soa_wrench *wrenches;
    int *disturbed; /* frames of the disturbances */
    int is_free;    /* no external action except disturbances */
    int pull_count, hold_count;
    soa_world_pull pulls[SOA_WORLD_PULLS];
    soa_world_hold holds[SOA_WORLD_PULLS];

    /* the state: one block */
    soai_state *state;
    size_t state_size;
    double *y; /* q, v, ledger, tangential springs, joint springs; in the block */
    int y_count, at_v, at_ledger, at_slots, at_joints, at_cuts;
    soai_slot *slots;
    /* spare_caches: outside the block, for evaluations that must not change it. */
    soa_distance_cache *caches, *spare_caches;
    double *tau;                            /* held during the tick */
    double *control_memory, *sensor_memory; /* of the controller, of the sensors */
    double *watch_memory;                   /* of the watchdog */
    size_t control_size;

    double tick_length;
    /* s: a time within the present interval between edges of disturbances. */
    double when;
    /* the integrator's own time runs from 0 at `origin` to `span` at `end`, so that steps of any
     * length can be resolved */
    double origin, span, end;
    double pace; /* s: mean step of the tick so far */
    double *q, *qdd, *torque;
    double *y_scratch[6]; /* y_count each: for stability.c; world.c uses the first */

    SUNContext context;
    N_Vector vector;
    SUNMatrix matrix;
    SUNLinearSolver solver;
    struct soai_newton *newton; /* NULL: explicit method */
    double sharpness;           /* tolerances are divided by it */
    void *ark, *cvode;
    soai_integration_fault fault;
    soai_controller *controller;
    soai_sensors *sensors; /* NULL: no sensors */
    soa_world_torque_fn *torque_fn;
    void *torque_user;
    soa_status failed; /* a tick failed: the state is somewhere within that tick */
    char failed_text[sizeof((soa_report *)0)->text];
    int object, object_base; /* frames of `success`; -1: none */
    soa_frame object_start;  /* pose of the object in its base at the start */
    double *numbers;         /* memory of the arrays */
    void *block;
    soa_world_event *events; /* since the last query */
    int event_count, event_most;
    double stored_start; /* J: energy in springs of contacts at the start */
    int signal_count;
    char (*signal_name)[320];
    const char **signal_unit;
    soa_world_move *moves; /* made by the assembly of loops at the start */
    int move_count;
    /* For each part: mass, and mass times depth and speed at the start; then scratch of the same
     * size. */
    double *part_start;
    unsigned char *part_loose; /* for each part: it can leave its place */
    double wall, t_opened;     /* s: wall time spent since this world was opened; its time then */
};

/* motion.c */
soa_status soai_motion(soa_world *w, double t, const double *y, double *rate);
/* Finds the touches at (t, y), into w->touch. */
soa_status soai_look(soa_world *w, double t, const double *y);
soa_status soai_momentum(soa_world *w, const double *y, double h[6], double com[3], double *mass,
                         double inertia[6], double sums[2]);
soa_status soai_solver_open(soa_world *w, soa_report *report);
soa_status soai_advance(soa_world *w, double end, soa_report *report);
/* stability.c: at the start of a tick with fixed steps, warns if the fastest motion is beyond their
 * stability bound */
void soai_judge_fixed_step(soa_world *w);
void soai_event(soa_world *w, double t, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a force at a world point to the wrench of a body. */
void soai_push(soa_world *w, int body, const double point[3], const double force[3], double sign);
/* pulls.c: soai_hand_pulls needs up-to-date kinematics */
soa_status soai_hand_pulls(soa_world *w, double *ledger);
void soai_hand_holds(soa_world *w, const double *v, double *ledger); /* adds to w->torque */
/* solids.c */
soa_status soai_solids_open(soa_world *w, soa_report *report); /* solids, laws and meetings */
void soai_solids_close(soa_world *w);
/* Call when poses are known. Pairs of <collision> shapes that overlap at the start are left out
 * with a warning, or refused. */
soa_status soai_solids_settle(soa_world *w, soa_report *report);
/* stops.c */
/* Of "part" or "part.name"; -1: none. */
int soai_part_of(const soa_world *w, const char *name);
soa_status soai_stops_open(soa_world *w); /* at the state of the start */
/* Warns of joints outside their limits. */
void soai_stops_look(soa_world *w);
/* s: longest step, so that steps end at the limits. */
double soai_stops_longest(const soa_world *w, const double *y);
double soai_stop_torque(const soa_world *w, int i, double q, double v);
/* compose.c: file or name of a part's model, for soa_model_open; 0: too long for `path` */
int soai_model_path(const soa_scenario *scenario, const soa_part *part, char *path, size_t size);
/* contact.c */
soa_status soai_contact_open(soa_world *w, soa_report *report);
soa_status soai_contact_evaluate(soa_world *w, double t, const double *y);
void soai_contact_keep(soa_world *w, double t, double *y);
void soai_contact_index(soa_world *w);
soa_status soai_near_pairs(soa_world *w, const soa_bounds *bounds, int *count);
double soai_slip_part(double use);
void soai_contact_close(soa_world *w);
/* sensors.c */
/* A delayed reading of everything: q and v with noise; what solids and wrists feel; angular rate
 * and specific force. */
/* Call before the block is laid out. */
soa_status soai_sensors_open(soa_world *w, soa_report *report);
size_t soai_sensors_memory(const soa_world *w);
void soai_sensors_close(soa_world *w);
soa_status soai_sense(soa_world *w); /* at the start of a tick */
int soai_sensors_started(const soa_world *w);
void soai_sensors_forget(soa_world *w);   /* the next reading is the first */
int soai_sensors_fit(const soa_world *w); /* no index in their part of the block is out of range */
const double *soai_seen_q(const soa_world *w);
const double *soai_seen_v(const soa_world *w);
enum { SOAI_SEEN_TOUCHING, SOAI_SEEN_FORCE, SOAI_SEEN_DISTANCE, SOAI_SEEN_SLIP, SOAI_SEEN_COUNT };
double soai_seen_solid(const soa_world *w, int solid, int which);
/* [n; f] of the hand's body on its surroundings at the frame's origin, in the frame's axes; NULL:
 * no such wrist. */
const double *soai_seen_wrist(const soa_world *w, int frame);
soa_status soai_feel_wrist(soa_world *w, int frame, soa_frame *at, double wrench[6]);
int soai_wrist_count(const soa_world *w);
const double *soai_wrist(const soa_world *w, int index, const char **name);
int soai_imu_count(const soa_world *w);
/* Joint torques and accelerations as measured, nv each; NULL: no such sensors. */
const double *soai_seen_torques(const soa_world *w);
const double *soai_seen_accelerations(const soa_world *w);
/* Of wrench `index` of the scenario's estimator: SOAI_ESTIMATE_NUMBERS, value and covariance. */
const double *soai_seen_estimate(const soa_world *w, int index);
double soai_seen_chi_square(const soa_world *w);
/* force_estimate.c: sensors of joint torques and accelerations, and the estimate of wrenches from
 * them */
typedef struct soai_force_estimate soai_force_estimate;
enum { SOAI_ESTIMATE_NUMBERS = 42 };
soa_status soai_force_estimate_open(soa_world *w, soai_force_estimate **made, soa_report *report);
void soai_force_estimate_close(soai_force_estimate *e);
/* True joint torques less friction and springs, and accelerations, nv each.  Kinematics are lost. */
soa_status soai_force_measure(soa_world *w, soai_force_estimate *e, double *tau, double *a);
/* SOAI_ESTIMATE_NUMBERS for each wrench, then chi-square. */
soa_status soai_force_estimate_take(const soa_world *w, soai_force_estimate *e, const double *q,
                                    const double *v, const double *tau, const double *a,
                                    double *out);
/* Whether coordinate v is one of a floating root, which has no sensors of its own. */
bool soai_force_is_root(const soai_force_estimate *e, int v);
const double *soai_imu(const soa_world *w, int index, const char **name);
/* controller.c */
int soai_controller_fits(const soa_world *w);
size_t soai_controller_memory(const soa_world *w);
soa_status soai_controller_open(soa_world *w, soa_report *report);
void soai_controller_close(soa_world *w);
soa_status soai_control(soa_world *w, soa_report *report);
int soai_controller_phase(const soa_world *w);
int soai_controller_counting(const soa_world *w);
const soa_frame *soai_controller_goal(const soa_world *w);
/* True if a law has given the goal; otherwise it is the object's place when it began to count. */
int soai_controller_gave_goal(const soa_world *w);
double soai_controller_error(const soa_world *w, int action, int which);
/* Of the present phase: its time; whether an action drives a coordinate, and the first that does
 * (NULL: none); the frame that an action moves, the frame of its goal, and where its path ends
 * there. */
double soai_controller_phase_time(const soa_world *w);
int soai_controller_drives(const soa_world *w, int action, int coordinate);
const soa_action *soai_controller_driver(const soa_world *w, int coordinate);
int soai_controller_frame(const soa_world *w, int action);
int soai_controller_relative(const soa_world *w, int action);
const soa_frame *soai_controller_target(const soa_world *w, int action);
/* Internal force on the object as its coordination law counts it (without load and shares), without
 * noise. Returns 0 if no such law is active. */
int soai_controller_squeeze(soa_world *w, int object, double *force);
const soa_supervisor *soai_controller_supervisor(const soa_world *w);
/* joint_choice.c */
/* Keeps motors only at the joints that each part's `motors` chooses. */
soa_status soai_choose_motors(soa_world *w, soa_report *report);
/* Keeps of `own` (nv flags) only what the action's `joints` choose among the joints of `part`.
 * `what` is the action's name. An entry is refused if it names no joint, only joints without
 * motors, or no joint in `own`. */
soa_status soai_choose_own(const soa_world *w, const soa_action *action, const char *part,
                           const char *what, unsigned char *own, soa_report *report);
/* Flags the motors of a part and returns their number. */
int soai_motors_of(const soa_world *w, const char *part, unsigned char *own);
/* warnings.c: the format says what was found and what to do; a repeated code and name keep their
 * worst value */
void soai_warn(soa_world *w, const char *code, const char *name, double value, const char *format,
               ...) __attribute__((format(printf, 5, 6)));
int soai_warnings_fit(const soa_world *w);
soa_status soai_note_move(soa_world *w, const char *name, double from, double to);
/* world_constraints.c */
/* Makes the constraints of a scenario for a model of its parts; NULL if there are none. */
soa_status soai_loops_create(const soa_scenario *scenario, const soa_model *model,
                             const soa_constraint_list *own, soa_constraints **out,
                             soa_report *report);
soa_status soai_loops_open(soa_world *w, soa_report *report);
void soai_loops_close(soa_world *w);
int soai_loops_hold_world(const soa_world *w);
soa_status soai_loops_start(soa_world *w, soa_report *report); /* closes the loops, at t = 0 */
soa_status soai_loops_recount(soa_world *w);                   /* call after w->turns was read */
/* Computes w->qdd at (t, y), and adds the contributions of cut joints to the rates of the ledger
 * and of their springs. w->q, w->torque and w->wrenches must be ready. */
soa_status soai_loops_accelerate(soa_world *w, double t, const double *y, int wrench_count,
                                 double *rate);
soa_status soai_loops_settle(soa_world *w, double t, double *y);
void soai_loops_keep(const soa_world *w, double *y);
soa_status soai_loops_feel(soa_world *w);
void soai_loop_point(const soai_loop *loop, int side, double point[3]);
void soai_loop_wrench(const soai_loop *loop, int side, const double point[3], double out[6]);
/* Energies, including those of springs and rotors of cut joints. */
soa_status soai_energy(soa_world *w, const double *q, const double *v, double *kinetic,
                       double *potential);
/* springs.c: all except soai_springs_open need the kinematics of the state */
soa_status soai_springs_open(soa_world *w, soa_report *report);
void soai_springs_close(soa_world *w);
int soai_springs_hold_world(const soa_world *w);
soa_status soai_springs_start(soa_world *w);
soa_status soai_springs_pull(soa_world *w, double *ledger); /* adds to w->wrench */
soa_status soai_springs_energy(const soa_world *w, double *energy);
soa_status soai_spring_now(const soa_world *w, int index, double *length, double *force);
/* watchdog.c: warnings about laws, goals and falls; call after the motion of a tick, before the
 * summary's figures */
size_t soai_watchdog_memory(const soa_world *w);
/* At the start, with up-to-date kinematics. */
soa_status soai_watchdog_open(soa_world *w);
void soai_watchdog(soa_world *w);
/* verdict.c: fills has_goal, held and verdict of a summary whose other figures are ready */
void soai_judge(const soa_world *w, soa_world_summary *out);
/* run.c */
soa_status soai_signals_open(soa_world *w);
/* check_scenario.c */
soa_status soai_scenario_check(const soa_scenario *scenario, soa_report *report);
uint64_t soai_fingerprint(const soa_world *w);
/* Name of velocity coordinate i: "joint", or "joint[k]" if the joint has several. */
const char *soai_coordinate_name(const soa_world *w, int i);
/* run.c: number of ticks nearest to a time; at least one, but 0 for a time of 0 */
int64_t soai_in_ticks(const soa_world *w, double time);
/* world.c */
int64_t soai_last_tick(const soa_world *w, double end);
/* Refuses if two shapes overlap by more than `allowed` margins, and names the worst pair. `when`:
 * "at the start". */
soa_status soai_find_overlap(soa_world *w, double allowed, const char *when, soa_report *report);
/* Computes kinematics and touches at the state without changing it. */
soa_status soai_peek(soa_world *w);
/* Checksum for a saved copy of the state. */
uint64_t soai_state_checksum(const void *memory, size_t size);
/* world.c: error of the object (m, rad) and internal force */
void soai_object_figures(soa_world *w, double figures[3]);
/* Returns " (did you mean 'x'?)", or "". */
const char *soai_nearest_frame(const soa_model *model, const char *name);
const char *soai_nearest_joint(const soa_model *model, const char *name);
/* SOA_E_FORMAT where the value's unit does not measure coordinate `index` of the joint. */
soa_status soai_check_unit(const soa_world *w, const soa_named_value *value,
                           const soa_body_info *joint, int index, int is_rate, soa_report *report);

#endif
