/* small_algebra.h  vectors and small dense matrices in plain loops, for code whose cost lies
 *                  elsewhere. */
#ifndef SOAI_SMALL_ALGEBRA_H
#define SOAI_SMALL_ALGEBRA_H
#include <math.h>
#include <stdbool.h>

#define SOAI_PI 3.14159265358979323846

static inline double soai_dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int j = 0; j < n; ++j)
        sum += a[j] * b[j];
    return sum;
}
static inline double soai_dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double soai_norm3(const double x[3]) {
    return sqrt(soai_dot3(x, x));
}
/* out must be neither a nor b */
static inline void soai_cross3(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The product of quaternions w x y z; out may be a or b. */
static inline void soai_quaternion_mul(const double a[4], const double b[4], double out[4]) {
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w;
    out[1] = x;
    out[2] = y;
    out[3] = z;
}

/* A = L L' in place: n x n, rows `stride` numbers apart, lower triangle.  False where a pivot is at
 * most `tolerance` times the diagonal entry that it comes from: A is not positive definite, or no
 * more so than rounding makes it. */
static inline bool soai_cholesky(int n, int stride, double *A, double tolerance) {
    for (int j = 0; j < n; ++j) {
        double *row = A + stride * j;
        const double size = row[j];
        for (int m = 0; m < j; ++m)
            row[j] -= row[m] * row[m];
        if (!(row[j] > tolerance * size)) return false;
        row[j] = sqrt(row[j]);
        for (int i = j + 1; i < n; ++i) {
            double *x = A + stride * i;
            for (int m = 0; m < j; ++m)
                x[j] -= x[m] * row[m];
            x[j] /= row[j];
        }
    }
    return true;
}
/* x = (L L')^-1 x */
static inline void soai_cholesky_solve(int n, int stride, const double *L, double *x) {
    for (int i = 0; i < n; ++i) {
        for (int m = 0; m < i; ++m)
            x[i] -= L[stride * i + m] * x[m];
        x[i] /= L[stride * i + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int m = i + 1; m < n; ++m)
            x[i] -= L[stride * m + i] * x[m];
        x[i] /= L[stride * i + i];
    }
}

#endif
