/* test_reference.c  published digits: PUMA 560, KUKA iiwa, pendulum, torque-free body, two links,
 * each to the digits given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

#define PI 3.14159265358979323846

/* Counts and prints every number that is off (NaN is off), so that one failure does not hide the
 * next. */
static int misses;

static void near_(const char *file, int line, const char *what, int index, double got,
                  double expected, double tolerance) {
    if (fabs(got - expected) <= tolerance) return;
    misses++;
    fprintf(stderr, "%s:%d: %s[%d]: got %.17g, expected %.17g, off by %.3g, allowed %.3g\n", file,
            line, what, index, got, expected, got - expected, tolerance);
}
#define NEAR(what, index, got, expected, tolerance) \
    near_(__FILE__, __LINE__, what, index, got, expected, tolerance)

static void near_all(const char *what, int count, const double *got, const double *expected,
                     double tolerance) {
    for (int i = 0; i < count; i++)
        NEAR(what, i, got[i], expected[i], tolerance);
}

static int begin(void **state) {
    (void)state;
    misses = 0;
    return 0;
}

#define OK(call) assert_int_equal(call, SOA_OK)

static const soa_model *stock(const char *name, int ideal) {
    soa_read_options options = {.ideal = ideal};
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_stock_model_create(name, &options, &model, &report);
    if (status != SOA_OK) fail_msg("%s: %s", name, report.text);
    return model;
}

static const soa_model *build(const soa_model_def *def) {
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_model_create(def, &model, &report);
    if (status != SOA_OK) fail_msg("%s: %s", def->name, report.text);
    return model;
}

/* Solves A X = B (n x n, n x m, row by row) by elimination with row exchange; A is lost, B becomes
 * X. */
