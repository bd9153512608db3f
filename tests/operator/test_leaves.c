/* test_leaves.c  operators beyond the papers' list of letters: costate covariance, roots of D, blocks
 *                phi(i, j), zero, inverses of least norm, the caller's own, classical accelerations;
 *                each against a call of the library or a matrix made another way. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"

static const char *const machines[] = {"planar-chain:4", "chain:6",        "arm7",
                                       "satellite",      "quadruped",      "puma560",
                                       "random-ideal:2", "random-ideal:7", "random-ideal:11"};
enum { MACHINES = sizeof machines / sizeof *machines, MOST_NV = 64 };

typedef struct bench {
    const soa_model *model;
    soa_machine *machine;
    soa_work *work;
    size_t nq, nv, links;
    double *q, *v, *a, *tau;
} bench;
static bench open_bench(const char *name, long seed) {
    bench b = {0};
    /* reflected rotor inertias stay; exact rotors are refused elsewhere */
    const soa_read_options options = {0, strncmp(name, "puma", 4) != 0};
    assert_int_equal(soa_stock_model_create(name, &options, &b.model, NULL), SOA_OK);
    b.nq = (size_t)soa_model_nq(b.model);
    b.nv = (size_t)soa_model_nv(b.model);
    b.links = (size_t)soa_model_body_count(b.model);
    soa_body_info last;
    soa_model_body(b.model, (int)b.links, &last);
    assert_int_equal(soa_machine_create(b.model, &last.frame, 1, &b.machine, NULL), SOA_OK);
    assert_int_equal(soa_work_create(b.model, &b.work), SOA_OK);
    double **arrays[] = {&b.q, &b.v, &b.a, &b.tau};
    dice d = {(uint64_t)seed};
    for (int i = 0; i < 4; ++i) {
        *arrays[i] = calloc(b.nq + b.nv + 1, sizeof(double));
        if (i) roll_many(&d, -1, 1, b.nv, *arrays[i]);
    }
    soa_q_neutral(b.model, b.q);
    soa_q_integrate(b.model, b.q, b.a, 1, b.q);
    assert_int_equal(soa_machine_set_state(b.machine, b.q, b.v, b.a, b.tau, NULL, NULL, 0), SOA_OK);
    return b;
}
static void close_bench(bench *b) {
    soa_machine_free(b->machine);
    soa_work_free(b->work);
    soa_model_free(b->model);
    free(b->q);
    free(b->v);
    free(b->a);
    free(b->tau);
}
static const soa_expr *parsed(const char *text, const soa_variable *own, int count) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, own, count, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    return e;
}
/* The matrix of an expression; the caller frees it. */
static double *dense(const bench *b, const char *text, const soa_variable *own, int count) {
    const soa_expr *e = parsed(text, own, count);
    const size_t n = (size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e)) *
                     (size_t)soa_machine_space_size(b->machine, soa_expr_domain(e));
    double *x = calloc(n + 1, sizeof *x);
    assert_int_equal(soa_machine_dense_matrix(b->machine, e, x), SOA_OK);
    soa_expr_free(e);
    return x;
}
/* A vector expression by sweeps, compared with dense matrices; the caller frees it. */
static double *planned(const bench *b, const char *text, const soa_variable *own, int count,
                       worst_case *w, long seed) {
    const soa_expr *e = parsed(text, own, count);
    const size_t n = (size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e));
    double *x = calloc(n + 1, sizeof *x), *y = dense(b, text, own, count);
    soa_plan *plan = NULL;
    char message[600], shown[20000];
    if (soa_plan_create(b->machine, e, &plan, message, sizeof message) != SOA_OK)
        fail_msg("%s: %s", text, message);
    assert_int_equal(soa_plan_run(plan, x), SOA_OK);
    assert_true(soa_plan_explain(plan, shown, sizeof shown) > 0);
    note(w, relative(x, y, n), seed);
    soa_plan_free(plan);
    soa_expr_free(e);
    free(y);
    return x;
}
static void same_matrices(const bench *b, const char *left, const char *right,
                          const soa_variable *own, int count, worst_case *w, long seed) {
    const soa_expr *e = parsed(left, own, count);
    const size_t n = (size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e)) *
                     (size_t)soa_machine_space_size(b->machine, soa_expr_domain(e));
    double *x = dense(b, left, own, count), *y = dense(b, right, own, count);
    note(w, relative(x, y, n), seed);
    soa_expr_free(e);
    free(x);
    free(y);
}

