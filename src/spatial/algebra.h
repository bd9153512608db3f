/* algebra.h  spatial algebra over `real`: 3-vectors, rotations, 6-vectors, inertias.
 *
 * 6-vectors have the angular part first. R is stored row by row and takes child axes to parent
 * axes; p is the child's origin in the parent. phi(parent, child) takes forces inward and phi*
 * takes motions outward, RK88-I (2.16) with the rotation that the papers leave out:
 *     phi f  = [R n + p x R f;  R f]         phi* V = [R'w;  R'(v + w x p)]
 * Symmetric 3 x 3 matrices: xx yy zz xy xz yz. Rigid inertia, RK88-I (2.15), 10 numbers: m, h = m c
 * (3), I about the origin (6):
 *     M V = [I w + h x v;  m v - h x w]
 * Articulated inertia, 21 numbers, symmetric by construction: A (6), C (6), B (9):
 *     P V = [A w + B v;  B'w + C v]
 * With SOAI_ABI_PACKED, P is six packs of four numbers, one pack for each entry on or above the
 * diagonal of a 3 x 3 block. A pack holds that entry of A, C, B and B' (on the diagonal the last is
 * unused), so one pack operation rotates or shifts all four blocks. ABI_A, ABI_C and ABI_B give the
 * index of a number in either form. */
#ifndef SOAI_ALGEBRA_H
#define SOAI_ALGEBRA_H
#include "real.h"

enum { XX, YY, ZZ, XY, XZ, YZ };
#define SYM(i, j) ((i) == (j) ? (i) : 2 + (i) + (j))

#if SOAI_ABI_PACKED
enum { ABI_SIZE = 24 };
#define ABI_A(e) (4 * (e))
#define ABI_C(e) (4 * (e) + 1)
#define ABI_B(i, j) (4 * SYM(i, j) + ((i) <= (j) ? 2 : 3))
#else
enum { ABI_SIZE = 21 };
#define ABI_A(e) (e)
#define ABI_C(e) (6 + (e))
#define ABI_B(i, j) (12 + 3 * (i) + (j))
#endif

/* An articulated inertia in other axes: packs of all nine entries, or the 21 numbers again. */
#if SOAI_ABI_PACKED
typedef pack abi_rotated[9];
#else
typedef real abi_rotated[ABI_SIZE];
#endif

/* a x b */
SOAI_INLINE void v3_cross(const real a[3], const real b[3], real out[3]) {
    const real x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
               z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}
SOAI_INLINE void v3_cross_add(const real a[3], const real b[3], real out[3]) {
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}
/* a x k, k a constant of the model */
SOAI_INLINE void v3_cross_k(const real a[3], const konst k[3], real out[3]) {
    out[0] = a[1] * k[2] - a[2] * k[1];
    out[1] = a[2] * k[0] - a[0] * k[2];
    out[2] = a[0] * k[1] - a[1] * k[0];
}
SOAI_INLINE real v3_dot(const real a[3], const real b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
SOAI_INLINE real v6_dot(const real a[6], const real b[6]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}
SOAI_INLINE void v6_zero(real a[6]) {
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        a[i] = REAL(0);
}
SOAI_INLINE void v6_copy(const real a[6], real out[6]) {
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        out[i] = a[i];
}
/* out += s a */
SOAI_INLINE void v6_add_scaled(real s, const real a[6], real out[6]) {
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        out[i] += s * a[i];
}

/* R x and R' x; out may be x */
SOAI_INLINE void rot_mul(const real R[9], const real x[3], real out[3]) {
    const real a = R[0] * x[0] + R[1] * x[1] + R[2] * x[2];
    const real b = R[3] * x[0] + R[4] * x[1] + R[5] * x[2];
    const real c = R[6] * x[0] + R[7] * x[1] + R[8] * x[2];
    out[0] = a;
    out[1] = b;
    out[2] = c;
}
SOAI_INLINE void rot_tmul(const real R[9], const real x[3], real out[3]) {
    const real a = R[0] * x[0] + R[3] * x[1] + R[6] * x[2];
    const real b = R[1] * x[0] + R[4] * x[1] + R[7] * x[2];
    const real c = R[2] * x[0] + R[5] * x[1] + R[8] * x[2];
    out[0] = a;
    out[1] = b;
    out[2] = c;
}
#if SOAI_PACKED
SOAI_INLINE pack pack_load(const real *x) {
    pack y;
    memcpy(&y, x, sizeof y);
    return y;
}
SOAI_INLINE void pack_store(pack y, real *x) {
    memcpy(x, &y, sizeof y);
}
#endif
/* A B; out must not be A or B */
SOAI_INLINE void rot_rot(const real A[9], const real B[9], real out[9]) {
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    }
}
/* Rotation of a unit quaternion w x y z (body axes to parent axes). */
SOAI_INLINE void rot_quaternion(const real e[4], real R[9]) {
    const real w = e[0], x = e[1], y = e[2], z = e[3];
    const real x2 = x + x, y2 = y + y, z2 = z + z;
    R[0] = REAL(1) - (y * y2 + z * z2);
    R[1] = x * y2 - w * z2;
    R[2] = x * z2 + w * y2;
    R[3] = x * y2 + w * z2;
    R[4] = REAL(1) - (x * x2 + z * z2);
    R[5] = y * z2 - w * x2;
    R[6] = x * z2 - w * y2;
    R[7] = y * z2 + w * x2;
    R[8] = REAL(1) - (x * x2 + y * y2);
}
/* Rotation about coordinate axis ax: out = R x and out = R' x, with turn = (cosine, sine). out may
 * be x. */
