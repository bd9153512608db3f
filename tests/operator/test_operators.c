/* test_operators.c  every identity of the papers by name: proved, formed and applied; every false
 * variant refused. */
#include "check.h"
#include "operator/machine.h"
#include "soa/io.h"
#include "soa/soa.h"
#include <time.h>

static const char *const machines[] = {
    "planar-chain:4", "chain:6",        "arm7",           "satellite",      "quadruped",
    "random-ideal:1", "random-ideal:2", "random-ideal:5", "random-ideal:7", "random-ideal:11"};
enum { MACHINES = sizeof machines / sizeof *machines };

typedef struct bench {
    const soa_model *model;
    soa_machine *machine;
    soa_work *work;
    double *q, *v, *a, *tau, f0[12];
} bench;
static void make_closure(bench *b, long seed);
static bench open_bench(const char *name, int ideal, long seed) {
    bench b = {0};
    const soa_read_options options = {0, ideal};
    soa_report report;
    assert_int_equal(soa_stock_model_create(name, &options, &b.model, &report), SOA_OK);
    const size_t nq = (size_t)soa_model_nq(b.model), nv = (size_t)soa_model_nv(b.model);
    const int last = soa_model_body_count(b.model);
    soa_body_info one, two;
    soa_model_body(b.model, last, &one);
    soa_model_body(b.model, 1 + last / 2, &two);
    const int tips[2] = {one.frame, two.frame};
    assert_int_equal(
        soa_machine_create(b.model, tips, one.frame == two.frame ? 1 : 2, &b.machine, &report),
        SOA_OK);
    assert_int_equal(soa_work_create(b.model, &b.work), SOA_OK);
    b.q = calloc(nq + 1, sizeof(double));
    b.v = calloc(nv + 1, sizeof(double));
    b.a = calloc(nv + 1, sizeof(double));
    b.tau = calloc(nv + 1, sizeof(double));
    dice d = {(uint64_t)seed};
    roll_many(&d, -1, 1, nv, b.a);
    soa_q_neutral(b.model, b.q);
    soa_q_integrate(b.model, b.q, b.a, 1, b.q);
    roll_many(&d, -1, 1, nv, b.v);
    roll_many(&d, -1, 1, nv, b.a);
    roll_many(&d, -1, 1, nv, b.tau);
    roll_many(&d, -1, 1, 12, b.f0);
    assert_int_equal(soa_machine_set_state(b.machine, b.q, b.v, b.a, b.tau, b.f0, NULL, 0), SOA_OK);
    double *dx = calloc(4 * nv + 12, sizeof *dx);
    roll_many(&d, -1, 1, 4 * nv + 12, dx);
    assert_int_equal(
        soa_machine_set_direction(b.machine, dx, dx + nv, dx + 2 * nv, dx + 3 * nv, dx + 4 * nv),
        SOA_OK);
    free(dx);
    make_closure(&b, seed);
    return b;
}
/* Rows of constraints, an object and primary coordinates, made up: leaves of closed chains have
 * numbers then. */
static void make_closure(bench *b, long seed) {
    enum { ROWS = 3, TERMS = 7 };
    const size_t nv = (size_t)soa_model_nv(b->model),
                 tips = (size_t)soa_machine_space_size(b->machine, SOA_SPACE_TIP);
    const int frames = soa_model_frame_count(b->model), primary = nv > 1 ? 2 : 1;
    soa_row_wrench term[TERMS];
    double gamma[ROWS], b0[6], *x = calloc((nv + tips + 6) * 6 + 36, sizeof *x), M[36];
    dice d = {(uint64_t)seed * 131};
    for (int i = 0; i < TERMS; ++i) {
        term[i] = (soa_row_wrench){.row = i % ROWS, .frame = (5 * i) % frames};
        roll_many(&d, -1, 1, 6, term[i].wrench);
    }
    roll_many(&d, -1, 1, ROWS, gamma);
    roll_many(&d, -1, 1, 6, b0);
    roll_many(&d, -1, 1, 36, M);
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < r; ++c)
            M[6 * r + c] = M[6 * c + r];
    roll_many(&d, -1, 1, (nv + tips) * 6, x);
    assert_int_equal(soa_machine_set_constraints(b->machine, ROWS, term, TERMS, x, gamma), SOA_OK);
    assert_int_equal(soa_machine_set_objects(b->machine, 1, x, M, b0, x + 2, gamma), SOA_OK);
    assert_int_equal(soa_machine_set_primary(b->machine, primary, x + 1, x + 3), SOA_OK);
    free(x);
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
static const soa_expr *parsed(const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    return e;
}
static double *formed(soa_machine *m, const soa_expr *e, size_t *n) {
    *n = (size_t)soa_machine_space_size(m, soa_expr_codomain(e)) *
         (size_t)soa_machine_space_size(m, soa_expr_domain(e));
    double *x = calloc(*n + 1, sizeof *x);
    assert_int_equal(soa_machine_dense_matrix(m, e, x), SOA_OK);
    return x;
}
/* e applied to the variable x by sweeps */
static double *applied(soa_machine *m, const soa_expr *e, const soa_expr *x) {
    const soa_expr *ex = soa_expr_product(e, x);
    double *y = calloc((size_t)soa_machine_space_size(m, soa_expr_codomain(e)) + 1, sizeof *y);
    soa_plan *plan = NULL;
    char message[600];
    if (soa_plan_create(m, ex, &plan, message, sizeof message) != SOA_OK) fail_msg("%s", message);
    assert_int_equal(soa_plan_run(plan, y), SOA_OK);
    soa_plan_free(plan);
    soa_expr_free(ex);
    return y;
}
/* A random vector named x in the space e starts from. */
static const soa_expr *random_x(soa_machine *m, const soa_expr *e, long seed, double **value) {
    const soa_space space = soa_expr_domain(e);
    const size_t n = (size_t)soa_machine_space_size(m, space);
    dice d = {(uint64_t)seed * 977};
    *value = calloc(n + 1, sizeof **value);
    roll_many(&d, -1, 1, n, *value);
    assert_int_equal(soa_machine_set_vector(m, "x", space, *value), SOA_OK);
    return soa_expr_variable("x", space);
}
static void matrix_times(const double *A, const double *x, size_t rows, size_t columns, double *y) {
    for (size_t r = 0; r < rows; ++r) {
        y[r] = 0;
        for (size_t c = 0; c < columns; ++c)
            y[r] += A[columns * r + c] * x[c];
    }
}

