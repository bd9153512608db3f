/* machine.c  a model with tips and a state, on which operator expressions are evaluated. */
#include "machine.h"
#include "../dynamics/coordinates.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

size_t soai_slot_size(const soa_machine *m, int space) {
    switch (space) {
    case SOA_SPACE_JOINT: return (size_t)m->model->tv;
    case SOA_SPACE_LINK:
    case SOA_SPACE_EDGE: return 6 * ((size_t)m->model->nb + 1);
    case SOA_SPACE_TIP: return 6 * (size_t)m->tips.count;
    default: return (size_t)m->size[space];
    }
}

void soa_machine_free(soa_machine *m) {
    if (!m) return;
    soa_work_free(m->work);
    free(m->tips.body);
    free(m->tips.R);
    free(m->tips.p);
    free(m->q);
    free(m->thd);
    free(m->thdd);
    free(m->torque);
    free(m->f0);
    free(m->fext);
    free(m->composite);
    free(m->costate);
    soai_closure_free(m);
    free(m->root[0]);
    free(m->root[1]);
    soai_direction_free(m);
    for (int i = 0; i < m->variable_count; ++i)
        free(m->variable[i].value);
    free(m);
}

void soai_to_tree(const soa_machine *m, const double *v, double *out) {
    const double *tree = tree_motion(m->work, v, out);
    if (tree != out) memmove(out, tree, (size_t)m->model->tv * sizeof *out);
}
void soai_torque_to_tree(const soa_machine *m, const double *tau, double *out) {
    const double *tree = tree_torque(m->work, tau, out);
    if (tree != out) memmove(out, tree, (size_t)m->model->tv * sizeof *out);
}
/* Mimic joints: the algebra is that of the tree with its followers free, without their guards, and
 * Gamma is the map of primary coordinates, the caller's, to its joints. */
static soa_status free_followers(soa_machine *m) {
    const soa_model *model = m->model;
    const size_t nv = (size_t)model->nv;
    m->work->view.nm = 0;
    m->work->aligned.nm = 0;
    m->work->view.stuck = model->stuck_free;
    m->work->aligned.stuck = model->stuck_free;
    double *unit = soai_zeroed(nv * nv + 1, sizeof *unit);
    if (!unit) return SOA_E_MEMORY;
    for (size_t j = 0; j < nv; ++j)
        unit[(nv + 1) * j] = 1;
    const soa_status s = soa_machine_set_primary(m, model->nv, unit, NULL);
    free(unit);
    return s;
}

