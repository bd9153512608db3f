/* test_closed.c  closed chains on 1,000 random systems: constraint rows against differences;
 * forward dynamics by four methods, projection, assembly and inverse dynamics against LAPACK.
 *
 * SOA_SEED=n chooses other systems, SOA_TREES their number. */
#include "closed_systems.h"
#include <lapacke.h>

static int on_velocity(const soa_constraint_def *def, int row) {
    return def->kind == SOA_VELOCITY ||
           ((def->kind == SOA_ROLLING || def->kind == SOA_DISC) && row > 0);
}

/* ---- residuals, rows and gamma by differences ------------------------------------------------ */
/* Fourth-order differences of the values at -2h, -h, h, 2h. */
static double slope(const double f[4], double h) {
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
}
/* Rates of velocity rows from poses alone: [w; p'] of place 2 in place 1, from the poses at +-h and
 * +-2h. */
static void relative_rates(closed *s, const soa_constraint_def *def, const double *d, double h,
                           soa_frame *now, double w[3], double p[3]) {
    soa_frame X[5];
    for (int k = 0; k < 5; ++k) {
        OK(soa_q_integrate(s->m, s->q, d, (k - 2) * h, s->q1));
        OK(soa_kinematics(s->m, s->w, s->q1, NULL, NULL));
        const soa_frame X1 = pose_of(s, def->frame1), X2 = pose_of(s, def->frame2);
        const soa_frame P1 = soa_frame_compose(&X1, &def->place1),
                        P2 = soa_frame_compose(&X2, &def->place2), B = soa_frame_inverse(&P1);
        X[k] = soa_frame_compose(&B, &P2);
    }
    *now = X[2];
    double S[9];
    for (int i = 0; i < 3; ++i) {
        const double f[4] = {X[0].p[i], X[1].p[i], X[3].p[i], X[4].p[i]};
        p[i] = slope(f, h);
        for (int j = 0; j < 3; ++j) { /* R' R^T */
            double y = 0;
            for (int k = 0; k < 3; ++k) {
                const double r[4] = {X[0].R[3 * i + k], X[1].R[3 * i + k], X[3].R[3 * i + k],
                                     X[4].R[3 * i + k]};
                y += slope(r, h) * now->R[3 * j + k];
            }
            S[3 * i + j] = y;
        }
    }
    w[0] = S[7];
    w[1] = S[2];
    w[2] = S[3];
}
static double expected_rate(const soa_constraint_def *def, const soa_frame *X, const double w[3],
                            const double p[3], int row) {
    if (def->kind == SOA_ROLLING)
        return row == 1 ? -(p[0] - def->value * w[1]) : -(p[1] + def->value * w[0]);
    if (def->kind == SOA_DISC) { /* rows z, y, x of p' + w x c, c the lowest point of the rim */
        const double m = X->R[8], h[3] = {-m * X->R[2], -m * X->R[5], 1 - m * m};
        const double by = -def->value / sqrt(dot(3, h, h)),
                     c[3] = {by * h[0], by * h[1], by * h[2]};
        return row == 1 ? -(p[1] + w[2] * c[0] - w[0] * c[2]) : -(p[0] + w[1] * c[2] - w[2] * c[1]);
    }
    double V[6];
    for (int j = 0; j < 3; ++j) {
        V[j] =
            def->rows_in_frame2 ? X->R[j] * w[0] + X->R[3 + j] * w[1] + X->R[6 + j] * w[2] : w[j];
        V[3 + j] =
            def->rows_in_frame2 ? X->R[j] * p[0] + X->R[3 + j] * p[1] + X->R[6 + j] * p[2] : p[j];
    }
    return -dot(6, def->rows[row], V);
}
/* Off the constraints: near half a turn, or near a screw's next thread, g jumps. */
static int may_jump(const soa_constraint_def *def, double g) {
    return fabs(g) > 2 || (def->joint == SOA_HELICAL && !(fabs(g) + 0.02 < 2 * fabs(def->pitch)));
}
/* What the random systems contain. */
typedef struct census {
    int kinds[7], joints[SOA_JOINT_TYPE_COUNT];
    int drives, mimics, floating;
} census;
static void count_parts(closed *s, census *n) {
    for (int b = 1; b <= s->nb; ++b) {
        soa_body_info info;
        OK(soa_model_body(s->m, b, &info));
        n->mimics += info.mimic >= 0;
        n->floating += info.type == SOA_FREE && info.parent == 0;
    }
    for (int k = 0; k < s->count; ++k) {
        ++n->kinds[s->def[k].kind];
        n->drives += s->def[k].drive != NULL;
        if (s->def[k].kind == SOA_LOOP) ++n->joints[s->def[k].joint];
    }
}
static void print_census(const census *n) {
    printf("  loops %d, distances %d, ratios %d, rolling %d, velocities %d, planes %d, discs %d; "
           "driven %d; mimic "
           "joints %d, "
           "free bases %d\n",
           n->kinds[0], n->kinds[1], n->kinds[2], n->kinds[3], n->kinds[4], n->kinds[5],
           n->kinds[6], n->drives, n->mimics, n->floating);
    for (int j = 0; j < SOA_JOINT_TYPE_COUNT; ++j)
        printf("  %s %d%s", soa_joint_type_name((soa_joint_type)j), n->joints[j],
               j + 1 < SOA_JOINT_TYPE_COUNT ? "," : "\n");
}

