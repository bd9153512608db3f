/* expr.c  builds and prints expressions. Spaces are matched here and nowhere else. */
#include "expr.h"
#include <stdio.h>
#include <stdlib.h>

const soai_leaf soai_leaves[] = {
#define SOAI_LEAF_ROW_(code, name, from, to, causality, definition, what) \
    {name, from, to, causality, definition, what},
    SOAI_LEAVES(SOAI_LEAF_ROW_)
#undef SOAI_LEAF_ROW_
};

const char *soa_space_name(soa_space space) {
    static const char *const names[] = {"one",  "joint",      "link",   "edge",    "tip",
                                        "base", "constraint", "object", "primary", "any"};
    return (unsigned)space <= SOA_SPACE_COUNT ? names[space] : "?";
}
const char *soa_expr_leaf_name(int index, const char **what) {
    if (index < 0 || index >= LEAF_COUNT) return NULL;
    if (what) *what = soai_leaves[index].what;
    return soai_leaves[index].name;
}

static unsigned refusals;

unsigned soai_refusals(void) {
    return __atomic_load_n(&refusals, __ATOMIC_RELAXED);
}
static void *counted(void *memory) {
    if (!memory) __atomic_add_fetch(&refusals, 1, __ATOMIC_RELAXED);
    return memory;
}
void *soai_zeroed(size_t count, size_t size) {
    return counted(calloc(count ? count : 1, size));
}
void *soai_resized(void *old, size_t bytes) {
    return counted(realloc(old, bytes));
}

static soa_expr *node(expr_kind kind, int count) {
    soa_expr *e = soai_zeroed(1, sizeof *e + (size_t)count * sizeof e->arg[0]);
    if (e) {
        e->refs = 1;
        e->kind = kind;
        e->count = count;
    }
    return e;
}
const soa_expr *soai_hold(const soa_expr *e) {
    if (e) ++((soa_expr *)(uintptr_t)e)->refs;
    return e;
}
void soa_expr_free(const soa_expr *expr) {
    soa_expr *e = (soa_expr *)(uintptr_t)expr;
    if (!e || --e->refs > 0) return;
    for (int i = 0; i < e->count; ++i)
        soa_expr_free(e->arg[i]);
    free(e);
}
static const soa_expr *drop(const soa_expr **args, int count) {
    for (int i = 0; i < count; ++i)
        soa_expr_free(args[i]);
    return NULL;
}

const soa_expr *soai_leaf_new(int code, int space) {
    soa_expr *e = node(EXPR_LEAF, 0);
    if (!e) return NULL;
    e->leaf = code;
    if (code == LEAF_ID) {
        e->from = space;
    } else if (code == LEAF_VARIABLE) {
        e->from = SOA_SPACE_ONE;
    } else {
        e->from = soai_leaves[code].from;
    }
    e->to = code == LEAF_ID || code == LEAF_VARIABLE ? space : soai_leaves[code].to;
    return e;
}

const soa_expr *soai_zero_new(int from, int to) {
    soa_expr *e = node(EXPR_LEAF, 0);
    if (!e) return NULL;
    e->leaf = LEAF_ZERO;
    e->from = from;
    e->to = to;
    strcpy(e->name, "0");
    return e;
}
const soa_expr *soai_at_new(const char *name) {
    if (!*name || strlen(name) >= MOST_LEAF_NAME) return NULL;
    soa_expr *e = node(EXPR_LEAF, 0);
    if (!e) return NULL;
    e->leaf = LEAF_AT;
    e->from = e->to = SOA_SPACE_LINK;
    strcpy(e->name, name);
    return e;
}

const char *soai_leaf_name(const soa_expr *e) {
    return soai_callers(e) ? e->name : soai_leaves[e->leaf].name;
}

static int meet(int a, int b) { /* the common space, or -1 */
    if (a == ANY) return b;
    if (b == ANY || a == b) return a;
    return -1;
}

