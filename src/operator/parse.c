/* parse.c  parses text into an expression:
 *   sum = term {(+|-) term};  term = {number} factor {factor};  factor = primary {'};
 *   primary = name | inv(sum) | (sum)
 * Every error is shown with a caret under its position. */
#include "expr.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXT = 20000, MOST_DEPTH = 200 };

typedef struct parser {
    const char *text, *at;
    const soa_variable *variables;
    int variable_count, depth, failed;
    char *message;
    size_t room;
} parser;

/* Writes the error, the text around it and a caret under its position. */
static const soa_expr *fail(parser *p, const char *where, const char *what) {
    if (p->failed++) return NULL;
    const size_t before = (size_t)(where - p->text), from = before > 60 ? before - 50 : 0;
    size_t column = 0;
    for (size_t i = from; i < before; ++i)
        column += ((unsigned char)p->text[i] & 0xc0) != 0x80; /* characters, not bytes */
    if (p->room)
        snprintf(p->message, p->room, "%s\n  %s%.100s\n  %*s^", what, from ? "..." : "",
                 p->text + from, (int)(column + (from ? 3 : 0)), "");
    return NULL;
}
static void space(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        ++p->at;
}

static const struct {
    const char *letter, *name;
} greek[] = {{"φ̃", "phit"},    {"ψ̃", "psit"},    {"Δ_φ", "Delta_phi"}, {"Δ_ψ", "Delta_psi"},
             {"E_φ", "E_phi"}, {"E_ψ", "E_psi"}, {"φ", "phi"},         {"ψ", "psi"},
             {"Φ", "Phi"},     {"Ψ", "Psi"},     {"α", "alpha"},       {NULL, NULL}};

static const soa_expr *sum(parser *p);

static int primary_follows(const parser *p) {
    return isalpha((unsigned char)*p->at) || *p->at == '(' || (unsigned char)*p->at >= 0x80;
}

static const soa_expr *name(parser *p) {
    char word[32];
    const char *start = p->at;
    size_t n = 0;
    for (int i = 0; greek[i].letter; ++i) {
        n = strlen(greek[i].letter);
        if (!strncmp(p->at, greek[i].letter, n)) {
            p->at += n;
            return soa_expr_leaf(greek[i].name);
        }
    }
    if ((unsigned char)*p->at >= 0x80) return fail(p, start, "this letter is not known here");
    n = 0;
    while (isalnum((unsigned char)*p->at) || *p->at == '_') {
        if (n + 1 < sizeof word) word[n++] = *p->at;
        ++p->at;
    }
    word[n] = 0;
    if (!strcmp(word, "I")) return soai_leaf_new(LEAF_ID, ANY);
    for (int i = 0; i < p->variable_count; ++i)
        if (!strcmp(word, p->variables[i].name)) {
            const soa_variable *v = p->variables + i;
            const soa_expr *own = v->from == SOA_SPACE_ONE
                                      ? soa_expr_variable(word, v->space)
                                      : soa_expr_operator(word, v->from, v->space);
            return own ? own : fail(p, start, "an own operator maps tip or base to tip or base");
        }
    const soa_expr *e = soa_expr_leaf(word);
    char text[160];
    snprintf(text, sizeof text, "'%s' is neither an operator nor a vector%s", word,
             p->variables ? " nor one of vars" : "; own vectors are given with their values");
    return e ? e : fail(p, start, text);
}

