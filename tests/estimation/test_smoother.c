/* test_smoother.c  R87's filter, smoother and boundary problem, equation by equation, on trees with
 * every joint type.
 *
 * random:SEED contains fixed and mimic joints, both rotor models, friction, springs and massless
 * inner links. SOA_SEED=n chooses other models. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"

enum { TREES = 150 };
#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct bench {
    const soa_model *m;
    soa_work *w, *other; /* `other` computes references while w keeps the smoother */
    size_t nq, nv, nb;
    double *q, *v, *a, *tau, *r1, *r2, *r3, *pi;
    soa_wrench f[3];
} bench;
static double *room(size_t n) {
    return calloc(n + 1, sizeof(double));
}
static bench prepare(const soa_model *m, long seed) {
    bench b = {.m = m,
               .nq = (size_t)soa_model_nq(m),
               .nv = (size_t)soa_model_nv(m),
               .nb = (size_t)soa_model_body_count(m)};
    dice d = {(uint64_t)seed * 91 + 7};
    OK(soa_work_create(m, &b.w));
    OK(soa_work_create(m, &b.other));
    b.q = room(b.nq);
    b.v = room(b.nv);
    b.a = room(b.nv);
    b.tau = room(b.nv);
    b.pi = room(10 * b.nb);
    const size_t big = b.nv * b.nv + 36 * b.nb;
    b.r1 = room(big);
    b.r2 = room(big);
    b.r3 = room(big);
    roll_many(&d, -2, 2, b.nv, b.v);
    soa_q_neutral(m, b.q);
    OK(soa_q_integrate(m, b.q, b.v, 1, b.q));
    roll_many(&d, -1, 1, b.nv, b.v);
    roll_many(&d, -3, 3, b.nv, b.a);
    roll_many(&d, -5, 5, b.nv, b.tau);
    for (int i = 0; i < 3; ++i) {
        b.f[i].frame = (int)roll(&d, 0, soa_model_frame_count(m) - 1e-9);
        b.f[i].axes = i & 1 ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(&d, -4, 4, 6, b.f[i].value);
    }
    OK(soa_model_inertial_parameters(m, b.pi));
    return b;
}
static bench open_bench(const char *name, int ideal, int floating, long seed) {
    const soa_model *m = NULL;
    soa_report report;
    const soa_read_options options = {.ideal = ideal, .floating = floating};
    if (soa_stock_model_create(name, &options, &m, &report)) fail_msg("%s: %s", name, report.text);
    return prepare(m, seed);
}
static bench open_random(const char *family, long seed) {
    char name[64];
    snprintf(name, sizeof name, "%s:%ld", family, seed);
    return open_bench(name, 0, 0, seed);
}
static void close_bench(bench *b) {
    soa_work_free(b->w);
    soa_work_free(b->other);
    soa_model_free(b->m);
    free(b->q);
    free(b->v);
    free(b->a);
    free(b->tau);
    free(b->r1);
    free(b->r2);
    free(b->r3);
    free(b->pi);
}

/* ---- small matrices -------------------------------------------------------------------------- */
/* C (r x c) = A (r x n) B (n x c) */
static void mul(int r, int n, int c, const double *A, const double *B, double *C) {
    for (int i = 0; i < r; ++i)
        for (int j = 0; j < c; ++j) {
            double s = 0;
            for (int k = 0; k < n; ++k)
                s += A[n * i + k] * B[c * k + j];
            C[c * i + j] = s;
        }
}
static void turn(int r, int c, const double *A, double *T) {
    for (int i = 0; i < r; ++i)
        for (int j = 0; j < c; ++j)
            T[r * j + i] = A[c * i + j];
}
static void phi_of(const soa_frame *X, double phi[36]) {
    for (int c = 0; c < 6; ++c) {
        double e[6] = {0}, y[6];
        e[c] = 1;
        soa_frame_force_to_parent(X, e, y);
        for (int r = 0; r < 6; ++r)
            phi[6 * r + c] = y[r];
    }
}
static void rigid(const double *pi, double M[36]) {
    const double m = pi[0], *h = pi + 1, *I = pi + 4;
    const double A[36] = {I[0],   I[3], I[4],  0,         -h[2], h[1], /**/ I[3], I[1], I[5],
                          h[2],   0,    -h[0], I[4],      I[5],  I[2], -h[1],     h[0], 0,
                          /**/ 0, h[2], -h[1], m,         0,     0,    -h[2],     0,    h[0],
                          0,      m,    0,     /**/ h[1], -h[0], 0,    0,         0,    m};
    memcpy(M, A, sizeof A);
}
/* Pose of body i in its parent, from poses in the world. */
static soa_frame in_parent(const bench *b, int i, int parent) {
    soa_body_info own, carrier;
    soa_frame F, C = soa_frame_identity();
    soa_model_body(b->m, i, &own);
    OK(soa_pose(b->m, b->other, own.frame, &F));
    if (parent) {
        soa_model_body(b->m, parent, &carrier);
        OK(soa_pose(b->m, b->other, carrier.frame, &C));
    }
    C = soa_frame_inverse(&C);
    return soa_frame_compose(&C, &F);
}

