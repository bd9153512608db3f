/* test_rccfd.c  all forward dynamics of arms that hold an object, on random systems, against the dense system (2.11).
 *
 * SOA_SEED=n chooses other systems.                                                                                   */
#include "grasp_systems.h"

enum { SYSTEMS = 500 };
static const char *const method_name[] = {"auto", "general", "RCCFD1", "RCCFD2", "RCCFD3", "loose", "woodbury"};

/* Another open-chain solver: mass matrix and Gauss. */
static soa_status by_mass_matrix(void *user, const soa_model *m, soa_work *w, const double *q, const double *v,
                                 const double *tau, const soa_wrench *wrenches, int count, double *qdd) {
    static double M[MOST_V * MOST_V], C[MOST_V];
    const int n = soa_nv(m);
    ++*(long *)user;
    soa_status s = soa_rnea(m, w, q, v, NULL, wrenches, count, C);
    if (s || (s = soa_crba(m, w, q, M))) return s;
    for (int j = 0; j < n; ++j) qdd[j] = (tau ? tau[j] : 0) - C[j];
    for (int j = 0; j < n; ++j) { /* L D L', positive definite */
        for (int i = j + 1; i < n; ++i) {
            const double l = M[n * i + j] / M[n * j + j];
            for (int k = j; k < n; ++k) M[n * i + k] -= l * M[n * j + k];
            qdd[i] -= l * qdd[j];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) qdd[i] -= M[n * i + k] * qdd[k];
        qdd[i] /= M[n * i + i];
    }
    return SOA_OK;
}

static void judge(const char *title, const recipe *r, long first, int systems) {
    static dense_grasp D;
    worst_case motion[SOA_GRASP_METHOD_COUNT] = {{0}}, torque = {0}, forces = {0}, kept = {0};
    long deficient = 0, hard = 0, refused = 0, woodbury = 0, solver_calls = 0;
    for (long seed = first; seed < first + systems; ++seed) {
        grasp_system s = grasp_system_open(seed, r);
        double qdd[MOST_V], f[MOST_ROWS], expected[MOST_V], f_expected[MOST_ROWS], t1[MOST_V], t2[MOST_V];
        dense_form(&s, s.q, s.v, &D);
        const int rank = dense_solve(&D, s.tau, expected, f_expected);
        dense_torques(&D, f_expected, t2);
        for (int method = 0; method < SOA_GRASP_METHOD_COUNT; ++method) {
            soa_grasp_options o = soa_grasp_default();
            soa_grasp_report report = {0};
            o.method = (soa_grasp_method)method;
            if (method == SOA_GRASP_GENERAL && seed % 2) o.solver = by_mass_matrix, o.user = &solver_calls;
            const soa_status status = soa_grasp_fd(s.g, s.w, &o, s.q, s.v, s.tau, NULL, 0, qdd, f, NULL, &report);
            if (method == SOA_GRASP_WOODBURY && status) { /* its own conditions */
                assert_true(status == SOA_E_ARGUMENT || status == SOA_E_SINGULAR);
                ++refused;
                continue;
            }
            if (!(report.condition < 1e8)) { /* the status is the answer */
                if (!(report.condition <= o.most_condition)) assert_int_equal(status, SOA_E_SINGULAR);
                hard += method == SOA_GRASP_AUTO;
                continue;
            }
            if (status)
                fail_msg("%s, seed %ld, %s: %s (residual %g)", title, seed, method_name[method],
                         soa_status_text(status), report.residual);
            assert_int_equal(report.rows, D.rows);
            assert_int_equal(report.least_norm, report.rank < report.rows);
            if (report.rank != rank)
                fail_msg("%s, seed %ld, %s: rank %d, dense %d of %d, condition %g", title, seed, method_name[method],
                         report.rank, rank, report.rows, report.condition);
            deficient += method == SOA_GRASP_AUTO && rank < D.rows;
            woodbury += method == SOA_GRASP_WOODBURY;
            note(&motion[method], relative(qdd, expected, (size_t)s.nv), seed);
            dense_torques(&D, f, t1);
            note(&torque, relative(t1, t2, (size_t)s.nv), seed);
            if (rank == D.rows) note(&forces, relative(f, f_expected, (size_t)D.n6), seed);
            for (int row = 0; row < D.rows; ++row) { /* T'(J vdot + bias) = 0 */
                double x = along_T(&D, row, D.bias), size = 1 + fabs(x);
                for (int j = 0; j < 6; ++j)
                    for (int k = 0; k < s.nv; ++k) {
                        const double term = D.T[row][j] * D.J[6 * D.owner[row] + j][k] * qdd[k];
                        x += term, size = fmax(size, fabs(term));
                    }
                note(&kept, fabs(x) / size, seed);
            }
        }
        grasp_system_close(&s);
    }
    printf(" %s: %d systems, %ld with singular Omega, %ld beyond condition 1e8, Woodbury %ld (refused %ld)\n", title,
           systems, deficient, hard, woodbury, refused);
    for (int method = 0; method < SOA_GRASP_METHOD_COUNT; ++method)
        if (motion[method].count) conclude(method_name[method], &motion[method], 1e-9);
    conclude("J'f, all methods", &torque, 1e-9);
    if (forces.count) conclude("f(0) where the rank is full, all methods", &forces, 1e-9);
    conclude("accelerations obey the contacts", &kept, 1e-9);
}

static void rigid_fixed(void **unused) {
    (void)unused;
    judge("rigid grasps, fixed bases", &(recipe){.rigid = 1}, first_seed(), SYSTEMS / 5);
}
static void rigid_floating(void **unused) {
    (void)unused;
    judge("rigid grasps, floating base", &(recipe){.rigid = 1, .floating = 1}, first_seed() + 10000, SYSTEMS / 5);
}
static void all_contacts(void **unused) {
    (void)unused;
    judge("all contacts", &(recipe){.floating = -1, .mechanism = -1}, first_seed() + 20000, SYSTEMS);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(rigid_fixed), cmocka_unit_test(rigid_floating),
                                       cmocka_unit_test(all_contacts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
