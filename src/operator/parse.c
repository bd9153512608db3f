/* parse.c  parses text into an expression:
 *   sum = term {(+|-) term};  term = {number} factor {[*] factor};
 *   factor = primary {adjoint | inverse};
 *   primary = name | inv(sum) | pinv(sum) | sqrt(sum) | (sum) | at(link) | phi(link, link) |
 *             psi(link, link);  0 alone is the zero operator
 * The adjoint is written ' or as in the papers: ^T, ^*, a raised T, or a star that touches the
 * factor before it and not the one after it (phi* H*). The inverse: inv(...), ^-1, or raised -1.
 * Every error is shown with a caret under its position. */
#include "../base/nearest.h"
#include "expr.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXT = 20000, MOST_DEPTH = 200, MOST_DECLARED = 32, NAME_ROOM = 32 };

typedef struct parser {
    const char *text, *at;
    const soa_variable *variables;
    int variable_count, depth, failed;
    soa_variable declared[MOST_DECLARED];
    char names[MOST_DECLARED][NAME_ROOM];
    int declared_count;
    char *message;
    size_t room;
} parser;

static int blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
/* Bytes of a UTF-8 character after its first one. */
static int continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}
/* Combining marks, U+0300 to U+036F, are drawn over the letter before them. */
static int combining(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    return c[0] == 0xcc || (c[0] == 0xcd && c[1] < 0xb0);
}
/* Writes the error, the text around it and a caret under its position. */
static const soa_expr *fail(parser *p, const char *where, const char *what) {
    enum { BEFORE = 50, SHOWN = 100 };
    if (p->failed++) return NULL;
    const char *from = where - p->text > BEFORE + 10 ? where - BEFORE : p->text;
    while (from < where && continues(*from))
        ++from;
    int column = from > p->text ? 3 : 0;
    for (const char *c = from; c < where; ++c)
        column += !continues(*c) && !combining(c);
    char shown[SHOWN + 1];
    int length = 0;
    for (; length < SHOWN && from[length]; ++length) /* one line, one column each */
        shown[length] = blank(from[length]) ? ' ' : from[length];
    while (length > 0 && continues(from[length]))
        --length;
    if (p->room)
        snprintf(p->message, p->room, "%s\n  %s%.*s\n  %*s^", what, from > p->text ? "..." : "",
                 length, shown, column, "");
    return NULL;
}
static void space(parser *p) {
    while (blank(*p->at))
        ++p->at;
}
/* Length of `sign` if the text begins with it, else 0. */
static size_t begins(const char *text, const char *sign) {
    const size_t n = strlen(sign);
    return strncmp(text, sign, n) ? 0 : n;
}

/* --- names ------------------------------------------------------------------------------------ */
/* Greek and script letters, and the marks over them, as they are spelt in names. */
static const struct {
    const char *letter, *latin;
} greek[] = {{"α", "alpha"},   {"β", "beta"},   {"γ", "gamma"}, {"δ", "delta"}, {"ε", "epsilon"},
             {"ϵ", "epsilon"}, {"ζ", "zeta"},   {"η", "eta"},   {"θ", "theta"}, {"κ", "kappa"},
             {"λ", "lambda"},  {"μ", "mu"},     {"ν", "nu"},    {"ξ", "xi"},    {"π", "pi"},
             {"ρ", "rho"},     {"σ", "sigma"},  {"τ", "tau"},   {"φ", "phi"},   {"ϕ", "phi"},
             {"χ", "chi"},     {"ψ", "psi"},    {"ω", "omega"}, {"Γ", "Gamma"}, {"Δ", "Delta"},
             {"Θ", "Theta"},   {"Λ", "Lambda"}, {"Ξ", "Xi"},    {"Π", "Pi"},    {"Σ", "Sigma"},
             {"Φ", "Phi"},     {"Ψ", "Psi"},    {"Ω", "Omega"}, {"ℳ", "Mass"},  {"𝓜", "Mass"},
             {"ℰ", "E"},       {"𝓔", "E"},      {NULL, NULL}},
  marks[] = {{"\xcc\x83", "t"}, {"\xcc\x87", "d"}, {"\xcc\x88", "dd"}, {NULL, NULL}},
  /* other spellings of the leaves */
    aliases[] = {{"thetad", "thd"}, {"thetadd", "thdd"}, {"qd", "thd"}, {"qdd", "thdd"},
                 {"tau", "T"},      {"Gamma", "Eq"},     {NULL, NULL}};

