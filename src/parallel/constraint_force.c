/* constraint_force.c  forward dynamics with the joints' constraint forces as unknowns.
 *
 * FO00 (27), in body axes: unknowns are the accelerations a of the links and the constraint forces
 * beta,
 *
 *     [ M   T ] [   a   ]   [ f_a - V x* M V ]        f(i) = T(i) beta(i) + Hd(i) tau(i)
 *           through joint i
 *     [ T'  0 ] [ -beta ] = [ T' a0          ]        T'(i) (a(i) - phi* a(p) - c(i)) = 0    no
 *     motion against it
 *
 * T(i) spans what joint i cannot do (T' H* = 0, orthonormal), Hd(i) = H* (H H*)^-1 turns its torque
 * into a force (H Hd = 1, T' Hd = 0), so beta = T' f.  A reflected rotor Jr is a direction of the
 * joint that yields: its column Hd joins T, its force -Jr qdd joins beta, and -1/Jr is on the
 * diagonal instead of 0.  The link inertias stay as they are.
 *
 * passes  (27)  inward: the 2 x 2 block pivot K(i) = [P T; T' -C] of each joint, P(p) += phi P+
 *         phi*; outward: a, beta.
 *               Leaves first, so nothing fills in.  a and beta of a joint are eliminated together:
 *               K(i) has an inverse exactly when D = H P H* + Jr has, whereas P(i) alone has none
 *               for a massless inner link.
 *         (28)  a = M^-1 (...) put into the second row: T' M^-1 T beta = ..., block tridiagonal on
 *               a chain; block Thomas from tip to base with Cholesky pivots (the matrix is positive
 *               definite).
 * cost    O(n); (27) one elimination of a (12 - nv) square and 7 right sides per joint */
#include "../sweep/crba.h"
#include "../base/small_algebra.h"
#include "../dynamics/work.h"
#include "soa/forms.h"
#include <math.h>

/* One per body, the world included. */
typedef struct joint_block {
    double P[36];   /* (27): M and what the children add.  (28): M^-1 */
    double z[6];    /* (27): bias force, likewise.         (28): M^-1 (Hd tau - ... - b), beta =
                     * 0 */
    double push[6]; /* Hd tau                                                                     */
    double T[36];   /* `rows` columns of 6: 6 - nv that span the constraint, then those that
                     * yield */
    double Hd[36];  /* nv columns                                                                 */
    double give[6]; /* C: 0, or 1/Jr                                                              */
    double X[72];   /* (27): K^-1 [0; T'], (6 + rows) x 6.   (28): diagonal block, block to the
                     * parent */
    double r[12];   /* (27): K^-1 (right side).              (28): right side */
    double beta[6];
    double f[6];
    int rows, constraints;
} joint_block;

size_t soa_fd_constraint_forces_size(const soa_model *m) {
    return m ? ((size_t)m->nb + 1) * sizeof(joint_block) : 0;
}

/* ---- small matrices -------------------------------------------------------------------------- */
/* X = inv(A) X, A n x n and X n x m row by row, by elimination with row pivoting. */
static void eliminate(int n, double *A, int m, double *X) {
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(A[n * r + c]) > fabs(A[n * best + c])) best = r;
        for (int j = 0; best != c && j < n + m; ++j) {
            double *x = j < n ? A + n * c + j : X + m * c + (j - n);
            double *y = j < n ? A + n * best + j : X + m * best + (j - n);
            const double t = *x;
            *x = *y;
            *y = t;
        }
        for (int r = c + 1; r < n; ++r) {
            const double s = A[n * r + c] / A[n * c + c];
            if (s == 0) continue;
            for (int j = c; j < n; ++j)
                A[n * r + j] -= s * A[n * c + j];
            for (int j = 0; j < m; ++j)
                X[m * r + j] -= s * X[m * c + j];
        }
    }
    for (int c = n - 1; c >= 0; --c)
        for (int j = 0; j < m; ++j) {
            for (int k = c + 1; k < n; ++k)
                X[m * c + j] -= A[n * c + k] * X[m * k + j];
            X[m * c + j] /= A[n * c + c];
        }
}
static void times6(const double A[36], const double x[6], double y[6]) {
    double t[6];
    for (int r = 0; r < 6; ++r) {
        t[r] = 0;
        for (int c = 0; c < 6; ++c)
            t[r] += A[6 * r + c] * x[c];
    }
    v6_copy(t, y);
}
/* y += x(1) T(1) + ... */
static void add_columns(int count, const double *T, const double *x, double y[6]) {
    for (int c = 0; c < count; ++c)
        v6_add_scaled(x[c], T + 6 * c, y);
}
static void to_parent(const body_work *b, const double x[6], double y[6]) {
    double t[6] = {0};
    force_in_add(b->R, b->p, x, t);
    v6_copy(t, y);
}

