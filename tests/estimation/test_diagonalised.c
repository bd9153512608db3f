/* test_diagonalised.c  RJK91 (11) to (13) and the diagonalised equations of motion of its section
 * 6.
 *
 * References: soa_crba and soa_minv for the factors, the dense forms of the operators, soa_energy,
 * the complex step through the factors for their rates, soa_aba for the motion. SOA_SEED chooses
 * other trees. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "soa/forms.h"

#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include <complex.h>
#include <time.h>
#undef I
extern const soai_kernels soai_kernels_complex;
typedef double _Complex cplx;

#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct state {
    const soa_model *m;
    soa_work *w;
    size_t nq, nv;
    double *q, *v, *tau;
} state;
static double *zeros(size_t n) {
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}
static state open_state(const soa_model *m, long seed) {
    state s = {.m = m, .nq = (size_t)soa_model_nq(m), .nv = (size_t)soa_model_nv(m)};
    OK(soa_work_create(m, &s.w));
    s.q = zeros(s.nq);
    s.v = zeros(s.nv);
    s.tau = zeros(s.nv);
    dice d = {(uint64_t)seed * 7919};
    roll_many(&d, -1, 1, s.nv, s.v);
    soa_q_neutral(m, s.q);
    OK(soa_q_integrate(m, s.q, s.v, 1, s.q));
    roll_many(&d, -1, 1, s.nv, s.v);
    roll_many(&d, -1, 1, s.nv, s.tau);
    return s;
}
static void close_state(state *s) {
    soa_work_free(s->w);
    soa_model_free(s->m);
    free(s->q);
    free(s->v);
    free(s->tau);
}
static int has_mimic(const soa_model *m) {
    soa_body_info info;
    for (int i = 1; i <= soa_model_body_count(m); ++i)
        if (soa_model_body(m, i, &info) == SOA_OK && info.mimic >= 0) return 1;
    return 0;
}
static const char *const machines[] = {"puma560",   "arm7",     "two-puma-object", "satellite",
                                       "quadruped", "humanoid", "planar-chain:9",  "chain:30"};
enum { MACHINES = sizeof machines / sizeof *machines, TREES = 60 };
/* Machine number `index`, then random trees with every joint type, rotors, friction, springs; NULL
 * for one with mimic joints. */
static const soa_model *machine(int index, long seed, char name[40]) {
    const soa_model *m;
    if (index < MACHINES)
        snprintf(name, 40, "%s", machines[index]);
    else
        snprintf(name, 40, "random%s:%ld", index % 2 ? "" : "-ideal", seed);
    OK(soa_stock_model_create(name, NULL, &m, NULL));
    if (!has_mimic(m)) return m;
    soa_model_free(m);
    return NULL;
}

