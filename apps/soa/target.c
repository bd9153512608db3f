/* target.c  the output file of a command (target.h). */
#include "target.h"

#include <errno.h>
#include <signal.h>

static void end_by(int number) {
    soai_new_files_remove();
    signal(number, SIG_DFL);
    raise(number);
}

void app_remove_temporaries(void) {
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i)
        if (signal(signals[i], end_by) == SIG_IGN) signal(signals[i], SIG_IGN);
}

int app_target_open(app_target *t, const char *path) {
    const soa_status s = soai_new_file_open(&t->file, path ? path : "-", 0, NULL);
    t->fd = t->file.fd;
    if (s == SOA_OK) return 0;
    errno = t->file.error;
    return -1;
}

int app_target_close(app_target *t, int good) {
    const int lost = good && soai_new_file_commit(&t->file, NULL) != SOA_OK;
    const int reason = t->file.error;
    soai_new_file_end(&t->file);
    t->fd = -1;
    if (lost) errno = reason;
    return lost ? -1 : 0;
}
