/* scenario_value.c  nodes -> values: numbers with units, flags, words, names and places, and maps
 * by field tables.
 *
 * A number without a unit is in SI units. A number with a unit ("5 mm", "30 deg") is converted; the
 * unit must be of the kind expected there. Every error message says what was expected and what was
 * found. */
#include "scenario_internal.h"
#include "../base/small_algebra.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- describing what was found ---------------------------------------------------------------- */
const char *soai_found(const soai_node *node, char shown[SOAI_SHOWN]) {
    if (soai_empty(node)) return "nothing";
    if (node->type == SOAI_MAP) return "a map";
    if (node->type == SOAI_LIST) {
        snprintf(shown, SOAI_SHOWN, "a list of %d", node->count);
        return shown;
    }
    int most = 40, length = (int)strnlen(node->text, 41);
    /* Do not cut inside a UTF-8 character. */
    if (length > most)
        while (((unsigned char)node->text[most] & 0xc0) == 0x80)
            --most;
    snprintf(shown, SOAI_SHOWN, length > most ? "'%.*s...'" : "'%.*s'",
             length > most ? most : length, node->text);
    return shown;
}

bool soai_empty(const soai_node *node) {
    return !node ||
           (node->type == SOAI_SCALAR && node->plain &&
            (!*node->text || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0));
}

const soai_node *soai_get(const soai_node *map, const char *key) {
    if (!map || map->type != SOAI_MAP) return NULL;
    for (int i = 0; i < map->count; ++i)
        if (strcmp(map->keys[i]->text, key) == 0) return map->items[i];
    return NULL;
}

/* Counts every value read, so that aliases to lists of aliases cannot grow without bound. */
static bool count_value(soai_reader *r, const soai_node *node) {
    if (++r->values <= SOAI_SCENARIO_VALUES) return true;
    return soai_say(r, SOA_E_FORMAT, node->mark,
                    "more than %d values (aliases counted as often as they are used)",
                    SOAI_SCENARIO_VALUES);
}

static bool wanted(soai_reader *r, const soai_node *node, const char *what, const char *expected) {
    char shown[SOAI_SHOWN];
    return soai_say(r, SOA_E_FORMAT, node->mark, "%s: expected %s, found %s", what, expected,
                    soai_found(node, shown));
}

bool soai_is_map(soai_reader *r, const soai_node *node, const char *what) {
    if (!count_value(r, node)) return false;
    return node->type == SOAI_MAP ? true : wanted(r, node, what, "a map (key: value)");
}

bool soai_is_list(soai_reader *r, const soai_node *node, const char *what, int count) {
    if (!count_value(r, node)) return false;
    if (count == 0 && soai_empty(node)) return true;
    if (node->type == SOAI_LIST && (count == 0 || node->count == count)) return true;
    char expected[32];
    if (count == 0) return wanted(r, node, what, "a list");
    snprintf(expected, sizeof expected, "a list of %d", count);
    return wanted(r, node, what, expected);
}

