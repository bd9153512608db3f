/* crba.h  the mass matrix.
 *
 * crba      composite bodies are gathered inward in body frames; each column's force and each joint
 *           map is turned once into the axes of its root body, so an entry M(i,j) is one 6-vector
 *           product.  O(n d), 6 multiplications an entry.  FO00 (9), (10).
 * mass_r87  R87 (32) as printed: r(i) composite, x(i) = r H*, x(k) = phi x(k-1), m(k,i) = H x(k).
 * mass_columns  (lanes, generated code) the same with its loops exchanged: at body k the columns of
 * all bodies beyond it take
 *           one step, or, in batches of generated code, all steps of a chain without branches.  O(n
 *           d), 8 to 14 multiplications an entry of level joints and nothing to prepare: less work
 *           than crba where bodies have few ancestors.  Bodies must be numbered branch by branch.
 * All write M (nv x nv, tree coordinates); in lanes only what is not zero for all q, the caller
 * having cleared M once, and of large matrices only what is on or below the diagonal:
 * lanes_unpack_symmetric takes the rest from below. */
#ifndef SOAI_CRBA_H
#define SOAI_CRBA_H
#include "steps.h"

/* Column c of H*, any kind. */
SOAI_INLINE void step_column(const view_table *k, const kernel_work *w, const body_table *b,
                             int kind, int c, real H[6]) {
    v6_zero(H);
    switch (kind) {
    CASE_ON_AXIS:
        H[AXIS_OF(kind)] = joint_sense(b, kind, REAL(1));
        break;
    case SOAI_KIND_REVOLUTE:
        for (int j = 0; j < 3; ++j)
            H[j] = REAL(b->axis[j]);
        break;
    case SOAI_KIND_PRISMATIC:
        for (int j = 0; j < 3; ++j)
            H[3 + j] = REAL(b->axis[j]);
        break;
    case SOAI_KIND_SPHERICAL:
    case SOAI_KIND_FREE: H[c] = REAL(1); break;
    default: joint_column(k, w, b, c, H);
    }
}

/* A motion (or force) of body i, to the axes and origin of the frame that Rw, pw refer to. */
SOAI_INLINE void motion_to_root(const kernel_work *w, int i, const real H[6], real out[6]) {
    rot_mul(w->Rw + 9 * i, H, out);
    rot_mul(w->Rw + 9 * i, H + 3, out + 3);
    v3_cross_add(w->pw + 3 * i, out, out + 3);
}
SOAI_INLINE void force_to_root(const kernel_work *w, int i, const real f[6], real out[6]) {
    rot_mul(w->Rw + 9 * i, f, out);
    rot_mul(w->Rw + 9 * i, f + 3, out + 3);
    v3_cross_add(w->pw + 3 * i, out + 3, out);
}

/* r H* e_c for the composite inertia r */
SOAI_INLINE void composite_column(const view_table *k, const kernel_work *w, const body_table *b,
                                  int kind, int c, const real r[10], real f[6]) {
    if (ON_AXIS(kind)) { /* [I e; e x h] */
        static const unsigned char sym[3][3] = {{XX, XY, XZ}, {XY, YY, YZ}, {XZ, YZ, ZZ}};
        const int ax = AXIS_OF(kind);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            f[j] = joint_sense(b, kind, r[4 + sym[ax][j]]);
        f[3 + ax] = REAL(0);
        f[3 + NEXT(ax)] = -joint_sense(b, kind, r[1 + LAST(ax)]);
        f[3 + LAST(ax)] = joint_sense(b, kind, r[1 + NEXT(ax)]);
    } else {
        real H[6];
        step_column(k, w, b, kind, c, H);
        rigid_mul(r, H, f);
    }
}

/* The axes of body i in its root body, for the mass matrix alone: in packs three columns behind the
 * composite inertia, else rows in Rw. */
