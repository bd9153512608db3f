/* scenario_read.c  the schema of scenario files (docs/scenarios.md): which keys exist and what
 * is read from them.
 *
 * Parts are read first, then shapes, then everything that refers to them, in whatever order the
 * file has them. So each name of a part, group, phase or action can be checked at the line where
 * it is used. Frames and joints of models are not known here; the world checks them later and
 * uses the stored lines and columns in its messages. Numbers are read with a decimal point in
 * every locale. */
#include "scenario_internal.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIST_MOST = 10000 };

#define OTHER(name) \
    { .key = name, .kind = SOAI_F_OTHER }
#define OTHER_ONLY(name, bits) \
    { .key = name, .kind = SOAI_F_OTHER, .only = bits }

/* --- lists ------------------------------------------------------------------------------------ */
typedef bool read_one(soai_reader *r, const soai_node *node, void *one, int number, void *context);

/* Reads each entry of a list into an array with elements of `size` bytes. A missing or empty value
 * gives an empty array. */
static void *read_list(soai_reader *r, const soai_node *node, const char *what, size_t size,
                       int *count, read_one *read, void *context) {
    *count = 0;
    if (!node || !soai_is_list(r, node, what, 0)) return NULL;
    int n = node->type == SOAI_LIST ? node->count : 0;
    if (n > LIST_MOST) {
        soai_say(r, SOA_E_FORMAT, node->mark, "%s: a list of %d; at most %d are read", what, n,
                 LIST_MOST);
        return NULL;
    }
    char *all = soai_arena_take(&r->data, (size_t)n, size);
    if (!all) {
        soai_no_memory(r);
        return NULL;
    }
    for (int i = 0; i < n; ++i)
        if (!read(r, node->items[i], all + (size_t)i * size, i, context)) return NULL;
    *count = n;
    return all;
}

/* Reads a map from names to numbers. */
static soa_value_unit value_unit(unsigned kind) {
    if (kind == SOAI_LENGTH || kind == SOAI_SPEED) return SOA_UNIT_LENGTH;
    return kind == SOAI_ANGLE || kind == SOAI_TURN ? SOA_UNIT_ANGLE : SOA_UNIT_NONE;
}
static bool read_named(soai_reader *r, const soai_node *node, const char *what, unsigned units,
                       int *count, const soa_named_value **values) {
    if (soai_empty(node)) return true;
    if (!soai_is_map(r, node, what)) return false;
    soa_named_value *all = soai_arena_take(&r->data, (size_t)node->count, sizeof *all);
    if (!all) return soai_no_memory(r);
    for (int i = 0; i < node->count; ++i) {
        char label[64];
        const soai_node *key = node->keys[i];
        if (soai_empty(key))
            return soai_say(r, SOA_E_NAME, key->mark, "%s: a name is missing before the colon",
                            what);
        snprintf(label, sizeof label, "%s, %.40s", what, key->text);
        if (!soai_text(r, key, what, &all[i].name) ||
            !soai_number(r, node->items[i], label, units, SOAI_ANY, &all[i].value))
            return false;
        all[i].unit = value_unit(r->unit);
        all[i].mark = key->mark;
    }
    *values = all;
    *count = node->count;
    return true;
}

/* Reads a list of frame names. */
static bool read_frames(soai_reader *r, const soai_node *node, const char *what, int count,
                        const char **frames) {
    if (!soai_is_list(r, node, what, count)) return false;
    for (int i = 0; i < count; ++i)
        if (!soai_frame(r, node->items[i], what, &frames[i])) return false;
    return true;
}

/* Reads a choice of a part's joints, by full name or by the beginning of the name: one, or a
 * list. */
static bool read_joint_choices(soai_reader *r, const soai_node *node, const char *what, int *count,
                               const soa_joint_choice **choices) {
    const bool is_list = node->type == SOAI_LIST;
    const int n = is_list ? node->count : 1;
    if (n < 1 || n > LIST_MOST || node->type == SOAI_MAP || soai_empty(node)) {
        char shown[SOAI_SHOWN];
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "%s: expected the name of a joint, the beginning of some names, or a list "
                        "of these; found %s",
                        what, soai_found(node, shown));
    }
    soa_joint_choice *all = soai_arena_take(&r->data, (size_t)n, sizeof *all);
    if (!all) return soai_no_memory(r);
    for (int i = 0; i < n; ++i) {
        const soai_node *one = is_list ? node->items[i] : node;
        all[i].mark = one->mark;
        if (!soai_text(r, one, what, &all[i].name)) return false;
        for (int k = 0; k < i; ++k)
            if (strcmp(all[k].name, all[i].name) == 0)
                return soai_say(r, SOA_E_NAME, one->mark, "%s: '%.60s' is listed twice", what,
                                all[i].name);
    }
    *choices = all;
    *count = n;
    return true;
}

/* Reads `all`, `none`, or the choice of joints that have motors. */
static bool read_motors(soai_reader *r, const soai_node *node, soa_part *part) {
    const bool word = node->type == SOAI_SCALAR && !soai_empty(node);
    if (word && strcmp(node->text, "all") == 0) return true;
    part->has_motors = true;
    if (word && strcmp(node->text, "none") == 0) return true;
    return read_joint_choices(r, node, "motors", &part->motor_count, &part->motors);
}

static bool used_twice(soai_reader *r, soa_mark mark, const char *what, const char *name,
                       soa_mark first) {
    return soai_say(r, SOA_E_NAME, mark, "%s: the name '%s' is used twice; the first is at %d:%d",
                    what, name, first.line, first.column);
}

/* Index of the one key of the list `keys` (ends with NULL) that the map contains. If it contains
 * none or more than one, reports this and returns -1. */
static int one_of(soai_reader *r, const soai_node *map, const char *what, const char *const *keys) {
    int found = -1;
    char all[128] = "";
    size_t at = 0;
    for (int i = 0; keys[i]; ++i) {
        const char *before = keys[i + 1] ? ", " : " or ";
        if (at < sizeof all)
            at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? before : "", keys[i]);
        const soai_node *n = soai_get(map, keys[i]);
        if (!n) continue;
        if (found >= 0) {
            soai_say(r, SOA_E_FORMAT, n->mark, "%s: either '%s' or '%s', not both", what,
                     keys[found], keys[i]);
            return -1;
        }
        found = i;
    }
    if (found < 0)
        soai_say(r, SOA_E_FORMAT, map->mark, "%s: expected one of the keys %s", what, all);
    return found;
}

static const soai_field size_fields[] = {{.key = "radius",
                                          .kind = SOAI_F_NUMBER,
                                          .offset = 0,
                                          .units = SOAI_LENGTH,
                                          .range = SOAI_POSITIVE},
                                         {.key = "length",
                                          .kind = SOAI_F_NUMBER,
                                          .offset = sizeof(double),
                                          .units = SOAI_LENGTH,
                                          .range = SOAI_POSITIVE,
                                          .only = 1},
                                         {0}};
/* Reads {radius: r} or r, and {radius: r, length: l}. */
static bool read_round(soai_reader *r, const soai_node *node, const char *what, double *radius,
                       double *length) {
    struct {
        double radius, length;
    } size = {0, 0};
    if (!length && node->type == SOAI_SCALAR)
        return soai_number(r, node, what, SOAI_LENGTH, SOAI_POSITIVE, radius);
    if (!soai_fields(r, node, what, size_fields, length ? 1u : 2u, &size) ||
        !soai_needed(r, node, what, "radius", "") ||
        (length && !soai_needed(r, node, what, "length", "")))
        return false;
    *radius = size.radius;
    if (length) *length = size.length;
    return true;
}

/* --- parts ------------------------------------------------------------------------------------ */
enum { OF_MODEL = 1, OF_BODY = 2 };
#define AT(member) offsetof(soa_part, member)
#define SCALE(name, least) \
    { .key = #name, .kind = SOAI_F_NUMBER, .offset = AT(name), .range = least }
static const soai_field part_fields[] = {
    {.key = "name", .kind = SOAI_F_NAME, .offset = AT(name)},
    {.key = "model", .kind = SOAI_F_TEXT, .offset = AT(model)},
    OTHER("body"),
    {.key = "floating", .kind = SOAI_F_FLAG, .offset = AT(floating), .only = OF_MODEL},
    {.key = "fixed", .kind = SOAI_F_FLAG, .offset = AT(fixed), .only = OF_BODY},
    {.key = "massless_links", .kind = SOAI_F_FLAG, .offset = AT(massless_links), .only = OF_BODY},
    SCALE(mass_scale, SOAI_POSITIVE),
    SCALE(inertia_scale, SOAI_POSITIVE),
    SCALE(damping_scale, SOAI_NOT_NEGATIVE),
    SCALE(friction_scale, SOAI_NOT_NEGATIVE),
    SCALE(rotor_scale, SOAI_NOT_NEGATIVE),
    {.key = "effort",
     .kind = SOAI_F_NUMBER,
     .offset = AT(effort),
     .units = SOAI_TORQUE | SOAI_FORCE,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "limits", .kind = SOAI_F_FLAG, .offset = AT(limits), .only = OF_MODEL},
    {.key = "stop_stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stop_stiffness),
     .range = SOAI_POSITIVE,
     .only = OF_MODEL},
    {.key = "stop_damping",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stop_damping),
     .range = SOAI_NOT_NEGATIVE,
     .only = OF_MODEL},
    OTHER_ONLY("collisions", OF_MODEL),
    {.key = "place", .kind = SOAI_F_PLACE, .offset = AT(place)},
    OTHER_ONLY("motors", OF_MODEL),
    OTHER("frames"),
    OTHER("twist"),
    OTHER_ONLY("positions", OF_MODEL),
    OTHER_ONLY("rates", OF_MODEL),
    {0}};

/* Checks that the inertia is positive and no principal moment exceeds the sum of the other two. */
static bool inertia_is_physical(soai_reader *r, const soai_node *node, const double inertia[6]) {
    double e[3];
    soai_sym3_eigenvalues(inertia, e);
    if (e[0] > 0 && e[2] <= (e[0] + e[1]) * (1 + 1e-9)) return true;
    return soai_say(r, SOA_E_INERTIA, node->mark,
                    "inertia: principal moments %.4g, %.4g, %.4g; they must be positive, the "
                    "largest at most the sum of "
                    "the others",
                    e[0], e[1], e[2]);
}

static const soai_field body_fields[] = {{.key = "mass",
                                          .kind = SOAI_F_NUMBER,
                                          .offset = AT(mass),
                                          .units = SOAI_MASS,
                                          .range = SOAI_NOT_NEGATIVE},
                                         {.key = "com",
                                          .kind = SOAI_F_NUMBER,
                                          .offset = AT(com),
                                          .count = 3,
                                          .units = SOAI_LENGTH,
                                          .units2 = SOAI_LENGTH},
                                         {.key = "inertia",
                                          .kind = SOAI_F_NUMBER,
                                          .offset = AT(inertia),
                                          .count = 6,
                                          .units = SOAI_INERTIA,
                                          .units2 = SOAI_INERTIA},
                                         OTHER("box"),
                                         OTHER("sphere"),
                                         OTHER("cylinder"),
                                         {0}};
