/* real.h  the number type a recursion is compiled for.
 *
 * Every recursion in src/dynamics is written once over `real` and compiled several times, one translation unit per
 * number type.  `konst` is the type of the model's constants and of literals; REAL(x) makes a real of a literal.
 *
 *   SOAI_NUMBER          real                  konst    used for
 *   SOAI_DOUBLE          double                double   the library's ordinary calls
 *   SOAI_FLOAT           float                 float    small targets
 *   SOAI_DOUBLE_LANES    4 doubles             double   batches: one lane is one state
 *   SOAI_FLOAT_LANES     8 floats              float    batches
 *   SOAI_COMPLEX         double _Complex       double   complex-step derivatives, the oracle of the analytic ones
 *   SOAI_QUAD            __float128            double   tests only: the oracle of both
 *
 * The operations a number type must bring: + - * /, REAL, real_sincos, real_sign, real_all_above.                   */
#ifndef SOAI_REAL_H
#define SOAI_REAL_H

#define SOAI_DOUBLE 1
#define SOAI_FLOAT 2
#define SOAI_DOUBLE_LANES 3
#define SOAI_FLOAT_LANES 4
#define SOAI_COMPLEX 5
#define SOAI_QUAD 6

#ifndef SOAI_NUMBER
#define SOAI_NUMBER SOAI_DOUBLE
#endif

#include <math.h>
#include <string.h>

#define SOAI_INLINE static inline __attribute__((always_inline, unused))
#ifdef SOAI_GENERATED /* the model is a constant: sweeps go into their callers */
#define SOAI_SWEEP SOAI_INLINE
#else
#define SOAI_SWEEP static __attribute__((unused))
#endif
/* Loops over the rows of 3- and 6-vectors must be unrolled for registers to be used; sweeps over bodies only where the
 * model is a constant (generated code defines SOAI_UNROLL_BODIES). */
#if defined(__clang__)
#define SOAI_UNROLL _Pragma("clang loop unroll(full)")
#define SOAI_UNROLL_ALL _Pragma("clang loop unroll(full)")
#else
#define SOAI_UNROLL _Pragma("GCC unroll 36")
#define SOAI_UNROLL_ALL _Pragma("GCC unroll 64")
#endif
#ifndef SOAI_UNROLL_BODIES
#define SOAI_UNROLL_BODIES
#endif

#if SOAI_NUMBER == SOAI_DOUBLE
typedef double real;
typedef double konst;
#define REAL(x) ((double)(x))
#define SOAI_LANES 1
#define SOAI_MASK long long

#elif SOAI_NUMBER == SOAI_FLOAT
typedef float real;
typedef float konst;
#define REAL(x) ((float)(x))
#define SOAI_LANES 1
#define SOAI_MASK int

#elif SOAI_NUMBER == SOAI_DOUBLE_LANES
typedef double real __attribute__((vector_size(32)));
typedef long long soai_mask __attribute__((vector_size(32)));
typedef double konst;
#define REAL(x) ((real){(x), (x), (x), (x)})
#define SOAI_LANES 4
#define SOAI_MASK soai_mask

#elif SOAI_NUMBER == SOAI_FLOAT_LANES
typedef float real __attribute__((vector_size(32)));
typedef int soai_mask __attribute__((vector_size(32)));
typedef float konst;
#define SOAI_F_(x) ((float)(x))
#define REAL(x) ((real){SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x)})
#define SOAI_LANES 8
#define SOAI_MASK soai_mask

#elif SOAI_NUMBER == SOAI_COMPLEX
#include <complex.h>
#undef I /* the letter belongs to inertias here */
typedef double _Complex real;
typedef double konst;
#define REAL(x) ((real)(x))
#define SOAI_LANES 1

#elif SOAI_NUMBER == SOAI_QUAD
#include <quadmath.h>
typedef __float128 real;
typedef double konst;
#define REAL(x) ((real)(x))
#define SOAI_LANES 1
#endif

/* x > bound in every lane; false for NaN. Complex numbers compare by their real part. */
SOAI_INLINE int real_all_above(real x, real bound) {
#if SOAI_LANES > 1
    SOAI_MASK above = x > bound;
    for (int l = 0; l < SOAI_LANES; ++l)
        if (!above[l]) return 0;
    return 1;
#elif SOAI_NUMBER == SOAI_COMPLEX
    return creal(x) > creal(bound);
#else
    return x > bound;
#endif
}

/* positive for x > 0, negative for x < 0, zero for 0. */
SOAI_INLINE real real_sign(real x, konst positive, konst negative) {
#if SOAI_LANES > 1
    SOAI_MASK up = x > 0, down = x < 0;
    return (real)(((SOAI_MASK)REAL(positive) & up) | ((SOAI_MASK)REAL(negative) & down));
#elif SOAI_NUMBER == SOAI_COMPLEX
    return creal(x) > 0 ? positive : creal(x) < 0 ? negative : 0;
#else
    return x > 0 ? positive : x < 0 ? negative : 0;
#endif
}

