/* close_machine.c  a grasp as numbers of an operator machine: contacts as rows of constraints, and
 *                  RK88-II's object with A, M(C), b(C) and the contacts' selection T. */
#include "../base/small_algebra.h"
#include "../operator/machine.h"
#include "../spatial/algebra.h"
#include "grasp_internal.h"
#include <stdlib.h>

/* Pose of a frame in the world. */
static soa_status pose_of(const soa_model *m, soa_work *w, int frame, soa_frame *out) {
    place at;
    const soa_frame here = soa_frame_identity();
    const soa_status s = soai_place_of(m, w, frame, &here, &at);
    memcpy(out->R, at.R, sizeof out->R);
    memcpy(out->p, at.p, sizeof out->p);
    return s;
}
/* b seen from a */
static soa_frame seen_from(const soa_frame *a, const soa_frame *b) {
    const soa_frame back = soa_frame_inverse(a);
    return soa_frame_compose(&back, b);
}

typedef struct closing {
    soa_grasp *g;
    soa_work *w;
    soa_machine *m;
    int frame_C, body; /* the object's */
    soa_frame C;       /* in the world */
    double *drift;     /* 6 per contact, contact axes: rates of V at vdot = 0 */
    soa_row_wrench *term;
    double *gamma, *gammao, *A, *T, M[36], b[6];
} closing;

/* Row by row: what a unit of it does to object and arm; gammac. */
static void contact_rows(closing *x) {
    const soa_grasp *g = x->g;
    int row = 0;
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        for (int r = 0; r < k->held; ++r, ++row) {
            for (int side = 0; side < 2; ++side) { /* of the arm, of the object */
                soa_row_wrench *t = x->term + 2 * row + side;
                *t = (soa_row_wrench){.row = row, .frame = k->frame[side]};
                soa_frame_force_to_parent(&k->at[side], k->T[r], t->wrench);
                for (int j = 0; j < 6 && !side; ++j)
                    t->wrench[j] = -t->wrench[j];
            }
            x->gamma[row] = soai_dot(6, k->T[r], x->drift + 6 * i);
        }
    }
}
/* Inertia and bias force of the object at C, in the axes of C. */
static soa_status object_at_C(closing *x) {
    const soai_view_double *view = &x->w->view;
    const soai_body_double *b = view->body + x->body;
    soa_frame body;
    memcpy(body.R, x->w->w.Rw + 9 * x->body, sizeof body.R);
    memcpy(body.p, x->w->w.pw + 3 * x->body, sizeof body.p);
    const soa_frame to_body = seen_from(&body, &x->C), to_C = soa_frame_inverse(&to_body);
    double V[6], h[6], f[6];
    for (int c = 0; c < 6; ++c) {
        double unit[6] = {0}, column[6];
        unit[c] = 1;
        soa_frame_motion_to_child(&to_C, unit, V); /* of C's axes to the body's */
        rigid_mul_k(b->M, V, h);
        soa_frame_force_to_parent(&to_C, h, column);
        for (int r = 0; r < 6; ++r)
            x->M[6 * r + c] = column[r];
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < r; ++c)
            x->M[6 * r + c] = x->M[6 * c + r];
    rigid_mul_k(b->M, x->w->w.b[x->body].V, h);
    soa_spatial_cross_force(x->w->w.b[x->body].V, h, f);
    soa_frame_force_to_parent(&to_C, f, x->b);
    return SOA_OK;
}
/* A and T of contact i, whose tip is the frame of its arm, and gammao of its rows from `row` on. */
static soa_status contact_tip(closing *x, int i, int row) {
    soa_grasp *g = x->g;
    const contact *k = g->list + g->on[i];
    const soai_frame_row *tip = SOAI_AT(g->model, soai_frame_row, frame) + k->def.arm;
    soa_frame pose, in_body;
    const soa_status s = pose_of(g->model, x->w, k->def.arm, &pose);
    if (s) return s;
    memcpy(in_body.R, tip->R, sizeof in_body.R);
    memcpy(in_body.p, tip->p, sizeof in_body.p);
    const soa_frame from_C = seen_from(&x->C, &pose), body_seen = soa_frame_inverse(&in_body);
    double object[6], arm[6], apart[6], Z[6];
    for (int c = 0; c < 6; ++c) {
        double unit[6] = {0}, column[6];
        unit[c] = 1;
        soa_frame_motion_to_child(&from_C, unit, column);
        for (int r = 0; r < 6; ++r)
            x->A[6 * (6 * i + r) + c] = column[r];
    }
    /* accelerations at vdot = 0, of the object and of the arm, both at the tip */
    soa_frame body;
    memcpy(body.R, x->w->w.Rw + 9 * x->body, sizeof body.R);
    memcpy(body.p, x->w->w.pw + 3 * x->body, sizeof body.p);
    const soa_frame tip_seen = seen_from(&body, &pose);
    soa_frame_motion_to_child(&tip_seen, x->w->w.b[x->body].A, object);
    soa_frame_motion_to_child(&in_body, x->w->w.b[k->body[0]].A, arm);
    for (int j = 0; j < 6; ++j)
        apart[j] = object[j] - arm[j];
    for (int r = 0; r < k->held; ++r) {
        double on_body[6];
        soa_frame_force_to_parent(&k->at[0], k->T[r], on_body);
        soa_frame_force_to_parent(&body_seen, on_body, Z); /* at the tip, in its axes */
        for (int j = 0; j < 6; ++j)
            x->T[(size_t)g->rows * (size_t)(6 * i + j) + (size_t)(row + r)] = Z[j];
        x->gammao[row + r] = x->gamma[row + r] - soai_dot(6, Z, apart);
    }
    return SOA_OK;
}
/* Is every contact between a tip of the machine, in order, and the body of C, which is one body on a
 * free joint? */