#if SOAI_ABI_PACKED
SOAI_INLINE real *root_axes(const kernel_work *w, int i) {
    return w->b[i].P + 12;
}
SOAI_INLINE void root_mul(const real *axes, const real x[3], real out[3]) {
    const pack y = pack_load(axes) * x[0] + pack_load(axes + 4) * x[1] + pack_load(axes + 8) * x[2];
    out[0] = y[0];
    out[1] = y[1];
    out[2] = y[2];
}
SOAI_INLINE void root_column(const real *axes, int c, real out[3]) {
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        out[j] = axes[4 * c + j];
}
/* out = parent R; NULL for the identity */
SOAI_INLINE void root_compose(const real *parent, const real R[9], real *out) {
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j) {
        if (parent) {
            pack_store(pack_load(parent) * R[j] + pack_load(parent + 4) * R[3 + j] +
                           pack_load(parent + 8) * R[6 + j],
                       out + 4 * j);
        } else {
            out[4 * j] = R[j];
            out[4 * j + 1] = R[3 + j];
            out[4 * j + 2] = R[6 + j];
            out[4 * j + 3] = REAL(0);
        }
    }
}
SOAI_INLINE void root_compose_turn(int ax, const real turn[2], const real *parent, real *out) {
    const int n = NEXT(ax), l = LAST(ax);
    const pack x = pack_load(parent + 4 * n), y = pack_load(parent + 4 * l);
    pack_store(pack_load(parent + 4 * ax), out + 4 * ax);
    pack_store(x * turn[0] + y * turn[1], out + 4 * n);
    pack_store(y * turn[0] - x * turn[1], out + 4 * l);
}
#else
SOAI_INLINE real *root_axes(const kernel_work *w, int i) {
    return w->Rw + 9 * i;
}
SOAI_INLINE void root_mul(const real *axes, const real x[3], real out[3]) {
    rot_mul(axes, x, out);
}
SOAI_INLINE void root_column(const real *axes, int c, real out[3]) {
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        out[j] = axes[3 * j + c];
}
SOAI_INLINE void root_compose(const real *parent, const real R[9], real *out) {
    if (parent) {
        rot_rot(parent, R, out);
    } else {
        SOAI_UNROLL
        for (int j = 0; j < 9; ++j)
            out[j] = R[j];
    }
}
SOAI_INLINE void root_compose_turn(int ax, const real turn[2], const real *parent, real *out) {
    SOAI_UNROLL
    for (int j = 0; j < 9; j += 3) {
        const real x = parent[j + NEXT(ax)], y = parent[j + LAST(ax)];
        out[j + ax] = parent[j + ax];
        out[j + NEXT(ax)] = x * turn[0] + y * turn[1];
        out[j + LAST(ax)] = y * turn[0] - x * turn[1];
    }
}
#endif

/* Pose of body i in its root body, from that of its parent. */
SOAI_INLINE void step_root_pose(const view_table *k, kernel_work *w, const body_table *b, int i,
                                int kind) {
    real *pw = w->pw + 3 * i, *axes = root_axes(w, i);
    if (!b->parent) { /* the root itself */
        real one[9];
        SOAI_UNROLL
        for (int j = 0; j < 9; ++j)
            one[j] = REAL(j % 4 == 0);
        root_compose(0, one, axes);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            pw[j] = REAL(0);
        return;
    }
    joint_origin(w, b, i, kind, pw);
    const real *parent = root_axes(w, b->parent);
    if (!k->body[b->parent].parent && !IS_LEVEL(kind)) { /* the root's axes are the axes */
        root_compose(0, w->b[i].R, axes);
        return;
    }
    real turn[2];
    const real *R = joint_R(w, b, i, kind, turn);
    if (IS_LEVEL(kind))
        root_compose_turn(AXIS_OF(kind), R, parent, axes);
    else
        root_compose(parent, R, axes);
    if (!IS_PIVOT(kind)) root_mul(parent, pw, pw);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        pw[j] += w->pw[3 * b->parent + j];
}

/* r(parent) += phi r phi*; as in hinge_shift the last child starts the sum with the parent's own
 * M. */
