/* rewrite.c  searches among the forms of an expression: for the cheapest one, and for a way from
 * one given form to another.
 *
 * Two walks go first from the given form: everything multiplied out as far as vectors go, and then
 * operators too, with the rules that make it cheaper on the way. From there, and from the given
 * form, single rewritings are tried one by one, in turn from the oldest form and from the one that
 * costs least (or is shortest). */
#include "rewrite.h"
#include "prover.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SIZE = 260, MOST_FORMS = 2000, MOST_WALK = 80, RULE_ROOM = 80 };
/* Limit on the nodes built, after which the search ends even if forms are left to try: about a
 * second. The papers' algorithms need a tenth of it. */
#define MOST_EFFORT 6000000

typedef struct form {
    const soa_expr *e;
    int from, expanded;
    int nodes, leaves, inverses;
    char rule[RULE_ROOM];
    soai_cost cost;
    int planned;
    uint64_t key;
} form;
typedef struct search {
    const soai_rules *rules;
    form *f;
    int *slot; /* of the key: index + 1 */
    int slots, count, room, both_ways, costs;
    int oldest;  /* forms before it have been expanded */
    long effort; /* nodes built so far */
} search;

static int open_search(search *s, const soai_rules *rules, int room, int both_ways, int costs) {
    *s = (search){.rules = rules, .room = room, .both_ways = both_ways, .costs = costs};
    for (s->slots = 64; s->slots < 3 * room;)
        s->slots *= 2;
    s->f = soai_zeroed((size_t)room, sizeof *s->f);
    s->slot = soai_zeroed((size_t)s->slots, sizeof *s->slot);
    return s->f && s->slot;
}
static void close_search(search *s) {
    for (int i = 0; i < s->count; ++i)
        soa_expr_free(s->f[i].e);
    free(s->f);
    free(s->slot);
}
/* The form of that key, -1: there is none; *at is its place in the table. */
static int look_up(const search *s, uint64_t key, int *at) {
    int i = (int)(key & (uint64_t)(s->slots - 1));
    for (; s->slot[i]; i = (i + 1) & (s->slots - 1))
        if (s->f[s->slot[i] - 1].key == key) {
            *at = i;
            return s->slot[i] - 1;
        }
    *at = i;
    return -1;
}
static void count_leaves(const soa_expr *e, form *f) {
    f->leaves += e->kind == EXPR_LEAF;
    f->inverses += e->kind == EXPR_INVERSE;
    for (int i = 0; i < e->count; ++i)
        count_leaves(e->arg[i], f);
}
/* Adds a form; takes ownership. Its index, also if it was there before; -1: too long, or no room. */
static int add(search *s, const soa_expr *e, int from, const char *rule) {
    int at;
    const int nodes = soai_form_size(e);
    const uint64_t key = soai_form_key(e);
    int i = look_up(s, key, &at);
    s->effort += nodes;
    if (i >= 0 || s->count == s->room || (from >= 0 && nodes > MOST_SIZE)) {
        soa_expr_free(e);
        return i;
    }
    i = s->count++;
    s->slot[at] = i + 1;
    form *f = s->f + i;
    *f = (form){.e = e, .from = from, .nodes = nodes, .key = key};
    count_leaves(e, f);
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    if (s->costs) {
        f->planned = soai_plan_cost(e, &f->cost);
        s->effort += 10 * nodes;
    }
    return i;
}
static int exhausted(const search *s) {
    return s->effort > MOST_EFFORT || s->count == s->room;
}

/* The comparison of costs; at equal cost the form without inverses, then the shorter one. */
static int cheaper(const form *a, const form *b) {
    if (a->planned != b->planned) return a->planned;
    if (a->planned) {
        const soai_cost *x = &a->cost, *y = &b->cost;
        if (x->sweeps != y->sweeps) return x->sweeps < y->sweeps;
        if (x->recursions != y->recursions) return x->recursions < y->recursions;
        if (x->steps != y->steps) return x->steps < y->steps;
    }
    if (a->inverses != b->inverses) return a->inverses < b->inverses;
    return a->leaves < b->leaves;
}

/* --- one form ------------------------------------------------------------------------------- */
typedef struct expansion {
    search *s;
    int from;
} expansion;
static int take(void *user, const soa_expr *e, step_kind kind, const char *name) {
    expansion *x = user;
    (void)kind;
    add(x->s, e, x->from, name);
    return exhausted(x->s);
}
static void expand(search *s, int i) {
    expansion x = {s, i};
    form *f = s->f + i;
    f->expanded = 1;
    if (f->nodes <= MOST_SIZE || i == 0) soai_rewritings(s->rules, f->e, s->both_ways, take, &x);
}
/* Expands the oldest form that is left, or the best one; 0: none is left. */
static int expand_next(search *s, int oldest) {
    while (s->oldest < s->count && s->f[s->oldest].expanded)
        ++s->oldest;
    if (s->oldest == s->count) return 0;
    int best = s->oldest;
    for (int i = s->oldest + 1; !oldest && i < s->count; ++i)
        if (!s->f[i].expanded && cheaper(s->f + i, s->f + best)) best = i;
    expand(s, best);
    return 1;
}

