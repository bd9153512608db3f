/* plan.c  turns the values of an expression into passes over the bodies.
 *
 * An inward (causal) operation needs its argument at a body when the inward loop reaches that body.
 * Operations of the same direction therefore follow each other within one pass, memoryless
 * operations join them, and only a change of direction starts the next pass.  The recursion of P, D
 * and G is part of the first inward pass that needs it.  select.c chooses the steps, plan_run.c runs
 * them, plan_explain.c prints them. */
#include "plan.h"
#include "prover.h"
#include "select.h"
#include <stdio.h>
#include <stdlib.h>

/* 1 inward, -1 outward, 0 any */
int soai_op_way(int code) {
    static const int way[] = {
#define SOAI_OP_WAY_(op, from, to, which) [op] = (which),
        SOAI_OPS(SOAI_OP_WAY_)
#undef SOAI_OP_WAY_
    };
    return code < OP_SUM ? way[code] : 0;
}
int soai_op_uses_P(int code) {
    return code == OP_PSI || code == OP_PSI_T || code == OP_G || code == OP_G_T || code == OP_P ||
           code == OP_D || code == OP_DINV;
}
/* Delta and the roots of D need P, D and G. */
static int block_needs_P(const value *v) {
    return v->leaf && (v->leaf->leaf == LEAF_DART || v->leaf->leaf == LEAF_COSTATE ||
                       v->leaf->leaf == LEAF_ROOT || v->leaf->leaf == LEAF_ROOTINV);
}
int soai_op_is_recursion(int code) {
    return code == OP_PHI || code == OP_PHI_T || code == OP_PSI || code == OP_PSI_T;
}

/* Levels are passes over the bodies, alternately inward and outward starting with `first` (1:
 * inward).  Returns their number.  Dense operations run after the pass of their level, one by one;
 * those on inputs alone run before the first pass, at level -1.  P, D, G and Mc are there from the
 * first inward pass on. */
/* Is the second argument a vector too? */
static int two_vectors(int code) {
    return code == OP_SUM || code == OP_CROSS || code == OP_CROSS_FORCE;
}
int soai_is_inward(int level, int first) {
    return (level % 2 == 0 ? first : -first) > 0;
}
static int level_all(builder *b, int first) {
    int most = -1;
    for (int i = 0; i < b->count; ++i) {
        value *v = b->v + i;
        const int between = soai_between_sweeps(v);
        int level = between ? -1 : 0;
        if (first < 0 && (soai_op_uses_P(v->code) || v->code == OP_MC) && !block_needs_P(v))
            level = 1;
        const int ab[2] = {v->a, v->b};
        for (int s = 0; s < (two_vectors(v->code) ? 2 : 1); ++s)
            if (ab[s] >= 0) {
                const value *o = b->v + ab[s];
                int after = o->level;
                if (!between &&
                    ((o->space >= SOA_SPACE_BASE && o->code != OP_INPUT) || soai_between_sweeps(o)))
                    ++after; /* known only after the pass */
                if (after > level) level = after;
            }
        v->level = v->code == OP_INPUT ? -1 : level;
        const int way = soai_op_way(v->code);
        if (way && soai_is_inward(v->level, first) != (way > 0)) ++v->level;
        if (v->level > most) most = v->level;
    }
    return most + 1;
}
/* Starts with the direction that needs fewer passes; returns their number. */
static int passes_of(builder *b, int *first) {
    const int in = level_all(b, 1), out = level_all(b, -1);
    *first = in <= out ? 1 : -1;
    return level_all(b, *first);
}
/* Sweeps as RK88-I counts them: recursions of one operator in one direction are one sweep.  One
 * pass may do several that go the same way, phi and then psi.  Numbers the sweep of every value,
 * from 1; 0: before the first; and notes the first sweep of every pass.  Returns the number of
 * sweeps. */