SOAI_INLINE void composite_shift_to(const kernel_work *w, const body_table *b, int i, int kind,
                                    const real sum[10], real out[10]) {
    real turn[2], p[3];
    const real *R = joint_R(w, b, i, kind, turn);
    joint_origin(w, b, i, kind, p);
    if (IS_LEVEL(kind))
        rigid_in_add_turn(AXIS_OF(kind), R, IS_PIVOT(kind) ? 0 : p, PASSED(w, b, i)->P, sum, out);
    else
        rigid_in_add(R, p, PASSED(w, b, i)->P, sum, out);
}
SOAI_INLINE void composite_shift(const view_table *k, kernel_work *w, const body_table *b, int i,
                                 int kind) {
    const body_table *parent = k->body + b->parent;
    real *out = PASSED_IN(w, b)->P;
    if (SOAI_LANES > 1 && IS_LEVEL(kind) && !parent->parent && IS_LEVEL(parent->kind)) {
        /* nobody asks a root on a level joint for more than its moment about the axis */
        real turn[2], p[3], moments[3];
        const real *R = joint_R(w, b, i, kind, turn);
        joint_origin(w, b, i, kind, p);
        rigid_moments_turn(AXIS_OF(kind), R, IS_PIVOT(kind) ? 0 : p, PASSED(w, b, i)->P, moments);
        if (b->starts) rigid_set(parent->M, out);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            out[4 + j] += moments[j];
        return;
    }
#if SOAI_PACKED
    composite_shift_to(w, b, i, kind, b->starts ? parent->M : out, out);
#else
    if (b->starts & SOAI_STARTS_BEFORE) rigid_set(parent->M, out);
    if (b->starts & SOAI_STARTS_WITH) {
        real M[10];
        rigid_set(parent->M, M);
        composite_shift_to(w, b, i, kind, M, out);
    } else {
        composite_shift_to(w, b, i, kind, out, out);
    }
#endif
}

/* Up to this size an entry goes to both its places at once; beyond it the upper triangle is copied
 * block by block, or, in lanes, when the matrices leave them. */
#define MASS_SMALL (SOAI_LANES > 1 ? 12 : 16)

/* row[j] = column[n j] = S(j) . g for lo <= j < hi, S stored as six rows of n numbers. */
SOAI_INLINE void mass_row(const real *S, size_t n, int lo, int hi, const real g[6], real *row,
                          real *column) {
#if SOAI_PACKED
    /* what is past the end (the rows have room) is computed, not stored */
    for (int j = lo; j < hi; j += SOAI_PACK) {
        pack x, sum = {0};
        SOAI_UNROLL
        for (int c = 0; c < 6; ++c) {
            memcpy(&x, S + (size_t)c * n + j, sizeof x);
            sum += x * g[c];
        }
        const int rest = hi - j;
        if (rest >= SOAI_PACK) {
            memcpy(row + j, &sum, sizeof sum);
        } else {
            row[j] = sum[0];
            if (rest > 1) row[j + 1] = sum[1];
            if (rest > 2) row[j + 2] = sum[2];
        }
        if (n <= MASS_SMALL) {
            real *to = column + n * (size_t)j;
            to[0] = sum[0];
            if (rest > 1) to[n] = sum[1];
            if (rest > 2) to[2 * n] = sum[2];
            if (rest > 3) to[3 * n] = sum[3];
        }
    }
#else
    for (int j = lo; j < hi; ++j) {
        real sum = S[j] * g[0];
        SOAI_UNROLL
        for (int c = 1; c < 6; ++c)
            sum += S[(size_t)c * n + (size_t)j] * g[c];
        row[j] = sum;
        if (n <= MASS_SMALL) column[n * (size_t)j] = sum;
    }
#endif
}
SOAI_INLINE void mass_zero(size_t n, int lo, int hi, real *row, real *column) {
    for (int j = lo; SOAI_LANES == 1 && j < hi; ++j) {
        row[j] = REAL(0);
        if (n <= MASS_SMALL) column[n * (size_t)j] = REAL(0);
    }
}
/* The row of coordinate at, body b, left of the body's own block: run by run of ancestors, zero
 * between. */
SOAI_INLINE void mass_ancestors(const view_table *k, const kernel_work *w, const body_table *b,
                                int at, const real g[6], real *M) {
    const size_t n = (size_t)k->nv;
    real *row = M + n * (size_t)at, *column = M + at;
    int end = b->iv;
    for (int a = b->parent; a;) {
        const body_table *run = k->body + k->body[a].run;
        const int hi = k->body[a].iv + k->body[a].nv;
        /* a free root's S is 1 */
        const int unit = !run->parent && run->kind == SOAI_KIND_FREE ? 6 : 0;
        mass_zero(n, hi, end, row, column);
        mass_row(w->S, n, run->iv + unit, hi, g, row, column);
        SOAI_UNROLL
        for (int j = 0; j < unit; ++j) {
            row[run->iv + j] = g[j];
            if (n <= MASS_SMALL) column[n * (size_t)(run->iv + j)] = g[j];
        }
        end = run->iv;
        a = run->parent;
    }
    mass_zero(n, 0, end, row, column);
}

