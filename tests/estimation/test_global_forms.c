/* test_global_forms.c  FO00 section 3.5: (23) to (26), (29) and the Newton-Euler factorisation as
 * operator identities; (27) and (28) against soa_aba, soa_rnea and the same systems formed and
 * solved densely. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "trees.h"

/* ---- (23) to (26), (29): FO00's P is Inc, its H our H', its S = P^-1 H is inv(Inc) H' */
static const struct {
    const char *name, *text;
} identities[] = {
    {"FO00 3.5, P^-1 is phi*", "inv(Inc) = phi'"},
    {"FO00 3.5, P P^-1", "Inc phi' = I"},
    {"FO00 3.5, P^-1 P", "phi' Inc = I"},
    {"FO00 3.5, P is the incidence operator", "Inc = I - Delta_phi' S'"},
    {"FO00 (3), velocities", "Inc V = H' thd"},
    {"FO00 (29)", "Inc alpha = H' thdd + a"},
    {"FO00 (24), S = P^-1 H, a0 = P^-1 a", "alpha = inv(Inc) a + inv(Inc) H' thdd"},
    {"FO00 (23) with the joints' forces f = phi (M alpha + b)",
     "Inc' (phi (M alpha + b)) = M alpha + b"},
    {"FO00 (26), S' I S", "(inv(Inc) H')' M (inv(Inc) H') = H phi M phi' H'"},
    {"FO00 after (29), the Newton-Euler factorisation", "Mass = H inv(Inc') M inv(Inc) H'"},
    {"FO00 (26), right side", "(inv(Inc) H')' (b + M inv(Inc) a) = H phi (M phi' a + b)"},
    {"FO00 (26), the equation of motion",
     "Mass thdd + (inv(Inc) H')' (b + M inv(Inc) a) = H phi (M alpha + b)"},
    {"FO00 (26), solved", "inv(Mass) (T - H inv(Inc') (M inv(Inc) a + b)) = (I - H psi K)' inv(D) "
                          "(T - H psi (K T + M phi' a + b))"},
    {"FO00 after (29), by operator inversion to the ABA",
     "inv(H inv(Inc') M inv(Inc) H' + Jr) = (I - H psi K)' inv(D) (I - H psi K)"},
};
enum { IDENTITIES = sizeof identities / sizeof *identities };
static const char *const machines[] = {"chain:6",        "satellite",      "quadruped",
                                       "random-ideal:1", "random-ideal:5", "random-ideal:11"};
enum { MACHINES = sizeof machines / sizeof *machines };

static soa_machine *open_machine(const char *name, long seed, const soa_model **model) {
    const soa_read_options ideal = {0, 1};
    soa_report report;
    soa_machine *k = NULL;
    assert_int_equal(soa_stock_model_create(name, &ideal, model, &report), SOA_OK);
    assert_int_equal(soa_machine_create(*model, NULL, 0, &k, &report), SOA_OK);
    tree_state s = random_tree_state(*model, seed);
    assert_int_equal(soa_machine_set_state(k, s.q, s.v, s.tau, s.tau, NULL, s.wrench, 3), SOA_OK);
    free_tree_state(&s);
    return k;
}
static double *formed(soa_machine *m, const soa_expr *e, size_t *n) {
    *n = (size_t)soa_machine_space_size(m, soa_expr_codomain(e)) *
         (size_t)soa_machine_space_size(m, soa_expr_domain(e));
    double *x = calloc(*n + 1, sizeof *x);
    assert_int_equal(soa_machine_dense_matrix(m, e, x), SOA_OK);
    return x;
}
static void equations_by_name(void **state) {
    (void)state;
    for (int i = 0; i < IDENTITIES; ++i) {
        const soa_expr *l = NULL, *r = NULL;
        char message[600];
        if (soa_expr_parse_equation(identities[i].text, &l, &r, message, sizeof message) != SOA_OK)
            fail_msg("%s", message);
        if (soa_expr_prove(l, r, NULL, NULL) != SOA_OK)
            fail_msg("%s: not proved", identities[i].name);
        const soa_expr *wrong = soa_expr_scale(1.5, r);
        if (soa_expr_prove(l, wrong, NULL, NULL) == SOA_OK)
            fail_msg("proved though false: %s", identities[i].name);
        worst_case w = {0};
        for (int k = 0; k < MACHINES; ++k) {
            const soa_model *model = NULL;
            soa_machine *m = open_machine(machines[k], first_seed() + k, &model);
            size_t n;
            double *A = formed(m, l, &n), *B = formed(m, r, &n);
            note(&w, relative(A, B, n), first_seed() + k);
            free(A);
            free(B);
            soa_machine_free(m);
            soa_model_free(model);
        }
        conclude(identities[i].name, &w, 1e-11);
        soa_expr_free(l);
        soa_expr_free(r);
        soa_expr_free(wrong);
    }
}

