/* pulls.c  intervention from outside: setting states, and pulling on bodies and joints.
 *
 * set    The state block is copied, changed and, if the new state is not valid, restored. Slots of
 *        contacts, springs of friction and delayed readings belong to the earlier motion and are
 *        cleared. energy_start, momentum_start and stored_start are shifted by what the jump
 *        changed, so the balances remain those of the motion alone.
 * pull   A force plus a bounded spring at a point p = o + R a of a body, evaluated like all other
 *        forces inside the steps. Work dW/dt = f . p' and impulse about the origin
 *        dh/dt = [p x f; f] are booked with those of disturbances.
 * hold   The same at one joint coordinate. It is an internal torque and has no impulse. */
#include "world_internal.h"

#include <math.h>
#include <stdlib.h>

static int finite(const double *x, int n) {
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) < INFINITY)) return 0;
    return 1;
}
/* Factor of a spring that keeps its force below `most`. */
static double share(double square, double most) {
    return most > 0 ? 1 / sqrt(1 + square / (most * most)) : 1;
}

/* --- pulls ------------------------------------------------------------------------------------ */
soa_status soai_hand_pulls(soa_world *w, double *ledger) {
    for (int i = 0; i < w->pull_count; ++i) {
        const soa_world_pull *pull = &w->pulls[i];
        soa_frame own;
        double V[6], arm[3], p[3], rate[3], f[3], square = 0;
        soa_status s = soa_pose(w->model, w->work, w->body_frame[pull->body], &own);
        if (!s) s = soa_velocity(w->model, w->work, w->body_frame[pull->body], SOA_AXES_WORLD, V);
        if (s) return s;
        for (int k = 0; k < 3; ++k) {
            arm[k] = own.R[3 * k] * pull->at[0] + own.R[3 * k + 1] * pull->at[1] +
                     own.R[3 * k + 2] * pull->at[2];
            p[k] = own.p[k] + arm[k];
        }
        rate[0] = V[3] + V[1] * arm[2] - V[2] * arm[1];
        rate[1] = V[4] + V[2] * arm[0] - V[0] * arm[2];
        rate[2] = V[5] + V[0] * arm[1] - V[1] * arm[0];
        for (int k = 0; k < 3; ++k) {
            f[k] = pull->stiffness * (pull->to[k] - p[k]) - pull->damping * rate[k];
            square += f[k] * f[k];
        }
        const double part = share(square, pull->most);
        for (int k = 0; k < 3; ++k)
            f[k] = part * f[k] + pull->force[k];
        soai_push(w, pull->body, p, f, 1);
        for (int k = 0; k < 3; ++k) {
            ledger[SOAI_DISTURBED] += f[k] * rate[k];
            ledger[SOAI_IMPULSE + k] +=
                p[(k + 1) % 3] * f[(k + 2) % 3] - p[(k + 2) % 3] * f[(k + 1) % 3];
            ledger[SOAI_IMPULSE + 3 + k] += f[k];
        }
    }
    return SOA_OK;
}

void soai_hand_holds(soa_world *w, const double *v, double *ledger) {
    for (int i = 0; i < w->hold_count; ++i) {
        const soa_world_hold *hold = &w->holds[i];
        const double raw =
            hold->stiffness * (hold->to - w->q[w->v_of_q[hold->v]]) - hold->damping * v[hold->v];
        const double tau = share(raw * raw, hold->most) * raw;
        w->torque[hold->v] += tau;
        ledger[SOAI_DISTURBED] += tau * v[hold->v];
    }
}

/* True if the coordinate's position is a single number of q: v_of_q is valid for joints with nq =
 * nv. */
static int can_hold(const soa_world *w, int v) {
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        if (v >= info.v_index && v < info.v_index + info.nv) return info.nq == info.nv;
    }
    return 0;
}

soa_status soa_world_set_pulls(soa_world *w, const soa_world_pull *pulls, int pull_count,
                               const soa_world_hold *holds, int hold_count) {
    if (!w || pull_count < 0 || hold_count < 0 || pull_count > SOA_WORLD_PULLS ||
        hold_count > SOA_WORLD_PULLS || (pull_count && !pulls) || (hold_count && !holds))
        return SOA_E_ARGUMENT;
    for (int i = 0; i < pull_count; ++i) {
        const soa_world_pull *p = &pulls[i];
        const double gains[3] = {p->stiffness, p->damping, p->most};
        if (p->body < 1 || p->body > w->bodies) return SOA_E_ARGUMENT;
        if (!finite(p->at, 3) || !finite(p->force, 3) || !finite(p->to, 3) || !finite(gains, 3))
            return SOA_E_NOT_FINITE;
        if (!(gains[0] >= 0 && gains[1] >= 0 && gains[2] >= 0)) return SOA_E_ARGUMENT;
    }
    for (int i = 0; i < hold_count; ++i) {
        const soa_world_hold *h = &holds[i];
        const double gains[4] = {h->stiffness, h->damping, h->most, h->to};
        if (h->v < 0 || h->v >= w->nv || !can_hold(w, h->v)) return SOA_E_ARGUMENT;
        if (!finite(gains, 4)) return SOA_E_NOT_FINITE;
        if (!(gains[0] >= 0 && gains[1] >= 0 && gains[2] >= 0)) return SOA_E_ARGUMENT;
    }
    if (pull_count) memcpy(w->pulls, pulls, (size_t)pull_count * sizeof *pulls);
    if (hold_count) memcpy(w->holds, holds, (size_t)hold_count * sizeof *holds);
    w->pull_count = pull_count;
    w->hold_count = hold_count;
    return SOA_OK;
}

