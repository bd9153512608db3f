/* integration_fault.h  what a failed integration leaves behind, and how it is reported: for
 * simulations (stepper.h) and worlds (motion.c). */
#ifndef SOAI_INTEGRATION_FAULT_H
#define SOAI_INTEGRATION_FAULT_H
#include "soa/model.h"

typedef struct soai_integration_fault {
    soa_status status; /* of the last function that SUNDIALS called */
    int body;          /* number of the body at fault, or -1 */
    int diverged;      /* it failed at a state that no machine has */
    char message[200]; /* from SUNDIALS */
} soai_integration_fault;

void soai_fault_clear(soai_integration_fault *f);
/* Error handler of SUNDIALS; `fault` is a soai_integration_fault. */
void soai_fault_note(int code, const char *module, const char *function, char *message,
                     void *fault);
/* Looks at the state, `count` positions and speeds, at which a rate could not be computed. Where it
 * has numbers that no machine has, the fault is that the motion diverged, not that a joint moves no
 * inertia: rounding and overflow leave nothing of it. */
void soai_fault_judge(soai_integration_fault *f, const double *state, int count);
/* Reason of a failure: status of the last function, else from the integrator's flag. */
soa_status soai_fault_reason(const soai_integration_fault *f, int flag);
/* Reports "stopped at t = ..." with the link at fault or the integrator's message; `what` comes
 * before: "simulation " or "". */
soa_status soai_fault_report(const soai_integration_fault *f, const soa_model *model,
                             const char *what, double t, soa_status status, soa_report *report);

#endif
