/* test_lambda_c.c  two arms that hold each other: RJK91 (21) to (26), forward dynamics of the
 * closed chain through Lambda_c, as operator expressions, planned and formed, against the dense KKT
 * system of the same machine. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "trees.h"

#define FREE_MOTION "inv(Mass) (T - H phi (M phi' a + b))" /* (24) */
#define FREE_TIPS "B' phi' (H' " FREE_MOTION " + a)"       /* (25) of the free motion */
#define COMPLIANCE "A J inv(Mass) J' A'"                   /* Lambda_c^-1 */
#define CLOSING "-inv(" COMPLIANCE ") A " FREE_TIPS        /* (26) */
#define CLOSED FREE_MOTION " - inv(Mass) J' A' inv(" COMPLIANCE ") A " FREE_TIPS /* (23) */

static const soa_variable variables[] = {{"A", SOA_SPACE_BASE, SOA_SPACE_TIP, false},
                                         {"A1", SOA_SPACE_BASE, SOA_SPACE_TIP, false},
                                         {"A2", SOA_SPACE_BASE, SOA_SPACE_TIP, false},
                                         {"x", SOA_SPACE_BASE, SOA_SPACE_ONE, false},
                                         {"acc", SOA_SPACE_JOINT, SOA_SPACE_ONE, false}};
enum { VARIABLES = sizeof variables / sizeof *variables };

static const soa_expr *parsed(const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, variables, VARIABLES, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    return e;
}
/* By sweeps, as it stands or improved; or by dense arithmetic. */
enum { AS_IT_STANDS, IMPROVED, DENSE };
static void value_of(soa_machine *k, const char *text, int how, double *out) {
    static struct {
        const char *text;
        const soa_expr *e;
    } found[4]; /* the search is the slow part: once for each text */
    const soa_expr *e = parsed(text), *use = e;
    soa_plan *p = NULL;
    char message[600];
    if (how == IMPROVED) {
        int i = 0;
        while (found[i].text && strcmp(found[i].text, text) != 0)
            ++i;
        if (!found[i].text) {
            found[i].text = text;
            assert_int_equal(soa_expr_improve(e, 100, NULL, NULL, &found[i].e), SOA_OK);
        }
        use = found[i].e;
    }
    if (how == DENSE) {
        assert_int_equal(soa_machine_dense_matrix(k, e, out), SOA_OK);
    } else {
        if (soa_plan_create(k, use, &p, message, sizeof message) != SOA_OK) fail_msg("%s", message);
        assert_int_equal(soa_plan_run(p, out), SOA_OK);
    }
    soa_plan_free(p);
    soa_expr_free(e);
}

