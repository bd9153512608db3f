/* scenario.c  default values of a scenario, its release, and the cases of a sweep.
 *
 * The random numbers of a case come from a counter, not from a stream: three rounds of splitmix64's
 * mixer over (seed, case number, number of the variation). The same case therefore has the same
 * numbers on any machine and in any order of cases. */
#include "scenario_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

soa_part soa_part_default(const char *name) {
    soa_part part;
    memset(&part, 0, sizeof part);
    part.name = name;
    part.mass_scale = part.inertia_scale = part.damping_scale = part.friction_scale =
        part.rotor_scale = 1;
    part.limits = true;
    part.stop_stiffness = part.stop_damping = SOA_STOP_DERIVED;
    part.place = soa_frame_identity();
    return part;
}

soa_contact_pair soa_contact_pair_default(const char *group1, const char *group2) {
    soa_contact_pair pair;
    memset(&pair, 0, sizeof pair);
    pair.group1 = group1;
    pair.group2 = group2;
    pair.law = SOA_CONTACT_SAFE;
    pair.margin = 2e-3;
    pair.least_distance = 2e-4;
    pair.stiffness = 40;
    pair.damping = 200;
    pair.exponent = 1.5;
    pair.loss = 0.5;
    pair.friction = 0.5;
    pair.tangential_stiffness = 5e4;
    pair.tangential_damping = 100;
    pair.patch = true;
    return pair;
}

soa_action soa_action_default(soa_action_kind kind) {
    soa_action action;
    memset(&action, 0, sizeof action);
    action.kind = kind;
    action.relative_to = "world";
    action.goal = soa_frame_identity();
    action.share = 0.5;
    /* Acceleration gains, 1/s^2 and 1/s: settles in about 1 s. */
    double stiffness[2] = {25, 25}, damping[2] = {10, 10};
    if (kind == SOA_ACT_JOINT_PD) {
        stiffness[0] = stiffness[1] = 100;
        damping[0] = damping[1] = 20;
    }
    if (kind == SOA_ACT_IMPEDANCE || kind == SOA_ACT_HYBRID) {
        stiffness[0] = 50;
        stiffness[1] = 500;
        damping[0] = 20;
        damping[1] = 200;
    }
    memcpy(action.stiffness, stiffness, sizeof stiffness);
    memcpy(action.damping, damping, sizeof damping);
    if (kind == SOA_ACT_HYBRID || kind == SOA_ACT_COORDINATION) {
        action.force_gain[0] = 0.5;
        action.force_gain[1] = 1;
    }
    return action;
}

soa_scenario soa_scenario_default(const char *name) {
    soa_scenario s;
    memset(&s, 0, sizeof s);
    s.name = name;
    s.duration = 10;
    s.seed = 1;
    s.gravity[2] = -9.81;
    s.assembly_bound = 0.1;
    s.control.rate = 500;
    s.control.saturate = true;
    s.control.mass_estimate = s.control.inertia_estimate = s.control.damping_estimate = 1;
    s.integration.method = SOA_INTEGRATE_EXPLICIT;
    s.integration.order = 5;
    s.integration.relative_tolerance = 1e-8;
    s.integration.absolute_tolerance = 1e-10;
    s.integration.keep_momentum = true;
    s.recording.rate = 200;
    s.recording.checkpoint = 2;
    s.success.relative_to = "world";
    s.success.hold = 1;
    s.success.position_error = 5e-3;
    s.success.attitude_error = 0.017453292519943295;
    s.success.force_high = HUGE_VAL;
    return s;
}

void soa_scenario_free(soa_scenario *scenario) {
    if (!scenario || !scenario->memory) return;
    soai_arena arena = {scenario->memory};
    soai_arena_free(&arena);
    memset(scenario, 0, sizeof *scenario);
}

