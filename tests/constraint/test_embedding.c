/* test_embedding.c  closed chains in primary joints (WD89): truncated Taylor arithmetic against
 * known derivatives; a four-bar and a planar machine with two loops like WD89's Figure 1, by
 * explicit U and by the loop equations, against the dynamics of the closed tree; random closed
 * systems. */
#include "closed_systems.h"
#include <lapacke.h>

/* ---- Taylor arithmetic ----------------------------------------------------------------------- */
typedef soa_taylor T;
#define ADD soa_taylor_add
#define SUB soa_taylor_sub
#define MUL soa_taylor_mul
#define DIV soa_taylor_div
#define SIN soa_taylor_sin
#define COS soa_taylor_cos
#define LIN soa_taylor_affine

static void compare(worst_case *w, T got, const double *derivatives, int order, long seed) {
    double size = 1;
    assert_int_equal(got.order, order);
    for (int k = 0; k <= order; ++k)
        size = fmax(size, fabs(derivatives[k]));
    for (int k = 0; k <= order; ++k)
        note(w, fabs(soa_taylor_derivative(got, k) - derivatives[k]) / size, seed);
}
static void known_derivatives(void **state) {
    (void)state;
    enum { ORDER = 6 };
    worst_case known = {0}, same = {0};
    for (long seed = first_seed(); seed < first_seed() + 300; ++seed) {
        dice d = {(uint64_t)seed};
        const double x = roll(&d, 0.3, 2), s = roll(&d, -2, 2), half_pi = 1.57079632679489661923;
        const T X = soa_taylor_variable(ORDER, x, s);
        const double cubic[ORDER + 1] = {x * x * x, 3 * x * x, 6 * x, 6};
        double f[ORDER + 1], power = 1, fall = 1, root = 1;
        double sine[ORDER + 1], cosine[ORDER + 1], ex[ORDER + 1], in[ORDER + 1], lg[ORDER + 1],
            sq[ORDER + 1], cube[ORDER + 1], waves[ORDER + 1];
        for (int k = 0; k <= ORDER; ++k, power *= s) {
            sine[k] = power * sin(x + k * half_pi);
            cosine[k] = power * cos(x + k * half_pi);
            ex[k] = power * exp(x);
            in[k] = power * fall * pow(x, -1 - k); /* (-1)^k k! x^(-1-k) */
            sq[k] = power * root * pow(x, 0.5 - k);
            cube[k] = power * cubic[k];
            waves[k] = power * pow(2, k / 2.0) * exp(x) * sin(x + k * half_pi / 2);
            if (k) {
                lg[k] = power * (k % 2 ? 1 : -1) * tgamma(k) * pow(x, -k);
            } else {
                lg[k] = log(x);
            }
            fall *= -(k + 1);
            root *= 0.5 - k;
        }
        compare(&known, SIN(X), sine, ORDER, seed);
        compare(&known, COS(X), cosine, ORDER, seed);
        compare(&known, soa_taylor_exp(X), ex, ORDER, seed);
        compare(&known, DIV(soa_taylor_constant(1), X), in, ORDER, seed);
        compare(&known, soa_taylor_pow(X, -1), in, ORDER, seed);
        compare(&known, soa_taylor_log(X), lg, ORDER, seed);
        compare(&known, soa_taylor_sqrt(X), sq, ORDER, seed);
        compare(&known, soa_taylor_pow(X, 0.5), sq, ORDER, seed);
        compare(&known, MUL(X, MUL(X, X)), cube, ORDER, seed);
        compare(&known, soa_taylor_pow(X, 3), cube, ORDER, seed);
        compare(&known, MUL(soa_taylor_exp(X), SIN(X)), waves, ORDER, seed);
        /* x^3 y^2 along a direction: sum over k of the binomial of the two series */
        const double y = roll(&d, -1, 1), r = roll(&d, -2, 2);
        const T Y = soa_taylor_variable(ORDER, y, r);
        const double yy[3] = {y * y, 2 * y * r, 2 * r * r};
        for (int k = 0; k <= ORDER; ++k) {
            f[k] = 0;
            for (int i = 0; i <= k; ++i)
                if (k - i < 3)
                    f[k] +=
                        tgamma(k + 1) / (tgamma(i + 1) * tgamma(k - i + 1)) * cube[i] * yy[k - i];
        }
        compare(&known, MUL(soa_taylor_pow(X, 3), MUL(Y, Y)), f, ORDER, seed);
        /* functions undone: any series Z comes back */
        T Z = soa_taylor_variable(ORDER, roll(&d, 0.8, 1.2), roll(&d, -1, 1));
        for (int k = 2; k <= ORDER; ++k)
            Z.c[k] = roll(&d, -0.3, 0.3);
        for (int k = 0; k <= ORDER; ++k)
            f[k] = soa_taylor_derivative(Z, k);
        compare(&same, soa_taylor_log(soa_taylor_exp(Z)), f, ORDER, seed);
        compare(&same, MUL(soa_taylor_sqrt(Z), soa_taylor_sqrt(Z)), f, ORDER, seed);
        compare(&same, MUL(DIV(Z, COS(Y)), COS(Y)), f, ORDER, seed);
        compare(&same, SUB(ADD(Z, Y), Y), f, ORDER, seed);
        compare(&same, soa_taylor_atan2(SIN(Z), COS(Z)), f, ORDER, seed);
        compare(&same, soa_taylor_hypot(MUL(Z, SIN(Y)), MUL(Z, COS(Y))), f, ORDER, seed);
        compare(&same, LIN(2, LIN(0.5, Z, -3), 6), f, ORDER, seed);
        compare(&same, soa_taylor_atan(soa_taylor_tan(Z)), f, ORDER, seed);
        compare(&same, soa_taylor_asin(SIN(Z)), f, ORDER, seed);
        compare(&same, soa_taylor_acos(COS(Z)), f, ORDER, seed);
        const double one[ORDER + 1] = {1};
        compare(&same, ADD(MUL(SIN(Z), SIN(Z)), MUL(COS(Z), COS(Z))), one, ORDER, seed);
    }
    conclude("derivatives of order up to 6, known in closed form", &known, 1e-12);
    conclude("functions undone", &same, 1e-11);
    /* what has no series says so; orders are kept within bounds */
    assert_false(soa_taylor_sqrt(soa_taylor_variable(2, 0, 1)).c[1] < 1e300);
    assert_true(isnan(soa_taylor_log(soa_taylor_variable(1, -1, 1)).c[0]));
    assert_false(fabs(DIV(soa_taylor_constant(1), soa_taylor_variable(1, 0, 1)).c[0]) < 1e300);
    assert_int_equal(soa_taylor_variable(99, 1, 1).order, SOA_TAYLOR_MOST);
    assert_int_equal(soa_taylor_variable(-1, 1, 1).order, 0);
    assert_true(soa_taylor_derivative(soa_taylor_variable(2, 1, 3), 5) == 0);
}

