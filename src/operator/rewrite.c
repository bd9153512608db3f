/* rewrite.c  searches for the cheapest form: breadth first over single rewritings, at most `bound`
 * forms.
 *
 * A rule replaces neighbouring factors by an equal expression. Besides rules, definitions may be
 * expanded, inverses replaced, and a product multiplied out over a sum. Cost: sweeps, then
 * recursions, then steps of the plan. */
#include "expr.h"
#include "prover.h"
#include <stdio.h>
#include <stdlib.h>

/* The left side is a product. All rules hold for every machine, rotors included. */
static const struct {
    const char *left, *right, *name;
} rules[] = {
    {"(I - H psi K) H phi", "H psi", "RK88-I (a.35), RJK91 lemma 4"},
    {"(I - H Psi L) H phi", "H psi", "RK88-I (a.35)"},
    {"phi' H' (I - H psi K)'", "psi' H'", "adjoint of RK88-I (a.35)"},
    {"phi' H' (I - H Psi L)'", "psi' H'", "adjoint of RK88-I (a.35)"},
    {"(I + H phi K) H psi", "H phi", "RK88-I (a.32)"},
    {"psi' H' (I + H phi K)'", "phi' H'", "adjoint of RK88-I (a.32)"},
    {"(I + H phi K) (I - H psi K)", "I", "RJK91 (12)"},
    {"(I - H psi K) (I + H phi K)", "I", "RJK91 (12)"},
    {"(I - H psi K)' (I + H phi K)'", "I", "RJK91 (12)"},
    {"(I + H phi K)' (I - H psi K)'", "I", "RJK91 (12)"},
    {"D inv(D)", "I", "D inv(D) = I"},
    {"inv(D) D", "I", "inv(D) D = I"},
};
enum { RULES = sizeof rules / sizeof *rules, MOST_SIZE = 200 };
/* Limit on the nodes built, after which the search ends even if forms are left to try: about two
 * seconds. The papers' algorithms need a hundredth of it. */
#define MOST_EFFORT 20000000

typedef struct form {
    const soa_expr *e;
    int from;
    char rule[64];
    soai_cost cost;
    int planned;
    uint64_t hash;
} form;
typedef struct search {
    form *f;
    int count, room;
    long effort; /* nodes built so far */
    const soa_expr *left[RULES], *right[RULES];
} search;

static int size_of(const soa_expr *e) {
    int n = 1;
    for (int i = 0; i < e->count; ++i)
        n += size_of(e->arg[i]);
    return n;
}
static int inverses_in(const soa_expr *e) {
    int n = e->kind == EXPR_INVERSE;
    for (int i = 0; i < e->count; ++i)
        n += inverses_in(e->arg[i]);
    return n;
}
/* Equal expressions have equal hashes. */
static uint64_t hash_of(const soa_expr *e) {
    uint64_t h =
        (uint64_t)e->kind * 31 + (uint64_t)(unsigned)e->leaf * 1009 + (uint64_t)(unsigned)e->count;
    for (int i = 0; i < e->count; ++i)
        h = (h ^ hash_of(e->arg[i])) * 1099511628211u + 17;
    return h;
}
static int exhausted(search *s, long nodes) {
    s->effort += nodes;
    return s->effort > MOST_EFFORT || s->count == s->room;
}
static int cheaper(const soai_cost *a, const soai_cost *b) {
    if (a->sweeps != b->sweeps) return a->sweeps < b->sweeps;
    if (a->recursions != b->recursions) return a->recursions < b->recursions;
    return a->steps < b->steps;
}
static void found(search *s, const soa_expr *e, int from, const char *rule) {
    if (!e) return;
    /* The given form is always kept. */
    int fresh = s->count < s->room && (from < 0 || size_of(e) <= MOST_SIZE);
    const uint64_t hash = hash_of(e);
    for (int i = 0; fresh && i < s->count; ++i)
        fresh = s->f[i].hash != hash || !soai_same(s->f[i].e, e);
    if (!fresh) {
        soa_expr_free(e);
        return;
    }
    form *f = s->f + s->count++;
    *f = (form){.e = e, .from = from, .hash = hash};
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    f->planned = soai_plan_cost(e, &f->cost);
    f->cost.steps += inverses_in(e); /* at equal cost, prefer the form without inverses */
}

