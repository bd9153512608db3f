/* journal.c  writes a journal: records to a buffer, the buffer to the file, checkpoints to the
 * disk.
 *
 * Samples go into the buffer. After every 64 samples comes a node with their smallest and largest
 * values; after every 16 nodes comes one node of the next level (journal_format.h). A sample costs
 * its bytes, one checksum and two comparisons per signal; nodes add 1/15 of that. Nothing is
 * allocated after creation. There are no seeks: the file only grows. */
#define _DEFAULT_SOURCE /* for flock */
#include "../base/new_file.h"
#include "journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct soa_journal {
    int fd, signal_count;
    soai_new_file file; /* in use until the journal has its final name */
    int named;          /* regular file: j->path must still refer to it */
    soai_place place;
    soa_signal *signals; /* including their texts */
    char *path;
    double *bounds;   /* [signals][2]: bounds of the samples since the last node */
    double *children; /* [LEVELS][FAN][signals][2]: of nodes that still wait for their parent */
    double *own;      /* [signals][2]: bounds of the node being written */
    uint8_t *buffer;
    size_t used, room;
    double safe;
    soa_status status;
    char text[256];
    soai_crc crc;
};

/* --- the file --------------------------------------------------------------------------------- */
static soa_status fail_because(soa_journal *j, const char *what) {
    const char *path = j->path;
    const size_t length = strlen(path);
    snprintf(j->text, sizeof j->text, "%s%s: %s", length > 90 ? "..." : "",
             length > 90 ? path + length - 87 : path, what);
    j->used = 0;
    return j->status = SOA_E_FILE;
}
static soa_status fail(soa_journal *j, const char *what, int error) {
    char reason[200];
    char until[60] = "no checkpoint is on disk yet";
    if (!isnan(j->safe))
        snprintf(until, sizeof until, "safe up to the checkpoint at t = %.9g s", j->safe);
    snprintf(reason, sizeof reason, "%s: %s; %s, later records may be lost", what, strerror(error),
             until);
    return fail_because(j, reason);
}
/* Gives a new journal its final name, replacing an older file of that name. */
static soa_status take_name(soa_journal *j) {
    if (!j->file.temporary) return SOA_OK;
    if (soai_new_file_commit(&j->file, NULL) != SOA_OK) {
        if (j->file.error == EWOULDBLOCK) return fail_because(j, "another process is writing it");
        return fail(j, "cannot be written", j->file.error);
    }
    j->file.fd = -1;
    soai_new_file_end(&j->file);
    return SOA_OK;
}
static soa_status write_out(soa_journal *j) {
    const int error = j->used ? soai_write_all(j->fd, j->buffer, j->used) : 0;
    j->used = 0;
    return error ? fail(j, "cannot be written", error) : take_name(j);
}
/* Describes what another process did to the file since it was opened; NULL: nothing. The buffer
 * must be empty. */
static const char *disturbance(const soa_journal *j) {
    struct stat open_file, there;
    if (!j->named || fstat(j->fd, &open_file)) return NULL;
    if (open_file.st_nlink == 0)
        return "was removed or replaced while it was written: the record is lost";
    if (stat(j->path, &there)) return "was moved while it was written";
    if (open_file.st_ino != there.st_ino || open_file.st_dev != there.st_dev)
        return "is another file now: it was moved or replaced while it was written";
    if ((uint64_t)open_file.st_size < j->place.end) return "was cut short while it was written";
    if ((uint64_t)open_file.st_size > j->place.end) return "was written by something else too";
    return NULL;
}
/* Reserves space in the buffer for one record with a payload of `length` bytes; the padding is
 * zero. Returns the payload. */
static uint8_t *begin(soa_journal *j, size_t length) {
    const size_t size = HEAD + padded(length);
    if (j->room - j->used < size && write_out(j) != SOA_OK) return NULL;
    memset(j->buffer + j->used + size - 8, 0, 8);
    return j->buffer + j->used + HEAD;
}
static void finish(soa_journal *j, uint32_t type, size_t length, double t) {
    uint8_t *head = j->buffer + j->used;
    const uint32_t crc = soai_crc_add(&j->crc, 0, head + HEAD, padded(length));
    soai_head_put(&j->crc, head, j->place.end, type, (uint32_t)length, crc);
    j->used += HEAD + padded(length);
    soai_place_pass(&j->place, type, (uint32_t)length, t);
}

