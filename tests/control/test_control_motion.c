/* test_control_motion.c  feedback loops in motion: two PUMA arms on a floating base, a satellite,
 * laws sampled at 500 Hz and held.
 *
 * The plant is soa_aba, or soa_grasp_fd while the hands hold the satellite; Runge-Kutta steps of
 * order four. */
#include "control_systems.h"
#include <time.h>

enum { RATE = 500 }; /* Hz */
static const double DT = 1.0 / RATE;

typedef struct plant {
    const soa_model *m;
    soa_work *w;
    soa_grasp *g; /* NULL: nothing is held */
    double q[PUMA_Q], v[PUMA_V], force[12];
} plant;
static void rate(plant *p, const double *q, const double *v, const double *tau, double *qr,
                 double *a) {
    double unit[PUMA_Q];
    memcpy(unit, q, sizeof unit);
    OK(soa_q_normalise(p->m, unit));
    OK(soa_q_rate(p->m, unit, v, qr));
    if (p->g)
        OK(soa_grasp_fd(p->g, p->w, NULL, &(soa_input){.q = unit, .v = v, .tau = tau}, a, p->force,
                        NULL, NULL));
    else
        OK(soa_aba(p->m, p->w, unit, v, tau, NULL, 0, a));
}
static void step(plant *p, const double *tau) {
    double k[4][PUMA_Q], l[4][PUMA_V], q[PUMA_Q], v[PUMA_V];
    const int nq = soa_model_nq(p->m), nv = soa_model_nv(p->m);
    rate(p, p->q, p->v, tau, k[0], l[0]);
    for (int s = 1; s < 4; ++s) {
        const double h = s < 3 ? DT / 2 : DT;
        for (int j = 0; j < nq; ++j)
            q[j] = p->q[j] + h * k[s - 1][j];
        for (int j = 0; j < nv; ++j)
            v[j] = p->v[j] + h * l[s - 1][j];
        rate(p, q, v, tau, k[s], l[s]);
    }
    for (int j = 0; j < nq; ++j)
        p->q[j] += DT / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
    for (int j = 0; j < nv; ++j)
        p->v[j] += DT / 6 * (l[0][j] + 2 * l[1][j] + 2 * l[2][j] + l[3][j]);
    OK(soa_q_normalise(p->m, p->q));
}
static void momentum(plant *p, double h[6]) { /* about the world's origin */
    double com[3], x[6];
    OK(soa_momentum(p->m, p->w, p->q, p->v, x, com));
    const double *f = x + 3;
    memcpy(h, x, sizeof x);
    h[0] += com[1] * f[2] - com[2] * f[1];
    h[1] += com[2] * f[0] - com[0] * f[2];
    h[2] += com[0] * f[1] - com[1] * f[0];
}
static double size3(const double *x) {
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}
static soa_frame relative_pose(const soa_model *m, soa_work *w, const double *q, int base,
                               int frame) {
    soa_frame a, b;
    OK(soa_kinematics(m, w, q, NULL, NULL));
    OK(soa_pose(m, w, base, &a));
    OK(soa_pose(m, w, frame, &b));
    a = soa_frame_inverse(&a);
    return soa_frame_compose(&a, &b);
}

/* --- free motion ------------------------------------------------------------------------------ */
/* Inverse dynamics on the floating base: e'' + 2 w e' + w^2 e = 0 in every joint, from rest: e = e0
 * (1 + w t) e^-wt. */
