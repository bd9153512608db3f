/* drop.c  motion of a tree under gravity, friction and applied torques: smooth intervals between
 * stick-slip events. A mechanism of time_loop.h.
 *
 * state    y = [q, v, supplied, viscous, coulomb]
 * interval Every joint with Coulomb friction has a mode: slides up, slides down, or is stuck. A
 *          sliding joint has the friction of its mode, not of sign(v). A stuck joint is held at
 *          rest by the torque h with
 *              (M^-1)_SS h = -(M^-1 (tau - bias))_S
 * events   v of a sliding joint changes sign, or h of a stuck joint leaves its bounds. For stops
 *          the time is refined by Newton's method.
 * after    The joints at rest are divided again into stuck and sliding ones: box_lcp.h. */
#include "../base/base_internal.h"
#include "box_lcp.h"
#include "joint_friction.h"
#include "time_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stuck joint breaks loose slightly beyond its bound. So it certainly accelerates then, and does
 * not chatter at the bound. */
static const double break_margin = 1e-9;

/* SMOOTH: a joint without Coulomb friction. */
typedef enum mode { SMOOTH = 2, UP = 1, STUCK = 0, DOWN = -1 } mode;

typedef struct sim {
    soai_time_loop loop;
    const soa_sim_options *options;
    int nq, nv;
    int coulomb_count, *coulomb; /* degrees of freedom with Coulomb friction */
    mode *mode;
    int stuck_count, *stuck;
    int at_rest;       /* the joint of this event did not move before it: its index, or -1 */
    double *up, *down; /* per degree of freedom: Coulomb friction for v > 0 and for v < 0 */
    double *tau, *hold, *Minv, *small, *x, *lo, *hi, *scratch;
    int *state, *pick;
    double *numbers, *squares; /* the blocks that hold these arrays */
    int *integers;
    soa_sim_result *result;
} sim;

soa_sim_options soa_sim_options_default(void) {
    return (soa_sim_options){.duration = 2,
                             .sample_time = 0.005,
                             .relative_tolerance = 1e-8,
                             .absolute_tolerance = 1e-10,
                             .order = 5,
                             .max_steps = 10000000};
}

/* --- smooth intervals ------------------------------------------------------------------------- */

/* Writes (M^-1)_ZZ of the chosen joints to sim->small. */
static void pick_minv(sim *s, const int *dof, int count) {
    for (int k = 0; k < count; k++)
        for (int l = 0; l < count; l++)
            s->small[k * count + l] = s->Minv[dof[k] * s->nv + dof[l]];
}

/* Accelerations with the friction of the modes and without torque on stuck joints; also M^-1 if a
 * joint is stuck. */
static soa_status free_motion(sim *s, double t, const double *y, int need_minv) {
    soai_time_loop *l = &s->loop;
    const double *v = y + s->nq;
    soa_status status = soai_loop_look(l, t, y);
    if (status != SOA_OK) return status;
    memcpy(s->tau, l->applied, (size_t)s->nv * sizeof(double));
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        s->tau[i] += soai_undo_sign(v[i], s->up[i], s->down[i]);
        if (s->mode[i] == UP) s->tau[i] -= s->up[i];
        if (s->mode[i] == DOWN) s->tau[i] += s->down[i];
    }
    s->result->evaluations++;
    status = soa_aba(l->model, l->work, l->q, v, s->tau, NULL, 0, l->qdd);
    if (status == SOA_OK && need_minv) status = soa_minv(l->model, l->work, l->q, s->Minv);
    return status;
}

/* Accelerations in an interval, and the torques that hold the stuck joints (s->hold, in their
 * order). */
static soa_status accelerate(void *user, double t, const double *y) {
    sim *s = user;
    double *qdd = s->loop.qdd;
    soa_status status = free_motion(s, t, y, s->stuck_count > 0);
    if (status != SOA_OK || s->stuck_count == 0) return status;

    int n = s->stuck_count;
    pick_minv(s, s->stuck, n);
    for (int k = 0; k < n; k++)
        s->hold[k] = -qdd[s->stuck[k]];
    if (!soai_solve_positive(n, s->small, s->hold)) return SOA_E_HINGE_SINGULAR;
    for (int i = 0; i < s->nv; i++)
        for (int k = 0; k < n; k++)
            qdd[i] += s->Minv[i * s->nv + s->stuck[k]] * s->hold[k];
    for (int k = 0; k < n; k++)
        qdd[s->stuck[k]] = 0;
    return SOA_OK;
}

