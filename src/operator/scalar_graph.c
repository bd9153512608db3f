/* scalar_graph.c  a plan as a graph of scalars for one model: the products and sums that remain
 * when known zeros, ones and constants are removed and equal results are computed once. Used by
 * `--count` and `--emit-c`.
 *
 * This file has the nodes and their arithmetic, counting, and printing as C. What is computed is in
 * scalar_graph_steps.c. The arithmetic simplifies as it goes: signs are moved out of sums and
 * products (a change of sign is not counted), constants are multiplied together, and x - (u + v)
 * becomes (x - u) - v if x - u exists already. */
#include "scalar_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As for generated code; with the mass matrix the nodes grow with the cube. */
enum { MOST_BODIES = 1000 };

static unsigned place(int op, int a, int b, double number) {
    unsigned h = (unsigned)op * 31u + (unsigned)a * 2654435761u + (unsigned)b * 40503u;
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    h ^= (unsigned)(bits ^ bits >> 32) * 97u;
    return (h ^ h >> 15) % BUCKETS;
}
static node find(const soa_scalar_graph *g, int op, int a, int b, double number) {
    for (int i = g->bucket[place(op, a, b, number)]; i >= 0; i = g->r[i].next)
        if (g->r[i].op == op && g->r[i].a == a && g->r[i].b == b &&
            !memcmp(&g->r[i].value, &number, sizeof number))
            return i;
    return -1;
}
node soai_make(soa_scalar_graph *g, int op, int a, int b, double number) {
    if (g->failed) return 0;
    const node known = find(g, op, a, b, number);
    if (known >= 0) return known;
    if (g->count == g->room) {
        graph_row *more = g->room < MOST_NODES
                              ? soai_resized(g->r, (size_t)(2 * g->room + 1024) * sizeof *more)
                              : NULL;
        if (!more) {
            g->failed = 1;
            return 0;
        }
        g->r = more;
        g->room = 2 * g->room + 1024;
    }
    const unsigned h = place(op, a, b, number);
    g->r[g->count] = (graph_row){op, a, b, g->body, g->part, number, g->bucket[h]};
    return g->bucket[h] = g->count++;
}
node soai_constant(soa_scalar_graph *g, double x) {
    return soai_make(g, CONSTANT, 0, 0, x + 0.0);
}
/* A generic number of the model never equals another one: its a is not 0, and a, b tell where it
 * comes from. */
node soai_parameter(soa_scalar_graph *g, double x) {
    const int generic = g->options.generic && x != 0;
    return soai_make(g, CONSTANT, generic, generic ? ++g->parameters : 0, x + 0.0);
}
int soai_is(const soa_scalar_graph *g, node x, double number) {
    return g->r[x].op == CONSTANT && g->r[x].value == number && !g->r[x].a;
}
/* op applied to two constants */
static node made_of(soa_scalar_graph *g, int op, node x, node y, double number) {
    const int generic = g->r[x].a || g->r[y].a;
    return soai_make(g, CONSTANT, generic ? 2 + op + 16 * x : 0, generic ? y : 0, number + 0.0);
}
static int both_constant(const soa_scalar_graph *g, node x, node y) {
    return g->r[x].op == CONSTANT && g->r[y].op == CONSTANT;
}
node soai_negate(soa_scalar_graph *g, node x) {
    if (g->r[x].op == CONSTANT && !g->r[x].a) return soai_constant(g, -g->r[x].value);
    if (g->r[x].op == NEGATE) return g->r[x].a;
    return soai_make(g, NEGATE, x, 0, 0);
}

