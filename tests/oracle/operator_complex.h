/* operator_complex.h  operator expressions as dense matrices over complex numbers, from definitions
 *                     alone: the imaginary part for a state displaced by i h is the derivative.
 *
 * Poses and joint maps come from the joints' functions over complex numbers (joint.h); no sweep and
 * no rule of differentiation is used.  The file that includes this one names soai_kernels_complex. */
#ifndef SOA_TESTS_OPERATOR_COMPLEX_H
#define SOA_TESTS_OPERATOR_COMPLEX_H
#define SOAI_NUMBER SOAI_COMPLEX
#include "model/model_internal.h"
#include "sweep/compiled_sweeps.h"
#include "sweep/steps.h"

#include "check.h"
#include "soa/operator.h"

extern const soai_kernels soai_kernels_complex;
typedef double _Complex cplx;
#define COMPLEX_STEP 1e-40

typedef struct cmat {
    int rows, columns;
    cplx *x;
} cmat;
#define CAT(m, r, c) ((m).x[(size_t)(r) * (size_t)(m).columns + (size_t)(c)])

/* A state and its displacement. */
typedef struct complex_state {
    const soa_model *model;
    int tip_count;
    int tips[4]; /* frames */
    const double *q, *v, *a, *tau, *f0;
    const double *dq, *dv, *da, *dtau, *df0;
    const soa_wrench *wrench;
    int wrench_count;
    soai_view_double view;
    kernel_work *w;
    cplx *arrays, *cq;
    cplx *Rw; /* body to world */
} complex_state;

static cmat cmat_new(int rows, int columns) {
    cmat m = {rows, columns, calloc((size_t)rows * (size_t)columns + 1, sizeof(cplx))};
    assert_non_null(m.x);
    return m;
}
static cmat cmat_unit(int n) {
    cmat m = cmat_new(n, n);
    for (int i = 0; i < n; ++i)
        CAT(m, i, i) = 1;
    return m;
}
/* These free what they are given. */
static cmat cmat_mul(cmat a, cmat b) {
    assert_int_equal(a.columns, b.rows);
    cmat m = cmat_new(a.rows, b.columns);
    for (int i = 0; i < a.rows; ++i)
        for (int k = 0; k < a.columns; ++k)
            for (int j = 0; CAT(a, i, k) != 0 && j < b.columns; ++j)
                CAT(m, i, j) += CAT(a, i, k) * CAT(b, k, j);
    free(a.x);
    free(b.x);
    return m;
}
static cmat cmat_add(cplx s, cmat a, cplx t, cmat b) {
    assert_true(a.rows == b.rows && a.columns == b.columns);
    for (size_t i = 0; i < (size_t)a.rows * (size_t)a.columns; ++i)
        a.x[i] = s * a.x[i] + t * b.x[i];
    free(b.x);
    return a;
}
static cmat cmat_turn(cmat a) {
    cmat m = cmat_new(a.columns, a.rows);
    for (int i = 0; i < a.rows; ++i)
        for (int j = 0; j < a.columns; ++j)
            CAT(m, j, i) = CAT(a, i, j);
    free(a.x);
    return m;
}
static cmat cmat_copy(cmat a) {
    cmat m = cmat_new(a.rows, a.columns);
    memcpy(m.x, a.x, (size_t)a.rows * (size_t)a.columns * sizeof *m.x);
    return m;
}
/* Gauss-Jordan; rows are chosen by the real part. */
static cmat cmat_invert(cmat a) {
    const int n = a.rows;
    cmat m = cmat_unit(n);
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(creal(CAT(a, r, c))) > fabs(creal(CAT(a, best, c)))) best = r;
        for (int j = 0; best != c && j < n; ++j) {
            cplx t = CAT(a, c, j);
            CAT(a, c, j) = CAT(a, best, j);
            CAT(a, best, j) = t;
            t = CAT(m, c, j);
            CAT(m, c, j) = CAT(m, best, j);
            CAT(m, best, j) = t;
        }
        const cplx d = 1 / CAT(a, c, c);
        for (int j = 0; j < n; ++j) {
            CAT(a, c, j) *= d;
            CAT(m, c, j) *= d;
        }
        for (int r = 0; r < n; ++r) {
            const cplx s = CAT(a, r, c);
            for (int j = 0; r != c && s != 0 && j < n; ++j) {
                CAT(a, r, j) -= s * CAT(a, c, j);
                CAT(m, r, j) -= s * CAT(m, c, j);
            }
        }
    }
    free(a.x);
    return m;
}

