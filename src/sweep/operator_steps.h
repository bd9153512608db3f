/* operator_steps.h  the steps that planned expressions are made of, at one body: each does what a
 *                   hand-written sweep does there (aba.h, rnea.h), with the same functions.
 *
 * A plan lists steps for each pass over the bodies (select.c of the operator room).  Tables are the
 * aligned ones, so vectors of links are in the frames of aligned_frames.c.  Vectors between steps
 * are slots: 6 numbers for each body, row 0 the world, or the tree's joint entries.
 *
 *   RNE          out = M A + b - wrench with A = phi* (a + H* u), u in `b` or none; classical
 *   SPIN         angular velocities, for FILTER_BIAS and SMOOTH_BIAS
 *   MOTION       out = phi* out(parent) + H* a + b;  row 0 of out is the base's
 *   GATHER       out = a + sum of phi out(child);  out2 = b + x H out
 *   ARTICULATE   P, D, G                                                R87 (37) to (39), (43)
 *   FILTER       out = a + sum of phi (out + G out2)(child);  out2 = b - H out,  out3 = D^-1 out2,
 *                these two times x, which is 1 or -1                    R87 (36), (40) to (42)
 *   FILTER_BIAS  the same with b - wrench in out, and P+ c passed inward   R87 (36) to (43)
 *   SMOOTH       out2 = a - G* a',  out = a' + H* out2,  a' = phi* out(parent)
 *   SMOOTH_BIAS  the same with the joint's bias in a'                   R87 (44) to (47)
 *   SPATIAL      out = a - [0; omega x v], [omega; v] = b: spatial from classical acceleration
 *   COSTATE      Omega of every body, in the place of P                 RJK91 (20)
 *   the others   one operator each
 *
 * a, b, x and out are fields of a step, but in RNE and FILTER_BIAS b is the bias force, and in RNE a
 * is the bias acceleration; c in FILTER_BIAS is that of one joint.
 * GATHER and FILTER also add forces at tips, phi(k, tip) f.
 *
 * FILTER_BIAS and SMOOTH_BIAS are a pair and work with classical accelerations, like aba.h; their
 * out (z and lambda) and out3 are theirs alone. */
#ifndef SOAI_OPERATOR_STEPS_H
#define SOAI_OPERATOR_STEPS_H
#include "hinge.h"
#include "operational.h"
#include "operator_program.h"
#include "operator_sweep.h"
#include "rnea.h"

/* The row of body i in the result of a step. */
SOAI_INLINE real *row_of(const soai_step *s, int i) {
    return s->out + (long)s->stride * i;
}
/* y = y + x */
SOAI_INLINE void row_add(const real *x, real y[6]) {
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        y[j] += x[j];
}
/* out(parent) = f, or += f if another child or the parent's own a was there before. */
SOAI_INLINE void row_pass(joint J, const soai_step *s, const real f[6]) {
    real *row = row_of(s, J.b->parent);
    const int first = J.b->starts && s->a != s->out;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        row[j] = first ? f[j] : row[j] + f[j];
}
/* y += a + the sum from the children + forces at tips; a may be in the place of the sum. */
SOAI_INLINE void row_gather(joint J, const soai_step *s, const soai_step_data *d, real y[6]) {
    if (s->a && s->a != s->out) row_add(s->a + 6 * J.i, y);
    if (J.b->child || s->a == s->out) row_add(row_of(s, J.i), y);
    if (!s->tips) return;
    for (int f = 0; f < d->tips->count; ++f) {
        real force[6];
        if (d->tips->body[f] != J.i) continue;
        for (int j = 0; j < 6; ++j)
            force[j] = s->y * s->tips[6 * f + j];
        force_in_add(d->tips->R + 9 * f, d->tips->p + 3 * f, force, y);
    }
}
/* phi f, in the parent's axes */
SOAI_INLINE void force_inward(pose X, const real f[6], real out[6]) {
    rot_mul(X.R, f, out);
    rot_mul(X.R, f + 3, out + 3);
    v3_cross_add(X.p, out + 3, out);
}
/* phi* V */
SOAI_INLINE void motion_outward(pose X, const real V[6], real out[6]) {
    real v[3] = {V[3], V[4], V[5]};
    v3_cross_add(V, X.p, v);
    rot_tmul(X.R, V, out);
    rot_tmul(X.R, v, out + 3);
}
/* The joint's entries of t, or zeros, plus sign H f. */
SOAI_INLINE void innovation(joint J, int kind, const real *t, real sign, const real f[6], real *e) {
    real Hf[6];
    hinge_project(J, kind, f, Hf);
    if (t) {
        joint_entries(J, kind, t, e);
    } else {
        for (int c = 0; c < joint_size(J, kind); ++c)
            e[c] = REAL(0);
    }
    for (int c = 0; c < joint_size(J, kind); ++c)
        e[c] += sign * Hf[c];
}

