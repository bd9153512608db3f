/* journal_read.c  reads a journal: opening, following a growing file, samples, overviews, events,
 * checkpoints.
 *
 *  open      Read the header. Search backward from the end for the last node or checkpoint. Follow
 *            the chain of peaks. Read forward to the last good record. Cost: the records after the
 *            last node, and log(samples) nodes.
 *  overview  Descend the tree. A node inside one column is used as a whole; others are opened. At
 *            most 2 paths per column.
 *
 * Every number from the file that becomes an offset, size or index is checked. A node must be where
 * its sample numbers say, so the nodes form a tree of at most nine levels. Offsets only point back.
 * A length must end within the file before that many bytes are read or allocated. If there is
 * damage between the end and the peaks, the file is read from its beginning instead, as far as it
 * is good. */
#include "journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 1 << 18, TRIES = 64 };

struct soa_log {
    int fd;
    const uint8_t *memory;
    size_t memory_size;
    char *path;
    soai_crc crc;
    uint64_t size, start; /* size of the file when last checked; end of the header */
    soai_place place;
    int complete;
    double checkpoint; /* time of the checkpoint */
    /* header */
    char *scenario, *program;
    size_t scenario_size;
    int signal_count;
    soa_signal *signals;
    /* a cached piece of the file */
    uint8_t *window;
    size_t room, ahead;
    uint64_t at, have;
    uint8_t *node; /* payload of the last node read */
    /* position of the next sample in sequential reading */
    uint64_t next_sample, next_offset;
    /* events */
    uint64_t *event_at, event_known, event_room;
    char *text;
    soa_report *report;
};

#define SAY(status, ...) soai_report(log->report, status, -1, 0, __VA_ARGS__)
static soa_status damaged(soa_log *log, uint64_t offset) {
    return SAY(SOA_E_CHECKSUM, "%.150s: damaged at byte %llu", log->path,
               (unsigned long long)offset);
}

/* --- bytes ------------------------------------------------------------------------------------ */
static soa_status look_at_size(soa_log *log) {
    struct stat about;
    log->have = 0;
    if (log->fd < 0)
        log->size = log->memory_size;
    else if (fstat(log->fd, &about))
        return SAY(SOA_E_FILE, "%.150s: %s", log->path, strerror(errno));
    else
        log->size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return SOA_OK;
}
static soa_status read_at(soa_log *log, uint64_t offset, uint8_t *to, size_t n, size_t *got) {
    *got = 0;
    if (log->fd < 0) {
        if (offset < log->memory_size)
            *got = n < log->memory_size - offset ? n : log->memory_size - (size_t)offset;
        if (*got) memcpy(to, log->memory + offset, *got);
        return SOA_OK;
    }
    while (*got < n) {
        const ssize_t k = pread(log->fd, to + *got, n - *got, (off_t)(offset + *got));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return SAY(SOA_E_FILE, "%.150s: cannot be read: %s", log->path, strerror(errno));
        if (k == 0) break;
        *got += (size_t)k;
    }
    return SOA_OK;
}
/* Reads n bytes (at most log->room) at offset; they must lie within log->size. Reads up to
 * log->ahead bytes in advance. */
static soa_status fetch(soa_log *log, uint64_t offset, size_t n, const uint8_t **bytes) {
    if (offset < log->at || offset + n > log->at + log->have) {
        uint64_t want = log->ahead > n ? log->ahead : n;
        if (want > log->room) want = log->room;
        if (want > log->size - offset) want = log->size - offset;
        size_t got;
        log->have = 0;
        const soa_status s = read_at(log, offset, log->window, (size_t)want, &got);
        if (s != SOA_OK) return s;
        log->at = offset;
        log->have = got;
        if (got < n) return SAY(SOA_E_FILE, "%.150s: became shorter while it was read", log->path);
    }
    *bytes = log->window + (offset - log->at);
    return SOA_OK;
}

/* --- records ---------------------------------------------------------------------------------- */
typedef struct record {
    uint32_t type, length, crc;
    uint64_t payload, next; /* offsets */
} record;

/* Reads the head of the record at offset. Returns SOA_E_CHECKSUM, without a report, if no good
 * record there ends by limit. */
static soa_status read_head(soa_log *log, uint64_t offset, uint64_t limit, record *r) {
    const uint8_t *head;
    if (limit > log->size) limit = log->size;
    if (offset % 8 || offset < log->start || offset > limit || limit - offset < HEAD)
        return SOA_E_CHECKSUM;
    const soa_status s = fetch(log, offset, HEAD, &head);
    if (s != SOA_OK) return s;
    if (!soai_head_good(&log->crc, head, offset)) return SOA_E_CHECKSUM;
    r->type = get_u32(head);
    r->length = get_u32(head + 4);
    r->crc = get_u32(head + 8);
    r->payload = offset + HEAD;
    r->next = r->payload + padded(r->length);
    return r->next <= limit ? SOA_OK : SOA_E_CHECKSUM;
}
/* Reads the whole payload into the window and checks its checksum. */
static soa_status read_payload(soa_log *log, const record *r, const uint8_t **payload) {
    const size_t n = padded(r->length);
    if (n > log->room) return SOA_E_CHECKSUM;
    const soa_status s = fetch(log, r->payload, n, payload);
    if (s != SOA_OK) return s;
    return soai_crc_add(&log->crc, 0, *payload, n) == r->crc ? SOA_OK : SOA_E_CHECKSUM;
}
/* Checks the checksum of a payload of any length. */
static soa_status check_payload(soa_log *log, const record *r) {
    uint32_t crc = 0;
    for (uint64_t at = r->payload; at < r->next;) {
        const size_t n = r->next - at < log->room ? (size_t)(r->next - at) : log->room;
        const uint8_t *bytes;
        const soa_status s = fetch(log, at, n, &bytes);
        if (s != SOA_OK) return s;
        crc = soai_crc_add(&log->crc, crc, bytes, n);
        at += n;
    }
    return crc == r->crc ? SOA_OK : SOA_E_CHECKSUM;
}

