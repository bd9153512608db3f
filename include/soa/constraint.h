/* soa/constraint.h  closed chains: loops and other constraints on an immutable model.
 *
 * A soa_constraints holds constraints on one model, up to a fixed number.  Constraints may be
 * switched on and off, added and removed during a motion; nothing is rebuilt.  The machine obeys
 *     M vdot + bias = tau + G' lambda,        G vdot + gamma = 0.
 * G has one row for each constraint equation g(q, t) = 0 or velocity equation; gamma is what
 * remains of the second derivative at vdot = 0.  Sign: the rows measure frame 1 relative to frame
 * 2, in the axes of frame 1.  So lambda is the wrench, angular rows first, that the constraint
 * exerts *on the body of frame 1*, at the origin of frame 2; the opposite wrench acts on the body
 * of frame 2.  Redundant rows are found and named; lambda is then the solution of least norm.
 * docs/theory/closed-chains.md.
 *
 * NULL and status are as in soa/dynamics.h, but a q that is changed must be given.  A
 * soa_constraints belongs to one thread.  The model must outlive it, and `work` must be a work
 * space of that model.  Constraints are numbered from 0.  A number is valid until its constraint is
 * removed, and is then used again.  SOA_E_ARGUMENT: there is no constraint with this number, or it
 * has no cut joint and the function needs one. */
#ifndef SOA_CONSTRAINT_H
#define SOA_CONSTRAINT_H

#include "soa/dynamics.h"
#include "soa/graph.h"
#include "soa/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_constraint_kind {
    /* A joint of any type joins the two frames: 6 - nv rows. */
    SOA_LOOP,
    /* The origins of the frames keep the distance `value`: 1 row. */
    SOA_DISTANCE,
    /* The sum of coefficient[i] * (joint coordinate[i]) is `value`, for gears and driven joints: 1
     * row. */
    SOA_RATIO,
    /* A ball of radius `value` about the origin of frame 2 rolls on the plane z = 0 of frame 1: 1
     * row on the position, 2 on the velocity (nonholonomic). */
    SOA_ROLLING,
    /* rows[i] . [w; v] = 0 for the velocity of frame 2 relative to frame 1 (nonholonomic). */
    SOA_VELOCITY,
    /* The origin of frame 2 stays in the plane z = `value` of frame 1: 1 row. */
    SOA_PLANE,
    /* A thin disc of radius `value` about the z axis of frame 2 rolls on its rim on the plane z = 0
     * of frame 1 without slipping: 1 row on the position, 2 on the velocity (nonholonomic).  It may
     * lean, but not lie flat (SOA_E_SINGULAR). */
    SOA_DISC
} soa_constraint_kind;
enum { SOA_CONSTRAINT_KIND_COUNT = SOA_DISC + 1 };

/* The right side of a constraint that depends on time (rheonomic), at time t.  Writes the value,
 * its rate and its second rate. */
typedef void soa_drive_fn(void *user, double t, double out[3]);

