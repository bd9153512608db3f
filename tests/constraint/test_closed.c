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
static void rows_by_differences(void **state) {
    (void)state;
    worst_case closure = {0}, admissible = {0}, rates = {0}, matrix = {0}, second = {0},
               velocity = {0}, far = {0};
    int kinds[7] = {0}, joints[SOA_JOINT_TYPE_COUNT] = {0}, drives = 0, mimics = 0, floating = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        const int nv = s->nv, rows = s->rows;
        for (int r = 0; r < rows; ++r) {
            note(&closure, fabs(s->g[r]), seed);
            note(&admissible, fabs(s->rate[r]), seed);
        }
        for (int b = 1; b <= s->nb; ++b) {
            soa_body_info info;
            OK(soa_model_body(s->m, b, &info));
            mimics += info.mimic >= 0;
            floating += info.type == SOA_FREE && info.parent == 0;
        }
        for (int k = 0; k < s->count; ++k) {
            ++kinds[s->def[k].kind];
            drives += s->def[k].drive != NULL;
            if (s->def[k].kind == SOA_LOOP) ++joints[s->def[k].joint];
        }
        /* on the constraints, then off them and with any velocity */
        for (int away = 0; away < 2; ++away) {
            double *v = s->v, at[4][MOST_ROWS], dt[4][MOST_ROWS], f[4];
            if (away) {
                roll_many(&s->d, -0.3, 0.3, (size_t)nv, s->v1);
                OK(soa_q_integrate(s->m, s->q, s->v1, 1, s->q));
                roll_many(&s->d, -1, 1, (size_t)nv, s->v);
                OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q, .v = v, .t = s->t},
                                            s->g, s->rate, s->G, s->gamma));
            }
            double fastest = 1; /* a drive near a dead point asks for high speeds */
            for (int j = 0; j < nv; ++j)
                fastest = fmax(fastest, fabs(v[j]));
            const double h = 1e-3 / fastest;
            /* q(t) = q + v t with v constant: G v + dg/dt is the rate of g, gamma that of G v +
             * dg/dt */
            for (int k = 0; k < 4; ++k) {
                const double x = (k < 2 ? k - 2 : k - 1) * h;
                OK(soa_q_integrate(s->m, s->q, v, x, s->q1));
                OK(soa_constraints_evaluate(s->c, s->w,
                                            &(soa_input){.q = s->q1, .v = v, .t = s->t + x}, at[k],
                                            dt[k], NULL, NULL));
            }
            for (int k = 0, r = 0; k < s->count; ++k) {
                int first, n;
                OK(soa_constraints_row_range(s->c, k, &first, &n));
                assert_int_equal(first, r);
                double w[3], p[3];
                soa_frame X;
                const int poses = s->def[k].kind == SOA_VELOCITY || s->def[k].kind == SOA_ROLLING ||
                                  s->def[k].kind == SOA_DISC;
                if (poses) relative_rates(s, s->def + k, v, h, &X, w, p);
                for (int i = 0; i < n; ++i, ++r) {
                    for (int j = 0; j < 4; ++j)
                        f[j] = dt[j][r];
                    note(away ? &far : &second,
                         fabs(slope(f, h) - s->gamma[r]) /
                             fmax(fastest * fastest, fabs(s->gamma[r])),
                         seed);
                    if (on_velocity(s->def + k, i)) {
                        assert_true(s->g[r] == 0);
                        note(&velocity,
                             fabs(s->rate[r] - expected_rate(s->def + k, &X, w, p, i)) / fastest,
                             seed);
                        continue;
                    }
                    if (may_jump(s->def + k, s->g[r])) continue;
                    for (int j = 0; j < 4; ++j)
                        f[j] = at[j][r];
                    note(away ? &far : &rates,
                         fabs(slope(f, h) - s->rate[r]) / fmax(fastest, fabs(s->rate[r])), seed);
                }
            }
            /* G, as the derivative of g along any direction at one time */
            roll_many(&s->d, -1, 1, (size_t)nv, s->v1);
            for (int k = 0; k < 4; ++k) {
                OK(soa_q_integrate(s->m, s->q, s->v1, (k < 2 ? k - 2 : k - 1) * h, s->q1));
                OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q1, .t = s->t}, at[k],
                                            NULL, NULL, NULL));
            }
            for (int k = 0, r = 0; k < s->count; ++k) {
                int n;
                OK(soa_constraints_row_range(s->c, k, NULL, &n));
                for (int i = 0; i < n; ++i, ++r) {
                    if (on_velocity(s->def + k, i) || may_jump(s->def + k, s->g[r])) continue;
                    for (int j = 0; j < 4; ++j)
                        f[j] = at[j][r];
                    const double along = dot(nv, s->G + nv * r, s->v1);
                    note(away ? &far : &matrix, fabs(slope(f, h) - along) / fmax(1, fabs(along)),
                         seed);
                }
            }
        }
        close_closed(s);
    }
    printf("  loops %d, distances %d, ratios %d, rolling %d, velocities %d, planes %d, discs %d; "
           "driven %d; mimic "
           "joints %d, "
           "free bases %d\n",
           kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], kinds[5], kinds[6], drives, mimics,
           floating);
    for (int j = 0; j < SOA_JOINT_TYPE_COUNT; ++j)
        printf("  %s %d%s", soa_joint_type_name((soa_joint_type)j), joints[j],
               j + 1 < SOA_JOINT_TYPE_COUNT ? "," : "\n");
    conclude("closed by construction", &closure, 1e-12);
    conclude("velocities made admissible", &admissible, 1e-10);
    conclude("rate = dg/dt", &rates, 1e-8);
    conclude("rates of velocity rows from poses", &velocity, 1e-8);
    conclude("G = dg/dq", &matrix, 1e-8);
    conclude("gamma = d(rate)/dt", &second, 1e-8);
    conclude("all of these off the constraints", &far, 1e-6);
}

