/* closed_simulate.c  time integration of a closed machine: explicit Runge-Kutta steps with error
 * control, each followed by a projection.
 *
 *  state    y = [q, v, supplied, dissipated]; the energies are integrated with the motion.
 *           Quaternions: q' by soa_q_rate, normalised after every step and before every evaluation.
 *  step     ARKODE's, with vdot from soa_closed_fd (acceleration level: the exact flow stays on
 *           g = 0, G v = 0).
 *  project  In ARKODE's post-process hook, after the error test. The step's error in g is about the
 *           tolerance, and the smallest mass-weighted change removes it, so the order is kept
 *           (Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.4). The step controller
 *           keeps its history, which a restart after each step would lose.
 *  failure  If a projection or a stage fails (ARKODE gives up there), the step is discarded and
 *           repeated from the last good state with a quarter of its length.
 *  stages   are off the constraints by the error of the step, so redundant rows are not exactly
 *           dependent there. The rank is that of the states accepted so far, and consistency is
 *           required only at accepted states.
 *  friction Coulomb friction sticks and slips (closed_friction.h). ARKODE's root finder sees the
 *           event, the step is repeated up to it, and for stops the time is refined by Newton's
 *           method.
 *  passages through singular configurations: singular_step.h */
#include "../base/base_internal.h"
#include "joint_friction.h"
#include "singular_step.h"
#include "closed_friction.h"
#include "stepper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of lower order are too short to pass over singular configurations: in some tests the
 * machine changed branches unnoticed. */
enum { RETRIES = 12, LOOK_BACK = 10000, PASSING_ORDER = 5 };
/* Most events per coordinate with friction without progress in time. */
enum { CROWD = 20 };
/* Coordinates slower than this (rad/s, m/s) at an event are taken to be at rest. */
static const double at_rest = 1e-9;

typedef struct sim {
    soa_constraints *constraints;
    const soa_model *model;
    soa_work *work;
    const soa_closed_sim_options *options;
    int nq, nv;
    /* Springs or ratios need the turns of cut joints. */
    int counts;
    double *damping, *applied, *tau, *qdd, *guess, *q; /* nv numbers each; q: nq numbers */
    soai_rubbing rub;
    int loose; /* stuck joints are not held, while they are divided again */
    double last_event;
    int crowd;
    char *angle; /* for each q: nonzero if it is an angle */
    double *numbers;

    soai_stepper step; /* y = [q, v, supplied, dissipated] */
    double t_mark;
    double relief;  /* factor of the tolerances; 1 except over a passage */
    double mercy;   /* further factor, if the step over a passage failed before */
    double planned; /* length of the next step if we choose it, else 0 */
    double ahead;   /* time of the next passage if one is seen, else NAN */

    /* Strengths of the rows, then the weakest of all, at the last two accepted states, latest
     * first. */
    double *strength[2], strength_time[2];
    int fresh;      /* the next evaluation is at an accepted, projected state */
    int projecting; /* a projection failed: at constraint `culprit`, with error `off` */
    const char *culprit;
    double off;
    double error[2];
    soa_closed_report last;
    soa_closed_sim_result *result;
} sim;

soa_closed_sim_options soa_closed_sim_options_default(void) {
    soa_closed_sim_options o = {.duration = 1,
                                .relative_tolerance = 1e-8,
                                .absolute_tolerance = 1e-10,
                                .order = 5,
                                .max_steps = 10000000,
                                .closed = soa_closed_options_default()};
    /* near singular positions the steps' error control decides, and passages help */
    o.closed.most_condition = 1e16;
    o.closed.rank_tolerance = 1e-14;
    return o;
}

