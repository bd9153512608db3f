/* test_rccfd.c  all methods of forward dynamics for arms that hold an object, on random systems,
 * against the dense system (2.11) of RK88-II.
 *
 * SOA_SEED=n chooses other systems. */
#include "grasp_systems.h"

#include <time.h>

enum { SYSTEMS = 500 };
static const char *const method_name[] = {"auto",   "general", "RCCFD1",  "RCCFD2",
                                          "RCCFD3", "loose",   "woodbury"};

/* Another open-chain solver: mass matrix and Gauss. */
static soa_status by_mass_matrix(void *user, const soa_model *m, soa_work *w,
                                 const soa_input *input, double *qdd) {
    static double M[MOST_V * MOST_V], C[MOST_V];
    const int n = soa_model_nv(m);
    ++*(long *)user;
    soa_status s =
        soa_rnea(m, w, input->q, input->v, NULL, input->wrenches, input->wrench_count, C);
    if (s || (s = soa_crba(m, w, input->q, M))) return s;
    for (int j = 0; j < n; ++j)
        qdd[j] = (input->tau ? input->tau[j] : 0) - C[j];
    for (int j = 0; j < n; ++j) { /* L D L', positive definite */
        for (int i = j + 1; i < n; ++i) {
            const double l = M[n * i + j] / M[n * j + j];
            for (int k = j; k < n; ++k)
                M[n * i + k] -= l * M[n * j + k];
            qdd[i] -= l * qdd[j];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k)
            qdd[i] -= M[n * i + k] * qdd[k];
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
        double qdd[MOST_V], f[MOST_ROWS], expected[MOST_V], f_expected[MOST_ROWS], t1[MOST_V],
            t2[MOST_V];
        dense_form(&s, s.q, s.v, &D);
        const int rank = dense_solve(&D, s.tau, expected, f_expected);
        dense_torques(&D, f_expected, t2);
        for (int method = 0; method < SOA_GRASP_METHOD_COUNT; ++method) {
            soa_grasp_options o = soa_grasp_options_default();
            soa_grasp_report report = {0};
            o.method = (soa_grasp_method)method;
            if (method == SOA_GRASP_GENERAL && seed % 2) {
                o.solver = by_mass_matrix;
                o.user = &solver_calls;
            }
            const soa_status status =
                soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f,
                             NULL, &report);
            if (method == SOA_GRASP_WOODBURY && status) { /* its own conditions */
                assert_true(status == SOA_E_ARGUMENT || status == SOA_E_SINGULAR);
                ++refused;
                continue;
            }
            if (!(report.condition < 1e8)) { /* the status is the answer */
                if (!(report.condition <= o.most_condition))
                    assert_int_equal(status, SOA_E_SINGULAR);
                hard += method == SOA_GRASP_AUTO;
                continue;
            }
            if (status)
                fail_msg("%s, seed %ld, %s: %s (residual %g)", title, seed, method_name[method],
                         soa_status_text(status), report.residual);
            assert_int_equal(report.rows, D.rows);
            assert_int_equal(report.least_norm, report.rank < report.rows);
            if (report.rank != rank)
                fail_msg("%s, seed %ld, %s: rank %d, dense %d of %d, condition %g", title, seed,
                         method_name[method], report.rank, rank, report.rows, report.condition);
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
                        x += term;
                        size = fmax(size, fabs(term));
                    }
                note(&kept, fabs(x) / size, seed);
            }
        }
        grasp_system_close(&s);
    }
    printf(" %s: %d systems, %ld with singular Omega, %ld beyond condition 1e8, Woodbury %ld "
           "(refused %ld)\n",
           title, systems, deficient, hard, woodbury, refused);
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
    judge("rigid grasps, floating base", &(recipe){.rigid = 1, .floating = 1}, first_seed() + 10000,
          SYSTEMS / 5);
}
static void all_contacts(void **unused) {
    (void)unused;
    judge("all contacts", &(recipe){.floating = -1, .mechanism = -1}, first_seed() + 20000,
          SYSTEMS);
}

