/* cmd_gen.c  soa gen: self-contained C for one model. */
#include "app.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT = APP_MODEL_OPTION_COUNT, PREFIX };
enum { PREFIX_MAX = 48 };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--output", "-o", "FILE", "the C file to write (needed)"},
    {"--prefix", NULL, "NAME", "beginning of the functions' names (default: the model's name)"},
    APP_OPTION_END,
};

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_identifier(const char *text) {
    size_t length = strlen(text);
    if (length == 0 || length > PREFIX_MAX || !is_letter(text[0])) return 0;
    for (size_t i = 0; i < length; ++i)
        if (!is_letter(text[i]) && !(text[i] >= '0' && text[i] <= '9')) return 0;
    return 1;
}

/* The model's name with everything replaced that C does not take. */
static void prefix_from_name(char prefix[PREFIX_MAX + 1], const char *name) {
    int digit = name[0] >= '0' && name[0] <= '9';
    snprintf(prefix, PREFIX_MAX + 1, "%s%s", digit ? "m" : "", name[0] ? name : "robot");
    for (char *c = prefix; *c; ++c)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9')) *c = '_';
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_gen, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *path = args.value[OUTPUT];
    char prefix[PREFIX_MAX + 1];
    if (!path) return app_fail(&app_gen, "-o FILE is missing: say where to write, for example -o robot.c");
    if (args.value[PREFIX] && !is_identifier(args.value[PREFIX]))
        return app_fail(&app_gen, "--prefix '%s' cannot begin a C name: letters, digits and _, at most %d of them",
                        args.value[PREFIX], PREFIX_MAX);
    const soa_model *model = app_open(&app_gen, &args);
    if (!model) return APP_FAILED;
    if (args.value[PREFIX])
        snprintf(prefix, sizeof prefix, "%s", args.value[PREFIX]);
    else
        prefix_from_name(prefix, soa_model_name(model));
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_generate_c(model, prefix, path, &report);
    app_out out;
    out_start(&out, 1);
    code = APP_OK;
    if (status != SOA_OK)
        code = app_fail(&app_gen, "%s: %s", path, report.text[0] ? report.text : soa_status_text(status));
    else
        out_format(&out, "%s: model '%s', nq %d, nv %d, functions %s_...; compile with: cc -O3 -march=native -c %s\n",
                   path, soa_model_name(model), soa_nq(model), soa_nv(model), prefix, path);
    soa_model_free(model);
    return app_finish(&app_gen, &out, code);
}

const app_command app_gen = {
    .name = "gen",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Writes self-contained C for one model",
    .text = "The model's tables become constants beside the library's own kernels, so the compiler specialises them:\n"
            "fixed sizes, no heap, no dependency but libm.  The comment at the head of the file shows its functions.\n",
    .options = options,
    .examples = "  soa gen puma560 -o puma.c --prefix puma\n"
                "  soa gen robot.urdf --ideal -o robot.c && cc -O3 -march=native -c robot.c\n",
    .run = run,
};
