/* scenario_yaml.c  text of a scenario -> tree of nodes that know their line and column.
 *
 * libfyaml's parser delivers events; the tree is built here. So we control lines and columns,
 * depth, size, repeated keys and aliases. An alias is a second pointer to its node: no copies, no
 * cycles. A merge key (<<) adds the keys that a map does not have itself. Cost O(size log size). */
#include "scenario_internal.h"
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* --- memory ----------------------------------------------------------------------------------- */
typedef struct soai_arena_block {
    struct soai_arena_block *before;
    size_t size, used;
    _Alignas(16) char bytes[];
} block;

void *soai_arena_take(soai_arena *arena, size_t count, size_t size) {
    if (count == 0) count = 1;
    if (size > ((size_t)1 << 40) / count) return NULL;
    size_t bytes = (count * size + 15) / 16 * 16;
    block *last = arena->last;
    if (!last || last->size - last->used < bytes) {
        size_t room = last ? 2 * last->size : 4096; /* doubling keeps the number of blocks small */
        if (room > (size_t)1 << 20) room = (size_t)1 << 20;
        if (room < bytes) room = bytes;
        block *next = calloc(1, sizeof *next + room);
        if (!next) return NULL;
        next->before = last;
        next->size = room;
        arena->last = last = next;
    }
    void *p = last->bytes + last->used;
    last->used += bytes;
    return p;
}

char *soai_arena_text(soai_arena *arena, const char *text, size_t length) {
    char *copy = soai_arena_take(arena, length + 1, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

void soai_arena_join(soai_arena *into, soai_arena *from) {
    block **end = &into->last;
    while (*end)
        end = &(*end)->before;
    *end = from->last;
    from->last = NULL;
}
void soai_arena_free(soai_arena *arena) {
    for (block *b = arena->last, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    arena->last = NULL;
}

/* --- mistakes --------------------------------------------------------------------------------- */
/* Length of the UTF-8 character at p; 0 if it is not valid (overlong, surrogate, cut off, not
 * UTF-8). */
static size_t letter(const unsigned char *p, size_t left) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0x80) return 1;
    size_t n;
    if (p[0] >= 0xf0) {
        n = 4;
    } else if (p[0] >= 0xe0) {
        n = 3;
    } else {
        n = 2;
    }
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < n) return 0;
    uint32_t code = p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; ++i) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

/* Makes text printable: control characters and broken UTF-8 (from cutting a text inside a
 * character) become '?'. */