typedef struct row_errors {
    worst_case closure, admissible, rates, matrix, second, velocity, far;
} row_errors;
/* Residuals and rates of all rows at the times -2h, -h, h, 2h of a motion. */
typedef struct samples {
    double fastest, h;
    double g[4][MOST_ROWS], rate[4][MOST_ROWS];
} samples;
static double time_of_sample(int k, double h) {
    return (k < 2 ? k - 2 : k - 1) * h;
}
static double row_slope(double at[4][MOST_ROWS], int row, double h) {
    const double f[4] = {at[0][row], at[1][row], at[2][row], at[3][row]};
    return slope(f, h);
}

/* The system is built closed, with an admissible velocity. */
static void compare_construction(const closed *s, row_errors *e) {
    for (int r = 0; r < s->rows; ++r) {
        note(&e->closure, fabs(s->g[r]), s->seed);
        note(&e->admissible, fabs(s->rate[r]), s->seed);
    }
}
/* To a state off the constraints and with any velocity. */
static void leave_constraints(closed *s) {
    roll_many(&s->d, -0.3, 0.3, (size_t)s->nv, s->v1);
    OK(soa_q_integrate(s->m, s->q, s->v1, 1, s->q));
    roll_many(&s->d, -1, 1, (size_t)s->nv, s->v);
    refresh(s);
}
/* Along q(t) = q + v t with v constant: G v + dg/dt is the rate of g, gamma that of G v + dg/dt. */
static void sample_motion(closed *s, samples *x) {
    x->fastest = 1; /* a drive near a dead point asks for high speeds */
    for (int j = 0; j < s->nv; ++j)
        x->fastest = fmax(x->fastest, fabs(s->v[j]));
    x->h = 1e-3 / x->fastest;
    for (int k = 0; k < 4; ++k) {
        const double t = time_of_sample(k, x->h);
        OK(soa_q_integrate(s->m, s->q, s->v, t, s->q1));
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .v = s->v, .t = s->t + t},
                                    x->g[k], x->rate[k], NULL, NULL));
    }
}
/* Rates and gamma of all rows of constraint k, of which the first is `first`. */
static void compare_rates(closed *s, int k, int first, int n, samples *x, int away, row_errors *e) {
    const soa_constraint_def *def = s->def + k;
    const int poses =
        def->kind == SOA_VELOCITY || def->kind == SOA_ROLLING || def->kind == SOA_DISC;
    double w[3], p[3];
    soa_frame X;
    if (poses) relative_rates(s, def, s->v, x->h, &X, w, p);
    for (int i = 0; i < n; ++i) {
        const int r = first + i;
        note(away ? &e->far : &e->second,
             fabs(row_slope(x->rate, r, x->h) - s->gamma[r]) /
                 fmax(x->fastest * x->fastest, fabs(s->gamma[r])),
             s->seed);
        if (on_velocity(def, i)) {
            assert_true(s->g[r] == 0);
            note(&e->velocity, fabs(s->rate[r] - expected_rate(def, &X, w, p, i)) / x->fastest,
                 s->seed);
            continue;
        }
        if (may_jump(def, s->g[r])) continue;
        note(away ? &e->far : &e->rates,
             fabs(row_slope(x->g, r, x->h) - s->rate[r]) / fmax(x->fastest, fabs(s->rate[r])),
             s->seed);
    }
}
/* G, as the derivative of g along any direction at one time. */
static void compare_matrix(closed *s, samples *x, int away, row_errors *e) {
    const int nv = s->nv;
    roll_many(&s->d, -1, 1, (size_t)nv, s->v1);
    for (int k = 0; k < 4; ++k) {
        OK(soa_q_integrate(s->m, s->q, s->v1, time_of_sample(k, x->h), s->q1));
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .t = s->t}, x->g[k], NULL,
                                    NULL, NULL));
    }
    for (int k = 0, r = 0; k < s->count; ++k) {
        int n;
        OK(soa_constraints_row_range(s->c, k, NULL, &n));
        for (int i = 0; i < n; ++i, ++r) {
            if (on_velocity(s->def + k, i) || may_jump(s->def + k, s->g[r])) continue;
            const double along = dot(nv, s->G + nv * r, s->v1);
            note(away ? &e->far : &e->matrix,
                 fabs(row_slope(x->g, r, x->h) - along) / fmax(1, fabs(along)), s->seed);
        }
    }
}
static void rows_by_differences(void **state) {
    (void)state;
    row_errors e = {0};
    census parts = {0};
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        compare_construction(s, &e);
        count_parts(s, &parts);
        for (int away = 0; away < 2; ++away) {
            samples x;
            if (away) leave_constraints(s);
            sample_motion(s, &x);
            for (int k = 0, r = 0; k < s->count; ++k) {
                int first, n;
                OK(soa_constraints_row_range(s->c, k, &first, &n));
                assert_int_equal(first, r);
                compare_rates(s, k, first, n, &x, away, &e);
                r += n;
            }
            compare_matrix(s, &x, away, &e);
        }
        close_closed(s);
    }
    print_census(&parts);
    conclude("closed by construction", &e.closure, 1e-12);
    conclude("velocities made admissible", &e.admissible, 1e-10);
    conclude("rate = dg/dt", &e.rates, 1e-8);
    conclude("rates of velocity rows from poses", &e.velocity, 1e-8);
    conclude("G = dg/dq", &e.matrix, 1e-8);
    conclude("gamma = d(rate)/dt", &e.second, 1e-8);
    conclude("all of these off the constraints", &e.far, 1e-6);
}

