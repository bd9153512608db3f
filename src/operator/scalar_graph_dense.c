/* scalar_graph_dense.c  the parts of a scalar graph that no sweep makes: numbers of the caller, and
 *                       products and solves with small matrices.
 *
 * A solve eliminates without a choice of pivots, which symmetric positive definite matrices such as
 * J inv(Mass) J' do not need. */
#include "scalar_graph_spatial.h"
#include <stdlib.h>

/* --- numbers of the caller, which the emitted function gets in one array ---------------------- */
size_t soai_graph_own_size(const soa_scalar_graph *g, const soa_expr *leaf) {
    const soa_machine *m = g->m;
    if (leaf->leaf == LEAF_CONSTRAIN) return 6 * (size_t)m->tips.first[m->model->nb + 1];
    if (leaf->leaf == LEAF_BLOCKS) return soa_machine_blocks_size(m, (soa_space)leaf->to);
    const size_t columns = leaf->from == SOA_SPACE_ONE ? 1 : (size_t)m->size[leaf->from];
    return (size_t)m->size[leaf->to] * columns;
}
/* Where its numbers begin in the array; -1: too many. */
static int own_offset(soa_scalar_graph *g, const soa_expr *leaf) {
    int at = 0;
    for (int i = 0; i < g->own_count; ++i) {
        if (soai_same(g->own[i], leaf)) return at;
        at += (int)soai_graph_own_size(g, g->own[i]);
    }
    if (g->own_count == MOST_VARIABLES) return -1;
    g->own[g->own_count++] = soai_hold(leaf);
    return at;
}
/* Link and edge vectors of the caller are in body axes, and so are blocks of such operators. */
static int in_body_axes(const soa_expr *leaf) {
    return leaf->to == SOA_SPACE_LINK || leaf->to == SOA_SPACE_EDGE ||
           leaf->from == SOA_SPACE_LINK || leaf->from == SOA_SPACE_EDGE;
}
int soai_graph_own(soa_scalar_graph *g, const soa_expr *leaf) {
    if (leaf->leaf == LEAF_CONSTRAIN) return own_offset(g, leaf); /* turned where it is used */
    if (g->options.axes == SOA_AXES_WORLD && in_body_axes(leaf)) return -1;
    return own_offset(g, leaf);
}

/* --- matrices --------------------------------------------------------------------------------- */
/* y = A x, or A' x, of a matrix of the caller */
int soai_graph_matrix(soa_scalar_graph *g, const soa_expr *leaf, int turned, const node *x,
                      node *y) {
    const int rows = g->m->size[turned ? leaf->from : leaf->to];
    const int columns = g->m->size[turned ? leaf->to : leaf->from];
    const int none = leaf->leaf == LEAF_GEARS && !g->m->geared;
    const int first = none ? 0 : soai_graph_own(g, leaf);
    if (first < 0) return 0;
    for (int r = 0; r < rows; ++r) {
        y[r] = 0;
        if (none) continue;
        for (int c = 0; c < columns; ++c)
            y[r] = multiply_add(
                g, input(g, IN_OWN, first + (turned ? rows * c + r : columns * r + c)), x[c], y[r]);
    }
    return 1;
}
/* x = inv(A) x; A is overwritten with its factors. */
void soai_graph_solve(soa_scalar_graph *g, int n, node *A, node *x) {
    for (int k = 0; k < n; ++k) {
        const node inverse = soai_reciprocal(g, A[n * k + k]);
        for (int r = k + 1; r < n; ++r) {
            const node factor = multiply(A[n * r + k], inverse);
            for (int c = k + 1; c < n; ++c)
                A[n * r + c] = subtract(A[n * r + c], multiply(factor, A[n * k + c]));
            x[r] = subtract(x[r], multiply(factor, x[k]));
        }
        A[n * k + k] = inverse;
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int c = k + 1; c < n; ++c)
            x[k] = subtract(x[k], multiply(A[n * k + c], x[c]));
        x[k] = multiply(x[k], A[n * k + k]);
    }
}
