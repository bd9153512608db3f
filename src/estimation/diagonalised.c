/* diagonalised.c  the innovations factors of the mass matrix and the diagonalised equations of
 *                 motion, RJK91 (11) to
 * (13) and section 6 (nu with phi, not the psi printed there).
 *
 * The sweeps stand in diagonalised.h.  Here: checks, the sum of all torques, and the order of
 * sweeps.  O(n) each. */
#include "../dynamics/work.h"
#include "soa/forms.h"

_Static_assert(SOA_FACTOR_ROOT_INVERSE_ADJOINT == 7, "the order of diagonalised.h");

/* Right model, no mimic joints, finite numbers; q NULL becomes the neutral one. */
static soa_status begin(const soa_model *m, soa_work *w, const double **q, const double *x,
                        const double *tau) {
    if (!m || !w || w->model != m) return SOA_E_ARGUMENT;
    if (m->nm) return SOA_E_MIMIC;
    const soa_status s = soai_check_state(m, *q, x, NULL, tau, &w->body);
    if (s) return s;
    soai_work_take(w);
    if (!*q) *q = w->neutral_q;
    return SOA_OK;
}
static soa_status articulate(soa_work *w, const double *q) {
    const int body = soai_work_articulate(w, q);
    if (!body) return SOA_OK;
    w->body = body;
    return SOA_E_HINGE_SINGULAR;
}
static void apply(soa_work *w, soa_factor factor, const double *x, double *y) {
    w->k->factor_mul(&w->view, &w->w, (int)factor, x, y);
}

soa_status soa_mass_factor_mul(const soa_model *m, soa_work *w, const double *q, soa_factor factor,
                               const double *x, double *y) {
    soa_status s = begin(m, w, &q, x, NULL);
    if (s == SOA_OK && (!x || !y || (unsigned)factor > SOA_FACTOR_ROOT_INVERSE_ADJOINT))
        s = SOA_E_ARGUMENT;
    if (s || (s = articulate(w, q))) return s;
    apply(w, factor, x, y);
    return SOA_OK;
}

/* nu = C*(I + H phi K)* v */
soa_status soa_nu_from_v(const soa_model *m, soa_work *w, const double *q, const double *v,
                         double *nu) {
    soa_status s = begin(m, w, &q, v, NULL);
    if (s == SOA_OK && !nu) s = SOA_E_ARGUMENT;
    if (s || (s = articulate(w, q))) return s;
    apply(w, SOA_FACTOR_L_ADJOINT, v ? v : w->zero, nu);
    apply(w, SOA_FACTOR_ROOT_ADJOINT, nu, nu);
    return SOA_OK;
}
/* v = (I - H psi K)* C*^-1 nu */
soa_status soa_nu_to_v(const soa_model *m, soa_work *w, const double *q, const double *nu,
                       double *v) {
    soa_status s = begin(m, w, &q, nu, NULL);
    if (s == SOA_OK && (!nu || !v)) s = SOA_E_ARGUMENT;
    if (s || (s = articulate(w, q))) return s;
    apply(w, SOA_FACTOR_ROOT_INVERSE_ADJOINT, nu, v);
    apply(w, SOA_FACTOR_L_INVERSE_ADJOINT, v, v);
    return SOA_OK;
}
soa_status soa_nu_bias(const soa_model *m, soa_work *w, const double *q, const double *nu,
                       double *mu) {
    soa_status s = begin(m, w, &q, nu, NULL);
    if (s == SOA_OK && (!nu || !mu)) s = SOA_E_ARGUMENT;
    if (s || (s = articulate(w, q))) return s;
    w->k->diagonal_bias(&w->view, &w->w, nu, w->tv, mu);
    return SOA_OK;
}

/* T = tau - friction(v) - at_rest, in place of at_rest, which is the torque that holds the machine
 * still under gravity, springs and wrenches. */
static void all_torques(const soa_work *w, const double *v, const double *tau, double *at_rest) {
    for (int j = 0; j < w->view.nv; ++j) {
        const soai_dof_double *d = w->view.dof + j;
        const double x = v ? v[j] : 0;
        double coulomb;
        if (x > 0) {
            coulomb = d->friction_positive;
        } else if (x < 0) {
            coulomb = -d->friction_negative;
        } else {
            coulomb = 0;
        }
        at_rest[j] = (tau ? tau[j] : 0) - (d->damping * x + coulomb) - at_rest[j];
    }
}
/* Leaves in w->tt the torques at rest under wrenches, and articulated inertias. */
static soa_status rest_and_articulate(const soa_model *m, soa_work *w, const double *q,
                                      const soa_input *input) {
    soa_status s = soa_rnea(m, w, q, NULL, NULL, input->wrenches, input->wrench_count, w->tt);
    if (s || (s = articulate(w, q))) return s;
    soai_work_take(w);
    return SOA_OK;
}
soa_status soa_nu_force(const soa_model *m, soa_work *w, const soa_input *input, double *eps) {
    if (!input) return SOA_E_ARGUMENT;
    const double *q = input->q;
    soa_status s = begin(m, w, &q, input->v, input->tau);
    if (s == SOA_OK && !eps) s = SOA_E_ARGUMENT;
    if (s || (s = rest_and_articulate(m, w, q, input))) return s;
    all_torques(w, input->v, input->tau, w->tt);
    apply(w, SOA_FACTOR_L_INVERSE, w->tt, eps);
    apply(w, SOA_FACTOR_ROOT_INVERSE, eps, eps);
    return SOA_OK;
}
soa_status soa_nu_rate(const soa_model *m, soa_work *w, const soa_input *input, const double *nu,
                       double *v, double *nu_rate) {
    if (!input) return SOA_E_ARGUMENT;
    const double *q = input->q;
    soa_status s = begin(m, w, &q, nu, input->tau);
    if (s == SOA_OK && (!nu || !v || !nu_rate)) s = SOA_E_ARGUMENT;
    if (s || (s = rest_and_articulate(m, w, q, input))) return s;
    w->k->diagonal_bias(&w->view, &w->w, nu, v, w->ta); /* mu */
    all_torques(w, v, input->tau, w->tt);
    apply(w, SOA_FACTOR_L_INVERSE, w->tt, w->tt);
    apply(w, SOA_FACTOR_ROOT_INVERSE, w->tt, w->tt);
    for (int j = 0; j < m->nv; ++j)
        nu_rate[j] = w->tt[j] - w->ta[j];
    return SOA_OK;
}
