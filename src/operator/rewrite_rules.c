/* rewrite_rules.c  single rewritings of an expression.
 *
 * A rule replaces neighbouring factors by an equal expression; its adjoint is made from it. Besides
 * rules, definitions may be put in, inverses replaced, products multiplied out over sums, and
 * common factors of terms taken together, on the left and on the right. */
#include "prover.h"
#include "rewrite.h"
#include <stdio.h>
#include <stdlib.h>

const char soai_multiplied_out[] = "multiplied out", soai_taken_together[] = "taken together";

/* How a rule is used from left to right; from right to left it is STEP_BACK. */
enum { NAMES = STEP_NAMES, CHEAPER = STEP_CONTRACT, WORDS = STEP_WORDS, OTHER = STEP_OTHER };
enum { ANY_MACHINE, IDEAL };
static const struct {
    const char *left, *right, *name;
    int kind, ideal;
} table[] = {
    /* one name for each operator */
    {"Psi L", "psi K", "Psi L = psi K", NAMES, ANY_MACHINE},
    {"Phi L", "phi K", "Phi L = phi K", NAMES, ANY_MACHINE},
    {"S L", "K", "S L = K", NAMES, ANY_MACHINE},
    {"psi S", "Psi", "RK88-I (a.7)", NAMES, ANY_MACHINE},
    {"phi S", "Phi", "RK88-I (a.6)", NAMES, ANY_MACHINE},
    {"S Delta_phi", "E_phi", "E_phi = S Delta_phi", NAMES, ANY_MACHINE},
    {"S Delta_psi", "E_psi", "E_psi = S Delta_psi", NAMES, ANY_MACHINE},
    {"Delta_phi G", "L", "RK88-I (a.12)", NAMES, ANY_MACHINE},
    {"E_phi G", "K", "K = E_phi G", NAMES, ANY_MACHINE},
    {"E_phi (I - G H)", "E_psi", "RJK91 (10)", NAMES, ANY_MACHINE},
    {"Delta_phi (I - G H)", "Delta_psi", "RK88-I (a.5)", NAMES, ANY_MACHINE},
    /* identities of the factors */
    {"(I - H psi K) H phi", "H psi", "RK88-I (a.35), RJK91 lemma 4", CHEAPER, ANY_MACHINE},
    {"(I + H phi K) H psi", "H phi", "RK88-I (a.32)", CHEAPER, ANY_MACHINE},
    {"(I + H phi K) (I - H psi K)", "I", "RJK91 (12)", CHEAPER, ANY_MACHINE},
    {"(I - H psi K) (I + H phi K)", "I", "RJK91 (12)", CHEAPER, ANY_MACHINE},
    {"(I - psi K H) phi", "psi", "RK88-I (a.15)", CHEAPER, ANY_MACHINE},
    {"(I + phi K H) psi", "phi", "RK88-I (a.22)", CHEAPER, ANY_MACHINE},
    {"phi (I - K H psi)", "psi", "RK88-I (a.23)", CHEAPER, ANY_MACHINE},
    {"psi (I + K H phi)", "phi", "RK88-I (a.14)", CHEAPER, ANY_MACHINE},
    {"phi K (I - H psi K)", "psi K", "RK88-I (a.41)", CHEAPER, ANY_MACHINE},
    {"psi K (I + H phi K)", "phi K", "RK88-I (a.39)", CHEAPER, ANY_MACHINE},
    {"phit G", "phi K", "RK88-I (a.13)", CHEAPER, ANY_MACHINE},
    {"phi E_phi", "phit", "RK88-I (a.9)", CHEAPER, ANY_MACHINE},
    {"E_phi phi", "phit", "RK88-I (a.11)", CHEAPER, ANY_MACHINE},
    {"psi E_psi", "psit", "RK88-I (a.8)", CHEAPER, ANY_MACHINE},
    {"E_psi psi", "psit", "RK88-I (a.10)", CHEAPER, ANY_MACHINE},
    {"D inv(D)", "I", "D inv(D) = I", CHEAPER, ANY_MACHINE},
    {"inv(D) D", "I", "inv(D) D = I", CHEAPER, ANY_MACHINE},
    {"inv(D) H P", "G'", "RK88-I (a.2)", CHEAPER, ANY_MACHINE},
    /* the inertia between the recursions: no phi' a is left */
    {"(I - H psi K)' inv(D) H psi M phi'", "(I - H psi K)' inv(D) H psi P + K' psi'",
     "RK88-I (a.50) with P H' = G D", CHEAPER, ANY_MACHINE},
    {"(I - H psi K)' inv(D) H psi M phi'",
     "(I - H psi K)' inv(D) H psit P + K' psi' (I - G H)' + G'", "RK88-I (a.50)", OTHER,
     ANY_MACHINE},
    {"psi' H' inv(D) H psi M phi'", "psi' H' inv(D) H psi P + phi' - psi'",
     "RK88-I (a.46), (a.2), (a.28)", CHEAPER, ANY_MACHINE},
    {"psi M phi'", "psit P + P phi'", "RK88-I (a.46)", WORDS, ANY_MACHINE},
    {"psi M phi'", "P + psit P + P phit'", "RK88-I (a.46)", OTHER, ANY_MACHINE},
    {"(I - H psi K)' G' phi'", "K' psi' (I - G H)' + G'", "RK88-I (a.51)", OTHER, ANY_MACHINE},
    /* for single words */
    {"psi K H phi", "phi - psi", "RK88-I (a.18)", WORDS, ANY_MACHINE},
    {"phi K H psi", "phi - psi", "RK88-I (a.28)", WORDS, ANY_MACHINE},
    {"phi G", "phi K + G", "RK88-I (a.13) with (a.3)", WORDS, ANY_MACHINE},
    {"psit", "psi - I", "psi~ = psi - I", WORDS, ANY_MACHINE},
    {"phit", "phi - I", "RK88-I (a.3)", WORDS, ANY_MACHINE},
    {"E_psi", "E_phi - K H", "RJK91 (10)", WORDS, ANY_MACHINE},
    {"H P", "D G'", "RK88-I (a.2)", WORDS, ANY_MACHINE},
    {"P E_phi'", "P E_psi' + G D K'", "RJK91 (10), RK88-I (a.2)", OTHER, ANY_MACHINE},
    {"E_psi P E_phi' + M", "P", "RK88-I (a.44) with r = P", OTHER, ANY_MACHINE},
    {"Mc", "E_phi Mc E_phi' + M", "R87 (32)", OTHER, ANY_MACHINE},
    {"phi M phi'", "phit Mc + Mc phi'", "RK88-I corollary A.1, r = Mc", OTHER, ANY_MACHINE},
    {"phi M phi'", "Mc + phit Mc + Mc phit'", "RK88-I corollary A.1, r = Mc", OTHER, ANY_MACHINE},
    {"phi M phi'", "P + phit P + P phit' + phi K D K' phi'", "RJK91, proof of lemma 1", OTHER,
     ANY_MACHINE},
    {"Mass", "(I + H phi K) D (I + H phi K)'", "RK88-I (4.11), RJK91 lemma 1", OTHER, ANY_MACHINE},
    {"Mass", "H phi M phi' H' + Jr", "definition of Mass", OTHER, ANY_MACHINE},
    {"Mass", "H phi M phi' H'", "RJK91 (3)", OTHER, IDEAL},
    {"H G", "I", "RK88-I (a.1), (a.2)", CHEAPER, IDEAL},
    {"D", "H P H'", "RK88-I (a.1)", OTHER, IDEAL},
    {"psi M psi'", "P + psit P + P psit'", "RK88-I (a.47)", OTHER, IDEAL},
    {"phi M phi'", "P + phit P + P phit' + phit P H' inv(D) H P phit'", "RK88-I (a.48)", OTHER,
     IDEAL},
    {"sqrt(D) sqrt(D)'", "D", "D = sqrt(D) sqrt(D)'", CHEAPER, ANY_MACHINE},
    {"inv(sqrt(D)) sqrt(D)", "I", "inverse of sqrt(D)", CHEAPER, ANY_MACHINE},
    {"sqrt(D) inv(sqrt(D))", "I", "inverse of sqrt(D)", CHEAPER, ANY_MACHINE},
    {"inv(sqrt(D)) D", "sqrt(D)'", "D = sqrt(D) sqrt(D)'", CHEAPER, ANY_MACHINE},
    {"sqrt(D)' inv(D)", "inv(sqrt(D))", "D = sqrt(D) sqrt(D)'", CHEAPER, ANY_MACHINE},
    {"inv(sqrt(D))' inv(sqrt(D))", "inv(D)", "D = sqrt(D) sqrt(D)'", CHEAPER, ANY_MACHINE},
    {"Pplus", "P - G H P", "R87 (43)", OTHER, ANY_MACHINE},
    {"Inc phi'", "I", "FO00 3.5", CHEAPER, ANY_MACHINE},
    {"phi' Inc", "I", "FO00 3.5", CHEAPER, ANY_MACHINE},
    {"Inc", "I - E_phi'", "definition of Inc", OTHER, ANY_MACHINE},
    {"M", "P - E_phi P E_phi' + K D K'", "RJK91, proof of lemma 1", OTHER, ANY_MACHINE},
};
enum { TABLE = sizeof table / sizeof *table, MOST_RULES = 2 * TABLE };

