/* soa/taylor.h  truncated Taylor series: numbers with their derivatives along one direction
 *               (WD89's epsilon-algebra).
 *
 * x = c[0] + c[1] e + ... + c[order] e^order, e^(order + 1) = 0.  Write a function once with
 * soa_taylor, evaluate it at Q + Qdot e + Qddot e^2 / 2, and the result contains its value, rate
 * and second rate, exact to rounding.  Plain values: no work space, no status.  If a function has
 * no such series (1/0, the square root of 0, the logarithm of a negative number), coefficients are
 * NaN or infinite.  The result of two numbers has the larger order; the other number counts as
 * exact, that is, its higher coefficients are 0.  O(order^2). */
#ifndef SOA_TAYLOR_H
#define SOA_TAYLOR_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SOA_TAYLOR_MOST = 8 };
typedef struct soa_taylor {
    int order; /* 0 to SOA_TAYLOR_MOST */
    double c[SOA_TAYLOR_MOST + 1];
} soa_taylor;

/* A constant, of order 0; it combines with any order. */
SOA_API soa_taylor soa_taylor_constant(double x);
/* x + d e; an order outside 0 to SOA_TAYLOR_MOST is moved to the nearest of these. */
SOA_API soa_taylor soa_taylor_variable(int order, double x, double d);
/* The k-th derivative at e = 0, k! c[k]; 0 if there is no such coefficient. */
SOA_API double soa_taylor_derivative(soa_taylor x, int k);

SOA_API soa_taylor soa_taylor_add(soa_taylor a, soa_taylor b);
SOA_API soa_taylor soa_taylor_sub(soa_taylor a, soa_taylor b);
SOA_API soa_taylor soa_taylor_mul(soa_taylor a, soa_taylor b);
SOA_API soa_taylor soa_taylor_div(soa_taylor a, soa_taylor b);
SOA_API soa_taylor soa_taylor_scale(double s, soa_taylor a);                 /* s a */
SOA_API soa_taylor soa_taylor_affine(double s, soa_taylor a, double offset); /* s a + offset */
SOA_API soa_taylor soa_taylor_sqrt(soa_taylor a);
SOA_API soa_taylor soa_taylor_hypot(soa_taylor a, soa_taylor b);
/* a > 0, or any a if `power` is a whole number. */
SOA_API soa_taylor soa_taylor_pow(soa_taylor a, double power);
SOA_API soa_taylor soa_taylor_exp(soa_taylor a);
SOA_API soa_taylor soa_taylor_log(soa_taylor a);
SOA_API soa_taylor soa_taylor_sin(soa_taylor a);
SOA_API soa_taylor soa_taylor_cos(soa_taylor a);
SOA_API soa_taylor soa_taylor_tan(soa_taylor a);
SOA_API soa_taylor soa_taylor_asin(soa_taylor a);
SOA_API soa_taylor soa_taylor_acos(soa_taylor a);
SOA_API soa_taylor soa_taylor_atan(soa_taylor a);
SOA_API soa_taylor soa_taylor_atan2(soa_taylor y, soa_taylor x);

#ifdef __cplusplus
}
#endif
#endif
