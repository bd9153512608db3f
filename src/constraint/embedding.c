/* embedding.c  closed chains in primary joints: WD89 (4) to (7) and section 2.4.
 *
 * With p the primary and s the secondary coordinates, v = E V + e (e: drives in time), E = [1; Es]:
 *   function     one evaluation of order 2 along Q(t) = Q + V t + A t^2/2 gives q, v, a; one of
 *   order 1 along each
 *                primary direction a column of E
 *   constraints  Newton's steps G_s dq_s = -g from the guess, then Es = -G_s^-1 G_p, v_s = Es V -
 *                G_s^-1 dg/dt, a_s = Es A - G_s^-1 gamma.  G_s^-1 is by QR with pivots: rows may be
 *                redundant, columns may not.
 * Then tau = E' rho with rho by soa_rnea, H = E' M E by one soa_mass_mul for each column (Walker &
 * Orin's first method), and forward dynamics by H, or by articulated bodies with the rows [-Es 1]
 * on vdot: O(nv) for each secondary coordinate. */
#include "soa/embedding.h"
#include "constraint_internal.h"
#include "../base/small_algebra.h"
#include <math.h>
#include <stdlib.h>

struct soa_embedding {
    const soa_model *model;
    soa_embedding_def def;
    int n, nQ, m;                     /* primary v, primary q, secondary v */
    int *primary, *secondary;         /* v coordinates: n, m */
    int *at;                          /* of each of the nQ numbers: its place in q */
    int *pivot;                       /* rows or m */
    soa_taylor *series;               /* nq */
    double *q, *best, *v, *a, *x, *y; /* nq, nq, nv each */
    double *step, *base;              /* nv, nq: a primary direction and the state it starts from */
    double *E;                        /* nv x n */
    double *A, *beta, *right;         /* rows x m: QR of G_s; rows or nv each */
    double *G, *Y, *W;  /* m x nv, m x nv, m x m: rows [-Es 1] and their Gram matrix; W also n
                               * x n: H */
    double *gram_right; /* max(m, n) */
};

soa_embedding_def soa_embedding_default(const unsigned char *primary) {
    soa_embedding_def d;
    memset(&d, 0, sizeof d);
    d.primary = primary;
    return d;
}

static size_t layout(const soa_model *m, const soa_embedding_def *def, char *memory) {
    soa_embedding scratch, *e = memory ? (soa_embedding *)(void *)memory : &scratch;
    const size_t nv = (size_t)m->nv, nq = (size_t)m->nq;
    const size_t rows = def->constraints ? (size_t)def->constraints->capacity.rows : 0;
    size_t n = 0, at = 0;
    for (size_t j = 0; j < nv; ++j)
        n += def->primary[j] != 0;
    const size_t s = nv - n;
    const size_t side = s > n ? s : n;
    const size_t tall = rows > nv ? rows : nv;
    soai_take(memory, &at, sizeof *e);
    memset(e, 0, sizeof *e);
    e->model = m;
    e->def = *def;
    e->n = (int)n;
    e->m = (int)s;
    e->def.primary = NULL;
    e->primary = soai_take(memory, &at, n * sizeof(int));
    e->secondary = soai_take(memory, &at, s * sizeof(int));
    e->at = soai_take(memory, &at, nq * sizeof(int));
    e->pivot = soai_take(memory, &at, tall * sizeof(int));
    e->series = soai_take(memory, &at, nq * sizeof(soa_taylor));
    double **const by_nq[] = {&e->q, &e->best, &e->base},
                   **const by_nv[] = {&e->v, &e->a, &e->x, &e->y, &e->step};
    for (size_t i = 0; i < sizeof by_nq / sizeof *by_nq; ++i)
        *by_nq[i] = soai_take(memory, &at, nq * sizeof(double));
    for (size_t i = 0; i < sizeof by_nv / sizeof *by_nv; ++i)
        *by_nv[i] = soai_take(memory, &at, nv * sizeof(double));
    e->E = soai_take(memory, &at, nv * n * sizeof(double));
    e->A = soai_take(memory, &at, rows * s * sizeof(double));
    e->beta = soai_take(memory, &at, tall * sizeof(double));
    e->right = soai_take(memory, &at, tall * sizeof(double));
    e->G = soai_take(memory, &at, s * nv * sizeof(double));
    e->Y = soai_take(memory, &at, s * nv * sizeof(double));
    e->W = soai_take(memory, &at, side * side * sizeof(double));
    e->gram_right = soai_take(memory, &at, side * sizeof(double));
    return at;
}

