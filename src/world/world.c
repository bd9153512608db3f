/* world.c  a scenario in motion: opening, ticks, saved states, and the summary. */
#include "../base/nearest.h"
#include "joint_friction.h"
#include "soa/io.h"
#include "stepper.h"
#include "world_internal.h"

#include <arkode/arkode_arkstep.h>
#include <cvode/cvode.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 256 };

/* --- names ------------------------------------------------------------------------------------ */
const char *soai_nearest_frame(const soa_model *model, const char *name) {
    static _Thread_local char hint[SOAI_HINT];
    soai_nearest search = soai_nearest_to(name);
    for (int f = 0; f < soa_model_frame_count(model); ++f) {
        soa_frame_info info;
        soa_model_frame(model, f, &info);
        soai_nearest_try(&search, info.name);
    }
    return soai_nearest_hint(&search, hint);
}
const char *soai_nearest_joint(const soa_model *model, const char *name) {
    static _Thread_local char hint[SOAI_HINT];
    soai_nearest search = soai_nearest_to(name);
    for (int b = 1; b <= soa_model_body_count(model); ++b) {
        soa_body_info info;
        soa_model_body(model, b, &info);
        soai_nearest_try(&search, info.joint);
    }
    return soai_nearest_hint(&search, hint);
}

/* --- the start -------------------------------------------------------------------------------- */
/* Finds from the tables which joints have motors, and their friction, limits and efforts. */
static void read_joints(soa_world *w) {
    w->is_free = !soai_loops_hold_world(w) && !soai_springs_hold_world(w);
    double g[3];
    soa_model_gravity(w->model, g);
    if (g[0] != 0 || g[1] != 0 || g[2] != 0) w->is_free = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        w->body_frame[b] = info.frame;
        if (!info.parent && info.type != SOA_FREE) w->is_free = 0;
        const soa_part *part = NULL;
        for (int p = 0; p < w->scenario->part_count; ++p) {
            const size_t n = strlen(w->scenario->parts[p].name);
            if (!strncmp(info.joint, w->scenario->parts[p].name, n) && info.joint[n] == '.')
                part = &w->scenario->parts[p];
        }
        for (int k = 0; k < info.nv; ++k) {
            const int i = info.v_index + k;
            w->effort[i] = info.max_effort;
            w->v_of_q[i] = info.q_index + k;
            /* bodies of the scenario and floating roots have no motors */
            w->actuated[i] = part && part->model && info.type != SOA_FREE;
        }
    }
    soai_mark_angles(w->model, w->angle);
    /* Including the friction of mimic joints. */
    soai_losses(w->model, w->damping, w->friction_up, w->friction_down);
    for (int m = 0; m < w->meeting_count; ++m)
        if (!w->solids[w->meetings[m].a].body || !w->solids[w->meetings[m].b].body) w->is_free = 0;
}

/* A rotation as a quaternion w x y z. */
static void quaternion(const double R[9], double q[4]) {
    double rho[3];
    soa_rotation_to_vector(R, rho);
    const double angle = sqrt(rho[0] * rho[0] + rho[1] * rho[1] + rho[2] * rho[2]);
    const double k = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    q[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; ++i)
        q[1 + i] = k * rho[i];
}

/* Refuses a unit that does not measure coordinate `index` of a joint, or its rate. */
soa_status soai_check_unit(const soa_world *w, const soa_named_value *value,
                           const soa_body_info *joint, int index, int is_rate, soa_report *report) {
    static const char *const units[2][2] = {{"a length (m, mm)", "an angle (rad, deg)"},
                                            {"a speed (m/s)", "a turning rate (rad/s, deg/s)"}};
    const bool has_quaternion = joint->nq != joint->nv;
    if (value->unit == SOA_UNIT_NONE || (has_quaternion && !is_rate)) return SOA_OK;
    const bool turns = has_quaternion ? index < 3 : soa_joint_type_turns(joint->type, index);
    if (turns == (value->unit == SOA_UNIT_ANGLE)) return SOA_OK;
    return soai_scenario_fault(w->scenario, value->mark, SOA_E_FORMAT, report,
                               "'%s' is %s; expected %s: the joint is %s", value->name,
                               units[is_rate][!turns], units[is_rate][turns],
                               soa_joint_type_name(joint->type));
}

static soa_status named_values(soa_world *w, const soa_part *part, const soa_named_value *values,
                               int count, int rates, double *out, soa_report *report) {
    for (int k = 0; k < count; ++k) {
        char name[256];
        int index = 0;
        snprintf(name, sizeof name, "%s.%s", part->name, values[k].name);
        char *bracket = strchr(name, '[');
        if (bracket) {
            index = atoi(bracket + 1);
            *bracket = 0;
        }
        soa_body_info info;
        const int b = soa_model_find_joint(w->model, name);
        if (b < 0 || soa_model_body(w->model, b, &info) || index < 0 ||
            index >= (rates ? info.nv : info.nq))
            return soai_scenario_fault(w->scenario, values[k].mark, SOA_E_NAME, report,
                                       "there is no joint '%s'%s", name,
                                       soai_nearest_joint(w->model, name));
        if (!(fabs(values[k].value) < INFINITY))
            return soai_scenario_fault(w->scenario, values[k].mark, SOA_E_NOT_FINITE, report,
                                       "'%s' is not a number", name);
        const soa_status s = soai_check_unit(w, &values[k], &info, index, rates, report);
        if (s) return s;
        out[(rates ? info.v_index : info.q_index) + index] = values[k].value;
        /* A quaternion belongs to all rates of its joint. */
        for (int i = 0; i < info.nv; ++i)
            if (info.nq != info.nv || i == index)
                (rates ? w->given_rate : w->given)[info.v_index + i] = 1;
    }
    return SOA_OK;
}

/* A place or twist that the scenario states counts as given; the defaults (origin, at rest) do
 * not. */