/* --- (11), (12), (13) ------------------------------------------------------------------------- */
static void form(state *s, soa_factor factor, double *A) {
    double *x = zeros(s->nv);
    for (size_t c = 0; c < s->nv; ++c) {
        memset(x, 0, s->nv * sizeof *x);
        x[c] = 1;
        OK(soa_mass_factor_mul(s->m, s->w, s->q, factor, x, x));
        for (size_t r = 0; r < s->nv; ++r)
            A[s->nv * r + c] = x[r];
    }
    free(x);
}
static void times(size_t n, const double *A, int ta, const double *B, int tb, double *out) {
    for (size_t r = 0; r < n; ++r)
        for (size_t c = 0; c < n; ++c) {
            double sum = 0;
            for (size_t k = 0; k < n; ++k)
                sum += (ta ? A[n * k + r] : A[n * r + k]) * (tb ? B[n * c + k] : B[n * k + c]);
            out[n * r + c] = sum;
        }
}
static double transposed(size_t n, const double *A, const double *B) {
    double *T = zeros(n * n);
    for (size_t j = 0; j < n * n; ++j)
        T[j] = A[n * (j % n) + j / n];
    const double e = relative(T, B, n * n);
    free(T);
    return e;
}
static void factors(void **unused) {
    (void)unused;
    worst_case mass = {0}, inverse = {0}, units = {0}, adjoint = {0}, dense = {0};
    for (int k = 0; k < MACHINES + TREES; ++k) {
        char name[40];
        const long seed = first_seed() + k;
        const soa_model *m = machine(k, seed, name);
        if (!m) continue;
        state s = open_state(m, seed);
        const size_t n = s.nv, nn = n * n;
        double *F[8], *A = zeros(nn), *B = zeros(nn), *M = zeros(nn);
        for (int f = 0; f < 8; ++f) {
            F[f] = zeros(nn);
            form(&s, (soa_factor)f, F[f]);
        }
        times(n, F[SOA_FACTOR_L], 0, F[SOA_FACTOR_ROOT], 0, A); /* m */
        times(n, A, 0, A, 1, B);
        OK(soa_crba(m, s.w, s.q, M));
        note(&mass, relative(B, M, nn), seed);
        times(n, F[SOA_FACTOR_ROOT_INVERSE], 0, F[SOA_FACTOR_L_INVERSE], 0, A); /* m^-1 */
        times(n, A, 1, A, 0, B);
        OK(soa_minv(m, s.w, s.q, M));
        note(&inverse, relative(B, M, nn), seed);
        for (int f = 0; f < 8; f += 4) { /* a factor times its inverse */
            times(n, F[f], 0, F[f + 2], 0, A);
            for (size_t j = 0; j < n; ++j)
                A[(n + 1) * j] -= 1;
            double size = 1;
            for (size_t j = 0; j < nn; ++j)
                size = fmax(size, fmax(fabs(F[f][j]), fabs(F[f + 2][j])));
            memset(B, 0, nn * sizeof *B);
            note(&units, relative(A, B, nn) * 1e-3 / size, seed);
            note(&adjoint, transposed(n, F[f], F[f + 1]), seed);
            note(&adjoint, transposed(n, F[f + 2], F[f + 3]), seed);
        }
        soa_machine *operators; /* no exact rotors there */
        if (soa_machine_create(m, NULL, 0, &operators, NULL) == SOA_OK) {
            const char *const text[2] = {"I + H phi K", "I - H psi K"};
            OK(soa_machine_set_state(operators, s.q, NULL, NULL, NULL, NULL, NULL, 0));
            for (int f = 0; f < 2; ++f) {
                const soa_expr *e;
                OK(soa_expr_parse(text[f], NULL, 0, &e, NULL, 0));
                OK(soa_machine_dense_matrix(operators, e, M));
                note(&dense, relative(F[f ? SOA_FACTOR_L_INVERSE : SOA_FACTOR_L], M, nn), seed);
                soa_expr_free(e);
            }
            soa_machine_free(operators);
        }
        for (int f = 0; f < 8; ++f)
            free(F[f]);
        free(A);
        free(B);
        free(M);
        close_state(&s);
    }
    conclude("RJK91 (11): (I + H phi K) D (I + H phi K)* = mass matrix", &mass, 1e-12);
    conclude("RJK91 (13): (I - H psi K)* D^-1 (I - H psi K) = its inverse", &inverse, 1e-9);
    conclude("RJK91 (12): inverses (over the size of the factors)", &units, 1e-12);
    conclude("adjoints", &adjoint, 1e-11);
    conclude("factors = dense operators", &dense, 1e-11);
}