static int number_sweeps(builder *b, int passes, int *first) {
    int before = 0;
    for (int level = 0; level < passes; ++level) {
        int deepest = 1;
        if (first) first[level] = before + 1;
        for (int i = 0; i < b->count; ++i) {
            value *v = b->v + i;
            if (v->level != level) continue;
            const int ab[2] = {v->a, two_vectors(v->code) ? v->b : -1};
            v->depth = 0;
            v->recursion = 0;
            for (int s = 0; s < 2; ++s) {
                const value *o = ab[s] >= 0 ? b->v + ab[s] : NULL;
                if (!o || o->level != level || o->depth < v->depth) continue;
                v->depth = o->depth;
                v->recursion = o->recursion;
            }
            if (soai_op_is_recursion(v->code) && v->recursion != v->code + 1) {
                ++v->depth;
                v->recursion = v->code + 1;
            }
            if (v->depth > deepest) deepest = v->depth;
            v->sweep = before + (v->depth ? v->depth : 1);
        }
        before += deepest;
    }
    return before;
}
int soai_plan_cost(const soa_expr *e, soai_cost *cost) {
    int last, first;
    builder *b = soai_values_of(e, &last);
    const int fine = b && last >= 0;
    if (fine) {
        const int passes = passes_of(b, &first);
        *cost = (soai_cost){.sweeps = number_sweeps(b, passes, NULL)};
        for (int i = 0; i < b->count; ++i) {
            cost->recursions += soai_op_is_recursion(b->v[i].code);
            if (b->v[i].code == OP_INPUT) {
                cost->steps += 0;
            } else if (soai_between_sweeps(b->v + i)) {
                cost->steps += 100;
            } else {
                cost->steps += 1;
            }
        }
    }
    soai_values_free(b);
    return fine;
}

/* --- plans ------------------------------------------------------------------------------------ */
void soa_plan_free(soa_plan *p) {
    if (!p) return;
    soai_values_free(p->values);
    for (int i = 0; i < p->solve_count; ++i) {
        soa_plan_free(p->solves[i].plan);
        soa_expr_free(p->solves[i].written);
        free(p->solves[i].matrix);
        free(p->solves[i].room);
    }
    free(p->solves);
    for (int i = 0; i < p->block_count; ++i)
        soa_expr_free(p->blocks[i]);
    free(p->blocks);
    soai_selection_free(p->chosen);
    free(p->first_sweep);
    free(p->ops);
    free(p->start);
    free(p->steps);
    free(p->again);
    free(p->start_again);
    free(p->tips.R);
    free(p->tips.p);
    free(p->fext);
    free(p->copies);
    free(p->memory);
    free(p->slot);
    free(p);
}

static soa_status fill(soa_plan *p, const soa_expr *expr, char *message, size_t room);

/* The part of e that is inverted and becomes `wide` after definitions are expanded; NULL if there
 * is none. */
static const soa_expr *as_written(const soa_expr *e, const soa_expr *wide) {
    if (e->kind == EXPR_INVERSE || e->kind == EXPR_PSEUDO) {
        const soa_expr *x = soai_expand(e->arg[0]);
        const int same = x && soai_same(x, wide);
        soa_expr_free(x);
        if (same) return e->arg[0];
    }
    const soa_expr *found = NULL;
    for (int i = 0; i < e->count && !found; ++i)
        found = as_written(e->arg[i], wide);
    return found;
}

/* Without terms that are zero in every state of the model. */
static const soa_expr *for_model(const soa_machine *m, const soa_expr *e) {
    int turning = 0;
    for (int i = 1; i <= m->model->nb; ++i) {
        const int type = soai_bodies(m->model)[i].type;
        turning |= type == SOA_UNIVERSAL || type == SOA_PLANAR;
    }
    return turning ? soai_hold(e) : soai_without_turning(e);
}
/* Does it, or the plan of a solve, run in the user's frames? */
static int runs_in_users_frames(const soa_plan *p) {
    int users = p->passes > 0 && !p->chosen;
    for (int i = 0; i < p->solve_count; ++i)
        if (p->solves[i].plan) users |= runs_in_users_frames(p->solves[i].plan);
    return users;
}
/* users: in the user's frames.  A plan and those of its solves run in the same frames: one would
 * overwrite the poses and inertias of the other (machine.h). */
