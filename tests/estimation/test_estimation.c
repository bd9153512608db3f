/* test_estimation.c  the machine as a stochastic system: R87 section IX, RK88-I section 4, exactly
 * and by Monte Carlo.
 *
 * A tip-to-base system driven by white noise w(k) of covariance M(k),
 *     x(k) = sum over children of phi x + w(k),     y(k) = H(k) x(k) + noise(k),
 * has the mass matrix as the covariance of y. soa_smoother, with y as torques, is its Kalman filter
 * and Bryson-Frazier smoother. R87 has no measurement noise; here its covariance is the reflected
 * rotor inertia, if a joint has one. The mean b(k) of w(k) is given as wrenches. On trees "white"
 * means: innovations of any two joints are uncorrelated.
 *
 * Monte Carlo. SAMPLES draws estimate a covariance C entry by entry: c_ij = sum x_i x_j / n. For
 * Gaussian x
 *     var c_ij = (C_ii C_jj + C_ij^2) / n,
 * so u = (c_ij - C_ij) / sqrt(var) is close to a standard normal number. Over all m entries
 * compared in this program P(max |u| > t) <= m erfc(t / sqrt 2); t is chosen to make that 1e-4, and
 * the seed is fixed (SOA_SEED=n for others).
 *
 * A covariance wrong by a factor s moves u of a diagonal entry by (1/s - 1) sqrt(n/2), plus or
 * minus 1/s. It must be refused with a margin of 5 above t (5.8 for the 11,000 entries here), even
 * if only one entry is wrong and chance reduces it by 5 deviations. For s = 1.1 this needs (1 -
 * 1/1.1) sqrt(n/2) > 5.8 + 5 + 5/1.1, n > 57,000. The largest |u| with covariances 1.1 and 0.9
 * times as large is computed from the same samples and checked to be above t + 5. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"

enum { SAMPLES = 60000, MOST_BODIES = 16, MOST_DOF = 24 };
#define OK(call) assert_int_equal(call, SOA_OK)

/* ---- machines -------------------------------------------------------------------------------- */
static const char *const arms[] = {"arm7", "puma560", "random-ideal:21", "quadruped", "satellite"};
enum { ARMS = sizeof arms / sizeof *arms };

typedef struct bench {
    const soa_model *m;
    soa_work *w;
    soa_machine *machine;
    int nv, nb;
    double q[64], root[MOST_BODIES + 1][36]; /* M(k) = root root' */
    double noise[MOST_DOF];                  /* standard deviation of the measurement noise */
    soa_frame X[MOST_BODIES + 1];            /* body in its parent */
    int parent[MOST_BODIES + 1], iv[MOST_BODIES + 1];
    soa_smoothed s[MOST_BODIES + 1]; /* at y = 0: P, D, G, H do not depend on y */
    double S[MOST_BODIES + 1][36], Dm[MOST_BODIES + 1][36], Dp[MOST_BODIES + 1][36];
    double b[MOST_BODIES + 1][6]; /* mean of w(k) */
    soa_wrench push[MOST_BODIES];
} bench;

