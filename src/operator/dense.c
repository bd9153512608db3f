/* dense.c  the oracle: every operator as a dense matrix, computed from its definition.
 *
 * No sweep is used: phi and psi are inverses of I - E_phi and I - E_psi; P follows RJK91 (8) in 6 x
 * 6 blocks. */
#include "../sweep/derivatives.h"
#include "machine.h"
#include <math.h>
#include <stdlib.h>

typedef struct matrix {
    int rows, columns;
    double *x;
} matrix;
static matrix make(int rows, int columns) {
    return (matrix){rows, columns, soai_zeroed((size_t)rows * (size_t)columns + 1, sizeof(double))};
}
#define AT(m, r, c) ((m).x[(size_t)(r) * (size_t)(m).columns + (size_t)(c)])
static matrix identity(int n) {
    matrix m = make(n, n);
    for (int i = 0; m.x && i < n; ++i)
        AT(m, i, i) = 1;
    return m;
}
/* All of these free their arguments and pass a failure (x NULL) on. */
static matrix release(matrix a, matrix b, matrix out) {
    free(a.x);
    free(b.x);
    return out;
}
static matrix times(matrix a, matrix b) {
    matrix m = a.x && b.x ? make(a.rows, b.columns) : (matrix){0};
    for (int i = 0; m.x && i < a.rows; ++i)
        for (int k = 0; k < a.columns; ++k) {
            const double s = AT(a, i, k);
            for (int j = 0; s != 0 && j < b.columns; ++j)
                AT(m, i, j) += s * AT(b, k, j);
        }
    return release(a, b, m);
}
static matrix plus(double s, matrix a, double t, matrix b) {
    matrix m = a.x && b.x ? make(a.rows, a.columns) : (matrix){0};
    for (size_t i = 0; m.x && i < (size_t)a.rows * (size_t)a.columns; ++i)
        m.x[i] = s * a.x[i] + t * b.x[i];
    return release(a, b, m);
}
static matrix turn(matrix a) {
    matrix m = a.x ? make(a.columns, a.rows) : (matrix){0};
    for (int i = 0; m.x && i < m.rows; ++i)
        for (int j = 0; j < m.columns; ++j)
            AT(m, i, j) = AT(a, j, i);
    return release(a, (matrix){0}, m);
}
static matrix copy(matrix a) {
    matrix m = a.x ? make(a.rows, a.columns) : (matrix){0};
    if (m.x) memcpy(m.x, a.x, (size_t)a.rows * (size_t)a.columns * sizeof *a.x);
    return m;
}
/* 1-norm: largest column sum of absolute values; NaN if an entry is NaN. */
static double norm(matrix a) {
    double most = 0;
    for (int c = 0; c < a.columns; ++c) {
        double sum = 0;
        for (int r = 0; r < a.rows; ++r)
            sum += fabs(AT(a, r, c));
        if (!(sum <= most)) most = sum;
    }
    return most;
}
/* Inverse of least norm, column by column (Greville).  A column is new if more of it than the
 * tolerance lies outside the span of those before it. */
static void add_column(matrix a, int k, matrix inverse, double *d, double *c) {
    double size = 0, left = 0;
    for (int i = 0; i < k; ++i) { /* d = A+ a(k) */
        d[i] = 0;
        for (int r = 0; r < a.rows; ++r)
            d[i] += AT(inverse, i, r) * AT(a, r, k);
    }
    for (int r = 0; r < a.rows; ++r) { /* c = a(k) - A d */
        c[r] = AT(a, r, k);
        size += c[r] * c[r];
        for (int i = 0; i < k; ++i)
            c[r] -= AT(a, r, i) * d[i];
        left += c[r] * c[r];
    }
    if (sqrt(left) > SOAI_RANK_TOLERANCE * sqrt(size)) {
        for (int r = 0; r < a.rows; ++r)
            AT(inverse, k, r) = c[r] / left;
    } else {
        double sum = 1;
        for (int i = 0; i < k; ++i)
            sum += d[i] * d[i];
        for (int r = 0; r < a.rows; ++r) {
            AT(inverse, k, r) = 0;
            for (int i = 0; i < k; ++i)
                AT(inverse, k, r) += d[i] * AT(inverse, i, r) / sum;
        }
    }
    for (int i = 0; i < k; ++i)
        for (int r = 0; r < a.rows; ++r)
            AT(inverse, i, r) -= d[i] * AT(inverse, k, r);
}
static matrix least_norm_inverse(matrix a) {
    matrix out = a.x ? make(a.columns, a.rows) : (matrix){0},
           room = a.x ? make(1, a.rows + a.columns) : (matrix){0};
    for (int k = 0; out.x && room.x && k < a.columns; ++k)
        add_column(a, k, out, room.x, room.x + a.columns);
    if (!room.x) {
        free(out.x);
        out.x = NULL;
    }
    return release(a, room, out);
}
/* Its rank is the trace of A A+. */
static int rank_of(matrix a, matrix inverse) {
    double sum = 0;
    for (int r = 0; r < a.rows; ++r)
        for (int c = 0; c < a.columns; ++c)
            sum += AT(a, r, c) * AT(inverse, c, r);
    return (int)(sum + 0.5);
}
/* Gauss-Jordan with row pivoting. *condition is |A| |A^-1|; if a pivot is zero or NaN it is
 * infinite and x is NULL. */
