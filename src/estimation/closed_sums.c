/* closed_sums.c  inverse dynamics as the closed sums R87 (23) to (31), the judge of the recursions.
 *
 *   lambda(j) = sum over i = j and its ancestors of phi'(i,j) [H'(i) a(i) + n(i)]
 *   (23) x(k)      = sum over j = k and its descendants of phi(k,j) [M(j) lambda(j) + b(j)]
 *   (24) r(k)      = sum over j = k and its descendants of phi(k,j) M(j) phi'(k,j)
 *   (28) m(k,i)    = H(k) phi(k,i) r(i) H'(i), k = i or an ancestor of i; zero for unrelated bodies
 *   (30) V(k)      = sum over related i of H(k) r(k,i) n(i) + sum over descendants of H(k) phi(k,j)
 *   b(j)               (31)
 * R87's "i = j ... N" are the ancestors, "j = 1 ... k" the descendants.  phi(k,j) comes from the
 * poses of the two bodies (2), no sum is built from another body's sum.  Gravity: n of a root body
 * has phi'(world) [0; -g] added.  An exact rotor (r v' on its carrier p, r.w'(p) on its joint) adds
 * [r v' + w x r v; 0] to the force of p, and m(j,i) = r.[phi'(i,p) H'(i)].
 * O(n d): all pairs of a body and an ancestor. */
#include "estimation_internal.h"

/* Per body, in w->B: 36 numbers */
enum { LAMBDA_A = 0, LAMBDA_N = 6, FORCE_B = 12, FORCE_X = 18, BIAS_N = 24 };
static double *of(const soa_work *w, int body, int what) {
    return w->w.B + 36 * (size_t)body + what;
}

/* Pose of body j in body k (0: the world), from their poses in the world. */
static soa_frame transition(const soa_work *w, int k, int j) {
    soa_frame F;
    double d[3];
    if (!k) {
        memcpy(F.R, w->w.Rw + 9 * (size_t)j, sizeof F.R);
        memcpy(F.p, w->w.pw + 3 * (size_t)j, sizeof F.p);
        return F;
    }
    const double *Rk = w->w.Rw + 9 * (size_t)k, *Rj = w->w.Rw + 9 * (size_t)j;
    for (int r = 0; r < 3; ++r) {
        d[r] = w->w.pw[3 * (size_t)j + (size_t)r] - w->w.pw[3 * (size_t)k + (size_t)r];
        for (int c = 0; c < 3; ++c)
            F.R[3 * r + c] = Rk[r] * Rj[c] + Rk[3 + r] * Rj[3 + c] + Rk[6 + r] * Rj[6 + c];
    }
    rot_tmul(Rk, d, F.p);
    return F;
}
static void add(const double x[6], double out[6]) {
    v6_add_scaled(1, x, out);
}
static int has_rotor(const soai_body_double *b) {
    return b->rotor && b->parent;
}

