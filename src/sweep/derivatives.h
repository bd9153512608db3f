/* derivatives.h  d tau/dq and d tau/dv of inverse dynamics, analytic, O(n d).
 *
 * All in world axes, with the root body's origin as reference point.  Let S_k be a column of the
 * joint map of joint j, l its parent, and displace the coordinate: every body outboard of j moves
 * rigidly by S_k.  Seen from the moving bodies,
 *     velocities change by            x = v_l x S_k + s            (s = (dS/dq_k) v, zero where S
 *                                     is constant in the body)
 *     accelerations of body i by      y + x x v_i,   y = a_l x S_k + (dS/dq_k) vdot + x x S v + v_j
 *                                     x s + r - x x v_j
 * (r: change of the apparent rate), so its force by  I_i y + B_i x,
 *     B_i x = I_i (x x v_i) + x x* I_i v_i + v_i x* I_i x.
 * Composite sums I, B, F over the bodies outboard of i give
 *     i outboard of j:   d tau_i = S_i' (I_i y + B_i x)            (own joint: + (dS_i/dq_k)' F_i)
 *     i inboard of j:    d tau_i = S_i' (I_j y + B_j x + S_k x* F_j)
 * For velocities the same with x = S_k, y = 2 v_j x S_k + S_k x S v + (change of the apparent
 * rate), and no last term.  A wrench F_w fixed in the world does not turn with its body: it adds E
 * S_k,  E x = -dF_w(x) + x x* F_w.  The exact rotor's gyroscopic couple adds (x x r) v_k to B of
 * its carrier; its other terms are written where used.  Either result may be NULL.
 * writes  R p Rw pw V A f P(10) B E S F(=x) U(=y) Z(=y of v) */
#ifndef SOAI_DERIVATIVES_H
#define SOAI_DERIVATIVES_H
#include "crba.h"

/* A wrench whose numbers are fixed in world axes, acting at a point given in body axes. */
typedef struct world_wrench {
    int body;
    konst point[3], value[6];
} world_wrench;

/* dS_m/dq_c in body axes; zero but for universal (m=0, c=1) and planar (m=0,1, c=2). */
SOAI_INLINE void joint_dcolumn(const kernel_work *w, const body_table *b, int m, int c,
                               real out[6]) {
    const real *H = w->H + 6 * b->iv;
    v6_zero(out);
    if (b->type == SOAI_JOINT_UNIVERSAL && m == 0 && c == 1) v3_cross(H, H + 6, out);
    if (b->type == SOAI_JOINT_PLANAR && m < 2 && c == 2) v3_cross(H + 6 * m + 3, H + 12, out + 3);
}

/* M += the matrix whose column c is the given operator of the unit vector e_c */
SOAI_INLINE void body_velocity_operator(const real I[10], const real V[6], real B[36]) {
    real h[6];
    rigid_mul(I, V, h);
    for (int c = 0; c < 6; ++c) {
        real x[6], t[6], f[6], g[6];
        v6_zero(x);
        x[c] = REAL(1);
        cross_motion(x, V, t);
        rigid_mul(I, t, f);
        cross_force(x, h, g);
        for (int r = 0; r < 6; ++r)
            f[r] += g[r];
        rigid_mul(I, x, t);
        cross_force(V, t, g);
        for (int r = 0; r < 6; ++r)
            B[6 * r + c] = f[r] + g[r];
    }
}
SOAI_INLINE void mat6_mul(const real B[36], const real x[6], real out[6]) {
    for (int r = 0; r < 6; ++r)
        out[r] = v6_dot(B + 6 * r, x);
}

