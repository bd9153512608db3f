/* grasp_simulate.c  arms that hold an object, in time: friction cones as events, contacts that close and let go.
 *
 * state    y = [q, v, supplied, dissipated], as in closed_simulate.c
 * step     ARKODE's, of vdot by soa_grasp_fd; the contacts' constraints (soa_grasp_constraint) project q and v after it
 * events   the margin of each one-sided contact falls through zero (RK88-II appendix A).  ARKODE's root finder sees
 *          it on its interpolant, the step is taken again to end there, and the time refined by secants of the margin
 * changes  end a step: a contact that closes changes v by the impulse of soa_grasp_close                             */
#include "../base/base_internal.h"
#include "erk_table.h"
#include "losses.h"
#include "soa/world.h"

#include <arkode/arkode_arkstep.h>
#include <nvector/nvector_serial.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CONTACTS = 2000 }; /* as soa_grasp_size */

typedef struct contact {
    int number;        /* in the grasp */
    int constraint[2]; /* or -1 */
    int one_sided, ignored;
} contact;

typedef struct sim {
    soa_grasp *grasp;
    const soa_model *model;
    const soa_grasp_sim_options *options;
    soa_work *work;
    soa_constraints *constraints;
    int nq, nv, count; /* count: contacts, on or off */
    contact *list;
    double *damping, *tau, *qdd, *q, *force, *margin, *y_before;
    soa_contact_check *checks;
    double *numbers;

    SUNContext context;
    N_Vector y;
    void *ark;
    double *data; /* of y */
    double t, t_before;
    int watching, *found;
    double error[2];
    soa_status status;
    int body;
    char message[160];
    soa_grasp_sim_result *result;
} sim;

soa_grasp_sim_options soa_grasp_sim_default(void) {
    soa_grasp_sim_options o = {.duration = 1,
                               .relative_tolerance = 1e-8,
                               .absolute_tolerance = 1e-10,
                               .order = 5,
                               .max_steps = 10000000,
                               .grasp = soa_grasp_default()};
    o.grasp.rank_tolerance = 1e-10, o.grasp.consistency = 1e-2;
    return o;
}

/* --- what the integrator calls ------------------------------------------------------------------------------------ */
/* vdot and contact forces at (t, y). */
static soa_status evaluate(sim *s, double t, const double *y) {
    const double *v = y + s->nq;
    memcpy(s->q, y, (size_t)s->nq * sizeof *y);
    memset(s->tau, 0, (size_t)s->nv * sizeof *s->tau);
    soa_status status = soa_normalize(s->model, s->q);
    if (!status && s->options->torque) status = s->options->torque(s->options->torque_user, t, s->q, v, s->tau);
    ++s->result->evaluations;
    if (!status)
        status =
            soa_grasp_fd(s->grasp, s->work, &s->options->grasp, s->q, v, s->tau, NULL, 0, s->qdd, s->force, NULL, NULL);
    if (status) s->body = soa_work_body(s->work);
    return status;
}
static int derivative(realtype t, N_Vector y_vector, N_Vector rate_vector, void *user) {
    sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector), *v = y + s->nq;
    double *rate = N_VGetArrayPointer(rate_vector), *energy = rate + s->nq + s->nv;
    s->status = evaluate(s, t, y);
    if (!s->status) s->status = soa_q_rate(s->model, s->q, v, rate);
    if (s->status) return s->status == SOA_E_ARGUMENT ? -1 : 1; /* 1: a shorter step may do */
    memcpy(rate + s->nq, s->qdd, (size_t)s->nv * sizeof *rate);
    energy[0] = energy[1] = 0;
    for (int i = 0; i < s->nv; ++i) energy[0] += s->tau[i] * v[i], energy[1] += s->damping[i] * v[i] * v[i];
    return 0;
}
static int after_step(realtype t, N_Vector y_vector, void *user) {
    sim *s = user;
    double *y = N_VGetArrayPointer(y_vector);
    s->body = -1;
    ++s->result->projections;
    s->status = soa_normalize(s->model, y);
    if (!s->status) s->status = soa_closed_project(s->constraints, s->work, t, y, y + s->nq, s->error);
    s->result->position_error = fmax(s->result->position_error, s->error[0]);
    s->result->rate_error = fmax(s->result->rate_error, s->error[1]);
    return s->status ? -1 : 0;
}
/* Margins of all contacts at (t, y): 1 for those that cannot end. */
static soa_status margins(sim *s, double t, const double *y) {
    soa_status status = evaluate(s, t, y);
    if (!status) status = soa_grasp_check(s->grasp, s->work, s->q, s->force, s->checks, NULL);
    for (int i = 0; i < s->count && !status; ++i) {
        int index = -1;
        s->margin[i] = 1;
        if (soa_grasp_span(s->grasp, s->list[i].number, &index, NULL, NULL) || index < 0) continue;
        if (s->list[i].one_sided && !s->list[i].ignored && isfinite(s->checks[index].margin))
            s->margin[i] = s->checks[index].margin;
    }
    return status;
}
static int watch(realtype t, N_Vector y, realtype *g, void *user) {
    sim *s = user;
    for (int i = 0; i < s->count; ++i) g[i] = 1;
    if (!s->watching) return 0;
    if ((s->status = margins(s, t, N_VGetArrayPointer(y)))) return -1;
    memcpy(g, s->margin, (size_t)s->count * sizeof *g);
    return 0;
}
static void keep_message(int code, const char *module, const char *function, char *message, void *user) {
    sim *s = user;
    (void)module, (void)function;
    if (code < 0) snprintf(s->message, sizeof s->message, "%s", message);
}

