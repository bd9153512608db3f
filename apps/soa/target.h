/* target.h  the output file of a command, by the common file writer (src/base/new_file.h): an older
 * file is kept until the new one is complete. */
#ifndef SOA_APP_TARGET_H
#define SOA_APP_TARGET_H

#include "../../src/base/new_file.h"

typedef struct app_target {
    soai_new_file file;
    int fd;
} app_target;

/* path NULL or "-": standard output. Returns 0, or -1 with errno. */
int app_target_open(app_target *t, const char *path);
/* Ends the output. The file gets its name only if `good` and nothing failed. Returns 0, or -1 with
 * errno. */
int app_target_close(app_target *t, int good);

/* From now on a signal that ends the program first removes its temporary files. Ignored signals
 * remain ignored. */
void app_remove_temporaries(void);

#endif
