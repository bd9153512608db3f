/* test_identities.c  independent ways to compute the same number, on 1,000 random trees with every
 * joint type.
 *
 * random:SEED contains fixed and mimic joints, both rotor models, friction, springs and massless
 * inner links. SOA_SEED=n chooses other models. The complex step (tests/oracle/oracle_complex.c) is
 * the oracle of the analytic derivatives. */
#include "check.h"
#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include "soa/dynamics.h"
#include "soa/io.h"
#include <complex.h>
#undef I

extern const soai_kernels soai_kernels_complex;
typedef double _Complex cplx;

enum { MOST = 200 };
#define TREES trees() /* 1,000, or SOA_TREES */

static long trees(void) {
    const char *s = getenv("SOA_TREES");
    return s ? strtol(s, NULL, 10) : 1000;
}

typedef struct mechanism {
    long seed;
    dice d;
    const soa_model *m;
    soa_work *w;
    int nq, nv, nb;
    double *q, *v, *a, *tau, *x; /* random state */
    double *r1, *r2, *r3;        /* nv^2 or 10 nb nv each */
    soa_wrench f[3];
    int nf;
} mechanism;

/* Every third tree is drawn with quarter turns: the sweeps know such joints. */
static const char *family(long seed) {
    return seed % 3 ? "random" : "random-square";
}
static mechanism open_tree(long seed, const char *family) {
    mechanism t = {.seed = seed, .d = {(uint64_t)seed * 77}};
    char name[64];
    soa_report report = {0};
    snprintf(name, sizeof name, "%s:%ld", family, seed);
    if (soa_stock_model_create(name, NULL, &t.m, &report)) fail_msg("%s: %s", name, report.text);
    assert_int_equal(soa_work_create(t.m, &t.w), SOA_OK);
    t.nq = soa_model_nq(t.m);
    t.nv = soa_model_nv(t.m);
    t.nb = soa_model_body_count(t.m);
    const size_t nv = (size_t)t.nv, big = nv * nv + 10 * (size_t)t.nb * nv + 6 * nv + 8;
    t.q = calloc((size_t)t.nq + 1, 8);
    t.v = calloc(nv + 1, 8);
    t.a = calloc(nv + 1, 8);
    t.tau = calloc(nv + 1, 8);
    t.x = calloc(nv + 1, 8);
    t.r1 = calloc(big, 8);
    t.r2 = calloc(big, 8);
    t.r3 = calloc(big, 8);
    soa_q_neutral(t.m, t.q);
    roll_many(&t.d, -2, 2, nv, t.v);
    assert_int_equal(soa_q_integrate(t.m, t.q, t.v, 1, t.q), SOA_OK); /* any configuration */
    roll_many(&t.d, -1, 1, nv, t.v);
    roll_many(&t.d, -3, 3, nv, t.a);
    roll_many(&t.d, -5, 5, nv, t.tau);
    roll_many(&t.d, -1, 1, nv, t.x);
    t.nf = 3;
    for (int i = 0; i < t.nf; ++i) {
        t.f[i].frame = (int)roll(&t.d, 0, soa_model_frame_count(t.m) - 1e-9);
        t.f[i].axes = i & 1 ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(&t.d, -4, 4, 6, t.f[i].value);
    }
    return t;
}
static void close_tree(mechanism *t) {
    free(t->q);
    free(t->v);
    free(t->a);
    free(t->tau);
    free(t->x);
    free(t->r1);
    free(t->r2);
    free(t->r3);
    soa_work_free(t->w);
    soa_model_free(t->m);
}
#define OK(call) assert_int_equal(call, SOA_OK)

/* ---- forward and inverse dynamics undo each other; M a + bias - J'f -------------------------- */
static void forward_and_inverse(void **state) {
    (void)state;
    worst_case round = {0}, linear = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        OK(soa_aba(t.m, t.w, t.q, t.v, t.tau, t.f, t.nf, t.r1));
        OK(soa_rnea(t.m, t.w, t.q, t.v, t.r1, t.f, t.nf, t.r2));
        note(&round, relative(t.r2, t.tau, n), s);
        OK(soa_rnea(t.m, t.w, t.q, t.v, t.a, t.f, t.nf, t.r1)); /* = M a + bias - sum J'f */
        OK(soa_mass_mul(t.m, t.w, t.q, t.a, t.r2));
        OK(soa_bias_torque(t.m, t.w, t.q, t.v, t.r3));
        for (size_t i = 0; i < n; ++i)
            t.r2[i] += t.r3[i];
        OK(soa_kinematics(t.m, t.w, t.q, NULL, NULL));
        for (int k = 0; k < t.nf; ++k) {
            OK(soa_jacobian_transpose_mul(t.m, t.w, t.f[k].frame, t.f[k].axes, t.f[k].value, t.r3));
            for (size_t i = 0; i < n; ++i)
                t.r2[i] -= t.r3[i];
        }
        note(&linear, relative(t.r2, t.r1, n), s);
        close_tree(&t);
    }
    conclude("rnea(aba(tau)) = tau", &round, 1e-9);
    conclude("rnea = M a + bias - J'f", &linear, 1e-11);
}

