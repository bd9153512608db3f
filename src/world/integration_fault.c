/* integration_fault.c  reasons and reports of failed integrations (integration_fault.h). */
#include "integration_fault.h"
#include "../base/base_internal.h"

#include <stdio.h> /* the next header needs FILE */

#include <arkode/arkode.h>
#include <math.h>

/* Largest position (rad, m) or speed (rad/s, m/s) that a machine may have. */
static const double possible = 1e9;

void soai_fault_clear(soai_integration_fault *f) {
    *f = (soai_integration_fault){.status = SOA_OK, .body = -1};
}

void soai_fault_note(int code, const char *module, const char *function, char *message,
                     void *fault) {
    soai_integration_fault *f = fault;
    (void)module;
    (void)function;
    if (code < 0) snprintf(f->message, sizeof f->message, "%s", message);
}

void soai_fault_judge(soai_integration_fault *f, const double *state, int count) {
    f->diverged = 0;
    if (f->status != SOA_E_HINGE_SINGULAR && f->status != SOA_E_NOT_FINITE) return;
    for (int i = 0; i < count; ++i)
        if (!(fabs(state[i]) <= possible)) f->diverged = 1;
    if (f->diverged) f->status = SOA_E_NOT_FINITE;
}

soa_status soai_fault_reason(const soai_integration_fault *f, int flag) {
    if (f->status) return f->status;
    return flag == ARK_MEM_FAIL ? SOA_E_MEMORY : SOA_E_NO_CONVERGENCE;
}

soa_status soai_fault_report(const soai_integration_fault *f, const soa_model *model,
                             const char *what, double t, soa_status status, soa_report *report) {
    soa_body_info info;
    if (f->diverged && status == SOA_E_NOT_FINITE)
        return soai_report(report, status, f->body, 0,
                           "%sstopped at t = %.9g s: the motion diverged to positions or speeds "
                           "beyond %g rad, m, rad/s or m/s; look for torques that grow with the "
                           "motion, gains that are too large, or steps that are too long",
                           what, t, possible);
    if (f->body > 0 && !soa_model_body(model, f->body, &info))
        return soai_report(report, status, f->body, 0, "%sstopped at t = %.9g s, link %.60s: %s",
                           what, t, info.link, soa_status_text(status));
    return soai_report(report, status, -1, 0, "%sstopped at t = %.9g s: %s%s%s", what, t,
                       soa_status_text(status), f->message[0] ? "; " : "", f->message);
}
