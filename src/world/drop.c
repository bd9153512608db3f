/* drop.c  motion of a machine under gravity, friction and applied torques: smooth intervals
 * between stick-slip events.
 *
 * state    y = [q, v, viscous, coulomb, supplied]. The last three are energies, so the balance is
 *          integrated as accurately as the motion.
 * interval Every joint with Coulomb friction has a mode: slides up, slides down, or is stuck. A
 *          sliding joint has the friction of its mode, not of sign(v). A stuck joint is held at
 *          rest by the torque h with
 *              (M^-1)_SS h = -(M^-1 (tau - bias))_S
 * events   v of a sliding joint changes sign, or h of a stuck joint leaves its bounds. ARKODE's
 *          root finder finds them on its interpolant. The interval up to the event is then
 *          integrated again to end there, and for stops the time is refined by Newton's method. So
 *          no interpolated state enters the motion.
 * after    The joints at rest are divided again into stuck and sliding ones: box_lcp.h. */
#include "../base/base_internal.h"
#include "box_lcp.h"
#include "joint_friction.h"
#include "stepper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stuck joint breaks loose slightly beyond its bound. So it certainly accelerates then, and does
 * not chatter at the bound. */
static const double break_margin = 1e-9;
/* Most events per joint without progress in time. */
enum { CROWD = 20 };

/* SMOOTH: a joint without Coulomb friction. */
typedef enum mode { SMOOTH = 2, UP = 1, STUCK = 0, DOWN = -1 } mode;

typedef struct sim {
    const soa_model *model;
    soa_work *work;
    const soa_sim_options *options;
    int nq, nv;
    int coulomb_count, *coulomb; /* degrees of freedom with Coulomb friction */
    mode *mode;
    int stuck_count, *stuck;
    /* Per degree of freedom: viscous friction, Coulomb friction for v > 0 and for v < 0. */
    double *damping, *up, *down;
    double *q, *tau, *applied, *qdd, *hold, *Minv, *small, *x, *lo, *hi, *scratch;
    int *state, *pick;
    double *numbers, *squares; /* the blocks that hold these arrays */
    int *integers;

    soai_stepper step; /* y as above */
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
static soa_status free_motion(sim *s, double t, const double *q, const double *v, int need_minv) {
    memset(s->applied, 0, (size_t)s->nv * sizeof(double));
    if (s->options->torque != NULL) {
        soa_status status = s->options->torque(s->options->torque_user, t, q, v, s->applied);
        if (status != SOA_OK) return status;
    }
    /* soa_aba subtracts the friction of sign(v); add it back and subtract that of the mode
     * instead. */
    memcpy(s->tau, s->applied, (size_t)s->nv * sizeof(double));
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        if (v[i] > 0) s->tau[i] += s->up[i];
        if (v[i] < 0) s->tau[i] -= s->down[i];
        if (s->mode[i] == UP) s->tau[i] -= s->up[i];
        if (s->mode[i] == DOWN) s->tau[i] += s->down[i];
    }
    s->result->evaluations++;
    soa_status status = soa_aba(s->model, s->work, q, v, s->tau, NULL, 0, s->qdd);
    if (status == SOA_OK && need_minv) status = soa_minv(s->model, s->work, q, s->Minv);
    return status;
}

/* Accelerations in an interval, and the torques that hold the stuck joints (s->hold, in their
 * order). */
static soa_status motion(sim *s, double t, const double *y) {
    const double *v = y + s->nq;
    memcpy(s->q, y, (size_t)s->nq * sizeof(double));
    soa_status status = soa_q_normalise(s->model, s->q);
    if (status == SOA_OK) status = free_motion(s, t, s->q, v, s->stuck_count > 0);
    if (status != SOA_OK || s->stuck_count == 0) return status;

    int n = s->stuck_count;
    pick_minv(s, s->stuck, n);
    for (int k = 0; k < n; k++)
        s->hold[k] = -s->qdd[s->stuck[k]];
    if (!soai_solve_positive(n, s->small, s->hold)) return SOA_E_HINGE_SINGULAR;
    for (int i = 0; i < s->nv; i++)
        for (int k = 0; k < n; k++)
            s->qdd[i] += s->Minv[i * s->nv + s->stuck[k]] * s->hold[k];
    for (int k = 0; k < n; k++)
        s->qdd[s->stuck[k]] = 0;
    return SOA_OK;
}

