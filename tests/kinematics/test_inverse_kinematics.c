/* test_inverse_kinematics.c  J J*, J*J and its inverse by recursion (RJK91 section 2), and inverse
 * kinematics with them.
 *
 * References: products of soa_jacobian's matrices, A times the result of soa_jtj_inverse_mul, and,
 * for inverse kinematics, the poses from soa_kinematics at the answer. SOA_SEED chooses other trees
 * and poses. */
#include "check.h"
#include "soa/forms.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <time.h>

#define OK(call) assert_int_equal(call, SOA_OK)

static double *zeros(size_t n) {
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}
static const soa_model *stock(const char *name) {
    const soa_model *m;
    OK(soa_stock_model_create(name, NULL, &m, NULL));
    return m;
}
/* A q within limits: angles without any anywhere, sliding and turning joints without any near
 * zero. */
static void random_q(const soa_model *m, dice *d, double *q) {
    double *v = zeros((size_t)soa_model_nv(m));
    for (int j = 0; j < soa_model_nv(m); ++j)
        v[j] = roll(d, -0.5, 0.5);
    soa_q_neutral(m, q);
    OK(soa_q_integrate(m, q, v, 1, q));
    for (int i = 1; i <= soa_model_body_count(m); ++i) {
        soa_body_info b;
        OK(soa_model_body(m, i, &b));
        for (int c = 0; b.type == SOA_REVOLUTE && c < b.nq; ++c)
            q[b.q_index + c] =
                roll(d, b.lower > -4 ? b.lower : -3.14, b.upper < 4 ? b.upper : 3.14);
    }
    free(v);
}
static int has_mimic(const soa_model *m) {
    soa_body_info info;
    for (int i = 1; i <= soa_model_body_count(m); ++i)
        if (soa_model_body(m, i, &info) == SOA_OK && info.mimic >= 0) return 1;
    return 0;
}

/* --- the products ----------------------------------------------------------------------------- */
static void products(void **unused) {
    (void)unused;
    worst_case outer = {0}, inner = {0}, solved = {0}, inverted = {0};
    static const char *const names[] = {"puma560",   "arm7",     "satellite",
                                        "quadruped", "humanoid", "chain:30"};
    enum { NAMED = 6, TREES = 80, TIPS = 4 };
    for (int k = 0; k < NAMED + TREES; ++k) {
        char name[40];
        const long seed = first_seed() + k;
        snprintf(name, sizeof name, "random:%ld", seed);
        const soa_model *m = stock(k < NAMED ? names[k] : name);
        soa_work *w;
        soa_tip_work *t;
        OK(soa_work_create(m, &w));
        OK(soa_tip_work_create(m, &t));
        const size_t n = (size_t)soa_model_nv(m), rows = 6 * TIPS;
        dice d = {(uint64_t)seed * 31};
        int frames[TIPS];
        soa_tip tips[TIPS];
        for (int f = 0; f < TIPS; ++f) { /* the first may be the world's: its rows are zero */
            frames[f] = (int)roll(&d, 0, soa_model_frame_count(m) - 1e-9);
            tips[f] =
                (soa_tip){frames[f], f == 1 ? 0 : roll(&d, 0.1, 2), f == 2 ? 0 : roll(&d, 0.1, 2)};
        }
        double *q = zeros((size_t)soa_model_nq(m)), *J = zeros(rows * n), *A = zeros(rows * rows),
               *B = zeros(rows * rows), *S = zeros(n * n), *T = zeros(n * n), *x = zeros(n),
               *y = zeros(n), *z = zeros(n);
        random_q(m, &d, q);
        for (int axes = 0; axes < 2; ++axes) {
            OK(soa_kinematics(m, w, q, NULL, NULL));
            for (int f = 0; f < TIPS; ++f)
                OK(soa_jacobian(m, w, frames[f], (soa_axes)axes, J + 6 * (size_t)f * n));
            for (size_t r = 0; r < rows; ++r)
                for (size_t c = 0; c < rows; ++c) {
                    B[rows * r + c] = 0;
                    for (size_t j = 0; j < n; ++j)
                        B[rows * r + c] += J[n * r + j] * J[n * c + j];
                }
            OK(soa_jjt(m, w, q, frames, TIPS, (soa_axes)axes, A));
            note(&outer, relative(A, B, rows * rows), seed);
        }
        const double damping = roll(&d, 0.01, 0.3);
        for (size_t r = 0; r < n; ++r)
            for (size_t c = 0; c < n; ++c) {
                T[n * r + c] = r == c ? damping * damping : 0;
                for (size_t i = 0; i < rows; ++i) {
                    const double weight = i % 6 < 3 ? tips[i / 6].angular : tips[i / 6].linear;
                    T[n * r + c] += weight * weight * J[n * i + r] * J[n * i + c];
                }
            }
        OK(soa_jtj(m, t, q, tips, TIPS, damping, S));
        note(&inner, relative(S, T, n * n), seed);

        roll_many(&d, -1, 1, n, x);
        OK(soa_jtj_inverse_mul(m, t, q, tips, TIPS, damping, x, y));
        double size = 0;
        for (size_t r = 0; r < n; ++r) {
            z[r] = -x[r];
            for (size_t c = 0; c < n; ++c) {
                z[r] += T[n * r + c] * y[c];
                size = fmax(size, fabs(T[n * r + c] * y[c]));
            }
        }
        double worst = 0;
        for (size_t r = 0; r < n; ++r)
            if (!(fabs(z[r]) <= worst)) worst = fabs(z[r]);
        note(&solved, worst / size, seed);
        OK(soa_jtj_inverse(m, t, q, tips, TIPS, damping, S));
        for (size_t r = 0; r < n; ++r) {
            z[r] = 0;
            for (size_t c = 0; c < n; ++c)
                z[r] += S[n * r + c] * x[c];
        }
        note(&inverted, relative(z, y, n), seed);
        free(q);
        free(J);
        free(A);
        free(B);
        free(S);
        free(T);
        free(x);
        free(y);
        free(z);
        soa_tip_work_free(t);
        soa_work_free(w);
        soa_model_free(m);
    }
    conclude("J J* by the recursion = product of Jacobians", &outer, 1e-12);
    conclude("J*W^2 J + damping by composite balls = product", &inner, 1e-12);
    conclude("A (A^-1 x) = x (over |A| |A^-1 x|)", &solved, 1e-12);
    conclude("A^-1 as a matrix = applied", &inverted, 1e-9);
}