static int fits(const closing *x) {
    const soa_grasp *g = x->g;
    const soai_tips *tips = &x->m->tips;
    const soai_view_double *view = &x->w->view;
    if (!x->body || view->body[x->body].parent || view->body[x->body].nv != 6) return 0;
    for (int i = x->body + 1; i <= view->nb; ++i)
        if (view->body[i].parent == x->body) return 0;
    int fine = tips->count == g->count;
    for (int i = 0; fine && i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        const soai_frame_row *row = SOAI_AT(g->model, soai_frame_row, frame) + k->def.arm;
        fine = tips->body[i] == row->body && k->body[1] == x->body &&
               !memcmp(tips->R + 9 * i, row->R, sizeof row->R) &&
               !memcmp(tips->p + 3 * i, row->p, sizeof row->p);
    }
    return fine;
}
static soa_status close_object(closing *x) {
    soa_grasp *g = x->g;
    x->body = (SOAI_AT(g->model, soai_frame_row, frame) + x->frame_C)->body;
    if (!fits(x)) return SOA_E_ARGUMENT;
    soa_status s = pose_of(g->model, x->w, x->frame_C, &x->C);
    if (!s) s = object_at_C(x);
    for (int i = 0, row = 0; !s && i < g->count; ++i) {
        s = contact_tip(x, i, row);
        row += g->list[g->on[i]].held;
    }
    return s ? s : soa_machine_set_objects(x->m, 1, x->A, x->M, x->b, x->T, x->gammao);
}
soa_status soa_grasp_close_machine(soa_grasp *grasp, soa_work *work, const soa_input *input,
                                   int frame_C, soa_machine *machine) {
    if (!grasp || !work || !input || !machine || work->model != grasp->model ||
        machine->model != grasp->model || frame_C >= grasp->model->frames || input->wrench_count)
        return SOA_E_ARGUMENT;
    const size_t n = 6 * (size_t)grasp->count, rows = (size_t)grasp->rows;
    closing x = {.g = grasp, .w = work, .m = machine, .frame_C = frame_C};
    x.term = calloc(2 * rows + 1, sizeof *x.term);
    double *room = calloc(n + 2 * rows + 6 * n + n * rows + 1, sizeof *room);
    soa_status s = x.term && room ? SOA_OK : SOA_E_MEMORY;
    if (!s) {
        x.drift = room;
        x.gamma = x.drift + n;
        x.gammao = x.gamma + rows;
        x.A = x.gammao + rows;
        x.T = x.A + 6 * n;
        s = soai_grasp_evaluate(grasp, work, input->q, input->v, NULL, x.drift, NULL);
    }
    if (!s) {
        contact_rows(&x);
        s = soa_machine_set_constraints(machine, (int)rows, x.term, 2 * (int)rows, NULL, x.gamma);
    }
    if (!s && frame_C >= 0) s = close_object(&x);
    free(x.term);
    free(room);
    return s;
}
