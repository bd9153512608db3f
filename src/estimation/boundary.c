/* boundary.c  R87's two-point boundary problem (16) to (21) for any two conditions at base and tip.
 *
 *     x(k) = sum over children of phi x + M(k) lambda(k) + b(k)        (16), (17)     tips to base
 *     lambda(k) = phi' lambda(parent) + H' a(k) + n(k)                 (18), (19)     base to tips
 *     tau(k) = H x(k)                                                  (20)
 * The base link is body 0: lambda(0) is its acceleration, x(0) = phi x(roots) + M(0) lambda(0) +
 * b(0) the force on it.
 *
 * Accelerations given: all lambda follow from one of them and all x from one of them,
 *     lambda(tip) = phi'(base, tip) lambda(0) + c,    x(0) = r lambda(0) + s - phi(base, tip)
 *     f(tip),
 * so one run of the recursions with lambda(0) = f(tip) = 0 gives c and s, (29) gives r, and a
 * second run the answer.  Torques given: the filter (35) to (43), run on into the base, gives x(0)
 * = z(0) + P(0) lambda(0), (34).  Base force given: lambda(0) = P(0)^-1 (x(0) - z(0)) starts the
 * smoother.  Tip acceleration given: the tip's compliance Delta+(0) of (81), started at the base
 * with 0 or, if that floats, P(0)^-1, gives f(tip); filter and smoother run again with it.
 * Gravity: lambda - [0; g] takes the place of lambda in the sweeps.  O(n). */
#include "estimation_internal.h"

typedef struct problem {
    soa_work *w;
    const soai_view_double *k;
    const double *v, *given; /* tree coordinates; torques less friction and springs */
    const soa_boundary *ends;
    int tip_body;
    soa_frame tip;        /* in its body */
    double P0[36], z0[6]; /* of the base, torques given */
} problem;

/* Poses, V, n (in c) and b less wrenches (in f) of all bodies, the base's own b, with rotors.  (7),
 * (11), (12), (15) */
static void velocities(const problem *p) {
    const soai_view_double *k = p->k;
    kernel_work *w = &p->w->w;
    double h[6];
    memcpy(w->b[0].V, p->ends->base_velocity, 6 * sizeof(double));
    rigid_mul_k(p->ends->base_inertia, w->b[0].V, h);
    cross_force(w->b[0].V, h, w->b[0].f);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        double V[6], *in = w->b[b->parent].f;
        motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].V, V);
        joint_add(k, w, b, b->kind, b->nv, p->v + b->iv, V);
        memcpy(w->b[i].V, V, sizeof V);
        step_bias(k, w, b, b->kind, b->nv, V, p->v + b->iv, w->c + 6 * i);
        step_bias_force(b, V, p->w->fext + 6 * (i - 1), w->b[i].f);
        if (b->rotor) { /* w x r v on the carrier, the base too */
            double t[3];
            v3_cross(w->b[b->parent].V, k->dof[b->iv].rotor, t);
            for (int j = 0; j < 3; ++j)
                in[j] += t[j] * p->v[b->iv];
        }
    }
}
static void set_base(const problem *p, const double acceleration[6]) {
    double g[6];
    base_acceleration(p->k, g);
    for (int j = 0; j < 6; ++j)
        p->w->w.b[0].A[j] = acceleration[j] + g[j];
}
/* x(0), which lacks the base link's own M lambda until now */
static void finish_base(const problem *p, double force[6]) {
    double f[6];
    rigid_mul_k(p->ends->base_inertia, p->w->w.b[0].A, f);
    for (int j = 0; j < 6; ++j)
        force[j] = f[j] + p->w->w.b[0].f[j];
}