/* Delta and Sigma as the smoother has them; the roots of D as the diagonalised equations do. */
static void smoother_and_factors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        soa_factor factor;
    } factors[] = {{"sqrt(D) T", SOA_FACTOR_ROOT},
                   {"sqrt(D)' T", SOA_FACTOR_ROOT_ADJOINT},
                   {"inv(sqrt(D)) T", SOA_FACTOR_ROOT_INVERSE},
                   {"inv(sqrt(D))' T", SOA_FACTOR_ROOT_INVERSE_ADJOINT}};
    worst_case costate = {0}, smoothed = {0}, root = {0}, apart = {0}, energy = {0};
    for (int k = 0; k < MACHINES; ++k) {
        const long seed = first_seed() + k;
        bench b = open_bench(machines[k], seed);
        const size_t n = 6 * b.links;
        double *Delta = dense(&b, "Delta", NULL, 0), *Sigma = dense(&b, "Sigma", NULL, 0);
        assert_int_equal(soa_smoother(b.model, b.work, b.q, b.v, b.tau, NULL, 0), SOA_OK);
        for (size_t i = 0; i < b.links; ++i) {
            double minus[36], S[36], ours[2][36];
            assert_int_equal(soa_smoother_covariance(b.model, b.work, (int)i + 1, NULL, minus, S),
                             SOA_OK);
            for (size_t r = 0; r < 6; ++r)
                for (size_t c = 0; c < 6; ++c) {
                    ours[0][6 * r + c] = Delta[n * (6 * i + r) + 6 * i + c];
                    ours[1][6 * r + c] = Sigma[n * (6 * i + r) + 6 * i + c];
                }
            note(&costate, relative(ours[0], minus, 36), seed);
            note(&smoothed, relative(ours[1], S, 36), seed);
        }
        for (int f = 0; f < 4; ++f) {
            double want[MOST_NV], *got = planned(&b, factors[f].text, NULL, 0, &apart, seed);
            assert_int_equal(
                soa_mass_factor_mul(b.model, b.work, b.q, factors[f].factor, b.tau, want), SOA_OK);
            note(&root, relative(got, want, b.nv), seed);
            free(got);
        }
        /* RJK91 section 6: nu = sqrt(D)' (I + H phi K)' thd, kinetic energy nu nu / 2 */
        double nu[MOST_NV], v[MOST_NV],
            *got = planned(&b, "sqrt(D)' (I + H phi K)' thd", NULL, 0, &apart, seed);
        assert_int_equal(soa_mass_factor_mul(b.model, b.work, b.q, SOA_FACTOR_L_ADJOINT, b.v, v),
                         SOA_OK);
        assert_int_equal(soa_mass_factor_mul(b.model, b.work, b.q, SOA_FACTOR_ROOT_ADJOINT, v, nu),
                         SOA_OK);
        note(&energy, relative(got, nu, b.nv), seed);
        free(got);
        free(planned(&b, "Delta (V + Sigma (alpha + Pplus V))", NULL, 0, &apart, seed));
        same_matrices(&b, "sqrt(D) sqrt(D)'", "D", NULL, 0, &root, seed);
        free(Delta);
        free(Sigma);
        close_bench(&b);
    }
    conclude("Delta = costate covariance of soa_smoother_covariance", &costate, 1e-11);
    conclude("Sigma = its S, (65)", &smoothed, 1e-8);
    conclude("sqrt(D) = soa_mass_factor_mul; sqrt(D) sqrt(D)' = D", &root, 1e-12);
    conclude("nu of RJK91 section 6", &energy, 1e-12);
    conclude("the same by sweeps", &apart, 1e-11);
}

/* R87 (79) on chains; on trees siblings couple, so that it must fail there. */
static void decomposition(void **state) {
    (void)state;
    static const char *const chains[] = {"chain:3", "chain:9", "arm7", "puma560"};
    const char *const right = "Delta + psit' Delta + Delta psit";
    worst_case w = {0};
    for (size_t k = 0; k < sizeof chains / sizeof *chains; ++k) {
        bench b = open_bench(chains[k], first_seed() + (long)k);
        same_matrices(&b, "psi' H' inv(D) H psi", right, NULL, 0, &w, first_seed() + (long)k);
        close_bench(&b);
    }
    conclude("R87 (79): psi' H' inv(D) H psi = Delta + psit' Delta + Delta psit", &w, 1e-11);
    bench b = open_bench("quadruped", first_seed());
    worst_case tree = {0};
    same_matrices(&b, "psi' H' inv(D) H psi", right, NULL, 0, &tree, first_seed());
    assert_true(tree.error > 1e-3);
    close_bench(&b);
}

