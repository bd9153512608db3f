/* prover.c  proofs by rewriting. An expression becomes a sum of words in the primitive letters;
 * rules shorten the words until none applies. Left = right is proved when left - right becomes
 * zero.
 *
 * The first rules are the definitions, RK88-I (a.1) to (a.12), read from left to right. M is
 * replaced beforehand by P - E_phi P E_phi' + K D K' (RJK91, proof of lemma 1), and so is Mc -
 * E_phi Mc E_phi'. If the left sides of two rules overlap, the overlap can be rewritten in two
 * ways. If nothing reduces the difference to zero, it is kept as a further rule (Knuth-Bendix
 * completion, up to overlaps of MOST_OVERLAP letters). The papers' identities A.2 to A.7 are found
 * in this way. */
#include "prover.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_LETTERS = 48,
    MOST_TERMS = 3000,
    MOST_RULES = 400,
    MOST_OVERLAP = 9,
    MOST_STEPS = 20000,
    MOST_OWN = 40, /* opaque letters of one proof: a machine holds 32 of the caller */
    FIRST_OWN = 128 - MOST_OWN
};
_Static_assert((int)LEAF_COUNT <= (int)FIRST_OWN,
               "a letter is one byte: twice its code, and the adjoint");
/* Limit on comparisons of a word with a rule, after which a proof is given up: about three seconds.
 * The papers' identities need a thousandth of it. */
#define MOST_EFFORT 300000000

typedef struct term {
    double c;
    int n;
    unsigned char w[MOST_LETTERS];
} term;
/* What a proof knows nothing of: letters of the caller, and inverses without a known form. */
typedef struct own_letters {
    const soa_expr *e[MOST_OWN];
    char self_adjoint[MOST_OWN];
    int count;
} own_letters;
typedef struct poly { /* sorted, greatest word first */
    int from, to, count, room, broken;
    term *t;
    const own_letters *own; /* NULL: there are none */
} poly;

/* --- letters: 2 code + adjoint; the order prefers P, H to G, D -------------------------------- */
static int rank_of(int letter) {
    static const unsigned char order[LEAF_COUNT] = {
        [LEAF_COMPOSITE] = 70, [LEAF_ART] = 60,   [LEAF_HINGE] = 50, [LEAF_PSI] = 40,
        [LEAF_PHI] = 39,       [LEAF_SHIFT] = 30, [LEAF_XPHI] = 29,  [LEAF_GAIN] = 20,
        [LEAF_DIAG] = 10,      [LEAF_DINV] = 9};
    return letter / 2 < LEAF_COUNT ? 2 * order[letter / 2] + letter % 2 : 0;
}
/* Words are ordered by weight, then letter by letter. A letter weighs 1; Mc weighs more than any
 * word that replaces it. */