/* --- functions called by the integrator ------------------------------------------------------- */
/* Computes vdot at (t, y) and updates the statistics. The torques remain in s->tau. */
static soa_status evaluate(sim *s, double t, const double *y) {
    const double *v = y + s->nq;
    soa_closed_options o = s->options->closed;
    const int accepted = s->fresh;
    o.brief = 1;
    s->fresh = 0;
    /* A stage is off the constraints by about the tolerance, so redundant rows differ slightly. */
    if (!accepted) {
        o.rank_most = s->result->rank_most;
        o.consistency = fmax(o.consistency, 1e-2);
    }
    memcpy(s->q, y, (size_t)s->nq * sizeof *y);
    soa_status status = soa_q_normalise(s->model, s->q);
    if (status) return status;
    memset(s->applied, 0, (size_t)s->nv * sizeof *s->applied);
    if (s->options->torque &&
        (status = s->options->torque(s->options->torque_user, t, s->q, v, s->applied)))
        return status;
    memcpy(s->tau, s->applied, (size_t)s->nv * sizeof *s->tau);
    if (s->rub.count) {
        if ((status = soai_rubbing_at(&s->rub, s->q, v))) return status;
        soai_rubbing_torque(&s->rub, v, s->tau);
    }
    soa_closed_sim_result *r = s->result;
    const int rank = s->last.rank, first = !r->evaluations++;
    status = soa_closed_fd(s->constraints, s->work, &o,
                           &(soa_input){.q = s->q, .v = v, .tau = s->tau, .t = t}, s->qdd, NULL,
                           &s->last);
    /* Repeat the call with an explanation in its report. */
    if (status == SOA_E_SINGULAR || status == SOA_E_INCONSISTENT ||
        (!status && s->last.redundant && !r->redundancy[0] && (first || s->last.rank != rank))) {
        o.brief = 0;
        status = soa_closed_fd(s->constraints, s->work, &o,
                               &(soa_input){.q = s->q, .v = v, .tau = s->tau, .t = t}, s->qdd, NULL,
                               &s->last);
        if (!r->redundancy[0]) memcpy(r->redundancy, s->last.text, sizeof r->redundancy);
    }
    if (!status && s->rub.stuck_count && !s->loose &&
        !(status = soai_rubbing_hold(&s->rub, s->qdd, s->tau))) {
        ++r->evaluations;
        status = soa_closed_fd(s->constraints, s->work, &o,
                               &(soa_input){.q = s->q, .v = v, .tau = s->tau, .t = t}, s->qdd, NULL,
                               &s->last);
    }
    if (status) return status;
    if (accepted && (first || s->last.rank < r->rank_least)) r->rank_least = s->last.rank;
    if (accepted && s->last.rank > r->rank_most) r->rank_most = s->last.rank;
    if (accepted) {
        double *const older = s->strength[1];
        if (t > s->strength_time[0]) {
            s->strength[1] = s->strength[0];
            s->strength[0] = older;
            s->strength_time[1] = s->strength_time[0];
        }
        s->strength[0][r->rows] = s->last.strength;
        s->strength_time[0] = t;
        soa_constraints_row_strengths(s->constraints, s->strength[0]);
    }
    if (s->last.condition > r->condition_worst) r->condition_worst = s->last.condition;
    return SOA_OK;
}

static int derivative(realtype t, N_Vector y_vector, N_Vector rate_vector, void *user) {
    sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector), *v = y + s->nq;
    double *rate = N_VGetArrayPointer(rate_vector), *energy = rate + s->nq + s->nv;
    s->projecting = 0;
    s->step.status = evaluate(s, t, y);
    if (!s->step.status) s->step.status = soa_q_rate(s->model, s->q, v, rate);
    if (!s->step.status) s->step.status = soa_closed_power(s->constraints, energy, energy + 1);
    if (s->step.status) {
        s->step.body = soa_work_failed_body(s->work);
        return s->step.status == SOA_E_ARGUMENT ? -1 : 1; /* 1: a shorter step may succeed */
    }
    memcpy(rate + s->nq, s->qdd, (size_t)s->nv * sizeof *rate);
    for (int i = 0; i < s->nv; ++i) {
        energy[0] += s->applied[i] * v[i];
        energy[1] += s->damping[i] * v[i] * v[i];
    }
    energy[1] += soai_rubbing_power(&s->rub);
    return 0;
}

/* Errors are measured relative to |q| (at most 1 rad for an angle), |v|, and the largest energy so
 * far. */
static int weights(N_Vector y_vector, N_Vector weight_vector, void *user) {
    const sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector);
    double *w = N_VGetArrayPointer(weight_vector);
    const double scale = s->relief / soai_sharpness(s->options->order);
    const double relative = s->options->relative_tolerance * scale,
                 absolute = s->options->absolute_tolerance * scale;
    for (int i = 0; i < s->nq + s->nv + 2; ++i) {
        double size = fabs(y[i]);
        if (i < s->nq && s->angle[i] && size > 1) size = 1;
        if (i >= s->nq + s->nv && size < s->result->energy_scale) size = s->result->energy_scale;
        /* The last term: rounding error of an angle after many turns. */
        w[i] = 1 / (relative * size + absolute + 1e-15 * fabs(y[i]));
        if (!(w[i] > 0)) return -1;
    }
    return 0;
}

