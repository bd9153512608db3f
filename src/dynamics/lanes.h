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
#endif

/* `count` numbers of each of `states` states, `stride` apart; lanes past `states` repeat the last.  Returns 1 if all
 * numbers are finite. */
SOAI_INLINE int lanes_pack(const konst *from, long stride, int count, int states, real *to) {
    const konst *row[SOAI_LANES];
    real sum = {0}; /* of x - x: zero, or NaN where a number is not finite */
    row[0] = from;
    SOAI_UNROLL for (int l = 1; l < SOAI_LANES; ++l) row[l] = row[l - 1] + (l < states ? stride : 0);
    int j = 0;
#ifdef SOAI_SHUFFLED
    for (int next = 0; count >= 4 && next < count; next += 4) {
        j = next + 4 <= count ? next : count - 4;
        real a, b, c, d;
        memcpy(&a, row[0] + j, sizeof a), memcpy(&b, row[1] + j, sizeof b);
        memcpy(&c, row[2] + j, sizeof c), memcpy(&d, row[3] + j, sizeof d);
        sum += ((a - a) + (b - b)) + ((c - c) + (d - d));
        lanes_turn(a, b, c, d, to + j);
        j += 4;
    }
#endif
    for (; j < count; ++j) {
        real x;
        for (int l = 0; l < SOAI_LANES; ++l) x[l] = row[l][j];
        sum += x - x;
        to[j] = x;
    }
    return pack_all(sum == 0);
}
SOAI_INLINE void lanes_unpack(const real *from, int count, int states, konst *to, long stride) {
#ifdef SOAI_SHUFFLED
    for (int next = 0; states == SOAI_LANES && count >= 4 && next < count; next += 4) {
        const int j = next + 4 <= count ? next : count - 4;
        real out[4];
        lanes_turn(from[j], from[j + 1], from[j + 2], from[j + 3], out);
        SOAI_UNROLL for (int l = 0; l < 4; ++l) memcpy(to + stride * l + j, out + l, sizeof *out);
    }
    if (states == SOAI_LANES && count >= 4) return;
#endif
    for (int j = 0; j < count; ++j)
        for (int l = 0; l < states; ++l) to[stride * l + j] = from[j][l];
}

/* The same for mass matrices, n x n: of large ones only what is on or below the diagonal stands in the lanes. */
SOAI_INLINE void lanes_unpack_symmetric(const real *from, int n, int states, konst *to) {
#define SOAI_AT_(r, c) from[(c) <= (r) ? (long)n * (r) + (c) : (long)n * (c) + (r)]
    const long stride = (long)n * n;
    if (n <= MASS_SMALL) { /* all of it stands there */
        lanes_unpack(from, n * n, states, to, stride);
        return;
    }
#ifdef SOAI_SHUFFLED
    for (int r = 0; states == SOAI_LANES && r < n; ++r)
        for (int next = 0; next < n; next += 4) {
            const int c = next + 4 <= n ? next : n - 4;
            real out[4];
            lanes_turn(SOAI_AT_(r, c), SOAI_AT_(r, c + 1), SOAI_AT_(r, c + 2), SOAI_AT_(r, c + 3), out);
            SOAI_UNROLL for (int l = 0; l < 4; ++l) memcpy(to + stride * l + (long)n * r + c, out + l, sizeof *out);
        }
    if (states == SOAI_LANES) return;
#endif
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            for (int l = 0; l < states; ++l) to[stride * l + (long)n * r + c] = SOAI_AT_(r, c)[l];
#undef SOAI_AT_
}
/* Wrenches on the bodies, 6 numbers each, into the axes chosen for each body (level.c). */
SOAI_INLINE void lanes_level(const konst *axes, int bodies, real *f) {
    for (int i = 1; i <= bodies; ++i)
        for (int part = 0; part < 6; part += 3) {
            const konst *S = axes + 9 * i;
            real *x = f + 6 * (i - 1) + part, y[3];
            for (int j = 0; j < 3; ++j) y[j] = S[j] * x[0] + S[3 + j] * x[1] + S[6 + j] * x[2];
            for (int j = 0; j < 3; ++j) x[j] = y[j];
        }
}

#endif
#endif
