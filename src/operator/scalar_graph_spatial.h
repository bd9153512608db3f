/* scalar_graph_spatial.h  spatial algebra over graph nodes: rotations, shifts of origin, and
 * transfer between a body and its parent.
 *
 * Written for few operations: a rotation is one about the joint's coordinate axis and a constant
 * one; D-H placements are two such rotations. A symmetric block [p q; q t] is rotated with w = s (p
 * - t) + 2 c q: p - s w, t + s w, c w - q. */
#ifndef SOAI_GRAPH_SPATIAL_H
#define SOAI_GRAPH_SPATIAL_H
#include "scalar_graph.h"
#include <math.h>

#define add(x, y) soai_add(g, x, y)
#define subtract(x, y) soai_subtract(g, x, y)
#define multiply(x, y) soai_multiply(g, x, y)
#define negate(x) soai_negate(g, x)
#define constant(x) soai_constant(g, x)
#define parameter(x) soai_parameter(g, x)
#define IS(x, number) soai_is(g, x, number)

static inline node input(soa_scalar_graph *g, int array, int at) {
    return soai_make(g, INPUT, array, at, 0);
}
static inline node multiply_add(soa_scalar_graph *g, node x, node y, node z) {
    return add(z, multiply(x, y));
}
static inline void cross(soa_scalar_graph *g, const node *a, const node *b, node out[3]) {
    node y[3];
    for (int i = 0; i < 3; ++i) {
        const int n = (i + 1) % 3, l = (i + 2) % 3;
        y[i] = subtract(multiply(a[n], b[l]), multiply(a[l], b[n]));
    }
    memcpy(out, y, sizeof y);
}

