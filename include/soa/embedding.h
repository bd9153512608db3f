/* soa/embedding.h  closed chains in primary joints: WD89's embedding.
 *
 * Of the coordinates of a model some are primary, Q; the loops give the others:
 *     q = U(Q),   v = E(Q) Qdot,   vdot = E Qddot + Edot Qdot
 *                 WD89 (4) to (7)
 *     tau = H(Q) Qddot + C(Q, Qdot) Qdot + G(Q),   tau = E' rho,   rho the torques of the tree
 *     WD89 section 2.4
 * U is a function that the caller writes over soa_taylor, or follows from a soa_constraints by
 * Newton's method.  Q holds the positions and Qdot the velocities of the primary coordinates in the
 * model's order; a spherical or free joint is primary or not as a whole, and then has its
 * quaternion in Q.  What acts at the cut joints of the constraints (efforts, friction) is part of
 * it all.  Nothing allocates but create.  docs/theory/embedding.md. */
#ifndef SOA_EMBEDDING_H
#define SOA_EMBEDDING_H

#include "soa/constraint.h"
#include "soa/taylor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q arrives with its primary numbers filled in (nq numbers, the model's order); the function writes
 * the others.  They are NaN before; primary ones must stay.  True: there is no such position
 * (SOA_E_SINGULAR).  Numbers that are not finite mean the same.  It knows no time: drives need
 * constraints. */
typedef bool soa_embedding_fn(void *user, soa_taylor *q);

typedef struct soa_embedding_def {
    const unsigned char *primary; /* nv numbers, nonzero: primary */
    soa_embedding_fn *function;   /* U, or NULL: from the constraints */
    void *user;
    soa_constraints *constraints; /* needed without a function; with one they may be NULL, else they
                                   * are checked.  No rolling or velocity constraints: those have no
                                   * U. */
    double branch;                /* > 0: how far (rad, m) a secondary coordinate may be from the
                                   * guess it came with; 0: as far as it likes.  Not used with a
                                   * function. */
} soa_embedding_def;
/* All but primary 0 or NULL: a function or constraints must follow. */
SOA_API soa_embedding_def soa_embedding_default(const unsigned char *primary);

/* Ask for the size (0: the definition is not usable), give the memory (aligned to 64 bytes, else
 * SOA_E_MEMORY), or let create take it from the heap.  `primary` is copied; model, constraints and
 * user must outlive it.  The report says what is wrong: SOA_E_ARGUMENT, SOA_E_JOINT (half a
 * spherical or free joint). */
typedef struct soa_embedding soa_embedding;
SOA_API size_t soa_embedding_size(const soa_model *model, const soa_embedding_def *def);
SOA_API soa_status soa_embedding_init(const soa_model *model, const soa_embedding_def *def,
                                      void *memory, size_t size, soa_embedding **embedding,
                                      soa_report *report);
SOA_API soa_status soa_embedding_create(const soa_model *model, const soa_embedding_def *def,
                                        soa_embedding **embedding, soa_report *report);
SOA_API void soa_embedding_free(soa_embedding *embedding); /* only for create */
/* Numbers in Q, and in Qdot, Qddot, tau. */
SOA_API int soa_embedding_nq(const soa_embedding *embedding);
SOA_API int soa_embedding_nv(const soa_embedding *embedding);

/* All calls, n being soa_embedding_nv: q (nq numbers, needed) is in and out.  Without a function
 * its secondary numbers are the guess that chooses the branch; it leaves closed.  With one it is
 * only written.  primary->q, v, a and tau are Q, Qdot, Qddot and the torques of the primary
 * coordinates, primary->t is the time; q is needed, the others NULL: zero.
 * On any status but SOA_OK nothing is written.  Besides those of soa/dynamics.h:
 *   SOA_E_SINGULAR         E is not defined here: a dead point, a branch point, or the wrong choice
 *                          of primary joints; or the function says so
 *   SOA_E_NO_CONVERGENCE   the loops do not close for this Q from this guess (or not on its branch)
 *   SOA_E_INCONSISTENT     the function does not close the constraints given beside it, or moves Q;
 *                          or drives contradict
 *   SOA_E_ARGUMENT         also: a rolling or velocity constraint */

/* q, v, vdot of the tree; v, a NULL: not wanted.  E (nv x n) may be NULL.  A function is called
 * once with order 2, and n times with order 1 if E is wanted. */
SOA_API soa_status soa_embedding_state(soa_embedding *embedding, soa_work *work,
                                       const soa_input *primary, double *q, double *v, double *a,
                                       double *E);
/* H (n x n) by WD89's way: one inverse dynamics of the tree for each column (Walker & Orin's first
 * method); C (n): friction, centrifugal and Coriolis terms, already times Qdot; G (n): gravity,
 * springs and external forces.  Any may be NULL. */
SOA_API soa_status soa_embedding_terms(soa_embedding *embedding, soa_work *work,
                                       const soa_input *primary, double *q, double *H, double *C,
                                       double *G);
/* tau = E' rho: what the primary joints must do for Qddot = A. */
SOA_API soa_status soa_embedding_id(soa_embedding *embedding, soa_work *work,
                                    const soa_input *primary, double *q, double *tau);
typedef enum soa_embedding_method {
    SOA_EMBEDDING_COLUMNS, /* H by columns, then its Cholesky factor: O(nv n + n^3) */
    SOA_EMBEDDING_SWEEPS   /* articulated bodies, and one O(nv) solve for each secondary
                            * coordinate */
} soa_embedding_method;
/* Qddot from tau on the primary coordinates. */
SOA_API soa_status soa_embedding_fd(soa_embedding *embedding, soa_work *work,
                                    soa_embedding_method method, const soa_input *primary,
                                    double *q, double *Qdd);

#ifdef __cplusplus
}
#endif
#endif
