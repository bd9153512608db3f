/* soa/scenario.h  a scenario: what is in the world, how it is controlled, how it is integrated,
 *                 and what is recorded.
 *
 * Plain data, read from a YAML file (docs/scenarios.md) or filled in C from soa_scenario_default().
 * The parts of a scenario have names.  Names of frames and joints are "part.frame" and
 * "part.joint"; shapes are named by themselves or by their group.  Nothing is computed here;
 * soa_world_create (soa/world.h) makes a world from a scenario. */
#ifndef SOA_SCENARIO_H
#define SOA_SCENARIO_H

#include "soa/collision.h"
#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where in the file something was written; 0: it was not read from a file. */
typedef struct soa_mark {
    int line;
    int column;
} soa_mark;

/* What the unit that a file gives to the value of a coordinate, or to its rate, measures. */
typedef enum soa_value_unit {
    SOA_UNIT_NONE, /* a number alone: SI */
    SOA_UNIT_LENGTH,
    SOA_UNIT_ANGLE
} soa_value_unit;
/* A number for a named coordinate; for a joint with several degrees of freedom "part.joint[k]". */
typedef struct soa_named_value {
    const char *name;
    double value;
    soa_value_unit
        unit; /* a world refuses an angle for a sliding joint, a length for a turning one */
    soa_mark mark;
} soa_named_value;

/* Joints of a part, named without the part: the joint with exactly this name, else all joints whose
 * names begin with it. */
typedef struct soa_joint_choice {
    const char *name;
    soa_mark mark;
} soa_joint_choice;

/* --- what there is ---------------------------------------------------------------------------- */
/* A frame that is added to a part, for example for a hand or a port. */
typedef struct soa_part_frame {
    const char *name; /* without the name of the part, like `on` */
    const char *on;   /* frame of the part to which it is fixed */
    soa_frame place;
    soa_mark mark;
} soa_part_frame;

/* What the <collision> shapes of a URDF part can touch. */
typedef enum soa_collisions {
    /* as OTHERS, but a missing mesh or a model without shapes is not a fault */
    SOA_COLLISIONS_DEFAULT,
    SOA_COLLISIONS_NONE, /* nothing; they are not read */
    /* shapes of the scenario on other parts, and collision shapes of other parts */
    SOA_COLLISIONS_OTHERS,
    SOA_COLLISIONS_SELF /* also other links of the same part, except neighbours */
} soa_collisions;
/* A value of a stop that is derived from the machine; docs/worlds.md, "Stops". */
#define SOA_STOP_DERIVED (-1.0)

/* One machine or object: either `model` (a shipped name, a URDF file or a saved model; relative
 * file names start at the scenario file), or a single rigid body that is defined here. */
typedef struct soa_part {
    const char *name;
    const char *model; /* NULL: a single body */
    /* Its root link floats (free joint "part.root"); single bodies float unless `fixed` */
    bool floating;
    bool fixed; /* single body: belongs to the world, for ground and walls */
    /* Single body: instead of a free joint, three prismatic and three revolute joints (z, y, x)
     * with five massless links between them, as in WD89. */
    bool massless_links;
    double mass; /* single body, as in soa_body_def; `box` and the like in the file set them too */
    double com[3];
    double inertia[6];
    double mass_scale; /* of all links of the part; default 1 */
    double inertia_scale;
    double damping_scale;  /* of viscous joint friction; default 1 */
    double friction_scale; /* of Coulomb joint friction; default 1 */
    double rotor_scale;    /* of rotor inertias; default 1 */
    double effort;         /* > 0: torque limit of joints for which the model has none */
    /* false: every joint of the model has a motor; true: only those that `motors` chooses */
    bool has_motors;
    int motor_count; /* 0 with has_motors: no joint has a motor */
    const soa_joint_choice *motors;
    bool limits;               /* true (default): joints stop at the limits of their model */
    double stop_stiffness;     /* beyond joint limits, N m/rad; or SOA_STOP_DERIVED */
    double stop_damping;       /* N m s/rad; or SOA_STOP_DERIVED */
    soa_collisions collisions; /* of the <collision> shapes of a URDF */
    int frame_count;
    const soa_part_frame *frames;
    soa_frame place; /* of the root in the world (floating: at the start) */
    double twist[6]; /* at the start: [w; v] of a floating root at its origin, world axes */
    int position_count;
    int rate_count;
    const soa_named_value *positions; /* of joints at the start; names without the part */
    const soa_named_value *rates;
    soa_mark mark;
} soa_part;