/* ---- forward dynamics ------------------------------------------------------------------------ */
typedef struct dynamics_errors {
    worst_case whole_vdot, whole_pull, whole_lambda; /* the two oracles against each other */
    worst_case vdot, pull, lambda, least, respond;
    worst_case dull, hidden; /* beyond a condition of 1e8: answers, and refusals */
    long full, redundant, beyond, refused, moving;
} dynamics_errors;

static int is_clear(const answer *a, double most_condition) {
    return a->condition < most_condition && a->gap < 1e-26;
}
static soa_status forward(closed *s, const soa_closed_options *o, const double *tau, double *qdd,
                          double *lambda, soa_closed_report *report) {
    return soa_closed_fd(
        s->c, s->w, o,
        &(soa_input){
            .q = s->q, .v = s->v, .tau = tau, .wrenches = s->f, .wrench_count = 2, .t = s->t},
        qdd, lambda, report);
}
static void compare_oracles(closed *s, const answer *a, dynamics_errors *e) {
    answer b = make_answer(s);
    solve_whole(s, s->tau, &b);
    note(&e->whole_vdot, vdot_error(b.vdot, a, s->nv), s->seed);
    note(&e->whole_pull, relative(b.pull, a->pull, (size_t)s->nv), s->seed);
    note(&e->whole_lambda, relative(b.lambda, a->lambda, (size_t)s->rows), s->seed);
    free_answer(&b);
}
/* s->qdd, s->lambda and the report of method k against the oracle. */
static void compare_answer(closed *s, size_t k, const soa_closed_report *report, const answer *a,
                           dynamics_errors *e) {
    const int rows = s->rows, independent = a->rank == rows;
    if (report->rank != a->rank)
        fail_msg("seed %ld, method %d: rank %d, expected %d of %d", s->seed, (int)k, report->rank,
                 a->rank, rows);
    assert_int_equal(report->redundant, rows - a->rank);
    assert_true((report->redundant > 0) == (report->text[0] != 0));
    note(&e->vdot, vdot_error(s->qdd, a, s->nv), s->seed);
    pull_of(s, s->lambda, s->v1);
    note(&e->pull, relative(s->v1, a->pull, (size_t)s->nv), s->seed);
    note(independent ? &e->lambda : &e->least, relative(s->lambda, a->lambda, (size_t)rows),
         s->seed);
}
/* What a further force adds. */
static void compare_response(closed *s, const soa_closed_options *o, dynamics_errors *e) {
    const int nv = s->nv;
    double *x = s->A, *more = x + nv, size = 1;
    roll_many(&s->d, -20, 20, (size_t)nv, x);
    OK(forward(s, o, s->tau, s->qdd, NULL, NULL));
    OK(soa_closed_response(s->c, s->w, x, more));
    for (int j = 0; j < nv; ++j) {
        x[j] += s->tau[j];
        size = fmax(size, fmax(fabs(more[j]), fabs(s->qdd[j])));
    }
    OK(forward(s, o, x, s->v1, NULL, NULL));
    for (int j = 0; j < nv; ++j)
        note(&e->respond, fabs(s->v1[j] - s->qdd[j] - more[j]) / size, s->seed);
}
/* Beyond a condition of 1e8 the status is the answer: fine within what the condition allows, or
 * singular. */
