/* operational.c  compliance, and Khatib's operational space from it.
 *
 *     Omega  = J M^-1 J'                     operational.h, RJK91 (20)
 *     Lambda = Omega^-1                      Cholesky, r x r
 *     mu     = Lambda (J x - (dJ/dt) v)      x = M^-1 C v:  inverse dynamics without gravity, then
 *            the O(n) solve
 *     p      = Lambda J y                    y = M^-1 g:    inverse dynamics at rest, then the O(n)
 *            solve
 *     jbar   = (M^-1 J') Lambda              one O(n) solve for each row of J
 *     N'     = 1 - J' jbar'
 * All of it is about the equations of motion in the caller's coordinates; mimic joints are mapped
 * on the way. */
#include "coordinates.h"
#include "../sweep/task_frames.h"
#include "../spatial/algebra.h"
#include <math.h>

#define SINGULAR 1e-12

/* Lists of bodies in the work space. */
static void use_lists(const soa_model *m, const soa_work *w, soai_task_frames *t) {
    const size_t n = (size_t)m->nb + 1;
    t->row = SOAI_AT(m, soai_frame_row, frame);
    t->path = w->path;
    t->node = w->path + n;
    t->up = w->path + 2 * n;
    t->mark = w->path + 3 * n;
}
void soai_compliance(soa_work *w, const int *frames, int count, soa_axes axes, double *Omega) {
    soai_task_frames t = {
        .count = count, .frame = frames, .frame_step = sizeof *frames, .axes = &axes};
    use_lists(w->model, w, &t);
    w->k->compliance(&w->view, &w->w, &t, Omega);
}
static soa_status articulate(soa_work *w, const double *tq) {
    const int bad = soai_work_articulate(w, tq);
    if (!bad) return SOA_OK;
    w->body = bad;
    return SOA_E_HINGE_SINGULAR;
}

soa_status soa_compliance(const soa_model *m, soa_work *w, const double *q, const int *frames,
                          int count, soa_axes axes, double *Omega) {
    if (!m || !w || w->model != m || !frames || count < 1 || !soai_is_axes(axes) || !Omega)
        return SOA_E_ARGUMENT;
    for (int i = 0; i < count; ++i)
        if (frames[i] < 0 || frames[i] >= m->frames) return SOA_E_ARGUMENT;
    soa_status s = soai_check_state(m, q, NULL, NULL, NULL, &w->body);
    if (s) return s;
    soai_work_take(w);
    if ((s = articulate(w, tree_q(w, q)))) return s;
    soai_compliance(w, frames, count, axes, Omega);
    return SOA_OK;
}

/* --- tasks ------------------------------------------------------------------------------------ */
static unsigned rows_of(const soa_task *task) {
    return task->rows ? task->rows : 63u;
}
/* Keeps the chosen of 6 count rows of `columns` numbers, in order; in place.  Returns how many. */
static size_t choose_rows(const soa_task *tasks, int count, size_t columns, double *x) {
    size_t r = 0;
    for (size_t i = 0; i < 6 * (size_t)count; ++i) {
        if (!(rows_of(tasks + i / 6) >> i % 6 & 1)) continue;
        memmove(x + columns * r++, x + columns * i, columns * sizeof *x);
    }
    return r;
}

/* The caller's memory. */
typedef struct scratch {
    double *Omega, *scaled, *factor, *lambda; /* (6 count)^2 each                  */
    double *J, *MJ;                           /* 6 count x nv each                 */
    double *scale, *drift, *acc, *mu, *p;     /* 6 count each                      */
    double *tau, *x;                          /* nv each                           */
} scratch;
static size_t scratch_place(const soa_model *m, int count, double *memory, scratch *s) {
    const size_t r = 6 * (size_t)count, nv = (size_t)m->nv;
    double **const part[] = {&s->Omega, &s->scaled, &s->factor, &s->lambda, &s->J,
                             &s->MJ,    &s->scale,  &s->drift,  &s->acc,    &s->mu,
                             &s->p,     &s->tau,    &s->x};
    size_t at = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; ++i) {
        if (memory) *part[i] = memory + at;
        if (i < 4) {
            at += r * r;
        } else if (i < 6) {
            at += r * nv;
        } else if (i < 11) {
            at += r;
        } else {
            at += nv;
        }
    }
    return at;
}
size_t soa_operational_space_size(const soa_model *m, int count) {
    scratch s;
    if (!m || count < 1 || count > 1000000) return 0;
    return scratch_place(m, count, NULL, &s) * sizeof(double);
}

static soa_status check_tasks(const soa_model *m, const soa_task *tasks, int count) {
    if (!tasks || count < 1) return SOA_E_ARGUMENT;
    for (int i = 0; i < count; ++i)
        if (tasks[i].frame < 0 || tasks[i].frame >= m->frames || !soai_is_axes(tasks[i].axes) ||
            tasks[i].rows > 63u)
            return SOA_E_ARGUMENT;
    return SOA_OK;
}

