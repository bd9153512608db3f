/* run.c  runs a world to its end, records samples, events and checkpoints in a journal, and resumes
 * a run.
 *
 * Samples and checkpoints are taken at ticks. The integrator restarts at every tick, and a tick
 * depends only on the state block. So a run resumed from a checkpoint gives the same bits, and the
 * same bytes of the journal, as one that was never interrupted. The journal contains the text of
 * the scenario, followed by comment lines with the place of the file (models and meshes are found
 * relative to it), the seed, and the case of a sweep. */
#define _XOPEN_SOURCE 700 /* for realpath */
#include "../scenario/scenario_internal.h"
#include "world_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- signals ---------------------------------------------------------------------------------- */
/* The recorded signals: one list, used by the calls below. `put` is called for every signal with
 * its value. */
typedef void put_fn(void *user, const char *unit, double value, const char *format, const char *a,
                    const char *b);

static const char *const free_names[7] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
static const char *const free_rates[6] = {"wx", "wy", "wz", "vx", "vy", "vz"};

/* Name of coordinate k: "joint", or "joint." and a suffix if the joint has several. */
static void coordinate_name(const soa_body_info *info, int rates, int k, char name[300]) {
    const int n = rates ? info->nv : info->nq;
    if (n == 1)
        snprintf(name, 300, "%s", info->joint);
    else if (info->type == SOA_FREE)
        snprintf(name, 300, "%s.%s", info->joint, rates ? free_rates[k] : free_names[k]);
    else
        snprintf(name, 300, "%s.%d", info->joint, k);
}
/* Whether coordinate (or rate) k of a joint is a length. */
static int is_linear(const soa_body_info *info, int rates, int k) {
    switch (info->type) {
    case SOA_PRISMATIC: return 1;
    case SOA_CYLINDRICAL: return k == 1;
    case SOA_PLANAR: return k < 2;
    case SOA_FREE: return rates ? k >= 3 : k < 3;
    default: return 0;
    }
}
/* Unit of coordinate (or rate) k of a joint; "": parts of a quaternion. */
static const char *unit_of(const soa_body_info *info, int rates, int k) {
    if (is_linear(info, rates, k)) return rates ? "m/s" : "m";
    if (rates) return "rad/s";
    return info->type == SOA_FREE || info->type == SOA_SPHERICAL ? "" : "rad";
}
static int is_first_of_group(const soa_world *w, int solid) {
    for (int k = 0; k < solid; ++k)
        if (!strcmp(w->solids[k].group, w->solids[solid].group)) return 0;
    return 1;
}

