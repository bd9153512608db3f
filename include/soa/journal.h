/* soa/journal.h  the record of a run: an append-only file that survives a crash of its writer.
 *
 * A journal contains the text of the scenario, a table of signals, samples (a time and one number
 * per signal), events, checkpoints (whatever the writer needs to continue) and, between them, a
 * tree of smallest and largest values.  Every record has its length and checksums.  The same calls
 * give the same bytes: no clock is read, and the file does not depend on when the buffer is
 * written.  Format and guarantees: docs/journal.md.
 *
 * Writing:  create (or reopen), then sample, event, checkpoint in the order of time, then close.
 * Only
 *           create and reopen allocate.  A failed write (disk full, I/O error) is final for this
 *           journal: every later call returns SOA_E_FILE and writes nothing; soa_journal_get_state
 *           says what happened and up to which time the data are safe.
 * Reading:  soa_log_*, also for a file that is being written (soa_log_refresh) or whose writer
 * was
 *           killed; whatever follows the last good record is ignored.  Hostile files give a status,
 *           never a crash or an unbounded allocation.
 * A soa_journal or soa_log belongs to one thread at a time. */
#ifndef SOA_JOURNAL_H
#define SOA_JOURNAL_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOA_JOURNAL_VERSION 1
/* The limits of a journal; more is refused. */
#define SOA_JOURNAL_MAX_SIGNALS 65536
#define SOA_JOURNAL_MAX_NAME 255   /* bytes of a signal's name, its unit, an event's kind */
#define SOA_JOURNAL_MAX_TEXT 65535 /* bytes of an event's text */
/* Bytes of a scenario's text or a checkpoint: nearly 1 GiB. */
#define SOA_JOURNAL_MAX_BLOB 0x3fff0000

/* A column of the record.  By convention the name is "group.name", e.g. "arm.q1".  The unit may be
 * "", or NULL when writing. */
typedef struct soa_signal {
    const char *name;
    const char *unit;
} soa_signal;

/* --- writing ---------------------------------------------------------------------------------- */
typedef struct soa_journal soa_journal;

/* Creates a journal.  An older file of that name is kept until something is recorded and written
 * (by a flush, a checkpoint, a full buffer, the end) and the new file is on disk.  If there is no
 * older file, the new one exists at once.  SOA_E_FILE: another writer has that file open.
 * SOA_E_NAME: names of signals must not be empty, contain control characters or occur twice.  A
 * path that is not a regular file (pipe, device) is written directly.  Allocates. */
SOA_API soa_status soa_journal_create(const char *path, const char *scenario, size_t scenario_size,
                                      const soa_signal *signals, int signal_count,
                                      soa_journal **journal, soa_report *report);

/* Continues a journal whose writer ended or was killed.  The file is cut back to just after its
 * last checkpoint, which is returned.  If the caller continues from there, the file becomes the one
 * that an uninterrupted run would have written.  Records between the last two checkpoints are
 * verified; if one is damaged, the checkpoint before is taken.  Without any checkpoint the file is
 * cut back to its header, and *t = 0, *blob = NULL, *blob_size = 0: start from the beginning.  A
 * complete journal (soa_log_info.complete) is cut back too; check that first if it matters.
 * blob and scenario belong to the caller, who releases them with free().  scenario ends with a 0
 * that is not counted; scenario and scenario_size may be NULL.  Allocates.  Status: SOA_E_FILE,
 * SOA_E_FORMAT, SOA_E_VERSION, SOA_E_CHECKSUM, SOA_E_MEMORY; then the file is unchanged. */
SOA_API soa_status soa_journal_reopen(const char *path, soa_journal **journal, double *t,
                                      void **blob, size_t *blob_size, char **scenario,
                                      size_t *scenario_size, soa_report *report);

/* Writes a sample: values[signal_count].  Times must be finite and must not decrease; they may be
 * equal (before and after a jump).  Values are stored as they are, also NaN and infinities.
 * SOA_E_ARGUMENT, SOA_E_NOT_FINITE: nothing is written. */