/* ---- machines -------------------------------------------------------------------------------- */
static soa_body_def bar(const char *name, int parent, soa_joint_type type, double length, double x,
                        double y) {
    soa_body_def b = soa_body_default(name, parent, type);
    soa_body_box(&b, 1 + length, length, 0.05, 0.08);
    b.com[0] = length / 2;
    b.placement.p[0] = x;
    b.placement.p[1] = y;
    b.joint.damping = 0.3;
    b.joint.friction_positive = 0.1;
    b.joint.friction_negative = 0.2;
    return b;
}
/* Ground L[0], crank L[1] (primary), coupler L[2], rocker L[3]. */
static const double L4[4] = {1, 0.4, 0.9, 0.7};
static bool four_bar_U(void *user, T *q) {
    const double *L = user;
    const T x = LIN(-L[1], COS(q[0]), L[0]), y = LIN(-L[1], SIN(q[0]), 0);
    const T r = soa_taylor_hypot(x, y), rr = MUL(r, r);
    const T inner =
        soa_taylor_acos(DIV(LIN(1, rr, L[2] * L[2] - L[3] * L[3]), LIN(2 * L[2], r, 0)));
    const T coupler = ADD(soa_taylor_atan2(y, x), inner);
    q[1] = SUB(coupler, q[0]);
    q[2] =
        soa_taylor_atan2(LIN(1, ADD(LIN(L[1], SIN(q[0]), 0), LIN(L[2], SIN(coupler), 0)), 0),
                         LIN(1, ADD(LIN(L[1], COS(q[0]), 0), LIN(L[2], COS(coupler), 0)), -L[0]));
    return 0;
}
static const soa_model *four_bar_model(void) {
    soa_body_def b[3] = {bar("crank", 0, SOA_REVOLUTE, L4[1], 0, 0),
                         bar("coupler", 1, SOA_REVOLUTE, L4[2], L4[1], 0),
                         bar("rocker", 0, SOA_REVOLUTE, L4[3], L4[0], 0)};
    soa_model_def def = soa_model_default("four-bar", b, 3);
    const soa_model *m;
    def.gravity[1] = -9.81;
    def.gravity[2] = 0; /* in the plane */
    OK(soa_model_create(&def, &m, NULL));
    return m;
}
/* The pin between coupler and rocker; rubbing: with friction and a motor. */
static void four_bar_loop(soa_constraints *c, const soa_model *m, int rubbing) {
    soa_constraint_def d = soa_constraint_default(SOA_LOOP, soa_model_find_frame(m, "rocker"),
                                                  soa_model_find_frame(m, "coupler"));
    const double effort[6] = {0.7 * rubbing};
    d.place1.p[0] = L4[3];
    d.place2.p[0] = L4[2];
    d.damping = 0.2 * rubbing;
    d.friction = 0.15 * rubbing;
    OK(soa_constraints_add(c, &d, NULL, NULL));
    OK(soa_constraints_set_effort(c, 0, effort));
}

/* WD89's Figure 1, dimensions ours: links 1, 2, 3 on each other; cylinders 4-5 from the base to
 * link 1 (loop (8), cut at the pin 8) and 6-7 from the base to link 2 (loop (9), cut at the pin 9).
 * Q = q5, q7, q3.  Order of q: 1, 2, 3, 4, 5, 6, 7. */
static const double B1[2] = {0.4, -0.3}, B2[2] = {-0.3, 0.5}, P1[2] = {0.9, 0.1},
                    P2[2] = {0.5, 0.15}, LINK1 = 1.2;
/* Angle about `pivot` at which a point at (px, py) of the link is `length` from `from`; `side`
 * chooses the triangle. */
/* fx, fy: from the pivot to `from` */
static T lift(T fx, T fy, const double p[2], T length, double side) {
    const double r = hypot(p[0], p[1]);
    const T far = soa_taylor_hypot(fx, fy);
    const T cosine =
        DIV(SUB(LIN(1, MUL(far, far), r * r), MUL(length, length)), LIN(2 * r, far, 0));
    return LIN(1, ADD(soa_taylor_atan2(fy, fx), LIN(side, soa_taylor_acos(cosine), 0)),
               -atan2(p[1], p[0]));
}
static T turn_x(T angle, const double p[2]) {
    return SUB(LIN(p[0], COS(angle), 0), LIN(p[1], SIN(angle), 0));
}
static T turn_y(T angle, const double p[2]) {
    return ADD(LIN(p[0], SIN(angle), 0), LIN(p[1], COS(angle), 0));
}
static bool figure_1_U(void *user, T *q) {
    (void)user;
    const double along[2] = {LINK1, 0};
    q[0] = lift(soa_taylor_constant(B1[0]), soa_taylor_constant(B1[1]), P1, q[4], 1);
    q[3] = soa_taylor_atan2(LIN(1, turn_y(q[0], P1), -B1[1]), LIN(1, turn_x(q[0], P1), -B1[0]));
    const T ex = turn_x(q[0], along), ey = turn_y(q[0], along); /* the elbow */
    const T second = lift(LIN(-1, ex, B2[0]), LIN(-1, ey, B2[1]), P2, q[6], -1);
    q[1] = SUB(second, q[0]);
    q[5] = soa_taylor_atan2(LIN(1, ADD(ey, turn_y(second, P2)), -B2[1]),
                            LIN(1, ADD(ex, turn_x(second, P2)), -B2[0]));
    return 0;
}
static const soa_model *figure_1_model(void) {
    soa_body_def b[7] = {
        bar("1", 0, SOA_REVOLUTE, LINK1, 0, 0), bar("2", 1, SOA_REVOLUTE, 1, LINK1, 0),
        bar("3", 2, SOA_REVOLUTE, 0.4, 1, 0),   bar("4", 0, SOA_REVOLUTE, 0.3, B1[0], B1[1]),
        bar("5", 4, SOA_PRISMATIC, 0.3, 0, 0),  bar("6", 0, SOA_REVOLUTE, 0.3, B2[0], B2[1]),
        bar("7", 6, SOA_PRISMATIC, 0.3, 0, 0)};
    b[4].joint.axis[0] = b[6].joint.axis[0] = 1;
    b[4].joint.axis[2] = b[6].joint.axis[2] = 0;
    soa_model_def def = soa_model_default("WD89 figure 1", b, 7);
    const soa_model *m;
    def.gravity[1] = -9.81;
    def.gravity[2] = 0;
    OK(soa_model_create(&def, &m, NULL));
    return m;
}
static void figure_1_loops(soa_constraints *c, const soa_model *m, int rubbing) {
    const char *arm[2] = {"1", "2"}, *rod[2] = {"5", "7"};
    for (int i = 0; i < 2; ++i) {
        soa_constraint_def d = soa_constraint_default(SOA_LOOP, soa_model_find_frame(m, arm[i]),
                                                      soa_model_find_frame(m, rod[i]));
        const double effort[6] = {(0.4 - i) * rubbing};
        int number;
        memcpy(d.place1.p, i ? P2 : P1, 2 * sizeof(double));
        d.damping = 0.1 * rubbing;
        d.friction = (0.05 + i) * rubbing;
        OK(soa_constraints_add(c, &d, &number, NULL));
        OK(soa_constraints_set_effort(c, number, effort));
    }
}

