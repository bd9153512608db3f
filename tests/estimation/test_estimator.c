/* test_estimator.c  soa_estimator_update against dense least squares, against soa_aba and
 * soa_smoother where the variances make it these, and by Monte Carlo.
 *
 * The dense judge knows only: tau(a, f) = M a + bias - sum of J' f, from soa_crba, soa_rnea and
 * soa_jacobian, and that forces and accelerations of bodies are affine in (a, f), from soa_rnea,
 * soa_joint_force and soa_kinematics.  It forms the conditional mean and covariance of (a, f) given
 * tau with matrices of the size of all unknowns.
 * SOA_SEED=n chooses other models. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"

enum { TREES = 120, MOST_UNKNOWNS = 5 };
/* Machines whose dense problem amplifies rounding errors by more are not judged by it. */
#define WELL_POSED 1e4
#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct bench {
    const soa_model *m;
    soa_work *w, *other;
    soa_estimator *e;
    size_t nv, nb;
    double *q, *v, *a, *tau, *a_variance, *tau_variance;
    soa_wrench f[2];
    soa_unknown_wrench u[MOST_UNKNOWNS];
    int unknowns;
    long seed;
} bench;
static double *room(size_t n) {
    return calloc(n + 1, sizeof(double));
}
static int moving_frame(const soa_model *m, dice *d) {
    for (;;) {
        const int frame = (int)roll(d, 1, soa_model_frame_count(m) - 1e-9);
        soa_frame_info info;
        OK(soa_model_frame(m, frame, &info));
        if (info.body) return frame;
    }
}
/* A A' of a random 6 x rank matrix, with sizes from 0.1 to 10 */
static void random_covariance(dice *d, int rank, double C[36]) {
    double A[36];
    roll_many(d, -1, 1, 36, A);
    for (int r = 0; r < 6; ++r) {
        const double size = pow(10, roll(d, -1, 1));
        for (int c = 0; c < 6; ++c)
            A[6 * r + c] *= size;
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            C[6 * r + c] = 0;
            for (int k = 0; k < rank; ++k)
                C[6 * r + c] += A[6 * r + k] * A[6 * c + k];
        }
}
static bench prepare(const soa_model *m, long seed) {
    bench b = {
        .m = m, .nv = (size_t)soa_model_nv(m), .nb = (size_t)soa_model_body_count(m), .seed = seed};
    dice d = {(uint64_t)seed * 131 + 5};
    OK(soa_work_create(m, &b.w));
    OK(soa_work_create(m, &b.other));
    OK(soa_estimator_create(m, &b.e));
    b.q = room((size_t)soa_model_nq(m));
    b.v = room(b.nv);
    b.a = room(b.nv);
    b.tau = room(b.nv);
    b.a_variance = room(b.nv);
    b.tau_variance = room(b.nv);
    roll_many(&d, -2, 2, b.nv, b.v);
    soa_q_neutral(m, b.q);
    OK(soa_q_integrate(m, b.q, b.v, 1, b.q));
    roll_many(&d, -1, 1, b.nv, b.v);
    roll_many(&d, -3, 3, b.nv, b.a);
    roll_many(&d, -5, 5, b.nv, b.tau);
    for (size_t j = 0; j < b.nv; ++j) {
        b.a_variance[j] = pow(10, roll(&d, -2, 1));
        b.tau_variance[j] = pow(10, roll(&d, -2, 1));
    }
    for (int i = 0; i < 2; ++i) {
        b.f[i].frame = (int)roll(&d, 0, soa_model_frame_count(m) - 1e-9);
        b.f[i].axes = i & 1 ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(&d, -4, 4, 6, b.f[i].value);
    }
    b.unknowns = 1 + (int)roll(&d, 0, MOST_UNKNOWNS - 1e-9);
    for (int i = 0; i < b.unknowns; ++i) {
        b.u[i].frame = moving_frame(m, &d);
        b.u[i].axes = i & 1 ? SOA_AXES_WORLD : SOA_AXES_BODY;
        roll_many(&d, -2, 2, 6, b.u[i].mean);
        random_covariance(&d, 1 + (int)roll(&d, 0, 6 - 1e-9), b.u[i].covariance);
    }
    return b;
}
static const soa_model *stock(const char *name, int ideal) {
    const soa_model *m = NULL;
    soa_report report;
    const soa_read_options options = {.ideal = ideal};
    if (soa_stock_model_create(name, &options, &m, &report)) fail_msg("%s: %s", name, report.text);
    return m;
}
/* A random tree without mimic joints; NULL if this one has some. */
static const soa_model *random_model(const char *family, long seed) {
    char name[64];
    soa_estimator *e;
    snprintf(name, sizeof name, "%s:%ld", family, seed);
    const soa_model *m = stock(name, 0);
    const soa_status s = soa_estimator_create(m, &e);
    if (s == SOA_OK) {
        soa_estimator_free(e);
        return m;
    }
    assert_int_equal(s, SOA_E_MIMIC);
    soa_model_free(m);
    return NULL;
}
static void close_bench(bench *b) {
    soa_estimator_free(b->e);
    soa_work_free(b->w);
    soa_work_free(b->other);
    soa_model_free(b->m);
    free(b->q);
    free(b->v);
    free(b->a);
    free(b->tau);
    free(b->a_variance);
    free(b->tau_variance);
}
static soa_estimator_input input_of(const bench *b) {
    return (soa_estimator_input){.q = b->q,
                                 .v = b->v,
                                 .tau = b->tau,
                                 .tau_variance = b->tau_variance,
                                 .a = b->a,
                                 .a_variance = b->a_variance,
                                 .wrenches = b->f,
                                 .wrench_count = 2,
                                 .unknowns = b->u,
                                 .unknown_count = b->unknowns};
}