/* Reads the payload of a node into log->node. It must have this level and begin with sample `first`
 * (level < 0: any node). */
static soa_status read_node(soa_log *log, uint64_t offset, int level, uint64_t first) {
    record r;
    const uint8_t *payload;
    log->ahead = node_size(1, log->signal_count) + HEAD;
    soa_status s = read_head(log, offset, log->size, &r);
    if (s == SOA_OK &&
        (r.type != TYPE_NODE || r.length > node_size(1, log->signal_count) || r.length < NODE_BASE))
        s = SOA_E_CHECKSUM;
    if (s == SOA_OK) s = read_payload(log, &r, &payload);
    if (s != SOA_OK) return s;
    memcpy(log->node, payload, r.length);
    const uint32_t its = get_u32(log->node);
    if (its >= LEVELS || (level >= 0 && its != (uint32_t)level)) return SOA_E_CHECKSUM;
    const uint64_t begin = get_u64(log->node + 8), span = span_of((int)its),
                   limit = (uint64_t)1 << 60;
    const double t_first = get_f64(log->node + 24), t_last = get_f64(log->node + 32);
    if (r.length != node_size((int)its, log->signal_count) ||
        get_u32(log->node + 4) != (its ? FAN : BLOCK) || get_u64(log->node + 16) != span ||
        begin % span || begin > limit || (level >= 0 && begin != first) || !isfinite(t_first) ||
        !isfinite(t_last) || t_last < t_first)
        return SOA_E_CHECKSUM;
    /* Offsets point back, and counts are of earlier records. */
    for (int i = 40; i <= 80; i += 8)
        if (get_u64(log->node + i) >= offset) return SOA_E_CHECKSUM;
    return SOA_OK;
}

/* --- finding the end -------------------------------------------------------------------------- */
/* Sets the state to just after the node at offset (0: after the header), by the chain of peaks. */
static soa_status go_to(soa_log *log, uint64_t offset) {
    soai_place *p = &log->place;
    soai_place_start(p, log->start);
    if (!offset) return SOA_OK;
    int level = 0, count = 0;
    for (uint64_t at = offset, first = 0;;) {
        const soa_status s = read_node(log, at, -1, 0);
        if (s != SOA_OK) return s;
        const int its = (int)get_u32(log->node);
        const uint64_t begin = get_u64(log->node + 8), before = get_u64(log->node + 40);
        if (at == offset) {
            p->samples = begin + span_of(its);
            p->last_event = get_u64(log->node + 48);
            p->events = get_u64(log->node + 56);
            p->last_checkpoint = get_u64(log->node + 64);
            p->checkpoints = get_u64(log->node + 72);
            p->t_last = get_f64(log->node + 32);
            p->last_node = offset;
            p->end = offset + HEAD + padded(node_size(its, log->signal_count));
        } else if (begin + span_of(its) != first || its < level ||
                   get_f64(log->node + 32) > p->peak[p->peaks - 1].t_first) {
            return SOA_E_CHECKSUM;
        }
        count = its == level ? count + 1 : 1;
        if (count > FAN || p->peaks == PEAKS || (begin == 0) != (before == 0))
            return SOA_E_CHECKSUM;
        p->peak[p->peaks++] = (soai_peak){at, get_u64(log->node + 80), its, get_f64(log->node + 24),
                                          get_f64(log->node + 32)};
        level = its;
        first = begin;
        if (!before) break;
        at = before; /* smaller than before: read_node checks it */
    }
    if (!p->events != !p->last_event || !p->checkpoints != !p->last_checkpoint)
        return SOA_E_CHECKSUM;
    for (int i = 0, k = p->peaks - 1; i < k; ++i, --k) {
        const soai_peak swap = p->peak[i];
        p->peak[i] = p->peak[k];
        p->peak[k] = swap;
    }
    p->t_first = p->peak[0].t_first;
    return SOA_OK;
}