const char *soa_expr_rule_name(int index, const char **left, const char **right, bool *ideal) {
    if (index < 0 || index >= TABLE) return NULL;
    if (left) *left = table[index].left;
    if (right) *right = table[index].right;
    if (ideal) *ideal = table[index].ideal == IDEAL;
    return table[index].name;
}

typedef struct rule {
    const soa_expr *left, *right;
    char name[72];
    step_kind kind;
} rule;
struct soai_rules {
    rule r[MOST_RULES];
    int count;
};

/* --- small constructions ---------------------------------------------------------------------- */
static int is_unit(const soa_expr *e) {
    return e->kind == EXPR_LEAF && e->leaf == LEAF_ID;
}
/* The factors of a product, or the expression itself. */
static const soa_expr *const *factors_of(const soa_expr *const *e, int *count) {
    *count = (*e)->kind == EXPR_PRODUCT ? (*e)->count : 1;
    return (*e)->kind == EXPR_PRODUCT ? (*e)->arg : e;
}
/* Product of n factors; of none the identity of the space. */
static const soa_expr *product_of(const soa_expr *const *factor, int n, int space) {
    if (n == 0) return soai_leaf_new(LEAF_ID, space);
    const soa_expr **args = soai_zeroed((size_t)n, sizeof *args);
    if (!args) return NULL;
    int count = 0;
    for (int i = 0; i < n; ++i)
        if (!is_unit(factor[i])) args[count++] = soai_hold(factor[i]);
    if (!count) args[count++] = soai_hold(factor[0]);
    const soa_expr *out = soai_nary(EXPR_PRODUCT, args, count);
    free(args);
    return out;
}
/* left * middle * right; takes ownership. An identity disappears, a multiple moves to the front. */
static const soa_expr *times(const soa_expr *left, const soa_expr *right) {
    if (!left || !right) {
        soa_expr_free(left);
        soa_expr_free(right);
        return NULL;
    }
    double factor = 1;
    const soa_expr *side[2] = {left, right};
    for (int i = 0; i < 2; ++i)
        if (side[i]->kind == EXPR_SCALE) {
            factor *= side[i]->factor;
            const soa_expr *inner = soai_hold(side[i]->arg[0]);
            soa_expr_free(side[i]);
            side[i] = inner;
        }
    const soa_expr *out;
    if (is_unit(side[0])) {
        soa_expr_free(side[0]);
        out = side[1];
    } else if (is_unit(side[1])) {
        soa_expr_free(side[1]);
        out = side[0];
    } else {
        out = soai_two(EXPR_PRODUCT, side[0], side[1]);
    }
    return soai_unary(EXPR_SCALE, factor, out);
}
/* The adjoint, written at the leaves and sums of a product. */
static const soa_expr *turned(const soa_expr *e) {
    if (e->kind == EXPR_PRODUCT) {
        const soa_expr *out = NULL;
        for (int i = 0; i < e->count; ++i) {
            const soa_expr *t = turned(e->arg[i]);
            out = out ? times(t, out) : t;
            if (!out) return NULL;
        }
        return out;
    }
    if (e->kind == EXPR_SCALE) return soai_unary(EXPR_SCALE, e->factor, turned(e->arg[0]));
    return soai_unary(EXPR_ADJOINT, 1, soai_hold(e));
}
/* The same for a whole sum: term by term. */
static const soa_expr *terms_turned(const soa_expr *e) {
    if (e->kind != EXPR_SUM) return turned(e);
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    for (int i = 0; args && i < e->count; ++i)
        args[i] = turned(e->arg[i]);
    const soa_expr *out = args ? soai_nary(EXPR_SUM, args, e->count) : NULL;
    free(args);
    return out;
}

