/* view.c  the report of a run, for Python (python/soa/_view.py declares it by hand). */
#include "page.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

SOA_API soa_status soapy_report(const char *log, const char *path, soa_report *report);

static soa_status write_file(const char *path, const app_out *out, soa_report *report) {
    errno = 0;
    FILE *file = fopen(path, "wb");
    int good = file && fwrite(out->data, 1, out->size, file) == out->size;
    if (file && fclose(file)) good = 0;
    if (good) return SOA_OK;
    *report = (soa_report){.status = SOA_E_FILE, .body = -1};
    snprintf(report->text, sizeof report->text, "%.150s: %s", path,
             errno ? strerror(errno) : "it cannot be written");
    return SOA_E_FILE;
}

/* Appends a sentence to the text of a report; what does not fit is cut. */
static void add_note(soa_report *report, const char *text) {
    const size_t length = strlen(report->text);
    snprintf(report->text + length, sizeof report->text - length, "%s%s", length ? "\n" : "", text);
}

/* Writes the journal `log` as one HTML file.  report: needed; after SOA_OK its text holds notes,
 * one on each line, about what could not be shown.  Allocates. */
soa_status soapy_report(const char *log, const char *path, soa_report *report) {
    view_replay replay;
    app_out out;
    *report = (soa_report){.body = -1};
    if (!view_page_size) {
        *report = (soa_report){.status = SOA_E_FILE, .body = -1};
        add_note(report, VIEW_NO_PAGE);
        return SOA_E_FILE;
    }
    soa_status s = view_replay_open(log, &replay, report);
    if (s) return s;
    out_start(&out, -1);
    s = view_summarise(replay.scene, replay.log, &replay.scenario, replay.world, report);
    if (!s)
        s = view_report_build(&replay, (const char *)view_page, view_page_size, NULL, NULL, &out,
                              NULL, report);
    if (!s && out.error) s = SOA_E_MEMORY;
    if (!s) s = write_file(path, &out, report);
    if (!s) {
        *report = (soa_report){.body = -1};
        if (!view_body_count(replay.scene)) add_note(report, replay.why);
        for (int i = 0; view_scene_note(replay.scene, i); ++i)
            add_note(report, view_scene_note(replay.scene, i));
    }
    out_free(&out);
    view_replay_close(&replay);
    return s;
}
