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
#include "select.h"
#include <stdio.h>
#include <stdlib.h>

/* 1 inward, -1 outward, 0 any */
static int way_of(int code) {
    static const int way[] = {
#define SOAI_OP_WAY_(op, from, to, which) [op] = (which),
        SOAI_OPS(SOAI_OP_WAY_)
#undef SOAI_OP_WAY_
    };
    return code < OP_SUM ? way[code] : 0;
}
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

int soai_value_of(builder *b, value v) {
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
        e ? soai_value_of(b, (value){.code = OP_INPUT, .space = e->to, .a = -1, .b = -1, .leaf = e})
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
        if (!turned) return soai_value_of(b, v);
        b->why = "it multiplies by the adjoint of a vector";
        b->what = soai_hold(e);
        return -2;
    }
    switch (e->leaf) {
    case LEAF_ZERO: {
        const soa_expr *zero = soai_zero_new(SOA_SPACE_ONE, v.space);
        const int i =
            zero ? soai_value_of(
                       b,
                       (value){.code = OP_INPUT, .space = v.space, .a = -1, .b = -1, .leaf = zero})
                 : -2;
        soa_expr_free(zero);
        return i;
    }
    case LEAF_CONSTRAIN: v.code = turned ? OP_BC_T : OP_BC; return soai_value_of(b, v);
    case LEAF_MATRIX:
    case LEAF_GEARS:
    case LEAF_HELD:
    case LEAF_OBJECT:
    case LEAF_SELECT:
    case LEAF_EMBED:
        v.code = OP_MATRIX;
        v.b = turned;
        return soai_value_of(b, v);
    case LEAF_AT: v.code = OP_AT; return soai_value_of(b, v);
    default:
        if (v.space == SOA_SPACE_JOINT)
            v.code = turned ? OP_HINGES_T : OP_HINGES;
        else
            v.code = turned && e->leaf != LEAF_COSTATE ? OP_BLOCKS_T : OP_BLOCKS;
        return soai_value_of(b, v);
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
        return soai_value_of(b, (value){.code = OP_PSEUDO,
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
    const int made = soai_value_of(b, y);
    if (!turned) return made;
    return soai_value_of(
        b, (value){.code = OP_SUM, .space = SOA_SPACE_LINK, .a = made, .b = -1, .x = -1});
}
/* The leaves of derivatives that are no vectors. */
enum { NOT_A_DERIVATIVE = -3 };
static int apply_derivative(builder *b, const soa_expr *e, int turned, int x) {
    switch (e->leaf) {
    case LEAF_THETA: { /* Theta x = delta x* x,  Theta' x = x x delta,  delta = H' dq */
        const int delta = soai_value_of(
            b, (value){.code = OP_H_T, .space = SOA_SPACE_LINK, .a = input(b, LEAF_DQ), .b = -1});
        return soai_value_of(b, (value){.code = turned ? OP_CROSS : OP_CROSS_FORCE,
                                        .space = SOA_SPACE_LINK,
                                        .a = delta,
                                        .b = x});
    }
    case LEAF_DHINGE: { /* dH x = H (t x* x),  dH' x = (H' x) x t,  t = Ht' dq */
        const int turn = soai_value_of(
            b, (value){.code = OP_HT_T, .space = SOA_SPACE_LINK, .a = input(b, LEAF_DQ), .b = -1});
        value y = {.code = OP_CROSS_FORCE, .space = SOA_SPACE_LINK, .a = turn, .b = x};
        if (!turned)
            return soai_value_of(
                b,
                (value){.code = OP_H, .space = SOA_SPACE_JOINT, .a = soai_value_of(b, y), .b = -1});
        y.code = OP_CROSS;
        y.b = soai_value_of(b, (value){.code = OP_H_T, .space = SOA_SPACE_LINK, .a = x, .b = -1});
        return soai_value_of(b, y);
    }
    default: return NOT_A_DERIVATIVE;
    }
}
int soai_value_of_velocity(builder *b) {
    const int own = soai_value_of(
        b, (value){.code = OP_H_T, .space = SOA_SPACE_LINK, .a = input(b, LEAF_THD), .b = -1});
    return soai_value_of(b, (value){.code = OP_PHI_T, .space = SOA_SPACE_LINK, .a = own, .b = -1});
}
int soai_value_of_bias(builder *b) {
    return soai_value_of(
        b,
        (value){.code = OP_BIAS, .space = SOA_SPACE_LINK, .a = soai_value_of_velocity(b), .b = -1});
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
            return soai_value_of(
                b, (value){.code = OP_INPUT, .space = e->to, .a = -1, .b = -1, .leaf = e});
        const int velocity = soai_value_of_velocity(b);
        if (e->leaf != LEAF_BIASACC)
            return soai_value_of(
                b, (value){.code = e->leaf == LEAF_BIASFORCE ? OP_FORCE : OP_CENTRIPETAL,
                           .space = SOA_SPACE_LINK,
                           .a = velocity,
                           .b = -1});
        const int bias = soai_value_of_bias(b);
        return soai_value_of(b, (value){.code = OP_SUM,
                                        .space = SOA_SPACE_LINK,
                                        .a = bias,
                                        .x = 1,
                                        .y = 1,
                                        .b = soai_value_of(b, (value){.code = OP_E,
                                                                      .space = SOA_SPACE_LINK,
                                                                      .a = input(b, LEAF_BASEACC),
                                                                      .b = -1})});
    }
    return soai_value_of(
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
        return soai_value_of(
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
                total = soai_value_of(b, (value){.code = OP_SUM,
                                                 .space = b->v[y].space,
                                                 .a = total,
                                                 .b = y,
                                                 .x = scale,
                                                 .y = s});
                scale = 1;
            }
        }
        return scale == 1 ? total
                          : soai_value_of(b, (value){.code = OP_SUM,
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
            y = soai_value_of(
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

/* ---- from words ------------------------------------------------------------------------------ */
/* Words with a common first letter A are taken together: A x + A y = A (x + y), from the left as
 * far as it goes.  Equal sums of words are one value wherever they appear, so common right factors
 * are computed once too. */
static int length_of_shortest(const polynomial *p, int *which) {
    *which = 0;
    for (int i = 1; i < p->count; ++i)
        if (p->w[i].length < p->w[*which].length) *which = i;
    return p->w[*which].length;
}
/* Moves the words that begin as the shortest one of p to `group`, without that letter, with the
 * factor of the shortest of them taken out; returns the factor. */
static double take_group(polynomial *p, unsigned char *first, polynomial *group) {
    int shortest;
    polynomial with = {0};
    length_of_shortest(p, &shortest);
    *first = p->w[shortest].at[0];
    with = soai_polynomial_after(p, first, 1, 1);
    length_of_shortest(&with, &shortest);
    const double factor = with.w[shortest].factor;
    soai_polynomial_add_product(group, 1 / factor, NULL, 0, &with);
    soai_polynomial_free(&with);
    return factor;
}
static int apply_letter(builder *b, int at, int x) {
    const letter *l = b->letters.at + at;
    if (!l->inverse) return apply_leaf(b, l->e, l->turned, x);
    return soai_value_of(
        b, (value){.code = OP_SOLVE, .space = l->e->from, .a = x, .b = l->turned, .leaf = l->e});
}
static int remember(builder *b, const polynomial *p, int v) {
    if (v < 0 || p->broken) return v;
    if (b->known_count == b->known_room) {
        const int room = 2 * b->known_room + 32;
        known_value *more = soai_resized(b->known, (size_t)room * sizeof *more);
        if (!more) {
            b->why = "there is no memory";
            return -2;
        }
        b->known = more;
        b->known_room = room;
    }
    b->known[b->known_count++] = (known_value){soai_polynomial_copy(p), v};
    return v;
}
/* The same for a letter times p. */
static int remember_product(builder *b, unsigned char first, const polynomial *p, int v) {
    polynomial whole = {0};
    double factor;
    soai_polynomial_add_product(&whole, 1, &first, 1, p);
    for (int i = 0; i < b->known_count; ++i)
        if (b->known[i].value == v && soai_polynomial_multiple(&whole, &b->known[i].p, &factor)) {
            soai_polynomial_free(&whole);
            return v;
        }
    v = remember(b, &whole, v);
    soai_polynomial_free(&whole);
    return v;
}
/* The unknown vector, if p has the empty word: that word is taken out of it. */
static int take_unknown(const builder *b, polynomial *p, double *factor) {
    int shortest;
    if (length_of_shortest(p, &shortest)) return -1;
    *factor = p->w[shortest].factor;
    soai_polynomial_remove(p, shortest);
    for (int i = 0; i < b->known_count; ++i)
        if (b->known[i].p.count == 1 && !b->known[i].p.w[0].length) return b->known[i].value;
    return -2;
}
/* Words of p that begin alike, as one value; *factor of it. */
static int take_value(builder *b, polynomial *p, double *factor) {
    unsigned char first;
    polynomial group = {0};
    const int unknown = take_unknown(b, p, factor);
    if (unknown != -1) return unknown;
    *factor = take_group(p, &first, &group);
    const int vector = group.count == 1 && !group.w[0].length && group.w[0].factor == 1;
    const letter *l = b->letters.at + first;
    int x = -1;
    if (!vector || l->inverse || l->e->from != SOA_SPACE_ONE)
        x = soai_value_of_polynomial(b, &group);
    int y = -2;
    if (x != -2) y = remember_product(b, first, &group, apply_letter(b, first, x));
    soai_polynomial_free(&group);
    return y;
}
int soai_value_of_polynomial(builder *b, const polynomial *p) {
    if (b->why || p->broken || !p->count) return -2;
    for (int i = 0; i < b->known_count; ++i) {
        double factor;
        if (!soai_polynomial_multiple(p, &b->known[i].p, &factor)) continue;
        const int v = b->known[i].value;
        if (factor == 1 || v < 0) return v;
        return soai_value_of(
            b, (value){.code = OP_SUM, .space = b->v[v].space, .a = v, .b = -1, .x = factor});
    }
    polynomial rest = soai_polynomial_copy(p);
    int total = -1;
    double factor = 1;
    while (rest.count && total != -2) {
        double scale;
        const int y = take_value(b, &rest, &scale);
        if (y == -2 || total == -1) {
            total = y;
            factor = scale;
        } else {
            total = soai_value_of(b, (value){.code = OP_SUM,
                                             .space = b->v[y].space,
                                             .a = total,
                                             .b = y,
                                             .x = factor,
                                             .y = scale});
            factor = 1;
        }
    }
    soai_polynomial_free(&rest);
    if (factor != 1 && total >= 0)
        total = soai_value_of(
            b,
            (value){.code = OP_SUM, .space = b->v[total].space, .a = total, .b = -1, .x = factor});
    return remember(b, p, total);
}
/* Values by words: 0 if the expression is too large for that, or is an error that its own form
 * explains better. */
static int from_words(builder *b, const soa_expr *wide, int x, int *last) {
    polynomial p = soai_polynomial_of(&b->letters, wide);
    int fine = !p.broken;
    if (fine && x >= 0) { /* the unknown vector has the empty word */
        const word none = {.factor = 1};
        polynomial one = {0};
        soai_polynomial_add(&one, &none);
        fine = remember(b, &one, x) == x;
        soai_polynomial_free(&one);
    }
    if (fine) *last = soai_value_of_polynomial(b, &p);
    soai_polynomial_free(&p);
    return fine && *last >= 0;
}

/* Levels are passes over the bodies, alternately inward and outward starting with `first` (1:
 * inward).  Returns their number.  Dense operations run after the pass of their level, one by one;
 * those on inputs alone run before the first pass, at level -1.  P, D, G and Mc are there from the
 * first inward pass on. */
/* Is the second argument a vector too? */
static int two_vectors(int code) {
    return code == OP_SUM || code == OP_CROSS || code == OP_CROSS_FORCE;
}
static int inward_level(int level, int first) {
    return (level % 2 == 0 ? first : -first) > 0;
}
static int level_all(builder *b, int first) {
    int most = -1;
    for (int i = 0; i < b->count; ++i) {
        value *v = b->v + i;
        const int between = soai_between_sweeps(v);
        int level = between ? -1 : 0;
        if (first < 0 && (uses_P(v->code) || v->code == OP_MC) && !block_uses_P(v)) level = 1;
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
        const int way = way_of(v->code);
        if (way && inward_level(v->level, first) != (way > 0)) ++v->level;
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
            if (recursion(v->code) && v->recursion != v->code + 1) {
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
static void clear_values(builder *b) {
    const int all = b->all > b->count ? b->all : b->count;
    for (int i = 0; i < all; ++i)
        soa_expr_free(b->v[i].leaf);
    for (int i = 0; i < b->known_count; ++i)
        soai_polynomial_free(&b->known[i].p);
    free(b->known);
    soai_alphabet_free(&b->letters);
    soa_expr_free(b->what);
    b->what = NULL;
    b->why = NULL;
    b->known = NULL;
    b->count = b->all = b->known_count = b->known_room = 0;
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
        x = soai_value_of(b, (value){.code = OP_INPUT, .space = wide->from, .a = -1, .b = -1});
    if (!from_words(b, wide, x, last)) {
        clear_values(b);
        if (wide->from != SOA_SPACE_ONE)
            x = soai_value_of(b, (value){.code = OP_INPUT, .space = wide->from, .a = -1, .b = -1});
        *last = apply(b, wide, 0, x);
    }
    soa_expr_free(wide);
    return b;
}
static void builder_free(builder *b) {
    if (b) clear_values(b);
    free(b);
}
int soai_plan_cost(const soa_expr *e, soai_cost *cost) {
    int last, first;
    builder *b = values_of(e, &last);
    const int fine = b && last >= 0;
    if (fine) {
        const int passes = passes_of(b, &first);
        *cost = (soai_cost){.sweeps = number_sweeps(b, passes, NULL)};
        for (int i = 0; i < b->count; ++i) {
            cost->recursions += recursion(b->v[i].code);
            if (b->v[i].code == OP_INPUT) {
                cost->steps += 0;
            } else if (soai_between_sweeps(b->v + i)) {
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
    p->values = fit ? values_of(fit, &p->last) : NULL;
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

static int computes(const soa_plan *p, int leaf) {
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
        p->recursions += recursion(v->code);
        p->articulates |= uses_P(v->code) || block_uses_P(v);
        p->composes |= v->code == OP_MC;
        solves += soai_between_sweeps(v);
    }
    p->composes |= computes(p, LEAF_DCOMPOSITE);
    if (!p->block_count) p->recursions += p->articulates + p->composes; /* else before the sweeps */
    const int shown = b->count;
    if (soai_machine_aligns(m) && !p->users) p->chosen = soai_select(b, p->last);
    b->all = b->count;
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
    if (v->code == OP_MATRIX || soai_is_block_op(v->code)) t->factor = input_name(v->leaf);
    if (way_of(v->code) > 0) {
        t->runs = SOA_CAUSAL;
    } else if (way_of(v->code) < 0) {
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
/* The recursions of P and Mc.  sweep: -2, -1 before the first sweep; else the one they are part
 * of. */
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
/* The sweep that the recursion of P or Mc is part of, an inward one: that of the first value that
 * needs it, or the one before.  `before` if other recursions need it earlier. */
static int sweep_of_recursion(const soa_plan *p, int composite, int before) {
    int level = p->passes;
    int sweep = p->sweeps;
    if (p->block_count) return before;
    for (int i = 0; i < p->values->count; ++i) {
        const value *v = p->values->v + i;
        if (composite ? v->code != OP_MC : !uses_P(v->code)) continue;
        if (v->level > level || (v->level == level && v->sweep >= sweep)) continue;
        level = v->level;
        sweep = v->sweep;
    }
    if (inward_level(level, p->first)) return sweep;
    return level ? p->first_sweep[level] - 1 : before;
}
static void visit_recursions(const soa_plan *p, int now, soa_plan_step_fn *fn, void *user) {
    for (size_t i = 0; i < sizeof inertias / sizeof *inertias; ++i) {
        const int composite = inertias[i].sweep == -1;
        soa_plan_step t = inertias[i];
        if (!(composite ? p->composes : p->articulates)) continue;
        t.sweep = sweep_of_recursion(p, composite, t.sweep);
        if (t.sweep == now || (t.sweep < 0 && now < 0)) fn(user, &t);
    }
}
/* Recursions that come before the first sweep. */
static void visit_blocks(const soa_plan *p, soa_plan_step_fn *fn, void *user) {
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
    visit_recursions(p, -1, fn, user);
    for (int i = 0; i < 3; ++i)
        if (computes(p, i < 2 ? LEAF_DART : LEAF_DCOMPOSITE)) fn(user, changes + i);
    if (computes(p, LEAF_COSTATE)) fn(user, &costate);
    if (computes(p, LEAF_ROOT) || computes(p, LEAF_ROOTINV)) fn(user, &root);
}
static void visit_values(const soa_plan *p, int level, int sweep, soa_plan_step_fn *fn,
                         void *user) {
    int runs = 0;
    for (int i = 0; i < p->values->count; ++i)
        runs |=
            level >= 0 && p->values->v[i].level == level && !soai_between_sweeps(p->values->v + i);
    for (int i = 0; i < p->values->count; ++i) {
        const value *v = p->values->v + i;
        if (v->level != level || v->code == OP_INPUT || (level >= 0 && v->sweep != sweep)) continue;
        soa_plan_step t = {.sweep = sweep,
                           .way = inward_level(level, p->first) ? SOA_CAUSAL : SOA_ANTICAUSAL};
        if (soai_between_sweeps(v)) t.way = SOA_MEMORYLESS;
        say_step(p, i, runs, &t);
        fn(user, &t);
    }
}
void soa_plan_visit_steps(const soa_plan *p, soa_plan_step_fn *fn, void *user) {
    if (!p || !fn) return;
    visit_blocks(p, fn, user);
    visit_values(p, -1, 0, fn, user);
    for (int level = 0; level < p->passes; ++level)
        for (int sweep = p->first_sweep[level]; sweep < p->first_sweep[level + 1]; ++sweep) {
            visit_recursions(p, sweep, fn, user);
            visit_values(p, level, sweep, fn, user);
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
/* The passes over the bodies, where they are fewer than the sweeps. */
static void explain_passes(const soa_plan *p, explaining *w) {
    if (p->passes == p->sweeps) return;
    SAY("%d passes over the bodies:", p->passes);
    for (int pass = 0; pass < p->passes; ++pass) {
        const int first = p->first_sweep[pass];
        const int last = p->first_sweep[pass + 1] - 1;
        SAY("%s sweep%s %d", pass ? "," : "", first == last ? "" : "s", first);
        if (last > first) SAY(" to %d", last);
    }
    SAY("\n");
}
size_t soa_plan_explain(const soa_plan *p, char *text, size_t room) {
    if (!text) room = 0;
    explaining all = {text, 0, room, 0}, *w = &all;
    if (room) text[0] = 0;
    if (!p) return 0;
    SAY("%d sweep%s, %d recursion%s\n", p->sweeps, p->sweeps == 1 ? "" : "s", p->recursions,
        p->recursions == 1 ? "" : "s");
    explain_passes(p, w);
    SAY("k a body, p its parent, c its children; phi(p,k) with the rotation; world: all zero\n");
    soa_plan_visit_steps(p, explain_step, w);
    char out[32];
    value_name(p->values, p->last, out);
    SAY("\nresult: %s\n", out);
    return w->at;
}
#undef SAY
