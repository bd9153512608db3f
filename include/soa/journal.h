/* soa/journal.h  the record of a run: an append-only file that survives its writer.
 *
 * A journal holds the scenario's text, a table of signals, samples (a time and one number per
 * signal), events, checkpoints (whatever the writer needs to go on) and, between them, a tree of
 * smallest and largest values.  Every record carries its length and checksums.  The same calls give
 * the same bytes: no clock is read, and when the buffer is written out never shows in the file.
 * Format and guarantees: docs/journal.md.
 *
 * Writing:  create (or reopen), then sample, event, checkpoint in the order of time, then close.
 * All allocation is done
 *           by create and reopen.  A failed write (disk full, I/O error) is final for this journal:
 *           every later call answers SOA_E_FILE and writes nothing, soa_journal_get_state says what
 *           happened and up to which time all is safe.
 * Reading:  soa_log_*, also of a file that is being written (soa_log_refresh) or whose writer was
 * killed: what follows
 *           the last good record is not there.  Hostile files give a status, never a crash or an
 *           unbounded allocation.
 * A soa_journal or soa_log belongs to one thread at a time. */
#ifndef SOA_JOURNAL_H
#define SOA_JOURNAL_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOA_JOURNAL_VERSION 1
/* What a journal can hold; more is refused. */
#define SOA_JOURNAL_MAX_SIGNALS 65536
#define SOA_JOURNAL_MAX_NAME 255   /* bytes of a signal's name, its unit, an event's kind */
#define SOA_JOURNAL_MAX_TEXT 65535 /* bytes of an event's text                            */
/* bytes of a scenario's text or a checkpoint: nearly 1 GiB */
#define SOA_JOURNAL_MAX_BLOB 0x3fff0000

/* A column of the record.  By custom "group.name", e.g. "arm.q1"; the unit may be "" (or NULL when
 * writing). */
typedef struct soa_signal {
    const char *name, *unit;
} soa_signal;

/* --- writing ---------------------------------------------------------------------------------- */
typedef struct soa_journal soa_journal;

/* A new journal; an older file of that name stays until something is recorded and written out (a
 * flush, a checkpoint, a full buffer, the end) and the new file is on disk.  Without an older file
 * the new one is there at once.  Refused (SOA_E_FILE) while another writer has that file open.
 * Names of signals: not empty, no control characters, each once (SOA_E_NAME).  A path that is no
 * regular file (pipe, device) is written to as it is.  Allocates. */
SOA_API soa_status soa_journal_create(const char *path, const char *scenario, size_t scenario_size,
                                      const soa_signal *signals, int signal_count,
                                      soa_journal **journal, soa_report *report);

/* Goes on with a journal whose writer ended or was killed: cuts the file back to just after its
 * last checkpoint and hands that over; the caller goes on from there, and the file becomes the one
 * an uninterrupted run would have written.  Records between the last two checkpoints are verified;
 * if one is damaged the checkpoint before is taken.  Without any checkpoint the file is cut back to
 * its header: *t = 0, *blob = NULL, *blob_size = 0, start anew.  A complete journal
 * (soa_log_info.complete) is cut back too; look first if that matters.
 * blob and scenario (ended by a 0 that is not counted) are the caller's, to be given to free();
 * scenario, scenario_size may be NULL.  Allocates.  Status: SOA_E_FILE, SOA_E_FORMAT,
 * SOA_E_VERSION, SOA_E_CHECKSUM, SOA_E_MEMORY; then the file is as it was. */
SOA_API soa_status soa_journal_reopen(const char *path, soa_journal **journal, double *t,
                                      void **blob, size_t *blob_size, char **scenario,
                                      size_t *scenario_size, soa_report *report);

/* One sample: values[signal_count].  Times must be finite and never decrease (equal ones are fine:
 * before and after a jump).  Values are kept as they are, NaN and infinities too.  SOA_E_ARGUMENT,
 * SOA_E_NOT_FINITE: nothing is written. */
SOA_API soa_status soa_journal_write_sample(soa_journal *journal, double t, const double *values);
/* An event: kind (a word: "touch", "phase"), text (a sentence, "" or NULL: none), no control
 * characters but tab and newline. */
SOA_API soa_status soa_journal_write_event(soa_journal *journal, double t, const char *kind,
                                           const char *text);
/* Writes out everything, the blob last, and waits until the disk has it (fsync). */
SOA_API soa_status soa_journal_write_checkpoint(soa_journal *journal, double t, const void *blob,
                                                size_t size);
/* Hands what is buffered to the operating system, so that followers see it.  Does not change the
 * file's bytes. */
SOA_API soa_status soa_journal_flush(soa_journal *journal);
/* Removes the file's name: it is there as long as someone has it open.  (A file that someone else
 * removes, moves or cuts is noticed at the next checkpoint or at the end: SOA_E_FILE.)  NULL is
 * fine. */
SOA_API soa_status soa_journal_unlink(soa_journal *journal);
/* Writes the end record, waits until the disk has it, and frees the journal in any case.  NULL is
 * fine.  The status is that of the whole file: SOA_OK only if every record is in it. */
SOA_API soa_status soa_journal_close(soa_journal *journal, soa_report *report);
/* Frees the journal and leaves the file without an end record: what is buffered is written out, so
 * that soa_journal_reopen goes on from the last checkpoint (a run that was stopped, not finished).
 * A journal that has not yet replaced an older file (soa_journal_state.pending) and has no second
 * sample is dropped: the older file stays.  NULL is fine. */
SOA_API soa_status soa_journal_abandon(soa_journal *journal, soa_report *report);