/* The same on the machines we ship, with their rotors, gears and friction. */
static void shipped_models(void **state) {
    (void)state;
    const char *names[] = {"puma560",   "puma560-akb", "two-puma", "two-puma-object", "arm7",
                           "satellite", "quadruped",   "humanoid", "planar-chain:9",  "chain:30"};
    worst_case round = {0}, lanes = {0};
    for (long s = 0; s < (long)(20 * (sizeof names / sizeof *names)); ++s) {
        soa_report report;
        const soa_model *m;
        soa_work *w;
        soa_batch *b;
        dice d = {(uint64_t)(first_seed() + s)};
        if (soa_stock_model_create(names[s / 20], NULL, &m, &report)) fail_msg("%s", report.text);
        OK(soa_work_create(m, &w));
        OK(soa_batch_create(m, &b));
        const size_t n = (size_t)soa_model_nv(m);
        double *q = calloc((size_t)soa_model_nq(m), 8), *v = calloc(n, 8), *tau = calloc(n, 8),
               *acc = calloc(n, 8), *back = calloc(n, 8);
        soa_q_neutral(m, q);
        roll_many(&d, -2, 2, n, v);
        OK(soa_q_integrate(m, q, v, 1, q));
        roll_many(&d, -1, 1, n, v);
        roll_many(&d, -5, 5, n, tau);
        OK(soa_aba(m, w, q, v, tau, NULL, 0, acc));
        OK(soa_rnea(m, w, q, v, acc, NULL, 0, back));
        note(&round, relative(back, tau, n), s);
        OK(soa_aba_batch(m, b, 1, q, v, tau, NULL, back));
        note(&lanes, relative(back, acc, n), s);
        free(q);
        free(v);
        free(tau);
        free(acc);
        free(back);
        soa_batch_free(b);
        soa_work_free(w);
        soa_model_free(m);
    }
    conclude("shipped models: rnea(aba(tau)) = tau", &round, 1e-10);
    conclude("shipped models: aba in lanes", &lanes, 1e-11);
}

/* ---- mass matrix and inverse ----------------------------------------------------------------- */
static void mass_matrix(void **state) {
    (void)state;
    worst_case identity = {0}, r87 = {0}, columns = {0}, inverse = {0}, symmetric = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        double *M = t.r1, *W = t.r2, *P = t.r3;
        OK(soa_crba(t.m, t.w, t.q, M));
        OK(soa_mass_r87(t.m, t.w, t.q, W));
        note(&r87, relative(W, M, n * n), s);
        for (size_t c = 0; c < n; ++c) {
            double *e = P, *y = P + n;
            memset(e, 0, n * sizeof *e);
            e[c] = 1;
            OK(soa_mass_mul(t.m, t.w, t.q, e, y));
            for (size_t r = 0; r < n; ++r)
                W[n * r + c] = y[r];
        }
        note(&columns, relative(W, M, n * n), s);
        OK(soa_minv(t.m, t.w, t.q, W));
        double asym = 0, largest = 1e-3;
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) {
                double sum = 0;
                for (size_t k = 0; k < n; ++k)
                    sum += M[n * i + k] * W[n * k + j];
                P[n * i + j] = sum - (i == j);
                asym = fmax(asym, fabs(W[n * i + j] - W[n * j + i]));
                largest = fmax(largest, fabs(W[n * i + j]));
            }
        double size_m = 0, size_w = 0, residual = 0;
        for (size_t i = 0; i < n * n; ++i) {
            size_m = fmax(size_m, fabs(M[i]));
            size_w = fmax(size_w, fabs(W[i]));
            residual = residual <= fabs(P[i]) || isnan(P[i]) ? fabs(P[i]) : residual;
        }
        note(&identity, residual / fmax(1, size_m * size_w), s);
        note(&symmetric, asym / largest, s);
        for (size_t c = 0; c < n; ++c) {
            double *e = P, *y = P + n;
            memset(e, 0, n * sizeof *e);
            e[c] = 1;
            OK(soa_minv_mul(t.m, t.w, t.q, e, y));
            double col[MOST * 6];
            for (size_t r = 0; r < n; ++r)
                col[r] = W[n * r + c];
            note(&inverse, relative(y, col, n), s);
        }
        close_tree(&t);
    }
    conclude("R87 (32) = CRBA", &r87, 1e-12);
    conclude("CRBA = columns of M x", &columns, 1e-12);
    conclude("M M^-1 = 1 (over |M| |M^-1|)", &identity, 1e-12);
    conclude("R87 (83) on trees = columns of M^-1 x", &inverse, 1e-9);
    conclude("M^-1 symmetric", &symmetric, 1e-11);
}

/* ---- complex step: q (+) i h e_j, v + i h e_j through the same sweeps over complex numbers --- */
typedef struct complex_tree {
    soai_view_double view;
    void *work;
    cplx *arrays, *q, *v, *a, *f, *out;
} complex_tree;
static complex_tree open_complex(const soa_model *m) {
    complex_tree c = {.view = soai_model_view(m)};
    const size_t reals = soai_kernels_complex.work_reals(&c.view);
    c.work = calloc(1, soai_kernels_complex.work_bytes);
    c.arrays = calloc(reals + 1, sizeof(cplx));
    soai_kernels_complex.work_place(&c.view, c.work, c.arrays);
    c.q = calloc((size_t)m->tq + 1, sizeof(cplx));
    c.v = calloc((size_t)m->tv + 1, sizeof(cplx));
    c.a = calloc((size_t)m->tv + 1, sizeof(cplx));
    c.f = calloc(6 * (size_t)m->nb + 1, sizeof(cplx));
    c.out = calloc((size_t)m->tv * (size_t)m->tv + 1, sizeof(cplx));
    return c;
}
static void close_complex(complex_tree *c) {
    free(c->work);
    free(c->arrays);
    free(c->q);
    free(c->v);
    free(c->a);
    free(c->f);
    free(c->out);
}

