/* pendulum.c  a rod of 1 kg and 1 m, let go at 1 rad, swings for a second: forward dynamics and
 *             Runge-Kutta, checked. */
#include <math.h>
#include <soa/soa.h>
#include <stdio.h>

int main(void) {
    soa_body_def rod = soa_body_default("rod", 0, SOA_REVOLUTE); /* on the world, body 0 */
    soa_body_box(&rod, 1, 0.02, 0.02, 1);
    rod.com[2] = -0.5;
    rod.joint.axis[1] = 1;
    rod.joint.axis[2] = 0; /* hangs down, turns about y */
    soa_model_def def = soa_model_default("pendulum", &rod, 1);
    const soa_model *model;
    soa_work *work;
    if (soa_model_create(&def, &model, NULL) != SOA_OK || soa_work_create(model, &work) != SOA_OK)
        return 1;
    double q = 1, v = 0, h = 0.001, start, kinetic, potential;
    soa_energy(model, work, &q, &v, NULL, &start);
    for (int step = 0; step < 1000; ++step) {
        double dq[5] = {0}, dv[5] = {0}, reach[4] = {0, h / 2, h / 2, h};
        for (int k = 0; k < 4; ++k) { /* q' = v, v' = aba(q, v) */
            double qk = q + reach[k] * dq[k];
            dq[k + 1] = v + reach[k] * dv[k];
            soa_aba(model, work, &qk, &dq[k + 1], NULL, NULL, 0, &dv[k + 1]);
        }
        q += h / 6 * (dq[1] + 2 * dq[2] + 2 * dq[3] + dq[4]);
        v += h / 6 * (dv[1] + 2 * dv[2] + 2 * dv[3] + dv[4]);
    }
    soa_energy(model, work, &q, &v, &kinetic, &potential);
    /* by elliptic functions */
    double error = kinetic + potential - start, exact = -0.901774605214722;
    printf("angle after 1 s: %.9f rad (exact %.9f), energy error: %.1e J\n", q, exact, error);
    soa_work_free(work);
    soa_model_free(model);
    return fabs(q - exact) < 1e-9 && fabs(error) < 1e-9 ? 0 : 1;
}
