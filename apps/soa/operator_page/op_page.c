/* op_page.c  writes the teaching page of an operator expression.
 *
 * In this order: the expression with its types, how it was rewritten, its sweeps along the bodies,
 * its cost and results, the patterns of its factors, and for forward dynamics R87's filter and
 * smoother. An operator is shown applied to a vector of its space. The limits MOST_* bound the page
 * for any input: sweeps and lines beyond them are counted, not shown. */
#include "op_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TEXT = 1 << 18, /* expression or plan as text */
    MOST_NODES = 400,    /* nodes of the typed expression */
    MOST_FORMS = 40,     /* forms of the derivation */
    MOST_FORM = 2000,    /* characters of one form */
    MOST_SWEEPS = 24,    /* sweeps drawn */
    MOST_LINES = 60,     /* lines of one sweep */
    MOST_FACTORS = 28,   /* factors with a pattern */
    MOST_NUMBERS = 64,   /* rows of a result */
    /* Bodies for which operations are counted; the time grows with their square. */
    MOST_COUNTED = 1000,
    MOST_PAGE = 1500000, /* bytes; beyond this no more patterns */
    MOST_BODIES = 64,    /* up to this many bodies, all are named; */
    FEW_BODIES = 12,     /* of more, only this many */
    MOST_PROOF = 2000    /* characters of what is compared with FD1 */
};

static const char *const ways[] = {"memoryless", "causal", "anticausal", "mixed"};

typedef struct writing {
    app_out *out;
    const op_page *page;
    /* The operator or vector as parsed; the vector as planned. */
    const soa_expr *given, *better;
    /* given, applied to a vector if it is an operator. */
    const soa_expr *vector;
    const char *applied; /* name of that vector, or NULL */
    soa_plan *plan;
    svg_tree *tree;
    char *text; /* MOST_TEXT bytes */
    int nodes, forms;
    const soa_expr *factors[MOST_FACTORS];
    char *factor_text[MOST_FACTORS];
    int factor_count, factors_left;
} writing;

/* --- the expression with its types ------------------------------------------------------------ */
static void put_typed(writing *w, const soa_expr *e, int boxed);
/* Spaces from and to of e, or of its adjoint. */
static void put_type(app_out *out, const soa_expr *e, int turned) {
    const soa_space to = turned ? soa_expr_domain(e) : soa_expr_codomain(e);
    const soa_space from = turned ? soa_expr_codomain(e) : soa_expr_domain(e);
    if (from == SOA_SPACE_ONE)
        out_format(out, "<small>%s</small>", soa_space_name(to));
    else
        out_format(out, "<small>%s←%s</small>", soa_space_name(to), soa_space_name(from));
}
static soa_causality turned_way(soa_causality way, int turned) {
    if (!turned) return way;
    if (way == SOA_CAUSAL) return SOA_ANTICAUSAL;
    if (way == SOA_ANTICAUSAL) return SOA_CAUSAL;
    return way;
}
static void put_leaf(writing *w, const soa_expr *e, const char *name, int turned) {
    out_format(w->out, "<span class=\"leaf %s\"><span class=\"math\">",
               soa_expr_domain(e) == SOA_SPACE_ONE
                   ? "vector"
                   : ways[turned_way(soa_expr_causality(e), turned)]);
    html_math(w->out, name, 0);
    out_text(w->out, turned ? "<sup>*</sup></span>" : "</span>");
    put_type(w->out, e, turned);
    out_text(w->out, "</span>");
}
static void put_box(writing *w, const soa_expr *e, const char *power, const soa_expr *inside) {
    out_text(w->out, "<span class=\"box\">");
    put_typed(w, inside, 0);
    if (power) out_format(w->out, "<span class=\"power\">%s</span>", power);
    put_type(w->out, e, 0);
    out_text(w->out, "</span>");
}
static void put_typed(writing *w, const soa_expr *e, int boxed) {
    soa_expr_info info, inner;
    if (++w->nodes > MOST_NODES || soa_expr_get_info(e, &info) != SOA_OK) {
        if (w->nodes == MOST_NODES + 1) out_text(w->out, "<span class=\"sign\">…</span>");
        return;
    }
    const soa_expr *part = soa_expr_part(e, 0);
    switch (info.kind) {
    case SOA_EXPR_LEAF: put_leaf(w, e, info.name, 0); return;
    case SOA_EXPR_ADJOINT:
        if (soa_expr_get_info(part, &inner) == SOA_OK && inner.kind == SOA_EXPR_LEAF)
            put_leaf(w, part, inner.name, 1);
        else
            put_box(w, e, "*", part);
        return;
    case SOA_EXPR_INVERSE: put_box(w, e, "−1", part); return;
    case SOA_EXPR_PSEUDOINVERSE: put_box(w, e, "+", part); return;
    case SOA_EXPR_CROSS: put_box(w, e, "×", part); return;
    case SOA_EXPR_BAR: put_box(w, e, "bar", part); return;
    case SOA_EXPR_SCALE:
        out_format(w->out,
                   info.factor == -1 ? "<span class=\"sign\">−</span>"
                                     : "<span class=\"sign\">%g</span>",
                   info.factor);
        put_typed(w, part, 1);
        return;
    default: break;
    }
    if (boxed && info.kind == SOA_EXPR_SUM) {
        put_box(w, e, NULL, e);
        return;
    }
    for (int i = 0; i < info.count; ++i) {
        part = soa_expr_part(e, i);
        const int minus = soa_expr_get_info(part, &inner) == SOA_OK &&
                          inner.kind == SOA_EXPR_SCALE && inner.factor < 0;
        if (info.kind == SOA_EXPR_SUM && i > 0 && !minus)
            out_text(w->out, "<span class=\"sign\">+</span>");
        put_typed(w, part, info.kind == SOA_EXPR_PRODUCT);
    }
}

