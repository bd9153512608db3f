/* closed_simulate.c  motion of a machine with loops: explicit Runge-Kutta steps with error control,
 * each followed by a projection. A mechanism of time_loop.h.
 *
 *  state    y = [q, v, supplied, dissipated]. Quaternions: q' by soa_q_rate, normalised after every
 *           step and before every evaluation.
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
 *  friction Coulomb friction sticks and slips (closed_friction.h). Stops and break-aways are
 *           events; for stops the time is refined by Newton's method.
 *  passages through singular configurations: singular_step.h */
#include "../base/base_internal.h"
#include "closed_friction.h"
#include "singular_step.h"
#include "time_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of lower order are too short to pass over singular configurations: in some tests the
 * machine changed branches unnoticed. */
enum { RETRIES = 12, LOOK_BACK = 10000, PASSING_ORDER = 5 };
/* ARKODE's error test failures in one step: its default, and when we choose the step ourselves
 * after the first. */
enum { ERROR_FAILS = 7, ERROR_FAILS_PASSING = 1 };
/* Coordinates slower than this (rad/s, m/s) at an event are taken to be at rest. */
static const double at_rest = 1e-9;
/* Largest error of a loop at the start, in m or rad. */
static const double open_most = 1e-3;

typedef struct sim {
    soai_time_loop loop;
    soa_constraints *constraints;
    const soa_model *model;
    soa_work *work;
    const soa_closed_sim_options *options;
    int nq, nv;
    /* Springs or ratios need the turns of cut joints. */
    int counts;
    double *tau, *guess; /* nv numbers each */
    soai_rubbing rub;
    int loose;            /* stuck joints are not held, while they are divided again */
    unsigned char *angle; /* for each q: nonzero if it is an angle */
    double *numbers;

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
/* Notes rank and strengths of the rows at an accepted state. */
static void note_accepted(sim *s, double t, int first) {
    soa_closed_sim_result *r = s->result;
    double *const older = s->strength[1];
    if (first || s->last.rank < r->rank_least) r->rank_least = s->last.rank;
    if (s->last.rank > r->rank_most) r->rank_most = s->last.rank;
    if (t > s->strength_time[0]) {
        s->strength[1] = s->strength[0];
        s->strength[0] = older;
        s->strength_time[1] = s->strength_time[0];
    }
    s->strength[0][r->rows] = s->last.strength;
    s->strength_time[0] = t;
    soa_constraints_row_strengths(s->constraints, s->strength[0]);
}

/* Computes vdot at (t, y) and updates the statistics. The torques remain in s->tau. */
static soa_status evaluate(sim *s, double t, const double *y) {
    soai_time_loop *l = &s->loop;
    const double *v = y + s->nq;
    soa_closed_options o = s->options->closed;
    const int accepted = s->fresh;
    o.brief = true;
    s->fresh = 0;
    /* A stage is off the constraints by about the tolerance, so redundant rows differ slightly. */
    if (!accepted) {
        o.rank_most = s->result->rank_most;
        o.consistency = fmax(o.consistency, 1e-2);
    }
    soa_status status = soai_loop_look(l, t, y);
    if (status) return status;
    memcpy(s->tau, l->applied, (size_t)s->nv * sizeof *s->tau);
    if (s->rub.count) {
        if ((status = soai_rubbing_at(&s->rub, l->q, v))) return status;
        soai_rubbing_torque(&s->rub, v, s->tau);
    }
    soa_closed_sim_result *r = s->result;
    const int rank = s->last.rank, first = !r->evaluations++;
    const soa_input input = {.q = l->q, .v = v, .tau = s->tau, .t = t};
    status = soa_closed_fd(s->constraints, s->work, &o, &input, l->qdd, NULL, &s->last);
    /* Repeat the call with an explanation in its report. */
    if (status == SOA_E_SINGULAR || status == SOA_E_INCONSISTENT ||
        (!status && s->last.redundant && !r->redundancy[0] && (first || s->last.rank != rank))) {
        o.brief = false;
        status = soa_closed_fd(s->constraints, s->work, &o, &input, l->qdd, NULL, &s->last);
        if (!r->redundancy[0]) memcpy(r->redundancy, s->last.text, sizeof r->redundancy);
    }
    if (!status && s->rub.stuck_count && !s->loose &&
        !(status = soai_rubbing_hold(&s->rub, l->qdd, s->tau))) {
        ++r->evaluations;
        status = soa_closed_fd(s->constraints, s->work, &o, &input, l->qdd, NULL, &s->last);
    }
    if (status) return status;
    if (accepted) note_accepted(s, t, first);
    if (s->last.condition > r->condition_worst) r->condition_worst = s->last.condition;
    return SOA_OK;
}

static soa_status accelerate(void *user, double t, const double *y) {
    sim *s = user;
    s->projecting = 0;
    return evaluate(s, t, y);
}

static soa_status power(void *user, const double *v, double *out) {
    const sim *s = user;
    const soa_status status = soa_closed_power(s->constraints, out, out + 1);
    if (status) return status;
    soai_loop_joint_power(&s->loop, v, out);
    out[1] += soai_rubbing_power(&s->rub);
    return SOA_OK;
}

static int shorter_helps(soa_status status) {
    return status != SOA_E_ARGUMENT;
}

/* Errors are measured relative to |q| (at most 1 rad for an angle), |v|, and the largest energy so
 * far. */
static void weights(void *user, const double *y, double *w) {
    const sim *s = user;
    const double scale = s->relief / soai_sharpness(s->options->order);
    const double relative = s->options->relative_tolerance * scale,
                 absolute = s->options->absolute_tolerance * scale;
    for (int i = 0; i < s->loop.step.size; ++i) {
        double size = fabs(y[i]);
        if (i < s->nq && s->angle[i] && size > 1) size = 1;
        if (i >= s->nq + s->nv) size = fmax(size, s->loop.energy.energy_scale);
        /* The last term: rounding error of an angle after many turns. */
        w[i] = 1 / (relative * size + absolute + 1e-15 * fabs(y[i]));
    }
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
    s->loop.step.fault.body = -1;
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
static soa_status after_step(void *user, double t, double *y) {
    sim *s = user;
    soa_status status = project(s, t, y);
    if (status) s->culprit = worst(s, t, y, 1, &s->off);
    /* Coordinates that stick must be at rest. */
    if (!status && s->rub.stuck_count && !(status = evaluate(s, t, y)))
        status = soai_rubbing_settle(&s->rub, y + s->nq);
    return status;
}

/* --- sticking and slipping -------------------------------------------------------------------- */
static soa_status watch(void *user, double t, const double *y, double *g) {
    sim *s = user;
    const int fresh = s->fresh;
    s->fresh = 0;
    const soa_status status = evaluate(s, t, y);
    s->fresh = fresh;
    if (!status) soai_rubbing_watch(&s->rub, g);
    return status;
}
/* Divides the coordinates of mode stuck, and all others at rest, into stuck and sliding ones. Those
 * that stick are brought to rest exactly. */
static soa_status regroup(sim *s) {
    soai_time_loop *l = &s->loop;
    double *v = l->step.data + s->nq;
    soai_rubbing *r = &s->rub;
    s->fresh = 0;
    s->loose = 1;
    memcpy(l->q, l->step.data, (size_t)s->nq * sizeof *l->q);
    soa_status status = soa_q_normalise(s->model, l->q);
    if (!status) status = soai_rubbing_at(r, l->q, v);
    if (!status) soai_rubbing_gather(r, at_rest);
    if (!status) status = evaluate(s, l->step.t, l->step.data);
    if (!status) status = soai_rubbing_divide(r, l->qdd);
    /* Not earlier: motion through a dead point must not be stopped. */
    if (!status) status = soai_rubbing_settle(r, v);
    s->loose = 0;
    return l->step.fault.status = status;
}
/* Uses the holding torques from after_step. */
static int overdue(void *user, double *when) {
    sim *s = user;
    soai_time_loop *l = &s->loop;
    (void)when;
    if (!s->rub.count) return -1;
    memcpy(l->q, l->step.data, (size_t)s->nq * sizeof *l->q);
    if (soai_rubbing_at(&s->rub, l->q, l->step.data + s->nq)) return -1;
    const int which = soai_rubbing_overdue(&s->rub);
    return which < 0 ? -1 : 2 * which;
}
/* True if the event of coordinate k was found and is a stop. */
static int has_stopped(const sim *s, int k) {
    const soai_mode mode = s->rub.list[k].mode;
    return (mode == SOAI_UP || mode == SOAI_DOWN) && s->loop.step.found[2 * k];
}
/* The time of the first stop, by Newton's method. */
static soa_status refine(void *user, int round, double *when) {
    sim *s = user;
    soai_time_loop *l = &s->loop;
    int first = 0;
    (void)round;
    while (first < s->rub.count && !has_stopped(s, first))
        ++first;
    if (first == s->rub.count) return SOA_OK;
    s->fresh = 0;
    if ((l->step.fault.status = evaluate(s, l->step.t, l->step.data))) return l->step.fault.status;
    const soai_rub *of = s->rub.list + first;
    double acceleration = of->rest;
    for (int j = 0; j < s->nv; ++j)
        acceleration += of->row[j] * l->qdd[j];
    *when -= of->rate / acceleration;
    return SOA_OK;
}
static soa_status react(void *user) {
    sim *s = user;
    soai_rubbing *r = &s->rub;
    long stuck_before = 0, stuck_after = 0, stops = 0;
    for (int k = 0; k < r->count; ++k) {
        stuck_before += r->list[k].mode == SOAI_STUCK;
        if (has_stopped(s, k)) {
            r->list[k].mode = SOAI_STUCK;
            ++stops;
        }
    }
    const soa_status status = regroup(s);
    for (int k = 0; k < r->count; ++k)
        stuck_after += r->list[k].mode == SOAI_STUCK;
    s->result->stops += stops;
    if (!stops && stuck_after < stuck_before) s->result->releases += stuck_before - stuck_after;
    return status;
}

/* --- reports ---------------------------------------------------------------------------------- */
static const char *weakest(const sim *s) {
    return s->last.weakest >= 0 ? soa_constraints_name(s->constraints, s->last.weakest) : "none";
}
static soa_status explain(void *user, soa_status status, int flag, soa_report *report) {
    sim *s = user;
    const soai_stepper *step = &s->loop.step;
    if (!(status = soai_stepper_reason(step, status, flag))) return SOA_OK;
    if (step->fault.body > 0) return soai_stepper_explain(step, s->model, status, flag, report);
    if (status == step->fault.status && s->projecting && s->culprit)
        return soai_report(
            report, status, -1, 0,
            "simulation stopped at t = %.9g s: no projection; \"%s\" is off by %.3g: %s", step->t,
            s->culprit, s->off, soa_status_text(status));
    if (s->last.weakest >= 0 &&
        (status == SOA_E_SINGULAR ? status == step->fault.status
                                  : status == SOA_E_NO_CONVERGENCE && s->last.condition > 1e6))
        return soai_report(
            report, status, -1, 0,
            "simulation stopped near t = %.9g s: condition %.2g, \"%s\" the weakest: %s", step->t,
            s->last.condition, weakest(s), soa_status_text(status));
    if (status == SOA_E_INCONSISTENT && status == step->fault.status)
        return soai_report(report, status, -1, 0,
                           "simulation stopped near t = %.9g s: %.90s, but disagrees by %.2g",
                           step->t, s->last.text, s->last.residual);
    return soai_stepper_explain(step, s->model, status, flag, report);
}
static soa_status crowded(void *user, int event, soa_report *report) {
    const sim *s = user;
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "simulation stopped at t = %.9g s: joint %.60s sticks and slips without end",
                       s->loop.step.t, soai_rubbing_name(&s->rub, event / 2));
}

static soa_status energy(void *user, double *kinetic, double *potential) {
    sim *s = user;
    const double *q = s->loop.q, *v = s->loop.step.data + s->nq;
    soa_status status = soa_closed_energy(s->constraints, s->work, q, v, kinetic, potential);
    if (status || !s->counts) return status;
    status = soa_kinematics(s->model, s->work, q, NULL, NULL);
    return status ? status : soa_constraints_follow_turns(s->constraints, s->work);
}

static void record(void *user) {
    sim *s = user;
    soa_closed_sim_result *r = s->result;
    SOAI_RECORD_ENERGIES(r, &s->loop.energy);
    r->dissipated = s->loop.energy.dissipated;
    r->t = s->loop.step.t;
    r->steps = s->loop.steps;
}

/* Refuses a motion that creeps towards a singularity, or whose energies do not balance. */
static soa_status check(void *user, soa_report *report) {
    sim *s = user;
    const soai_energies *e = &s->loop.energy;
    const double t = s->loop.step.t, tolerance = s->options->relative_tolerance;
    if (s->loop.steps % LOOK_BACK == 0) {
        if (t - s->t_mark < 1e-7 * s->options->duration)
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "simulation stopped at t = %.9g s: the last %d steps went only "
                               "%.2g s (\"%s\" is the weakest constraint)",
                               t, LOOK_BACK, t - s->t_mark, weakest(s));
        s->t_mark = t;
    }
    const double off = fabs(e->balance), scale = e->energy_scale;
    /* The second bound: a machine at rest may be off by rounding error. */
    if (!(off > fmax(1e-3, 1e5 * tolerance) * scale) ||
        !(off > 1e-12 * fabs(e->potential) + 1e-10 * soa_model_mass(s->model)))
        return SOA_OK;
    return soai_report(
        report, SOA_E_NO_CONVERGENCE, -1, 0,
        "simulation stopped at t = %.9g s: the energy balance is off by %.2g of %.2g J (a singular "
        "configuration lost, or torques that jump; \"%s\" is the weakest constraint)",
        t, off, scale, weakest(s));
}

