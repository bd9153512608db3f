/* graph.c  a plan as a graph of scalars, for one model: every product and sum that is left when known zeros, ones and
 *          constants have been removed and equal results are computed once.  Behind soa_plan_count and soa_plan_emit_c.
 *
 * The steps are written here once more over graph nodes instead of numbers (C has no other way to trace them); the test
 * `operators` compares what the emitted code computes with what the sweeps compute.                                   */
#include "../dynamics/joint_types.h"
#include "plan.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef int node; /* index; 0 is the constant zero */
enum { CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, SINE, COSINE };
typedef struct graph_row {
    int op, a, b, body; /* INPUT: a names the array, b the place */
    double value;
    int next; /* in its bucket */
} graph_row;
enum { BUCKETS = 1 << 16, MOST_NODES = 4000000 };
typedef struct graph {
    const soa_machine *m;
    graph_row *r;
    int count, room, body, failed;
    int *bucket;
    node *R, *p, *H, *P, *U,
        *D; /* per body 9, 3; per dof 6; per body 36; per dof 6; entries of the D blocks (factors) */
} graph;

static node make(graph *g, int op, int a, int b, double number) {
    if (g->failed) return 0;
    unsigned h = (unsigned)op * 31u + (unsigned)a * 2654435761u + (unsigned)b * 40503u;
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    h ^= (unsigned)(bits ^ bits >> 32) * 97u;
    h = (h ^ h >> 15) % BUCKETS;
    for (int i = g->bucket[h]; i >= 0; i = g->r[i].next)
        if (g->r[i].op == op && g->r[i].a == a && g->r[i].b == b && !memcmp(&g->r[i].value, &number, sizeof number))
            return i;
    if (g->count == g->room) {
        graph_row *more = g->room < MOST_NODES ? realloc(g->r, (size_t)(2 * g->room + 1024) * sizeof *more) : NULL;
        if (!more) {
            g->failed = 1;
            return 0;
        }
        g->r = more, g->room = 2 * g->room + 1024;
    }
    g->r[g->count] = (graph_row){op, a, b, g->body, number, g->bucket[h]};
    return g->bucket[h] = g->count++;
}
static node constant(graph *g, double x) {
    return make(g, CONSTANT, 0, 0, x + 0.0);
}
static int is(const graph *g, node x, double number) {
    return g->r[x].op == CONSTANT && g->r[x].value == number;
}
static int both_constant(const graph *g, node x, node y) {
    return g->r[x].op == CONSTANT && g->r[y].op == CONSTANT;
}
static node negate(graph *g, node x) {
    if (g->r[x].op == CONSTANT) return constant(g, 0.0 - g->r[x].value);
    if (g->r[x].op == NEGATE) return g->r[x].a;
    if (g->r[x].op == SUBTRACT) return make(g, SUBTRACT, g->r[x].b, g->r[x].a, 0);
    return make(g, NEGATE, x, 0, 0);
}
static node subtract(graph *g, node x, node y);
static node add(graph *g, node x, node y) {
    if (both_constant(g, x, y)) return constant(g, g->r[x].value + g->r[y].value);
    if (is(g, x, 0)) return y;
    if (is(g, y, 0)) return x;
    if (g->r[y].op == NEGATE) return subtract(g, x, g->r[y].a);
    if (g->r[x].op == NEGATE) return subtract(g, y, g->r[x].a);
    return x < y ? make(g, ADD, x, y, 0) : make(g, ADD, y, x, 0);
}
static node subtract(graph *g, node x, node y) {
    if (both_constant(g, x, y)) return constant(g, g->r[x].value - g->r[y].value);
    if (is(g, y, 0)) return x;
    if (is(g, x, 0)) return negate(g, y);
    if (x == y) return 0;
    if (g->r[y].op == NEGATE) return add(g, x, g->r[y].a);
    return make(g, SUBTRACT, x, y, 0);
}
static node multiply(graph *g, node x, node y) {
    if (both_constant(g, x, y)) return constant(g, g->r[x].value * g->r[y].value);
    if (is(g, x, 0) || is(g, y, 0)) return 0;
    if (is(g, x, 1)) return y;
    if (is(g, y, 1)) return x;
    if (is(g, x, -1)) return negate(g, y);
    if (is(g, y, -1)) return negate(g, x);
    if (g->r[x].op == NEGATE) return negate(g, multiply(g, g->r[x].a, y));
    if (g->r[y].op == NEGATE) return negate(g, multiply(g, x, g->r[y].a));
    return x < y ? make(g, MULTIPLY, x, y, 0) : make(g, MULTIPLY, y, x, 0);
}
static node divide(graph *g, node x, node y) {
    if (both_constant(g, x, y)) return constant(g, g->r[x].value / g->r[y].value);
    if (is(g, x, 0)) return 0;
    if (g->r[x].op == NEGATE) return negate(g, divide(g, g->r[x].a, y));
    return make(g, DIVIDE, x, y, 0);
}
static node multiply_add(graph *g, node x, node y, node z) {
    return add(g, z, multiply(g, x, y));
}

