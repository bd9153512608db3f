/* closure.c  closed chains on a machine: rows of constraints, held objects, primary coordinates.
 *
 * The numbers come from other rooms or from the caller; here they are only kept.  Wrenches of
 * constraint rows are sorted by body, in body axes about the body's origin, so that a sweep finds
 * those of its body side by side. */
#include "machine.h"
#include <stdlib.h>

/* A copy of n numbers in *at; zeros if `from` is NULL.  Keeps its place if the size is the same, for
 * plans that point there.  Returns 0 if there is no memory. */
static int keep(double **at, size_t old, size_t n, const double *from) {
    if (!*at || old != n) {
        double *fresh = soai_zeroed(n + 1, sizeof *fresh);
        if (!fresh) return 0;
        free(*at);
        *at = fresh;
    }
    if (from)
        memcpy(*at, from, n * sizeof *from);
    else
        memset(*at, 0, n * sizeof **at);
    return 1;
}
/* A new size of a space: plans made before are stale. */
static void resize(soa_machine *m, int space, int size) {
    if (m->size[space] != size) ++m->closures;
    m->size[space] = size;
}
void soai_closure_free(soa_machine *m) {
    for (int i = 0; i < CLOSURE_COUNT; ++i)
        free(m->closure[i]);
    free(m->tips.first);
    free(m->tips.row);
    free(m->tips.wrench);
}

/* The wrench of a term in body axes about the body's origin; returns the body. */
static int to_body(const soa_machine *m, const soa_row_wrench *term, double out[6]) {
    const soai_frame_row *row = SOAI_AT(m->model, soai_frame_row, frame) + term->frame;
    memset(out, 0, 6 * sizeof *out);
    force_in_add(row->R, row->p, term->wrench, out);
    return row->body;
}
soa_status soa_machine_set_constraints(soa_machine *m, int rows, const soa_row_wrench *wrenches,
                                       int wrench_count, const double *joint_rows,
                                       const double *gamma) {
    if (!m || rows < 0 || wrench_count < 0 || (wrench_count && !wrenches)) return SOA_E_ARGUMENT;
    const size_t nb = (size_t)m->model->nb, nv = (size_t)m->model->nv, r = (size_t)rows,
                 tv = (size_t)m->model->tv;
    for (int i = 0; i < wrench_count; ++i) {
        const soa_row_wrench *t = wrenches + i;
        if (t->row < 0 || t->row >= rows || t->frame < 0 || t->frame >= m->model->frames)
            return SOA_E_ARGUMENT;
        if (!soai_all_finite(t->wrench, 6)) return SOA_E_NOT_FINITE;
    }
    if ((joint_rows && !soai_all_finite(joint_rows, r * nv)) ||
        (gamma && !soai_all_finite(gamma, r)))
        return SOA_E_NOT_FINITE;
    soai_tips *tips = &m->tips;
    int *first = soai_zeroed(nb + 3, sizeof *first);
    int *row = soai_zeroed((size_t)wrench_count + 1, sizeof *row);
    double *wrench = soai_zeroed(6 * (size_t)wrench_count + 1, sizeof *wrench);
    const size_t old = (size_t)m->size[SOA_SPACE_CONSTRAINT];
    if (!first || !row || !wrench || !keep(&m->closure[CLOSURE_GAMMA], old, r, gamma) ||
        !keep(&m->closure[CLOSURE_GEARS], old * tv, r * tv, NULL)) {
        free(first);
        free(row);
        free(wrench);
        return SOA_E_MEMORY;
    }
    for (size_t i = 0; joint_rows && i < r; ++i) { /* tv x rows */
        soai_torque_to_tree(m, joint_rows + nv * i, m->work->ta);
        for (size_t j = 0; j < tv; ++j)
            m->closure[CLOSURE_GEARS][r * j + i] = m->work->ta[j];
    }
    m->geared = joint_rows != NULL;
    double at[6];
    for (int i = 0; i < wrench_count; ++i) /* first[b + 2]: how many body b has */
        ++first[to_body(m, wrenches + i, at) + 2];
    for (size_t b = 2; b < nb + 2; ++b)
        first[b] += first[b - 1];
    for (int i = 0; i < wrench_count; ++i) { /* those of the world (body 0) come first, unused */
        const int body = to_body(m, wrenches + i, at), place = first[body + 1]++;
        row[place] = wrenches[i].row;
        memcpy(wrench + 6 * (size_t)place, at, sizeof at);
    }
    free(tips->first);
    free(tips->row);
    free(tips->wrench);
    tips->first = first;
    tips->row = row;
    tips->wrench = wrench;
    resize(m, SOA_SPACE_CONSTRAINT, rows);
    if (old != r) { /* what belongs to the old rows */
        for (int i = CLOSURE_SELECT; i <= CLOSURE_GAMMAO; ++i) {
            free(m->closure[i]);
            m->closure[i] = NULL;
        }
    }
    return SOA_OK;
}