static soa_status show(void *user) {
    sim *s = user;
    const soai_time_loop *l = &s->loop;
    const soai_energies *e = &l->energy;
    if (!s->options->sample) return SOA_OK;
    const soa_closed_sample sample = {.t = l->step.t,
                                      .q = l->q,
                                      .v = l->step.data + s->nq,
                                      .kinetic = e->kinetic,
                                      .potential = e->potential,
                                      .supplied = e->supplied,
                                      .dissipated = e->dissipated,
                                      .balance = e->balance,
                                      .position_error = s->error[0],
                                      .rate_error = s->error[1],
                                      .last = &s->last};
    s->loop.stop = s->options->sample(s->options->sample_user, &sample) != 0;
    return SOA_OK;
}

/* --- steps over singular configurations ------------------------------------------------------- */
/* Strength of the constraints some time ahead, on a path of constant acceleration; 0 if rows are
 * lost. */
static double ahead(void *user, double time) {
    sim *s = user;
    soa_closed_options o = s->options->closed;
    soa_closed_report report;
    const double *v = s->loop.step.before + s->nq;
    o.brief = true;
    o.consistency = INFINITY;
    o.most_condition = INFINITY;
    o.rank_most = s->result->rank_most;
    for (int i = 0; i < s->nv; ++i)
        s->tau[i] = v[i] + 0.5 * time * s->guess[i];
    ++s->result->evaluations;
    if (soa_q_integrate(s->model, s->loop.step.before, s->tau, time, s->loop.q) ||
        soa_closed_fd(s->constraints, s->work, &o,
                      &(soa_input){.q = s->loop.q, .v = v, .t = s->loop.step.t + time}, s->loop.qdd,
                      NULL, &report) ||
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
            if (now * gone > (3 * most + s->loop.step.t - s->strength_time[0]) * fall) continue;
            if (!soon || most > longer) {
                longer = most;
                relief = factor;
            }
            soon = 1;
        }
        if (!soon) return end;
        s->fresh = !look;
        if (!look && evaluate(s, s->loop.step.t, s->loop.step.before)) return end;
    }
    memcpy(s->guess, s->loop.qdd, (size_t)s->nv * sizeof *s->guess);
    const double passage =
        soai_passage_find(s->strength[0][s->result->rows], 1.7 * longer, ahead, s);
    if (!(passage > 0)) return end;
    s->ahead = s->loop.step.t + passage;
    int passes;
    const double step =
        soai_passage_step(s->options->order, longer, end - s->loop.step.t, passage, &passes);
    if (passes) {
        *length = step;
        s->relief = fmin(relief * s->mercy, raised(s) / s->options->relative_tolerance);
    }
    return passes || step < h ? s->loop.step.t + step : end;
}