/* --- sums: s x + t y with s, t = 1 or -1; one node for each pair up to its sign --------------- */
typedef struct signed_node {
    node x;
    int s;
} signed_node;
static signed_node bare(const soa_scalar_graph *g, node x, int s) {
    return g->r[x].op == NEGATE ? (signed_node){g->r[x].a, -s} : (signed_node){x, s};
}
/* The row that would hold the sum: operation, operands, and the sign of the row. */
static int row_of(signed_node p, signed_node q, int *a, int *b, int *sign) {
    if (p.x > q.x) {
        const signed_node t = p;
        p = q;
        q = t;
    }
    *a = p.x;
    *b = q.x;
    *sign = p.s;
    return p.s == q.s ? ADD : SUBTRACT;
}
static node signed_value(soa_scalar_graph *g, node x, int sign) {
    return sign < 0 ? soai_negate(g, x) : x;
}
static node sum(soa_scalar_graph *g, node x, int s, node y, int t, int regroup) {
    const signed_node p = bare(g, x, s), q = bare(g, y, t);
    if (soai_is(g, p.x, 0)) return signed_value(g, q.x, q.s);
    if (soai_is(g, q.x, 0)) return signed_value(g, p.x, p.s);
    if (p.x == q.x && p.s != q.s) return 0;
    int a, b, sign;
    const int op = row_of(p, q, &a, &b, &sign);
    if (both_constant(g, a, b)) {
        const double other = g->r[b].value;
        return signed_value(g, made_of(g, op, a, b, g->r[a].value + (op == ADD ? other : -other)),
                            sign);
    }
    const node known = find(g, op, a, b, 0);
    if (known >= 0) return signed_value(g, known, sign);
    for (int side = 0; regroup && side < 2;
         ++side) { /* if x + u exists, x + (u + v) costs one sum, and u + v may not be needed */
        const signed_node whole = side ? p : q;
        const signed_node other = side ? q : p;
        const graph_row *r = g->r + whole.x;
        if (r->op != ADD && r->op != SUBTRACT) continue;
        const signed_node part[2] = {bare(g, r->a, whole.s),
                                     bare(g, r->b, r->op == ADD ? whole.s : -whole.s)};
        for (int k = 0; k < 2; ++k) {
            int i, j, there;
            const int what = row_of(other, part[k], &i, &j, &there);
            const node half = find(g, what, i, j, 0);
            if (half >= 0 && half != whole.x)
                return sum(g, half, there, part[1 - k].x, part[1 - k].s, 0);
        }
    }
    return signed_value(g, soai_make(g, op, a, b, 0), sign);
}
node soai_add(soa_scalar_graph *g, node x, node y) {
    return sum(g, x, 1, y, 1, 1);
}
node soai_subtract(soa_scalar_graph *g, node x, node y) {
    return sum(g, x, 1, y, -1, 1);
}

/* --- products and the rest -------------------------------------------------------------------- */
node soai_multiply(soa_scalar_graph *g, node x, node y) {
    if (soai_is(g, x, 0) || soai_is(g, y, 0)) return 0;
    if (soai_is(g, x, 1)) return y;
    if (soai_is(g, y, 1)) return x;
    if (soai_is(g, x, -1)) return soai_negate(g, y);
    if (soai_is(g, y, -1)) return soai_negate(g, x);
    if (both_constant(g, x, y))
        return x < y ? made_of(g, MULTIPLY, x, y, g->r[x].value * g->r[y].value)
                     : made_of(g, MULTIPLY, y, x, g->r[x].value * g->r[y].value);
    if (g->r[x].op == NEGATE) return soai_negate(g, soai_multiply(g, g->r[x].a, y));
    if (g->r[y].op == NEGATE) return soai_negate(g, soai_multiply(g, x, g->r[y].a));
    if (g->r[y].op == CONSTANT) {
        const node t = x;
        x = y;
        y = t;
    }
    if (g->r[x].op == CONSTANT) {
        if (g->r[x].value < 0 && !g->r[x].a)
            return soai_negate(g, soai_multiply(g, soai_negate(g, x), y));
        for (int k = 0; g->r[y].op == MULTIPLY && k < 2; ++k) { /* merge two constants */
            const node c = k ? g->r[y].b : g->r[y].a;
            const node rest = k ? g->r[y].a : g->r[y].b;
            if (g->r[c].op == CONSTANT) return soai_multiply(g, soai_multiply(g, x, c), rest);
        }
    }
    return x < y ? soai_make(g, MULTIPLY, x, y, 0) : soai_make(g, MULTIPLY, y, x, 0);
}
node soai_reciprocal(soa_scalar_graph *g, node x) {
    if (g->r[x].op == CONSTANT) {
        if (g->r[x].value == 0) g->singular = 1;
        return made_of(g, DIVIDE, x, x, 1 / g->r[x].value);
    }
    if (g->r[x].op == NEGATE) return soai_negate(g, soai_reciprocal(g, g->r[x].a));
    if (g->r[x].op == DIVIDE) return g->r[x].b; /* 1 / (1 / x): there are no other quotients */
    return soai_make(g, DIVIDE, soai_constant(g, 1), x, 0);
}
node soai_sine(soa_scalar_graph *g, node x) {
    if (g->r[x].op == CONSTANT) return soai_constant(g, sin(g->r[x].value));
    return g->r[x].op == NEGATE ? soai_negate(g, soai_make(g, SINE, g->r[x].a, 0, 0))
                                : soai_make(g, SINE, x, 0, 0);
}
node soai_cosine(soa_scalar_graph *g, node x) {
    if (g->r[x].op == CONSTANT) return soai_constant(g, cos(g->r[x].value));
    return soai_make(g, COSINE, g->r[x].op == NEGATE ? g->r[x].a : x, 0, 0);
}