SOAI_INLINE void mass_mirror(int n, real *M) {
    enum { BLOCK = 16 };
    if (n <= MASS_SMALL || SOAI_LANES > 1) return;
    for (int i0 = 0; i0 < n; i0 += BLOCK)
        for (int j0 = 0; j0 <= i0; j0 += BLOCK)
            for (int i = i0; i < i0 + BLOCK && i < n; ++i) {
                const real *from = M + (size_t)n * (size_t)i;
                real *to = M + i;
                const int end = j0 + BLOCK < i ? j0 + BLOCK : i;
                for (int j = j0; j < end; ++j)
                    to[(size_t)n * (size_t)j] = from[j];
            }
}

/* One body of the outward sweep: its pose in the root body, its joint map there. */
SOAI_INLINE void crba_outward(const view_table *k, kernel_work *w, const body_table *b, int i,
                              int kind, int nv, const real *q) {
    const size_t n = (size_t)k->nv;
    const real *axes = root_axes(w, i);
    const real *pw = w->pw + 3 * i;
    real *S = w->S + b->iv;
    joint_position(k, w, b, i, kind, q);
    step_root_pose(k, w, b, i, kind);
    for (int c = 0; c < nv; ++c) {
        real x[6];
        if (ON_AXIS(kind)) { /* [Rw e; pw x Rw e] */
            root_column(axes, AXIS_OF(kind), x);
            SOAI_UNROLL
            for (int j = 0; j < 3; ++j)
                x[j] = joint_sense(b, kind, x[j]);
            v3_cross(pw, x, x + 3);
        } else {
            real H[6];
            step_column(k, w, b, kind, c, H);
            root_mul(axes, H, x);
            root_mul(axes, H + 3, x + 3);
            v3_cross_add(pw, x, x + 3);
        }
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            S[(size_t)j * n + (size_t)c] = x[j];
    }
}
/* One body of the inward sweep: its rows of M, then its composite inertia to the parent. */
SOAI_INLINE void crba_inward(const view_table *k, kernel_work *w, const body_table *b, int i,
                             int kind, int nv, real *M) {
    const size_t n = (size_t)k->nv;
    real *r = PASSED(w, b, i)->P;
    real *axes = root_axes(w, i);
    if (!b->child) rigid_set(b->M, r);
    for (int c = 0; c < nv; ++c) {
        real f[6];
        real x[6];
        real g[6];
        const int at = b->iv + c;
        composite_column(k, w, b, kind, c, r, f);
        joint_project(k, w, b, kind, nv, f, x);
        for (int j = 0; j <= c; ++j) {
            M[n * (size_t)at + (size_t)(b->iv + j)] = x[j];
            M[n * (size_t)(b->iv + j) + (size_t)at] = x[j];
        }
        if (!ON_AXIS(kind)) /* of those on an axis: step_mass_armatures */
            M[(n + 1) * (size_t)at] += nv == 1 ? b->armature : k->dof[at].armature;
        if (b->parent) {
            root_mul(axes, f, g);
            root_mul(axes, f + 3, g + 3);
            v3_cross_add(w->pw + 3 * i, g + 3, g);
            if (b->rotor) {
                real couple[3];
                real t[3];
                step_rotor_couple(k, w, b, i, couple);
                root_mul(axes, couple, t);
                for (int j = 0; j < 3; ++j)
                    g[j] += t[j];
            }
        }
        mass_ancestors(k, w, b, at, g, M);
    }
    if (b->parent) composite_shift(k, w, b, i, kind);
}
SOAI_SWEEP int crba(const view_table *k, kernel_work *w, const real *q, real *M) {
    angles(k, w, q);
    SOAI_OUTWARD(k, WITH_ALIGNED_KIND(b, crba_outward(k, w, b, i, kind, nv, q)))
    SOAI_INWARD(k, WITH_ALIGNED_KIND(b, crba_inward(k, w, b, i, kind, nv, M)))
    step_mass_armatures(k, M);
    mass_mirror(k->nv, M);
    return 0;
}