soa_status soa_machine_create(const soa_model *model, const int *tips, int tip_count,
                              soa_machine **machine, soa_report *report) {
    soai_report_reset(report);
    if (!model || !machine || tip_count < 0 || (tip_count && !tips))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no model, or no tips");
    for (int i = 1; i <= model->nb; ++i)
        if (soai_bodies(model)[i].rotor)
            return soai_report(
                report, SOA_E_JOINT, i, 0,
                "body %d has an exact rotor, which is no spatial operator; open the model ideal",
                i);
    soa_machine *m = soai_zeroed(1, sizeof *m);
    if (!m) return soai_report(report, SOA_E_MEMORY, -1, 0, "out of memory");
    m->model = model;
    m->rank = -1;
    const size_t nq = (size_t)model->tq + 1, nv = (size_t)model->tv + 1, nb = (size_t)model->nb + 1,
                 nt = (size_t)tip_count + 1;
    soa_status s = soa_work_create(model, &m->work);
    m->q = soai_zeroed(nq, sizeof(double));
    m->thd = soai_zeroed(nv, sizeof(double));
    m->thdd = soai_zeroed(nv, sizeof(double));
    m->torque = soai_zeroed(nv, sizeof(double));
    m->f0 = soai_zeroed(6 * nt, sizeof(double));
    m->fext = soai_zeroed(6 * nb, sizeof(double));
    m->composite = soai_zeroed(10 * nb, sizeof(double));
    m->tips = (soai_tips){.count = tip_count,
                          .body = soai_zeroed(nt, sizeof(int)),
                          .R = soai_zeroed(9 * nt, sizeof(double)),
                          .p = soai_zeroed(3 * nt, sizeof(double))};
    if (s || !soai_direction_create(m) || !m->q || !m->thd || !m->thdd || !m->torque || !m->f0 ||
        !m->fext || !m->composite || !m->tips.body || !m->tips.R || !m->tips.p) {
        soa_machine_free(m);
        return soai_report(report, SOA_E_MEMORY, -1, 0, "out of memory");
    }
    for (int f = 0; f < tip_count; ++f) {
        if (tips[f] < 0 || tips[f] >= model->frames) {
            soa_machine_free(m);
            return soai_report(report, SOA_E_NAME, -1, 0,
                               "tip %d is frame %d; the model has frames 0 to %d", f + 1, tips[f],
                               (int)model->frames - 1);
        }
        const soai_frame_row *row = SOAI_AT(model, soai_frame_row, frame) + tips[f];
        if (!row->body) {
            soa_machine_free(m);
            return soai_report(
                report, SOA_E_NAME, -1, 0,
                "tip '%s' does not move (it is fixed to the world); name a link that does",
                SOAI_AT(model, char, text) + row->text);
        }
        m->tips.body[f] = row->body;
        memcpy(m->tips.R + 9 * f, row->R, sizeof row->R);
        memcpy(m->tips.p + 3 * f, row->p, sizeof row->p);
    }
    m->size[SOA_SPACE_ONE] = 1;
    m->size[SOA_SPACE_JOINT] = model->tv;
    m->size[SOA_SPACE_BASE] = 6;
    m->size[SOA_SPACE_LINK] = m->size[SOA_SPACE_EDGE] = 6 * model->nb;
    m->size[SOA_SPACE_TIP] = 6 * tip_count;
    for (int j = 0; j < 3; ++j)
        m->base[3 + j] = -model->gravity[j];
    if (model->nm) s = free_followers(m);
    if (!s) s = soa_machine_set_state(m, NULL, NULL, NULL, NULL, NULL, NULL, 0);
    if (s) {
        soa_machine_free(m);
        return soai_report(report, s, -1, 0, "%s", soa_status_text(s));
    }
    *machine = m;
    return SOA_OK;
}

int soa_machine_space_size(const soa_machine *m, soa_space space) {
    return m && space < SOA_SPACE_COUNT ? m->size[space] : 0;
}

soa_status soa_machine_set_state(soa_machine *m, const double *q, const double *v, const double *a,
                                 const double *tau, const double *f0, const soa_wrench *wrenches,
                                 int wrench_count) {
    if (!m || wrench_count < 0 || (wrench_count && !wrenches)) return SOA_E_ARGUMENT;
    soa_work *w = m->work;
    soa_status s = soai_check_state(m->model, q, v, a, tau, &w->body);
    if (s) return s;
    if (f0 && !soai_all_finite(f0, 6 * (size_t)m->tips.count)) return SOA_E_NOT_FINITE;
    int posed = 0;
    for (int i = 0; i < wrench_count; ++i) {
        const soa_wrench *f = wrenches + i;
        if (f->frame < 0 || f->frame >= m->model->frames || !soai_is_axes(f->axes))
            return SOA_E_ARGUMENT;
        if (!soai_all_finite(f->value, 6)) return SOA_E_NOT_FINITE;
        posed |= f->axes == SOA_AXES_WORLD;
    }
    if (posed) s = soa_kinematics(m->model, w, q, NULL, NULL); /* also the poses in the world */
    if (s) return s;
    m->posed = posed;
    m->articulated = m->composed = m->changed_P = m->changed_Mc = 0;
    m->aligned_posed = m->aligned_articulated = 0;
    memcpy(m->q, tree_q(w, q), (size_t)m->model->tq * sizeof(double));
    soai_to_tree(m, v, m->thd);
    soai_to_tree(m, a, m->thdd);
    soai_torque_to_tree(m, tau, m->torque);
    f0 ? memcpy(m->f0, f0, 6 * (size_t)m->tips.count * sizeof *f0)
       : memset(m->f0, 0, 6 * (size_t)m->tips.count * sizeof *m->f0);
    const int had_wrenches = m->wrenches;
    m->wrenches = wrench_count > 0;
    if (had_wrenches) {
        const size_t rows = (size_t)m->model->nb + 1;
        memset(m->fext, 0, 6 * rows * sizeof *m->fext);
        memset(m->wrench_turn, 0, 36 * rows * sizeof *m->wrench_turn);
    }
    for (int i = 0; i < wrench_count; ++i) {
        const soai_frame_row *row = SOAI_AT(m->model, soai_frame_row, frame) + wrenches[i].frame;
        if (!row->body) continue;
        double f[6], *out = m->fext + 6 * row->body;
        if (wrenches[i].axes == SOA_AXES_WORLD) {
            rot_tmul(w->w.Rw + 9 * row->body, wrenches[i].value, f);
            rot_tmul(w->w.Rw + 9 * row->body, wrenches[i].value + 3, f + 3);
            soai_turning_wrench(m->wrench_turn + 36 * row->body, f, f + 3, row->p);
        } else {
            rot_mul(row->R, wrenches[i].value, f);
            rot_mul(row->R, wrenches[i].value + 3, f + 3);
        }
        v3_cross_add(row->p, f + 3, f);
        for (int j = 0; j < 6; ++j)
            out[j] += f[j];
    }
    return SOA_OK;
}