SOAI_INLINE void put_scaled_entries(joint J, int kind, real scale, const real *x, real *tree) {
    real y[6];
    for (int c = 0; c < joint_size(J, kind); ++c)
        y[c] = scale * x[c];
    put_joint_entries(J, kind, y, tree);
}

/* ---- the filter ------------------------------------------------------------------------------ */
/* z = a + sum from the children (+ b - wrench), kept in its slot if it is read later. */
SOAI_INLINE void filter_gather(joint J, const soai_step *s, const soai_step_data *d, int biased,
                               real z[6]) {
    if (biased)
        gyroscopic_force(J, J.own->V, d->fext, z);
    else
        v6_zero(z);
    row_gather(J, s, d, z);
    if (s->keep) v6_copy(z, row_of(s, J.i));
}
/* out = R (z + G e) */
SOAI_INLINE void force_through_hinge(joint J, int kind, pose X, const real *G, const real *e,
                                     const real z[6], real out[6]) {
    real sum[6];
    v6_copy(z, sum);
    if (hinge_is_free(J, kind)) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            sum[j] += e[j];
    } else {
        for (int c = 0; c < joint_size(J, kind); ++c)
            v6_add_scaled(e[c], G + 6 * c, sum);
    }
    rot_mul(X.R, sum, out);
    rot_mul(X.R, sum + 3, out + 3);
}
/* [n + p x f; f] to the parent's sum */
SOAI_INLINE void filter_pass(joint J, pose X, const real f[6], const soai_step *s) {
    real moved[6];
    v6_copy(f, moved);
    v3_cross_add(X.p, f + 3, moved);
    row_pass(J, s, moved);
}
SOAI_INLINE int step_articulate_filter(joint J, int kind, int filters, int biased,
                                       const soai_step *s, const soai_step_data *d) {
    const pose X = joint_read(J, kind);
    real M[ABI_SIZE];
    abi_rotated Q;
    real U[36];
    real Dfac[36];
    real G[36];
    real z[6];
    real c[6];
    real t[3];
    real rate[6];
    real e[6];
    real nu[6];
    real z_plus[6];
    const real *P = gathered_inertia(J, M);            /* P                R87 (37) */
    hinge_inertia(J, kind, P, U);                      /* U = P H*                  */
    if (!hinge_gain(J, kind, P, U, Dfac, G)) return 0; /* D, G       R87 (38), (39) */
    if (filters) {
        filter_gather(J, s, d, biased, z);         /* z                R87 (36) */
        innovation(J, kind, s->b, REAL(-1), z, e); /* e = t - H z      R87 (40) */
        hinge_solve(J, kind, Dfac, e, nu);         /* nu = D^-1 e      R87 (42) */
        if (s->out2) put_scaled_entries(J, kind, s->x, e, s->out2);
        if (s->out3) put_scaled_entries(J, kind, s->x, nu, s->out3);
    } else {
        for (int j = 0; j < joint_size(J, kind); ++j)
            nu[j] = REAL(0);
    }
    hinge_keep(J, kind, P, U, Dfac, G, nu);
    if (!J.b->parent) return 1;
    if (biased) {
        joint_entries(J, kind, d->thd, rate);
        v6_zero(c);
        add_joint_bias(J, kind, J.own->V, rate, c); /* c, the joint's part  RK88-I (2.19) */
        lever(X, J.parent->V, t);                   /* and the lever's       RK88-I (2.5) */
    }
    inertia_after_hinge(J, kind, X, P, U, Dfac, G, Q); /* P+ = P - U G*    R87 (43) */
    if (biased)                                        /* z+ = z + P+ c + G e   R87 (41) */
        force_after_hinge(J, kind, X, Q, G, c, t, e, z, z_plus);
    else if (filters)
        force_through_hinge(J, kind, X, G, e, z, z_plus);
    pass_inertia(J, kind, Q, X.p);             /* P(parent) += phi P+ phi* */
    if (filters) filter_pass(J, X, z_plus, s); /* z(parent) += phi z+      */
    return 1;
}
/* FILTER where P, D and G are known from before. */
SOAI_INLINE void step_filter_again(joint J, int kind, const soai_step *s, const soai_step_data *d) {
    const pose X = joint_read(J, kind);
    const int n = joint_size(J, kind);
    const real *D = J.w->D + J.b->id;
    real z[6];
    real e[6];
    real nu[6];
    real z_plus[6];
    filter_gather(J, s, d, 0, z);
    innovation(J, kind, s->b, REAL(-1), z, e);
    for (int c = 0; c < n; ++c)
        nu[c] = e[c];
    if (n == 1)
        nu[0] = e[0] * D[0];
    else
        block_solve(n, D, nu);
    if (s->out2) put_scaled_entries(J, kind, s->x, e, s->out2);
    if (s->out3) put_scaled_entries(J, kind, s->x, nu, s->out3);
    if (!J.b->parent) return;
    /* G e = U nu */
    force_through_hinge(J, kind, X, J.w->U + 6 * J.b->iv, hinge_is_free(J, kind) ? e : nu, z,
                        z_plus);
    filter_pass(J, X, z_plus, s);
}

