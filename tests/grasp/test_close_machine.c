/* test_close_machine.c  closed chains written as operator expressions: loops against soa_closed_fd,
 * grasps against soa_grasp_fd (RK88-II (3.6), (6.13) to (6.17)), WD89's H, C, G against
 * soa_embedding_terms; planned and formed; what is counted.
 *
 * SOA_SEED=n chooses other systems. */
#include "grasp_systems.h"
#include "soa/io.h"

#define FREE "inv(Mass) (T - H phi (M phi' a + b))"
#define LAMBDA "-pinv(Gc inv(Mass) Gc') (Gc " FREE " + gammac)"
#define CLOSED FREE " - inv(Mass) Gc' pinv(Gc inv(Mass) Gc') (Gc " FREE " + gammac)"
/* RK88-II (3.6): contact forces from the arms and the object, then the arms */
#define OMEGA "(J inv(Mass) J' + Ao inv(Mo) Ao')"
#define FORCE "pinv(Tc' " OMEGA " Tc) (Tc' (J " FREE " + B' phi' a + Ao inv(Mo) bo) - gammao)"
#define ARMS FREE " - inv(Mass) J' Tc " FORCE
#define OBJECT "inv(Mo) (Ao' Tc " FORCE " - bo)"

static const soa_expr *parsed(const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    return e;
}
static void planned(soa_machine *m, const char *text, int improve, double *out) {
    const soa_expr *e = parsed(text), *better = NULL;
    soa_plan *plan = NULL;
    char message[600];
    if (improve) {
        OK(soa_expr_improve(e, 100, NULL, NULL, &better));
        soa_expr_free(e);
        e = better;
    }
    if (soa_plan_create(m, e, &plan, message, sizeof message) != SOA_OK)
        fail_msg("%s: %s", text, message);
    const soa_status s = soa_plan_run(plan, out);
    if (s) fail_msg("%s: %s %s", text, soa_status_text(s), soa_machine_failure(m));
    soa_plan_free(plan);
    soa_expr_free(e);
}
static void formed(soa_machine *m, const char *text, double *out) {
    const soa_expr *e = parsed(text);
    const soa_status s = soa_machine_dense_matrix(m, e, out);
    if (s) fail_msg("%s: %s %s", text, soa_status_text(s), soa_machine_failure(m));
    soa_expr_free(e);
}

/* --- loops of shipped models ------------------------------------------------------------------ */
typedef struct linkage {
    const soa_model *m;
    soa_work *w;
    soa_constraints *c;
    soa_machine *k;
    int nv;
    double q[16], v[16], tau[16];
} linkage;
static linkage open_linkage(const char *name, long seed) {
    linkage l = {0};
    const soa_read_options ideal = {0, 1};
    soa_constraint_list list;
    soa_report report;
    if (soa_model_open(name, &ideal, &l.m, &list, &report)) fail_msg("%s", report.text);
    assert_true(list.count > 0);
    OK(soa_constraints_from_list(&list, l.m, 1, &l.c, &report));
    soa_constraint_list_free(&list);
    OK(soa_work_create(l.m, &l.w));
    OK(soa_machine_create(l.m, NULL, 0, &l.k, NULL));
    l.nv = soa_model_nv(l.m);
    assert_true(soa_model_nq(l.m) == l.nv && l.nv <= 16);
    dice d = {(uint64_t)seed};
    soa_q_neutral(l.m, l.q);
    for (int j = 0; j < l.nv; ++j)
        l.q[j] += roll(&d, -0.05, 0.05);
    roll_many(&d, -1, 1, (size_t)l.nv, l.v);
    roll_many(&d, -1, 1, (size_t)l.nv, l.tau);
    if (soa_closed_assemble(l.c, l.w, 0, NULL, l.q, &report)) fail_msg("%s", report.text);
    OK(soa_closed_project(l.c, l.w, 0, l.q, l.v, NULL));
    const soa_input in = {.q = l.q, .v = l.v};
    OK(soa_constraints_close_machine(l.c, l.w, &in, l.k));
    OK(soa_machine_set_state(l.k, l.q, l.v, NULL, l.tau, NULL, NULL, 0));
    return l;
}
static void close_linkage(linkage *l) {
    soa_machine_free(l->k);
    soa_constraints_free(l->c);
    soa_work_free(l->w);
    soa_model_free(l->m);
}
static void loops(void **state) {
    (void)state;
    static const char *const models[] = {"four-bar", "andrews", "bricard"};
    worst_case rows = {0}, rest = {0}, motion = {0}, improved = {0}, dense = {0}, torque = {0};
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k)
        for (long seed = first_seed(); seed < first_seed() + 10; ++seed) {
            linkage l = open_linkage(models[k], seed);
            const int n = soa_constraints_row_count(l.c);
            assert_int_equal(soa_machine_space_size(l.k, SOA_SPACE_CONSTRAINT), n);
            double *G = calloc((size_t)(2 * n * l.nv), sizeof *G), *ours = G + n * l.nv;
            double gamma[40], x[40], y[40], want[16], lambda[40];
            const soa_input in = {.q = l.q, .v = l.v, .tau = l.tau};
            OK(soa_constraints_evaluate(l.c, l.w, &in, NULL, NULL, G, gamma));
            formed(l.k, "Gc", ours);
            note(&rows, relative(ours, G, (size_t)(n * l.nv)), seed);
            planned(l.k, "gammac", 0, x);
            note(&rest, relative(x, gamma, (size_t)n), seed);
            OK(soa_closed_fd(l.c, l.w, NULL, &in, want, lambda, NULL));
            planned(l.k, CLOSED, 0, x);
            note(&motion, relative(x, want, (size_t)l.nv), seed);
            assert_true(soa_machine_rank(l.k) > 0 && soa_machine_rank(l.k) < l.nv);
            planned(l.k, CLOSED, 1, y);
            note(&improved, relative(y, want, (size_t)l.nv), seed);
            formed(l.k, CLOSED, y);
            note(&dense, relative(y, want, (size_t)l.nv), seed);
            /* lambda is of least norm in both, up to the scale of rows: its torques are the same */
            planned(l.k, "-Gc' pinv(Gc inv(Mass) Gc') (Gc " FREE " + gammac)", 0, x);
            for (int j = 0; j < l.nv; ++j) {
                y[j] = 0;
                for (int r = 0; r < n; ++r)
                    y[j] += G[r * l.nv + j] * lambda[r];
            }
            note(&torque, relative(x, y, (size_t)l.nv), seed);
            free(G);
            close_linkage(&l);
        }
    conclude("Gc = G of soa_constraints_evaluate", &rows, 1e-13);
    conclude("gammac = gamma", &rest, 1e-13);
    conclude("closed forward dynamics = soa_closed_fd", &motion, 1e-9);
    conclude("the same, improved", &improved, 1e-9);
    conclude("the same, formed", &dense, 1e-8);
    conclude("torques of the loops", &torque, 1e-9);
}