typedef struct pair {
    const soa_model *m;
    soa_machine *k;
    soa_work *w;
    int tip[2], nv;
    double *q, *v, *tau;
    double *J, gamma[6]; /* relative motion at the first tip's origin, world axes, classical: Jc,
                          * (dJc/dt) v */
    soa_frame pose[2];
} pair;
/* Motion of a point of tip 2's body that is now at tip 1: rows of a 6 x n matrix. */
static void at_first_tip(const pair *p, int n, double *X) {
    double r[3];
    for (int j = 0; j < 3; ++j)
        r[j] = p->pose[0].p[j] - p->pose[1].p[j];
    for (int c = 0; c < n; ++c) {
        double *x = X + c;
        x[3 * n] += x[n] * r[2] - x[2 * n] * r[1];
        x[4 * n] += x[2 * n] * r[0] - x[0] * r[2];
        x[5 * n] += x[0] * r[1] - x[n] * r[0];
    }
}
/* inv(A) x, n equations, Gaussian elimination with pivoting */
static void solve(int n, double *A, double *x) {
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c; r < n; ++r)
            if (fabs(A[n * r + c]) > fabs(A[n * best + c])) best = r;
        for (int j = 0; j < n; ++j) {
            const double t = A[n * c + j];
            A[n * c + j] = A[n * best + j];
            A[n * best + j] = t;
        }
        const double t = x[c];
        x[c] = x[best];
        x[best] = t;
        for (int r = c + 1; r < n; ++r) {
            const double s = A[n * r + c] / A[n * c + c];
            for (int j = c; j < n; ++j)
                A[n * r + j] -= s * A[n * c + j];
            x[r] -= s * x[c];
        }
    }
    for (int r = n - 1; r >= 0; --r) {
        for (int c = r + 1; c < n; ++c)
            x[r] -= A[n * r + c] * x[c];
        x[r] /= A[n * r + r];
    }
}
static pair open_pair(const soa_model *m, int body1, int body2, long seed) {
    pair p = {.m = m, .nv = soa_model_nv(m)};
    soa_body_info one, two;
    soa_report report;
    assert_int_equal(soa_model_body(m, body1, &one), SOA_OK);
    assert_int_equal(soa_model_body(m, body2, &two), SOA_OK);
    p.tip[0] = one.frame;
    p.tip[1] = two.frame;
    assert_int_equal(soa_machine_create(m, p.tip, 2, &p.k, &report), SOA_OK);
    assert_int_equal(soa_work_create(m, &p.w), SOA_OK);
    tree_state s = random_tree_state(m, seed);
    p.q = s.q;
    p.v = s.v;
    p.tau = s.tau;
    const size_t n = (size_t)p.nv;
    double *J2 = calloc(6 * n, sizeof *J2), G[36], u[6], g[6];
    p.J = calloc(6 * n, sizeof(double));
    assert_int_equal(soa_kinematics(m, p.w, p.q, NULL, NULL), SOA_OK);
    for (int t = 0; t < 2; ++t)
        assert_int_equal(soa_pose(m, p.w, p.tip[t], &p.pose[t]), SOA_OK);
    assert_int_equal(soa_jacobian(m, p.w, p.tip[0], SOA_AXES_WORLD, p.J), SOA_OK);
    assert_int_equal(soa_jacobian(m, p.w, p.tip[1], SOA_AXES_WORLD, J2), SOA_OK);
    at_first_tip(&p, p.nv, J2);
    for (size_t i = 0; i < 6 * n; ++i)
        p.J[i] -= J2[i];
    /* velocities that keep the hands together: v -= Jc' inv(Jc Jc') Jc v, twice for the rounding */
    for (int again = 0; again < 2; ++again) {
        for (size_t r = 0; r < 6; ++r) {
            u[r] = 0;
            for (size_t c = 0; c < n; ++c)
                u[r] += p.J[n * r + c] * p.v[c];
            for (size_t c = 0; c < 6; ++c) {
                G[6 * r + c] = 0;
                for (size_t i = 0; i < n; ++i)
                    G[6 * r + c] += p.J[n * r + i] * p.J[n * c + i];
            }
        }
        solve(6, G, u);
        for (size_t c = 0; c < n; ++c)
            for (size_t r = 0; r < 6; ++r)
                p.v[c] -= p.J[n * r + c] * u[r];
    }
    double V2[6], w[3], r[3];
    assert_int_equal(soa_kinematics(m, p.w, p.q, p.v, NULL), SOA_OK);
    assert_int_equal(soa_jacobian_dot_v(m, p.w, p.tip[0], SOA_AXES_WORLD, p.gamma), SOA_OK);
    assert_int_equal(soa_jacobian_dot_v(m, p.w, p.tip[1], SOA_AXES_WORLD, g), SOA_OK);
    assert_int_equal(soa_velocity(m, p.w, p.tip[1], SOA_AXES_WORLD, V2), SOA_OK);
    at_first_tip(&p, 1, g);
    for (int j = 0; j < 3; ++j)
        r[j] = p.pose[0].p[j] - p.pose[1].p[j];
    for (int j = 0; j < 3; ++j)
        w[j] = V2[(j + 1) % 3] * r[(j + 2) % 3] - V2[(j + 2) % 3] * r[(j + 1) % 3]; /* w x r */
    for (int j = 0; j < 3; ++j)
        g[3 + j] += V2[(j + 1) % 3] * w[(j + 2) % 3] - V2[(j + 2) % 3] * w[(j + 1) % 3];
    for (int j = 0; j < 6; ++j)
        p.gamma[j] -= g[j];
    free(J2);
    assert_int_equal(soa_machine_set_state(p.k, p.q, p.v, NULL, p.tau, NULL, NULL, 0), SOA_OK);
    /* A = [X1 -X2]: tip motions brought to the world's origin and axes, where spatial accelerations
     * can be compared */
    double A[72] = {0}, part[2][72] = {{0}};
    for (int t = 0; t < 2; ++t) {
        const soa_frame back = soa_frame_inverse(&p.pose[t]); /* the world seen in the tip */
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0}, x[6];
            e[c] = 1;
            soa_frame_motion_to_child(&back, e, x);
            for (int row = 0; row < 6; ++row) {
                part[t][12 * row + 6 * t + c] = x[row];
                A[12 * row + 6 * t + c] = t ? -x[row] : x[row];
            }
        }
    }
    assert_int_equal(soa_machine_set_matrix(p.k, "A", SOA_SPACE_TIP, SOA_SPACE_BASE, A), SOA_OK);
    assert_int_equal(soa_machine_set_matrix(p.k, "A1", SOA_SPACE_TIP, SOA_SPACE_BASE, part[0]),
                     SOA_OK);
    assert_int_equal(soa_machine_set_matrix(p.k, "A2", SOA_SPACE_TIP, SOA_SPACE_BASE, part[1]),
                     SOA_OK);
    return p;
}
static void close_pair(pair *p) {
    free(p->q);
    free(p->v);
    free(p->tau);
    free(p->J);
    soa_machine_free(p->k);
    soa_work_free(p->w);
    soa_model_free(p->m);
}
/* [M Jc'; Jc 0] [qdd; -lambda] = [tau - bias; -gamma]; f: lambda moved to the world's origin, on
 * tip 1 */
