/* close_machine.c  the rows of constraints, and an embedding, as numbers of an operator machine, so
 *                  that closed chains can be written as operator expressions (soa/operator.h). */
#include "../operator/machine.h"
#include "../spatial/algebra.h"
#include "constraint_internal.h"
#include "soa/embedding.h"
#include <stdlib.h>

/* The wrench on a frame, given in world axes at its origin, in the frame's own axes. */
static void to_frame_axes(const soa_model *m, const soa_work *w, int frame, const double f[6],
                          double out[6]) {
    const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + frame;
    double body[6];
    for (int half = 0; half < 6; half += 3) {
        rot_tmul(w->w.Rw + 9 * row->body, f + half, body + half);
        rot_tmul(row->R, body + half, out + half);
    }
}
static soa_status close_with(soa_constraints *c, soa_work *w, const soa_input *in, soa_machine *m,
                             int rows) {
    const size_t nv = (size_t)c->model->nv;
    soa_row_wrench *term = calloc(2 * (size_t)rows + 1, sizeof *term);
    double *gamma = calloc((size_t)rows + 1, sizeof *gamma), *gears = NULL;
    int count = 0, ratios = 0;
    for (int r = 0; r < rows; ++r)
        ratios += c->list[c->owner[r]].def.kind == SOA_RATIO;
    if (ratios) gears = calloc((size_t)rows * nv + 1, sizeof *gears);
    soa_status s = term && gamma && (gears || !ratios) ? SOA_OK : SOA_E_MEMORY;
    for (int r = 0; !s && r < rows; ++r) {
        const soa_constraint_def *def = &c->list[c->owner[r]].def;
        gamma[r] = in->v ? c->row[r].gamma : 0;
        if (def->kind == SOA_RATIO) {
            memcpy(gears + nv * (size_t)r, c->G + nv * (size_t)r, nv * sizeof *gears);
            continue;
        }
        for (int side = 0; side < 2; ++side) {
            const int frame = side ? def->frame2 : def->frame1;
            if (!(SOAI_AT(c->model, soai_frame_row, frame) + frame)->body) continue;
            term[count] = (soa_row_wrench){.row = r, .frame = frame};
            to_frame_axes(c->model, w, frame, side ? c->row[r].force2 : c->row[r].force1,
                          term[count].wrench);
            ++count;
        }
    }
    if (!s) s = soa_machine_set_constraints(m, rows, term, count, gears, gamma);
    free(term);
    free(gamma);
    free(gears);
    return s;
}
soa_status soa_constraints_close_machine(soa_constraints *c, soa_work *w, const soa_input *input,
                                         soa_machine *machine) {
    if (!c || !w || !input || !machine || w->model != c->model || machine->model != c->model ||
        !(input->t - input->t == 0))
        return SOA_E_ARGUMENT;
    int rows = 0;
    const soa_status s =
        soai_constraint_evaluate(c, w, input->q, input->v ? input->v : w->zero, input->t, &rows);
    if (s) return s;
    if (c->inertias) return SOA_E_JOINT;
    soai_constraint_form(c, w, rows, c->G);
    return close_with(c, w, input, machine, rows);
}

soa_status soa_embedding_close_machine(soa_embedding *embedding, soa_work *w,
                                       const soa_input *primary, soa_machine *machine, double *q,
                                       double *v) {
    if (!embedding || !w || !primary || !machine || !q || w->model != machine->model)
        return SOA_E_ARGUMENT;
    const int n = soa_embedding_nv(embedding);
    const size_t nv = (size_t)machine->model->nv;
    double *E = calloc(nv * (size_t)n + 1, sizeof *E), *rest = calloc(nv + 1, sizeof *rest);
    soa_input at_rest = *primary;
    at_rest.a = NULL;
    soa_status s = E && rest ? SOA_OK : SOA_E_MEMORY;
    if (!s) s = soa_embedding_state(embedding, w, &at_rest, q, v, rest, E);
    if (!s) s = soa_machine_set_primary(machine, n, E, rest);
    free(E);
    free(rest);
    return s;
}