/* --- the rules -------------------------------------------------------------------------------- */
static void add_rule(soai_rules *s, const soa_expr *left, const soa_expr *right, step_kind kind,
                     const char *name, const char *more) {
    if (!left || !right) {
        soa_expr_free(left);
        soa_expr_free(right);
        return;
    }
    rule *r = s->r + s->count++;
    *r = (rule){.left = left, .right = right, .kind = kind};
    snprintf(r->name, sizeof r->name, "%s%s", more, name);
}
soai_rules *soai_rules_create(int ideal) {
    const unsigned before = soai_refusals();
    soai_rules *s = soai_zeroed(1, sizeof *s);
    for (int i = 0; s && i < TABLE; ++i) {
        char text[400];
        const soa_expr *l = NULL, *r = NULL;
        if (table[i].ideal && !ideal) continue;
        snprintf(text, sizeof text, "%s = %s", table[i].left, table[i].right);
        if (soa_expr_parse_equation(text, NULL, 0, &l, &r, NULL, 0) != SOA_OK) continue;
        const soa_expr *lt = terms_turned(l), *rt = terms_turned(r);
        const int same = lt && rt && soai_same(l, lt) && soai_same(r, rt);
        add_rule(s, l, r, (step_kind)table[i].kind, table[i].name, "");
        if (same) {
            soa_expr_free(lt);
            soa_expr_free(rt);
        } else {
            const int naming = table[i].kind == NAMES;
            add_rule(s, lt, rt, (step_kind)table[i].kind, table[i].name,
                     naming ? "" : "adjoint of ");
        }
    }
    if (s && soai_refusals() != before) {
        soai_rules_free(s);
        s = NULL;
    }
    return s;
}
void soai_rules_free(soai_rules *s) {
    for (int i = 0; s && i < s->count; ++i) {
        soa_expr_free(s->r[i].left);
        soa_expr_free(s->r[i].right);
    }
    free(s);
}

