/* stepper.c  integration steps with SUNDIALS (stepper.h). */
#include "stepper.h"
#include "../base/base_internal.h"

#include <nvector/nvector_serial.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prince and Dormand, High order embedded Runge-Kutta formulae, J. Comput. Appl. Math. 7 (1981),
 * table 2: RK8(7)13M. The rows of A below the diagonal, then the weights of orders 8 and 7. */
enum { STAGES = 13 };
/* clang-format off */
static const double below_diagonal[] = {
    /* row 2 */
    1.0 / 18,
    /* row 3 */
    1.0 / 48, 1.0 / 16,
    /* row 4 */
    1.0 / 32, 0, 3.0 / 32,
    /* row 5 */
    5.0 / 16, 0, -75.0 / 64, 75.0 / 64,
    /* row 6 */
    3.0 / 80, 0, 0, 3.0 / 16, 3.0 / 20,
    /* row 7 */
    29443841.0 / 614563906, 0, 0, 77736538.0 / 692538347, -28693883.0 / 1125000000,
    23124283.0 / 1800000000,
    /* row 8 */
    16016141.0 / 946692911, 0, 0, 61564180.0 / 158732637, 22789713.0 / 633445777,
    545815736.0 / 2771057229, -180193667.0 / 1043307555,
    /* row 9 */
    39632708.0 / 573591083, 0, 0, -433636366.0 / 683701615, -421739975.0 / 2616292301,
    100302831.0 / 723423059, 790204164.0 / 839813087, 800635310.0 / 3783071287,
    /* row 10 */
    246121993.0 / 1340847787, 0, 0, -37695042795.0 / 15268766246, -309121744.0 / 1061227803,
    -12992083.0 / 490766935, 6005943493.0 / 2108947869, 393006217.0 / 1396673457,
    123872331.0 / 1001029789,
    /* row 11 */
    -1028468189.0 / 846180014, 0, 0, 8478235783.0 / 508512852, 1311729495.0 / 1432422823,
    -10304129995.0 / 1701304382, -48777925059.0 / 3047939560, 15336726248.0 / 1032824649,
    -45442868181.0 / 3398467696, 3065993473.0 / 597172653,
    /* row 12 */
    185892177.0 / 718116043, 0, 0, -3185094517.0 / 667107341, -477755414.0 / 1098053517,
    -703635378.0 / 230739211, 5731566787.0 / 1027545527, 5232866602.0 / 850066563,
    -4093664535.0 / 808688257, 3962137247.0 / 1805957418, 65686358.0 / 487910083,
    /* row 13 */
    403863854.0 / 491063109, 0, 0, -5068492393.0 / 434740067, -411421997.0 / 543043805,
    652783627.0 / 914296604, 11173962825.0 / 925320556, -13158990841.0 / 6184727034,
    3936647629.0 / 1978049680, -160528059.0 / 685178525, 248638103.0 / 1413531060, 0,
};
static const double eighth[STAGES] = {
    14005451.0 / 335480064, 0, 0, 0, 0, -59238493.0 / 1068277825, 181606767.0 / 758867731,
    561292985.0 / 797845732, -1041891430.0 / 1371343529, 760417239.0 / 1151165299,
    118820643.0 / 751138087, -528747749.0 / 2220607170, 0.25,
};
static const double seventh[STAGES] = {
    13451932.0 / 455176623, 0, 0, 0, 0, -808719846.0 / 976000145, 1757004468.0 / 5645159321,
    656045339.0 / 265891186, -3867574721.0 / 1518517206, 465885868.0 / 322736535,
    53011238.0 / 667516719, 2.0 / 45, 0,
};
/* clang-format on */
static int use_order_eight(void *ark) {
    double A[STAGES * STAGES] = {0}, b[STAGES], c[STAGES] = {0}, d[STAGES];
    const double *next = below_diagonal;
    for (int i = 1; i < STAGES; ++i)
        for (int j = 0; j < i; ++j) {
            A[STAGES * i + j] = *next++;
            c[i] += A[STAGES * i + j];
        }
    memcpy(b, eighth, sizeof b);
    memcpy(d, seventh, sizeof d);
    ARKodeButcherTable table = ARKodeButcherTable_Create(STAGES, 8, 7, c, A, b, d);
    const int flag = table ? ARKStepSetTables(ark, 8, 7, NULL, table) : ARK_MEM_FAIL;
    ARKodeButcherTable_Free(table);
    return flag;
}

