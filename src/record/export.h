/* export.h  what the writers of CSV and HDF5 share: which samples, which signals. */
#ifndef SOAI_EXPORT_H
#define SOAI_EXPORT_H
#include "../base/new_file.h"
#include "soa/journal.h"

typedef struct soai_export {
    soa_log *log;
    soa_log_info info;
    soa_export_options options;
    int64_t first, count; /* samples of the interval   */
    const int *signals;   /* NULL: all                 */
    int signal_count;     /* in any case               */
    int64_t rows;         /* samples read at a time    */
    double *t, *values;   /* [rows], [rows][signals]   */
    soai_new_file file;
} soai_export;

/* Checks the arguments, finds the samples, opens the file; soai_export_end in any case. */
soa_status soai_export_begin(soai_export *e, soa_log *log, const char *path, const soa_export_options *options,
                             int64_t most_rows, soa_report *report);
/* The next samples, from e->first + done on, into t and values; *got > 0 until all are read. */
soa_status soai_export_read(soai_export *e, int64_t done, int64_t *got, soa_report *report);
void soai_export_end(soai_export *e);
/* Is the event of the interval? */
static inline int soai_export_wants(const soai_export *e, const soa_log_event_info *event) {
    return event->t >= e->options.from && event->t <= e->options.to;
}
static inline const soa_signal *soai_export_signal(const soai_export *e, int i) {
    return e->info.signals + (e->signals ? e->signals[i] : i);
}
#endif