SOAI_INLINE void turn_mul(int ax, const real turn[2], const real x[3], real out[3]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3;
    const real a = turn[0] * x[n] - turn[1] * x[l], b = turn[1] * x[n] + turn[0] * x[l];
    out[ax] = x[ax];
    out[n] = a;
    out[l] = b;
}
SOAI_INLINE void turn_tmul(int ax, const real turn[2], const real x[3], real out[3]) {
    const real back[2] = {turn[0], -turn[1]};
    turn_mul(ax, back, x, out);
}
/* Products cc, ss, cs, cc - ss, 2 cs, used to rotate a matrix about the same axis. */
SOAI_INLINE void turn_squares(const real turn[2], real sq[5]) {
    sq[0] = turn[0] * turn[0];
    sq[1] = turn[1] * turn[1];
    sq[2] = turn[0] * turn[1];
    sq[3] = sq[0] - sq[1];
    sq[4] = sq[2] + sq[2];
}
/* R S R' for symmetric S: turn_across gives only the 2 x 2 block perpendicular to the axis,
 * turn_sym all of it. */
SOAI_INLINE void turn_across(int ax, const real sq[5], const real S[6], real out[6]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3, off = SYM(n, l);
    const real nn = sq[0] * S[n] + (sq[1] * S[l] - sq[4] * S[off]),
               ll = sq[1] * S[n] + (sq[0] * S[l] + sq[4] * S[off]);
    const real nl = sq[2] * (S[n] - S[l]) + sq[3] * S[off];
    out[n] = nn;
    out[l] = ll;
    out[off] = nl;
}
SOAI_INLINE void turn_sym(int ax, const real turn[2], const real sq[5], const real S[6],
                          real out[6]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3, an = SYM(ax, n), al = SYM(ax, l);
    turn_across(ax, sq, S, out);
    out[ax] = S[ax];
    out[an] = turn[0] * S[an] - turn[1] * S[al];
    out[al] = turn[1] * S[an] + turn[0] * S[al];
}
/* R S R' for symmetric S */
SOAI_INLINE void sym_rotate(const real R[9], const real S[6], real out[6]) {
    real T[9];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
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
    out[0] = a;
    out[1] = b;
    out[2] = c;
}

