/* algebra.h  spatial algebra over `real`: 3-vectors, rotations, 6-vectors, inertias.
 *
 * 6-vectors are angular part first.  R is row by row and takes child axes to parent axes; p is the child's origin in
 * the parent.  phi(parent, child) takes forces inward, phi* takes motions outward (RK88-I (2.16), with the rotation
 * that the papers leave out):
 *     phi f  = [R n + p x R f;  R f]         phi* V = [R'w;  R'(v + w x p)]
 * Symmetric 3 x 3: xx yy zz xy xz yz.
 * Rigid inertia, 10 numbers: m, h = m c (3), I about the origin (6):   M V = [I w + h x v;  m v - h x w]   (2.15)
 * Articulated inertia, 21 numbers, symmetric by construction: A (6), C (6), B (9):   P V = [A w + B v;  B'w + C v]   */
#ifndef SOAI_ALGEBRA_H
#define SOAI_ALGEBRA_H
#include "real.h"

enum { XX, YY, ZZ, XY, XZ, YZ };

/* a x b */
SOAI_INLINE void v3_cross(const real a[3], const real b[3], real out[3]) {
    const real x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}
SOAI_INLINE void v3_cross_add(const real a[3], const real b[3], real out[3]) {
    out[0] += a[1] * b[2] - a[2] * b[1], out[1] += a[2] * b[0] - a[0] * b[2], out[2] += a[0] * b[1] - a[1] * b[0];
}
/* a x k with k a constant of the model */
SOAI_INLINE void v3_cross_k(const real a[3], const konst k[3], real out[3]) {
    out[0] = a[1] * k[2] - a[2] * k[1], out[1] = a[2] * k[0] - a[0] * k[2], out[2] = a[0] * k[1] - a[1] * k[0];
}
SOAI_INLINE real v3_dot(const real a[3], const real b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
SOAI_INLINE real v6_dot(const real a[6], const real b[6]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}
SOAI_INLINE void v6_zero(real a[6]) {
    SOAI_UNROLL for (int i = 0; i < 6; ++i) a[i] = REAL(0);
}
SOAI_INLINE void v6_copy(const real a[6], real out[6]) {
    SOAI_UNROLL for (int i = 0; i < 6; ++i) out[i] = a[i];
}
/* out += s a */
SOAI_INLINE void v6_add_scaled(real s, const real a[6], real out[6]) {
    SOAI_UNROLL for (int i = 0; i < 6; ++i) out[i] += s * a[i];
}

/* R x and R' x; out may be x */
SOAI_INLINE void rot_mul(const real R[9], const real x[3], real out[3]) {
    const real a = R[0] * x[0] + R[1] * x[1] + R[2] * x[2];
    const real b = R[3] * x[0] + R[4] * x[1] + R[5] * x[2];
    const real c = R[6] * x[0] + R[7] * x[1] + R[8] * x[2];
    out[0] = a, out[1] = b, out[2] = c;
}
SOAI_INLINE void rot_tmul(const real R[9], const real x[3], real out[3]) {
    const real a = R[0] * x[0] + R[3] * x[1] + R[6] * x[2];
    const real b = R[1] * x[0] + R[4] * x[1] + R[7] * x[2];
    const real c = R[2] * x[0] + R[5] * x[1] + R[8] * x[2];
    out[0] = a, out[1] = b, out[2] = c;
}
/* A B; out must be neither */
SOAI_INLINE void rot_rot(const real A[9], const real B[9], real out[9]) {
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL for (int j = 0; j < 3; ++j) out[3 * i + j] =
            A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    }
}
/* Rotation of a unit quaternion w x y z (body axes to parent axes). */
SOAI_INLINE void rot_quaternion(const real e[4], real R[9]) {
    const real w = e[0], x = e[1], y = e[2], z = e[3];
    const real x2 = x + x, y2 = y + y, z2 = z + z;
    R[0] = REAL(1) - (y * y2 + z * z2), R[1] = x * y2 - w * z2, R[2] = x * z2 + w * y2;
    R[3] = x * y2 + w * z2, R[4] = REAL(1) - (x * x2 + z * z2), R[5] = y * z2 - w * x2;
    R[6] = x * z2 - w * y2, R[7] = y * z2 + w * x2, R[8] = REAL(1) - (x * x2 + y * y2);
}
/* R S R' for symmetric S */
SOAI_INLINE void sym_rotate(const real R[9], const real S[6], real out[6]) {
    real T[9];
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        const real a = R[3 * i], b = R[3 * i + 1], c = R[3 * i + 2];
        T[3 * i] = a * S[XX] + b * S[XY] + c * S[XZ];
        T[3 * i + 1] = a * S[XY] + b * S[YY] + c * S[YZ];
        T[3 * i + 2] = a * S[XZ] + b * S[YZ] + c * S[ZZ];
    }
    out[XX] = T[0] * R[0] + T[1] * R[1] + T[2] * R[2];
    out[YY] = T[3] * R[3] + T[4] * R[4] + T[5] * R[5];
    out[ZZ] = T[6] * R[6] + T[7] * R[7] + T[8] * R[8];
    out[XY] = T[0] * R[3] + T[1] * R[4] + T[2] * R[5];
    out[XZ] = T[0] * R[6] + T[1] * R[7] + T[2] * R[8];
    out[YZ] = T[3] * R[6] + T[4] * R[7] + T[5] * R[8];
}
SOAI_INLINE void sym_mul(const real S[6], const real x[3], real out[3]) {
    const real a = S[XX] * x[0] + S[XY] * x[1] + S[XZ] * x[2];
    const real b = S[XY] * x[0] + S[YY] * x[1] + S[YZ] * x[2];
    const real c = S[XZ] * x[0] + S[YZ] * x[1] + S[ZZ] * x[2];
    out[0] = a, out[1] = b, out[2] = c;
}

