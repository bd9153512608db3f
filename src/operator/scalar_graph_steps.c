/* scalar_graph_steps.c  the sweeps again, over graph nodes instead of numbers (C has no other way
 * to trace them).
 *
 * The test `emit` compares the results of the emitted code with those of the sweeps. Written for
 * few operations:
 *   joints     if a column of H' is a coordinate axis without rotor, H G = I and H P+ = 0 are known
 *   filter     psi (K T + x) runs as z+ = z + G (T - H z), R87 (36) to (41), so T enters once
 *   smoother   psi' H' x with unit axes: the axis component is x - (G' lambda without it), R87 (48)
 */
#include "../table/joint_types.h"
#include "scalar_graph_spatial.h"
#include <stdlib.h>

/* --- joints ----------------------------------------------------------------------------------- */
/* y = H' x */
static void columns_of(soa_scalar_graph *g, int i, int nv, const node *x, node y[6]) {
    for (int j = 0; j < 6; ++j) {
        y[j] = 0;
        for (int c = 0; c < nv; ++c)
            y[j] = multiply_add(g, g->body_of[i].H[6 * c + j], x[c], y[j]);
    }
}
static void rows_of(soa_scalar_graph *g, int i, int nv, const node f[6], node *x) { /* x = H f */
    for (int c = 0; c < nv; ++c) {
        x[c] = 0;
        for (int j = 0; j < 6; ++j)
            x[c] = multiply_add(g, g->body_of[i].H[6 * c + j], f[j], x[c]);
    }
}
static void hinge_solve(soa_scalar_graph *g, int i, int n, node *x) { /* x = inv(D) x */
    const node *D = g->body_of[i].D;
    for (int r = 1; r < n; ++r)
        for (int m = 0; m < r; ++m)
            x[r] = subtract(x[r], multiply(D[n * r + m], x[m]));
    for (int r = 0; r < n; ++r)
        x[r] = multiply(x[r], D[n * r + r]);
    for (int r = n - 1; r-- > 0;)
        for (int m = r + 1; m < n; ++m)
            x[r] = subtract(x[r], multiply(D[n * m + r], x[m]));
}
/* The dof whose column of H' is 1 or -1 at component j, all other columns being
 * zero there; or -1. */
static int axis_of(const graph_body *o, int nv, int j) {
    for (int c = 0; o->free_axes && c < nv; ++c)
        if (o->unit[c] == j + 1) return c;
    return -1;
}
/* G' x without the components along joint axes (gain_rest) and with them (gain_adjoint). */
static void gain_rest(soa_scalar_graph *g, int i, int nv, const node x[6], node *out) {
    const graph_body *o = g->body_of + i;
    for (int c = 0; c < nv; ++c) {
        out[c] = 0;
        for (int j = 0; j < 6; ++j)
            if (axis_of(o, nv, j) < 0) out[c] = multiply_add(g, o->G[6 * c + j], x[j], out[c]);
    }
}
static void gain_adjoint(soa_scalar_graph *g, int i, int nv, const node x[6], node *out) {
    const graph_body *o = g->body_of + i;
    gain_rest(g, i, nv, x, out);
    for (int j = 0; j < 6; ++j) {
        const int c = axis_of(o, nv, j);
        if (c >= 0) out[c] = o->sign[c] > 0 ? add(out[c], x[j]) : subtract(out[c], x[j]);
    }
}