typedef struct soa_scene_shape {
    const char *name;
    const char *group; /* NULL: its name is its group */
    const char *frame; /* "part.frame", "world" */
    soa_frame place;   /* in that frame */
    soa_shape shape;   /* type, half, radius; and vertices if they are given as a list */
    const char *mesh;  /* file (STL, OBJ, DAE) whose convex hull it is; NULL: none */
    double mesh_scale;
    soa_mark mark;
} soa_scene_shape;

typedef enum soa_contact_law {
    /* WD89: f = Kp (margin - d) / d - Kd d', as printed; it also pulls, and needs d > 0 */
    SOA_CONTACT_PAPER,
    /* The same, but it never pulls, and is continued linearly below least_distance */
    SOA_CONTACT_SAFE,
    SOA_CONTACT_HUNT_CROSSLEY, /* f = k x^exponent (1 + loss x'), x = margin - d */
    SOA_CONTACT_LINEAR         /* f = k x + c x', but it never pulls */
} soa_contact_law;

/* The contact law between shapes of two groups. */
typedef struct soa_contact_pair {
    const char *group1; /* names of groups or shapes */
    const char *group2;
    soa_contact_law law;
    double margin;               /* epsilon, m: the distance at which bodies begin to touch */
    double least_distance;       /* d_min, SAFE */
    double stiffness;            /* Kp: N; LINEAR: N/m; HUNT_CROSSLEY: N/m^exponent */
    double damping;              /* Kd: N s/m */
    double exponent;             /* HUNT_CROSSLEY */
    double loss;                 /* HUNT_CROSSLEY, s/m */
    double friction;             /* Coulomb's coefficient; 0: no friction */
    double tangential_stiffness; /* of a sticking contact, N/m */
    double tangential_damping;   /* of a sticking contact, N s/m */
    bool patch;                  /* true: several points where faces meet */
    soa_mark mark;
} soa_contact_pair;

/* A spring and damper between two points.  It pulls them together with stiffness (L - length) +
 * damping L', where L is their distance. */
typedef struct soa_scene_spring {
    const char *name;
    const char *frame[2]; /* "part.frame", "world" */
    double place[2][3];   /* the points in those frames */
    double stiffness;     /* N/m, >= 0 */
    double damping;       /* N s/m, >= 0 */
    double length;        /* m: length without force; < 0: its length at the start */
    soa_mark mark;
} soa_scene_spring;

/* A wrench from outside that is estimated from joint sensors: what is assumed of it before they are
 * read. */
typedef struct soa_scene_wrench_prior {
    const char *frame; /* where it acts */
    double force;      /* N: standard deviation along each axis; 0: no force */
    double torque;     /* N m: about each axis; 0: no torque */
    soa_mark mark;
} soa_scene_wrench_prior;
/* Sensors of joint torques and accelerations, and the estimate of external wrenches from them
 * (soa_estimator_update), at every tick. */
typedef struct soa_scene_estimator {
    /* standard deviations; N m or N, of joint torques less friction and springs; > 0 */
    double joint_torque_noise;
    double acceleration_noise; /* rad/s^2 or m/s^2 */
    int wrench_count;          /* 0: no such sensors, no estimate */
    const soa_scene_wrench_prior *wrenches;
    soa_mark mark;
} soa_scene_estimator;

/* A wrench that acts for some time. */
typedef struct soa_disturbance {
    const char *frame;
    double start; /* s */
    double duration;
    double wrench[6]; /* [n; f] on the body of the frame, at the frame's origin, world axes */
    soa_mark mark;
} soa_disturbance;

/* --- control ---------------------------------------------------------------------------------- */
typedef enum soa_action_kind {
    SOA_ACT_JOINT_PD, /* tau = K (q_d - q) + D (v_d - v) + gravity */
    /* WD89 section 3: accelerations K e + D e' + a_d through the estimated dynamics */
    SOA_ACT_INVERSE_DYNAMICS,
    /* Slotine and Li, through C(q, v) w; the forms of Wen and Bayard are in soa/control.h */
    SOA_ACT_PASSIVITY,
    SOA_ACT_DECOUPLED, /* in innovations coordinates, RJK91 section 6 */
    /* The acceleration of a frame through Lambda; on floating bases with the generalized
     * Jacobian */
    SOA_ACT_OPERATIONAL,
    /* A frame held by a spring and damper, plus `force`; its inertia is not shaped */
    SOA_ACT_IMPEDANCE,
    SOA_ACT_HYBRID,    /* position in some directions, force in the others */
    SOA_ACT_BASE_HOLD, /* the attitude of a floating base, held by the momentum of the joints */
    /* several hands move one object; internal forces are regulated, the load is shared */
    SOA_ACT_COORDINATION,
    /* Torques of the caller's function, soa_world_set_torque; a joint law without a goal */
    SOA_ACT_EXTERNAL,
    SOA_ACT_KIND_COUNT
} soa_action_kind;