/* A product with a factor 0 is 0; terms 0 of a sum are left out.  Takes ownership of e. */
static const soa_expr *without_zeros(const soa_expr *e, int zeros) {
    const soa_expr *out = NULL;
    if (e->kind == EXPR_PRODUCT || zeros == e->count) {
        out = soai_zero_new(e->from, e->to);
    } else {
        const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
        int count = 0;
        for (int i = 0; args && i < e->count; ++i)
            if (!soai_is_zero(e->arg[i])) args[count++] = soai_hold(e->arg[i]);
        out = args ? soai_nary(EXPR_SUM, args, count) : NULL;
        free(args);
    }
    soa_expr_free(e);
    return out;
}
const soa_expr *soai_nary(expr_kind kind, const soa_expr **args, int count) {
    int total = 0;
    for (int i = 0; i < count; ++i) {
        if (!args[i]) return drop(args, count);
        total += args[i]->kind == kind ? args[i]->count : 1;
    }
    if (count == 1) return args[0];
    soa_expr *e = node(kind, total);
    if (!e) return drop(args, count);
    int at = 0;
    for (int i = 0; i < count; ++i) {
        if (args[i]->kind == kind)
            for (int j = 0; j < args[i]->count; ++j)
                e->arg[at++] = soai_hold(args[i]->arg[j]);
        else
            e->arg[at++] = soai_hold(args[i]);
    }
    int fits = 1, zeros = 0;
    for (int i = 0; i < total; ++i)
        zeros += soai_is_zero(e->arg[i]);
    if (kind == EXPR_SUM) {
        e->from = e->to = ANY;
        for (int i = 0; i < total && fits; ++i) {
            const int from = meet(e->from, e->arg[i]->from), to = meet(e->to, e->arg[i]->to);
            fits = from >= 0 && to >= 0;
            e->from = from;
            e->to = to;
        }
    } else {
        e->to = e->arg[0]->to;
        e->from = e->arg[total - 1]->from;
        int taken = ANY; /* input space of the factors so far; an identity passes it on */
        for (int i = 0; i < total && fits; ++i) {
            fits = i == 0 || meet(taken, e->arg[i]->to) >= 0;
            if (e->arg[i]->from != ANY || soai_is_zero(e->arg[i])) taken = e->arg[i]->from;
        }
        for (int i = 0; i < total && !zeros; ++i) { /* I takes the spaces of its neighbours */
            if (e->to == ANY) e->to = e->arg[i]->to;
            if (e->from == ANY) e->from = e->arg[total - 1 - i]->from;
        }
    }
    drop(args, count);
    if (!fits) {
        soa_expr_free(e);
        return NULL;
    }
    return zeros ? without_zeros(e, zeros) : e;
}
const soa_expr *soai_two(expr_kind kind, const soa_expr *a, const soa_expr *b) {
    const soa_expr *args[2] = {a, b};
    return soai_nary(kind, args, 2);
}
int soai_self_adjoint(int leaf) {
    return leaf == LEAF_ID || leaf == LEAF_ART || leaf == LEAF_DIAG || leaf == LEAF_DINV ||
           leaf == LEAF_RIGID || leaf == LEAF_COMPOSITE || leaf == LEAF_ROTOR ||
           leaf == LEAF_MASS || leaf == LEAF_COSTATE || leaf == LEAF_PPLUS ||
           leaf == LEAF_SMOOTHED || leaf == LEAF_AT || leaf == LEAF_DART ||
           leaf == LEAF_DCOMPOSITE || leaf == LEAF_DDIAG || leaf == LEAF_LINEAR ||
           leaf == LEAF_OBJECT;
}
/* The leaf that is the inverse of a leaf, or -1. */
static int inverse_leaf(int leaf) {
    switch (leaf) {
    case LEAF_ID: return LEAF_ID;
    case LEAF_DIAG: return LEAF_DINV;
    case LEAF_DINV: return LEAF_DIAG;
    case LEAF_ROOT: return LEAF_ROOTINV;
    case LEAF_ROOTINV: return LEAF_ROOT;
    default: return -1;
    }
}
const soa_expr *soai_unary(expr_kind kind, double factor, const soa_expr *a) {
    if (!a) return NULL;
    if (kind == EXPR_SCALE && a->kind == EXPR_SCALE) {
        const soa_expr *inner = soai_hold(a->arg[0]);
        factor *= a->factor;
        soa_expr_free(a);
        return soai_unary(EXPR_SCALE, factor, inner);
    }
    if (kind == EXPR_SCALE && factor == 1) return a;
    if (soai_is_zero(a) && kind != EXPR_INVERSE) {
        const soa_expr *zero = kind == EXPR_SCALE ? soai_hold(a) : soai_zero_new(a->to, a->from);
        soa_expr_free(a);
        return zero;
    }
    if (kind == EXPR_ADJOINT && a->kind == EXPR_LEAF && soai_self_adjoint(a->leaf)) return a;
    if ((kind == EXPR_ADJOINT || kind == EXPR_INVERSE) && a->kind == kind) {
        const soa_expr *inner = soai_hold(a->arg[0]);
        soa_expr_free(a);
        return inner;
    }
    if (kind == EXPR_INVERSE && a->kind == EXPR_LEAF && inverse_leaf(a->leaf) >= 0) {
        const int code = inverse_leaf(a->leaf), space = a->to;
        soa_expr_free(a);
        return soai_leaf_new(code, space);
    }
    const int product = kind == EXPR_CROSS || kind == EXPR_BAR;
    if ((kind == EXPR_INVERSE && meet(a->from, a->to) < 0) || /* not square */
        (product && (a->from != SOA_SPACE_ONE || a->to != SOA_SPACE_LINK))) {
        soa_expr_free(a);
        return NULL;
    }
    soa_expr *e = node(kind, 1);
    if (!e) {
        soa_expr_free(a);
        return NULL;
    }
    e->arg[0] = a;
    e->factor = factor;
    const int turned = kind == EXPR_ADJOINT || kind == EXPR_PSEUDO;
    e->from = turned || product ? a->to : a->from;
    e->to = turned ? a->from : a->to;
    return e;
}

