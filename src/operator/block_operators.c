/* block_operators.c  operators with one block for each body that planned sweeps multiply by: those
 *                    of the caller, Delta, and the roots of D.
 *
 * Each has 36 numbers for each body: 6 x 6 row by row, in joint space nv x nv.  Delta needs an
 * outward recursion of its own, after that of P, D and G:
 *   Delta(k) = psi'(p,k) Delta(p) psi(p,k) + H' inv(D) H,   0 at the base         R87 (81), (82) */
#include "../base/nearest.h"
#include "../sweep/diagonalised.h"
#include "machine.h"
#include <stdio.h>

enum { BLOCK = 36 };

static double *computed_blocks(soa_machine *m, int leaf) {
    return leaf == LEAF_COSTATE ? m->costate : m->root[leaf == LEAF_ROOTINV];
}
/* Place for the blocks of a leaf that is not the caller's.  Returns 0 if there is no memory. */
int soai_blocks_create(soa_machine *m, const soa_expr *leaf) {
    if (leaf->leaf == LEAF_BLOCKS || soai_change_blocks(m, leaf)) return 1;
    double **at = leaf->leaf == LEAF_COSTATE ? &m->costate : &m->root[leaf->leaf == LEAF_ROOTINV];
    if (!*at) *at = soai_zeroed(BLOCK * ((size_t)m->model->nb + 1), sizeof **at);
    return *at != NULL;
}
const double *soai_blocks(soa_machine *m, const soa_expr *leaf) {
    if (leaf->leaf == LEAF_BLOCKS) return soai_own(m, leaf);
    if (soai_change_blocks(m, leaf)) return soai_change_blocks(m, leaf);
    return computed_blocks(m, leaf->leaf);
}

/* Column c of psi(p, i). */
static void psi_column(soa_machine *m, int i, int c, double out[6]) {
    const soai_view_double *k = &m->work->view;
    const kernel_work *w = &m->work->w;
    const soai_body_double *b = k->body + i;
    double t[6] = {0};
    t[c] = 1;
    step_pass_force(k, w, b, b->kind, b->nv, t);
    memset(out, 0, 6 * sizeof *out);
    force_in_add(w->b[i].R, w->b[i].p, t, out);
}
static void costates(soa_machine *m) {
    const soai_view_double *k = &m->work->view;
    const kernel_work *w = &m->work->w;
    memset(m->costate, 0, BLOCK * sizeof *m->costate);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        const double *before = m->costate + BLOCK * (size_t)b->parent;
        double *at = m->costate + BLOCK * (size_t)i, psi[6][6], moved[6][6];
        for (int c = 0; c < 6; ++c) { /* rows of psi'; of psi' Delta */
            psi_column(m, i, c, psi[c]);
            for (int r = 0; r < 6; ++r)
                moved[c][r] = v6_dot(psi[c], before + 6 * r);
        }
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0}, h[6], y[6] = {0};
            e[c] = 1;
            joint_project(k, w, b, b->kind, b->nv, e, h);
            step_hinge_solve(w, b, b->nv, h);
            joint_add(k, w, b, b->kind, b->nv, h, y);
            for (int r = 0; r < 6; ++r)
                at[6 * r + c] = y[r] + (b->parent ? v6_dot(moved[r], psi[c]) : 0);
        }
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < r; ++c) {
                const double mean = 0.5 * (at[6 * r + c] + at[6 * c + r]);
                at[6 * r + c] = mean;
                at[6 * c + r] = mean;
            }
    }
}
/* The Cholesky factor of each block of D, or its inverse. */
static void roots(soa_machine *m, int inverse) {
    const soai_view_double *k = &m->work->view;
    for (int i = 1; i <= k->nb; ++i) {
        const int n = k->body[i].nv;
        double C[BLOCK], *at = m->root[inverse] + BLOCK * (size_t)i;
        cholesky_of(&m->work->w, k->body + i, n, C);
        for (int c = 0; c < n; ++c) {
            double e[6] = {0};
            e[c] = 1;
            if (inverse)
                cholesky_solve(n, C, e);
            else
                cholesky_mul(n, C, e);
            for (int r = 0; r < n; ++r)
                at[n * r + c] = e[r];
        }
    }
}
soa_status soai_blocks_compute(soa_machine *m, const soa_expr *leaf) {
    if (leaf->leaf == LEAF_BLOCKS || leaf->leaf == LEAF_WRENCH) return SOA_OK;
    if (leaf->leaf == LEAF_DCOMPOSITE) {
        soai_compose(m);
        soai_change_Mc(m);
        return SOA_OK;
    }
    const soa_status s = soai_articulate(m);
    if (s) return s;
    if (leaf->leaf == LEAF_DART)
        soai_change_P(m);
    else if (leaf->leaf == LEAF_COSTATE)
        costates(m);
    else
        roots(m, leaf->leaf == LEAF_ROOTINV);
    return SOA_OK;
}

/* --- links by name ---------------------------------------------------------------------------- */
int soai_link_named(const soa_model *model, const char *name, char *message, size_t room) {
    soai_nearest search = soai_nearest_to(name);
    for (int i = 1; i <= model->nb; ++i) {
        soa_body_info info;
        if (soa_model_body(model, i, &info) != SOA_OK || !info.link) continue;
        if (!strcmp(info.link, name)) return i;
        soai_nearest_try(&search, info.link);
    }
    char hint[SOAI_HINT];
    if (room)
        snprintf(message, room, "no link '%s' that moves%s", name,
                 soai_nearest_hint(&search, hint));
    return 0;
}

/* --- operators of the caller ------------------------------------------------------------------ */
size_t soa_machine_blocks_size(const soa_machine *m, soa_space space) {
    size_t n = 0;
    for (int i = 1; m && soai_has_blocks((int)space) && i <= m->model->nb; ++i) {
        const size_t side = space == SOA_SPACE_JOINT ? (size_t)m->work->view.body[i].nv : 6;
        n += side * side;
    }
    return n;
}
soa_status soa_machine_set_blocks(soa_machine *m, const char *name, soa_space space,
                                  const double *blocks) {
    if (!m || !name || !blocks || strlen(name) >= MOST_OWN_NAME || !soai_has_blocks((int)space))
        return SOA_E_ARGUMENT;
    if (!soai_all_finite(blocks, soa_machine_blocks_size(m, space))) return SOA_E_NOT_FINITE;
    const machine_variable own = {.space = (int)space, .from = (int)space, .leaf = LEAF_BLOCKS};
    double *to = soai_own_place(m, name, &own, BLOCK * ((size_t)m->model->nb + 1));
    if (!to) return SOA_E_MEMORY;
    for (int i = 1; i <= m->model->nb; ++i) {
        const size_t side = space == SOA_SPACE_JOINT ? (size_t)m->work->view.body[i].nv : 6;
        memcpy(to + BLOCK * (size_t)i, blocks, side * side * sizeof *to);
        blocks += side * side;
    }
    return SOA_OK;
}
