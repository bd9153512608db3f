/* operator_sweep.h  one sweep of a planned expression: for every body, the operations in their
 *                   order.
 *
 * The steps are those of the hand-written sweeps (steps.h, joint.h).  Inward operations add into
 * the parent's entry of their result, which the caller has set to zero. */
#ifndef SOAI_EXEC_H
#define SOAI_EXEC_H
#include "derivative_steps.h"
#include "operator_program.h"
#include "steps.h"

enum {
    EXEC_JOINT = 1,
    EXEC_LINK,
    EXEC_EDGE,
    EXEC_TIP,
    EXEC_BASE
}; /* soa_space;
                                         later ones belong to no body, as that of the base does */

/* x = D x for the joint of b, from its factors */
SOAI_INLINE void block_multiply(int n, const real *D, real *x) {
    real y[6];
    for (int i = 0; i < n; ++i) {
        y[i] = x[i];
        for (int m = i + 1; m < n; ++m)
            y[i] += D[n * m + i] * x[m];
        y[i] = y[i] * D[n * i + i];
    }
    for (int i = 0; i < n; ++i) {
        x[i] = y[i];
        for (int m = 0; m < i; ++m)
            x[i] += D[n * i + m] * y[m];
    }
}

/* One operation at one body.  The functions below get x and y, the body's own entries of the
 * operation's argument and result. */
typedef struct exec_at {
    const view_table *k;
    kernel_work *w;
    const body_table *b;
    int i;
    const soai_op *op;
} exec_at;

/* y += x,  y(parent) += phi y */
SOAI_INLINE void exec_phi(exec_at at, const real *x, real *y) {
    const real *R = at.w->b[at.i].R, *p = at.w->b[at.i].p;
    for (int j = 0; j < 6; ++j)
        y[j] += x[j];
    if (at.b->parent) force_in_add(R, p, y, at.op->out + 6 * at.b->parent);
}
/* y += x,  y(parent) += psi y */
SOAI_INLINE void exec_psi(exec_at at, int kind, int nv, const real *x, real *y) {
    const real *R = at.w->b[at.i].R, *p = at.w->b[at.i].p;
    real t[6];
    for (int j = 0; j < 6; ++j)
        y[j] += x[j];
    if (!at.b->parent) return;
    v6_copy(y, t);
    step_pass_force(at.k, at.w, at.b, kind, nv, t);
    force_in_add(R, p, t, at.op->out + 6 * at.b->parent);
}
/* y = x + phi* y(parent), or psi* */
SOAI_INLINE void exec_outward(exec_at at, int kind, int nv, const real *x, real *y) {
    const real *R = at.w->b[at.i].R, *p = at.w->b[at.i].p;
    real t[6];
    if (at.b->parent)
        motion_out(R, p, at.op->out + 6 * at.b->parent, t);
    else
        v6_zero(t);
    if (at.b->parent && at.op->code == OP_PSI_T) step_pass_motion(at.k, at.w, at.b, kind, nv, t);
    for (int j = 0; j < 6; ++j)
        y[j] = x[j] + t[j];
}
/* y = G x,  G = P H* D^-1 */
SOAI_INLINE void exec_gain(exec_at at, int nv, const real *x, real *y) {
    real t[6];
    for (int c = 0; c < nv; ++c)
        t[c] = x[c];
    step_hinge_solve(at.w, at.b, nv, t);
    v6_zero(y);
    for (int c = 0; c < nv; ++c)
        v6_add_scaled(t[c], at.w->U + 6 * (at.b->iv + c), y);
}
/* y = G* x */
SOAI_INLINE void exec_gain_adjoint(exec_at at, int nv, const real *x, real *y) {
    for (int c = 0; c < nv; ++c)
        y[c] = v6_dot(at.w->U + 6 * (at.b->iv + c), x);
    step_hinge_solve(at.w, at.b, nv, y);
}
/* y = D x, or D^-1 x */
SOAI_INLINE void exec_hinge(exec_at at, int nv, const real *x, real *y) {
    for (int c = 0; c < nv; ++c)
        y[c] = x[c];
    if (at.op->code == OP_DINV)
        step_hinge_solve(at.w, at.b, nv, y);
    else if (nv == 1)
        y[0] = y[0] / at.w->D[at.b->id];
    else
        block_multiply(nv, at.w->D + at.b->id, y);
}
/* y = the forces at the tips of this body, moved to its origin */
SOAI_INLINE void exec_tips_in(exec_at at, const soai_tips *tips, real *y) {
    v6_zero(y);
    for (int f = 0; f < tips->count; ++f)
        if (tips->body[f] == at.i)
            force_in_add(tips->R + 9 * f, tips->p + 3 * f, at.op->a + 6 * f, y);
}
/* The motion x of this body at its tips. */
SOAI_INLINE void exec_tips_out(exec_at at, const soai_tips *tips, const real *x) {
    for (int f = 0; f < tips->count; ++f)
        if (tips->body[f] == at.i)
            motion_out(tips->R + 9 * f, tips->p + 3 * f, x, at.op->out + 6 * f);
}
/* y = op->x a + op->y b: the entries of this body in a vector of any space. */
SOAI_INLINE void exec_sum(exec_at at, int nv, const soai_tips *tips) {
    const soai_op *op = at.op;
    int n = 6, first = 6 * at.i;
    if (op->space >= EXEC_BASE) return; /* done before the sweep */
    if (op->space == EXEC_TIP) {
        for (int f = 0; f < tips->count; ++f)
            for (int j = 0; tips->body[f] == at.i && j < 6; ++j)
                op->out[6 * f + j] =
                    op->x * op->a[6 * f + j] + (op->b ? op->y * op->b[6 * f + j] : 0);
        return;
    }
    if (op->space == EXEC_JOINT) {
        n = nv;
        first = at.b->iv;
    }
    const real *x = op->a + first, *z = op->b ? op->b + first : 0;
    real *y = op->out + first;
    for (int j = 0; j < n; ++j)
        y[j] = z ? op->x * x[j] + op->y * z[j] : op->x * x[j];
}

