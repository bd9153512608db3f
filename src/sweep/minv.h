/* minv.h  the inverse of the mass matrix, O(n^2): R87 (83), carried over to trees.
 *
 * R87 (83) runs along a serial chain: a unit torque at joint i moves the bodies outboard of it.  On
 * a tree it also moves every branch that leaves the path from i to the base.  Delta-(j), the
 * costate covariance, says how body j accelerates (with a minus) under a force that arrives from
 * outboard, so
 *     path      x(i) = phi G(i);  at each ancestor j:  alpha-(j) = Delta-(j) x(j),  x <- phi (1 - G
 *               H) x
 *     branches  alpha+(k) = phi* alpha-(parent k),  M^-1(k,i) = G(k)' alpha+(k),  alpha-(k) = (1 -
 *               G H)' alpha+(k)
 * with, as in (83):  Delta+(i) = phi* Delta-(parent) phi,  Delta- = (1 - G H)' Delta+ (1 - G H) +
 *     H* D^-1 H, M^-1(i,i) = D^-1 + G' Delta+ G,  alpha-(i) = Delta+(i) G(i) - H* M^-1(i,i).
 * needs   articulate()      writes  P (as Delta-), A (as alpha-), c (marks the path), M */
#ifndef SOAI_MINV_H
#define SOAI_MINV_H
#include "articulate.h"
#include "crba.h"

/* g = G' a, and a <- (1 - G H)' a: an acceleration passing the hinge outward. */
SOAI_INLINE void hinge_pass_motion(const view_table *k, const kernel_work *w, const body_table *b,
                                   real a[6], real *g) {
    real minus[6];
    for (int c = 0; c < b->nv; ++c)
        g[c] = v6_dot(w->U + 6 * (b->iv + c), a);
    step_hinge_solve(w, b, b->nv, g);
    for (int c = 0; c < b->nv; ++c)
        minus[c] = -g[c];
    joint_add(k, w, b, b->kind, b->nv, minus, a);
}
/* Delta+(i) f = phi* Delta-(parent) phi f */
SOAI_INLINE void delta_plus(const view_table *k, const kernel_work *w, int i, const real f[6],
                            real out[6]) {
    const int parent = k->body[i].parent;
    real x[6], y[6];
    v6_zero(x);
    v6_zero(out);
    if (!parent) return;
    force_in_add(w->b[i].R, w->b[i].p, f, x);
    abi_mul(w->b[parent].P, x, y);
    motion_out(w->b[i].R, w->b[i].p, y, out);
}

SOAI_SWEEP void minv_form(const view_table *k, kernel_work *w, real *M) {
    const size_t n = (size_t)k->nv;
    for (size_t j = 0; j < n * n; ++j)
        M[j] = REAL(0);
    for (int i = 1; i <= k->nb; ++i) { /* costate covariance, base to tips */
        const body_table *b = k->body + i;
        real T[36];
        for (int c = 0; c < 6; ++c) {
            real x[6], y[6], h[6], g[6];
            v6_zero(x);
            x[c] = REAL(1);
            joint_project(k, w, b, b->kind, b->nv, x, h); /* H e_c */
            step_hinge_solve(w, b, b->nv, h);
            step_pass_force(k, w, b, b->kind, b->nv, x);
            delta_plus(k, w, i, x, y);
            hinge_pass_motion(k, w, b, y, g);
            joint_add(k, w, b, b->kind, b->nv, h, y); /* + H* D^-1 H e_c */
            for (int r = 0; r < 6; ++r)
                T[6 * r + c] = y[r];
        }
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) {
                w->b[i].P[ABI_B(r, c)] = T[6 * r + 3 + c];
                if (c < r) continue;
                w->b[i].P[ABI_A(SYM(r, c))] = T[6 * r + c];
                w->b[i].P[ABI_C(SYM(r, c))] = T[6 * (3 + r) + 3 + c];
            }
    }
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        for (int c = 0; c < b->nv; ++c) {
            const size_t col = (size_t)b->iv + (size_t)c;
            real G[6], x[6], a[6], unit[6], m[6];
            for (int j = 0; j < b->nv; ++j)
                unit[j] = REAL(j == c);
            step_hinge_solve(w, b, b->nv, unit); /* D^-1 e_c */
            v6_zero(G);
            for (int j = 0; j < b->nv; ++j)
                v6_add_scaled(unit[j], w->U + 6 * (b->iv + j), G); /* G e_c */
            delta_plus(k, w, i, G, a);
            real g[6];
            for (int j = 0; j < b->nv; ++j)
                g[j] = v6_dot(w->U + 6 * (b->iv + j), a);
            step_hinge_solve(w, b, b->nv, g);
            for (int j = 0; j < b->nv; ++j)
                m[j] = unit[j] + g[j]; /* D^-1 + G' Delta+ G */
            for (int j = 0; j < b->nv; ++j) {
                M[n * (size_t)(b->iv + j) + col] = m[j];
                m[j] = -m[j];
            }
            joint_add(k, w, b, b->kind, b->nv, m, a); /* alpha-(i) */
            for (int j = 0; j <= k->nb; ++j) {
                v6_zero(w->b[j].A);
                w->c[6 * j] = REAL(0);
            }
            v6_copy(a, w->b[i].A);
            v6_zero(x);
            if (b->parent) force_in_add(w->b[i].R, w->b[i].p, G, x);
            for (int j = b->parent; j; j = k->body[j].parent) { /* path to the base */
                real t[6];
                w->c[6 * j] = REAL(1);
                abi_mul(w->b[j].P, x, w->b[j].A);
                step_pass_force(k, w, k->body + j, k->body[j].kind, k->body[j].nv, x);
                v6_zero(t);
                force_in_add(w->b[j].R, w->b[j].p, x, t);
                v6_copy(t, x);
            }
            for (int j = 1; j <= k->nb; ++j) { /* what hangs on the path, itself left out */
                const body_table *o = k->body + j;
                if (j == i || !o->parent) continue;
                if (real_all_above(w->c[6 * j], REAL(0))) continue; /* on the path */
                real alpha[6], e[6];
                motion_out(w->b[j].R, w->b[j].p, w->b[o->parent].A, alpha);
                hinge_pass_motion(k, w, o, alpha, e);
                v6_copy(alpha, w->b[j].A);
                if (j > i)
                    for (int r = 0; r < o->nv; ++r)
                        M[n * (size_t)(o->iv + r) + col] = M[n * col + (size_t)(o->iv + r)] = e[r];
            }
        }
    }
}

#endif