/* phi* V: motion of the parent, expressed in the child. out may be V. */
SOAI_INLINE void motion_out(const real R[9], const real p[3], const real V[6], real out[6]) {
    real v[3];
    v3_cross(V, p, v);
    v[0] += V[3];
    v[1] += V[4];
    v[2] += V[5];
    rot_tmul(R, V, out);
    rot_tmul(R, v, out + 3);
}
/* out += phi f: adds the child's force to the parent's. */
SOAI_INLINE void force_in_add(const real R[9], const real p[3], const real f[6], real out[6]) {
    real n[3], g[3];
    rot_mul(R, f, n);
    rot_mul(R, f + 3, g);
    v3_cross_add(p, g, n);
    out[0] += n[0];
    out[1] += n[1];
    out[2] += n[2];
    out[3] += g[0];
    out[4] += g[1];
    out[5] += g[2];
}
/* V x A, motions */
SOAI_INLINE void cross_motion(const real V[6], const real A[6], real out[6]) {
    real w[3], v[3];
    v3_cross(V, A, w);
    v3_cross(V, A + 3, v);
    v3_cross_add(V + 3, A, v);
    out[0] = w[0];
    out[1] = w[1];
    out[2] = w[2];
    out[3] = v[0];
    out[4] = v[1];
    out[5] = v[2];
}
/* V x* f, motion with force */
SOAI_INLINE void cross_force(const real V[6], const real f[6], real out[6]) {
    real n[3], g[3];
    v3_cross(V, f, n);
    v3_cross_add(V + 3, f + 3, n);
    v3_cross(V, f + 3, g);
    out[0] = n[0];
    out[1] = n[1];
    out[2] = n[2];
    out[3] = g[0];
    out[4] = g[1];
    out[5] = g[2];
}

/* M V for a rigid inertia of the model's constants m, h[3], I[6]. */
SOAI_INLINE void rigid_mul_k(const konst *M, const real V[6], real f[6]) {
    const konst m = M[0], *h = M + 1, *I = M + 4;
    f[0] = I[XX] * V[0] + I[XY] * V[1] + I[XZ] * V[2] + (h[1] * V[5] - h[2] * V[4]);
    f[1] = I[XY] * V[0] + I[YY] * V[1] + I[YZ] * V[2] + (h[2] * V[3] - h[0] * V[5]);
    f[2] = I[XZ] * V[0] + I[YZ] * V[1] + I[ZZ] * V[2] + (h[0] * V[4] - h[1] * V[3]);
    f[3] = m * V[3] - (h[1] * V[2] - h[2] * V[1]);
    f[4] = m * V[4] - (h[2] * V[0] - h[0] * V[2]);
    f[5] = m * V[5] - (h[0] * V[1] - h[1] * V[0]);
}
/* The same for a rigid inertia computed in the sweep (composite bodies). */
SOAI_INLINE void rigid_mul(const real *M, const real V[6], real f[6]) {
    real n[3], g[3];
    sym_mul(M + 4, V, n);
    v3_cross_add(M + 1, V + 3, n);
    v3_cross(M + 1, V, g);
    f[0] = n[0];
    f[1] = n[1];
    f[2] = n[2];
    f[3] = M[0] * V[3] - g[0];
    f[4] = M[0] * V[4] - g[1];
    f[5] = M[0] * V[5] - g[2];
}
SOAI_INLINE void rigid_set(const konst *M, real out[10]) {
    SOAI_UNROLL
    for (int i = 0; i < 10; ++i)
        out[i] = REAL(M[i]);
}
/* out = sum + phi M phi*: a rigid inertia moved to the parent, R87 (32), (33). out may be sum. h' =
 * R h + m p and I' = R I R' + (terms of h and p), symmetric by construction. rigid_translate_add
 * takes R h and R I R' as its h and I. In it and in rigid_in_add_turn, p = NULL means zero. */