/* What the controller measured at the last tick. */
static void walk_sensors(soa_world *w, put_fn *put, void *user) {
    static const char *const wrench[6] = {"nx", "ny", "nz", "fx", "fy", "fz"};
    static const char *const inertial[6] = {"wx", "wy", "wz", "ax", "ay", "az"};
    if (!w->sensors) return;
    /* Before the first tick there is no reading. */
    const double unseen = soai_sensors_started(w) ? 0 : NAN;
    const soa_sensor_set *s = &w->scenario->control.sensors;
    const int differ = s->delay > 0 || s->position_noise > 0 || s->rate_noise > 0 ||
                       s->pose_noise[0] > 0 || s->pose_noise[1] > 0 || s->twist_noise[0] > 0 ||
                       s->twist_noise[1] > 0;
    /* Encoders, if their readings differ from the true values. */
    for (int rates = 0; differ && rates < 2; ++rates)
        for (int b = 1; b <= w->bodies; ++b) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            for (int k = 0; k < (rates ? info.nv : info.nq); ++k) {
                char name[300];
                const char *unit = unit_of(&info, rates, k);
                coordinate_name(&info, rates, k, name);
                if (rates)
                    put(user, unit, unseen + soai_seen_v(w)[info.v_index + k], "sensor.v.%s%s",
                        name, "");
                else
                    put(user, unit, unseen + soai_seen_q(w)[info.q_index + k], "sensor.q.%s%s",
                        name, "");
            }
        }
    const char *name;
    for (int i = 0; i < soai_wrist_count(w); ++i)
        for (int k = 0; k < 6; ++k) {
            const double *felt = soai_wrist(w, i, &name);
            put(user, k < 3 ? "N m" : "N", unseen + felt[k], "sensor.wrist.%s.%s", name, wrench[k]);
        }
    for (int i = 0; i < soai_imu_count(w); ++i)
        for (int k = 0; k < 6; ++k) {
            const double *felt = soai_imu(w, i, &name);
            put(user, k < 3 ? "rad/s" : "m/s^2", unseen + felt[k], "sensor.imu.%s.%s", name,
                inertial[k]);
        }
    for (int i = 0; i < w->solid_count; ++i) {
        double touching = 0, force = 0;
        for (int k = 0; k < w->solid_count; ++k) {
            if (!strcmp(w->solids[k].group, w->solids[i].group)) {
                touching += soai_seen_solid(w, k, SOAI_SEEN_TOUCHING);
                force += soai_seen_solid(w, k, SOAI_SEEN_FORCE);
            }
        }
        if (!is_first_of_group(w, i)) continue;
        put(user, "", unseen + touching, "sensor.contact.%s.%s", w->solids[i].group, "touching");
        put(user, "N", unseen + force, "sensor.contact.%s.%s", w->solids[i].group, "force");
    }
}

/* Torques and accelerations of joints as measured, and the wrenches estimated from them, with the
 * covariances of what is unknown of them. */
static void walk_estimate(soa_world *w, put_fn *put, void *user) {
    static const char *const names[6] = {"nx", "ny", "nz", "fx", "fy", "fz"};
    static const char *const units[3] = {"N^2 m^2", "N^2 m", "N^2"};
    const double *tau = soai_seen_torques(w), *a = soai_seen_accelerations(w);
    const soa_scene_estimator *def = &w->scenario->estimator;
    if (!tau) return;
    const double unseen = soai_sensors_started(w) ? 0 : NAN;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        for (int k = 0; info.type != SOA_FREE && k < info.nv; ++k) {
            const int linear = is_linear(&info, 1, k), i = info.v_index + k;
            char name[300];
            coordinate_name(&info, 1, k, name);
            put(user, linear ? "N" : "N m", unseen + tau[i], "sensor.torque.%s%s", name, "");
            put(user, linear ? "m/s^2" : "rad/s^2", unseen + a[i], "sensor.a.%s%s", name, "");
        }
    }
    for (int i = 0; i < def->wrench_count; ++i) {
        const soa_scene_wrench_prior *prior = &def->wrenches[i];
        const double *value = soai_seen_estimate(w, i), *covariance = value + 6;
        for (int r = 0; r < 6; ++r) {
            if (!((r < 3 ? prior->torque : prior->force) > 0)) continue;
            put(user, r < 3 ? "N m" : "N", unseen + value[r], "estimate.%s.%s", prior->frame,
                names[r]);
            for (int c = r; c < 6; ++c) {
                char pair[16];
                if (!((c < 3 ? prior->torque : prior->force) > 0)) continue;
                snprintf(pair, sizeof pair, "%s_%s", names[r], names[c]);
                put(user, units[(r >= 3) + (c >= 3)], unseen + covariance[6 * r + c],
                    "covariance.%s.%s", prior->frame, pair);
            }
        }
    }
    put(user, "", unseen + soai_seen_chi_square(w), "estimate.%s%s", "chi_square", "");
}

