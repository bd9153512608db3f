/* message.h  requests of a page (docs/view-protocol.md), read from JSON and checked. */
#ifndef VIEW_MESSAGE_H
#define VIEW_MESSAGE_H
#include <stddef.h>
#include <stdint.h>

enum {
    VIEW_MESSAGE_MOST = 4096,
    VIEW_SIGNALS_MOST = 64,
    VIEW_COLUMNS_MOST = 8192,
    VIEW_STEPS_MOST = 1000
};
#define VIEW_VALUES_MOST 1000000

typedef enum view_do {
    VIEW_FRAME,
    VIEW_OVERVIEW,
    VIEW_SAMPLES,
    VIEW_PLAY,
    VIEW_PAUSE,
    VIEW_STEP,
    VIEW_SPEED,
    VIEW_RESET,
    VIEW_JOINT,
    VIEW_PULL,
    VIEW_RELEASE,
    VIEW_DO_COUNT
} view_do;

typedef struct view_message {
    view_do what;
    uint32_t id;                    /* FRAME, OVERVIEW, SAMPLES */
    double t, t0, t1;               /* finite, t0 <= t1 */
    int signal_count, columns;      /* columns of an overview: 1 to VIEW_COLUMNS_MOST */
    int signals[VIEW_SIGNALS_MOST]; /* not negative; not checked here whether they exist */
    int count;                      /* STEP: ticks, 1 to VIEW_STEPS_MOST */
    int q, has_value, body;         /* JOINT: number of the coordinate; PULL: body */
    double value;                   /* SPEED: not negative; JOINT */
    double at[3], to[3];            /* PULL: point in the body, in the world */
} view_message;

/* Returns 0, or -1 with a sentence in `why` (at most 99 bytes). */
int view_message_parse(const char *text, size_t size, view_message *message, char why[100]);

/* Compares a Host (or the address of an Origin) with another. Case does not matter, nor a port 80,
 * which clients omit. */
int view_same_host(const char *given, const char *own);

#endif
