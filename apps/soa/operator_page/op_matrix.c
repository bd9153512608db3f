/* op_matrix.c  draws the pattern of an operator's matrix, from the dense oracle at the machine's
 * state.
 *
 * Rows and columns are grouped by bodies (by tips in tip space). A block with any entry above ZERO
 * times the largest of the matrix is drawn, with its numbers as data-row and data-column; its shade
 * is the decade of its largest entry. Small matrices also show their entries. The words below a
 * picture ("upper block triangular") are derived from the pattern, not from the name. */
#include "op_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINE = 48, SHADES = 6 };
static const double ZERO = 1e-12;

typedef struct side {            /* groups of rows or columns */
    int groups, *start, *number; /* start: groups + 1 numbers */
    int total;
} side;

static int side_of(side *s, const op_page *p, soa_space space) {
    const int n = soa_model_body_count(p->model), most = n > p->tip_count ? n : p->tip_count;
    *s = (side){.total = soa_machine_space_size(p->machine, space)};
    s->start = calloc((size_t)most + 2, sizeof *s->start);
    s->number = calloc((size_t)most + 2, sizeof *s->number);
    if (!s->start || !s->number) return -1;
    soa_body_info info;
    if (space == SOA_SPACE_JOINT) {
        for (int b = 1; b <= n; ++b) {
            if (soa_model_body(p->model, b, &info) != SOA_OK || info.nv == 0) continue;
            s->number[s->groups] = b;
            s->start[s->groups++] = info.v_index;
        }
    } else {
        const int groups = s->total / 6;
        for (int g = 0; g < groups && g <= most; ++g, ++s->groups) {
            s->start[g] = 6 * g;
            s->number[g] = space == SOA_SPACE_BASE ? 0 : g + 1;
        }
    }
    s->start[s->groups] = s->total;
    return 0;
}
static int by_body(soa_space space) {
    return space == SOA_SPACE_JOINT || space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
}

typedef struct pattern {
    side rows, columns;
    double *x, *block, most; /* entries; largest of each block; of all */
} pattern;

static void release(pattern *m) {
    free(m->rows.start);
    free(m->rows.number);
    free(m->columns.start);
    free(m->columns.number);
    free(m->x);
    free(m->block);
}
static soa_status look(pattern *m, const op_page *p, const soa_expr *e) {
    *m = (pattern){.x = NULL};
    if (side_of(&m->rows, p, soa_expr_codomain(e)) || side_of(&m->columns, p, soa_expr_domain(e)))
        return SOA_E_MEMORY;
    m->x = calloc((size_t)m->rows.total * (size_t)m->columns.total + 1, sizeof *m->x);
    m->block = calloc((size_t)m->rows.groups * (size_t)m->columns.groups + 1, sizeof *m->block);
    if (!m->x || !m->block) return SOA_E_MEMORY;
    const soa_status s = soa_machine_dense_matrix(p->machine, e, m->x);
    for (int r = 0; s == SOA_OK && r < m->rows.groups; ++r)
        for (int c = 0; c < m->columns.groups; ++c) {
            double *most = m->block + r * m->columns.groups + c;
            for (int i = m->rows.start[r]; i < m->rows.start[r + 1]; ++i)
                for (int j = m->columns.start[c]; j < m->columns.start[c + 1]; ++j) {
                    const double y = fabs(m->x[(size_t)i * (size_t)m->columns.total + (size_t)j]);
                    if (!(y <= *most)) *most = y;
                }
            if (!(*most <= m->most)) m->most = *most;
        }
    return s;
}
/* 0: zero; SHADES: within a decade of the largest. */
static int shade(double y, double most) {
    if (!(y > ZERO * most)) return 0;
    const int down = (int)floor(-log10(y / most) + 1e-9);
    if (down >= SHADES) return 1;
    return SHADES - (down < 0 ? 0 : down);
}

