/* segment_sweeps.h  a segment of a machine as an articulated body with two handles, and how two of
 *                   them become one.
 *
 * A segment is a run of bodies, each the parent of the next, with everything that hangs off them.
 * Its inner handle is the body its first joint sits on, its outer handle its last body.  In: A,
 * acceleration of the inner handle, and F, the force its outer handle must pass on to what follows.
 * Out: f, the force it takes from the inner handle, and A_out:
 *
 *     f     = P A + Psi F + z            P      articulated inertia at the inner handle, outer end
 *           free
 *     A_out = Psi* A - Omega F + lambda  Psi    product of the psi(parent, child) of the run, RJK91
 *                                        (10) Omega  mobility of the outer end, inner handle held:
 *                                        RJK91 (20), R87's Delta
 *
 * Featherstone's two-handle bodies (1999) give both accelerations from both forces; that needs
 * every link's inertia to have an inverse, and 6 x 6 inverses of sums of inverse inertias.
 * Acceleration in at one end and force in at the other needs neither.  Two segments a (inner), b
 * (outer) meet at a handle with A_m, F_m:
 *
 *     A_m = Psi_a* A + lambda_a - Omega_a F_m,     F_m = P_b A_m + Psi_b F + z_b
 *
 * With Omega_a = N0 N0' (k columns, at most 6 and at most the dof of a), 1 + N0' P_b N0 = C C', N =
 * N0 C^-T, U = P_b N:
 *
 *     A_m = x - N (U'x + N'y),  x = Psi_a* A + lambda_a,  y = Psi_b F + z_b,      P_b+ = P_b - U U'
 *     P     = P_a + Psi_a P_b+ Psi_a*          z      = z_a + Psi_a (z_b - U N'z_b + P_b+ lambda_a)
 *     Omega = Omega_b + Psi_b* N N' Psi_b      lambda = lambda_b + Psi_b* (lambda_a - N (U'lambda_a
 *     + N'z_b)) Psi   = Psi_a (1 - U N') Psi_b
 *
 * This is the step through a joint (R87 (37) to (43)) with N0 for H* and C C' for D: to what
 * follows, the inner segment is one joint of k degrees of freedom with unit rotors.  The only
 * pivots are the joints' own D, nv x nv, in a run, and C C', k x k, whose eigenvalues are all at
 * least 1.
 *
 * Four sweeps over the assembly tree, each level by level: poses and velocities up and down (V is a
 * sum along the run, put together in the same way), then P, Psi, Omega, z, lambda up, A and F
 * down. */
#ifndef SOAI_SEGMENT_H
#define SOAI_SEGMENT_H
#include "steps.h"
#include "segments.h"
#include <math.h>

/* ---- symmetric and square 6 x 6 -------------------------------------------------------------- */
/* Columns of N with S = N N', by elimination of the entry that has kept most of its diagonal;
 * returns their number. */