SOA_API soa_status soa_journal_write_sample(soa_journal *journal, double t, const double *values);
/* Writes an event: kind (a word: "touch", "phase") and text (a sentence; "" or NULL: none).  The
 * only control characters allowed are tab and newline. */
SOA_API soa_status soa_journal_write_event(soa_journal *journal, double t, const char *kind,
                                           const char *text);
/* Writes everything in the buffer, then the blob, and waits until the disk has it (fsync). */
SOA_API soa_status soa_journal_write_checkpoint(soa_journal *journal, double t, const void *blob,
                                                size_t size);
/* Passes what is in the buffer to the operating system, so that readers see it.  Does not change
 * the bytes of the file. */
SOA_API soa_status soa_journal_flush(soa_journal *journal);
/* Removes the name of the file, which then exists only as long as some process has it open.  (If
 * someone else removes, moves or shortens the file, that is noticed at the next checkpoint or at
 * the end: SOA_E_FILE.)  Accepts NULL. */
SOA_API soa_status soa_journal_unlink(soa_journal *journal);
/* Writes the end record, waits until the disk has it, and frees the journal in any case.  Accepts
 * NULL. The status is that of the whole file: SOA_OK only if it contains every record. */
SOA_API soa_status soa_journal_close(soa_journal *journal, soa_report *report);
/* Frees the journal without an end record, for a run that was stopped and not finished.  What is in
 * the buffer is written, and soa_journal_reopen continues from the last checkpoint.  A journal that
 * has not yet replaced an older file (soa_journal_state.pending) and has fewer than two samples is
 * dropped, and the older file stays.  Accepts NULL. */
SOA_API soa_status soa_journal_abandon(soa_journal *journal, soa_report *report);

typedef struct soa_journal_state {
    soa_status status; /* SOA_OK, or the status of the first write that failed */
    char text[256];    /* after a failure: what happened, and until when the data are safe */
    int64_t samples;
    int64_t events;
    int64_t checkpoints;
    int64_t bytes; /* size of the file when everything is written */
    double safe;   /* time of the last checkpoint that the disk has; NaN: none */
    /* true: an older file still has the name; it is replaced when something is written */
    bool pending;
} soa_journal_state;
SOA_API void soa_journal_get_state(const soa_journal *journal, soa_journal_state *state);
/* The signals as they were given; valid until the journal is closed. */
SOA_API int soa_journal_signal_count(const soa_journal *journal);
SOA_API const soa_signal *soa_journal_signals(const soa_journal *journal);

/* --- reading ---------------------------------------------------------------------------------- */
typedef struct soa_log soa_log;

typedef struct soa_log_info {
    const char *scenario; /* ends with a 0 that scenario_size does not count */
    size_t scenario_size;
    const char *program_version; /* of the writer */
    int version;                 /* of the format */
    int signal_count;
    const soa_signal *signals;
    int64_t samples;
    int64_t events;
    int64_t checkpoints;
    double first; /* times of the first and the last sample; NaN: no samples */
    double last;
    double checkpoint; /* time of the last checkpoint; NaN: none */
    bool complete;     /* true: the writer closed it */
    int64_t bytes;     /* up to the end of the last good record */
    /* bytes after it, which are ignored: a record that is being written, or that of a killed
     * writer */
    int64_t torn;
} soa_log_info;

/* Opens a journal for reading, in a time that does not depend on its length: the end is found from
 * the tail.  Allocates.  Status: SOA_E_FILE, SOA_E_FORMAT (not a journal), SOA_E_VERSION,
 * SOA_E_CHECKSUM (damaged header), SOA_E_MEMORY. */
SOA_API soa_status soa_log_open(const char *path, soa_log **log, soa_report *report);
SOA_API void soa_log_close(soa_log *log); /* accepts NULL */
/* Looks for new records; *news (may be NULL): whether there are some.  If a writer cut the file
 * back to its checkpoint and continued, this is noticed and the file is read again.  May
 * allocate. */
