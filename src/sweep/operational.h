/* operational.h  compliance of frames (acceleration per wrench, the inverse of Khatib's operational
 *                inertia) by recursion from the base.
 *
 *     Omega       = J M^-1 J' = B* psi* H* D^-1 H psi B                             RJK91 (20)
 *
 * M here the mass matrix, J' the transpose of J, [p] the cross-product matrix of p.
 * For each body i, outward, with psi(parent,i) = phi(parent,i) (1 - G H), RJK91 (9), and
 * Omega(world) = 0 (the recursion below (20), which has no number there):
 *
 *     Omega+(i)   = phi*(parent,i) Omega(parent) phi(parent,i)                      R87 (81)
 *     Omega(i)    = (1 - G H)* Omega+(i) (1 - G H) + H* D^-1 H                      R87 (82)
 *
 * Omega(i) is R87's Delta-(i), Omega+(i) its Delta+(i); (81) and (82) together are one line of
 * RJK91's recursion.  Finally the frame on its body: Omega(frame) = phi* Omega(body) phi with
 * phi = phi(body, frame), the last line of that recursion, where it is phi(1,0).
 *
 * Several frames are ours; (20) is for one tip.  Omega(a, b), the acceleration of body a per unit
 * force on body b, is the block a, b of psi* H* D^-1 H psi: the sum of
 * psi*(k,a) H* D^-1 H psi(k,b) over the bodies k that are, or carry, both.  If u carries b, and
 * each of these k is u or carries it, then psi(k,b) = psi(k,u) psi(u,b) in every term, above
 * RJK91 (10), so
 *
 *     Omega(a, b) = Omega(a, u) psi(u, b)                              docs/theory/operational.md
 *
 * Omega(a, a) is Omega(a).  If a is an ancestor of b: u = a.  If b is an ancestor of a:
 * Omega(b, a), transposed.  Otherwise u is the parent of b, or the next node (pass 2) inward: no
 * body between two nodes carries a.  Bodies that meet only at the world: zero.
 *
 * passes  1  outward, the bodies on the frames' paths to the base: Omega
 *         2  inward, between nodes (the bodies of frames, and where paths meet): psi
 *         3  inward, for each frame, the nodes on its path, its own body too: Omega(frame, node)
 *         4  outward, the other nodes: the same
 *         5  for each pair of frames: Omega(frame, frame) = Omega(frame, body) phi(body, frame)
 *         6  mimic joints: Omega -= (J Y) W^-1 (J Y)', Y and W of mimic_prepare, O(n) each
 * cost    one step for each body on a path to the base (two if there are several frames), then a
 *         6 x 6 product for each frame and node, two for ancestors of the frame (there are fewer
 *         than 2 nodes per frame), and six shifts for each pair of frames
 * memory  Omega is kept where P was, linear part first.  In this order phi* = [R', -R'[p]; 0, R']
 *         is the phi of the pose (R', -R'p), so phi* Omega phi is an inertia moved by the inverse
 *         pose (abi_in_add).
 * rotors  Armatures are in D, exact rotors in U, and the equations hold as they are: in the letters
 *         of aba.h, with b = c = T = 0, a tip force gives eps = -H z, z+ = (1 - G H) z and
 *         A = (1 - G H)* a' + H* nu, R87 (48), for any U and D.  H G = 1 is used nowhere.
 * needs   articulate(), and mimic_prepare() for models with mimic joints; the user's tables (no
 *         level kinds: R must be stored)
 * writes  in the work space: P (holds Omega), B (psi(node above, node)), E (Omega(frame, node)), Rw
 *         and pw on the paths, if a frame asks for world axes; with mimic joints also V e x */
#ifndef SOAI_OPERATIONAL_H
#define SOAI_OPERATIONAL_H
#include "articulate.h"
#include "crba.h"
#include "task_frames.h"

/* out = Omega f */
SOAI_INLINE void omega_mul(const real *O, const real f[6], real out[6]) {
    const real x[6] = {f[3], f[4], f[5], f[0], f[1], f[2]};
    real y[6];
    abi_mul(O, x, y);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j) {
        out[j] = y[3 + j];
        out[3 + j] = y[j];
    }
}
/* Omega(r,c) = Omega(c,r) = x; r and c count the angular part first, the storage the linear part:
 * ABI_A holds linear-linear, ABI_B linear-angular, ABI_C angular-angular. */
