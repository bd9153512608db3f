/* soa/scenario.h  a scenario: what is in the world, who controls it, how it is moved in time and
 *                 what is written down.
 *
 * Plain data, read from a YAML file (docs/scenarios.md) or filled in C from soa_scenario_default().
 * The parts of a scenario are named; names of frames and joints are "part.frame", those of shapes
 * their own or their group's.  Nothing here is computed; soa_world_create (soa/world.h) makes a
 * world of it. */
#ifndef SOA_SCENARIO_H
#define SOA_SCENARIO_H

#include "soa/collision.h"
#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where in the file something was written; 0: it was not read from one. */
typedef struct soa_mark {
    int line, column;
} soa_mark;

/* A number for a named coordinate; joints of more than one freedom: "part.joint[k]". */
typedef struct soa_named_value {
    const char *name;
    double value;
    soa_mark mark;
} soa_named_value;

/* Joints of a part, named without it: the joint with exactly this name, else all joints whose names
 * begin so. */
typedef struct soa_joint_choice {
    const char *name;
    soa_mark mark;
} soa_joint_choice;

/* --- what there is ---------------------------------------------------------------------------- */
/* A frame added to a part: a hand, a port. */
typedef struct soa_part_frame {
    const char *name, *on; /* frame of the part it is fixed to, both without the part's name */
    soa_frame place;
    soa_mark mark;
} soa_part_frame;

/* What the <collision> shapes of a URDF part may touch. */
typedef enum soa_collisions {
    SOA_COLLISIONS_DEFAULT, /* as OTHERS; a mesh that is missing or a model without shapes is no
                             * fault */
    SOA_COLLISIONS_NONE,    /* nothing: they are not read */
    SOA_COLLISIONS_OTHERS,  /* shapes of the scenario that sit elsewhere, and collision shapes of
                             * other parts */
    SOA_COLLISIONS_SELF     /* and other links of the same part, but neighbours */
} soa_collisions;
/* A stop's number that the machine decides; see docs/worlds.md, "Stops". */
#define SOA_STOP_DERIVED (-1.0)

/* One machine or object.  Either `model` (shipped name, URDF file or saved model; files relative to
 * the scenario's) or a single rigid body given here. */
typedef struct soa_part {
    const char *name;
    const char *model;   /* NULL: a body */
    bool floating;       /* its root link floats (free joint "part.root"); bodies float unless
                         * `fixed` */
    bool fixed;          /* a body that is part of the world: ground, walls */
    bool massless_links; /* a body's six freedoms as WD89 has them: three slides, three turns (z, y,
                         * x) and five massless links between, instead of a free joint */
    double mass, com[3], inertia[6];  /* of a body, as in soa_body_def; `box` in the file fills them
                                       * too */
    double mass_scale, inertia_scale; /* of all links of the part; default 1 */
    double damping_scale;             /* of viscous joint friction; default 1 */
    double friction_scale;            /* of Coulomb joint friction; default 1 */
    double rotor_scale;               /* of rotor inertias; default 1 */
    double effort;                    /* > 0: torque limit of joints whose model gives none */
    bool has_motors; /* false: every joint of the model has a motor; else only those that `motors`
                      * chooses */
    int motor_count; /* 0 with has_motors: no joint has one */
    const soa_joint_choice *motors;
    bool limits; /* true (default): joints stop at the limits of their model */
    double stop_stiffness, stop_damping; /* of joints beyond their limits, N m/rad, N m s/rad;
                                          * SOA_STOP_DERIVED */
    soa_collisions collisions;           /* of a URDF's <collision> shapes */
    int frame_count;
    const soa_part_frame *frames;
    soa_frame place; /* of the root in the world (floating: at the start) */
    double twist[6]; /* at the start, [w; v] of a floating root at its origin, world axes */
    int position_count, rate_count;
    const soa_named_value *positions, *rates; /* of joints at the start; name without the part */
    soa_mark mark;
} soa_part;

typedef struct soa_scene_shape {
    const char *name;
    const char *group; /* NULL: its own name */
    const char *frame; /* "part.frame", "world" */
    soa_frame place;   /* in that frame */
    soa_shape shape;   /* type, half, radius, and vertices where they are given as a list */
    const char *mesh;  /* STL, OBJ, DAE file whose convex hull it is; NULL: none */
    double mesh_scale;
    soa_mark mark;
} soa_scene_shape;

