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

/* Arms and object apart, in the paper's letters; A is the object's part of the contact map. */
typedef struct paper_terms {
    const grasp_system *s;
    int n, l6; /* joints of the arms, 6 per arm */
    matrix *M, *MC, *J, *A;
    matrix *T, *C, *b, *rest;                            /* rest = a(C) - J'theta' - H*'W */
    const matrix *Mi, *JMi, *MiJt, *Jt, *AMA;            /* AMA = A MC^-1 A' */
    const matrix *Oi, *a1;                               /* Omega^-1 and a'(C) (2.15b) */
    double qdd[MOST_V], f[MOST_ROWS], W_rate[MOST_ROWS]; /* the library's answer, f in the world */
    double local[MOST_ROWS];                             /* f in contact axes */
} paper_terms;
static void copy_dense(const grasp_system *s, const dense_grasp *D, paper_terms *p) {
    const int n = p->n, l6 = p->l6;
    for (int i = 0; i < n; ++i) {
        p->T->x[i] = s->tau[i];
        p->C->x[i] = D->C[i];
        for (int j = 0; j < n; ++j)
            p->M->x[n * i + j] = D->M[s->nv * i + j];
    }
    for (int i = 0; i < 6; ++i) {
        /* what drives the object counts as bias */
        p->b->x[i] = (long double)D->C[n + i] - s->tau[n + i];
        for (int j = 0; j < 6; ++j)
            p->MC->x[6 * i + j] = D->M[s->nv * (n + i) + n + j];
    }
    for (int i = 0; i < l6; ++i) {
        p->rest->x[i] = D->bias[i];
        for (int j = 0; j < n; ++j)
            p->J->x[n * i + j] = D->Ja[i][j];
        for (int j = 0; j < 6; ++j)
            p->A->x[6 * i + j] = D->J[i][n + j];
    }
}
static void form_paper_terms(const grasp_system *s, paper_terms *p) {
    static dense_grasp D;
    p->s = s;
    p->n = s->nv - 6;
    p->l6 = 6 * s->arms;
    p->M = new_matrix(p->n, p->n);
    p->MC = new_matrix(6, 6);
    p->J = new_matrix(p->l6, p->n);
    p->A = new_matrix(p->l6, 6);
    p->T = new_matrix(p->n, 1);
    p->C = new_matrix(p->n, 1);
    p->b = new_matrix(6, 1);
    p->rest = new_matrix(p->l6, 1);
    dense_form(s, s->q, s->v, &D);
    copy_dense(s, &D, p);
    p->Mi = inverse(p->M);
    p->Jt = turned(p->J);
    p->JMi = times(p->J, p->Mi);
    p->MiJt = turned(p->JMi);
    const matrix *AMi = times(p->A, inverse(p->MC));
    p->AMA = times(AMi, turned(p->A));
    /* (3.1), (b.4a) */
    p->Oi = inverse(plus(times(p->JMi, p->Jt), p->AMA, 1));
    p->a1 = plus(p->rest, times(AMi, p->b), -1);
    for (int a = 0; a < s->arms; ++a) {
        turn_back(D.R[a], p->f + 6 * a, p->local + 6 * a);
        turn_back(D.R[a], p->f + 6 * a + 3, p->local + 6 * a + 3);
    }
}

typedef struct paper_errors {
    worst_case rigid, rigid_forces, loose, loose_forces, coupled, free_rates, obeyed;
} paper_errors;

/* (3.6) */
static void compare_rigid(const paper_terms *p, long seed, paper_errors *e) {
    const matrix *Mi = p->Mi, *JMi = p->JMi, *MiJt = p->MiJt, *Oi = p->Oi, *a1 = p->a1;
    const matrix *T1 = plus(p->T, p->C, -1);
    const matrix *force = times(Oi, plus(times(JMi, T1), a1, -1)); /* (3.6b) */
    const matrix *motion = plus(plus(times(Mi, T1), times(MiJt, times(Oi, times(JMi, T1))), -1),
                                times(MiJt, times(Oi, a1)), 1); /* (3.6a) */
    note(&e->rigid, apart(motion, p->qdd), seed);
    note(&e->rigid_forces, apart(force, p->local), seed);
}

