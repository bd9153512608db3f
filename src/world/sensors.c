/* sensors.c  readings of a world's sensors: encoders, floating roots, touches, wrist forces,
 * inertial units.
 *
 * At the start of every tick one reading of everything is taken, noise is added, and it is stored
 * in a ring. The controller sees the oldest reading, `delay` ticks old (before the start,
 * everything was as at the start). Noise is a function of (seed, tick, number of the sensor), so no
 * generator has to be stored. The ring is part of the world's state.
 *
 * encoders   q and v of joints; pose and twist of floating roots
 * touches    of each shape: whether it touches (no noise), with what force, the distance of its
 *            neighbours, how fast it slips
 * wrists     wrench of the hand's body on what it touches and on what loops connect it to (other
 *            parts, the world), at each frame that an action moves or holds by, in the frame's
 *            axes
 * estimator  torques and accelerations of joints, and what is estimated from them
 * inertial   of each floating machine, at its root and in its axes: angular rate, and specific
 *            force as the mean over the last tick, from the change of velocity minus gravity */
#include "world_internal.h"

#include <math.h>
#include <stdlib.h>

enum { WRISTS = 64, LONGEST_DELAY = 1000000 };

struct soai_sensors {
    int delay, count; /* delay in ticks; numbers per reading */
    int at_v, at_solids, at_wrists, at_imus;
    int wrist_count, imu_count, wants_distance;
    int wrist_frame[WRISTS];
    const char *wrist_name[WRISTS];
    int *imu_body;
    const char **imu_name;
    soai_force_estimate *estimate; /* NULL: none */
    int at_torques, at_accelerations, at_estimates;
};
/* Layout in the block: this struct, then the roots' velocities at the previous tick (3 each), then
 * the ring. */
typedef struct memory {
    /* next: place of the next reading in the ring; the oldest follows it. */
    int started, next;
} memory;

static memory *memory_of(const soa_world *w) {
    return (memory *)(void *)w->sensor_memory;
}
static double *velocity_before(const soa_world *w, int imu) {
    return w->sensor_memory + sizeof(memory) / sizeof(double) + 3 * imu;
}
static double *ring(const soa_world *w, int at) {
    return velocity_before(w, w->sensors->imu_count) + (size_t)at * (size_t)w->sensors->count;
}
/* The reading that the controller sees: `delay` ticks old. */
static const double *seen(const soa_world *w) {
    const int size = w->sensors->delay + 1;
    /* After a reading, `next` is the oldest of all. */
    return ring(w, memory_of(w)->next % size);
}

/* --- making ----------------------------------------------------------------------------------- */
static soa_status add_wrist(soa_world *w, const soa_action *action, const char *name,
                            soa_report *report) {
    soai_sensors *s = w->sensors;
    const int frame = name ? soa_model_find_frame(w->model, name) : -1;
    /* If the frame does not exist, the code that uses it reports this. */
    if (frame < 0) return SOA_OK;
    for (int i = 0; i < s->wrist_count; ++i)
        if (s->wrist_frame[i] == frame) return SOA_OK;
    if (s->wrist_count == WRISTS)
        return soai_scenario_fault(w->scenario, action->mark, SOA_E_ARGUMENT, report,
                                   "a wrist sensor at '%s' is one more than the %d that a world "
                                   "can have",
                                   name, WRISTS);
    s->wrist_frame[s->wrist_count] = frame;
    s->wrist_name[s->wrist_count++] = name;
    return SOA_OK;
}
static soa_status add_wrists(soa_world *w, const soa_action *action, soa_report *report) {
    soa_status s = SOA_OK;
    switch (action->kind) {
    case SOA_ACT_OPERATIONAL:
    case SOA_ACT_IMPEDANCE:
    case SOA_ACT_HYBRID: return add_wrist(w, action, action->frame, report);
    case SOA_ACT_COORDINATION:
        for (int k = 0; !s && k < action->hand_count; ++k)
            s = add_wrist(w, action, action->hands[k], report);
        return s;
    case SOA_ACT_EXTERNAL:
        for (int k = 0; !s && k < action->frame_count; ++k)
            s = add_wrist(w, action, action->frames[k], report);
        return s;
    default: return SOA_OK;
    }
}

