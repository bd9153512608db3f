/* replay.c  opens a log for viewing. */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of the file without folder and extension. */
static char *title_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path,
               *point = strrchr(name, '.');
    const size_t n = point && point > name ? (size_t)(point - name) : strlen(name);
    char *title = malloc(n + 1);
    if (title) {
        memcpy(title, name, n);
        title[n] = 0;
    }
    return title;
}

soa_status view_replay_open(const char *path, view_replay *r, soa_report *report) {
    soa_report inner = {.body = -1};
    *r = (view_replay){0};
    soa_status status = soa_log_open(path, &r->log, report);
    if (status) return status;
    /* if the scenario no longer opens, the plots are still shown */
    soa_status cannot = soa_scenario_from_log(r->log, path, &r->scenario, &inner);
    r->has_scenario = !cannot;
    if (!cannot) cannot = soa_world_create(&r->scenario, &r->world, &inner);
    if (cannot == SOA_E_MEMORY) { /* this says nothing about the scenario */
        if (report) *report = inner;
        view_replay_close(r);
        return cannot;
    }
    if (cannot)
        snprintf(r->why, sizeof r->why, "The machine cannot be shown: %s",
                 inner.text[0] ? inner.text : soa_status_text(cannot));
    view_source source = {.kind = "log", .log = r->log, .world = r->world};
    if (r->has_scenario) source.scenario = &r->scenario;
    if (cannot) source.text = r->why;
    if (!r->has_scenario || !r->scenario.name || !*r->scenario.name)
        source.title = r->title = title_of(path);
    status = view_scene_create(&source, &r->scene, report);
    /* Coordinates are missing. */
    if (!status && !cannot && !view_body_count(r->scene) && view_scene_note(r->scene, 0)) {
        snprintf(r->why, sizeof r->why, "The machine cannot be shown: %.760s",
                 view_scene_note(r->scene, 0));
        source.text = r->why;
        view_scene_free(r->scene);
        r->scene = NULL;
        status = view_scene_create(&source, &r->scene, report);
    }
    if (status) view_replay_close(r);
    return status;
}

void view_replay_close(view_replay *r) {
    view_scene_free(r->scene);
    soa_world_free(r->world);
    if (r->has_scenario) soa_scenario_free(&r->scenario);
    soa_log_close(r->log);
    free(r->title);
    *r = (view_replay){0};
}
