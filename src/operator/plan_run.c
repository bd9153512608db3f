/* plan_run.c  lays out the values of a plan and runs its passes.
 *
 * A plan with a selection (select.c) runs steps on the aligned tables; any other runs one operation
 * after the other on the user's.  Either way each pass calls one step after the other at each body;
 * no sweep of the library is called as a whole.  Both leave poses and articulated inertias in the
 * same arrays, so one of them is valid at a time (machine.h). */
#include "plan.h"
#include "select.h"
#include <stdlib.h>

/* ---- layout ---------------------------------------------------------------------------------- */
static int is_of_links(int space) {
    return space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
}
/* Vectors of data are read where they are, but those of links on the aligned tables. */
static int is_read_in_place(const soa_plan *p, const value *v) {
    return soai_is_data(v) && !(p->chosen && is_of_links(v->space));
}
static soa_status lay_out_slots(soa_plan *p) {
    const soa_machine *m = p->machine;
    const builder *b = p->values;
    size_t total = 0;
    for (int i = 0; i < b->count; ++i)
        total += soai_slot_size(m, b->v[i].space);
    p->memory = soai_zeroed(total + 1, sizeof(double));
    p->slot = soai_zeroed((size_t)b->count + 1, sizeof *p->slot);
    p->copies = soai_zeroed((size_t)b->count + 1, sizeof *p->copies);
    if (!p->memory || !p->slot || !p->copies) return SOA_E_MEMORY;
    double *at = p->memory;
    for (int i = 0; i < b->count; ++i) {
        const value *v = b->v + i;
        if (is_read_in_place(p, v)) {
            p->slot[i] = (double *)(uintptr_t)soai_vector(m, v->leaf);
            continue;
        }
        p->slot[i] = at;
        at += soai_slot_size(m, v->space);
        if (soai_is_data(v))
            p->copies[p->copy_count++] =
                (link_copy){soai_vector(m, v->leaf), p->slot[i], p->chosen->type[i] == MOTION_TYPE};
        else if (v->code == OP_INPUT && !v->leaf)
            p->input = p->slot[i];
    }
    return SOA_OK;
}
/* One operation, with what it reads besides vectors. */
static soai_op operation_of(const soa_plan *p, int i) {
    soa_machine *m = p->machine;
    const value *v = p->values->v + i;
    soai_op o = {.code = v->code, .space = v->space, .x = v->x, .y = v->y, .out = p->slot[i]};
    if (v->a >= 0) o.a = p->slot[v->a];
    if (v->b >= 0) o.b = p->slot[v->b];
    if (v->code == OP_MC) o.b = m->composite;
    if (soai_is_block_op(v->code)) o.b = soai_blocks(m, v->leaf);
    if (v->code == OP_AT) o.x = soai_link_named(m->model, v->leaf->name, NULL, 0);
    return o;
}
/* The operations of every pass, after the recursions of P and Mc in the first that needs them. */
static soa_status lay_out_operations(soa_plan *p) {
    enum { BESIDES = 3 }; /* OP_POSE, OP_ARTICULATE, OP_COMPOSE */
    const soa_machine *m = p->machine;
    const builder *b = p->values;
    p->ops = soai_zeroed((size_t)b->count + BESIDES, sizeof *p->ops);
    p->start = soai_zeroed((size_t)p->passes + 2, sizeof *p->start);
    if (!p->ops || !p->start) return SOA_E_MEMORY;
    const int first_inward = p->first > 0 ? 0 : 1;
    int n = 0;
    for (int level = 0; level < p->passes; ++level) {
        p->start[level] = n;
        if (level == 0) p->ops[n++] = (soai_op){.code = OP_POSE, .a = m->q};
        if (level == first_inward && p->articulates) p->ops[n++] = (soai_op){.code = OP_ARTICULATE};
        if (level == first_inward && p->composes)
            p->ops[n++] = (soai_op){.code = OP_COMPOSE, .out = m->composite};
        for (int i = 0; i < b->count; ++i) {
            const value *v = b->v + i;
            if (v->level == level && v->code != OP_INPUT && !soai_between_sweeps(v))
                p->ops[n++] = operation_of(p, i);
        }
    }
    p->start[p->passes] = n;
    return SOA_OK;
}
/* How many steps read value v. */
static int readers(const selection *s, int v, int last) {
    int read = v == last;
    for (int i = 0; i < s->count; ++i)
        for (int j = 0; j < 3; ++j)
            read += s->step[i].in[j] == v;
    return read;
}
static int is_filter(int code) {
    return code == STEP_GATHER || code == STEP_ARTICULATE_FILTER || code == STEP_FILTER ||
           code == STEP_FILTER_BIAS;
}
/* May the sums of a step be gathered in the place of its argument, which was made in an earlier pass
 * and is read by nobody else? */