static matrix invert(matrix a, double *condition) {
    const int n = a.rows;
    const double size = a.x ? norm(a) : 0;
    matrix m = a.x ? identity(n) : (matrix){0};
    *condition = 1;
    for (int c = 0; m.x && c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(AT(a, r, c)) > fabs(AT(a, best, c))) best = r;
        if (!(fabs(AT(a, best, c)) > 0)) {
            *condition = INFINITY;
            free(m.x);
            m.x = NULL;
            break;
        }
        for (int j = 0; best != c && j < n; ++j) {
            double t = AT(a, c, j);
            AT(a, c, j) = AT(a, best, j);
            AT(a, best, j) = t;
            t = AT(m, c, j);
            AT(m, c, j) = AT(m, best, j);
            AT(m, best, j) = t;
        }
        const double d = 1 / AT(a, c, c);
        for (int j = 0; j < n; ++j) {
            AT(a, c, j) *= d;
            AT(m, c, j) *= d;
        }
        for (int r = 0; r < n; ++r) {
            const double s = AT(a, r, c);
            if (r == c || s == 0) continue;
            for (int j = 0; j < n; ++j) {
                AT(a, r, j) -= s * AT(a, c, j);
                AT(m, r, j) -= s * AT(m, c, j);
            }
        }
    }
    if (m.x && n) *condition = size * norm(m);
    return release(a, (matrix){0}, m);
}

/* --- leaves ----------------------------------------------------------------------------------- */
typedef struct oracle {
    soa_machine *m;
    matrix leaf[LEAF_COUNT]; /* computed so far */
    int stuck;               /* a body whose joint moves no inertia */
    const soa_expr *bad;     /* argument of an inverse that does not exist, and its condition */
    double bad_condition;
    double condition; /* largest condition of the inverses formed */
    int unset;        /* a vector or operator of the caller has no value, or a link no name */
    int rank;         /* lowest of the pseudo-inverses formed; -1: none */
} oracle;

/* phi of a frame at p, R: [R, [p]R; 0, R] as a 6 x 6 block at (row, column) */
static void put_phi(matrix out, int row, int column, const double R[9], const double p[3]) {
    for (int c = 0; c < 6; ++c) {
        double f[6] = {0}, y[6] = {0};
        f[c] = 1;
        force_in_add(R, p, f, y);
        for (int r = 0; r < 6; ++r)
            AT(out, row + r, column + c) = y[r];
    }
}
static void rows_of_H(soa_machine *m, matrix H) {
    const soa_work *w = m->work;
    for (int i = 1; i <= m->model->nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        for (int c = 0; c < b->nv; ++c) {
            double column[6];
            step_column(&w->view, &w->w, b, b->kind, c, column);
            for (int j = 0; j < 6; ++j)
                AT(H, b->iv + c, 6 * (i - 1) + j) = column[j];
        }
    }
}
static matrix of(oracle *o, int leaf);

/* inv(I - E). It always exists, because E only leads from bodies to their parents. */
static matrix sum_of_powers(matrix a) {
    double condition;
    return invert(a, &condition);
}
/* Inverse of body i's block d of D. The columns h (rows of H) are scaled by the inertia that they
 * would move if all outward joints were locked, from the traces of P, p. If nothing is left of
 * that, or only rounding, the joint moves no inertia. */
