/* cmd_sim.c  soa sim: a scenario in time. */
#include "sim_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT, SUMMARY, RESUME, UNTIL, SEED, CASE, DIAGRAM, QUIET };

static const app_option options[] = {
    {"--out", "-o", "LOG", "record the run in this journal (soa export turns it into CSV or HDF5)"},
    {"--summary", NULL, "FILE", "write every figure of the summary as JSON, also when the run fails"},
    {"--resume", NULL, "LOG", "go on with a journal whose run was stopped or killed; no SCENARIO then"},
    {"--until", NULL, "T", "stop at this time, s, instead of the scenario's duration"},
    {"--seed", NULL, "N", "another seed for noise and variations"},
    {"--case", NULL, "N", "case N of the scenario's sweep, its quantities drawn as soa sweep draws them"},
    {"--diagram", NULL, "FILE", "write the supervisor's phases as Graphviz text, and do not run"},
    {"--quiet", "-q", NULL, "no progress and no summary on the terminal"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_sim = {
    .name = "sim",
    .words = "SCENARIO",
    .least = 0,
    .most = 1,
    .summary = "Runs a scenario: machines, contacts, controllers, in time",
    .text = "A scenario is a YAML file (docs/scenarios.md), or the name of a shipped one, such as grapple.  Ctrl-C stops at the next tick with everything recorded; a run\n"
            "that was stopped, or killed at any instant, is taken up again by --resume and ends in the same bits as one\n"
            "that was not.\n"
            "Exit status: 0 ran to its end (and held what it was asked to hold), 1 ran but did not, 2 could not run.\n",
    .options = options,
    .examples = "  soa sim scenarios/grapple.yaml --summary summary.json\n"
                "  soa sim scenarios/grapple.yaml -o grapple.soalog\n"
                "  soa sim --resume grapple.soalog\n"
                "  soa sim scenarios/grapple.yaml --diagram phases.dot && dot -Tsvg phases.dot -o phases.svg\n",
    .run = run,
};

/* --- the command -------------------------------------------------------------------------------------------------- */
static int draw_diagram(const soa_world *world, const char *path) {
    size_t length = 0;
    if (soa_world_diagram(world, NULL, 0, &length)) return app_fail(&app_sim, "the scenario has no phases to draw");
    char *text = malloc(length + 1);
    if (!text) return app_fail(&app_sim, "out of memory");
    soa_status s = soa_world_diagram(world, text, length + 1, NULL);
    FILE *file = s ? NULL : fopen(path, "w");
    const int bad = !file || fputs(text, file) == EOF;
    free(text);
    if ((file && fclose(file)) || bad) return app_fail(&app_sim, "%s: %s", path, strerror(errno));
    return APP_OK;
}

static int number(const char *text, const char *what, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value)) return app_fail(&app_sim, "%s wants a number, not '%s'", what, text);
    return APP_OK;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_sim, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *log = args.value[RESUME] ? args.value[RESUME] : args.value[OUT];
    if (!args.value[RESUME] == !args.words) return app_fail(&app_sim, "give a SCENARIO, or --resume LOG alone");
    soa_scenario scenario, original = {0}; /* original: what a case was drawn from */
    soa_report report = {.body = -1};
    soa_journal *journal = NULL;
    soa_world *world = NULL;
    void *blob = NULL;
    size_t blob_size = 0;
    double t = 0, until = 0, value;
    if (args.value[UNTIL] && (code = number(args.value[UNTIL], "--until", &until)) != APP_OK) return code;
    if (args.value[RESUME]) {
        char *text = NULL;
        size_t size = 0;
        if (soa_journal_reopen(log, &journal, &t, &blob, &blob_size, &text, &size, &report))
            return app_fail(&app_sim, "%s: %s", log, report.text);
        const soa_status s = soa_scenario_parse(text, size, log, &scenario, &report);
        free(text);
        if (s) {
            soa_journal_abandon(journal, NULL), free(blob);
            return app_fail(&app_sim, "%s", report.text);
        }
    } else if (soa_scenario_open(args.word[0], &scenario, &report))
        return app_fail(&app_sim, "%s", report.text);
    code = APP_FAILED;
    soa_status s = SOA_OK;
    if (args.value[SEED]) {
        if (number(args.value[SEED], "--seed", &value) != APP_OK) goto done;
        scenario.seed = (uint64_t)value;
    }
    if (args.value[CASE]) {
        if (number(args.value[CASE], "--case", &value) != APP_OK) goto done;
        original = scenario;
        if (soa_scenario_vary(&original, (uint64_t)value, &scenario, NULL, &report)) {
            app_fail(&app_sim, "%s", report.text);
            scenario = original, original = (soa_scenario){0};
            goto done;
        }
    }
    if ((s = soa_world_create(&scenario, &world, &report)) ||
        (blob && (s = soa_world_restore(world, blob, blob_size))) ||
        (!journal && log && !args.value[DIAGRAM] && (s = soa_world_record(world, log, &journal, &report)))) {
        app_fail(&app_sim, "%s", report.text[0] ? report.text : soa_status_text(s));
        goto done;
    }
    if (args.value[DIAGRAM]) {
        code = draw_diagram(world, args.value[DIAGRAM]);
        goto done;
    }
    app_catch_signals();
    app_progress bar = app_progress_start(world, until > 0 ? until : scenario.duration, args.value[QUIET] != NULL);
    const soa_run_options how = {.until = until, .progress = app_show_progress, .user = &bar};
    report.text[0] = 0;
    s = soa_world_run(world, journal, &how, &report);
    app_progress_end(&bar);
    const int interrupted = app_interrupted();
    soa_world_summary summary;
    soa_world_summarise(world, &summary);
    code = s ? APP_FAILED : summary.judged && !summary.held && !interrupted ? APP_SOME_BAD : APP_OK;
    if (s) app_fail(&app_sim, "%s", report.text);
    if (journal) {
        soa_report closing = {.body = -1};
        const soa_status end = s || interrupted ? soa_journal_abandon(journal, &closing) : soa_journal_close(journal, &closing);
        journal = NULL;
        if (end && !s) code = app_fail(&app_sim, "%s", closing.text);
    }
    if (!args.value[QUIET]) {
        app_print_summary(&scenario, &summary);
        if (log) printf("record     %s\n", log);
    }
    if (interrupted && !s) {
        if (!args.value[QUIET])
            printf("stopped by a signal at t = %g s%s%s\n", summary.t, log ? "; go on with: soa sim --resume " : "", log ? log : "");
        code = APP_SOME_BAD;
    }
    if (args.value[SUMMARY] &&
        app_write_summary(&app_sim, args.value[SUMMARY], &scenario, &summary, s ? report.text : NULL) != APP_OK)
        code = APP_FAILED;
done:
    if (journal) soa_journal_abandon(journal, NULL);
    soa_world_free(world);
    soa_scenario_free(&scenario), soa_scenario_free(&original);
    free(blob);
    return code;
}