const soa_expr *soai_settle(const soa_expr *e, int from, int to) {
    if (!e) return NULL;
    if (e->from != ANY) from = e->from;
    if (e->to != ANY) to = e->to;
    if (e->kind == EXPR_LEAF) {
        if (e->leaf == LEAF_ZERO && (e->from == ANY || e->to == ANY)) {
            soa_expr_free(e);
            return soai_zero_new(from, to);
        }
        if (e->leaf != LEAF_ID || e->to != ANY) return e;
        soa_expr_free(e);
        return soai_leaf_new(LEAF_ID, to != ANY ? to : from);
    }
    if (e->kind == EXPR_SUM || e->kind == EXPR_PRODUCT) {
        const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
        if (!args) {
            soa_expr_free(e);
            return NULL;
        }
        int count = 0, left = to;
        for (int i = 0; i < e->count; ++i) {
            const soa_expr *x = e->arg[i];
            if (e->kind == EXPR_PRODUCT && x->kind == EXPR_LEAF && x->leaf == LEAF_ID &&
                e->count > 1) {
                if (count > 0 || i + 1 < e->count) continue; /* I x = x */
            }
            int right = from;
            if (e->kind == EXPR_PRODUCT && i + 1 < e->count && e->arg[i + 1]->to != ANY)
                right = e->arg[i + 1]->to;
            args[count++] = soai_settle(soai_hold(x), right, e->kind == EXPR_SUM ? to : left);
            left = x->from != ANY ? x->from : left;
        }
        const expr_kind kind = e->kind;
        soa_expr_free(e);
        e = soai_nary(kind, args, count);
        free(args);
        return e;
    }
    const int turned = e->kind == EXPR_ADJOINT || e->kind == EXPR_PSEUDO;
    if (e->kind == EXPR_CROSS || e->kind == EXPR_BAR) from = SOA_SPACE_ONE;
    const soa_expr *inner =
        soai_settle(soai_hold(e->arg[0]), turned ? to : from, turned ? from : to);
    const expr_kind kind = e->kind;
    const double factor = e->factor;
    soa_expr_free(e);
    return soai_unary(kind, factor, inner);
}