static void kkt(const pair *p, double *qdd, double f[6]) {
    const size_t n = (size_t)p->nv, N = n + 6;
    double *M = calloc(n * n + 1, sizeof *M), *K = calloc(N * N, sizeof *K),
           *x = calloc(N, sizeof *x);
    assert_int_equal(soa_crba(p->m, p->w, p->q, M), SOA_OK);
    assert_int_equal(soa_bias_torque(p->m, p->w, p->q, p->v, x), SOA_OK);
    for (size_t r = 0; r < n; ++r) {
        x[r] = p->tau[r] - x[r];
        for (size_t c = 0; c < n; ++c)
            K[N * r + c] = M[n * r + c];
        for (size_t c = 0; c < 6; ++c)
            K[N * r + n + c] = K[N * (n + c) + r] = p->J[n * c + r];
    }
    for (size_t r = 0; r < 6; ++r)
        x[n + r] = -p->gamma[r];
    solve((int)N, K, x);
    memcpy(qdd, x, n * sizeof *qdd);
    for (int j = 0; j < 6; ++j)
        f[j] = -x[n + (size_t)j];
    const double *r = p->pose[0].p;
    for (int j = 0; j < 3; ++j)
        f[j] += r[(j + 1) % 3] * f[3 + (j + 2) % 3] - r[(j + 2) % 3] * f[3 + (j + 1) % 3];
    free(M);
    free(K);
    free(x);
}

typedef struct errors {
    worst_case motion[3], force[3], closed, sum;
} errors;
static void judge(pair *p, long seed, int apart, errors *e) {
    const size_t n = (size_t)p->nv;
    double *truth = calloc(n + 1, sizeof *truth), *x = calloc(n + 1, sizeof *x), f[6], g[6];
    kkt(p, truth, f);
    for (int how = AS_IT_STANDS; how <= DENSE; ++how) {
        value_of(p->k, CLOSED, how, x);
        note(e->motion + how, relative(x, truth, n), seed);
        value_of(p->k, CLOSING, how, g);
        note(e->force + how, relative(g, f, 6), seed);
    }
    /* (22): the tips' accelerations are equal under those accelerations of the joints */
    assert_int_equal(soa_machine_set_vector(p->k, "acc", SOA_SPACE_JOINT, truth), SOA_OK);
    double both[6], one[6], size = 1;
    value_of(p->k, "A B' phi' (H' acc + a)", AS_IT_STANDS, both);
    value_of(p->k, "A1 B' phi' (H' acc + a)", AS_IT_STANDS, one);
    for (int j = 0; j < 6; ++j)
        size = fmax(size, fabs(one[j]));
    for (int j = 0; j < 6; ++j)
        note(&e->closed, fabs(both[j]) <= 1e300 ? fabs(both[j]) / size : INFINITY, seed);
    /* Lambda_c^-1 = Lambda_1^-1 + Lambda_2^-1, exactly when the arms share no moving body */
    double C[36], D[36];
    value_of(p->k, COMPLIANCE, DENSE, C);
    value_of(p->k, "A1 J inv(Mass) J' A1' + A2 J inv(Mass) J' A2'", DENSE, D);
    if (apart > 0)
        note(&e->sum, relative(C, D, 36), seed);
    else if (apart == 0)
        assert_true(relative(C, D, 36) >
                    1e-6); /* a common moving body couples them, RK88-II (6.8) */
    free(truth);
    free(x);
}
/* The dense form multiplies by explicit inverses of Mass and Lambda_c^-1: the bare PUMA's wrist
 * costs it five digits. */
