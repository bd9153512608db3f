/* test_closed_known.c  closed chains whose answers are known: redundant rows and their names,
 * contradictions, singular positions, one ring cut at either of two joints, switching, and input
 * that is refused. */
#include "closed_systems.h"
#include <lapacke.h>
#include <time.h>

/* ---- known mechanisms ------------------------------------------------------------------------ */
static soa_body_def rod(const char *name, int parent, double length) {
    soa_body_def b = soa_body_default(name, parent, SOA_REVOLUTE);
    soa_body_box(&b, 1 + length, length, 0.05, 0.08);
    b.com[0] = length / 2;
    return b;
}
/* Ground L[0] along x, crank L[1], coupler L[2], rocker L[3], axes z, the whole turned any way in
 * space.  The loop between coupler and rocker is not closed yet; q is, for the crank's angle, on
 * the branch given. */
static closed *four_bar(const double L[4], const soa_frame *base, double angle, int branch,
                        double rate) {
    soa_body_def b[3] = {rod("crank", 0, L[1]), rod("coupler", 1, L[2]), rod("rocker", 0, L[3])};
    const double at[3] = {L[0], 0, 0}, z[3] = {0, 0, 1};
    const soa_frame far = soa_frame_from_axis_angle(z, 0, at);
    b[0].placement = *base;
    b[1].placement.p[0] = L[1];
    b[2].placement = soa_frame_compose(base, &far);
    soa_model_def def = soa_model_default("four-bar", b, 3);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    closed *s = start(m, 1);
    const double x = L[0] - L[1] * cos(angle), y = -L[1] * sin(angle), r = sqrt(x * x + y * y);
    const double inner =
        acos(fmin(1, fmax(-1, (L[2] * L[2] + r * r - L[3] * L[3]) / (2 * L[2] * r))));
    const double coupler = atan2(y, x) + branch * inner; /* angle in the plane */
    const double ex = L[1] * cos(angle) + L[2] * cos(coupler) - L[0],
                 ey = L[1] * sin(angle) + L[2] * sin(coupler);
    s->q[0] = angle;
    s->q[1] = coupler - angle;
    s->q[2] = atan2(ey, ex);
    s->t = 0;
    s->v[0] = rate;
    s->v[1] = s->v[2] = 0;
    s->f[0] = s->f[1] = (soa_wrench){0};
    return s;
}
static soa_constraint_def shut(const closed *s, const double L[4], soa_joint_type type) {
    soa_constraint_def c = soa_constraint_default(SOA_LOOP, soa_model_find_frame(s->m, "rocker"),
                                                  soa_model_find_frame(s->m, "coupler"));
    c.joint = type;
    c.place1.p[0] = L[3];
    c.place2.p[0] = L[2];
    return c;
}
/* All methods against singular values; the same statuses and ranks. */
static void against_dense(closed *s, int rank, const char *said, worst_case *vdot,
                          worst_case *lambda) {
    answer a = make_answer(s);
    refresh(s);
    solve_dense(s, s->tau, &a);
    assert_int_equal(a.rank, rank);
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
        soa_closed_options o = soa_closed_options_default();
        soa_closed_report report;
        o.method = methods[k];
        OK(soa_closed_fd(s->c, s->w, &o,
                         &(soa_input){.q = s->q,
                                      .v = s->v,
                                      .tau = s->tau,
                                      .wrenches = s->f,
                                      .wrench_count = 2,
                                      .t = s->t},
                         s->qdd, s->lambda, &report));
        assert_int_equal(report.rank, rank);
        assert_int_equal(report.redundant, s->rows - rank);
        if (!strstr(report.text, said)) fail_msg("\"%s\" does not say \"%s\"", report.text, said);
        note(vdot, vdot_error(s->qdd, &a, s->nv), s->seed);
        note(lambda, relative(s->lambda, a.lambda, (size_t)s->rows), s->seed);
        if (k == 0) printf("  %s\n", report.text);
    }
    free_answer(&a);
}

static const double FOUR_BAR[4] = {1, 0.4, 0.9, 0.7}, PARALLELOGRAM[4] = {1, 0.5, 1, 0.5};

/* The same loop twice, on an arm that is free to move. */
static closed *arm_held_twice(void) {
    const soa_model *m;
    OK(soa_stock_model_create("arm7", NULL, &m, NULL));
    closed *s = start(m, 5);
    soa_body_info tip;
    OK(soa_model_body(m, 7, &tip));
    OK(soa_kinematics(m, s->w, s->q, NULL, NULL));
    soa_constraint_def c = soa_constraint_default(SOA_LOOP, 0, tip.frame);
    c.joint = SOA_SPHERICAL;
    c.place1 = pose_of(s, tip.frame);
    c.name = "left";
    add(s, &c);
    c.name = "right";
    add(s, &c);
    OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL));
    return s;
}
static void same_loop_twice(worst_case *vdot, worst_case *lambda) {
    closed *s = arm_held_twice();
    const soa_input input = {
        .q = s->q, .v = s->v, .tau = s->tau, .wrenches = s->f, .wrench_count = 2};
    against_dense(s, 3, "right repeats rows of left", vdot, lambda);
    soa_closed_report report;
    OK(soa_closed_fd(s->c, s->w, NULL, &input, s->qdd, s->lambda, &report));
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(report.redundant_constraint[i], 1);
        /* shared evenly */
        assert_true(fabs(s->lambda[i] - s->lambda[3 + i]) < 1e-12 * (1 + fabs(s->lambda[i])));
    }
    OK(soa_constraints_switch(s->c, 1, 0)); /* alone it is not redundant */
    OK(soa_closed_fd(s->c, s->w, NULL, &input, s->qdd, s->lambda, &report));
    assert_int_equal(report.redundant, 0);
    assert_int_equal(report.text[0], 0);
    close_closed(s);
}

/* At rest and in balance all numbers are rounding: that is no contradiction. */
static void balance_at_rest(closed *s, int turn, worst_case *vdot) {
    const double zero[3] = {0};
    OK(soa_closed_id(s->c, s->w, &(soa_input){.q = s->q}, NULL, s->tau, NULL));
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
        soa_closed_options o = soa_closed_options_default();
        soa_closed_report report;
        o.method = methods[k];
        OK(soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .tau = s->tau}, s->qdd, s->lambda,
                         &report));
        assert_int_equal(report.rank, 2);
        note(vdot, relative(s->qdd, zero, 3), turn);
    }
}
/* A planar loop shut by a joint in space: 2 rows of 5 are independent. */
static void planar_loop(dice *d, int turn, worst_case *vdot, worst_case *lambda) {
    const soa_frame base = any_place(d, 1);
    closed *s = four_bar(FOUR_BAR, &base, roll(d, -3, 3), 1, 2);
    soa_constraint_def c = shut(s, FOUR_BAR, SOA_REVOLUTE);
    c.name = "hinge";
    c.friction = 0.1;
    c.damping = 0.2;
    add(s, &c);
    s->effort[0][0] = 0.7;
    OK(soa_constraints_set_effort(s->c, 0, s->effort[0]));
    OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL));
    refresh(s);
    for (int r = 0; r < s->rows; ++r)
        assert_true(fabs(s->g[r]) < 1e-12);
    if (turn == 0) against_dense(s, 2, "hinge", vdot, lambda);
    balance_at_rest(s, turn, vdot);
    close_closed(s);
}