SOAI_INLINE void rigid_translate_add(real m, const real h[3], const real I[6], const real p[3],
                                     const real sum[10], real out[10]) {
    /* about the new origin: I' = I - [p][h] - [h][p] - m [p][p] = I - [p][g] - [g][p], g = h + m p
     * / 2 */
    real g[3];
    if (!p) {
        out[0] = sum[0] + m;
        SOAI_UNROLL
        for (int i = 0; i < 3; ++i)
            out[1 + i] = sum[1 + i] + h[i];
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i)
            out[4 + i] = sum[4 + i] + I[i];
        return;
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        g[i] = h[i] + REAL(0.5) * (m * p[i]);
    const real xx = p[0] * g[0], yy = p[1] * g[1], zz = p[2] * g[2];
    out[0] = sum[0] + m;
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        out[1 + i] = sum[1 + i] + (h[i] + m * p[i]);
    out[4 + XX] = sum[4 + XX] + (I[XX] + REAL(2) * (yy + zz));
    out[4 + YY] = sum[4 + YY] + (I[YY] + REAL(2) * (xx + zz));
    out[4 + ZZ] = sum[4 + ZZ] + (I[ZZ] + REAL(2) * (xx + yy));
    out[4 + XY] = sum[4 + XY] + (I[XY] - p[0] * g[1] - p[1] * g[0]);
    out[4 + XZ] = sum[4 + XZ] + (I[XZ] - p[0] * g[2] - p[2] * g[0]);
    out[4 + YZ] = sum[4 + YZ] + (I[YZ] - p[1] * g[2] - p[2] * g[1]);
}
SOAI_INLINE void rigid_in_add(const real R[9], const real p[3], const real M[10],
                              const real sum[10], real out[10]) {
    real h[3], I[6];
    rot_mul(R, M + 1, h);
    sym_rotate(R, M + 4, I);
    rigid_translate_add(M[0], h, I, p, sum, out);
}
SOAI_INLINE void rigid_in_add_turn(int ax, const real turn[2], const real p[3], const real M[10],
                                   const real sum[10], real out[10]) {
    real h[3], I[6], sq[5];
    turn_squares(turn, sq);
    turn_mul(ax, turn, M + 1, h);
    turn_sym(ax, turn, sq, M + 4, I);
    rigid_translate_add(M[0], h, I, p, sum, out);
}

/* The same, but only what is added to the three moments of inertia. */
SOAI_INLINE void rigid_moments_turn(int ax, const real turn[2], const real p[3], const real M[10],
                                    real out[3]) {
    real h[3], I[6], g[3], sq[5];
    turn_squares(turn, sq);
    turn_across(ax, sq, M + 4, I);
    I[ax] = M[4 + ax];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        out[i] = I[i];
    if (!p) return;
    turn_mul(ax, turn, M + 1, h);
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        g[i] = REAL(2) * h[i] + M[0] * p[i];
    const real xx = p[0] * g[0], yy = p[1] * g[1], zz = p[2] * g[2];
    out[0] += yy + zz;
    out[1] += xx + zz;
    out[2] += xx + yy;
}

/* Articulated inertia from a rigid one. */
SOAI_INLINE void abi_set(const konst *M, real *P) {
    const konst m = M[0], *h = M + 1, *I = M + 4;
    P[ABI_A(XX)] = REAL(I[XX]);
    P[ABI_A(YY)] = REAL(I[YY]);
    P[ABI_A(ZZ)] = REAL(I[ZZ]);
    P[ABI_A(XY)] = REAL(I[XY]);
    P[ABI_A(XZ)] = REAL(I[XZ]);
    P[ABI_A(YZ)] = REAL(I[YZ]);
    P[ABI_C(XX)] = P[ABI_C(YY)] = P[ABI_C(ZZ)] = REAL(m);
    P[ABI_C(XY)] = P[ABI_C(XZ)] = P[ABI_C(YZ)] = REAL(0);
    P[ABI_B(0, 0)] = P[ABI_B(1, 1)] = P[ABI_B(2, 2)] = REAL(0);
    P[ABI_B(0, 1)] = REAL(-h[2]);
    P[ABI_B(0, 2)] = REAL(h[1]);
    P[ABI_B(1, 2)] = REAL(-h[0]);
    P[ABI_B(1, 0)] = REAL(h[2]);
    P[ABI_B(2, 0)] = REAL(-h[1]);
    P[ABI_B(2, 1)] = REAL(h[0]);
}
/* P(r,c) of the 6 x 6 matrix */
SOAI_INLINE real abi_entry(const real *P, int r, int c) {
    if (r < 3) return c < 3 ? P[ABI_A(SYM(r, c))] : P[ABI_B(r, c - 3)];
    return c < 3 ? P[ABI_B(c, r - 3)] : P[ABI_C(SYM(r - 3, c - 3))];
}
SOAI_INLINE void abi_mul(const real *P, const real V[6], real f[6]) {
    real out[6];
    SOAI_UNROLL
    for (int r = 0; r < 6; ++r) {
        out[r] =
            abi_entry(P, r, 0) * V[0] + abi_entry(P, r, 1) * V[1] + abi_entry(P, r, 2) * V[2] +
            (abi_entry(P, r, 3) * V[3] + abi_entry(P, r, 4) * V[4] + abi_entry(P, r, 5) * V[5]);
    }
    v6_copy(out, f);
}
/* Column c of P. */
SOAI_INLINE void abi_column(const real *P, int c, real out[6]) {
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        out[i] = abi_entry(P, i, c);
}