static const soa_expr *primary(parser *p) {
    const char *start = p->at;
    const int inverse =
        !strncmp(p->at, "inv", 3) && !isalnum((unsigned char)p->at[3]) && p->at[3] != '_';
    if (inverse) {
        p->at += 3;
        space(p);
    }
    if (*p->at == '(') {
        if (++p->depth > MOST_DEPTH)
            return fail(p, p->at, "parentheses nested too deeply (at most 200)");
        const char *open = p->at++;
        const soa_expr *e = sum(p);
        if (!e) return NULL;
        space(p);
        if (*p->at != ')') {
            soa_expr_free(e);
            return *p->at ? fail(p, p->at, "expected ')' or an operator here")
                          : fail(p, open, "this '(' is never closed");
        }
        ++p->at;
        --p->depth;
        if (!inverse) return e;
        char text[160];
        snprintf(text, sizeof text,
                 "only a map of a space to itself has an inverse; this one maps %s to %s",
                 soa_space_name((soa_space)e->from), soa_space_name((soa_space)e->to));
        e = soai_unary(EXPR_INVERSE, 1, e);
        return e ? e : fail(p, start, text);
    }
    if (inverse) return fail(p, p->at, "inv needs its argument in parentheses: inv(D)");
    if (!primary_follows(p))
        return fail(p, p->at,
                    *p->at ? "expected an operator, a vector, '(' or inv( here"
                           : "the expression ends too early");
    return name(p);
}

static const soa_expr *factor(parser *p) {
    const soa_expr *e = primary(p);
    for (space(p); e && (*p->at == '\'' || *p->at == '*'); space(p)) {
        if (*p->at == '*') { /* A* B is a product unless nothing follows */
            const char *star = p->at++;
            space(p);
            if (primary_follows(p) || isdigit((unsigned char)*p->at)) return e;
            p->at = star;
            soa_expr_free(e);
            return fail(p, star, "'*' stands between two factors; the adjoint is written '");
        }
        ++p->at;
        e = soai_unary(EXPR_ADJOINT, 1, e);
    }
    return e;
}

static const soa_expr *term(parser *p, double sign) {
    const soa_expr *product = NULL;
    double scale = sign;
    for (;;) {
        space(p);
        if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1]))) {
            char *end;
            scale *= strtod(p->at, &end);
            p->at = end;
            space(p);
            if (*p->at == '*') ++p->at;
            if (!product || primary_follows(p)) continue;
            break;
        }
        if (product && !primary_follows(p)) break;
        const char *start = p->at;
        const soa_expr *next = factor(p);
        if (!next) {
            soa_expr_free(product);
            return NULL;
        }
        char text[160];
        if (product)
            snprintf(text, sizeof text,
                     "the factor before this one takes %s, but this one gives %s",
                     soa_space_name((soa_space)product->from), soa_space_name((soa_space)next->to));
        product = product ? soai_two(EXPR_PRODUCT, product, next) : next;
        if (!product) return fail(p, start, text);
    }
    return soai_unary(EXPR_SCALE, scale, product);
}

static const soa_expr *sum(parser *p) {
    const soa_expr *total = NULL;
    for (;;) {
        space(p);
        double sign = 1;
        const char *start = p->at;
        if (*p->at == '+' || *p->at == '-')
            sign = *p->at++ == '-' ? -1 : 1;
        else if (total)
            return total;
        const soa_expr *next = term(p, sign);
        if (!next) {
            soa_expr_free(total);
            return NULL;
        }
        char text[200];
        if (total)
            snprintf(text, sizeof text,
                     "cannot be added: before it stands a map of %s to %s, this one maps %s to %s",
                     soa_space_name((soa_space)total->from), soa_space_name((soa_space)total->to),
                     soa_space_name((soa_space)next->from), soa_space_name((soa_space)next->to));
        total = total ? soai_two(EXPR_SUM, total, next) : next;
        if (!total) return fail(p, start, text);
    }
}

/* What to say of a letter that no rule takes; some are written so in other languages. */
static const char *misplaced(char letter) {
    if (letter == '@')
        return "a product has a blank between its factors, without a sign: inv(Mass) T";
    if (letter == '^' || letter == '.')
        return "the inverse is written inv(Mass), the adjoint phi', a product inv(Mass) T";
    return "this does not belong here";
}

