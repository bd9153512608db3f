/* arm.c  an arm with six joints on a microcontroller: model and work space in static memory, no
 *        heap.  The same program
 * runs on a PC; every line "name value" it prints is compared with the PC's (docs/embedded.md). */
#include <math.h>
#include <soa/soa.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOINTS = 6, STEPS = 200 };
#define STEP 0.005 /* s */

/* As much as soa_model_size and soa_work_size say, or more; the program prints what is used. */
static _Alignas(64) unsigned char model_memory[16384];
static _Alignas(64) unsigned char work_memory[32768];

/* Prints a failed call and ends main. */
#define CHECK(call)                                                     \
    do {                                                                \
        soa_status status_ = (call);                                    \
        if (status_ != SOA_OK) {                                        \
            printf("error: %s: %s\n", #call, soa_status_text(status_)); \
            return EXIT_FAILURE;                                        \
        }                                                               \
    } while (0)

static void print(const char *name, const double *x, int count) {
    for (int i = 0; i < count; ++i)
        printf("%s[%d] %.17g\n", name, i, x[i]);
}

static void print_float(const char *name, const float *x, int count) {
    for (int i = 0; i < count; ++i)
        printf("%s[%d] %.9g\n", name, i, (double)x[i]);
}

/* Links of 0.3 m that turn about z, y, y, x, y, x in turn. */
static void describe(soa_body_def link[JOINTS]) {
    static const char *const name[JOINTS] = {"base", "upper", "fore", "roll", "pitch", "hand"};
    static const int axis[JOINTS] = {2, 1, 1, 0, 1, 0};
    for (int i = 0; i < JOINTS; ++i) {
        link[i] = soa_body_default(name[i], i, SOA_REVOLUTE);
        soa_body_box(&link[i], 3.0 / (i + 1), 0.3, 0.06, 0.05);
        link[i].com[0] = 0.15;
        for (int k = 0; k < 3; ++k)
            link[i].joint.axis[k] = k == axis[i];
        if (i > 0) link[i].placement = soa_frame_from_rpy(0.1, 0, 0.2, 0.3, 0, 0);
    }
}

/* One step of Runge and Kutta's fourth-order rule for q' = v, v' = aba(q, v). */
static soa_status step(const soa_model *model, soa_work *work, double q[JOINTS], double v[JOINTS]) {
    static const double reach[4] = {0, STEP / 2, STEP / 2, STEP};
    static const double weight[4] = {STEP / 6, STEP / 3, STEP / 3, STEP / 6};
    double dq[JOINTS] = {0};
    double dv[JOINTS] = {0};
    double sum_q[JOINTS] = {0};
    double sum_v[JOINTS] = {0};
    for (int stage = 0; stage < 4; ++stage) {
        double stage_q[JOINTS];
        double stage_v[JOINTS];
        for (int i = 0; i < JOINTS; ++i) {
            stage_q[i] = q[i] + reach[stage] * dq[i];
            stage_v[i] = v[i] + reach[stage] * dv[i];
        }
        soa_status s = soa_aba(model, work, stage_q, stage_v, NULL, NULL, 0, dv);
        if (s != SOA_OK) return s;
        for (int i = 0; i < JOINTS; ++i) {
            dq[i] = stage_v[i];
            sum_q[i] += weight[stage] * dq[i];
            sum_v[i] += weight[stage] * dv[i];
        }
    }
    for (int i = 0; i < JOINTS; ++i) {
        q[i] += sum_q[i];
        v[i] += sum_v[i];
    }
    return SOA_OK;
}

int main(void) {
    soa_body_def link[JOINTS];
    describe(link);
    const soa_model_def def = soa_model_default("arm", link, JOINTS);
    const soa_model *model;
    soa_work *work;
    soa_report report;
    if (soa_model_init(&def, model_memory, sizeof model_memory, &model, &report) != SOA_OK) {
        printf("error: %s\n", report.text);
        return EXIT_FAILURE;
    }
    CHECK(soa_work_init(model, work_memory, sizeof work_memory, &work));
    printf("# model %lu bytes, work space %lu bytes\n", (unsigned long)soa_model_bytes(model),
           (unsigned long)soa_work_size(model));

    double q[JOINTS];
    double v[JOINTS];
    double a[JOINTS];
    float qf[JOINTS];
    float vf[JOINTS];
    float af[JOINTS];
    for (int i = 0; i < JOINTS; ++i) {
        q[i] = sin(1 + i);
        v[i] = cos(2 + 3 * i);
        a[i] = 0.5 * sin(4 + 2 * i);
        qf[i] = (float)q[i];
        vf[i] = (float)v[i];
        af[i] = (float)a[i];
    }
    double tau[JOINTS];
    double qdd[JOINTS];
    double mass[JOINTS * JOINTS];
    CHECK(soa_rnea(model, work, q, v, a, NULL, 0, tau));
    CHECK(soa_aba(model, work, q, v, tau, NULL, 0, qdd));
    CHECK(soa_crba(model, work, q, mass));
    print("tau", tau, JOINTS);
    print("qdd", qdd, JOINTS);
    print("mass", mass, JOINTS * JOINTS);

    float tau_f[JOINTS];
    float qdd_f[JOINTS];
    CHECK(soa_rnea_f(model, work, qf, vf, af, NULL, tau_f));
    CHECK(soa_aba_f(model, work, qf, vf, tau_f, NULL, qdd_f));
    print_float("float_tau", tau_f, JOINTS);
    print_float("float_qdd", qdd_f, JOINTS);

    double kinetic;
    double potential;
    CHECK(soa_energy(model, work, q, v, &kinetic, &potential));
    const double start = kinetic + potential;
    for (int i = 0; i < STEPS; ++i)
        CHECK(step(model, work, q, v));
    CHECK(soa_energy(model, work, q, v, &kinetic, &potential));
    print("q_after", q, JOINTS);
    print("v_after", v, JOINTS);
    printf("# energy error %.1e J\n", kinetic + potential - start);
    return EXIT_SUCCESS;
}