static matrix invert_hinge(oracle *o, int i, matrix d, matrix p, matrix h, matrix rotor) {
    const double most = 1e14;
    double turn = 0, slide = 0, size[6], condition = INFINITY;
    const int n = d.x && p.x && h.x && rotor.x ? d.rows : 0;
    for (int j = 0; n && j < 3; ++j) {
        turn += AT(p, j, j);
        slide += AT(p, 3 + j, 3 + j);
    }
    for (int r = 0; r < n; ++r) {
        size[r] = AT(rotor, r, r);
        for (int j = 0; j < 6; ++j)
            size[r] += AT(h, r, j) * AT(h, r, j) * (j < 3 ? turn : slide);
        size[r] = sqrt(size[r]);
    }
    int moves = 1;
    for (int r = 0; r < n; ++r) {
        moves &= size[r] > 0;
        for (int c = 0; c < n; ++c)
            AT(d, r, c) /= size[r] * size[c];
    }
    const int had = d.x != NULL;
    matrix out = moves ? invert(d, &condition) : release(d, (matrix){0}, (matrix){0});
    if (had && (!moves || condition == INFINITY || (out.x && !(norm(out) <= most)))) {
        o->stuck = i;
        free(out.x);
        out.x = NULL;
    }
    for (int r = 0; out.x && r < n; ++r)
        for (int c = 0; c < n; ++c)
            AT(out, r, c) /= size[r] * size[c];
    return out;
}
/* inv(D), body by body */
static matrix inverse_of_D(oracle *o) {
    const soai_view_double *k = &o->m->work->view;
    matrix D = of(o, LEAF_DIAG), P = of(o, LEAF_ART), H = of(o, LEAF_HINGE), Jr = of(o, LEAF_ROTOR);
    matrix out = D.x && P.x && H.x && Jr.x ? make(k->nv, k->nv) : (matrix){0};
    for (int i = 1; out.x && i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        if (!b->nv) continue;
        matrix d = make(b->nv, b->nv), p = make(6, 6), h = make(b->nv, 6), r = make(b->nv, b->nv);
        const int made = d.x && p.x && h.x && r.x;
        for (int c = 0; made && c < 6; ++c) {
            for (int j = 0; j < 6; ++j)
                AT(p, j, c) = AT(P, 6 * i - 6 + j, 6 * i - 6 + c);
            for (int j = 0; j < b->nv; ++j)
                AT(h, j, c) = AT(H, b->iv + j, 6 * i - 6 + c);
        }
        for (int c = 0; made && c < b->nv; ++c)
            for (int j = 0; j < b->nv; ++j) {
                AT(d, j, c) = AT(D, b->iv + j, b->iv + c);
                AT(r, j, c) = AT(Jr, b->iv + j, b->iv + c);
            }
        matrix inverse = invert_hinge(o, i, d, p, h, r);
        for (int c = 0; inverse.x && c < b->nv; ++c)
            for (int j = 0; j < b->nv; ++j)
                AT(out, b->iv + j, b->iv + c) = AT(inverse, j, c);
        if (!inverse.x) {
            free(out.x);
            out.x = NULL;
        }
        free(inverse.x);
        free(p.x);
        free(h.x);
        free(r.x);
    }
    return out;
}

/* P, body by body from the tips: P(parent) += X (P - P H' inv(D) H P) X' */
static matrix articulated(oracle *o) {
    const soai_view_double *k = &o->m->work->view;
    matrix P = copy(of(o, LEAF_RIGID)), X = of(o, LEAF_XPHI), H = of(o, LEAF_HINGE),
           Jr = of(o, LEAF_ROTOR);
    for (int i = k->nb; P.x && X.x && H.x && Jr.x && i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        if (!b->parent) continue;
        matrix p = make(6, 6), h = make(b->nv, 6), x = make(6, 6), r = make(b->nv, b->nv);
        const int made = p.x && h.x && x.x && r.x;
        for (int c = 0; made && c < 6; ++c) {
            for (int j = 0; j < 6; ++j) {
                AT(p, j, c) = AT(P, 6 * i - 6 + j, 6 * i - 6 + c);
                AT(x, j, c) = AT(X, 6 * i - 6 + j, 6 * i - 6 + c);
            }
            for (int j = 0; j < b->nv; ++j)
                AT(h, j, c) = AT(H, b->iv + j, 6 * i - 6 + c);
        }
        for (int j = 0; made && j < b->nv; ++j)
            AT(r, j, j) = AT(Jr, b->iv + j, b->iv + j);
        matrix ph = times(copy(p), turn(copy(h))),
               d = plus(1, times(copy(h), copy(ph)), 1, copy(r)), hp = turn(copy(ph)),
               xt = turn(copy(x)), inverse = invert_hinge(o, i, d, p, h, r);
        matrix after = plus(1, p, -1, times(times(ph, inverse), hp));
        free(h.x);
        free(r.x);
        matrix moved = times(times(x, after), xt);
        for (int c = 0; moved.x && c < 6; ++c)
            for (int j = 0; j < 6; ++j)
                AT(P, 6 * b->parent - 6 + j, 6 * b->parent - 6 + c) += AT(moved, j, c);
        if (!moved.x) {
            free(P.x);
            P.x = NULL;
        }
        free(moved.x);
    }
    return P;
}

