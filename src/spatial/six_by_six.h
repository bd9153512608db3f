/* six_by_six.h  6 x 6 matrices as 36 numbers, row by row, in plain loops: for algorithms where
 * clarity matters more than speed. */
#ifndef SOAI_SIX_H
#define SOAI_SIX_H
#include "algebra.h"
#include <math.h>

/* phi of a frame: [R, [p]R; 0, R], R87 (2) with the rotation that the papers leave out. */
static inline void six_phi(const double R[9], const double p[3], double X[36]) {
    for (int c = 0; c < 6; ++c) {
        double e[6] = {0}, y[6] = {0};
        e[c] = 1;
        force_in_add(R, p, e, y);
        for (int r = 0; r < 6; ++r)
            X[6 * r + c] = y[r];
    }
}
/* Rigid inertia m, h, I as a matrix, R87 (1). */
static inline void six_rigid(const double M[10], double out[36]) {
    for (int c = 0; c < 6; ++c) {
        double e[6] = {0}, y[6];
        e[c] = 1;
        rigid_mul_k(M, e, y);
        for (int r = 0; r < 6; ++r)
            out[6 * r + c] = y[r];
    }
}
/* A x and A'x; out must not be x */
static inline void six_mul(const double A[36], const double x[6], double out[6]) {
    for (int r = 0; r < 6; ++r)
        out[r] = v6_dot(A + 6 * r, x);
}
static inline void six_tmul(const double A[36], const double x[6], double out[6]) {
    v6_zero(out);
    for (int r = 0; r < 6; ++r)
        v6_add_scaled(x[r], A + 6 * r, out);
}
/* A B and A B'; out must not be A or B */
static inline void six_six(const double A[36], const double B[36], double out[36]) {
    for (int r = 0; r < 6; ++r)
        six_tmul(B, A + 6 * r, out + 6 * r);
}
static inline void six_six_t(const double A[36], const double B[36], double out[36]) {
    for (int r = 0; r < 6; ++r)
        six_mul(B, A + 6 * r, out + 6 * r);
}
/* Copies the upper triangle to the lower. */
static inline void six_mirror(double A[36]) {
    for (int r = 1; r < 6; ++r)
        for (int c = 0; c < r; ++c)
            A[6 * r + c] = A[6 * c + r];
}

/* x = A^-1 x for `count` right-hand sides of 6 numbers each, A symmetric positive definite. A is
 * scaled to a unit diagonal, because its rows have different units, and factored as L d L'. Returns
 * 0 and writes nothing if A does not have full rank to 1e-12. */
static inline int six_solve(const double A[36], double *x, int count) {
    double L[36], s[6];
    for (int i = 0; i < 6; ++i) {
        if (!(A[7 * i] > 0)) return 0;
        s[i] = 1 / sqrt(A[7 * i]);
    }
    for (int i = 0; i < 36; ++i)
        L[i] = A[i] * s[i / 6] * s[i % 6];
    for (int j = 0; j < 6; ++j) {
        for (int m = 0; m < j; ++m)
            L[7 * j] -= L[6 * j + m] * L[6 * j + m] * L[7 * m];
        if (!(L[7 * j] > 1e-12)) return 0;
        for (int i = j + 1; i < 6; ++i) {
            for (int m = 0; m < j; ++m)
                L[6 * i + j] -= L[6 * i + m] * L[6 * j + m] * L[7 * m];
            L[6 * i + j] /= L[7 * j];
        }
    }
    for (int k = 0; k < count; ++k, x += 6) {
        for (int i = 0; i < 6; ++i) {
            x[i] *= s[i];
            for (int m = 0; m < i; ++m)
                x[i] -= L[6 * i + m] * x[m];
        }
        for (int i = 0; i < 6; ++i)
            x[i] /= L[7 * i];
        for (int i = 5; i >= 0; --i) {
            for (int m = i + 1; m < 6; ++m)
                x[i] -= L[6 * m + i] * x[m];
        }
        for (int i = 0; i < 6; ++i)
            x[i] *= s[i];
    }
    return 1;
}

#endif