/* Name of the constraint with the largest error at y, and that error. NULL if it cannot be
 * determined. */
static const char *worst(sim *s, double t, const double *y, int with_rates, double *off) {
    const char *name = NULL;
    const int rows = soa_constraints_row_count(s->constraints);
    double *g = malloc(2 * (size_t)(rows + 1) * sizeof *g), *rate = g + rows;
    *off = 0;
    if (g && !soa_constraints_evaluate(s->constraints, s->work,
                                       &(soa_input){.q = y, .v = y + s->nq, .t = t}, g, rate, NULL,
                                       NULL))
        for (int i = 0, seen = 0; seen < soa_constraints_count(s->constraints); ++i) {
            int first = 0, count = 0;
            if (soa_constraints_row_range(s->constraints, i, &first, &count)) continue;
            ++seen;
            for (int r = first; r < first + count; ++r) {
                const double miss = with_rates ? fmax(fabs(g[r]), fabs(rate[r])) : fabs(g[r]);
                if (miss > *off || !name) {
                    *off = miss;
                    name = soa_constraints_name(s->constraints, i);
                }
            }
        }
    free(g);
    return name;
}

static soa_status project(sim *s, double t, double *y) {
    soa_closed_sim_result *r = s->result;
    soa_status status = soa_q_normalise(s->model, y);
    s->projecting = 1;
    s->step.body = -1;
    if (status) return status;
    if (s->options->no_projection) { /* only measure the error */
        worst(s, t, y, 0, &s->error[0]);
        r->drift_worst = r->position_error = fmax(r->position_error, s->error[0]);
        return SOA_OK;
    }
    ++r->projections;
    status = soa_closed_project(s->constraints, s->work, t, y, y + s->nq, s->error);
    if (status) return status;
    r->drift_worst = fmax(r->drift_worst, soa_closed_drift(s->constraints));
    if (s->error[0] > r->position_error) r->position_error = s->error[0];
    if (s->error[1] > r->rate_error) r->rate_error = s->error[1];
    return SOA_OK;
}
static int after_step(realtype t, N_Vector y, void *user) {
    sim *s = user;
    s->step.status = project(s, t, N_VGetArrayPointer(y));
    if (s->step.status) s->culprit = worst(s, t, N_VGetArrayPointer(y), 1, &s->off);
    /* Coordinates that stick must be at rest. */
    if (!s->step.status && s->rub.stuck_count &&
        !(s->step.status = evaluate(s, t, N_VGetArrayPointer(y))))
        s->step.status = soai_rubbing_settle(&s->rub, N_VGetArrayPointer(y) + s->nq);
    return s->step.status ? -1 : 0;
}

/* --- sticking and slipping -------------------------------------------------------------------- */
static int watch(realtype t, N_Vector y_vector, realtype *g, void *user) {
    sim *s = user;
    const int fresh = s->fresh;
    for (int k = 0; k < 2 * s->rub.count; ++k)
        g[k] = 1;
    if (!s->step.watching) return 0;
    s->fresh = 0;
    s->step.status = evaluate(s, t, N_VGetArrayPointer(y_vector));
    s->fresh = fresh;
    if (s->step.status) return -1;
    soai_rubbing_watch(&s->rub, g);
    return 0;
}
/* Divides the coordinates of mode stuck, and all others at rest, into stuck and sliding ones. Those
 * that stick are brought to rest exactly. */
static soa_status regroup(sim *s) {
    double *v = s->step.data + s->nq;
    soai_rubbing *r = &s->rub;
    s->fresh = 0;
    s->loose = 1;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof *s->q);
    soa_status status = soa_q_normalise(s->model, s->q);
    if (!status) status = soai_rubbing_at(r, s->q, v);
    if (!status) soai_rubbing_gather(r, at_rest);
    if (!status) status = evaluate(s, s->step.t, s->step.data);
    if (!status) status = soai_rubbing_divide(r, s->qdd);
    /* Not earlier: motion through a dead point must not be stopped. */
    if (!status) status = soai_rubbing_settle(r, v);
    s->loose = 0;
    return s->step.status = status;
}
/* Number of an event that the root finder did not see, or -1. Uses the holding torques from
 * after_step. */