SOAI_INLINE int segment_root(const real *S, real *N) {
    real A[36], whole[6];
    int k = 0;
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            A[6 * r + c] = abi_entry(S, r, c);
    for (int r = 0; r < 6; ++r)
        whole[r] = A[7 * r];
    for (; k < 6; ++k) {
        int best = -1;
        real most = REAL(4e-16);
        for (int r = 0; r < 6; ++r) {
            if (whole[r] > REAL(0) && A[7 * r] > most * whole[r]) {
                best = r;
                most = A[7 * r] / whole[r];
            }
        }
        if (best < 0) break;
        real *n = N + 6 * k;
        const real scale = REAL(1) / sqrt(A[7 * best]);
        for (int r = 0; r < 6; ++r)
            n[r] = A[6 * r + best] * scale;
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                A[6 * r + c] -= n[r] * n[c];
        for (int r = 0; r < 6; ++r)
            A[6 * r + best] = A[6 * best + r] = REAL(0);
    }
    return k;
}
/* out = sum + (Q + Q')/2 */
SOAI_INLINE void segment_symmetric(const real Q[36], const real *sum, real *out) {
    for (int i = 0; i < 3; ++i)
        for (int j = i; j < 3; ++j) {
            const int e = SYM(i, j);
            out[ABI_A(e)] = sum[ABI_A(e)] + REAL(0.5) * (Q[6 * i + j] + Q[6 * j + i]);
            out[ABI_C(e)] =
                sum[ABI_C(e)] + REAL(0.5) * (Q[6 * (3 + i) + 3 + j] + Q[6 * (3 + j) + 3 + i]);
        }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            out[ABI_B(i, j)] =
                sum[ABI_B(i, j)] + REAL(0.5) * (Q[6 * i + 3 + j] + Q[6 * (3 + j) + i]);
}
/* y += Psi x (columns of Psi), and Psi* x */
SOAI_INLINE void segment_add(const real *Psi, const real x[6], real y[6]) {
    for (int c = 0; c < 6; ++c)
        v6_add_scaled(x[c], Psi + 6 * c, y);
}
SOAI_INLINE void segment_turn(const real *Psi, const real x[6], real y[6]) {
    real t[6];
    for (int c = 0; c < 6; ++c)
        t[c] = v6_dot(Psi + 6 * c, x);
    v6_copy(t, y);
}
/* x - N (U'x + N'y) */
SOAI_INLINE void segment_meet(const soai_segment *s, const real x[6], const real y[6],
                              real out[6]) {
    real t[6];
    for (int c = 0; c < s->rank; ++c)
        t[c] = v6_dot(s->U + 6 * c, x) + v6_dot(s->N + 6 * c, y);
    v6_copy(x, out);
    for (int c = 0; c < s->rank; ++c)
        v6_add_scaled(-t[c], s->N + 6 * c, out);
}

/* ---- a run of bodies ------------------------------------------------------------------------- */
SOAI_INLINE void run_poses(const view_table *k, kernel_work *w, const soai_segments *t,
                           soai_segment *s, const real *q, const real *v) {
    for (int n = 0; n < s->count; ++n) {
        const int i = t->order[s->first + n];
        const body_table *b = k->body + i;
        const int turning = b->kind == SOAI_KIND_SPHERICAL || b->kind == SOAI_KIND_FREE ? 0 : b->nv;
        real sine[4], cosine[4], R[9], p[3], V[6];
        real_sincos_all(turning, q + b->iq, sine, cosine);
        for (int j = 0; j < turning; ++j) {
            w->sine[b->iq + j] = sine[j];
            w->cosine[b->iq + j] = cosine[j];
        }
        WITH_KIND(b, {
            joint_position(k, w, b, i, kind, q);
            joint_origin(w, b, i, kind, w->b[i].p);
        })
        if (!s->open) continue;
        const real *Rb = w->b[i].R, *pb = w->b[i].p;
        if (n == 0) {
            for (int j = 0; j < 9; ++j)
                s->R[j] = Rb[j];
            for (int j = 0; j < 3; ++j)
                s->p[j] = pb[j];
            v6_zero(V);
        } else {
            rot_rot(s->R, Rb, R);
            rot_mul(s->R, pb, p);
            for (int j = 0; j < 9; ++j)
                s->R[j] = R[j];
            for (int j = 0; j < 3; ++j)
                s->p[j] += p[j];
            motion_out(Rb, pb, s->v, V);
        }
        joint_add(k, w, b, b->kind, b->nv, v + b->iv, V);
        v6_copy(V, s->v);
    }
}
/* Velocities, bias terms and the torques left after friction and springs, from the inner handle's
 * velocity. */