/* The free directions of all contacts, one a row. */
static const matrix *free_directions(const grasp_system *s, int loosed, int l6) {
    static const char *const list[] = {"", "0", "01", "012", "234", "01234"};
    matrix *H = new_matrix(loosed, l6);
    int row = 0;
    for (int a = 0; a < s->arms; ++a)
        for (int k = 0; k < 6; ++k) {
            const soa_contact_def *c = &s->contact[a];
            const int own = c->type == SOA_CONTACT_OWN;
            const int is_free = own ? k < c->free_count : strchr(list[c->type], '0' + k) != NULL;
            if (!is_free) continue;
            for (int j = 0; j < 6; ++j)
                H->x[l6 * row + 6 * a + j] = own ? c->free[k][j] : j == k;
            ++row;
        }
    assert_int_equal(row, loosed);
    return H;
}
/* What (b.9) and (b.14) share. */
typedef struct loose_terms {
    const matrix *HO, *HOH; /* H Omega^-1, and that times H' */
    const matrix *HOHi, *Pi, *G1;
} loose_terms;
static loose_terms form_loose_terms(const paper_terms *p, int loosed) {
    const matrix *H = free_directions(p->s, loosed, p->l6), *Ht = turned(H);
    loose_terms l = {.HO = times(H, p->Oi)};
    const matrix *OH = turned(l.HO);
    l.HOH = times(l.HO, Ht);
    l.HOHi = inverse(l.HOH);
    /* (b.9c) */
    l.Pi = plus(p->Oi, times(OH, times(l.HOHi, l.HO)), -1);
    /* (b.9a) */
    l.G1 = plus(plus(new_matrix(p->l6, 1), p->a1, -1), times(p->JMi, p->C), -1);
    return l;
}
/* (b.9) as printed, misprints mended. */
static void compare_loose(const paper_terms *p, const loose_terms *l, long seed, paper_errors *e) {
    const matrix *Mi = p->Mi, *JMi = p->JMi, *MiJt = p->MiJt, *T = p->T, *C = p->C;
    const matrix *Pi = l->Pi, *G1 = l->G1;
    const int loosed = l->HO->rows;
    /* (b.9d) */
    const matrix *both = plus(times(JMi, T), G1, 1), *force = times(Pi, both);
    /* (b.9e) */
    const matrix *motion = plus(plus(plus(times(Mi, T), times(MiJt, times(Pi, times(JMi, T))), -1),
                                     times(MiJt, times(Pi, G1)), -1),
                                times(Mi, C), -1);
    /* (b.9f) */
    const matrix *rates = plus(new_matrix(loosed, 1), times(l->HOHi, times(l->HO, both)), -1);
    note(&e->loose, apart(motion, p->qdd), seed);
    note(&e->loose_forces, apart(force, p->local), seed);
    note(&e->free_rates, apart(rates, p->W_rate), seed);
}

/* (b.14), G2 with its sign mended: K [W'(0); theta''] = x. */
typedef struct coupled_system {
    int size;
    long double *K, *x;
} coupled_system;
static coupled_system form_coupled(const paper_terms *p, const loose_terms *l) {
    const int n = p->n, loosed = l->HO->rows, size = loosed + n;
    const matrix *HO = l->HO, *G1 = l->G1, *JMi = p->JMi, *T = p->T, *C = p->C;
    matrix *unit = new_matrix(n, n);
    for (int i = 0; i < n; ++i)
        unit->x[(n + 1) * i] = 1;
    const matrix *HOJ = times(HO, p->J), *JtO = times(p->Jt, p->Oi), *AP = times(p->AMA, l->Pi);
    const matrix *G2 = times(HO, plus(plus(times(AP, G1), G1, -1), times(JMi, C), -1));
    const matrix *G3 = plus(plus(new_matrix(n, 1), times(JtO, G1), -1), C, -1);
    const matrix *top = plus(times(HO, times(AP, times(JMi, T))), G2, 1);
    const matrix *low = plus(times(plus(unit, times(JtO, JMi), -1), T), G3, 1);
    coupled_system c = {.size = size,
                        .K = calloc((size_t)size * (size_t)size, sizeof *c.K),
                        .x = calloc((size_t)size, sizeof *c.x)};
    for (int i = 0; i < size; ++i) {
        c.x[i] = i < loosed ? top->x[i] : low->x[i - loosed];
        for (int j = 0; j < size; ++j) {
            long double *to = c.K + size * i + j;
            if (i < loosed) {
                *to = j < loosed ? l->HOH->x[loosed * i + j] : HOJ->x[n * i + j - loosed];
            } else {
                *to = j < loosed ? HOJ->x[n * j + i - loosed]
                                 : p->M->x[n * (i - loosed) + j - loosed];
            }
        }
    }
    return c;
}
/* What we found obeys (b.14). */
static double off_coupled(const paper_terms *p, const coupled_system *c, int loosed) {
    long double most = 0, off = 0;
    for (int i = 0; i < c->size; ++i) {
        long double sum = -c->x[i];
        most = fmaxl(most, fabsl(c->x[i]));
        for (int j = 0; j < c->size; ++j) {
            const long double term =
                c->K[c->size * i + j] * (j < loosed ? p->W_rate[j] : p->qdd[j - loosed]);
            sum += term;
            most = fmaxl(most, fabsl(term));
        }
        off = fmaxl(off, fabsl(sum));
    }
    return (double)(off / most);
}
/* And it is the only answer, where (b.14) has one: of rank n + 6 at most, its matrix is singular as
 * soon as more than six contact directions are free. */