static int overdue(sim *s) {
    if (!s->rub.count) return -1;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof *s->q);
    return soai_rubbing_at(&s->rub, s->q, s->step.data + s->nq) ? -1
                                                                : soai_rubbing_overdue(&s->rub);
}
/* The step reached an event near `when`; s->step.found says which, numbered as in `watch`. Leaves
 * the state at the event, with new modes. */
static soa_status event(sim *s, double when, double t_after, int *flag) {
    soai_rubbing *r = &s->rub;
    int first_stop = -1;
    for (int k = 0; k < r->count && first_stop < 0; ++k)
        if ((r->list[k].mode == SOAI_UP || r->list[k].mode == SOAI_DOWN) && s->step.found[2 * k])
            first_stop = k;
    for (int round = 0; round < 6; ++round) {
        if ((*flag = soai_stepper_again(&s->step, when)) != ARK_SUCCESS) return s->step.status;
        if (first_stop < 0) break;
        s->fresh = 0;
        if ((s->step.status = evaluate(s, s->step.t, s->step.data))) return s->step.status;
        const soai_rub *of = r->list + first_stop;
        double acceleration = of->rest;
        for (int j = 0; j < s->nv; ++j)
            acceleration += of->row[j] * s->qdd[j];
        const double better = when - of->rate / acceleration;
        if (!(better > s->step.t_before && better < t_after) ||
            fabs(better - when) <= 1e-14 * (1 + fabs(when)))
            break;
        when = better;
    }
    long stuck_before = 0, stuck_after = 0, stops = 0;
    for (int k = 0; k < r->count; ++k) {
        stuck_before += r->list[k].mode == SOAI_STUCK;
        if ((r->list[k].mode == SOAI_UP || r->list[k].mode == SOAI_DOWN) && s->step.found[2 * k]) {
            r->list[k].mode = SOAI_STUCK;
            ++stops;
        }
    }
    const soa_status status = regroup(s);
    for (int k = 0; k < r->count; ++k)
        stuck_after += r->list[k].mode == SOAI_STUCK;
    s->result->stops += stops;
    if (!stops && stuck_after < stuck_before) s->result->releases += stuck_before - stuck_after;
    if (!status) *flag = ARKStepReset(s->step.ark, s->step.t, s->step.y);
    return status;
}

/* --- reports ---------------------------------------------------------------------------------- */
static soa_status explain(sim *s, soa_status status, int flag, soa_report *report) {
    if (!(status = soai_stepper_reason(&s->step, status, flag))) return SOA_OK;
    if (s->step.body > 0) return soai_stepper_explain(&s->step, s->model, status, flag, report);
    if (status == s->step.status && s->projecting && s->culprit)
        return soai_report(
            report, status, -1, 0,
            "simulation stopped at t = %.9g s: no projection; \"%s\" is off by %.3g: %s", s->step.t,
            s->culprit, s->off, soa_status_text(status));
    if (s->last.weakest >= 0 &&
        (status == SOA_E_SINGULAR ? status == s->step.status
                                  : status == SOA_E_NO_CONVERGENCE && s->last.condition > 1e6))
        return soai_report(
            report, status, -1, 0,
            "simulation stopped near t = %.9g s: condition %.2g, \"%s\" the weakest: %s", s->step.t,
            s->last.condition, soa_constraints_name(s->constraints, s->last.weakest),
            soa_status_text(status));
    if (status == SOA_E_INCONSISTENT && status == s->step.status)
        return soai_report(report, status, -1, 0,
                           "simulation stopped near t = %.9g s: %.90s, but disagrees by %.2g",
                           s->step.t, s->last.text, s->last.residual);
    return soai_stepper_explain(&s->step, s->model, status, flag, report);
}

static soa_status show(sim *s) {
    soa_closed_sim_result *r = s->result;
    const double *v = s->step.data + s->nq, *energy = v + s->nv;
    const int first = !r->steps && s->step.t == s->options->start;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof *s->q);
    soa_status status = soa_q_normalise(s->model, s->q);
    if (!status)
        status = soa_closed_energy(s->constraints, s->work, s->q, v, &r->kinetic, &r->potential);
    if (!status && s->counts && !(status = soa_kinematics(s->model, s->work, s->q, NULL, NULL)))
        status = soa_constraints_follow_turns(s->constraints, s->work);
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

