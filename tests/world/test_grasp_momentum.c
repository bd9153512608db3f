/* test_grasp_momentum.c  a free-floating base with two arms that hold one object, moved by its
 * joints' torques for a minute: total momentum, linear and angular about the inertial origin, is
 * conserved. */
#include "floating_arms.h"
#include "soa/world.h"

enum { ARM = 6 };

typedef struct watch {
    const soa_model *m;
    soa_work *w;
    int started;
    double h0[6], most[2], off[2]; /* linear, angular */
    double grip;                   /* largest constraint error */
} watch;

/* Total momentum about the inertial origin, and the sum of the bodies' magnitudes. */
static void momentum(const watch *k, const double *q, const double *v, double h[6],
                     double size[2]) {
    memset(h, 0, 6 * sizeof *h);
    memset(size, 0, 2 * sizeof *size);
    assert_int_equal(SOA_OK, soa_kinematics(k->m, k->w, q, v, NULL));
    for (int i = 1; i <= soa_model_body_count(k->m); ++i) {
        soa_body_info b;
        soa_frame X;
        double V[6], c[3], p[3], L[3], w[3], Iw[3];
        soa_model_body(k->m, i, &b);
        soa_pose(k->m, k->w, b.frame, &X);
        soa_velocity(k->m, k->w, b.frame, SOA_AXES_WORLD, V);
        for (int r = 0; r < 3; ++r) {
            c[r] = X.R[3 * r] * b.com[0] + X.R[3 * r + 1] * b.com[1] + X.R[3 * r + 2] * b.com[2];
            w[r] = X.R[r] * V[0] + X.R[3 + r] * V[1] + X.R[6 + r] * V[2]; /* body axes */
        }
        p[0] = b.mass * (V[3] + V[1] * c[2] - V[2] * c[1]);
        p[1] = b.mass * (V[4] + V[2] * c[0] - V[0] * c[2]);
        p[2] = b.mass * (V[5] + V[0] * c[1] - V[1] * c[0]);
        const double *I = b.inertia;
        Iw[0] = I[0] * w[0] + I[3] * w[1] + I[4] * w[2];
        Iw[1] = I[3] * w[0] + I[1] * w[1] + I[5] * w[2];
        Iw[2] = I[4] * w[0] + I[5] * w[1] + I[2] * w[2];
        for (int r = 0; r < 3; ++r)
            c[r] += X.p[r];
        for (int r = 0; r < 3; ++r)
            L[r] = X.R[3 * r] * Iw[0] + X.R[3 * r + 1] * Iw[1] + X.R[3 * r + 2] * Iw[2];
        L[0] += c[1] * p[2] - c[2] * p[1];
        L[1] += c[2] * p[0] - c[0] * p[2];
        L[2] += c[0] * p[1] - c[1] * p[0];
        for (int r = 0; r < 3; ++r) {
            h[r] += p[r];
            h[3 + r] += L[r];
        }
        size[0] += sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        size[1] += sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]);
    }
}
static bool look(void *user, const soa_closed_sample *s) {
    watch *k = user;
    double h[6], size[2];
    momentum(k, s->q, s->v, h, size);
    if (!k->started) {
        memcpy(k->h0, h, sizeof h);
        k->started = 1;
    }
    for (int half = 0; half < 2; ++half) {
        if (size[half] > k->most[half]) k->most[half] = size[half];
        for (int r = 3 * half; r < 3 * half + 3; ++r)
            if (!(fabs(h[r] - k->h0[r]) <= k->off[half])) k->off[half] = fabs(h[r] - k->h0[r]);
    }
    if (!(s->position_error <= k->grip)) k->grip = s->position_error;
    return 0;
}
static soa_status motors(void *user, double t, const double *q, const double *v, double *tau) {
    (void)user;
    (void)q;
    (void)v;
    for (int i = 0; i < 2 * ARM; ++i)
        tau[6 + i] = 1.5 * sin((0.3 + 0.11 * i) * t + i);
    return SOA_OK;
}

static void sixty_seconds(void **unused) {
    (void)unused;
    const char *slow = getenv("SOA_SANITIZE");
    const double seconds = slow && slow[0] ? 2 : 60;
    watch k = {.m = floating_arms(ARM, 120, 15)};
    soa_work *w = NULL;
    soa_constraints *c = NULL;
    const soa_constraint_capacity room = {2, 12, 1};
    assert_int_equal(SOA_OK, soa_work_create(k.m, &k.w));
    assert_int_equal(SOA_OK, soa_work_create(k.m, &w));
    assert_int_equal(SOA_OK, soa_constraints_create(k.m, &room, &c));
    double q[64], v[64] = {0};
    soa_q_neutral(k.m, q);
    for (int i = 0; i < 2 * ARM; ++i)
        q[7 + i] = (i < ARM ? -1 : 1) * 0.15 * (1 + i % 3);
    const int object = 7 + 2 * ARM;
    q[object] = 2.2;
    q[object + 2] = 0.1;
    assert_int_equal(SOA_OK, soa_kinematics(k.m, w, q, NULL, NULL));
    const int held = soa_model_find_frame(k.m, "object");
    soa_frame at;
    soa_pose(k.m, w, held, &at);
    at = soa_frame_inverse(&at);
    for (int arm = 0; arm < 2; ++arm) { /* the hands hold the object where they are */
        const int hand = soa_model_find_frame(k.m, arm ? "right6" : "left6");
        soa_constraint_def d = soa_constraint_default(SOA_LOOP, hand, held);
        soa_frame tip;
        d.joint = SOA_FIXED;
        d.place1.p[0] = 0.3;
        soa_pose(k.m, w, hand, &tip);
        tip = soa_frame_compose(&tip, &d.place1);
        d.place2 = soa_frame_compose(&at, &tip);
        d.name = arm ? "right hand" : "left hand";
        assert_int_equal(SOA_OK, soa_constraints_add(c, &d, NULL, NULL));
    }
    for (int i = 0; i < 3; ++i) {
        v[i] = 0.02 * (i + 1);
        v[3 + i] = 0.05 * (2 - i); /* it drifts and turns */
    }
    soa_closed_sim_options o = soa_closed_sim_options_default();
    soa_closed_sim_result r;
    soa_report report;
    o.duration = seconds;
    o.order = 8;
    o.relative_tolerance = 1e-10;
    o.absolute_tolerance = 1e-12;
    o.torque = motors;
    o.sample = look;
    o.sample_user = &k;
    if (soa_closed_simulate(c, q, v, &o, &r, &report)) fail_msg("%s", report.text);
    printf(
        "  %g s, %ld steps, %.1f s; hands apart by %.1e; supplied %.3g J, energy balance %.1e J\n",
        seconds, r.steps, r.wall_time, k.grip, r.supplied, r.balance_worst);
    printf("  |h - h(0)| / max sum |h_i|: linear %.1e, angular about the inertial origin %.1e "
           "(allowed 1e-9)\n",
           k.off[0] / k.most[0], k.off[1] / k.most[1]);
    assert_true(k.most[0] > 1 && k.most[1] > 1);
    assert_true(k.off[0] <= 1e-9 * k.most[0]);
    assert_true(k.off[1] <= 1e-9 * k.most[1]);
    assert_true(k.grip <= 1e-10);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_work_free(k.w);
    soa_model_free(k.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sixty_seconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