soa_status soai_sensors_open(soa_world *w, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    const soa_scene_control *def = &sc->control;
    if (def->phase_count < 1 && !def->external && !sc->estimator.wrench_count) return SOA_OK;
    soai_sensors *s = w->sensors = calloc(1, sizeof *s);
    if (!s) return SOA_E_MEMORY;
    const double ticks = def->sensors.delay / w->tick_length;
    if (!(ticks >= 0 && ticks < LONGEST_DELAY))
        return soai_scenario_fault(
            sc, (soa_mark){0}, SOA_E_ARGUMENT, report,
            "control.sensors.delay: %g s are %.3g ticks of control.rate; at most %d are kept",
            def->sensors.delay, ticks, LONGEST_DELAY);
    s->delay = (int)(ticks + 0.5);
    for (int p = 0; p < def->phase_count; ++p) {
        const soa_phase *phase = &def->phases[p];
        for (int a = 0; a < phase->action_count; ++a) {
            const soa_status status = add_wrists(w, &phase->actions[a], report);
            if (status) return status;
        }
        for (int t = 0; t < phase->transition_count; ++t)
            for (int k = 0; k < phase->transitions[t].condition_count; ++k)
                if (!strncmp(phase->transitions[t].conditions[k].signal, "distance.", 9))
                    s->wants_distance = 1;
    }
    s->imu_body = calloc((size_t)sc->part_count + 1, sizeof *s->imu_body);
    s->imu_name = calloc((size_t)sc->part_count + 1, sizeof *s->imu_name);
    if (!s->imu_body || !s->imu_name) return SOA_E_MEMORY;
    for (int p = 0; p < sc->part_count; ++p) {
        const size_t n = strlen(sc->parts[p].name);
        for (int b = 1; sc->parts[p].model && b <= w->bodies; ++b) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            if (info.parent || info.type != SOA_FREE || strncmp(info.joint, sc->parts[p].name, n) ||
                info.joint[n] != '.')
                continue;
            s->imu_body[s->imu_count] = b;
            s->imu_name[s->imu_count++] = sc->parts[p].name;
            break;
        }
    }
    s->at_v = w->nq;
    s->at_solids = s->at_v + w->nv;
    s->at_wrists = s->at_solids + SOAI_SEEN_COUNT * w->solid_count;
    s->at_imus = s->at_wrists + 6 * s->wrist_count;
    s->count = s->at_imus + 6 * s->imu_count;
    if (!sc->estimator.wrench_count) return SOA_OK;
    s->at_torques = s->count;
    s->at_accelerations = s->at_torques + w->nv;
    s->at_estimates = s->at_accelerations + w->nv;
    s->count = s->at_estimates + SOAI_ESTIMATE_NUMBERS * sc->estimator.wrench_count + 1;
    return soai_force_estimate_open(w, &s->estimate, report);
}
size_t soai_sensors_memory(const soa_world *w) {
    _Static_assert(sizeof(memory) == sizeof(double), "arrays follow it, without padding");
    const soai_sensors *s = w->sensors;
    if (!s) return 0;
    return sizeof(memory) +
           (3 * (size_t)s->imu_count + ((size_t)s->delay + 1) * (size_t)s->count) * sizeof(double);
}
void soai_sensors_close(soa_world *w) {
    if (!w->sensors) return;
    free(w->sensors->imu_body);
    free(w->sensors->imu_name);
    soai_force_estimate_close(w->sensors->estimate);
    free(w->sensors);
}
void soai_sensors_forget(soa_world *w) {
    if (w->sensors) memory_of(w)->started = 0;
}
int soai_sensors_started(const soa_world *w) {
    return memory_of(w)->started;
}
int soai_sensors_fit(const soa_world *w) {
    if (!w->sensors) return 1;
    const memory *m = memory_of(w);
    return (m->started == 0 || m->started == 1) && m->next >= 0 && m->next <= w->sensors->delay;
}

