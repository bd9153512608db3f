/* motion.c  accelerations of the whole world, and steps in time.
 *
 * state       y = [q, v, ledger, tangential springs of contacts, springs of sticking joints]. The
 *             ledger holds works and impulses, integrated with the motion.
 * rate        Kinematics; contacts, disturbances, joint friction and stops as forces; then
 *             soa_aba, or soa_closed_fd if there are closed loops.
 * step        By SUNDIALS, one step at a time, never beyond the tick, during which torques are
 *             held. Every step is under error control, however short: where a force jumps by J,
 *             steps are shortened until J h is within the tolerance of the velocity. Time is
 *             counted from the start of the tick, so such steps are not lost in the rounding of
 *             time. A tick that would need too many steps, or steps as short as that rounding,
 *             ends the run.
 * bounds      WD89 section 2.5: no joint moves more than allowed in one step, and approaching
 *             bodies just touch at its end: h <= (margin - d) / d'.
 * after       Quaternions are normalised, loops projected. Total momentum of a free system is
 *             restored by a rigid motion of all its roots (the smallest change in kinetic energy;
 *             the error it removes is that of the step). Springs of friction are shortened to what
 *             friction holds. */
#include "../base/small_algebra.h"
#include "joint_friction.h"
#include "stepper.h"
#include "sticking_spring.h"
#include "world_internal.h"

#include <arkode/arkode_arkstep.h>
#include <cvode/cvode.h>

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* s: a step that brings bodies together is not made shorter than this. */
static const double least_step = 1e-6;
/* Shortest step, in units of the rounding of time at the end of the tick. */
static const double rounding_steps = 4;
/* Steps within a tick. After STEPS_JUDGED steps, the tick is given up if at the present pace it
 * would take more than STEPS_MOST. */
enum { STEPS_JUDGED = 1000000, STEPS_MOST = 4000000 };
/* The backward difference method restarts with order 1 at every tick. So its tolerance is divided
 * by this margin, and by more if there are more than cvode_ticks ticks. */
static const double cvode_margin = 8, cvode_ticks = 4000, cvode_most = 64;
/* Local errors of backward differences below this are lost in rounding. */
static const double least_local = 5e-16;
/* Smallest tolerances that Runge-Kutta methods can keep in spite of rounding. Low orders take so
 * many steps that rounding adds up. */
static const double least_relative = 1e-13, least_relative_low = 1e-12;
enum { LOW_ORDER = 4 };
/* m/s, rad/s: the speed of light; faster than any machine. */
static const double fastest_shift = 299792458, fastest_turn = 1e10;

/* Adds a force at a world point to the wrench of a body. */
void soai_push(soa_world *w, int body, const double point[3], const double force[3], double sign) {
    soa_frame at;
    if (!body || soa_pose(w->model, w->work, w->body_frame[body], &at)) return;
    double arm[3], moment[3], *out = w->wrench + 6 * body;
    for (int k = 0; k < 3; ++k)
        arm[k] = point[k] - at.p[k];
    soai_cross3(arm, force, moment);
    for (int k = 0; k < 3; ++k) {
        out[k] += sign * moment[k];
        out[3 + k] += sign * force[k];
    }
}

/* Computes kinematics and touches at (t, y). */
soa_status soai_look(soa_world *w, double t, const double *y) {
    memcpy(w->q, y, (size_t)w->nq * sizeof *w->q);
    soa_status s = soa_q_normalise(w->model, w->q);
    if (!s) s = soa_kinematics(w->model, w->work, w->q, y + w->at_v, NULL);
    if (!s) s = soai_contact_evaluate(w, t, y);
    return s;
}

/* Adds the contact forces of the touches found to the wrenches, and the rates of their springs. */
static void push_touches(soa_world *w, double *rate) {
    double *ledger = rate + w->at_ledger;
    for (int i = 0; i < w->touch_count; ++i) {
        const soai_touch *touch = &w->touch[i];
        const soai_meeting *m = &w->meetings[touch->meeting];
        double force[3];
        for (int k = 0; k < 3; ++k)
            force[k] = touch->pressure * touch->normal[k] + touch->tangential[k];
        soai_push(w, w->solids[m->a].body, touch->point, force, 1);
        soai_push(w, w->solids[m->b].body, touch->point, force, -1);
        ledger[SOAI_CONTACT] += touch->pressure * touch->rate;
        for (int k = 0; k < 3; ++k)
            ledger[SOAI_CONTACT] += touch->tangential[k] * touch->velocity[k];
        if (touch->slot < 0) continue;
        double *const kept = rate + w->at_slots + SOAI_SLOT_NUMBERS * touch->slot;
        memcpy(kept, touch->spring_rate, sizeof touch->spring_rate);
        kept[SOAI_TANK] = touch->tank_rate;
    }
}