/* Composite inertias, body by body from the tips: r(parent) += X r X', R87 (32) */
static matrix composite_inertias(oracle *o) {
    const soai_view_double *k = &o->m->work->view;
    matrix r = copy(of(o, LEAF_RIGID)), X = of(o, LEAF_XPHI);
    for (int i = k->nb; r.x && X.x && i >= 1; --i) {
        const int from = 6 * i - 6, to = 6 * k->body[i].parent - 6;
        if (to < 0) continue;
        matrix one = make(6, 6), x = make(6, 6);
        for (int c = 0; one.x && x.x && c < 6; ++c) {
            for (int j = 0; j < 6; ++j) {
                AT(one, j, c) = AT(r, from + j, from + c);
                AT(x, j, c) = AT(X, from + j, from + c);
            }
        }
        matrix xt = turn(copy(x)), moved = times(times(x, one), xt);
        for (int c = 0; moved.x && c < 6; ++c)
            for (int j = 0; j < 6; ++j)
                AT(r, to + j, to + c) += AT(moved, j, c);
        if (!moved.x) {
            free(r.x);
            r.x = NULL;
        }
        free(moved.x);
    }
    return r;
}

/* Block i of a matrix that is block diagonal in link space. */
static matrix block_of(matrix a, int i) {
    matrix out = a.x ? make(6, 6) : (matrix){0};
    for (int c = 0; out.x && c < 36; ++c)
        out.x[c] = AT(a, 6 * i - 6 + c / 6, 6 * i - 6 + c % 6);
    return out;
}
/* a + a' */
static matrix with_transpose(matrix a) {
    matrix t = turn(copy(a));
    return plus(1, a, 1, t);
}
/* a b a' */
static matrix between(matrix a, matrix b) {
    matrix t = turn(copy(a));
    return times(times(a, b), t);
}
/* Block rows of body i in an operator to joint space. */
static matrix joint_block(const oracle *o, matrix a, int i) {
    const soai_body_double *b = o->m->work->view.body + i;
    matrix out = a.x ? make(b->nv, 6) : (matrix){0};
    for (int r = 0; out.x && r < b->nv; ++r)
        for (int c = 0; c < 6; ++c)
            AT(out, r, c) = AT(a, b->iv + r, 6 * i - 6 + c);
    return out;
}
/* The change of P - P H' inv(D) H P of one body, dp that of P: with dD written out. */
static matrix after_change(oracle *o, int i, matrix dp) {
    const soai_body_double *b = o->m->work->view.body + i;
    matrix Dinv = of(o, LEAF_DINV), p = block_of(of(o, LEAF_ART), i);
    matrix h = joint_block(o, of(o, LEAF_HINGE), i), dh = joint_block(o, of(o, LEAF_DHINGE), i);
    matrix d = Dinv.x ? make(b->nv, b->nv) : (matrix){0};
    for (int r = 0; d.x && r < b->nv; ++r)
        for (int c = 0; c < b->nv; ++c)
            AT(d, r, c) = AT(Dinv, b->iv + r, b->iv + c);
    matrix du = plus(1, times(copy(dp), turn(copy(h))), 1, times(copy(p), turn(copy(dh))));
    matrix u = times(p, turn(copy(h))), ut = turn(copy(u));
    matrix dd = plus(1, times(h, copy(du)), 1, times(dh, copy(u)));
    matrix once = times(times(du, copy(d)), ut);
    return plus(1, plus(1, dp, -1, with_transpose(once)), 1, between(times(u, d), dd));
}
/* The change of P (or Mc), body by body from the tips:
 * dP(parent) += X (Theta A + A Theta' + dA) X',  A the inertia after the joint. */
static matrix inertia_change(oracle *o, int leaf) {
    const soai_view_double *k = &o->m->work->view;
    matrix X = of(o, LEAF_XPHI), Theta = of(o, LEAF_THETA), out = make(6 * k->nb, 6 * k->nb);
    matrix after = copy(of(o, leaf));
    if (leaf == LEAF_ART) {
        matrix u = times(copy(of(o, LEAF_ART)), turn(copy(of(o, LEAF_HINGE))));
        after = plus(1, after, -1, between(u, copy(of(o, LEAF_DINV))));
    }
    for (int i = k->nb; out.x && i >= 1; --i) {
        const int parent = 6 * k->body[i].parent - 6;
        if (parent < 0) continue;
        matrix own = block_of(out, i);
        matrix change = leaf == LEAF_ART ? after_change(o, i, own) : own;
        matrix turned = with_transpose(times(block_of(Theta, i), block_of(after, i)));
        matrix moved = between(block_of(X, i), plus(1, turned, 1, change));
        for (int c = 0; moved.x && c < 36; ++c)
            AT(out, parent + c / 6, parent + c % 6) += moved.x[c];
        if (!moved.x) {
            free(out.x);
            out.x = NULL;
        }
        free(moved.x);
    }
    free(after.x);
    return out;
}