/* One law that acts in a phase; the torques of all actions of a phase are added.  A goal is reached
 * on a smooth path, from the state at the beginning of the phase, after `time`. */
typedef struct soa_action {
    const char *name; /* NULL: the name of its law */
    soa_action_kind kind;
    const char *part; /* joint laws, EXTERNAL: the machine whose joints are moved */
    /* Joint laws, frame laws, BASE_HOLD, EXTERNAL: only the joints that `joints` chooses; 0: all */
    int joint_count;
    const soa_joint_choice *joints;
    int position_count;
    const soa_named_value *positions; /* goals of joints, named with the part; other joints stay */
    const char *frame;                /* frame laws: the hand; COORDINATION: the object */
    const char *relative_to;          /* frame in which goal, error and force are given; "world" */
    bool has_goal;
    soa_frame goal;
    /* true: the goal is relative to the pose of the frame at the beginning of the phase */
    bool goal_is_offset;
    double time;         /* s, 0: at once */
    double stiffness[2]; /* angular, linear (frame laws, COORDINATION); joint laws use [0] */
    double damping[2];   /* likewise */
    /* IMPEDANCE, HYBRID: [n; f] on the environment, axes of the goal */
    double force[6];
    unsigned force_rows; /* HYBRID: bits of the directions with force control */
    /* HYBRID, COORDINATION: proportional and integral (1/s) gain on measured forces */
    double force_gain[2];
    double max_force; /* bounds of the wrench that the law wants at a hand; 0: no bound */
    double max_torque;
    int hand_count;           /* COORDINATION: number of hands that hold the object */
    const char *const *hands; /* their frames */
    double squeeze;           /* N: internal force along the lines between the hands */
    /* COORDINATION: true: passivity-based, gains in N/m and so on; false: linearising, gains in
     * 1/s^2 and 1/s */
    bool passive;
    /* COORDINATION: each hand stays with the object; angular, linear */
    double follow_stiffness[2];
    double follow_damping[2];
    double share;              /* part of the load that the first hand bears, 0 to 1; default 0.5 */
    int frame_count;           /* EXTERNAL: number of frames that get wrist sensors */
    const char *const *frames; /* their names */
    soa_mark mark;
} soa_action;

typedef enum soa_compare { SOA_BELOW, SOA_ABOVE } soa_compare;
/* True while a measured signal has been below or above a value for at least `hold` seconds.
 * Signals: "phase_time", "touching.GROUP", "force.GROUP", "distance.GROUP", "error.ACTION" (m),
 * "angle_error.ACTION" (rad), "rate.ACTION" (m/s), "turn_rate.ACTION" (rad/s), "slip.GROUP"
 * (m/s). */
typedef struct soa_condition {
    const char *signal;
    soa_compare compare;
    double value;
    double hold; /* s */
    soa_mark mark;
} soa_condition;
typedef struct soa_transition {
    const char *to;
    int condition_count; /* all must hold */
    const soa_condition *conditions;
    soa_mark mark;
} soa_transition;
typedef struct soa_phase {
    const char *name;
    int action_count;
    const soa_action *actions;
    int transition_count;
    const soa_transition *transitions; /* the first whose conditions all hold is taken */
    /* s in which torques change from those of the phase before, without a jump */
    double blend;
    soa_mark mark;
} soa_phase;

typedef struct soa_sensor_set {
    /* Standard deviations. */
    double position_noise; /* joints, rad or m */
    double rate_noise;     /* joints, rad/s or m/s */
    double pose_noise[2];  /* floating roots: angular, linear */
    double twist_noise[2]; /* floating roots: angular, linear */
    double force_noise;    /* N, contact forces and wrist forces */
    double torque_noise;   /* N m, wrist torques */
    double imu_noise[2];   /* floating machines: rad/s, m/s^2 */
    /* s, of everything that is measured; rounded to whole ticks */
    double delay;
} soa_sensor_set;