/* --- noise ------------------------------------------------------------------------------------ */
static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
/* Normally distributed number with mean 0 for (seed, tick, index). */
static double noise(const soa_world *w, double sigma, int index) {
    if (!(sigma > 0)) return 0;
    const uint64_t key =
        mix(w->scenario->seed ^ mix((uint64_t)w->state->tick * 0x100000001b3u + (uint64_t)index));
    const double u1 = ((double)(key >> 11) + 0.5) / 9007199254740992.0,
                 u2 = ((double)(mix(key) >> 11) + 0.5) / 9007199254740992.0;
    return sigma * sqrt(-2 * log(u1)) * cos(6.283185307179586 * u2);
}
/* First index of each kind of sensor; encoders come before. */
enum {
    OF_SOLIDS = 100000000,
    OF_WRISTS = 200000000,
    OF_IMUS = 300000000,
    OF_TORQUES = 400000000,
    OF_ACCELERATIONS = 500000000
};

/* --- measuring -------------------------------------------------------------------------------- */
static soa_status read_encoders(soa_world *w, double *q, double *v) {
    const soa_sensor_set *s = &w->scenario->control.sensors;
    double *dq = w->qdd; /* scratch */
    for (int i = 0; i < w->nv; ++i) {
        dq[i] = 0;
        v[i] = w->y[w->at_v + i];
    }
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const int is_root = info.type == SOA_FREE;
        for (int k = 0; k < info.nv; ++k) {
            const int i = info.v_index + k, linear = is_root && k >= 3;
            dq[i] = noise(w, is_root ? s->pose_noise[linear] : s->position_noise, 2 * i);
            v[i] += noise(w, is_root ? s->twist_noise[linear] : s->rate_noise, 2 * i + 1);
        }
    }
    const soa_status status = soa_q_integrate(w->model, w->y, dq, 1, q);
    return status ? status : soa_q_normalise(w->model, q);
}

static void read_touches(soa_world *w, double *out) {
    const double sigma = w->scenario->control.sensors.force_noise;
    for (int i = 0; i < w->solid_count; ++i) {
        double *o = out + SOAI_SEEN_COUNT * i;
        o[SOAI_SEEN_TOUCHING] = 0;
        o[SOAI_SEEN_DISTANCE] = INFINITY;
        o[SOAI_SEEN_SLIP] = 0;
        o[SOAI_SEEN_FORCE] = noise(w, sigma, OF_SOLIDS + i);
    }
    for (int k = 0; k < w->touch_count; ++k) {
        const soai_touch *t = &w->touch[k];
        const int side[2] = {w->meetings[t->meeting].a, w->meetings[t->meeting].b};
        for (int j = 0; j < 2; ++j) {
            double *o = out + SOAI_SEEN_COUNT * side[j];
            if (t->pressure > 0) o[SOAI_SEEN_TOUCHING] = 1;
            o[SOAI_SEEN_FORCE] += t->pressure;
            if (t->sliding)
                o[SOAI_SEEN_SLIP] = fmax(o[SOAI_SEEN_SLIP], sqrt(t->velocity[0] * t->velocity[0] +
                                                                 t->velocity[1] * t->velocity[1] +
                                                                 t->velocity[2] * t->velocity[2]));
        }
    }
    for (int m = 0; w->sensors->wants_distance && m < w->meeting_count; ++m) {
        const int a = w->meetings[m].a, b = w->meetings[m].b;
        soa_distance d;
        soa_distance_cache cold = {0};
        if (soa_shape_distance(&w->solids[a].shape, &w->pose[a], &w->solids[b].shape, &w->pose[b],
                               &cold, &d))
            continue;
        double *oa = out + SOAI_SEEN_COUNT * a + SOAI_SEEN_DISTANCE,
               *ob = out + SOAI_SEEN_COUNT * b + SOAI_SEEN_DISTANCE;
        *oa = fmin(*oa, d.distance);
        *ob = fmin(*ob, d.distance);
    }
}

/* Rotates v from world axes into a frame's axes. */
static void turn_back(const double R[9], const double v[3], double out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = R[k] * v[0] + R[3 + k] * v[1] + R[6 + k] * v[2];
}