/* abi_subtract   out = P - U Y', one column of U and one of U D^-1; the sum over the joint's
 *                columns is symmetric; out may be P
 * abi_in_add     out = sum + phi P phi*, R87 (37) with rotation; out may be sum:
 *                C2 = R C R',  B2 = R B R' + [p] C2,  A2 = R A R' + [p] (R B R')' + B2 [p]',
 *                ' transposes, [p] x = p x x
 * abi_in_add_axis and abi_in_add_turn do the same for P+ of a joint about coordinate axis `ax`,
 * whose row and column are zero and not read; in packs they are read, and with an armature they
 * are not zero (hinge.h).  _axis accepts any R; _turn only a rotation about that axis, and there
 * p = NULL means zero. */
#if SOAI_ABI_PACKED
/* Entry (i, j) of the four blocks; below the diagonal B and B' are exchanged. */
SOAI_INLINE pack abi_get(const real *P, int i, int j) {
    const pack x = pack_load(P + 4 * SYM(i, j));
    if (i < j) return x;
    if (i == j) return __builtin_shufflevector(x, x, 0, 1, 2, 2);
    return __builtin_shufflevector(x, x, 0, 1, 3, 2);
}
SOAI_INLINE void abi_put(pack x, int i, int j, real *P) {
    pack_store(x, P + 4 * SYM(i, j));
}
SOAI_INLINE void abi_subtract(const real U[6], const real Y[6], const real *P, real *out) {
    pack left[3], right[3];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        left[i] = (pack){U[i], U[3 + i], U[i], U[3 + i]};
        right[i] = (pack){Y[i], Y[3 + i], Y[3 + i], Y[i]};
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j)
            abi_put(abi_get(P, i, j) - left[i] * right[j], i, j, out);
    }
}
/* The same for U = P e_ax, read from P itself, and Y = U / d. */
SOAI_INLINE void abi_subtract_axis(int ax, real dinv, const real *P, real *out) {
    pack left[3], right[3];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        const pack x = abi_get(P, ax, i); /* A(ax,i), C, B(ax,i), B' */
        left[i] = __builtin_shufflevector(x, x, 0, 2, 0, 2);
        right[i] = __builtin_shufflevector(x, x, 0, 2, 2, 0) * dinv;
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j)
            abi_put(abi_get(P, i, j) - left[i] * right[j], i, j, out);
    }
}
/* out = sum + Q shifted by p; Q holds all nine entries, already in the parent's axes. */
SOAI_INLINE void abi_translate_add(const pack Q[9], const real p[3], const real *sum, real *out) {
    pack Y[9];
    if (!p) {
        SOAI_UNROLL
        for (int i = 0; i < 3; ++i) {
            SOAI_UNROLL
            for (int j = i; j < 3; ++j)
                abi_put(pack_load(sum + 4 * SYM(i, j)) + Q[3 * i + j], i, j, out);
        }
        return;
    }
    const pack keep_ab = {1, 0, 1, 0}, keep_at = {1, 0, 0, 1};
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) { /* A += [p] B', B += [p] C */
        const int n = (i + 1) % 3, l = (i + 2) % 3;
        const pack pn = keep_ab * p[n], pl = keep_ab * p[l]; /* row i of [p]: -p_l at n, p_n at l */
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j) {
            const pack a = Q[3 * l + j], b = Q[3 * n + j];
            Y[3 * i + j] = Q[3 * i + j] + __builtin_shufflevector(a, a, 3, 1, 1, 1) * pn -
                           __builtin_shufflevector(b, b, 3, 1, 1, 1) * pl;
        }
    }
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j) { /* A += B [p]', B' += C [p]' */
        const int n = (j + 1) % 3, l = (j + 2) % 3;
        const pack pn = keep_at * p[n], pl = keep_at * p[l];
        SOAI_UNROLL
        for (int i = 0; i <= j; ++i) {
            const pack a = Y[3 * i + l], b = Y[3 * i + n];
            abi_put(pack_load(sum + 4 * SYM(i, j)) + Y[3 * i + j] +
                        __builtin_shufflevector(a, a, 2, 1, 1, 1) * pn -
                        __builtin_shufflevector(b, b, 2, 1, 1, 1) * pl,
                    i, j, out);
        }
    }
}
/* Sets entry (i, j) of Q, i != j, and entry (j, i). */
SOAI_INLINE void abi_pair(pack x, int i, int j, pack Q[9]) {
    Q[3 * i + j] = x;
    Q[3 * j + i] = __builtin_shufflevector(x, x, 0, 1, 3, 2);
}
/* Q = R P R', all nine entries. */
SOAI_INLINE void abi_rotate(const real R[9], const real *P, pack Q[9]) {
    pack T[9];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) { /* T = R P */
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            T[3 * i + j] = abi_get(P, 0, j) * R[3 * i] + abi_get(P, 1, j) * R[3 * i + 1] +
                           abi_get(P, 2, j) * R[3 * i + 2];
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) { /* Q = T R' */
        SOAI_UNROLL
        for (int j = i; j < 3; ++j) {
            const pack x =
                T[3 * i] * R[3 * j] + T[3 * i + 1] * R[3 * j + 1] + T[3 * i + 2] * R[3 * j + 2];
            Q[3 * i + j] = x;
            if (i < j) abi_pair(x, i, j, Q);
        }
    }
}
/* f += Q c */
SOAI_INLINE void abi_rotated_mul_add(const pack Q[9], const real c[6], real f[6]) {
    const pack c0 = {c[0], c[3], c[3], c[0]};
    const pack c1 = {c[1], c[4], c[4], c[1]};
    const pack c2 = {c[2], c[5], c[5], c[2]};
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        const pack sum = Q[3 * i] * c0 + Q[3 * i + 1] * c1 + Q[3 * i + 2] * c2; /* A, C, B, B' */
        f[i] += sum[0] + sum[2];
        f[3 + i] += sum[1] + sum[3];
    }
}
SOAI_INLINE void abi_in_add(const real R[9], const real p[3], const real *P, const real *sum,
                            real *out) {
    pack Q[9];
    abi_rotate(R, P, Q);
    abi_translate_add(Q, p, sum, out);
}
SOAI_INLINE void abi_in_add_axis(int ax, const real R[9], const real p[3], const real *P,
                                 const real *sum, real *out) {
    (void)ax;
    abi_in_add(R, p, P, sum, out);
}
SOAI_INLINE void abi_in_add_turn(int ax, const real turn[2], const real p[3], const real *P,
                                 const real *sum, real *out) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3;
    const real c = turn[0], s = turn[1];
    const pack nn = abi_get(P, n, n), nl = abi_get(P, n, l), ln = abi_get(P, l, n),
               ll = abi_get(P, l, l);
    const pack an = abi_get(P, ax, n), al = abi_get(P, ax, l);
    /* R P. */
    const pack Tnn = nn * c - ln * s, Tnl = nl * c - ll * s, Tln = nn * s + ln * c,
               Tll = nl * s + ll * c;
    pack Q[9];
    Q[4 * ax] = abi_get(P, ax, ax);
    Q[4 * n] = Tnn * c - Tnl * s;
    Q[4 * l] = Tln * s + Tll * c;
    abi_pair(Tnn * s + Tnl * c, n, l, Q);
    abi_pair(an * c - al * s, ax, n, Q);
    abi_pair(an * s + al * c, ax, l, Q);
    abi_translate_add(Q, p, sum, out);
}
#else
SOAI_INLINE void abi_subtract(const real U[6], const real Y[6], const real *P, real *out) {
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j) {
            out[ABI_A(SYM(i, j))] = P[ABI_A(SYM(i, j))] - U[i] * Y[j];
            out[ABI_C(SYM(i, j))] = P[ABI_C(SYM(i, j))] - U[3 + i] * Y[3 + j];
        }
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            out[ABI_B(i, j)] = P[ABI_B(i, j)] - U[i] * Y[3 + j];
    }
}
/* The same for U = P e_ax and Y = U / d, d = H P H*: no armature here (hinge.h).  So H P+ = 0, and
 * row ax of A and B is zero. */