#define STEP 1e-40
/* Complex tree coordinates of the caller's q displaced by i h dq (tangent). */
static void complex_q(const soa_model *m, const double *q, const double *dq, cplx *out) {
    const soai_map *map = SOAI_AT(m, soai_map, map_q);
    for (int t = 0; t < m->tq; ++t)
        out[t] = map[t].ratio * q[map[t].user] + map[t].offset;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_body_double *b = soai_bodies(m) + i;
        const soai_meta *e = soai_metas(m) + i;
        const double *d = dq + (e->leader < 0 ? e->user_v : soai_metas(m)[e->leader].user_v);
        const cplx ih = STEP * _Complex_I;
        cplx *x = out + b->iq;
        if (b->type != SOA_SPHERICAL && b->type != SOA_FREE) {
            for (int c = 0; c < b->nv; ++c)
                x[c] += ih * (e->leader < 0 ? 1 : e->ratio) * d[c];
            continue;
        }
        cplx *u = b->type == SOA_FREE ? x + 3 : x;
        const cplx w0 = u[0], w1 = u[1], w2 = u[2], w3 = u[3];
        if (b->type == SOA_FREE) { /* p += R v */
            const double W = creal(w0), X = creal(w1), Y = creal(w2), Z = creal(w3), *l = d + 3;
            const double R[9] = {
                1 - 2 * (Y * Y + Z * Z), 2 * (X * Y - W * Z),     2 * (X * Z + W * Y),
                2 * (X * Y + W * Z),     1 - 2 * (X * X + Z * Z), 2 * (Y * Z - W * X),
                2 * (X * Z - W * Y),     2 * (Y * Z + W * X),     1 - 2 * (X * X + Y * Y)};
            for (int c = 0; c < 3; ++c)
                x[c] += ih * (R[3 * c] * l[0] + R[3 * c + 1] * l[1] + R[3 * c + 2] * l[2]);
        }
        const cplx a = ih * d[0] / 2, c = ih * d[1] / 2, g = ih * d[2] / 2; /* e (1, w/2) */
        u[0] = w0 - w1 * a - w2 * c - w3 * g;
        u[1] = w1 + w0 * a + w2 * g - w3 * c;
        u[2] = w2 + w0 * c - w1 * g + w3 * a;
        u[3] = w3 + w0 * g + w1 * c - w2 * a;
    }
}
static void complex_v(const soa_model *m, const double *v, const double *dv, cplx *out) {
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int t = 0; t < m->tv; ++t)
        out[t] = map[t].ratio * (v[map[t].user] + STEP * _Complex_I * (dv ? dv[map[t].user] : 0));
}
/* Wrenches in body axes for complex poses: those fixed in the world turn against the body. */
static void complex_wrenches(const soa_model *m, complex_tree *c, const soa_wrench *f, int n) {
    for (int i = 0; i < 6 * m->nb; ++i)
        c->f[i] = 0;
    cplx *zero = calloc((size_t)m->tv + 1, sizeof(cplx));
    soai_kernels_complex.kinematics(&c->view, c->work, c->q, zero, zero);
    free(zero);
    cplx **arrays = c->work; /* bodies, then c H U D e x Rw ...: see SOAI_WORK_LIST */
    const cplx *Rw = arrays[7];
    for (int k = 0; k < n; ++k) {
        const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + f[k].frame;
        if (!row->body) continue;
        cplx g[6];
        for (int h = 0; h < 6; h += 3)
            for (int j = 0; j < 3; ++j) {
                g[h + j] = 0;
                for (int l = 0; l < 3; ++l)
                    g[h + j] += (f[k].axes == SOA_AXES_WORLD ? Rw[9 * row->body + 3 * l + j]
                                                             : (cplx)row->R[3 * j + l]) *
                                f[k].value[h + l];
            }
        cplx *o = c->f + 6 * (row->body - 1);
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3;
            o[j] += g[j] + row->p[a] * g[3 + b] - row->p[b] * g[3 + a];
            o[3 + j] += g[3 + j];
        }
    }
}
/* imaginary part / h, back in the caller's coordinates: torques */
static void imaginary_torque(const soa_model *m, const cplx *tree, size_t n, size_t col,
                             double *out) {
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (size_t r = 0; r < n; ++r)
        out[n * r + col] = 0;
    for (int t = 0; t < m->tv; ++t)
        out[n * (size_t)map[t].user + col] += map[t].ratio * cimag(tree[t]) / STEP;
}
static void imaginary_motion(const soa_model *m, const cplx *tree, size_t n, size_t col,
                             double *out) {
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        const soai_body_double *b = soai_bodies(m) + i;
        for (int c = 0; e->leader < 0 && c < b->nv; ++c)
            out[n * (size_t)(e->user_v + c) + col] = cimag(tree[b->iv + c]) / STEP;
    }
}

/* Rates of kinetic energy, gravity's potential and momentum (about the world's origin) for a motion
 * v, vdot, by complex step; and the first moment of mass. */
static void complex_rates(const soa_model *m, const double *q, const double *v, const double *vdot,
                          double *dT, double *dU, double dh[6], double moment[3]) {
    complex_tree c = open_complex(m);
    cplx T, h[6], mass, first[3];
    complex_q(m, q, v, c.q);
    complex_v(m, v, vdot, c.v);
    soai_kernels_complex.kinematics(&c.view, c.work, c.q, c.v, c.a);
    soai_kernels_complex.momentum(&c.view, c.work, c.v, &T, h);
    soai_kernels_complex.first_moment(&c.view, c.work, &mass, first);
    *dT = cimag(T) / STEP;
    *dU = 0;
    for (int i = 0; i < 6; ++i)
        dh[i] = cimag(h[i]) / STEP;
    for (int i = 0; i < 3; ++i) {
        *dU -= m->gravity[i] * cimag(first[i]) / STEP;
        moment[i] = creal(first[i]);
    }
    close_complex(&c);
}