/* Checks that the record is valid at this place. SOA_OK: the state is now after it. */
static soa_status pass(soa_log *log, const record *r) {
    soai_place *p = &log->place;
    const uint8_t *payload;
    uint8_t expected[NODE_HEAD_MOST];
    const int due = soai_place_due(p);
    double t = 0;
    soa_status s = SOA_OK;
    if ((due >= 0) != (r->type == TYPE_NODE) || (due == 0 && p->peaks == PEAKS))
        return SOA_E_CHECKSUM;
    if (r->type == TYPE_CHECKPOINT) {
        if (r->length < CHECKPOINT_BASE || r->length - CHECKPOINT_BASE > SOA_JOURNAL_MAX_BLOB)
            return SOA_E_CHECKSUM;
        s = check_payload(log, r);
        if (s == SOA_OK) s = fetch(log, r->payload, CHECKPOINT_BASE, &payload);
        if (s != SOA_OK) return s;
        t = get_f64(payload);
        soai_place_checkpoint(p, t, r->length - CHECKPOINT_BASE, expected);
        if (!isfinite(t) || memcmp(payload, expected, CHECKPOINT_BASE)) return SOA_E_CHECKSUM;
        log->checkpoint = t;
    } else {
        s = read_payload(log, r, &payload);
        if (s != SOA_OK) return s;
        if (r->type == TYPE_SAMPLE) {
            if (r->length != 8 + 8 * (size_t)log->signal_count) return SOA_E_CHECKSUM;
            t = get_f64(payload);
            if (!isfinite(t) || t < p->t_last) return SOA_E_CHECKSUM;
        } else if (r->type == TYPE_NODE) {
            soai_place_node(p, due, expected);
            if (r->length != node_size(due, log->signal_count) ||
                memcmp(payload, expected, node_head(due)))
                return SOA_E_CHECKSUM;
        } else if (r->type == TYPE_EVENT) {
            if (r->length < EVENT_BASE) return SOA_E_CHECKSUM;
            const uint32_t kind = get_u32(payload + 24), text = get_u32(payload + 28);
            t = get_f64(payload);
            soai_place_event(p, t, kind, text, expected);
            if (!isfinite(t) || kind > SOA_JOURNAL_MAX_NAME || text > SOA_JOURNAL_MAX_TEXT ||
                r->length != EVENT_BASE + kind + text || memcmp(payload, expected, EVENT_BASE))
                return SOA_E_CHECKSUM;
        } else if (r->type == TYPE_END) {
            soai_place_end(p, expected);
            if (r->length != END_SIZE || memcmp(payload, expected, END_SIZE)) return SOA_E_CHECKSUM;
            log->complete = 1;
        } else {
            return SOA_E_CHECKSUM;
        }
    }
    soai_place_pass(p, r->type, r->length, t);
    return SOA_OK;
}
/* Goes forward over all good records that end by limit. */
static soa_status go_on(soa_log *log, uint64_t limit) {
    soa_status s = SOA_OK;
    while (s == SOA_OK && !log->complete) {
        record r;
        log->ahead = log->room;
        s = read_head(log, log->place.end, limit, &r);
        if (s == SOA_OK) s = pass(log, &r);
    }
    return s == SOA_E_CHECKSUM ? SOA_OK : s;
}

/* Reads the fixed part of a checkpoint into fixed[] and checks the checksum. *r is its record. */
static soa_status read_checkpoint(soa_log *log, uint64_t offset, uint8_t fixed[CHECKPOINT_BASE],
                                  record *r) {
    const uint8_t *payload;
    log->ahead = 4096;
    soa_status s = read_head(log, offset, log->size, r);
    if (s == SOA_OK && (r->type != TYPE_CHECKPOINT || r->length < CHECKPOINT_BASE))
        s = SOA_E_CHECKSUM;
    if (s == SOA_OK) s = check_payload(log, r);
    if (s == SOA_OK) s = fetch(log, r->payload, CHECKPOINT_BASE, &payload);
    if (s != SOA_OK) return s;
    memcpy(fixed, payload, CHECKPOINT_BASE);
    if (get_u64(fixed + 56) != r->length - CHECKPOINT_BASE || get_u64(fixed + 16) >= offset ||
        get_u64(fixed + 32) >= offset || !isfinite(get_f64(fixed)))
        return SOA_E_CHECKSUM;
    return SOA_OK;
}

/* Searches backward from the end of the file for the last node: directly, or through an end record
 * or a checkpoint. *found = 0: there is none, or the chain from it is damaged. */
static soa_status find_last_node(soa_log *log, int *found) {
    record r;
    const uint8_t *payload;
    uint8_t fixed[CHECKPOINT_BASE];
    soa_status s;
    *found = 0;
    if (log->size >= log->start + HEAD + END_SIZE) {
        log->ahead = 0;
        s = read_head(log, log->size - HEAD - END_SIZE, log->size, &r);
        if (s == SOA_OK && r.type == TYPE_END && r.length == END_SIZE)
            s = read_payload(log, &r, &payload);
        else if (s == SOA_OK)
            s = SOA_E_CHECKSUM;
        if (s == SOA_OK) s = go_to(log, get_u64(payload + 8));
        if (s != SOA_E_CHECKSUM) {
            *found = s == SOA_OK;
            return s;
        }
    }
    uint8_t *piece = malloc(WINDOW);
    if (!piece) return SAY(SOA_E_MEMORY, "%.150s: no memory", log->path);
    int tries = TRIES;
    s = SOA_OK;
    for (uint64_t high = log->size & ~(uint64_t)7;
         !*found && tries && s == SOA_OK && high > log->start;) {
        const uint64_t low = high - log->start > WINDOW ? high - WINDOW : log->start;
        size_t got;
        s = read_at(log, low, piece, (size_t)(high - low), &got);
        for (uint64_t at = low + (got & ~(size_t)7); s == SOA_OK && !*found && tries && at > low;) {
            at -= 8;
            const uint32_t type = get_u32(piece + (at - low));
            if (type != TYPE_NODE && type != TYPE_CHECKPOINT) continue;
            log->ahead = 0;
            s = read_head(log, at, log->size, &r);
            if (s == SOA_E_CHECKSUM) {
                s = SOA_OK;
                continue;
            }
            if (s != SOA_OK) break;
            --tries;
            uint64_t node = at;
            if (r.type == TYPE_CHECKPOINT) {
                s = read_checkpoint(log, at, fixed, &r);
                node = get_u64(fixed + 32);
            }
            if (s == SOA_OK) s = go_to(log, node);
            if (s == SOA_OK)
                *found = 1;
            else if (s == SOA_E_CHECKSUM)
                s = SOA_OK;
        }
        high = low;
    }
    free(piece);
    return s;
}
static soa_status find_end(soa_log *log) {
    int found;
    uint8_t fixed[CHECKPOINT_BASE];
    record r;
    log->complete = 0;
    log->checkpoint = NAN;
    log->next_sample = UINT64_MAX;
    log->event_known = 0;
    soa_status s = find_last_node(log, &found);
    if (s == SOA_OK && !found) soai_place_start(&log->place, log->start);
    const uint64_t at = log->place.last_checkpoint;
    if (s == SOA_OK && at) {
        s = read_checkpoint(log, at, fixed, &r);
        if (s == SOA_OK)
            log->checkpoint = get_f64(fixed);
        else if (s == SOA_E_CHECKSUM)
            s = SOA_OK; /* soa_log_read_checkpoint will report it */
    }
    return s == SOA_OK ? go_on(log, log->size) : s;
}