/* phi* V: motion of the parent, seen in the child.  Out may be V. */
SOAI_INLINE void motion_out(const real R[9], const real p[3], const real V[6], real out[6]) {
    real v[3];
    v3_cross(V, p, v);
    v[0] += V[3], v[1] += V[4], v[2] += V[5];
    rot_tmul(R, V, out);
    rot_tmul(R, v, out + 3);
}
/* out += phi f: force of the child, added to the parent's. */
SOAI_INLINE void force_in_add(const real R[9], const real p[3], const real f[6], real out[6]) {
    real n[3], g[3];
    rot_mul(R, f, n);
    rot_mul(R, f + 3, g);
    v3_cross_add(p, g, n);
    out[0] += n[0], out[1] += n[1], out[2] += n[2];
    out[3] += g[0], out[4] += g[1], out[5] += g[2];
}
/* V x A, motions */
SOAI_INLINE void cross_motion(const real V[6], const real A[6], real out[6]) {
    real w[3], v[3];
    v3_cross(V, A, w);
    v3_cross(V, A + 3, v);
    v3_cross_add(V + 3, A, v);
    out[0] = w[0], out[1] = w[1], out[2] = w[2], out[3] = v[0], out[4] = v[1], out[5] = v[2];
}
/* V x* f, motion with force */
SOAI_INLINE void cross_force(const real V[6], const real f[6], real out[6]) {
    real n[3], g[3];
    v3_cross(V, f, n);
    v3_cross_add(V + 3, f + 3, n);
    v3_cross(V, f + 3, g);
    out[0] = n[0], out[1] = n[1], out[2] = n[2], out[3] = g[0], out[4] = g[1], out[5] = g[2];
}

/* M V for a rigid inertia given as constants m, h[3], I[6]. */
SOAI_INLINE void rigid_mul_k(const konst *M, const real V[6], real f[6]) {
    const konst m = M[0], *h = M + 1, *I = M + 4;
    f[0] = I[XX] * V[0] + I[XY] * V[1] + I[XZ] * V[2] + (h[1] * V[5] - h[2] * V[4]);
    f[1] = I[XY] * V[0] + I[YY] * V[1] + I[YZ] * V[2] + (h[2] * V[3] - h[0] * V[5]);
    f[2] = I[XZ] * V[0] + I[YZ] * V[1] + I[ZZ] * V[2] + (h[0] * V[4] - h[1] * V[3]);
    f[3] = m * V[3] - (h[1] * V[2] - h[2] * V[1]);
    f[4] = m * V[4] - (h[2] * V[0] - h[0] * V[2]);
    f[5] = m * V[5] - (h[0] * V[1] - h[1] * V[0]);
}
/* The same for a rigid inertia that is itself a number of the sweep (composite bodies). */
SOAI_INLINE void rigid_mul(const real *M, const real V[6], real f[6]) {
    real n[3], g[3];
    sym_mul(M + 4, V, n);
    v3_cross_add(M + 1, V + 3, n);
    v3_cross(M + 1, V, g);
    f[0] = n[0], f[1] = n[1], f[2] = n[2];
    f[3] = M[0] * V[3] - g[0], f[4] = M[0] * V[4] - g[1], f[5] = M[0] * V[5] - g[2];
}
SOAI_INLINE void rigid_set(const konst *M, real out[10]) {
    SOAI_UNROLL for (int i = 0; i < 10; ++i) out[i] = REAL(M[i]);
}
/* out += phi M phi*: a rigid inertia moved to the parent, R87 (32), (33).
 * h' = R h + m p;  I' = R I R' + (terms of h and p), all symmetric by construction. */