/* The caller's letters of an expression, set to random numbers. */
static void set_letters(soa_machine *m, const soa_expr *e, dice *d) {
    soa_expr_info info;
    assert_int_equal(soa_expr_get_info(e, &info), SOA_OK);
    for (int i = 0; i < info.count; ++i)
        set_letters(m, soa_expr_part(e, i), d);
    if (info.kind != SOA_EXPR_LEAF || info.what) return;
    const soa_space from = soa_expr_domain(e), to = soa_expr_codomain(e);
    const size_t n = (size_t)soa_machine_space_size(m, to) *
                     (from == SOA_SPACE_ONE ? 1 : (size_t)soa_machine_space_size(m, from));
    double *x = calloc(n + 1, sizeof *x);
    roll_many(d, -1, 1, n, x);
    if (from == SOA_SPACE_ONE)
        assert_int_equal(soa_machine_set_vector(m, info.name, to, x), SOA_OK);
    else
        assert_int_equal(soa_machine_set_matrix(m, info.name, from, to, x), SOA_OK);
    free(x);
}
static void parsed_equation(const char *text, const soa_expr **left, const soa_expr **right) {
    char message[600];
    if (soa_expr_parse_equation(text, NULL, 0, left, right, message, sizeof message) != SOA_OK)
        fail_msg("%s: %s", text, message);
}
/* Forms of operators are compared column by column through a vector, vectors as they are. */
static double *by_sweeps(soa_machine *m, const soa_expr *e, const soa_expr *x) {
    if (soa_expr_domain(e) != SOA_SPACE_ONE) return applied(m, e, x);
    double *y = calloc((size_t)soa_machine_space_size(m, soa_expr_codomain(e)) + 1, sizeof *y);
    soa_plan *plan = NULL;
    char message[600];
    if (soa_plan_create(m, e, &plan, message, sizeof message) != SOA_OK) fail_msg("%s", message);
    assert_int_equal(soa_plan_run(plan, y), SOA_OK);
    soa_plan_free(plan);
    return y;
}
/* Both sides formed and swept on one machine; 0 if an inverse does not exist there. */
static int sides_agree(const char *machine, long seed, const soa_expr *left, const soa_expr *right,
                       worst_case *w) {
    bench b = open_bench(machine, 1, seed);
    const int vector = soa_expr_domain(left) == SOA_SPACE_ONE;
    const size_t rows = (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(left));
    const size_t columns =
        vector ? 1 : (size_t)soa_machine_space_size(b.machine, soa_expr_domain(left));
    double *A = calloc(rows * columns + 1, sizeof *A), *B = calloc(rows * columns + 1, sizeof *B);
    double *x = NULL, *dense = calloc(rows + 1, sizeof *dense);
    dice d = {(uint64_t)seed * 31};
    set_letters(b.machine, left, &d);
    set_letters(b.machine, right, &d);
    const soa_status formed_left = soa_machine_dense_matrix(b.machine, left, A);
    const int exists = formed_left == SOA_OK;
    if (!exists) assert_int_equal(formed_left, SOA_E_SINGULAR);
    if (exists) {
        assert_int_equal(soa_machine_dense_matrix(b.machine, right, B), SOA_OK);
        note(w, relative(A, B, rows * columns), seed);
        const soa_expr *variable = vector ? NULL : random_x(b.machine, left, seed, &x);
        double *y = by_sweeps(b.machine, left, variable),
               *z = by_sweeps(b.machine, right, variable);
        if (vector)
            memcpy(dense, B, rows * sizeof *dense);
        else
            matrix_times(B, x, rows, columns, dense);
        note(w, relative(y, dense, rows), seed);
        note(w, relative(z, dense, rows), seed);
        free(y);
        free(z);
        free(x);
        soa_expr_free(variable);
    }
    free(A);
    free(B);
    free(dense);
    close_bench(&b);
    return exists;
}
static void papers_identities(void **state) {
    (void)state;
    const char *name, *text;
    int count = 0;
    for (; (name = soa_expr_identity_name(count, &text)) != NULL; ++count) {
        const soa_expr *left = NULL, *right = NULL;
        parsed_equation(text, &left, &right);
        if (soa_expr_prove(left, right, NULL, NULL) != SOA_OK) fail_msg("%s: not proved", name);
        worst_case w = {0};
        int tried = 0;
        for (int k = 0; k < MACHINES; ++k)
            tried += sides_agree(machines[k], first_seed() + k, left, right, &w);
        if (tried < 1) fail_msg("%s: its sides exist on no machine", name);
        conclude(name, &w, 1e-11);
        assert_int_equal(soa_expr_find_identity(name), count);
        soa_expr_free(left);
        soa_expr_free(right);
    }
    assert_true(count >= 90);
    assert_null(soa_expr_identity_name(-1, &text));
    assert_int_equal(soa_expr_find_identity("(a.99)"), -1);
    assert_string_equal(soa_expr_identity_name(soa_expr_find_identity("a.35"), NULL),
                        "RK88-I (a.35)");
    assert_string_equal(soa_expr_identity_name(soa_expr_find_identity("a.1"), NULL),
                        "RK88-I (a.1)");
    assert_string_equal(soa_expr_identity_name(soa_expr_find_identity("RJK91 (16)"), NULL),
                        "RJK91 lemma 4, (16)");
}

/* The same with one sign turned, or one side scaled: no proof, and a machine that differs. */
static void false_variants(void **state) {
    (void)state;
    const char *name, *given;
    int count = 0;
    for (; (name = soa_expr_identity_name(count, &given)) != NULL; ++count) {
        char text[600];
        const char *begin = strchr(given, ';') ? strchr(given, ';') + 1 : given;
        snprintf(text, sizeof text, "%s", given);
        char *right = strchr(text, '='), *sign = strpbrk(right, "+-");
        if (sign && sign[1] == ' ')
            *sign = *sign == '+' ? '-' : '+';
        else
            snprintf(text, sizeof text, "%.*s1.5 %s", (int)(begin - given), given, begin);
        const soa_expr *l = NULL, *r = NULL;
        parsed_equation(text, &l, &r);
        if (soa_expr_prove(l, r, NULL, NULL) == SOA_OK) fail_msg("proved though false: %s", text);
        bench b = open_bench("arm7", 1, first_seed());
        dice d = {77};
        set_letters(b.machine, l, &d);
        set_letters(b.machine, r, &d);
        size_t n = (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(l)) *
                   (size_t)soa_machine_space_size(b.machine, soa_expr_domain(l));
        double *A = calloc(n + 1, sizeof *A), *B = calloc(n + 1, sizeof *B);
        const soa_status s = soa_machine_dense_matrix(b.machine, l, A);
        if (s == SOA_OK) {
            assert_int_equal(soa_machine_dense_matrix(b.machine, r, B), SOA_OK);
            if (!(relative(A, B, n) > 1e-6)) fail_msg("no counter-example: %s", text);
        } else { /* two tips on seven joints: one tip is tried by soa identity */
            assert_int_equal(s, SOA_E_SINGULAR);
        }
        free(A);
        free(B);
        soa_expr_free(l);
        soa_expr_free(r);
        close_bench(&b);
    }
    printf("  %d false variants refused\n", count);
}

static void leaves_applied_and_formed(void **state) {
    (void)state;
    worst_case w = {0};
    const char *name, *what;
    for (int l = 1; (name = soa_expr_leaf_name(l, &what)); ++l)
        for (int turned = 0; turned < 2; ++turned)
            for (int k = 0; k < MACHINES; ++k) {
                bench b = open_bench(machines[k], 1, first_seed() + k);
                const soa_expr *leaf = parsed(name),
                               *e = turned ? soa_expr_adjoint(leaf) : soa_expr_scale(1, leaf);
                size_t n, rows = (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(e)),
                          columns = (size_t)soa_machine_space_size(b.machine, soa_expr_domain(e));
                if (soa_expr_domain(leaf) == SOA_SPACE_ONE) {
                    if (!turned) {
                        double *A = formed(b.machine, leaf, &n), *y = calloc(rows + 1, sizeof *y);
                        soa_plan *plan = NULL;
                        assert_int_equal(soa_plan_create(b.machine, leaf, &plan, NULL, 0), SOA_OK);
                        assert_int_equal(soa_plan_run(plan, y), SOA_OK);
                        note(&w, relative(y, A, n), k);
                        soa_plan_free(plan);
                        free(A);
                        free(y);
                    }
                } else {
                    double *x, *A = formed(b.machine, e, &n),
                               *dense = calloc(rows + 1, sizeof *dense);
                    const soa_expr *vector = random_x(b.machine, e, first_seed() + k, &x);
                    double *y = applied(b.machine, e, vector);
                    matrix_times(A, x, rows, columns, dense);
                    note(&w, relative(y, dense, rows), k);
                    free(x);
                    free(A);
                    free(dense);
                    free(y);
                    soa_expr_free(vector);
                }
                soa_expr_free(leaf);
                soa_expr_free(e);
                close_bench(&b);
            }
    conclude("every leaf and its adjoint: applied = formed", &w, 1e-11);
}

