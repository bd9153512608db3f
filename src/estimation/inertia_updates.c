/* inertia_updates.c  the equivalent ways to carry an inertia from body to body, each as the paper
 *                    writes it.
 *
 * Inward over all bodies:  P(k) = M(k) + sum over children of phi P+ phi'  (37), and P+ from P by
 *     one of (43)  P - (P H') D^-1 (H P), or with U = P H' formed once, P - U D^-1 U'
 *     (50)  (I - G H) P,  P (I - G H)'
 *     (43)0 the same as U, with H P+ = 0 set, and UD: P = U diag(d) U' in place of P, nothing is
 *           subtracted from it
 *     (51)  (I - G H) P (I - G H)' + G R G'  (84)  3 x 3 blocks J, C rho, rho (the mass): 21
 *     parameters (29)  P itself: joints locked          (33)  the same as mass, mass centre,
 *     inertia: 10 parameters
 * R is the reflected rotor inertia, D = H P H' + R.  An exact rotor is measurement noise that
 * correlates with the state: U = P H' + S, S = [r; 0], takes the place of P H', and the update
 * formulas get the terms below. (84) as printed needs C itself, which does not exist after a
 * sliding joint (rho is singular then); only C rho enters once (C + L) rho (C + L)' - C rho C' is
 * multiplied out, as here.  (33) is as printed.  Plain double arithmetic, 6 x 6 by 6 x 6: nothing
 * is shared with the sweeps but the poses and the joint maps.  O(n). */
#include "estimation_internal.h"
#include "../table/inertia_factors.h"
#include <math.h>

typedef struct hinge_terms {
    int n;
    double H[36], S[36], D[36]; /* rows of H (n x 6), rows of S' (n x 6), factored D */
    double R[6];                /* diagonal of R, less what S adds to D           */
    double U[36], G[36];        /* rows of U' and G' (n x 6)                      */
} hinge_terms;

/* Column-wise products: rows of out (n x 6) = rows of X (n x 6) times P' */
static void times_inertia(int n, const double *X, const double P[36], double *out) {
    for (int r = 0; r < n; ++r)
        six_mul(P, X + 6 * r, out + 6 * r);
}
/* H, S, R of the joint of body i. */
static void hinge_map(const soa_work *w, int i, hinge_terms *j) {
    const soai_view_double *k = &w->view;
    const soai_body_double *b = k->body + i;
    j->n = b->nv;
    for (int c = 0; c < b->nv; ++c) {
        step_column(k, &w->w, b, b->kind, c, j->H + 6 * c);
        v6_zero(j->S + 6 * c);
    }
    if (b->rotor) step_rotor_couple(k, &w->w, b, i, j->S);
    for (int r = 0; r < j->n; ++r)
        j->R[r] = k->dof[b->iv + r].armature - 2 * v6_dot(j->H + 6 * r, j->S + 6 * r);
}
/* And U, D, G for P; 0 if it moves nothing. */
static int joint_of(const soa_work *w, int i, const double P[36], hinge_terms *j) {
    const soai_view_double *k = &w->view;
    const soai_body_double *b = k->body + i;
    double size[6];
    hinge_map(w, i, j);
    hinge_size(k, &w->w, b, b->kind, b->nv, P[0] + P[7] + P[14], P[21] + P[28] + P[35], size);
    times_inertia(j->n, j->H, P, j->U);
    for (int r = 0; r < j->n; ++r) {
        for (int c = 0; c < j->n; ++c)
            j->D[j->n * r + c] = v6_dot(j->H + 6 * c, j->U + 6 * r);
        j->D[(j->n + 1) * r] += k->dof[b->iv + r].armature;
    }
    if (!block_factor(j->n, j->D, size)) return 0;
    for (int r = 0; r < j->n; ++r)
        v6_add_scaled(1, j->S + 6 * r, j->U + 6 * r);
    for (int c = 0; c < 6; ++c) {
        double g[6];
        for (int r = 0; r < j->n; ++r)
            g[r] = j->U[6 * r + c];
        block_solve(j->n, j->D, g);
        for (int r = 0; r < j->n; ++r)
            j->G[6 * r + c] = g[r];
    }
    return 1;
}
/* out = P - G X' where rows of X' are stored in X (n x 6) */
static void subtract_gain(const hinge_terms *j, const double P[36], const double *X,
                          double out[36]) {
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            double sum = P[6 * r + c];
            for (int m = 0; m < j->n; ++m)
                sum -= j->G[6 * m + r] * X[6 * m + c];
            out[6 * r + c] = sum;
        }
}
static void turn(double A[36]) {
    for (int r = 1; r < 6; ++r)
        for (int c = 0; c < r; ++c) {
            const double t = A[6 * r + c];
            A[6 * r + c] = A[6 * c + r];
            A[6 * c + r] = t;
        }
}
/* F = I - G H */
static void free_part(const hinge_terms *j, double F[36]) {
    double I[36] = {0};
    for (int r = 0; r < 6; ++r)
        I[7 * r] = 1;
    subtract_gain(j, I, j->H, F);
}