/* --- records ---------------------------------------------------------------------------------- */
/* Where the bounds of a node are kept until its parent is written, by its number among its
 * siblings. */
static double *kept(const soa_journal *j, int level, uint64_t first_sample) {
    const size_t sibling = (size_t)(first_sample / span_of(level) % FAN);
    return j->children + ((size_t)level * FAN + sibling) * 2 * (size_t)j->signal_count;
}
static soa_status add_nodes(soa_journal *j) {
    const int n = j->signal_count;
    for (int level; (level = soai_place_due(&j->place)) >= 0;) {
        const size_t length = node_size(level, n), count = (length - node_head(level)) / 8;
        const double *bounds = level ? kept(j, level - 1, 0) : j->bounds;
        uint8_t *payload = begin(j, length);
        if (!payload) return j->status;
        soai_place_node(&j->place, level, payload);
        for (size_t i = 0; i < count; ++i)
            put_f64(payload + node_head(level) + 8 * i, bounds[i]);
        if (level) bound_all(j->own, bounds, n);
        memcpy(kept(j, level, j->place.samples - 1), level ? j->own : j->bounds,
               2 * (size_t)n * sizeof(double));
        finish(j, TYPE_NODE, length, 0);
        if (!level) unbound(j->bounds, n);
    }
    return SOA_OK;
}
soa_status soa_journal_write_sample(soa_journal *j, double t, const double *values) {
    if (!j || !values) return SOA_E_ARGUMENT;
    if (!isfinite(t)) return SOA_E_NOT_FINITE;
    if (t < j->place.t_last || j->place.samples >= FAN * span_of(LEVELS - 1)) return SOA_E_ARGUMENT;
    if (j->status != SOA_OK) return j->status;
    const size_t length = 8 + 8 * (size_t)j->signal_count;
    uint8_t *payload = begin(j, length);
    if (!payload) return j->status;
    put_f64(payload, t);
    for (int i = 0; i < j->signal_count; ++i) {
        put_f64(payload + 8 + 8 * i, values[i]);
        bound(j->bounds + 2 * i, values[i], values[i]);
    }
    finish(j, TYPE_SAMPLE, length, t);
    return add_nodes(j);
}

/* Length of a text without control characters. SIZE_MAX: it contains some, or is longer than
 * `most`. */
static size_t clean_length(const char *s, size_t most, int lines) {
    size_t n = 0;
    for (; s[n]; ++n)
        if (n == most || (unsigned char)s[n] == 0x7f ||
            ((unsigned char)s[n] < 0x20 && !(lines && (s[n] == '\n' || s[n] == '\t'))))
            return SIZE_MAX;
    return n;
}
soa_status soa_journal_write_event(soa_journal *j, double t, const char *kind, const char *text) {
    if (!j || !kind) return SOA_E_ARGUMENT;
    if (!isfinite(t)) return SOA_E_NOT_FINITE;
    if (!text) text = "";
    const size_t kind_size = clean_length(kind, SOA_JOURNAL_MAX_NAME, 0),
                 text_size = clean_length(text, SOA_JOURNAL_MAX_TEXT, 1);
    if (kind_size == SIZE_MAX || kind_size == 0 || text_size == SIZE_MAX) return SOA_E_ARGUMENT;
    if (j->status != SOA_OK) return j->status;
    const size_t length = EVENT_BASE + kind_size + text_size;
    uint8_t *payload = begin(j, length);
    if (!payload) return j->status;
    soai_place_event(&j->place, t, (uint32_t)kind_size, (uint32_t)text_size, payload);
    memcpy(payload + EVENT_BASE, kind, kind_size);
    memcpy(payload + EVENT_BASE + kind_size, text, text_size);
    finish(j, TYPE_EVENT, length, t);
    return SOA_OK;
}