/* A gear between two joints names coordinates: Rc. */
static void gears(void **state) {
    (void)state;
    const soa_model *m = NULL;
    soa_work *w = NULL;
    soa_constraints *c = NULL;
    soa_machine *k = NULL;
    worst_case motion = {0};
    OK(soa_model_open("arm7", NULL, &m, NULL, NULL));
    OK(soa_work_create(m, &w));
    const soa_constraint_capacity room = {1, 1, false};
    OK(soa_constraints_create(m, &room, &c));
    soa_constraint_def def = soa_constraint_default(SOA_RATIO, 0, 0);
    def.coordinate[0] = 2;
    def.coordinate[1] = 5;
    def.coefficient[0] = 1;
    def.coefficient[1] = -2.5;
    OK(soa_constraints_add(c, &def, NULL, NULL));
    OK(soa_machine_create(m, NULL, 0, &k, NULL));
    dice d = {(uint64_t)first_seed()};
    double q[7], v[7], tau[7], want[7], x[7];
    roll_many(&d, -1, 1, 7, q);
    roll_many(&d, -1, 1, 7, v);
    roll_many(&d, -1, 1, 7, tau);
    OK(soa_closed_project(c, w, 0, q, v, NULL));
    const soa_input in = {.q = q, .v = v, .tau = tau};
    OK(soa_constraints_close_machine(c, w, &in, k));
    OK(soa_machine_set_state(k, q, v, NULL, tau, NULL, NULL, 0));
    OK(soa_closed_fd(c, w, NULL, &in, want, NULL, NULL));
    planned(k, CLOSED, 0, x);
    double loss[7], moving[7]; /* friction of the joints is no part of T */
    soa_read_options ideal = {0, 1};
    const soa_model *plain = NULL;
    soa_work *w2 = NULL;
    OK(soa_model_open("arm7", &ideal, &plain, NULL, NULL));
    OK(soa_work_create(plain, &w2));
    OK(soa_rnea(m, w, q, v, NULL, NULL, 0, loss));
    OK(soa_rnea(plain, w2, q, v, NULL, NULL, 0, moving));
    for (int j = 0; j < 7; ++j)
        tau[j] -= loss[j] - moving[j];
    OK(soa_machine_set_state(k, q, v, NULL, tau, NULL, NULL, 0));
    planned(k, CLOSED, 0, x);
    note(&motion, relative(x, want, 7), first_seed());
    conclude("two joints in a ratio = soa_closed_fd", &motion, 1e-9);
    /* a plan does not outlive its rows */
    const soa_expr *e = parsed(LAMBDA);
    soa_plan *plan = NULL;
    OK(soa_plan_create(k, e, &plan, NULL, 0));
    OK(soa_machine_set_constraints(k, 0, NULL, 0, NULL, NULL));
    assert_int_equal(soa_plan_run(plan, x), SOA_E_ORDER);
    soa_plan_free(plan);
    soa_expr_free(e);
    soa_work_free(w2);
    soa_model_free(plain);
    soa_machine_free(k);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_model_free(m);
}