static int derivative(realtype t, N_Vector y_vector, N_Vector rate_vector, void *user) {
    sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector), *v = y + s->nq;
    double *rate = N_VGetArrayPointer(rate_vector);
    s->step.status = motion(s, t, y);
    if (s->step.status == SOA_OK) s->step.status = soa_q_rate(s->model, s->q, v, rate);
    if (s->step.status != SOA_OK) {
        s->step.body = soa_work_failed_body(s->work);
        /* A step that is too long may overflow: try a shorter one. */
        return s->step.status == SOA_E_NOT_FINITE ? 1 : -1;
    }
    memcpy(rate + s->nq, s->qdd, (size_t)s->nv * sizeof(double));
    double viscous = 0, coulomb = 0, supplied = 0;
    for (int i = 0; i < s->nv; i++) {
        viscous += s->damping[i] * v[i] * v[i];
        supplied += s->applied[i] * v[i];
        if (s->mode[i] == UP) coulomb += s->up[i] * v[i];
        if (s->mode[i] == DOWN) coulomb -= s->down[i] * v[i];
    }
    double *energy = rate + s->nq + s->nv;
    energy[0] = viscous;
    energy[1] = coulomb;
    energy[2] = supplied;
    return 0;
}

/* Two event functions per joint with Coulomb friction, positive until the event. Sliding: (mode v,
 * 1). Stuck: distances of the holding torque from its bounds. */
static int watch(realtype t, N_Vector y_vector, realtype *g, void *user) {
    sim *s = user;
    const double *y = N_VGetArrayPointer(y_vector), *v = y + s->nq;
    for (int k = 0; k < 2 * s->coulomb_count; k++)
        g[k] = 1;
    if (!s->step.watching) return 0;
    if (s->stuck_count > 0) {
        s->step.status = motion(s, t, y);
        if (s->step.status != SOA_OK) return -1;
    }
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
    return 0;
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
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof(double));
    soa_status status = soa_q_normalise(s->model, s->q);
    if (status == SOA_OK) status = free_motion(s, s->step.t, s->q, s->step.data + s->nq, 1);
    if (status != SOA_OK) return status;
    pick_minv(s, s->stuck, n);
    for (int k = 0; k < n; k++) {
        int i = s->stuck[k];
        s->hold[k] = s->qdd[i]; /* b of the complementarity problem */
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
    double *v = s->step.data + s->nq;
    list_stuck(s);
    int n = s->stuck_count;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof(double));
    soa_status status = soa_q_normalise(s->model, s->q);
    if (status == SOA_OK) status = soa_minv(s->model, s->work, s->q, s->Minv);
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

/* The last step reached an event near `when`; s->step.found says which joints, numbered as in
 * `watch`. Leaves the state at the event with new modes. */
static soa_status handle(sim *s, double when, int *flag) {
    double t_after = s->step.t;
    int first_stop = -1;
    for (int k = 0; k < s->coulomb_count && first_stop < 0; k++)
        if (s->mode[s->coulomb[k]] != STUCK && s->step.found[2 * k] != 0)
            first_stop = s->coulomb[k];
    for (int round = 0; round < 5; round++) {
        if ((*flag = soai_stepper_again(&s->step, when)) != ARK_SUCCESS) return s->step.status;
        if (first_stop < 0) break;
        double speed = s->step.data[s->nq + first_stop];
        soa_status status = motion(s, s->step.t, s->step.data);
        if (status != SOA_OK) return status;
        double better = when - speed / s->qdd[first_stop];
        if (!(better > s->step.t_before && better < t_after) ||
            fabs(better - when) <= 1e-14 * (1 + fabs(when)))
            break;
        when = better;
    }
    int stops = 0;
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        if (s->mode[i] != STUCK && s->step.found[2 * k] != 0) {
            s->mode[i] = STUCK;
            stops++;
        } else if (s->mode[i] == STUCK &&
                   (s->step.found[2 * k] != 0 || s->step.found[2 * k + 1] != 0)) {
            s->mode[i] = s->step.found[2 * k] != 0 ? UP : DOWN;
            s->result->releases++;
        }
    }
    s->result->stops += stops;
    soa_status status = SOA_OK;
    if (stops > 0) status = settle(s);
    if (status == SOA_OK && stops > 0) status = divide(s);
    list_stuck(s);
    *flag = ARKStepReset(s->step.ark, s->step.t, s->step.y);
    return status;
}

/* A sliding joint that moves against its mode although the root finder saw no crossing, because it
 * started from rest; -1: none. */