/* ---- the dense judge ------------------------------------------------------------------------- */
/* Outputs, affine in (a, f): torques, forces through joints, accelerations of bodies, wrenches. */
static size_t output_count(const bench *b) {
    return b->nv + 18 * b->nb;
}
static soa_frame in_body(const bench *b, int frame, const soa_frame_info *info) {
    soa_body_info body;
    soa_frame F, B;
    OK(soa_model_body(b->m, info->body, &body));
    OK(soa_pose(b->m, b->other, frame, &F));
    OK(soa_pose(b->m, b->other, body.frame, &B));
    B = soa_frame_inverse(&B);
    return soa_frame_compose(&B, &F);
}
static void add_wrench(const bench *b, const soa_wrench *f, double *out) {
    soa_frame_info info;
    soa_frame F;
    double local[6], y[6];
    OK(soa_model_frame(b->m, f->frame, &info));
    if (!info.body) return;
    OK(soa_pose(b->m, b->other, f->frame, &F));
    memcpy(local, f->value, sizeof local);
    for (int k = 0; f->axes == SOA_AXES_WORLD && k < 6; ++k) {
        local[k] = 0;
        for (int j = 0; j < 3; ++j)
            local[k] += F.R[3 * j + k % 3] * f->value[3 * (k / 3) + j];
    }
    F = in_body(b, f->frame, &info);
    soa_frame_force_to_parent(&F, local, y);
    for (int k = 0; k < 6; ++k)
        out[6 * (info.body - 1) + k] += y[k];
}
static void outputs(const bench *b, const double *z, double *out) {
    soa_wrench f[2 + MOST_UNKNOWNS];
    double gravity[3];
    double *x = out + b->nv, *lambda = x + 6 * b->nb, *wrench = lambda + 6 * b->nb;
    memcpy(f, b->f, sizeof b->f);
    for (int i = 0; i < b->unknowns; ++i) {
        f[2 + i] = (soa_wrench){.frame = b->u[i].frame, .axes = b->u[i].axes};
        memcpy(f[2 + i].value, z + b->nv + 6 * i, sizeof f->value);
    }
    OK(soa_rnea(b->m, b->other, b->q, b->v, z, f, 2 + b->unknowns, out));
    for (int i = 1; i <= (int)b->nb; ++i)
        OK(soa_joint_force(b->m, b->other, i, x + 6 * (i - 1)));
    OK(soa_kinematics(b->m, b->other, b->q, b->v, z));
    soa_model_gravity(b->m, gravity);
    for (int i = 1; i <= (int)b->nb; ++i) {
        soa_body_info info;
        soa_frame F;
        OK(soa_model_body(b->m, i, &info));
        OK(soa_pose(b->m, b->other, info.frame, &F));
        double *A = lambda + 6 * (i - 1);
        OK(soa_acceleration_spatial(b->m, b->other, info.frame, SOA_AXES_BODY, A));
        for (int k = 0; k < 3; ++k)
            for (int j = 0; j < 3; ++j)
                A[3 + k] -= F.R[3 * j + k] * gravity[j];
    }
    memset(wrench, 0, 6 * b->nb * sizeof *wrench);
    for (int i = 0; i < 2 + b->unknowns; ++i)
        add_wrench(b, f + i, wrench);
}
/* x = A^-1 x, n x n, c right sides (n x c), Gauss with row pivoting in long double. */
static void solve_dense(size_t n, const double *matrix, size_t c, double *x) {
    long double *A = calloc(n * n + 1, sizeof *A), *y = calloc(n * c + 1, sizeof *y);
    for (size_t i = 0; i < n * n; ++i)
        A[i] = matrix[i];
    for (size_t i = 0; i < n * c; ++i)
        y[i] = x[i];
    for (size_t k = 0; k < n; ++k) {
        size_t best = k;
        for (size_t r = k + 1; r < n; ++r)
            if (fabsl(A[n * r + k]) > fabsl(A[n * best + k])) best = r;
        assert_true(fabsl(A[n * best + k]) > 0);
        for (size_t j = 0; j < n; ++j) {
            const long double t = A[n * k + j];
            A[n * k + j] = A[n * best + j];
            A[n * best + j] = t;
        }
        for (size_t j = 0; j < c; ++j) {
            const long double t = y[c * k + j];
            y[c * k + j] = y[c * best + j];
            y[c * best + j] = t;
        }
        for (size_t r = 0; r < n; ++r) {
            if (r == k) continue;
            const long double t = A[n * r + k] / A[n * k + k];
            for (size_t j = k; t != 0 && j < n; ++j)
                A[n * r + j] -= t * A[n * k + j];
            for (size_t j = 0; t != 0 && j < c; ++j)
                y[c * r + j] -= t * y[c * k + j];
        }
    }
    for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < c; ++j)
            x[c * k + j] = (double)(y[c * k + j] / A[n * k + k]);
    free(A);
    free(y);
}
typedef struct judged {
    size_t nz, ny;
    double *z, *cov; /* conditional mean and covariance of (a, f) */
    double *out, *T; /* outputs at z; their matrix, ny x nz */
    double chi_square;
    /* of the covariance of the torques' errors, scaled to ones on its diagonal: how much of the
     * rounding of h the judge's own answer amplifies */
    double amplifies;
    /* largest variances of forces through joints and of wrenches before the torques are known:
     * what is left is a difference of these */
    double force_before, wrench_before;
} judged;
/* Conditional mean and covariance of z ~ N(mean, prior) given y = h z + N(0, R), k of them. */
static double condition(size_t nz, double *z, double *prior, size_t k, const double *h,
                        const double *R, const double *e) {
    double *S = room(k * k), *hP = room(k * nz), *X = room(k * (nz + 1)), chi = 0;
    for (size_t r = 0; r < k; ++r)
        for (size_t c = 0; c < nz; ++c)
            for (size_t j = 0; j < nz; ++j)
                hP[nz * r + c] += h[nz * r + j] * prior[nz * j + c];
    for (size_t r = 0; r < k; ++r)
        for (size_t c = 0; c < k; ++c) {
            S[k * r + c] = r == c ? R[r] : 0;
            for (size_t j = 0; j < nz; ++j)
                S[k * r + c] += hP[nz * r + j] * h[nz * c + j];
        }
    for (size_t r = 0; r < k; ++r) {
        memcpy(X + (nz + 1) * r, hP + nz * r, nz * sizeof *X);
        X[(nz + 1) * r + nz] = e[r];
    }
    solve_dense(k, S, nz + 1, X);
    for (size_t r = 0; r < k; ++r)
        chi += e[r] * X[(nz + 1) * r + nz];
    for (size_t i = 0; i < nz; ++i)
        for (size_t r = 0; r < k; ++r) {
            z[i] += hP[nz * r + i] * X[(nz + 1) * r + nz];
            for (size_t j = 0; j < nz; ++j)
                prior[nz * i + j] -= hP[nz * r + i] * X[(nz + 1) * r + j];
        }
    free(S);
    free(hP);
    free(X);
    return chi;
}
/* z ~ N(mean, prior), but `flat` of them have no prior at all: their rows and columns of prior are
 * zero, and their columns of h are B.  Given y = h z + B a + N(0, R), a follows by generalised least
 * squares, B* S^-1 (e - B a) = 0, and z as before from e - B a. */