/* --- the derivation --------------------------------------------------------------------------- */
static void put_form(void *user, const char *rule, const char *result) {
    writing *w = user;
    if (++w->forms > MOST_FORMS) return;
    char *form = malloc(MOST_FORM + 8);
    if (!form) {
        w->out->error = ENOMEM;
        return;
    }
    snprintf(form, MOST_FORM + 8, "%.*s%s", MOST_FORM, result,
             strlen(result) > MOST_FORM ? " ..." : "");
    const int given = !strcmp(rule, "given");
    out_format(w->out, "<li class=\"math\">%s", given ? "" : "= ");
    html_math(w->out, form, 0);
    if (!given) {
        out_text(w->out, "<em data-rule>");
        out_html(w->out, rule);
        out_text(w->out, "</em>");
    }
    out_text(w->out, "</li>\n");
    free(form);
}
/* If memory is short, no page is written rather than an incomplete one. */
static void need_memory(writing *w, soa_status s) {
    if (s == SOA_E_MEMORY) w->out->error = ENOMEM;
}
static void put_derivation(writing *w) {
    out_text(w->out, "<h2>As rewritten</h2>\n");
    if (w->page->as_written) {
        out_text(w->out, "<p>Kept as written (--as-written).</p>\n");
        return;
    }
    out_text(w->out, "<ol class=\"forms\">\n");
    const soa_expr *better = NULL;
    const soa_status s = soa_expr_improve(w->vector, 0, put_form, w, &better);
    need_memory(w, s);
    if (s == SOA_OK) {
        soa_expr_free(w->better);
        w->better = better;
    }
    out_text(w->out, "</ol>\n");
    if (w->forms > MOST_FORMS)
        out_format(w->out, "<p class=\"note\">%d more forms on the way: soa op --derive.</p>\n",
                   w->forms - MOST_FORMS);
    out_text(
        w->out,
        w->forms <= 1
            ? "<p>No cheaper form was found: it runs as written.</p>\n"
            : "<p class=\"note\">Cost is sweeps, then recursions, then steps; each line names the "
              "identity that led to it.</p>\n");
}