static bool read_body(soai_reader *r, const soai_node *node, soa_part *part) {
    static const char *const solids[] = {"inertia", "box", "sphere", "cylinder", NULL};
    if (part->fixed && soai_empty(node)) return true;
    if (!soai_fields(r, node, "body", body_fields, 0, part)) return false;
    const soai_node *mass = soai_get(node, "mass");
    bool solid = false;
    for (int i = 0; solids[i]; ++i)
        solid = solid || soai_get(node, solids[i]);
    if (part->fixed && !mass && !solid) return true;
    if (!soai_needed(r, node, "body", "mass", "")) return false;
    if (part->mass == 0)
        return soai_say(r, SOA_E_INERTIA, mass->mark, "mass must be greater than 0, found 0");
    int k = one_of(r, node, "body", solids);
    if (k < 0) return false;
    const soai_node *size = soai_get(node, solids[k]);
    if (k == 0) return inertia_is_physical(r, size, part->inertia);
    double x[3] = {0};
    soa_body_def def = soa_body_default("body", 0, SOA_FREE);
    if (k == 1) {
        if (!soai_numbers(r, size, "box", 3, SOAI_LENGTH, SOAI_LENGTH, SOAI_POSITIVE, x))
            return false;
        soa_body_box(&def, part->mass, x[0], x[1], x[2]);
    } else if (k == 2) {
        if (!read_round(r, size, "sphere", &x[0], NULL)) return false;
        soa_body_sphere(&def, part->mass, x[0]);
    } else {
        if (!read_round(r, size, "cylinder", &x[0], &x[1])) return false;
        soa_body_cylinder_z(&def, part->mass, x[0], x[1]);
    }
    memcpy(part->inertia, def.inertia, sizeof part->inertia);
    /* Fails for extremely large or small sizes. */
    return inertia_is_physical(r, size, part->inertia);
}
#undef AT

static const soai_field twist_fields[] = {{.key = "angular",
                                           .kind = SOAI_F_NUMBER,
                                           .count = 3,
                                           .offset = 0,
                                           .units = SOAI_TURN,
                                           .units2 = SOAI_TURN},
                                          {.key = "linear",
                                           .kind = SOAI_F_NUMBER,
                                           .count = 3,
                                           .offset = 3 * sizeof(double),
                                           .units = SOAI_SPEED,
                                           .units2 = SOAI_SPEED},
                                          {0}};
static bool read_twist(soai_reader *r, const soai_node *node, double twist[6]) {
    if (node->type == SOAI_LIST)
        return soai_numbers(r, node, "twist", 6, SOAI_TURN, SOAI_SPEED, SOAI_ANY, twist);
    return soai_fields(r, node, "twist", twist_fields, 0, twist);
}

static const soai_field frame_fields[] = {
    {.key = "name", .kind = SOAI_F_NAME, .offset = offsetof(soa_part_frame, name)},
    {.key = "on", .kind = SOAI_F_TEXT, .offset = offsetof(soa_part_frame, on)},
    {.key = "at", .kind = SOAI_F_PLACE, .offset = offsetof(soa_part_frame, place)},
    {0}};
/* Reads {name: left_hand, on: left_link6, at: {xyz: ...}}. */
static bool read_part_frame(soai_reader *r, const soai_node *node, void *one, int number,
                            void *context) {
    soa_part_frame *f = one;
    const soa_part_frame *all = f - number;
    (void)context;
    *f = (soa_part_frame){.place = soa_frame_identity(), .mark = node->mark};
    if (!soai_fields(r, node, "frame", frame_fields, 0, f) ||
        !soai_needed(r, node, "frame", "name", ""))
        return false;
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, f->name) == 0)
            return used_twice(r, f->mark, "frame", f->name, all[i].mark);
    return true;
}

/* Reads true, false or self. */
static bool read_collisions(soai_reader *r, const soai_node *node, soa_collisions *collisions) {
    static const char *const words[] = {"false", "true", "self", NULL};
    int word = 0;
    if (!soai_word(r, node, "collisions", words, &word)) return false;
    *collisions = (soa_collisions)(SOA_COLLISIONS_NONE + word);
    return true;
}

static bool read_part(soai_reader *r, const soai_node *node, void *one, int number, void *context) {
    static const char *const reserved[] = {"world", "contact", "sensors", "control", NULL};
    static const char *const kinds[] = {"model", "body", NULL};
    soa_part *part = one;
    const soa_part *all = part - number;
    (void)context;
    *part = soa_part_default(NULL);
    part->mark = node->mark;
    if (!soai_known_keys(r, node, "part", part_fields) || !soai_needed(r, node, "part", "name", ""))
        return false;
    int kind = one_of(r, node, "part", kinds);
    if (kind < 0) return false;
    const char *what = kind == 0 ? "a part with a model" : "a part that is a body";
    if (!soai_fields(r, node, what, part_fields, kind == 0 ? OF_MODEL : OF_BODY, part))
        return false;
    const soai_node *name = soai_get(node, "name"), *twist = soai_get(node, "twist");
    for (int i = 0; reserved[i]; ++i)
        if (strcmp(reserved[i], part->name) == 0)
            return soai_say(r, SOA_E_NAME, name->mark, "name: a part cannot be called '%s'",
                            part->name);
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, part->name) == 0)
            return used_twice(r, name->mark, "part", part->name, all[i].mark);
    if (kind == 1) {
        if (!read_body(r, soai_get(node, "body"), part)) return false;
        if (part->fixed && part->massless_links)
            return soai_say(r, SOA_E_FORMAT, node->mark,
                            "part: either 'fixed' or 'massless_links', not both");
        part->floating = !part->fixed;
    }
    if (twist) {
        if (!part->floating)
            return soai_say(r, SOA_E_FORMAT, twist->mark, "twist: the part does not float%s",
                            kind == 0 ? "; write floating: true" : ", it is fixed");
        if (!read_twist(r, twist, part->twist)) return false;
    }
    const soai_node *motors = soai_get(node, "motors");
    if (motors && !read_motors(r, motors, part)) return false;
    const soai_node *collisions = soai_get(node, "collisions"),
                    *stiffness = soai_get(node, "stop_stiffness");
    if (collisions && !read_collisions(r, collisions, &part->collisions)) return false;
    if (!part->limits && stiffness)
        return soai_say(r, SOA_E_FORMAT, stiffness->mark,
                        "stop_stiffness: the part has limits: false, so no stops");
    const soai_node *positions = soai_get(node, "positions"), *rates = soai_get(node, "rates");
    const soai_node *frames = soai_get(node, "frames");
    if (frames && !(part->frames = read_list(r, frames, "frames", sizeof *part->frames,
                                             &part->frame_count, read_part_frame, NULL)))
        return false;
    for (int i = 0; kind == 0 && i < part->frame_count; ++i)
        if (!part->frames[i].on)
            return soai_say(
                r, SOA_E_FORMAT, part->frames[i].mark,
                "frame: key 'on' is missing, the link or frame of the model that carries it");
    if (positions && !read_named(r, positions, "positions", SOAI_ANGLE | SOAI_LENGTH,
                                 &part->position_count, &part->positions))
        return false;
    return !rates ||
           read_named(r, rates, "rates", SOAI_TURN | SOAI_SPEED, &part->rate_count, &part->rates);
}

/* --- shapes ----------------------------------------------------------------------------------- */
static const char *const shape_kinds[] = {"sphere", "capsule", "box",  "cylinder",
                                          "hull",   "plane",   "mesh", NULL};
enum { SPHERE, CAPSULE, BOX, CYLINDER, HULL, PLANE, MESH };
#define AT(member) offsetof(soa_scene_shape, member)
static const soai_field shape_fields[] = {
    {.key = "name", .kind = SOAI_F_NAME, .offset = AT(name)},
    {.key = "group", .kind = SOAI_F_NAME, .offset = AT(group)},
    {.key = "on", .kind = SOAI_F_FRAME, .offset = AT(frame)},
    {.key = "at", .kind = SOAI_F_PLACE, .offset = AT(place)},
    OTHER("sphere"),
    OTHER("capsule"),
    OTHER("box"),
    OTHER("cylinder"),
    OTHER("hull"),
    OTHER("plane"),
    {.key = "mesh", .kind = SOAI_F_TEXT, .offset = AT(mesh)},
    {.key = "scale",
     .kind = SOAI_F_NUMBER,
     .offset = AT(mesh_scale),
     .range = SOAI_POSITIVE,
     .only = 1 << MESH},
    {.key = "radius",
     .kind = SOAI_F_NUMBER,
     .offset = AT(shape.radius),
     .units = SOAI_LENGTH,
     .range = SOAI_NOT_NEGATIVE,
     .only = 1 << BOX | 1 << CYLINDER | 1 << HULL | 1 << MESH},
    {0}};
#undef AT

static bool read_vertices(soai_reader *r, const soai_node *node, soa_shape *shape) {
    if (!soai_is_list(r, node, "hull", 0)) return false;
    if (node->type != SOAI_LIST || node->count < 1)
        return soai_say(r, SOA_E_FORMAT, node->mark, "hull: expected a list of vertices [x, y, z]");
    double *v = soai_arena_take(&r->data, (size_t)node->count, 3 * sizeof *v);
    if (!v) return soai_no_memory(r);
    for (int i = 0; i < node->count; ++i)
        if (!soai_numbers(r, node->items[i], "hull", 3, SOAI_LENGTH, SOAI_LENGTH, SOAI_ANY,
                          v + 3 * i))
            return false;
    shape->vertices = v;
    shape->vertex_count = node->count;
    return true;
}