/* A = L L' for a positive semi-definite A: zero pivots give zero columns. */
static void root_of(int n, const double *A, double *L) {
    double d = 0;
    for (int i = 0; i < n * n; ++i)
        L[i] = 0;
    for (int i = 0; i < n; ++i)
        d = fmax(d, A[(n + 1) * i]);
    for (int j = 0; j < n; ++j) {
        double pivot = A[(n + 1) * j];
        for (int m = 0; m < j; ++m)
            pivot -= L[n * j + m] * L[n * j + m];
        if (!(pivot > 1e-13 * d)) continue;
        L[(n + 1) * j] = sqrt(pivot);
        for (int i = j + 1; i < n; ++i) {
            double x = A[n * i + j];
            for (int m = 0; m < j; ++m)
                x -= L[n * i + m] * L[n * j + m];
            L[n * i + j] = x / L[(n + 1) * j];
        }
    }
}
static void rigid(const double *pi, double M[36]) {
    const double m = pi[0], *h = pi + 1, *I = pi + 4;
    const double A[6][6] = {{I[0], I[3], I[4], 0, -h[2], h[1]}, {I[3], I[1], I[5], h[2], 0, -h[0]},
                            {I[4], I[5], I[2], -h[1], h[0], 0}, {0, h[2], -h[1], m, 0, 0},
                            {-h[2], 0, h[0], 0, m, 0},          {h[1], -h[0], 0, 0, 0, m}};
    memcpy(M, A, sizeof A);
}
static bench open_bench(const char *name, long seed) {
    bench b = {0};
    const soa_model *heavy = NULL;
    soa_report report;
    const double none[3] = {0};
    double pi[10 * MOST_BODIES], step[MOST_DOF], M[36];
    if (soa_stock_model_create(name, NULL, &heavy, &report)) fail_msg("%s: %s", name, report.text);
    OK(soa_model_with_gravity(heavy, none, &b.m));
    soa_model_free(heavy);
    b.nv = soa_model_nv(b.m);
    b.nb = soa_model_body_count(b.m);
    assert_true(b.nb <= MOST_BODIES && b.nv <= MOST_DOF && soa_model_nq(b.m) <= 64);
    OK(soa_work_create(b.m, &b.w));
    OK(soa_machine_create(b.m, NULL, 0, &b.machine, &report));
    dice d = {(uint64_t)seed * 17 + 1};
    soa_q_neutral(b.m, b.q);
    roll_many(&d, -1, 1, (size_t)b.nv, step);
    OK(soa_q_integrate(b.m, b.q, step, 1, b.q));
    OK(soa_model_inertial_parameters(b.m, pi));
    OK(soa_kinematics(b.m, b.w, b.q, NULL, NULL));
    for (int i = 1; i <= b.nb; ++i) {
        soa_body_info info, carrier;
        soa_frame F, C = soa_frame_identity();
        OK(soa_model_body(b.m, i, &info));
        OK(soa_pose(b.m, b.w, info.frame, &F));
        if (info.parent) {
            OK(soa_model_body(b.m, info.parent, &carrier));
            OK(soa_pose(b.m, b.w, carrier.frame, &C));
        }
        C = soa_frame_inverse(&C);
        b.X[i] = soa_frame_compose(&C, &F);
        b.parent[i] = info.parent;
        b.iv[i] = info.v_index;
        rigid(pi + 10 * (i - 1), M);
        root_of(6, M, b.root[i]);
        for (int c = 0; c < info.nv; ++c)
            b.noise[info.v_index + c] = fabs(info.gear_ratio) * sqrt(info.rotor_inertia);
        roll_many(&d, -1, 1, 6, b.b[i]);
        b.push[i - 1] = (soa_wrench){.frame = info.frame, .axes = SOA_AXES_BODY};
        for (int c = 0; c < 6; ++c)
            b.push[i - 1].value[c] = -b.b[i][c];
    }
    OK(soa_smoother(b.m, b.w, b.q, NULL, NULL, NULL, 0));
    for (int i = 1; i <= b.nb; ++i) {
        OK(soa_smoother_read(b.m, b.w, i, b.s + i));
        OK(soa_smoother_covariance(b.m, b.w, i, b.Dp[i], b.Dm[i], b.S[i]));
    }
    OK(soa_machine_set_state(b.machine, b.q, NULL, NULL, NULL, NULL, NULL, 0));
    return b;
}
static void close_bench(bench *b) {
    soa_machine_free(b->machine);
    soa_work_free(b->w);
    soa_model_free(b->m);
}

/* ---- the same covariances exactly, by dense matrices ----------------------------------------- */
static double *dense(bench *b, const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    double *x = calloc((size_t)soa_machine_space_size(b->machine, soa_expr_codomain(e)) *
                               (size_t)soa_machine_space_size(b->machine, soa_expr_domain(e)) +
                           1,
                       sizeof *x);
    OK(soa_machine_dense_matrix(b->machine, e, x));
    soa_expr_free(e);
    return x;
}
static void diagonal_block(const double *A, int nb, int body, double out[36]) {
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            out[6 * r + c] =
                A[(size_t)(6 * body - 6 + r) * (size_t)(6 * nb) + (size_t)(6 * body - 6 + c)];
}
/* P - P Delta P */
static void smoothed_by(const double P[36], const double Delta[36], double out[36]) {
    double T[36];
    for (int i = 0; i < 36; ++i) {
        T[i] = 0;
        for (int k = 0; k < 6; ++k)
            T[i] += P[6 * (i / 6) + k] * Delta[6 * k + i % 6];
    }
    for (int i = 0; i < 36; ++i) {
        out[i] = P[i];
        for (int k = 0; k < 6; ++k)
            out[i] -= T[6 * (i / 6) + k] * P[6 * k + i % 6];
    }
}
/* Differences of inertias cancel: their errors count against the inertia itself. */
static double against(const double *got, const double *want, const double *scale, size_t n) {
    double size = 1e-3, worst = 0;
    for (size_t i = 0; i < n; ++i)
        size = fmax(size, fabs(scale[i]));
    for (size_t i = 0; i < n; ++i)
        worst = !(fabs(got[i] - want[i]) <= worst) ? fabs(got[i] - want[i]) : worst;
    return worst / size;
}
/* E e- e-' of all joints, block diagonal: n x n with n = nv */
static void innovation_covariance(const bench *b, double *D) {
    const int nv = b->nv;
    memset(D, 0, (size_t)(nv * nv) * sizeof *D);
    for (int i = 1; i <= b->nb; ++i)
        for (int r = 0; r < b->s[i].nv; ++r)
            for (int c = 0; c < b->s[i].nv; ++c)
                D[nv * (b->iv[i] + r) + b->iv[i] + c] = b->s[i].D[b->s[i].nv * r + c];
}

