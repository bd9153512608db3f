/* coriolis.h  C(q,v) w, O(n), with v and w different and dM/dt - 2 C skew (RJK91 section 6).
 *
 * With J the body Jacobians and M = J' I J:   C = J' (I dJ/dt + B J),   B + B' = dI/dt, seen from
 *     the world: B W = 1/2 ( V x* I W  -  I (V x W)  +  W x* I V ),
 * whose last part is skew.  For w = v it is V x* I V.  An exact rotor adds the same terms of its
 * spin (docs/theory). */
#ifndef SOAI_CORIOLIS_H
#define SOAI_CORIOLIS_H
#include "steps.h"

/* W (velocity made by w) stands in A, (dJ/dt) w in P while sweeping. */
SOAI_SWEEP int coriolis_mul(const view_table *k, kernel_work *w, const real *q, const real *v,
                            const real *x, real *out) {
    positions(k, w, q);
    v6_zero(w->b[0].V);
    v6_zero(w->b[0].A);
    v6_zero(w->b[0].P);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        real c[6], s[6], V[6];
        v6_zero(s);
        WITH_KIND(b, {
            step_velocity(k, w, b, i, kind, nv, v, V);
            joint_add(k, w, b, kind, nv, x + b->iv, s);
        })
        const body_work *own = w->b + i, *in = w->b + b->parent;
        real *W = w->b[i].A, *Jd = w->b[i].P;
        motion_out(own->R, own->p, in->A, W);
        for (int j = 0; j < 6; ++j)
            W[j] += s[j];
        motion_out(own->R, own->p, in->P, Jd);
        cross_motion(V, s, c);
        joint_apparent_rate(k, w, b, v + b->iv, x + b->iv, c);
        for (int j = 0; j < 6; ++j)
            Jd[j] += c[j];
        real IV[6], IW[6], t[6], half[6];
        rigid_mul_k(b->M, V, IV);
        rigid_mul_k(b->M, W, IW);
        cross_force(V, IW, half);
        cross_force(W, IV, t);
        for (int j = 0; j < 6; ++j)
            half[j] += t[j];
        cross_motion(V, W, t);
        real It[6], IJ[6];
        rigid_mul_k(b->M, t, It);
        rigid_mul_k(b->M, Jd, IJ);
        for (int j = 0; j < 6; ++j)
            w->b[i].f[j] = IJ[j] + REAL(0.5) * (half[j] - It[j]);
        if (b->rotor && b->parent) { /* couple on the carrier: (w x r w_k + W x r v_k) / 2 */
            const konst *r = k->dof[b->iv].rotor;
            real t1[3], t2[3];
            v3_cross_k(w->b[b->parent].V, r, t1);
            v3_cross_k(in->A, r, t2);
            for (int j = 0; j < 3; ++j)
                w->b[b->parent].f[j] += REAL(0.5) * (t1[j] * x[b->iv] + t2[j] * v[b->iv]);
        }
    }
    for (int i = k->nb; i >= 1; --i) {
        const body_table *b = k->body + i;
        WITH_KIND(b, joint_project(k, w, b, kind, nv, w->b[i].f, out + b->iv))
        if (b->rotor && b->parent) { /* r . (dJ/dt w - (w x W) / 2) of the carrier */
            real t[3];
            v3_cross(w->b[b->parent].V, w->b[b->parent].A, t);
            for (int j = 0; j < 3; ++j)
                out[b->iv] += k->dof[b->iv].rotor[j] * (w->b[b->parent].P[j] - REAL(0.5) * t[j]);
        }
        if (b->parent) force_in_add(w->b[i].R, w->b[i].p, w->b[i].f, w->b[b->parent].f);
    }
    return 0;
}

/* Y (nv x 10 nb): column 10 (i-1) + j is the joint torque of a body i with unit parameter j.  After
 * kinematics() with the same q, v, a. */
SOAI_SWEEP void regressor(const view_table *k, kernel_work *w, real *Y) {
    const size_t cols = 10 * (size_t)k->nb;
    for (size_t j = 0; j < cols * (size_t)k->nv; ++j)
        Y[j] = REAL(0);
    real up[6];
    base_acceleration(k, up);
    for (int i = 1; i <= k->nb; ++i) {
        real A[6];
        v6_copy(w->b[i].A, A);
        real g[3];
        rot_tmul(w->Rw + 9 * i, up + 3, g);
        for (int j = 0; j < 3; ++j)
            A[3 + j] += g[j];
        for (int j = 0; j < 10; ++j) {
            konst unit[10] = {0};
            unit[j] = 1;
            real f[6], h[6], t[6], x[6];
            rigid_mul_k(unit, w->b[i].V, h);
            cross_force(w->b[i].V, h, f);
            rigid_mul_k(unit, A, t);
            for (int r = 0; r < 6; ++r)
                f[r] += t[r];
            for (int a = i; a; a = k->body[a].parent) {
                const body_table *o = k->body + a;
                joint_project(k, w, o, o->kind, o->nv, f, x);
                for (int r = 0; r < o->nv; ++r)
                    Y[cols * (size_t)(o->iv + r) + 10 * (size_t)(i - 1) + (size_t)j] = x[r];
                v6_zero(t);
                force_in_add(w->b[a].R, w->b[a].p, f, t);
                v6_copy(t, f);
            }
        }
    }
}

#endif