/* How far the computation of a frame's motion reaches: the lengths from its tree's root body to it,
 * added up. */
static double reach(const soa_work *w, const soai_frame_row *row) {
    double sum = sqrt(v3_dot(row->p, row->p));
    for (int i = row->body; i && w->view.body[i].parent; i = w->view.body[i].parent)
        sum += sqrt(v3_dot(w->w.b[i].p, w->w.b[i].p));
    return sum;
}
/* What makes the diagonal of Omega 1 in the mean, over all rows of the frames, angular and linear
 * ones apart.  A linear part that is nothing but rounding errors of the angular one (no joint moves
 * the points) stays small. */
static void scales(const soa_model *m, const soa_work *w, const soa_task *tasks, int count,
                   const double *Omega, double scale[2]) {
    const size_t n = 6 * (size_t)count;
    double mean[2] = {0, 0}, far = 0;
    for (int i = 0; i < count; ++i) {
        const double length = reach(w, SOAI_AT(m, soai_frame_row, frame) + tasks[i].frame);
        if (length > far) far = length;
    }
    for (size_t i = 0; i < n; ++i)
        mean[i % 6 >= 3] += Omega[(n + 1) * i] / (3 * count);
    const double least = mean[0] * (1e-7 * far) * (1e-7 * far);
    if (mean[1] < least) mean[1] = least;
    for (int i = 0; i < 2; ++i)
        scale[i] = mean[i] > 0 ? 1 / sqrt(mean[i]) : 0;
}
static double norm(size_t n, const double *A) {
    double most = 0;
    for (size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (size_t j = 0; j < n; ++j)
            sum += fabs(A[n * i + j]);
        if (sum > most) most = sum;
    }
    return most;
}
/* Lambda of the rows chosen, r x r, through Omega scaled by those two numbers. */
static soa_status invert(const soa_task *tasks, int count, size_t r, const double scale[2],
                         double damping, scratch *s, double *rcond) {
    size_t at = 0;
    for (size_t i = 0; i < 6 * (size_t)count; ++i)
        if (rows_of(tasks + i / 6) >> i % 6 & 1) s->scale[at++] = scale[i % 6 >= 3];
    for (size_t i = 0; i < r; ++i)
        for (size_t j = 0; j < r; ++j)
            s->scaled[r * i + j] = s->scale[i] * s->scale[j] * s->Omega[r * i + j];
    const double size = norm(r, s->scaled);
    *rcond = soai_spd_inverse((int)r, s->scaled, s->factor, s->lambda) * (size < 1 ? size : 1);
    if (*rcond > 1) *rcond = 1;
    if (damping > 0) {
        for (size_t i = 0; i < r; ++i)
            s->scaled[(r + 1) * i] += s->scale[i] > 0 ? damping : 0;
        if (!(soai_spd_inverse((int)r, s->scaled, s->factor, s->lambda) > 0)) return SOA_E_SINGULAR;
    } else if (!(*rcond >= SINGULAR)) {
        return SOA_E_SINGULAR;
    }
    for (size_t i = 0; i < r; ++i)
        for (size_t j = 0; j < r; ++j)
            s->lambda[r * i + j] *= s->scale[i] * s->scale[j];
    return SOA_OK;
}

/* y = M^-1 x, both the caller's; articulated inertias stand. */
static void solve_mass(soa_work *w, const double *x, double *y) {
    const soa_model *m = w->model;
    w->k->minv_mul(&w->view, &w->w, tree_torque(w, x, w->tv), w->tt);
    if (m->nm)
        user_motion(w, w->tt, y);
    else
        memcpy(y, w->tt, (size_t)m->nv * sizeof *y);
}
/* Lambda (J M^-1 tau - drift), tau the torques of v without losses, with gravity or without. */
static soa_status task_force(soa_work *w, const double *q, const double *v, int gravity,
                             const soa_task *tasks, int count, size_t r, const double *drift,
                             scratch *s, double *out) {
    const soa_model *m = w->model;
    soai_view_double view = w->view;
    view.losses = 0;
    if (!gravity) memset(view.gravity, 0, sizeof view.gravity);
    w->k->rnea(&view, &w->w, tree_q(w, q), tree_motion(w, v, w->tv), w->zero, NULL, w->tt);
    if (m->nm)
        user_torque(w, w->tt, s->tau);
    else
        memcpy(s->tau, w->tt, (size_t)m->nv * sizeof(double));
    solve_mass(w, s->tau, s->x);
    for (int i = 0; i < count; ++i) {
        const soa_status st =
            soa_jacobian_mul(m, w, tasks[i].frame, tasks[i].axes, s->x, s->acc + 6 * i);
        if (st) return st;
    }
    choose_rows(tasks, count, 1, s->acc);
    for (size_t i = 0; i < r; ++i) {
        out[i] = 0;
        for (size_t j = 0; j < r; ++j)
            out[i] += s->lambda[r * i + j] * (s->acc[j] - (drift ? drift[j] : 0));
    }
    return SOA_OK;
}

