/* soa/constraint.h  closed chains: loops and other constraints beside an immutable model.
 *
 * A soa_constraints holds up to a fixed number of constraints over one model.  They may be switched
 * on and off, added and removed during motion; nothing is rebuilt.  The machine obeys
 *     M vdot + bias = tau + G' lambda,        G vdot + gamma = 0,
 * with one row of G for each constraint equation g(q, t) = 0 (or velocity equation), gamma its rest
 * at vdot = 0.  Sign: rows measure frame 1 relative to frame 2, in the axes of frame 1, so lambda
 * is the wrench that the constraint puts *on the body of frame 1* (angular rows first), at the
 * origin of frame 2; the opposite acts on the body of frame
 * 2. Redundant rows are found and named; lambda is then the answer of least norm.
 *    docs/theory/closed-chains.md.
 *
 * NULL and status as in soa/dynamics.h; q that is moved must be given.  A soa_constraints belongs
 * to one thread, its model must outlive it, and `work` is of that model.  Constraints have numbers
 * from 0, fixed until they are removed and then given again; one that does not exist, or has no cut
 * joint where one is asked for, is SOA_E_ARGUMENT. */
#ifndef SOA_CONSTRAINT_H
#define SOA_CONSTRAINT_H

#include "soa/dynamics.h"
#include "soa/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_constraint_kind {
    SOA_LOOP,     /* the two frames are joined by a joint of any type: 6 - nv rows */
    SOA_DISTANCE, /* the origins of the frames keep the distance `value`: 1 row */
    SOA_RATIO,    /* sum of coefficient[i] * (joint coordinate[i]) = value: gears, driven joints: 1
                  * row */
    SOA_ROLLING,  /* a ball of radius `value` about frame 2 rolls on the plane z = 0 of frame 1: 1
                  * row on the position, 2 on the velocity (nonholonomic) */
    SOA_VELOCITY, /* rows[i] . [w; v] = 0 for the velocity of frame 2 relative to frame 1:
                   * nonholonomic */
    SOA_PLANE,    /* the origin of frame 2 stays in the plane z = `value` of frame 1: 1 row */
    SOA_DISC /* a thin disc of radius `value` about the z axis of frame 2 rolls on its rim on the
              * plane z = 0 of frame 1, without slipping: 1 row on the position, 2 on the velocity
              * (nonholonomic).  It may lean, but not lie flat (SOA_E_SINGULAR) */
} soa_constraint_kind;
enum { SOA_CONSTRAINT_KIND_COUNT = SOA_DISC + 1 };

/* Right side of a rheonomic constraint at time t: out = value, its rate, its second rate. */
typedef void soa_drive_fn(void *user, double t, double out[3]);

