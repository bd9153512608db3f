/* test_andrews.c  Andrews' squeezing mechanism (IFToMM A03), seven bodies and three loops, against
 * published digits. */
#include "check.h"

#include "stock/closed.h"
#include "soa/soa.h"
#include "soa/world.h"

enum { N = 7 };
static soai_mechanism make(soa_joint_type closer) {
    soai_mechanism k;
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soai_mechanism_make("andrews", closer, NULL, &k, &report)) fail_msg("%s", report.text);
    return k;
}

/* The formulas of R3, in its order of coordinates. */
static void mass_by_hand(const double q[N], double M[N][N]) {
    const double m1 = .04325, m2 = .00365, m3 = .02373, m4 = .00706, m5 = .07050, m6 = .00706,
                 m7 = .05498;
    const double I1 = 2.194e-6, I2 = 4.410e-7, I3 = 5.255e-6, I4 = 5.667e-7, I5 = 1.169e-5,
                 I6 = 5.667e-7, I7 = 1.912e-5;
    const double da = 115e-4, e = 2e-2, ea = 1421e-5, rr = 7e-3, ra = 92e-5, sa = 1874e-5,
                 sb = 1043e-5, ta = 2308e-5;
    const double tb = 916e-5, u = 4e-2, ua = 1228e-5, ub = 449e-5, zf = 2e-2, zt = 4e-2,
                 fa = 1421e-5;
    const double Theta = q[1], Phi = q[3], Omega = q[5];
    memset(M, 0, N * sizeof *M);
    M[0][0] = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * cos(Theta) + da * da) + I1 + I2;
    M[1][0] = m2 * (da * da - da * rr * cos(Theta)) + I2;
    M[1][1] = m2 * da * da + I2;
    M[2][2] = m3 * (sa * sa + sb * sb) + I3;
    M[3][3] = m4 * (e - ea) * (e - ea) + I4;
    M[4][3] = m4 * ((e - ea) * (e - ea) + zt * (e - ea) * sin(Phi)) + I4;
    M[4][4] = m4 * (zt * zt + 2 * zt * (e - ea) * sin(Phi) + (e - ea) * (e - ea)) +
              m5 * (ta * ta + tb * tb) + I4 + I5;
    M[5][5] = m6 * (zf - fa) * (zf - fa) + I6;
    M[6][5] = m6 * ((zf - fa) * (zf - fa) - u * (zf - fa) * sin(Omega)) + I6;
    M[6][6] = m6 * ((zf - fa) * (zf - fa) - 2 * u * (zf - fa) * sin(Omega) + u * u) +
              m7 * (ua * ua + ub * ub) + I6 + I7;
    for (int i = 0; i < N; ++i)
        for (int j = i + 1; j < N; ++j)
            M[i][j] = M[j][i];
}

static void mass_matrix(void **unused) {
    (void)unused;
    soai_mechanism k = make(SOA_REVOLUTE);
    soa_work *w = NULL;
    assert_int_equal(SOA_OK, soa_work_create(k.model, &w));
    worst_case mass = {0};
    const long seed = first_seed();
    for (long n = seed; n < seed + 100; ++n) {
        dice d = {(uint64_t)n};
        double q[N], ours[N], M[N * N], expected[N][N], got[N * N];
        roll_many(&d, -3, 3, N, q);
        for (int i = 0; i < N; ++i)
            ours[soai_andrews_order[i]] = q[i];
        assert_int_equal(SOA_OK, soa_crba(k.model, w, ours, M));
        mass_by_hand(q, expected);
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j)
                got[N * i + j] = M[N * soai_andrews_order[i] + soai_andrews_order[j]] * 1e6;
        for (int i = 0; i < N * N; ++i)
            (&expected[0][0])[i] *= 1e6;
        note(&mass, relative(got, &expected[0][0], N * N), n);
    }
    conclude("mass matrix against the formulas", &mass, 1e-14);
    soa_work_free(w);
    soai_mechanism_free(&k);
}