/* --- nu, mu, eps ------------------------------------------------------------------------------ */
/* (dm/dt)* v by the complex step through the factors. */
static void root_rate(const state *s, double *out) {
    const soai_view_double view = soai_model_view(s->m);
    void *work = calloc(1, soai_kernels_complex.work_bytes);
    cplx *arrays = calloc(soai_kernels_complex.work_reals(&view) + 1, sizeof *arrays),
         *q = calloc(s->nq + 1, sizeof *q), *x = calloc(s->nv + 1, sizeof *x);
    double *rate = zeros(s->nq);
    const double h = 1e-40;
    soai_kernels_complex.work_place(&view, work, arrays);
    OK(soa_q_rate(s->m, s->q, s->v, rate));
    for (size_t j = 0; j < s->nq; ++j)
        q[j] = s->q[j] + h * rate[j] * _Complex_I;
    for (size_t j = 0; j < s->nv; ++j)
        x[j] = s->v[j];
    assert_int_equal(soai_kernels_complex.articulate(&view, work, q), 0);
    soai_kernels_complex.factor_mul(&view, work, SOA_FACTOR_L_ADJOINT, x, x);
    soai_kernels_complex.factor_mul(&view, work, SOA_FACTOR_ROOT_ADJOINT, x, x);
    for (size_t j = 0; j < s->nv; ++j)
        out[j] = cimag(x[j]) / h;
    free(work);
    free(arrays);
    free(q);
    free(x);
    free(rate);
}
static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j)
        sum += x[j] * y[j];
    return sum;
}
/* A machine's motion under torques, gravity, losses and two wrenches. */
typedef struct motion {
    soa_wrench push[2];
    double *nu, *mu, *root_rate; /* root_rate: (dm/dt)* v */
    double *nu_rate, *vdot;      /* of nu by soa_nu_rate, of v by soa_aba */
} motion;
static motion open_motion(state *s) {
    const size_t n = s->nv;
    const int last = soa_model_frame_count(s->m) - 1;
    motion k = {.push = {{last, SOA_AXES_WORLD, {1, -2, 3, 2, -1, 0.5}},
                         {last / 2, SOA_AXES_BODY, {0.1, 1, 0, 2, 0, -1}}},
                .nu = zeros(n),
                .mu = zeros(n),
                .root_rate = zeros(n),
                .nu_rate = zeros(n),
                .vdot = zeros(n)};
    double *v = zeros(n);
    const soa_input forces = {.q = s->q, .tau = s->tau, .wrenches = k.push, .wrench_count = 2};
    OK(soa_nu_from_v(s->m, s->w, s->q, s->v, k.nu));
    OK(soa_nu_bias(s->m, s->w, s->q, k.nu, k.mu));
    root_rate(s, k.root_rate);
    OK(soa_nu_rate(s->m, s->w, &forces, k.nu, v, k.nu_rate));
    OK(soa_aba(s->m, s->w, s->q, s->v, s->tau, k.push, 2, k.vdot));
    free(v);
    return k;
}
static void close_motion(motion *k) {
    free(k->nu);
    free(k->mu);
    free(k->root_rate);
    free(k->nu_rate);
    free(k->vdot);
}