/* ---- spatial steps over nodes -------------------------------------------------------------------------------------- */
static void cross(graph *g, const node *a, const node *b, node out[3]) {
    for (int i = 0; i < 3; ++i) {
        const int n = (i + 1) % 3, l = (i + 2) % 3;
        out[i] = subtract(g, multiply(g, a[n], b[l]), multiply(g, a[l], b[n]));
    }
}
static void turn(graph *g, const node R[9], int back, const node x[3], node out[3]) {
    node y[3];
    for (int i = 0; i < 3; ++i) {
        y[i] = 0;
        for (int j = 0; j < 3; ++j) y[i] = multiply_add(g, R[back ? 3 * j + i : 3 * i + j], x[j], y[i]);
    }
    memcpy(out, y, sizeof y);
}
static void force_inward(graph *g, const node R[9], const node p[3], const node f[6], node out[6]) {
    node c[3];
    turn(g, R, 0, f, out), turn(g, R, 0, f + 3, out + 3);
    cross(g, p, out + 3, c);
    for (int j = 0; j < 3; ++j) out[j] = add(g, out[j], c[j]);
}
static void motion_outward(graph *g, const node R[9], const node p[3], const node V[6], node out[6]) {
    node c[3], v[3];
    cross(g, V, p, c);
    for (int j = 0; j < 3; ++j) v[j] = add(g, V[3 + j], c[j]);
    turn(g, R, 1, V, out), turn(g, R, 1, v, out + 3);
}
static void rigid(graph *g, const double M[10], const node V[6], node f[6]) {
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    node h[3], a[3], b[3];
    for (int j = 0; j < 3; ++j) h[j] = constant(g, M[1 + j]);
    cross(g, h, V + 3, a), cross(g, h, V, b);
    for (int i = 0; i < 3; ++i) {
        node n = a[i];
        for (int j = 0; j < 3; ++j) n = multiply_add(g, constant(g, M[4 + at[i][j]]), V[j], n);
        f[i] = n;
        f[3 + i] = subtract(g, multiply(g, constant(g, M[0]), V[3 + i]), b[i]);
    }
}
static void columns_of(graph *g, const soai_body_double *b, int i, const node *x, node y[6]) { /* y = H' x */
    (void)i;
    for (int j = 0; j < 6; ++j) {
        y[j] = 0;
        for (int c = 0; c < b->nv; ++c) y[j] = multiply_add(g, g->H[6 * (b->iv + c) + j], x[c], y[j]);
    }
}
static void rows_of(graph *g, const soai_body_double *b, const node f[6], node *x) { /* x = H f */
    for (int c = 0; c < b->nv; ++c) {
        x[c] = 0;
        for (int j = 0; j < 6; ++j) x[c] = multiply_add(g, g->H[6 * (b->iv + c) + j], f[j], x[c]);
    }
}
static void hinge_solve(graph *g, const soai_body_double *b, node *x) { /* x = inv(D) x */
    const node *D = g->D + b->id;
    const int n = b->nv;
    for (int i = 1; i < n; ++i)
        for (int m = 0; m < i; ++m) x[i] = subtract(g, x[i], multiply(g, D[n * i + m], x[m]));
    for (int i = 0; i < n; ++i) x[i] = multiply(g, x[i], divide(g, constant(g, 1), D[n * i + i]));
    for (int i = n - 1; i-- > 0;)
        for (int m = i + 1; m < n; ++m) x[i] = subtract(g, x[i], multiply(g, D[n * m + i], x[m]));
}