/* --- grasps ----------------------------------------------------------------------------------- */
static void grasps(void **state) {
    (void)state;
    worst_case whole = {0}, arms = {0}, object = {0}, compliance = {0}, dense = {0};
    const recipe r = {.floating = -1, .no_losses = 1};
    int done = 0;
    for (long seed = first_seed(); seed < first_seed() + 400 && done < 60; ++seed) {
        grasp_system s = grasp_system_open(seed, &r);
        soa_machine *k = NULL;
        int tips[MOST_ARMS];
        for (int a = 0; a < s.arms; ++a)
            tips[a] = s.contact[a].arm;
        for (int j = s.nv - 6; j < s.nv; ++j) /* nothing drives the object */
            s.tau[j] = 0;
        const soa_input in = {.q = s.q, .v = s.v, .tau = s.tau};
        double qdd[MOST_V], x[MOST_V], y[MOST_V], alpha[6 * MOST_BODIES];
        soa_grasp_report report;
        const soa_status status = soa_grasp_fd(s.g, s.w, NULL, &in, qdd, NULL, NULL, &report);
        /* exact rotors are no operators; forces that are not determined lose digits */
        if (!status && report.condition < 1e6 &&
            soa_machine_create(s.m, tips, s.arms, &k, NULL) == SOA_OK) {
            const size_t nv = (size_t)s.nv;
            const soa_input at = {.q = s.q, .v = s.v};
            OK(soa_grasp_close_machine(s.g, s.w, &at, s.object, k));
            OK(soa_machine_set_state(k, s.q, s.v, qdd, s.tau, NULL, NULL, 0));
            planned(k, CLOSED, 0, x);
            note(&whole, relative(x, qdd, nv), seed);
            planned(k, ARMS, 0, x);
            note(&arms, relative(x, qdd, nv - 6), seed);
            planned(k, OBJECT, 0, x);
            planned(k, "alpha", 0, alpha);
            note(&object, relative(x, alpha + 6 * (soa_model_body_count(s.m) - 1), 6), seed);
            /* T'Omega T of the pair of arms and object is Gc inv(Mass) Gc' of the whole machine */
            const int rows = soa_machine_space_size(k, SOA_SPACE_CONSTRAINT);
            double *one = calloc((size_t)(2 * rows * rows) + 1, sizeof *one);
            formed(k, "Tc' " OMEGA " Tc", one);
            formed(k, "Gc inv(Mass) Gc'", one + rows * rows);
            note(&compliance, relative(one, one + rows * rows, (size_t)(rows * rows)), seed);
            free(one);
            if (done % 5 == 0 && report.condition < 1e3) {
                formed(k, ARMS, y);
                note(&dense, relative(y, qdd, nv - 6), seed);
            }
            ++done;
        }
        soa_machine_free(k);
        grasp_system_close(&s);
    }
    assert_true(done >= 20);
    conclude("whole machine with contact rows = soa_grasp_fd", &whole, 1e-9);
    conclude("RK88-II (3.6): arms = soa_grasp_fd", &arms, 1e-9);
    conclude("RK88-II (3.6): acceleration of the object", &object, 1e-9);
    conclude("T' (J M^-1 J' + A M(C)^-1 A') T = Gc M^-1 Gc'", &compliance, 1e-9);
    conclude("the same, formed", &dense, 1e-7);
}

