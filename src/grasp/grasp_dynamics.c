/* grasp_dynamics.c  forward dynamics of arms that hold an object: RK88-II sections 4 and 6,
 *                   appendix B.
 *
 * Here arms and object are trees of one model and J is that of the object's ends less the arms', so
 * that RK88-II's pair J M^-1 J', A M^-1(C) A' is one compliance, and alpha_f(0) + A M^-1(C) b(C) -
 * a(C) one relative acceleration.  With f on the object and x = J vdot_f + bias its free value,
 *     Omega f + x = H* W',  H f = 0:      f = -Pi x,  Pi = T (T'Omega T)^+ T'
 *     (4.9d), (b.9c, d)
 * which needs no inverse of Omega itself.
 *
 *   sweep                                                     is
 *   filter   e = T' - H psi (K T' + B f)      inward          (5.10b, c), (6.4a to c) in one:
 *            minv_filter
 *   smooth   vdot = (I - H psi K)* D^-1 e     outward         (5.10e to g): minv_smooth
 *            lambda = psi* H* D^-1 e          the same sweep  read at the contacts: J M^-1 of
 *            (6.12)
 *   Omega    J M^-1 J'                        outward         (6.10), branches coupled:
 *            soa_compliance
 * The sign of the tips follows the papers: z = B f with f the force on the surroundings, on an arm
 * +f, on the object -f. */
#include "grasp_internal.h"
#include "../spatial/algebra.h"

soa_grasp_options soa_grasp_options_default(void) {
    const soa_grasp_options o = {
        .rank_tolerance = 1e-12, .most_condition = 1e11, .consistency = 1e-7};
    return o;
}

typedef struct evaluation {
    soa_grasp *g;
    soa_work *w;
    const soa_grasp_options *options;
    soa_grasp_method method;
    const double *q, *v, *tau;
    const soa_wrench *wrenches;
    int wrench_count;
    double *qdd;              /* out */
    soa_grasp_report *report; /* out */
} evaluation;

/* --- forces ----------------------------------------------------------------------------------- */
static void factor(const evaluation *in, const double *floor) {
    soa_grasp *g = in->g;
    soai_least_factor(&g->least, g->rows, g->S, floor, in->options->rank_tolerance);
    in->report->rank = g->least.rank;
    in->report->condition = g->least.condition;
}
/* T'Omega T, factored. */
static void factor_omega(const evaluation *in) {
    soa_grasp *g = in->g;
    const size_t n = 6 * (size_t)g->count, rows = (size_t)g->rows;
    size_t at = 0;
    for (size_t i = 0; i < (size_t)g->count; ++i) {
        const contact *k = g->list + g->on[i];
        soai_grasp_floor(k, in->w, g->Omega + (n + 1) * 6 * i, n, g->floor + at);
        for (int r = 0; r < k->held; ++r, ++at) { /* a row of T'Omega, then T */
            for (size_t j = 0; j < n; ++j) {
                g->part[j] = 0;
                for (size_t c = 0; c < 6; ++c)
                    g->part[j] += k->T[r][c] * g->Omega[n * (6 * i + c) + j];
            }
            soai_grasp_borne(g, g->part, g->S + rows * at);
        }
    }
    factor(in, g->floor);
}
/* f = -Pi x; size: the magnitudes in x, or NULL. */
static void solve(const evaluation *in, const double *x, const double *size, double *f) {
    soa_grasp *g = in->g;
    if (in->method == SOA_GRASP_WOODBURY) {
        if (!soai_woodbury_solve(g, x, f)) in->report->condition = INFINITY;
        return;
    }
    double *large = NULL;
    if (size) { /* |T|' size */
        large = g->part;
        int at = 0;
        for (int i = 0; i < g->count; ++i) {
            const contact *k = g->list + g->on[i];
            for (int r = 0; r < k->held; ++r, ++at) {
                large[at] = 0;
                for (int j = 0; j < 6; ++j)
                    large[at] += fabs(k->T[r][j]) * size[6 * i + j];
            }
        }
    }
    soai_grasp_borne(g, x, g->y);
    for (int r = 0; r < g->rows; ++r)
        g->y[r] = -g->y[r];
    const double off = soai_least_solve(&g->least, g->y, large, g->y);
    if (!(off <= in->report->residual)) in->report->residual = off;
    soai_grasp_forces(g, g->y, f);
}
static void add(int n, const double *x, double *y) {
    for (int i = 0; i < n; ++i)
        y[i] += x[i];
}