/* Adds the wrench that a body exerts on other parts and the world through constraints, at `point`.
 * Constraints within its part do not count. */
static void add_loops(const soa_world *w, int body, const double point[3], double sum[6]) {
    for (int i = 0; i < w->loop_count; ++i) {
        const soai_loop *loop = &w->loops[i];
        if (loop->kind == SOA_RATIO || loop->part[0] == loop->part[1]) continue;
        for (int side = 0; side < 2; ++side) {
            double wrench[6];
            if (loop->body[side] != body) continue;
            soai_loop_wrench(loop, side, point, wrench);
            for (int k = 0; k < 6; ++k)
                sum[k] -= wrench[k];
        }
    }
}

/* [n; f] of a frame's body on its surroundings at the frame's origin, in world axes. Call
 * soai_loops_feel first. */
soa_status soai_feel_wrist(soa_world *w, int frame, soa_frame *at, double sum[6]) {
    soa_frame_info info;
    memset(sum, 0, 6 * sizeof *sum);
    soa_status status = soa_model_frame(w->model, frame, &info);
    if (!status) status = soa_pose(w->model, w->work, frame, at);
    if (status) return status;
    for (int i = 0; i < w->touch_count; ++i) {
        const soai_touch *t = &w->touch[i];
        const soai_meeting *m = &w->meetings[t->meeting];
        double sign = 0;
        double f[3];
        double r[3];
        if (w->solids[m->a].body == info.body) sign = -1; /* the force on a is pressure * normal */
        if (w->solids[m->b].body == info.body) sign = 1;
        if (sign == 0) continue;
        for (int k = 0; k < 3; ++k) {
            f[k] = sign * (t->pressure * t->normal[k] + t->tangential[k]);
            r[k] = t->point[k] - at->p[k];
        }
        sum[0] += r[1] * f[2] - r[2] * f[1];
        sum[1] += r[2] * f[0] - r[0] * f[2];
        sum[2] += r[0] * f[1] - r[1] * f[0];
        for (int k = 0; k < 3; ++k)
            sum[3 + k] += f[k];
    }
    add_loops(w, info.body, at->p, sum);
    return SOA_OK;
}
static soa_status read_wrist(soa_world *w, int index, double out[6]) {
    const soa_sensor_set *sigma = &w->scenario->control.sensors;
    soa_frame at;
    double sum[6];
    const soa_status status = soai_feel_wrist(w, w->sensors->wrist_frame[index], &at, sum);
    if (status) return status;
    turn_back(at.R, sum, out);
    turn_back(at.R, sum + 3, out + 3);
    for (int k = 0; k < 6; ++k)
        out[k] +=
            noise(w, k < 3 ? sigma->torque_noise : sigma->force_noise, OF_WRISTS + 6 * index + k);
    return SOA_OK;
}

static soa_status read_imu(soa_world *w, int index, double out[6]) {
    const soa_sensor_set *sigma = &w->scenario->control.sensors;
    soa_body_info info;
    soa_frame at;
    double V[6], gravity[3], force[3] = {0}, *before = velocity_before(w, index);
    soa_status status = soa_model_body(w->model, w->sensors->imu_body[index], &info);
    if (!status) status = soa_pose(w->model, w->work, info.frame, &at);
    if (!status) status = soa_velocity(w->model, w->work, info.frame, SOA_AXES_WORLD, V);
    if (status) return status;
    soa_model_gravity(w->model, gravity);
    for (int k = 0; k < 3; ++k) {
        if (memory_of(w)->started) force[k] = (V[3 + k] - before[k]) / w->tick_length;
        force[k] -= gravity[k];
        before[k] = V[3 + k];
    }
    turn_back(at.R, V, out);
    turn_back(at.R, force, out + 3);
    for (int k = 0; k < 6; ++k)
        out[k] += noise(w, sigma->imu_noise[k / 3], OF_IMUS + 6 * index + k);
    return SOA_OK;
}

