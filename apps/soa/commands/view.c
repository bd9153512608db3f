/* view.c  soa view: shows a run, a record or a machine in the browser. */
#include "../../view/page.h"
#include "../../view/server.h"
#include "../sim_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPEN,
    RECORD,
    UNTIL,
    SPEED,
    PAUSED,
    SEED,
    CASE,
    FLOATING,
    HISTORY,
    PORT,
    LISTEN,
    TOKEN_FILE,
    ONCE
};

static const app_option options[] = {
    {"--open", NULL, NULL, "open the page in the browser (xdg-open)"},
    {"--record", "-o", "LOG",
     "keep the record of a live run in this journal, a new file; a reset begins LOG-2"},
    {"--until", NULL, "T", "a live run ends at this time, s, instead of the scenario's duration"},
    {"--speed", NULL, "X", "times real time, 0: as fast as it goes; default 1"},
    {"--paused", NULL, NULL, "a live run waits until it is started in the page; models always do"},
    {"--seed", NULL, "N", "another seed for noise and variations"},
    {"--case", NULL, "N", "case N of the scenario's sweep"},
    {"--floating", NULL, NULL, "a MODEL's root link floats"},
    {"--history", NULL, "MB",
     "without --record, pause a live run when its record has this size; default 1000"},
    {"--port", NULL, "N", "listen on this port; default: one that is free"},
    {"--listen", NULL, "ADDRESS",
     "listen on this IPv4 address instead of 127.0.0.1; without the token no page is served"},
    {"--token-file", NULL, "FILE",
     "take the token from the first line of this file instead of drawing one"},
    {"--once", NULL, NULL, "end when the last page has been closed"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_view = {
    .name = "view",
    .words = "SCENARIO|LOG|MODEL",
    .least = 1,
    .most = 1,
    .summary = "Shows a run, a record or a machine in the browser",
    .text = "Prints the address of a page with a 3-D view and plots, and serves it until Ctrl-C.  "
            "A scenario is run live: "
            "pause,\n"
            "step, speed, reset, sliders, pulling on bodies; it begins when the page is opened.  A "
            "journal (soa sim -o) "
            "is played\n"
            "back, also one that is still being written.  A machine alone begins paused.  Only "
            "this computer can reach "
            "the page,\n"
            "unless --listen says otherwise.  The address holds a token of this run: a page "
            "without it can watch and\n"
            "change nothing.  While no page is open a live run waits.  docs/view.md.\n",
    .options = options,
    .examples = "  soa view grapple --open\n"
                "  soa view grapple.soalog\n"
                "  soa view puma560\n"
                "  soa view stack --speed 0.2 --record stack.soalog\n",
    .run = run,
};

#ifndef SOA_HAVE_VIEW
static int run(int argc, char **argv) {
    app_args args;
    const int code = app_parse(&app_view, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    return app_fail(&app_view,
                    "this program was built without libwebsockets and cannot serve pages");
}
#else
/* --- what is shown ---------------------------------------------------------------------------- */
typedef struct shown {
    view_session_options how;
    soa_scenario scenario, original;
    view_machine machine;
    int is_machine, is_scenario;
} shown;

static int ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}
static int unknown_name(const char *spec) {
    char hint[APP_HINT];
    const char *name;
    app_nearest search = app_nearest_to(spec);
    for (int i = 0; (name = soa_stock_scenario_name(i)); ++i)
        app_nearest_try(&search, name);
    for (int i = 0; (name = soa_stock_model_name(i)); ++i)
        app_nearest_try(&search, name);
    return app_fail(&app_view, "'%s' is neither a file, a shipped scenario nor a shipped model%s",
                    spec,
                    search.best ? app_nearest_hint(&search, hint) : " (soa models lists them)");
}
/* A file is taken for what it contains, else by its extension. A name is a shipped scenario, else a
 * shipped model. */
static int open_shown(const app_args *args, shown *what) {
    const char *spec = args->word[0];
    soa_report report = {.body = -1};
    struct stat about;
    const int is_file = !stat(spec, &about);
    if (is_file && S_ISDIR(about.st_mode)) return app_fail(&app_view, "%s is a folder", spec);
    const char *kind_text;
    const app_kind kind = app_kind_of(spec, &kind_text);
    const int is_log = is_file && (ends_with(spec, ".soalog") || kind == APP_JOURNAL);
    if (args->value[FLOATING] && (is_log || kind == APP_SCENARIO))
        return app_fail(&app_view, "%s is %s: --floating is for a MODEL alone", spec,
                        is_log ? "a record" : kind_text);
    if (is_log) {
        what->how.log = spec;
        return APP_OK;
    }
    if (kind == APP_SCENARIO) {
        const int code = app_open_scenario(&app_view, spec, args->value[SEED], args->value[CASE],
                                           &what->scenario, &what->original);
        what->is_scenario = code == APP_OK;
        what->how.kind = "scenario";
        what->how.scenario = &what->scenario;
        return code;
    }
    if (args->value[SEED] || args->value[CASE])
        return app_fail(&app_view, "%s is no scenario: --seed and --case are for scenarios", spec);
    if (app_refuse_others(&app_view, spec, APP_MODEL) != APP_OK) return APP_FAILED;
    if (is_file && kind == APP_UNKNOWN && about.st_size > 0 && !ends_with(spec, ".soam"))
        return app_fail(
            &app_view,
            "%s is neither a record (.soalog), a scenario (.yaml) nor a model (URDF, .soam)", spec);
    if (!is_file && kind == APP_UNKNOWN && !strpbrk(spec, "/.")) return unknown_name(spec);
    if (view_machine_open(spec, args->value[FLOATING] != NULL, &what->machine, &report))
        return app_fail_file(&app_view, spec, report.text);
    what->is_machine = 1;
    what->how.kind = "model";
    what->how.scenario = &what->machine.scenario;
    const char *slash = strrchr(spec, '/');
    what->how.spec = spec;
    what->how.title = slash && slash[1] ? slash + 1 : spec;
    return APP_OK;
}
static void close_shown(shown *what) {
    if (what->is_scenario) {
        soa_scenario_free(&what->scenario);
        soa_scenario_free(&what->original);
    }
    if (what->is_machine) view_machine_free(&what->machine);
}

/* --- the browser ------------------------------------------------------------------------------ */
extern char **environ;
static void open_browser(const char *address) {
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY") && !getenv("BROWSER")) {
        app_note("soa view: there is no screen here; open the address above in a browser on this "
                 "machine\n");
        return;
    }
    char *const words[] = {(char *)"xdg-open", (char *)(size_t)address, NULL};
    pid_t child;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_adddup2(&quiet, 1, 2);
    if (posix_spawnp(&child, words[0], &quiet, NULL, words, environ))
        app_note("soa view: there is no xdg-open here; open the address above in a browser\n");
    posix_spawn_file_actions_destroy(&quiet);
}

/* --- the command ------------------------------------------------------------------------------ */
enum { TOKEN_BYTES = 16, TOKEN_ROOM = 129 };
static const double HISTORY_DEFAULT = 1000, HISTORY_LEAST = 0.1, HISTORY_MOST = 1e6; /* MB */
static int read_token(const char *path, char token[TOKEN_ROOM]) {
    FILE *file = fopen(path, "r");
    if (!file) return app_fail(&app_view, "%s: %s", path, strerror(errno));
    char *line = fgets(token, TOKEN_ROOM, file);
    fclose(file);
    token[line ? strcspn(token, "\r\n") : 0] = 0;
    for (const char *c = token; *c; ++c)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *c))
            return app_fail(&app_view, "%s: a token is made of letters, digits, - and _", path);
    if (strlen(token) < 16)
        return app_fail(&app_view, "%s: a token has 16 to 128 characters in the first line", path);
    return APP_OK;
}