enum { SOA_RATIO_TERMS = 4 };
typedef struct soa_constraint_def {
    const char *name; /* at most 127 bytes; NULL: "constraint N" */
    soa_constraint_kind kind;
    int frame1; /* frames of the model; 0 is the world */
    int frame2;
    soa_frame place1; /* places in these frames; default identity */
    soa_frame place2;
    /* LOOP: the loop is closed where this joint, between place1 and place2, has some q.  The axes
     * and the pitch are those of soa_joint_def, in place1; axis2 of a universal one in place2. */
    soa_joint_type joint;
    double axis[3];
    double axis2[3];
    double pitch;
    double damping;       /* LOOP: viscous friction of the cut joint, on each free coordinate */
    double friction;      /* LOOP: Coulomb friction of the cut joint, on each free coordinate */
    double stiffness;     /* LOOP: spring as in soa_joint_def; not for spherical and free joints */
    double rest;          /* LOOP: where that spring is slack */
    double rotor_inertia; /* LOOP: motor as in soa_joint_def; not for a free joint */
    double gear_ratio;
    soa_rotor_model rotor_model; /* exact: joints with one coordinate; the motor is on frame 1 */
    double rotor_axis[3];        /* exact: in place1; zero: the axis of the joint */
    double value;                /* DISTANCE, RATIO, ROLLING, PLANE, DISC */
    /* RATIO: bodies whose joints are meant, each with one coordinate; 0: none.  ~n (that is, -1 -
     * n) is the cut joint of constraint n, which must have one coordinate. */
    int coordinate[SOA_RATIO_TERMS];
    double coefficient[SOA_RATIO_TERMS];
    int row_count; /* VELOCITY: 1 to 6 */
    double rows[6][6];
    /* VELOCITY: true: rows are in the axes of frame 2 (a skate), else frame 1 */
    bool rows_in_frame2;
    /* DISTANCE, RATIO, PLANE: replaces `value`; NULL: the value is constant */
    soa_drive_fn *drive;
    void *user;
} soa_constraint_def;
/* Identity places, a revolute joint, axis z, axis2 x, gear ratio 1; everything else 0 or NULL. */
SOA_API soa_constraint_def soa_constraint_default(soa_constraint_kind kind, int frame1, int frame2);
/* Number of rows of a constraint with this definition; -1: there is no such kind or joint. */
SOA_API int soa_constraint_def_row_count(const soa_constraint_def *def);
/* A cut joint of a graph as a constraint, with its damping, friction, spring and rotor.  Frame 1 is
 * on link 1.  Exception: a spherical joint with friction has frame 1 on link 2, because its
 * friction refers to the axes of link 2.  NULL: a loop from the world to the world, which
 * soa_constraints_add refuses. */
SOA_API soa_constraint_def soa_constraint_from_loop(const soa_loop_def *loop);
/* Coordinates and rates of a cut joint (of WD89's terminating link), as it would have them in a
 * tree: nq, nv and nv numbers of its type.  Reads the kinematics in the work space (SOA_E_ORDER:
 * there are none), which must include v, and vdot for a.  v and a may be NULL; a needs v. */
SOA_API soa_status soa_loop_coordinates(const soa_model *model, soa_work *work,
                                        const soa_loop_def *loop, double *q, double *v, double *a);

/* Room for constraints and rows, those switched off included: at most 1,000,000 constraints and
 * 20,000 rows. */
typedef struct soa_constraint_capacity {
    int constraints;
    int rows;
    /* room for the dense methods too, O((nv + rows)^2); nv + rows is then at most 30,000 */
    bool dense;
} soa_constraint_capacity;

/* A set of constraints, empty at first.  Either soa_constraints_size gives the size (0: no such
 * capacity) and soa_constraints_init uses memory of the caller (aligned to 64 bytes, else
 * SOA_E_MEMORY), or soa_constraints_create takes it from the heap.  SOA_E_ARGUMENT: no such
 * capacity, or a pointer is missing. */
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

/* Adds a constraint, switched on, and writes its number (may be NULL).  The definition is copied,
 * its name too.  On failure nothing changes, and the report says what is wrong.  SOA_E_MEMORY: no
 * room for the constraint or its rows.  SOA_E_NAME: a name that is used already or too long, or no
 * such frame.  SOA_E_ARGUMENT, _NOT_FINITE, _FRAME, _JOINT, _MIMIC: the definition is wrong. */
SOA_API soa_status soa_constraints_add(soa_constraints *constraints, const soa_constraint_def *def,
                                       int *number, soa_report *report);
/* SOA_E_ARGUMENT if a ratio refers to the cut joint of this constraint: remove the ratio first. */
SOA_API soa_status soa_constraints_remove(soa_constraints *constraints, int number);
/* The room that the cut joints of a graph need. */
SOA_API soa_constraint_capacity soa_linkage_tree_capacity(const soa_linkage_tree *tree);
/* Adds all cut joints of a graph: the loops under their names, and a ratio "JOINT mimic" for each
 * mimic joint that is cut or follows a cut joint.  Loops with both ends on one body are left out;
 * they are always closed.  The model of the constraints must be that of tree->model.  On failure
 * the constraints added before remain. */