static int gathers_in_place(const soa_plan *p, const chosen_step *c) {
    const selection *s = p->chosen;
    if (!is_filter(c->code) || c->in[0] < 0 || s->maker[c->in[0]] < 0) return 0;
    if (readers(s, c->in[0], p->last) != 1 || readers(s, c->out[0], p->last)) return 0;
    int pass = c->pass;
    for (int i = 0; i < s->count; ++i)
        if (s->step[i].out[0] == c->in[0]) pass = s->step[i].pass;
    return pass < c->pass;
}
static soai_step step_of(const soa_plan *p, const chosen_step *c) {
    const value *v = c->out[0] >= 0 ? p->values->v + c->out[0] : NULL;
    double *out[3] = {NULL, NULL, NULL};
    const double *in[2] = {NULL, NULL};
    for (int i = 0; i < 3; ++i)
        if (c->out[i] >= 0) out[i] = p->slot[c->out[i]];
    for (int i = 0; i < 2; ++i)
        if (c->in[i] >= 0) in[i] = p->slot[c->in[i]];
    soai_step s = {.code = c->code,
                   .stride = 6,
                   .a = in[0],
                   .b = in[1],
                   .out = out[0],
                   .out2 = out[1],
                   .out3 = out[2],
                   .x = c->sign != 0 ? c->sign : 1,
                   .y = 1,
                   .keep = c->out[0] >= 0 && readers(p->chosen, c->out[0], p->last) > 0};
    if (c->in[2] >= 0) {
        s.tips = p->slot[c->in[2]];
        s.y = c->tips;
    } else if (v && v->code == OP_SUM) {
        s.x = v->x;
        s.y = v->y;
    }
    if (gathers_in_place(p, c)) s.out = p->slot[c->in[0]];
    return s;
}
/* What only one step and the next read is kept in the work of the bodies, beside what else they read
 * there: z of the only filter in f, with what it gathers in place; lambda of the only smoother in
 * A. */