typedef struct soa_journal_state {
    soa_status status; /* SOA_OK, or what the first failed write said                        */
    char text[256];    /* then: what happened, and until when all is safe                    */
    int64_t samples, events, checkpoints;
    int64_t bytes; /* of the file when all is written out                                */
    double safe;   /* time of the last checkpoint that the disk has; NaN: none yet       */
    bool
        pending; /* true: an older file still has the name; it is replaced when something is written
                    * out */
} soa_journal_state;
SOA_API void soa_journal_get_state(const soa_journal *journal, soa_journal_state *state);
/* As they were given, until the journal is closed. */
SOA_API int soa_journal_signal_count(const soa_journal *journal);
SOA_API const soa_signal *soa_journal_signals(const soa_journal *journal);

/* --- reading ---------------------------------------------------------------------------------- */
typedef struct soa_log soa_log;

typedef struct soa_log_info {
    const char *scenario; /* ended by a 0 that scenario_size does not count                    */
    size_t scenario_size;
    const char *program_version; /* of the writer                                              */
    int version;                 /* of the format                                              */
    int signal_count;
    const soa_signal *signals;
    int64_t samples, events, checkpoints;
    double first, last; /* times of the first and the last sample; NaN: no samples           */
    double checkpoint;  /* time of the last checkpoint; NaN: none                            */
    bool complete;      /* true: the writer closed it                                     */
    int64_t bytes;      /* up to the end of the last good record                             */
    int64_t torn;       /* bytes after it: a record still being written, or a killed writer's;
                         * ignored */
} soa_log_info;

/* Opens a journal for reading, in time independent of its length: the end is found from the tail.
 * Allocates.  Status: SOA_E_FILE, SOA_E_FORMAT (no journal), SOA_E_VERSION, SOA_E_CHECKSUM (damaged
 * header), SOA_E_MEMORY. */
SOA_API soa_status soa_log_open(const char *path, soa_log **log, soa_report *report);
SOA_API void soa_log_close(soa_log *log); /* NULL is fine */
/* Looks for records that came since; *news (may be NULL): true if there are.  A file cut back by
 * a writer that went on from its checkpoint is noticed and read anew.  May allocate. */
SOA_API soa_status soa_log_refresh(soa_log *log, bool *news, soa_report *report);
/* The pointers hold until close, the numbers until refresh. */
SOA_API void soa_log_get_info(const soa_log *log, soa_log_info *info);
/* The number of a signal, or -1. */
SOA_API int soa_log_find_signal(const soa_log *log, const char *name);

/* *sample = the first sample with time >= t; info.samples if there is none. */
SOA_API soa_status soa_log_find_sample(soa_log *log, double t, int64_t *sample, soa_report *report);
/* Samples first, first + 1, ..., at most count, of some signals. */
typedef struct soa_log_range {
    int64_t first, count;
    const int *signals; /* their numbers; NULL: all, signal_count ignored */
    int signal_count;
} soa_log_range;
/* Times into t (NULL: not wanted), and values row by row, values[sample][signal_count].
 * values NULL: not wanted.  *got tells how many there were.  Successive reads are sequential,
 * others cost one search.  SOA_E_CHECKSUM: a record is damaged; *got samples before it are good. */
SOA_API soa_status soa_log_read_samples(soa_log *log, const soa_log_range *range, double *t,
                                        double *values, int64_t *got, soa_report *report);
/* The times from t0 to t1 in `columns` equal parts, for some signals. */
typedef struct soa_log_window {
    double t0, t1; /* s */
    int columns;
    const int *signals; /* their numbers; NULL: all, signal_count ignored */
    int signal_count;
} soa_log_window;
/* Smallest and largest values in `columns` equal parts of [t0, t1] (the last one closed, the others
 * open at their end), min[signal][columns] and max[signal][columns].  Exact: what a search of all
 * samples would give, NaN values skipped; NaN where a column has none.  Cost: columns x
 * log(samples).  SOA_E_CHECKSUM: a record is damaged, and min, max are not whole. */
SOA_API soa_status soa_log_overview(soa_log *log, const soa_log_window *window, double *min,
                                    double *max, soa_report *report);

typedef struct soa_log_event_info {
    double t;
    const char *kind, *text; /* until the next call with this log */
} soa_log_event_info;
/* Event number `index` of info.events, from 0.  The first call walks over all events.
 * Allocates. */
SOA_API soa_status soa_log_read_event(soa_log *log, int64_t index, soa_log_event_info *event,
                                      soa_report *report);
/* The last checkpoint; *blob is the caller's, to be given to free().  None: *blob = NULL, *size =
 * 0.  Allocates. */
SOA_API soa_status soa_log_read_checkpoint(soa_log *log, double *t, void **blob, size_t *size,
                                           soa_report *report);

/* --- export ----------------------------------------------------------------------------------- */
typedef struct soa_export_options {
    double from, to;    /* s, both included; default: everything                  */
    const int *signals; /* numbers of signals; default NULL: all                  */
    int signal_count;
    bool events; /* CSV: true: the table of events instead of the samples */
} soa_export_options;
SOA_API soa_export_options soa_export_options_default(void);

/* Both write under a temporary name beside `path` and rename at the end: on failure an older file
 * of that name is untouched.  options may be NULL.  Allocate.
 * A path that is no regular file (pipe, device; "-": standard output) is written to as it is, CSV
 * only.  CSV: one line "t [s],name [unit],...", then numbers with 17 digits that read back to the
 * same bits.  HDF5: /t, /signals/GROUP/NAME with attributes name and unit, /events, /scenario,
 * versions as attributes of /. */
SOA_API soa_status soa_log_export_csv(soa_log *log, const char *path,
                                      const soa_export_options *options, soa_report *report);
SOA_API soa_status soa_log_export_hdf5(soa_log *log, const char *path,
                                       const soa_export_options *options, soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