/* A parallelogram with a third rod beside the others. */
static closed *parallelogram(dice *d) {
    const double *P = PARALLELOGRAM;
    const soa_frame base = any_place(d, 1);
    closed *s = four_bar(P, &base, 0.8, 1, 1);
    soa_constraint_def c = shut(s, P, SOA_REVOLUTE);
    const double half[3] = {0.5, 0, 0}, x[3] = {1, 0, 0};
    const soa_frame middle = soa_frame_from_axis_angle(x, 0, half);
    if (fabs(s->q[1] + s->q[0]) > 1e-6) {
        s->q[1] = -s->q[0];
        s->q[2] = s->q[0]; /* the coupler stays parallel */
    }
    c.name = "hinge";
    add(s, &c);
    soa_constraint_def r =
        soa_constraint_default(SOA_DISTANCE, 0, soa_model_find_frame(s->m, "coupler"));
    r.name = "third rod";
    r.value = P[1];
    r.place1 = soa_frame_compose(&base, &middle);
    r.place2.p[0] = 0.5;
    add(s, &r);
    OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL));
    return s;
}
static void third_rod(dice *d, worst_case *vdot, worst_case *lambda) {
    closed *s = parallelogram(d);
    against_dense(s, 2, "", vdot, lambda);
    soa_closed_report report;
    soa_closed_options o = soa_closed_options_default();
    o.method = SOA_CLOSED_FORCES;
    OK(soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, s->qdd,
                     NULL, &report));
    int rods = 0; /* one of the two is said to repeat the other */
    for (int i = 0; i < report.redundant; ++i)
        rods += report.redundant_constraint[i] == 1;
    assert_int_equal(report.redundant, 4);
    assert_true(rods <= 1);
    close_closed(s);
}

static void redundancy(void **state) {
    (void)state;
    worst_case vdot = {0}, lambda = {0};
    dice d = {(uint64_t)first_seed()};
    same_loop_twice(&vdot, &lambda);
    for (int turn = 0; turn < 20; ++turn)
        planar_loop(&d, turn, &vdot, &lambda);
    third_rod(&d, &vdot, &lambda);
    conclude("redundant rows: vdot", &vdot, 1e-9);
    conclude("redundant rows: lambda of least norm", &lambda, 1e-9);
}

static void contradiction(void **state) {
    (void)state;
    const double L[4] = {1, 0.4, 0.9, 0.7};
    const soa_frame base = soa_frame_from_rpy(0.3, -0.4, 0.5, 0.1, 0.2, 0.3);
    wave one = {0.7 - 0.3 * sin(0.2), 0.3, 2, 0.2}, two = {0, 0.3, 5, 0.2};
    /* one joint driven two ways; crank and rocker of a four-bar */
    for (int kind = 0; kind < 2; ++kind) {
        closed *s = four_bar(L, &base, 0.7, 1, 0);
        soa_constraint_def c = shut(s, L, SOA_REVOLUTE),
                           r = soa_constraint_default(SOA_RATIO, 0, 0);
        double out[3];
        c.name = "hinge";
        add(s, &c);
        r.name = "first drive";
        r.coordinate[0] = soa_model_find_joint(s->m, "crank");
        r.coefficient[0] = 1;
        r.drive = drive;
        r.user = &one;
        add(s, &r);
        drive(&one, 0, out);
        s->q[0] = out[0];
        r.name = "second drive";
        r.user = &two;
        if (kind) r.coordinate[0] = soa_model_find_joint(s->m, "rocker");
        two.middle = s->q[kind ? 2 : 0] - two.size * sin(two.phase);
        OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL)); /* with one drive all is well */
        OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                         s->qdd, NULL, NULL));
        two.middle = s->q[kind ? 2 : 0] - two.size * sin(two.phase);
        add(s, &r);
        for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
            soa_closed_options o = soa_closed_options_default();
            soa_closed_report report;
            double qdd[3] = {11, 12, 13}, lambda[8] = {21};
            o.method = methods[k];
            REFUSED(SOA_E_INCONSISTENT,
                    soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                                  qdd, lambda, &report));
            /* nothing is written but the report */
            assert_true(qdd[0] == 11 && qdd[2] == 13 && lambda[0] == 21);
            assert_true(report.residual > 1e-3);
            assert_true(strstr(report.text, "drive") || strstr(report.text, "hinge"));
        }
        double v[3], q[3], error[2];
        memcpy(v, s->v, sizeof v);
        memcpy(q, s->q, sizeof q);
        REFUSED(SOA_E_INCONSISTENT, soa_closed_project(s->c, s->w, 0, s->q, s->v, error));
        assert_memory_equal(v, s->v, sizeof v);
        REFUSED(SOA_E_NO_CONVERGENCE,
                soa_closed_project(s->c, s->w, 0.5, s->q, NULL, error)); /* later q disagree too */
        assert_true(error[0] > 1e-3);
        assert_memory_equal(q, s->q, sizeof q);
        close_closed(s);
    }
}

/* A change-point four-bar near its flat position: the rows of the loop become parallel. */
static void near_singular(void **state) {
    (void)state;
    const double L[4] = {3, 1, 2.5, 1.5}, pi = 3.14159265358979323846;
    const soa_frame base = soa_frame_from_rpy(0.3, -0.4, 0.5, 0.1, 0.2, 0.3);
    worst_case vdot = {0}, told = {0}, damped = {0}, bounded = {0};
    int singular = 0, fine = 0;
    for (int e = 2; e <= 40; ++e) {
        const double away = pow(10, -e / 4.0);
        closed *s = four_bar(L, &base, pi - away, 1, 1);
        soa_constraint_def c = shut(s, L, SOA_SPHERICAL);
        c.name = "hinge";
        add(s, &c);
        answer a = make_answer(s);
        memset(s->v, 0, 3 * sizeof *s->v);
        s->v[0] = 1;
        (void)soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL);
        refresh(s);
        solve_dense(s, s->tau, &a);
        for (size_t k = 1; k < sizeof methods / sizeof *methods; ++k) {
            soa_closed_options o = soa_closed_options_default();
            soa_closed_report report;
            o.method = methods[k];
            const soa_status got =
                soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                              s->qdd, s->lambda, &report);
            if (a.condition < 1e8 && a.gap < 1e-26) {
                OK(got);
                note(&vdot, vdot_error(s->qdd, &a, 3), e);
                if (methods[k] != SOA_CLOSED_KKT) /* KKT tells that of G G' */
                    note(&told,
                         fmax(report.condition / a.condition, a.condition / report.condition), e);
                ++fine;
            } else if (got == SOA_E_SINGULAR) {
                assert_true(report.condition > 1e10);
                ++singular;
            } else if (got != SOA_OK) {
                assert_int_equal(got, SOA_E_INCONSISTENT);
                assert_true(away < 1e-6);
            }
        }
        /* on request: an answer that stays bounded and tends to the true one where there is one */
        soa_closed_options o = soa_closed_options_default();
        const int well = a.condition < 1e3 && a.gap < 1e-26;
        for (int k = 0; k < 2; ++k) {
            o.damping = k ? 1e-7 : 1e-2;
            if (k && !well) break;
            OK(soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                             s->qdd, s->lambda, NULL));
            for (int j = 0; j < 3; ++j)
                note(&bounded, fabs(s->qdd[j]), e);
            for (int r = 0; r < s->rows; ++r)
                note(&bounded, fabs(s->lambda[r]), e);
        }
        if (well) note(&damped, vdot_error(s->qdd, &a, 3), e);
        o.method = SOA_CLOSED_KKT;
        REFUSED(SOA_E_ARGUMENT,
                soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                              s->qdd, s->lambda, NULL));
        free_answer(&a);
        close_closed(s);
    }
    printf("  %d answers, %d times singular\n", fine, singular);
    assert_true(singular >= 6 && fine >= 12);
    conclude("up to condition 1e8: vdot", &vdot, 1e-9);
    conclude("the condition told, as a factor of the true one", &told, 100);
    conclude("damped by 1e-7 where all is well: vdot", &damped, 1e-9);
    conclude("damped by 1e-2 anywhere: sizes of vdot, lambda", &bounded, 1e5);
}