typedef struct equation_errors {
    worst_case energy, back, workless, bias, pieces, forward, differences;
} equation_errors;
static void compare_energy(state *s, const motion *k, long seed, equation_errors *e) {
    const size_t n = s->nv;
    double kinetic, *v = zeros(n);
    OK(soa_energy(s->m, s->w, s->q, s->v, &kinetic, NULL));
    note(&e->energy, fabs(dot(n, k->nu, k->nu) / 2 - kinetic) / kinetic, seed);
    OK(soa_nu_to_v(s->m, s->w, s->q, k->nu, v));
    note(&e->back, relative(v, s->v, n), seed);
    free(v);
}
static void compare_work(size_t n, const motion *k, long seed, equation_errors *e) {
    double size = 0;
    for (size_t j = 0; j < n; ++j)
        size += fabs(k->nu[j] * k->mu[j]);
    note(&e->workless, size > 0 ? fabs(dot(n, k->nu, k->mu)) / fmax(size, 1e-3) : 0, seed);
}
/* mu = m^-1 (C v) - (dm/dt)* v, the first by inverse dynamics */
static void compare_bias(state *s, const motion *k, long seed, equation_errors *e) {
    const size_t n = s->nv;
    double *x = zeros(n), scale = 1e-3, worst = 0;
    OK(soa_coriolis_mul(s->m, s->w, s->q, s->v, s->v, x));
    OK(soa_mass_factor_mul(s->m, s->w, s->q, SOA_FACTOR_L_INVERSE, x, x));
    OK(soa_mass_factor_mul(s->m, s->w, s->q, SOA_FACTOR_ROOT_INVERSE, x, x));
    for (size_t j = 0; j < n; ++j) {
        scale = fmax(scale, fmax(fabs(x[j]), fabs(k->root_rate[j])));
        x[j] -= k->root_rate[j];
    }
    for (size_t j = 0; j < n; ++j) {
        worst = fmax(worst, fabs(k->mu[j] - x[j]));
        worst = k->mu[j] == k->mu[j] ? worst : NAN;
    }
    note(&e->bias, worst / scale, seed);
    free(x);
}
/* nu' in two calls: eps - mu */
static void compare_pieces(state *s, const motion *k, long seed, equation_errors *e) {
    const size_t n = s->nv;
    double *x = zeros(n);
    const soa_input input = {
        .q = s->q, .v = s->v, .tau = s->tau, .wrenches = k->push, .wrench_count = 2};
    OK(soa_nu_force(s->m, s->w, &input, x));
    for (size_t j = 0; j < n; ++j)
        x[j] -= k->mu[j];
    note(&e->pieces, relative(k->nu_rate, x, n), seed);
    free(x);
}
/* nu' = m* v' + (dm/dt)* v with v' by articulated bodies */
static void compare_forward(state *s, const motion *k, long seed, equation_errors *e) {
    const size_t n = s->nv;
    double *x = zeros(n);
    OK(soa_nu_from_v(s->m, s->w, s->q, k->vdot, x));
    for (size_t j = 0; j < n; ++j)
        x[j] += k->root_rate[j];
    note(&e->forward, relative(k->nu_rate, x, n), seed);
    free(x);
}
/* nu' by central differences along the motion: q (+) h v (+) ..., v + h v' */
static void compare_differences(state *s, const motion *k, long seed, equation_errors *e) {
    const size_t n = s->nv;
    const double h = 1e-5;
    double *q = zeros(s->nq), *v = zeros(n), *plus = zeros(n), *minus = zeros(n);
    for (int side = -1; side <= 1; side += 2) {
        for (size_t j = 0; j < n; ++j)
            v[j] = s->v[j] + side * h / 2 * k->vdot[j];
        OK(soa_q_integrate(s->m, s->q, v, side * h, q)); /* to second order */
        for (size_t j = 0; j < n; ++j)
            v[j] = s->v[j] + side * h * k->vdot[j];
        OK(soa_nu_from_v(s->m, s->w, q, v, side > 0 ? plus : minus));
    }
    for (size_t j = 0; j < n; ++j)
        plus[j] = (plus[j] - minus[j]) / (2 * h);
    note(&e->differences, relative(plus, k->nu_rate, n), seed);
    free(q);
    free(v);
    free(plus);
    free(minus);
}
static void equations(void **unused) {
    (void)unused;
    equation_errors e = {0};
    for (int k = 0; k < MACHINES + 5 * TREES; ++k) {
        char name[40];
        const long seed = first_seed() + k;
        const soa_model *m = machine(k, seed, name);
        if (!m) continue;
        state s = open_state(m, seed);
        motion moving = open_motion(&s);
        compare_energy(&s, &moving, seed, &e);
        compare_work(s.nv, &moving, seed, &e);
        compare_bias(&s, &moving, seed, &e);
        compare_pieces(&s, &moving, seed, &e);
        compare_forward(&s, &moving, seed, &e);
        if (k < MACHINES) compare_differences(&s, &moving, seed, &e);
        close_motion(&moving);
        close_state(&s);
    }
    conclude("nu.nu / 2 = kinetic energy", &e.energy, 1e-12);
    conclude("rates from nu from rates", &e.back, 1e-10);
    conclude("nu.mu = 0 (over the sum of |nu mu|)", &e.workless, 1e-11);
    conclude("mu = m^-1 (C v) - (dm/dt)* v, complex step", &e.bias, 1e-10);
    conclude("nu' = eps - mu, in one call and in two", &e.pieces, 1e-10);
    conclude("nu' = m* v' + (dm/dt)* v, v' by soa_aba", &e.forward, 1e-10);
    conclude("nu' by central differences along the motion", &e.differences, 1e-6);
}

/* --- the same motion -------------------------------------------------------------------------- */
/* Rate of (q, x), x being v or nu.  The quaternions of a stage are brought to unit length first. */
static void rate_of(state *s, int diagonal, const double *q, const double *x, double *unit,
                    double *v, double *q_rate, double *x_rate) {
    memcpy(unit, q, s->nq * sizeof *unit);
    OK(soa_q_normalise(s->m, unit));
    if (diagonal) {
        OK(soa_nu_rate(s->m, s->w, &(soa_input){.q = unit, .tau = s->tau}, x, v, x_rate));
    } else {
        memcpy(v, x, s->nv * sizeof *v);
        OK(soa_aba(s->m, s->w, unit, x, s->tau, NULL, 0, x_rate));
    }
    OK(soa_q_rate(s->m, unit, v, q_rate));
}
/* One second in `steps` steps of Runge-Kutta; the motion's end goes to q and v. Largest change of
 * |nu| seen, if diagonal. */