/* --- events and changes ------------------------------------------------------------------------------------------- */
static soa_status explain(sim *s, soa_status status, int flag, soa_report *report) {
    if (!status && flag >= 0) return SOA_OK;
    if (!status) status = s->status;
    if (!status) status = flag == ARK_MEM_FAIL ? SOA_E_MEMORY : SOA_E_NO_CONVERGENCE;
    soa_body_info info;
    if (s->body > 0 && !soa_body(s->model, s->body, &info))
        return soai_report(report, status, s->body, 0, "simulation stopped at t = %.9g s, link %.60s: %s", s->t,
                           info.link, soa_status_text(status));
    return soai_report(report, status, -1, 0, "simulation stopped at t = %.9g s: %s%s%s", s->t, soa_status_text(status),
                       s->message[0] ? "; " : "", s->message);
}
static void turn(sim *s, int i, int on) {
    soa_grasp_switch(s->grasp, s->list[i].number, on);
    for (int k = 0; k < 2; ++k)
        if (s->list[i].constraint[k] >= 0) soa_constraint_switch(s->constraints, s->list[i].constraint[k], on);
}
/* Which bound is nearest: where a margin is just zero, the check may still say that the contact holds. */
static soa_contact_event nearest(const soa_contact_def *d, const soa_contact_check *c) {
    const double across = c->tangential > 0 ? c->tangential / d->friction : 0;
    const double about = c->torsion != 0 ? fabs(c->torsion) / d->torsion : 0;
    const double grip = hypot(across, about), tip = c->tilt > 0 ? c->tilt / d->patch : 0;
    return grip > 0 && grip >= tip ? SOA_CONTACT_SLIPS : tip > 0 ? SOA_CONTACT_TIPS : SOA_CONTACT_BREAKS;
}
/* The caller answers for contact i, whose check stands. */
static void ask(sim *s, int i, int *stop) {
    int index = -1;
    soa_contact_def def;
    soa_grasp_sim_result *r = s->result;
    soa_grasp_span(s->grasp, s->list[i].number, &index, NULL, NULL);
    if (!soa_grasp_get(s->grasp, s->list[i].number, &def) && s->checks[index].event == SOA_CONTACT_HOLDS)
        s->checks[index].event = nearest(&def, s->checks + index);
    const soa_grasp_event event = {s->t, s->list[i].number, s->checks + index, s->q, s->data + s->nq};
    const soa_grasp_answer answer =
        s->options->event ? s->options->event(s->options->event_user, &event) : SOA_GRASP_STOP;
    ++r->events;
    r->last = event, r->last.check = NULL, r->last.q = r->last.v = NULL;
    r->last_event = s->checks[index].event;
    if (answer == SOA_GRASP_RELEASE)
        turn(s, i, 0), ++r->releases;
    else if (answer == SOA_GRASP_IGNORE)
        s->list[i].ignored = 1;
    else
        *stop = r->stopped = 1;
}
/* Contacts whose margin is gone where we stand, the worst first; `first`: one that is just there, or -1. */
static soa_status settle(sim *s, int first, int *stop) {
    while (!*stop) {
        soa_status status = margins(s, s->t, s->data);
        if (status) return status;
        int worst = first;
        for (int i = 0; i < s->count && first < 0; ++i)
            if (s->margin[i] < 0 && (worst < 0 || s->margin[i] < s->margin[worst])) worst = i;
        if (worst < 0) return SOA_OK;
        ask(s, worst, stop);
        first = -1;
    }
    return SOA_OK;
}
/* From the last good state to `end`, with no events. */
static int replay(sim *s, double end) {
    memcpy(s->data, s->y_before, (size_t)(s->nq + s->nv + 2) * sizeof *s->data);
    s->t = s->t_before;
    int flag = ARKStepReset(s->ark, s->t, s->y);
    if (flag != ARK_SUCCESS || end - s->t <= 1e-14 * (1 + fabs(end))) return flag;
    s->watching = 0;
    flag = ARKStepSetStopTime(s->ark, end);
    while (flag == ARK_SUCCESS && s->t < end) flag = ARKStepEvolve(s->ark, end, s->y, &s->t, ARK_ONE_STEP);
    s->watching = 1;
    return flag == ARK_TSTOP_RETURN ? ARK_SUCCESS : flag;
}
static soa_status event(sim *s, double when, double reached, int *flag, int *stop) {
    int first = -1;
    double t0 = s->t_before, m0;
    for (int i = 0; i < s->count && first < 0; ++i)
        if (s->found[i]) first = i;
    soa_status status = margins(s, t0, s->y_before);
    if (status) return status;
    m0 = s->margin[first];
    for (int round = 0; round < 5; ++round) {
        if ((*flag = replay(s, when)) != ARK_SUCCESS) return s->status;
        if ((status = margins(s, s->t, s->data))) return status;
        const double m1 = s->margin[first], better = when - m1 * (when - t0) / (m1 - m0);
        if (!(better > s->t_before && better < reached) || fabs(better - when) <= 1e-14 * (1 + fabs(when))) break;
        t0 = when, m0 = m1, when = better;
    }
    status = settle(s, first, stop);
    if (!status) *flag = ARKStepReset(s->ark, s->t, s->y);
    return status;
}
/* A contact on or off, now. */
static soa_status change(sim *s, const soa_grasp_change *c, soa_report *report) {
    double *v = s->data + s->nq, before, after, potential;
    int i = 0, index = -1;
    while (i < s->count && s->list[i].number != c->contact) ++i;
    soa_grasp_span(s->grasp, c->contact, &index, NULL, NULL);
    if ((index >= 0) == (c->on != 0)) return SOA_OK;
    s->list[i].ignored = 0;
    if (!c->on) {
        turn(s, i, 0), ++s->result->releases;
        return SOA_OK;
    }
    soa_contact_motion motion;
    soa_status status = soa_normalize(s->model, s->data);
    if (!status) status = soa_grasp_motion(s->grasp, s->work, s->data, v, c->contact, &motion);
    if (status) return explain(s, status, 0, report);
    if (!(motion.gap <= 1e-3))
        return soai_report(report, SOA_E_INCONSISTENT, -1, 0,
                           "contact %d is to close at t = %.9g s, but is open by %.3g (m or rad)", c->contact, s->t,
                           motion.gap);
    turn(s, i, 1);
    status = soa_closed_project(s->constraints, s->work, s->t, s->data, NULL, s->error);
    if (!status) status = soa_energy(s->model, s->work, s->data, v, &before, &potential);
    if (!status) status = soa_grasp_close(s->grasp, s->work, s->data, v, v, NULL);
    if (!status) status = soa_energy(s->model, s->work, s->data, v, &after, &potential);
    if (status) return explain(s, status, 0, report);
    v[s->nv + 1] += before - after, s->result->lost += before - after;
    ++s->result->closures;
    return SOA_OK;
}