/* ---- a joint --------------------------------------------------------------------------------- */
/* T and Hd from H* = Q R (Householder): Hd = Q1 R^-T, T = Q2. */
static void find_basis(const soai_view_double *k, const kernel_work *w, int i, joint_block *j) {
    const soai_body_double *b = k->body + i;
    const int nv = b->nv;
    double H[36], Q[36] = {0}; /* by columns */
    for (int c = 0; c < nv; ++c)
        step_column(k, w, b, b->kind, c, H + 6 * c);
    for (int c = 0; c < 6; ++c)
        Q[7 * c] = 1;
    for (int c = 0; c < nv; ++c) {
        double u[6] = {0}, size = 0, uu = 0;
        for (int r = c; r < 6; ++r) {
            u[r] = H[6 * c + r];
            size += u[r] * u[r];
        }
        u[c] += u[c] < 0 ? -sqrt(size) : sqrt(size);
        for (int r = c; r < 6; ++r)
            uu += u[r] * u[r];
        for (int n = c; n < nv; ++n) { /* H = (1 - 2 u u'/u'u) H */
            const double s = -2 / uu * v6_dot(u, H + 6 * n);
            v6_add_scaled(s, u, H + 6 * n);
        }
        for (int r = 0; r < 6; ++r) { /* Q = Q (1 - 2 u u'/u'u) */
            double s = 0;
            for (int n = c; n < 6; ++n)
                s += Q[6 * n + r] * u[n];
            for (int n = c; n < 6; ++n)
                Q[6 * n + r] -= 2 / uu * s * u[n];
        }
    }
    for (int r = 0; r < 6; ++r) /* Hd R' = Q1, from its last column to the first */
        for (int c = nv - 1; c >= 0; --c) {
            double s = Q[6 * c + r];
            for (int n = c + 1; n < nv; ++n)
                s -= H[6 * n + c] * j->Hd[6 * n + r];
            j->Hd[6 * c + r] = s / H[7 * c];
        }
    j->rows = j->constraints = 6 - nv;
    for (int c = 0; c < 6; ++c)
        j->give[c] = 0;
    memcpy(j->T, Q + 6 * nv, 6 * (size_t)(6 - nv) * sizeof(double));
    for (int c = 0; c < nv; ++c) {
        const double rotor = k->dof[b->iv + c].armature;
        if (!(rotor > 0)) continue;
        j->give[j->rows] = 1 / rotor;
        v6_copy(j->Hd + 6 * c, j->T + 6 * j->rows++);
    }
}