enum { SOA_RATIO_TERMS = 4 };
typedef struct soa_constraint_def {
    const char *name; /* at most 127 letters; NULL: "constraint N" */
    soa_constraint_kind kind;
    int frame1, frame2;       /* frames of the model; 0 is the world */
    soa_frame place1, place2; /* where the constraint sits in those frames; default identity */
    soa_joint_type joint;     /* LOOP: closed where place1 and place2 would be joined by this joint
                               * at some q */
    double axis[3], axis2[3],
        pitch;                /* as in soa_joint_def, in place1 (a universal's axis2: in place2) */
    double damping, friction; /* LOOP: of the cut joint, viscous and Coulomb, on each of its free
                               * coordinates */
    double stiffness, rest;   /* LOOP: its spring, as in soa_joint_def; not of spherical and free
                               * joints */
    double rotor_inertia, gear_ratio; /* LOOP: its motor, as in soa_joint_def; not of a free
                                       * joint */
    soa_rotor_model rotor_model;      /* exact: joints with one coordinate; the motor sits on frame
                                       * 1 */
    double rotor_axis[3];             /* exact: in place1; zero: the joint's axis */
    double value;                     /* DISTANCE, RATIO, ROLLING, PLANE */
    int coordinate
        [SOA_RATIO_TERMS]; /* RATIO: bodies whose 1-dof joints are meant, 0: none; ~n (that is -1 -
                            * n): the cut joint of constraint n, with one coordinate */
    double coefficient[SOA_RATIO_TERMS];
    int row_count; /* VELOCITY: 1 to 6 */
    double rows[6][6];
    int rows_in_frame2; /* VELOCITY: nonzero: rows are in the axes of frame 2 (a skate), else of
                         * frame 1 */
    soa_drive_fn
        *drive; /* DISTANCE, RATIO, PLANE: replaces value by a function of time; NULL: constant */
    void *user;
} soa_constraint_def;
/* Places identity, a revolute joint, axis z, axis2 x, gear ratio 1; all else 0 or NULL. */
SOA_API soa_constraint_def soa_constraint_default(soa_constraint_kind kind, int frame1, int frame2);
/* Rows that a constraint of this definition has; -1: no such kind or joint. */
SOA_API int soa_constraint_def_row_count(const soa_constraint_def *def);
/* A cut joint of a graph as a constraint, with its damping, friction, spring and rotor.  Frame 1 is
 * on link 1, but for a spherical joint that rubs: its friction is counted in the axes of link 2, so
 * there frame 1 is on link 2.  NULL: soa_constraint_default of a loop from the world to itself,
 * which soa_constraints_add refuses. */
SOA_API soa_constraint_def soa_constraint_from_loop(const soa_loop_def *loop);
/* Coordinates and rates of a cut joint (of WD89's terminating link), as it would have them in a
 * tree: nq, nv and nv numbers of its type.  Needs kinematics with v (SOA_E_ORDER without any).  v
 * and a with their rates may be NULL; a needs v, and the kinematics of vdot too. */
SOA_API soa_status soa_loop_coordinates(const soa_model *model, soa_work *work,
                                        const soa_loop_def *loop, double *q, double *v, double *a);

/* How many constraints and rows there may be at once, those switched off included; at most
 * 1,000,000 and 20,000.  dense: room for the dense methods too, O((nv + rows)^2); nv + rows then at
 * most 30,000. */
typedef struct soa_constraint_capacity {
    int constraints, rows, dense;
} soa_constraint_capacity;

/* Ask for the size (0: no such capacity), give the memory (aligned to 64 bytes, else SOA_E_MEMORY),
 * or let create take it from the heap.  SOA_E_ARGUMENT: no such capacity, or a pointer is missing.
 * They start without any constraint. */
typedef struct soa_constraints soa_constraints;
SOA_API size_t soa_constraints_size(const soa_model *model,
                                    const soa_constraint_capacity *capacity);
SOA_API soa_status soa_constraints_init(const soa_model *model,
                                        const soa_constraint_capacity *capacity, void *memory,
                                        size_t size, soa_constraints **constraints);
SOA_API soa_status soa_constraints_create(const soa_model *model,
                                          const soa_constraint_capacity *capacity,
                                          soa_constraints **constraints);
SOA_API void soa_constraints_free(soa_constraints *constraints); /* only for create */

/* Adds a constraint, switched on, and gives its number (may be NULL); on any fault nothing changes
 * and the report says what was found.  SOA_E_MEMORY: no room for it or its rows.  SOA_E_NAME: a
 * name used twice or too long, no such frame.  SOA_E_ARGUMENT, _NOT_FINITE, _FRAME, _JOINT, _MIMIC:
 * the definition.  Copied, the name too. */
SOA_API soa_status soa_constraints_add(soa_constraints *constraints, const soa_constraint_def *def,
                                       int *number, soa_report *report);
/* SOA_E_ARGUMENT where a ratio counts with its joint: remove that one first. */
SOA_API soa_status soa_constraints_remove(soa_constraints *constraints, int number);
/* The room that the cut joints of a graph need, and all of them as constraints: the loops by their
 * names, but those with both ends on one body, which hold by themselves; and a ratio "JOINT mimic"
 * for each mimic joint that is cut or follows a cut one.  The model is that of tree->model.  On a
 * fault those added before it stay. */