/* --- the sweeps ------------------------------------------------------------------------------- */
typedef struct sweep_list {
    soa_plan_step *step;
    size_t count, room;
    int failed;
} sweep_list;
static void keep_step(void *user, const soa_plan_step *step) {
    sweep_list *l = user;
    if (l->count == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        soa_plan_step *grown = l->failed ? NULL : realloc(l->step, room * sizeof *grown);
        if (!grown) {
            l->failed = 1;
            return;
        }
        l->step = grown;
        l->room = room;
    }
    l->step[l->count++] = *step;
}
static void put_line(app_out *out, const soa_plan_step *s) {
    char right[sizeof s->right];
    snprintf(right, sizeof right, "%s", s->right);
    char *remark = strstr(right, "   ");
    out_format(out, "<tr%s><td>", s->runs != SOA_MEMORYLESS ? " class=\"run\"" : "");
    html_math(out, s->left, 1);
    out_text(out, "</td><td>= ");
    if (remark) *remark = 0;
    if (s->way == SOA_MEMORYLESS) /* dense: in words */
        out_html(out, right);
    else
        html_math(out, right, 1);
    if (remark) {
        out_text(out, " <em>");
        out_html(out, remark + 1 + strspn(remark + 1, " "));
        out_text(out, "</em>");
    }
    out_text(out, "</td></tr>\n");
}
/* What comes before the first sweep. */
static const char *first_title(const soa_plan_step *s) {
    if (s->sweep == -2) return "articulated inertias";
    if (s->sweep == -1) return "composite inertias";
    if (s->sweep == 0) return "no sweep";
    return s->runs == SOA_MEMORYLESS ? "roots of D" : "costate covariance";
}
/* Was the factor of step i named by an earlier one of the sweep?  A recursion is named besides what
 * is done at each body. */
static int is_named_before(const soa_plan_step *s, size_t i) {
    int named = 0;
    for (size_t j = 0; j < i; ++j)
        if (!strcmp(s[j].factor, s[i].factor))
            named |= s[j].runs == s[i].runs || s[j].runs != SOA_MEMORYLESS;
    return named;
}
static void put_sweep(writing *w, const soa_plan_step *s, size_t count) {
    app_out *out = w->out;
    svg_sweep picture = {.way = SOA_MEMORYLESS};
    for (size_t i = 0; i < count; ++i) {
        if (s[i].way == SOA_MEMORYLESS) continue;
        picture.way = s[i].way;
        if (s[i].runs == SOA_MEMORYLESS) {
            ++picture.dots;
        } else if (picture.lanes++ < SVG_LANES) {
            if (!s[i].recursion) {
                picture.lane[picture.lanes - 1] = 's';
            } else if (s[i].factor[1] == 's') {
                picture.lane[picture.lanes - 1] = 'p';
            } else {
                picture.lane[picture.lanes - 1] = 'f';
            }
        }
    }
    const int before = s->sweep <= 0, dense = picture.way == SOA_MEMORYLESS;
    out_format(out, "<section class=\"sweep %s\" %s=\"%d\" data-way=\"%s\">\n<h3>",
               ways[picture.way], before || dense ? "data-before" : "data-sweep", s->sweep,
               ways[picture.way]);
    if (before)
        out_format(out, "First: %s", first_title(s));
    else
        out_format(out, "Sweep %d", s->sweep);
    if (dense && s->sweep < 0)
        out_text(out, ", joint by joint");
    else if (dense)
        out_text(out, ": dense arithmetic");
    else if (picture.way == SOA_CAUSAL)
        out_text(out, ": <span class=\"arrow\">◀ tips to base</span>, causal, for k = n … 1");
    else
        out_text(out, ": <span class=\"arrow\">▶ base to tips</span>, anticausal, for k = 1 … n");
    out_text(out, "</h3>\n<div>");
    if (!dense) {
        char label[120];
        snprintf(label, sizeof label, "sweep %s, %d along the bodies, %d at each body",
                 picture.way == SOA_CAUSAL ? "from the tips to the base"
                                           : "from the base to the tips",
                 picture.lanes, picture.dots);
        svg_tree_put(out, w->tree, &picture, label);
        out_format(out,
                   "<p class=\"sub\">%d along the bodies (arrows%s), %d at each body (dots%s)</p>",
                   picture.lanes, picture.lanes > SVG_LANES ? ", three drawn" : "", picture.dots,
                   picture.dots > 6 ? ", six drawn" : "");
    }
    out_text(out, s->sweep < 0 ? "<p class=\"fuses\">makes " : "<p class=\"fuses\">fuses ");
    for (size_t i = 0; i < count && i < MOST_LINES; ++i) {
        if (!strcmp(s[i].factor, "+") || is_named_before(s, i)) continue;
        out_format(out, "<span class=\"math%s\">", s[i].runs != SOA_MEMORYLESS ? " run" : "");
        html_math(out, s[i].factor, 0);
        out_text(out, "</span>");
    }
    out_text(out, "</p></div>\n<div class=\"scroll\"><table class=\"lines math\"><tbody>\n");
    for (size_t i = 0; i < count && i < MOST_LINES; ++i)
        put_line(out, s + i);
    out_text(out, "</tbody></table>");
    if (count > MOST_LINES)
        out_format(out,
                   "<p class=\"note\">and %zu lines more; all of them are below as plain text.</p>",
                   count - MOST_LINES);
    out_text(out, "</div></section>\n");
}
static int put_sweeps(writing *w) {
    app_out *out = w->out;
    sweep_list l = {NULL, 0, 0, 0};
    soa_plan_visit_steps(w->plan, keep_step, &l);
    out_text(out, "<h2 id=\"sweeps\">Its sweeps along the bodies</h2>\n");
    svg_tree_define(out, w->tree);
    svg_tree_put(out, w->tree, &(svg_sweep){.way = SOA_MEMORYLESS},
                 "the bodies, from the base at the left to the tips");
    if (svg_tree_hidden(w->tree))
        out_format(out,
                   "<p class=\"note\">%d bodies, of which %d are not drawn one by one (⋯).</p>\n",
                   soa_model_body_count(w->page->model), svg_tree_hidden(w->tree));
    out_text(out, "<ul class=\"key\">");
    soa_body_info info;
    const int bodies = soa_model_body_count(w->page->model),
              named = bodies > MOST_BODIES ? FEW_BODIES : bodies;
    for (int b = 1; b <= named; ++b)
        if (soa_model_body(w->page->model, b, &info) == SOA_OK) {
            out_format(out, "<li><b>%d</b>", b);
            out_html(out, info.link);
            out_format(out, " <span class=\"note\">%s</span></li>", soa_joint_type_name(info.type));
        }
    out_text(out, "</ul>\n");
    if (bodies > named) out_format(out, "<p class=\"note\">and %d more.</p>\n", bodies - named);
    out_text(out, "<p class=\"note\">Base at the left, tips at the right; ◀ at a body: a frame of "
                  "tip space. Arrows: a step that "
                  "runs along the bodies, full for φ, dashed for ψ, dotted for a single step; "
                  "dots: steps done at each body by "
                  "itself. k is a body, p its parent, c its children; φ(p,k) contains the "
                  "rotation; the world's values are "
                  "zero.</p>\n");
    int drawn = 0, left = 0;
    for (size_t i = 0, j; i < l.count; i = j) {
        for (j = i; j < l.count && l.step[j].sweep == l.step[i].sweep;)
            ++j;
        if (drawn++ < MOST_SWEEPS)
            put_sweep(w, l.step + i, j - i);
        else
            ++left;
    }
    if (left) out_format(out, "<p class=\"note\">%d sweeps more, below as plain text.</p>\n", left);
    free(l.step);
    out_text(out, "<details><summary>All of it as plain text (soa op --explain)</summary><pre "
                  "id=\"explain\">");
    soa_expr_print(w->better, w->text, MOST_TEXT);
    out_html(out, w->text);
    out_char(out, '\n');
    soa_plan_explain(w->plan, w->text, MOST_TEXT);
    out_html(out, w->text);
    out_text(out, "</pre></details>\n");
    return l.failed ? -1 : 0;
}