enum { Y, WHITE, INNOVATION, PREDICTED, FILTERED, COSTATE, SMOOTHED, SIDES, OMEGA, COUNT };
static const char *const covariance_names[COUNT] = {
    "RK88-I (4.1), (4.2) E y y' = H phi M phi' H' = mass",
    "RK88-I (4.12) to (4.15) (I - H psi K) whitens y",
    "R87 (57) E e- e-' = D",
    "R87 (56) E (x - z-)(x - z-)' = P-",
    "R87 (58) E (x - z+)(x - z+)' = P+",
    "R87 (66) E lambda lambda' = Delta-",
    "R87 (64), (65) E (x - xhat)(x - xhat)' = S = P - P Delta P",
    "R87 (65) P- - P- Delta- P- = P+ - P+ Delta+ P+",
    "R87 (81), (82) Delta = RJK91 (20) Omega = J M^-1 J'",
};
static void compare_outputs(bench *b, worst_case *w, long seed) {
    const size_t n = (size_t)b->nv;
    double *y = dense(b, "Mass"), *white = dense(b, "(I - H psi K) Mass (I - H psi K)'"),
           *mass = calloc(n * n, sizeof *mass), *D = calloc(n * n, sizeof *D);
    OK(soa_crba(b->m, b->w, b->q, mass));
    note(w + Y, relative(y, mass, n * n), seed);
    innovation_covariance(b, D);
    note(w + WHITE, relative(white, D, n * n), seed);
    free(y);
    free(white);
    free(mass);
    free(D);
}
/* E e- e-' = H P H' + noise, P the dense covariance of the predicted error */
static void compare_innovation(const bench *b, int i, const double P[36], worst_case *w,
                               long seed) {
    const soa_smoothed *s = b->s + i;
    for (int r = 0; r < s->nv; ++r)
        for (int c = 0; c < s->nv; ++c) {
            const double sd = b->noise[b->iv[i] + r];
            double x = r == c ? sd * sd : 0;
            for (int p = 0; p < 36; ++p)
                x += s->H[6 * r + p / 6] * P[p] * s->H[6 * c + p % 6];
            note(w + INNOVATION, fabs(x - s->D[s->nv * r + c]) / fmax(1e-3, fabs(s->D[0])), seed);
        }
}
/* x - z+ = (I - G H)(x - z-) - G noise, its covariance from that P */
static void compare_filtered(const bench *b, int i, const double P[36], worst_case *w, long seed) {
    const soa_smoothed *s = b->s + i;
    double F[36], FP[36], want[36];
    for (int p = 0; p < 36; ++p) {
        F[p] = p % 7 == 0;
        for (int r = 0; r < s->nv; ++r)
            F[p] -= s->gain[s->nv * (p / 6) + r] * s->H[6 * r + p % 6];
    }
    for (int p = 0; p < 36; ++p) {
        FP[p] = 0;
        for (int m = 0; m < 6; ++m)
            FP[p] += F[6 * (p / 6) + m] * P[6 * m + p % 6];
    }
    for (int p = 0; p < 36; ++p) {
        want[p] = 0;
        for (int m = 0; m < 6; ++m)
            want[p] += FP[6 * (p / 6) + m] * F[6 * (p % 6) + m];
        for (int r = 0; r < s->nv; ++r)
            want[p] += s->gain[s->nv * (p / 6) + r] * s->gain[s->nv * (p % 6) + r] *
                       b->noise[b->iv[i] + r] * b->noise[b->iv[i] + r];
    }
    note(w + FILTERED, against(s->P_plus, want, s->P_minus, 36), seed);
}
static void compare_filter(bench *b, worst_case *w, long seed) {
    double *predicted = dense(b, "psi (M + K Jr K') psi'"), P[36];
    for (int i = 1; i <= b->nb; ++i) {
        diagonal_block(predicted, b->nb, i, P);
        note(w + PREDICTED, relative(b->s[i].P_minus, P, 36), seed);
        compare_innovation(b, i, P, w, seed);
        compare_filtered(b, i, P, w, seed);
    }
    free(predicted);
}
/* Of all states, given all outputs: phi M phi' - (phi M phi' H' mass^-1) H phi M phi' */
static double *smoothed_covariance(bench *b, const double *total) {
    const size_t n = (size_t)b->nv, links = 6 * (size_t)b->nb;
    double *gain = dense(b, "phi M phi' H' inv(Mass)"), *cross = dense(b, "H phi M phi'"),
           *smooth = calloc(links * links, sizeof *smooth);
    for (size_t r = 0; r < links; ++r)
        for (size_t c = 0; c < links; ++c) {
            double x = total[links * r + c];
            for (size_t j = 0; j < n; ++j)
                x -= gain[n * r + j] * cross[links * j + c];
            smooth[links * r + c] = x;
        }
    free(gain);
    free(cross);
    return smooth;
}
static void compare_smoother(bench *b, worst_case *w, long seed) {
    double *costate = dense(b, "psi' H' inv(D) H psi"), *total = dense(b, "phi M phi'"),
           *smooth = smoothed_covariance(b, total), block[36], scale[36], minus[36], plus[36];
    for (int i = 1; i <= b->nb; ++i) {
        const soa_smoothed *s = b->s + i;
        diagonal_block(costate, b->nb, i, block);
        note(w + COSTATE, relative(b->Dm[i], block, 36), seed);
        diagonal_block(smooth, b->nb, i, block);
        diagonal_block(total, b->nb, i, scale);
        note(w + SMOOTHED, against(b->S[i], block, scale, 36), seed);
        smoothed_by(s->P_minus, b->Dm[i], minus);
        smoothed_by(s->P_plus, b->Dp[i], plus);
        note(w + SIDES, against(minus, plus, s->P_minus, 36), seed);
    }
    free(costate);
    free(total);
    free(smooth);
}
/* Delta- of body i = J M^-1 J' with the Jacobian of its frame */
static void compare_omega(bench *b, worst_case *w, long seed) {
    const size_t n = (size_t)b->nv;
    double *inverse = calloc(n * n, sizeof *inverse), *J = calloc(6 * n, sizeof *J), omega[36];
    OK(soa_minv(b->m, b->w, b->q, inverse));
    OK(soa_kinematics(b->m, b->w, b->q, NULL, NULL));
    for (int i = 1; i <= b->nb; ++i) {
        soa_body_info info;
        OK(soa_model_body(b->m, i, &info));
        OK(soa_jacobian(b->m, b->w, info.frame, SOA_AXES_BODY, J));
        for (int p = 0; p < 36; ++p) {
            omega[p] = 0;
            for (size_t r = 0; r < n; ++r)
                for (size_t c = 0; c < n; ++c)
                    omega[p] += J[n * (size_t)(p / 6) + r] * inverse[n * r + c] *
                                J[n * (size_t)(p % 6) + c];
        }
        note(w + OMEGA, relative(b->Dm[i], omega, 36), seed);
    }
    free(inverse);
    free(J);
}
/* Of the random trees only those that fit the arrays of a bench. */
static int fits(const char *name) {
    const soa_model *probe = NULL;
    OK(soa_stock_model_create(name, NULL, &probe, NULL));
    const int small = soa_model_body_count(probe) <= MOST_BODIES && soa_model_nv(probe) <= MOST_DOF;
    soa_model_free(probe);
    return small;
}
static void exact_covariances(void **state) {
    (void)state;
    worst_case w[COUNT] = {{0}};
    for (int k = 0; k < ARMS + 6; ++k) {
        const long seed = first_seed() + k;
        char random[40];
        snprintf(random, sizeof random, "random-ideal:%d", 20 + k);
        const char *name = k < ARMS ? arms[k] : random;
        if (!fits(name)) continue;
        bench b = open_bench(name, seed);
        compare_outputs(&b, w, seed);
        compare_filter(&b, w, seed);
        compare_smoother(&b, w, seed);
        compare_omega(&b, w, seed);
        close_bench(&b);
    }
    for (int i = 0; i < COUNT; ++i)
        conclude(covariance_names[i], w + i, 1e-11);
}

