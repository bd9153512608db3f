/* grasp_simulate.c  time integration of arms that hold an object: friction cones as events,
 * contacts that close and open.
 *
 * state    y = [q, v, supplied, dissipated], as in closed_simulate.c.
 * step     ARKODE's, with vdot from soa_grasp_fd. Afterwards the constraints of the contacts
 *          (soa_grasp_contact_constraints) project q and v.
 * events   The margin of a one-sided contact falls through zero (RK88-II appendix A). ARKODE's root
 *          finder sees it on its interpolant, the step is repeated to end there, and the time is
 *          refined by secants of the margin.
 * changes  end a step. A contact that closes changes v by the impulse of soa_grasp_impulse. */
#include "../base/base_internal.h"
#include "joint_friction.h"
#include "stepper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTACTS = 2000 }; /* as in soa_grasp_size */

typedef struct contact {
    int number;        /* number in the grasp */
    int constraint[2]; /* -1: none */
    int one_sided, ignored;
} contact;

typedef struct sim {
    soa_grasp *grasp;
    const soa_model *model;
    const soa_grasp_sim_options *options;
    soa_work *work;
    soa_constraints *constraints;
    int nq, nv, count; /* count: all contacts, on or off */
    contact *list;
    double *damping, *tau, *qdd, *q, *force, *margin;
    soa_contact_check *checks;
    double *numbers;

    soai_stepper step; /* y = [q, v, supplied, dissipated] */
    double error[2];
    soa_grasp_sim_result *result;
} sim;

soa_grasp_sim_options soa_grasp_sim_options_default(void) {
    soa_grasp_sim_options o = {.duration = 1,
                               .relative_tolerance = 1e-8,
                               .absolute_tolerance = 1e-10,
                               .order = 5,
                               .max_steps = 10000000,
                               .grasp = soa_grasp_options_default()};
    o.grasp.rank_tolerance = 1e-10;
    o.grasp.consistency = 1e-2;
    return o;
}

/* --- functions called by the integrator ------------------------------------------------------- */
/* Computes vdot and the contact forces at (t, y). */
static soa_status evaluate(sim *s, double t, const double *y) {
    const double *v = y + s->nq;
    memcpy(s->q, y, (size_t)s->nq * sizeof *y);
    memset(s->tau, 0, (size_t)s->nv * sizeof *s->tau);
    soa_status status = soa_q_normalise(s->model, s->q);
    if (!status && s->options->torque)
        status = s->options->torque(s->options->torque_user, t, s->q, v, s->tau);
    ++s->result->evaluations;
    if (!status)
        status = soa_grasp_fd(s->grasp, s->work, &s->options->grasp,
                              &(soa_input){.q = s->q, .v = v, .tau = s->tau}, s->qdd, s->force,
                              NULL, NULL);
    if (status) s->step.body = soa_work_failed_body(s->work);
    return status;
}
static int derivative(realtype t, N_Vector y_vector, N_Vector rate_vector, void *user) {
    sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector), *v = y + s->nq;
    double *rate = N_VGetArrayPointer(rate_vector), *energy = rate + s->nq + s->nv;
    s->step.status = evaluate(s, t, y);
    if (!s->step.status) s->step.status = soa_q_rate(s->model, s->q, v, rate);
    /* 1: a shorter step may succeed. */
    if (s->step.status) return s->step.status == SOA_E_ARGUMENT ? -1 : 1;
    memcpy(rate + s->nq, s->qdd, (size_t)s->nv * sizeof *rate);
    energy[0] = energy[1] = 0;
    for (int i = 0; i < s->nv; ++i) {
        energy[0] += s->tau[i] * v[i];
        energy[1] += s->damping[i] * v[i] * v[i];
    }
    return 0;
}
static int after_step(realtype t, N_Vector y_vector, void *user) {
    sim *s = user;
    double *y = N_VGetArrayPointer(y_vector);
    s->step.body = -1;
    ++s->result->projections;
    s->step.status = soa_q_normalise(s->model, y);
    if (!s->step.status)
        s->step.status = soa_closed_project(s->constraints, s->work, t, y, y + s->nq, s->error);
    s->result->position_error = fmax(s->result->position_error, s->error[0]);
    s->result->rate_error = fmax(s->result->rate_error, s->error[1]);
    return s->step.status ? -1 : 0;
}
/* Margins of all contacts at (t, y); 1 for those that cannot open. */
static soa_status margins(sim *s, double t, const double *y) {
    soa_status status = evaluate(s, t, y);
    if (!status)
        status = soa_grasp_check_contacts(s->grasp, s->work, s->q, s->force, s->checks, NULL);
    for (int i = 0; i < s->count && !status; ++i) {
        int index = -1;
        s->margin[i] = 1;
        if (soa_grasp_contact_range(s->grasp, s->list[i].number, &index, NULL, NULL) || index < 0)
            continue;
        if (s->list[i].one_sided && !s->list[i].ignored && isfinite(s->checks[index].margin))
            s->margin[i] = s->checks[index].margin;
    }
    return status;
}
static int watch(realtype t, N_Vector y, realtype *g, void *user) {
    sim *s = user;
    for (int i = 0; i < s->count; ++i)
        g[i] = 1;
    if (!s->step.watching) return 0;
    if ((s->step.status = margins(s, t, N_VGetArrayPointer(y)))) return -1;
    memcpy(g, s->margin, (size_t)s->count * sizeof *g);
    return 0;
}
/* --- events and changes ----------------------------------------------------------------------- */
static soa_status explain(sim *s, soa_status status, int flag, soa_report *report) {
    return soai_stepper_explain(&s->step, s->model, status, flag, report);
}
static void turn(sim *s, int i, int on) {
    soa_grasp_switch(s->grasp, s->list[i].number, on);
    for (int k = 0; k < 2; ++k)
        if (s->list[i].constraint[k] >= 0)
            soa_constraints_switch(s->constraints, s->list[i].constraint[k], on);
}
/* The nearest bound: when a margin is exactly zero, the check may still report that the contact
 * holds. */