/* ---- the smoother ---------------------------------------------------------------------------- */
SOAI_INLINE void step_smoother(joint J, int kind, int biased, const soai_step *s,
                               const soai_step_data *d) {
    const pose X = joint_read(J, kind);
    const real *in = row_of(s, J.b->parent);
    real A[6];
    real nu[6];
    real x[6];
    real rate[6];
    joint_entries(J, kind, s->a, nu);
    if (biased) { /* a' = phi* A(parent) + c                 R87 (45), (46) */
        real at[3] = {in[3], in[4], in[5]};
        real t[3];
        lever(X, J.parent->V, t);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            at[j] += t[j];
        v3_cross_add(in, X.p, at);
        rot_tmul(X.R, in, A);
        rot_tmul(X.R, at, A + 3);
        joint_entries(J, kind, d->thd, rate);
        add_joint_bias(J, kind, J.own->V, rate, A);
    } else {
        if (J.b->parent)
            motion_outward(X, in, A);
        else
            v6_zero(A);
    }
    /* out2 = nu - G* a',  lambda = a' + H* out2             R87 (46), (47) */
    hinge_accelerate(J, kind, nu, J.w->G + 6 * J.b->iv, A, x);
    v6_copy(A, row_of(s, J.i));
    if (s->out2) put_joint_entries(J, kind, x, s->out2);
}

/* ---- velocities, bias, inertia ----------------------------------------------------------------*/
SOAI_INLINE void step_rne(joint J, int kind, int nv, const soai_step *s, const soai_step_data *d) {
    real omega[3];
    real A[6];
    real *f = row_of(s, J.i);
    step_vector_motion(J.k, J.w, J.b, J.i, kind, nv, d->thd, s->b ? s->b : d->zero, omega, A);
    step_vector_force(J.b, omega, A, J.own->P, f); /* W in P, as in rnea.h */
    if (d->fext) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            f[j] -= d->fext[6 * (J.i - 1) + j];
    }
}
SOAI_INLINE void step_spin(joint J, int kind, const soai_step_data *d) {
    real rate[6];
    joint_entries(J, kind, d->thd, rate);
    angular_velocity(J, kind, joint_read(J, kind), rate, J.own->V);
}
/* out = phi* out(parent) + H* a + b */
SOAI_INLINE void step_motion(joint J, int kind, const soai_step *s) {
    const pose X = joint_read(J, kind);
    real V[6];
    real x[6];
    motion_outward(X, s->out + 6 * J.b->parent, V);
    if (s->a) {
        joint_entries(J, kind, s->a, x);
        hinge_add(J, kind, x, V);
    }
    if (s->b) row_add(s->b + 6 * J.i, V);
    v6_copy(V, s->out + 6 * J.i);
}
/* out = a + sum of phi out(child);  out2 = b + x H out */
SOAI_INLINE void step_gather(joint J, int kind, const soai_step *s, const soai_step_data *d) {
    const pose X = joint_read(J, kind);
    real f[6];
    real e[6];
    real moved[6];
    v6_zero(f);
    row_gather(J, s, d, f);
    if (s->keep) v6_copy(f, row_of(s, J.i));
    if (s->out2) {
        innovation(J, kind, s->b, s->x, f, e);
        put_joint_entries(J, kind, e, s->out2);
    }
    if (!J.b->parent) return;
    force_inward(X, f, moved);
    row_pass(J, s, moved);
}

