/* closed.c  forward dynamics of closed chains: FO00 section 3.4, its three methods.
 *
 *     M vdot + bias = tau + G' lambda,    G vdot + gamma = 0
 * method 1  the whole system (20), dense: L D L' with pivots on [M G1'; G1 0], G1 the independent
 *           rows of G
 * method 2  (21): G M^-1 G' lambda = -(G vdot0 + gamma), vdot0 by soa_aba, columns M^-1 G' by O(n)
 *           sweeps.  O(n rows)
 * method 3  (22): independent motions.  With M = C C' and Q R = C^-1 G' P, vdot = C^-' (Y y + Z
 *           Z'C^-1(tau - bias)), R'y = -gamma; Q = [Y Z] is orthonormal, so the motions Z need no
 *           further solve.
 * All three end with the same triangular factor of the independent rows (c->L: Cholesky of the
 * scaled G M^-1 G', or R'), from which come the rank, the redundant rows as combinations of the
 * others, and the multipliers of least norm. */
#include "constraint_internal.h"
#include "../base/small_algebra.h"
#include "../dynamics/coordinates.h"
#include <math.h>
#include <stdio.h>

soa_closed_options soa_closed_options_default(void) {
    const soa_closed_options o = {.method = SOA_CLOSED_AUTO,
                                  .rank_tolerance = 1e-12,
                                  .most_condition = 1e11,
                                  .consistency = 1e-7};
    return o;
}

soa_status soai_minv_prepare_posed(soa_work *w, const double *q) {
    soai_work_take(w);
    w->body = soai_work_articulate(w, tree_q(w, q));
    return w->body ? SOA_E_HINGE_SINGULAR : SOA_OK;
}
soa_status soai_minv_prepare(soa_work *w, const double *q) {
    soai_work_take(w);
    w->body = soai_work_articulate_aligned(w, tree_q(w, q));
    return w->body ? SOA_E_HINGE_SINGULAR : SOA_OK;
}
void soai_minv_apply(soa_work *w, const double *x, double *y) {
    double *out = w->model->nm ? w->tt : y;
    w->k->minv_mul(w->articulated, &w->w, tree_torque(w, x, w->tv), out);
    if (w->model->nm) user_motion(w, out, y);
}

/* The same over the coordinates listed; where that is all of them, in their order. */
static double dot_at(int n, int listed, const int *list, const double *a, const double *b) {
    if (listed == n) return soai_dot(n, a, b);
    double sum = 0;
    for (int k = 0; k < listed; ++k)
        sum += a[list[k]] * b[list[k]];
    return sum;
}
static int tied(const soa_constraints *c) {
    return c->trees < 2 || c->inertias > 0;
}
int soai_support(const soa_constraints *c, int number, int *list) {
    const constraint *k = c->list + number;
    int n = 0;
    if (tied(c)) {
        for (; n < c->model->nv; ++n)
            list[n] = n;
        return n;
    }
    for (int t = 0; t < k->tree_count; ++t)
        for (int i = c->tree_first[k->trees[t]]; i < c->tree_first[k->trees[t] + 1]; ++i)
            list[n++] = c->tree_dof[i];
    return n;
}
int soai_touch(const soa_constraints *c, int one, int two) {
    const constraint *a = c->list + one, *b = c->list + two;
    if (one == two || tied(c)) return 1;
    for (int i = 0; i < a->tree_count; ++i)
        for (int j = 0; j < b->tree_count; ++j)
            if (a->trees[i] == b->trees[j]) return 1;
    return 0;
}
/* Where the rows of the next constraint begin. */
static int next_group(const soa_constraints *c, int first, int rows) {
    int next = first + 1;
    while (next < rows && c->owner[next] == c->owner[first])
        ++next;
    return next;
}

static void columns_one_by_one(soa_constraints *c, soa_work *w, int rows) {
    const size_t nv = (size_t)c->model->nv;
    for (int r = 0; r < rows; ++r) {
        const double *g = c->G + (size_t)r * nv;
        size_t k = 0;
        while (k < nv && g[k] == 0)
            ++k;
        if (k < nv)
            soai_cut_minv(c, w, g, c->Y + (size_t)r * nv);
        else
            memset(c->Y + (size_t)r * nv, 0, nv * sizeof *c->Y);
    }
}
/* Constraints that share no tree make a party (greedy colouring), in c->pivot by their first rows;
 * the k-th rows of a party are swept together, and each finds its numbers in its own trees. */