/* One machine, three embeddings of it: by function, by function with the constraints (whose cut
 * joints then act), and by the constraints; against soa_closed_fd and soa_closed_id. */
typedef struct machine {
    const soa_model *m;
    soa_work *w;
    soa_constraints *c, *smooth; /* the same loops with and without friction and motors at the
                                  * pins */
    soa_embedding *by[3];
    int nq, nv, n, primary[8];
    unsigned char mask[8];
} machine;
static machine make(const soa_model *m, void (*close)(soa_constraints *, const soa_model *, int),
                    soa_embedding_fn *U, void *user, int n, const int *primary) {
    machine s = {.m = m, .nq = soa_model_nq(m), .nv = soa_model_nv(m), .n = n};
    const soa_constraint_capacity room = {4, 24, 1};
    soa_report report;
    OK(soa_work_create(m, &s.w));
    OK(soa_constraints_create(m, &room, &s.c));
    OK(soa_constraints_create(m, &room, &s.smooth));
    close(s.c, m, 1);
    close(s.smooth, m, 0);
    for (int k = 0; k < n; ++k) {
        s.primary[k] = primary[k];
        s.mask[primary[k]] = 1;
    }
    for (int i = 0; i < 3; ++i) {
        soa_embedding_def def = soa_embedding_default(s.mask);
        if (i < 2) {
            def.function = U;
            def.user = user;
        }
        if (i > 0) def.constraints = s.c;
        if (soa_embedding_create(m, &def, s.by + i, &report)) fail_msg("%s", report.text);
        assert_int_equal(soa_embedding_nv(s.by[i]), n);
        assert_int_equal(soa_embedding_nq(s.by[i]), n);
    }
    return s;
}
static void unmake(machine *s) {
    for (int i = 0; i < 3; ++i)
        soa_embedding_free(s->by[i]);
    soa_constraints_free(s->c);
    soa_constraints_free(s->smooth);
    soa_work_free(s->w);
    soa_model_free(s->m);
}
enum { MOST = 8 };
static void one_state(machine *s, dice *d, const double *Q, const double *guess, long seed,
                      worst_case *state, worst_case *forward, worst_case *back, worst_case *terms) {
    const int n = s->n, nv = s->nv;
    double V[MOST], A[MOST], tau[MOST], q[3][MOST], v[3][MOST], a[3][MOST], E[3][MOST * MOST],
        full[MOST] = {0}, qdd[MOST];
    soa_wrench f = {soa_model_frame_count(s->m) - 1, SOA_AXES_WORLD, {0}};
    roll_many(d, -1, 1, (size_t)n, V);
    roll_many(d, -2, 2, (size_t)n, A);
    roll_many(d, -5, 5, (size_t)n, tau);
    roll_many(d, -3, 3, 6, f.value);
    for (int i = 0; i < 3; ++i) {
        memcpy(q[i], guess, sizeof q[i]);
        OK(soa_embedding_state(s->by[i], s->w, &(soa_input){.q = Q, .v = V, .a = A}, q[i], v[i],
                               a[i], E[i]));
        note(state, relative(q[i], q[0], (size_t)s->nq), seed);
        note(state, relative(v[i], v[0], (size_t)nv), seed);
        note(state, relative(a[i], a[0], (size_t)nv), seed);
        note(state, relative(E[i], E[0], (size_t)(nv * n)), seed);
    }
    double g[24], rate[24], Ev[MOST];
    OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = q[0], .v = v[0]}, g, rate, NULL,
                                NULL));
    for (int r = 0; r < soa_constraints_row_count(s->c); ++r) {
        note(state, fabs(g[r]), seed);
        note(state, fabs(rate[r]), seed);
    }
    for (int j = 0; j < nv; ++j)
        Ev[j] = dot(n, E[0] + n * j, V);
    note(state, relative(Ev, v[0], (size_t)nv), seed);
    /* forward: torques on the primary joints, accelerations of the closed tree.  By function alone
     * the pins are ideal. */
    for (int k = 0; k < n; ++k)
        full[s->primary[k]] = tau[k];
    for (int i = 0; i < 3; ++i) {
        double Qdd[MOST], x[MOST], all[MOST], want[MOST];
        OK(soa_closed_fd(
            i ? s->c : s->smooth, s->w, NULL,
            &(soa_input){.q = q[0], .v = v[0], .tau = full, .wrenches = &f, .wrench_count = 1}, qdd,
            NULL, NULL));
        for (int k = 0; k < n; ++k)
            want[k] = qdd[s->primary[k]];
        for (int method = 0; method < 2; ++method) {
            memcpy(x, guess, sizeof x);
            OK(soa_embedding_fd(
                s->by[i], s->w, (soa_embedding_method)method,
                &(soa_input){.q = Q, .v = V, .tau = tau, .wrenches = &f, .wrench_count = 1}, x,
                Qdd));
            note(forward, relative(Qdd, want, (size_t)n), seed);
            note(state, relative(x, q[0], (size_t)s->nq), seed);
            OK(soa_embedding_state(s->by[i], s->w, &(soa_input){.q = Q, .v = V, .a = Qdd}, x, NULL,
                                   all, NULL)); /* all joints */
            note(forward, relative(all, qdd, (size_t)nv), seed);
        }
    }
    for (int i = 0; i < 3; ++i) {
        double t1[MOST], H[MOST * MOST], C[MOST], G[MOST], sum[MOST], Qdd[MOST], x[MOST], T1, T2;
        memcpy(x, guess, sizeof x);
        OK(soa_embedding_id(s->by[i], s->w,
                            &(soa_input){.q = Q, .v = V, .a = A, .wrenches = &f, .wrench_count = 1},
                            x, t1));
        for (int method = 0; method < 2; ++method) { /* forward(inverse(A)) = A, by both ways */
            OK(soa_embedding_fd(
                s->by[i], s->w, (soa_embedding_method)method,
                &(soa_input){.q = Q, .v = V, .tau = t1, .wrenches = &f, .wrench_count = 1}, x,
                Qdd));
            note(back, relative(Qdd, A, (size_t)n), seed);
        }
        /* the same as torques of the closed tree with motors at the primary joints */
        OK(soa_closed_id(
            i ? s->c : s->smooth, s->w,
            &(soa_input){.q = q[0], .v = v[0], .a = a[0], .wrenches = &f, .wrench_count = 1},
            s->mask, full, NULL));
        for (int k = 0; k < n; ++k)
            sum[k] = full[s->primary[k]];
        note(back, relative(t1, sum, (size_t)n), seed);
        OK(soa_embedding_terms(s->by[i], s->w,
                               &(soa_input){.q = Q, .v = V, .wrenches = &f, .wrench_count = 1}, x,
                               H, C, G));
        for (int k = 0; k < n; ++k)
            sum[k] = dot(n, H + n * k, A) + C[k] + G[k];
        note(terms, relative(sum, t1, (size_t)n), seed);
        for (int k = 0; k < n * n; ++k)
            note(terms, fabs(H[k] - H[n * (k % n) + k / n]), seed);
        T2 = 0;
        for (int k = 0; k < n; ++k)
            T2 += dot(n, H + n * k, V) * V[k] / 2;
        OK(soa_energy(s->m, s->w, q[0], v[0], &T1, NULL));
        note(terms, relative(&T2, &T1, 1), seed); /* kinetic energy */
        double still[MOST], zero[MOST] = {0};
        OK(soa_embedding_id(s->by[i], s->w,
                            &(soa_input){.q = Q, .v = zero, .wrenches = &f, .wrench_count = 1}, x,
                            still));
        note(terms, relative(G, still, (size_t)n), seed);
    }
}

