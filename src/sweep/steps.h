/* steps.h  the per-body steps every sweep is made of.
 *
 * Ours is parent-first storage: the papers' causal (tip to base) sweep is the descending loop, the
 * anticausal one the ascending loop.  A step touches body i and its parent only. */
#ifndef SOAI_STEPS_H
#define SOAI_STEPS_H
#include "joint.h"

/* What a step of forward dynamics is to do, see step_filter, and in which accelerations:
 *   CLASSICAL  A = [wdot; acceleration of the origin], RK88-I (2.1) to (2.13), (2.19), (2.23).  No
 *              linear velocity is needed, so none has to cancel: on long chains two to four
 *              digits more than spatial accelerations, and fewer products in lanes.  rnea and aba
 *              have them; without it, V and A are spatial (docs/notation.md). */
enum { ARTICULATE = 1, INNOVATE = 2, BIAS = 4, CLASSICAL = 8 };

/* A += c, the joint's own, knowing which entries of c are zero */
SOAI_INLINE void add_bias(int kind, int mode, const real c[6], real A[6]) {
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        if (!ON_AXIS(kind) || (j % 3 != AXIS_OF(kind) && (j < 3 || !(mode & CLASSICAL))))
            A[j] += c[j];
    }
}

/* c = V x H*v + (apparent rate of H*) v: the papers' a(k) in spatial accelerations.  R87 (15) in
 * general; FO00 (4). */
SOAI_INLINE void step_bias(const view_table *k, const kernel_work *w, const body_table *b, int kind,
                           int nv, const real V[6], const real *v, real c[6]) {
    real t[3];
    switch (kind) {
    CASE_ON_AXIS : { /* w x e = (w_last) next - (w_next) last */
        const int ax = AXIS_OF(kind), n = NEXT(ax), l = LAST(ax);
        const real rate = joint_sense(b, kind, v[0]);
        c[ax] = c[3 + ax] = REAL(0);
        c[n] = V[l] * rate;
        c[l] = -(V[n] * rate);
        c[3 + n] = V[3 + l] * rate;
        c[3 + l] = -(V[3 + n] * rate);
        break;
    }
    case SOAI_KIND_REVOLUTE:
        v3_cross_k(V, b->axis, t);
        SOAI_UNROLL
        for (int i = 0; i < 3; ++i)
            c[i] = t[i] * v[0];
        v3_cross_k(V + 3, b->axis, t);
        SOAI_UNROLL
        for (int i = 0; i < 3; ++i)
            c[3 + i] = t[i] * v[0];
        break;
    case SOAI_KIND_PRISMATIC:
        v3_cross_k(V, b->axis, t);
        SOAI_UNROLL
        for (int i = 0; i < 3; ++i) {
            c[i] = REAL(0);
            c[3 + i] = t[i] * v[0];
        }
        break;
    default: {
        real vJ[6];
        v6_zero(vJ);
        joint_add(k, w, b, kind, nv, v, vJ);
        cross_motion(V, vJ, c);
        if (kind == SOAI_KIND_GENERAL) joint_apparent_rate(k, w, b, v, v, c);
    }
    }
}

/* out = phi* X.  `lever`, if given, is added to the linear part at the body's origin, in the
 * parent's axes; of a pivot it is not read. */
SOAI_INLINE void step_motion_out(const kernel_work *w, const body_table *b, int i, int kind,
                                 const real X[6], const real *lever, real out[6]) {
    real turn[2], p[3], v[3] = {X[3], X[4], X[5]};
    const real *R = joint_R(w, b, i, kind, turn);
    if (!IS_PIVOT(kind)) {
        joint_origin(w, b, i, kind, p);
        v3_cross_add(X, p, v);
        if (lever) {
            v[0] += lever[0];
            v[1] += lever[1];
            v[2] += lever[2];
        }
    }
    joint_rot_back(kind, R, X, out);
    joint_rot_back(kind, R, v, out + 3);
}
/* [n; g] = phi f, R and p of the joint being at hand */
SOAI_INLINE void joint_force_in(int kind, const real *R, const real p[3], const real f[6],
                                real n[3], real g[3]) {
    joint_rot(kind, R, f, n);
    joint_rot(kind, R, f + 3, g);
    if (!IS_PIVOT(kind)) v3_cross_add(p, g, n);
}
/* out += phi f */
SOAI_INLINE void step_force_in(const kernel_work *w, const body_table *b, int i, int kind,
                               const real f[6], real out[6]) {
    real turn[2], p[3], n[3], g[3];
    const real *R = joint_R(w, b, i, kind, turn);
    joint_origin(w, b, i, kind, p);
    joint_force_in(kind, R, p, f, n, g);
    out[0] += n[0];
    out[1] += n[1];
    out[2] += n[2];
    out[3] += g[0];
    out[4] += g[1];
    out[5] += g[2];
}

/* V(i) = phi* V(parent) + H* v.  R87 (11), (12), RK88-I (2.25), FO00 (3). */
SOAI_INLINE void step_velocity(const view_table *k, kernel_work *w, const body_table *b, int i,
                               int kind, int nv, const real *v_tree, real V[6]) {
    if (b->parent) {
        step_motion_out(w, b, i, kind, w->b[b->parent].V, 0, V);
    } else {
        v6_zero(V);
    }
    joint_add(k, w, b, kind, nv, v_tree + b->iv, V);
    v6_copy(V, w->b[i].V);
}