/* (16) to (20) with joint accelerations given, from the base's acceleration; tau may be NULL. */
static void run_inverse(const problem *p, const double base_acceleration[6], double *tau) {
    const soai_view_double *k = p->k;
    kernel_work *w = &p->w->w;
    velocities(p);
    set_base(p, base_acceleration);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        double f[6], *A = w->b[i].A;
        motion_out(w->b[i].R, w->b[i].p, w->b[b->parent].A, A);
        v6_add_scaled(1, w->c + 6 * i, A);
        joint_add(k, w, b, b->kind, b->nv, p->given + b->iv, A);
        rigid_mul_k(b->M, A, f);
        v6_add_scaled(1, f, w->b[i].f);
        for (int j = 0; b->rotor && j < 3; ++j)
            w->b[b->parent].f[j] += k->dof[b->iv].rotor[j] * p->given[b->iv];
    }
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        if (tau) {
            joint_project(k, w, b, b->kind, b->nv, w->b[i].f, tau + b->iv);
            for (int c = 0; c < b->nv; ++c)
                tau[b->iv + c] += k->dof[b->iv + c].armature * p->given[b->iv + c];
            if (b->rotor) tau[b->iv] += v3_dot(k->dof[b->iv].rotor, w->b[b->parent].A);
        }
        force_in_add(w->b[i].R, w->b[i].p, w->b[i].f, w->b[b->parent].f);
    }
}
/* (29): the composite inertia that the base link feels, its own included */
static void composite(const problem *p, double r[36]) {
    const soai_view_double *k = p->k;
    kernel_work *w = &p->w->w;
    rigid_set(p->ends->base_inertia, w->b[0].P);
    for (int i = 1; i <= k->nb; ++i)
        rigid_set(k->body[i].M, w->b[i].P);
    for (int i = k->nb; i >= 1; --i) {
        double *in = w->b[k->body[i].parent].P;
        rigid_in_add(w->b[i].R, w->b[i].p, w->b[i].P, in, in);
    }
    six_rigid(w->b[0].P, r);
}

/* The filter, run on into the base: P0, z0.  0 or the body whose joint moves nothing. */
static int run_filter(problem *p) {
    const soai_view_double *k = p->k;
    kernel_work *w = &p->w->w;
    velocities(p);
    for (int i = 1; i <= k->nb; ++i)
        if (!k->body[i].child) abi_set(k->body[i].M, w->b[i].P);
    six_rigid(p->ends->base_inertia, p->P0);
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        if (!soai_filter_body(k, w, i, p->v, p->given)) return i;
        if (b->parent) continue;
        /* what the filter leaves out for root bodies */
        double P[36], G[36], after[36], X[36], T[36], Y[36], z[6];
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                P[6 * r + c] = abi_entry(w->b[i].P, r, c);
        soai_gain_and_update(p->w, b, P, G, after);
        six_mul(after, w->c + 6 * i, z);
        for (int r = 0; r < 6; ++r) {
            z[r] += w->b[i].f[r];
            for (int c = 0; c < b->nv; ++c)
                z[r] += G[b->nv * r + c] * w->e[b->iv + c];
        }
        force_in_add(w->b[i].R, w->b[i].p, z, w->b[0].f);
        six_phi(w->b[i].R, w->b[i].p, X);
        six_six(X, after, T);
        six_six_t(T, X, Y);
        for (int c = 0; c < 36; ++c)
            p->P0[c] += Y[c];
    }
    six_mirror(p->P0);
    memcpy(p->z0, w->b[0].f, sizeof p->z0);
    return 0;
}
/* The smoother from the base's acceleration, or from the force on it; 0 if that does not determine
 * the acceleration. */
static int run_smoother(problem *p, double base_acceleration[6], double *a) {
    const soai_view_double *k = p->k;
    kernel_work *w = &p->w->w;
    if (p->ends->given & SOA_BASE_FORCE) {
        double x[6];
        for (int j = 0; j < 6; ++j)
            x[j] = p->ends->base_force[j] - p->z0[j];
        if (!six_solve(p->P0, x, 1)) return 0;
        for (int j = 0; j < 6; ++j)
            base_acceleration[j] = x[j] + (j < 3 ? 0 : k->gravity[j - 3]);
    }
    set_base(p, base_acceleration);
    for (int i = 1; i <= k->nb; ++i)
        soai_smooth_body(k, w, i, p->v, a);
    return 1;
}

/* True acceleration of the tip frame: body's lambda without gravity, moved and turned. */
static void tip_acceleration(const problem *p, double out[6]) {
    double g[6] = {0}, A[6];
    memcpy(g + 3, p->k->gravity, 3 * sizeof(double));
    memcpy(A, p->w->w.b[p->tip_body].A, sizeof A);
    if (p->tip_body) rot_tmul(p->w->w.Rw + 9 * (size_t)p->tip_body, g + 3, g + 3);
    v6_add_scaled(1, g, A);
    soa_frame_motion_to_child(&p->tip, A, out);
}
static void add_tip_force(const problem *p, const double f[6]) {
    double y[6];
    if (!p->tip_body) return;
    soa_frame_force_to_parent(&p->tip, f, y);
    v6_add_scaled(1, y, p->w->fext + 6 * (p->tip_body - 1));
}
/* Pose of the tip in the base. */
static soa_frame tip_pose(const problem *p) {
    soa_frame F;
    memcpy(F.R, p->w->w.Rw + 9 * (size_t)p->tip_body, sizeof F.R);
    memcpy(F.p, p->w->w.pw + 3 * (size_t)p->tip_body, sizeof F.p);
    return soa_frame_compose(&F, &p->tip);
}

