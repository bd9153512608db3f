/* acceleration_parts.c  R87 (69), (70): what joint moments, bias forces and bias accelerations each
 *                       do to the joints.
 *
 * R87 (70) gives the three as sums over the transition matrix psi of the filter.  The same in O(n):
 * the filter and the smoother are linear in tau, b and n, so they run once for each with the other
 * two zero; P, U, D are made once.
 *   n    inward ARTICULATE INNOVATE BIAS, outward    with tau = b = 0, base at rest
 *   b    inward INNOVATE, outward                    with tau = n = 0, gravity as the base's
 *        acceleration
 *   tau  inward INNOVATE, outward                    with b = n = 0 */
#include "estimation_internal.h"

/* The filter that makes P, U, D, without torques and with no z yet; 0, or a body. */
static int filter(soa_work *w, const double *v) {
    const soai_view_double *k = &w->view;
    for (int i = 0; i <= k->nb; ++i)
        v6_zero(w->w.b[i].f);
    for (int i = k->nb; i >= 1; --i)
        if (!soai_filter_body(k, &w->w, i, v, w->zero)) return i;
    return 0;
}
/* The base's acceleration has been set. */
static void smooth(soa_work *w, const double *v, double *out) {
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i)
        soai_smooth_body(k, &w->w, i, v, out);
}

soa_status soa_acceleration_parts(const soa_model *m, soa_work *w, const soa_input *input,
                                  double *a1, double *a2, double *a3) {
    soai_inputs in;
    if (!input || !a1 || !a2 || !a3) return SOA_E_ARGUMENT;
    const soa_status s = soai_enter_forward(m, w, input, &in);
    if (s) return s;
    const soai_view_double *k = &w->view;
    const size_t n = (size_t)m->tv;
    double *part[3] = {w->wide, w->wide + n, w->wide + 2 * n}, *user[3] = {a1, a2, a3};
    positions(k, &w->w, in.q);
    v6_zero(w->w.b[0].V);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        double V[6];
        step_velocity(k, &w->w, b, i, b->kind, b->nv, in.v, V);
        if (!b->child) abi_set(b->M, w->w.b[i].P);
    }
    const int bad = filter(w, in.v);
    if (bad) {
        w->body = bad;
        return SOA_E_HINGE_SINGULAR;
    }
    v6_zero(w->w.b[0].A);
    smooth(w, in.v, part[2]);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        step_bias_force(b, w->w.b[i].V, in.fext ? in.fext + 6 * (i - 1) : 0, w->w.b[i].f);
        step_rotor_gyro(k, b, in.v, w->w.b[b->parent].V, w->w.b[b->parent].f);
    }
    base_acceleration(k, w->w.b[0].A);
    w->k->minv_filter(k, &w->w, w->zero);
    smooth(w, w->zero, part[1]); /* with v = 0 the smoother's own n is zero */
    if (k->nm && mimic_prepare(k, &w->w)) {
        w->body = k->nb;
        return SOA_E_HINGE_SINGULAR;
    }
    memcpy(w->user, in.tau, n * sizeof *w->user);
    step_losses(k, in.q, in.v, -1, w->user);
    w->k->minv_mul(k, &w->w, w->user, part[0]); /* with the projection on mimic joints */
    if (k->nm) {
        mimic_project(k, &w->w, part[1]);
        mimic_project(k, &w->w, part[2]);
    }
    for (int j = 0; j < 3; ++j)
        soai_user_motion(w, part[j], user[j]);
    return SOA_OK;
}