/* f0 acts on the environment: minus on the machine. Returns how many tips there are. */
static int tip_wrenches(const bench *b, soa_wrench wrench[2]) {
    const int tips = soa_machine_space_size(b->machine, SOA_SPACE_TIP) / 6,
              last = soa_model_body_count(b->model);
    soa_body_info one, two;
    soa_model_body(b->model, last, &one);
    soa_model_body(b->model, 1 + last / 2, &two);
    for (int t = 0; t < tips; ++t) {
        wrench[t] = (soa_wrench){.frame = t ? two.frame : one.frame, .axes = SOA_AXES_BODY};
        for (int j = 0; j < 6; ++j)
            wrench[t].value[j] = -b->f0[6 * t + j];
    }
    return tips;
}
/* Torque of friction and springs, which are no operators: what inverse dynamics at rest adds to
 * that of the same machine without them. */
static void losses_of(const bench *b, const char *name, double *loss) {
    const size_t nv = (size_t)soa_model_nv(b->model);
    const soa_read_options plain = {0, 1};
    const soa_model *ideal = NULL;
    soa_work *w = NULL;
    double *without = calloc(nv + 1, sizeof *without);
    assert_int_equal(soa_stock_model_create(name, &plain, &ideal, NULL), SOA_OK);
    assert_int_equal(soa_work_create(ideal, &w), SOA_OK);
    soa_rnea(b->model, b->work, b->q, b->v, NULL, NULL, 0, loss);
    soa_rnea(ideal, w, b->q, b->v, NULL, NULL, 0, without);
    for (size_t j = 0; j < nv; ++j)
        loss[j] -= without[j];
    free(without);
    soa_work_free(w);
    soa_model_free(ideal);
}
/* Accelerations by soa_aba; the losses' torque is given back beforehand, for the operators have
 * none. */
static double *by_aba(bench *b, const char *name, int ideal) {
    const size_t nv = (size_t)soa_model_nv(b->model);
    double *vdot = calloc(nv + 1, sizeof *vdot), *tau = calloc(nv + 1, sizeof *tau);
    soa_wrench wrench[2];
    const int tips = tip_wrenches(b, wrench);
    if (!ideal) losses_of(b, name, tau);
    for (size_t j = 0; j < nv; ++j)
        tau[j] = b->tau[j] + tau[j];
    assert_int_equal(soa_aba(b->model, b->work, b->q, b->v, tau, wrench, tips, vdot), SOA_OK);
    free(tau);
    return vdot;
}
static void run_plan(bench *b, const soa_expr *e, double *out) {
    soa_plan *plan = NULL;
    assert_int_equal(soa_plan_create(b->machine, e, &plan, NULL, 0), SOA_OK);
    assert_int_equal(soa_plan_run(plan, out), SOA_OK);
    soa_plan_free(plan);
}
static void run_form(bench *b, const char *form, double *out) {
    const soa_expr *e = NULL;
    assert_int_equal(soa_expr_from_form(form, &e), SOA_OK);
    run_plan(b, e, out);
    soa_expr_free(e);
}

enum { FD1, FD3, FD4, ALPHA, ID, PARTS, AGREEMENTS };
/* An expression as written and improved; consumes it. */
static void compare_with_aba(bench *b, const soa_expr *e, const double *vdot, int k,
                             worst_case *w) {
    const size_t nv = (size_t)soa_model_nv(b->model);
    const soa_expr *better = NULL;
    double *got = calloc(nv + 1, sizeof *got);
    assert_int_equal(soa_expr_improve(e, 0, NULL, NULL, &better), SOA_OK);
    run_plan(b, e, got);
    note(w, relative(got, vdot, nv), k);
    run_plan(b, better, got);
    note(w, relative(got, vdot, nv), k);
    soa_expr_free(e);
    soa_expr_free(better);
    free(got);
}
static void compare_forward(bench *b, const double *vdot, int k, worst_case w[AGREEMENTS]) {
    static const char *const forms[] = {"FD1", "FD3", "FD4"};
    for (int f = 0; f < 3; ++f) {
        const soa_expr *e = NULL;
        assert_int_equal(soa_expr_from_form(forms[f], &e), SOA_OK);
        compare_with_aba(b, e, vdot, k, &w[FD1 + f]);
    }
    /* improved, it runs as the library's filter and smoother */
    compare_with_aba(b, parsed("inv(Mass) (T - H phi (M phi' a + b + B f0))"), vdot, k, &w[FD1]);
}
/* Link accelerations of FD2 and FD3, against alpha at the accelerations found */
static void compare_alpha(bench *b, int k, worst_case w[AGREEMENTS]) {
    const size_t links = 6 * (size_t)soa_model_body_count(b->model);
    double *alpha = calloc(links + 1, sizeof *alpha), *got = calloc(links + 1, sizeof *got);
    const soa_expr *e = parsed("alpha");
    run_plan(b, e, alpha);
    soa_expr_free(e);
    run_form(b, "FD2", got);
    note(&w[ALPHA], relative(got, alpha, links), k);
    run_form(b, "FD3_link", got);
    note(&w[ALPHA], relative(got, alpha, links), k);
    free(alpha);
    free(got);
}
static void compare_inverse(bench *b, int k, worst_case w[AGREEMENTS]) {
    const size_t nv = (size_t)soa_model_nv(b->model);
    double *got = calloc(nv + 1, sizeof *got);
    run_form(b, "ID", got);
    note(&w[ID], relative(got, b->tau, nv), k);
    free(got);
}
/* The three parts of R87 (69), (70), and the tips' */
static void compare_parts(bench *b, const double *vdot, int k, worst_case w[AGREEMENTS]) {
    static const char *const parts[] = {"due_to_torque", "due_to_force", "due_to_acceleration",
                                        "due_to_tip"};
    const size_t nv = (size_t)soa_model_nv(b->model);
    double *got = calloc(nv + 1, sizeof *got), *sum = calloc(nv + 1, sizeof *sum);
    for (int f = 0; f < 4; ++f) {
        run_form(b, parts[f], got);
        for (size_t j = 0; j < nv; ++j)
            sum[j] += got[j];
    }
    note(&w[PARTS], relative(sum, vdot, nv), k);
    free(got);
    free(sum);
}
static void algorithms_agree(void **state) {
    (void)state;
    enum { WITHOUT_EXACT_ROTORS = 5 }; /* the machines after these have some, if not ideal */
    worst_case w[AGREEMENTS] = {{0}};
    for (int k = 0; k < MACHINES; ++k)
        for (int ideal = 0; ideal < 2; ++ideal) {
            if (!ideal && k >= WITHOUT_EXACT_ROTORS) continue;
            bench b = open_bench(machines[k], ideal, first_seed() + k);
            double *vdot = by_aba(&b, machines[k], ideal);
            compare_forward(&b, vdot, k, w);
            assert_int_equal(soa_machine_set_state(b.machine, b.q, b.v, vdot, b.tau, b.f0, NULL, 0),
                             SOA_OK);
            compare_alpha(&b, k, w);
            compare_inverse(&b, k, w);
            compare_parts(&b, vdot, k, w);
            free(vdot);
            close_bench(&b);
        }
    conclude("FD1 = aba", &w[FD1], 1e-10);
    conclude("FD3 = aba", &w[FD3], 1e-10);
    conclude("FD4 = aba", &w[FD4], 1e-10);
    conclude("FD2, FD3_link = alpha", &w[ALPHA], 1e-10);
    conclude("ID of the accelerations found = torque", &w[ID], 1e-9);
    conclude("R87 (69), (70): a1 + a2 + a3 + tip = aba", &w[PARTS], 1e-10);
}