static void costates(soa_work *w, const double *a) { /* (23), the parts of a and n apart */
    const soai_view_double *k = &w->view;
    for (int j = 1; j <= k->nb; ++j) {
        double *la = of(w, j, LAMBDA_A), *ln = of(w, j, LAMBDA_N);
        v6_zero(la);
        v6_zero(ln);
        for (int i = j; i; i = k->body[i].parent) {
            const soai_body_double *b = k->body + i;
            const soa_frame F = transition(w, i, j);
            double Ha[6] = {0}, y[6];
            joint_add(k, &w->w, b, b->kind, b->nv, a + b->iv, Ha);
            soa_frame_motion_to_child(&F, Ha, y);
            add(y, la);
            soa_frame_motion_to_child(&F, of(w, i, BIAS_N), y);
            add(y, ln);
        }
    }
}
static void states(soa_work *w, const double *a) { /* (24) */
    const soai_view_double *k = &w->view;
    for (int k_ = 1; k_ <= k->nb; ++k_)
        v6_zero(of(w, k_, FORCE_X));
    for (int j = 1; j <= k->nb; ++j) {
        double l[6], F[6], y[6];
        for (int c = 0; c < 6; ++c)
            l[c] = of(w, j, LAMBDA_A)[c] + of(w, j, LAMBDA_N)[c];
        rigid_mul_k(k->body[j].M, l, F);
        add(of(w, j, FORCE_B), F);
        const soai_body_double *b = k->body + j;
        for (int i = j; i; i = k->body[i].parent) {
            const soa_frame X = transition(w, i, j);
            soa_frame_force_to_parent(&X, F, y);
            add(y, of(w, i, FORCE_X));
        }
        if (!has_rotor(b)) continue;
        double couple[6] = {0};
        for (int c = 0; c < 3; ++c)
            couple[c] = k->dof[b->iv].rotor[c] * a[b->iv];
        for (int i = b->parent; i; i = k->body[i].parent) {
            const soa_frame X = transition(w, i, b->parent);
            soa_frame_force_to_parent(&X, couple, y);
            add(y, of(w, i, FORCE_X));
        }
    }
}
static void composites(soa_work *w) { /* (28), into w->E */
    const soai_view_double *k = &w->view;
    memset(w->w.E, 0, 36 * ((size_t)k->nb + 1) * sizeof(double));
    for (int j = 1; j <= k->nb; ++j) {
        double M[36], X[36], T[36], Y[36];
        six_rigid(k->body[j].M, M);
        for (int i = j; i; i = k->body[i].parent) {
            const soa_frame F = transition(w, i, j);
            six_phi(F.R, F.p, X);
            six_six(X, M, T);
            six_six_t(T, X, Y);
            for (int c = 0; c < 36; ++c)
                w->w.E[36 * (size_t)i + (size_t)c] += Y[c];
        }
    }
}
/* (30), (31); either may be NULL */
static void mass_and_bias(soa_work *w, double *mass, double *bias) {
    const soai_view_double *view = &w->view;
    const size_t n = (size_t)view->nv;
    for (size_t c = 0; mass && c < n * n; ++c)
        mass[c] = 0;
    for (size_t c = 0; bias && c < n; ++c)
        bias[c] = 0;
    for (int i = 1; i <= view->nb; ++i) {
        const soai_body_double *bi = view->body + i;
        const double *r = w->w.E + 36 * (size_t)i;
        for (int k = i; k; k = view->body[k].parent) {
            const soai_body_double *bk = view->body + k;
            const soa_frame F = transition(w, k, i);
            double f[6], g[6], y[6], x[6];
            for (int c = 0; mass && c < bi->nv; ++c) {
                step_column(view, &w->w, bi, bi->kind, c, y);
                six_mul(r, y, f);
                soa_frame_force_to_parent(&F, f, g); /* phi(k,i) r(i) H'(i) e_c */
                joint_project(view, &w->w, bk, bk->kind, bk->nv, g, x);
                for (int j = 0; j < bk->nv; ++j)
                    mass[n * (size_t)(bk->iv + j) + (size_t)(bi->iv + c)] =
                        mass[n * (size_t)(bi->iv + c) + (size_t)(bk->iv + j)] =
                            x[j] + (i == k && j == c ? view->dof[bi->iv + c].armature : 0);
            }
            if (!bias) continue;
            six_mul(r, of(w, i, BIAS_N), f);
            add(of(w, i, FORCE_B), f);
            soa_frame_force_to_parent(&F, f, g);
            joint_project(view, &w->w, bk, bk->kind, bk->nv, g, x);
            for (int j = 0; j < bk->nv; ++j)
                bias[bk->iv + j] += x[j];
            if (i == k) continue;
            soa_frame_motion_to_child(&F, of(w, k, BIAS_N), y);
            six_mul(r, y, f); /* r(i) phi'(k,i) n(k) */
            joint_project(view, &w->w, bi, bi->kind, bi->nv, f, x);
            for (int j = 0; j < bi->nv; ++j)
                bias[bi->iv + j] += x[j];
        }
        if (!has_rotor(bi)) continue;
        const double *rotor = view->dof[bi->iv].rotor;
        if (bias) bias[bi->iv] += v3_dot(rotor, of(w, bi->parent, LAMBDA_N));
        for (int k = bi->parent; mass && k; k = view->body[k].parent) {
            const soai_body_double *bk = view->body + k;
            const soa_frame F = transition(w, k, bi->parent);
            for (int c = 0; c < bk->nv; ++c) {
                double H[6], y[6];
                step_column(view, &w->w, bk, bk->kind, c, H);
                soa_frame_motion_to_child(&F, H, y);
                const size_t at = n * (size_t)bi->iv + (size_t)(bk->iv + c);
                mass[at] = mass[n * (size_t)(bk->iv + c) + (size_t)bi->iv] =
                    mass[at] + v3_dot(rotor, y);
            }
        }
    }
}
static void torques(soa_work *w, const soai_inputs *in, double *tau) { /* (20) */
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        joint_project(k, &w->w, b, b->kind, b->nv, of(w, i, FORCE_X), tau + b->iv);
        for (int c = 0; c < b->nv; ++c)
            tau[b->iv + c] += k->dof[b->iv + c].armature * in->a[b->iv + c];
        if (has_rotor(b))
            for (int c = 0; c < 3; ++c)
                tau[b->iv] += k->dof[b->iv].rotor[c] *
                              (of(w, b->parent, LAMBDA_A)[c] + of(w, b->parent, LAMBDA_N)[c]);
    }
    step_losses(k, in->q, in->v, 1, tau);
}