/* --- numbers ---------------------------------------------------------------------------------- */
static const struct unit {
    const char *name;
    unsigned kind;
    double times, over; /* factors to SI */
} units[] = {
    {"m", SOAI_LENGTH, 1, 1},
    {"mm", SOAI_LENGTH, 1, 1000},
    {"cm", SOAI_LENGTH, 1, 100},
    {"um", SOAI_LENGTH, 1, 1e6},
    {"\302\265m", SOAI_LENGTH, 1, 1e6},
    {"km", SOAI_LENGTH, 1000, 1},
    {"rad", SOAI_ANGLE, 1, 1},
    {"deg", SOAI_ANGLE, SOAI_PI, 180},
    {"mrad", SOAI_ANGLE, 1, 1000},
    {"s", SOAI_TIME, 1, 1},
    {"ms", SOAI_TIME, 1, 1000},
    {"us", SOAI_TIME, 1, 1e6},
    {"min", SOAI_TIME, 60, 1},
    {"kg", SOAI_MASS, 1, 1},
    {"g", SOAI_MASS, 1, 1000},
    {"t", SOAI_MASS, 1000, 1},
    {"N", SOAI_FORCE, 1, 1},
    {"mN", SOAI_FORCE, 1, 1000},
    {"kN", SOAI_FORCE, 1000, 1},
    {"Nm", SOAI_TORQUE, 1, 1},
    {"N m", SOAI_TORQUE, 1, 1},
    {"m/s", SOAI_SPEED, 1, 1},
    {"mm/s", SOAI_SPEED, 1, 1000},
    {"cm/s", SOAI_SPEED, 1, 100},
    {"rad/s", SOAI_TURN, 1, 1},
    {"deg/s", SOAI_TURN, SOAI_PI, 180},
    {"rpm", SOAI_TURN, SOAI_PI, 30},
    {"Hz", SOAI_FREQUENCY, 1, 1},
    {"kHz", SOAI_FREQUENCY, 1000, 1},
    {"N/m", SOAI_STIFFNESS, 1, 1},
    {"kN/m", SOAI_STIFFNESS, 1000, 1},
    {"N/mm", SOAI_STIFFNESS, 1000, 1},
    {"N s/m", SOAI_DAMPING, 1, 1},
    {"Ns/m", SOAI_DAMPING, 1, 1},
    {"kg m^2", SOAI_INERTIA, 1, 1},
    {"m/s^2", SOAI_ACCELERATION, 1, 1},
};
enum { UNIT_COUNT = sizeof units / sizeof *units };

static const struct kind {
    unsigned kind;
    const char *name, *examples;
} kinds[] = {
    {SOAI_LENGTH, "a length", "m, mm"},
    {SOAI_ANGLE, "an angle", "rad, deg"},
    {SOAI_TIME, "a time", "s, ms"},
    {SOAI_MASS, "a mass", "kg"},
    {SOAI_FORCE, "a force", "N"},
    {SOAI_TORQUE, "a torque", "Nm"},
    {SOAI_SPEED, "a speed", "m/s"},
    {SOAI_TURN, "a turning rate", "rad/s, deg/s"},
    {SOAI_FREQUENCY, "a frequency", "Hz"},
    {SOAI_STIFFNESS, "a stiffness", "N/m"},
    {SOAI_DAMPING, "a damping", "N s/m"},
    {SOAI_INERTIA, "an inertia", "kg m^2"},
    {SOAI_ACCELERATION, "an acceleration", "m/s^2"},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* Text for messages: "an angle (rad, deg)", "a number without unit". */
static const char *kinds_text(unsigned mask, char text[96]) {
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < KIND_COUNT && at < 96; ++i)
        if (mask & kinds[i].kind)
            at += (size_t)snprintf(text + at, 96 - at, "%s%s (%s)", at ? " or " : "", kinds[i].name,
                                   kinds[i].examples);
    return at ? text : "a number without unit";
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Length of the decimal number at the start of text; 0 if there is none. */
static size_t number_length(const char *text) {
    const char *p = text;
    if (*p == '+' || *p == '-') ++p;
    const char *digits = p;
    int count = 0;
    while (is_digit(*p)) {
        ++p;
        ++count;
    }
    if (*p == '.') {
        ++p;
        while (is_digit(*p)) {
            ++p;
            ++count;
        }
    }
    if (count == 0 || p == digits) return 0;
    if (*p == 'e' || *p == 'E') {
        const char *e = p + 1;
        if (*e == '+' || *e == '-') ++e;
        if (is_digit(*e)) {
            while (is_digit(*e))
                ++e;
            p = e;
        }
    }
    return (size_t)(p - text);
}

/* True for ".nan", "-inf" and the like: valid YAML numbers that no key accepts. */
static bool is_not_finite(const char *text) {
    static const char *const words[] = {"nan", "inf", "infinity", NULL};
    char low[16];
    size_t n = 0;
    if (*text == '+' || *text == '-') ++text;
    if (*text == '.') ++text;
    for (; *text && n < sizeof low - 1; ++text)
        low[n++] = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
    low[n] = 0;
    for (int i = 0; words[i]; ++i)
        if (!*text && strcmp(low, words[i]) == 0) return true;
    return false;
}

bool soai_number(soai_reader *r, const soai_node *node, const char *what, unsigned mask,
                 soai_range range, double *value) {
    char shown[SOAI_SHOWN], expected[96], hint[SOAI_HINT];
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node)) return wanted(r, node, what, "a number");
    const char *text = node->text;
    size_t length = number_length(text);
    if (length == 0 && is_not_finite(text))
        return soai_say(r, SOA_E_NOT_FINITE, node->mark,
                        "%s: expected a finite number, found '%.20s'", what, text);
    if (length == 0) return wanted(r, node, what, "a number");
    double x = strtod(text, NULL);
    r->unit = 0;
    const char *unit = text + length;
    bool blank = *unit == ' ';
    while (*unit == ' ')
        ++unit;
    if (*unit) {
        const struct unit *u = units;
        while (u < units + UNIT_COUNT && strcmp(u->name, unit) != 0)
            ++u;
        if (u == units + UNIT_COUNT && !blank && (is_digit(*unit) || strchr(".,_xX", *unit)))
            return wanted(r, node, what, "a number"); /* "1,5", "1.2.3", "0x10" */
        if (u == units + UNIT_COUNT) {
            soai_nearest search = soai_nearest_to(unit);
            for (u = units; u < units + UNIT_COUNT; ++u)
                if (mask & u->kind) soai_nearest_try(&search, u->name);
            return soai_say(r, SOA_E_FORMAT, node->mark,
                            "%s: %s has an unknown unit; expected %s%s", what,
                            soai_found(node, shown), kinds_text(mask, expected),
                            soai_nearest_hint(&search, hint));
        }
        if (!(u->kind & mask)) {
            int k = 0;
            while (kinds[k].kind != u->kind)
                ++k;
            return soai_say(r, SOA_E_FORMAT, node->mark, "%s: %s is %s; expected %s", what,
                            soai_found(node, shown), kinds[k].name, kinds_text(mask, expected));
        }
        x = x * u->times / u->over;
        r->unit = u->kind;
    }
    if (!(fabs(x) <= 1e300))
        return soai_say(r, SOA_E_NOT_FINITE, node->mark, "%s: %s is too large", what,
                        soai_found(node, shown));
    const char *must;
    if (range == SOAI_NOT_NEGATIVE && !(x >= 0)) {
        must = "not be negative";
    } else if (range == SOAI_POSITIVE && !(x > 0)) {
        must = "be greater than 0";
    } else if (range == SOAI_FRACTION && !(x >= 0 && x <= 1)) {
        must = "lie between 0 and 1";
    } else {
        must = NULL;
    }
    if (must)
        return soai_say(r, SOA_E_ARGUMENT, node->mark, "%s must %s, found %s", what, must,
                        soai_found(node, shown));
    *value = x;
    return true;
}