/* Restores the last good state for a step of length h. Returns 0 if h is too short. */
static int again(sim *s, double h) {
    const int flag = soai_stepper_back(&s->loop.step);
    s->planned = h;
    return flag == ARK_SUCCESS && h > 1e-12 * (1 + fabs(s->loop.step.t)) &&
           ARKStepSetInitStep(s->loop.step.ark, h) == ARK_SUCCESS;
}

/* One try of a step of about h, or of exactly `passing` if that is positive, not beyond `limit`. */
static int try_step(sim *s, double limit, double passing) {
    soai_stepper *step = &s->loop.step;
    const int most = passing > 0 ? ERROR_FAILS_PASSING : ERROR_FAILS;
    s->fresh = 1;
    if (passing > 0 && !again(s, passing)) return ARK_ERR_FAILURE;
    const int flag = ARKStepSetMaxErrTestFails(step->ark, most);
    return flag == ARK_SUCCESS ? soai_stepper_step(step, limit) : flag;
}

/* Prepares the next try after a step of `length` failed. Returns 0 if there is none. */
static int try_again(sim *s, double length, int numerically, int tries) {
    double factor = numerically ? 0.7 : pow(0.25, tries);
    ++s->result->retries;
    /* Shorter steps would only come closer to the singularity. */
    if (numerically && tries % 2 == 0) {
        s->mercy *= 8;
        factor = 1;
    }
    return s->mercy * s->options->relative_tolerance < raised(s) && again(s, length * factor);
}

