/* soa/grasp.h  several arms holding one object: RK88-II, RJK91 sections 5 and 6.
 *
 * One model holds the arms (fixed bases, a floating base, any trees) and the held object, a tree of
 * its own: a body on a free joint, or itself a mechanism.  A soa_grasp beside it is a list of
 * contacts between frames of arms and frames of the object; contacts may be added, removed and
 * switched during motion.  Contact axes: z is the normal, into the object.
 *     V(object) - V(arm) = H* W             the free directions of the contact and their rates
 *                                           RK88-II (a.6)
 *     H f = 0,  f = T y                     what the contact bears; T is the complement of H*
 *                                           (a.7)
 * both at the contact point.  Contact axes turn with the place on the object, the contact point is
 * the origin of the place on the arm (or the converse, axes_on_arm).  f(0) is the force [n; f] of
 * the arm *on the object* at that point, in world axes; the opposite acts on the arm.
 * docs/theory/grasps.md.
 *
 * NULL and status as in soa/dynamics.h.  A soa_grasp belongs to one thread, its model must outlive
 * it, and `work` is of that model.  Contacts have numbers from 0, fixed until they are removed and
 * then given again; one that does not exist is SOA_E_ARGUMENT.  "contacts" below are those that are
 * on, in order of their numbers. */
#ifndef SOA_GRASP_H
#define SOA_GRASP_H

#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_contact_type {
    SOA_CONTACT_RIGID,         /* nothing is free */
    SOA_CONTACT_LINE,          /* turns about x: an edge along x with friction, or a revolute pair
                                * (case 1) */
    SOA_CONTACT_SOFT_FINGER,   /* turns about x and y, not about the normal; one-sided only (case
                                * 3) */
    SOA_CONTACT_POINT,         /* turns about x, y, z: a point with friction, or a ball (case 2) */
    SOA_CONTACT_SLIDING_FACE,  /* turns about z, slides along x and y: a face without friction, or a
                                * planar pair */
    SOA_CONTACT_SLIDING_POINT, /* all but along z: a point on a plane without friction */
    SOA_CONTACT_OWN,           /* free directions of the caller's, e.g. of a wheel or a blade */
    SOA_CONTACT_TYPE_COUNT
} soa_contact_type;

typedef struct soa_contact_def {
    soa_contact_type type;
    int arm, object;                   /* frames of the model; 0, the world, may stand for either */
    soa_frame place_arm, place_object; /* the contact in those frames; where it is closed their axes
                                        * agree but for the free directions.  Default identity */
    bool axes_on_arm;                  /* true: axes of the arm's place, point of the object's */
    bool one_sided;  /* true: holds only while pressed together (soa_grasp_check_contacts) */
    double friction; /* tangential force <= friction * normal force; default infinity */
    double torsion;  /* m: moment about the normal <= torsion * normal force; default infinity */
    double patch;    /* m: moments about x, y <= patch * normal force; default infinity */
    int free_count;  /* OWN: 0 to 6 directions [w; v], independent */
    double free[6][6];
} soa_contact_def;
/* Places identity, no limits of friction (infinite), two-sided but for SOFT_FINGER; all else 0. */
SOA_API soa_contact_def soa_contact_default(soa_contact_type type, int arm, int object);

/* Room for so many contacts at once, 1 to 2,000, those switched off included (else 0 and
 * SOA_E_ARGUMENT).  Memory: aligned to 64 bytes, else SOA_E_MEMORY; create takes it from the
 * heap. */
typedef struct soa_grasp soa_grasp;
SOA_API size_t soa_grasp_size(const soa_model *model, int contacts);
SOA_API soa_status soa_grasp_init(const soa_model *model, int contacts, void *memory, size_t size,
                                  soa_grasp **grasp);
SOA_API soa_status soa_grasp_create(const soa_model *model, int contacts, soa_grasp **grasp);
SOA_API void soa_grasp_free(soa_grasp *grasp); /* only for create */

/* Adds a contact, switched on, and gives its number (may be NULL).  On a fault nothing changes and
 * the report says why: SOA_E_MEMORY (full), SOA_E_NAME (no such frame), SOA_E_FRAME, SOA_E_SINGULAR
 * (free directions not independent), SOA_E_ARGUMENT. */
SOA_API soa_status soa_grasp_add(soa_grasp *grasp, const soa_contact_def *def, int *number,
                                 soa_report *report);
SOA_API soa_status soa_grasp_remove(soa_grasp *grasp, int number);
SOA_API soa_status soa_grasp_switch(soa_grasp *grasp, int number, bool on);
/* Its definition (def may be NULL: whether there is such a contact), and the model. */
SOA_API soa_status soa_grasp_get_contact(const soa_grasp *grasp, int number, soa_contact_def *def);
SOA_API const soa_model *soa_grasp_model(const soa_grasp *grasp);
/* Contacts that are on, in order of their numbers: results hold 6 numbers for each, and `free` (may
 * be NULL) numbers in all. */