bool soa_scenario_find_external(const soa_scenario *scenario, int *phase, int *action) {
    if (!scenario || !scenario->control.phases) return false;
    const soa_scene_control *control = &scenario->control;
    for (int p = 0; p < control->phase_count; ++p)
        for (int a = 0; a < control->phases[p].action_count; ++a) {
            if (control->phases[p].actions[a].kind != SOA_ACT_EXTERNAL) continue;
            if (phase) *phase = p;
            if (action) *action = a;
            return true;
        }
    return false;
}

/* --- quantities that a sweep may vary --------------------------------------------------------- */
typedef struct quantity {
    const char *name;
    size_t offset;
    int count; /* 1: the name has no index; else name[0] to name[count - 1] */
    int both;  /* nonzero: the name without an index means all of them */
    unsigned units, units2;
    soai_range range;
} quantity;
#define PART(member) offsetof(soa_part, member)
static const quantity of_part[] = {
    {"mass_scale", PART(mass_scale), 1, 0, 0, 0, SOAI_POSITIVE},
    {"inertia_scale", PART(inertia_scale), 1, 0, 0, 0, SOAI_POSITIVE},
    {"damping_scale", PART(damping_scale), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {"friction_scale", PART(friction_scale), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {"rotor_scale", PART(rotor_scale), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {"effort", PART(effort), 1, 0, SOAI_TORQUE | SOAI_FORCE, 0, SOAI_NOT_NEGATIVE},
    {"twist", PART(twist), 6, 0, SOAI_TURN, SOAI_SPEED, SOAI_ANY},
    {"place", PART(place.p), 3, 0, SOAI_LENGTH, SOAI_LENGTH, SOAI_ANY},
    {0},
};
#define CONTACT(member) offsetof(soa_contact_pair, member)
static const quantity of_contact[] = {
    {"margin", CONTACT(margin), 1, 0, SOAI_LENGTH, 0, SOAI_POSITIVE},
    {"least_distance", CONTACT(least_distance), 1, 0, SOAI_LENGTH, 0, SOAI_POSITIVE},
    {"stiffness", CONTACT(stiffness), 1, 0, SOAI_FORCE | SOAI_STIFFNESS, 0, SOAI_POSITIVE},
    {"damping", CONTACT(damping), 1, 0, SOAI_DAMPING, 0, SOAI_NOT_NEGATIVE},
    {"exponent", CONTACT(exponent), 1, 0, 0, 0, SOAI_POSITIVE},
    {"loss", CONTACT(loss), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {"friction", CONTACT(friction), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {"tangential_stiffness", CONTACT(tangential_stiffness), 1, 0, SOAI_STIFFNESS, 0, SOAI_POSITIVE},
    {"tangential_damping", CONTACT(tangential_damping), 1, 0, SOAI_DAMPING, 0, SOAI_NOT_NEGATIVE},
    {0},
};
#define SENSORS(member) offsetof(soa_sensor_set, member)
static const quantity of_sensors[] = {
    {"position_noise", SENSORS(position_noise), 1, 0, SOAI_ANGLE | SOAI_LENGTH, 0,
     SOAI_NOT_NEGATIVE},
    {"rate_noise", SENSORS(rate_noise), 1, 0, SOAI_TURN | SOAI_SPEED, 0, SOAI_NOT_NEGATIVE},
    {"pose_noise", SENSORS(pose_noise), 2, 1, SOAI_ANGLE, SOAI_LENGTH, SOAI_NOT_NEGATIVE},
    {"twist_noise", SENSORS(twist_noise), 2, 1, SOAI_TURN, SOAI_SPEED, SOAI_NOT_NEGATIVE},
    {"force_noise", SENSORS(force_noise), 1, 0, SOAI_FORCE, 0, SOAI_NOT_NEGATIVE},
    {"torque_noise", SENSORS(torque_noise), 1, 0, SOAI_TORQUE, 0, SOAI_NOT_NEGATIVE},
    {"imu_noise", SENSORS(imu_noise), 2, 1, SOAI_TURN, SOAI_ACCELERATION, SOAI_NOT_NEGATIVE},
    {"delay", SENSORS(delay), 1, 0, SOAI_TIME, 0, SOAI_NOT_NEGATIVE},
    {0},
};
#define CONTROL(member) offsetof(soa_scene_control, member)
static const quantity of_control[] = {
    {"mass_estimate", CONTROL(mass_estimate), 1, 0, 0, 0, SOAI_POSITIVE},
    {"inertia_estimate", CONTROL(inertia_estimate), 1, 0, 0, 0, SOAI_POSITIVE},
    {"damping_estimate", CONTROL(damping_estimate), 1, 0, 0, 0, SOAI_NOT_NEGATIVE},
    {0},
};

typedef enum scope { OF_PART, OF_CONTACT, OF_SENSORS, OF_CONTROL } scope;
typedef struct target {
    scope of;
    int part;
    const quantity *what;
    int first, count; /* first index and number of the values meant */
} target;

/* Finds "name" or "name[k]" in a list of quantities. */
static bool find_quantity(const quantity *list, const char *text, target *found) {
    size_t length = strcspn(text, "[");
    for (const quantity *q = list; q->name; ++q) {
        if (strlen(q->name) != length || memcmp(q->name, text, length) != 0) continue;
        found->what = q;
        found->first = 0;
        found->count = q->count;
        if (!text[length]) return q->count == 1 || q->both;
        if (q->count == 1 || text[length + 1] < '0' || text[length + 1] > '9' ||
            strcmp(text + length + 2, "]") != 0)
            return false;
        found->first = text[length + 1] - '0';
        found->count = 1;
        return found->first < q->count;
    }
    return false;
}

static bool find_path(const soa_scenario *s, const char *path, target *found) {
    const char *dot = strchr(path, '.');
    if (!dot) return false;
    size_t length = (size_t)(dot - path);
    found->part = soai_find_part(s, path, length);
    found->of = OF_PART;
    if (found->part >= 0) return find_quantity(of_part, dot + 1, found);
    static const struct {
        const char *name;
        scope of;
        const quantity *list;
    } scopes[] = {{"contact", OF_CONTACT, of_contact},
                  {"sensors", OF_SENSORS, of_sensors},
                  {"control", OF_CONTROL, of_control}};
    for (int i = 0; i < 3; ++i)
        if (strlen(scopes[i].name) == length && memcmp(scopes[i].name, path, length) == 0) {
            found->of = scopes[i].of;
            return find_quantity(scopes[i].list, dot + 1, found);
        }
    return false;
}

/* Writes the valid path nearest to `path` into hint. */
static void nearest_path(const soa_scenario *s, const char *path, char hint[SOAI_HINT]) {
    static const quantity *const fixed[] = {of_contact, of_sensors, of_control};
    static const char *const names[] = {"contact", "sensors", "control"};
    char best[96] = "", one[96];
    soai_nearest search = soai_nearest_to(path);
    for (int i = 0; i < s->part_count + 3; ++i) {
        const char *name = i < 3 ? names[i] : s->parts[i - 3].name;
        for (const quantity *q = i < 3 ? fixed[i] : of_part; q->name; ++q)
            for (int k = q->count == 1 || q->both ? -1 : 0; k < (q->count == 1 ? 0 : q->count);
                 ++k) {
                snprintf(one, sizeof one, k < 0 ? "%.63s.%s" : "%.63s.%s[%d]", name, q->name, k);
                const char *before = search.best;
                soai_nearest_try(&search, one);
                if (search.best != before) {
                    snprintf(best, sizeof best, "%s", one);
                    search.best = best;
                }
            }
    }
    soai_nearest_hint(&search, hint);
}

bool soai_path_known(const soa_scenario *s, const char *path, unsigned *units, soai_range *range,
                     char hint[SOAI_HINT]) {
    target t;
    if (!find_path(s, path, &t)) {
        nearest_path(s, path, hint);
        return false;
    }
    *range = t.what->range;
    *units = 2 * t.first < t.what->count ? t.what->units : t.what->units2;
    if (t.count > 1) *units &= t.what->units2;
    return true;
}

/* --- one case --------------------------------------------------------------------------------- */
/* splitmix64: Steele, Lea & Flood 2014, with Stafford's constants. */
static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t bits(uint64_t seed, uint64_t case_number, uint64_t number) {
    return mixed(mixed(mixed(seed) ^ case_number) ^ number);
}

double soa_scenario_uniform(uint64_t seed, uint64_t case_number, uint64_t number) {
    return (double)(bits(seed, case_number, number) >> 11) * 0x1p-53;
}

soa_status soa_scenario_vary(const soa_scenario *scenario, uint64_t case_number,
                             soa_scenario *varied, double *values, soa_report *report) {
    soai_report_reset(report);
    if (!scenario || !varied || scenario->variation_count < 0 ||
        (scenario->variation_count && !scenario->variations))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "no scenario, or no place for the varied one");
    soai_arena arena = {NULL};
    soa_part *parts = soai_arena_take(&arena, (size_t)scenario->part_count, sizeof *parts);
    soa_contact_pair *contacts =
        soai_arena_take(&arena, (size_t)scenario->contact_count, sizeof *contacts);
    double *drawn = soai_arena_take(&arena, (size_t)scenario->variation_count, sizeof *drawn);
    soa_status status = parts && contacts && drawn ? SOA_OK : SOA_E_MEMORY;
    soa_scenario copy = *scenario;
    if (status == SOA_OK) {
        if (copy.part_count) memcpy(parts, copy.parts, (size_t)copy.part_count * sizeof *parts);
        if (copy.contact_count)
            memcpy(contacts, copy.contacts, (size_t)copy.contact_count * sizeof *contacts);
        copy.parts = parts;
        copy.contacts = contacts;
        copy.seed = bits(scenario->seed, case_number, UINT64_MAX);
        copy.is_case = true;
        copy.case_number = case_number;
        copy.drawn_from = scenario->seed;
    } else {
        soai_report(report, status, -1, 0, "no memory is left");
    }
    for (int i = 0; status == SOA_OK && i < scenario->variation_count; ++i) {
        const soa_variation *v = &scenario->variations[i];
        target t;
        if (!v->path || !find_path(scenario, v->path, &t)) {
            char hint[SOAI_HINT] = "";
            if (v->path) nearest_path(scenario, v->path, hint);
            status = soai_report(report, SOA_E_NAME, -1, v->mark.line,
                                 "nothing that varies is called '%.60s'%s", v->path ? v->path : "",
                                 hint);
            break;
        }
        if (!(fabs(v->low) <= 1e300) || !(fabs(v->high) <= 1e300) || !(v->low <= v->high)) {
            status = soai_report(report, SOA_E_ARGUMENT, -1, v->mark.line,
                                 "%.60s: expected low <= high, both finite, found %g and %g",
                                 v->path, v->low, v->high);
            break;
        }
        double x = v->low + (v->high - v->low) *
                                soa_scenario_uniform(scenario->seed, case_number, (uint64_t)i);
        if (x > v->high) x = v->high;
        drawn[i] = x;
        int repeat = t.of == OF_CONTACT ? copy.contact_count : 1;
        for (int c = 0; c < repeat; ++c) {
            char *base;
            if (t.of == OF_PART) {
                base = (char *)&parts[t.part];
            } else if (t.of == OF_CONTACT) {
                base = (char *)&contacts[c];
            } else if (t.of == OF_SENSORS) {
                base = (char *)&copy.control.sensors;
            } else {
                base = (char *)&copy.control;
            }
            double *at = (double *)(void *)(base + t.what->offset) + t.first;
            for (int k = 0; k < t.count; ++k)
                at[k] = x;
        }
    }
    if (status != SOA_OK) {
        soai_arena_free(&arena);
        return soai_report_end(report, status);
    }
    if (values && scenario->variation_count)
        memcpy(values, drawn, (size_t)scenario->variation_count * sizeof *values);
    copy.memory = arena.last;
    *varied = copy;
    return soai_report(report, SOA_OK, -1, 0, "%s", "");
}