static void give_root(soa_world *w, const soa_part *part, const soa_body_info *info) {
    const soa_frame origin = soa_frame_identity();
    const int placed = memcmp(part->place.R, origin.R, sizeof origin.R) ||
                       memcmp(part->place.p, origin.p, sizeof origin.p);
    int moves = 0;
    for (int k = 0; k < 6; ++k)
        moves = moves || part->twist[k] != 0;
    for (int k = 0; k < info->nv; ++k) {
        w->given[info->v_index + k] |= (unsigned char)placed;
        w->given_rate[info->v_index + k] |= (unsigned char)moves;
    }
}

static soa_status initial_state(soa_world *w, soa_report *report) {
    double *q = w->y, *v = w->y + w->at_v;
    soa_q_neutral(w->model, q);
    for (int p = 0; p < w->scenario->part_count; ++p) {
        const soa_part *part = &w->scenario->parts[p];
        soa_status s = named_values(w, part, part->positions, part->position_count, 0, q, report);
        if (!s) s = named_values(w, part, part->rates, part->rate_count, 1, v, report);
        if (s) return s;
        if (part->fixed || (part->model && !part->floating)) continue;
        char name[256];
        soa_body_info info;
        if (part->massless_links) { /* slides, then rotations about z, y, x */
            static const char *const names[6] = {"x", "y", "z", "yaw", "pitch", "roll"};
            const double *R = part->place.R;
            const double pitch = asin(fmax(-1, fmin(1, -R[6]))), yaw = atan2(R[3], R[0]),
                         roll = atan2(R[7], R[8]);
            const double at[6] = {
                part->place.p[0], part->place.p[1], part->place.p[2], yaw, pitch, roll};
            const double cy = cos(yaw), sy = sin(yaw), cp = cos(pitch), sp = sin(pitch);
            const double *o = part->twist; /* world axes */
            if (!(fabs(cp) > 1e-6))
                return soai_scenario_fault(
                    w->scenario, part->mark, SOA_E_SINGULAR, report,
                    "part '%s': its three turns cannot tell yaw from roll at a pitch of 90 deg",
                    part->name);
            const double along = (cy * o[0] + sy * o[1]) / cp; /* roll rate */
            const double rate[6] = {o[3], o[4], o[5], o[2] + along * sp, -sy * o[0] + cy * o[1],
                                    along};
            for (int k = 0; k < 6; ++k) {
                snprintf(name, sizeof name, "%s.%s", part->name, names[k]);
                soa_model_body(w->model, soa_model_find_joint(w->model, name), &info);
                q[info.q_index] = at[k];
                v[info.v_index] = rate[k];
                give_root(w, part, &info);
            }
            continue;
        }
        snprintf(name, sizeof name, "%s.root", part->name);
        const int b = soa_model_find_joint(w->model, name);
        if (b < 0 || soa_model_body(w->model, b, &info) || info.type != SOA_FREE) continue;
        give_root(w, part, &info);
        memcpy(q + info.q_index, part->place.p, 3 * sizeof *q);
        quaternion(part->place.R, q + info.q_index + 3);
        for (int k = 0; k < 3; ++k)
            for (int r = 0; r < 3; ++r) {
                v[info.v_index + k] += part->place.R[3 * r + k] * part->twist[r];
                v[info.v_index + 3 + k] += part->place.R[3 * r + k] * part->twist[3 + r];
            }
    }
    return soa_q_normalise(w->model, q);
}

/* Finds the frames of `success`. */
static soa_status open_success(soa_world *w, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    const soa_success *ask = &sc->success;
    const char *base =
        ask->relative_to && strcmp(ask->relative_to, "world") ? ask->relative_to : NULL;
    w->object = ask->object ? soa_model_find_frame(w->model, ask->object) : -1;
    w->object_base = base ? soa_model_find_frame(w->model, base) : 0;
    if (!ask->object) return SOA_OK;
    const char *missing;
    if (w->object < 0) {
        missing = ask->object;
    } else if (w->object_base < 0) {
        missing = base;
    } else {
        missing = NULL;
    }
    if (missing)
        return soai_scenario_fault(sc, ask->mark, SOA_E_NAME, report,
                                   "success: there is no frame '%s'%s", missing,
                                   soai_nearest_frame(w->model, missing));
    if (!(ask->hold >= 0) || !(ask->position_error > 0) || !(ask->attitude_error > 0))
        return soai_scenario_fault(sc, ask->mark, SOA_E_ARGUMENT, report,
                                   "success: hold must be >= 0, the bounds of errors > 0");
    int known = !ask->from_phase;
    for (int p = 0; p < sc->control.phase_count; ++p)
        known = known || !strcmp(sc->control.phases[p].name, ask->from_phase);
    if (!known)
        return soai_scenario_fault(sc, ask->mark, SOA_E_NAME, report,
                                   "success: there is no phase '%s'", ask->from_phase);
    return SOA_OK;
}