static bool read_shape(soai_reader *r, const soai_node *node, void *one, int number,
                       void *context) {
    soa_scene_shape *s = one;
    const soa_scene_shape *all = s - number;
    (void)context;
    s->mark = node->mark;
    s->place = soa_frame_identity();
    s->mesh_scale = 1;
    if (!soai_known_keys(r, node, "shape", shape_fields) ||
        !soai_needed(r, node, "shape", "name", "") ||
        !soai_needed(r, node, "shape", "on",
                     ", the frame that carries it (part.frame, part or world)"))
        return false;
    int kind = one_of(r, node, "shape", shape_kinds);
    if (kind < 0) return false;
    char what[32];
    snprintf(what, sizeof what, "a %s", shape_kinds[kind]);
    if (!soai_fields(r, node, what, shape_fields, 1u << kind, s)) return false;
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, s->name) == 0)
            return used_twice(r, soai_get(node, "name")->mark, "shape", s->name, all[i].mark);
    const soai_node *size = soai_get(node, shape_kinds[kind]);
    double x[3] = {0};
    switch (kind) {
    case SPHERE:
        s->shape.type = SOA_SHAPE_SPHERE;
        return read_round(r, size, "sphere", &s->shape.radius, NULL);
    case CAPSULE:
        s->shape.type = SOA_SHAPE_CAPSULE;
        if (!read_round(r, size, "capsule", &s->shape.radius, &x[2])) return false;
        s->shape.half[2] = x[2] / 2;
        return true;
    case BOX:
        s->shape.type = SOA_SHAPE_BOX;
        if (!soai_numbers(r, size, "box", 3, SOAI_LENGTH, SOAI_LENGTH, SOAI_POSITIVE, x))
            return false;
        for (int k = 0; k < 3; ++k)
            s->shape.half[k] = x[k] / 2;
        return true;
    case CYLINDER:
        s->shape.type = SOA_SHAPE_CYLINDER;
        if (!read_round(r, size, "cylinder", &x[0], &x[2])) return false;
        s->shape.half[0] = s->shape.half[1] = x[0];
        s->shape.half[2] = x[2] / 2;
        return true;
    case HULL: s->shape.type = SOA_SHAPE_POLYTOPE; return read_vertices(r, size, &s->shape);
    case PLANE:
        s->shape.type = SOA_SHAPE_PLANE;
        if (soai_empty(size) || (size->type == SOAI_MAP && size->count == 0)) return true;
        return soai_say(
            r, SOA_E_FORMAT, size->mark,
            "plane: takes nothing, write plane: {}; it is z <= 0 of its frame, moved by 'at'");
    default: s->shape.type = SOA_SHAPE_POLYTOPE; return true;
    }
}

/* Collects the names that contacts, signals and success may use. A group and a shape outside it
 * must not have the same name. */
static bool collect_groups(soai_reader *r) {
    const soa_scenario *s = r->scenario;
    r->groups = soai_arena_take(&r->tree, 2 * (size_t)s->shape_count, sizeof *r->groups);
    if (!r->groups) return soai_no_memory(r);
    for (int i = 0; i < s->shape_count; ++i) {
        const soa_scene_shape *a = &s->shapes[i];
        bool known = !a->group || strcmp(a->group, a->name) == 0;
        for (int k = i - 1; k >= 0 && !known; --k)
            known = s->shapes[k].group && strcmp(s->shapes[k].group, a->group) == 0;
        r->groups[r->group_count++] = a->name;
        if (known) continue;
        r->groups[r->group_count++] = a->group;
        for (int k = 0; k < s->shape_count; ++k) {
            const soa_scene_shape *b = &s->shapes[k];
            if (strcmp(b->name, a->group) == 0 && (!b->group || strcmp(b->group, a->group) != 0))
                return soai_say(r, SOA_E_NAME, a->mark,
                                "group '%s' is also the name of a shape outside it, at %d:%d",
                                a->group, b->mark.line, b->mark.column);
        }
    }
    return true;
}

/* --- contacts --------------------------------------------------------------------------------- */
static const char *const contact_laws[] = {"paper", "safe", "hunt-crossley", "linear", NULL};
enum {
    BY_PAPER = 1 << SOA_CONTACT_PAPER,
    BY_SAFE = 1 << SOA_CONTACT_SAFE,
    BY_HC = 1 << SOA_CONTACT_HUNT_CROSSLEY,
    BY_LINEAR = 1 << SOA_CONTACT_LINEAR
};
#define AT(member) offsetof(soa_contact_pair, member)
static const soai_field contact_fields[] = {
    OTHER("between"),
    {.key = "law", .kind = SOAI_F_WORD, .offset = AT(law), .words = contact_laws},
    {.key = "margin",
     .kind = SOAI_F_NUMBER,
     .offset = AT(margin),
     .units = SOAI_LENGTH,
     .range = SOAI_POSITIVE},
    {.key = "least_distance",
     .kind = SOAI_F_NUMBER,
     .offset = AT(least_distance),
     .units = SOAI_LENGTH,
     .range = SOAI_POSITIVE,
     .only = BY_SAFE},
    {.key = "stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stiffness),
     .units = SOAI_FORCE,
     .range = SOAI_POSITIVE,
     .only = BY_PAPER | BY_SAFE},
    {.key = "stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stiffness),
     .units = SOAI_STIFFNESS,
     .range = SOAI_POSITIVE,
     .only = BY_LINEAR},
    {.key = "stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stiffness),
     .range = SOAI_POSITIVE,
     .only = BY_HC},
    {.key = "damping",
     .kind = SOAI_F_NUMBER,
     .offset = AT(damping),
     .units = SOAI_DAMPING,
     .range = SOAI_NOT_NEGATIVE,
     .only = BY_PAPER | BY_SAFE | BY_LINEAR},
    {.key = "exponent",
     .kind = SOAI_F_NUMBER,
     .offset = AT(exponent),
     .range = SOAI_POSITIVE,
     .only = BY_HC},
    {.key = "loss",
     .kind = SOAI_F_NUMBER,
     .offset = AT(loss),
     .range = SOAI_NOT_NEGATIVE,
     .only = BY_HC},
    {.key = "friction", .kind = SOAI_F_NUMBER, .offset = AT(friction), .range = SOAI_NOT_NEGATIVE},
    {.key = "tangential_stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(tangential_stiffness),
     .units = SOAI_STIFFNESS,
     .range = SOAI_POSITIVE},
    {.key = "tangential_damping",
     .kind = SOAI_F_NUMBER,
     .offset = AT(tangential_damping),
     .units = SOAI_DAMPING,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "patch", .kind = SOAI_F_FLAG, .offset = AT(patch)},
    {0}};
#undef AT

static bool read_contact(soai_reader *r, const soai_node *node, void *one, int number,
                         void *context) {
    soa_contact_pair *c = one;
    (void)number;
    (void)context;
    *c = soa_contact_pair_default(NULL, NULL);
    c->mark = node->mark;
    int law = SOA_CONTACT_SAFE;
    if (!soai_known_keys(r, node, "contact", contact_fields) ||
        !soai_needed(r, node, "contact", "between", ""))
        return false;
    const soai_node *between = soai_get(node, "between"), *word = soai_get(node, "law");
    if (word && !soai_word(r, word, "law", contact_laws, &law)) return false;
    char what[48];
    snprintf(what, sizeof what, "a contact of law '%s'", contact_laws[law]);
    if (!soai_fields(r, node, what, contact_fields, 1u << law, c)) return false;
    if (!soai_is_list(r, between, "between", 2) ||
        !soai_group(r, between->items[0], "between", &c->group1) ||
        !soai_group(r, between->items[1], "between", &c->group2))
        return false;
    if (law == SOA_CONTACT_LINEAR && !soai_needed(r, node, what, "stiffness", " (N/m)"))
        return false;
    if (law == SOA_CONTACT_HUNT_CROSSLEY &&
        !soai_needed(r, node, what, "stiffness", " (N/m^exponent)"))
        return false;
    if (law == SOA_CONTACT_SAFE && !(c->least_distance < c->margin)) {
        const soai_node *least = soai_get(node, "least_distance");
        if (least)
            return soai_say(r, SOA_E_ARGUMENT, least->mark,
                            "least_distance must be less than margin (%g m), found %g m", c->margin,
                            c->least_distance);
        c->least_distance = c->margin / 10;
    }
    return true;
}

/* --- constraints ------------------------------------------------------------------------------ */
static const char *const constraint_kinds[] = {"loop",     "distance", "ratio", "rolling",
                                               "velocity", "plane",    "disc",  NULL};
static const char *const joint_types[] = {"fixed",       "revolute",  "prismatic", "helical",
                                          "cylindrical", "universal", "planar",    "spherical",
                                          "free",        NULL};
/* In the order of soa_constraint_kind and soa_joint_type, NULL at the end. */
_Static_assert(sizeof constraint_kinds / sizeof *constraint_kinds == SOA_CONSTRAINT_KIND_COUNT + 1,
               "a word for each kind of constraint");
_Static_assert(sizeof joint_types / sizeof *joint_types == SOA_JOINT_TYPE_COUNT + 1,
               "a word for each joint type");
enum {
    LOOP = 1 << SOA_LOOP,
    DISTANCE = 1 << SOA_DISTANCE,
    RATIO = 1 << SOA_RATIO,
    ROLLING = 1 << SOA_ROLLING,
    VELOCITY = 1 << SOA_VELOCITY,
    ON_PLANE = 1 << SOA_PLANE,
    ON_DISC = 1 << SOA_DISC,
    /* Kinds between two frames. */
    BETWEEN = LOOP | DISTANCE | ROLLING | VELOCITY | ON_PLANE | ON_DISC
};
#define AT(member) offsetof(soa_constraint_def, member)
static const soai_field constraint_fields[] = {
    {.key = "kind", .kind = SOAI_F_WORD, .offset = AT(kind), .words = constraint_kinds},
    {.key = "name", .kind = SOAI_F_NAME, .offset = AT(name)},
    OTHER_ONLY("frames", BETWEEN),
    {.key = "place1", .kind = SOAI_F_PLACE, .offset = AT(place1), .only = BETWEEN},
    {.key = "place2", .kind = SOAI_F_PLACE, .offset = AT(place2), .only = BETWEEN},
    {.key = "joint", .kind = SOAI_F_WORD, .offset = AT(joint), .words = joint_types, .only = LOOP},
    {.key = "axis", .kind = SOAI_F_NUMBER, .offset = AT(axis), .count = 3, .only = LOOP},
    {.key = "axis2", .kind = SOAI_F_NUMBER, .offset = AT(axis2), .count = 3, .only = LOOP},
    {.key = "pitch", .kind = SOAI_F_NUMBER, .offset = AT(pitch), .only = LOOP},
    {.key = "damping",
     .kind = SOAI_F_NUMBER,
     .offset = AT(damping),
     .range = SOAI_NOT_NEGATIVE,
     .only = LOOP},
    {.key = "friction",
     .kind = SOAI_F_NUMBER,
     .offset = AT(friction),
     .range = SOAI_NOT_NEGATIVE,
     .only = LOOP},
    {.key = "stiffness",
     .kind = SOAI_F_NUMBER,
     .offset = AT(stiffness),
     .range = SOAI_NOT_NEGATIVE,
     .only = LOOP},
    {.key = "rest",
     .kind = SOAI_F_NUMBER,
     .offset = AT(rest),
     .units = SOAI_LENGTH | SOAI_ANGLE,
     .only = LOOP},
    {.key = "value",
     .kind = SOAI_F_NUMBER,
     .offset = AT(value),
     .units = SOAI_LENGTH,
     .range = SOAI_POSITIVE,
     .only = DISTANCE | ROLLING | ON_DISC},
    {.key = "value",
     .kind = SOAI_F_NUMBER,
     .offset = AT(value),
     .units = SOAI_LENGTH,
     .only = ON_PLANE},
    {.key = "value",
     .kind = SOAI_F_NUMBER,
     .offset = AT(value),
     .units = SOAI_LENGTH | SOAI_ANGLE,
     .only = RATIO},
    OTHER_ONLY("terms", RATIO),
    OTHER_ONLY("rows", VELOCITY),
    {.key = "rows_in_frame2", .kind = SOAI_F_FLAG, .offset = AT(rows_in_frame2), .only = VELOCITY},
    {0}};
