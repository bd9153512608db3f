/* journal_place.c  state of a journal up to some record, and what records store of it. Writer and
 * reader share these functions. */
#include "journal_format.h"

void soai_place_start(soai_place *p, uint64_t header_end) {
    memset(p, 0, sizeof *p);
    p->end = header_end;
    p->t_first = p->t_last = NAN;
}

int soai_place_due(const soai_place *p) {
    if (p->tail == BLOCK) return 0;
    if (p->peaks < FAN) return -1;
    const int level = p->peak[p->peaks - 1].level;
    return p->peak[p->peaks - FAN].level == level && level + 1 < LEVELS ? level + 1 : -1;
}

void soai_place_node(const soai_place *p, int level, uint8_t *payload) {
    const soai_peak *child = p->peak + p->peaks - (level ? FAN : 0);
    const int before = (int)(child - p->peak) - 1;
    put_u32(payload, (uint32_t)level);
    put_u32(payload + 4, level ? FAN : BLOCK);
    put_u64(payload + 8, p->samples - span_of(level));
    put_u64(payload + 16, span_of(level));
    put_f64(payload + 24, level ? child[0].t_first : p->tail_t[0]);
    put_f64(payload + 32, level ? child[FAN - 1].t_last : p->tail_t[BLOCK - 1]);
    put_u64(payload + 40, before >= 0 ? p->peak[before].offset : 0);
    put_u64(payload + 48, p->last_event);
    put_u64(payload + 56, p->events);
    put_u64(payload + 64, p->last_checkpoint);
    put_u64(payload + 72, p->checkpoints);
    put_u64(payload + 80, level ? child[0].start : p->tail_offset[0]);
    for (int i = 0; level && i < FAN; ++i) {
        uint8_t *row = payload + NODE_BASE + i * CHILD_SIZE;
        put_u64(row, child[i].offset);
        put_u64(row + 8, child[i].start);
        put_f64(row + 16, child[i].t_first);
        put_f64(row + 24, child[i].t_last);
    }
}
void soai_place_end(const soai_place *p, uint8_t payload[END_SIZE]) {
    put_u64(payload, p->samples);
    put_u64(payload + 8, p->last_node);
    put_u64(payload + 16, p->events);
    put_u64(payload + 24, p->last_event);
    put_u64(payload + 32, p->checkpoints);
    put_u64(payload + 40, p->last_checkpoint);
    put_f64(payload + 48, p->samples ? p->t_first : 0);
    put_f64(payload + 56, p->samples ? p->t_last : 0);
}
void soai_place_event(const soai_place *p, double t, uint32_t kind, uint32_t text,
                      uint8_t payload[EVENT_BASE]) {
    put_f64(payload, t);
    put_u64(payload + 8, p->events);
    put_u64(payload + 16, p->last_event);
    put_u32(payload + 24, kind);
    put_u32(payload + 28, text);
}
void soai_place_checkpoint(const soai_place *p, double t, uint64_t blob,
                           uint8_t payload[CHECKPOINT_BASE]) {
    put_f64(payload, t);
    put_u64(payload + 8, p->checkpoints);
    put_u64(payload + 16, p->last_checkpoint);
    put_u64(payload + 24, p->samples);
    put_u64(payload + 32, p->last_node);
    put_u64(payload + 40, p->events);
    put_u64(payload + 48, p->last_event);
    put_u64(payload + 56, blob);
}

void soai_place_pass(soai_place *p, uint32_t type, uint32_t length, double t) {
    if (type == TYPE_SAMPLE) {
        p->tail_offset[p->tail] = p->end;
        p->tail_t[p->tail++] = t;
        if (!p->samples++) p->t_first = t;
        p->t_last = t;
    } else if (type == TYPE_NODE) {
        const int level = soai_place_due(p);
        soai_peak node = {p->end, p->tail_offset[0], level, p->tail_t[0], p->t_last};
        if (level) {
            const soai_peak *child = p->peak + (p->peaks -= FAN);
            node.start = child[0].start;
            node.t_first = child[0].t_first;
            node.t_last = child[FAN - 1].t_last;
        } else {
            p->tail = 0;
        }
        p->peak[p->peaks++] = node;
        p->last_node = p->end;
    } else if (type == TYPE_EVENT) {
        ++p->events;
        p->last_event = p->end;
    } else if (type == TYPE_CHECKPOINT) {
        ++p->checkpoints;
        p->last_checkpoint = p->end;
    }
    p->end += HEAD + padded(length);
}