static double condition_flat(size_t nz, double *z, double *prior, size_t k, const double *h,
                             const double *R, const double *e, const bool *flat) {
    size_t n = 0, which[64];
    for (size_t j = 0; j < nz; ++j)
        if (flat[j]) which[n++] = j;
    double *before = room(nz * nz), *S = room(k * k), *X = room(k * (n + 1)), *N = room(n * n),
           *a = room(n * (n + 1)), *left = room(k), *P = room(nz * n);
    memcpy(before, prior, nz * nz * sizeof *before);
    for (size_t r = 0; r < k; ++r) {
        for (size_t c = 0; c < k; ++c) {
            S[k * r + c] = r == c ? R[r] : 0;
            for (size_t i = 0; i < nz; ++i)
                for (size_t j = 0; j < nz; ++j)
                    S[k * r + c] += h[nz * r + i] * prior[nz * i + j] * h[nz * c + j];
        }
        for (size_t c = 0; c < n; ++c)
            X[(n + 1) * r + c] = h[nz * r + which[c]];
        X[(n + 1) * r + n] = e[r];
    }
    solve_dense(k, S, n + 1, X);
    for (size_t c = 0; c < n; ++c) {
        for (size_t d = 0; d < n; ++d) {
            for (size_t r = 0; r < k; ++r)
                N[n * c + d] += h[nz * r + which[c]] * X[(n + 1) * r + d];
            a[(n + 1) * c + d] = c == d;
        }
        for (size_t r = 0; r < k; ++r)
            a[(n + 1) * c + n] += h[nz * r + which[c]] * X[(n + 1) * r + n];
    }
    solve_dense(n, N, n + 1, a); /* covariance of a, and a */
    for (size_t r = 0; r < k; ++r) {
        left[r] = e[r];
        for (size_t c = 0; c < n; ++c)
            left[r] -= h[nz * r + which[c]] * a[(n + 1) * c + n];
    }
    const double chi = condition(nz, z, prior, k, h, R, left);
    for (size_t i = 0; i < nz; ++i) /* d z / d a: 1 of its own, -prior h* S^-1 B of the others */
        for (size_t c = 0; c < n; ++c) {
            P[n * i + c] = i == which[c];
            for (size_t j = 0; j < nz; ++j)
                for (size_t r = 0; r < k; ++r)
                    P[n * i + c] -= before[nz * i + j] * h[nz * r + j] * X[(n + 1) * r + c];
        }
    for (size_t c = 0; c < n; ++c)
        z[which[c]] += a[(n + 1) * c + n];
    for (size_t i = 0; i < nz; ++i)
        for (size_t j = 0; j < nz; ++j)
            for (size_t c = 0; c < n; ++c)
                for (size_t d = 0; d < n; ++d)
                    prior[nz * i + j] += P[n * i + c] * a[(n + 1) * c + d] * P[n * j + d];
    free(before);
    free(S);
    free(X);
    free(N);
    free(a);
    free(left);
    free(P);
    return chi;
}
/* |S| |S^-1| in the largest entry, S = h prior h* + R scaled to a unit diagonal. */
static double amplification(size_t nz, const double *prior, size_t k, const double *h,
                            const double *R) {
    double *S = room(k * k), *I = room(k * k), most = 0;
    for (size_t r = 0; r < k; ++r)
        for (size_t c = 0; c < k; ++c) {
            S[k * r + c] = r == c ? R[r] : 0;
            for (size_t i = 0; i < nz; ++i)
                for (size_t j = 0; j < nz; ++j)
                    S[k * r + c] += h[nz * r + i] * prior[nz * i + j] * h[nz * c + j];
            I[k * r + c] = r == c ? sqrt(S[k * r + c]) : 0;
        }
    for (size_t r = 0; r < k; ++r)
        for (size_t c = 0; c < k; ++c)
            if (r != c) S[k * r + c] /= sqrt(S[(k + 1) * r] * S[(k + 1) * c]);
    for (size_t r = 0; r < k; ++r) {
        S[(k + 1) * r] = 1;
        I[(k + 1) * r] = 1;
    }
    solve_dense(k, S, k, I);
    for (size_t i = 0; i < k * k; ++i)
        if (!(fabs(I[i]) <= most)) most = fabs(I[i]);
    free(S);
    free(I);
    return most;
}
static judged judge(const bench *b) {
    judged o = {.nz = b->nv + 6 * (size_t)b->unknowns, .ny = output_count(b)};
    o.z = room(o.nz);
    o.cov = room(o.nz * o.nz);
    o.out = room(o.ny);
    o.T = room(o.ny * o.nz);
    double *moved = room(o.ny), *h = room(b->nv * o.nz), *e = room(b->nv), *R = room(b->nv),
           *M = room(b->nv * b->nv), *J = room(6 * b->nv);
    bool *flat = calloc(o.nz + 1, sizeof *flat);
    for (size_t j = 0; j < b->nv; ++j) {
        flat[j] = !(b->a_variance[j] < INFINITY);
        o.z[j] = flat[j] ? 0 : b->a[j];
        o.cov[(o.nz + 1) * j] = flat[j] ? 0 : b->a_variance[j];
    }
    for (int i = 0; i < b->unknowns; ++i)
        for (int r = 0; r < 6; ++r) {
            o.z[b->nv + (size_t)(6 * i + r)] = b->u[i].mean[r];
            for (int c = 0; c < 6; ++c)
                o.cov[o.nz * (b->nv + (size_t)(6 * i + r)) + b->nv + (size_t)(6 * i + c)] =
                    b->u[i].covariance[6 * r + c];
        }
    outputs(b, o.z, o.out);
    double *unit = room(o.nz);
    for (size_t c = 0; c < o.nz; ++c) { /* affine: differences are exact but for rounding */
        memcpy(unit, o.z, o.nz * sizeof *unit);
        unit[c] += 1;
        outputs(b, unit, moved);
        for (size_t r = 0; r < o.ny; ++r)
            o.T[o.nz * r + c] = moved[r] - o.out[r];
    }
    free(unit);
    OK(soa_crba(b->m, b->other, b->q, M));
    OK(soa_kinematics(b->m, b->other, b->q, NULL, NULL));
    for (size_t r = 0; r < b->nv; ++r) {
        memcpy(h + o.nz * r, M + b->nv * r, b->nv * sizeof *h);
        e[r] = b->tau[r] - o.out[r];
    }
    for (int i = 0; i < b->unknowns; ++i) {
        OK(soa_jacobian(b->m, b->other, b->u[i].frame, b->u[i].axes, J));
        for (size_t r = 0; r < b->nv; ++r)
            for (size_t k = 0; k < 6; ++k)
                h[o.nz * r + b->nv + 6 * (size_t)i + k] = -J[b->nv * k + r];
    }
    size_t k = 0; /* torques that are not measured are left out */
    for (size_t r = 0; r < b->nv; ++r) {
        if (!(b->tau_variance[r] < INFINITY)) continue;
        memmove(h + o.nz * k, h + o.nz * r, o.nz * sizeof *h);
        e[k] = e[r];
        R[k++] = b->tau_variance[r];
    }
    for (size_t r = b->nv; r < o.ny; ++r) {
        double variance = 0;
        for (size_t i = 0; i < o.nz; ++i)
            for (size_t j = 0; j < o.nz; ++j)
                variance += o.T[o.nz * r + i] * o.cov[o.nz * i + j] * o.T[o.nz * r + j];
        if (r < b->nv + 6 * b->nb) o.force_before = fmax(o.force_before, variance);
        if (r >= b->nv + 12 * b->nb) o.wrench_before = fmax(o.wrench_before, variance);
    }
    o.amplifies = amplification(o.nz, o.cov, k, h, R);
    o.chi_square = condition_flat(o.nz, o.z, o.cov, k, h, R, e, flat);
    outputs(b, o.z, o.out);
    free(moved);
    free(flat);
    free(h);
    free(e);
    free(R);
    free(M);
    free(J);
    return o;
}
static void free_judged(judged *o) {
    free(o->z);
    free(o->cov);
    free(o->out);
    free(o->T);
}
/* Covariance of n outputs from number `at`. */
static void output_covariance(const judged *o, size_t at, size_t n, double *out) {
    double *TC = room(n * o->nz);
    for (size_t r = 0; r < n; ++r)
        for (size_t j = 0; j < o->nz; ++j)
            for (size_t k = 0; k < o->nz; ++k)
                TC[o->nz * r + j] += o->T[o->nz * (at + r) + k] * o->cov[o->nz * k + j];
    for (size_t r = 0; r < n; ++r)
        for (size_t c = 0; c < n; ++c) {
            out[n * r + c] = 0;
            for (size_t j = 0; j < o->nz; ++j)
                out[n * r + c] += TC[o->nz * r + j] * o->T[o->nz * (at + c) + j];
        }
    free(TC);
}
enum { ACCELERATION, TORQUE, FORCE, LAMBDA, WRENCH, UNKNOWN, CHI, KINDS };
static const char *const kind_names[KINDS] = {
    "joint acceleration", "joint torque",       "force through the joint",
    "body acceleration",  "wrench on the body", "unknown wrench, in its frame",
    "chi-square",
};
/* Error against the largest entry of its kind in the whole machine: cancellation in one body is
 * rounding of the others. */
