/* direction.c  the direction in which expressions are differentiated, on a machine: its vectors, the
 *              recursions of dP and dMc, and Jacobians column by column. */
#include "plan.h"
#include <stdlib.h>

void soai_direction_free(soa_machine *m) {
    free(m->dq);
    free(m->dthd);
    free(m->dthdd);
    free(m->dtorque);
    free(m->df0);
    free(m->wrench_turn);
    free(m->dP);
    free(m->dMc);
}
int soai_direction_create(soa_machine *m) {
    const size_t nv = (size_t)m->model->tv + 1;
    const size_t blocks = 36 * ((size_t)m->model->nb + 1);
    m->dq = soai_zeroed(nv, sizeof(double));
    m->dthd = soai_zeroed(nv, sizeof(double));
    m->dthdd = soai_zeroed(nv, sizeof(double));
    m->dtorque = soai_zeroed(nv, sizeof(double));
    m->df0 = soai_zeroed(6 * (size_t)m->tips.count + 1, sizeof(double));
    m->wrench_turn = soai_zeroed(blocks, sizeof(double));
    m->dP = soai_zeroed(blocks, sizeof(double));
    m->dMc = soai_zeroed(blocks, sizeof(double));
    return m->dq && m->dthd && m->dthdd && m->dtorque && m->df0 && m->wrench_turn && m->dP &&
           m->dMc;
}

soa_status soa_machine_set_direction(soa_machine *m, const double *dq, const double *dv,
                                     const double *da, const double *dtau, const double *df0) {
    if (!m) return SOA_E_ARGUMENT;
    const size_t nv = (size_t)m->model->nv, tips = 6 * (size_t)m->tips.count;
    const double *from[] = {dq, dv, da, dtau, df0};
    double *to[] = {m->dq, m->dthd, m->dthdd, m->dtorque, m->df0};
    for (int i = 0; i < 5; ++i)
        if (from[i] && !soai_all_finite(from[i], i < 4 ? nv : tips)) return SOA_E_NOT_FINITE;
    for (int i = 0; i < 5; ++i) {
        if (i < 3)
            soai_to_tree(m, from[i], to[i]);
        else if (i < 4)
            soai_torque_to_tree(m, from[i], to[i]);
        else if (from[i])
            memmove(to[i], from[i], tips * sizeof(double));
        else
            memset(to[i], 0, tips * sizeof(double));
    }
    m->changed_P = m->changed_Mc = 0;
    return SOA_OK;
}

/* Turning by w changes a vector x that is fixed in the world by x x w in body axes. */
void soai_turning_wrench(double block[36], const double couple[3], const double force[3],
                         const double point[3]) {
    for (int c = 0; c < 3; ++c) {
        double w[3] = {0}, dn[3], df[3];
        w[c] = 1;
        v3_cross(couple, w, dn);
        v3_cross(force, w, df);
        v3_cross_add(point, df, dn);
        for (int r = 0; r < 3; ++r) {
            block[6 * r + c] += dn[r];
            block[6 * (3 + r) + c] += df[r];
        }
    }
}

const double *soai_change_blocks(const soa_machine *m, const soa_expr *leaf) {
    switch (leaf->leaf) {
    case LEAF_WRENCH: return m->wrench_turn;
    case LEAF_DART: return m->dP;
    case LEAF_DCOMPOSITE: return m->dMc;
    default: return NULL;
    }
}

/* --- the recursions --------------------------------------------------------------------------- */
/* One inward sweep with one step. */
static void change(soa_machine *m, int code, double *blocks) {
    soa_work *w = m->work;
    const soai_op op = {
        .code = code, .space = SOA_SPACE_LINK, .a = m->dq, .b = m->composite, .out = blocks};
    memset(blocks, 0, 36 * ((size_t)m->model->nb + 1) * sizeof *blocks);
    w->k->exec(&w->view, &w->w, 1, &op, 1, &m->tips, m->thd, m->fext);
}
void soai_change_P(soa_machine *m) {
    if (!m->changed_P) change(m, OP_CHANGE_P, m->dP);
    m->changed_P = 1;
}
void soai_change_Mc(soa_machine *m) {
    if (!m->changed_Mc) change(m, OP_CHANGE_MC, m->dMc);
    m->changed_Mc = 1;
}

/* --- Jacobians -------------------------------------------------------------------------------- */
soa_status soa_plan_jacobian(soa_plan *plan, soa_direction with, double *matrix) {
    if (!plan || !matrix || (unsigned)with >= SOA_DIRECTION_COUNT || !plan->derivative)
        return SOA_E_ARGUMENT;
    soa_machine *m = plan->machine;
    double *all[] = {m->dq, m->dthd, m->dthdd, m->dtorque, m->df0};
    const size_t nv = (size_t)m->model->tv, tips = 6 * (size_t)m->tips.count;
    const size_t columns = with == SOA_DIRECTION_F0 ? tips : nv;
    const int space = plan->values->v[plan->last].space;
    const int links = space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
    const size_t rows = (size_t)m->size[space];
    const double *column = plan->slot[plan->last] + (links ? 6 : 0);
    soa_status s = SOA_OK;
    for (int i = 0; i < 5; ++i)
        memset(all[i], 0, (i < 4 ? nv : tips) * sizeof(double));
    soai_run_begins(m);
    for (size_t c = 0; c < columns && s == SOA_OK; ++c) {
        all[with][c] = 1;
        m->changed_P = m->changed_Mc = 0;
        s = soai_plan_run_all(plan);
        all[with][c] = 0;
        for (size_t r = 0; s == SOA_OK && r < rows; ++r)
            matrix[columns * r + c] = column[r];
    }
    m->changed_P = m->changed_Mc = 0;
    return s;
}
