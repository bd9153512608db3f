/* sim.c  soa sim: runs a scenario. */
#include "../signals.h"
#include "../sim_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT, SUMMARY, RESUME, UNTIL, SEED, CASE, DIAGRAM, STRICT, QUIET };

static const app_option options[] = {
    {"--out", "-o", "LOG", "record the run in this journal (soa export turns it into CSV or HDF5)"},
    {"--summary", NULL, "FILE",
     "write every figure of the summary as JSON, also when the run fails"},
    {"--resume", NULL, "LOG",
     "go on with a journal whose run was stopped or killed; no SCENARIO then"},
    {"--until", NULL, "T", "stop at this time, s, instead of the scenario's duration"},
    {"--seed", NULL, "N", "another seed for noise and variations"},
    {"--case", NULL, "N",
     "case N of the scenario's sweep, its quantities drawn as soa sweep draws them"},
    {"--diagram", NULL, "FILE", "write the supervisor's phases as Graphviz text, and do not run"},
    {"--strict", NULL, NULL, "exit with 1 if the run ends with a warning"},
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
    .text = "A scenario is a YAML file (docs/scenarios.md), or the name of a shipped one, such as "
            "grapple.  Ctrl-C "
            "stops at\n"
            "the next tick with everything recorded; a run that was stopped, or killed at any "
            "instant, is taken up "
            "again by\n"
            "--resume and ends in the same bits as one that was not.\n"
            "Exit status: 0 ran to its end (and held what it was asked to hold), 1 ran but did not "
            "hold it, was "
            "stopped by\n"
            "a signal, or (with --strict) ended with a warning, 2 could not run or not go on.\n",
    .options = options,
    .examples = "  soa models --print grapple > mine.yaml && soa sim mine.yaml\n"
                "  soa sim grapple --summary summary.json\n"
                "  soa sim grapple -o grapple.soalog\n"
                "  soa sim --resume grapple.soalog\n"
                "  soa sim grapple --diagram phases.dot && dot -Tsvg phases.dot -o phases.svg\n",
    .run = run,
};

/* --- the command ------------------------------------------------------------------------------ */
static int draw_diagram(const soa_world *world, const char *path) {
    size_t length = 0;
    if (soa_world_diagram(world, NULL, 0, &length))
        return app_fail(&app_sim, "the scenario has no phases to draw");
    char *text = malloc(length + 1);
    if (!text) return app_fail(&app_sim, "out of memory");
    const soa_status s = soa_world_diagram(world, text, length + 1, NULL);
    const int code = s ? app_fail(&app_sim, "%s", soa_status_text(s))
                       : app_write_file(&app_sim, path, text, strlen(text));
    free(text);
    return code;
}

/* Runs the world to its end, prints and writes the results. */
static int run_world(const app_args *args, const soa_scenario *scenario, soa_world *world,
                     soa_journal *journal, double until) {
    const char *log = args->value[RESUME] ? args->value[RESUME] : args->value[OUT];
    const int quiet = args->value[QUIET] != NULL;
    soa_report report = {.body = -1};
    app_progress bar = app_progress_start(world, until > 0 ? until : scenario->duration, quiet);
    const soa_run_options how = {.until = until, .progress = app_show_progress, .user = &bar};
    const soa_status s = soa_world_run(world, journal, &how, &report);
    app_progress_end(&bar);
    const int interrupted = !s && app_interrupted();
    soa_world_summary summary;
    soa_world_summarise(world, &summary);
    int code;
    if (s) {
        code = APP_FAILED;
    } else if (interrupted || (summary.judged && !summary.held)) {
        code = APP_SOME_BAD;
    } else {
        code = APP_OK;
    }
    if (code == APP_OK && args->value[STRICT] && summary.warning_count > 0) {
        code = APP_SOME_BAD;
        for (int i = 0; quiet && i < summary.warning_count; ++i)
            app_fail(&app_sim, "warning [%s] %s: %s", summary.warnings[i].code,
                     summary.warnings[i].name, summary.warnings[i].remedy);
    }
    if (s) app_fail(&app_sim, "%s", report.text);
    if (journal) {
        soa_report closing = {.body = -1};
        soa_journal_state state;
        soa_journal_get_state(journal, &state);
        if (state.pending && s) {
            app_fail(&app_sim, "note: nothing was recorded; the older %s is unchanged", log);
            log = NULL;
        }
        const soa_status end = s || interrupted ? soa_journal_abandon(journal, &closing)
                                                : soa_journal_close(journal, &closing);
        if (end && !s) code = app_fail(&app_sim, "%s", closing.text);
    }
    const char *fault;
    if (s) {
        fault = report.text;
    } else if (interrupted) {
        fault = "stopped by a signal";
    } else {
        fault = NULL;
    }
    if (args->value[SUMMARY] &&
        app_write_summary(&app_sim, args->value[SUMMARY], scenario, &summary, fault) != APP_OK)
        code = APP_FAILED;
    if (!quiet) {
        app_print_summary(scenario, &summary);
        if (log) app_print("record     %s\n", log);
        if (interrupted)
            app_print("stopped by a signal at t = %g s%s%s\n", summary.t,
                      log ? "; go on with: soa sim --resume " : "", log ? log : "");
    }
    if (app_print_error())
        code = app_fail(&app_sim, "standard output: %s", strerror(app_print_error()));
    return code;
}