/* --- cost and results ------------------------------------------------------------------------- */
static void put_fact(app_out *out, long number, const char *what) {
    out_format(out, "<div><b>%ld</b>%s</div>\n", number, what);
}
static void put_count(writing *w) {
    app_out *out = w->out;
    soa_scalar_graph *graph = NULL;
    char why[300] = "";
    soa_count c;
    out_format(
        out,
        "<h2>What it costs</h2>\n<div class=\"facts\" data-sweeps=\"%d\" data-recursions=\"%d\">\n",
        soa_plan_sweep_count(w->plan), soa_plan_recursion_count(w->plan));
    put_fact(out, soa_plan_sweep_count(w->plan),
             soa_plan_sweep_count(w->plan) == 1 ? "sweep" : "sweeps");
    put_fact(out, soa_plan_recursion_count(w->plan),
             soa_plan_recursion_count(w->plan) == 1 ? "recursion" : "recursions");
    if (soa_plan_pass_count(w->plan) != soa_plan_sweep_count(w->plan))
        put_fact(out, soa_plan_pass_count(w->plan), "passes over the bodies");
    const int many = soa_model_body_count(w->page->model) > MOST_COUNTED;
    if (many)
        snprintf(why, sizeof why, "the model has more than %d bodies (soa op --count does it)",
                 MOST_COUNTED);
    const soa_status s =
        many ? SOA_E_ARGUMENT
             : soa_scalar_graph_create(w->page->machine, w->better, NULL, &graph, why, sizeof why);
    need_memory(w, s);
    if (s == SOA_OK && soa_scalar_graph_operations(graph, 0, -1, &c) == SOA_OK) {
        put_fact(out, c.additions, "additions");
        put_fact(out, c.multiplications, "multiplications");
        put_fact(out, c.divisions, "divisions");
        put_fact(out, c.sines, "sines, cosines");
    }
    out_text(out, "</div>\n");
    if (s == SOA_OK) {
        out_text(out, "<p class=\"note\">For this model, at any state: known zeros and constants "
                      "removed, equal results "
                      "computed once, the recursion of P, D, G included (soa op --count).</p>\n");
    } else {
        out_text(out, "<p class=\"note\">Operations were not counted: ");
        out_html(out, why[0] ? why : soa_status_text(s));
        out_text(out, "</p>\n");
    }
    soa_scalar_graph_free(graph);
}
/* Name of a row: a joint, a body's link, or a tip's frame. */
static const char *row_name(const op_page *p, soa_space space, int row) {
    soa_body_info info;
    soa_frame_info frame;
    if (space == SOA_SPACE_JOINT) {
        for (int b = 1; b <= soa_model_body_count(p->model); ++b)
            if (soa_model_body(p->model, b, &info) == SOA_OK && row >= info.v_index &&
                row < info.v_index + info.nv)
                return info.joint;
    } else if (space == SOA_SPACE_TIP) {
        if (row < p->tip_count && soa_model_frame(p->model, p->tips[row], &frame) == SOA_OK)
            return frame.name;
    } else if (space != SOA_SPACE_BASE && soa_model_body(p->model, row + 1, &info) == SOA_OK) {
        return info.link;
    }
    return space == SOA_SPACE_BASE ? "world" : "";
}
static int put_result(writing *w) {
    app_out *out = w->out;
    const op_page *p = w->page;
    /* For an operator: its matrix. */
    const soa_expr *e = w->applied ? w->given : w->better;
    const soa_space to = soa_expr_codomain(e);
    const size_t rows = (size_t)soa_machine_space_size(p->machine, to),
                 columns = (size_t)soa_machine_space_size(p->machine, soa_expr_domain(e));
    const int small = soa_model_body_count(p->model) <= OP_MATRIX_BODIES;
    out_text(out, "<h2>What it gives</h2>\n");
    if (!p->state) {
        out_text(out, "<p>No state was given (--in FILE), so there is no result.</p>\n");
        return 0;
    }
    if (w->applied && (!small || columns > 12)) {
        out_text(out, "<p>An operator too wide to print; see its pattern below.</p>\n");
        return 0;
    }
    double *x = calloc(rows * columns + 1, sizeof *x), *y = calloc(rows * columns + 1, sizeof *y);
    soa_status s;
    if (!x || !y) {
        s = SOA_E_MEMORY;
    } else if (w->applied) {
        s = soa_machine_dense_matrix(p->machine, e, x);
    } else {
        s = soa_plan_run(w->plan, x);
    }
    double apart = 0, most = 0;
    const int comparing = s == SOA_OK && !w->applied && small;
    const soa_status dense =
        comparing ? soa_machine_dense_matrix(p->machine, w->vector, y) : SOA_E_ARGUMENT;
    const int checked = dense == SOA_OK;
    need_memory(w, s);
    need_memory(w, dense);
    for (size_t i = 0; i < rows * columns && checked; ++i) {
        if (!(fabs(x[i] - y[i]) <= apart)) apart = fabs(x[i] - y[i]);
        if (!(fabs(y[i]) <= most)) most = fabs(y[i]);
    }
    if (s == SOA_OK) {
        size_t wide;
        if (w->applied) {
            wide = columns;
        } else if (to == SOA_SPACE_JOINT) {
            wide = 1;
        } else {
            wide = 6;
        }
        size_t tall;
        if (w->applied) {
            tall = rows;
        } else {
            tall = rows / (wide ? wide : 1);
        }
        out_text(out, "<div class=\"scroll\"><table class=\"numbers\" id=\"result\"><tbody>\n");
        for (size_t r = 0; r < tall && r < MOST_NUMBERS; ++r) {
            out_text(out, "<tr><td>");
            out_html(out, row_name(p, to, (int)(w->applied && to != SOA_SPACE_JOINT ? r / 6 : r)));
            out_text(out, "</td>");
            for (size_t c = 0; c < wide; ++c)
                out_format(out, "<td>%.9g</td>", x[r * wide + c]);
            out_text(out, "</tr>\n");
        }
        out_text(out, "</tbody></table></div>\n");
        if (tall > MOST_NUMBERS)
            out_format(out, "<p class=\"note\">and %zu rows more.</p>\n", tall - MOST_NUMBERS);
        if (checked)
            out_format(out,
                       "<p class=\"note\">By sweeps. Dense matrices, formed from the definitions "
                       "and the expression as "
                       "written, give the same within %.1e (largest entry %.3g).</p>\n",
                       apart, most);
    } else {
        const char *reason = soa_machine_failure(p->machine);
        out_text(out, "<p>It cannot be computed at this state: ");
        out_html(out, reason[0] ? reason : soa_status_text(s));
        out_text(out, "</p>\n");
    }
    free(x);
    free(y);
    return 0;
}