#undef AT

typedef struct constraint_names {
    const char **frames, **joints;
    soa_mark *marks;
} constraint_names;

static bool axis_is_direction(soai_reader *r, const soai_node *map, const char *key,
                              const double a[3]) {
    if (!soai_get(map, key) || a[0] * a[0] + a[1] * a[1] + a[2] * a[2] > 0) return true;
    return soai_say(r, SOA_E_JOINT, soai_get(map, key)->mark, "%s: a direction must not be zero",
                    key);
}

/* Reads {part.joint: coefficient, ..}. */
static bool read_terms(soai_reader *r, const soai_node *node, const char **joints,
                       double *coefficients) {
    if (!soai_is_map(r, node, "terms")) return false;
    if (node->count < 1 || node->count > SOA_RATIO_TERMS)
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "terms: expected 1 to %d of part.joint: coefficient, found %d",
                        SOA_RATIO_TERMS, node->count);
    for (int i = 0; i < node->count; ++i) {
        const soai_node *key = node->keys[i];
        if (!soai_frame(r, key, "terms", &joints[i]) ||
            !soai_number(r, node->items[i], "terms", 0, SOAI_ANY, &coefficients[i]))
            return false;
        if (!strchr(joints[i], '.'))
            return soai_say(r, SOA_E_NAME, key->mark, "terms: expected part.joint, found '%.40s'",
                            joints[i]);
        if (coefficients[i] == 0)
            return soai_say(r, SOA_E_ARGUMENT, node->items[i]->mark,
                            "terms: a coefficient must not be 0");
    }
    return true;
}

static bool read_constraint(soai_reader *r, const soai_node *node, void *one, int number,
                            void *context) {
    soa_constraint_def *c = one;
    const soa_constraint_def *all = c - number;
    constraint_names *names = context;
    int kind = 0;
    names->marks[number] = node->mark;
    if (!soai_known_keys(r, node, "constraint", constraint_fields) ||
        !soai_needed(r, node, "constraint", "kind", "") ||
        !soai_word(r, soai_get(node, "kind"), "kind", constraint_kinds, &kind))
        return false;
    *c = soa_constraint_default((soa_constraint_kind)kind, 0, 0);
    char what[48];
    snprintf(what, sizeof what, "a constraint of kind '%s'", constraint_kinds[kind]);
    if (!soai_fields(r, node, what, constraint_fields, 1u << kind, c)) return false;
    const soai_node *name = soai_get(node, "name");
    if (name && strlen(c->name) > 31)
        return soai_say(r, SOA_E_NAME, name->mark,
                        "name: a constraint's name has at most 31 bytes, found %zu",
                        strlen(c->name));
    for (int i = 0; name && i < number; ++i)
        if (all[i].name && strcmp(all[i].name, c->name) == 0)
            return used_twice(r, name->mark, "constraint", c->name, names->marks[i]);
    if (kind == SOA_RATIO)
        return soai_needed(r, node, what, "terms", " {part.joint: coefficient, ..}") &&
               read_terms(r, soai_get(node, "terms"), names->joints + SOA_RATIO_TERMS * number,
                          c->coefficient);
    if (!soai_needed(r, node, what, "frames", " [first, second]") ||
        !read_frames(r, soai_get(node, "frames"), "frames", 2, names->frames + 2 * number))
        return false;
    if (kind == SOA_LOOP) {
        if (!soai_needed(r, node, what, "joint", "") ||
            !axis_is_direction(r, node, "axis", c->axis) ||
            !axis_is_direction(r, node, "axis2", c->axis2))
            return false;
        if (c->joint == SOA_FREE)
            return soai_say(r, SOA_E_JOINT, soai_get(node, "joint")->mark,
                            "joint: a free joint constrains nothing");
    }
    if ((kind == SOA_DISTANCE || kind == SOA_ROLLING || kind == SOA_DISC) &&
        !soai_needed(r, node, what, "value",
                     kind == SOA_DISTANCE ? ", the distance (m)" : ", the radius (m)"))
        return false;
    if (kind == SOA_VELOCITY) {
        const soai_node *rows = soai_get(node, "rows");
        if (!soai_needed(r, node, what, "rows", " [[wx, wy, wz, vx, vy, vz], ..]") ||
            !soai_is_list(r, rows, "rows", 0))
            return false;
        if (rows->type != SOAI_LIST || rows->count < 1 || rows->count > 6)
            return soai_say(r, SOA_E_FORMAT, rows->mark,
                            "rows: expected 1 to 6 lists of 6 numbers");
        for (int i = 0; i < rows->count; ++i)
            if (!soai_numbers(r, rows->items[i], "rows", 6, 0, 0, SOAI_ANY, c->rows[i]))
                return false;
        c->row_count = rows->count;
    }
    return true;
}

static bool read_constraints(soai_reader *r, const soai_node *node) {
    soa_scenario *s = r->scenario;
    if (!node) return true;
    size_t n = node->type == SOAI_LIST ? (size_t)node->count : 0;
    if (n > LIST_MOST) n = 0; /* refused below */
    constraint_names names = {soai_arena_take(&r->data, 2 * n, sizeof(char *)),
                              soai_arena_take(&r->data, SOA_RATIO_TERMS * n, sizeof(char *)),
                              soai_arena_take(&r->data, n, sizeof(soa_mark))};
    if (!names.frames || !names.joints || !names.marks) return soai_no_memory(r);
    s->constraints = read_list(r, node, "constraints", sizeof *s->constraints, &s->constraint_count,
                               read_constraint, &names);
    s->constraint_frames = names.frames;
    s->constraint_joints = names.joints;
    s->constraint_marks = names.marks;
    return s->constraints != NULL;
}

/* --- springs ---------------------------------------------------------------------------------- */
#define AT(member) offsetof(soa_scene_spring, member)
static const soai_field spring_fields[] = {{.key = "name", .kind = SOAI_F_NAME, .offset = AT(name)},
                                           OTHER("frames"),
                                           {.key = "place1",
                                            .kind = SOAI_F_NUMBER,
                                            .offset = AT(place[0]),
                                            .count = 3,
                                            .units = SOAI_LENGTH,
                                            .units2 = SOAI_LENGTH},
                                           {.key = "place2",
                                            .kind = SOAI_F_NUMBER,
                                            .offset = AT(place[1]),
                                            .count = 3,
                                            .units = SOAI_LENGTH,
                                            .units2 = SOAI_LENGTH},
                                           {.key = "stiffness",
                                            .kind = SOAI_F_NUMBER,
                                            .offset = AT(stiffness),
                                            .units = SOAI_STIFFNESS,
                                            .range = SOAI_NOT_NEGATIVE},
                                           {.key = "damping",
                                            .kind = SOAI_F_NUMBER,
                                            .offset = AT(damping),
                                            .units = SOAI_DAMPING,
                                            .range = SOAI_NOT_NEGATIVE},
                                           {.key = "length",
                                            .kind = SOAI_F_NUMBER,
                                            .offset = AT(length),
                                            .units = SOAI_LENGTH,
                                            .range = SOAI_NOT_NEGATIVE},
                                           {0}};
#undef AT

static bool read_spring(soai_reader *r, const soai_node *node, void *one, int number,
                        void *context) {
    soa_scene_spring *s = one;
    const soa_scene_spring *all = s - number;
    (void)context;
    s->mark = node->mark;
    s->length = -1;
    if (!soai_fields(r, node, "spring", spring_fields, 0, s) ||
        !soai_needed(r, node, "spring", "name", "") ||
        !soai_needed(r, node, "spring", "frames", " [first, second]") ||
        !read_frames(r, soai_get(node, "frames"), "frames", 2, s->frame))
        return false;
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, s->name) == 0)
            return used_twice(r, soai_get(node, "name")->mark, "spring", s->name, all[i].mark);
    if (!soai_get(node, "stiffness") && !soai_get(node, "damping"))
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "spring: expected one of the keys stiffness or damping");
    return true;
}

/* --- disturbances ----------------------------------------------------------------------------- */
#define AT(member) offsetof(soa_disturbance, member)
static const soai_field disturbance_fields[] = {
    {.key = "frame", .kind = SOAI_F_FRAME, .offset = AT(frame)},
    {.key = "start",
     .kind = SOAI_F_NUMBER,
     .offset = AT(start),
     .units = SOAI_TIME,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "duration",
     .kind = SOAI_F_NUMBER,
     .offset = AT(duration),
     .units = SOAI_TIME,
     .range = SOAI_POSITIVE},
    {.key = "torque",
     .kind = SOAI_F_NUMBER,
     .offset = AT(wrench),
     .count = 3,
     .units = SOAI_TORQUE,
     .units2 = SOAI_TORQUE},
    {.key = "force",
     .kind = SOAI_F_NUMBER,
     .offset = AT(wrench[3]),
     .count = 3,
     .units = SOAI_FORCE,
     .units2 = SOAI_FORCE},
    {.key = "wrench",
     .kind = SOAI_F_NUMBER,
     .offset = AT(wrench),
     .count = 6,
     .units = SOAI_TORQUE,
     .units2 = SOAI_FORCE},
    {0}};
#undef AT

static bool read_disturbance(soai_reader *r, const soai_node *node, void *one, int number,
                             void *context) {
    soa_disturbance *d = one;
    (void)number;
    (void)context;
    d->mark = node->mark;
    if (!soai_fields(r, node, "disturbance", disturbance_fields, 0, d) ||
        !soai_needed(r, node, "disturbance", "frame", "") ||
        !soai_needed(r, node, "disturbance", "duration", ""))
        return false;
    const soai_node *force = soai_get(node, "force"), *torque = soai_get(node, "torque"),
                    *wrench = soai_get(node, "wrench");
    if (wrench && (force || torque))
        return soai_say(r, SOA_E_FORMAT, wrench->mark,
                        "disturbance: either 'wrench' or 'force' and 'torque', not both");
    if (!wrench && !force && !torque)
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "disturbance: expected one of the keys force, torque or wrench");
    if (strcmp(d->frame, "world") == 0)
        return soai_say(r, SOA_E_NAME, soai_get(node, "frame")->mark,
                        "frame: the world cannot be pushed");
    return true;
}

