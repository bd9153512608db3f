/* test_control_paths.c  paths and their limits; the supervisor: phases, holds, switching without a
 * jump in torque, checkpoints, diagram. */
#include "control_systems.h"

/* --- paths ------------------------------------------------------------------------------------ */
static void profiles(void **unused) {
    (void)unused;
    worst_case speed = {0}, acceleration = {0}, ends = {0}, tight = {0};
    for (long seed = first_seed(); seed < first_seed() + 200; ++seed) {
        dice d = {(uint64_t)seed};
        const double most = roll(&d, 0.1, 5), hard = roll(&d, 0.1, 20);
        for (int kind = 0; kind < 2; ++kind) {
            soa_profile p;
            OK(soa_profile_fastest((soa_profile_kind)kind, most, hard, &p));
            double s[3], a[3], b[3], top = 0, steep = 0;
            for (int i = 0; i <= 1000; ++i) {
                const double t = p.time * i / 1000, h = 1e-6 * p.time;
                soa_profile_at(&p, t, s);
                soa_profile_at(&p, t + h, a);
                soa_profile_at(&p, t - h, b);
                top = fmax(top, fabs(s[1]));
                steep = fmax(steep, fabs(s[2]));
                /* ramps have corners: there s'' jumps */
                const int corner = kind && (fabs(t - p.ramp) < 2 * h ||
                                            fabs(p.time - t - p.ramp) < 2 * h || i % 1000 == 0);
                if (i % 1000 == 0) continue;
                if (!corner) note(&speed, fabs((a[0] - b[0]) / (2 * h) - s[1]) / most, seed);
                if (!corner) note(&acceleration, fabs((a[1] - b[1]) / (2 * h) - s[2]) / hard, seed);
            }
            note(&ends, fmax(fmax(top / most, steep / hard) - 1, 0), seed);
            note(&tight, 1 - fmax(top / most, steep / hard), seed); /* one limit is reached */
            soa_profile_at(&p, -1, s);
            note(&ends, fabs(s[0]) + fabs(s[1]) + fabs(s[2]), seed);
            soa_profile_at(&p, p.time * 1.01, s);
            note(&ends, fabs(s[0] - 1) + fabs(s[1]) + fabs(s[2]), seed);
        }
    }
    conclude("s' against differences of s", &speed, 1e-6);
    conclude("s'' against differences of s'", &acceleration, 1e-6);
    conclude("ends and limits", &ends, 1e-12);
    conclude("one limit is reached", &tight, 1e-5);
    soa_profile p = soa_profile_quintic(0);
    double s[3];
    soa_profile_at(&p, 0, s);
    assert_true(s[0] == 1 && s[1] == 0 && s[2] == 0);
    assert_int_equal(soa_profile_fastest(SOA_PROFILE_QUINTIC, 0, 1, &p), SOA_E_ARGUMENT);
    assert_int_equal(soa_profile_fastest(SOA_PROFILE_QUINTIC, INFINITY, INFINITY, &p),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_profile_fastest(SOA_PROFILE_TRAPEZOID, NAN, 1, &p), SOA_E_ARGUMENT);
}