static soa_status push_disturbances(soa_world *w, double *ledger) {
    soa_status s;
    for (int i = 0; i < w->scenario->disturbance_count; ++i) {
        const soa_disturbance *d = &w->scenario->disturbances[i];
        /* Disturbances are constant between their edges. */
        if (!(w->when >= d->start && w->when < d->start + d->duration)) continue;
        soa_frame at, own;
        double V[6], moment[3];
        soa_frame_info info;
        soa_model_frame(w->model, w->disturbed[i], &info);
        if ((s = soa_pose(w->model, w->work, w->disturbed[i], &at)) ||
            (s = soa_pose(w->model, w->work, w->body_frame[info.body], &own)) ||
            (s = soa_velocity(w->model, w->work, w->disturbed[i], SOA_AXES_WORLD, V)))
            return s;
        soai_push(w, info.body, at.p, d->wrench + 3, 1);
        for (int k = 0; k < 3; ++k)
            w->wrench[6 * info.body + k] += d->wrench[k];
        for (int k = 0; k < 6; ++k)
            ledger[SOAI_DISTURBED] += d->wrench[k] * V[k];
        soai_cross3(at.p, d->wrench + 3, moment);
        for (int k = 0; k < 3; ++k) {
            ledger[SOAI_IMPULSE + k] += d->wrench[k] + moment[k];
            ledger[SOAI_IMPULSE + 3 + k] += d->wrench[3 + k];
        }
    }
    return SOA_OK;
}

/* Lists the wrenches that are not zero; returns their number. */
static int list_wrenches(soa_world *w) {
    int count = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        const double *f = w->wrench + 6 * b;
        if (f[0] == 0 && f[1] == 0 && f[2] == 0 && f[3] == 0 && f[4] == 0 && f[5] == 0) continue;
        w->wrenches[count] = (soa_wrench){.frame = w->body_frame[b], .axes = SOA_AXES_WORLD};
        memcpy(w->wrenches[count++].value, f, 6 * sizeof *f);
    }
    return count;
}

/* Torques of motors, friction and stops. */
static void turn_joints(soa_world *w, const double *y, double *rate) {
    const double *v = y + w->at_v, *spring = y + w->at_joints;
    double *ledger = rate + w->at_ledger;
    for (int i = 0; i < w->nv; ++i) {
        double tau = w->tau[i];
        ledger[SOAI_SUPPLIED] += tau * v[i];
        ledger[SOAI_VISCOUS] += w->damping[i] * v[i] * v[i];
        const double up = w->friction_up[i], down = w->friction_down[i];
        if (up > 0 || down > 0) {
            double *spring_rate = rate + w->at_joints + i;
            const double rub = soai_sticking_force(up, down, spring[i], v[i], spring_rate);
            tau += rub + soai_undo_sign(v[i], up, down);
            ledger[SOAI_RUBBED] += rub * v[i];
        }
        if (w->stop_k[i] > 0) {
            const double stop = soai_stop_torque(w, i, w->q[w->v_of_q[i]], v[i]);
            tau += stop;
            ledger[SOAI_STOPPED] += stop * v[i];
        }
        w->torque[i] = tau;
    }
}

/* Computes y' at (t, y). */
soa_status soai_motion(soa_world *w, double t, const double *y, double *rate) {
    const double *v = y + w->at_v;
    double *ledger = rate + w->at_ledger;
    soa_status s;
    /* Only these need the poses; the dynamics compute their own. */
    if (w->meeting_count || w->scenario->disturbance_count || w->spring_count || w->pull_count) {
        s = soai_look(w, t, y);
    } else {
        memcpy(w->q, y, (size_t)w->nq * sizeof *w->q);
        s = soa_q_normalise(w->model, w->q);
    }
    if (s) return s;
    memset(rate + w->at_ledger, 0, (size_t)(w->y_count - w->at_ledger) * sizeof *rate);
    memset(w->wrench, 0, 6 * (size_t)(w->bodies + 1) * sizeof *w->wrench);
    push_touches(w, rate);
    if ((s = push_disturbances(w, ledger))) return s;
    if (w->pull_count && (s = soai_hand_pulls(w, ledger))) return s;
    if (w->spring_count && (s = soai_springs_pull(w, ledger))) return s;
    const int count = list_wrenches(w);
    turn_joints(w, y, rate);
    if (w->hold_count) soai_hand_holds(w, v, ledger);
    s = w->constraints ? soai_loops_accelerate(w, t, y, count, rate)
                       : soa_aba(w->model, w->work, w->q, v, w->torque, w->wrenches, count, w->qdd);
    if (!s) s = soa_q_rate(w->model, w->q, v, rate);
    if (s) {
        w->fault.body = soa_work_failed_body(w->work);
        return s;
    }
    memcpy(rate + w->at_v, w->qdd, (size_t)w->nv * sizeof *rate);
    return SOA_OK;
}

/* --- after a step ----------------------------------------------------------------------------- */
/* Momentum [angular; linear] about the origin, the centre of mass, the locked inertia about it (xx
 * yy zz xy xz yz), and the sums of magnitudes over the bodies. */