const soa_expr *soai_expand(const soa_expr *e) {
    if (e->kind == EXPR_LEAF) {
        if (soai_callers(e) || !soai_leaves[e->leaf].definition) return soai_hold(e);
        const soa_expr *d = NULL, *out;
        if (soa_expr_parse(soai_leaves[e->leaf].definition, NULL, 0, &d, NULL, 0) != SOA_OK)
            return NULL;
        out = soai_expand(d);
        soa_expr_free(d);
        return out;
    }
    if (e->count == 1 && e->kind != EXPR_SUM && e->kind != EXPR_PRODUCT)
        return soai_unary(e->kind, e->factor, soai_expand(e->arg[0]));
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    if (!args) return NULL;
    for (int i = 0; i < e->count; ++i)
        args[i] = soai_expand(e->arg[i]);
    const soa_expr *out = soai_nary(e->kind, args, e->count);
    free(args);
    return out;
}

int soai_same(const soa_expr *a, const soa_expr *b) {
    if (a == b) return 1;
    if (a->kind != b->kind || a->count != b->count || a->from != b->from || a->to != b->to)
        return 0;
    if (a->kind == EXPR_LEAF) return a->leaf == b->leaf && !strcmp(a->name, b->name);
    if (a->kind == EXPR_SCALE && a->factor != b->factor) return 0;
    for (int i = 0; i < a->count; ++i)
        if (!soai_same(a->arg[i], b->arg[i])) return 0;
    return 1;
}