/* --- opening ---------------------------------------------------------------------------------- */
/* Reads the texts of the header. They lie within h[size], whose checksum is good. */
static soa_status read_texts(soa_log *log, const uint8_t *h, size_t size) {
    const uint32_t program = get_u32(h + 28);
    const uint64_t scenario = get_u64(h + 32);
    size_t at = HEADER_SIZE;
    if (program > SOA_JOURNAL_MAX_NAME || program > size - at || scenario > size - at - program)
        return SAY(SOA_E_FORMAT, "%.150s: its header is inconsistent", log->path);
    const size_t count = (size_t)log->signal_count, rest = size - at - program - (size_t)scenario;
    if (count > rest / 4) return SAY(SOA_E_FORMAT, "%.150s: its header is inconsistent", log->path);
    log->program = calloc(1, program + 1);
    log->scenario = malloc((size_t)scenario + 1);
    /* A signal's two texts of n bytes take n + 4 bytes in the file, so their ends fit too. */
    log->signals = malloc(count * sizeof *log->signals + rest + 1);
    if (!log->program || !log->scenario || !log->signals)
        return SAY(SOA_E_MEMORY, "%.150s: no memory", log->path);
    memcpy(log->program, h + at, program);
    at += program;
    memcpy(log->scenario, h + at, (size_t)scenario);
    at += (size_t)scenario;
    log->scenario[scenario] = 0;
    log->scenario_size = (size_t)scenario;
    char *text = (char *)(log->signals + count);
    for (size_t i = 0; i < count; ++i) {
        char *word[2];
        if (size - at < 4)
            return SAY(SOA_E_FORMAT, "%.150s: its table of signals is inconsistent", log->path);
        const uint32_t length[2] = {get_u16(h + at), get_u16(h + at + 2)};
        at += 4;
        if (!length[0] || length[0] > SOA_JOURNAL_MAX_NAME || length[1] > SOA_JOURNAL_MAX_NAME ||
            length[0] + length[1] > size - at)
            return SAY(SOA_E_FORMAT, "%.150s: its table of signals is inconsistent", log->path);
        for (int k = 0; k < 2; ++k) {
            if (length[k] && memchr(h + at, 0, length[k]))
                return SAY(SOA_E_FORMAT, "%.150s: signal %zu has a name with a zero in it",
                           log->path, i);
            word[k] = memcpy(text, h + at, length[k]);
            text[length[k]] = 0;
            text += length[k] + 1;
            at += length[k];
        }
        log->signals[i] = (soa_signal){word[0], word[1]};
    }
    return SOA_OK;
}
static soa_status read_header(soa_log *log) {
    uint8_t h[HEADER_SIZE];
    size_t got;
    soa_status s = read_at(log, 0, h, HEADER_SIZE, &got);
    if (s != SOA_OK) return s;
    if (got < HEADER_SIZE || memcmp(h, JOURNAL_MAGIC, 8))
        return SAY(SOA_E_FORMAT, "%.150s: not a journal", log->path);
    if (get_u32(h + 12) != ENDIAN_MARK || get_u32(h + 60) != soai_crc_add(&log->crc, 0, h, 60))
        return damaged(log, 0);
    if (get_u32(h + 8) != SOA_JOURNAL_VERSION)
        return SAY(SOA_E_VERSION, "%.150s: a journal of version %lu; this program reads version %d",
                   log->path, (unsigned long)get_u32(h + 8), SOA_JOURNAL_VERSION);
    const uint64_t size = get_u64(h + 16);
    if (size > log->size || size < HEADER_SIZE || size % 8 ||
        get_u32(h + 24) > SOA_JOURNAL_MAX_SIGNALS || get_u64(h + 32) > SOA_JOURNAL_MAX_BLOB ||
        get_u32(h + 40) != BLOCK || get_u32(h + 44) != FAN)
        return SAY(SOA_E_FORMAT, "%.150s: its header is inconsistent or cut short", log->path);
    log->start = size;
    log->signal_count = (int)get_u32(h + 24);
    uint8_t *all = malloc((size_t)size);
    if (!all) return SAY(SOA_E_MEMORY, "%.150s: no memory", log->path);
    s = read_at(log, 0, all, (size_t)size, &got);
    if (s == SOA_OK &&
        (got < size || get_u32(h + 48) != soai_crc_add(&log->crc, 0, all + HEADER_SIZE,
                                                       (size_t)size - HEADER_SIZE)))
        s = damaged(log, HEADER_SIZE);
    if (s == SOA_OK) s = read_texts(log, all, (size_t)size);
    free(all);
    return s;
}

