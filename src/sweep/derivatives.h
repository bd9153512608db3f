/* derivatives.h  d tau/dq and d tau/dv of inverse dynamics, analytic, O(n d).
 *
 * All vectors are in world axes, with the root body's origin as reference point.  Let S be the
 * column of the joint map that belongs to coordinate k of joint j, and l the parent of body j.  A
 * small change of q_k moves every body outboard of the joint rigidly by S.  Seen from the moving
 * bodies,
 *     velocities change by                 x = V_l x S + s
 *     accelerations of body i change by    y + x x V_i,
 *                                          y = A_l x S + x x S v + s_a + r + V_j x s - x x V_j
 * with s = (dS/dq_k) v and s_a = (dS/dq_k) vdot, both zero where S is constant in the body, and r
 * the change of the apparent rate.  The force of body i then changes by
 *     I_i y + B_i x,                       B_i x = I_i (x x V_i) + x x* I_i V_i + V_i x* I_i x.
 * A small change of v_k does the same with S in place of x, and in place of y
 *                                          z = 2 V_j x S + S x S v + u,
 * u being the change of the apparent rate with v_k.
 *
 * With I, B, F composite, that is, summed over all bodies outboard of the one they belong to,
 *     i outboard of j:   d tau_i/dq_k = S_i* (I_i y + B_i x)      (i = j: + (dS_i/dq_k)* F_i)
 *                        d tau_i/dv_k = S_i* (I_i z + B_i S)
 *     i inboard of j:    d tau_i/dq_k = S_i* (I_j y + B_j x + S x* F_j)
 *                        d tau_i/dv_k = S_i* (I_j z + B_j S)
 * A wrench F_w fixed in the world does not turn with its body.  It adds E S to the force that q_k
 * changes,  E x = -dF_w(x) + x x* F_w.  The gyroscopic couple of an exact rotor adds (x x r) v_k to
 * B of the body that carries it; its other terms are written where they are used.
 *
 * passes   1 outward: S, V, A, then x, y, z of every column, then I, B, F of each body alone
 *          2 wrenches fixed in the world
 *          3 inward: the entries of both matrices, then I, B, E, F of the parent
 *          4 the rows of exact rotors
 * writes   R p Rw pw V A f(=F) P(=I, 10 numbers) B E S F(=x) U(=y) Z(=z) */
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

/* B of one body, column by column:  B x = I (x x V) + x x* I V + V x* I x */
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
/* f += B x */
SOAI_INLINE void mat6_mul_add(const real B[36], const real x[6], real f[6]) {
    real t[6];
    mat6_mul(B, x, t);
    for (int j = 0; j < 6; ++j)
        f[j] += t[j];
}
/* The axis of an exact rotor times its inertia and gear ratio. */
SOAI_INLINE void rotor_in_world(const view_table *k, const kernel_work *w, const body_table *b,
                                real r[3]) {
    const konst *rotor = k->dof[b->iv].rotor;
    const real body[3] = {REAL(rotor[0]), REAL(rotor[1]), REAL(rotor[2])};
    rot_mul(w->Rw + 9 * b->parent, body, r);
}

/* --- pass 1: motion, its changes, and the force of each body alone ---------------------------- */
/* Columns S of the joint, and with vJ = S v:
 *     V = V_l + vJ
 *     A = A_l + S vdot + V x vJ + the apparent rate */