/* Allocates everything whose size is known from the model and the shapes. */
static soa_status open_memory(soa_world *w) {
    const size_t nv = (size_t)w->nv, nq = (size_t)w->nq, n = (size_t)w->bodies + 1;
    w->at_v = w->nq;
    w->at_ledger = w->nq + w->nv;
    w->at_slots = w->at_ledger + SOAI_LEDGER;
    w->at_joints = w->at_slots + SOAI_SLOT_NUMBERS * w->slot_count;
    w->at_cuts = w->at_joints + w->nv;
    w->y_count = w->at_cuts + w->cut_count;
    const size_t y = (size_t)w->y_count;
    double *at = w->numbers = calloc(11 * nv + nq + 6 * y + 6 * n + 1, sizeof *at);
    w->wrenches = calloc(n + 1, sizeof *w->wrenches);
    w->body_frame = calloc(n + nv, sizeof *w->body_frame);
    w->actuated = calloc(3 * nv + nq + 1, 1);
    w->events = calloc(EVENTS, sizeof *w->events);
    w->spare_caches = calloc((size_t)w->meeting_count + 1, sizeof *w->spare_caches);
    w->disturbed = calloc((size_t)w->scenario->disturbance_count + 1, sizeof *w->disturbed);
    if (!at || !w->wrenches || !w->body_frame || !w->actuated || !w->events || !w->disturbed ||
        !w->spare_caches)
        return SOA_E_MEMORY;
    w->event_most = EVENTS;
    w->v_of_q = w->body_frame + n;
    w->angle = w->actuated + nv;
    w->given = w->angle + nq;
    w->given_rate = w->given + nv;
    double **const lists[] = {&w->friction_up, &w->friction_down, &w->damping, &w->lower,
                              &w->upper,       &w->stop_k,        &w->stop_c,  &w->stop_soft,
                              &w->effort,      &w->qdd,           &w->torque};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; ++k) {
        *lists[k] = at;
        at += nv;
    }
    w->q = at;
    at += nq;
    w->wrench = at;
    at += 6 * n;
    for (size_t k = 0; k < sizeof w->y_scratch / sizeof *w->y_scratch; ++k)
        w->y_scratch[k] = at + k * y;
    const size_t caches = (size_t)w->meeting_count * sizeof *w->caches,
                 slots = (size_t)w->slot_count * sizeof *w->slots;
    w->control_size = soai_controller_memory(w);
    size_t used = 0;
    for (int pass = 0; pass < 2; ++pass) { /* first the sizes, then the addresses */
        char *block = w->block;
        used = 0;
        w->state = soai_take(block, &used, sizeof *w->state);
        w->y = soai_take(block, &used, y * sizeof(double));
        w->tau = soai_take(block, &used, nv * sizeof(double));
        w->turns = soai_take(block, &used, 6 * (size_t)w->loop_count * sizeof(double));
        w->slots = soai_take(block, &used, slots);
        w->caches = soai_take(block, &used, caches);
        w->control_memory = soai_take(block, &used, w->control_size);
        w->sensor_memory = soai_take(block, &used, soai_sensors_memory(w));
        w->watch_memory = soai_take(block, &used, soai_watchdog_memory(w));
        if (!pass && !(w->block = calloc(used + 64, 1))) return SOA_E_MEMORY;
    }
    w->state_size = used;
    for (int k = 0; k < w->slot_count; ++k)
        w->slots[k].meeting = -1;
    return SOA_OK;
}

/* Finds the two shapes that overlap most beyond `allowed` margins, among all that may touch. */
soa_status soai_find_overlap(soa_world *w, double allowed, const char *when, soa_report *report) {
    double worst = 0;
    int found = -1;
    for (int m = 0; m < w->meeting_count; ++m) {
        const int a = w->meetings[m].a, b = w->meetings[m].b;
        const double bound = allowed * w->laws[w->meetings[m].law].margin;
        soa_distance_cache cold = {0};
        soa_distance d;
        if (soa_shape_distance(&w->solids[a].shape, &w->pose[a], &w->solids[b].shape, &w->pose[b],
                               &cold, &d))
            continue;
        if (d.distance < -bound - 1e-12 && d.distance < worst) {
            worst = d.distance;
            found = m;
        }
    }
    if (found < 0) return SOA_OK;
    const soai_meeting *m = &w->meetings[found];
    /* Shapes of the scenario come first: if a is from a URDF, b is too. */
    const soa_mark none = {0};
    const soa_mark mark = w->solids[m->a].link ? none : w->scenario->shapes[m->a].mark;
    return soai_scenario_fault(w->scenario, mark, SOA_E_ARGUMENT, report,
                               "shapes '%s' and '%s' overlap by %.3g m %s; move them apart",
                               w->solids[m->a].name, w->solids[m->b].name, -worst, when);
}

/* Computes kinematics and touches at the state, with a copy of the distance caches. So the block
 * does not change, and the same block gives the same touches, now or after it was read back. */
soa_status soai_peek(soa_world *w) {
    soa_distance_cache *own = w->caches;
    if (w->meeting_count) memcpy(w->spare_caches, own, (size_t)w->meeting_count * sizeof *own);
    w->caches = w->spare_caches;
    const soa_status s = soai_look(w, w->state->t, w->y);
    w->caches = own;
    return s;
}

/* Stores the pose of the object of `success` at the start. The kinematics must be up to date. */
static soa_status note_object(soa_world *w) {
    if (w->object < 0) return SOA_OK;
    soa_frame at, from;
    soa_status s = soa_pose(w->model, w->work, w->object, &at);
    if (!s) s = soa_pose(w->model, w->work, w->object_base, &from);
    if (s) return s;
    const soa_frame back = soa_frame_inverse(&from);
    w->object_start = soa_frame_compose(&back, &at);
    return SOA_OK;
}