typedef struct record {
    double error, size;
} record;
static void compare(record *r, const double *got, const double *want, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (!(fabs(got[i] - want[i]) <= r->error)) r->error = fabs(got[i] - want[i]);
        if (fabs(want[i]) > r->size) r->size = fabs(want[i]);
    }
}
static void compare_with_judge(const bench *b, const judged *o, worst_case mean[KINDS],
                               worst_case cov[KINDS], double chi_square) {
    record m[KINDS] = {{0}}, c[KINDS] = {{0}};
    for (int i = 1; i <= (int)b->nb; ++i) {
        soa_body_info info;
        soa_estimate s;
        double C[36];
        OK(soa_model_body(b->m, i, &info));
        OK(soa_estimator_read(b->e, i, &s));
        assert_int_equal(s.nv, info.nv);
        const size_t nv = (size_t)s.nv, iv = (size_t)info.v_index, at = b->nv + 6 * (size_t)(i - 1);
        compare(m + ACCELERATION, s.acceleration, o->z + iv, nv);
        for (size_t r = 0; r < nv; ++r)
            for (size_t k = 0; k < nv; ++k)
                C[nv * r + k] = o->cov[o->nz * (iv + r) + iv + k];
        compare(c + ACCELERATION, s.acceleration_covariance, C, nv * nv);
        compare(m + TORQUE, s.torque, o->out + iv, nv);
        output_covariance(o, iv, nv, C);
        compare(c + TORQUE, s.torque_covariance, C, nv * nv);
        for (size_t r = 0; r < nv; ++r) /* against what was not known before */
            if (s.innovation_covariance[(nv + 1) * r] < INFINITY)
                c[TORQUE].size = fmax(c[TORQUE].size, s.innovation_covariance[(nv + 1) * r]);
        compare(m + FORCE, s.force, o->out + at, 6);
        output_covariance(o, at, 6, C);
        compare(c + FORCE, s.force_covariance, C, 36);
        c[FORCE].size = fmax(c[FORCE].size, o->force_before);
        compare(m + LAMBDA, s.lambda, o->out + at + 6 * b->nb, 6);
        output_covariance(o, at + 6 * b->nb, 6, C);
        compare(c + LAMBDA, s.lambda_covariance, C, 36);
        compare(m + WRENCH, s.wrench, o->out + at + 12 * b->nb, 6);
        output_covariance(o, at + 12 * b->nb, 6, C);
        compare(c + WRENCH, s.wrench_covariance, C, 36);
    }
    for (int i = 0; i < b->unknowns; ++i) {
        double f[6], C[36], want[36];
        const size_t at = b->nv + 6 * (size_t)i;
        OK(soa_estimator_wrench(b->e, b->u + i, f, C));
        compare(m + UNKNOWN, f, o->z + at, 6);
        for (size_t j = 0; j < 36; ++j)
            want[j] = o->cov[o->nz * (at + j / 6) + at + j % 6];
        compare(c + UNKNOWN, C, want, 36);
    }
    compare(m + CHI, &chi_square, &o->chi_square, 1);
    c[WRENCH].size = fmax(c[WRENCH].size, o->wrench_before);
    c[UNKNOWN].size = fmax(c[UNKNOWN].size, o->wrench_before);
    for (int k = 0; k < KINDS; ++k) {
        note(mean + k, m[k].error / fmax(m[k].size, 1e-3), b->seed);
        if (k != CHI) note(cov + k, c[k].error / fmax(c[k].size, 1e-3), b->seed);
    }
}
static void conclude_kinds(worst_case mean[KINDS], worst_case cov[KINDS], double tolerance) {
    char text[96];
    for (int k = 0; k < KINDS; ++k) {
        conclude(kind_names[k], mean + k, tolerance);
        if (k == CHI) continue;
        snprintf(text, sizeof text, "%s, covariance", kind_names[k]);
        conclude(text, cov + k, tolerance);
    }
}