bool soai_numbers(soai_reader *r, const soai_node *node, const char *what, int count, unsigned mask,
                  unsigned mask2, soai_range range, double *values) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_LIST || node->count != count) {
        char expected[48];
        snprintf(expected, sizeof expected, "a list of %d numbers", count);
        return wanted(r, node, what, expected);
    }
    for (int i = 0; i < count; ++i)
        if (!soai_number(r, node->items[i], what, 2 * i < count ? mask : mask2, range, &values[i]))
            return false;
    return true;
}

bool soai_pair(soai_reader *r, const soai_node *node, const char *what, unsigned mask,
               unsigned mask2, soai_range range, double values[2]) {
    if (node->type == SOAI_LIST) return soai_numbers(r, node, what, 2, mask, mask2, range, values);
    if (node->type != SOAI_SCALAR || soai_empty(node))
        return wanted(r, node, what, "a number or a list of 2 numbers");
    double x;
    if (!soai_number(r, node, what, mask & mask2, range, &x)) return false;
    values[0] = values[1] = x;
    return true;
}

/* --- words ------------------------------------------------------------------------------------ */
bool soai_text(soai_reader *r, const soai_node *node, const char *what, const char **text) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node)) return wanted(r, node, what, "a text");
    *text = soai_arena_text(&r->data, node->text, strlen(node->text));
    return *text ? true : soai_no_memory(r);
}