SOAI_INLINE void motion_in_world(const view_table *k, kernel_work *w, const body_table *b, int i,
                                 const real *v, const real *a, real vJ[6]) {
    const real *V_l = w->b[b->parent].V, *A_l = w->b[b->parent].A;
    real *V = w->b[i].V, *A = w->b[i].A;
    real aJ[6], ring[6], H[6], t[6];
    v6_zero(vJ);
    v6_zero(aJ);
    v6_zero(ring);
    v6_zero(t);
    for (int c = 0; c < b->nv; ++c) {
        real *S = w->S + 6 * (b->iv + c);
        step_column(k, w, b, b->kind, c, H);
        motion_to_root(w, i, H, S);
        v6_add_scaled(v[b->iv + c], S, vJ);
        v6_add_scaled(a[b->iv + c], S, aJ);
    }
    joint_apparent_rate(k, w, b, v + b->iv, v + b->iv, t);
    motion_to_root(w, i, t, ring);
    for (int j = 0; j < 6; ++j)
        V[j] = V_l[j] + vJ[j];
    cross_motion(V, vJ, t);
    for (int j = 0; j < 6; ++j)
        A[j] = A_l[j] + aJ[j] + t[j] + ring[j];
}

/* What x, y and z get from a joint map that depends on q; zero for all other joints. */
typedef struct joint_change {
    real s[6];       /* (dS/dq_c) v    */
    real s_a[6];     /* (dS/dq_c) vdot */
    real r[6], u[6]; /* of the apparent rate, with q_c and with v_c */
} joint_change;

SOAI_INLINE void change_of_joint(const kernel_work *w, const body_table *b, int i, int c,
                                 const real *v, const real *a, joint_change *to) {
    const int last = b->nv - 1; /* the coordinate about whose axis the others turn */
    real s[6], s_a[6], r[6], u[6], d[6];
    v6_zero(s);
    v6_zero(s_a);
    v6_zero(r);
    v6_zero(u);
    for (int m = 0; m < b->nv; ++m) {
        joint_dcolumn(w, b, m, c, d);
        v6_add_scaled(v[b->iv + m], d, s);
        v6_add_scaled(a[b->iv + m], d, s_a);
        joint_dcolumn(w, b, c, m, d);
        v6_add_scaled(v[b->iv + m], d, u); /* the first part of u, the second is s */
    }
    for (int j = 0; j < 6; ++j)
        u[j] += s[j];
    if (c == last) { /* (s x turning axis) v_c */
        const real *axis = w->H + 6 * (b->iv + last);
        v3_cross(s, axis, r);
        v3_cross(s + 3, axis, r + 3);
        for (int j = 0; j < 6; ++j)
            r[j] = r[j] * v[b->iv + c];
    }
    motion_to_root(w, i, s, to->s);
    motion_to_root(w, i, s_a, to->s_a);
    motion_to_root(w, i, r, to->r);
    motion_to_root(w, i, u, to->u);
}

/* x, y, z of column c of the joint. */
SOAI_INLINE void change_of_motion(kernel_work *w, const body_table *b, int i, int c, const real *v,
                                  const real *a, const real vJ[6]) {
    const real *V_l = w->b[b->parent].V, *A_l = w->b[b->parent].A, *V = w->b[i].V;
    const int at = b->iv + c;
    const real *S = w->S + 6 * at;
    real *x = w->F + 6 * at, *y = w->U + 6 * at, *z = w->Z + 6 * at;
    joint_change d;
    real t[6];
    v6_zero(d.s);
    v6_zero(d.s_a);
    v6_zero(d.r);
    v6_zero(d.u);
    if (joint_varies(b)) change_of_joint(w, b, i, c, v, a, &d);
    /* x = V_l x S + s */
    cross_motion(V_l, S, x);
    for (int j = 0; j < 6; ++j)
        x[j] += d.s[j];
    /* y = A_l x S + (x x vJ + s_a + r) + V x s - x x V */
    cross_motion(A_l, S, y);
    cross_motion(x, vJ, t);
    for (int j = 0; j < 6; ++j)
        y[j] += t[j] + d.s_a[j] + d.r[j];
    cross_motion(V, d.s, t);
    for (int j = 0; j < 6; ++j)
        y[j] += t[j];
    cross_motion(V, x, t);
    for (int j = 0; j < 6; ++j)
        y[j] += t[j];
    /* z = 2 V x S + S x vJ + u */
    cross_motion(V, S, z);
    cross_motion(S, vJ, t);
    for (int j = 0; j < 6; ++j)
        z[j] = z[j] + z[j] + t[j] + d.u[j];
}