/* e with argument i replaced by arg; takes ownership of arg */
static const soa_expr *with(const soa_expr *e, int i, const soa_expr *arg) {
    if (!arg) return NULL;
    if (e->kind != EXPR_SUM && e->kind != EXPR_PRODUCT) return soai_unary(e->kind, e->factor, arg);
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    if (!args) {
        soa_expr_free(arg);
        return NULL;
    }
    for (int j = 0; j < e->count; ++j)
        args[j] = j == i ? arg : soai_hold(e->arg[j]);
    const soa_expr *out = soai_nary(e->kind, args, e->count);
    free(args);
    return out;
}
/* product e with factors first ... first + n - 1 replaced by `middle`; takes ownership of middle */
static const soa_expr *splice(const soa_expr *e, int first, int n, const soa_expr *middle) {
    const soa_expr **args = soai_zeroed((size_t)e->count + 1, sizeof *args);
    if (!args || !middle) {
        soa_expr_free(middle);
        free(args);
        return NULL;
    }
    int count = 0;
    for (int j = 0; j < first; ++j)
        args[count++] = soai_hold(e->arg[j]);
    const int unit = middle->kind == EXPR_LEAF && middle->leaf == LEAF_ID && e->count > n;
    if (unit)
        soa_expr_free(middle);
    else
        args[count++] = middle;
    for (int j = first + n; j < e->count; ++j)
        args[count++] = soai_hold(e->arg[j]);
    const soa_expr *out = soai_nary(EXPR_PRODUCT, args, count);
    free(args);
    return out;
}

/* Calls found() for every expression one rewriting away from e; `wrap` inserts the new part into
 * the whole. */
typedef const soa_expr *wrap_fn(void *context, const soa_expr *part);
typedef struct context {
    const soa_expr *e;
    int i;
    wrap_fn *outer;
    void *outer_context;
} context;
static const soa_expr *wrap_in(void *c_, const soa_expr *part) {
    const context *c = c_;
    return c->outer(c->outer_context, with(c->e, c->i, part));
}
static const soa_expr *wrap_none(void *c, const soa_expr *part) {
    (void)c;
    return part;
}

/* The factors of a term without its number. */
static int factors(const soa_expr *term, double *scale, const soa_expr *const **list,
                   const soa_expr *const *self) {
    *scale = 1;
    if (term->kind == EXPR_SCALE) {
        *scale = term->factor;
        term = term->arg[0];
        self = NULL;
    }
    if (term->kind == EXPR_PRODUCT) {
        *list = term->arg;
    } else if (self) {
        *list = self;
    } else {
        *list = NULL;
    }
    return term->kind == EXPR_PRODUCT ? term->count : 1;
}
/* A B x + A C y = A (B x + C y): terms i < j of a sum that begin with the same factors. */
static void collect(search *s, int from, const soa_expr *e, wrap_fn *wrap, void *c) {
    for (int i = 0; i < e->count; ++i)
        for (int j = i + 1; j < e->count; ++j) {
            double si, sj;
            const soa_expr *const *fi, *const *fj;
            const int ni = factors(e->arg[i], &si, &fi, NULL),
                      nj = factors(e->arg[j], &sj, &fj, NULL);
            int same = 0;
            while (fi && fj && same + 1 < ni && same + 1 < nj && soai_same(fi[same], fj[same]))
                ++same;
            if (!same) continue;
            if (exhausted(s, MOST_SIZE)) return;
            const soa_expr *rest[2] = {NULL, NULL},
                           **args = soai_zeroed((size_t)(ni > nj ? ni : nj) + (size_t)e->count,
                                                sizeof *args);
            if (!args) return;
            for (int side = 0; side < 2; ++side) {
                const soa_expr *const *f = side ? fj : fi;
                const int n = side ? nj : ni;
                for (int k = same; k < n; ++k)
                    args[k - same] = soai_hold(f[k]);
                rest[side] = soai_unary(EXPR_SCALE, side ? sj / si : 1,
                                        soai_nary(EXPR_PRODUCT, args, n - same));
            }
            for (int k = 0; k < same; ++k)
                args[k] = soai_hold(fi[k]);
            args[same] = soai_two(EXPR_SUM, rest[0], rest[1]);
            const soa_expr *together =
                soai_unary(EXPR_SCALE, si, soai_nary(EXPR_PRODUCT, args, same + 1));
            int count = 0;
            for (int k = 0; k < e->count; ++k) {
                if (k == i) args[count++] = together;
                if (k != i && k != j) args[count++] = soai_hold(e->arg[k]);
            }
            found(s, wrap(c, soai_nary(EXPR_SUM, args, count)), from, "taken together");
            free(args);
        }
}

