/* floating.c  a spacecraft with an arm, free in space: the arm swings, the body answers, momentum
 *             stays zero. */
#include <math.h>
#include <soa/soa.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    soa_body_def craft[2] = {soa_body_default("body", 0, SOA_FREE),
                             soa_body_default("arm", 1, SOA_REVOLUTE)};
    soa_body_box(&craft[0], 50, 1, 1, 1);
    soa_body_box(&craft[1], 5, 1, 0.1, 0.1);
    craft[1].placement = soa_frame_from_rpy(0, 0, 0, 0.5, 0.5, 0);
    craft[1].com[0] = 0.5; /* its joint turns about z */
    soa_model_def def = soa_model_default("craft", craft, 2);
    def.gravity[2] = 0;
    const soa_model *model;
    soa_work *work;
    if (soa_model_create(&def, &model, NULL) != SOA_OK || soa_work_create(model, &work) != SOA_OK)
        return 1;
    /* q: position, quaternion w x y z, angle; v: [angular; linear], rate */
    enum { NQ = 8, NV = 7, ARM = 6 };
    double q[NQ], v[NV] = {0}, tau[NV] = {0}, momentum[6], h = 0.001, most = 0;
    soa_q_neutral(model, q);
    for (int step = 0; step < 2000; ++step) {
        double middle[NQ], half[NV], qdd[NV];
        tau[ARM] = step < 1000 ? 1 : -1;
        /* half a step, then a whole one from the middle */
        soa_aba(model, work, q, v, tau, NULL, 0, qdd);
        for (int i = 0; i < NV; ++i)
            half[i] = v[i] + h / 2 * qdd[i];
        soa_q_integrate(model, q, v, h / 2, middle);
        soa_aba(model, work, middle, half, tau, NULL, 0, qdd);
        if (soa_q_integrate(model, q, half, h, q) != SOA_OK) return 1;
        for (int i = 0; i < NV; ++i)
            v[i] += h * qdd[i];
        soa_momentum(model, work, q, v, momentum, NULL); /* about the centre of mass */
        for (int i = 0; i < 6; ++i)
            most = fmax(most, fabs(momentum[i]));
    }
    soa_frame pose;
    soa_kinematics(model, work, q, v, NULL);
    soa_pose(model, work, soa_model_find_frame(model, "body"), &pose);
    const double turned = atan2(pose.R[3], pose.R[0]);
    printf("the arm turned by %.3f rad, the body by %.3f; momentum at most %.1e\n", q[7], turned,
           most);
    soa_work_free(work);
    soa_model_free(model);
    return most < 1e-5 && turned < -0.01 ? 0 : 1;
}