/* w(i) = R'w(parent) + H_w* v.  RK88-I (2.2). */
SOAI_INLINE void step_turning(const view_table *k, const kernel_work *w, const body_table *b, int i,
                              int kind, int nv, const real in[3], const real *v_tree,
                              real omega[3]) {
    real turn[2], V[6];
    v6_zero(V);
    if (b->parent) joint_rot_back(kind, joint_R(w, b, i, kind, turn), in, V);
    joint_add(k, w, b, kind, nv, v_tree + b->iv, V);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        omega[j] = V[j];
}
/* What the joint adds to A = [wdot; acc]:
 *     wdot += H_w* a + w x w_J + (apparent rate of H_w*) v
 *     acc  += H_v* a + (2 w - w_J) x v_J + (apparent rate of H_v*) v
 * a: the joint's vdot; H_w*, H_v*: the angular and linear rows of H*; [w_J; v_J] = H* v.
 * RK88-I (2.4); (2.32) corrected; why 2 w - w_J: "c" in aba.h. */
SOAI_INLINE void step_joint_acceleration(const view_table *k, const kernel_work *w,
                                         const body_table *b, int kind, int nv, const real omega[3],
                                         const real *v, const real *a, real A[6]) {
    real t[3];
    switch (kind) {
    CASE_ON_AXIS : {
        const int ax = AXIS_OF(kind);
        const real rate = joint_sense(b, kind, v[0]);
        A[ax] += joint_sense(b, kind, a[0]);
        A[NEXT(ax)] += omega[LAST(ax)] * rate;
        A[LAST(ax)] -= omega[NEXT(ax)] * rate;
        break;
    }
    case SOAI_KIND_REVOLUTE:
        v3_cross_k(omega, b->axis, t);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            A[j] += t[j] * v[0] + b->axis[j] * a[0];
        break;
    case SOAI_KIND_PRISMATIC:
        v3_cross_k(omega, b->axis, t);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            A[3 + j] += t[j] * (v[0] + v[0]) + b->axis[j] * a[0];
        break;
    case SOAI_KIND_SPHERICAL:
        v3_cross_add(omega, v, A);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            A[j] += a[j];
        break;
    default: {
        real vJ[6];
        real twice[3];
        v6_zero(vJ);
        joint_add(k, w, b, kind, nv, v, vJ);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            twice[j] = omega[j] + omega[j] - vJ[j];
        v3_cross_add(omega, vJ, A);
        v3_cross_add(twice, vJ + 3, A + 3);
        joint_add(k, w, b, kind, nv, a, A);
        if (kind == SOAI_KIND_GENERAL) joint_apparent_rate(k, w, b, v, v, A);
    }
    }
}

/* w x (w x p), w the parent's, parent axes: what turning adds to the acceleration of the body's
 * origin.  RK88-I (2.5). */
SOAI_INLINE void step_lever(const kernel_work *w, const body_table *b, int i, int kind,
                            real out[3]) {
    const real *omega = w->b[b->parent].V;
    real p[3], t[3];
    joint_origin(w, b, i, kind, p);
    v3_cross(omega, p, t);
    v3_cross(omega, t, out);
}

/* A(i) = phi* A(parent) + H* vdot + c(i).  R87 (13), (14), RK88-I (2.26), FO00 (4).  c also goes
 * out. */
SOAI_INLINE void step_acceleration(const view_table *k, kernel_work *w, const body_table *b, int i,
                                   int kind, int nv, const real V[6], const real *v_tree,
                                   const real *a_tree, real A[6], real c[6]) {
    step_motion_out(w, b, i, kind, w->b[b->parent].A, 0, A);
    step_bias(k, w, b, kind, nv, V, v_tree + b->iv, c);
    add_bias(kind, 0, c, A);
    joint_add(k, w, b, kind, nv, a_tree + b->iv, A);
    v6_copy(A, w->b[i].A);
}

/* c(i) of A(i) = phi* A(parent) + H* vdot + c(i): the joint's own part, classical without that of
 * the lever; and all, with it.  Classical: RK88-I (2.19), (2.32) corrected. */
SOAI_INLINE void step_joint_bias(const view_table *k, const kernel_work *w, const body_table *b,
                                 int i, int kind, int nv, int mode, const real *v_tree, real c[6]) {
    if (mode & CLASSICAL) {
        real rest[6];
        v6_zero(c);
        v6_zero(rest);
        step_joint_acceleration(k, w, b, kind, nv, w->b[i].V, v_tree + b->iv, rest, c);
    } else {
        step_bias(k, w, b, kind, nv, w->b[i].V, v_tree + b->iv, c);
    }
}
SOAI_INLINE void step_whole_bias(const view_table *k, const kernel_work *w, const body_table *b,
                                 int i, int kind, int nv, int mode, const real *v_tree, real c[6]) {
    real turn[2];
    real lever[3];
    step_joint_bias(k, w, b, i, kind, nv, mode, v_tree, c);
    if (!(mode & CLASSICAL) || !b->parent) return;
    step_lever(w, b, i, kind, lever);
    joint_rot_back(kind, joint_R(w, b, i, kind, turn), lever, lever);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        c[3 + j] += lever[j];
}

/* b(i) = V x* M V, less the external wrench.  R87 (7), FO00 (7). */
SOAI_INLINE void step_bias_force(const body_table *b, const real V[6], const real *fext,
                                 real out[6]) {
    real h[6];
    rigid_mul_k(b->M, V, h);
    cross_force(V, h, out);
    if (fext) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            out[j] -= fext[j];
    }
}
/* Classical: [w x I w;  w x (w x h)], RK88-I (2.23), h the first moment. */
SOAI_INLINE void step_turning_force(const body_table *b, const real w[3], const real *fext,
                                    real out[6]) {
    const konst *I = b->M + 4;
    const konst *h = b->M + 1;
    real Iw[3];
    real wh[3];
    Iw[0] = I[XX] * w[0] + I[XY] * w[1] + I[XZ] * w[2];
    Iw[1] = I[XY] * w[0] + I[YY] * w[1] + I[YZ] * w[2];
    Iw[2] = I[XZ] * w[0] + I[YZ] * w[1] + I[ZZ] * w[2];
    v3_cross_k(w, h, wh);
    v3_cross(w, Iw, out);
    v3_cross(w, wh, out + 3);
    if (fext) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            out[j] -= fext[j];
    }
}