static soa_status sync_all(soa_journal *j) {
    if (write_out(j) != SOA_OK) return j->status;
    const int error = soai_sync(j->fd);
    if (error) return fail(j, "the disk did not take it (fsync)", error);
    const char *what = disturbance(j);
    if (!what) return SOA_OK;
    j->safe = NAN;
    return fail_because(j, what);
}
/* A blob larger than the buffer is written directly to the file. */
soa_status soa_journal_write_checkpoint(soa_journal *j, double t, const void *blob, size_t size) {
    if (!j || (!blob && size) || size > SOA_JOURNAL_MAX_BLOB) return SOA_E_ARGUMENT;
    if (!isfinite(t)) return SOA_E_NOT_FINITE;
    if (j->status != SOA_OK) return j->status;
    static const uint8_t zero[8] = {0};
    const size_t length = CHECKPOINT_BASE + size, padding = padded(size) - size;
    uint8_t *payload = begin(j, CHECKPOINT_BASE);
    if (!payload) return j->status;
    soai_place_checkpoint(&j->place, t, size, payload);
    uint32_t crc = soai_crc_add(&j->crc, 0, payload, CHECKPOINT_BASE);
    crc = soai_crc_add(&j->crc, crc, blob, size);
    crc = soai_crc_add(&j->crc, crc, zero, padding);
    soai_head_put(&j->crc, payload - HEAD, j->place.end, TYPE_CHECKPOINT, (uint32_t)length, crc);
    j->used += HEAD + CHECKPOINT_BASE;
    int error = write_out(j) == SOA_OK ? soai_write_all(j->fd, blob, size) : 0;
    if (j->status != SOA_OK) return j->status;
    if (!error) error = soai_write_all(j->fd, zero, padding);
    if (error) return fail(j, "cannot be written", error);
    soai_place_pass(&j->place, TYPE_CHECKPOINT, (uint32_t)length, t);
    if (sync_all(j) != SOA_OK) return j->status;
    j->safe = t;
    return SOA_OK;
}
soa_status soa_journal_flush(soa_journal *j) {
    if (!j) return SOA_E_ARGUMENT;
    return j->status != SOA_OK ? j->status : write_out(j);
}

soa_status soa_journal_unlink(soa_journal *j) {
    if (!j || !j->named) return SOA_OK;
    if (write_out(j) != SOA_OK) return j->status;
    if (unlink(j->path)) return fail(j, "its name cannot be removed", errno);
    j->named = 0;
    return SOA_OK;
}

/* --- closing ---------------------------------------------------------------------------------- */
static soa_status release(soa_journal *j, soa_report *report) {
    if (j->file.temporary) j->fd = -1; /* it is the same descriptor */
    soai_new_file_end(&j->file);
    if (j->fd >= 0 && close(j->fd) && j->status == SOA_OK && errno != EINTR)
        fail(j, "cannot be written", errno);
    const soa_status s = j->status;
    if (s != SOA_OK) soai_report(report, s, -1, 0, "%s", j->text);
    free(j->signals);
    free(j->path);
    free(j->bounds);
    free(j->children);
    free(j->own);
    free(j->buffer);
    free(j);
    return s;
}
soa_status soa_journal_close(soa_journal *j, soa_report *report) {
    soai_report_reset(report);
    if (!j) return SOA_OK;
    uint8_t *payload = j->status == SOA_OK ? begin(j, END_SIZE) : NULL;
    if (payload) {
        soai_place_end(&j->place, payload);
        finish(j, TYPE_END, END_SIZE, 0);
        sync_all(j);
    }
    return soai_report_end(report, release(j, report));
}
soa_status soa_journal_abandon(soa_journal *j, soa_report *report) {
    soai_report_reset(report);
    if (!j) return SOA_OK;
    const int nothing_happened = j->file.temporary && j->place.samples < 2;
    if (j->status == SOA_OK && !nothing_happened) write_out(j);
    return soai_report_end(report, release(j, report));
}

