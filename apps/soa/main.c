/* main.c  the soa program: finds the command and runs it. */
#include "app.h"
#include "target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const app_command *const app_commands[] = {
    &app_info, &app_check,  &app_compute, &app_ik,         &app_op,      &app_identity, &app_gen,
    &app_save, &app_models, &app_sim,     &app_sweep,      &app_export,  &app_view,     &app_report,
    &app_plot, &app_drop,   &app_demo,    &app_completion, &app_version, &app_help,     NULL,
};

static int run(int argc, char **argv) {
    if (argc < 2) {
        app_out out;
        out_start(&out, 2);
        app_print_help(&out, NULL);
        return app_finish(NULL, &out, APP_FAILED);
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    app_nearest search = app_nearest_to(name);
    for (int i = 0; app_commands[i]; ++i) {
        if (strcmp(name, app_commands[i]->name) == 0)
            return app_commands[i]->run(argc - 1, argv + 1);
        app_nearest_try(&search, app_commands[i]->name);
    }
    if (name[0] == '-') {
        search = app_nearest_to(name);
        app_nearest_try(&search, "--help");
        app_nearest_try(&search, "--version");
    }
    app_nearest_synonyms(
        &search, (const char *const[][2]){{"-v", "--version"}, {"list", "models"}, {NULL, NULL}});
    char hint[APP_HINT];
    return app_fail(NULL, "unknown command '%s'%s", name,
                    search.best ? app_nearest_hint(&search, hint) : " (soa help lists them)");
}

int main(int argc, char **argv) {
    /* A reader that closes the pipe is an error that we report, not a silent end. */
    signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* likewise a file that may not grow */
#endif
    app_remove_temporaries();
    int code = run(argc, argv);
    if (app_print_error() && code != APP_FAILED)
        code = app_fail(NULL, "cannot write the output: %s", strerror(app_print_error()));
    return code;
}