/* Solves between passes: their plans must leave what the passes around them need. */
static void solves_between(void **state) {
    (void)state;
    static const char *const texts[] = {
        "inv(Mass) (T - H phi (M phi' a + b + B inv(J inv(Mass) J') B' phi' a))",
        "(I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b + B inv(J inv(Mass) J') J thd))",
        "inv(Mass) T - inv(Mass) J' inv(J inv(Mass) J') (J inv(Mass) T - f0)",
        "P phi' H' thd + phi B inv(J inv(Mass) J') f0",
        "inv(B' psi' H' inv(D) H psi B) f0", /* Omega as a recursion of blocks */
        "inv(Mass) T - (I - H psi K)' inv(D) H psi B inv(B' psi' H' inv(D) H psi B) f0",
        "J' inv(J inv(Mass) J') inv(J inv(Mass) J') f0 + T"};
    static const char *const names[] = {"arm7", "puma560", "satellite", "quadruped", "humanoid"};
    worst_case w = {0};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
            bench b = open_bench(names[k], 1, first_seed() + (long)k);
            const soa_expr *e = parsed(texts[i]);
            const size_t n = (size_t)soa_machine_space_size(b.machine, soa_expr_codomain(e));
            double *dense = calloc(n + 1, sizeof *dense);
            const soa_status formed_ = soa_machine_dense_matrix(b.machine, e, dense);
            if (formed_ == SOA_OK) {
                double *swept = by_sweeps(b.machine, e, NULL);
                note(&w, relative(swept, dense, n), (long)k);
                free(swept);
            } else {
                assert_int_equal(formed_, SOA_E_SINGULAR);
            }
            free(dense);
            soa_expr_free(e);
            close_bench(&b);
        }
    printf("%ld of them have all inverses\n", w.count);
    assert_true(w.count >= 5);
    conclude("plans with solves between passes = dense", &w, 1e-9);
}

/* ---- no sweep of the library is called as a whole -------------------------------------------- */
static int whole_sweeps; /* calls of one */
static int sweep_called(void) {
    ++whole_sweeps;
    return 1;
}
/* The table of a work space with every function replaced but those that run planned steps. */
static soai_kernels trapped(const soai_kernels *from) {
    soai_kernels trap = *from;
    int (*called)(void) = sweep_called;
    /* All members from the first function on are pointers to functions. */
    for (size_t at = offsetof(soai_kernels, rnea); at < sizeof trap; at += sizeof called)
        memcpy((char *)&trap + at, &called, sizeof called);
    trap.exec = from->exec;
    trap.steps = from->steps;
    trap.inertia = from->inertia; /* reads P of one body */
    return trap;
}
static void steps_only(void **state) {
    (void)state;
    static const char *const texts[] = {
        "inv(Mass) (T - H phi (M phi' a + b + B f0))",
        "(I - H psi S L)' inv(D) (T - H psi (S L T + M phi' a + b))",
        "inv(Mass) T",
        "H phi M phi' H' thdd + Jr thdd",
        "J inv(Mass) J' f0",
        "inv(J inv(Mass) J') f0",
        "Mc phi' H' thd",
        "Delta b",
        "phi phi' a"};
    bench b = open_bench("satellite", 1, first_seed());
    const soai_kernels *before = b.machine->work->k;
    const soai_kernels trap = trapped(before);
    const char *form = NULL;
    const int forms = 2 * (int)(sizeof texts / sizeof *texts) + 40;
    double *result = calloc(6 * 100, sizeof *result);
    int run = 0;
    for (int i = 0; i < forms; ++i) {
        const int named = i % 2;
        if (named && !soa_expr_form_name(i / 2, &form, NULL)) continue;
        if (!named && (size_t)i / 2 >= sizeof texts / sizeof *texts) continue;
        const soa_expr *e = parsed(named ? form : texts[i / 2]);
        soa_plan *plan = NULL;
        assert_int_equal(soa_machine_set_state(b.machine, b.q, b.v, b.tau, b.tau, b.f0, NULL, 0),
                         SOA_OK);
        assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_OK);
        b.machine->work->k = &trap;
        const soa_status status = soa_plan_run(plan, result);
        b.machine->work->k = before;
        assert_int_equal(status, SOA_OK);
        assert_int_equal(whole_sweeps, 0);
        ++run;
        soa_plan_free(plan);
        soa_expr_free(e);
    }
    printf("%d expressions run by steps alone\n", run);
    assert_true(run >= 20);
    /* The trap works: the hand-written call falls into it. */
    b.machine->work->k = &trap;
    soa_aba(b.machine->model, b.machine->work, b.q, b.v, b.tau, NULL, 0, result);
    b.machine->work->k = before;
    assert_int_equal(whole_sweeps, 1);
    free(result);
    close_bench(&b);
}