/* J, jbar and N' of the rows chosen, Lambda standing. */
static void motion_side(soa_work *w, const soa_task *tasks, int count, size_t r, scratch *s,
                        const soa_operational *out) {
    const soa_model *m = w->model;
    const size_t nv = (size_t)m->nv;
    for (int i = 0; i < count; ++i)
        soa_jacobian(m, w, tasks[i].frame, tasks[i].axes, s->J + 6 * (size_t)i * nv);
    choose_rows(tasks, count, nv, s->J);
    if (out->jacobian) memcpy(out->jacobian, s->J, r * nv * sizeof(double));
    if (!out->jbar && !out->null) return;
    for (size_t i = 0; i < r; ++i)
        solve_mass(w, s->J + nv * i, s->MJ + nv * i); /* M^-1 J', column by column */
    for (size_t c = 0; c < nv; ++c) {                 /* Lambda times it: jbar', in place */
        for (size_t i = 0; i < r; ++i) {
            s->acc[i] = 0;
            for (size_t j = 0; j < r; ++j)
                s->acc[i] += s->lambda[r * i + j] * s->MJ[nv * j + c];
        }
        for (size_t i = 0; i < r; ++i)
            s->MJ[nv * i + c] = s->acc[i];
        for (size_t i = 0; out->jbar && i < r; ++i)
            out->jbar[r * c + i] = s->acc[i];
    }
    for (size_t a = 0; out->null && a < nv; ++a) {
        double *row = out->null + nv * a;
        for (size_t c = 0; c < nv; ++c)
            row[c] = a == c;
        for (size_t i = 0; i < r; ++i)
            for (size_t c = 0; c < nv; ++c)
                row[c] -= s->J[nv * i + a] * s->MJ[nv * i + c];
    }
}

/* Everything, with kinematics and articulated inertias standing. */
static soa_status operational(soa_work *w, const double *q, const double *v, const soa_task *tasks,
                              int count, double damping, scratch *s, const soa_operational *out,
                              double *rcond) {
    const soa_model *m = w->model;
    const size_t n = 6 * (size_t)count;
    double scale[2], number;
    for (int i = 0; i < count; ++i)
        soa_jacobian_dot_v(m, w, tasks[i].frame, tasks[i].axes, s->drift + 6 * i);
    choose_rows(tasks, count, 1, s->drift);
    soai_task_frames t = {.count = count,
                          .frame = &tasks->frame,
                          .frame_step = sizeof *tasks,
                          .axes = &tasks->axes,
                          .axes_step = sizeof *tasks};
    use_lists(m, w, &t);
    w->k->compliance(&w->view, &w->w, &t, s->Omega);
    scales(m, w, tasks, count, s->Omega, scale);
    const size_t r = choose_rows(tasks, count, n, s->Omega);
    for (size_t i = 0, at = 0; i < r; ++i) /* the same columns */
        for (size_t j = 0; j < n; ++j)
            if (rows_of(tasks + j / 6) >> j % 6 & 1) s->Omega[at++] = s->Omega[n * i + j];
    soa_status st = invert(tasks, count, r, scale, damping, s, &number);
    if (st && rcond) *rcond = number;
    /* what can still fail, by overflow, comes before anything is written */
    if (!st && out->mu) st = task_force(w, q, v, 0, tasks, count, r, s->drift, s, s->mu);
    if (!st && out->p) st = task_force(w, q, NULL, 1, tasks, count, r, NULL, s, s->p);
    if (st) return st;
    if (rcond) *rcond = number;
    if (out->mu) memcpy(out->mu, s->mu, r * sizeof(double));
    if (out->p) memcpy(out->p, s->p, r * sizeof(double));
    if (out->lambda) memcpy(out->lambda, s->lambda, r * r * sizeof(double));
    if (out->jacobian || out->jbar || out->null) motion_side(w, tasks, count, r, s, out);
    return SOA_OK;
}

soa_status soa_operational_space(const soa_model *m, soa_work *w,
                                 const soa_operational_input *input, void *memory, size_t size,
                                 const soa_operational *out, double *rcond) {
    if (!input) return SOA_E_ARGUMENT;
    const double *q = input->q;
    const double *v = input->v;
    const soa_task *tasks = input->tasks;
    int count = input->task_count;
    double damping = input->damping;
    if (!m || !w || w->model != m || !out || !(damping >= 0 && damping <= 1e300))
        return SOA_E_ARGUMENT;
    soa_status st = check_tasks(m, tasks, count);
    if (st) return st;
    const size_t need = soa_operational_space_size(m, count);
    if (!memory || !need || size < need || (uintptr_t)memory % _Alignof(double))
        return SOA_E_MEMORY;
    scratch s;
    scratch_place(m, count, memory, &s);
    if ((st = soa_kinematics(m, w, q, v, NULL))) return st;
    st = articulate(w, NULL);
    if (!st) st = operational(w, q, v, tasks, count, damping, &s, out, rcond);
    soai_work_take(w); /* what stands of them is not of v any more */
    return st;
}