/* --- one step --------------------------------------------------------------------------------- */
/* R x, or R' x if back is set */
static inline void turn(soa_scalar_graph *g, const graph_step *t, int back, const node x[3],
                        node out[3]) {
    node y[3] = {x[0], x[1], x[2]};
    if (t->kind == STEP_TURN) {
        const int i = (t->k + 1) % 3, j = (t->k + 2) % 3;
        const node s = back ? negate(t->s) : t->s;
        y[i] = subtract(multiply(t->c, x[i]), multiply(s, x[j]));
        y[j] = add(multiply(s, x[i]), multiply(t->c, x[j]));
    } else if (t->kind == STEP_ROTATE) {
        for (int i = 0; i < 3; ++i) {
            y[i] = 0;
            for (int j = 0; j < 3; ++j)
                y[i] = multiply_add(g, t->R[back ? 3 * j + i : 3 * i + j], x[j], y[i]);
        }
    }
    memcpy(out, y, sizeof y);
}
/* B = R B R', 3 x 3 */
static inline void turn_block(soa_scalar_graph *g, const graph_step *t, int symmetric,
                              node B[3][3]) {
    if (t->kind == STEP_TURN) {
        const int k = t->k, i = (k + 1) % 3, j = (k + 2) % 3;
        const node c = t->c, s = t->s, p = B[i][i], q = B[i][j], r = B[j][i], u = B[j][j];
        const node twice = symmetric ? multiply(add(c, c), q) : multiply(c, add(q, r));
        const node w = add(multiply(s, subtract(p, u)), twice), sw = multiply(s, w),
                   cw = multiply(c, w);
        B[i][i] = subtract(p, sw);
        B[j][j] = add(u, sw);
        B[i][j] = subtract(cw, r);
        B[j][i] = symmetric ? B[i][j] : subtract(cw, q);
        for (int side = 0; side < 2; ++side) {
            node *x = side ? &B[k][i] : &B[i][k];
            node *y = side ? &B[k][j] : &B[j][k];
            node old = *x;
            if (side && symmetric) {
                *x = B[i][k];
                *y = B[j][k];
                break;
            }
            *x = subtract(multiply(c, old), multiply(s, *y));
            *y = add(multiply(s, old), multiply(c, *y));
        }
    } else if (t->kind == STEP_ROTATE) {
        node RB[3][3];
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) {
                RB[r][c] = 0;
                for (int k = 0; k < 3; ++k)
                    RB[r][c] = multiply_add(g, t->R[3 * r + k], B[k][c], RB[r][c]);
            }
        for (int r = 0; r < 3; ++r)
            for (int c = symmetric ? r : 0; c < 3; ++c) {
                node x = 0;
                for (int k = 0; k < 3; ++k)
                    x = multiply_add(g, t->R[3 * c + k], RB[r][k], x);
                B[r][c] = x;
                if (symmetric) B[c][r] = x;
            }
    }
}
/* --- passages: forces, motions and inertias from a body to its parent ------------------------- */
static inline void marks(soa_scalar_graph *g, int turn_part, int move_part) {
    g->turn_part = turn_part;
    g->move_part = move_part;
}
static inline void force_inward(soa_scalar_graph *g, const passage *way, const node f[6],
                                node out[6]) {
    node y[6], c[3];
    const int part = g->part;
    memcpy(y, f, sizeof y);
    for (int n = 0; n < way->count; ++n) {
        const graph_step *t = way->step + n;
        g->part = t->kind == STEP_MOVE ? g->move_part : g->turn_part;
        if (t->kind == STEP_MOVE) {
            cross(g, t->p, y + 3, c);
            for (int j = 0; j < 3; ++j)
                y[j] = add(y[j], c[j]);
        } else {
            turn(g, t, 0, y, y);
            turn(g, t, 0, y + 3, y + 3);
        }
    }
    g->part = part;
    memcpy(out, y, sizeof y);
}
static inline void motion_outward(soa_scalar_graph *g, const passage *way, const node V[6],
                                  node out[6]) {
    node y[6], c[3];
    const int part = g->part;
    memcpy(y, V, sizeof y);
    for (int n = way->count - 1; n >= 0; --n) {
        const graph_step *t = way->step + n;
        g->part = t->kind == STEP_MOVE ? g->move_part : g->turn_part;
        if (t->kind == STEP_MOVE) {
            cross(g, y, t->p, c);
            for (int j = 0; j < 3; ++j)
                y[3 + j] = add(y[3 + j], c[j]);
        } else {
            turn(g, t, 1, y, y);
            turn(g, t, 1, y + 3, y + 3);
        }
    }
    g->part = part;
    memcpy(out, y, sizeof y);
}
/* P = phi P phi', P = [J C; C' N] */
static inline void inertia_inward(soa_scalar_graph *g, const passage *way, node P[36]) {
    node J[3][3], C[3][3], N[3][3];
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) {
            J[r][c] = P[6 * r + c];
            C[r][c] = P[6 * r + 3 + c];
            N[r][c] = P[6 * (3 + r) + 3 + c];
        }
    }
    for (int n = 0; n < way->count; ++n) {
        const graph_step *t = way->step + n;
        if (t->kind != STEP_MOVE) {
            g->part = PART_P_TURN;
            turn_block(g, t, 1, J);
            turn_block(g, t, 0, C);
            turn_block(g, t, 1, N);
            continue;
        }
        g->part = PART_P_MOVE;
        const node *p = t->p;
        node moved[3][3]; /* C + [p] N */
        for (int c = 0; c < 3; ++c) {
            node column[3] = {N[0][c], N[1][c], N[2][c]}, y[3];
            cross(g, p, column, y);
            for (int r = 0; r < 3; ++r)
                moved[r][c] = add(C[r][c], y[r]);
        }
        for (int r = 0; r < 3; ++r) { /* J + [p] C' + moved [p]' */
            const int i = (r + 1) % 3, j = (r + 2) % 3;
            const node a = multiply(p[i], add(C[r][j], moved[r][j])),
                       b = multiply(p[j], add(C[r][i], moved[r][i]));
            J[r][r] = add(J[r][r], subtract(a, b));
            /* entry (r, i), j the third: p_j (moved_rr - C_ii) + p_i C_ij - p_r moved_rj */
            const node d = multiply(p[j], subtract(moved[r][r], C[i][i])),
                       e = multiply(p[i], C[i][j]), f = multiply(p[r], moved[r][j]);
            J[i][r] = J[r][i] = add(J[r][i], add(d, subtract(e, f)));
        }
        memcpy(C, moved, sizeof C);
    }
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
            P[6 * r + c] = J[r][c];
            P[6 * (3 + r) + 3 + c] = N[r][c];
            P[6 * r + 3 + c] = C[r][c];
            P[6 * (3 + c) + r] = C[r][c];
        }
}
static const int sym_at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
/* m, h, I of a rigid body, R87 (33) */
static inline void rigid_inward(soa_scalar_graph *g, const passage *way, int world, node M[10]) {
    node J[3][3], *h = M + 1;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            J[r][c] = M[4 + sym_at[r][c]];
    for (int n = 0; n < way->count; ++n) {
        const graph_step *t = way->step + n;
        if (world) {
            g->part = PART_POSE;
        } else if (t->kind == STEP_MOVE) {
            g->part = PART_MC_CENTRE;
        } else {
            g->part = PART_MC_TURN;
        }
        if (t->kind != STEP_MOVE) {
            turn(g, t, 0, h, h);
            turn_block(g, t, 1, J);
            continue;
        }
        const node *p = t->p;
        node after[3], pu[3]; /* h + m p; p (2 h + m p) */
        for (int j = 0; j < 3; ++j)
            after[j] = multiply_add(g, M[0], p[j], h[j]);
        g->part = PART_MC_INERTIA;
        for (int j = 0; j < 3; ++j)
            pu[j] = multiply(p[j], add(h[j], after[j]));
        for (int r = 0; r < 3; ++r) {
            const int i = (r + 1) % 3, j = (r + 2) % 3;
            J[r][r] = add(J[r][r], add(pu[i], pu[j]));
            J[i][r] = J[r][i] =
                subtract(J[r][i], add(multiply(p[i], after[r]), multiply(p[r], h[i])));
        }
        memcpy(h, after, sizeof after);
    }
    for (int r = 0; r < 3; ++r)
        for (int c = r; c < 3; ++c)
            M[4 + sym_at[r][c]] = J[r][c];
}
/* f = M V */
static inline void rigid(soa_scalar_graph *g, const node M[10], const node V[6], node f[6]) {
    const node *h = M + 1;
    node a[3], b[3], y[6];
    cross(g, h, V + 3, a);
    cross(g, h, V, b);
    for (int i = 0; i < 3; ++i) {
        node n = a[i];
        for (int j = 0; j < 3; ++j)
            n = multiply_add(g, M[4 + sym_at[i][j]], V[j], n);
        y[i] = n;
        y[3 + i] = subtract(multiply(M[0], V[3 + i]), b[i]);
    }
    memcpy(f, y, sizeof y);
}
/* Removes rounding errors of 0, 1, -1: rpy angles give 6e-17 for cos(90 degrees). */
static inline double clean(double x) {
    const double n = round(x);
    return fabs(x - n) < 1e-15 ? n : x;
}
static inline graph_step *next_step(passage *way, int kind) {
    graph_step *t = way->step + way->count++;
    memset(t, 0, sizeof *t);
    t->kind = kind;
    return t;
}

#endif
