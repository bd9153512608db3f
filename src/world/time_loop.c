/* time_loop.c  samples, steps, events and energies of a simulation (time_loop.h). */
#include "time_loop.h"
#include "../base/base_internal.h"
#include "joint_friction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Relative: times closer than this are the same. */
static const double same_time = 1e-14;
/* Relative: events closer than this are a crowd. */
static const double crowd_time = 1e-12;
/* Part of the duration: a sample closer than this to the end is taken at the end. */
static const double last_sample = 1e-12;
/* Refinements of an event's time: Newton's method needs two or three. */
enum { ROUNDS = 6 };
/* Most events without progress in time, for each event function. */
enum { CROWD = 10 };

static int reached(double t, double end) {
    return !(end - t > same_time * (1 + fabs(end)));
}

soa_status soai_loop_explain(soai_time_loop *l, soa_status status, int flag, soa_report *report) {
    if (l->mechanism->explain) return l->mechanism->explain(l->user, status, flag, report);
    return soai_stepper_explain(&l->step, l->model, status, flag, report);
}

/* --- functions called by the integrator ------------------------------------------------------- */
soa_status soai_loop_look(soai_time_loop *l, double t, const double *y) {
    const soai_loop_settings *o = &l->settings;
    memcpy(l->q, y, (size_t)l->nq * sizeof *y);
    memset(l->applied, 0, (size_t)l->nv * sizeof *l->applied);
    const soa_status status = soa_q_normalise(l->model, l->q);
    if (status || !o->torque) return status;
    return o->torque(o->torque_user, t, l->q, y + l->nq, l->applied);
}

void soai_loop_joint_power(const soai_time_loop *l, const double *v, double *power) {
    for (int i = 0; i < l->nv; ++i) {
        power[0] += l->applied[i] * v[i];
        power[1] += l->damping[i] * v[i] * v[i];
    }
}

