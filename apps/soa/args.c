/* args.c  command lines: options from the tables, mistakes with the nearest valid name, models
 * opened with their options. */
#include "app.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int app_fail(const app_command *command, const char *format, ...) {
    app_out out;
    va_list arguments;
    out_start(&out, STDERR_FILENO);
    out_print(&out, "soa%s%s: ", command ? " " : "", command ? command->name : "");
    va_start(arguments, format);
    out_vprint(&out, format, arguments);
    va_end(arguments);
    out_char(&out, '\n');
    out_flush(&out);
    out_free(&out);
    return APP_FAILED;
}

int app_fail_lines(const app_command *command, const char *text) {
    size_t length = strcspn(text, "\n");
    app_fail(command, "%.*s", (int)length, text);
    while (text[length]) {
        text += length + 1;
        length = strcspn(text, "\n");
        app_note("%.*s\n", (int)length, text);
    }
    return APP_FAILED;
}

int app_fail_file(const app_command *command, const char *path, const char *text) {
    const int named = strstr(text, path) != NULL;
    return app_fail(command, "%s%s%s", named ? "" : path, named ? "" : ": ", text);
}

/* --- options ---------------------------------------------------------------------------------- */
static int find_option(const app_option *options, const char *text, size_t length) {
    /* As other programs call it. */
    if (length == 8 && strncmp(text, "--output", 8) == 0) {
        text = "--out";
        length = 5;
    }
    for (int i = 0; options[i].name; ++i)
        if ((strlen(options[i].name) == length && strncmp(options[i].name, text, length) == 0) ||
            (options[i].brief && strlen(options[i].brief) == length &&
             strncmp(options[i].brief, text, length) == 0))
            return i;
    return -1;
}

static int unknown_option(const app_command *command, const char *text, size_t length) {
    char name[APP_HINT], hint[APP_HINT];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    app_nearest search = app_nearest_to(name);
    for (const app_option *o = command->options; o->name; ++o)
        app_nearest_try(&search, o->name);
    app_nearest_try(&search, "--help");
    return app_fail(command, "unknown option '%s'%s", name,
                    search.best ? app_nearest_hint(&search, hint) : " (--help lists them)");
}

static int is_number(const char *text) {
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

/* Reports a number in a wrong place after an option that needs several numbers with commas but has
 * one. Returns APP_FAILED. */
static int scattered_numbers(const app_command *command, const app_args *args, const char *text) {
    for (int row = 0; is_number(text) && command->options[row].name; ++row) {
        const app_option *o = &command->options[row];
        if (o->value && strchr(o->value, ',') && args->value[row] && is_number(args->value[row]))
            return app_fail(command, "%s wants %s with commas between: %s %s", o->name,
                            strcmp(o->value, "X,Y,Z") ? "its numbers" : "three numbers", o->name,
                            o->value);
    }
    return APP_OK;
}

/* Folder of a path and its last part. */
static int place_of(const char *path, struct stat *folder, const char **last) {
    const char *slash = strrchr(path, '/');
    char name[4096];
    *last = slash ? slash + 1 : path;
    if (slash && (size_t)(slash - path) >= sizeof name) return -1;
    snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    return stat(name, folder);
}
int app_is_stdout(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}
int app_same_file(const char *a, const char *b) {
    struct stat x, y;
    const char *last_a, *last_b;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) return 0;
    const int there = stat(a, &x) == 0;
    if (there != (stat(b, &y) == 0)) return 0;
    if (there) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return place_of(a, &x, &last_a) == 0 && place_of(b, &y, &last_b) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && strcmp(last_a, last_b) == 0;
}
static int is_one_of(const app_option *option, const char *names) {
    char padded[48];
    snprintf(padded, sizeof padded, " %s ", option->name);
    return option->value && strstr(names, padded) != NULL;
}
/* Refuses to write to the model or record that is read, and to write two outputs to one file:
 * APP_OK, or the exit code. compute may write to the file of its states, which it has read by
 * then. */