/* A massless free body that carries an arm on one joint: the arm may turn while it stays, so the
 * tree has no acceleration at any q.  A plane that holds a point of it gives it one; no method may
 * invert M's rounding errors. */
static void massless_base(void **state) {
    (void)state;
    soa_body_def b[2] = {soa_body_default("base", 0, SOA_FREE), rod("arm", 1, 0.8)};
    b[1].placement.p[0] = 0.3;
    b[1].placement.p[2] = 0.1;
    for (int k = 0; k < 3; ++k)
        b[1].inertia[k] = 0.2 + 0.05 * k;
    soa_model_def def = soa_model_default("massless base", b, 2);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    closed *s = start(m, 1);
    s->t = 0;
    s->f[0] = s->f[1] = (soa_wrench){0};
    soa_constraint_def c = soa_constraint_default(SOA_PLANE, 0, soa_model_find_frame(m, "base"));
    for (int k = 0; k < 3; ++k)
        c.place2.p[k] = 0.2 + 0.3 * k;
    add(s, &c);
    worst_case loop = {0}, torque = {0};
    for (int t = 0; t < 40; ++t) {
        double lambda[1];
        soa_closed_report report;
        for (int j = 0; j < 8; ++j)
            s->q[j] = sin(1.7 * t + j);
        for (int j = 0; j < 7; ++j) {
            s->v[j] = cos(t + 2 * j);
            s->tau[j] = sin(t + 3 * j);
        }
        soa_q_normalise(m, s->q);
        refresh(s);
        OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                         s->qdd, lambda, &report));
        assert_int_equal(report.method, SOA_CLOSED_KKT);
        OK(soa_rnea(m, s->w, s->q, s->v, s->qdd, NULL, 0, s->v1));
        pull_of(s, lambda, s->q1);
        double size = 1;
        for (int j = 0; j < 7; ++j)
            size = fmax(size, fabs(s->qdd[j]));
        for (int r = 0; r < s->rows; ++r)
            note(&loop, fabs(dot(7, s->G + 7 * r, s->qdd) + s->gamma[r]) / size, r);
        for (int j = 0; j < 7; ++j)
            note(&torque, fabs(s->q1[j] + s->tau[j] - s->v1[j]) / size, j);
        soa_closed_options o = soa_closed_options_default();
        o.method = SOA_CLOSED_NULL_SPACE;
        REFUSED(SOA_E_HINGE_SINGULAR,
                soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau},
                              s->qdd, lambda, NULL));
    }
    conclude("massless base: the plane", &loop, 1e-9);
    conclude("massless base: torques", &torque, 1e-9);
    close_closed(s);
}

/* A massless coupler: the tree alone has no acceleration, the loop gives it one. */
static void massless(void **state) {
    (void)state;
    const double L[4] = {1, 0.4, 0.9, 0.7};
    soa_body_def b[3] = {rod("crank", 0, L[1]), soa_body_default("coupler", 1, SOA_REVOLUTE),
                         rod("rocker", 0, L[3])};
    b[1].placement.p[0] = L[1];
    b[2].placement.p[0] = L[0];
    soa_model_def def = soa_model_default("massless coupler", b, 3);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    const soa_frame base = soa_frame_identity();
    closed *whole = four_bar(L, &base, 0.7, 1, 0), *s = start(m, 1);
    memcpy(s->q, whole->q, 3 * sizeof *s->q);
    memset(s->v, 0, 3 * sizeof *s->v);
    s->t = 0;
    s->f[0] = s->f[1] = (soa_wrench){0};
    soa_constraint_def c = shut(s, L, SOA_REVOLUTE);
    add(s, &c);
    add(whole, &c);
    whole->v[0] = 1;
    /* a velocity; the other has no M^-1 */
    OK(soa_closed_project(whole->c, whole->w, 0, whole->q, whole->v, NULL));
    memcpy(s->v, whole->v, 3 * sizeof *s->v);
    memcpy(s->q, whole->q, 3 * sizeof *s->q);
    refresh(s);
    double lambda[5];
    soa_closed_report report;
    soa_closed_options o = soa_closed_options_default();
    REFUSED(SOA_E_HINGE_SINGULAR, soa_aba(m, s->w, s->q, s->v, s->tau, NULL, 0, s->qdd));
    o.method = SOA_CLOSED_FORCES;
    REFUSED(SOA_E_HINGE_SINGULAR,
            soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, s->qdd,
                          lambda, NULL));
    o.method = SOA_CLOSED_NULL_SPACE;
    REFUSED(SOA_E_HINGE_SINGULAR,
            soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, s->qdd,
                          lambda, NULL));
    double moved[6];
    memcpy(moved, s->q, 3 * sizeof *moved);
    memcpy(moved + 3, s->v, 3 * sizeof *moved);
    moved[0] += 1e-3;
    moved[4] += 1e-3;
    /* all coordinates weigh alike: M has no inverse */
    OK(soa_closed_project(s->c, s->w, 0, moved, moved + 3, NULL));
    OK(soa_closed_project(whole->c, whole->w, 0, moved, moved + 3, lambda));
    if (!(soa_closed_drift(whole->c) < 1e-13))
        fail_msg("projected, the loop is open by %g", soa_closed_drift(whole->c));
    OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, s->qdd,
                     lambda, &report));
    assert_int_equal(report.method, SOA_CLOSED_KKT);
    assert_int_equal(report.rank, 2);
    /* it obeys the loop, and the torques are met: M vdot + bias = tau + G' lambda */
    worst_case loop = {0}, torque = {0};
    for (int r = 0; r < s->rows; ++r)
        note(&loop, fabs(dot(3, s->G + 3 * r, s->qdd) + s->gamma[r]), r);
    OK(soa_rnea(m, s->w, s->q, s->v, s->qdd, NULL, 0, s->v1));
    pull_of(s, lambda, s->q1);
    for (int j = 0; j < 3; ++j)
        s->q1[j] += s->tau[j];
    note(&torque, relative(s->v1, s->q1, 3), 0);
    conclude("massless coupler: the loop", &loop, 1e-12);
    conclude("massless coupler: torques", &torque, 1e-12);
    close_closed(s);
    close_closed(whole);
}

/* ---- the same ring cut at one joint or at its neighbour -------------------------------------- */
typedef struct ring {
    int links;               /* moving; the last two joints are those of interest */
    soa_joint_type type[10]; /* of joint i, before link i; type[links]: between the last link and
                              * the world */
    double axis[10][3], axis2[10][3], pitch, damping[2], friction[2], effort[2][6];
    soa_frame placement[10], end; /* of joint i in link i - 1; `end`: where joint `links` sits in
                                   * the last link */
    soa_frame anchor;             /* where joint `links` sits in the world */
    soa_body_def body[10];
} ring;
static void set_joint(soa_joint_def *j, const ring *r, int i, int which) {
    j->type = r->type[i];
    j->pitch = r->pitch;
    memcpy(j->axis, r->axis[i], sizeof j->axis);
    memcpy(j->axis2, r->axis2[i], sizeof j->axis2);
    if (which < 0) return;
    j->damping = r->damping[which];
    j->friction_positive = j->friction_negative = r->friction[which];
}
/* As a tree: cut = 0 opens joint `links` (the last link hangs on the one before), cut = 1 the joint
 * before (it hangs on the world by joint `links`). */
