/* real.h  the number type for which a recursion is compiled.
 *
 * Every recursion in src/sweep is written once over `real` and compiled several times, one
 * translation unit per number type. `konst` is the type of the model's constants and of literals;
 * REAL(x) converts a literal to real.
 *
 *   SOAI_NUMBER          real                  konst    used for
 *   SOAI_DOUBLE          double                double   ordinary calls
 *   SOAI_FLOAT           float                 float    small targets
 *   SOAI_DOUBLE_LANES    4 doubles             double   batches: one lane is one state
 *                                                       (8 lanes: generated code with AVX-512)
 *   SOAI_FLOAT_LANES     8 floats              float    batches
 *   SOAI_COMPLEX         double _Complex       double   complex-step derivatives, which check the
 *                                                       analytic ones
 *   SOAI_QUAD            __float128            double   tests only: checks both
 *
 * A number type must provide + - * /, REAL, real_sincos or pack_sincos, real_sign, real_all_above.
 */
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

#ifdef SOAI_QUICK /* for test oracles and sanitizers: compiles in seconds but runs slowly */
#define SOAI_INLINE static inline __attribute__((unused))
#else
#define SOAI_INLINE static inline __attribute__((always_inline, unused))
#endif
#ifdef SOAI_GENERATED /* the model is a constant: sweeps are inlined into their callers */
#define SOAI_SWEEP SOAI_INLINE
#else
#define SOAI_SWEEP static __attribute__((unused))
#endif
/* Loops over the rows of 3- and 6-vectors must be unrolled; otherwise they are not kept in
 * registers. */
#if defined(__clang__)
#define SOAI_UNROLL _Pragma("clang loop unroll(full)")
#define SOAI_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define SOAI_UNROLL _Pragma("GCC unroll 36")
#define SOAI_ROLLED _Pragma("GCC unroll 1")
#endif

#if SOAI_NUMBER == SOAI_DOUBLE
typedef double real;
typedef double konst;
#define REAL(x) ((double)(x))
#define SOAI_LANES 1

#elif SOAI_NUMBER == SOAI_FLOAT
typedef float real;
typedef float konst;
#define REAL(x) ((float)(x))
#define SOAI_LANES 1

#elif SOAI_NUMBER == SOAI_DOUBLE_LANES && defined(SOAI_GENERATED) && defined(__AVX512F__)
typedef double real __attribute__((vector_size(64)));
typedef long long soai_mask __attribute__((vector_size(64)));
typedef double konst;
#define REAL(x) ((real){(x), (x), (x), (x), (x), (x), (x), (x)})
#define SOAI_LANES 8

#elif SOAI_NUMBER == SOAI_DOUBLE_LANES
typedef double real __attribute__((vector_size(32)));
typedef long long soai_mask __attribute__((vector_size(32)));
typedef double konst;
#define REAL(x) ((real){(x), (x), (x), (x)})
#define SOAI_LANES 4

#elif SOAI_NUMBER == SOAI_FLOAT_LANES
typedef float real __attribute__((vector_size(32)));
typedef int soai_mask __attribute__((vector_size(32)));
typedef float konst;
#define SOAI_F_(x) ((float)(x))
#define REAL(x)                                                                                 \
    ((real){SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), SOAI_F_(x), \
            SOAI_F_(x)})
#define SOAI_LANES 8

#elif SOAI_NUMBER == SOAI_COMPLEX
#include <complex.h>
#undef I /* the letter I is used for inertias */
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

/* Number types for which several numbers of one state are processed as a pack. */
#define SOAI_PACKED (SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_FLOAT)

/* Articulated inertias in packs (algebra.h) pay off where a pack is one register. */
#if defined(__AVX2__)
#define SOAI_ABI_PACKED SOAI_PACKED
#else
#define SOAI_ABI_PACKED 0
#endif

/* Pack: with lanes, one number of four states (eight in float); without, four
 * numbers of one state. */