bool soai_name(soai_reader *r, const soai_node *node, const char *what, const char **text) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node) || !*node->text)
        return wanted(r, node, what, "a name");
    size_t length = strcspn(node->text, " \t\r\n.[]/\\:,\"'");
    if (node->text[length]) {
        char shown[SOAI_SHOWN];
        return soai_say(r, SOA_E_NAME, node->mark,
                        "%s: a name has no blanks, dots, brackets, slashes, colons, commas or "
                        "quotes, found %s",
                        what, soai_found(node, shown));
    }
    if (length > 63)
        return soai_say(r, SOA_E_NAME, node->mark, "%s: a name has at most 63 bytes, found %zu",
                        what, length);
    return soai_text(r, node, what, text);
}

bool soai_word(soai_reader *r, const soai_node *node, const char *what, const char *const *words,
               int *index) {
    if (!count_value(r, node)) return false;
    char shown[SOAI_SHOWN], hint[SOAI_HINT], all[SOAI_LISTED] = "";
    size_t at = 0;
    for (int i = 0; words[i] && at < sizeof all; ++i)
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", words[i]);
    if (node->type != SOAI_SCALAR || soai_empty(node))
        return soai_say(r, SOA_E_FORMAT, node->mark, "%s: expected one of %s; found %s", what, all,
                        soai_found(node, shown));
    soai_nearest search = soai_nearest_to(node->text);
    for (int i = 0; words[i]; ++i) {
        if (strcmp(words[i], node->text) == 0) {
            *index = i;
            return true;
        }
        soai_nearest_try(&search, words[i]);
    }
    return search.best ? soai_say(r, SOA_E_NAME, node->mark, "%s: unknown %s%s", what,
                                  soai_found(node, shown), soai_nearest_hint(&search, hint))
                       : soai_say(r, SOA_E_NAME, node->mark, "%s: unknown %s; expected one of %s",
                                  what, soai_found(node, shown), all);
}

static bool read_flag(soai_reader *r, const soai_node *node, const char *what, bool *flag) {
    static const char *const words[] = {"false", "true", NULL};
    if (!count_value(r, node)) return false;
    for (int i = 0; i < 2 && node->type == SOAI_SCALAR; ++i)
        if (strcmp(node->text, words[i]) == 0) {
            *flag = i == 1;
            return true;
        }
    return wanted(r, node, what, "true or false");
}

static bool read_integer(soai_reader *r, const soai_node *node, const char *what, int *value) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node))
        return wanted(r, node, what, "a whole number");
    size_t length = strspn(node->text, "0123456789");
    if (length == 0 || node->text[length]) return wanted(r, node, what, "a whole number");
    long x = length < 9 ? strtol(node->text, NULL, 10) : 1000000000;
    if (x < 1 || x > 99999999) return wanted(r, node, what, "a whole number from 1 to 99999999");
    *value = (int)x;
    return true;
}

/* --- names of parts, frames and groups -------------------------------------------------------- */
int soai_find_part(const soa_scenario *s, const char *name, size_t length) {
    for (int i = 0; i < s->part_count; ++i)
        if (strncmp(s->parts[i].name, name, length) == 0 && !s->parts[i].name[length]) return i;
    return -1;
}

static bool no_part(soai_reader *r, const soai_node *node, const char *what, const char *name,
                    bool world) {
    char hint[SOAI_HINT];
    soai_nearest search = soai_nearest_to(name);
    for (int i = 0; i < r->scenario->part_count; ++i)
        soai_nearest_try(&search, r->scenario->parts[i].name);
    if (world) soai_nearest_try(&search, "world");
    return soai_say(r, SOA_E_NAME, node->mark, "%s: no part is called '%.40s'%s", what, name,
                    search.best ? soai_nearest_hint(&search, hint) : "");
}

bool soai_frame(soai_reader *r, const soai_node *node, const char *what, const char **frame) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node) || !*node->text)
        return wanted(r, node, what, "a frame (part.frame, part or world)");
    const char *text = node->text, *dot = strchr(text, '.');
    size_t length = dot ? (size_t)(dot - text) : strlen(text);
    bool world = strcmp(text, "world") == 0;
    if (!world && soai_find_part(r->scenario, text, length) < 0) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(length > 60 ? 60 : length), text);
        return no_part(r, node, what, name, true);
    }
    if (dot && !dot[1]) return wanted(r, node, what, "the name of a frame after the dot");
    return soai_text(r, node, what, frame);
}

