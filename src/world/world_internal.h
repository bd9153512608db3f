/* world_internal.h  the world as its parts see it.
 *
 * compose.c    parts of a scenario as one soa_model
 * stops.c      joints at their limits
 * solids.c     shapes of the scenario and of URDF parts, which of them meet, and by which law
 * contact.c    shapes that touch: forces, friction, stiction
 * motion.c     accelerations of everything, and steps of time; stability.c: whether fixed ones are short enough
 * sensors.c    what is measured, with noise and delay
 * joint_choice.c which joints a part's motors and a law's `joints` mean
 * controller.c supervisor, laws, torques
 * recut.c      another spanning tree where a scenario names joints that are cut
 * loops.c      constraints: of models and of the scenario; their forces
 * springs.c    spring-dampers between two points
 * pulls.c       states set and pulls made from outside
 * warnings.c   what a run wants its user to know; what the assembly of loops moved
 * watchdog.c   laws that saturate or chatter, goals out of reach, parts that fall for ever
 * verdict.c    whether the object is held, and why
 * check.c      what a scenario may hold; which states belong to it
 * world.c      making, ticking, saving, the summary; run.c: the record and going on with it                            */
#ifndef SOAI_WORLD_INTERNAL_H
#define SOAI_WORLD_INTERNAL_H

#include "../base/base_internal.h"
#include "soa/control.h"
#include "soa/io.h"
#include "soa/scenario.h"
#include "soa/world.h"

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

/* --- compose.c ---------------------------------------------------------------------------------------------------- */
/* How far a controller's idea of the parts is from the truth: factors. */
typedef struct soai_estimate {
    double mass, inertia, damping;
} soai_estimate;
/* One model of all parts, and the constraints that their models bring (soa_constraint_list_free releases them).  Frames,
 * joints and constraints are named "part.name"; the frame of a body given in the scenario has the part's name. */
soa_status soai_world_model(const soa_scenario *scenario, const soai_estimate *estimate, const soa_model **model,
                            soa_constraint_list *loops, soa_report *report);
/* recut.c: another spanning tree of a part's model and loops where the scenario names a joint that is cut; both are
 * replaced then. */
soa_status soai_recut(const soa_scenario *scenario, const soa_part *part, const soa_model **model,
                      soa_constraint_list *loops, soa_report *report);