static ARKODE_ERKTableID explicit_table(int order) {
    switch (order) {
    case 2: return ARKODE_HEUN_EULER_2_1_2;
    case 3: return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4: return ARKODE_ZONNEVELD_5_3_4;
    case 5: return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6: return ARKODE_VERNER_8_5_6;
    default: return ARKODE_ERK_NONE;
    }
}
int soai_has_explicit(int order) {
    return order == 8 || explicit_table(order) != ARKODE_ERK_NONE;
}
int soai_use_explicit(void *ark, int order) {
    if (!soai_has_explicit(order)) return ARK_ILL_INPUT;
    return order == 8 ? use_order_eight(ark)
                      : ARKStepSetTableNum(ark, ARKODE_DIRK_NONE, explicit_table(order));
}
int soai_use_implicit(void *ark, int order) {
    static const ARKODE_DIRKTableID table[] = {ARKODE_SDIRK_2_1_2, ARKODE_ESDIRK325L2SA_5_2_3,
                                               ARKODE_KVAERNO_5_3_4, ARKODE_ESDIRK547L2SA_7_4_5};
    if (order < 2 || order > 5) return ARK_ILL_INPUT;
    return ARKStepSetTableNum(ark, table[order - 2], ARKODE_ERK_NONE);
}

double soai_sharpness(int explicit_order) {
    return explicit_order == 3 ? 4 : 1;
}

static double worst_norm(N_Vector x, N_Vector weights) {
    const double *value = N_VGetArrayPointer(x);
    const double *by = N_VGetArrayPointer(weights);
    const sunindextype n = N_VGetLength(x);
    double most = 0;
    for (sunindextype i = 0; i < n; ++i)
        if (!(fabs(value[i]) * by[i] <= most)) most = fabs(value[i]) * by[i];
    return most;
}
void soai_measure_worst(N_Vector y) {
    y->ops->nvwrmsnorm = worst_norm;
}

void soai_mark_angles(const soa_model *model, unsigned char *angle) {
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(model); ++b) {
        if (soa_model_body(model, b, &info)) continue;
        for (int k = 0; k < info.nq; ++k)
            angle[info.q_index + k] = soa_joint_type_turns(info.type, k);
    }
}

static int converged(SUNNonlinearSolver solver, N_Vector y, N_Vector correction, realtype tolerance,
                     N_Vector weights, void *user) {
    static const double diverges = 2; /* corrections that grow by this factor */
    soai_newton *newton = user;
    int iteration = 0;
    (void)y;
    const double size = N_VWrmsNorm(correction, weights);
    if (SUNNonlinSolGetCurIter(solver, &iteration)) return SUN_NLS_CONV_RECVR;
    const double rate = iteration > 0 ? size / newton->before : 1;
    /* Estimated sum of all further corrections. */
    const double left = rate < 0.5 ? size * rate / (1 - rate) : size;
    newton->before = size;
    if (left <= tolerance) return SUN_NLS_SUCCESS;
    if (iteration > 0 && !(rate < diverges)) return SUN_NLS_CONV_RECVR;
    return SUN_NLS_CONTINUE;
}
soai_newton *soai_newton_open(N_Vector like, SUNContext context) {
    soai_newton *newton = calloc(1, sizeof *newton);
    if (newton) newton->solver = SUNNonlinSol_Newton(like, context);
    if (newton && newton->solver) return newton;
    free(newton);
    return NULL;
}
void soai_newton_close(soai_newton *newton) {
    if (!newton) return;
    SUNNonlinSolFree(newton->solver);
    free(newton);
}
int soai_newton_judge(soai_newton *newton) {
    return SUNNonlinSolSetConvTestFn(newton->solver, converged, newton);
}