/* --- estimator -------------------------------------------------------------------------------- */
#define AT(member) offsetof(soa_scene_estimator, member)
static const soai_field estimator_fields[] = {{.key = "joint_torque_noise",
                                               .kind = SOAI_F_NUMBER,
                                               .offset = AT(joint_torque_noise),
                                               .units = SOAI_TORQUE | SOAI_FORCE,
                                               .range = SOAI_POSITIVE},
                                              {.key = "acceleration_noise",
                                               .kind = SOAI_F_NUMBER,
                                               .offset = AT(acceleration_noise),
                                               .units = SOAI_ACCELERATION,
                                               .range = SOAI_NOT_NEGATIVE},
                                              OTHER("wrenches"),
                                              {0}};
#undef AT
#define AT(member) offsetof(soa_scene_wrench_prior, member)
static const soai_field wrench_fields[] = {
    {.key = "frame", .kind = SOAI_F_FRAME, .offset = AT(frame)},
    {.key = "force",
     .kind = SOAI_F_NUMBER,
     .offset = AT(force),
     .units = SOAI_FORCE,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "torque",
     .kind = SOAI_F_NUMBER,
     .offset = AT(torque),
     .units = SOAI_TORQUE,
     .range = SOAI_NOT_NEGATIVE},
    {0}};
#undef AT
static bool read_prior(soai_reader *r, const soai_node *node, void *one, int number,
                       void *context) {
    soa_scene_wrench_prior *p = one;
    const soa_scene_wrench_prior *all = p - number;
    (void)context;
    p->mark = node->mark;
    if (!soai_fields(r, node, "wrench", wrench_fields, 0, p) ||
        !soai_needed(r, node, "wrench", "frame", ""))
        return false;
    if (!(p->force > 0 || p->torque > 0))
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "wrench: expected a standard deviation above 0, force or torque");
    if (strcmp(p->frame, "world") == 0)
        return soai_say(r, SOA_E_NAME, soai_get(node, "frame")->mark,
                        "frame: joints do not feel wrenches on the world");
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].frame, p->frame) == 0)
            return used_twice(r, soai_get(node, "frame")->mark, "wrench", p->frame, all[i].mark);
    return true;
}
static bool read_estimator(soai_reader *r, const soai_node *node) {
    soa_scene_estimator *e = &r->scenario->estimator;
    if (soai_empty(node)) return true;
    e->mark = node->mark;
    if (!soai_fields(r, node, "estimator", estimator_fields, 0, e) ||
        !soai_needed(r, node, "estimator", "joint_torque_noise", "") ||
        !soai_needed(r, node, "estimator", "wrenches", ""))
        return false;
    e->wrenches = read_list(r, soai_get(node, "wrenches"), "wrenches", sizeof *e->wrenches,
                            &e->wrench_count, read_prior, NULL);
    return e->wrenches != NULL;
}

/* --- control ---------------------------------------------------------------------------------- */
static const char *const law_names[] = {
    "joint-pd", "inverse-dynamics", "passivity",    "decoupled", "operational", "impedance",
    "hybrid",   "base-hold",        "coordination", "external",  NULL};
_Static_assert(sizeof law_names / sizeof *law_names == SOA_ACT_KIND_COUNT + 1,
               "a name for each law");
enum {
    JOINTS = 1 << SOA_ACT_JOINT_PD | 1 << SOA_ACT_INVERSE_DYNAMICS | 1 << SOA_ACT_PASSIVITY |
             1 << SOA_ACT_DECOUPLED,
    FRAMES = 1 << SOA_ACT_OPERATIONAL | 1 << SOA_ACT_IMPEDANCE | 1 << SOA_ACT_HYBRID,
    HYBRID = 1 << SOA_ACT_HYBRID,
    IMPEDANCE = 1 << SOA_ACT_IMPEDANCE,
    BASE = 1 << SOA_ACT_BASE_HOLD,
    TOGETHER = 1 << SOA_ACT_COORDINATION,
    EXTERNAL = 1 << SOA_ACT_EXTERNAL,
    WITH_GOAL = JOINTS | FRAMES | BASE | TOGETHER
};
#define AT(member) offsetof(soa_action, member)
static const soai_field action_fields[] = {
    {.key = "law", .kind = SOAI_F_WORD, .offset = AT(kind), .words = law_names},
    {.key = "name", .kind = SOAI_F_NAME, .offset = AT(name)},
    {.key = "part", .kind = SOAI_F_PART, .offset = AT(part), .only = JOINTS | BASE | EXTERNAL},
    OTHER_ONLY("joints", JOINTS | FRAMES | BASE | EXTERNAL),
    OTHER_ONLY("frames", EXTERNAL),
    {.key = "frame", .kind = SOAI_F_FRAME, .offset = AT(frame), .only = FRAMES},
    {.key = "object", .kind = SOAI_F_FRAME, .offset = AT(frame), .only = TOGETHER},
    OTHER_ONLY("hands", TOGETHER),
    {.key = "relative_to",
     .kind = SOAI_F_FRAME,
     .offset = AT(relative_to),
     .only = FRAMES | BASE | TOGETHER},
    OTHER_ONLY("goal", WITH_GOAL),
    {.key = "time",
     .kind = SOAI_F_NUMBER,
     .offset = AT(time),
     .units = SOAI_TIME,
     .range = SOAI_NOT_NEGATIVE,
     .only = WITH_GOAL},
    {.key = "stiffness",
     .kind = SOAI_F_ONE,
     .offset = AT(stiffness),
     .range = SOAI_NOT_NEGATIVE,
     .only = JOINTS},
    {.key = "stiffness",
     .kind = SOAI_F_PAIR,
     .offset = AT(stiffness),
     .range = SOAI_NOT_NEGATIVE,
     .only = FRAMES | BASE | TOGETHER},
    {.key = "damping",
     .kind = SOAI_F_ONE,
     .offset = AT(damping),
     .range = SOAI_NOT_NEGATIVE,
     .only = JOINTS},
    {.key = "damping",
     .kind = SOAI_F_PAIR,
     .offset = AT(damping),
     .range = SOAI_NOT_NEGATIVE,
     .only = FRAMES | BASE | TOGETHER},
    {.key = "force",
     .kind = SOAI_F_NUMBER,
     .offset = AT(force),
     .count = 6,
     .units = SOAI_TORQUE,
     .units2 = SOAI_FORCE,
     .only = IMPEDANCE | HYBRID},
    OTHER_ONLY("force_rows", HYBRID),
    {.key = "force_gain",
     .kind = SOAI_F_PAIR,
     .offset = AT(force_gain),
     .range = SOAI_NOT_NEGATIVE,
     .only = HYBRID | TOGETHER},
    {.key = "max_force",
     .kind = SOAI_F_NUMBER,
     .offset = AT(max_force),
     .units = SOAI_FORCE,
     .range = SOAI_NOT_NEGATIVE,
     .only = FRAMES | TOGETHER},
    {.key = "max_torque",
     .kind = SOAI_F_NUMBER,
     .offset = AT(max_torque),
     .units = SOAI_TORQUE,
     .range = SOAI_NOT_NEGATIVE,
     .only = FRAMES | BASE | TOGETHER},
    {.key = "squeeze",
     .kind = SOAI_F_NUMBER,
     .offset = AT(squeeze),
     .units = SOAI_FORCE,
     .range = SOAI_NOT_NEGATIVE,
     .only = TOGETHER},
    {.key = "passive", .kind = SOAI_F_FLAG, .offset = AT(passive), .only = TOGETHER},
    {.key = "follow_stiffness",
     .kind = SOAI_F_PAIR,
     .offset = AT(follow_stiffness),
     .range = SOAI_NOT_NEGATIVE,
     .only = TOGETHER},
    {.key = "follow_damping",
     .kind = SOAI_F_PAIR,
     .offset = AT(follow_damping),
     .range = SOAI_NOT_NEGATIVE,
     .only = TOGETHER},
    {.key = "share",
     .kind = SOAI_F_NUMBER,
     .offset = AT(share),
     .range = SOAI_FRACTION,
     .only = TOGETHER},
    {0}};
#undef AT

static bool read_force_rows(soai_reader *r, const soai_node *node, unsigned *rows) {
    static const char *const directions[] = {"nx", "ny", "nz", "fx", "fy", "fz", NULL};
    if (!soai_is_list(r, node, "force_rows", 0)) return false;
    int n = node->type == SOAI_LIST ? node->count : 0, k = 0;
    if (n < 1 || n > 6)
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "force_rows: expected a list of 1 to 6 of nx, ny, nz, fx, fy, fz");
    for (int i = 0; i < n; ++i) {
        if (!soai_word(r, node->items[i], "force_rows", directions, &k)) return false;
        if (*rows & 1u << k)
            return soai_say(r, SOA_E_NAME, node->items[i]->mark, "force_rows: '%s' stands twice",
                            directions[k]);
        *rows |= 1u << k;
    }
    return true;
}

enum { ACTION_FRAMES_MOST = 64 };
/* Reads a list of `least` to ACTION_FRAMES_MOST different frames. */
static bool read_different_frames(soai_reader *r, const soai_node *node, const char *what,
                                  int least, int *count, const char *const **frames) {
    if (!soai_is_list(r, node, what, 0)) return false;
    int n = node->type == SOAI_LIST ? node->count : 0;
    if (n < least || n > ACTION_FRAMES_MOST) {
        char shown[SOAI_SHOWN];
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "%s: expected a list of %d to %d frames, found %s", what, least,
                        ACTION_FRAMES_MOST, soai_found(node, shown));
    }
    const char **found = soai_arena_take(&r->data, (size_t)n, sizeof *found);
    if (!found) return soai_no_memory(r);
    if (!read_frames(r, node, what, n, found)) return false;
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < i; ++k)
            if (strcmp(found[i], found[k]) == 0)
                return soai_say(r, SOA_E_NAME, node->items[i]->mark, "%s: '%.60s' stands twice",
                                what, found[i]);
    *frames = found;
    *count = n;
    return true;
}

/* Frames of an external action: each gets a wrist sensor, which the world cannot have. */
static bool read_sensed_frames(soai_reader *r, const soai_node *node, soa_action *a) {
    if (!read_different_frames(r, node, "frames", 1, &a->frame_count, &a->frames)) return false;
    for (int i = 0; i < a->frame_count; ++i)
        if (strcmp(a->frames[i], "world") == 0)
            return soai_say(r, SOA_E_NAME, node->items[i]->mark,
                            "frames: the world has no wrist sensor");
    return true;
}

