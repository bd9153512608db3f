/* impulse.c  velocities after constraints have closed: v_after = v + M^-1 G'P,  G M^-1 G' P = -(G v
 *            + dg/dt).
 *
 * Impulses act in pairs between bodies, so the momentum of a machine that floats free does not
 * change.  O(n rows). */
#include "constraint_internal.h"
#include <math.h>

static soa_status closed_impulse(soa_constraints *c, soa_work *w, double t, const double *q,
                                 const double *v, double *v_after, double *P) {
    if (!c || !w || w->model != c->model || !v_after || !(t - t == 0)) return SOA_E_ARGUMENT;
    const int nv = c->model->nv;
    const soa_closed_options options = soa_closed_options_default();
    int rows = 0;
    soa_status s = soai_check_state(c->model, q, v, NULL, NULL, &w->body);
    if (s || (s = soai_constraint_evaluate(c, w, q, v, t, &rows))) return s;
    soai_constraint_form(c, w, rows, c->G);
    if ((s = soai_minv_prepare(w, q)) || (s = soai_cut_prepare(c, w))) return s;
    soai_columns(c, w, rows);
    gram g;
    soai_gram_factor(c, rows, &options, &g);
    for (int j = 0; j < nv; ++j)
        c->torque[j] = v ? v[j] : 0;
    for (int r = 0; r < rows; ++r)
        c->lambda[r] = 0;
    for (int pass = 0; pass < 2; ++pass) { /* the second takes back the first's rounding */
        for (int r = 0; r < rows; ++r) {
            c->right[r] = -c->row[r].drift;
            for (int j = 0; j < nv; ++j)
                c->right[r] -= c->G[(size_t)r * (size_t)nv + (size_t)j] * c->torque[j];
        }
        soai_gram_basic(c, &g, c->right, c->g);
        for (int r = 0; r < rows; ++r) {
            c->lambda[r] += c->g[r];
            for (int j = 0; j < nv; ++j)
                c->torque[j] += c->Y[(size_t)r * (size_t)nv + (size_t)j] * c->g[r];
        }
    }
    double speed = 1;
    for (int j = 0; j < nv; ++j)
        speed = fmax(speed, fmax(fabs(v ? v[j] : 0), fabs(c->torque[j])));
    for (int r = 0; r < rows; ++r) { /* drives that contradict each other */
        double rate = c->row[r].drift;
        for (int j = 0; j < nv; ++j)
            rate += c->G[(size_t)r * (size_t)nv + (size_t)j] * c->torque[j];
        if (!(fabs(rate) <= 1e-6 * speed)) return SOA_E_INCONSISTENT;
    }
    if (!(g.condition <= options.most_condition)) return SOA_E_SINGULAR;
    soai_gram_least(c, &g, c->lambda);
    memcpy(v_after, c->torque, (size_t)nv * sizeof *v_after);
    if (P) memcpy(P, c->lambda, (size_t)rows * sizeof *P);
    return SOA_OK;
}
soa_status soa_closed_impulse(soa_constraints *c, soa_work *w, double t, const double *q,
                              const double *v, double *v_after, double *P) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_impulse(c, w, t, q, v, v_after, P));
}