SOAI_INLINE void rigid_in_add(const real R[9], const real p[3], const real M[10], real out[10]) {
    real h[3], I[6];
    rot_mul(R, M + 1, h);
    sym_rotate(R, M + 4, I);
    const real m = M[0];
    /* about the new origin: I' = I - [p][h] - [h][p] - m [p][p], [x] the cross-product matrix */
    real s[3];
    SOAI_UNROLL for (int i = 0; i < 3; ++i) s[i] = h[i] + h[i] + m * p[i]; /* p and s: symmetric part */
    const real px = p[0], py = p[1], pz = p[2];
    const real xx = px * s[0], yy = py * s[1], zz = pz * s[2];
    out[0] += m;
    SOAI_UNROLL for (int i = 0; i < 3; ++i) out[1 + i] += h[i] + m * p[i];
    out[4 + XX] += I[XX] + (yy + zz);
    out[4 + YY] += I[YY] + (xx + zz);
    out[4 + ZZ] += I[ZZ] + (xx + yy);
    out[4 + XY] += I[XY] - (px * h[1] + py * h[0] + m * px * py);
    out[4 + XZ] += I[XZ] - (px * h[2] + pz * h[0] + m * px * pz);
    out[4 + YZ] += I[YZ] - (py * h[2] + pz * h[1] + m * py * pz);
}