static void judge_status(const closed *s, soa_status got, const soa_closed_report *report,
                         dynamics_errors *e) {
    const int nv = s->nv;
    e->refused += got != SOA_OK;
    if (got == SOA_E_SINGULAR) {
        note(&e->hidden, 1e9 / report->condition, s->seed); /* the report gives the reason */
        return;
    }
    if (got != SOA_OK) {
        assert_int_equal(got, SOA_E_INCONSISTENT);
        return;
    }
    for (int r = 0; r < s->rows; ++r) {
        double sum = s->gamma[r], most = 0, fastest = 0;
        for (int j = 0; j < nv; ++j) {
            sum += s->G[nv * r + j] * s->qdd[j];
            most = fmax(most, fabs(s->G[nv * r + j]));
            fastest = fmax(fastest, fabs(s->qdd[j]));
        }
        const double size = fmax(1, fmax(fabs(s->gamma[r]), most * fastest));
        note(&e->dull, fabs(sum) / size, s->seed);
    }
}
static void judge_method(closed *s, size_t k, const answer *a, dynamics_errors *e) {
    soa_closed_options o = soa_closed_options_default();
    soa_closed_report report;
    o.method = methods[k];
    const soa_status got = forward(s, &o, s->tau, s->qdd, s->lambda, &report);
    const int clear = is_clear(a, 1e8);
    if (clear && got) fail_msg("seed %ld, method %d: %s", s->seed, (int)k, soa_status_text(got));
    assert_int_equal(report.rows, s->rows);
    if (clear) {
        compare_answer(s, k, &report, a, e);
        compare_response(s, &o, e);
    } else {
        judge_status(s, got, &report, e);
    }
}
static void dynamics(void **state) {
    (void)state;
    dynamics_errors e = {0};
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int independent = a.rank == s->rows, clear = is_clear(&a, 1e8);
        e.full += clear && independent;
        e.redundant += clear && !independent;
        e.beyond += !clear;
        e.moving += s->rows > 0 && s->nv > a.rank;
        if (clear && independent) compare_oracles(s, &a, &e);
        for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k)
            judge_method(s, k, &a, &e);
        free_answer(&a);
        close_closed(s);
    }
    printf("  %ld systems with independent rows, %ld with redundant ones, %ld beyond 1e8 (%ld "
           "refusals); %ld can move\n",
           e.full, e.redundant, e.beyond, e.refused, e.moving);
    conclude("oracles: vdot of (20) and by singular values", &e.whole_vdot, 1e-9);
    conclude("oracles: G' lambda", &e.whole_pull, 1e-9);
    conclude("oracles: lambda", &e.whole_lambda, 1e-9);
    conclude("vdot, four methods", &e.vdot, 1e-9);
    conclude("G' lambda, four methods", &e.pull, 1e-9);
    conclude("lambda, independent rows", &e.lambda, 1e-9);
    conclude("lambda, redundant rows, of least norm", &e.least, 1e-9);
    conclude("response to further forces", &e.respond, 1e-9);
    if (e.dull.count)
        conclude("beyond 1e8, where an answer is given: G vdot + gamma", &e.dull, 1e-6);
    if (e.hidden.count) conclude("beyond 1e8, singular: 1e9 / condition told", &e.hidden, 1);
}