SOAI_INLINE void abi_subtract_axis(int ax, real dinv, const real *P, real *out) {
    real U[6], Y[6];
    abi_column(P, ax, U);
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        Y[j] = U[j] * dinv;
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j) {
            out[ABI_A(SYM(i, j))] =
                i == ax || j == ax ? REAL(0) : P[ABI_A(SYM(i, j))] - U[i] * Y[j];
            out[ABI_C(SYM(i, j))] = P[ABI_C(SYM(i, j))] - U[3 + i] * Y[3 + j];
        }
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j) {
            out[ABI_B(i, j)] = i == ax ? REAL(0) : P[ABI_B(i, j)] - U[i] * Y[3 + j];
        }
    }
}
/* Shift of an inertia already in the parent's axes:
 * out = sum + [1 [p]; 0 1] (A, B, C) [1 0; -[p] 1]. */
SOAI_INLINE void abi_translate_add(const real A[6], const real B[9], const real C[6],
                                   const real p[3], const real *sum, real *out) {
    if (!p) {
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i) {
            out[ABI_A(i)] = sum[ABI_A(i)] + A[i];
            out[ABI_C(i)] = sum[ABI_C(i)] + C[i];
        }
        SOAI_UNROLL
        for (int i = 0; i < 9; ++i)
            out[ABI_B(i / 3, i % 3)] = sum[ABI_B(i / 3, i % 3)] + B[i];
        return;
    }
    const real x = p[0], y = p[1], z = p[2];
    real B2[9]; /* B2 = B + [p] C */
    B2[0] = B[0] + (y * C[XZ] - z * C[XY]);
    B2[1] = B[1] + (y * C[YZ] - z * C[YY]);
    B2[2] = B[2] + (y * C[ZZ] - z * C[YZ]);
    B2[3] = B[3] + (z * C[XX] - x * C[XZ]);
    B2[4] = B[4] + (z * C[XY] - x * C[YZ]);
    B2[5] = B[5] + (z * C[XZ] - x * C[ZZ]);
    B2[6] = B[6] + (x * C[XY] - y * C[XX]);
    B2[7] = B[7] + (x * C[YY] - y * C[XY]);
    B2[8] = B[8] + (x * C[YZ] - y * C[XZ]);
    /* A2 = A + [p] B' + B2 [p]', ' transposes */
    real a[6];
    a[XX] = A[XX] + (y * (B[2] + B2[2]) - z * (B[1] + B2[1]));
    a[YY] = A[YY] + (z * (B[3] + B2[3]) - x * (B[5] + B2[5]));
    a[ZZ] = A[ZZ] + (x * (B[7] + B2[7]) - y * (B[6] + B2[6]));
    a[XY] = A[XY] + (y * B[5] - z * B[4]) + (z * B2[0] - x * B2[2]);
    a[XZ] = A[XZ] + (y * B[8] - z * B[7]) + (x * B2[1] - y * B2[0]);
    a[YZ] = A[YZ] + (z * B[6] - x * B[8]) + (x * B2[4] - y * B2[3]);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i) {
        out[ABI_A(i)] = sum[ABI_A(i)] + a[i];
        out[ABI_C(i)] = sum[ABI_C(i)] + C[i];
    }
    SOAI_UNROLL
    for (int i = 0; i < 9; ++i)
        out[ABI_B(i / 3, i % 3)] = sum[ABI_B(i / 3, i % 3)] + B2[i];
}
/* T R' */
SOAI_INLINE void rot_right(const real T[9], const real R[9], real B[9]) {
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            B[3 * i + j] =
                T[3 * i] * R[3 * j] + T[3 * i + 1] * R[3 * j + 1] + T[3 * i + 2] * R[3 * j + 2];
    }
}
/* Q = R P R' */
SOAI_INLINE void abi_rotate(const real R[9], const real *P, real Q[ABI_SIZE]) {
    real T[9];
    sym_rotate(R, P, Q);
    sym_rotate(R, P + 6, Q + 6);
    rot_rot(R, P + 12, T);
    rot_right(T, R, Q + 12);
}
/* f += Q c */
SOAI_INLINE void abi_rotated_mul_add(const real Q[ABI_SIZE], const real c[6], real f[6]) {
    real Qc[6];
    abi_mul(Q, c, Qc);
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i)
        f[i] += Qc[i];
}
SOAI_INLINE void abi_in_add(const real R[9], const real p[3], const real *P, const real *sum,
                            real *out) {
    real Q[ABI_SIZE];
    abi_rotate(R, P, Q);
    abi_translate_add(Q, Q + 12, Q + 6, p, sum, out);
}
SOAI_INLINE void abi_in_add_axis(int ax, const real R[9], const real p[3], const real *P,
                                 const real *sum, real *out) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3, off = SYM(n, l);
    real A[6], C[6], T[9], B[9], Tn[3], Tl[3];
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        const real rn = R[3 * i + n], rl = R[3 * i + l];
        Tn[i] = rn * P[n] + rl * P[off];
        Tl[i] = rn * P[off] + rl * P[l];
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            T[3 * i + j] = rn * P[12 + 3 * n + j] + rl * P[12 + 3 * l + j];
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j)
            A[SYM(i, j)] = Tn[i] * R[3 * j + n] + Tl[i] * R[3 * j + l];
    }
    sym_rotate(R, P + 6, C);
    rot_right(T, R, B);
    abi_translate_add(A, B, C, p, sum, out);
}
/* Rotates B about ax. Row ax is zero and not read; rows n and l are Bn and Bl. */
SOAI_INLINE void turn_rows(int ax, const real turn[2], const real sq[5], const real Bn[3],
                           const real Bl[3], real B[9]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3;
    const real c = turn[0], s = turn[1], along = sq[2] * (Bn[l] + Bl[n]),
               across = sq[2] * (Bn[n] - Bl[l]);
    B[3 * n + n] = sq[0] * Bn[n] + (sq[1] * Bl[l] - along);
    B[3 * l + l] = sq[1] * Bn[n] + (sq[0] * Bl[l] + along);
    B[3 * n + l] = sq[0] * Bn[l] - (sq[1] * Bl[n] - across);
    B[3 * l + n] = sq[0] * Bl[n] - (sq[1] * Bn[l] - across);
    B[3 * n + ax] = c * Bn[ax] - s * Bl[ax];
    B[3 * l + ax] = s * Bn[ax] + c * Bl[ax];
    B[3 * ax] = B[3 * ax + 1] = B[3 * ax + 2] = REAL(0);
}
SOAI_INLINE void abi_in_add_turn(int ax, const real turn[2], const real p[3], const real *P,
                                 const real *sum, real *out) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3;
    real A[6], B[9], C[6], sq[5];
    turn_squares(turn, sq);
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        A[SYM(ax, i)] = REAL(0);
    turn_across(ax, sq, P, A);
    turn_sym(ax, turn, sq, P + 6, C);
    turn_rows(ax, turn, sq, P + 12 + 3 * n, P + 12 + 3 * l, B);
    abi_translate_add(A, B, C, p, sum, out);
}
#endif

#endif
