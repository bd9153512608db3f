/* soa/forms.h  the same dynamics in the papers' other forms, each a plain call.
 *
 * soa/dynamics.h holds the calls a controller or a simulation uses.  Here stand the formulations the papers derive on the
 * way: judges of those calls, tools for people who think in filters and operators, and forms that suit other machines
 * (many cores).  Conventions and sign rules are those of docs/notation.md.                                            */
#ifndef SOA_FORMS_H
#define SOA_FORMS_H

#include "soa/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- estimation: R87's filter, smoother and two-point boundary problem ------------------------------------------- */

/* --- inertia updates: R87 (43), (50), (51) ----------------------------------------------------------------------- */

/* --- diagonalised equations of motion: RJK91 section 6 ----------------------------------------------------------- */

/* --- Jacobian products and inverse kinematics: RJK91 section 2 --------------------------------------------------- */

/* --- global sparse forms: FO00 (23) to (29) ---------------------------------------------------------------------- */
/* Forward dynamics with the joints' constraint forces as unknowns, beside the accelerations of the links or instead of
 * them.  Forms for reading forces and for judging soa_aba; docs/theory/constraint-forces.md.  Both write
 *
 *   qdd     nv numbers, as soa_aba
 *   forces  6 per body (may be NULL): the whole force through the joint, as soa_joint_force after soa_rnea
 *   beta    6 - nv(joint) per body, one after the other in the order of the bodies (may be NULL): the components of that
 *           force that the joint takes up itself.  force = T beta + (what the joint's torque makes), T' H* = 0
 *
 * Memory: soa_constraint_size bytes, aligned as double; no allocation.  Friction, springs, reflected rotors and wrenches
 * as in soa_aba; exact rotors (SOA_E_JOINT) and mimic joints (SOA_E_MIMIC) are refused.                                */
SOA_API size_t soa_constraint_size(const soa_model *model);
/* (27): accelerations and constraint forces together, eliminated along the tree.  Any tree or forest, any link inertias
 * that soa_aba takes (massless inner links too).  O(n).                                                              */
SOA_API soa_status soa_fd_constraint_forces(const soa_model *model, soa_work *work, void *memory, size_t size,
                                            const double *q, const double *v, const double *tau,
                                            const soa_wrench *wrenches, int wrench_count, double *qdd, double *forces,
                                            double *beta);
/* (28): constraint forces alone, block tridiagonal on unbranched chains (and forests of them).  O(n).  SOA_E_BRANCHED for a
 * body with two children, SOA_E_INERTIA for a link whose inertia has no inverse; soa_work_body names the body.        */
SOA_API soa_status soa_fd_tridiagonal(const soa_model *model, soa_work *work, void *memory, size_t size,
                                      const double *q, const double *v, const double *tau, const soa_wrench *wrenches,
                                      int wrench_count, double *qdd, double *forces, double *beta);
/* T of `body`, 6 rows by 6 - nv(joint) columns, row by row in body axes, as the last of these two calls on that memory
 * used it: orthonormal columns, T' H* = 0.                                                                           */
SOA_API soa_status soa_constraint_basis(const soa_model *model, const void *memory, int body, double *T);

/* --- divide and conquer ------------------------------------------------------------------------------------------ */
/* Forward dynamics in O(log n) steps on as many cores: the machine is cut into segments, which are put together pair by
 * pair to articulated bodies with two handles (Featherstone 1999), level by level of a balanced tree.  Trees and forests
 * too: what branches off is put together first and hangs on its body.  docs/theory/divide-and-conquer.md.
 *
 * libsoa has no threads of its own: the caller gives an executor, which calls task(data, i) for every i from 0 to count - 1, in
 * any order, at the same time or not, and returns when all are done.  NULL: one after the other.  The answer has the
 * same bits whatever the executor.  soa_openmp_parallel_for of soa/world.h is one.                                    */
typedef void soa_parallel_task(void *data, int index);
typedef void soa_parallel_for(void *user, int count, soa_parallel_task *task, void *data);

typedef struct soa_divide soa_divide;
/* The segments of a model.  grain: bodies in a run that is not cut further.  1 for the shortest critical path; about
 * bodies / (threads + 1.5) for few threads, as a run costs less inside than putting two together and the last of a path least.
 * Allocates; soa_fd_divide does not.  Exact rotors (SOA_E_JOINT) and mimic joints (SOA_E_MIMIC) are refused.            */
SOA_API soa_status soa_divide_create(const soa_model *model, int grain, soa_divide **divide);
SOA_API void soa_divide_free(soa_divide *divide);
/* qdd of soa_aba.  One call at a time per soa_divide. */
SOA_API soa_status soa_fd_divide(soa_divide *divide, const double *q, const double *v, const double *tau,
                                 const soa_wrench *wrenches, int wrench_count, soa_parallel_for *run, void *user,
                                 double *qdd);
/* Body named by the last failed call, or -1. */
SOA_API int soa_divide_body(const soa_divide *divide);

/* Operations of one call: additions, multiplications, divisions and roots; sines, checks and copies left out. */
typedef struct soa_divide_count {
    int levels;      /* of the tree of segments; each of the four sweeps goes through all of them   */
    int segments;    /* tasks of one sweep                                                          */
    double flops;    /* all                                                                         */
    double critical; /* of the longest task of every level of every sweep: all that must follow one another */
    double aba;      /* soa_aba's, counted in the same way                                          */
} soa_divide_count;
SOA_API soa_status soa_divide_counts(const soa_divide *divide, soa_divide_count *count);
/* Tasks of a level (0 the leaves), and operations of its longest task over the four sweeps. */
SOA_API soa_status soa_divide_level(const soa_divide *divide, int level, int *tasks, double *longest);

#ifdef __cplusplus
}
#endif
#endif