static void four_bar_and_figure_1(void **unused) {
    (void)unused;
    worst_case state[2] = {{0}}, forward[2] = {{0}}, back[2] = {{0}}, terms[2] = {{0}};
    const int crank[1] = {0}, cylinders[3] = {2, 4, 6};
    machine bars = make(four_bar_model(), four_bar_loop, four_bar_U, (void *)L4, 1, crank),
            figure = make(figure_1_model(), figure_1_loops, figure_1_U, NULL, 3, cylinders);
    for (long seed = first_seed(); seed < first_seed() + 200; ++seed) {
        dice d = {(uint64_t)seed};
        const double angle = roll(&d, -3.1, 3.1);
        double guess[MOST] = {0}, v[MOST];
        OK(soa_embedding_state(bars.by[0], bars.w, &(soa_input){.q = &angle}, guess, v, NULL,
                               NULL));
        guess[1] += roll(&d, -0.2, 0.2);
        guess[2] += roll(&d, -0.2, 0.2); /* on the branch, but not closed */
        one_state(&bars, &d, &angle, guess, seed, state, forward, back, terms);
        const double Q[3] = {roll(&d, -1, 1), roll(&d, 0.6, 1), roll(&d, 1.2, 1.6)};
        OK(soa_embedding_state(figure.by[0], figure.w, &(soa_input){.q = Q}, guess, v, NULL, NULL));
        for (int k = 0; k < 7; ++k)
            guess[k] += roll(&d, -0.05, 0.05);
        one_state(&figure, &d, Q, guess, seed, state + 1, forward + 1, back + 1, terms + 1);
    }
    const char *name[2] = {"four-bar", "two loops"};
    for (int i = 0; i < 2; ++i) {
        printf("  %s\n", name[i]);
        conclude("q, v, vdot, E: function = loop equations", state + i, 1e-10);
        conclude("Qddot, all joints: two methods = closed tree", forward + i, 1e-10);
        conclude("inverse dynamics, and back", back + i, 1e-10);
        conclude("H Qddot + C + G = tau; energy; symmetry", terms + i, 1e-10);
    }
    unmake(&bars);
    unmake(&figure);
}

/* ---- random closed systems ------------------------------------------------------------------- */
static int rank_of(const double *G, int rows, int nv, const int *columns, int count) {
    double A[MOST_ROWS * 64], S[64], super[64];
    if (!count || !rows) return 0;
    assert_true(count <= 64);
    for (int r = 0; r < rows; ++r)
        for (int k = 0; k < count; ++k)
            A[count * r + k] = G[nv * r + columns[k]];
    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', rows, count, A, count, S, NULL, rows, NULL, count,
                   super);
    int rank = 0;
    for (int k = 0; k < (rows < count ? rows : count); ++k)
        rank += S[k] > 1e-2 * S[0]; /* a good choice, not any */
    return rank;
}
/* Holonomic, with independent rows and a condition that leaves many digits. */
static int can_be_embedded(const closed *s, const answer *a) {
    for (int k = 0; k < s->count; ++k) {
        const soa_constraint_kind kind = s->def[k].kind;
        if (kind == SOA_ROLLING || kind == SOA_DISC || kind == SOA_VELOCITY) return 0;
    }
    return a->condition < 1e4 && a->gap < 1e-26 && a->rank == s->rows && a->rank <= 60;
}
/* Secondary: joints, in a random order, whose columns are independent of those before. Returns the
 * number of columns found, `wanted` at most. */
