/* lanes.h  states of a batch into lanes and back: number j of state l goes to lane l of real j.
 *
 * Four numbers of four states at a time are turned by shuffles; the last four overlap those before
 * them.  So no number goes through memory alone: a vector read of numbers just written one by one
 * waits for all of them. */
#ifndef SOAI_LANES_H
#define SOAI_LANES_H
#include "crba.h"
#if SOAI_LANES > 1

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define SOAI_SHUFFLED 1
#endif
#endif
#ifdef SOAI_SHUFFLED
typedef konst lanes_four __attribute__((vector_size(4 * sizeof(konst))));
/* Four numbers of each of four states, turned: four states of each of four numbers; and the other
 * way round.  Halves of registers come from memory, which saves half of the shuffles. */
SOAI_INLINE void lanes_turn_rows(const konst *const row[4], lanes_four out[4]) {
    typedef konst lanes_two __attribute__((vector_size(2 * sizeof(konst))));
    SOAI_UNROLL
    for (int i = 0; i < 4; i += 2) {
        lanes_two x[4];
        SOAI_UNROLL
        for (int j = 0; j < 4; ++j)
            memcpy(x + j, row[j] + i, sizeof *x);
        const lanes_four even = __builtin_shufflevector(x[0], x[2], 0, 1, 2, 3);
        const lanes_four odd = __builtin_shufflevector(x[1], x[3], 0, 1, 2, 3);
        out[i] = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
        out[i + 1] = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
    }
}
/* Four numbers in lanes to places `at` ... of every state; and four that stand `step` apart. */
SOAI_INLINE void lanes_out(const real *const x[4], konst *const *state, long at) {
    SOAI_UNROLL
    for (int l = 0; l < SOAI_LANES; l += 4) {
        const konst *const row[4] = {(const konst *)x[0] + l, (const konst *)x[1] + l,
                                     (const konst *)x[2] + l, (const konst *)x[3] + l};
        lanes_four y[4];
        lanes_turn_rows(row, y);
        SOAI_UNROLL
        for (int j = 0; j < 4; ++j)
            memcpy(state[l + j] + at, y + j, sizeof *y);
    }
}
SOAI_INLINE void lanes_out_row(const real *x, long step, konst *const *state, long at) {
    const real *const four[4] = {x, x + step, x + 2 * step, x + 3 * step};
    lanes_out(four, state, at);
}
#endif

/* generated code, AVX-512 */
#if SOAI_NUMBER == SOAI_DOUBLE_LANES && SOAI_LANES == 8 && defined(SOAI_SHUFFLED)
#define SOAI_BY_EIGHT 1
/* Eight numbers of each of eight rows, turned: number i of row j to place j of row i, those
 * `stride` apart.  Halves of registers come from memory, for shuffles of registers wait for one
 * another. */