soa_status soai_momentum(soa_world *w, const double *y, double h[6], double com[3], double *mass,
                         double inertia[6], double sums[2]) {
    memset(h, 0, 6 * sizeof *h);
    *mass = 0;
    sums[0] = sums[1] = 0;
    memset(com, 0, 3 * sizeof *com);
    memset(inertia, 0, 6 * sizeof *inertia);
    memcpy(w->q, y, (size_t)w->nq * sizeof *w->q);
    soa_status s = soa_q_normalise(w->model, w->q);
    if (!s) s = soa_kinematics(w->model, w->work, w->q, y + w->at_v, NULL);
    for (int b = 1; !s && b <= w->bodies; ++b) {
        soa_body_info info;
        soa_frame at;
        double V[6], c[3], arm[3], p[3], L[3], turn[3], I[9], RI[9];
        soa_model_body(w->model, b, &info);
        if ((s = soa_pose(w->model, w->work, info.frame, &at)) ||
            (s = soa_velocity(w->model, w->work, info.frame, SOA_AXES_WORLD, V)))
            break;
        const double *J = info.inertia;
        const double local[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]};
        for (int r = 0; r < 3; ++r)
            for (int k = 0; k < 3; ++k)
                RI[3 * r + k] = at.R[3 * r] * local[k] + at.R[3 * r + 1] * local[3 + k] +
                                at.R[3 * r + 2] * local[6 + k];
        for (int r = 0; r < 3; ++r)
            for (int k = 0; k < 3; ++k)
                I[3 * r + k] = RI[3 * r] * at.R[3 * k] + RI[3 * r + 1] * at.R[3 * k + 1] +
                               RI[3 * r + 2] * at.R[3 * k + 2];
        for (int r = 0; r < 3; ++r) {
            arm[r] = at.R[3 * r] * info.com[0] + at.R[3 * r + 1] * info.com[1] +
                     at.R[3 * r + 2] * info.com[2];
            c[r] = at.p[r] + arm[r];
        }
        soai_cross3(V, arm, turn);
        for (int r = 0; r < 3; ++r)
            p[r] = info.mass * (V[3 + r] + turn[r]);
        soai_cross3(c, p, L);
        for (int r = 0; r < 3; ++r)
            L[r] += I[3 * r] * V[0] + I[3 * r + 1] * V[1] + I[3 * r + 2] * V[2];
        for (int r = 0; r < 3; ++r) {
            h[r] += L[r];
            h[3 + r] += p[r];
            com[r] += info.mass * c[r];
        }
        sums[0] += sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]);
        sums[1] += sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        *mass += info.mass;
        const double m = info.mass; /* about the origin; shifted below */
        inertia[0] += I[0] + m * (c[1] * c[1] + c[2] * c[2]);
        inertia[1] += I[4] + m * (c[0] * c[0] + c[2] * c[2]);
        inertia[2] += I[8] + m * (c[0] * c[0] + c[1] * c[1]);
        inertia[3] += I[1] - m * c[0] * c[1];
        inertia[4] += I[2] - m * c[0] * c[2];
        inertia[5] += I[5] - m * c[1] * c[2];
    }
    if (s || !(*mass > 0)) return s;
    const double m = *mass;
    for (int r = 0; r < 3; ++r)
        com[r] /= m;
    inertia[0] -= m * (com[1] * com[1] + com[2] * com[2]);
    inertia[1] -= m * (com[0] * com[0] + com[2] * com[2]);
    inertia[2] -= m * (com[0] * com[0] + com[1] * com[1]);
    inertia[3] += m * com[0] * com[1];
    inertia[4] += m * com[0] * com[2];
    inertia[5] += m * com[1] * com[2];
    return SOA_OK;
}

/* Gives all roots the same small rigid motion, so that momentum equals its value at the start plus
 * the impulse of disturbances. */
static soa_status restore_momentum(soa_world *w, double *y) {
    double h[6], com[3], mass, I[6], sums[2], wanted[6], turn[3];
    soa_status s = soai_momentum(w, y, h, com, &mass, I, sums);
    if (s) return s;
    const double *impulse = y + w->at_ledger + SOAI_IMPULSE;
    for (int k = 0; k < 6; ++k)
        wanted[k] = w->state->stats.momentum_start[k] + impulse[k] - h[k];
    double dv[3], A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, dw[3];
    for (int k = 0; k < 3; ++k)
        dv[k] = wanted[3 + k] / mass;
    soai_cross3(com, wanted + 3, turn);
    for (int k = 0; k < 3; ++k)
        dw[k] = wanted[k] - turn[k]; /* about the centre of mass */
    /* All mass on a line: no rotation to correct. */
    if (!soai_solve(3, A, dw)) return SOA_OK;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_frame at;
        soa_model_body(w->model, b, &info);
        if (info.parent || info.type != SOA_FREE) continue;
        if ((s = soa_pose(w->model, w->work, info.frame, &at))) return s;
        double arm[3], shift[3], *v = y + w->at_v + info.v_index;
        for (int k = 0; k < 3; ++k)
            arm[k] = at.p[k] - com[k];
        soai_cross3(dw, arm, shift);
        for (int k = 0; k < 3; ++k)
            for (int r = 0; r < 3; ++r) {
                v[k] += at.R[3 * r + k] * dw[r];
                v[3 + k] += at.R[3 * r + k] * (dv[r] + shift[r]);
            }
    }
    return SOA_OK;
}