/* --- coordinates ------------------------------------------------------------------------------ */
static int has_quaternion(const soa_model *m, int body) {
    const int type = soai_bodies(m)[body].type;
    return type == SOA_SPHERICAL || type == SOA_FREE;
}
#define FAIL(status, ...) return soai_report(report, status, -1, 0, __VA_ARGS__)
static soa_status check(const soa_model *m, const soa_embedding_def *def, soa_report *report) {
    if (!m || !def || !def->primary)
        FAIL(SOA_E_ARGUMENT, "no model, no definition, or no choice of primary joints");
    if (!def->function && !def->constraints)
        FAIL(SOA_E_ARGUMENT, "neither a function nor constraints");
    if (def->constraints && def->constraints->model != m)
        FAIL(SOA_E_ARGUMENT, "the constraints are of another model");
    if (!(def->branch >= 0)) FAIL(SOA_E_ARGUMENT, "branch must not be negative");
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *b = soai_metas(m) + i;
        if (b->leader >= 0 || !has_quaternion(m, i)) continue;
        for (int c = 1; c < soai_bodies(m)[i].nv; ++c)
            if (!def->primary[b->user_v] != !def->primary[b->user_v + c])
                FAIL(SOA_E_JOINT,
                     "body %d: a spherical or free joint is primary or secondary as a whole", i);
    }
    return SOA_OK;
}
/* Joint by joint: its numbers in q and v.  Followers of mimic joints have none. */
static void choose(soa_embedding *e, const unsigned char *primary) {
    const soa_model *m = e->model;
    int n = 0, s = 0, nQ = 0;
    for (int j = 0; j < m->nv; ++j)
        if (primary[j])
            e->primary[n++] = j;
        else
            e->secondary[s++] = j;
    /* its room serves as nq bytes while building */
    unsigned char *const mark = (unsigned char *)e->series;
    memset(mark, 0, (size_t)m->nq);
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *b = soai_metas(m) + i;
        if (b->leader >= 0) continue;
        const int nv = soai_bodies(m)[i].nv,
                  nq = soai_nq_of((soa_joint_type)soai_bodies(m)[i].type);
        for (int k = 0; k < nq; ++k)
            mark[b->user_q + k] = nv && primary[b->user_v + (nq == nv ? k : 0)];
    }
    for (int k = 0; k < m->nq; ++k)
        if (mark[k]) e->at[nQ++] = k;
    e->nQ = nQ;
}