static soa_status power(void *user, const double *v, double *out) {
    const sim *s = user;
    soai_loop_joint_power(&s->loop, v, out);
    for (int i = 0; i < s->nv; i++) {
        if (s->mode[i] == UP) out[2] += s->up[i] * v[i];
        if (s->mode[i] == DOWN) out[2] -= s->down[i] * v[i];
    }
    return SOA_OK;
}

/* A step that is too long may overflow. */
static int shorter_helps(soa_status status) {
    return status == SOA_E_NOT_FINITE;
}

/* Two event functions per joint with Coulomb friction, positive until the event. Sliding: (mode v,
 * 1). Stuck: distances of the holding torque from its bounds. */
static soa_status watch(void *user, double t, const double *y, double *g) {
    sim *s = user;
    const double *v = y + s->nq;
    soa_status status = s->stuck_count > 0 ? accelerate(s, t, y) : SOA_OK;
    if (status != SOA_OK) return status;
    for (int k = 0, stuck = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        if (s->mode[i] != STUCK) {
            g[2 * k] = (double)s->mode[i] * v[i];
        } else {
            double h = s->hold[stuck++];
            g[2 * k] = s->up[i] * (1 + break_margin) + h;
            g[2 * k + 1] = s->down[i] * (1 + break_margin) - h;
        }
    }
    return SOA_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

static void list_stuck(sim *s) {
    s->stuck_count = 0;
    for (int k = 0; k < s->coulomb_count; k++)
        if (s->mode[s->coulomb[k]] == STUCK) s->stuck[s->stuck_count++] = s->coulomb[k];
}

/* Divides the joints at rest (mode STUCK on entry) into stuck and sliding ones. */
static soa_status divide(sim *s) {
    list_stuck(s);
    int n = s->stuck_count;
    if (n == 0) return SOA_OK;
    soa_status status = free_motion(s, s->loop.step.t, s->loop.step.data, 1);
    if (status != SOA_OK) return status;
    pick_minv(s, s->stuck, n);
    for (int k = 0; k < n; k++) {
        int i = s->stuck[k];
        s->hold[k] = s->loop.qdd[i]; /* b of the complementarity problem */
        s->lo[k] = -s->up[i];
        s->hi[k] = s->down[i];
    }
    if (!soai_box_lcp(n, s->small, s->hold, s->lo, s->hi, s->x, s->state, s->scratch, s->pick))
        return SOA_E_NO_CONVERGENCE;
    for (int k = 0; k < n; k++) {
        if (s->state[k] < 0) {
            s->mode[s->stuck[k]] = UP;
        } else if (s->state[k] > 0) {
            s->mode[s->stuck[k]] = DOWN;
        } else {
            s->mode[s->stuck[k]] = STUCK;
        }
    }
    list_stuck(s);
    return SOA_OK;
}

/* Brings the joints of mode STUCK exactly to rest. The impulse needed costs almost no energy. */
static soa_status settle(sim *s) {
    soai_time_loop *l = &s->loop;
    double *v = l->step.data + s->nq;
    list_stuck(s);
    int n = s->stuck_count;
    memcpy(l->q, l->step.data, (size_t)s->nq * sizeof(double));
    soa_status status = soa_q_normalise(l->model, l->q);
    if (status == SOA_OK) status = soa_minv(l->model, l->work, l->q, s->Minv);
    if (status != SOA_OK) return status;
    pick_minv(s, s->stuck, n);
    for (int k = 0; k < n; k++)
        s->x[k] = -v[s->stuck[k]];
    if (!soai_solve_positive(n, s->small, s->x)) return SOA_E_HINGE_SINGULAR;
    for (int i = 0; i < s->nv; i++)
        for (int k = 0; k < n; k++)
            v[i] += s->Minv[i * s->nv + s->stuck[k]] * s->x[k];
    for (int k = 0; k < n; k++)
        v[s->stuck[k]] = 0;
    return SOA_OK;
}

/* True if the event of joint k (of those with Coulomb friction) was found and is a stop. */
static int has_stopped(const sim *s, int k) {
    return s->mode[s->coulomb[k]] != STUCK && s->loop.step.found[2 * k] != 0;
}

/* The time of the first stop, by Newton's method. */
static soa_status refine(void *user, int round, double *when) {
    sim *s = user;
    const soai_stepper *step = &s->loop.step;
    (void)round;
    for (int k = 0; k < s->coulomb_count; k++) {
        if (!has_stopped(s, k)) continue;
        soa_status status = accelerate(s, step->t, step->data);
        if (status == SOA_OK)
            *when -= step->data[s->nq + s->coulomb[k]] / s->loop.qdd[s->coulomb[k]];
        return status;
    }
    return SOA_OK;
}

/* Changes the modes of the joints whose event was found. */
static soa_status react(void *user) {
    sim *s = user;
    const int *found = s->loop.step.found;
    int stops = 0;
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        if (has_stopped(s, k)) {
            s->mode[i] = STUCK;
            stops++;
        } else if (s->mode[i] == STUCK && (found[2 * k] != 0 || found[2 * k + 1] != 0)) {
            s->mode[i] = found[2 * k] != 0 ? UP : DOWN;
            s->result->releases++;
        }
    }
    s->result->stops += stops;
    soa_status status = SOA_OK;
    if (stops > 0) status = settle(s);
    if (status == SOA_OK && stops > 0) status = divide(s);
    /* It does not start to move: it stays stuck. */
    if (status == SOA_OK && s->at_rest >= 0) s->mode[s->at_rest] = STUCK;
    s->at_rest = -1;
    list_stuck(s);
    return status;
}