/* Without damping, where it exists; a status where it does not. */
static void undamped(void **unused) {
    (void)unused;
    worst_case exists = {0};
    for (long seed = first_seed(); seed < first_seed() + 200; ++seed) {
        const int two = seed % 2 != 0;
        const soa_model *m = stock(two ? "chain:12" : "puma560");
        soa_tip_work *t;
        OK(soa_tip_work_create(m, &t));
        dice d = {(uint64_t)seed * 77};
        double q[12], x[12], y[12], z[12], A[144];
        const size_t n = (size_t)soa_model_nv(m);
        soa_body_info six, twelve;
        soa_model_body(m, 6, &six);
        soa_model_body(m, (int)n, &twelve);
        const soa_tip tips[2] = {{twelve.frame, 1, 1}, {six.frame, 1, 1}};
        random_q(m, &d, q);
        roll_many(&d, -1, 1, n, x);
        if (!two) {
            q[4] = roll(&d, 0.3, 1.5);
            q[2] = roll(&d, 0.2, 1); /* away from the PUMA's singular poses */
        }
        const soa_status s = soa_jtj_inverse_mul(m, t, q, tips, 1 + two, 0, x, y);
        /* a chain's random pose may be as good as singular */
        assert_true(s == SOA_OK || (two && s == SOA_E_SINGULAR));
        if (s == SOA_OK) {
            OK(soa_jtj(m, t, q, tips, 1 + two, 0, A));
            for (size_t r = 0; r < n; ++r) {
                z[r] = 0;
                for (size_t c = 0; c < n; ++c)
                    z[r] += A[n * r + c] * y[c];
            }
            note(&exists, relative(z, x, n), seed);
        }
        soa_tip_work_free(t);
        soa_model_free(m);
    }
    conclude("J*J y = x without damping, 6 joints and 12 with two tips", &exists, 1e-6);
    assert_true(exists.count > 150);

    static const struct {
        const char *name;
        double q[7];                                           /* at the start of q */
    } lost[] = {{"arm7", {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}}, /* seven joints, six rows */
                /* wrist straight: axes 4 and 6 in line */
                {"puma560", {0.3, 0.4, 0.5, 0.6, 0, 0.8}},
                {"chain:30", {0.3, 0.4, 0.5}},
                {"satellite", {0, 0, 0, 1}},
                {"quadruped", {0, 0, 0, 1}}};
    for (size_t k = 0; k < sizeof lost / sizeof *lost; ++k) {
        const soa_model *m = stock(lost[k].name);
        soa_tip_work *t;
        OK(soa_tip_work_create(m, &t));
        const size_t n = (size_t)soa_model_nv(m);
        double *q = zeros((size_t)soa_model_nq(m)), *x = zeros(n), *y = zeros(n), *A = zeros(n * n);
        dice d = {77};
        roll_many(&d, -1, 1, n, x);
        soa_q_neutral(m, q);
        memcpy(q, lost[k].q, (size_t)(soa_model_nq(m) < 7 ? soa_model_nq(m) : 7) * sizeof *q);
        for (size_t j = 0; j < n; ++j)
            y[j] = 7;
        soa_body_info last;
        soa_model_body(m, soa_model_body_count(m), &last);
        const soa_tip tip = {last.frame, 1, 1};
        assert_int_equal(soa_jtj_inverse_mul(m, t, q, &tip, 1, 0, x, y), SOA_E_SINGULAR);
        assert_int_equal(soa_jtj_inverse(m, t, q, &tip, 1, 0, A), SOA_E_SINGULAR);
        assert_true(soa_tip_work_failed_body(t) >= 1);
        for (size_t j = 0; j < n; ++j)
            assert_true(y[j] == 7);
        OK(soa_jtj_inverse_mul(m, t, q, &tip, 1, 1e-3, x, y)); /* damping makes it regular */
        free(q);
        free(x);
        free(y);
        free(A);
        soa_tip_work_free(t);
        soa_model_free(m);
    }
}