static soa_status settle(soa_world *w, double t, double *y) {
    soa_status s = soa_q_normalise(w->model, y);
    if (!s && w->constraints) s = soai_loops_settle(w, t, y);
    if (!s && w->is_free && w->scenario->integration.keep_momentum) s = restore_momentum(w, y);
    return s;
}

void soai_event(soa_world *w, double t, const char *kind, const char *format, ...) {
    if (w->event_count >= w->event_most) return;
    soa_world_event *e = &w->events[w->event_count++];
    va_list list;
    e->t = t;
    if (w->event_count == w->event_most) {
        kind = "more";
        format = "later events of this tick are not kept";
    }
    snprintf(e->kind, sizeof e->kind, "%s", kind);
    va_start(list, format);
    vsnprintf(e->text, sizeof e->text, format, list);
    va_end(list);
}

/* Bookkeeping at an accepted state: touches and sticking joints keep their springs. */
static soa_status keep(soa_world *w, double t, double *y) {
    soa_status s = w->meeting_count ? soai_look(w, t, y) : SOA_OK;
    if (s) return s;
    soai_contact_keep(w, t, y);
    for (int i = 0; i < w->nv; ++i) {
        const double k = soai_sticking_stiffness(w->friction_up[i], w->friction_down[i]);
        double *spring = &y[w->at_joints + i];
        if (k > 0) *spring = fmin(fmax(*spring, -w->friction_down[i] / k), w->friction_up[i] / k);
    }
    soai_loops_keep(w, y);
    double stored = 0;
    for (int i = 0; i < w->touch_count; ++i)
        stored += w->touch[i].stored;
    soai_stats *stats = &w->state->stats;
    const double balance = y[w->at_ledger + SOAI_CONTACT] + stored - w->stored_start;
    stats->contact_least = fmin(stats->contact_least, balance);
    stats->created_worst = fmax(stats->created_worst, balance - stats->contact_least);
    return SOA_OK;
}

/* --- SUNDIALS --------------------------------------------------------------------------------- */
/* The world's time for the integrator's time. */
static double world_time(const soa_world *w, double t) {
    return t < w->span ? w->origin + t : w->end;
}
static int derivative(realtype t, N_Vector y, N_Vector rate, void *user) {
    soa_world *w = user;
    ++w->state->stats.evaluations;
    w->fault.status =
        soai_motion(w, world_time(w, t), N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    soai_fault_judge(&w->fault, N_VGetArrayPointer(y), w->at_v + w->nv);
    return w->fault.status ? 1 : 0; /* a shorter step may succeed */
}
static int weights(N_Vector y_vector, N_Vector weight_vector, void *user) {
    const soa_world *w = user;
    const soa_integration *o = &w->scenario->integration;
    const double *y = N_VGetArrayPointer(y_vector);
    double *out = N_VGetArrayPointer(weight_vector);
    for (int i = 0; i < w->y_count; ++i) {
        double size = fabs(y[i]), absolute = o->absolute_tolerance;
        if (i < w->nq && w->angle[i] && size > 1) size = 1;
        const int tank = i >= w->at_slots && i < w->at_joints &&
                         (i - w->at_slots) % SOAI_SLOT_NUMBERS == SOAI_TANK;
        if ((i >= w->at_ledger && i < w->at_slots) || tank) {
            size = fmax(size, w->state->stats.energy_scale);
            absolute *= 10;
        } else if (i >= w->at_slots) /* springs of friction: their rates have corners */
        {
            absolute = fmax(absolute, fmin(1e3 * absolute, 1e-7));
        }
        out[i] = 1 / ((o->relative_tolerance * size + absolute) / w->sharpness +
                      DBL_EPSILON * fabs(y[i]));
        if (!(out[i] > 0)) return -1;
    }
    return 0;
}
static int after_step(realtype t, N_Vector y, void *user) {
    soa_world *w = user;
    double *data = N_VGetArrayPointer(y);
    const double now = world_time(w, t);
    w->fault.status = settle(w, now, data);
    if (!w->fault.status) w->fault.status = keep(w, now, data);
    return w->fault.status ? -1 : 0;
}
/* Longest step allowed from the state reached. */
static double longest(soa_world *w, const double *y) {
    const soa_integration *o = &w->scenario->integration;
    double h = INFINITY;
    if (o->max_joint_step > 0)
        for (int i = 0; i < w->nv; ++i)
            if (fabs(y[w->at_v + i]) * h > o->max_joint_step)
                h = o->max_joint_step / fabs(y[w->at_v + i]);
    h = fmin(h, fmax(least_step, soai_stops_longest(w, y)));
    if (!w->meeting_count) return h;
    /* touches that are about to end: the law has a corner there */
    for (int i = 0; i < w->touch_count; ++i) {
        const soai_touch *t = &w->touch[i];
        const double gap = w->laws[w->meetings[t->meeting].law].margin - t->distance;
        if (t->rate * h > gap) h = fmax(least_step, gap / t->rate);
    }
    /* pairs that can meet within a tick; no step is longer than a tick */
    const double horizon = w->tick_length;
    for (int i = 0; i < w->solid_count; ++i) {
        const double *V = w->twist + 6 * i, turn = sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2]);
        double size = 0;
        w->reach[i] = w->bounds[i];
        for (int k = 0; k < 3; ++k)
            size += pow(w->bounds[i].high[k] - w->bounds[i].low[k], 2);
        for (int k = 0; k < 3; ++k) {
            const double far = horizon * (fabs(V[3 + k]) + (turn > 0 ? turn * sqrt(size) : 0));
            w->reach[i].low[k] -= far;
            w->reach[i].high[k] += far;
        }
    }
    int count = 0;
    if (soai_near_pairs(w, w->reach, &count)) return h;
    for (int i = 0; i < w->touch_count; ++i)
        w->met[w->touch[i].meeting] = 1;
    for (int p = 0; p < count; ++p) {
        const int m = w->meeting_of[w->pairs[p][0] * w->solid_count + w->pairs[p][1]];
        if (w->met[m]) continue;
        const soai_meeting *pair = &w->meetings[m];
        const double *Va = w->twist + 6 * pair->a, *Vb = w->twist + 6 * pair->b;
        soa_distance d;
        if (soa_shape_distance(&w->solids[pair->a].shape, &w->pose[pair->a],
                               &w->solids[pair->b].shape, &w->pose[pair->b], &w->caches[m], &d))
            continue;
        double ra[3], rb[3], ta[3], tb[3], rate = 0;
        for (int k = 0; k < 3; ++k) {
            ra[k] = d.point_a[k] - w->pose[pair->a].p[k];
            rb[k] = d.point_b[k] - w->pose[pair->b].p[k];
        }
        soai_cross3(Va, ra, ta);
        soai_cross3(Vb, rb, tb);
        for (int k = 0; k < 3; ++k)
            rate += d.normal[k] * (Va[3 + k] + ta[k] - Vb[3 + k] - tb[k]);
        const double gap = d.distance - w->laws[pair->law].margin;
        if (-rate * h > gap) h = fmax(least_step, -gap / rate);
    }
    for (int i = 0; i < w->touch_count; ++i)
        w->met[w->touch[i].meeting] = 0;
    return h;
}