static soa_status take_step(void *user, double end, int *flag, soa_report *report) {
    sim *s = user;
    soai_stepper *step = &s->loop.step;
    double passing = 0;
    for (int tries = 1;; ++tries) {
        double h = s->planned, limit = end;
        passing = 0;
        if (h > 0 || (ARKStepGetCurrentStep(step->ark, &h) == ARK_SUCCESS && h > 0))
            limit = passage_stop(s, h, end, &passing);
        if (h > 0 && s->ahead <= end && s->options->order < PASSING_ORDER)
            return soai_report(
                report, SOA_E_SINGULAR, -1, 0,
                "simulation stopped at t = %.9g s: a singular configuration lies ahead, at about "
                "%.6g s (\"%s\" is the weakest); steps of order %d or more pass over it",
                step->t, s->ahead, weakest(s), PASSING_ORDER);
        *flag = try_step(s, limit, passing);
        /* When passing, after one failure we choose the step ourselves. */
        const int inaccurate = *flag == ARK_ERR_FAILURE && passing > 0;
        const int failed = *flag == ARK_POSTPROCESS_STEP_FAIL || *flag == ARK_UNREC_RHSFUNC_ERR;
        if ((!failed && !inaccurate) || tries > RETRIES) break;
        double length = passing;
        if (!(passing > 0)) length = fmin(h > 0 ? h : INFINITY, limit - step->t_before);
        if (!try_again(s, length, inaccurate, tries)) break;
    }
    if (*flag < 0) return SOA_OK;
    s->result->relief = fmax(s->result->relief, s->relief);
    s->result->passages += passing > 0;
    s->planned = 0;
    s->mercy = 1;
    return SOA_OK;
}

