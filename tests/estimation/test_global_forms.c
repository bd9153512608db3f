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
        if (soa_expr_parse_equation(identities[i].text, NULL, 0, &l, &r, message, sizeof message) !=
            SOA_OK)
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

/* A chain in one state: what soa_fd_tridiagonal computes, the oracle's operators as matrices, and
 * FO00's T, for the joints (local, the blocks T(i)) and global. */
typedef struct chain {
    const soa_model *m;
    size_t nb, nl, nv, nt; /* bodies; rows of link space; freedoms; columns of T */
    double *inc_t, *H, *a, *b, *inv_m;
    double *local, *T;
    size_t first[32]; /* column of T with which a body begins */
    result r;
} chain;
static double *matrix_of(soa_machine *k, const char *text) {
    const soa_expr *e = NULL;
    char message[300];
    size_t n;
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    double *x = formed(k, e, &n);
    soa_expr_free(e);
    return x;
}
/* T global = Inc' diag(T(i)), nl x nt */
static void form_basis(chain *c) {
    size_t at = 0;
    c->local = calloc(c->nl * c->nt + 1, sizeof *c->local);
    c->T = calloc(c->nl * c->nt + 1, sizeof *c->T);
    for (size_t b = 0; b < c->nb; ++b) {
        double t[36];
        soa_body_info info;
        assert_int_equal(soa_model_body(c->m, (int)b + 1, &info), SOA_OK);
        assert_int_equal(soa_fd_constraint_forces_basis(c->m, c->r.memory, (int)b + 1, t), SOA_OK);
        const size_t columns = (size_t)(6 - info.nv);
        c->first[b] = at;
        for (size_t row = 0; row < 6; ++row)
            for (size_t col = 0; col < columns; ++col)
                c->local[c->nt * (6 * b + row) + at + col] = t[columns * row + col];
        at += columns;
    }
    c->first[c->nb] = at;
    assert_true(at == c->nt);
    for (size_t row = 0; row < c->nl; ++row)
        for (size_t l = 0; l < c->nl; ++l)
            for (size_t t = 0; t < c->nt; ++t)
                c->T[c->nt * row + t] += c->inc_t[c->nl * row + l] * c->local[c->nt * l + t];
}
static chain open_chain(long seed, int bodies) {
    chain c = {.m = random_tree(seed, bodies, TREE_CHAIN)};
    soa_machine *k = NULL;
    soa_work *w = NULL;
    soa_report report;
    c.nb = (size_t)soa_model_body_count(c.m);
    c.nl = 6 * c.nb;
    c.nv = (size_t)soa_model_nv(c.m);
    c.nt = c.nl - c.nv;
    assert_int_equal(soa_work_create(c.m, &w), SOA_OK);
    assert_int_equal(soa_machine_create(c.m, NULL, 0, &k, &report), SOA_OK);
    tree_state s = random_tree_state(c.m, seed);
    const soa_input input = {
        .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3};
    c.r = room_for(c.m);
    assert_int_equal(soa_machine_set_state(k, s.q, s.v, NULL, s.tau, NULL, s.wrench, 3), SOA_OK);
    assert_int_equal(
        soa_fd_tridiagonal(c.m, w, c.r.memory, c.r.size, &input, c.r.qdd, c.r.forces, c.r.beta),
        SOA_OK);
    c.inc_t = matrix_of(k, "Inc'");
    c.H = matrix_of(k, "H");
    c.a = matrix_of(k, "phi' a");
    c.b = matrix_of(k, "b");
    c.inv_m = matrix_of(k, "inv(M)");
    form_basis(&c);
    free_tree_state(&s);
    soa_machine_free(k);
    soa_work_free(w);
    return c;
}
static void close_chain(chain *c) {
    free(c->inc_t);
    free(c->H);
    free(c->a);
    free(c->b);
    free(c->inv_m);
    free(c->local);
    free(c->T);
    free_result(&c->r);
    soa_model_free(c->m);
}
static double absolute(double x) { /* NaN fails */
    return fabs(x) <= 1e300 ? fabs(x) : INFINITY;
}
/* S' T = 0 with S = inv(Inc) H': H phi Inc' diag(T) = H diag(T); and S' f_c = 0 */
static void compare_work(const chain *c, long seed, worst_case *work) {
    for (size_t v = 0; v < c->nv; ++v)
        for (size_t t = 0; t < c->nt; ++t) {
            double dot = 0;
            for (size_t l = 0; l < c->nl; ++l)
                dot += c->H[c->nl * v + l] * c->local[c->nt * l + t];
            note(work, absolute(dot), seed);
        }
}
/* First row of (27): M a + b = Inc' f, f of the call; second: T' a = T' a0 */
static void compare_second_row(const chain *c, long seed, worst_case *second) {
    double *a = calloc(c->nl + 1, sizeof *a), big = 1;
    for (size_t row = 0; row < c->nl; ++row)
        for (size_t l = 0; l < c->nl; ++l) {
            double fc = 0;
            for (size_t k = 0; k < c->nl; ++k)
                fc += c->inc_t[c->nl * l + k] * c->r.forces[k];
            a[row] += c->inv_m[c->nl * row + l] * (fc - c->b[l]);
        }
    for (size_t l = 0; l < c->nl; ++l)
        big = fmax(big, fabs(a[l]));
    for (size_t t = 0; t < c->nt; ++t) {
        double left = 0, right = 0;
        for (size_t l = 0; l < c->nl; ++l) {
            left += c->T[c->nt * l + t] * a[l];
            right += c->T[c->nt * l + t] * c->a[l];
        }
        note(second, absolute(left - right) / big, seed);
    }
    free(a);
}
/* T' M^-1 T of (28) is block tridiagonal */
static void compare_blocks(const chain *c, long seed, worst_case *blocks) {
    for (size_t b = 0; b < c->nb; ++b)
        for (size_t far = b + 2; far < c->nb; ++far)
            for (size_t u = c->first[b]; u < c->first[b + 1]; ++u)
                for (size_t v = c->first[far]; v < c->first[far + 1]; ++v) {
                    double sum = 0;
                    for (size_t row = 0; row < c->nl; ++row)
                        for (size_t col = 0; col < c->nl; ++col)
                            sum += c->T[c->nt * row + u] * c->inv_m[c->nl * row + col] *
                                   c->T[c->nt * col + v];
                    note(blocks, absolute(sum), seed);
                }
}
/* (27) and (28) written out as matrices from the oracle's M, Inc and H, without rotors: in joint
 * forces f = T beta + Hd T, FO00's global T is Inc' diag(T). */