static void rotation_about(graph *g, const double u[3], node q, node R[9]) {
    const node s = make(g, SINE, q, 0, 0), c = make(g, COSINE, q, 0, 0), t = subtract(g, constant(g, 1), c);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int k = 3 - i - j;
            node x = multiply(g, t, constant(g, u[i] * u[j]));
            if (i == j)
                x = add(g, x, c);
            else
                x = add(g, x, multiply(g, s, constant(g, ((j - i + 3) % 3 == 1 ? -1 : 1) * u[k])));
            R[3 * i + j] = x;
        }
}
static void quaternion(graph *g, const node e[4], node R[9]) {
    const node two = constant(g, 2), one = constant(g, 1), w = e[0], *v = e + 1;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int n = (i + 1) % 3, l = (i + 2) % 3, k = 3 - i - j;
            if (i == j)
                R[3 * i + j] =
                    subtract(g, one, multiply(g, two, add(g, multiply(g, v[n], v[n]), multiply(g, v[l], v[l]))));
            else {
                const node a = multiply(g, v[i], v[j]), b = multiply(g, w, v[k]);
                R[3 * i + j] = multiply(g, two, (j - i + 3) % 3 == 1 ? subtract(g, a, b) : add(g, a, b));
            }
        }
}
static void product(graph *g, const node A[9], const node B[9], node out[9]) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            node x = 0;
            for (int k = 0; k < 3; ++k) x = multiply_add(g, A[3 * i + k], B[3 * k + j], x);
            out[3 * i + j] = x;
        }
}
enum { IN_Q, IN_THD, IN_THDD, IN_T, IN_F0, IN_FEXT };
static node input(graph *g, int array, int at) {
    return make(g, INPUT, array, at, 0);
}
/* R, p, H of every body */
static void pose_all(graph *g) {
    const soai_view_double *k = &g->m->work->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        node *R = g->R + 9 * i, *p = g->p + 3 * i, T[9], Q[9];
        g->body = i;
        for (int j = 0; j < 9; ++j) T[j] = constant(g, b->R0[j] + b->R1[j]);
        for (int j = 0; j < 3; ++j) p[j] = constant(g, b->p[j]);
        for (int c = 0; c < b->nv; ++c)
            for (int j = 0; j < 6; ++j) g->H[6 * (b->iv + c) + j] = constant(g, k->dof[b->iv + c].H[j]);
        const int turning = b->type == SOAI_JOINT_PLANAR ? 2 : 0;
        if (b->type == SOAI_JOINT_REVOLUTE || b->type == SOAI_JOINT_HELICAL || b->type == SOAI_JOINT_CYLINDRICAL ||
            b->type == SOAI_JOINT_UNIVERSAL || b->type == SOAI_JOINT_PLANAR) {
            const node q = input(g, IN_Q, b->iq + turning), s = make(g, SINE, q, 0, 0), c = make(g, COSINE, q, 0, 0);
            for (int j = 0; j < 9; ++j) {
                /* entries that are rounding errors of zero are zero: rpy angles give 6e-17 for cos(90 degrees) */
                const double r0 = fabs(b->R0[j]) < 1e-15 ? 0 : b->R0[j], r1 = fabs(b->R1[j]) < 1e-15 ? 0 : b->R1[j],
                             r2 = fabs(b->R2[j]) < 1e-15 ? 0 : b->R2[j];
                R[j] =
                    add(g, constant(g, r0), add(g, multiply(g, c, constant(g, r1)), multiply(g, s, constant(g, r2))));
            }
        } else {
            memcpy(R, T, sizeof T);
        }
        const double *u = b->axis, *H1 = b->nv > 1 ? k->dof[b->iv + 1].H : NULL;
        switch (b->type) {
        case SOAI_JOINT_PRISMATIC:
        case SOAI_JOINT_HELICAL:
        case SOAI_JOINT_CYLINDRICAL:
            for (int j = 0; j < 3; ++j)
                p[j] = multiply_add(g, input(g, IN_Q, b->iq + (b->type == SOAI_JOINT_CYLINDRICAL)),
                                    constant(g, b->slide[j]), p[j]);
            break;
        case SOAI_JOINT_UNIVERSAL: {
            node first[9], axis[3];
            memcpy(first, R, sizeof first);
            rotation_about(g, H1, input(g, IN_Q, b->iq + 1), Q);
            product(g, first, Q, R);
            for (int j = 0; j < 3; ++j) axis[j] = constant(g, u[j]);
            turn(g, Q, 1, axis, g->H + 6 * b->iv);
            for (int j = 3; j < 6; ++j) g->H[6 * b->iv + j] = 0;
            break;
        }
        case SOAI_JOINT_PLANAR: {
            node slide[3];
            rotation_about(g, u, input(g, IN_Q, b->iq + 2), Q);
            for (int j = 0; j < 3; ++j)
                slide[j] = add(g, multiply(g, input(g, IN_Q, b->iq), constant(g, k->dof[b->iv].H[3 + j])),
                               multiply(g, input(g, IN_Q, b->iq + 1), constant(g, H1[3 + j])));
            turn(g, T, 0, slide, slide);
            for (int j = 0; j < 3; ++j) p[j] = add(g, p[j], slide[j]);
            for (int c = 0; c < 2; ++c) turn(g, Q, 1, g->H + 6 * (b->iv + c) + 3, g->H + 6 * (b->iv + c) + 3);
            break;
        }
        case SOAI_JOINT_SPHERICAL:
        case SOAI_JOINT_FREE: {
            const int at = b->iq + (b->type == SOAI_JOINT_FREE ? 3 : 0);
            const node e[4] = {input(g, IN_Q, at), input(g, IN_Q, at + 1), input(g, IN_Q, at + 2),
                               input(g, IN_Q, at + 3)};
            quaternion(g, e, Q);
            product(g, T, Q, R);
            if (b->type == SOAI_JOINT_FREE) {
                node x[3] = {input(g, IN_Q, b->iq), input(g, IN_Q, b->iq + 1), input(g, IN_Q, b->iq + 2)};
                turn(g, T, 0, x, x);
                for (int j = 0; j < 3; ++j) p[j] = add(g, p[j], x[j]);
            }
            break;
        }
        default: break;
        }
        if (b->type == SOAI_JOINT_REVOLUTE || b->type == SOAI_JOINT_PRISMATIC || b->type == SOAI_JOINT_SPHERICAL ||
            b->type == SOAI_JOINT_FREE)
            for (int c = 0; c < b->nv; ++c)
                for (int j = 0; j < 6; ++j)
                    g->H[6 * (b->iv + c) + j] =
                        b->nv > 1 ? constant(g, j == c)
                                  : constant(g, (j < 3) == (b->type == SOAI_JOINT_REVOLUTE) ? u[j % 3] : 0);
    }
}
/* P, U = P H', D factored; P (parent) += phi P+ phi' */
static void articulate_all(graph *g) {
    const soai_view_double *k = &g->m->work->view;
    for (int i = 1; i <= k->nb; ++i)
        for (int c = 0; c < 6; ++c) {
            node e[6] = {0}, f[6];
            e[c] = constant(g, 1);
            rigid(g, k->body[i].M, e, f);
            for (int r = 0; r < 6; ++r) g->P[36 * i + 6 * r + c] = f[r];
        }
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        const int n = b->nv;
        node *P = g->P + 36 * i, *D = g->D + b->id, x[6], after[36], moved[36];
        g->body = i;
        for (int c = 0; c < n; ++c)
            for (int r = 0; r < 6; ++r) {
                node y = 0;
                for (int j = 0; j < 6; ++j) y = multiply_add(g, P[6 * r + j], g->H[6 * (b->iv + c) + j], y);
                g->U[6 * (b->iv + c) + r] = y;
            }
        for (int c = 0; c < n; ++c) {
            rows_of(g, b, g->U + 6 * (b->iv + c), x);
            for (int r = 0; r < n; ++r) D[n * r + c] = x[r];
            D[n * c + c] = add(g, D[n * c + c], constant(g, k->dof[b->iv + c].armature));
        }
        for (int j = 0; j < n; ++j) { /* L d L' */
            for (int m = 0; m < j; ++m)
                D[n * j + j] =
                    subtract(g, D[n * j + j], multiply(g, multiply(g, D[n * j + m], D[n * j + m]), D[n * m + m]));
            for (int r = j + 1; r < n; ++r) {
                for (int m = 0; m < j; ++m)
                    D[n * r + j] =
                        subtract(g, D[n * r + j], multiply(g, multiply(g, D[n * r + m], D[n * j + m]), D[n * m + m]));
                D[n * r + j] = divide(g, D[n * r + j], D[n * j + j]);
            }
        }
        if (!b->parent) continue;
        memcpy(after, P, sizeof after);
        for (int c = 0; c < 6; ++c) { /* only the upper half: symmetric by construction */
            for (int m = 0; m < n; ++m) x[m] = g->U[6 * (b->iv + m) + c];
            hinge_solve(g, b, x);
            for (int r = 0; r <= c; ++r) {
                for (int m = 0; m < n; ++m)
                    after[6 * r + c] = subtract(g, after[6 * r + c], multiply(g, g->U[6 * (b->iv + m) + r], x[m]));
                after[6 * c + r] = after[6 * r + c];
            }
        }
        for (int c = 0; c < 6; ++c) { /* phi P+, then (phi (phi P+)')' */
            node column[6], y[6];
            for (int r = 0; r < 6; ++r) column[r] = after[6 * r + c];
            force_inward(g, g->R + 9 * i, g->p + 3 * i, column, y);
            for (int r = 0; r < 6; ++r) moved[6 * r + c] = y[r];
        }
        node *out = g->P + 36 * b->parent;
        for (int r = 0; r < 6; ++r) {
            node y[6];
            force_inward(g, g->R + 9 * i, g->p + 3 * i, moved + 6 * r, y);
            for (int c = r; c < 6; ++c) out[6 * c + r] = out[6 * r + c] = add(g, out[6 * r + c], y[c]);
        }
    }
}

