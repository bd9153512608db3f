/* soa/embedding.h  closed chains in primary joints: WD89's embedding.
 *
 * Some coordinates of a model are primary, Q; the loops determine the others:
 *     q = U(Q),   v = E(Q) Qdot,   vdot = E Qddot + Edot Qdot                     WD89 (4) to (7)
 *     tau = H(Q) Qddot + C(Q, Qdot) Qdot + G(Q),   tau = E' rho                   WD89 section 2.4
 * rho are the torques of the tree.  U is a function that the caller writes with soa_taylor, or it
 * follows from a soa_constraints by Newton's method.  Q holds the positions and Qdot the velocities
 * of the primary coordinates in the order of the model.  A spherical or free joint is primary or
 * not as a whole; if it is, Q holds its quaternion.  Efforts and friction at the cut joints of the
 * constraints are taken into account.  No function allocates, except create.
 * docs/theory/embedding.md. */
#ifndef SOA_EMBEDDING_H
#define SOA_EMBEDDING_H

#include "soa/constraint.h"
#include "soa/taylor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The function U.  On entry the primary numbers of q (nq numbers, in the order of the model) are
 * given and must not be changed; the others are NaN, and the function writes them.  It returns true
 * if there is no such position (SOA_E_SINGULAR).  Numbers that are not finite mean the same.  It
 * does not know the time: constraints with drives need U from the constraints. */
typedef bool soa_embedding_fn(void *user, soa_taylor *q);

typedef struct soa_embedding_def {
    const unsigned char *primary; /* nv flags, nonzero: primary */
    soa_embedding_fn *function;   /* U, or NULL: from the constraints */
    void *user;
    /* Needed without a function.  With one they may be NULL; otherwise the function is checked
     * against them.  No rolling or velocity constraints: U does not exist for them. */
    soa_constraints *constraints;
    /* > 0: how far (rad, m) a secondary coordinate may move from its first guess; 0: no bound.
     * Not used with a function. */
    double branch;
} soa_embedding_def;
/* Everything but `primary` is 0 or NULL; set a function or constraints. */
SOA_API soa_embedding_def soa_embedding_default(const unsigned char *primary);

/* Either soa_embedding_size gives the size (0: the definition is not usable) and soa_embedding_init
 * uses memory of the caller (aligned to 64 bytes, else SOA_E_MEMORY), or soa_embedding_create takes
 * it from the heap.  `primary` is copied; model, constraints and user must outlive the embedding.
 * The report says what is wrong: SOA_E_ARGUMENT, SOA_E_JOINT (a part of a spherical or free
 * joint). */
typedef struct soa_embedding soa_embedding;
SOA_API size_t soa_embedding_size(const soa_model *model, const soa_embedding_def *def);
SOA_API soa_status soa_embedding_init(const soa_model *model, const soa_embedding_def *def,
                                      void *memory, size_t size, soa_embedding **embedding,
                                      soa_report *report);
SOA_API soa_status soa_embedding_create(const soa_model *model, const soa_embedding_def *def,
                                        soa_embedding **embedding, soa_report *report);
SOA_API void soa_embedding_free(soa_embedding *embedding); /* only for create */
/* Length of Q; and length of Qdot, Qddot and tau. */
SOA_API int soa_embedding_nq(const soa_embedding *embedding);
SOA_API int soa_embedding_nv(const soa_embedding *embedding);

/* For all functions below, n is soa_embedding_nv, and q (nq numbers) is needed.  Without a
 * function, the secondary numbers of q are the first guess, which chooses the branch; on return the
 * loops are closed.  With a function q is only written.  In the input, q, v, a and tau are Q, Qdot,
 * Qddot and the torques of the primary coordinates, and t is the time; q is needed, the others are
 * zero if NULL.
 * On any status other than SOA_OK nothing is written.  Besides those of soa/dynamics.h:
 *   SOA_E_SINGULAR         E is not defined here: a dead point, a branch point, or the wrong choice
 *                          of primary joints; or the function says so
 *   SOA_E_NO_CONVERGENCE   the loops do not close for this Q from this guess, or not on its branch
 *   SOA_E_INCONSISTENT     the function does not close the constraints that are given too, or it
 *                          changes Q; or drives contradict each other
 *   SOA_E_ARGUMENT         also: a rolling or velocity constraint */

/* q, v and vdot of the tree, and E (nv x n); v, a and E may be NULL.  A function is called once
 * with order 2, and n times with order 1 if E is wanted. */
SOA_API soa_status soa_embedding_state(soa_embedding *embedding, soa_work *work,
                                       const soa_input *primary, double *q, double *v, double *a,
                                       double *E);
/* The same as numbers of an operator machine of the same model: Eq there is E, and ed the joint
 * accelerations for Qddot = 0.  q (nq numbers) as above, v (nv; may be NULL): for
 * soa_machine_set_state.  Allocates. */
SOA_API soa_status soa_embedding_close_machine(soa_embedding *embedding, soa_work *work,
                                               const soa_input *primary, soa_machine *machine,
                                               double *q, double *v);
/* H (n x n) as in WD89: one inverse dynamics of the tree for each column (first method of Walker
 * and Orin).  C (n): friction, centrifugal and Coriolis terms, already multiplied by Qdot.  G (n):
 * gravity, springs and external forces.  Each may be NULL. */
SOA_API soa_status soa_embedding_terms(soa_embedding *embedding, soa_work *work,
                                       const soa_input *primary, double *q, double *H, double *C,
                                       double *G);
/* tau = E' rho: the torques of the primary joints that give Qddot = a. */
SOA_API soa_status soa_embedding_id(soa_embedding *embedding, soa_work *work,
                                    const soa_input *primary, double *q, double *tau);
typedef enum soa_embedding_method {
    SOA_EMBEDDING_COLUMNS, /* H by columns, then its Cholesky factor: O(nv n + n^3) */
    /* articulated bodies, and one O(nv) solve for each secondary coordinate */
    SOA_EMBEDDING_SWEEPS
} soa_embedding_method;
/* Qddot from tau on the primary coordinates. */
SOA_API soa_status soa_embedding_fd(soa_embedding *embedding, soa_work *work,
                                    soa_embedding_method method, const soa_input *primary,
                                    double *q, double *Qdd);

#ifdef __cplusplus
}
#endif
#endif