SOAI_INLINE void lanes_turn_eight(const konst *const row[8], konst *to, long stride) {
    SOAI_UNROLL
    for (int i = 0; i < 8; i += 4, to += 4 * stride) {
        real r[4], out[4]; /* r: numbers i ... i + 3 of rows j and 4 + j */
        SOAI_UNROLL
        for (int j = 0; j < 4; ++j) {
            const __m512d low = _mm512_castpd256_pd512(_mm256_loadu_pd(row[j] + i));
            r[j] = (real)_mm512_insertf64x4(low, _mm256_loadu_pd(row[4 + j] + i), 1);
        }
        SOAI_UNROLL
        for (int j = 0; j < 2; ++j) {
            const real a =
                (real)(j ? _mm512_unpackhi_pd(r[0], r[1]) : _mm512_unpacklo_pd(r[0], r[1]));
            const real b =
                (real)(j ? _mm512_unpackhi_pd(r[2], r[3]) : _mm512_unpacklo_pd(r[2], r[3]));
            out[j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            out[2 + j] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
        SOAI_UNROLL
        for (int j = 0; j < 4; ++j)
            memcpy(to + stride * j, out + j, sizeof *out);
    }
}
#endif

/* `count` numbers of each of `states` states, `stride` apart; lanes past `states` repeat the last.
 * Returns 1 if all numbers are finite. */
SOAI_INLINE int lanes_pack(const konst *from, long stride, int count, int states, real *to) {
    const konst *row[SOAI_LANES];
    /* so many numbers, each the largest there is, still have a finite sum */
    const konst small = (konst)1e-18;
    real sum[4] = {0};
    row[0] = from;
    SOAI_UNROLL
    for (int l = 1; l < SOAI_LANES; ++l)
        row[l] = row[l - 1] + (l < states ? stride : 0);
    int j = 0;
#ifdef SOAI_BY_EIGHT
    for (; count >= 8 && j < count; j += 8) {
        const konst *at[8];
        if (j + 8 > count) j = count - 8;
        SOAI_UNROLL
        for (int l = 0; l < 8; ++l)
            at[l] = row[l] + j;
        lanes_turn_eight(at, (konst *)(to + j), SOAI_LANES);
        SOAI_UNROLL
        for (int i = 0; i < 8; ++i)
            sum[i % 4] += small * to[j + i];
    }
#endif
#ifdef SOAI_SHUFFLED
    for (; count >= 4 && j < count; j += 4) {
        if (j + 4 > count) j = count - 4;
        lanes_four x[SOAI_LANES];
        SOAI_UNROLL
        for (int l = 0; l < SOAI_LANES; l += 4) {
            const konst *const at[4] = {row[l] + j, row[l + 1] + j, row[l + 2] + j, row[l + 3] + j};
            lanes_turn_rows(at, x + l);
        }
        SOAI_UNROLL
        for (int i = 0; i < 4; ++i) {
#if SOAI_LANES == 4
            to[j + i] = x[i];
#else
            to[j + i] = __builtin_shufflevector(x[i], x[4 + i], 0, 1, 2, 3, 4, 5, 6, 7);
#endif
            sum[i] += small * to[j + i];
        }
    }
#endif
    for (; j < count; ++j) {
        real x;
        for (int l = 0; l < SOAI_LANES; ++l)
            x[l] = row[l][j];
        sum[0] += small * x;
        to[j] = x;
    }
    const real all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return pack_all(all - all == 0); /* NOLINT(misc-redundant-expression): false for inf and NaN */
}
SOAI_INLINE void lanes_unpack(const real *from, int count, int states, konst *to, long stride) {
#ifdef SOAI_BY_EIGHT
    for (int j = 0; states == 8 && count >= 8; j += 8) {
        const konst *at[8];
        if (j + 8 > count) j = count - 8;
        SOAI_UNROLL
        for (int i = 0; i < 8; ++i)
            at[i] = (const konst *)(from + j + i);
        lanes_turn_eight(at, to + j, stride);
        if (j + 8 == count) return;
    }
#endif
#ifdef SOAI_SHUFFLED
    if (states == SOAI_LANES && count >= 4) {
        konst *state[SOAI_LANES];
        SOAI_UNROLL
        for (int l = 0; l < SOAI_LANES; ++l)
            state[l] = to + stride * l;
        for (int j = 0; j + 4 <= count; j += 4)
            lanes_out_row(from + j, 1, state, j);
        if (count % 4) lanes_out_row(from + count - 4, 1, state, count - 4);
        return;
    }
#endif
    for (int j = 0; j < count; ++j)
        for (int l = 0; l < states; ++l)
            to[stride * l + j] = from[j][l];
}

/* The same for mass matrices, n x n, of which, if large, the lanes hold what is on or below the
 * diagonal.  Row by row, so that lines of the cache fill one after the other; those of later rows
 * are asked for, since matrices of a batch stand further away. */
SOAI_INLINE void lanes_unpack_symmetric(const real *from, int n, int states, konst *to) {
    const long line = n, stride = line * line;
    if (n <= MASS_SMALL) { /* they hold all of it */
        lanes_unpack(from, n * n, states, to, stride);
        return;
    }
#ifdef SOAI_SHUFFLED
    if (states == SOAI_LANES) {
        enum { AHEAD = 1 }; /* rows */
        for (long r = 0; r < n; ++r, to += line) {
            const real *row = from + line * r, *column = from + r;
            konst *state[SOAI_LANES];
            long c = 0;
            SOAI_UNROLL
            for (int l = 0; l < SOAI_LANES; ++l)
                state[l] = to + stride * l;
            for (size_t at = 0; at < sizeof(konst) * (size_t)n; at += 64)
                SOAI_UNROLL
            for (int l = 0; l < SOAI_LANES; ++l)
                __builtin_prefetch((const char *)(state[l] + AHEAD * line) + at);
            for (; c + 3 <= r; c += 4)
                lanes_out_row(row + c, 1, state, c);
            const real *x = column + line * c;
            for (; c < n; c += 4, x += 4 * line) {
                if (c + 4 > n) {
                    x -= line * (c + 4 - n);
                    c = n - 4; /* overlaps those before */
                }
                if (c < r) {
                    const real *four[4];
                    SOAI_UNROLL
                    for (int j = 0; j < 4; ++j)
                        four[j] = c + j <= r ? row + c + j : x + line * j;
                    lanes_out(four, state, c);
                } else {
                    lanes_out_row(x, line, state, c);
                }
            }
        }
        return;
    }
#endif
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            for (int l = 0; l < states; ++l)
                to[stride * l + line * r + c] = from[c <= r ? line * r + c : line * c + r][l];
}
/* Eight numbers that stand anywhere in the lanes, to places 0 ... 7 of every state, states `stride`
 * apart. */
SOAI_INLINE void lanes_leave(const real *const x[8], konst *to, long stride) {
#ifdef SOAI_BY_EIGHT
    const konst *row[8];
    SOAI_UNROLL
    for (int j = 0; j < 8; ++j)
        row[j] = (const konst *)x[j];
    lanes_turn_eight(row, to, stride);
#elif defined(SOAI_SHUFFLED)
    konst *state[SOAI_LANES];
    SOAI_UNROLL
    for (int l = 0; l < SOAI_LANES; ++l)
        state[l] = to + stride * l;
    lanes_out(x, state, 0);
    lanes_out(x + 4, state, 4);
#else
    for (int l = 0; l < SOAI_LANES; ++l)
        for (int j = 0; j < 8; ++j)
            to[stride * l + j] = (*x[j])[l];
#endif
}
/* Wrenches on the bodies, 6 numbers each, into the frame chosen for each body (aligned_frames.c): 9
 * numbers of its axes, 3 of its origin. */
SOAI_INLINE void lanes_level(const konst *frames, int bodies, real *f) {
    for (int i = 1; i <= bodies; ++i, f += 6) {
        const konst *S = frames + 12 * i;
        real t[3];
        for (int part = 0; part < 6; part += 3) {
            real *x = f + part, y[3];
            for (int j = 0; j < 3; ++j)
                y[j] = S[j] * x[0] + S[3 + j] * x[1] + S[6 + j] * x[2];
            for (int j = 0; j < 3; ++j)
                x[j] = y[j];
        }
        v3_cross_k(f + 3, S + 9, t);
        for (int j = 0; j < 3; ++j)
            f[j] += t[j]; /* n - d x f */
    }
}

#endif
#endif
