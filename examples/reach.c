/* reach.c  a robot by name or from a URDF file: where its tool is, and the joint angles that bring
 *          it elsewhere. */
#include <soa/io.h>
#include <soa/soa.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const char *robot = argc > 1 ? argv[1] : "arm7";
    const char *tool = argc > 2 ? argv[2] : "flange";
    const soa_model *model;
    soa_work *work;
    soa_tip_work *tips;
    soa_report report;
    if (soa_model_open(robot, NULL, &model, NULL, &report) != SOA_OK) {
        printf("%s\n", report.text);
        return 1;
    }
    const int frame = soa_model_find_frame(model, tool);
    double *q = calloc((size_t)soa_model_nq(model), sizeof *q),
           *v = calloc((size_t)soa_model_nv(model), sizeof *v);
    if (frame < 0 || !q || !v || soa_work_create(model, &work) != SOA_OK ||
        soa_tip_work_create(model, &tips) != SOA_OK) {
        printf("%s has no link or frame %s\n", robot, tool);
        return 1;
    }
    for (int i = 0; i < soa_model_nv(model); ++i)
        v[i] = i % 2 ? 0.6 : 0.2;
    soa_q_neutral(model, q);
    /* bent a little; not q + v, where joints have quaternions */
    soa_q_integrate(model, q, v, 1, q);
    soa_ik_target there = {.tip = {frame, 1, 1}}; /* turns and shifts weigh alike */
    soa_ik_result result;
    soa_kinematics(model, work, q, NULL, NULL);
    soa_pose(model, work, frame, &there.pose);
    printf("%s is at %.3f %.3f %.3f\n", tool, there.pose.p[0], there.pose.p[1], there.pose.p[2]);
    there.pose.p[0] += 0.05;
    there.pose.p[2] -= 0.05; /* 5 cm forward and down, turned as it is */
    const soa_status status = soa_inverse_kinematics(model, tips, &there, 1, NULL, q, &result);
    printf("%s after %d steps, off by %.1e\n", soa_status_text(status), result.steps,
           result.residual);
    for (int i = 0; i < soa_model_nq(model); ++i)
        printf("%s%.6f", i ? " " : "q = ", q[i]);
    printf("\n");
    free(q);
    free(v);
    soa_tip_work_free(tips);
    soa_work_free(work);
    soa_model_free(model);
    return status == SOA_OK ? 0 : 1;
}