soa_status soai_stepper_open(soai_stepper *s, int size) {
    *s = (soai_stepper){.size = size, .fault = {.body = -1}, .watching = 1};
    if (SUNContext_Create(NULL, &s->context)) return SOA_E_MEMORY;
    s->y = N_VNew_Serial(size, s->context);
    s->before = calloc((size_t)size + 1, sizeof *s->before);
    if (!s->y || !s->before) return SOA_E_MEMORY;
    soai_measure_worst(s->y);
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

int soai_stepper_start(soai_stepper *s, const soai_step_plan *plan, void *user) {
    int flag;
    const double sharpness = soai_sharpness(plan->order);
    s->ark = ARKStepCreate(plan->rate, NULL, s->t, s->y, s->context);
    if (!s->ark) return ARK_MEM_FAIL;
    if ((flag = ARKStepSetErrHandlerFn(s->ark, soai_fault_note, &s->fault)) ||
        (flag = ARKStepSetUserData(s->ark, user)) ||
        (!plan->events && /* the other kind costs evaluations */
         (flag = ARKStepSetInterpolantType(s->ark, ARK_INTERP_LAGRANGE))) ||
        (flag = soai_use_explicit(s->ark, plan->order)) ||
        (flag = plan->weights ? ARKStepWFtolerances(s->ark, plan->weights)
                              : ARKStepSStolerances(s->ark, plan->relative / sharpness,
                                                    plan->absolute / sharpness)) ||
        (plan->after && (flag = ARKStepSetPostprocessStepFn(s->ark, plan->after))) ||
        (plan->max_step > 0 && (flag = ARKStepSetMaxStep(s->ark, plan->max_step))))
        return flag;
    if (!plan->events) return ARK_SUCCESS;
    if (!(s->found = calloc((size_t)plan->events, sizeof *s->found))) return ARK_MEM_FAIL;
    /* Only falling zero crossings. */
    for (int k = 0; k < plan->events; ++k)
        s->found[k] = -1;
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
    while (flag == ARK_SUCCESS && s->t < end)
        flag = soai_stepper_step(s, end);
    s->watching = 1;
    return flag == ARK_TSTOP_RETURN ? ARK_SUCCESS : flag;
}

soa_status soai_stepper_reason(const soai_stepper *s, soa_status status, int flag) {
    if (status || flag >= 0) return status;
    return soai_fault_reason(&s->fault, flag);
}
soa_status soai_stepper_explain(const soai_stepper *s, const soa_model *model, soa_status status,
                                int flag, soa_report *report) {
    if (!(status = soai_stepper_reason(s, status, flag))) return SOA_OK;
    return soai_fault_report(&s->fault, model, "simulation ", s->t, status, report);
}

#define REFUSE(...) return soai_report(report, SOA_E_ARGUMENT, -1, 0, __VA_ARGS__)
soa_status soai_check_span(double start, double duration, double sample_time, soa_report *report) {
    if (!(fabs(start) <= 1e9)) REFUSE("start is %g s; it must be from -1e9 to 1e9", start);
    if (!(duration >= 0 && duration <= 1e9))
        REFUSE("duration is %g s; it must be from 0 to 1e9", duration);
    if (!(sample_time >= 0) || (sample_time > 0 && !(sample_time * 1e9 >= duration)))
        REFUSE("sample_time is %g s; it must be 0, or positive with at most 1e9 samples",
               sample_time);
    return SOA_OK;
}
soa_status soai_check_steps(double relative, double absolute, int order, double max_step,
                            soa_report *report) {
    if (!(relative >= 1e-15 && relative < 1))
        REFUSE("relative_tolerance is %g; it must be from 1e-15 to 1", relative);
    if (!(absolute > 0 && absolute < 1))
        REFUSE("absolute_tolerance is %g; it must be between 0 and 1", absolute);
    if (!soai_has_explicit(order)) REFUSE("order is %d; it must be 2, 3, 4, 5, 6 or 8", order);
    if (!(max_step >= 0)) REFUSE("max_step is %g s; it must be 0 (no bound) or positive", max_step);
    return SOA_OK;
}
#undef REFUSE

double soai_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
