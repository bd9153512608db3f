/* stepper.c  see stepper.h */
#include "stepper.h"
#include "../base/base_internal.h"

#include <nvector/nvector_serial.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

ARKODE_ERKTableID soai_erk_table(int order) {
    switch (order) {
    case 2: return ARKODE_HEUN_EULER_2_1_2;
    case 3: return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4: return ARKODE_ZONNEVELD_5_3_4;
    case 5: return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6: return ARKODE_VERNER_8_5_6;
    case 8: return ARKODE_FEHLBERG_13_7_8;
    default: return ARKODE_ERK_NONE;
    }
}

soa_status soai_stepper_open(soai_stepper *s, int size) {
    *s = (soai_stepper){.size = size, .body = -1, .watching = 1};
    if (SUNContext_Create(NULL, &s->context)) return SOA_E_MEMORY;
    s->y = N_VNew_Serial(size, s->context);
    s->before = calloc((size_t)size + 1, sizeof *s->before);
    if (!s->y || !s->before) return SOA_E_MEMORY;
    s->data = N_VGetArrayPointer(s->y);
    N_VConst(0, s->y);
    return SOA_OK;
}
void soai_stepper_close(soai_stepper *s, long *rejected) {
    if (s->ark) {
        ARKStepGetNumErrTestFails(s->ark, rejected);
        ARKStepFree(&s->ark);
    }
    if (s->y) N_VDestroy(s->y);
    if (s->context) SUNContext_Free(&s->context);
    free(s->before);
    free(s->found);
    *s = (soai_stepper){0};
}

static void keep_message(int code, const char *module, const char *function, char *message, void *user) {
    soai_stepper *s = user;
    (void)module, (void)function;
    if (code < 0) snprintf(s->message, sizeof s->message, "%s", message);
}
int soai_stepper_start(soai_stepper *s, const soai_step_plan *plan, void *user) {
    int flag;
    s->ark = ARKStepCreate(plan->rate, NULL, s->t, s->y, s->context);
    if (!s->ark) return ARK_MEM_FAIL;
    if ((flag = ARKStepSetErrHandlerFn(s->ark, keep_message, s)) || (flag = ARKStepSetUserData(s->ark, user)) ||
        (!plan->events && /* the other kind costs evaluations */
         (flag = ARKStepSetInterpolantType(s->ark, ARK_INTERP_LAGRANGE))) ||
        (flag = ARKStepSetTableNum(s->ark, ARKODE_DIRK_NONE, soai_erk_table(plan->order))) ||
        (flag = plan->weights ? ARKStepWFtolerances(s->ark, plan->weights)
                              : ARKStepSStolerances(s->ark, plan->relative, plan->absolute)) ||
        (plan->after && (flag = ARKStepSetPostprocessStepFn(s->ark, plan->after))) ||
        (plan->max_step > 0 && (flag = ARKStepSetMaxStep(s->ark, plan->max_step))))
        return flag;
    if (!plan->events) return ARK_SUCCESS;
    if (!(s->found = calloc((size_t)plan->events, sizeof *s->found))) return ARK_MEM_FAIL;
    for (int k = 0; k < plan->events; ++k) s->found[k] = -1; /* downward */
    if ((flag = ARKStepRootInit(s->ark, plan->events, plan->watch)) ||
        (flag = ARKStepSetRootDirection(s->ark, s->found)))
        return flag;
    return ARKStepSetNoInactiveRootWarn(s->ark);
}

void soai_stepper_mark(soai_stepper *s) {
    memcpy(s->before, s->data, (size_t)s->size * sizeof *s->data);
    s->t_before = s->t;
}
int soai_stepper_step(soai_stepper *s, double end) {
    const int flag = ARKStepSetStopTime(s->ark, end);
    return flag == ARK_SUCCESS ? ARKStepEvolve(s->ark, end, s->y, &s->t, ARK_ONE_STEP) : flag;
}
int soai_stepper_back(soai_stepper *s) {
    memcpy(s->data, s->before, (size_t)s->size * sizeof *s->data);
    s->t = s->t_before;
    return ARKStepReset(s->ark, s->t, s->y);
}
int soai_stepper_again(soai_stepper *s, double end) {
    int flag = soai_stepper_back(s);
    if (flag != ARK_SUCCESS || end - s->t <= 1e-14 * (1 + fabs(end))) return flag;
    s->watching = 0;
    while (flag == ARK_SUCCESS && s->t < end) flag = soai_stepper_step(s, end);
    s->watching = 1;
    return flag == ARK_TSTOP_RETURN ? ARK_SUCCESS : flag;
}

soa_status soai_stepper_reason(const soai_stepper *s, soa_status status, int flag) {
    if (status || flag >= 0) return status;
    return s->status ? s->status : flag == ARK_MEM_FAIL ? SOA_E_MEMORY : SOA_E_NO_CONVERGENCE;
}
soa_status soai_stepper_explain(const soai_stepper *s, const soa_model *model, soa_status status, int flag,
                                soa_report *report) {
    soa_body_info info;
    if (!(status = soai_stepper_reason(s, status, flag))) return SOA_OK;
    if (s->body > 0 && !soa_body(model, s->body, &info))
        return soai_report(report, status, s->body, 0, "simulation stopped at t = %.9g s, link %.60s: %s", s->t,
                           info.link, soa_status_text(status));
    return soai_report(report, status, -1, 0, "simulation stopped at t = %.9g s: %s%s%s", s->t, soa_status_text(status),
                       s->message[0] ? "; " : "", s->message);
}

#define REFUSE(...) return soai_report(report, SOA_E_ARGUMENT, -1, 0, __VA_ARGS__)
soa_status soai_check_span(double start, double duration, double sample_time, soa_report *report) {
    if (!(fabs(start) <= 1e9)) REFUSE("start is %g s; it must be from -1e9 to 1e9", start);
    if (!(duration >= 0 && duration <= 1e9)) REFUSE("duration is %g s; it must be from 0 to 1e9", duration);
    if (!(sample_time >= 0) || (sample_time > 0 && !(sample_time * 1e9 >= duration)))
        REFUSE("sample_time is %g s; it must be 0, or positive with at most 1e9 samples", sample_time);
    return SOA_OK;
}
soa_status soai_check_steps(double relative, double absolute, int order, double max_step, soa_report *report) {
    if (!(relative >= 1e-15 && relative < 1)) REFUSE("relative_tolerance is %g; it must be from 1e-15 to 1", relative);
    if (!(absolute > 0 && absolute < 1)) REFUSE("absolute_tolerance is %g; it must be between 0 and 1", absolute);
    if (soai_erk_table(order) == ARKODE_ERK_NONE) REFUSE("order is %d; it must be 2, 3, 4, 5, 6 or 8", order);
    if (!(max_step >= 0)) REFUSE("max_step is %g s; it must be 0 (no bound) or positive", max_step);
    return SOA_OK;
}
#undef REFUSE

double soai_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