/* --- walks to sums of words ------------------------------------------------------------------- */
typedef struct choice {
    search *s;
    const soa_expr *e;
    step_kind kind, most;
    char rule[RULE_ROOM];
} choice;
static int choose(void *user, const soa_expr *e, step_kind kind, const char *name) {
    choice *c = user;
    c->s->effort += soai_form_size(e);
    if (kind <= c->most && (!c->e || kind < c->kind)) {
        soa_expr_free(c->e);
        c->e = e;
        c->kind = kind;
        snprintf(c->rule, sizeof c->rule, "%s", name);
    } else {
        soa_expr_free(e);
    }
    return c->kind == STEP_NAMES && c->e;
}
/* From form i by the rewritings up to `most`, the first ones first; the last form that was added. */
static int walk_from(search *s, int i, step_kind most) {
    for (int steps = 0; steps < MOST_WALK && !exhausted(s); ++steps) {
        choice c = {.s = s, .most = most};
        soai_rewritings(s->rules, s->f[i].e, 0, choose, &c);
        if (!c.e) return i;
        const int next = add(s, c.e, i, c.rule);
        if (next < 0) return i;
        i = next;
    }
    return i;
}

/* From form i to the cheapest form that is one rewriting away, while there is a cheaper one. */
static void descend(search *s, int i) {
    while (!exhausted(s)) {
        int best = i;
        if (!s->f[i].expanded) expand(s, i);
        for (int k = 0; k < s->count; ++k)
            if (s->f[k].from == i && cheaper(s->f + k, s->f + best)) best = k;
        if (best == i) return;
        i = best;
    }
}

/* --- the cheapest form ------------------------------------------------------------------------ */
typedef struct steps {
    const soa_expr **e;
    const char **rule;
    int count;
} steps;
static int depth_of(const search *s, int i) {
    int n = 0;
    for (; i >= 0; i = s->f[i].from)
        ++n;
    return n;
}
/* The way to form i, from the given form. */
static int steps_to(const search *s, int i, steps *out) {
    const int n = depth_of(s, i);
    out->e = soai_zeroed((size_t)n, sizeof *out->e);
    out->rule = soai_zeroed((size_t)n, sizeof *out->rule);
    out->count = out->e && out->rule ? n : 0;
    for (int k = out->count; k-- > 0; i = s->f[i].from) {
        out->e[k] = s->f[i].e;
        out->rule[k] = s->f[i].rule;
    }
    return out->count > 0;
}
static void steps_free(steps *s) {
    free(s->e);
    free(s->rule);
}

