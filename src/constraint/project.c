/* project.c  back to the constraints: projection after a step, assembly from a guess; and torques
 *            for a closed machine.
 *
 * Projection moves q by the step of least kinetic-energy norm, dq = -M^-1 G' (G M^-1 G')^+ g, until
 * nothing is gained, and v likewise in one step.  Assembly weighs all coordinates alike and damps
 * its steps (Levenberg and Marquardt). */
#include "constraint_internal.h"
#include <math.h>

/* Residuals (m, rad) that are not worth another step. */
#define ROUNDING 1e-15

static double largest(int n, const double *x) {
    double most = 0;
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

/* Residuals of the rows on positions at q, and their rows of G, compressed to the front; owners and
 * all. */
static soa_status position_rows(soa_constraints *c, soa_work *w, const double *q, double t,
                                int with_G, int *count) {
    int rows = 0, n = 0;
    const soa_status s = soai_constraint_evaluate(c, w, q, NULL, t, &rows);
    if (s) return s;
    for (int r = 0; r < rows; ++r) {
        if (c->row[r].on_velocity) continue;
        c->row[n] = c->row[r];
        c->owner[n] = c->owner[r];
        c->g[n] = c->row[n].g;
        ++n;
    }
    if (with_G) soai_constraint_form(c, w, n, c->G);
    *count = n;
    return SOA_OK;
}

/* G M^-1 G' at q, from the rows of G that stand; pivots below `tolerance` are redundant rows. */
static soa_status mass_factor(soa_constraints *c, soa_work *w, const double *q, int rows,
                              double tolerance, gram *g) {
    soa_closed_options options = soa_closed_options_default();
    options.rank_tolerance = tolerance;
    soa_status s = soai_minv_prepare(w, q);
    if (s == SOA_E_HINGE_SINGULAR) {
        /* a massless link that only its loops hold: M has no inverse; all coordinates weigh alike
         * instead */
        memcpy(c->Y, c->G, (size_t)rows * (size_t)c->model->nv * sizeof *c->Y);
    } else {
        if (s || (s = soai_cut_prepare(c, w))) return s;
        soai_columns(c, w, rows);
    }
    soai_gram_factor(c, rows, &options, g);
    return SOA_OK;
}
/* step = -M^-1 G' (G M^-1 G')^+ b */
static void mass_step(soa_constraints *c, const gram *g, const double *b, double *step) {
    const int nv = c->model->nv;
    soai_gram_basic(c, g, b, c->lambda);
    for (int j = 0; j < nv; ++j)
        step[j] = 0;
    for (int r = 0; r < g->rows; ++r)
        for (int j = 0; j < nv && c->lambda[r] != 0; ++j)
            step[j] -= c->Y[(size_t)r * (size_t)nv + (size_t)j] * c->lambda[r];
}
/* c->rate = G v + drift; gives back the largest */
static double rates(soa_constraints *c, int rows, const double *v) {
    const int nv = c->model->nv;
    for (int r = 0; r < rows; ++r) {
        c->rate[r] = c->row[r].drift;
        for (int j = 0; j < nv; ++j)
            c->rate[r] += c->G[(size_t)r * (size_t)nv + (size_t)j] * v[j];
    }
    return largest(rows, c->rate);
}

double soa_closed_drift(const soa_constraints *c) {
    return c ? c->drift : 0;
}
static soa_status closed_project(soa_constraints *c, soa_work *w, double t, double *q, double *v,
                                 double error[2]) {
    if (!c || !w || w->model != c->model || !q || !(t - t == 0)) return SOA_E_ARGUMENT;
    const soa_model *m = c->model;
    const int nv = m->nv;
    const size_t q_bytes = (size_t)m->nq * sizeof *q;
    soa_status s = soai_check_state(m, q, v, NULL, NULL, &w->body);
    if (s) return s;
    int rows = 0;
    gram g;
    memcpy(c->q, q, q_bytes);
    if ((s = position_rows(c, w, c->q, t, 1, &rows))) return s;
    double now = c->drift = largest(rows, c->g);
    for (int pass = 0, coarse = 1; pass < 30 && now > ROUNDING; ++pass) {
        /* off the constraints by g, redundant rows are so only up to g, their pivots up to g^2 */
        double tolerance;
        if (coarse && now > 1e-6) {
            tolerance = now < 1e-3 ? now * now : 1e-6;
        } else {
            tolerance = 1e-12;
        }
        if ((s = mass_factor(c, w, c->q, rows, tolerance, &g))) return s;
        mass_step(c, &g, c->g, c->vdot);
        if ((s = soa_q_integrate(m, c->q, c->vdot, 1, c->try_q))) return s;
        if ((s = position_rows(c, w, c->try_q, t, 1, &rows))) return s;
        const double next = largest(rows, c->g);
        /* nothing more to be gained, unless weak rows were taken for redundant ones */
        if (!(next < now)) {
            if (tolerance <= 1e-12) break;
            coarse = 0;
            if ((s = position_rows(c, w, c->q, t, 1, &rows))) return s;
            continue;
        }
        memcpy(c->q, c->try_q, q_bytes);
        now = next;
    }
    if (error) {
        error[0] = now;
        error[1] = 0;
    }
    if (!(now <= 1e-9)) return SOA_E_NO_CONVERGENCE;
    if (v) {
        int all = 0;
        double left = 0;
        memcpy(c->torque, v, (size_t)nv * sizeof *v);
        if ((s = soai_constraint_evaluate(c, w, c->q, v, t, &all))) return s;
        soai_constraint_form(c, w, all, c->G);
        if ((s = mass_factor(c, w, c->q, all, 1e-12, &g))) return s;
        for (int pass = 0; pass < 2; ++pass) { /* the second takes back the first's rounding */
            rates(c, all, c->torque);
            mass_step(c, &g, c->rate, c->vdot);
            for (int j = 0; j < nv; ++j)
                c->torque[j] += c->vdot[j];
        }
        left = rates(c, all, c->torque);
        if (error) error[1] = left;
        if (!(left <= 1e-6 * (1 + largest(nv, v)))) return SOA_E_INCONSISTENT;
        memcpy(v, c->torque, (size_t)nv * sizeof *v);
    }
    memcpy(q, c->q, q_bytes);
    return SOA_OK;
}
soa_status soa_closed_project(soa_constraints *c, soa_work *w, double t, double *q, double *v,
                              double error[2]) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_project(c, w, t, q, v, error));
}