/* --- the start -------------------------------------------------------------------------------- */
/* Finds which coordinates are angles, which joints need their turns, and what has friction. */
static soa_status survey(sim *s) {
    soai_mark_angles(s->model, s->angle);
    for (int i = 0, seen = 0; seen < soa_constraints_count(s->constraints); ++i) {
        soa_constraint_def def;
        if (soa_constraints_get_def(s->constraints, i, &def)) continue;
        ++seen;
        s->counts |= def.kind == SOA_LOOP && def.stiffness != 0;
        for (int j = 0; j < SOA_RATIO_TERMS; ++j)
            s->counts |= def.kind == SOA_RATIO && def.coordinate[j] < 0;
    }
    return soai_rubbing_init(&s->rub, s->constraints, s->work);
}

static soa_status prepare(void *user, soa_report *report) {
    sim *s = user;
    soai_stepper *step = &s->loop.step;
    double off = 0;
    s->work = s->loop.work;
    s->t_mark = step->t;
    soa_status status = survey(s);
    if (status) return soai_report(report, status, -1, 0, "%s", soa_status_text(status));
    s->loop.events = 2 * s->rub.count;
    /* NaN and wrong quaternions are refused, not repaired. */
    status = soa_kinematics(s->model, s->work, step->data, step->data + s->nq, NULL);
    if (status) {
        step->fault.body = soa_work_failed_body(s->work);
        return explain(s, status, 0, report);
    }
    /* Measure at zero speed how far the loops are open. */
    memcpy(step->before, step->data, (size_t)s->nq * sizeof *step->data);
    const char *name = worst(s, step->t, step->before, 0, &off);
    if (off > open_most)
        return soai_report(
            report, SOA_E_INCONSISTENT, -1, 0,
            "the start does not obey \"%s\", which is off by %.3g: assemble it first", name, off);
    step->fault.status = status = project(s, step->t, step->data);
    return status ? explain(s, status, 0, report) : SOA_OK;
}