/* Fills the two missing six-vectors of `out` (a copy of ends) and leaves the last run in the work
 * space. */
static soa_status solve_inverse(const problem *p, soa_boundary *out, double *tau) {
    const int given = p->ends->given;
    double c[6], s[6], zero[6] = {0};
    const soa_frame X = p->tip_body ? tip_pose(p) : soa_frame_identity(),
                    back = soa_frame_inverse(&X);
    if (given & SOA_TIP_FORCE) add_tip_force(p, out->tip_force);
    if (!(given & SOA_BASE_ACCELERATION)) {
        run_inverse(p, zero, NULL);
        if (given & SOA_TIP_ACCELERATION) { /* lambda(0) = phi'^-1 (lambda(tip) - c) */
            tip_acceleration(p, c);
            for (int j = 0; j < 6; ++j)
                c[j] = out->tip_acceleration[j] - c[j];
            soa_frame_motion_to_child(&back, c, out->base_acceleration);
        } else { /* r lambda(0) = x(0) - s, the tip's force being in s */
            double r[36];
            finish_base(p, s);
            for (int j = 0; j < 6; ++j)
                s[j] = out->base_force[j] - s[j];
            composite(p, r);
            if (!six_solve(r, s, 1)) return SOA_E_SINGULAR;
            memcpy(out->base_acceleration, s, sizeof s);
        }
    }
    if (!(given & SOA_TIP_FORCE)) { /* phi f(tip) = x(0) with f(tip) = 0, less x(0) */
        run_inverse(p, out->base_acceleration, NULL);
        finish_base(p, s);
        for (int j = 0; j < 6; ++j)
            s[j] -= out->base_force[j];
        soa_frame_force_to_parent(&back, s, out->tip_force);
        add_tip_force(p, out->tip_force);
    }
    run_inverse(p, out->base_acceleration, tau);
    return SOA_OK;
}
static soa_status solve_forward(problem *p, soa_boundary *out, double *a) {
    const int given = p->ends->given;
    if (given & SOA_TIP_FORCE) add_tip_force(p, out->tip_force);
    int bad = run_filter(p);
    if (bad) {
        p->w->body = bad;
        return SOA_E_HINGE_SINGULAR;
    }
    if (!run_smoother(p, out->base_acceleration, a)) return SOA_E_SINGULAR;
    if (given & SOA_TIP_ACCELERATION) {
        double base[36] = {0}, Omega[36], e[6], x[6], y[6];
        for (int c = 0; given & SOA_BASE_FORCE && c < 6; ++c)
            base[7 * c] = 1;
        if (given & SOA_BASE_FORCE && !six_solve(p->P0, base, 6)) return SOA_E_SINGULAR;
        soai_costate_covariance(p->w, base);
        for (int c = 0; c < 6; ++c) { /* (81) once more, from the body to its tip */
            v6_zero(e);
            e[c] = 1;
            soa_frame_force_to_parent(&p->tip, e, x);
            six_mul(p->w->w.E + 36 * (size_t)p->tip_body, x, y);
            soa_frame_motion_to_child(&p->tip, y, Omega + 6 * c);
        }
        tip_acceleration(p, x);
        for (int j = 0; j < 6; ++j)
            x[j] = out->tip_acceleration[j] - x[j];
        if (!six_solve(Omega, x, 1)) return SOA_E_SINGULAR;
        memcpy(out->tip_force, x, sizeof x);
        add_tip_force(p, x);
        run_filter(p);
        if (!run_smoother(p, out->base_acceleration, a)) return SOA_E_SINGULAR;
    }
    for (int i = 1; i <= p->k->nb; ++i) { /* (34): x = z + P lambda */
        double x[6];
        abi_mul(p->w->w.b[i].P, p->w->w.b[i].A, x);
        v6_add_scaled(1, x, p->w->w.b[i].f);
    }
    six_mul(p->P0, p->w->w.b[0].A, out->base_force);
    v6_add_scaled(1, p->z0, out->base_force);
    return SOA_OK;
}