static bool read_part(soai_reader *r, const soai_node *node, const char *what, const char **part) {
    if (node->type != SOAI_SCALAR || soai_empty(node))
        return wanted(r, node, what, "the name of a part");
    if (soai_find_part(r->scenario, node->text, strlen(node->text)) < 0)
        return no_part(r, node, what, node->text, false);
    return soai_text(r, node, what, part);
}

/* True for a part, or "part.link". Its model may contain shapes; this is known only when the world
 * is made. */
bool soai_is_machine(const soa_scenario *s, const char *name) {
    const int part = soai_find_part(s, name, strcspn(name, "."));
    return part >= 0 && s->parts[part].model && s->parts[part].collisions != SOA_COLLISIONS_NONE;
}

bool soai_group(soai_reader *r, const soai_node *node, const char *what, const char **group) {
    if (!count_value(r, node)) return false;
    if (node->type != SOAI_SCALAR || soai_empty(node))
        return wanted(r, node, what, "the name of a group or shape");
    char hint[SOAI_HINT], shown[SOAI_SHOWN];
    for (int i = 0; i < r->group_count; ++i)
        if (strcmp(r->groups[i], node->text) == 0) return soai_text(r, node, what, group);
    if (soai_is_machine(r->scenario, node->text)) return soai_text(r, node, what, group);
    soai_nearest search = soai_nearest_to(node->text);
    for (int i = 0; i < r->group_count; ++i)
        soai_nearest_try(&search, r->groups[i]);
    return soai_say(r, SOA_E_NAME, node->mark, "%s: no group or shape is called %s%s", what,
                    soai_found(node, shown),
                    r->group_count == 0 ? "; there are no shapes"
                                        : soai_nearest_hint(&search, hint));
}

/* --- places ----------------------------------------------------------------------------------- */
const soai_field soai_place_fields[] = {{.key = "xyz", .kind = SOAI_F_OTHER},
                                        {.key = "rpy", .kind = SOAI_F_OTHER},
                                        {.key = "quaternion", .kind = SOAI_F_OTHER},
                                        {.key = "offset", .kind = SOAI_F_OTHER, .only = 1},
                                        {0}};

bool soai_place(soai_reader *r, const soai_node *node, const char *what, soa_frame *place,
                bool *offset) {
    double xyz[3] = {0}, rpy[3] = {0}, q[4];
    *place = soa_frame_identity();
    if (node->type == SOAI_LIST) { /* [x, y, z] */
        return soai_numbers(r, node, what, 3, SOAI_LENGTH, SOAI_LENGTH, SOAI_ANY, place->p);
    }
    if (node->type != SOAI_MAP) return wanted(r, node, what, "a place {xyz: [..], rpy: [..]}");
    if (!soai_fields(r, node, what, soai_place_fields, offset ? 1u : 2u, NULL)) return false;
    const soai_node *n = soai_get(node, "xyz"), *angles = soai_get(node, "rpy"),
                    *turn = soai_get(node, "quaternion");
    if (n && !soai_numbers(r, n, "xyz", 3, SOAI_LENGTH, SOAI_LENGTH, SOAI_ANY, xyz)) return false;
    if (angles && !soai_numbers(r, angles, "rpy", 3, SOAI_ANGLE, SOAI_ANGLE, SOAI_ANY, rpy))
        return false;
    *place = soa_frame_from_rpy(rpy[0], rpy[1], rpy[2], xyz[0], xyz[1], xyz[2]);
    if (turn) {
        if (angles)
            return soai_say(r, SOA_E_FORMAT, turn->mark, "%s: either rpy or quaternion, not both",
                            what);
        if (!soai_numbers(r, turn, "quaternion", 4, 0, 0, SOAI_ANY, q)) return false;
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(fabs(length - 1) <= 1e-3))
            return soai_say(r, SOA_E_QUATERNION, turn->mark,
                            "quaternion: [w, x, y, z] must be of length 1, found %g", length);
        double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
        const double R[9] = {
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
        memcpy(place->R, R, sizeof R);
    }
    const soai_node *flag = soai_get(node, "offset");
    return !flag || read_flag(r, flag, "offset", offset);
}

/* --- maps by field tables --------------------------------------------------------------------- */
bool soai_known_keys(soai_reader *r, const soai_node *map, const char *what,
                     const soai_field *fields) {
    return soai_fields(r, map, what, fields, ~0u, NULL);
}

