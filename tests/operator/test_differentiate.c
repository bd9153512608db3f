/* test_differentiate.c  derivatives of operator expressions: every rule against the complex step
 *                       (tests/oracle/operator_complex.h), proved where rewriting can; forward and
 *                       inverse dynamics as derived against the library's analytic derivatives.
 *
 * Machines: random trees and forests of all joint types, with universal and planar joints, whose H
 * depends on q; reflected rotors; wrenches in body and in world axes. */
#include "operator_complex.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "trees.h"

/* soai_kernels_complex is used */
enum { MACHINES = 12 };

typedef struct bench {
    const soa_model *model;
    soa_machine *machine;
    soa_work *work;
    tree_state s;
    double *numbers, f0[12];
    complex_state c;
} bench;
/* A shipped model, or a random one (NULL) */
static void open_model(bench *b, const char *arm, long seed) {
    static const int shapes[] = {TREE_CHAIN, 0, TREE_BRANCHED, TREE_CHAINS};
    const soa_read_options ideal = {0, 1};
    char name[40];
    *b = (bench){0};
    snprintf(name, sizeof name, "random-ideal:%ld", seed);
    soa_report report;
    if (arm || seed % 4 == 3)
        assert_int_equal(soa_stock_model_create(arm ? arm : name, &ideal, &b->model, &report),
                         SOA_OK);
    else
        b->model = random_tree(seed, 3 + (int)(seed % 5), shapes[seed % 4]);
    const size_t nv = (size_t)soa_model_nv(b->model);
    const int last = soa_model_body_count(b->model);
    soa_body_info one, two;
    soa_model_body(b->model, last, &one);
    soa_model_body(b->model, 1 + last / 2, &two);
    const int tips = arm || one.frame == two.frame ? 1 : 2;
    b->c = (complex_state){.model = b->model, .tip_count = tips};
    b->c.tips[0] = one.frame;
    b->c.tips[1] = two.frame;
    if (soa_machine_create(b->model, b->c.tips, b->c.tip_count, &b->machine, &report) != SOA_OK)
        fail_msg("%s", report.text);
    assert_int_equal(soa_work_create(b->model, &b->work), SOA_OK);
    b->s = random_tree_state(b->model, seed);
    b->numbers = calloc(5 * nv + 12, sizeof(double));
    dice d = {(uint64_t)seed * 31};
    roll_many(&d, -1, 1, 5 * nv + 12, b->numbers);
    roll_many(&d, -1, 1, 12, b->f0);
    b->c.q = b->s.q;
    b->c.v = b->s.v;
    b->c.a = b->numbers;
    b->c.tau = b->s.tau;
    b->c.f0 = b->f0;
    b->c.dq = b->numbers + nv;
    b->c.dv = b->numbers + 2 * nv;
    b->c.da = b->numbers + 3 * nv;
    b->c.dtau = b->numbers + 4 * nv;
    b->c.df0 = b->numbers + 5 * nv;
    b->c.wrench = b->s.wrench;
    b->c.wrench_count = 3;
    assert_int_equal(
        soa_machine_set_state(b->machine, b->s.q, b->s.v, b->c.a, b->s.tau, b->f0, b->s.wrench, 3),
        SOA_OK);
    assert_int_equal(
        soa_machine_set_direction(b->machine, b->c.dq, b->c.dv, b->c.da, b->c.dtau, b->c.df0),
        SOA_OK);
    complex_open(&b->c);
}
static void open_bench(bench *b, long seed) {
    open_model(b, NULL, seed);
}
static void close_bench(bench *b) {
    complex_close(&b->c);
    soa_machine_free(b->machine);
    soa_work_free(b->work);
    soa_model_free(b->model);
    free_tree_state(&b->s);
    free(b->numbers);
}
static const soa_expr *parsed(const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    return e;
}
static double *dense(bench *b, const soa_expr *e) {
    const size_t n = (size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e)) *
                     (size_t)soa_machine_space_size(b->machine, soa_expr_domain(e));
    double *x = calloc(n + 1, sizeof *x);
    assert_int_equal(soa_machine_dense_matrix(b->machine, e, x), SOA_OK);
    return x;
}
static double *planned(bench *b, const soa_expr *e) {
    double *x =
        calloc((size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e)) + 1, sizeof *x);
    soa_plan *plan = NULL;
    char message[600];
    if (soa_plan_create(b->machine, e, &plan, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    assert_int_equal(soa_plan_run(plan, x), SOA_OK);
    soa_plan_free(plan);
    return x;
}
static const soa_expr *derivative(const soa_expr *e) {
    const soa_expr *d = NULL;
    assert_int_equal(soa_expr_differentiate(e, NULL, NULL, &d), SOA_OK);
    assert_int_equal(soa_expr_domain(d), soa_expr_domain(e));
    assert_int_equal(soa_expr_codomain(d), soa_expr_codomain(e));
    return d;
}

/* --- every leaf and many expressions ---------------------------------------------------------- */
static const char *const expressions[] = {
    "phi' H' thd",
    "H phi (M phi' (H' thdd + a) + b)",
    "H phi (M phi' (H' thdd + a) + b + B f0) + Jr thdd",
    "Mass thdd",
    "inv(Mass) T",
    "inv(Mass) (T - H phi (M phi' a + b))",
    "inv(Mass) (T - H phi (M phi' a + b + B f0))",
    "J thd",
    "J' f0",
    "B' (phi' (H' thdd + a))",
    "B' (alpha - phi' E g)",
    "J inv(Mass) (T - H phi (M phi' a + b)) + B' phi' a",
    "J inv(Mass) J' f0",
    "inv(I + J inv(Mass) J') f0",
    "(I + H phi K) D (I + H phi K)' thdd",
    "(I - H psi K)' inv(D) (I - H psi K) T",
    "H (Mc + phit Mc + Mc phit') H' thdd",
    "cross(V) M' M V",
    "bar(M V) (V + alpha) - cross(alpha)' M V",
    "E' phi (M alpha + b)",
    "Inc V",
    "2 M V - 0.5 P alpha",
    "B' (alphac - phi' E g)",
    "H phi (M phi' ac + bc)",
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions };

/* d(e) formed by dense arithmetic, and a vector's by sweeps, against the complex step. */
static void compare(bench *b, const soa_expr *e, long seed, worst_case *formed, worst_case *run) {
    const soa_expr *d = derivative(e);
    size_t n;
    double *judge = complex_derivative(&b->c, e, &n), *x = dense(b, d);
    note(formed, relative(x, judge, n), seed);
    free(x);
    if (soa_expr_domain(e) == SOA_SPACE_ONE) {
        x = planned(b, d);
        note(run, relative(x, judge, n), seed);
        free(x);
    }
    free(judge);
    soa_expr_free(d);
}
static int differentiable(const soa_expr *e) {
    const soa_expr *d = NULL;
    const soa_status s = soa_expr_differentiate(e, NULL, NULL, &d);
    soa_expr_free(d);
    return s == SOA_OK;
}
static void complex_step(void **state) {
    (void)state;
    worst_case leaves = {0}, leaf_vectors = {0}, sweeps = {0}, formed = {0}, run = {0};
    int differentiated = 0;
    for (long seed = first_seed(); seed < first_seed() + MACHINES; ++seed) {
        bench b;
        open_bench(&b, seed);
        const char *name;
        for (int l = 1; (name = soa_expr_leaf_name(l, NULL)); ++l) {
            const soa_expr *leaf = parsed(name);
            for (int turned = 0; differentiable(leaf) && turned < 2; ++turned) {
                const soa_expr *e = turned ? soa_expr_adjoint(leaf) : soa_expr_scale(1, leaf);
                compare(&b, e, seed, &leaves, &leaf_vectors);
                differentiated += seed == first_seed() && !turned;
                if (soa_expr_domain(leaf) != SOA_SPACE_ONE) { /* times a constant vector */
                    const soa_space space = soa_expr_domain(e);
                    const size_t columns = (size_t)soa_machine_space_size(b.machine, space);
                    const size_t rows =
                        (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(e));
                    double *x = calloc(columns + 1, sizeof *x), *y = calloc(rows + 1, sizeof *y);
                    dice d = {(uint64_t)seed};
                    roll_many(&d, -1, 1, columns, x);
                    assert_int_equal(soa_machine_set_vector(b.machine, "x", space, x), SOA_OK);
                    const soa_expr *own = soa_expr_variable("x", space),
                                   *ex = soa_expr_product(e, own), *dex = derivative(ex);
                    size_t n;
                    double *judge = complex_derivative(&b.c, e, &n), *got = planned(&b, dex);
                    for (size_t r = 0; r < rows; ++r)
                        for (size_t c = 0; c < columns; ++c)
                            y[r] += judge[columns * r + c] * x[c];
                    note(&sweeps, relative(got, y, rows), seed);
                    free(judge);
                    free(got);
                    free(x);
                    free(y);
                    soa_expr_free(own);
                    soa_expr_free(ex);
                    soa_expr_free(dex);
                }
                soa_expr_free(e);
            }
            soa_expr_free(leaf);
        }
        for (int i = 0; i < EXPRESSIONS; ++i) {
            const soa_expr *e = parsed(expressions[i]);
            compare(&b, e, seed, &formed, &run);
            soa_expr_free(e);
        }
        const char *text;
        for (int i = 0; soa_expr_form_name(i, &text, NULL); ++i) {
            const soa_expr *e = parsed(text);
            if (!strstr(text, "inv(J") && differentiable(e)) compare(&b, e, seed, &formed, &run);
            soa_expr_free(e);
        }
        close_bench(&b);
    }
    printf("  %d leaves have rules\n", differentiated);
    assert_true(differentiated >= 42);
    conclude("d(leaf), d(leaf') by matrices = complex step", &leaves, 1e-11);
    conclude("d(vector leaf) by sweeps = complex step", &leaf_vectors, 1e-11);
    conclude("d(leaf x), d(leaf' x) by sweeps = complex step", &sweeps, 1e-11);
    conclude("d(expression) by matrices = complex step", &formed, 1e-11);
    conclude("d(expression) by sweeps = complex step", &run, 1e-11);
}

/* pinv(J) of arms with more and with fewer joints than six: full rank.  Its derivative multiplies
 * three of them, so rounding errors grow with the third power of the condition of J, the power 1.5
 * of that of J J': errors are divided by it.  pinv of the dense oracle is not accurate near
 * singular states (MOST_DENSE, of J J'). */
#define MOST_DENSE 1e6
static void least_norm(void **state) {
    (void)state;
    static const struct {
        const char *arm, *text;
    } cases[] = {{"arm7", "pinv(J) f0"},        {"arm7", "pinv(J)' T"},
                 {"arm7", "(I - pinv(J) J) T"}, {"arm7", "pinv(J) (f0 - J thd)"},
                 {"dh-arm:4", "pinv(J) f0"},    {"dh-arm:4", "pinv(J)' T"}};
    worst_case formed = {0}, run = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (long seed = first_seed(); seed < first_seed() + 10; ++seed) {
            bench b;
            open_model(&b, cases[i].arm, seed);
            const soa_expr *e = parsed(cases[i].text);
            worst_case by_matrices = {0}, by_sweeps = {0};
            compare(&b, e, seed, &by_matrices, &by_sweeps);
            const double condition = fmax(1, soa_machine_condition(b.machine));
            const double growth = condition * sqrt(condition);
            note(&run, by_sweeps.error / growth, seed);
            if (condition < MOST_DENSE) note(&formed, by_matrices.error / growth, seed);
            soa_expr_free(e);
            close_bench(&b);
        }
    conclude("d(pinv(J)) by matrices = complex step, / growth", &formed, 1e-14);
    conclude("d(pinv(J)) by sweeps = complex step, / growth", &run, 1e-14);
}

/* --- proofs ----------------------------------------------------------------------------------- */
/* Each rule is what its definition leaves when d is a derivation, dM = 0, dE_phi = E_phi Theta. */
static const struct {
    const char *name, *text;
} proofs[] = {
    {"phi (I - E_phi) = I", "phi E_phi Theta phi (I - E_phi) = phi E_phi Theta"},
    {"phi E_phi = phit", "phi E_phi Theta phi = phit Theta phi"},
    {"psi (I - E_psi) = I", "psi dE_psi psi (I - E_psi) = psi dE_psi"},
    {"E_psi = E_phi (I - G H)", "dE_psi = E_phi (Theta (I - G H) - dG H - G dH)"},
    {"dE_psi, dG put in",
     "dE_psi = E_phi (Theta (I - G H) - (I - G H) (dP H' + P dH') inv(D) H - G dH (I - G H))"},
    {"D inv(D) = I", "dD inv(D) = D inv(D) dD inv(D)"},
    {"G D = P H'", "dG D + G dD = dP H' + P dH'"},
    {"H G = I", "H dG = -dH G"},
    {"P+ = P - G H P, the gain is stationary",
     "dP - dG H P - G dH P - G H dP = (I - G H) dP (I - G H)' - G dH Pplus - Pplus dH' G'"},
    {"psi Q psi' with Q = dP - E_psi dP E_psi'",
     "psi (dP - E_psi dP E_psi') psi' = dP + psit dP + dP psit'"},
    {"inv(psi) = I - E_psi", "psi dE_psi psi = psi dE_psi + psi dE_psi psit"},
    {"Mass inv(Mass) x by both factors",
     "inv(Mass) H phi E_phi Theta phi M phi' H' inv(Mass) = "
     "(I - H psi K)' inv(D) H psi E_phi Theta phi M psi' H' inv(D) (I - H psi K)"},
};
static void proved(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; ++i) {
        const soa_expr *left = NULL, *right = NULL;
        char message[600], text[300];
        if (soa_expr_parse_equation(proofs[i].text, NULL, 0, &left, &right, message,
                                    sizeof message) != SOA_OK)
            fail_msg("%s", message);
        if (soa_expr_prove(left, right, NULL, NULL) != SOA_OK)
            fail_msg("%s: not proved: %s", proofs[i].name, proofs[i].text);
        soa_expr_free(left);
        soa_expr_free(right);
        /* with the left side once more on the right, it is false */
        snprintf(text, sizeof text, "%s + %.*s", proofs[i].text, (int)strcspn(proofs[i].text, "="),
                 proofs[i].text);
        assert_int_equal(
            soa_expr_parse_equation(text, NULL, 0, &left, &right, message, sizeof message), SOA_OK);
        assert_int_not_equal(soa_expr_prove(left, right, NULL, NULL), SOA_OK);
        soa_expr_free(left);
        soa_expr_free(right);
    }
    printf("  %zu rules proved\n", sizeof proofs / sizeof *proofs);
}
/* What d returns for a product is proved to be the product rule. */
static void product_rule(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"d(H phi)", "dH phi + H phi E_phi Theta phi"},
        {"d(I + H phi K)", "dH phi K + H phi E_phi Theta phi K + H phi E_phi (Theta G + dG)"},
        {"d(I - H psi K)", "-dH psi K - H psi dE_psi psi K - H psi E_phi (Theta G + dG)"},
        {"d(phi')", "phi' Theta' E_phi' phi'"},
        {"d(inv(phi))", "-inv(phi) d(phi) inv(phi)"},
        {"d(E_phi P E_phi')", "E_phi (Theta P + dP + P Theta') E_phi'"},
        {"d(J)", "B' phi' (Theta' E_phi' phi' H' + dH')"},
        {"d(M)", "0 M"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        const soa_expr *left = parsed(pairs[i][0]), *right = parsed(pairs[i][1]);
        if (soa_expr_prove(left, right, NULL, NULL) != SOA_OK)
            fail_msg("not proved: %s = %s", pairs[i][0], pairs[i][1]);
        soa_expr_free(left);
        soa_expr_free(right);
    }
}