/* ---- finite variances, some exact, some torques not measured --------------------------------- */
static void equals_dense_least_squares(void **state) {
    (void)state;
    worst_case mean[KINDS] = {{0}}, cov[KINDS] = {{0}};
    int done = 0;
    for (long seed = first_seed(); done < TREES; ++seed) {
        const soa_model *m = random_model(seed & 1 ? "random" : "random-ideal", seed);
        if (!m) continue;
        bench b = prepare(m, seed);
        dice d = {(uint64_t)seed};
        for (size_t j = 0; j < b.nv; ++j) {
            if (roll(&d, 0, 1) < 0.2) b.a_variance[j] = 0;
            if (roll(&d, 0, 1) < 0.2) b.tau_variance[j] = INFINITY;
        }
        soa_estimator_result result;
        const soa_estimator_input in = input_of(&b);
        OK(soa_estimator_update(b.e, b.w, &in, &result));
        judged o = judge(&b);
        if (o.amplifies < WELL_POSED) {
            compare_with_judge(&b, &o, mean, cov, result.chi_square);
            ++done;
        }
        free_judged(&o);
        close_bench(&b);
    }
    conclude_kinds(mean, cov, 1e-10);
}
/* Exact torques (R = 0), accelerations with errors. */
static void exact_torques_leave_no_error(void **state) {
    (void)state;
    worst_case mean[KINDS] = {{0}}, cov[KINDS] = {{0}}, torque = {0};
    int done = 0;
    for (long seed = first_seed(); done < TREES / 2; ++seed) {
        const soa_model *m = random_model("random-ideal", seed);
        if (!m) continue;
        bench b = prepare(m, seed);
        memset(b.tau_variance, 0, b.nv * sizeof *b.tau_variance);
        soa_estimator_result result;
        const soa_estimator_input in = input_of(&b);
        OK(soa_estimator_update(b.e, b.w, &in, &result));
        judged o = judge(&b);
        if (o.amplifies < WELL_POSED) {
            compare_with_judge(&b, &o, mean, cov, result.chi_square);
            ++done;
        }
        for (int i = 1; i <= (int)b.nb; ++i) {
            soa_estimate s;
            soa_body_info info;
            OK(soa_model_body(b.m, i, &info));
            OK(soa_estimator_read(b.e, i, &s));
            note(&torque, relative(s.torque, b.tau + info.v_index, (size_t)s.nv), seed);
        }
        free_judged(&o);
        close_bench(&b);
    }
    conclude_kinds(mean, cov, 1e-9);
    conclude("exact torques are reproduced", &torque, 1e-9);
}
static void accelerations_not_measured(void **state) {
    (void)state;
    worst_case mean[KINDS] = {{0}}, cov[KINDS] = {{0}};
    int done = 0;
    for (long seed = first_seed(); done < TREES / 2; ++seed) {
        const soa_model *m = random_model("random-ideal", seed);
        if (!m) continue;
        bench b = prepare(m, seed);
        dice d = {(uint64_t)seed};
        soa_estimator_result result;
        for (size_t j = 0; j < b.nv; ++j) {
            if (roll(&d, 0, 1) > 0.4) continue;
            b.a_variance[j] = INFINITY;
            b.a[j] = NAN; /* is not read */
        }
        const soa_estimator_input in = input_of(&b);
        OK(soa_estimator_update(b.e, b.w, &in, &result));
        int unknown = 0;
        for (size_t j = 0; j < b.nv; ++j)
            unknown += !(b.a_variance[j] < INFINITY);
        assert_int_equal(result.degrees, (int)b.nv - unknown);
        judged o = judge(&b);
        if (o.amplifies < WELL_POSED) {
            compare_with_judge(&b, &o, mean, cov, result.chi_square);
            ++done;
        }
        free_judged(&o);
        close_bench(&b);
    }
    conclude_kinds(mean, cov, 1e-9);
}