static const soa_model *ring_model(const ring *r, int cut) {
    static char names[10][24];
    soa_body_def b[10];
    for (int i = 0; i < r->links; ++i) {
        b[i] = r->body[i];
        snprintf(names[i], sizeof names[i], "link%d", i);
        b[i].name = names[i];
        b[i].parent = i;
        b[i].placement = r->placement[i];
        set_joint(&b[i].joint, r, i, i == r->links - 1 ? 0 : -1);
    }
    soa_body_def *last = b + r->links - 1;
    if (cut) { /* its frame is now that of joint `links`: inertia moves along */
        last->parent = 0;
        last->placement = r->anchor;
        set_joint(&last->joint, r, r->links, 1);
        const soa_frame back = soa_frame_inverse(&r->end);
        double c[3], T[9], J[9];
        for (int i = 0; i < 3; ++i)
            c[i] = back.p[i] + dot(3, back.R + 3 * i, r->body[r->links - 1].com);
        memcpy(last->com, c, sizeof c);
        const double *o = r->body[r->links - 1].inertia;
        const double K[9] = {o[0], o[3], o[4], o[3], o[1], o[5], o[4], o[5], o[2]};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                T[3 * i + j] = back.R[3 * i] * K[j] + back.R[3 * i + 1] * K[3 + j] +
                               back.R[3 * i + 2] * K[6 + j];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                J[3 * i + j] = dot(3, T + 3 * i, back.R + 3 * j);
        const double packed[6] = {
            J[0], J[4], J[8], (J[1] + J[3]) / 2, (J[2] + J[6]) / 2, (J[5] + J[7]) / 2};
        memcpy(last->inertia, packed, sizeof packed);
    }
    soa_model_def def = soa_model_default("ring", b, r->links);
    const soa_model *m;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    return m;
}
static void close_ring(closed *s, const ring *r, int cut) {
    const int last = r->links - 1, joint = cut ? last : r->links;
    char before[24], own[24];
    snprintf(before, sizeof before, "link%d", last - 1);
    snprintf(own, sizeof own, "link%d", last);
    soa_constraint_def c = soa_constraint_default(
        SOA_LOOP, cut ? soa_model_find_frame(s->m, before) : 0, soa_model_find_frame(s->m, own));
    c.joint = r->type[joint];
    c.pitch = r->pitch;
    memcpy(c.axis, r->axis[joint], sizeof c.axis);
    memcpy(c.axis2, r->axis2[joint], sizeof c.axis2);
    c.place1 = cut ? r->placement[last] : r->anchor;
    c.place2 = cut ? soa_frame_inverse(&r->end) : r->end;
    c.damping = r->damping[cut ? 0 : 1];
    c.friction = r->friction[cut ? 0 : 1];
    add(s, &c);
    OK(soa_constraints_set_effort(s->c, 0, r->effort[cut ? 0 : 1]));
}
/* Effort of the joint in question where it belongs to the tree. */
static void tree_effort(closed *s, const ring *r, int which) {
    const int joint = r->links - 1 + which, nv = joint_nv[r->type[joint]];
    for (int j = 0; j < nv; ++j)
        s->tau[s->nv - nv + j] = r->effort[which][j];
}
static void body_acceleration(closed *s, const char *link, const double *qdd, double A[6]) {
    OK(soa_kinematics(s->m, s->w, s->q, s->v, qdd));
    OK(soa_acceleration_classical(s->m, s->w, soa_model_find_frame(s->m, link), SOA_AXES_WORLD, A));
}

/* Five links; the last two joints run through all pairs of types, the others give freedom enough
 * (7 at least). */
static ring random_ring(dice *d, long seed) {
    static const soa_joint_type inner[4] = {SOA_UNIVERSAL, SOA_SPHERICAL, SOA_REVOLUTE,
                                            SOA_CYLINDRICAL};
    ring r = {.links = 5, .pitch = roll(d, 0.05, 0.2)};
    const int n = r.links;
    for (int i = 0; i <= n; ++i) {
        if (i < n - 1) {
            r.type[i] = inner[below(d, 4)];
        } else {
            r.type[i] = (soa_joint_type)((i == n ? seed / 9 : seed) % 9);
        }
        any_axes(d, r.type[i], r.axis[i], r.axis2[i]);
        r.placement[i] = any_place(d, 0.4);
    }
    r.type[0] = SOA_SPHERICAL;
    r.type[1] = SOA_UNIVERSAL;
    r.type[2] = SOA_CYLINDRICAL;
    for (int i = 0; i < n; ++i) {
        r.body[i] = soa_body_default("x", 0, SOA_REVOLUTE);
        soa_body_box(&r.body[i], roll(d, 0.5, 3), roll(d, 0.1, 0.5), roll(d, 0.1, 0.5),
                     roll(d, 0.1, 0.5));
        roll_many(d, -0.2, 0.2, 3, r.body[i].com);
    }
    for (int i = 0; i < 2; ++i) {
        const int free = joint_nv[r.type[n - 1 + i]] > 0; /* a fixed joint has no friction */
        r.damping[i] = free * roll(d, 0, 0.5);
        r.friction[i] = free * roll(d, 0, 0.5);
        roll_many(d, -2, 2, 6, r.effort[i]);
    }
    r.end = any_place(d, 0.3);
    return r;
}

/* One ring as two trees in the same state: a is cut at joint `links`, b at the joint before. */
typedef struct two_cuts {
    ring r;
    closed *a, *b;
    double qn[7];          /* of joint `links`, which a does not have */
    char last[24];         /* name of the last link */
    soa_frame X, end;      /* in a: the last link, and joint `links` on it */
    size_t same_q, same_v; /* coordinates that both trees have come first */
} two_cuts;
static void cut_both_ways(two_cuts *t, long seed) {
    dice d = {(uint64_t)seed * 31 + 7};
    t->r = random_ring(&d, seed);
    ring *r = &t->r;
    const int n = r->links;
    any_joint_q(&d, r->type[n], t->qn);
    const soa_frame J = joint_motion(r->type[n], r->axis[n], r->axis2[n], r->pitch, t->qn),
                    out = soa_frame_inverse(&J);
    t->a = start(ring_model(r, 0), seed);
    t->a->t = 0;
    OK(soa_kinematics(t->a->m, t->a->w, t->a->q, NULL, NULL));
    snprintf(t->last, sizeof t->last, "link%d", n - 1);
    t->X = pose_of(t->a, soa_model_find_frame(t->a->m, t->last));
    t->end = soa_frame_compose(&t->X, &r->end);
    r->anchor = soa_frame_compose(&t->end, &out);
    close_ring(t->a, r, 0);
    t->b = start(ring_model(r, 1), seed);
    t->b->t = 0;
    close_ring(t->b, r, 1);
}
/* Gives b the state of a: the same but for the last joint. */
static void share_state(two_cuts *t) {
    closed *a = t->a, *b = t->b;
    const ring *r = &t->r;
    const int n = r->links, last_q[2] = {joint_nq[r->type[n - 1]], joint_nq[r->type[n]]},
              last_v[2] = {joint_nv[r->type[n - 1]], joint_nv[r->type[n]]};
    OK(soa_closed_project(a->c, a->w, 0, a->q, a->v, NULL));
    assert_int_equal(a->nv - last_v[0], b->nv - last_v[1]);
    t->same_q = (size_t)(a->nq - last_q[0]);
    t->same_v = (size_t)(a->nv - last_v[0]);
    double rates[6];
    refresh(a);
    OK(soa_constraints_joint_rates(a->c, 0, rates, NULL));
    memcpy(b->q, a->q, t->same_q * sizeof *b->q);
    memcpy(b->q + t->same_q, t->qn, (size_t)last_q[1] * sizeof *t->qn);
    memcpy(b->v, a->v, t->same_v * sizeof *b->v);
    memcpy(b->v + t->same_v, rates, (size_t)last_v[1] * sizeof *rates);
    memcpy(b->tau, a->tau, t->same_v * sizeof *b->tau);
    tree_effort(a, r, 0);
    tree_effort(b, r, 1);
}

