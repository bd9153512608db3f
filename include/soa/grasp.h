/* soa/grasp.h  several arms that hold one object: RK88-II, RJK91 sections 5 and 6.
 *
 * One model contains the arms (fixed bases, a floating base, any trees) and the object, as a
 * separate tree: a body on a free joint, or a mechanism.  A soa_grasp on this model is a list of
 * contacts between frames of arms and frames of the object.  Contacts may be added, removed and
 * switched during a motion.  Contact axes: z is the normal, into the object.
 *     V(object) - V(arm) = H* W             the free directions of the contact and their rates
 *                                           RK88-II (a.6)
 *     H f = 0,  f = T y                     what the contact bears; T is the complement of H*
 *                                           (a.7)
 * Both are at the contact point.  The contact axes turn with the place on the object, and the
 * contact point is the origin of the place on the arm (axes_on_arm: the converse).  f(0) is the
 * force [n; f] of the arm *on the object* at that point, in world axes; the opposite force acts on
 * the arm. docs/theory/grasps.md.
 *
 * NULL and status are as in soa/dynamics.h.  A soa_grasp belongs to one thread.  Its model must
 * outlive it, and `work` must be a work space of that model.  Contacts are numbered from 0.  A
 * number is valid until its contact is removed, and is then used again.  SOA_E_ARGUMENT: there is
 * no contact with this number.  "Contacts" below are those that are on, in the order of their
 * numbers. */
#ifndef SOA_GRASP_H
#define SOA_GRASP_H

#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_contact_type {
    SOA_CONTACT_RIGID, /* nothing is free */
    /* turns about x: an edge along x with friction, or a revolute pair (case 1) */
    SOA_CONTACT_LINE,
    /* turns about x and y, not about the normal; one-sided only (case 3) */
    SOA_CONTACT_SOFT_FINGER,
    SOA_CONTACT_POINT, /* turns about x, y, z: a point with friction, or a ball (case 2) */
    /* turns about z, slides along x and y: a face without friction, or a planar pair */
    SOA_CONTACT_SLIDING_FACE,
    SOA_CONTACT_SLIDING_POINT, /* all but along z: a point on a plane without friction */
    SOA_CONTACT_OWN,           /* free directions given by the caller, e.g. of a wheel or a blade */
    SOA_CONTACT_TYPE_COUNT
} soa_contact_type;

typedef struct soa_contact_def {
    soa_contact_type type;
    int arm; /* frames of the model; one of them may be 0, the world */
    int object;
    /* The contact in these frames.  Where it is closed, the axes of both places agree except for
     * the free directions.  Default identity. */
    soa_frame place_arm;
    soa_frame place_object;
    /* true: axes of the place on the arm, point of the place on the object */
    bool axes_on_arm;
    bool one_sided;  /* true: holds only while pressed together (soa_grasp_check_contacts) */
    double friction; /* tangential force <= friction * normal force; default infinity */
    double torsion;  /* m: moment about the normal <= torsion * normal force; default infinity */
    double patch;    /* m: moments about x, y <= patch * normal force; default infinity */
    int free_count;  /* OWN: 0 to 6 directions [w; v], independent */
    double free[6][6];
} soa_contact_def;
/* Identity places, no limits of friction (infinite), two-sided except SOFT_FINGER; everything else
 * 0. */
SOA_API soa_contact_def soa_contact_default(soa_contact_type type, int arm, int object);

/* Room for `contacts` contacts at once, 1 to 2,000, those switched off included; otherwise the size
 * is 0, and the status SOA_E_ARGUMENT.  Memory must be aligned to 64 bytes, else SOA_E_MEMORY.
 * soa_grasp_create takes it from the heap. */
typedef struct soa_grasp soa_grasp;
SOA_API size_t soa_grasp_size(const soa_model *model, int contacts);
SOA_API soa_status soa_grasp_init(const soa_model *model, int contacts, void *memory, size_t size,
                                  soa_grasp **grasp);
SOA_API soa_status soa_grasp_create(const soa_model *model, int contacts, soa_grasp **grasp);
SOA_API void soa_grasp_free(soa_grasp *grasp); /* only for create */

/* Adds a contact, switched on, and writes its number (may be NULL).  On failure nothing changes,
 * and the report says why: SOA_E_MEMORY (full), SOA_E_NAME (no such frame), SOA_E_FRAME,
 * SOA_E_SINGULAR (the free directions are not independent), SOA_E_ARGUMENT. */
SOA_API soa_status soa_grasp_add(soa_grasp *grasp, const soa_contact_def *def, int *number,
                                 soa_report *report);
SOA_API soa_status soa_grasp_remove(soa_grasp *grasp, int number);
SOA_API soa_status soa_grasp_switch(soa_grasp *grasp, int number, bool on);
/* The definition of a contact; def may be NULL, to find out whether there is such a contact. */
SOA_API soa_status soa_grasp_get_contact(const soa_grasp *grasp, int number, soa_contact_def *def);
SOA_API const soa_model *soa_grasp_model(const soa_grasp *grasp);
/* Number of contacts that are on; results hold 6 numbers for each, and `free` (may be NULL) numbers
 * in total for the free directions. */
