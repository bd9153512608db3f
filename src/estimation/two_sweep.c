/* two_sweep.c  forward dynamics of serial chains in two sweeps: the call around
 *              src/sweep/two_sweep.h. */
#include "../dynamics/work.h"
#include "soa/forms.h"

/* A body that carries two, or 0. */
static int branching_body(const soa_work *w) {
    for (int i = 1; i <= w->view.nb; ++i) {
        const int parent = w->view.body[i].parent;
        if (parent && w->view.body[parent].child != i) return parent;
    }
    return 0;
}

/* C of a body, in the frame chosen for it, as the compliance of a frame on it. */
static void compliance_of_frame(soa_work *w, const double *q, const soai_frame_row *frame,
                                soa_axes axes, double out[36]) {
    const int body = frame->body;
    const soai_frame *chosen = w->frames + body;
    double C[36];
    double R[9]; /* the axes wanted, as columns in the chosen ones */
    double p[3]; /* the frame's origin from the chosen one, chosen axes */
    w->k->two_sweep_compliance(&w->w, body, C);
    rot_tmul(chosen->axes, frame->p, p);
    for (int j = 0; j < 3; ++j)
        p[j] -= chosen->origin[j];
    double wanted[9]; /* the same in body axes */
    memcpy(wanted, frame->R, sizeof wanted);
    if (axes == SOA_AXES_WORLD) {
        w->k->kinematics(&w->view, &w->w, q, w->zero, w->zero);
        for (int j = 0; j < 9; ++j)
            wanted[j] = w->w.Rw[9 * body + 3 * (j % 3) + j / 3];
    }
    double back[9];
    for (int j = 0; j < 9; ++j)
        back[j] = chosen->axes[3 * (j % 3) + j / 3];
    rot_rot(back, wanted, R);
    for (int half = 0; half < 2; ++half) { /* C is symmetric: rows, transposed, rows again */
        double next[36];
        for (int r = 0; r < 6; ++r) {
            double row[6];
            motion_out(R, p, C + 6 * r, row);
            for (int c = 0; c < 6; ++c)
                next[6 * c + r] = row[c];
        }
        memcpy(C, next, sizeof C);
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            out[6 * r + c] = (C[6 * r + c] + C[6 * c + r]) / 2;
}

soa_status soa_fd_two_sweep(const soa_model *m, soa_work *w, const soa_input *input, int frame,
                            soa_axes axes, double *qdd, double *compliance) {
    soai_inputs in;
    if (!m || !w || w->model != m || !input || !qdd) return SOA_E_ARGUMENT;
    if (compliance && (frame < 0 || frame >= m->frames || !soai_is_axes(axes)))
        return SOA_E_ARGUMENT;
    soa_status s = soai_enter_forward(m, w, input, &in);
    if (s) return s;
    if (m->nm) return SOA_E_MIMIC;
    const int branching = branching_body(w);
    if (branching) {
        w->body = branching;
        return SOA_E_BRANCHED;
    }
    const soai_frame_row *row = compliance ? SOAI_AT(m, soai_frame_row, frame) + frame : NULL;
    if (row && (!row->body || w->view.body[row->body].child)) {
        w->body = row->body;
        return SOA_E_ARGUMENT;
    }
    const double *fext = soai_wrenches_to_chosen(w, in.fext ? w->fext : NULL);
    const int bad = w->k->two_sweep(&w->aligned, &w->w, w->factors, in.q, in.v, in.tau, fext, qdd);
    if (bad) {
        w->body = bad;
        return SOA_E_HINGE_SINGULAR;
    }
    if (row) compliance_of_frame(w, in.q, row, axes, compliance);
    return SOA_OK;
}