/* With mimic joints: (4.9) and (b.9) in the caller's coordinates; the recursive ones say no. */
static void mimic_joints(void **unused) {
    (void)unused;
    static dense_grasp D;
    worst_case motion = {0};
    long with = 0;
    for (long seed = first_seed() + 30000; seed < first_seed() + 30060; ++seed) {
        const recipe r = {.floating = -1, .mimic = 1, .turning_only = 1, .joints = 7};
        grasp_system s = grasp_system_open(seed, &r);
        double qdd[MOST_V], f[MOST_ROWS], expected[MOST_V], f0[MOST_ROWS];
        int followers = 0;
        for (int b = 1; b <= soa_model_body_count(s.m); ++b) {
            soa_body_info info;
            OK(soa_model_body(s.m, b, &info));
            followers += info.mimic >= 0;
        }
        with += followers > 0;
        dense_form(&s, s.q, s.v, &D);
        dense_solve(&D, s.tau, expected, f0);
        for (int method = 0; method < SOA_GRASP_METHOD_COUNT; ++method) {
            soa_grasp_options o = soa_grasp_options_default();
            soa_grasp_report report = {0};
            o.method = (soa_grasp_method)method;
            const soa_status status =
                soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f,
                             NULL, &report);
            if (method != SOA_GRASP_AUTO && method != SOA_GRASP_GENERAL &&
                method != SOA_GRASP_LOOSE) {
                if (followers) assert_int_equal(status, SOA_E_MIMIC);
                continue;
            }
            if (!(report.condition < 1e8)) continue;
            OK(status);
            note(&motion, relative(qdd, expected, (size_t)s.nv), seed);
        }
        grasp_system_close(&s);
    }
    assert_true(with > 30);
    conclude("vdot with mimic joints", &motion, 1e-9);
}

/* --- the paper's own formulas, dense, in long double ------------------------------------------ */
typedef struct matrix {
    int rows, columns;
    long double *x;
} matrix;
static matrix *pool[256];
static int pooled;
static matrix *new_matrix(int rows, int columns) {
    matrix *m = malloc(sizeof *m);
    assert_true(pooled < 256);
    *m = (matrix){rows, columns, calloc((size_t)rows * (size_t)columns + 1, sizeof(long double))};
    return pool[pooled++] = m;
}
static void free_all(void) {
    while (pooled) {
        --pooled;
        free(pool[pooled]->x);
        free(pool[pooled]);
    }
}
static matrix *times(const matrix *a, const matrix *b) {
    assert_int_equal(a->columns, b->rows);
    matrix *c = new_matrix(a->rows, b->columns);
    for (int i = 0; i < a->rows; ++i)
        for (int k = 0; k < a->columns; ++k)
            for (int j = 0; j < b->columns; ++j)
                c->x[c->columns * i + j] += a->x[a->columns * i + k] * b->x[b->columns * k + j];
    return c;
}
static matrix *plus(const matrix *a, const matrix *b, long double by) {
    assert_true(a->rows == b->rows && a->columns == b->columns);
    matrix *c = new_matrix(a->rows, a->columns);
    for (int i = 0; i < a->rows * a->columns; ++i)
        c->x[i] = a->x[i] + by * b->x[i];
    return c;
}
static matrix *turned(const matrix *a) {
    matrix *c = new_matrix(a->columns, a->rows);
    for (int i = 0; i < a->rows; ++i)
        for (int j = 0; j < a->columns; ++j)
            c->x[c->columns * j + i] = a->x[a->columns * i + j];
    return c;
}
static matrix *inverse(const matrix *a) {
    const int n = a->rows;
    matrix *c = new_matrix(n, n);
    long double *A = malloc(((size_t)n * (size_t)n + 1) * sizeof *A),
                *b = malloc(((size_t)n + 1) * sizeof *b);
    for (int j = 0; j < n; ++j) {
        memcpy(A, a->x, (size_t)n * (size_t)n * sizeof *A);
        for (int i = 0; i < n; ++i)
            b[i] = i == j;
        assert_int_equal(solve_full(n, A, b, 1e-17), n);
        for (int i = 0; i < n; ++i)
            c->x[n * i + j] = b[i];
    }
    free(A);
    free(b);
    return c;
}
static double apart(const matrix *a, const double *b) {
    double x[2 * MOST_V];
    for (int i = 0; i < a->rows; ++i)
        x[i] = (double)a->x[i];
    return relative(b, x, (size_t)a->rows);
}