static soa_status rates(soai_time_loop *l, double t, const double *y, double *rate) {
    const soai_mechanism *m = l->mechanism;
    const double *v = y + l->nq;
    double *power = rate + l->nq + l->nv;
    soa_status status = m->accelerate(l->user, t, y);
    if (!status) status = soa_q_rate(l->model, l->q, v, rate);
    if (status) return status;
    memcpy(rate + l->nq, l->qdd, (size_t)l->nv * sizeof *rate);
    memset(power, 0, (size_t)(1 + m->losses) * sizeof *power);
    if (m->power) return m->power(l->user, v, power);
    soai_loop_joint_power(l, v, power);
    return SOA_OK;
}
static int derivative(realtype t, N_Vector y, N_Vector rate, void *user) {
    soai_time_loop *l = user;
    l->step.fault.status = rates(l, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    if (!l->step.fault.status) return 0;
    l->step.fault.body = soa_work_failed_body(l->work);
    soai_fault_judge(&l->step.fault, N_VGetArrayPointer(y), l->nq + l->nv);
    return l->mechanism->shorter_helps(l->step.fault.status) ? 1 : -1;
}
static int after_step(realtype t, N_Vector y, void *user) {
    soai_time_loop *l = user;
    l->step.fault.body = -1;
    l->step.fault.status = l->mechanism->after_step(l->user, t, N_VGetArrayPointer(y));
    return l->step.fault.status ? -1 : 0;
}
static int weights(N_Vector y, N_Vector weight_vector, void *user) {
    const soai_time_loop *l = user;
    double *w = N_VGetArrayPointer(weight_vector);
    l->mechanism->weights(l->user, N_VGetArrayPointer(y), w);
    for (int i = 0; i < l->step.size; ++i)
        if (!(w[i] > 0)) return -1;
    return 0;
}
static int watch(realtype t, N_Vector y, realtype *g, void *user) {
    soai_time_loop *l = user;
    for (int k = 0; k < l->events; ++k)
        g[k] = 1;
    if (!l->step.watching) return 0;
    l->step.fault.status = l->mechanism->watch(l->user, t, N_VGetArrayPointer(y), g);
    return l->step.fault.status ? -1 : 0;
}

/* --- energies and samples --------------------------------------------------------------------- */
static soa_status measure(soai_time_loop *l, int first) {
    const soai_mechanism *m = l->mechanism;
    const double *v = l->step.data + l->nq, *work = v + l->nv;
    soai_energies *e = &l->energy;
    memcpy(l->q, l->step.data, (size_t)l->nq * sizeof *l->q);
    soa_status status = soa_q_normalise(l->model, l->q);
    if (!status && m->energy) {
        status = m->energy(l->user, &e->kinetic, &e->potential);
    } else if (!status) {
        status = soa_energy(l->model, l->work, l->q, v, &e->kinetic, &e->potential);
    }
    if (status) return status;
    if (first) {
        e->kinetic_start = e->kinetic;
        e->potential_start = e->potential;
    }
    const double risen = e->potential - e->potential_start;
    e->supplied = work[0];
    e->dissipated = work[1];
    for (int k = 2; k <= m->losses; ++k)
        e->dissipated += work[k];
    e->balance = (e->kinetic - e->kinetic_start) + risen + e->dissipated - e->supplied;
    e->balance_worst = fmax(e->balance_worst, fabs(e->balance));
    e->energy_scale = fmax(fmax(e->energy_scale, e->kinetic), fabs(risen));
    e->energy_scale = fmax(fmax(e->energy_scale, e->dissipated), fabs(e->supplied));
    m->record(l->user);
    return SOA_OK;
}
static soa_status show_sample(soai_time_loop *l) {
    const soa_status status = l->mechanism->energy_by_step ? SOA_OK : measure(l, 0);
    return status ? status : l->mechanism->show(l->user);
}

/* --- events ----------------------------------------------------------------------------------- */
/* Looks for an event in the last step, which may have ended at one. Returns about when it happened,
 * or NAN; l->step.found says which. */
static double find_event(soai_time_loop *l, int flag) {
    double when = l->step.t_before;
    if (flag == ARK_ROOT_RETURN) {
        ARKStepGetRootInfo(l->step.ark, l->step.found);
        return l->step.t;
    }
    const int which = l->mechanism->overdue ? l->mechanism->overdue(l->user, &when) : -1;
    if (which < 0) return NAN;
    memset(l->step.found, 0, (size_t)l->events * sizeof *l->step.found);
    l->step.found[which] = -1;
    return when;
}

/* Integrates the last step again, to end at an event near `when`. */
static soa_status locate(soai_time_loop *l, double when, int *flag) {
    double limit = l->step.t;
    ARKStepGetCurrentTime(l->step.ark, &limit);
    for (int round = 0; round < ROUNDS; ++round) {
        double better = when;
        if ((*flag = soai_stepper_again(&l->step, when)) != ARK_SUCCESS)
            return l->step.fault.status;
        const soa_status status = l->mechanism->refine(l->user, round, &better);
        if (status) return status;
        const int inside = better > l->step.t_before && better < limit;
        if (!inside || fabs(better - when) <= same_time * (1 + fabs(when))) break;
        when = better;
    }
    return SOA_OK;
}

static soa_status refuse_crowd(soai_time_loop *l, soa_report *report) {
    const double t = l->step.t;
    if (t - l->last_event > crowd_time * (1 + fabs(t))) l->crowd = 0;
    l->last_event = t;
    if (++l->crowd <= CROWD * l->events) return SOA_OK;
    int event = 0;
    while (event < l->events - 1 && !l->step.found[event])
        ++event;
    return l->mechanism->crowded(l->user, event, report);
}

static soa_status pass_event(soai_time_loop *l, double when, soa_report *report) {
    int flag = ARK_SUCCESS;
    soa_status status = locate(l, when, &flag);
    if (!status && flag >= 0) status = l->mechanism->react(l->user);
    if (!status && flag >= 0) flag = ARKStepReset(l->step.ark, l->step.t, l->step.y);
    if (status || flag < 0) return soai_loop_explain(l, status, flag, report);
    return refuse_crowd(l, report);
}

/* --- the whole motion ------------------------------------------------------------------------- */
static soa_status take_step(soai_time_loop *l, double end, int *flag, soa_report *report) {
    const soai_mechanism *m = l->mechanism;
    soai_stepper_mark(&l->step);
    if (m->step) {
        const soa_status status = m->step(l->user, end, flag, report);
        if (status) return status;
    } else {
        *flag = soai_stepper_step(&l->step, end);
    }
    if (*flag < 0) return soai_loop_explain(l, SOA_OK, *flag, report);
    if (++l->steps <= l->settings.max_steps) return SOA_OK;
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "simulation stopped at t = %.9g s: more than %ld steps", l->step.t,
                       l->settings.max_steps);
}