/* Twist and acceleration of a moving pose against differences of poses and twists. */
static void compare_motion(const soa_motion m[3], double h, long seed, worst_case *twist,
                           worst_case *acceleration) {
    double between[9], rho[3], x[6], y[6];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            between[3 * i + j] = 0;
            for (int k = 0; k < 3; ++k)
                between[3 * i + j] += m[2].pose.R[3 * i + k] * m[0].pose.R[3 * j + k];
        }
    soa_rotation_to_vector(between, rho);
    for (int j = 0; j < 3; ++j) {
        x[j] = rho[j] / (2 * h);
        x[3 + j] = (m[2].pose.p[j] - m[0].pose.p[j]) / (2 * h);
    }
    for (int j = 0; j < 6; ++j)
        y[j] = (m[2].twist[j] - m[0].twist[j]) / (2 * h);
    note(twist, relative(x, m[1].twist, 6), seed);
    note(acceleration, relative(y, m[1].acceleration, 6), seed);
}
static void poses(void **unused) {
    (void)unused;
    worst_case twist = {0}, acceleration = {0}, ends = {0}, twist_from = {0},
               acceleration_from = {0};
    for (long seed = first_seed(); seed < first_seed() + 300; ++seed) {
        dice d = {(uint64_t)seed};
        soa_motion from = {.pose = random_place(&d, 1)}, m[3];
        soa_frame to = random_place(&d, 1);
        if (seed % 3 == 0) memcpy(to.R, from.pose.R, sizeof to.R);
        roll_many(&d, -0.5, 0.5, 6, from.twist);
        const double T = roll(&d, 0.5, 4), h = 1e-5, t = roll(&d, 0.01, 0.99) * T;
        const soa_profile p = soa_profile_quintic(T);
        for (int k = 0; k < 3; ++k) {
            double s[3];
            soa_profile_at(&p, t + (k - 1) * h, s);
            OK(soa_path_pose(&from.pose, &to, s, m + k));
        }
        compare_motion(m, h, seed, &twist, &acceleration);
        for (int k = 0; k < 3; ++k)
            OK(soa_path_pose_from_motion(&from, &to, T, t + (k - 1) * h, m + k));
        compare_motion(m, h, seed, &twist_from, &acceleration_from);
        OK(soa_path_pose_from_motion(&from, &to, T, 0, m));
        note(&ends, relative(m[0].twist, from.twist, 6) + relative(m[0].pose.R, from.pose.R, 9),
             seed);
        OK(soa_path_pose_from_motion(&from, &to, T, T * (1 - 1e-9), m));
        note(&ends, relative(m[0].pose.R, to.R, 9) + relative(m[0].pose.p, to.p, 3), seed);
        const double limits[2] = {0.4, 0.3}, hard[2] = {1, 0.5};
        soa_profile fast;
        OK(soa_path_pose_profile(&from.pose, &to, (soa_profile_kind)(seed % 2), limits, hard,
                                 &fast));
        for (int i = 0; i <= 50; ++i) {
            double s[3];
            soa_profile_at(&fast, fast.time * i / 50, s);
            OK(soa_path_pose(&from.pose, &to, s, m));
            for (int k = 0; k < 2; ++k) {
                const double *w = m[0].twist + 3 * k, *a = m[0].acceleration + 3 * k;
                note(&ends, fmax(sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) / limits[k] - 1, 0),
                     seed);
                note(&ends, fmax(sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) / hard[k] - 1, 0),
                     seed);
            }
        }
    }
    conclude("pose path: twist", &twist, 1e-6);
    conclude("pose path: acceleration", &acceleration, 1e-6);
    conclude("pose path from a motion: twist", &twist_from, 1e-6);
    conclude("pose path from a motion: acceleration", &acceleration_from, 1e-6);
    conclude("ends and limits", &ends, 1e-8);
}

static void joint_paths(void **unused) {
    (void)unused;
    worst_case end = {0}, rate = {0};
    for (long seed = first_seed(); seed < first_seed() + 50; ++seed) {
        const soa_model *m = random_tree(seed, 2 + (int)(seed % 8), TREE_BRANCHED);
        tree_state a = random_tree_state(m, seed), b = random_tree_state(m, seed + 1000);
        const int nq = soa_model_nq(m), nv = soa_model_nv(m);
        double *q = numbers(nq), *q2 = numbers(nq), *v = numbers(nv), *acc = numbers(nv),
               *x = numbers(nv);
        OK(soa_path_joint(m, a.q, b.q, (const double[3]){1, 0, 0}, q, v, acc));
        OK(soa_q_difference(m, q, b.q, x));
        for (int j = 0; j < nv; ++j)
            note(&end, fabs(x[j]), seed);
        const soa_profile p = soa_profile_quintic(2);
        double s[3];
        const double h = 1e-5, t = 0.7;
        soa_profile_at(&p, t - h, s);
        OK(soa_path_joint(m, a.q, b.q, s, q, x, NULL));
        soa_profile_at(&p, t + h, s);
        OK(soa_path_joint(m, a.q, b.q, s, q2, x, NULL));
        soa_profile_at(&p, t, s);
        OK(soa_q_difference(m, q, q2, x));
        for (int j = 0; j < nv; ++j)
            x[j] /= 2 * h;
        OK(soa_path_joint(m, a.q, b.q, s, q, v, acc));
        note(&rate, relative(x, v, (size_t)nv), seed);
        free(q);
        free(q2);
        free(v);
        free(acc);
        free(x);
        free_tree_state(&a);
        free_tree_state(&b);
        soa_model_free(m);
    }
    conclude("joint path ends at its goal", &end, 1e-12);
    conclude("joint path: v against differences of q", &rate, 1e-7);

    /* times for limits: an arm with limits of its own, or by its torques alone */
    soa_report report;
    const soa_model *stock;
    if (soa_stock_model_create("arm7", NULL, &stock, &report)) fail_msg("%s", report.text);
    const int n = soa_model_nv(stock);
    soa_control *c;
    soa_work *w;
    const soa_control_def def = soa_control_default(NULL);
    OK(soa_control_create(stock, &def, &c));
    OK(soa_work_create(stock, &w));
    double q0[16] = {0}, q1[16] = {0}, q[16], v[16], a[16], tau[16], hard[16], fast[16];
    for (int j = 0; j < n; ++j) {
        q1[j] = 0.5 + 0.1 * j;
        fast[j] = 50;
    }
    for (int kind = 0; kind < 2; ++kind)
        for (int effort = 0; effort < 2; ++effort) {
            for (int j = 0; j < n; ++j)
                hard[j] = effort ? 500 : 3;
            const soa_path_limits limits = {effort ? fast : NULL, hard, effort};
            soa_profile p;
            const soa_status s =
                soa_path_joint_profile(c, q0, q1, (soa_profile_kind)kind, &limits, &p);
            OK(s);
            double most[3] = {0};
            for (int i = 0; i <= 640; ++i) {
                double x[3];
                soa_profile_at(&p, p.time * (i == 640 ? 1 - 1e-9 : i / 640.0), x);
                OK(soa_path_joint(stock, q0, q1, x, q, v, a));
                OK(soa_rnea(stock, w, q, v, a, NULL, 0, tau));
                for (int j = 0; j < n; ++j) {
                    soa_body_info b;
                    OK(soa_model_body(stock, j + 1, &b));
                    most[0] = fmax(most[0], fabs(v[j]) / (effort ? fast[j] : b.max_speed));
                    most[1] = fmax(most[1], fabs(a[j]) / hard[j]);
                    most[2] = fmax(most[2], fabs(tau[j]) / b.max_effort);
                }
            }
            printf("  %s%s: %.3f s; of the limits: speed %.3f, acceleration %.3f, effort %.3f\n",
                   kind ? "trapezoid" : "quintic", effort ? " with effort" : "", p.time, most[0],
                   most[1], most[2]);
            assert_true(most[0] <= 1 + 1e-9 && most[1] <= 1 + 1e-9);
            if (effort) assert_true(most[2] <= 1.01); /* between samples */
            assert_true(fmax(fmax(most[0], most[1]), effort ? most[2] : 0) >= 0.98);
        }
    soa_control_free(c);
    soa_work_free(w);
    soa_model_free(stock);
}

