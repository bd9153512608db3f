/* test_divide.c  divide-and-conquer forward dynamics: against soa_aba on chains, trees and forests
 * with every joint type, against __float128 and Featherstone's own two-handle form on long chains;
 * threads, levels, operations. */
#include "check.h"
#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"
#include "trees.h"
#include <pthread.h>

/* ---- agreement ------------------------------------------------------------------------------- */
static double difference(const soa_model *m, int grain, long seed) {
    soa_divide *d = NULL;
    soa_work *w = NULL;
    tree_state s = random_tree_state(m, seed);
    const size_t nv = (size_t)soa_model_nv(m);
    double *aba = calloc(nv + 1, sizeof *aba), *got = calloc(nv + 1, sizeof *got);
    assert_int_equal(soa_divide_create(m, grain, &d), SOA_OK);
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    assert_int_equal(soa_aba(m, w, s.q, s.v, s.tau, s.wrench, 3, aba), SOA_OK);
    assert_int_equal(
        soa_divide_fd(
            d,
            &(soa_input){.q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
            NULL, NULL, got),
        SOA_OK);
    const double error = relative(got, aba, nv);
    free(aba);
    free(got);
    free_tree_state(&s);
    soa_divide_free(d);
    soa_work_free(w);
    return error;
}
static void against_aba(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int shape;
    } shapes[] = {
        {"chains", TREE_CHAIN},
        {"chains with rotors, friction, springs", TREE_CHAIN | TREE_FITTED},
        {"chains with massless inner links", TREE_CHAIN | TREE_MASSLESS},
        {"forests of chains", TREE_CHAINS | TREE_FITTED},
        {"trees", TREE_FITTED},
        {"forests of trees, massless inner links", TREE_BRANCHED | TREE_FITTED | TREE_MASSLESS}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        worst_case w = {0};
        for (int i = 0; i < 40; ++i) {
            const long seed = first_seed() + i;
            const soa_model *m = random_tree(seed, 1 + (7 * i) % 60, shapes[k].shape);
            note(&w, difference(m, i % 3 ? 1 : 1 + i % 7, seed), seed);
            soa_model_free(m);
        }
        conclude(shapes[k].name, &w, 1e-10);
    }
    static const char *const stock[] = {"arm7",           "satellite",       "quadruped",
                                        "humanoid",       "two-puma",        "two-puma-object",
                                        "puma560",        "planar-chain:50", "chain:200",
                                        "random-ideal:4", "random-ideal:9"};
    worst_case w = {0};
    for (size_t k = 0; k < sizeof stock / sizeof *stock; ++k)
        for (int grain = 1; grain < 5; ++grain) {
            const soa_model *m = NULL;
            const soa_read_options ideal = {0, 1};
            assert_int_equal(soa_stock_model_create(stock[k], &ideal, &m, NULL), SOA_OK);
            note(&w, difference(m, grain, first_seed() + grain), first_seed() + grain);
            soa_model_free(m);
        }
    conclude("shipped models, grain 1 to 4", &w, 1e-10);
}