/* --- keys ------------------------------------------------------------------------------------- */
static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}
static uint64_t key_of(const soa_expr *e, int adjoint);
/* Key of a term and its number, which is taken out. */
static uint64_t key_of_term(const soa_expr *e, int adjoint) {
    double factor = 1;
    uint64_t bits;
    while (e->kind == EXPR_SCALE) {
        factor *= e->factor;
        e = e->arg[0];
    }
    memcpy(&bits, &factor, sizeof bits);
    return factor == 1 ? key_of(e, adjoint) : mix(mix(key_of(e, adjoint), bits), 77);
}
static uint64_t key_of_factors(uint64_t h, const soa_expr *e, int adjoint) {
    while (e->kind == EXPR_ADJOINT) {
        e = e->arg[0];
        adjoint = !adjoint;
    }
    if (e->kind != EXPR_PRODUCT) return mix(h, key_of(e, adjoint));
    for (int i = 0; i < e->count; ++i)
        h = key_of_factors(h, e->arg[adjoint ? e->count - 1 - i : i], adjoint);
    return h;
}
static uint64_t key_of(const soa_expr *e, int adjoint) {
    uint64_t h = (uint64_t)e->kind + 11;
    switch (e->kind) {
    case EXPR_LEAF:
        h = mix(h, (uint64_t)(2 * e->leaf) + (uint64_t)(adjoint && !soai_self_adjoint(e->leaf)));
        for (const char *c = e->name; soai_callers(e) && *c; ++c)
            h = mix(h, (unsigned char)*c);
        return mix(h, (uint64_t)(e->leaf == LEAF_ID ? e->to : 0));
    case EXPR_ADJOINT: return key_of(e->arg[0], !adjoint);
    case EXPR_SCALE: return key_of_term(e, adjoint);
    case EXPR_PRODUCT: return key_of_factors(h, e, adjoint);
    case EXPR_SUM:
        for (int i = 0; i < e->count; ++i)
            h += mix(3, key_of_term(e->arg[i], adjoint)); /* in any order */
        return mix(h, (uint64_t)e->count);
    default: return mix(h, key_of(e->arg[0], adjoint));
    }
}
uint64_t soai_form_key(const soa_expr *e) {
    return key_of_term(e, 0);
}
int soai_form_size(const soa_expr *e) {
    int n = 1;
    for (int i = 0; i < e->count; ++i)
        n += soai_form_size(e->arg[i]);
    return n;
}

/* --- at a place in the whole ------------------------------------------------------------------ */
/* The place is written as the path from the top: arguments of arguments. */
typedef struct place {
    const soa_expr *e; /* what is here */
    const struct place *outer;
    int index; /* which argument of the outer one */
} place;
typedef struct walk {
    const soai_rules *rules;
    soai_form_fn *fn;
    void *user;
    int both_ways, stopped;
    const soa_expr *top;
} walk;

/* e with argument i replaced by arg; takes ownership of arg. A multiple inside a product moves to
 * its front. */