/* Torques and accelerations of joints; a floating root has neither sensor. */
static soa_status read_joints(soa_world *w, double *now) {
    const soai_sensors *s = w->sensors;
    const soa_scene_estimator *sigma = &w->scenario->estimator;
    double *tau = now + s->at_torques, *a = now + s->at_accelerations;
    const soa_status status = soai_force_measure(w, s->estimate, tau, a);
    for (int i = 0; i < w->nv; ++i) {
        if (soai_force_is_root(s->estimate, i)) {
            tau[i] = a[i] = 0;
            continue;
        }
        tau[i] += noise(w, sigma->joint_torque_noise, OF_TORQUES + i);
        a[i] += noise(w, sigma->acceleration_noise, OF_ACCELERATIONS + i);
    }
    return status;
}

/* Takes a reading. Kinematics and touches must be those of the state; every tick ends with
 * computing them. */
soa_status soai_sense(soa_world *w) {
    const soai_sensors *s = w->sensors;
    if (!s) return SOA_OK;
    memory *m = memory_of(w);
    const int size = s->delay + 1;
    double *now = ring(w, m->next);
    soa_status status = s->wrist_count ? soai_loops_feel(w) : SOA_OK;
    if (!status && s->estimate) status = read_joints(w, now);
    if (!status) status = soa_kinematics(w->model, w->work, w->y, w->y + w->at_v, NULL);
    if (!status) status = read_encoders(w, now, now + s->at_v);
    read_touches(w, now + s->at_solids);
    for (int i = 0; !status && i < s->wrist_count; ++i)
        status = read_wrist(w, i, now + s->at_wrists + 6 * i);
    for (int i = 0; !status && i < s->imu_count; ++i)
        status = read_imu(w, i, now + s->at_imus + 6 * i);
    if (!status && s->estimate)
        status = soai_force_estimate_take(w, s->estimate, now, now + s->at_v, now + s->at_torques,
                                          now + s->at_accelerations, now + s->at_estimates);
    if (status) return status;
    for (int k = 0; !m->started && k < size; ++k)
        if (k != m->next) memcpy(ring(w, k), now, (size_t)s->count * sizeof *now);
    m->started = 1;
    m->next = (m->next + 1) % size;
    return SOA_OK;
}

/* --- what the controller sees ----------------------------------------------------------------- */
const double *soai_seen_q(const soa_world *w) {
    return seen(w);
}
const double *soai_seen_v(const soa_world *w) {
    return seen(w) + w->sensors->at_v;
}
double soai_seen_solid(const soa_world *w, int solid, int which) {
    return seen(w)[w->sensors->at_solids + SOAI_SEEN_COUNT * solid + which];
}
int soai_wrist_count(const soa_world *w) {
    return w->sensors ? w->sensors->wrist_count : 0;
}
const double *soai_wrist(const soa_world *w, int index, const char **name) {
    *name = w->sensors->wrist_name[index];
    return seen(w) + w->sensors->at_wrists + 6 * index;
}
const double *soai_seen_wrist(const soa_world *w, int frame) {
    const char *name;
    for (int i = 0; i < soai_wrist_count(w); ++i)
        if (w->sensors->wrist_frame[i] == frame) return soai_wrist(w, i, &name);
    return NULL;
}
int soai_imu_count(const soa_world *w) {
    return w->sensors ? w->sensors->imu_count : 0;
}
const double *soai_imu(const soa_world *w, int index, const char **name) {
    *name = w->sensors->imu_name[index];
    return seen(w) + w->sensors->at_imus + 6 * index;
}
const double *soai_seen_torques(const soa_world *w) {
    return w->sensors && w->sensors->estimate ? seen(w) + w->sensors->at_torques : NULL;
}
const double *soai_seen_accelerations(const soa_world *w) {
    return w->sensors && w->sensors->estimate ? seen(w) + w->sensors->at_accelerations : NULL;
}
const double *soai_seen_estimate(const soa_world *w, int index) {
    return seen(w) + w->sensors->at_estimates + SOAI_ESTIMATE_NUMBERS * index;
}
double soai_seen_chi_square(const soa_world *w) {
    return *soai_seen_estimate(w, w->scenario->estimator.wrench_count);
}
