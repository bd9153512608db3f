/* plot.c  soa plot: draws signals of a log as a picture for papers. */
#include "../draw/chart.h"
#include "../signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT, FROM, TO, TITLE, COLUMNS, WIDTH, DOTS, PLAIN };
static const app_option options[] = {
    {"--out", "-o", "FILE", "FILE.svg, FILE.pdf or FILE.png (default: LOG's name with .svg)"},
    {"--from", NULL, "T", "from this time on, in s"},
    {"--to", NULL, "T", "up to this time"},
    {"--title", NULL, "TEXT", "a line above"},
    {"--columns", NULL, "N", "panels side by side, 1 to 4 (default 1)"},
    {"--width", NULL, "MM", "width of the picture, 60 to 1000 mm (default 170)"},
    {"--dpi", NULL, "N", "PNG: dots per inch, 50 to 1200 (default 300)"},
    {"--no-phases", NULL, NULL, "without the supervisor's phases behind the curves"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_plot = {
    .name = "plot",
    .words = "LOG SIGNAL...",
    .least = 2,
    .most = APP_WORDS_MAX,
    .summary = "Draws signals of a run for papers, as SVG, PDF or PNG",
    .text = "SIGNAL is a name of the record (soa export LOG --list names them); * and ? stand for "
            "any text and any "
            "letter.\n"
            "Signals of one unit share a panel.  Long records are drawn by the smallest and "
            "largest values of each "
            "column.\n",
    .options = options,
    .examples = "  soa plot grapple.soalog object.position_error -o error.svg\n"
                "  soa plot grapple.soalog 'q.robot.left_*' 'tau.robot.left_*' --from 4 --to 12 -o "
                "left.pdf\n",
    .run = run,
};

static int ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

static int plot(soa_log *log, const app_args *args, const char *path) {
    static const char *const endings[] = {".svg", ".pdf", ".png"};
    soa_log_info info;
    soa_report report = {.body = -1};
    int format = 0;
    while (format < 3 && !ends_with(path, endings[format]))
        ++format;
    if (format == 3)
        return app_fail(&app_plot, "-o %s: the ending says what is wanted, .svg, .pdf or .png",
                        path);
    if (app_same_file(path, args->word[0]))
        return app_fail(&app_plot, "-o %s is the journal itself", path);
    soa_log_get_info(log, &info);
    if (!info.samples) return app_fail(&app_plot, "%s has no samples", args->word[0]);
    double columns = 1;
    view_damage damage = {0};
    chart what = {.log = log,
                  .damage = &damage,
                  .from = info.first,
                  .to = info.last,
                  .title = args->value[TITLE],
                  .width = 170,
                  .dots = 300,
                  .bands = !args->value[PLAIN]};
    if (app_read_time(&app_plot, "--from", args->value[FROM], &what.from) ||
        app_read_time(&app_plot, "--to", args->value[TO], &what.to) ||
        (args->value[COLUMNS] &&
         app_read_number(&app_plot, "--columns", args->value[COLUMNS], 1, 4, &columns)) ||
        (args->value[WIDTH] &&
         app_read_number(&app_plot, "--width", args->value[WIDTH], 60, 1000, &what.width)) ||
        (args->value[DOTS] &&
         app_read_number(&app_plot, "--dpi", args->value[DOTS], 50, 1200, &what.dots)))
        return APP_FAILED;
    if (columns != floor(columns)) return app_fail(&app_plot, "--columns wants a whole number");
    what.columns = (int)columns;
    what.from = fmax(what.from, info.first);
    what.to = fmin(what.to, info.last);
    if (!(what.from <= what.to))
        return app_fail(&app_plot, "nothing is recorded there: %s goes from %g s to %g s",
                        args->word[0], info.first, info.last);
    size_t length = 1;
    for (int i = 1; i < args->words; ++i)
        length += strlen(args->word[i]) + 1;
    char *list = calloc(length, 1);
    for (int i = 1; list && i < args->words; ++i)
        strcat(strcat(list, i > 1 ? "," : ""), args->word[i]);
    if (!list) return app_fail(&app_plot, "out of memory");
    int *picked = app_pick_signals(&app_plot, "", &info, list, &what.signal_count);
    free(list);
    if (!picked) return APP_FAILED;
    what.signals = picked;
    app_out out;
    out_start(&out, -1);
    const soa_status s = chart_draw(&what, (chart_format)format, &out, &report);
    int code;
    if (s)
        code = app_fail(&app_plot, "%s", report.text[0] ? report.text : soa_status_text(s));
    else
        code = app_write_file(&app_plot, path, out.data, out.size);
    if (what.to >= info.last) view_damage_of_end(log, &damage);
    if (code == APP_OK && damage.found) {
        char text[160];
        view_damage_text(&damage, text);
        app_fail(&app_plot, "note: %s", text);
    }
    if (code == APP_OK)
        app_print("%s: %d signal%s, %g s to %g s\n", path, what.signal_count,
                  what.signal_count == 1 ? "" : "s", what.from, what.to);
    out_free(&out);
    free(picked);
    return code;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_plot, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    soa_report report = {.body = -1};
    soa_log *log = NULL;
    if (app_refuse_others(&app_plot, args.word[0], APP_JOURNAL) != APP_OK) return APP_FAILED;
    const soa_status s = soa_log_open(args.word[0], &log, &report);
    if (s) return app_fail(&app_plot, "%s", report.text[0] ? report.text : soa_status_text(s));
    char *name = args.value[OUTPUT] ? NULL : app_with_ending(args.word[0], ".svg");
    if (!name && !args.value[OUTPUT])
        code = app_fail(&app_plot, "out of memory");
    else
        code = plot(log, &args, name ? name : args.value[OUTPUT]);
    free(name);
    soa_log_close(log);
    return code;
}