/* --- the methods: qdd, and forces (g->force, contact axes) ------------------------------------ */
/* (4.9), every M^-1 a difference of two calls of the solver. */
static soa_status run_solver(const evaluation *in, const double *torque, double *qdd) {
    soa_forward_fn *const own = in->options->solver;
    const soa_model *m = in->g->model;
    const soa_input state = {in->q, in->v, NULL, torque, in->wrenches, in->wrench_count, 0};
    return own ? own(in->options->user, m, in->w, &state, qdd)
               : soa_aba(m, in->w, in->q, in->v, torque, in->wrenches, in->wrench_count, qdd);
}
/* (4.9e): M dqdd = J'f */
static soa_status correction(const evaluation *in, const double *f, double *dqdd) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv;
    soa_status s = soa_kinematics(g->model, in->w, in->q, in->v, NULL);
    if (s) return s;
    for (int j = 0; j < nv; ++j)
        g->torque[j] = in->tau ? in->tau[j] : 0;
    soai_grasp_torques(g, in->w, f, g->e, g->torque);
    if ((s = run_solver(in, g->torque, dqdd))) return s;
    for (int j = 0; j < nv; ++j)
        dqdd[j] -= g->a[j];
    return SOA_OK;
}
static soa_status general(const evaluation *in) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv, rows = g->rows;
    /* (4.9a) */
    soa_status s = run_solver(in, in->tau, g->a);
    /* (4.9b) */
    if (s || (s = soai_grasp_evaluate(g, in->w, in->q, in->v, g->a, g->rate, g->size))) return s;
    for (int r = 0; r < rows; ++r) { /* (4.9c), a unit force at a time */
        for (int j = 0; j < rows; ++j)
            g->y[j] = j == r;
        soai_grasp_forces(g, g->y, g->force);
        if ((s = correction(in, g->force, g->b)) ||
            (s = soai_grasp_evaluate(g, in->w, in->q, NULL, g->b, g->more, NULL)))
            return s;
        soai_grasp_borne(g, g->more, g->S + (size_t)rows * (size_t)r);
    }
    factor(in, NULL);
    solve(in, g->rate, g->size, g->force); /* (4.9d) */
    if ((s = correction(in, g->force, g->b))) return s;
    for (int j = 0; j < nv; ++j)
        in->qdd[j] = g->a[j] + g->b[j]; /* (4.9g) */
    return SOA_OK;
}

/* How RCCFD1 to 3 begin: torques less biases (6.11a), biases at the contacts (a'(C) of (5.5b)),
 * Omega (6.11d, e). */
static soa_status begin_recursive(const evaluation *in) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv;
    soa_status s = soai_grasp_evaluate(g, in->w, in->q, in->v, NULL, g->drift, g->size);
    if (s || (s = soa_rnea(g->model, in->w, in->q, in->v, NULL, in->wrenches, in->wrench_count,
                           g->bias)))
        return s;
    for (int j = 0; j < nv; ++j)
        g->torque[j] = (in->tau ? in->tau[j] : 0) - g->bias[j];
    if (in->method == SOA_GRASP_WOODBURY) {
        if ((s = soai_minv_prepare_posed(in->w, in->q))) return s;
        if ((s = soai_woodbury_prepare(g, in->w, in->options->rank_tolerance,
                                       &in->report->condition)))
            return s;
        in->report->rank = g->rows;
        return SOA_OK;
    }
    if ((s = soai_grasp_compliance(g, in->w, in->q))) return s;
    factor_omega(in);
    return SOA_OK;
}
/* e = x - H psi (K x + B f), left in the work space. */
static void filter(const evaluation *in, const double *x, const double *f) {
    soai_grasp_load(in->g, in->w, f);
    in->w->k->minv_filter(&in->w->view, &in->w->w, x ? x : in->w->zero);
}
static void smooth(const evaluation *in, double *qdd) {
    in->w->k->minv_smooth(&in->w->view, &in->w->w, qdd);
}