/* Innovations: ours are R87 (40) and FD4, which is FD1's value plus H P phi' a.  FO00's are ours
 * less H P a. */
static void three_values(void **state) {
    (void)state;
    worst_case w = {0}, apart = {0};
    for (int k = 0; k < ARMS; ++k) {
        const soa_model *m = NULL;
        soa_machine *machine;
        soa_work *work;
        const soa_read_options ideal = {.ideal = true};
        OK(soa_stock_model_create(arms[k], &ideal, &m, NULL));
        OK(soa_machine_create(m, NULL, 0, &machine, NULL));
        OK(soa_work_create(m, &work));
        const size_t n = (size_t)soa_model_nv(m);
        double *q = calloc((size_t)soa_model_nq(m), 8), *v = calloc(n, 8), *tau = calloc(n, 8),
               *e = calloc(n, 8);
        dice d = {(uint64_t)(first_seed() + k) * 7};
        soa_q_neutral(m, q);
        roll_many(&d, -1, 1, n, v);
        OK(soa_q_integrate(m, q, v, 1, q));
        roll_many(&d, -1, 1, n, v);
        roll_many(&d, -1, 1, n, tau);
        OK(soa_machine_set_state(machine, q, v, NULL, tau, NULL, NULL, 0));
        OK(soa_smoother(m, work, q, v, tau, NULL, 0));
        for (int i = 1; i <= soa_model_body_count(m); ++i) {
            soa_smoothed s;
            soa_body_info info;
            OK(soa_smoother_read(m, work, i, &s));
            OK(soa_model_body(m, i, &info));
            memcpy(e + info.v_index, s.innovation, (size_t)s.nv * sizeof *e);
        }
        bench b = {.machine = machine};
        /* a holds gravity at the roots; there our filter leaves it to the smoother: a - E g */
        double *fd1 = dense(&b, "(I - H psi K) (T - H phi (M phi' a + b))"),
               *more = dense(&b, "H P phi' a");
        double *sum = calloc(n, 8);
        for (size_t j = 0; j < n; ++j)
            sum[j] = fd1[j] + more[j];
        note(&w, relative(e, sum, n), first_seed() + k);
        note(&apart, 1 / relative(e, fd1, n), first_seed() + k);
        free(q);
        free(v);
        free(tau);
        free(e);
        free(fd1);
        free(more);
        free(sum);
        soa_machine_free(machine);
        soa_work_free(work);
        soa_model_free(m);
    }
    conclude("innovations: R87 (40) = FD1's + H P phi' a", &w, 1e-11);
    conclude("  and differ from FD1's (1 / difference)", &apart, 1e4);
}

