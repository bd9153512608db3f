/* grasp_simulate.c  motion of arms that hold an object: friction cones as events, contacts that
 * close and open. A mechanism of time_loop.h.
 *
 * state    y = [q, v, supplied, dissipated]
 * step     ARKODE's, with vdot from soa_grasp_fd. Afterwards the constraints of the contacts
 *          (soa_grasp_contact_constraints) project q and v.
 * events   The margin of a one-sided contact falls through zero (RK88-II appendix A). The time is
 *          refined by secants of the margin.
 * changes  end a step. A contact that closes changes v by the impulse of soa_grasp_impulse. */
#include "../base/base_internal.h"
#include "time_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTACTS = 2000 }; /* as in soa_grasp_size */
/* A contact that is on is closed: its gap is at most this, in m or rad. */
static const double gap_most = 1e-3;

typedef struct contact {
    int number;        /* number in the grasp */
    int constraint[2]; /* -1: none */
    int one_sided, ignored;
} contact;

typedef struct sim {
    soai_time_loop loop;
    soa_grasp *grasp;
    const soa_model *model;
    const soa_grasp_sim_options *options;
    soa_work *work;
    soa_constraints *constraints;
    int nq, nv, count; /* count: all contacts, on or off */
    contact *list;
    double *force, *margin; /* 6 and 1 for each contact */
    soa_contact_check *checks;
    double *numbers;
    int next_change;             /* index of the first change not yet made */
    double secant_t, secant_gap; /* of the last refinement of an event: time, margin */
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
static soa_status evaluate(void *user, double t, const double *y) {
    sim *s = user;
    soai_time_loop *l = &s->loop;
    soa_status status = soai_loop_look(l, t, y);
    const soa_input input = {.q = l->q, .v = y + s->nq, .tau = l->applied};
    ++s->result->evaluations;
    if (!status)
        status = soa_grasp_fd(s->grasp, s->work, &s->options->grasp, &input, l->qdd, s->force, NULL,
                              NULL);
    if (status) l->step.fault.body = soa_work_failed_body(s->work);
    return status;
}
static int shorter_helps(soa_status status) {
    return status != SOA_E_ARGUMENT;
}
static soa_status after_step(void *user, double t, double *y) {
    sim *s = user;
    soa_grasp_sim_result *r = s->result;
    ++r->projections;
    soa_status status = soa_q_normalise(s->model, y);
    if (!status) status = soa_closed_project(s->constraints, s->work, t, y, y + s->nq, s->error);
    r->position_error = fmax(r->position_error, s->error[0]);
    r->rate_error = fmax(r->rate_error, s->error[1]);
    return status;
}
/* Margins of all contacts at (t, y); 1 for those that cannot open. */
static soa_status margins(sim *s, double t, const double *y) {
    soa_status status = evaluate(s, t, y);
    if (!status)
        status = soa_grasp_check_contacts(s->grasp, s->work, s->loop.q, s->force, s->checks, NULL);
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
static soa_status watch(void *user, double t, const double *y, double *g) {
    sim *s = user;
    const soa_status status = margins(s, t, y);
    if (!status) memcpy(g, s->margin, (size_t)s->count * sizeof *g);
    return status;
}
/* --- events and changes ----------------------------------------------------------------------- */
static void turn(sim *s, int i, bool on) {
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
static void ask(sim *s, int i) {
    int index = -1;
    soa_contact_def def;
    soa_grasp_sim_result *r = s->result;
    soai_time_loop *l = &s->loop;
    soa_grasp_contact_range(s->grasp, s->list[i].number, &index, NULL, NULL);
    if (!soa_grasp_get_contact(s->grasp, s->list[i].number, &def) &&
        s->checks[index].event == SOA_CONTACT_HOLDS)
        s->checks[index].event = nearest(&def, s->checks + index);
    const soa_grasp_event event = {l->step.t, s->list[i].number, s->checks + index, l->q,
                                   l->step.data + s->nq};
    const soa_grasp_answer answer =
        s->options->event ? s->options->event(s->options->event_user, &event) : SOA_GRASP_STOP;
    ++r->events;
    r->last = event;
    r->last.check = NULL;
    r->last.q = r->last.v = NULL;
    r->last_event = s->checks[index].event;
    if (answer == SOA_GRASP_RELEASE) {
        turn(s, i, false);
        ++r->releases;
    } else if (answer == SOA_GRASP_IGNORE) {
        s->list[i].ignored = 1;
    } else {
        l->stop = r->stopped = true;
    }
}
/* Handles the contacts whose margin is used up at the present state, the worst first. `first`: one
 * that has just reached zero, or -1. */
static soa_status settle(sim *s, int first) {
    while (!s->loop.stop) {
        soa_status status = margins(s, s->loop.step.t, s->loop.step.data);
        if (status) return status;
        int worst = first;
        for (int i = 0; i < s->count && first < 0; ++i)
            if (s->margin[i] < 0 && (worst < 0 || s->margin[i] < s->margin[worst])) worst = i;
        if (worst < 0) return SOA_OK;
        ask(s, worst);
        first = -1;
    }
    return SOA_OK;
}
/* The contact whose event was found. */
static int first_found(const sim *s) {
    for (int i = 0; i < s->count; ++i)
        if (s->loop.step.found[i]) return i;
    return -1;
}
static soa_status refine(void *user, int round, double *when) {
    sim *s = user;
    const soai_stepper *step = &s->loop.step;
    const int first = first_found(s);
    soa_status status = SOA_OK;
    if (round == 0) {
        s->secant_t = step->t_before;
        status = margins(s, s->secant_t, step->before);
        s->secant_gap = s->margin[first];
    }
    if (!status) status = margins(s, step->t, step->data);
    if (status) return status;
    const double t = *when, gap = s->margin[first];
    *when -= gap * (t - s->secant_t) / (gap - s->secant_gap);
    s->secant_t = t;
    s->secant_gap = gap;
    return SOA_OK;
}
static soa_status react(void *user) {
    sim *s = user;
    return settle(s, first_found(s));
}
static soa_status crowded(void *user, int event, soa_report *report) {
    const sim *s = user;
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "simulation stopped at t = %.9g s: contact %d ends without end",
                       s->loop.step.t, s->list[event].number);
}
/* Switches a contact on or off at the present time. */
static soa_status make(sim *s, const soa_grasp_change *c, soa_report *report) {
    soai_stepper *step = &s->loop.step;
    double *q = step->data, *v = q + s->nq, before, after, potential;
    int i = 0, index = -1;
    while (i < s->count && s->list[i].number != c->contact)
        ++i;
    soa_grasp_contact_range(s->grasp, c->contact, &index, NULL, NULL);
    if ((index >= 0) == (c->on != 0)) return SOA_OK;
    s->list[i].ignored = 0;
    if (!c->on) {
        turn(s, i, false);
        ++s->result->releases;
        return SOA_OK;
    }
    soa_contact_motion motion;
    soa_status status = soa_q_normalise(s->model, q);
    if (!status) status = soa_grasp_contact_motion(s->grasp, s->work, q, v, c->contact, &motion);
    if (status) return soai_loop_explain(&s->loop, status, 0, report);
    if (!(motion.gap <= gap_most))
        return soai_report(report, SOA_E_INCONSISTENT, -1, 0,
                           "contact %d is to close at t = %.9g s, but is open by %.3g (m or rad)",
                           c->contact, step->t, motion.gap);
    turn(s, i, true);
    status = soa_closed_project(s->constraints, s->work, step->t, q, NULL, s->error);
    if (!status) status = soa_energy(s->model, s->work, q, v, &before, &potential);
    if (!status) status = soa_grasp_impulse(s->grasp, s->work, q, v, v, NULL);
    if (!status) status = soa_energy(s->model, s->work, q, v, &after, &potential);
    if (status) return soai_loop_explain(&s->loop, status, 0, report);
    v[s->nv + 1] += before - after;
    s->result->lost += before - after;
    ++s->result->closures;
    return SOA_OK;
}

static soa_status change(void *user, double *next, soa_report *report) {
    sim *s = user;
    const soa_grasp_sim_options *o = s->options;
    soai_stepper *step = &s->loop.step;
    const double now = step->t + 1e-12 * (1 + fabs(step->t));
    const int first = s->next_change;
    soa_status status = SOA_OK;
    while (s->next_change < o->change_count && o->changes[s->next_change].t <= now) {
        if ((status = make(s, o->changes + s->next_change, report))) return status;
        ++s->next_change;
    }
    if (s->next_change < o->change_count) *next = o->changes[s->next_change].t;
    if (s->next_change == first) return SOA_OK;
    status = settle(s, -1);
    if (!status && ARKStepReset(step->ark, step->t, step->y) != ARK_SUCCESS)
        status = SOA_E_NO_CONVERGENCE;
    return status ? soai_loop_explain(&s->loop, status, 0, report) : SOA_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */
static void record(void *user) {
    sim *s = user;
    soa_grasp_sim_result *r = s->result;
    SOAI_RECORD_ENERGIES(r, &s->loop.energy);
    r->dissipated = s->loop.energy.dissipated;
    r->t = s->loop.step.t;
    r->steps = s->loop.steps;
}
static soa_status show(void *user) {
    sim *s = user;
    const soai_time_loop *l = &s->loop;
    const soai_energies *e = &l->energy;
    soa_grasp_sim_result *r = s->result;
    const soa_status status = margins(s, l->step.t, l->step.data);
    if (status) return status;
    const int contacts = soa_grasp_contact_count(s->grasp, NULL);
    for (int i = 0; i < contacts; ++i)
        if (s->checks[i].margin < r->margin_least) r->margin_least = s->checks[i].margin;
    if (!s->options->sample) return SOA_OK;
    const soa_grasp_sample sample = {.t = l->step.t,
                                     .q = l->q,
                                     .v = l->step.data + s->nq,
                                     .kinetic = e->kinetic,
                                     .potential = e->potential,
                                     .supplied = e->supplied,
                                     .dissipated = e->dissipated,
                                     .balance = e->balance,
                                     .contacts = contacts,
                                     .force = s->force,
                                     .checks = s->checks,
                                     .position_error = s->error[0],
                                     .rate_error = s->error[1]};
    if (s->options->sample(s->options->sample_user, &sample)) s->loop.stop = r->stopped = true;
    return SOA_OK;
}

/* --- the start -------------------------------------------------------------------------------- */
static soa_status refuse_friction(const soa_model *model, soa_report *report) {
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(model); ++b) {
        if (soa_model_body(model, b, &info)) continue;
        if (info.friction_positive > 0 || info.friction_negative > 0)
            return soai_report(
                report, SOA_E_ARGUMENT, b, 0,
                "joint %.60s has Coulomb friction; sticking is not modelled with grasps",
                info.joint);
    }
    return SOA_OK;
}

/* Makes the contacts constraints for the projection. */
static soa_status constrain(sim *s, soa_report *report) {
    const soa_constraint_capacity room = {2 * s->count, 6 * s->count, 0};
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
    return SOA_OK;
}

static soa_status check_changes(const sim *s, soa_report *report) {
    const soa_grasp_change *changes = s->options->changes;
    for (int k = 0; k < s->options->change_count; ++k) {
        int i = 0;
        while (i < s->count && s->list[i].number != changes[k].contact)
            ++i;
        const int late = k && changes[k].t < changes[k - 1].t;
        if (i == s->count || !(fabs(changes[k].t) <= 1e9) || late)
            return soai_report(
                report, SOA_E_ARGUMENT, -1, 0,
                "change %d: contact %d at %g s: no such contact, or not in order of time", k,
                changes[k].contact, changes[k].t);
    }
    return SOA_OK;
}

static soa_status prepare(void *user, soa_report *report) {
    sim *s = user;
    soai_stepper *step = &s->loop.step;
    double *q = step->data, *v = q + s->nq;
    s->work = s->loop.work;
    s->loop.events = s->count;
    soa_status status = refuse_friction(s->model, report);
    if (!status) status = constrain(s, report);
    if (!status) status = check_changes(s, report);
    if (status) return status;
    if ((status = soa_kinematics(s->model, s->work, q, v, NULL))) {
        step->fault.body = soa_work_failed_body(s->work);
        return soai_loop_explain(&s->loop, status, 0, report);
    }
    for (int i = 0; i < s->count && !status; ++i) {
        soa_contact_motion motion;
        int index = -1;
        soa_grasp_contact_range(s->grasp, s->list[i].number, &index, NULL, NULL);
        status = soa_grasp_contact_motion(s->grasp, s->work, q, v, s->list[i].number, &motion);
        if (!status && index >= 0 && !(motion.gap <= gap_most))
            return soai_report(report, SOA_E_INCONSISTENT, -1, 0,
                               "contact %d is open by %.3g (m or rad) at the start",
                               s->list[i].number, motion.gap);
    }
    if (!status) status = soa_closed_project(s->constraints, s->work, step->t, q, v, s->error);
    return status ? soai_loop_explain(&s->loop, status, 0, report) : SOA_OK;
}

static soa_status begin(void *user) {
    return settle(user, -1);
}

static const soai_mechanism grasping_arms = {.losses = 1,
                                             .energy_by_step = 1,
                                             .prepare = prepare,
                                             .begin = begin,
                                             .accelerate = evaluate,
                                             .shorter_helps = shorter_helps,
                                             .after_step = after_step,
                                             .watch = watch,
                                             .refine = refine,
                                             .react = react,
                                             .crowded = crowded,
                                             .change = change,
                                             .record = record,
                                             .show = show};

soa_status soa_grasp_simulate(soa_grasp *grasp, double *q, double *v,
                              const soa_grasp_sim_options *options, soa_grasp_sim_result *result,
                              soa_report *report) {
    soai_report_reset(report);
    const soa_grasp_sim_options plain = soa_grasp_sim_options_default();
    if (!options) options = &plain;
    if (!grasp || !q || !result)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_grasp_simulate: grasp, q and result are needed");
    const soa_grasp_sim_options *o = options;
    const soai_loop_settings settings = {.start = o->start,
                                         .duration = o->duration,
                                         .sample_time = o->sample_time,
                                         .relative = o->relative_tolerance,
                                         .absolute = o->absolute_tolerance,
                                         .max_step = o->max_step,
                                         .order = o->order,
                                         .max_steps = o->max_steps,
                                         .torque = o->torque,
                                         .torque_user = o->torque_user};
    soa_status status = soai_loop_check(&settings, report);
    if (!status && (o->change_count < 0 || (o->change_count && !o->changes)))
        status = soai_report(report, SOA_E_ARGUMENT, -1, 0, "%d changes, but none given",
                             o->change_count);
    if (status) return soai_report_end(report, status);
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
    status = soai_loop_open(&s.loop, &grasping_arms, &s, model, &settings);
    s.list = calloc(n + 1, sizeof *s.list);
    s.checks = calloc(n + 1, sizeof *s.checks);
    s.numbers = calloc(7 * n + 1, sizeof *s.numbers);
    if (!status && (!s.list || !s.checks || !s.numbers)) status = SOA_E_MEMORY;
    if (status) {
        soai_report(report, status, -1, 0, "soa_grasp_simulate: %s", soa_status_text(status));
    } else {
        s.force = s.numbers;
        s.margin = s.force + 6 * n;
        for (int i = 0, k = 0; i < MOST_CONTACTS; ++i)
            if (!soa_grasp_get_contact(grasp, i, NULL)) s.list[k++].number = i;
        status = soai_loop_run(&s.loop, q, v, report);
        result->steps = s.loop.steps;
    }
    if (!status) {
        memcpy(q, s.loop.step.data, nq * sizeof *q);
        if (v) memcpy(v, s.loop.step.data + nq, nv * sizeof *v);
    }
    soai_loop_close(&s.loop, &result->rejected, &result->wall_time);
    soa_constraints_free(s.constraints);
    free(s.list);
    free(s.checks);
    free(s.numbers);
    return soai_report_end(report, status);
}