size_t soa_embedding_size(const soa_model *model, const soa_embedding_def *def) {
    return check(model, def, NULL) == SOA_OK ? layout(model, def, NULL) : 0;
}
soa_status soa_embedding_init(const soa_model *model, const soa_embedding_def *def, void *memory,
                              size_t size, soa_embedding **embedding, soa_report *report) {
    soai_report_reset(report);
    const soa_status s = check(model, def, report);
    if (s) return soai_report_end(report, s);
    if (!embedding) FAIL(SOA_E_ARGUMENT, "nowhere to put the embedding");
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, def, NULL))
        FAIL(SOA_E_MEMORY, "%lu bytes, aligned to %d, are needed",
             (unsigned long)layout(model, def, NULL), SOAI_ALIGN);
    layout(model, def, memory);
    choose(memory, def->primary);
    *embedding = memory;
    return SOA_OK;
}
soa_status soa_embedding_create(const soa_model *model, const soa_embedding_def *def,
                                soa_embedding **embedding, soa_report *report) {
    soai_report_reset(report);
    const soa_status s = check(model, def, report);
    if (s) return soai_report_end(report, s);
    const size_t size = (layout(model, def, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    if (!memory) FAIL(SOA_E_MEMORY, "%lu bytes could not be had", (unsigned long)size);
    const soa_status made = soa_embedding_init(model, def, memory, size, embedding, report);
    if (made) free(memory);
    return soai_report_end(report, made);
}
void soa_embedding_free(soa_embedding *e) {
    free(e);
}
int soa_embedding_nq(const soa_embedding *e) {
    return e ? e->nQ : 0;
}
int soa_embedding_nv(const soa_embedding *e) {
    return e ? e->n : 0;
}

/* --- quaternions and the rates of q ----------------------------------------------------------- */
/* R x for the rotation of a unit quaternion: x + 2 w (u x x) + 2 u x (u x x) */
static void quaternion_turn(const double e[4], int back, const double x[3], double out[3]) {
    const double u[3] = {back ? -e[1] : e[1], back ? -e[2] : e[2], back ? -e[3] : e[3]};
    const double t[3] = {2 * (u[1] * x[2] - u[2] * x[1]), 2 * (u[2] * x[0] - u[0] * x[2]),
                         2 * (u[0] * x[1] - u[1] * x[0])};
    const double c[3] = {u[1] * t[2] - u[2] * t[1], u[2] * t[0] - u[0] * t[2],
                         u[0] * t[1] - u[1] * t[0]};
    for (int j = 0; j < 3; ++j)
        out[j] = x[j] + e[0] * t[j] + c[j];
}
/* Series of a joint's q from q, v, a: q + q' e + q'' e^2 / 2.  Quaternions: e' = e w / 2; a free
 * joint: p' = R v. */
static void series_of(const soa_model *m, int body, int order, const double *q, const double *v,
                      const double *a, soa_taylor *out) {
    const int type = soai_bodies(m)[body].type, nq = soai_nq_of((soa_joint_type)type);
    double first[7], second[7];
    if (type != SOA_SPHERICAL && type != SOA_FREE) {
        memcpy(first, v, (size_t)nq * sizeof *v);
        memcpy(second, a, (size_t)nq * sizeof *a);
    } else {
        const int shift = type == SOA_FREE ? 3 : 0;
        const double *e = q + shift, w[4] = {0, v[0], v[1], v[2]}, wd[4] = {0, a[0], a[1], a[2]};
        double *e1 = first + shift, *e2 = second + shift, t[4];
        soai_quaternion_mul(e, w, e1);
        for (int j = 0; j < 4; ++j)
            e1[j] /= 2;
        soai_quaternion_mul(e1, w, e2);
        soai_quaternion_mul(e, wd, t);
        for (int j = 0; j < 4; ++j)
            e2[j] = (e2[j] + t[j]) / 2;
        if (shift) {
            const double *u = v + 3,
                         x[3] = {a[3] + v[1] * u[2] - v[2] * u[1], a[4] + v[2] * u[0] - v[0] * u[2],
                                 a[5] + v[0] * u[1] - v[1] * u[0]};
            quaternion_turn(e, 0, u, first);
            quaternion_turn(e, 0, x, second);
        }
    }
    for (int k = 0; k < nq; ++k) {
        out[k] = soa_taylor_variable(order, q[k], first[k]);
        if (order > 1) out[k].c[2] = second[k] / 2;
    }
}
/* And back: v and a of a joint from the series of its q.  0 where a quaternion is not of unit
 * length. */
static int rates_of(const soa_model *m, int body, const soa_taylor *q, double *v, double *a) {
    const int type = soai_bodies(m)[body].type, nq = soai_nq_of((soa_joint_type)type);
    double first[7], second[7];
    for (int k = 0; k < nq; ++k) {
        first[k] = soa_taylor_derivative(q[k], 1);
        second[k] = soa_taylor_derivative(q[k], 2);
    }
    if (type != SOA_SPHERICAL && type != SOA_FREE) {
        memcpy(v, first, (size_t)nq * sizeof *v);
        memcpy(a, second, (size_t)nq * sizeof *a);
        return 1;
    }
    const int shift = type == SOA_FREE ? 3 : 0;
    const double e[4] = {q[shift].c[0], q[shift + 1].c[0], q[shift + 2].c[0], q[shift + 3].c[0]};
    const double conjugate[4] = {e[0], -e[1], -e[2], -e[3]};
    double w[4], wd[4];
    if (!(fabs(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] - 1) < 1e-6)) return 0;
    /* w = 2 e* e', and its rate 2 e* e'' but for the real part */
    soai_quaternion_mul(conjugate, first + shift, w);
    soai_quaternion_mul(conjugate, second + shift, wd);
    for (int j = 0; j < 3; ++j) {
        v[j] = 2 * w[1 + j];
        a[j] = 2 * wd[1 + j];
    }
    if (shift) { /* v = R'p',  vdot = R'p'' - w x v */
        quaternion_turn(e, 1, first, v + 3);
        quaternion_turn(e, 1, second, a + 3);
        a[3] -= v[1] * v[5] - v[2] * v[4];
        a[4] -= v[2] * v[3] - v[0] * v[5];
        a[5] -= v[0] * v[4] - v[1] * v[3];
    }
    return 1;
}

/* --- U by a function -------------------------------------------------------------------------- */
/* Series of all q along primary rates V, A (n each; NULL: zero) at the positions in e->base; rates
 * of all joints into v, a. */
static soa_status evaluate(soa_embedding *e, int order, const double *V, const double *A, double *v,
                           double *a) {
    const soa_model *m = e->model;
    memset(e->step, 0, (size_t)m->nv * sizeof *e->step);
    memset(e->y, 0, (size_t)m->nv * sizeof *e->y);
    for (int k = 0; k < e->n; ++k) {
        if (V) e->step[e->primary[k]] = V[k];
        if (A) e->y[e->primary[k]] = A[k];
    }
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *b = soai_metas(m) + i;
        if (b->leader < 0)
            series_of(m, i, order, e->base + b->user_q, e->step + b->user_v, e->y + b->user_v,
                      e->series + b->user_q);
    }
    for (int j = 0, k = 0; j < m->nq; ++j) { /* secondary: not a number until written */
        if (k < e->nQ && e->at[k] == j)
            ++k;
        else
            e->series[j] = soa_taylor_constant(NAN);
    }
    if (e->def.function(e->def.user, e->series)) return SOA_E_SINGULAR;
    for (int j = 0; j < m->nq; ++j)
        for (int k = 0; k <= order; ++k)
            if (!(fabs(soa_taylor_derivative(e->series[j], k)) <= 1e300)) return SOA_E_SINGULAR;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *b = soai_metas(m) + i;
        if (b->leader < 0 && !rates_of(m, i, e->series + b->user_q, v + b->user_v, a + b->user_v))
            return SOA_E_QUATERNION;
    }
    return SOA_OK;
}
/* Are the rows met: G x + right side = 0, relative? */
static int met(const soa_constraints *c, int rows, int nv, const double *x, const double *also) {
    for (int r = 0; r < rows; ++r) {
        double sum = also[r], size = 1 + fabs(sum);
        for (int j = 0; j < nv; ++j) {
            const double term = c->G[(size_t)r * (size_t)nv + (size_t)j] * x[j];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum) <= 1e-7 * size)) return 0;
    }
    return 1;
}
static soa_status by_function(soa_embedding *e, soa_work *w, const double *V, const double *A,
                              double t, int with_E) {
    const soa_model *m = e->model;
    const size_t nv = (size_t)m->nv, n = (size_t)e->n;
    memcpy(e->base, e->q, (size_t)m->nq * sizeof *e->q);
    soa_status s = evaluate(e, 2, V, A, e->v, e->a);
    if (s) return s;
    for (int j = 0; j < m->nq; ++j)
        e->q[j] = e->series[j].c[0];
    /* the function must leave Q alone */
    for (int k = 0; k < e->nQ; ++k)
        if (e->q[e->at[k]] != e->base[e->at[k]]) return SOA_E_INCONSISTENT;
    if (e->def.constraints) {
        soa_constraints *c = e->def.constraints;
        int rows = 0;
        if ((s = soai_constraint_evaluate(c, w, e->q, e->v, t, &rows))) return s;
        soai_constraint_form(c, w, rows, c->G);
        for (int r = 0; r < rows; ++r) {
            if (c->row[r].on_velocity) return SOA_E_ARGUMENT;
            if (!(fabs(c->row[r].g) <= 1e-8)) return SOA_E_INCONSISTENT;
            c->right[r] = c->row[r].drift;
        }
        if (!met(c, rows, m->nv, e->v, c->right)) return SOA_E_INCONSISTENT;
        memcpy(e->x, c->cut, nv * sizeof *e->x);
    } else {
        memset(e->x, 0, nv * sizeof *e->x);
    }
    for (size_t k = 0; with_E && k < n; ++k) {
        memset(e->gram_right, 0, n * sizeof *e->gram_right);
        e->gram_right[k] = 1;
        if ((s = evaluate(e, 1, e->gram_right, NULL, e->right, e->beta))) return s;
        for (size_t j = 0; j < nv; ++j)
            e->E[n * j + k] = e->right[j];
    }
    return SOA_OK;
}