static void joints_settle_on_a_floating_base(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    two_pumas_pose(&t, 0.9, p.q);
    double qd[PUMA_Q], K[PUMA_V], D[PUMA_V], tau[PUMA_V], h0[6], h[6], worst = 0;
    memcpy(qd, p.q, sizeof qd);
    for (int i = 0; i < 12; ++i)
        qd[7 + i] += i % 2 ? -0.3 : 0.2;
    for (int j = 0; j < PUMA_V; ++j) {
        K[j] = 25;
        D[j] = 10;
    }
    const soa_joint_reference r = {qd, NULL, NULL};
    const soa_joint_gains g = {K, D};
    for (int n = 0; n < 2 * RATE; ++n) {
        const double time = n * DT;
        for (int i = 0; i < 12; ++i) {
            const double e = (qd[7 + i] - p.q[7 + i]) / (i % 2 ? -0.3 : 0.2);
            worst = fmax(worst, fabs(e - (1 + 5 * time) * exp(-5 * time)));
        }
        OK(soa_control_inverse_dynamics(c, p.q, p.v, &r, &g, NULL, tau, NULL));
        step(&p, tau);
    }
    memset(h0, 0, sizeof h0);
    momentum(&p, h);
    double most = 0;
    for (int j = 0; j < 6; ++j)
        most = fmax(most, fabs(h[j]));
    printf("  joints follow (1 + wt) e^-wt within %.1e (torques held for 2 ms); momentum %.1e\n",
           worst, most);
    assert_true(worst <= 5e-3);
    assert_true(most <= 1e-9);
    /* the law of equal rates: |sigma| falls as e^-kt */
    double s0 = 0, s1 = 0, sigma[PUMA_V], rates[PUMA_V], L[PUMA_V];
    for (int i = 0; i < 12; ++i)
        qd[7 + i] += i % 2 ? 0.3 : -0.2;
    for (int j = 0; j < PUMA_V; ++j) {
        rates[j] = 4;
        L[j] = 3;
    }
    for (int n = 0; n <= RATE; ++n) {
        OK(soa_control_decoupled(c, p.q, p.v, &r, L, rates, tau, sigma));
        double sum = 0;
        for (int j = 0; j < PUMA_V; ++j)
            sum += sigma[j] * sigma[j];
        if (n == 0) s0 = sqrt(sum);
        s1 = sqrt(sum);
        if (n < RATE) step(&p, tau);
    }
    printf("  innovations: |sigma(1 s)| / |sigma(0)| = %.5f, e^-4 = %.5f\n", s1 / s0, exp(-4));
    assert_true(fabs(s1 / s0 / exp(-4) - 1) <= 0.02);
    soa_control_free(c);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

/* A hand goes to a goal in the world by operational space while the other arm keeps the base's
 * attitude; at zero momentum the hand's velocity is J_g qdot (Umetani & Yoshida). */
static void hand_reaches_goal(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    two_pumas_pose(&t, 0.9, p.q);
    const soa_frame start = relative_pose(t.m, p.w, p.q, 0, t.hand[0]);
    soa_frame end = start;
    end.p[0] -= 0.1;
    end.p[1] += 0.05;
    end.p[2] += 0.1;
    const double axis[3] = {0, 0, 1}, none[3] = {0, 0, 0};
    const soa_frame turn = soa_frame_from_axis_angle(axis, 0.3, none);
    soa_frame R = soa_frame_compose(&turn, &end);
    memcpy(end.R, R.R, sizeof R.R);
    soa_frame_task task[2] = {{.law = soa_frame_law_default(t.hand[0], 0)},
                              {.law = soa_frame_law_default(t.base, 0), .rows = SOA_ROWS_ANGULAR}};
    for (int k = 0; k < 2; ++k) {
        for (int j = 0; j < 6; ++j) {
            task[k].law.stiffness[j] = 36;
            task[k].law.damping[j] = 12;
        }
    }
    const soa_frame attitude = soa_frame_identity();
    task[1].goal = soa_motion_at_rest(&attitude);
    const soa_profile profile = soa_profile_quintic(2);
    double tau[PUMA_V], posture[PUMA_V], momentum_most = 0, tracking = 0, umetani = 0, tilt = 0;
    soa_frame_error e[2];
    for (int n = 0; n < 3 * RATE; ++n) {
        double s[3], h[6], J[6 * PUMA_V], V[6];
        soa_profile_at(&profile, n * DT, s);
        OK(soa_path_pose(&start, &end, s, &task[0].goal));
        for (int j = 0; j < PUMA_V; ++j)
            posture[j] = -5 * p.v[j];
        const soa_operational_options o = {.posture = posture};
        OK(soa_control_operational_space(c, p.q, p.v, task, 2, &o, tau,
                                         &(soa_operational_result){.error = e}));
        tracking = fmax(tracking, size3(e[0].error + 3));
        tilt = fmax(tilt, size3(e[1].error));
        if (n % 50 == 0) {
            momentum(&p, h);
            for (int j = 0; j < 6; ++j)
                momentum_most = fmax(momentum_most, fabs(h[j]));
            OK(soa_control_generalised_jacobian(c, p.q, t.hand[0], SOA_AXES_WORLD, J));
            OK(soa_kinematics(t.m, p.w, p.q, p.v, NULL));
            OK(soa_velocity(t.m, p.w, t.hand[0], SOA_AXES_WORLD, V));
            for (int r = 0; r < 6; ++r) {
                double sum = 0;
                for (int j = 0; j < PUMA_V; ++j)
                    sum += J[r * PUMA_V + j] * p.v[j];
                umetani = fmax(umetani, fabs(sum - V[r]));
            }
        }
        step(&p, tau);
    }
    printf("  hand: tracking %.1e m, at the end %.1e m, %.1e rad; base tilts %.1e rad at most\n",
           tracking, size3(e[0].error + 3), size3(e[0].error), tilt);
    printf("  momentum %.1e; V - J_g v %.1e\n", momentum_most, umetani);
    assert_true(size3(e[0].error + 3) <= 1e-6 && size3(e[0].error) <= 1e-6);
    assert_true(tracking <= 1e-3 && tilt <= 1e-3);
    assert_true(momentum_most <= 1e-9 && umetani <= 1e-9);

    /* impedance towards a goal that the satellite carries: it drifts and turns slowly */
    p.v[PUMA_SATELLITE_V + 2] = 0.02;
    p.v[PUMA_SATELLITE_V + 4] = 0.01;
    soa_motion goal = soa_motion_at_rest(NULL);
    goal.pose = relative_pose(t.m, p.w, p.q, t.satellite, t.hand[1]);
    goal.pose.p[0] -= 0.05;
    soa_frame_law law = soa_frame_law_default(t.hand[1], t.satellite);
    for (int j = 0; j < 6; ++j) {
        law.stiffness[j] = j < 3 ? 60 : 600;
        law.damping[j] = j < 3 ? 15 : 150;
    }
    law.max_force = 40;
    law.max_torque = 10;
    double first = 0, most = 0;
    for (int n = 0; n < 4 * RATE; ++n) {
        double wrench[6];
        OK(soa_control_impedance(c, p.q, p.v, &law, &goal, NULL, tau,
                                 &(soa_impedance_result){.wrench = wrench, .error = e}));
        for (int j = 6; j < 12; ++j)
            tau[j] -= 20 * p.v[j]; /* the other arm stays */
        if (n == 0) first = size3(e[0].error + 3);
        most = fmax(most, size3(wrench + 3));
        step(&p, tau);
    }
    printf("  impedance, goal on the satellite: %.1e m to %.1e m, %.1e rad; force at most %.1f N\n",
           first, size3(e[0].error + 3), size3(e[0].error), most);
    assert_true(size3(e[0].error + 3) <= 3e-3 && size3(e[0].error) <= 1e-2 && most <= 40 + 1e-9);
    soa_control_free(c);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

/* --- force and motion ------------------------------------------------------------------------- */
/* A PUMA slides its hand along a wall and presses with 20 N; the controller thinks its links 10 %
 * heavier, friction 20 % less. The plant: the hand's point stays on the wall, without friction, by
 * a soa_grasp. */
static void hand_presses_and_slides(void **unused) {
    (void)unused;
    const soa_model *stock, *true_arm, *estimate;
    soa_report report;
    if (soa_stock_model_create("puma560", NULL, &stock, &report)) fail_msg("%s", report.text);
    for (int k = 0; k < 2; ++k) {
        soa_body_def body[6];
        for (int i = 0; i < 6; ++i) {
            soa_body_info b;
            OK(soa_model_body(stock, i + 1, &b));
            body[i] = soa_body_default(b.link, b.parent, b.type);
            body[i].placement = b.placement;
            body[i].mass = b.mass * (k ? 1.1 : 1);
            memcpy(body[i].joint.axis, b.axis, sizeof b.axis);
            memcpy(body[i].com, b.com, sizeof b.com);
            for (int j = 0; j < 6; ++j)
                body[i].inertia[j] = b.inertia[j] * (k ? 1.1 : 1);
            body[i].joint.damping = b.damping * (k ? 0.8 : 1);
            body[i].joint.rotor_inertia = b.rotor_inertia;
            body[i].joint.gear_ratio = b.gear_ratio;
        }
        const soa_frame_def palm = {"palm", 6, soa_frame_from_rpy(0, 0, 0, 0, 0, 0.1)};
        soa_model_def def = soa_model_default("puma", body, 6);
        def.frames = &palm;
        def.frame_count = 1;
        if (soa_model_create(&def, k ? &estimate : &true_arm, &report)) fail_msg("%s", report.text);
    }
    plant p = {.m = true_arm};
    soa_control *c;
    const soa_control_def def = soa_control_default(NULL);
    OK(soa_work_create(true_arm, &p.w));
    OK(soa_control_create(estimate, &def, &c));
    const int palm = soa_model_find_frame(true_arm, "palm");
    const double start[6] = {0.3, 0.6, -0.9, 0.2, 0.7, 0.1};
    memcpy(p.q, start, sizeof start);
    OK(soa_kinematics(true_arm, p.w, p.q, NULL, NULL));
    soa_frame hand;
    OK(soa_pose(true_arm, p.w, palm, &hand));
    OK(soa_grasp_create(true_arm, 1, &p.g));
    soa_contact_def contact = soa_contact_default(SOA_CONTACT_SLIDING_POINT, palm, 0);
    contact.place_object = hand; /* the wall: z into it */
    int number;
    OK(soa_grasp_add(p.g, &contact, &number, &report));

    soa_hybrid_law law = {
        .law = soa_frame_law_default(palm, 0), .force_rows = 1u << 5, .max_integral = 50};
    for (int j = 0; j < 6; ++j) {
        law.law.stiffness[j] = 100;
        law.law.damping[j] = 20;
    }
    law.force_gain[0] = 0.5;
    law.force_gain[1] = 10;
    soa_hybrid_state state = {{0}};
    soa_motion goal = soa_motion_at_rest(&hand);
    const soa_profile profile = soa_profile_quintic(1.5);
    soa_frame aside = hand;
    for (int i = 0; i < 3; ++i)
        aside.p[i] -= 0.15 * hand.R[3 * i]; /* the other way lies a stretched arm */
    const double wanted[6] = {0, 0, 0, 0, 0, 20};
    double tau[6] = {0}, a[6], force = 0, late = 0, off = 0;
    soa_frame_error e;
    OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .v = p.v, .tau = tau}, a, p.force, NULL,
                    NULL));
    for (int n = 0; n < 3 * RATE; ++n) {
        double s[3], measured[6];
        soa_profile_at(&profile, n * DT - 0.5, s);
        OK(soa_path_pose(&hand, &aside, s, &goal));
        for (int h = 0; h < 6; h += 3) /* on the wall, world axes, to the goal's */
            for (int i = 0; i < 3; ++i) {
                measured[h + i] = 0;
                for (int j = 0; j < 3; ++j)
                    measured[h + i] += goal.pose.R[3 * j + i] * p.force[h + j];
            }
        force = measured[5];
        OK(soa_control_hybrid(
            c, p.q, p.v, &law,
            &(soa_hybrid_input){.goal = &goal, .force = wanted, .measured = measured, .dt = DT},
            &state, tau, &e));
        step(&p, tau);
        if (n > 3 * RATE / 2) {
            late = fmax(late, fabs(force - 20));
            off = fmax(off, hypot(e.error[3], e.error[4]));
        }
    }
    printf("  hybrid: force %.4f N of 20, off by at most %.2f N while sliding; place off by %.2e "
           "m, at the end %.2e m\n",
           force, late, off, hypot(e.error[3], e.error[4]));
    assert_true(fabs(force - 20) <= 0.1 && late <= 0.5 && off <= 5e-3);
    soa_control_free(c);
    soa_grasp_free(p.g);
    soa_work_free(p.w);
    soa_model_free(stock);
    soa_model_free(true_arm);
    soa_model_free(estimate);
}