/* Articulated inertia from a rigid one. */
SOAI_INLINE void abi_set(const konst *M, real P[21]) {
    const konst m = M[0], *h = M + 1;
    SOAI_UNROLL for (int i = 0; i < 6; ++i) P[i] = REAL(M[4 + i]);
    P[6] = P[7] = P[8] = REAL(m);
    P[9] = P[10] = P[11] = REAL(0);
    P[12] = REAL(0), P[13] = REAL(-h[2]), P[14] = REAL(h[1]);
    P[15] = REAL(h[2]), P[16] = REAL(0), P[17] = REAL(-h[0]);
    P[18] = REAL(-h[1]), P[19] = REAL(h[0]), P[20] = REAL(0);
}
SOAI_INLINE void abi_mul(const real P[21], const real V[6], real f[6]) {
    const real *B = P + 12;
    real n[3], g[3];
    sym_mul(P, V, n);
    sym_mul(P + 6, V + 3, g);
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        n[i] += B[3 * i] * V[3] + B[3 * i + 1] * V[4] + B[3 * i + 2] * V[5];
        g[i] += B[i] * V[0] + B[3 + i] * V[1] + B[6 + i] * V[2];
    }
    f[0] = n[0], f[1] = n[1], f[2] = n[2], f[3] = g[0], f[4] = g[1], f[5] = g[2];
}
/* Column c of P. */
SOAI_INLINE void abi_column(const real P[21], int c, real out[6]) {
    static const unsigned char at[6][6] = {{0, 3, 4, 12, 13, 14},  {3, 1, 5, 15, 16, 17},  {4, 5, 2, 18, 19, 20},
                                           {12, 15, 18, 6, 9, 10}, {13, 16, 19, 9, 7, 11}, {14, 17, 20, 10, 11, 8}};
    SOAI_UNROLL for (int i = 0; i < 6; ++i) out[i] = P[at[c][i]];
}
/* P -= U Y' where the product is symmetric (Y = U D^-1). */
SOAI_INLINE void abi_subtract(const real U[6], const real Y[6], real P[21]) {
    P[XX] -= U[0] * Y[0], P[YY] -= U[1] * Y[1], P[ZZ] -= U[2] * Y[2];
    P[XY] -= U[0] * Y[1], P[XZ] -= U[0] * Y[2], P[YZ] -= U[1] * Y[2];
    P[6 + XX] -= U[3] * Y[3], P[6 + YY] -= U[4] * Y[4], P[6 + ZZ] -= U[5] * Y[5];
    P[6 + XY] -= U[3] * Y[4], P[6 + XZ] -= U[3] * Y[5], P[6 + YZ] -= U[4] * Y[5];
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL for (int j = 0; j < 3; ++j) P[12 + 3 * i + j] -= U[i] * Y[3 + j];
    }
}
/* Translation of an inertia already turned into the parent's axes: out += [1 p~; 0 1] (A, B, C) [1 0; -p~ 1]. */
SOAI_INLINE void abi_translate_add(const real A[6], const real B[9], const real C[6], const real p[3], real out[21]) {
    const real x = p[0], y = p[1], z = p[2];
    real Bp[9]; /* B' = B + [p] C */
    Bp[0] = B[0] + (y * C[XZ] - z * C[XY]);
    Bp[1] = B[1] + (y * C[YZ] - z * C[YY]);
    Bp[2] = B[2] + (y * C[ZZ] - z * C[YZ]);
    Bp[3] = B[3] + (z * C[XX] - x * C[XZ]);
    Bp[4] = B[4] + (z * C[XY] - x * C[YZ]);
    Bp[5] = B[5] + (z * C[XZ] - x * C[ZZ]);
    Bp[6] = B[6] + (x * C[XY] - y * C[XX]);
    Bp[7] = B[7] + (x * C[YY] - y * C[XY]);
    Bp[8] = B[8] + (x * C[YZ] - y * C[XZ]);
    /* A' = A + [p] B' + B' [p]', the first with the old B */
    out[XX] += A[XX] + (y * (B[2] + Bp[2]) - z * (B[1] + Bp[1]));
    out[YY] += A[YY] + (z * (B[3] + Bp[3]) - x * (B[5] + Bp[5]));
    out[ZZ] += A[ZZ] + (x * (B[7] + Bp[7]) - y * (B[6] + Bp[6]));
    out[XY] += A[XY] + (y * B[5] - z * B[4]) + (z * Bp[0] - x * Bp[2]);
    out[XZ] += A[XZ] + (y * B[8] - z * B[7]) + (x * Bp[1] - y * Bp[0]);
    out[YZ] += A[YZ] + (z * B[6] - x * B[8]) + (x * Bp[4] - y * Bp[3]);
    SOAI_UNROLL for (int i = 0; i < 6; ++i) out[6 + i] += C[i];
    SOAI_UNROLL for (int i = 0; i < 9; ++i) out[12 + i] += Bp[i];
}
/* B R' for T = R B computed before */
SOAI_INLINE void rot_right(const real T[9], const real R[9], real B[9]) {
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL for (int j = 0; j < 3; ++j) B[3 * i + j] =
            T[3 * i] * R[3 * j] + T[3 * i + 1] * R[3 * j + 1] + T[3 * i + 2] * R[3 * j + 2];
    }
}
/* out += phi P phi*: C' = RCR', B' = RBR' + [p]C', A' = RAR' + [p](RBR')' + B'[p]', R87 (37) with rotation. */
SOAI_INLINE void abi_in_add(const real R[9], const real p[3], const real P[21], real out[21]) {
    real A[6], C[6], T[9], B[9];
    sym_rotate(R, P, A);
    sym_rotate(R, P + 6, C);
    rot_rot(R, P + 12, T);
    rot_right(T, R, B);
    abi_translate_add(A, B, C, p, out);
}
/* The same where row and column `ax` of P are zero (P+ of a joint about that axis); they are not read. */
SOAI_INLINE void abi_in_add_axis(int ax, const real R[9], const real p[3], const real P[21], real out[21]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3, off = ax == 0 ? YZ : ax == 1 ? XZ : XY;
    real A[6], C[6], T[9], B[9], Tn[3], Tl[3];
    SOAI_UNROLL for (int i = 0; i < 3; ++i) {
        const real rn = R[3 * i + n], rl = R[3 * i + l];
        Tn[i] = rn * P[n] + rl * P[off], Tl[i] = rn * P[off] + rl * P[l];
        SOAI_UNROLL for (int j = 0; j < 3; ++j) T[3 * i + j] = rn * P[12 + 3 * n + j] + rl * P[12 + 3 * l + j];
    }
    A[XX] = Tn[0] * R[n] + Tl[0] * R[l], A[YY] = Tn[1] * R[3 + n] + Tl[1] * R[3 + l],
    A[ZZ] = Tn[2] * R[6 + n] + Tl[2] * R[6 + l];
    A[XY] = Tn[0] * R[3 + n] + Tl[0] * R[3 + l], A[XZ] = Tn[0] * R[6 + n] + Tl[0] * R[6 + l],
    A[YZ] = Tn[1] * R[6 + n] + Tl[1] * R[6 + l];
    sym_rotate(R, P + 6, C);
    rot_right(T, R, B);
    abi_translate_add(A, B, C, p, out);
}

#endif