/* --- forward and inverse dynamics against the library ----------------------------------------- */
static double *by_columns(bench *b, const char *text, soa_direction with) {
    const soa_expr *e = parsed(text), *d = derivative(e);
    const size_t rows = (size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e));
    const size_t columns = (size_t)soa_machine_space_size(
        b->machine, with == SOA_DIRECTION_F0 ? SOA_SPACE_TIP : SOA_SPACE_JOINT);
    double *x = calloc(rows * columns + 1, sizeof *x);
    soa_plan *plan = NULL;
    assert_int_equal(soa_plan_create(b->machine, d, &plan, NULL, 0), SOA_OK);
    assert_int_equal(soa_plan_jacobian(plan, with, x), SOA_OK);
    soa_plan_free(plan);
    soa_expr_free(e);
    soa_expr_free(d);
    return x;
}
static double *by_operator(bench *b, const char *text, soa_direction with) {
    const soa_expr *e = parsed(text), *j = NULL;
    assert_int_equal(soa_expr_jacobian(e, with, &j), SOA_OK);
    double *x = dense(b, j);
    soa_expr_free(e);
    soa_expr_free(j);
    return x;
}
static void library(void **state) {
    (void)state;
    static const char id[] = "H phi (M phi' (H' thdd + a) + b) + Jr thdd";
    static const char fd[] = "inv(Mass) (T - H phi (M phi' a + b))";
    static const char fd3[] = "(I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b))";
    worst_case tau = {0}, acceleration = {0}, filtered = {0}, operators = {0}, torque = {0};
    int types = 0;
    for (long seed = first_seed(); seed < first_seed() + 40; ++seed) {
        bench b;
        open_bench(&b, seed);
        const size_t nv = (size_t)soa_model_nv(b.model), n = nv * nv;
        for (int i = 1; i <= soa_model_body_count(b.model); ++i)
            types |= 1 << soai_bodies(b.model)[i].type;
        double *dq = calloc(n + 1, sizeof *dq), *dv = calloc(n + 1, sizeof *dv);
        const soa_input x = {.q = b.s.q,
                             .v = b.s.v,
                             .a = b.c.a,
                             .tau = b.s.tau,
                             .wrenches = b.s.wrench,
                             .wrench_count = 3};
        for (int which = 0; which < 3; ++which) {
            const char *text = which == 0 ? id : fd;
            if (which == 2) text = fd3;
            if (which == 0)
                assert_int_equal(soa_rnea_derivatives(b.model, b.work, &x, dq, dv), SOA_OK);
            if (which == 1)
                assert_int_equal(soa_aba_derivatives(b.model, b.work, &x, dq, dv), SOA_OK);
            double *by_q = by_columns(&b, text, SOA_DIRECTION_Q),
                   *by_v = by_columns(&b, text, SOA_DIRECTION_V);
            worst_case *const worst[] = {&tau, &acceleration, &filtered};
            note(worst[which], relative(by_q, dq, n), seed);
            note(worst[which], relative(by_v, dv, n), seed);
            free(by_q);
            free(by_v);
            if (which == 2) continue;
            by_q = by_operator(&b, text, SOA_DIRECTION_Q);
            by_v = by_operator(&b, text, SOA_DIRECTION_V);
            note(&operators, relative(by_q, dq, n), seed);
            note(&operators, relative(by_v, dv, n), seed);
            free(by_q);
            free(by_v);
        }
        assert_int_equal(soa_minv(b.model, b.work, b.s.q, dq), SOA_OK);
        double *by_columns_ = by_columns(&b, fd, SOA_DIRECTION_TAU),
               *by_operator_ = by_operator(&b, fd, SOA_DIRECTION_TAU);
        note(&torque, relative(by_columns_, dq, n), seed);
        note(&torque, relative(by_operator_, dq, n), seed);
        free(by_columns_);
        free(by_operator_);
        free(dq);
        free(dv);
        close_bench(&b);
    }
    const int wanted = 1 << SOA_REVOLUTE | 1 << SOA_PRISMATIC | 1 << SOA_HELICAL |
                       1 << SOA_CYLINDRICAL | 1 << SOA_UNIVERSAL | 1 << SOA_PLANAR |
                       1 << SOA_SPHERICAL | 1 << SOA_FREE;
    assert_int_equal(types & wanted, wanted);
    conclude("d(ID)/dq, /dv by columns = soa_rnea_derivatives", &tau, 1e-10);
    conclude("d(FD)/dq, /dv by columns = soa_aba_derivatives", &acceleration, 1e-10);
    conclude("d(FD3)/dq, /dv with dP = soa_aba_derivatives", &filtered, 1e-10);
    conclude("both as operators, formed = the library", &operators, 1e-10);
    conclude("d(FD)/dtau = soa_minv", &torque, 1e-10);
}