static void tell(sim *s, int *stop) {
    const soa_closed_sim_result *r = s->result;
    if (!s->options->sample) return;
    const soa_closed_sample sample = {.t = s->step.t,
                                      .q = s->q,
                                      .v = s->step.data + s->nq,
                                      .kinetic = r->kinetic,
                                      .potential = r->potential,
                                      .supplied = r->supplied,
                                      .dissipated = r->dissipated,
                                      .balance = r->balance,
                                      .position_error = s->error[0],
                                      .rate_error = s->error[1],
                                      .last = &s->last};
    *stop = s->options->sample(s->options->sample_user, &sample) != 0;
}

/* --- the whole motion ------------------------------------------------------------------------- */
/* Strength of the constraints some time ahead, on a path of constant acceleration; 0 if rows are
 * lost. */
static double ahead(void *user, double time) {
    sim *s = user;
    soa_closed_options o = s->options->closed;
    soa_closed_report report;
    const double *v = s->step.before + s->nq;
    o.brief = 1;
    o.consistency = INFINITY;
    o.most_condition = INFINITY;
    o.rank_most = s->result->rank_most;
    for (int i = 0; i < s->nv; ++i)
        s->tau[i] = v[i] + 0.5 * time * s->guess[i];
    ++s->result->evaluations;
    if (soa_q_integrate(s->model, s->step.before, s->tau, time, s->q) ||
        soa_closed_fd(s->constraints, s->work, &o,
                      &(soa_input){.q = s->q, .v = v, .t = s->step.t + time}, s->qdd, NULL,
                      &report) ||
        report.rank < s->result->rank_most)
        return 0;
    return report.strength;
}
/* Limit for the tolerance over a passage. */
static double raised(const sim *s) {
    return fmax(1e-7, 64 * s->options->relative_tolerance);
}
/* Looks for a singular configuration ahead of the next step of length h. Returns the latest time at
 * which the step should end; if the step passes over it, also the length to use. */
static double passage_stop(sim *s, double h, double end, double *length) {
    double longer = h, relief = 1;
    *length = 0;
    s->relief = 1;
    s->ahead = NAN;
    /* First with the rate of the last steps; if a passage may be near, again with the present
     * rate. */
    for (int look = 0; look < 2; ++look) {
        const double gone = s->strength_time[0] - s->strength_time[1];
        int soon = 0;
        for (int r = 0; r <= s->result->rows && gone > 0; ++r) {
            const double now = s->strength[0][r], fall = s->strength[1][r] - now;
            if (!(fall > 0) || now < 1e-12) continue;
            double most = h;
            const double factor = soai_passage_relief(
                s->options->order, s->options->relative_tolerance, fall / gone, &most);
            if (now * gone > (3 * most + s->step.t - s->strength_time[0]) * fall) continue;
            if (!soon || most > longer) {
                longer = most;
                relief = factor;
            }
            soon = 1;
        }
        if (!soon) return end;
        s->fresh = !look;
        if (!look && evaluate(s, s->step.t, s->step.before)) return end;
    }
    memcpy(s->guess, s->qdd, (size_t)s->nv * sizeof *s->guess);
    const double passage =
        soai_passage_find(s->strength[0][s->result->rows], 1.7 * longer, ahead, s);
    if (!(passage > 0)) return end;
    s->ahead = s->step.t + passage;
    int passes;
    const double step =
        soai_passage_step(s->options->order, longer, end - s->step.t, passage, &passes);
    if (passes) {
        *length = step;
        s->relief = fmin(relief * s->mercy, raised(s) / s->options->relative_tolerance);
    }
    return passes || step < h ? s->step.t + step : end;
}

/* Restores the last good state for a step of length h. Returns 0 if h is too short. */
static int again(sim *s, double h) {
    const int flag = soai_stepper_back(&s->step);
    s->planned = h;
    return flag == ARK_SUCCESS && h > 1e-12 * (1 + fabs(s->step.t)) &&
           ARKStepSetInitStep(s->step.ark, h) == ARK_SUCCESS;
}