static soa_status start(soa_world *w, soa_report *report) {
    soa_status s = initial_state(w, report);
    if (s) return s;
    if ((s = soai_loops_start(w, report))) return s;
    if ((s = soa_kinematics(w->model, w->work, w->y, w->y + w->at_v, NULL)) ||
        (s = soai_springs_start(w)))
        return s;
    if ((s = soai_stops_open(w))) return s;
    if ((s = soai_solids_settle(w, report))) return s;
    soai_stats *stats = &w->state->stats;
    double kinetic, potential, com[3], mass, inertia[6];
    if ((s = soai_energy(w, w->y, w->y + w->at_v, &kinetic, &potential)) ||
        (s = soai_momentum(w, w->y, stats->momentum_start, com, &mass, inertia,
                           stats->momentum_scale)))
        return s;
    stats->energy_start = kinetic + potential;
    stats->energy_scale = kinetic;
    stats->squeeze_least = INFINITY;
    stats->squeeze_most = -INFINITY;
    s = soai_look(w, 0, w->y);
    if (s == SOA_E_ARGUMENT) { /* the paper's law has no value if shapes overlap */
        const soa_status overlap = soai_find_overlap(w, 0, "at the start", report);
        return overlap ? overlap : s;
    }
    /* More than one margin deep is not a resting contact. */
    if (!s) s = soai_find_overlap(w, 1, "at the start", report);
    if (s == SOA_E_MEMORY)
        return soai_scenario_fault(w->scenario, (soa_mark){0}, s, report,
                                   "more than %d points touch at the start", w->touch_most);
    if (s) return s;
    soai_contact_keep(w, 0, w->y);
    if ((s = soai_peek(w)) || (s = note_object(w)) || (s = soai_watchdog_open(w))) return s;
    w->stored_start = 0;
    for (int i = 0; i < w->touch_count; ++i)
        w->stored_start += w->touch[i].stored;
    w->state->stored_start = w->stored_start;
    return SOA_OK;
}

/* Rates that differ by less are the same: 166.667 Hz is every third of 500 ticks per second. */
static const double same_rate = 1e-4;

/* Warns of rates that were given and are not those of the run. */
static void warn_of_rates(soa_world *w) {
    const soa_scenario *sc = w->scenario;
    const double rate = sc->recording.rate, ticks = 1 / w->tick_length;
    const int controlled = sc->control.phase_count || sc->control.external;
    if (sc->control.rate_given && !controlled && fabs(sc->control.rate - ticks) > same_rate * ticks)
        soai_warn(
            w, "rate-unused", "control", ticks,
            "control.rate is %.6g Hz, but there are no phases and no controller, so the ticks "
            "are those of recording.rate, %.6g Hz; give recording.rate",
            sc->control.rate, ticks);
    if (!sc->recording.rate_given || !controlled || !(rate > 0)) return;
    const int64_t every = soai_in_ticks(w, 1 / rate);
    const double taken = ticks / (double)every;
    if (fabs(taken - rate) > same_rate * rate)
        soai_warn(w, "recording-rate", "recording", taken,
                  "recording.rate %.6g Hz does not divide control.rate %.6g Hz, so a sample is "
                  "taken every %lld ticks, at %.6g Hz; give a recording.rate that divides it",
                  rate, ticks, (long long)every, taken);
}

/* Warns of entries of the scenario that have no effect, or a different one. */
static void warn_of_idle_keys(soa_world *w) {
    const soa_scenario *sc = w->scenario;
    for (int p = 0; p < sc->part_count; ++p) {
        const soa_part *part = &sc->parts[p];
        int used = 0;
        for (int i = 0; i < w->nv && part->effort > 0; ++i)
            used +=
                w->effort[i] == part->effort && soai_part_of(w, soai_coordinate_name(w, i)) == p;
        if (part->effort > 0 && !used)
            soai_warn(w, "effort-unused", part->name, part->effort,
                      "all joints of this part have limits of effort in their model, so `effort` "
                      "changes nothing; change "
                      "the model");
    }
    for (int i = 0; i < sc->disturbance_count; ++i)
        if (sc->disturbances[i].start >= sc->duration)
            soai_warn(w, "disturbance-late", sc->disturbances[i].frame, sc->disturbances[i].start,
                      "a disturbance begins after the end of the run (%g s) and does nothing; make "
                      "it begin earlier",
                      sc->duration);
    warn_of_rates(w);
    const double step = sc->integration.step;
    if (sc->integration.method != SOA_INTEGRATE_FIXED || !(step > 0)) return;
    const double taken = w->tick_length / ceil(w->tick_length / step - 1e-9);
    if (!(fabs(taken - step) > 1e-6 * step)) return;
    soai_warn(w, "step-cut", "integration", taken,
              "ticks of %.6g s do not hold a whole number of steps of %.6g s, so steps are %.6g s; "
              "give a step that fits, or "
              "another control.rate or recording.rate",
              w->tick_length, step, taken);
}

soa_status soa_world_create(const soa_scenario *scenario, soa_world **world, soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    if (!scenario || !world) return soai_report_end(report, SOA_E_ARGUMENT);
    soa_world *w = calloc(1, sizeof *w);
    if (!w) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s", soa_status_text(SOA_E_MEMORY));
    w->scenario = scenario;
    soa_status s = soai_scenario_check(scenario, report);
    w->tick_length = 1 / (scenario->control.phase_count || scenario->control.external
                              ? scenario->control.rate
                              : scenario->recording.rate);
    if (!s) s = soai_world_model(scenario, NULL, &w->model, &w->own_loops, report);
    if (!s) {
        w->nq = soa_model_nq(w->model);
        w->nv = soa_model_nv(w->model);
        w->bodies = soa_model_body_count(w->model);
        s = soa_work_create(w->model, &w->work);
    }
    if (!s) s = soai_loops_open(w, report);
    if (!s) s = soai_springs_open(w, report);
    if (!s) s = soai_contact_open(w, report);
    if (!s) s = soai_sensors_open(w, report);
    if (!s) s = open_memory(w);
    if (!s) {
        read_joints(w);
        s = soai_choose_motors(w, report);
        for (int i = 0; !s && i < scenario->disturbance_count; ++i) {
            const soa_disturbance *d = &scenario->disturbances[i];
            w->disturbed[i] = soa_model_find_frame(w->model, d->frame);
            if (w->disturbed[i] < 0)
                s = soai_scenario_fault(scenario, d->mark, SOA_E_NAME, report,
                                        "disturbance: there is no frame '%s'%s", d->frame,
                                        soai_nearest_frame(w->model, d->frame));
        }
    }
    if (!s) s = open_success(w, report);
    if (!s) s = soai_controller_open(w, report);
    if (!s) s = soai_solver_open(w, report);
    if (!s) s = start(w, report);
    if (!s) warn_of_idle_keys(w);
    if (!s) s = soai_signals_open(w);
    if (!s) w->state->scenario = soai_fingerprint(w);
    if (s) {
        soa_world_free(w);
        return soai_report_end(report, s);
    }
    *world = w;
    return SOA_OK;
}

