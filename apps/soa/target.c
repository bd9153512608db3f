/* target.c  files that appear under their name only when they are whole. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *volatile temporary; /* to be removed if a signal ends us */

static void remove_temporary(int number) {
    if (temporary) unlink(temporary);
    signal(number, SIG_DFL);
    raise(number);
}

static void forget_temporary(void) {
    char *name = temporary;
    temporary = NULL;
    free(name);
}

static int open_in_place(app_target *t, const char *path) {
    t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return t->fd < 0 ? -1 : 0;
}

static int give_up(app_target *t, int reason) {
    free(t->path);
    *t = (app_target){NULL, -1};
    errno = reason;
    return -1;
}

int app_target_open(app_target *t, const char *path) {
    struct stat old;
    *t = (app_target){NULL, STDOUT_FILENO};
    if (!path || strcmp(path, "-") == 0) return 0;
    int exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (exists && !S_ISREG(old.st_mode)) return open_in_place(t, path);
    t->path = exists ? realpath(path, NULL) : strdup(path); /* a link stays a link */
    size_t room = t->path ? strlen(t->path) + sizeof ".XXXXXX" : 0;
    temporary = t->path ? malloc(room) : NULL;
    if (!temporary) return give_up(t, errno);
    snprintf(temporary, room, "%s.XXXXXX", t->path);
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i)
        if (signal(signals[i], remove_temporary) == SIG_IGN) signal(signals[i], SIG_IGN);
    mode_t mask = umask(0);
    umask(mask);
    t->fd = mkstemp(temporary);
    if (t->fd >= 0 && fchmod(t->fd, exists ? old.st_mode & 07777 : 0666 & ~mask) == 0) return 0;
    const int reason = errno;
    if (t->fd >= 0) close(t->fd), unlink(temporary);
    forget_temporary();
    return give_up(t, reason);
}

int app_target_close(app_target *t, int good) {
    int why = 0;
    if (good && temporary && fsync(t->fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS) why = errno;
    if (t->fd >= 0 && t->fd != STDOUT_FILENO && close(t->fd) && !why) why = errno;
    if (temporary) {
        if (good && !why && rename(temporary, t->path)) why = errno;
        if (!good || why) unlink(temporary);
        forget_temporary();
    }
    free(t->path);
    t->path = NULL;
    if (why) errno = why;
    return why ? -1 : 0;
}
