/* export.c  soa export: converts a journal to HDF5 or CSV. */
#include "../app.h"
#include "../signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT, FROM, TO, SIGNALS, EVENTS, LIST };

static const app_option options[] = {
    {"--out", "-o", "FILE",
     "FILE.h5 or FILE.csv, or - for CSV on standard output (default: LOG's name with .h5)"},
    {"--from", NULL, "T", "from this time on, in s"},
    {"--to", NULL, "T", "up to this time"},
    {"--signals", NULL, "NAMES",
     "only these, comma-separated; * and ? stand for any text and any letter"},
    {"--events", NULL, NULL, "CSV: the table of events instead of the samples"},
    {"--list", NULL, NULL, "write nothing: say what the journal holds"},
    APP_OPTION_END,
};

static void list_log(app_out *out, const char *path, const soa_log_info *info) {
    out_print(out, "%s: version %d, written by soa %s, %s\n", path, info->version,
              info->program_version, info->complete ? "complete" : "without an end");
    out_print(out, "  %lld samples", (long long)info->samples);
    if (info->samples) out_print(out, ", t %.9g to %.9g s", info->first, info->last);
    out_print(out, "; %lld events; %lld checkpoints", (long long)info->events,
              (long long)info->checkpoints);
    if (!isnan(info->checkpoint)) out_print(out, ", the last at t %.9g s", info->checkpoint);
    out_print(out, "; scenario of %zu bytes\n  %d signals:\n", info->scenario_size,
              info->signal_count);
    for (int i = 0; i < info->signal_count; ++i)
        out_print(out, "    %s%s%s%s\n", info->signals[i].name,
                  info->signals[i].unit[0] ? " [" : "", info->signals[i].unit,
                  info->signals[i].unit[0] ? "]" : "");
}

static int ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}
static int export(soa_log *log, const soa_log_info *info, const app_args *args, const char *path,
                  app_out *out) {
    soa_export_options wanted = soa_export_options_default();
    soa_report report = {SOA_OK, -1, 0, ""};
    const int to_stdout = strcmp(path, "-") == 0, csv = to_stdout || ends_with(path, ".csv");
    if (!csv && !ends_with(path, ".h5") && !ends_with(path, ".hdf5"))
        return app_fail(&app_export,
                        "-o %s: the ending says what is wanted, .h5 (or .hdf5) or .csv", path);
    wanted.events = args->value[EVENTS] != NULL;
    if (wanted.events && !csv)
        return app_fail(&app_export, "--events is for CSV; an HDF5 file has them in any case");
    if (app_read_time(&app_export, "--from", args->value[FROM], &wanted.from) ||
        app_read_time(&app_export, "--to", args->value[TO], &wanted.to))
        return APP_FAILED;
    if (wanted.from > wanted.to) return app_fail(&app_export, "--from lies after --to");
    if (!to_stdout && app_same_file(path, args->word[0]))
        return app_fail(&app_export, "-o %s is the journal itself", path);
    int *picked = NULL;
    if (args->value[SIGNALS]) {
        picked = app_pick_signals(&app_export, "--signals", info, args->value[SIGNALS],
                                  &wanted.signal_count);
        if (!picked) return APP_FAILED;
        wanted.signals = picked;
    }
    const soa_status s = csv ? soa_log_export_csv(log, path, &wanted, &report)
                             : soa_log_export_hdf5(log, path, &wanted, &report);
    const int signals = picked ? wanted.signal_count : info->signal_count;
    free(picked);
    if (s != SOA_OK)
        return app_fail(&app_export, "%s", report.text[0] ? report.text : soa_status_text(s));
    if (to_stdout) return APP_OK;
    int64_t first = 0, last = info->samples;
    if (isfinite(wanted.from)) soa_log_find_sample(log, wanted.from, &first, NULL);
    if (isfinite(wanted.to)) soa_log_find_sample(log, nextafter(wanted.to, INFINITY), &last, NULL);
    if (wanted.events)
        out_print(out, "%s: the events\n", path);
    else
        out_print(out, "%s: %lld samples of %d signal%s\n", path, (long long)(last - first),
                  signals, signals == 1 ? "" : "s");
    return APP_OK;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_export, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *path = args.word[0];
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_log *log = NULL;
    soa_log_info info;
    if (app_refuse_others(&app_export, path, APP_JOURNAL) != APP_OK) return APP_FAILED;
    const soa_status s = soa_log_open(path, &log, &report);
    if (s != SOA_OK)
        return app_fail(&app_export, "%s", report.text[0] ? report.text : soa_status_text(s));
    soa_log_get_info(log, &info);
    if (!info.complete)
        app_fail(&app_export,
                 "%s has no end record: its run goes on or was stopped; %lld samples are there%s",
                 path, (long long)info.samples,
                 info.torn ? ", the broken record at its end is left out" : "");
    app_out out;
    out_start(&out, 1);
    char *name = args.value[OUTPUT] ? NULL : app_with_ending(path, ".h5");
    if (args.value[LIST]) {
        list_log(&out, path, &info);
        code = APP_OK;
    } else if (!args.value[OUTPUT] && !name) {
        code = app_fail(&app_export, "out of memory");
    } else {
        code = export(log, &info, &args, name ? name : args.value[OUTPUT], &out);
    }
    free(name);
    soa_log_close(log);
    return app_finish(&app_export, &out, code);
}

const app_command app_export = {
    .name = "export",
    .words = "LOG",
    .least = 1,
    .most = 1,
    .summary = "Writes the record of a run as HDF5 or CSV",
    .text =
        "LOG is a journal as `soa sim` writes it, complete, still growing or left by a run that "
        "was killed: whatever\n"
        "is whole in it is written.  HDF5: /t, /signals/GROUP/NAME with their units, /events, "
        "/scenario, versions\n"
        "as attributes.  CSV: one line of names and units, then 17 digits that read back to the "
        "same bits.\n"
        "The file appears under its name when all is done; an older one stays if anything fails.\n",
    .options = options,
    .examples =
        "  soa export run.soalog\n"
        "  soa export run.soalog -o arm.csv --signals 'q.robot.*,energy.*' --from 2 --to 3.5\n"
        "  soa export run.soalog --events -o - | head\n",
    .run = run,
};
