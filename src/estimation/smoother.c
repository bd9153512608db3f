/* smoother.c  R87's filter and smoother with all they compute readable, and the covariances of
 *             section IX.
 *
 * soa_smoother             the sweeps of aba.h as they are, in spatial form (outward V | inward
 *                          filter | outward smoother); they leave R p V P U D e f(=z) A.  v and tau
 *                          are kept in tv and tt, a in user, b in B.  R87 (35) to (47), the same as
 *                          RK88-I FD4 (5.16), (5.17).  O(n)
 * soa_smoother_read        one body: what the sweeps fold together ((41) into (36), (43) into
 *                          (37)), taken apart.  O(1)
 * soa_smoother_covariance  R87 (81), (82) outward over all bodies at the first call, then (65). */
#include "estimation_internal.h"

int soai_filter_body(const soai_view_double *k, kernel_work *w, int i, const double *v,
                     const double *tau) {
    const soai_body_double *b = k->body + i;
    return step_filter(k, w, b, i, b->kind, b->nv, ARTICULATE | INNOVATE | BIAS, v, tau);
}
void soai_smooth_body(const soai_view_double *k, kernel_work *w, int i, const double *v,
                      double *vdot) {
    const soai_body_double *b = k->body + i;
    step_smooth(k, w, b, i, b->kind, b->nv, BIAS, v, vdot);
}

/* b(k), R87 (7), with the couples of rotors that sit on the body; the filter has added to its own
 * copy. */
static void keep_bias_forces(soa_work *w, const double *fext) {
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        step_bias_force(b, w->w.b[i].V, fext ? fext + 6 * (i - 1) : 0, w->w.B + 6 * i);
        if (!b->rotor || !b->parent) continue;
        double t[3];
        v3_cross(w->w.b[b->parent].V, k->dof[b->iv].rotor, t);
        for (int j = 0; j < 3; ++j)
            w->w.B[6 * b->parent + j] += t[j] * w->tv[b->iv];
    }
}

soa_status soa_smoother(const soa_model *m, soa_work *w, const double *q, const double *v,
                        const double *tau, const soa_wrench *wrenches, int wrench_count) {
    const soa_input input = {
        .q = q, .v = v, .tau = tau, .wrenches = wrenches, .wrench_count = wrench_count};
    soai_inputs in;
    const soa_status s = soai_enter_forward(m, w, &input, &in);
    if (s) return s;
    const size_t bytes = (size_t)m->tv * sizeof(double);
    if (in.v != w->tv) memcpy(w->tv, in.v, bytes);
    if (in.tau != w->tt) memcpy(w->tt, in.tau, bytes);
    soai_view_double view = w->view;
    int bad = w->k->aba_spatial(&view, &w->w, in.q, w->tv, w->tt, in.fext, w->user);
    /* the sweeps once more, under the torques of the tree that make the followers keep up */
    if (!bad && m->nm) {
        w->k->rnea(&view, &w->w, in.q, w->tv, w->user, in.fext, w->tt);
        view.nm = 0;
        view.stuck = m->stuck_free;
        bad = w->k->aba_spatial(&view, &w->w, in.q, w->tv, w->tt, in.fext, w->user);
    }
    if (bad) {
        w->body = bad;
        return SOA_E_HINGE_SINGULAR;
    }
    step_losses(&view, in.q, w->tv, -1, w->tt);
    keep_bias_forces(w, in.fext);
    w->readable = SOAI_READ_SMOOTHER;
    return SOA_OK;
}

void soai_gain_and_update(const soa_work *w, const soai_body_double *b, const double P[36],
                          double *G, double after[36]) {
    const int nv = b->nv;
    const double *U = w->w.U + 6 * b->iv;
    for (int j = 0; j < 6; ++j) { /* row j of G = U D^-1 */
        double *g = G + nv * j;
        for (int r = 0; r < nv; ++r)
            g[r] = U[6 * r + j];
        step_hinge_solve(&w->w, b, nv, g);
    }
    for (int i = 0; i < 6; ++i)
        for (int j = i; j < 6; ++j) {
            after[6 * i + j] = P[6 * i + j];
            for (int r = 0; r < nv; ++r)
                after[6 * i + j] -= U[6 * r + i] * G[nv * j + r];
        }
    six_mirror(after);
}

/* D itself from what the sweep keeps: its inverse for one dof, L d L' for more. */
static void joint_axis_inertia(int n, const double *kept, double *D) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum;
            if (n == 1) {
                sum = 1 / kept[0];
            } else {
                sum = (i == j ? 1 : kept[n * i + j]) * kept[n * j + j];
            }
            for (int m = 0; m < j; ++m)
                sum += kept[n * i + m] * kept[n * m + m] * kept[n * j + m];
            D[n * i + j] = D[n * j + i] = sum;
        }
}