typedef struct cut_errors {
    worst_case shut, speed, motion, accel;
} cut_errors;
static void compare_rates_of_cuts(two_cuts *t, cut_errors *e) {
    closed *a = t->a, *b = t->b;
    double rates[6];
    refresh(b);
    for (int k = 0; k < b->rows; ++k)
        note(&e->shut, fmax(fabs(b->g[k]), fabs(b->rate[k])), a->seed);
    OK(soa_constraints_joint_rates(b->c, 0, rates, NULL));
    note(&e->speed, relative(rates, a->v + t->same_v, (size_t)joint_nv[t->r.type[t->r.links - 1]]),
         a->seed);
}
static int solvable(closed *a) {
    answer dense = make_answer(a);
    a->f[0] = a->f[1] = (soa_wrench){0};
    solve_dense(a, a->tau, &dense);
    const int clear = dense.condition < 1e8 && dense.gap < 1e-26;
    free_answer(&dense);
    return clear;
}
static void add_cross(const double u[3], const double v[3], double sum[3]) {
    for (int i = 0; i < 3; ++i)
        sum[i] += u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
}
/* In a: acceleration of the last link at the end where joint `links` sits. */
static void acceleration_at_end(two_cuts *t, double A[6]) {
    closed *a = t->a;
    const int frame = soa_model_find_frame(a->m, t->last);
    double V[6], arm[3], x[3] = {0}, change[3] = {0};
    OK(soa_kinematics(a->m, a->w, a->q, a->v, a->qdd));
    OK(soa_velocity(a->m, a->w, frame, SOA_AXES_WORLD, V));
    OK(soa_acceleration_classical(a->m, a->w, frame, SOA_AXES_WORLD, A));
    for (int i = 0; i < 3; ++i)
        arm[i] = t->end.p[i] - t->X.p[i];
    add_cross(V, arm, x);
    add_cross(A, arm, change);
    add_cross(V, x, change);
    for (int i = 0; i < 3; ++i)
        A[3 + i] += change[i];
}
static void compare_accelerations(two_cuts *t, cut_errors *e) {
    closed *a = t->a, *b = t->b;
    OK(soa_closed_fd(a->c, a->w, NULL, &(soa_input){.q = a->q, .v = a->v, .tau = a->tau}, a->qdd,
                     NULL, NULL));
    OK(soa_closed_fd(b->c, b->w, NULL, &(soa_input){.q = b->q, .v = b->v, .tau = b->tau}, b->qdd,
                     NULL, NULL));
    note(&e->motion, relative(b->qdd, a->qdd, t->same_v), a->seed);
    double A1[6], A2[6];
    body_acceleration(b, t->last, b->qdd, A2);
    acceleration_at_end(t, A1);
    note(&e->accel, relative(A2, A1, 6), a->seed);
}

typedef long pair_counts[SOA_JOINT_TYPE_COUNT][SOA_JOINT_TYPE_COUNT];
static void print_pairs(pair_counts pairs) {
    int most = 0, least = 1000;
    for (int i = 0; i < SOA_JOINT_TYPE_COUNT; ++i) {
        for (int j = 0; j < SOA_JOINT_TYPE_COUNT; ++j) {
            most = pairs[i][j] > most ? (int)pairs[i][j] : most;
            least = pairs[i][j] < least ? (int)pairs[i][j] : least;
        }
    }
    printf("  all 81 pairs of joint types, %d to %d times each\n", least, most);
}
static void cut_elsewhere(void **state) {
    (void)state;
    cut_errors e = {0};
    pair_counts pairs = {{0}};
    for (long seed = first_seed(); seed < first_seed() + systems() / 2; ++seed) {
        two_cuts t;
        cut_both_ways(&t, seed);
        ++pairs[t.r.type[t.r.links - 1]][t.r.type[t.r.links]];
        share_state(&t);
        compare_rates_of_cuts(&t, &e);
        if (solvable(t.a)) compare_accelerations(&t, &e);
        close_closed(t.a);
        close_closed(t.b);
    }
    print_pairs(pairs);
    conclude("the other cut is closed too", &e.shut, 1e-12);
    conclude("rates of the cut joint", &e.speed, 1e-9);
    conclude("vdot of the joints that both trees have", &e.motion, 1e-9);
    conclude("acceleration of the link that hangs elsewhere", &e.accel, 1e-9);
}

/* ---- switching, and what is refused ---------------------------------------------------------- */
static void switching(void **state) {
    (void)state;
    worst_case same = {0};
    for (long seed = first_seed(); seed < first_seed() + 100; ++seed) {
        closed *s = open_closed(seed, 4);
        /* without constraint k: switched off, and never there */
        for (int k = 0; k < s->count; ++k) {
            const soa_constraint_capacity room = {MOST_CONSTRAINTS, MOST_ROWS, 1};
            soa_constraints *other;
            OK(soa_constraints_create(s->m, &room, &other));
            for (int j = 0; j < s->count; ++j) {
                int number;
                if (j == k) continue;
                OK(soa_constraints_add(other, s->def + j, &number, NULL));
                if (s->def[j].kind == SOA_LOOP)
                    OK(soa_constraints_set_effort(other, number, s->effort[j]));
            }
            const int rows = soa_constraints_row_count(s->c);
            int first, n;
            OK(soa_constraints_row_range(s->c, k, NULL, &n));
            OK(soa_constraints_switch(s->c, k, 0));
            assert_int_equal(soa_constraints_row_count(s->c), rows - n);
            assert_int_equal(soa_constraints_count(s->c), s->count);
            OK(soa_constraints_row_range(s->c, k, &first, &n));
            assert_int_equal(n, 0);
            const soa_status one = soa_closed_fd(s->c, s->w, NULL,
                                                 &(soa_input){.q = s->q,
                                                              .v = s->v,
                                                              .tau = s->tau,
                                                              .wrenches = s->f,
                                                              .wrench_count = 2,
                                                              .t = s->t},
                                                 s->qdd, s->lambda, NULL);
            const soa_status two = soa_closed_fd(other, s->w, NULL,
                                                 &(soa_input){.q = s->q,
                                                              .v = s->v,
                                                              .tau = s->tau,
                                                              .wrenches = s->f,
                                                              .wrench_count = 2,
                                                              .t = s->t},
                                                 s->v1, s->rate, NULL);
            assert_int_equal(one, two);
            if (one == SOA_OK) note(&same, relative(s->qdd, s->v1, (size_t)s->nv), seed);
            OK(soa_constraints_switch(s->c, k, 1));
            assert_int_equal(soa_constraints_row_count(s->c), rows);
            soa_constraints_free(other);
        }
        if (s->count > 1) { /* a number that was freed is given again, the others keep theirs */
            char name[32];
            snprintf(name, sizeof name, "%s", soa_constraints_name(s->c, 1));
            OK(soa_constraints_remove(s->c, 0));
            assert_string_equal(soa_constraints_name(s->c, 1), name);
            assert_null(soa_constraints_name(s->c, 0));
            REFUSED(SOA_E_ARGUMENT, soa_constraints_remove(s->c, 0));
            REFUSED(SOA_E_ARGUMENT, soa_constraints_switch(s->c, 0, 1));
            int number = -1;
            OK(soa_constraints_add(s->c, s->def, &number, NULL));
            assert_int_equal(number, 0);
            if (s->def[0].kind == SOA_LOOP) OK(soa_constraints_set_effort(s->c, 0, s->effort[0]));
            OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .t = s->t},
                                        s->g, NULL, NULL, s->lambda));
            assert_memory_equal(s->lambda, s->gamma, (size_t)s->rows * sizeof *s->gamma);
        }
        close_closed(s);
    }
    conclude("switched off = never there", &same, 0);
}