SOA_API int soa_grasp_contact_count(const soa_grasp *grasp, int *free);
/* The index of contact `number` among them (-1 while it is off), its first free rate, and the
 * number of its free rates (0 while it is off).  Each may be NULL. */
SOA_API soa_status soa_grasp_contact_range(const soa_grasp *grasp, int number, int *index,
                                           int *first, int *free);
/* The same contact for a soa_constraints (projection, assembly, soa_closed_fd): 0 to 2 definitions.
 * There the turn of a soft finger about the normal and OWN directions are velocity rows, without a
 * residual. */
SOA_API soa_status soa_grasp_contact_constraints(const soa_grasp *grasp, int number,
                                                 soa_constraint_def defs[2], int *count);

/* Contact coordinates, RK88-II (a.3), (a.4). */
typedef struct soa_contact_motion {
    double theta[4]; /* quaternion w x y z from the place on the arm to the place on the object */
    double theta_rate[4];
    /* From the place on the object to the place on the arm, in the axes of the former (sliding) */
    double shift[3];
    double shift_rate[3];
    int free;
    double W[6]; /* the first `free` of them: rates of the free directions */
    /* What should be zero in position, m and rad, for directions that have a position */
    double gap;
    double rate; /* what should be zero in velocity: T'(V - V) */
} soa_contact_motion;
/* Of contact `number`, whether it is on or off. */
SOA_API soa_status soa_grasp_contact_motion(soa_grasp *grasp, soa_work *work, const double *q,
                                            const double *v, int number,
                                            soa_contact_motion *motion);

/* --- forward dynamics ------------------------------------------------------------------------- */
typedef enum soa_grasp_method {
    /* RCCFD2; WOODBURY from 8 contacts on where it applies; LOOSE with mimic joints */
    SOA_GRASP_AUTO,
    SOA_GRASP_GENERAL, /* (4.9): four steps over any open-chain solver; O(rows) calls of it */
    /* (6.11): free motion, forces, correction.  O(n) + O(contacts^3), like the next three */
    SOA_GRASP_RCCFD1,
    /* (6.18): forces from the filtered torques, then one filter of torques and forces together */
    SOA_GRASP_RCCFD2,
    SOA_GRASP_RCCFD3, /* (6.22): motions due to torques and motions due to biases separately */
    SOA_GRASP_LOOSE,  /* appendix B, (b.9) */
    /* RCCFD2 with forces in O(contacts), RJK91 section 6.  Object contacts on one body, arms
     * that meet nowhere or in one body (a floating base), none of them singular (else
     * SOA_E_ARGUMENT, SOA_E_SINGULAR) */
    SOA_GRASP_WOODBURY,
    SOA_GRASP_METHOD_COUNT
} soa_grasp_method;

/* An open-chain forward dynamics: accelerations of the machine without its grasp. */
typedef soa_status soa_forward_fn(void *user, const soa_model *model, soa_work *work,
                                  const soa_input *input, double *qdd);

typedef struct soa_grasp_options {
    soa_grasp_method method;
    /* A pivot of the scaled T'Omega T below this: the forces are not determined.  Default 1e-12. */
    double rank_tolerance;
    double most_condition; /* A condition number above this is SOA_E_SINGULAR.  Default 1e11. */
    /* If more than this part of the right side is outside the image of Omega:
     * SOA_E_INCONSISTENT. Default 1e-7. */
    double consistency;
    soa_forward_fn *solver; /* GENERAL: the open-chain solver; NULL: soa_aba */
    void *user;
} soa_grasp_options;
SOA_API soa_grasp_options soa_grasp_options_default(void);

typedef struct soa_grasp_report {
    soa_grasp_method method; /* the method that was used */
    int rows;                /* of T'Omega T */
    int rank;
    /* warning: rank < rows; the forces are those of least norm, the accelerations are unique */
    bool least_norm;
    double condition; /* estimated, of the scaled T'Omega T on its independent rows */
    /* part of the right side of (4.9d) that is outside the image of Omega, relative */
    double residual;
} soa_grasp_report;

/* Reads q, v, tau, wrenches.  Writes qdd; force: f(0), 6 per contact; W_rate: W'(0), `free`
 * numbers. force, W_rate, options and report may be NULL.  The report is written unless the inputs
 * are refused.  With mimic joints only GENERAL and LOOSE, else SOA_E_MIMIC.  SOA_E_HINGE_SINGULAR.
 * SOA_E_SINGULAR and SOA_E_INCONSISTENT: the bounds in the options. */