static int choose_secondary(closed *s, int wanted, int secondary[64], int *with_quaternion) {
    int m = 0;
    for (int tries = 0; tries < 4 * s->nb && m < wanted; ++tries) {
        soa_body_info b;
        OK(soa_model_body(s->m, 1 + below(&s->d, s->nb), &b));
        if (!b.nv || m + b.nv > wanted) continue;
        int fresh = 1;
        for (int k = 0; k < m; ++k)
            fresh &= secondary[k] != b.v_index;
        if (!fresh) continue;
        for (int c = 0; c < b.nv; ++c)
            secondary[m + c] = b.v_index + c;
        if (rank_of(s->G, s->rows, s->nv, secondary, m + b.nv) == m + b.nv) {
            m += b.nv;
            *with_quaternion += b.nq > b.nv;
        }
    }
    return m;
}

/* A random closed system in its primary joints. */
typedef struct embedded {
    closed *s;
    soa_embedding *e;
    int n;               /* primary coordinates */
    unsigned char *mask; /* of v: primary */
    double *Q, *V, *tau; /* state and torques of primary joints */
    double *full;        /* the same torques among those of all joints */
    double *Qdd, *ref;   /* answers in primary joints */
    double *v, *acc;     /* answers in all joints */
} embedded;
/* Positions of primary joints in order of q, which is that of v. Returns their number. */
static int primary_positions(const closed *s, const unsigned char *mask, double *Q) {
    int *owner = calloc((size_t)s->nq, sizeof *owner), n = 0;
    for (int b = 1; b <= s->nb; ++b) {
        soa_body_info i;
        OK(soa_model_body(s->m, b, &i));
        for (int c = 0; c < i.nq; ++c)
            owner[i.q_index + c] = i.v_index + (i.nq == i.nv ? c : 0);
    }
    for (int k = 0; k < s->nq; ++k)
        if (mask[owner[k]]) Q[n++] = s->q[k];
    free(owner);
    return n;
}
static embedded embed(closed *s, const int *secondary, int m) {
    const size_t nv = (size_t)s->nv;
    embedded t = {.s = s,
                  .n = s->nv - m,
                  .mask = calloc(nv, 1),
                  .Q = calloc((size_t)s->nq, 8),
                  .V = calloc(nv, 8),
                  .tau = calloc(nv, 8),
                  .full = calloc(nv, 8),
                  .Qdd = calloc(nv, 8),
                  .ref = calloc(nv, 8),
                  .v = calloc(nv, 8),
                  .acc = calloc(nv, 8)};
    memset(t.mask, 1, nv);
    for (int k = 0; k < m; ++k)
        t.mask[secondary[k]] = 0;
    soa_embedding_def def = soa_embedding_default(t.mask);
    soa_report report;
    def.constraints = s->c;
    if (soa_embedding_create(s->m, &def, &t.e, &report))
        fail_msg("seed %ld: %s", s->seed, report.text);
    for (int k = 0, at = 0; k < s->nv; ++k) {
        if (t.mask[k]) {
            t.V[at] = s->v[k];
            t.full[k] = t.tau[at++] = s->tau[k];
        }
    }
    const int nQ = primary_positions(s, t.mask, t.Q);
    assert_int_equal(soa_embedding_nq(t.e), nQ);
    assert_int_equal(soa_embedding_nv(t.e), t.n);
    return t;
}
static void free_embedded(embedded *t) {
    soa_embedding_free(t->e);
    free(t->mask);
    free(t->Q);
    free(t->V);
    free(t->tau);
    free(t->full);
    free(t->Qdd);
    free(t->ref);
    free(t->v);
    free(t->acc);
}