static soa_contact_event nearest(const soa_contact_def *d, const soa_contact_check *c) {
    const double across = c->tangential > 0 ? c->tangential / d->friction : 0;
    const double about = c->torsion != 0 ? fabs(c->torsion) / d->torsion : 0;
    const double grip = hypot(across, about), tip = c->tilt > 0 ? c->tilt / d->patch : 0;
    if (grip > 0 && grip >= tip) return SOA_CONTACT_SLIPS;
    if (tip > 0) return SOA_CONTACT_TIPS;
    return SOA_CONTACT_BREAKS;
}
/* Asks the caller what to do about contact i, whose check is up to date. */
static void ask(sim *s, int i, int *stop) {
    int index = -1;
    soa_contact_def def;
    soa_grasp_sim_result *r = s->result;
    soa_grasp_contact_range(s->grasp, s->list[i].number, &index, NULL, NULL);
    if (!soa_grasp_get_contact(s->grasp, s->list[i].number, &def) &&
        s->checks[index].event == SOA_CONTACT_HOLDS)
        s->checks[index].event = nearest(&def, s->checks + index);
    const soa_grasp_event event = {s->step.t, s->list[i].number, s->checks + index, s->q,
                                   s->step.data + s->nq};
    const soa_grasp_answer answer =
        s->options->event ? s->options->event(s->options->event_user, &event) : SOA_GRASP_STOP;
    ++r->events;
    r->last = event;
    r->last.check = NULL;
    r->last.q = r->last.v = NULL;
    r->last_event = s->checks[index].event;
    if (answer == SOA_GRASP_RELEASE) {
        turn(s, i, 0);
        ++r->releases;
    } else if (answer == SOA_GRASP_IGNORE) {
        s->list[i].ignored = 1;
    } else {
        *stop = r->stopped = 1;
    }
}
/* Handles the contacts whose margin is used up at the present state, the worst first. `first`: one
 * that has just reached zero, or -1. */
