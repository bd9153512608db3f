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

/* M = m m*, m = (I + H phi K) D^1/2: RJK91 (11) to (13).  D^1/2 is the square root of D, or its Cholesky factor C
 * (lower triangle, D = C C') where a joint has several degrees of freedom.  Models with mimic joints: SOA_E_MIMIC. */
typedef enum soa_factor {
    SOA_FACTOR_L,                   /* I + H phi K                 inward  */
    SOA_FACTOR_L_ADJOINT,           /* (I + H phi K)*              outward */
    SOA_FACTOR_L_INVERSE,           /* I - H psi K                 inward  */
    SOA_FACTOR_L_INVERSE_ADJOINT,   /* (I - H psi K)*              outward */
    SOA_FACTOR_ROOT,                /* D^1/2 = C                   joint by joint, as the next three */
    SOA_FACTOR_ROOT_ADJOINT,        /* C*                                  */
    SOA_FACTOR_ROOT_INVERSE,        /* D^-1/2 = C^-1                       */
    SOA_FACTOR_ROOT_INVERSE_ADJOINT /* C*^-1                               */
} soa_factor;
/* y = (factor at q) x, nv numbers each; y may be x.  O(n). */
SOA_API soa_status soa_factor_mul(const soa_model *model, soa_work *work, const double *q, soa_factor factor,
                                  const double *x, double *y);

/* The equations of motion in residual rates nu:  nu' + mu(q, nu) = eps,  kinetic energy nu.nu / 2,  nu.mu = 0.
 *     nu = D^1/2* (I + H phi K)* v         mu is quadratic in nu         eps = D^-1/2 (I - H psi K) T
 * T is every torque: tau, gravity, springs, friction at v, and J' wrenches.  Inputs and outputs must not overlap; v,
 * tau NULL: zero.  O(n) each. */
SOA_API soa_status soa_nu_from_rates(const soa_model *model, soa_work *work, const double *q, const double *v,
                                     double *nu);
SOA_API soa_status soa_rates_from_nu(const soa_model *model, soa_work *work, const double *q, const double *nu,
                                     double *v);
SOA_API soa_status soa_nu_bias(const soa_model *model, soa_work *work, const double *q, const double *nu, double *mu);
SOA_API soa_status soa_nu_force(const soa_model *model, soa_work *work, const double *q, const double *v,
                                const double *tau, const soa_wrench *wrenches, int wrench_count, double *eps);
/* nu' = eps - mu, and the v of this nu (q' follows from it, soa_q_rate): all an integrator of (q, nu) needs. */
SOA_API soa_status soa_nu_rate(const soa_model *model, soa_work *work, const double *q, const double *nu,
                               const double *tau, const soa_wrench *wrenches, int wrench_count, double *v,
                               double *nu_rate);

/* --- Jacobian products and inverse kinematics: RJK91 section 2 --------------------------------------------------- */

/* J J* of `count` frames, 6 count x 6 count, each frame's rows in world axes or its own: the recursion (20) for Omega
 * with D = 1 and phi for psi.  O(n), then O(d) for each pair of frames. */
SOA_API soa_status soa_jjt(const soa_model *model, soa_work *work, const double *q, const int *frames, int count,
                           soa_axes axes, double *JJt);

/* J*J is the mass matrix of the same tree with massless links and a ball at each tip: mass 1, inertia 1.  So the sweeps
 * for mass matrices serve it and its inverse.  Weights: a ball of mass linear^2 and inertia angular^2; zero leaves
 * those rows of J out.  Damping adds damping^2 to the diagonal, as a rotor would. */
typedef struct soa_tip {
    int frame;
    double angular, linear; /* weights, 0 to 1e6 */
} soa_tip;

/* Room for these calls and for inverse kinematics, in place of a soa_work; one per thread.  Aligned to 64 bytes. */
typedef struct soa_tip_work soa_tip_work;
SOA_API size_t soa_tip_work_size(const soa_model *model);
SOA_API soa_status soa_tip_work_init(const soa_model *model, void *memory, size_t size, soa_tip_work **work);
SOA_API soa_status soa_tip_work_create(const soa_model *model, soa_tip_work **work);
SOA_API void soa_tip_work_free(soa_tip_work *work);      /* only for soa_tip_work_create      */
SOA_API int soa_tip_work_body(const soa_tip_work *work); /* named by the last failure, or -1 */

/* A = J*W^2 J + damping^2 1, nv x nv, O(n d); y = A^-1 x, O(n); A^-1, O(n^2).  SOA_E_SINGULAR where A has lost rank:
 * more degrees of freedom than rows, or a singular pose, without damping enough.  Models with mimic joints need damping
 * > 0 for the inverses (SOA_E_MIMIC). */
SOA_API soa_status soa_jtj(const soa_model *model, soa_tip_work *work, const double *q, const soa_tip *tips, int count,
                           double damping, double *A);
SOA_API soa_status soa_jtj_solve(const soa_model *model, soa_tip_work *work, const double *q, const soa_tip *tips,
                                 int count, double damping, const double *x, double *y);
SOA_API soa_status soa_jtj_inverse(const soa_model *model, soa_tip_work *work, const double *q, const soa_tip *tips,
                                   int count, double damping, double *inverse);

/* Inverse kinematics: q such that every tip's frame stands in its pose (in the world).  Levenberg-Marquardt steps on
 * the configuration manifold, each by soa_jtj_solve's recursion, O(n) a step.  Tips with angular = 0 want the position
 * only.  Limits of joints with as many q as v hold: the start is moved into them, and the answer is within them. */
typedef struct soa_ik_target {
    soa_tip tip;
    soa_frame pose;
} soa_ik_target;
typedef struct soa_ik_options { /* zeros: the defaults */
    int most_steps;             /* 200 */
    double tolerance;           /* 1e-9, of the residual */
    int ignore_limits;
} soa_ik_options;
typedef struct soa_ik_result {
    double residual; /* root of the sum of squares of weighted errors: rotation vectors in rad, positions in m */
    int steps;
} soa_ik_result;
/* q is the start and, on SOA_OK, the answer.  SOA_E_NO_CONVERGENCE: q is the best found, its residual in `result`: the
 * limit of steps was reached, or no step lowers the residual (out of reach, or a local minimum: another start may
 * help).  On any other status q is as it was.  options, result may be NULL. */
SOA_API soa_status soa_inverse_kinematics(const soa_model *model, soa_tip_work *work, const soa_ik_target *targets,
                                          int count, const soa_ik_options *options, double *q, soa_ik_result *result);

/* --- global sparse forms: FO00 (23) to (29) ---------------------------------------------------------------------- */

/* --- divide and conquer ------------------------------------------------------------------------------------------ */

#ifdef __cplusplus
}
#endif
#endif