/* ---- without noise it is soa_aba, with Q = M soa_smoother ------------------------------------ */
static void without_noise_it_is_forward_dynamics(void **state) {
    (void)state;
    worst_case a = {0}, x = {0}, lambda = {0}, none = {0};
    static const char *const named[] = {"puma560", "arm7", "satellite", "quadruped", "chain:300"};
    int done = 0;
    for (long seed = first_seed(); done < TREES; ++seed) {
        const int own = done < (int)(sizeof named / sizeof *named);
        const soa_model *m = own ? stock(named[done], 0) : random_model("random", seed);
        if (!m) continue;
        bench b = prepare(m, seed);
        double *qdd = room(b.nv), *got = room(b.nv), *tau = room(b.nv);
        OK(soa_aba(b.m, b.other, b.q, b.v, b.tau, b.f, 2, qdd));
        OK(soa_smoother(b.m, b.w, b.q, b.v, b.tau, b.f, 2));
        OK(soa_rnea(b.m, b.other, b.q, b.v, qdd, b.f, 2, tau));
        const soa_estimator_input in = {
            .q = b.q, .v = b.v, .tau = b.tau, .wrenches = b.f, .wrench_count = 2};
        soa_estimator_result result;
        OK(soa_estimator_update(b.e, b.other, &in, &result));
        assert_int_equal(result.degrees, 0);
        note(&none, result.chi_square, seed);
        record rx = {0}, rl = {0};
        for (int i = 1; i <= (int)b.nb; ++i) {
            soa_estimate s;
            soa_smoothed r;
            soa_body_info info;
            const double zero[36] = {0};
            OK(soa_model_body(b.m, i, &info));
            OK(soa_estimator_read(b.e, i, &s));
            OK(soa_smoother_read(b.m, b.w, i, &r));
            memcpy(got + info.v_index, s.acceleration, (size_t)s.nv * sizeof *got);
            compare(&rx, s.force, r.x_minus, 6);
            compare(&rl, s.lambda, r.lambda_minus, 6);
            note(&none, relative(s.acceleration_covariance, zero, (size_t)(s.nv * s.nv)), seed);
            note(&none, relative(s.force_covariance, zero, 36), seed);
            note(&none, relative(s.wrench_covariance, zero, 36), seed);
            note(&none, relative(s.lambda_covariance, zero, 36), seed);
        }
        note(&a, relative(got, qdd, b.nv), seed);
        note(&x, rx.error / fmax(rx.size, 1e-3), seed);
        note(&lambda, rl.error / fmax(rl.size, 1e-3), seed);
        free(qdd);
        free(got);
        free(tau);
        close_bench(&b);
        ++done;
    }
    conclude("no noise: joint accelerations of soa_aba", &a, 1e-9);
    conclude("no noise: forces of soa_smoother", &x, 1e-9);
    conclude("no noise: costates of soa_smoother", &lambda, 1e-9);
    conclude("no noise: no covariance, no chi-square", &none, 1e-9);
}
/* R87's own model: w(k) of covariance M(k), mean b(k); here minus the wrench, at rest without
 * gravity.  Reflected rotors are inertia to the estimator and noise to R87: the models have none. */
static void with_inertia_as_covariance_it_is_the_smoother(void **state) {
    (void)state;
    enum { ACCEL, STATE, STATE_COV, INNOVATION, D_OF, NOISE, COUNT };
    static const char *const names[COUNT] = {
        "Q = M: D'Alembert force M lambda = -wrench",
        "Q = M: smoothed state x",
        "Q = M: S = P - P Delta P",
        "Q = M: innovations",
        "Q = M: innovation covariance D",
        "Q = M: chi-square = e' D^-1 e",
    };
    worst_case w[COUNT] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + TREES / 2; ++seed) {
        char name[64];
        const double none[3] = {0};
        const soa_model *m;
        snprintf(name, sizeof name, "random-ideal:%ld", seed);
        const soa_model *heavy = stock(name, 1);
        OK(soa_model_with_gravity(heavy, none, &m));
        soa_model_free(heavy);
        bench b = prepare(m, seed);
        double *pi = room(10 * b.nb), *zero = room(b.nv);
        soa_unknown_wrench *u = calloc(b.nb, sizeof *u);
        OK(soa_model_inertial_parameters(b.m, pi));
        for (int i = 1; i <= (int)b.nb; ++i) {
            soa_body_info info;
            const double *p = pi + 10 * (i - 1), *h = p + 1, *I = p + 4;
            const double M[36] = {I[0], I[3], I[4],  0,    -h[2], h[1], /**/ I[3], I[1], I[5],
                                  h[2], 0,    -h[0], I[4], I[5],  I[2], -h[1],     h[0], 0,
                                  0,    h[2], -h[1], p[0], 0,     0,    -h[2],     0,    h[0],
                                  0,    p[0], 0,     h[1], -h[0], 0,    0,         0,    p[0]};
            OK(soa_model_body(b.m, i, &info));
            u[i - 1] = (soa_unknown_wrench){.frame = info.frame, .axes = SOA_AXES_BODY};
            memcpy(u[i - 1].covariance, M, sizeof M);
        }
        OK(soa_smoother(b.m, b.w, b.q, NULL, b.tau, NULL, 0));
        const soa_estimator_input in = {
            .q = b.q, .tau = b.tau, .a_variance = zero, .unknowns = u, .unknown_count = (int)b.nb};
        soa_estimator_result result;
        OK(soa_estimator_update(b.e, b.other, &in, &result));
        record r[COUNT] = {{0}};
        double chi = 0;
        for (int i = 1; i <= (int)b.nb; ++i) {
            soa_estimate s;
            soa_smoothed k;
            double S[36], Ml[6] = {0};
            OK(soa_estimator_read(b.e, i, &s));
            OK(soa_smoother_read(b.m, b.w, i, &k));
            OK(soa_smoother_covariance(b.m, b.w, i, NULL, NULL, S));
            for (int c = 0; c < 36; ++c)
                Ml[c / 6] -= u[i - 1].covariance[c] * k.lambda_minus[c % 6];
            compare(r + ACCEL, s.wrench, Ml, 6);
            compare(r + STATE, s.force, k.x_minus, 6);
            compare(r + STATE_COV, s.force_covariance, S, 36);
            r[STATE_COV].size = fmax(r[STATE_COV].size, fabs(k.P_minus[35]));
            compare(r + INNOVATION, s.innovation, k.innovation, (size_t)s.nv);
            compare(r + D_OF, s.innovation_covariance, k.D, (size_t)(s.nv * s.nv));
            for (int c = 0; c < k.nv; ++c)
                chi += k.innovation[c] * k.residual[c];
        }
        compare(r + NOISE, &result.chi_square, &chi, 1);
        assert_int_equal(result.degrees, (int)b.nv);
        for (int c = 0; c < COUNT; ++c)
            note(w + c, r[c].error / fmax(r[c].size, 1e-3), seed);
        free(pi);
        free(zero);
        free(u);
        close_bench(&b);
    }
    for (int c = 0; c < COUNT; ++c)
        conclude(names[c], w + c, 1e-9);
}