/* Writes a summary although the run could not begin, for programs that wait for one. */
static void write_empty_summary(const app_args *args, const soa_scenario *scenario,
                                const char *fault) {
    const soa_world_summary nothing = {.phase = "",
                                       .redundancy = "",
                                       .judged = scenario->success.object != NULL,
                                       .position_error_m = NAN,
                                       .attitude_error_deg = NAN,
                                       .internal_force_N = NAN,
                                       .internal_force_least = NAN,
                                       .internal_force_most = NAN,
                                       .energy_error_rel = NAN,
                                       .momentum_error_rel = NAN};
    if (args->value[SUMMARY])
        app_write_summary(&app_sim, args->value[SUMMARY], scenario, &nothing, fault);
}

/* Whether the torques of a journal's run came from a function of the program that ran it. */
static bool controlled_by_function(const char *path) {
    soa_log *log = NULL;
    soa_scenario scenario;
    if (soa_log_open(path, &log, NULL)) return false; /* soa_world_resume says why */
    const bool read = soa_scenario_from_log(log, path, &scenario, NULL) == SOA_OK;
    const bool external = read && scenario.control.external;
    if (read) soa_scenario_free(&scenario);
    soa_log_close(log);
    return external;
}

/* The reason why this program cannot run a scenario: the action whose torques come from another
 * program. An empty text if there is none. */
static void tell_external(const soa_scenario *scenario, soa_report *report) {
    int phase;
    int action;
    if (!soa_scenario_find_external(scenario, &phase, &action)) return;
    const soa_phase *of = &scenario->control.phases[phase];
    const soa_action *which = &of->actions[action];
    snprintf(report->text, sizeof report->text,
             "%.200s:%d:%d: the torques of phase '%.60s', action '%.60s' come from a program (law "
             "external): run it from Python, scenario.run(controller=...), or from C, "
             "soa_world_set_torque",
             scenario->file ? scenario->file : scenario->name, which->mark.line, which->mark.column,
             of->name, which->name);
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_sim, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    if (!args.value[RESUME] == !args.words)
        return app_fail(&app_sim, "give a SCENARIO, or --resume LOG alone");
    if (args.value[RESUME] &&
        (args.value[OUT] || args.value[SEED] || args.value[CASE] || args.value[DIAGRAM]))
        return app_fail(
            &app_sim,
            "--resume takes no --out, --seed, --case or --diagram: the journal knows its run");
    double until = 0;
    if (args.value[UNTIL]) {
        if ((code = app_read_number(&app_sim, "--until", args.value[UNTIL], -INFINITY, INFINITY,
                                    &until)) != APP_OK)
            return code;
        if (!(until > 0))
            return app_fail(&app_sim, "--until wants a time after the start, not '%s'",
                            args.value[UNTIL]);
    }
    app_catch_signals();
    soa_scenario scenario = {0}, original = {0};
    soa_report report = {.body = -1};
    soa_journal *journal = NULL;
    soa_world *world = NULL;
    soa_status s = SOA_OK;
    if (app_refuse_others(&app_sim, args.value[RESUME] ? args.value[RESUME] : args.word[0],
                          args.value[RESUME] ? APP_JOURNAL : APP_SCENARIO) != APP_OK)
        return APP_FAILED;
    if (args.value[RESUME] && controlled_by_function(args.value[RESUME]))
        return app_fail(&app_sim,
                        "%s: its torques came from a function of the program that ran it, which "
                        "is not in the journal; resume it there (in Python: soa.resume(path, "
                        "controller=...))",
                        args.value[RESUME]);
    if (args.value[RESUME])
        s = soa_world_resume(args.value[RESUME], &scenario, &world, &journal, &report);
    else if ((code = app_open_scenario(&app_sim, args.word[0], args.value[SEED], args.value[CASE],
                                       &scenario, &original)) != APP_OK)
        return code;
    else {
        s = soa_world_create(&scenario, &world, &report);
        if (!s && !args.value[DIAGRAM]) {
            tell_external(&scenario, &report);
            if (report.text[0]) s = SOA_E_ARGUMENT;
        }
        if (!s && args.value[OUT] && !args.value[DIAGRAM])
            s = soa_world_create_journal(world, args.value[OUT], &journal, &report);
    }
    if (s) {
        code = app_fail(&app_sim, "%s", report.text[0] ? report.text : soa_status_text(s));
        write_empty_summary(&args, &scenario, report.text);
    } else if (args.value[DIAGRAM])
        code = draw_diagram(world, args.value[DIAGRAM]);
    else
        code = run_world(&args, &scenario, world, journal, until);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    soa_scenario_free(&original);
    return code;
}