static void use_body_work(const soa_plan *p, soai_step *steps, int count) {
    body_work *world = p->machine->work->w.b;
    int filters = 0;
    int smoothers = 0;
    for (int i = 0; i < count; ++i) {
        filters += is_filter(steps[i].code);
        smoothers += steps[i].code == STEP_SMOOTH || steps[i].code == STEP_SMOOTH_BIAS;
    }
    for (int i = 0; i < count; ++i) {
        soai_step *s = steps + i;
        const int smooth = s->code == STEP_SMOOTH || s->code == STEP_SMOOTH_BIAS;
        double *before = s->out;
        double *place = smooth ? world->A : world->f;
        const int alone = smooth ? smoothers == 1 : filters == 1 && is_filter(s->code);
        int fits = alone && !s->keep && before;
        for (int j = 0; j < count && fits; ++j)
            fits = steps[j].out != before || j == i || steps[j].code == STEP_RNE;
        for (int j = 0; j < count && fits; ++j) {
            if (steps[j].out != before) continue;
            steps[j].out = place;
            steps[j].stride = sizeof *world / sizeof(double);
        }
        if (fits && s->a == before) s->a = place;
    }
}
/* The steps of every pass, and those of a run that finds D and G from before. */
static soa_status lay_out_steps(soa_plan *p) {
    const selection *c = p->chosen;
    const size_t rows = (size_t)c->count + 1;
    p->steps = soai_zeroed(rows, sizeof *p->steps);
    p->again = soai_zeroed(rows, sizeof *p->again);
    p->start = soai_zeroed((size_t)c->passes + 2, sizeof *p->start);
    p->start_again = soai_zeroed((size_t)c->passes + 2, sizeof *p->start_again);
    if (!p->steps || !p->again || !p->start || !p->start_again) return SOA_E_MEMORY;
    int n = 0;
    int m = 0;
    for (int pass = 0; pass < c->passes; ++pass) {
        p->start[pass] = n;
        p->start_again[pass] = m;
        for (int i = 0; i < c->count; ++i) {
            if (c->step[i].pass != pass || c->step[i].code == STEP_SOLVE) continue;
            const soai_step s = step_of(p, c->step + i);
            p->steps[n++] = s;
            if (s.code == STEP_ARTICULATE) continue;
            p->again[m] = s;
            if (s.code == STEP_ARTICULATE_FILTER) p->again[m].code = STEP_FILTER;
            ++m;
            for (int j = 0; s.out && c->step[i].base != 0 && j < 6; ++j)
                s.out[j] = c->step[i].base * p->machine->base[j];
        }
    }
    p->start[c->passes] = n;
    p->start_again[c->passes] = m;
    if (!soai_selection_has(c, STEP_SOLVE)) { /* whose plan would write there too */
        use_body_work(p, p->steps, n);
        use_body_work(p, p->again, m);
    }
    return SOA_OK;
}
/* The tips in the frames chosen for their bodies. */
static soa_status lay_out_tips(soa_plan *p) {
    const soai_tips *from = &p->machine->tips;
    const size_t n = (size_t)from->count + 1;
    p->tips = (soai_tips){.count = from->count,
                          .body = from->body,
                          .R = soai_zeroed(9 * n, sizeof(double)),
                          .p = soai_zeroed(3 * n, sizeof(double))};
    p->fext = soai_zeroed(6 * ((size_t)p->machine->model->nb + 1), sizeof(double));
    if (!p->tips.R || !p->tips.p || !p->fext) return SOA_E_MEMORY;
    for (int f = 0; f < from->count; ++f) {
        const soai_frame *frame = p->machine->work->frames + from->body[f];
        double *R = p->tips.R + 9 * f;
        double *at = p->tips.p + 3 * f;
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c)
                for (int j = 0; j < 3; ++j)
                    R[3 * r + c] += frame->axes[3 * j + r] * from->R[9 * f + 3 * j + c];
        rot_tmul(frame->axes, from->p + 3 * f, at);
        for (int j = 0; j < 3; ++j)
            at[j] -= frame->origin[j];
    }
    return SOA_OK;
}
/* Does some joint of the aligned tables keep its pose in the work space? */
static int keeps_poses(const soai_view_double *view) {
    int keeps = 0;
    for (int i = 1; i <= view->nb; ++i)
        keeps |= view->body[i].kind < SOAI_KIND_LEVEL_X;
    return keeps;
}
soa_status soai_plan_lay_out(soa_plan *p) {
    soa_status s = lay_out_slots(p);
    p->poses = keeps_poses(&p->machine->work->aligned);
    if (s) return s;
    if (!p->chosen) return lay_out_operations(p);
    s = lay_out_steps(p);
    return s ? s : lay_out_tips(p);
}

/* ---- dense solves ---------------------------------------------------------------------------- */
static void run_matrix(const solve *s) {
    const int rows = s->turned ? s->columns : s->rows;
    const int columns = s->turned ? s->rows : s->columns;
    for (int r = 0; r < rows; ++r) {
        s->out[r] = 0;
        for (int c = 0; c < columns; ++c)
            s->out[r] += s->given[s->turned ? rows * c + r : columns * r + c] * s->in[c];
    }
}
static soa_status run_pseudo(soa_machine *m, const solve *s) {
    double condition;
    const int rows = s->turned ? s->columns : s->rows;
    const int columns = s->turned ? s->rows : s->columns;
    const int rank =
        soai_pseudo_solve(rows, columns, s->matrix, s->in, s->out, s->room, &condition);
    if (rank < 0) return soai_run_singular(m, s->written, condition);
    if (m->rank < 0 || rank < m->rank) m->rank = rank;
    if (condition > m->condition) m->condition = condition;
    return SOA_OK;
}
/* Omega of the only tip, RJK91 (20), as a recursion of 6 x 6 blocks: after D and G one outward pass.
 * Omega takes the place of P. */