/* A report about something written at `mark` of the scenario's file. */
soa_status soai_scenario_fault(const soa_scenario *scenario, soa_mark mark, soa_status status, soa_report *report,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* --- contact.c ---------------------------------------------------------------------------------------------------- */
typedef struct soai_solid { /* a shape at its place */
    soa_shape shape;
    soa_frame place;
    int frame, body;
    const char *name, *group;
    const char *link; /* "part.link" of a URDF's <collision>; NULL: a shape of the scenario */
    int part;         /* -1: the world */
    int source;       /* number of the scenario's shape, or of the part's <collision> */
    int replaced;     /* a <collision> on a body for which the scenario gives shapes */
    soa_shape hull;   /* what soa_hull_free releases */
} soai_solid;
typedef struct soai_meeting { /* two shapes that may touch, and how */
    int a, b, law;
} soai_meeting;
/* A point where two shapes touch, at one evaluation. */
typedef struct soai_touch {
    int meeting, slot; /* slot: -1, not yet kept */
    unsigned id;
    double point[3], normal[3]; /* half way between the shapes; from b to a */
    double distance, rate;
    double pressure, stored;           /* normal force, N; energy of the normal and tangential springs, J */
    double velocity[3], tangential[3]; /* of a against b across the normal; force on a */
    double bound;                      /* friction * pressure */
    double depth, offset, weight;      /* margin - distance - offset, what does not count of it, share of the law */
    double stiffness;                  /* tangential */
    double spring_rate[3], slip_rate;  /* of the tangential spring; m/s of slip */
    double tank_rate, said;            /* W into the normal spring; what its depth says it holds, J */
    int sliding, saved;                /* saved: below the least distance */
} soai_touch;
/* A touch that lasts: kept from step to step.  In y: its tangential spring (3) and what its normal spring took (J). */
enum { SOAI_TANK = 3, SOAI_SLOT_NUMBERS };
typedef struct soai_slot {
    int meeting; /* -1: free */
    unsigned id;
    int sliding, unused;    /* no padding: states are compared as bytes */
    double slipped, before; /* m, since it began; up to when fingers began to count */
    double point[3], t;     /* where and when it was last seen */
    double depth, offset, weight;
} soai_slot;
/* Whether a solid has that name or is of that group or link. */
int soai_in_group(const soai_solid *solid, const char *name);
soa_status soai_contact_force(const soa_contact_pair *law, double distance, double rate, double *force, double *stored,
                              int *saved);

/* --- loops.c ------------------------------------------------------------------------------------------------------ */
typedef struct soai_loop { /* a constraint between two bodies; RATIO: lambda alone has a meaning */
    soa_constraint_kind kind;
    const char *name;
    soa_mark mark;
    int frame[2], body[2], part[2]; /* part -1: the world */
    int free, turns;                /* coordinates of its cut joint; those that have a number each */
    soa_frame place[2];
    /* at the last soai_loops_feel: poses of the frames; wrenches on the bodies, world axes, at the frames' origins */
    soa_frame at[2];
    double lambda, wrench[2][6];
} soai_loop;
typedef struct soai_cut { /* a free coordinate of a cut joint that rubs */
    int loop, coordinate;
    double friction;
} soai_cut;

/* --- springs.c ---------------------------------------------------------------------------------------------------- */
typedef struct soai_spring {
    const soa_scene_spring *def;
    int frame[2], body[2];
    double rest;
} soai_spring;

enum {
    SOAI_SUPPLIED,  /* by motors */
    SOAI_VISCOUS,   /* taken by viscous friction of joints */
    SOAI_RUBBED,    /* put in by Coulomb friction of joints (negative) */
    SOAI_STOPPED,   /* by stops */
    SOAI_CONTACT,   /* by contacts */
    SOAI_DISTURBED, /* by disturbances */
    SOAI_IMPULSE,   /* six numbers: impulse of disturbances about the origin */
    SOAI_LEDGER = SOAI_IMPULSE + 6
};

typedef struct soai_stats {
    int64_t steps, rejected, evaluations, touches, releases, slips, saves;
    int64_t judged; /* most touches at which the stability of fixed steps was judged */
    double wall;    /* s */
    double energy_start, energy_scale, balance_worst;
    double momentum_start[6], momentum_scale[2], momentum_worst[2];
    double closure_worst;
    double contact_least,
        created_worst; /* J: least of work of contacts and what they store; most it ever rose above that */
    int grasped, fingers_lost, fingers_slipped, unused; /* grasped: all fingers have touched at once */
    double slip_worst;                                  /* m, of a finger since the phase that counts */
    double squeeze_least, squeeze_most, squeeze_sum, position_worst, attitude_worst;
    int64_t hold_samples;
} soai_stats;

enum { SOAI_WARNINGS = 32 };
typedef struct soai_warnings {
    int32_t count, more; /* more: warnings that found no room */
    soa_world_warning entry[SOAI_WARNINGS];
} soai_warnings;

/* Everything that changes while time goes on, without pointers: a checkpoint is a copy of it.  Arrays follow it. */
typedef struct soai_state {
    uint64_t checksum; /* of all that follows, in a saved copy */
    uint64_t scenario; /* a number of the scenario: states of others are refused */
    int64_t tick;
    double t, step; /* of the next step */
    double kept;    /* when touches were last kept */
    double stored_start;
    int32_t rank_most, unused; /* of the constraints' rows at accepted states */
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
    soa_constraint_list own_loops; /* that models bring */
    soai_loop *loops;
    soai_cut *cuts;
    int stop_count; /* coordinates that have stops */
    int loop_count, cut_count, closed_rows, closed_rank;
    int fresh, feeling;     /* the next evaluation is at an accepted state; multipliers are wanted */
    double *lambda, *turns; /* rows; 6 for each constraint, in the block: coordinates of cut joints */
    soai_spring *springs;
    int spring_count;
    unsigned char *given, *given_rate; /* nv: positions and rates that the scenario gives */
    char redundancy[256];              /* which constraints repeat others at the start; or empty */
    int nq, nv, bodies;
    double *friction_up, *friction_down, *damping, *lower, *upper, *stop_k, *stop_c, *stop_soft, *effort; /* nv each */
    unsigned char *actuated, *angle; /* nv; nq: it turns */
    int *v_of_q;
    int *body_frame; /* bodies + 1 */

    soai_solid *solids;
    int solid_count;
    soa_contact_pair *laws; /* those of the scenario, then one for each part */
    int law_count;
    soa_urdf_collision_list *collisions; /* of each part */
    soa_world_part *parts;
    soa_world_gap *gaps;
    int gap_count;
    char **texts; /* names of solids */
    int text_count;
    soai_meeting *meetings;
    int meeting_count, *meeting_of;              /* solids x solids, -1: none */
    int recorded_count, recorded[SOAI_RECORDED]; /* solids that meet others, if they are few: forces in the record */
    int *order, (*pairs)[2];
    soa_bounds *bounds;
    soa_frame *pose;
    double *twist;     /* of solids, 6 each, world axes at their frame's origin */
    soai_touch *touch; /* of the last evaluation */
    int touch_count, touch_most;
    int slot_count;
    int *first_slot, *next_slot; /* of each meeting, -1: none; of each slot.  Follow from the slots */
    unsigned char *met;          /* meetings, zero between calls */
    soa_bounds *reach;           /* boxes of what solids can reach within a tick */
    double *wrench;              /* 6 for each body, world axes, at its origin */
    soa_wrench *wrenches;
    int *disturbed; /* frames */
    int is_free;    /* nothing outside acts but disturbances */
    int pull_count, hold_count;
    soa_world_pull pulls[SOA_WORLD_PULLS];
    soa_world_hold holds[SOA_WORLD_PULLS];

    /* the state: one block */
    soai_state *state;
    size_t state_size;
    double *y; /* q, v, ledger, tangential springs, joint springs: in the block */
    int y_count, at_v, at_ledger, at_slots, at_joints, at_cuts;
    soai_slot *slots;
    soa_distance_cache *caches, *spare_caches; /* spare: outside the block, for looks that must not change it */
    double *tau;                               /* held */
    double *control_memory, *sensor_memory;    /* of the controller, of the sensors */
    double *watch_memory;                      /* of the watchdog */
    size_t control_size;

    double tick_length;
    double when; /* s, within the stretch between edges of disturbances that is being integrated */
    /* the integrator's own time runs from 0 at `origin` to `span` at `end`: fine enough for steps of any length */
    double origin, span, end;
    double pace; /* s, mean step of the tick so far */
    double *q, *qdd, *torque;
    double *y_scratch[6]; /* y_count each: stability.c; the first is also world.c's */

    SUNContext context;
    N_Vector vector;
    SUNMatrix matrix;
    SUNLinearSolver solver;
    struct soai_newton *newton; /* NULL: explicit */
    double sharpness;           /* tolerances are divided by it */
    void *ark, *cvode;
    soa_status status;
    int body;
    char message[200];
    soai_controller *controller;
    soai_sensors *sensors; /* NULL: nobody measures */
    soa_world_torque_fn *torque_fn;
    void *torque_user;
    soa_status failed; /* a tick failed: the state is that of a part of a tick */
    char failed_text[sizeof((soa_report *)0)->text];
    int object, object_base; /* frames of the success; -1: none */
    soa_frame object_start;  /* of the object in its base at the start */
    double *numbers;         /* memory of the arrays */
    void *block;
    soa_world_event *events; /* since the last look */
    int event_count, event_most;
    double stored_start; /* J, in springs of contacts at the start */
    int signal_count;
    char (*signal_name)[320];
    const char **signal_unit;
    soa_world_move *moves; /* by the assembly of loops at the start */
    int move_count;
    double *part_start;        /* of each part: mass, mass times depth and speed at the start; then room for the same */
    unsigned char *part_loose; /* of each part: it may leave its place */
    double wall, t_opened;     /* s spent since this world was made, and its time then */
};

/* motion.c */
soa_status soai_motion(soa_world *w, double t, const double *y, double *rate);
soa_status soai_look(soa_world *w, double t, const double *y); /* touches at (t, y), into w->touch */
soa_status soai_momentum(soa_world *w, const double *y, double h[6], double com[3], double *mass, double inertia[6],
                         double sums[2]);
soa_status soai_solver_open(soa_world *w, soa_report *report);
soa_status soai_advance(soa_world *w, double end, soa_report *report);
/* stability.c: at the start of a tick of fixed steps, warns where the fastest motion is beyond their stability */
void soai_judge_fixed_step(soa_world *w);
void soai_event(soa_world *w, double t, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a force at a world point to the wrench of a body. */
void soai_push(soa_world *w, int body, const double point[3], const double force[3], double sign);
/* pulls.c: kinematics must be up to date for the first */
soa_status soai_hand_pulls(soa_world *w, double *ledger);
void soai_hand_holds(soa_world *w, const double *v, double *ledger); /* into w->torque */
/* solids.c */
soa_status soai_solids_open(soa_world *w, soa_report *report); /* solids, laws and meetings */
void soai_solids_close(soa_world *w);
/* Poses known: pairs of <collision> shapes that overlap at the start are left out and said, or refused. */
soa_status soai_solids_settle(soa_world *w, soa_report *report);
/* stops.c */
int soai_part_of(const soa_world *w, const char *name);         /* of "part" or "part.name"; -1: none */
soa_status soai_stops_open(soa_world *w);                       /* at the state of the start */
void soai_stops_look(soa_world *w);                             /* says which joints are outside their limits */
double soai_stops_longest(const soa_world *w, const double *y); /* s: steps end at the limits */
double soai_stop_torque(const soa_world *w, int i, double q, double v);
/* compose.c: the file or name of a part's model, as soa_model_open takes it; 0: too long for `path` */
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
/* A reading of everything, delayed: q, v with noise; what solids and wrists feel; angular rate and specific force. */
soa_status soai_sensors_open(soa_world *w, soa_report *report); /* before the block is laid out */
size_t soai_sensors_memory(const soa_world *w);
void soai_sensors_close(soa_world *w);
soa_status soai_sense(soa_world *w); /* at the start of a tick */
int soai_sensors_started(const soa_world *w);
void soai_sensors_forget(soa_world *w);   /* the coming reading is the first */
int soai_sensors_fit(const soa_world *w); /* their part of the block indexes nothing outside */
const double *soai_seen_q(const soa_world *w);
const double *soai_seen_v(const soa_world *w);
enum { SOAI_SEEN_TOUCHING, SOAI_SEEN_FORCE, SOAI_SEEN_DISTANCE, SOAI_SEEN_SLIP, SOAI_SEEN_COUNT };
double soai_seen_solid(const soa_world *w, int solid, int which);
/* [n; f] of the hand's body on its surroundings at the frame's origin, in the frame's axes; NULL: no such wrist. */
const double *soai_seen_wrist(const soa_world *w, int frame);
soa_status soai_feel_wrist(soa_world *w, int frame, soa_frame *at, double wrench[6]);
int soai_wrist_count(const soa_world *w);
const double *soai_wrist(const soa_world *w, int index, const char **name);
int soai_imu_count(const soa_world *w);
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
int soai_controller_gave_goal(
    const soa_world *w); /* by a law; else it is where the object was when it began to count */
double soai_controller_error(const soa_world *w, int action, int which);
/* Of the present phase: its time; whether an action drives a coordinate, and which is the first that does (NULL: none); the
 * frame that an action moves, the one its goal is given in, and where its path ends there. */
double soai_controller_phase_time(const soa_world *w);
int soai_controller_drives(const soa_world *w, int action, int coordinate);
const soa_action *soai_controller_driver(const soa_world *w, int coordinate);
int soai_controller_frame(const soa_world *w, int action);
int soai_controller_relative(const soa_world *w, int action);
const soa_frame *soai_controller_target(const soa_world *w, int action);
/* Internal force on the object as its coordination law counts it (load and shares taken off), without noise; 0: no such law
 * is at work. */
int soai_controller_squeeze(soa_world *w, int object, double *force);
const soa_supervisor *soai_controller_supervisor(const soa_world *w);
/* joint_choice.c */
/* Leaves motors only at the joints that each part's `motors` chooses. */
soa_status soai_choose_motors(soa_world *w, soa_report *report);
/* Keeps of `own` (nv flags) what the action's `joints` choose among the joints of `part`.  `what` is the action's name.
 * Refused: an entry that names no joint, only joints without motors, or no joint among `own`. */
soa_status soai_choose_own(const soa_world *w, const soa_action *action, const char *part, const char *what,
                           unsigned char *own, soa_report *report);
/* Flags the motors of a part; how many there are. */
int soai_motors_of(const soa_world *w, const char *part, unsigned char *own);
/* warnings.c: the format says what was found and what to do; a code and name seen before keep their worst value */
void soai_warn(soa_world *w, const char *code, const char *name, double value, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
int soai_warnings_fit(const soa_world *w);
soa_status soai_note_move(soa_world *w, const char *name, double from, double to);
/* loops.c */
/* The constraints of a scenario over a model of its parts; NULL where there are none. */
soa_status soai_loops_create(const soa_scenario *scenario, const soa_model *model, const soa_constraint_list *own,
                             soa_constraints **out, soa_report *report);
soa_status soai_loops_open(soa_world *w, soa_report *report);
void soai_loops_close(soa_world *w);
int soai_loops_hold_world(const soa_world *w);
soa_status soai_loops_start(soa_world *w, soa_report *report); /* closes them, at t = 0 */
soa_status soai_loops_recount(soa_world *w);                   /* after w->turns was read */
/* w->qdd at (t, y), and what cut joints add to the rates of the ledger and of their springs; w->q, w->torque and
 * w->wrenches are ready. */
soa_status soai_loops_accelerate(soa_world *w, double t, const double *y, int wrench_count, double *rate);
soa_status soai_loops_settle(soa_world *w, double t, double *y);
void soai_loops_keep(const soa_world *w, double *y);
soa_status soai_loops_feel(soa_world *w);
void soai_loop_point(const soai_loop *loop, int side, double point[3]);
void soai_loop_wrench(const soai_loop *loop, int side, const double point[3], double out[6]);
/* Energies with those of cut joints' springs and rotors. */
soa_status soai_energy(soa_world *w, const double *q, const double *v, double *kinetic, double *potential);
/* springs.c: kinematics of the state are ready, but for open */
soa_status soai_springs_open(soa_world *w, soa_report *report);
void soai_springs_close(soa_world *w);
int soai_springs_hold_world(const soa_world *w);
soa_status soai_springs_start(soa_world *w);
soa_status soai_springs_pull(soa_world *w, double *ledger); /* into w->wrench */
soa_status soai_springs_energy(const soa_world *w, double *energy);
soa_status soai_spring_now(const soa_world *w, int index, double *length, double *force);
/* watchdog.c: warnings about laws, goals and falls; after a tick's motion, before the summary's figures */
size_t soai_watchdog_memory(const soa_world *w);
soa_status soai_watchdog_open(soa_world *w); /* at the start; kinematics are up to date */
void soai_watchdog(soa_world *w);
/* verdict.c: fills has_goal, held and verdict of a summary whose other figures are there */
void soai_judge(const soa_world *w, soa_world_summary *out);
/* run.c */
soa_status soai_signals_open(soa_world *w);
/* check.c */
soa_status soai_scenario_check(const soa_scenario *scenario, soa_report *report);
uint64_t soai_fingerprint(const soa_world *w);
/* "link's joint, coordinate k" of velocity coordinate i */
const char *soai_coordinate_name(const soa_world *w, int i);
/* world.c */
int64_t soai_last_tick(const soa_world *w, double end);
/* The two shapes that overlap most beyond `allowed` margins: refused, `when` ("at the start") says where. */
soa_status soai_find_overlap(soa_world *w, double allowed, const char *when, soa_report *report);
/* Kinematics and touches at the state, without a change of the state. */
soa_status soai_peek(soa_world *w);
/* The checksum that belongs into a saved copy of the state. */
uint64_t soai_state_checksum(const void *memory, size_t size);
/* world.c: error of the object (m, rad) and internal force */
void soai_object_figures(soa_world *w, double figures[3]);
/* " (did you mean 'x'?)", or "" */
const char *soai_nearest_frame(const soa_model *model, const char *name);
const char *soai_nearest_joint(const soa_model *model, const char *name);

#endif