/* ---- the plan's operations over nodes ------------------------------------------------------------------------------- */
static void operation(graph *g, const value *v, node **slot, int self, int i) {
    const soai_view_double *k = &g->m->work->view;
    const soai_body_double *b = k->body + i;
    const node *R = g->R + 9 * i, *p = g->p + 3 * i;
    const node *x = v->a >= 0 ? slot[v->a] + 6 * i : NULL, *xj = v->a >= 0 ? slot[v->a] + b->iv : NULL;
    node *all = slot[self], *y = all + 6 * i, *yj = all + b->iv, t[6], e[6];
    switch (v->code) {
    case OP_PHI:
    case OP_PSI:
        for (int j = 0; j < 6; ++j) t[j] = y[j] = add(g, y[j], x[j]);
        if (!b->parent) break;
        if (v->code == OP_PSI) {
            rows_of(g, b, t, e), hinge_solve(g, b, e);
            for (int c = 0; c < b->nv; ++c)
                for (int j = 0; j < 6; ++j) t[j] = subtract(g, t[j], multiply(g, g->U[6 * (b->iv + c) + j], e[c]));
        }
        force_inward(g, R, p, t, e);
        for (int j = 0; j < 6; ++j) all[6 * b->parent + j] = add(g, all[6 * b->parent + j], e[j]);
        break;
    case OP_PHI_T:
    case OP_PSI_T:
        memset(t, 0, sizeof t);
        if (b->parent) motion_outward(g, R, p, all + 6 * b->parent, t);
        if (b->parent && v->code == OP_PSI_T) {
            node back[6];
            for (int c = 0; c < b->nv; ++c) {
                e[c] = 0;
                for (int j = 0; j < 6; ++j) e[c] = multiply_add(g, g->U[6 * (b->iv + c) + j], t[j], e[c]);
            }
            hinge_solve(g, b, e), columns_of(g, b, i, e, back);
            for (int j = 0; j < 6; ++j) t[j] = subtract(g, t[j], back[j]);
        }
        for (int j = 0; j < 6; ++j) y[j] = add(g, x[j], t[j]);
        break;
    case OP_SHIFT:
        for (int j = 0; b->parent && j < 6; ++j) all[6 * b->parent + j] = add(g, all[6 * b->parent + j], x[j]);
        break;
    case OP_SHIFT_T:
        for (int j = 0; j < 6; ++j) y[j] = b->parent ? slot[v->a][6 * b->parent + j] : 0;
        break;
    case OP_X: force_inward(g, R, p, x, y); break;
    case OP_X_T: motion_outward(g, R, p, x, y); break;
    case OP_H: rows_of(g, b, x, yj); break;
    case OP_H_T: columns_of(g, b, i, xj, y); break;
    case OP_G:
        memcpy(e, xj, (size_t)b->nv * sizeof *e);
        hinge_solve(g, b, e);
        for (int j = 0; j < 6; ++j) {
            y[j] = 0;
            for (int c = 0; c < b->nv; ++c) y[j] = multiply_add(g, g->U[6 * (b->iv + c) + j], e[c], y[j]);
        }
        break;
    case OP_G_T:
        for (int c = 0; c < b->nv; ++c) {
            yj[c] = 0;
            for (int j = 0; j < 6; ++j) yj[c] = multiply_add(g, g->U[6 * (b->iv + c) + j], x[j], yj[c]);
        }
        hinge_solve(g, b, yj);
        break;
    case OP_P:
        for (int r = 0; r < 6; ++r) {
            t[r] = 0;
            for (int c = 0; c < 6; ++c) t[r] = multiply_add(g, g->P[36 * i + 6 * r + c], x[c], t[r]);
        }
        memcpy(y, t, sizeof t);
        break;
    case OP_M: rigid(g, b->M, x, y); break;
    case OP_D: { /* L d L' x */
        const node *D = g->D + b->id;
        const int n = b->nv;
        for (int r = 0; r < n; ++r) {
            t[r] = xj[r];
            for (int m = r + 1; m < n; ++m) t[r] = multiply_add(g, D[n * m + r], xj[m], t[r]);
            t[r] = multiply(g, t[r], D[n * r + r]);
        }
        for (int r = 0; r < n; ++r) {
            yj[r] = t[r];
            for (int m = 0; m < r; ++m) yj[r] = multiply_add(g, D[n * r + m], t[m], yj[r]);
        }
        break;
    }
    case OP_DINV:
        memcpy(yj, xj, (size_t)b->nv * sizeof *yj);
        hinge_solve(g, b, yj);
        break;
    case OP_JR:
        for (int c = 0; c < b->nv; ++c) yj[c] = multiply(g, constant(g, k->dof[b->iv + c].armature), xj[c]);
        break;
    case OP_B:
    case OP_B_T:
        if (v->code == OP_B) memset(y, 0, 6 * sizeof *y);
        for (int f = 0; f < g->m->tips.count; ++f) {
            if (g->m->tips.body[f] != i) continue;
            node Rf[9], pf[3];
            for (int j = 0; j < 9; ++j) Rf[j] = constant(g, g->m->tips.R[9 * f + j]);
            for (int j = 0; j < 3; ++j) pf[j] = constant(g, g->m->tips.p[3 * f + j]);
            if (v->code == OP_B) {
                force_inward(g, Rf, pf, slot[v->a] + 6 * f, t);
                for (int j = 0; j < 6; ++j) y[j] = add(g, y[j], t[j]);
            } else {
                motion_outward(g, Rf, pf, x, all + 6 * f);
            }
        }
        break;
    case OP_E:
        memset(y, 0, 6 * sizeof *y);
        if (!b->parent) motion_outward(g, R, p, slot[v->a], y);
        break;
    case OP_E_T:
        if (b->parent) break;
        force_inward(g, R, p, x, t);
        for (int j = 0; j < 6; ++j) all[j] = add(g, all[j], t[j]);
        break;
    case OP_BIAS: {
        node rate[6], a[3], c[3];
        for (int n = 0; n < b->nv; ++n) e[n] = input(g, IN_THD, b->iv + n);
        columns_of(g, b, i, e, rate);
        cross(g, x, rate, y), cross(g, x, rate + 3, a), cross(g, x + 3, rate, c);
        for (int j = 0; j < 3; ++j) y[3 + j] = add(g, a[j], c[j]);
        if (b->type == SOAI_JOINT_UNIVERSAL) {
            cross(g, g->H + 6 * b->iv, g->H + 6 * b->iv + 6, a);
            for (int j = 0; j < 3; ++j) y[j] = add(g, y[j], multiply(g, a[j], multiply(g, e[1], e[0])));
        } else if (b->type == SOAI_JOINT_PLANAR) {
            node s[3];
            for (int j = 0; j < 3; ++j)
                s[j] = add(g, multiply(g, g->H[6 * b->iv + 3 + j], e[0]), multiply(g, g->H[6 * b->iv + 9 + j], e[1]));
            cross(g, s, g->H + 6 * b->iv + 12, a);
            for (int j = 0; j < 3; ++j) y[3 + j] = add(g, y[3 + j], multiply(g, a[j], e[2]));
        }
        break;
    }
    case OP_FORCE: {
        node h[6], a[3], c[3], d[3];
        rigid(g, b->M, x, h);
        cross(g, x, h, a), cross(g, x + 3, h + 3, c), cross(g, x, h + 3, d);
        for (int j = 0; j < 3; ++j) y[j] = add(g, a[j], c[j]), y[3 + j] = d[j];
        break;
    }
    case OP_SUM: {
        const int n = v->space == SOA_SPACE_JOINT ? b->nv : 6, first = v->space == SOA_SPACE_JOINT ? b->iv : 6 * i;
        const node s = constant(g, v->x), u = constant(g, v->y);
        for (int f = 0; v->space == SOA_SPACE_TIP && f < g->m->tips.count; ++f)
            for (int j = 0; g->m->tips.body[f] == i && j < 6; ++j)
                all[6 * f + j] = add(g, multiply(g, s, slot[v->a][6 * f + j]),
                                     v->b >= 0 ? multiply(g, u, slot[v->b][6 * f + j]) : 0);
        for (int j = first; v->space != SOA_SPACE_TIP && j < first + n; ++j)
            all[j] = add(g, multiply(g, s, slot[v->a][j]), v->b >= 0 ? multiply(g, u, slot[v->b][j]) : 0);
        break;
    }
    default: break;
    }
}