static double run(state *s, int diagonal, int steps, double *q, double *v) {
    const size_t nq = s->nq, n = s->nv;
    const double h = 1.0 / steps, part[4] = {0, h / 2, h / 2, h},
                 weight[4] = {h / 6, h / 3, h / 3, h / 6};
    double *x = zeros(n), *qs = zeros(nq), *xs = zeros(n), *dq = zeros(nq), *dx = zeros(n),
           *qn = zeros(nq), *xn = zeros(n), *unit = zeros(nq), first = 0, change = 0;
    memcpy(q, s->q, nq * sizeof *q);
    memcpy(x, s->v, n * sizeof *x);
    if (diagonal) OK(soa_nu_from_v(s->m, s->w, q, s->v, x));
    first = sqrt(dot(n, x, x));
    for (int step = 0; step < steps; ++step) {
        memcpy(qn, q, nq * sizeof *q);
        memcpy(xn, x, n * sizeof *x);
        memset(dq, 0, nq * sizeof *q);
        memset(dx, 0, n * sizeof *x);
        for (int k = 0; k < 4; ++k) {
            for (size_t j = 0; j < nq; ++j)
                qs[j] = q[j] + part[k] * dq[j];
            for (size_t j = 0; j < n; ++j)
                xs[j] = x[j] + part[k] * dx[j];
            rate_of(s, diagonal, qs, xs, unit, v, dq, dx);
            for (size_t j = 0; j < nq; ++j)
                qn[j] += weight[k] * dq[j];
            for (size_t j = 0; j < n; ++j)
                xn[j] += weight[k] * dx[j];
        }
        memcpy(q, qn, nq * sizeof *q);
        memcpy(x, xn, n * sizeof *x);
        change = fmax(change, fabs(sqrt(dot(n, x, x)) / first - 1));
    }
    OK(soa_q_normalise(s->m, q));
    if (diagonal)
        OK(soa_nu_to_v(s->m, s->w, q, x, v));
    else
        memcpy(v, x, n * sizeof *v);
    free(x);
    free(qs);
    free(xs);
    free(dq);
    free(dx);
    free(qn);
    free(xn);
    free(unit);
    return change;
}
static double apart(const state *s, const double *q0, const double *v0, const double *q1,
                    const double *v1) {
    double *d = zeros(s->nv), worst;
    OK(soa_q_difference(s->m, q0, q1, d));
    worst = relative(v1, v0, s->nv);
    for (size_t j = 0; j < s->nv; ++j)
        if (!(fabs(d[j]) <= worst)) worst = fabs(d[j]);
    free(d);
    return worst;
}
/* A free base that carries a universal, a spherical, a planar, a cylindrical, a helical and a
 * prismatic joint. */