static void neighbours(search *s, int from, const soa_expr *e, wrap_fn *wrap, void *c) {
    char name[64];
    if (exhausted(s, MOST_SIZE)) return;
    if (e->kind == EXPR_LEAF &&
        (e->leaf == LEAF_JACOB || e->leaf == LEAF_VELOCITY || e->leaf == LEAF_ALPHA)) {
        const soa_expr *d = NULL;
        snprintf(name, sizeof name, "definition of %s", soai_leaves[e->leaf].name);
        if (soa_expr_parse(soai_leaves[e->leaf].definition, NULL, 0, &d, NULL, 0) == SOA_OK)
            found(s, wrap(c, d), from, name);
    }
    if (e->kind == EXPR_INVERSE) {
        const soa_expr *x = soai_inverse_of(e->arg[0]);
        const int mass = e->arg[0]->kind == EXPR_LEAF && e->arg[0]->leaf == LEAF_MASS;
        if (x)
            found(s, wrap(c, x), from,
                  mass ? "RJK91 (13), inverse of the innovations factorisation"
                       : "RJK91 (12), inverse of a factor");
    }
    if (e->kind == EXPR_ADJOINT) {
        const soa_expr *x = e->arg[0];
        if (x->kind == EXPR_PRODUCT) { /* (A B)' = B' A' */
            const soa_expr **args = soai_zeroed((size_t)x->count, sizeof *args);
            for (int j = 0; args && j < x->count; ++j)
                args[j] = soai_unary(EXPR_ADJOINT, 1, soai_hold(x->arg[x->count - 1 - j]));
            if (args)
                found(s, wrap(c, soai_nary(EXPR_PRODUCT, args, x->count)), from, "(A B)' = B' A'");
            free(args);
        }
        if (x->kind == EXPR_LEAF && x->leaf == LEAF_JACOB) {
            const soa_expr *d = NULL;
            if (soa_expr_parse("H phi B", NULL, 0, &d, NULL, 0) == SOA_OK)
                found(s, wrap(c, d), from, "definition of J, adjoint");
            return;
        }
    }
    if (e->kind == EXPR_PRODUCT) {
        for (int r = 0; r < RULES; ++r) {
            const soa_expr *l = s->left[r];
            for (int i = 0; l && i + l->count <= e->count; ++i) {
                int fits = 1;
                for (int j = 0; j < l->count && fits; ++j)
                    fits = soai_same(l->arg[j], e->arg[i + j]);
                if (fits)
                    found(s, wrap(c, splice(e, i, l->count, soai_hold(s->right[r]))), from,
                          rules[r].name);
            }
        }
        /* A (B + C) = A B + A C, only for a sum of vectors */
        for (int i = 0; i + 1 < e->count; ++i) {
            const soa_expr *x = e->arg[i + 1];
            if (x->kind != EXPR_SUM || x->from != SOA_SPACE_ONE) continue;
            const soa_expr **terms = soai_zeroed((size_t)x->count, sizeof *terms);
            for (int j = 0; terms && j < x->count; ++j) {
                const soa_expr *t = x->arg[j];
                const double f = t->kind == EXPR_SCALE ? t->factor : 1;
                terms[j] = soai_unary(EXPR_SCALE, f,
                                      soai_two(EXPR_PRODUCT, soai_hold(e->arg[i]),
                                               soai_hold(t->kind == EXPR_SCALE ? t->arg[0] : t)));
            }
            if (terms)
                found(s, wrap(c, splice(e, i, 2, soai_nary(EXPR_SUM, terms, x->count))), from,
                      "multiplied out");
            free(terms);
        }
    }
    if (e->kind == EXPR_PRODUCT && e->count == 2 && e->arg[0]->kind == EXPR_SUM &&
        e->from == SOA_SPACE_ONE) { /* (A + B) x = A x + B x */
        const soa_expr *x = e->arg[0];
        const soa_expr **terms = soai_zeroed((size_t)x->count, sizeof *terms);
        for (int j = 0; terms && j < x->count; ++j) {
            const soa_expr *t = x->arg[j];
            const int scaled = t->kind == EXPR_SCALE,
                      unit = t->kind == EXPR_LEAF && t->leaf == LEAF_ID;
            if (unit) {
                terms[j] = soai_hold(e->arg[1]);
            } else {
                terms[j] = soai_unary(EXPR_SCALE, scaled ? t->factor : 1,
                                      soai_two(EXPR_PRODUCT, soai_hold(scaled ? t->arg[0] : t),
                                               soai_hold(e->arg[1])));
            }
        }
        if (terms) found(s, wrap(c, soai_nary(EXPR_SUM, terms, x->count)), from, "multiplied out");
        free(terms);
    }
    if (e->kind == EXPR_SUM) collect(s, from, e, wrap, c);
    for (int i = 0; i < e->count; ++i) {
        context inner = {e, i, wrap, c};
        neighbours(s, from, e->arg[i], wrap_in, &inner);
    }
}