void soai_columns(soa_constraints *c, soa_work *w, int rows) {
    const size_t nv = (size_t)c->model->nv;
    if (tied(c)) {
        columns_one_by_one(c, w, rows);
        return;
    }
    memset(c->Y, 0, (size_t)rows * nv * sizeof *c->Y);
    memset(c->tree_mark, 0, (size_t)c->trees * sizeof *c->tree_mark);
    int left = 0, *waiting = c->pivot; /* first rows of constraints that no party has yet */
    for (int r = 0; r < rows; r = next_group(c, r, rows))
        waiting[left++] = r;
    for (int party = 1; left > 0; ++party) {
        int members = 0, others = 0; /* members change places with those that wait */
        for (int i = 0; i < left; ++i) {
            const constraint *k = c->list + c->owner[waiting[i]];
            int fits = 1;
            for (int t = 0; t < k->tree_count; ++t)
                fits &= c->tree_mark[k->trees[t]] != party;
            for (int t = 0; t < k->tree_count && fits; ++t)
                c->tree_mark[k->trees[t]] = party;
            if (fits)
                c->order[members++] = waiting[i];
            else
                waiting[others++] = waiting[i];
        }
        left = others;
        for (int k = 0, any = 1; any; ++k) {
            any = 0;
            memset(c->step, 0, nv * sizeof *c->step);
            for (int i = 0; i < members; ++i) {
                const int r = c->order[i] + k;
                if (r >= rows || c->owner[r] != c->owner[c->order[i]]) continue;
                const constraint *of = c->list + c->owner[r];
                for (int t = 0; t < of->tree_count; ++t)
                    for (int j = c->tree_first[of->trees[t]]; j < c->tree_first[of->trees[t] + 1];
                         ++j)
                        c->step[c->tree_dof[j]] = c->G[(size_t)r * nv + (size_t)c->tree_dof[j]];
                any = 1;
            }
            if (!any) break;
            soai_minv_apply(w, c->step, c->spread);
            for (int i = 0; i < members; ++i) {
                const int r = c->order[i] + k;
                if (r >= rows || c->owner[r] != c->owner[c->order[i]]) continue;
                const constraint *of = c->list + c->owner[r];
                for (int t = 0; t < of->tree_count; ++t)
                    for (int j = c->tree_first[of->trees[t]]; j < c->tree_first[of->trees[t] + 1];
                         ++j)
                        c->Y[(size_t)r * nv + (size_t)c->tree_dof[j]] = c->spread[c->tree_dof[j]];
            }
        }
    }
}

/* --- the factor of the independent rows ------------------------------------------------------- */
/* L11 x = b and L11' x = b, in place; b and x in pivot order. */
static void forward(const soa_constraints *c, const gram *s, double *x) {
    for (int i = 0; i < s->rank; ++i)
        x[i] = (x[i] - soai_dot(i, c->L + s->rows * i, x)) / c->L[s->rows * i + i];
}
static void backward(const soa_constraints *c, const gram *s, double *x) {
    for (int i = s->rank - 1; i >= 0; --i) { /* by rows of L */
        const double *row = c->L + s->rows * i, xi = x[i] /= row[i];
        for (int k = 0; k < i && xi != 0; ++k)
            x[k] -= row[k] * xi;
    }
}
/* Combinations of rows that give nothing, one for each redundant row, kept in N, made orthonormal;
 * those found first, still as combinations, name what a redundant row repeats. */
