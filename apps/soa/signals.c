/* signals.c  shared by commands that read a log: signals by name, times, and files that appear
 * complete. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "signals.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int *app_pick_signals(const app_command *command, const char *what, const soa_log_info *info,
                      const char *list, int *count) {
    const size_t n = (size_t)info->signal_count;
    int *picked = malloc((n + 1) * sizeof *picked);
    char *taken = calloc(n + 1, 1), *names = malloc(strlen(list) + 1);
    int fine = picked && taken && names;
    if (!fine)
        app_fail(command, "out of memory");
    else
        strcpy(names, list);
    *count = 0;
    for (char *name = names, *next; fine && name; name = next) {
        next = strchr(name, ',');
        if (next) *next++ = 0;
        int found = 0;
        app_nearest search = app_nearest_to(name);
        for (int i = 0; i < info->signal_count; ++i) {
            app_nearest_try(&search, info->signals[i].name);
            if (strcmp(name, info->signals[i].name) &&
                fnmatch(name, info->signals[i].name, FNM_NOESCAPE))
                continue;
            found = 1;
            if (!taken[i]) {
                taken[i] = 1;
                picked[(*count)++] = i;
            }
        }
        char hint[APP_HINT];
        if (!found) {
            app_fail(command, "%s%sno signal '%s'%s", what, *what ? ": " : "", name,
                     search.best ? app_nearest_hint(&search, hint)
                                 : " (soa export LOG --list names them)");
            fine = 0;
        }
    }
    free(taken);
    free(names);
    if (!fine) {
        free(picked);
        picked = NULL;
    }
    return picked;
}

int app_read_time(const app_command *command, const char *name, const char *text, double *t) {
    char *end;
    if (!text) return 0;
    *t = strtod(text, &end);
    if (!*text || *end || !isfinite(*t))
        return app_fail(command, "%s '%s': a time in seconds is wanted", name, text);
    return 0;
}

int app_write_file(const app_command *command, const char *path, const void *data, size_t size) {
    app_target file;
    int error = app_target_open(&file, path) ? errno : 0;
    if (!error) {
        error = soai_write_all(file.fd, data, size);
        if (app_target_close(&file, !error) && !error) error = errno;
    }
    if (!error) return APP_OK;
    if (error == EISDIR) return app_fail(command, "%s is a directory", path);
    return app_fail(command, "%s cannot be written: %s",
                    strcmp(path, "-") ? path : "standard output", strerror(error));
}

char *app_with_ending(const char *path, const char *ending) {
    char *name = malloc(strlen(path) + strlen(ending) + 1);
    if (!name) return NULL;
    strcpy(name, path);
    char *point = strrchr(name, '.'), *slash = strrchr(name, '/');
    if (point && (slash ? point > slash + 1 : point > name) && strcmp(point, ending)) *point = 0;
    return strcat(name, ending);
}