static soa_status rccfd1(const evaluation *in) {
    soa_grasp *g = in->g;
    soa_status s = begin_recursive(in);
    if (s) return s;
    filter(in, g->torque, NULL);
    /* (6.11b) */
    smooth(in, in->qdd);
    /* (6.11c) */
    if ((s = soai_grasp_evaluate(g, in->w, in->q, in->v, in->qdd, g->rate, g->size))) return s;
    /* (6.11f) */
    solve(in, g->rate, g->size, g->force);
    filter(in, NULL, g->force);
    smooth(in, g->b);                 /* (6.11g) */
    add(g->model->nv, g->b, in->qdd); /* (6.11i) */
    return SOA_OK;
}
static soa_status rccfd2(const evaluation *in) {
    soa_grasp *g = in->g;
    const soa_status s = begin_recursive(in);
    if (s) return s;
    filter(in, g->torque, NULL);
    smooth(in, g->b);
    soai_grasp_read(g, in->w, g->rate, g->more); /* J M^-1 T' */
    add(6 * g->count, g->drift, g->rate);
    add(6 * g->count, g->more, g->size);
    solve(in, g->rate, g->size, g->force); /* (6.18d) */
    filter(in, g->torque, g->force);
    smooth(in, in->qdd); /* (6.18e) */
    return SOA_OK;
}
static soa_status rccfd3(const evaluation *in) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv, n = 6 * g->count;
    const soa_status s = begin_recursive(in);
    if (s) return s;
    filter(in, g->torque, NULL);
    memcpy(g->e, in->w->w.e, (size_t)nv * sizeof *g->e); /* (I - H psi K) T' */
    smooth(in, g->b);
    soai_grasp_read(g, in->w, g->rate, g->more);
    add(n, g->more, g->size);
    solve(in, g->rate, g->size, g->force); /* Omega^-1 J M^-1 T', with our sign */
    filter(in, NULL, g->force);
    add(nv, g->e, in->w->w.e);
    smooth(in, in->qdd);                   /* (6.22f) */
    solve(in, g->drift, g->size, g->more); /* zeta(C) (6.22d) */
    filter(in, NULL, g->more);
    smooth(in, g->b);          /* (6.22g) */
    add(nv, g->b, in->qdd);    /* (6.22h) */
    add(n, g->more, g->force); /* (6.22e) */
    return SOA_OK;
}

/* (b.9) in the caller's coordinates; mimic joints are no matter. */
static soa_status loose(const evaluation *in) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv, n = 6 * g->count;
    soa_status s = soai_grasp_evaluate(g, in->w, in->q, in->v, NULL, g->drift, g->size);
    if (s || (s = soa_rnea(g->model, in->w, in->q, in->v, NULL, in->wrenches, in->wrench_count,
                           g->bias)))
        return s;
    if ((s = soai_grasp_compliance(g, in->w, in->q))) return s; /* (b.9b) */
    factor_omega(in);
    for (int j = 0; j < nv; ++j)
        g->torque[j] = in->tau ? in->tau[j] : 0;
    soai_minv_apply(in->w, g->torque, in->qdd); /* M^-1 T */
    soai_minv_apply(in->w, g->bias, g->b);      /* M^-1 C */
    if ((s = soai_grasp_evaluate(g, in->w, in->q, NULL, g->b, g->rate, g->more))) return s;
    for (int j = 0; j < n; ++j)
        g->drift[j] -= g->rate[j]; /* -G1 (b.9a) */
    add(n, g->more, g->size);
    if ((s = soai_grasp_evaluate(g, in->w, in->q, NULL, in->qdd, g->rate, g->more))) return s;
    add(n, g->more, g->size);
    add(n, g->drift, g->rate);
    solve(in, g->rate, g->size, g->force); /* (b.9d) */
    for (int j = 0; j < nv; ++j) {
        in->qdd[j] -= g->b[j];
        g->torque[j] = 0;
    }
    soai_grasp_torques(g, in->w, g->force, g->e, g->torque);
    soai_minv_apply(in->w, g->torque, g->b);
    add(nv, g->b, in->qdd); /* (b.9e) */
    return SOA_OK;
}