/* Integrates from s->step.t to `end`; reports each step if no samples are requested. */
static soa_status advance(sim *s, double end, int *stop, soa_report *report) {
    int tries = 0;
    while (!*stop && end - s->step.t > 1e-14 * (1 + fabs(end))) {
        soai_stepper_mark(&s->step);
        double h = s->planned, limit = end, passing = 0;
        if (h > 0 || (ARKStepGetCurrentStep(s->step.ark, &h) == ARK_SUCCESS && h > 0))
            limit = passage_stop(s, h, end, &passing);
        if (h > 0 && s->ahead <= end && s->options->order < PASSING_ORDER)
            return soai_report(
                report, SOA_E_SINGULAR, -1, 0,
                "simulation stopped at t = %.9g s: a singular configuration lies ahead, at about "
                "%.6g s "
                "(\"%s\" is the weakest); steps of order %d or more pass over it",
                s->step.t, s->ahead,
                s->last.weakest >= 0 ? soa_constraints_name(s->constraints, s->last.weakest) : "?",
                PASSING_ORDER);
        s->fresh = 1;
        int flag = passing > 0 && !again(s, passing) ? ARK_ERR_FAILURE
                                                     : ARKStepSetStopTime(s->step.ark, limit);
        /* When passing, after one failure we choose the step ourselves. */
        if (flag == ARK_SUCCESS) flag = ARKStepSetMaxErrTestFails(s->step.ark, passing > 0 ? 1 : 7);
        if (flag == ARK_SUCCESS)
            flag = ARKStepEvolve(s->step.ark, limit, s->step.y, &s->step.t, ARK_ONE_STEP);
        const int failed = flag == ARK_POSTPROCESS_STEP_FAIL || flag == ARK_UNREC_RHSFUNC_ERR;
        if ((failed || (flag == ARK_ERR_FAILURE && passing > 0)) && ++tries <= RETRIES) {
            double length;
            if (passing > 0) {
                length = passing;
            } else {
                length = fmin(h > 0 ? h : INFINITY, limit - s->step.t_before);
            }
            ++s->result->retries;
            double factor = failed ? pow(0.25, tries) : 0.7;
            /* Shorter steps would only come closer to the singularity. */
            if (!failed && tries % 2 == 0) {
                s->mercy *= 8;
                factor = 1;
            }
            if (s->mercy * s->options->relative_tolerance < raised(s) && again(s, length * factor))
                continue;
        }
        if (flag < 0) return explain(s, SOA_OK, flag, report);
        const int against = flag == ARK_ROOT_RETURN ? -1 : overdue(s);
        if (flag == ARK_ROOT_RETURN || against >= 0) {
            double when = s->step.t, reached = s->step.t;
            if (flag == ARK_ROOT_RETURN) {
                ARKStepGetRootInfo(s->step.ark, s->step.found);
                ARKStepGetCurrentTime(s->step.ark, &reached);
            } else {
                memset(s->step.found, 0, 2 * (size_t)s->rub.count * sizeof *s->step.found);
                s->step.found[2 * against] = -1;
                when = s->step.t_before;
            }
            soa_status status = event(s, when, reached, &flag);
            if (status || flag < 0) return explain(s, status, flag, report);
            if (s->step.t - s->last_event > 1e-12 * (1 + fabs(s->step.t))) s->crowd = 0;
            s->last_event = s->step.t;
            if (++s->crowd > CROWD * s->rub.count) {
                int which = 0;
                while (which < s->rub.count - 1 && !s->step.found[2 * which] &&
                       !s->step.found[2 * which + 1])
                    ++which;
                return soai_report(
                    report, SOA_E_NO_CONVERGENCE, -1, 0,
                    "simulation stopped at t = %.9g s: joint %.60s sticks and slips without end",
                    s->step.t, soai_rubbing_name(&s->rub, which));
            }
        }
        if (s->relief > s->result->relief) s->result->relief = s->relief;
        tries = 0;
        s->planned = 0;
        s->mercy = 1;
        s->result->passages += passing > 0;
        if (++s->result->steps > s->options->max_steps)
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "simulation stopped at t = %.9g s: more than %ld steps", s->step.t,
                               s->options->max_steps);
        /* Possibly creeping towards a singularity. */
        if (s->result->steps % LOOK_BACK == 0) {
            if (s->step.t - s->t_mark < 1e-7 * s->options->duration)
                return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                                   "simulation stopped at t = %.9g s: the last %d steps went only "
                                   "%.2g s (\"%s\" is the "
                                   "weakest constraint)",
                                   s->step.t, LOOK_BACK, s->step.t - s->t_mark,
                                   s->last.weakest >= 0
                                       ? soa_constraints_name(s->constraints, s->last.weakest)
                                       : "none");
            s->t_mark = s->step.t;
        }
        if (end - s->step.t <= 1e-14 * (1 + fabs(end))) s->step.t = end;
        soa_status status = show(s);
        if (status) return explain(s, status, 0, report);
        const double off = fabs(s->result->balance), scale = s->result->energy_scale;
        /* The second bound: a machine at rest may be off by rounding error. */
        if (off > fmax(1e-3, 1e5 * s->options->relative_tolerance) * scale &&
            off > 1e-12 * fabs(s->result->potential) + 1e-10 * soa_model_mass(s->model))
            return soai_report(
                report, SOA_E_NO_CONVERGENCE, -1, 0,
                "simulation stopped at t = %.9g s: the energy balance is off by %.2g of %.2g J (a "
                "singular "
                "configuration lost, or torques that jump; \"%s\" is the weakest constraint)",
                s->step.t, off, scale,
                s->last.weakest >= 0 ? soa_constraints_name(s->constraints, s->last.weakest)
                                     : "none");
        if (!(s->options->sample_time > 0)) tell(s, stop);
    }
    return SOA_OK;
}