static void solve(int n, int m, double *A, double *B) {
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
        for (int j = 0; j < n; j++) {
            double x = A[k * n + j];
            A[k * n + j] = A[best * n + j];
            A[best * n + j] = x;
        }
        for (int j = 0; j < m; j++) {
            double x = B[k * m + j];
            B[k * m + j] = B[best * m + j];
            B[best * m + j] = x;
        }
        for (int i = 0; i < n; i++) {
            if (i == k) continue;
            double f = A[i * n + k] / A[k * n + k];
            for (int j = k; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            for (int j = 0; j < m; j++)
                B[i * m + j] -= f * B[k * m + j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            B[i * m + j] /= A[i * n + i];
}

/* --- R1: PUMA 560 ----------------------------------------------------------------------------- */

static const double qn[6] = {0, PI / 4, PI, 0, PI / 4, 0};
static const double ones[6] = {1, 1, 1, 1, 1, 1};

static void r1_inverse_dynamics(void **state) {
    (void)state;
    const soa_model *model = stock("puma560", 0);
    soa_work *work;
    double tau[6];
    OK(soa_work_create(model, &work));

    /* j5 is published to 7 decimals only */
    const double still[6] = {0, 31.6398803783571, 6.03513802301051, 0, 0.0282528, 0};
    OK(soa_rnea(model, work, qn, NULL, NULL, NULL, 0, tau));
    for (int i = 0; i < 6; i++)
        NEAR("rne(qn,0,0)", i, tau[i], still[i], i == 4 ? 5e-8 : 1e-13);
    OK(soa_gravity_torque(model, work, qn, tau));
    for (int i = 0; i < 6; i++)
        NEAR("gravity(qn)", i, tau[i], still[i], i == 4 ? 5e-8 : 1e-13);

    const double pushed[6] = {3.35311085806303,  36.0025112439757,  7.42596407735027,
                              0.190043034566897, 0.203440931113415, 0.194132789939248};
    OK(soa_rnea(model, work, qn, NULL, ones, NULL, 0, tau));
    near_all("rne(qn,0,1)", 6, tau, pushed, 1e-13);

    const double moving[6] = {32.4952427549307, 60.8669884751363, 17.7435949127643,
                              1.45451902607971, 1.29911041053789, 0.713780887483695};
    OK(soa_rnea(model, work, qn, ones, ones, NULL, 0, tau));
    near_all("rne(qn,1,1)", 6, tau, moving, 1e-13);

    /* forward dynamics gives the accelerations back */
    double qdd[6];
    OK(soa_aba(model, work, qn, ones, moving, NULL, 0, qdd));
    near_all("aba(rne(qn,1,1))", 6, qdd, ones, 1e-12);
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

static void r1_without_friction(void **state) {
    (void)state;
    const soa_model *full = stock("puma560", 0), *ideal = stock("puma560", 1);
    const double smooth[6] = {1.9620364869799,   37.7854298333113,  6.67393732239212,
                              0.191266116382557, 0.205820409602487, 0.194281074210495};
    soa_work *work;
    double tau[6], with[6], back[6], minus[6];
    OK(soa_work_create(ideal, &work));
    OK(soa_rnea(ideal, work, qn, ones, ones, NULL, 0, tau));
    soa_work_free(work);
    OK(soa_work_create(full, &work));
    OK(soa_rnea(full, work, qn, ones, ones, NULL, 0, with));
    for (int i = 0; i < 6; i++)
        minus[i] = -1;
    OK(soa_rnea(full, work, qn, minus, ones, NULL, 0, back));
    for (int i = 0; i < 6; i++) {
        soa_body_info info;
        OK(soa_model_body(full, i + 1, &info));
        /* R1: + G^2 Jm qdd; then + G^2 B qd + |G| Tc */
        NEAR("without friction", i, tau[i] + info.gear_ratio * info.gear_ratio * info.rotor_inertia,
             smooth[i], 1e-13);
        NEAR("with - friction", i, with[i] - info.damping - info.friction_positive, smooth[i],
             1e-13);
        /* quadratic terms are the same both ways, friction is not */
        NEAR("v = -1", i, back[i] + info.damping + info.friction_negative, smooth[i], 1e-13);
        assert_true(info.friction_negative > 0 && info.damping > 0);
    }
    soa_work_free(work);
    soa_model_free(ideal);
    soa_model_free(full);
    assert_int_equal(misses, 0);
}

static void r1_tool_wrench(void **state) {
    (void)state;
    const soa_model *model = stock("puma560", 0);
    /* [f; m] = [1 2 3 1 2 3] by the tool on the environment, frame 6: minus that, [n; f], on the
     * link */
    soa_wrench wrench = {
        soa_model_find_frame(model, "link6_dh"), SOA_AXES_BODY, {-1, -2, -3, -1, -2, -3}};
    const double expected[6] = {0.642756297149232, 29.0866400327568, 4.70321250987556,
                                2.82842712474619,  -1.9717472,       3};
    soa_work *work;
    double tau[6];
    assert_true(wrench.frame >= 0);
    OK(soa_work_create(model, &work));
    OK(soa_rnea(model, work, qn, NULL, NULL, &wrench, 1, tau));
    for (int i = 0; i < 6; i++)
        NEAR("tool wrench", i, tau[i], expected[i], i == 4 ? 5e-8 : 1e-13);
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

static void r1_mass_matrix(void **state) {
    (void)state;
    static const double upper[21] = {3.65937541215,
                                     -0.404361246042,
                                     0.10061364778,
                                     -0.00251695582803,
                                     0,
                                     0,
                                     4.41374193364,
                                     0.350890664956,
                                     0,
                                     0.00235951306789,
                                     0,
                                     0.937841575215,
                                     0,
                                     0.00148016638852,
                                     0,
                                     0.192531706124,
                                     0,
                                     2.82842712475e-05,
                                     0.171348451657,
                                     0,
                                     0.194104505668};
    const soa_model *model = stock("puma560", 0);
    soa_work *work;
    double M[36], R[36];
    OK(soa_work_create(model, &work));
    OK(soa_crba(model, work, qn, M));
    OK(soa_mass_r87(model, work, qn, R));
    for (int i = 0, k = 0; i < 6; i++)
        for (int j = i; j < 6; j++, k++) {
            double tolerance;
            if (fabs(upper[k]) > 1) {
                tolerance = 1e-11;
            } else if (fabs(upper[k]) > 1e-3) {
                tolerance = 1e-12;
            } else {
                tolerance = 1e-14;
            }
            NEAR("mass", 10 * i + j, M[6 * i + j], upper[k], tolerance);
            NEAR("mass'", 10 * i + j, M[6 * j + i], upper[k], tolerance);
            NEAR("mass R87", 10 * i + j, R[6 * i + j], upper[k], tolerance);
        }
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

static void r1_operational_inertia(void **state) {
    (void)state;
    static const double upper[21] = {17.2954, -2.7542, -9.6233, 0,      .2795,   0, 12.1909,
                                     1.2459,  -.3254,  -.0703,  -.9652, 13.3348, 0, .2767,
                                     0,       .1941,   0,       .1941,  .1713,   0, .5791};
    const soa_model *model = stock("puma560", 0);
    soa_work *work;
    double J[36], Minv[36], compliance[36], inertia[36] = {0};
    OK(soa_work_create(model, &work));
    OK(soa_minv(model, work, qn, Minv));
    OK(soa_kinematics(model, work, qn, NULL, NULL));
    OK(soa_jacobian(model, work, soa_model_find_frame(model, "link6_dh"), SOA_AXES_WORLD, J));
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            compliance[6 * i + j] = 0;
            for (int k = 0; k < 6; k++)
                for (int l = 0; l < 6; l++)
                    compliance[6 * i + j] += J[6 * i + k] * Minv[6 * k + l] * J[6 * j + l];
        }
    for (int i = 0; i < 6; i++)
        inertia[7 * i] = 1;
    solve(6, 6, compliance, inertia);
    for (int i = 0, k = 0; i < 6; i++)
        for (int j = i; j < 6; j++, k++) { /* published linear rows first, ours angular first */
            int row = (i + 3) % 6, column = (j + 3) % 6;
            NEAR("operational inertia", 10 * i + j, inertia[6 * row + column], upper[k], 5.001e-5);
        }
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

static void r1_modified_set(void **state) {
    (void)state;
    const soa_model *model = stock("puma560-akb", 0);
    static const double mass[6] = {0, 17.4, 4.8, .82, .34, .09},
                        zz[6] = {.35, .539, .066, 1.3e-3, .4e-3, .04e-3};
    static const double rotor[6] = {291e-6, 409e-6, 299e-6, 35e-6, 35e-6, 35e-6};
    const double q[6] = {0.1, -0.2, 0.3, -0.4, 0.5, -0.6};
    soa_work *work;
    double tau[6], qdd[6];
    assert_int_equal(soa_model_nq(model), 6);
    for (int i = 0; i < 6; i++) {
        soa_body_info info;
        OK(soa_model_body(model, i + 1, &info));
        NEAR("mass", i, info.mass, mass[i], 0);
        NEAR("Izz", i, info.inertia[2], zz[i], 1e-16);
        NEAR("Jm", i, info.rotor_inertia, rotor[i], 0);
    }
    /* At q = 0 the joint origins are where the table puts them: modified rows are Rx Tx Rz Tz. */
    OK(soa_work_create(model, &work));
    soa_frame pose;
    const double zero[6] = {0}, wrist[3] = {0.4318 - 0.0203, 0.2435 - 0.0934, 0.4331};
    OK(soa_kinematics(model, work, zero, NULL, NULL));
    OK(soa_pose(model, work, soa_model_find_frame(model, "link4_dh"), &pose));
    near_all("wrist", 3, pose.p, wrist, 1e-15);
    OK(soa_rnea(model, work, q, ones, ones, NULL, 0, tau));
    OK(soa_aba(model, work, q, ones, tau, NULL, 0, qdd));
    near_all("aba(rnea)", 6, qdd, ones, 1e-12);
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

/* --- R2: KUKA iiwa ---------------------------------------------------------------------------- */

static void r2_iiwa(void **state) {
    (void)state;
    const soa_model *model = stock("arm7", 0);
    const double q[7] = {.1, .2, .3, .4, .5, .6, .7}, v[7] = {.1, -.2, .3, -.4, .5, -.6, .7};
    const double a[7] = {.7, .6, .5, .4, .3, .2, .1};
    const double tau_expected[7] = {0.216126769190506,  -5.31612812966536, -0.417980502837532,
                                    -4.85452850757458,  0.127920298088535, -0.421944936886126,
                                    0.00175318494740166};
    const double p[3] = {0.0320497444455317, -0.0187471284259382, 1.23715042633478};
    const double twist[6] = {0.448813292622809,   -0.0466098384052473,  1.5814887878569,
                             -0.0365696958546552, -0.00637977352506201, 0.0449479164252359};
    const double reaction[6] = {-1.69507865858707, -4.69149237041443, 0.216126769190506,
                                4.03385336770396,  0.717439126751269, 250.246476906393};
    soa_work *work;
    double tau[7], V[6], f[6];
    soa_frame pose;
    OK(soa_work_create(model, &work));
    OK(soa_rnea(model, work, q, v, a, NULL, 0, tau));
    near_all("tau", 7, tau, tau_expected, 1e-13);
    OK(soa_joint_force(model, work, 1, f));
    /* published in the joint's own frame, which does not turn with q1; ours is in body axes */
    double c = cos(q[0]), s = sin(q[0]), turned[6];
    for (int i = 0; i < 6; i += 3) {
        turned[i] = c * f[i] - s * f[i + 1];
        turned[i + 1] = s * f[i] + c * f[i + 1];
        turned[i + 2] = f[i + 2];
    }
    near_all("joint 1 reaction", 6, turned, reaction, 5e-13);
    OK(soa_kinematics(model, work, q, v, a));
    int tip = soa_model_find_frame(model, "link7");
    OK(soa_pose(model, work, tip, &pose));
    OK(soa_velocity(model, work, tip, SOA_AXES_WORLD, V));
    near_all("p", 3, pose.p, p, 1e-14);
    near_all("[w; v]", 6, V, twist, 1e-14);
    soa_work_free(work);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

/* R4: pendulum, R7: torque-free body: closed forms and converged numbers, through the integrator */

typedef struct keeper {
    double t[4];
    int wanted, nq, nv;
    double q[4][7], v[4][6];
} keeper;

static bool keep(void *user, const soa_sim_sample *sample) {
    keeper *k = user;
    for (int i = 0; i < k->wanted; i++)
        if (fabs(sample->t - k->t[i]) <= 1e-9) {
            memcpy(k->q[i], sample->q, (size_t)k->nq * sizeof(double));
            memcpy(k->v[i], sample->v, (size_t)k->nv * sizeof(double));
        }
    return 0;
}

static soa_sim_options tight(double duration, double sample_time, keeper *k) {
    soa_sim_options o = soa_sim_options_default();
    o.duration = duration;
    o.sample_time = sample_time;
    o.relative_tolerance = 1e-14;
    o.absolute_tolerance = 1e-15;
    o.order = 8;
    o.sample = keep;
    o.sample_user = k;
    return o;
}

static void r4_pendulum(void **state) {
    (void)state;
    static const double expected[4][2] = {{-0.391048791550546388, -0.920369948785192204},
                                          {0.986291751131875319, -0.165010853125541169},
                                          {-0.942305435043757335, -0.334754338414000581},
                                          {-0.275087462576116860, -0.961419205099125064}};
    soa_body_def bob = soa_body_default("bob", 0, SOA_REVOLUTE);
    bob.joint.axis[1] = 1;
    bob.joint.axis[2] = 0;
    bob.mass = 1;
    bob.com[0] = -1; /* horizontal, x = -1 */
    soa_model_def def = soa_model_default("pendulum", &bob, 1);
    const soa_model *model = build(&def);
    keeper k = {.t = {0.5, 1, 5, 10}, .wanted = 4, .nq = 1, .nv = 1};
    soa_sim_options o = tight(10, 0.5, &k);
    soa_sim_result result;
    const double q = 0;
    OK(soa_simulate(model, &q, NULL, &o, &result, NULL));
    for (int i = 0; i < 4; i++) { /* rotation about y by q: (-cos q, sin q) in (x, z) */
        NEAR("x", i, -cos(k.q[i][0]), expected[i][0], 2e-12);
        NEAR("z", i, sin(k.q[i][0]), expected[i][1], 2e-12);
    }
    NEAR("energy balance", 0, result.balance_worst / result.energy_scale, 0, 1e-12);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

static void r7_torque_free(void **state) {
    (void)state;
    for (int floating = 0; floating < 2; floating++) {
        soa_body_def body = soa_body_default("body", 0, floating ? SOA_FREE : SOA_SPHERICAL);
        body.mass = 1;
        for (int i = 0; i < 3; i++)
            body.inertia[i] = i + 1;
        soa_model_def def = soa_model_default("torque-free", &body, 1);
        def.gravity[2] = 0;
        const soa_model *model = build(&def);
        keeper k = {.t = {30}, .wanted = 1, .nq = soa_model_nq(model), .nv = soa_model_nv(model)};
        soa_sim_options o = tight(30, 1, &k);
        soa_sim_result result;
        double q[7], v[6] = {1e-3, 1, 1e-3};
        soa_q_neutral(model, q);
        OK(soa_simulate(model, q, v, &o, &result, NULL));
        static const double w[3] = {0.00119439643510, -0.999999786708555, 0.00106873489762};
        static const double attitude[4] = {1.007166e-6, 0.332779459879870, 6.478579e-5,
                                           0.943004680202520};
        static const double digits[4] = {5e-13, 5e-13, 5e-12, 5e-13};
        /* The middle axis is unstable: what rounding puts off the axis grows by exp(t / sqrt 3) =
         * 3e7, so the small components (1e-3) cannot be had better than some 3e7 * 2e-16 * 1e-3 in
         * double precision. */
        NEAR("w", 1, k.v[0][1], w[1], 1e-13);
        NEAR("w", 0, k.v[0][0], w[0], 1e-11);
        NEAR("w", 2, k.v[0][2], w[2], 1e-11);
        for (int i = 0; i < 4; i++)
            NEAR("attitude", i, k.q[0][(floating ? 3 : 0) + i], attitude[i], digits[i]);
        soa_model_free(model);
    }
    assert_int_equal(misses, 0);
}

/* --- R8: two links in a vertical plane -------------------------------------------------------- */

static void r8_two_links(void **state) {
    (void)state;
    soa_body_def bodies[2];
    for (int i = 0; i < 2; i++) { /* in the x-y plane, y up, joints about z */
        bodies[i] = soa_body_default(i == 0 ? "upper" : "lower", i, SOA_REVOLUTE);
        bodies[i].placement.p[0] = i;
        bodies[i].mass = 1;
        bodies[i].com[0] = 0.5;
    }
    soa_frame_def tip = {"tip", 2, soa_frame_identity()};
    tip.placement.p[0] = 1;
    soa_model_def def = soa_model_default("two links", bodies, 2);
    const double g = 9.81, gravity[3] = {0, -g, 0}, none[3] = {0, 0, 0};
    memcpy(def.gravity, gravity, sizeof gravity);
    def.frames = &tip;
    def.frame_count = 1;
    const soa_model *model = build(&def), *weightless = NULL;
    OK(soa_model_with_gravity(model, none, &weightless));
    static const double q[3][2] = {{0, 0}, {0, PI / 2}, {PI / 2, 0}};
    const double expected[3][2] = {{2 * g, 0.5 * g}, {1.5 * g, 0}, {0, 0}};
    soa_work *work;
    double tau[2];
    OK(soa_work_create(model, &work));
    for (int i = 0; i < 3; i++) {
        OK(soa_rnea(model, work, q[i], NULL, NULL, NULL, 0, tau));
        near_all("tau", 2, tau, expected[i], 1e-14);
    }
    soa_work_free(work);
    OK(soa_work_create(weightless, &work));
    /* the tool pushes on the environment along +y: the environment pushes the link along -y */
    soa_wrench wrench = {
        soa_model_find_frame(weightless, "tip"), SOA_AXES_WORLD, {0, 0, 0, 0, -1, 0}};
    const double reaction[2] = {2, 1};
    OK(soa_rnea(weightless, work, q[0], NULL, NULL, &wrench, 1, tau));
    near_all("tip force", 2, tau, reaction, 1e-15);
    soa_work_free(work);
    soa_model_free(weightless);
    soa_model_free(model);
    assert_int_equal(misses, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(r1_inverse_dynamics, begin),
        cmocka_unit_test_setup(r1_without_friction, begin),
        cmocka_unit_test_setup(r1_tool_wrench, begin),
        cmocka_unit_test_setup(r1_mass_matrix, begin),
        cmocka_unit_test_setup(r1_operational_inertia, begin),
        cmocka_unit_test_setup(r1_modified_set, begin),
        cmocka_unit_test_setup(r2_iiwa, begin),
        cmocka_unit_test_setup(r4_pendulum, begin),
        cmocka_unit_test_setup(r7_torque_free, begin),
        cmocka_unit_test_setup(r8_two_links, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