SOAI_SWEEP int mass_r87(const view_table *k, kernel_work *w, const real *q, real *M) {
    const size_t n = (size_t)k->nv;
    for (size_t j = 0; j < n * n; ++j)
        M[j] = REAL(0);
    positions(k, w, q);
    for (int i = 1; i <= k->nb; ++i)
        rigid_set(k->body[i].M, w->b[i].P);
    for (int i = k->nb; i >= 1; --i) { /* r(i) stands: all outboard bodies have been added */
        const body_table *b = k->body + i;
        for (int c = 0; c < b->nv; ++c) {
            real H[6], x[6], g[6], t[6];
            step_column(k, w, b, b->kind, c, H);
            rigid_mul(w->b[i].P, H, x); /* x(i) = r(i) H*(i) */
            for (int a = i; a;) {       /* m(k,i) = H(k) x(k) */
                const body_table *o = k->body + a;
                joint_project(k, w, o, o->kind, o->nv, x, g);
                for (int j = 0; j < o->nv; ++j)
                    M[n * (size_t)(b->iv + c) + (size_t)(o->iv + j)] =
                        M[n * (size_t)(o->iv + j) + (size_t)(b->iv + c)] = g[j];
                if (a == i && b->rotor) {
                    real couple[3];
                    step_rotor_couple(k, w, b, i, couple);
                    for (int j = 0; j < 3; ++j)
                        x[j] += couple[j];
                }
                v6_zero(t);
                force_in_add(w->b[a].R, w->b[a].p, x, t); /* x(k) = phi(k,k-1) x(k-1) */
                v6_copy(t, x);
                a = o->parent;
            }
            M[(n + 1) * (size_t)(b->iv + c)] += k->dof[b->iv + c].armature;
        }
        if (b->parent)
            rigid_in_add(w->b[i].R, w->b[i].p, w->b[i].P, w->b[b->parent].P, w->b[b->parent].P);
    }
    return 0;
}

/* Where the columns stand on their way inward: of a machine on one free root, whose joint map is 1,
 * in the rows of M that they become at the root. */
SOAI_INLINE int columns_in_M(const view_table *k) {
    return SOAI_LANES > 1 && k->nv > MASS_SMALL && k->body[1].kind == SOAI_KIND_FREE &&
           k->body[1].end == k->nv;
}
/* A column x of M, of a body beyond, at body i: m = H x, entries of M; then x = phi x, of the
 * parent. */
SOAI_INLINE void column_step(const view_table *k, const kernel_work *w, const body_table *b,
                             int kind, int nd, const real *R, const real p[3], real x[6],
                             real m[6]) {
    real n[3], g[3];
    joint_project(k, w, b, kind, nd, x, m);
    if (!b->parent) return;
    joint_force_in(kind, R, p, x, n, g);
    SOAI_UNROLL
    for (int c = 0; c < 3; ++c) {
        x[c] = n[c];
        x[3 + c] = g[c];
    }
}
SOAI_INLINE void column_put(const view_table *k, const body_table *b, int nd, int j,
                            const real m[6], real *M) {
    const size_t n = (size_t)k->nv;
    SOAI_UNROLL
    for (int c = 0; c < nd; ++c) {
        M[n * (size_t)j + (size_t)(b->iv + c)] = m[c];
        if (SOAI_LANES == 1 || n <= MASS_SMALL) M[n * (size_t)(b->iv + c) + (size_t)j] = m[c];
    }
}
SOAI_INLINE void column_link(const view_table *k, const kernel_work *w, const body_table *b, int i,
                             int kind, int nv, int j, real x[6], real *M) {
    real turn[2];
    real p[3];
    real m[6];
    joint_origin(w, b, i, kind, p);
    column_step(k, w, b, kind, nv, joint_R(w, b, i, kind, turn), p, x, m);
    column_put(k, b, nv, j, m, M);
}
/* The same at the bodies further in of a chain, each the parent of the one before, x staying in
 * registers. */