static int weight_of(const term *t) {
    int w = t->n;
    for (int i = 0; i < t->n; ++i)
        w += t->w[i] / 2 == LEAF_COMPOSITE ? 5 : 0;
    return w;
}
static int compare(const term *a, const term *b) {
    const int heavier = weight_of(a) - weight_of(b);
    if (heavier) return heavier;
    if (a->n != b->n) return a->n - b->n;
    for (int i = 0; i < a->n; ++i)
        if (a->w[i] != b->w[i]) {
            const int d = rank_of(a->w[i]) - rank_of(b->w[i]);
            return d ? d : a->w[i] - b->w[i];
        }
    return 0;
}
static void poly_free(poly *p) {
    free(p->t);
    *p = (poly){0};
}
static void poly_add(poly *p, const term *t) {
    if (t->c == 0 || p->broken) return;
    int lo = 0, hi = p->count;
    while (lo < hi) {
        const int mid = (lo + hi) / 2, d = compare(t, p->t + mid);
        if (d == 0) {
            p->t[mid].c += t->c;
            if (p->t[mid].c == 0)
                memmove(p->t + mid, p->t + mid + 1, (size_t)(--p->count - mid) * sizeof *p->t);
            return;
        }
        if (d > 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (p->count == p->room) {
        const int room = 2 * p->room + 8;
        term *more = p->room < MOST_TERMS ? soai_resized(p->t, (size_t)room * sizeof *more) : NULL;
        if (!more) {
            p->broken = 1;
            return;
        }
        p->t = more;
        p->room = room;
    }
    memmove(p->t + lo + 1, p->t + lo, (size_t)(p->count - lo) * sizeof *p->t);
    p->t[lo] = *t;
    ++p->count;
}
static void poly_add_scaled(poly *p, double s, const poly *q) {
    if (q->broken) p->broken = 1;
    for (int i = 0; i < q->count; ++i) {
        term t = q->t[i];
        t.c *= s;
        poly_add(p, &t);
    }
}
/* p += s left q right */
static void poly_add_between(poly *p, double s, const unsigned char *left, int nl, const poly *q,
                             const unsigned char *right, int nr) {
    for (int i = 0; i < q->count; ++i) {
        term t = {.c = s * q->t[i].c, .n = nl + q->t[i].n + nr};
        if (t.n > MOST_LETTERS) {
            p->broken = 1;
            return;
        }
        if (nl) memcpy(t.w, left, (size_t)nl);
        memcpy(t.w + nl, q->t[i].w, (size_t)q->t[i].n);
        if (nr) memcpy(t.w + nl + q->t[i].n, right, (size_t)nr);
        poly_add(p, &t);
    }
}
static unsigned char other_way(const own_letters *own, unsigned char letter) {
    const int code = letter / 2;
    const int same =
        code < LEAF_COUNT ? soai_self_adjoint(code) : own->self_adjoint[code - FIRST_OWN];
    return same ? letter : letter ^ 1;
}
static poly poly_adjoint(const poly *p) {
    poly out = {.from = p->to, .to = p->from, .broken = p->broken, .own = p->own};
    for (int i = 0; i < p->count; ++i) {
        term t = {.c = p->t[i].c, .n = p->t[i].n};
        for (int j = 0; j < t.n; ++j)
            t.w[j] = other_way(p->own, p->t[i].w[t.n - 1 - j]);
        poly_add(&out, &t);
    }
    return out;
}

/* --- expression to words; ideal: M replaced, no rotors ---------------------------------------- */
struct scope;
static poly words_of(struct scope *scope, const soa_expr *e, int ideal);
/* The word of a letter of the caller, or of an inverse without a known form. */
static poly own_word(struct scope *scope, const soa_expr *e, int ideal);

static poly of_text(const char *text, int ideal) {
    const soa_expr *d = NULL, *x;
    if (soa_expr_parse(text, NULL, 0, &d, NULL, 0) != SOA_OK) return (poly){.broken = 1};
    x = soai_expand(d);
    soa_expr_free(d);
    poly p = x ? words_of(NULL, x, ideal) : (poly){.broken = 1};
    soa_expr_free(x);
    return p;
}
static poly words_of_leaf(struct scope *scope, const soa_expr *e, int ideal) {
    poly p = {.from = e->from, .to = e->to};
    if (e->leaf == LEAF_RIGID && ideal) return of_text("P - E_phi P E_phi' + K D K'", 1);
    if (e->leaf == LEAF_ROTOR && ideal) return p;
    if (e->leaf == LEAF_ZERO) return p;
    if (soai_callers(e)) return own_word(scope, e, ideal);
    term t = {.c = 1, .n = e->leaf == LEAF_ID ? 0 : 1, .w = {(unsigned char)(2 * e->leaf)}};
    poly_add(&p, &t);
    return p;
}
static poly words_of_product(struct scope *scope, const soa_expr *e, int ideal) {
    poly p = {.from = e->from, .to = e->to};
    term one = {.c = 1};
    poly_add(&p, &one);
    for (int i = 0; i < e->count && !p.broken; ++i) {
        poly q = words_of(scope, e->arg[i], ideal);
        poly r = {.from = e->from, .to = e->to, .broken = q.broken};
        for (int j = 0; j < p.count; ++j)
            poly_add_between(&r, p.t[j].c, p.t[j].w, p.t[j].n, &q, NULL, 0);
        poly_free(&p);
        poly_free(&q);
        p = r;
    }
    return p;
}
static poly words_of_inverse(struct scope *scope, const soa_expr *e, int ideal) {
    const soa_expr *x = soai_inverse_of(e->arg[0]);
    if (!x) return own_word(scope, e, ideal);
    const soa_expr *wide = soai_expand(x);
    const poly p = wide ? words_of(scope, wide, ideal) : (poly){.broken = 1};
    soa_expr_free(wide);
    soa_expr_free(x);
    return p;
}
static const own_letters *letters_of(const struct scope *scope);
static poly words_of(struct scope *scope, const soa_expr *e, int ideal) {
    poly p = {.from = e->from, .to = e->to};
    if (e->kind == EXPR_LEAF) {
        p = words_of_leaf(scope, e, ideal);
    } else if (e->kind == EXPR_SUM) {
        for (int i = 0; i < e->count; ++i) {
            poly q = words_of(scope, e->arg[i], ideal);
            poly_add_scaled(&p, 1, &q);
            poly_free(&q);
        }
    } else if (e->kind == EXPR_SCALE) {
        poly q = words_of(scope, e->arg[0], ideal);
        poly_add_scaled(&p, e->factor, &q);
        poly_free(&q);
    } else if (e->kind == EXPR_ADJOINT) {
        poly q = words_of(scope, e->arg[0], ideal);
        p = poly_adjoint(&q);
        poly_free(&q);
    } else if (e->kind == EXPR_INVERSE) {
        p = words_of_inverse(scope, e, ideal);
    } else if (e->kind != EXPR_PRODUCT) {
        p = own_word(scope, e, ideal);
    } else {
        p = words_of_product(scope, e, ideal);
    }
    p.own = letters_of(scope);
    return p;
}

/* --- words to text ---------------------------------------------------------------------------- */
/* Sign between the terms of a sum, and before the first one. */
static const char *sign_before(int place, double factor) {
    if (place == 0) return factor < 0 ? "-" : "";
    return factor < 0 ? " - " : " + ";
}
static void print_poly(const poly *p, char *text, size_t room) {
    size_t at = 0;
    text[0] = 0;
    if (!p->count) snprintf(text, room, "0");
    for (int i = 0; i < p->count && at + 8 < room; ++i) {
        const term *t = p->t + i;
        const double size = t->c < 0 ? -t->c : t->c;
        at += (size_t)snprintf(text + at, room - at, "%s", sign_before(i, t->c));
        if (at < room && (size != 1)) at += (size_t)snprintf(text + at, room - at, "%g ", size);
        if (at < room && !t->n) at += (size_t)snprintf(text + at, room - at, "I");
        for (int j = 0; j < t->n && at < room; ++j) {
            const int code = t->w[j] / 2;
            if (j) at += (size_t)snprintf(text + at, room - at, " ");
            if (at < room && code < LEAF_COUNT)
                at += (size_t)snprintf(text + at, room - at, "%s", soai_leaves[code].name);
            else if (at < room)
                at += soa_expr_print(p->own->e[code - FIRST_OWN], text + at, room - at);
            if (at < room && t->w[j] % 2) at += (size_t)snprintf(text + at, room - at, "'");
        }
    }
    if (at + 8 >= room && room > 5) memcpy(text + room - 5, " ...", 5);
}

/* --- rules ------------------------------------------------------------------------------------ */
typedef struct rule {
    term left; /* c = 1 */
    poly right;
    char name[64];
} rule;
typedef struct rule_set {
    rule r[MOST_RULES];
    int count;
} rule_set;

static int find_in(const term *t, const term *left) {
    for (int i = 0; i + left->n <= t->n; ++i)
        if (!memcmp(t->w + i, left->w, (size_t)left->n)) return i;
    return -1;
}
/* Rewrites the greatest word that can be rewritten. Returns 0 if no rule applies or the effort
 * limit is reached. */
static int rewrite_once(const rule_set *s, poly *p, int *used, int skip, long *effort) {
    for (int i = 0; i < p->count; ++i) {
        *effort += s->count;
        if (*effort > MOST_EFFORT) {
            p->broken = 1;
            return 0;
        }
        for (int r = 0; r < s->count; ++r) {
            if (r == skip) continue;
            const int at = find_in(p->t + i, &s->r[r].left);
            if (at < 0) continue;
            term t = p->t[i], gone = t;
            gone.c = -t.c;
            poly_add(p, &gone);
            poly_add_between(p, t.c, t.w, at, &s->r[r].right, t.w + at + s->r[r].left.n,
                             t.n - at - s->r[r].left.n);
            if (used) *used = r;
            return 1;
        }
    }
    return 0;
}
static void reduce(const rule_set *s, poly *p, int skip) {
    int steps = 0;
    long effort = 0;
    while (!p->broken && rewrite_once(s, p, NULL, skip, &effort))
        if (++steps > MOST_STEPS) p->broken = 1;
}
/* Equation numbers (RK88-I) of consequences that have one. */
static const struct {
    const char *left, *name;
} known[] = {{"phi G H psi", "(a.28)"},
             {"psi S Delta_phi G H", "(a.8)"},
             {"S Delta_phi G H psi", "(a.10)"},
             {"phi S Delta_phi", "(a.9)"},
             {"S Delta_phi phi", "(a.11)"},
             {"H G", "(a.1) with (a.2)"},
             {"Mc phi'", "RK88-I corollary A.1 with (a.48)"},
             {"P H'", "(a.2)"},
             {"H P", "(a.2)*"}};

static int add_rule(rule_set *s, poly *p, const char *name) {
    if (p->broken || !p->count || s->count == MOST_RULES) {
        poly_free(p);
        return 0;
    }
    rule *r = s->r + s->count;
    r->left = p->t[0];
    const double c = r->left.c;
    const own_letters *own = p->own;
    r->left.c = 1;
    r->right = (poly){.from = p->from, .to = p->to};
    for (int i = 1; i < p->count; ++i) {
        term t = p->t[i];
        t.c = -t.c / c;
        poly_add(&r->right, &t);
    }
    poly_free(p);
    snprintf(r->name, sizeof r->name, "%s", name);
    char text[128];
    poly left = {.from = r->right.from, .to = r->right.to, .own = own};
    poly_add(&left, &r->left);
    print_poly(&left, text, sizeof text);
    poly_free(&left);
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (!strcmp(text, known[i].left)) snprintf(r->name, sizeof r->name, "%s", known[i].name);
    ++s->count;
    return 1;
}
/* Consequence of rules a and b where the end of a's left side is the beginning of b's. */
static void overlaps(rule_set *s, int a, int b) {
    const term A = s->r[a].left, B = s->r[b].left;
    const int most = A.n < B.n ? A.n : B.n;
    for (int k = 1; k <= most; ++k) {
        if ((k == A.n && k == B.n) || A.n + B.n - k > MOST_OVERLAP) continue;
        if (memcmp(A.w + A.n - k, B.w, (size_t)k)) continue;
        poly p = {.from = s->r[b].right.from, .to = s->r[a].right.to};
        poly_add_between(&p, 1, NULL, 0, &s->r[a].right, B.w + k, B.n - k);
        poly_add_between(&p, -1, A.w, A.n - k, &s->r[b].right, NULL, 0);
        reduce(s, &p, -1);
        char name[64];
        snprintf(name, sizeof name, "from %.26s and %.26s", s->r[a].name, s->r[b].name);
        add_rule(s, &p, name);
    }
}

static rule_set *rules; /* made on first use, then constant */
static void rules_free(rule_set *s) {
    for (int i = 0; s && i < s->count; ++i)
        poly_free(&s->r[i].right);
    free(s);
}
static void drop_rule(rule_set *s, int i) {
    poly_free(&s->r[i].right);
    memmove(s->r + i, s->r + i + 1, (size_t)(--s->count - i) * sizeof *s->r);
}
static const rule_set *rule_book(void) {
    static const struct {
        const char *zero, *name;
    } first[] = {{"phi S Delta_phi - phi + I", "(a.9)"},
                 {"S Delta_phi phi - phi + I", "(a.11)"},
                 {"psi S Delta_phi G H - psi S Delta_phi + psi - I", "(a.8)"},
                 {"S Delta_phi G H psi - S Delta_phi psi + psi - I", "(a.10)"},
                 {"P H' - G D", "(a.2)"},
                 {"H G - I", "(a.1) with (a.2)"},
                 {"S Delta_phi Mc Delta_phi' S' - Mc + P - S Delta_phi P Delta_phi' S' + S "
                  "Delta_phi G D G' Delta_phi' S'",
                  "R87 (32), Mc - E_phi Mc E_phi' = M"},
                 {"D inv(D) - I", "D inv(D) = I"},
                 {"inv(D) D - I", "inv(D) D = I"},
                 {"sqrt(D) sqrt(D)' - D", "D = sqrt(D) sqrt(D)'"},
                 {"inv(sqrt(D)) sqrt(D) - I", "inv(sqrt(D)) sqrt(D) = I"},
                 {"sqrt(D) inv(sqrt(D)) - I", "sqrt(D) inv(sqrt(D)) = I"},
                 {"inv(sqrt(D))' inv(sqrt(D)) - inv(D)", "inv(D) = inv(sqrt(D))' inv(sqrt(D))"}};
    rule_set *ready = __atomic_load_n(&rules, __ATOMIC_ACQUIRE);
    if (ready) return ready;
    const unsigned before = soai_refusals();
    rule_set *s = soai_zeroed(1, sizeof *s);
    if (!s) return NULL;
    for (size_t i = 0; i < sizeof first / sizeof *first; ++i) {
        poly p = of_text(first[i].zero, 1), q = poly_adjoint(&p);
        add_rule(s, &p, first[i].name);
        reduce(s, &q, -1);
        char name[64];
        snprintf(name, sizeof name, "%s*", first[i].name);
        add_rule(s, &q, name);
    }
    for (int b = 0; b < s->count && s->count < MOST_RULES; ++b)
        for (int a = 0; a <= b && s->count < MOST_RULES; ++a) {
            overlaps(s, a, b);
            if (a != b) overlaps(s, b, a);
        }
    for (int i = s->count - 1; i >= 0; --i) /* drop rules whose left side other rules reduce */
        for (int j = 0; j < s->count; ++j)
            if (j != i && find_in(&s->r[i].left, &s->r[j].left) >= 0) {
                drop_rule(s, i);
                break;
            }
    if (soai_refusals() != before) { /* out of memory: rules may be missing */
        rules_free(s);
        return NULL;
    }
    rule_set *expected = NULL; /* the first thread to finish wins: all copies are equal */
    if (!__atomic_compare_exchange_n(&rules, &expected, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        rules_free(s);
        s = expected;
    }
    return s;
}
int soai_rule_count(void) {
    const rule_set *s = rule_book();
    return s ? s->count : 0;
}

/* --- a proof ---------------------------------------------------------------------------------- */
/* The rules of the book, and those of the inverses that have no known form:
 * inv(X) X = X inv(X) = I, where X is its greatest word and the rest. */
typedef struct scope {
    rule_set rules; /* the first `common` are the book's */
    int common;
    own_letters own;
    poly inverted[MOST_OWN]; /* of an inverse: what it inverts */
} scope;

static scope *scope_new(void) {
    const rule_set *book = rule_book();
    scope *s = book ? soai_zeroed(1, sizeof *s) : NULL;
    if (!s) return NULL;
    memcpy(&s->rules, book, sizeof *book);
    s->common = book->count;
    return s;
}
static void scope_free(scope *s) {
    for (int i = s ? s->common : 0; s && i < s->rules.count; ++i)
        poly_free(&s->rules.r[i].right);
    for (int i = 0; s && i < s->own.count; ++i) {
        soa_expr_free(s->own.e[i]);
        poly_free(&s->inverted[i]);
    }
    free(s);
}
static const own_letters *letters_of(const scope *s) {
    return s ? &s->own : NULL;
}
static int same_poly(const poly *a, const poly *b) {
    if (a->broken || b->broken || a->count != b->count || a->from != b->from || a->to != b->to)
        return 0;
    for (int i = 0; i < a->count; ++i)
        if (a->t[i].c != b->t[i].c || compare(a->t + i, b->t + i)) return 0;
    return 1;
}
/* The rule that X times its inverse (or the inverse times X) is I, for the greatest word of X. */
static void inverse_rule(scope *s, const poly *x, unsigned char inverse, int inverse_first) {
    poly p = {.from = x->from, .to = x->to, .own = &s->own};
    const term one = {.c = -1};
    if (inverse_first)
        poly_add_between(&p, 1, &inverse, 1, x, NULL, 0);
    else
        poly_add_between(&p, 1, NULL, 0, x, &inverse, 1);
    poly_add(&p, &one);
    add_rule(&s->rules, &p, inverse_first ? "inv(X) X = I" : "X inv(X) = I");
}
static poly letter_word(scope *s, int i, int adjoint) {
    poly p = {.from = s->own.e[i]->from, .to = s->own.e[i]->to, .own = &s->own};
    const term t = {.c = 1, .n = 1, .w = {(unsigned char)(2 * (FIRST_OWN + i) + adjoint)}};
    poly_add(&p, &t);
    return p;
}
static poly new_letter(scope *s, const soa_expr *e, poly *x) {
    const int i = s->own.count;
    if (i == MOST_OWN) {
        poly_free(x);
        return (poly){.broken = 1};
    }
    s->own.e[i] = soai_hold(e);
    s->inverted[i] = *x;
    ++s->own.count;
    s->own.self_adjoint[i] = (char)(e->kind == EXPR_LEAF && e->leaf == LEAF_AT);
    if (e->kind == EXPR_INVERSE) {
        poly turned = poly_adjoint(x);
        reduce(&s->rules, &turned, -1);
        s->own.self_adjoint[i] = (char)same_poly(x, &turned);
        poly_free(&turned);
        inverse_rule(s, x, (unsigned char)(2 * (FIRST_OWN + i)), 1);
        inverse_rule(s, x, (unsigned char)(2 * (FIRST_OWN + i)), 0);
    }
    return letter_word(s, i, 0);
}
static poly own_word(scope *s, const soa_expr *e, int ideal) {
    poly x = {0}, turned = {0};
    if (!s) return (poly){.broken = 1};
    if (e->kind == EXPR_INVERSE) {
        x = words_of(s, e->arg[0], ideal);
        reduce(&s->rules, &x, -1);
        if (x.broken || !x.count) { /* zero has no inverse */
            poly_free(&x);
            return (poly){.broken = 1};
        }
        turned = poly_adjoint(&x);
        reduce(&s->rules, &turned, -1);
    }
    int found = -1, adjoint = 0;
    for (int i = 0; found < 0 && i < s->own.count; ++i) {
        if (s->own.e[i]->kind != e->kind) continue;
        if (e->kind == EXPR_INVERSE) {
            adjoint = !same_poly(&s->inverted[i], &x);
            if (!adjoint || same_poly(&s->inverted[i], &turned)) found = i;
        } else if (soai_same(s->own.e[i], e)) {
            found = i;
        }
    }
    poly_free(&turned);
    if (found < 0) return new_letter(s, e, &x);
    poly_free(&x);
    return letter_word(s, found, adjoint);
}

/* Every inv(X) = Y that is used is proved too: X Y and Y X must reduce to I. */
static int inverses_hold(scope *s, const soa_expr *e, soa_derivation_fn *fn, void *user) {
    for (int i = 0; i < e->count; ++i)
        if (!inverses_hold(s, e->arg[i], fn, user)) return 0;
    if (e->kind != EXPR_INVERSE) return 1;
    const soa_expr *y = soai_inverse_of(e->arg[0]);
    if (!y) return 1; /* an opaque letter */
    int holds = 1;
    for (int way = 0; way < 2 && holds; ++way) {
        const soa_expr *xy =
            soai_two(EXPR_PRODUCT, soai_hold(way ? y : e->arg[0]), soai_hold(way ? e->arg[0] : y));
        const soa_expr *wide = xy ? soai_expand(xy) : NULL;
        poly p = wide ? words_of(s, wide, 1) : (poly){.broken = 1};
        reduce(&s->rules, &p, -1);
        holds = !p.broken && p.count == 1 && p.t[0].n == 0 && p.t[0].c == 1;
        char text[400], shown[440];
        if (fn && holds && xy) {
            soa_expr_print(xy, text, sizeof text);
            snprintf(shown, sizeof shown, "%s reduces to I", text);
            soa_expr_print(e, text, sizeof text);
            if (way) fn(user, shown, text);
        }
        poly_free(&p);
        soa_expr_free(wide);
        soa_expr_free(xy);
    }
    soa_expr_free(y);
    return holds;
}

/* Rewrites p until nothing is left: 1, or no rule applies: 0. */
static int vanishes(const rule_set *s, poly *p, soa_derivation_fn *fn, void *user) {
    enum { MOST_SHOWN = 200 };
    char text[400];
    int used = 0, steps = 0;
    long effort = 0;
    if (fn && !p->broken) {
        print_poly(p, text, sizeof text);
        fn(user, "left - right, definitions put in", text);
    }
    while (!p->broken && p->count && rewrite_once(s, p, &used, -1, &effort)) {
        if (++steps > MOST_STEPS) p->broken = 1;
        if (fn && steps <= MOST_SHOWN) {
            print_poly(p, text, sizeof text);
            fn(user, s->r[used].name, text);
        }
    }
    return !p->broken && !p->count;
}
soa_status soa_expr_prove(const soa_expr *left, const soa_expr *right, soa_derivation_fn *fn,
                          void *user) {
    if (!left || !right || left->from != right->from || left->to != right->to)
        return SOA_E_ARGUMENT;
    const unsigned before = soai_refusals();
    scope *s = scope_new();
    const soa_expr *x =
        soai_two(EXPR_SUM, soai_hold(left), soai_unary(EXPR_SCALE, -1, soai_hold(right)));
    const soa_expr *wide = x ? soai_expand(x) : NULL;
    soa_expr_free(x);
    if (!s || !wide) {
        soa_expr_free(wide);
        scope_free(s);
        return SOA_E_MEMORY;
    }
    poly p = inverses_hold(s, left, fn, user) && inverses_hold(s, right, fn, user)
                 ? words_of(s, wide, 1)
                 : (poly){.broken = 1};
    soa_expr_free(wide);
    const int proved = vanishes(&s->rules, &p, fn, user);
    poly_free(&p);
    scope_free(s);
    if (!proved && soai_refusals() != before) return SOA_E_MEMORY;
    return proved ? SOA_OK : SOA_E_NO_CONVERGENCE;
}

/* --- inverses --------------------------------------------------------------------------------- */
static const soa_expr *from_text(const char *text) {
    const soa_expr *e = NULL;
    return soa_expr_parse(text, NULL, 0, &e, NULL, 0) == SOA_OK ? e : NULL;
}
/* Maps with a known inverse; the adjoints follow. */
static const struct {
    const char *map, *inverse;
} pairs[] = {{"I + H phi K", "I - H psi K"},
             {"I - H psi K", "I + H phi K"},
             {"phi", "I - E_phi"},
             {"psi", "I - E_psi"},
             {"I - E_phi", "phi"},
             {"I - E_psi", "psi"},
             {"I + phi K H", "I - psi K H"},
             {"I - psi K H", "I + phi K H"},
             {"I + K H phi", "I - K H psi"},
             {"I - K H psi", "I + K H phi"},
             {"D", "inv(D)"},
             {"Mass", "(I - H psi K)' inv(D) (I - H psi K)"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };
typedef struct pair_words {
    poly map[PAIRS], adjoint[PAIRS];
} pair_words;
static pair_words *known_maps; /* made on first use, then constant */

static void pair_words_free(pair_words *w) {
    for (int i = 0; w && i < PAIRS; ++i) {
        poly_free(&w->map[i]);
        poly_free(&w->adjoint[i]);
    }
    free(w);
}
static const pair_words *pair_book(void) {
    pair_words *ready = __atomic_load_n(&known_maps, __ATOMIC_ACQUIRE);
    if (ready) return ready;
    const unsigned before = soai_refusals();
    pair_words *w = soai_zeroed(1, sizeof *w);
    for (int i = 0; w && i < PAIRS; ++i) {
        w->map[i] = of_text(pairs[i].map, 0);
        w->adjoint[i] = poly_adjoint(&w->map[i]);
    }
    if (soai_refusals() != before) {
        pair_words_free(w);
        return NULL;
    }
    pair_words *expected = NULL; /* the first thread to finish wins: all copies are equal */
    if (!__atomic_compare_exchange_n(&known_maps, &expected, w, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        pair_words_free(w);
        w = expected;
    }
    return w;
}
const soa_expr *soai_inverse_of(const soa_expr *e) {
    if (e->kind == EXPR_ADJOINT) return soai_unary(EXPR_ADJOINT, 1, soai_inverse_of(e->arg[0]));
    if (e->kind == EXPR_INVERSE) return soai_hold(e->arg[0]);
    if (e->kind == EXPR_SCALE && e->factor != 0)
        return soai_unary(EXPR_SCALE, 1 / e->factor, soai_inverse_of(e->arg[0]));
    const pair_words *book = pair_book();
    const soa_expr *wide = book ? soai_expand(e) : NULL, *found = NULL;
    if (!wide) return NULL;
    poly p = words_of(NULL, wide, 0);
    for (int i = 0; !found && i < PAIRS; ++i) {
        if (same_poly(&p, &book->map[i]))
            found = from_text(pairs[i].inverse);
        else if (same_poly(&p, &book->adjoint[i]))
            found = soai_unary(EXPR_ADJOINT, 1, from_text(pairs[i].inverse));
    }
    poly_free(&p);
    soa_expr_free(wide);
    if (!found && e->kind == EXPR_PRODUCT) { /* inv(A B) = inv(B) inv(A), if every factor has one */
        const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
        for (int i = 0; args && i < e->count; ++i)
            args[i] = soai_inverse_of(e->arg[e->count - 1 - i]);
        found = args ? soai_nary(EXPR_PRODUCT, args, e->count) : NULL;
        free(args);
    }
    return found;
}