#if SOAI_NUMBER == SOAI_COMPLEX
SOAI_INLINE void real_sincos(real x, real *s, real *c) {
    *s = csin(x);
    *c = ccos(x);
}
#elif SOAI_NUMBER == SOAI_QUAD
SOAI_INLINE void real_sincos(real x, real *s, real *c) {
    *s = sinq(x);
    *c = cosq(x);
}
#else
/* Sine and cosine for scalars and lanes alike: Cody-Waite reduction by pi/2 in three parts, then the polynomials that
 * are best on |r| <= pi/4 (the coefficients of the freely published fdlibm kernels; for float, Chebyshev fits).  Errors stay
 * below 1 ulp for |x| < soai_sincos_limit; beyond it (or for NaN) libm is asked.  Same bits in scalar and lanes.     */
#if SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_DOUBLE_LANES
#define SOAI_SINCOS_LIMIT 1.0e5
#define SOAI_ROUND_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#else
#define SOAI_SINCOS_LIMIT 8.0e3f
#define SOAI_ROUND_MAGIC 12582912.0f /* 1.5 * 2^23 */
#endif

/* Asks libm where |x| is not below the limit; lanes that are keep what the polynomials gave, so that no state's bits
 * depend on its neighbours. */
static __attribute__((noinline, unused)) void real_sincos_far(real x, real *s, real *c) {
#if SOAI_LANES > 1
    for (int l = 0; l < SOAI_LANES; ++l)
        if (!(fabs((double)x[l]) < SOAI_SINCOS_LIMIT))
            (*s)[l] = (konst)sin((double)x[l]), (*c)[l] = (konst)cos((double)x[l]);
#else
    *s = (konst)sin((double)x);
    *c = (konst)cos((double)x);
#endif
}

SOAI_INLINE void real_sincos(real x, real *s, real *c) {
    const int far = !real_all_above(x, REAL(-SOAI_SINCOS_LIMIT)) || !real_all_above(-x, REAL(-SOAI_SINCOS_LIMIT));
    const real shifted = x * REAL(0.63661977236758134308) + REAL(SOAI_ROUND_MAGIC); /* 2/pi */
    const real n = shifted - REAL(SOAI_ROUND_MAGIC);
    SOAI_MASK bits;
    memcpy(&bits, &shifted, sizeof bits); /* the low bits of the rounded sum are the quadrant */
#if SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_DOUBLE_LANES
    real r = x - n * REAL(1.57079632673412561417e+00);
    const real t = r;
    const real w1 = n * REAL(6.07710050630396597660e-11);
    r = t - w1;
    const real tail = (t - r) - w1 - n * REAL(2.02226624879595063154e-21);
    const real z = r * r;
    const real sp = REAL(8.33333333332248946124e-03) +
                    z * (REAL(-1.98412698298579493134e-04) +
                         z * (REAL(2.75573137070700676789e-06) +
                              z * (REAL(-2.50507602534068634195e-08) + z * REAL(1.58969099521155010221e-10))));
    const real v = z * r;
    const real sine = r - ((z * (REAL(0.5) * tail - v * sp) - tail) - v * REAL(-1.66666666666666324348e-01));
    const real cp = REAL(4.16666666666666019037e-02) +
                    z * (REAL(-1.38888888888741095749e-03) +
                         z * (REAL(2.48015872894767294178e-05) +
                              z * (REAL(-2.75573143513906633035e-07) +
                                   z * (REAL(2.08757232129817482790e-09) + z * REAL(-1.13596475577881948265e-11)))));
    const real half = REAL(0.5) * z;
    const real w = REAL(1) - half;
    const real cosine = w + (((REAL(1) - w) - half) + (z * z * cp - r * tail));
#else
    const real r = ((x - n * REAL(1.5703125)) - n * REAL(4.837512969970703125e-4)) - n * REAL(7.54978995489188e-8);
    const real z = r * r;
    const real sine = r + r * z * (REAL(-1.6666654611e-1) + z * (REAL(8.3321608736e-3) + z * REAL(-1.9515295891e-4)));
    const real cosine =
        REAL(1) - REAL(0.5) * z +
        z * z * (REAL(4.166664568298827e-2) + z * (REAL(-1.388731625493765e-3) + z * REAL(2.443315711809948e-5)));
#endif
#if SOAI_LANES > 1
    const SOAI_MASK swap = -(bits & 1); /* all ones in odd quadrants */
    const SOAI_MASK sbits = ((SOAI_MASK)sine & ~swap) | ((SOAI_MASK)cosine & swap);
    const SOAI_MASK cbits = ((SOAI_MASK)cosine & ~swap) | ((SOAI_MASK)sine & swap);
    const int top = (int)(8 * sizeof(konst)) - 1;
    *s = (real)(sbits ^ ((bits >> 1 & 1) << top));
    *c = (real)(cbits ^ (((bits + 1) >> 1 & 1) << top));
#else
    const real a = bits & 1 ? cosine : sine, b = bits & 1 ? sine : cosine;
    *s = bits & 2 ? -a : a;
    *c = (bits + 1) & 2 ? -b : b;
#endif
    if (__builtin_expect(far, 0)) real_sincos_far(x, s, c);
}
#endif

#endif