/* ---- R87 (35) to (47) ------------------------------------------------------------------------ */
enum { E34, E36, E37, E38, E39, E40, E41, E42, E43, E45, E46, E47, E_ABA, E_FORCE, EQUATIONS };
static const char *const equation_names[EQUATIONS] = {
    "R87 (17), (34) x+ = z+ + P+ lambda+ = z- + P- lambda-",
    "R87 (36) z- = sum phi z+ + b",
    "R87 (37) P- = sum phi P+ phi' + M",
    "R87 (38) D = H P- H' (+ rotor)",
    "R87 (39) G D = P- H' (+ rotor)",
    "R87 (40) e- = tau - H z- (+ rotor)",
    "R87 (41) z+ = z- + G e- + P+ n",
    "R87 (42) D e+ = e-",
    "R87 (43) P+ = P- - P- H' D^-1 H P-",
    "R87 (45) lambda+ = phi' lambda-(parent)",
    "R87 (46) a = e+ - G'(lambda+ + n)",
    "R87 (47) lambda- = lambda+ + n + H'a",
    "a is soa_aba's",
    "x is soa_joint_force after soa_rnea",
};
/* One body's equations. */
typedef struct body_case {
    bench *b;
    worst_case *w;
    long seed;
    int i;
    soa_body_info info;
    const soa_smoothed *k;
    double rotor[6]; /* Jm G u in body axes, of an exact rotor */
} body_case;
static body_case open_body(bench *b, worst_case *w, long seed, int i, const soa_smoothed *k) {
    body_case c = {.b = b, .w = w, .seed = seed, .i = i, .k = k};
    OK(soa_model_body(b->m, i, &c.info));
    if (c.info.rotor_model == SOA_ROTOR_EXACT && c.info.rotor_inertia > 0) {
        const soa_frame X = in_parent(b, i, c.info.parent);
        double axis[3];
        mul(3, 3, 1, c.info.placement.R, c.info.rotor_axis, axis);
        mul(1, 3, 3, axis, X.R, c.rotor);
        for (int j = 0; j < 3; ++j)
            c.rotor[j] *= c.info.rotor_inertia * c.info.gear_ratio;
    }
    return c;
}
/* The sums over the children, with the body's own M and b. */
static void check_36_37(const body_case *c, const double z[6], const double P[36]) {
    note(c->w + E36, relative(c->k->z_minus, z, 6), c->seed);
    note(c->w + E37, relative(c->k->P_minus, P, 36), c->seed);
}
static void check_38_39(const body_case *c) {
    const soa_smoothed *k = c->k;
    const int n = k->nv;
    double Ht[36], PHt[36], D[36], GD[36];
    turn(n, 6, k->H, Ht);
    mul(6, 6, n, k->P_minus, Ht, PHt);
    mul(n, 6, n, k->H, PHt, D);
    for (int j = 0; j < n; ++j)
        D[(n + 1) * j] += c->info.gear_ratio * c->info.gear_ratio * c->info.rotor_inertia;
    note(c->w + E38, relative(k->D, D, (size_t)(n * n)), c->seed);
    mul(6, n, n, k->gain, k->D, GD);
    for (int j = 0; n == 1 && j < 6; ++j)
        PHt[j] += c->rotor[j];
    note(c->w + E39, relative(GD, PHt, (size_t)(6 * n)), c->seed);
}
static void check_40_42(const body_case *c) {
    const soa_smoothed *k = c->k;
    const int n = k->nv;
    double e[6], De[6];
    mul(n, 6, 1, k->H, k->z_minus, e);
    for (int j = 0; j < n; ++j)
        e[j] = k->tau[j] - e[j];
    for (int j = 0; n == 1 && j < 6; ++j)
        e[0] += c->rotor[j] * k->n[j];
    note(c->w + E40, relative(k->innovation, e, (size_t)n), c->seed);
    mul(n, n, 1, k->D, k->residual, De);
    note(c->w + E42, relative(De, k->innovation, (size_t)n), c->seed);
}
/* P+ is a difference: its errors count against P-. */
static void check_43(const body_case *c) {
    const soa_smoothed *k = c->k;
    const int n = k->nv;
    double GD[36], DGt[36], P[36], scale = 0, worst = 0;
    mul(6, n, n, k->gain, k->D, GD);
    turn(6, n, GD, DGt);
    mul(6, n, 6, k->gain, DGt, P); /* G (G D)' = U D^-1 U' */
    for (int j = 0; j < 36; ++j)
        P[j] = k->P_minus[j] - P[j];
    for (int j = 0; j < 36; ++j)
        scale = fmax(scale, fabs(k->P_minus[j]));
    for (int j = 0; j < 36; ++j)
        P[j] = (P[j] - k->P_plus[j]) / fmax(scale, 1e-3);
    for (int j = 0; j < 36; ++j)
        worst = !(fabs(P[j]) <= worst) ? fabs(P[j]) : worst;
    note(c->w + E43, worst, c->seed);
}
static void check_41(const body_case *c) {
    const soa_smoothed *k = c->k;
    const int n = k->nv;
    double z[6];
    mul(6, 6, 1, k->P_plus, k->n, z);
    for (int j = 0; j < 6; ++j) {
        z[j] += k->z_minus[j];
        for (int r = 0; r < n; ++r)
            z[j] += k->gain[n * j + r] * k->innovation[r];
    }
    note(c->w + E41, relative(k->z_plus, z, 6), c->seed);
}
/* x+ = x-, but for an exact rotor */
static void check_34(const body_case *c) {
    double x[6];
    for (int j = 0; j < 6; ++j)
        x[j] = c->k->x_minus[j] + c->rotor[j] * c->k->acceleration[0];
    note(c->w + E34, relative(c->k->x_plus, x, 6), c->seed);
}
/* Accelerations by soa_aba (in r1), joint forces by soa_rnea (in r3). */
static void check_references(const body_case *c) {
    const bench *b = c->b;
    const double *a = b->r1 + c->info.v_index;
    double follower;
    if (c->info.mimic >= 0) {
        soa_body_info leader;
        OK(soa_model_body(b->m, c->info.mimic, &leader));
        follower = c->info.mimic_ratio * b->r1[leader.v_index];
        a = &follower;
    }
    note(c->w + E_FORCE, relative(c->k->x_minus, b->r3 + 6 * (c->i - 1), 6), c->seed);
    note(c->w + E_ABA, relative(c->k->acceleration, a, (size_t)c->k->nv), c->seed);
}
/* (36), (37): what the body adds to its parent's sums */
static void add_to_parent(const body_case *c, double z[6], double P[36]) {
    const soa_frame X = in_parent(c->b, c->i, c->info.parent);
    double phi[36], phit[36], x[6], t[36], u[36];
    phi_of(&X, phi);
    turn(6, 6, phi, phit);
    mul(6, 6, 1, phi, c->k->z_plus, x);
    for (int j = 0; j < 6; ++j)
        z[j] += x[j];
    mul(6, 6, 6, phi, c->k->P_plus, t);
    mul(6, 6, 6, t, phit, u);
    for (int j = 0; j < 36; ++j)
        P[j] += u[j];
}
/* Outward: lambda of the parent (the base's is minus gravity) to the body's. */
static void check_45_46_47(const body_case *c, const double lambda_parent[6]) {
    const soa_smoothed *k = c->k;
    const int n = k->nv;
    const soa_frame X = in_parent(c->b, c->i, c->info.parent);
    double x[6], a[6], Gt[36];
    soa_frame_motion_to_child(&X, lambda_parent, x);
    note(c->w + E45, relative(k->lambda_plus, x, 6), c->seed);
    for (int j = 0; j < 6; ++j)
        x[j] = k->lambda_plus[j] + k->n[j];
    turn(6, n, k->gain, Gt);
    mul(n, 6, 1, Gt, x, a);
    for (int j = 0; j < n; ++j)
        a[j] = k->residual[j] - a[j];
    note(c->w + E46, relative(k->acceleration, a, (size_t)n), c->seed);
    for (int j = 0; j < 6; ++j)
        for (int r = 0; r < n; ++r)
            x[j] += k->H[6 * r + j] * k->acceleration[r];
    note(c->w + E47, relative(k->lambda_minus, x, 6), c->seed);
}
static void run_references(bench *b) {
    OK(soa_aba(b->m, b->other, b->q, b->v, b->tau, b->f, 3, b->r1));
    OK(soa_rnea(b->m, b->other, b->q, b->v, b->r1, b->f, 3, b->r2));
    for (int i = 1; i <= (int)b->nb; ++i)
        OK(soa_joint_force(b->m, b->other, i, b->r3 + 6 * (i - 1)));
    OK(soa_kinematics(b->m, b->other, b->q, NULL, NULL));
}
static void check_filter(bench *b, worst_case *w, long seed) {
    soa_smoothed *s = calloc(b->nb + 1, sizeof *s);
    double(*z)[6] = calloc(b->nb + 1, sizeof *z), (*P)[36] = calloc(b->nb + 1, sizeof *P);
    run_references(b);
    OK(soa_smoother(b->m, b->w, b->q, b->v, b->tau, b->f, 3));
    for (int i = (int)b->nb; i >= 1; --i) {
        OK(soa_smoother_read(b->m, b->w, i, s + i));
        const body_case c = open_body(b, w, seed, i, s + i);
        double M[36];
        rigid(b->pi + 10 * (i - 1), M);
        for (int j = 0; j < 36; ++j)
            P[i][j] += M[j];
        for (int j = 0; j < 6; ++j)
            z[i][j] += s[i].b[j];
        check_36_37(&c, z[i], P[i]);
        check_38_39(&c);
        check_40_42(&c);
        check_43(&c);
        check_41(&c);
        if (c.info.parent) add_to_parent(&c, z[c.info.parent], P[c.info.parent]);
        check_34(&c);
        check_references(&c);
    }
    double base[6] = {0}; /* lambda there */
    soa_model_gravity(b->m, base + 3);
    for (int j = 3; j < 6; ++j)
        base[j] = -base[j];
    for (int i = 1; i <= (int)b->nb; ++i) {
        const body_case c = open_body(b, w, seed, i, s + i);
        check_45_46_47(&c, c.info.parent ? s[c.info.parent].lambda_minus : base);
    }
    free(s);
    free(z);
    free(P);
}