void soa_world_free(soa_world *w) {
    if (!w) return;
    if (w->ark) ARKStepFree(&w->ark);
    if (w->cvode) CVodeFree(&w->cvode);
    soai_newton_close(w->newton);
    if (w->solver) SUNLinSolFree(w->solver);
    if (w->matrix) SUNMatDestroy(w->matrix);
    if (w->vector) N_VDestroy(w->vector);
    if (w->context) SUNContext_Free(&w->context);
    soai_controller_close(w);
    soai_sensors_close(w);
    soai_contact_close(w);
    soai_loops_close(w);
    soai_springs_close(w);
    soa_work_free(w->work);
    if (w->model) soa_model_free(w->model);
    free(w->numbers);
    free(w->wrenches);
    free(w->body_frame);
    free(w->actuated);
    free(w->events);
    free(w->disturbed);
    free(w->spare_caches);
    free(w->block);
    free(w->signal_name);
    free(w->signal_unit);
    free(w->moves);
    free(w->part_start);
    free(w->part_loose);
    free(w);
}

/* --- ticks ------------------------------------------------------------------------------------ */
/* The hands that hold the object: other bodies that touch it or are tied to it. */
enum { HANDS_MOST = 16 };
typedef struct hands {
    int count, body[HANDS_MOST];
    /* Forces on the object; their points times their weight. */
    double force[HANDS_MOST][3], at[HANDS_MOST][3], weight[HANDS_MOST];
} hands;
static void add_hand(hands *h, int body, const double force[3], const double at[3], double weight) {
    int k = 0;
    while (k < h->count && h->body[k] != body)
        ++k;
    if (k == HANDS_MOST) return;
    if (k == h->count) h->body[h->count++] = body;
    for (int j = 0; j < 3; ++j) {
        h->force[k][j] += force[j];
        h->at[k][j] += weight * at[j];
    }
    h->weight[k] += weight;
}
static void find_hands(const soa_world *w, int object, hands *h) {
    memset(h, 0, sizeof *h);
    for (int i = 0; i < w->touch_count; ++i) {
        const soai_touch *t = &w->touch[i];
        const soai_meeting *m = &w->meetings[t->meeting];
        const int a = w->solids[m->a].body;
        const int b = w->solids[m->b].body;
        if (a != object && b != object) continue;
        const double sign = a == object ? 1 : -1;
        double force[3];
        for (int j = 0; j < 3; ++j)
            force[j] = sign * (t->pressure * t->normal[j] + t->tangential[j]);
        add_hand(h, a == object ? b : a, force, t->point, t->pressure);
    }
    for (int i = 0; i < w->loop_count; ++i) {
        const soai_loop *loop = &w->loops[i];
        const int side = loop->body[1] == object;
        double point[3];
        if (loop->kind == SOA_RATIO || (loop->body[0] != object && !side)) continue;
        soai_loop_point(loop, side, point);
        add_hand(h, loop->body[!side], loop->wrench[side] + 3, point, 1);
    }
}
/* Internal force between the hands. If a coordination law moves the object, as that law counts it.
 * Otherwise the mean of the hands' forces towards their middle; for two hands this is half of what
 * presses along the line between their centres. */
static double squeeze(soa_world *w, int object) {
    soa_frame_info info;
    double counted;
    if (soai_controller_squeeze(w, object, &counted)) return counted;
    hands h;
    double middle[3] = {0};
    soa_model_frame(w->model, object, &info);
    find_hands(w, info.body, &h);
    if (h.count < 2) return 0;
    for (int k = 0; k < h.count; ++k)
        for (int j = 0; j < 3; ++j) {
            if (h.weight[k] > 0) h.at[k][j] /= h.weight[k];
            middle[j] += h.at[k][j] / h.count;
        }
    double sum = 0;
    for (int k = 0; k < h.count; ++k) {
        double u[3];
        double length = 0;
        double along = 0;
        for (int j = 0; j < 3; ++j) {
            u[j] = middle[j] - h.at[k][j];
            length += u[j] * u[j];
        }
        for (int j = 0; j < 3; ++j)
            along += h.force[k][j] * u[j] / sqrt(length + 1e-30);
        sum += along / h.count;
    }
    return sum;
}

/* Errors of the object (m, rad) from its last goal, or from its place when it began to count. */
static soa_status object_error(soa_world *w, double error[2]) {
    const soa_success *ask = &w->scenario->success;
    const soa_frame *goal = w->controller ? soai_controller_goal(w) : &w->object_start;
    error[0] = error[1] = NAN;
    if (!ask->object || !goal) return SOA_OK;
    soa_frame at, from;
    soa_status s = soa_pose(w->model, w->work, w->object, &at);
    if (!s) s = soa_pose(w->model, w->work, w->object_base, &from);
    if (s) return s;
    const soa_frame back = soa_frame_inverse(&from), rel = soa_frame_compose(&back, &at),
                    inv = soa_frame_inverse(goal);
    const soa_frame off = soa_frame_compose(&inv, &rel);
    double rho[3];
    soa_rotation_to_vector(off.R, rho);
    error[0] = sqrt(off.p[0] * off.p[0] + off.p[1] * off.p[1] + off.p[2] * off.p[2]);
    error[1] = sqrt(rho[0] * rho[0] + rho[1] * rho[1] + rho[2] * rho[2]);
    return SOA_OK;
}

void soai_object_figures(soa_world *w, double figures[3]) {
    if (object_error(w, figures)) figures[0] = figures[1] = NAN;
    figures[2] = w->object >= 0 ? squeeze(w, w->object) : 0;
}