/* --- U by constraints ------------------------------------------------------------------------- */
/* Rows at e->q and QR of their secondary columns.  Velocity rows are refused. */
static soa_status factor(soa_embedding *e, soa_work *w, const double *v, double t, int *rows,
                         int *rank) {
    soa_constraints *c = e->def.constraints;
    const int nv = e->model->nv, m = e->m;
    const soa_status s = soai_constraint_evaluate(c, w, e->q, v, t, rows);
    if (s) return s;
    for (int r = 0; r < *rows; ++r)
        if (c->row[r].on_velocity) return SOA_E_ARGUMENT;
    soai_constraint_form(c, w, *rows, c->G);
    for (int r = 0; r < *rows; ++r)
        for (int k = 0; k < m; ++k)
            e->A[m * r + k] = c->G[(size_t)r * (size_t)nv + (size_t)e->secondary[k]];
    *rank = m ? soai_qr(*rows, m, e->A, e->beta, e->pivot, 1e-9) : 0;
    return SOA_OK;
}
/* x (m) with G_s x = b in the sense of least squares; b is spoilt. */
static void solve(const soa_embedding *e, int rows, int rank, double *b, double *x) {
    const int m = e->m;
    soai_qr_apply(rows, m, e->A, e->beta, 1, b);
    for (int k = 0; k < m; ++k)
        x[k] = 0;
    for (int k = rank - 1; k >= 0; --k) {
        double sum = b[k];
        for (int i = k + 1; i < rank; ++i)
            sum -= e->A[m * k + i] * x[e->pivot[i]];
        x[e->pivot[k]] = sum / e->A[m * k + k];
    }
}
static double worst_residual(const soa_constraints *c, int rows) {
    double worst = 0;
    for (int r = 0; r < rows; ++r)
        if (!(fabs(c->row[r].g) <= worst)) worst = fabs(c->row[r].g);
    return worst;
}
/* e->q closed by Newton's method on its secondary numbers, steps halved while they do not help. */
static soa_status close_loops(soa_embedding *e, soa_work *w, double t, int *rows, int *rank) {
    soa_constraints *c = e->def.constraints;
    const soa_model *m = e->model;
    const size_t q_bytes = (size_t)m->nq * sizeof *e->q;
    soa_status s = factor(e, w, NULL, t, rows, rank);
    if (s) return s;
    double now = worst_residual(c, *rows);
    for (int pass = 0; pass < 60 && now > 0; ++pass) {
        double size = 0;
        for (int r = 0; r < *rows; ++r)
            e->right[r] = -c->row[r].g;
        memset(e->step, 0, (size_t)m->nv * sizeof *e->step);
        if (e->m) solve(e, *rows, *rank, e->right, e->y);
        for (int k = 0; k < e->m; ++k) {
            e->step[e->secondary[k]] = e->y[k];
            if (fabs(e->y[k]) > size) size = fabs(e->y[k]);
        }
        memcpy(e->best, e->q, q_bytes);
        double scale = size > 0.5 ? 0.5 / size : 1, next = now;
        for (int half = 0; half < 6; ++half, scale /= 2) {
            if ((s = soa_q_integrate(m, e->best, e->step, scale, e->q)) ||
                (s = factor(e, w, NULL, t, rows, rank)))
                return s;
            next = worst_residual(c, *rows);
            if (next < now) break;
        }
        if (!(next < now)) { /* nothing more to be gained */
            memcpy(e->q, e->best, q_bytes);
            break;
        }
        now = next;
    }
    return now <= 1e-10 ? SOA_OK : SOA_E_NO_CONVERGENCE;
}
static soa_status by_constraints(soa_embedding *e, soa_work *w, const double *V, const double *A,
                                 double t, int with_E) {
    soa_constraints *c = e->def.constraints;
    const int nv = e->model->nv, n = e->n, m = e->m;
    const size_t v_bytes = (size_t)nv * sizeof *e->v;
    int rows = 0, rank = 0;
    memcpy(e->base, e->q, (size_t)e->model->nq * sizeof *e->q); /* the guess */
    soa_status s = close_loops(e, w, t, &rows, &rank);
    if (s) return s;
    if ((s = factor(e, w, NULL, t, &rows, &rank))) return s;
    if (rank < m) return SOA_E_SINGULAR;
    if (e->def.branch > 0) {
        if ((s = soa_q_difference(e->model, e->base, e->q, e->step))) return s;
        for (int k = 0; k < m; ++k)
            if (!(fabs(e->step[e->secondary[k]]) <= e->def.branch)) return SOA_E_NO_CONVERGENCE;
    }
    for (int stage = 0; stage < 2; ++stage) { /* v, then a, which needs gamma at v */
        double *to = stage ? e->a : e->v;
        const double *from = stage ? A : V;
        if (stage && (s = factor(e, w, e->v, t, &rows, &rank))) return s;
        memset(to, 0, v_bytes);
        for (int k = 0; from && k < n; ++k)
            to[e->primary[k]] = from[k];
        for (int r = 0; r < rows; ++r) {
            const double *row = c->G + (size_t)r * (size_t)nv;
            c->right[r] = stage ? c->row[r].gamma : c->row[r].drift;
            e->right[r] = -c->right[r];
            for (int j = 0; j < nv; ++j)
                e->right[r] -= row[j] * to[j];
        }
        if (m) solve(e, rows, rank, e->right, e->y);
        for (int k = 0; k < m; ++k)
            to[e->secondary[k]] = e->y[k];
        /* Q is held too, or drives contradict */
        if (!met(c, rows, nv, to, c->right)) return SOA_E_INCONSISTENT;
    }
    memcpy(e->x, c->cut, v_bytes);
    for (int k = 0; with_E && k < n; ++k) { /* Es = -G_s^-1 G_p */
        for (int r = 0; r < rows; ++r)
            e->right[r] = -c->G[(size_t)r * (size_t)nv + (size_t)e->primary[k]];
        if (m) solve(e, rows, rank, e->right, e->y);
        for (int j = 0; j < nv; ++j)
            e->E[n * j + k] = 0;
        e->E[n * e->primary[k] + k] = 1;
        for (int i = 0; i < m; ++i)
            e->E[n * e->secondary[i] + k] = e->y[i];
    }
    return SOA_OK;
}