/* --- supervisor ------------------------------------------------------------------------------- */
enum { FORCE, ERROR, SIGNALS };
static const char *const signal_names[SIGNALS] = {"force.fingers", "error.\"left\""};
static const soa_supervisor_condition near_goal[] = {{ERROR, 0, 0.01, 0.05}, {FORCE, 0, 1, 0}};
static const soa_supervisor_condition touched[] = {{FORCE, 1, 5, 0}};
static const soa_supervisor_condition late[] = {{SOA_SIGNAL_PHASE_TIME, 1, 2, 0}};
static const soa_supervisor_transition from_approach[] = {
    {2, 1, touched}, {1, 2, near_goal}, {3, 1, late}};
static const soa_supervisor_transition from_contact[] = {{2, 1, touched}, {0, 1, late}};
static const soa_supervisor_transition from_retreat[] = {{0, 0, NULL}};
static const soa_supervisor_phase phases[] = {{"approach", 0.1, 3, from_approach},
                                              {"contact", 0.2, 2, from_contact},
                                              {"coordination", 0.5, 0, NULL},
                                              {"retreat", 0, 1, from_retreat}};
static const soa_supervisor supervisor = {4, phases, SIGNALS, signal_names};

static void supervisor_phases(void **unused) {
    (void)unused;
    soa_report report;
    soa_supervisor_state s;
    double signals[SIGNALS] = {0, 1};
    bool changed;
    if (soa_supervisor_check(&supervisor, &report)) fail_msg("%s", report.text);
    OK(soa_supervisor_start(&supervisor, &s));
    assert_true(s.phase == 0 && s.before == -1);
    /* nothing holds */
    for (int i = 0; i < 100; ++i) {
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
        assert_false(changed);
    }
    /* the error is small for 49 ms, broken by one sample, then for 50 ms */
    signals[ERROR] = 0.005;
    for (int i = 0; i < 50; ++i)
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    assert_false(changed);
    signals[ERROR] = NAN;
    OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    signals[ERROR] = 0.005;
    int samples = 0;
    do {
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
        ++samples;
    } while (!changed && samples < 200);
    assert_int_equal(samples, 51); /* first sample starts the clock */
    assert_true(s.phase == 1 && s.before == 0 && s.transition == 1 && s.time == 0 &&
                s.changes == 1);
    /* a copy of the state goes on just the same */
    soa_supervisor_state copy = s;
    for (int i = 0; i < 500; ++i)
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, NULL));
    for (int i = 0; i < 500; ++i)
        OK(soa_supervisor_tick(&supervisor, &copy, signals, 0.001, NULL));
    assert_memory_equal(&s, &copy, sizeof s);
    /* fall back after two seconds, then at once into the first transition that holds */
    for (int i = 0; i < 1600; ++i)
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, NULL));
    assert_true(s.phase == 1 && s.changes == 3); /* approach, and its 50 ms, lie between */
    signals[FORCE] = 6;
    OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    assert_true(changed && s.phase == 2);
    for (int i = 0; i < 100; ++i)
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    assert_true(!changed && s.phase == 2);
    /* retreat leaves at once */
    OK(soa_supervisor_start(&supervisor, &s));
    signals[FORCE] = 2;
    signals[ERROR] = 1;
    for (int i = 0; i < 2001; ++i)
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    assert_true(s.phase == 3);
    OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
    assert_true(changed && s.phase == 0 && s.before == 3);
}