/* Takes back most of the rounding: what is left of T'(J vdot + bias) asks for a little more force.
 * Leaves J vdot + bias in g->rate. */
static soa_status refine(const evaluation *in) {
    soa_grasp *g = in->g;
    const int nv = g->model->nv;
    const double residual = in->report->residual;
    soa_status s = soai_grasp_evaluate(g, in->w, in->q, in->v, in->qdd, g->rate, NULL);
    if (s) return s;
    solve(in, g->rate, NULL, g->more);
    in->report->residual = residual;
    if (in->method == SOA_GRASP_GENERAL) {
        if ((s = correction(in, g->more, g->b))) return s;
    } else if (in->method == SOA_GRASP_LOOSE) {
        for (int j = 0; j < nv; ++j)
            g->torque[j] = 0;
        soai_grasp_torques(g, in->w, g->more, g->e, g->torque);
        soai_minv_apply(in->w, g->torque, g->b);
    } else {
        filter(in, NULL, g->more);
        smooth(in, g->b);
    }
    add(nv, g->b, in->qdd);
    add(6 * g->count, g->more, g->force);
    return soai_grasp_evaluate(g, in->w, in->q, NULL, g->b, g->more, NULL);
}

/* W' of H* W' = J vdot + bias. */
static soa_status free_rates(const evaluation *in, double *W_rate) {
    soa_grasp *g = in->g;
    add(6 * g->count, g->more, g->rate);
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        double HH[36];
        for (int r = 0; r < k->free; ++r) {
            W_rate[r] = v6_dot(k->H[r], g->rate + 6 * i);
            for (int c = 0; c < k->free; ++c)
                HH[k->free * r + c] = v6_dot(k->H[r], k->H[c]);
        }
        if (k->free && !soai_solve(k->free, HH, W_rate)) return SOA_E_SINGULAR;
        W_rate += k->free;
    }
    return SOA_OK;
}

/* contacts from which the O(contacts) form is faster, measured in tests/dynamics/test_rccfd.c */
enum { MANY = 8 };