/* ---- projection and assembly ----------------------------------------------------------------- */
/* step = -M^-1 G' (G M^-1 G')^+ b by LAPACK, from s->G and M at q. */
static void mass_step(closed *s, const double *q, const double *G, int rows, const double *b,
                      double *step) {
    const int nv = s->nv, k = rows < nv ? rows : nv;
    double *C = s->K, *U = s->U, *A = s->A, *V = s->K + nv * nv, S[MOST_ROWS], super[MOST_ROWS];
    OK(soa_crba(s->m, s->w, q, C));
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', nv, C, nv), 0);
    for (int j = 0; j < nv; ++j)
        step[j] = 0;
    if (!rows) return;
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < nv; ++j)
            A[rows * j + r] = G[nv * r + j];
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, rows, C, nv, A, rows), 0);
    assert_int_equal(
        LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', nv, rows, A, rows, S, U, k, V, rows, super), 0);
    for (int i = 0; i < k && S[i] > 1e-8 * S[0]; ++i) {
        double y = 0;
        for (int r = 0; r < rows; ++r)
            y -= V[rows * i + r] * b[r] / S[i];
        for (int j = 0; j < nv; ++j)
            step[j] += U[k * j + i] * y;
    }
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'T', 'N', nv, 1, C, nv, step, 1), 0);
}
static double kinetic_norm(closed *s, const double *q, const double *x) {
    OK(soa_mass_mul(s->m, s->w, q, x, s->A));
    return sqrt(fmax(0, dot(s->nv, x, s->A)));
}
static void projection(void **state) {
    (void)state;
    worst_case back = {0}, rates = {0}, velocity = {0}, position = {0}, tangent = {0};
    long done = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 3);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int independent = a.rank == rows;
        /* a dead point is no place to come back to */
        const int clear = is_clear(&a, 1e6);
        free_answer(&a);
        if (!clear || !rows) {
            close_closed(s);
            continue;
        }
        ++done;
        double error[2], *q0 = calloc((size_t)s->nq, 8), *v0 = calloc((size_t)nv, 8),
                         *step = calloc((size_t)nv, 8);
        /* velocity: linear, so exactly the dense formula, here for a velocity that is far off */
        roll_many(&s->d, -3, 3, (size_t)nv, v0);
        memcpy(s->v1, v0, (size_t)nv * sizeof *v0);
        memcpy(s->q1, s->q, (size_t)s->nq * sizeof *q0);
        OK(soa_closed_project(s->c, s->w, s->t, s->q1, s->v1, error));
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .v = v0, .t = s->t}, NULL,
                                    s->rate, s->G, NULL));
        mass_step(s, s->q1, s->G, rows, s->rate, step);
        for (int j = 0; j < nv; ++j)
            step[j] += v0[j];
        note(&velocity, relative(s->v1, step, (size_t)nv), seed);
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .v = s->v1, .t = s->t},
                                    NULL, s->rate, NULL, NULL));
        for (int r = 0; r < rows; ++r)
            note(&rates, fabs(s->rate[r]), seed);
        /* position: a small way off, back to it; the step is the dense one up to its square */
        roll_many(&s->d, -1e-5, 1e-5, (size_t)nv, step);
        OK(soa_q_integrate(s->m, s->q, step, 1, q0));
        memcpy(s->q1, q0, (size_t)s->nq * sizeof *q0);
        OK(soa_closed_project(s->c, s->w, s->t, s->q1, NULL, error));
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .t = s->t}, s->g, NULL,
                                    NULL, NULL));
        for (int r = 0; r < rows; ++r)
            note(&back, fabs(s->g[r]), seed);
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = q0, .t = s->t}, s->g, NULL, s->G,
                                    NULL));
        /* rows on positions only, as they stand on the constraints: off them redundant rows seem
         * independent */
        int n = 0;
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .t = s->t}, NULL, NULL,
                                    s->G, NULL));
        for (int k = 0, r = 0; k < s->count; ++k) {
            int count;
            OK(soa_constraints_row_range(s->c, k, NULL, &count));
            for (int i = 0; i < count; ++i, ++r) {
                if (on_velocity(s->def + k, i)) continue;
                memmove(s->G + nv * n, s->G + nv * r, (size_t)nv * sizeof *s->G);
                s->g[n++] = s->g[r];
            }
        }
        mass_step(s, s->q1, s->G, n, s->g, step);
        OK(soa_q_difference(s->m, q0, s->q1, s->v1));
        for (int j = 0; j < nv; ++j)
            v0[j] = s->v1[j] - step[j];
        /* else this may be a place where the constraints hold as a square does at zero */
        if (independent)
            note(&position, kinetic_norm(s, s->q1, v0) / fmax(1e-7, kinetic_norm(s, s->q1, step)),
                 seed);
        /* and it is mass-orthogonal to every motion that the constraints allow */
        OK(soa_mass_mul(s->m, s->w, s->q1, s->v1, v0));
        roll_many(&s->d, -1, 1, (size_t)nv, s->tau);
        double rate[MOST_ROWS];
        for (int r = 0; r < n; ++r)
            rate[r] = dot(nv, s->G + nv * r, s->tau);
        mass_step(s, s->q1, s->G, n, rate, step);
        for (int j = 0; j < nv; ++j)
            step[j] += s->tau[j]; /* admissible */
        const double size = kinetic_norm(s, s->q1, s->v1) * kinetic_norm(s, s->q1, step);
        if (independent && size > 1e-7) note(&tangent, fabs(dot(nv, v0, step)) / size, seed);
        free(q0);
        free(v0);
        free(step);
        close_closed(s);
    }
    printf("  %ld systems\n", done);
    conclude("|g| after projection", &back, 1e-12);
    conclude("|G v + dg/dt| after projection", &rates, 1e-10);
    conclude("v is the nearest in kinetic energy", &velocity, 1e-9);
    conclude("q is the nearest, to the square of the way", &position, 1e-2);
    conclude("the way is mass-orthogonal to admissible motions", &tangent, 1e-2);
}