static void update_43(const hinge_terms *j, const double P[36], double out[36]) {
    double HP[36]; /* rows of H P + S', U' but for rounding */
    for (int m = 0; m < j->n; ++m) {
        six_tmul(P, j->H + 6 * m, HP + 6 * m);
        v6_add_scaled(1, j->S + 6 * m, HP + 6 * m);
    }
    subtract_gain(j, P, HP, out);
}
static void update_43_u(const hinge_terms *j, const double P[36], double out[36]) {
    subtract_gain(j, P, j->U, out); /* U D^-1 U' = G U' */
}
static void update_50(const hinge_terms *j, const double P[36], double out[36]) {
    double F[36];
    free_part(j, F);
    six_six(F, P, out);               /* (I - G H) P      */
    subtract_gain(j, out, j->S, out); /* - G S': rotors   */
}
static void update_50_t(const hinge_terms *j, const double P[36], double out[36]) {
    double F[36];
    free_part(j, F);
    six_six_t(P, F, out); /* P (I - G H)' */
    turn(out);
    subtract_gain(j, out, j->S, out);
    turn(out);
}
static void update_51(const hinge_terms *j, const double P[36], double out[36]) {
    double F[36], T[36], FS[36], GR[36];
    free_part(j, F);
    six_six(F, P, T);
    six_six_t(T, F, out);             /* (I - G H) P (I - G H)' */
    times_inertia(j->n, j->S, F, FS); /* rows of ((I - G H) S)' */
    for (int m = 0; m < j->n; ++m)    /* + G R G' - G S'(I - G H)' - (I - G H) S G' */
        for (int c = 0; c < 6; ++c)
            GR[6 * m + c] = FS[6 * m + c] - j->R[m] * j->G[6 * m + c];
    subtract_gain(j, out, GR, out);
    turn(out);
    subtract_gain(j, out, FS, out);
    turn(out);
}

/* (43) U, after which H P+ = 0 is set where no rotor stops that: P+ <- N P+ N, N the projector on
 * what is orthogonal to the rows of H. */
static void update_43_zero(const hinge_terms *j, const double P[36], double out[36]) {
    double N[36] = {0}, T[36], h[36];
    update_43_u(j, P, out);
    for (int m = 0; m < j->n; ++m)
        if (j->R[m] != 0 || v6_dot(j->S + 6 * m, j->S + 6 * m) != 0) return;
    for (int r = 0; r < 6; ++r)
        N[7 * r] = 1;
    for (int m = 0; m < j->n; ++m) { /* rows of H, made orthonormal */
        v6_copy(j->H + 6 * m, h + 6 * m);
        for (int k = 0; k < m; ++k)
            v6_add_scaled(-v6_dot(h + 6 * k, h + 6 * m), h + 6 * k, h + 6 * m);
        const double size = v6_dot(h + 6 * m, h + 6 * m);
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                N[6 * r + c] -= h[6 * m + r] * h[6 * m + c] / size;
        for (int r = 0; r < 6; ++r)
            h[6 * m + r] /= sqrt(size);
    }
    six_six(N, out, T);
    six_six(T, N, out);
}

