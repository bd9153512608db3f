/* four_bar.c  a closed chain: two cranks and a coupler whose end is pinned to the ground.  It
 *             falls, and stays closed. */
#include <math.h>
#include <soa/soa.h>
#include <stdio.h>

int main(void) {
    soa_body_def bars[3];
    const char *const names[3] = {"crank", "coupler", "rocker"};
    const double length[3] = {1, 2, 1.5};
    for (int i = 0; i < 3; ++i) { /* bars along x that turn about y, one after the other */
        bars[i] = soa_body_default(names[i], i, SOA_REVOLUTE);
        soa_body_box(&bars[i], length[i], length[i], 0.05, 0.05);
        bars[i].com[0] = length[i] / 2;
        bars[i].joint.axis[1] = 1;
        bars[i].joint.axis[2] = 0;
        if (i > 0) bars[i].placement = soa_frame_from_rpy(0, 0, 0, length[i - 1], 0, 0);
    }
    const soa_model_def def = soa_model_default("four-bar", bars, 3);
    const soa_model *model;
    soa_work *work;
    soa_constraints *loop;
    soa_report report;
    if (soa_model_create(&def, &model, &report) != SOA_OK ||
        soa_work_create(model, &work) != SOA_OK)
        return 1;
    /* the rocker's far end turns about a pin of the ground, 2 m along x */
    soa_constraint_def pin =
        soa_constraint_default(SOA_LOOP, 0, soa_model_find_frame(model, "rocker"));
    pin.name = "pin";
    pin.joint = SOA_REVOLUTE;
    pin.axis[1] = 1;
    pin.axis[2] = 0;
    pin.place1 = soa_frame_from_rpy(0, 0, 0, 2, 0, 0);
    pin.place2 = soa_frame_from_rpy(0, 0, 0, length[2], 0, 0);
    const soa_constraint_capacity room = {1, 6, 0};
    double q[3] = {-1.2, 1.2, 1.5}, v[3] = {0}, start, kinetic, potential, left[2], h = 0.001;
    if (soa_constraints_create(model, &room, &loop) != SOA_OK ||
        soa_constraints_add(loop, &pin, NULL, &report) != SOA_OK ||
        soa_closed_assemble(loop, work, 0, NULL, q, &report) != SOA_OK) {
        printf("%s\n", report.text);
        return 1;
    }
    soa_closed_energy(loop, work, q, v, &kinetic, &start);
    for (int step = 0; step < 2000; ++step) {
        double a[3], middle[3], half[3];
        soa_closed_fd(loop, work, NULL, &(soa_input){.q = q, .v = v}, a, NULL, NULL);
        for (int i = 0; i < 3; ++i) {
            middle[i] = q[i] + h / 2 * v[i];
            half[i] = v[i] + h / 2 * a[i];
        }
        if (soa_closed_fd(loop, work, NULL, &(soa_input){.q = middle, .v = half}, a, NULL, NULL) !=
            SOA_OK)
            return 1;
        for (int i = 0; i < 3; ++i) {
            q[i] += h * half[i];
            v[i] += h * a[i];
        }
        if (soa_closed_project(loop, work, 0, q, v, left) != SOA_OK) return 1; /* no drift */
    }
    soa_closed_energy(loop, work, q, v, &kinetic, &potential);
    printf("after 2 s: loop open by %.1e m, energy off by %.1e of %.2f J\n", left[0],
           kinetic + potential - start, kinetic);
    soa_constraints_free(loop);
    soa_work_free(work);
    soa_model_free(model);
    return left[0] < 1e-9 && fabs(kinetic + potential - start) < 1e-3 ? 0 : 1;
}