static void expect_improved(const char *from, const char *to) {
    char text[600];
    const soa_expr *e = parsed(from), *better = NULL;
    assert_int_equal(soa_expr_improve(e, 0, NULL, NULL, &better), SOA_OK);
    soa_expr_print(better, text, sizeof text);
    assert_string_equal(text, to);
    soa_expr_free(e);
    soa_expr_free(better);
}
static long operations(soa_machine *m, const soa_expr *e) {
    soa_scalar_graph *graph = NULL;
    soa_count c;
    assert_int_equal(soa_scalar_graph_create(m, e, NULL, &graph, NULL, 0), SOA_OK);
    assert_int_equal(soa_scalar_graph_operations(graph, 0, -1, &c), SOA_OK);
    soa_scalar_graph_free(graph);
    return c.additions + c.multiplications + c.divisions;
}
/* Every form of forward dynamics becomes the same one, and no form of the papers becomes dearer. */
static void rewriter(void **state) {
    (void)state;
    expect_improved("J inv(Mass) J' f0", "B' psi' H' inv(D) H psi B f0");
    expect_improved("inv(Mass) T", "(I - H psi K)' inv(D) (I - H psi K) T");
    expect_improved("inv(I + H phi K) T", "(I - H psi K) T");
    static const char *const machines_counted[] = {"arm7", "satellite", "random-ideal:2"};
    for (int k = 0; k < 3; ++k) {
        bench b = open_bench(machines_counted[k], 1, first_seed());
        const char *name, *text;
        long forward = 0;
        for (int i = 0; (name = soa_expr_form_name(i, &text, NULL)) != NULL; ++i) {
            if (!strcmp(name, "task_force")) continue; /* with a dense solve: not counted */
            const soa_expr *e = parsed(text), *better = NULL;
            assert_int_equal(soa_expr_improve(e, 0, NULL, NULL, &better), SOA_OK);
            const long before = operations(b.machine, e), after = operations(b.machine, better);
            if (after > before)
                fail_msg("%s on %s: %ld operations become %ld", name, machines_counted[k], before,
                         after);
            if (!strcmp(name, "FD1")) forward = after;
            if (!strcmp(name, "FD3") || !strcmp(name, "FD4")) assert_int_equal(after, forward);
            if (k == 0) print_message("  %-20s %5ld -> %5ld operations\n", name, before, after);
            soa_expr_free(e);
            soa_expr_free(better);
        }
        const soa_expr *e = parsed("inv(Mass) (T - H phi (M phi' a + b + B f0))"), *better = NULL;
        assert_int_equal(soa_expr_improve(e, 0, NULL, NULL, &better), SOA_OK);
        assert_int_equal(operations(b.machine, better), forward);
        soa_expr_free(e);
        soa_expr_free(better);
        close_bench(&b);
    }
}
/* Every rule of the rewriter is proved; those for all machines are formed on one with rotors. */
static void rules_hold(void **state) {
    (void)state;
    const char *name, *left, *right;
    bool ideal;
    int count = 0;
    worst_case w = {0};
    for (; (name = soa_expr_rule_name(count, &left, &right, &ideal)) != NULL; ++count) {
        char text[400];
        const soa_expr *l = NULL, *r = NULL;
        snprintf(text, sizeof text, "%s = %s", left, right);
        parsed_equation(text, &l, &r);
        if (soa_expr_prove(l, r, NULL, NULL) != SOA_OK) fail_msg("%s: not proved", text);
        bench b = open_bench("arm7", 0, first_seed());
        size_t n;
        double *A = formed(b.machine, l, &n), *B = formed(b.machine, r, &n);
        const double apart = relative(A, B, n);
        if (!ideal) note(&w, apart, first_seed());
        if (!ideal && !(apart < 1e-11)) fail_msg("%s: not for machines with rotors", text);
        free(A);
        free(B);
        soa_expr_free(l);
        soa_expr_free(r);
        close_bench(&b);
    }
    conclude("rules of the rewriter, with rotors", &w, 1e-11);
}
/* Each line of a derivation is proved equal to the one before. */
typedef struct derivation {
    const char *letters;
    char last[4000];
    int steps;
} derivation;
static void next_step(void *user, const char *rule, const char *result) {
    derivation *d = user;
    if (d->steps++) {
        char text[9000];
        const soa_expr *l = NULL, *r = NULL;
        snprintf(text, sizeof text, "%s%s = %s", d->letters, d->last, result);
        parsed_equation(text, &l, &r);
        if (soa_expr_prove(l, r, NULL, NULL) != SOA_OK) fail_msg("[%s] %s", rule, text);
        soa_expr_free(l);
        soa_expr_free(r);
    }
    assert_true(strlen(result) < sizeof d->last);
    strcpy(d->last, result);
}
static int derived(const char *letters, const char *from, const char *to) {
    char text[2000];
    const soa_expr *l = NULL, *r = NULL;
    derivation d = {.letters = letters};
    snprintf(text, sizeof text, "%s%s = %s", letters, from, to);
    parsed_equation(text, &l, &r);
    const soa_status s = soa_expr_derive(l, r, 0, next_step, &d);
    if (s == SOA_OK) { /* the last line is the goal */
        char goal[2000];
        soa_expr_print(r, goal, sizeof goal);
        assert_int_equal(strlen(d.last), strlen(goal)); /* up to the order of its terms */
    }
    soa_expr_free(l);
    soa_expr_free(r);
    return s == SOA_OK ? d.steps - 1 : -1;
}
static void derivations(void **state) {
    (void)state;
    static const struct {
        const char *name, *letters, *from, *to;
    } wanted[] = {
        {"FD1 to FD3", "", "FD1", "FD3"},
        {"FD3 to FD1", "", "FD3", "FD1"},
        {"FD1 to FD4", "", "FD1", "FD4"},
        {"FD3 to FD4", "", "FD3", "FD4"},
        {"FD4 to FD3", "", "FD4", "FD3"},
        {"FD2 from FD1", "", "phi' (H' FD1 + a)", "FD2"},
        {"FD2 to FD3_link", "", "FD2", "FD3_link"},
        {"Newton-Euler to FD1", "", "inv(Mass) (T - H phi (M phi' a + b + B f0))", "FD1"},
        {"R87 (69)", "", "FD1", "due_to_torque + due_to_force + due_to_acceleration + due_to_tip"},
        {"RK88-II 3", "", "J inv(Mass)", "B' phi' H' (I - H psi K)' inv(D) (I - H psi K)"},
        {"RK88-II (6.12)", "", "J inv(Mass)", "B' psi' H' inv(D) (I - H psi K)"},
        {"RK88-II (6.16)", "", "inv(Mass) J'", "(I - H psi K)' inv(D) H psi B"},
        {"RK88-II (6.7)", "", "J inv(Mass) J'", "B' psi' H' inv(D) H psi B"},
        {"RK88-II (6.3)", "", "-inv(Mass) J' f0", "-(I - H Psi L)' inv(D) H psi B f0"},
        {"RK88-II (6.13)", "iOm: tip>tip, ap: tip; ", "iOm (J inv(Mass) T - ap)",
         "iOm (B' psi' H' inv(D) (I - H Psi L) T - ap)"},
        {"RK88-II (6.15)", "", "inv(Mass) T", "(I - H Psi L)' inv(D) (T - H psi S L T)"},
        {"RK88-II (6.17)", "f: tip; ", "inv(Mass) (T - J' f)",
         "(I - H Psi L)' inv(D) (T - H psi (S L T + B f))"},
        {"RK88-II (6.20)", "iOm: tip>tip, ap: tip; ", "inv(Mass) J' iOm ap",
         "(I - H Psi L)' inv(D) H psi B iOm ap"},
        {"RK88-II (6.21)", "iOm: tip>tip; ", "inv(Mass) T - inv(Mass) J' iOm J inv(Mass) T",
         "(I - H psi K)' (inv(D) - inv(D) H psi B iOm B' psi' H' inv(D)) (I - H psi K) T"},
        {"RK88-II 13", "f: tip; ", "inv(Mass) (T - H phi (M phi' a + b) - J' f)",
         "(I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b) - H psi B f)"},
        {"RK88-II 14", "f: tip; ", "inv(Mass) (T - H phi (M phi' a + b) - J' f)",
         "(I - H psi K)' (inv(D) (T - H (psi (K T + b) + psit P a)) - inv(D) H psi B f) - K' psi' "
         "(I - G H)' a - G' a"},
        {"RK88-II 1, f of step 8", "iOm: tip>tip, ap: tip; ",
         "iOm (J inv(Mass) (T - H phi (M phi' a + b)) - ap)",
         "iOm (B' psi' H' inv(D) (T - H psi (K T + M phi' a + b)) - ap)"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        const int steps = derived(wanted[i].letters, wanted[i].from, wanted[i].to);
        if (steps < 0) fail_msg("%s: no derivation", wanted[i].name);
        print_message("  %-26s %2d steps\n", wanted[i].name, steps);
    }
    /* the papers' identities: derived where the rules reach, and each such line is proved */
    const char *name, *text;
    int found = 0, count = 0, longest = 0;
    for (; (name = soa_expr_identity_name(count, &text)) != NULL; ++count) {
        char letters[200] = "", both[600];
        const char *begin = strchr(text, ';') ? strchr(text, ';') + 2 : text;
        snprintf(letters, sizeof letters, "%.*s", (int)(begin - text), text);
        snprintf(both, sizeof both, "%s", begin);
        char *right = strstr(both, " = ");
        *right = 0;
        const int steps = derived(letters, both, right + 3);
        if (steps < 0) print_message("  no derivation: %s\n", name);
        found += steps >= 0;
        if (steps > longest) longest = steps;
    }
    print_message("  %d of %d identities derived, the longest in %d steps\n", found, count,
                  longest);
    assert_true(100 * found >= 95 * count);
    /* what is false has no derivation, and other spaces are refused */
    assert_int_equal(derived("", "FD1", "inv(Mass) T"), -1);
    const soa_expr *h = parsed("H"), *phi = parsed("phi");
    assert_int_equal(soa_expr_derive(h, phi, 0, NULL, NULL), SOA_E_ARGUMENT);
    soa_expr_free(h);
    soa_expr_free(phi);
}

/* Random operators link -> link, as texts of up to `room` bytes. */
static int pick(dice *d, int n) {
    const int i = (int)(roll(d, 0, 1) * n);
    return i < n ? i : n - 1;
}
static void random_operator(dice *d, int depth, char *text, size_t room) {
    static const char *const atoms[] = {"phi",    "psi'",   "phit", "E_psi", "M",
                                        "P",      "Mc",     "G H",  "K H",   "H' inv(D) H",
                                        "psit'",  "E_phi'", "Inc'", "B B'",  "(I - psi K H)",
                                        "psi' H'"};
    enum { ATOMS = sizeof atoms / sizeof *atoms - 1 };
    const size_t at = strlen(text);
    char one[6000] = "", two[6000] = "";
    const int kind = depth ? pick(d, 6) : 5;
    if (kind < 5) random_operator(d, depth - 1, one, room / 2);
    if (kind < 4) random_operator(d, depth - 1, two, room / 2);
    if (kind == 5 || strlen(one) + strlen(two) + 20 > room)
        snprintf(text + at, room - at, "%s", atoms[pick(d, ATOMS)]);
    else if (kind == 4)
        snprintf(text + at, room - at, pick(d, 3) ? "(%s)'" : "inv(I + (%s))", one);
    else if (kind < 2)
        snprintf(text + at, room - at, "(%s %c %s)", one, kind ? '+' : '-', two);
    else
        snprintf(text + at, room - at, "%s %s", one, two);
}
static double seconds_since(clock_t start) {
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}
/* Nothing that can be written takes longer than ten seconds of processor time to read, improve,
 * derive and prove; what takes longest is printed. */
static void bounded_effort(void **state) {
    (void)state;
    enum { RANDOM = 40, FIXED = 6, TEXT = 12000 };
    char *text = calloc(2 * TEXT, 1), *longest = calloc(2 * TEXT, 1);
    double most = 0;
    for (int i = 0; i < RANDOM + FIXED; ++i) {
        dice d = {(uint64_t)(first_seed() + i) * 7919};
        text[0] = 0;
        if (i < RANDOM) {
            random_operator(&d, 2 + i % 6, text, 5000);
        } else {
            static const char *const parts[FIXED] = {
                "(phi + P H' H) ",       "(I - K H) (I + G H) ",
                "inv(I + P) ",           "(psi M phi' + phi M psi') ",
                "(phi - psi)' (M + P) ", "(phi K H psi + Inc') "};
            for (int k = 0; k < 20 + 12 * (i % 3); ++k)
                strcat(text, parts[i - RANDOM]);
        }
        const soa_expr *e = NULL, *better = NULL, *vector = NULL, *goal = NULL, *b = parsed("b");
        const clock_t start = clock();
        if (soa_expr_parse(text, NULL, 0, &e, NULL, 0) != SOA_OK) fail_msg("%s", text);
        vector = soa_expr_product(e, b);
        assert_int_equal(soa_expr_improve(vector, 0, NULL, NULL, &better), SOA_OK);
        const soa_status proved = soa_expr_prove(vector, better, NULL, NULL);
        assert_true(proved == SOA_OK || proved == SOA_E_NO_CONVERGENCE);
        goal = soa_expr_scale(2, vector);
        const soa_status way = soa_expr_derive(vector, better, 0, NULL, NULL);
        assert_true(way == SOA_OK || way == SOA_E_NO_CONVERGENCE);
        assert_int_equal(soa_expr_derive(vector, goal, 0, NULL, NULL), SOA_E_NO_CONVERGENCE);
        assert_int_not_equal(soa_expr_prove(vector, goal, NULL, NULL), SOA_OK);
        const double taken = seconds_since(start);
        if (taken > most) {
            most = taken;
            snprintf(longest, TEXT, "%s", text);
        }
        if (!(taken < 10)) fail_msg("%.1f s: %s", taken, text);
        soa_expr_free(e);
        soa_expr_free(better);
        soa_expr_free(vector);
        soa_expr_free(goal);
        soa_expr_free(b);
    }
    print_message("  longest of %d: %.2f s for all of it: %.120s\n", RANDOM + FIXED, most, longest);
    free(text);
    free(longest);
}

static void base_space(void **state) { /* sums in the space of the base, which is no body's */
    (void)state;
    worst_case w = {0};
    static const char *const texts[] = {"2 g - g", "E' M E (g + g)", "E (g - 0.5 g)",
                                        "E' phi b - g"};
    for (int k = 0; k < MACHINES; ++k)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
            bench b = open_bench(machines[k], 1, first_seed() + k);
            const soa_expr *e = parsed(texts[i]);
            size_t n;
            double *want = formed(b.machine, e, &n), *got = calloc(n + 1, sizeof *got);
            soa_plan *plan = NULL;
            assert_int_equal(soa_plan_create(b.machine, e, &plan, NULL, 0), SOA_OK);
            assert_int_equal(soa_plan_run(plan, got), SOA_OK);
            note(&w, relative(got, want, n), k);
            soa_plan_free(plan);
            soa_expr_free(e);
            free(want);
            free(got);
            close_bench(&b);
        }
    conclude("base space", &w, 1e-11);
}

