/* models.c  soa models: lists the shipped models and scenarios. */
#include "../app.h"

#include "soa/scenario.h"

#include <string.h>

enum { NAMES, SCENARIOS, PRINT, KEYS };

static const app_option options[] = {
    {"--names", NULL, NULL, "only the names of the models, one per line"},
    {"--scenarios", NULL, NULL, "only the names of the scenarios, one per line"},
    {"--print", NULL, "SCENARIO", "the file of a shipped scenario, to begin one's own with"},
    {"--keys", NULL, NULL,
     "every key of scenario files, by section; docs/scenarios.md says what they mean"},
    APP_OPTION_END,
};

/* Prints a scenario's description: the line `text:` of its file. */
static void print_scenario(app_out *out, const char *name, int width) {
    const char *text = strstr(soa_stock_scenario_text(name), "\ntext:");
    out_print(out, "%-*s  ", width, name);
    if (text) {
        text += strlen("\ntext:");
        text += strspn(text, " \"");
        out_bytes(out, text, strcspn(text, "\"\n"));
    }
    out_char(out, '\n');
}

/* Prints one line for each section of a scenario file. */
static void print_keys(app_out *out) {
    const char *key, *section = NULL, *last = NULL;
    for (int i = 0; (key = soa_scenario_key(i, &section)); ++i) {
        if (section == last) {
            out_print(out, ", %s", key);
            continue;
        }
        if (last) out_char(out, '\n');
        out_print(out, "%-13s %s", section, key);
        last = section;
    }
    out_char(out, '\n');
}

static int no_scenario(const char *asked) {
    app_nearest search = app_nearest_to(asked);
    const char *name;
    char hint[APP_HINT];
    for (int i = 0; (name = soa_stock_scenario_name(i)); ++i)
        app_nearest_try(&search, name);
    return app_fail(&app_models, "there is no shipped scenario '%s'%s", asked,
                    search.best ? app_nearest_hint(&search, hint) : " (soa models lists them)");
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_models, argc, argv, &args), width = 0;
    if (code != APP_GO_ON) return code;
    for (int i = 0; soa_stock_model_name(i); ++i)
        if ((int)strlen(soa_stock_model_name(i)) > width)
            width = (int)strlen(soa_stock_model_name(i));
    if (!!args.value[NAMES] + !!args.value[SCENARIOS] + !!args.value[PRINT] + !!args.value[KEYS] >
        1)
        return app_fail(&app_models, "--names, --scenarios, --print and --keys exclude each other");
    app_out out;
    out_start(&out, 1);
    if (args.value[PRINT]) {
        const char *text = soa_stock_scenario_text(args.value[PRINT]);
        if (!text) return no_scenario(args.value[PRINT]);
        out_text(&out, text);
        return app_finish(&app_models, &out, APP_OK);
    }
    if (args.value[KEYS]) {
        print_keys(&out);
        return app_finish(&app_models, &out, APP_OK);
    }
    for (int i = 0; !args.value[SCENARIOS] && soa_stock_model_name(i); ++i) {
        if (args.value[NAMES])
            out_print(&out, "%s\n", soa_stock_model_name(i));
        else
            out_print(&out, "%-*s  %s\n", width, soa_stock_model_name(i), soa_stock_model_text(i));
    }
    const char *name;
    if (!args.value[NAMES] && !args.value[SCENARIOS])
        out_text(&out, "\nscenarios, for soa sim, sweep and view:\n");
    for (int i = 0; !args.value[NAMES] && (name = soa_stock_scenario_name(i)); ++i) {
        if (args.value[SCENARIOS])
            out_print(&out, "%s\n", name);
        else
            print_scenario(&out, name, width);
    }
    return app_finish(&app_models, &out, APP_OK);
}

const app_command app_models = {
    .name = "models",
    .words = "",
    .summary = "Lists the shipped models and scenarios",
    .text = "Their names go wherever a MODEL or a SCENARIO is asked for.\n",
    .options = options,
    .examples = "  soa models\n"
                "  soa info chain:5\n"
                "  soa models --print grapple > mine.yaml\n",
    .run = run,
};
