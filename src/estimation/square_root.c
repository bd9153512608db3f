/* square_root.c  forward dynamics with factored inertias: the calls around src/sweep/ud.h. */
#include "../dynamics/work.h"
#include "soa/forms.h"

/* What the factors cannot: mimic joints, exact rotors. */
static soa_status refused(soa_work *w) {
    for (int i = 1; i <= w->view.nb; ++i) {
        const int mimic = soai_metas(w->model)[i].leader >= 0;
        if (!mimic && !w->view.body[i].rotor) continue;
        w->body = i;
        return mimic ? SOA_E_MIMIC : SOA_E_JOINT;
    }
    return SOA_OK;
}
static soa_status hinge(soa_work *w, int body) {
    if (!body) return SOA_OK;
    w->body = body;
    return SOA_E_HINGE_SINGULAR;
}

soa_status soa_fd_ud(const soa_model *m, soa_work *w, const soa_input *input, double *qdd) {
    soai_inputs in;
    if (!m || !w || w->model != m || !input || !qdd) return SOA_E_ARGUMENT;
    soa_status s = soai_forward_inputs(m, w, input, &in);
    if (s) return s;
    const double *fext = soai_wrenches_to_chosen(w, in.fext ? w->fext : NULL);
    return hinge(w, w->k->aba_ud(&w->aligned, &w->w, w->factors, in.q, in.v, in.tau, fext, qdd));
}

soa_status soa_fd_ud_f(const soa_model *m, soa_work *w, const float *q, const float *v,
                       const float *tau, const float *fext, float *qdd) {
    if (!m || !w || w->model != m || !q || !qdd) return SOA_E_ARGUMENT;
    soa_status s = soai_check_state_f(m, q, v, tau, NULL, &w->body);
    if (s || (s = refused(w))) return s;
    for (int i = 1; fext && i <= m->nb; ++i) {
        double f[6];
        for (int j = 0; j < 6; ++j)
            f[j] = fext[6 * (i - 1) + j];
        if (!soai_all_finite(f, 6)) {
            w->body = i;
            return SOA_E_NOT_FINITE;
        }
        soai_wrench_to_chosen(w->frames + i, f, f);
        for (int j = 0; j < 6; ++j)
            w->fext_f[6 * (i - 1) + j] = (float)f[j];
    }
    return hinge(w, w->kf->aba_ud(&w->aligned_f, w->w_f, w->factors_f, q, v ? v : w->zero_f,
                                  tau ? tau : w->zero_f, fext ? w->fext_f : NULL, qdd));
}