/* --- articulated inertias: P, U = P H', D factored, G; P(parent) += phi P+ phi' --------------- */
static void articulate_all(soa_scalar_graph *g) {
    const soai_view_double *view = &g->m->work->view;
    for (int i = 1; i <= view->nb; ++i)
        for (int c = 0; c < 6; ++c) {
            node e[6] = {0}, f[6];
            e[c] = constant(1);
            rigid(g, g->body_of[i].M, e, f);
            for (int r = 0; r < 6; ++r)
                g->body_of[i].P[6 * r + c] = f[r];
        }
    for (int i = view->nb; i >= 1; --i) {
        const soai_body_double *b = view->body + i;
        graph_body *o = g->body_of + i;
        const int n = b->nv;
        node *P = o->P, *D = o->D, *U = o->U, x[6], after[36];
        g->body = i;
        g->part = PART_GAIN;
        for (int c = 0; c < n; ++c)
            for (int r = 0; r < 6; ++r) {
                node y = 0;
                for (int j = 0; j < 6; ++j)
                    y = multiply_add(g, P[6 * r + j], o->H[6 * c + j], y);
                U[6 * c + r] = y;
            }
        for (int c = 0; c < n; ++c) {
            rows_of(g, i, n, U + 6 * c, x);
            for (int r = 0; r < n; ++r)
                D[n * r + c] = x[r];
            D[n * c + c] = add(D[n * c + c], constant(view->dof[b->iv + c].armature));
        }
        /* L d L', d inverted; the upper triangle keeps L d for later columns. */
        for (int j = 0; j < n; ++j) {
            for (int m = 0; m < j; ++m)
                D[n * j + j] = subtract(D[n * j + j], multiply(D[n * j + m], D[n * m + j]));
            const node inverse = soai_reciprocal(g, D[n * j + j]);
            for (int r = j + 1; r < n; ++r) {
                for (int m = 0; m < j; ++m)
                    D[n * r + j] = subtract(D[n * r + j], multiply(D[n * r + m], D[n * m + j]));
                D[n * j + r] = D[n * r + j];
                D[n * r + j] = multiply(D[n * r + j], inverse);
            }
            D[n * j + j] = inverse;
        }
        for (int j = 0; j < 6; ++j) {
            const int axis = axis_of(o, n, j);
            for (int c = 0; c < n; ++c) {
                if (axis < 0) {
                    x[c] = U[6 * c + j];
                } else {
                    x[c] = constant(c == axis ? o->sign[c] : 0);
                }
            }
            if (axis < 0) hinge_solve(g, i, n, x);
            for (int c = 0; c < n; ++c)
                o->G[6 * c + j] = x[c];
        }
        if (!b->parent) continue;
        g->part = PART_P_UPDATE;
        for (int c = 0; c < 6; ++c)
            for (int r = 0; r <= c; ++r) {
                node y = P[6 * r + c];
                if (axis_of(o, n, r) >= 0 || axis_of(o, n, c) >= 0)
                    y = 0; /* H P+ = 0 */
                else
                    for (int m = 0; m < n; ++m)
                        y = subtract(y, multiply(U[6 * m + r], o->G[6 * m + c]));
                after[6 * r + c] = after[6 * c + r] = y;
            }
        inertia_inward(g, &o->in, after);
        g->part = PART_P_MOVE;
        node *out = g->body_of[b->parent].P;
        for (int r = 0; r < 6; ++r)
            for (int c = r; c < 6; ++c)
                out[6 * c + r] = out[6 * r + c] = add(out[6 * r + c], after[6 * r + c]);
    }
}
/* --- composite inertias, R87 (32), (33); FO00 (9) --------------------------------------------- */
static void compose_all(soa_scalar_graph *g) {
    const soai_view_double *view = &g->m->work->view;
    for (int i = 1; i <= view->nb; ++i)
        memcpy(g->body_of[i].Mc, g->body_of[i].M, sizeof g->body_of[i].M);
    for (int i = view->nb; i >= 1; --i) {
        const int parent = view->body[i].parent;
        node moved[10];
        if (!parent) continue;
        g->body = i;
        memcpy(moved, g->body_of[i].Mc, sizeof moved);
        rigid_inward(g, &g->body_of[i].in, 0, moved);
        for (int j = 0; j < 10; ++j) {
            if (j == 0) {
                g->part = PART_MC_MASS;
            } else if (j < 4) {
                g->part = PART_MC_CENTRE;
            } else {
                g->part = PART_MC_INERTIA;
            }
            g->body_of[parent].Mc[j] = add(g->body_of[parent].Mc[j], moved[j]);
        }
    }
}
/* x = inv(Mass) x. Columns: x(i) = r H*, x(k) = phi x(k-1), m(k,i) = H x(k). Mass = L' d L from the
 * tips, which keeps the zeros between branches; then two triangular solves. */
static int mass_solve(soa_scalar_graph *g, node *x) {
    const soai_view_double *view = &g->m->work->view;
    const int n = view->nv;
    node *M = soai_zeroed((size_t)n * (size_t)n + 1, sizeof *M);
    int *owner = soai_zeroed((size_t)n + 1, sizeof *owner);
    if (!M || !owner) {
        free(M);
        free(owner);
        return 0;
    }
#define AT(r, c) M[(size_t)n * (size_t)(r) + (size_t)(c)]
    compose_all(g);
    for (int i = view->nb; i >= 1; --i) {
        const soai_body_double *b = view->body + i;
        g->body = i;
        for (int c = 0; c < b->nv; ++c) {
            node f[6], y[6];
            g->part = PART_COLUMN;
            owner[b->iv + c] = i;
            rigid(g, g->body_of[i].Mc, g->body_of[i].H + 6 * c, f);
            for (int k = i; k; k = view->body[k].parent) {
                const soai_body_double *a = view->body + k;
                rows_of(g, k, a->nv, f, y);
                for (int r = 0; r < a->nv; ++r)
                    if (k != i || r <= c) AT(b->iv + c, a->iv + r) = y[r];
                marks(g, PART_COLUMN_TURN, PART_COLUMN_MOVE);
                if (a->parent) force_inward(g, &g->body_of[k].in, f, f);
            }
            AT(b->iv + c, b->iv + c) =
                add(AT(b->iv + c, b->iv + c), constant(view->dof[b->iv + c].armature));
        }
    }
    g->part = PART_FACTOR;
    for (int k = n - 1; k >= 0; --k) { /* row k: L below the diagonal, 1/d on it */
        g->body = owner[k];
        AT(k, k) = soai_reciprocal(g, AT(k, k));
        for (int i = k - 1; i >= 0; --i) {
            const node l = multiply(AT(k, i), AT(k, k));
            for (int j = i; j >= 0; --j)
                AT(i, j) = subtract(AT(i, j), multiply(l, AT(k, j)));
            AT(k, i) = l;
        }
    }
    g->part = PART_SOLVE;
    for (int k = n - 1; k >= 0; --k) {
        g->body = owner[k];
        for (int i = k - 1; i >= 0; --i)
            x[i] = subtract(x[i], multiply(AT(k, i), x[k]));
    }
    for (int k = 0; k < n; ++k) {
        g->body = owner[k];
        x[k] = multiply(x[k], AT(k, k));
        for (int i = 0; i < k; ++i)
            x[k] = subtract(x[k], multiply(AT(k, i), x[i]));
    }
#undef AT
    free(M);
    free(owner);
    return 1;
}