void soa_journal_get_state(const soa_journal *j, soa_journal_state *state) {
    if (!j || !state) return;
    memset(state, 0, sizeof *state);
    state->status = j->status;
    memcpy(state->text, j->text, sizeof state->text);
    state->samples = (int64_t)j->place.samples;
    state->events = (int64_t)j->place.events;
    state->checkpoints = (int64_t)j->place.checkpoints;
    state->bytes = (int64_t)j->place.end;
    state->safe = j->safe;
    state->pending = j->file.temporary != NULL;
}
int soa_journal_signal_count(const soa_journal *j) {
    return j ? j->signal_count : 0;
}
const soa_signal *soa_journal_signals(const soa_journal *j) {
    return j ? j->signals : NULL;
}

/* --- creating --------------------------------------------------------------------------------- */
/* Copies the table of signals and its texts into one block. */
static soa_signal *copy_signals(const soa_signal *signals, int count) {
    size_t size = (size_t)count * sizeof *signals + 1;
    for (int i = 0; i < count; ++i)
        size += strlen(signals[i].name) + (signals[i].unit ? strlen(signals[i].unit) : 0) + 2;
    soa_signal *copy = malloc(size);
    char *text = copy ? (char *)(copy + count) : NULL;
    for (int i = 0; copy && i < count; ++i) {
        const char *const from[2] = {signals[i].name, signals[i].unit ? signals[i].unit : ""};
        char *to[2];
        for (int k = 0; k < 2; ++k) {
            const size_t n = strlen(from[k]) + 1;
            to[k] = memcpy(text, from[k], n);
            text += n;
        }
        copy[i] = (soa_signal){to[0], to[1]};
    }
    return copy;
}
static soa_journal *allocate(const char *path, const soa_signal *signals, int count) {
    soa_journal *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    j->fd = -1;
    j->file = SOAI_NO_FILE;
    j->signal_count = count;
    j->safe = NAN;
    j->room = 2 * (HEAD + node_size(1, count)) + HEAD + EVENT_BASE + SOA_JOURNAL_MAX_NAME +
              SOA_JOURNAL_MAX_TEXT + 8;
    if (j->room < 1 << 18) j->room = 1 << 18;
    j->path = strdup(path);
    j->signals = copy_signals(signals, count);
    j->bounds = malloc((2 * (size_t)count + 1) * sizeof *j->bounds);
    j->own = malloc((2 * (size_t)count + 1) * sizeof *j->own);
    /* Pages of this block are used only when a level is reached. */
    j->children = malloc(((size_t)LEVELS * FAN * 2 * (size_t)count + 1) * sizeof *j->children);
    j->buffer = malloc(j->room);
    if (!j->path || !j->signals || !j->bounds || !j->own || !j->children || !j->buffer) {
        release(j, NULL);
        return NULL;
    }
    unbound(j->bounds, count);
    soai_crc_init(&j->crc);
    return j;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
static soa_status check_signals(const soa_signal *signals, int count, soa_report *report) {
    for (int i = 0; i < count; ++i) {
        if (!signals[i].name || !signals[i].name[0])
            return soai_report(report, SOA_E_NAME, -1, 0, "signal %d has no name", i);
        if (clean_length(signals[i].name, SOA_JOURNAL_MAX_NAME, 0) == SIZE_MAX ||
            (signals[i].unit && clean_length(signals[i].unit, SOA_JOURNAL_MAX_NAME, 0) == SIZE_MAX))
            return soai_report(
                report, SOA_E_NAME, -1, 0,
                "signal %d '%.60s': name or unit has control characters, or more than %d bytes", i,
                signals[i].name, SOA_JOURNAL_MAX_NAME);
    }
    const char **names = malloc(((size_t)count + 1) * sizeof *names);
    if (!names) return soai_report(report, SOA_E_MEMORY, -1, 0, "no memory");
    for (int i = 0; i < count; ++i)
        names[i] = signals[i].name;
    qsort(names, (size_t)count, sizeof *names, by_name);
    const char *twice = NULL;
    for (int i = 1; i < count && !twice; ++i)
        if (!strcmp(names[i - 1], names[i])) twice = names[i];
    free(names);
    return twice ? soai_report(report, SOA_E_NAME, -1, 0, "signal '%.100s' is named twice", twice)
                 : SOA_OK;
}

/* Makes the header (docs/journal.md). */
static uint8_t *make_header(const soa_journal *j, const char *scenario, size_t scenario_size,
                            size_t *size) {
    const char *version = soa_version();
    const size_t version_size = strlen(version);
    size_t at = HEADER_SIZE + version_size + scenario_size;
    for (int i = 0; i < j->signal_count; ++i)
        at += 4 + strlen(j->signals[i].name) + strlen(j->signals[i].unit);
    *size = padded(at);
    uint8_t *h = calloc(1, *size);
    if (!h) return NULL;
    memcpy(h, JOURNAL_MAGIC, 8);
    put_u32(h + 8, SOA_JOURNAL_VERSION);
    put_u32(h + 12, ENDIAN_MARK);
    put_u64(h + 16, *size);
    put_u32(h + 24, (uint32_t)j->signal_count);
    put_u32(h + 28, (uint32_t)version_size);
    put_u64(h + 32, scenario_size);
    put_u32(h + 40, BLOCK);
    put_u32(h + 44, FAN);
    uint8_t *p = h + HEADER_SIZE;
    memcpy(p, version, version_size);
    p += version_size;
    if (scenario_size) memcpy(p, scenario, scenario_size);
    p += scenario_size;
    for (int i = 0; i < j->signal_count; ++i) {
        const size_t name = strlen(j->signals[i].name), unit = strlen(j->signals[i].unit);
        put_u16(p, (uint32_t)name);
        put_u16(p + 2, (uint32_t)unit);
        p += 4;
        memcpy(p, j->signals[i].name, name);
        p += name;
        memcpy(p, j->signals[i].unit, unit);
        p += unit;
    }
    put_u32(h + 48, soai_crc_add(&j->crc, 0, h + HEADER_SIZE, *size - HEADER_SIZE));
    put_u32(h + 60, soai_crc_add(&j->crc, 0, h, 60));
    return h;
}

soa_status soa_journal_create(const char *path, const char *scenario, size_t scenario_size,
                              const soa_signal *signals, int signal_count, soa_journal **journal,
                              soa_report *report) {
    soai_report_reset(report);
    if (signal_count > SOA_JOURNAL_MAX_SIGNALS)
        return soai_report(
            report, SOA_E_ARGUMENT, -1, 0,
            "%d signals: a record holds at most %d; the machine has too many joints to be recorded",
            signal_count, SOA_JOURNAL_MAX_SIGNALS);
    if (!path || !journal || (!scenario && scenario_size) || (!signals && signal_count) ||
        signal_count < 0 || scenario_size > SOA_JOURNAL_MAX_BLOB)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "journal: an argument is missing or out of range");
    soa_status s = check_signals(signals, signal_count, report);
    if (s != SOA_OK) return soai_report_end(report, s);
    soa_journal *j = allocate(path, signals, signal_count);
    size_t size = 0;
    uint8_t *header = j ? make_header(j, scenario, scenario_size, &size) : NULL;
    soai_new_file file = SOAI_NO_FILE;
    if (!header) s = soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    if (s == SOA_OK) s = soai_new_file_open(&file, path, 1, report);
    if (s == SOA_OK) {
        int error = soai_write_all(file.fd, header, size);
        /* Append mode: what another process cuts off stays missing, so it is noticed. */
        if (!error && file.temporary && fcntl(file.fd, F_SETFL, O_APPEND)) error = errno;
        if (error)
            s = soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path,
                            strerror(error));
    }
    if (s == SOA_OK) j->named = file.temporary != NULL;
    /* An older file exists; it is kept until something has been recorded. */
    const int replaces = file.old >= 0;
    if (s == SOA_OK && !replaces) s = soai_new_file_commit(&file, report);
    if (s == SOA_OK) {
        j->fd = file.fd;
        if (replaces)
            j->file = file;
        else
            file.fd = -1;
        soai_place_start(&j->place, size);
        *journal = j;
        j = NULL;
    }
    if (s != SOA_OK || !replaces) soai_new_file_end(&file);
    free(header);
    if (j) release(j, NULL);
    return soai_report_end(report, s);
}