static int wrong_way(const sim *s) {
    const double *v = s->step.data + s->nq;
    for (int k = 0; k < s->coulomb_count; k++) {
        int i = s->coulomb[k];
        if (s->mode[i] != STUCK && (double)s->mode[i] * v[i] < 0) return k;
    }
    return -1;
}

/* --- the whole motion ------------------------------------------------------------------------- */

static const char *joint_of(const sim *s, int dof) {
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(s->model); b++)
        if (soa_model_body(s->model, b, &info) == SOA_OK && dof >= info.v_index &&
            dof < info.v_index + info.nv)
            return info.joint;
    return "?";
}

static soa_status explain(const sim *s, soa_status status, int flag, soa_report *report) {
    return soai_stepper_explain(&s->step, s->model, status, flag, report);
}

/* Integrates from s->step.t to `end`. */
static soa_status advance(sim *s, double end, double *last_event, int *crowd, soa_report *report) {
    int flag = ARK_SUCCESS;
    soa_status status = SOA_OK;
    while (end - s->step.t > 1e-14 * (1 + fabs(end))) {
        soai_stepper_mark(&s->step);
        flag = soai_stepper_step(&s->step, end);
        if (flag < 0) return explain(s, SOA_OK, flag, report);
        if (ARKStepGetNumSteps(s->step.ark, &s->result->steps) == ARK_SUCCESS &&
            s->result->steps > s->options->max_steps)
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "simulation stopped at t = %.9g s: more than %ld steps", s->step.t,
                               s->options->max_steps);
        double when = s->step.t;
        int against = -1;
        if (flag == ARK_ROOT_RETURN) {
            ARKStepGetRootInfo(s->step.ark, s->step.found);
            ARKStepGetCurrentTime(s->step.ark, &s->step.t);
        } else {
            if ((against = wrong_way(s)) < 0) continue;
            int i = s->coulomb[against];
            double v0 = (double)s->mode[i] * s->step.before[s->nq + i],
                   v1 = (double)s->mode[i] * s->step.data[s->nq + i];
            memset(s->step.found, 0, (size_t)(2 * s->coulomb_count) * sizeof(int));
            s->step.found[2 * against] = -1;
            when = v0 > 0 ? s->step.t_before + (s->step.t - s->step.t_before) * v0 / (v0 - v1)
                          : s->step.t_before;
        }
        int at_rest = against >= 0 && when == s->step.t_before;
        status = handle(s, when, &flag);
        /* It does not start to move: it stays stuck. */
        if (status == SOA_OK && flag >= 0 && at_rest) {
            s->mode[s->coulomb[against]] = STUCK;
            list_stuck(s);
        }
        if (status != SOA_OK || flag < 0) return explain(s, status, flag, report);
        if (s->step.t - *last_event > 1e-12 * (1 + fabs(s->step.t))) *crowd = 0;
        *last_event = s->step.t;
        if (++*crowd > CROWD * s->coulomb_count) {
            int which = 0;
            while (which < s->coulomb_count - 1 && s->step.found[2 * which] == 0 &&
                   s->step.found[2 * which + 1] == 0)
                which++;
            return soai_report(
                report, SOA_E_NO_CONVERGENCE, -1, 0,
                "simulation stopped at t = %.9g s: joint %.60s sticks and slips without end",
                s->step.t, joint_of(s, s->coulomb[which]));
        }
    }
    s->step.t = end;
    return SOA_OK;
}

static soa_status show(sim *s, double t, int *stop) {
    soa_sim_result *r = s->result;
    const double *v = s->step.data + s->nq, *energy = v + s->nv;
    memcpy(s->q, s->step.data, (size_t)s->nq * sizeof(double));
    soa_status status = soa_q_normalise(s->model, s->q);
    if (status == SOA_OK)
        status = soa_energy(s->model, s->work, s->q, v, &r->kinetic, &r->potential);
    if (status != SOA_OK) return status;
    r->t = t;
    if (r->samples++ == 0) {
        r->kinetic_start = r->kinetic;
        r->potential_start = r->potential;
    }
    r->viscous = energy[0];
    r->coulomb = energy[1];
    r->supplied = energy[2];
    double dissipated = r->viscous + r->coulomb;
    const soai_energies e = {r->kinetic_start, r->potential_start, r->kinetic,
                             r->potential,     dissipated,         r->supplied};
    r->balance = soai_energy_balance(&e, &r->balance_worst, &r->energy_scale);
    if (s->options->sample != NULL) {
        soa_sim_sample sample = {t,          s->q,        v,         r->kinetic, r->potential,
                                 dissipated, r->supplied, r->balance};
        *stop = s->options->sample(s->options->sample_user, &sample) != 0;
    }
    return SOA_OK;
}