soa_status soai_log_open(int fd, const void *memory, size_t size, const char *path,
                         soa_log **result, soa_report *report) {
    soa_log *log = calloc(1, sizeof *log);
    if (!log) {
        if (fd >= 0) close(fd);
        return soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    }
    log->fd = fd;
    log->memory = memory;
    log->memory_size = size;
    log->report = report;
    log->path = malloc(strlen(path) + 1);
    soai_crc_init(&log->crc);
    soa_status s = SOA_E_MEMORY;
    if (log->path) {
        strcpy(log->path, path);
        s = look_at_size(log);
        if (s == SOA_OK) s = read_header(log);
        if (s == SOA_OK) {
            const size_t node = padded(node_size(1, log->signal_count)) + HEAD;
            log->room = node > WINDOW ? node : WINDOW;
            log->window = malloc(log->room);
            log->node = malloc(node);
            log->text = malloc(SOA_JOURNAL_MAX_NAME + SOA_JOURNAL_MAX_TEXT + 2);
            if (!log->window || !log->node || !log->text)
                s = SAY(SOA_E_MEMORY, "%.150s: no memory", path);
        }
        if (s == SOA_OK) s = find_end(log);
    } else {
        soai_report(report, s, -1, 0, "%s: no memory", path);
    }
    log->report = NULL;
    if (s == SOA_OK)
        *result = log;
    else
        soa_log_close(log);
    return s;
}
soa_status soa_log_open(const char *path, soa_log **log, soa_report *report) {
    soai_report_reset(report);
    if (!path || !log)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "log: an argument is missing");
    struct stat about;
    /* Opening a pipe must not block. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (fstat(fd, &about) || !S_ISREG(about.st_mode)) {
        close(fd);
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: no regular file", path);
    }
    return soai_report_end(report, soai_log_open(fd, NULL, 0, path, log, report));
}
void soa_log_close(soa_log *log) {
    if (!log) return;
    if (log->fd >= 0) close(log->fd);
    free(log->path);
    free(log->scenario);
    free(log->program);
    free(log->signals);
    free(log->window);
    free(log->node);
    free(log->event_at);
    free(log->text);
    free(log);
}

soa_status soa_log_refresh(soa_log *log, bool *news, soa_report *report) {
    soai_report_reset(report);
    if (!log) return soai_report(report, SOA_E_ARGUMENT, -1, 0, "log: an argument is missing");
    log->report = report;
    const soai_place before = log->place;
    const int complete = log->complete;
    soa_status s = look_at_size(log);
    if (s == SOA_OK && log->size < log->start)
        s = SAY(SOA_E_FORMAT, "%.150s: its header was cut away", log->path);
    if (s == SOA_OK && complete) { /* check that the end record is still there */
        record r;
        log->ahead = 0;
        s = read_head(log, before.end - HEAD - END_SIZE, before.end, &r);
        if (s == SOA_E_CHECKSUM || (s == SOA_OK && r.type != TYPE_END)) s = find_end(log);
    } else if (s == SOA_OK) {
        s = log->size < before.end ? find_end(log) : go_on(log, log->size);
    }
    if (news)
        *news = s == SOA_OK && (log->place.end != before.end ||
                                log->place.samples != before.samples || log->complete != complete);
    log->report = NULL;
    return soai_report_end(report, s);
}

void soa_log_get_info(const soa_log *log, soa_log_info *info) {
    if (!log || !info) return;
    const soai_place *p = &log->place;
    memset(info, 0, sizeof *info);
    info->scenario = log->scenario;
    info->scenario_size = log->scenario_size;
    info->program_version = log->program;
    info->version = SOA_JOURNAL_VERSION;
    info->signal_count = log->signal_count;
    info->signals = log->signals;
    info->samples = (int64_t)p->samples;
    info->events = (int64_t)p->events;
    info->checkpoints = (int64_t)p->checkpoints;
    info->first = p->t_first;
    info->last = p->t_last;
    info->checkpoint = log->checkpoint;
    info->complete = log->complete;
    info->bytes = (int64_t)p->end;
    info->torn = log->size > p->end ? (int64_t)(log->size - p->end) : 0;
}
int soa_log_find_signal(const soa_log *log, const char *name) {
    for (int i = 0; log && name && i < log->signal_count; ++i)
        if (!strcmp(log->signals[i].name, name)) return i;
    return -1;
}

/* --- samples ---------------------------------------------------------------------------------- */
/* Finds the next sample record from *offset on and checks its payload. *offset becomes the offset
 * after it. */
static soa_status next_sample(soa_log *log, uint64_t *offset, const uint8_t **payload) {
    for (;;) {
        record r;
        const uint64_t at = *offset;
        soa_status s = read_head(log, at, log->place.end, &r);
        if (s == SOA_OK) *offset = r.next;
        if (s == SOA_OK && r.type != TYPE_SAMPLE) continue;
        if (s == SOA_OK && r.length != 8 + 8 * (size_t)log->signal_count) s = SOA_E_CHECKSUM;
        if (s == SOA_OK) s = read_payload(log, &r, payload);
        if (s == SOA_OK && !isfinite(get_f64(*payload))) s = SOA_E_CHECKSUM;
        if (s == SOA_E_CHECKSUM) damaged(log, at);
        return s;
    }
}
/* Descends from the peaks to the block of 64 samples that contains `sample`, or if by_time to the
 * first block whose last time is >= t. *offset: its first record; *first: its first sample. In the
 * tail, which has no node yet: the tail itself. */