static void written_out(void **state) {
    (void)state;
    worst_case second = {0}, work = {0}, blocks = {0};
    for (int i = 0; i < 12; ++i) {
        const long seed = first_seed() + i;
        chain c = open_chain(seed, 2 + i % 6);
        compare_work(&c, seed, &work);
        compare_second_row(&c, seed, &second);
        compare_blocks(&c, seed, &blocks);
        close_chain(&c);
    }
    conclude("FO00 after (26): T' S = 0, so S' f_c = 0", &work, 1e-12);
    conclude("FO00 (27), second row with the a of the first", &second, 1e-10);
    conclude("FO00 (28) is block tridiagonal on a chain", &blocks, 1e-12);
}

typedef struct refusal {
    const soa_model *m;
    soa_work *w;
    result r;
    tree_state s;
    soa_input input; /* of s, without wrenches */
} refusal;
static refusal open_refusal(const soa_model *m) {
    refusal c = {.m = m};
    assert_int_equal(soa_work_create(m, &c.w), SOA_OK);
    c.r = room_for(m);
    c.s = random_tree_state(m, 1);
    c.input = (soa_input){.q = c.s.q, .v = c.s.v, .tau = c.s.tau};
    c.r.qdd[0] = 77;
    return c;
}
static void close_refusal(refusal *c) {
    assert_true(c->r.qdd[0] == 77);
    free_result(&c->r);
    free_tree_state(&c->s);
    soa_work_free(c->w);
    soa_model_free(c->m);
}
static soa_status forces(const refusal *c) {
    return soa_fd_constraint_forces(c->m, c->w, c->r.memory, c->r.size, &c->input, c->r.qdd, NULL,
                                    NULL);
}
static soa_status tridiagonal(const refusal *c) {
    return soa_fd_tridiagonal(c->m, c->w, c->r.memory, c->r.size, &c->input, c->r.qdd, NULL, NULL);
}
static void tridiagonal_refused(void **state) {
    (void)state;
    refusal tree = open_refusal(random_tree(5, 12, 0));
    assert_int_equal(tridiagonal(&tree), SOA_E_BRANCHED);
    assert_true(soa_work_failed_body(tree.w) > 0);
    close_refusal(&tree);

    refusal light = open_refusal(random_tree(first_seed() + 2, 12, TREE_CHAIN | TREE_MASSLESS));
    assert_int_equal(tridiagonal(&light), SOA_E_INERTIA);
    assert_true(soa_work_failed_body(light.w) > 0);
    close_refusal(&light);

    /* link 1 of the PUMA has one moment of inertia and nothing else */
    const soa_model *m = NULL;
    assert_int_equal(soa_stock_model_create("puma560", NULL, &m, NULL), SOA_OK);
    refusal puma = open_refusal(m);
    puma.input = (soa_input){0};
    assert_int_equal(tridiagonal(&puma), SOA_E_INERTIA);
    assert_int_equal(soa_work_failed_body(puma.w), 1);
    close_refusal(&puma);
}
static void arguments_refused(void **state) {
    (void)state;
    refusal good = open_refusal(random_tree(5, 12, 0)), c = good,
            light = open_refusal(random_tree(first_seed() + 2, 12, TREE_CHAIN | TREE_MASSLESS));
    c.r.size = good.r.size - 1;
    assert_int_equal(forces(&c), SOA_E_MEMORY);
    c = good;
    c.r.memory = NULL;
    assert_int_equal(forces(&c), SOA_E_MEMORY);
    c = good;
    c.w = light.w; /* another model's */
    assert_int_equal(forces(&c), SOA_E_ARGUMENT);
    c = good;
    c.m = NULL;
    assert_int_equal(forces(&c), SOA_E_ARGUMENT);
    c = good;
    c.r.qdd = NULL;
    assert_int_equal(forces(&c), SOA_E_ARGUMENT);
    good.s.tau[1] = NAN;
    assert_int_equal(forces(&good), SOA_E_NOT_FINITE);
    good.s.tau[1] = 0;
    good.s.wrench[0].frame = 1000;
    c = good;
    c.input.wrenches = good.s.wrench;
    c.input.wrench_count = 1;
    assert_int_equal(forces(&c), SOA_E_ARGUMENT);
    double T[36];
    assert_int_equal(soa_fd_constraint_forces_basis(good.m, good.r.memory, 13, T), SOA_E_ARGUMENT);
    assert_int_equal(soa_fd_constraint_forces_basis(good.m, good.r.memory, 0, T), SOA_E_ARGUMENT);
    close_refusal(&light);
    close_refusal(&good);
}
/* Of two links the second has what the call refuses. */
static void second_refused(soa_body_def b[2], soa_status expected) {
    const soa_model_def def = soa_model_default("two", b, 2);
    const soa_model *m = NULL;
    soa_work *w = NULL;
    assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    result r = room_for(m);
    assert_int_equal(
        soa_fd_constraint_forces(m, w, r.memory, r.size, &(soa_input){0}, r.qdd, NULL, NULL),
        expected);
    assert_int_equal(soa_work_failed_body(w), 2);
    free_result(&r);
    soa_work_free(w);
    soa_model_free(m);
}
static void models_refused(void **state) {
    (void)state;
    soa_body_def b[2] = {soa_body_default("one", 0, SOA_REVOLUTE),
                         soa_body_default("two", 1, SOA_REVOLUTE)};
    soa_body_box(b, 1, 0.1, 0.2, 0.3);
    soa_body_box(b + 1, 1, 0.1, 0.2, 0.3);
    const soa_body_def good = b[1];

    b[1].mass = 0; /* a massless tip */
    memset(b[1].inertia, 0, sizeof b[1].inertia);
    second_refused(b, SOA_E_HINGE_SINGULAR);

    b[1] = good; /* an exact rotor */
    b[1].joint.rotor_inertia = 1e-4;
    b[1].joint.gear_ratio = 10;
    b[1].joint.rotor_model = SOA_ROTOR_EXACT;
    second_refused(b, SOA_E_JOINT);

    b[1] = good; /* a mimic joint */
    b[1].joint.mimic = 1;
    b[1].joint.mimic_ratio = 2;
    second_refused(b, SOA_E_MIMIC);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_by_name),   cmocka_unit_test(equation_27),
        cmocka_unit_test(equation_28),         cmocka_unit_test(written_out),
        cmocka_unit_test(tridiagonal_refused), cmocka_unit_test(arguments_refused),
        cmocka_unit_test(models_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