/* I, B, E = 0 and F = V x* I V + I A - the wrench on the body, all of the body alone. */
SOAI_INLINE void force_in_world(kernel_work *w, const body_table *b, int i, const real *fext) {
    const real *V = w->b[i].V, *A = w->b[i].A;
    real *I = w->b[i].P, *F = w->b[i].f, local[10], t[6];
    rigid_set(b->M, local);
    for (int j = 0; j < 10; ++j)
        I[j] = REAL(0);
    rigid_in_add(w->Rw + 9 * i, w->pw + 3 * i, local, I, I);
    body_velocity_operator(I, V, w->B + 36 * i);
    for (int j = 0; j < 36; ++j)
        w->E[36 * i + j] = REAL(0);
    rigid_mul(I, V, t);
    cross_force(V, t, F);
    rigid_mul(I, A, t);
    for (int j = 0; j < 6; ++j)
        F[j] += t[j];
    if (!fext) return;
    force_to_root(w, i, fext + 6 * (i - 1), t);
    for (int j = 0; j < 6; ++j)
        F[j] -= t[j];
}

/* The couple of an exact rotor on the body that carries it, and its part of B there:
 *     F += r vdot_k + (V_l x r) v_k,   B x += (x x r) v_k */
SOAI_INLINE void rotor_on_carrier(const view_table *k, kernel_work *w, const body_table *b,
                                  const real *v, const real *a) {
    real *B = w->B + 36 * b->parent, *F = w->b[b->parent].f, r[3], g[3];
    rotor_in_world(k, w, b, r);
    v3_cross(w->b[b->parent].V, r, g);
    for (int j = 0; j < 3; ++j)
        F[j] += r[j] * a[b->iv] + g[j] * v[b->iv];
    for (int j = 0; j < 3; ++j)
        r[j] = r[j] * v[b->iv];
    B[1] += r[2];
    B[2] -= r[1];
    B[6] -= r[2];
    B[8] += r[0];
    B[12] += r[1];
    B[13] -= r[0];
}

/* --- pass 2: a wrench fixed in the world ------------------------------------------------------ */
/* With F_w = [r x g + couple; g] about the reference point, g its force and r its point of action:
 *     F -= F_w,   E x += -dF_w + x x* F_w,   dF_w = [(w x r + v) x g; 0] for x = [w; v] */
SOAI_INLINE void wrench_in_world(kernel_work *w, const world_wrench *wrench) {
    const int i = wrench->body;
    real point[3], r[3], Fw[6], *E = w->E + 36 * i;
    for (int j = 0; j < 3; ++j)
        point[j] = REAL(wrench->point[j]);
    rot_mul(w->Rw + 9 * i, point, r);
    for (int j = 0; j < 3; ++j)
        r[j] += w->pw[3 * i + j];
    for (int j = 0; j < 6; ++j)
        Fw[j] = REAL(wrench->value[j]);
    const real g[3] = {Fw[3], Fw[4], Fw[5]};
    v3_cross_add(r, g, Fw);
    for (int j = 0; j < 6; ++j)
        w->b[i].f[j] -= Fw[j];
    for (int c = 0; c < 6; ++c) { /* column c of E: x = e_c */
        real x[6], d[3], t[6];
        v6_zero(x);
        x[c] = REAL(1);
        v3_cross(x, r, d);
        for (int j = 0; j < 3; ++j)
            d[j] += x[3 + j];
        cross_force(x, Fw, t);
        v3_cross(d, g, d);
        for (int j = 0; j < 3; ++j)
            t[j] -= d[j];
        for (int j = 0; j < 6; ++j)
            E[6 * j + c] += t[j];
    }
}

/* --- pass 3: the entries of both matrices ----------------------------------------------------- */
/* The composites of one body, in the work space. */
typedef struct composite {
    real *I, *B, *E, *F;
} composite;
SOAI_INLINE composite composite_of(const kernel_work *w, int i) {
    return (composite){w->b[i].P, w->B + 36 * i, w->E + 36 * i, w->b[i].f};
}