static void nothing_finite(void *user, double t, double out[3]) {
    (void)user;
    (void)t;
    out[0] = out[1] = 0;
    out[2] = NAN;
}
static void not_added(closed *s, const soa_constraint_def *def, soa_status status,
                      const char *said) {
    soa_report report = {0};
    int number = 77;
    REFUSED(status, soa_constraints_add(s->c, def, &number, &report));
    assert_int_equal(number, 77);
    assert_int_equal(report.status, status);
    if (!strstr(report.text, said)) fail_msg("\"%s\" does not say \"%s\"", report.text, said);
}
/* A four-bar at an angle of 0.7, its loop shut by "hinge". */
static closed *hinged_four_bar(void) {
    const soa_frame base = soa_frame_identity();
    closed *s = four_bar(FOUR_BAR, &base, 0.7, 1, 1);
    soa_constraint_def c = shut(s, FOUR_BAR, SOA_REVOLUTE);
    c.name = "hinge";
    add(s, &c);
    OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL));
    return s;
}
static void refuse_frames_and_joints(closed *s, const soa_constraint_def *good) {
    soa_constraint_def bad = *good;
    bad.frame1 = 99;
    not_added(s, &bad, SOA_E_NAME, "99");
    bad = *good;
    bad.frame2 = -1;
    not_added(s, &bad, SOA_E_NAME, "-1");
    bad = *good;
    bad.frame2 = bad.frame1;
    not_added(s, &bad, SOA_E_ARGUMENT, "two bodies");
    bad = *good;
    bad.kind = (soa_constraint_kind)9;
    not_added(s, &bad, SOA_E_ARGUMENT, "9");
    bad = *good;
    bad.joint = (soa_joint_type)17;
    not_added(s, &bad, SOA_E_JOINT, "17");
    bad = *good;
    bad.axis[2] = 0;
    not_added(s, &bad, SOA_E_JOINT, "axis");
    bad = *good;
    bad.joint = SOA_UNIVERSAL;
    memcpy(bad.axis2, bad.axis, sizeof bad.axis);
    not_added(s, &bad, SOA_E_JOINT, "parallel");
    bad = *good;
    bad.axis[0] = NAN;
    not_added(s, &bad, SOA_E_JOINT, "axis");
    bad = *good;
    bad.place1.R[0] = 2;
    not_added(s, &bad, SOA_E_FRAME, "rotation");
    bad = *good;
    bad.place2.p[0] = NAN;
    not_added(s, &bad, SOA_E_FRAME, "finite");
}
static void refuse_numbers(closed *s, const soa_constraint_def *good) {
    soa_constraint_def bad = *good;
    bad.damping = -1;
    not_added(s, &bad, SOA_E_NOT_FINITE, "damping");
    bad = *good;
    bad.friction = NAN;
    not_added(s, &bad, SOA_E_NOT_FINITE, "friction");
    bad = *good;
    bad.drive = drive;
    not_added(s, &bad, SOA_E_ARGUMENT, "driven");
    bad = *good;
    bad.kind = SOA_DISTANCE;
    bad.value = 0;
    not_added(s, &bad, SOA_E_ARGUMENT, "positive");
    bad = *good;
    bad.kind = SOA_ROLLING;
    bad.value = -1;
    not_added(s, &bad, SOA_E_ARGUMENT, "radius");
    bad = *good;
    bad.kind = SOA_VELOCITY;
    bad.row_count = 7;
    not_added(s, &bad, SOA_E_ARGUMENT, "7 rows");
    bad = *good;
    bad.kind = SOA_VELOCITY;
    bad.row_count = 1;
    bad.rows[0][0] = INFINITY;
    not_added(s, &bad, SOA_E_ARGUMENT, "finite");
    bad = *good;
    bad.kind = SOA_RATIO;
    not_added(s, &bad, SOA_E_ARGUMENT, "coordinate");
    bad = *good;
    bad.kind = SOA_RATIO;
    bad.coordinate[0] = 9;
    bad.coefficient[0] = 1;
    not_added(s, &bad, SOA_E_JOINT, "9");
    bad = *good;
    bad.kind = SOA_RATIO;
    bad.coordinate[0] = 1;
    bad.coefficient[0] = NAN;
    not_added(s, &bad, SOA_E_NOT_FINITE, "coefficient");
}
static void refuse_names_and_one_too_many(closed *s, const soa_constraint_def *good) {
    soa_constraint_def c = *good, bad = *good;
    char long_name[129];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    bad.name = long_name;
    not_added(s, &bad, SOA_E_NAME, "127");
    c.name = "hinge";
    add(s, &c);
    not_added(s, &c, SOA_E_NAME, "already");
    c.name = NULL;
    c.joint = SOA_FREE;
    for (int k = 1; k < MOST_CONSTRAINTS; ++k)
        add(s, &c);
    c.name = "one more";
    not_added(s, &c, SOA_E_MEMORY, "room");
}
static void refused_constraints(void **state) {
    (void)state;
    const soa_frame base = soa_frame_identity();
    closed *s = four_bar(FOUR_BAR, &base, 0.7, 1, 1);
    const soa_constraint_def c = shut(s, FOUR_BAR, SOA_REVOLUTE);
    refuse_frames_and_joints(s, &c);
    refuse_numbers(s, &c);
    REFUSED(SOA_E_ARGUMENT, soa_constraints_add(NULL, &c, NULL, NULL));
    REFUSED(SOA_E_ARGUMENT, soa_constraints_add(s->c, NULL, NULL, NULL));
    refuse_names_and_one_too_many(s, &c);
    for (int k = 1; k < MOST_CONSTRAINTS; ++k)
        OK(soa_constraints_remove(s->c, k));
    OK(soa_closed_project(s->c, s->w, 0, s->q, s->v, NULL));
    close_closed(s);
}

