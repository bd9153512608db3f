/* target.h  the file a command writes, by the one writer of files (src/base/new_file.h): an older file stays until the
 * new one is complete. */
#ifndef SOA_APP_TARGET_H
#define SOA_APP_TARGET_H

#include "../../src/base/new_file.h"

typedef struct app_target {
    soai_new_file file;
    int fd;
} app_target;

/* path NULL or "-": standard output.  0, or -1 with errno. */
int app_target_open(app_target *t, const char *path);
/* Ends the output; the file takes its name only if all was well.  0, or -1 with errno. */
int app_target_close(app_target *t, int good);

/* From now on a signal that ends the program removes its temporary files first; signals that were ignored stay so. */
void app_remove_temporaries(void);

#endif