static double seconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at); /* others may be at work here */
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}
static void linear_time(void **unused) {
    (void)unused;
    for (int n = 100; n <= 10000; n *= 10) {
        char name[40];
        snprintf(name, sizeof name, "chain:%d", n);
        const soa_model *m = stock(name);
        soa_tip_work *t;
        soa_work *w;
        OK(soa_tip_work_create(m, &t));
        OK(soa_work_create(m, &w));
        double *x = zeros((size_t)n), *y = zeros((size_t)n), JJt[36], best[2] = {1e9, 1e9};
        soa_body_info last;
        soa_model_body(m, n, &last);
        const soa_tip tip = {last.frame, 1, 1};
        x[n - 1] = 1;
        for (int k = 0; k < 5; ++k) {
            const double from = seconds();
            OK(soa_jtj_inverse_mul(m, t, NULL, &tip, 1, 0.1, x, y));
            const double mid = seconds();
            OK(soa_jjt(m, w, NULL, &last.frame, 1, SOA_AXES_WORLD, JJt));
            best[0] = fmin(best[0], mid - from);
            best[1] = fmin(best[1], seconds() - mid);
        }
        printf("  chain of %5d: (J*J + damping)^-1 x %.0f ns a joint, J J* %.0f ns a joint\n", n,
               best[0] * 1e9 / n, best[1] * 1e9 / n);
        free(x);
        free(y);
        soa_tip_work_free(t);
        soa_work_free(w);
        soa_model_free(m);
    }
}