/* --- resuming --------------------------------------------------------------------------------- */
/* Reads back the bounds that later nodes need: those of the peaks, and of the samples after
 * them. */
static soa_status recall(soa_journal *j, soa_log *log, soa_report *report) {
    const int n = j->signal_count;
    const soai_place *p = &j->place;
    double *room = malloc((FAN * 2 * (size_t)n + 1) * sizeof *room);
    if (!room) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", j->path);
    soa_status s = SOA_OK;
    uint64_t first = 0;
    for (int k = 0; s == SOA_OK && k < p->peaks; first += span_of(p->peak[k++].level))
        s = soai_log_bounds(log, p->peak[k].offset, kept(j, p->peak[k].level, first), room, report);
    for (int k = 0; s == SOA_OK && k < p->tail; ++k) {
        int64_t got;
        s = soa_log_read_samples(
            log, &(soa_log_range){.first = (int64_t)p->samples - p->tail + k, .count = 1}, NULL,
            room, &got, report);
        for (int i = 0; s == SOA_OK && i < n; ++i)
            bound(j->bounds + 2 * i, room[i], room[i]);
    }
    free(room);
    return s;
}
soa_status soa_journal_reopen(const char *path, soa_journal **journal, double *t, void **blob,
                              size_t *blob_size, char **scenario, size_t *scenario_size,
                              soa_report *report) {
    soai_report_reset(report);
    if (!path || !journal || !t || !blob || !blob_size)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "journal: an argument is missing");
    struct stat about;
    const int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) || !S_ISREG(about.st_mode)) {
        soai_report(report, SOA_E_FILE, -1, 0, "%s: %s", path,
                    fd < 0 ? strerror(errno) : "no regular file");
        if (fd >= 0) close(fd);
        return soai_report_end(report, SOA_E_FILE);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(fd);
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: another process is writing it", path);
    }
    const int for_reading = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    soa_log *log = NULL;
    soa_log_info info;
    soa_journal *j = NULL;
    void *bytes = NULL;
    size_t size = 0;
    double time = 0;
    char *text = NULL;
    int found = 0;
    soa_status s = SOA_OK;
    if (for_reading < 0)
        s = soai_report(report, SOA_E_FILE, -1, 0, "%s: %s", path, strerror(errno));
    else
        s = soai_log_open(for_reading, NULL, 0, path, &log, report);
    if (s == SOA_OK) s = soai_log_cut(log, &found, report);
    if (s == SOA_OK && found) s = soa_log_read_checkpoint(log, &time, &bytes, &size, report);
    if (s == SOA_OK) {
        soa_log_get_info(log, &info);
        j = allocate(path, info.signals, info.signal_count);
        text = scenario ? malloc(info.scenario_size + 1) : NULL;
        if (!j || (scenario && !text))
            s = soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    }
    if (s == SOA_OK) {
        j->place = *soai_log_place(log);
        s = recall(j, log, report);
    }
    if (s == SOA_OK) {
        int error = ftruncate(fd, (off_t)j->place.end) ? errno : 0;
        if (!error) error = soai_sync(fd);
        if (error)
            s = soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be cut back: %s", path,
                            strerror(error));
    }
    if (s == SOA_OK) {
        j->fd = fd;
        j->named = 1;
        j->safe = found ? time : NAN;
        if (text) memcpy(text, info.scenario, info.scenario_size + 1);
        if (scenario) *scenario = text;
        if (scenario_size) *scenario_size = info.scenario_size;
        *journal = j;
        *t = time;
        *blob = bytes;
        *blob_size = size;
    } else {
        if (j) release(j, NULL);
        free(text);
        free(bytes);
        close(fd);
    }
    soa_log_close(log);
    return soai_report_end(report, s);
}