typedef enum soa_contact_law {
    SOA_CONTACT_PAPER, /* WD89: f = Kp (margin - d) / d - Kd d', verbatim: it also pulls, and needs
                        * d > 0 */
    SOA_CONTACT_SAFE,  /* the same, never pulling, continued linearly below least_distance */
    SOA_CONTACT_HUNT_CROSSLEY, /* f = k x^exponent (1 + loss x'), x = margin - d */
    SOA_CONTACT_LINEAR         /* f = k x + c x', never pulling */
} soa_contact_law;

/* How shapes of two groups meet. */
typedef struct soa_contact_pair {
    const char *group1, *group2; /* names of groups or shapes */
    soa_contact_law law;
    double margin;             /* epsilon, m: bodies just touch at this distance */
    double least_distance;     /* d_min, SAFE */
    double stiffness, damping; /* Kp (N; LINEAR: N/m; HUNT_CROSSLEY: N/m^exponent), Kd (N s/m) */
    double exponent, loss;     /* HUNT_CROSSLEY; loss: s/m */
    double friction;           /* Coulomb's number, 0: none */
    double tangential_stiffness, tangential_damping; /* of a sticking contact, N/m, N s/m */
    bool patch; /* true: several points where faces meet                                  */
    soa_mark mark;
} soa_contact_pair;

/* A spring and damper between two points: draws them together with stiffness (L - length) + damping
 * L'. */
typedef struct soa_scene_spring {
    const char *name;
    const char *frame[2];      /* "part.frame", "world" */
    double place[2][3];        /* the points in those frames */
    double stiffness, damping; /* N/m, N s/m, >= 0 */
    double length;             /* m, at which it is slack; < 0: as long as it is at the start */
    soa_mark mark;
} soa_scene_spring;

/* A wrench for a while. */
typedef struct soa_disturbance {
    const char *frame;
    double start, duration, wrench[6]; /* [n; f] on the frame's body, at its origin, world axes */
    soa_mark mark;
} soa_disturbance;

/* --- control ---------------------------------------------------------------------------------- */
typedef enum soa_action_kind {
    SOA_ACT_JOINT_PD,         /* tau = K (q_d - q) + D (v_d - v) + gravity */
    SOA_ACT_INVERSE_DYNAMICS, /* WD89 section 3: accelerations K e + D e' + a_d through estimated
                               * dynamics */
    SOA_ACT_PASSIVITY,        /* Slotine-Li, through C(q, v) w; Wen and Bayard's forms are calls
                               * (soa/control.h) */
    SOA_ACT_DECOUPLED,        /* in innovations coordinates, RJK91 section 6 */
    SOA_ACT_OPERATIONAL,      /* a frame's acceleration, through Lambda; floating bases by the
                           * generalized Jacobian */
    SOA_ACT_IMPEDANCE,    /* a frame held by a spring and damper, without shaping its inertia, plus
                           * `force` */
    SOA_ACT_HYBRID,       /* position in some directions, force in the others */
    SOA_ACT_BASE_HOLD,    /* a floating base's attitude held by the joints' momentum */
    SOA_ACT_COORDINATION, /* several hands move one object, internal forces regulated, load
                           * shared */
    SOA_ACT_KIND_COUNT
} soa_action_kind;

/* One law at work in a phase; torques of all actions of a phase add up.  Goals start from where
 * things are when the phase begins and are reached along a smooth path after `time`. */
typedef struct soa_action {
    const char *name; /* NULL: by its law */
    soa_action_kind kind;
    const char *part; /* JOINT laws: the machine whose joints are moved */
    int joint_count;  /* JOINT and frame laws, BASE_HOLD: only the joints that `joints` chooses; 0:
                       * all */
    const soa_joint_choice *joints;
    int position_count;
    const soa_named_value *positions; /* goals of joints (with the part's names); others stay */
    const char *frame;                /* frame laws: the hand.  COORDINATION: the object */
    const char *relative_to; /* frame in which goal, error and force are expressed; "world" */
    bool has_goal;
    soa_frame goal;
    bool goal_is_offset; /* true: goal is meant from where the frame stands at the phase's
                         * beginning */
    double time;         /* s, 0: at once */
    double stiffness[2], damping[2]; /* angular, linear (frame laws, COORDINATION); joints: [0] of
                                      * each */
    double force[6];                 /* IMPEDANCE, HYBRID: [n; f] on the environment, goal's axes */
    unsigned force_rows;             /* HYBRID: bits of the directions under force control */
    double force_gain[2];         /* HYBRID, COORDINATION: proportional, integral (1/s) on measured
                           * forces */
    double max_force, max_torque; /* of what the law asks from a hand, 0: no bound */
    int hand_count;               /* COORDINATION: hands that hold the object */
    const char *const *hands;     /* their frames */
    double squeeze;               /* N: internal force along the lines between hands */
    bool passive; /* COORDINATION: passivity-based, gains in N/m ...; else linearising, gains in
                     * 1/s^2, 1/s */
    double follow_stiffness[2],
        follow_damping[2]; /* COORDINATION: each hand stays with the object; angular, linear      */
    double share;          /* part of the load that the first hand takes, 0 to 1; default 0.5 */
    soa_mark mark;
} soa_action;