static void derivatives(void **state) {
    (void)state;
    worst_case id_q = {0}, id_v = {0}, fd_q = {0}, fd_v = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        complex_tree c = open_complex(t.m);
        double *e = calloc(n + 1, 8), *none = calloc(n + 1, 8), *oracle = calloc(n * n + 1, 8);
        for (int pass = 0; pass < 4; ++pass) {
            const int forward = pass >= 2, by_v = pass & 1;
            if (forward)
                OK(soa_aba_derivatives(
                    t.m, t.w,
                    &(soa_input){
                        .q = t.q, .v = t.v, .tau = t.tau, .wrenches = t.f, .wrench_count = t.nf},
                    by_v ? NULL : t.r1, by_v ? t.r1 : NULL));
            else
                OK(soa_rnea_derivatives(
                    t.m, t.w,
                    &(soa_input){
                        .q = t.q, .v = t.v, .a = t.a, .wrenches = t.f, .wrench_count = t.nf},
                    by_v ? NULL : t.r1, by_v ? t.r1 : NULL));
            for (size_t j = 0; j < n; ++j) {
                memset(e, 0, n * 8);
                e[j] = 1;
                complex_q(t.m, t.q, by_v ? none : e, c.q);
                complex_v(t.m, t.v, by_v ? e : none, c.v);
                complex_wrenches(t.m, &c, t.f, t.nf);
                if (forward) {
                    complex_v(t.m, t.tau, NULL, c.a);
                    for (int k = 0; k < t.m->nm; ++k)
                        c.a[c.view.mimic[k].follower] = 0;
                    assert_int_equal(
                        soai_kernels_complex.aba(&c.view, c.work, c.q, c.v, c.a, c.f, c.out), 0);
                    imaginary_motion(t.m, c.out, n, j, oracle);
                } else {
                    complex_v(t.m, t.a, NULL, c.a);
                    soai_kernels_complex.rnea(&c.view, c.work, c.q, c.v, c.a, c.f, c.out);
                    imaginary_torque(t.m, c.out, n, j, oracle);
                }
            }
            worst_case *w;
            if (pass == 0) {
                w = &id_q;
            } else if (pass == 1) {
                w = &id_v;
            } else if (pass == 2) {
                w = &fd_q;
            } else {
                w = &fd_v;
            }
            note(w, relative(t.r1, oracle, n * n), s);
        }
        free(e);
        free(none);
        free(oracle);
        close_complex(&c);
        close_tree(&t);
    }
    conclude("d rnea/dq = complex step", &id_q, 1e-11);
    conclude("d rnea/dv = complex step", &id_v, 1e-11);
    conclude("d aba/dq = complex step", &fd_q, 1e-9);
    conclude("d aba/dv = complex step", &fd_v, 1e-9);
}

/* ---- C(q,v): bias at w = v, and dM/dt - 2 C skew --------------------------------------------- */
static double friction_at(const soa_body_info *b, double v) {
    if (v > 0) return b->friction_positive;
    return v < 0 ? -b->friction_negative : 0;
}
static void coriolis(void **state) {
    (void)state;
    worst_case bias = {0}, skew = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        OK(soa_coriolis_mul(t.m, t.w, t.q, t.v, t.v, t.r1));
        OK(soa_bias_torque(t.m, t.w, t.q, t.v, t.r2));
        OK(soa_bias_torque(t.m, t.w, t.q, NULL, t.r3)); /* gravity and springs */
        for (size_t i = 0; i < n; ++i)
            t.r2[i] -= t.r3[i];
        for (int i = 1; i <= t.nb; ++i) { /* friction */
            soa_body_info b;
            OK(soa_model_body(t.m, i, &b));
            for (int k = 0; k < soai_nv_of(b.type); ++k) {
                const double ratio = b.mimic < 0 ? 1 : b.mimic_ratio;
                soa_body_info lead = b;
                if (b.mimic >= 0) OK(soa_model_body(t.m, b.mimic, &lead));
                const double v = ratio * t.v[lead.v_index + k];
                t.r2[lead.v_index + k] -= ratio * (b.damping * v + friction_at(&b, v));
            }
        }
        note(&bias, relative(t.r1, t.r2, n), s);
        /* x'(dM/dt) x = 2 x'C x for any x: dM/dt by complex step along v */
        complex_tree c = open_complex(t.m);
        complex_q(t.m, t.q, t.v, c.q);
        complex_v(t.m, t.x, NULL, c.v);
        soai_kernels_complex.positions(&c.view, c.work, c.q);
        soai_kernels_complex.mass_mul(&c.view, c.work, c.v, c.out);
        double *rate = t.r3;
        memset(rate, 0, n * 8);
        const soai_map *map = SOAI_AT(t.m, soai_map, map_v);
        for (int k = 0; k < t.m->tv; ++k)
            rate[map[k].user] += map[k].ratio * cimag(c.out[k]) / STEP;
        OK(soa_coriolis_mul(t.m, t.w, t.q, t.v, t.x, t.r1));
        double lhs = 0, rhs = 0, size = 1e-3;
        for (size_t i = 0; i < n; ++i) {
            lhs += t.x[i] * rate[i];
            rhs += 2 * t.x[i] * t.r1[i];
            size += fabs(t.x[i] * rate[i]) + fabs(t.x[i] * t.r1[i]);
        }
        note(&skew, fabs(lhs - rhs) / size, s);
        close_complex(&c);
        close_tree(&t);
    }
    conclude("C(q,v) v = bias - gravity - friction", &bias, 1e-11);
    conclude("x'(dM/dt - 2 C) x = 0", &skew, 1e-12);
}

