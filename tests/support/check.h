/* check.h  comparisons for tests: they print the result and fail on NaN.
 *
 * "Relative" is max|difference| / max(max|reference|, 1e-3). */
#ifndef SOA_TESTS_CHECK_H
#define SOA_TESTS_CHECK_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline double relative(const double *got, const double *reference, size_t n) {
    double scale = 1e-3, worst = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!(fabs(reference[i]) <= 1e300) || !(fabs(got[i]) <= 1e300)) return INFINITY;
        if (fabs(reference[i]) > scale) scale = fabs(reference[i]);
        if (fabs(got[i] - reference[i]) > worst) worst = fabs(got[i] - reference[i]);
    }
    return worst / scale;
}

/* The worst of many comparisons of one kind, with the case that produced it. */
typedef struct worst_case {
    double error;
    long seed;
    long count;
} worst_case;
static inline void note(worst_case *w, double error, long seed) {
    ++w->count;
    if (!(error <= w->error)) {
        w->error = error;
        w->seed = seed;
    }
}
/* Prints the line. Fails the test unless every comparison was within the tolerance. */
static inline void conclude(const char *what, const worst_case *w, double tolerance) {
    printf("  %-58s worst %.1e (seed %ld, %ld cases), allowed %.0e\n", what, w->error, w->seed,
           w->count, tolerance);
    assert_true(w->count > 0);
    assert_true(w->error <= tolerance);
}

/* splitmix64: the same numbers on every machine */
typedef struct dice {
    uint64_t state;
} dice;
static inline double roll(dice *d, double low, double high) {
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return low + (high - low) * ((double)(z >> 11) * 0x1p-53);
}
static inline void roll_many(dice *d, double low, double high, size_t n, double *x) {
    for (size_t i = 0; i < n; ++i)
        x[i] = roll(d, low, high);
}
/* First seed of a random test: SOA_SEED in the environment, or 1. */
static inline long first_seed(void) {
    const char *s = getenv("SOA_SEED");
    return s ? strtol(s, NULL, 10) : 1;
}
#endif