/* The bodies' inertias, 6 x 6 blocks on the diagonal. */
static void rows_of_M(const soa_machine *m, matrix out) {
    const soai_view_double *k = &m->work->view;
    for (int i = 1; i <= k->nb; ++i)
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0}, y[6];
            e[c] = 1;
            rigid_mul_k(k->body[i].M, e, y);
            for (int j = 0; j < 6; ++j)
                AT(out, 6 * i - 6 + j, 6 * i - 6 + c) = y[j];
        }
}
/* The motion of the base at the bodies that hang on it. */
static void rows_of_base(const soa_machine *m, matrix out) {
    const soai_view_double *k = &m->work->view;
    const kernel_work *w = &m->work->w;
    for (int i = 1; i <= k->nb; ++i)
        for (int c = 0; !k->body[i].parent && c < 6; ++c) {
            double e[6] = {0}, y[6];
            e[c] = 1;
            motion_out(w->b[i].R, w->b[i].p, e, y);
            for (int j = 0; j < 6; ++j)
                AT(out, 6 * i - 6 + j, c) = y[j];
        }
}
/* dH from the derivatives of the columns; Ht: the last row of H of joints whose H varies. */
static void rows_of_change(soa_machine *m, int leaf, matrix out) {
    const soa_work *w = m->work;
    for (int i = 1; i <= m->model->nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        const int last = b->nv - 1;
        for (int r = 0; joint_varies(b) && r < b->nv; ++r) {
            double row[6] = {0}, by[6];
            if (leaf == LEAF_TURNING && r == last) step_column(&w->view, &w->w, b, b->kind, r, row);
            for (int c = 0; leaf == LEAF_DHINGE && c < b->nv; ++c) {
                joint_dcolumn(&w->w, b, r, c, by);
                v6_add_scaled(m->dq[b->iv + c], by, row);
            }
            for (int j = 0; j < 6; ++j)
                AT(out, b->iv + r, 6 * (i - 1) + j) = row[j];
        }
    }
}
/* diag x(k) x* of the joints' displacements H' dq. */
static void rows_of_Theta(soa_machine *m, matrix out) {
    const soa_work *w = m->work;
    for (int i = 1; i <= m->model->nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        double x[6] = {0};
        joint_add(&w->view, &w->w, b, b->kind, b->nv, m->dq + b->iv, x);
        for (int c = 0; c < 6; ++c) {
            double e[6] = {0}, y[6];
            e[c] = 1;
            cross_force(x, e, y);
            for (int j = 0; j < 6; ++j)
                AT(out, 6 * i - 6 + j, 6 * i - 6 + c) = y[j];
        }
    }
}
/* Writes a leaf that is formed entry by entry; 0 if it is a product of others. */
static int entries_of(soa_machine *m, int leaf, matrix out) {
    const soai_view_double *k = &m->work->view;
    const kernel_work *w = &m->work->w;
    switch (leaf) {
    case LEAF_XPHI:
        for (int i = 1; i <= k->nb; ++i)
            put_phi(out, 6 * i - 6, 6 * i - 6, w->b[i].R, w->b[i].p);
        return 1;
    case LEAF_SHIFT:
        for (int i = 1; i <= k->nb; ++i)
            for (int j = 0; k->body[i].parent && j < 6; ++j)
                AT(out, 6 * k->body[i].parent - 6 + j, 6 * i - 6 + j) = 1;
        return 1;
    case LEAF_HINGE: rows_of_H(m, out); return 1;
    case LEAF_RIGID: rows_of_M(m, out); return 1;
    case LEAF_ROTOR:
        for (int j = 0; j < k->nv; ++j)
            AT(out, j, j) = k->dof[j].armature;
        return 1;
    case LEAF_TIPS:
        for (int f = 0; f < m->tips.count; ++f)
            put_phi(out, 6 * m->tips.body[f] - 6, 6 * f, m->tips.R + 9 * f, m->tips.p + 3 * f);
        return 1;
    case LEAF_INJECT: rows_of_base(m, out); return 1;
    case LEAF_TURNING:
    case LEAF_DHINGE: rows_of_change(m, leaf, out); return 1;
    case LEAF_THETA: rows_of_Theta(m, out); return 1;
    case LEAF_LINEAR:
        for (int j = 0; j < 6 * k->nb; ++j)
            AT(out, j, j) = j % 6 >= 3;
        return 1;
    case LEAF_WRENCH:
        for (int i = 1; i <= k->nb; ++i)
            for (int c = 0; c < 36; ++c)
                AT(out, 6 * i - 6 + c / 6, 6 * i - 6 + c % 6) = m->wrench_turn[36 * i + c];
        return 1;
    case LEAF_CONSTRAIN:
        for (int i = 1; i <= k->nb; ++i)
            for (int t = m->tips.first[i]; t < m->tips.first[i + 1]; ++t)
                for (int j = 0; j < 6; ++j)
                    AT(out, 6 * i - 6 + j, m->tips.row[t]) += m->tips.wrench[6 * t + j];
        return 1;
    default: return 0;
    }
}