/* ---- kinematics: J by differences, J v, J'f, dJ/dt v ----------------------------------------- */
static void jacobians(void **state) {
    (void)state;
    worst_case velocity = {0}, power = {0}, jdot = {0}, column = {0}, accel = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        const int frame = (int)roll(&t.d, 1, soa_model_frame_count(t.m) - 1e-9);
        const soa_axes axes = s & 1 ? SOA_AXES_WORLD : SOA_AXES_BODY;
        double *J = t.r1, V[6], JV[6], f[6], *tau = t.r2, plus[6], minus[6], dot[6];
        OK(soa_kinematics(t.m, t.w, t.q, t.v, t.a));
        OK(soa_jacobian(t.m, t.w, frame, axes, J));
        OK(soa_velocity(t.m, t.w, frame, axes, V));
        for (int r = 0; r < 6; ++r) {
            JV[r] = 0;
            for (size_t k = 0; k < n; ++k)
                JV[r] += J[n * (size_t)r + k] * t.v[k];
        }
        note(&velocity, relative(JV, V, 6), s);
        OK(soa_jacobian_mul(t.m, t.w, frame, axes, t.x, JV));
        roll_many(&t.d, -1, 1, 6, f);
        OK(soa_jacobian_transpose_mul(t.m, t.w, frame, axes, f, tau));
        double left = 0, right = 0;
        for (size_t k = 0; k < n; ++k)
            left += tau[k] * t.x[k];
        for (int r = 0; r < 6; ++r)
            right += f[r] * JV[r];
        note(&power, relative(&left, &right, 1), s);
        double A[6], Ja[6];
        OK(soa_acceleration_classical(t.m, t.w, frame, SOA_AXES_WORLD, A));
        OK(soa_jacobian_mul(t.m, t.w, frame, SOA_AXES_WORLD, t.a, Ja));
        OK(soa_jacobian_dot_v(t.m, t.w, frame, SOA_AXES_WORLD, dot));
        for (int r = 0; r < 6; ++r)
            Ja[r] += dot[r];
        note(&accel, relative(Ja, A, 6), s);
        /* d/dt (J v), v held: central differences along the motion */
        const double h = 1e-5;
        double *q2 = calloc((size_t)t.nq + 1, 8);
        for (int side = 0; side < 2; ++side) {
            OK(soa_q_integrate(t.m, t.q, t.v, side ? -h : h, q2));
            OK(soa_kinematics(t.m, t.w, q2, t.v, NULL));
            OK(soa_velocity(t.m, t.w, frame, SOA_AXES_WORLD, side ? minus : plus));
        }
        for (int r = 0; r < 6; ++r)
            plus[r] = (plus[r] - minus[r]) / (2 * h);
        note(&jdot, relative(plus, dot, 6), s);
        /* a column of J: the frame's own motion when one coordinate moves */
        const size_t k = (size_t)roll(&t.d, 0, (double)n - 1e-9);
        soa_frame a, b;
        double *e = calloc(n + 1, 8), col[3], diff[3];
        e[k] = 1;
        OK(soa_kinematics(t.m, t.w, t.q, NULL, NULL));
        OK(soa_jacobian(t.m, t.w, frame, SOA_AXES_WORLD, J));
        OK(soa_q_integrate(t.m, t.q, e, h, q2));
        OK(soa_kinematics(t.m, t.w, q2, NULL, NULL));
        OK(soa_pose(t.m, t.w, frame, &a));
        OK(soa_q_integrate(t.m, t.q, e, -h, q2));
        OK(soa_kinematics(t.m, t.w, q2, NULL, NULL));
        OK(soa_pose(t.m, t.w, frame, &b));
        for (int r = 0; r < 3; ++r) {
            col[r] = J[n * (size_t)(3 + r) + k];
            diff[r] = (a.p[r] - b.p[r]) / (2 * h);
        }
        note(&column, relative(diff, col, 3), s);
        free(e);
        free(q2);
        close_tree(&t);
    }
    conclude("J v = velocity", &velocity, 1e-12);
    conclude("f.(J x) = (J'f).x", &power, 1e-11);
    conclude("J a + (dJ/dt) v = classical acceleration", &accel, 1e-12);
    conclude("(dJ/dt) v by differences", &jdot, 1e-6);
    conclude("column of J by differences", &column, 1e-6);
}