static soa_status plan_any(soa_machine *m, const soa_expr *expr, int users, soa_plan **plan,
                           char *message, size_t room) {
    soa_plan *p = soai_zeroed(1, sizeof *p);
    if (!p) return SOA_E_MEMORY;
    p->machine = m;
    p->users = users;
    p->closures = -1;
    p->derivative = soai_is_derivative(expr);
    const soa_expr *fit = for_model(m, expr);
    p->values = fit ? soai_values_of(fit, &p->last) : NULL;
    soa_expr_free(fit);
    soa_status s = !p->values ? SOA_E_MEMORY : SOA_OK;
    if (!s && p->last < 0) {
        char text[200] = "";
        if (p->values->what) soa_expr_print(p->values->what, text, sizeof text);
        if (room)
            snprintf(message, room, "cannot be planned: %s%s%s; --dense forms any expression",
                     p->values->why ? p->values->why : "?", *text ? ": " : "", text);
        s = SOA_E_ARGUMENT;
    }
    if (!s) s = fill(p, expr, message, room);
    const int mixes = !s && p->chosen && runs_in_users_frames(p);
    if (s || mixes)
        soa_plan_free(p);
    else
        *plan = p;
    return mixes ? plan_any(m, expr, 1, plan, message, room) : s;
}
soa_status soa_plan_create(soa_machine *m, const soa_expr *expr, soa_plan **plan, char *message,
                           size_t room) {
    if (!message) room = 0;
    if (room) message[0] = 0;
    if (!m || !expr || !plan) return SOA_E_ARGUMENT;
    if (expr->from != SOA_SPACE_ONE) {
        if (room)
            snprintf(message, room,
                     "this is an operator, %s to %s: apply it to a vector, or ask for its matrix "
                     "(--dense)",
                     soa_space_name((soa_space)expr->from), soa_space_name((soa_space)expr->to));
        return SOA_E_ARGUMENT;
    }
    const unsigned before = soai_refusals();
    soa_plan *made = NULL;
    soa_status s = plan_any(m, expr, 0, &made, message, room);
    /* The plan may exist, but not the one that enough memory would give. */
    if (soai_refusals() != before) {
        soa_plan_free(made);
        made = NULL;
        if (room) message[0] = 0;
        s = SOA_E_MEMORY;
    }
    if (!s) *plan = made;
    return s;
}

int soai_plan_computes(const soa_plan *p, int leaf) {
    int found = 0;
    for (int i = 0; i < p->block_count; ++i)
        found |= p->blocks[i]->leaf == leaf;
    return found;
}
/* Notes what a value needs that has blocks, or names a link. */
static soa_status find_blocks(soa_plan *p, const value *v, char *message, size_t room) {
    soa_machine *m = p->machine;
    if (v->code == OP_AT)
        return soai_link_named(m->model, v->leaf->name, message, room) ? SOA_OK : SOA_E_NAME;
    if (!soai_is_block_op(v->code)) return SOA_OK;
    if (!soai_blocks_create(m, v->leaf)) return SOA_E_MEMORY;
    if (!soai_blocks(m, v->leaf)) {
        if (room) snprintf(message, room, "the operator '%s' has no value", v->leaf->name);
        return SOA_E_NAME;
    }
    for (int i = 0; i < p->block_count; ++i)
        if (soai_same(p->blocks[i], v->leaf)) return SOA_OK;
    p->blocks[p->block_count++] = soai_hold(v->leaf);
    return SOA_OK;
}
/* Checks that all data are there. */
static soa_status check_data(const soa_plan *p, const value *v, char *message, size_t room) {
    const soa_machine *m = p->machine;
    if (soai_is_data(v) && !soai_vector(m, v->leaf)) {
        if (room) snprintf(message, room, "the vector '%s' has no value", soai_leaf_name(v->leaf));
        return SOA_E_NAME;
    }
    if ((v->code == OP_MATRIX || v->code == OP_BC || v->code == OP_BC_T) &&
        !soai_matrix(m, v->leaf)) {
        if (room)
            snprintf(message, room, "the operator '%s' has no value", soai_leaf_name(v->leaf));
        return SOA_E_NAME;
    }
    return SOA_OK;
}
/* One operation between sweeps: a sum, the caller's operator, or a solve, with the plan of the
 * inverted expression. */
