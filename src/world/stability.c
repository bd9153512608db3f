/* stability.c  checks whether fixed steps are short enough for the fastest motion of a world.
 *
 * fastest   The power method on J = df/dy, by differences of the motion, from a start that is
 *           always the same. Three iterates u, Ju, JJu lie in the plane of the largest pair of
 *           eigenvalues: JJu = p Ju + r u, and lambda^2 = p lambda + r. Works and contact
 *           energies in y do not influence the motion and are left out.
 * growth    A step multiplies this motion by R(h lambda), the method's stability function. If
 *           |R| > 1 and the motion itself does not grow, this is an error of the step. Beyond the
 *           stability bound it is large. For methods without a bound on the imaginary axis
 *           (order 2: |R| = 1 + (h omega)^4 / 8) it is small and adds up. A warning is given if
 *           the run would double the amplitude.
 * when      So often that it costs a twentieth of the steps, and whenever more shapes touch than
 *           ever before. */
#include "stepper.h"
#include "world_internal.h"

#include <complex.h>
#include <float.h>
#include <math.h>

/* Iterations of the power method; steps have COST evaluations for each of its evaluations. */
enum { ITERATIONS = 20, COST = 20 };
/* m, rad, m/s, rad/s: largest entry of a difference. */
static const double nudge = 1e-7;
static const double doubled = 0.69314718055994530942;

/* True for entries of y that influence the motion. */
static int acts(const soa_world *w, int i) {
    if (i >= w->at_ledger && i < w->at_slots) return 0;
    return i < w->at_slots || i >= w->at_joints ||
           (i - w->at_slots) % SOAI_SLOT_NUMBERS != SOAI_TANK;
}
static double largest(int n, const double *x) {
    double most = 0;
    for (int i = 0; i < n; ++i)
        most = fmax(most, fabs(x[i]));
    return most;
}
/* out = J x for an x whose largest entry is 1. */
static soa_status product(soa_world *w, const double *rate, const double *x, double *out) {
    double *const y = w->y_scratch[0];
    for (int i = 0; i < w->y_count; ++i)
        y[i] = w->y[i] + nudge * x[i];
    const soa_status s = soai_motion(w, w->state->t, y, out);
    for (int i = 0; i < w->y_count; ++i)
        out[i] = acts(w, i) ? (out[i] - rate[i]) / nudge : 0;
    return s;
}
/* Computes u, Ju and JJu / scale, where scale is the largest entry of Ju. */
static soa_status iterate(soa_world *w, double *u, double *first, double *second, double *scale) {
    double *const rate = w->y_scratch[1];
    soa_status s = soai_motion(w, w->state->t, w->y, rate);
    uint32_t seed = 1;
    for (int i = 0; i < w->y_count; ++i) {
        seed = 1664525u * seed + 1013904223u;
        u[i] = acts(w, i) ? (double)seed / 2147483648.0 - 1 : 0;
    }
    *scale = 0;
    for (int k = 0; !s && k < ITERATIONS; ++k) {
        const double size = largest(w->y_count, u);
        if (!(size > 0) || !isfinite(size)) return SOA_OK;
        for (int i = 0; i < w->y_count; ++i)
            u[i] /= size;
        if ((s = product(w, rate, u, first))) break;
        *scale = largest(w->y_count, first);
        if (!(*scale > 0) || !isfinite(*scale)) return SOA_OK;
        for (int i = 0; i < w->y_count; ++i)
            second[i] = first[i] / *scale;
        memcpy(w->y_scratch[5], second, (size_t)w->y_count * sizeof *second);
        if (k + 1 == ITERATIONS) return product(w, rate, w->y_scratch[5], second);
        memcpy(u, second, (size_t)w->y_count * sizeof *u);
    }
    return s;
}
/* Eigenvalue of largest modulus; 0 if none is found. `at`: the velocity that moves most with it. */
static double complex fastest(soa_world *w, int *at) {
    double *const u = w->y_scratch[2], *const a = w->y_scratch[3], *const b = w->y_scratch[4],
                  scale = 0;
    if (iterate(w, u, a, b, &scale) || !(scale > 0)) return 0;
    for (int i = 0; i < w->y_count; ++i)
        b[i] *= scale;
    /* From two products, so that units cancel. */
    const double pace = sqrt(largest(w->y_count, b) / largest(w->y_count, u));
    if (!(pace > 0) || !isfinite(pace)) return 0;
    double aa = 0, au = 0, uu = 0, ab = 0, ub = 0;
    /* Scale velocities and positions to the same size. */
    for (int i = 0; i < w->y_count; ++i) {
        const double by = i < w->at_v ? 1 : 1 / pace;
        const double x = u[i] * by, y = a[i] * by / pace, z = b[i] * by / (pace * pace);
        uu += x * x;
        au += x * y;
        aa += y * y;
        ub += x * z;
        ab += y * z;
    }
    *at = 0;
    for (int i = 1; i < w->nv; ++i)
        if (fabs(u[w->at_v + i]) > fabs(u[w->at_v + *at])) *at = i;
    const double det = aa * uu - au * au;
    /* u and Ju have the same direction: the eigenvalue is real. */
    if (!(det > 1e-12 * aa * uu)) return uu > 0 ? pace * au / uu : 0;
    const double p = (ab * uu - ub * au) / det, r = (aa * ub - au * ab) / det;
    const double complex root = csqrt(0.25 * p * p + r);
    return pace * (0.5 * p + (p < 0 ? -root : root));
}