/* ---- Monte Carlo ----------------------------------------------------------------------------- */
static double gauss(dice *d) {
    const double u = roll(d, 1e-16, 1), x = roll(d, 0, 1);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * x);
}
typedef struct moments {
    double sum, square;
    long n;
} moments;
static void take(moments *m, double x) {
    m->sum += x;
    m->square += x * x;
    ++m->n;
}
/* Deviation of the mean from `mean`, and of the variance from `variance`, in their own standard
 * deviations; fourth: E (x - mean)^4 / variance^2. */
static double of_mean(const moments *m, double mean, double variance) {
    return (m->sum / (double)m->n - mean) / sqrt(variance / (double)m->n);
}
static double of_variance(const moments *m, double mean, double variance, double fourth) {
    const double n = (double)m->n, got = m->square / n - 2 * mean * m->sum / n + mean * mean;
    return (got / variance - 1) / sqrt((fourth - 1) / n);
}
enum { SAMPLES = 20000, MOST_DOF = 16 };
/* Largest deviation allowed: a normal number is above it once in 10^7. */
#define DEVIATION 5.4
typedef struct sums {
    moments chi, error, innovation[MOST_DOF], cross;
} sums;
static void draw(bench *b, const double *mean_a, dice *d, sums *t, const double *scale) {
    double a[MOST_DOF], f[6];
    soa_wrench all[3];
    soa_estimator_result result;
    soa_estimate s;
    for (size_t j = 0; j < b->nv; ++j) {
        a[j] = mean_a[j];
        b->a[j] = a[j] + sqrt(b->a_variance[j]) * gauss(d);
    }
    for (int k = 0; k < 6; ++k)
        f[k] = b->u[0].mean[k] + sqrt(b->u[0].covariance[7 * k]) * gauss(d);
    memcpy(all, b->f, sizeof b->f);
    all[2] = (soa_wrench){.frame = b->u[0].frame, .axes = b->u[0].axes};
    memcpy(all[2].value, f, sizeof f);
    OK(soa_rnea(b->m, b->other, b->q, b->v, a, all, 3, b->tau));
    for (size_t j = 0; j < b->nv; ++j)
        b->tau[j] += sqrt(b->tau_variance[j] * scale[0]) * gauss(d);
    const soa_estimator_input in = input_of(b);
    OK(soa_estimator_update(b->e, b->w, &in, &result));
    assert_int_equal(result.degrees, (int)b->nv);
    take(&t->chi, result.chi_square);
    double value[6], C[36], x[6], last = 0;
    OK(soa_estimator_wrench(b->e, b->u, value, C));
    for (int k = 0; k < 6; ++k)
        x[k] = value[k] - f[k];
    memcpy(value, x, sizeof x);
    solve_dense(6, C, 1, x);
    double nees = 0;
    for (int k = 0; k < 6; ++k)
        nees += value[k] * x[k];
    take(&t->error, nees);
    for (int i = 1; i <= (int)b->nb; ++i) {
        OK(soa_estimator_read(b->e, i, &s));
        assert_int_equal(s.nv, 1);
        const double e = s.innovation[0] / sqrt(s.innovation_covariance[0]);
        take(&t->innovation[i - 1], e);
        if (i > 1) take(&t->cross, e * last);
        last = e;
    }
}
static void report(const char *what, double u, double bound, double *worst) {
    if (!(fabs(u) <= *worst)) *worst = fabs(u);
    printf("  %-58s %+.2f standard deviations, allowed %.1f\n", what, u, bound);
}
/* exact: joint accelerations without error, so that innovations are R87's and white. */
static void sample(const char *name, int exact, long seed) {
    bench b = prepare(stock(name, 0), seed);
    dice d = {(uint64_t)seed * 977 + (uint64_t)exact};
    double mean_a[MOST_DOF], worst = 0;
    sums right = {0}, wrong = {0};
    assert_true(b.nv <= MOST_DOF && b.nb == b.nv);
    memcpy(mean_a, b.a, b.nv * sizeof *mean_a);
    soa_body_info last;
    OK(soa_model_body(b.m, (int)b.nb, &last));
    b.unknowns = 1;
    b.u[0].frame = last.frame;
    memset(b.u[0].covariance, 0, sizeof b.u[0].covariance);
    for (int k = 0; k < 6; ++k)
        b.u[0].covariance[7 * k] = k < 3 ? 1 : 25;
    for (size_t j = 0; j < b.nv; ++j)
        if (exact) b.a_variance[j] = 0;
    for (int i = 0; i < SAMPLES; ++i)
        draw(&b, mean_a, &d, &right, &(double){1});
    const double nv = (double)b.nv;
    printf(" %s, accelerations %s\n", name, exact ? "exact" : "measured with errors");
    report("chi-square, mean = degrees", of_mean(&right.chi, nv, 2 * nv), DEVIATION, &worst);
    report("chi-square, variance = 2 degrees", of_variance(&right.chi, nv, 2 * nv, 3 + 12 / nv),
           DEVIATION, &worst);
    report("wrench error' C^-1 error, mean = 6", of_mean(&right.error, 6, 12), DEVIATION, &worst);
    report("wrench error' C^-1 error, variance = 12", of_variance(&right.error, 6, 12, 5),
           DEVIATION, &worst);
    for (size_t j = 0; exact && j < b.nv; ++j) {
        report("normalised innovation, mean 0", of_mean(&right.innovation[j], 0, 1), DEVIATION,
               &worst);
        report("normalised innovation, variance 1", of_variance(&right.innovation[j], 0, 1, 3),
               DEVIATION, &worst);
    }
    if (exact)
        report("product of neighbouring innovations, mean 0", of_mean(&right.cross, 0, 1),
               DEVIATION, &worst);
    assert_true(worst <= DEVIATION);
    /* noise 1.1 times what the estimator was told must be noticed */
    for (int i = 0; i < SAMPLES; ++i)
        draw(&b, mean_a, &d, &wrong, &(double){1.21});
    const double noticed = of_mean(&wrong.chi, nv, 2 * nv);
    printf("  %-58s %+.2f standard deviations, at least %.1f\n",
           "noise 1.1 times as large: mean of chi-square", noticed, DEVIATION);
    if (exact) assert_true(noticed > DEVIATION);
    close_bench(&b);
}
static void monte_carlo(void **state) {
    (void)state;
    sample("arm7", 1, first_seed());
    sample("arm7", 0, first_seed() + 1);
    sample("puma560", 1, first_seed() + 2);
    sample("puma560", 0, first_seed() + 3);
}