/* Constant torques of each law: the sum never jumps by more than the fade allows, and ends at the
 * new law's. */
static void supervisor_is_bumpless(void **unused) {
    (void)unused;
    soa_supervisor_state s;
    double signals[SIGNALS] = {0, 1}, last[2] = {0}, offset[2] = {0}, most = 0, tau[2] = {0};
    bool changed;
    OK(soa_supervisor_start(&supervisor, &s));
    for (int i = 0; i < 1000; ++i) {
        if (i == 200) signals[FORCE] = 6; /* to coordination, blend 0.5 s */
        OK(soa_supervisor_tick(&supervisor, &s, signals, 0.001, &changed));
        tau[0] = s.phase == 0 ? 10 : -30;
        tau[1] = s.phase == 0 ? 1 : 1;
        OK(soa_supervisor_blend(&supervisor, &s, changed, 2, last, offset, tau));
        if (i > 0) most = fmax(most, fabs(tau[0] - last[0]));
        if (changed) assert_true(tau[0] == last[0]);
        memcpy(last, tau, sizeof last);
    }
    printf("  largest jump of 40 Nm blended over 0.5 s: %.3f Nm a sample, %.3f at best\n", most,
           40 * 1.875 / 500);
    assert_true(most <= 40 * 1.875 / 500 * 1.001);
    assert_true(tau[0] == -30 && tau[1] == 1);
}

static void supervisor_diagram(void **unused) {
    (void)unused;
    size_t length = 0, again = 0;
    OK(soa_supervisor_diagram(&supervisor, NULL, 0, &length));
    char *text = malloc(length + 8);
    memset(text, '#', length + 8);
    assert_int_equal(soa_supervisor_diagram(&supervisor, text, length - 1, &again), SOA_E_MEMORY);
    assert_true(text[0] == '#' && again == length);
    OK(soa_supervisor_diagram(&supervisor, text, length, NULL));
    assert_int_equal(strlen(text) + 1, length);
    assert_true(text[length] == '#');
    assert_non_null(strstr(
        text,
        "p0 -> p1 [label=\"2: error.\\\"left\\\" < 0.01 for 0.05 s\\nand force.fingers < 1\"]"));
    assert_non_null(strstr(text, "p3 -> p0 [label=\"at once\"]"));
    assert_non_null(strstr(text, "phase_time > 2"));
    printf("%s", text);
    free(text);
    /* what cannot be: named */
    soa_report report;
    soa_supervisor_transition wrong = {7, 0, NULL};
    soa_supervisor_phase phase = {"one", 0, 1, &wrong};
    soa_supervisor bad = {1, &phase, 0, NULL};
    assert_int_equal(soa_supervisor_check(&bad, &report), SOA_E_ARGUMENT);
    assert_non_null(strstr(report.text, "phase 7 of 1"));
    soa_supervisor_condition blind = {3, 1, 0, 0};
    wrong = (soa_supervisor_transition){0, 1, &blind};
    assert_int_equal(soa_supervisor_check(&bad, &report), SOA_E_ARGUMENT);
    blind = (soa_supervisor_condition){SOA_SIGNAL_PHASE_TIME, 1, NAN, 0};
    assert_int_equal(soa_supervisor_check(&bad, &report), SOA_E_ARGUMENT);
    phase.name = "";
    assert_int_equal(soa_supervisor_check(&bad, &report), SOA_E_NAME);
    soa_supervisor_state s;
    assert_int_equal(soa_supervisor_start(&bad, &s), SOA_E_NAME);
    OK(soa_supervisor_start(&supervisor, &s));
    assert_int_equal(soa_supervisor_tick(&supervisor, &s, NULL, 0.1, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_supervisor_tick(&supervisor, &s, (const double[2]){0, 0}, NAN, NULL),
                     SOA_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles),
        cmocka_unit_test(poses),
        cmocka_unit_test(joint_paths),
        cmocka_unit_test(supervisor_phases),
        cmocka_unit_test(supervisor_is_bumpless),
        cmocka_unit_test(supervisor_diagram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