/* --- Jacobians as operators ------------------------------------------------------------------- */
static void operators(void **state) {
    (void)state;
    worst_case formed = {0}, applied = {0};
    int made = 0, stuck = 0;
    for (long seed = first_seed(); seed < first_seed() + MACHINES; ++seed) {
        bench b;
        open_bench(&b, seed);
        for (int i = 0; i < EXPRESSIONS; ++i)
            for (int with = 0; with < SOA_DIRECTION_COUNT; ++with) {
                const soa_expr *e = parsed(expressions[i]), *j = NULL;
                const soa_status s = soa_expr_jacobian(e, (soa_direction)with, &j);
                soa_expr_free(e);
                if (s != SOA_OK) {
                    assert_int_equal(s, SOA_E_NO_CONVERGENCE);
                    ++stuck;
                    continue;
                }
                ++made;
                double *judge = by_columns(&b, expressions[i], (soa_direction)with);
                double *x = dense(&b, j);
                const size_t rows = (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(j));
                const size_t columns =
                    (size_t)soa_machine_space_size(b.machine, soa_expr_domain(j));
                note(&formed, relative(x, judge, rows * columns), seed);
                free(x);
                /* applied to a vector by sweeps */
                double *value = calloc(columns + 1, sizeof *value),
                       *y = calloc(rows + 1, sizeof *y);
                dice d = {(uint64_t)(seed + 1)};
                roll_many(&d, -1, 1, columns, value);
                assert_int_equal(soa_machine_set_vector(b.machine, "x", soa_expr_domain(j), value),
                                 SOA_OK);
                const soa_expr *own = soa_expr_variable("x", soa_expr_domain(j)),
                               *jx = soa_expr_product(j, own);
                for (size_t r = 0; r < rows; ++r)
                    for (size_t c = 0; c < columns; ++c)
                        y[r] += judge[columns * r + c] * value[c];
                x = planned(&b, jx);
                note(&applied, relative(x, y, rows), seed);
                free(x);
                free(y);
                free(value);
                free(judge);
                soa_expr_free(own);
                soa_expr_free(jx);
                soa_expr_free(j);
            }
        close_bench(&b);
    }
    assert_true(made >= 17 * SOA_DIRECTION_COUNT * MACHINES && stuck > 0);
    printf("  %d Jacobians are operators; %d contain dP or dMc and are refused\n", made, stuck);
    conclude("Jacobian as an operator, formed = by columns", &formed, 1e-11);
    conclude("Jacobian as an operator, by sweeps = by columns", &applied, 1e-11);
}

