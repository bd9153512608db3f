/* save.c  soa save: writes any model as one file that libsoa loads without XML. */
#include "../app.h"

enum { OUTPUT = APP_MODEL_OPTION_COUNT };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--out", "-o", "FILE", "where to write it, by custom with the ending .soam (needed)"},
    APP_OPTION_END,
};

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_save, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *path = args.value[OUTPUT];
    if (!path)
        return app_fail(&app_save,
                        "-o FILE is missing: say where to write, for example -o robot.soam");
    const soa_model *model = app_open(&app_save, &args);
    if (!model) return APP_FAILED;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_model_save(model, path, &report);
    app_out out;
    /* If the file goes to standard output, messages must not. */
    out_start(&out, app_is_stdout(path) ? 2 : 1);
    code = APP_OK;
    if (status != SOA_OK)
        code =
            app_fail_file(&app_save, path, report.text[0] ? report.text : soa_status_text(status));
    else
        out_print(&out,
                  "%s: model '%s', nq %d, nv %d, %zu bytes; work space %zu, batch %zu bytes\n",
                  path, soa_model_name(model), soa_model_nq(model), soa_model_nv(model),
                  soa_model_bytes(model), soa_work_size(model), app_batch_size(model));
    soa_model_free(model);
    return app_finish(&app_save, &out, code);
}

const app_command app_save = {
    .name = "save",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Saves a model as one binary file with version and checksum",
    .text = "The file needs no XML to be read: soa_model_load(), or soa_model_from_bytes() where "
            "there is no file\n"
            "system.  It keeps what the options made of the model, and every command takes it as "
            "MODEL.  The bytes it\n"
            "prints are those of the model, of a work space and of a batch, for memory that is set "
            "aside in advance.\n",
    .options = options,
    .examples = "  soa save robot.urdf -o robot.soam\n"
                "  soa save robot.urdf --floating --gravity 0,0,-3.71 -o on_mars.soam && soa info "
                "on_mars.soam\n",
    .run = run,
};