/* A sliding joint may move against its mode although the root finder saw no crossing, because it
 * started from rest. */
static int overdue(void *user, double *when) {
    sim *s = user;
    const soai_stepper *step = &s->loop.step;
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        double v0 = (double)s->mode[i] * step->before[s->nq + i];
        double v1 = (double)s->mode[i] * step->data[s->nq + i];
        if (s->mode[i] == STUCK || !(v1 < 0)) continue;
        if (v0 > 0) *when += (step->t - step->t_before) * v0 / (v0 - v1);
        if (*when == step->t_before) s->at_rest = i;
        return 2 * k;
    }
    return -1;
}

static soa_status crowded(void *user, int event, soa_report *report) {
    const sim *s = user;
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "simulation stopped at t = %.9g s: joint %.60s sticks and slips without end",
                       s->loop.step.t, soai_joint_of(s->loop.model, s->coulomb[event / 2]));
}

/* --- samples ---------------------------------------------------------------------------------- */

static void record(void *user) {
    sim *s = user;
    soa_sim_result *r = s->result;
    const double *energy = s->loop.step.data + s->nq + s->nv;
    SOAI_RECORD_ENERGIES(r, &s->loop.energy);
    if (s->loop.step.ark != NULL) ARKStepGetNumSteps(s->loop.step.ark, &r->steps);
    r->t = s->loop.step.t;
    r->viscous = energy[1];
    r->coulomb = energy[2];
}

static soa_status show(void *user) {
    sim *s = user;
    const soai_time_loop *l = &s->loop;
    const soai_energies *e = &l->energy;
    s->result->samples++;
    if (s->options->sample == NULL) return SOA_OK;
    const soa_sim_sample sample = {.t = l->step.t,
                                   .q = l->q,
                                   .v = l->step.data + s->nq,
                                   .kinetic = e->kinetic,
                                   .potential = e->potential,
                                   .dissipated = e->dissipated,
                                   .supplied = e->supplied,
                                   .balance = e->balance};
    s->loop.stop = s->options->sample(s->options->sample_user, &sample) != 0;
    return SOA_OK;
}

/* --- the start -------------------------------------------------------------------------------- */

/* Allocates the arrays that every simulation needs, then those of Coulomb friction, in four
 * blocks. */
static soa_status allot(sim *s) {
    size_t n = (size_t)s->nv + 1;
    s->mode = calloc(n, sizeof *s->mode);
    s->numbers = calloc(3 * n, sizeof(double));
    s->integers = calloc(4 * n, sizeof(int));
    if (s->mode == NULL || s->numbers == NULL || s->integers == NULL) return SOA_E_MEMORY;
    double *d = s->numbers;
    s->up = d;
    d += n;
    s->down = d;
    d += n;
    s->tau = d;
    int *i = s->integers;
    s->coulomb = i;
    i += n;
    s->stuck = i;
    i += n;
    s->state = i;
    i += n;
    s->pick = i;
    return SOA_OK;
}