/* For each shape: where it is touched and the force on it from outside, both in world axes. */
static void walk_shapes(soa_world *w, put_fn *put, void *user) {
    static const char *const names[6] = {"x", "y", "z", "fx", "fy", "fz"};
    for (int i = 0; i < w->recorded_count; ++i) {
        const int solid = w->recorded[i];
        /* at: mean weighted by pressure; plain mean if nothing presses. */
        double at[2][3] = {{0}}, force[3] = {0}, weight = 0;
        int touches = 0;
        for (int k = 0; k < w->touch_count; ++k) {
            const soai_touch *t = &w->touch[k];
            const soai_meeting *m = &w->meetings[t->meeting];
            if (m->a != solid && m->b != solid) continue;
            const double share = fabs(t->pressure), sign = m->a == solid ? 1 : -1;
            ++touches;
            weight += share;
            for (int j = 0; j < 3; ++j) {
                at[0][j] += share * t->point[j];
                at[1][j] += t->point[j];
                force[j] += sign * (t->pressure * t->normal[j] + t->tangential[j]);
            }
        }
        for (int k = 0; k < 6; ++k) {
            double place;
            if (!touches) {
                place = NAN;
            } else if (weight > 0) {
                place = at[0][k % 3] / weight;
            } else {
                place = at[1][k % 3] / touches;
            }
            put(user, k < 3 ? "m" : "N", k < 3 ? place : force[k - 3], "contact.%s.%s",
                w->solids[solid].name, names[k]);
        }
    }
}

/* For each constraint: the wrench on the body of the first frame, at the constraint's point on it,
 * in world axes. For a ratio: its multiplier. */
static void walk_loops(soa_world *w, put_fn *put, void *user) {
    static const char *const names[6] = {"nx", "ny", "nz", "fx", "fy", "fz"};
    static const char *const coordinates[6] = {"q0", "q1", "q2", "q3", "q4", "q5"};
    if (!w->loop_count || w->loop_count > SOAI_RECORDED) return;
    const double unknown = soai_loops_feel(w) ? NAN : 0;
    for (int i = 0; i < w->loop_count; ++i) {
        const soai_loop *loop = &w->loops[i];
        double point[3];
        double wrench[6];
        if (loop->kind == SOA_RATIO) {
            put(user, "", unknown + loop->lambda, "loop.%s.%s", loop->name, "lambda");
            continue;
        }
        soai_loop_point(loop, 0, point);
        soai_loop_wrench(loop, 0, point, wrench);
        for (int k = 0; k < 6; ++k)
            put(user, k < 3 ? "N m" : "N", unknown + wrench[k], "loop.%s.%s", loop->name, names[k]);
        for (int k = 0; k < loop->turns; ++k)
            put(user, "", w->turns[6 * i + k], "loop.%s.%s", loop->name, coordinates[k]);
    }
}