SOA_API soa_status soa_linkage_tree_constrain(const soa_linkage_tree *tree,
                                              soa_constraints *constraints, soa_report *report);
/* While a constraint is off, it has no rows and its cut joint exerts no forces; it keeps its
 * number, its room and its settings. */
SOA_API soa_status soa_constraints_switch(soa_constraints *constraints, int number, bool on);
/* Torques and forces on the free coordinates of a cut joint (tau_a in FO00 (19)), nv numbers.  They
 * act until they are set again.  The coordinates are those of a tree joint between place1 and
 * place2 (docs/notation.md). */
SOA_API soa_status soa_constraints_set_effort(soa_constraints *constraints, int number,
                                              const double *effort);
/* Changes the Coulomb friction of the cut joint. */
SOA_API soa_status soa_constraints_set_friction(soa_constraints *constraints, int number,
                                                double friction);
/* One free coordinate of a cut joint, at the state whose kinematics (with v) are in the work space.
 * Its rate is row . v, its second rate row . vdot + rest, and a torque on it acts as this torque
 * times row (nv numbers).  rest may be NULL. */
SOA_API soa_status soa_constraints_joint_row(soa_constraints *constraints, soa_work *work,
                                             int number, int coordinate, double *row, double *rest);
/* Rates of the free coordinates of a cut joint at the last state with velocities that a function
 * was given while the constraint was on.  count (may be NULL): their number, nv of the joint. */
SOA_API soa_status soa_constraints_joint_rates(const soa_constraints *constraints, int number,
                                               double rates[6], int *count);
/* Coordinates of the cut joint of a constraint (nq numbers of its type), as a tree joint would have
 * them, at the state whose kinematics are in the work space.  Angles are known only up to whole
 * turns; the result is the angle nearest to the one that was set last (0 at first).  Springs and
 * ratios use the same turns. */
SOA_API soa_status soa_constraints_joint_coordinates(soa_constraints *constraints, soa_work *work,
                                                     int number, double *q);
/* Sets the angles from which turns are counted: nv numbers, of which those of angles are used. */
SOA_API soa_status soa_constraints_set_turns(soa_constraints *constraints, int number,
                                             const double *near);
/* Sets them to the present angles, for each joint that a spring or a ratio refers to.
 * soa_closed_simulate calls this after each step. */
SOA_API soa_status soa_constraints_follow_turns(soa_constraints *constraints, soa_work *work);
/* Constraints in use; rows they have now; and the rows of one constraint (first row and count; the
 * count is 0 while it is off). */
SOA_API int soa_constraints_count(const soa_constraints *constraints);
SOA_API int soa_constraints_row_count(const soa_constraints *constraints);
SOA_API soa_status soa_constraints_row_range(const soa_constraints *constraints, int number,
                                             int *first, int *count);
/* The name, valid until the constraint is removed; NULL: there is no such constraint. */
SOA_API const char *soa_constraints_name(const soa_constraints *constraints, int number);
SOA_API const soa_model *soa_constraints_model(const soa_constraints *constraints);
/* The definition as it was given; its name is that of soa_constraints_name. */
SOA_API soa_status soa_constraints_get_def(const soa_constraints *constraints, int number,
                                           soa_constraint_def *def);

/* At q, v, t of the input: residuals g, rates G v + dg/dt, rows of G (rows x nv), and gamma.  Each
 * of them may be NULL.  g of a velocity row is 0.  SOA_E_NOT_FINITE: an input or the result of a
 * drive.  SOA_E_SINGULAR: a DISTANCE between points that coincide.  O(rows * depth). */
SOA_API soa_status soa_constraints_evaluate(soa_constraints *constraints, soa_work *work,
                                            const soa_input *input, double *g, double *rate,
                                            double *G, double *gamma);

/* The rows at q, v, t as numbers of an operator machine of the same model: Gc and gammac there are G
 * and gamma here, and a multiplier lambda acts as G' lambda (soa/operator.h).  q and v are set in
 * the machine by soa_machine_set_state; torques of cut joints are not part of its T.  Allocates.
 * SOA_E_JOINT: a cut joint has a rotor. */