/* Refused, and the accelerations are not written. */
static void fd_refused(closed *s, soa_status status, const soa_closed_options *o,
                       const soa_input *input) {
    double qdd[3] = {5, 5, 5}, lambda[5];
    REFUSED(status, soa_closed_fd(s->c, s->w, o, input, qdd, lambda, NULL));
    assert_true(qdd[0] == 5);
    REFUSED(status, soa_closed_fd(s->c, s->w, o, input, qdd, NULL, NULL));
    assert_true(qdd[0] == 5);
}
static void refused_forward_dynamics(void **state) {
    (void)state;
    closed *s = hinged_four_bar();
    const soa_input good = {.q = s->q, .v = s->v, .tau = s->tau};
    const double bad[3] = {s->q[0], NAN, s->q[2]};
    const soa_closed_options defaults = soa_closed_options_default();
    fd_refused(s, SOA_E_NOT_FINITE, &defaults, &(soa_input){.q = bad, .v = s->v, .tau = s->tau});
    fd_refused(s, SOA_E_NOT_FINITE, &defaults, &(soa_input){.q = s->q, .v = bad, .tau = s->tau});
    fd_refused(s, SOA_E_NOT_FINITE, &defaults, &(soa_input){.q = s->q, .v = s->v, .tau = bad});
    fd_refused(s, SOA_E_ARGUMENT, &defaults,
               &(soa_input){.q = s->q, .v = s->v, .tau = s->tau, .t = NAN});
    soa_closed_options o = defaults;
    o.method = (soa_closed_method)8;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    o = defaults;
    o.rank_tolerance = NAN;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    o = defaults;
    o.damping = -1;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    o = defaults;
    o.baumgarte[1] = NAN;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    o = defaults;
    o.consistency = NAN;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    o = defaults;
    o.most_condition = NAN;
    fd_refused(s, SOA_E_ARGUMENT, &o, &good);
    double qdd[3] = {5, 5, 5};
    REFUSED(SOA_E_ARGUMENT, soa_closed_fd(NULL, s->w, NULL, &good, qdd, NULL, NULL));
    REFUSED(SOA_E_ARGUMENT, soa_closed_fd(s->c, NULL, NULL, &good, qdd, NULL, NULL));
    REFUSED(SOA_E_ARGUMENT, soa_closed_fd(s->c, s->w, NULL, &good, NULL, NULL, NULL));
    assert_true(qdd[0] == 5);
    const soa_wrench far = {77, SOA_AXES_WORLD, {0}};
    fd_refused(
        s, SOA_E_ARGUMENT, NULL,
        &(soa_input){.q = s->q, .v = s->v, .tau = s->tau, .wrenches = &far, .wrench_count = 1});
    close_closed(s);
}
static void refused_inverse_dynamics_and_positions(void **state) {
    (void)state;
    closed *s = hinged_four_bar();
    double bad[3] = {s->q[0], NAN, s->q[2]}, tau[3] = {5, 5, 5};
    const double off[3] = {1, 0, 0}; /* an acceleration that the loop forbids */
    const unsigned char none[3] = {0};
    REFUSED(
        SOA_E_INCONSISTENT,
        soa_closed_id(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .a = off}, NULL, tau, NULL));
    OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau}, s->qdd,
                     NULL, NULL));
    REFUSED(SOA_E_INCONSISTENT,
            soa_closed_id(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .a = s->qdd}, none, tau,
                          NULL));
    REFUSED(
        SOA_E_NOT_FINITE,
        soa_closed_id(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .a = bad}, NULL, tau, NULL));
    assert_true(tau[0] == 5); /* nothing was written */
    soa_report report;
    REFUSED(SOA_E_NOT_FINITE, soa_closed_project(s->c, s->w, 0, bad, s->v, NULL));
    REFUSED(SOA_E_NOT_FINITE, soa_closed_assemble(s->c, s->w, 0, NULL, bad, &report));
    REFUSED(SOA_E_ARGUMENT, soa_closed_assemble(s->c, s->w, 0, NULL, NULL, NULL));
    const double effort[6] = {NAN};
    REFUSED(SOA_E_NOT_FINITE, soa_constraints_set_effort(s->c, 0, effort));
    REFUSED(SOA_E_ARGUMENT, soa_constraints_set_effort(s->c, 3, effort));
    close_closed(s);
}

/* A drive that returns no number. */
static void refused_drive(void **state) {
    (void)state;
    closed *s = hinged_four_bar();
    soa_constraint_def r = soa_constraint_default(SOA_RATIO, 0, 0);
    r.coordinate[0] = 1;
    r.coefficient[0] = 1;
    r.drive = nothing_finite;
    add(s, &r);
    fd_refused(s, SOA_E_NOT_FINITE, NULL, &(soa_input){.q = s->q, .v = s->v, .tau = s->tau});
    OK(soa_constraints_remove(s->c, 1));
    close_closed(s);
}
/* A distance of zero has no direction. Crank and coupler in line reach (1.3, 0), the rocker's end
 * is at (1.7, 0): its point is shifted there. */
static void refused_distance(void **state) {
    (void)state;
    closed *s = hinged_four_bar();
    const double in_line[3] = {0, 0, 0};
    soa_constraint_def r = soa_constraint_default(SOA_DISTANCE, s->def[0].frame1, s->def[0].frame2);
    r.place1 = s->def[0].place1;
    r.place2 = s->def[0].place2;
    r.value = 1;
    r.place2.p[0] += 0.4;
    add(s, &r);
    OK(soa_constraints_switch(s->c, 0, 0));
    fd_refused(s, SOA_E_SINGULAR, NULL, &(soa_input){.q = in_line, .v = s->v, .tau = s->tau});
    close_closed(s);
}

/* Room: none for the dense methods, too little memory, misaligned. */
static void refused_room(void **state) {
    (void)state;
    const soa_frame base = soa_frame_identity();
    closed *s = four_bar(FOUR_BAR, &base, 0.7, 1, 1);
    const soa_constraint_capacity thin = {1, 5, 0}, mad = {-1, 5, 0};
    const size_t size = soa_constraints_size(s->m, &thin);
    char *memory = aligned_alloc(64, (size + 127) / 64 * 64);
    soa_constraints *lean;
    assert_true(size > 0 && soa_constraints_size(s->m, &mad) == 0 &&
                soa_constraints_size(NULL, &thin) == 0);
    REFUSED(SOA_E_MEMORY, soa_constraints_init(s->m, &thin, memory, size - 1, &lean));
    REFUSED(SOA_E_MEMORY, soa_constraints_init(s->m, &thin, memory + 8, size, &lean));
    REFUSED(SOA_E_ARGUMENT, soa_constraints_init(s->m, &mad, memory, size, &lean));
    OK(soa_constraints_init(s->m, &thin, memory, size, &lean));
    const soa_constraint_def c = shut(s, FOUR_BAR, SOA_REVOLUTE);
    OK(soa_constraints_add(lean, &c, NULL, NULL));
    OK(soa_closed_project(lean, s->w, 0, s->q, s->v, NULL));
    soa_closed_options o = soa_closed_options_default();
    OK(soa_closed_fd(lean, s->w, &o, &(soa_input){.q = s->q, .v = s->v}, s->qdd, s->lambda, NULL));
    o.method = SOA_CLOSED_KKT;
    REFUSED(SOA_E_MEMORY,
            soa_closed_fd(lean, s->w, &o, &(soa_input){.q = s->q, .v = s->v}, s->qdd, NULL, NULL));
    REFUSED(SOA_E_MEMORY, soa_closed_id(lean, s->w, &(soa_input){.q = s->q, .v = s->v, .a = s->qdd},
                                        NULL, s->tau, NULL));
    free(memory);
    close_closed(s);
}

/* A mimic joint's follower cannot be part of a ratio. */
static void refused_follower(void **state) {
    (void)state;
    for (int seed = 1, found = 0; !found; ++seed) {
        char name[32];
        const soa_model *m;
        snprintf(name, sizeof name, "random:%d", seed);
        OK(soa_stock_model_create(name, NULL, &m, NULL));
        closed *s = start(m, seed);
        for (int b = 1; b <= s->nb; ++b) {
            soa_body_info info;
            soa_report report;
            OK(soa_model_body(m, b, &info));
            soa_constraint_def r = soa_constraint_default(SOA_RATIO, 0, 0);
            r.coordinate[0] = b;
            r.coefficient[0] = 1;
            if (info.mimic >= 0) {
                REFUSED(SOA_E_MIMIC, soa_constraints_add(s->c, &r, NULL, &report));
                found = 1;
            }
        }
        close_closed(s);
    }
}