/* Which forms of a way are one rewriting apart, with the rule; "" none. */
typedef struct links {
    const uint64_t *key;
    int n, from;
    char (*rule)[RULE_ROOM]; /* n x n */
} links;
static const char *reversed(const char *rule) {
    if (!strcmp(rule, soai_multiplied_out)) return soai_taken_together;
    if (!strcmp(rule, soai_taken_together)) return soai_multiplied_out;
    return rule;
}
static void put_link(links *l, int i, int j, const char *rule) {
    char *there = l->rule[l->n * i + j];
    if (i != j && !there[0]) snprintf(there, RULE_ROOM, "%s", rule);
}
static int link_forms(void *user, const soa_expr *e, step_kind kind, const char *name) {
    links *l = user;
    const uint64_t key = soai_form_key(e);
    (void)kind;
    for (int k = 0; k < l->n; ++k)
        if (l->key[k] == key) {
            put_link(l, l->from, k, name);
            put_link(l, k, l->from, reversed(name));
        }
    soa_expr_free(e);
    return 0;
}
static void show(const soa_expr *e, const char *rule, soa_derivation_fn *fn, void *user) {
    const size_t n = soa_expr_print(e, NULL, 0);
    char *text = soai_zeroed(n + 1, 1);
    if (!text) return;
    soa_expr_print(e, text, n + 1);
    fn(user, rule, text);
    free(text);
}
/* The shortest way from the last form back to the first: before[k] is the form before form k. */
static void shortest(const links *l, int *before, int *queue) {
    int head = 0, tail = 0;
    for (int k = 0; k < l->n; ++k)
        before[k] = -1;
    before[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        const int i = queue[head++];
        for (int j = 0; j < l->n; ++j)
            if (before[j] < 0 && l->rule[l->n * i + j][0]) {
                before[j] = i;
                queue[tail++] = j;
            }
    }
}
/* A way without the forms that can be left out; release with short_free. */
typedef struct short_way {
    const soa_expr **e;
    char (*rule)[RULE_ROOM];
    int count;
    size_t length; /* of all texts */
} short_way;
static void short_free(short_way *w) {
    free(w->e);
    free(w->rule);
    *w = (short_way){0};
}
static void keep_step(short_way *out, const soa_expr *e, const char *rule) {
    out->e[out->count] = e;
    snprintf(out->rule[out->count++], RULE_ROOM, "%s", rule);
    out->length += soa_expr_print(e, NULL, 0);
}
static int shorten(const soai_rules *rules, int both_ways, const steps *way, short_way *out) {
    const int n = way->count;
    uint64_t *key = soai_zeroed((size_t)n, sizeof *key);
    int *before = soai_zeroed((size_t)n, sizeof *before);
    int *queue = soai_zeroed((size_t)n, sizeof *queue);
    links l = {.key = key, .n = n, .rule = soai_zeroed((size_t)n * (size_t)n, RULE_ROOM)};
    *out = (short_way){.e = soai_zeroed((size_t)n, sizeof *out->e),
                       .rule = soai_zeroed((size_t)n, RULE_ROOM)};
    const int fine = key && before && queue && l.rule && out->e && out->rule;
    for (int k = 0; fine && k < n; ++k)
        key[k] = soai_form_key(way->e[k]);
    for (int k = 0; fine && k < n; ++k) {
        if (k + 1 < n) put_link(&l, k, k + 1, way->rule[k + 1]);
        l.from = k;
        if (n > 2) soai_rewritings(rules, way->e[k], both_ways, link_forms, &l);
    }
    if (fine) {
        int count = 0;
        shortest(&l, before, queue);
        for (int k = n - 1; k > 0; k = before[k])
            queue[count++] = k;
        keep_step(out, way->e[0], "given");
        for (int from = 0; count > 0; from = queue[count]) {
            --count;
            keep_step(out, way->e[queue[count]], l.rule[n * from + queue[count]]);
        }
    }
    free(key);
    free(before);
    free(queue);
    free(l.rule);
    return fine;
}
static void show_way(const short_way *w, soa_derivation_fn *fn, void *user) {
    for (int k = 0; k < w->count; ++k)
        show(w->e[k], w->rule[k], fn, user);
}

/* --- from one form to another ----------------------------------------------------------------- */
/* A form that both searches know: 1, with its indices. */
static int meets(const search *a, const search *b, int *i, int *j) {
    int at, best = 0;
    for (int k = 0; k < a->count; ++k) {
        const int other = look_up(b, a->f[k].key, &at);
        if (other < 0) continue;
        const int length = depth_of(a, k) + depth_of(b, other);
        if (best && length >= best) continue;
        best = length;
        *i = k;
        *j = other;
    }
    return best > 0;
}
/* The way from the given form to the meeting, and back along the other search. */
static int joined(const search *a, int i, const search *b, int j, steps *out) {
    steps one = {0}, two = {0};
    const int fine = steps_to(a, i, &one) && steps_to(b, j, &two);
    const int n = one.count + two.count - 1;
    if (fine) {
        out->e = soai_zeroed((size_t)n, sizeof *out->e);
        out->rule = soai_zeroed((size_t)n, sizeof *out->rule);
        out->count = out->e && out->rule ? n : 0;
    }
    for (int k = 0; k < out->count; ++k) {
        const int back = n - 1 - k; /* index in the other way */
        out->e[k] = k < one.count ? one.e[k] : two.e[back];
        out->rule[k] = k < one.count ? one.rule[k] : reversed(two.rule[back + 1]);
    }
    if (out->count && two.count == 1) out->e[n - 1] = two.e[0]; /* its terms in their order */
    steps_free(&one);
    steps_free(&two);
    return out->count > 0;
}
static int search_both(search *a, search *b, int bound, int *i, int *j) {
    enum { BETWEEN = 8 };
    for (int turn = 0;; ++turn) {
        if (turn % BETWEEN == 0 && meets(a, b, i, j)) return 1;
        const int full = a->count >= bound || b->count >= bound || exhausted(a) || exhausted(b);
        if (full) return meets(a, b, i, j);
        const int more = expand_next(a, turn % 2) + expand_next(b, turn % 2);
        if (!more) return meets(a, b, i, j);
    }
}
/* First nearby, then by the walks to sums of words and back to short forms, then farther. */
static int find_way(search *a, search *b, int *i, int *j) {
    static const int some[] = {300, 1500};
    search *side[2] = {a, b};
    int end[2] = {0, 0};
    for (int round = 0; round < 2; ++round) {
        if (search_both(a, b, some[round] < a->room ? some[round] : a->room, i, j)) return 1;
        for (int k = 0; k < 2; ++k) {
            side[k]->oldest = side[k]->count; /* the next search is around this walk */
            end[k] = walk_from(side[k], end[k], round ? STEP_WORDS : STEP_LIKE);
        }
        if (meets(a, b, i, j)) return 1;
        for (int k = 0; k < 2; ++k)
            descend(side[k], end[k]);
        if (meets(a, b, i, j)) return 1;
    }
    a->oldest = 0;
    b->oldest = 0;
    return search_both(a, b, a->room, i, j);
}
/* The shortest way that is found from one form to another; its forms belong to the searches. */
static int way_between(search *a, search *b, const soa_expr *from, const soa_expr *to,
                       short_way *out) {
    int i = 0, j = 0;
    steps way = {0};
    add(a, soai_hold(from), -1, "given");
    add(b, soai_hold(to), -1, "given");
    const int found =
        find_way(a, b, &i, &j) && joined(a, i, b, j, &way) && shorten(a->rules, 1, &way, out);
    steps_free(&way);
    return found;
}