static int serve(const app_args *args, shown *what, view_server_options *how) {
    soa_report report = {.body = -1};
    view_server *server = NULL;
    view_session *session = NULL;
    app_catch_signals();
    if (view_server_open(how, &server, &report)) return app_fail(&app_view, "%s", report.text);
    what->how.wake = view_server_wake;
    what->how.wake_user = server;
    int code = APP_OK;
    if (view_session_open(&what->how, &session, &report))
        code = app_fail(&app_view, "%s", report.text);
    else {
        const char *why = view_session_why(session);
        if (why) app_fail(&app_view, "note: plots only.  %s", why);
        const char *note;
        for (int i = 0; (note = view_scene_note(view_session_scene(session), i)); ++i)
            app_note("soa view: note: %s\n", note);
        app_print("%s\n", view_server_address(server));
        if (app_print_error())
            code = app_fail(&app_view, "standard output: %s", strerror(app_print_error()));
        if (isatty(2)) app_note("open this address in a browser; Ctrl-C ends\n");
        if (!view_page_size) app_note("soa view: " VIEW_NO_PAGE "; only the socket answers\n");
        if (args->value[OPEN]) open_browser(view_server_address(server));
        if (code == APP_OK && view_server_run(server, session, &report))
            code = app_fail(&app_view, "%s", report.text);
        if (view_session_close(session, &report)) code = app_fail(&app_view, "%s", report.text);
    }
    view_server_close(server);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    } /* the browser's starter */
    return code;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_view, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    char token[TOKEN_ROOM] = "";
    double until = 0, speed = 1, port = 0;
    double history = HISTORY_DEFAULT;
    struct in_addr address;
    if (args.value[UNTIL] && (code = app_read_number(&app_view, "--until", args.value[UNTIL], 1e-9,
                                                     1e9, &until)) != APP_OK)
        return code;
    if (args.value[SPEED] &&
        (code = app_read_number(&app_view, "--speed", args.value[SPEED], 0, 1e6, &speed)) != APP_OK)
        return code;
    if (args.value[HISTORY] &&
        (code = app_read_number(&app_view, "--history", args.value[HISTORY], HISTORY_LEAST,
                                HISTORY_MOST, &history)) != APP_OK)
        return code;
    if (args.value[PORT] &&
        (code = app_read_number(&app_view, "--port", args.value[PORT], 1, 65535, &port)) != APP_OK)
        return code;
    if (port != floor(port))
        return app_fail(&app_view, "--port wants a whole number, not '%s'", args.value[PORT]);
    if (args.value[LISTEN] && inet_pton(AF_INET, args.value[LISTEN], &address) != 1)
        return app_fail(&app_view,
                        "--listen wants an IPv4 address such as 192.168.0.7 or 0.0.0.0, not '%s'",
                        args.value[LISTEN]);
    if (args.value[TOKEN_FILE] && (code = read_token(args.value[TOKEN_FILE], token)) != APP_OK)
        return code;
    if (!args.value[TOKEN_FILE] && view_random_token(token, TOKEN_BYTES))
        return app_fail(&app_view, "the system gives no random bytes for a token");
    shown what = {
        .how = {
            .record = args.value[RECORD], .until = until, .speed = speed, .room = 1e6 * history}};
    if ((code = open_shown(&args, &what)) == APP_OK) {
        if (what.how.log && (args.value[RECORD] || args.value[UNTIL] || args.value[SEED] ||
                             args.value[CASE] || args.value[HISTORY]))
            code = app_fail(
                &app_view,
                "%s is a record: --record, --history, --until, --seed and --case are for live runs",
                args.word[0]);
        if (code == APP_OK && args.value[RECORD] && args.value[HISTORY])
            code = app_fail(&app_view,
                            "--history is for runs without --record, whose record has no bound");
        struct stat about;
        if (code == APP_OK && args.value[RECORD] && !lstat(args.value[RECORD], &about))
            code = app_fail(&app_view, "%s exists; remove it or name another", args.value[RECORD]);
        view_server_options how = {.address = args.value[LISTEN],
                                   .port = (int)port,
                                   .token = token,
                                   .closed = args.value[LISTEN] || args.value[TOKEN_FILE],
                                   .once = args.value[ONCE] != NULL,
                                   .begin = what.is_scenario && !args.value[PAUSED],
                                   .stop = app_interrupted};
        if (code == APP_OK) code = serve(&args, &what, &how);
    }
    close_shown(&what);
    return code;
}
#endif