/* --- inverse kinematics ----------------------------------------------------------------------- */
static double residual_of(const soa_model *m, soa_work *w, const double *q, const soa_ik_target *g,
                          int count) {
    double sum = 0;
    OK(soa_kinematics(m, w, q, NULL, NULL));
    for (int k = 0; k < count; ++k) {
        soa_frame at;
        OK(soa_pose(m, w, g[k].tip.frame, &at));
        double trace = 0, apart = 0; /* |R - R_target|^2 = 4 (1 - cos) = 8 sin^2(angle / 2) */
        for (int j = 0; j < 9; ++j)
            trace += (at.R[j] - g[k].pose.R[j]) * (at.R[j] - g[k].pose.R[j]);
        for (int j = 0; j < 3; ++j)
            apart += (at.p[j] - g[k].pose.p[j]) * (at.p[j] - g[k].pose.p[j]);
        const double angle = 2 * asin(fmin(1, sqrt(trace / 8)));
        if (g[k].tip.angular > 0) sum += g[k].tip.angular * g[k].tip.angular * angle * angle;
        sum += g[k].tip.linear * g[k].tip.linear * apart;
    }
    return sqrt(sum);
}
static int within_limits(const soa_model *m, const double *q) {
    for (int i = 1; i <= soa_model_body_count(m); ++i) {
        soa_body_info b;
        OK(soa_model_body(m, i, &b));
        for (int c = 0; b.nq == b.nv && c < b.nq; ++c)
            if (!(q[b.q_index + c] >= b.lower && q[b.q_index + c] <= b.upper)) return 0;
    }
    return 1;
}
static void reachable(void **unused) {
    (void)unused;
#define LIMBS "left_elbow_link", "right_elbow_link", "left_ankle_roll_link", "right_ankle_roll_link"
    static const struct {
        const char *name, *tip[4];
        int poses, ignore_limits, position_only;
        double near; /* how far the start may be from the answer, or 0: anywhere */
        int least;   /* successes in 1000 */
    } cases[] = {
        {"puma560", {0}, 1000, 1, 0, 0, 990},     {"puma560", {0}, 1000, 0, 0, 0, 650},
        {"puma560", {0}, 1000, 0, 1, 0, 800},     {"arm7", {0}, 1000, 1, 0, 0, 990},
        {"arm7", {0}, 1000, 0, 0, 0, 880},        {"satellite", {0}, 200, 0, 0, 0, 990},
        {"chain:30", {0}, 200, 0, 0, 0, 990},     {"humanoid", {LIMBS}, 300, 1, 0, 0, 800},
        {"humanoid", {LIMBS}, 300, 0, 0, 0, 400}, {"humanoid", {LIMBS}, 300, 0, 0, 0.3, 950}};
#undef LIMBS
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const soa_model *m = stock(cases[k].name);
        soa_work *w;
        soa_tip_work *t;
        OK(soa_work_create(m, &w));
        OK(soa_tip_work_create(m, &t));
        double *q = zeros((size_t)soa_model_nq(m)), *goal = zeros((size_t)soa_model_nq(m)),
               *v = zeros((size_t)soa_model_nv(m)), worst = 0, wrong = 0;
        soa_ik_target g[4];
        int count = 0, good = 0;
        long steps = 0;
        for (; count < 4 && cases[k].tip[count]; ++count) {
            g[count].tip.frame = soa_model_find_frame(m, cases[k].tip[count]);
            assert_true(g[count].tip.frame > 0);
        }
        if (!count) {
            soa_body_info last;
            soa_model_body(m, soa_model_body_count(m), &last);
            g[count++].tip.frame = last.frame;
        }
        dice d = {(uint64_t)first_seed() * 1000 + k};
        for (int pose = 0; pose < cases[k].poses; ++pose) {
            random_q(m, &d, goal);
            random_q(m, &d, q);
            if (cases[k].near > 0) {
                roll_many(&d, -cases[k].near, cases[k].near, (size_t)soa_model_nv(m), v);
                OK(soa_q_integrate(m, goal, v, 1, q));
            }
            OK(soa_kinematics(m, w, goal, NULL, NULL));
            for (int f = 0; f < count; ++f) {
                g[f].tip.linear = 1;
                g[f].tip.angular = cases[k].position_only ? 0 : 1;
                OK(soa_pose(m, w, g[f].tip.frame, &g[f].pose));
            }
            const soa_ik_options o = {.ignore_limits = cases[k].ignore_limits};
            soa_ik_result r;
            const soa_status s = soa_inverse_kinematics(m, t, g, count, &o, q, &r);
            assert_true(s == SOA_OK || s == SOA_E_NO_CONVERGENCE);
            assert_true(cases[k].ignore_limits || within_limits(m, q));
            const double found = residual_of(m, w, q, g, count);
            wrong = fmax(wrong, fabs(found - r.residual) / fmax(1, found));
            if (s != SOA_OK) continue;
            ++good;
            steps += r.steps;
            if (!(found <= worst)) worst = found;
        }
        printf("  %-10s %d frame%s%s, limits %s: %4d of %d from one start each, %s (seed %ld), "
               "%4.1f steps, worst "
               "residual %.1e\n",
               cases[k].name, count, count > 1 ? "s" : "",
               cases[k].position_only ? " (position)" : "", cases[k].ignore_limits ? "off" : "on ",
               good, cases[k].poses, cases[k].near > 0 ? "near" : "anywhere", first_seed(),
               (double)steps / (good ? good : 1), worst);
        assert_true(worst <= 1.001e-9); /* measured another way */
        assert_true(wrong <= 1e-7);
        assert_true(good * 1000 >= cases[k].least * cases[k].poses);
        free(q);
        free(goal);
        free(v);
        soa_tip_work_free(t);
        soa_work_free(w);
        soa_model_free(m);
    }
}

