/* export.h  shared by the CSV and HDF5 exports: which samples and which signals are written. */
#ifndef SOAI_EXPORT_H
#define SOAI_EXPORT_H
#include "../base/new_file.h"
#include "soa/journal.h"

typedef struct soai_export {
    soa_log *log;
    soa_log_info info;
    soa_export_options options;
    int64_t first, count; /* samples in the chosen interval */
    const int *signals;   /* NULL: all */
    int signal_count;     /* number of signals, also when `signals` is NULL */
    int64_t rows;         /* number of samples read at a time */
    double *t, *values;   /* [rows], [rows][signals] */
    soai_new_file file;
} soai_export;

/* Checks the arguments, finds the samples and opens the file. Call soai_export_end afterwards, even
 * if this fails. */
soa_status soai_export_begin(soai_export *e, soa_log *log, const char *path,
                             const soa_export_options *options, int64_t most_rows,
                             soa_report *report);
/* Reads the next samples, starting with e->first + done, into t and values. *got is 0 when all are
 * read. */
soa_status soai_export_read(soai_export *e, int64_t done, int64_t *got, soa_report *report);
void soai_export_end(soai_export *e);
/* True if the event lies in the chosen interval. */
static inline int soai_export_wants(const soai_export *e, const soa_log_event_info *event) {
    return event->t >= e->options.from && event->t <= e->options.to;
}
static inline const soa_signal *soai_export_signal(const soai_export *e, int i) {
    return e->info.signals + (e->signals ? e->signals[i] : i);
}
#endif
