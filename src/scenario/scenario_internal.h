/* scenario_internal.h  what the files of the scenario reader share.
 *
 *   scenario_yaml.c    text -> tree of nodes that know their line and column (libfyaml's events)
 *   scenario_value.c   node -> number with unit, flag, word, name, place; maps by tables of fields
 *   scenario_read.c    the schema: tables and what they cannot say
 *   scenario.c         defaults, release, the cases of a sweep
 *
 * The first mistake is kept (soai_say) and ends the reading.                                                          */
#ifndef SOAI_SCENARIO_INTERNAL_H
#define SOAI_SCENARIO_INTERNAL_H
#include "soa/scenario.h"
#include "../base/base_internal.h"
#include "../base/nearest.h"
#include <stdbool.h>

/* --- memory: blocks that are released together ------------------------------------------------------------------- */
typedef struct soai_arena {
    struct soai_arena_block *last;
} soai_arena;
/* Zeroed; NULL where none is left. */
void *soai_arena_take(soai_arena *arena, size_t count, size_t size);
char *soai_arena_text(soai_arena *arena, const char *text, size_t length);
void soai_arena_free(soai_arena *arena);
/* `into` owns what `from` owned. */
void soai_arena_join(soai_arena *into, soai_arena *from);

/* --- the tree ----------------------------------------------------------------------------------------------------- */
typedef enum soai_node_type { SOAI_SCALAR, SOAI_LIST, SOAI_MAP } soai_node_type;
typedef struct soai_node soai_node;
struct soai_node {
    soai_node_type type;
    soa_mark mark;
    bool plain;       /* a scalar without quotes                       */
    bool open;        /* still being read: an alias must not name it   */
    const char *text; /* SCALAR, without NUL inside                    */
    int count;        /* LIST, MAP                                     */
    soai_node **keys; /* MAP: scalars, each once                       */
    soai_node **items;
};

enum {
    SOAI_SCENARIO_BYTES = 1 << 22,  /* of a file                                       */
    SOAI_SCENARIO_VALUES = 1000000, /* values, those reached through aliases counted again */
    SOAI_SCENARIO_DEPTH = 32,
    SOAI_SCENARIO_BRACKETS = 1000,
    SOAI_SCENARIO_ANCHORS = 1000
};

typedef struct soai_reader {
    const char *file;
    soai_arena tree, data;
    soa_scenario *scenario;
    soa_status status; /* of the first mistake */
    soa_report *report;
    long values; /* read so far */
    int group_count;
    const char **groups; /* names that contacts may use: groups, then shapes in them */
} soai_reader;

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
bool soai_say(soai_reader *r, soa_status status, soa_mark mark, const char *format, ...); /* always false */
bool soai_no_memory(soai_reader *r);
/* The document's root into *root (NULL: an empty file). */
bool soai_yaml(soai_reader *r, const char *text, size_t size, soai_node **root);

/* --- values ------------------------------------------------------------------------------------------------------- */
enum { /* kinds of units, as bits */
       SOAI_LENGTH = 1,
       SOAI_ANGLE = 2,
       SOAI_TIME = 4,
       SOAI_MASS = 8,
       SOAI_FORCE = 16,
       SOAI_TORQUE = 32,
       SOAI_SPEED = 64,
       SOAI_TURN = 128,
       SOAI_FREQUENCY = 256,
       SOAI_STIFFNESS = 512,
       SOAI_DAMPING = 1024,
       SOAI_INERTIA = 2048,
       SOAI_ACCELERATION = 4096
};
typedef enum soai_range { SOAI_ANY, SOAI_NOT_NEGATIVE, SOAI_POSITIVE, SOAI_FRACTION } soai_range;

typedef enum soai_field_kind {
    SOAI_F_NUMBER,  /* `count` numbers: 1, or a list                          */
    SOAI_F_PAIR,    /* two numbers; one stands for both                       */
    SOAI_F_ONE,     /* one number for both of a pair                          */
    SOAI_F_INTEGER, /* int, >= 1                                              */
    SOAI_F_FLAG,
    SOAI_F_TEXT,
    SOAI_F_NAME, /* text without dots, blanks and brackets                    */
    SOAI_F_WORD, /* an enumeration: index into words                          */
    SOAI_F_PLACE,
    SOAI_F_FRAME, /* "part.frame", "part" or "world"                          */
    SOAI_F_PART,  /* name of a part                                           */
    SOAI_F_GROUP, /* group or shape                                           */
    SOAI_F_OTHER  /* known here, read elsewhere                               */
} soai_field_kind;

typedef struct soai_field {
    const char *key;
    soai_field_kind kind;
    size_t offset;
    int count;
    unsigned units, units2; /* kinds of units taken; of the second half of a pair or six-vector */
    soai_range range;
    const char *const *words; /* NULL-ended */
    unsigned only;            /* bits of the variants that take this field; 0: all */
} soai_field;

/* Room for a list of all keys or words that are valid somewhere. */
enum { SOAI_LISTED = 512 };
extern const soai_field soai_place_fields[];
/* Whether no field above it in the table has the same key. */
bool soai_is_first(const soai_field *fields, const soai_field *f);

/* "'abc'", "a list of 3", "a map", "nothing", for messages. */
#define SOAI_SHOWN 64
const char *soai_found(const soai_node *node, char shown[SOAI_SHOWN]);
bool soai_empty(const soai_node *node); /* NULL, a bare `key:`, null or ~ */
const soai_node *soai_get(const soai_node *map, const char *key);
bool soai_is_map(soai_reader *r, const soai_node *node, const char *what);
/* A list of `count` (0: any number); an empty value is a list of none. */
bool soai_is_list(soai_reader *r, const soai_node *node, const char *what, int count);
bool soai_number(soai_reader *r, const soai_node *node, const char *what, unsigned units, soai_range range,
                 double *value);
bool soai_numbers(soai_reader *r, const soai_node *node, const char *what, int count, unsigned units, unsigned units2,
                  soai_range range, double *values);
bool soai_pair(soai_reader *r, const soai_node *node, const char *what, unsigned units, unsigned units2,
               soai_range range, double values[2]);
bool soai_text(soai_reader *r, const soai_node *node, const char *what, const char **text);
bool soai_name(soai_reader *r, const soai_node *node, const char *what, const char **text);
bool soai_word(soai_reader *r, const soai_node *node, const char *what, const char *const *words, int *index);
bool soai_frame(soai_reader *r, const soai_node *node, const char *what, const char **frame);
bool soai_is_machine(const soa_scenario *s, const char *name);
bool soai_group(soai_reader *r, const soai_node *node, const char *what, const char **group);
/* xyz, rpy or quaternion; offset (may be NULL): the key `offset` is allowed. */
bool soai_place(soai_reader *r, const soai_node *node, const char *what, soa_frame *place, int *offset);
/* Only keys of the table stand in the map. */
bool soai_known_keys(soai_reader *r, const soai_node *map, const char *what, const soai_field *fields);
/* Reads the fields that stand in the map into target.  variant: bit tested against `only`; its name for messages. */
bool soai_fields(soai_reader *r, const soai_node *map, const char *what, const soai_field *fields, unsigned variant,
                 void *target);
bool soai_needed(soai_reader *r, const soai_node *map, const char *what, const char *key, const char *why);
int soai_find_part(const soa_scenario *s, const char *name, size_t length);

/* --- sweeps ------------------------------------------------------------------------------------------------------- */
/* Units and range of what a path names; false where there is none, and hint is the nearest there is. */
bool soai_path_known(const soa_scenario *s, const char *path, unsigned *units, soai_range *range, char hint[SOAI_HINT]);

#endif