static int refuse_overwriting(const app_command *command, const app_args *args) {
    static const char *const written = " --out --header --summary --diagram --record --html ";
    static const char *const read = " --resume --model ";
    const app_option *option = command->options;
    for (int i = 0; option[i].name; ++i) {
        const char *path = args->value[i];
        if (!path || !is_one_of(option + i, written)) continue;
        struct stat about;
        /* Words may be shipped names, signals, expressions. */
        for (int w = 0; w < args->words; ++w)
            if (stat(args->word[w], &about) == 0 && app_same_file(path, args->word[w]))
                return app_fail(command, "%s %s would overwrite what is read; give another name",
                                option[i].name, path);
        for (int j = 0; option[j].name; ++j) {
            if (j == i || !args->value[j] || !app_same_file(path, args->value[j])) continue;
            if (is_one_of(option + j, read))
                return app_fail(command, "%s %s would overwrite what is read; give another name",
                                option[i].name, path);
            if (is_one_of(option + j, written))
                return app_fail(command, "%s and %s are one file, %s; give another name",
                                option[i].name, option[j].name, path);
        }
    }
    return APP_OK;
}

int app_parse(const app_command *command, int argc, char **argv, app_args *args) {
    int only_words = 0;
    memset(args, 0, sizeof *args);
    for (int i = 1; i < argc; ++i) {
        const char *text = argv[i];
        if (only_words || text[0] != '-' || text[1] == '\0') {
            if (args->words == command->most && scattered_numbers(command, args, text) != APP_OK)
                return APP_FAILED;
            if (args->words == command->most)
                return app_fail(command,
                                "'%s' is one argument too many; usage: soa %s %s%s (soa help %s "
                                "shows examples)",
                                text, command->name, command->words,
                                command == &app_compute ? " --fn LIST" : "", command->name);
            args->word[args->words++] = text;
            continue;
        }
        if (strcmp(text, "--") == 0) {
            only_words = 1;
            continue;
        }
        if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            app_out out;
            out_start(&out, 1);
            app_print_help(&out, command);
            return app_finish(command, &out, APP_OK);
        }
        size_t length = strcspn(text, "=");
        int row = find_option(command->options, text, length);
        if (row < 0 && scattered_numbers(command, args, text) != APP_OK) return APP_FAILED;
        if (row < 0) return unknown_option(command, text, length);
        const app_option *option = &command->options[row];
        if (args->value[row]) return app_fail(command, "%s is given twice", option->name);
        if (!option->value) {
            if (text[length] == '=')
                return app_fail(command, "%s takes no value, '%s' was given", option->name,
                                text + length + 1);
            args->value[row] = "";
        } else if (text[length] == '=') {
            args->value[row] = text + length + 1;
        } else if (i + 1 < argc) {
            args->value[row] = argv[++i];
        } else {
            return app_fail(command, "%s needs a value: %s %s", option->name, option->name,
                            option->value);
        }
    }
    if (args->words < command->least) {
        const char *missing = command->words;
        for (int i = 0; i < args->words; ++i)
            missing += strcspn(missing, " ") + 1;
        return app_fail(command, "%s is missing; usage: soa %s %s (soa help %s shows examples)",
                        missing, command->name, command->words, command->name);
    }
    return refuse_overwriting(command, args) == APP_OK ? APP_GO_ON : APP_FAILED;
}

/* --- numbers ---------------------------------------------------------------------------------- */
int app_read_number(const app_command *command, const char *name, const char *text, double least,
                    double most, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value) && *value >= least && *value <= most)
        return APP_OK;
    if (!isfinite(least) && !isfinite(most))
        return app_fail(command, "%s wants a number, not '%s'", name, text);
    return app_fail(command, "%s wants a number from %g to %g, not '%s'", name, least, most, text);
}
int app_read_whole(const app_command *command, const char *name, const char *text, uint64_t least,
                   uint64_t most, uint64_t *value) {
    char *end;
    errno = 0;
    const unsigned long long x = strtoull(text, &end, 10);
    *value = x;
    if (end != text && !*end && !errno && !strchr(text, '-') && x >= least && x <= most)
        return APP_OK;
    char bound[24] = "2^64 - 1";
    if (most < UINT64_MAX) snprintf(bound, sizeof bound, "%llu", (unsigned long long)most);
    return app_fail(command, "%s wants a whole number from %llu to %s, not '%s'", name,
                    (unsigned long long)least, bound, text);
}