static void start(void **unused) {
    (void)unused;
    soai_mechanism k = make(SOA_REVOLUTE);
    soa_work *w = NULL;
    assert_int_equal(SOA_OK, soa_work_create(k.model, &w));
    double tau[N] = {0}, v[N] = {0}, qdd[N], lambda[15], got[N], force[6];
    const double expected[N] = {14222.4439199541139, -10666.8329399655854};
    const double multiplier[6] = {98.5668703962410896, -6.12268834425566266};
    worst_case acceleration = {0}, lambdas = {0};
    assert_int_equal(15, soa_constraints_row_count(k.constraints));
    k.torque(NULL, 0, k.q, v, tau);
    for (int method = SOA_CLOSED_AUTO; method <= SOA_CLOSED_NULL_SPACE; ++method) {
        soa_closed_options o = soa_closed_options_default();
        soa_closed_report report;
        o.method = (soa_closed_method)method;
        assert_int_equal(SOA_OK, soa_closed_fd(k.constraints, w, &o,
                                               &(soa_input){.q = k.q, .v = v, .tau = tau}, qdd,
                                               lambda, &report));
        assert_int_equal(6, report.rank);
        assert_int_equal(9, report.redundant);
        if (method == SOA_CLOSED_AUTO) printf("  %s\n", report.text);
        for (int i = 0; i < N; ++i)
            got[i] = qdd[soai_andrews_order[i]];
        note(&acceleration, relative(got, expected, N), method);
        /* their force on K2 is -lambda in world axes; ours is in K2's axes, rows: two angular, x,
         * y, z */
        const double turn = k.q[0] + k.q[1];
        for (int i = 0; i < 3; ++i) {
            const double *f = lambda + 5 * i + 2;
            force[2 * i] = -(cos(turn) * f[0] - sin(turn) * f[1]);
            force[2 * i + 1] = -(sin(turn) * f[0] + cos(turn) * f[1]);
        }
        note(&lambdas, relative(force, multiplier, 6), method);
    }
    conclude("accelerations at t = 0, four ways", &acceleration, 1e-11);
    conclude("multipliers at t = 0, four ways", &lambdas, 1e-11);
    soa_work_free(w);
    soai_mechanism_free(&k);
}

/* Both closers, two methods, two orders: the recomputed column. */
static void end(void **unused) {
    (void)unused;
    static const double q_end[N] = {15.8107711951537,   -15.7563710584118, 0.0408222401196458,
                                    -0.534730116342080, 0.524409965879954, 0.534730116342080,
                                    1.04808074104194};
    static const double v_end[4] = {1139.92030225911, -1424.37929517754, 11.0329119106187,
                                    19.2933741050322};
    static const struct {
        soa_joint_type closer;
        soa_closed_method method;
        int order;
    } way[] = {{SOA_REVOLUTE, SOA_CLOSED_AUTO, 8},
               {SOA_SPHERICAL, SOA_CLOSED_FORCES, 8},
               {SOA_SPHERICAL, SOA_CLOSED_KKT, 6}};
    const char *sanitized = getenv("SOA_SANITIZE");
    const size_t ways = sanitized && sanitized[0] ? 1 : sizeof way / sizeof *way;
    for (size_t n = 0; n < ways; ++n) {
        soai_mechanism k = make(way[n].closer);
        soa_closed_sim_options o = soa_closed_sim_options_default();
        soa_closed_sim_result r;
        soa_report report = {SOA_OK, -1, 0, ""};
        o.duration = 0.03;
        o.order = way[n].order;
        o.closed.method = way[n].method;
        o.relative_tolerance = 1e-13;
        o.absolute_tolerance = 1e-14;
        o.torque = k.torque;
        const double spring = soai_andrews_spring(k.q[2]);
        if (soa_closed_simulate(k.constraints, k.q, k.v, &o, &r, &report))
            fail_msg("%s", report.text);
        double q = 0, v = 0;
        for (int i = 0; i < N; ++i) {
            const double off = fabs(k.q[soai_andrews_order[i]] - q_end[i]);
            if (!(off <= q)) q = off;
        }
        for (int i = 0; i < 4; ++i) {
            const double off = fabs(k.v[soai_andrews_order[i]] - v_end[i]);
            if (!(off <= v)) v = off;
        }
        /* the torques' work is the drive's less what the spring holds */
        const double drive = r.supplied + soai_andrews_spring(k.q[2]) - spring;
        printf("  order %d: %ld steps (%ld rejected), %ld evaluations, %.3f s; q off by %.1e, q' "
               "by %.1e; g %.1e (%.1e "
               "before projection), rate %.1e; energy %.1e J of %.3g\n",
               o.order, r.steps, r.rejected, r.evaluations, r.wall_time, q, v, r.position_error,
               r.drift_worst, r.rate_error, r.balance_worst, r.energy_scale);
        assert_true(q <= 1e-9);
        assert_true(v <= 1e-7);
        assert_true(r.position_error <= 1e-14);
        assert_true(r.balance_worst <= 1e-10 * r.energy_scale);
        assert_true(fabs(drive - 33e-3 * (q_end[0] + 0.0617138900142764496)) <= 1e-9 * drive);
        soai_mechanism_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mass_matrix), cmocka_unit_test(start),
                                       cmocka_unit_test(end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