SOAI_INLINE void run_velocities(const view_table *k, kernel_work *w, const soai_segments *t,
                                const soai_segment *s, const real *q, const real *v,
                                const real *tau, const real *fext) {
    const real *V = s->V;
    for (int n = 0; n < s->count; ++n) {
        const int i = t->order[s->first + n];
        const body_table *b = k->body + i;
        body_work *own = w->b + i;
        motion_out(own->R, own->p, V, own->V);
        V = own->V;
        WITH_KIND(b, {
            joint_add(k, w, b, kind, nv, v + b->iv, own->V);
            step_bias(k, w, b, kind, nv, V, v + b->iv, w->c + 6 * i);
        })
        step_bias_force(b, V, fext ? fext + 6 * (i - 1) : 0, own->f);
        for (int c = 0; c < b->nv; ++c) {
            const int has_q = b->kind != SOAI_KIND_SPHERICAL && b->kind != SOAI_KIND_FREE,
                      at = b->iv + c;
            w->x[at] = tau[at];
            if (k->losses)
                w->x[at] -= step_loss(k->dof + at, has_q ? q[b->iq + c] : REAL(0), v[at]);
        }
        if (t->rake[i] >= 0) v6_copy(V, t->segment[t->rake[i]].V);
    }
}
/* One body inward: P, z hold what follows it, then what its parent sees.  R87 (36) to (43) with
 * Psi, Omega, lambda. */
SOAI_INLINE int run_body(const view_table *k, kernel_work *w, const soai_segments *t,
                         soai_segment *s, const body_table *b, int i, int kind, int nv, int last) {
    real *U = w->U + 6 * b->iv, *D = w->D + b->id, *e = w->e + b->iv, *rows = t->rows + 6 * b->iv;
    const real *c = w->c + 6 * i;
    real P[24], after[24], z[6], x[6], y[6], own[24] = {0}, none[24] = {0};
    abi_set(b->M, own);
    v6_copy(w->b[i].f, z);
    for (int j = 0; j < ABI_SIZE; ++j)
        P[j] = last ? own[j] : own[j] + s->P[j];
    for (int j = 0; !last && j < 6; ++j)
        z[j] += s->z[j];
    if (t->rake[i] >= 0) {
        const soai_segment *side = t->segment + t->rake[i];
        for (int j = 0; j < ABI_SIZE; ++j)
            P[j] += side->P[j];
        for (int j = 0; j < 6; ++j)
            z[j] += side->z[j];
    }
    real size[6];
    hinge_size(k, w, b, kind, nv, P[ABI_A(XX)] + P[ABI_A(YY)] + P[ABI_A(ZZ)],
               P[ABI_C(XX)] + P[ABI_C(YY)] + P[ABI_C(ZZ)], size);
    joint_inertia(k, w, b, kind, nv, P, U);
    joint_project(k, w, b, kind, nv, z, x);
    for (int r = 0; r < nv; ++r) {
        e[r] = w->x[b->iv + r] - x[r]; /* eps = T - H z */
        joint_project(k, w, b, kind, nv, U + 6 * r, y);
        for (int j = 0; j < nv; ++j)
            D[nv * r + j] = y[j];
        D[nv * r + r] += k->dof[b->iv + r].armature;
    }
    if (nv == 1) {
        if (!real_all_above(D[0], size[0] * REAL(SOAI_HINGE_TOLERANCE))) return 0;
        D[0] = REAL(1) / D[0];
    } else if (!block_factor(nv, D, size)) {
        return 0;
    }
    real Y[36];
    for (int j = 0; j < 6; ++j) {
        for (int r = 0; r < nv; ++r)
            x[r] = U[6 * r + j];
        step_hinge_solve(w, b, nv, x);
        for (int r = 0; r < nv; ++r)
            Y[6 * r + j] = x[r];
    }
    for (int r = 0; r < nv; ++r)
        abi_subtract(U + 6 * r, Y + 6 * r, r ? after : P, after); /* P+ */
    for (int r = 0; r < nv; ++r)
        x[r] = e[r];
    if (s->open) {
        real mu[6], row[36];
        for (int r = 0; r < nv; ++r)
            y[r] = e[r] - v6_dot(U + 6 * r, c);
        step_hinge_solve(w, b, nv, y);
        v6_copy(c, mu);
        joint_add(k, w, b, kind, nv, y, mu); /* acceleration of the body when the parent has none */
        if (last) {
            for (int j = 0; j < 36; ++j)
                s->Psi[j] = REAL(j % 7 == 0);
            for (int j = 0; j < ABI_SIZE; ++j)
                s->Omega[j] = REAL(0);
            v6_zero(s->lambda);
        }
        for (int col = 0; col < 6; ++col) {
            real *Psi = s->Psi + 6 * col, h[6];
            s->lambda[col] += v6_dot(Psi, mu); /* lambda += Psi* mu */
            joint_project(k, w, b, kind, nv, Psi, h);
            for (int r = 0; r < nv; ++r)
                rows[6 * r + col] = h[r];
            step_hinge_solve(w, b, nv, h);
            for (int r = 0; r < nv; ++r) {
                row[6 * r + col] = -h[r];
                v6_add_scaled(-h[r], U + 6 * r, Psi); /* (1 - G H) Psi */
            }
            v6_zero(y);
            force_in_add(w->b[i].R, w->b[i].p, Psi, y);
            v6_copy(y, Psi);
        }
        for (int r = 0; r < nv; ++r)
            abi_subtract(rows + 6 * r, row + 6 * r, s->Omega, s->Omega); /* + Psi* H* D^-1 H Psi */
    }
    step_hinge_solve(w, b, nv, x);
    real Pc[6];
    abi_mul(after, c, Pc);
    for (int j = 0; j < 6; ++j)
        z[j] += Pc[j];
    for (int r = 0; r < nv; ++r)
        v6_add_scaled(x[r], U + 6 * r, z);
    v6_zero(s->z);
    force_in_add(w->b[i].R, w->b[i].p, z, s->z);
    abi_in_add(w->b[i].R, w->b[i].p, after, none, s->P);
    return 1;
}
/* x of a = H* x: what the joint does when its body's acceleration is a relative to that carried
 * along. */