static bool read_action(soai_reader *r, const soai_node *node, void *one, int number,
                        void *context) {
    soa_action *a = one;
    const soa_action *all = a - number;
    int law = 0;
    (void)context;
    if (!soai_known_keys(r, node, "action", action_fields) ||
        !soai_needed(r, node, "action", "law", "") ||
        !soai_word(r, soai_get(node, "law"), "law", law_names, &law))
        return false;
    *a = soa_action_default((soa_action_kind)law);
    a->mark = node->mark;
    unsigned variant = 1u << law;
    char what[48];
    snprintf(what, sizeof what, "an action of law '%s'", law_names[law]);
    if (!soai_fields(r, node, what, action_fields, variant, a)) return false;
    if (!a->name) a->name = law_names[law];
    const char *subject;
    if (variant & (JOINTS | BASE | EXTERNAL)) {
        subject = "part";
    } else if (variant & FRAMES) {
        subject = "frame";
    } else {
        subject = "object";
    }
    if (!soai_needed(r, node, what, subject, "")) return false;
    if (a->frame && strcmp(a->frame, "world") == 0)
        return soai_say(r, SOA_E_NAME, soai_get(node, subject)->mark,
                        "%s: the world cannot be moved", subject);
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, a->name) == 0)
            return soai_say(
                r, SOA_E_NAME, node->mark,
                "action: two of this phase are called '%s', the first at %d:%d; give them names",
                a->name, all[i].mark.line, all[i].mark.column);
    const soai_node *joints = soai_get(node, "joints");
    if (joints && !read_joint_choices(r, joints, "joints", &a->joint_count, &a->joints))
        return false;
    const soai_node *goal = soai_get(node, "goal");
    if (goal && (variant & JOINTS)) {
        if (!read_named(r, goal, "goal", SOAI_ANGLE | SOAI_LENGTH, &a->position_count,
                        &a->positions))
            return false;
        a->has_goal = a->position_count > 0;
    } else if (goal) {
        if (!soai_place(r, goal, "goal", &a->goal, &a->goal_is_offset)) return false;
        a->has_goal = true;
    }
    if (variant & HYBRID)
        return soai_needed(r, node, what, "force_rows", ", the directions under force control") &&
               read_force_rows(r, soai_get(node, "force_rows"), &a->force_rows);
    if (variant & TOGETHER)
        return soai_needed(r, node, what, "hands", "") &&
               read_different_frames(r, soai_get(node, "hands"), "hands", 2, &a->hand_count,
                                     &a->hands);
    const soai_node *frames = soai_get(node, "frames");
    return !frames || read_sensed_frames(r, frames, a);
}

/* --- transitions ------------------------------------------------------------------------------ */
static const struct signal {
    const char *name;
    int of_action;
    unsigned units;
} signals[] = {
    {"touching", 0, 0},      {"force", 0, SOAI_FORCE},    {"distance", 0, SOAI_LENGTH},
    {"slip", 0, SOAI_SPEED}, {"error", 1, SOAI_LENGTH},   {"angle_error", 1, SOAI_ANGLE},
    {"rate", 1, SOAI_SPEED}, {"turn_rate", 1, SOAI_TURN},
};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

/* Reads a signal: "phase_time" or "force.left". Checks both the signal and the name after the
 * dot. */
static bool read_signal(soai_reader *r, const soai_node *node, const soa_phase *phase,
                        const char **signal, unsigned *units) {
    char hint[SOAI_HINT], shown[SOAI_SHOWN], name[32];
    if (!soai_text(r, node, "signal", signal)) return false;
    const char *text = *signal, *dot = strchr(text, '.');
    if (strcmp(text, "phase_time") == 0) {
        *units = SOAI_TIME;
        return true;
    }
    size_t length = dot ? (size_t)(dot - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)(length > 30 ? 30 : length), text);
    int k = 0;
    while (k < SIGNAL_COUNT && strcmp(signals[k].name, name) != 0)
        ++k;
    if (k == SIGNAL_COUNT) {
        soai_nearest search = soai_nearest_to(name);
        for (int i = 0; i < SIGNAL_COUNT; ++i)
            soai_nearest_try(&search, signals[i].name);
        soai_nearest_try(&search, "phase_time");
        if (search.best)
            return soai_say(r, SOA_E_NAME, node->mark, "signal: unknown %s%s",
                            soai_found(node, shown), soai_nearest_hint(&search, hint));
        return soai_say(
            r, SOA_E_NAME, node->mark,
            "signal: unknown %s; expected phase_time, touching., force., distance. or slip.GROUP, "
            "error., angle_error., rate. or turn_rate.ACTION",
            soai_found(node, shown));
    }
    if (!dot || !dot[1])
        return soai_say(r, SOA_E_FORMAT, node->mark, "signal: expected %s.%s, found %s", name,
                        signals[k].of_action ? "ACTION" : "GROUP", soai_found(node, shown));
    *units = signals[k].units;
    soai_nearest search = soai_nearest_to(dot + 1);
    int count = signals[k].of_action ? phase->action_count : r->group_count;
    for (int i = 0; i < count; ++i) {
        const char *other = signals[k].of_action ? phase->actions[i].name : r->groups[i];
        if (strcmp(other, dot + 1) != 0) continue;
        if (signals[k].of_action && (1u << phase->actions[i].kind & EXTERNAL))
            return soai_say(r, SOA_E_NAME, node->mark,
                            "signal: %s: action '%.40s' of law 'external' has no goal, and so no "
                            "error; take phase_time, touching., force., distance. or slip.GROUP, "
                            "or the error of another action",
                            soai_found(node, shown), other);
        if (signals[k].of_action && (1u << phase->actions[i].kind & JOINTS))
            *units = strstr(name, "rate") ? SOAI_TURN | SOAI_SPEED : SOAI_ANGLE | SOAI_LENGTH;
        return true;
    }
    if (!signals[k].of_action && soai_is_machine(r->scenario, dot + 1)) return true;
    for (int i = 0; i < count; ++i)
        soai_nearest_try(&search, signals[k].of_action ? phase->actions[i].name : r->groups[i]);
    return soai_say(r, SOA_E_NAME, node->mark, "signal: no %s is called '%.40s'%s",
                    signals[k].of_action ? "action of this phase" : "group or shape", dot + 1,
                    soai_nearest_hint(&search, hint));
}

static const soai_field condition_fields[] = {OTHER("signal"),
                                              OTHER("below"),
                                              OTHER("above"),
                                              {.key = "for",
                                               .kind = SOAI_F_NUMBER,
                                               .offset = offsetof(soa_condition, hold),
                                               .units = SOAI_TIME,
                                               .range = SOAI_NOT_NEGATIVE},
                                              {0}};
static bool read_condition(soai_reader *r, const soai_node *node, void *one, int number,
                           void *context) {
    static const char *const compare[] = {"below", "above", NULL};
    soa_condition *c = one;
    unsigned units = 0;
    (void)number;
    c->mark = node->mark;
    if (!soai_fields(r, node, "condition", condition_fields, 0, c) ||
        !soai_needed(r, node, "condition", "signal", "") ||
        !read_signal(r, soai_get(node, "signal"), context, &c->signal, &units))
        return false;
    int k = one_of(r, node, "condition", compare);
    if (k < 0) return false;
    c->compare = k == 0 ? SOA_BELOW : SOA_ABOVE;
    return soai_number(r, soai_get(node, compare[k]), compare[k], units, SOAI_ANY, &c->value);
}

/* Reads the name of a phase. */
static bool read_phase_name(soai_reader *r, const soai_node *node, const char *what,
                            const char **name) {
    const soa_scene_control *control = &r->scenario->control;
    char hint[SOAI_HINT], shown[SOAI_SHOWN];
    if (!soai_text(r, node, what, name)) return false;
    for (int i = 0; i < control->phase_count; ++i)
        if (strcmp(control->phases[i].name, *name) == 0) return true;
    soai_nearest search = soai_nearest_to(*name);
    for (int i = 0; i < control->phase_count; ++i)
        soai_nearest_try(&search, control->phases[i].name);
    return soai_say(
        r, SOA_E_NAME, node->mark, "%s: no phase is called %s%s", what, soai_found(node, shown),
        control->phase_count == 0 ? "; there are no phases" : soai_nearest_hint(&search, hint));
}

static const soai_field transition_fields[] = {OTHER("to"), OTHER("when"), {0}};
static bool read_transition(soai_reader *r, const soai_node *node, void *one, int number,
                            void *context) {
    soa_transition *t = one;
    (void)number;
    t->mark = node->mark;
    if (!soai_fields(r, node, "transition", transition_fields, 0, NULL) ||
        !soai_needed(r, node, "transition", "to", "") ||
        !soai_needed(r, node, "transition", "when", "") ||
        !read_phase_name(r, soai_get(node, "to"), "to", &t->to))
        return false;
    const soai_node *when = soai_get(node, "when");
    if (when->type == SOAI_MAP) { /* a single condition needs no list */
        soa_condition *c = soai_arena_take(&r->data, 1, sizeof *c);
        if (!c) return soai_no_memory(r);
        t->conditions = c;
        t->condition_count = 1;
        return read_condition(r, when, c, 0, context);
    }
    t->conditions = read_list(r, when, "when", sizeof *t->conditions, &t->condition_count,
                              read_condition, context);
    if (t->conditions && t->condition_count == 0)
        return soai_say(r, SOA_E_FORMAT, when->mark,
                        "when: expected at least one condition {signal, below or above}");
    return t->conditions != NULL;
}

/* --- phases ----------------------------------------------------------------------------------- */
static const soai_field phase_fields[] = {
    {.key = "name", .kind = SOAI_F_NAME, .offset = offsetof(soa_phase, name)},
    {.key = "blend",
     .kind = SOAI_F_NUMBER,
     .offset = offsetof(soa_phase, blend),
     .units = SOAI_TIME,
     .range = SOAI_NOT_NEGATIVE},
    OTHER("actions"),
    OTHER("next"),
    {0}};

/* Reads the names first, so that a transition may name a later phase. */
static bool name_phase(soai_reader *r, const soai_node *node, void *one, int number,
                       void *context) {
    soa_phase *p = one;
    const soa_phase *all = p - number;
    (void)context;
    p->mark = node->mark;
    if (!soai_fields(r, node, "phase", phase_fields, 0, p) ||
        !soai_needed(r, node, "phase", "name", ""))
        return false;
    for (int i = 0; i < number; ++i)
        if (strcmp(all[i].name, p->name) == 0)
            return used_twice(r, soai_get(node, "name")->mark, "phase", p->name, all[i].mark);
    return true;
}