/* --- the whole motion --------------------------------------------------------------------------------------------- */
static soa_status show(sim *s, int first) {
    soa_grasp_sim_result *r = s->result;
    const double *v = s->data + s->nq, *energy = v + s->nv;
    memcpy(s->q, s->data, (size_t)s->nq * sizeof *s->q);
    soa_status status = soa_normalize(s->model, s->q);
    if (!status) status = soa_energy(s->model, s->work, s->q, v, &r->kinetic, &r->potential);
    if (status) return status;
    r->t = s->t;
    if (first) r->kinetic_start = r->kinetic, r->potential_start = r->potential;
    r->supplied = energy[0], r->dissipated = energy[1];
    r->balance = (r->kinetic - r->kinetic_start) + (r->potential - r->potential_start) + r->dissipated - r->supplied;
    r->balance_worst = fmax(r->balance_worst, fabs(r->balance));
    r->energy_scale = fmax(fmax(r->energy_scale, r->kinetic), fabs(r->potential - r->potential_start));
    r->energy_scale = fmax(fmax(r->energy_scale, r->dissipated), fabs(r->supplied));
    return SOA_OK;
}
static soa_status tell(sim *s, int *stop) {
    soa_grasp_sim_result *r = s->result;
    const soa_status status = margins(s, s->t, s->data);
    if (status) return status;
    const int contacts = soa_grasp_contacts(s->grasp, NULL);
    for (int i = 0; i < contacts; ++i)
        if (s->checks[i].margin < r->margin_least) r->margin_least = s->checks[i].margin;
    if (!s->options->sample) return SOA_OK;
    const soa_grasp_sample sample = {s->t,        s->q,          s->data + s->nq, r->kinetic, r->potential,
                                     r->supplied, r->dissipated, r->balance,      contacts,   s->force,
                                     s->checks,   s->error[0],   s->error[1]};
    if (s->options->sample(s->options->sample_user, &sample)) *stop = r->stopped = 1;
    return SOA_OK;
}