/* Coordinates that are held have no part in the rows of G. */
static void hold(soa_constraints *c, const unsigned char *held, int rows) {
    const int nv = c->model->nv;
    for (int j = 0; held && j < nv; ++j)
        for (int r = 0; held[j] && r < rows; ++r)
            c->G[(size_t)r * (size_t)nv + (size_t)j] = 0;
}
static soa_status closed_assemble(soa_constraints *c, soa_work *w, double t,
                                  const unsigned char *held, double *q, soa_report *report) {
    if (!c || !w || w->model != c->model || !q || !(t - t == 0))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "no constraints, no work space, or no guess");
    const soa_model *m = c->model;
    const int nv = m->nv;
    const size_t q_bytes = (size_t)m->nq * sizeof *q;
    soa_status s = soai_check_state(m, q, NULL, NULL, NULL, &w->body);
    int rows = 0;
    memcpy(c->q, q, q_bytes);
    if (s || (s = position_rows(c, w, c->q, t, 1, &rows)))
        return soai_report(report, s, w->body, 0, "%s", soa_status_text(s));
    double now = 0, damping = 1e-3;
    for (int r = 0; r < rows; ++r)
        now += c->g[r] * c->g[r];
    for (int pass = 0; pass < 300 && sqrt(now) > 1e-14; ++pass) {
        soa_closed_options options = soa_closed_options_default();
        options.damping = damping;
        gram g;
        hold(c, held, rows);
        memcpy(c->Y, c->G, (size_t)rows * (size_t)nv * sizeof *c->Y);
        soai_gram_factor(c, rows, &options, &g);
        soai_gram_basic(c, &g, c->g, c->lambda);
        double most = 0;
        for (int j = 0; j < nv; ++j) {
            c->vdot[j] = 0;
            for (int r = 0; r < rows; ++r)
                c->vdot[j] -= c->Y[(size_t)r * (size_t)nv + (size_t)j] * c->lambda[r];
            if (fabs(c->vdot[j]) > most) most = fabs(c->vdot[j]);
        }
        if ((s = soa_q_integrate(m, c->q, c->vdot, most > 0.5 ? 0.5 / most : 1, c->try_q)) ||
            (s = position_rows(c, w, c->try_q, t, 1, &rows)))
            return soai_report(report, s, w->body, 0, "%s", soa_status_text(s));
        double next = 0;
        for (int r = 0; r < rows; ++r)
            next += c->g[r] * c->g[r];
        if (next < now) {
            memcpy(c->q, c->try_q, q_bytes);
            now = next;
            damping = damping > 1e-9 ? damping / 5 : 0;
        } else {
            if (damping > 1e3 || (sqrt(now) < 1e-12 && damping > 1e-6)) break;
            damping = damping > 0 ? damping * 8 : 1e-8;
            if ((s = position_rows(c, w, c->q, t, 1, &rows)))
                return soai_report(report, s, w->body, 0, "%s", soa_status_text(s));
        }
    }
    if ((s = position_rows(c, w, c->q, t, 0, &rows)))
        return soai_report(report, s, w->body, 0, "%s", soa_status_text(s));
    int worst = 0;
    for (int r = 1; r < rows; ++r)
        if (fabs(c->g[r]) > fabs(c->g[worst])) worst = r;
    if (rows && !(fabs(c->g[worst]) <= 1e-10))
        return soai_report(
            report, SOA_E_NO_CONVERGENCE, -1, 0,
            "the loops do not close from this guess: \"%s\" is left open by %.3g (m or rad)",
            c->list[c->owner[worst]].name, fabs(c->g[worst]));
    memcpy(q, c->q, q_bytes);
    return SOA_OK;
}
soa_status soa_closed_assemble(soa_constraints *c, soa_work *w, double t, const unsigned char *held,
                               double *q, soa_report *report) {
    soai_report_reset(report);
    const unsigned before = soai_work_taken(w);
    return soai_report_end(report,
                           soai_work_keep(w, before, closed_assemble(c, w, t, held, q, report)));
}