static void conclude_all(const char *what, const errors *e) {
    const double tolerance = 1e-10, dense = 1e-8;
    printf(" %s\n", what);
    conclude("RJK91 (23), accelerations by sweeps against KKT", &e->motion[AS_IT_STANDS],
             tolerance);
    conclude("RJK91 (23), improved, by sweeps", &e->motion[IMPROVED], tolerance);
    conclude("RJK91 (23), dense", &e->motion[DENSE], dense);
    conclude("RJK91 (26), closing force by sweeps", &e->force[AS_IT_STANDS], tolerance);
    conclude("RJK91 (26), improved, by sweeps", &e->force[IMPROVED], tolerance);
    conclude("RJK91 (26), dense", &e->force[DENSE], dense);
    conclude("RJK91 (22), equal accelerations of the tips", &e->closed, tolerance);
    if (e->sum.count)
        conclude("RJK91 (26), inv(Lambda_c) = inv(Lambda_1) + inv(Lambda_2)", &e->sum, 1e-11);
}

static const soa_model *stock(const char *name) {
    const soa_model *m = NULL;
    const soa_read_options ideal = {0, 1};
    assert_int_equal(soa_stock_model_create(name, &ideal, &m, NULL), SOA_OK);
    return m;
}
static void two_pumas(void **state) {
    (void)state;
    errors e = {0};
    for (long s = first_seed(); s < first_seed() + 5; ++s) {
        const soa_model *m = stock("two-puma");
        pair p = open_pair(m, 6, 12, s);
        judge(&p, s, 1, &e);
        close_pair(&p);
    }
    conclude_all("two PUMAs hand in hand", &e);
}
static void on_a_floating_base(void **state) {
    (void)state;
    errors e = {0};
    for (long s = first_seed(); s < first_seed() + 5; ++s) {
        const soa_model *m = stock("satellite");
        pair p = open_pair(m, 8, 15, s);
        judge(&p, s, 0, &e);
        close_pair(&p);
    }
    conclude_all("the two arms of a satellite hand in hand", &e);
}
/* every joint type: the last body of a chain held by the first */
static void any_loop(void **state) {
    (void)state;
    errors e = {0};
    for (long s = first_seed(); s < first_seed() + 12; ++s) {
        const soa_model *m = random_tree(s, 12, TREE_CHAIN | (s % 2 ? TREE_MASSLESS : 0));
        pair p = open_pair(m, 12, 2, s);
        judge(&p, s, -1, &e); /* a free joint inside decouples */
        close_pair(&p);
    }
    conclude_all("chains of every joint, bent to a loop", &e);
}