static void dynamics(void **state) {
    (void)state;
    worst_case vdot = {0}, pull = {0}, lambda = {0}, whole[3] = {{0}}, least = {0}, dull = {0},
               hidden = {0};
    worst_case respond = {0};
    long full = 0, redundant = 0, beyond = 0, refused = 0, moving = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s), b = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int independent = a.rank == rows, clear = a.condition < 1e8 && a.gap < 1e-26;
        full += clear && independent;
        redundant += clear && !independent;
        beyond += !clear;
        moving += rows > 0 && nv > a.rank;
        if (clear && independent) {
            solve_whole(s, s->tau, &b);
            note(&whole[0], vdot_error(b.vdot, &a, nv), seed);
            note(&whole[1], relative(b.pull, a.pull, (size_t)nv), seed);
            note(&whole[2], relative(b.lambda, a.lambda, (size_t)rows), seed);
        }
        for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
            soa_closed_options o = soa_closed_options_default();
            soa_closed_report report;
            o.method = methods[k];
            const soa_status got = soa_closed_fd(s->c, s->w, &o,
                                                 &(soa_input){.q = s->q,
                                                              .v = s->v,
                                                              .tau = s->tau,
                                                              .wrenches = s->f,
                                                              .wrench_count = 2,
                                                              .t = s->t},
                                                 s->qdd, s->lambda, &report);
            if (clear && got)
                fail_msg("seed %ld, method %d: %s", seed, (int)k, soa_status_text(got));
            assert_int_equal(report.rows, rows);
            if (clear) {
                if (report.rank != a.rank)
                    fail_msg("seed %ld, method %d: rank %d, expected %d of %d", seed, (int)k,
                             report.rank, a.rank, rows);
                assert_int_equal(report.redundant, rows - a.rank);
                assert_true((report.redundant > 0) == (report.text[0] != 0));
                note(&vdot, vdot_error(s->qdd, &a, nv), seed);
                pull_of(s, s->lambda, s->v1);
                note(&pull, relative(s->v1, a.pull, (size_t)nv), seed);
                note(independent ? &lambda : &least, relative(s->lambda, a.lambda, (size_t)rows),
                     seed);
                /* what a further force adds */
                double *x = s->A, *more = x + nv, size = 1;
                roll_many(&s->d, -20, 20, (size_t)nv, x);
                OK(soa_closed_fd(s->c, s->w, &o,
                                 &(soa_input){.q = s->q,
                                              .v = s->v,
                                              .tau = s->tau,
                                              .wrenches = s->f,
                                              .wrench_count = 2,
                                              .t = s->t},
                                 s->qdd, NULL, NULL));
                OK(soa_closed_response(s->c, s->w, x, more));
                for (int j = 0; j < nv; ++j) {
                    x[j] += s->tau[j];
                    size = fmax(size, fmax(fabs(more[j]), fabs(s->qdd[j])));
                }
                OK(soa_closed_fd(s->c, s->w, &o,
                                 &(soa_input){.q = s->q,
                                              .v = s->v,
                                              .tau = x,
                                              .wrenches = s->f,
                                              .wrench_count = 2,
                                              .t = s->t},
                                 s->v1, NULL, NULL));
                for (int j = 0; j < nv; ++j)
                    note(&respond, fabs(s->v1[j] - s->qdd[j] - more[j]) / size, seed);
            } else {
                /* the status is the answer: fine within what the condition allows, or singular */
                refused += got != SOA_OK;
                if (got == SOA_OK) {
                    for (int r = 0; r < rows; ++r) {
                        double sum = s->gamma[r], most = 0, fastest = 0;
                        for (int j = 0; j < nv; ++j) {
                            sum += s->G[nv * r + j] * s->qdd[j];
                            most = fmax(most, fabs(s->G[nv * r + j]));
                            fastest = fmax(fastest, fabs(s->qdd[j]));
                        }
                        const double size = fmax(1, fmax(fabs(s->gamma[r]), most * fastest));
                        note(&dull, fabs(sum) / size, seed);
                    }
                } else if (got == SOA_E_SINGULAR) {
                    note(&hidden, 1e9 / report.condition, seed); /* the report tells why */
                } else {
                    assert_int_equal(got, SOA_E_INCONSISTENT);
                }
            }
        }
        free_answer(&a);
        free_answer(&b);
        close_closed(s);
    }
    printf("  %ld systems with independent rows, %ld with redundant ones, %ld beyond 1e8 (%ld "
           "refusals); %ld can move\n",
           full, redundant, beyond, refused, moving);
    conclude("oracles: vdot of (20) and by singular values", whole, 1e-9);
    conclude("oracles: G' lambda", whole + 1, 1e-9);
    conclude("oracles: lambda", whole + 2, 1e-9);
    conclude("vdot, four methods", &vdot, 1e-9);
    conclude("G' lambda, four methods", &pull, 1e-9);
    conclude("lambda, independent rows", &lambda, 1e-9);
    conclude("lambda, redundant rows, of least norm", &least, 1e-9);
    conclude("response to further forces", &respond, 1e-9);
    if (dull.count) conclude("beyond 1e8, where an answer is given: G vdot + gamma", &dull, 1e-6);
    if (hidden.count) conclude("beyond 1e8, singular: 1e9 / condition told", &hidden, 1);
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
        const int clear = a.condition < 1e6 && a.gap < 1e-26;
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
static void inverse(void **state) {
    (void)state;
    worst_case back = {0}, part = {0}, least = {0}, zero = {0}, multipliers = {0};
    long subsets = 0, refused = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 3);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int clear = a.condition < 1e6 && a.gap < 1e-26;
        unsigned char *mask = calloc((size_t)nv, 1);
        double *acc = calloc((size_t)nv, 8), *tau = calloc((size_t)nv, 8), lambda[MOST_ROWS];
        memcpy(acc, a.vdot, (size_t)nv * sizeof *acc); /* an acceleration the machine can have */
        for (int round = 0; clear && round < 3; ++round) {
            const int full = round == 0;
            int driven = 0;
            for (int j = 0; j < nv; ++j)
                driven += mask[j] = full || roll(&s->d, 0, 1) < (round == 1 ? 0.8 : 0.5);
            const soa_status got = soa_closed_id(
                s->c, s->w,
                &(soa_input){
                    .q = s->q, .v = s->v, .a = acc, .wrenches = s->f, .wrench_count = 2, .t = s->t},
                full ? NULL : mask, tau, lambda);
            /* can the others be held by the constraints alone?  G_u' lambda = f_u */
            double *f = s->v1, *rest = s->qdd;
            cut_torques(s, rest);
            OK(soa_rnea(s->m, s->w, s->q, s->v, acc, s->f, 2, f));
            for (int j = 0; j < nv; ++j)
                f[j] -= rest[j];
            const int u = nv - driven, big = u > rows ? u : rows;
            double *A = s->A, *x = s->U, off = 0, size = 1;
            lapack_int rank = 0;
            double sv[512];
            for (int j = 0, k = 0; j < nv; ++j) {
                size = fmax(size, fabs(f[j]));
                if (mask[j]) continue;
                for (int r = 0; r < rows; ++r)
                    A[rows * k + r] = s->G[nv * r + j];
                x[k++] = f[j];
            }
            for (int i = u; i < big; ++i)
                x[i] = 0;
            if (u && rows)
                LAPACKE_dgelsd(LAPACK_ROW_MAJOR, u, rows, 1, A, rows, x, 1, sv, 1e-10, &rank);
            for (int j = 0, k = 0; j < nv; ++j) {
                if (mask[j]) continue;
                double held = 0;
                for (int r = 0; r < rows; ++r)
                    held += s->G[nv * r + j] * x[r];
                off = fmax(off, fabs(f[j] - (rows ? held : 0)));
                ++k;
            }
            if (got == SOA_E_INCONSISTENT) {
                ++refused;
                assert_false(full);
                assert_true(off > 1e-10 * size);
                continue;
            }
            if (got) fail_msg("seed %ld, round %d: %s", seed, round, soa_status_text(got));
            assert_true(off <= 1e-6 * size);
            subsets += !full;
            for (int j = 0; j < nv; ++j)
                if (!mask[j]) note(&zero, fabs(tau[j]), seed);
            /* lambda given is one that goes with tau: f = tau + G' lambda */
            pull_of(s, lambda, rest);
            for (int j = 0; j < nv; ++j)
                rest[j] += tau[j];
            note(&multipliers, relative(rest, f, (size_t)nv), seed);
            /* least norm: tau is orthogonal to G_a' z for every z with G_u' z = 0 */
            if (rows && driven) {
                double *N = s->K, S2[MOST_ROWS], V[MOST_ROWS * MOST_ROWS], super[512];
                int k = 0;
                for (int j = 0; j < nv; ++j)
                    if (!mask[j])
                        for (int r = 0, to = k++; r < rows; ++r)
                            N[rows * to + r] = s->G[nv * r + j];
                int free_from = 0;
                if (u) {
                    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'A', u, rows, N, rows, S2, NULL, u, V,
                                   rows, super);
                    while (free_from < (u < rows ? u : rows) &&
                           S2[free_from] > 1e-9 * fmax(1, S2[0]))
                        ++free_from;
                } else {
                    for (int i = 0; i < rows * rows; ++i)
                        V[i] = i % (rows + 1) == 0;
                }
                for (int e = free_from; e < rows; ++e) {
                    double along = 0, way = 0, force = 0;
                    for (int j = 0; j < nv; ++j) {
                        double y = 0;
                        for (int r = 0; r < rows; ++r)
                            y += s->G[nv * r + j] * V[rows * e + r];
                        along += y * tau[j];
                        way = fmax(way, fabs(y));
                        force = fmax(force, fabs(f[j]));
                    }
                    note(&least, fabs(along) / fmax(1, way * force), seed);
                }
            }
            const soa_status forward = soa_closed_fd(s->c, s->w, NULL,
                                                     &(soa_input){.q = s->q,
                                                                  .v = s->v,
                                                                  .tau = tau,
                                                                  .wrenches = s->f,
                                                                  .wrench_count = 2,
                                                                  .t = s->t},
                                                     s->qdd, NULL, NULL);
            OK(forward);
            note(full ? &back : &part, vdot_error(s->qdd, &a, nv), seed);
        }
        free(mask);
        free(acc);
        free(tau);
        free_answer(&a);
        close_closed(s);
    }
    printf("  %ld subsets of motors could do it, %ld could not\n", subsets, refused);
    conclude("forward(inverse(a)) = a, all joints with motors", &back, 1e-9);
    conclude("forward(inverse(a)) = a, some joints with motors", &part, 1e-9);
    conclude("M a + bias = tau + G' lambda", &multipliers, 1e-9);
    conclude("tau of least norm", &least, 1e-9);
    conclude("no torque where there is no motor", &zero, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_differences),
                                       cmocka_unit_test(dynamics), cmocka_unit_test(projection),
                                       cmocka_unit_test(assembly), cmocka_unit_test(inverse)};
    return cmocka_run_group_tests_name("closed", tests, NULL, NULL);
}