/* --- the picture ------------------------------------------------------------------------------ */
typedef struct frame {
    double unit, left, top;
    int fine;
} frame;
/* Position where a group begins. */
static double at(const frame *f, const side *s, int group) {
    return f->unit * (f->fine ? s->start[group] : group);
}
static void labels(app_out *out, const frame *f, const side *s, int rows) {
    double last = -20;
    for (int g = 0; g < s->groups; ++g) {
        const double middle = (at(f, s, g) + at(f, s, g + 1)) / 2;
        if (middle - last < (rows ? 8.5 : 13)) continue;
        last = middle;
        if (rows)
            out_format(out, "<text class=\"row\" x=\"%g\" y=\"%.4g\">%d</text>", f->left - 4,
                       f->top + middle + 3, s->number[g]);
        else
            out_format(out, "<text x=\"%.4g\" y=\"%g\">%d</text>", f->left + middle, f->top - 4,
                       s->number[g]);
    }
}
static void entries(app_out *out, const frame *f, const pattern *m) {
    for (int level = 1; level <= SHADES; ++level) {
        int any = 0;
        for (int i = 0; i < m->rows.total; ++i)
            for (int j = 0; j < m->columns.total; ++j)
                if (shade(fabs(m->x[i * m->columns.total + j]), m->most) == level) {
                    if (!any++) out_format(out, "<path class=\"s%d\" d=\"", level);
                    out_format(out, "M%.4g %.4gh%.3gv%.3gh-%.3gz", f->left + f->unit * j,
                               f->top + f->unit * i, f->unit, f->unit, f->unit);
                }
        if (any) out_text(out, "\"/>");
    }
}
static void picture(app_out *out, const pattern *m, const char *text, soa_space to,
                    soa_space from) {
    frame f = {.left = 24, .top = 18, .fine = m->rows.total <= FINE && m->columns.total <= FINE};
    const int tall = f.fine ? m->rows.total : m->rows.groups;
    const int wide = f.fine ? m->columns.total : m->columns.groups;
    const int most = tall > wide ? tall : wide;
    f.unit = most ? 228.0 / most : 1;
    if (f.unit > 24) f.unit = 24;
    const double width = f.unit * wide, height = f.unit * tall;
    out_format(out,
               "<svg class=\"pattern\" viewBox=\"0 0 %.4g %.4g\" width=\"%.4g\" height=\"%.4g\" "
               "role=\"img\" "
               "aria-label=\"pattern of ",
               f.left + width + 4, f.top + height + 4, f.left + width + 4, f.top + height + 4);
    out_html(out, text);
    out_format(out, "\" data-rows=\"%s\" data-columns=\"%s\">", soa_space_name(to),
               soa_space_name(from));
    labels(out, &f, &m->rows, 1);
    labels(out, &f, &m->columns, 0);
    if (f.fine) entries(out, &f, m);
    for (int r = 0; r < m->rows.groups; ++r)
        for (int c = 0; c < m->columns.groups; ++c) {
            const int level = shade(m->block[r * m->columns.groups + c], m->most);
            if (!level) continue;
            const double x = at(&f, &m->columns, c), y = at(&f, &m->rows, r);
            out_format(out,
                       "<rect class=\"%s%d\" data-row=\"%d\" data-column=\"%d\" x=\"%.4g\" "
                       "y=\"%.4g\" width=\"%.4g\" "
                       "height=\"%.4g\"/>\n",
                       f.fine ? "block b" : "s", level, m->rows.number[r], m->columns.number[c],
                       f.left + x, f.top + y, at(&f, &m->columns, c + 1) - x,
                       at(&f, &m->rows, r + 1) - y);
        }
    out_format(out,
               "<rect class=\"frame\" x=\"%g\" y=\"%g\" width=\"%.4g\" height=\"%.4g\"/></svg>\n",
               f.left, f.top, width, height);
}
/* The form of the matrix, derived from the pattern. */
static const char *form(const pattern *m, soa_space to, soa_space from) {
    int above = 0, on = 0, below = 0;
    for (int r = 0; r < m->rows.groups; ++r)
        for (int c = 0; c < m->columns.groups; ++c)
            if (shade(m->block[r * m->columns.groups + c], m->most)) {
                const int row = m->rows.number[r], column = m->columns.number[c];
                above += row < column;
                below += row > column;
                on += row == column;
            }
    if (!above && !below && !on) return "zero";
    if (!by_body(to) || !by_body(from)) return "";
    if (above && below) return "both sides of the diagonal";
    if (above) return on ? "upper block triangular" : "strictly upper block triangular";
    if (below) return on ? "lower block triangular" : "strictly lower block triangular";
    return "block diagonal";
}
void op_matrix_put(app_out *out, const op_page *p, const soa_expr *e, const char *text) {
    static const char *const ways[] = {"memoryless", "causal", "anticausal", "mixed"};
    static const char *const ways_text[] = {"memoryless", "causal: tips to base",
                                            "anticausal: base to tips", "both ways"};
    const soa_causality way = soa_expr_causality(e);
    const soa_space to = soa_expr_codomain(e), from = soa_expr_domain(e);
    out_format(out, "<figure class=\"card %s\" data-way=\"%s\" data-factor=\"", ways[way],
               ways[way]);
    out_html(out, text);
    out_text(out, "\"><figcaption><b class=\"math\">");
    html_math(out, text, 0);
    out_format(out, "</b> <span class=\"type\">%s ← %s</span><br><span class=\"way\">%s</span>",
               soa_space_name(to), soa_space_name(from), ways_text[way]);
    soa_expr_info info, part;
    if (soa_expr_get_info(e, &info) == SOA_OK && info.kind == SOA_EXPR_ADJOINT &&
        soa_expr_get_info(soa_expr_part(e, 0), &part) == SOA_OK && part.kind == SOA_EXPR_LEAF) {
        info = part;
        out_text(out, "<br><span class=\"what\">adjoint of: ");
    } else {
        out_text(out, "<br><span class=\"what\">");
    }
    const char *given = info.name ? "given with the state" : "";
    out_html(out, info.what ? info.what : given);
    if (info.definition) {
        out_text(out, "; = ");
        html_math(out, info.definition, 0);
    }
    out_text(out, "</span></figcaption>\n");
    pattern m;
    const soa_status s = look(&m, p, e);
    if (s == SOA_E_MEMORY) out->error = ENOMEM; /* the page is not written */
    if (s == SOA_OK) {
        picture(out, &m, text, to, from);
        int filled = 0;
        for (int i = 0; i < m.rows.groups * m.columns.groups; ++i)
            filled += shade(m.block[i], m.most) > 0;
        const char *name = form(&m, to, from);
        out_format(out, "<p class=\"form\">%s%s%d of %d blocks; largest entry %.3g</p>\n", name,
                   *name ? "; " : "", filled, m.rows.groups * m.columns.groups, m.most);
    } else {
        const char *reason = soa_machine_failure(p->machine);
        out_text(out, "<p class=\"form\">no matrix here: ");
        out_html(out, reason[0] ? reason : soa_status_text(s));
        out_text(out, "</p>\n");
    }
    release(&m);
    out_text(out, "</figure>\n");
}
void op_matrix_legend(app_out *out) {
    out_text(out, "<p class=\"legend\"><svg width=\"132\" height=\"14\" aria-hidden=\"true\">");
    for (int i = 1; i <= SHADES; ++i)
        out_format(out, "<rect class=\"s%d\" x=\"%d\" y=\"1\" width=\"22\" height=\"12\"/>", i,
                   22 * (i - 1));
    out_format(out,
               "</svg> each shade a decade, the darkest (in the dark: the brightest) within a "
               "factor of ten of the "
               "matrix's largest entry, the first all that is smaller; blank below %g of it. "
               "Numbers are bodies.</p>\n",
               ZERO);
}