/* --- public builders: the caller keeps its arguments ------------------------------------------ */
const soa_expr *soa_expr_leaf(const char *name) {
    for (int i = 0; name && i < LEAF_COUNT; ++i)
        if (i != LEAF_ID && !strcmp(name, soai_leaves[i].name)) return soai_leaf_new(i, ANY);
    return NULL;
}
const soa_expr *soa_expr_variable(const char *name, soa_space space) {
    if (!name || !*name || strlen(name) >= MOST_OWN_NAME || space <= SOA_SPACE_ONE ||
        space >= SOA_SPACE_COUNT)
        return NULL;
    soa_expr *e = (soa_expr *)(uintptr_t)soai_leaf_new(LEAF_VARIABLE, (int)space);
    if (e) strcpy(e->name, name);
    return e;
}
const soa_expr *soa_expr_operator(const char *name, soa_space from, soa_space to) {
    const int spaces = from > SOA_SPACE_ONE && from < SOA_SPACE_COUNT;
    soa_expr *e = spaces ? (soa_expr *)(uintptr_t)soa_expr_variable(name, to) : NULL;
    if (e) {
        e->leaf = LEAF_MATRIX;
        e->from = (int)from;
    }
    return e;
}
const soa_expr *soa_expr_blocks(const char *name, soa_space space) {
    soa_expr *e =
        soai_has_blocks((int)space) ? (soa_expr *)(uintptr_t)soa_expr_variable(name, space) : NULL;
    if (e) {
        e->leaf = LEAF_BLOCKS;
        e->from = (int)space;
    }
    return e;
}
const soa_expr *soa_expr_at(const char *link) {
    return link ? soai_at_new(link) : NULL;
}
const soa_expr *soa_expr_zero(soa_space from, soa_space to) {
    return from < SOA_SPACE_COUNT && to > SOA_SPACE_ONE && to < SOA_SPACE_COUNT
               ? soai_zero_new((int)from, (int)to)
               : NULL;
}
const soa_expr *soa_expr_identity(soa_space space) {
    return space > SOA_SPACE_ONE && space < SOA_SPACE_COUNT ? soai_leaf_new(LEAF_ID, (int)space)
                                                            : NULL;
}
const soa_expr *soa_expr_sum(const soa_expr *a, const soa_expr *b) {
    return a && b ? soai_two(EXPR_SUM, soai_hold(a), soai_hold(b)) : NULL;
}
const soa_expr *soa_expr_difference(const soa_expr *a, const soa_expr *b) {
    return a && b ? soai_two(EXPR_SUM, soai_hold(a), soai_unary(EXPR_SCALE, -1, soai_hold(b)))
                  : NULL;
}
const soa_expr *soa_expr_product(const soa_expr *a, const soa_expr *b) {
    return a && b ? soai_two(EXPR_PRODUCT, soai_hold(a), soai_hold(b)) : NULL;
}
const soa_expr *soa_expr_scale(double factor, const soa_expr *a) {
    return soai_unary(EXPR_SCALE, factor, soai_hold(a));
}
const soa_expr *soa_expr_adjoint(const soa_expr *a) {
    return soai_unary(EXPR_ADJOINT, 1, soai_hold(a));
}
const soa_expr *soa_expr_inverse(const soa_expr *a) {
    return soai_unary(EXPR_INVERSE, 1, soai_hold(a));
}
const soa_expr *soa_expr_pseudoinverse(const soa_expr *a) {
    return soai_unary(EXPR_PSEUDO, 1, soai_hold(a));
}
const soa_expr *soa_expr_cross(const soa_expr *x) {
    return soai_unary(EXPR_CROSS, 1, soai_hold(x));
}
const soa_expr *soa_expr_bar(const soa_expr *f) {
    return soai_unary(EXPR_BAR, 1, soai_hold(f));
}
soa_space soa_expr_domain(const soa_expr *expr) {
    return expr ? (soa_space)expr->from : SOA_SPACE_COUNT;
}
soa_space soa_expr_codomain(const soa_expr *expr) {
    return expr ? (soa_space)expr->to : SOA_SPACE_COUNT;
}
static soa_causality both(soa_causality a, soa_causality b) {
    if (a == SOA_MEMORYLESS) return b;
    if (b == SOA_MEMORYLESS || a == b) return a;
    return SOA_MIXED;
}
soa_causality soa_expr_causality(const soa_expr *e) {
    if (!e) return SOA_MIXED;
    /* From any tip to any other tip. */
    if (e->kind == EXPR_LEAF && e->leaf == LEAF_MATRIX) return SOA_MIXED;
    /* A dense one in any of the other spaces. */
    if (e->kind == EXPR_PSEUDO) return SOA_MIXED;
    if (e->kind == EXPR_LEAF)
        return soai_callers(e) ? SOA_MEMORYLESS : soai_leaves[e->leaf].causality;
    soa_causality c = SOA_MEMORYLESS;
    if (e->kind == EXPR_CROSS || e->kind == EXPR_BAR) return c;
    for (int i = 0; i < e->count; ++i)
        c = both(c, soa_expr_causality(e->arg[i]));
    if (e->kind == EXPR_ADJOINT) {
        if (c == SOA_CAUSAL) {
            c = SOA_ANTICAUSAL;
        } else if (c == SOA_ANTICAUSAL) {
            c = SOA_CAUSAL;
        }
    }
    return c;
}