/* Everything at (Q, V, A, t): e->q, v, a, E, and in e->x the torques of cut joints. */
static soa_status embed(soa_embedding *e, soa_work *w, const soa_input *primary, const double *A,
                        const double *q, int with_E) {
    const double *Q = primary->q, *V = primary->v;
    const double t = primary->t;
    if (!e || !w || w->model != e->model || !q || (!Q && e->nQ) || !(t - t == 0))
        return SOA_E_ARGUMENT;
    const size_t n = (size_t)e->n;
    if (!soai_all_finite(Q, (size_t)e->nQ) || (V && !soai_all_finite(V, n)) ||
        (A && !soai_all_finite(A, n)))
        return SOA_E_NOT_FINITE;
    if (e->def.function)
        soa_q_neutral(e->model, e->q);
    else
        memcpy(e->q, q, (size_t)e->model->nq * sizeof *q);
    for (int k = 0; k < e->nQ; ++k)
        e->q[e->at[k]] = Q[k];
    const soa_status s = soai_check_state(e->model, e->q, NULL, NULL, NULL, &w->body);
    if (s) return s;
    return e->def.function ? by_function(e, w, V, A, t, with_E)
                           : by_constraints(e, w, V, A, t, with_E);
}
static void give_q(const soa_embedding *e, double *q) {
    memcpy(q, e->q, (size_t)e->model->nq * sizeof *q);
}
/* out = E' x */
static void onto_primary(const soa_embedding *e, const double *x, double *out) {
    for (int k = 0; k < e->n; ++k)
        out[k] = 0;
    for (int j = 0; j < e->model->nv; ++j)
        for (int k = 0; k < e->n; ++k)
            out[k] += e->E[e->n * j + k] * x[j];
}