SOAI_INLINE void run_joint(const view_table *k, const kernel_work *w, const body_table *b,
                           const real a[6], real *x) {
    joint_project(k, w, b, b->kind, b->nv, a, x);
    if (b->kind != SOAI_KIND_GENERAL) return; /* H H* = 1 */
    real H[36], G[36];
    for (int r = 0; r < b->nv; ++r)
        joint_column(k, w, b, r, H + 6 * r);
    for (int r = 0; r < b->nv; ++r)
        for (int c = 0; c <= r; ++c)
            G[b->nv * r + c] = v6_dot(H + 6 * r, H + 6 * c);
    block_factor(b->nv, G, 0);
    block_solve(b->nv, G, x);
}
/* The last body of an open run has the acceleration of the handle, known from the join.  Taking its
 * joint's from there, and not from the force F, matters: D of a run knows nothing of what follows,
 * so x = D^-1 (... - H F) is a small difference of large torques (some 15 times the error). */
SOAI_INLINE void run_accelerations(const view_table *k, kernel_work *w, const soai_segments *t,
                                   const soai_segment *s, real *vdot) {
    const real *A = s->A;
    for (int n = 0; n < s->count; ++n) {
        const int i = t->order[s->first + n];
        const body_table *b = k->body + i;
        body_work *own = w->b + i;
        real a[6], x[6];
        motion_out(own->R, own->p, A, a);
        for (int j = 0; j < 6; ++j)
            a[j] += w->c[6 * i + j];
        if (s->open && n == s->count - 1) {
            v6_copy(s->out, own->A);
            for (int j = 0; j < 6; ++j)
                a[j] = s->out[j] - a[j];
            run_joint(k, w, b, a, x);
        } else {
            for (int r = 0; r < b->nv; ++r) {
                x[r] = w->e[b->iv + r] - v6_dot(w->U + 6 * (b->iv + r), a);
                /* H Psi F of what follows this body */
                if (s->open) x[r] -= v6_dot(t->rows + 6 * (b->iv + r), s->F);
            }
            step_hinge_solve(w, b, b->nv, x);
            joint_add(k, w, b, b->kind, b->nv, x, a);
            v6_copy(a, own->A);
        }
        for (int r = 0; r < b->nv; ++r)
            vdot[b->iv + r] = x[r];
        A = own->A;
        if (t->rake[i] >= 0) v6_copy(A, t->segment[t->rake[i]].A);
    }
}