soa_status soa_smoother_read(const soa_model *m, const soa_work *w, int body, soa_smoothed *out) {
    if (!m || !w || w->model != m || body < 1 || body > m->nb || !out) return SOA_E_ARGUMENT;
    if (w->readable < SOAI_READ_SMOOTHER) return SOA_E_ORDER;
    const soai_view_double *k = &w->view;
    const soai_body_double *b = k->body + body;
    const body_work *own = w->w.b + body;
    const int nv = b->nv;
    double p[3], Pn[6], Pl[6];
    memset(out, 0, sizeof *out);
    out->nv = nv;
    for (int c = 0; c < nv; ++c)
        step_column(k, &w->w, b, b->kind, c, out->H + 6 * c);
    memcpy(out->b, w->w.B + 6 * body, sizeof out->b);
    step_bias(k, &w->w, b, b->kind, nv, own->V, w->tv + b->iv, out->n);
    memcpy(out->z_minus, own->f, sizeof out->z_minus);
    w->k->inertia(&w->w, body, out->P_minus);
    joint_axis_inertia(nv, w->w.D + b->id, out->D);
    soai_gain_and_update(w, b, out->P_minus, out->gain, out->P_plus);
    memcpy(out->tau, w->tt + b->iv, (size_t)nv * sizeof(double));
    memcpy(out->innovation, w->w.e + b->iv, (size_t)nv * sizeof(double));
    memcpy(out->residual, out->innovation, sizeof out->residual);
    step_hinge_solve(&w->w, b, nv, out->residual); /* (42) */
    six_mul(out->P_plus, out->n, Pn);
    for (int j = 0; j < 6; ++j) { /* (41) */
        out->z_plus[j] = out->z_minus[j] + Pn[j];
        for (int r = 0; r < nv; ++r)
            out->z_plus[j] += out->gain[nv * j + r] * out->innovation[r];
    }
    joint_origin(&w->w, b, body, b->kind, p);
    motion_out(own->R, p, w->w.b[b->parent].A, out->lambda_plus); /* (45) */
    memcpy(out->acceleration, w->user + b->iv, (size_t)nv * sizeof(double));
    memcpy(out->lambda_minus, own->A, sizeof out->lambda_minus);
    six_mul(out->P_minus, out->lambda_minus, Pl); /* (34) on both sides */
    for (int j = 0; j < 6; ++j)
        out->x_minus[j] = out->z_minus[j] + Pl[j];
    six_mul(out->P_plus, out->lambda_plus, Pl);
    for (int j = 0; j < 6; ++j)
        out->x_plus[j] = out->z_plus[j] + Pl[j];
    return SOA_OK;
}

/* Delta+ f = phi* Delta-(parent) phi f, R87 (81) */
static void delta_plus_of(const soa_work *w, int i, const double f[6], double out[6]) {
    const soai_body_double *b = w->view.body + i;
    double p[3], x[6] = {0}, y[6];
    joint_origin(&w->w, b, i, b->kind, p);
    force_in_add(w->w.b[i].R, p, f, x);
    six_mul(w->w.E + 36 * (size_t)b->parent, x, y);
    motion_out(w->w.b[i].R, p, y, out);
}
void soai_costate_covariance(soa_work *w, const double *base) {
    for (int j = 0; j < 36; ++j)
        w->w.E[j] = base ? base[j] : 0;
    for (int i = 1; i <= w->view.nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        double *E = w->w.E + 36 * (size_t)i;
        /* (82), column c: (1 - GH)' Delta+ (1 - GH) e_c + H' D^-1 H e_c */
        for (int c = 0; c < 6; ++c) {
            double x[6] = {0}, y[6], h[6], g[6];
            x[c] = 1;
            joint_project(&w->view, &w->w, b, b->kind, b->nv, x, h);
            step_hinge_solve(&w->w, b, b->nv, h);
            step_pass_force(&w->view, &w->w, b, b->kind, b->nv, x);
            delta_plus_of(w, i, x, y);
            hinge_pass_motion(&w->view, &w->w, b, y, g);
            joint_add(&w->view, &w->w, b, b->kind, b->nv, h, y);
            for (int r = 0; r < 6; ++r)
                E[6 * r + c] = y[r];
        }
        six_mirror(E);
    }
}

soa_status soa_smoother_covariance(const soa_model *m, soa_work *w, int body,
                                   double *delta_plus_out, double *delta_minus_out, double *S) {
    if (!m || !w || w->model != m || body < 1 || body > m->nb) return SOA_E_ARGUMENT;
    if (w->readable < SOAI_READ_SMOOTHER) return SOA_E_ORDER;
    if (w->readable != SOAI_READ_COVARIANCE) soai_costate_covariance(w, NULL);
    w->readable = SOAI_READ_COVARIANCE;
    const double *Delta = w->w.E + 36 * (size_t)body;
    if (delta_minus_out) memcpy(delta_minus_out, Delta, 36 * sizeof(double));
    if (delta_plus_out) {
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0}, y[6];
            e[c] = 1;
            delta_plus_of(w, body, e, y);
            for (int r = 0; r < 6; ++r)
                delta_plus_out[6 * r + c] = y[r];
        }
        six_mirror(delta_plus_out);
    }
    if (S) { /* (65) on the parent's side, where P is smaller: P+ - P+ Delta+ P+ */
        double P[36], after[36], G[36], D[36], T[36];
        w->k->inertia(&w->w, body, P);
        soai_gain_and_update(w, w->view.body + body, P, G, after);
        for (int c = 0; c < 6; ++c)
            delta_plus_of(w, body, after + 6 * c, T + 6 * c); /* rows of P+ Delta+ */
        six_six_t(T, after, D);
        for (int j = 0; j < 36; ++j)
            S[j] = after[j] - D[j];
        six_mirror(S);
    }
    return SOA_OK;
}