static void filter_and_smoother(void **state) {
    (void)state;
    worst_case w[EQUATIONS] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + TREES; ++seed) {
        bench b = open_random("random", seed);
        check_filter(&b, w, seed);
        close_bench(&b);
    }
    static const char *const named[] = {"puma560",   "arm7",     "satellite",
                                        "quadruped", "humanoid", "two-puma-object"};
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        bench b = open_bench(named[i], 0, 0, first_seed() + (long)i);
        check_filter(&b, w, -1 - (long)i);
        close_bench(&b);
    }
    for (int e = 0; e < EQUATIONS; ++e)
        conclude(equation_names[e], w + e, 1e-10);
}

/* ---- R87 (69) to (71) ------------------------------------------------------------------------ */
static double *dense(soa_machine *machine, const char *text, size_t n) {
    const soa_expr *e = NULL;
    char message[600];
    double *x = room(n);
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    OK(soa_machine_dense_matrix(machine, e, x));
    soa_expr_free(e);
    return x;
}
static void three_accelerations(void **state) {
    (void)state;
    worst_case sum = {0}, part[3] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + TREES; ++seed) {
        bench b = open_random("random", seed);
        double *a[3] = {room(b.nv), room(b.nv), room(b.nv)};
        OK(soa_aba(b.m, b.other, b.q, b.v, b.tau, b.f, 3, b.r1));
        /* what another state left in the work space must not be read */
        soa_q_neutral(b.m, b.r2);
        OK(soa_aba(b.m, b.w, b.r2, b.v, b.tau, NULL, 0, a[0]));
        OK(soa_acceleration_parts(
            b.m, b.w,
            &(soa_input){.q = b.q, .v = b.v, .tau = b.tau, .wrenches = b.f, .wrench_count = 3},
            a[0], a[1], a[2]));
        for (size_t j = 0; j < b.nv; ++j)
            b.r2[j] = a[0][j] + a[1][j] + a[2][j];
        double scale = 1e-3, worst = 0; /* the parts may cancel */
        for (size_t j = 0; j < b.nv; ++j)
            for (int i = 0; i < 3; ++i)
                scale = fmax(scale, fabs(a[i][j]));
        for (size_t j = 0; j < b.nv; ++j)
            worst = !(fabs(b.r2[j] - b.r1[j]) <= worst) ? fabs(b.r2[j] - b.r1[j]) : worst;
        note(&sum, worst / scale, seed);
        for (int i = 0; i < 3; ++i)
            free(a[i]);
        close_bench(&b);
    }
    /* each part against the dense operators; `a` there holds gravity, so it is switched off for the
     * third */
    for (long seed = first_seed(); seed < first_seed() + 12; ++seed) {
        bench b = open_random("random-ideal", seed);
        const double none[3] = {0};
        const soa_model *weightless;
        OK(soa_model_with_gravity(b.m, none, &weightless));
        soa_machine *machine[2];
        OK(soa_machine_create(b.m, NULL, 0, &machine[0], NULL));
        OK(soa_machine_create(weightless, NULL, 0, &machine[1], NULL));
        OK(soa_machine_set_state(machine[0], b.q, b.v, NULL, b.tau, NULL, b.f, 3));
        OK(soa_machine_set_state(machine[1], b.q, b.v, NULL, b.tau, NULL, b.f, 3));
        double *a1 = room(b.nv), *a2 = room(b.nv), *a3 = room(b.nv);
        OK(soa_acceleration_parts(
            b.m, b.w,
            &(soa_input){.q = b.q, .v = b.v, .tau = b.tau, .wrenches = b.f, .wrench_count = 3}, a1,
            a2, a3));
        double *want1 = dense(machine[0], "inv(Mass) T", b.nv);
        double *both = dense(machine[0], "-1 inv(Mass) H phi (b + M phi' a)", b.nv);
        double *want3 = dense(machine[1], "-1 inv(Mass) H phi M phi' a", b.nv);
        for (size_t j = 0; j < b.nv; ++j)
            both[j] -= want3[j];
        note(part, relative(a1, want1, b.nv), seed);
        note(part + 1, relative(a2, both, b.nv), seed);
        note(part + 2, relative(a3, want3, b.nv), seed);
        free(a1);
        free(a2);
        free(a3);
        free(want1);
        free(both);
        free(want3);
        soa_machine_free(machine[0]);
        soa_machine_free(machine[1]);
        soa_model_free(weightless);
        close_bench(&b);
    }
    conclude("R87 (69) a1 + a2 + a3 = soa_aba", &sum, 1e-10);
    conclude("R87 (70) a1 = M^-1 tau", part, 1e-9);
    conclude("R87 (70) a2 = -M^-1 H phi b, weight included", part + 1, 1e-9);
    conclude("R87 (70) a3 = -M^-1 H phi M phi' n", part + 2, 1e-9);
}