static void compare_coupled(const paper_terms *p, const loose_terms *l, long seed,
                            paper_errors *e) {
    const coupled_system c = form_coupled(p, l);
    const int loosed = l->HO->rows, size = c.size;
    note(&e->obeyed, off_coupled(p, &c, loosed), seed);
    long double *copy = malloc((size_t)size * (size_t)(size + 1) * sizeof *copy),
                *y = copy + size * size;
    memcpy(copy, c.K, (size_t)size * (size_t)size * sizeof *copy);
    memcpy(y, c.x, (size_t)size * sizeof *y);
    assert_int_equal(solve_full(size, copy, y, 1e-14) == size, loosed <= 6);
    free(copy);
    if (solve_full(size, c.K, c.x, 1e-7) == size) {
        double answer[2 * MOST_V];
        for (int i = 0; i < size; ++i)
            answer[i] = (double)c.x[i];
        note(&e->coupled, relative(p->W_rate, answer, (size_t)loosed), seed);
        note(&e->coupled, relative(p->qdd, answer + loosed, (size_t)p->n), seed);
    }
    free(c.K);
    free(c.x);
}

/* The library's answer by SOA_GRASP_LOOSE; 0 where the system is no task for these formulas. */
static int solved_by_library(grasp_system *s, paper_terms *p) {
    soa_grasp_rank full;
    soa_grasp_options o = soa_grasp_options_default();
    o.method = SOA_GRASP_LOOSE;
    OK(soa_grasp_compliance(s->g, s->w, s->q, NULL, &full, NULL));
    if (full.rank < full.rows || full.condition > 1e6) return 0;
    return soa_grasp_fd(s->g, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, p->qdd,
                        p->f, p->W_rate, NULL) == SOA_OK;
}
/* (3.6), (b.9) and (b.14): arms and object apart, Omega inverted. */
static void paper_formulas(void **unused) {
    (void)unused;
    static paper_terms p;
    paper_errors e = {0};
    for (long seed = first_seed() + 40000; seed < first_seed() + 40060; ++seed) {
        const recipe r = {.arms = 2 + (int)(seed % 2),
                          .joints = 6,
                          .floating = seed % 4 > 1,
                          .rigid = seed % 2 == 0,
                          .turning_only = 1};
        grasp_system s = grasp_system_open(seed, &r);
        int loosed = 0;
        (void)soa_grasp_contact_count(s.g, &loosed);
        if (solved_by_library(&s, &p)) {
            form_paper_terms(&s, &p);
            if (r.rigid) {
                compare_rigid(&p, seed, &e);
            } else if (loosed) {
                const loose_terms l = form_loose_terms(&p, loosed);
                compare_loose(&p, &l, seed, &e);
                compare_coupled(&p, &l, seed, &e);
            }
        }
        free_all();
        grasp_system_close(&s);
    }
    conclude("theta'' against (3.6a)", &e.rigid, 1e-9);
    conclude("f(0) against (3.6b)", &e.rigid_forces, 1e-9);
    conclude("theta'' against (b.9e)", &e.loose, 1e-9);
    conclude("f(0) against (b.9d)", &e.loose_forces, 1e-9);
    conclude("W'(0) against (b.9f)", &e.free_rates, 1e-9);
    conclude("theta'' and W'(0) obey (b.14)", &e.obeyed, 1e-9);
    conclude("theta'' and W'(0) against (b.14) solved", &e.coupled, 1e-9);
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