static soa_status embedding_state(soa_embedding *e, soa_work *w, const soa_input *primary,
                                  double *q, double *v, double *a, double *E) {
    const soa_status s = embed(e, w, primary, primary->a, q, E != NULL);
    if (s) return s;
    const size_t bytes = (size_t)e->model->nv * sizeof(double);
    give_q(e, q);
    if (v) memcpy(v, e->v, bytes);
    if (a) memcpy(a, e->a, bytes);
    if (E) memcpy(E, e->E, bytes * (size_t)e->n);
    return SOA_OK;
}
soa_status soa_embedding_state(soa_embedding *e, soa_work *w, const soa_input *primary, double *q,
                               double *v, double *a, double *E) {
    if (!primary) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, embedding_state(e, w, primary, q, v, a, E));
}

/* Torques of the tree in the embedded state, into e->y. */
static soa_status tree_torques(soa_embedding *e, soa_work *w, const soa_input *primary) {
    return soa_rnea(e->model, w, e->q, e->v, e->a, primary->wrenches, primary->wrench_count, e->y);
}
static soa_status embedding_id(soa_embedding *e, soa_work *w, const soa_input *primary, double *q,
                               double *tau) {
    if (!tau) return SOA_E_ARGUMENT;
    soa_status s = embed(e, w, primary, primary->a, q, 1);
    if (s || (s = tree_torques(e, w, primary))) return s;
    soai_cut_force(e->def.constraints, e->a, 1, e->y);
    for (int j = 0; j < e->model->nv; ++j)
        e->y[j] -= e->x[j]; /* rho of cut joints comes in by their own way */
    onto_primary(e, e->y, tau);
    give_q(e, q);
    return SOA_OK;
}
soa_status soa_embedding_id(soa_embedding *e, soa_work *w, const soa_input *primary, double *q,
                            double *tau) {
    if (!primary) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, embedding_id(e, w, primary, q, tau));
}