/* z(i) as the inward step finds it: b(i) and what the children brought. */
SOAI_INLINE void step_gather_force(const kernel_work *w, const body_table *b, int i, int mode,
                                   const real *fext, real z[6]) {
    if (fext) fext += 6 * (i - 1);
    if (mode & CLASSICAL)
        step_turning_force(b, w->b[i].V, fext, z);
    else
        step_bias_force(b, w->b[i].V, fext, z);
    if (b->child) {
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            z[j] += PASSED(w, b, i)->f[j];
    }
}

/* The base acceleration that stands for gravity: -g, RK88-I (2.1) upward for gravity downward
 * (docs/notation.md). */
SOAI_INLINE void base_acceleration(const view_table *k, real A[6]) {
    A[0] = A[1] = A[2] = REAL(0);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        A[3 + j] = REAL(-k->gravity[j]);
}

/* The exact rotor of joint i sits on the parent and spins about its axis u at (gear ratio) v; Jm is
 * its inertia about u.  Its momentum beyond what the parent's inertia holds is r v,
 * r = Jm (gear ratio) u, `rotor` in the table.  The parent must supply the couple
 * r vdot + w(parent) x r v, the joint the torque r . wdot(parent) + (gear ratio)^2 Jm vdot, the
 * last term the armature: docs/theory/rotors-and-mimic.md.  Here: w(parent) x r v. */
SOAI_INLINE void step_rotor_gyro(const view_table *k, const body_table *b, const real *v,
                                 const real V_in[6], real f_in[6]) {
    if (!b->rotor || !b->parent) return;
    real t[3];
    v3_cross_k(V_in, k->dof[b->iv].rotor, t);
    for (int j = 0; j < 3; ++j)
        f_in[j] += t[j] * v[b->iv];
}
/* r, the couple the parent must supply per unit of vdot, in the axes of body i. */
SOAI_INLINE void step_rotor_couple(const view_table *k, const kernel_work *w, const body_table *b,
                                   int i, real out[3]) {
    const konst *r = k->dof[b->iv].rotor;
    const real g[3] = {REAL(r[0]), REAL(r[1]), REAL(r[2])};
    rot_tmul(w->b[i].R, g, out);
}

/* Friction and spring torque of one tree coordinate, to be overcome by tau. */
SOAI_INLINE real step_loss(const dof_table *d, real q, real v) {
    return d->damping * v + real_sign(v, d->friction_positive, -d->friction_negative) +
           d->stiffness * (q - d->rest);
}
/* tau += sign * losses, over the joints that have them */
SOAI_INLINE void step_losses(const view_table *k, const real *q, const real *v, konst sign,
                             real *tau) {
    if (!k->losses) return;
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        for (int c = 0; c < b->nv; ++c) { /* springs only stand where q and v have the same size */
            const int has_q = b->kind != SOAI_KIND_SPHERICAL && b->kind != SOAI_KIND_FREE;
            tau[b->iv + c] +=
                sign * step_loss(k->dof + b->iv + c, has_q ? q[b->iq + c] : REAL(0), v[b->iv + c]);
        }
    }
}

/* Joints on an axis seldom have an armature, so those of all of them are added at the end:
 * out[step * j] += armature a[j], a NULL: 1.  Out of line, so that sweeps without them are not
 * longer. */
static __attribute__((noinline, unused)) void add_armatures(const view_table *k, const real *a,
                                                            size_t step, real *out) {
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        if (ON_AXIS(b->kind)) out[step * (size_t)b->iv] += b->armature * (a ? a[b->iv] : REAL(1));
    }
}
/* tau += armature vdot */
SOAI_INLINE void step_armatures(const view_table *k, const real *vdot, real *tau) {
    if (SOAI_ABI_PACKED && k->geared) add_armatures(k, vdot, 1, tau);
}
/* The same on the diagonal of the mass matrix. */
SOAI_INLINE void step_mass_armatures(const view_table *k, real *M) {
    if (SOAI_ABI_PACKED && k->geared) add_armatures(k, 0, (size_t)k->nv + 1, M);
}

/* R, p of every body, p also where it is a constant. */
SOAI_SWEEP void positions(const view_table *k, kernel_work *w, const real *q) {
    angles(k, w, q);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_KIND(b, {
            joint_position(k, w, b, i, kind, q);
            joint_origin(w, b, i, kind, w->b[i].p);
        })
    }
}

/* Pose of body i in the world. */
SOAI_INLINE void step_pose(const view_table *k, kernel_work *w, int i) {
    const int parent = k->body[i].parent;
    const real *R = w->b[i].R, *p = w->b[i].p;
    real *Rw = w->Rw + 9 * i, *pw = w->pw + 3 * i;
    if (!parent) {
        for (int j = 0; j < 9; ++j)
            Rw[j] = R[j];
        for (int j = 0; j < 3; ++j)
            pw[j] = p[j];
        return;
    }
    rot_rot(w->Rw + 9 * parent, R, Rw);
    rot_mul(w->Rw + 9 * parent, p, pw);
    for (int j = 0; j < 3; ++j)
        pw[j] += w->pw[3 * parent + j];
}

/* Sizes of the inertia that the columns of D are taken from, `turn` and `slide` the traces of P's
 * angular and linear blocks: angles and shifts have different units, so each column has its own. */