/* ---- one operator each ----------------------------------------------------------------------- */
SOAI_INLINE void step_hinge_block(joint J, int kind, const soai_step *s, int inverse) {
    const int n = joint_size(J, kind);
    const real *D = J.w->D + J.b->id;
    real x[6];
    joint_entries(J, kind, s->a, x);
    if (n == 1)
        x[0] = inverse ? x[0] * D[0] : x[0] / D[0];
    else if (inverse)
        block_solve(n, D, x);
    else
        block_multiply(n, D, x);
    put_joint_entries(J, kind, x, s->out);
}
/* out = G a, U D^-1 being G */
SOAI_INLINE void step_gain(joint J, int kind, const soai_step *s) {
    const int n = joint_size(J, kind);
    const real *D = J.w->D + J.b->id;
    real x[6];
    real y[6];
    joint_entries(J, kind, s->a, x);
    if (n == 1)
        x[0] = x[0] * D[0];
    else
        block_solve(n, D, x);
    v6_zero(y);
    for (int c = 0; c < n; ++c)
        v6_add_scaled(x[c], J.w->U + 6 * (J.b->iv + c), y);
    v6_copy(y, s->out + 6 * J.i);
}
/* x = G* V */
SOAI_INLINE void gain_adjoint(joint J, int kind, const real V[6], real *x) {
    const int n = joint_size(J, kind);
    const real *D = J.w->D + J.b->id;
    for (int c = 0; c < n; ++c)
        x[c] = v6_dot(J.w->U + 6 * (J.b->iv + c), V);
    if (n == 1)
        x[0] = x[0] * D[0];
    else
        block_solve(n, D, x);
}
SOAI_INLINE void step_gain_adjoint(joint J, int kind, const soai_step *s) {
    real x[6];
    gain_adjoint(J, kind, s->a + 6 * J.i, x);
    put_joint_entries(J, kind, x, s->out);
}
/* out = a + psi* out(parent) */
SOAI_INLINE void step_psi_adjoint(joint J, int kind, const soai_step *s) {
    real V[6];
    real x[6];
    motion_outward(joint_read(J, kind), s->out + 6 * J.b->parent, V);
    gain_adjoint(J, kind, V, x);
    for (int c = 0; c < joint_size(J, kind); ++c)
        x[c] = -x[c];
    hinge_add(J, kind, x, V);
    row_add(s->a + 6 * J.i, V);
    v6_copy(V, s->out + 6 * J.i);
}
SOAI_INLINE void step_tips_in(joint J, const soai_step *s, const soai_tips *tips) {
    real y[6];
    v6_zero(y);
    for (int f = 0; f < tips->count; ++f)
        if (tips->body[f] == J.i) force_in_add(tips->R + 9 * f, tips->p + 3 * f, s->a + 6 * f, y);
    v6_copy(y, s->out + 6 * J.i);
}
SOAI_INLINE void step_tips_out(joint J, const soai_step *s, const soai_tips *tips) {
    for (int f = 0; f < tips->count; ++f)
        if (tips->body[f] == J.i)
            motion_out(tips->R + 9 * f, tips->p + 3 * f, s->a + 6 * J.i, s->out + 6 * f);
}
/* Entries first ... first + n - 1 of x a + y b. */
SOAI_INLINE void step_sum(const soai_step *s, int first, int n) {
    for (int j = first; j < first + n; ++j)
        s->out[j] = s->b ? s->x * s->a[j] + s->y * s->b[j] : s->x * s->a[j];
}
SOAI_INLINE void step_sum_tips(joint J, const soai_step *s, const soai_tips *tips) {
    for (int f = 0; f < tips->count; ++f)
        if (tips->body[f] == J.i) step_sum(s, 6 * f, 6);
}
/* y = H x, with the entries of the tree */
SOAI_INLINE void step_project(joint J, int kind, const soai_step *s) {
    real x[6];
    hinge_project(J, kind, s->a + 6 * J.i, x);
    put_joint_entries(J, kind, x, s->out);
}
SOAI_INLINE void step_columns(joint J, int kind, const soai_step *s) {
    real x[6];
    real V[6];
    joint_entries(J, kind, s->a, x);
    v6_zero(V);
    hinge_add(J, kind, x, V);
    v6_copy(V, s->out + 6 * J.i);
}
SOAI_INLINE void step_shift_in(joint J, const soai_step *s) {
    if (!J.b->child) v6_zero(s->out + 6 * J.i);
    if (J.b->parent) row_pass(J, s, s->a + 6 * J.i);
}
SOAI_INLINE void step_shift_out(joint J, const soai_step *s) {
    if (J.b->parent)
        v6_copy(s->a + 6 * J.b->parent, s->out + 6 * J.i);
    else
        v6_zero(s->out + 6 * J.i);
}