/* --- the factors ------------------------------------------------------------------------------ */
static void keep_factor(writing *w, const soa_expr *e) {
    soa_expr_print(e, w->text, MOST_TEXT);
    for (int i = 0; i < w->factor_count; ++i)
        if (!strcmp(w->text, w->factor_text[i])) return;
    char *name = w->factor_count < MOST_FACTORS ? malloc(strlen(w->text) + 1) : NULL;
    if (!name) {
        if (w->factor_count < MOST_FACTORS) need_memory(w, SOA_E_MEMORY);
        ++w->factors_left;
        return;
    }
    memcpy(name, w->text, strlen(w->text) + 1);
    w->factors[w->factor_count] = e;
    w->factor_text[w->factor_count++] = name;
}
/* Collects the operators of an expression from left to right: leaves, their adjoints, inverses,
 * sums inside products. */
static void collect(writing *w, const soa_expr *e, int in_product) {
    soa_expr_info info, inner;
    if (soa_expr_get_info(e, &info) != SOA_OK) return;
    const int operator_ = soa_expr_domain(e) != SOA_SPACE_ONE;
    const soa_expr *part = soa_expr_part(e, 0);
    if (info.kind == SOA_EXPR_LEAF) {
        if (operator_ && strcmp(info.name, "I") != 0) keep_factor(w, e);
        return;
    }
    if (info.kind == SOA_EXPR_ADJOINT && soa_expr_get_info(part, &inner) == SOA_OK) {
        keep_factor(w, e);
        if (inner.kind == SOA_EXPR_LEAF) return;
        in_product = 0;
    } else if (operator_ &&
               (info.kind == SOA_EXPR_INVERSE || (info.kind == SOA_EXPR_SUM && in_product))) {
        keep_factor(w, e);
    }
    for (int i = 0; i < info.count; ++i)
        collect(w, soa_expr_part(e, i), info.kind == SOA_EXPR_PRODUCT);
}
static void put_factors(writing *w) {
    app_out *out = w->out;
    out_text(out, "<h2 id=\"factors\">Its factors as matrices</h2>\n");
    if (soa_model_body_count(w->page->model) > OP_MATRIX_BODIES) {
        out_format(out,
                   "<p id=\"no-patterns\">With %d bodies the matrices would be %d wide and "
                   "illegible here; take the same "
                   "expression for a model of at most %d bodies to see their patterns.</p>\n",
                   soa_model_body_count(w->page->model),
                   soa_machine_space_size(w->page->machine, SOA_SPACE_LINK), OP_MATRIX_BODIES);
        return;
    }
    out_format(
        out,
        "<p>Formed from their definitions by dense arithmetic %s. Parents are stored before "
        "children, so causal "
        "factors (tips to base) stand above the diagonal and their adjoints below; the papers "
        "number from the tip "
        "and have it the other way round. On a tree, branches that do not meet leave blanks.</p>\n",
        w->page->state ? "at the state given"
                       : "at the neutral position, at rest (no state was given)");
    op_matrix_legend(out);
    out_text(out, "<div class=\"cards\">\n");
    if (w->applied) keep_factor(w, w->given);
    collect(w, w->better, 1);
    collect(w, w->given, 1);
    for (int i = 0; i < w->factor_count; ++i) {
        if (out->size < MOST_PAGE)
            op_matrix_put(out, w->page, w->factors[i], w->factor_text[i]);
        else
            ++w->factors_left;
        free(w->factor_text[i]);
    }
    out_text(out, "</div>\n");
    if (w->factors_left)
        out_format(out, "<p class=\"note\">%d factors more are not drawn.</p>\n", w->factors_left);
}