SOAI_INLINE void hinge_size(const view_table *k, const kernel_work *w, const body_table *b,
                            int kind, int nv, real turn, real slide, real *size) {
    for (int c = 0; c < nv; ++c) {
        if (kind == SOAI_KIND_GENERAL) {
            real H[6];
            joint_column(k, w, b, c, H);
            size[c] = v3_dot(H, H) * turn + v3_dot(H + 3, H + 3) * slide;
        } else {
            size[c] =
                kind == SOAI_KIND_PRISMATIC || (kind == SOAI_KIND_FREE && c >= 3) ? slide : turn;
        }
    }
}
/* D = L d L', in place (lower triangle, row by row), n at most 6; 0 where a pivot is not safely
 * positive.  `size` are the columns' sizes, NULL: any positive pivot will do.  Pivot j is x D x*, x
 * row j of L^-1: the joint's motion that leaves the forces of the columns before at zero.  A
 * motion that moves only rounding errors of what it would move if nothing gave way counts as moving
 * nothing.  Loops have six turns and ask inside what is to be done: with n known all of it goes
 * into registers. */
#define SOAI_HINGE_TOLERANCE 1e-14
SOAI_INLINE int block_factor_inline(int n, real *D, const real *size) {
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        if (j >= n) break;
        real x[6], least = size ? size[j] : REAL(0), pivot = D[n * j + j];
        SOAI_UNROLL
        for (int m = 0; m < 6; ++m) {
            if (m < j) pivot -= D[n * j + m] * D[n * j + m] * D[n * m + m];
        }
        SOAI_UNROLL
        for (int i = 5; i >= 0; --i) {
            if (i >= j || !size) continue;
            x[i] = -D[n * j + i];
            SOAI_UNROLL
            for (int m = 0; m < 6; ++m) {
                if (m > i && m < j) x[i] -= x[m] * D[n * m + i];
            }
            least += x[i] * x[i] * size[i];
        }
        if (!real_all_above(pivot, least * REAL(SOAI_HINGE_TOLERANCE))) return 0;
        D[n * j + j] = pivot;
        const real inverse = REAL(1) / pivot;
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i) {
            if (i <= j || i >= n) continue;
            SOAI_UNROLL
            for (int m = 0; m < 6; ++m) {
                if (m < j) D[n * i + j] -= D[n * i + m] * D[n * j + m] * D[n * m + m];
            }
            D[n * i + j] = D[n * i + j] * inverse;
        }
    }
    return 1;
}
SOAI_INLINE void block_solve_inline(int n, const real *D, real *x) {
    SOAI_UNROLL
    for (int i = 1; i < 6; ++i) {
        SOAI_UNROLL
        for (int m = 0; m < 5; ++m) {
            if (m < i && i < n) x[i] -= D[n * i + m] * x[m];
        }
    }
    SOAI_UNROLL
    for (int i = 0; i < 6; ++i) {
        if (i < n) x[i] = x[i] / D[n * i + i];
    }
    SOAI_UNROLL
    for (int i = 4; i >= 0; --i) {
        SOAI_UNROLL
        for (int m = 1; m < 6; ++m) {
            if (m > i && m < n) x[i] -= D[n * m + i] * x[m];
        }
    }
}
/* For an n that the compiler does not know one copy serves all, out of line.  Joints have 1, 2, 3
 * or 6 degrees of freedom; the loops over all six with questions inside take several times as
 * long. */
static __attribute__((noinline, unused)) int block_factor_any(int n, real *D, const real *size) {
    if (n == 1) return block_factor_inline(1, D, size);
    if (n == 2) return block_factor_inline(2, D, size);
    if (n == 3) return block_factor_inline(3, D, size);
    return block_factor_inline(6, D, size);
}
static __attribute__((noinline, unused)) void block_solve_any(int n, const real *D, real *x) {
    if (n == 1) {
        block_solve_inline(1, D, x);
    } else if (n == 2) {
        block_solve_inline(2, D, x);
    } else if (n == 3) {
        block_solve_inline(3, D, x);
    } else {
        block_solve_inline(6, D, x);
    }
}
SOAI_INLINE int block_factor(int n, real *D, const real *size) {
    return __builtin_constant_p(n) ? block_factor_inline(n, D, size) : block_factor_any(n, D, size);
}
SOAI_INLINE void block_solve(int n, const real *D, real *x) {
    if (__builtin_constant_p(n))
        block_solve_inline(n, D, x);
    else
        block_solve_any(n, D, x);
}

/* The same for a free joint: U = P, D = P + armatures.  In hinge.h for any without rotors; in lanes
 * and generated code (BY_BLOCKS) for a root, where nobody else reads U and D.  By blocks there are
 * two divisions in a row instead of six.  With W = B C^-1, S = A - W B':   [S^-1, W, C^-1] stand
 * for D. */