static const soa_expr *with(const soa_expr *e, int i, const soa_expr *arg) {
    if (!arg) return NULL;
    if (e->kind == EXPR_PRODUCT) {
        const soa_expr *left = product_of(e->arg, i, arg->to);
        const soa_expr *right = product_of(e->arg + i + 1, e->count - i - 1, arg->from);
        return times(times(left, arg), right);
    }
    if (e->kind != EXPR_SUM) return soai_unary(e->kind, e->factor, arg);
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    if (!args) {
        soa_expr_free(arg);
        return NULL;
    }
    double factor = 1;
    if (arg->kind == EXPR_SCALE && arg->arg[0]->kind == EXPR_SUM) { /* -(x + y) = -x - y */
        factor = arg->factor;
        const soa_expr *sum = arg->arg[0];
        const soa_expr **terms = soai_zeroed((size_t)sum->count, sizeof *terms);
        for (int k = 0; terms && k < sum->count; ++k)
            terms[k] = soai_unary(EXPR_SCALE, factor, soai_hold(sum->arg[k]));
        const soa_expr *out = terms ? soai_nary(EXPR_SUM, terms, sum->count) : NULL;
        free(terms);
        soa_expr_free(arg);
        arg = out;
    }
    for (int j = 0; j < e->count; ++j)
        args[j] = j == i ? arg : soai_hold(e->arg[j]);
    const soa_expr *out = soai_nary(EXPR_SUM, args, e->count);
    free(args);
    return out;
}
static int places_of(const soa_expr *e, const soa_expr *part) {
    if (soai_same(e, part)) return 1;
    int n = 0;
    for (int i = 0; i < e->count; ++i)
        n += places_of(e->arg[i], part);
    return n;
}
/* e with every `part` replaced. */
static const soa_expr *at_all_places(const soa_expr *e, const soa_expr *part, const soa_expr *by) {
    if (soai_same(e, part)) return soai_hold(by);
    const soa_expr *out = soai_hold(e);
    for (int i = e->count - 1; out && i >= 0; --i) { /* from the end: `with` may flatten */
        if (!places_of(e->arg[i], part)) continue;
        const soa_expr *next = with(out, i, at_all_places(e->arg[i], part, by));
        soa_expr_free(out);
        out = next;
    }
    return out;
}
static void give(walk *w, const soa_expr *e, step_kind kind, const char *name) {
    if (e && !w->stopped)
        w->stopped = w->fn(w->user, e, kind, name);
    else
        soa_expr_free(e);
}
/* Takes ownership of `part`, which replaces what is at the place; the same at all places where it
 * occurs, too: what is computed once stays so. */
static void found(walk *w, const place *at, const soa_expr *part, step_kind kind,
                  const char *name) {
    if (part && !w->stopped && at->outer && at->e->count && places_of(w->top, at->e) > 1)
        give(w, at_all_places(w->top, at->e, part), kind, name);
    for (; part && at->outer; at = at->outer)
        part = with(at->outer->e, at->index, part);
    give(w, part, kind, name);
}

/* --- rules at a place ------------------------------------------------------------------------- */
static int fits(const soa_expr *const *pattern, int n, const soa_expr *const *list) {
    for (int j = 0; j < n; ++j) {
        const soa_expr *a = pattern[j], *b = list[j];
        if (a->kind == EXPR_SUM || a->kind == EXPR_ADJOINT) { /* in any order of its terms */
            if (a->from != b->from || a->to != b->to || soai_form_key(a) != soai_form_key(b))
                return 0;
        } else if (!soai_same(a, b)) {
            return 0;
        }
    }
    return 1;
}
/* list[0 ... n-1] sum list[n+1 ... count-1] as a sum, of which `before` factors on the left and all
 * on the right are multiplied in. */
static const soa_expr *multiplied(const soa_expr *const *list, int count, int n, int before,
                                  int after) {
    const soa_expr *sum = list[n];
    const soa_expr **terms = soai_zeroed((size_t)sum->count, sizeof *terms);
    if (!terms) return NULL;
    for (int k = 0; k < sum->count; ++k)
        terms[k] =
            times(times(product_of(list + n - before, before, sum->to), soai_hold(sum->arg[k])),
                  product_of(list + n + 1, after, sum->from));
    const soa_expr *middle = soai_nary(EXPR_SUM, terms, sum->count);
    free(terms);
    if (!middle) return NULL;
    const soa_expr *left = product_of(list, n - before, middle->to);
    const soa_expr *right = product_of(list + n + 1 + after, count - n - 1 - after, middle->from);
    return times(times(left, middle), right);
}
/* Factors first ... first + n - 1 of e replaced by x, which is not owned; a sum is multiplied out
 * with the other factors if wanted. */