/* y = A x, or A' x, of this body's n x n block of op->b */
SOAI_INLINE void exec_block(exec_at at, int n, int turned, const real *x, real *y) {
    const double *A = at.op->b + 36 * at.i;
    real t[6];
    for (int r = 0; r < n; ++r) {
        t[r] = REAL(0);
        for (int c = 0; c < n; ++c)
            t[r] += A[turned ? n * c + r : n * r + c] * x[c];
    }
    for (int r = 0; r < n; ++r)
        y[r] = t[r];
}
/* y = [0; omega x v] of x = [omega; v] */
SOAI_INLINE void exec_centripetal(const real *x, real *y) {
    real t[3];
    v3_cross(x, x + 3, t);
    v6_zero(y);
    for (int j = 0; j < 3; ++j)
        y[3 + j] = t[j];
}
/* Is this the coordinate about whose axis the other columns of H* turn in body axes? */
SOAI_INLINE int exec_turns(const body_table *b, int c) {
    return joint_varies(b) && c == b->nv - 1;
}

/* y = the wrenches of this body's terms of constraint rows, times the rows' multipliers */
SOAI_INLINE void exec_rows_in(exec_at at, const soai_tips *tips, real *y) {
    v6_zero(y);
    for (int t = tips->first[at.i]; t < tips->first[at.i + 1]; ++t)
        v6_add_scaled(at.op->a[tips->row[t]], tips->wrench + 6 * t, y);
}
/* Adds what the motion x of this body does in the rows. */
SOAI_INLINE void exec_rows_out(exec_at at, const soai_tips *tips, const real *x) {
    for (int t = tips->first[at.i]; t < tips->first[at.i + 1]; ++t)
        at.op->out[tips->row[t]] += v6_dot(tips->wrench + 6 * t, x);
}

/* The recursions of P, D, G and of the composite inertias; 0 where a hinge moves no inertia. */
SOAI_INLINE int exec_articulate(exec_at at, int kind, int nv) {
    if (!at.b->child) abi_set(at.b->M, at.w->b[at.i].P);
    return step_filter(at.k, at.w, at.b, at.i, kind, nv, ARTICULATE, 0, 0);
}
/* r(i) = M(i) + sum phi r phi*                      R87 (32), (33) */
SOAI_INLINE void exec_compose(exec_at at, double *r) {
    const real *R = at.w->b[at.i].R, *p = at.w->b[at.i].p;
    double *own = r + 10 * at.i, *parent = r + 10 * at.b->parent;
    if (!at.b->child) rigid_set(at.b->M, own);
    if (!at.b->parent) return;
    if (at.b->starts) rigid_set(at.k->body[at.b->parent].M, parent);
    rigid_in_add(R, p, own, parent, parent);
}
SOAI_INLINE void exec_pose(exec_at at, int kind, const double *q) {
    joint_position(at.k, at.w, at.b, at.i, kind, q);
    joint_origin(at.w, at.b, at.i, kind, at.w->b[at.i].p);
}

SOAI_INLINE int exec_recursion(exec_at at, int kind, int nv) {
    if (at.op->code == OP_ARTICULATE) return exec_articulate(at, kind, nv);
    if (at.op->code == OP_POSE)
        exec_pose(at, kind, at.op->a);
    else
        exec_compose(at, at.op->out);
    return 1;
}