/* --- WD89 ------------------------------------------------------------------------------------- */
static void embedding(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int primary;
    } models[] = {{"four-bar", 0}, {"andrews", 0}, {"bricard", 0}};
    worst_case H = {0}, bias = {0}, torque = {0}, motion = {0};
    int done = 0;
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k)
        for (long seed = first_seed(); seed < first_seed() + 10; ++seed) {
            linkage l = open_linkage(models[k].name, seed);
            unsigned char primary[16] = {0};
            primary[models[k].primary] = 1;
            soa_embedding_def def = soa_embedding_default(primary);
            soa_embedding *e = NULL;
            soa_report report;
            def.constraints = l.c;
            if (soa_embedding_create(l.m, &def, &e, &report)) fail_msg("%s", report.text);
            assert_int_equal(soa_embedding_nv(e), 1);
            double Q[16], Qd = 0.7, Qdd = -0.4, v[16], want[3], tau, x[16], Q2, Q1;
            memcpy(Q, l.q, sizeof Q);
            const double crank = l.q[0];
            soa_input in = {.q = &crank, .v = &Qd};
            const soa_status s = soa_embedding_close_machine(e, l.w, &in, l.k, Q, v);
            if (!s) {
                OK(soa_embedding_terms(e, l.w, &in, Q, want, want + 1, want + 2));
                OK(soa_machine_set_state(l.k, Q, v, NULL, NULL, NULL, NULL, 0));
                formed(l.k, "Eq' Mass Eq", x);
                note(&H, relative(x, want, 1), seed);
                planned(l.k, "Eq' H phi (M phi' (H' ed + a) + b)", 0, x);
                const double sum = want[1] + want[2];
                note(&bias, relative(x, &sum, 1), seed);
                in.a = &Qdd;
                OK(soa_embedding_id(e, l.w, &in, Q, &tau));
                const double z = want[0] * Qdd + x[0];
                note(&torque, relative(&z, &tau, 1), seed);
                /* Qdd from tau: inv(Eq' Mass Eq), one solve in primary space */
                OK(soa_machine_set_vector(l.k, "tau", SOA_SPACE_PRIMARY, &tau));
                const soa_variable own[] = {{"tau", SOA_SPACE_PRIMARY, SOA_SPACE_ONE, false}};
                const soa_expr *solve = NULL;
                soa_plan *plan = NULL;
                OK(soa_expr_parse("inv(Eq' Mass Eq) (tau - Eq' H phi (M phi' (H' ed + a) + b))",
                                  own, 1, &solve, NULL, 0));
                OK(soa_plan_create(l.k, solve, &plan, NULL, 0));
                OK(soa_plan_run(plan, &Q2));
                in.a = NULL;
                in.tau = &tau;
                OK(soa_embedding_fd(e, l.w, SOA_EMBEDDING_SWEEPS, &in, Q, &Q1));
                note(&motion, relative(&Q2, &Q1, 1), seed);
                soa_plan_free(plan);
                soa_expr_free(solve);
                ++done;
            }
            soa_embedding_free(e);
            close_linkage(&l);
        }
    assert_true(done >= 20);
    conclude("WD89 H(Q) = Eq' Mass Eq", &H, 1e-9);
    conclude("WD89 C + G", &bias, 1e-9);
    conclude("H Qdd + C + G = soa_embedding_id", &torque, 1e-9);
    conclude("Qdd = soa_embedding_fd", &motion, 1e-9);
}

/* Explained, counted, printed as C. */
static void shown(void **state) {
    (void)state;
    linkage l = open_linkage("four-bar", first_seed());
    static const char *const texts[] = {"Gc inv(Mass) Gc' gammac", "Gc' gammac"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        const soa_expr *e = parsed(texts[i]);
        soa_scalar_graph *g = NULL;
        soa_count count;
        char message[300], *text = NULL;
        size_t length;
        if (soa_scalar_graph_create(l.k, e, NULL, &g, message, sizeof message) != SOA_OK)
            fail_msg("%s: %s", texts[i], message);
        OK(soa_scalar_graph_operations(g, 0, -1, &count));
        assert_true(count.multiplications > 0);
        OK(soa_scalar_graph_emit_c(g, "f", &text, &length));
        assert_non_null(strstr(text, "gammac"));
        assert_non_null(strstr(text, ": Bc */"));
        free(text);
        soa_scalar_graph_free(g);
        soa_expr_free(e);
    }
    close_linkage(&l);
    /* a machine without constraints has no numbers for them */
    const soa_model *m = NULL;
    soa_machine *k = NULL;
    soa_plan *plan = NULL;
    char message[300];
    OK(soa_model_open("arm7", NULL, &m, NULL, NULL));
    OK(soa_machine_create(m, NULL, 0, &k, NULL));
    const soa_expr *e = parsed("Gc thd");
    assert_int_equal(soa_plan_create(k, e, &plan, message, sizeof message), SOA_E_NAME);
    assert_non_null(strstr(message, "has no value"));
    double x[1];
    assert_int_equal(soa_machine_dense_matrix(k, e, x), SOA_E_NAME);
    soa_expr_free(e);
    soa_machine_free(k);
    soa_model_free(m);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops), cmocka_unit_test(gears),
                                       cmocka_unit_test(grasps), cmocka_unit_test(embedding),
                                       cmocka_unit_test(shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