static size_t greek_letter(const char *at, const char **latin) {
    for (int i = 0; greek[i].letter; ++i) {
        *latin = greek[i].latin;
        const size_t n = begins(at, greek[i].letter);
        if (n) return n;
    }
    return 0;
}
static void append(char *word, size_t room, const char *text, size_t n) {
    const size_t at = strlen(word);
    if (at + n < room) {
        memcpy(word + at, text, n);
        word[at + n] = 0;
    }
}
/* Reads a name: letters, digits and _ , or a Greek letter; after _ a Greek letter may follow too.
 * Two letters side by side of which one is Greek are a product, as in the papers: Hφ. */
static void read_word(parser *p, char *word, size_t room) {
    const char *latin;
    size_t n = greek_letter(p->at, &latin);
    int latin_too = !n;
    word[0] = 0;
    if (n) {
        append(word, room, latin, strlen(latin));
        p->at += n;
    }
    for (;;) {
        int marked = 0;
        for (int i = 0; marks[i].letter; ++i)
            if ((n = begins(p->at, marks[i].letter)) != 0) {
                append(word, room, marks[i].latin, strlen(marks[i].latin));
                p->at += n;
                marked = 1;
            }
        if (marked) continue;
        if (*p->at == '_' || (latin_too && isalnum((unsigned char)*p->at))) {
            latin_too = 1;
            append(word, room, p->at, 1);
            ++p->at;
            if (p->at[-1] != '_' || !(n = greek_letter(p->at, &latin))) continue;
            append(word, room, latin, strlen(latin));
            p->at += n;
            latin_too = 0;
            continue;
        }
        return;
    }
}

static const soa_expr *sum(parser *p);
static const soa_expr *inverse_of(parser *p, const char *where, const soa_expr *e);

static int primary_follows(const parser *p) {
    return isalpha((unsigned char)*p->at) || *p->at == '(' || (unsigned char)*p->at >= 0x80;
}

/* An unknown name: says which known one is closest. */
static const soa_expr *unknown(parser *p, const char *start, const char *word) {
    char hint[SOAI_HINT], text[SOAI_HINT + 200];
    const char *known;
    soai_nearest search = soai_nearest_to(word);
    for (int i = 0; (known = soa_expr_leaf_name(i, NULL)) != NULL; ++i)
        soai_nearest_try(&search, known);
    for (int i = 0; (known = soa_expr_form_name(i, NULL, NULL)) != NULL; ++i)
        soai_nearest_try(&search, known);
    for (int i = 0; i < p->variable_count; ++i)
        soai_nearest_try(&search, p->variables[i].name);
    soai_nearest_hint(&search, hint);
    const char *more =
        p->variables ? " nor one of vars" : "; own vectors are given with their values";
    snprintf(text, sizeof text, "'%s' is neither an operator nor a vector%s%s", word, more, hint);
    return fail(p, start, text);
}
static const soa_expr *of_caller(parser *p, const char *start, const soa_variable *v) {
    const soa_expr *own = NULL;
    if (!v->blocks)
        own = v->from == SOA_SPACE_ONE ? soa_expr_variable(v->name, v->space)
                                       : soa_expr_operator(v->name, v->from, v->space);
    else if (v->from == v->space)
        own = soa_expr_blocks(v->name, v->space);
    if (own) return own;
    return fail(p, start, "an operator with blocks maps joint, link or edge to itself");
}
static const soa_expr *name(parser *p) {
    char word[40];
    const char *start = p->at;
    read_word(p, word, sizeof word);
    if (p->at == start) return fail(p, start, "this letter is not known here");
    const size_t length = (size_t)(p->at - start),
                 plus = strcmp(word, "P") ? 0 : begins(p->at, "⁺");
    if (plus) {
        p->at += plus;
        return soai_leaf_new(LEAF_PPLUS, ANY);
    }
    for (int i = 0; i < p->declared_count; ++i)
        if (!strcmp(word, p->names[i])) return of_caller(p, start, p->declared + i);
    for (int i = 0; i < p->variable_count; ++i) { /* as spelt here, or with Greek letters */
        const char *own = p->variables[i].name;
        if (!strcmp(word, own) || (strlen(own) == length && !memcmp(own, start, length)))
            return of_caller(p, start, p->variables + i);
    }
    if (!strcmp(word, "I")) return soai_leaf_new(LEAF_ID, ANY);
    const soa_expr *e = soa_expr_leaf(word);
    for (int i = 0; !e && aliases[i].letter; ++i)
        if (!strcmp(word, aliases[i].letter)) e = soa_expr_leaf(aliases[i].latin);
    if (!e) soa_expr_from_form(word, &e);
    return e ? e : unknown(p, start, word);
}