static void tip_space(void **state) { /* inv(J inv(Mass) J') f0, a solve in the space of the tips */
    (void)state;
    bench b = open_bench("arm7", 1, first_seed());
    const int tip = soa_model_body_count(b.model);
    soa_body_info info;
    soa_model_body(b.model, tip, &info);
    soa_machine *m = NULL;
    assert_int_equal(soa_machine_create(b.model, &info.frame, 1, &m, NULL), SOA_OK);
    assert_int_equal(soa_machine_set_state(m, b.q, b.v, b.a, b.tau, b.f0, NULL, 0), SOA_OK);
    const soa_expr *e = parsed("inv(J inv(Mass) J') f0");
    double got[6], want[6];
    soa_plan *plan = NULL;
    assert_int_equal(soa_plan_create(m, e, &plan, NULL, 0), SOA_OK);
    assert_int_equal(soa_plan_run(plan, got), SOA_OK);
    assert_int_equal(soa_machine_dense_matrix(m, e, want), SOA_OK);
    worst_case w = {0};
    note(&w, relative(got, want, 6), 1);
    conclude("operational-space inertia times a vector", &w, 1e-9);
    soa_plan_free(plan);
    soa_expr_free(e);
    soa_machine_free(m);
    close_bench(&b);
}

/* The inverse of what has none, planned and formed: refused, with its name and condition, and not
 * as a massless joint. By rank: J J' of one tip has six rows, so fewer than six joints leave it
 * singular whatever the state. */