static soa_status settle(sim *s, int first, int *stop) {
    while (!*stop) {
        soa_status status = margins(s, s->step.t, s->step.data);
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
static soa_status event(sim *s, double when, double reached, int *flag, int *stop) {
    int first = -1;
    double t0 = s->step.t_before, m0;
    for (int i = 0; i < s->count && first < 0; ++i)
        if (s->step.found[i]) first = i;
    soa_status status = margins(s, t0, s->step.before);
    if (status) return status;
    m0 = s->margin[first];
    for (int round = 0; round < 5; ++round) {
        if ((*flag = soai_stepper_again(&s->step, when)) != ARK_SUCCESS) return s->step.status;
        if ((status = margins(s, s->step.t, s->step.data))) return status;
        const double m1 = s->margin[first], better = when - m1 * (when - t0) / (m1 - m0);
        if (!(better > s->step.t_before && better < reached) ||
            fabs(better - when) <= 1e-14 * (1 + fabs(when)))
            break;
        t0 = when;
        m0 = m1;
        when = better;
    }
    status = settle(s, first, stop);
    if (!status) *flag = ARKStepReset(s->step.ark, s->step.t, s->step.y);
    return status;
}
/* Switches a contact on or off at the present time. */
static soa_status change(sim *s, const soa_grasp_change *c, soa_report *report) {
    double *v = s->step.data + s->nq, before, after, potential;
    int i = 0, index = -1;
    while (i < s->count && s->list[i].number != c->contact)
        ++i;
    soa_grasp_contact_range(s->grasp, c->contact, &index, NULL, NULL);
    if ((index >= 0) == (c->on != 0)) return SOA_OK;
    s->list[i].ignored = 0;
    if (!c->on) {
        turn(s, i, 0);
        ++s->result->releases;
        return SOA_OK;
    }
    soa_contact_motion motion;
    soa_status status = soa_q_normalise(s->model, s->step.data);
    if (!status)
        status = soa_grasp_contact_motion(s->grasp, s->work, s->step.data, v, c->contact, &motion);
    if (status) return explain(s, status, 0, report);
    if (!(motion.gap <= 1e-3))
        return soai_report(report, SOA_E_INCONSISTENT, -1, 0,
                           "contact %d is to close at t = %.9g s, but is open by %.3g (m or rad)",
                           c->contact, s->step.t, motion.gap);
    turn(s, i, 1);
    status = soa_closed_project(s->constraints, s->work, s->step.t, s->step.data, NULL, s->error);
    if (!status) status = soa_energy(s->model, s->work, s->step.data, v, &before, &potential);
    if (!status) status = soa_grasp_impulse(s->grasp, s->work, s->step.data, v, v, NULL);
    if (!status) status = soa_energy(s->model, s->work, s->step.data, v, &after, &potential);
    if (status) return explain(s, status, 0, report);
    v[s->nv + 1] += before - after;
    s->result->lost += before - after;
    ++s->result->closures;
    return SOA_OK;
}

/* --- the whole motion ------------------------------------------------------------------------- */
static soa_status show(sim *s, int first) {
    soa_grasp_sim_result *r = s->result;
    const double *v = s->step.data + s->nq, *energy = v + s->nv;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof *s->q);
    soa_status status = soa_q_normalise(s->model, s->q);
    if (!status) status = soa_energy(s->model, s->work, s->q, v, &r->kinetic, &r->potential);
    if (status) return status;
    r->t = s->step.t;
    if (first) {
        r->kinetic_start = r->kinetic;
        r->potential_start = r->potential;
    }
    r->supplied = energy[0];
    r->dissipated = energy[1];
    const soai_energies e = {r->kinetic_start, r->potential_start, r->kinetic,
                             r->potential,     r->dissipated,      r->supplied};
    r->balance = soai_energy_balance(&e, &r->balance_worst, &r->energy_scale);
    return SOA_OK;
}
static soa_status tell(sim *s, int *stop) {
    soa_grasp_sim_result *r = s->result;
    const soa_status status = margins(s, s->step.t, s->step.data);
    if (status) return status;
    const int contacts = soa_grasp_contact_count(s->grasp, NULL);
    for (int i = 0; i < contacts; ++i)
        if (s->checks[i].margin < r->margin_least) r->margin_least = s->checks[i].margin;
    if (!s->options->sample) return SOA_OK;
    const soa_grasp_sample sample = {
        s->step.t,   s->q,          s->step.data + s->nq, r->kinetic, r->potential,
        r->supplied, r->dissipated, r->balance,           contacts,   s->force,
        s->checks,   s->error[0],   s->error[1]};
    if (s->options->sample(s->options->sample_user, &sample)) *stop = r->stopped = 1;
    return SOA_OK;
}

/* Integrates from s->step.t to `end`. */
static soa_status advance(sim *s, double end, int *stop, soa_report *report) {
    while (!*stop && end - s->step.t > 1e-14 * (1 + fabs(end))) {
        soai_stepper_mark(&s->step);
        int flag = soai_stepper_step(&s->step, end);
        if (flag < 0) return explain(s, SOA_OK, flag, report);
        if (++s->result->steps > s->options->max_steps)
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "simulation stopped at t = %.9g s: more than %ld steps", s->step.t,
                               s->options->max_steps);
        soa_status status = SOA_OK;
        if (flag == ARK_ROOT_RETURN) {
            double reached = s->step.t;
            ARKStepGetRootInfo(s->step.ark, s->step.found);
            ARKStepGetCurrentTime(s->step.ark, &reached);
            status = event(s, s->step.t, reached, &flag, stop);
            if (status || flag < 0) return explain(s, status, flag, report);
        }
        if (end - s->step.t <= 1e-14 * (1 + fabs(end))) s->step.t = end;
        if ((status = show(s, 0))) return explain(s, status, 0, report);
        if (!(s->options->sample_time > 0) && (status = tell(s, stop)))
            return explain(s, status, 0, report);
    }
    return SOA_OK;
}

