/* values.c  an expression as values: each is the result of one operation on earlier values.
 *
 * The expression is multiplied out into words (polynomial.h), and words that begin alike are taken
 * together again; equal sums of words are one value.  So factors may be grouped and named in any
 * way.  What has too many words, or parts without words, is unrolled as it is written, from right
 * to left; equal values are shared there too. */
#include "plan.h"
#include "prover.h"
#include <stdlib.h>

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
builder *soai_values_of(const soa_expr *e, int *last) {
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
void soai_values_free(builder *b) {
    if (b) clear_values(b);
    free(b);
}