static soa_status grasp_fd(soa_grasp *g, soa_work *w, const soa_grasp_options *options,
                           const soa_input *input, double *qdd, double *force, double *W_rate,
                           soa_grasp_report *report) {
    const double *q = input->q, *v = input->v, *tau = input->tau;
    const soa_grasp_options plain = soa_grasp_options_default();
    if (!options) options = &plain;
    if (!g || !w || w->model != g->model || !qdd ||
        (unsigned)options->method >= SOA_GRASP_METHOD_COUNT || !(options->rank_tolerance >= 0))
        return SOA_E_ARGUMENT;
    const soa_model *m = g->model;
    const int is_auto = options->method == SOA_GRASP_AUTO;
    soa_grasp_method method;
    if (!is_auto) {
        method = options->method;
    } else if (m->nm) {
        method = SOA_GRASP_LOOSE;
    } else if (g->count >= MANY) {
        method = SOA_GRASP_WOODBURY;
    } else {
        method = SOA_GRASP_RCCFD2;
    }
    if (m->nm && method != SOA_GRASP_LOOSE && method != SOA_GRASP_GENERAL) return SOA_E_MIMIC;
    soa_status s = soai_check_state(m, q, v, NULL, tau, &w->body);
    if (s) return s;
    static soa_status (*const by_method[])(const evaluation *) = {NULL,   general, rccfd1, rccfd2,
                                                                  rccfd3, loose,   rccfd2};
    soa_grasp_report found = {.method = method, .rows = g->rows, .rank = g->rows, .condition = 1};
    evaluation in = {
        g, w, options, method, q, v, tau, input->wrenches, input->wrench_count, g->qdd, &found};
    s = by_method[method](&in);
    /* not a case for it */
    if (is_auto && method == SOA_GRASP_WOODBURY && (s || !(found.condition <= 1e6))) {
        in.method = SOA_GRASP_RCCFD2;
        found = (soa_grasp_report){
            .method = SOA_GRASP_RCCFD2, .rows = g->rows, .rank = g->rows, .condition = 1};
        s = rccfd2(&in);
    }
    if (!s && in.method != SOA_GRASP_WOODBURY && !(found.condition <= options->most_condition)) {
        /* Rows that only rounding tells apart?  Then they agree when taken for redundant ones. */
        soa_grasp_options coarse = *options;
        soa_grasp_report again = {
            .method = found.method, .rows = g->rows, .rank = g->rows, .condition = 1};
        coarse.rank_tolerance = fmax(coarse.rank_tolerance, 10 / options->most_condition);
        evaluation second = in;
        second.options = &coarse;
        second.report = &again;
        if (!by_method[in.method](&second) && again.residual <= options->consistency) found = again;
    }
    found.least_norm = found.rank < found.rows;
    if (report) *report = found;
    if (s) return s;
    if (!(found.residual <= options->consistency)) return SOA_E_INCONSISTENT;
    if (!(found.condition <= options->most_condition)) return SOA_E_SINGULAR;
    if ((s = refine(&in)) || (W_rate && (s = free_rates(&in, W_rate)))) return s;
    if (force) soai_grasp_to_world(g, g->force, force);
    memcpy(qdd, g->qdd, (size_t)m->nv * sizeof *qdd);
    return SOA_OK;
}
soa_status soa_grasp_fd(soa_grasp *g, soa_work *w, const soa_grasp_options *options,
                        const soa_input *input, double *qdd, double *force, double *W_rate,
                        soa_grasp_report *report) {
    if (!input) return SOA_E_ARGUMENT;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_fd(g, w, options, input, qdd, force, W_rate, report));
}

static soa_status grasp_omega(soa_grasp *g, soa_work *w, const double *q, double *Omega,
                              soa_grasp_rank *full, soa_grasp_rank *reduced) {
    if (!g || !w || w->model != g->model) return SOA_E_ARGUMENT;
    const soa_grasp_options plain = soa_grasp_options_default();
    soa_grasp_report report = {0};
    const evaluation in = {.g = g, .w = w, .options = &plain, .report = &report};
    const size_t n = 6 * (size_t)g->count;
    soa_status s = soai_grasp_evaluate(g, w, q, NULL, NULL, g->rate, NULL);
    if (s || (s = soai_grasp_compliance(g, w, q))) return s;
    if (full) {
        soai_least_factor(&g->least, (int)n, g->Omega, NULL, plain.rank_tolerance);
        *full = (soa_grasp_rank){(int)n, g->least.rank, g->least.condition};
    }
    if (reduced) {
        factor_omega(&in);
        *reduced = (soa_grasp_rank){g->rows, report.rank, report.condition};
    }
    if (!Omega) return SOA_OK;
    memcpy(Omega, g->Omega, n * n * sizeof *Omega);
    for (int pass = 0; pass < 2; ++pass) /* rows, then columns */
        for (size_t i = 0; i < n; ++i) {
            for (size_t j = 0; j < n; ++j)
                g->part[j] = Omega[pass ? n * i + j : n * j + i];
            soai_grasp_to_world(g, g->part, g->part);
            for (size_t j = 0; j < n; ++j)
                Omega[pass ? n * i + j : n * j + i] = g->part[j];
        }
    return SOA_OK;
}
soa_status soa_grasp_compliance(soa_grasp *g, soa_work *w, const double *q, double *Omega,
                                soa_grasp_rank *full, soa_grasp_rank *reduced) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_omega(g, w, q, Omega, full, reduced));
}