/* R87 (70), (71), (72), (80) as printed, on serial arms with one-dof joints, gravity off; k counts
 * from the tip: R87's link k is body N + 1 - k. */
enum { MOST_LINKS = 14 };
typedef struct arm {
    int N;
    soa_smoothed s[MOST_LINKS];
    double phi[MOST_LINKS][36]; /* phi(k, k-1) */
    double F[MOST_LINKS][36];   /* I - G H */
    double psi[MOST_LINKS][MOST_LINKS][36], Dp[MOST_LINKS][36], Dm[MOST_LINKS][36];
} arm;
/* psi(k-, j+) = phi(k,k-1) [I - G(k-1)H(k-1)] ... phi(j+1, j)   (72) */
static void equation_72(arm *a) {
    for (int j = 1; j < a->N; ++j) {
        memcpy(a->psi[j + 1][j], a->phi[j + 1], sizeof a->phi[0]);
        for (int k = j + 2; k <= a->N; ++k) {
            double t[36];
            mul(6, 6, 6, a->F[k - 1], a->psi[k - 1][j], t);
            mul(6, 6, 6, a->phi[k], t, a->psi[k][j]);
        }
    }
}
static void read_arm(bench *b, arm *a) {
    a->N = (int)b->nb;
    assert_true(a->N < MOST_LINKS);
    OK(soa_smoother(b->m, b->w, b->q, b->v, b->tau, b->f, 3));
    OK(soa_kinematics(b->m, b->other, b->q, NULL, NULL));
    for (int k = 1; k <= a->N; ++k) {
        const int body = a->N + 1 - k;
        OK(soa_smoother_read(b->m, b->w, body, a->s + k));
        OK(soa_smoother_covariance(b->m, b->w, body, a->Dp[k], a->Dm[k], NULL));
        if (k < a->N) {
            const soa_frame X = in_parent(b, body, body - 1);
            phi_of(&X, a->phi[k + 1]);
        }
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                a->F[k][6 * r + c] = (r == c) - a->s[k].gain[r] * a->s[k].H[c];
    }
    equation_72(a);
}
static void equation_80(const arm *a, worst_case *costate, long seed) {
    for (int k = 1; k <= a->N; ++k) {
        double sum[36] = {0}, x[6];
        for (int j = k + 1; j <= a->N; ++j) {
            mul(1, 6, 6, a->s[j].H, a->psi[j][k], x);
            for (int r = 0; r < 36; ++r)
                sum[r] += x[r / 6] * x[r % 6] / a->s[j].D[0];
        }
        note(costate, relative(a->Dp[k], sum, 36), seed);
    }
}
/* (71): c = 1/D + G' Delta+ G, returned, and d = Delta+ G - c H' */
static double equation_71(const arm *a, int k, double d[6]) {
    double GD[6], x;
    mul(1, 6, 6, a->s[k].gain, a->Dp[k], GD);
    mul(1, 6, 1, GD, a->s[k].gain, &x);
    const double c = 1 / a->s[k].D[0] + x;
    for (int r = 0; r < 6; ++r)
        d[r] = GD[r] - c * a->s[k].H[r];
    return c;
}
/* (Delta+ P+ - I) n of link k */
static void deflected(const arm *a, int k, double out[6]) {
    double t[36];
    mul(6, 6, 6, a->Dp[k], a->s[k].P_plus, t);
    for (int r = 0; r < 6; ++r)
        t[7 * r] -= 1;
    mul(6, 6, 1, t, a->s[k].n, out);
}
/* The term of (70) with the forces of link k itself */
static void own_term(const arm *a, int k, double part[3]) {
    double d[6], x[6];
    part[0] = equation_71(a, k, d) * a->s[k].tau[0];
    mul(1, 6, 1, d, a->s[k].b, part + 1);
    deflected(a, k, x);
    mul(1, 6, 1, a->s[k].gain, x, part + 2);
}
/* ... of a link j nearer to the tip, j < k */
static void outer_term(const arm *a, int k, int j, double part[3]) {
    double d[6], x[6], y[6], t[36], sum;
    equation_71(a, k, d);
    mul(6, 6, 1, a->psi[k][j], a->s[j].gain, x);
    mul(1, 6, 1, d, x, &sum);
    part[0] += sum * a->s[j].tau[0];
    mul(6, 6, 6, a->psi[k][j], a->F[j], t);
    mul(6, 6, 1, t, a->s[j].b, x);
    mul(1, 6, 1, d, x, &sum);
    part[1] += sum;
    mul(6, 6, 1, a->s[j].P_plus, a->s[j].n, x);
    mul(6, 6, 1, a->psi[k][j], x, y);
    mul(1, 6, 1, d, y, &sum);
    part[2] += sum;
}
/* ... of a link j nearer to the base, j > k */
static void inner_term(const arm *a, int k, int j, double part[3]) {
    double d[6], x[6], y[6], psit[36], Ft[36], sum;
    equation_71(a, j, d);
    turn(6, 6, a->psi[j][k], psit);
    mul(6, 6, 1, psit, d, x);
    mul(1, 6, 1, a->s[k].gain, x, &sum);
    part[0] += sum * a->s[j].tau[0];
    mul(6, 6, 1, a->Dm[j], a->s[j].b, x);
    mul(6, 6, 1, psit, x, y);
    mul(1, 6, 1, a->s[k].gain, y, &sum);
    part[1] += sum;
    deflected(a, j, x);
    turn(6, 6, a->F[j], Ft);
    mul(6, 6, 1, Ft, x, y);
    mul(6, 6, 1, psit, y, x); /* psi(j+, k+)' */
    mul(1, 6, 1, a->s[k].gain, x, &sum);
    part[2] += sum;
}
static void equation_70(const arm *a, bench *b, worst_case part[3], long seed) {
    double *want[3] = {b->r1, b->r2, b->r3}, *got[3] = {room(b->nv), room(b->nv), room(b->nv)};
    for (int k = 1; k <= a->N; ++k) {
        double sum[3];
        own_term(a, k, sum);
        for (int j = 1; j < k; ++j)
            outer_term(a, k, j, sum);
        for (int j = k + 1; j <= a->N; ++j)
            inner_term(a, k, j, sum);
        for (int p = 0; p < 3; ++p)
            want[p][a->N - k] = sum[p];
    }
    const soa_input input = {
        .q = b->q, .v = b->v, .tau = b->tau, .wrenches = b->f, .wrench_count = 3};
    OK(soa_acceleration_parts(b->m, b->other, &input, got[0], got[1], got[2]));
    for (int p = 0; p < 3; ++p) {
        note(part + p, relative(want[p], got[p], b->nv), seed);
        free(got[p]);
    }
}
static bench open_weightless(const char *name, long seed) {
    const double none[3] = {0};
    const soa_model *m;
    bench heavy = open_bench(name, 1, 0, seed);
    OK(soa_model_with_gravity(heavy.m, none, &m));
    close_bench(&heavy);
    return prepare(m, seed);
}
static void closed_accelerations(void **state) {
    (void)state;
    static const char *const arms[] = {"chain:6", "arm7", "puma560", "planar-chain:4", "chain:12"};
    static arm a;
    worst_case part[3] = {{0}}, costate = {0};
    for (size_t i = 0; i < sizeof arms / sizeof *arms; ++i) {
        const long seed = first_seed() + (long)i;
        bench b = open_weightless(arms[i], seed);
        read_arm(&b, &a);
        equation_80(&a, &costate, seed);
        equation_70(&a, &b, part, seed);
        close_bench(&b);
    }
    conclude("R87 (80) Delta+ as a sum = (81), (82)", &costate, 1e-10);
    conclude("R87 (70), (71) a1(k), sums as printed", part, 1e-9);
    conclude("R87 (70), (71) a2(k), sums as printed", part + 1, 1e-9);
    conclude("R87 (70), (71) a3(k), sums as printed", part + 2, 1e-9);
}

