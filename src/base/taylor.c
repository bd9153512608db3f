/* taylor.c  truncated Taylor arithmetic by the usual recurrences (Griewank & Walther, Evaluating
 * Derivatives, table 13.2). Each coefficient follows from the ones before it; one operation costs
 * O(order^2). */
#include "soa/taylor.h"
#include <math.h>

static soa_taylor blank(soa_taylor a, soa_taylor b) {
    soa_taylor z = {0};
    z.order = a.order > b.order ? a.order : b.order;
    if (z.order < 0) z.order = 0;
    if (z.order > SOA_TAYLOR_MOST) z.order = SOA_TAYLOR_MOST;
    return z;
}
/* Coefficient k; zero above the order of a. */
static double at(const soa_taylor *a, int k) {
    return k <= a->order ? a->c[k] : 0;
}

soa_taylor soa_taylor_constant(double x) {
    soa_taylor z = {0};
    z.c[0] = x;
    return z;
}
soa_taylor soa_taylor_variable(int order, double x, double d) {
    soa_taylor z = {0};
    if (order < 0) {
        z.order = 0;
    } else if (order > SOA_TAYLOR_MOST) {
        z.order = SOA_TAYLOR_MOST;
    } else {
        z.order = order;
    }
    z.c[0] = x;
    if (z.order) z.c[1] = d;
    return z;
}
double soa_taylor_derivative(soa_taylor x, int k) {
    if (k < 0 || k > SOA_TAYLOR_MOST) return 0;
    double y = at(&x, k);
    for (int i = 2; i <= k; ++i)
        y *= i;
    return y;
}

soa_taylor soa_taylor_affine(double s, soa_taylor a, double offset) {
    for (int k = 0; k <= a.order; ++k)
        a.c[k] *= s;
    a.c[0] += offset;
    return a;
}
soa_taylor soa_taylor_scale(double s, soa_taylor a) {
    return soa_taylor_affine(s, a, 0);
}
soa_taylor soa_taylor_add(soa_taylor a, soa_taylor b) {
    soa_taylor z = blank(a, b);
    for (int k = 0; k <= z.order; ++k)
        z.c[k] = at(&a, k) + at(&b, k);
    return z;
}
soa_taylor soa_taylor_sub(soa_taylor a, soa_taylor b) {
    soa_taylor z = blank(a, b);
    for (int k = 0; k <= z.order; ++k)
        z.c[k] = at(&a, k) - at(&b, k);
    return z;
}
soa_taylor soa_taylor_mul(soa_taylor a, soa_taylor b) {
    soa_taylor z = blank(a, b);
    for (int k = 0; k <= z.order; ++k)
        for (int i = 0; i <= k; ++i)
            z.c[k] += at(&a, i) * at(&b, k - i);
    return z;
}
soa_taylor soa_taylor_div(soa_taylor a, soa_taylor b) {
    soa_taylor z = blank(a, b);
    for (int k = 0; k <= z.order; ++k) {
        double sum = at(&a, k);
        for (int i = 1; i <= k; ++i)
            sum -= at(&b, i) * z.c[k - i];
        z.c[k] = sum / b.c[0];
    }
    return z;
}
soa_taylor soa_taylor_sqrt(soa_taylor a) {
    soa_taylor z = blank(a, a);
    z.c[0] = sqrt(a.c[0]);
    for (int k = 1; k <= z.order; ++k) {
        double sum = a.c[k];
        for (int i = 1; i < k; ++i)
            sum -= z.c[i] * z.c[k - i];
        z.c[k] = sum / (2 * z.c[0]);
    }
    return z;
}
soa_taylor soa_taylor_hypot(soa_taylor a, soa_taylor b) {
    return soa_taylor_sqrt(soa_taylor_add(soa_taylor_mul(a, a), soa_taylor_mul(b, b)));
}
soa_taylor soa_taylor_pow(soa_taylor a, double power) {
    soa_taylor z = blank(a, a);
    if (power >= 0 && power <= 64 && power == floor(power)) { /* valid also for a <= 0 */
        soa_taylor square = a;
        z.c[0] = 1;
        for (int n = (int)power; n; n >>= 1, square = soa_taylor_mul(square, square))
            if (n & 1) z = soa_taylor_mul(z, square);
        return z;
    }
    z.c[0] = pow(a.c[0], power);
    for (int k = 1; k <= z.order; ++k) { /* z' a = power a' z */
        double sum = 0;
        for (int i = 1; i <= k; ++i)
            sum += (power * i - (k - i)) * a.c[i] * z.c[k - i];
        z.c[k] = sum / (k * a.c[0]);
    }
    return z;
}
soa_taylor soa_taylor_exp(soa_taylor a) {
    soa_taylor z = blank(a, a);
    z.c[0] = exp(a.c[0]);
    for (int k = 1; k <= z.order; ++k) {
        for (int i = 1; i <= k; ++i)
            z.c[k] += i * a.c[i] * z.c[k - i];
        z.c[k] /= k;
    }
    return z;
}