/* ---- Monte Carlo ----------------------------------------------------------------------------- */
static double gauss(dice *d) { /* Box and Muller, one of the pair */
    return sqrt(-2 * log(1 - roll(d, 0, 1))) * cos(6.283185307179586 * roll(d, 0, 1));
}

/* What is compared, by name. */
enum {
    OUTPUT,
    MODEL,
    WHITENESS,
    MEAN,
    PREDICTION,
    PREDICTION_PAST,
    UPDATE,
    UPDATE_PAST,
    COSTATES,
    SMOOTHING,
    SMOOTHING_DATA,
    CHECKS
};
static const char *const check_names[CHECKS] = {
    "RK88-I (4.1), (4.2) output covariance = mass matrix",
    "RK88-I (4.12), (4.13) innovations model: mass matrix",
    "R87 (57), RK88-I (4.15) innovations white, covariance D",
    "R87 (53), (55) innovations of mean zero, w of mean b",
    "R87 (56) predicted error covariance P-",
    "R87 (54) predicted error has nothing to do with the past",
    "R87 (58) filtered error covariance P+",
    "R87 (59) nor the filtered one with past and present",
    "R87 (66) costate covariance Delta-",
    "R87 (64), (65) smoothed error covariance S = P - P Delta P",
    "R87 (60) smoothed error has nothing to do with the data",
};
typedef struct verdict {
    double worst, wrong; /* largest |u|; smallest of the largest |u| for covariances 1.1 and 0.9
                          * times as large */
    long entries;
} verdict;
static verdict verdicts[CHECKS];

/* The largest |u| of an n x m table of sums of products against its expectation C (NULL: zero), for
 * variables with variances A (n) and B (m).  Variables without variance (below 1e-9 of `size`) must
 * have none in the sample. */