static void tell(const search *s, int i, soa_derivation_fn *fn, void *user) {
    if (s->f[i].from >= 0) tell(s, s->f[i].from, fn, user);
    char text[2000];
    soa_expr_print(s->f[i].e, text, sizeof text);
    fn(user, s->f[i].from < 0 ? "given" : s->f[i].rule, text);
}

soa_status soa_expr_improve(const soa_expr *expr, int bound, soa_derivation_fn *fn, void *user,
                            const soa_expr **better) {
    if (!expr || !better) return SOA_E_ARGUMENT;
    const unsigned before = soai_refusals();
    search s = {.room = bound > 0 ? bound : 2000};
    s.f = soai_zeroed((size_t)s.room, sizeof *s.f);
    if (!s.f) return SOA_E_MEMORY;
    for (int r = 0; r < RULES; ++r) {
        if (soa_expr_parse(rules[r].left, NULL, 0, &s.left[r], NULL, 0) != SOA_OK) s.left[r] = NULL;
        if (!strcmp(rules[r].right, "I"))
            s.right[r] = soa_expr_identity(SOA_SPACE_JOINT);
        else if (soa_expr_parse(rules[r].right, NULL, 0, &s.right[r], NULL, 0) != SOA_OK)
            s.right[r] = NULL;
    }
    found(&s, soai_hold(expr), -1, "given");
    int best = 0;
    for (int i = 0; i < s.count; ++i) {
        if (s.f[i].planned && (!s.f[best].planned || cheaper(&s.f[i].cost, &s.f[best].cost)))
            best = i;
        if (size_of(s.f[i].e) <= MOST_SIZE) neighbours(&s, i, s.f[i].e, wrap_none, NULL);
    }
    const soa_status status = s.count && soai_refusals() == before ? SOA_OK : SOA_E_MEMORY;
    if (!status) {
        if (fn) tell(&s, best, fn, user);
        *better = soai_hold(s.f[best].e);
    }
    for (int i = 0; i < s.count; ++i)
        soa_expr_free(s.f[i].e);
    for (int r = 0; r < RULES; ++r) {
        soa_expr_free(s.left[r]);
        soa_expr_free(s.right[r]);
    }
    free(s.f);
    return status;
}