soa_status soa_inverse_sums(const soa_model *m, soa_work *w, const soa_input *input, double *x,
                            double *lambda, double *mass, double *bias, double *tau) {
    if (!input) return SOA_E_ARGUMENT;
    soai_inputs in;
    const soa_status s = soai_enter_inverse(m, w, input, &in);
    if (s) return s;
    const soai_view_double *k = &w->view;
    double base[6];
    base_acceleration(k, base);
    w->k->kinematics(k, &w->w, in.q, in.v, w->zero); /* poses, V, n */
    for (int i = 1; i <= k->nb; ++i) {               /* the inputs of the sums: n and b */
        const soai_body_double *b = k->body + i;
        double *n = of(w, i, BIAS_N), y[6];
        memcpy(n, w->w.c + 6 * i, 6 * sizeof *n);
        if (!b->parent) {
            const soa_frame F = transition(w, 0, i);
            soa_frame_motion_to_child(&F, base, y);
            add(y, n);
        }
        step_bias_force(b, w->w.b[i].V, in.fext ? in.fext + 6 * (i - 1) : 0, of(w, i, FORCE_B));
        if (has_rotor(b)) {
            double t[3];
            v3_cross(w->w.b[b->parent].V, k->dof[b->iv].rotor, t);
            for (int c = 0; c < 3; ++c)
                of(w, b->parent, FORCE_B)[c] += t[c] * in.v[b->iv];
        }
    }
    costates(w, in.a);
    states(w, in.a);
    if (mass || bias) {
        double *tree = mass && m->nm ? w->matrix : mass;
        composites(w);
        mass_and_bias(w, tree, bias ? w->user : NULL);
        if (mass && m->nm) soai_user_matrix(w, tree, mass);
        if (bias) soai_user_torque(w, w->user, bias);
    }
    if (tau) {
        torques(w, &in, w->user);
        soai_user_torque(w, w->user, tau);
    }
    for (int i = 1; i <= k->nb; ++i)
        for (int c = 0; c < 6; ++c) {
            if (x) x[6 * (i - 1) + c] = of(w, i, FORCE_X)[c];
            if (lambda) lambda[6 * (i - 1) + c] = of(w, i, LAMBDA_A)[c] + of(w, i, LAMBDA_N)[c];
        }
    return SOA_OK;
}