static int same_kind(const machine_variable *a, int space, int from, int leaf) {
    return a->space == space && a->from == from && a->leaf == leaf;
}
double *soai_own_place(soa_machine *m, const char *name, const machine_variable *kind,
                       size_t room) {
    machine_variable *v = m->variable;
    int i = 0;
    while (i < m->variable_count &&
           (strcmp(v[i].name, name) || !same_kind(v + i, kind->space, kind->from, kind->leaf)))
        ++i;
    if (i == m->variable_count) {
        double *numbers = i < MOST_VARIABLES ? soai_zeroed(room + 1, sizeof *numbers) : NULL;
        if (!numbers) return NULL;
        v[i] = *kind;
        strcpy(v[i].name, name);
        v[i].value = numbers;
        ++m->variable_count;
    }
    return v[i].value;
}
soa_status soa_machine_set_vector(soa_machine *m, const char *name, soa_space space,
                                  const double *value) {
    if (!m || !name || !value || strlen(name) >= sizeof m->variable[0].name ||
        space <= SOA_SPACE_ONE || space >= SOA_SPACE_COUNT)
        return SOA_E_ARGUMENT;
    const size_t n = (size_t)m->size[space];
    if (!soai_all_finite(value, n)) return SOA_E_NOT_FINITE;
    const machine_variable own = {
        .space = (int)space, .from = SOA_SPACE_ONE, .leaf = LEAF_VARIABLE};
    double *to = soai_own_place(m, name, &own, soai_slot_size(m, (int)space));
    if (!to) return SOA_E_MEMORY;
    memcpy(to + soai_slot_start((int)space), value, n * sizeof *value);
    return SOA_OK;
}
soa_status soa_machine_set_matrix(soa_machine *m, const char *name, soa_space from, soa_space to,
                                  const double *matrix) {
    if (!m || !name || !matrix || strlen(name) >= sizeof m->variable[0].name ||
        from <= SOA_SPACE_ONE || from >= SOA_SPACE_COUNT || to <= SOA_SPACE_ONE ||
        to >= SOA_SPACE_COUNT)
        return SOA_E_ARGUMENT;
    const size_t n = (size_t)m->size[from] * (size_t)m->size[to];
    if (!soai_all_finite(matrix, n)) return SOA_E_NOT_FINITE;
    const machine_variable own = {.space = (int)to, .from = (int)from, .leaf = LEAF_MATRIX};
    double *numbers = soai_own_place(m, name, &own, n);
    if (!numbers) return SOA_E_MEMORY;
    memcpy(numbers, matrix, n * sizeof *matrix);
    return SOA_OK;
}