SOA_API soa_constraint_capacity soa_linkage_tree_capacity(const soa_linkage_tree *tree);
SOA_API soa_status soa_linkage_tree_constrain(const soa_linkage_tree *tree,
                                              soa_constraints *constraints, soa_report *report);
/* Off: it has no rows and its cut joint no forces; it keeps its number, its room and its
 * settings. */
SOA_API soa_status soa_constraints_switch(soa_constraints *constraints, int number, int on);
/* Torques and forces on the free coordinates of a cut joint (FO00 (19)'s tau_a), one number for
 * each of its nv; they act until they are set again.  The coordinates are those of a joint of the
 * tree between place1 and place2 (docs/notation.md). */
SOA_API soa_status soa_constraints_set_effort(soa_constraints *constraints, int number,
                                              const double *effort);
/* Another Coulomb friction of the cut joint. */
SOA_API soa_status soa_constraints_set_friction(soa_constraints *constraints, int number,
                                                double friction);
/* One free coordinate of a cut joint, at the state whose kinematics (with v) stand in `work`: its
 * rate is row . v, its second rate row . vdot + rest, and a torque on it is that times row (nv
 * numbers).  rest may be NULL. */
SOA_API soa_status soa_constraints_joint_row(soa_constraints *constraints, soa_work *work,
                                             int number, int coordinate, double *row, double *rest);
/* Rates of the free coordinates of a cut joint at the last state that a call was given with
 * velocities while it was on; count (may be NULL): how many, its nv. */
SOA_API soa_status soa_constraints_joint_rates(const soa_constraints *constraints, int number,
                                               double rates[6], int *count);
/* Coordinates of the cut joint of a constraint (nq numbers of its type), as a tree would have them,
 * at the state whose kinematics stand in `work`. Angles are told only up to whole turns: the one
 * nearest to what was last set is taken, in the beginning 0.  Springs and ratios count so.
 * set_turns: near has nv numbers, of which those of angles count. follow: sets all that a spring or
 * ratio counts to where they now stand (soa_closed_simulate does, after each step). */
SOA_API soa_status soa_constraints_joint_coordinates(soa_constraints *constraints, soa_work *work,
                                                     int number, double *q);
SOA_API soa_status soa_constraints_set_turns(soa_constraints *constraints, int number,
                                             const double *near);
SOA_API soa_status soa_constraints_follow_turns(soa_constraints *constraints, soa_work *work);
/* Constraints in use, the rows they have now, and the rows of one (first row and count; count 0
 * while switched off). */
SOA_API int soa_constraints_count(const soa_constraints *constraints);
SOA_API int soa_constraints_row_count(const soa_constraints *constraints);
SOA_API soa_status soa_constraints_row_range(const soa_constraints *constraints, int number,
                                             int *first, int *count);
/* NULL where there is none; the text lives until it is removed. */
SOA_API const char *soa_constraints_name(const soa_constraints *constraints, int number);
SOA_API const soa_model *soa_constraints_model(const soa_constraints *constraints);
/* Its definition as it was given (name: as soa_constraints_name). */
SOA_API soa_status soa_constraints_get_def(const soa_constraints *constraints, int number,
                                           soa_constraint_def *def);

/* At q, v, t of input: residuals g, rates G v + dg/dt, rows of G (rows x nv) and gamma; any may be
 * NULL.  Velocity rows have g = 0.  SOA_E_NOT_FINITE also of drives; SOA_E_SINGULAR: a DISTANCE
 * between points that coincide.  O(rows * depth). */
SOA_API soa_status soa_constraints_evaluate(soa_constraints *constraints, soa_work *work,
                                            const soa_input *input, double *g, double *rate,
                                            double *G, double *gamma);