SOA_API int soa_grasp_contact_count(const soa_grasp *grasp, int *free);
/* Where contact `number` stands among them (-1 while off), its first free rate and how many it has
 * (0 while off); any may be NULL. */
SOA_API soa_status soa_grasp_contact_range(const soa_grasp *grasp, int number, int *index,
                                           int *first, int *free);
/* The same contact for a soa_constraints (projection, assembly, soa_closed_fd): 0 to 2 definitions.
 * The soft finger's turn about the normal and OWN directions are velocity rows there, without a
 * residual. */
SOA_API soa_status soa_grasp_contact_constraints(const soa_grasp *grasp, int number,
                                                 soa_constraint_def defs[2], int *count);

/* Contact coordinates, RK88-II (a.3), (a.4): the object's place in the arm's, as a quaternion and a
 * shift, their rates, and W.  gap, rate: what should be zero, in position (m and rad; directions
 * that have one) and T'(V - V). */
typedef struct soa_contact_motion {
    double theta[4], theta_rate[4]; /* w x y z, of the turn from the arm's place to the object's */
    double shift[3], shift_rate[3]; /* from the object's place to the arm's, in the object's
                                     * (sliding) */
    int free;
    double W[6]; /* the first `free` of them */
    double gap, rate;
} soa_contact_motion;
/* Of contact `number`, on or off. */
SOA_API soa_status soa_grasp_contact_motion(soa_grasp *grasp, soa_work *work, const double *q,
                                            const double *v, int number,
                                            soa_contact_motion *motion);

/* --- forward dynamics ------------------------------------------------------------------------- */
typedef enum soa_grasp_method {
    SOA_GRASP_AUTO,     /* RCCFD2, WOODBURY from 8 contacts on where it applies; with mimic joints
                         * LOOSE */
    SOA_GRASP_GENERAL,  /* (4.9): four steps over any open-chain solver; O(rows) calls of it */
    SOA_GRASP_RCCFD1,   /* (6.11): free motion, forces, correction.  O(n) + O(contacts^3), as the
                         * next three */
    SOA_GRASP_RCCFD2,   /* (6.18): forces from the filtered torques, then one filter of torques and
                         * forces together */
    SOA_GRASP_RCCFD3,   /* (6.22): motions due to torques and to biases apart */
    SOA_GRASP_LOOSE,    /* appendix B, (b.9) */
    SOA_GRASP_WOODBURY, /* RCCFD2 with forces in O(contacts), RJK91 section 6: object contacts on
                         * one body, arms that meet nowhere or in one body (a floating base), none
                         * of them singular (else SOA_E_ARGUMENT, SOA_E_SINGULAR) */
    SOA_GRASP_METHOD_COUNT
} soa_grasp_method;

/* An open-chain forward dynamics: accelerations of the machine without its grasp. */
typedef soa_status soa_forward_fn(void *user, const soa_model *model, soa_work *work,
                                  const soa_input *input, double *qdd);

typedef struct soa_grasp_options {
    soa_grasp_method method;
    double rank_tolerance;  /* pivots of the scaled T'Omega T below this: forces not determined;
                            * default 1e-12 */
    double most_condition;  /* beyond this: SOA_E_SINGULAR; default 1e11 */
    double consistency;     /* right side outside the image of Omega by more, relative:
                            * SOA_E_INCONSISTENT; 1e-7 */
    soa_forward_fn *solver; /* GENERAL: NULL: soa_aba */
    void *user;
} soa_grasp_options;
SOA_API soa_grasp_options soa_grasp_options_default(void);

typedef struct soa_grasp_report {
    soa_grasp_method method; /* that was used */
    int rows, rank;          /* of T'Omega T */
    bool least_norm;  /* warning: rank < rows, the forces are those of least norm; accelerations are
                       * unique */
    double condition; /* estimate, of the scaled T'Omega T on its independent rows */
    double residual;  /* part of the right side of (4.9d) outside the image of Omega, relative */
} soa_grasp_report;

/* Reads q, v, tau, wrenches.  qdd; force: f(0), 6 per contact; W_rate: W'(0), `free` numbers.  The
 * last two, options and report may be NULL; the report is written unless the inputs are refused.
 * Mimic joints: GENERAL and LOOSE only, else SOA_E_MIMIC.  SOA_E_HINGE_SINGULAR; SOA_E_SINGULAR and
 * SOA_E_INCONSISTENT: the bounds in options. */