static soa_status run_compliance(soa_machine *m, const solve *s) {
    soa_plan *p = s->plan;
    soa_work *w = m->work;
    const soai_step costate = {.code = STEP_COSTATE};
    const soai_step_data data = {.keeps = 1, .tips = &p->tips};
    const int body = p->tips.body[0];
    if (!m->aligned_articulated) {
        p->sub = 1;
        memset(p->input, 0, 6 * sizeof *p->input);
        const soa_status st = soai_plan_run_all(p);
        if (st) return st;
    }
    w->k->steps(&w->aligned, &w->w, 0, &costate, 1, &data);
    m->omega_in_P = 1;
    double swapped[36]; /* its linear rows and columns come first (operational.h) */
    w->k->inertia(&w->w, body, swapped);
    for (int c = 0; c < 6; ++c) {
        double f[6] = {0};
        double x[6] = {0};
        double V[6] = {0};
        f[c] = 1;
        force_in_add(p->tips.R, p->tips.p, f, x);
        for (int r = 0; r < 36; ++r)
            V[r / 6] += swapped[6 * ((r / 6 + 3) % 6) + (r % 6 + 3) % 6] * x[r % 6];
        motion_out(p->tips.R, p->tips.p, V, f);
        for (int r = 0; r < 6; ++r)
            s->matrix[6 * r + c] = f[r];
    }
    return SOA_OK;
}
static soa_status form_by_columns(const solve *s) {
    s->plan->sub = 1;
    for (int c = 0; c < s->columns; ++c) {
        memset(s->plan->input, 0, (size_t)s->columns * sizeof(double));
        s->plan->input[c] = 1;
        const soa_status st = soai_plan_run_all(s->plan);
        if (st) return st;
        const double *y = s->plan->slot[s->plan->last];
        for (int r = 0; r < s->rows; ++r)
            s->matrix[s->turned ? s->rows * c + r : s->columns * r + c] = y[r];
    }
    return SOA_OK;
}
static soa_status run_solve(soa_machine *m, const solve *s) {
    const int n = s->rows;
    for (int j = 0; s->sum && j < n; ++j)
        s->out[j] = s->x * s->in[j] + (s->second ? s->y * s->second[j] : 0);
    if (s->sum) return SOA_OK;
    if (s->given && s->gears && !m->geared) {
        memset(s->out, 0, (size_t)(s->turned ? s->columns : s->rows) * sizeof(double));
        return SOA_OK;
    }
    if (s->given) {
        run_matrix(s);
        return SOA_OK;
    }
    const soa_status st = s->compliance ? run_compliance(m, s) : form_by_columns(s);
    if (st) return st;
    if (s->pseudo) return run_pseudo(m, s);
    memcpy(s->out, s->in, (size_t)n * sizeof(double));
    const double condition = soai_solve_measured(n, s->matrix, s->out, s->room);
    if (!(condition <= SOAI_MOST_CONDITION)) return soai_run_singular(m, s->written, condition);
    if (condition > m->condition) m->condition = condition;
    return SOA_OK;
}
static soa_status run_solves(soa_plan *p, int pass) {
    soa_status s = SOA_OK;
    for (int i = 0; i < p->solve_count && !s; ++i)
        if (p->solves[i].level == pass) s = run_solve(p->machine, p->solves + i);
    return s;
}

/* ---- in the user's frames -------------------------------------------------------------------- */
/* Sums begin at zero. */
static void begin_operation(const soa_plan *p, const soai_op *o) {
    const size_t rows = (size_t)p->machine->model->nb + 1;
    if (o->code == OP_PHI || o->code == OP_PSI || o->code == OP_SHIFT)
        memset(o->out, 0, 6 * rows * sizeof(double));
    if (o->code == OP_E_T || o->code == OP_BC_T)
        memset(o->out, 0, (size_t)p->machine->size[o->space] * sizeof(double));
}
/* 1 if what it makes is there from before. */
static int is_there(const soa_machine *m, const soai_op *o) {
    return (o->code == OP_POSE && m->posed) || (o->code == OP_ARTICULATE && m->articulated) ||
           (o->code == OP_COMPOSE && m->composed);
}
static soa_status run_operations(soa_plan *p, int pass) {
    soa_machine *m = p->machine;
    soa_work *w = m->work;
    const soai_op *ops = p->ops + p->start[pass];
    int count = p->start[pass + 1] - p->start[pass];
    for (; count && is_there(m, ops); --count)
        ++ops;
    if (!count) return SOA_OK;
    const int articulates = p->articulates && pass == (p->first > 0 ? 0 : 1);
    if (articulates && !m->articulated && w->view.stuck) return soai_run_hinge(m, w->view.stuck);
    for (int o = 0; o < count; ++o)
        begin_operation(p, ops + o);
    m->aligned_posed = m->aligned_articulated = 0;
    const int inward = (pass % 2 == 0 ? p->first : -p->first) > 0;
    const int bad = w->k->exec(&w->view, &w->w, inward, ops, count, &m->tips, m->thd, m->fext);
    if (bad) return soai_run_hinge(m, bad);
    m->posed = 1;
    m->articulated |= articulates;
    m->composed |= p->composes && pass == (p->first > 0 ? 0 : 1);
    return SOA_OK;
}