typedef struct embedding_errors {
    worst_case state, forward, back;
    long done, quaternions, driven, mimics, compared[2];
} embedding_errors;
static void compare_state(embedded *t, embedding_errors *e) {
    closed *s = t->s;
    memcpy(s->q1, s->q, (size_t)s->nq * sizeof *s->q);
    OK(soa_embedding_state(t->e, s->w, &(soa_input){.q = t->Q, .v = t->V, .t = s->t}, s->q1, t->v,
                           NULL, NULL));
    note(&e->state, relative(s->q1, s->q, (size_t)s->nq), s->seed);
    note(&e->state, relative(t->v, s->v, (size_t)s->nv), s->seed);
}
/* A mass matrix of wide range is no task for dense columns. */
static int wide_mass_matrix(closed *s) {
    const int nv = s->nv;
    double *values = s->U, *copy = s->A;
    memcpy(copy, s->M, (size_t)(nv * nv) * sizeof *copy);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', nv, copy, nv, values), 0);
    return values[nv - 1] > 1e5 * values[0];
}
/* Size of the torques that make up tau: the largest row of |M| |vdot|. */
static double torques_within(const closed *s) {
    double effort = 1;
    for (int j = 0; j < s->nv; ++j) {
        double sum = 0;
        for (int k = 0; k < s->nv; ++k)
            sum += fabs(s->M[s->nv * j + k] * s->qdd[k]);
        effort = fmax(effort, sum);
    }
    return effort;
}
static double largest_difference(const double *a, const double *b, int n) {
    double worst = 0;
    for (int k = 0; k < n; ++k)
        worst = fmax(worst, fabs(a[k] - b[k]));
    return worst;
}
/* Forward dynamics by both methods against the closed tree, and back by inverse dynamics. */
static void compare_dynamics(embedded *t, const answer *a, embedding_errors *e) {
    closed *s = t->s;
    OK(soa_closed_fd(
        s->c, s->w, NULL,
        &(soa_input){
            .q = s->q, .v = s->v, .tau = t->full, .wrenches = s->f, .wrench_count = 2, .t = s->t},
        s->qdd, NULL, NULL));
    double scale = 1e-3 * fmax(1, a->free);
    for (int k = 0; k < s->nv; ++k)
        scale = fmax(scale, fabs(s->qdd[k]));
    const double effort = torques_within(s);
    const int wide = wide_mass_matrix(s);
    soa_input input = {.q = t->Q, .v = t->V, .wrenches = s->f, .wrench_count = 2, .t = s->t};
    for (int method = 0; method < 2; ++method) {
        input.tau = t->tau;
        OK(soa_embedding_fd(t->e, s->w, (soa_embedding_method)method, &input, s->q1, t->Qdd));
        OK(soa_embedding_state(t->e, s->w,
                               &(soa_input){.q = t->Q, .v = t->V, .a = t->Qdd, .t = s->t}, s->q1,
                               NULL, t->acc, NULL));
        if (method == SOA_EMBEDDING_SWEEPS || !wide) {
            note(&e->forward, largest_difference(t->acc, s->qdd, s->nv) / scale, s->seed);
            ++e->compared[method];
        }
        input.tau = NULL;
        input.a = t->Qdd;
        OK(soa_embedding_id(t->e, s->w, &input, s->q1, t->ref));
        note(&e->back, largest_difference(t->ref, t->tau, t->n) / effort, s->seed);
        input.a = NULL;
    }
}
static void count_embedded(const closed *s, int with_quaternion, embedding_errors *e) {
    for (int b = 1; b <= s->nb; ++b) {
        soa_body_info i;
        OK(soa_model_body(s->m, b, &i));
        if (i.mimic >= 0) ++e->mimics;
    }
    for (int k = 0; k < s->count; ++k)
        e->driven += s->def[k].drive != NULL;
    ++e->done;
    e->quaternions += with_quaternion;
}
static void random_systems(void **unused) {
    (void)unused;
    embedding_errors e = {0};
    for (long seed = first_seed(); seed < first_seed() + systems() / 2; ++seed) {
        closed *s = open_closed(seed, 3);
        int secondary[64], with_quaternion = 0;
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        if (can_be_embedded(s, &a) &&
            choose_secondary(s, a.rank, secondary, &with_quaternion) == a.rank) {
            embedded t = embed(s, secondary, a.rank);
            compare_state(&t, &e);
            compare_dynamics(&t, &a, &e);
            count_embedded(s, with_quaternion, &e);
            free_embedded(&t);
        }
        free_answer(&a);
        close_closed(s);
    }
    printf("  %ld systems; secondary joints with quaternions %ld, driven constraints %ld, mimic "
           "joints %ld\n",
           e.done, e.quaternions, e.driven, e.mimics);
    printf("  forward dynamics compared: columns %ld, sweeps %ld\n", e.compared[0], e.compared[1]);
    /* few of a small sample */
    assert_true(e.done > 0 && (systems() < 500 || e.done > systems() / 20));
    conclude("q, v from primary ones", &e.state, 1e-9);
    conclude("Qddot, two methods = closed tree", &e.forward, 1e-9);
    conclude("inverse(forward(tau)) = tau, to the torques within", &e.back, 1e-11);
}

/* ---- quaternions by function; statuses ------------------------------------------------------- */
/* A free base (primary) that carries a wheel (revolute, primary) and a ball (spherical) geared to
 * the wheel: the ball turns by half the wheel's angle about z, after a fixed turn about x. */
static bool geared_ball(void *user, T *q) {
    (void)user;
    const T half = LIN(0.25, q[7], 0), c = COS(half), s = SIN(half);
    const double cx = cos(0.3), sx = sin(0.3);
    q[8] = LIN(cx, c, 0);
    q[9] = LIN(sx, c, 0);
    q[10] = LIN(-sx, s, 0);
    q[11] = LIN(cx, s, 0); /* (cx, sx) (c, s) */
    return 0;
}
static void with_quaternions(void **unused) {
    (void)unused;
    soa_body_def b[3] = {soa_body_default("base", 0, SOA_FREE),
                         soa_body_default("wheel", 1, SOA_REVOLUTE),
                         soa_body_default("ball", 1, SOA_SPHERICAL)};
    for (int i = 0; i < 3; ++i) {
        soa_body_box(b + i, 1 + i, 0.2, 0.3, 0.4);
        b[i].com[0] = 0.1 * i;
    }
    b[2].placement.p[1] = 0.5;
    soa_model_def def = soa_model_default("geared ball", b, 3);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    assert_int_equal(soa_model_nq(m), 12);
    unsigned char mask[10] = {1, 1, 1, 1, 1, 1, 1};
    soa_embedding_def e = soa_embedding_default(mask);
    soa_embedding *by;
    soa_work *w;
    e.function = geared_ball;
    OK(soa_work_create(m, &w));
    OK(soa_embedding_create(m, &e, &by, NULL));
    assert_int_equal(soa_embedding_nq(by), 8);
    assert_int_equal(soa_embedding_nv(by), 7);
    worst_case rates = {0}, forward = {0};
    for (long seed = first_seed(); seed < first_seed() + 100; ++seed) {
        dice d = {(uint64_t)seed};
        double Q[8], V[7], A[7], q[12], v[10], a[10], E[70], tau[7], Qdd[2][7], back[7], dq[10],
            q1[12], q2[12], Q1[8];
        roll_many(&d, -1, 1, 8, Q);
        roll_many(&d, -1, 1, 7, V);
        roll_many(&d, -1, 1, 7, A);
        roll_many(&d, -1, 1, 7, tau);
        const double size = sqrt(dot(4, Q + 3, Q + 3));
        for (int j = 0; j < 4; ++j)
            Q[3 + j] /= size;
        OK(soa_embedding_state(by, w, &(soa_input){.q = Q, .v = V, .a = A}, q, v, a, E));
        /* about z of the ball */
        const double ball[3] = {0, 0, V[6] / 2}, ball_a[3] = {0, 0, A[6] / 2};
        note(&rates, relative(v, V, 7), seed);
        note(&rates, relative(a, A, 7), seed);
        note(&rates, relative(v + 7, ball, 3), seed);
        note(&rates, relative(a + 7, ball_a, 3), seed);
        for (int k = 0; k < 7; ++k)
            back[k] = 0;
        for (int j = 0; j < 10; ++j) {
            dq[j] = dot(7, E + 7 * j, V);
        }
        note(&rates, relative(dq, v, 10), seed);
        /* and by differences along the motion */
        const double h = 1e-4;
        double VQ[10] = {0}, base[12];
        memcpy(VQ, V, sizeof V);
        memcpy(base, q, sizeof base);
        OK(soa_q_integrate(m, base, VQ, h, q1));
        memcpy(Q1, q1, sizeof Q1);
        OK(soa_embedding_state(by, w, &(soa_input){.q = Q1}, q1, NULL, NULL, NULL));
        OK(soa_q_integrate(m, base, VQ, -h, q2));
        memcpy(Q1, q2, sizeof Q1);
        OK(soa_embedding_state(by, w, &(soa_input){.q = Q1}, q2, NULL, NULL, NULL));
        OK(soa_q_difference(m, q2, q1, dq));
        for (int j = 0; j < 10; ++j)
            dq[j] /= 2 * h;
        assert_true(relative(dq, v, 10) < 1e-6);
        for (int k = 0; k < 2; ++k) {
            OK(soa_embedding_fd(by, w, (soa_embedding_method)k,
                                &(soa_input){.q = Q, .v = V, .tau = tau}, q, Qdd[k]));
            OK(soa_embedding_id(by, w, &(soa_input){.q = Q, .v = V, .a = Qdd[k]}, q, back));
            note(&forward, relative(back, tau, 7), seed);
        }
        note(&forward, relative(Qdd[1], Qdd[0], 7), seed);
    }
    conclude("quaternions by function: rates", &rates, 1e-12);
    conclude("quaternions by function: two methods, inverse", &forward, 1e-10);
    mask[8] = 1; /* half a ball */
    soa_report report;
    REFUSED(SOA_E_JOINT, soa_embedding_create(m, &e, &by, &report));
    assert_non_null(strstr(report.text, "whole"));
    mask[8] = 0;
    soa_embedding_free(by);
    soa_work_free(w);
    soa_model_free(m);
}