#if SOAI_LANES > 1
typedef real pack;
typedef soai_mask pack_mask;
#define SOAI_PACK SOAI_LANES
#elif SOAI_NUMBER == SOAI_DOUBLE
typedef double pack __attribute__((vector_size(32)));
typedef long long pack_mask __attribute__((vector_size(32)));
#define SOAI_PACK 4
#elif SOAI_NUMBER == SOAI_FLOAT
typedef float pack __attribute__((vector_size(16)));
typedef int pack_mask __attribute__((vector_size(16)));
#define SOAI_PACK 4
#endif
#ifdef SOAI_PACK
/* The comparison holds in every lane. */
SOAI_INLINE int pack_all(pack_mask m) {
#if SOAI_NUMBER == SOAI_DOUBLE_LANES && SOAI_LANES == 8
    typedef double half __attribute__((vector_size(32)));
    half low, high;
    memcpy(&low, &m, sizeof low);
    memcpy(&high, (const char *)&m + sizeof low, sizeof high);
    return (__builtin_ia32_movmskpd256(low) & __builtin_ia32_movmskpd256(high)) == 15;
#elif defined(__AVX2__) && (SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_DOUBLE_LANES)
    return __builtin_ia32_movmskpd256((pack)m) == 15;
#elif defined(__AVX2__) && SOAI_NUMBER == SOAI_FLOAT_LANES
    return __builtin_ia32_movmskps256((pack)m) == 255;
#else
    int all = 1;
    SOAI_UNROLL
    for (int l = 0; l < SOAI_PACK; ++l)
        all &= m[l] != 0;
    return all;
#endif
}
#endif

#ifdef SOAI_PACK
/* x where the sign bit of m is set, else y. */
SOAI_INLINE pack pack_choose(pack_mask m, pack x, pack y) {
#if defined(__AVX2__) && \
    (SOAI_NUMBER == SOAI_DOUBLE || (SOAI_NUMBER == SOAI_DOUBLE_LANES && SOAI_LANES == 4))
    return __builtin_ia32_blendvpd256(y, x, (pack)m);
#elif defined(__AVX2__) && SOAI_NUMBER == SOAI_FLOAT_LANES
    return __builtin_ia32_blendvps256(y, x, (pack)m);
#elif SOAI_NUMBER == SOAI_DOUBLE_LANES && SOAI_LANES == 8
    return (pack)_mm512_mask_blend_pd(_mm512_cmplt_epi64_mask((__m512i)m, _mm512_setzero_si512()),
                                      (__m512d)y, (__m512d)x);
#else
    const pack_mask all = m < 0;
    return (pack)(((pack_mask)x & all) | ((pack_mask)y & ~all));
#endif
}
#endif

/* x > bound in every lane; false for NaN.  Complex numbers compare by their real part.  One-state
 * sweeps are compiled with -ffinite-math-only, under which a comparison may take NaN for anything,
 * so the bits of the difference are compared as integers: those of a positive finite number lie
 * between 0 and those of infinity. */
#if SOAI_NUMBER == SOAI_DOUBLE
SOAI_INLINE int real_all_above(real x, real bound) {
    const real more = x - bound;
    const unsigned long long infinite = 0x7ff0000000000000;
    unsigned long long bits;
    memcpy(&bits, &more, sizeof bits);
    return bits - 1 < infinite - 1;
}
#elif SOAI_NUMBER == SOAI_FLOAT
SOAI_INLINE int real_all_above(real x, real bound) {
    const real more = x - bound;
    const unsigned infinite = 0x7f800000;
    unsigned bits;
    memcpy(&bits, &more, sizeof bits);
    return bits - 1 < infinite - 1;
}
#else
SOAI_INLINE int real_all_above(real x, real bound) {
#if SOAI_NUMBER == SOAI_DOUBLE_LANES && SOAI_LANES == 8
    return _mm512_cmp_pd_mask((__m512d)x, (__m512d)bound, _CMP_GT_OQ) == 255;
#elif SOAI_LANES > 1
    return pack_all(x > bound);
#elif SOAI_NUMBER == SOAI_COMPLEX
    return creal(x) > creal(bound);
#else
    return x > bound;
#endif
}
#endif