/* --- blocks by the names of their links: at(i), phi(i, j), psi(i, j) -------------------------- */
/* The name of a link up to a comma or parenthesis, which `end` must be; NULL if it is too long. */
static const soa_expr *link_name(parser *p, char end) {
    char word[MOST_LEAF_NAME];
    size_t n = 0;
    space(p);
    const char *start = p->at;
    while (*p->at && *p->at != ',' && *p->at != ')' && *p->at != '(') {
        if (n + 1 < sizeof word) word[n] = *p->at;
        ++n;
        ++p->at;
    }
    while (n && (unsigned char)start[n - 1] <= ' ')
        --n;
    if (*p->at != end)
        return fail(p, p->at,
                    end == ',' ? "expected a comma and a second link here"
                               : "expected ')' after the name of a link");
    if (!n) return fail(p, start, "the name of a link is wanted here");
    if (n >= sizeof word) return fail(p, start, "names of links have at most 63 bytes here");
    word[n] = 0;
    ++p->at;
    return soai_at_new(word);
}
/* Length of a name in front of `(i, j)`: a comma at this depth tells a block from a product. */
static int names_block(const char *at, const char *word) {
    const size_t n = strlen(word);
    int depth = 0;
    if (strncmp(at, word, n) || at[n] != '(') return 0;
    for (const char *c = at + n; *c; ++c) {
        depth += *c == '(';
        depth -= *c == ')';
        if (depth == 1 && *c == ',') return (int)n;
        if (depth == 0) return 0;
    }
    return 0;
}
/* at(i), phi(i, j) or psi(i, j), if that is next; *is tells. */
static const soa_expr *block(parser *p, int *is) {
    static const struct {
        const char *text;
        int leaf;
    } names[] = {
        {"phi", LEAF_PHI}, {"psi", LEAF_PSI}, {"\xcf\x86", LEAF_PHI}, {"\xcf\x88", LEAF_PSI}};
    *is = 0;
    if (!strncmp(p->at, "at(", 3)) {
        *is = 1;
        p->at += 3;
        return link_name(p, ')');
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const int n = names_block(p->at, names[i].text);
        if (!n) continue;
        *is = 1;
        p->at += n + 1;
        const soa_expr *row = link_name(p, ',');
        const soa_expr *column = row ? link_name(p, ')') : NULL;
        const soa_expr *args[3] = {row, soai_leaf_new(names[i].leaf, ANY), column};
        return soai_nary(EXPR_PRODUCT, args, 3);
    }
    return NULL;
}

