/* journal_format.h  the bytes of a journal (docs/journal.md), for its writer and its reader.
 *
 * After the header come records: type, length, checksum of the payload, checksum of these three and the record's own
 * place in the file; then the payload, padded with zeros to a multiple of 8.  All numbers are little-endian.
 *
 * Every 64 samples are followed by a node of level 0 with their smallest and largest values, every 16 nodes of a level by
 * one of the next with those of each of the 16.  Nodes without a parent are peaks; each names the peak before it, so that any node, and any checkpoint,
 * leads to all that was written before.  With s samples there are as many peaks as the digits of s/64 to base 16 add up
 * to.
 *
 * A soai_place is what writer and reader know of a file up to some record; the records' own accounts of it (a node's
 * children, a checkpoint's counts) are made from it by one function for both, and the reader compares bytes.          */
#ifndef SOAI_JOURNAL_FORMAT_H
#define SOAI_JOURNAL_FORMAT_H
#include "../base/base_internal.h"
#include "soa/journal.h"

#include <math.h>

#define JOURNAL_MAGIC "\x89SOAJNL\n"
enum {
    HEADER_SIZE = 64, /* of the header before its texts */
    ENDIAN_MARK = 0x01020304,
    HEAD = 16,  /* of a record */
    BLOCK = 64, /* samples of a node of level 0 */
    FAN = 16,   /* children of the others       */
    LEVELS = 9, /* so 2^42 samples at most      */
    PEAKS = LEVELS * FAN,
    NODE_BASE = 88,
    CHILD_SIZE = 32,
    NODE_HEAD_MOST = NODE_BASE + FAN * CHILD_SIZE,
    EVENT_BASE = 32,
    CHECKPOINT_BASE = 64,
    END_SIZE = 64
};
#define TYPE_(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TYPE_SAMPLE TYPE_('S', 'M', 'P', 'L')
#define TYPE_NODE TYPE_('N', 'O', 'D', 'E')
#define TYPE_EVENT TYPE_('E', 'V', 'N', 'T')
#define TYPE_CHECKPOINT TYPE_('C', 'K', 'P', 'T')
#define TYPE_END TYPE_('E', 'N', 'D', '.')

/* --- numbers as bytes ----------------------------------------------------------------------------------------------- */
static inline void put_u16(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)x, p[1] = (uint8_t)(x >> 8);
}
static inline void put_u32(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; ++i) p[i] = (uint8_t)(x >> 8 * i);
}
static inline void put_u64(uint8_t *p, uint64_t x) {
    for (int i = 0; i < 8; ++i) p[i] = (uint8_t)(x >> 8 * i);
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

/* --- CRC-32C (Castagnoli), journal_crc.c ---------------------------------------------------------------------------- */
typedef struct soai_crc {
    uint32_t table[8][256];
    int hardware;
} soai_crc;
void soai_crc_init(soai_crc *c);
/* Of all bytes so far, from 0. */
uint32_t soai_crc_add(const soai_crc *c, uint32_t crc, const void *data, size_t size);
/* A record's head; the payload's checksum is of the padded payload. */
void soai_head_put(const soai_crc *c, uint8_t head[HEAD], uint64_t offset, uint32_t type, uint32_t length,
                   uint32_t payload_crc);
int soai_head_good(const soai_crc *c, const uint8_t head[HEAD], uint64_t offset);

/* --- the place in a file, journal_place.c --------------------------------------------------------------------------- */
typedef struct soai_peak {
    uint64_t offset, start; /* of the node; of its first sample */
    int level;
    double t_first, t_last;
} soai_peak;
typedef struct soai_place {
    uint64_t end; /* of the last record */
    uint64_t samples, events, checkpoints;
    uint64_t last_node, last_event, last_checkpoint; /* offsets, 0: none; last_node is the top of the peaks */
    double t_first, t_last;                          /* of samples */
    int tail;                                        /* samples since the last node of level 0 */
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
/* The level of the node that must come next, or -1. */
int soai_place_due(const soai_place *p);
/* What the next record says of the place: the first node_head(level) bytes of a node; all of an end record; of an event
 * and a checkpoint what stands before their own contents (t included). */
void soai_place_node(const soai_place *p, int level, uint8_t *payload);
void soai_place_end(const soai_place *p, uint8_t payload[END_SIZE]);
void soai_place_event(const soai_place *p, double t, uint32_t kind, uint32_t text, uint8_t payload[EVENT_BASE]);
void soai_place_checkpoint(const soai_place *p, double t, uint64_t blob, uint8_t payload[CHECKPOINT_BASE]);
/* The record at p->end, of that payload length, is there. */
void soai_place_pass(soai_place *p, uint32_t type, uint32_t length, double t);

/* --- smallest and largest ------------------------------------------------------------------------------------------- */
/* bounds[2]: NaN, NaN before the first number; NaN is skipped. */
static inline void bound(double bounds[2], double low, double high) {
    if (low == low && !(bounds[0] <= low)) bounds[0] = low;
    if (high == high && !(bounds[1] >= high)) bounds[1] = high;
}
static inline void unbound(double *bounds, int signals) {
    for (int i = 0; i < 2 * signals; ++i) bounds[i] = NAN;
}
/* Of a node, from those of its 16 children. */
static inline void bound_all(double *bounds, const double *children, int signals) {
    unbound(bounds, signals);
    for (int k = 0; k < FAN; ++k, children += 2 * signals)
        for (int i = 0; i < signals; ++i) bound(bounds + 2 * i, children[2 * i], children[2 * i + 1]);
}

/* --- what the reader offers the writer, journal_read.c --------------------------------------------------------------- */
/* Reads from a file descriptor, which it owns from then on, or from memory (fd < 0). */
soa_status soai_log_open(int fd, const void *memory, size_t size, const char *path, soa_log **log, soa_report *report);
/* The last checkpoint before which everything since the one before it is good; the log's place becomes the one just after
 * it (or after the header: *found = 0). */
soa_status soai_log_cut(soa_log *log, int *found, soa_report *report);
const soai_place *soai_log_place(const soa_log *log);
/* bounds[signals][2] of a node; children[FAN][signals][2] is room. */
soa_status soai_log_bounds(soa_log *log, uint64_t offset, double *bounds, double *children, soa_report *report);
#endif