SOA_API soa_status soa_grasp_fd(soa_grasp *grasp, soa_work *work, const soa_grasp_options *options,
                                const soa_input *input, double *qdd, double *force, double *W_rate,
                                soa_grasp_report *report);

/* Omega of (3.1), 6 contacts x 6 contacts in world axes, and its rank.  reduced: rank and condition
 * of T'Omega T, which decide.  Each may be NULL. */
typedef struct soa_grasp_rank {
    int rows;
    int rank;
    double condition;
} soa_grasp_rank;
SOA_API soa_status soa_grasp_compliance(soa_grasp *grasp, soa_work *work, const double *q,
                                        double *Omega, soa_grasp_rank *full,
                                        soa_grasp_rank *reduced);

/* The motion of the object and the force on it at its frame C, as they follow from the ends of the
 * arms by (2.8), (2.9), in world axes: V(C), alpha(C), f(C).  alpha0: alpha(0) of the ends of the
 * arms, 6 per contact (may be NULL).  Reads q, v and a, the accelerations.  force: f(0), 6 per
 * contact; NULL: zero.  Object frames must be on the body of C (SOA_E_ARGUMENT).  SOA_E_SINGULAR:
 * the ends do not determine the motion.  No contact: SOA_E_ARGUMENT. */
typedef struct soa_grasp_object {
    double V[6];
    double alpha[6]; /* classical */
    double f[6];
} soa_grasp_object;
SOA_API soa_status soa_grasp_object_state(soa_grasp *grasp, soa_work *work, const soa_input *input,
                                          const double *force, int frame_C,
                                          soa_grasp_object *object, double *alpha0);

/* The contacts that are on, at q and v, as numbers of an operator machine of the same model
 * (soa/operator.h).  Rows: T'(V - V), held directions contact by contact, so that Gc is T'J and a
 * multiplier y is the force T y on the object, contact axes.  frame_C >= 0: also RK88-II's object
 * in the axes of that frame, with Ao, Mo, bo, Tc, gammao; then the tips of the machine must be the
 * frames of the arms, contact by contact, and the object one body on a free joint, with all object
 * contacts on it (SOA_E_ARGUMENT).  No wrenches (SOA_E_ARGUMENT).  Allocates. */
SOA_API soa_status soa_grasp_close_machine(soa_grasp *grasp, soa_work *work, const soa_input *input,
                                           int frame_C, soa_machine *machine);

/* Velocities after the contacts that are on have closed, and their impulses on the object (6 each,
 * world axes; may be NULL): v_after = v + M^-1 J' impulse with T'(V - V) = 0.  v_after may be v.
 * SOA_E_SINGULAR: the condition number is above 1e11. */
SOA_API soa_status soa_grasp_impulse(soa_grasp *grasp, soa_work *work, const double *q,
                                     const double *v, double *v_after, double *impulse);

/* --- loads ------------------------------------------------------------------------------------ */
/* In this part, object frames must be on the body of C (SOA_E_ARGUMENT).  Forces f(0) and wrenches
 * are in world axes, wrenches at the origin of C.  Norms add squares of newtons and of newton
 * metres. */
/* A*, 6 rows of 6 numbers per contact: f(C) = A* f(0). */
SOA_API soa_status soa_grasp_map(soa_grasp *grasp, soa_work *work, const double *q, int frame_C,
                                 double *map);
/* Orthonormal basis of the internal forces: the contacts bear them, and they do not act on the
 * object, H f = 0, A* f = 0.  basis: for each basis vector one row of 6 numbers per contact; there
 * are at most (rows of T) of them.  NULL: only the count.  rank (may be NULL): of A*T; 6 means that
 * the contacts can bear any wrench. */
SOA_API soa_status soa_grasp_internal_basis(soa_grasp *grasp, soa_work *work, const double *q,
                                            int frame_C, double *basis, int *count, int *rank);
/* Contact forces of least norm that give the object this wrench.  SOA_E_INCONSISTENT: there are
 * none. squeeze (may be NULL): forces whose internal part is added. */
SOA_API soa_status soa_grasp_distribute(soa_grasp *grasp, soa_work *work, const double *q,
                                        int frame_C, const double wrench[6], const double *squeeze,
                                        double *force);
/* The internal part of contact forces: it squeezes the object and does not move it.  squeeze may be
 * force. */
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
    /* N: > 0: it holds.  Continuous, usable as an event function; infinite for two-sided
     * contacts */
    double margin;
} soa_contact_check;
/* Friction cones, RK88-II appendix A.  One-sided contacts must be pressed together, (tangential /
 * friction)^2 + (moment / torsion)^2 <= normal^2, and tilt <= patch * normal.  One entry per
 * contact that is on.  broken (may be NULL): number of contacts that do not hold. */
SOA_API soa_status soa_grasp_check_contacts(soa_grasp *grasp, soa_work *work, const double *q,
                                            const double *force, soa_contact_check *checks,
                                            int *broken);

#ifdef __cplusplus
}
#endif
#endif
