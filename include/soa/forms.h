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

/* M = m m*, m = (I + H phi K) D^1/2: RJK91 (11) to (13).  D^1/2 is the square root of D, or its Cholesky factor C (lower
 * triangle, D = C C') where a joint has several degrees of freedom.  Models with mimic joints: SOA_E_MIMIC.          */
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
 * T is every torque: tau, gravity, springs, friction at v, and J' wrenches.  Inputs and outputs must not overlap; v, tau
 * NULL: zero.  O(n) each.                                                                                            */
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

/* --- global sparse forms: FO00 (23) to (29) ---------------------------------------------------------------------- */

/* --- divide and conquer ------------------------------------------------------------------------------------------ */

#ifdef __cplusplus
}
#endif
#endif