/* --- forward dynamics ------------------------------------------------------------------------- */
static const char *forward_dynamics(writing *w) {
    static const char *const forms[] = {
        "inv(Mass) (T - H phi (M phi' a + b + B f0))", "inv(Mass) (T - H phi (M phi' a + b))",
        "inv(Mass) T", "psi' H' inv(D) (I - H psi K) (T - H phi (M phi' a + b + B f0)) + phi' a"};
    static const char *const names[] = {"It is forward dynamics (proved equal to inv(Mass) (T − H "
                                        "φ (M φ* a + b + B f(0))) by rewriting).",
                                        "It is forward dynamics without tip forces (proved equal "
                                        "to inv(Mass) (T − H φ (M φ* a + b)) by rewriting).",
                                        "It is the part of forward dynamics that the joint moments "
                                        "give (proved equal to inv(Mass) T by rewriting).",
                                        "It gives the links' accelerations of forward dynamics "
                                        "(proved equal to FD2 by rewriting)."};
    if (soa_expr_print(w->vector, w->text, MOST_TEXT) < MOST_PROOF)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
            const soa_expr *form = NULL;
            soa_status s = soa_expr_parse(forms[i], NULL, 0, &form, NULL, 0);
            need_memory(w, s);
            if (s != SOA_OK) continue;
            s = soa_expr_codomain(form) == soa_expr_codomain(w->vector)
                    ? soa_expr_prove(w->vector, form, NULL, NULL)
                    : SOA_E_ARGUMENT;
            need_memory(w, s);
            const int same = s == SOA_OK;
            soa_expr_free(form);
            if (same) return names[i];
        }
    return "It has the inverse of the mass matrix in it, and so a filter and a smoother.";
}

