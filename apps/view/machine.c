/* machine.c  makes a scenario of a single model: one part, with the model's gravity.
 *
 * The scenario is written as text and read again, so that a record of it can be opened later. */
#define _XOPEN_SOURCE 700 /* for realpath */
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

/* Makes a name for the part: the model's name without folder and extension, only letters and
 * digits. */
static void part_name(const char *spec, char name[32]) {
    const char *start = strrchr(spec, '/');
    size_t n = 0;
    for (const char *c = start ? start + 1 : spec; *c && *c != '.' && n < 31; ++c)
        name[n++] = isalnum((unsigned char)*c) ? *c : '_';
    name[n] = 0;
    if (!n || !strcmp(name, "world")) strcpy(name, "machine");
}

/* Writes the shortest number that reads back as the same value. */
static void put_shortest(app_out *out, double x) {
    char number[NUMBER_ROOM];
    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(number, sizeof number, "%.*g", digits, x);
        if (strtod(number, NULL) == x) break;
    }
    out_text(out, number);
}

soa_status view_machine_open(const char *spec, int floating, view_machine *m, soa_report *report) {
    const soa_read_options options = {.floating = floating};
    const soa_model *model = NULL;
    memset(m, 0, sizeof *m);
    soa_status s = soa_model_open(spec, &options, &model, NULL, report);
    if (s) return s;
    char part[32];
    double g[3];
    part_name(spec, part);
    soa_model_gravity(model, g);
    app_out text;
    out_start(&text, -1);
    char *file = realpath(spec, NULL); /* shipped models are found by name */
    out_text(&text, "name: ");
    out_string(&text, part);
    out_text(&text, "\ntext: ");
    out_string(&text, soa_model_name(model));
    out_text(&text, "\nduration: 3600\ngravity: [");
    for (int k = 0; k < 3; ++k) {
        out_text(&text, k ? ", " : "");
        put_shortest(&text, g[k]);
    }
    out_char(&text, ']');
    out_text(&text, "\nparts:\n  - {name: ");
    out_string(&text, part);
    out_format(&text, ", floating: %s, model: ", floating ? "true" : "false");
    out_string(&text, file ? file : spec);
    free(file);
    out_text(&text, "}\nrecording: {rate: 200}\n");
    if (text.error) s = SOA_E_MEMORY;
    m->text = text.data;
    if (!s) s = soa_scenario_parse(m->text, text.size, "", &m->scenario, report);
    soa_model_free(model);
    if (!s) return SOA_OK;
    view_machine_free(m);
    return report->text[0] ? s : fail(report, s, soa_status_text(s));
}

void view_machine_free(view_machine *m) {
    soa_scenario_free(&m->scenario);
    free(m->text);
    memset(m, 0, sizeof *m);
}