/* Operators of the caller: blocks, so that lemma A.1 can be written for any r; matrices anywhere. */
static void own_operators(void **state) {
    (void)state;
    worst_case lemma = {0}, apart = {0};
    const soa_variable own[] = {{"r", SOA_SPACE_LINK, SOA_SPACE_LINK, true},
                                {"k", SOA_SPACE_JOINT, SOA_SPACE_JOINT, true},
                                {"e", SOA_SPACE_EDGE, SOA_SPACE_EDGE, true},
                                {"S1", SOA_SPACE_LINK, SOA_SPACE_JOINT, false},
                                {"x", SOA_SPACE_LINK, SOA_SPACE_ONE, false}};
    static const char *const texts[] = {"r phi x + r' x",         "k T - k' thd",
                                        "phi S e' Delta_phi r x", "e Delta_phi x",
                                        "S1' phi' H' S1' x",      "phi S1 k S1' (x - r V)"};
    enum { OWN = sizeof own / sizeof *own };
    for (int k = 0; k < MACHINES; ++k) {
        const long seed = first_seed() + k;
        bench b = open_bench(machines[k], seed);
        const size_t links = 6 * b.links;
        dice d = {(uint64_t)seed * 31};
        double *numbers = calloc(links * (b.nv + 6) + 36 * b.links + 1, sizeof *numbers);
        for (int i = 0; i < 3; ++i) {
            const size_t n = soa_machine_blocks_size(b.machine, own[i].space);
            assert_true(i == 1 || n == 36 * b.links);
            roll_many(&d, -1, 1, n, numbers);
            assert_int_equal(soa_machine_set_blocks(b.machine, own[i].name, own[i].space, numbers),
                             SOA_OK);
        }
        roll_many(&d, -1, 1, links * b.nv, numbers);
        assert_int_equal(
            soa_machine_set_matrix(b.machine, "S1", SOA_SPACE_JOINT, SOA_SPACE_LINK, numbers),
            SOA_OK);
        assert_int_equal(soa_machine_set_vector(b.machine, "x", SOA_SPACE_LINK, numbers), SOA_OK);
        for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t)
            free(planned(&b, texts[t], own, OWN, &apart, seed));
        same_matrices(&b, "phi (r - E_phi r E_phi') phi'", "r + phit r + r phit'", own, OWN, &lemma,
                      seed);
        same_matrices(&b, "psi (r - E_psi r E_phi') phi'", "r + psit r + r phit'", own, OWN, &lemma,
                      seed);
        free(numbers);
        close_bench(&b);
    }
    conclude("lemma A.1 for any r, and with psi", &lemma, 1e-11);
    conclude("own operators by sweeps = formed", &apart, 1e-11);
    /* causality, and what is refused */
    const soa_expr *e = parsed("r", own, OWN);
    assert_int_equal(soa_expr_causality(e), SOA_MEMORYLESS);
    soa_expr_free(e);
    e = parsed("S1", own, OWN);
    assert_int_equal(soa_expr_causality(e), SOA_MIXED);
    soa_expr_free(e);
    assert_null(soa_expr_blocks("r", SOA_SPACE_TIP));
    assert_null(soa_expr_operator("r", SOA_SPACE_ONE, SOA_SPACE_TIP));
    bench b = open_bench("arm7", 1);
    double bad[36 * 7] = {[3] = NAN};
    assert_int_equal(soa_machine_blocks_size(b.machine, SOA_SPACE_TIP), 0);
    assert_int_equal(soa_machine_set_blocks(b.machine, "r", SOA_SPACE_TIP, bad), SOA_E_ARGUMENT);
    assert_int_equal(soa_machine_set_blocks(b.machine, "r", SOA_SPACE_LINK, bad), SOA_E_NOT_FINITE);
    soa_plan *plan = NULL;
    e = parsed("r V", own, OWN);
    assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_E_NAME);
    soa_expr_free(e);
    close_bench(&b);
}