/* ---- (27), (28) ------------------------------------------------------------------------------ */
typedef soa_status form(const soa_model *, soa_work *, void *, size_t, const soa_input *, double *,
                        double *, double *);
typedef struct result {
    double *qdd, *forces, *beta;
    void *memory;
    size_t size;
} result;
static result room_for(const soa_model *m) {
    const size_t nv = (size_t)soa_model_nv(m) + 1, nb = (size_t)soa_model_body_count(m) + 1;
    result r = {calloc(nv, sizeof(double)), calloc(6 * nb, sizeof(double)),
                calloc(6 * nb, sizeof(double)), NULL, 0};
    r.size = soa_fd_constraint_forces_size(m);
    r.memory = malloc(r.size);
    return r;
}
static void free_result(result *r) {
    free(r->qdd);
    free(r->forces);
    free(r->beta);
    free(r->memory);
}
typedef struct errors {
    worst_case qdd, force, beta, basis;
} errors;
/* One form on one machine: accelerations against soa_aba, forces against soa_rnea, beta = T' f, T'
 * H* = 0. */
static void judge(form *call, const soa_model *m, long seed, errors *e) {
    soa_work *w = NULL;
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    tree_state s = random_tree_state(m, seed);
    result r = room_for(m);
    const size_t nv = (size_t)soa_model_nv(m), nb = (size_t)soa_model_body_count(m);
    double *aba = calloc(nv + 1, sizeof *aba), *tau = calloc(nv + 1, sizeof *tau),
           *f = calloc(6 * nb + 6, sizeof *f);
    assert_int_equal(
        call(
            m, w, r.memory, r.size,
            &(soa_input){.q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
            r.qdd, r.forces, r.beta),
        SOA_OK);
    assert_int_equal(soa_aba(m, w, s.q, s.v, s.tau, s.wrench, 3, aba), SOA_OK);
    note(&e->qdd, relative(r.qdd, aba, nv), seed);
    assert_int_equal(soa_rnea(m, w, s.q, s.v, aba, s.wrench, 3, tau), SOA_OK);
    for (size_t i = 0; i < nb; ++i)
        assert_int_equal(soa_joint_force(m, w, (int)i + 1, f + 6 * i), SOA_OK);
    note(&e->force, relative(r.forces, f, 6 * nb), seed);
    size_t at = 0;
    for (size_t i = 0; i < nb; ++i) {
        double T[36], b[6], unit[36], gram[36];
        soa_body_info info;
        assert_int_equal(soa_model_body(m, (int)i + 1, &info), SOA_OK);
        assert_int_equal(soa_fd_constraint_forces_basis(m, r.memory, (int)i + 1, T), SOA_OK);
        const size_t n = (size_t)(6 - info.nv);
        for (size_t c = 0; c < n; ++c) {
            b[c] = 0;
            for (size_t j = 0; j < 6; ++j)
                b[c] += T[n * j + c] * f[6 * i + j];
            for (size_t k = 0; k < n; ++k) {
                gram[n * c + k] = 0;
                unit[n * c + k] = k == c;
                for (size_t j = 0; j < 6; ++j)
                    gram[n * c + k] += T[n * j + c] * T[n * j + k];
            }
        }
        note(&e->beta, relative(r.beta + at, b, n), seed);
        note(&e->basis, relative(gram, unit, n * n), seed);
        at += n;
    }
    free(aba);
    free(tau);
    free(f);
    free_result(&r);
    free_tree_state(&s);
    soa_work_free(w);
}
static void conclude_all(const char *what, const errors *e) {
    printf(" %s\n", what);
    conclude("accelerations against soa_aba", &e->qdd, 1e-10);
    conclude("whole joint forces against soa_joint_force", &e->force, 1e-10);
    conclude("constraint components beta = T' f", &e->beta, 1e-10);
    conclude("T' T = I", &e->basis, 1e-13);
}
static void equation_27(void **state) {
    (void)state;
    errors e = {0};
    for (int i = 0; i < 60; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m =
            random_tree(seed, 1 + i % 25,
                        (i % 2 ? TREE_FITTED : 0) | (i % 3 ? TREE_BRANCHED : TREE_CHAIN) |
                            (i % 4 ? TREE_MASSLESS : 0));
        judge(soa_fd_constraint_forces, m, seed, &e);
        soa_model_free(m);
    }
    const char *const stock[] = {"arm7",           "quadruped", "satellite", "random-ideal:3",
                                 "random-ideal:8", "puma560",   "two-puma"};
    for (size_t i = 0; i < sizeof stock / sizeof *stock; ++i) {
        const soa_model *m = NULL;
        const soa_read_options ideal = {0, 1};
        assert_int_equal(soa_stock_model_create(stock[i], &ideal, &m, NULL), SOA_OK);
        judge(soa_fd_constraint_forces, m, first_seed(), &e);
        soa_model_free(m);
    }
    conclude_all("FO00 (27) on trees and forests, every joint, rotors, massless inner links", &e);
}
static void equation_28(void **state) {
    (void)state;
    errors e = {0};
    for (int i = 0; i < 40; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m = random_tree(
            seed, 1 + i % 25, (i % 2 ? TREE_FITTED : 0) | (i % 3 ? TREE_CHAINS : TREE_CHAIN));
        judge(soa_fd_tridiagonal, m, seed, &e);
        soa_model_free(m);
    }
    conclude_all("FO00 (28) on chains and forests of chains", &e);
}

/* (27) and (28) written out as matrices from the oracle's M, Inc and H, without rotors: in joint
 * forces f = T beta + Hd T, FO00's global T is Inc' diag(T). */
static double absolute(double x) { /* NaN fails */
    return fabs(x) <= 1e300 ? fabs(x) : INFINITY;
}
static void written_out(void **state) {
    (void)state;
    worst_case second = {0}, work = {0}, blocks = {0};
    for (int i = 0; i < 12; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m = random_tree(seed, 2 + i % 6, TREE_CHAIN);
        soa_machine *k = NULL;
        soa_work *w = NULL;
        soa_report report;
        assert_int_equal(soa_work_create(m, &w), SOA_OK);
        assert_int_equal(soa_machine_create(m, NULL, 0, &k, &report), SOA_OK);
        tree_state s = random_tree_state(m, seed);
        result r = room_for(m);
        assert_int_equal(soa_machine_set_state(k, s.q, s.v, NULL, s.tau, NULL, s.wrench, 3),
                         SOA_OK);
        assert_int_equal(
            soa_fd_tridiagonal(
                m, w, r.memory, r.size,
                &(soa_input){
                    .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
                r.qdd, r.forces, r.beta),
            SOA_OK);
        size_t n;
        const size_t nb = (size_t)soa_model_body_count(m), nl = 6 * nb;
        const char *const names[] = {"M", "Inc'", "H", "phi' a", "b", "inv(M)"};
        double *x[6];
        for (int j = 0; j < 6; ++j) {
            const soa_expr *e = NULL;
            char message[300];
            if (soa_expr_parse(names[j], NULL, 0, &e, message, sizeof message) != SOA_OK)
                fail_msg("%s", message);
            x[j] = formed(k, e, &n);
            soa_expr_free(e);
        }
        /* T global = Inc' diag(T(i)), nl x nt */
        const size_t nt = nl - (size_t)soa_model_nv(m);
        double *T = calloc(nl * nt + 1, sizeof *T), *local = calloc(nl * nt + 1, sizeof *local);
        size_t at = 0, first[32];
        for (size_t b = 0; b < nb; ++b) {
            double t[36];
            soa_body_info info;
            assert_int_equal(soa_model_body(m, (int)b + 1, &info), SOA_OK);
            assert_int_equal(soa_fd_constraint_forces_basis(m, r.memory, (int)b + 1, t), SOA_OK);
            const size_t c = (size_t)(6 - info.nv);
            first[b] = at;
            for (size_t row = 0; row < 6; ++row)
                for (size_t col = 0; col < c; ++col)
                    local[nt * (6 * b + row) + at + col] = t[c * row + col];
            at += c;
        }
        first[nb] = at;
        assert_true(at == nt);
        for (size_t a = 0; a < nl; ++a)
            for (size_t c = 0; c < nl; ++c)
                for (size_t t = 0; t < nt; ++t)
                    T[nt * a + t] += x[1][nl * a + c] * local[nt * c + t];
        /* S' T = 0 with S = inv(Inc) H': H phi Inc' diag(T) = H diag(T); and S' f_c = 0 */
        for (size_t v = 0; v < (size_t)soa_model_nv(m); ++v)
            for (size_t t = 0; t < nt; ++t) {
                double dot = 0;
                for (size_t c = 0; c < nl; ++c)
                    dot += x[2][nl * v + c] * local[nt * c + t];
                note(&work, absolute(dot), seed);
            }
        /* first row of (27): M a + b = Inc' f, f of the call; second: T' a = T' a0 */
        double *a = calloc(nl + 1, sizeof *a), *left = calloc(nt + 1, sizeof *left),
               *right = calloc(nt + 1, sizeof *right);
        for (size_t row = 0; row < nl; ++row)
            for (size_t c = 0; c < nl; ++c) {
                double fc = 0;
                for (size_t l = 0; l < nl; ++l)
                    fc += x[1][nl * c + l] * r.forces[l];
                a[row] += x[5][nl * row + c] * (fc - x[4][c]);
            }
        for (size_t t = 0; t < nt; ++t) {
            for (size_t c = 0; c < nl; ++c) {
                left[t] += T[nt * c + t] * a[c];
                right[t] += T[nt * c + t] * x[3][c];
            }
        }
        double big = 1;
        for (size_t c = 0; c < nl; ++c)
            big = fmax(big, fabs(a[c]));
        for (size_t t = 0; t < nt; ++t)
            note(&second, absolute(left[t] - right[t]) / big, seed);
        /* T' M^-1 T of (28) is block tridiagonal */
        for (size_t b = 0; b < nb; ++b)
            for (size_t c = 0; c < nb; ++c)
                for (size_t u = first[b]; c > b + 1 && u < first[b + 1]; ++u)
                    for (size_t v = first[c]; v < first[c + 1]; ++v) {
                        double sum = 0;
                        for (size_t row = 0; row < nl; ++row)
                            for (size_t col = 0; col < nl; ++col)
                                sum += T[nt * row + u] * x[5][nl * row + col] * T[nt * col + v];
                        note(&blocks, absolute(sum), seed);
                    }
        free(T);
        free(local);
        free(a);
        free(left);
        free(right);
        for (int j = 0; j < 6; ++j)
            free(x[j]);
        free_result(&r);
        free_tree_state(&s);
        soa_machine_free(k);
        soa_work_free(w);
        soa_model_free(m);
    }
    conclude("FO00 after (26): T' S = 0, so S' f_c = 0", &work, 1e-12);
    conclude("FO00 (27), second row with the a of the first", &second, 1e-10);
    conclude("FO00 (28) is block tridiagonal on a chain", &blocks, 1e-12);
}

static void refusals(void **state) {
    (void)state;
    const soa_model *tree = random_tree(5, 12, 0),
                    *light = random_tree(first_seed() + 2, 12, TREE_CHAIN | TREE_MASSLESS);
    soa_work *w = NULL, *wl = NULL;
    assert_int_equal(soa_work_create(tree, &w), SOA_OK);
    assert_int_equal(soa_work_create(light, &wl), SOA_OK);
    result r = room_for(tree), rl = room_for(light);
    tree_state s = random_tree_state(tree, 1), sl = random_tree_state(light, 1);
    r.qdd[0] = rl.qdd[0] = 77;
    assert_int_equal(soa_fd_tridiagonal(tree, w, r.memory, r.size,
                                        &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd, NULL,
                                        NULL),
                     SOA_E_BRANCHED);
    assert_true(soa_work_failed_body(w) > 0);
    assert_int_equal(soa_fd_tridiagonal(light, wl, rl.memory, rl.size,
                                        &(soa_input){.q = sl.q, .v = sl.v, .tau = sl.tau}, rl.qdd,
                                        NULL, NULL),
                     SOA_E_INERTIA);
    assert_true(soa_work_failed_body(wl) > 0);
    assert_int_equal(soa_fd_constraint_forces(tree, w, r.memory, r.size - 1,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd,
                                              NULL, NULL),
                     SOA_E_MEMORY);
    assert_int_equal(soa_fd_constraint_forces(tree, w, NULL, r.size,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd,
                                              NULL, NULL),
                     SOA_E_MEMORY);
    assert_int_equal(soa_fd_constraint_forces(tree, wl, r.memory, r.size,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd,
                                              NULL, NULL),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_constraint_forces(NULL, w, r.memory, r.size,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd,
                                              NULL, NULL),
                     SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_constraint_forces(tree, w, r.memory, r.size,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL,
                                              NULL, NULL),
                     SOA_E_ARGUMENT);
    s.tau[1] = NAN;
    assert_int_equal(soa_fd_constraint_forces(tree, w, r.memory, r.size,
                                              &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, r.qdd,
                                              NULL, NULL),
                     SOA_E_NOT_FINITE);
    s.tau[1] = 0;
    s.wrench[0].frame = 1000;
    assert_int_equal(
        soa_fd_constraint_forces(
            tree, w, r.memory, r.size,
            &(soa_input){.q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 1},
            r.qdd, NULL, NULL),
        SOA_E_ARGUMENT);
    assert_true(r.qdd[0] == 77 && rl.qdd[0] == 77);
    double T[36];
    assert_int_equal(soa_fd_constraint_forces_basis(tree, r.memory, 13, T), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_constraint_forces_basis(tree, r.memory, 0, T), SOA_E_ARGUMENT);
    /* link 1 of the PUMA has one moment of inertia and nothing else */
    const soa_model *puma = NULL;
    soa_work *wp = NULL;
    assert_int_equal(soa_stock_model_create("puma560", NULL, &puma, NULL), SOA_OK);
    assert_int_equal(soa_work_create(puma, &wp), SOA_OK);
    result rp = room_for(puma);
    assert_int_equal(
        soa_fd_tridiagonal(puma, wp, rp.memory, rp.size, &(soa_input){0}, rp.qdd, NULL, NULL),
        SOA_E_INERTIA);
    assert_int_equal(soa_work_failed_body(wp), 1);
    free_result(&rp);
    soa_work_free(wp);
    soa_model_free(puma);
    free_result(&r);
    free_result(&rl);
    free_tree_state(&s);
    free_tree_state(&sl);
    soa_work_free(w);
    soa_work_free(wl);
    soa_model_free(tree);
    soa_model_free(light);

    /* a massless tip, an exact rotor, a mimic joint */
    soa_body_def b[2] = {soa_body_default("one", 0, SOA_REVOLUTE),
                         soa_body_default("two", 1, SOA_REVOLUTE)};
    for (int how = 0; how < 3; ++how) {
        soa_body_box(b, 1, 0.1, 0.2, 0.3);
        soa_body_box(b + 1, 1, 0.1, 0.2, 0.3);
        b[1].joint = soa_joint_default(SOA_REVOLUTE);
        if (how == 0) {
            b[1].mass = 0;
            memset(b[1].inertia, 0, sizeof b[1].inertia);
        }
        if (how == 1) {
            b[1].joint.rotor_inertia = 1e-4;
            b[1].joint.gear_ratio = 10;
            b[1].joint.rotor_model = SOA_ROTOR_EXACT;
        }
        if (how == 2) {
            b[1].joint.mimic = 1;
            b[1].joint.mimic_ratio = 2;
        }
        const soa_model_def def = soa_model_default("two", b, 2);
        const soa_model *m = NULL;
        assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
        assert_int_equal(soa_work_create(m, &w), SOA_OK);
        r = room_for(m);
        const soa_status expected[] = {SOA_E_HINGE_SINGULAR, SOA_E_JOINT, SOA_E_MIMIC};
        assert_int_equal(
            soa_fd_constraint_forces(m, w, r.memory, r.size, &(soa_input){0}, r.qdd, NULL, NULL),
            expected[how]);
        assert_int_equal(soa_work_failed_body(w), 2);
        free_result(&r);
        soa_work_free(w);
        soa_model_free(m);
    }
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(equations_by_name),
                                       cmocka_unit_test(equation_27), cmocka_unit_test(equation_28),
                                       cmocka_unit_test(written_out), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