/* SUNDIALS calls this after trying a step: how long the next may be. */
static int bound_step(N_Vector y, realtype t, realtype *bound, void *user) {
    soa_world *w = user;
    const double *data = N_VGetArrayPointer(y);
    *bound = w->meeting_count && soai_look(w, world_time(w, t), data) ? least_step
                                                                      : fmin(longest(w, data), 1e3);
    return 0;
}

/* Fixed steps need no error estimate, so four evaluations give order 4: Kutta's method. */
static int classical(void *ark) {
    double c[4] = {0, 0.5, 0.5, 1}, b[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double A[16] = {0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0};
    ARKodeButcherTable table = ARKodeButcherTable_Create(4, 4, 0, c, A, b, NULL);
    const int flag = table ? ARKStepSetTables(ark, 4, 0, NULL, table) : ARK_MEM_FAIL;
    ARKodeButcherTable_Free(table);
    return flag;
}

/* Backward differences add up the errors of their n steps. If each is kept to tolerance^(1 +
 * 1/order), their sum over some periods is about the tolerance. */
static soa_status sharpen(soa_world *w, soa_report *report) {
    const soa_integration *o = &w->scenario->integration;
    w->sharpness = soai_sharpness(o->method == SOA_INTEGRATE_EXPLICIT ? o->order : 0);
    if (o->method == SOA_INTEGRATE_FIXED) return SOA_OK;
    const double relative = fmin(o->relative_tolerance, 1), order = o->order;
    double least = o->order <= LOW_ORDER ? least_relative_low : least_relative;
    if (o->method == SOA_INTEGRATE_CVODE) {
        least = pow(least_local, order / (order + 1));
        const double ticks = w->scenario->duration / w->tick_length;
        w->sharpness *= cvode_margin * fmin(fmax(ticks / cvode_ticks, 1), cvode_most);
        w->sharpness *= pow(relative, -1 / order);
    }
    if (relative >= least) return SOA_OK;
    return soai_scenario_fault(
        w->scenario, (soa_mark){0}, SOA_E_ARGUMENT, report,
        "integration: relative_tolerance is %g; in double precision this method of order %d keeps "
        "%.1e or more (explicit and implicit ones from order 5 on: %g)",
        relative, o->order, least, least_relative);
}

static int attach_newton(soa_world *w) {
    const int bad = w->cvode ? CVodeSetNonlinearSolver(w->cvode, w->newton->solver)
                             : ARKStepSetNonlinearSolver(w->ark, w->newton->solver);
    return bad || soai_newton_judge(w->newton);
}

soa_status soai_solver_open(soa_world *w, soa_report *report) {
    const soa_integration *o = &w->scenario->integration;
    const int implicit = o->method == SOA_INTEGRATE_IMPLICIT || o->method == SOA_INTEGRATE_CVODE;
    const soa_status s = sharpen(w, report);
    if (s) return s;
    if (SUNContext_Create(NULL, &w->context)) return SOA_E_MEMORY;
    if (!(w->vector = N_VMake_Serial(w->y_count, w->y, w->context))) return SOA_E_MEMORY;
    soai_measure_worst(w->vector);
    int bad = 0;
    if (implicit) {
        w->matrix = SUNDenseMatrix(w->y_count, w->y_count, w->context);
        w->solver = w->matrix ? SUNLinSol_Dense(w->vector, w->matrix, w->context) : NULL;
        w->newton = w->solver ? soai_newton_open(w->vector, w->context) : NULL;
        if (!w->newton) return SOA_E_MEMORY;
    }
    if (o->method == SOA_INTEGRATE_CVODE) {
        w->cvode = CVodeCreate(CV_BDF, w->context);
        if (!w->cvode) return SOA_E_MEMORY;
        bad = CVodeInit(w->cvode, derivative, 0, w->vector) || CVodeSetUserData(w->cvode, w) ||
              CVodeWFtolerances(w->cvode, weights) ||
              CVodeSetLinearSolver(w->cvode, w->solver, w->matrix) ||
              CVodeSetErrHandlerFn(w->cvode, soai_fault_note, &w->fault) ||
              CVodeSetMaxNumSteps(w->cvode, -1) || CVodeSetMaxOrd(w->cvode, o->order) ||
              CVodeSetMaxErrTestFails(w->cvode, SOAI_MOST_TRIES) ||
              CVodeSetMaxConvFails(w->cvode, SOAI_MOST_TRIES) || attach_newton(w);
    } else {
        w->ark = implicit ? ARKStepCreate(NULL, derivative, 0, w->vector, w->context)
                          : ARKStepCreate(derivative, NULL, 0, w->vector, w->context);
        if (!w->ark) return SOA_E_MEMORY;
        bad = ARKStepSetUserData(w->ark, w) || ARKStepWFtolerances(w->ark, weights) ||
              ARKStepSetErrHandlerFn(w->ark, soai_fault_note, &w->fault) ||
              ARKStepSetMaxNumSteps(w->ark, -1) ||
              ARKStepSetPostprocessStepFn(w->ark, after_step) ||
              ARKStepSetCFLFraction(w->ark, 0.999) ||
              /* The state at the end of a tick is read from the interpolant: use one that is exact
             * there and needs no force evaluation. */
              ARKStepSetInterpolantType(w->ark, ARK_INTERP_LAGRANGE) ||
              ARKStepSetInterpolantDegree(w->ark, 1) ||
              ARKStepSetMaxErrTestFails(w->ark, SOAI_MOST_TRIES) ||
              ARKStepSetMaxConvFails(w->ark, SOAI_MOST_TRIES);
        if (!bad) bad = ARKStepSetStabilityFn(w->ark, bound_step, w);
        if (!bad && implicit)
            bad = attach_newton(w) || ARKStepSetLinearSolver(w->ark, w->solver, w->matrix) ||
                  soai_use_implicit(w->ark, o->order);
        if (!bad && !implicit) {
            if (!soai_has_explicit(o->order))
                return soai_scenario_fault(
                    w->scenario, (soa_mark){0}, SOA_E_ARGUMENT, report,
                    "integration: order %d is not offered; 2, 3, 4, 5, 6 or 8 are", o->order);
            bad = o->method == SOA_INTEGRATE_FIXED && o->order == 4
                      ? classical(w->ark)
                      : soai_use_explicit(w->ark, o->order);
        }
    }
    return bad ? SOA_E_MEMORY : SOA_OK;
}

/* Name of the coordinate whose velocity error most exceeded its tolerance in the last step
 * tried. */
static const char *worst_coordinate(soa_world *w) {
    N_Vector error = N_VClone(w->vector), weight = N_VClone(w->vector);
    const char *name = "?";
    if (error && weight) {
        const int bad =
            w->cvode
                ? CVodeGetEstLocalErrors(w->cvode, error) || CVodeGetErrWeights(w->cvode, weight)
                : ARKStepGetEstLocalErrors(w->ark, error) || ARKStepGetErrWeights(w->ark, weight);
        const double *e = N_VGetArrayPointer(error) + w->at_v,
                     *by = N_VGetArrayPointer(weight) + w->at_v;
        int worst = 0;
        for (int i = 1; i < w->nv && !bad; ++i)
            if (fabs(e[i]) * by[i] > fabs(e[worst]) * by[worst]) worst = i;
        if (!bad && w->nv) name = soai_coordinate_name(w, worst);
    }
    if (error) N_VDestroy(error);
    if (weight) N_VDestroy(weight);
    return name;
}
static soa_status explain_work(soa_world *w, double t, soa_report *report) {
    const soa_integration *o = &w->scenario->integration;
    if (o->method == SOA_INTEGRATE_FIXED)
        return soai_report(
            report, SOA_E_NO_CONVERGENCE, -1, 0,
            "stopped at t = %.9g s: more than %d steps of %.3g s in a tick; take a longer step", t,
            STEPS_MOST, o->step);
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "stopped at t = %.9g s: the tolerances (%g, %g) ask order %d for steps of "
                       "%.1e s, more than %d in "
                       "a tick; take a higher order or method: implicit, or larger tolerances",
                       t, o->relative_tolerance, o->absolute_tolerance, o->order, w->pace,
                       STEPS_MOST);
}
static soa_status explain_step(soa_world *w, double t, int flag, soa_report *report) {
    const soa_integration *o = &w->scenario->integration;
    if (flag == ARK_CONV_FAILURE)
        return soai_report(
            report, SOA_E_NO_CONVERGENCE, -1, 0,
            "stopped at t = %.9g s: the equations of an implicit step have no solution that "
            "Newton's "
            "method finds, however short the step; take method: explicit, or larger tolerances",
            t);
    return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                       "stopped at t = %.9g s: no step, however short, keeps the tolerances (%g, "
                       "%g); worst is %.60s. "
                       "Take larger ones, another method, or softer contacts and stops",
                       t, o->relative_tolerance, o->absolute_tolerance, worst_coordinate(w));
}

