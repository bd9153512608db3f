/* polynomial.c  expressions as sums of words. */
#include "polynomial.h"
#include "prover.h"
#include <math.h>
#include <stdlib.h>

void soai_alphabet_free(alphabet *a) {
    for (int i = 0; i < a->count; ++i)
        soa_expr_free(a->at[i].e);
    a->count = 0;
}
int soai_letter(alphabet *a, const soa_expr *e, int turned, int inverse) {
    if (!inverse && !soai_callers(e) && soai_self_adjoint(e->leaf)) turned = 0;
    for (int i = 0; i < a->count; ++i) {
        const letter *l = a->at + i;
        if (l->turned == turned && l->inverse == inverse && soai_same(l->e, e)) return i;
    }
    if (a->count == MOST_ALPHABET) return -1;
    a->at[a->count] = (letter){soai_hold(e), turned, inverse};
    return a->count++;
}

/* ---- sums of words --------------------------------------------------------------------------- */
void soai_polynomial_free(polynomial *p) {
    free(p->w);
    *p = (polynomial){0};
}
static int compare(const word *a, const word *b) {
    const int n = a->length < b->length ? a->length : b->length;
    const int d = memcmp(a->at, b->at, (size_t)n);
    return d ? d : a->length - b->length;
}
void soai_polynomial_remove(polynomial *p, int i) {
    memmove(p->w + i, p->w + i + 1, (size_t)(--p->count - i) * sizeof *p->w);
}
void soai_polynomial_add(polynomial *p, const word *w) {
    if (p->broken || w->factor == 0) return;
    int at = 0;
    int d = 1;
    while (at < p->count && (d = compare(w, p->w + at)) > 0)
        ++at;
    if (at < p->count && d == 0) {
        p->w[at].factor += w->factor;
        if (p->w[at].factor == 0) soai_polynomial_remove(p, at);
        return;
    }
    if (p->count == p->room) {
        const int room = 2 * p->room + 8;
        word *more = p->count < MOST_WORDS ? soai_resized(p->w, (size_t)room * sizeof *more) : NULL;
        if (!more) {
            p->broken = 1;
            return;
        }
        p->w = more;
        p->room = room;
    }
    memmove(p->w + at + 1, p->w + at, (size_t)(p->count - at) * sizeof *p->w);
    p->w[at] = *w;
    ++p->count;
}
void soai_polynomial_add_product(polynomial *p, double scale, const unsigned char *left, int length,
                                 const polynomial *q) {
    p->broken |= q->broken;
    for (int i = 0; i < q->count && !p->broken; ++i) {
        const word *from = q->w + i;
        word w = {.factor = scale * from->factor, .length = length + from->length};
        if (w.length > MOST_WORD) {
            p->broken = 1;
            return;
        }
        if (length) memcpy(w.at, left, (size_t)length);
        memcpy(w.at + length, from->at, (size_t)from->length);
        soai_polynomial_add(p, &w);
    }
}
polynomial soai_polynomial_copy(const polynomial *p) {
    polynomial out = {0};
    soai_polynomial_add_product(&out, 1, NULL, 0, p);
    return out;
}
int soai_polynomial_multiple(const polynomial *p, const polynomial *q, double *scale) {
    if (p->broken || q->broken || p->count != q->count || !p->count) return 0;
    *scale = p->w[0].factor / q->w[0].factor;
    for (int i = 0; i < p->count; ++i)
        if (compare(p->w + i, q->w + i) || p->w[i].factor != *scale * q->w[i].factor) return 0;
    return 1;
}
polynomial soai_polynomial_after(polynomial *p, const unsigned char *left, int length, int take) {
    polynomial out = {.broken = p->broken};
    for (int i = p->count - 1; i >= 0; --i) {
        const word *from = p->w + i;
        if (from->length < length || memcmp(from->at, left, (size_t)length)) continue;
        word w = {.factor = from->factor, .length = from->length - length};
        memcpy(w.at, from->at + length, (size_t)w.length);
        soai_polynomial_add(&out, &w);
        if (take) soai_polynomial_remove(p, i);
    }
    return out;
}