static void walk(soa_world *w, put_fn *put, void *user) {
    const double *q = w->y, *v = w->y + w->at_v, *ledger = w->y + w->at_ledger;
    for (int rates = 0; rates < 3; ++rates)
        for (int b = 1; b <= w->bodies; ++b) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            const int n = rates ? info.nv : info.nq;
            for (int k = 0; k < n; ++k) {
                const int linear = is_linear(&info, rates, k);
                char full[300];
                coordinate_name(&info, rates, k, full);
                if (!rates)
                    put(user, unit_of(&info, 0, k), q[info.q_index + k], "q.%s%s", full, "");
                else if (rates == 1)
                    put(user, unit_of(&info, 1, k), v[info.v_index + k], "v.%s%s", full, "");
                else if (w->actuated[info.v_index + k])
                    put(user, linear ? "N" : "N m", w->tau[info.v_index + k], "tau.%s%s", full, "");
            }
        }
    double kinetic = 0, potential = 0, stored = 0, h[6], com[3], mass, inertia[6], sums[2];
    soai_energy(w, q, v, &kinetic, &potential);
    for (int i = 0; i < w->touch_count; ++i)
        stored += w->touch[i].stored;
    put(user, "J", kinetic, "energy.%s%s", "kinetic", "");
    put(user, "J", potential, "energy.%s%s", "potential", "");
    put(user, "J", stored, "energy.%s%s", "contacts", "");
    put(user, "J", ledger[SOAI_SUPPLIED], "energy.%s%s", "supplied", "");
    put(user, "J",
        ledger[SOAI_VISCOUS] - ledger[SOAI_RUBBED] - ledger[SOAI_STOPPED] - ledger[SOAI_CONTACT] -
            stored,
        "energy.%s%s", "dissipated", "");
    memset(h, 0, sizeof h);
    soai_momentum(w, w->y, h, com, &mass, inertia, sums);
    const double *h0 = w->state->stats.momentum_start;
    double off[2] = {0};
    for (int k = 0; k < 6; ++k)
        off[k / 3] += pow(h[k] - h0[k] - ledger[SOAI_IMPULSE + k], 2);
    /* If the world holds or pulls a part, momentum is not conserved. */
    if (w->is_free) {
        put(user, "N m s", sqrt(off[0]), "momentum.%s%s", "angular_error", "");
        put(user, "N s", sqrt(off[1]), "momentum.%s%s", "linear_error", "");
    }
    for (int i = 0; i < w->solid_count; ++i) {
        if (!is_first_of_group(w, i)) continue;
        double pressure = 0, rub = 0;
        int points = 0;
        for (int k = 0; k < w->touch_count; ++k) {
            const soai_touch *t = &w->touch[k];
            const soai_meeting *m = &w->meetings[t->meeting];
            if (strcmp(w->solids[m->a].group, w->solids[i].group) &&
                strcmp(w->solids[m->b].group, w->solids[i].group))
                continue;
            ++points;
            pressure += t->pressure;
            rub += sqrt(t->tangential[0] * t->tangential[0] + t->tangential[1] * t->tangential[1] +
                        t->tangential[2] * t->tangential[2]);
        }
        put(user, "", points, "contact.%s.%s", w->solids[i].group, "points");
        put(user, "N", pressure, "contact.%s.%s", w->solids[i].group, "pressure");
        put(user, "N", rub, "contact.%s.%s", w->solids[i].group, "friction");
    }
    walk_shapes(w, put, user);
    walk_loops(w, put, user);
    for (int i = 0; i < w->spring_count; ++i) {
        double length = NAN;
        double force = NAN;
        if (soai_peek(w) == SOA_OK) soai_spring_now(w, i, &length, &force);
        put(user, "m", length, "spring.%s.%s", w->springs[i].def->name, "length");
        put(user, "N", force, "spring.%s.%s", w->springs[i].def->name, "force");
    }
    walk_sensors(w, put, user);
    walk_estimate(w, put, user);
    if (w->controller) {
        put(user, "", soai_controller_phase(w), "control.%s%s", "phase", "");
        soai_object_figures(w, h);
        if (w->scenario->success.object) {
            put(user, "m", h[0], "object.%s%s", "position_error", "");
            put(user, "rad", h[1], "object.%s%s", "attitude_error", "");
            put(user, "N", h[2], "object.%s%s", "internal_force", "");
        }
    }
}

typedef struct names {
    int count;
    char (*name)[320];
    const char **unit;
} names;
static void count_signal(void *user, const char *unit, double value, const char *format,
                         const char *a, const char *b) {
    (void)unit;
    (void)value;
    (void)format;
    (void)a;
    (void)b;
    ++*(int *)user;
}
static void name_signal(void *user, const char *unit, double value, const char *format,
                        const char *a, const char *b) {
    names *n = user;
    (void)value;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(n->name[n->count], sizeof n->name[0], format, a, b);
#pragma GCC diagnostic pop
    n->unit[n->count++] = unit;
}
static void value_signal(void *user, const char *unit, double value, const char *format,
                         const char *a, const char *b) {
    double **at = user;
    (void)unit;
    (void)format;
    (void)a;
    (void)b;
    *(*at)++ = value;
}