/* (3.6), (b.9) as printed (misprints mended) and (b.14): arms and object apart, Omega inverted. */
static void paper_formulas(void **unused) {
    (void)unused;
    static dense_grasp D;
    worst_case rigid = {0}, rigid_forces = {0}, loose = {0}, loose_forces = {0}, coupled = {0},
               free_rates = {0}, obeyed = {0};
    for (long seed = first_seed() + 40000; seed < first_seed() + 40060; ++seed) {
        const recipe r = {.arms = 2 + (int)(seed % 2),
                          .joints = 6,
                          .floating = seed % 4 > 1,
                          .rigid = seed % 2 == 0,
                          .turning_only = 1};
        grasp_system s = grasp_system_open(seed, &r);
        double qdd[MOST_V], f[MOST_ROWS], W_rate[MOST_ROWS];
        soa_grasp_rank full;
        soa_grasp_options o = soa_grasp_options_default();
        o.method = SOA_GRASP_LOOSE;
        OK(soa_grasp_compliance(s.g, s.w, s.q, NULL, &full, NULL));
        if (full.rank < full.rows || full.condition > 1e6 ||
            soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f,
                         W_rate, NULL)) {
            grasp_system_close(&s);
            continue;
        }
        dense_form(&s, s.q, s.v, &D);
        const int n = s.nv - 6, l6 = 6 * s.arms;
        matrix *M = new_matrix(n, n), *MC = new_matrix(6, 6), *J = new_matrix(l6, n),
               *A = new_matrix(l6, 6);
        matrix *T = new_matrix(n, 1), *C = new_matrix(n, 1), *b = new_matrix(6, 1),
               *rest = new_matrix(l6, 1);
        for (int i = 0; i < n; ++i) {
            T->x[i] = s.tau[i];
            C->x[i] = D.C[i];
            for (int j = 0; j < n; ++j)
                M->x[n * i + j] = D.M[s.nv * i + j];
        }
        for (int i = 0; i < 6; ++i) {
            /* what drives the object counts as bias */
            b->x[i] = (long double)D.C[n + i] - s.tau[n + i];
            for (int j = 0; j < 6; ++j)
                MC->x[6 * i + j] = D.M[s.nv * (n + i) + n + j];
        }
        for (int i = 0; i < l6; ++i) {
            rest->x[i] = D.bias[i]; /* a(C) - J'theta' - H*'W */
            for (int j = 0; j < n; ++j)
                J->x[n * i + j] = D.Ja[i][j];
            for (int j = 0; j < 6; ++j)
                A->x[6 * i + j] = D.J[i][n + j];
        }
        const matrix *Mi = inverse(M), *MCi = inverse(MC), *Jt = turned(J), *At = turned(A);
        const matrix *JMi = times(J, Mi), *AMi = times(A, MCi), *AMA = times(AMi, At);
        /* (3.1), (b.4a) */
        const matrix *Omega = plus(times(JMi, Jt), AMA, 1), *Oi = inverse(Omega);
        /* a'(C) (2.15b) */
        const matrix *a1 = plus(rest, times(AMi, b), -1);
        const matrix *T1 = plus(T, C, -1), *MiJt = turned(JMi);
        double local[MOST_ROWS];
        for (int a = 0; a < s.arms; ++a) {
            turn_back(D.R[a], f + 6 * a, local + 6 * a);
            turn_back(D.R[a], f + 6 * a + 3, local + 6 * a + 3);
        }
        if (r.rigid) {
            const matrix *force = times(Oi, plus(times(JMi, T1), a1, -1)); /* (3.6b) */
            const matrix *motion =
                plus(plus(times(Mi, T1), times(MiJt, times(Oi, times(JMi, T1))), -1),
                     times(MiJt, times(Oi, a1)), 1); /* (3.6a) */
            note(&rigid, apart(motion, qdd), seed);
            note(&rigid_forces, apart(force, local), seed);
        } else {
            int loosed = 0;
            (void)soa_grasp_contact_count(s.g, &loosed);
            if (!loosed) {
                free_all();
                grasp_system_close(&s);
                continue;
            }
            matrix *H = new_matrix(loosed, l6);
            static const char *const list[] = {"", "0", "01", "012", "234", "01234"};
            int row = 0;
            for (int a = 0; a < s.arms; ++a)
                for (int k = 0; k < 6; ++k) {
                    const soa_contact_def *c = &s.contact[a];
                    if (c->type == SOA_CONTACT_OWN ? k < c->free_count
                                                   : strchr(list[c->type], '0' + k) != NULL) {
                        for (int j = 0; j < 6; ++j)
                            H->x[l6 * row + 6 * a + j] =
                                c->type == SOA_CONTACT_OWN ? c->free[k][j] : j == k;
                        ++row;
                    }
                }
            assert_int_equal(row, loosed);
            const matrix *Ht = turned(H), *HO = times(H, Oi), *OH = turned(HO),
                         *HOHi = inverse(times(HO, Ht));
            /* (b.9c) */
            const matrix *Pi = plus(Oi, times(OH, times(HOHi, HO)), -1);
            /* (b.9a) */
            const matrix *G1 = plus(plus(new_matrix(l6, 1), a1, -1), times(JMi, C), -1);
            /* (b.9d) */
            const matrix *both = plus(times(JMi, T), G1, 1), *force = times(Pi, both);
            /* (b.9e) */
            const matrix *motion =
                plus(plus(plus(times(Mi, T), times(MiJt, times(Pi, times(JMi, T))), -1),
                          times(MiJt, times(Pi, G1)), -1),
                     times(Mi, C), -1);
            /* (b.9f) */
            const matrix *rates = plus(new_matrix(loosed, 1), times(HOHi, times(HO, both)), -1);
            note(&loose, apart(motion, qdd), seed);
            note(&loose_forces, apart(force, local), seed);
            note(&free_rates, apart(rates, W_rate), seed);
            /* (b.14), G2 with its sign mended */
            matrix *unit = new_matrix(n, n);
            for (int i = 0; i < n; ++i)
                unit->x[(n + 1) * i] = 1;
            const matrix *HOJ = times(HO, J), *JtO = times(Jt, Oi), *AP = times(AMA, Pi);
            const matrix *G2 = times(HO, plus(plus(times(AP, G1), G1, -1), times(JMi, C), -1));
            const matrix *G3 = plus(plus(new_matrix(n, 1), times(JtO, G1), -1), C, -1);
            const matrix *top = plus(times(HO, times(AP, times(JMi, T))), G2, 1);
            const matrix *low = plus(times(plus(unit, times(JtO, JMi), -1), T), G3, 1),
                         *HOH = times(HO, Ht);
            const int size = loosed + n;
            long double *K = calloc((size_t)size * (size_t)size, sizeof *K),
                        *x = calloc((size_t)size, sizeof *x);
            for (int i = 0; i < size; ++i) {
                x[i] = i < loosed ? top->x[i] : low->x[i - loosed];
                for (int j = 0; j < size; ++j) {
                    if (i < loosed) {
                        K[size * i + j] =
                            j < loosed ? HOH->x[loosed * i + j] : HOJ->x[n * i + j - loosed];
                    } else {
                        K[size * i + j] = j < loosed ? HOJ->x[n * j + i - loosed]
                                                     : M->x[n * (i - loosed) + j - loosed];
                    }
                }
            }
            long double most = 0, off = 0;
            for (int i = 0; i < size; ++i) { /* what we found obeys (b.14) */
                long double sum = -x[i];
                most = fmaxl(most, fabsl(x[i]));
                for (int j = 0; j < size; ++j) {
                    const long double term =
                        K[size * i + j] * (j < loosed ? W_rate[j] : qdd[j - loosed]);
                    sum += term;
                    most = fmaxl(most, fabsl(term));
                }
                off = fmaxl(off, fabsl(sum));
            }
            note(&obeyed, (double)(off / most), seed);
            /* and it is the only answer, where (b.14) has one: of rank n + 6 at most, its matrix is
             * singular as soon as more than six contact directions are free */
            long double *copy = malloc((size_t)size * (size_t)(size + 1) * sizeof *copy),
                        *y = copy + size * size;
            memcpy(copy, K, (size_t)size * (size_t)size * sizeof *copy);
            memcpy(y, x, (size_t)size * sizeof *y);
            assert_int_equal(solve_full(size, copy, y, 1e-14) == size, loosed <= 6);
            free(copy);
            if (solve_full(size, K, x, 1e-7) == size) {
                double answer[2 * MOST_V];
                for (int i = 0; i < size; ++i)
                    answer[i] = (double)x[i];
                note(&coupled, relative(W_rate, answer, (size_t)loosed), seed);
                note(&coupled, relative(qdd, answer + loosed, (size_t)n), seed);
            }
            free(K);
            free(x);
        }
        free_all();
        grasp_system_close(&s);
    }
    conclude("theta'' against (3.6a)", &rigid, 1e-9);
    conclude("f(0) against (3.6b)", &rigid_forces, 1e-9);
    conclude("theta'' against (b.9e)", &loose, 1e-9);
    conclude("f(0) against (b.9d)", &loose_forces, 1e-9);
    conclude("W'(0) against (b.9f)", &free_rates, 1e-9);
    conclude("theta'' and W'(0) obey (b.14)", &obeyed, 1e-9);
    conclude("theta'' and W'(0) against (b.14) solved", &coupled, 1e-9);
}