/* ---- energy, momentum, regressor, manifold --------------------------------------------------- */
static void laws(void **state) {
    (void)state;
    worst_case kinetic = {0}, power = {0}, centroid = {0}, gravity = {0}, manifold = {0}, com = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        const size_t n = (size_t)t.nv;
        double T, U, half = 0;
        OK(soa_mass_mul(t.m, t.w, t.q, t.v, t.r1));
        for (size_t i = 0; i < n; ++i)
            half += t.r1[i] * t.v[i] / 2;
        OK(soa_energy(t.m, t.w, t.q, t.v, &T, &U));
        note(&kinetic, relative(&T, &half, 1), s);
        /* d(T+U)/dt = v.(tau - friction) along the motion that aba gives */
        double *q2 = calloc((size_t)t.nq + 1, 8), *v2 = calloc(n + 1, 8), *acc = t.r1, watts = 0;
        OK(soa_aba(t.m, t.w, t.q, t.v, t.tau, NULL, 0, acc));
        OK(soa_bias_torque(t.m, t.w, t.q, t.v, t.r2));
        OK(soa_bias_torque(t.m, t.w, t.q, NULL, t.r3));
        double *cv = calloc(n + 1, 8);
        OK(soa_coriolis_mul(t.m, t.w, t.q, t.v, t.v, cv));
        /* friction = bias - statics - C v */
        for (size_t i = 0; i < n; ++i)
            watts += t.v[i] * (t.tau[i] - (t.r2[i] - t.r3[i] - cv[i]));
        double dT, dU, dh[6], moment[3], springs = 0;
        complex_rates(t.m, t.q, t.v, acc, &dT, &dU, dh, moment);
        OK(soa_gravity_torque(t.m, t.w, t.q, t.r2));
        for (size_t i = 0; i < n; ++i)
            springs += t.v[i] * (t.r3[i] - t.r2[i]);
        note(&power,
             fabs(dT + dU + springs - watts) /
                 (fabs(dT) + fabs(dU) + fabs(springs) + fabs(watts) + 1e-3),
             s);
        const double h = 1e-5;
        /* h = A v; the centre of mass moves with the linear part */
        double hh[6], Av[6], c0[3], vc[3], cp[3], cm[3];
        OK(soa_centroidal_momentum_matrix(t.m, t.w, t.q, t.r1));
        OK(soa_momentum(t.m, t.w, t.q, t.v, hh, c0));
        for (int r = 0; r < 6; ++r) {
            Av[r] = 0;
            for (size_t i = 0; i < n; ++i)
                Av[r] += t.r1[n * (size_t)r + i] * t.v[i];
        }
        note(&centroid, relative(Av, hh, 6), s);
        OK(soa_centre_of_mass(t.m, t.w, t.q, t.v, c0, vc));
        OK(soa_q_integrate(t.m, t.q, t.v, h, q2));
        OK(soa_centre_of_mass(t.m, t.w, q2, NULL, cp, NULL));
        OK(soa_q_integrate(t.m, t.q, t.v, -h, q2));
        OK(soa_centre_of_mass(t.m, t.w, q2, NULL, cm, NULL));
        for (int r = 0; r < 3; ++r)
            cp[r] = (cp[r] - cm[r]) / (2 * h);
        note(&com, relative(cp, vc, 3), s);
        /* gravity torque = dU/dq by the weight of the whole: g = -m (J_com)' gravity */
        double G[3], *Acom = t.r1;
        soa_model_gravity(t.m, G);
        OK(soa_gravity_torque(t.m, t.w, t.q, t.r2));
        OK(soa_centroidal_momentum_matrix(t.m, t.w, t.q, Acom));
        for (size_t i = 0; i < n; ++i)
            t.r3[i] = -(Acom[3 * n + i] * G[0] + Acom[4 * n + i] * G[1] + Acom[5 * n + i] * G[2]);
        note(&gravity, relative(t.r2, t.r3, n), s);
        /* q (+) (q1 - q) = q1 */
        OK(soa_q_integrate(t.m, t.q, t.x, 1.5, q2));
        OK(soa_q_difference(t.m, t.q, q2, v2));
        for (size_t i = 0; i < n; ++i)
            cv[i] = 1.5 * t.x[i];
        note(&manifold, relative(v2, cv, n), s);
        free(q2);
        free(v2);
        free(cv);
        close_tree(&t);
    }
    conclude("T = v'M v / 2", &kinetic, 1e-11);
    conclude("d(T + U)/dt = v'(tau - friction)", &power, 1e-10);
    conclude("A v = momentum about the centre of mass", &centroid, 1e-11);
    conclude("velocity of the centre of mass by differences", &com, 1e-6);
    conclude("gravity torque = -(linear rows of A)' g", &gravity, 1e-11);
    conclude("difference(q, q (+) v) = v", &manifold, 1e-11);
}

static void regressor(void **state) {
    (void)state;
    worst_case w = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, "random-ideal");
        const size_t n = (size_t)t.nv, p = 10 * (size_t)t.nb;
        double *pi = calloc(p + 1, 8);
        OK(soa_model_inertial_parameters(t.m, pi));
        OK(soa_regressor(t.m, t.w, t.q, t.v, t.a, t.r1));
        OK(soa_rnea(t.m, t.w, t.q, t.v, t.a, NULL, 0, t.r2));
        for (size_t i = 0; i < n; ++i) {
            t.r3[i] = 0;
            for (size_t k = 0; k < p; ++k)
                t.r3[i] += t.r1[p * i + k] * pi[k];
        }
        note(&w, relative(t.r3, t.r2, n), s);
        free(pi);
        close_tree(&t);
    }
    conclude("regressor times parameters = rnea", &w, 1e-11);
}

/* ---- momentum of a free machine changes by gravity and wrenches alone ------------------------ */
static void momentum_law(void **state) {
    (void)state;
    worst_case w = {0};
    const char *names[] = {"satellite", "quadruped", "humanoid"};
    for (long s = first_seed(); s < first_seed() + 100; ++s) {
        soa_report report;
        const soa_model *m;
        soa_work *work;
        dice d = {(uint64_t)s};
        if (soa_stock_model_create(names[s % 3], NULL, &m, &report)) fail_msg("%s", report.text);
        OK(soa_work_create(m, &work));
        const size_t n = (size_t)soa_model_nv(m);
        double *q = calloc((size_t)soa_model_nq(m), 8), *v = calloc(n, 8), *tau = calloc(n, 8),
               *acc = calloc(n, 8), *A = calloc(6 * n, 8);
        soa_q_neutral(m, q);
        roll_many(&d, -1, 1, n, v);
        OK(soa_q_integrate(m, q, v, 1, q));
        roll_many(&d, -1, 1, n, v);
        roll_many(&d, -5, 5, n, tau);
        memset(tau, 0, 6 * sizeof *tau); /* internal torques only */
        OK(soa_aba(m, work, q, v, tau, NULL, 0, acc));
        double dT, dU, rate[6], moment[3], G[3], weight[6];
        complex_rates(m, q, v, acc, &dT, &dU, rate, moment);
        soa_model_gravity(m, G);
        for (int i = 0; i < 3; ++i) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            weight[i] = moment[j] * G[k] - moment[k] * G[j];
            weight[3 + i] = soa_model_mass(m) * G[i];
        }
        double size = 1;
        OK(soa_centroidal_momentum_matrix(m, work, q, A));
        for (size_t i = 0; i < n; ++i)
            size += fabs(A[3 * n + i] * acc[i]) + fabs(A[i] * acc[i]);
        for (int i = 0; i < 6; ++i)
            note(&w, fabs(rate[i] - weight[i]) / (size + fabs(weight[i])), s);
        free(q);
        free(v);
        free(tau);
        free(acc);
        free(A);
        soa_work_free(work);
        soa_model_free(m);
    }
    conclude("d(momentum)/dt = weight, internal torques", &w, 1e-11);
}

