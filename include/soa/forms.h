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

/* --- divide and conquer ------------------------------------------------------------------------------------------ */

#ifdef __cplusplus
}
#endif
#endif