SOAI_INLINE int step_simple(joint J, int kind, int nv, const soai_step *s,
                            const soai_step_data *d) {
    if (s->code == STEP_ARTICULATE) return step_articulate_filter(J, kind, 0, 0, s, d);
    if (s->code == STEP_FILTER) {
        step_filter_again(J, kind, s, d);
        return 1;
    }
    const real *x = s->a + 6 * J.i;
    real *y = s->out + 6 * J.i;
    real M[ABI_SIZE];
    switch (s->code) {
    case STEP_BIAS: step_bias(J.k, J.w, J.b, kind, nv, x, d->thd + J.b->iv, y); break;
    case STEP_FORCE: step_bias_force(J.b, x, d->fext ? d->fext + 6 * (J.i - 1) : 0, y); break;
    case STEP_INERTIA: rigid_mul_k(J.b->M, x, y); break;
    case STEP_P: abi_mul(gathered_inertia(J, M), x, y); break;
    case STEP_H: step_project(J, kind, s); break;
    case STEP_H_T: step_columns(J, kind, s); break;
    case STEP_G: step_gain(J, kind, s); break;
    case STEP_G_T: step_gain_adjoint(J, kind, s); break;
    case STEP_D: step_hinge_block(J, kind, s, 0); break;
    case STEP_DINV: step_hinge_block(J, kind, s, 1); break;
    case STEP_JR:
        for (int c = 0; c < nv; ++c)
            s->out[J.b->iv + c] = J.k->dof[J.b->iv + c].armature * s->a[J.b->iv + c];
        break;
    case STEP_X: force_inward(joint_read(J, kind), x, y); break;
    case STEP_X_T: motion_outward(joint_read(J, kind), x, y); break;
    case STEP_S: step_shift_in(J, s); break;
    case STEP_S_T: step_shift_out(J, s); break;
    case STEP_B: step_tips_in(J, s, d->tips); break;
    case STEP_B_T: step_tips_out(J, s, d->tips); break;
    case STEP_SUM_JOINT: step_sum(s, J.b->iv, nv); break;
    case STEP_SUM_LINK: step_sum(s, 6 * J.i, 6); break;
    case STEP_SUM_TIP: step_sum_tips(J, s, d->tips); break;
    case STEP_PSI_T: step_psi_adjoint(J, kind, s); break;
    default: break;
    }
    return 1;
}

/* ---- groups of bodies ------------------------------------------------------------------------ */
/* A pass goes through the bodies group by group, and through each group step by step: what one step
 * writes the next finds in the cache, and each step has a loop to itself.  (One loop over bodies
 * with all steps inside took 1.3 times as long: too many numbers for the registers.) */
enum { GROUP = 16 };
typedef struct group {
    const view_table *k;
    kernel_work *w;
    const soai_step_data *d;
    int first, end, way; /* bodies first, first + way, ... before end */
} group;
#define SOAI_GROUP static __attribute__((noinline, unused)) int