static void null_space(soa_constraints *c, const gram *s, soa_closed_report *report) {
    for (int d = s->rank; d < s->rows; ++d) {
        double *n = c->N + s->rows * (d - s->rank), *x = c->part;
        for (int k = 0; k < s->rank; ++k)
            x[k] = -c->L[s->rows * d + k];
        backward(c, s, x);
        const int own = c->owner[c->pivot[d]];
        if (report && d - s->rank < SOA_REDUNDANT_MOST) {
            int first = 0;
            soa_constraints_row_range(c, own, &first, NULL);
            report->redundant_constraint[d - s->rank] = own;
            report->redundant_row[d - s->rank] = c->pivot[d] - first;
        }
        if (report && !report->text[0]) {
            size_t at = (size_t)snprintf(report->text, sizeof report->text, "%s repeats rows of",
                                         c->list[own].name);
            int last = -1, named = 0;
            for (int k = 0; k < s->rows; ++k) /* in order of constraints */
                for (int p = 0; p < s->rank; ++p)
                    if (c->pivot[p] == k && fabs(x[p]) > 1e-6 && c->owner[k] != last &&
                        at < sizeof report->text) {
                        last = c->owner[k];
                        at += (size_t)snprintf(report->text + at, sizeof report->text - at, "%s %s",
                                               named++ ? "," : "",
                                               last == own ? "its own" : c->list[last].name);
                    }
            if (!named)
                snprintf(report->text, sizeof report->text, "%s has a row that always holds",
                         c->list[own].name);
        }
        for (int k = 0; k < s->rows; ++k)
            n[k] = 0;
        for (int k = 0; k < s->rank; ++k)
            n[c->pivot[k]] = x[k] * c->scale[c->pivot[k]];
        n[c->pivot[d]] = c->scale[c->pivot[d]];
        for (int e = 0; e < d - s->rank; ++e) {
            const double *o = c->N + s->rows * e, along = soai_dot(s->rows, o, n);
            for (int k = 0; k < s->rows; ++k)
                n[k] -= along * o[k];
        }
        const double size = sqrt(soai_dot(s->rows, n, n));
        for (int k = 0; k < s->rows; ++k)
            n[k] = size > 0 ? n[k] / size : 0;
    }
}
void soai_gram_least(soa_constraints *c, const gram *s, double *lambda) {
    null_space(c, s, NULL);
    for (int e = 0; e < s->rows - s->rank; ++e) {
        const double *n = c->N + s->rows * e, along = soai_dot(s->rows, n, lambda);
        for (int k = 0; k < s->rows; ++k)
            lambda[k] -= along * n[k];
    }
}
/* Multipliers from the scaled ones of the independent rows, in pivot order; the others are zero. */
static void unscale(const soa_constraints *c, const gram *s, const double *x, double *lambda) {
    for (int k = 0; k < s->rows; ++k)
        lambda[k] = 0;
    for (int k = 0; k < s->rank; ++k)
        lambda[c->pivot[k]] = x[k] * c->scale[c->pivot[k]];
}
static double condition_of(const soa_constraints *c, const gram *s) {
    double least = 1, most = 1;
    for (int k = 0; k < s->rank; ++k) {
        const double d = fabs(c->L[s->rows * k + k]);
        if (d < least) least = d;
        if (d > most) most = d;
    }
    return most / least * (most / least);
}

static int bounded(int rank, const soa_closed_options *options) {
    return options->rank_most > 0 && rank > options->rank_most ? options->rank_most : rank;
}
/* G M^-1 G' scaled, factored. */
void soai_gram_factor(soa_constraints *c, int rows, const soa_closed_options *options, gram *s) {
    const int nv = c->model->nv;
    *s = (gram){.rows = rows, .damping = options->damping};
    /* a row of G has few entries: those of its loop */
    for (int first = 0, next; first < rows; first = next) {
        next = next_group(c, first, rows);
        const int all = soai_support(c, c->owner[first], c->order);
        int *const at = c->order + all, few = 0; /* there is room for nv + rows, twice */
        for (int k = 0; k < all; ++k) {
            int any = 0;
            for (int i = first; i < next; ++i)
                any |= c->G[(size_t)i * (size_t)nv + (size_t)c->order[k]] != 0;
            if (any) at[few++] = c->order[k];
        }
        for (int i = first; i < next; ++i)
            memset(c->L + rows * i, 0, (size_t)(i + 1) * sizeof *c->L);
        /* blocks of constraints that share no tree stay zero */
        for (int from = 0, to; from <= first; from = to) {
            to = next_group(c, from, rows);
            if (!soai_touch(c, c->owner[first], c->owner[from])) continue;
            for (int i = first; i < next; ++i)
                for (int j = from; j < to && j <= i; ++j) {
                    const double *g = c->G + (size_t)i * (size_t)nv,
                                 *y = c->Y + (size_t)j * (size_t)nv;
                    double sum = 0;
                    for (int k = 0; k < few; ++k)
                        sum += g[at[k]] * y[at[k]];
                    c->L[rows * i + j] = sum;
                }
        }
    }
    for (int i = 0; i < rows; ++i)
        c->scale[i] = c->L[rows * i + i] > 0 ? c->natural[i] / sqrt(c->L[rows * i + i]) : 0;
    double most = 0;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j <= i; ++j)
            c->L[rows * i + j] *= c->scale[i] * c->scale[j];
        c->L[rows * i + i] += options->damping * options->damping;
        if (c->L[rows * i + i] > most) most = c->L[rows * i + i];
    }
    s->rank = bounded(
        soai_cholesky_pivoted(rows, c->L, c->pivot, most > 0 ? options->rank_tolerance / most : 0),
        options);
    s->condition = condition_of(c, s);
    for (int d = s->rank; d < rows; ++d)
        if (c->L[rows * d + d] > s->left) s->left = c->L[rows * d + d];
    for (int i = 0; i < rows; ++i)
        if (c->scale[i] == 0) c->scale[i] = 1;
}
/* x with G M^-1 G' x = b, zero at redundant rows. */
void soai_gram_basic(const soa_constraints *c, const gram *s, const double *b, double *x) {
    double *y = c->part;
    for (int k = 0; k < s->rank; ++k)
        y[k] = b[c->pivot[k]] * c->scale[c->pivot[k]];
    forward(c, s, y);
    backward(c, s, y);
    unscale(c, s, y, x);
}