/* --- the plan's operations -------------------------------------------------------------------- */
/* psi x with x = sum of coefficient * value. Values of the form K t (a shift of Delta_phi G t)
 * enter through the innovation. */
enum { MOST_SOURCES = 16 };
typedef struct sources {
    int count, value[MOST_SOURCES], torque[MOST_SOURCES]; /* torque: the value is t of K t */
    double factor[MOST_SOURCES];
} sources;
static int gather(const builder *bl, int v, double factor, sources *s) {
    const value *x = bl->v + v;
    if (x->code == OP_SUM)
        return gather(bl, x->a, factor * x->x, s) &&
               (x->b < 0 || gather(bl, x->b, factor * x->y, s));
    int torque = 0;
    if (x->code == OP_SHIFT && bl->v[x->a].code == OP_X && bl->v[bl->v[x->a].a].code == OP_G) {
        v = bl->v[bl->v[x->a].a].a;
        torque = 1;
    }
    if (s->count == MOST_SOURCES) return 0;
    s->value[s->count] = v;
    s->torque[s->count] = torque;
    s->factor[s->count++] = factor;
    return 1;
}
static void sources_of(const builder *bl, int v, sources *s) {
    *s = (sources){0};
    if (!gather(bl, bl->v[v].a, 1, s))
        *s = (sources){.count = 1, .value = {bl->v[v].a}, .factor = {1}};
}
/* Marks the values that the result needs when psi takes its sources as above. */
static void want(const builder *bl, int v, char *wanted) {
    if (v < 0 || wanted[v]) return;
    wanted[v] = 1;
    if (bl->v[v].code == OP_PSI) {
        sources s;
        sources_of(bl, v, &s);
        for (int i = 0; i < s.count; ++i)
            want(bl, s.value[i], wanted);
        return;
    }
    if (bl->v[v].code == OP_INPUT) return;
    want(bl, bl->v[v].a, wanted);
    if (bl->v[v].code == OP_SUM) want(bl, bl->v[v].b, wanted);
}
static void filter_step(soa_scalar_graph *g, const builder *bl, node **slot, int self, int i) {
    const soai_body_double *b = g->m->work->view.body + i;
    const graph_body *o = g->body_of + i;
    const int n = b->nv;
    sources s;
    node *y = slot[self] + 6 * i, z[6], e[6], torque[6] = {0};
    sources_of(bl, self, &s);
    g->part = PART_Z_MOVE;
    for (int k = 0; k < s.count; ++k)
        for (int j = 0; j < (s.torque[k] ? n : 6); ++j) {
            node *to = s.torque[k] ? torque + j : y + j;
            *to = multiply_add(g, constant(s.factor[k]),
                               slot[s.value[k]][(s.torque[k] ? b->iv : 6 * i) + j], *to);
        }
    if (!b->parent) return;
    g->part = PART_INNOVATION;
    rows_of(g, i, n, y, e);
    for (int c = 0; c < n; ++c)
        e[c] = subtract(torque[c], e[c]);
    g->part = PART_Z_UPDATE;
    for (int j = 0; j < 6; ++j) {
        const int axis = axis_of(o, n, j);
        z[j] = y[j];
        for (int c = 0; axis < 0 && c < n; ++c)
            z[j] = multiply_add(g, o->G[6 * c + j], e[c], z[j]);
        /* H z+ = T */
        if (axis >= 0) z[j] = o->sign[axis] > 0 ? torque[axis] : negate(torque[axis]);
    }
    marks(g, PART_Z_TURN, PART_Z_MOVE);
    force_inward(g, &o->in, z, z);
    g->part = PART_Z_MOVE;
    for (int j = 0; j < 6; ++j)
        slot[self][6 * b->parent + j] = add(slot[self][6 * b->parent + j], z[j]);
}
/* Delta(i) = psi'(p,i) Delta(p) psi(p,i) + H' inv(D) H, R87 (81), (82), outward */
static void costate(soa_scalar_graph *g, int i) {
    const soai_body_double *b = g->m->work->view.body + i;
    const int n = b->nv;
    graph_body *o = g->body_of + i;
    node psi[6][6], moved[6][6] = {{0}};
    g->body = i;
    marks(g, PART_COSTATE, PART_COSTATE);
    g->part = PART_COSTATE;
    for (int c = 0; c < 6; ++c) { /* columns of psi(p, i) = phi (I - G H) */
        node e[6] = {0}, h[6];
        e[c] = constant(1);
        rows_of(g, i, n, e, h);
        for (int j = 0; j < 6; ++j)
            for (int d = 0; d < n; ++d)
                e[j] = subtract(e[j], multiply(o->G[6 * d + j], h[d]));
        force_inward(g, &o->in, e, psi[c]);
    }
    const node *before = g->body_of[b->parent].costate;
    for (int c = 0; b->parent && c < 6; ++c)
        for (int r = 0; r < 6; ++r)
            for (int j = 0; j < 6; ++j)
                moved[c][r] = multiply_add(g, psi[c][j], before[6 * j + r], moved[c][r]);
    for (int c = 0; c < 6; ++c) {
        node e[6] = {0}, h[6], y[6];
        e[c] = constant(1);
        rows_of(g, i, n, e, h);
        hinge_solve(g, i, n, h);
        columns_of(g, i, n, h, y);
        for (int r = 0; r <= c; ++r) {
            for (int j = 0; b->parent && j < 6; ++j)
                y[r] = multiply_add(g, moved[r][j], psi[c][j], y[r]);
            o->costate[6 * r + c] = o->costate[6 * c + r] = y[r];
        }
    }
}
/* sqrt(D) of a body, lower triangle: D = L d L' of which o->D holds L and 1/d */
static void root_of_hinge(soa_scalar_graph *g, const graph_body *o, int n, node C[36]) {
    memset(C, 0, 36 * sizeof *C);
    for (int c = 0; c < n; ++c) {
        C[n * c + c] = soai_square_root(g, soai_reciprocal(g, o->D[n * c + c]));
        for (int r = c + 1; r < n; ++r)
            C[n * r + c] = multiply(o->D[n * r + c], C[n * c + c]);
    }
}
/* One operation of the plan at one body. */
typedef struct op_at {
    const soai_body_double *b;
    const graph_body *o;
    int i, n;           /* the body, and the degrees of freedom of its joint */
    const value *v;     /* the operation */
    const node *a, *c;  /* its argument and, of a sum, its second one: all entries */
    const node *x, *xj; /* the argument's entries of this body and of its joint */
    node *all, *y, *yj; /* the same of the result */
} op_at;
static op_at op_at_body(soa_scalar_graph *g, const builder *bl, node **slot, int self, int i) {
    const soai_body_double *b = g->m->work->view.body + i;
    const value *v = bl->v + self;
    op_at at = {.b = b, .o = g->body_of + i, .i = i, .n = b->nv, .v = v};
    at.all = slot[self];
    at.y = at.all + 6 * i;
    at.yj = at.all + b->iv;
    if (v->a >= 0) {
        at.a = slot[v->a];
        at.x = at.a + 6 * i;
        at.xj = at.a + b->iv;
    }
    if (v->code == OP_SUM && v->b >= 0) at.c = slot[v->b];
    return at;
}