soa_status soai_signals_open(soa_world *w) {
    int count = 0;
    walk(w, count_signal, &count);
    w->signal_name = malloc((size_t)count * sizeof *w->signal_name);
    w->signal_unit = malloc((size_t)count * sizeof *w->signal_unit);
    if (!w->signal_name || !w->signal_unit) return SOA_E_MEMORY;
    names n = {0, w->signal_name, w->signal_unit};
    walk(w, name_signal, &n);
    w->signal_count = count;
    return SOA_OK;
}
int soa_world_signal_count(const soa_world *w) {
    return w ? w->signal_count : 0;
}
const char *soa_world_signal_name(const soa_world *w, int index, const char **unit) {
    if (!w || index < 0 || index >= w->signal_count) return NULL;
    if (unit) *unit = w->signal_unit[index];
    return w->signal_name[index];
}
soa_status soa_world_signal_values(soa_world *w, double *values) {
    if (!w || !values) return SOA_E_ARGUMENT;
    double *at = values;
    walk(w, value_signal, &at);
    return SOA_OK;
}

/* --- what a journal stores about its run ------------------------------------------------------ */
static const char trailer_start[] = "\n#soa-run file: ";
/* The torques came from a function of the caller, soa_world_set_torque. */
static const char external_line[] = "#soa-run control: external\n";

/* Text of the scenario with the trailer. The caller frees it. */
static char *text_with_trailer(const soa_scenario *sc, size_t *size) {
    /* Shipped scenarios are found by name. */
    char *found = sc->file ? realpath(sc->file, NULL) : NULL;
    const char *file;
    if (found) {
        file = found;
    } else if (sc->file) {
        file = sc->file;
    } else {
        file = "";
    }
    if (strpbrk(file, "\n\r")) file = "";
    char *text = malloc(sc->source_size + strlen(file) + 200);
    if (text) {
        if (sc->source) memcpy(text, sc->source, sc->source_size);
        char *at = text + (sc->source ? sc->source_size : 0);
        at += sprintf(at, "%s%s\n#soa-run seed: %llu\n", trailer_start, file,
                      (unsigned long long)(sc->is_case ? sc->drawn_from : sc->seed));
        if (sc->is_case)
            at += sprintf(at, "#soa-run case: %llu\n", (unsigned long long)sc->case_number);
        if (sc->control.external || soa_scenario_find_external(sc, NULL, NULL))
            at += sprintf(at, "%s", external_line);
        *size = (size_t)(at - text);
    }
    free(found);
    return text;
}

/* Rebuilds the scenario of a run from a journal's text, which is changed. */
static soa_status scenario_of_text(char *text, size_t size, const char *log, soa_scenario *scenario,
                                   soa_report *report) {
    const size_t n = sizeof trailer_start - 1;
    char *trailer = NULL, *file = NULL;
    for (size_t i = size; i-- > 0 && !trailer;)
        if (size - i >= n && !memcmp(text + i, trailer_start, n)) trailer = text + i;
    unsigned long long seed = 0, number = 0;
    int has_seed = 0, has_case = 0;
    bool external = false;
    if (trailer) { /* text ends with a 0 that is not counted */
        size = (size_t)(trailer - text);
        file = trailer + n;
        char *end = strchr(file, '\n');
        if (end) {
            *end = 0;
            has_seed = sscanf(end + 1, "#soa-run seed: %llu", &seed) == 1;
            external = strstr(end + 1, external_line) != NULL;
            char *next = strchr(end + 1, '\n');
            has_case = next && sscanf(next + 1, "#soa-run case: %llu", &number) == 1;
        }
    }
    if (!size)
        return soai_report(report, SOA_E_FORMAT, -1, 0,
                           "%.100s: its scenario was made in C and cannot be read from the journal",
                           log);
    soa_status s = soa_scenario_parse(text, size, file && *file ? file : log, scenario, report);
    if (s) return s;
    if (has_seed) scenario->seed = seed;
    if (has_case) {
        soa_scenario varied;
        if ((s = soa_scenario_vary(scenario, number, &varied, NULL, report))) {
            soa_scenario_free(scenario);
            return s;
        }
        soai_arena all = {varied.memory}, own = {scenario->memory};
        /* The case shares all data that the sweep did not change. */
        soai_arena_join(&all, &own);
        *scenario = varied;
        scenario->memory = all.last;
    }
    scenario->control.external = external;
    return SOA_OK;
}