#if SOAI_LANES > 1 || defined(SOAI_GENERATED)
#define BY_BLOCKS(b, nv) ((nv) == 6 && !(b)->parent)
#else
#define BY_BLOCKS(b, nv) 0
#endif
/* out = C^-1 by cofactors; 0 where a pivot (ratio of minors) is not safely above size. */
SOAI_INLINE int sym_invert(const real C[6], real size, real out[6]) {
    const real least = size * REAL(SOAI_HINGE_TOLERANCE), minor = C[YY] * C[ZZ] - C[YZ] * C[YZ];
    const real xy = C[XZ] * C[YZ] - C[XY] * C[ZZ], xz = C[XY] * C[YZ] - C[XZ] * C[YY];
    const real det = C[XX] * minor + (C[XY] * xy + C[XZ] * xz);
    if (!real_all_above(C[ZZ], least) || !real_all_above(minor, least * C[ZZ]) ||
        !real_all_above(det, least * minor))
        return 0;
    const real inverse = REAL(1) / det;
    out[XX] = minor * inverse;
    out[XY] = xy * inverse;
    out[XZ] = xz * inverse;
    out[YY] = (C[XX] * C[ZZ] - C[XZ] * C[XZ]) * inverse;
    out[ZZ] = (C[XX] * C[YY] - C[XY] * C[XY]) * inverse;
    out[YZ] = (C[XY] * C[XZ] - C[XX] * C[YZ]) * inverse;
    return 1;
}
SOAI_INLINE int free_factor(const view_table *k, const body_table *b, const real *P,
                            const real size[6], real D[21]) {
    real S[6], C[6], *const Si = D, *const W = D + 6, *const Ci = D + 15;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        S[j] = P[ABI_A(j)];
        C[j] = P[ABI_C(j)];
    }
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j) {
        S[j] += k->dof[b->iv + j].armature;
        C[j] += k->dof[b->iv + 3 + j].armature;
    }
    if (!sym_invert(C, size[3], Ci)) return 0;
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j) {
            W[3 * i + j] = P[ABI_B(i, 0)] * Ci[SYM(0, j)] + P[ABI_B(i, 1)] * Ci[SYM(1, j)] +
                           P[ABI_B(i, 2)] * Ci[SYM(2, j)];
        }
    }
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i) {
        SOAI_UNROLL
        for (int j = i; j < 3; ++j) {
            SOAI_UNROLL
            for (int m = 0; m < 3; ++m)
                S[SYM(i, j)] -= W[3 * i + m] * P[ABI_B(j, m)];
        }
    }
    return sym_invert(S, size[0], Si);
}
/* x = D^-1 x:  w = S^-1 (x_w - W x_v),  v = C^-1 x_v - W' w */
SOAI_INLINE void free_solve(const real D[21], real x[6]) {
    const real *const Si = D, *const W = D + 6, *const Ci = D + 15;
    real a[3], l[3] = {x[3], x[4], x[5]};
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        a[j] = x[j] - W[3 * j] * l[0] - W[3 * j + 1] * l[1] - W[3 * j + 2] * l[2];
    sym_mul(Si, a, x);
    sym_mul(Ci, l, x + 3);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        x[3 + j] -= W[j] * x[0] + W[3 + j] * x[1] + W[6 + j] * x[2];
}

/* z += P+ c, knowing which entries of c, and of P+ for the kinds on an axis, are zero: joints on an
 * axis have no armature where this is called (hinge.h). */
SOAI_INLINE void hinge_bias(int kind, int mode, const real *P, const real c[6], real z[6]) {
    if (!ON_AXIS(kind)) {
        real Pc[6];
        abi_mul(P, c, Pc);
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            z[j] += Pc[j];
        return;
    }
    const int ax = AXIS_OF(kind), n = NEXT(ax), l = LAST(ax);
    SOAI_UNROLL
    for (int r = 0; r < 6; ++r) {
        if (r == ax) continue;
        z[r] += abi_entry(P, r, n) * c[n] + abi_entry(P, r, l) * c[l] +
                (abi_entry(P, r, 3 + n) * c[3 + n] + abi_entry(P, r, 3 + l) * c[3 + l]);
        if (mode & CLASSICAL) z[r] += abi_entry(P, r, 3 + ax) * c[3 + ax];
    }
}
/* P(parent) += phi P+ phi*, R87 (37).  The last child of a body, which comes first inward, finds no
 * sum yet and starts it with the body's own M. */
SOAI_INLINE void hinge_shift_to(const real *R, const real p[3], int kind, const real *P,
                                const real *sum, real *out) {
    if (IS_LEVEL(kind))
        abi_in_add_turn(AXIS_OF(kind), R, IS_PIVOT(kind) ? 0 : p, P, sum, out);
    else if (ON_AXIS(kind))
        abi_in_add_axis(AXIS_OF(kind), R, p, P, sum, out);
    else
        abi_in_add(R, p, P, sum, out);
}
SOAI_INLINE void hinge_shift(const view_table *k, kernel_work *w, const body_table *b, int i,
                             int kind, const real *P) {
    real turn[2], p[3], *out = PASSED_IN(w, b)->P;
    const real *R = joint_R(w, b, i, kind, turn), *sum = out;
    joint_origin(w, b, i, kind, p);
#if SOAI_ABI_PACKED
    if (b->starts) sum = k->body[b->parent].P;
#else
    if (b->starts & SOAI_STARTS_BEFORE) abi_set(k->body[b->parent].M, out);
    if (b->starts & SOAI_STARTS_WITH) {
        real M[ABI_SIZE];
        abi_set(k->body[b->parent].M, M);
        hinge_shift_to(R, p, kind, P, M, out);
        return;
    }
#endif
    hinge_shift_to(R, p, kind, P, sum, out);
}

/* One body of the inward sweep.
 *   ARTICULATE  U = P H*, D = H U (+ rotor), factored; P(parent) += phi P+ phi*.  R87 (37) to (39),
 *               (43); RJK91 (8) to (10); FO00 (12).  Returns 0 where D is singular.
 *   INNOVATE    eps = tau - H z (+ rotor); z(parent) += phi (z + P+ c + U D^-1 eps).  R87 (40),
 *               (41), (36).
 *   BIAS        with c; without it c is zero (M^-1 x). */