/* ---- R87 (23) to (31) ------------------------------------------------------------------------ */
static void closed_sums(void **state) {
    (void)state;
    worst_case t = {0}, M = {0}, V = {0}, x = {0}, l = {0}, both = {0};
    for (long seed = first_seed(); seed < first_seed() + TREES; ++seed) {
        bench b = open_random("random", seed);
        double *mass = room(b.nv * b.nv), *bias = room(b.nv), *tau = room(b.nv),
               *force = room(6 * b.nb), *lambda = room(6 * b.nb), g[6] = {0};
        OK(soa_inverse_sums(
            b.m, b.w,
            &(soa_input){.q = b.q, .v = b.v, .a = b.a, .wrenches = b.f, .wrench_count = 3}, force,
            lambda, mass, bias, tau));
        OK(soa_rnea(b.m, b.other, b.q, b.v, b.a, b.f, 3, b.r1));
        note(&t, relative(tau, b.r1, b.nv), seed);
        for (size_t i = 1; i <= b.nb; ++i)
            OK(soa_joint_force(b.m, b.other, (int)i, b.r2 + 6 * (i - 1)));
        note(&x, relative(force, b.r2, 6 * b.nb), seed);
        OK(soa_crba(b.m, b.other, b.q, b.r1));
        note(&M, relative(mass, b.r1, b.nv * b.nv), seed);
        /* (31): no acceleration and no losses; (30) adds both */
        OK(soa_rnea(b.m, b.other, b.q, b.v, NULL, b.f, 3, b.r1));
        OK(soa_inverse_sums(b.m, b.w,
                            &(soa_input){.q = b.q, .v = b.v, .wrenches = b.f, .wrench_count = 3},
                            NULL, NULL, NULL, b.r2, b.r3));
        note(&V, relative(b.r2, bias, b.nv), seed);
        note(&V, relative(b.r3, b.r1, b.nv), seed);
        for (size_t i = 0; i < b.nv; ++i) { /* tau(a) - tau(0) = m a */
            double s = 0;
            for (size_t j = 0; j < b.nv; ++j)
                s += mass[b.nv * i + j] * b.a[j];
            b.r1[i] = s;
            b.r3[i] = tau[i] - b.r3[i];
        }
        note(&both, relative(b.r3, b.r1, b.nv), seed);
        OK(soa_kinematics(b.m, b.other, b.q, b.v, b.a));
        soa_model_gravity(b.m, g);
        for (size_t i = 1; i <= b.nb; ++i) { /* lambda, spatial, with -g */
            soa_body_info info;
            soa_frame F;
            double A[6];
            OK(soa_model_body(b.m, (int)i, &info));
            OK(soa_acceleration_spatial(b.m, b.other, info.frame, SOA_AXES_BODY, A));
            OK(soa_pose(b.m, b.other, info.frame, &F));
            for (int c = 0; c < 3; ++c)
                A[3 + c] -= F.R[c] * g[0] + F.R[3 + c] * g[1] + F.R[6 + c] * g[2];
            memcpy(b.r1 + 6 * (i - 1), A, sizeof A);
        }
        note(&l, relative(lambda, b.r1, 6 * b.nb), seed);
        free(mass);
        free(bias);
        free(tau);
        free(force);
        free(lambda);
        close_bench(&b);
    }
    conclude("R87 (23) lambda = soa_kinematics' accelerations", &l, 1e-11);
    conclude("R87 (24) x = soa_joint_force", &x, 1e-11);
    conclude("R87 (20), (27) tau = soa_rnea", &t, 1e-11);
    conclude("R87 (28), (30) m(k,i) = soa_crba", &M, 1e-11);
    conclude("R87 (31) V(u, u')", &V, 1e-11);
    conclude("R87 (22), (30) m a + V = tau", &both, 1e-10);
}

