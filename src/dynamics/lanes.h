/* lanes.h  states of a batch into lanes and back: number j of state l goes to lane l of real j.
 *
 * Four numbers of four states at a time are turned by shuffles; the last four overlap those before them.  So no number
 * goes through memory alone: a vector read of numbers just written one by one waits for all of them.                 */
#ifndef SOAI_LANES_H
#define SOAI_LANES_H
#include "crba.h"
#if SOAI_LANES > 1

#ifdef __has_builtin
#if SOAI_NUMBER == SOAI_DOUBLE_LANES && __has_builtin(__builtin_shufflevector)
#define SOAI_SHUFFLED 1
#endif
#endif
#ifdef SOAI_SHUFFLED
SOAI_INLINE void lanes_turn(const real a, const real b, const real c, const real d, real out[4]) {
    const real t0 = __builtin_shufflevector(a, b, 0, 4, 2, 6), t1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const real t2 = __builtin_shufflevector(c, d, 0, 4, 2, 6), t3 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    out[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5), out[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
    out[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7), out[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
/* Turned, to place `at` of four states */
SOAI_INLINE void lanes_turn_out(const real a, const real b, const real c, const real d, konst *const to[4], long at) {
    real out[4];
    lanes_turn(a, b, c, d, out);
    SOAI_UNROLL for (int l = 0; l < 4; ++l) memcpy(to[l] + at, out + l, sizeof *out);
}
SOAI_INLINE void lanes_out(const real *x, long step, konst *const to[4], long at) {
    lanes_turn_out(x[0], x[step], x[2 * step], x[3 * step], to, at);
}
#endif

/* `count` numbers of each of `states` states, `stride` apart; lanes past `states` repeat the last.  Returns 1 if all
 * numbers are finite. */
SOAI_INLINE int lanes_pack(const konst *from, long stride, int count, int states, real *to) {
    const konst *row[SOAI_LANES];
    const konst small = (konst)1e-18; /* so many numbers, each the largest there is, still have a finite sum */
    real sum[4] = {0};
    row[0] = from;
    SOAI_UNROLL for (int l = 1; l < SOAI_LANES; ++l) row[l] = row[l - 1] + (l < states ? stride : 0);
    int j = 0;
#ifdef SOAI_SHUFFLED
    for (; count >= 4 && j < count; j += 4) {
        if (j + 4 > count) j = count - 4;
        real x[4];
        SOAI_UNROLL for (int l = 0; l < 4; ++l) {
            memcpy(x + l, row[l] + j, sizeof *x);
            sum[l] += small * x[l];
        }
        lanes_turn(x[0], x[1], x[2], x[3], to + j);
    }
#endif
    for (; j < count; ++j) {
        real x;
        for (int l = 0; l < SOAI_LANES; ++l) x[l] = row[l][j];
        sum[0] += small * x;
        to[j] = x;
    }
    const real all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return pack_all(all - all == 0);
}
SOAI_INLINE void lanes_unpack(const real *from, int count, int states, konst *to, long stride) {
#ifdef SOAI_SHUFFLED
    if (states == SOAI_LANES && count >= 4) {
        konst *const all[4] = {to, to + stride, to + 2 * stride, to + 3 * stride};
        for (int j = 0; j + 4 <= count; j += 4) lanes_out(from + j, 1, all, j);
        if (count % 4) lanes_out(from + count - 4, 1, all, count - 4);
        return;
    }
#endif
    for (int j = 0; j < count; ++j)
        for (int l = 0; l < states; ++l) to[stride * l + j] = from[j][l];
}

/* The same for mass matrices, n x n, of which the lanes hold what is on or below the diagonal.  Tiles of 4 x 4 go to both
 * their places at once; where n is no multiple of four the last overlap those before. */
SOAI_INLINE void lanes_unpack_symmetric(const real *from, int n, int states, konst *to) {
    const long line = n, stride = line * line;
#ifdef SOAI_SHUFFLED
    if (states == SOAI_LANES && n >= 4) {
        const long last = n & ~3, over = n - 4;
        konst *const all[4] = {to, to + stride, to + 2 * stride, to + 3 * stride};
        for (long r = 0; r < last; r += 4) {
            const real *x = from + line * r;
            for (long c = 0; c < r; c += 4) {
                SOAI_UNROLL for (int i = 0; i < 4; ++i) lanes_out(x + line * i + c, 1, all, line * (r + i) + c);
                SOAI_UNROLL for (int i = 0; i < 4; ++i) lanes_out(x + c + i, line, all, line * (c + i) + r);
            }
            x += r;
            SOAI_UNROLL for (int i = 0; i < 4; ++i) {
#define SOAI_AT_(j) x[(j) <= i ? line * i + (j) : line * (j) + i]
                lanes_turn_out(SOAI_AT_(0), SOAI_AT_(1), SOAI_AT_(2), SOAI_AT_(3), all, line * (r + i) + r);
            }
        }
        if (last == n) return;
        const real *x = from + line * over;
        for (long r = 0; r <= over; ++r) lanes_out(x + r, line, all, line * r + over);
        x += over;
        SOAI_UNROLL for (int i = 1; i < 4; ++i) {
            lanes_turn_out(SOAI_AT_(0), SOAI_AT_(1), SOAI_AT_(2), SOAI_AT_(3), all, line * (over + i) + over);
#undef SOAI_AT_
        }
        for (long r = last; r < n; ++r)
            for (long c = 0; c < last; c += 4) lanes_out(from + line * r + c, 1, all, line * r + c);
        return;
    }
#endif
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            for (int l = 0; l < states; ++l)
                to[stride * l + line * r + c] = from[c <= r ? line * r + c : line * c + r][l];
}
/* Wrenches on the bodies, 6 numbers each, into the frame chosen for each body (level.c): 9 numbers of its axes, 3 of its
 * origin. */
SOAI_INLINE void lanes_level(const konst *frames, int bodies, real *f) {
    for (int i = 1; i <= bodies; ++i, f += 6) {
        const konst *S = frames + 12 * i;
        real t[3];
        for (int part = 0; part < 6; part += 3) {
            real *x = f + part, y[3];
            for (int j = 0; j < 3; ++j) y[j] = S[j] * x[0] + S[3 + j] * x[1] + S[6 + j] * x[2];
            for (int j = 0; j < 3; ++j) x[j] = y[j];
        }
        v3_cross_k(f + 3, S + 9, t);
        for (int j = 0; j < 3; ++j) f[j] += t[j]; /* n - d x f */
    }
}

#endif
#endif