/* Mimic joints, every joint type, several tips of different weights: the residual reported is the
 * one that holds. */
static void random_trees(void **unused) {
    (void)unused;
    int good = 0, all = 0, mimics = 0;
    for (long seed = first_seed(); seed < first_seed() + 150; ++seed) {
        char name[40];
        snprintf(name, sizeof name, "random:%ld", seed);
        const soa_model *m = stock(name);
        soa_work *w;
        soa_tip_work *t;
        OK(soa_work_create(m, &w));
        OK(soa_tip_work_create(m, &t));
        double *q = zeros((size_t)soa_model_nq(m)), *v = zeros((size_t)soa_model_nv(m));
        dice d = {(uint64_t)seed * 5};
        soa_ik_target g[2];
        for (int f = 0; f < 2; ++f) {
            soa_body_info b;
            OK(soa_model_body(m, 1 + (int)roll(&d, 0, soa_model_body_count(m) - 1e-9), &b));
            g[f].tip = (soa_tip){b.frame, 0.5 + f, 1};
        }
        roll_many(&d, -0.4, 0.4, (size_t)soa_model_nv(m), v);
        soa_q_neutral(m, q);
        OK(soa_q_integrate(m, q, v, 1, q));
        OK(soa_kinematics(m, w, q, NULL, NULL));
        for (int f = 0; f < 2; ++f)
            OK(soa_pose(m, w, g[f].tip.frame, &g[f].pose));
        soa_q_neutral(m, q);
        const soa_ik_options o = {.ignore_limits = true};
        soa_ik_result r;
        const soa_status s = soa_inverse_kinematics(m, t, g, 2, &o, q, &r);
        assert_true(s == SOA_OK || s == SOA_E_NO_CONVERGENCE);
        ++all;
        good += s == SOA_OK;
        mimics += has_mimic(m);
        const double found = residual_of(m, w, q, g, 2);
        assert_true(fabs(found - r.residual) <= 1e-7 * fmax(1, found));
        if (s == SOA_OK) assert_true(found <= 1.001e-9);
        free(q);
        free(v);
        soa_tip_work_free(t);
        soa_work_free(w);
        soa_model_free(m);
    }
    printf("  %d of %d random trees (%d with mimic joints) reach two poses near by\n", good, all,
           mimics);
    assert_true(good >= all * 95 / 100 && mimics > 10);
}