/* Finds the damping of each degree of freedom, which coordinates are angles, and what has
 * friction. */
static soa_status survey(sim *s, soa_report *report) {
    soa_body_info info;
    soai_losses(s->model, s->damping, NULL, NULL);
    for (int b = 1; b <= soa_model_body_count(s->model); ++b) {
        soa_status status = soa_model_body(s->model, b, &info);
        if (status) return soai_report(report, status, b, 0, "%s", soa_status_text(status));
        for (int i = 0; i < info.nq; ++i)
            s->angle[info.q_index + i] = (char)soa_joint_type_turns(info.type, i);
    }
    for (int i = 0, seen = 0; seen < soa_constraints_count(s->constraints); ++i) {
        soa_constraint_def def;
        if (soa_constraints_get_def(s->constraints, i, &def)) continue;
        ++seen;
        s->counts |= def.kind == SOA_LOOP && def.stiffness != 0;
        for (int j = 0; j < SOA_RATIO_TERMS; ++j)
            s->counts |= def.kind == SOA_RATIO && def.coordinate[j] < 0;
    }
    soa_status status = soai_rubbing_init(&s->rub, s->constraints, s->work);
    return status ? soai_report(report, status, -1, 0, "%s", soa_status_text(status)) : SOA_OK;
}

static soa_status run(sim *s, const double *q, const double *v, soa_report *report) {
    const soa_closed_sim_options *o = s->options;
    int stop = 0;
    double off = 0;
    soa_status status = survey(s, report);
    if (status) return status;
    memcpy(s->step.data, q, (size_t)s->nq * sizeof *q);
    if (v) memcpy(s->step.data + s->nq, v, (size_t)s->nv * sizeof *v);
    s->step.t = s->t_mark = o->start;
    /* NaN and wrong quaternions are refused, not repaired. */
    status = soa_kinematics(s->model, s->work, q, v, NULL);
    if (status) {
        s->step.body = soa_work_failed_body(s->work);
        return explain(s, status, 0, report);
    }
    /* Measure at zero speed how far the loops are open. */
    memcpy(s->step.before, s->step.data, (size_t)s->nq * sizeof *q);
    const char *name = worst(s, s->step.t, s->step.before, 0, &off);
    if (off > 1e-3)
        return soai_report(
            report, SOA_E_INCONSISTENT, -1, 0,
            "the start does not obey \"%s\", which is off by %.3g: assemble it first", name, off);
    s->step.status = status = project(s, s->step.t, s->step.data);
    if (!status) status = show(s);
    /* Coordinates that move slide; those at rest are divided into stuck and sliding ones. */
    for (int k = 0; k < s->rub.count; ++k)
        s->rub.list[k].mode = SOAI_UP;
    if (!status && s->rub.count &&
        !(s->step.status = status = soai_rubbing_at(&s->rub, s->q, s->step.data + s->nq))) {
        soai_rubbing_gather(&s->rub, at_rest);
        s->fresh = s->loose = 1; /* finds the initial rank */
        if (!(s->step.status = status = evaluate(s, s->step.t, s->step.data))) status = regroup(s);
        s->projecting = 0;
    }
    s->step.watching = 1;
    s->last_event = -INFINITY;
    s->fresh = 1;
    if (!status && (s->step.status = status = evaluate(s, s->step.t, s->step.data)))
        s->projecting = 0;
    if (status) return explain(s, status, 0, report);
    tell(s, &stop);
    s->result->drift_worst = 0; /* the drift of the caller's state does not count */
    const soai_step_plan plan = {.rate = derivative,
                                 .after = after_step,
                                 .weights = weights,
                                 .watch = watch,
                                 .events = 2 * s->rub.count,
                                 .order = o->order,
                                 .max_step = o->max_step};
    const int flag = soai_stepper_start(&s->step, &plan, s);
    if (flag != ARK_SUCCESS) return explain(s, SOA_OK, flag, report);
    const double last = o->start + o->duration;
    for (long k = 1; !stop && last - s->step.t > 1e-14 * (1 + fabs(last)); ++k) {
        double end = o->sample_time > 0 ? o->start + (double)k * o->sample_time : last;
        if (end > last - 1e-12 * o->duration) end = last;
        if ((status = advance(s, end, &stop, report))) return status;
        if (o->sample_time > 0) tell(s, &stop);
    }
    return SOA_OK;
}