typedef enum soa_closed_method {
    SOA_CLOSED_AUTO,      /* by sizes; KKT where a massless link is held by its loop alone */
    SOA_CLOSED_KKT,       /* FO00 (20): the whole system, dense */
    SOA_CLOSED_FORCES,    /* FO00 (21): constraint forces through O(n) solves */
    SOA_CLOSED_NULL_SPACE /* FO00 (22): independent motions, by a rank test */
} soa_closed_method;

typedef struct soa_closed_options {
    soa_closed_method method;
    double rank_tolerance; /* pivots of the scaled G M^-1 G' (1 at best) below this are redundant
                            * rows; default 1e-12 */
    double most_condition; /* beyond this estimate of the condition: SOA_E_SINGULAR; default 1e11 */
    double damping;        /* > 0: adds damping^2 to the scaled diagonal instead; default 0 */
    double consistency;    /* redundant rows whose right sides differ by more, relative:
                            * SOA_E_INCONSISTENT; 1e-7 */
    double baumgarte[2];   /* gamma += b[0] * rate + b[1] * g; default 0, 0 */
    int rank_most;         /* > 0: rows beyond this rank count as redundant; for states off the
                            * constraints, where rows that repeat others no longer quite do.
                            * default 0: no bound */
    int brief;             /* nonzero: the report names no redundant rows, which saves time; default
                            * 0 */
} soa_closed_options;
SOA_API soa_closed_options soa_closed_options_default(void);

enum { SOA_REDUNDANT_MOST = 16 };
typedef struct soa_closed_report {
    int rows, rank;
    double condition; /* estimate, of the scaled G M^-1 G' on its independent rows (KKT: of G G'): 1
                       * / least pivot */
    int redundant;    /* rows found dependent; the first ones by number of constraint and row within
                       * it */
    int redundant_constraint[SOA_REDUNDANT_MOST], redundant_row[SOA_REDUNDANT_MOST];
    double strength; /* of the weakest independent row, 1 or less; falls to 0 where a row is lost */
    int weakest;     /* the constraint of that row, -1: none */
    double residual; /* largest disagreement of a redundant row, relative */
    soa_closed_method method; /* that was used */
    char text[256];           /* "loop3 repeats rows of loop1", or empty */
} soa_closed_report;

/* vdot and lambda (rows; may be NULL) of the closed machine at q, v, tau, wrenches, t of input.
 * options, report may be NULL; the report is written unless the inputs are refused.
 *   SOA_E_HINGE_SINGULAR   M has no inverse, and the method needs one (KKT: neither has the whole
 *                          system)
 *   SOA_E_SINGULAR         nearly redundant rows: condition beyond most_condition; or as of
 *                          soa_constraints_evaluate
 *   SOA_E_INCONSISTENT     redundant rows contradict each other
 *   SOA_E_MEMORY           KKT or NULL_SPACE asked for, and no dense room
 *   SOA_E_ARGUMENT         also: options out of range; damping with another method than FORCES */
SOA_API soa_status soa_closed_fd(soa_constraints *constraints, soa_work *work,
                                 const soa_closed_options *options, const soa_input *input,
                                 double *qdd, double *lambda, soa_closed_report *report);
/* What a further force (nv numbers) would add to the qdd of the last soa_closed_fd; nothing else
 * may have been done with these constraints and the work space in between (SOA_E_ARGUMENT where
 * there was none).  qdd may be force. */
SOA_API soa_status soa_closed_response(soa_constraints *constraints, soa_work *work,
                                       const double *force, double *qdd);
/* Power at the last soa_closed_fd, W: what drives and efforts of cut joints put in, what rubbing
 * there takes. */
SOA_API soa_status soa_closed_power(const soa_constraints *constraints, double *supplied,
                                    double *dissipated);
/* Energies of the whole machine: soa_energy, and the springs and rotors of cut joints.  Both
 * results are needed. */