/* The base is turned by its arms' momentum: K = w^2, D = 2 w. */
static void base_is_held(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    two_pumas_pose(&t, 0.9, p.q);
    const soa_frame turned = soa_frame_from_rpy(0.01, -0.01, 0.02, 0, 0, 0);
    const soa_motion goal = soa_motion_at_rest(&turned);
    double tau[PUMA_V], posture[PUMA_V], first = 0, worst = 0;
    soa_frame_error e;
    for (int n = 0; n < 2 * RATE; ++n) {
        for (int j = 0; j < PUMA_V; ++j)
            posture[j] = -3 * p.v[j];
        const soa_operational_options o = {.posture = posture};
        OK(soa_control_base_attitude(
            c, p.q, p.v, &(soa_attitude_law){.frame = t.base, .stiffness = 16, .damping = 8}, &goal,
            &o, tau, &e));
        if (n == 0) first = size3(e.error);
        worst = fmax(worst, fabs(size3(e.error) / first - (1 + 4 * n * DT) * exp(-4 * n * DT)));
        step(&p, tau);
    }
    printf("  base turns %.3f rad by its arms: follows (1 + wt) e^-wt within %.1e\n", first, worst);
    assert_true(worst <= 5e-3);
    soa_control_free(c);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

/* --- the satellite held ----------------------------------------------------------------------- */
static void hold(const two_pumas *t, plant *p) {
    two_pumas_pose(t, 0.6, p->q);
    OK(soa_grasp_create(t->m, 2, &p->g));
    for (int i = 0; i < 2; ++i) {
        soa_contact_def def = soa_contact_default(SOA_CONTACT_RIGID, t->hand[i], t->satellite);
        def.place_object = relative_pose(t->m, p->w, p->q, t->satellite, t->hand[i]);
        int number;
        soa_report report;
        if (soa_grasp_add(p->g, &def, &number, &report)) fail_msg("%s", report.text);
    }
}
static soa_coordination law_for(const two_pumas *t, soa_coordination_form form) {
    soa_coordination k = soa_coordination_default(t->satellite, t->base);
    k.form = form;
    k.hands = 2;
    k.hand[0] = t->hand[0];
    k.hand[1] = t->hand[1];
    k.squeeze = 30;
    return k;
}

/* Feedback-linearising: with these torques the held satellite accelerates just as wanted, and the
 * contact forces are those that were shared out. */
static void linearising_is_exact(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    hold(&t, &p);
    worst_case object = {0}, forces = {0}, internal = {0}, idle = {0};
    for (long seed = first_seed(); seed < first_seed() + 30; ++seed) {
        dice d = {(uint64_t)seed};
        roll_many(&d, -0.3, 0.3, PUMA_V, p.v);
        OK(soa_grasp_impulse(p.g, p.w, p.q, p.v, p.v, NULL));
        soa_coordination k = law_for(&t, SOA_COORDINATE_LINEARISING);
        roll_many(&d, 0, 4, 6, k.stiffness);
        roll_many(&d, 0, 4, 6, k.damping);
        k.relative_to = seed % 2 ? t.base : 0;
        k.share[0] = roll(&d, 0.2, 0.8);
        k.share[1] = 1 - k.share[0];
        k.couple_length = roll(&d, 0.05, 0.5);
        k.squeeze = roll(&d, 0, 60);
        soa_motion goal = {.pose = random_place(&d, 0.5)};
        roll_many(&d, -0.3, 0.3, 6, goal.twist);
        roll_many(&d, -0.3, 0.3, 6, goal.acceleration);
        soa_coordination_state state = {0};
        soa_coordination_result r;
        double tau[PUMA_V], a[PUMA_V], force[12], A[6], want[6], s;
        OK(soa_control_coordination(c, p.q, p.v, &k,
                                    &(soa_coordination_input){.goal = &goal, .dt = 1e-3}, &state,
                                    tau, &r));
        for (int j = 0; j < PUMA_V; ++j)
            if (!t.drive[j]) note(&idle, fabs(tau[j]), seed);
        OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .v = p.v, .tau = tau}, a, force,
                        NULL, NULL));
        OK(soa_kinematics(t.m, p.w, p.q, p.v, a));
        OK(soa_acceleration_classical(t.m, p.w, t.satellite, SOA_AXES_WORLD, A));
        wanted_in_frame(t.m, p.w, t.satellite, k.relative_to, &goal, &r.error, k.stiffness,
                        k.damping, want);
        note(&object, relative(A, want, 6), seed);
        note(&forces, relative(force, &r.hand_wrench[0][0], 12), seed);
        OK(soa_control_internal_force(c, p.q, &k, force, &s));
        note(&internal, fabs(s - k.squeeze), seed);
        /* what the hands do is what the object gets */
        double sum[6] = {0};
        soa_frame X, H;
        OK(soa_pose(t.m, p.w, t.satellite, &X));
        for (int i = 0; i < 2; ++i) {
            double *f = r.hand_wrench[i], l[3];
            OK(soa_pose(t.m, p.w, t.hand[i], &H));
            for (int j = 0; j < 3; ++j)
                l[j] = H.p[j] - X.p[j];
            for (int j = 0; j < 6; ++j)
                sum[j] += f[j];
            sum[0] += l[1] * f[5] - l[2] * f[4];
            sum[1] += l[2] * f[3] - l[0] * f[5];
            sum[2] += l[0] * f[4] - l[1] * f[3];
        }
        note(&forces, relative(sum, r.wrench, 6), seed);
    }
    conclude("object accelerates as wanted, floating base", &object, 1e-9);
    conclude("contact forces are those shared out", &forces, 1e-9);
    conclude("internal force (N)", &internal, 1e-8);
    conclude("no torque where nobody drives", &idle, 0);
    soa_control_free(c);
    soa_grasp_free(p.g);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