/* ---- UD: 21 numbers, U(i,j) at SOAI_U(i, j), then d ------------------------------------------- */
enum { UD_COLUMNS = 12 }; /* the parent's six and the child's six */

/* Column c of U. */
static void ud_column(const double *P, int c, double u[6]) {
    for (int r = 0; r < 6; ++r)
        u[r] = r == c;
    for (int r = 0; r < c; ++r)
        u[r] = P[SOAI_U(r, c)];
}
/* Bierman's update for each row of H, with the armature as noise; 0 if the hinge moves nothing. */
static int ud_update(const hinge_terms *j, double *P) {
    double *d = P + SOAI_FACTOR_D;
    for (int m = 0; m < j->n; ++m) {
        double a = j->R[m], b[6] = {0};
        for (int c = 0; c < 6; ++c) {
            double u[6];
            ud_column(P, c, u);
            const double f = v6_dot(u, j->H + 6 * m), v = d[c] * f, next = a + f * v;
            if (!(next > 0)) continue;
            d[c] *= a / next;
            for (int r = 0; a > 0 && r < c; ++r)
                P[SOAI_U(r, c)] -= f / a * b[r];
            v6_add_scaled(v, u, b);
            a = next;
        }
        if (!(a > 0)) return 0;
    }
    return 1;
}
/* parent <- U and d of parent + phi P phi': the columns of both, made triangular by modified weighted
 * Gram-Schmidt, last row first. */
static void ud_propagate(const soa_work *w, int i, const double *P, double *parent) {
    const soai_body_double *b = w->view.body + i;
    double p[3], X[36], W[6][UD_COLUMNS], weight[UD_COLUMNS];
    joint_origin(&w->w, b, i, b->kind, p);
    six_phi(w->w.b[i].R, p, X);
    for (int c = 0; c < 6; ++c) {
        double u[6], moved[6], own[6];
        ud_column(P, c, u);
        six_mul(X, u, moved);
        ud_column(parent, c, own);
        for (int r = 0; r < 6; ++r) {
            W[r][c] = moved[r];
            W[r][6 + c] = own[r];
        }
        weight[c] = P[SOAI_FACTOR_D + c];
        weight[6 + c] = parent[SOAI_FACTOR_D + c];
    }
    for (int j = 5; j >= 0; --j) {
        double d = 0;
        for (int k = 0; k < UD_COLUMNS; ++k)
            d += weight[k] * W[j][k] * W[j][k];
        parent[SOAI_FACTOR_D + j] = d;
        for (int r = 0; r < j; ++r) {
            double sum = 0;
            for (int k = 0; k < UD_COLUMNS; ++k)
                sum += weight[k] * W[j][k] * W[r][k];
            const double u = d > 0 ? sum / d : 0;
            parent[SOAI_U(r, j)] = u;
            for (int k = 0; k < UD_COLUMNS; ++k)
                W[r][k] -= u * W[j][k];
        }
    }
}
static void ud_form(const double *P, double out[36]) {
    memset(out, 0, 36 * sizeof *out);
    for (int k = 0; k < 6; ++k) {
        double u[6];
        ud_column(P, k, u);
        for (int j = 0; j < 36; ++j)
            out[j] += P[SOAI_FACTOR_D + k] * (u[j / 6] * u[j % 6]);
    }
}
/* The recursion in factors, down to `body`. */
static soa_status ud_recursion(soa_work *w, int body, double P_out[36]) {
    static const unsigned char order[6] = {0, 1, 2, 3, 4, 5};
    const soai_view_double *k = &w->view;
    double *P = w->w.B;
    memset(P, 0, SOAI_FACTOR_SIZE * sizeof *P);
    for (int i = 1; i <= k->nb; ++i)
        soai_factor_inertia(k->body[i].M, order, P + SOAI_FACTOR_SIZE * (size_t)i);
    for (int i = k->nb; i > body; --i) {
        double *own = P + SOAI_FACTOR_SIZE * (size_t)i;
        hinge_terms j;
        hinge_map(w, i, &j);
        w->body = i;
        if (k->body[i].rotor) return SOA_E_JOINT;
        if (!ud_update(&j, own)) return SOA_E_HINGE_SINGULAR;
        ud_propagate(w, i, own, P + SOAI_FACTOR_SIZE * (size_t)k->body[i].parent);
    }
    w->body = -1;
    ud_form(P + SOAI_FACTOR_SIZE * (size_t)body, P_out);
    return SOA_OK;
}