/* y += x,  y(parent) += phi y */
static void phi(soa_scalar_graph *g, op_at at) {
    node moved[6];
    g->part = PART_PHI;
    for (int j = 0; j < 6; ++j)
        at.y[j] = add(at.y[j], at.x[j]);
    if (!at.b->parent) return;
    node *parent = at.all + 6 * at.b->parent;
    force_inward(g, &at.o->in, at.y, moved);
    for (int j = 0; j < 6; ++j)
        parent[j] = add(parent[j], moved[j]);
}
/* y = x + phi* y(parent) */
static void phi_adjoint(soa_scalar_graph *g, op_at at) {
    node t[6] = {0};
    g->part = PART_PHI;
    if (at.b->parent) motion_outward(g, &at.o->in, at.all + 6 * at.b->parent, t);
    for (int j = 0; j < 6; ++j)
        at.y[j] = add(at.x[j], t[j]);
}
/* y = x + (I - H* G*) phi* y(parent) */
static void psi_adjoint(soa_scalar_graph *g, op_at at) {
    const graph_body *o = at.o;
    node t[6] = {0}, e[6], back[6] = {0};
    marks(g, PART_L_TURN, PART_L_MOVE);
    if (at.b->parent) motion_outward(g, &o->in, at.all + 6 * at.b->parent, t);
    g->part = PART_ACCELERATION;
    if (at.b->parent && o->free_axes)
        gain_rest(g, at.i, at.n, t, e);
    else if (at.b->parent)
        gain_adjoint(g, at.i, at.n, t, e);
    g->part = PART_L_UPDATE;
    if (at.b->parent) columns_of(g, at.i, at.n, e, back);
    for (int j = 0; j < 6; ++j) /* Row of H: I - H' G' is known. */
        at.y[j] = add(subtract(at.x[j], back[j]), axis_of(o, at.n, j) >= 0 ? 0 : t[j]);
}
/* y(parent) += x,  y = x(parent) */
static void shift(soa_scalar_graph *g, op_at at) {
    for (int j = 0; at.b->parent && j < 6; ++j)
        at.all[6 * at.b->parent + j] = add(at.all[6 * at.b->parent + j], at.x[j]);
}
static void shift_adjoint(op_at at) {
    for (int j = 0; j < 6; ++j)
        at.y[j] = at.b->parent ? at.a[6 * at.b->parent + j] : 0;
}
/* y = G x */
static void gain(soa_scalar_graph *g, op_at at) {
    node t[6] = {0};
    g->part = PART_Z_UPDATE;
    for (int j = 0; j < 6; ++j)
        for (int c = 0; c < at.n; ++c)
            t[j] = multiply_add(g, at.o->G[6 * c + j], at.xj[c], t[j]);
    memcpy(at.y, t, sizeof t);
}
/* y = P x */
static void articulated_inertia(soa_scalar_graph *g, op_at at) {
    node t[6] = {0};
    g->part = PART_INERTIA;
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            t[r] = multiply_add(g, at.o->P[6 * r + c], at.x[c], t[r]);
    memcpy(at.y, t, sizeof t);
}
/* y = D x,  D = L d L' of which D holds L and 1/d */
static void hinge_multiply(soa_scalar_graph *g, op_at at) {
    const int n = at.n;
    const node *D = at.o->D;
    node t[6] = {0};
    g->part = PART_RESIDUAL;
    for (int r = 0; r < n; ++r) {
        t[r] = at.xj[r];
        for (int m = r + 1; m < n; ++m)
            t[r] = multiply_add(g, D[n * m + r], at.xj[m], t[r]);
        t[r] = multiply(t[r], soai_reciprocal(g, D[n * r + r]));
    }
    for (int r = 0; r < n; ++r) {
        at.yj[r] = t[r];
        for (int m = 0; m < r; ++m)
            at.yj[r] = multiply_add(g, D[n * r + m], t[m], at.yj[r]);
    }
}
static void rotor_inertia(soa_scalar_graph *g, op_at at) {
    const soai_view_double *view = &g->m->work->view;
    for (int c = 0; c < at.n; ++c)
        at.yj[c] = multiply(constant(view->dof[at.b->iv + c].armature), at.xj[c]);
}
/* Forces at the tips of this body, moved to its origin (inward), or its motion at the tips. */
static void tips(soa_scalar_graph *g, op_at at, int inward) {
    marks(g, PART_REST, PART_REST);
    if (inward) memset(at.y, 0, 6 * sizeof *at.y);
    for (int f = 0; f < g->m->tips.count; ++f) {
        if (g->m->tips.body[f] != at.i) continue;
        passage way = {0};
        graph_step *r = next_step(&way, STEP_ROTATE), *p = next_step(&way, STEP_MOVE);
        for (int j = 0; j < 9; ++j)
            r->R[j] = constant(clean(g->m->tips.R[9 * f + j]));
        for (int j = 0; j < 3; ++j)
            p->p[j] = constant(g->m->tips.p[3 * f + j]);
        if (at.o->world.count) way.step[way.count++] = at.o->world.step[0];
        if (!inward) {
            motion_outward(g, &way, at.x, at.all + 6 * f);
            continue;
        }
        node t[6];
        force_inward(g, &way, at.a + 6 * f, t);
        for (int j = 0; j < 6; ++j)
            at.y[j] = add(at.y[j], t[j]);
    }
}
/* The base's motion at the bodies on it, and their forces on the base. */
static void base_motion(soa_scalar_graph *g, op_at at) {
    memset(at.y, 0, 6 * sizeof *at.y);
    if (!at.b->parent) motion_outward(g, &at.o->in, at.a, at.y);
}
static void base_force(soa_scalar_graph *g, op_at at) {
    node t[6];
    if (at.b->parent) return;
    force_inward(g, &at.o->in, at.x, t);
    for (int j = 0; j < 6; ++j)
        at.all[j] = add(at.all[j], t[j]);
}
/* y = x x H* thd + (apparent rate of H*) thd, R87 (15); x is the body's velocity */
static void bias_acceleration(soa_scalar_graph *g, op_at at) {
    const node *H = at.o->H;
    node rate[6], e[6], a[3], c[3], s[3], *y = at.y;
    g->part = PART_BIAS;
    for (int k = 0; k < at.n; ++k)
        e[k] = input(g, IN_THD, at.b->iv + k);
    columns_of(g, at.i, at.n, e, rate);
    cross(g, at.x, rate, y);
    cross(g, at.x, rate + 3, a);
    cross(g, at.x + 3, rate, c);
    for (int j = 0; j < 3; ++j)
        y[3 + j] = add(a[j], c[j]);
    if (at.b->type == SOAI_JOINT_UNIVERSAL) {
        cross(g, H, H + 6, a);
        for (int j = 0; j < 3; ++j)
            y[j] = add(y[j], multiply(a[j], multiply(e[1], e[0])));
    } else if (at.b->type == SOAI_JOINT_PLANAR) {
        for (int j = 0; j < 3; ++j)
            s[j] = add(multiply(H[3 + j], e[0]), multiply(H[9 + j], e[1]));
        cross(g, s, H + 12, a);
        for (int j = 0; j < 3; ++j)
            y[3 + j] = add(y[3 + j], multiply(a[j], e[2]));
    }
}
/* y = x x* M x; x is the body's velocity */
static void bias_force(soa_scalar_graph *g, op_at at) {
    node h[6], a[3], c[3], d[3];
    g->part = PART_BIAS;
    rigid(g, at.o->M, at.x, h);
    cross(g, at.x, h, a);
    cross(g, at.x + 3, h + 3, c);
    cross(g, at.x, h + 3, d);
    for (int j = 0; j < 3; ++j) {
        at.y[j] = add(a[j], c[j]);
        at.y[3 + j] = d[j];
    }
}
/* Entries first to end - 1 of the result:  s a + u c */
static void sum_entries(soa_scalar_graph *g, op_at at, node s, node u, int first, int end) {
    for (int j = first; j < end; ++j)
        at.all[j] = add(multiply(s, at.a[j]), at.c ? multiply(u, at.c[j]) : 0);
}
static void sum(soa_scalar_graph *g, op_at at) {
    const soai_tips *tips = &g->m->tips;
    const node s = constant(at.v->x), u = constant(at.v->y);
    if (at.v->space == SOA_SPACE_TIP) {
        for (int f = 0; f < tips->count; ++f)
            if (tips->body[f] == at.i) sum_entries(g, at, s, u, 6 * f, 6 * f + 6);
    } else if (at.v->space == SOA_SPACE_JOINT) {
        g->part = g->inward ? PART_INNOVATION : PART_ACCELERATION;
        sum_entries(g, at, s, u, at.b->iv, at.b->iv + at.n);
    } else {
        sum_entries(g, at, s, u, 6 * at.i, 6 * at.i + 6);
    }
}
/* x = C^-1 x, or C'^-1 x */
static void root_solve(soa_scalar_graph *g, int n, const node C[36], int turned, node x[6]) {
    for (int k = 0; k < n; ++k) {
        const int r = turned ? n - 1 - k : k;
        for (int m = 0; m < k; ++m) {
            const int c = turned ? n - 1 - m : m;
            x[r] = subtract(x[r], multiply(C[turned ? n * c + r : n * r + c], x[c]));
        }
        x[r] = multiply(x[r], soai_reciprocal(g, C[n * r + r]));
    }
}
/* y = A x or A' x of the block of this body */
static void block_multiply_at(soa_scalar_graph *g, int n, const node *A, int turned, const node *x,
                              node *y) {
    node t[6] = {0};
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            t[r] = multiply_add(g, A[turned ? n * c + r : n * r + c], x[c], t[r]);
    memcpy(y, t, (size_t)n * sizeof *t);
}
static void blocks(soa_scalar_graph *g, op_at at, int turned) {
    const int joint = at.v->space == SOA_SPACE_JOINT, n = joint ? at.n : 6;
    const int leaf = at.v->leaf->leaf;
    const node *x = joint ? at.xj : at.x;
    node A[36], *y = joint ? at.yj : at.y;
    g->part = PART_COSTATE;
    if (leaf == LEAF_COSTATE) {
        block_multiply_at(g, 6, at.o->costate, 0, x, y);
    } else if (leaf == LEAF_ROOT) {
        root_of_hinge(g, at.o, n, A);
        block_multiply_at(g, n, A, turned, x, y);
    } else if (leaf == LEAF_ROOTINV) {
        node t[6];
        root_of_hinge(g, at.o, n, A);
        memcpy(t, x, (size_t)n * sizeof *t);
        root_solve(g, n, A, turned, t);
        memcpy(y, t, (size_t)n * sizeof *t);
    } else {
        int first = soai_graph_own(g, at.v->leaf);
        if (first < 0) {
            g->refused = 1;
            return;
        }
        for (int i = 1; i < at.i; ++i) {
            const int side = joint ? g->m->work->view.body[i].nv : 6;
            first += side * side;
        }
        for (int j = 0; j < n * n; ++j)
            A[j] = input(g, IN_OWN, first + j);
        g->part = PART_REST;
        block_multiply_at(g, n, A, turned, x, y);
    }
}
/* Forces of constraint rows on this body (inward), or its motion in the rows. */
static void constraint_rows(soa_scalar_graph *g, op_at at, int inward) {
    const soai_tips *tips = &g->m->tips;
    const int own = soai_graph_own(g, at.v->leaf);
    node x[6] = {0};
    g->part = PART_REST;
    marks(g, PART_REST, PART_REST);
    if (!inward) motion_outward(g, &at.o->world, at.x, x); /* to the body's axes */
    for (int t = tips->first[at.i]; t < tips->first[at.i + 1]; ++t)
        for (int j = 0; j < 6; ++j) {
            const node w = input(g, IN_OWN, own + 6 * t + j);
            if (inward)
                x[j] = multiply_add(g, w, at.a[tips->row[t]], x[j]);
            else
                at.all[tips->row[t]] = multiply_add(g, w, x[j], at.all[tips->row[t]]);
        }
    if (inward) force_inward(g, &at.o->world, x, at.y);
}
/* y = [0; omega x v] */
static void centripetal(soa_scalar_graph *g, op_at at) {
    g->part = PART_BIAS;
    memset(at.y, 0, 6 * sizeof *at.y);
    cross(g, at.x, at.x + 3, at.y + 3);
}
static void operation(soa_scalar_graph *g, const builder *bl, node **slot, int self, int i) {
    const op_at at = op_at_body(g, bl, slot, self, i);
    marks(g, PART_PHI, PART_PHI);
    g->part = PART_REST;
    switch (at.v->code) {
    case OP_PSI: filter_step(g, bl, slot, self, i); break;
    case OP_PSI_T: psi_adjoint(g, at); break;
    case OP_PHI: phi(g, at); break;
    case OP_PHI_T: phi_adjoint(g, at); break;
    case OP_SHIFT: shift(g, at); break;
    case OP_SHIFT_T: shift_adjoint(at); break;
    case OP_X: force_inward(g, &at.o->in, at.x, at.y); break;
    case OP_X_T: motion_outward(g, &at.o->in, at.x, at.y); break;
    case OP_H:
        g->part = PART_INNOVATION;
        rows_of(g, i, at.n, at.x, at.yj);
        break;
    case OP_H_T: columns_of(g, i, at.n, at.xj, at.y); break;
    case OP_G: gain(g, at); break;
    case OP_G_T:
        g->part = PART_ACCELERATION;
        gain_adjoint(g, i, at.n, at.x, at.yj);
        break;
    case OP_P: articulated_inertia(g, at); break;
    case OP_M:
    case OP_MC:
        g->part = PART_INERTIA;
        rigid(g, at.v->code == OP_M ? at.o->M : at.o->Mc, at.x, at.y);
        break;
    case OP_D: hinge_multiply(g, at); break;
    case OP_DINV:
        g->part = PART_RESIDUAL;
        memcpy(at.yj, at.xj, (size_t)at.n * sizeof *at.yj);
        hinge_solve(g, i, at.n, at.yj);
        break;
    case OP_JR: rotor_inertia(g, at); break;
    case OP_B: tips(g, at, 1); break;
    case OP_B_T: tips(g, at, 0); break;
    case OP_E: base_motion(g, at); break;
    case OP_E_T: base_force(g, at); break;
    case OP_BIAS: bias_acceleration(g, at); break;
    case OP_FORCE: bias_force(g, at); break;
    case OP_SUM: sum(g, at); break;
    case OP_BLOCKS:
    case OP_HINGES: blocks(g, at, 0); break;
    case OP_BLOCKS_T:
    case OP_HINGES_T: blocks(g, at, 1); break;
    case OP_AT:
        for (int j = 0; j < 6; ++j)
            at.y[j] = i == soai_link_named(g->m->model, at.v->leaf->name, NULL, 0) ? at.x[j] : 0;
        break;
    case OP_CENTRIPETAL: centripetal(g, at); break;
    case OP_BC: constraint_rows(g, at, 1); break;
    case OP_BC_T: constraint_rows(g, at, 0); break;
    default: break;
    }
}