/* From s->t to `end`. */
static soa_status advance(sim *s, double end, int *stop, soa_report *report) {
    while (!*stop && end - s->t > 1e-14 * (1 + fabs(end))) {
        memcpy(s->y_before, s->data, (size_t)(s->nq + s->nv + 2) * sizeof *s->data);
        s->t_before = s->t;
        int flag = ARKStepSetStopTime(s->ark, end);
        if (flag == ARK_SUCCESS) flag = ARKStepEvolve(s->ark, end, s->y, &s->t, ARK_ONE_STEP);
        if (flag < 0) return explain(s, SOA_OK, flag, report);
        if (++s->result->steps > s->options->max_steps)
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "simulation stopped at t = %.9g s: more than %ld steps", s->t, s->options->max_steps);
        soa_status status = SOA_OK;
        if (flag == ARK_ROOT_RETURN) {
            double reached = s->t;
            ARKStepGetRootInfo(s->ark, s->found);
            ARKStepGetCurrentTime(s->ark, &reached);
            status = event(s, s->t, reached, &flag, stop);
            if (status || flag < 0) return explain(s, status, flag, report);
        }
        if (end - s->t <= 1e-14 * (1 + fabs(end))) s->t = end;
        if ((status = show(s, 0))) return explain(s, status, 0, report);
        if (!(s->options->sample_time > 0) && (status = tell(s, stop))) return explain(s, status, 0, report);
    }
    return SOA_OK;
}

static int start_integrator(sim *s) {
    const soa_grasp_sim_options *o = s->options;
    int flag;
    s->ark = ARKStepCreate(derivative, NULL, s->t, s->y, s->context);
    if (!s->ark) return ARK_MEM_FAIL;
    if ((flag = ARKStepSetErrHandlerFn(s->ark, keep_message, s)) || (flag = ARKStepSetUserData(s->ark, s)) ||
        (flag = ARKStepSetTableNum(s->ark, ARKODE_DIRK_NONE, soai_erk_table(o->order))) ||
        (flag = ARKStepSStolerances(s->ark, o->relative_tolerance, o->absolute_tolerance)) ||
        (flag = ARKStepSetPostprocessStepFn(s->ark, after_step)))
        return flag;
    if (o->max_step > 0 && (flag = ARKStepSetMaxStep(s->ark, o->max_step))) return flag;
    if (!s->count) return ARK_SUCCESS;
    for (int i = 0; i < s->count; ++i) s->found[i] = -1;
    if ((flag = ARKStepRootInit(s->ark, s->count, watch)) || (flag = ARKStepSetRootDirection(s->ark, s->found)))
        return flag;
    return ARKStepSetNoInactiveRootWarn(s->ark);
}