SOAI_INLINE void omega_set(real *O, int r, int c, real x) {
    if (r < 3 && c < 3)
        O[ABI_C(SYM(r, c))] = x;
    else if (r >= 3 && c >= 3)
        O[ABI_A(SYM(r - 3, c - 3))] = x;
    else
        O[r < 3 ? ABI_B(c - 3, r) : ABI_B(r - 3, c)] = x;
}
/* out = Omega+ = phi* Omega(parent) phi             R87 (81) */
SOAI_INLINE void omega_out(const kernel_work *w, const body_table *b, int i, int kind, real *out) {
    static const real zero[ABI_SIZE];
    const real *R = w->b[i].R;
    real p[3];
    real p_inverse[3];
    if (!b->parent) { /* Omega(world) = 0, below RJK91 (20) */
        SOAI_UNROLL
        for (int j = 0; j < ABI_SIZE; ++j)
            out[j] = REAL(0);
        return;
    }
    /* phi* of the pose R, p is phi of the inverse pose, linear part first: "memory" above */
    const real R_inverse[9] = {R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]};
    joint_origin(w, b, i, kind, p);
    rot_tmul(R, p, p_inverse);
    SOAI_UNROLL
    for (int j = 0; j < 3; ++j)
        p_inverse[j] = -p_inverse[j];
    abi_in_add(R_inverse, p_inverse, w->b[b->parent].P, zero, out);
}

/* Omega(i) from its parent's. */
SOAI_INLINE void step_omega(const view_table *k, kernel_work *w, const body_table *b, int i,
                            int kind, int nv) {
    const real *U = w->U + 6 * b->iv;
    real plus[ABI_SIZE];
    real Dinv[36];
    real G[36];
    real F[36]; /* columns of 1 - G H */
    real *O = w->b[i].P;
    omega_out(w, b, i, kind, plus); /* Omega+                     R87 (81) */
    for (int c = 0; c < nv; ++c) {  /* columns of D^-1 and of G = U D^-1   R87 (39) */
        for (int j = 0; j < nv; ++j)
            Dinv[nv * c + j] = REAL(j == c);
        step_hinge_solve(w, b, nv, Dinv + nv * c);
        v6_zero(G + 6 * c);
        for (int j = 0; j < nv; ++j)
            v6_add_scaled(Dinv[nv * c + j], U + 6 * j, G + 6 * c);
    }
    if (ON_AXIS(kind) || kind == SOAI_KIND_SPHERICAL || kind == SOAI_KIND_FREE) {
        /* Column c of H* is column first + c of the unit matrix, e(first + c).  So 1 - G H is the
         * unit matrix but for its columns first + c, F(c) = e(first + c) - (column c of G).
         * Omega = (1 - G H)* Omega+ (1 - G H) + H* D^-1 H   R87 (82) */
        const int first = ON_AXIS(kind) ? AXIS_OF(kind) : 0;
        SOAI_UNROLL
        for (int j = 0; j < ABI_SIZE; ++j)
            O[j] = plus[j];
        for (int c = 0; c < nv; ++c) {
            SOAI_UNROLL
            for (int j = 0; j < 6; ++j)
                F[6 * c + j] = REAL(j == first + c) - G[6 * c + j];
        }
        for (int c = 0; c < nv; ++c) {
            real y[6];
            omega_mul(plus, F + 6 * c, y);
            SOAI_UNROLL
            for (int r = 0; r < 6; ++r) {
                if (r < first || r >= first + nv) omega_set(O, r, first + c, y[r]);
            }
            for (int d = 0; d <= c; ++d)
                omega_set(O, first + d, first + c, v6_dot(F + 6 * d, y) + Dinv[nv * c + d]);
        }
        return;
    }
    real H[36];
    for (int c = 0; c < nv; ++c)
        step_column(k, w, b, kind, c, H + 6 * c);
    for (int c = 0; c < 6; ++c) { /* columns of 1 - G H */
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j)
            F[6 * c + j] = REAL(j == c);
        for (int d = 0; d < nv; ++d)
            v6_add_scaled(-H[6 * d + c], G + 6 * d, F + 6 * c);
    }
    for (int c = 0; c < 6; ++c) {
        real y[6], h[6], x;
        omega_mul(plus, F + 6 * c, y);
        for (int d = 0; d < nv; ++d)
            h[d] = H[6 * d + c];
        step_hinge_solve(w, b, nv, h); /* D^-1 H e_c */
        for (int r = 0; r <= c; ++r) { /* (1 - G H)* Omega+ (1 - G H) + H* D^-1 H   R87 (82) */
            x = v6_dot(F + 6 * r, y);
            for (int d = 0; d < nv; ++d)
                x += H[6 * d + r] * h[d];
            omega_set(O, r, c, x);
        }
    }
}