static void singular_inverses(void **state) {
    (void)state;
    static const struct {
        const char *machine, *expression, *name;
    } cases[] = {
        {"chain:5", "inv(J J') f0", "inv(J J')"},
        {"chain:5", "inv(J inv(Mass) J') f0", "inv(J inv(Mass) J')"},
        {"planar-chain:4", "inv(J inv(Mass) J') f0", "inv(J inv(Mass) J')"},
        {"chain:3", "2 inv(0.5 J J') f0", "inv("},
        {"chain:7", "inv(J' J) thdd", "inv(J' J)"},
        {"chain:3", "inv(M - M) H' thdd", "inv(M - M)"},
        {"chain:4", "inv(H' H) H' thdd", "inv(H' H)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (long seed = first_seed(); seed < first_seed() + 20; ++seed) {
            bench b = open_bench(cases[i].machine, 1, seed);
            soa_body_info info;
            soa_model_body(b.model, soa_model_body_count(b.model), &info);
            soa_machine *m = NULL;
            assert_int_equal(soa_machine_create(b.model, &info.frame, 1, &m, NULL), SOA_OK);
            assert_int_equal(soa_machine_set_state(m, b.q, b.v, b.a, b.tau, b.f0, NULL, 0), SOA_OK);
            const soa_expr *e = parsed(cases[i].expression);
            double got[64];
            soa_plan *plan = NULL;
            if (soa_plan_create(m, e, &plan, NULL, 0) == SOA_OK) { /* else no O(n) form is known */
                assert_int_equal(soa_plan_run(plan, got), SOA_E_SINGULAR);
                assert_non_null(strstr(soa_machine_failure(m), cases[i].name));
                assert_true(soa_machine_condition(m) > 1e13);
            } else {
                assert_int_not_equal(soa_expr_codomain(e), SOA_SPACE_TIP);
            }
            assert_int_equal(soa_machine_dense_matrix(m, e, got), SOA_E_SINGULAR);
            assert_non_null(strstr(soa_machine_failure(m), cases[i].name));
            assert_null(strstr(soa_machine_failure(m), "massless"));
            assert_true(soa_machine_condition(m) > 1e13);
            const soa_expr *fine = parsed("inv(Mass) T"); /* the next run starts afresh */
            assert_int_equal(soa_machine_dense_matrix(m, fine, got), SOA_OK);
            assert_string_equal(soa_machine_failure(m), "");
            assert_true(soa_machine_condition(m) >= 1 && soa_machine_condition(m) < 1e8);
            soa_expr_free(fine);
            soa_plan_free(plan);
            soa_expr_free(e);
            soa_machine_free(m);
            close_bench(&b);
        }
    print_message("%zu inverses, 20 states each from seed %ld: refused by name\n",
                  sizeof cases / sizeof *cases, first_seed());
}
/* A joint that moves no inertia is another matter: D itself has no inverse, and the joint is named.
 * The same arm a thousand times smaller is answered as the large one is. */
static void massless_and_small(void **state) {
    (void)state;
    enum { ARM = 6 };
    const double q[ARM + 1] = {0.3, -0.8, 1.1, 0.4, 0.9, -0.5, 0.2}, f0[6] = {1, 2, 3, 4, 5, 6};
    static const char *const names[ARM + 1] = {"a", "b", "c", "d", "e", "f", "point"};
    for (int small = 0; small < 2; ++small)
        for (int point = 0; point < 2; ++point) {
            const double length = small ? 1e-3 : 1, mass = length * length * length;
            soa_body_def bodies[ARM + 1];
            for (int i = 0; i < ARM + point; ++i) {
                bodies[i] = soa_body_default(names[i], i, SOA_REVOLUTE);
                bodies[i].joint.axis[2] = i % 3 == 0;
                bodies[i].joint.axis[1] = i % 3 == 1;
                bodies[i].joint.axis[0] = i % 3 == 2;
                bodies[i].placement.p[0] = i ? 0.4 * length : 0;
                bodies[i].com[0] = 0.2 * length;
                soa_body_box(bodies + i, mass, 0.4 * length, 0.1 * length, 0.05 * length);
            }
            if (point) { /* its mass lies on its axis, which is z */
                bodies[ARM] = soa_body_default(names[ARM], ARM, SOA_REVOLUTE);
                bodies[ARM].mass = mass;
                bodies[ARM].com[2] = 0.1 * length;
            }
            const soa_model_def def = soa_model_default("arm", bodies, ARM + point);
            const soa_model *model = NULL;
            soa_machine *m = NULL;
            assert_int_equal(soa_model_create(&def, &model, NULL), SOA_OK);
            const int tip = soa_model_find_frame(model, "f");
            assert_int_equal(soa_machine_create(model, &tip, 1, &m, NULL), SOA_OK);
            assert_int_equal(soa_machine_set_state(m, q, NULL, NULL, NULL, f0, NULL, 0), SOA_OK);
            const soa_expr *e = parsed("inv(J inv(Mass) J') f0");
            double got[6], want[6];
            soa_plan *plan = NULL;
            assert_int_equal(soa_plan_create(m, e, &plan, NULL, 0), SOA_OK);
            const soa_status run = soa_plan_run(plan, got);
            if (point) {
                assert_int_equal(run, SOA_E_HINGE_SINGULAR);
                assert_non_null(
                    strstr(soa_machine_failure(m), "inv(D) does not exist: joint 'point'"));
                const soa_expr *d = parsed("inv(D) thdd");
                double x[ARM + 1];
                assert_int_equal(soa_machine_dense_matrix(m, d, x), SOA_E_HINGE_SINGULAR);
                assert_non_null(
                    strstr(soa_machine_failure(m), "inv(D) does not exist: joint 'point'"));
                soa_expr_free(d);
            } else {
                assert_int_equal(run, SOA_OK);
                assert_int_equal(soa_machine_dense_matrix(m, e, want), SOA_OK);
                for (int j = 0; j < 6; ++j) { /* as if the arm were large */
                    got[j] /= mass * length;
                    want[j] /= mass * length;
                }
                print_message("length %g: condition %.1e, sweeps against dense %.1e\n", length,
                              soa_machine_condition(m), relative(got, want, 6));
                assert_true(relative(got, want, 6) <= 1e-9);
            }
            soa_plan_free(plan);
            soa_expr_free(e);
            soa_machine_free(m);
            soa_model_free(model);
        }
}

static void mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        int caret;
    } wrong[] = {{"H phi T", "takes link, but this one gives joint", 8},
                 {"inv(D) I phi", "takes joint, but this one gives link", 11},
                 {"T + a", "cannot be added", 4},
                 {"H phi )", "does not belong", 8},
                 {"(H phi", "never closed", 2},
                 {"inv(H)", "only a map of a space to itself", 2},
                 {"H foo", "'foo'", 4},
                 {"", "ends too early", 2},
                 {"H phi +", "ends too early", 9},
                 {"I", "space of I", 2},
                 {"inv D", "parentheses", 6},
                 {"H ** phi", "between two factors", 4},
                 {"H * ", "between two factors", 4},
                 {"H fi", "did you mean", 4},
                 {"B*φ* H*", "A* B or A' B", 3},
                 {"HφMφ*H* thdd", "A* B or A' B", 6},
                 {"-2(H ψ)*thd", "two things", 9},
                 {"φ φ̃ Mas T", "did you mean 'Mass'", 6},
                 {"ψ̃ Ω", "'Omega'", 4},
                 {"H^-1", "only a map of a space to itself", 2},
                 {"x: nowhere; x", "a space is wanted", 5},
                 {"x: joint x", "expected ','", 11},
                 {"x joint: T", "declared as x: joint", 4},
                 {"H §", "letter", 4}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const soa_expr *e = NULL;
        char message[600] = "";
        assert_int_equal(soa_expr_parse(wrong[i].text, NULL, 0, &e, message, sizeof message),
                         SOA_E_FORMAT);
        if (!strstr(message, wrong[i].says)) fail_msg("'%s' gave: %s", wrong[i].text, message);
        const char *last = strrchr(message, '\n');
        assert_non_null(last);
        if (strlen(last + 1) != (size_t)wrong[i].caret + 1)
            fail_msg("'%s': the caret is elsewhere:\n%s", wrong[i].text, message);
        assert_null(e);
    }
    char deep[2000];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    const soa_expr *e = NULL;
    char message[600];
    assert_int_equal(soa_expr_parse(deep, NULL, 0, &e, message, sizeof message), SOA_E_FORMAT);
    assert_non_null(strstr(message, "nested too deeply"));
    const soa_expr *h = parsed("H"), *t = parsed("T"); /* by calls: spaces are checked too */
    assert_null(soa_expr_product(h, t));
    soa_expr_free(h);
    soa_expr_free(t);
}