static soa_status find_block(soa_log *log, uint64_t sample, int by_time, double t, uint64_t *first,
                             uint64_t *offset) {
    const soai_place *p = &log->place;
    uint64_t at = 0;
    int level = -1;
    *first = 0;
    for (int k = 0; k < p->peaks && level < 0; ++k) {
        if (by_time ? p->peak[k].t_last >= t : sample < *first + span_of(p->peak[k].level)) {
            level = p->peak[k].level;
            at = p->peak[k].offset;
            *offset = p->peak[k].start;
        } else {
            *first += span_of(p->peak[k].level);
        }
    }
    if (level < 0) *offset = p->tail ? p->tail_offset[0] : p->end;
    for (; level > 0; --level) {
        const soa_status s = read_node(log, at, level, *first);
        if (s != SOA_OK) return s;
        const uint64_t span = span_of(level - 1);
        int i = 0;
        if (!by_time)
            i = (int)((sample - *first) / span);
        else
            while (i < FAN - 1 && !(get_f64(log->node + NODE_BASE + i * CHILD_SIZE + 24) >= t))
                ++i;
        const uint8_t *child = log->node + NODE_BASE + i * CHILD_SIZE;
        const uint64_t its = get_u64(child);
        *offset = get_u64(child + 8);
        if (its >= at || *offset >= its) return SOA_E_CHECKSUM;
        at = its;
        *first += (uint64_t)i * span;
    }
    return *offset >= log->start ? SOA_OK : SOA_E_CHECKSUM;
}
soa_status soa_log_find_sample(soa_log *log, double t, int64_t *sample, soa_report *report) {
    soai_report_reset(report);
    if (!log || !sample || isnan(t))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "log: an argument is missing");
    uint64_t first, offset;
    log->report = report;
    soa_status s = find_block(log, 0, 1, t, &first, &offset);
    /* The tree is damaged: read the samples from the start. */
    if (s == SOA_E_CHECKSUM) {
        s = SOA_OK;
        first = 0;
        offset = log->start;
    }
    log->ahead = log->room;
    while (s == SOA_OK && first < log->place.samples) {
        const uint8_t *payload;
        const uint64_t before = offset;
        s = next_sample(log, &offset, &payload);
        if (s == SOA_OK && get_f64(payload) >= t) {
            log->next_sample = first;
            log->next_offset = before;
            break;
        }
        ++first;
    }
    if (s == SOA_OK) *sample = (int64_t)first;
    log->report = NULL;
    return soai_report_end(report, s);
}

static int check_wanted(const soa_log *log, const int *signals, int count) {
    if (signals && count < 0) return 0;
    for (int i = 0; signals && i < count; ++i)
        if (signals[i] < 0 || signals[i] >= log->signal_count) return 0;
    return 1;
}
soa_status soa_log_read_samples(soa_log *log, const soa_log_range *range, double *t, double *values,
                                int64_t *got, soa_report *report) {
    soai_report_reset(report);
    if (!range) return soai_report_end(report, SOA_E_ARGUMENT);
    int64_t first = range->first;
    int64_t count = range->count;
    const int *signals = range->signals;
    int signal_count = range->signal_count;
    if (got) *got = 0;
    if (!log || !got || first < 0 || count < 0 || !check_wanted(log, signals, signal_count))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "log: an argument is missing or out of range");
    const uint64_t samples = log->place.samples;
    if ((uint64_t)first >= samples || !count) return SOA_OK;
    if ((uint64_t)count > samples - (uint64_t)first) count = (int64_t)(samples - (uint64_t)first);
    if (!signals) signal_count = log->signal_count;
    uint64_t sample = log->next_sample, offset = log->next_offset;
    const uint8_t *payload;
    soa_status s = SOA_OK;
    log->report = report;
    if (sample != (uint64_t)first) {
        s = find_block(log, (uint64_t)first, 0, 0, &sample, &offset);
        if (s == SOA_E_CHECKSUM) {
            s = SOA_OK;
            sample = 0;
            offset = log->start;
        }
    }
    const uint64_t record_size = HEAD + 8 + 8 * (uint64_t)log->signal_count;
    log->ahead = (uint64_t)count < log->room / record_size ? (size_t)((uint64_t)count * record_size)
                                                           : log->room;
    for (; s == SOA_OK && sample < (uint64_t)first; ++sample)
        s = next_sample(log, &offset, &payload);
    for (; s == SOA_OK && *got < count; ++sample) {
        s = next_sample(log, &offset, &payload);
        if (s != SOA_OK) break;
        if (t) t[*got] = get_f64(payload);
        double *row = values ? values + (size_t)*got * (size_t)signal_count : NULL;
        for (int i = 0; row && i < signal_count; ++i)
            row[i] = get_f64(payload + 8 + 8 * (signals ? signals[i] : i));
        ++*got;
    }
    log->next_sample = s == SOA_OK ? sample : UINT64_MAX;
    log->next_offset = offset;
    log->report = NULL;
    return soai_report_end(report, s);
}

/* --- overview --------------------------------------------------------------------------------- */
typedef struct overview {
    const int *signals;
    int count, columns;
    double t0, t1, scale;
    double *min, *max;
} overview;

static int column_of(const overview *o, double t) {
    const double x = (t - o->t0) * o->scale;
    if (!(x >= 0)) return 0;
    if (x >= o->columns) return o->columns - 1;
    return (int)x;
}
/* Adds values to a column: min and max per signal, or one value per signal. */
static void add_to_column(const overview *o, int column, const uint8_t *values, int stride) {
    for (int i = 0; i < o->count; ++i) {
        const uint8_t *v = values + (size_t)stride * (size_t)(o->signals ? o->signals[i] : i);
        const size_t at = (size_t)i * (size_t)o->columns + (size_t)column;
        double both[2] = {o->min[at], o->max[at]};
        bound(both, get_f64(v), get_f64(v + stride - 8));
        o->min[at] = both[0];
        o->max[at] = both[1];
    }
}
static soa_status add_samples(soa_log *log, const overview *o, uint64_t offset, int count) {
    const uint64_t size = (uint64_t)count * (HEAD + 8 + 8 * (uint64_t)log->signal_count);
    log->ahead = size < log->room ? (size_t)size : log->room;
    for (int i = 0; i < count; ++i) {
        const uint8_t *payload;
        const soa_status s = next_sample(log, &offset, &payload);
        if (s != SOA_OK) return s;
        const double t = get_f64(payload);
        if (t >= o->t0 && t <= o->t1) add_to_column(o, column_of(o, t), payload + 8, 8);
    }
    return SOA_OK;
}
/* How an interval of time lies relative to the overview: outside it, within one column (the result
 * is the column's number), or neither. */