static void clean(char *text) {
    for (size_t n, left = strlen(text); left > 0; text += n, left -= n) {
        n = letter((const unsigned char *)text, left);
        if (n == 0 || (unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
            n = 1;
        }
    }
}

/* Writes "file:line:column: text". Of a long file name only the end is shown. */
bool soai_say(soai_reader *r, soa_status status, soa_mark mark, const char *format, ...) {
    if (r->status != SOA_OK) return false;
    r->status = status;
    char text[sizeof r->report->text];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const char *file = r->file;
    size_t length = strlen(file);
    const char *cut = "";
    if (length > 60) {
        cut = "...";
        file += length - 57;
        /* Do not start inside a UTF-8 character. */
        while (((unsigned char)*file & 0xc0) == 0x80)
            ++file;
    }
    if (mark.line > 0)
        soai_report(r->report, status, -1, mark.line, "%s%s:%d:%d: %s", cut, file, mark.line,
                    mark.column, text);
    else
        soai_report(r->report, status, -1, 0, "%s%s: %s", cut, file, text);
    if (r->report) clean(r->report->text);
    return false;
}

bool soai_no_memory(soai_reader *r) {
    return soai_say(r, SOA_E_MEMORY, (soa_mark){0, 0}, "no memory is left");
}

/* --- checks before libfyaml reads the text ---------------------------------------------------- */
/* Checks that the text is UTF-8 without control characters and not too large. Also limits the
 * number of open brackets, because libfyaml looks ahead to their ends and would take long. Brackets
 * in quotes and comments are counted too; no real file has that many. */
static bool is_text(soai_reader *r, const char *text, size_t size) {
    soa_mark mark = {1, 1};
    int open = 0;
    if (size > SOAI_SCENARIO_BYTES)
        return soai_say(r, SOA_E_FORMAT, (soa_mark){0, 0}, "the file has more than %d bytes",
                        SOAI_SCENARIO_BYTES);
    for (size_t i = 0; i < size;) {
        const unsigned char *p = (const unsigned char *)text + i;
        size_t n = letter(p, size - i);
        if (n == 0)
            return soai_say(r, SOA_E_FORMAT, mark,
                            "the byte 0x%02x is not UTF-8 text; write the file in UTF-8", *p);
        if ((*p < 0x20 && *p != '\n' && *p != '\r' && *p != '\t') || *p == 0x7f)
            return soai_say(r, SOA_E_FORMAT, mark,
                            "the control character 0x%02x is not allowed in a text file", *p);
        open += (*p == '[' || *p == '{') - (*p == ']' || *p == '}');
        if (open > SOAI_SCENARIO_BRACKETS)
            return soai_say(r, SOA_E_FORMAT, mark, "more than %d brackets are open",
                            SOAI_SCENARIO_BRACKETS);
        if (*p == '\n') {
            ++mark.line;
            mark.column = 1;
        } else {
            ++mark.column;
        }
        i += n;
    }
    return true;
}

/* --- the tree --------------------------------------------------------------------------------- */
typedef struct cell { /* element of a list being read */
    struct cell *next;
    soai_node *key, *item;
} cell;
typedef struct level { /* a list or map being read */
    soai_node *node;
    soai_node *key; /* key of the next value */
    cell *first, **last;
} level;
typedef struct anchor {
    const char *name;
    soai_node *node;
} anchor;
typedef struct builder {
    soai_reader *r;
    struct fy_parser *parser;
    int depth, anchor_count, documents;
    level levels[SOAI_SCENARIO_DEPTH];
    anchor *anchors;
    soai_node *root;
} builder;

static soa_mark mark_of(const struct fy_mark *mark) {
    return mark ? (soa_mark){mark->line + 1, mark->column + 1} : (soa_mark){0, 0};
}

static bool one_more(soai_reader *r, soa_mark mark) {
    if (++r->values <= SOAI_SCENARIO_VALUES) return true;
    return soai_say(r, SOA_E_FORMAT, mark,
                    "more than %d values (aliases counted as often as they are used)",
                    SOAI_SCENARIO_VALUES);
}

static soai_node *new_node(builder *b, soai_node_type type, soa_mark mark) {
    if (!one_more(b->r, mark)) return NULL;
    soai_node *n = soai_arena_take(&b->r->tree, 1, sizeof *n);
    if (!n) {
        soai_no_memory(b->r);
        return NULL;
    }
    n->type = type;
    n->mark = mark;
    return n;
}

/* Adds a node at the current position: as root, next entry of a list, or key or value of a map. */
static bool put(builder *b, soai_node *node, soa_mark mark) {
    if (b->depth == 0) {
        b->root = node;
        return true;
    }
    level *l = &b->levels[b->depth - 1];
    /* An empty value has no position in the text: use that of its key, or of its map or list. */
    if (node->mark.line == 0) node->mark = l->key ? l->key->mark : l->node->mark;
    if (l->node->type == SOAI_MAP && !l->key) {
        if (node->type != SOAI_SCALAR)
            return soai_say(b->r, SOA_E_FORMAT, mark, "a key must be a word, not a %s",
                            node->type == SOAI_MAP ? "map" : "list");
        l->key = node;
        return true;
    }
    cell *c = soai_arena_take(&b->r->tree, 1, sizeof *c);
    if (!c) return soai_no_memory(b->r);
    c->key = l->key;
    c->item = node;
    *l->last = c;
    l->last = &c->next;
    l->key = NULL;
    if (l->node->count == SOAI_SCENARIO_VALUES) return one_more(b->r, mark);
    ++l->node->count;
    return true;
}

static bool name_anchor(builder *b, struct fy_token *token, soai_node *node) {
    if (!token) return true;
    size_t length = 0;
    const char *name = fy_token_get_text(token, &length);
    if (b->anchor_count == SOAI_SCENARIO_ANCHORS)
        return soai_say(b->r, SOA_E_FORMAT, node->mark, "more than %d anchors",
                        SOAI_SCENARIO_ANCHORS);
    if (!b->anchors)
        b->anchors = soai_arena_take(&b->r->tree, SOAI_SCENARIO_ANCHORS, sizeof *b->anchors);
    const char *copy = b->anchors && name ? soai_arena_text(&b->r->tree, name, length) : NULL;
    if (!copy) return soai_no_memory(b->r);
    b->anchors[b->anchor_count++] = (anchor){copy, node};
    return true;
}

static bool alias(builder *b, const struct fy_event *event, soa_mark mark) {
    size_t length = 0;
    const char *text = fy_token_get_text(event->alias.anchor, &length);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length > 60 ? 60 : length), text ? text : "");
    soai_nearest search = soai_nearest_to(name);
    for (int i = b->anchor_count - 1; i >= 0; --i) { /* the latest with this name */
        if (strcmp(b->anchors[i].name, name) == 0) {
            if (b->anchors[i].node->open)
                return soai_say(b->r, SOA_E_FORMAT, mark, "alias *%s stands inside what it names",
                                name);
            return one_more(b->r, mark) && put(b, b->anchors[i].node, mark);
        }
        soai_nearest_try(&search, b->anchors[i].name);
    }
    char hint[SOAI_HINT];
    return soai_say(b->r, SOA_E_NAME, mark, "alias *%s: there is no anchor &%s before it%s", name,
                    name, soai_nearest_hint(&search, hint));
}