static void own_operators(void **state) {
    (void)state;
    const soa_model *m = stock("two-puma");
    pair p = open_pair(m, 6, 12, first_seed());
    soa_plan *plan = NULL;
    char message[600], text[4000];
    double A[144] = {0}, x[6] = {1, -2, 3, 0.5, 0.25, -1}, y[12], z[12];
    /* wrong spaces, wrong names, numbers that are none */
    const soa_expr *e = NULL;
    const soa_variable wrong = {"A", SOA_SPACE_LINK, SOA_SPACE_TIP, true};
    assert_int_equal(soa_expr_parse("A f0", &wrong, 1, &e, message, sizeof message), SOA_E_FORMAT);
    assert_non_null(strstr(message, "blocks"));
    assert_null(soa_expr_operator("A", SOA_SPACE_ONE, SOA_SPACE_TIP));
    assert_null(soa_expr_operator("A", SOA_SPACE_TIP, SOA_SPACE_COUNT));
    assert_int_equal(soa_machine_set_matrix(p.k, "A", SOA_SPACE_ONE, SOA_SPACE_BASE, A),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_machine_set_matrix(p.k, "A", SOA_SPACE_TIP, SOA_SPACE_BASE, NULL),
                     SOA_E_ARGUMENT);
    A[5] = NAN;
    assert_int_equal(soa_machine_set_matrix(p.k, "A", SOA_SPACE_TIP, SOA_SPACE_BASE, A),
                     SOA_E_NOT_FINITE);
    A[5] = 0;
    assert_int_equal(soa_expr_parse("A A f0", variables, VARIABLES, &e, message, sizeof message),
                     SOA_E_FORMAT);
    const soa_variable other = {"C", SOA_SPACE_TIP, SOA_SPACE_TIP, false};
    assert_int_equal(soa_expr_parse("C f0", &other, 1, &e, message, sizeof message), SOA_OK);
    assert_int_equal(soa_plan_create(p.k, e, &plan, message, sizeof message), SOA_E_NAME);
    assert_non_null(strstr(message, "operator 'C' has no value"));
    soa_expr_free(e);
    /* applied and formed; the adjoint; a chain of matrices without any sweep; the inverse of one */
    for (int i = 0; i < 144; ++i)
        A[i] = (i % 13 == 0 ? 3 : 0) + 0.1 * ((7 * i) % 11);
    assert_int_equal(soa_machine_set_matrix(p.k, "C", SOA_SPACE_TIP, SOA_SPACE_TIP, A), SOA_OK);
    assert_int_equal(soa_machine_set_vector(p.k, "x", SOA_SPACE_BASE, x), SOA_OK);
    const soa_variable all[] = {variables[0], variables[3], other};
    const char *const texts[] = {"C A' x", "C' A' x + A' x", "inv(C) A' x", "inv(C') C' A' x",
                                 "C inv(C + I) A' x", "C C B' phi' H' inv(Mass) J' C A' x",
                                 /* phi' phi and the inverse: one set of frames for both */
                                 "J inv(Mass) J' inv(C + J inv(Mass) J') B' phi' phi B C A' x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (soa_expr_parse(texts[i], all, 3, &e, message, sizeof message) != SOA_OK)
            fail_msg("%s", message);
        if (soa_plan_create(p.k, e, &plan, message, sizeof message) != SOA_OK)
            fail_msg("%s: %s", texts[i], message);
        assert_int_equal(soa_plan_run(plan, y), SOA_OK);
        assert_int_equal(soa_machine_dense_matrix(p.k, e, z), SOA_OK);
        if (!(relative(y, z, 12) <= 1e-11))
            fail_msg("%s: planned and formed differ by %g", texts[i], relative(y, z, 12));
        assert_true(soa_plan_explain(plan, text, sizeof text) < sizeof text);
        char printed[200];
        const soa_expr *again = NULL;
        assert_true(soa_expr_print(e, printed, sizeof printed) < sizeof printed);
        assert_int_equal(soa_expr_parse(printed, all, 3, &again, message, sizeof message), SOA_OK);
        soa_scalar_graph *graph = NULL;
        soa_count count;
        if (soa_scalar_graph_create(p.k, e, NULL, &graph, message, sizeof message) != SOA_OK)
            fail_msg("%s", message);
        assert_int_equal(soa_scalar_graph_operations(graph, 0, -1, &count), SOA_OK);
        assert_true(count.multiplications >= 72); /* A' x alone */
        soa_scalar_graph_free(graph);
        soa_expr_free(again);
        soa_plan_free(plan);
        soa_expr_free(e);
    }
    /* new numbers are seen by the old plan */
    if (soa_expr_parse("C A' x", all, 3, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    assert_int_equal(soa_plan_create(p.k, e, &plan, message, sizeof message), SOA_OK);
    assert_int_equal(soa_plan_run(plan, y), SOA_OK);
    for (int i = 0; i < 144; ++i)
        A[i] *= 2;
    assert_int_equal(soa_machine_set_matrix(p.k, "C", SOA_SPACE_TIP, SOA_SPACE_TIP, A), SOA_OK);
    assert_int_equal(soa_plan_run(plan, z), SOA_OK);
    for (int i = 0; i < 12; ++i)
        y[i] *= 2;
    assert_true(relative(z, y, 12) <= 1e-15);
    soa_plan_free(plan);
    soa_expr_free(e);
    close_pair(&p);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_pumas),
                                       cmocka_unit_test(on_a_floating_base),
                                       cmocka_unit_test(any_loop), cmocka_unit_test(own_operators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