/* ---- the same recursion in other number types ------------------------------------------------ */
/* What batches make of the joints (src/table/aligned_frames.c), and how many with an armature
 * single states align. */
static void count_frames(const soa_model *m, long *level, long *pivots, long *by_columns,
                         long *geared) {
    const soai_view_double view = soai_model_view(m);
    soai_body_double *body = calloc((size_t)view.nb + 1, sizeof *body);
    soai_dof_double *dof = calloc((size_t)view.nv + 1, sizeof *dof);
    soai_frame *frames = calloc((size_t)view.nb + 1, sizeof *frames);
    soai_level(&view, SOAI_ALIGN_ALL, body, dof, frames);
    for (int i = 1; i <= view.nb; ++i)
        *geared += body[i].kind >= SOAI_KIND_LEVEL_X && body[i].armature != 0;
    soai_level(&view, SOAI_ALIGN_WITHOUT_MOTORS, body, dof, frames);
    for (int i = 1; i <= view.nb; ++i) {
        *level += body[i].kind >= SOAI_KIND_LEVEL_X;
        *pivots += body[i].kind >= SOAI_KIND_PIVOT_X && body[i].parent;
    }
    *by_columns += soai_by_columns(view.nb, body);
    free(body);
    free(dof);
    free(frames);
}
/* States of one tree in double and float, with a wrench on every body. */
enum { STATES = 7 };
typedef struct many_states {
    mechanism *t;
    soa_batch *batch;
    size_t n, nq, nb;
    double *q, *v, *a, *fext, *out; /* `out`: n^2 for each state */
    float *qf, *vf, *af, *outf;
    soa_wrench *wrench; /* scratch: those of one state */
} many_states;
static many_states many_states_open(mechanism *t) {
    const size_t n = (size_t)t->nv, nq = (size_t)t->nq, nb = (size_t)t->nb;
    many_states x = {.t = t,
                     .n = n,
                     .nq = nq,
                     .nb = nb,
                     .q = calloc(STATES * nq + 1, 8),
                     .v = calloc(STATES * n + 1, 8),
                     .a = calloc(STATES * n + 1, 8),
                     .fext = calloc(6 * STATES * nb, 8),
                     .out = calloc(STATES * n * n + 1, 8),
                     .qf = calloc(STATES * nq + 1, 4),
                     .vf = calloc(STATES * n + 1, 4),
                     .af = calloc(STATES * n + 1, 4),
                     .outf = calloc(STATES * n * n + 1, 4),
                     .wrench = calloc(nb, sizeof(soa_wrench))};
    OK(soa_batch_create(t->m, &x.batch));
    roll_many(&t->d, -1, 1, 6 * STATES * nb, x.fext);
    for (size_t k = 0; k < STATES; ++k) {
        roll_many(&t->d, -1, 1, n, x.v + k * n);
        roll_many(&t->d, -1, 1, n, x.a + k * n);
        OK(soa_q_integrate(t->m, t->q, x.v + k * n, 1, x.q + k * nq));
    }
    for (size_t k = 0; k < STATES * nq; ++k)
        x.qf[k] = (float)x.q[k];
    for (size_t k = 0; k < STATES * n; ++k) {
        x.vf[k] = (float)x.v[k];
        x.af[k] = (float)x.a[k];
    }
    return x;
}
static void many_states_close(many_states *x) {
    free(x->q);
    free(x->v);
    free(x->a);
    free(x->fext);
    free(x->out);
    free(x->qf);
    free(x->vf);
    free(x->af);
    free(x->outf);
    free(x->wrench);
    soa_batch_free(x->batch);
}
static void widen(const float *from, size_t count, double *to) {
    for (size_t i = 0; i < count; ++i)
        to[i] = from[i];
}

typedef struct type_errors {
    worst_case lanes_fd, lanes_id, lanes_mass;
    worst_case float_id, float_mass, float_fd, float_lanes;
} type_errors;