typedef struct soa_scene_control {
    /* Hz: rate at which signals are measured and torques computed; torques are held in between */
    double rate;
    bool rate_given; /* the file gives `rate`; only for warnings */
    bool saturate;   /* true: torques are kept within max_effort */
    /* The model of the controller: its values as multiples of the true ones.  Default 1. */
    double mass_estimate;
    double inertia_estimate;
    double damping_estimate;
    soa_sensor_set sensors;
    /* Only in C: torques from soa_world_set_torque, at `rate`.  With phases, at least one must have
     * an action of SOA_ACT_EXTERNAL; such a scenario needs no flag, and has the same run with it. */
    bool external;
    int phase_count; /* 0: no control; the first phase is the start */
    const soa_phase *phases;
} soa_scene_control;

/* --- time and record -------------------------------------------------------------------------- */
typedef enum soa_integrator {
    SOA_INTEGRATE_EXPLICIT, /* ARKODE, explicit Runge-Kutta with error control */
    /* ARKODE, diagonally implicit with error control, for stiff contacts */
    SOA_INTEGRATE_IMPLICIT,
    SOA_INTEGRATE_CVODE, /* backward differences, for long, smooth, stiff motions */
    /* explicit Runge-Kutta with the constant step `step`, for real-time loops */
    SOA_INTEGRATE_FIXED
} soa_integrator;
typedef struct soa_integration {
    soa_integrator method;
    int order;
    double relative_tolerance;
    double absolute_tolerance;
    double step;           /* s; FIXED: the step; else the largest step, 0: no bound */
    double max_joint_step; /* rad or m: no joint moves more in one step; 0: no bound */
    /* true (default): the total momentum of a free system is corrected after each step, so that it
     * stays constant */
    bool keep_momentum;
} soa_integration;

typedef struct soa_recording {
    double rate;       /* Hz, samples; taken at whole ticks */
    bool rate_given;   /* the file gives `rate`; only for warnings */
    double checkpoint; /* s between checkpoints; 0: only at the end */
} soa_recording;

/* What must be so at the end for success.  Fingers must keep touching and not slip; the internal
 * force must stay within its bounds, if these are given.  Errors of the object are measured from
 * the last goal that a law gave it.  If it has no goal, they are its motion since the beginning of
 * `from_phase`, seen from `relative_to`; then they count only if errors_asked says so, or if there
 * are neither fingers nor force bounds. */
enum { SOA_ASK_POSITION = 1, SOA_ASK_ATTITUDE = 2 };
typedef struct soa_success {
    const char *object; /* frame; NULL: no success is judged */
    const char *relative_to;
    /* group whose shapes must touch and not slip from the beginning of `from_phase` on */
    const char *fingers;
    int finger_count; /* number of all such groups; the first is `fingers` */
    const char *const *finger_groups;
    const char *from_phase;
    double hold;           /* s at the end during which the largest errors count */
    double position_error; /* m: largest allowed */
    double attitude_error; /* rad: largest allowed */
    /* SOA_ASK_ bits: which errors count also without a goal */
    int errors_asked;
    double force_low; /* bounds of the internal force, N */
    double force_high;
    soa_mark mark;
} soa_success;

/* One random quantity of a sweep, drawn for each case, uniformly between low and high. */
typedef struct soa_variation {
    /* e.g. "satellite.mass_scale", "contact.friction", "satellite.twist[0]",
     * "sensors.pose_noise" */
    const char *path;
    double low;
    double high;
    soa_mark mark;
} soa_variation;