/* phi(i, j) is the block of phi between two links; zero if i is not inboard of j. */
static void blocks_between_links(void **state) {
    (void)state;
    worst_case apart = {0};
    bench b = open_bench("quadruped", first_seed());
    const size_t n = 6 * b.links;
    const soa_variable own[] = {{"x", SOA_SPACE_LINK, SOA_SPACE_ONE, false}};
    double *ones = calloc(n + 1, sizeof *ones);
    dice d = {(uint64_t)first_seed()};
    roll_many(&d, -1, 1, n, ones);
    assert_int_equal(soa_machine_set_vector(b.machine, "x", SOA_SPACE_LINK, ones), SOA_OK);
    for (int psi = 0; psi < 2; ++psi) {
        double *whole = dense(&b, psi ? "psi" : "phi", NULL, 0);
        for (size_t i = 0; i < b.links; ++i)
            for (size_t j = 0; j < b.links; ++j) {
                soa_body_info row, column;
                char text[200];
                soa_model_body(b.model, (int)i + 1, &row);
                soa_model_body(b.model, (int)j + 1, &column);
                snprintf(text, sizeof text, "%s(%s, %s)", psi ? "ψ" : "phi", row.link, column.link);
                double *block = dense(&b, text, NULL, 0);
                for (size_t r = 0; r < n; ++r)
                    for (size_t c = 0; c < n; ++c)
                        assert_true(block[n * r + c] ==
                                    (r / 6 == i && c / 6 == j ? whole[n * r + c] : 0));
                free(block);
                strcat(text, " x");
                free(planned(&b, text, own, 1, &apart, first_seed()));
            }
        free(whole);
    }
    free(ones);
    conclude("phi(i, j), psi(i, j) by sweeps", &apart, 1e-12);
    static const struct {
        const char *text, *says;
    } wrong[] = {{"phi(hand, )", "the name of a link"},
                 {"phi(hand, a, b)", "expected ')'"},
                 {"at()", "the name of a link"},
                 {"at(a, b)", "expected ')'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const soa_expr *e = NULL;
        char message[300] = "";
        assert_int_equal(soa_expr_parse(wrong[i].text, NULL, 0, &e, message, sizeof message),
                         SOA_E_FORMAT);
        if (!strstr(message, wrong[i].says)) fail_msg("%s: %s", wrong[i].text, message);
    }
    close_bench(&b);
    b = open_bench("arm7", 1);
    soa_body_info info;
    soa_model_body(b.model, 7, &info);
    char text[200], message[300] = "";
    double out[42 * 42];
    snprintf(text, sizeof text, "at(%sx) V", info.link);
    const soa_expr *e = parsed(text, NULL, 0);
    soa_plan *plan = NULL;
    assert_int_equal(soa_plan_create(b.machine, e, &plan, message, sizeof message), SOA_E_NAME);
    snprintf(text, sizeof text, "did you mean '%s'?", info.link);
    if (!strstr(message, text)) fail_msg("%s", message);
    assert_int_equal(soa_machine_dense_matrix(b.machine, e, out), SOA_E_NAME);
    assert_non_null(strstr(soa_machine_failure(b.machine), text));
    soa_expr_free(e);
    assert_null(soa_expr_at(NULL));
    assert_null(soa_expr_at(""));
    close_bench(&b);
}

static void zero(void **state) {
    (void)state;
    static const char *const equations[] = {"T + 0 = T", "H Pplus = 0", "0 = phi - phi",
                                            "0 T = T - T", "(0)' = D - D"};
    for (size_t i = 0; i < sizeof equations / sizeof *equations; ++i) {
        const soa_expr *l = NULL, *r = NULL;
        char message[300];
        if (soa_expr_parse_equation(equations[i], NULL, 0, &l, &r, message, sizeof message) !=
            SOA_OK)
            fail_msg("%s: %s", equations[i], message);
        if (soa_expr_prove(l, r, NULL, NULL) != SOA_OK) fail_msg("not proved: %s", equations[i]);
        soa_expr_free(l);
        soa_expr_free(r);
    }
    const soa_expr *e = soa_expr_zero(SOA_SPACE_ONE, SOA_SPACE_JOINT), *t = NULL;
    bench b = open_bench("arm7", 1);
    double x[7] = {1, 1, 1, 1, 1, 1, 1};
    soa_plan *plan = NULL;
    assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_OK);
    assert_int_equal(soa_plan_run(plan, x), SOA_OK);
    for (int j = 0; j < 7; ++j)
        assert_true(x[j] == 0);
    soa_plan_free(plan);
    soa_expr_free(e);
    assert_int_equal(soa_expr_parse("0", NULL, 0, &t, NULL, 0), SOA_E_FORMAT);
    assert_int_equal(soa_expr_parse("H (0) T", NULL, 0, &t, NULL, 0), SOA_E_FORMAT);
    assert_null(soa_expr_zero(SOA_SPACE_COUNT, SOA_SPACE_JOINT));
    close_bench(&b);
}