static double deviation(int n, int m, const double *sums, const double *C, double factor,
                        const double *A, const double *size_a, const double *B,
                        const double *size_b, long *entries) {
    double worst = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            const double c = sums[m * i + j] / SAMPLES, want = C ? factor * C[m * i + j] : 0;
            const int still = !(A[i] > 1e-9 * size_a[i]) || !(B[j] > 1e-9 * size_b[j]);
            const double var = (factor * factor * A[i] * B[j] + want * want) / SAMPLES;
            double u;
            if (still) {
                u = fabs(c) <= 1e-8 * sqrt(size_a[i] * size_b[j]) + 1e-12 ? 0 : 1e9;
            } else {
                u = fabs(c - want) / sqrt(var);
            }
            if (!(u <= worst)) worst = u;
            if (entries) ++*entries;
        }
    return worst;
}
static void diagonal(int n, const double *C, double *d) {
    for (int i = 0; i < n; ++i)
        d[i] = C[(n + 1) * i];
}
/* A covariance: also what a wrong factor would have given. */
static void judge(int which, int n, const double *sums, const double *C, const double *size_of) {
    double A[MOST_DOF + 6], size[MOST_DOF + 6];
    diagonal(n, C, A);
    diagonal(n, size_of, size);
    const double u = deviation(n, n, sums, C, 1, A, size, A, size, &verdicts[which].entries);
    if (!(u <= verdicts[which].worst)) verdicts[which].worst = u;
    double most = 0;
    for (int i = 0; i < n; ++i)
        most = fmax(most, A[i] > 1e-9 * size[i] ? 1 : 0);
    if (most == 0) return; /* nothing varies: no factor to be wrong */
    for (int f = 0; f < 2; ++f) {
        const double bad = deviation(n, n, sums, C, f ? 1.1 : 0.9, A, size, A, size, NULL);
        if (verdicts[which].wrong == 0 || bad < verdicts[which].wrong) verdicts[which].wrong = bad;
    }
}
/* Two sets of variables that should have no correlation. */
static void judge_cross(int which, int n, int m, const double *sums, const double *CA,
                        const double *size_a, const double *CB, int stride_b,
                        const double *size_b) {
    double A[6], sa[6], B[MOST_DOF], sb[MOST_DOF];
    diagonal(n, CA, A);
    diagonal(n, size_a, sa);
    for (int j = 0; j < m; ++j) {
        B[j] = CB[(stride_b + 1) * j];
        sb[j] = size_b[(stride_b + 1) * j];
    }
    const double u = deviation(n, m, sums, NULL, 1, A, sa, B, sb, &verdicts[which].entries);
    if (!(u <= verdicts[which].worst)) verdicts[which].worst = u;
}
static void gather(int n, int m, const double *a, const double *b, double *sums) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            sums[m * i + j] += a[i] * b[j];
}
static int outboard(const bench *b, int j, int k) { /* j is k or a descendant of k */
    while (j > k)
        j = b->parent[j];
    return j == k;
}

/* Sums of products over all samples of one machine. */
typedef struct sums {
    double output[MOST_DOF * MOST_DOF], model[MOST_DOF * MOST_DOF];
    double innovation[MOST_DOF * MOST_DOF], mean[MOST_DOF];
    double predicted[MOST_BODIES + 1][36], filtered[MOST_BODIES + 1][36];
    double costate[MOST_BODIES + 1][36], smoothed[MOST_BODIES + 1][36];
    /* errors with measurements: the predicted, the filtered, the smoothed one's */
    double past[MOST_BODIES + 1][6 * MOST_DOF], present[MOST_BODIES + 1][6 * MOST_DOF];
    double data[MOST_BODIES + 1][6 * MOST_DOF];
} sums;
/* E y = H phi b, (4.3) with b for w */
static void expected_output(const bench *b, double expected[MOST_DOF]) {
    double x[MOST_BODIES + 1][6] = {{0}}, up[6];
    for (int i = b->nb; i >= 1; --i) {
        for (int c = 0; c < 6; ++c)
            x[i][c] += b->b[i][c];
        for (int r = 0; r < b->s[i].nv; ++r)
            for (int c = 0; c < 6; ++c)
                expected[b->iv[i] + r] += b->s[i].H[6 * r + c] * x[i][c];
        soa_frame_force_to_parent(&b->X[i], x[i], up);
        for (int c = 0; c < 6; ++c)
            x[b->parent[i]][c] += up[c];
    }
}