static bool scalar(builder *b, const struct fy_event *event, soa_mark mark) {
    enum fy_scalar_style style =
        event->scalar.value ? fy_token_scalar_style(event->scalar.value) : FYSS_PLAIN;
    /* Position of the opening quote. */
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) --mark.column;
    soai_node *n = new_node(b, SOAI_SCALAR, mark);
    if (!n) return false;
    size_t length = 0;
    const char *text = event->scalar.value ? fy_token_get_text(event->scalar.value, &length) : "";
    if (!text) return soai_no_memory(b->r);
    if (memchr(text, 0, length))
        return soai_say(b->r, SOA_E_FORMAT, mark, "a text must not contain \\0");
    n->plain = style == FYSS_PLAIN;
    n->text = soai_arena_text(&b->r->tree, text, length);
    if (!n->text) return soai_no_memory(b->r);
    return name_anchor(b, event->scalar.anchor, n) && put(b, n, mark);
}

static bool begin(builder *b, soai_node_type type, struct fy_token *anchor_token, soa_mark mark) {
    soai_node *n = new_node(b, type, mark);
    if (!n) return false;
    if (b->depth == SOAI_SCENARIO_DEPTH)
        return soai_say(b->r, SOA_E_FORMAT, mark,
                        "lists and maps within each other more than %d deep", SOAI_SCENARIO_DEPTH);
    if (!name_anchor(b, anchor_token, n) || !put(b, n, mark)) return false;
    n->open = true;
    level *l = &b->levels[b->depth++];
    *l = (level){.node = n};
    l->last = &l->first;
    return true;
}

static int by_key(const void *a, const void *b) {
    const soai_node *const *x = a, *const *y = b;
    int order = strcmp((*x)->text, (*y)->text);
    if (order) return order;
    return (*x)->mark.line != (*y)->mark.line ? (*x)->mark.line - (*y)->mark.line
                                              : (*x)->mark.column - (*y)->mark.column;
}

/* Checks that no key is repeated. */
static bool keys_differ(soai_reader *r, const soai_node *map) {
    soai_node **sorted = soai_arena_take(&r->tree, (size_t)map->count, sizeof *sorted);
    if (!sorted) return soai_no_memory(r);
    memcpy(sorted, map->keys, (size_t)map->count * sizeof *sorted);
    qsort(sorted, (size_t)map->count, sizeof *sorted, by_key);
    const soai_node *worst = NULL, *first = NULL;
    for (int i = 1; i < map->count; ++i) {
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0 &&
            (!worst || sorted[i]->mark.line < worst->mark.line)) {
            worst = sorted[i];
            first = sorted[i - 1];
        }
    }
    if (!worst) return true;
    return soai_say(r, SOA_E_NAME, worst->mark, "key '%.40s' stands twice; the first is at %d:%d",
                    worst->text, first->mark.line, first->mark.column);
}