/* The four conditions of Moore and Penrose, ranks, and O(n) plans. */
static void least_norm(void **state) {
    (void)state;
    static const struct {
        const char *machine;
        int rank;
    } cases[] = {{"chain:9", 6}, {"chain:4", 4}, {"planar-chain:5", 3}, {"arm7", 6}};
    const soa_variable own[] = {{"u", SOA_SPACE_TIP, SOA_SPACE_ONE, false}};
    worst_case penrose = {0}, apart = {0};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const long seed = first_seed() + (long)k;
        bench b = open_bench(cases[k].machine, seed);
        double u[6];
        dice d = {(uint64_t)seed};
        roll_many(&d, -1, 1, 6, u);
        assert_int_equal(soa_machine_set_vector(b.machine, "u", SOA_SPACE_TIP, u), SOA_OK);
        same_matrices(&b, "J pinv(J) J", "J", NULL, 0, &penrose, seed);
        same_matrices(&b, "pinv(J) J pinv(J)", "pinv(J)", NULL, 0, &penrose, seed);
        same_matrices(&b, "(J pinv(J))'", "J pinv(J)", NULL, 0, &penrose, seed);
        same_matrices(&b, "(pinv(J) J)'", "pinv(J) J", NULL, 0, &penrose, seed);
        assert_int_equal(soa_machine_rank(b.machine), cases[k].rank);
        free(dense(&b, "J", NULL, 0));
        assert_int_equal(soa_machine_rank(b.machine), -1);
        static const char *const texts[] = {"pinv(J) u", "pinv(J') T", "pinv(J J') u",
                                            "pinv(J inv(Mass) J') u", "pinv(J)' thd"};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t) {
            double *x = planned(&b, texts[t], own, 1, &apart, seed);
            free(x);
        }
        const soa_expr *e = parsed("pinv(J J') u", own, 1);
        soa_plan *plan = NULL;
        double x[6];
        assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_OK);
        assert_int_equal(soa_plan_run(plan, x), SOA_OK);
        assert_int_equal(soa_machine_rank(b.machine), cases[k].rank);
        soa_plan_free(plan);
        soa_expr_free(e);
        close_bench(&b);
    }
    conclude("pinv: the conditions of Moore and Penrose", &penrose, 1e-8);
    conclude("pinv by sweeps = formed", &apart, 1e-8);
}

/* alphac is what soa_acceleration_classical returns; with ac and bc the torques are the same. */
static void classical(void **state) {
    (void)state;
    worst_case alpha = {0}, torque = {0}, force = {0}, apart = {0};
    for (int k = 0; k < MACHINES; ++k) {
        const long seed = first_seed() + k;
        bench b = open_bench(machines[k], seed);
        double *got = planned(&b, "alphac - phi' E g", NULL, 0, &apart, seed),
               *V = planned(&b, "V", NULL, 0, &apart, seed),
               *bc = planned(&b, "bc", NULL, 0, &apart, seed),
               *Mf = planned(&b, "H phi (M phi' (H' thdd + ac) + bc)", NULL, 0, &apart, seed),
               *Ms = planned(&b, "H phi (M phi' (H' thdd + a) + b)", NULL, 0, &apart, seed),
               *M = dense(&b, "M", NULL, 0);
        assert_int_equal(soa_kinematics(b.model, b.work, b.q, b.v, b.a), SOA_OK);
        for (size_t i = 0; i < b.links; ++i) {
            double want[6], f[6] = {0}, h[3], *w = V + 6 * i;
            soa_body_info info;
            soa_model_body(b.model, (int)i + 1, &info);
            assert_int_equal(
                soa_acceleration_classical(b.model, b.work, info.frame, SOA_AXES_BODY, want),
                SOA_OK);
            note(&alpha, relative(got + 6 * i, want, 6), seed);
            /* RK88-I: b = [w x J w; w x (w x h)], h = m p, from the blocks of M */
            const size_t n = 6 * b.links;
            for (size_t r = 0; r < 3; ++r) {
                f[r] = 0;
                for (size_t c = 0; c < 3; ++c)
                    f[r] += M[n * (6 * i + r) + 6 * i + c] * w[c];
            }
            h[0] = M[n * (6 * i + 2) + 6 * i + 4];
            h[1] = M[n * (6 * i) + 6 * i + 5];
            h[2] = M[n * (6 * i + 1) + 6 * i + 3];
            double n0[3] = {w[1] * f[2] - w[2] * f[1], w[2] * f[0] - w[0] * f[2],
                            w[0] * f[1] - w[1] * f[0]};
            double c0[3] = {w[1] * h[2] - w[2] * h[1], w[2] * h[0] - w[0] * h[2],
                            w[0] * h[1] - w[1] * h[0]};
            const double wanted[6] = {n0[0],
                                      n0[1],
                                      n0[2],
                                      w[1] * c0[2] - w[2] * c0[1],
                                      w[2] * c0[0] - w[0] * c0[2],
                                      w[0] * c0[1] - w[1] * c0[0]};
            note(&force, relative(bc + 6 * i, wanted, 6), seed);
        }
        note(&torque, relative(Mf, Ms, b.nv), seed);
        free(got);
        free(V);
        free(bc);
        free(Mf);
        free(Ms);
        free(M);
        close_bench(&b);
    }
    conclude("alphac = soa_acceleration_classical", &alpha, 1e-11);
    conclude("bc = [w x J w; w x (w x h)], RK88-I", &force, 1e-11);
    conclude("inverse dynamics with ac and bc", &torque, 1e-11);
    conclude("by sweeps = formed", &apart, 1e-11);
}