/* X <- psi(parent, i) X, column by column, with psi(parent, i) = phi (1 - G H), RJK91 (9). */
SOAI_INLINE void psi_step(const view_table *k, const kernel_work *w, const body_table *b, int i,
                          int kind, int nv, real *X) {
    for (int c = 0; c < 6; ++c) {
        real x[6];
        v6_copy(X + 6 * c, x);
        step_pass_force(k, w, b, kind, nv, x);
        v6_zero(X + 6 * c);
        step_force_in(w, b, i, kind, x, X + 6 * c);
    }
}
/* Columns of psi(to, from), six numbers each, by psi(i, k) = psi(i, j) psi(j, k), above RJK91 (10);
 * `to` carries `from`. */
SOAI_INLINE void psi_columns(const view_table *k, const kernel_work *w, int from, int to,
                             real *psi) {
    for (int j = 0; j < 36; ++j)
        psi[j] = REAL(j % 7 == 0);
    for (int i = from; i != to; i = k->body[i].parent) {
        const body_table *b = k->body + i;
        WITH_KIND(b, psi_step(k, w, b, i, kind, nv, psi))
    }
}

/* R, p: pose of the frame in its body, in the requested axes (for world axes R is the transpose of
 * the body's rotation).  phi(body, frame) is phi of this pose. */
SOAI_INLINE void frame_place(const kernel_work *w, const soai_task_frames *t, int f, real R[9],
                             real p[3]) {
    const soai_frame_row *row = soai_task_row(t, f);
    const real *Rw = w->Rw + 9 * row->body;
    for (int j = 0; j < 9; ++j)
        R[j] = soai_task_world(t, f) ? Rw[3 * (j % 3) + j / 3] : REAL(row->R[j]); /* transposed */
    for (int j = 0; j < 3; ++j)
        p[j] = REAL(row->p[j]);
}

/* Marks; SEEN + f: a node on the path of frame f, its body included. */
enum { PATH = 1, NODE = 2, SEEN = 3 };
/* Marks body i as a node and appends it to the list, once; returns the new length. */
SOAI_INLINE int add_node(const soai_task_frames *t, int i, int nodes) {
    if (t->mark[i] == NODE) return nodes;
    t->mark[i] = NODE;
    t->node[nodes] = i;
    return nodes + 1;
}
/* Omega of every body on the paths, the list of nodes in ascending order, the node above each, psi
 * between them. */
SOAI_INLINE int omega_nodes(const view_table *k, kernel_work *w, const soai_task_frames *t) {
    int nodes = 0, world = 0;
    for (int f = 0; f < t->count; ++f)
        world |= soai_task_world(t, f);
    for (int f = 0; f < t->count; ++f) {
        const int body = soai_task_row(t, f)->body;
        int length = 0, i = body;
        if (!body) continue;
        for (; i && !t->mark[i]; i = k->body[i].parent) {
            t->mark[i] = PATH;
            t->path[length++] = i;
        }
        if (i) nodes = add_node(t, i, nodes); /* the path met an earlier one here */
        nodes = add_node(t, body, nodes);
        while (length--) {
            i = t->path[length];
            const body_table *b = k->body + i;
            WITH_KIND(b, step_omega(k, w, b, i, kind, nv))
            if (world) step_pose(k, w, i);
        }
    }
    for (int a = 1; a < nodes; ++a) { /* sorts the nodes, ascending; there are few */
        const int i = t->node[a];
        int at = a;
        for (; at && t->node[at - 1] > i; --at)
            t->node[at] = t->node[at - 1];
        t->node[at] = i;
    }
    for (int a = 0; a < nodes; ++a) {
        const int i = t->node[a];
        int u = k->body[i].parent;
        while (u && t->mark[u] != NODE)
            u = k->body[u].parent;
        t->up[i] = u;
        if (u) psi_columns(k, w, i, u, w->B + 36 * i);
    }
    return nodes;
}

/* Omega(frame f, node), rows of six numbers in E of the node. */
SOAI_INLINE void omega_row(kernel_work *w, const soai_task_frames *t, int f, int nodes,
                           const real R[9], const real p[3]) {
    real x[36];
    /* phi(body, frame): unit forces on the frame, moved to its body */
    for (int r = 0; r < 6; ++r) {
        const real unit[6] = {REAL(r == 0), REAL(r == 1), REAL(r == 2),
                              REAL(r == 3), REAL(r == 4), REAL(r == 5)};
        v6_zero(x + 6 * r);
        force_in_add(R, p, unit, x + 6 * r);
    }
    /* The frame's own body and the nodes i above it.  Before each turn of the loop x holds the
     * columns of psi(i, body) phi(body, frame), and row r of Omega(f, i) is (Omega(i) x_r)', from
     * Omega(i, body) = Omega(i) psi(i, body). */
    for (int i = soai_task_row(t, f)->body; i; i = t->up[i]) {
        t->mark[i] = SEEN + f;
        for (int r = 0; r < 6; ++r)
            omega_mul(w->b[i].P, x + 6 * r, w->E + 36 * i + 6 * r);
        if (!t->up[i]) break;
        for (int r = 0; r < 6; ++r) { /* x = psi(up, i) x */
            real y[6];
            v6_zero(y);
            for (int c = 0; c < 6; ++c)
                v6_add_scaled(x[6 * r + c], w->B + 36 * i + 6 * c, y);
            v6_copy(y, x + 6 * r);
        }
    }
    for (int a = 0; a < nodes; ++a) { /* the others: Omega(f, node above) psi */
        const int i = t->node[a], u = t->up[i];
        if (t->mark[i] == SEEN + f) continue;
        for (int j = 0; j < 36; ++j)
            w->E[36 * i + j] =
                u ? v6_dot(w->E + 36 * u + 6 * (j / 6), w->B + 36 * i + 6 * (j % 6)) : REAL(0);
    }
}