static soa_status explain(soa_world *w, double t, int flag, soa_report *report) {
    const soa_status s = soai_fault_reason(&w->fault, flag);
    if (s == SOA_E_ARGUMENT)
        for (int m = 0; m < w->meeting_count; ++m)
            if (w->laws[w->meetings[m].law].law == SOA_CONTACT_PAPER)
                return soai_report(
                    report, s, -1, 0,
                    "stopped at t = %.9g s: shapes overlap, where the contact law of the "
                    "paper has no value; take law: safe",
                    t);
    if (!w->fault.status && flag == ARK_TOO_MUCH_WORK) return explain_work(w, t, report);
    if (!w->fault.status && (flag == ARK_ERR_FAILURE || flag == ARK_CONV_FAILURE))
        return explain_step(w, t, flag, report);
    return soai_fault_report(&w->fault, w->model, "", t, s, report);
}

/* Backward differences depend on their past states. So the state is changed only where a touch
 * begins or ends. */
static int changed(soa_world *w, double t) {
    if (soai_look(w, t, w->y)) return 1;
    int used = 0, matched = 0;
    for (int k = 0; k < w->slot_count; ++k)
        used += w->slots[k].meeting >= 0;
    for (int i = 0; i < w->touch_count; ++i)
        matched += w->touch[i].slot >= 0;
    return used != matched || matched != w->touch_count;
}
static double bounded(double step, double most) {
    /* SUNDIALS takes 0 as no bound. */
    if (most > 0) return fmin(step, most);
    if (step < INFINITY) return step;
    return 0;
}