soa_status soa_scenario_from_log(const soa_log *log, const char *name, soa_scenario *scenario,
                                 soa_report *report) {
    soai_report_reset(report);
    soa_log_info info;
    if (!log || !scenario) return soai_report_end(report, SOA_E_ARGUMENT);
    soa_log_get_info(log, &info);
    char *text = malloc(info.scenario_size + 1);
    if (!text) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s", soa_status_text(SOA_E_MEMORY));
    memcpy(text, info.scenario, info.scenario_size + 1);
    const soa_status s =
        scenario_of_text(text, info.scenario_size, name ? name : "journal", scenario, report);
    free(text);
    return soai_report_end(report, s);
}

soa_status soa_world_create_journal(soa_world *w, const char *path, soa_journal **journal,
                                    soa_report *report) {
    soai_report_reset(report);
    if (!w || !path || !journal) return soai_report_end(report, SOA_E_ARGUMENT);
    size_t size = 0;
    char *text = text_with_trailer(w->scenario, &size);
    soa_signal *signals = malloc(((size_t)w->signal_count + 1) * sizeof *signals);
    soa_status s = text && signals ? SOA_OK
                                   : soai_report(report, SOA_E_MEMORY, -1, 0, "%s",
                                                 soa_status_text(SOA_E_MEMORY));
    for (int i = 0; !s && i < w->signal_count; ++i)
        signals[i] = (soa_signal){w->signal_name[i], w->signal_unit[i]};
    if (!s) s = soa_journal_create(path, text, size, signals, w->signal_count, journal, report);
    free(signals);
    free(text);
    return soai_report_end(report, s);
}

static soa_status take_state(soa_world *w, const char *path, double t, const void *blob,
                             size_t size, soa_report *report) {
    const soa_status s = soa_world_restore_state(w, blob, size);
    if (!s) return s;
    return soai_report(
        report, s, -1, 0,
        "%.80s: the state at t = %.9g s is not of this scenario with these models and this "
        "version, or is damaged",
        path, t);
}

soa_status soa_world_resume(const char *path, soa_scenario *scenario, soa_world **world,
                            soa_journal **journal, soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    if (!path || !scenario || !world || !journal) return soai_report_end(report, SOA_E_ARGUMENT);
    /* Everything that can fail is tried with a reader first: a journal that cannot be resumed is
     * not changed. */
    soa_log *log = NULL;
    soa_log_info info;
    soa_scenario read;
    soa_world *w = NULL;
    soa_journal *j = NULL;
    void *blob = NULL;
    size_t size = 0;
    double t = 0;
    soa_status s = soa_log_open(path, &log, report);
    if (s) return soai_report_end(report, s);
    soa_log_get_info(log, &info);
    if ((s = soa_scenario_from_log(log, path, &read, report))) {
        soa_log_close(log);
        return soai_report_end(report, s);
    }
    s = soa_world_create(&read, &w, report);
    int same = !s && info.signal_count == w->signal_count;
    for (int i = 0; same && i < w->signal_count; ++i)
        same = !strcmp(info.signals[i].name, w->signal_name[i]);
    if (!s && !same)
        s = soai_report(
            report, SOA_E_FORMAT, -1, 0,
            "%.100s: its signals are not those of its scenario; another version wrote it", path);
    int tried = 0;
    if (!s && !soa_log_read_checkpoint(log, &t, &blob, &size, NULL) && blob) {
        s = take_state(w, path, t, blob, size, report);
        tried = 1;
    }
    free(blob);
    blob = NULL;
    soa_log_close(log);
    if (!s) s = soa_journal_reopen(path, &j, &t, &blob, &size, NULL, NULL, report);
    /* The previous checkpoint, if the last one is damaged. */
    if (!s && blob) s = take_state(w, path, t, blob, size, report);
    /* No checkpoint is good: start from the beginning. */
    if (!s && !blob && tried) {
        soa_world_free(w);
        w = NULL;
        s = soa_world_create(&read, &w, report);
    }
    free(blob);
    if (s) {
        soa_journal_abandon(j, NULL);
        soa_world_free(w);
        soa_scenario_free(&read);
        return soai_report_end(report, s);
    }
    *scenario = read;
    w->scenario = scenario;
    *world = w;
    *journal = j;
    return SOA_OK;
}

