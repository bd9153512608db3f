/* signals.h  shared by commands that read a log: signals by name, times, and files that appear
 * complete. */
#ifndef SOA_SIGNALS_H
#define SOA_SIGNALS_H
#include "app.h"
#include "soa/journal.h"

/* Numbers of the signals in a comma-separated list, where * matches any text and ? any letter; each
 * once, in the order of the list. Returns NULL after reporting a mistake; `what` is the option or
 * "". */
int *app_pick_signals(const app_command *command, const char *what, const soa_log_info *info,
                      const char *list, int *count);
/* Reads a time in seconds into *t; text NULL leaves it unchanged. Returns 0, or APP_FAILED after
 * reporting a mistake. */
int app_read_time(const app_command *command, const char *name, const char *text, double *t);

/* Writes a file that gets its name when it is complete; an older file is kept if anything fails.
 * Other than regular files are written directly; "-" is standard output. Returns APP_OK, or
 * APP_FAILED after reporting. */
int app_write_file(const app_command *command, const char *path, const void *data, size_t size);
/* Path of a log with another extension. The caller frees it. */
char *app_with_ending(const char *path, const char *ending);
#endif