/* --- the state -------------------------------------------------------------------------------- */
/* q displaced by i h dq in the tangent space. */
static void displaced_q(const complex_state *s, cplx *out) {
    const cplx ih = COMPLEX_STEP * _Complex_I;
    for (int j = 0; j < s->view.nq; ++j)
        out[j] = s->q[j];
    for (int i = 1; i <= s->view.nb; ++i) {
        const soai_body_double *b = s->view.body + i;
        const double *d = s->dq + b->iv;
        cplx *x = out + b->iq;
        if (b->type != SOA_SPHERICAL && b->type != SOA_FREE) {
            for (int c = 0; c < b->nv; ++c)
                x[c] += ih * d[c];
            continue;
        }
        cplx *u = b->type == SOA_FREE ? x + 3 : x, R[9];
        if (b->type == SOA_FREE) { /* p += R v */
            rot_quaternion(u, R);
            for (int c = 0; c < 3; ++c)
                x[c] += ih * (R[3 * c] * d[3] + R[3 * c + 1] * d[4] + R[3 * c + 2] * d[5]);
        }
        const cplx w0 = u[0], w1 = u[1], w2 = u[2], w3 = u[3];
        const cplx e = ih * d[0] / 2, f = ih * d[1] / 2, g = ih * d[2] / 2; /* times (1, w / 2) */
        u[0] = w0 - w1 * e - w2 * f - w3 * g;
        u[1] = w1 + w0 * e + w2 * g - w3 * f;
        u[2] = w2 + w0 * f - w1 * g + w3 * e;
        u[3] = w3 + w0 * g + w1 * f - w2 * e;
    }
}
static void complex_open(complex_state *s) {
    s->view = soai_model_view(s->model);
    s->w = calloc(1, soai_kernels_complex.work_bytes);
    s->arrays = calloc(soai_kernels_complex.work_reals(&s->view) + 1, sizeof(cplx));
    s->cq = calloc((size_t)s->view.nq + 1, sizeof(cplx));
    s->Rw = calloc(9 * ((size_t)s->view.nb + 1), sizeof(cplx));
    assert_true(s->w && s->arrays && s->cq && s->Rw);
    soai_kernels_complex.work_place(&s->view, s->w, s->arrays);
    displaced_q(s, s->cq);
    soai_kernels_complex.positions(&s->view, s->w, s->cq);
    for (int i = 1; i <= s->view.nb; ++i) {
        const int parent = s->view.body[i].parent;
        if (parent)
            rot_rot(s->Rw + 9 * parent, s->w->b[i].R, s->Rw + 9 * i);
        else
            memcpy(s->Rw + 9 * i, s->w->b[i].R, 9 * sizeof(cplx));
    }
}
static void complex_close(complex_state *s) {
    free(s->w);
    free(s->arrays);
    free(s->cq);
    free(s->Rw);
}

/* --- leaves ----------------------------------------------------------------------------------- */
static cmat complex_text(const complex_state *s, const char *text);