/* The same factor from A = C^-1 G' (or G' itself), given row by row in `rows_of_A`: A' P = Q R;
 * c->L = R'.  K keeps the reflectors. */
static void qr_factor(soa_constraints *c, int rows, const double *rows_of_A,
                      const soa_closed_options *options, gram *s) {
    const int nv = c->model->nv;
    double most = 0;
    *s = (gram){.rows = rows};
    for (int r = 0; r < rows; ++r) {
        const double *a = rows_of_A + (size_t)r * (size_t)nv, size = sqrt(soai_dot(nv, a, a));
        c->scale[r] = size > 0 ? c->natural[r] / size : 0;
        if (size > 0 && c->natural[r] > most) most = c->natural[r];
        for (int j = 0; j < nv; ++j)
            c->K[(size_t)rows * (size_t)j + (size_t)r] = a[j] * c->scale[r];
        if (c->scale[r] == 0) c->scale[r] = 1;
    }
    s->rank = bounded(soai_qr(nv, rows, c->K, c->beta, c->pivot,
                              most > 0 ? sqrt(options->rank_tolerance) / most : 0),
                      options);
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k <= i && k < nv; ++k)
            c->L[rows * i + k] = c->K[(size_t)rows * (size_t)k + (size_t)i];
    s->condition = condition_of(c, s);
    if (s->rank < rows && s->rank < nv)
        s->left = c->L[rows * s->rank + s->rank] * c->L[rows * s->rank + s->rank];
}

/* How far redundant rows are from G vdot + gamma = 0, relative to the terms of that sum; below one
 * unit (m/s^2, rad/s^2) to one unit, for at rest all terms may be rounding.  The others hold by
 * construction. */
