/* double_double.h  numbers with twice the precision of double: high + low, 106 bits.
 *
 * Knuth's sum and Dekker's product; no fused multiply-add is needed. About 20 operations each: only
 * for the few cases that double cannot decide. */
#ifndef SOAI_TWICE_H
#define SOAI_TWICE_H
#include <math.h>

typedef struct twice {
    double h, l;
} twice;

static inline twice twice_of(double x) {
    return (twice){x, 0};
}
static inline twice twice_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return (twice){s, (a - (s - t)) + (b - t)};
}
static inline twice twice_product(double a, double b) {
    const double p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;
    const double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
    return (twice){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
static inline twice twice_add(twice a, twice b) {
    twice s = twice_sum(a.h, b.h), t = twice_sum(a.l, b.l);
    s.l += t.h;
    const double h = s.h + s.l;
    s.l = s.l - (h - s.h) + t.l;
    const double g = h + s.l;
    return (twice){g, s.l - (g - h)};
}
static inline twice twice_minus(twice a) {
    return (twice){-a.h, -a.l};
}
static inline twice twice_sub(twice a, twice b) {
    return twice_add(a, twice_minus(b));
}
static inline twice twice_mul(twice a, twice b) {
    twice p = twice_product(a.h, b.h);
    p.l += a.h * b.l + a.l * b.h;
    const double h = p.h + p.l;
    return (twice){h, p.l - (h - p.h)};
}
static inline twice twice_div(twice a, twice b) {
    const double q = a.h / b.h;
    const twice r = twice_sub(a, twice_mul(b, twice_of(q)));
    const double q2 = r.h / b.h;
    const twice s = twice_sub(r, twice_mul(b, twice_of(q2)));
    return twice_add(twice_sum(q, q2), twice_of(s.h / b.h));
}
static inline int twice_less(twice a, twice b) {
    return a.h < b.h || (a.h == b.h && a.l < b.l);
}
static inline int twice_sign(twice a) {
    if (a.h > 0) return 1;
    if (a.h < 0) return -1;
    if (a.l > 0) return 1;
    if (a.l < 0) return -1;
    return 0;
}
/* vectors */
static inline twice twice_dot(const twice a[3], const twice b[3]) {
    return twice_add(twice_add(twice_mul(a[0], b[0]), twice_mul(a[1], b[1])),
                     twice_mul(a[2], b[2]));
}
static inline void twice_cross(const twice a[3], const twice b[3], twice out[3]) {
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = twice_sub(twice_mul(a[j], b[k]), twice_mul(a[k], b[j]));
    }
}
static inline void twice_difference(const double a[3], const double b[3], twice out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = twice_sum(a[i], -b[i]);
}
static inline void twice_vector(const double a[3], twice out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = twice_of(a[i]);
}
#endif