/* Contacts as constraints for the projection; damping of the joints. */
static soa_status survey(sim *s, soa_report *report) {
    soa_body_info info;
    soai_losses(s->model, s->damping, NULL, NULL);
    soa_constraint_capacity room = {2 * s->count, 6 * s->count, 0};
    for (int b = 1; b <= soa_body_count(s->model); ++b) {
        if (soa_body(s->model, b, &info)) continue;
        if (info.friction_positive > 0 || info.friction_negative > 0)
            return soai_report(report, SOA_E_ARGUMENT, b, 0,
                               "joint %.60s has Coulomb friction; sticking is not modelled with grasps", info.joint);
    }
    soa_status status = soa_constraints_create(s->model, &room, &s->constraints);
    if (status) return soai_report(report, status, -1, 0, "%s", soa_status_text(status));
    for (int i = 0; i < s->count; ++i) {
        soa_constraint_def defs[2];
        soa_contact_def def;
        int count = 0, index = -1;
        contact *c = s->list + i;
        c->constraint[0] = c->constraint[1] = -1;
        soa_grasp_get(s->grasp, c->number, &def);
        c->one_sided = def.one_sided;
        status = soa_grasp_constraint(s->grasp, c->number, defs, &count);
        soa_grasp_span(s->grasp, c->number, &index, NULL, NULL);
        for (int k = 0; k < count && !status; ++k) {
            status = soa_constraint_add(s->constraints, defs + k, &c->constraint[k], report);
            if (!status) soa_constraint_switch(s->constraints, c->constraint[k], index >= 0);
        }
        if (status) return status;
    }
    const soa_grasp_sim_options *o = s->options;
    for (int k = 0; k < o->change_count; ++k) {
        int i = 0;
        while (i < s->count && s->list[i].number != o->changes[k].contact) ++i;
        if (i == s->count || !(fabs(o->changes[k].t) <= 1e9) || (k && o->changes[k].t < o->changes[k - 1].t))
            return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                               "change %d: contact %d at %g s: no such contact, or not in order of time", k,
                               o->changes[k].contact, o->changes[k].t);
    }
    return SOA_OK;
}

static soa_status run(sim *s, const double *q, const double *v, soa_report *report) {
    const soa_grasp_sim_options *o = s->options;
    int stop = 0, next = 0;
    soa_status status = survey(s, report);
    if (status) return status;
    memcpy(s->data, q, (size_t)s->nq * sizeof *q);
    if (v) memcpy(s->data + s->nq, v, (size_t)s->nv * sizeof *v);
    s->t = o->start;
    status = soa_kinematics(s->model, s->work, q, v, NULL);
    if (status) {
        s->body = soa_work_body(s->work);
        return explain(s, status, 0, report);
    }
    for (int i = 0; i < s->count; ++i) {
        soa_contact_motion motion;
        int index = -1;
        soa_grasp_span(s->grasp, s->list[i].number, &index, NULL, NULL);
        status = soa_grasp_motion(s->grasp, s->work, q, v, s->list[i].number, &motion);
        if (status) return explain(s, status, 0, report);
        if (index >= 0 && !(motion.gap <= 1e-3))
            return soai_report(report, SOA_E_INCONSISTENT, -1, 0, "contact %d is open by %.3g (m or rad) at the start",
                               s->list[i].number, motion.gap);
    }
    status = soa_closed_project(s->constraints, s->work, s->t, s->data, s->data + s->nq, s->error);
    if (!status) status = show(s, 1);
    if (!status) status = settle(s, -1, &stop);
    if (!status) status = tell(s, &stop);
    if (status) return explain(s, status, 0, report);
    s->watching = 1;
    const int flag = start_integrator(s);
    if (flag != ARK_SUCCESS) return explain(s, SOA_OK, flag, report);
    const double last = o->start + o->duration;
    for (long k = 1; !stop && last - s->t > 1e-14 * (1 + fabs(last));) {
        double sample = o->sample_time > 0 ? o->start + (double)k * o->sample_time : last;
        if (sample > last - 1e-12 * o->duration) sample = last;
        int changed = 0;
        while (next < o->change_count && o->changes[next].t <= s->t + 1e-12 * (1 + fabs(s->t)) && !status)
            status = change(s, o->changes + next++, report), changed = 1;
        if (status) return status;
        if (changed && (status = settle(s, -1, &stop))) return explain(s, status, 0, report);
        if (changed && ARKStepReset(s->ark, s->t, s->y) != ARK_SUCCESS)
            return explain(s, SOA_E_NO_CONVERGENCE, 0, report);
        const int first = next < o->change_count && o->changes[next].t < sample;
        if ((status = advance(s, first ? o->changes[next].t : sample, &stop, report))) return status;
        if (first || stop) continue;
        ++k;
        if (o->sample_time > 0 && (status = tell(s, &stop))) return explain(s, status, 0, report);
    }
    return SOA_OK;
}