/* ---- words of expressions -------------------------------------------------------------------- */
static polynomial words_of(alphabet *a, const soa_expr *e, int turned);

static polynomial words_of_letter(alphabet *a, const soa_expr *e, int turned, int inverse) {
    polynomial p = {0};
    word w = {.factor = 1, .length = 1};
    const int unit = !inverse && e->leaf == LEAF_ID && !soai_callers(e);
    const int vector = !inverse && e->from == SOA_SPACE_ONE;
    const int zero = !inverse && soai_is_zero(e);
    const int code = unit ? 0 : soai_letter(a, e, turned, inverse);
    if (unit) w.length = 0;
    w.at[0] = (unsigned char)code;
    p.broken = code < 0 || zero || (vector && (turned || unit));
    soai_polynomial_add(&p, &w);
    return p;
}
static polynomial words_of_product(alphabet *a, const soa_expr *e, int turned) {
    polynomial p = {0};
    const word one = {.factor = 1};
    soai_polynomial_add(&p, &one);
    for (int i = e->count - 1; i >= 0 && !p.broken; --i) {
        polynomial q = words_of(a, e->arg[turned ? e->count - 1 - i : i], turned);
        polynomial out = {.broken = q.broken};
        for (int j = 0; j < q.count; ++j)
            soai_polynomial_add_product(&out, q.w[j].factor, q.w[j].at, q.w[j].length, &p);
        soai_polynomial_free(&p);
        soai_polynomial_free(&q);
        p = out;
    }
    return p;
}
static polynomial words_of_inverse(alphabet *a, const soa_expr *e, int turned) {
    const soa_expr *inverse = soai_inverse_of(e->arg[0]);
    const soa_expr *wide = inverse ? soai_expand(inverse) : NULL;
    polynomial p = {.broken = 1};
    if (wide)
        p = words_of(a, wide, turned);
    else if (!soai_has_blocks(e->to) && e->to != SOA_SPACE_ONE)
        p = words_of_letter(a, e->arg[0], turned, 1);
    soa_expr_free(wide);
    soa_expr_free(inverse);
    return p;
}
static polynomial words_of(alphabet *a, const soa_expr *e, int turned) {
    polynomial p = {0};
    switch (e->kind) {
    case EXPR_LEAF: return words_of_letter(a, e, turned, 0);
    case EXPR_ADJOINT: return words_of(a, e->arg[0], !turned);
    case EXPR_PRODUCT: return words_of_product(a, e, turned);
    case EXPR_INVERSE: return words_of_inverse(a, e, turned);
    case EXPR_SUM:
    case EXPR_SCALE:
        for (int i = 0; i < e->count; ++i) {
            polynomial q = words_of(a, e->arg[i], turned);
            soai_polynomial_add_product(&p, e->kind == EXPR_SCALE ? e->factor : 1, NULL, 0, &q);
            soai_polynomial_free(&q);
        }
        return p;
    default: /* crosses and inverses of least norm: planned as they are written */
        p.broken = 1;
        return p;
    }
}
polynomial soai_polynomial_of(alphabet *a, const soa_expr *wide) {
    polynomial p = words_of(a, wide, 0);
    if (!p.count) p.broken = 1; /* zero: planned as it is written */
    for (int i = 0; i < p.count; ++i) {
        const word *w = p.w + i;
        for (int j = 0; j < w->length; ++j) {
            const letter *l = a->at + w->at[j];
            const int vector = !l->inverse && l->e->from == SOA_SPACE_ONE;
            if (vector != (wide->from == SOA_SPACE_ONE && j == w->length - 1)) p.broken = 1;
        }
        if (wide->from == SOA_SPACE_ONE && !w->length) p.broken = 1;
        if (!isfinite(w->factor)) p.broken = 1;
    }
    return p;
}