/* Makes the contacts constraints for the projection, and finds the damping of the joints. */
static soa_status survey(sim *s, soa_report *report) {
    soa_body_info info;
    soai_losses(s->model, s->damping, NULL, NULL);
    soa_constraint_capacity room = {2 * s->count, 6 * s->count, 0};
    for (int b = 1; b <= soa_model_body_count(s->model); ++b) {
        if (soa_model_body(s->model, b, &info)) continue;
        if (info.friction_positive > 0 || info.friction_negative > 0)
            return soai_report(
                report, SOA_E_ARGUMENT, b, 0,
                "joint %.60s has Coulomb friction; sticking is not modelled with grasps",
                info.joint);
    }
    soa_status status = soa_constraints_create(s->model, &room, &s->constraints);
    if (status) return soai_report(report, status, -1, 0, "%s", soa_status_text(status));
    for (int i = 0; i < s->count; ++i) {
        soa_constraint_def defs[2];
        soa_contact_def def;
        int count = 0, index = -1;
        contact *c = s->list + i;
        c->constraint[0] = c->constraint[1] = -1;
        soa_grasp_get_contact(s->grasp, c->number, &def);
        c->one_sided = def.one_sided;
        status = soa_grasp_contact_constraints(s->grasp, c->number, defs, &count);
        soa_grasp_contact_range(s->grasp, c->number, &index, NULL, NULL);
        for (int k = 0; k < count && !status; ++k) {
            status = soa_constraints_add(s->constraints, defs + k, &c->constraint[k], report);
            if (!status) soa_constraints_switch(s->constraints, c->constraint[k], index >= 0);
        }
        if (status) return status;
    }
    const soa_grasp_sim_options *o = s->options;
    for (int k = 0; k < o->change_count; ++k) {
        int i = 0;
        while (i < s->count && s->list[i].number != o->changes[k].contact)
            ++i;
        if (i == s->count || !(fabs(o->changes[k].t) <= 1e9) ||
            (k && o->changes[k].t < o->changes[k - 1].t))
            return soai_report(
                report, SOA_E_ARGUMENT, -1, 0,
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
    memcpy(s->step.data, q, (size_t)s->nq * sizeof *q);
    if (v) memcpy(s->step.data + s->nq, v, (size_t)s->nv * sizeof *v);
    s->step.t = o->start;
    status = soa_kinematics(s->model, s->work, q, v, NULL);
    if (status) {
        s->step.body = soa_work_failed_body(s->work);
        return explain(s, status, 0, report);
    }
    for (int i = 0; i < s->count; ++i) {
        soa_contact_motion motion;
        int index = -1;
        soa_grasp_contact_range(s->grasp, s->list[i].number, &index, NULL, NULL);
        status = soa_grasp_contact_motion(s->grasp, s->work, q, v, s->list[i].number, &motion);
        if (status) return explain(s, status, 0, report);
        if (index >= 0 && !(motion.gap <= 1e-3))
            return soai_report(report, SOA_E_INCONSISTENT, -1, 0,
                               "contact %d is open by %.3g (m or rad) at the start",
                               s->list[i].number, motion.gap);
    }
    status = soa_closed_project(s->constraints, s->work, s->step.t, s->step.data,
                                s->step.data + s->nq, s->error);
    if (!status) status = show(s, 1);
    if (!status) status = settle(s, -1, &stop);
    if (!status) status = tell(s, &stop);
    if (status) return explain(s, status, 0, report);
    s->step.watching = 1;
    const soai_step_plan plan = {.rate = derivative,
                                 .after = after_step,
                                 .watch = watch,
                                 .events = s->count,
                                 .order = o->order,
                                 .relative = o->relative_tolerance,
                                 .absolute = o->absolute_tolerance,
                                 .max_step = o->max_step};
    const int flag = soai_stepper_start(&s->step, &plan, s);
    if (flag != ARK_SUCCESS) return explain(s, SOA_OK, flag, report);
    const double last = o->start + o->duration;
    for (long k = 1; !stop && last - s->step.t > 1e-14 * (1 + fabs(last));) {
        double sample = o->sample_time > 0 ? o->start + (double)k * o->sample_time : last;
        if (sample > last - 1e-12 * o->duration) sample = last;
        int changed = 0;
        while (next < o->change_count &&
               o->changes[next].t <= s->step.t + 1e-12 * (1 + fabs(s->step.t)) && !status) {
            status = change(s, o->changes + next++, report);
            changed = 1;
        }
        if (status) return status;
        if (changed && (status = settle(s, -1, &stop))) return explain(s, status, 0, report);
        if (changed && ARKStepReset(s->step.ark, s->step.t, s->step.y) != ARK_SUCCESS)
            return explain(s, SOA_E_NO_CONVERGENCE, 0, report);
        const int first = next < o->change_count && o->changes[next].t < sample;
        if ((status = advance(s, first ? o->changes[next].t : sample, &stop, report)))
            return status;
        if (first || stop) continue;
        ++k;
        if (o->sample_time > 0 && (status = tell(s, &stop))) return explain(s, status, 0, report);
    }
    return SOA_OK;
}

soa_status soa_grasp_simulate(soa_grasp *grasp, double *q, double *v,
                              const soa_grasp_sim_options *options, soa_grasp_sim_result *result,
                              soa_report *report) {
    const soa_grasp_sim_options plain = soa_grasp_sim_options_default();
    if (!options) options = &plain;
    if (!grasp || !q || !result)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_grasp_simulate: grasp, q and result are needed");
    const soa_grasp_sim_options *o = options;
    soa_status status = soai_check_span(o->start, o->duration, o->sample_time, report);
    if (!status)
        status = soai_check_steps(o->relative_tolerance, o->absolute_tolerance, o->order,
                                  o->max_step, report);
    if (!status && (o->change_count < 0 || (o->change_count && !o->changes)))
        status = soai_report(report, SOA_E_ARGUMENT, -1, 0, "%d changes, but none given",
                             o->change_count);
    if (status) return status;
    const double begin = soai_seconds();
    memset(result, 0, sizeof *result);
    result->margin_least = INFINITY;
    result->last.contact = -1;
    const soa_model *model = soa_grasp_model(grasp);
    sim s = {.grasp = grasp,
             .model = model,
             .options = options,
             .nq = soa_model_nq(model),
             .nv = soa_model_nv(model),
             .result = result};
    for (int i = 0; i < MOST_CONTACTS; ++i)
        s.count += !soa_grasp_get_contact(grasp, i, NULL);
    const size_t nq = (size_t)s.nq, nv = (size_t)s.nv, n = (size_t)s.count;
    s.list = calloc(n + 1, sizeof *s.list);
    s.checks = calloc(n + 1, sizeof *s.checks);
    s.numbers = calloc(3 * nv + nq + 7 * n + 1, sizeof *s.numbers);
    if (!s.list || !s.checks || !s.numbers) status = SOA_E_MEMORY;
    if (!status) {
        s.damping = s.numbers;
        s.tau = s.damping + nv;
        s.qdd = s.tau + nv;
        s.force = s.qdd + nv;
        s.margin = s.force + 6 * n;
        s.q = s.margin + n;
        for (int i = 0, k = 0; i < MOST_CONTACTS; ++i)
            if (!soa_grasp_get_contact(grasp, i, NULL)) s.list[k++].number = i;
        status = soa_work_create(model, &s.work);
    }
    if (!status) status = soai_stepper_open(&s.step, s.nq + s.nv + 2);
    if (status) {
        soai_report(report, status, -1, 0, "soa_grasp_simulate: %s", soa_status_text(status));
    } else {
        status = run(&s, q, v, report);
        if (!status) {
            memcpy(q, s.step.data, nq * sizeof *q);
            if (v) memcpy(v, s.step.data + nq, nv * sizeof *v);
        }
    }
    soai_stepper_close(&s.step, &result->rejected);
    soa_constraints_free(s.constraints);
    soa_work_free(s.work);
    free(s.list);
    free(s.checks);
    free(s.numbers);
    result->wall_time = soai_seconds() - begin;
    return status;
}