static bool read_phase(soai_reader *r, const soai_node *node, soa_phase *p) {
    const soai_node *actions = soai_get(node, "actions"), *next = soai_get(node, "next");
    if (actions) {
        p->actions = read_list(r, actions, "actions", sizeof *p->actions, &p->action_count,
                               read_action, NULL);
        if (!p->actions) return false;
    }
    if (next) {
        p->transitions = read_list(r, next, "next", sizeof *p->transitions, &p->transition_count,
                                   read_transition, p);
        if (!p->transitions) return false;
    }
    return true;
}

#define AT(member) offsetof(soa_scene_control, member)
static const soai_field control_fields[] = {
    {.key = "rate",
     .kind = SOAI_F_NUMBER,
     .offset = AT(rate),
     .units = SOAI_FREQUENCY,
     .range = SOAI_POSITIVE},
    {.key = "saturate", .kind = SOAI_F_FLAG, .offset = AT(saturate)},
    OTHER("estimate"),
    OTHER("sensors"),
    OTHER("phases"),
    {0}};
static const soai_field estimate_fields[] = {
    {.key = "mass", .kind = SOAI_F_NUMBER, .offset = AT(mass_estimate), .range = SOAI_POSITIVE},
    {.key = "inertia",
     .kind = SOAI_F_NUMBER,
     .offset = AT(inertia_estimate),
     .range = SOAI_POSITIVE},
    {.key = "damping",
     .kind = SOAI_F_NUMBER,
     .offset = AT(damping_estimate),
     .range = SOAI_NOT_NEGATIVE},
    {0}};
#undef AT
#define AT(member) offsetof(soa_sensor_set, member)
#define NOISE(name, kinds)                                                       \
    {                                                                            \
        .key = #name, .kind = SOAI_F_NUMBER, .offset = AT(name), .units = kinds, \
        .range = SOAI_NOT_NEGATIVE                                               \
    }
#define NOISES(name, kinds, kinds2)                                                              \
    {                                                                                            \
        .key = #name, .kind = SOAI_F_PAIR, .offset = AT(name), .units = kinds, .units2 = kinds2, \
        .range = SOAI_NOT_NEGATIVE                                                               \
    }
static const soai_field sensor_fields[] = {NOISE(position_noise, SOAI_ANGLE | SOAI_LENGTH),
                                           NOISE(rate_noise, SOAI_TURN | SOAI_SPEED),
                                           NOISES(pose_noise, SOAI_ANGLE, SOAI_LENGTH),
                                           NOISES(twist_noise, SOAI_TURN, SOAI_SPEED),
                                           NOISE(force_noise, SOAI_FORCE),
                                           NOISE(torque_noise, SOAI_TORQUE),
                                           NOISES(imu_noise, SOAI_TURN, SOAI_ACCELERATION),
                                           NOISE(delay, SOAI_TIME),
                                           {0}};
#undef AT

static bool read_control(soai_reader *r, const soai_node *node) {
    soa_scene_control *c = &r->scenario->control;
    if (soai_empty(node)) return true;
    if (!soai_fields(r, node, "control", control_fields, 0, c)) return false;
    c->rate_given = soai_get(node, "rate") != NULL;
    const soai_node *n = soai_get(node, "estimate");
    if (n && !soai_empty(n) && !soai_fields(r, n, "estimate", estimate_fields, 0, c)) return false;
    n = soai_get(node, "sensors");
    if (n && !soai_empty(n) && !soai_fields(r, n, "sensors", sensor_fields, 0, &c->sensors))
        return false;
    n = soai_get(node, "phases");
    if (!n) return true;
    soa_phase *phases =
        read_list(r, n, "phases", sizeof *phases, &c->phase_count, name_phase, NULL);
    if (!phases) return false;
    c->phases = phases;
    for (int i = 0; i < c->phase_count; ++i)
        if (!read_phase(r, n->items[i], &phases[i])) return false;
    return true;
}

/* --- time and record -------------------------------------------------------------------------- */
static const char *const integration_methods[] = {"explicit", "implicit", "cvode", "fixed", NULL};
#define AT(member) offsetof(soa_integration, member)
static const soai_field integration_fields[] = {
    {.key = "method", .kind = SOAI_F_WORD, .offset = AT(method), .words = integration_methods},
    {.key = "order", .kind = SOAI_F_INTEGER, .offset = AT(order)},
    {.key = "relative_tolerance",
     .kind = SOAI_F_NUMBER,
     .offset = AT(relative_tolerance),
     .range = SOAI_POSITIVE},
    {.key = "absolute_tolerance",
     .kind = SOAI_F_NUMBER,
     .offset = AT(absolute_tolerance),
     .range = SOAI_POSITIVE},
    {.key = "step",
     .kind = SOAI_F_NUMBER,
     .offset = AT(step),
     .units = SOAI_TIME,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "max_joint_step",
     .kind = SOAI_F_NUMBER,
     .offset = AT(max_joint_step),
     .units = SOAI_ANGLE | SOAI_LENGTH,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "keep_momentum", .kind = SOAI_F_FLAG, .offset = AT(keep_momentum)},
    {0}};
#undef AT

static bool read_integration(soai_reader *r, const soai_node *node) {
    static const unsigned orders[] = {1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8,
                                      1u << 2 | 1u << 3 | 1u << 4 | 1u << 5,
                                      1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5,
                                      1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8};
    static const char *const order_text[] = {"2, 3, 4, 5, 6 or 8", "2, 3, 4 or 5",
                                             "1, 2, 3, 4 or 5", "2, 3, 4, 5, 6 or 8"};
    static const int usual[] = {5, 4, 5, 4};
    soa_integration *i = &r->scenario->integration;
    if (soai_empty(node)) return true;
    if (!soai_fields(r, node, "integration", integration_fields, 0, i)) return false;
    const soai_node *order = soai_get(node, "order");
    int method = (int)i->method;
    if (!order) i->order = usual[method];
    if (i->order > 31 || !(orders[method] & 1u << i->order))
        return soai_say(r, SOA_E_ARGUMENT, order->mark,
                        "order: method '%s' has orders %s, found %d", integration_methods[method],
                        order_text[method], i->order);
    if (i->method == SOA_INTEGRATE_FIXED && !(i->step > 0))
        return soai_say(r, SOA_E_ARGUMENT,
                        soai_get(node, "step") ? soai_get(node, "step")->mark : node->mark,
                        "integration: method 'fixed' needs a 'step' greater than 0 (s)");
    return true;
}

static const soai_field recording_fields[] = {{.key = "rate",
                                               .kind = SOAI_F_NUMBER,
                                               .offset = offsetof(soa_recording, rate),
                                               .units = SOAI_FREQUENCY,
                                               .range = SOAI_POSITIVE},
                                              {.key = "checkpoint",
                                               .kind = SOAI_F_NUMBER,
                                               .offset = offsetof(soa_recording, checkpoint),
                                               .units = SOAI_TIME,
                                               .range = SOAI_NOT_NEGATIVE},
                                              {0}};
static bool read_recording(soai_reader *r, const soai_node *node) {
    if (soai_empty(node)) return true;
    soa_recording *recording = &r->scenario->recording;
    recording->rate_given = soai_get(node, "rate") != NULL;
    return soai_fields(r, node, "recording", recording_fields, 0, recording);
}

#define AT(member) offsetof(soa_success, member)
static const soai_field success_fields[] = {
    {.key = "object", .kind = SOAI_F_FRAME, .offset = AT(object)},
    {.key = "relative_to", .kind = SOAI_F_FRAME, .offset = AT(relative_to)},
    OTHER("fingers"),
    OTHER("from_phase"),
    {.key = "hold",
     .kind = SOAI_F_NUMBER,
     .offset = AT(hold),
     .units = SOAI_TIME,
     .range = SOAI_NOT_NEGATIVE},
    {.key = "position_error",
     .kind = SOAI_F_NUMBER,
     .offset = AT(position_error),
     .units = SOAI_LENGTH,
     .range = SOAI_POSITIVE},
    {.key = "attitude_error",
     .kind = SOAI_F_NUMBER,
     .offset = AT(attitude_error),
     .units = SOAI_ANGLE,
     .range = SOAI_POSITIVE},
    OTHER("force"),
    {0}};
#undef AT

static bool read_success(soai_reader *r, const soai_node *node) {
    soa_success *s = &r->scenario->success;
    if (soai_empty(node)) return true;
    s->mark = node->mark;
    if (!soai_fields(r, node, "success", success_fields, 0, s) ||
        !soai_needed(r, node, "success", "object", ""))
        return false;
    if (soai_get(node, "position_error")) s->errors_asked |= SOA_ASK_POSITION;
    if (soai_get(node, "attitude_error")) s->errors_asked |= SOA_ASK_ATTITUDE;
    const soai_node *fingers = soai_get(node, "fingers"), *phase = soai_get(node, "from_phase"),
                    *force = soai_get(node, "force");
    if (fingers) {
        int n = fingers->type == SOAI_LIST ? fingers->count : 1;
        if (n < 1 || n > LIST_MOST)
            return soai_say(r, SOA_E_FORMAT, fingers->mark,
                            "fingers: expected a group or a list of groups");
        const char **groups = soai_arena_take(&r->data, (size_t)n, sizeof *groups);
        if (!groups) return soai_no_memory(r);
        for (int i = 0; i < n; ++i)
            if (!soai_group(r, fingers->type == SOAI_LIST ? fingers->items[i] : fingers, "fingers",
                            &groups[i]))
                return false;
        s->fingers = groups[0];
        s->finger_groups = groups;
        s->finger_count = n;
    }
    if (phase && !read_phase_name(r, phase, "from_phase", &s->from_phase)) return false;
    if (force) {
        double band[2];
        if (!soai_numbers(r, force, "force", 2, SOAI_FORCE, SOAI_FORCE, SOAI_NOT_NEGATIVE, band))
            return false;
        if (!(band[0] < band[1]))
            return soai_say(r, SOA_E_ARGUMENT, force->mark,
                            "force: expected [low, high] with low < high, found %g and %g", band[0],
                            band[1]);
        s->force_low = band[0];
        s->force_high = band[1];
    }
    return true;
}

/* Checks that least_distance stays below margin (law safe) for all values that the sweep may
 * draw. */
static bool margins_fit(soai_reader *r, const soai_node *sweep) {
    const soa_scenario *s = r->scenario;
    double margin = -1, least = -1;
    for (int i = 0; i < s->variation_count; ++i) {
        if (strcmp(s->variations[i].path, "contact.margin") == 0) margin = s->variations[i].low;
        if (strcmp(s->variations[i].path, "contact.least_distance") == 0)
            least = s->variations[i].high;
    }
    for (int i = 0; i < s->contact_count && (margin > 0 || least > 0); ++i) {
        const soa_contact_pair *c = &s->contacts[i];
        double m = margin > 0 ? margin : c->margin;
        double d = least > 0 ? least : c->least_distance;
        if (c->law == SOA_CONTACT_SAFE && !(d < m))
            return soai_say(r, SOA_E_ARGUMENT, sweep->mark,
                            "sweep: least_distance may reach %g m, margin %g m, in the contact at "
                            "%d:%d; it must stay below",
                            d, m, c->mark.line, c->mark.column);
    }
    return true;
}