/* Coordinates that move slide; those at rest are divided into stuck and sliding ones. */
static soa_status begin(void *user) {
    sim *s = user;
    soai_stepper *step = &s->loop.step;
    soa_status status = SOA_OK;
    for (int k = 0; k < s->rub.count; ++k)
        s->rub.list[k].mode = SOAI_UP;
    if (s->rub.count &&
        !(step->fault.status = status = soai_rubbing_at(&s->rub, s->loop.q, step->data + s->nq))) {
        soai_rubbing_gather(&s->rub, at_rest);
        s->fresh = s->loose = 1; /* finds the initial rank */
        if (!(step->fault.status = status = evaluate(s, step->t, step->data))) status = regroup(s);
        s->projecting = 0;
    }
    s->fresh = 1;
    if (!status && (step->fault.status = status = evaluate(s, step->t, step->data)))
        s->projecting = 0;
    s->result->drift_worst = 0; /* the drift of the caller's state does not count */
    return status;
}

static const soai_mechanism closed_machine = {.losses = 1,
                                              .energy_by_step = 1,
                                              .prepare = prepare,
                                              .begin = begin,
                                              .accelerate = accelerate,
                                              .power = power,
                                              .shorter_helps = shorter_helps,
                                              .energy = energy,
                                              .step = take_step,
                                              .after_step = after_step,
                                              .weights = weights,
                                              .watch = watch,
                                              .overdue = overdue,
                                              .refine = refine,
                                              .react = react,
                                              .crowded = crowded,
                                              .record = record,
                                              .check = check,
                                              .show = show,
                                              .explain = explain};

soa_status soa_closed_simulate(soa_constraints *constraints, double *q, double *v,
                               const soa_closed_sim_options *options, soa_closed_sim_result *result,
                               soa_report *report) {
    soai_report_reset(report);
    const soa_closed_sim_options plain = soa_closed_sim_options_default();
    if (!options) options = &plain;
    if (!constraints || !q || !result)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_closed_simulate: constraints, q and result are needed");
    const soa_closed_sim_options *o = options;
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
    if (status) return soai_report_end(report, status);
    memset(result, 0, sizeof *result);
    result->relief = 1;
    result->rows = soa_constraints_row_count(constraints);
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
    const size_t nq = (size_t)s.nq, nv = (size_t)s.nv, rows = (size_t)result->rows;
    status = soai_loop_open(&s.loop, &closed_machine, &s, model, &settings);
    s.numbers = calloc(2 * nv + 2 * (rows + 1), sizeof *s.numbers);
    s.angle = calloc(nq + 1, 1);
    if (!status && (!s.numbers || !s.angle)) status = SOA_E_MEMORY;
    if (status) {
        soai_report(report, status, -1, 0, "soa_closed_simulate: %s", soa_status_text(status));
    } else {
        s.tau = s.numbers;
        s.guess = s.tau + nv;
        s.strength[0] = s.guess + nv;
        s.strength[1] = s.strength[0] + rows + 1;
        status = soai_loop_run(&s.loop, q, v, report);
        result->steps = s.loop.steps;
    }
    if (!status) {
        memcpy(q, s.loop.step.data, nq * sizeof *q);
        if (v) memcpy(v, s.loop.step.data + nq, nv * sizeof *v);
    }
    soai_rubbing_release(&s.rub);
    soai_loop_close(&s.loop, &result->rejected, &result->wall_time);
    free(s.numbers);
    free(s.angle);
    return soai_report_end(report, status);
}