/* Energy of everything and of the spring falls by just what the damper takes, on a floating base,
 * whatever the squeeze. */
static void passive_law_is_passive(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    soa_control_def def = soa_control_default(t.drive);
    def.compensate = SOA_COMPENSATE_VISCOUS;
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    hold(&t, &p);
    p.v[PUMA_SATELLITE_V + 2] = 0.1;
    p.v[PUMA_SATELLITE_V + 3] = -0.05;
    p.v[2] = -0.1;
    p.v[1] = 0.1;
    OK(soa_grasp_impulse(p.g, p.w, p.q, p.v, p.v, NULL));
    soa_coordination k = law_for(&t, SOA_COORDINATE_PASSIVE);
    for (int j = 0; j < 6; ++j) {
        k.stiffness[j] = j < 3 ? 200 : 1500;
        k.damping[j] = j < 3 ? 100 : 800;
    }
    soa_motion goal = soa_motion_at_rest(NULL);
    goal.pose = relative_pose(t.m, p.w, p.q, t.base, t.satellite);
    goal.pose.p[0] -= 0.08;
    goal.pose.p[2] += 0.05;
    soa_coordination_state state = {0};
    soa_coordination_result r;
    double tau[PUMA_V], V0 = 0, V = 0, before = 0, lost = 0, rises = 0;
    for (int n = 0; n <= 3 * RATE / 2; ++n) {
        double kinetic;
        OK(soa_control_coordination(
            c, p.q, p.v, &k, &(soa_coordination_input){.goal = &goal, .dt = DT}, &state, tau, &r));
        OK(soa_energy(t.m, p.w, p.q, p.v, &kinetic, NULL));
        V = kinetic;
        for (int j = 0; j < 6; ++j)
            V += k.stiffness[j] * r.error.error[j] * r.error.error[j] / 2;
        if (n == 0) V0 = V;
        if (n > 0) rises = fmax(rises, V - before);
        before = V;
        for (int j = 0; n < 3 * RATE / 2 && j < 6; ++j)
            lost += DT * k.damping[j] * r.error.rate[j] * r.error.rate[j];
        step(&p, tau);
    }
    printf("  energy %.3f J to %.3f J, damper took %.3f J; largest rise in a sample %.1e J\n", V0,
           V, lost, rises);
    assert_true(fabs(V0 - V - lost) <= 0.01 * lost && rises <= 0);
    soa_control_free(c);
    soa_grasp_free(p.g);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

/* 300 kg that drift and turn are stopped, moved 0.3 m and turned 30 degrees relative to the base.
 * The controller's model has a satellite of 240 kg, arms 10 % too heavy, joint friction 20 % too
 * small. */
static void satellite_is_moved(void **unused) {
    (void)unused;
    for (int form = 0; form < 2; ++form) {
        two_pumas t = two_pumas_open(0, 300, 1, 1), estimate = two_pumas_open(0, 240, 1.1, 0.8);
        plant p = {.m = t.m};
        soa_control *c;
        const soa_control_def def = soa_control_default(t.drive);
        OK(soa_work_create(t.m, &p.w));
        OK(soa_control_create(estimate.m, &def, &c));
        hold(&t, &p);
        p.v[PUMA_SATELLITE_V + 2] = 0.03;
        p.v[PUMA_SATELLITE_V + 3] = 0.02;
        p.v[PUMA_SATELLITE_V + 4] = -0.02;
        OK(soa_grasp_impulse(p.g, p.w, p.q, p.v, p.v, NULL));
        soa_coordination k =
            law_for(&t, form ? SOA_COORDINATE_PASSIVE : SOA_COORDINATE_LINEARISING);
        for (int j = 0; j < 6; ++j) {
            if (form) {
                k.stiffness[j] = j < 3 ? 300 : 2000;
            } else {
                k.stiffness[j] = 9;
            }
            if (form) {
                k.damping[j] = j < 3 ? 150 : 1000;
            } else {
                k.damping[j] = 6;
            }
        }
        k.squeeze_gain[0] = 0.2;
        k.squeeze_gain[1] = 2;
        const soa_frame start = relative_pose(t.m, p.w, p.q, t.base, t.satellite);
        soa_frame end = start;
        const double axis[3] = {0, 0, 1}, none[3] = {0, 0, 0};
        const soa_frame turn = soa_frame_from_axis_angle(axis, 3.14159265358979 / 6, none),
                        turned = soa_frame_compose(&turn, &start);
        memcpy(end.R, turned.R, sizeof end.R);
        end.p[0] -= 0.2;
        end.p[2] += 0.2236;
        const soa_profile profile = soa_profile_quintic(3);
        soa_coordination_state state = {0};
        soa_coordination_result r;
        double tau[PUMA_V] = {0}, h0[6], h[6], squeeze = 0, gap = 0, low = 1e9, high = -1e9,
               strongest = 0;
        double held_position = 0, held_angle = 0;
        double a[PUMA_V];
        momentum(&p, h0);
        OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .v = p.v, .tau = tau}, a, p.force,
                        NULL, NULL));
        for (int n = 0; n < 6 * RATE; ++n) {
            soa_motion goal;
            double s[3];
            soa_profile_at(&profile, n * DT - 0.5, s);
            OK(soa_path_pose(&start, &end, s, &goal));
            OK(soa_control_internal_force(c, p.q, &k, p.force, &squeeze)); /* measured just now */
            OK(soa_control_coordination(
                c, p.q, p.v, &k,
                &(soa_coordination_input){.goal = &goal, .measured = &squeeze, .dt = DT}, &state,
                tau, &r));
            for (int j = 0; j < PUMA_V; ++j)
                strongest = fmax(strongest, fabs(tau[j]));
            step(&p, tau);
            if (n > 5 * RATE) {
                low = fmin(low, squeeze);
                high = fmax(high, squeeze);
                held_position = fmax(held_position, size3(r.error.error + 3));
                held_angle = fmax(held_angle, size3(r.error.error));
            }
        }
        momentum(&p, h);
        double drift = 0;
        for (int j = 0; j < 6; ++j)
            drift = fmax(drift, fabs(h[j] - h0[j]));
        for (int i = 0; i < 2; ++i) {
            soa_contact_motion m;
            OK(soa_grasp_contact_motion(p.g, p.w, p.q, p.v, i, &m));
            gap = fmax(gap, m.gap);
        }
        printf("  %s: held within %.2e m, %.2e rad; internal force %.3f to %.3f N of 30; largest "
               "torque %.0f Nm\n",
               form ? "passive" : "linearising", held_position, held_angle, low, high, strongest);
        printf("    momentum off by %.1e, grasp open by %.1e\n", drift, gap);
        assert_true(held_position <= 5e-3 && held_angle <= 0.0175);
        assert_true(low >= 29.5 && high <= 30.5);
        assert_true(drift <= 1e-6 && gap <= 1e-6);
        soa_control_free(c);
        soa_grasp_free(p.g);
        soa_work_free(p.w);
        soa_model_free(t.m);
        soa_model_free(estimate.m);
    }
}

