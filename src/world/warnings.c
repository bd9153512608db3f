/* warnings.c  warnings of a run: one entry for each code and name, with the worst value seen.
 *
 * Warnings are part of the state block, so a resumed run ends with the same list. The moves made by
 * the assembly of loops at the start are listed with them; they follow from the scenario alone and
 * are computed again with the world. */
#include "world_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Compares two values of a warning: the larger magnitude is worse; anything is worse than NaN. */
static int is_worse(double value, double than) {
    return !(fabs(value) <= fabs(than)) && value == value;
}

void soai_warn(soa_world *w, const char *code, const char *name, double value, const char *format,
               ...) {
    soai_warnings *list = &w->state->warnings;
    for (int i = 0; i < list->count; ++i) {
        soa_world_warning *old = &list->entry[i];
        if (strcmp(old->code, code) != 0 || strncmp(old->name, name, sizeof old->name - 1) != 0)
            continue;
        if (!is_worse(value, old->value)) return;
        old->value = value;
        va_list args;
        va_start(args, format);
        vsnprintf(old->remedy, sizeof old->remedy, format, args);
        va_end(args);
        return;
    }
    if (list->count == SOAI_WARNINGS) {
        ++list->more;
        return;
    }
    soa_world_warning *entry = &list->entry[list->count++];
    *entry = (soa_world_warning){.t = w->state->t, .value = value};
    snprintf(entry->code, sizeof entry->code, "%s", code);
    snprintf(entry->name, sizeof entry->name, "%s", name);
    va_list args;
    va_start(args, format);
    vsnprintf(entry->remedy, sizeof entry->remedy, format, args);
    va_end(args);
    soai_event(w, w->state->t, "warning", "%s: %.70s", code, name);
}

/* Checks a list read from a saved state: counts within bounds, texts terminated. */
int soai_warnings_fit(const soa_world *w) {
    const soai_warnings *list = &w->state->warnings;
    if (list->count < 0 || list->count > SOAI_WARNINGS || list->more < 0) return 0;
    for (int i = 0; i < list->count; ++i) {
        const soa_world_warning *entry = &list->entry[i];
        if (!memchr(entry->code, 0, sizeof entry->code)) return 0;
        if (!memchr(entry->name, 0, sizeof entry->name)) return 0;
        if (!memchr(entry->remedy, 0, sizeof entry->remedy)) return 0;
    }
    return 1;
}

soa_status soai_note_move(soa_world *w, const char *name, double from, double to) {
    soa_world_move *more = realloc(w->moves, ((size_t)w->move_count + 1) * sizeof *more);
    if (!more) return SOA_E_MEMORY;
    w->moves = more;
    soa_world_move *move = &w->moves[w->move_count++];
    *move = (soa_world_move){.from = from, .to = to};
    snprintf(move->name, sizeof move->name, "%s", name);
    return SOA_OK;
}

const soa_world_warning *soa_world_warnings(const soa_world *w, int *count) {
    if (count) *count = w ? w->state->warnings.count : 0;
    return w ? w->state->warnings.entry : NULL;
}
const soa_world_move *soa_world_assembly(const soa_world *w, int *count) {
    if (count) *count = w ? w->move_count : 0;
    return w ? w->moves : NULL;
}