static void graph_free(graph *g) {
    free(g->r), free(g->bucket), free(g->R), free(g->p), free(g->H), free(g->P), free(g->U), free(g->D);
}
/* The graph of a plan's result; *out holds its nodes.  0 if it cannot be had. */
static int graph_of(const soa_plan *plan, graph *g, node **out, int *out_count) {
    const soa_machine *m = plan->machine;
    const soai_view_double *k = &m->work->view;
    const builder *bl = plan->values;
    const size_t nb = (size_t)k->nb + 1, nv = (size_t)k->nv + 1;
    *g = (graph){.m = m,
                 .bucket = malloc(BUCKETS * sizeof(int)),
                 .R = calloc(9 * nb, sizeof(node)),
                 .p = calloc(3 * nb, sizeof(node)),
                 .H = calloc(6 * nv, sizeof(node)),
                 .P = calloc(36 * nb, sizeof(node)),
                 .U = calloc(6 * nv, sizeof(node)),
                 .D = calloc((size_t)k->nd + 1, sizeof(node))};
    node **slot = calloc((size_t)bl->count + 1, sizeof *slot);
    int fine = g->bucket && g->R && g->p && g->H && g->P && g->U && g->D && slot && !plan->solve_count;
    if (fine) {
        memset(g->bucket, 0xff, BUCKETS * sizeof(int));
        constant(g, 0);
        pose_all(g);
        if (plan->articulates) articulate_all(g);
        for (int v = 0; v < bl->count && fine; ++v) {
            const size_t n = soai_slot_size(m, bl->v[v].space);
            slot[v] = calloc(n + 1, sizeof(node));
            fine = slot[v] != NULL;
            if (!fine || bl->v[v].code != OP_INPUT) continue;
            const soa_expr *leaf = bl->v[v].leaf;
            const int array = !leaf                         ? -1
                              : leaf->leaf == LEAF_THD      ? IN_THD
                              : leaf->leaf == LEAF_THDD     ? IN_THDD
                              : leaf->leaf == LEAF_TORQUE   ? IN_T
                              : leaf->leaf == LEAF_TIPFORCE ? IN_F0
                                                            : -1;
            g->body = 0;
            if (leaf && leaf->leaf == LEAF_BASEACC)
                for (int j = 0; j < 6; ++j) slot[v][j] = constant(g, m->base[j]);
            else if (array >= 0)
                for (size_t j = 0; j < n; ++j) slot[v][j] = input(g, array, (int)j);
            else
                fine = 0; /* the caller's own vectors have no name in C */
        }
        for (int level = 0; level < plan->sweeps && fine; ++level) {
            const int inward = (level % 2 == 0 ? plan->first : -plan->first) > 0;
            for (int v = 0; v < bl->count; ++v)
                if (bl->v[v].level == level && bl->v[v].code == OP_SUM && bl->v[v].space == SOA_SPACE_BASE) fine = 0;
            for (int n = 1; n <= k->nb && fine; ++n) {
                const int i = inward ? k->nb + 1 - n : n;
                g->body = i;
                for (int v = 0; v < bl->count; ++v)
                    if (bl->v[v].level == level && bl->v[v].code != OP_INPUT) operation(g, bl->v + v, slot, v, i);
            }
        }
        const int space = bl->v[plan->last].space, links = space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
        *out_count = m->size[space];
        *out = calloc((size_t)*out_count + 1, sizeof **out);
        if (*out && fine) memcpy(*out, slot[plan->last] + (links ? 6 : 0), (size_t)*out_count * sizeof **out);
        fine = fine && *out && !g->failed;
    }
    for (int v = 0; slot && v < bl->count; ++v) free(slot[v]);
    free(slot);
    if (!fine) graph_free(g), free(*out), *out = NULL;
    return fine;
}
/* Marks what the result needs. */
static char *needed(const graph *g, const node *out, int count) {
    char *mark = calloc((size_t)g->count + 1, 1);
    for (int i = 0; mark && i < count; ++i) mark[out[i]] = 1;
    for (int i = g->count - 1; mark && i >= 0; --i)
        if (mark[i] && g->r[i].op >= ADD) {
            mark[g->r[i].a] = 1;
            if (g->r[i].op <= DIVIDE) mark[g->r[i].b] = 1;
        }
    return mark;
}