/* Efforts act at rest too (v NULL), and assembly finds its way from any turn; failure is reported. */
static void odds(void **state) {
    (void)state;
    const double L[4] = {1, 0.4, 0.9, 0.7}, effort[6] = {3, 1, 2, 1, 1, 1};
    const soa_frame base = soa_frame_identity();
    closed *s = four_bar(L, &base, 0.7, 1, 0);
    soa_constraint_def c = shut(s, L, SOA_REVOLUTE);
    c.name = "hinge";
    add(s, &c);
    OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q}, s->qdd, NULL, NULL));
    OK(soa_constraints_set_effort(s->c, 0, effort));
    OK(soa_closed_fd(s->c, s->w, NULL, &(soa_input){.q = s->q}, s->v1, NULL, NULL));
    assert_true(fabs(s->v1[0] - s->qdd[0]) > 0.1);
    /* Baumgarte's terms, off the loop and with any velocity */
    worst_case pulled = {0};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
        soa_closed_options o = soa_closed_options_default();
        o.method = methods[k];
        o.baumgarte[0] = 20;
        o.baumgarte[1] = 100;
        s->q[1] += 0.01;
        s->v[0] = 1;
        s->v[1] = -2;
        s->v[2] = 0.5;
        OK(soa_closed_fd(s->c, s->w, &o, &(soa_input){.q = s->q, .v = s->v}, s->qdd, NULL, NULL));
        refresh(s);
        for (int r = 0; r < s->rows; ++r)
            note(&pulled,
                 fabs(dot(3, s->G + 3 * r, s->qdd) + s->gamma[r] + 20 * s->rate[r] + 100 * s->g[r]),
                 (long)k);
    }
    conclude("G vdot + gamma + b0 rate + b1 g = 0", &pulled, 1e-11);
    soa_report report;
    s->q[0] = 0.3;
    s->q[1] = 0.2;
    s->q[2] = 2; /* a guess far off closes */
    OK(soa_closed_assemble(s->c, s->w, 0, NULL, s->q, &report));
    /* a rod too short to reach */
    soa_constraint_def r =
        soa_constraint_default(SOA_DISTANCE, 0, soa_model_find_frame(s->m, "coupler"));
    r.name = "leash";
    r.place1.p[0] = 9;
    r.value = 1;
    add(s, &r);
    memcpy(s->q1, s->q, 3 * sizeof *s->q);
    REFUSED(SOA_E_NO_CONVERGENCE, soa_closed_assemble(s->c, s->w, 0, NULL, s->q, &report));
    printf("  %s\n", report.text);
    assert_true(strstr(report.text, "leash") || strstr(report.text, "hinge"));
    assert_memory_equal(s->q, s->q1, 3 * sizeof *s->q);
    close_closed(s);

    worst_case turned = {0};
    dice d = {(uint64_t)first_seed()};
    for (int k = 0; k < 400;
         /* a free body that must come to rest in a place, from any attitude; also half turns */
         ++k) {
        static const soa_joint_type types[] = {SOA_FIXED, SOA_PRISMATIC, SOA_REVOLUTE,
                                               SOA_CYLINDRICAL, SOA_PLANAR};
        soa_body_def b = soa_body_default("body", 0, SOA_FREE);
        soa_body_box(&b, 1, 0.2, 0.3, 0.4);
        soa_model_def def = soa_model_default("body", &b, 1);
        const soa_model *m;
        OK(soa_model_create(&def, &m, NULL));
        s = start(m, k + 1);
        c = soa_constraint_default(SOA_LOOP, 0, soa_model_find_frame(m, "body"));
        c.joint = types[k % 5];
        any_axes(&d, c.joint, c.axis, c.axis2);
        add(s, &c);
        double a[3] = {k / 5 % 4 == 0, k / 5 % 4 == 1, k / 5 % 4 == 2};
        if (k / 5 % 4 == 3) direction(&d, a);
        const double angle = k < 40 ? 3.14159265358979323846 : roll(&d, -3.1, 3.1);
        for (int j = 0; j < 3; ++j) {
            s->q[j] = roll(&d, -1, 1);
            s->q[4 + j] = sin(angle / 2) * a[j];
        }
        s->q[3] = cos(angle / 2);
        if (soa_closed_assemble(s->c, s->w, 0, NULL, s->q, &report))
            fail_msg("case %d: %s", k, report.text);
        refresh(s);
        for (int i = 0; i < s->rows; ++i)
            note(&turned, fabs(s->g[i]), k);
        close_closed(s);
    }
    conclude("assembly from any attitude", &turned, 1e-10);
}

/* ---- cost: about one sweep for each row, and three ------------------------------------------- */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others may be at work here */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void cost(void **state) {
    (void)state;
    for (int n = 500; n <= 4000; n *= 2) { /* a chain whose end is welded to the world: 6 rows */
        char name[32];
        const soa_model *m;
        snprintf(name, sizeof name, "chain:%d", n);
        OK(soa_stock_model_create(name, NULL, &m, NULL));
        soa_work *w;
        soa_constraints *c;
        const soa_constraint_capacity room = {1, 6, 0};
        OK(soa_work_create(m, &w));
        OK(soa_constraints_create(m, &room, &c));
        const size_t nv = (size_t)soa_model_nv(m);
        double *q = calloc((size_t)soa_model_nq(m), 8), *v = calloc(nv, 8), *qdd = calloc(nv, 8),
               best[2] = {1, 1};
        dice d = {7};
        roll_many(&d, -0.3, 0.3, (size_t)soa_model_nq(m), q);
        soa_body_info tip;
        soa_constraint_def def;
        OK(soa_model_body(m, n, &tip));
        OK(soa_kinematics(m, w, q, NULL, NULL));
        def = soa_constraint_default(SOA_LOOP, 0, tip.frame);
        def.joint = SOA_FIXED;
        OK(soa_pose(m, w, tip.frame, &def.place1));
        OK(soa_constraints_add(c, &def, NULL, NULL));
        for (int k = 0; k < 12; ++k) {
            double t = seconds();
            OK(soa_closed_fd(c, w, NULL, &(soa_input){.q = q, .v = v}, qdd, NULL, NULL));
            best[0] = fmin(best[0], seconds() - t);
            t = seconds();
            OK(soa_aba(m, w, q, v, NULL, NULL, 0, qdd));
            best[1] = fmin(best[1], seconds() - t);
        }
        printf("  chain of %d, 6 rows: %.0f us, %.3f us for each body; %.1f times soa_aba\n", n,
               best[0] * 1e6, best[0] * 1e6 / n, best[0] / best[1]);
        assert_true(best[0] < 3 * (6 + 3) * best[1]); /* wide, for sanitizers */
        free(q);
        free(v);
        free(qdd);
        soa_constraints_free(c);
        soa_work_free(w);
        soa_model_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(redundancy),
                                       cmocka_unit_test(contradiction),
                                       cmocka_unit_test(near_singular),
                                       cmocka_unit_test(massless),
                                       cmocka_unit_test(massless_base),
                                       cmocka_unit_test(cut_elsewhere),
                                       cmocka_unit_test(switching),
                                       cmocka_unit_test(refused_constraints),
                                       cmocka_unit_test(refused_forward_dynamics),
                                       cmocka_unit_test(refused_inverse_dynamics_and_positions),
                                       cmocka_unit_test(refused_drive),
                                       cmocka_unit_test(refused_distance),
                                       cmocka_unit_test(refused_room),
                                       cmocka_unit_test(refused_follower),
                                       cmocka_unit_test(odds),
                                       cmocka_unit_test(cost)};
    return cmocka_run_group_tests_name("closed_known", tests, NULL, NULL);
}