static double disagreement(const soa_constraints *c, const gram *s) {
    const int nv = c->model->nv;
    double worst = 0;
    for (int k = s->rank; k < s->rows; ++k) {
        const int r = c->pivot[k];
        double off = c->gamma[r], size = fabs(off);
        for (int j = 0; j < nv; ++j) {
            const double term = c->G[(size_t)r * (size_t)nv + (size_t)j] * c->vdot[j];
            off += term;
            size += fabs(term);
        }
        off = fabs(off) / (size > 1 ? size : 1);
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

/* --- the methods: from G, gamma (c->gamma), tau to vdot and lambda; and a factor of the rows */
typedef struct evaluation {
    soa_constraints *c;
    soa_work *w;
    const soa_closed_options *options;
    const double *q, *v;
    const soa_wrench *wrenches;
    int wrench_count, rows;
    int least; /* multipliers of least norm are wanted */
} evaluation;

/* method 2 */
static soa_status by_forces(const evaluation *in, gram *s) {
    soa_constraints *c = in->c;
    const int nv = c->model->nv, rows = in->rows;
    const soa_input state = {.q = in->q,
                             .v = in->v,
                             .tau = c->torque,
                             .wrenches = in->wrenches,
                             .wrench_count = in->wrench_count};
    soa_status bad = soai_aba_articulated(c->model, in->w, &state, c->vdot);
    if (bad || (bad = soai_cut_prepare(c, in->w))) return bad;
    soai_cut_correct(c, c->vdot);
    soai_columns(c, in->w, rows); /* with the articulated inertias of forward dynamics */
    soai_gram_factor(c, rows, in->options, s);
    for (int r = 0; r < rows; ++r)
        c->lambda[r] = 0;
    const int passes = s->damping > 0 ? 1 : 2;
    /* the second takes back most of the first's rounding */
    for (int pass = 0; pass < passes; ++pass) {
        for (int first = 0, next; first < rows; first = next) {
            const int all = soai_support(c, c->owner[first], c->order);
            next = next_group(c, first, rows);
            for (int r = first; r < next; ++r) {
                c->right[r] = -(dot_at(nv, all, c->order, c->G + (size_t)r * (size_t)nv, c->vdot) +
                                c->gamma[r]);
            }
        }
        soai_gram_basic(c, s, c->right, c->g);
        for (int first = 0, next; first < rows; first = next) {
            const int all = soai_support(c, c->owner[first], c->order);
            next = next_group(c, first, rows);
            for (int r = first; r < next; ++r) {
                const double *y = c->Y + (size_t)r * (size_t)nv;
                c->lambda[r] += c->g[r];
                for (int k = 0; k < all; ++k) {
                    const int j = all == nv ? k : c->order[k];
                    c->vdot[j] += y[j] * c->g[r];
                }
            }
        }
    }
    if (in->least) soai_gram_least(c, s, c->lambda);
    return SOA_OK;
}

/* torque = tau - bias, M */
static soa_status dense_start(const evaluation *in) {
    soa_constraints *c = in->c;
    const int nv = c->model->nv;
    soa_status bad =
        soa_rnea(c->model, in->w, in->q, in->v, NULL, in->wrenches, in->wrench_count, c->vdot);
    if (bad || (bad = soa_crba(c->model, in->w, in->q, c->M))) return bad;
    soai_cut_force(c, NULL, 1, c->vdot);
    soai_cut_mass(c, c->M);
    for (int j = 0; j < nv; ++j)
        c->torque[j] -= c->vdot[j];
    return SOA_OK;
}
/* K = [M G1'; G1 0], lower triangle, G1 the independent rows, scaled */
static void kkt_system(soa_constraints *c, const gram *s) {
    const int nv = c->model->nv, n = nv + s->rank;
    for (int i = 0; i < nv; ++i)
        for (int j = 0; j <= i; ++j)
            c->K[n * i + j] = c->M[nv * i + j];
    for (int k = 0; k < s->rank; ++k) {
        const int r = c->pivot[k], i = nv + k;
        for (int j = 0; j < nv; ++j)
            c->K[n * i + j] = c->G[(size_t)r * (size_t)nv + (size_t)j] * c->scale[r];
        for (int j = nv; j <= i; ++j)
            c->K[n * i + j] = 0;
    }
}
/* method 1 */
static soa_status by_kkt(const evaluation *in, gram *s) {
    soa_constraints *c = in->c;
    const int nv = c->model->nv;
    soa_status bad = dense_start(in);
    if (bad) return bad;
    qr_factor(c, in->rows, c->G, in->options, s);
    const int n = nv + s->rank;
    double *sum = c->beta; /* vdot, then the unknowns of (20), which are -lambda, scaled */
    for (int i = 0; i < n; ++i)
        sum[i] = 0;
    /* the second, with what the first left, takes back most of its rounding */
    for (int pass = 0; pass < 2; ++pass) {
        kkt_system(c, s);
        for (int i = 0; i < nv; ++i)
            c->x[i] = c->torque[i] - soai_dot(nv, c->M + nv * i, sum);
        for (int k = 0; k < s->rank; ++k) {
            const int r = c->pivot[k], i = nv + k;
            const double *row = c->G + (size_t)r * (size_t)nv;
            c->x[i] = -(c->gamma[r] + soai_dot(nv, row, sum)) * c->scale[r];
            for (int j = 0; j < nv; ++j)
                c->x[j] -= c->K[n * i + j] * sum[i];
        }
        /* G1 has full rank, so it is M */
        if (!soai_ldl_solve(n, c->K, c->x, c->order)) return SOA_E_HINGE_SINGULAR;
        for (int i = 0; i < n; ++i)
            sum[i] += c->x[i];
    }
    for (int j = 0; j < nv; ++j)
        c->vdot[j] = sum[j];
    for (int k = 0; k < s->rank; ++k)
        c->part[k] = -sum[nv + k];
    unscale(c, s, c->part, c->lambda);
    if (in->least) soai_gram_least(c, s, c->lambda);
    return SOA_OK;
}

/* M = C C' in place, lower triangle, the diagonal of C as its reciprocals.  0: M is not positive
 * definite, or no more so than rounding makes it. */
static int cholesky(int n, double *C) {
    for (int j = 0; j < n; ++j) {
        const double d = C[n * j + j] - soai_dot(j, C + n * j, C + n * j);
        if (!(d > 1e-14 * C[n * j + j])) return 0;
        C[n * j + j] = 1 / sqrt(d);
        for (int i = j + 1; i < n; ++i)
            C[n * i + j] = (C[n * i + j] - soai_dot(j, C + n * i, C + n * j)) * C[n * j + j];
    }
    return 1;
}
/* x = C^-1 x, from the first number on that is not zero: a row of G begins with the joints of its
 * loop; and C^-' x */
static void solve_lower(int n, const double *C, double *x) {
    int first = 0;
    while (first < n && x[first] == 0)
        ++first;
    for (int i = first; i < n; ++i)
        x[i] = (x[i] - soai_dot(i - first, C + n * i + first, x + first)) * C[n * i + i];
}
static void solve_upper(int n, const double *C, double *x) {
    for (int i = n - 1; i >= 0; --i) { /* by rows of C */
        const double *row = C + n * i, xi = x[i] *= row[i];
        for (int k = 0; k < i; ++k)
            x[k] -= row[k] * xi;
    }
}
/* method 3 */
static soa_status by_null_space(const evaluation *in, gram *s) {
    soa_constraints *c = in->c;
    const int nv = c->model->nv, rows = in->rows;
    soa_status bad = dense_start(in);
    if (bad) return bad;
    if (!c->inertias && (in->w->body = in->w->view.stuck)) return SOA_E_HINGE_SINGULAR;
    if (!cholesky(nv, c->M)) return SOA_E_HINGE_SINGULAR;
    const double *C = c->M;
    solve_lower(nv, C, c->torque); /* C^-1 (tau - bias), C^-1 G' */
    memcpy(c->Y, c->G, (size_t)rows * (size_t)nv * sizeof *c->Y);
    for (int r = 0; r < rows; ++r)
        solve_lower(nv, C, c->Y + (size_t)r * (size_t)nv);
    qr_factor(c, rows, c->Y, in->options, s);
    double *x = c->torque, *y = c->right;
    /* Q'x0: the first rank numbers are held, the rest is free */
    soai_qr_apply(nv, rows, c->K, c->beta, 1, x);
    for (int k = 0; k < s->rank; ++k)
        y[k] = -c->gamma[c->pivot[k]] * c->scale[c->pivot[k]];
    forward(c, s, y);
    for (int k = 0; k < s->rank; ++k) {
        const double held = y[k];
        y[k] -= x[k];
        x[k] = held;
    }
    backward(c, s, y);
    memcpy(c->part, y, (size_t)s->rank * sizeof *y);
    unscale(c, s, c->part, c->lambda);
    if (in->least) soai_gram_least(c, s, c->lambda);
    soai_qr_apply(nv, rows, c->K, c->beta, 0, x);
    solve_upper(nv, C, x); /* vdot = C^-' x */
    memcpy(c->vdot, x, (size_t)nv * sizeof *x);
    return SOA_OK;
}

static soa_closed_method choose(const soa_constraints *c, soa_closed_method asked, int damped,
                                int rows) {
    if (asked != SOA_CLOSED_AUTO) return asked;
    if (damped) return SOA_CLOSED_FORCES;
    /* few joints and many rows: the dense one, which does not square the condition */
    const int nv = c->model->nv;
    return c->capacity.dense && nv <= 32 && 2 * rows >= nv ? SOA_CLOSED_NULL_SPACE
                                                           : SOA_CLOSED_FORCES;
}

static soa_status closed_fd(soa_constraints *c, soa_work *w, const soa_closed_options *options,
                            const soa_input *input, double *qdd, double *lambda,
                            soa_closed_report *report) {
    const soa_closed_options plain = soa_closed_options_default();
    if (!options) options = &plain;
    if (!c || !w || !qdd || w->model != c->model ||
        (unsigned)options->method > SOA_CLOSED_NULL_SPACE || !(input->t - input->t == 0) ||
        !(options->rank_tolerance >= 0 && options->rank_tolerance < 1) ||
        !(options->damping >= 0 && options->damping < 1e150) || !(options->most_condition > 0) ||
        !(options->consistency >= 0) || !soai_all_finite(options->baumgarte, 2))
        return SOA_E_ARGUMENT;
    const soa_model *m = c->model;
    const int nv = m->nv;
    int rows = 0;
    const double *q = input->q, *v = input->v, *tau = input->tau;
    soa_status s = soai_check_state(m, q, v, NULL, tau, &w->body);
    if (s || (s = soai_constraint_evaluate(c, w, q, v ? v : w->zero, input->t, &rows))) return s;
    soa_closed_method method = choose(c, options->method, options->damping > 0, rows);
    if (method != SOA_CLOSED_FORCES && !c->capacity.dense) return SOA_E_MEMORY;
    if (method != SOA_CLOSED_FORCES && options->damping > 0) return SOA_E_ARGUMENT;
    soai_constraint_form(c, w, rows, c->G);
    for (int r = 0, all = 0; r < rows; ++r) {
        if (!r || c->owner[r] != c->owner[r - 1]) all = soai_support(c, c->owner[r], c->order);
        const double rate =
            (v ? dot_at(nv, all, c->order, c->G + (size_t)r * (size_t)nv, v) : 0) + c->row[r].drift;
        c->gamma[r] =
            c->row[r].gamma + options->baumgarte[0] * rate + options->baumgarte[1] * c->row[r].g;
    }
    const evaluation in = {
        c, w, options, q, v, input->wrenches, input->wrench_count, rows, lambda != NULL};
    gram g = {0};
    for (int again = 1; again >= 0; --again) {
        for (int j = 0; j < nv; ++j)
            c->torque[j] = c->cut[j] + (tau ? tau[j] : 0);
        if (method == SOA_CLOSED_KKT) {
            s = by_kkt(&in, &g);
        } else if (method == SOA_CLOSED_FORCES) {
            s = by_forces(&in, &g);
        } else {
            s = by_null_space(&in, &g);
        }
        /* a massless link that only the loop holds: (20) has an answer where M has no inverse */
        if (s != SOA_E_HINGE_SINGULAR || options->method != SOA_CLOSED_AUTO || !c->capacity.dense ||
            options->damping > 0)
            break;
        method = SOA_CLOSED_KKT;
    }
    const double residual = s ? 0 : disagreement(c, &g);
    const int contradict = !(residual <= options->consistency),
              loose = contradict && g.left > 1e-14;
    /* not rounding: rows that were taken to be redundant are nearly so only */
    if (loose) g.condition = 1 / g.left;
    if (report) {
        memset(report, 0, sizeof *report);
        report->rows = rows;
        report->rank = g.rank;
        report->redundant = rows - g.rank;
        report->condition = g.condition;
        report->residual = residual;
        report->method = method;
        report->strength = 1;
        report->weakest = -1;
        for (int k = 0; !s && k < g.rank; ++k) {
            const double strength = fabs(c->L[rows * k + k]) * c->strength[c->pivot[k]];
            if (!(strength >= report->strength)) {
                report->strength = strength;
                report->weakest = c->owner[c->pivot[k]];
            }
        }
        if (!s && g.rank < rows && !options->brief) null_space(c, &g, report);
    }
    if (s) return s;
    if (contradict) return loose ? SOA_E_SINGULAR : SOA_E_INCONSISTENT;
    if (!(g.condition <= options->most_condition) && !(options->damping > 0)) return SOA_E_SINGULAR;
    memcpy(qdd, c->vdot, (size_t)nv * sizeof *qdd);
    if (lambda) memcpy(lambda, c->lambda, (size_t)rows * sizeof *lambda);
    c->last = g;
    c->last_method = method;
    return SOA_OK;
}
soa_status soa_closed_fd(soa_constraints *c, soa_work *w, const soa_closed_options *options,
                         const soa_input *input, double *qdd, double *lambda,
                         soa_closed_report *report) {
    if (!input) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_fd(c, w, options, input, qdd, lambda, report));
}

/* The same systems with another right side: no bias, no gamma. */
soa_status soa_closed_response(soa_constraints *c, soa_work *w, const double *force, double *qdd) {
    if (!c || !w || w->model != c->model || !force || !qdd || c->last_method == SOA_CLOSED_AUTO)
        return SOA_E_ARGUMENT;
    const gram *s = &c->last;
    const int nv = c->model->nv, rows = s->rows;
    double *x = c->step;
    if (!soai_all_finite(force, (size_t)nv)) return SOA_E_NOT_FINITE;
    if (c->last_method == SOA_CLOSED_FORCES) {
        soai_cut_minv(c, w, force, x);
        for (int pass = 0; pass < (s->damping > 0 ? 1 : 2); ++pass) {
            for (int r = 0; r < rows; ++r)
                c->right[r] = -soai_dot(nv, c->G + (size_t)r * (size_t)nv, x);
            soai_gram_basic(c, s, c->right, c->g);
            for (int r = 0; r < rows; ++r)
                for (int j = 0; j < nv && c->g[r] != 0; ++j)
                    x[j] += c->Y[(size_t)r * (size_t)nv + (size_t)j] * c->g[r];
        }
    } else if (c->last_method == SOA_CLOSED_KKT) {
        kkt_system(c, s);
        for (int i = 0; i < nv + s->rank; ++i)
            c->x[i] = i < nv ? force[i] : 0;
        if (!soai_ldl_solve(nv + s->rank, c->K, c->x, c->order)) return SOA_E_SINGULAR;
        x = c->x;
    } else { /* C^-' Z Z' C^-1 */
        const double *C = c->M;
        memcpy(x, force, (size_t)nv * sizeof *x);
        solve_lower(nv, C, x);
        soai_qr_apply(nv, rows, c->K, c->beta, 1, x);
        for (int k = 0; k < s->rank; ++k)
            x[k] = 0;
        soai_qr_apply(nv, rows, c->K, c->beta, 0, x);
        solve_upper(nv, C, x);
    }
    memcpy(qdd, x, (size_t)nv * sizeof *qdd);
    return SOA_OK;
}

soa_status soa_closed_power(const soa_constraints *c, double *supplied, double *dissipated) {
    if (!c || !supplied || !dissipated) return SOA_E_ARGUMENT;
    const int rows = soa_constraints_row_count(c);
    *supplied = *dissipated = 0;
    for (int r = 0; r < rows; ++r)
        *supplied -= c->lambda[r] * c->row[r].drift; /* v'G'lambda, with G v = -drift */
    for (int i = 0; i < c->capacity.constraints; ++i) {
        const constraint *k = c->list + i;
        if (!k->used || !k->on || k->def.kind != SOA_LOOP) continue;
        for (int j = 0; j < 6 - k->rows; ++j) {
            *supplied += k->effort[j] * k->rate[j];
            *dissipated +=
                k->def.damping * k->rate[j] * k->rate[j] + k->def.friction * fabs(k->rate[j]);
        }
    }
    return SOA_OK;
}

soa_status soa_constraints_row_strengths(const soa_constraints *c, double *strengths) {
    if (!c || !strengths) return SOA_E_ARGUMENT;
    memcpy(strengths, c->strength, (size_t)soa_constraints_row_count(c) * sizeof *strengths);
    return SOA_OK;
}

static soa_status constraint_rows_at(soa_constraints *c, soa_work *w, const soa_input *input,
                                     double *g, double *rate, double *G, double *gamma) {
    const double *q = input->q, *v = input->v;
    const double t = input->t;
    if (!c || !w || w->model != c->model || !(t - t == 0)) return SOA_E_ARGUMENT;
    int rows = 0;
    const int nv = c->model->nv;
    const soa_status s = soai_constraint_evaluate(c, w, q, v ? v : w->zero, t, &rows);
    if (s) return s;
    double *const into = G ? G : c->G;
    if (G || rate) soai_constraint_form(c, w, rows, into);
    for (int r = 0; r < rows; ++r) {
        if (g) g[r] = c->row[r].g;
        if (gamma) gamma[r] = c->row[r].gamma;
        if (rate)
            rate[r] = (v ? soai_dot(nv, into + (size_t)r * (size_t)nv, v) : 0) + c->row[r].drift;
    }
    return SOA_OK;
}
soa_status soa_constraints_evaluate(soa_constraints *c, soa_work *w, const soa_input *input,
                                    double *g, double *rate, double *G, double *gamma) {
    if (!input) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, constraint_rows_at(c, w, input, g, rate, G, gamma));
}