soa_status soa_machine_set_objects(soa_machine *m, int objects, const double *A, const double *M,
                                   const double *b, const double *selection, const double *gamma) {
    enum { MOST_OBJECTS = 10000 };
    if (!m || objects < 0 || objects > MOST_OBJECTS || (objects && (!A || !M || !b)))
        return SOA_E_ARGUMENT;
    const size_t n = 6 * (size_t)objects, tips = (size_t)m->size[SOA_SPACE_TIP],
                 rows = (size_t)m->size[SOA_SPACE_CONSTRAINT],
                 old = (size_t)m->size[SOA_SPACE_OBJECT];
    if (!soai_all_finite(A, tips * n) || !soai_all_finite(M, n * n) || !soai_all_finite(b, n) ||
        (selection && !soai_all_finite(selection, tips * rows)) ||
        (gamma && !soai_all_finite(gamma, rows)))
        return SOA_E_NOT_FINITE;
    if (!keep(&m->closure[CLOSURE_HELD], old * tips, n * tips, A) ||
        !keep(&m->closure[CLOSURE_OBJECT], old * old, n * n, M) ||
        !keep(&m->closure[CLOSURE_BIAS], old, n, b) ||
        !keep(&m->closure[CLOSURE_SELECT], tips * rows, tips * rows, selection) ||
        !keep(&m->closure[CLOSURE_GAMMAO], rows, rows, gamma))
        return SOA_E_MEMORY;
    resize(m, SOA_SPACE_OBJECT, (int)n);
    return SOA_OK;
}

soa_status soa_machine_set_primary(soa_machine *m, int count, const double *E, const double *rest) {
    if (!m || count < 0 || count > m->model->nv || (count && !E)) return SOA_E_ARGUMENT;
    const size_t nv = (size_t)m->model->nv, n = (size_t)count, tv = (size_t)m->model->tv,
                 old = (size_t)m->size[SOA_SPACE_PRIMARY];
    if (!soai_all_finite(E, nv * n) || (rest && !soai_all_finite(rest, nv)))
        return SOA_E_NOT_FINITE;
    double *column = soai_zeroed(nv + tv + 1, sizeof *column), *tree = column + nv;
    if (!column || !keep(&m->closure[CLOSURE_EMBED], old * tv, n * tv, NULL) ||
        !keep(&m->closure[CLOSURE_REST], tv, tv, NULL)) {
        free(column);
        return SOA_E_MEMORY;
    }
    for (size_t c = 0; c < n; ++c) { /* with mimic joints Gamma E */
        for (size_t j = 0; j < nv; ++j)
            column[j] = E[n * j + c];
        soai_to_tree(m, column, tree);
        for (size_t j = 0; j < tv; ++j)
            m->closure[CLOSURE_EMBED][n * j + c] = tree[j];
    }
    soai_to_tree(m, rest, m->closure[CLOSURE_REST]);
    free(column);
    resize(m, SOA_SPACE_PRIMARY, count);
    return SOA_OK;
}

const double *soai_closure(const soa_machine *m, int leaf) {
    switch (leaf) {
    case LEAF_GEARS: return m->closure[CLOSURE_GEARS];
    case LEAF_GAMMAC: return m->closure[CLOSURE_GAMMA];
    case LEAF_HELD: return m->closure[CLOSURE_HELD];
    case LEAF_OBJECT: return m->closure[CLOSURE_OBJECT];
    case LEAF_OBJECTBIAS: return m->closure[CLOSURE_BIAS];
    case LEAF_SELECT: return m->closure[CLOSURE_SELECT];
    case LEAF_GAMMAO: return m->closure[CLOSURE_GAMMAO];
    case LEAF_EMBED: return m->closure[CLOSURE_EMBED];
    case LEAF_EMBEDREST: return m->closure[CLOSURE_REST];
    case LEAF_CONSTRAIN: return m->tips.wrench;
    default: return NULL;
    }
}