/* Their products with one column of the body's joint. */
typedef struct column_products {
    real IS[6], BS[6], ES[6]; /* I S, B* S, E* S: the row of this coordinate     */
    real dq[6], dv[6];        /* changes of force with q_k and v_k: its column   */
} column_products;

SOAI_INLINE void multiply_column(const kernel_work *w, composite of, int at, column_products *c) {
    const real *B = of.B, *E = of.E;
    const real *S = w->S + 6 * at, *x = w->F + 6 * at, *y = w->U + 6 * at, *z = w->Z + 6 * at;
    rigid_mul(of.I, S, c->IS);
    for (int j = 0; j < 6; ++j) {
        c->BS[j] = c->ES[j] = REAL(0);
        for (int r = 0; r < 6; ++r) {
            c->BS[j] += B[6 * r + j] * S[r];
            c->ES[j] += E[6 * r + j] * S[r];
        }
    }
    rigid_mul(of.I, y, c->dq); /* I y + B x + E S */
    mat6_mul_add(B, x, c->dq);
    mat6_mul_add(E, S, c->dq);
    rigid_mul(of.I, z, c->dv); /* I z + B S */
    mat6_mul_add(B, S, c->dv);
}
/* Entry `at` of the row, with x, y, z and S of that coordinate:
 *     by q:  (I S)* y + (B* S)* x + (E* S)* S        by v:  (I S)* z + (B* S)* S */
SOAI_INLINE real row_of_dq(const kernel_work *w, const column_products *c, int at) {
    return v6_dot(c->IS, w->U + 6 * at) + v6_dot(c->BS, w->F + 6 * at) +
           v6_dot(c->ES, w->S + 6 * at);
}
SOAI_INLINE real row_of_dv(const kernel_work *w, const column_products *c, int at) {
    return v6_dot(c->IS, w->Z + 6 * at) + v6_dot(c->BS, w->S + 6 * at);
}

/* The row of column c of joint i, at the coordinates of the same joint. */
SOAI_INLINE void own_joint(const view_table *k, const kernel_work *w, int i, int c,
                           const column_products *p, real *dq, real *dv) {
    const body_table *b = k->body + i;
    const size_t n = (size_t)k->nv, row = (size_t)b->iv + (size_t)c;
    for (int o = 0; o < b->nv; ++o) {
        const int at = b->iv + o;
        real d[6], g[6];
        if (dq) dq[n * row + (size_t)at] = row_of_dq(w, p, at);
        if (dv) dv[n * row + (size_t)at] = row_of_dv(w, p, at);
        if (dq && joint_varies(b)) { /* + (dS/dq_o)* F */
            joint_dcolumn(w, b, c, o, d);
            motion_to_root(w, i, d, g);
            dq[n * row + (size_t)at] += v6_dot(g, w->b[i].f);
        }
    }
}
/* The row `row` and the column of the same coordinate, at those of all joints inboard. */
SOAI_INLINE void inboard_joints(const view_table *k, const kernel_work *w, const body_table *b,
                                int row, const column_products *p, real *dq, real *dv) {
    const size_t n = (size_t)k->nv;
    for (int l = b->parent; l; l = k->body[l].parent) {
        const int first = k->body[l].iv, end = first + k->body[l].nv;
        for (int at = first; at < end; ++at) {
            if (dq) dq[n * (size_t)row + (size_t)at] = row_of_dq(w, p, at);
            if (dv) dv[n * (size_t)row + (size_t)at] = row_of_dv(w, p, at);
            if (dq) dq[n * (size_t)at + (size_t)row] = v6_dot(w->S + 6 * at, p->dq);
            if (dv) dv[n * (size_t)at + (size_t)row] = v6_dot(w->S + 6 * at, p->dv);
        }
    }
}
/* I, B, E, F of the parent += those of body i. */
SOAI_INLINE void add_to_parent(composite own, composite parent) {
    for (int j = 0; j < 10; ++j)
        parent.I[j] += own.I[j];
    for (int j = 0; j < 36; ++j) {
        parent.B[j] += own.B[j];
        parent.E[j] += own.E[j];
    }
    for (int j = 0; j < 6; ++j)
        parent.F[j] += own.F[j];
}