/* inv, pinv, cross, bar, sqrt and d of a sum in parentheses */
static const struct {
    const char *text;
    expr_kind kind;
} functions[] = {{"inv", EXPR_INVERSE}, {"pinv", EXPR_PSEUDO}, {"cross", EXPR_CROSS},
                 {"bar", EXPR_BAR},     {"sqrt", EXPR_LEAF},   {"d", EXPR_LEAF}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
static int function_at(const char *at) {
    for (int i = 0; i < FUNCTIONS; ++i) {
        const size_t n = strlen(functions[i].text);
        const int own = functions[i].kind == EXPR_CROSS || functions[i].kind == EXPR_BAR || n == 1;
        if (strncmp(at, functions[i].text, n) != 0) continue;
        if (own && at[n] != '(') continue; /* a name of the caller */
        if (!isalnum((unsigned char)at[n]) && at[n] != '_') return i;
    }
    return -1;
}
/* cross(e), bar(e) or d(e), which take e. */
static const soa_expr *of_vector(parser *p, const char *start, expr_kind kind, const soa_expr *e) {
    const soa_expr *made = soai_unary(kind, 1, soai_settle(e, SOA_SPACE_ONE, SOA_SPACE_LINK));
    if (made) return made;
    return fail(p, start,
                kind == EXPR_CROSS ? "cross(x) needs a link vector x"
                                   : "bar(f) needs a link vector f");
}
static const soa_expr *derivative(parser *p, const char *start, const soa_expr *e) {
    const soa_expr *settled = soai_settle(e, ANY, ANY), *made = NULL;
    const soa_status s = soa_expr_differentiate(settled, NULL, NULL, &made);
    char text[160] = "the space of I is not fixed by anything beside it";
    const char *what = settled ? soai_undifferentiable(settled) : NULL;
    if (settled && soai_too_large(settled))
        snprintf(text, sizeof text, "this has too many operators to be differentiated");
    if (what)
        snprintf(text, sizeof text, "'%s' cannot be differentiated: %s", what,
                 soai_is_direction(what)
                     ? "it belongs to a derivative, and there are no second ones"
                     : "no rule is known");
    soa_expr_free(settled);
    return s == SOA_OK ? made : fail(p, start, text);
}
/* The function of e, which it takes. */
static const soa_expr *applied(parser *p, const char *start, int function, const soa_expr *e) {
    if (functions[function].kind == EXPR_INVERSE) return inverse_of(p, start, e);
    if (functions[function].kind == EXPR_PSEUDO) return soai_unary(EXPR_PSEUDO, 1, e);
    if (functions[function].kind != EXPR_LEAF)
        return of_vector(p, start, functions[function].kind, e);
    if (!strcmp(functions[function].text, "d")) return derivative(p, start, e);
    const int known = e->kind == EXPR_LEAF && e->leaf == LEAF_DIAG;
    soa_expr_free(e);
    return known ? soai_leaf_new(LEAF_ROOT, ANY)
                 : fail(p, start, "only D has a root here: sqrt(D), inv(sqrt(D))");
}

static const soa_expr *primary(parser *p) {
    const char *start = p->at;
    int is_block;
    const soa_expr *link = block(p, &is_block);
    if (is_block) return link;
    const int function = function_at(p->at);
    if (function >= 0) {
        p->at += strlen(functions[function].text);
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
        if (function < 0) return e;
        return applied(p, start, function, e);
    }
    if (function >= 0) {
        char text[80];
        snprintf(text, sizeof text, "%s needs its argument in parentheses: %s(D)",
                 functions[function].text, functions[function].text);
        return fail(p, p->at, text);
    }
    if (!primary_follows(p))
        return fail(p, p->at,
                    *p->at ? "expected an operator, a vector, '(' or inv( here"
                           : "the expression ends too early");
    return name(p);
}

/* --- adjoints and inverses after a factor ----------------------------------------------------- */
enum { NOTHING, ADJOINT = 1, INVERSE = 2 }; /* both: the inverse of the adjoint */

/* The sign of an adjoint or inverse at `at`, its length in *length. */
static int sign_of(const char *at, size_t *length) {
    static const struct {
        const char *text;
        int means;
    } signs[] = {{"'", ADJOINT},
                 {"’", ADJOINT},
                 {"′", ADJOINT},
                 {"ᵀ", ADJOINT},
                 {"⁻¹", INVERSE},
                 {"⁻ᵀ", ADJOINT | INVERSE},
                 {"^T", ADJOINT},
                 {"^*", ADJOINT},
                 {"^{T}", ADJOINT},
                 {"^{*}", ADJOINT},
                 {"^-1", INVERSE},
                 {"^{-1}", INVERSE},
                 {"^(-1)", INVERSE},
                 {"^-T", ADJOINT | INVERSE},
                 {"^{-T}", ADJOINT | INVERSE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
        *length = begins(at, signs[i].text);
        const char last = *length ? at[*length - 1] : 0;
        const char next = at[*length];
        if (*length &&
            !(isalnum((unsigned char)last) && (isalnum((unsigned char)next) || next == '_')))
            return signs[i].means;
    }
    return NOTHING;
}
/* A star is an adjoint if it touches the factor before it and nothing after it begins a factor. */
static size_t star(const char *at) {
    return *at == '*' ? 1 : begins(at, "∗");
}
static int begins_factor(const char *at) {
    size_t n;
    if (star(at) || sign_of(at, &n)) return 0;
    return isalnum((unsigned char)*at) || *at == '(' || *at == '.' || (unsigned char)*at >= 0x80;
}
static const soa_expr *inverse_of(parser *p, const char *where, const soa_expr *e) {
    char text[160];
    snprintf(text, sizeof text,
             "only a map of a space to itself has an inverse; this one maps %s to %s",
             soa_space_name((soa_space)e->from), soa_space_name((soa_space)e->to));
    e = soai_unary(EXPR_INVERSE, 1, e);
    return e ? e : fail(p, where, text);
}
static const soa_expr *factor(parser *p) {
    const char *start = p->at;
    const soa_expr *e = primary(p);
    while (e) {
        const char *touching = p->at;
        space(p);
        size_t n;
        int means = sign_of(p->at, &n);
        if (!means && star(p->at)) {
            n = star(p->at);
            if (p->at == touching && !begins_factor(p->at + n)) {
                means = ADJOINT;
            } else { /* a product */
                const char *where = p->at;
                const int touches_both = where == touching && begins_factor(where + n);
                p->at += n;
                space(p);
                if (!touches_both && begins_factor(p->at)) return e;
                soa_expr_free(e);
                return fail(p, where,
                            touches_both
                                ? "A*B could mean two things: the product is A B or A * B, the "
                                  "adjoint before a factor A* B or A' B"
                                : "'*' stands between two factors, or touches the one whose "
                                  "adjoint it means; the adjoint is also written '");
            }
        }
        if (!means) return e;
        p->at += n;
        if (means & ADJOINT) e = soai_unary(EXPR_ADJOINT, 1, e);
        if (e && means & INVERSE) e = inverse_of(p, start, e);
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
            if (!product && scale == 0 && !primary_follows(p) && !isdigit((unsigned char)*p->at))
                return soai_zero_new(ANY, ANY);
            if (!product || primary_follows(p)) continue;
            break;
        }
        if (product && !primary_follows(p)) break;
        const char *start = p->at;
        const soa_expr *next = factor(p);
        if (!next || (product && (soai_is_zero(next) || soai_is_zero(product)))) {
            soa_expr_free(product);
            if (!next) return NULL;
            soa_expr_free(next);
            return fail(p, start, "0 is a term by itself, or a number before a factor: 0 H");
        }
        char text[240];
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
        return "the inverse is written inv(Mass) or Mass^-1, the adjoint phi' or phi^T, a product "
               "inv(Mass) T";
    return "this does not belong here";
}

/* --- declarations: x: joint, A: tip>base, r: link blocks; --------------------------------------- */
static soa_space read_space(parser *p) {
    space(p);
    for (int i = SOA_SPACE_JOINT; i < SOA_SPACE_COUNT; ++i) {
        const size_t n = begins(p->at, soa_space_name((soa_space)i));
        if (!n || isalnum((unsigned char)p->at[n])) continue;
        p->at += n;
        space(p);
        return (soa_space)i;
    }
    fail(p, p->at, "a space is wanted here: joint, link, edge, tip or base");
    return SOA_SPACE_COUNT;
}
/* One letter; 0 after a mistake. */
static int declare(parser *p) {
    const char *start;
    space(p);
    start = p->at;
    if (p->declared_count == MOST_DECLARED) return !!fail(p, start, "at most 32 letters");
    char *letter = p->names[p->declared_count];
    if (primary_follows(p)) read_word(p, letter, NAME_ROOM);
    space(p);
    if (p->at == start || *p->at != ':')
        return !!fail(p, p->at, "a letter is declared as x: joint");
    ++p->at;
    soa_variable *v = p->declared + p->declared_count;
    *v = (soa_variable){.name = letter, .space = read_space(p)};
    const size_t arrow = *p->at == '>' ? 1 : begins(p->at, "->");
    if (arrow && !p->failed) {
        p->at += arrow;
        v->from = v->space;
        v->space = read_space(p);
    }
    const size_t blocks = p->failed ? 0 : begins(p->at, "blocks");
    if (blocks) {
        v->blocks = true;
        if (!arrow) v->from = v->space;
        p->at += blocks;
        space(p);
    }
    ++p->declared_count;
    return !p->failed;
}
/* Reads the declarations, if there are any; 0 after a mistake. */
static int declarations(parser *p) {
    if (!strchr(p->text, ':')) return 1;
    while (declare(p)) {
        if (*p->at == ';') {
            ++p->at;
            return 1;
        }
        if (*p->at != ',') return !!fail(p, p->at, "expected ',' or ';' after the letter");
        ++p->at;
    }
    return 0;
}

static parser parser_of(const char *text, const soa_variable *variables, int variable_count,
                        char *message, size_t room) {
    return (parser){.text = text,
                    .at = text,
                    .variables = variables,
                    .variable_count = variable_count,
                    .message = message,
                    .room = room};
}
/* Parses one side, up to `end`; the space of an identity may stay open. */
static const soa_expr *side(parser *p, const char *end) {
    const soa_expr *e = sum(p);
    if (e && p->at != end) {
        soa_expr_free(e);
        return fail(p, p->at, misplaced(*p->at));
    }
    return e;
}
static const soa_expr *open_space(const soa_expr *e, const char *text, char *message, size_t room) {
    parser p = {.text = text, .at = text, .message = message, .room = room};
    soa_expr_free(e);
    return fail(&p, text, "the space of I or 0 is not fixed by anything beside it");
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

static int fit(const soa_variable *variables, int count) {
    int fine = count == 0 || (count > 0 && variables);
    for (int i = 0; fine && i < count; ++i)
        fine = variables[i].name != NULL;
    return fine;
}
soa_status soa_expr_parse(const char *text, const soa_variable *variables, int variable_count,
                          const soa_expr **expr, char *message, size_t room) {
    if (!text || !expr || !fit(variables, variable_count)) return SOA_E_ARGUMENT;
    if (!message) room = 0;
    if (too_long(text, message, room)) return SOA_E_FORMAT;
    const unsigned before = soai_refusals();
    parser p = parser_of(text, variables, variable_count, message, room);
    const soa_expr *e = declarations(&p) ? side(&p, text + strlen(text)) : NULL;
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

soa_status soa_expr_parse_equation(const char *text, const soa_variable *variables,
                                   int variable_count, const soa_expr **left,
                                   const soa_expr **right, char *message, size_t room) {
    if (!text || !left || !right || !fit(variables, variable_count)) return SOA_E_ARGUMENT;
    if (!message) room = 0;
    if (too_long(text, message, room)) return SOA_E_FORMAT;
    const unsigned before = soai_refusals();
    parser p = parser_of(text, variables, variable_count, message, room);
    if (!declarations(&p)) return SOA_E_FORMAT;
    const char *equals = strchr(p.at, '=');
    if (!equals) {
        if (room) snprintf(message, room, "an identity has two sides: LEFT = RIGHT");
        return SOA_E_FORMAT;
    }
    const soa_expr *a = side(&p, equals);
    p.text = p.at = equals + 1;
    const soa_expr *b = a ? side(&p, text + strlen(text)) : NULL;
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
    if (a->from == ANY || b->from == ANY || a->to == ANY || b->to == ANY) {
        soa_expr_free(b);
        open_space(a, text, message, room);
        return SOA_E_FORMAT;
    }
    *left = a;
    *right = b;
    return SOA_OK;
}