/* out += phi P phi' by two products of matrices */
static void propagate(const soa_work *w, int i, const double P[36], double out[36]) {
    const soai_body_double *b = w->view.body + i;
    double p[3], X[36], T[36], Y[36];
    joint_origin(&w->w, b, i, b->kind, p);
    six_phi(w->w.b[i].R, p, X);
    six_six(X, P, T);
    six_six_t(T, X, Y);
    for (int c = 0; c < 36; ++c)
        out[c] += Y[c];
}

/* (84): J and rho symmetric, B = C rho full.  Update, turn into the parent's axes, move by L,
 * add. */
static void sym_of(const double P[36], int at, double S[6]) {
    for (int r = 0; r < 3; ++r)
        for (int c = r; c < 3; ++c)
            S[SYM(r, c)] = P[6 * (at + r) + at + c];
}
static void cross_rows(const double L[3], const double A[9], double out[9]) { /* out += [L] A */
    for (int c = 0; c < 3; ++c) {
        const double x[3] = {A[c], A[3 + c], A[6 + c]};
        double y[3];
        v3_cross(L, x, y);
        for (int r = 0; r < 3; ++r)
            out[3 * r + c] += y[r];
    }
}
static void blocks_84(const soa_work *w, int i, const hinge_terms *j, const double P[36],
                      double out[36]) {
    const soai_body_double *b = w->view.body + i;
    double J[6], rho[6], B[9], L[3], T[9], full[9], BL[9] = {0}, rL[9] = {0};
    sym_of(P, 0, J);
    sym_of(P, 3, rho);
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            B[3 * r + c] = P[6 * r + 3 + c];
    for (int m = 0; m < j->n; ++m) { /* U = [J h; (C rho)'h] for a revolute joint */
        const double *U = j->U + 6 * m, *G = j->G + 6 * m;
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) {
                B[3 * r + c] -= U[r] * G[3 + c];
                if (c >= r) {
                    J[SYM(r, c)] -= U[r] * G[c];
                    rho[SYM(r, c)] -= U[3 + r] * G[3 + c];
                }
            }
    }
    const double *R = w->w.b[i].R;
    joint_origin(&w->w, b, i, b->kind, L);
    sym_rotate(R, J, J);
    sym_rotate(R, rho, rho);
    rot_rot(R, B, T);
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) {
            B[3 * r + c] = v3_dot(T + 3 * r, R + 3 * c);
            full[3 * r + c] = rho[SYM(r, c)];
        }
    }
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            T[3 * r + c] = B[3 * c + r]; /* (C rho)' */
    cross_rows(L, T, BL);                /* L (C rho)'                  */
    cross_rows(L, full, rL);             /* L rho                       */
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            B[3 * r + c] += rL[3 * r + c];
    /* J + L (C rho)' + (C rho) L' + L rho L' ; the last is rows of rL crossed with L */
    for (int r = 0; r < 3; ++r) {
        double y[3];
        v3_cross(L, rL + 3 * r, y); /* (L rho) L' = row crossed: (rho' L')' */
        for (int c = r; c < 3; ++c)
            J[SYM(r, c)] += BL[3 * r + c] + BL[3 * c + r] + y[c];
    }
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
            out[6 * r + c] += J[SYM(r, c)];
            out[6 * (3 + r) + 3 + c] += rho[SYM(r, c)];
            out[6 * r + 3 + c] += B[3 * r + c];
            out[6 * (3 + c) + r] += B[3 * r + c];
        }
}

