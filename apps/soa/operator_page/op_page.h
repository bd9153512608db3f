/* op_page.h  the teaching page of `soa op --explain --html`: one HTML file, its pictures inline SVG.
 *
 * op_page.c puts it together; html_math.c writes formulas, svg_tree.c draws bodies and sweeps, op_matrix.c the
 * patterns of the factors, op_filter.c R87's filter and smoother with Table I. Whatever comes from outside goes
 * through out_html. */
#ifndef SOA_OP_PAGE_H
#define SOA_OP_PAGE_H
#include "../app.h"

typedef struct op_page {
    const char *given; /* what was asked for: an expression, or an algorithm by name */
    const char *text;  /* the expression                                             */
    const soa_variable *vars;
    int var_count, as_written;
    soa_machine *machine;
    const soa_model *model;
    const int *tips; /* frames of tip space */
    int tip_count;
    const char *state; /* the state as it was read; NULL: none was given */
} op_page;

/* Writes the page.  0, or -1 with a message. */
int op_page_put(app_out *out, const op_page *page, char *message, size_t room);

extern const char *const op_style[]; /* the style sheet, ended by NULL */

/* ---- formulas ---------------------------------------------------------------------------------------------------- */
/* An expression or a line of a recursion in the papers' letters; loops: x and x* between spaces are cross products. */
void html_math(app_out *out, const char *text, int loops);

/* ---- bodies and sweeps ------------------------------------------------------------------------------------------- */
typedef struct svg_tree svg_tree;
svg_tree *svg_tree_create(const soa_model *model, const int *tips, int tip_count);
void svg_tree_free(svg_tree *tree);
/* What the pictures below use again and again: once in the page, before them. */
void svg_tree_define(app_out *out, const svg_tree *tree);
/* One sweep: an arrow beside every edge for each step that runs along the tree, a dot below every body for each that
 * does not.  SOA_MEMORYLESS: the bodies alone. */
enum { SVG_LANES = 3 };
typedef struct svg_sweep {
    soa_causality way;
    int lanes, dots;      /* at most SVG_LANES and six are drawn */
    char lane[SVG_LANES]; /* 'f' phi, 'p' psi, 's' a single step */
} svg_sweep;
void svg_tree_put(app_out *out, const svg_tree *tree, const svg_sweep *sweep, const char *label);
/* Bodies that are not drawn one by one. */
int svg_tree_hidden(const svg_tree *tree);

/* ---- matrices ---------------------------------------------------------------------------------------------------- */
enum { OP_MATRIX_BODIES = 40 }; /* most for which patterns are drawn */
/* The pattern of an operator at the machine's state, with what it is. */
void op_matrix_put(app_out *out, const op_page *page, const soa_expr *expr, const char *text);
void op_matrix_legend(app_out *out);

/* ---- filter and smoother ----------------------------------------------------------------------------------------- */
/* Is there an inverse of the mass matrix in it, written so or as its factors? */
int op_filter_in(const soa_expr *expr);
void op_filter_put(app_out *out);

#endif