/* H = E' M E, a column by one inverse dynamics without velocities and gravity; into e->W. */
static soa_status inertia(soa_embedding *e, soa_work *w) {
    const int nv = e->model->nv, n = e->n;
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < nv; ++j)
            e->step[j] = e->E[n * j + k];
        const soa_status s = soa_mass_mul(e->model, w, e->q, e->step, e->y);
        if (s) return s;
        soai_cut_force(e->def.constraints, e->step, 0, e->y);
        onto_primary(e, e->y, e->gram_right);
        for (int i = 0; i < n; ++i)
            e->W[n * i + k] = e->gram_right[i];
    }
    return SOA_OK;
}
static soa_status embedding_terms(soa_embedding *e, soa_work *w, const soa_input *primary,
                                  double *q, double *H, double *C, double *G) {
    soa_status s = embed(e, w, primary, NULL, q, 1);
    if (s) return s;
    const soa_model *m = e->model;
    const int n = e->n, nv = m->nv;
    double *still = e->step, *all = e->y; /* torques of the tree: at rest, and as it moves */
    s = soa_rnea(m, w, e->q, NULL, NULL, primary->wrenches, primary->wrench_count, still);
    if (s || (s = tree_torques(e, w, primary))) return s;
    soai_cut_force(e->def.constraints, e->a, 1, all);
    for (int j = 0; j < nv; ++j)
        all[j] -= still[j] + e->x[j];
    if (e->def.constraints) { /* the efforts of cut joints belong to G, their friction to C */
        int rows = 0;
        if ((s = soai_constraint_evaluate(e->def.constraints, w, e->q, w->zero, primary->t, &rows)))
            return s;
        for (int j = 0; j < nv; ++j) {
            still[j] -= e->def.constraints->cut[j];
            all[j] += e->def.constraints->cut[j];
        }
    }
    memcpy(e->v, still, (size_t)nv * sizeof *still);
    memcpy(e->a, all, (size_t)nv * sizeof *all);
    if (H && (s = inertia(e, w))) return s;
    if (H) memcpy(H, e->W, (size_t)(n * n) * sizeof *H);
    if (C) onto_primary(e, e->a, C);
    if (G) onto_primary(e, e->v, G);
    give_q(e, q);
    return SOA_OK;
}
soa_status soa_embedding_terms(soa_embedding *e, soa_work *w, const soa_input *primary, double *q,
                               double *H, double *C, double *G) {
    if (!primary) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, embedding_terms(e, w, primary, q, H, C, G));
}

/* W x = b in place, W symmetric and positive definite (n x n, lower triangle, overwritten); 0 where
 * it is not. */
static int cholesky_solve(int n, double *W, double *b) {
    for (int j = 0; j < n; ++j) {
        double d = W[n * j + j];
        for (int k = 0; k < j; ++k)
            d -= W[n * j + k] * W[n * j + k];
        if (!(d > 1e-14 * W[n * j + j])) return 0;
        W[n * j + j] = sqrt(d);
        for (int i = j + 1; i < n; ++i) {
            for (int k = 0; k < j; ++k)
                W[n * i + j] -= W[n * i + k] * W[n * j + k];
            W[n * i + j] /= W[n * j + j];
        }
    }
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k)
            b[i] -= W[n * i + k] * b[k];
        b[i] /= W[n * i + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k)
            b[i] -= W[n * k + i] * b[k];
        b[i] /= W[n * i + i];
    }
    return 1;
}
/* vdot = E Qdd + a, a = Edot V, is vdot_s - Es vdot_p = a_s: m rows [-Es 1] on vdot = M^-1 (tau -
 * bias + rows' lambda). */