/* Integrates from l->step.t to `end`. */
static soa_status advance(soai_time_loop *l, double end, soa_report *report) {
    const soai_mechanism *m = l->mechanism;
    while (!l->stop && !reached(l->step.t, end)) {
        int flag = ARK_SUCCESS;
        soa_status status = take_step(l, end, &flag, report);
        if (status) return status;
        const double when = find_event(l, flag);
        if (!isnan(when) && (status = pass_event(l, when, report))) return status;
        if (reached(l->step.t, end)) l->step.t = end;
        if (m->energy_by_step) status = measure(l, 0);
        if (status) return soai_loop_explain(l, status, 0, report);
        if (m->check && (status = m->check(l->user, report))) return status;
        if (!(l->settings.sample_time > 0) && (status = show_sample(l)))
            return soai_loop_explain(l, status, 0, report);
    }
    return SOA_OK;
}

/* Integrates from sample to sample, and from change to change. */
static soa_status advance_to_end(soai_time_loop *l, soa_report *report) {
    const soai_loop_settings *o = &l->settings;
    const soai_mechanism *m = l->mechanism;
    const double last = o->start + o->duration;
    soa_status status = SOA_OK;
    for (long k = 1; !l->stop && !reached(l->step.t, last);) {
        double sample = o->sample_time > 0 ? o->start + (double)k * o->sample_time : last;
        double change = INFINITY;
        if (sample > last - last_sample * o->duration) sample = last;
        if (m->change && (status = m->change(l->user, &change, report))) return status;
        const int early = change < sample;
        if ((status = advance(l, early ? change : sample, report))) return status;
        if (early || l->stop) continue;
        ++k;
        if (o->sample_time > 0 && (status = show_sample(l)))
            return soai_loop_explain(l, status, 0, report);
    }
    return SOA_OK;
}

soa_status soai_loop_run(soai_time_loop *l, const double *q, const double *v, soa_report *report) {
    const soai_loop_settings *o = &l->settings;
    const soai_mechanism *m = l->mechanism;
    memcpy(l->step.data, q, (size_t)l->nq * sizeof *q);
    if (v) memcpy(l->step.data + l->nq, v, (size_t)l->nv * sizeof *v);
    l->step.t = o->start;
    soa_status status = m->prepare(l->user, report);
    if (status) return status;
    if ((status = measure(l, 1))) l->step.fault.body = soa_work_failed_body(l->work);
    if (!status) status = m->begin(l->user);
    if (!status) status = m->show(l->user);
    if (status) return soai_loop_explain(l, status, 0, report);
    const soai_step_plan plan = {.rate = derivative,
                                 .after = m->after_step ? after_step : NULL,
                                 .weights = m->weights ? weights : NULL,
                                 .watch = watch,
                                 .events = l->events,
                                 .order = o->order,
                                 .relative = o->relative,
                                 .absolute = o->absolute,
                                 .max_step = o->max_step};
    const int flag = soai_stepper_start(&l->step, &plan, l);
    if (flag != ARK_SUCCESS) return soai_loop_explain(l, SOA_OK, flag, report);
    return advance_to_end(l, report);
}

soa_status soai_loop_check(const soai_loop_settings *o, soa_report *report) {
    const soa_status status = soai_check_span(o->start, o->duration, o->sample_time, report);
    if (status) return status;
    return soai_check_steps(o->relative, o->absolute, o->order, o->max_step, report);
}

soa_status soai_loop_open(soai_time_loop *l, const soai_mechanism *mechanism, void *user,
                          const soa_model *model, const soai_loop_settings *settings) {
    *l = (soai_time_loop){.mechanism = mechanism,
                          .user = user,
                          .model = model,
                          .settings = *settings,
                          .nq = soa_model_nq(model),
                          .nv = soa_model_nv(model),
                          .last_event = -INFINITY,
                          .opened = soai_seconds()};
    const size_t nq = (size_t)l->nq, nv = (size_t)l->nv;
    l->numbers = calloc(3 * nv + nq + 1, sizeof *l->numbers);
    if (!l->numbers) return SOA_E_MEMORY;
    l->qdd = l->numbers;
    l->applied = l->qdd + nv;
    l->damping = l->applied + nv;
    l->q = l->damping + nv;
    soai_losses(model, l->damping, NULL, NULL);
    const soa_status status = soa_work_create(model, &l->work);
    return status ? status : soai_stepper_open(&l->step, l->nq + l->nv + 1 + mechanism->losses);
}

void soai_loop_close(soai_time_loop *l, long *rejected, double *wall_time) {
    soai_stepper_close(&l->step, rejected);
    soa_work_free(l->work);
    free(l->numbers);
    *wall_time = soai_seconds() - l->opened;
}