/* Time of one call, for the record. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* of this program, whatever else runs */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#define TIME(name, call)                                 \
    do {                                                 \
        double best_ = 1e9;                              \
        for (int r_ = 0; r_ < 5; ++r_) {                 \
            const double t_ = seconds();                 \
            for (int i_ = 0; i_ < 200; ++i_)             \
                OK(call);                                \
            best_ = fmin(best_, (seconds() - t_) / 200); \
        }                                                \
        printf("  %-62s %6.1f us\n", name, 1e6 * best_); \
    } while (0)
static void times(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    plant p = {.m = t.m};
    soa_control *c;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_work_create(t.m, &p.w));
    OK(soa_control_create(t.m, &def, &c));
    hold(&t, &p);
    double K[PUMA_V], D[PUMA_V], tau[PUMA_V], a[PUMA_V] = {0}, squeeze = 3;
    for (int j = 0; j < PUMA_V; ++j) {
        K[j] = 9;
        D[j] = 6;
    }
    const soa_joint_reference r = {p.q, NULL, NULL};
    const soa_joint_gains g = {K, D};
    soa_frame_task task = {.law = soa_frame_law_default(t.hand[0], t.base),
                           .goal = soa_motion_at_rest(NULL)};
    soa_coordination k = law_for(&t, SOA_COORDINATE_PASSIVE);
    soa_coordination_state state = {0};
    soa_hybrid_law hybrid = {.law = task.law, .force_rows = 32};
    soa_hybrid_state integral = {{0}};
    const double none[6] = {0};
    TIME("soa_rnea, for comparison", soa_rnea(t.m, p.w, p.q, p.v, a, NULL, 0, tau));
    TIME("joint PD", soa_control_joint_pd(c, p.q, p.v, &r, &g, tau));
    TIME("inverse dynamics, floating base",
         soa_control_inverse_dynamics(c, p.q, p.v, &r, &g, NULL, tau, NULL));
    TIME("passivity, floating base",
         soa_control_passivity(c, SOA_SLOTINE_LI, p.q, p.v, &r, &g, tau, NULL));
    TIME("decoupled, floating base", soa_control_decoupled(c, p.q, p.v, &r, K, D, tau, NULL));
    TIME("impedance", soa_control_impedance(c, p.q, p.v, &task.law, &task.goal, NULL, tau, NULL));
    TIME("operational space, one hand, generalized Jacobian",
         soa_control_operational_space(c, p.q, p.v, &task, 1, NULL, tau, NULL));
    TIME("hybrid",
         soa_control_hybrid(
             c, p.q, p.v, &hybrid,
             &(soa_hybrid_input){.goal = &task.goal, .force = none, .measured = none, .dt = DT},
             &integral, tau, NULL));
    TIME("coordination, passive",
         soa_control_coordination(
             c, p.q, p.v, &k,
             &(soa_coordination_input){.goal = &task.goal, .measured = &squeeze, .dt = DT}, &state,
             tau, NULL));
    k.form = SOA_COORDINATE_LINEARISING;
    TIME("coordination, linearising, goal relative to the floating base",
         soa_control_coordination(
             c, p.q, p.v, &k,
             &(soa_coordination_input){.goal = &task.goal, .measured = &squeeze, .dt = DT}, &state,
             tau, NULL));
    soa_control_free(c);
    soa_grasp_free(p.g);
    soa_work_free(p.w);
    soa_model_free(t.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_settle_on_a_floating_base),
        cmocka_unit_test(hand_reaches_goal),
        cmocka_unit_test(hand_presses_and_slides),
        cmocka_unit_test(base_is_held),
        cmocka_unit_test(linearising_is_exact),
        cmocka_unit_test(passive_law_is_passive),
        cmocka_unit_test(satellite_is_moved),
        cmocka_unit_test(times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
