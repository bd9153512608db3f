/* message.c  parses requests of a page: JSON of at most 4096 bytes, one object, every field
 * checked.
 *
 * Unknown fields are ignored, unknown requests refused. Numbers must be finite and within the
 * limits of the program. The session checks whether a signal, joint or body exists. */
#include "message.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const names[VIEW_DO_COUNT] = {"frame", "overview", "samples", "play",
                                                 "pause", "step",     "speed",   "reset",
                                                 "joint", "pull",     "release"};

static int fail(char why[100], const char *text, const char *name) {
    snprintf(why, 100, "%s%s%.40s%s", text, name ? " '" : "", name ? name : "", name ? "'" : "");
    return -1;
}

static int number(const json_t *object, const char *key, double *value, char why[100]) {
    const json_t *x = json_object_get(object, key);
    *value = json_number_value(x);
    if (!json_is_number(x) || !isfinite(*value)) return fail(why, "a number is missing:", key);
    return 0;
}
static int whole(const json_t *object, const char *key, double least, double most, double *value,
                 char why[100]) {
    if (number(object, key, value, why)) return -1;
    return *value >= least && *value <= most && *value == floor(*value)
               ? 0
               : fail(why, "out of range:", key);
}
static int small(const json_t *object, const char *key, double least, double most, int *value,
                 char why[100]) {
    double x;
    if (whole(object, key, least, most, &x, why)) return -1;
    *value = (int)x;
    return 0;
}
static int triple(const json_t *object, const char *key, double x[3], char why[100]) {
    const json_t *list = json_object_get(object, key);
    if (!json_is_array(list) || json_array_size(list) != 3)
        return fail(why, "three numbers are missing:", key);
    for (size_t k = 0; k < 3; ++k) {
        const json_t *item = json_array_get(list, k);
        x[k] = json_number_value(item);
        if (!json_is_number(item) || !(fabs(x[k]) < 1e9))
            return fail(why, "three numbers are missing:", key);
    }
    return 0;
}
static int signals(const json_t *object, view_message *m, char why[100]) {
    const json_t *list = json_object_get(object, "signals");
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count > VIEW_SIGNALS_MOST || !count)
        return fail(why, "signals: a list of 1 to 64 numbers is missing", NULL);
    for (size_t k = 0; k < count; ++k) {
        const json_t *item = json_array_get(list, k);
        const json_int_t x = json_integer_value(item);
        if (!json_is_integer(item) || x < 0 || x > 1 << 24)
            return fail(why, "signals: not a signal's number", NULL);
        m->signals[k] = (int)x;
    }
    m->signal_count = (int)count;
    return 0;
}
static int stretch(const json_t *object, view_message *m, char why[100]) {
    if (number(object, "t0", &m->t0, why) || number(object, "t1", &m->t1, why)) return -1;
    return m->t0 <= m->t1 ? 0 : fail(why, "t0 is after t1", NULL);
}

static int read_fields(const json_t *object, view_message *m, char why[100]) {
    double id = 0;
    if (m->what <= VIEW_SAMPLES) {
        if (whole(object, "id", 0, 4294967295.0, &id, why)) return -1;
        m->id = (uint32_t)id;
    }
    switch (m->what) {
    case VIEW_FRAME: return number(object, "t", &m->t, why);
    case VIEW_OVERVIEW:
        return signals(object, m, why) || stretch(object, m, why) ||
                       small(object, "columns", 1, VIEW_COLUMNS_MOST, &m->columns, why)
                   ? -1
                   : 0;
    case VIEW_SAMPLES: return signals(object, m, why) || stretch(object, m, why) ? -1 : 0;
    case VIEW_STEP:
        m->count = 1;
        return json_object_get(object, "count")
                   ? small(object, "count", 1, VIEW_STEPS_MOST, &m->count, why)
                   : 0;
    case VIEW_SPEED:
        if (number(object, "value", &m->value, why)) return -1;
        return m->value >= 0 && m->value <= 1e6 ? 0 : fail(why, "out of range:", "value");
    case VIEW_JOINT:
        m->has_value = json_object_get(object, "value") != NULL;
        if (small(object, "q", 0, 1 << 24, &m->q, why)) return -1;
        return m->has_value ? number(object, "value", &m->value, why) : 0;
    case VIEW_PULL:
        return small(object, "body", 1, 1 << 24, &m->body, why) ||
                       triple(object, "at", m->at, why) || triple(object, "to", m->to, why)
                   ? -1
                   : 0;
    default: return 0;
    }
}

int view_message_parse(const char *text, size_t size, view_message *m, char why[100]) {
    memset(m, 0, sizeof *m);
    if (size > VIEW_MESSAGE_MOST) return fail(why, "a message has at most 4096 bytes", NULL);
    json_error_t error;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object)) {
        json_decref(object);
        return fail(why, "not a JSON object", NULL);
    }
    const char *name = json_string_value(json_object_get(object, "do"));
    int what = 0, bad = -1;
    while (name && what < VIEW_DO_COUNT && strcmp(name, names[what]))
        ++what;
    if (!name)
        fail(why, "a message needs the text 'do'", NULL);
    else if (what == VIEW_DO_COUNT)
        fail(why, "there is no wish of that name", NULL);
    else {
        m->what = (view_do)what;
        bad = read_fields(object, m, why);
    }
    json_decref(object);
    return bad;
}

int view_same_host(const char *given, const char *own) {
    size_t n = strlen(given);
    size_t m = strlen(own);
    if (n > 3 && !strcmp(given + n - 3, ":80")) n -= 3;
    if (m > 3 && !strcmp(own + m - 3, ":80")) m -= 3;
    return n == m && n > 0 && !strncasecmp(given, own, n);
}