typedef struct soa_scenario {
    const char *file;
    const char *name;
    const char *text;
    double duration; /* s */
    uint64_t seed;
    bool has_gravity; /* false: gravity is 0 0 -9.81, and the next field is ignored */
    double gravity[3];
    int part_count;
    const soa_part *parts;
    int shape_count;
    const soa_scene_shape *shapes;
    int contact_count;
    const soa_contact_pair *contacts;
    int constraint_count;
    /* frame1 and frame2 are not used; the two lists below name frames and joints */
    const soa_constraint_def *constraints;
    /* two for each constraint: "part.frame"; NULL: not for a RATIO */
    const char *const *constraint_frames;
    /* SOA_RATIO_TERMS for each constraint: "part.joint" of its coefficients; NULL: none */
    const char *const *constraint_joints;
    const soa_mark *constraint_marks; /* NULL: none */
    /* rad or m: closing the loops must not move a given position farther; 0: no bound; default
     * 0.1 */
    double assembly_bound;
    int spring_count;
    const soa_scene_spring *springs;
    int disturbance_count;
    const soa_disturbance *disturbances;
    soa_scene_estimator estimator;
    soa_scene_control control;
    soa_integration integration;
    soa_recording recording;
    soa_success success;
    int variation_count;
    const soa_variation *variations;
    const char *source; /* text of the file, for the record; NULL: none */
    size_t source_size;
    /* true: case `case_number` of a scenario with seed `drawn_from`, from soa_scenario_vary */
    bool is_case;
    uint64_t case_number;
    uint64_t drawn_from;
    void *memory; /* memory that soa_scenario_free releases */
} soa_scenario;

/* Defaults, to start from in C.  Strings and arrays remain with the caller.
 *   part      scales 1, place identity, no mass, limits act, stops derived
 *   contact   SAFE, margin 2 mm, least_distance 0.2 mm, stiffness 40, damping 200, friction 0.5,
 *             tangential 5e4 and 100, exponent 1.5, loss 0.5, patches
 *   action    relative to the world, share 0.5, gains that suit its kind
 *   scenario  10 s, seed 1, gravity 0 0 -9.81; control at 500 Hz, saturated, estimates 1; EXPLICIT,
 *             order 5, tolerances 1e-8 and 1e-10, momentum kept; 200 samples/s, a checkpoint every
 *             2 s; success within 5 mm and 1 deg during 1 s, not judged; assembly_bound 0.1
 * Everything else is 0 or NULL. */
SOA_API soa_part soa_part_default(const char *name);
SOA_API soa_contact_pair soa_contact_pair_default(const char *group1, const char *group2);
SOA_API soa_action soa_action_default(soa_action_kind kind);
SOA_API soa_scenario soa_scenario_default(const char *name);

/* Reads a scenario from a file or from memory.  On failure the report has file, line, column, what
 * was expected and, for names, the nearest valid one; nothing remains allocated.  The scenario
 * contains a copy of the text.  Release it with soa_scenario_free, which does nothing to a scenario
 * made in C. `name` is used in messages and as the place where relative file names start. */
SOA_API soa_status soa_scenario_read(const char *path, soa_scenario *scenario, soa_report *report);
SOA_API soa_status soa_scenario_parse(const char *text, size_t size, const char *name,
                                      soa_scenario *scenario, soa_report *report);
SOA_API void soa_scenario_free(soa_scenario *scenario);
/* All keys of scenario files, each once in its section ("scenario", "parts", "actions", ...); NULL
 * past the end.  section may be NULL. */
SOA_API const char *soa_scenario_key(int index, const char **section);
/* Names of the shipped scenarios (NULL past the end), and their texts (NULL: there is no such). */
SOA_API const char *soa_stock_scenario_name(int index);
SOA_API const char *soa_stock_scenario_text(const char *name);
/* Reads what `spec` names: a file, else a shipped scenario.  SOA_E_FILE: neither. */
SOA_API soa_status soa_scenario_open(const char *spec, soa_scenario *scenario, soa_report *report);

/* One case of a sweep: a copy with its variations drawn and with another seed.  The numbers depend
 * only on seed, case number and number of the variation; so cases may be made in any order and
 * anywhere.  values (may be NULL): the variation_count numbers that were drawn.  The copy shares
 * everything that did not change with `scenario`, which must outlive it; release it with
 * soa_scenario_free.  SOA_E_NAME: a path does not exist.  SOA_E_ARGUMENT: low is above high. */
SOA_API soa_status soa_scenario_vary(const soa_scenario *scenario, uint64_t case_number,
                                     soa_scenario *varied, double *values, soa_report *report);
/* The random number for these three, uniform in [0, 1). */
SOA_API double soa_scenario_uniform(uint64_t seed, uint64_t case_number, uint64_t number);
/* Finds the first action whose torques come from a function of the caller (SOA_ACT_EXTERNAL): the
 * numbers of its phase and of the action in it (may be NULL).  false: no phase has one. */
SOA_API bool soa_scenario_find_external(const soa_scenario *scenario, int *phase, int *action);

#ifdef __cplusplus
}
#endif
#endif
