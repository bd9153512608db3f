/* signals.h  what commands that read a log share: signals by name, times, files written whole. */
#ifndef SOA_SIGNALS_H
#define SOA_SIGNALS_H
#include "app.h"
#include "soa/journal.h"

/* The numbers of the signals that a comma-separated list names, * and ? standing for any text and any letter; each once, in
 * the order of the list.  NULL after explaining; `what` is the option or "". */
int *app_pick_signals(const app_command *command, const char *what, const soa_log_info *info, const char *list,
                      int *count);
/* A time in seconds into *t; NULL leaves it.  0, or APP_FAILED after explaining. */
int app_read_time(const app_command *command, const char *name, const char *text, double *t);

/* A file that appears under its name when it is whole; an older one stays if anything fails.  What is no regular file is
 * written as it is, "-" is standard output.  APP_OK, or APP_FAILED after explaining. */
int app_write_file(const app_command *command, const char *path, const void *data, size_t size);
/* NAME of a log with another ending; to be freed. */
char *app_with_ending(const char *path, const char *ending);
#endif
