/* app.h  what the commands of the soa program share: the command table, options, messages.
 *
 * A command is one row: name, arguments, options, texts and a function. The parser, `soa help` and
 * the shell completions all read the same rows. Exit codes: 0 success, 1 some lines or findings are
 * bad, 2 wrong usage or model. */
#ifndef SOA_APP_H
#define SOA_APP_H

#include "nearest.h"
#include "../output/out.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <stdint.h>

enum { APP_OK = 0, APP_SOME_BAD = 1, APP_FAILED = 2, APP_GO_ON = -1 };

typedef struct app_option {
    const char *name;  /* "--out"; NULL ends the list */
    const char *brief; /* "-o", or NULL */
    const char *value; /* placeholder of its value (FILE, LIST, ...); NULL for a flag */
    const char *text;
} app_option;

typedef struct app_command {
    const char *name;
    const char *words; /* positional arguments as shown, e.g. "MODEL" */
    int least, most;   /* number of positional arguments */
    const char *summary;
    const char *text;                  /* description, one or two paragraphs; may be NULL */
    const app_option *options;         /* NULL: the command reads its arguments itself */
    const char *examples;              /* may be NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} app_command;

extern const app_command app_info, app_check, app_compute, app_ik, app_op, app_identity, app_gen,
    app_save, app_models, app_sim, app_sweep, app_export, app_view, app_report, app_plot, app_drop,
    app_demo, app_completion, app_version, app_help;
/* All commands in the order of the help; ends with NULL. */
extern const app_command *const app_commands[];

/* Options for opening a model; the first rows of every command that has a MODEL and uses them. */
#define APP_MODEL_OPTIONS                                                                     \
    {"--floating", NULL, NULL, "put a free joint named 'root' under the root link"},          \
        {"--ideal", NULL, NULL,                                                               \
         "no friction, springs or rotor inertia; mimic joints independent"},                  \
        {"--no-friction", NULL, NULL, "no friction in the joints; springs and rotors stay"},  \
        {"--no-springs", NULL, NULL, "no springs in the joints; friction and rotors stay"}, { \
        "--gravity", NULL, "X,Y,Z", "gravity in m/s^2, instead of the model's own"            \
    }
enum {
    APP_FLOATING,
    APP_IDEAL,
    APP_NO_FRICTION,
    APP_NO_SPRINGS,
    APP_GRAVITY,
    APP_MODEL_OPTION_COUNT
};
#define APP_OPTION_END \
    { NULL, NULL, NULL, NULL }

#define APP_OPTIONS_MAX 20
#define APP_WORDS_MAX 64
typedef struct app_args {
    /* One per row of the option table; "" for a flag that was given. */
    const char *value[APP_OPTIONS_MAX];
    const char *word[APP_WORDS_MAX];
    int words;
} app_args;

/* Parses argv with the command's rows. Returns APP_GO_ON, or the exit code after --help or a
 * mistake (already reported). */
int app_parse(const app_command *command, int argc, char **argv, app_args *args);

/* True if an output of this name is standard output. */
int app_is_stdout(const char *path);
/* True if two names mean the same file, existing or not. "-" is not a file. */
int app_same_file(const char *a, const char *b);

/* Prints "soa COMMAND: text" on standard error. Returns APP_FAILED. */
int app_fail(const app_command *command, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The same with a text of several lines, such as an expression with its mistake marked. */
int app_fail_lines(const app_command *command, const char *text);

/* Prints "soa COMMAND: path: text", without the path if the text already contains it. */
int app_fail_file(const app_command *command, const char *path, const char *text);

/* Reads a finite number, or a whole number, given for option `name`. Returns APP_OK, or the exit
 * code after reporting what is expected. */
int app_read_number(const app_command *command, const char *name, const char *text, double least,
                    double most, double *value);
int app_read_whole(const app_command *command, const char *name, const char *text, uint64_t least,
                   uint64_t most, uint64_t *value);

/* Kind of a file or name; `what` describes it in words ("a saved model") unless it is
 * APP_UNKNOWN. */
typedef enum app_kind { APP_UNKNOWN, APP_JOURNAL, APP_SCENARIO, APP_MODEL, APP_PAGE } app_kind;
app_kind app_kind_of(const char *spec, const char **what);
/* Returns APP_OK if the kind is the wanted one or unknown (its reader will report more). Otherwise
 * reports what it is and which command accepts it. */
int app_refuse_others(const app_command *command, const char *spec, app_kind wanted);

/* True if a name, up to its colon, is that of a shipped model. */
int app_is_stock_model(const char *spec);
/* Reports why a scenario cannot be opened, and lists the shipped ones if no name is similar.
 * Returns APP_FAILED. */
int app_fail_scenario(const app_command *command, const char *text);

/* Opens the model args->word[0] with the model options. Returns NULL after reporting a failure.
 * app_open uses only the tree and says so on standard error if the model has constraints;
 * app_open_closed returns them. */
const soa_model *app_open(const app_command *command, const app_args *args);
const soa_model *app_open_closed(const app_command *command, const app_args *args,
                                 soa_constraint_list *constraints);
/* Refuses to read both the model and the states from standard input: APP_OK, or the exit code. */
int app_refuse_one_input(const app_command *command, const char *model, const char *in);
void app_say_left_out(const app_command *command, const char *model, int constraints);

/* Bytes of a work space for a batch of states; 0 if libsoa was built without batches. */
size_t app_batch_size(const soa_model *model);

/* Prints the tree with its cut joints, and WD89's binary tree. Returns -1 if there is no memory. */
int app_print_tree(app_out *out, const soa_model *model, const soa_constraint_list *constraints);
/* Prints the constraints as a table for people (nothing if there are none), and as a JSON list. */
void app_print_constraints(app_out *out, const soa_model *model,
                           const soa_constraint_list *constraints);
void app_put_constraints(app_out *out, const soa_model *model,
                         const soa_constraint_list *constraints);

/* Ends a command that wrote to standard output through `out`: flushes, frees, reports write
 * errors. */
int app_finish(const app_command *command, app_out *out, int code);

/* Prints the help of one command, or of all. */
void app_print_help(app_out *out, const app_command *command);

#endif