static bool read_sweep(soai_reader *r, const soai_node *node) {
    soa_scenario *s = r->scenario;
    if (soai_empty(node)) return true;
    if (!soai_is_map(r, node, "sweep")) return false;
    if (node->count > LIST_MOST)
        return soai_say(r, SOA_E_FORMAT, node->mark, "sweep: %d quantities; at most %d are read",
                        node->count, LIST_MOST);
    soa_variation *all = soai_arena_take(&r->data, (size_t)node->count, sizeof *all);
    if (!all) return soai_no_memory(r);
    for (int i = 0; i < node->count; ++i) {
        const soai_node *key = node->keys[i], *range = node->items[i];
        char hint[SOAI_HINT], shown[SOAI_SHOWN];
        unsigned units = 0;
        soai_range allowed = SOAI_ANY;
        double ends[2];
        all[i].mark = key->mark;
        if (!soai_text(r, key, "sweep", &all[i].path)) return false;
        if (!soai_path_known(s, all[i].path, &units, &allowed, hint))
            return soai_say(r, SOA_E_NAME, key->mark, "sweep: nothing that varies is called %s%s",
                            soai_found(key, shown), hint);
        if (strncmp(all[i].path, "contact.", 8) == 0 && s->contact_count == 0)
            return soai_say(r, SOA_E_NAME, key->mark,
                            "sweep: there are no contacts, so %s changes nothing",
                            soai_found(key, shown));
        const char *bracket = strstr(all[i].path, ".twist[");
        if (bracket &&
            !s->parts[soai_find_part(s, all[i].path, (size_t)(bracket - all[i].path))].floating)
            return soai_say(r, SOA_E_NAME, key->mark, "sweep: the part of %s does not float",
                            soai_found(key, shown));
        if (!soai_numbers(r, range, key->text, 2, units, units, allowed, ends)) return false;
        if (!(ends[0] <= ends[1]))
            return soai_say(r, SOA_E_ARGUMENT, range->mark,
                            "sweep: expected [low, high] with low <= high, found %g and %g",
                            ends[0], ends[1]);
        all[i].low = ends[0];
        all[i].high = ends[1];
    }
    s->variations = all;
    s->variation_count = node->count;
    return margins_fit(r, node);
}

/* --- the whole file --------------------------------------------------------------------------- */
static bool read_seed(soai_reader *r, const soai_node *node, uint64_t *seed) {
    char shown[SOAI_SHOWN];
    const char *text = node->type == SOAI_SCALAR ? node->text : "";
    size_t length = strspn(text, "0123456789");
    errno = 0;
    if (length > 0 && !text[length]) *seed = strtoull(text, NULL, 10);
    if (length == 0 || text[length] || errno == ERANGE)
        return soai_say(r, SOA_E_FORMAT, node->mark,
                        "seed: expected a whole number from 0 to 18446744073709551615, found %s",
                        soai_found(node, shown));
    return true;
}

#define AT(member) offsetof(soa_scenario, member)
static const soai_field scenario_fields[] = {
    {.key = "name", .kind = SOAI_F_TEXT, .offset = AT(name)},
    {.key = "text", .kind = SOAI_F_TEXT, .offset = AT(text)},
    {.key = "duration",
     .kind = SOAI_F_NUMBER,
     .offset = AT(duration),
     .units = SOAI_TIME,
     .range = SOAI_POSITIVE},
    OTHER("seed"),
    {.key = "gravity",
     .kind = SOAI_F_NUMBER,
     .offset = AT(gravity),
     .count = 3,
     .units = SOAI_ACCELERATION,
     .units2 = SOAI_ACCELERATION},
    {.key = "assembly_bound",
     .kind = SOAI_F_NUMBER,
     .offset = AT(assembly_bound),
     .units = SOAI_LENGTH | SOAI_ANGLE,
     .range = SOAI_NOT_NEGATIVE},
    OTHER("parts"),
    OTHER("shapes"),
    OTHER("contacts"),
    OTHER("constraints"),
    OTHER("springs"),
    OTHER("disturbances"),
    OTHER("estimator"),
    OTHER("control"),
    OTHER("integration"),
    OTHER("recording"),
    OTHER("success"),
    OTHER("sweep"),
    {0}};
#undef AT

static bool read_all(soai_reader *r, const soai_node *root) {
    soa_scenario *s = r->scenario;
    if (!root || soai_empty(root))
        return soai_say(r, SOA_E_FORMAT, (soa_mark){1, 1},
                        "the file is empty; expected a map with the key 'parts'");
    if (!soai_fields(r, root, "scenario", scenario_fields, 0, s) ||
        !soai_needed(r, root, "scenario", "parts", ""))
        return false;
    s->has_gravity = soai_get(root, "gravity") != NULL;
    const soai_node *n = soai_get(root, "seed");
    if (n && !read_seed(r, n, &s->seed)) return false;
    n = soai_get(root, "parts");
    int count = 0;
    s->parts = read_list(r, n, "parts", sizeof *s->parts, &count, read_part, NULL);
    if (!s->parts) return false;
    s->part_count = count;
    if (count == 0) return soai_say(r, SOA_E_FORMAT, n->mark, "parts: expected at least one part");
    if ((n = soai_get(root, "shapes"))) {
        s->shapes = read_list(r, n, "shapes", sizeof *s->shapes, &s->shape_count, read_shape, NULL);
        if (!s->shapes || !collect_groups(r)) return false;
    }
    if ((n = soai_get(root, "contacts"))) {
        s->contacts =
            read_list(r, n, "contacts", sizeof *s->contacts, &s->contact_count, read_contact, NULL);
        if (!s->contacts) return false;
    }
    if (!read_constraints(r, soai_get(root, "constraints"))) return false;
    if ((n = soai_get(root, "springs"))) {
        s->springs =
            read_list(r, n, "springs", sizeof *s->springs, &s->spring_count, read_spring, NULL);
        if (!s->springs) return false;
    }
    if ((n = soai_get(root, "disturbances"))) {
        s->disturbances = read_list(r, n, "disturbances", sizeof *s->disturbances,
                                    &s->disturbance_count, read_disturbance, NULL);
        if (!s->disturbances) return false;
    }
    return read_estimator(r, soai_get(root, "estimator")) &&
           read_control(r, soai_get(root, "control")) &&
           read_integration(r, soai_get(root, "integration")) &&
           read_recording(r, soai_get(root, "recording")) &&
           read_success(r, soai_get(root, "success")) && read_sweep(r, soai_get(root, "sweep"));
}

/* --- the list of all keys --------------------------------------------------------------------- */
static const struct section {
    const char *name;
    const soai_field *fields;
} sections[] = {{"scenario", scenario_fields},   {"place", soai_place_fields},
                {"parts", part_fields},          {"body", body_fields},
                {"size", size_fields},           {"frames", frame_fields},
                {"twist", twist_fields},         {"shapes", shape_fields},
                {"contacts", contact_fields},    {"constraints", constraint_fields},
                {"springs", spring_fields},      {"disturbances", disturbance_fields},
                {"estimator", estimator_fields}, {"wrenches", wrench_fields},
                {"control", control_fields},     {"estimate", estimate_fields},
                {"sensors", sensor_fields},      {"phases", phase_fields},
                {"actions", action_fields},      {"next", transition_fields},
                {"when", condition_fields},      {"integration", integration_fields},
                {"recording", recording_fields}, {"success", success_fields}};

const char *soa_scenario_key(int index, const char **section) {
    int left = index;
    for (size_t k = 0; left >= 0 && k < sizeof sections / sizeof *sections; ++k)
        for (const soai_field *f = sections[k].fields; f->key; ++f) {
            if (!soai_is_first(sections[k].fields, f) || left-- > 0) continue;
            if (section) *section = sections[k].name;
            return f->key;
        }
    return NULL;
}

/* File name without folder and extension: the name of a scenario that gives none. */
static const char *stem(soai_reader *r, const char *file) {
    const char *slash = strrchr(file, '/'), *start = slash ? slash + 1 : file,
               *dot = strrchr(start, '.');
    return soai_arena_text(&r->data, start,
                           dot && dot > start ? (size_t)(dot - start) : strlen(start));
}

soa_status soa_scenario_parse(const char *text, size_t size, const char *name,
                              soa_scenario *scenario, soa_report *report) {
    soai_report_reset(report);
    if (!scenario || (!text && size > 0))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no text, or no place for the scenario");
    soa_scenario read = soa_scenario_default(NULL);
    soai_reader r = {.file = name ? name : "scenario", .scenario = &read, .report = report};
    soai_node *root = NULL;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return soai_report(report, SOA_E_MEMORY, -1, 0, "no memory is left");
    locale_t before = uselocale(plain);
    bool fine = soai_yaml(&r, text ? text : "", size, &root) && read_all(&r, root);
    if (fine) {
        read.file = soai_arena_text(&r.data, r.file, strlen(r.file));
        if (!read.name) read.name = stem(&r, r.file);
        read.source = soai_arena_text(&r.data, text, size);
        read.source_size = size;
        if (!read.file || !read.name || !read.source) fine = soai_no_memory(&r);
    }
    uselocale(before);
    freelocale(plain);
    soai_arena_free(&r.tree);
    if (!fine) {
        soai_arena_free(&r.data);
        return soai_report_end(report, r.status);
    }
    read.memory = r.data.last;
    *scenario = read;
    return soai_report(report, SOA_OK, -1, 0, "%s", "");
}

soa_status soa_scenario_read(const char *path, soa_scenario *scenario, soa_report *report) {
    soai_report_reset(report);
    if (!path || !scenario)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no path, or no place for the scenario");
    FILE *file = fopen(path, "rb");
    if (!file) return soai_report(report, SOA_E_FILE, -1, 0, "%.120s: %s", path, strerror(errno));
    char *text = malloc(SOAI_SCENARIO_BYTES + 1u);
    size_t size = 0;
    soa_status status = SOA_OK;
    if (!text) {
        status = soai_report(report, SOA_E_MEMORY, -1, 0, "%.120s: no memory is left", path);
    } else {
        /* One byte over the limit is read, so that the size check can refuse the file. */
        size = fread(text, 1, SOAI_SCENARIO_BYTES + 1u, file);
        if (ferror(file))
            status = soai_report(report, SOA_E_FILE, -1, 0, "%.120s: %s", path, strerror(errno));
    }
    fclose(file);
    if (status == SOA_OK) status = soa_scenario_parse(text, size, path, scenario, report);
    free(text);
    return soai_report_end(report, status);
}
