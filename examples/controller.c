/* controller.c  a 1 kHz controller of an arm with two joints, in static memory: no heap once it
 *               runs.  The arm follows
 * a path by inverse dynamics; here it is simulated, on a robot q and v would be measured and tau
 * sent to the motors. */
#include <math.h>
#include <soa/soa.h>
#include <stdio.h>

/* As much as soa_model_size, soa_work_size and soa_control_size ask for, or more. */
static _Alignas(64) unsigned char model_memory[8192], work_memory[16384], control_memory[196608];

int main(void) {
    soa_body_def arm[2] = {soa_body_default("upper", 0, SOA_REVOLUTE),
                           soa_body_default("lower", 1, SOA_REVOLUTE)};
    for (int i = 0; i < 2; ++i) { /* rods of 0.5 m along x that turn about y */
        soa_body_box(&arm[i], 2, 0.5, 0.05, 0.05);
        arm[i].com[0] = 0.25;
        arm[i].joint.axis[1] = 1;
        arm[i].joint.axis[2] = 0;
    }
    arm[1].placement = soa_frame_from_rpy(0, 0, 0, 0.5, 0, 0);
    const soa_model_def def = soa_model_default("arm", arm, 2);
    const soa_control_def how = soa_control_default(NULL); /* every joint has its motor */
    const soa_model *model;
    soa_work *work; /* of the simulated arm */
    soa_control *control;
    soa_report report = {.text = "not memory enough for work space or control"};
    if (soa_model_init(&def, model_memory, sizeof model_memory, &model, &report) != SOA_OK ||
        soa_work_init(model, work_memory, sizeof work_memory, &work) != SOA_OK ||
        soa_control_init(model, &how, control_memory, sizeof control_memory, &control) != SOA_OK) {
        printf("%s\n", report.text);
        return 1;
    }
    const double K[2] = {400, 400}, D[2] = {40, 40}, h = 0.001;
    const soa_joint_gains gains = {K, D};
    double q[2] = {0.1, -0.2}, v[2] = {0, 0}, tau[2], qdd[2], off = 0;
    for (int tick = 0; tick < 2000; ++tick) {
        const double t = tick * h, wanted[2] = {sin(t), cos(2 * t)},
                     rate[2] = {cos(t), -2 * sin(2 * t)};
        const double bend[2] = {-sin(t), -4 * cos(2 * t)};
        const soa_joint_reference path = {wanted, rate, bend};
        if (soa_control_inverse_dynamics(control, q, v, &path, &gains, NULL, tau, NULL) != SOA_OK)
            return 1;
        if (tick > 1000) off = fmax(off, fmax(fabs(q[0] - wanted[0]), fabs(q[1] - wanted[1])));
        soa_aba(model, work, q, v, tau, NULL, 0, qdd); /* the arm */
        for (int i = 0; i < 2; ++i) {
            q[i] += h * (v[i] + h / 2 * qdd[i]);
            v[i] += h * qdd[i];
        }
    }
    printf("off the path after a second: at most %.1e rad\n", off);
    return off < 1e-3 ? 0 : 1;
}