static cmat vector_of(const double *x, const double *dx, int n) {
    cmat m = cmat_new(n, 1);
    for (int i = 0; i < n; ++i)
        m.x[i] = x[i] + COMPLEX_STEP * _Complex_I * dx[i];
    return m;
}
static void put_shift(cmat m, int row, int column, const cplx R[9], const cplx p[3]) {
    for (int c = 0; c < 6; ++c) {
        cplx f[6] = {0}, y[6] = {0};
        f[c] = 1;
        force_in_add(R, p, f, y);
        for (int r = 0; r < 6; ++r)
            CAT(m, row + r, column + c) = y[r];
    }
}
static cmat hinges_of(const complex_state *s) {
    cmat H = cmat_new(s->view.nv, 6 * s->view.nb);
    for (int i = 1; i <= s->view.nb; ++i) {
        const soai_body_double *b = s->view.body + i;
        for (int c = 0; c < b->nv; ++c) {
            cplx one[6] = {0}, column[6] = {0};
            one[c] = 1;
            joint_add(&s->view, s->w, b, b->kind, b->nv, one, column);
            for (int j = 0; j < 6; ++j)
                CAT(H, b->iv + c, 6 * i - 6 + j) = column[j];
        }
    }
    return H;
}
/* Entries from the tables; rows 0: the leaf is not one of these. */
static cmat entries_of(const complex_state *s, const char *name) {
    const soai_view_double *k = &s->view;
    const int n = 6 * k->nb;
    cmat m = {0};
    if (!strcmp(name, "H")) return hinges_of(s);
    if (!strcmp(name, "Lv")) {
        m = cmat_new(n, n);
        for (int j = 0; j < n; ++j)
            CAT(m, j, j) = j % 6 >= 3;
        return m;
    }
    if (!strcmp(name, "Ht")) { /* the last column of universal and planar joints */
        m = hinges_of(s);
        for (int i = 1; i <= k->nb; ++i)
            for (int c = 0; c < k->body[i].nv; ++c)
                for (int j = 0; j < n; ++j)
                    if (!joint_varies(k->body + i) || c + 1 < k->body[i].nv)
                        CAT(m, k->body[i].iv + c, j) = 0;
        return m;
    }
    if (!strcmp(name, "Delta_phi")) {
        m = cmat_new(n, n);
        for (int i = 1; i <= k->nb; ++i)
            put_shift(m, 6 * i - 6, 6 * i - 6, s->w->b[i].R, s->w->b[i].p);
    } else if (!strcmp(name, "S")) {
        m = cmat_new(n, n);
        for (int i = 1; i <= k->nb; ++i)
            for (int j = 0; k->body[i].parent && j < 6; ++j)
                CAT(m, 6 * k->body[i].parent - 6 + j, 6 * i - 6 + j) = 1;
    } else if (!strcmp(name, "M")) {
        m = cmat_new(n, n);
        for (int i = 1; i <= k->nb; ++i)
            for (int c = 0; c < 6; ++c) {
                cplx e[6] = {0}, y[6];
                e[c] = 1;
                rigid_mul_k(k->body[i].M, e, y);
                for (int j = 0; j < 6; ++j)
                    CAT(m, 6 * i - 6 + j, 6 * i - 6 + c) = y[j];
            }
    } else if (!strcmp(name, "Jr")) {
        m = cmat_new(k->nv, k->nv);
        for (int j = 0; j < k->nv; ++j)
            CAT(m, j, j) = k->dof[j].armature;
    } else if (!strcmp(name, "B")) {
        m = cmat_new(n, 6 * s->tip_count);
        for (int f = 0; f < s->tip_count; ++f) {
            const soai_frame_row *row = SOAI_AT(s->model, soai_frame_row, frame) + s->tips[f];
            cplx R[9], p[3];
            for (int j = 0; j < 9; ++j)
                R[j] = row->R[j];
            for (int j = 0; j < 3; ++j)
                p[j] = row->p[j];
            put_shift(m, 6 * row->body - 6, 6 * f, R, p);
        }
    } else if (!strcmp(name, "E")) { /* root links see the base through phi(0, k)' */
        cmat all = entries_of(s, "Delta_phi");
        m = cmat_new(n, 6);
        for (int i = 1; i <= k->nb; ++i)
            for (int r = 0; !k->body[i].parent && r < 36; ++r)
                CAT(m, 6 * i - 6 + r / 6, r % 6) = CAT(all, 6 * i - 6 + r % 6, 6 * i - 6 + r / 6);
        free(all.x);
    }
    return m;
}
/* External wrenches in body axes; those given in world axes turn against the body. */
static cmat wrenches_of(const complex_state *s) {
    cmat out = cmat_new(6 * s->view.nb, 1);
    for (int i = 0; i < s->wrench_count; ++i) {
        const soa_wrench *f = s->wrench + i;
        const soai_frame_row *row = SOAI_AT(s->model, soai_frame_row, frame) + f->frame;
        if (!row->body) continue;
        cplx g[6], *to = out.x + 6 * (row->body - 1);
        for (int h = 0; h < 6; ++h) {
            const int r = h % 3, first = h - r;
            g[h] = 0;
            for (int l = 0; l < 3; ++l)
                g[h] += (f->axes == SOA_AXES_WORLD ? s->Rw[9 * row->body + 3 * l + r]
                                                   : (cplx)row->R[3 * r + l]) *
                        f->value[first + l];
        }
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3;
            to[j] += g[j] + row->p[a] * g[3 + b] - row->p[b] * g[3 + a];
            to[3 + j] += g[3 + j];
        }
    }
    return out;
}
static cmat bias_of(const complex_state *s, int acceleration) {
    cmat V = complex_text(s, "phi' H' thd"), out = cmat_new(V.rows, 1);
    cmat v = vector_of(s->v, s->dv, s->view.nv);
    for (int i = 1; i <= s->view.nb; ++i) {
        const soai_body_double *b = s->view.body + i;
        const cplx *at = V.x + 6 * i - 6;
        cplx *to = out.x + 6 * i - 6, t[6] = {0};
        if (acceleration) {
            joint_add(&s->view, s->w, b, b->kind, b->nv, v.x + b->iv, t);
            cross_motion(at, t, to);
            joint_apparent_rate(&s->view, s->w, b, v.x + b->iv, v.x + b->iv, to);
        } else {
            rigid_mul_k(b->M, at, t);
            cross_force(at, t, to);
        }
    }
    free(V.x);
    free(v.x);
    if (acceleration) return cmat_add(1, out, 1, complex_text(s, "E g"));
    return cmat_add(1, out, -1, wrenches_of(s));
}
/* P or Mc, body by body from the tips. */
static cmat inertias_of(const complex_state *s, int articulated) {
    const soai_view_double *k = &s->view;
    cmat P = entries_of(s, "M"), X = entries_of(s, "Delta_phi"), H = hinges_of(s);
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        if (!b->parent) continue;
        cmat p = cmat_new(6, 6), x = cmat_new(6, 6), h = cmat_new(b->nv, 6);
        for (int j = 0; j < 36; ++j) {
            p.x[j] = CAT(P, 6 * i - 6 + j / 6, 6 * i - 6 + j % 6);
            x.x[j] = CAT(X, 6 * i - 6 + j / 6, 6 * i - 6 + j % 6);
        }
        for (int j = 0; j < 6 * b->nv; ++j)
            h.x[j] = CAT(H, b->iv + j / 6, 6 * i - 6 + j % 6);
        if (articulated) {
            cmat u = cmat_mul(cmat_copy(p), cmat_turn(cmat_copy(h)));
            cmat d = cmat_mul(cmat_copy(h), cmat_copy(u));
            for (int c = 0; c < b->nv; ++c)
                CAT(d, c, c) += k->dof[b->iv + c].armature;
            cmat ut = cmat_turn(cmat_copy(u));
            p = cmat_add(1, p, -1, cmat_mul(cmat_mul(u, cmat_invert(d)), ut));
        }
        cmat xt = cmat_turn(cmat_copy(x)), moved = cmat_mul(cmat_mul(x, p), xt);
        for (int j = 0; j < 36; ++j)
            CAT(P, 6 * b->parent - 6 + j / 6, 6 * b->parent - 6 + j % 6) += moved.x[j];
        free(moved.x);
        free(h.x);
    }
    free(X.x);
    free(H.x);
    return P;
}
static cmat complex_leaf(const complex_state *s, const soa_expr *e, const soa_expr_info *info) {
    static const struct {
        const char *name, *text;
    } made[] = {{"phi", "inv(I - S Delta_phi)"},
                {"psi", "inv(I - S Delta_phi (I - G H))"},
                {"G", "P H' inv(D)"},
                {"wxv", "cross(phi' H' thd) Lv phi' H' thd"}};
    const char *name = info->name;
    const int nv = s->view.nv;
    if (!strcmp(name, "I")) {
        switch (soa_expr_domain(e)) {
        case SOA_SPACE_JOINT: return cmat_unit(nv);
        case SOA_SPACE_TIP: return cmat_unit(6 * s->tip_count);
        case SOA_SPACE_BASE: return cmat_unit(6);
        default: return cmat_unit(6 * s->view.nb);
        }
    }
    if (info->definition) return complex_text(s, info->definition);
    for (size_t i = 0; i < sizeof made / sizeof *made; ++i)
        if (!strcmp(name, made[i].name)) return complex_text(s, made[i].text);
    if (!strcmp(name, "P")) return inertias_of(s, 1);
    if (!strcmp(name, "Mc")) return inertias_of(s, 0);
    if (!strcmp(name, "D")) return cmat_add(1, complex_text(s, "H P H'"), 1, entries_of(s, "Jr"));
    if (!strcmp(name, "inv(D)")) return cmat_invert(complex_text(s, "D"));
    if (!strcmp(name, "T")) return vector_of(s->tau, s->dtau, nv);
    if (!strcmp(name, "thd")) return vector_of(s->v, s->dv, nv);
    if (!strcmp(name, "thdd")) return vector_of(s->a, s->da, nv);
    if (!strcmp(name, "f0")) return vector_of(s->f0, s->df0, 6 * s->tip_count);
    if (!strcmp(name, "a") || !strcmp(name, "b")) return bias_of(s, *name == 'a');
    if (!strcmp(name, "g")) {
        cmat g = cmat_new(6, 1);
        for (int j = 0; j < 3; ++j)
            g.x[3 + j] = -s->view.gravity[j];
        return g;
    }
    cmat m = entries_of(s, name);
    if (!m.x) fail_msg("the complex oracle does not know %s", name);
    return m;
}
static cmat complex_value(const complex_state *s, const soa_expr *e) {
    soa_expr_info info;
    assert_int_equal(soa_expr_get_info(e, &info), SOA_OK);
    if (info.kind == SOA_EXPR_LEAF) return complex_leaf(s, e, &info);
    cmat m = complex_value(s, soa_expr_part(e, info.count - 1));
    switch (info.kind) {
    case SOA_EXPR_SUM:
        for (int i = info.count - 2; i >= 0; --i)
            m = cmat_add(1, complex_value(s, soa_expr_part(e, i)), 1, m);
        return m;
    case SOA_EXPR_PRODUCT:
        for (int i = info.count - 2; i >= 0; --i)
            m = cmat_mul(complex_value(s, soa_expr_part(e, i)), m);
        return m;
    case SOA_EXPR_SCALE: return cmat_add(info.factor, m, 0, cmat_copy(m));
    case SOA_EXPR_ADJOINT: return cmat_turn(m);
    case SOA_EXPR_INVERSE: return cmat_invert(m);
    case SOA_EXPR_PSEUDOINVERSE: { /* of full rank */
        cmat t = cmat_turn(cmat_copy(m));
        if (m.rows <= m.columns) return cmat_mul(t, cmat_invert(cmat_mul(m, cmat_copy(t))));
        return cmat_mul(cmat_invert(cmat_mul(cmat_copy(t), m)), t);
    }
    case SOA_EXPR_CROSS:
    case SOA_EXPR_BAR: {
        cmat all = cmat_new(m.rows, m.rows);
        for (int c = 0; c < m.rows; ++c) {
            cplx one[6] = {0}, y[6];
            one[c % 6] = 1;
            if (info.kind == SOA_EXPR_CROSS)
                cross_motion(m.x + c - c % 6, one, y);
            else
                cross_force(one, m.x + c - c % 6, y);
            for (int r = 0; r < 6; ++r)
                CAT(all, c - c % 6 + r, c) = y[r];
        }
        free(m.x);
        return all;
    }
    default: fail_msg("the complex oracle does not know this kind of expression"); return m;
    }
}
static cmat complex_text(const complex_state *s, const char *text) {
    const soa_expr *e = NULL;
    char message[600];
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    cmat m = complex_value(s, e);
    soa_expr_free(e);
    return m;
}
/* The derivative of e in the direction of the state. */
static double *complex_derivative(const complex_state *s, const soa_expr *e, size_t *count) {
    cmat m = complex_value(s, e);
    *count = (size_t)m.rows * (size_t)m.columns;
    double *out = calloc(*count + 1, sizeof *out);
    for (size_t i = 0; i < *count; ++i)
        out[i] = cimag(m.x[i]) / COMPLEX_STEP;
    free(m.x);
    return out;
}

#endif