const char *soa_machine_failure(const soa_machine *m) {
    return m ? m->why : "";
}
double soa_machine_condition(const soa_machine *m) {
    return m ? m->condition : 0;
}
int soa_machine_rank(const soa_machine *m) {
    return m ? m->rank : -1;
}
void soai_run_begins(soa_machine *m) {
    m->condition = 1;
    m->rank = -1;
    m->why[0] = 0;
}
soa_status soai_run_singular(soa_machine *m, const soa_expr *what, double condition) {
    char text[200];
    const size_t length = soa_expr_print(what, text, sizeof text);
    m->condition = condition;
    snprintf(m->why, sizeof m->why,
             "inv(%s%s) does not exist at this state: the matrix is singular (estimated condition "
             "%.1e, limit %.0e)",
             text, length < sizeof text ? "" : "...", condition, SOAI_MOST_CONDITION);
    return SOA_E_SINGULAR;
}
soa_status soai_run_hinge(soa_machine *m, int body) {
    soa_body_info info;
    m->work->body = body;
    m->condition = INFINITY;
    if (soa_model_body(m->model, body, &info) == SOA_OK)
        snprintf(m->why, sizeof m->why,
                 "inv(D) does not exist: joint '%.80s' of link '%.80s' moves no inertia (massless "
                 "links, point tip), "
                 "so its acceleration is undefined",
                 info.joint ? info.joint : "", info.link);
    return SOA_E_HINGE_SINGULAR;
}

int soai_machine_aligns(const soa_machine *m) {
    for (int i = 1; i <= m->model->nb; ++i)
        if (soai_bodies(m->model)[i].rotor) return 0;
    return !m->model->nm;
}
/* One pass with one operation in the user's frames; 0, or the body at fault. */
static int pass(soa_machine *m, int inward, int code, double *out) {
    const soai_op op = {.code = code, .a = m->q, .out = out};
    soa_work *w = m->work;
    m->aligned_posed = m->aligned_articulated = 0;
    return w->k->exec(&w->view, &w->w, inward, &op, 1, &m->tips, m->thd, m->fext);
}
void soai_pose(soa_machine *m) {
    if (!m->posed) pass(m, 0, OP_POSE, NULL);
    m->posed = 1;
}
soa_status soai_articulate(soa_machine *m) {
    const int stuck = m->work->view.stuck;
    if (m->articulated) return SOA_OK;
    soai_pose(m);
    const int bad = stuck ? stuck : pass(m, 1, OP_ARTICULATE, NULL);
    if (bad) return soai_run_hinge(m, bad);
    m->articulated = 1;
    return SOA_OK;
}
void soai_compose(soa_machine *m) {
    if (m->composed) return;
    soai_pose(m);
    pass(m, 1, OP_COMPOSE, m->composite);
    m->composed = 1;
}

const double *soai_own(const soa_machine *m, const soa_expr *leaf) {
    for (int i = 0; i < m->variable_count; ++i)
        if (!strcmp(m->variable[i].name, leaf->name) &&
            same_kind(m->variable + i, leaf->to, leaf->from, leaf->leaf))
            return m->variable[i].value;
    return NULL;
}
const double *soai_vector(const soa_machine *m, const soa_expr *leaf) {
    switch (leaf->leaf) {
    case LEAF_TORQUE: return m->torque;
    case LEAF_THD: return m->thd;
    case LEAF_THDD: return m->thdd;
    case LEAF_TIPFORCE: return m->f0;
    case LEAF_BASEACC: return m->base;
    case LEAF_DQ: return m->dq;
    case LEAF_DTHD: return m->dthd;
    case LEAF_DTHDD: return m->dthdd;
    case LEAF_DTORQUE: return m->dtorque;
    case LEAF_DTIPFORCE: return m->df0;
    case LEAF_VARIABLE: return soai_own(m, leaf);
    default: break;
    }
    const int vector = leaf->from == SOA_SPACE_ONE && soai_is_closure(leaf->leaf);
    return vector ? soai_closure(m, leaf->leaf) : NULL;
}
const double *soai_matrix(const soa_machine *m, const soa_expr *leaf) {
    if (soai_is_closure(leaf->leaf)) return soai_closure(m, leaf->leaf);
    return leaf->leaf == LEAF_MATRIX ? soai_own(m, leaf) : NULL;
}