/* Omega -= x x' / d, x = J y: the velocities of all frames when the bodies' are V. */
SOAI_INLINE void omega_subtract(const kernel_work *w, const soai_task_frames *t, real d,
                                real *Omega) {
    const size_t n = 6 * (size_t)t->count;
    for (int f = 0; f < t->count; ++f)
        for (int g = 0; g < t->count; ++g) {
            const int bf = soai_task_row(t, f)->body, bg = soai_task_row(t, g)->body;
            real R[9], p[3], xf[6], xg[6];
            if (!bf || !bg) continue;
            frame_place(w, t, f, R, p);
            motion_out(R, p, w->b[bf].V, xf);
            frame_place(w, t, g, R, p);
            motion_out(R, p, w->b[bg].V, xg);
            for (int r = 0; r < 6; ++r)
                for (int c = 0; c < 6; ++c)
                    Omega[n * (size_t)(6 * f + r) + (size_t)(6 * g + c)] -= xf[r] * xg[c] / d;
        }
}
/* Omega -= (J Y) W^-1 (J Y)' = sum (J y) (J y)' / d, with W = L d L' and y = Y (row of L^-1)'.
 * Overwrites V, x (the row), e (y). */
SOAI_INLINE void omega_mimic(const view_table *k, kernel_work *w, const soai_task_frames *t,
                             real *Omega) {
    const int nm = k->nm, all = k->nv;
    for (int r = 0; r < nm; ++r) {
        real *row = w->x, *y = w->e;
        row[r] = REAL(1);
        for (int m = r - 1; m >= 0; --m) {
            row[m] = REAL(0);
            for (int s = m + 1; s <= r; ++s)
                row[m] -= row[s] * w->W[nm * s + m];
        }
        for (int j = 0; j < all; ++j) {
            y[j] = REAL(0);
            for (int m = 0; m <= r; ++m)
                y[j] += row[m] * w->Y[m * all + j];
        }
        v6_zero(w->b[0].V);
        for (int i = 1; i <= k->nb; ++i) {
            const body_table *b = k->body + i;
            real V[6];
            WITH_KIND(b, step_velocity(k, w, b, i, kind, nv, y, V))
        }
        omega_subtract(w, t, w->W[nm * r + r], Omega);
    }
}

/* All blocks, 6 count x 6 count. */
SOAI_SWEEP void compliance(const view_table *k, kernel_work *w, const soai_task_frames *t,
                           real *Omega) {
    const size_t n = 6 * (size_t)t->count;
    const int nodes = omega_nodes(k, w, t);
    for (int f = 0; f < t->count; ++f) {
        real R[9], p[3];
        if (soai_task_row(t, f)->body) {
            frame_place(w, t, f, R, p);
            omega_row(w, t, f, nodes, R, p);
        }
        for (int g = 0; g <= f; ++g) {
            const int still = !soai_task_row(t, f)->body || !soai_task_row(t, g)->body;
            const real *row = w->E + 36 * soai_task_row(t, g)->body;
            if (!still) frame_place(w, t, g, R, p);
            /* row r of Omega(f, g) = Omega(f, body of g) phi(body, g) */
            for (int r = 0; r < 6; ++r) {
                real y[6];
                v6_zero(y);
                if (!still) motion_out(R, p, row + 6 * r, y);
                for (int c = 0; c < (g == f ? r + 1 : 6); ++c)
                    Omega[n * (size_t)(6 * f + r) + (size_t)(6 * g + c)] =
                        Omega[n * (size_t)(6 * g + c) + (size_t)(6 * f + r)] = y[c];
            }
        }
    }
    if (k->nm) omega_mimic(k, w, t, Omega);
    for (int f = 0; f < t->count; ++f)
        for (int i = soai_task_row(t, f)->body; i && t->mark[i]; i = k->body[i].parent)
            t->mark[i] = 0;
}

#endif