static void assembly(void **state) {
    (void)state;
    worst_case shut = {0};
    long tried = 0, found = 0;
    for (long seed = first_seed(); seed < first_seed() + systems() / 2; ++seed) {
        closed *s = open_closed(seed, 3);
        soa_report report = {0};
        roll_many(&s->d, -0.3, 0.3, (size_t)s->nv, s->v1);
        OK(soa_q_integrate(s->m, s->q, s->v1, 1, s->q1));
        memcpy(s->q, s->q1, (size_t)s->nq * sizeof *s->q);
        const soa_status got = soa_closed_assemble(s->c, s->w, s->t, NULL, s->q1, &report);
        ++tried;
        if (got == SOA_OK) {
            ++found;
            OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .t = s->t}, s->g, NULL,
                                        NULL, NULL));
            for (int r = 0; r < s->rows; ++r)
                note(&shut, fabs(s->g[r]), seed);
        } else {
            assert_int_equal(got, SOA_E_NO_CONVERGENCE);
            assert_int_equal(report.status, got);
            assert_true(strstr(report.text, "constraint") != NULL &&
                        strstr(report.text, "left open") != NULL);
            assert_memory_equal(s->q, s->q1, (size_t)s->nq * sizeof *s->q); /* the guess is left */
        }
        close_closed(s);
    }
    printf("  %ld of %ld guesses up to 0.3 away closed\n", found, tried);
    assert_true(found >= tried * 97 / 100);
    conclude("|g| after assembly", &shut, 1e-10);
}

