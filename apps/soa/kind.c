/* kind.c  finds what a file or a name means. A command that gets the wrong kind can then say what
 * it is and which command accepts it. */
#include "app.h"

#include "soa/scenario.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static int ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}
int app_is_stock_model(const char *spec) {
    const char *name;
    for (int i = 0; (name = soa_stock_model_name(i)); ++i) {
        const size_t stem = strcspn(name, ":");
        if (strcspn(spec, ":") == stem && !strncmp(name, spec, stem)) return 1;
    }
    return 0;
}

int app_fail_scenario(const app_command *command, const char *text) {
    char names[512] = "";
    const char *name;
    size_t at = 0;
    if (strstr(text, "nor a shipped scenario") && !strstr(text, "did you mean"))
        for (int i = 0; at < sizeof names && (name = soa_stock_scenario_name(i)); ++i)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                                   i ? ", " : "; shipped are ", name);
    return app_fail(command, "%s%s", text, names);
}

app_kind app_kind_of(const char *spec, const char **what) {
    static const char journal[] = "\x89SOAJNL\n", saved[] = "soamodel";
    struct stat about;
    if (stat(spec, &about)) {
        if (soa_stock_scenario_text(spec)) {
            *what = "a shipped scenario";
            return APP_SCENARIO;
        }
        if (app_is_stock_model(spec)) {
            *what = "a shipped model";
            return APP_MODEL;
        }
        return APP_UNKNOWN;
    }
    /* A pipe can be read only once. */
    FILE *file = S_ISREG(about.st_mode) ? fopen(spec, "rb") : NULL;
    char head[64] = "";
    if (!file) return APP_UNKNOWN;
    const size_t length = fread(head, 1, sizeof head - 1, file);
    head[length] = 0;
    fclose(file);
    if (!memcmp(head, journal, 8)) {
        *what = "the record of a run";
        return APP_JOURNAL;
    }
    if (!memcmp(head, saved, 8)) {
        *what = "a saved model";
        return APP_MODEL;
    }
    const char *text = head + (memcmp(head, "\xef\xbb\xbf", 3) ? 0 : 3);
    text += strspn(text, " \t\r\n");
    if (!strncasecmp(text, "<!doctype html", 14) || !strncasecmp(text, "<html", 5)) {
        *what = "a page of HTML";
        return APP_PAGE;
    }
    if (soa_urdf_begins_as_xml(head, length)) {
        *what = "a model (URDF)";
        return APP_MODEL;
    }
    if (ends_with(spec, ".yaml") || ends_with(spec, ".yml")) {
        *what = "a scenario";
        return APP_SCENARIO;
    }
    return APP_UNKNOWN;
}

int app_refuse_others(const app_command *command, const char *spec, app_kind wanted) {
    static const char *const takers[] = {
        [APP_JOURNAL] =
            "soa view, report, plot and export take it, and soa sim --resume goes on with it",
        [APP_SCENARIO] = "soa sim, sweep and view take it",
        [APP_MODEL] = "soa info, compute, drop, view and others take it",
        [APP_PAGE] = "a browser opens it",
    };
    /* A shipped model has precedence over other things of this name. */
    if (wanted == APP_MODEL && app_is_stock_model(spec)) return APP_OK;
    const char *what = "";
    const app_kind kind = app_kind_of(spec, &what);
    if (kind == APP_UNKNOWN || kind == wanted) return APP_OK;
    if (kind == APP_SCENARIO && wanted == APP_JOURNAL)
        return app_fail(
            command,
            "%s is %s, not a record; %s, and soa sim %s -o run.soalog makes a record of it", spec,
            what, takers[kind], spec);
    return app_fail(command, "%s is %s; %s", spec, what, takers[kind]);
}