/* --- the page --------------------------------------------------------------------------------- */
static void put_head(writing *w) {
    app_out *out = w->out;
    const op_page *p = w->page;
    out_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
                  "name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n<title>");
    char title[80];
    snprintf(title, sizeof title, "%.60s", p->given);
    out_html(out, title);
    out_text(out, " — ");
    out_html(out, soa_model_name(p->model));
    out_text(out, "</title>\n<style>\n");
    for (int i = 0; op_style[i]; ++i)
        out_text(out, op_style[i]);
    out_text(out, "</style></head>\n<body>\n<header><h1>");
    if (strlen(p->given) <= 300) {
        html_math(out, p->given, 0);
    } else {
        out_text(out, "A long expression");
    }
    out_text(out, "</h1>\n<p class=\"sub\">on ");
    out_html(out, soa_model_name(p->model));
    out_format(out, ": %d bodies, %d degrees of freedom; tips: ", soa_model_body_count(p->model),
               soa_model_nv(p->model));
    for (int i = 0; i < p->tip_count; ++i) {
        soa_frame_info frame;
        if (soa_model_frame(p->model, p->tips[i], &frame) != SOA_OK) continue;
        out_text(out, i ? ", " : "");
        out_html(out, frame.name);
    }
    if (!p->tip_count) out_text(out, "none");
    out_text(out, "</p>\n");
    if (p->state) {
        char state[420];
        snprintf(state, sizeof state, "%.400s%s", p->state, strlen(p->state) > 400 ? " …" : "");
        state[strcspn(state, "\r\n")] = 0;
        out_text(out, "<p class=\"sub\">at the state <code id=\"state\">");
        out_html(out, state);
        out_text(out, "</code></p>\n");
    }
    out_text(out, "</header>\n<main>\n");
}
static void put_expression(writing *w) {
    static const struct {
        const char *way, *what;
    } marks[] = {{"causal", "causal: needs what is nearer the tips"},
                 {"anticausal", "anticausal: needs what is nearer the base"},
                 {"memoryless", "memoryless: each body by itself"},
                 {"mixed", "both ways"},
                 {"vector", "a vector"}};
    app_out *out = w->out;
    out_text(out, "<h2>As written</h2>\n<pre id=\"given\">");
    out_html(out, w->page->given);
    if (strcmp(w->page->given, w->page->text) != 0) {
        out_text(out, " = ");
        out_html(out, w->page->text);
    }
    out_text(out, "</pre>\n<h3>With its types</h3>\n<div class=\"typed\">");
    put_typed(w, w->given, 0);
    out_text(out, "</div>\n<p class=\"note typed\">");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i)
        out_format(out, "<span class=\"leaf %s\">%s</span> ", marks[i].way, marks[i].what);
    out_format(out,
               "</p>\n<p class=\"note\">Below each factor: the space it gives ← the space it "
               "takes. Joint space has %d "
               "numbers here, link and edge space %d, tip space %d.</p>\n",
               soa_machine_space_size(w->page->machine, SOA_SPACE_JOINT),
               soa_machine_space_size(w->page->machine, SOA_SPACE_LINK),
               soa_machine_space_size(w->page->machine, SOA_SPACE_TIP));
    if (w->applied) {
        out_format(out, "<p>An operator, %s ← %s. From here on it is shown applied to ",
                   soa_space_name(soa_expr_codomain(w->given)),
                   soa_space_name(soa_expr_domain(w->given)));
        html_math(out, w->applied, 0);
        out_text(out, ", a vector of its space.</p>\n");
    }
}
/* Parses the expression. An operator is applied to T or f0, or to a vector x of zeros if the
 * algebra has none of that space. */