SOAI_INLINE int step_filter(const view_table *k, kernel_work *w, const body_table *b, int i,
                            int kind, int nv, int mode, const real *v_tree, const real *tau) {
    body_work *own = PASSED(w, b, i), *in = PASSED_IN(w, b);
    real *Us = w->U + 6 * b->iv, *D = w->D + b->id;
    const real *P = own->P;
    real after[ABI_SIZE], U1[6], c[6], z[6], x[6], dinv = REAL(0); /* after: P+ */
    /* one column lives in registers */
    real *U = nv == 1 ? U1 : Us;
    if (mode & ARTICULATE) {
        if (!BY_BLOCKS(b, nv)) joint_inertia(k, w, b, kind, nv, P, U);
        real size[6];
        hinge_size(k, w, b, kind, nv, P[ABI_A(XX)] + P[ABI_A(YY)] + P[ABI_A(ZZ)],
                   P[ABI_C(XX)] + P[ABI_C(YY)] + P[ABI_C(ZZ)], size);
        if (nv == 1) {
            real d; /* D = H P H*                 R87 (38) */
            if (ON_AXIS(kind))
                d = U[AXIS_OF(kind)];
            else
                joint_project(k, w, b, kind, nv, U, &d);
            d += k->nm ? b->hinge : b->armature;
            if (__builtin_expect(!real_all_above(d, size[0] * REAL(SOAI_HINGE_TOLERANCE)), 0))
                return 0;
            dinv = REAL(1) / d;
            if (b->rotor) {
                real couple[3];
                step_rotor_couple(k, w, b, i, couple);
                for (int j = 0; j < 3; ++j)
                    U[j] += couple[j];
            }
            D[0] = dinv;
            v6_copy(U, Us);
            if (b->parent && ON_AXIS(kind)) { /* P+ = P - G H P, G = P H* D^-1.  R87 (39), (43) */
                abi_subtract_axis(AXIS_OF(kind), dinv, P, after);
            } else if (b->parent) {
                real Y[6];
                SOAI_UNROLL
                for (int j = 0; j < 6; ++j)
                    Y[j] = U[j] * dinv;
                abi_subtract(U, Y, P, after);
            }
        } else if (BY_BLOCKS(b, nv)) {
            if (!free_factor(k, b, P, size, D)) return 0;
        } else {
            for (int r = 0; r < nv; ++r) {
                joint_project(k, w, b, kind, nv, U + 6 * r, x);
                for (int j = 0; j < nv; ++j)
                    D[nv * r + j] = x[j];
                D[nv * r + r] += k->dof[b->iv + r].armature;
            }
            if (!block_factor(nv, D, size)) return 0;
            real Y[36];
            for (int j = 0; b->parent && j < 6; ++j) {
                for (int r = 0; r < nv; ++r)
                    x[r] = U[6 * r + j];
                block_solve(nv, D, x);
                for (int r = 0; r < nv; ++r)
                    Y[6 * r + j] = x[r];
            }
            for (int r = 0; b->parent && r < nv; ++r)
                abi_subtract(U + 6 * r, Y + 6 * r, r ? after : P, after);
        }
    } else if (nv == 1) {
        dinv = D[0];
        v6_copy(Us, U);
    }
    if (mode & INNOVATE) {
        v6_copy(own->f, z);
        joint_project(k, w, b, kind, nv, z, x);
        SOAI_UNROLL
        for (int j = 0; j < nv; ++j)
            x[j] = tau[b->iv + j] - x[j];
        if (mode & BIAS) {
            step_whole_bias(k, w, b, i, kind, nv, mode, v_tree, c);
            if (b->rotor) { /* the rotor does not feel the joint's own c */
                real couple[3];
                step_rotor_couple(k, w, b, i, couple);
                x[0] += v3_dot(couple, c);
            }
        }
        SOAI_UNROLL
        for (int j = 0; j < nv; ++j)
            w->e[b->iv + j] = x[j];
        if (b->parent) {
            if (nv == 1)
                x[0] = joint_sense(b, kind, x[0]) * dinv;
            else
                block_solve(nv, D, x);
            if (mode & BIAS) hinge_bias(kind, mode, after, c, z);
            for (int j = 0; j < nv; ++j)
                v6_add_scaled(x[j], U + 6 * j, z);
            step_force_in(w, b, i, kind, z, in->f);
        }
    }
    if ((mode & ARTICULATE) && b->parent) hinge_shift(k, w, b, i, kind, after);
    return 1;
}

/* Level joints in lanes, where nobody reads what a step leaves but the steps below: `step` for
 * those, nothing for others. */
#if SOAI_LANES > 1
#define LEVEL_STEP(kind, step) \
    if (IS_LEVEL(kind)) {      \
        step;                  \
    }
/* A of body i, and of its parent, in aba: it takes the place of G, which the body's own step has
 * read by then; but the projection on mimic joints asks for G again. */
#define A_OF(k, w, b, i) ((k)->nm ? (w)->b[i].A : (w)->U + 6 * (b)->iv)
#define A_IN(k, w, b) \
    ((k)->nm || !(b)->parent ? (w)->b[(b)->parent].A : (w)->U + 6 * (k)->body[(b)->parent].iv)
/* P+ is zero along the joint's axis.  Where the only child of a body is a pivot, whose P+ is turned
 * about its axis and not moved, the rows of P's blocks A and B along that axis are therefore the
 * body's own M: in generated code constants, most of them zero: `own` (table_fields.h). */
#ifdef SOAI_GENERATED
#define OWN(b) ((b)->own)
#else
#define OWN(b) 0
#endif
/* Number e of P lies in the row of A or of B along axis `ax`. */
#define P_ALONG(ax, e)                                                       \
    (((e) < 3 && (e) == (ax)) || ((e) >= 3 && (e) < 6 && (e) != 5 - (ax)) || \
     ((e) >= 12 && (e) / 3 - 4 == (ax)))
/* The inward step, ARTICULATE | INNOVATE | BIAS, block by block of P, so that few numbers are under
 * way at a time: each has a register where there are 32.  G is stored in U, with D^-1 (for mimic
 * joints) in the place of its entry along the axis, which would be 1; D^-1 eps in e. */