/* Poses, velocities, bias terms; T, Hd and Hd tau of every joint; M and b of every link. */
static void prepare(soa_work *w, const soai_inputs *in, joint_block *block) {
    const soai_view_double *k = &w->view;
    w->k->kinematics(k, &w->w, in->q, in->v, w->zero);
    double *tau = w->w.x;
    memcpy(tau, in->tau, (size_t)k->nv * sizeof *tau);
    step_losses(k, in->q, in->v, -1, tau);
    base_acceleration(k, w->w.b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        joint_block *j = block + i;
        find_basis(k, &w->w, i, j);
        v6_zero(j->push);
        add_columns(b->nv, j->Hd, tau + b->iv, j->push);
        step_bias_force(b, w->w.b[i].V, in->fext ? in->fext + 6 * (i - 1) : NULL, j->z);
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0};
            e[c] = 1;
            rigid_mul_k(b->M, e, j->P + 6 * c);
        }
    }
}
static soa_status begin(const soa_model *m, soa_work *w, const void *memory, size_t size,
                        const soa_input *input, const double *qdd, soai_inputs *in) {
    if (!m || !w || !qdd || !input) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % sizeof(double) || size < soa_fd_constraint_forces_size(m))
        return SOA_E_MEMORY;
    return soai_forward_inputs(m, w, input, in);
}
/* f = T beta + Hd tau; and the caller's copies. */
static void joint_force(joint_block *j, int i, double *forces, double **beta) {
    v6_copy(j->push, j->f);
    add_columns(j->rows, j->T, j->beta, j->f);
    if (forces) v6_copy(j->f, forces + 6 * (i - 1));
    for (int c = 0; *beta && c < j->constraints; ++c)
        *(*beta)++ = j->beta[c];
}
/* qdd = Hd' (a - phi* a(p) - c) */
static void joint_acceleration(const soa_work *w, const joint_block *j, int i,
                               const double carried[6], double *qdd) {
    const soai_body_double *b = w->view.body + i;
    double x[6];
    for (int r = 0; r < 6; ++r)
        x[r] = w->w.b[i].A[r] - carried[r] - w->w.c[6 * i + r];
    for (int c = 0; c < b->nv; ++c)
        qdd[b->iv + c] = v6_dot(j->Hd + 6 * c, x);
}

/* ---- (27) ------------------------------------------------------------------------------------ */
/* Does joint i move inertia?  D = H P H* + Jr with the tolerance of soa_aba (steps.h). */
static int hinge_moves(const soai_view_double *k, const kernel_work *w, int i, const double P[36]) {
    const soai_body_double *b = k->body + i;
    double D[36], H[36], U[6];
    for (int c = 0; c < b->nv; ++c)
        step_column(k, w, b, b->kind, c, H + 6 * c);
    for (int c = 0; c < b->nv; ++c) {
        times6(P, H + 6 * c, U);
        for (int r = 0; r < b->nv; ++r)
            D[b->nv * r + c] = v6_dot(H + 6 * r, U);
        D[b->nv * c + c] += k->dof[b->iv + c].armature;
    }
    double size[6];
    hinge_size(k, w, b, b->kind, b->nv, P[0] + P[7] + P[14], P[21] + P[28] + P[35], size);
    return block_factor(b->nv, D, size);
}
/* K [a; -beta] = [Hd tau - z; T' c] + [0; T'] phi* a(p), solved for both parts of the right
 * side. */
static void pivot(const kernel_work *w, int i, joint_block *j) {
    const int n = 6 + j->rows;
    double K[144], X[84];
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) {
            if (r < 6 && c < 6) {
                K[n * r + c] = j->P[6 * r + c];
            } else if (r < 6) {
                K[n * r + c] = j->T[6 * (c - 6) + r];
            } else if (c < 6) {
                K[n * r + c] = j->T[6 * (r - 6) + c];
            } else if (r == c) {
                K[n * r + c] = -j->give[r - 6];
            } else {
                K[n * r + c] = 0;
            }
        }
    }
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < 6; ++c)
            X[7 * r + c] = r < 6 ? 0 : j->T[6 * (r - 6) + c];
        X[7 * r + 6] = r < 6 ? j->push[r] - j->z[r] : v6_dot(j->T + 6 * (r - 6), w->c + 6 * i);
    }
    eliminate(n, K, 7, X);
    for (int r = 0; r < n; ++r) {
        memcpy(j->X + 6 * r, X + 7 * r, 6 * sizeof(double));
        j->r[r] = X[7 * r + 6];
    }
}
/* What joint i leaves for its parent: f = P+ phi* a(p) + z+, with P+ = -T X(beta), z+ = Hd tau - T
 * r(beta). */
