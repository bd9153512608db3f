/* operator_sweep.h  one sweep of a planned expression: for every body, the operations in their
 *                   order.
 *
 * The steps are those of the hand-written sweeps (steps.h, joint.h).  Inward operations add into
 * the parent's entry of their result, which the caller has set to zero. */
#ifndef SOAI_EXEC_H
#define SOAI_EXEC_H
#include "operator_program.h"
#include "steps.h"

enum { EXEC_JOINT = 1, EXEC_LINK, EXEC_EDGE, EXEC_TIP, EXEC_BASE }; /* soa_space */

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

SOAI_INLINE void exec_body(const view_table *k, kernel_work *w, const body_table *b, int i,
                           int kind, int nv, const soai_op *ops, int count, const soai_tips *tips,
                           const double *thd, const double *fext) {
    const real *R = w->b[i].R, *p = w->b[i].p;
    for (int o = 0; o < count; ++o) {
        const soai_op *op = ops + o;
        const real *x = op->a + 6 * i, *xj = op->a + b->iv;
        real *y = op->out + 6 * i, *yj = op->out + b->iv, t[6];
        switch (op->code) {
        case OP_PHI:
            for (int j = 0; j < 6; ++j)
                y[j] += x[j];
            if (b->parent) force_in_add(R, p, y, op->out + 6 * b->parent);
            break;
        case OP_PSI:
            for (int j = 0; j < 6; ++j)
                t[j] = y[j] += x[j];
            if (!b->parent) break;
            step_pass_force(k, w, b, kind, nv, t);
            force_in_add(R, p, t, op->out + 6 * b->parent);
            break;
        case OP_PHI_T:
        case OP_PSI_T:
            if (b->parent)
                motion_out(R, p, op->out + 6 * b->parent, t);
            else
                v6_zero(t);
            if (b->parent && op->code == OP_PSI_T) step_pass_motion(k, w, b, kind, nv, t);
            for (int j = 0; j < 6; ++j)
                y[j] = x[j] + t[j];
            break;
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
        case OP_G:
            for (int c = 0; c < nv; ++c)
                t[c] = xj[c];
            step_hinge_solve(w, b, nv, t);
            v6_zero(y);
            for (int c = 0; c < nv; ++c)
                v6_add_scaled(t[c], w->U + 6 * (b->iv + c), y);
            break;
        case OP_G_T:
            for (int c = 0; c < nv; ++c)
                yj[c] = v6_dot(w->U + 6 * (b->iv + c), x);
            step_hinge_solve(w, b, nv, yj);
            break;
        case OP_P: abi_mul(w->b[i].P, x, y); break;
        case OP_M: rigid_mul_k(b->M, x, y); break;
        case OP_MC: rigid_mul(op->b + 10 * i, x, y); break;
        case OP_D:
            for (int c = 0; c < nv; ++c)
                yj[c] = xj[c];
            if (nv == 1)
                yj[0] = yj[0] / w->D[b->id];
            else
                block_multiply(nv, w->D + b->id, yj);
            break;
        case OP_DINV:
            for (int c = 0; c < nv; ++c)
                yj[c] = xj[c];
            step_hinge_solve(w, b, nv, yj);
            break;
        case OP_JR:
            for (int c = 0; c < nv; ++c)
                yj[c] = k->dof[b->iv + c].armature * xj[c];
            break;
        case OP_B:
            v6_zero(y);
            for (int f = 0; f < tips->count; ++f)
                if (tips->body[f] == i)
                    force_in_add(tips->R + 9 * f, tips->p + 3 * f, op->a + 6 * f, y);
            break;
        case OP_B_T:
            for (int f = 0; f < tips->count; ++f)
                if (tips->body[f] == i)
                    motion_out(tips->R + 9 * f, tips->p + 3 * f, x, op->out + 6 * f);
            break;
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
        case OP_SUM: {
            const real *z;
            int n = 6, first = 6 * i;
            if (op->space == EXEC_BASE) break; /* done before the sweep */
            if (op->space == EXEC_JOINT) {
                n = nv;
                first = b->iv;
            }
            if (op->space == EXEC_TIP) {
                for (int f = 0; f < tips->count; ++f)
                    for (int j = 0; tips->body[f] == i && j < 6; ++j)
                        op->out[6 * f + j] =
                            op->x * op->a[6 * f + j] + (op->b ? op->y * op->b[6 * f + j] : 0);
                break;
            }
            x = op->a + first;
            z = op->b ? op->b + first : 0;
            y = op->out + first;
            for (int j = 0; j < n; ++j)
                y[j] = z ? op->x * x[j] + op->y * z[j] : op->x * x[j];
            break;
        }
        default: break;
        }
    }
}

SOAI_SWEEP void exec_sweep(const view_table *k, kernel_work *w, int inward, const soai_op *ops,
                           int count, const soai_tips *tips, const double *thd,
                           const double *fext) {
    for (int n = 1; n <= k->nb; ++n) {
        const int i = inward ? k->nb + 1 - n : n;
        const body_table *b = k->body + i;
        if (b->nv == 1)
            exec_body(k, w, b, i, b->kind, 1, ops, count, tips, thd, fext);
        else
            exec_body(k, w, b, i, b->kind, b->nv, ops, count, tips, thd, fext);
    }
}

#endif