/* ---- two segments become one ----------------------------------------------------------------- */
SOAI_INLINE void join_poses(soai_segment *s, const soai_segment *a, const soai_segment *b) {
    real p[3];
    if (!s->open) return;
    rot_rot(a->R, b->R, s->R);
    rot_mul(a->R, b->p, p);
    for (int j = 0; j < 3; ++j)
        s->p[j] = a->p[j] + p[j];
    motion_out(b->R, b->p, a->v, s->v);
    for (int j = 0; j < 6; ++j)
        s->v[j] += b->v[j];
}
SOAI_INLINE void join_articulate(soai_segment *s, const soai_segment *a, const soai_segment *b) {
    real C[36], P[24], x[6], m[6];
    real *N = s->N, *U = s->U;
    const int k = s->rank = segment_root(a->Omega, N);
    for (int c = 0; c < k; ++c)
        abi_mul(b->P, N + 6 * c, U + 6 * c);
    for (int c = 0; c < k; ++c)
        for (int r = c; r < k; ++r)
            C[6 * r + c] = v6_dot(N + 6 * r, U + 6 * c) + (r == c ? REAL(1) : REAL(0));
    /* C C' = 1 + N0' P_b N0 by columns, never singular; N C' = N0, U C' = U0 beside it */
    for (int c = 0; c < k; ++c) {
        real pivot = C[7 * c];
        for (int j = 0; j < c; ++j)
            pivot -= C[6 * c + j] * C[6 * c + j];
        const real inverse = REAL(1) / sqrt(pivot);
        for (int r = c + 1; r < k; ++r) {
            for (int j = 0; j < c; ++j)
                C[6 * r + c] -= C[6 * r + j] * C[6 * c + j];
            C[6 * r + c] *= inverse;
        }
        real *n = N + 6 * c, *u = U + 6 * c;
        for (int j = 0; j < c; ++j) {
            v6_add_scaled(-C[6 * c + j], N + 6 * j, n);
            v6_add_scaled(-C[6 * c + j], U + 6 * j, u);
        }
        SOAI_UNROLL
        for (int j = 0; j < 6; ++j) {
            n[j] *= inverse;
            u[j] *= inverse;
        }
    }
    for (int j = 0; j < ABI_SIZE; ++j)
        P[j] = b->P[j];
    for (int c = 0; c < k; ++c)
        abi_subtract(U + 6 * c, U + 6 * c, P, P); /* P_b+ */

    abi_mul(P, a->lambda, m); /* z = z_a + Psi_a (z_b - U N'z_b + P_b+ lambda_a) */
    for (int j = 0; j < 6; ++j)
        m[j] += b->z[j];
    for (int c = 0; c < k; ++c)
        v6_add_scaled(-v6_dot(N + 6 * c, b->z), U + 6 * c, m);
    v6_copy(a->z, s->z);
    segment_add(a->Psi, m, s->z);

    real T[36], Q[36]; /* P = P_a + Psi_a P_b+ Psi_a*; T = Psi_a P_b+ by columns */
    for (int c = 0; c < 6; ++c) {
        abi_column(P, c, x);
        v6_zero(T + 6 * c);
        segment_add(a->Psi, x, T + 6 * c);
    }
    for (int j = 0; j < 36; ++j)
        Q[j] = REAL(0);
    for (int n = 0; n < 6; ++n)
        for (int r = 0; r < 6; ++r)
            v6_add_scaled(T[6 * n + r], a->Psi + 6 * n, Q + 6 * r);
    segment_symmetric(Q, a->P, s->P);
    if (!s->open) return;

    real rows[36];
    segment_meet(s, a->lambda, b->z, m); /* A_m when A = 0, F = 0 */
    for (int c = 0; c < 6; ++c) {
        const real *Psi = b->Psi + 6 * c;
        real column[6];
        v6_copy(Psi, column);
        for (int j = 0; j < k; ++j) { /* N' Psi_b */
            rows[6 * j + c] = v6_dot(N + 6 * j, Psi);
            v6_add_scaled(-rows[6 * j + c], U + 6 * j, column);
        }
        v6_zero(s->Psi + 6 * c); /* Psi = Psi_a (1 - U N') Psi_b */
        segment_add(a->Psi, column, s->Psi + 6 * c);
        s->lambda[c] = b->lambda[c] + v6_dot(Psi, m);
    }
    for (int j = 0; j < ABI_SIZE; ++j)
        s->Omega[j] = b->Omega[j];
    for (int j = 0; j < k; ++j) {
        real minus[6];
        SOAI_UNROLL
        for (int c = 0; c < 6; ++c)
            minus[c] = -rows[6 * j + c];
        abi_subtract(rows + 6 * j, minus, s->Omega, s->Omega);
    }
}
SOAI_INLINE void join_accelerations(const soai_segment *s, soai_segment *a, soai_segment *b) {
    real x[6], y[6];
    segment_turn(a->Psi, s->A, x);
    for (int j = 0; j < 6; ++j)
        x[j] += a->lambda[j];
    v6_copy(b->z, y);
    if (s->open) segment_add(b->Psi, s->F, y);
    segment_meet(s, x, y, b->A);
    abi_mul(b->P, b->A, a->F); /* F_m = P_b A_m + y */
    for (int j = 0; j < 6; ++j)
        a->F[j] += y[j];
    v6_copy(s->A, a->A);
    v6_copy(b->A, a->out);
    if (s->open) {
        v6_copy(s->F, b->F);
        v6_copy(s->out, b->out);
    }
}