/* True if a shape is one of the fingers of `success`. */
static int is_finger(const soa_world *w, const soai_solid *s) {
    const soa_success *ask = &w->scenario->success;
    if (!ask->finger_groups) return ask->fingers && soai_in_group(s, ask->fingers);
    for (int k = 0; k < ask->finger_count; ++k)
        if (soai_in_group(s, ask->finger_groups[k])) return 1;
    return 0;
}

/* Fingers of `success`: how many there are, touch now, and have slipped more than a tenth of a
 * millimetre. */
static int count_fingers(const soa_world *w, int *touching, int *slipped, double *slip_worst) {
    int count = 0;
    for (int i = 0; i < w->solid_count; ++i) {
        if (!is_finger(w, &w->solids[i])) continue;
        int touches = 0, slips = 0;
        for (int k = 0; k < w->touch_count; ++k) {
            const soai_meeting *m = &w->meetings[w->touch[k].meeting];
            if ((m->a != i && m->b != i) || w->touch[k].slot < 0) continue;
            const soai_slot *slot = &w->slots[w->touch[k].slot];
            touches = touches || w->touch[k].pressure > 0;
            *slip_worst = fmax(*slip_worst, slot->slipped - slot->before);
            slips = slips || slot->slipped - slot->before > 1e-4;
        }
        ++count;
        *touching += touches;
        *slipped += slips;
    }
    return count;
}

/* Relative energy error that the integration may have: the tolerance, over steps whose errors have
 * random signs, times 100. Fixed steps guarantee nothing; for them a warning starts at one
 * thousandth. */
static double balance_bound(const soa_world *w) {
    const soa_integration *o = &w->scenario->integration;
    if (o->method == SOA_INTEGRATE_FIXED) return 1e-3;
    return 100 * o->relative_tolerance * sqrt((double)w->state->stats.steps + 1);
}
static void watch_balance(soa_world *w) {
    const soai_stats *st = &w->state->stats;
    const double bound = balance_bound(w);
    /* J: allowed while hardly anything moves. */
    const double rounding = 1e3 * w->scenario->integration.absolute_tolerance;
    if (st->balance_worst <= bound * st->energy_scale + rounding) return;
    soai_warn(w, "energy-balance", "world", st->balance_worst / st->energy_scale,
              "energy is off by this much of the largest, more than the integration explains "
              "(%.1e); use a smaller "
              "%s, or look for forces that jump",
              bound,
              w->scenario->integration.method == SOA_INTEGRATE_FIXED ? "step"
                                                                     : "relative_tolerance");
}

/* Updates the figures of the summary at the state reached. */
static soa_status watch(soa_world *w) {
    soai_stats *st = &w->state->stats;
    const double *ledger = w->y + w->at_ledger;
    double kinetic, potential, h[6], com[3], mass, inertia[6], sums[2];
    soa_status s = soai_peek(w);
    if (!s) s = soai_momentum(w, w->y, h, com, &mass, inertia, sums);
    if (s) return s;
    for (int part = 0; part < 2; ++part) {
        double off = 0;
        for (int k = 0; k < 3; ++k) {
            const double d = h[3 * part + k] - st->momentum_start[3 * part + k] -
                             ledger[SOAI_IMPULSE + 3 * part + k];
            off += d * d;
        }
        st->momentum_worst[part] = fmax(st->momentum_worst[part], sqrt(off));
        st->momentum_scale[part] = fmax(st->momentum_scale[part], sums[part]);
    }
    const soa_success *ask = &w->scenario->success;
    int touching = 0, slipped = 0;
    double slip = 0;
    const int fingers = ask->fingers ? count_fingers(w, &touching, &slipped, &slip) : 0;
    if (st->grasped) st->slip_worst = fmax(st->slip_worst, slip);
    /* Once all fingers touch, they must keep touching. */
    if (fingers && soai_controller_counting(w)) {
        if (touching == fingers && !st->grasped) {
            st->grasped = 1;
            slipped = 0;
            for (int k = 0; k < w->slot_count; ++k)
                w->slots[k].before = w->slots[k].slipped;
        }
        const int lost = fingers - touching;
        if (st->grasped && lost > st->fingers_lost) st->fingers_lost = lost;
        if (st->grasped && slipped > st->fingers_slipped) st->fingers_slipped = slipped;
    }
    if (ask->object &&
        w->state->t >=
            (double)soai_last_tick(w, w->scenario->duration) * w->tick_length - ask->hold - 1e-9) {
        double error[2];
        if ((s = soai_loops_feel(w)) || (s = object_error(w, error))) return s;
        const double f = squeeze(w, w->object);
        if (!(error[0] <= st->position_worst)) st->position_worst = error[0];
        if (!(error[1] <= st->attitude_worst)) st->attitude_worst = error[1];
        st->squeeze_least = fmin(st->squeeze_least, f);
        st->squeeze_most = fmax(st->squeeze_most, f);
        st->squeeze_sum += f;
        ++st->hold_samples;
    }
    if ((s = soai_energy(w, w->q, w->y + w->at_v, &kinetic, &potential))) return s;
    const double balance = kinetic + potential - st->energy_start - ledger[SOAI_SUPPLIED] +
                           ledger[SOAI_VISCOUS] - ledger[SOAI_RUBBED] - ledger[SOAI_STOPPED] -
                           ledger[SOAI_CONTACT] - ledger[SOAI_DISTURBED];
    st->balance_worst = fmax(st->balance_worst, fabs(balance));
    st->energy_scale = fmax(st->energy_scale, fmax(kinetic, fabs(potential)));
    for (int k = 0; k < SOAI_IMPULSE; ++k)
        st->energy_scale = fmax(st->energy_scale, fabs(ledger[k]));
    watch_balance(w);
    return SOA_OK;
}