enum { APART = -1, ACROSS = -2 };
static int column_around(const overview *o, double t_first, double t_last) {
    if (!(t_last >= o->t0 && t_first <= o->t1)) return APART;
    const int column = column_of(o, t_first);
    return t_first >= o->t0 && t_last <= o->t1 && column_of(o, t_last) == column ? column : ACROSS;
}
/* Adds the children of a node of level > 0: from the node itself if they lie within one column,
 * else one by one. */
static soa_status add_children(soa_log *log, const overview *o, uint64_t offset, int level,
                               uint64_t first) {
    uint8_t children[FAN * CHILD_SIZE];
    soa_status s = read_node(log, offset, level, first);
    if (s == SOA_E_CHECKSUM) damaged(log, offset);
    if (s != SOA_OK) return s;
    memcpy(children, log->node + NODE_BASE, sizeof children);
    for (int i = 0; i < FAN; ++i) {
        const uint8_t *child = children + i * CHILD_SIZE;
        const int column = column_around(o, get_f64(child + 16), get_f64(child + 24));
        if (column >= 0)
            add_to_column(o, column,
                          log->node + node_head(level) + 16 * (size_t)log->signal_count * (size_t)i,
                          16);
    }
    /* From here on log->node is no longer needed and is overwritten. */
    for (int i = 0; s == SOA_OK && i < FAN; ++i) {
        const uint8_t *child = children + i * CHILD_SIZE;
        const uint64_t at = get_u64(child), start = get_u64(child + 8);
        if (column_around(o, get_f64(child + 16), get_f64(child + 24)) != ACROSS) continue;
        if (at >= offset || start >= at) return damaged(log, offset);
        s = level == 1
                ? add_samples(log, o, start, BLOCK)
                : add_children(log, o, at, level - 1, first + (uint64_t)i * span_of(level - 1));
    }
    return s;
}
/* Adds a node that has no parent. */
static soa_status add_peak(soa_log *log, const overview *o, const soai_peak *peak, uint64_t first) {
    const int column = column_around(o, peak->t_first, peak->t_last);
    if (column == APART) return SOA_OK;
    if (peak->level > 0) return add_children(log, o, peak->offset, peak->level, first);
    if (column == ACROSS) return add_samples(log, o, peak->start, BLOCK);
    const soa_status s = read_node(log, peak->offset, 0, first);
    if (s == SOA_E_CHECKSUM) damaged(log, peak->offset);
    if (s == SOA_OK) add_to_column(o, column, log->node + node_head(0), 16);
    return s;
}
soa_status soa_log_overview(soa_log *log, const soa_log_window *window, double *min, double *max,
                            soa_report *report) {
    soai_report_reset(report);
    if (!window) return soai_report_end(report, SOA_E_ARGUMENT);
    const int *signals = window->signals;
    int signal_count = window->signal_count;
    double t0 = window->t0;
    double t1 = window->t1;
    int columns = window->columns;
    if (!log || !min || !max || columns < 1 || !check_wanted(log, signals, signal_count) ||
        !isfinite(t0) || !isfinite(t1) || !isfinite(t1 - t0) || t1 < t0)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "log: an argument is missing or out of range");
    const overview o = {signals, signals ? signal_count : log->signal_count, columns, t0,
                        t1,      t1 > t0 ? columns / (t1 - t0) : 0,          min,     max};
    const soai_place *p = &log->place;
    for (size_t i = 0; i < (size_t)o.count * (size_t)columns; ++i)
        min[i] = max[i] = NAN;
    uint64_t first = 0;
    soa_status s = SOA_OK;
    log->report = report;
    for (int k = 0; s == SOA_OK && k < p->peaks; ++k) {
        const soai_peak *peak = p->peak + k;
        s = add_peak(log, &o, peak, first);
        first += span_of(peak->level);
    }
    if (s == SOA_OK && p->tail && p->tail_t[0] <= t1 && p->t_last >= t0)
        s = add_samples(log, &o, p->tail_offset[0], p->tail);
    log->report = NULL;
    return soai_report_end(report, s);
}

/* --- events and checkpoints ------------------------------------------------------------------- */
/* Reads the event record at offset, which must have this number. *before: offset of the previous
 * event. */
static soa_status read_event(soa_log *log, uint64_t offset, uint64_t number,
                             const uint8_t **payload, uint64_t *before) {
    record r;
    log->ahead = 512;
    soa_status s = read_head(log, offset, log->place.end, &r);
    if (s == SOA_OK && (r.type != TYPE_EVENT || r.length < EVENT_BASE)) s = SOA_E_CHECKSUM;
    if (s == SOA_OK) s = read_payload(log, &r, payload);
    if (s != SOA_OK) return s;
    const uint32_t kind = get_u32(*payload + 24), text = get_u32(*payload + 28);
    *before = get_u64(*payload + 16);
    if (get_u64(*payload + 8) != number || *before >= offset || kind > SOA_JOURNAL_MAX_NAME ||
        text > SOA_JOURNAL_MAX_TEXT || r.length != EVENT_BASE + kind + text ||
        !isfinite(get_f64(*payload)))
        return SOA_E_CHECKSUM;
    return SOA_OK;
}
/* Finds the offsets of all events: by their chain or, if that is broken, by reading the whole
 * file. */