/* ---- threads --------------------------------------------------------------------------------- */
typedef struct share {
    soa_parallel_task *task;
    void *data;
    int first, step, count;
} share;
static void *run_share(void *p) {
    const share *s = p;
    for (int i = s->first; i < s->count; i += s->step)
        s->task(s->data, i);
    return NULL;
}
static void three_threads(void *user, int count, soa_parallel_task *task, void *data) {
    pthread_t thread[3];
    share part[3];
    ++*(int *)user;
    for (int t = 0; t < 3; ++t) {
        part[t] = (share){task, data, t, 3, count};
        assert_int_equal(pthread_create(&thread[t], NULL, run_share, &part[t]), 0);
    }
    for (int t = 0; t < 3; ++t)
        pthread_join(thread[t], NULL);
}
static void backwards(void *user, int count, soa_parallel_task *task, void *data) {
    (void)user;
    for (int i = count; i-- > 0;)
        task(data, i);
}
static void executors(void **state) {
    (void)state;
    for (int i = 0; i < 6; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m = random_tree(seed, 40, i % 2 ? TREE_CHAIN : TREE_BRANCHED);
        soa_divide *d = NULL;
        soa_divide_count c;
        const size_t nv = (size_t)soa_model_nv(m);
        tree_state s = random_tree_state(m, seed);
        double *one = calloc(nv + 1, sizeof *one), *other = calloc(nv + 1, sizeof *other);
        int calls = 0, threads = 2;
        assert_int_equal(soa_divide_create(m, 1 + i % 3, &d), SOA_OK);
        assert_int_equal(
            soa_divide_fd(
                d,
                &(soa_input){
                    .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
                NULL, NULL, one),
            SOA_OK);
        assert_int_equal(
            soa_divide_fd(
                d,
                &(soa_input){
                    .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
                three_threads, &calls, other),
            SOA_OK);
        assert_memory_equal(one, other, nv * sizeof *one);
        assert_int_equal(
            soa_divide_fd(
                d,
                &(soa_input){
                    .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
                backwards, NULL, other),
            SOA_OK);
        assert_memory_equal(one, other, nv * sizeof *one);
        assert_int_equal(
            soa_divide_fd(
                d,
                &(soa_input){
                    .q = s.q, .v = s.v, .tau = s.tau, .wrenches = s.wrench, .wrench_count = 3},
                soa_openmp_parallel_for, &threads, other),
            SOA_OK);
        assert_memory_equal(one, other, nv * sizeof *one);
        assert_int_equal(soa_divide_operations(d, &c), SOA_OK);
        assert_int_equal(calls, 4 * c.levels); /* four sweeps */
        free(one);
        free(other);
        free_tree_state(&s);
        soa_divide_free(d);
        soa_model_free(m);
    }
}

/* ---- levels and operations ------------------------------------------------------------------- */
static void logarithmic(void **state) {
    (void)state;
    double before = 0;
    for (int n = 64; n <= 16384; n *= 4) {
        char name[32];
        const soa_model *m = NULL;
        soa_divide *d = NULL;
        soa_divide_count c;
        snprintf(name, sizeof name, "chain:%d", n);
        assert_int_equal(soa_stock_model_create(name, NULL, &m, NULL), SOA_OK);
        assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
        assert_int_equal(soa_divide_operations(d, &c), SOA_OK);
        int sum = 0, tasks;
        double path = 0, longest;
        for (int l = 0; l < c.levels; ++l) {
            assert_int_equal(soa_divide_level(d, l, &tasks, &longest), SOA_OK);
            sum += tasks;
            path += longest;
        }
        assert_int_equal(sum, c.segments);
        assert_true(fabs(path - c.critical) <= 1e-9 * path);
        printf("  %-12s %2d levels, %5d tasks, %.0f of %.0f flops on the critical path, aba %.0f\n",
               name, c.levels, c.segments, c.critical, c.flops, c.aba);
        assert_true(c.segments == 2 * n - 1);
        assert_true(c.levels <= 2 + (int)ceil(log2(n)));
        if (before > 0) assert_true(c.critical - before < 13000); /* two more levels, whatever n */
        before = c.critical;
        soa_divide_free(d);
        soa_model_free(m);
    }
    /* trees: a star, a comb (a chain with a chain of the same length on every link), random ones */
    for (int kind = 0; kind < 3; ++kind) {
        const int count = 4000, spine = 63;
        soa_body_def *b = calloc((size_t)count, sizeof *b);
        char(*names)[16] = calloc((size_t)count, sizeof *names);
        dice dice1 = {(uint64_t)first_seed()};
        for (int i = 0; i < count; ++i) {
            snprintf(names[i], sizeof names[i], "l%d", i);
            int parent = i ? 1 : 0;
            if (kind == 1) parent = i < spine ? i : i - spine + 1;
            if (kind == 2 && i) parent = 1 + (int)roll(&dice1, 0, i - 1e-9);
            b[i] = soa_body_default(names[i], parent, SOA_REVOLUTE);
            b[i].placement.p[0] = 0.1;
            b[i].joint.axis[i % 3] = 1;
            soa_body_box(b + i, 1, 0.1, 0.2, 0.3);
        }
        const soa_model_def def = soa_model_default("tree", b, count);
        const soa_model *m = NULL;
        soa_divide *d = NULL;
        soa_divide_count c;
        assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
        assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
        assert_int_equal(soa_divide_operations(d, &c), SOA_OK);
        const double error = difference(m, 1, first_seed());
        printf("  %s of %d bodies: %d levels, %.0f of %.0f flops on the critical path, against "
               "soa_aba %.1e\n",
               (const char *const[]){"star", "comb", "random tree"}[kind], count, c.levels,
               c.critical, c.flops, error);
        assert_true(c.levels <= 3 * (int)ceil(log2(count)));
        assert_true(error <= 1e-10);
        soa_divide_free(d);
        soa_model_free(m);
        free(b);
        free(names);
    }
}

/* ---- accuracy -------------------------------------------------------------------------------- */
extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;
static void in_quad(const soa_model *m, const double *q, const double *v, const double *tau,
                    double *out) {
    const size_t n = (size_t)soa_model_nv(m), nq = (size_t)soa_model_nq(m);
    const soai_view_double view = soai_model_view(m);
    void *work = calloc(1, soai_kernels_quad.work_bytes);
    quad *arrays = calloc(soai_kernels_quad.work_reals(&view) + 1, sizeof(quad)),
         *x = calloc(nq + 3 * n, sizeof(quad));
    quad *rate = x + nq, *torque = rate + n, *result = torque + n;
    soai_kernels_quad.work_place(&view, work, arrays);
    for (size_t i = 0; i < nq; ++i)
        x[i] = q[i];
    for (size_t i = 0; i < n; ++i) {
        rate[i] = v[i];
        torque[i] = tau[i];
    }
    assert_int_equal(soai_kernels_quad.aba(&view, work, x, rate, torque, NULL, result), 0);
    for (size_t i = 0; i < n; ++i)
        out[i] = (double)result[i];
    free(work);
    free(arrays);
    free(x);
}

/* Featherstone's form (1999), for chains of 1-dof joints and solid links: a = Phi f + b at both
 * handles, f1 on the first body, f2 on the last; joining across joint j, S = H*, with V = (Phi2a
 * moved + Phi1b)^-1, W = V - V S (S'VS)^-1 S'V. */
typedef struct handles {
    double p11[36], p12[36], p22[36], b1[6], b2[6];
} handles;
typedef struct chain_data {
    int count;
    double (*phi)[36], (*Minv)[36]; /* phi(parent, i); M(i)^-1 */
    double (*H)[6], (*c)[6], (*b)[6], *tau, *qdd;
    double base[6];
} chain_data;
/* C = A B, each perhaps transposed */
static void mat(const double *A, int ta, const double *B, int tb, double *C) {
    double X[36];
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            X[6 * r + c] = 0;
            for (int k = 0; k < 6; ++k)
                X[6 * r + c] +=
                    (ta ? A[6 * k + r] : A[6 * r + k]) * (tb ? B[6 * c + k] : B[6 * k + c]);
        }
    memcpy(C, X, sizeof X);
}
static void vec(const double *A, int ta, const double *x, double *y) {
    double t[6];
    for (int r = 0; r < 6; ++r) {
        t[r] = 0;
        for (int k = 0; k < 6; ++k)
            t[r] += (ta ? A[6 * k + r] : A[6 * r + k]) * x[k];
    }
    memcpy(y, t, sizeof t);
}
static double dot(const double *x, const double *y) {
    double s = 0;
    for (int i = 0; i < 6; ++i)
        s += x[i] * y[i];
    return s;
}
static void inverse6(const double *A, double *out) {
    double M[6][12];
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 12; ++c)
            M[r][c] = c < 6 ? A[6 * r + c] : c - 6 == r;
    for (int c = 0; c < 6; ++c) {
        int best = c;
        for (int r = c; r < 6; ++r)
            if (fabs(M[r][c]) > fabs(M[best][c])) best = r;
        for (int j = 0; j < 12; ++j) {
            const double t = M[c][j];
            M[c][j] = M[best][j];
            M[best][j] = t;
        }
        for (int j = 11; j >= c; --j)
            M[c][j] /= M[c][c];
        for (int r = 0; r < 6; ++r) {
            const double s = M[r][c];
            for (int j = c; r != c && j < 12; ++j)
                M[r][j] -= s * M[c][j];
        }
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            out[6 * r + c] = M[r][6 + c];
}
/* W and the joint's force for the accelerations gap = (b side) - (a side) - c: f = W gap' + V S
 * (S'VS)^-1 tau. */
static void hinge(const double *Phi, const double *S, double tau, double *W, double push[6]) {
    double V[36], VS[6];
    inverse6(Phi, V);
    vec(V, 0, S, VS);
    const double d = dot(S, VS);
    for (int r = 0; r < 6; ++r) {
        push[r] = VS[r] / d * tau;
        for (int c = 0; c < 6; ++c)
            W[6 * r + c] = V[6 * r + c] - VS[r] * VS[c] / d;
    }
}
static void assemble(const chain_data *k, int lo, int hi, handles *out, const double *f1,
                     const double *f2, int down) {
    if (lo == hi) {
        if (down) return;
        memcpy(out->p11, k->Minv[lo], sizeof out->p11);
        memcpy(out->p12, k->Minv[lo], sizeof out->p11);
        memcpy(out->p22, k->Minv[lo], sizeof out->p11);
        vec(k->Minv[lo], 0, k->b[lo], out->b1);
        for (int j = 0; j < 6; ++j)
            out->b2[j] = out->b1[j] = -out->b1[j];
        return;
    }
    const int j = (lo + hi + 1) / 2;
    handles A, B;
    assemble(k, lo, j - 1, &A, NULL, NULL, 0);
    assemble(k, j, hi, &B, NULL, NULL, 0);
    double X[36], Y[36], Phi[36], W[36], push[6], gap[6], t[6];
    mat(A.p22, 0, k->phi[j], 0, X);
    mat(k->phi[j], 1, X, 0, Phi); /* phi* Phi2a phi */
    for (int e = 0; e < 36; ++e)
        Phi[e] += B.p11[e];
    hinge(Phi, k->H[j], k->tau[j], W, push);
    mat(A.p12, 0, k->phi[j], 0, X); /* a1 from -phi f */
    mat(B.p12, 1, W, 0, Y);         /* a2 of b from f */
    vec(k->phi[j], 1, A.b2, gap);
    for (int e = 0; e < 6; ++e)
        gap[e] += k->c[j][e] - B.b1[e]; /* f = W (phi* a2a + c - b1b at f = 0) + push */
    if (down) {                         /* f for given end forces; then both halves */
        double f[6], g[6], u[6];
        vec(A.p12, 1, f1, t);
        vec(k->phi[j], 1, t, t);
        vec(B.p12, 0, f2, u);
        for (int e = 0; e < 6; ++e)
            gap[e] += t[e] - u[e];
        /* S' enters with qdd: relative acceleration along S is free, W S = 0 */
        vec(W, 0, gap, f);
        for (int e = 0; e < 6; ++e)
            f[e] += push[e];
        vec(k->phi[j], 0, f, g);
        for (int e = 0; e < 6; ++e)
            g[e] = -g[e];
        vec(Phi, 0, f, t); /* relative acceleration = Phi f - gap = S qdd */
        for (int e = 0; e < 6; ++e)
            t[e] -= gap[e];
        k->qdd[j] = dot(k->H[j], t) / dot(k->H[j], k->H[j]);
        assemble(k, lo, j - 1, NULL, f1, g, 1);
        assemble(k, j, hi, NULL, f, f2, 1);
        return;
    }
    double XW[36], Z[36];
    mat(X, 0, W, 0, XW);
    mat(XW, 0, X, 1, Z);
    for (int e = 0; e < 36; ++e)
        out->p11[e] = A.p11[e] - Z[e];
    mat(Y, 0, B.p12, 0, Z);
    for (int e = 0; e < 36; ++e)
        out->p22[e] = B.p22[e] - Z[e];
    mat(XW, 0, B.p12, 0, out->p12);
    double f[6];
    vec(W, 0, gap, f);
    for (int e = 0; e < 6; ++e)
        f[e] += push[e];
    vec(X, 0, f, t);
    for (int e = 0; e < 6; ++e)
        out->b1[e] = A.b1[e] - t[e];
    vec(B.p12, 1, f, t);
    for (int e = 0; e < 6; ++e)
        out->b2[e] = B.b2[e] + t[e];
}
static void featherstone(const soa_model *m, soa_machine *machine, const double *tau, double *qdd) {
    const char *const names[] = {"b", "a"};
    const int n = soa_model_body_count(m);
    chain_data k = {.count = n,
                    .phi = calloc((size_t)n, sizeof *k.phi),
                    .Minv = calloc((size_t)n, sizeof *k.Minv),
                    .H = calloc((size_t)n, sizeof *k.H),
                    .c = calloc((size_t)n, sizeof *k.c),
                    .b = calloc((size_t)n, sizeof *k.b)};
    k.tau = calloc((size_t)n, sizeof(double));
    k.qdd = qdd;
    memcpy(k.tau, tau, (size_t)n * sizeof(double));
    double *x[2];
    for (int e = 0; e < 2; ++e) { /* b and a by their plans */
        const soa_expr *expr = NULL;
        soa_plan *p = NULL;
        assert_int_equal(soa_expr_parse(names[e], NULL, 0, &expr, NULL, 0), SOA_OK);
        assert_int_equal(soa_plan_create(machine, expr, &p, NULL, 0), SOA_OK);
        x[e] = calloc(6 * (size_t)n, sizeof(double));
        assert_int_equal(soa_plan_run(p, x[e]), SOA_OK);
        soa_plan_free(p);
        soa_expr_free(expr);
    }
    memcpy(k.b, x[0], 6 * (size_t)n * sizeof(double));
    memcpy(k.c, x[1], 6 * (size_t)n * sizeof(double));
    soa_work *w = NULL;
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    for (int i = 0; i < n; ++i) {
        soa_body_info info;
        double M[36], c[3];
        assert_int_equal(soa_model_body(m, i + 1, &info), SOA_OK);
        memcpy(k.H[i], info.axis, sizeof info.axis);
        memcpy(c, info.com, sizeof c);
        const double *I = info.inertia, mass = info.mass,
                     cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
        const double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
        const double cross[9] = {0, -c[2], c[1], c[2], 0, -c[0], -c[1], c[0], 0};
        for (int r = 0; r < 3; ++r)
            for (int s = 0; s < 3; ++s) {
                M[6 * r + s] = full[3 * r + s] + mass * ((r == s ? cc : 0) - c[r] * c[s]);
                M[6 * r + 3 + s] = mass * cross[3 * r + s];
                M[6 * (3 + r) + s] = -mass * cross[3 * r + s];
                M[6 * (3 + r) + 3 + s] = r == s ? mass : 0;
            }
        inverse6(M, k.Minv[i]);
    }
    /* phi from the dense operator would be O(n^2): apply Delta_phi to unit vectors instead, six
     * runs for all bodies */
    for (int col = 0; col < 6; ++col) {
        const soa_variable unit = {"unit", SOA_SPACE_LINK, SOA_SPACE_ONE, false};
        const soa_expr *expr = NULL;
        soa_plan *p = NULL;
        double *u = calloc(6 * (size_t)n, sizeof *u), *y = calloc(6 * (size_t)n, sizeof *y);
        for (int i = 0; i < n; ++i)
            u[6 * i + col] = 1;
        assert_int_equal(soa_machine_set_vector(machine, "unit", SOA_SPACE_LINK, u), SOA_OK);
        assert_int_equal(soa_expr_parse("Delta_phi unit", &unit, 1, &expr, NULL, 0), SOA_OK);
        assert_int_equal(soa_plan_create(machine, expr, &p, NULL, 0), SOA_OK);
        assert_int_equal(soa_plan_run(p, y), SOA_OK);
        for (int i = 0; i < n; ++i)
            for (int r = 0; r < 6; ++r)
                k.phi[i][6 * r + col] = y[6 * i + r];
        free(u);
        free(y);
        soa_plan_free(p);
        soa_expr_free(expr);
    }
    /* the whole chain, then joint 0 to the world: its c holds the base acceleration already */
    handles all;
    assemble(&k, 0, n - 1, &all, NULL, NULL, 0);
    double W[36], push[6], gap[6], f[6], t[6], none[6] = {0};
    hinge(all.p11, k.H[0], k.tau[0], W, push);
    for (int e = 0; e < 6; ++e)
        gap[e] = k.c[0][e] - all.b1[e];
    vec(W, 0, gap, f);
    for (int e = 0; e < 6; ++e)
        f[e] += push[e];
    vec(all.p11, 0, f, t);
    for (int e = 0; e < 6; ++e)
        t[e] -= gap[e];
    k.qdd[0] = dot(k.H[0], t) / dot(k.H[0], k.H[0]);
    assemble(&k, 0, n - 1, NULL, f, none, 1);
    free(k.phi);
    free(k.Minv);
    free(k.H);
    free(k.c);
    free(k.b);
    free(k.tau);
    free(x[0]);
    free(x[1]);
    soa_work_free(w);
}
static void long_chains(void **state) {
    (void)state;
    static const int lengths[] = {10, 100, 1000};
    printf("  errors against __float128, worst of 3 states:  aba      divided  grain 16  "
           "two-handle (1999)  (27)     "
           "(28)\n");
    for (int l = 0; l < 3; ++l) {
        char name[32];
        const soa_model *m = NULL;
        const soa_read_options ideal = {0, 1};
        soa_work *w = NULL;
        soa_divide *d = NULL, *coarse = NULL;
        soa_machine *k = NULL;
        snprintf(name, sizeof name, "chain:%d", lengths[l]);
        assert_int_equal(soa_stock_model_create(name, &ideal, &m, NULL), SOA_OK);
        assert_int_equal(soa_work_create(m, &w), SOA_OK);
        assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
        assert_int_equal(soa_divide_create(m, 16, &coarse), SOA_OK);
        assert_int_equal(soa_machine_create(m, NULL, 0, &k, NULL), SOA_OK);
        const size_t n = (size_t)soa_model_nv(m), size = soa_fd_constraint_forces_size(m);
        void *room = malloc(size);
        double *q = calloc(5 * n, sizeof *q), *v = q + n, *tau = q + 2 * n, *truth = q + 3 * n,
               *x = q + 4 * n;
        worst_case worst[6] = {{0}};
        for (long s = first_seed(); s < first_seed() + 3; ++s) {
            dice r = {(uint64_t)s};
            roll_many(&r, -3.14, 3.14, n, q);
            roll_many(&r, -1, 1, n, v);
            roll_many(&r, -1, 1, n, tau);
            in_quad(m, q, v, tau, truth);
            assert_int_equal(soa_aba(m, w, q, v, tau, NULL, 0, x), SOA_OK);
            note(worst + 0, relative(x, truth, n), s);
            assert_int_equal(
                soa_divide_fd(d, &(soa_input){.q = q, .v = v, .tau = tau}, NULL, NULL, x), SOA_OK);
            note(worst + 1, relative(x, truth, n), s);
            assert_int_equal(
                soa_divide_fd(coarse, &(soa_input){.q = q, .v = v, .tau = tau}, NULL, NULL, x),
                SOA_OK);
            note(worst + 2, relative(x, truth, n), s);
            assert_int_equal(soa_machine_set_state(k, q, v, NULL, tau, NULL, NULL, 0), SOA_OK);
            if (lengths[l] < 1000 || s == first_seed()) {
                featherstone(m, k, tau, x);
                note(worst + 3, relative(x, truth, n), s);
            }
            assert_int_equal(soa_fd_constraint_forces(m, w, room, size,
                                                      &(soa_input){.q = q, .v = v, .tau = tau}, x,
                                                      NULL, NULL),
                             SOA_OK);
            note(worst + 4, relative(x, truth, n), s);
            assert_int_equal(soa_fd_tridiagonal(m, w, room, size,
                                                &(soa_input){.q = q, .v = v, .tau = tau}, x, NULL,
                                                NULL),
                             SOA_OK);
            note(worst + 5, relative(x, truth, n), s);
        }
        printf("  %-46s %.1e  %.1e  %.1e   %.1e            %.1e  %.1e\n", name, worst[0].error,
               worst[1].error, worst[2].error, worst[3].error, worst[4].error, worst[5].error);
        assert_true(worst[1].error <= 1e-10 && worst[2].error <= 1e-10); /* NaN fails */
        free(room);
        free(q);
        soa_work_free(w);
        soa_divide_free(d);
        soa_divide_free(coarse);
        soa_machine_free(k);
        soa_model_free(m);
    }
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void random_chains(void **state) {
    (void)state;
    enum { CHAINS = 300 };
    static double error[2][CHAINS];
    for (int i = 0; i < CHAINS; ++i) {
        const long seed = first_seed() + i;
        const soa_model *m =
            random_tree(seed, 1 + (7 * i) % 60, TREE_CHAIN | (i % 2 ? TREE_MASSLESS : 0));
        soa_work *w = NULL;
        soa_divide *d = NULL;
        tree_state s = random_tree_state(m, seed);
        const size_t n = (size_t)soa_model_nv(m);
        double *truth = calloc(2 * n, sizeof *truth), *x = truth + n;
        assert_int_equal(soa_work_create(m, &w), SOA_OK);
        assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
        in_quad(m, s.q, s.v, s.tau, truth);
        assert_int_equal(soa_aba(m, w, s.q, s.v, s.tau, NULL, 0, x), SOA_OK);
        error[0][i] = relative(x, truth, n);
        assert_int_equal(
            soa_divide_fd(d, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL, NULL, x),
            SOA_OK);
        error[1][i] = relative(x, truth, n);
        free(truth);
        free_tree_state(&s);
        soa_divide_free(d);
        soa_work_free(w);
        soa_model_free(m);
    }
    for (int k = 0; k < 2; ++k) {
        double *e = error[k];
        qsort(e, CHAINS, sizeof *e, ascending);
        printf("  %d random chains of 1 to 60 joints, %-8s median %.1e, 90%% below %.1e, 99%% "
               "below %.1e, worst %.1e\n",
               CHAINS, k ? "divided" : "aba", e[CHAINS / 2], e[CHAINS * 9 / 10],
               e[CHAINS * 99 / 100], e[CHAINS - 1]);
    }
    assert_true(error[1][CHAINS / 2] <= 1e-13 && error[1][CHAINS * 99 / 100] <= 1e-11);
}

static void refusals(void **state) {
    (void)state;
    const soa_model *m = random_tree(3, 10, TREE_CHAIN);
    soa_divide *d = NULL;
    tree_state s = random_tree_state(m, 1);
    double *qdd = calloc((size_t)soa_model_nv(m) + 1, sizeof *qdd);
    qdd[0] = 77;
    assert_int_equal(soa_divide_create(NULL, 1, &d), SOA_E_ARGUMENT);
    assert_int_equal(soa_divide_create(m, 0, &d), SOA_E_ARGUMENT);
    assert_int_equal(soa_divide_create(m, 1, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
    assert_int_equal(
        soa_divide_fd(NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL, NULL, qdd),
        SOA_E_ARGUMENT);
    assert_int_equal(
        soa_divide_fd(d, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL, NULL, NULL),
        SOA_E_ARGUMENT);
    assert_int_equal(
        soa_divide_fd(d, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau, .wrench_count = 2}, NULL,
                      NULL, qdd),
        SOA_E_ARGUMENT);
    assert_int_equal(soa_divide_level(d, 99, NULL, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_divide_operations(d, NULL), SOA_E_ARGUMENT);
    s.v[0] = INFINITY;
    assert_int_equal(
        soa_divide_fd(d, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL, NULL, qdd),
        SOA_E_NOT_FINITE);
    assert_int_equal(soa_divide_failed_body(d), 1);
    assert_true(qdd[0] == 77);
    soa_divide_free(d);
    soa_divide_free(NULL);
    free_tree_state(&s);
    soa_model_free(m);
    free(qdd);

    const soa_body_def still = soa_body_default("still", 0, SOA_FIXED); /* nothing moves */
    const soa_model_def none = soa_model_default("none", &still, 1);
    double nothing[1];
    assert_int_equal(soa_model_create(&none, &m, NULL), SOA_OK);
    assert_int_equal(soa_divide_create(m, 1, &d), SOA_OK);
    assert_int_equal(soa_divide_fd(d, &(soa_input){0}, NULL, NULL, nothing), SOA_OK);
    soa_divide_free(d);
    soa_model_free(m);

    soa_body_def b[2] = {soa_body_default("one", 0, SOA_REVOLUTE),
                         soa_body_default("two", 1, SOA_REVOLUTE)};
    for (int how = 0; how < 3; ++how) { /* a massless tip, an exact rotor, a mimic joint */
        soa_body_box(b, 1, 0.1, 0.2, 0.3);
        soa_body_box(b + 1, 1, 0.1, 0.2, 0.3);
        b[1].joint = soa_joint_default(SOA_REVOLUTE);
        if (how == 0) {
            b[1].mass = 0;
            memset(b[1].inertia, 0, sizeof b[1].inertia);
        }
        if (how == 1) {
            b[1].joint.rotor_inertia = 1e-4;
            b[1].joint.gear_ratio = 10;
            b[1].joint.rotor_model = SOA_ROTOR_EXACT;
        }
        if (how == 2) {
            b[1].joint.mimic = 1;
            b[1].joint.mimic_ratio = 2;
        }
        const soa_model_def def = soa_model_default("two", b, 2);
        double out[2] = {77, 77};
        assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
        const soa_status expected[] = {SOA_OK, SOA_E_JOINT, SOA_E_MIMIC};
        assert_int_equal(soa_divide_create(m, 1, &d), expected[how]);
        if (how == 0) {
            assert_int_equal(soa_divide_fd(d, &(soa_input){0}, NULL, NULL, out),
                             SOA_E_HINGE_SINGULAR);
            assert_int_equal(soa_divide_failed_body(d), 2);
            assert_true(out[0] == 77 && out[1] == 77);
            soa_divide_free(d);
        }
        soa_model_free(m);
    }
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_aba),   cmocka_unit_test(executors),
        cmocka_unit_test(logarithmic),   cmocka_unit_test(long_chains),
        cmocka_unit_test(random_chains), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