SOAI_INLINE void column_chain(const view_table *k, const kernel_work *w,
                              const body_table *const *chain, int links, int i, int j, real x[6],
                              real *M) {
    SOAI_UNROLL
    for (int s = 1; s < links; ++s) {
        WITH_ALIGNED_KIND(chain[s], column_link(k, w, chain[s], i - s, kind, nv, j, x, M))
    }
}
/* Body i, chain[0]: the columns of bodies beyond the chain, if it is the chain's outermost, and its
 * own go through all of the chain; then its composite inertia to its parent.  The library has
 * chains of one link, generated code longer ones.  What of a column stays as it was is not stored
 * again: nothing is stored between. */
SOAI_INLINE void columns_of(const view_table *k, kernel_work *w, const body_table *const *chain,
                            int links, int outermost, int i, int kind, int nv, int in_M, real *M) {
    const body_table *b = chain[0];
    const size_t n = (size_t)k->nv;
    const size_t step = in_M ? n : 6;
    const int at = b->iv;
    const int end = outermost && (b->parent || !in_M) ? b->end : 0;
    real turn[2];
    real p[3];
    real x[6];
    real m[6];
    real *r = PASSED(w, b, i)->P;
    real *X = in_M ? M : w->S;
    if (!b->child) rigid_set(b->M, r);
    const real *R = joint_R(w, b, i, kind, turn);
    joint_origin(w, b, i, kind, p);
    for (int j = at + nv; j < end; ++j) {
        real *X_j = X + step * (size_t)j;
        v6_copy(X_j, x);
        column_step(k, w, b, kind, nv, R, p, x, m);
        if (links == 1) v6_copy(x, X_j);
        column_put(k, b, nv, j, m, M);
        if (links == 1) continue;
        column_chain(k, w, chain, links, i, j, x, M);
        v6_copy(x, X_j);
    }
    for (int c = 0; c < nv; ++c) { /* its own: x(i) = r(i) H*(i) */
        composite_column(k, w, b, kind, c, r, x);
        column_step(k, w, b, kind, nv, R, p, x, m);
        column_put(k, b, nv, at + c, m, M);
        if (!IS_LEVEL(kind))
            M[(n + 1) * (size_t)(at + c)] += nv == 1 ? b->armature : k->dof[at + c].armature;
        if (!b->parent) continue;
        if (!IS_LEVEL(kind) && b->rotor) {
            SOAI_UNROLL
            for (int j = 0; j < 3; ++j)
                x[j] += k->dof[at].rotor[j];
        }
        column_chain(k, w, chain, links, i, at + c, x, M);
        v6_copy(x, X + step * (size_t)(at + c));
    }
    if (b->parent) composite_shift(k, w, b, i, kind);
}
SOAI_INLINE void columns_inward(const view_table *k, kernel_work *w, const body_table *const *chain,
                                int links, int outermost, int i, int in_M, real *M) {
    WITH_ALIGNED_KIND(chain[0], columns_of(k, w, chain, links, outermost, i, kind, nv, in_M, M));
}
/* R, p and H* of the joints of bodies `from` ... `to`, as far as they are kept and asked for: a
 * root's place is not. */
SOAI_INLINE void columns_outward(const view_table *k, kernel_work *w, int from, int to,
                                 const real *q) {
    for (int i = from; i <= to; ++i) {
        const body_table *b = k->body + i;
        if (IS_LEVEL(b->kind) || (!b->parent && b->kind != SOAI_KIND_GENERAL)) continue;
        WITH_ALIGNED_KIND(b, joint_position(k, w, b, i, kind, q))
    }
}
SOAI_SWEEP int mass_columns(const view_table *k, kernel_work *w, const real *q, real *M) {
    const int in_M = columns_in_M(k);
    (void)in_M; /* in generated code of no bodies */
    for (int j = 0; SOAI_LANES == 1 && j < k->nv * k->nv; ++j)
        M[j] = REAL(0);
    angles(k, w, q);
    columns_outward(k, w, 1, k->nb, q);
    SOAI_INWARD(k, columns_inward(k, w, &b, 1, 1, i, in_M, M))
    return 0;
}
#endif