static bool no_such(void *user, T *q) {
    (void)user;
    (void)q;
    return 1;
}
static bool wrong(void *user, T *q) {
    four_bar_U(user, q);
    q[2] = LIN(1, q[2], 1e-3);
    return 0;
}
static bool forgetful(void *user, T *q) {
    (void)user;
    q[1] = soa_taylor_constant(0); /* and q[2] is not written */
    return 0;
}
/* The four-bar and its position at the crank's angle ANGLE, which turns at RATE. */
static const double ANGLE = 0.7, RATE = 1, NOT_A_NUMBER = NAN;
static machine four_bar_at(double q[3]) {
    const int crank[1] = {0};
    machine s = make(four_bar_model(), four_bar_loop, four_bar_U, (void *)L4, 1, crank);
    q[0] = q[1] = q[2] = 0;
    OK(soa_embedding_state(s.by[0], s.w, &(soa_input){.q = &ANGLE}, q, NULL, NULL, NULL));
    return s;
}
static soa_embedding *embed_by_loops(const machine *s, const unsigned char *primary,
                                     double branch) {
    soa_embedding_def def = soa_embedding_default(primary);
    soa_embedding *e;
    def.constraints = s->c;
    def.branch = branch;
    OK(soa_embedding_create(s->m, &def, &e, NULL));
    return e;
}