/* --- what is refused, and how plans look ------------------------------------------------------ */
static void refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "d(d(T))",          "d(d(phi) V)", "d(Theta V)",   "d(dq)",
        "d(d(pinv(J) f0))", "d(Delta V)",  "d(d(alphac))", "d(sqrt(D) T)",
        "cross(T) V",       "bar(H) V",    "d(I)",         "cross(phi) V"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        const soa_expr *e = NULL;
        char message[600] = "";
        assert_int_equal(soa_expr_parse(texts[i], NULL, 0, &e, message, sizeof message),
                         SOA_E_FORMAT);
        assert_true(message[0] != 0);
    }
    char many[3000] = "d(", message[600];
    for (int i = 0; i < 400; ++i)
        strcat(many, "phi ");
    strcat(many, "V)");
    const soa_expr *e = NULL, *d = NULL, *out = NULL;
    assert_int_equal(soa_expr_parse(many, NULL, 0, &e, message, sizeof message), SOA_E_FORMAT);
    assert_non_null(strstr(message, "too many operators"));
    e = parsed("T");
    d = parsed("dT");
    assert_int_equal(soa_expr_differentiate(NULL, NULL, NULL, &out), SOA_E_ARGUMENT);
    assert_int_equal(soa_expr_differentiate(e, NULL, NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_expr_differentiate(d, NULL, NULL, &out), SOA_E_ARGUMENT);
    assert_int_equal(soa_expr_jacobian(e, SOA_DIRECTION_COUNT, &out), SOA_E_ARGUMENT);
    bench b;
    open_bench(&b, first_seed());
    soa_plan *plan = NULL;
    double *room = calloc(10000, sizeof *room), bad[100] = {NAN};
    assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_OK);
    assert_int_equal(soa_plan_jacobian(plan, SOA_DIRECTION_Q, room), SOA_E_ARGUMENT);
    assert_int_equal(soa_machine_set_direction(b.machine, bad, NULL, NULL, NULL, NULL),
                     SOA_E_NOT_FINITE);
    soa_plan_free(plan);
    free(room);
    soa_expr_free(e);
    soa_expr_free(d);
    close_bench(&b);
}
static void counted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int passes;
    } plans[] = {{"d(phi' H' thd)", 1},
                 {"d(H phi (M phi' (H' thdd + a) + b))", 2},
                 {"d(inv(Mass) T)", 4},
                 {"d(inv(Mass) (T - H phi (M phi' a + b)))", 5},
                 {"d((I - H psi K)' inv(D) (I - H psi K) T)", 2},
                 {"d((I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b)))", 3}};
    const soa_model *arm = NULL;
    soa_machine *machine = NULL;
    assert_int_equal(soa_model_open("arm7", NULL, &arm, NULL, NULL), SOA_OK);
    assert_int_equal(soa_machine_create(arm, NULL, 0, &machine, NULL), SOA_OK);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; ++i) {
        const soa_expr *e = parsed(plans[i].text);
        soa_plan *plan = NULL;
        char text[8000];
        assert_int_equal(soa_plan_create(machine, e, &plan, NULL, 0), SOA_OK);
        printf("  %-60s %d passes, %d recursions\n", plans[i].text, soa_plan_pass_count(plan),
               soa_plan_recursion_count(plan));
        assert_int_equal(soa_plan_pass_count(plan), plans[i].passes);
        assert_true(soa_plan_explain(plan, text, sizeof text) < sizeof text);
        assert_int_equal(strstr(text, "dP+(k)") != NULL, strstr(plans[i].text, "psi K") != NULL);
        assert_null(strstr(text, "Ht")); /* no joint of this arm has columns that turn */
        soa_plan_free(plan);
        /* printed and read again */
        const soa_expr *again = NULL;
        char one[4000], two[4000];
        soa_expr_print(e, one, sizeof one);
        assert_int_equal(soa_expr_parse(one, NULL, 0, &again, NULL, 0), SOA_OK);
        soa_expr_print(again, two, sizeof two);
        assert_string_equal(one, two);
        soa_expr_free(again);
        soa_expr_free(e);
    }
    soa_machine_free(machine);
    soa_model_free(arm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complex_step), cmocka_unit_test(least_norm), cmocka_unit_test(proved),
        cmocka_unit_test(product_rule), cmocka_unit_test(library),    cmocka_unit_test(operators),
        cmocka_unit_test(refused),      cmocka_unit_test(counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
