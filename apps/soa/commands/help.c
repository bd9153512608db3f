/* help.c  soa help [COMMAND], soa version. */
#include "../app.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_COLUMN = 22 };

static void print_row(app_out *out, const char *left, const char *right) {
    int width = (int)strlen(left);
    out_format(out, "  %s%*s", left, width < TEXT_COLUMN ? TEXT_COLUMN - width : 1, "");
    if (width >= TEXT_COLUMN) out_format(out, "\n  %*s", TEXT_COLUMN, "");
    out_format(out, "%s\n", right);
}

static void print_options(app_out *out, const app_option *options) {
    out_text(out, "\noptions:\n");
    for (const app_option *o = options; o->name; ++o) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", o->brief ? o->brief : "", o->brief ? ", " : "",
                 o->name, o->value ? " " : "", o->value ? o->value : "");
        print_row(out, left, o->text);
    }
    print_row(out, "-h, --help", "this text");
}

static void print_overview(app_out *out) {
    out_text(out, "soa: dynamics of machines made of joint-connected rigid bodies\n\n"
                  "usage: soa COMMAND [arguments]\n\ncommands:\n");
    for (int i = 0; app_commands[i]; ++i)
        print_row(out, app_commands[i]->name, app_commands[i]->summary);
    out_text(out, "\nA MODEL is a URDF file, a model saved by `soa save` (.soam), or the name of a "
                  "shipped one.\n"
                  "\nstart here:\n"
                  "  soa models                          what is shipped\n"
                  "  soa info puma560                    links, joints, masses\n"
                  "  echo '{}' | soa compute puma560 --fn gravity,pose\n"
                  "  soa help compute                    a command in detail, with examples\n");
}

void app_print_help(app_out *out, const app_command *command) {
    if (!command) {
        print_overview(out);
        return;
    }
    out_format(out, "usage: soa %s%s%s%s\n\n%s.\n", command->name, command->words[0] ? " " : "",
               command->words, command->options && command->options[0].name ? " [options]" : "",
               command->summary);
    if (command->text) out_format(out, "\n%s", command->text);
    if (command->options) print_options(out, command->options);
    if (command->examples) out_format(out, "\nexamples:\n%s", command->examples);
}

static int run_help(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_help, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const app_command *command = NULL;
    if (args.words == 1) {
        app_nearest search = app_nearest_to(args.word[0]);
        for (int i = 0; app_commands[i]; ++i) {
            if (strcmp(args.word[0], app_commands[i]->name) == 0) command = app_commands[i];
            app_nearest_try(&search, app_commands[i]->name);
        }
        char hint[APP_HINT];
        if (!command)
            return app_fail(&app_help, "unknown command '%s'%s", args.word[0],
                            app_nearest_hint(&search, hint));
        if (!command->options) { /* it has its own help */
            char name[16], flag[] = "--help";
            snprintf(name, sizeof name, "%s", command->name);
            char *arguments[] = {name, flag, NULL};
            return command->run(2, arguments);
        }
    }
    app_out out;
    out_start(&out, 1);
    app_print_help(&out, command);
    return app_finish(&app_help, &out, APP_OK);
}

static int run_version(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_version, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    app_out out;
    out_start(&out, 1);
    out_format(&out, "soa %s, libsoa %s, instruction set %s\n", SOA_VERSION, soa_version(),
               soa_instruction_set());
    return app_finish(&app_version, &out, APP_OK);
}

static const app_option none[] = {APP_OPTION_END};

const app_command app_help = {
    .name = "help",
    .words = "[COMMAND]",
    .most = 1,
    .summary = "Explains a command, with examples",
    .options = none,
    .run = run_help,
};

const app_command app_version = {
    .name = "version",
    .words = "",
    .summary = "Prints the versions of the program and its library",
    .options = none,
    .run = run_version,
};