SOA_API soa_status soa_grasp_fd(soa_grasp *grasp, soa_work *work, const soa_grasp_options *options,
                                const soa_input *input, double *qdd, double *force, double *W_rate,
                                soa_grasp_report *report);

/* Omega of (3.1), 6 contacts x 6 contacts in world axes, and its rank; reduced: that of T'Omega T,
 * which decides.  Any may be NULL. */
typedef struct soa_grasp_rank {
    int rows, rank;
    double condition;
} soa_grasp_rank;
SOA_API soa_status soa_grasp_compliance(soa_grasp *grasp, soa_work *work, const double *q,
                                        double *Omega, soa_grasp_rank *full,
                                        soa_grasp_rank *reduced);

/* What the arms' ends say of the object at frame C, (2.8), (2.9), world axes: V(C), alpha(C)
 * (classical), f(C), and alpha(0) of the arms' ends, 6 per contact (may be NULL), from q, v and a
 * (the accelerations).  force: f(0), 6 per contact; NULL: zero.  Object frames must be on the body
 * of C (SOA_E_ARGUMENT).  SOA_E_SINGULAR: the ends do not tell (no contact is SOA_E_ARGUMENT). */
typedef struct soa_grasp_object {
    double V[6], alpha[6], f[6];
} soa_grasp_object;
SOA_API soa_status soa_grasp_object_state(soa_grasp *grasp, soa_work *work, const soa_input *input,
                                          const double *force, int frame_C,
                                          soa_grasp_object *object, double *alpha0);

/* Velocities after the contacts that are on have closed, and their impulses on the object (6 each,
 * world axes; may be NULL): v_after = v + M^-1 J' impulse with T'(V - V) = 0.  v_after may be v.
 * SOA_E_SINGULAR: condition beyond 1e11. */
SOA_API soa_status soa_grasp_impulse(soa_grasp *grasp, soa_work *work, const double *q,
                                     const double *v, double *v_after, double *impulse);

/* --- loads ------------------------------------------------------------------------------------ */
/* Object frames must be on the body of C (SOA_E_ARGUMENT); forces f(0) and wrenches in world axes,
 * wrenches at the origin of C.  Norms are plain: newtons and newton metres alike. */
/* A*, 6 rows of 6 numbers per contact: f(C) = A* f(0). */
SOA_API soa_status soa_grasp_map(soa_grasp *grasp, soa_work *work, const double *q, int frame_C,
                                 double *map);
/* Orthonormal basis of forces that the contacts bear and that leave the object alone: H f = 0, A* f
 * = 0; one row of 6 numbers per contact for each, at most (rows of T) of them; NULL: only count.
 * rank (may be NULL): of A*T; 6 means that any wrench can be borne. */
SOA_API soa_status soa_grasp_internal_basis(soa_grasp *grasp, soa_work *work, const double *q,
                                            int frame_C, double *basis, int *count, int *rank);
/* Contact forces of least norm that give the object this wrench; SOA_E_INCONSISTENT where none
 * does.  squeeze (may be NULL): forces whose internal part is added. */
SOA_API soa_status soa_grasp_distribute(soa_grasp *grasp, soa_work *work, const double *q,
                                        int frame_C, const double wrench[6], const double *squeeze,
                                        double *force);
/* The internal part of contact forces: what squeezes the object and does not move it.  squeeze may
 * be force. */
SOA_API soa_status soa_grasp_internal_force(soa_grasp *grasp, soa_work *work, const double *q,
                                            int frame_C, const double *force, double *squeeze);

typedef enum soa_contact_event {
    SOA_CONTACT_HOLDS,
    SOA_CONTACT_BREAKS,
    SOA_CONTACT_SLIPS,
    SOA_CONTACT_TIPS
} soa_contact_event;
typedef struct soa_contact_check {
    soa_contact_event event;
    double normal;     /* force along the normal, > 0 pressed together */
    double tangential; /* size of the force across it */
    double torsion;    /* moment about it */
    double tilt;       /* size of the moment across it */
    double margin;     /* N: > 0 holds; continuous, an event function.  Infinite for two-sided
                        * contacts */
} soa_contact_check;
/* Friction cones, RK88-II appendix A: one-sided contacts must be pressed, (tangential / friction)^2
 * + (moment / torsion)^2 <= normal^2 and tilt <= patch * normal.  One entry per contact that is on;
 * broken (may be NULL): how many do not hold. */
SOA_API soa_status soa_grasp_check_contacts(soa_grasp *grasp, soa_work *work, const double *q,
                                            const double *force, soa_contact_check *checks,
                                            int *broken);

#ifdef __cplusplus
}
#endif
#endif