static void refused_input(void **unused) {
    (void)unused;
    double q[3], kept[3], Qdd = 5, tau = 5;
    const double *Q = &ANGLE, *V = &RATE, *bad = &NOT_A_NUMBER;
    const soa_embedding_method sweeps = SOA_EMBEDDING_SWEEPS;
    machine s = four_bar_at(q);
    memcpy(kept, q, sizeof q);
    for (int i = 0; i < 3; ++i) {
        soa_embedding *e = s.by[i];
        REFUSED(SOA_E_NOT_FINITE,
                soa_embedding_fd(e, s.w, sweeps, &(soa_input){.q = bad, .v = V}, q, &Qdd));
        REFUSED(SOA_E_NOT_FINITE,
                soa_embedding_fd(e, s.w, sweeps, &(soa_input){.q = Q, .v = bad}, q, &Qdd));
        REFUSED(
            SOA_E_NOT_FINITE,
            soa_embedding_fd(e, s.w, sweeps, &(soa_input){.q = Q, .v = V, .tau = bad}, q, &Qdd));
        REFUSED(SOA_E_NOT_FINITE,
                soa_embedding_id(e, s.w, &(soa_input){.q = Q, .v = V, .a = bad}, q, &tau));
        REFUSED(SOA_E_ARGUMENT, soa_embedding_fd(e, s.w, (soa_embedding_method)5,
                                                 &(soa_input){.q = Q, .v = V}, q, &Qdd));
        REFUSED(SOA_E_ARGUMENT,
                soa_embedding_fd(e, NULL, sweeps, &(soa_input){.q = Q, .v = V}, q, &Qdd));
        REFUSED(SOA_E_ARGUMENT,
                soa_embedding_id(e, s.w, &(soa_input){.q = Q, .v = V, .t = NAN}, q, &tau));
        REFUSED(SOA_E_ARGUMENT, soa_embedding_id(e, s.w, &(soa_input){.v = V}, q, &tau));
        REFUSED(SOA_E_ARGUMENT, soa_embedding_id(e, s.w, &(soa_input){.q = Q, .v = V}, NULL, &tau));
    }
    REFUSED(SOA_E_ARGUMENT,
            soa_embedding_state(NULL, s.w, &(soa_input){.q = Q}, q, NULL, NULL, NULL));
    assert_memory_equal(q, kept, sizeof q);
    assert_true(Qdd == 5 && tau == 5);
    unmake(&s);
}
static void functions_that_fail(void **unused) {
    (void)unused;
    double q[3], kept[3], Qdd = 5;
    machine s = four_bar_at(q);
    memcpy(kept, q, sizeof q);
    soa_embedding_fn *poor[3] = {no_such, wrong, forgetful};
    const soa_status said[3] = {SOA_E_SINGULAR, SOA_E_INCONSISTENT, SOA_E_SINGULAR};
    for (int i = 0; i < 3; ++i) {
        soa_embedding_def def = soa_embedding_default(s.mask);
        soa_embedding *e;
        def.function = poor[i];
        def.user = (void *)L4;
        def.constraints = s.c;
        OK(soa_embedding_create(s.m, &def, &e, NULL));
        REFUSED(said[i], soa_embedding_fd(e, s.w, SOA_EMBEDDING_SWEEPS,
                                          &(soa_input){.q = &ANGLE, .v = &RATE}, q, &Qdd));
        soa_embedding_free(e);
    }
    assert_memory_equal(q, kept, sizeof q);
    assert_true(Qdd == 5);
    unmake(&s);
}
/* The rocker as primary joint: it cannot turn round, and at its ends E is not defined. */
static void dead_points(void **unused) {
    (void)unused;
    double q[3], kept[3], Qdd = 5;
    machine s = four_bar_at(q);
    memcpy(kept, q, sizeof q);
    const unsigned char rocker[3] = {0, 0, 1};
    soa_embedding *e = embed_by_loops(&s, rocker, 0);
    const double reach = 0.1; /* nearly flat: crank and coupler are too short */
    REFUSED(SOA_E_NO_CONVERGENCE, soa_embedding_fd(e, s.w, SOA_EMBEDDING_SWEEPS,
                                                   &(soa_input){.q = &reach, .v = &RATE}, q, &Qdd));
    assert_memory_equal(q, kept, sizeof q);
    /* crank and coupler in line: rocker angle from the triangle 1.0, 0.7, 1.3 */
    const double inner = acos((1 + 0.49 - 1.69) / (2 * 0.7)), end = 3.14159265358979323846 - inner;
    const double along = atan2(0.7 * sin(end), 1 + 0.7 * cos(end));
    double dead[3] = {along, 0, end};
    const soa_status at_end = soa_embedding_fd(e, s.w, SOA_EMBEDDING_COLUMNS,
                                               &(soa_input){.q = &end, .v = &RATE}, dead, &Qdd);
    assert_true(at_end == SOA_E_SINGULAR || at_end == SOA_E_NO_CONVERGENCE);
    assert_true(Qdd == 5);
    soa_embedding_free(e);
    unmake(&s);
}
/* The guess chooses the branch; a limit keeps to it. */
static void branches(void **unused) {
    (void)unused;
    double kept[3], up[3], down[3] = {ANGLE, -1.5, -1.2};
    machine s = four_bar_at(kept);
    const soa_input at = {.q = &ANGLE};
    memcpy(up, kept, sizeof up);
    OK(soa_embedding_state(s.by[2], s.w, &at, up, NULL, NULL, NULL));
    OK(soa_embedding_state(s.by[2], s.w, &at, down, NULL, NULL, NULL));
    assert_true(relative(up, kept, 3) < 1e-10 && fabs(down[1] - up[1]) > 0.1);
    soa_embedding *e = embed_by_loops(&s, s.mask, 0.01);
    down[1] += 0.05;
    REFUSED(SOA_E_NO_CONVERGENCE, soa_embedding_state(e, s.w, &at, down, NULL, NULL, NULL));
    down[1] -= 0.045;
    OK(soa_embedding_state(e, s.w, &at, down, NULL, NULL, NULL));
    soa_embedding_free(e);
    unmake(&s);
}
/* Too many primary joints: the loops hold them; too few: E is not determined. */
static void wrong_number_of_primary_joints(void **unused) {
    (void)unused;
    double q[3], x[2];
    machine s = four_bar_at(q);
    const unsigned char two[3] = {1, 1, 0}, none[3] = {0, 0, 0};
    soa_embedding *e = embed_by_loops(&s, two, 0);
    const double Q[2] = {q[0], q[1]}, V[2] = {1, 1};
    REFUSED(SOA_E_INCONSISTENT,
            soa_embedding_fd(e, s.w, SOA_EMBEDDING_SWEEPS, &(soa_input){.q = Q, .v = V}, q, x));
    soa_embedding_free(e);
    e = embed_by_loops(&s, none, 0);
    REFUSED(SOA_E_SINGULAR,
            soa_embedding_state(e, s.w, &(soa_input){.q = &ANGLE}, q, NULL, NULL, NULL));
    soa_embedding_free(e);
    unmake(&s);
}
static void rows_on_velocities_have_no_U(void **unused) {
    (void)unused;
    double q[3];
    machine s = four_bar_at(q);
    soa_constraint_def v =
        soa_constraint_default(SOA_VELOCITY, 0, soa_model_find_frame(s.m, "coupler"));
    v.row_count = 1;
    v.rows[0][3] = 1;
    OK(soa_constraints_add(s.c, &v, NULL, NULL));
    for (int i = 1; i < 3; ++i)
        REFUSED(SOA_E_ARGUMENT,
                soa_embedding_state(s.by[i], s.w, &(soa_input){.q = &ANGLE}, q, NULL, NULL, NULL));
    unmake(&s);
}
static void refused_definitions(void **unused) {
    (void)unused;
    double q[3];
    machine s = four_bar_at(q);
    soa_report report;
    soa_embedding *e;
    soa_embedding_def def = soa_embedding_default(s.mask);
    REFUSED(SOA_E_ARGUMENT, soa_embedding_create(s.m, &def, &e, &report));
    assert_non_null(strstr(report.text, "neither"));
    def.function = four_bar_U;
    def.primary = NULL;
    REFUSED(SOA_E_ARGUMENT, soa_embedding_create(s.m, &def, &e, &report));
    def.primary = s.mask;
    def.branch = NAN;
    REFUSED(SOA_E_ARGUMENT, soa_embedding_create(s.m, &def, &e, &report));
    def.branch = 0;
    const size_t size = soa_embedding_size(s.m, &def);
    char *memory = aligned_alloc(64, (size + 127) / 64 * 64);
    REFUSED(SOA_E_MEMORY, soa_embedding_init(s.m, &def, memory, size - 1, &e, &report));
    REFUSED(SOA_E_MEMORY, soa_embedding_init(s.m, &def, memory + 8, size, &e, &report));
    OK(soa_embedding_init(s.m, &def, memory, size, &e, &report));
    assert_true(soa_embedding_size(NULL, &def) == 0 && soa_embedding_nv(NULL) == 0);
    free(memory);
    unmake(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_derivatives),
                                       cmocka_unit_test(four_bar_and_figure_1),
                                       cmocka_unit_test(random_systems),
                                       cmocka_unit_test(with_quaternions),
                                       cmocka_unit_test(refused_input),
                                       cmocka_unit_test(functions_that_fail),
                                       cmocka_unit_test(dead_points),
                                       cmocka_unit_test(branches),
                                       cmocka_unit_test(wrong_number_of_primary_joints),
                                       cmocka_unit_test(rows_on_velocities_have_no_U),
                                       cmocka_unit_test(refused_definitions)};
    return cmocka_run_group_tests_name("embedding", tests, NULL, NULL);
}
