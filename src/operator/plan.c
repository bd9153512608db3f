/* plan.c  turns an expression applied to vectors into sweeps.
 *
 * The expression is unrolled from right to left into values. Each value is the result of one
 * operation on earlier values; equal values are shared, so common parts are computed once. An
 * inward (causal) operation needs its argument at a body when the inward loop reaches that body.
 * Operations of the same direction therefore follow each other within one loop, memoryless
 * operations join them, and only a change of direction starts the next sweep. P, D and G come from
 * a separate inward recursion. */
#include "plan.h"
#include "prover.h"
#include <stdio.h>
#include <stdlib.h>

static const struct {
    int way;
} op_row[] = {
#define SOAI_OP_ROW_(code, from, to, way) {way},
    SOAI_OPS(SOAI_OP_ROW_)
#undef SOAI_OP_ROW_
        {0},
    {0},
    {0},
    {0},
    {0}};
static int uses_P(int code) {
    return code == OP_PSI || code == OP_PSI_T || code == OP_G || code == OP_G_T || code == OP_P ||
           code == OP_D || code == OP_DINV;
}
/* Delta and the roots of D need P, D and G. */
static int block_uses_P(const value *v) {
    return v->leaf && (v->leaf->leaf == LEAF_DART || v->leaf->leaf == LEAF_COSTATE ||
                       v->leaf->leaf == LEAF_ROOT || v->leaf->leaf == LEAF_ROOTINV);
}
static int recursion(int code) {
    return code == OP_PHI || code == OP_PHI_T || code == OP_PSI || code == OP_PSI_T;
}

static int value_of(builder *b, value v) {
    if (b->why || v.a == -2 || v.b == -2) return -2;
    for (int i = 0; i < b->count; ++i) {
        const value *o = b->v + i;
        if (o->code == v.code && o->a == v.a && o->b == v.b && o->x == v.x && o->y == v.y &&
            o->space == v.space &&
            (o->leaf == v.leaf || (o->leaf && v.leaf && soai_same(o->leaf, v.leaf))))
            return i;
    }
    if (b->count == MOST_VALUES) {
        b->why = "it has too many parts";
        return -2;
    }
    soai_hold(v.leaf);
    b->v[b->count] = v;
    return b->count++;
}
static int apply(builder *b, const soa_expr *e, int turned, int x);
/* A sum or multiple needs a vector; -1 is the number one (an identity applied to it). */
static int is_vector(builder *b, int x) {
    if (x == -1 && !b->why) b->why = "it adds or scales numbers, not vectors";
    return x == -1 ? -2 : x;
}

/* A vector that is data of the machine. */
static int input(builder *b, int leaf) {
    const soa_expr *e = soai_leaf_new(leaf, ANY);
    const int i =
        e ? value_of(b, (value){.code = OP_INPUT, .space = e->to, .a = -1, .b = -1, .leaf = e})
          : -2;
    soa_expr_free(e);
    return i;
}
/* Zero, a caller's operator, one with a block for each body, or at(link). */
static int apply_blocks(builder *b, const soa_expr *e, int turned, int x) {
    value v = {.space = turned ? e->from : e->to, .a = x, .b = -1, .leaf = e};
    if (x < 0 && e->from != SOA_SPACE_ONE) return is_vector(b, x);
    if (e->from == SOA_SPACE_ONE && e->leaf != LEAF_ZERO) {
        v.code = OP_INPUT;
        v.a = -1;
        if (!turned) return value_of(b, v);
        b->why = "it multiplies by the adjoint of a vector";
        b->what = soai_hold(e);
        return -2;
    }
    switch (e->leaf) {
    case LEAF_ZERO: {
        const soa_expr *zero = soai_zero_new(SOA_SPACE_ONE, v.space);
        const int i =
            zero ? value_of(
                       b,
                       (value){.code = OP_INPUT, .space = v.space, .a = -1, .b = -1, .leaf = zero})
                 : -2;
        soa_expr_free(zero);
        return i;
    }
    case LEAF_CONSTRAIN: v.code = turned ? OP_BC_T : OP_BC; return value_of(b, v);
    case LEAF_MATRIX:
    case LEAF_GEARS:
    case LEAF_HELD:
    case LEAF_OBJECT:
    case LEAF_SELECT:
    case LEAF_EMBED:
        v.code = OP_MATRIX;
        v.b = turned;
        return value_of(b, v);
    case LEAF_AT: v.code = OP_AT; return value_of(b, v);
    default:
        if (v.space == SOA_SPACE_JOINT)
            v.code = turned ? OP_HINGES_T : OP_HINGES;
        else
            v.code = turned && e->leaf != LEAF_COSTATE ? OP_BLOCKS_T : OP_BLOCKS;
        return value_of(b, v);
    }
}
/* pinv(e) x.  Between small spaces by singular values; else through the small one:
 * pinv(A) = A' pinv(A A') = pinv(A' A) A'. */