/* |R(z)| for the method's table. */
static double amplification(ARKodeButcherTable table, double complex z) {
    enum { STAGES = 16 };
    double complex k[STAGES] = {0}, sum = 1;
    for (int i = 0; i < table->stages && i < STAGES; ++i) {
        double complex y = 1;
        for (int j = 0; j < i; ++j)
            y += z * table->A[i][j] * k[j];
        k[i] = y;
        sum += z * table->b[i] * y;
    }
    return cabs(sum);
}
/* Growth of the steps over the run beyond that of the motion itself, as the logarithm of the
 * factor. */
static double excess(const soa_world *w, ARKodeButcherTable table, double complex fast,
                     double step) {
    const double own = fmax(0, creal(fast)) * step;
    return (log(amplification(table, fast * step)) - own) * fmax(1, w->scenario->duration / step);
}

void soai_judge_fixed_step(soa_world *w) {
    const soa_integration *o = &w->scenario->integration;
    ARKodeButcherTable implicit = NULL, table = NULL;
    if (ARKStepGetCurrentButcherTables(w->ark, &implicit, &table) || !table) return;
    /* No step is longer than a tick. */
    const double step = fmin(o->step, w->tick_length);
    const double each = ceil(w->tick_length / step) * table->stages,
                 cost = (double)COST * ITERATIONS;
    const int64_t every = (int64_t)fmin(fmax(ceil(cost / each), 1), 1e9);
    const int more = w->touch_count > w->state->stats.judged;
    if (w->state->tick % every && !more) return;
    if (more) w->state->stats.judged = w->touch_count;
    /* These evaluations must not change the state. */
    soa_distance_cache *own = w->caches;
    if (w->meeting_count) memcpy(w->spare_caches, own, (size_t)w->meeting_count * sizeof *own);
    w->caches = w->spare_caches;
    w->when = w->state->t;
    w->fresh = 0; /* for loops: this state is off the constraints */
    int at = 0;
    const double complex fast = fastest(w, &at);
    w->fresh = 1;
    w->caches = own;
    if (w->meeting_count && soai_peek(w)) return;
    if (!(cabs(fast) > 0) || !(excess(w, table, fast, step) > doubled)) return;
    double shorter = step;
    while (shorter > 1e-6 * step && excess(w, table, fast, shorter) > doubled)
        shorter *= 0.95;
    soai_warn(w, "fixed-step-unstable", soai_coordinate_name(w, at), step * cabs(fast),
              "the fastest motion has %.3g rad/s, for which order %d is unstable with steps of "
              "%.3g s: take at most "
              "%.2g s, or "
              "a method with error control",
              cabs(fast), o->order, step, shorter);
}