/* Number of the last tick of a run until `end`. Ticks are not divided. */
int64_t soai_last_tick(const soa_world *w, double end) {
    return (int64_t)floor(end / w->tick_length + 1e-6);
}

soa_status soa_world_tick(soa_world *w, soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    if (!w) return soai_report_end(report, SOA_E_ARGUMENT);
    w->event_count = 0;
    if (w->failed) return soai_report(report, w->failed, -1, 0, "%s", w->failed_text);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    soa_status s = soai_control(w, report);
    const double end = (double)(w->state->tick + 1) * w->tick_length;
    if (!s) s = soai_advance(w, end, report);
    if (!s) {
        ++w->state->tick;
        soai_watchdog(w);
        s = watch(w);
        if (s)
            soai_report(report, s, -1, 0, "stopped at t = %.9g s: %s", w->state->t,
                        soa_status_text(s));
    }
    if (s) {
        w->failed = s;
        snprintf(w->failed_text, sizeof w->failed_text, "%s", report->text);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    w->wall += (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    return soai_report_end(report, s);
}

soa_status soa_world_set_torque(soa_world *w, soa_world_torque_fn *torque, void *user) {
    if (!w) return SOA_E_ARGUMENT;
    const int by_phases = soa_scenario_find_external(w->scenario, NULL, NULL);
    if (!w->scenario->control.external && !by_phases) return SOA_E_ARGUMENT;
    w->torque_fn = torque;
    w->torque_user = user;
    /* With phases the supervisor's blend starts from the torques of the last tick. */
    if (!torque && !by_phases) memset(w->tau, 0, (size_t)w->nv * sizeof *w->tau);
    return SOA_OK;
}

/* --- queries ---------------------------------------------------------------------------------- */
const soa_model *soa_world_model(const soa_world *w) {
    return w ? w->model : NULL;
}
const soa_constraints *soa_world_constraints(const soa_world *w) {
    return w ? w->constraints : NULL;
}
double soa_world_time(const soa_world *w) {
    return w ? w->state->t : 0;
}
double soa_world_tick_length(const soa_world *w) {
    return w ? w->tick_length : 0;
}
const double *soa_world_q(const soa_world *w) {
    return w ? w->y : NULL;
}
const double *soa_world_v(const soa_world *w) {
    return w ? w->y + w->at_v : NULL;
}
const double *soa_world_tau(const soa_world *w) {
    return w ? w->tau : NULL;
}
const char *soa_world_phase(const soa_world *w) {
    return w && w->controller ? w->scenario->control.phases[soai_controller_phase(w)].name : "";
}
const soa_world_event *soa_world_events(const soa_world *w, int *count) {
    if (count) *count = w ? w->event_count : 0;
    return w ? w->events : NULL;
}
int soa_world_contacts(const soa_world *w, soa_world_contact *out, int most) {
    if (!w) return 0;
    if (!out) most = 0;
    for (int i = 0; i < w->touch_count && i < most; ++i) {
        const soai_touch *t = &w->touch[i];
        const soai_meeting *m = &w->meetings[t->meeting];
        out[i] = (soa_world_contact){.shape_a = w->solids[m->a].name,
                                     .shape_b = w->solids[m->b].name,
                                     .distance = t->distance,
                                     .pressure = t->pressure,
                                     .sliding = t->sliding};
        memcpy(out[i].point, t->point, sizeof t->point);
        memcpy(out[i].normal, t->normal, sizeof t->normal);
        memcpy(out[i].tangential, t->tangential, sizeof t->tangential);
    }
    return w->touch_count;
}
int soa_world_shape_count(const soa_world *w) {
    return w ? w->solid_count : 0;
}
soa_status soa_world_get_shape(const soa_world *w, int index, soa_world_shape *out) {
    if (!w || !out || index < 0 || index >= w->solid_count) return SOA_E_ARGUMENT;
    const soai_solid *s = &w->solids[index];
    soa_frame_info info;
    const soa_status status = soa_model_frame(w->model, s->frame, &info);
    if (status) return status;
    *out = (soa_world_shape){s->name, s->group, s->body,
                             soa_frame_compose(&info.placement, &s->place), &s->shape};
    return SOA_OK;
}
int soa_world_pair_count(const soa_world *w) {
    return w ? w->meeting_count : 0;
}
soa_status soa_world_get_pair(const soa_world *w, int index, soa_world_pair *out) {
    if (!w || !out || index < 0 || index >= w->meeting_count) return SOA_E_ARGUMENT;
    const soai_meeting *m = &w->meetings[index];
    *out = (soa_world_pair){m->a, m->b, w->laws[m->law].margin};
    return SOA_OK;
}
soa_status soa_world_diagram(const soa_world *w, char *text, size_t size, size_t *length) {
    const soa_supervisor *supervisor = w ? soai_controller_supervisor(w) : NULL;
    return supervisor ? soa_supervisor_diagram(supervisor, text, size, length) : SOA_E_ARGUMENT;
}

/* --- saved states ----------------------------------------------------------------------------- */
size_t soa_world_state_size(const soa_world *w) {
    return w ? w->state_size : 0;
}
uint64_t soai_state_checksum(const void *memory, size_t size) {
    const size_t skip = offsetof(soai_state, checksum) + sizeof(uint64_t);
    return size > skip ? soai_checksum((const char *)memory + skip, size - skip) : 0;
}
void soa_world_save_state(const soa_world *w, void *memory) {
    if (!w || !memory) return;
    memcpy(memory, w->block, w->state_size);
    const uint64_t sum = soai_state_checksum(memory, w->state_size);
    memcpy((char *)memory + offsetof(soai_state, checksum), &sum, sizeof sum);
}

static int all_finite(const double *x, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (!(fabs(x[i]) < INFINITY)) return 0;
    return 1;
}
/* Checks a block that was read: no index is out of range, and the numbers that control time are
 * valid. */
static int state_fits(const soa_world *w) {
    const soai_state *state = w->state;
    if (state->tick < 0 || state->tick > (int64_t)1 << 53 ||
        state->t != (double)state->tick * w->tick_length)
        return 0;
    if (!(state->step >= 0 && state->step < INFINITY)) return 0;
    if (!all_finite(w->y, (size_t)w->y_count) || !all_finite(w->tau, (size_t)w->nv)) return 0;
    if (!all_finite(w->turns, 6 * (size_t)w->loop_count)) return 0;
    if (state->rank_most < 0 || state->rank_most > w->closed_rows) return 0;
    for (int k = 0; k < w->slot_count; ++k)
        if (w->slots[k].meeting < -1 || w->slots[k].meeting >= w->meeting_count) return 0;
    return soai_controller_fits(w) && soai_sensors_fit(w) && soai_warnings_fit(w);
}

soa_status soa_world_restore_state(soa_world *w, const void *memory, size_t size) {
    if (!w || !memory || size != w->state_size) return SOA_E_FORMAT;
    soai_state head;
    memcpy(&head, memory, sizeof head);
    if (head.scenario != w->state->scenario) return SOA_E_FORMAT;
    if (head.checksum != soai_state_checksum(memory, size)) return SOA_E_CHECKSUM;
    void *before = malloc(size);
    if (!before) return SOA_E_MEMORY;
    memcpy(before, w->block, size);
    memcpy(w->block, memory, size);
    w->state->checksum = 0;
    soa_status s = SOA_E_FORMAT;
    if (state_fits(w)) {
        soai_contact_index(w);
        s = soai_loops_recount(w);
        if (!s) s = soai_peek(w);
    }
    if (s) { /* restore the state */
        memcpy(w->block, before, size);
        soai_contact_index(w);
        soai_loops_recount(w);
        soai_peek(w);
    } else {
        w->stored_start = head.stored_start;
        w->t_opened = head.t;
        w->wall = 0;
        w->event_count = 0;
        w->failed = SOA_OK;
    }
    free(before);
    return s;
}

soa_status soa_world_summarise(soa_world *w, soa_world_summary *out) {
    if (!w || !out) return SOA_E_ARGUMENT;
    const soai_stats *st = &w->state->stats;
    const double *ledger = w->y + w->at_ledger;
    memset(out, 0, sizeof *out);
    out->t = w->state->t;
    out->wall_time = w->wall;
    out->ticks = w->state->tick;
    out->real_time_factor = w->wall > 0 ? (w->state->t - w->t_opened) / w->wall : 0;
    out->steps = st->steps;
    out->rejected = st->rejected;
    out->evaluations = st->evaluations;
    out->touches = st->touches;
    out->releases = st->releases;
    out->slips = st->slips;
    out->saves = st->saves;
    soa_status s = soai_energy(w, w->y, w->y + w->at_v, &out->kinetic, &out->potential);
    /* After a failed tick the state may be one where touches cannot be computed. */
    const int looked = soai_peek(w) == SOA_OK;
    for (int i = 0; i < w->touch_count; ++i)
        out->stored += w->touch[i].stored;
    /* +0.0: never print -0. */
    out->supplied = ledger[SOAI_SUPPLIED] + 0.0;
    out->viscous = ledger[SOAI_VISCOUS] + 0.0;
    out->rubbed = ledger[SOAI_RUBBED] + 0.0;
    out->stopped = ledger[SOAI_STOPPED] + 0.0;
    out->contact = ledger[SOAI_CONTACT] + 0.0;
    out->disturbed = ledger[SOAI_DISTURBED] + 0.0;
    out->energy_error_rel = st->energy_scale > 0 ? st->balance_worst / st->energy_scale : 0;
    out->contact_created = st->created_worst;
    out->is_free = w->is_free;
    for (int k = 0; k < 2; ++k)
        if (st->momentum_scale[k] > 0)
            out->momentum_error_rel =
                fmax(out->momentum_error_rel, st->momentum_worst[k] / st->momentum_scale[k]);
    out->closure_error = st->closure_worst;
    out->phase = soa_world_phase(w);
    out->warnings = soa_world_warnings(w, &out->warning_count);
    out->more_warnings = w->state->warnings.more;
    out->assembly = soa_world_assembly(w, &out->assembly_count);
    out->constraint_rows = w->closed_rows;
    out->constraint_rank = w->closed_rank;
    out->redundancy = w->redundancy;
    out->parts = soa_world_parts(w, &out->part_count);
    out->gaps = soa_world_gaps(w, &out->gap_count);
    const soa_success *ask = &w->scenario->success;
    out->judged = ask->object != NULL;
    if (out->judged) {
        double error[2];
        out->position_error_m = st->position_worst;
        out->attitude_error_deg = st->attitude_worst * 57.29577951308232;
        if (!st->hold_samples && looked && !object_error(w, error)) {
            out->position_error_m = error[0];
            out->attitude_error_deg = error[1] * 57.29577951308232;
        }
        out->fingers_lost = st->fingers_lost;
        out->fingers_slipped = st->fingers_slipped;
        int touching = 0, slipped = 0;
        double slip = 0;
        if (ask->fingers) out->finger_count = count_fingers(w, &touching, &slipped, &slip);
        if (!st->grasped) out->fingers_lost = out->finger_count - touching;
        out->slip_worst_m = st->slip_worst;
        if (!st->hold_samples && looked) soai_loops_feel(w);
        /* No sample of the holding time yet: use the present force. */
        const double now = !st->hold_samples && looked ? squeeze(w, w->object) : 0;
        out->internal_force_N = st->hold_samples ? st->squeeze_sum / (double)st->hold_samples : now;
        out->internal_force_least = st->hold_samples ? st->squeeze_least : now;
        out->internal_force_most = st->hold_samples ? st->squeeze_most : now;
        soai_judge(w, out);
    }
    return s;
}