/* Parses one side: text up to `end`; the space of an identity may stay open. */
static const soa_expr *side(const char *text, const char *end, const soa_variable *variables,
                            int variable_count, char *message, size_t room) {
    parser p = {.text = text,
                .at = text,
                .variables = variables,
                .variable_count = variable_count,
                .message = message,
                .room = room};
    const soa_expr *e = sum(&p);
    if (e && p.at != end) {
        soa_expr_free(e);
        return fail(&p, p.at, misplaced(*p.at));
    }
    return e;
}
static const soa_expr *open_space(const soa_expr *e, const char *text, char *message, size_t room) {
    parser p = {.text = text, .at = text, .message = message, .room = room};
    soa_expr_free(e);
    return fail(&p, text, "the space of I is not fixed by anything beside it");
}
static soa_status no_memory(char *message, size_t room) {
    if (room) snprintf(message, room, "out of memory");
    return SOA_E_MEMORY;
}
static int too_long(const char *text, char *message, size_t room) {
    if (room) message[0] = 0;
    if (strlen(text) <= MOST_TEXT) return 0;
    if (room) snprintf(message, room, "longer than %d characters", MOST_TEXT);
    return 1;
}

soa_status soa_expr_parse(const char *text, const soa_variable *variables, int variable_count,
                          const soa_expr **expr, char *message, size_t room) {
    if (!text || !expr || variable_count < 0 || (variable_count && !variables))
        return SOA_E_ARGUMENT;
    for (int i = 0; i < variable_count; ++i)
        if (!variables[i].name) return SOA_E_ARGUMENT;
    if (!message) room = 0;
    if (too_long(text, message, room)) return SOA_E_FORMAT;
    const unsigned before = soai_refusals();
    const soa_expr *e = side(text, text + strlen(text), variables, variable_count, message, room);
    if (!e) return soai_refusals() != before ? no_memory(message, room) : SOA_E_FORMAT;
    e = soai_settle(e, ANY, ANY);
    if (!e) return no_memory(message, room);
    if (e->from == ANY || e->to == ANY) {
        open_space(e, text, message, room);
        return SOA_E_FORMAT;
    }
    *expr = e;
    return SOA_OK;
}

soa_status soa_expr_parse_equation(const char *text, const soa_expr **left, const soa_expr **right,
                                   char *message, size_t room) {
    if (!text || !left || !right) return SOA_E_ARGUMENT;
    if (!message) room = 0;
    if (too_long(text, message, room)) return SOA_E_FORMAT;
    const unsigned before = soai_refusals();
    const char *equals = strchr(text, '=');
    if (!equals) {
        if (room) snprintf(message, room, "an identity has two sides: LEFT = RIGHT");
        return SOA_E_FORMAT;
    }
    const soa_expr *a = side(text, equals, NULL, 0, message, room);
    const soa_expr *b = a ? side(equals + 1, text + strlen(text), NULL, 0, message, room) : NULL;
    if (!b) {
        soa_expr_free(a);
        return soai_refusals() != before ? no_memory(message, room) : SOA_E_FORMAT;
    }
    const int from = a->from == ANY ? b->from : a->from;
    const int to = a->to == ANY ? b->to : a->to;
    if ((b->from != ANY && b->from != from) || (b->to != ANY && b->to != to)) {
        if (room)
            snprintf(message, room,
                     "the sides do not match: the left maps %s to %s, the right %s to %s",
                     soa_space_name((soa_space)a->from), soa_space_name((soa_space)a->to),
                     soa_space_name((soa_space)b->from), soa_space_name((soa_space)b->to));
        soa_expr_free(a);
        soa_expr_free(b);
        return SOA_E_FORMAT;
    }
    a = soai_settle(a, from, to);
    b = soai_settle(b, from, to);
    if (!a || !b) {
        soa_expr_free(a);
        soa_expr_free(b);
        return no_memory(message, room);
    }
    if (a->from == ANY || b->from == ANY) {
        soa_expr_free(b);
        open_space(a, text, message, room);
        return SOA_E_FORMAT;
    }
    *left = a;
    *right = b;
    return SOA_OK;
}