SOAI_GROUP group_pose(const group *g) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, joint_pose(joint_at(g->k, g->w, b, i), kind, g->d->q))
    }
    return 0;
}
SOAI_GROUP group_rne(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_rne(joint_at(g->k, g->w, b, i), kind, nv, s, g->d))
    }
    return 0;
}
/* out = a - [0; omega x v], [omega; v] = b: from classical to spatial acceleration */
SOAI_GROUP group_spatial(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const real *A = s->a + 6 * i;
        const real *V = s->b + 6 * i;
        real *out = s->out + 6 * i;
        real t[3];
        v3_cross(V, V + 3, t);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j) {
            out[j] = A[j];
            out[3 + j] = A[3 + j] - t[j];
        }
    }
    return 0;
}
/* Omega(k) = psi* Omega(parent) psi + H* D^-1 H, in the place of P         RJK91 (20) */
SOAI_INLINE void step_costate(joint J, int kind, int nv) {
    const pose X = joint_read(J, kind);
    SOAI_UNROLL
    for (int j = 0; j < 9; ++j)
        J.own->R[j] = X.R[j]; /* level joints do not keep it */
    step_omega(J.k, J.w, J.b, J.i, kind, nv);
}
SOAI_GROUP group_costate(const group *g) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_costate(joint_at(g->k, g->w, b, i), kind, nv))
    }
    return 0;
}
SOAI_GROUP group_spin(const group *g) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_spin(joint_at(g->k, g->w, b, i), kind, g->d))
    }
    return 0;
}
SOAI_GROUP group_motion(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_motion(joint_at(g->k, g->w, b, i), kind, s))
    }
    return 0;
}
SOAI_GROUP group_gather(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_gather(joint_at(g->k, g->w, b, i), kind, s, g->d))
    }
    return 0;
}
/* These two, and those below, return the body whose hinge moves no inertia, or 0. */
SOAI_GROUP group_filter(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        int fine = 1;
        WITH_ALIGNED_KIND(
            b, fine = step_articulate_filter(joint_at(g->k, g->w, b, i), kind, 1, 0, s, g->d))
        if (!fine) return i;
    }
    return 0;
}
SOAI_GROUP group_filter_bias(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        int fine = 1;
        WITH_ALIGNED_KIND(
            b, fine = step_articulate_filter(joint_at(g->k, g->w, b, i), kind, 1, 1, s, g->d))
        if (!fine) return i;
    }
    return 0;
}
SOAI_GROUP group_smooth(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_smoother(joint_at(g->k, g->w, b, i), kind, 0, s, g->d))
    }
    return 0;
}
SOAI_GROUP group_smooth_bias(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        WITH_ALIGNED_KIND(b, step_smoother(joint_at(g->k, g->w, b, i), kind, 1, s, g->d))
    }
    return 0;
}
/* Steps that the papers' algorithms do not need: one copy for all kinds of joint. */
SOAI_GROUP group_simple(const group *g, const soai_step *s) {
    for (int i = g->first; i != g->end; i += g->way) {
        const body_table *b = g->k->body + i;
        if (!step_simple(joint_at(g->k, g->w, b, i), b->kind, b->nv, s, g->d)) return i;
    }
    return 0;
}
SOAI_INLINE int step_of_group(const group *g, const soai_step *s) {
    switch (s->code) {
    case STEP_RNE: return group_rne(g, s);
    case STEP_SPIN: return group_spin(g);
    case STEP_MOTION: return group_motion(g, s);
    case STEP_GATHER: return group_gather(g, s);
    case STEP_ARTICULATE_FILTER: return group_filter(g, s);
    case STEP_FILTER_BIAS: return group_filter_bias(g, s);
    case STEP_SMOOTH: return group_smooth(g, s);
    case STEP_SMOOTH_BIAS: return group_smooth_bias(g, s);
    case STEP_SPATIAL: return group_spatial(g, s);
    case STEP_COSTATE: return group_costate(g);
    default: return group_simple(g, s);
    }
}

/* One pass over the bodies; 0, or the body whose hinge moves no inertia. */
SOAI_SWEEP int operator_steps(const view_table *k, kernel_work *w, int inward,
                              const soai_step *steps, int count, const soai_step_data *d) {
    int bad = 0;
    w->keeps = d->keeps;
    if (d->q) angles(k, w, d->q);
    v6_zero(w->b[0].V);              /* the base is at rest, */
    base_acceleration(k, w->b[0].A); /* but for gravity */
    for (int done = 0; done < k->nb && !bad; done += GROUP) {
        const int left = k->nb - done;
        const int size = left < GROUP ? left : GROUP;
        group g = {.k = k, .w = w, .d = d};
        g.first = inward ? k->nb - done : 1 + done;
        g.way = inward ? -1 : 1;
        g.end = g.first + g.way * size;
        if (d->q && d->poses) group_pose(&g);
        for (int n = 0; n < count && !bad; ++n)
            bad = step_of_group(&g, steps + n);
    }
    w->keeps = 0;
    return bad;
}

#endif