/* ---- R87 (16) to (21) with other boundary conditions ----------------------------------------- */
typedef struct answer {
    soa_boundary ends;
    double *joints[2]; /* accelerations, torques */
    double *x, *lambda;
} answer;
static answer make_answer(const bench *b) {
    return (answer){
        .joints = {room(b->nv), room(b->nv)}, .x = room(6 * b->nb), .lambda = room(6 * b->nb)};
}
static void free_answer(answer *a) {
    free(a->joints[0]);
    free(a->joints[1]);
    free(a->x);
    free(a->lambda);
}
static double difference(const bench *b, const answer *got, const answer *want) {
    double worst = 0;
    const struct {
        const double *g, *w;
        size_t n;
    } rows[] = {{got->ends.base_acceleration, want->ends.base_acceleration, 6},
                {got->ends.base_force, want->ends.base_force, 6},
                {got->ends.tip_force, want->ends.tip_force, 6},
                {got->ends.tip_acceleration, want->ends.tip_acceleration, 6},
                {got->joints[0], want->joints[0], b->nv},
                {got->joints[1], want->joints[1], b->nv},
                {got->x, want->x, 6 * b->nb},
                {got->lambda, want->lambda, 6 * b->nb}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const double e = relative(rows[i].g, rows[i].w, rows[i].n);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}
/* All pairs of conditions lead back to one motion. */
static void round_trips(bench *b, int tip, int six_dof, worst_case inverse[16],
                        worst_case forward[16], long seed) {
    answer want = make_answer(b), got = make_answer(b);
    dice d = {(uint64_t)seed * 13 + 5};
    soa_body_info info;
    OK(soa_model_body(b->m, tip, &info));
    soa_boundary *e = &want.ends;
    e->tip = info.frame;
    roll_many(&d, -1, 1, 6, e->base_velocity);
    roll_many(&d, -2, 2, 6, e->base_acceleration);
    roll_many(&d, -3, 3, 6, e->tip_force);
    const double base[10] = {2, .1, -.2, .3, .5, .6, .7, .01, .02, -.03};
    memcpy(e->base_inertia, base, sizeof base);
    memcpy(want.joints[0], b->a, b->nv * sizeof(double));
    OK(soa_boundary_problem(b->m, b->w,
                            &(soa_input){.q = b->q, .v = b->v, .wrenches = b->f, .wrench_count = 3},
                            b->a, e, want.joints[1], want.x, want.lambda));
    for (int torques = 0; torques < 2; ++torques)
        for (int given = 1; given < 16; ++given) {
            const int pair =
                given == 3 || given == 5 || given == 6 || given == 9 || given == 10 || given == 12;
            const int allowed =
                torques ? given == 5 || given == 6 || given == 9 || given == 10 : given != 9;
            got.ends = want.ends;
            double *ends[4] = {got.ends.base_acceleration, got.ends.base_force, got.ends.tip_force,
                               got.ends.tip_acceleration};
            for (int j = 0; j < 4; ++j) /* what is not given must not be read */
                for (int c = 0; !(given >> j & 1) && c < 6; ++c)
                    ends[j][c] = NAN;
            got.ends.given = given;
            got.ends.torques = torques;
            memcpy(got.joints[torques], want.joints[torques], b->nv * sizeof(double));
            const soa_status s = soa_boundary_problem(
                b->m, b->w, &(soa_input){.q = b->q, .v = b->v, .wrenches = b->f, .wrench_count = 3},
                want.joints[torques], &got.ends, got.joints[!torques], got.x, got.lambda);
            if (!pair || !allowed) {
                assert_int_equal(s, SOA_E_ARGUMENT);
                continue;
            }
            if (torques && given & SOA_TIP_ACCELERATION && !six_dof) continue; /* may be singular */
            assert_int_equal(s, SOA_OK);
            note((torques ? forward : inverse) + given, difference(b, &got, &want), seed);
        }
    free_answer(&want);
    free_answer(&got);
}
static void boundary_conditions(void **state) {
    (void)state;
    static const char *const what[16] = {
        [3] = "base acceleration and force",       [5] = "base acceleration, tip force",
        [6] = "base force, tip force (free-free)", [9] = "base acceleration, tip acceleration",
        [10] = "base force, tip acceleration",     [12] = "tip force and acceleration"};
    worst_case inverse[16] = {{0}}, forward[16] = {{0}}, ordinary[2] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + TREES; ++seed) {
        bench b = open_random("random", seed);
        soa_boundary plain = {0};
        OK(soa_boundary_problem(
            b.m, b.w, &(soa_input){.q = b.q, .v = b.v, .wrenches = b.f, .wrench_count = 3}, b.a,
            &plain, b.r1, NULL, NULL));
        OK(soa_rnea(b.m, b.other, b.q, b.v, b.a, b.f, 3, b.r2));
        note(ordinary, relative(b.r1, b.r2, b.nv), seed);
        int mimic = 0;
        for (int i = 1; i <= (int)b.nb; ++i) {
            soa_body_info info;
            OK(soa_model_body(b.m, i, &info));
            mimic |= info.mimic >= 0;
        }
        plain = (soa_boundary){.torques = true};
        const soa_status s = soa_boundary_problem(
            b.m, b.w, &(soa_input){.q = b.q, .v = b.v, .wrenches = b.f, .wrench_count = 3}, b.tau,
            &plain, b.r1, NULL, NULL);
        if (mimic) {
            assert_int_equal(s, SOA_E_MIMIC);
        } else {
            assert_int_equal(s, SOA_OK);
            OK(soa_aba(b.m, b.other, b.q, b.v, b.tau, b.f, 3, b.r2));
            note(ordinary + 1, relative(b.r1, b.r2, b.nv), seed);
            round_trips(&b, (int)b.nb, 0, inverse, forward, seed);
        }
        close_bench(&b);
    }
    static const char *const arms[] = {"arm7", "puma560", "chain:10", "satellite", "two-puma"};
    for (size_t i = 0; i < sizeof arms / sizeof *arms; ++i) {
        bench b = open_bench(arms[i], 0, 0, first_seed() + (long)i);
        round_trips(&b, (int)b.nb, 1, inverse, forward, first_seed() + (long)i);
        close_bench(&b);
    }
    conclude("R87 (16) to (21) = soa_rnea", ordinary, 1e-11);
    conclude("R87 (16) to (21), torques given = soa_aba", ordinary + 1, 1e-9);
    for (int torques = 0; torques < 2; ++torques)
        for (int g = 0; g < 16; ++g) {
            char line[100];
            if (!what[g] || (torques ? g == 3 || g == 12 : g == 9)) continue;
            snprintf(line, sizeof line, "%s, %s", torques ? "torques" : "accelerations", what[g]);
            conclude(line, (torques ? forward : inverse) + g, 1e-9);
        }
}