static int dense_space(int space) {
    return !soai_has_blocks(space) && space != SOA_SPACE_ONE;
}
static int apply_pseudo(builder *b, const soa_expr *e, int turned, int x) {
    const soa_expr *a = e->arg[0];
    const int from = dense_space(a->from), to = dense_space(a->to);
    if (from && to)
        return value_of(b, (value){.code = OP_PSEUDO,
                                   .space = turned ? a->to : a->from,
                                   .a = is_vector(b, x),
                                   .b = turned,
                                   .leaf = a});
    if (!from && !to) {
        b->why = "no O(n) form is known for this inverse of least norm";
        b->what = soai_hold(e);
        return -2;
    }
    const soa_expr *adjoint = soai_unary(EXPR_ADJOINT, 1, soai_hold(a));
    const soa_expr *square = to ? soai_two(EXPR_PRODUCT, soai_hold(a), soai_hold(adjoint))
                                : soai_two(EXPR_PRODUCT, soai_hold(adjoint), soai_hold(a));
    const soa_expr *inside = soai_unary(EXPR_PSEUDO, 1, square);
    const soa_expr *whole = to ? soai_two(EXPR_PRODUCT, soai_hold(adjoint), inside)
                               : soai_two(EXPR_PRODUCT, inside, soai_hold(adjoint));
    const int y = whole ? apply(b, whole, turned, x) : -2;
    soa_expr_free(whole);
    soa_expr_free(adjoint);
    return y;
}
/* cross(v) x, bar(v) x, or their adjoints. */
static int apply_cross(builder *b, const soa_expr *e, int turned, int x) {
    const int v = apply(b, e->arg[0], 0, -1), cross = e->kind == EXPR_CROSS;
    value y = {.code = cross && !turned ? OP_CROSS : OP_CROSS_FORCE, .space = SOA_SPACE_LINK};
    y.a = cross && turned ? v : x;
    y.b = cross && turned ? x : v;
    const int made = value_of(b, y);
    if (!turned) return made;
    return value_of(b,
                    (value){.code = OP_SUM, .space = SOA_SPACE_LINK, .a = made, .b = -1, .x = -1});
}
/* The leaves of derivatives that are no vectors. */
enum { NOT_A_DERIVATIVE = -3 };
static int apply_derivative(builder *b, const soa_expr *e, int turned, int x) {
    switch (e->leaf) {
    case LEAF_THETA: { /* Theta x = delta x* x,  Theta' x = x x delta,  delta = H' dq */
        const int delta = value_of(
            b, (value){.code = OP_H_T, .space = SOA_SPACE_LINK, .a = input(b, LEAF_DQ), .b = -1});
        return value_of(b, (value){.code = turned ? OP_CROSS : OP_CROSS_FORCE,
                                   .space = SOA_SPACE_LINK,
                                   .a = delta,
                                   .b = x});
    }
    case LEAF_DHINGE: { /* dH x = H (t x* x),  dH' x = (H' x) x t,  t = Ht' dq */
        const int turn = value_of(
            b, (value){.code = OP_HT_T, .space = SOA_SPACE_LINK, .a = input(b, LEAF_DQ), .b = -1});
        value y = {.code = OP_CROSS_FORCE, .space = SOA_SPACE_LINK, .a = turn, .b = x};
        if (!turned)
            return value_of(
                b, (value){.code = OP_H, .space = SOA_SPACE_JOINT, .a = value_of(b, y), .b = -1});
        y.code = OP_CROSS;
        y.b = value_of(b, (value){.code = OP_H_T, .space = SOA_SPACE_LINK, .a = x, .b = -1});
        return value_of(b, y);
    }
    default: return NOT_A_DERIVATIVE;
    }
}
static int apply_leaf(builder *b, const soa_expr *e, int turned, int x) {
    static const int codes[LEAF_COUNT][2] = {[LEAF_PHI] = {OP_PHI, OP_PHI_T},
                                             [LEAF_PSI] = {OP_PSI, OP_PSI_T},
                                             [LEAF_SHIFT] = {OP_SHIFT, OP_SHIFT_T},
                                             [LEAF_XPHI] = {OP_X, OP_X_T},
                                             [LEAF_HINGE] = {OP_H, OP_H_T},
                                             [LEAF_GAIN] = {OP_G, OP_G_T},
                                             [LEAF_ART] = {OP_P, OP_P},
                                             [LEAF_DIAG] = {OP_D, OP_D},
                                             [LEAF_DINV] = {OP_DINV, OP_DINV},
                                             [LEAF_RIGID] = {OP_M, OP_M},
                                             [LEAF_COMPOSITE] = {OP_MC, OP_MC},
                                             [LEAF_ROTOR] = {OP_JR, OP_JR},
                                             [LEAF_TIPS] = {OP_B, OP_B_T},
                                             [LEAF_INJECT] = {OP_E, OP_E_T},
                                             [LEAF_TURNING] = {OP_HT, OP_HT_T},
                                             [LEAF_LINEAR] = {OP_LINEAR, OP_LINEAR}};
    if (e->leaf == LEAF_ID) return x;
    if (e->leaf >= LEAF_MATRIX || soai_is_closure(e->leaf) || e->leaf == LEAF_COSTATE ||
        e->leaf == LEAF_ROOT || e->leaf == LEAF_ROOTINV || e->leaf == LEAF_WRENCH ||
        e->leaf == LEAF_DART || e->leaf == LEAF_DCOMPOSITE)
        return apply_blocks(b, e, turned, x);
    const int derivative = apply_derivative(b, e, turned, x);
    if (derivative != NOT_A_DERIVATIVE) return derivative;
    if (e->from == SOA_SPACE_ONE) {
        if (turned) {
            b->why = "it multiplies by the adjoint of a vector";
            b->what = soai_hold(e);
            return -2;
        }
        if (e->leaf != LEAF_BIASACC && e->leaf != LEAF_BIASFORCE && e->leaf != LEAF_CENTRIPETAL)
            return value_of(b,
                            (value){.code = OP_INPUT, .space = e->to, .a = -1, .b = -1, .leaf = e});
        const int velocity = value_of(b, (value){.code = OP_PHI_T,
                                                 .space = SOA_SPACE_LINK,
                                                 .b = -1,
                                                 .a = value_of(b, (value){.code = OP_H_T,
                                                                          .space = SOA_SPACE_LINK,
                                                                          .a = input(b, LEAF_THD),
                                                                          .b = -1})});
        if (e->leaf != LEAF_BIASACC)
            return value_of(b,
                            (value){.code = e->leaf == LEAF_BIASFORCE ? OP_FORCE : OP_CENTRIPETAL,
                                    .space = SOA_SPACE_LINK,
                                    .a = velocity,
                                    .b = -1});
        const int bias =
            value_of(b, (value){.code = OP_BIAS, .space = SOA_SPACE_LINK, .a = velocity, .b = -1});
        return value_of(b, (value){.code = OP_SUM,
                                   .space = SOA_SPACE_LINK,
                                   .a = bias,
                                   .x = 1,
                                   .y = 1,
                                   .b = value_of(b, (value){.code = OP_E,
                                                            .space = SOA_SPACE_LINK,
                                                            .a = input(b, LEAF_BASEACC),
                                                            .b = -1})});
    }
    return value_of(
        b, (value){
               .code = codes[e->leaf][turned], .space = turned ? e->from : e->to, .a = x, .b = -1});
}
/* A multiple of another value: that value, *s times its factor. */
static int unscaled(const builder *b, int y, double *s) {
    if (y < 0 || b->v[y].code != OP_SUM || b->v[y].b != -1) return y;
    *s *= b->v[y].x;
    return b->v[y].a;
}
/* The value of e (or e') times value x; x is -1 if e is a vector. */
static int apply(builder *b, const soa_expr *e, int turned, int x) {
    if (b->why || x == -2 || !e) return -2;
    switch (e->kind) {
    case EXPR_LEAF: return apply_leaf(b, e, turned, x);
    case EXPR_ADJOINT: return apply(b, e->arg[0], !turned, x);
    case EXPR_PSEUDO: return apply_pseudo(b, e, turned, x);
    case EXPR_SCALE: {
        int y = is_vector(b, apply(b, e->arg[0], turned, x));
        double s = e->factor;
        y = unscaled(b, y, &s);
        if (s == 1) return y;
        return value_of(
            b,
            (value){.code = OP_SUM, .space = y >= 0 ? b->v[y].space : 0, .a = y, .b = -1, .x = s});
    }
    case EXPR_PRODUCT:
        for (int i = 0; i < e->count; ++i)
            x = apply(b, e->arg[turned ? i : e->count - 1 - i], turned, x);
        return x;
    case EXPR_SUM: {
        int total = -1;
        double scale = 1;
        for (int i = 0; i < e->count; ++i) {
            const soa_expr *t = e->arg[i];
            double s = t->kind == EXPR_SCALE ? t->factor : 1;
            int y = is_vector(b, apply(b, t->kind == EXPR_SCALE ? t->arg[0] : t, turned, x));
            if (y == -2) return -2;
            y = unscaled(b, y, &s);
            if (total < 0) {
                total = y;
                scale = s;
            } else {
                total = value_of(b, (value){.code = OP_SUM,
                                            .space = b->v[y].space,
                                            .a = total,
                                            .b = y,
                                            .x = scale,
                                            .y = s});
                scale = 1;
            }
        }
        return scale == 1 ? total
                          : value_of(b, (value){.code = OP_SUM,
                                                .space = b->v[total].space,
                                                .a = total,
                                                .b = -1,
                                                .x = scale});
    }
    case EXPR_CROSS:
    case EXPR_BAR: return apply_cross(b, e, turned, x);
    default: {
        const soa_expr *inverse = soai_inverse_of(e->arg[0]),
                       *wide = inverse ? soai_expand(inverse) : NULL;
        int y = -2;
        if (wide) {
            y = apply(b, wide, turned, x);
        } else if (dense_space(e->to)) {
            y = value_of(
                b,
                (value){.code = OP_SOLVE, .space = e->to, .a = x, .b = turned, .leaf = e->arg[0]});
        } else {
            b->why = "no O(n) form is known for this inverse";
            b->what = soai_hold(e);
        }
        soa_expr_free(wide);
        soa_expr_free(inverse);
        return y;
    }
    }
}