/* `positive` for x > 0, `negative` for x < 0, zero for 0. */
SOAI_INLINE real real_sign(real x, konst positive, konst negative) {
#if SOAI_LANES > 1
    const pack_mask up = x > 0, down = x < 0;
    return (real)(((pack_mask)REAL(positive) & up) | ((pack_mask)REAL(negative) & down));
#elif SOAI_NUMBER == SOAI_COMPLEX
    if (creal(x) > 0) return positive;
    if (creal(x) < 0) return negative;
    return 0;
#else
    if (x > 0) return positive;
    if (x < 0) return negative;
    return 0;
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
/* Sine and cosine of a pack. With lanes a pack is one real (four states of one joint); for scalars
 * it is four joints of one state, see real_sincos_all. Cody-Waite reduction by pi/2 in three parts,
 * then the best polynomials on |r| <= pi/4 (the coefficients of the freely published fdlibm
 * kernels; for float, Chebyshev fits). Errors stay below 1 ulp for |x| < SOAI_SINCOS_LIMIT; beyond
 * that, and for NaN, libm is called. */
#if SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_DOUBLE_LANES
#define SOAI_SINCOS_LIMIT 1.0e5
#define SOAI_ROUND_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#else
#define SOAI_SINCOS_LIMIT 8.0e3f
#define SOAI_ROUND_MAGIC 12582912.0f /* 1.5 * 2^23 */
#endif

/* Calls libm for those of n numbers with |x| not below the limit. The others keep the result of the
 * polynomials, so the bits of one state never depend on its neighbours. */
static __attribute__((noinline, unused)) void sincos_far(long n, const void *from, void *sines,
                                                         void *cosines) {
    for (size_t j = 0; j < (size_t)n; ++j) {
        konst x, s, c;
        memcpy(&x, (const char *)from + j * sizeof x, sizeof x);
        if (fabs((double)x) < SOAI_SINCOS_LIMIT) continue;
        s = (konst)sin((double)x);
        c = (konst)cos((double)x);
        memcpy((char *)sines + j * sizeof s, &s, sizeof s);
        memcpy((char *)cosines + j * sizeof c, &c, sizeof c);
    }
}

/* Polynomials only, for any x. All numbers are below the limit if the sum of their squares is below
 * its square; otherwise sincos_far checks each one. */
#define SOAI_SINCOS_NEAR(squares) pack_all((squares) < SOAI_SINCOS_LIMIT * SOAI_SINCOS_LIMIT)
SOAI_INLINE void pack_sincos(const pack x, pack *s, pack *c) {
    const pack shifted = x * (konst)0.63661977236758134308 + (konst)SOAI_ROUND_MAGIC; /* 2/pi */
    const pack n = shifted - (konst)SOAI_ROUND_MAGIC;
    const pack_mask bits = (pack_mask)shifted; /* low bits of the rounded sum: the quadrant */
#if SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_DOUBLE_LANES
    const pack t = x - n * 1.57079632673412561417e+00;
    const pack r = t - n * 6.07710050630396597660e-11; /* the product is exact */
    const pack tail = (t - r) - n * 6.07710050630396597660e-11 - n * 2.02226624879595063154e-21;
    const pack z = r * r;
    const pack sp = 8.33333333332248946124e-03 +
                    z * (-1.98412698298579493134e-04 +
                         z * (2.75573137070700676789e-06 +
                              z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    const pack cp =
        4.16666666666666019037e-02 +
        z * (-1.38888888888741095749e-03 +
             z * (2.48015872894767294178e-05 +
                  z * (-2.75573143513906633035e-07 +
                       z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
    const pack half = 0.5 * z, w = 1 - half;
    const pack sine = r + (z * r * (z * sp - 1.66666666666666324348e-01) + (tail - half * tail));
    const pack cosine = w + (z * z * cp + (((1 - w) - half) - r * tail));
#else
    const pack r = ((x - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.54978995489188e-8f;
    const pack z = r * r;
    const pack sine =
        r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f));
    const pack cosine =
        1 - 0.5f * z +
        z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
#endif
    const int top = (int)(8 * sizeof(konst)) - 1;                /* the sign bit */
    const pack_mask odd = bits << top, high = bits << (top - 1); /* odd: exchange sine and cosine */
    const pack_mask sign = ((pack_mask){0} + 1) << top;
    *s = (pack)((pack_mask)pack_choose(odd, cosine, sine) ^ (high & sign));
    *c = (pack)((pack_mask)pack_choose(odd, sine, cosine) ^ ((high ^ odd) & sign));
}
#endif

/* Sines and cosines of n numbers; s and c need room for n + 3. */
#if SOAI_PACKED
SOAI_INLINE void real_sincos_all(int n, const real *x, real *s, real *c) {
    pack at, S, C, squares = {0};
    for (int j = 0; j < n; j += SOAI_PACK) {
        if (j + SOAI_PACK <= n) {
            memcpy(&at, x + j, sizeof at);
        } else {
            SOAI_UNROLL
            for (int l = 0; l < SOAI_PACK; ++l)
                at[l] = x[j + l < n ? j + l : j];
        }
        squares += at * at;
        pack_sincos(at, &S, &C);
        memcpy(s + j, &S, sizeof S);
        memcpy(c + j, &C, sizeof C);
    }
    if (__builtin_expect(!SOAI_SINCOS_NEAR(squares), 0)) sincos_far(n, x, s, c);
}
#endif

#endif