soa_status soa_plan_count(const soa_plan *plan, int body, soa_count *count) {
    if (!plan || !count || body < 0 || body > plan->machine->model->nb) return SOA_E_ARGUMENT;
    graph g;
    node *out = NULL;
    int n = 0;
    if (!graph_of(plan, &g, &out, &n)) return SOA_E_ARGUMENT;
    char *mark = needed(&g, out, n);
    *count = (soa_count){0};
    for (int i = 0; mark && i < g.count; ++i) {
        if (!mark[i] || (body && g.r[i].body != body)) continue;
        count->additions += g.r[i].op == ADD || g.r[i].op == SUBTRACT;
        count->multiplications += g.r[i].op == MULTIPLY;
        count->divisions += g.r[i].op == DIVIDE;
        count->sines += g.r[i].op == SINE || g.r[i].op == COSINE;
    }
    free(mark), free(out), graph_free(&g);
    return mark ? SOA_OK : SOA_E_MEMORY;
}

soa_status soa_plan_emit_c(const soa_plan *plan, const char *name, char **text, size_t *length) {
    if (!plan || !name || !text || !length) return SOA_E_ARGUMENT;
    graph g;
    node *out = NULL;
    int n = 0;
    if (!graph_of(plan, &g, &out, &n)) return SOA_E_ARGUMENT;
    char *mark = needed(&g, out, n);
    size_t room = 4096 + 80 * (size_t)g.count + 80 * (size_t)n, at = 0;
    char *s = mark ? malloc(room) : NULL;
    if (s) {
        static const char *const arrays[] = {"q", "thd", "thdd", "T", "f0", "fext"};
        at += (size_t)snprintf(s + at, room - at,
                               "#include <math.h>\n"
                               "void %s(const double *q, const double *thd, const double *thdd, const double *T, const "
                               "double *f0, double *result) {\n"
                               "    (void)q, (void)thd, (void)thdd, (void)T, (void)f0;\n",
                               name);
        for (int i = 0; i < g.count; ++i) {
            const graph_row *r = g.r + i;
            if (!mark[i]) continue;
            at += (size_t)snprintf(s + at, room - at, "    const double x%d = ", i);
            switch (r->op) {
            case CONSTANT: at += (size_t)snprintf(s + at, room - at, "%.17g;\n", r->value); break;
            case INPUT: at += (size_t)snprintf(s + at, room - at, "%s[%d];\n", arrays[r->a], r->b); break;
            case NEGATE: at += (size_t)snprintf(s + at, room - at, "-x%d;\n", r->a); break;
            case SINE: at += (size_t)snprintf(s + at, room - at, "sin(x%d);\n", r->a); break;
            case COSINE: at += (size_t)snprintf(s + at, room - at, "cos(x%d);\n", r->a); break;
            default: at += (size_t)snprintf(s + at, room - at, "x%d %c x%d;\n", r->a, "+-*/"[r->op - ADD], r -> b);
            }
        }
        for (int i = 0; i < n; ++i) at += (size_t)snprintf(s + at, room - at, "    result[%d] = x%d;\n", i, out[i]);
        at += (size_t)snprintf(s + at, room - at, "}\n");
        *text = s, *length = at;
    }
    free(mark), free(out), graph_free(&g);
    return s ? SOA_OK : SOA_E_MEMORY;
}
