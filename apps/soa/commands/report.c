/* report.c  soa report: writes a run as one HTML file. */
#include "../../view/page.h"
#include "../../view/report.h"
#include "../signals.h"
#include "../sim_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT, QUIET };
static const app_option options[] = {
    {"--out", "-o", "FILE",
     "where it goes (default: LOG's name with .html); - for standard output"},
    {"--quiet", "-q", NULL, "no progress, and nothing said when all went well"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_report = {
    .name = "report",
    .words = "LOG",
    .least = 1,
    .most = 1,
    .summary = "Writes a run as one HTML file: the motion in 3-D, plots, summary, scenario",
    .text = "LOG is a journal as `soa sim` writes it.  The file holds all it needs: it opens from "
            "disk in any browser, "
            "without\n"
            "network or server, and stays below 20 MB however long the run was: frames are thinned "
            "out, and signals of\n"
            "long runs are drawn from their smallest and largest values.  Where the scenario of "
            "the log can no longer "
            "be\n"
            "opened (a model's file is gone), there are plots only, and the report says why.\n",
    .options = options,
    .examples = "  soa sim grapple -o grapple.soalog && soa report grapple.soalog\n"
                "  soa report run.soalog -o report.html\n",
    .run = run,
};

typedef struct bar {
    struct timespec begun;
    double shown;
    int tty;
} bar;
static int show(void *user, double done) {
    bar *b = user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double wall =
        (double)(now.tv_sec - b->begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - b->begun.tv_nsec);
    if (b->tty && wall > 0.5 && wall - b->shown > 0.1) {
        app_note("\r%3.0f %%\033[K", 100 * done);
        b->shown = wall;
    }
    return app_interrupted();
}

int app_write_report(const app_command *command, const char *log, const char *path, int quiet) {
    view_replay replay;
    view_report_result result;
    soa_report report = {.body = -1};
    app_out out;
    if (!view_page_size) return app_fail(command, VIEW_NO_PAGE);
    soa_status s = view_replay_open(log, &replay, &report);
    if (s) return app_fail(command, "%s", report.text[0] ? report.text : soa_status_text(s));
    soa_log_info info;
    soa_log_get_info(replay.log, &info);
    if (!info.complete)
        app_fail(
            command,
            "note: %s has no end record: its run goes on or was stopped; %lld samples are there",
            log, (long long)info.samples);
    if (!view_body_count(replay.scene)) app_fail(command, "note: plots only.  %s", replay.why);
    bar progress = {.tty = !quiet && isatty(2)};
    clock_gettime(CLOCK_MONOTONIC, &progress.begun);
    out_start(&out, -1);
    s = view_summarise(replay.scene, replay.log, &replay.scenario, replay.world, &report);
    if (!s)
        s = view_report_build(&replay, (const char *)view_page, view_page_size, show, &progress,
                              &out, &result, &report);
    if (progress.shown > 0) app_note("\r\033[K");
    int code;
    if (s)
        code = app_fail(command, "%s: %s", log, report.text[0] ? report.text : soa_status_text(s));
    else
        code = app_write_file(command, path, out.data, out.size);
    for (int i = 0; view_scene_note(replay.scene, i); ++i)
        app_fail(command, "note: %s", view_scene_note(replay.scene, i));
    if (code == APP_OK && !quiet && strcmp(path, "-")) {
        app_print("%s: %.1f MB; %lld frames of %lld samples, %d signals", path,
                  1e-6 * (double)result.bytes, (long long)result.frames, (long long)result.samples,
                  result.signals);
        if (result.columns)
            app_print(" in %lld columns of smallest and largest values", (long long)result.columns);
        app_print("\n");
    }
    out_free(&out);
    view_replay_close(&replay);
    return code;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_report, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    if (app_refuse_others(&app_report, args.word[0], APP_JOURNAL) != APP_OK) return APP_FAILED;
    char *name = args.value[OUTPUT] ? NULL : app_with_ending(args.word[0], ".html");
    const char *path = args.value[OUTPUT] ? args.value[OUTPUT] : name;
    if (!path)
        code = app_fail(&app_report, "out of memory");
    else if (app_same_file(path, args.word[0]))
        code = app_fail(&app_report, "-o %s is the journal itself", path);
    else {
        app_catch_signals();
        code = app_write_report(&app_report, args.word[0], path, args.value[QUIET] != NULL);
    }
    free(name);
    return code;
}