node soai_square_root(soa_scalar_graph *g, node x) {
    if (g->r[x].op == CONSTANT && !g->r[x].a) return soai_constant(g, sqrt(g->r[x].value));
    return soai_make(g, SQUARE_ROOT, x, 0, 0);
}

/* --- the graph of an expression --------------------------------------------------------------- */
void soa_scalar_graph_free(soa_scalar_graph *g) {
    if (!g) return;
    free(g->r);
    free(g->bucket);
    free(g->body_of);
    free(g->out);
    free(g->needed);
    for (int i = 0; i < g->own_count; ++i)
        soa_expr_free(g->own[i]);
    free(g);
}
static soa_status refuse(char *message, size_t room, const char *why) {
    if (room) snprintf(message, room, "%s", why);
    return SOA_E_ARGUMENT;
}
/* x of inv(Mass) x, or NULL */
static const soa_expr *solved_for(const soa_expr *e) {
    if (e->kind != EXPR_PRODUCT || e->arg[0]->kind != EXPR_INVERSE) return NULL;
    const soa_expr *mass = e->arg[0]->arg[0];
    if (mass->kind != EXPR_LEAF || mass->leaf != LEAF_MASS) return NULL;
    const soa_expr **rest = soai_zeroed((size_t)e->count, sizeof *rest);
    for (int i = 1; rest && i < e->count; ++i)
        rest[i - 1] = soai_hold(e->arg[i]);
    const soa_expr *x = rest ? soai_nary(EXPR_PRODUCT, rest, e->count - 1) : NULL;
    free(rest);
    return x;
}
/* Marks the nodes that the result needs. */
static int mark(soa_scalar_graph *g) {
    g->needed = soai_zeroed((size_t)g->count + 1, 1);
    if (!g->needed) return 0;
    for (int i = 0; i < g->out_count; ++i)
        g->needed[g->out[i]] = 1;
    for (int i = g->count - 1; i >= 0; --i)
        if (g->needed[i] && g->r[i].op >= ADD) {
            g->needed[g->r[i].a] = 1;
            if (g->r[i].op <= DIVIDE) g->needed[g->r[i].b] = 1;
        }
    return 1;
}
soa_status soa_scalar_graph_create(soa_machine *machine, const soa_expr *expr,
                                   const soa_scalar_graph_options *options,
                                   soa_scalar_graph **graph, char *message, size_t room) {
    if (!message) room = 0;
    if (room) message[0] = 0;
    if (!machine || !expr || !graph) return SOA_E_ARGUMENT;
    soa_scalar_graph_options o =
        options ? *options : (soa_scalar_graph_options){.axes = SOA_AXES_BODY};
    if (o.axes != SOA_AXES_BODY && o.axes != SOA_AXES_WORLD) return SOA_E_ARGUMENT;
    if (machine->model->nb > MOST_BODIES) {
        if (room)
            snprintf(message, room,
                     "%d bodies: scalar operations are counted and printed for at most %d",
                     (int)machine->model->nb, (int)MOST_BODIES);
        return SOA_E_ARGUMENT;
    }
    const unsigned before = soai_refusals();
    const soa_expr *x = o.by_matrix ? solved_for(expr) : soai_hold(expr);
    if (!x && soai_refusals() != before) return SOA_E_MEMORY;
    if (!x)
        return refuse(message, room,
                      "by the mass matrix: the expression must be inv(Mass) times a vector");
    soa_plan *plan = NULL;
    soa_status s = soa_plan_create(machine, x, &plan, message, room);
    soa_expr_free(x);
    if (s) return s;
    soa_scalar_graph *g = soai_zeroed(1, sizeof *g);
    if (g) {
        *g = (soa_scalar_graph){.m = machine,
                                .options = o,
                                .out_count = machine->size[plan->values->v[plan->last].space]};
        g->bucket = malloc(BUCKETS * sizeof *g->bucket);
        g->body_of = soai_zeroed((size_t)machine->model->nb + 1, sizeof *g->body_of);
        g->out = soai_zeroed((size_t)g->out_count + 1, sizeof *g->out);
    }
    if (!g || !g->bucket || !g->body_of || !g->out) {
        s = SOA_E_MEMORY;
    } else {
        memset(g->bucket, 0xff, BUCKETS * sizeof *g->bucket);
        soai_constant(g, 0);
        if (!soai_graph_fill(g, plan, o.by_matrix, g->out))
            s = refuse(message, room,
                       "this plan has no scalar form: it takes an inverse of least norm, "
                       "derivatives, or numbers of "
                       "the caller in link or edge space to world axes");
        else if (g->singular)
            s = SOA_E_HINGE_SINGULAR;
        else if (g->failed || !mark(g))
            s = SOA_E_MEMORY;
    }
    soa_plan_free(plan);
    if (soai_refusals() != before) {
        if (room) message[0] = 0;
        s = SOA_E_MEMORY;
    }
    if (s)
        soa_scalar_graph_free(g);
    else
        *graph = g;
    return s;
}