static const soa_expr *replaced(const soa_expr *e, int first, int n, const soa_expr *x, int out) {
    int count;
    const soa_expr *const *list = factors_of(&e, &count);
    if (out && x->kind == EXPR_SUM && count > n) {
        const int left = first, right = count - first - n;
        const soa_expr **all = soai_zeroed((size_t)(left + right) + 1, sizeof *all);
        for (int i = 0; all && i < left; ++i)
            all[i] = list[i];
        for (int i = 0; all && i < right; ++i)
            all[left + 1 + i] = list[first + n + i];
        if (all) all[left] = x;
        const soa_expr *made = all ? multiplied(all, left + 1 + right, left, left, right) : NULL;
        free(all);
        return made;
    }
    const soa_expr *left = product_of(list, first, x->to);
    const soa_expr *right = product_of(list + first + n, count - first - n, x->from);
    return times(times(left, soai_hold(x)), right);
}
static void try_rule(walk *w, const place *at, const soa_expr *left, const soa_expr *right,
                     step_kind kind, const char *name) {
    int n, count;
    const soa_expr *e = at->e;
    const soa_expr *const *pattern = factors_of(&left, &n);
    const soa_expr *const *list = factors_of(&e, &count);
    if (is_unit(left)) return;
    for (int i = 0; i + n <= count; ++i) {
        if (!fits(pattern, n, list + i)) continue;
        found(w, at, replaced(e, i, n, right, 1), kind, name);
        if (w->both_ways && right->kind == EXPR_SUM && count > n)
            found(w, at, replaced(e, i, n, right, 0), kind == STEP_BACK ? STEP_BACK : STEP_OTHER,
                  name);
    }
}
static int inside_product(const place *at) {
    return at->outer && at->outer->e->kind == EXPR_PRODUCT;
}
static void rules_here(walk *w, const place *at) {
    if (at->e->kind != EXPR_PRODUCT && inside_product(at)) return; /* seen with the product */
    for (int r = 0; r < w->rules->count; ++r) {
        const rule *u = w->rules->r + r;
        if (u->kind != STEP_NAMES) try_rule(w, at, u->left, u->right, u->kind, u->name);
        if (w->both_ways && u->kind != STEP_NAMES)
            try_rule(w, at, u->right, u->left, STEP_BACK, u->name);
    }
}
/* The rule applied wherever it fits, from left to right; NULL if it fits nowhere. */
static const soa_expr *everywhere(const soa_expr *e, const soa_expr *left, const soa_expr *right,
                                  int *changes) {
    int n, count;
    const soa_expr *out = soai_hold(e);
    const soa_expr *const *pattern = factors_of(&left, &n);
    for (int i = 0; out; ++i) {
        const soa_expr *const *list = factors_of(&out, &count);
        if (i + n > count) break;
        if (!fits(pattern, n, list + i)) continue;
        const soa_expr *next = replaced(out, i, n, right, 0);
        soa_expr_free(out);
        out = next;
        ++*changes;
    }
    for (int i = 0; out && i < out->count; ++i) {
        int inner = 0;
        const soa_expr *part = everywhere(out->arg[i], left, right, &inner);
        if (inner) {
            const soa_expr *next = with(out, i, part);
            soa_expr_free(out);
            out = next;
            *changes += inner;
        } else {
            soa_expr_free(part);
        }
    }
    return out;
}
static void rename_all(walk *w, const soa_expr *e, const rule *a, const rule *b, int back) {
    int changes = 0;
    const soa_expr *x =
        everywhere(e, back ? a->right : a->left, back ? a->left : a->right, &changes);
    if (x && b) {
        const soa_expr *y =
            everywhere(x, back ? b->right : b->left, back ? b->left : b->right, &changes);
        soa_expr_free(x);
        x = y;
    }
    if (changes)
        give(w, x, back ? STEP_BACK : STEP_NAMES, a->name);
    else
        soa_expr_free(x);
}
static void names(walk *w, const soa_expr *e) {
    for (int r = 0; r < w->rules->count; ++r) {
        const rule *u = w->rules->r + r;
        const int pair = r + 1 < w->rules->count && !strcmp(u->name, u[1].name);
        if (u->kind != STEP_NAMES) continue;
        rename_all(w, e, u, pair ? u + 1 : NULL, 0);
        if (w->both_ways) rename_all(w, e, u, pair ? u + 1 : NULL, 1);
        r += pair;
    }
}

/* --- definitions and inverses ----------------------------------------------------------------- */
static void definition_here(walk *w, const place *at) {
    const soa_expr *e = at->e, *d = NULL;
    const int adjoint = e->kind == EXPR_ADJOINT && e->arg[0]->kind == EXPR_LEAF;
    const soa_expr *leaf = adjoint ? e->arg[0] : e;
    if (leaf->kind != EXPR_LEAF || soai_callers(leaf)) return;
    if (!adjoint && at->outer && at->outer->e->kind == EXPR_ADJOINT) return; /* with its adjoint */
    if (leaf->leaf != LEAF_JACOB && leaf->leaf != LEAF_VELOCITY && leaf->leaf != LEAF_ALPHA) return;
    const soai_leaf *row = soai_leaves + leaf->leaf;
    if (soa_expr_parse(row->definition, NULL, 0, &d, NULL, 0) != SOA_OK) return;
    if (adjoint) {
        const soa_expr *t = terms_turned(d);
        soa_expr_free(d);
        d = t;
    }
    char name[64];
    snprintf(name, sizeof name, "definition of %s", row->name);
    found(w, at, d, STEP_UNFOLD, name);
}
static void inverse_here(walk *w, const place *at) {
    const soa_expr *e = at->e;
    if (e->kind != EXPR_INVERSE) return;
    const soa_expr *x = soai_inverse_of(e->arg[0]);
    const int mass = e->arg[0]->kind == EXPR_LEAF && e->arg[0]->leaf == LEAF_MASS;
    if (x)
        found(w, at, x, STEP_UNFOLD,
              mass ? "RJK91 (13), inverse of the innovations factorisation"
                   : "RJK91 (12), inverse of a factor");
}
static void adjoint_here(walk *w, const place *at) {
    const soa_expr *e = at->e;
    if (e->kind != EXPR_ADJOINT) return;
    if (e->arg[0]->kind == EXPR_PRODUCT || e->arg[0]->kind == EXPR_SCALE)
        found(w, at, turned(e->arg[0]), STEP_UNFOLD, "(A B)' = B' A'");
    if (e->arg[0]->kind == EXPR_SUM)
        found(w, at, terms_turned(e->arg[0]), STEP_WORDS, "(A + B)' = A' + B'");
}