static int prepare(writing *w, char *message, size_t room) {
    const op_page *p = w->page;
    if (soa_expr_parse(p->text, p->vars, p->var_count, &w->given, message, room) != SOA_OK)
        return -1;
    const soa_space from = soa_expr_domain(w->given);
    if (from == SOA_SPACE_ONE) {
        w->vector = soa_expr_scale(1, w->given);
    } else {
        const soa_expr *x = NULL;
        if (from == SOA_SPACE_JOINT) {
            w->applied = "T";
        } else if (from == SOA_SPACE_TIP) {
            w->applied = "f0";
        } else {
            w->applied = "x";
        }
        if (w->applied[0] == 'x') {
            double *zero =
                calloc((size_t)soa_machine_space_size(p->machine, from) + 1, sizeof *zero);
            if (zero && soa_machine_set_vector(p->machine, "x", from, zero) == SOA_OK)
                x = soa_expr_variable("x", from);
            free(zero);
        } else {
            x = soa_expr_leaf(w->applied);
        }
        w->vector = x ? soa_expr_product(w->given, x) : NULL;
        soa_expr_free(x);
    }
    w->better = w->vector ? soa_expr_scale(1, w->vector) : NULL;
    w->tree = svg_tree_create(p->model, p->tips, p->tip_count);
    w->text = malloc(MOST_TEXT);
    if (w->better && w->tree && w->text) return 0;
    snprintf(message, room, "out of memory");
    return -1;
}
int op_page_put(app_out *out, const op_page *page, char *message, size_t room) {
    writing w = {.out = out, .page = page};
    message[0] = 0;
    int bad = prepare(&w, message, room);
    if (!bad) {
        put_head(&w);
        put_expression(&w);
        put_derivation(&w);
        bad = soa_plan_create(page->machine, w.better, &w.plan, message, room) != SOA_OK;
    }
    if (!bad) {
        bad = put_sweeps(&w);
        put_count(&w);
        put_result(&w);
        put_factors(&w);
        if (op_filter_in(w.given) || op_filter_in(w.better)) {
            out_format(out, "<h2 id=\"filter\">The filter and the smoother in it</h2>\n<p>%s</p>\n",
                       forward_dynamics(&w));
            op_filter_put(out);
        }
        out_format(out,
                   "</main>\n<footer>libsoa %s. Conventions: docs/notation.md; the operators: "
                   "docs/operators.md. R87, "
                   "RK88, RJK91 and FO00 are the papers named there.</footer>\n</body></html>\n",
                   soa_version());
    }
    if (bad && !message[0]) snprintf(message, room, "out of memory");
    soa_plan_free(w.plan);
    svg_tree_free(w.tree);
    soa_expr_free(w.given);
    soa_expr_free(w.vector);
    soa_expr_free(w.better);
    free(w.text);
    return bad ? -1 : 0;
}
