/* journal_format.h  the bytes of a journal (docs/journal.md), for its writer and its reader.
 *
 * After the header come records. A record begins with its type, its length, the checksum of the
 * payload, and a checksum of these three and of the record's offset in the file. The payload
 * follows, padded with zeros to a multiple of 8. All numbers are little-endian.
 *
 * Every 64 samples are followed by a node of level 0 with their smallest and largest values. Every
 * 16 nodes of a level are followed by a node of the next level with the values of each of the 16. A
 * node without a parent is called a peak; it stores the offset of the peak before it, so all
 * earlier nodes can be found from any node or checkpoint. With s samples, the number of peaks is
 * the sum of the digits of s/64 in base 16.
 *
 * soai_place describes the state of a file up to some record. Nodes, events, checkpoints and end
 * records store parts of this state (a node's children, a checkpoint's counts). One function writes
 * them for both writer and reader; the reader compares the bytes. */
#ifndef SOAI_JOURNAL_FORMAT_H
#define SOAI_JOURNAL_FORMAT_H
#include "../base/base_internal.h"
#include "soa/journal.h"

#include <math.h>

#define JOURNAL_MAGIC "\x89SOAJNL\n"
enum {
    HEADER_SIZE = 64, /* bytes of the header before its texts */
    ENDIAN_MARK = 0x01020304,
    HEAD = 16,  /* bytes of a record before its payload */
    BLOCK = 64, /* samples per node of level 0 */
    FAN = 16,   /* children per node of the other levels */
    LEVELS = 9, /* at most 2^42 samples */
    PEAKS = LEVELS * FAN,
    NODE_BASE = 88,
    CHILD_SIZE = 32,
    NODE_HEAD_MOST = NODE_BASE + FAN * CHILD_SIZE,
    EVENT_BASE = 32,
    CHECKPOINT_BASE = 64,
    END_SIZE = 64
};
#define TYPE_(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TYPE_SAMPLE TYPE_('S', 'M', 'P', 'L')
#define TYPE_NODE TYPE_('N', 'O', 'D', 'E')
#define TYPE_EVENT TYPE_('E', 'V', 'N', 'T')
#define TYPE_CHECKPOINT TYPE_('C', 'K', 'P', 'T')
#define TYPE_END TYPE_('E', 'N', 'D', '.')

/* --- numbers as bytes ------------------------------------------------------------------------- */
static inline void put_u16(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
}
static inline void put_u32(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; ++i)
        p[i] = (uint8_t)(x >> 8 * i);
}
static inline void put_u64(uint8_t *p, uint64_t x) {
    for (int i = 0; i < 8; ++i)
        p[i] = (uint8_t)(x >> 8 * i);
}
static inline uint32_t get_u16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}
static inline uint32_t get_u32(const uint8_t *p) {
    return get_u16(p) | get_u16(p + 2) << 16;
}
static inline uint64_t get_u64(const uint8_t *p) {
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}
static inline void put_f64(uint8_t *p, double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    put_u64(p, bits);
}
static inline double get_f64(const uint8_t *p) {
    const uint64_t bits = get_u64(p);
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
static inline size_t padded(size_t length) {
    return (length + 7) & ~(size_t)7;
}

/* --- CRC-32C (Castagnoli), journal_crc.c ------------------------------------------------------ */
typedef struct soai_crc {
    uint32_t table[8][256];
    int hardware;
} soai_crc;
void soai_crc_init(soai_crc *c);
/* Checksum of all bytes so far; it begins with 0. */
uint32_t soai_crc_add(const soai_crc *c, uint32_t crc, const void *data, size_t size);
/* Writes the head of a record. payload_crc is the checksum of the padded payload. */
void soai_head_put(const soai_crc *c, uint8_t head[HEAD], uint64_t offset, uint32_t type,
                   uint32_t length, uint32_t payload_crc);
int soai_head_good(const soai_crc *c, const uint8_t head[HEAD], uint64_t offset);

/* --- state of a file up to some record, journal_place.c --------------------------------------- */
typedef struct soai_peak {
    uint64_t offset, start; /* offset of the node; number of its first sample */
    int level;
    double t_first, t_last;
} soai_peak;
typedef struct soai_place {
    uint64_t end; /* end of the last record */
    uint64_t samples, events, checkpoints;
    /* Offsets; 0: none. last_node is the last of the peaks. */
    uint64_t last_node, last_event, last_checkpoint;
    double t_first, t_last; /* times of samples */
    int tail;               /* samples since the last node of level 0 */
    uint64_t tail_offset[BLOCK];
    double tail_t[BLOCK];
    int peaks;
    soai_peak peak[PEAKS];
} soai_place;

static inline uint64_t span_of(int level) {
    return (uint64_t)BLOCK << 4 * level;
}
static inline size_t node_head(int level) {
    return level > 0 ? NODE_HEAD_MOST : NODE_BASE;
}
static inline size_t node_size(int level, int signals) {
    return node_head(level) + 16 * (size_t)signals * (level > 0 ? FAN : 1);
}
void soai_place_start(soai_place *p, uint64_t header_end);
/* Level of the node that must be written next, or -1. */
int soai_place_due(const soai_place *p);
/* Write what the next record stores of this state: the first node_head(level) bytes of a node, all
 * of an end record, and of an event or checkpoint the bytes up to and including t, before their own
 * contents. */
void soai_place_node(const soai_place *p, int level, uint8_t *payload);
void soai_place_end(const soai_place *p, uint8_t payload[END_SIZE]);
void soai_place_event(const soai_place *p, double t, uint32_t kind, uint32_t text,
                      uint8_t payload[EVENT_BASE]);
void soai_place_checkpoint(const soai_place *p, double t, uint64_t blob,
                           uint8_t payload[CHECKPOINT_BASE]);
/* Updates the state after the record at p->end, with a payload of this length. */
void soai_place_pass(soai_place *p, uint32_t type, uint32_t length, double t);

/* --- bounds: smallest and largest values ------------------------------------------------------ */
/* bounds[2] is NaN, NaN before the first number. NaN values are skipped. */
static inline void bound(double bounds[2], double low, double high) {
    if (low == low && !(bounds[0] <= low)) bounds[0] = low;
    if (high == high && !(bounds[1] >= high)) bounds[1] = high;
}
static inline void unbound(double *bounds, int signals) {
    for (int i = 0; i < 2 * signals; ++i)
        bounds[i] = NAN;
}
/* Bounds of a node, from the bounds of its 16 children. */
static inline void bound_all(double *bounds, const double *children, int signals) {
    unbound(bounds, signals);
    for (int k = 0; k < FAN; ++k, children += 2 * signals)
        for (int i = 0; i < signals; ++i)
            bound(bounds + 2 * i, children[2 * i], children[2 * i + 1]);
}

/* --- functions of the reader that the writer uses, journal_read.c ----------------------------- */
/* Opens a log from a file descriptor, which the log then owns, or from memory (fd < 0). */
soa_status soai_log_open(int fd, const void *memory, size_t size, const char *path, soa_log **log,
                         soa_report *report);
/* Finds the last checkpoint up to which all records since the checkpoint before it are good. Moves
 * the log's state to just after it; or to just after the header, then *found = 0. */
soa_status soai_log_cut(soa_log *log, int *found, soa_report *report);
const soai_place *soai_log_place(const soa_log *log);
/* Reads bounds[signals][2] of a node; children[FAN][signals][2] is work space. */
soa_status soai_log_bounds(soa_log *log, uint64_t offset, double *bounds, double *children,
                           soa_report *report);
#endif
