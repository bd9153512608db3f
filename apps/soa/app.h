/* app.h  what the commands of the soa program share: the command table, options, messages.
 *
 * A command is one row: name, arguments, options, texts and a function.  The parser, `soa help`, and the shell
 * completions all read the same rows.  Exit codes: 0 fine, 1 some lines or findings bad, 2 usage or model.          */
#ifndef SOA_APP_H
#define SOA_APP_H

#include "nearest.h"
#include "../output/out.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <stdint.h>

enum { APP_OK = 0, APP_SOME_BAD = 1, APP_FAILED = 2, APP_GO_ON = -1 };

typedef struct app_option {
    const char *name;  /* "--out"; NULL ends the list                         */
    const char *brief; /* "-o", or NULL                                       */
    const char *value; /* what follows it (FILE, LIST, ...); NULL for a flag  */
    const char *text;
} app_option;

typedef struct app_command {
    const char *name;
    const char *words; /* positional arguments as shown, e.g. "MODEL" */
    int least, most;   /* how many of them                            */
    const char *summary;
    const char *text;                  /* what it does, a paragraph or two; may be NULL        */
    const app_option *options;         /* may be NULL: the command reads its arguments itself  */
    const char *examples;              /* may be NULL                                          */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name                  */
} app_command;

extern const app_command app_info, app_check, app_compute, app_ik, app_op, app_identity, app_gen, app_save, app_models,
    app_sim, app_sweep, app_export, app_view, app_report, app_plot, app_drop, app_demo, app_completion, app_version,
    app_help;
/* All commands, ended by NULL, in the order of the help. */
extern const app_command *const app_commands[];

/* The options by which a model is opened; the first rows of every command that takes a MODEL and uses them. */
#define APP_MODEL_OPTIONS                                                                           \
    {"--floating", NULL, NULL, "put a free joint named 'root' under the root link"},                \
        {"--ideal", NULL, NULL, "no friction, springs or rotor inertia; mimic joints independent"}, \
        {"--no-friction", NULL, NULL, "no friction in the joints; springs and rotors stay"},        \
        {"--no-springs", NULL, NULL, "no springs in the joints; friction and rotors stay"}, {       \
        "--gravity", NULL, "X,Y,Z", "gravity in m/s^2, instead of the model's own"                  \
    }
enum { APP_FLOATING, APP_IDEAL, APP_NO_FRICTION, APP_NO_SPRINGS, APP_GRAVITY, APP_MODEL_OPTION_COUNT };
#define APP_OPTION_END \
    { NULL, NULL, NULL, NULL }

#define APP_OPTIONS_MAX 20
#define APP_WORDS_MAX 64
typedef struct app_args {
    const char *value[APP_OPTIONS_MAX]; /* by row of the option table; a flag that was given holds "" */
    const char *word[APP_WORDS_MAX];
    int words;
} app_args;

/* Reads argv by the command's rows.  APP_GO_ON, or the exit code after --help or a mistake (already explained). */
int app_parse(const app_command *command, int argc, char **argv, app_args *args);

/* Whether an output of that name goes to standard output. */
int app_is_stdout(const char *path);
/* Whether two names are one file, there already or not; "-" is none. */
int app_same_file(const char *a, const char *b);

/* "soa COMMAND: text" on standard error; returns APP_FAILED. */
int app_fail(const app_command *command, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The same with a text of several lines, such as an expression with its mistake marked. */
int app_fail_lines(const app_command *command, const char *text);

/* The same, "soa COMMAND: path: text"; the path is left out where the text names it already. */
int app_fail_file(const app_command *command, const char *path, const char *text);

/* A finite number, or a whole one, given for option `name`.  APP_OK, or the exit code after saying what is wanted. */
int app_read_number(const app_command *command, const char *name, const char *text, double least, double most,
                    double *value);
int app_read_whole(const app_command *command, const char *name, const char *text, uint64_t least, uint64_t most,
                   uint64_t *value);

/* What a file holds, or a name stands for; `what` says it in words ("a saved model") unless it is APP_UNKNOWN. */
typedef enum app_kind { APP_UNKNOWN, APP_JOURNAL, APP_SCENARIO, APP_MODEL, APP_PAGE } app_kind;
app_kind app_kind_of(const char *spec, const char **what);
/* APP_OK if that is what is wanted, or unknown (its reader will say more); else says what it is and which command takes it. */
int app_refuse_others(const app_command *command, const char *spec, app_kind wanted);

/* Whether a name, up to its colon, is a shipped model's. */
int app_is_stock_model(const char *spec);
/* Why a scenario cannot be opened; the shipped ones are named where nothing is near.  Returns APP_FAILED. */
int app_fail_scenario(const app_command *command, const char *text);

/* Opens what args->word[0] names, with the model options; NULL after explaining why not.  app_open takes the tree alone
 * and says so on standard error where the model brings constraints; app_open_closed hands them over. */
const soa_model *app_open(const app_command *command, const app_args *args);
const soa_model *app_open_closed(const app_command *command, const app_args *args, soa_constraint_list *constraints);
/* A model and the states that both come through standard input: APP_OK, or the exit code. */
int app_refuse_one_input(const app_command *command, const char *model, const char *in);
void app_say_left_out(const app_command *command, const char *model, int constraints);

/* Bytes of a work space for a batch of states; 0 where libsoa was built without batches. */
size_t app_batch_size(const soa_model *model);

/* The tree with its cut joints, and WD89's binary tree; -1 without memory. */
int app_print_tree(app_out *out, const soa_model *model, const soa_constraint_list *constraints);
/* The constraints as a table for people (nothing if there are none), and as a JSON list. */
void app_print_constraints(app_out *out, const soa_model *model, const soa_constraint_list *constraints);
void app_put_constraints(app_out *out, const soa_model *model, const soa_constraint_list *constraints);

/* Ends a command that wrote to standard output through `out`: flushes, frees, reports what failed to be written. */
int app_finish(const app_command *command, app_out *out, int code);

/* The help of one command, or of all. */
void app_print_help(app_out *out, const app_command *command);

#endif