/* Bias acceleration of body i, whose velocity is V: R87 (15), and of a root the base's own. */
static void bias_acceleration(const soa_machine *m, int i, const double V[6], double a[6]) {
    const soai_view_double *k = &m->work->view;
    const kernel_work *w = &m->work->w;
    const soai_body_double *b = k->body + i;
    double vJ[6] = {0}, h[6];
    for (int c = 0; c < b->nv; ++c) {
        step_column(k, w, b, b->kind, c, h);
        v6_add_scaled(m->thd[b->iv + c], h, vJ);
    }
    cross_motion(V, vJ, a);
    joint_apparent_rate(k, w, b, m->thd + b->iv, m->thd + b->iv, a);
    if (b->parent) return;
    motion_out(w->b[i].R, w->b[i].p, m->base, h);
    for (int j = 0; j < 6; ++j)
        a[j] += h[j];
}
/* Its bias force: V x* M V less the wrench on it. */
static void bias_force(const soa_machine *m, int i, const double V[6], double f[6]) {
    double h[6];
    rigid_mul_k(m->work->view.body[i].M, V, h);
    cross_force(V, h, f);
    for (int j = 0; j < 6; ++j)
        f[j] -= m->fext[6 * i + j];
}
/* The diagonal blocks of psi' H' inv(D) H psi. */
static matrix costate_covariance(oracle *o) {
    matrix HS = times(copy(of(o, LEAF_HINGE)), copy(of(o, LEAF_PSI)));
    matrix out = times(times(turn(copy(HS)), copy(of(o, LEAF_DINV))), copy(HS));
    free(HS.x);
    for (int r = 0; out.x && r < out.rows; ++r)
        for (int c = 0; c < out.columns; ++c)
            if (r / 6 != c / 6) AT(out, r, c) = 0;
    return out;
}
/* Cholesky factor of D. */
static matrix root_of_D(oracle *o) {
    matrix C = copy(of(o, LEAF_DIAG));
    for (int j = 0; C.x && j < C.columns; ++j) {
        for (int m = 0; m < j; ++m)
            AT(C, j, j) -= AT(C, j, m) * AT(C, j, m);
        AT(C, j, j) = sqrt(AT(C, j, j));
        for (int r = 0; r < C.rows; ++r) {
            for (int m = 0; r > j && m < j; ++m)
                AT(C, r, j) -= AT(C, r, m) * AT(C, j, m);
            AT(C, r, j) = r > j ? AT(C, r, j) / AT(C, j, j) : AT(C, r, j) * (r == j);
        }
    }
    return C;
}
/* [0; omega x v] of body i */
static void centripetal(const double V[6], double out[6]) {
    v6_zero(out);
    v3_cross(V, V + 3, out + 3);
}
static matrix bias(oracle *o, int leaf) {
    const soa_machine *m = o->m;
    const int nb = m->work->view.nb, nv = m->work->view.nv;
    matrix V = make(nv, 1), out = make(6 * nb, 1);
    if (V.x) memcpy(V.x, m->thd, (size_t)nv * sizeof(double));
    V = times(turn(copy(of(o, LEAF_PHI))), times(turn(copy(of(o, LEAF_HINGE))), V));
    for (int i = 1; V.x && out.x && i <= nb; ++i) {
        if (leaf == LEAF_BIASACC)
            bias_acceleration(m, i, V.x + 6 * (i - 1), out.x + 6 * (i - 1));
        else if (leaf == LEAF_CENTRIPETAL)
            centripetal(V.x + 6 * (i - 1), out.x + 6 * (i - 1));
        else
            bias_force(m, i, V.x + 6 * (i - 1), out.x + 6 * (i - 1));
    }
    if (!V.x) {
        free(out.x);
        out.x = NULL;
    }
    free(V.x);
    return out;
}