/* --- filling the graph ------------------------------------------------------------------------ */
/* The nodes of a vector that is data; 0 if it has no name in C. */
static int data(soa_scalar_graph *g, const value *v, node *slot, size_t n) {
    const int leaf = v->leaf ? v->leaf->leaf : -1;
    int array;
    if (leaf == LEAF_THD) {
        array = IN_THD;
    } else if (leaf == LEAF_THDD) {
        array = IN_THDD;
    } else if (leaf == LEAF_TORQUE) {
        array = IN_T;
    } else if (leaf == LEAF_TIPFORCE) {
        array = IN_F0;
    } else {
        array = -1;
    }
    g->body = 0;
    g->part = PART_REST;
    if (leaf == LEAF_ZERO) return 1;
    if (leaf == LEAF_VARIABLE || (leaf >= 0 && soai_is_closure(leaf))) {
        const int first = soai_graph_own(g, v->leaf);
        const size_t start = soai_slot_start(v->space);
        for (size_t j = start; first >= 0 && j < n; ++j)
            slot[j] = input(g, IN_OWN, first + (int)(j - start));
        return first >= 0;
    }
    if (leaf == LEAF_BASEACC)
        for (int j = 0; j < 6; ++j)
            slot[j] = parameter(g->m->base[j]);
    else
        for (size_t j = 0; array >= 0 && j < n; ++j)
            slot[j] = input(g, array, (int)j);
    return leaf == LEAF_BASEACC || array >= 0;
}
/* The values of a plan while it runs over nodes. */
typedef struct values {
    node **slot;
    char *wanted;
} values;
static void values_free(const builder *bl, values *x) {
    for (int v = 0; x->slot && v < bl->count; ++v)
        free(x->slot[v]);
    free(x->slot);
    free(x->wanted);
    *x = (values){0};
}
/* Places for the values, inputs filled in; column >= 0: the unknown vector is that unit vector. */
static int values_begin(soa_scalar_graph *g, const soa_plan *plan, int column, values *x) {
    const builder *bl = plan->values;
    x->slot = soai_zeroed((size_t)bl->count + 1, sizeof *x->slot);
    x->wanted = soai_zeroed((size_t)bl->count + 1, 1);
    if (!x->slot || !x->wanted) return 0;
    want(bl, plan->last, x->wanted);
    for (int v = 0; v < bl->count; ++v) {
        const value *from = bl->v + v;
        const size_t n = soai_slot_size(g->m, from->space);
        x->slot[v] = soai_zeroed(n + 1, sizeof **x->slot);
        if (!x->slot[v]) return 0;
        if (x->wanted[v] && from->code >= OP_CROSS && from->code <= OP_LINEAR) return 0;
        if (from->code != OP_INPUT) continue;
        if (!from->leaf && column >= 0)
            x->slot[v][soai_slot_start(from->space) + (size_t)column] = constant(1);
        else if (!data(g, from, x->slot[v], n))
            return 0;
    }
    return 1;
}
static int run(soa_scalar_graph *g, const soa_plan *plan, values *x);