static int bits(int x) {
    return (x & 1) + (x >> 1 & 1) + (x >> 2 & 1) + (x >> 3 & 1);
}
static soa_status check(const soa_model *m, const soa_boundary *e) {
    const int base = SOA_BASE_ACCELERATION | SOA_BASE_FORCE,
              accelerations = SOA_BASE_ACCELERATION | SOA_TIP_ACCELERATION;
    if (e->given < 0 || e->given > 15 || bits(e->given) != 2 || e->tip < 0 || e->tip >= m->frames)
        return SOA_E_ARGUMENT;
    if (e->torques ? bits(e->given & base) != 1 : e->given == accelerations) return SOA_E_ARGUMENT;
    const int tip_body = SOAI_AT(m, soai_frame_row, frame)[e->tip].body;
    if (!tip_body && (e->tip || !(e->given & SOA_TIP_FORCE))) return SOA_E_ARGUMENT;
    if (e->torques && m->nm) return SOA_E_MIMIC;
    const double *six[] = {e->base_velocity,
                           e->given & SOA_BASE_ACCELERATION ? e->base_acceleration : NULL,
                           e->given & SOA_BASE_FORCE ? e->base_force : NULL,
                           e->given & SOA_TIP_FORCE ? e->tip_force : NULL,
                           e->given & SOA_TIP_ACCELERATION ? e->tip_acceleration : NULL};
    for (int i = 0; i < 5; ++i)
        if (six[i] && !soai_all_finite(six[i], 6)) return SOA_E_NOT_FINITE;
    return soai_all_finite(e->base_inertia, 10) ? SOA_OK : SOA_E_NOT_FINITE;
}

soa_status soa_boundary_problem(const soa_model *m, soa_work *w, const soa_input *input,
                                const double *given, soa_boundary *ends, double *found, double *x,
                                double *lambda) {
    if (!input || !m || !ends || !found) return SOA_E_ARGUMENT;
    soa_boundary e = *ends, out;
    if (!e.given) e.given = SOA_BASE_ACCELERATION | SOA_TIP_FORCE;
    soa_status s = check(m, &e);
    if (s) return s;
    soai_inputs in;
    soa_input all = *input;
    all.a = given;
    all.tau = given;
    s = e.torques ? soai_enter_forward(m, w, &all, &in) : soai_enter_inverse(m, w, &all, &in);
    if (s) return s;
    const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + e.tip;
    problem p = {
        .w = w, .k = &w->view, .v = in.v, .given = in.a, .ends = &e, .tip_body = row->body};
    memcpy(p.tip.R, row->R, sizeof row->R);
    memcpy(p.tip.p, row->p, sizeof row->p);
    if (!in.fext) memset(w->fext, 0, 6 * (size_t)m->nb * sizeof(double));
    positions(&w->view, &w->w, in.q);
    for (int i = 1; i <= m->nb; ++i)
        step_pose(&w->view, &w->w, i);
    double *tree = w->user;
    out = e;
    if (e.torques) {
        if (in.tau != w->tt) memcpy(w->tt, in.tau, (size_t)m->tv * sizeof(double));
        step_losses(&w->view, in.q, in.v, -1, w->tt);
        p.given = w->tt;
        s = solve_forward(&p, &out, tree);
    } else {
        s = solve_inverse(&p, &out, tree);
        if (s == SOA_OK) step_losses(&w->view, in.q, in.v, 1, tree);
    }
    if (s) return s;
    if (!e.torques && !(e.given & SOA_BASE_FORCE)) finish_base(&p, out.base_force);
    if (!(e.given & SOA_TIP_ACCELERATION)) tip_acceleration(&p, out.tip_acceleration);
    /* ... only what was not given is written back */
    if (!(e.given & SOA_BASE_ACCELERATION))
        memcpy(ends->base_acceleration, out.base_acceleration, sizeof out.base_acceleration);
    if (!(e.given & SOA_BASE_FORCE))
        memcpy(ends->base_force, out.base_force, sizeof out.base_force);
    if (!(e.given & SOA_TIP_FORCE)) memcpy(ends->tip_force, out.tip_force, sizeof out.tip_force);
    if (!(e.given & SOA_TIP_ACCELERATION))
        memcpy(ends->tip_acceleration, out.tip_acceleration, sizeof out.tip_acceleration);
    for (int i = 1; i <= m->nb; ++i) {
        double g[3];
        rot_tmul(w->w.Rw + 9 * (size_t)i, m->gravity, g);
        for (int j = 0; j < 6; ++j) {
            if (x) x[6 * (i - 1) + j] = w->w.b[i].f[j];
            if (lambda) lambda[6 * (i - 1) + j] = w->w.b[i].A[j] + (j < 3 ? 0 : g[j - 3]);
        }
    }
    if (e.torques)
        soai_user_motion(w, tree, found);
    else
        soai_user_torque(w, tree, found);
    return SOA_OK;
}