static matrix form(oracle *o, int leaf) {
    soa_machine *m = o->m;
    const int nl = 6 * m->work->view.nb;
    matrix out = make(m->size[soai_leaves[leaf].to], m->size[soai_leaves[leaf].from]);
    if (!out.x || entries_of(m, leaf, out)) return out;
    free(out.x);
    switch (leaf) {
    case LEAF_PHI:
        return sum_of_powers(
            plus(1, identity(nl), -1, times(copy(of(o, LEAF_SHIFT)), copy(of(o, LEAF_XPHI)))));
    case LEAF_ART: return articulated(o);
    case LEAF_COMPOSITE: return composite_inertias(o);
    case LEAF_DIAG: {
        matrix H = of(o, LEAF_HINGE), P = of(o, LEAF_ART);
        return plus(1, times(times(copy(H), copy(P)), turn(copy(H))), 1, copy(of(o, LEAF_ROTOR)));
    }
    case LEAF_DINV: return inverse_of_D(o);
    case LEAF_GAIN:
        return times(times(copy(of(o, LEAF_ART)), turn(copy(of(o, LEAF_HINGE)))),
                     copy(of(o, LEAF_DINV)));
    case LEAF_PSI: {
        matrix free_joint =
            plus(1, identity(nl), -1, times(copy(of(o, LEAF_GAIN)), copy(of(o, LEAF_HINGE))));
        matrix step = times(times(copy(of(o, LEAF_SHIFT)), copy(of(o, LEAF_XPHI))), free_joint);
        return sum_of_powers(plus(1, identity(nl), -1, step));
    }
    case LEAF_COSTATE: return costate_covariance(o);
    case LEAF_ROOT: return root_of_D(o);
    case LEAF_ROOTINV: {
        double condition;
        matrix checked = of(o, LEAF_DINV); /* a joint that moves nothing is refused there */
        return checked.x ? invert(root_of_D(o), &condition) : (matrix){0};
    }
    case LEAF_CENTRIPETAL:
    case LEAF_BIASACC:
    case LEAF_BIASFORCE: return bias(o, leaf);
    case LEAF_DART: return inertia_change(o, LEAF_ART);
    case LEAF_DCOMPOSITE: return inertia_change(o, LEAF_COMPOSITE);
    default: return (matrix){0};
    }
}
static matrix of(oracle *o, int leaf) {
    if (!o->leaf[leaf].x) o->leaf[leaf] = form(o, leaf);
    return o->leaf[leaf];
}

/* cross(v), bar(v) column by column. */
static matrix crosses(expr_kind kind, matrix v) {
    matrix out = v.x ? make(v.rows, v.rows) : (matrix){0};
    for (int c = 0; out.x && c < v.rows; ++c) {
        const int at = c - c % 6;
        double e[6] = {0}, y[6];
        e[c % 6] = 1;
        if (kind == EXPR_CROSS)
            cross_motion(v.x + at, e, y);
        else
            cross_force(e, v.x + at, y);
        for (int r = 0; r < 6; ++r)
            AT(out, at + r, c) = y[r];
    }
    return release(v, (matrix){0}, out);
}