static soa_status add_solve(soa_plan *p, int v, int level, const soa_expr *expr, char *message,
                            size_t room) {
    const soa_machine *m = p->machine;
    const value *x = p->values->v + v;
    solve *s = p->solves + p->solve_count++;
    s->level = level;
    s->value = v;
    s->turned = x->b;
    s->in = p->slot[x->a] + soai_slot_start(p->values->v[x->a].space);
    s->out = p->slot[v] + soai_slot_start(x->space);
    if (x->code == OP_SUM) {
        s->sum = 1;
        s->x = x->x;
        s->y = x->y;
        s->second = x->b >= 0 ? p->slot[x->b] : NULL;
        s->rows = m->size[x->space];
        return SOA_OK;
    }
    s->rows = m->size[x->leaf->to];
    s->columns = m->size[x->leaf->from];
    s->pseudo = x->code == OP_PSEUDO;
    if (x->code == OP_MATRIX) {
        s->given = soai_matrix(m, x->leaf);
        s->gears = x->leaf->leaf == LEAF_GEARS;
        return SOA_OK;
    }
    const soa_expr *written = as_written(expr, x->leaf);
    const size_t room_needed =
        s->pseudo ? soai_pseudo_room(s->rows, s->columns) : 2 * (size_t)s->rows;
    s->written = soai_hold(written ? written : x->leaf);
    s->matrix = soai_zeroed((size_t)s->rows * (size_t)s->columns + 1, sizeof(double));
    s->room = soai_zeroed(room_needed + 1, sizeof(double));
    if (!s->matrix || !s->room) return SOA_E_MEMORY;
    const soa_status made = plan_any(p->machine, x->leaf, !p->chosen, &s->plan, message, room);
    s->compliance = !made && p->chosen && !soai_selection_has(p->chosen, STEP_P) &&
                    m->tips.count == 1 && soai_is_compliance(s->plan);
    return made;
}
static soa_status add_solves(soa_plan *p, const soa_expr *expr, char *message, size_t room) {
    const builder *b = p->values;
    soa_status s = SOA_OK;
    for (int i = 0; i < b->count && !s; ++i) {
        if (!soai_between_sweeps(b->v + i)) continue;
        const int level = p->chosen ? soai_selection_pass(p->chosen, i) : b->v[i].level;
        s = add_solve(p, i, level, expr, message, room);
    }
    return s;
}
static soa_status fill(soa_plan *p, const soa_expr *expr, char *message, size_t room) {
    soa_machine *m = p->machine;
    builder *b = p->values;
    int solves = 0;
    p->passes = passes_of(b, &p->first);
    p->first_sweep = soai_zeroed((size_t)p->passes + 2, sizeof *p->first_sweep);
    if (!p->first_sweep) return SOA_E_MEMORY;
    p->sweeps = number_sweeps(b, p->passes, p->first_sweep);
    p->first_sweep[p->passes] = p->sweeps + 1;
    p->blocks = soai_zeroed((size_t)b->count + 1, sizeof *p->blocks);
    if (!p->blocks) return SOA_E_MEMORY;
    for (int i = 0; i < b->count; ++i) {
        const value *v = b->v + i;
        soa_status s = check_data(p, v, message, room);
        if (!s) s = find_blocks(p, v, message, room);
        if (s) return s;
        if (v->space > SOA_SPACE_BASE) p->closures = m->closures;
        p->recursions += soai_op_is_recursion(v->code);
        p->articulates |= soai_op_uses_P(v->code) || block_needs_P(v);
        p->composes |= v->code == OP_MC;
        solves += soai_between_sweeps(v);
    }
    p->composes |= soai_plan_computes(p, LEAF_DCOMPOSITE);
    if (!p->block_count) p->recursions += p->articulates + p->composes; /* else before the sweeps */
    const int shown = b->count;
    if (soai_machine_aligns(m) && !p->users) p->chosen = soai_select(b, p->last);
    b->all = b->count;
    if (!p->chosen) b->count = shown; /* what the selection tried is not run */
    p->solves = soai_zeroed((size_t)solves + 1, sizeof *p->solves);
    soa_status s = p->solves ? soai_plan_lay_out(p) : SOA_E_MEMORY;
    b->count = shown;
    return s ? s : add_solves(p, expr, message, room);
}

int soa_plan_pass_count(const soa_plan *p) {
    return p ? p->passes : 0;
}
int soa_plan_sweep_count(const soa_plan *p) {
    return p ? p->sweeps : 0;
}
int soa_plan_recursion_count(const soa_plan *p) {
    return p ? p->recursions : 0;
}