SOA_API soa_status soa_closed_energy(soa_constraints *constraints, soa_work *work, const double *q,
                                     const double *v, double *kinetic, double *potential);
/* The wrenches [n; f] of a constraint on the bodies of frame 1 and frame 2, world axes, at the
 * origins of these frames, for the multipliers `lambda` of the last soa_closed_fd: the constraint
 * forces, and what the spring, damper, friction and effort of a cut joint do; not its rotor.  Not
 * of a RATIO (SOA_E_ARGUMENT).  Either result may be NULL; both are zero while it is switched off.
 * The state is that of the last call; nothing else may have been done in between. */
SOA_API soa_status soa_constraints_wrench(const soa_constraints *constraints, int number,
                                          const double *lambda, double on_frame1[6],
                                          double on_frame2[6]);
/* How strong each row is, as of the last call that formed G: its size over what it would be if
 * nothing cancelled, 0 to
 * 1.  It falls to 0 where the row is lost.  soa_constraints_row_count numbers. */
SOA_API soa_status soa_constraints_row_strengths(const soa_constraints *constraints,
                                                 double *strengths);
/* Joint torques that give vdot = input->a (reads q, v, a, wrenches, t; a must obey the
 * constraints), by the actuated coordinates alone (mask of nv numbers, nonzero: actuated; NULL:
 * all): of least norm where they are more than needed.  lambda may be NULL.  Dense, O(nv rows^2);
 * SOA_E_MEMORY without dense room.  SOA_E_INCONSISTENT where a does not obey the constraints, or
 * the actuated coordinates cannot do it. */
SOA_API soa_status soa_closed_id(soa_constraints *constraints, soa_work *work,
                                 const soa_input *input, const unsigned char *actuated, double *tau,
                                 double *lambda);

/* q moved to g(q, t) = 0 by the least mass-weighted step, v to G v + dg/dt = 0 likewise (v may be
 * NULL).  In place; on failure nothing is changed.  error (may be NULL): what is left, largest |g|
 * and |rate|; also of the two failures SOA_E_NO_CONVERGENCE (|g| stays above 1e-9) and
 * SOA_E_INCONSISTENT (the rates cannot be met). */
SOA_API soa_status soa_closed_project(soa_constraints *constraints, soa_work *work, double t,
                                      double *q, double *v, double error[2]);
/* v just after the constraints that are on have closed at q: v_after = v + M^-1 G' P with G v_after
 * + dg/dt = 0.  P (rows; may be NULL): the impulses, signs as of lambda, of least norm where rows
 * are redundant.  v_after may be v.  Loops that were closed before stay closed and take their
 * share.  SOA_E_INCONSISTENT: drives contradict; SOA_E_SINGULAR. */
SOA_API soa_status soa_closed_impulse(soa_constraints *constraints, soa_work *work, double t,
                                      const double *q, const double *v, double *v_after, double *P);
/* Largest |g| that the last projection found, before it moved anything. */
SOA_API double soa_closed_drift(const soa_constraints *constraints);
/* Closes the loops from a guess, by damped Gauss-Newton steps.  held (nv numbers, nonzero: this
 * coordinate is not moved) may be NULL: none.  SOA_E_NO_CONVERGENCE: q is not changed, and the
 * report says how far it came and which constraint is worst. */
SOA_API soa_status soa_closed_assemble(soa_constraints *constraints, soa_work *work, double t,
                                       const unsigned char *held, double *q, soa_report *report);
/* v moved by the least change (all coordinates weigh alike) to G v + dg/dt = 0, while those that
 * are held keep theirs. left (may be NULL): the largest |rate| that remains.  SOA_E_INCONSISTENT:
 * the held ones contradict the constraints; v is not changed then. */
SOA_API soa_status soa_closed_project_rates(soa_constraints *constraints, soa_work *work, double t,
                                            const double *q, const unsigned char *held, double *v,
                                            double *left);

#ifdef __cplusplus
}
#endif
#endif