typedef enum soa_compare { SOA_BELOW, SOA_ABOVE } soa_compare;
/* A measured signal below or above a value for at least `hold` seconds.  Signals: "phase_time",
 * "touching.GROUP", "force.GROUP", "distance.GROUP", "error.ACTION" (m), "angle_error.ACTION"
 * (rad), "rate.ACTION" (m/s), "turn_rate.ACTION" (rad/s), "slip.GROUP" (m/s). */
typedef struct soa_condition {
    const char *signal;
    soa_compare compare;
    double value, hold;
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
    double blend;                      /* s over which torques pass from the phase before;
                                        * bumpless */
    soa_mark mark;
} soa_phase;

typedef struct soa_sensor_set {
    double position_noise, rate_noise;    /* standard deviation, of joints (rad, m) */
    double pose_noise[2], twist_noise[2]; /* of floating roots: angular, linear */
    double force_noise, torque_noise;     /* N of contact forces and wrist forces, N m of wrist
                                       * torques */
    double imu_noise[2];                  /* of floating machines: rad/s, m/s^2 */
    double delay;                         /* s, of everything measured; the nearest whole number of
                                       * ticks */
} soa_sensor_set;

typedef struct soa_scene_control {
    double rate;   /* Hz; measured, computed, held */
    bool saturate; /* true: torques stay within max_effort */
    double mass_estimate, inertia_estimate,
        damping_estimate; /* the controller's model, times the true one; default 1 */
    soa_sensor_set sensors;
    bool
        external; /* in C only: torques come from soa_world_set_torque, at `rate`; no phases then */
    int phase_count; /* 0: no control; the first is the start */
    const soa_phase *phases;
} soa_scene_control;

/* --- time and record -------------------------------------------------------------------------- */
typedef enum soa_integrator {
    SOA_INTEGRATE_EXPLICIT, /* ARKODE, explicit Runge-Kutta, error control */
    SOA_INTEGRATE_IMPLICIT, /* ARKODE, diagonally implicit, error control: stiff contact */
    SOA_INTEGRATE_CVODE,    /* backward differences: long, smooth, stiff */
    SOA_INTEGRATE_FIXED     /* explicit Runge-Kutta, `step` always: real-time loops */
} soa_integrator;
typedef struct soa_integration {
    soa_integrator method;
    int order;
    double relative_tolerance, absolute_tolerance;
    double step;           /* FIXED: s; else the largest step, 0: none */
    double max_joint_step; /* no joint moves more in one step, rad or m; 0: no bound */
    bool
        keep_momentum; /* default true: total momentum of a free system is projected back after each
                         * step */
} soa_integration;

typedef struct soa_recording {
    double rate;       /* Hz, samples */
    double checkpoint; /* s between checkpoints, 0: only at the end */
} soa_recording;

/* What the summary asks of the end.  Fingers must keep touching and not slip; the internal force
 * must stay in its band if one is given.  Errors of the object are judged against the last goal
 * that a law gave it.  Without such a goal they are its motion since `from_phase` began, seen from
 * `relative_to`, and judged only if asked for (errors_asked), or if there are neither fingers nor a
 * band to judge. */
enum { SOA_ASK_POSITION = 1, SOA_ASK_ATTITUDE = 2 };
typedef struct soa_success {
    const char *object; /* frame; NULL: nothing is asked */
    const char *relative_to;
    const char *fingers; /* group whose shapes must keep touching, and not slip, once `from_phase`
                          * has begun */
    int finger_count;    /* all such groups where the file names more than one; the first is
                          * `fingers` */
    const char *const *finger_groups;
    const char *from_phase;
    double hold;                           /* s at the end over which errors are the largest seen */
    double position_error, attitude_error; /* m, rad */
    int errors_asked;                      /* SOA_ASK_ bits of the bounds that count without a goal
                                            * too */
    double force_low, force_high;          /* band of the internal force, N */
    soa_mark mark;
} soa_success;

/* One random quantity of a sweep: KIND of NAME is drawn for each case, uniformly between low and
 * high. */
typedef struct soa_variation {
    const char *path; /* e.g. "satellite.mass_scale", "contact.friction", "satellite.twist[0]",
                * "sensors.pose_noise" */
    double low, high;
    soa_mark mark;
} soa_variation;