/* v -= G'(G G')^+ (G v + dg/dt) over the coordinates that are not held, twice: the second pass
 * takes back rounding. */
static soa_status closed_rates(soa_constraints *c, soa_work *w, double t, const double *q,
                               const unsigned char *held, double *v, double *left) {
    if (!c || !w || w->model != c->model || !v || !(t - t == 0)) return SOA_E_ARGUMENT;
    const int nv = c->model->nv;
    int rows = 0;
    gram g;
    const soa_closed_options options = soa_closed_options_default();
    soa_status s = soai_check_state(c->model, q, v, NULL, NULL, &w->body);
    if (s || (s = soai_constraint_evaluate(c, w, q, v, t, &rows))) return s;
    soai_constraint_form(c, w, rows, c->G);
    memcpy(c->torque, v, (size_t)nv * sizeof *v);
    rates(c, rows, c->torque);
    for (int pass = 0; pass < 2; ++pass) {
        hold(c, held, rows);
        memcpy(c->Y, c->G, (size_t)rows * (size_t)nv * sizeof *c->Y);
        soai_gram_factor(c, rows, &options, &g);
        mass_step(c, &g, c->rate, c->vdot);
        for (int j = 0; j < nv; ++j)
            c->torque[j] += c->vdot[j];
        soai_constraint_form(c, w, rows, c->G);
        *left = rates(c, rows, c->torque);
    }
    if (!(*left <= 1e-9 * (1 + largest(nv, v)))) return SOA_E_INCONSISTENT;
    memcpy(v, c->torque, (size_t)nv * sizeof *v);
    return SOA_OK;
}
soa_status soa_closed_project_rates(soa_constraints *c, soa_work *w, double t, const double *q,
                                    const unsigned char *held, double *v, double *left) {
    double ignored;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_rates(c, w, t, q, held, v, left ? left : &ignored));
}