const char *soa_scalar_graph_part_name(int part, const char **what) {
    static const char *const rows[][2] = {
#define SOAI_PART_ROW_(code, name, text) {name, text},
        SOAI_PARTS(SOAI_PART_ROW_)
#undef SOAI_PART_ROW_
    };
    if (part < 0 || part >= PART_COUNT) return NULL;
    if (what) *what = rows[part][1];
    return rows[part][0];
}
soa_status soa_scalar_graph_operations(const soa_scalar_graph *g, int body, int part,
                                       soa_count *count) {
    if (!g || !count || body < 0 || body > g->m->model->nb || part < -1 || part >= PART_COUNT)
        return SOA_E_ARGUMENT;
    *count = (soa_count){0};
    for (int i = 0; i < g->count; ++i) {
        const graph_row *r = g->r + i;
        if (!g->needed[i] || (body && r->body != body) || (part >= 0 && r->part != part)) continue;
        count->additions += r->op == ADD || r->op == SUBTRACT;
        count->multiplications += r->op == MULTIPLY;
        count->divisions += r->op == DIVIDE;
        count->sines += r->op == SINE || r->op == COSINE;
        count->roots += r->op == SQUARE_ROOT;
    }
    return SOA_OK;
}

soa_status soa_scalar_graph_emit_c(const soa_scalar_graph *g, const char *name, char **text,
                                   size_t *length) {
    if (!g || !name || !text || !length) return SOA_E_ARGUMENT;
    const size_t room = 4096 + strlen(name) + 128 * (size_t)g->own_count + 80 * (size_t)g->count +
                        80 * (size_t)g->out_count;
    size_t at = 0;
    char *s = malloc(room);
    if (!s) return SOA_E_MEMORY;
#define SAY(...) at += (size_t)snprintf(s + at, room - at, __VA_ARGS__)
    static const char *const arrays[] = {"q", "thd", "thdd", "T", "f0", "own"};
    SAY("#include <math.h>\n");
    for (int i = 0, from = 0; i < g->own_count; ++i) {
        const int size = (int)soai_graph_own_size(g, g->own[i]);
        SAY("/* own[%d] to own[%d]: %s */\n", from, from + size - 1, soai_leaf_name(g->own[i]));
        from += size;
    }
    SAY("void %s(const double *q, const double *thd, const double *thdd, const double *T, const "
        "double *f0, "
        "%sdouble *result) {\n"
        "    (void)q, (void)thd, (void)thdd, (void)T, (void)f0;\n",
        name, g->own_count ? "const double *own, " : "");
    for (int i = 0; i < g->count; ++i) {
        const graph_row *r = g->r + i;
        if (!g->needed[i]) continue;
        SAY("    const double x%d = ", i);
        switch (r->op) {
        case CONSTANT: SAY("%.17g;\n", r->value); break;
        case INPUT: SAY("%s[%d];\n", arrays[r->a], r->b); break;
        case NEGATE: SAY("-x%d;\n", r->a); break;
        case SINE: SAY("sin(x%d);\n", r->a); break;
        case COSINE: SAY("cos(x%d);\n", r->a); break;
        case SQUARE_ROOT: SAY("sqrt(x%d);\n", r->a); break;
        default: SAY("x%d %c x%d;\n", r->a, "+-*/"[r->op - ADD], r -> b);
        }
    }
    for (int i = 0; i < g->out_count; ++i)
        SAY("    result[%d] = x%d;\n", i, g->out[i]);
    SAY("}\n");
#undef SAY
    *text = s;
    *length = at;
    return SOA_OK;
}