static soa_status allot_coulomb(sim *s) {
    size_t n = (size_t)s->nv, c = (size_t)s->coulomb_count;
    if (c == 0) return SOA_OK;
    double *d = s->squares = calloc(n * n + 2 * c * c + 5 * c, sizeof(double));
    if (d == NULL) return SOA_E_MEMORY;
    s->Minv = d;
    d += n * n;
    s->small = d;
    d += c * c;
    s->scratch = d;
    d += c * c + c;
    s->hold = d;
    d += c;
    s->x = d;
    d += c;
    s->lo = d;
    d += c;
    s->hi = d;
    return SOA_OK;
}

static soa_status prepare(void *user, soa_report *report) {
    sim *s = user;
    soai_losses(s->loop.model, NULL, s->up, s->down);
    for (int i = 0; i < s->nv; i++) {
        double speed = s->loop.step.data[s->nq + i];
        s->mode[i] = SMOOTH;
        if (!(s->up[i] > 0 || s->down[i] > 0)) continue;
        s->coulomb[s->coulomb_count++] = i;
        if (speed > 0) {
            s->mode[i] = UP;
        } else if (speed < 0) {
            s->mode[i] = DOWN;
        } else {
            s->mode[i] = STUCK;
        }
    }
    s->loop.events = 2 * s->coulomb_count;
    soa_status status = allot_coulomb(s);
    return status == SOA_OK ? status : soai_loop_explain(&s->loop, status, 0, report);
}

static soa_status begin(void *user) {
    sim *s = user;
    soa_status status = divide(s);
    if (status != SOA_OK) s->loop.step.fault.body = soa_work_failed_body(s->loop.work);
    return status;
}

static const soai_mechanism tree = {.losses = 2,
                                    .prepare = prepare,
                                    .begin = begin,
                                    .accelerate = accelerate,
                                    .power = power,
                                    .shorter_helps = shorter_helps,
                                    .watch = watch,
                                    .overdue = overdue,
                                    .refine = refine,
                                    .react = react,
                                    .crowded = crowded,
                                    .record = record,
                                    .show = show};

soa_status soa_simulate(const soa_model *model, const double *q, const double *v,
                        const soa_sim_options *options, soa_sim_result *result,
                        soa_report *report) {
    soai_report_reset(report);
    soa_sim_options defaults = soa_sim_options_default();
    if (model == NULL || q == NULL || result == NULL)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_simulate: model, q and result are needed");
    if (options == NULL) options = &defaults;
    const soa_sim_options *o = options;
    const soai_loop_settings settings = {.duration = o->duration,
                                         .sample_time = o->sample_time,
                                         .relative = o->relative_tolerance,
                                         .absolute = o->absolute_tolerance,
                                         .order = o->order,
                                         .max_steps = o->max_steps,
                                         .torque = o->torque,
                                         .torque_user = o->torque_user};
    if (o->sample_time == 0)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "sample_time is 0 s; it must be positive");
    soa_status status = soai_loop_check(&settings, report);
    if (status != SOA_OK) return soai_report_end(report, status);

    *result = (soa_sim_result){0};
    sim s = {.options = options,
             .nq = soa_model_nq(model),
             .nv = soa_model_nv(model),
             .at_rest = -1,
             .result = result};
    status = soai_loop_open(&s.loop, &tree, &s, model, &settings);
    if (status == SOA_OK) status = allot(&s);
    if (status != SOA_OK) {
        soai_report(report, status, -1, 0, "soa_simulate: %s", soa_status_text(status));
    } else {
        status = soai_loop_run(&s.loop, q, v, report);
    }
    if (s.loop.step.ark != NULL) ARKStepGetNumSteps(s.loop.step.ark, &result->steps);
    soai_loop_close(&s.loop, &result->rejected, &result->wall_time);
    free(s.mode);
    free(s.numbers);
    free(s.squares);
    free(s.integers);
    return soai_report_end(report, status);
}