/* --- torques of a closed machine -------------------------------------------------------------- */
/* Unknown are lambda and the actuated torques.  With f = M a + bias - cut torques, u the coordinates
 * without a motor and a those with one,
 *     G_u' lambda = f_u,   tau_a = f_a - G_a' lambda,
 *     lambda = lambda0 + Z y,
 * where the columns of Z span the null space of G_u' and y makes tau_a least. */
typedef struct inverse {
    soa_constraints *c;
    const unsigned char *actuated; /* NULL: every coordinate has a motor */
    int nv, rows;
    int unmoved; /* coordinates without a motor */
    int rank;    /* of G_u: columns of Q below it span G_u, the others are Z */
} inverse;

static int has_motor(const inverse *p, int j) {
    return !p->actuated || p->actuated[j];
}
static double *row_of_G(const inverse *p, int r) {
    return p->c->G + (size_t)r * (size_t)p->nv;
}

/* Does G a + gamma = 0 hold to rounding?  Then this acceleration is possible. */
static int obeys(const inverse *p, const double *a) {
    double size = 1, off = 0;
    for (int r = 0; r < p->rows; ++r) {
        double x = p->c->row[r].gamma;
        if (fabs(x) > size) size = fabs(x);
        for (int j = 0; a && j < p->nv; ++j) {
            const double term = row_of_G(p, r)[j] * a[j];
            x += term;
            if (fabs(term) > size) size = fabs(term);
        }
        if (!(fabs(x) <= off)) off = fabs(x);
    }
    return off <= 1e-7 * size;
}

/* lambda0 from G_u' lambda = f_u with f in c->torque.  G_u P = Q R (rows x unmoved) stays in c->K,
 * c->beta and c->pivot: lambda = Q [y1; y2], R' y1 = P' f_u, y2 free and zero here.  0: no lambda
 * gives the coordinates without a motor their f. */
static int hold_unmoved(inverse *p, double *lambda) {
    soa_constraints *c = p->c;
    const int rows = p->rows, free = p->unmoved;
    double *A = c->K;
    for (int j = 0, k = 0; j < p->nv; ++j) {
        if (has_motor(p, j)) continue;
        for (int r = 0; r < rows; ++r)
            A[free * r + k] = row_of_G(p, r)[j];
        c->x[k++] = c->torque[j];
    }
    p->rank = free ? soai_qr(rows, free, A, c->beta, c->pivot, 1e-10) : 0;
    for (int r = 0; r < rows; ++r)
        lambda[r] = 0;
    for (int k = 0; k < p->rank; ++k) {
        double x = c->x[c->pivot[k]];
        for (int i = 0; i < k; ++i)
            x -= A[free * i + k] * lambda[i];
        lambda[k] = x / A[free * k + k];
    }
    const double force = largest(p->nv, c->torque);
    for (int k = p->rank; k < free; ++k) {
        double x = c->x[c->pivot[k]];
        for (int i = 0; i < p->rank; ++i)
            x -= A[free * i + k] * lambda[i];
        if (!(fabs(x) <= 1e-8 * (1e-3 + force))) return 0;
    }
    if (free) soai_qr_apply(rows, free, A, c->beta, 0, lambda);
    return 1;
}

/* tau_a = f_a - G_a' lambda */
static void motor_torques(const inverse *p, const double *lambda, double *tau) {
    for (int j = 0, k = 0; j < p->nv; ++j) {
        if (!has_motor(p, j)) continue;
        tau[k] = p->c->torque[j];
        for (int r = 0; r < p->rows; ++r)
            tau[k] -= row_of_G(p, r)[j] * lambda[r];
        ++k;
    }
}