/* --- inspection ------------------------------------------------------------------------------- */
soa_status soa_expr_get_info(const soa_expr *e, soa_expr_info *info) {
    static const soa_expr_kind kinds[] = {[EXPR_LEAF] = SOA_EXPR_LEAF,
                                          [EXPR_SUM] = SOA_EXPR_SUM,
                                          [EXPR_PRODUCT] = SOA_EXPR_PRODUCT,
                                          [EXPR_SCALE] = SOA_EXPR_SCALE,
                                          [EXPR_ADJOINT] = SOA_EXPR_ADJOINT,
                                          [EXPR_INVERSE] = SOA_EXPR_INVERSE,
                                          [EXPR_PSEUDO] = SOA_EXPR_PSEUDOINVERSE,
                                          [EXPR_CROSS] = SOA_EXPR_CROSS,
                                          [EXPR_BAR] = SOA_EXPR_BAR};
    if (!e || !info) return SOA_E_ARGUMENT;
    *info = (soa_expr_info){
        .kind = kinds[e->kind], .count = e->count, .factor = e->kind == EXPR_SCALE ? e->factor : 1};
    if (e->kind != EXPR_LEAF) return SOA_OK;
    info->blocks = e->leaf == LEAF_BLOCKS;
    info->name = soai_callers(e) ? e->name : soai_leaves[e->leaf].name;
    info->what = soai_callers(e) ? NULL : soai_leaves[e->leaf].what;
    if (e->leaf == LEAF_AT) info->what = "keeps the numbers of one link";
    if (e->leaf == LEAF_ZERO) info->what = "zero";
    info->definition = soai_callers(e) ? NULL : soai_leaves[e->leaf].definition;
    return SOA_OK;
}
const soa_expr *soa_expr_part(const soa_expr *e, int index) {
    return e && index >= 0 && index < e->count ? e->arg[index] : NULL;
}

/* --- printing --------------------------------------------------------------------------------- */
typedef struct writer {
    char *text;
    size_t room, length;
} writer;
static void put(writer *w, const char *s) {
    for (; *s; ++s, ++w->length)
        if (w->length + 1 < w->room) w->text[w->length] = *s;
}
static const char *function_name(expr_kind kind) {
    switch (kind) {
    case EXPR_INVERSE: return "inv(";
    case EXPR_PSEUDO: return "pinv(";
    case EXPR_CROSS: return "cross(";
    default: return "bar(";
    }
}
/* level: 0 top, 1 inside a product, 2 under an adjoint */
static void print(const soa_expr *e, int level, writer *w) {
    char number[32];
    switch (e->kind) {
    case EXPR_LEAF:
        if (e->leaf == LEAF_AT) put(w, "at(");
        put(w, soai_callers(e) ? e->name : soai_leaves[e->leaf].name);
        if (e->leaf == LEAF_AT) put(w, ")");
        break;
    case EXPR_SUM:
        if (level > 0) put(w, "(");
        for (int i = 0; i < e->count; ++i) {
            const soa_expr *x = e->arg[i];
            const int negative = x->kind == EXPR_SCALE && x->factor < 0;
            if (i) put(w, negative ? " - " : " + ");
            if (!i && negative) put(w, "-");
            if (negative && x->factor != -1) {
                snprintf(number, sizeof number, "%.17g ", -x->factor);
                put(w, number);
            }
            print(negative ? x->arg[0] : x, 1, w);
        }
        if (level > 0) put(w, ")");
        break;
    case EXPR_PRODUCT:
        if (level > 1) put(w, "(");
        for (int i = 0; i < e->count; ++i) {
            if (i) put(w, " ");
            print(e->arg[i], e->arg[i]->kind == EXPR_SCALE ? 2 : 1, w);
        }
        if (level > 1) put(w, ")");
        break;
    case EXPR_SCALE:
        if (level > 0) put(w, "(");
        if (e->factor == -1) {
            put(w, "-");
        } else {
            snprintf(number, sizeof number, "%.17g ", e->factor);
            put(w, number);
        }
        print(e->arg[0], 1, w);
        if (level > 0) put(w, ")");
        break;
    case EXPR_ADJOINT:
        print(e->arg[0], 2, w);
        put(w, "'");
        break;
    case EXPR_INVERSE:
    case EXPR_PSEUDO:
    case EXPR_CROSS:
    case EXPR_BAR:
        put(w, function_name(e->kind));
        print(e->arg[0], 0, w);
        put(w, ")");
        break;
    }
}
size_t soa_expr_print(const soa_expr *expr, char *text, size_t room) {
    if (!text) room = 0;
    writer w = {text, room, 0};
    if (expr) print(expr, 0, &w);
    if (room) text[w.length < room ? w.length : room - 1] = 0;
    return w.length;
}
