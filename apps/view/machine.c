/* machine.c  a model alone as a scenario: one part of it, gravity and constraints as the model brings them.
 *
 * The scenario is written as text and read, so that a record of it can be opened again; constraints, whose frames the model
 * knows by number, are added to it as they are.                                                                        */
#define _XOPEN_SOURCE 700 /* realpath */
#include "session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static soa_status fail(soa_report *report, soa_status status, const char *text) {
    *report = (soa_report){.status = status, .body = -1};
    snprintf(report->text, sizeof report->text, "%s", text);
    return status;
}

/* A name for the part: the model's without folder and ending, letters and digits only. */
static void part_name(const char *spec, char name[32]) {
    const char *start = strrchr(spec, '/');
    size_t n = 0;
    for (const char *c = start ? start + 1 : spec; *c && *c != '.' && n < 31; ++c)
        name[n++] = isalnum((unsigned char)*c) ? *c : '_';
    name[n] = 0;
    if (!n || !strcmp(name, "world")) strcpy(name, "machine");
}

/* With as many digits as it takes to be read back to the same number. */
static void put_shortest(app_out *out, double x) {
    char number[NUMBER_ROOM];
    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(number, sizeof number, "%.*g", digits, x);
        if (strtod(number, NULL) == x) break;
    }
    out_text(out, number);
}

/* "part.name" of frames and joints that the model knows by number. */
static soa_status name_constraints(view_machine *m, const soa_model *model, const char *part) {
    const size_t n = (size_t)m->constraints.count;
    enum { ROOM = 320 };
    m->frames = calloc(2 * n + 1, sizeof *m->frames);
    m->joints = calloc(SOA_RATIO_TERMS * n + 1, sizeof *m->joints);
    char *at = m->names = calloc((2 + SOA_RATIO_TERMS) * n + 1, ROOM);
    if (!m->frames || !m->joints || !m->names) return SOA_E_MEMORY;
    for (size_t i = 0; i < n; ++i) {
        const soa_constraint_def *def = &m->constraints.defs[i];
        for (size_t side = 0; side < 2; ++side) {
            soa_frame_info info;
            const int frame = side ? def->frame2 : def->frame1;
            if (def->kind == SOA_RATIO || frame == 0) continue;
            if (soa_frame_get(model, frame, &info)) return SOA_E_FORMAT;
            snprintf(at, ROOM, "%s.%s", part, info.name);
            m->frames[2 * i + side] = at, at += ROOM;
        }
        for (size_t k = 0; k < SOA_RATIO_TERMS; ++k) {
            soa_body_info info;
            if (def->kind != SOA_RATIO || def->coordinate[k] <= 0) continue; /* ~n: a cut joint, by number */
            if (soa_body(model, def->coordinate[k], &info)) return SOA_E_FORMAT;
            snprintf(at, ROOM, "%s.%s", part, info.joint);
            m->joints[SOA_RATIO_TERMS * i + k] = at, at += ROOM;
        }
    }
    return SOA_OK;
}

soa_status view_machine_open(const char *spec, int floating, view_machine *m, soa_report *report) {
    const soa_read_options options = {.floating = floating};
    const soa_model *model = NULL;
    memset(m, 0, sizeof *m);
    soa_status s = soa_model_open_closed(spec, &options, &model, &m->constraints, report);
    if (s) return s;
    char part[32];
    double g[3];
    part_name(spec, part);
    soa_model_gravity(model, g);
    app_out text;
    out_start(&text, -1);
    char *file = realpath(spec, NULL); /* shipped ones are known by name */
    out_text(&text, "name: "), out_string(&text, part);
    out_text(&text, "\ntext: "), out_string(&text, soa_model_name(model));
    out_text(&text, "\nduration: 3600\ngravity: [");
    for (int k = 0; k < 3; ++k) out_text(&text, k ? ", " : ""), put_shortest(&text, g[k]);
    out_char(&text, ']');
    out_text(&text, "\nparts:\n  - {name: "), out_string(&text, part);
    out_format(&text, ", floating: %s, model: ", floating ? "true" : "false");
    out_string(&text, file ? file : spec);
    free(file);
    out_text(&text, "}\nrecording: {rate: 200}\n");
    if (text.error) s = SOA_E_MEMORY;
    m->text = text.data;
    if (!s) s = soa_scenario_parse(m->text, text.size, "", &m->scenario, report);
    if (!s && m->constraints.count && !(s = name_constraints(m, model, part))) {
        m->scenario.constraint_count = m->constraints.count;
        m->scenario.constraints = m->constraints.defs;
        m->scenario.constraint_frames = m->frames, m->scenario.constraint_joints = m->joints;
        m->scenario.constraint_marks = NULL;
    }
    soa_model_free(model);
    if (!s) return SOA_OK;
    view_machine_free(m);
    return report->text[0] ? s : fail(report, s, soa_status_text(s));
}

void view_machine_free(view_machine *m) {
    soa_scenario_free(&m->scenario);
    soa_constraint_list_free(&m->constraints);
    free(m->text), free(m->names), free(m->frames), free(m->joints);
    memset(m, 0, sizeof *m);
}