/* Adds the keys of `<<: map` or `<<: [maps]` that the map does not have itself. */
static bool merge(soai_reader *r, soai_node *map, int at) {
    soai_node *from = map->items[at], *one[1] = {from}, **list = one;
    int lists = 1;
    if (from->type == SOAI_LIST) {
        list = from->items;
        lists = from->count;
    }
    long total = map->count - 1;
    for (int i = 0; i < lists; ++i) {
        if (list[i]->type != SOAI_MAP)
            return soai_say(r, SOA_E_FORMAT, list[i]->mark, "<< takes a map or a list of maps");
        total += list[i]->count;
        r->values += list[i]->count;
        if (r->values > SOAI_SCENARIO_VALUES) return one_more(r, map->mark);
    }
    soai_node **keys = soai_arena_take(&r->tree, (size_t)total, sizeof *keys);
    soai_node **items = soai_arena_take(&r->tree, (size_t)total, sizeof *items);
    if (!keys || !items) return soai_no_memory(r);
    int n = 0;
    for (int i = 0; i < map->count; ++i) {
        if (i != at) {
            keys[n] = map->keys[i];
            items[n++] = map->items[i];
        }
    }
    for (int i = 0; i < lists; ++i) {
        for (int k = 0; k < list[i]->count; ++k) {
            bool there = false;
            /* The merge costs n^2: count part of it, so that the limit on values also bounds the
             * time. */
            if ((r->values += n / 64) > SOAI_SCENARIO_VALUES) return one_more(r, map->mark);
            for (int j = 0; j < n && !there; ++j)
                there = strcmp(keys[j]->text, list[i]->keys[k]->text) == 0;
            if (!there) {
                keys[n] = list[i]->keys[k];
                items[n++] = list[i]->items[k];
            }
        }
    }
    map->keys = keys;
    map->items = items;
    map->count = n;
    return true;
}

static bool end(builder *b) {
    level *l = &b->levels[--b->depth];
    soai_node *n = l->node;
    n->open = false;
    bool map = n->type == SOAI_MAP;
    n->items = soai_arena_take(&b->r->tree, (size_t)n->count, sizeof *n->items);
    if (map) n->keys = soai_arena_take(&b->r->tree, (size_t)n->count, sizeof *n->keys);
    if (!n->items || (map && !n->keys)) return soai_no_memory(b->r);
    int i = 0, merged = -1;
    for (const cell *c = l->first; c; c = c->next, ++i) {
        n->items[i] = c->item;
        if (!map) continue;
        n->keys[i] = c->key;
        if (c->key->plain && strcmp(c->key->text, "<<") == 0) merged = i;
    }
    if (map && !keys_differ(b->r, n)) return false;
    return merged < 0 || merge(b->r, n, merged);
}

static bool take(builder *b, struct fy_event *event) {
    soa_mark mark = mark_of(fy_event_start_mark(event));
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (++b->documents > 1)
            return soai_say(b->r, SOA_E_FORMAT, mark,
                            "a second document begins here; a file holds one scenario");
        return true;
    /* Position of the star. */
    case FYET_ALIAS: return alias(b, event, (soa_mark){mark.line, mark.column - 1});
    case FYET_SCALAR: return scalar(b, event, mark);
    case FYET_SEQUENCE_START: return begin(b, SOAI_LIST, event->sequence_start.anchor, mark);
    case FYET_MAPPING_START: return begin(b, SOAI_MAP, event->mapping_start.anchor, mark);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END: return end(b);
    default: return true;
    }
}

/* Reports libfyaml's error in its own words. */
static bool not_yaml(soai_reader *r, struct fy_diag *diag) {
    void *previous = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &previous);
    if (!first) return soai_say(r, SOA_E_FORMAT, (soa_mark){0, 0}, "the text is not YAML");
    soa_mark mark = {first->line, first->column};
    if (mark.line < 1) mark.line = 1;
    if (mark.column < 1) mark.column = 1;
    return soai_say(r, SOA_E_FORMAT, mark, "not YAML: %.120s",
                    first->msg ? first->msg : "syntax error");
}

static void be_silent(struct fy_diag *diag, void *user, const char *text, size_t length) {
    (void)diag;
    (void)user;
    (void)text;
    (void)length;
}

bool soai_yaml(soai_reader *r, const char *text, size_t size, soai_node **root) {
    *root = NULL;
    if (!is_text(r, text, size)) return false;
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    quiet.output_fn = be_silent;
    quiet.colorize = false;
    struct fy_diag *diag = fy_diag_create(&quiet);
    if (!diag) return soai_no_memory(r);
    fy_diag_set_collect_errors(diag, true);
    const struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE,
                                        .diag = diag};
    builder b = {.r = r, .parser = fy_parser_create(&config)};
    bool fine = b.parser && fy_parser_set_string(b.parser, text, size) == 0;
    if (!fine) soai_no_memory(r);
    while (fine) {
        struct fy_event *event = fy_parser_parse(b.parser);
        if (!event) {
            if (fy_parser_get_stream_error(b.parser) || fy_diag_got_error(diag))
                fine = not_yaml(r, diag);
            break;
        }
        bool last = event->type == FYET_STREAM_END;
        fine = take(&b, event);
        fy_parser_event_free(b.parser, event);
        if (last) break;
    }
    if (b.parser) fy_parser_destroy(b.parser);
    fy_diag_destroy(diag);
    *root = b.root;
    return fine;
}