/* Time against joints and arms; printed, not judged.  SOA_COST=1 asks for more. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void cost(void **unused) {
    (void)unused;
    const int all = getenv("SOA_COST") != NULL;
    const int arms[] = {2, 2, 2, 2, 4, 8, 16, 32, 64}, joints[] = {7, 70, 700, 2500, 7, 7, 7, 7, 7};
    printf("  arms joints/arm      auto   general    RCCFD1    RCCFD2    RCCFD3     loose  "
           "woodbury   (microseconds)\n");
    for (int k = 0; k < 9; ++k) {
        if (!all && (joints[k] > 70 || arms[k] > 8)) continue;
        const int n = arms[k] * joints[k] + 1;
        soa_body_def *body = calloc((size_t)n, sizeof *body);
        char(*name)[32] = calloc((size_t)n, sizeof *name);
        dice d = {77};
        int at = 0;
        const recipe r = {.no_losses = 1};
        for (int a = 0; a < arms[k]; ++a)
            for (int j = 0; j < joints[k]; ++j, ++at) {
                snprintf(name[at], sizeof *name, "a%dj%d", a, j);
                body[at] = random_body(&d, name[at], j ? at : 0, SOA_REVOLUTE, &r);
                if (j == 0) body[at].placement = random_frame(&d, 1);
                if (joints[k] > 7)
                    for (int c = 0; c < 3; ++c)
                        body[at].placement.p[c] *= 7.0 / joints[k];
            }
        body[at] = random_body(&d, "object", 0, SOA_FREE, &r);
        soa_model_def def = soa_model_default("cost", body, n);
        const soa_model *m = NULL;
        soa_work *w = NULL;
        soa_grasp *g = NULL;
        soa_report report;
        if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
        OK(soa_work_create(m, &w));
        OK(soa_grasp_create(m, arms[k], &g));
        const int nv = soa_model_nv(m);
        double *q = calloc(3 * (size_t)nv + 8, sizeof *q), *v = q + nv + 1, *qdd = v + nv;
        soa_q_neutral(m, q);
        roll_many(&d, -1, 1, (size_t)nv, v);
        OK(soa_q_integrate(m, q, v, 1, q));
        OK(soa_kinematics(m, w, q, NULL, NULL));
        const int object = soa_model_find_frame(m, "object");
        for (int a = 0; a < arms[k]; ++a) {
            soa_contact_def c = soa_contact_default(
                SOA_CONTACT_RIGID, soa_model_find_frame(m, name[(a + 1) * joints[k] - 1]), object);
            soa_frame X, Y;
            OK(soa_pose(m, w, c.arm, &X));
            OK(soa_pose(m, w, object, &Y));
            Y = soa_frame_inverse(&Y);
            c.place_object = soa_frame_compose(&Y, &X);
            OK(soa_grasp_add(g, &c, NULL, NULL));
        }
        OK(soa_grasp_impulse(g, w, q, v, v, NULL));
        printf("  %4d %10d", arms[k], joints[k]);
        for (int method = SOA_GRASP_AUTO; method < SOA_GRASP_METHOD_COUNT; ++method) {
            soa_grasp_options o = soa_grasp_options_default();
            o.method = (soa_grasp_method)method;
            o.most_condition = 1e15;
            double best = 1e9;
            soa_status status = SOA_OK;
            for (int pass = 0; pass < (all ? 5 : 3) && !status; ++pass) {
                int count = 0;
                const double start = seconds();
                double now = start;
                do {
                    status =
                        soa_grasp_fd(g, w, &o, &(soa_input){.q = q, .v = v}, qdd, NULL, NULL, NULL);
                    ++count;
                    now = seconds();
                } while (!status && now - start < (all ? 0.05 : 0.004));
                best = fmin(best, (now - start) / count);
            }
            if (status) /* a long arm may be nearly singular for the last */
                printf("%10s", "-");
            else
                printf("%10.1f", 1e6 * best);
        }
        printf("\n");
        free(q);
        free(body);
        free(name);
        soa_grasp_free(g);
        soa_work_free(w);
        soa_model_free(m);
    }
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_fixed),    cmocka_unit_test(rigid_floating),
        cmocka_unit_test(all_contacts),   cmocka_unit_test(mimic_joints),
        cmocka_unit_test(paper_formulas), cmocka_unit_test(cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