static bool read_field(soai_reader *r, const soai_node *node, const soai_field *f, char *target) {
    void *at = target + f->offset;
    switch (f->kind) {
    case SOAI_F_NUMBER:
        return f->count > 1
                   ? soai_numbers(r, node, f->key, f->count, f->units, f->units2, f->range, at)
                   : soai_number(r, node, f->key, f->units, f->range, at);
    case SOAI_F_PAIR: return soai_pair(r, node, f->key, f->units, f->units2, f->range, at);
    case SOAI_F_ONE: {
        double *pair = at;
        if (!soai_number(r, node, f->key, f->units, f->range, pair)) return false;
        pair[1] = pair[0];
        return true;
    }
    case SOAI_F_INTEGER: return read_integer(r, node, f->key, at);
    case SOAI_F_FLAG: return read_flag(r, node, f->key, at);
    case SOAI_F_TEXT: return soai_text(r, node, f->key, at);
    case SOAI_F_NAME: return soai_name(r, node, f->key, at);
    case SOAI_F_WORD: return soai_word(r, node, f->key, f->words, at);
    case SOAI_F_PLACE: return soai_place(r, node, f->key, at, NULL);
    case SOAI_F_FRAME: return soai_frame(r, node, f->key, at);
    case SOAI_F_PART: return read_part(r, node, f->key, at);
    case SOAI_F_GROUP: return soai_group(r, node, f->key, at);
    case SOAI_F_OTHER: return true;
    }
    return true;
}

static bool takes(const soai_field *f, unsigned variant) {
    return f->only == 0 || (f->only & variant);
}
/* True if an earlier field of the table has the same key and also applies to this variant. */
static bool is_repeated(const soai_field *fields, const soai_field *f, unsigned variant) {
    for (const soai_field *g = fields; g < f; ++g)
        if (takes(g, variant) && strcmp(g->key, f->key) == 0) return true;
    return false;
}
bool soai_is_first(const soai_field *fields, const soai_field *f) {
    return !is_repeated(fields, f, ~0u);
}

/* With target NULL, only the keys are checked. A table may contain a key several times, for
 * different variants. */
bool soai_fields(soai_reader *r, const soai_node *map, const char *what, const soai_field *fields,
                 unsigned variant, void *target) {
    if (!soai_is_map(r, map, what)) return false;
    for (int i = 0; i < map->count; ++i) {
        const soai_node *key = map->keys[i];
        const soai_field *f = fields, *other = NULL;
        for (; f->key; ++f) {
            if (strcmp(f->key, key->text) != 0) continue;
            if (takes(f, variant)) break;
            other = f;
        }
        if (f->key) {
            if (target && !read_field(r, map->items[i], f, target)) return false;
            continue;
        }
        char shown[SOAI_SHOWN], hint[SOAI_HINT];
        soai_found(key, shown);
        if (soai_empty(key))
            return soai_say(r, SOA_E_NAME, key->mark, "%s: a key is missing before the colon",
                            what);
        if (other) return soai_say(r, SOA_E_NAME, key->mark, "%s takes no key %s", what, shown);
        soai_nearest search = soai_nearest_to(key->text);
        for (f = fields; f->key; ++f)
            if (takes(f, variant)) soai_nearest_try(&search, f->key);
        soai_nearest_hint(&search, hint);
        if (search.best)
            return soai_say(r, SOA_E_NAME, key->mark, "%s: unknown key %s%s", what, shown, hint);
        char all[SOAI_LISTED] = "";
        size_t at = 0;
        for (f = fields; f->key && at < sizeof all; ++f)
            if (takes(f, variant) && !is_repeated(fields, f, variant))
                at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", at ? ", " : "", f->key);
        return soai_say(r, SOA_E_NAME, key->mark, "%s: unknown key %s; expected one of %s", what,
                        shown, all);
    }
    return true;
}

bool soai_needed(soai_reader *r, const soai_node *map, const char *what, const char *key,
                 const char *why) {
    if (soai_get(map, key)) return true;
    return soai_say(r, SOA_E_FORMAT, map->mark, "%s: key '%s' is missing%s", what, key, why);
}
