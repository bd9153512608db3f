/* test_fixed_step.c  fixed steps of a world: their order, the cost of a step, and the same results
 * with and without a shape that meets nothing. */
#include "worlds.h"

/* The last state of an arm after 0.5 s, and evaluations per step. */
static double run(int order, double step, const char *more, double *q, int *nq) {
    stage s =
        made("name: arm\nduration: 0.5\ngravity: [0, 0, -9.81]\n"
             "parts:\n  - {name: arm, model: arm7, limits: false, damping_scale: 0, "
             "friction_scale: 0, rotor_scale: 0,\n"
             "     positions: {joint2: 2.8, joint3: 0.1, joint4: -0.3, joint5: 0.1, joint6: 0.3}}\n"
             "integration: {method: fixed, order: %d, step: %.17g}\nrecording: {rate: 2}\n%s",
             order, step, more);
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_world_summary sum;
    OK(soa_world_tick(s.world, &report));
    OK(soa_world_summarise(s.world, &sum));
    *nq = soa_model_nq(soa_world_model(s.world));
    memcpy(q, soa_world_q(s.world), (size_t)*nq * sizeof *q);
    near("time", sum.t, 0.5, 1e-12);
    const double each = (double)sum.evaluations / (double)sum.steps;
    closed(&s);
    return each;
}

static void orders(void **state) {
    (void)state;
    static const int order[] = {2, 3, 4, 5};
    /* evaluations: the stages of the method, no more */
    static const double most[] = {2.1, 4.1, 4.1, 7.1};
    double fine[16];
    int nq = 0;
    run(8, 1e-3, "", fine, &nq);
    for (int k = 0; k < 4; ++k) {
        double error[2] = {0, 0}, each = 0;
        for (int half = 0; half < 2; ++half) {
            double q[16];
            each = run(order[k], half ? 2.5e-3 : 5e-3, "", q, &nq);
            for (int i = 0; i < nq; ++i)
                error[half] = fmax(error[half], fabs(q[i] - fine[i]));
        }
        const double seen = log2(error[0] / error[1]);
        printf("  order %d: errors %.2e, %.2e: order %.2f; %.2f evaluations a step\n", order[k],
               error[0], error[1], seen, each);
        if (!(seen > order[k] - 0.3 && seen < order[k] + 1))
            fail_msg("order %d: seen %.3g", order[k], seen);
        if (!(each <= most[k])) fail_msg("order %d: %.3g evaluations a step", order[k], each);
    }
}

/* Contacts that never happen change nothing: both ways through the evaluation give the same
 * motion. */
static void nothing_meets(void **state) {
    (void)state;
    double plain[16], shaped[16];
    int nq = 0;
    run(4, 5e-3, "", plain, &nq);
    run(4, 5e-3,
        "shapes:\n  - {name: tip, on: arm.link7, sphere: 10 mm}\n  - {name: far, on: world, at: "
        "[50, 0, 0], sphere: 10 "
        "mm}\n"
        "contacts:\n  - {between: [tip, far], law: linear, stiffness: 1e4}\n",
        shaped, &nq);
    for (int i = 0; i < nq; ++i)
        near("q", shaped[i], plain[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(nothing_meets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