SOAI_INLINE int level_filter(const view_table *k, kernel_work *w, const body_table *b, int i,
                             int kind, const real *v_tree, const real *tau, const real *fext) {
    const int ax = AXIS_OF(kind), n = NEXT(ax), l = LAST(ax), nl = SYM(n, l);
    body_work *in = PASSED_IN(w, b);
    real *G = w->U + 6 * b->iv, g[6], turn[2], sq[5], own[ABI_SIZE];
    const real *sum = PASSED(w, b, i)->P;
    if (!b->child || OWN(b)) abi_set(b->M, own);
    if (!b->child) sum = own;
/* NOLINTBEGIN(misc-redundant-expression): operands of P_AT are equal for some axes only */
#define P_AT(e) ((OWN(b) & SOAI_P_AXIS) && P_ALONG((OWN(b) & SOAI_P_AXIS) - 1, e) ? own[e] : sum[e])
    const real *V = w->b[i].V, d = P_AT(ABI_A(ax)); /* D = H P H*                 R87 (38) */
    const real size = P_AT(ABI_A(XX)) + P_AT(ABI_A(YY)) + P_AT(ABI_A(ZZ));
    if (__builtin_expect(!real_all_above(d, size * REAL(SOAI_HINGE_TOLERANCE)), 0)) return 0;
    const real dinv = REAL(1) / d, torque = joint_sense(b, kind, tau[b->iv]),
               *R = joint_R(w, b, i, kind, turn);
    /* c = w x w_J */
    const real rate = joint_sense(b, kind, v_tree[b->iv]), cn = V[l] * rate, cl = -(V[n] * rate);
    real z[6];
    step_gather_force(w, b, i, CLASSICAL, fext, z);
    turn_squares(R, sq);
    const real e = torque - z[ax]; /* eps                        R87 (40) */
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        if (j != ax) /* G = P H* D^-1              R87 (39) */
            G[j] = g[j] = P_AT(j < 3 ? ABI_A(SYM(j, ax)) : ABI_B(ax, j - 3)) * dinv;
    }
    if (k->nm) G[ax] = dinv;
    w->e[b->iv] = e * dinv;
    if (!b->parent) return 1;
    z[ax] = torque; /* z + G eps, then + P+ c with P+ = P - G H P, and P+ turned.  R87 (41), (43) */
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j) {
        if (j != ax) z[j] += g[j] * e;
    }
    real A[6], B[9], C[6], Q[6];
    SOAI_UNROLL
    for (int r = 0; r < 3; ++r) {
        SOAI_UNROLL
        for (int c = r; c < 3; ++c)
            Q[SYM(r, c)] = sum[ABI_C(SYM(r, c))] - P_AT(ABI_B(ax, r)) * g[3 + c];
    }
    turn_sym(ax, R, sq, Q, C);
    real Bn[3], Bl[3];
    SOAI_UNROLL
    for (int c = 0; c < 3; ++c) {
        Bn[c] = P_AT(ABI_B(n, c)) - P_AT(ABI_A(SYM(ax, n))) * g[3 + c];
        Bl[c] = P_AT(ABI_B(l, c)) - P_AT(ABI_A(SYM(ax, l))) * g[3 + c];
        z[3 + c] += Bn[c] * cn + Bl[c] * cl;
    }
    turn_rows(ax, R, sq, Bn, Bl, B);
    Q[n] = P_AT(ABI_A(n)) - P_AT(ABI_A(SYM(ax, n))) * g[n];
    Q[l] = P_AT(ABI_A(l)) - P_AT(ABI_A(SYM(ax, l))) * g[l];
    Q[nl] = P_AT(ABI_A(nl)) - P_AT(ABI_A(SYM(ax, n))) * g[l];
#undef P_AT
    /* NOLINTEND(misc-redundant-expression) */
    z[n] += Q[n] * cn + Q[nl] * cl;
    z[l] += Q[nl] * cn + Q[l] * cl;
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        A[SYM(ax, j)] = REAL(0);
    turn_across(ax, sq, Q, A);
    real p[3], f[3], t[3], a[3], M[ABI_SIZE];
    joint_origin(w, b, i, kind, p);
    joint_rot(kind, R, z, t);
    joint_rot(kind, R, z + 3, f);
    if (!IS_PIVOT(kind)) { /* c of the lever, in the parent's axes; then to its origin */
        step_lever(w, b, i, kind, a);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j) {
            f[j] += C[SYM(j, 0)] * a[0] + C[SYM(j, 1)] * a[1] + C[SYM(j, 2)] * a[2];
            if (j != ax) t[j] += B[3 * j] * a[0] + B[3 * j + 1] * a[1] + B[3 * j + 2] * a[2];
        }
        v3_cross_add(p, f, t);
    }
    /* z(parent) += phi z+, P(parent) += phi P+ phi*.  R87 (36), (37) */
    if (b->starts) v6_zero(in->f);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j) {
        in->f[j] += t[j];
        in->f[3 + j] += f[j];
    }
    if (b->starts & SOAI_STARTS_BEFORE) abi_set(k->body[b->parent].M, in->P);
    if (b->starts & SOAI_STARTS_WITH) abi_set(k->body[b->parent].M, M);
    if (OWN(b) & SOAI_P_SPARED) {
        real left[ABI_SIZE];
        abi_translate_add(A, B, C, 0, M, left);
        SOAI_UNROLL
        for (int m = 0; m < ABI_SIZE; ++m) {
            if (!P_ALONG(ax, m)) in->P[m] = left[m];
        }
        return 1;
    }
    abi_translate_add(A, B, C, IS_PIVOT(kind) ? 0 : p, b->starts & SOAI_STARTS_WITH ? M : in->P,
                      in->P);
    return 1;
}
/* INNOVATE alone, for M^-1 x. */
SOAI_INLINE void level_innovate(kernel_work *w, const body_table *b, int i, int kind,
                                const real *tau) {
    const int ax = AXIS_OF(kind);
    const real *G = w->U + 6 * b->iv, torque = joint_sense(b, kind, tau[b->iv]);
    real z[6];
    v6_copy(PASSED(w, b, i)->f, z);
    const real e = torque - z[ax];
    w->e[b->iv] = e * G[ax];
    if (!b->parent) return;
    SOAI_UNROLL
    for (int j = 0; j < 6; ++j)
        z[j] = j == ax ? torque : z[j] + G[j] * e;
    step_force_in(w, b, i, kind, z, PASSED_IN(w, b)->f);
}
/* The outward step, as step_smooth: A along the axis = D^-1 eps - G'a'.  Bodies of a limb wait for
 * one another here, so what comes from the parent enters late and sums are short. */