/* (33), (32): rho, C rho and J of the composite body, as printed below (33), rotation added.  10
 * numbers in P. */
static void composite_33(const soa_work *w, int i, const double P[10], double out[10]) {
    const soai_body_double *b = w->view.body + i;
    double L[3], C[3], CL[3], J[6];
    joint_origin(&w->w, b, i, b->kind, L);
    const double rho = P[0];
    for (int c = 0; c < 3; ++c)
        C[c] = rho > 0 ? P[1 + c] / rho : 0;
    rot_mul(w->w.b[i].R, C, C);
    sym_rotate(w->w.b[i].R, P + 4, J);
    for (int c = 0; c < 3; ++c)
        CL[c] = C[c] + L[c];
    out[0] += rho;
    for (int c = 0; c < 3; ++c)
        out[1 + c] += CL[c] * rho;
    const double far = v3_dot(CL, CL), near = v3_dot(C, C);
    for (int r = 0; r < 3; ++r)
        for (int c = r; c < 3; ++c)
            out[4 + SYM(r, c)] += J[SYM(r, c)] + rho * ((r == c ? far : 0) - CL[r] * CL[c]) -
                                  rho * ((r == c ? near : 0) - C[r] * C[c]);
}

soa_status soa_articulated_inertia(const soa_model *m, soa_work *w, const double *q,
                                   soa_inertia_update update, soa_storage storage, int body,
                                   double P_out[36]) {
    soai_inputs in;
    if ((unsigned)update >= SOA_UPDATE_COUNT || (unsigned)storage > SOA_STORAGE_SYMMETRIC || !P_out)
        return SOA_E_ARGUMENT;
    if (!m || body < 0 || body > m->nb) return SOA_E_ARGUMENT;
    const soa_status s = soai_enter_inverse(m, w, &(soa_input){.q = q}, &in);
    if (s) return s;
    const soai_view_double *k = &w->view;
    w->k->positions(k, &w->w, in.q);
    if (update == SOA_UPDATE_UD) return ud_recursion(w, body, P_out);
    memset(w->w.B, 0, 36 * sizeof(double));
    for (int i = 1; i <= k->nb; ++i) {
        double *P = w->w.B + 36 * (size_t)i;
        if (update == SOA_COMPOSITE_33)
            memcpy(P, k->body[i].M, 10 * sizeof *P);
        else
            six_rigid(k->body[i].M, P);
    }
    for (int i = k->nb; i > body; --i) {
        double *P = w->w.B + 36 * (size_t)i, *parent = w->w.B + 36 * (size_t)k->body[i].parent,
               after[36];
        hinge_terms j;
        if (update == SOA_COMPOSITE_33) {
            composite_33(w, i, P, parent);
            continue;
        }
        if (storage == SOA_STORAGE_SYMMETRIC) six_mirror(P);
        if (update != SOA_COMPOSITE_29 && !joint_of(w, i, P, &j)) {
            w->body = i;
            return SOA_E_HINGE_SINGULAR;
        }
        switch (update) {
        case SOA_UPDATE_43: update_43(&j, P, after); break;
        case SOA_UPDATE_43_U: update_43_u(&j, P, after); break;
        case SOA_UPDATE_43_ZERO: update_43_zero(&j, P, after); break;
        case SOA_UPDATE_50: update_50(&j, P, after); break;
        case SOA_UPDATE_50_T: update_50_t(&j, P, after); break;
        case SOA_UPDATE_51: update_51(&j, P, after); break;
        case SOA_UPDATE_84: blocks_84(w, i, &j, P, parent); continue;
        default: memcpy(after, P, sizeof after);
        }
        if (storage == SOA_STORAGE_SYMMETRIC) six_mirror(after);
        propagate(w, i, after, parent);
    }
    if (update == SOA_COMPOSITE_33)
        six_rigid(w->w.B + 36 * (size_t)body, P_out);
    else
        memcpy(P_out, w->w.B + 36 * (size_t)body, 36 * sizeof *P_out);
    if (storage == SOA_STORAGE_SYMMETRIC) six_mirror(P_out);
    return SOA_OK;
}