static void pass_on(const kernel_work *w, int i, const joint_block *j, joint_block *parent) {
    double Q[36] = {0}, z[6];
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            for (int t = 0; t < j->rows; ++t)
                Q[6 * c + r] -= j->T[6 * t + r] * j->X[6 * (6 + t) + c];
    for (int c = 0; c < 6; ++c)
        to_parent(w->b + i, Q + 6 * c, Q + 6 * c); /* columns of phi P+ */
    for (int r = 0; r < 6; ++r) {                  /* rows of (phi P+) phi* */
        double row[6];
        for (int c = 0; c < 6; ++c)
            row[c] = Q[6 * c + r];
        to_parent(w->b + i, row, row);
        for (int c = 0; c < 6; ++c)
            Q[6 * c + r] = row[c];
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            parent->P[6 * r + c] += 0.5 * (Q[6 * r + c] + Q[6 * c + r]);
    v6_copy(j->push, z);
    for (int t = 0; t < j->rows; ++t)
        v6_add_scaled(-j->r[6 + t], j->T + 6 * t, z);
    force_in_add(w->b[i].R, w->b[i].p, z, parent->z);
}

soa_status soa_fd_constraint_forces(const soa_model *m, soa_work *w, void *memory, size_t size,
                                    const soa_input *input, double *qdd, double *forces,
                                    double *beta) {
    soai_inputs in;
    const soa_status s = begin(m, w, memory, size, input, qdd, &in);
    if (s) return s;
    joint_block *block = memory;
    const soai_view_double *k = &w->view;
    prepare(w, &in, block);
    for (int i = k->nb; i >= 1; --i) { /* tips to base */
        if (!hinge_moves(k, &w->w, i, block[i].P)) {
            w->body = i;
            return SOA_E_HINGE_SINGULAR;
        }
        pivot(&w->w, i, block + i);
        if (k->body[i].parent) pass_on(&w->w, i, block + i, block + k->body[i].parent);
    }
    for (int i = 1; i <= k->nb; ++i) { /* base to tips */
        joint_block *j = block + i;
        body_work *own = w->w.b + i;
        double carried[6];
        motion_out(own->R, own->p, w->w.b[k->body[i].parent].A, carried);
        for (int r = 0; r < 6 + j->rows; ++r) {
            const double x = j->r[r] + v6_dot(j->X + 6 * r, carried);
            if (r < 6)
                own->A[r] = x;
            else
                j->beta[r - 6] = -x;
        }
        joint_force(j, i, forces, &beta);
        joint_acceleration(w, j, i, carried, qdd);
    }
    return SOA_OK;
}

/* ---- (28) ------------------------------------------------------------------------------------ */
/* Least pivot of its diagonal entry: below it only rounding errors are left. */
static const double least_pivot = 1e-13;
static int invert_inertia(double M[36]) {
    double L[36];
    memcpy(L, M, sizeof L);
    if (!soai_cholesky(6, 6, L, least_pivot)) return 0;
    for (int c = 0; c < 6; ++c) {
        for (int r = 0; r < 6; ++r)
            M[6 * c + r] = r == c;
        soai_cholesky_solve(6, 6, L, M + 6 * c);
    }
    return 1;
}
/* Rows of joint i: the diagonal block T' (M^-1 + phi* M(p)^-1 phi) T + C, the block to its parent's
 * beta -T' phi* M(p)^-1 T(p), and the right side T' (c + phi* a(p) - a) at beta = 0. */
static void equations(const soa_work *w, int i, joint_block *block) {
    const int p = w->view.body[i].parent;
    const body_work *own = w->w.b + i;
    joint_block *j = block + i;
    const joint_block *in = block + p;
    double *diagonal = j->X, *coupling = j->X + 36, carried[6];
    for (int c = 0; c < j->rows; ++c) {
        double x[6], y[6], inner[6] = {0};
        times6(j->P, j->T + 6 * c, x);
        if (p) {
            to_parent(own, j->T + 6 * c, y);
            times6(in->P, y, inner);
            motion_out(own->R, own->p, inner, y);
            for (int r = 0; r < 6; ++r)
                x[r] += y[r];
        }
        for (int r = 0; r < j->rows; ++r)
            diagonal[j->rows * r + c] = v6_dot(j->T + 6 * r, x) + (r == c ? j->give[c] : 0);
        for (int r = 0; p && r < in->rows; ++r)
            coupling[in->rows * c + r] = -v6_dot(in->T + 6 * r, inner);
    }
    motion_out(own->R, own->p, p ? in->z : w->w.b[0].A, carried);
    for (int r = 0; r < 6; ++r)
        carried[r] += w->w.c[6 * i + r] - j->z[r];
    for (int r = 0; r < j->rows; ++r)
        j->r[r] = v6_dot(j->T + 6 * r, carried);
}
/* Joint i out of its parent's rows: coupling = diagonal^-1 coupling, likewise r. */
static int thomas(joint_block *j, joint_block *in) {
    const int n = j->rows, m = in ? in->rows : 0;
    double *diagonal = j->X, *coupling = j->X + 36, Y[36], column[6];
    if (!soai_cholesky(n, n, diagonal, least_pivot)) return 0;
    soai_cholesky_solve(n, n, diagonal, j->r);
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; ++r)
            column[r] = coupling[m * r + c];
        soai_cholesky_solve(n, n, diagonal, column);
        for (int r = 0; r < n; ++r)
            Y[m * r + c] = column[r];
    }
    for (int a = 0; a < m; ++a)
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < m; ++c)
                in->X[m * a + c] -= coupling[m * r + a] * Y[m * r + c];
            in->r[a] -= coupling[m * r + a] * j->r[r];
        }
    for (int e = 0; e < n * m; ++e)
        coupling[e] = Y[e];
    return 1;
}