static void papers_notation(void **state) { /* the same expression, written in several ways */
    (void)state;
    static const char *const same[][2] = {
        {"phi' H' thd", "φ* H* θ̇"},
        {"phi' H' thd", "φᵀ Hᵀ θ̇"},
        {"phi' H' thd", "phi^T H^T thd"},
        {"phi' H' thd", "phi^* H^{T} q̇"},
        {"phi' H' thd", "ϕ’ H′ thetad"},
        {"inv(Mass) T", "Mass^-1 T"},
        {"inv(Mass) T", "ℳ⁻¹ τ"},
        {"inv(Mass) T", "Mass^{-1} * T"},
        {"inv(phi')", "φ⁻ᵀ"},
        {"inv(phi') H'", "phi^-T H*"},
        {"(I - H psi K)' inv(D) (I - H psi K)", "(I - HψK)* D⁻¹ (I - HψK)"},
        {"H phi M phi' H' thdd", "HφMφ* H* θ̈"},
        {"phit P + P psit'", "φ̃P + P* ψ̃'"},
        {"E_phi E_psi'", "E_φ ℰ_ψ*"},
        {"M phi' (H' thdd + a)", "M * φ* * (H* thdd+a)"},
        {"2 H' thd", "2*H' *thd"},
        {"a - b", "(a)-b"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        const soa_expr *a = NULL, *b = NULL;
        char one[300], two[300], message[400] = "";
        const soa_status s = soa_expr_parse(same[i][1], NULL, 0, &b, message, sizeof message);
        if (s != SOA_OK) fail_msg("%s", message);
        a = parsed(same[i][0]);
        soa_expr_print(a, one, sizeof one);
        soa_expr_print(b, two, sizeof two);
        assert_string_equal(one, two);
        soa_expr_free(a);
        soa_expr_free(b);
    }
    /* letters: declared in the text, or given; Greek names */
    const soa_expr *e = NULL, *l = NULL, *r = NULL;
    char text[200];
    assert_int_equal(soa_expr_parse("Ω: tip->tip, x: tip; J* Ω* x", NULL, 0, &e, NULL, 0), SOA_OK);
    soa_expr_print(e, text, sizeof text);
    assert_string_equal(text, "J' Omega' x");
    soa_expr_free(e);
    const soa_variable given[2] = {{"Λ", SOA_SPACE_TIP, SOA_SPACE_TIP, false},
                                   {"w", SOA_SPACE_TIP, SOA_SPACE_ONE, false}};
    assert_int_equal(soa_expr_parse_equation("Λ* w = Λ' w", given, 2, &l, &r, NULL, 0), SOA_OK);
    assert_int_equal(soa_expr_prove(l, r, NULL, NULL), SOA_OK);
    soa_expr_free(l);
    soa_expr_free(r);
    /* forms by name, in an expression */
    const soa_expr *fd = NULL;
    assert_int_equal(soa_expr_parse("FD4 - FD1", NULL, 0, &fd, NULL, 0), SOA_OK);
    soa_expr_free(fd);
}

static void printed_and_read_again(void **state) {
    (void)state;
    const char *equation;
    for (int i = 0; soa_expr_identity_name(i, &equation); ++i) {
        const soa_expr *l = NULL, *r = NULL, *again = NULL;
        if (strchr(equation, ';')) continue; /* letters are not printed with their spaces */
        parsed_equation(equation, &l, &r);
        char text[600], twice[600];
        soa_expr_print(l, text, sizeof text);
        again = parsed(text);
        soa_expr_print(again, twice, sizeof twice);
        assert_string_equal(text, twice);
        soa_expr_free(l);
        soa_expr_free(r);
        soa_expr_free(again);
    }
}

/* Taken apart and put together again by calls. */
static const soa_expr *rebuilt(const soa_expr *e) {
    soa_expr_info info;
    assert_int_equal(soa_expr_get_info(e, &info), SOA_OK);
    assert_null(soa_expr_part(e, info.count));
    if (info.kind == SOA_EXPR_LEAF) {
        assert_int_equal(info.count, 0);
        assert_non_null(info.what);
        if (!strcmp(info.name, "I")) return soa_expr_identity(soa_expr_codomain(e));
        if (strcmp(info.name, "inv(D)") != 0) return soa_expr_leaf(info.name);
        const soa_expr *d = parsed("D"), *inverse = soa_expr_inverse(d);
        soa_expr_free(d);
        return inverse;
    }
    const soa_expr *all = rebuilt(soa_expr_part(e, 0));
    if (info.kind == SOA_EXPR_SUM || info.kind == SOA_EXPR_PRODUCT) {
        for (int i = 1; i < info.count; ++i) {
            const soa_expr *next = rebuilt(soa_expr_part(e, i)), *old = all;
            all = info.kind == SOA_EXPR_SUM ? soa_expr_sum(old, next) : soa_expr_product(old, next);
            soa_expr_free(old);
            soa_expr_free(next);
        }
        return all;
    }
    assert_int_equal(info.count, 1);
    const soa_expr *out;
    if (info.kind == SOA_EXPR_SCALE) {
        out = soa_expr_scale(info.factor, all);
    } else if (info.kind == SOA_EXPR_ADJOINT) {
        out = soa_expr_adjoint(all);
    } else {
        out = soa_expr_inverse(all);
    }
    soa_expr_free(all);
    return out;
}
/* The steps of a plan make the lines of its explanation. */
typedef struct lines {
    const char *at;
    int count, recursions, sweeps;
} lines;
static void next_line(void *user, const soa_plan_step *step) {
    lines *l = user;
    char line[300];
    snprintf(line, sizeof line, "    %-8s = %s\n", step->left, step->right);
    const char *found = strstr(l->at, line);
    if (!found) fail_msg("not in the explanation, or too early: %s", line);
    l->at = found + strlen(line);
    ++l->count;
    if (step->sweep > 0) l->recursions += step->recursion;
    assert_true(step->sweep >= l->sweeps || l->sweeps <= 0);
    l->sweeps = step->sweep;
    assert_true(step->runs == SOA_MEMORYLESS || step->runs == step->way);
    assert_non_null(step->factor);
}
static void looked_into(void **state) {
    (void)state;
    soa_expr_info info;
    assert_int_equal(soa_expr_get_info(NULL, &info), SOA_E_ARGUMENT);
    assert_null(soa_expr_part(NULL, 0));
    const soa_model *model = NULL;
    assert_int_equal(soa_model_open("arm7", NULL, &model, NULL, NULL), SOA_OK);
    soa_machine *machine = NULL;
    const int tip = soa_model_frame_count(model) - 1;
    assert_int_equal(soa_machine_create(model, &tip, 1, &machine, NULL), SOA_OK);
    const char *form;
    for (int i = 0; soa_expr_form_name(i, &form, NULL); ++i) {
        const soa_expr *e = parsed(form), *again = rebuilt(e);
        char text[600], twice[600], *explained = malloc(1 << 16);
        assert_non_null(again);
        assert_non_null(explained);
        soa_expr_print(e, text, sizeof text);
        soa_expr_print(again, twice, sizeof twice);
        assert_string_equal(text, twice);
        assert_null(soa_expr_part(e, -1));
        soa_plan *plan = NULL;
        assert_int_equal(soa_plan_create(machine, e, &plan, NULL, 0), SOA_OK);
        soa_plan_explain(plan, explained, 1 << 16);
        lines l = {explained, 0, 0, -3};
        soa_plan_visit_steps(plan, next_line, &l);
        int wanted = 0;
        for (const char *c = explained; (c = strstr(c, "\n    ")); ++c)
            ++wanted;
        assert_int_equal(l.count, wanted);
        assert_int_equal(l.recursions, soa_plan_recursion_count(plan));
        soa_plan_free(plan);
        soa_expr_free(e);
        soa_expr_free(again);
        free(explained);
    }
    soa_plan_visit_steps(NULL, next_line, NULL);
    soa_machine_free(machine);
    soa_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(papers_identities),
        cmocka_unit_test(false_variants),
        cmocka_unit_test(leaves_applied_and_formed),
        cmocka_unit_test(algorithms_agree),
        cmocka_unit_test(solves_between),
        cmocka_unit_test(steps_only),
        cmocka_unit_test(rewriter),
        cmocka_unit_test(rules_hold),
        cmocka_unit_test(derivations),
        cmocka_unit_test(bounded_effort),
        cmocka_unit_test(tip_space),
        cmocka_unit_test(singular_inverses),
        cmocka_unit_test(massless_and_small),
        cmocka_unit_test(base_space),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(papers_notation),
        cmocka_unit_test(printed_and_read_again),
        cmocka_unit_test(looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