/* One draw of the system: its states, its output and the output of the innovations model. */
typedef struct draw {
    double x[MOST_BODIES + 1][6], y[MOST_DOF];
    double zhat[MOST_BODIES + 1][6], innovated[MOST_DOF];
} draw;
/* x(k) = sum phi x + w(k), y(k) = H x + noise            RK88-I (4.3), R87 (52) */
static void draw_body(const bench *b, int i, dice *d, draw *one) {
    const soa_smoothed *s = b->s + i;
    double *x = one->x[i], *y = one->y + b->iv[i], xi[6], up[6];
    for (int c = 0; c < 6; ++c)
        xi[c] = gauss(d);
    for (int r = 0; r < 6; ++r) {
        x[r] += b->b[i][r];
        for (int c = 0; c <= r; ++c)
            x[r] += b->root[i][6 * r + c] * xi[c];
    }
    for (int r = 0; r < s->nv; ++r) {
        for (int c = 0; c < 6; ++c)
            y[r] += s->H[6 * r + c] * x[c];
        y[r] += b->noise[b->iv[i] + r] * gauss(d);
    }
    soa_frame_force_to_parent(&b->X[i], x, up);
    for (int c = 0; c < 6; ++c)
        one->x[b->parent[i]][c] += up[c];
}
/* The innovations model, from its own noise: y = H zhat + eps, zhat <- phi (zhat + G eps) (4.13).
 * Droot is the root of D(i). */
static void draw_innovation(const bench *b, int i, const double Droot[36], dice *d, draw *one) {
    const soa_smoothed *s = b->s + i;
    double *zhat = one->zhat[i], *innovated = one->innovated + b->iv[i], xi[6], eps[6], up[6];
    for (int r = 0; r < s->nv; ++r)
        xi[r] = gauss(d);
    for (int r = 0; r < s->nv; ++r) {
        eps[r] = 0;
        for (int c = 0; c <= r; ++c)
            eps[r] += Droot[s->nv * r + c] * xi[c];
        innovated[r] = eps[r];
        for (int c = 0; c < 6; ++c)
            innovated[r] += s->H[6 * r + c] * zhat[c];
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < s->nv; ++c)
            zhat[r] += s->gain[s->nv * r + c] * eps[c];
    soa_frame_force_to_parent(&b->X[i], zhat, up);
    for (int c = 0; c < 6; ++c)
        one->zhat[b->parent[i]][c] += up[c];
}
/* The filter and the smoother on one draw: their errors, and what they are compared with. */
static void filter_draw(bench *b, const draw *one, const double expected[MOST_DOF], sums *t) {
    static soa_smoothed s[MOST_BODIES + 1];
    const int nv = b->nv;
    double e[MOST_DOF], centred[MOST_DOF];
    OK(soa_smoother(b->m, b->w, b->q, NULL, one->y, b->push, b->nb));
    for (int i = 1; i <= b->nb; ++i) {
        OK(soa_smoother_read(b->m, b->w, i, s + i));
        memcpy(e + b->iv[i], s[i].innovation, (size_t)s[i].nv * sizeof *e);
    }
    for (int j = 0; j < nv; ++j) {
        centred[j] = one->y[j] - expected[j];
        t->mean[j] += e[j];
    }
    gather(nv, nv, centred, centred, t->output);
    gather(nv, nv, one->innovated, one->innovated, t->model);
    gather(nv, nv, e, e, t->innovation);
    for (int i = 1; i <= b->nb; ++i) {
        double predicted[6], filtered[6], smoothed[6];
        for (int c = 0; c < 6; ++c) {
            predicted[c] = one->x[i][c] - s[i].z_minus[c];
            filtered[c] = one->x[i][c] - s[i].z_plus[c];
            smoothed[c] = one->x[i][c] - s[i].x_minus[c]; /* xhat = z + P lambda (61) */
        }
        gather(6, 6, predicted, predicted, t->predicted[i]);
        gather(6, 6, filtered, filtered, t->filtered[i]);
        gather(6, 6, s[i].lambda_minus, s[i].lambda_minus, t->costate[i]);
        gather(6, 6, smoothed, smoothed, t->smoothed[i]);
        gather(6, nv, predicted, centred, t->past[i]);
        gather(6, nv, filtered, centred, t->present[i]);
        gather(6, nv, smoothed, centred, t->data[i]);
    }
}

/* A mean has variance D / n. */
static void judge_mean(int nv, const double *mean, const double *D) {
    const double count = SAMPLES;
    for (int j = 0; j < nv; ++j) {
        const double u = fabs(mean[j] / count) / sqrt(D[(nv + 1) * j] / count);
        if (!(u <= verdicts[MEAN].worst)) verdicts[MEAN].worst = u;
        ++verdicts[MEAN].entries;
    }
}
/* Columns first .. first + m - 1 of a table of six rows. */
static void columns(const double *table, int nv, int first, int m, double out[36]) {
    for (int r = 0; r < 6 * m; ++r)
        out[r] = table[nv * (r / m) + first + r % m];
}
/* Errors of body i are uncorrelated with the measurements outboard of its joint; the filtered error
 * also with that of the joint. */