/* --- multiplying out -------------------------------------------------------------------------- */
static void multiply_here(walk *w, const place *at) {
    const soa_expr *e = at->e;
    if (e->kind != EXPR_PRODUCT) return;
    for (int i = 0; i < e->count; ++i) {
        const soa_expr *x = e->arg[i];
        if (x->kind != EXPR_SUM) continue;
        const int vector = x->from == SOA_SPACE_ONE, last = e->count - 1 - i;
        if (vector) {
            found(w, at, multiplied(e->arg, e->count, i, i, 0), STEP_MULTIPLY, soai_multiplied_out);
            if (i > 1)
                found(w, at, multiplied(e->arg, e->count, i, 1, 0), STEP_OTHER,
                      soai_multiplied_out);
            continue;
        }
        found(w, at, multiplied(e->arg, e->count, i, i, last), STEP_WORDS, soai_multiplied_out);
        if (i && last)
            found(w, at, multiplied(e->arg, e->count, i, 0, last), STEP_OTHER, soai_multiplied_out);
        if (w->both_ways && i && last)
            found(w, at, multiplied(e->arg, e->count, i, i, 0), STEP_OTHER, soai_multiplied_out);
    }
}
/* The adjoint of a sum times what follows: one step instead of two. */
static void adjoint_sum_here(walk *w, const place *at) {
    const soa_expr *e = at->e;
    if (e->kind != EXPR_PRODUCT) return;
    for (int i = 0; i < e->count; ++i) {
        const soa_expr *x = e->arg[i];
        if (x->kind != EXPR_ADJOINT || x->arg[0]->kind != EXPR_SUM) continue;
        const soa_expr *t = terms_turned(x->arg[0]);
        const soa_expr **list = soai_zeroed((size_t)e->count, sizeof *list);
        for (int k = 0; list && k < e->count; ++k)
            list[k] = k == i ? t : e->arg[k];
        const int last = e->count - 1 - i;
        if (list && t && last) {
            found(w, at, multiplied(list, e->count, i, i, last), STEP_WORDS, soai_multiplied_out);
            if (i)
                found(w, at, multiplied(list, e->count, i, 0, last), STEP_OTHER,
                      soai_multiplied_out);
        }
        free(list);
        soa_expr_free(t);
    }
}