static soa_status grasp_close(soa_grasp *g, soa_work *w, const double *q, const double *v,
                              double *v_after, double *impulse) {
    if (!g || !w || w->model != g->model || !v_after) return SOA_E_ARGUMENT;
    const soa_grasp_options plain = soa_grasp_options_default();
    soa_grasp_report report = {0};
    const evaluation in = {.g = g, .w = w, .options = &plain, .report = &report};
    const int nv = g->model->nv, n = 6 * g->count;
    soa_status s = soai_check_state(g->model, q, v, NULL, NULL, &w->body);
    if (s || (s = soai_grasp_evaluate(g, w, q, v, NULL, g->rate, NULL))) return s;
    if ((s = soai_grasp_compliance(g, w, q))) return s;
    factor_omega(&in);
    for (int j = 0; j < nv; ++j)
        g->a[j] = v ? v[j] : 0;
    for (int j = 0; j < n; ++j)
        g->more[j] = 0;
    for (int pass = 0; pass < 2; ++pass) { /* the second takes back the first's rounding */
        if ((s = soai_grasp_evaluate(g, w, q, g->a, NULL, g->rate, NULL))) return s;
        for (int i = 0; i < g->count; ++i)
            v6_copy(g->list[g->on[i]].V, g->rate + 6 * i);
        solve(&in, g->rate, NULL, g->force);
        for (int j = 0; j < nv; ++j)
            g->torque[j] = 0;
        soai_grasp_torques(g, w, g->force, g->e, g->torque);
        soai_minv_apply(w, g->torque, g->b);
        add(nv, g->b, g->a);
        add(n, g->force, g->more);
    }
    if (!(report.condition <= plain.most_condition)) return SOA_E_SINGULAR;
    if (impulse) soai_grasp_to_world(g, g->more, impulse);
    memcpy(v_after, g->a, (size_t)nv * sizeof *v_after);
    return SOA_OK;
}
soa_status soa_grasp_impulse(soa_grasp *g, soa_work *w, const double *q, const double *v,
                             double *v_after, double *impulse) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_close(g, w, q, v, v_after, impulse));
}

/* --- the object ------------------------------------------------------------------------------- */
/* A'x at the point C, and (A'A)^-1 A'x. */
static void through_A(const soa_grasp *g, const double C[3], const double *x, double out[6]) {
    v6_zero(out);
    for (int i = 0; i < g->count; ++i) {
        double l[3];
        for (int j = 0; j < 3; ++j)
            l[j] = g->list[g->on[i]].p[j] - C[j];
        v6_add_scaled(1, x + 6 * i, out);
        v3_cross_add(l, x + 6 * i + 3, out);
    }
}
static soa_status fit_A(const soa_grasp *g, const double C[3], const double *x, double *room,
                        double out[6]) {
    double AA[36], column[6];
    for (int c = 0; c < 6; ++c) {
        const double e[6] = {c == 0, c == 1, c == 2, c == 3, c == 4, c == 5};
        for (int i = 0; i < g->count; ++i) { /* A e */
            double l[3];
            for (int j = 0; j < 3; ++j)
                l[j] = g->list[g->on[i]].p[j] - C[j];
            v6_copy(e, room + 6 * i);
            v3_cross_add(e, l, room + 6 * i + 3);
        }
        through_A(g, C, room, column);
        for (int r = 0; r < 6; ++r)
            AA[6 * r + c] = column[r];
    }
    through_A(g, C, x, out);
    return soai_solve(6, AA, out) ? SOA_OK : SOA_E_SINGULAR;
}
/* The part of x along free directions, H*(H H*)^-1 H x, in world axes. */
static void free_part(const contact *k, const double x[6], double out[6]) {
    double y[6];
    v6_copy(x, y);
    for (int r = 0; r < k->held; ++r)
        v6_add_scaled(-v6_dot(k->T[r], x), k->T[r], y);
    rot_mul(k->R, y, out);
    rot_mul(k->R, y + 3, out + 3);
}