/* --- pass 4: an exact rotor ------------------------------------------------------------------- */
/* Its torque follows the motion of the body that carries it, its couple its own speed:
 *     row:      d tau_k/dq += r . (y + x x V_l),   d tau_k/dv += r . (z + S x V_l)
 *     column:   d tau/dv_k += S* (V_l x r) */
SOAI_INLINE void rotor_entries(const view_table *k, const kernel_work *w, const body_table *b,
                               real *dq, real *dv) {
    const size_t n = (size_t)k->nv;
    const real *V_l = w->b[b->parent].V;
    real r[3], g[3], t[6];
    rotor_in_world(k, w, b, r);
    v3_cross(V_l, r, g);
    for (int l = b->parent; l; l = k->body[l].parent) {
        for (int o = 0; o < k->body[l].nv; ++o) {
            const int at = k->body[l].iv + o;
            cross_motion(w->F + 6 * at, V_l, t);
            for (int j = 0; dq && j < 3; ++j)
                dq[n * (size_t)b->iv + (size_t)at] += r[j] * (w->U[6 * at + j] + t[j]);
            cross_motion(w->S + 6 * at, V_l, t);
            for (int j = 0; dv && j < 3; ++j)
                dv[n * (size_t)b->iv + (size_t)at] += r[j] * (w->Z[6 * at + j] + t[j]);
            if (dv) dv[n * (size_t)at + (size_t)b->iv] += v3_dot(g, w->S + 6 * at);
        }
    }
}

/* dq and dv are n x n, row i column k: d tau_i by q_k or v_k.  Either may be NULL. */
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
    for (int i = 1; i <= k->nb; ++i) { /* 1: base to tips */
        const body_table *b = k->body + i;
        real vJ[6];
        step_pose(k, w, i);
        for (int j = 0; !b->parent && j < 3; ++j) /* the reference point */
            w->pw[3 * i + j] = REAL(0);
        motion_in_world(k, w, b, i, v, a, vJ);
        for (int c = 0; c < b->nv; ++c)
            change_of_motion(w, b, i, c, v, a, vJ);
        force_in_world(w, b, i, fext);
        if (b->rotor && b->parent) rotor_on_carrier(k, w, b, v, a);
    }
    for (int m = 0; m < wrenches; ++m) /* 2 */
        wrench_in_world(w, wrench + m);
    for (int i = k->nb; i >= 1; --i) { /* 3: tips to base; I, B, E, F of body i are composite now */
        const body_table *b = k->body + i;
        const composite own = composite_of(w, i);
        for (int c = 0; c < b->nv; ++c) {
            const int row = b->iv + c;
            column_products p;
            real t[6];
            multiply_column(w, own, row, &p);
            own_joint(k, w, i, c, &p, dq, dv);
            cross_force(w->S + 6 * row, own.F, t); /* inboard joints also see F turn: S x* F */
            for (int j = 0; j < 6; ++j)
                p.dq[j] += t[j];
            inboard_joints(k, w, b, row, &p, dq, dv);
            if (dq) dq[(n + 1) * (size_t)row] += k->dof[row].stiffness;
            if (dv) dv[(n + 1) * (size_t)row] += k->dof[row].damping;
        }
        if (b->parent) add_to_parent(own, composite_of(w, b->parent));
    }
    for (int i = 1; i <= k->nb; ++i) { /* 4 */
        const body_table *b = k->body + i;
        if (b->rotor && b->parent) rotor_entries(k, w, b, dq, dv);
    }
    return 0;
}

#endif