/* --- models ----------------------------------------------------------------------------------- */
/* Reads "x,y,z" as three finite numbers. Returns 0 on success. */
static int read_triple(const char *text, double value[3]) {
    for (int i = 0; i < 3; ++i) {
        char *end;
        value[i] = strtod(text, &end);
        if (end == text || !isfinite(value[i])) return -1;
        end += strspn(end, " ");
        if (*end != (i < 2 ? ',' : '\0')) return -1;
        text = end + 1;
    }
    return 0;
}

void app_say_left_out(const app_command *command, const char *model, int constraints) {
    if (constraints > 0)
        app_fail(command,
                 "note: %s brings %d constraint%s (loops); they are left out here: what follows is "
                 "that of its "
                 "spanning tree alone",
                 model, constraints, constraints == 1 ? "" : "s");
}

const soa_model *app_open(const app_command *command, const app_args *args) {
    soa_constraint_list constraints;
    const soa_model *model = app_open_closed(command, args, &constraints);
    if (!model) return NULL;
    app_say_left_out(command, args->word[0], constraints.count);
    soa_constraint_list_free(&constraints);
    return model;
}

const soa_model *app_open_closed(const app_command *command, const app_args *args,
                                 soa_constraint_list *constraints) {
    const char *spec = args->word[0];
    soa_read_options options = {args->value[APP_FLOATING] != NULL, args->value[APP_IDEAL] != NULL};
    const soa_model *model = NULL, *copy = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    double gravity[3];
    *constraints = (soa_constraint_list){0, NULL};
    if (args->value[APP_GRAVITY] && read_triple(args->value[APP_GRAVITY], gravity) != 0) {
        app_fail(command,
                 "--gravity '%s' is not three numbers with commas; write for example --gravity "
                 "0,0,-9.81",
                 args->value[APP_GRAVITY]);
        return NULL;
    }
    if (app_refuse_others(command, spec, APP_MODEL) != APP_OK) return NULL;
    soa_status status = soa_model_open(spec, &options, &model, constraints, &report);
    if (status != SOA_OK) {
        app_fail_file(command, spec, report.text[0] ? report.text : soa_status_text(status));
        return NULL;
    }
    if (args->value[APP_GRAVITY]) {
        status = soa_model_with_gravity(model, gravity, &copy);
        soa_model_free(model);
        model = copy;
        if (status != SOA_OK) {
            app_fail(command, "--gravity %s: %s", args->value[APP_GRAVITY],
                     soa_status_text(status));
            soa_constraint_list_free(constraints);
            return NULL;
        }
    }
    const unsigned losses = (args->value[APP_NO_FRICTION] ? (unsigned)SOA_FRICTION : 0) |
                            (args->value[APP_NO_SPRINGS] ? (unsigned)SOA_SPRINGS : 0);
    if (!losses) return model;
    /* Cut joints are joints too. */
    for (int i = 0; i < constraints->count; ++i) {
        soa_constraint_def *cut = constraints->defs + i;
        if (losses & SOA_FRICTION) cut->damping = cut->friction = 0;
        if (losses & SOA_SPRINGS) cut->stiffness = cut->rest = 0;
    }
    status = soa_model_without_losses(model, losses, &copy);
    soa_model_free(model);
    if (status == SOA_OK) return copy;
    app_fail(command, "%s", soa_status_text(status));
    soa_constraint_list_free(constraints);
    return NULL;
}

int app_refuse_one_input(const app_command *command, const char *model, const char *in) {
    struct stat x, y;
    if ((in && strcmp(in, "-") != 0) || app_is_stock_model(model)) return APP_OK;
    if (stat(model, &x) != 0 || fstat(0, &y) != 0) return APP_OK;
    if (x.st_dev != y.st_dev || x.st_ino != y.st_ino) return APP_OK;
    return app_fail(command,
                    "the model comes through standard input, so the states cannot; give --in FILE");
}

size_t app_batch_size(const soa_model *model) {
#ifdef SOA_HAVE_BATCH
    return soa_batch_size(model);
#else
    (void)model;
    return 0;
#endif
}

int app_finish(const app_command *command, app_out *out, int code) {
    if (out_flush(out) != 0)
        code = app_fail(command, "cannot write the output: %s", strerror(out->error));
    out_free(out);
    return code;
}