SOAI_SWEEP int rnea_derivatives(const view_table *k, kernel_work *w, const real *q, const real *v,
                                const real *a, const real *fext, const world_wrench *wrench,
                                int wrenches, real *dq, real *dv) {
    const size_t n = (size_t)k->nv;
    for (size_t j = 0; dq && j < n * n; ++j)
        dq[j] = REAL(0);
    for (size_t j = 0; dv && j < n * n; ++j)
        dv[j] = REAL(0);
    v6_zero(w->b[0].V);
    base_acceleration(k, w->b[0].A);
    positions(k, w, q);
    for (int i = 1; i <= k->nb; ++i) { /* base to tips: everything in world axes */
        const body_table *b = k->body + i;
        const real *v_l = w->b[b->parent].V, *a_l = w->b[b->parent].A;
        step_pose(k, w, i);
        if (!b->parent)
            for (int j = 0; j < 3; ++j)
                w->pw[3 * i + j] = REAL(0);
        real vJ[6], aJ[6], ring[6], H[6], t[6];
        v6_zero(vJ);
        v6_zero(aJ);
        v6_zero(ring);
        v6_zero(t);
        for (int c = 0; c < b->nv; ++c) {
            step_column(k, w, b, b->kind, c, H);
            motion_to_root(w, i, H, w->S + 6 * (b->iv + c));
            v6_add_scaled(v[b->iv + c], w->S + 6 * (b->iv + c), vJ);
            v6_add_scaled(a[b->iv + c], w->S + 6 * (b->iv + c), aJ);
        }
        joint_ring(k, w, b, v + b->iv, v + b->iv, t);
        motion_to_root(w, i, t, ring);
        real *V = w->b[i].V, *A = w->b[i].A;
        for (int j = 0; j < 6; ++j)
            V[j] = v_l[j] + vJ[j];
        cross_motion(V, vJ, t);
        for (int j = 0; j < 6; ++j)
            A[j] = a_l[j] + aJ[j] + t[j] + ring[j];
        for (int c = 0; c < b->nv; ++c) { /* x, y of every column of this joint */
            const real *S = w->S + 6 * (b->iv + c);
            real *x = w->F + 6 * (b->iv + c), *y = w->U + 6 * (b->iv + c),
                 *z = w->Z + 6 * (b->iv + c);
            real s[6], sa[6], extra[6], d[6], u[6];
            v6_zero(s);
            v6_zero(sa);
            v6_zero(extra);
            v6_zero(u);
            if (joint_varies(b)) {
                real local[6];
                v6_zero(local);
                for (int m = 0; m < b->nv; ++m) {
                    joint_dcolumn(w, b, m, c, d);
                    v6_add_scaled(v[b->iv + m], d, local);
                    v6_add_scaled(a[b->iv + m], d, extra);
                    joint_dcolumn(w, b, c, m, d);
                    /* change of the apparent rate with v_c, first part */
                    v6_add_scaled(v[b->iv + m], d, u);
                }
                for (int j = 0; j < 6; ++j)
                    u[j] += local[j];
                motion_to_root(w, i, local, s);
                motion_to_root(w, i, extra, sa);
                real turn[6]; /* change of the apparent rate with q_c: (s x turning axis) v_c */
                const int last = b->nv - 1;
                v6_zero(turn);
                if (c == last) {
                    const real *axis = w->H + 6 * (b->iv + last);
                    v3_cross(local, axis, turn);
                    v3_cross(local + 3, axis, turn + 3);
                    for (int j = 0; j < 6; ++j)
                        turn[j] = turn[j] * v[b->iv + c];
                }
                motion_to_root(w, i, turn, extra);
                motion_to_root(w, i, u, d);
                v6_copy(d, u);
            }
            cross_motion(v_l, S, x);
            for (int j = 0; j < 6; ++j)
                x[j] += s[j];
            cross_motion(a_l, S, y);
            cross_motion(x, vJ, t);
            for (int j = 0; j < 6; ++j)
                y[j] += t[j] + sa[j] + extra[j];
            cross_motion(V, s, t);
            for (int j = 0; j < 6; ++j)
                y[j] += t[j];
            cross_motion(V, x, t); /* - x x v_j */
            for (int j = 0; j < 6; ++j)
                y[j] += t[j];
            cross_motion(V, S, z);
            cross_motion(S, vJ, t);
            for (int j = 0; j < 6; ++j)
                z[j] = z[j] + z[j] + t[j] + u[j];
        }
        /* I, B, f of the body itself */
        real *I = w->b[i].P, local[10], h[6];
        rigid_set(b->M, local);
        for (int j = 0; j < 10; ++j)
            I[j] = REAL(0);
        rigid_in_add(w->Rw + 9 * i, w->pw + 3 * i, local, I, I);
        body_velocity_operator(I, V, w->B + 36 * i);
        for (int j = 0; j < 36; ++j)
            w->E[36 * i + j] = REAL(0);
        rigid_mul(I, V, h);
        cross_force(V, h, w->b[i].f);
        rigid_mul(I, A, h);
        for (int j = 0; j < 6; ++j)
            w->b[i].f[j] += h[j];
        if (fext) {
            force_to_root(w, i, fext + 6 * (i - 1), h);
            for (int j = 0; j < 6; ++j)
                w->b[i].f[j] -= h[j];
        }
        if (b->rotor && b->parent) { /* on the carrier */
            real r[3], g[3];
            const real body[3] = {REAL(k->dof[b->iv].rotor[0]), REAL(k->dof[b->iv].rotor[1]),
                                  REAL(k->dof[b->iv].rotor[2])};
            rot_mul(w->Rw + 9 * b->parent, body, r);
            v3_cross(v_l, r, g);
            real *B = w->B + 36 * b->parent, *f = w->b[b->parent].f;
            for (int j = 0; j < 3; ++j)
                f[j] += r[j] * a[b->iv] + g[j] * v[b->iv];
            for (int j = 0; j < 3; ++j)
                r[j] = r[j] * v[b->iv];
            B[1] += r[2];
            B[2] -= r[1];
            B[6] -= r[2];
            B[8] += r[0];
            B[12] += r[1];
            B[13] -= r[0]; /* x -> x x r */
        }
    }
    /* wrenches fixed in the world: F_w about the reference point, and E */
    for (int m = 0; m < wrenches; ++m) {
        const int i = wrench[m].body;
        real point[3], r[3], F[6], *E = w->E + 36 * i;
        for (int j = 0; j < 3; ++j)
            point[j] = REAL(wrench[m].point[j]);
        rot_mul(w->Rw + 9 * i, point, r);
        for (int j = 0; j < 3; ++j)
            r[j] += w->pw[3 * i + j];
        for (int j = 0; j < 6; ++j)
            F[j] = REAL(wrench[m].value[j]);
        const real g[3] = {F[3], F[4], F[5]};
        v3_cross_add(r, g, F);
        for (int j = 0; j < 6; ++j)
            w->b[i].f[j] -= F[j];
        for (int c = 0; c < 6; ++c) { /* column c: -dF + e_c x* F, dF = [(w x r + v) x g; 0] */
            real x[6], d[3], t[6];
            v6_zero(x);
            x[c] = REAL(1);
            v3_cross(x, r, d);
            for (int j = 0; j < 3; ++j)
                d[j] += x[3 + j];
            cross_force(x, F, t);
            v3_cross(d, g, d);
            for (int j = 0; j < 3; ++j)
                t[j] -= d[j];
            for (int j = 0; j < 6; ++j)
                E[6 * j + c] += t[j];
        }
    }
    for (int i = k->nb; i >= 1; --i) { /* tips to base: composites stand when body i is reached */
        const body_table *b = k->body + i;
        const real *I = w->b[i].P, *B = w->B + 36 * i, *E = w->E + 36 * i, *F = w->b[i].f;
        for (int c = 0; c < b->nv; ++c) {
            const int row = b->iv + c;
            const real *S = w->S + 6 * row, *x = w->F + 6 * row, *y = w->U + 6 * row,
                       *z = w->Z + 6 * row;
            real IS[6], BS[6], ES[6], col_q[6], col_v[6], t[6];
            rigid_mul(I, S, IS);
            for (int j = 0; j < 6; ++j) { /* B'S, E'S */
                BS[j] = ES[j] = REAL(0);
                for (int r = 0; r < 6; ++r) {
                    BS[j] += B[6 * r + j] * S[r];
                    ES[j] += E[6 * r + j] * S[r];
                }
            }
            rigid_mul(I, y, col_q);
            mat6_mul(B, x, t);
            for (int j = 0; j < 6; ++j)
                col_q[j] += t[j];
            mat6_mul(E, S, t);
            for (int j = 0; j < 6; ++j)
                col_q[j] += t[j];
            rigid_mul(I, z, col_v);
            mat6_mul(B, S, t);
            for (int j = 0; j < 6; ++j)
                col_v[j] += t[j];
            for (int o = 0; o < b->nv; ++o) { /* own joint: row `row`, columns of the same joint */
                const int at = b->iv + o;
                real d[6], g[6];
                if (dq)
                    dq[n * (size_t)row + (size_t)at] = v6_dot(IS, w->U + 6 * at) +
                                                       v6_dot(BS, w->F + 6 * at) +
                                                       v6_dot(ES, w->S + 6 * at);
                if (dv)
                    dv[n * (size_t)row + (size_t)at] =
                        v6_dot(IS, w->Z + 6 * at) + v6_dot(BS, w->S + 6 * at);
                if (dq && joint_varies(b)) {
                    joint_dcolumn(w, b, c, o, d);
                    motion_to_root(w, i, d, g);
                    dq[n * (size_t)row + (size_t)at] += v6_dot(g, F);
                }
            }
            cross_force(S, F, t); /* inboard joints also see the whole force turn */
            for (int j = 0; j < 6; ++j)
                col_q[j] += t[j];
            for (int p = b->parent; p; p = k->body[p].parent)
                for (int o = 0; o < k->body[p].nv; ++o) {
                    const int at = k->body[p].iv + o;
                    if (dq)
                        dq[n * (size_t)row + (size_t)at] = v6_dot(IS, w->U + 6 * at) +
                                                           v6_dot(BS, w->F + 6 * at) +
                                                           v6_dot(ES, w->S + 6 * at);
                    if (dv)
                        dv[n * (size_t)row + (size_t)at] =
                            v6_dot(IS, w->Z + 6 * at) + v6_dot(BS, w->S + 6 * at);
                    if (dq) dq[n * (size_t)at + (size_t)row] = v6_dot(w->S + 6 * at, col_q);
                    if (dv) dv[n * (size_t)at + (size_t)row] = v6_dot(w->S + 6 * at, col_v);
                }
            if (dq) dq[(n + 1) * (size_t)row] += k->dof[row].stiffness;
            if (dv) dv[(n + 1) * (size_t)row] += k->dof[row].damping;
        }
        if (b->parent) {
            real *IP = w->b[b->parent].P, *BP = w->B + 36 * b->parent, *EP = w->E + 36 * b->parent;
            for (int j = 0; j < 10; ++j)
                IP[j] += I[j];
            for (int j = 0; j < 36; ++j) {
                BP[j] += B[j];
                EP[j] += E[j];
            }
            for (int j = 0; j < 6; ++j)
                w->b[b->parent].f[j] += F[j];
        }
    }
    for (int i = 1; i <= k->nb;
         ++i) { /* exact rotors: their torque follows the carrier, their couple their own speed */
        const body_table *b = k->body + i;
        if (!b->rotor || !b->parent) continue;
        const real body[3] = {REAL(k->dof[b->iv].rotor[0]), REAL(k->dof[b->iv].rotor[1]),
                              REAL(k->dof[b->iv].rotor[2])};
        const real *V = w->b[b->parent].V;
        real r[3], g[3], t[6];
        rot_mul(w->Rw + 9 * b->parent, body, r);
        v3_cross(V, r, g);
        for (int p = b->parent; p; p = k->body[p].parent)
            for (int o = 0; o < k->body[p].nv; ++o) {
                const int at = k->body[p].iv + o;
                cross_motion(w->F + 6 * at, V, t);
                for (int j = 0; dq && j < 3; ++j)
                    dq[n * (size_t)b->iv + (size_t)at] += r[j] * (w->U[6 * at + j] + t[j]);
                cross_motion(w->S + 6 * at, V, t);
                for (int j = 0; dv && j < 3; ++j)
                    dv[n * (size_t)b->iv + (size_t)at] += r[j] * (w->Z[6 * at + j] + t[j]);
                if (dv) dv[n * (size_t)at + (size_t)b->iv] += v3_dot(g, w->S + 6 * at);
            }
    }
    return 0;
}

#endif