/* One task: `sweep` of segment n. */
SOAI_SWEEP void segment_task(const view_table *k, kernel_work *w, const soai_segments *t, int sweep,
                             int n, const real *q, const real *v, const real *tau, const real *fext,
                             real *vdot) {
    soai_segment *s = t->segment + n, *a = t->segment + s->a, *b = t->segment + s->b;
    if (s->kind == SEGMENT_RUN) {
        switch (sweep) {
        case SEGMENT_POSE: run_poses(k, w, t, s, q, v); break;
        case SEGMENT_VELOCITY: run_velocities(k, w, t, s, q, v, tau, fext); break;
        case SEGMENT_ARTICULATE:
            s->bad = 0;
            for (int m = s->count - 1; m >= 0 && !s->bad; --m) {
                const int i = t->order[s->first + m], last = m == s->count - 1;
                const body_table *own = k->body + i;
                int fine = 1;
                WITH_KIND(own, fine = run_body(k, w, t, s, own, i, kind, nv, last))
                if (!fine) s->bad = i;
            }
            break;
        default: run_accelerations(k, w, t, s, vdot);
        }
    } else if (s->kind == SEGMENT_JOIN) {
        switch (sweep) {
        case SEGMENT_POSE: join_poses(s, a, b); break;
        case SEGMENT_VELOCITY:
            v6_copy(s->V, a->V);
            motion_out(a->R, a->p, s->V, b->V);
            for (int j = 0; j < 6; ++j)
                b->V[j] += a->v[j];
            break;
        case SEGMENT_ARTICULATE: join_articulate(s, a, b); break;
        default: join_accelerations(s, a, b);
        }
    } else { /* two closed segments on the same body */
        switch (sweep) {
        case SEGMENT_VELOCITY:
            v6_copy(s->V, a->V);
            v6_copy(s->V, b->V);
            break;
        case SEGMENT_ARTICULATE:
            for (int j = 0; j < ABI_SIZE; ++j)
                s->P[j] = a->P[j] + b->P[j];
            for (int j = 0; j < 6; ++j)
                s->z[j] = a->z[j] + b->z[j];
            break;
        case SEGMENT_ACCELERATE:
            v6_copy(s->A, a->A);
            v6_copy(s->A, b->A);
            break;
        default: break;
        }
    }
}

#endif