/* ---- on the aligned tables ------------------------------------------------------------------- */
static void motion_to_chosen(const soai_frame *frame, const double in[6], double out[6]) {
    double w[3];
    double v[3];
    rot_tmul(frame->axes, in, w);
    rot_tmul(frame->axes, in + 3, v);
    v3_cross_add(w, frame->origin, v);
    for (int j = 0; j < 3; ++j) {
        out[j] = w[j];
        out[3 + j] = v[j];
    }
}
static void motion_from_chosen(const soai_frame *frame, const double in[6], double out[6]) {
    double v[3] = {in[3], in[4], in[5]};
    v3_cross_add(frame->origin, in, v); /* v - w x d */
    rot_mul(frame->axes, in, out);
    rot_mul(frame->axes, v, out + 3);
}
/* Wrenches and the caller's vectors of links, in the frames chosen for the bodies. */
static void bring_data(soa_plan *p) {
    const soa_machine *m = p->machine;
    const soai_frame *frames = m->work->frames;
    for (int i = 1; m->wrenches && i <= m->model->nb; ++i)
        soai_wrench_to_chosen(frames + i, m->fext + 6 * i, p->fext + 6 * (i - 1));
    for (int c = 0; c < p->copy_count; ++c) {
        const link_copy *x = p->copies + c;
        for (int i = 1; i <= m->model->nb; ++i)
            (x->motion ? motion_to_chosen : soai_wrench_to_chosen)(frames + i, x->from + 6 * i,
                                                                   x->to + 6 * i);
    }
}
static soa_status run_steps(soa_plan *p) {
    soa_machine *m = p->machine;
    soa_work *w = m->work;
    const selection *c = p->chosen;
    const int there = m->aligned_articulated && c->articulates;
    const soai_step *steps = there ? p->again : p->steps;
    const int *start = there ? p->start_again : p->start;
    soai_step_data data = {.q = m->aligned_posed ? NULL : m->q,
                           .thd = m->thd,
                           .fext = m->wrenches ? p->fext : NULL,
                           .zero = w->zero,
                           .tips = &p->tips,
                           .poses = p->poses,
                           .keeps = c->keeps || p->sub || p->solve_count > 0};
    if (m->wrenches || p->copy_count) bring_data(p);
    if (c->articulates && w->view.stuck) return soai_run_hinge(m, w->view.stuck);
    soa_status s = run_solves(p, -1);
    m->posed = m->articulated = 0;
    if (!there) m->aligned_articulated = 0;
    for (int pass = 0; pass < c->passes && !s; ++pass) {
        const int count = start[pass + 1] - start[pass];
        const int inward = (pass % 2 == 0 ? c->first : -c->first) > 0;
        if (count) {
            const int bad =
                w->k->steps(&w->aligned, &w->w, inward, steps + start[pass], count, &data);
            data.q = NULL;
            if (bad) return soai_run_hinge(m, bad);
            m->aligned_posed = 1;
        }
        s = run_solves(p, pass);
    }
    m->aligned_articulated = (there || (c->articulates && data.keeps && !s)) && !m->omega_in_P;
    m->omega_in_P = 0;
    return s;
}

/* ---- both ------------------------------------------------------------------------------------ */
soa_status soai_plan_run_all(soa_plan *p) {
    if (p->chosen) return run_steps(p);
    soa_status s = SOA_OK;
    for (int i = 0; i < p->block_count && !s; ++i)
        s = soai_blocks_compute(p->machine, p->blocks[i]);
    if (!s) s = run_solves(p, -1);
    for (int pass = 0; pass < p->passes && !s; ++pass) {
        s = run_operations(p, pass);
        if (!s) s = run_solves(p, pass);
    }
    return s;
}
soa_status soa_plan_run(soa_plan *p, double *result) {
    if (!p || !result) return SOA_E_ARGUMENT;
    soa_machine *m = p->machine;
    if (p->closures >= 0 && p->closures != m->closures) return SOA_E_ORDER;
    soai_run_begins(m);
    const soa_status s = soai_plan_run_all(p);
    if (s) return s;
    const int space = p->values->v[p->last].space;
    const double *from = p->slot[p->last] + (is_of_links(space) ? 6 : 0);
    if (!p->chosen || space != SOA_SPACE_LINK) {
        memcpy(result, from, (size_t)m->size[space] * sizeof(double));
        return SOA_OK;
    }
    const int motion = p->chosen->type[p->last] == MOTION_TYPE;
    for (int i = 1; i <= m->model->nb; ++i)
        (motion ? motion_from_chosen : soai_wrench_from_chosen)(
            m->work->frames + i, from + 6 * (i - 1), result + 6 * (i - 1));
    return SOA_OK;
}