SOA_API soa_status soa_constraints_close_machine(soa_constraints *constraints, soa_work *work,
                                                 const soa_input *input, soa_machine *machine);

typedef enum soa_closed_method {
    SOA_CLOSED_AUTO,      /* chosen by size; KKT if only a loop holds a massless link */
    SOA_CLOSED_KKT,       /* FO00 (20): the whole system, dense */
    SOA_CLOSED_FORCES,    /* FO00 (21): constraint forces through O(n) solves */
    SOA_CLOSED_NULL_SPACE /* FO00 (22): independent motions, found by a rank test */
} soa_closed_method;

typedef struct soa_closed_options {
    soa_closed_method method;
    /* Rows whose pivot in the scaled G M^-1 G' (at most 1) is below this are redundant.  Default
     * 1e-12. */
    double rank_tolerance;
    /* An estimated condition number above this is SOA_E_SINGULAR.  Default 1e11. */
    double most_condition;
    /* > 0: damping^2 is added to the scaled diagonal instead.  Default 0. */
    double damping;
    /* Redundant rows whose right sides differ by more than this, relatively, are
     * SOA_E_INCONSISTENT.  Default 1e-7. */
    double consistency;
    /* gamma += baumgarte[0] * rate + baumgarte[1] * g.  Default 0, 0. */
    double baumgarte[2];
    /* > 0: rows beyond this rank count as redundant.  For states off the constraints, where
     * redundant rows are only nearly so.  Default 0: no bound. */
    int rank_most;
    /* true: the report does not name redundant rows, which saves time.  Default false. */
    bool brief;
} soa_closed_options;
SOA_API soa_closed_options soa_closed_options_default(void);

enum { SOA_REDUNDANT_MOST = 16 };
typedef struct soa_closed_report {
    int rows;
    int rank;
    /* Estimate: 1 / least pivot of the scaled G M^-1 G' (KKT: of G G') on its independent rows. */
    double condition;
    /* Number of redundant rows; the first ones by number of the constraint and row within it. */
    int redundant;
    int redundant_constraint[SOA_REDUNDANT_MOST];
    int redundant_row[SOA_REDUNDANT_MOST];
    double strength;          /* of the weakest independent row, 1 or less; 0 where a row is lost */
    int weakest;              /* the constraint of that row; -1: none */
    double residual;          /* largest disagreement of a redundant row, relative */
    soa_closed_method method; /* the method that was used */
    char text[256];           /* "loop3 repeats rows of loop1", or empty */
} soa_closed_report;

/* vdot and lambda (rows; may be NULL) of the closed machine at q, v, tau, wrenches, t of the input.
 * options and report may be NULL.  The report is written unless the inputs are refused.
 *   SOA_E_HINGE_SINGULAR   M has no inverse, and the method needs one (KKT: the whole system has
 * none)
 *   SOA_E_SINGULAR         nearly redundant rows: condition above most_condition; or as in
 *                          soa_constraints_evaluate
 *   SOA_E_INCONSISTENT     redundant rows contradict each other
 *   SOA_E_MEMORY           KKT or NULL_SPACE without room for dense methods
 *   SOA_E_ARGUMENT         also: options out of range; damping with another method than FORCES */
SOA_API soa_status soa_closed_fd(soa_constraints *constraints, soa_work *work,
                                 const soa_closed_options *options, const soa_input *input,
                                 double *qdd, double *lambda, soa_closed_report *report);
/* What an additional force (nv numbers) would add to the qdd of the last soa_closed_fd.  Call
 * nothing else with these constraints and this work space in between.  SOA_E_ARGUMENT: there was no
 * soa_closed_fd.  qdd may be force. */
SOA_API soa_status soa_closed_response(soa_constraints *constraints, soa_work *work,
                                       const double *force, double *qdd);
/* Power at the last soa_closed_fd, W: supplied by drives and by efforts of cut joints, and
 * dissipated by the friction of cut joints. */
SOA_API soa_status soa_closed_power(const soa_constraints *constraints, double *supplied,
                                    double *dissipated);