static matrix eval(oracle *o, const soa_expr *e);
static matrix inverse_of(oracle *o, const soa_expr *e) {
    matrix a = eval(o, e->arg[0]);
    if (!a.x) return a;
    double condition;
    matrix out = invert(a, &condition);
    if (condition > o->condition) o->condition = condition;
    if (condition <= SOAI_MOST_CONDITION) return out;
    if (!o->bad) {
        o->bad = soai_hold(e->arg[0]);
        o->bad_condition = condition >= 0 ? condition : INFINITY;
    }
    return release(out, (matrix){0}, (matrix){0});
}
static matrix pseudo_inverse_of(oracle *o, const soa_expr *e) {
    matrix a = eval(o, e->arg[0]), out = least_norm_inverse(copy(a));
    if (a.x && out.x) {
        const int rank = rank_of(a, out);
        if (o->rank < 0 || rank < o->rank) o->rank = rank;
    }
    return release(a, (matrix){0}, out);
}
/* Operators with blocks of the caller, and at(link). */
static matrix blocks_of(oracle *o, const soa_expr *e) {
    const soa_machine *m = o->m;
    const int one =
        e->leaf == LEAF_AT ? soai_link_named(m->model, e->name, o->m->why, sizeof o->m->why) : 0;
    const double *numbers = e->leaf == LEAF_BLOCKS ? soai_own(m, e) : NULL;
    if (!one && !numbers) {
        o->unset = 1;
        return (matrix){0};
    }
    matrix out = make(m->size[e->to], m->size[e->from]);
    for (int i = 1; out.x && i <= m->model->nb; ++i) {
        const soai_body_double *b = m->work->view.body + i;
        const int n = e->to == SOA_SPACE_JOINT ? b->nv : 6;
        const int at = e->to == SOA_SPACE_JOINT ? b->iv : 6 * i - 6;
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c)
                AT(out, at + r, at + c) =
                    numbers ? numbers[36 * i + n * r + c] : (double)(i == one && r == c);
    }
    return out;
}
static matrix eval(oracle *o, const soa_expr *e) {
    if (e->kind == EXPR_LEAF && !soai_callers(e) && soai_leaves[e->leaf].definition) {
        const soa_expr *wide = soai_expand(e);
        matrix out = wide ? eval(o, wide) : (matrix){0};
        soa_expr_free(wide);
        return out;
    }
    if (e->kind == EXPR_LEAF) {
        if (e->leaf == LEAF_ID) return identity(o->m->size[e->to]);
        if (e->leaf == LEAF_ZERO) return make(o->m->size[e->to], o->m->size[e->from]);
        if (e->leaf == LEAF_BLOCKS || e->leaf == LEAF_AT) return blocks_of(o, e);
        const double *data = soai_vector(o->m, e);
        if (data) {
            matrix v = make(o->m->size[e->to], 1);
            const int links = e->to == SOA_SPACE_LINK || e->to == SOA_SPACE_EDGE;
            if (v.x) memcpy(v.x, data + (links ? 6 : 0), (size_t)v.rows * sizeof(double));
            return v;
        }
        if (e->leaf == LEAF_CONSTRAIN && !o->m->tips.first) {
            o->unset = 1;
            return (matrix){0};
        }
        if (e->leaf == LEAF_MATRIX || (soai_is_closure(e->leaf) && e->leaf != LEAF_CONSTRAIN)) {
            const double *numbers = soai_matrix(o->m, e);
            o->unset |= !numbers;
            matrix m = numbers ? make(o->m->size[e->to], o->m->size[e->from]) : (matrix){0};
            if (m.x) memcpy(m.x, numbers, (size_t)m.rows * (size_t)m.columns * sizeof(double));
            return m;
        }
        o->unset |= e->leaf == LEAF_VARIABLE;
        return e->leaf == LEAF_VARIABLE ? (matrix){0} : copy(of(o, e->leaf));
    }
    if (e->kind == EXPR_ADJOINT) return turn(eval(o, e->arg[0]));
    if (e->kind == EXPR_INVERSE) return inverse_of(o, e);
    if (e->kind == EXPR_PSEUDO) return pseudo_inverse_of(o, e);
    if (e->kind == EXPR_CROSS || e->kind == EXPR_BAR) return crosses(e->kind, eval(o, e->arg[0]));
    if (e->kind == EXPR_SCALE) {
        matrix a = eval(o, e->arg[0]);
        return plus(e->factor, a, 0, copy(a));
    }
    const int last = e->count - 1;
    matrix total = eval(o, e->arg[last]);
    for (int i = last - 1; i >= 0; --i)
        total = e->kind == EXPR_SUM ? plus(1, eval(o, e->arg[i]), 1, total)
                                    : times(eval(o, e->arg[i]), total);
    return total;
}

soa_status soa_machine_dense_matrix(soa_machine *machine, const soa_expr *expr, double *out) {
    if (!machine || !expr || !out) return SOA_E_ARGUMENT;
    soai_run_begins(machine);
    soai_pose(machine);
    oracle o = {.m = machine, .condition = 1, .rank = -1};
    const unsigned before = soai_refusals();
    matrix result = eval(&o, expr);
    const int short_of_memory = soai_refusals() != before;
    machine->condition = o.condition;
    machine->rank = o.rank;
    if (result.x && !short_of_memory)
        memcpy(out, result.x, (size_t)result.rows * (size_t)result.columns * sizeof *out);
    const int made = result.x != NULL;
    free(result.x);
    for (int i = 0; i < LEAF_COUNT; ++i)
        free(o.leaf[i].x);
    soa_status s = made && !short_of_memory ? SOA_OK : SOA_E_MEMORY;
    if (short_of_memory)
        s = SOA_E_MEMORY;
    else if (!made && o.unset)
        s = SOA_E_NAME;
    else if (!made && o.bad)
        s = soai_run_singular(machine, o.bad, o.bad_condition);
    else if (!made && o.stuck)
        s = soai_run_hinge(machine, o.stuck);
    soa_expr_free(o.bad);
    return s;
}