static const soa_model *every_joint(void) {
    static const struct {
        const char *name;
        int parent;
        soa_joint_type type;
    } rows[] = {{"hull", 0, SOA_FREE},        {"neck", 1, SOA_UNIVERSAL},
                {"head", 2, SOA_SPHERICAL},   {"tray", 1, SOA_PLANAR},
                {"drum", 4, SOA_CYLINDRICAL}, {"screw", 1, SOA_HELICAL},
                {"slide", 6, SOA_PRISMATIC},  {"hand", 3, SOA_REVOLUTE}};
    enum { N = sizeof rows / sizeof *rows };
    soa_body_def body[N];
    for (int i = 0; i < N; ++i) {
        body[i] = soa_body_default(rows[i].name, rows[i].parent, rows[i].type);
        soa_body_box(&body[i], i ? 1 + 0.3 * i : 8, 0.3 + 0.05 * i, 0.4, 0.25);
        body[i].placement = soa_frame_from_rpy(0.2 * i, 0.1, -0.15 * i, 0.3, 0.1 * i, -0.2);
        body[i].com[0] = 0.15;
        body[i].com[1] = 0.05 * i;
        body[i].com[2] = -0.1;
        body[i].joint.pitch = 0.1;
        if (rows[i].type == SOA_UNIVERSAL) body[i].joint.axis2[1] = 0.4;
    }
    const soa_model_def def = soa_model_default("every joint", body, N);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    return m;
}
static void same_motion(void **unused) {
    (void)unused;
    static const char *const names[] = {"puma560", "satellite", "quadruped", "every joint"};
    const double no_gravity[3] = {0, 0, 0};
    for (int k = 0; k < 4; ++k) {
        const soa_model *m;
        const soa_read_options ideal = {0, 1};
        if (k < 3)
            OK(soa_stock_model_create(names[k], &ideal, &m, NULL));
        else
            m = every_joint();
        state s = open_state(m, first_seed() + k);
        for (size_t j = 0; j < s.nv; ++j)
            s.tau[j] *= k ? 0.1 : 1e-3; /* a bare wrist or foot weighs little */
        double *q[2] = {zeros(s.nq), zeros(s.nq)}, *v[2] = {zeros(s.nv), zeros(s.nv)},
               *qf = zeros(s.nq), *vf = zeros(s.nv);
        const int coarse = 400, levels = 3;
        double between[3], own[3];
        /* the finest, in ordinary coordinates: stands for the exact motion */
        run(&s, 0, coarse << 5, qf, vf);
        for (int l = 0; l < levels; ++l) {
            run(&s, 0, coarse << l, q[0], v[0]);
            run(&s, 1, coarse << l, q[1], v[1]);
            between[l] = apart(&s, q[0], v[0], q[1], v[1]);
            own[l] = apart(&s, qf, vf, q[1], v[1]);
            printf("  %-12s %4d steps: diagonalised - ordinary %.1e, diagonalised - exact %.1e",
                   names[k], coarse << l, between[l], own[l]);
            if (l) printf(" (order %.2f)", log2(own[l - 1] / own[l]));
            printf("\n");
        }
        run(&s, 1, coarse << 4, q[1], v[1]);
        const double fine = apart(&s, qf, vf, q[1], v[1]);
        printf("  %-12s %4d steps: diagonalised - exact %.1e\n", names[k], coarse << 4, fine);
        const double order = log2(own[1] / own[2]);
        assert_true(order > 3.6 && order < 4.6);
        /* a quarter of the step: 1/256 */
        assert_true(fine <= 1e-8 && fine <= fmax(own[2] / 100, 1e-11));

        const soa_model *floating; /* nothing acts: |nu| stays */
        OK(soa_model_with_gravity(m, no_gravity, &floating));
        close_state(&s);
        s = open_state(floating, first_seed() + k);
        memset(s.tau, 0, s.nv * sizeof *s.tau);
        const double loose = run(&s, 1, 200, q[1], v[1]), tight = run(&s, 1, 400, q[1], v[1]);
        printf("  %-12s no torque, no gravity: |nu| changes by %.1e in 200 steps, %.1e in 400\n",
               names[k], loose, tight);
        assert_true(tight <= 1e-7 && (tight <= loose / 8 || tight <= 1e-13));
        close_state(&s);
        free(q[0]);
        free(q[1]);
        free(v[0]);
        free(v[1]);
        free(qf);
        free(vf);
    }
}

/* With friction, springs and rotors: the PUMA 560 as it is, falling; short steps as friction
 * jumps. */
static void with_friction(void **unused) {
    (void)unused;
    const soa_model *m;
    OK(soa_stock_model_create("puma560", NULL, &m, NULL));
    state s = open_state(m, first_seed());
    double *q[2] = {zeros(s.nq), zeros(s.nq)}, *v[2] = {zeros(s.nv), zeros(s.nv)};
    for (int diagonal = 0; diagonal < 2; ++diagonal)
        run(&s, diagonal, 4000, q[diagonal], v[diagonal]);
    const double d = apart(&s, q[0], v[0], q[1], v[1]);
    printf("  puma560 with friction and rotors, 4000 steps: diagonalised - ordinary %.1e\n", d);
    assert_true(d <= 1e-3); /* where a joint stops, its Coulomb friction jumps within a step */
    free(q[0]);
    free(q[1]);
    free(v[0]);
    free(v[1]);
    close_state(&s);
}

static double seconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at); /* others may be at work here */
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}
static void linear_time(void **unused) {
    (void)unused;
    for (int n = 10; n <= 10000; n *= 10) {
        char name[40];
        const soa_model *m;
        snprintf(name, sizeof name, "chain:%d", n);
        OK(soa_stock_model_create(name, NULL, &m, NULL));
        state s = open_state(m, 1);
        double *nu = zeros(s.nv), *v = zeros(s.nv), *rate = zeros(s.nv), best[2] = {1e9, 1e9};
        OK(soa_nu_from_v(m, s.w, s.q, s.v, nu));
        for (int k = 0; k < 5; ++k) {
            const double from = seconds();
            OK(soa_nu_rate(m, s.w, &(soa_input){.q = s.q, .tau = s.tau}, nu, v, rate));
            const double mid = seconds();
            OK(soa_aba(m, s.w, s.q, s.v, s.tau, NULL, 0, v));
            best[0] = fmin(best[0], mid - from);
            best[1] = fmin(best[1], seconds() - mid);
        }
        printf("  chain of %5d: nu' and v %.0f ns a joint, soa_aba %.0f ns\n", n, best[0] * 1e9 / n,
               best[1] * 1e9 / n);
        free(nu);
        free(v);
        free(rate);
        close_state(&s);
    }
}