SOAI_INLINE void level_smooth(const view_table *k, kernel_work *w, const body_table *b, int i,
                              int kind, int mode, const real *v_tree, real *vdot) {
    const int ax = AXIS_OF(kind), n = NEXT(ax), l = LAST(ax);
    const real *G = w->U + 6 * b->iv, *in = A_IN(k, w, b), *V = w->b[i].V;
    real turn[2], a[3] = {in[3], in[4], in[5]}, A[6], c[2] = {REAL(0), REAL(0)};
    const real *R = joint_R(w, b, i, kind, turn);
    if (!IS_PIVOT(kind)) {
        real p[3], t[3] = {REAL(0), REAL(0), REAL(0)};
        joint_origin(w, b, i, kind, p);
        if (mode & BIAS) step_lever(w, b, i, kind, t);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            a[j] = (a[j] + in[NEXT(j)] * p[LAST(j)]) + (t[j] - in[LAST(j)] * p[NEXT(j)]);
    }
    if (mode & BIAS) {
        const real rate = joint_sense(b, kind, v_tree[b->iv]);
        c[0] = V[l] * rate;
        c[1] = V[n] * rate;
    }
    A[n] = R[0] * in[n] + (R[1] * in[l] + c[0]);
    A[l] = R[0] * in[l] - (R[1] * in[n] + c[1]);
    joint_rot_back(kind, R, a, A + 3);
    A[ax] = (w->e[b->iv] - G[3 + ax] * A[3 + ax] - G[n] * A[n]) -
            ((G[l] * A[l] + G[3 + n] * A[3 + n]) + G[3 + l] * A[3 + l]);
    vdot[b->iv] = joint_sense(b, kind, A[ax] - in[ax]);
    v6_copy(A, A_OF(k, w, b, i));
}
#else
#define LEVEL_STEP(kind, step)
#define A_OF(k, w, b, i) PASSED(w, b, i)->A
#define A_IN(k, w, b) PASSED_IN(w, b)->A
#endif

/* x = D^-1 x for the joint of b. */
SOAI_INLINE void step_hinge_solve(const kernel_work *w, const body_table *b, int nv, real *x) {
    if (nv == 1)
        x[0] = x[0] * w->D[b->id];
    else if (BY_BLOCKS(b, nv))
        free_solve(w->D + b->id, x);
    else
        block_solve(nv, w->D + b->id, x);
}

/* x <- (1 - G H) x, a force passing the hinge of b inward; x <- (1 - G H)* x, a motion passing it
 * outward. */
SOAI_INLINE void step_pass_force(const view_table *k, const kernel_work *w, const body_table *b,
                                 int kind, int nv, real x[6]) {
    real e[6];
    joint_project(k, w, b, kind, nv, x, e);
    step_hinge_solve(w, b, nv, e);
    for (int c = 0; c < nv; ++c)
        v6_add_scaled(-e[c], w->U + 6 * (b->iv + c), x);
}
SOAI_INLINE void step_pass_motion(const view_table *k, const kernel_work *w, const body_table *b,
                                  int kind, int nv, real x[6]) {
    real e[6];
    for (int c = 0; c < nv; ++c)
        e[c] = -v6_dot(w->U + 6 * (b->iv + c), x);
    step_hinge_solve(w, b, nv, e);
    joint_add(k, w, b, kind, nv, e, x);
}

/* a' = phi* A(parent) + c;  vdot = D^-1 (eps - U'a');  A = a' + H* vdot.  R87 (44) to (47); FO00
 * (14), then (4). */
SOAI_INLINE void step_smooth(const view_table *k, kernel_work *w, const body_table *b, int i,
                             int kind, int nv, int mode, const real *v_tree, real *vdot) {
    const real *U = w->U + 6 * b->iv, *e = w->e + b->iv;
    const int lever = (mode & BIAS) && (mode & CLASSICAL) && b->parent;
    real A[6];
    real x[6];
    real t[3];
    if (lever) step_lever(w, b, i, kind, t);
    if (b->parent || (mode & BIAS))
        step_motion_out(w, b, i, kind, A_IN(k, w, b), lever ? t : 0, A);
    else
        v6_zero(A);
    if (mode & BIAS) {
        real c[6];
        step_joint_bias(k, w, b, i, kind, nv, mode, v_tree, c);
        add_bias(kind, mode, c, A);
    }
    if (BY_BLOCKS(b, nv)) { /* U is P */
        abi_mul(PASSED(w, b, i)->P, A, x);
        SOAI_UNROLL
        for (int j = 0; j < nv; ++j)
            x[j] = e[j] - x[j];
    } else {
        for (int j = 0; j < nv; ++j)
            x[j] = e[j] - joint_sense(b, kind, v6_dot(U + 6 * j, A));
    }
    step_hinge_solve(w, b, nv, x);
    joint_add(k, w, b, kind, nv, x, A);
    v6_copy(A, A_OF(k, w, b, i));
    SOAI_UNROLL
    for (int j = 0; j < nv; ++j)
        vdot[b->iv + j] = x[j];
}

#endif