/* value + integral of slope: z' = slope */
static soa_taylor integral(double value, soa_taylor slope, int order) {
    soa_taylor z = {0};
    z.order = order;
    z.c[0] = value;
    for (int k = 1; k <= order; ++k)
        z.c[k] = at(&slope, k - 1) / k;
    return z;
}
static soa_taylor rate(soa_taylor a) {
    soa_taylor z = {0};
    z.order = a.order;
    for (int k = 0; k < a.order; ++k)
        z.c[k] = (k + 1) * a.c[k + 1];
    return z;
}

soa_taylor soa_taylor_log(soa_taylor a) {
    return integral(log(a.c[0]), soa_taylor_div(rate(a), a), a.order);
}
static void sin_cos(soa_taylor a, soa_taylor *s, soa_taylor *c) {
    *s = *c = blank(a, a);
    s->c[0] = sin(a.c[0]);
    c->c[0] = cos(a.c[0]);
    for (int k = 1; k <= a.order; ++k) {
        for (int i = 1; i <= k; ++i) {
            s->c[k] += i * a.c[i] * c->c[k - i];
            c->c[k] -= i * a.c[i] * s->c[k - i];
        }
        s->c[k] /= k;
        c->c[k] /= k;
    }
}
soa_taylor soa_taylor_sin(soa_taylor a) {
    soa_taylor s, c;
    sin_cos(a, &s, &c);
    return s;
}
soa_taylor soa_taylor_cos(soa_taylor a) {
    soa_taylor s, c;
    sin_cos(a, &s, &c);
    return c;
}
soa_taylor soa_taylor_tan(soa_taylor a) {
    soa_taylor s, c;
    sin_cos(a, &s, &c);
    return soa_taylor_div(s, c);
}
soa_taylor soa_taylor_asin(soa_taylor a) {
    const soa_taylor across = soa_taylor_sqrt(soa_taylor_affine(-1, soa_taylor_mul(a, a), 1));
    return integral(asin(a.c[0]), soa_taylor_div(rate(a), across), a.order);
}
soa_taylor soa_taylor_acos(soa_taylor a) {
    soa_taylor z = soa_taylor_scale(-1, soa_taylor_asin(a));
    z.c[0] = acos(a.c[0]);
    return z;
}
soa_taylor soa_taylor_atan(soa_taylor a) {
    return integral(atan(a.c[0]),
                    soa_taylor_div(rate(a), soa_taylor_affine(1, soa_taylor_mul(a, a), 1)),
                    a.order);
}
soa_taylor soa_taylor_atan2(soa_taylor y, soa_taylor x) {
    const soa_taylor turn = soa_taylor_sub(soa_taylor_mul(x, rate(y)), soa_taylor_mul(y, rate(x)));
    const soa_taylor size = soa_taylor_add(soa_taylor_mul(x, x), soa_taylor_mul(y, y));
    return integral(atan2(y.c[0], x.c[0]), soa_taylor_div(turn, size), blank(x, y).order);
}
