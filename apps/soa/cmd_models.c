/* cmd_models.c  soa models: the shipped models. */
#include "app.h"

#include <string.h>

enum { NAMES };

static const app_option options[] = {
    {"--names", NULL, NULL, "only the names, one per line"},
    APP_OPTION_END,
};

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_models, argc, argv, &args), width = 0;
    if (code != APP_GO_ON) return code;
    for (int i = 0; soa_stock_name(i); ++i)
        if ((int)strlen(soa_stock_name(i)) > width) width = (int)strlen(soa_stock_name(i));
    app_out out;
    out_start(&out, 1);
    for (int i = 0; soa_stock_name(i); ++i) {
        if (args.value[NAMES])
            out_format(&out, "%s\n", soa_stock_name(i));
        else
            out_format(&out, "%-*s  %s\n", width, soa_stock_name(i), soa_stock_text(i));
    }
    return app_finish(&app_models, &out, APP_OK);
}

const app_command app_models = {
    .name = "models",
    .words = "",
    .summary = "Lists the shipped models",
    .text = "Their names go wherever a MODEL is asked for.\n",
    .options = options,
    .examples = "  soa models\n"
                "  soa info chain:5\n",
    .run = run,
};