/* --- the run ---------------------------------------------------------------------------------- */
static soa_status record_events(soa_world *w, soa_journal *journal) {
    int count;
    const soa_world_event *e = soa_world_events(w, &count);
    soa_status s = SOA_OK;
    for (int i = 0; !s && i < count; ++i)
        s = soa_journal_write_event(journal, e[i].t, e[i].kind, e[i].text);
    return s;
}
static soa_status record_state(soa_world *w, soa_journal *journal, void *blob) {
    soa_world_save_state(w, blob);
    return soa_journal_write_checkpoint(journal, w->state->t, blob, w->state_size);
}
int64_t soai_in_ticks(const soa_world *w, double time) {
    return time > 0 ? (int64_t)fmin(fmax(1, floor(time / w->tick_length + 0.5)), 9e15) : 0;
}

soa_status soa_world_run(soa_world *w, soa_journal *journal, const soa_run_options *options,
                         soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    static const soa_run_options plain = {0};
    if (!w) return soai_report_end(report, SOA_E_ARGUMENT);
    if (!options) options = &plain;
    const soa_scenario *sc = w->scenario;
    const double end = options->until > 0 ? options->until : sc->duration;
    if (!(end / w->tick_length < 9007199254740992.0))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "a run until %g s has more than 2^53 ticks", end);
    const int64_t last = soai_last_tick(w, end), keep = soai_in_ticks(w, sc->recording.checkpoint);
    const int64_t every = sc->recording.rate > 0 ? soai_in_ticks(w, 1 / sc->recording.rate) : 0;
    double *values = malloc(((size_t)w->signal_count + 1) * sizeof *values);
    void *blob = malloc(w->state_size);
    soa_status s = values && blob ? SOA_OK : SOA_E_MEMORY, disk = SOA_OK;
    if (!s && journal && w->state->tick == 0) {
        disk = record_events(w, journal);
        if (!disk) s = soa_world_signal_values(w, values);
        if (!s && !disk) disk = soa_journal_write_sample(journal, w->state->t, values);
    }
    int stop = 0;
    const int64_t first = w->state->tick;
    while (!s && !disk && !stop && w->state->tick < last) {
        s = soa_world_tick(w, report);
        /* Also records what happened before a failure. */
        if (journal) disk = record_events(w, journal);
        if (s || disk) break;
        /* The run has started: give the journal its final name. */
        if (journal && w->state->tick == first + 1) disk = soa_journal_flush(journal);
        if (disk) break;
        const int64_t tick = w->state->tick;
        if (journal && every && tick % every == 0 && !(s = soa_world_signal_values(w, values)))
            disk = soa_journal_write_sample(journal, w->state->t, values);
        const int kept = (keep && tick % keep == 0) || tick == last;
        if (journal && !s && !disk && kept) disk = record_state(w, journal, blob);
        if (options->progress) stop = options->progress(options->user, w);
        /* Stopped between checkpoints: record this state. */
        if (stop && !kept && journal && !disk && !s) disk = record_state(w, journal, blob);
    }
    free(values);
    free(blob);
    if (disk && !s) {
        soa_journal_state state;
        soa_journal_get_state(journal, &state);
        return soai_report(report, disk, -1, 0, "the record: %s",
                           state.text[0] ? state.text : soa_status_text(disk));
    }
    return soai_report_end(report, s);
}