/* A product or a solve with a small matrix, between sweeps. */
static int dense_step(soa_scalar_graph *g, const soa_plan *plan, const solve *s, values *x) {
    const value *v = plan->values->v + s->value;
    const size_t from = soai_slot_start(plan->values->v[v->a].space),
                 to = soai_slot_start(v->space);
    const node *in = x->slot[v->a] + from;
    node *out = x->slot[s->value] + to;
    g->body = 0;
    g->part = PART_DENSE;
    if (v->code == OP_MATRIX) {
        return soai_graph_matrix(g, v->leaf, v->b, in, out);
    }
    if (v->code == OP_PSEUDO) return 0;
    for (int j = 0; v->code == OP_SUM && j < g->m->size[v->space]; ++j)
        out[j] = add(multiply(constant(v->x), in[j]),
                     v->b >= 0 ? multiply(constant(v->y), x->slot[v->b][j]) : 0);
    if (v->code == OP_SUM) return 1;
    const int n = s->rows;
    node *A = soai_zeroed((size_t)n * (size_t)n + 1, sizeof *A);
    int fine = A != NULL;
    for (int c = 0; fine && c < n; ++c) {
        values inner = {0};
        fine = values_begin(g, s->plan, c, &inner) && run(g, s->plan, &inner);
        for (int r = 0; fine && r < n; ++r)
            A[s->turned ? n * c + r : n * r + c] = inner.slot[s->plan->last][r];
        values_free(s->plan->values, &inner);
    }
    g->body = 0;
    g->part = PART_DENSE;
    if (fine) {
        memcpy(out, in, (size_t)n * sizeof *out);
        soai_graph_solve(g, n, A, out);
    }
    free(A);
    return fine;
}
static int run(soa_scalar_graph *g, const soa_plan *plan, values *x) {
    const builder *bl = plan->values;
    const int nb = g->m->work->view.nb;
    for (int level = -1; level < plan->passes; ++level) {
        const int inward = (level % 2 == 0 ? plan->first : -plan->first) > 0;
        for (int n = 1; level >= 0 && n <= nb; ++n) {
            const int i = inward ? nb + 1 - n : n;
            g->inward = inward;
            g->body = i;
            for (int v = 0; v < bl->count; ++v)
                if (x->wanted[v] && bl->v[v].level == level && bl->v[v].code != OP_INPUT &&
                    !soai_between_sweeps(bl->v + v))
                    operation(g, bl, x->slot, v, i);
        }
        for (int i = 0; i < plan->solve_count; ++i)
            if (bl->v[plan->solves[i].value].level == level && x->wanted[plan->solves[i].value] &&
                !dense_step(g, plan, plan->solves + i, x))
                return 0;
    }
    return !g->refused;
}
/* What the plan and those of its solves need before they run. */
enum { NEEDS_P = 1, NEEDS_MC = 2, NEEDS_COSTATE = 4 };
static int needs_of(const soa_plan *plan) {
    int needs = (plan->articulates ? NEEDS_P : 0) | (plan->composes ? NEEDS_MC : 0);
    for (int i = 0; i < plan->block_count; ++i)
        needs |= plan->blocks[i]->leaf == LEAF_COSTATE ? NEEDS_COSTATE : 0;
    for (int i = 0; i < plan->solve_count; ++i)
        needs |= plan->solves[i].plan ? needs_of(plan->solves[i].plan) : 0;
    return needs;
}
int soai_graph_fill(soa_scalar_graph *g, const soa_plan *plan, int by_matrix, node *out) {
    const builder *bl = plan->values;
    const soai_view_double *view = &g->m->work->view;
    const int space = bl->v[plan->last].space, needs = needs_of(plan),
              links = space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
    values x = {0};
    int fine = !by_matrix || space == SOA_SPACE_JOINT;
    if (fine) {
        soai_graph_pose(g);
        if (needs & NEEDS_P) articulate_all(g);
        if (needs & NEEDS_MC) compose_all(g);
        for (int i = 1; (needs & NEEDS_COSTATE) && i <= view->nb; ++i)
            costate(g, i);
        fine = values_begin(g, plan, -1, &x) && run(g, plan, &x);
    }
    if (fine) memcpy(out, x.slot[plan->last] + (links ? 6 : 0), (size_t)g->out_count * sizeof *out);
    /* To the axes in which link and edge vectors are returned. */
    for (int i = 1; fine && links && i <= view->nb; ++i) {
        const int frame = space == SOA_SPACE_LINK ? i : view->body[i].parent;
        const passage *world = &g->body_of[frame].world;
        node *to = out + 6 * (i - 1);
        g->body = i;
        g->part = PART_REST;
        for (int half = 0; world->count && half < 2; ++half)
            turn(g, world->step, 1, to + 3 * half, to + 3 * half);
    }
    if (fine && by_matrix) fine = mass_solve(g, out);
    values_free(bl, &x);
    return fine;
}