/* True if velocity coordinate i is in m/s. */
static int shifts(const soa_world *w, int i) {
    soa_body_info info = {0};
    for (int b = 1; b <= w->bodies; ++b) {
        soa_model_body(w->model, b, &info);
        if (i >= info.v_index && i < info.v_index + info.nv) break;
    }
    const int k = i - info.v_index;
    return info.type == SOA_PRISMATIC || (info.type == SOA_CYLINDRICAL && k == 1) ||
           (info.type == SOA_PLANAR && k < 2) || (info.type == SOA_FREE && k >= 3);
}
/* Checks that all numbers are finite and no speed is impossible; otherwise reports it. */
static soa_status stay_sane(soa_world *w, double t, soa_report *report) {
    for (int i = 0; i < w->y_count; ++i)
        if (!isfinite(w->y[i]))
            return soai_report(report, SOA_E_NOT_FINITE, -1, 0,
                               "stopped at t = %.9g s: the motion diverged to numbers that are not "
                               "finite; take a shorter "
                               "step, or a method with error control",
                               t);
    for (int i = 0; i < w->nv; ++i) {
        const double speed = w->y[w->at_v + i];
        if (fabs(speed) <= fastest_shift) continue;
        const int linear = shifts(w, i);
        if (!(fabs(speed) <= (linear ? fastest_shift : fastest_turn)))
            return soai_report(report, SOA_E_NO_CONVERGENCE, -1, 0,
                               "stopped at t = %.9g s: %.60s moves at %.3g %s, the motion "
                               "diverged; take a shorter step, "
                               "or a method with error control",
                               t, soai_coordinate_name(w, i), speed, linear ? "m/s" : "rad/s");
    }
    return SOA_OK;
}