static void unreachable(void **unused) {
    (void)unused;
    const soa_model *m = stock("puma560");
    soa_work *w;
    soa_tip_work *t;
    OK(soa_work_create(m, &w));
    OK(soa_tip_work_create(m, &t));
    soa_body_info last;
    soa_model_body(m, 6, &last);
    /* no orientation: R need not be one */
    soa_ik_target g = {{last.frame, 0, 1}, {{0}, {2, 1, 3}}};
    double q[6] = {0.1, 0.2, 0.3, 0.1, 0.2, 0.3}, straight[6] = {0}, reach = 0;
    soa_ik_result r;
    const soa_ik_options o = {.ignore_limits = true};
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, &o, q, &r), SOA_E_NO_CONVERGENCE);
    assert_true(r.residual > 0.5 && r.steps < 200);
    /* the best it can do is on the line from the shoulder: no motion lowers the distance */
    double tau[6];
    OK(soa_kinematics(m, w, q, NULL, NULL));
    soa_frame at;
    OK(soa_pose(m, w, last.frame, &at));
    const double pull[6] = {
        0, 0, 0, g.pose.p[0] - at.p[0], g.pose.p[1] - at.p[1], g.pose.p[2] - at.p[2]};
    OK(soa_jacobian_transpose_mul(m, w, last.frame, SOA_AXES_WORLD, pull, tau));
    for (int j = 0; j < 6; ++j)
        reach = fmax(reach, fabs(tau[j]));
    printf("  puma560, out of reach: residual %.3f m after %d steps, gradient %.1e\n", r.residual,
           r.steps, reach);
    assert_true(reach <= 1e-6);
    assert_true(fabs(residual_of(m, w, q, &g, 1) - r.residual) <= 1e-12);

    /* a singular start: arm straight, wrist straight; the target lies along the singular
     * direction */
    OK(soa_kinematics(m, w, straight, NULL, NULL));
    OK(soa_pose(m, w, last.frame, &g.pose));
    double goal[6] = {0, 0.5, -0.9, 0, 0.7, 0.2};
    OK(soa_kinematics(m, w, goal, NULL, NULL));
    OK(soa_pose(m, w, last.frame, &g.pose));
    g.tip.angular = 1;
    OK(soa_inverse_kinematics(m, t, &g, 1, &o, straight, &r));
    assert_true(residual_of(m, w, straight, &g, 1) <= 1.001e-9);
    printf("  puma560 from its singular pose q = 0: %d steps\n", r.steps);
    /* a singular goal: axes 4 and 6 in line */
    goal[4] = 0;
    OK(soa_kinematics(m, w, goal, NULL, NULL));
    OK(soa_pose(m, w, last.frame, &g.pose));
    double from[6] = {0.3, 0.2, -0.5, 0.4, 0.6, -0.3};
    OK(soa_inverse_kinematics(m, t, &g, 1, &o, from, &r));
    assert_true(residual_of(m, w, from, &g, 1) <= 1.001e-9);
    printf("  puma560 to a singular pose: %d steps\n", r.steps);
    /* too few steps: the best so far, better than the start */
    double again[6] = {0.3, 0.2, -0.5, 0.4, 0.6, -0.3};
    const double before = residual_of(m, w, again, &g, 1);
    const soa_ik_options few = {.most_steps = 2, .ignore_limits = true};
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, &few, again, &r), SOA_E_NO_CONVERGENCE);
    assert_true(r.steps == 2 && r.residual < before &&
                fabs(residual_of(m, w, again, &g, 1) - r.residual) < 1e-12);
    /* at the goal already: nothing to do */
    OK(soa_inverse_kinematics(m, t, &g, 1, &o, goal, &r));
    assert_int_equal(r.steps, 0);
    soa_tip_work_free(t);
    soa_work_free(w);
    soa_model_free(m);

    m = stock("satellite"); /* a long way, for a free base */
    OK(soa_work_create(m, &w));
    OK(soa_tip_work_create(m, &t));
    double *far = zeros((size_t)soa_model_nq(m));
    soa_q_neutral(m, far);
    soa_model_body(m, soa_model_body_count(m), &last);
    g = (soa_ik_target){{last.frame, 1, 1}, soa_frame_from_rpy(500, -200, 300, 1, 2, 3)};
    OK(soa_inverse_kinematics(m, t, &g, 1, NULL, far, &r));
    assert_true(residual_of(m, w, far, &g, 1) <= 1.1e-9);
    printf("  satellite, 616 m away: %d steps\n", r.steps);
    free(far);
    soa_tip_work_free(t);
    soa_work_free(w);
    soa_model_free(m);
}