/* --- taking together -------------------------------------------------------------------------- */
typedef struct term {
    double factor;
    const soa_expr *const *list;
    const soa_expr *one; /* list, if the term is a single factor */
    int count;
} term;
static term term_of(const soa_expr *e) {
    term t = {.factor = 1};
    if (e->kind == EXPR_SCALE) {
        t.factor = e->factor;
        e = e->arg[0];
    }
    t.one = e;
    t.list = e->kind == EXPR_PRODUCT ? e->arg : NULL;
    t.count = e->kind == EXPR_PRODUCT ? e->count : 1;
    return t;
}
static const soa_expr *factor_at(const term *t, int i) {
    return t->list ? t->list[i] : t->one;
}
/* How many factors at the left (right) end two terms have in common. */
static int common(const term *a, const term *b, int right) {
    const int most = a->count < b->count ? a->count : b->count;
    int n = 0;
    while (n < most && soai_same(factor_at(a, right ? a->count - 1 - n : n),
                                 factor_at(b, right ? b->count - 1 - n : n)))
        ++n;
    return n;
}
/* A term without its n factors at one end. */
static const soa_expr *rest_of(const term *t, int n, int right, int space) {
    const soa_expr *const *list = t->list ? t->list : &t->one;
    return soai_unary(EXPR_SCALE, t->factor,
                      product_of(list + (right ? 0 : n), t->count - n, space));
}
/* The sum e with the terms of `member` replaced by one product, n of whose factors they share. */
static const soa_expr *together(const soa_expr *e, const char *member, int n, int right) {
    const soa_expr **inner = soai_zeroed((size_t)e->count, sizeof *inner);
    const soa_expr **outer = soai_zeroed((size_t)e->count, sizeof *outer);
    int in = 0, out = 0, first = -1;
    const soa_expr *made = NULL;
    if (inner && outer) {
        double sign = 1;
        for (int k = 0; k < e->count; ++k)
            if (member[k]) {
                term t = term_of(e->arg[k]);
                const soa_expr *edge = factor_at(&t, right ? t.count - n : n - 1);
                if (first < 0) {
                    first = k;
                    sign = t.factor < 0 ? -1 : 1;
                }
                t.factor *= sign;
                inner[in++] = rest_of(&t, n, right, right ? edge->to : edge->from);
            }
        const term t = term_of(e->arg[first]);
        const soa_expr *const *list = t.list ? t.list : &t.one;
        const soa_expr *shared = product_of(list + (right ? t.count - n : 0), n, 0);
        const soa_expr *sum = soai_nary(EXPR_SUM, inner, in);
        made = soai_unary(EXPR_SCALE, sign, right ? times(sum, shared) : times(shared, sum));
        for (int k = 0; made && k < e->count; ++k) {
            if (k == first) outer[out++] = made;
            if (!member[k]) outer[out++] = soai_hold(e->arg[k]);
        }
        if (made) made = soai_nary(EXPR_SUM, outer, out);
    }
    free(inner);
    free(outer);
    return made;
}
/* At one end: for every term the group that shares its end factor, and every pair. */
static void collect_at(walk *w, const place *at, int right) {
    const soa_expr *e = at->e;
    char *member = soai_zeroed((size_t)e->count, 1), *two = soai_zeroed((size_t)e->count, 1);
    for (int i = 0; member && two && i < e->count && !w->stopped; ++i) {
        const term a = term_of(e->arg[i]);
        int shared = a.count, size = 1, earlier = 0;
        memset(member, 0, (size_t)e->count);
        member[i] = 1;
        for (int j = 0; j < e->count && !w->stopped; ++j) {
            const term b = term_of(e->arg[j]);
            int n = j == i ? 0 : common(&a, &b, right);
            /* a vector cannot be divided by itself: x + A x is no A' (x + ...) from the left */
            if (!right && e->from == SOA_SPACE_ONE && n && (n == a.count || n == b.count)) --n;
            if (!n) continue;
            earlier |= j < i;
            member[j] = 1;
            ++size;
            if (n < shared) shared = n;
            if (j < i) continue;
            two[i] = two[j] = 1;
            found(w, at, together(e, two, n, right), STEP_OTHER, soai_taken_together);
            two[i] = two[j] = 0;
        }
        if (size > 2 && !earlier)
            found(w, at, together(e, member, shared, right), STEP_OTHER, soai_taken_together);
    }
    free(member);
    free(two);
}
/* Terms that differ by a number. */
static void like_terms(walk *w, const place *at) {
    const soa_expr *e = at->e;
    for (int i = 0; i < e->count; ++i)
        for (int j = i + 1; j < e->count; ++j) {
            const term a = term_of(e->arg[i]), b = term_of(e->arg[j]);
            if (a.count != b.count || common(&a, &b, 0) < a.count) continue;
            const double factor = a.factor + b.factor;
            if (factor == 0 && e->count == 2) continue; /* there is no zero to write */
            const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
            int count = 0;
            for (int k = 0; args && k < e->count; ++k) {
                if (k == i && factor != 0)
                    args[count++] = soai_unary(EXPR_SCALE, factor, soai_hold(a.one));
                if (k != i && k != j) args[count++] = soai_hold(e->arg[k]);
            }
            if (args) found(w, at, soai_nary(EXPR_SUM, args, count), STEP_LIKE, "like terms");
            free(args);
            return;
        }
}

static void here(walk *w, const place *at) {
    if (w->stopped) return;
    rules_here(w, at);
    definition_here(w, at);
    inverse_here(w, at);
    adjoint_here(w, at);
    multiply_here(w, at);
    adjoint_sum_here(w, at);
    if (at->e->kind == EXPR_SUM) {
        like_terms(w, at);
        collect_at(w, at, 0);
        collect_at(w, at, 1);
    }
    for (int i = 0; i < at->e->count; ++i) {
        const place inner = {at->e->arg[i], at, i};
        here(w, &inner);
    }
}
void soai_rewritings(const soai_rules *rules, const soa_expr *e, int both_ways, soai_form_fn *fn,
                     void *user) {
    walk w = {rules, fn, user, both_ways, 0, e};
    const place top = {e, NULL, 0};
    names(&w, e);
    here(&w, &top);
}