/* Followers are joints of the tree; Gamma maps the caller's rates to its joints. */
static void mimic_joints(void **state) {
    (void)state;
    enum { BODIES = 6, FREEDOMS = 4 };
    static const char *const names[BODIES] = {"a", "b", "c", "d", "e", "f"};
    static const char *const same[][2] = {
        {"Γ' T", "tau"},
        {"Γ tau - 2 Gamma tau + Eq tau", "0 T"},
    };
    worst_case mass = {0}, inverse = {0}, forward = {0}, apart = {0};
    for (long seed = first_seed(); seed < first_seed() + 20; ++seed) {
        soa_body_def body[BODIES];
        dice d = {(uint64_t)seed * 17};
        for (int i = 0; i < BODIES; ++i) {
            body[i] =
                soa_body_default(names[i], i == 4 ? 2 : i, i == 3 ? SOA_PRISMATIC : SOA_REVOLUTE);
            roll_many(&d, -1, 1, 3, body[i].joint.axis);
            body[i].joint.axis[i % 3] += 2;
            roll_many(&d, -0.4, 0.4, 3, body[i].placement.p);
            roll_many(&d, -0.2, 0.2, 3, body[i].com);
            soa_body_box(body + i, roll(&d, 0.5, 2), 0.2, 0.3, 0.4);
            body[i].joint.rotor_inertia = 1e-3 * i;
            body[i].joint.gear_ratio = 3;
        }
        body[2].joint.mimic = 1; /* follows a */
        body[2].joint.mimic_ratio = -1.5;
        body[2].joint.mimic_offset = 0.2;
        body[5].joint.mimic = 2; /* follows b, on another branch */
        body[5].joint.mimic_ratio = 0.7;
        const soa_model_def def = soa_model_default("mimic", body, BODIES);
        bench b = {0};
        soa_report report;
        if (soa_model_create(&def, &b.model, &report)) fail_msg("%s", report.text);
        b.nv = (size_t)soa_model_nv(b.model);
        assert_int_equal(b.nv, FREEDOMS);
        assert_int_equal(soa_machine_create(b.model, NULL, 0, &b.machine, &report), SOA_OK);
        assert_int_equal(soa_work_create(b.model, &b.work), SOA_OK);
        assert_int_equal(soa_machine_space_size(b.machine, SOA_SPACE_JOINT), BODIES);
        assert_int_equal(soa_machine_space_size(b.machine, SOA_SPACE_PRIMARY), FREEDOMS);
        double q[FREEDOMS], v[FREEDOMS], a[FREEDOMS], tau[FREEDOMS], want[FREEDOMS * FREEDOMS];
        roll_many(&d, -1, 1, FREEDOMS, q);
        roll_many(&d, -1, 1, FREEDOMS, v);
        roll_many(&d, -1, 1, FREEDOMS, a);
        roll_many(&d, -1, 1, FREEDOMS, tau);
        assert_int_equal(soa_machine_set_state(b.machine, q, v, a, tau, NULL, NULL, 0), SOA_OK);
        assert_int_equal(soa_machine_set_vector(b.machine, "tau", SOA_SPACE_PRIMARY, tau), SOA_OK);
        const soa_variable own[] = {{"tau", SOA_SPACE_PRIMARY, SOA_SPACE_ONE, false}};
        double *M = dense(&b, "Gamma' Mass Gamma", NULL, 0);
        assert_int_equal(soa_crba(b.model, b.work, q, want), SOA_OK);
        note(&mass, relative(M, want, FREEDOMS * FREEDOMS), seed);
        free(M);
        double *id =
            planned(&b, "Γ' (H φ (M φ' (H' thdd + a) + b) + Jr thdd)", NULL, 0, &apart, seed);
        assert_int_equal(soa_rnea(b.model, b.work, q, v, a, NULL, 0, want), SOA_OK);
        note(&inverse, relative(id, want, FREEDOMS), seed);
        free(id);
        double *fd =
            planned(&b, "inv(Γ' Mass Γ) (tau - Γ' H φ (M φ' a + b))", own, 1, &apart, seed);
        assert_int_equal(soa_aba(b.model, b.work, q, v, tau, NULL, 0, want), SOA_OK);
        note(&forward, relative(fd, want, FREEDOMS), seed);
        free(fd);
        for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
            same_matrices(&b, same[i][0], same[i][1], own, 1, &apart, seed);
        /* a direction of the caller is Gamma dq in the tree */
        assert_int_equal(soa_machine_set_direction(b.machine, a, NULL, NULL, NULL, NULL), SOA_OK);
        free(planned(&b, "d(Mass thd)", NULL, 0, &apart, seed));
        soa_machine_free(b.machine);
        soa_work_free(b.work);
        soa_model_free(b.model);
    }
    conclude("Gamma' Mass Gamma = soa_crba with mimic joints", &mass, 1e-12);
    conclude("inverse dynamics with mimic joints = soa_rnea", &inverse, 1e-11);
    conclude("forward dynamics with mimic joints = soa_aba", &forward, 1e-9);
    conclude("the same by sweeps", &apart, 1e-9);
}

