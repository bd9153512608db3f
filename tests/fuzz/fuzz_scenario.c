/* fuzz_scenario.c  any bytes as a scenario file: a scenario in which all names exist, or a report;
 * and cases of it. */
#include "soa/scenario.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libfyaml 0.7.12 leaks 4 kB if brackets are nested too deep. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml\n";
}

static void demand(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "fuzz_scenario: %s\n", what);
    abort();
}

/* True for "world", a part, or part.frame of an existing part. */
static int leads_somewhere(const soa_scenario *s, const char *frame) {
    if (!frame) return 0;
    if (strcmp(frame, "world") == 0) return 1;
    size_t length = strcspn(frame, ".");
    for (int i = 0; i < s->part_count; ++i)
        if (strlen(s->parts[i].name) == length && memcmp(s->parts[i].name, frame, length) == 0)
            return 1;
    return 0;
}

static int is_group(const soa_scenario *s, const char *name) {
    for (int i = 0; i < s->shape_count; ++i)
        if (strcmp(s->shapes[i].name, name) == 0 ||
            (s->shapes[i].group && strcmp(s->shapes[i].group, name) == 0))
            return 1;
    return 0;
}

static int is_phase(const soa_scenario *s, const char *name) {
    for (int i = 0; i < s->control.phase_count; ++i)
        if (strcmp(s->control.phases[i].name, name) == 0) return 1;
    return 0;
}

static void check_phases(const soa_scenario *s) {
    for (int i = 0; i < s->control.phase_count; ++i) {
        const soa_phase *p = &s->control.phases[i];
        for (int k = 0; k < p->action_count; ++k) {
            const soa_action *a = &p->actions[k];
            demand(a->name && a->kind < SOA_ACT_KIND_COUNT &&
                       (a->part || leads_somewhere(s, a->frame)),
                   "an action of nothing");
            demand(leads_somewhere(s, a->relative_to) && a->mark.line > 0,
                   "an action relative to nothing");
            for (int h = 0; h < a->hand_count; ++h)
                demand(leads_somewhere(s, a->hands[h]), "a hand of nothing");
            for (int j = 0; j < a->position_count; ++j)
                demand(isfinite(a->positions[j].value), "a goal that is no number");
        }
        for (int k = 0; k < p->transition_count; ++k) {
            const soa_transition *t = &p->transitions[k];
            demand(is_phase(s, t->to) && t->condition_count > 0, "a transition to nowhere");
            for (int c = 0; c < t->condition_count; ++c)
                demand(t->conditions[c].signal && isfinite(t->conditions[c].value),
                       "a condition on nothing");
        }
    }
}

static void check(const soa_scenario *s) {
    demand(s->name && s->part_count > 0 && s->duration > 0 && s->source, "a scenario of nothing");
    for (int i = 0; i < s->part_count; ++i) {
        const soa_part *p = &s->parts[i];
        demand(p->name && (p->model || p->fixed || p->mass > 0) && p->mark.line > 0,
               "a part of nothing");
        for (int k = 0; k < 9; ++k)
            demand(isfinite(p->place.R[k]), "a place that is no number");
    }
    for (int i = 0; i < s->shape_count; ++i)
        demand(leads_somewhere(s, s->shapes[i].frame), "a shape on nothing");
    for (int i = 0; i < s->contact_count; ++i)
        demand(is_group(s, s->contacts[i].group1) && is_group(s, s->contacts[i].group2) &&
                   s->contacts[i].stiffness > 0,
               "a contact of nothing");
    for (int i = 0; i < s->constraint_count; ++i)
        demand(s->constraints[i].kind == SOA_RATIO
                   ? leads_somewhere(s, s->constraint_joints[SOA_RATIO_TERMS * i])
                   : leads_somewhere(s, s->constraint_frames[2 * i + 1]),
               "a constraint of nothing");
    for (int i = 0; i < s->disturbance_count; ++i)
        demand(leads_somewhere(s, s->disturbances[i].frame), "a push on nothing");
    check_phases(s);
    if (s->success.object) demand(leads_somewhere(s, s->success.object), "success of nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    soa_scenario s, varied;
    soa_report report;
    soa_status status = soa_scenario_parse((const char *)data, size, "fuzz.yaml", &s, &report);
    demand(status == report.status && memchr(report.text, 0, sizeof report.text),
           "the report is not filled");
    if (status != SOA_OK) {
        demand(strncmp(report.text, "fuzz.yaml:", 10) == 0, "refused without a word");
        return 0;
    }
    check(&s);
    demand(soa_scenario_vary(&s, size, &varied, NULL, &report) == SOA_OK,
           "a sweep that was read cannot be drawn");
    check(&varied);
    soa_scenario_free(&varied);
    soa_scenario_free(&s);
    return 0;
}