/* Velocity and classical acceleration of the arm's own point at the contact. */
static void arm_at_contact(const contact *k, double V[6], double A[6]) {
    const place *e = &k->end[0];
    double r[3], t[3];
    for (int j = 0; j < 3; ++j) {
        r[j] = k->p[j] - e->p[j];
        V[j] = e->w[j];
        V[3 + j] = e->v[j];
        A[j] = e->wd[j];
        A[3 + j] = e->vd[j];
    }
    v3_cross(e->w, r, t);
    v3_cross_add(e->w, r, V + 3);
    v3_cross_add(e->wd, r, A + 3);
    v3_cross_add(e->w, t, A + 3);
}

/* (2.8), (2.9).  Across a loose contact V- = V+ + H* W (a.6) and, for the points of arm and object
 * that are at the contact now, alpha- = alpha+ + H* W' + w x H* W + [0; w x slip], w that of the
 * axes (a.8). */
static soa_status grasp_object_state(soa_grasp *g, soa_work *w, const double *q, const double *v,
                                     const double *qdd, const double *force, int frame_C,
                                     soa_grasp_object *object, double *alpha0) {
    if (!g || !w || w->model != g->model || !object || frame_C < 0 || frame_C >= g->model->frames ||
        !g->count)
        return SOA_E_ARGUMENT;
    const int body = SOAI_AT(g->model, soai_frame_row, frame)[frame_C].body;
    for (int i = 0; i < g->count; ++i)
        if (g->list[g->on[i]].body[1] != body) return SOA_E_ARGUMENT;
    soa_frame C;
    soa_grasp_object out = {{0}, {0}, {0}};
    soa_status s = soai_check_state(g->model, q, v, qdd, NULL, &w->body);
    if (s || (s = soai_grasp_evaluate(g, w, q, v, qdd, g->rate, NULL)) ||
        (s = soa_pose(g->model, w, frame_C, &C)))
        return s;
    if (force && !soai_all_finite(force, 6 * (size_t)g->count)) return SOA_E_NOT_FINITE;
    double *x = g->more, V[6], A[6], slip[6];
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        arm_at_contact(k, V, A);
        free_part(k, k->V, x + 6 * i);
        v6_add_scaled(1, V, x + 6 * i);
    }
    if ((s = fit_A(g, C.p, x, g->part, out.V))) return s; /* (2.8a) */
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        const double *turning = k->def.axes_on_arm ? k->end[0].w : out.V;
        double *a = x + 6 * i, away[3], t[3];
        arm_at_contact(k, V, A);
        free_part(k, k->V, slip);
        free_part(k, g->rate + 6 * i, a);
        v6_add_scaled(1, A, a);
        v3_cross_add(turning, slip, a);
        for (int twice = 0; twice < 2; ++twice)
            v3_cross_add(turning, slip + 3, a + 3);
        for (int j = 0; j < 3; ++j)
            away[j] = C.p[j] - k->p[j];
        v3_cross(out.V, away, t);
        v3_cross_add(out.V, t, a + 3); /* less a(C) */
        if (alpha0) v6_copy(A, alpha0 + 6 * i);
    }
    if ((s = fit_A(g, C.p, x, g->part, out.alpha))) return s; /* (2.8b) */
    if (force) through_A(g, C.p, force, out.f);               /* (2.9) */
    *object = out;
    return SOA_OK;
}
soa_status soa_grasp_object_state(soa_grasp *g, soa_work *w, const soa_input *input,
                                  const double *force, int frame_C, soa_grasp_object *object,
                                  double *alpha0) {
    if (!input) return SOA_E_ARGUMENT;
    const double *q = input->q;
    const double *v = input->v;
    const double *qdd = input->a;
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before,
                          grasp_object_state(g, w, q, v, qdd, force, frame_C, object, alpha0));
}