/* Exact rotors as operators of the caller: U = P H' + Hr', of which P, G, D are those of the exact
 * model (soa_smoother_read) and everything else is the reflected model's.  What holds and what does
 * not: docs/theory/rotors-and-mimic.md. */
typedef struct rotors {
    const soa_model *exact;
    soa_work *work;
    bench plain; /* the same machine with reflected rotors */
} rotors;
enum { ROTOR_BODIES = 7 };
static rotors open_rotors(long seed) {
    static const char *const names[ROTOR_BODIES] = {"a", "b", "c", "d", "e", "f", "g"};
    rotors r = {0};
    soa_body_def body[ROTOR_BODIES];
    dice d = {(uint64_t)seed * 29};
    for (int i = 0; i < ROTOR_BODIES; ++i) {
        body[i] = soa_body_default(names[i], i == 5 ? 2 : i, SOA_REVOLUTE);
        roll_many(&d, -1, 1, 3, body[i].joint.axis);
        body[i].joint.axis[i % 3] += 2;
        roll_many(&d, -0.4, 0.4, 3, body[i].placement.p);
        roll_many(&d, -0.2, 0.2, 3, body[i].com);
        soa_body_box(body + i, roll(&d, 0.5, 2), 0.2, 0.3, 0.4);
        body[i].joint.rotor_inertia = roll(&d, 1e-4, 1e-3);
        body[i].joint.gear_ratio = roll(&d, -20, 20);
    }
    const soa_model_def def = soa_model_default("rotors", body, ROTOR_BODIES);
    assert_int_equal(soa_model_create(&def, &r.plain.model, NULL), SOA_OK);
    for (int i = 0; i < ROTOR_BODIES; ++i)
        body[i].joint.rotor_model = SOA_ROTOR_EXACT;
    assert_int_equal(soa_model_create(&def, &r.exact, NULL), SOA_OK);
    assert_int_equal(soa_work_create(r.exact, &r.work), SOA_OK);
    assert_int_equal(soa_machine_create(r.plain.model, NULL, 0, &r.plain.machine, NULL), SOA_OK);
    /* Hr: the couple r = Jm G u of each rotor on its carrier, in the axes of the joint's body */
    double Hr[ROTOR_BODIES * 6 * ROTOR_BODIES] = {0};
    for (int i = 0; i < ROTOR_BODIES; ++i) {
        const double *u = body[i].joint.axis;
        const double size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (int j = 0; j < 3; ++j)
            Hr[6 * ROTOR_BODIES * i + 6 * i + j] =
                body[i].joint.rotor_inertia * body[i].joint.gear_ratio * u[j] / size;
    }
    assert_int_equal(
        soa_machine_set_matrix(r.plain.machine, "Hr", SOA_SPACE_LINK, SOA_SPACE_JOINT, Hr), SOA_OK);
    return r;
}
/* Pe, Ge, De of the exact model as operators of the other one's machine. */
static void set_filter(rotors *r, const double *q) {
    double P[36 * ROTOR_BODIES], D[ROTOR_BODIES], G[6 * ROTOR_BODIES * ROTOR_BODIES] = {0};
    assert_int_equal(soa_smoother(r->exact, r->work, q, NULL, NULL, NULL, 0), SOA_OK);
    for (int i = 0; i < ROTOR_BODIES; ++i) {
        soa_smoothed s;
        assert_int_equal(soa_smoother_read(r->exact, r->work, i + 1, &s), SOA_OK);
        memcpy(P + 36 * i, s.P_minus, sizeof s.P_minus);
        D[i] = s.D[0];
        for (int j = 0; j < 6; ++j)
            G[ROTOR_BODIES * (6 * i + j) + i] = s.gain[j];
    }
    soa_machine *m = r->plain.machine;
    assert_int_equal(soa_machine_set_blocks(m, "Pe", SOA_SPACE_LINK, P), SOA_OK);
    assert_int_equal(soa_machine_set_blocks(m, "De", SOA_SPACE_JOINT, D), SOA_OK);
    assert_int_equal(soa_machine_set_matrix(m, "Ge", SOA_SPACE_JOINT, SOA_SPACE_LINK, G), SOA_OK);
}
static void exact_rotors(void **state) {
    (void)state;
    static const soa_variable own[] = {{"Hr", SOA_SPACE_JOINT, SOA_SPACE_LINK, false},
                                       {"Pe", SOA_SPACE_LINK, SOA_SPACE_LINK, true},
                                       {"De", SOA_SPACE_JOINT, SOA_SPACE_JOINT, true},
                                       {"Ge", SOA_SPACE_LINK, SOA_SPACE_JOINT, false}};
    enum { OWN = sizeof own / sizeof *own };
#define EXACT_MASS "(Mass + H phit Hr' + Hr phit' H')"
#define EXACT_PSI "inv(I - E_phi (I - Ge H))"
    static const char *const hold[][2] = {
        {"De", "H Pe H' + Jr"},
        {"Ge De", "Pe H' + Hr'"},
        {"Pe", "M + E_phi (Pe - Ge De Ge') E_phi'"},
        {"M", "Pe - E_phi Pe E_phi' + E_phi Ge De Ge' E_phi'"},
        {"(I + H phi E_phi Ge) De (I + H phi E_phi Ge)'", EXACT_MASS},
        {"inv(I + H phi E_phi Ge)", "I - H " EXACT_PSI " E_phi Ge"},
        {"(I - H " EXACT_PSI " E_phi Ge) H phi", "H " EXACT_PSI},
        {EXACT_PSI " M phi'",
         "Pe + (" EXACT_PSI " - I) Pe + Pe phit' + " EXACT_PSI " E_phi Ge Hr phit'"}};
    static const char *const fail[][2] = {
        {"Pe H'", "Ge De"}, {EXACT_PSI " M phi'", "Pe + (" EXACT_PSI " - I) Pe + Pe phit'"}};
    worst_case mass = {0}, torque = {0}, holds = {0};
    for (long seed = first_seed(); seed < first_seed() + 10; ++seed) {
        rotors r = open_rotors(seed);
        dice d = {(uint64_t)seed};
        double q[ROTOR_BODIES], a[ROTOR_BODIES], want[ROTOR_BODIES],
            full[ROTOR_BODIES * ROTOR_BODIES];
        roll_many(&d, -1, 1, ROTOR_BODIES, q);
        roll_many(&d, -1, 1, ROTOR_BODIES, a);
        assert_int_equal(soa_machine_set_state(r.plain.machine, q, NULL, a, NULL, NULL, NULL, 0),
                         SOA_OK);
        set_filter(&r, q);
        double *M = dense(&r.plain, EXACT_MASS, own, OWN);
        assert_int_equal(soa_crba(r.exact, r.work, q, full), SOA_OK);
        note(&mass, relative(M, full, ROTOR_BODIES * ROTOR_BODIES), seed);
        free(M);
        /* at rest; a contains gravity, which turns no carrier */
        double *id = dense(&r.plain,
                           "H phi (M phi' (H' thdd + a) + E_phi Hr' thdd) + Jr thdd"
                           " + Hr phit' (H' thdd + a)",
                           own, OWN);
        assert_int_equal(soa_rnea(r.exact, r.work, q, NULL, a, NULL, 0, want), SOA_OK);
        note(&torque, relative(id, want, ROTOR_BODIES), seed);
        free(id);
        for (size_t i = 0; i < sizeof hold / sizeof *hold; ++i)
            same_matrices(&r.plain, hold[i][0], hold[i][1], own, OWN, &holds, seed);
        for (size_t i = 0; i < sizeof fail / sizeof *fail; ++i) {
            worst_case apart = {0};
            same_matrices(&r.plain, fail[i][0], fail[i][1], own, OWN, &apart, seed);
            assert_true(apart.error > 1e-6);
        }
        soa_machine_free(r.plain.machine);
        soa_model_free(r.plain.model);
        soa_work_free(r.work);
        soa_model_free(r.exact);
    }
    conclude("mass matrix with exact rotors = soa_crba", &mass, 1e-12);
    conclude("inverse dynamics at rest with exact rotors = soa_rnea", &torque, 1e-11);
    conclude("identities that hold with U = P H' + Hr'", &holds, 1e-9);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother_and_factors),
        cmocka_unit_test(decomposition),
        cmocka_unit_test(own_operators),
        cmocka_unit_test(blocks_between_links),
        cmocka_unit_test(zero),
        cmocka_unit_test(least_norm),
        cmocka_unit_test(classical),
        cmocka_unit_test(mimic_joints),
        cmocka_unit_test(exact_rotors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