/* ---- inverse dynamics ------------------------------------------------------------------------ */
typedef struct inverse_errors {
    worst_case back, part, least, zero, multipliers;
    long subsets, refused;
} inverse_errors;
/* Which joints have motors: all in round 0, then most, then half of them. Returns their number. */
static int choose_motors(closed *s, int round, unsigned char *mask) {
    int driven = 0;
    for (int j = 0; j < s->nv; ++j)
        driven += mask[j] = round == 0 || roll(&s->d, 0, 1) < (round == 1 ? 0.8 : 0.5);
    return driven;
}
/* f = tau + G' lambda: what motors and constraints together must supply for the acceleration. */
static void needed_torques(closed *s, const double *acc, double *f) {
    double *cut = s->qdd;
    cut_torques(s, cut);
    OK(soa_rnea(s->m, s->w, s->q, s->v, acc, s->f, 2, f));
    for (int j = 0; j < s->nv; ++j)
        f[j] -= cut[j];
}
/* Can the constraints alone hold the joints without motors, G_u' lambda = f_u? By how much the
 * nearest lambda misses. */
static double missed_by_constraints(closed *s, const unsigned char *mask, int driven,
                                    const double *f) {
    const int nv = s->nv, rows = s->rows, u = nv - driven, big = u > rows ? u : rows;
    double *A = s->A, *x = s->U, off = 0, sv[512];
    lapack_int rank = 0;
    for (int j = 0, k = 0; j < nv; ++j) {
        if (mask[j]) continue;
        for (int r = 0; r < rows; ++r)
            A[rows * k + r] = s->G[nv * r + j];
        x[k++] = f[j];
    }
    for (int i = u; i < big; ++i)
        x[i] = 0;
    if (u && rows) LAPACKE_dgelsd(LAPACK_ROW_MAJOR, u, rows, 1, A, rows, x, 1, sv, 1e-10, &rank);
    for (int j = 0; j < nv; ++j) {
        if (mask[j]) continue;
        double held = 0;
        for (int r = 0; r < rows; ++r)
            held += s->G[nv * r + j] * x[r];
        off = fmax(off, fabs(f[j] - (rows ? held : 0)));
    }
    return off;
}
/* Rows of V from the number returned on span the z with G_u' z = 0. */
static int free_multipliers(closed *s, const unsigned char *mask, int driven, double *V) {
    const int nv = s->nv, rows = s->rows, u = nv - driven;
    double *N = s->K, S[MOST_ROWS], super[512];
    if (!u) {
        for (int i = 0; i < rows * rows; ++i)
            V[i] = i % (rows + 1) == 0;
        return 0;
    }
    for (int j = 0, k = 0; j < nv; ++j) {
        if (mask[j]) continue;
        for (int r = 0; r < rows; ++r)
            N[rows * k + r] = s->G[nv * r + j];
        ++k;
    }
    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'A', u, rows, N, rows, S, NULL, u, V, rows, super);
    int first = 0;
    while (first < (u < rows ? u : rows) && S[first] > 1e-9 * fmax(1, S[0]))
        ++first;
    return first;
}
/* Least norm: tau is orthogonal to G_a' z for every z with G_u' z = 0. */
static void compare_least_norm(closed *s, const unsigned char *mask, int driven, const double *tau,
                               const double *f, inverse_errors *e) {
    const int nv = s->nv, rows = s->rows;
    double V[MOST_ROWS * MOST_ROWS];
    for (int i = free_multipliers(s, mask, driven, V); i < rows; ++i) {
        double along = 0, way = 0, force = 0;
        for (int j = 0; j < nv; ++j) {
            double y = 0;
            for (int r = 0; r < rows; ++r)
                y += s->G[nv * r + j] * V[rows * i + r];
            along += y * tau[j];
            way = fmax(way, fabs(y));
            force = fmax(force, fabs(f[j]));
        }
        note(&e->least, fabs(along) / fmax(1, way * force), s->seed);
    }
}
/* No torque without a motor, and lambda goes with tau: f = tau + G' lambda. */
static void compare_torques(closed *s, const unsigned char *mask, const double *tau,
                            const double *lambda, const double *f, inverse_errors *e) {
    double *sum = s->qdd;
    for (int j = 0; j < s->nv; ++j)
        if (!mask[j]) note(&e->zero, fabs(tau[j]), s->seed);
    pull_of(s, lambda, sum);
    for (int j = 0; j < s->nv; ++j)
        sum[j] += tau[j];
    note(&e->multipliers, relative(sum, f, (size_t)s->nv), s->seed);
}
/* Inverse dynamics of the oracle's acceleration (one the machine can have), with some motors. */
static void judge_motors(closed *s, int round, const answer *a, inverse_errors *e) {
    const int nv = s->nv, full = round == 0;
    unsigned char *mask = calloc((size_t)nv, 1);
    double *tau = calloc((size_t)nv, 8), *f = calloc((size_t)nv, 8), lambda[MOST_ROWS], size = 1;
    const int driven = choose_motors(s, round, mask);
    const soa_status got = soa_closed_id(
        s->c, s->w,
        &(soa_input){
            .q = s->q, .v = s->v, .a = a->vdot, .wrenches = s->f, .wrench_count = 2, .t = s->t},
        full ? NULL : mask, tau, lambda);
    needed_torques(s, a->vdot, f);
    for (int j = 0; j < nv; ++j)
        size = fmax(size, fabs(f[j]));
    const double missed = missed_by_constraints(s, mask, driven, f);
    if (got == SOA_E_INCONSISTENT) {
        ++e->refused;
        assert_false(full);
        assert_true(missed > 1e-10 * size);
    } else {
        if (got) fail_msg("seed %ld, round %d: %s", s->seed, round, soa_status_text(got));
        assert_true(missed <= 1e-6 * size);
        e->subsets += !full;
        compare_torques(s, mask, tau, lambda, f, e);
        if (s->rows && driven) compare_least_norm(s, mask, driven, tau, f, e);
        OK(forward(s, NULL, tau, s->qdd, NULL, NULL));
        note(full ? &e->back : &e->part, vdot_error(s->qdd, a, nv), s->seed);
    }
    free(mask);
    free(tau);
    free(f);
}
static void inverse(void **state) {
    (void)state;
    inverse_errors e = {0};
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 3);
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        for (int round = 0; is_clear(&a, 1e6) && round < 3; ++round)
            judge_motors(s, round, &a, &e);
        free_answer(&a);
        close_closed(s);
    }
    printf("  %ld subsets of motors could do it, %ld could not\n", e.subsets, e.refused);
    conclude("forward(inverse(a)) = a, all joints with motors", &e.back, 1e-9);
    conclude("forward(inverse(a)) = a, some joints with motors", &e.part, 1e-9);
    conclude("M a + bias = tau + G' lambda", &e.multipliers, 1e-9);
    conclude("tau of least norm", &e.least, 1e-9);
    conclude("no torque where there is no motor", &e.zero, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_differences),
                                       cmocka_unit_test(dynamics), cmocka_unit_test(projection),
                                       cmocka_unit_test(assembly), cmocka_unit_test(inverse)};
    return cmocka_run_group_tests_name("closed", tests, NULL, NULL);
}