/* --- states ----------------------------------------------------------------------------------- */
typedef struct account { /* the terms of the balances */
    double energy, h[6], stored;
} account;

static soa_status take_account(soa_world *w, account *out) {
    double kinetic, potential, com[3], mass, inertia[6], sums[2];
    soa_status s = soai_peek(w);
    out->stored = 0;
    for (int i = 0; !s && i < w->touch_count; ++i)
        out->stored += w->touch[i].stored;
    if (!s) s = soai_energy(w, w->y, w->y + w->at_v, &kinetic, &potential);
    if (!s) s = soai_momentum(w, w->y, out->h, com, &mass, inertia, sums);
    if (!s) out->energy = kinetic + potential;
    return s;
}

static soa_status place(soa_world *w, const double *q, const double *v, soa_report *report) {
    soai_state *state = w->state;
    account before, after;
    soa_status s = take_account(w, &before);
    if (s) return s;
    memmove(w->y, q, (size_t)w->nq * sizeof *q); /* q and v may be the world's own arrays */
    if (v)
        memmove(w->y + w->at_v, v, (size_t)w->nv * sizeof *v);
    else
        memset(w->y + w->at_v, 0, (size_t)w->nv * sizeof *w->y);
    memset(w->y + w->at_slots, 0, (size_t)(w->y_count - w->at_slots) * sizeof *w->y);
    for (int k = 0; k < w->slot_count; ++k)
        w->slots[k] = (soai_slot){.meeting = -1};
    if (w->meeting_count) memset(w->caches, 0, (size_t)w->meeting_count * sizeof *w->caches);
    soai_contact_index(w);
    soai_sensors_forget(w);
    state->step = 0;
    if ((s = soa_q_normalise(w->model, w->y))) return s;
    if (w->constraints) {
        double error[2];
        if ((s = soa_closed_assemble(w->constraints, w->work, state->t, NULL, w->y, report)) ||
            (s = soa_closed_project(w->constraints, w->work, state->t, w->y, w->y + w->at_v,
                                    error)) ||
            (s = soai_loops_settle(w, state->t, w->y)))
            return s;
    }
    s = soai_look(w, state->t, w->y);
    if (s == SOA_E_ARGUMENT) { /* the paper's law has no value where shapes overlap */
        const soa_status overlap = soai_find_overlap(w, 0, "there", report);
        return overlap ? overlap : s;
    }
    if (!s) s = soai_find_overlap(w, 1, "there", report);
    if (s) return s;
    soai_contact_keep(w, state->t, w->y);
    soai_stops_look(w);
    if ((s = take_account(w, &after))) return s;
    state->stats.energy_start += after.energy - before.energy;
    for (int k = 0; k < 6; ++k)
        state->stats.momentum_start[k] += after.h[k] - before.h[k];
    w->stored_start += after.stored - before.stored;
    state->stored_start = w->stored_start;
    return SOA_OK;
}

soa_status soa_world_set_state(soa_world *w, const double *q, const double *v, soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    if (!w || !q) return soai_report_end(report, SOA_E_ARGUMENT);
    if (w->failed) return soai_report(report, w->failed, -1, 0, "%s", w->failed_text);
    if (!finite(q, w->nq) || (v && !finite(v, w->nv)))
        return soai_report(report, SOA_E_NOT_FINITE, -1, 0, "the state is not finite");
    void *before = malloc(w->state_size);
    if (!before)
        return soai_report(report, SOA_E_MEMORY, -1, 0, "%s", soa_status_text(SOA_E_MEMORY));
    const double stored = w->stored_start;
    const int events = w->event_count;
    memcpy(before, w->block, w->state_size);
    const soa_status s = place(w, q, v, report);
    if (s) { /* restore the state */
        memcpy(w->block, before, w->state_size);
        w->stored_start = stored;
        w->event_count = events;
        soai_contact_index(w);
        soai_loops_recount(w);
        soai_peek(w);
    }
    free(before);
    return soai_report_end(report, s);
}