/* Energies of the whole machine: soa_energy, plus springs and rotors of cut joints.  Both results
 * are needed. */
SOA_API soa_status soa_closed_energy(soa_constraints *constraints, soa_work *work, const double *q,
                                     const double *v, double *kinetic, double *potential);
/* The wrenches [n; f] of a constraint on the bodies of frame 1 and frame 2, in world axes, at the
 * origins of these frames, for the multipliers `lambda` of the last soa_closed_fd.  They contain
 * the constraint forces and the forces of spring, damper, friction and effort of a cut joint, but
 * not of its rotor.  Both are zero while the constraint is off.  Either may be NULL.  Not for a
 * RATIO (SOA_E_ARGUMENT).  Call nothing else with these constraints in between. */
SOA_API soa_status soa_constraints_wrench(const soa_constraints *constraints, int number,
                                          const double *lambda, double on_frame1[6],
                                          double on_frame2[6]);
/* The strength of each row when G was last formed, 0 to 1: its size relative to its size if nothing
 * cancelled.  It is 0 where the row is lost.  soa_constraints_row_count numbers. */
SOA_API soa_status soa_constraints_row_strengths(const soa_constraints *constraints,
                                                 double *strengths);
/* Joint torques that give vdot = input->a.  Reads q, v, a, wrenches, t; a must obey the
 * constraints.  Only actuated coordinates get torques (nv flags, nonzero: actuated; NULL: all); if
 * there are more of them than needed, the torques are those of least norm.  lambda may be NULL.
 * Dense, O(nv rows^2); SOA_E_MEMORY without room for dense methods.  SOA_E_INCONSISTENT: a does not
 * obey the constraints, or the actuated coordinates cannot produce it. */
SOA_API soa_status soa_closed_id(soa_constraints *constraints, soa_work *work,
                                 const soa_input *input, const unsigned char *actuated, double *tau,
                                 double *lambda);

/* Moves q to g(q, t) = 0 by the shortest step in the metric of the mass matrix, and v to
 * G v + dg/dt = 0 likewise (v may be NULL), in place.  On failure nothing is changed.  error (may
 * be NULL): the largest |g| and |rate| that remain; also written with the two failures
 * SOA_E_NO_CONVERGENCE (|g| stays above 1e-9) and SOA_E_INCONSISTENT (the rates cannot be met). */
SOA_API soa_status soa_closed_project(soa_constraints *constraints, soa_work *work, double t,
                                      double *q, double *v, double error[2]);
/* Velocities just after the constraints that are on have closed at q: v_after = v + M^-1 G' P with
 * G v_after + dg/dt = 0.  P (rows; may be NULL): the impulses, with the signs of lambda, of least
 * norm if rows are redundant.  v_after may be v.  Loops that were closed before stay closed and
 * bear their part.  SOA_E_INCONSISTENT: drives contradict each other.  SOA_E_SINGULAR. */
SOA_API soa_status soa_closed_impulse(soa_constraints *constraints, soa_work *work, double t,
                                      const double *q, const double *v, double *v_after, double *P);
/* Largest |g| that the last projection found before it moved anything. */
SOA_API double soa_closed_drift(const soa_constraints *constraints);
/* Closes the loops from a first guess, by damped Gauss-Newton steps.  held: nv flags, nonzero: this
 * coordinate is not moved; NULL: all may move.  SOA_E_NO_CONVERGENCE: q is not changed, and the
 * report names the constraint that is open most. */
SOA_API soa_status soa_closed_assemble(soa_constraints *constraints, soa_work *work, double t,
                                       const unsigned char *held, double *q, soa_report *report);
/* Changes v as little as possible (all coordinates weigh the same) so that G v + dg/dt = 0;
 * coordinates that are held keep their rates.  left (may be NULL): the largest |rate| that remains.
 * SOA_E_INCONSISTENT: the held rates contradict the constraints; v is not changed. */
SOA_API soa_status soa_closed_project_rates(soa_constraints *constraints, soa_work *work, double t,
                                            const double *q, const unsigned char *held, double *v,
                                            double *left);

#ifdef __cplusplus
}
#endif
#endif