/* Restarts the integrator at the present state, at its time 0. */
static int start_stretch(soa_world *w) {
    const soa_integration *o = &w->scenario->integration;
    const int fixed = o->method == SOA_INTEGRATE_FIXED;
    const double span = w->span, least = rounding_steps * DBL_EPSILON * span;
    double h = fmin(w->state->step > 0 ? w->state->step : 0.1 * span, longest(w, w->y));
    if (o->step > 0 && h > o->step) h = o->step;
    /* Avoid a very short last step. */
    if (h > 0.5 * span) h = h < 0.999 * span ? 0.5 * span : span;
    if (w->cvode) {
        const int flag = CVodeReInit(w->cvode, 0, w->vector);
        if (flag < 0) return flag;
        return CVodeSetStopTime(w->cvode, span) || CVodeSetMinStep(w->cvode, 0) ||
                       CVodeSetMaxStep(w->cvode, o->step) || CVodeSetMinStep(w->cvode, least) ||
                       CVodeSetInitStep(w->cvode, h)
                   ? -1
                   : 0;
    }
    const int flag = ARKStepReInit(w->ark, w->matrix ? NULL : derivative,
                                   w->matrix ? derivative : NULL, 0, w->vector);
    if (flag < 0) return flag;
    if (ARKStepSetStopTime(w->ark, span)) return -1;
    if (fixed) return ARKStepSetFixedStep(w->ark, o->step) ? -1 : 0;
    return ARKStepSetMinStep(w->ark, 0) || ARKStepSetMaxStep(w->ark, o->step) ||
                   ARKStepSetMinStep(w->ark, least) || ARKStepSetInitStep(w->ark, h)
               ? -1
               : 0;
}

/* After a step of backward differences: updates the touches where they begin or end, and at the end
 * of the tick. */
static int follow_cvode(soa_world *w, double t) {
    int flag = 0;
    if (changed(w, world_time(w, t)) || !(t < w->span)) {
        flag = after_step(t, w->vector, w);
        if (flag >= 0) flag = CVodeReInit(w->cvode, t, w->vector);
        if (flag >= 0) flag = CVodeSetStopTime(w->cvode, w->span);
    }
    return flag < 0 ? flag
                    : CVodeSetMaxStep(w->cvode,
                                      bounded(longest(w, w->y), w->scenario->integration.step));
}

/* Integrates to `end` with constant torques. The integrator is restarted, so the result depends
 * only on the state. */
static soa_status advance_smoothly(soa_world *w, double end, soa_report *report) {
    soai_state *state = w->state;
    const int fixed = w->scenario->integration.method == SOA_INTEGRATE_FIXED;
    soa_status s = SOA_OK;
    double t = 0, longest_taken = 0;
    int taken = 0;
    w->origin = state->t;
    w->end = end;
    w->span = end - state->t;
    soai_fault_clear(&w->fault);
    w->fresh = 1;
    int flag = start_stretch(w);
    while (flag >= 0 && !s && t < w->span) {
        const double before = t;
        flag = w->cvode ? CVode(w->cvode, w->span, w->vector, &t, CV_ONE_STEP)
                        : ARKStepEvolve(w->ark, w->span, w->vector, &t, ARK_ONE_STEP);
        longest_taken = fmax(longest_taken, t - before);
        ++state->stats.steps;
        if (flag >= 0 && w->cvode) flag = follow_cvode(w, t);
        if (flag >= 0) s = stay_sane(w, world_time(w, t), report);
        w->pace = t / ++taken;
        if (flag >= 0 && taken >= STEPS_JUDGED && t < w->span && !(w->span <= STEPS_MOST * w->pace))
            flag = ARK_TOO_MUCH_WORK;
    }
    if (s) return s;
    if (flag < 0) return explain(w, world_time(w, t), flag, report);
    if (!w->cvode && !fixed) {
        long steps = 0, attempts = 0;
        double next = 0;
        ARKStepGetNumSteps(w->ark, &steps);
        ARKStepGetNumStepAttempts(w->ark, &attempts);
        ARKStepGetCurrentStep(w->ark, &next);
        state->stats.rejected += attempts - steps;
        /* The last step was cut by the end of the tick and means little. Without a rejection,
         * longer steps may be possible. */
        state->step = fmax(next, attempts == steps ? 2 * longest_taken : longest_taken);
    } else
        state->step = longest_taken;
    state->t = end;
    /* So the touches seen depend on the state alone. */
    s = soai_look(w, end, w->y);
    return s ? explain(w, end, 0, report) : SOA_OK;
}

/* Integrates from edge to edge of the disturbances. */
soa_status soai_advance(soa_world *w, double end, soa_report *report) {
    const double tiny = rounding_steps * DBL_EPSILON * fabs(end);
    soa_status s = SOA_OK;
    if (w->scenario->integration.method == SOA_INTEGRATE_FIXED) soai_judge_fixed_step(w);
    while (!s && end - w->state->t > tiny) {
        double next = end;
        for (int i = 0; i < w->scenario->disturbance_count; ++i) {
            const soa_disturbance *d = &w->scenario->disturbances[i];
            const double edge[2] = {d->start, d->start + d->duration};
            for (int k = 0; k < 2; ++k)
                if (edge[k] > w->state->t + tiny && edge[k] < next - tiny) next = edge[k];
        }
        w->when = 0.5 * (w->state->t + next);
        s = advance_smoothly(w, next, report);
    }
    return s;
}