static void compare_lanes_fd(many_states *x, type_errors *e) {
    mechanism *t = x->t;
    const size_t n = x->n;
    OK(soa_aba_batch(t->m, x->batch, STATES, x->q, x->v, x->a, NULL, x->out));
    for (size_t k = 0; k < STATES; ++k) {
        OK(soa_aba(t->m, t->w, x->q + k * x->nq, x->v + k * n, x->a + k * n, NULL, 0, t->r1));
        note(&e->lanes_fd, relative(x->out + k * n, t->r1, n), t->seed);
    }
}
/* The wrenches of state k as the calls for one state take them. */
static void wrenches_of(many_states *x, size_t k) {
    for (size_t i = 0; i < x->nb; ++i) {
        soa_body_info info;
        OK(soa_model_body(x->t->m, (int)i + 1, &info));
        x->wrench[i].frame = info.frame;
        x->wrench[i].axes = SOA_AXES_BODY;
        memcpy(x->wrench[i].value, x->fext + 6 * (x->nb * k + i), sizeof x->wrench[i].value);
    }
}
static void compare_lanes_with_wrenches(many_states *x, int inverse, type_errors *e) {
    mechanism *t = x->t;
    const size_t n = x->n;
    OK((inverse ? soa_rnea_batch : soa_aba_batch)(t->m, x->batch, STATES, x->q, x->v, x->a, x->fext,
                                                  x->out));
    for (size_t k = 0; k < STATES; ++k) {
        wrenches_of(x, k);
        OK((inverse ? soa_rnea : soa_aba)(t->m, t->w, x->q + k * x->nq, x->v + k * n, x->a + k * n,
                                          x->wrench, (int)x->nb, t->r1));
        note(inverse ? &e->lanes_id : &e->lanes_fd, relative(x->out + k * n, t->r1, n), t->seed);
    }
}
static void compare_inverse_dynamics(many_states *x, type_errors *e) {
    mechanism *t = x->t;
    const size_t n = x->n;
    float *one = x->outf + STATES * n;
    OK(soa_rnea_batch(t->m, x->batch, STATES, x->q, x->v, x->a, NULL, x->out));
    OK(soa_rnea_batch_f(t->m, x->batch, STATES, x->qf, x->vf, x->af, NULL, x->outf));
    for (size_t k = 0; k < STATES; ++k) {
        OK(soa_rnea(t->m, t->w, x->q + k * x->nq, x->v + k * n, x->a + k * n, NULL, 0, t->r1));
        note(&e->lanes_id, relative(x->out + k * n, t->r1, n), t->seed);
        OK(soa_rnea_f(t->m, t->w, x->qf + k * x->nq, x->vf + k * n, x->af + k * n, NULL, one));
        widen(one, n, t->r2);
        widen(x->outf + k * n, n, t->r3);
        note(&e->float_id, relative(t->r2, t->r1, n), t->seed);
        note(&e->float_lanes, relative(t->r3, t->r2, n), t->seed);
    }
}
static void compare_mass_matrices(many_states *x, type_errors *e) {
    mechanism *t = x->t;
    const size_t nn = x->n * x->n;
    OK(soa_crba_batch(t->m, x->batch, STATES, x->q, x->out));
    for (size_t k = 0; k < STATES; ++k) {
        OK(soa_crba(t->m, t->w, x->q + k * x->nq, t->r1));
        note(&e->lanes_mass, relative(x->out + k * nn, t->r1, nn), t->seed);
        OK(soa_crba_f(t->m, t->w, x->qf + k * x->nq, x->outf));
        widen(x->outf, nn, t->r2);
        note(&e->float_mass, relative(t->r2, t->r1, nn), t->seed);
    }
    OK(soa_crba_batch_f(t->m, x->batch, STATES, x->qf, x->outf));
    for (size_t k = 0; k < STATES; ++k) {
        OK(soa_crba(t->m, t->w, x->q + k * x->nq, t->r1));
        widen(x->outf + k * nn, nn, t->r2);
        note(&e->float_mass, relative(t->r2, t->r1, nn), t->seed);
    }
}
/* Forward dynamics in float: judged by the torque its answer needs. */
static void compare_float_fd(many_states *x, type_errors *e) {
    mechanism *t = x->t;
    double size = 1, worst = 0;
    OK(soa_aba_f(t->m, t->w, x->qf, x->vf, x->af, NULL, x->outf));
    widen(x->outf, x->n, t->r1);
    OK(soa_rnea(t->m, t->w, x->q, x->v, t->r1, NULL, 0, t->r2));
    OK(soa_mass_mul(t->m, t->w, x->q, t->r1, t->r3));
    for (size_t i = 0; i < x->n; ++i) {
        size = fmax(size, fabs(t->r3[i]));
        worst = !(fabs(t->r2[i] - x->a[i]) <= worst) ? fabs(t->r2[i] - x->a[i]) : worst;
    }
    note(&e->float_fd, worst / size, t->seed);
}
static void number_types(void **state) {
    (void)state;
    long level = 0, pivots = 0, by_columns = 0, geared = 0;
    type_errors e = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        mechanism t = open_tree(s, family(s));
        many_states x = many_states_open(&t);
        compare_lanes_fd(&x, &e);
        for (int inverse = 0; inverse < 2; ++inverse)
            compare_lanes_with_wrenches(&x, inverse, &e);
        compare_inverse_dynamics(&x, &e);
        compare_mass_matrices(&x, &e);
        count_frames(t.m, &level, &pivots, &by_columns, &geared);
        compare_float_fd(&x, &e);
        many_states_close(&x);
        close_tree(&t);
    }
    printf("  joints of batches: %ld level, %ld of them pivots; mass matrices of %ld trees by "
           "columns\n",
           level, pivots, by_columns);
    printf("  level joints of single states that have an armature: %ld\n", geared);
    if (TREES >= 100) {
        assert_true(level > TREES && pivots > TREES / 2 && by_columns > TREES / 20);
        assert_true(geared > TREES / 10);
    }
    conclude("lanes: aba = scalar", &e.lanes_fd, 1e-9);
    conclude("lanes: rnea = scalar", &e.lanes_id, 1e-12);
    conclude("lanes: crba = scalar", &e.lanes_mass, 1e-12);
    conclude("float: rnea = double", &e.float_id, 1e-3);
    conclude("float lanes: rnea = float", &e.float_lanes, 1e-4);
    conclude("float: crba = double", &e.float_mass, 1e-4);
    conclude("float: rnea(aba(tau)) = tau, over |M a|", &e.float_fd, 1e-2);
}

int main(void) {
    printf("%ld random trees from seed %ld (SOA_SEED)\n", TREES, first_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_inverse),
        cmocka_unit_test(shipped_models),
        cmocka_unit_test(mass_matrix),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(coriolis),
        cmocka_unit_test(jacobians),
        cmocka_unit_test(laws),
        cmocka_unit_test(regressor),
        cmocka_unit_test(momentum_law),
        cmocka_unit_test(number_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
