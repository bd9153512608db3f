/* demo.c  soa demo: the main example. Two arms catch a satellite, with one law as in WD89 and with
 * one law per phase. */
#include "../../view/page.h"
#include "../sim_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OUT };

static const app_option options[] = {
    {"--out", "-o", "DIR", "where the results go; made if missing (default build/demo)"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_demo = {
    .name = "demo",
    .words = "",
    .summary =
        "Two arms on a floating base catch a satellite; writes records, a picture and a report",
    .text = "Walker and Dionise (1989) let two PUMA 560 arms grasp a floating satellite with one "
            "inverse-dynamics law: "
            "the\n"
            "approach went well, the grasp was lost.  This runs their controller (scenario "
            "grapple-paper), then one with "
            "a\n"
            "law for each phase and a supervisor that switches on what is measured (scenario "
            "grapple), which brings the\n"
            "satellite to rest, moves it by 0.3 m, turns it by 30 degrees and holds it.  "
            "docs/grapple.md\n",
    .options = options,
    .examples = "  soa demo\n  soa demo --out caught\n",
    .run = run,
};

typedef struct job {
    const char *name;
    char log[4200], csv[4200], h5[4200];
    soa_world_summary summary;
    char phases[16][40];
} job;

static int make_directory(const char *path) {
    char part[4096];
    const size_t length = strlen(path);
    if (!length || length >= sizeof part) return -1;
    for (size_t i = 1; i <= length; ++i) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) && errno != EEXIST) return -1;
    }
    return 0;
}

/* Runs a shipped scenario with a record, and exports the record. */
static int simulate(job *j, const char *dir) {
    soa_scenario scenario;
    soa_report report = {.body = -1};
    soa_world *world = NULL;
    soa_journal *journal = NULL;
    soa_log *log = NULL;
    snprintf(j->log, sizeof j->log, "%.4000s/%s.soalog", dir, j->name);
    snprintf(j->csv, sizeof j->csv, "%.4000s/%s.csv", dir, j->name);
    snprintf(j->h5, sizeof j->h5, "%.4000s/%s.h5", dir, j->name);
    const char *text = soa_stock_scenario_text(j->name);
    if (!text || soa_scenario_parse(text, strlen(text), j->name, &scenario, &report))
        return app_fail(&app_demo, "%s", text ? report.text : "a shipped scenario is missing");
    app_note("\n%s: %s\n", j->name, scenario.text ? scenario.text : "");
    soa_status s = soa_world_create(&scenario, &world, &report);
    if (!s) s = soa_world_create_journal(world, j->log, &journal, &report);
    if (!s) {
        app_progress bar = app_progress_start(world, scenario.duration, 0);
        const soa_run_options how = {.progress = app_show_progress, .user = &bar};
        s = soa_world_run(world, journal, &how, &report);
        app_progress_end(&bar);
        soa_world_summarise(world, &j->summary);
        j->summary.phase = "";
        app_print_summary(&scenario, &j->summary);
    }
    soa_report closing;
    if (journal && soa_journal_close(journal, s ? &closing : &report) && !s) s = SOA_E_FILE;
    if (!s) s = soa_log_open(j->log, &log, &report);
    if (!s) s = soa_log_export_csv(log, j->csv, NULL, &report);
    if (!s) s = soa_log_export_hdf5(log, j->h5, NULL, &report);
    soa_log_close(log);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    if (s)
        return app_fail(&app_demo, "%s: %s", j->name,
                        report.text[0] ? report.text : soa_status_text(s));
    return app_interrupted() ? app_fail(&app_demo, "stopped by a signal") : APP_OK;
}

/* --- the picture ------------------------------------------------------------------------------ */
typedef struct series {
    long count;
    double *t, *y[4];
} series;
static const struct {
    const char *signal, *label;
    double unit;
} shown[4] = {{"object.position_error", "distance from the goal (mm)", 1e3},
              {"object.attitude_error", "angle from the goal (deg)", 57.29577951308232},
              {"contact.finger.points", "fingers that touch", 1},
              {"contact.finger.pressure", "sum of finger pressures (N)", 1}};