soa_status soa_closed_simulate(soa_constraints *constraints, double *q, double *v,
                               const soa_closed_sim_options *options, soa_closed_sim_result *result,
                               soa_report *report) {
    const soa_closed_sim_options plain = soa_closed_sim_options_default();
    if (!options) options = &plain;
    if (!constraints || !q || !result)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_closed_simulate: constraints, q and result are needed");
    const soa_closed_sim_options *o = options;
    soa_status status = soai_check_span(o->start, o->duration, o->sample_time, report);
    if (!status)
        status = soai_check_steps(o->relative_tolerance, o->absolute_tolerance, o->order,
                                  o->max_step, report);
    if (status) return status;
    const double begin = soai_seconds();
    memset(result, 0, sizeof *result);
    result->relief = 1;
    const soa_model *model = soa_constraints_model(constraints);
    sim s = {.constraints = constraints,
             .model = model,
             .options = options,
             .nq = soa_model_nq(model),
             .nv = soa_model_nv(model),
             .result = result,
             .relief = 1,
             .mercy = 1,
             .ahead = NAN,
             .strength_time = {-INFINITY, -INFINITY}};
    result->rows = soa_constraints_row_count(constraints);
    const size_t nq = (size_t)s.nq, nv = (size_t)s.nv;
    s.numbers = calloc(5 * nv + nq + 2 * ((size_t)result->rows + 1), sizeof *s.numbers);
    s.angle = calloc(nq + 1, 1);
    if (!s.numbers || !s.angle) status = SOA_E_MEMORY;
    if (!status) {
        s.damping = s.numbers;
        s.tau = s.damping + nv;
        s.qdd = s.tau + nv;
        s.guess = s.qdd + nv;
        s.applied = s.guess + nv;
        s.q = s.applied + nv;
        s.strength[0] = s.q + nq;
        s.strength[1] = s.strength[0] + result->rows + 1;
        status = soa_work_create(model, &s.work);
    }
    if (!status) status = soai_stepper_open(&s.step, s.nq + s.nv + 2);
    if (status) {
        soai_report(report, status, -1, 0, "soa_closed_simulate: %s", soa_status_text(status));
    } else {
        status = run(&s, q, v, report);
        if (!status) {
            memcpy(q, s.step.data, nq * sizeof *q);
            if (v) memcpy(v, s.step.data + nq, nv * sizeof *v);
        }
    }
    soai_stepper_close(&s.step, &result->rejected);
    soai_rubbing_release(&s.rub);
    soa_work_free(s.work);
    free(s.numbers);
    free(s.angle);
    result->wall_time = soai_seconds() - begin;
    return status;
}