SOAI_INLINE int exec_body(const view_table *k, kernel_work *w, const body_table *b, int i, int kind,
                          int nv, const soai_op *ops, int count, const soai_tips *tips,
                          const double *thd, const double *fext) {
    const real *R = w->b[i].R, *p = w->b[i].p;
    for (int o = 0; o < count; ++o) {
        const soai_op *op = ops + o;
        const exec_at at = {k, w, b, i, op};
        if (op->code >= OP_POSE) { /* no vectors: their places are not to be taken */
            if (!exec_recursion(at, kind, nv)) return 0;
            continue;
        }
        const real *x = op->a + 6 * i, *xj = op->a + b->iv;
        real *y = op->out + 6 * i, *yj = op->out + b->iv, t[6];
        switch (op->code) {
        case OP_PHI: exec_phi(at, x, y); break;
        case OP_PSI: exec_psi(at, kind, nv, x, y); break;
        case OP_PHI_T:
        case OP_PSI_T: exec_outward(at, kind, nv, x, y); break;
        case OP_SHIFT:
            for (int j = 0; b->parent && j < 6; ++j)
                op->out[6 * b->parent + j] += x[j];
            break;
        case OP_SHIFT_T:
            for (int j = 0; j < 6; ++j)
                y[j] = b->parent ? op->a[6 * b->parent + j] : REAL(0);
            break;
        case OP_X:
            v6_zero(t);
            force_in_add(R, p, x, t);
            v6_copy(t, y);
            break;
        case OP_X_T: motion_out(R, p, x, y); break;
        case OP_H: joint_project(k, w, b, kind, nv, x, yj); break;
        case OP_H_T:
            v6_zero(y);
            joint_add(k, w, b, kind, nv, xj, y);
            break;
        case OP_G: exec_gain(at, nv, xj, y); break;
        case OP_G_T: exec_gain_adjoint(at, nv, x, yj); break;
        case OP_P: abi_mul(w->b[i].P, x, y); break;
        case OP_M: rigid_mul_k(b->M, x, y); break;
        case OP_MC: rigid_mul(op->b + 10 * i, x, y); break;
        case OP_D:
        case OP_DINV: exec_hinge(at, nv, xj, yj); break;
        case OP_JR:
            for (int c = 0; c < nv; ++c)
                yj[c] = k->dof[b->iv + c].armature * xj[c];
            break;
        case OP_B: exec_tips_in(at, tips, y); break;
        case OP_B_T: exec_tips_out(at, tips, x); break;
        case OP_E:
            if (b->parent)
                v6_zero(y);
            else
                motion_out(R, p, op->a, y);
            break;
        case OP_E_T:
            if (!b->parent) force_in_add(R, p, x, op->out);
            break;
        case OP_BIAS: step_bias(k, w, b, kind, nv, x, thd + b->iv, y); break;
        case OP_FORCE: step_bias_force(b, x, fext + 6 * i, y); break;
        case OP_SUM: exec_sum(at, nv, tips); break;
        case OP_BLOCKS:
        case OP_BLOCKS_T: exec_block(at, 6, op->code == OP_BLOCKS_T, x, y); break;
        case OP_HINGES:
        case OP_HINGES_T: exec_block(at, nv, op->code == OP_HINGES_T, xj, yj); break;
        case OP_AT:
            for (int j = 0; j < 6; ++j)
                y[j] = op->x == i ? x[j] : REAL(0);
            break;
        case OP_CENTRIPETAL: exec_centripetal(x, y); break;
        case OP_CROSS: cross_motion(op->b + 6 * i, x, y); break;
        case OP_CROSS_FORCE: cross_force(x, op->b + 6 * i, y); break;
        case OP_HT:
            for (int c = 0; c < nv; ++c)
                yj[c] = exec_turns(b, c) ? v6_dot(w->H + 6 * (b->iv + c), x) : REAL(0);
            break;
        case OP_HT_T:
            v6_zero(y);
            for (int c = 0; c < nv; ++c)
                if (exec_turns(b, c)) v6_add_scaled(xj[c], w->H + 6 * (b->iv + c), y);
            break;
        case OP_LINEAR:
            for (int j = 0; j < 3; ++j) {
                y[j] = REAL(0);
                y[3 + j] = x[3 + j];
            }
            break;
        case OP_CHANGE_P: step_change_P(k, w, b, i, op->a, op->out); break;
        case OP_CHANGE_MC: step_change_Mc(k, w, b, i, op->a, op->b, op->out); break;
        case OP_BC: exec_rows_in(at, tips, y); break;
        case OP_BC_T: exec_rows_out(at, tips, x); break;
        default: break;
        }
    }
    return 1;
}

/* 0, or the body whose hinge moves no inertia. */
SOAI_SWEEP int exec_sweep(const view_table *k, kernel_work *w, int inward, const soai_op *ops,
                          int count, const soai_tips *tips, const double *thd, const double *fext) {
    if (ops->code == OP_POSE) angles(k, w, ops->a);
    for (int n = 1; n <= k->nb; ++n) {
        const int i = inward ? k->nb + 1 - n : n;
        const body_table *b = k->body + i;
        int fine;
        if (b->nv == 1)
            fine = exec_body(k, w, b, i, b->kind, 1, ops, count, tips, thd, fext);
        else
            fine = exec_body(k, w, b, i, b->kind, b->nv, ops, count, tips, thd, fext);
        if (!fine) return i;
    }
    return 0;
}

#endif