/* ---- what is refused ------------------------------------------------------------------------- */
static void bad_calls(void **state) {
    (void)state;
    bench b = prepare(stock("arm7", 0), first_seed());
    soa_estimate s;
    double f[6];
    OK(soa_estimator_update(b.e, b.w, &(soa_estimator_input){0}, NULL));
    OK(soa_estimator_read(b.e, 1, &s));
    assert_int_equal(soa_estimator_read(b.e, 0, &s), SOA_E_ARGUMENT);
    assert_int_equal(soa_estimator_read(b.e, 8, &s), SOA_E_ARGUMENT);
    soa_estimator_input in = input_of(&b);
    b.tau_variance[3] = -1;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_estimator_failed_body(b.e), 4);
    OK(soa_estimator_read(b.e, 1, &s)); /* a refused call leaves the last estimate */
    b.tau_variance[3] = NAN;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_ARGUMENT);
    b.tau_variance[3] = 1;
    b.tau[2] = NAN;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_NOT_FINITE);
    assert_int_equal(soa_estimator_failed_body(b.e), 3);
    b.tau_variance[2] = INFINITY; /* not measured: not read */
    OK(soa_estimator_update(b.e, b.w, &in, NULL));
    b.u[0].covariance[1] += 1;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_estimator_wrench(b.e, b.u, f, NULL), SOA_E_ARGUMENT);
    b.u[0].covariance[1] -= 1;
    for (int k = 0; k < 6; ++k) /* not positive semi-definite */
        b.u[0].covariance[6 + k] = b.u[0].covariance[6 * k + 1] = k == 1 ? 1e-3 : 100;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_ARGUMENT);
    b.u[0].frame = 0;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_ARGUMENT);
    close_bench(&b);
    const soa_model *m = stock("arm7", 0);
    soa_estimator *e;
    double memory[8];
    assert_int_equal(soa_estimator_init(m, memory, sizeof memory, &e), SOA_E_MEMORY);
    assert_int_equal(soa_estimator_init(m, NULL, 0, &e), SOA_E_MEMORY);
    OK(soa_estimator_create(m, &e));
    assert_int_equal(soa_estimator_read(e, 1, &s), SOA_E_ORDER);
    soa_estimator_free(e);
    soa_model_free(m);
}
/* A force of three unknown components and seven exact torques: the fourth of them from the tip is
 * determined twice.  A joint of which nothing is measured is not determined. */
static void what_is_determined_twice_or_never_is_refused(void **state) {
    (void)state;
    bench b = prepare(stock("arm7", 0), first_seed());
    soa_body_info last;
    OK(soa_model_body(b.m, 7, &last));
    b.unknowns = 1;
    b.u[0].frame = last.frame;
    memset(b.u[0].covariance, 0, sizeof b.u[0].covariance);
    for (int k = 3; k < 6; ++k)
        b.u[0].covariance[7 * k] = 1;
    memset(b.tau_variance, 0, 7 * sizeof *b.tau_variance);
    memset(b.a_variance, 0, 7 * sizeof *b.a_variance);
    const soa_estimator_input in = input_of(&b);
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_SINGULAR);
    assert_true(soa_estimator_failed_body(b.e) >= 3 && soa_estimator_failed_body(b.e) <= 7);
    soa_estimate s;
    assert_int_equal(soa_estimator_read(b.e, 1, &s), SOA_E_ORDER);
    for (int j = 0; j < 7; ++j)
        b.tau_variance[j] = 1e-6;
    OK(soa_estimator_update(b.e, b.w, &in, NULL));
    b.tau_variance[4] = b.a_variance[4] = INFINITY;
    OK(soa_estimator_update(b.e, b.w, &in, NULL)); /* joints 6 and 7 feel how 5 accelerates */
    b.tau_variance[6] = b.a_variance[6] = INFINITY;
    assert_int_equal(soa_estimator_update(b.e, b.w, &in, NULL), SOA_E_SINGULAR);
    assert_int_equal(soa_estimator_failed_body(b.e), 7);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_dense_least_squares),
        cmocka_unit_test(exact_torques_leave_no_error),
        cmocka_unit_test(accelerations_not_measured),
        cmocka_unit_test(without_noise_it_is_forward_dynamics),
        cmocka_unit_test(with_inertia_as_covariance_it_is_the_smoother),
        cmocka_unit_test(monte_carlo),
        cmocka_unit_test(bad_calls),
        cmocka_unit_test(what_is_determined_twice_or_never_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