typedef struct soa_scenario {
    const char *file, *name, *text;
    double duration; /* s */
    uint64_t seed;
    bool has_gravity; /* false: it is 0 0 -9.81, whatever stands below */
    double gravity[3];
    int part_count;
    const soa_part *parts;
    int shape_count;
    const soa_scene_shape *shapes;
    int contact_count;
    const soa_contact_pair *contacts;
    int constraint_count;
    const soa_constraint_def *constraints; /* frame1, frame2 unset; named by the two lists below */
    const char *const *constraint_frames;  /* two for each constraint: "part.frame"; NULL: RATIO has
                                           * none */
    const char *const
        *constraint_joints;           /* SOA_RATIO_TERMS for each: "part.joint" of its coefficients;
                                       * NULL: none */
    const soa_mark *constraint_marks; /* NULL: none */
    double assembly_bound; /* rad or m: closing loops moves no given position farther; 0: no bound;
                            * default 0.1 */
    int spring_count;
    const soa_scene_spring *springs;
    int disturbance_count;
    const soa_disturbance *disturbances;
    soa_scene_control control;
    soa_integration integration;
    soa_recording recording;
    soa_success success;
    int variation_count;
    const soa_variation *variations;
    const char *source; /* the file's text, for the record; NULL: none */
    size_t source_size;
    bool is_case; /* made by soa_scenario_vary, as case `case_number` of a scenario whose seed was
                  * `drawn_from` */
    uint64_t case_number, drawn_from;
    void *memory; /* what soa_scenario_free releases */
} soa_scenario;

/* To start from in C.  A part: scales 1, place identity, no mass, limits act, stops derived.  A
 * contact: SAFE, margin 2 mm, least_distance 0.2 mm, stiffness 40, damping 200, friction 0.5,
 * tangential 5e4 and 100, exponent 1.5, loss 0.5, patches.  An action: relative to the world, share
 * 0.5, and gains by its kind.  A scenario: 10 s, seed 1, gravity 0 0 -9.81, control at 500 Hz,
 * saturated, estimates 1; EXPLICIT, order 5, 1e-8 and 1e-10, momentum kept; 200 samples/s, a
 * checkpoint each 2 s; success within 5 mm and 1 deg over 1 s, nothing asked; assembly_bound 0.1.
 * All else 0 or NULL.  Texts and arrays stay the caller's. */
SOA_API soa_part soa_part_default(const char *name);
SOA_API soa_contact_pair soa_contact_pair_default(const char *group1, const char *group2);
SOA_API soa_action soa_action_default(soa_action_kind kind);
SOA_API soa_scenario soa_scenario_default(const char *name);

/* Reads a scenario file.  On a fault the report says file, line, column, what was expected and, for
 * names, the nearest valid one; nothing is left behind.  The scenario is released with
 * soa_scenario_free, which leaves one made in C alone; it holds a copy of the text.  parse: `name`
 * stands for the file in messages and for where others are found. */
SOA_API soa_status soa_scenario_read(const char *path, soa_scenario *scenario, soa_report *report);
SOA_API soa_status soa_scenario_parse(const char *text, size_t size, const char *name,
                                      soa_scenario *scenario, soa_report *report);
SOA_API void soa_scenario_free(soa_scenario *scenario);
/* Every key that scenario files may hold, each once in its section ("scenario", "parts", "actions",
 * ...; section may be NULL); NULL past the end. */
SOA_API const char *soa_scenario_key(int index, const char **section);
/* Shipped scenarios by name (NULL past the end), their text (NULL: no such), both constant, and
 * whatever `spec` names: a file, else a shipped one (SOA_E_FILE: neither). */
SOA_API const char *soa_stock_scenario_name(int index);
SOA_API const char *soa_stock_scenario_text(const char *name);
SOA_API soa_status soa_scenario_open(const char *spec, soa_scenario *scenario, soa_report *report);

/* One case of a sweep: a copy whose variations are drawn, and whose seed is its own.  Numbers
 * depend on (seed, case number, variation number) alone, so cases may be made in any order,
 * anywhere.  values (may be NULL): variation_count numbers, those drawn.  The copy shares what did
 * not change with `scenario`, which must outlive it; release it with soa_scenario_free.
 * SOA_E_NAME: a path that is none; SOA_E_ARGUMENT: low above high. */
SOA_API soa_status soa_scenario_vary(const soa_scenario *scenario, uint64_t case_number,
                                     soa_scenario *varied, double *values, soa_report *report);
/* The uniform random number of [0, 1) that belongs to these three. */
SOA_API double soa_scenario_uniform(uint64_t seed, uint64_t case_number, uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
