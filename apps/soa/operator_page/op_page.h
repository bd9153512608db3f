/* op_page.h  the teaching page of `soa op --explain --html`: one HTML file with inline SVG
 * pictures.
 *
 * op_page.c assembles it; html_math.c writes formulas, svg_tree.c draws bodies and sweeps,
 * op_matrix.c the patterns of the factors, op_filter.c R87's filter and smoother with Table I. All
 * text from outside passes through out_html. */
#ifndef SOA_OP_PAGE_H
#define SOA_OP_PAGE_H
#include "../app.h"

typedef struct op_page {
    /* As requested: an expression, or an algorithm by name. */
    const char *given;
    const char *text; /* the expression */
    const soa_variable *vars;
    int var_count, as_written;
    soa_machine *machine;
    const soa_model *model;
    const int *tips; /* frames of tip space */
    int tip_count;
    const char *state; /* the state as read; NULL: none was given */
} op_page;

/* Writes the page. Returns 0, or -1 with a message. */
int op_page_put(app_out *out, const op_page *page, char *message, size_t room);

extern const char *const op_style[]; /* the style sheet; ends with NULL */

/* --- formulas --------------------------------------------------------------------------------- */
/* Writes an expression or a line of a recursion with the papers' symbols. loops: x and x* between
 * spaces are cross products. */
void html_math(app_out *out, const char *text, int loops);

/* --- bodies and sweeps ------------------------------------------------------------------------ */
typedef struct svg_tree svg_tree;
svg_tree *svg_tree_create(const soa_model *model, const int *tips, int tip_count);
void svg_tree_free(svg_tree *tree);
/* Definitions that the pictures share: once in the page, before them. */
void svg_tree_define(app_out *out, const svg_tree *tree);
/* One sweep: an arrow beside every edge for each step that runs along the tree, a dot below every
 * body for each step that does not. SOA_MEMORYLESS: only the bodies. */
enum { SVG_LANES = 3 };
typedef struct svg_sweep {
    soa_causality way;
    /* At most SVG_LANES and six are drawn. */
    int lanes, dots;
    char lane[SVG_LANES]; /* 'f' phi, 'p' psi, 's' a single step */
} svg_sweep;
void svg_tree_put(app_out *out, const svg_tree *tree, const svg_sweep *sweep, const char *label);
/* Number of bodies that are not drawn individually. */
int svg_tree_hidden(const svg_tree *tree);

/* --- matrices --------------------------------------------------------------------------------- */
enum { OP_MATRIX_BODIES = 40 }; /* largest number for which patterns are drawn */
/* Draws the pattern of an operator at the machine's state, with a description. */
void op_matrix_put(app_out *out, const op_page *page, const soa_expr *expr, const char *text);
void op_matrix_legend(app_out *out);

/* --- filter and smoother ---------------------------------------------------------------------- */
/* Tests whether the expression contains an inverse of the mass matrix, explicitly or as its
 * factors. */
int op_filter_in(const soa_expr *expr);
void op_filter_put(app_out *out);

#endif