/* Z, column by column in c->N, and G_a' Z in B (motors x extra). */
static void null_space(const inverse *p, int extra, double *B) {
    soa_constraints *c = p->c;
    const int rows = p->rows;
    const double noise = 1e-11 * largest(rows * p->nv, c->G);
    for (int e = 0; e < extra; ++e) {
        double *z = c->right;
        for (int r = 0; r < rows; ++r)
            z[r] = r == p->rank + e;
        if (p->unmoved) soai_qr_apply(rows, p->unmoved, c->K, c->beta, 0, z);
        memcpy(c->N + (size_t)rows * (size_t)e, z, (size_t)rows * sizeof *z);
        for (int j = 0, k = 0; j < p->nv; ++j) {
            if (!has_motor(p, j)) continue;
            double x = 0;
            for (int r = 0; r < rows; ++r)
                x += row_of_G(p, r)[j] * z[r];
            B[extra * k++ + e] = fabs(x) > noise ? x : 0; /* redundant rows move nothing */
        }
    }
}
/* Least squares in y: tau_a loses all that (G_a' Z) y can take, and lambda gains Z y. */
static void make_least(const inverse *p, double *lambda, double *tau) {
    soa_constraints *c = p->c;
    const int rows = p->rows, driven = p->nv - p->unmoved, extra = rows - p->rank;
    if (!extra || !driven) return;
    const int fits = (size_t)driven * (size_t)extra <= (size_t)p->nv * (size_t)p->nv;
    double *B = fits ? c->M : c->Y; /* Y is rows x nv */
    null_space(p, extra, B);
    const int bound = soai_qr(driven, extra, B, c->beta, c->pivot, 1e-10);
    double *z = c->x, *y = c->right;
    memcpy(z, tau, (size_t)driven * sizeof *z);
    soai_qr_apply(driven, extra, B, c->beta, 1, z);
    for (int k = bound - 1; k >= 0; --k) {
        y[k] = z[k];
        for (int i = k + 1; i < bound; ++i)
            y[k] -= B[extra * k + i] * y[i];
        y[k] /= B[extra * k + k];
    }
    for (int k = 0; k < bound; ++k)
        for (int r = 0; r < rows; ++r)
            lambda[r] += c->N[(size_t)rows * (size_t)c->pivot[k] + (size_t)r] * y[k];
    for (int k = 0; k < bound && k < driven; ++k)
        z[k] = 0;
    soai_qr_apply(driven, extra, B, c->beta, 0, z);
    memcpy(tau, z, (size_t)driven * sizeof *z);
}

static soa_status closed_id(soa_constraints *c, soa_work *w, const soa_input *in,
                            const unsigned char *actuated, double *tau, double *lambda) {
    if (!c || !w || w->model != c->model || !tau || !(in->t - in->t == 0)) return SOA_E_ARGUMENT;
    if (!c->capacity.dense) return SOA_E_MEMORY;
    const soa_model *m = c->model;
    inverse p = {.c = c, .actuated = actuated, .nv = m->nv};
    soa_status s = soai_check_state(m, in->q, in->v, in->a, NULL, &w->body);
    if (s) return s;
    s = soai_constraint_evaluate(c, w, in->q, in->v ? in->v : w->zero, in->t, &p.rows);
    if (s) return s;
    soai_constraint_form(c, w, p.rows, c->G);
    if (!obeys(&p, in->a)) return SOA_E_INCONSISTENT;
    memcpy(c->torque, c->cut, (size_t)m->nv * sizeof *c->torque);
    if ((s = soa_rnea(m, w, in->q, in->v, in->a, in->wrenches, in->wrench_count, c->vdot)))
        return s;
    soai_cut_force(c, in->a, 1, c->vdot);
    for (int j = 0; j < m->nv; ++j) {
        c->torque[j] = c->vdot[j] - c->torque[j]; /* f */
        p.unmoved += !has_motor(&p, j);
    }
    if (!hold_unmoved(&p, c->lambda)) return SOA_E_INCONSISTENT;
    motor_torques(&p, c->lambda, c->step);
    make_least(&p, c->lambda, c->step);
    for (int j = 0, k = 0; j < m->nv; ++j)
        tau[j] = has_motor(&p, j) ? c->step[k++] : 0;
    if (lambda) memcpy(lambda, c->lambda, (size_t)p.rows * sizeof *lambda);
    return SOA_OK;
}
soa_status soa_closed_id(soa_constraints *c, soa_work *w, const soa_input *input,
                         const unsigned char *actuated, double *tau, double *lambda) {
    if (!input) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_id(c, w, input, actuated, tau, lambda));
}