static soa_status know_events(soa_log *log) {
    const uint64_t count = log->place.events;
    if (log->event_known >= count) return SOA_OK;
    if (count > log->size / (HEAD + EVENT_BASE)) return damaged(log, log->place.end);
    if (log->event_room < count) {
        uint64_t *more = realloc(log->event_at, (size_t)count * sizeof *more);
        if (!more) return SAY(SOA_E_MEMORY, "%.150s: no memory", log->path);
        log->event_at = more;
        log->event_room = count;
    }
    soa_status s = SOA_OK;
    uint64_t at = log->place.last_event, i = count;
    while (s == SOA_OK && i > log->event_known) {
        const uint8_t *payload;
        log->event_at[--i] = at;
        s = read_event(log, at, i, &payload, &at);
    }
    if (s == SOA_E_CHECKSUM) {
        s = SOA_OK;
        i = 0;
        log->ahead = log->room;
        for (at = log->start; s == SOA_OK && i < count && at < log->place.end;) {
            record r;
            s = read_head(log, at, log->place.end, &r);
            if (s == SOA_OK && r.type == TYPE_EVENT) log->event_at[i++] = at;
            if (s == SOA_OK) at = r.next;
        }
        if (s == SOA_E_CHECKSUM || (s == SOA_OK && i < count)) return damaged(log, at);
    }
    if (s == SOA_OK) log->event_known = count;
    return s;
}
soa_status soa_log_read_event(soa_log *log, int64_t index, soa_log_event_info *event,
                              soa_report *report) {
    soai_report_reset(report);
    if (!log || !event || index < 0 || (uint64_t)index >= log->place.events)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "log: no such event");
    log->report = report;
    soa_status s = know_events(log);
    if (s == SOA_OK) {
        const uint8_t *payload;
        uint64_t before;
        s = read_event(log, log->event_at[index], (uint64_t)index, &payload, &before);
        if (s == SOA_E_CHECKSUM) damaged(log, log->event_at[index]);
        if (s == SOA_OK) {
            const uint32_t kind = get_u32(payload + 24), text = get_u32(payload + 28);
            memcpy(log->text, payload + EVENT_BASE, kind);
            log->text[kind] = 0;
            memcpy(log->text + kind + 1, payload + EVENT_BASE + kind, text);
            log->text[kind + 1 + text] = 0;
            *event = (soa_log_event_info){get_f64(payload), log->text, log->text + kind + 1};
        }
    }
    log->report = NULL;
    return soai_report_end(report, s);
}

soa_status soa_log_read_checkpoint(soa_log *log, double *t, void **blob, size_t *size,
                                   soa_report *report) {
    soai_report_reset(report);
    if (!log || !t || !blob || !size)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "log: an argument is missing");
    const uint64_t offset = log->place.last_checkpoint;
    if (!offset) {
        *t = 0;
        *blob = NULL;
        *size = 0;
        return SOA_OK;
    }
    uint8_t fixed[CHECKPOINT_BASE];
    record r;
    log->report = report;
    soa_status s = read_checkpoint(log, offset, fixed, &r);
    if (s == SOA_E_CHECKSUM) damaged(log, offset);
    if (s == SOA_OK) {
        /* read_head has checked that it is within the file. */
        const size_t n = r.length - CHECKPOINT_BASE;
        uint8_t *bytes = malloc(n + 1);
        size_t got = 0;
        if (!bytes)
            s = SAY(SOA_E_MEMORY, "%.150s: no memory", log->path);
        else
            s = read_at(log, r.payload + CHECKPOINT_BASE, bytes, n, &got);
        if (s == SOA_OK && got < n)
            s = SAY(SOA_E_FILE, "%.150s: became shorter while it was read", log->path);
        if (s == SOA_OK) {
            *t = get_f64(fixed);
            *blob = bytes;
            *size = n;
        } else {
            free(bytes);
        }
    }
    log->report = NULL;
    return soai_report_end(report, s);
}

/* --- for resuming ----------------------------------------------------------------------------- */
const soai_place *soai_log_place(const soa_log *log) {
    return &log->place;
}
soa_status soai_log_bounds(soa_log *log, uint64_t offset, double *bounds, double *children,
                           soa_report *report) {
    log->report = report;
    const soa_status s = read_node(log, offset, -1, 0);
    if (s == SOA_E_CHECKSUM) damaged(log, offset);
    log->report = NULL;
    if (s != SOA_OK) return s;
    const int level = (int)get_u32(log->node);
    double *to = level ? children : bounds;
    const size_t count = (node_size(level, log->signal_count) - node_head(level)) / 8;
    for (size_t i = 0; i < count; ++i)
        to[i] = get_f64(log->node + node_head(level) + 8 * i);
    if (level) bound_all(bounds, children, log->signal_count);
    return SOA_OK;
}
soa_status soai_log_cut(soa_log *log, int *found, soa_report *report) {
    uint8_t fixed[CHECKPOINT_BASE];
    record r;
    soa_status s = SOA_OK;
    log->report = report;
    *found = 0;
    for (uint64_t at = log->place.last_checkpoint, before; s == SOA_OK && at && !*found;
         at = before) {
        log->complete = 0;
        s = read_checkpoint(log, at, fixed, &r);
        /* Its link to the previous checkpoint is lost: read from the beginning up to it. */
        if (s == SOA_E_CHECKSUM) {
            s = go_to(log, 0);
            if (s == SOA_OK) s = go_on(log, at);
            before = s == SOA_OK ? log->place.last_checkpoint : 0;
            continue;
        }
        if (s != SOA_OK) break;
        const uint64_t end = r.next;
        before = get_u64(fixed + 16);
        uint64_t node = 0;
        if (before) {
            s = read_checkpoint(log, before, fixed, &r);
            if (s == SOA_OK) node = get_u64(fixed + 32);
        }
        if (s == SOA_OK) s = go_to(log, node);
        if (s == SOA_E_CHECKSUM) s = go_to(log, 0);
        if (s == SOA_OK) s = go_on(log, end);
        *found = s == SOA_OK && log->place.end == end && log->place.last_checkpoint == at;
    }
    log->complete = 0;
    log->next_sample = UINT64_MAX;
    log->event_known = 0;
    if (s == SOA_OK && !*found) soai_place_start(&log->place, log->start);
    log->report = NULL;
    return s;
}