/* A small arm with exact rotors, fixed or on a free joint. */
static const soa_model *rotor_arm(int floating) {
    soa_body_def body[5];
    body[0] = soa_body_default("base", 0, floating ? SOA_FREE : SOA_FIXED);
    soa_body_box(body, 3, .3, .4, .2);
    body[0].com[0] = .05;
    body[0].com[2] = -.1;
    static const char *const names[] = {"one", "two", "three", "side"};
    const soa_joint_type types[] = {SOA_REVOLUTE, SOA_PRISMATIC, SOA_REVOLUTE, SOA_UNIVERSAL};
    for (int i = 1; i < 5; ++i) {
        body[i] = soa_body_default(names[i - 1], i == 4 ? 1 : i, types[i - 1]);
        body[i].placement = soa_frame_from_rpy(.3 * i, -.2 * i, .5, .2, .1 * i, .15);
        soa_body_box(body + i, 1 + .3 * i, .1, .2, .3);
        body[i].com[1] = .1;
        if (i == 4) continue;
        body[i].joint.axis[0] = .3;
        body[i].joint.axis[1] = .2;
        body[i].joint.rotor_inertia = .002;
        body[i].joint.gear_ratio = i == 2 ? -40 : 30;
        body[i].joint.rotor_model = SOA_ROTOR_EXACT;
        body[i].joint.rotor_axis[0] = 1;
        body[i].joint.rotor_axis[2] = .5 * i;
        body[i].joint.damping = .1;
        body[i].joint.stiffness = 2;
    }
    const soa_model_def def = soa_model_default("rotor arm", body, 5);
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    return m;
}
/* A fixed machine with a free base is the machine built on a free joint. */
static void compare_floating(bench *fixed, bench *floating, worst_case w[3], long seed) {
    const size_t n = fixed->nv;
    dice d = {(uint64_t)seed + 99};
    soa_q_neutral(floating->m, floating->q);
    memcpy(floating->q + 7, fixed->q, fixed->nq * sizeof(double));
    roll_many(&d, -1, 1, 6, floating->v);
    memcpy(floating->v + 6, fixed->v, n * sizeof(double));
    soa_body_info info;
    OK(soa_model_body(fixed->m, (int)fixed->nb, &info));
    soa_wrench push[2] = {fixed->f[1], fixed->f[1]}; /* on the last body, and on the base */
    push[0].frame = info.frame;
    soa_boundary ends = {
        .given = SOA_BASE_FORCE | SOA_TIP_FORCE, .torques = true, .tip = info.frame};
    memcpy(ends.base_velocity, floating->v, 6 * sizeof(double));
    memcpy(ends.base_inertia, floating->pi, 10 * sizeof(double));
    memcpy(ends.tip_force, push[0].value, 6 * sizeof(double));
    roll_many(&d, -3, 3, 6, ends.base_force);
    /* the last body's own frame in the floating model has the same name */
    push[0].frame = soa_model_find_frame(floating->m, info.link);
    soa_body_info base;
    OK(soa_model_body(floating->m, 1, &base));
    push[1] = (soa_wrench){.frame = base.frame, .axes = SOA_AXES_BODY};
    memcpy(push[1].value, ends.base_force, sizeof ends.base_force);
    memset(floating->tau, 0, 6 * sizeof(double));
    memcpy(floating->tau + 6, fixed->tau, n * sizeof(double));
    OK(soa_aba(floating->m, floating->w, floating->q, floating->v, floating->tau, push, 2,
               floating->r1));
    OK(soa_boundary_problem(fixed->m, fixed->w, &(soa_input){.q = fixed->q, .v = fixed->v},
                            fixed->tau, &ends, fixed->r1, NULL, NULL));
    note(w, relative(fixed->r1, floating->r1 + 6, n), seed);
    note(w, relative(ends.base_acceleration, floating->r1, 6), seed);
    /* joint accelerations given: the base's is the one that makes the root's torque vanish */
    ends.torques = false;
    OK(soa_boundary_problem(fixed->m, fixed->w, &(soa_input){.q = fixed->q, .v = fixed->v},
                            fixed->a, &ends, fixed->r1, NULL, NULL));
    memcpy(floating->a, ends.base_acceleration, 6 * sizeof(double));
    memcpy(floating->a + 6, fixed->a, n * sizeof(double));
    OK(soa_rnea(floating->m, floating->w, floating->q, floating->v, floating->a, push, 2,
                floating->r1));
    note(w + 1, relative(fixed->r1, floating->r1 + 6, n), seed);
    double scale = 0, left = 0;
    for (int j = 0; j < 6; ++j) {
        left = fmax(left, fabs(floating->r1[j]));
        scale = fmax(scale, fabs(ends.base_force[j]));
    }
    note(w + 2, left / scale, seed);
}
static void free_free(void **state) {
    (void)state;
    static const char *const arms[] = {"arm7", "puma560", "two-puma", "chain:6"};
    worst_case w[3] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + 20; ++seed) {
        for (size_t i = 0; i < sizeof arms / sizeof *arms; ++i) {
            bench fixed = open_bench(arms[i], 0, 0, seed),
                  floating = open_bench(arms[i], 0, 1, seed);
            compare_floating(&fixed, &floating, w, seed);
            close_bench(&fixed);
            close_bench(&floating);
        }
        bench fixed = prepare(rotor_arm(0), seed), floating = prepare(rotor_arm(1), seed);
        compare_floating(&fixed, &floating, w, seed);
        close_bench(&fixed);
        close_bench(&floating);
    }
    conclude("free-free, torques given = soa_aba of the floating model", w, 1e-9);
    conclude("free-free, accelerations given = its soa_rnea", w + 1, 1e-9);
    conclude("  and the root joint's torque is zero", w + 2, 1e-9);
}