static void refused(void **unused) {
    (void)unused;
    const soa_model *m = stock("satellite"), *other = stock("arm7");
    soa_work *w;
    soa_tip_work *t;
    OK(soa_work_create(m, &w));
    OK(soa_tip_work_create(m, &t));
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m);
    double *q = zeros(nq), *kept = zeros(nq), *x = zeros(nv), *A = zeros(nv * nv), JJt[36];
    soa_q_neutral(m, q);
    memcpy(kept, q, nq * sizeof *q);
    const int frame = soa_model_frame_count(m) - 1, none = soa_model_frame_count(m);
    soa_tip tip = {frame, 1, 1}, bad = tip;
    assert_int_equal(soa_jjt(m, w, q, &none, 1, SOA_AXES_WORLD, JJt), SOA_E_ARGUMENT);
    assert_int_equal(soa_jjt(m, w, q, &frame, 0, SOA_AXES_WORLD, JJt), SOA_E_ARGUMENT);
    assert_int_equal(soa_jjt(m, w, q, NULL, 1, SOA_AXES_WORLD, JJt), SOA_E_ARGUMENT);
    assert_int_equal(soa_jjt(m, w, q, &frame, 1, (soa_axes)2, JJt), SOA_E_ARGUMENT);
    assert_int_equal(soa_jjt(other, w, q, &frame, 1, SOA_AXES_WORLD, JJt), SOA_E_ARGUMENT);
    assert_int_equal(soa_jtj(other, t, q, &tip, 1, 0, A), SOA_E_ARGUMENT);
    assert_int_equal(soa_jtj(m, t, q, &tip, 1, -1, A), SOA_E_ARGUMENT);
    assert_int_equal(soa_jtj(m, t, q, &tip, 1, NAN, A), SOA_E_NOT_FINITE);
    assert_int_equal(soa_jtj(m, t, q, NULL, 1, 0, A), SOA_E_ARGUMENT);
    assert_int_equal(soa_jtj(m, t, q, &tip, 1, 0, NULL), SOA_E_ARGUMENT);
    bad.linear = INFINITY;
    assert_int_equal(soa_jtj_inverse_mul(m, t, q, &bad, 1, 1, x, x), SOA_E_NOT_FINITE);
    bad.linear = 1e7;
    assert_int_equal(soa_jtj_inverse_mul(m, t, q, &bad, 1, 1, x, x), SOA_E_ARGUMENT);
    bad.linear = -1;
    assert_int_equal(soa_jtj_inverse_mul(m, t, q, &bad, 1, 1, x, x), SOA_E_ARGUMENT);
    assert_int_equal(soa_jtj_inverse_mul(m, t, q, &tip, 1, 1, NULL, x), SOA_E_ARGUMENT);
    q[0] = NAN;
    assert_int_equal(soa_jtj_inverse(m, t, q, &tip, 1, 1, A), SOA_E_NOT_FINITE);
    memcpy(q, kept, nq * sizeof *q);

    soa_ik_target g = {tip, soa_frame_identity()}, h = g;
    soa_ik_options o = {.tolerance = NAN};
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, &o, q, NULL), SOA_E_ARGUMENT);
    o = (soa_ik_options){.most_steps = -1};
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, &o, q, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 0, NULL, q, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, NULL, NULL, NULL), SOA_E_ARGUMENT);
    h.tip.frame = 0; /* the world */
    assert_int_equal(soa_inverse_kinematics(m, t, &h, 1, NULL, q, NULL), SOA_E_ARGUMENT);
    h = g;
    h.tip.angular = h.tip.linear = 0;
    assert_int_equal(soa_inverse_kinematics(m, t, &h, 1, NULL, q, NULL), SOA_E_ARGUMENT);
    h = g;
    h.pose.p[1] = NAN;
    assert_int_equal(soa_inverse_kinematics(m, t, &h, 1, NULL, q, NULL), SOA_E_NOT_FINITE);
    h = g;
    h.pose.R[0] = 2;
    assert_int_equal(soa_inverse_kinematics(m, t, &h, 1, NULL, q, NULL), SOA_E_FRAME);
    h = g;
    h.pose.R[0] = -1; /* a mirror */
    assert_int_equal(soa_inverse_kinematics(m, t, &h, 1, NULL, q, NULL), SOA_E_FRAME);
    for (size_t j = 0; j < nq; ++j)
        assert_true(q[j] == kept[j]);
    memset(q, 0, nq * sizeof *q);
    assert_int_equal(soa_inverse_kinematics(m, t, &g, 1, NULL, q, NULL), SOA_E_QUATERNION);
    for (size_t j = 0; j < nq; ++j)
        assert_true(q[j] == 0);
    free(q);
    free(kept);
    free(x);
    free(A);
    soa_tip_work_free(t);
    soa_work_free(w);
    soa_model_free(m);
    soa_model_free(other);

    for (long seed = 1;; ++seed) { /* mimic joints: only with damping */
        char name[40];
        snprintf(name, sizeof name, "random:%ld", seed);
        m = stock(name);
        if (!has_mimic(m)) {
            soa_model_free(m);
            continue;
        }
        OK(soa_tip_work_create(m, &t));
        soa_body_info b;
        soa_model_body(m, soa_model_body_count(m), &b);
        const soa_tip at = {b.frame, 1, 1};
        x = zeros((size_t)soa_model_nv(m));
        assert_int_equal(soa_jtj_inverse_mul(m, t, NULL, &at, 1, 0, x, x), SOA_E_MIMIC);
        OK(soa_jtj_inverse_mul(m, t, NULL, &at, 1, 0.1, x, x));
        free(x);
        soa_tip_work_free(t);
        soa_model_free(m);
        break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),  cmocka_unit_test(undamped),     cmocka_unit_test(linear_time),
        cmocka_unit_test(reachable), cmocka_unit_test(random_trees), cmocka_unit_test(unreachable),
        cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("inverse_kinematics", tests, NULL, NULL);
}