SOA_API soa_status soa_log_refresh(soa_log *log, bool *news, soa_report *report);
/* The pointers are valid until close, the numbers until refresh. */
SOA_API void soa_log_get_info(const soa_log *log, soa_log_info *info);
/* The number of a signal, or -1. */
SOA_API int soa_log_find_signal(const soa_log *log, const char *name);

/* *sample is the first sample with time >= t, or info.samples if there is none. */
SOA_API soa_status soa_log_find_sample(soa_log *log, double t, int64_t *sample, soa_report *report);
/* Which samples to read: first, first + 1, ..., at most count, of some signals. */
typedef struct soa_log_range {
    int64_t first;
    int64_t count;
    const int *signals; /* their numbers; NULL: all, signal_count ignored */
    int signal_count;
} soa_log_range;
/* Writes times to t and values row by row, values[sample][signal_count]; t or values NULL: not
 * wanted. *got is the number of samples read.  Reading in order is fastest; a jump costs one
 * search.  SOA_E_CHECKSUM: a record is damaged; the *got samples before it are good. */
SOA_API soa_status soa_log_read_samples(soa_log *log, const soa_log_range *range, double *t,
                                        double *values, int64_t *got, soa_report *report);
/* The time from t0 to t1 in `columns` equal parts, for some signals. */
typedef struct soa_log_window {
    double t0; /* s */
    double t1; /* s */
    int columns;
    const int *signals; /* their numbers; NULL: all, signal_count ignored */
    int signal_count;
} soa_log_window;
/* Smallest and largest values in each of the parts (the last one includes its end, the others do
 * not): min[signal][columns] and max[signal][columns].  They are exact, as if all samples were
 * searched.  NaN values are skipped; NaN means that a part has no value.  Cost: columns x
 * log(samples).  SOA_E_CHECKSUM: a record is damaged, and min and max are incomplete. */
SOA_API soa_status soa_log_overview(soa_log *log, const soa_log_window *window, double *min,
                                    double *max, soa_report *report);

typedef struct soa_log_event_info {
    double t;
    const char *kind; /* valid until the next call with this log */
    const char *text; /* likewise */
} soa_log_event_info;
/* Event number `index` of info.events, from 0.  The first call reads all events.  Allocates. */
SOA_API soa_status soa_log_read_event(soa_log *log, int64_t index, soa_log_event_info *event,
                                      soa_report *report);
/* The last checkpoint.  *blob belongs to the caller, who releases it with free().  If there is
 * none: *blob = NULL, *size = 0.  Allocates. */
SOA_API soa_status soa_log_read_checkpoint(soa_log *log, double *t, void **blob, size_t *size,
                                           soa_report *report);

/* --- export ----------------------------------------------------------------------------------- */
typedef struct soa_export_options {
    double from;        /* s, included; default: from the beginning */
    double to;          /* s, included; default: to the end */
    const int *signals; /* numbers of signals; default NULL: all */
    int signal_count;
    bool events; /* CSV: true: the table of events instead of the samples */
} soa_export_options;
SOA_API soa_export_options soa_export_options_default(void);

/* Both functions write to a temporary file in the same folder and rename it at the end; on failure
 * an older file of that name is unchanged.  options may be NULL.  They allocate.
 * A path that is not a regular file (pipe, device; "-": standard output) is written directly, CSV
 * only.  CSV: one line "t [s],name [unit],...", then numbers with 17 digits, which give the same
 * bits when they are read.  HDF5: /t, /signals/GROUP/NAME with attributes name and unit, /events,
 * /scenario, and the versions as attributes of /. */
SOA_API soa_status soa_log_export_csv(soa_log *log, const char *path,
                                      const soa_export_options *options, soa_report *report);
SOA_API soa_status soa_log_export_hdf5(soa_log *log, const char *path,
                                       const soa_export_options *options, soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
