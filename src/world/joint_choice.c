/* joint_choice.c  finds which joints are meant by the `motors` of a part and by the `joints` of an
 * action.
 *
 * An entry is a joint's name without its part. If a joint has exactly this name, the entry means
 * that joint alone. Otherwise it means every joint of the part whose name begins with it. An entry
 * that matches no joint is a mistake. */
#include "world_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Name of a joint without its part; NULL if it belongs to another part. */
static const char *name_in_part(const char *joint, const char *part) {
    const size_t n = strlen(part);
    if (strncmp(joint, part, n) != 0 || joint[n] != '.') return NULL;
    return joint + n + 1;
}

/* Result of matching one entry of a list. */
typedef struct match {
    int joints;    /* number of joints that match */
    int free;      /* of these: floating roots */
    int followers; /* of these: mimic joints, which move with another joint */
    int motors;    /* velocity coordinates with motors */
    int own;       /* of these: flagged before */
    soa_body_info last;
} match;

static int means(const char *name, const char *entry, int exact) {
    return exact ? strcmp(name, entry) == 0 : strncmp(name, entry, strlen(entry)) == 0;
}

static int has_exact(const soa_world *w, const char *part, const char *entry) {
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const char *name = name_in_part(info.joint, part);
        if (name && strcmp(name, entry) == 0) return 1;
    }
    return 0;
}

/* Flags in `chosen` the motors that the entry means. Those flagged in `own` (may be NULL) are also
 * counted separately. */
static match choose(const soa_world *w, const char *part, const char *entry,
                    const unsigned char *own, unsigned char *chosen) {
    match found = {0};
    const int exact = has_exact(w, part, entry);
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const char *name = name_in_part(info.joint, part);
        if (!name || !means(name, entry, exact)) continue;
        ++found.joints;
        found.last = info;
        if (info.mimic >= 0) ++found.followers;
        if (info.type == SOA_FREE) ++found.free;
        for (int k = 0; k < info.nv; ++k) {
            const int i = info.v_index + k;
            if (!w->actuated[i]) continue;
            ++found.motors;
            if (own && own[i]) ++found.own;
            chosen[i] = 1;
        }
    }
    return found;
}

static soa_status no_joint(const soa_world *w, const char *part, const soa_joint_choice *entry,
                           const char *what, soa_report *report) {
    char name[256];
    snprintf(name, sizeof name, "%s.%s", part, entry->name);
    return soai_scenario_fault(
        w->scenario, entry->mark, SOA_E_NAME, report,
        "%s: part '%s' has no joint called '%s', and none whose name begins so%s", what, part,
        entry->name, soai_nearest_joint(w->model, name));
}

/* Reports why an entry that matches joints has no motor among them. */
static soa_status no_motor(const soa_world *w, const char *part, const soa_joint_choice *entry,
                           const char *what, const match *found, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    const char *joint = found->last.joint;
    soa_body_info leader;
    if (found->followers == found->joints && !soa_model_body(w->model, found->last.mimic, &leader))
        return soai_scenario_fault(
            sc, entry->mark, SOA_E_NAME, report,
            "%s: joint '%s' follows joint '%s' (mimic) and has no motor; name that one", what,
            joint, leader.joint);
    if (found->free == found->joints)
        return soai_scenario_fault(sc, entry->mark, SOA_E_NAME, report,
                                   "%s: joint '%s' is a floating root and has no motor", what,
                                   joint);
    return soai_scenario_fault(
        sc, entry->mark, SOA_E_NAME, report,
        "%s: joint '%s' has no motor; add it to the 'motors' of part '%s', or leave it out here",
        what, joint, part);
}

static soa_status choose_motors_of(soa_world *w, const soa_part *part, unsigned char *chosen,
                                   soa_report *report) {
    char what[100];
    snprintf(what, sizeof what, "motors of part '%.60s'", part->name);
    for (int k = 0; k < part->motor_count; ++k) {
        const soa_joint_choice *entry = &part->motors[k];
        const match found = choose(w, part->name, entry->name, NULL, chosen);
        if (!found.joints) return no_joint(w, part->name, entry, what, report);
        if (!found.motors) return no_motor(w, part->name, entry, what, &found, report);
    }
    return SOA_OK;
}

soa_status soai_choose_motors(soa_world *w, soa_report *report) {
    unsigned char *chosen = calloc((size_t)w->nv + 1, 1);
    if (!chosen) return SOA_E_MEMORY;
    soa_status s = SOA_OK;
    for (int p = 0; !s && p < w->scenario->part_count; ++p) {
        const soa_part *part = &w->scenario->parts[p];
        if (!part->has_motors || !part->model) continue;
        memset(chosen, 0, (size_t)w->nv);
        s = choose_motors_of(w, part, chosen, report);
        for (int b = 1; !s && b <= w->bodies; ++b) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            if (!name_in_part(info.joint, part->name)) continue;
            for (int k = 0; k < info.nv; ++k)
                w->actuated[info.v_index + k] = chosen[info.v_index + k];
        }
    }
    free(chosen);
    return s;
}

int soai_motors_of(const soa_world *w, const char *part, unsigned char *own) {
    int count = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        if (!name_in_part(info.joint, part)) continue;
        for (int k = 0; k < info.nv; ++k) {
            if (!w->actuated[info.v_index + k]) continue;
            own[info.v_index + k] = 1;
            ++count;
        }
    }
    return count;
}

soa_status soai_choose_own(const soa_world *w, const soa_action *action, const char *part,
                           const char *what, unsigned char *own, soa_report *report) {
    char label[100];
    unsigned char *chosen = calloc((size_t)w->nv + 1, 1);
    if (!chosen) return SOA_E_MEMORY;
    snprintf(label, sizeof label, "action '%.60s', joints", what);
    soa_status s = SOA_OK;
    for (int k = 0; !s && k < action->joint_count; ++k) {
        const soa_joint_choice *entry = &action->joints[k];
        const match found = choose(w, part, entry->name, own, chosen);
        if (!found.joints)
            s = no_joint(w, part, entry, label, report);
        else if (!found.motors)
            s = no_motor(w, part, entry, label, &found, report);
        else if (!found.own)
            s = soai_scenario_fault(w->scenario, entry->mark, SOA_E_NAME, report,
                                    "%s: '%s' means no joint that moves the frame; leave it out",
                                    label, entry->name);
    }
    for (int i = 0; !s && i < w->nv; ++i)
        own[i] = own[i] && chosen[i];
    free(chosen);
    return s;
}