/* Levels are sweep numbers, alternately inward and outward starting with `first` (1: inward).
 * Returns their number. Dense operations run after the sweep of their level, one by one; those on
 * inputs alone run before the first sweep, at level -1. */
static int dense_op(int code) {
    return code == OP_SOLVE || code == OP_MATRIX || code == OP_PSEUDO;
}
/* Is the second argument a vector too? */
static int two_vectors(int code) {
    return code == OP_SUM || code == OP_CROSS || code == OP_CROSS_FORCE;
}
static int level_all(builder *b, int first) {
    int most = -1;
#define WAY_OF(level) ((level) % 2 == 0 ? first : -first)
    for (int i = 0; i < b->count; ++i) {
        value *v = b->v + i;
        const int between = soai_between_sweeps(v);
        int level = between ? -1 : 0;
        const int ab[2] = {v->a, v->b};
        for (int s = 0; s < (two_vectors(v->code) ? 2 : 1); ++s)
            if (ab[s] >= 0) {
                const value *o = b->v + ab[s];
                int after = o->level;
                if (!between &&
                    ((o->space >= SOA_SPACE_BASE && o->code != OP_INPUT) || soai_between_sweeps(o)))
                    ++after; /* known only after the sweep */
                if (after > level) level = after;
            }
        v->level = v->code == OP_INPUT ? -1 : level;
        const int way = op_row[v->code].way;
        if (way && WAY_OF(v->level) != way) ++v->level;
        if (v->level > most) most = v->level;
    }
    return most + 1;
}
/* Starts with the direction that needs fewer levels; returns the number of sweeps. */
static int sweeps_of(builder *b, int *first) {
    const int in = level_all(b, 1), out = level_all(b, -1);
    *first = in <= out ? 1 : -1;
    return level_all(b, *first);
}
static builder *values_of(const soa_expr *e, int *last) {
    builder *b = soai_zeroed(1, sizeof *b);
    const soa_expr *wide = b ? soai_expand(e) : NULL;
    if (!wide) {
        free(b);
        return NULL;
    }
    int x = -1;
    if (wide->from != SOA_SPACE_ONE)
        x = value_of(b, (value){.code = OP_INPUT, .space = wide->from, .a = -1, .b = -1});
    *last = apply(b, wide, 0, x);
    soa_expr_free(wide);
    return b;
}
static void builder_free(builder *b) {
    for (int i = 0; b && i < b->count; ++i)
        soa_expr_free(b->v[i].leaf);
    if (b) soa_expr_free(b->what);
    free(b);
}
int soai_plan_cost(const soa_expr *e, soai_cost *cost) {
    int last, first;
    builder *b = values_of(e, &last);
    const int fine = b && last >= 0;
    if (fine) {
        *cost = (soai_cost){.sweeps = sweeps_of(b, &first)};
        for (int i = 0; i < b->count; ++i) {
            cost->recursions += recursion(b->v[i].code);
            if (b->v[i].code == OP_INPUT) {
                cost->steps += 0;
            } else if (dense_op(b->v[i].code)) {
                cost->steps += 100;
            } else {
                cost->steps += 1;
            }
        }
    }
    builder_free(b);
    return fine;
}