static int read_series(const job *j, series *out, soa_report *report) {
    soa_log *log;
    if (soa_log_open(j->log, &log, report)) return 0;
    soa_log_info info;
    soa_log_get_info(log, &info);
    int signals[4], good = 1;
    for (int k = 0; k < 4; ++k)
        good = good && (signals[k] = soa_log_find_signal(log, shown[k].signal)) >= 0;
    double *rows = malloc((size_t)info.samples * 4 * sizeof *rows);
    out->t = malloc((size_t)info.samples * 5 * sizeof *out->t);
    int64_t got = 0;
    good = good && rows && out->t &&
           !soa_log_read_samples(
               log, &(soa_log_range){.count = info.samples, .signals = signals, .signal_count = 4},
               out->t, rows, &got, report);
    out->count = (long)got;
    for (int k = 0; good && k < 4; ++k) {
        out->y[k] = out->t + (k + 1) * info.samples;
        for (int64_t i = 0; i < got; ++i)
            out->y[k][i] = shown[k].unit * rows[4 * i + k];
    }
    free(rows);
    soa_log_close(log);
    return good;
}

static int draw(const job jobs[2], const char *path) {
    static const char *const names[2] = {"one law (the paper's)", "a law for each phase"};
    series data[2] = {{0}, {0}};
    soa_report report = {.body = -1};
    int code = APP_FAILED;
    if (read_series(&jobs[0], &data[0], &report) && read_series(&jobs[1], &data[1], &report)) {
        soa_plot_curve curves[4][2];
        soa_plot_panel panels[4];
        for (int k = 0; k < 4; ++k) {
            for (int i = 0; i < 2; ++i)
                curves[k][i] = (soa_plot_curve){
                    .name = names[i], .y = data[i].y[k], .x = data[i].t, .count = data[i].count};
            panels[k] =
                (soa_plot_panel){.y_label = shown[k].label, .curves = curves[k], .curve_count = 2};
        }
        const soa_plot plot = {
            .title = "Two arms and a satellite",
            .subtitle = "the same satellite, drift and arms; with one law the grasp is lost",
            .x_label = "time (s)",
            .x = data[1].t,
            .count = data[1].count,
            .panels = panels,
            .panel_count = 4};
        if (!soa_plot_write_svg(&plot, path, &report)) code = APP_OK;
    }
    free(data[0].t);
    free(data[1].t);
    return code == APP_OK ? code : app_fail(&app_demo, "%s: %s", path, report.text);
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_demo, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *dir = args.value[OUT] ? args.value[OUT] : "build/demo";
    if (make_directory(dir)) return app_fail(&app_demo, "--out %s: %s", dir, strerror(errno));
    static job jobs[2] = {{.name = "grapple-paper"}, {.name = "grapple"}};
    char picture[4200], report[4200];
    snprintf(report, sizeof report, "%.4000s/report.html", dir);
    snprintf(picture, sizeof picture, "%.4000s/grapple.svg", dir);
    app_catch_signals();
    for (int i = 0; i < 2; ++i)
        if ((code = simulate(&jobs[i], dir)) != APP_OK) return code;
    if ((code = draw(jobs, picture)) != APP_OK) return code;
    app_print("\nresults\n  %s   errors, fingers and forces of both\n", picture);
    for (int i = 0; i < 2; ++i)
        app_print("  %s, %s, %s\n", jobs[i].log, jobs[i].csv, jobs[i].h5);
    if (view_page_size) {
        if ((code = app_write_report(&app_demo, jobs[1].log, report, 0)) != APP_OK) return code;
        app_print("\nlook at the satellite being caught: open this file in a browser\n%s\n",
                  report);
    } else
        app_print("  no report: " VIEW_NO_PAGE "\n");
    if (!jobs[1].summary.held) return app_fail(&app_demo, "the satellite was not held");
    return APP_OK;
}