static soa_status by_sweeps(soa_embedding *e, soa_work *w, const soa_input *primary, double *Qdd) {
    const double *tau = primary->tau;
    const soa_model *mo = e->model;
    const int nv = mo->nv, n = e->n, m = e->m;
    for (int k = 0; tau && k < n; ++k)
        e->x[e->primary[k]] += tau[k];
    const soa_input state = {.q = e->q,
                             .v = e->v,
                             .tau = e->x,
                             .wrenches = primary->wrenches,
                             .wrench_count = primary->wrench_count};
    soa_status s = soai_aba_articulated(mo, w, &state, e->y);
    if (s || (s = soai_cut_prepare(e->def.constraints, w))) return s;
    soai_cut_correct(e->def.constraints, e->y);
    for (int i = 0; i < m; ++i) {
        double *row = e->G + (size_t)i * (size_t)nv;
        memset(row, 0, (size_t)nv * sizeof *row);
        for (int k = 0; k < n; ++k)
            row[e->primary[k]] = -e->E[n * e->secondary[i] + k];
        row[e->secondary[i]] = 1;
        soai_cut_minv(e->def.constraints, w, row, e->Y + (size_t)i * (size_t)nv);
    }
    for (int pass = 0; pass < 2; ++pass) { /* the second takes back most of the first's rounding */
        for (int i = 0; i < m; ++i) {
            const double *row = e->G + (size_t)i * (size_t)nv;
            double sum = e->a[e->secondary[i]];
            for (int j = 0; j < nv; ++j)
                sum -= row[j] * e->y[j];
            e->gram_right[i] = sum;
            for (int c = 0; c <= i; ++c) {
                double d = 0;
                for (int j = 0; j < nv; ++j)
                    d += row[j] * e->Y[(size_t)c * (size_t)nv + (size_t)j];
                e->W[m * i + c] = d;
            }
        }
        if (!cholesky_solve(m, e->W, e->gram_right)) return SOA_E_SINGULAR;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < nv; ++j)
                e->y[j] += e->Y[(size_t)i * (size_t)nv + (size_t)j] * e->gram_right[i];
    }
    for (int k = 0; k < n; ++k)
        Qdd[k] = e->y[e->primary[k]];
    return SOA_OK;
}
static soa_status by_columns(soa_embedding *e, soa_work *w, const soa_input *primary, double *Qdd) {
    const double *tau = primary->tau;
    const int nv = e->model->nv, n = e->n;
    soa_status s = tree_torques(e, w, primary);
    if (s) return s;
    soai_cut_force(e->def.constraints, e->a, 1, e->y);
    for (int j = 0; j < nv; ++j)
        e->x[j] = e->y[j] - e->x[j];
    if ((s = inertia(e, w))) return s;
    onto_primary(e, e->x, e->gram_right);
    for (int k = 0; k < n; ++k)
        e->gram_right[k] = (tau ? tau[k] : 0) - e->gram_right[k];
    if (!cholesky_solve(n, e->W, e->gram_right)) return SOA_E_HINGE_SINGULAR;
    memcpy(Qdd, e->gram_right, (size_t)n * sizeof *Qdd);
    return SOA_OK;
}
static soa_status embedding_fd(soa_embedding *e, soa_work *w, soa_embedding_method method,
                               const soa_input *primary, double *q, double *Qdd) {
    const double *tau = primary->tau;
    if (!e || !Qdd || (unsigned)method > SOA_EMBEDDING_SWEEPS) return SOA_E_ARGUMENT;
    if (tau && !soai_all_finite(tau, (size_t)e->n)) return SOA_E_NOT_FINITE;
    soa_status s = embed(e, w, primary, NULL, q, 1);
    if (s) return s;
    s = (method == SOA_EMBEDDING_SWEEPS ? by_sweeps : by_columns)(e, w, primary, Qdd);
    if (s == SOA_OK) give_q(e, q);
    return s;
}
soa_status soa_embedding_fd(soa_embedding *e, soa_work *w, soa_embedding_method method,
                            const soa_input *primary, double *q, double *Qdd) {
    if (!primary) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, embedding_fd(e, w, method, primary, q, Qdd));
}