static void judge_outboard(const bench *b, int i, const double *mass, const sums *t) {
    const soa_smoothed *s = b->s + i;
    const int nv = b->nv;
    for (int j = i; j <= b->nb; ++j) {
        double few[36];
        const int m = b->s[j].nv, first = b->iv[j];
        if (!outboard(b, j, i)) continue;
        const double *at = mass + (nv + 1) * first;
        columns(t->present[i], nv, first, m, few);
        judge_cross(UPDATE_PAST, 6, m, few, s->P_plus, s->P_minus, at, nv, at);
        if (j == i) continue;
        columns(t->past[i], nv, first, m, few);
        judge_cross(PREDICTION_PAST, 6, m, few, s->P_minus, s->P_minus, at, nv, at);
    }
}
static void judge_machine(bench *b, const sums *t) {
    const int nv = b->nv;
    double mass[MOST_DOF * MOST_DOF], D[MOST_DOF * MOST_DOF];
    OK(soa_crba(b->m, b->w, b->q, mass));
    innovation_covariance(b, D);
    judge(OUTPUT, nv, t->output, mass, mass);
    judge(MODEL, nv, t->model, mass, mass);
    judge(WHITENESS, nv, t->innovation, D, D);
    judge_mean(nv, t->mean, D);
    for (int i = 1; i <= b->nb; ++i) {
        const soa_smoothed *s = b->s + i;
        judge(PREDICTION, 6, t->predicted[i], s->P_minus, s->P_minus);
        judge(UPDATE, 6, t->filtered[i], s->P_plus, s->P_minus);
        judge(COSTATES, 6, t->costate[i], b->Dm[i], b->Dm[i]);
        judge(SMOOTHING, 6, t->smoothed[i], b->S[i], s->P_minus);
        judge_cross(SMOOTHING_DATA, 6, nv, t->data[i], b->S[i], s->P_minus, mass, nv, mass);
        judge_outboard(b, i, mass, t);
    }
}
static void sample_machine(const char *name, long seed) {
    static sums t;
    bench b = open_bench(name, seed);
    double expected[MOST_DOF] = {0}, Droot[MOST_BODIES + 1][36];
    memset(&t, 0, sizeof t);
    expected_output(&b, expected);
    for (int i = 1; i <= b.nb; ++i)
        root_of(b.s[i].nv, b.s[i].D, Droot[i]);
    dice d = {(uint64_t)seed * 1000003};
    for (long n = 0; n < SAMPLES; ++n) {
        draw one = {0};
        for (int i = b.nb; i >= 1; --i) {
            draw_body(&b, i, &d, &one);
            draw_innovation(&b, i, Droot[i], &d, &one);
        }
        filter_draw(&b, &one, expected, &t);
    }
    judge_machine(&b, &t);
    close_bench(&b);
}

static void monte_carlo(void **state) {
    (void)state;
    static const char *const machines[] = {"arm7", "puma560", "random-ideal:33", "quadruped"};
    long entries = 0;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i)
        sample_machine(machines[i], first_seed() + (long)i);
    for (int c = 0; c < CHECKS; ++c)
        entries += verdicts[c].entries;
    double low = 0, high = 20; /* entries erfc(t / sqrt 2) = 1e-4 */
    while (high - low > 1e-6) {
        const double t = (low + high) / 2;
        if ((double)entries * erfc(t / sqrt(2)) > 1e-4)
            low = t;
        else
            high = t;
    }
    printf("  seed %ld, %d samples, %ld entries: all within %.2f standard deviations but once in "
           "10,000 seeds\n",
           first_seed(), SAMPLES, entries, high);
    for (int c = 0; c < CHECKS; ++c) {
        printf("  %-58s largest deviation %.2f of %ld", check_names[c], verdicts[c].worst,
               verdicts[c].entries);
        if (verdicts[c].wrong > 0)
            printf("; a factor 1.1 or 0.9 would give %.1f", verdicts[c].wrong);
        printf("\n");
        assert_true(verdicts[c].entries > 0);
        assert_true(verdicts[c].worst <= high);
        if (c == OUTPUT || c == MODEL || c == WHITENESS || c == PREDICTION || c == UPDATE ||
            c == COSTATES || c == SMOOTHING)
            assert_true(verdicts[c].wrong > high + 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact_covariances),
                                       cmocka_unit_test(three_values),
                                       cmocka_unit_test(monte_carlo)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