static soa_status check(const soa_grasp_sim_options *o, soa_report *report) {
#define REFUSE(...) return soai_report(report, SOA_E_ARGUMENT, -1, 0, __VA_ARGS__)
    if (!(fabs(o->start) <= 1e9)) REFUSE("start is %g s", o->start);
    if (!(o->duration >= 0 && o->duration <= 1e9)) REFUSE("duration is %g s; it must be from 0 to 1e9", o->duration);
    if (!(o->sample_time >= 0) || (o->sample_time > 0 && !(o->sample_time * 1e9 >= o->duration)))
        REFUSE("sample_time is %g s; it must be 0, or positive with at most 1e9 samples", o->sample_time);
    if (!(o->relative_tolerance >= 1e-15 && o->relative_tolerance < 1))
        REFUSE("relative_tolerance is %g; it must be from 1e-15 to 1", o->relative_tolerance);
    if (!(o->absolute_tolerance > 0 && o->absolute_tolerance < 1))
        REFUSE("absolute_tolerance is %g; it must be between 0 and 1", o->absolute_tolerance);
    if (soai_erk_table(o->order) == ARKODE_ERK_NONE) REFUSE("order is %d; it must be 2, 3, 4, 5, 6 or 8", o->order);
    if (!(o->max_step >= 0)) REFUSE("max_step is %g s", o->max_step);
    if (o->change_count < 0 || (o->change_count && !o->changes)) REFUSE("%d changes, but none given", o->change_count);
#undef REFUSE
    return SOA_OK;
}

soa_status soa_grasp_simulate(soa_grasp *grasp, double *q, double *v, const soa_grasp_sim_options *options,
                              soa_grasp_sim_result *result, soa_report *report) {
    const soa_grasp_sim_options plain = soa_grasp_sim_default();
    if (!options) options = &plain;
    if (!grasp || !q || !result)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "soa_grasp_simulate: grasp, q and result are needed");
    soa_status status = check(options, report);
    if (status) return status;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    memset(result, 0, sizeof *result);
    result->margin_least = INFINITY, result->last.contact = -1;
    const soa_model *model = soa_grasp_model(grasp);
    sim s = {.grasp = grasp,
             .model = model,
             .options = options,
             .nq = soa_nq(model),
             .nv = soa_nv(model),
             .result = result,
             .body = -1};
    for (int i = 0; i < MOST_CONTACTS; ++i) s.count += !soa_grasp_get(grasp, i, NULL);
    const size_t nq = (size_t)s.nq, nv = (size_t)s.nv, n = (size_t)s.count;
    s.list = calloc(n + 1, sizeof *s.list), s.found = calloc(n + 1, sizeof *s.found);
    s.checks = calloc(n + 1, sizeof *s.checks);
    s.numbers = calloc(4 * nv + 2 * nq + 7 * n + 4, sizeof *s.numbers);
    if (!s.list || !s.found || !s.checks || !s.numbers) status = SOA_E_MEMORY;
    if (!status) {
        s.damping = s.numbers, s.tau = s.damping + nv, s.qdd = s.tau + nv, s.force = s.qdd + nv;
        s.margin = s.force + 6 * n, s.q = s.margin + n, s.y_before = s.q + nq;
        for (int i = 0, k = 0; i < MOST_CONTACTS; ++i)
            if (!soa_grasp_get(grasp, i, NULL)) s.list[k++].number = i;
        status = soa_work_create(model, &s.work);
    }
    if (!status && SUNContext_Create(NULL, &s.context)) status = SOA_E_MEMORY;
    if (!status && !(s.y = N_VNew_Serial((sunindextype)(nq + nv + 2), s.context))) status = SOA_E_MEMORY;
    if (status) {
        soai_report(report, status, -1, 0, "soa_grasp_simulate: %s", soa_status_text(status));
    } else {
        s.data = N_VGetArrayPointer(s.y);
        N_VConst(0, s.y);
        status = run(&s, q, v, report);
        if (!status) {
            memcpy(q, s.data, nq * sizeof *q);
            if (v) memcpy(v, s.data + nq, nv * sizeof *v);
        }
    }
    if (s.ark) {
        ARKStepGetNumErrTestFails(s.ark, &result->rejected);
        ARKStepFree(&s.ark);
    }
    if (s.y) N_VDestroy(s.y);
    if (s.context) SUNContext_Free(&s.context);
    soa_constraints_free(s.constraints);
    soa_work_free(s.work);
    free(s.list), free(s.found), free(s.checks), free(s.numbers);
    clock_gettime(CLOCK_MONOTONIC, &end);
    result->wall_time = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    return status;
}
