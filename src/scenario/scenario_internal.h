/* scenario_internal.h  declarations shared by the files of the scenario reader.
 *
 *    scenario_yaml.c    text -> tree of nodes with line and column (from libfyaml's events)
 *    scenario_value.c   node -> number with unit, flag, word, name, place; maps by field tables
 *    scenario_read.c    the schema: field tables, and the rules that a table cannot express
 *    scenario.c         defaults, release, the cases of a sweep
 *
 * Reading ends at the first mistake, which soai_say reports. */
#ifndef SOAI_SCENARIO_INTERNAL_H
#define SOAI_SCENARIO_INTERNAL_H
#include "soa/scenario.h"
#include "../base/base_internal.h"
#include "../base/nearest.h"
#include <stdbool.h>

/* --- memory: blocks that are released together ------------------------------------------------ */
typedef struct soai_arena {
    struct soai_arena_block *last;
} soai_arena;
/* Returns zeroed memory, or NULL if there is none left. */
void *soai_arena_take(soai_arena *arena, size_t count, size_t size);
char *soai_arena_text(soai_arena *arena, const char *text, size_t length);
void soai_arena_free(soai_arena *arena);
/* Moves all blocks of `from` to `into`. */
void soai_arena_join(soai_arena *into, soai_arena *from);

/* --- the tree --------------------------------------------------------------------------------- */
typedef enum soai_node_type { SOAI_SCALAR, SOAI_LIST, SOAI_MAP } soai_node_type;
typedef struct soai_node soai_node;
struct soai_node {
    soai_node_type type;
    soa_mark mark;
    bool plain;       /* a scalar without quotes */
    bool open;        /* still being read: an alias must not refer to it */
    const char *text; /* SCALAR; contains no NUL */
    int count;        /* LIST, MAP */
    soai_node **keys; /* MAP: scalars, no two equal */
    soai_node **items;
};

enum {
    SOAI_SCENARIO_BYTES = 1 << 22, /* largest file */
    /* Most values; a value reached through an alias counts each time. */
    SOAI_SCENARIO_VALUES = 1000000,
    SOAI_SCENARIO_DEPTH = 32,
    SOAI_SCENARIO_BRACKETS = 1000,
    SOAI_SCENARIO_ANCHORS = 1000
};

typedef struct soai_reader {
    const char *file;
    soai_arena tree, data;
    soa_scenario *scenario;
    soa_status status; /* status of the first mistake */
    soa_report *report;
    long values;   /* number read so far */
    unsigned unit; /* kind of the unit of the last number; 0: it had none */
    int group_count;
    const char **groups; /* names that contacts may use: groups, then the shapes in them */
} soai_reader;

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
/* Returns false always. */
bool soai_say(soai_reader *r, soa_status status, soa_mark mark, const char *format, ...);
bool soai_no_memory(soai_reader *r);
/* Sets *root to the root of the document; NULL for an empty file. */
bool soai_yaml(soai_reader *r, const char *text, size_t size, soai_node **root);

/* --- values ----------------------------------------------------------------------------------- */
enum { /* kinds of units, one bit each */
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
    SOAI_F_NUMBER,  /* `count` numbers: 1, or a list */
    SOAI_F_PAIR,    /* two numbers; a single number is used for both */
    SOAI_F_ONE,     /* one number, stored in both places of a pair */
    SOAI_F_INTEGER, /* int, at least 1 */
    SOAI_F_FLAG,
    SOAI_F_TEXT,
    SOAI_F_NAME, /* text without dots, blanks or brackets */
    SOAI_F_WORD, /* one word of a list; its index is stored */
    SOAI_F_PLACE,
    SOAI_F_FRAME, /* "part.frame", "part" or "world" */
    SOAI_F_PART,  /* name of a part */
    SOAI_F_GROUP, /* name of a group or a shape */
    SOAI_F_OTHER  /* valid key, but read by other code */
} soai_field_kind;

typedef struct soai_field {
    const char *key;
    soai_field_kind kind;
    size_t offset;
    int count;
    /* Kinds of units accepted; units2: those of the second half of a pair or six-vector. */
    unsigned units, units2;
    soai_range range;
    const char *const *words; /* ends with NULL */
    unsigned only;            /* bits of the variants that have this field; 0: all */
} soai_field;

/* Size of a text that lists all keys or words that are valid in one place. */
enum { SOAI_LISTED = 512 };
extern const soai_field soai_place_fields[];
/* True if no earlier field of the table has the same key. */
bool soai_is_first(const soai_field *fields, const soai_field *f);

/* Describes a node for messages: "'abc'", "a list of 3", "a map", "nothing". */
#define SOAI_SHOWN 64
const char *soai_found(const soai_node *node, char shown[SOAI_SHOWN]);
/* True for NULL, a bare `key:`, null or ~. */
bool soai_empty(const soai_node *node);
const soai_node *soai_get(const soai_node *map, const char *key);
bool soai_is_map(soai_reader *r, const soai_node *node, const char *what);
/* Checks for a list of `count` entries (0: any number). An empty value is an empty list. */
bool soai_is_list(soai_reader *r, const soai_node *node, const char *what, int count);
bool soai_number(soai_reader *r, const soai_node *node, const char *what, unsigned units,
                 soai_range range, double *value);
bool soai_numbers(soai_reader *r, const soai_node *node, const char *what, int count,
                  unsigned units, unsigned units2, soai_range range, double *values);
bool soai_pair(soai_reader *r, const soai_node *node, const char *what, unsigned units,
               unsigned units2, soai_range range, double values[2]);
bool soai_text(soai_reader *r, const soai_node *node, const char *what, const char **text);
bool soai_name(soai_reader *r, const soai_node *node, const char *what, const char **text);
bool soai_word(soai_reader *r, const soai_node *node, const char *what, const char *const *words,
               int *index);
bool soai_frame(soai_reader *r, const soai_node *node, const char *what, const char **frame);
bool soai_is_machine(const soa_scenario *s, const char *name);
bool soai_group(soai_reader *r, const soai_node *node, const char *what, const char **group);
/* Reads xyz and rpy or quaternion. The key `offset` is allowed if the argument offset is not
 * NULL. */
bool soai_place(soai_reader *r, const soai_node *node, const char *what, soa_frame *place,
                bool *offset);
/* Checks that the map has no keys except those of the table. */
bool soai_known_keys(soai_reader *r, const soai_node *map, const char *what,
                     const soai_field *fields);
/* Reads those fields of the table that the map contains into target. variant: bit that is compared
 * with `only`. */
bool soai_fields(soai_reader *r, const soai_node *map, const char *what, const soai_field *fields,
                 unsigned variant, void *target);
bool soai_needed(soai_reader *r, const soai_node *map, const char *what, const char *key,
                 const char *why);
int soai_find_part(const soa_scenario *s, const char *name, size_t length);

/* --- sweeps ----------------------------------------------------------------------------------- */
/* Finds the units and the range of the quantity that a path names. Returns false if there is no
 * such quantity; hint is then the nearest valid path. */
bool soai_path_known(const soa_scenario *s, const char *path, unsigned *units, soai_range *range,
                     char hint[SOAI_HINT]);

#endif
