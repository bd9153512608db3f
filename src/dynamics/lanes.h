/* lanes.h  states of a batch into lanes and back: number j of state l goes to lane l of real j.
 *
 * Four numbers of four states at a time are turned by shuffles; the last four overlap those before them.  So no number
 * goes through memory alone: a vector read of numbers just written one by one waits for all of them.                 */
#ifndef SOAI_LANES_H
#define SOAI_LANES_H
#include "../spatial/real.h"
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
    for (int l = 0; l < SOAI_LANES; ++l) row[l] = from + stride * (l < states ? l : states - 1);
    int j = 0, fine = 1;
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
    for (int l = 0; l < SOAI_LANES; ++l) fine &= sum[l] == 0;
    return fine;
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

#endif
#endif