/* --- the two calls ----------------------------------------------------------------------------- */
/* Shows how to get to the best form: as the search came to it, or as a search between the two
 * does, whichever is shorter to read. */
static void show_best(const search *s, int best, soa_derivation_fn *fn, void *user) {
    search a = {0}, b = {0};
    steps way = {0};
    short_way one = {0}, two = {0};
    const int came = steps_to(s, best, &way) && shorten(s->rules, 0, &way, &one);
    if (came && one.count > 2 && open_search(&a, s->rules, s->room, 1, 0) &&
        open_search(&b, s->rules, s->room, 1, 0))
        way_between(&a, &b, s->f[0].e, s->f[best].e, &two);
    if (came) show_way(two.count && two.length < one.length ? &two : &one, fn, user);
    steps_free(&way);
    short_free(&one);
    short_free(&two);
    close_search(&a);
    close_search(&b);
}
soa_status soa_expr_improve(const soa_expr *expr, int bound, soa_derivation_fn *fn, void *user,
                            const soa_expr **better) {
    if (!expr || !better) return SOA_E_ARGUMENT;
    const unsigned before = soai_refusals();
    soai_rules *rules = soai_rules_create(0);
    search s = {0};
    const int room = bound > 0 ? bound : MOST_FORMS;
    if (!rules || !open_search(&s, rules, room, 0, 1)) {
        soai_rules_free(rules);
        close_search(&s);
        return SOA_E_MEMORY;
    }
    add(&s, soai_hold(expr), -1, "given");
    if (s.f[0].nodes <= MOST_SIZE) {
        const int vectors = walk_from(&s, 0, STEP_LIKE);
        descend(&s, vectors);
        descend(&s, walk_from(&s, vectors, STEP_WORDS));
        descend(&s, 0);
    }
    for (int turn = 0; !exhausted(&s) && expand_next(&s, turn % 2); ++turn) {
    }
    int best = 0;
    for (int i = 1; i < s.count; ++i)
        if (cheaper(s.f + i, s.f + best)) best = i;
    if (fn) show_best(&s, best, fn, user);
    const soa_status status = soai_refusals() != before ? SOA_E_MEMORY : SOA_OK;
    if (!status) *better = soai_hold(s.f[best].e);
    close_search(&s);
    soai_rules_free(rules);
    return status;
}
soa_status soa_expr_derive(const soa_expr *from, const soa_expr *to, int bound,
                           soa_derivation_fn *fn, void *user) {
    if (!from || !to || from->from != to->from || from->to != to->to) return SOA_E_ARGUMENT;
    const unsigned before = soai_refusals();
    soai_rules *rules = soai_rules_create(1);
    search a = {0}, b = {0};
    const int room = bound > 0 ? bound : 2 * MOST_FORMS;
    short_way way = {0};
    soa_status status = SOA_E_NO_CONVERGENCE;
    if (rules && open_search(&a, rules, room, 1, 0) && open_search(&b, rules, room, 1, 0) &&
        way_between(&a, &b, from, to, &way))
        status = SOA_OK;
    if (!status && fn && soai_refusals() == before) show_way(&way, fn, user);
    if (soai_refusals() != before) status = SOA_E_MEMORY; /* a step may be missing */
    short_free(&way);
    close_search(&a);
    close_search(&b);
    soai_rules_free(rules);
    return status;
}