/* Allocates the arrays that every simulation needs, then those of Coulomb friction, in four
 * blocks. */
static soa_status allot(sim *s) {
    size_t n = (size_t)s->nv + 1;
    s->mode = calloc(n, sizeof *s->mode);
    s->numbers = calloc(6 * n + (size_t)s->nq, sizeof(double));
    s->integers = calloc(4 * n, sizeof(int));
    if (s->mode == NULL || s->numbers == NULL || s->integers == NULL) return SOA_E_MEMORY;
    double *d = s->numbers;
    s->damping = d;
    d += n;
    s->up = d;
    d += n;
    s->down = d;
    d += n;
    s->tau = d;
    d += n;
    s->applied = d;
    d += n;
    s->qdd = d;
    d += n;
    s->q = d;
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

static soa_status run(sim *s, const double *q, const double *v, soa_report *report) {
    const soa_sim_options *o = s->options;
    for (int i = 0; i < s->nv; i++)
        s->mode[i] = SMOOTH;
    soai_losses(s->model, s->damping, s->up, s->down);
    memcpy(s->step.data, q, (size_t)s->nq * sizeof(double));
    if (v != NULL) memcpy(s->step.data + s->nq, v, (size_t)s->nv * sizeof(double));
    for (int i = 0; i < s->nv; i++) {
        double speed = s->step.data[s->nq + i];
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
    int stop = 0;
    soa_status status = allot_coulomb(s);
    if (status == SOA_OK) status = show(s, 0, &stop);
    if (status == SOA_OK) status = divide(s);
    if (status != SOA_OK) {
        s->step.body = soa_work_failed_body(s->work);
        return explain(s, status, 0, report);
    }
    s->step.watching = 1;
    const soai_step_plan plan = {.rate = derivative,
                                 .watch = watch,
                                 .events = 2 * s->coulomb_count,
                                 .order = o->order,
                                 .relative = o->relative_tolerance,
                                 .absolute = o->absolute_tolerance};
    int flag = soai_stepper_start(&s->step, &plan, s);
    if (flag != ARK_SUCCESS) return explain(s, SOA_OK, flag, report);

    double last_event = -1;
    int crowd = 0;
    for (long k = 1; !stop && s->step.t < o->duration; k++) {
        double end = (double)k * o->sample_time;
        if (end > o->duration * (1 - 1e-12)) end = o->duration;
        if ((status = advance(s, end, &last_event, &crowd, report)) != SOA_OK) return status;
        if ((status = show(s, end, &stop)) != SOA_OK) return explain(s, status, 0, report);
    }
    return SOA_OK;
}

soa_status soa_simulate(const soa_model *model, const double *q, const double *v,
                        const soa_sim_options *options, soa_sim_result *result,
                        soa_report *report) {
    soa_sim_options defaults = soa_sim_options_default();
    if (model == NULL || q == NULL || result == NULL)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_simulate: model, q and result are needed");
    if (options == NULL) options = &defaults;
    const soa_sim_options *o = options;
    soa_status status = soai_check_span(0, o->duration, o->sample_time, report);
    if (!status && o->sample_time == 0)
        status =
            soai_report(report, SOA_E_ARGUMENT, -1, 0, "sample_time is 0 s; it must be positive");
    if (!status)
        status =
            soai_check_steps(o->relative_tolerance, o->absolute_tolerance, o->order, 0, report);
    if (status != SOA_OK) return status;

    const double begin = soai_seconds();
    *result = (soa_sim_result){0};
    sim s = {.model = model,
             .options = options,
             .nq = soa_model_nq(model),
             .nv = soa_model_nv(model),
             .result = result};
    status = allot(&s);
    if (status == SOA_OK) status = soa_work_create(model, &s.work);
    if (status == SOA_OK) status = soai_stepper_open(&s.step, s.nq + s.nv + 3);
    if (status != SOA_OK) {
        soai_report(report, status, -1, 0, "soa_simulate: %s", soa_status_text(status));
    } else {
        status = run(&s, q, v, report);
    }
    if (s.step.ark != NULL) ARKStepGetNumSteps(s.step.ark, &result->steps);
    soai_stepper_close(&s.step, &result->rejected);
    if (s.work != NULL) soa_work_free(s.work);
    free(s.mode);
    free(s.numbers);
    free(s.squares);
    free(s.integers);
    result->wall_time = soai_seconds() - begin;
    return status;
}