static void refused(void **unused) {
    (void)unused;
    const soa_model *m;
    OK(soa_stock_model_create("satellite", NULL, &m, NULL));
    state s = open_state(m, 1);
    double *x = zeros(s.nv), *y = zeros(s.nv), *bad = zeros(s.nq);
    const soa_wrench f = {soa_model_frame_count(m), SOA_AXES_WORLD, {0}};
    for (size_t j = 0; j < s.nv; ++j)
        y[j] = 7;
    memcpy(bad, s.q, s.nq * sizeof *bad);
    bad[2] = NAN;
    assert_int_equal(soa_mass_factor_mul(NULL, s.w, s.q, SOA_FACTOR_L, x, y), SOA_E_ARGUMENT);
    assert_int_equal(soa_mass_factor_mul(m, NULL, s.q, SOA_FACTOR_L, x, y), SOA_E_ARGUMENT);
    assert_int_equal(soa_mass_factor_mul(m, s.w, s.q, SOA_FACTOR_L, NULL, y), SOA_E_ARGUMENT);
    assert_int_equal(soa_mass_factor_mul(m, s.w, s.q, SOA_FACTOR_L, x, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_mass_factor_mul(m, s.w, s.q, (soa_factor)8, x, y), SOA_E_ARGUMENT);
    assert_int_equal(soa_mass_factor_mul(m, s.w, bad, SOA_FACTOR_L, x, y), SOA_E_NOT_FINITE);
    assert_int_equal(soa_nu_from_v(m, s.w, bad, x, y), SOA_E_NOT_FINITE);
    assert_int_equal(soa_nu_to_v(m, s.w, s.q, NULL, y), SOA_E_ARGUMENT);
    assert_int_equal(soa_nu_bias(m, s.w, s.q, x, NULL), SOA_E_ARGUMENT);
    assert_int_equal(
        soa_nu_force(
            m, s.w, &(soa_input){.q = s.q, .v = x, .tau = x, .wrenches = &f, .wrench_count = 1}, y),
        SOA_E_ARGUMENT);
    assert_int_equal(soa_nu_rate(m, s.w, &(soa_input){.q = s.q, .wrench_count = 1}, x, x, y),
                     SOA_E_ARGUMENT);
    memset(bad, 0, s.nq * sizeof *bad); /* no unit quaternion */
    assert_int_equal(soa_nu_bias(m, s.w, bad, x, y), SOA_E_QUATERNION);
    for (size_t j = 0; j < s.nv; ++j)
        assert_true(y[j] == 7);
    free(x);
    free(y);
    free(bad);
    close_state(&s);

    soa_body_def bodies[2] = {soa_body_default("a", 0, SOA_REVOLUTE),
                              soa_body_default("tip", 1, SOA_REVOLUTE)};
    soa_body_box(&bodies[0], 1, 0.1, 0.2, 0.3);
    soa_model_def def = soa_model_default("massless tip", bodies, 2);
    double two[2] = {1, 2}, out[2] = {7, 7};
    soa_work *w;
    OK(soa_model_create(&def, &m, NULL));
    OK(soa_work_create(m, &w));
    assert_int_equal(soa_nu_bias(m, w, NULL, two, out), SOA_E_HINGE_SINGULAR);
    assert_int_equal(soa_work_failed_body(w), 2);
    soa_work_free(w);
    soa_model_free(m);
    soa_body_box(&bodies[1], 1, 0.1, 0.2, 0.3);
    bodies[1].joint.mimic = 1;
    bodies[1].joint.mimic_ratio = 2;
    OK(soa_model_create(&def, &m, NULL));
    OK(soa_work_create(m, &w));
    assert_int_equal(soa_nu_bias(m, w, NULL, two, out), SOA_E_MIMIC);
    assert_int_equal(soa_mass_factor_mul(m, w, NULL, SOA_FACTOR_L, two, out), SOA_E_MIMIC);
    assert_true(out[0] == 7 && out[1] == 7);
    soa_work_free(w);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors),     cmocka_unit_test(equations),
        cmocka_unit_test(same_motion), cmocka_unit_test(with_friction),
        cmocka_unit_test(linear_time), cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("diagonalised", tests, NULL, NULL);
}