/* ---- bad calls ------------------------------------------------------------------------------- */
static void bad_calls(void **state) {
    (void)state;
    bench b = open_bench("arm7", 0, 0, first_seed());
    soa_smoothed s;
    double S[36], out[42];
    assert_int_equal(soa_smoother_read(b.m, b.w, 1, &s), SOA_E_ORDER); /* nothing kept yet */
    assert_int_equal(soa_smoother_covariance(b.m, b.w, 1, NULL, NULL, S), SOA_E_ORDER);
    OK(soa_smoother(b.m, b.w, b.q, b.v, b.tau, b.f, 3));
    assert_int_equal(soa_smoother_read(b.m, b.w, 0, &s), SOA_E_ARGUMENT);
    assert_int_equal(soa_smoother_read(b.m, b.w, 8, &s), SOA_E_ARGUMENT);
    assert_int_equal(soa_smoother_read(b.m, b.w, 1, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_smoother_read(b.m, NULL, 1, &s), SOA_E_ARGUMENT);
    OK(soa_smoother_read(b.m, b.w, 7, &s));
    OK(soa_gravity_torque(b.m, b.w, b.q, out)); /* another call that takes q */
    assert_int_equal(soa_smoother_read(b.m, b.w, 7, &s), SOA_E_ORDER);
    const int frame = 3;
    OK(soa_smoother(b.m, b.w, b.q, b.v, b.tau, b.f, 3));
    OK(soa_compliance(b.m, b.w, b.q, &frame, 1, SOA_AXES_WORLD, S));
    assert_int_equal(soa_smoother_read(b.m, b.w, 7, &s), SOA_E_ORDER);
    OK(soa_smoother(b.m, b.w, b.q, b.v, b.tau, b.f, 3));
    OK(soa_nu_from_v(b.m, b.w, b.q, b.v, out));
    assert_int_equal(soa_smoother_read(b.m, b.w, 7, &s), SOA_E_ORDER);
    b.v[2] = NAN;
    assert_int_equal(soa_smoother(b.m, b.w, b.q, b.v, b.tau, NULL, 0), SOA_E_NOT_FINITE);
    assert_int_equal(soa_work_failed_body(b.w), 3);
    b.v[2] = 0;
    b.f[0].frame = 1000;
    assert_int_equal(soa_smoother(b.m, b.w, b.q, b.v, b.tau, b.f, 1), SOA_E_ARGUMENT);
    assert_int_equal(soa_acceleration_parts(
                         b.m, b.w, &(soa_input){.q = b.q, .v = b.v, .tau = b.tau}, out, NULL, out),
                     SOA_E_ARGUMENT);
    assert_int_equal(
        soa_inverse_sums(
            b.m, b.w,
            &(soa_input){.q = b.q, .v = b.v, .a = b.a, .wrenches = b.f, .wrench_count = 1}, NULL,
            NULL, NULL, NULL, out),
        SOA_E_ARGUMENT);
    soa_boundary e = {.base_force = {NAN}};
    OK(soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, out, NULL,
                            NULL)); /* found, not given */
    e = (soa_boundary){.base_inertia = {NAN}};
    assert_int_equal(
        soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, out, NULL, NULL),
        SOA_E_NOT_FINITE);
    e = (soa_boundary){.given = 5, .tip_force = {INFINITY}};
    assert_int_equal(
        soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, out, NULL, NULL),
        SOA_E_NOT_FINITE);
    e = (soa_boundary){.given = SOA_BASE_FORCE | SOA_TIP_ACCELERATION}; /* no tip named */
    assert_int_equal(
        soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, out, NULL, NULL),
        SOA_E_ARGUMENT);
    e = (soa_boundary){.given = 16};
    assert_int_equal(
        soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, out, NULL, NULL),
        SOA_E_ARGUMENT);
    e = (soa_boundary){0};
    assert_int_equal(
        soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.a, &e, NULL, NULL, NULL),
        SOA_E_ARGUMENT);
    close_bench(&b);
    /* a planar tip cannot be accelerated out of its plane; a base that carries nothing heavy cannot
     * float */
    b = open_bench("planar-chain:4", 0, 0, first_seed());
    soa_body_info info;
    OK(soa_model_body(b.m, 4, &info));
    e = (soa_boundary){
        .given = SOA_BASE_ACCELERATION | SOA_TIP_ACCELERATION, .torques = true, .tip = info.frame};
    out[0] = 77;
    assert_int_equal(soa_boundary_problem(b.m, b.w, &(soa_input){.q = b.q, .v = b.v}, b.tau, &e,
                                          out, NULL, NULL),
                     SOA_E_SINGULAR);
    assert_true(out[0] == 77);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(filter_and_smoother),
                                       cmocka_unit_test(three_accelerations),
                                       cmocka_unit_test(closed_accelerations),
                                       cmocka_unit_test(closed_sums),
                                       cmocka_unit_test(boundary_conditions),
                                       cmocka_unit_test(free_free),
                                       cmocka_unit_test(bad_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