/* --- plans ------------------------------------------------------------------------------------ */
void soa_plan_free(soa_plan *p) {
    if (!p) return;
    builder_free(p->values);
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
    free(p->ops);
    free(p->start);
    free(p->memory);
    free(p->slot);
    free(p->forces);
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

/* Is it FD3, the form that the rewriter derives for forward dynamics? */
static int fused_form(const soa_machine *m, const soa_expr *e) {
    static const char *const forms[] = {
        "(I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b))",
        "(I - H psi K)' inv(D) (T - H psi (K T + M phi' a + b + B f0))"};
    int found = 0;
    for (int i = 0; i < 2 && !m->model->losses; ++i) {
        const soa_expr *form = NULL;
        if (soa_expr_parse(forms[i], NULL, 0, &form, NULL, 0) == SOA_OK && soai_same(form, e))
            found = i + 1;
        soa_expr_free(form);
    }
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
static soa_status plan_any(soa_machine *m, const soa_expr *expr, soa_plan **plan, char *message,
                           size_t room) {
    soa_plan *p = soai_zeroed(1, sizeof *p);
    if (!p) return SOA_E_MEMORY;
    p->machine = m;
    p->closures = -1;
    p->fused = fused_form(m, expr);
    p->derivative = soai_is_derivative(expr);
    p->forces = soai_zeroed(6 * ((size_t)m->model->nb + 1), sizeof(double));
    const soa_expr *fit = for_model(m, expr);
    p->values = p->forces && fit ? values_of(fit, &p->last) : NULL;
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
    if (s)
        soa_plan_free(p);
    else
        *plan = p;
    return s;
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
    soa_status s = plan_any(m, expr, &made, message, room);
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

static int computes(const soa_plan *p, int leaf) {
    int found = 0;
    for (int i = 0; i < p->block_count; ++i)
        found |= p->blocks[i]->leaf == leaf;
    return found;
}
/* A vector that is read in place. */
static int is_data(const value *v) {
    return v->code == OP_INPUT && v->leaf && !soai_is_zero(v->leaf);
}
static int block_op(int code) {
    return code == OP_BLOCKS || code == OP_BLOCKS_T || code == OP_HINGES || code == OP_HINGES_T;
}
static double link_of(const soa_machine *m, const soa_expr *leaf) {
    return soai_link_named(m->model, leaf->name, NULL, 0);
}
/* Notes what a value needs that has blocks, or names a link. */
static soa_status find_blocks(soa_plan *p, const value *v, char *message, size_t room) {
    soa_machine *m = p->machine;
    if (v->code == OP_AT)
        return soai_link_named(m->model, v->leaf->name, message, room) ? SOA_OK : SOA_E_NAME;
    if (!block_op(v->code)) return SOA_OK;
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
static soa_status fill(soa_plan *p, const soa_expr *expr, char *message, size_t room) {
    soa_machine *m = p->machine;
    builder *b = p->values;
    p->sweeps = sweeps_of(b, &p->first);
    p->blocks = soai_zeroed((size_t)b->count + 1, sizeof *p->blocks);
    if (!p->blocks) return SOA_E_MEMORY;
    size_t total = 0;
    int solves = 0;
    for (int i = 0; i < b->count; ++i) {
        const value *v = b->v + i;
        if (is_data(v) && !soai_vector(m, v->leaf)) {
            if (room)
                snprintf(message, room, "the vector '%s' has no value", soai_leaf_name(v->leaf));
            return SOA_E_NAME;
        }
        if ((v->code == OP_MATRIX || v->code == OP_BC || v->code == OP_BC_T) &&
            !soai_matrix(m, v->leaf)) {
            if (room)
                snprintf(message, room, "the operator '%s' has no value", soai_leaf_name(v->leaf));
            return SOA_E_NAME;
        }
        if (v->space > SOA_SPACE_BASE) p->closures = m->closures;
        const soa_status named = find_blocks(p, v, message, room);
        if (named) return named;
        total += soai_slot_size(m, v->space);
        p->recursions += recursion(v->code);
        p->articulates |= uses_P(v->code) || block_uses_P(v);
        solves += soai_between_sweeps(v);
    }
    p->composes |= computes(p, LEAF_DCOMPOSITE);
    p->memory = soai_zeroed(total + 1, sizeof(double));
    p->slot = soai_zeroed((size_t)b->count + 1, sizeof *p->slot);
    p->ops = soai_zeroed((size_t)b->count + 1, sizeof *p->ops);
    p->start = soai_zeroed((size_t)p->sweeps + 2, sizeof *p->start);
    p->solves = soai_zeroed((size_t)solves + 1, sizeof *p->solves);
    if (!p->memory || !p->slot || !p->ops || !p->start || !p->solves) return SOA_E_MEMORY;
    double *at = p->memory;
    for (int i = 0; i < b->count; ++i) {
        const value *v = b->v + i;
        if (is_data(v)) { /* read in place from the machine's data */
            p->slot[i] = (double *)(uintptr_t)soai_vector(m, v->leaf);
            continue;
        }
        p->slot[i] = at;
        at += soai_slot_size(m, v->space);
        if (v->code == OP_INPUT && !v->leaf) p->input = p->slot[i];
    }
    int n = 0;
    for (int level = -1; level < p->sweeps; ++level) {
        if (level >= 0) p->start[level] = n;
        for (int i = 0; i < b->count; ++i) {
            const value *v = b->v + i;
            if (v->level != level || v->code == OP_INPUT) continue;
            if (soai_between_sweeps(v)) {
                solve *s = p->solves + p->solve_count++;
                s->level = level;
                s->value = i;
                s->turned = v->b;
                s->in = p->slot[v->a] + soai_slot_start(b->v[v->a].space);
                s->out = p->slot[i] + soai_slot_start(v->space);
                if (v->code == OP_SUM) {
                    s->sum = 1;
                    s->x = v->x;
                    s->y = v->y;
                    s->second = v->b >= 0 ? p->slot[v->b] : NULL;
                    s->rows = m->size[v->space];
                    continue;
                }
                s->rows = m->size[v->leaf->to];
                s->columns = m->size[v->leaf->from];
                s->pseudo = v->code == OP_PSEUDO;
                if (v->code == OP_MATRIX) {
                    s->given = soai_matrix(m, v->leaf);
                    s->gears = v->leaf->leaf == LEAF_GEARS;
                    continue;
                }
                const soa_expr *written = as_written(expr, v->leaf);
                s->written = soai_hold(written ? written : v->leaf);
                s->matrix = soai_zeroed((size_t)s->rows * (size_t)s->columns + 1, sizeof(double));
                s->room = soai_zeroed(s->pseudo ? soai_pseudo_room(s->rows, s->columns) + 1
                                                : 2 * (size_t)s->rows + 1,
                                      sizeof(double));
                const soa_status st = s->matrix && s->room
                                          ? plan_any(m, v->leaf, &s->plan, message, room)
                                          : SOA_E_MEMORY;
                if (st) return st;
                continue;
            }
            const double *second = v->b >= 0 ? p->slot[v->b] : NULL;
            if (block_op(v->code)) second = soai_blocks(m, v->leaf);
            p->ops[n++] = (soai_op){.code = v->code,
                                    .space = v->space,
                                    .x = v->code == OP_AT ? link_of(m, v->leaf) : v->x,
                                    .y = v->y,
                                    .out = p->slot[i],
                                    .a = v->a >= 0 ? p->slot[v->a] : NULL,
                                    .b = v->code == OP_MC ? m->composite : second};
            p->composes |= v->code == OP_MC;
        }
    }
    p->start[p->sweeps] = n;
    return SOA_OK;
}

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
    for (int c = 0; c < s->columns; ++c) {
        memset(s->plan->input, 0, (size_t)s->columns * sizeof(double));
        s->plan->input[c] = 1;
        const soa_status st = soai_plan_run_all(s->plan);
        if (st) return st;
        const double *y = s->plan->slot[s->plan->last];
        for (int r = 0; r < n; ++r)
            s->matrix[s->turned ? n * c + r : s->columns * r + c] = y[r];
    }
    if (s->pseudo) return run_pseudo(m, s);
    memcpy(s->out, s->in, (size_t)n * sizeof(double));
    const double condition = soai_solve_measured(n, s->matrix, s->out, s->room);
    if (!(condition <= SOAI_MOST_CONDITION)) return soai_run_singular(m, s->written, condition);
    if (condition > m->condition) m->condition = condition;
    return SOA_OK;
}
/* Forward dynamics as a whole: filter and smoother of aba.h, one pass each with the same steps. */
static soa_status run_fused(soa_plan *p) {
    soa_machine *m = p->machine;
    soa_work *w = m->work;
    double *f = p->forces;
    memcpy(f, m->fext, 6 * ((size_t)m->model->nb + 1) * sizeof *f);
    for (int t = 0; p->fused > 1 && t < m->tips.count; ++t) { /* f0 acts on the environment */
        double minus[6];
        for (int j = 0; j < 6; ++j)
            minus[j] = -m->f0[6 * t + j];
        force_in_add(m->tips.R + 9 * t, m->tips.p + 3 * t, minus, f + 6 * m->tips.body[t]);
    }
    const double *fext = soai_wrenches_to_chosen(w, f + 6);
    const int bad = w->k->aba(&w->aligned, &w->w, m->q, m->thd, m->torque, fext, p->slot[p->last]);
    return bad ? soai_run_hinge(m, bad) : SOA_OK;
}
soa_status soai_plan_run_all(soa_plan *p) {
    soa_machine *m = p->machine;
    soa_work *w = m->work;
    if (p->fused) return run_fused(p);
    soai_pose(m);
    if (p->articulates) {
        const soa_status s = soai_articulate(m);
        if (s) return s;
    }
    if (p->composes) soai_compose(m);
    for (int i = 0; i < p->block_count; ++i) {
        const soa_status s = soai_blocks_compute(m, p->blocks[i]);
        if (s) return s;
    }
    for (int level = -1; level < p->sweeps; ++level) {
        const soai_op *ops = p->ops + (level < 0 ? 0 : p->start[level]);
        const int count = level < 0 ? 0 : p->start[level + 1] - p->start[level];
        for (int o = 0; o < count; ++o) { /* sums begin at zero */
            if (ops[o].code == OP_PHI || ops[o].code == OP_PSI || ops[o].code == OP_SHIFT)
                memset(ops[o].out, 0, 6 * ((size_t)m->model->nb + 1) * sizeof(double));
            if (ops[o].code == OP_E_T || ops[o].code == OP_BC_T)
                memset(ops[o].out, 0, (size_t)m->size[ops[o].space] * sizeof(double));
        }
        if (count)
            w->k->exec(&w->view, &w->w, (level % 2 == 0 ? p->first : -p->first) > 0, ops, count,
                       &m->tips, m->thd, m->fext);
        for (int i = 0; i < p->solve_count; ++i)
            if (p->solves[i].level == level) {
                const soa_status s = run_solve(m, p->solves + i);
                if (s) return s;
            }
    }
    return SOA_OK;
}
soa_status soa_plan_run(soa_plan *p, double *result) {
    if (!p || !result) return SOA_E_ARGUMENT;
    if (p->closures >= 0 && p->closures != p->machine->closures) return SOA_E_ORDER;
    soai_run_begins(p->machine);
    const soa_status s = soai_plan_run_all(p);
    if (s) return s;
    const int space = p->values->v[p->last].space,
              links = space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
    memcpy(result, p->slot[p->last] + (links ? 6 : 0),
           (size_t)p->machine->size[space] * sizeof(double));
    return SOA_OK;
}
int soa_plan_sweep_count(const soa_plan *p) {
    return p ? p->sweeps : 0;
}
int soa_plan_recursion_count(const soa_plan *p) {
    return p ? p->recursions : 0;
}

/* --- explaining ------------------------------------------------------------------------------- */
static const char *input_name(const soa_expr *leaf) {
    if (!leaf) return "x";
    return soai_leaf_name(leaf);
}
static void value_name(const builder *b, int i, char name[32]) {
    if (i < 0)
        snprintf(name, 32, "0");
    else if (b->v[i].code == OP_INPUT)
        snprintf(name, 32, "%.31s", input_name(b->v[i].leaf));
    else
        snprintf(name, 32, "%s%d",
                 (const char *const[]){"", "e", "z", "y", "t", "c", "r", "o", "s"}[b->v[i].space],
                 i);
}
/* The operator that an operation applies, as in expressions. */
static const char *const factors[] = {[OP_PHI] = "phi",
                                      [OP_PSI] = "psi",
                                      [OP_PHI_T] = "phi'",
                                      [OP_PSI_T] = "psi'",
                                      [OP_SHIFT] = "S",
                                      [OP_SHIFT_T] = "S'",
                                      [OP_X] = "Delta_phi",
                                      [OP_X_T] = "Delta_phi'",
                                      [OP_H] = "H",
                                      [OP_H_T] = "H'",
                                      [OP_G] = "G",
                                      [OP_G_T] = "G'",
                                      [OP_P] = "P",
                                      [OP_M] = "M",
                                      [OP_MC] = "Mc",
                                      [OP_D] = "D",
                                      [OP_DINV] = "inv(D)",
                                      [OP_JR] = "Jr",
                                      [OP_B] = "B",
                                      [OP_B_T] = "B'",
                                      [OP_E] = "E",
                                      [OP_E_T] = "E'",
                                      [OP_BIAS] = "a",
                                      [OP_FORCE] = "b",
                                      [OP_SUM] = "+",
                                      [OP_SOLVE] = "inv",
                                      [OP_MATRIX] = "",
                                      [OP_PSEUDO] = "pinv",
                                      [OP_BC] = "Bc",
                                      [OP_BC_T] = "Bc'",
                                      [OP_AT] = "at",
                                      [OP_INPUT] = "",
                                      [OP_CENTRIPETAL] = "wxv",
                                      [OP_CROSS] = "x",
                                      [OP_CROSS_FORCE] = "x*",
                                      [OP_HT] = "Ht",
                                      [OP_HT_T] = "Ht'",
                                      [OP_LINEAR] = "Lv"};
/* The line of one value: left and right of the equals sign. */
static void say_step(const soa_plan *p, int i, int runs, soa_plan_step *t) {
    const builder *b = p->values;
    const value *v = b->v + i;
    char out[32], x[32], y[32];
    value_name(b, i, out);
    value_name(b, v->a, x);
    value_name(b, v->b, y);
    t->space = (soa_space)v->space;
    t->factor = factors[v->code];
    if (v->code == OP_MATRIX || block_op(v->code)) t->factor = input_name(v->leaf);
    if (op_row[v->code].way > 0) {
        t->runs = SOA_CAUSAL;
    } else if (op_row[v->code].way < 0) {
        t->runs = SOA_ANTICAUSAL;
    } else {
        t->runs = SOA_MEMORYLESS;
    }
    t->recursion = recursion(v->code);
    snprintf(t->left, sizeof t->left, soai_between_sweeps(v) ? "%s" : "%s(k)", out);
    size_t at = 0;
#define SAY(...)                                                                           \
    at += (size_t)snprintf(t->right + at, at < sizeof t->right ? sizeof t->right - at : 0, \
                           __VA_ARGS__)
    switch (v->code) {
    case OP_PHI: SAY("%s(k) + sum phi(k,c) %s(c)", x, out); break;
    case OP_PSI: SAY("%s(k) + sum psi(k,c) %s(c)", x, out); break;
    case OP_PHI_T: SAY("%s(k) + phi'(p,k) %s(p)", x, out); break;
    case OP_PSI_T: SAY("%s(k) + psi'(p,k) %s(p)", x, out); break;
    case OP_SHIFT: SAY("sum %s(c)", x); break;
    case OP_SHIFT_T: SAY("%s(p)", x); break;
    case OP_X: SAY("phi(p,k) %s(k)", x); break;
    case OP_X_T: SAY("phi'(p,k) %s(k)", x); break;
    case OP_B: SAY("sum phi(k,tip) %s(tip)", x); break;
    case OP_B_T: SAY("phi'(k,tip) %s(k)          for the tips of k", x); break;
    case OP_E: SAY("phi'(0,k) %s               root links only", x); break;
    case OP_E_T: SAY("sum phi(0,k) %s(k)         root links only", x); break;
    case OP_BIAS: SAY("%s(k) x H'(k) thd(k)       and the apparent rate of H'", x); break;
    case OP_FORCE: SAY("%s(k) x* M(k) %s(k) - external wrench", x, x); break;
    case OP_SOLVE:
        SAY("inv(.) %s, a dense solve %s", x, runs ? "after the sweep" : "between sweeps");
        break;
    case OP_MATRIX:
        SAY("%s%s %s, a matrix %s", soai_leaf_name(v->leaf), v->b ? "'" : "", x,
            runs ? "after the sweep" : "between sweeps");
        break;
    case OP_BC: SAY("sum Bc(k,row) %s(row)", x); break;
    case OP_BC_T: SAY("sum Bc'(k,row) %s(k)", x); break;
    case OP_PSEUDO:
        SAY("pinv(.) %s, by singular values %s", x, runs ? "after the sweep" : "between sweeps");
        break;
    case OP_BLOCKS_T:
    case OP_HINGES_T: SAY("%s'(k) %s(k)", t->factor, x); break;
    case OP_AT: SAY("%s(k)          for k = %s, else 0", x, v->leaf->name); break;
    case OP_CENTRIPETAL: SAY("[0; omega x v] of %s(k)", x); break;
    case OP_CROSS: SAY("%s(k) x %s(k)", y, x); break;
    case OP_CROSS_FORCE: SAY("%s(k) x* %s(k)", x, y); break;
    case OP_SUM: {
        const char *k = soai_between_sweeps(v) ? "" : "(k)";
        if (v->x == 1)
            SAY("%s%s", x, k);
        else if (v->x == -1)
            SAY("-%s%s", x, k);
        else
            SAY("%g %s%s", v->x, x, k);
        if (v->b >= 0 && (v->y == 1 || v->y == -1))
            SAY(" %s %s%s", v->y < 0 ? "-" : "+", y, k);
        else if (v->b >= 0)
            SAY(" + %g %s%s", v->y, y, k);
        break;
    }
    default: SAY("%s(k) %s(k)", t->factor, x);
    }
#undef SAY
}
void soa_plan_visit_steps(const soa_plan *p, soa_plan_step_fn *fn, void *user) {
    static const soa_plan_step inertias[] = {
        {-2, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "P", "P(k)",
         "M(k) + sum phi(k,c) P+(c) phi'(k,c)      P at a tip: M"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_JOINT, 0, "D", "D(k)", "H(k) P(k) H'(k)"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "G", "G(k)", "P(k) H'(k) inv(D(k))"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "P", "P+(k)", "P(k) - G(k) H(k) P(k)"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "psi", "psi(p,k)",
         "phi(p,k) (I - G(k) H(k))"},
        {-1, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "Mc", "Mc(k)",
         "M(k) + sum phi(k,c) Mc(c) phi'(k,c)      Mc at a tip: M"}};
    static const soa_plan_step costate = {
        -3,
        SOA_ANTICAUSAL,
        SOA_ANTICAUSAL,
        SOA_SPACE_LINK,
        1,
        "Delta",
        "Delta(k)",
        "psi'(p,k) Delta(p) psi(p,k) + H'(k) inv(D(k)) H(k)      at the base: 0"};
    static const soa_plan_step root = {
        -3, SOA_MEMORYLESS, SOA_MEMORYLESS, SOA_SPACE_JOINT,
        0,  "sqrt(D)",      "sqrt(D)(k)",   "lower triangle of D(k) = sqrt(D)(k) sqrt(D)'(k)"};
    static const soa_plan_step changes[] = {
        {-2, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "dP", "dP(k)",
         "sum phi(k,c) (Theta P+ + P+ Theta' + dP+)(c) phi'(k,c)      dP at a tip: 0"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "dP", "dP+(k)",
         "(I - G H) dP (I - G H)' - G dH P+ - P+ dH' G'"},
        {-1, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "dMc", "dMc(k)",
         "sum phi(k,c) (Theta Mc + Mc Theta' + dMc)(c) phi'(k,c)      dMc at a tip: 0"}};
    if (!p || !fn) return;
    for (size_t i = 0; i < sizeof inertias / sizeof *inertias; ++i)
        if (inertias[i].sweep == -2 ? p->articulates : p->composes) fn(user, inertias + i);
    for (int i = 0; i < 3; ++i)
        if (computes(p, i < 2 ? LEAF_DART : LEAF_DCOMPOSITE)) fn(user, changes + i);
    if (computes(p, LEAF_COSTATE)) fn(user, &costate);
    if (computes(p, LEAF_ROOT) || computes(p, LEAF_ROOTINV)) fn(user, &root);
    for (int level = -1; level < p->sweeps; ++level) {
        const int inward = (level % 2 == 0 ? p->first : -p->first) > 0,
                  runs = level >= 0 && p->start[level] != p->start[level + 1];
        for (int i = 0; i < p->values->count; ++i) {
            const value *v = p->values->v + i;
            if (v->level != level || v->code == OP_INPUT) continue;
            soa_plan_step t = {.sweep = level + 1, .way = inward ? SOA_CAUSAL : SOA_ANTICAUSAL};
            if (soai_between_sweeps(v)) t.way = SOA_MEMORYLESS;
            say_step(p, i, runs, &t);
            fn(user, &t);
        }
    }
}
typedef struct explaining {
    char *text;
    size_t at, room;
    int sweep;
} explaining;
#define SAY(...)                                                        \
    w->at += (size_t)snprintf(w->at < w->room ? w->text + w->at : NULL, \
                              w->at < w->room ? w->room - w->at : 0, __VA_ARGS__)
static void explain_step(void *user, const soa_plan_step *t) {
    explaining *w = user;
    if (t->sweep != w->sweep && t->way != SOA_MEMORYLESS) {
        SAY("\nfor k = %s\n",
            t->way == SOA_CAUSAL ? "n ... 1   (tips to base)" : "1 ... n   (base to tips)");
        w->sweep = t->sweep;
    }
    SAY("    %-8s = %s\n", t->left, t->right);
}
/* What is formed before the first sweep, as the end of a sentence. */
static const char *recursions_before(const soa_plan *p) {
    const int changes = computes(p, LEAF_DART);
    if (changes && p->composes) return ", after the inward recursions of P, D, G, dP and Mc";
    if (changes) return ", after the inward recursions of P, D, G and dP";
    if (p->articulates && p->composes) return ", after the inward recursions of P, D, G and Mc";
    if (p->articulates) return ", after the inward recursion of P, D, G";
    return p->composes ? ", after the inward recursion of Mc" : "";
}
size_t soa_plan_explain(const soa_plan *p, char *text, size_t room) {
    if (!text) room = 0;
    explaining all = {text, 0, room, 0}, *w = &all;
    if (room) text[0] = 0;
    if (!p) return 0;
    SAY("%d sweep%s, %d recursion%s%s\n", p->sweeps, p->sweeps == 1 ? "" : "s", p->recursions,
        p->recursions == 1 ? "" : "s", recursions_before(p));
    if (p->fused) SAY("(run as one filter and one smoother, the library's forward dynamics)\n");
    SAY("k a body, p its parent, c its children; phi(p,k) with the rotation; world: all zero\n");
    soa_plan_visit_steps(p, explain_step, w);
    char out[32];
    value_name(p->values, p->last, out);
    SAY("\nresult: %s\n", out);
    return w->at;
}
#undef SAY