soa_status soa_fd_tridiagonal(const soa_model *m, soa_work *w, void *memory, size_t size,
                              const soa_input *input, double *qdd, double *forces, double *beta) {
    soai_inputs in;
    const soa_status s = begin(m, w, memory, size, input, qdd, &in);
    if (s) return s;
    joint_block *block = memory;
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const int p = k->body[i].parent;
        if (!p || k->body[p].child == i) continue;
        w->body = p;
        return SOA_E_BRANCHED;
    }
    prepare(w, &in, block);
    /* M^-1, and the accelerations the links would have at beta = 0 */
    for (int i = k->nb; i >= 1; --i) {
        joint_block *j = block + i;
        double x[6];
        if (!invert_inertia(j->P)) {
            w->body = i;
            return SOA_E_INERTIA;
        }
        for (int r = 0; r < 6; ++r)
            x[r] = j->push[r] - j->z[r];
        times6(j->P, x, j->z);
        if (!k->body[i].parent) continue;
        /* its reaction, with b */
        force_in_add(w->w.b[i].R, w->w.b[i].p, j->push, block[k->body[i].parent].z);
    }
    for (int i = 1; i <= k->nb; ++i)
        equations(w, i, block);
    for (int i = k->nb; i >= 1; --i) /* tips to base */
        if (!thomas(block + i, k->body[i].parent ? block + k->body[i].parent : NULL)) {
            w->body = i;
            return SOA_E_HINGE_SINGULAR;
        }
    for (int i = 1; i <= k->nb; ++i) { /* base to tips */
        joint_block *j = block + i;
        const joint_block *p = block + k->body[i].parent;
        for (int r = 0; r < j->rows; ++r) {
            j->beta[r] = j->r[r];
            for (int c = 0; k->body[i].parent && c < p->rows; ++c)
                j->beta[r] -= j->X[36 + p->rows * r + c] * p->beta[c];
        }
        joint_force(j, i, forces, &beta);
    }
    /* a = a(beta = 0) + M^-1 (T beta - phi T beta of the child) */
    for (int i = 1; i <= k->nb; ++i) {
        joint_block *j = block + i;
        const int child = k->body[i].child;
        double x[6] = {0}, y[6] = {0}, carried[6];
        add_columns(j->rows, j->T, j->beta, x);
        if (child) {
            add_columns(block[child].rows, block[child].T, block[child].beta, y);
            to_parent(w->w.b + child, y, y);
        }
        for (int r = 0; r < 6; ++r)
            x[r] -= y[r];
        times6(j->P, x, x);
        for (int r = 0; r < 6; ++r)
            w->w.b[i].A[r] = j->z[r] + x[r];
        motion_out(w->w.b[i].R, w->w.b[i].p, w->w.b[k->body[i].parent].A, carried);
        joint_acceleration(w, j, i, carried, qdd);
    }
    return SOA_OK;
}

soa_status soa_fd_constraint_forces_basis(const soa_model *m, const void *memory, int body,
                                          double *T) {
    if (!m || !memory || body < 1 || body > m->nb || !T) return SOA_E_ARGUMENT;
    const joint_block *j = (const joint_block *)memory + body;
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < j->constraints; ++c)
            T[j->constraints * r + c] = j->T[6 * c + r];
    return SOA_OK;
}
