/* info.c  soa info: shows the contents of a model, as a tree for people or JSON for programs. */
#include "../app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON = APP_MODEL_OPTION_COUNT, LINKS, FRAMES, JOINTS, TREE };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--json", NULL, NULL,
     "one JSON object: nq nv bodies mass gravity bytes joints mimic frames constraints"},
    {"--links", NULL, NULL, "only the names of the links, one per line"},
    {"--frames", NULL, NULL,
     "the same with all other named places: whatever pose:LINK, --tip and fext take"},
    {"--joints", NULL, NULL, "only the names of the joints with coordinates, in the order of q"},
    {"--tree", NULL, NULL, "the spanning tree with its cut joints, and WD89's binary tree"},
    APP_OPTION_END,
};

/* --- JSON ------------------------------------------------------------------------------------- */
static void put_key(app_out *out, const char *key) {
    out_print(out, "\"%s\": ", key);
}

static void put_named(app_out *out, const char *key, const char *text) {
    put_key(out, key);
    out_string(out, text);
    out_text(out, ", ");
}

static void put_value(app_out *out, const char *key, double x) {
    put_key(out, key);
    out_number(out, x); /* null if there is no limit */
    out_text(out, ", ");
}

static void put_list(app_out *out, const char *key, const double *x, size_t count) {
    put_key(out, key);
    out_vector(out, x, count);
    out_text(out, ", ");
}

static const char *link_of(const soa_model *model, int body) {
    soa_body_info info;
    return body > 0 && soa_model_body(model, body, &info) == SOA_OK ? info.link : "world";
}

static int has_axis(soa_joint_type type) {
    return type != SOA_SPHERICAL && type != SOA_FREE && type != SOA_FIXED;
}

static int has_axis2(soa_joint_type type) {
    return type == SOA_UNIVERSAL || type == SOA_PLANAR;
}

static void put_joint(app_out *out, const soa_model *model, const soa_body_info *b) {
    out_text(out, "\n  {");
    put_named(out, "name", b->joint);
    put_named(out, "type", soa_joint_type_name(b->type));
    put_named(out, "link", b->link);
    put_named(out, "parent", link_of(model, b->parent));
    if (b->mimic >= 0) {
        soa_body_info followed;
        if (soa_model_body(model, b->mimic, &followed) == SOA_OK)
            put_named(out, "follows", followed.joint);
        put_value(out, "ratio", b->mimic_ratio);
        put_value(out, "offset", b->mimic_offset);
    } else {
        out_print(out, "\"q_index\": %d, \"nq\": %d, \"v_index\": %d, \"nv\": %d, ", b->q_index,
                  b->nq, b->v_index, b->nv);
    }
    put_list(out, "R", b->placement.R, 9); /* in the parent */
    put_list(out, "p", b->placement.p, 3);
    if (has_axis(b->type)) put_list(out, "axis", b->axis, 3);
    if (has_axis2(b->type)) put_list(out, "axis2", b->axis2, 3);
    if (b->type == SOA_HELICAL) put_value(out, "pitch", b->pitch);
    put_value(out, "lower", b->lower);
    put_value(out, "upper", b->upper);
    put_value(out, "max_speed", b->max_speed);
    put_value(out, "max_effort", b->max_effort);
    put_value(out, "damping", b->damping);
    put_value(out, "friction_positive", b->friction_positive);
    put_value(out, "friction_negative", b->friction_negative);
    put_value(out, "stiffness", b->stiffness);
    put_value(out, "rest", b->rest);
    put_value(out, "rotor_inertia", b->rotor_inertia);
    put_value(out, "gear_ratio", b->gear_ratio);
    put_named(out, "rotor_model", b->rotor_model == SOA_ROTOR_EXACT ? "exact" : "reflected");
    if (b->rotor_model == SOA_ROTOR_EXACT) put_list(out, "rotor_axis", b->rotor_axis, 3);
    put_value(out, "mass", b->mass);
    put_list(out, "com", b->com, 3);
    put_key(out, "inertia");
    out_vector(out, b->inertia, 6);
    out_char(out, '}');
}

static void put_joints(app_out *out, const soa_model *model, const char *key, int mimic) {
    soa_body_info info;
    int count = 0;
    put_key(out, key);
    out_char(out, '[');
    for (int b = 1; b <= soa_model_body_count(model); ++b) {
        if (soa_model_body(model, b, &info) != SOA_OK || (info.mimic >= 0) != mimic) continue;
        if (count++) out_char(out, ',');
        put_joint(out, model, &info);
    }
    out_text(out, "],\n ");
}

static void print_json(app_out *out, const soa_model *model,
                       const soa_constraint_list *constraints) {
    double gravity[3];
    soa_frame_info frame;
    soa_model_gravity(model, gravity);
    out_char(out, '{');
    put_named(out, "name", soa_model_name(model));
    out_print(out, "\"nq\": %d, \"nv\": %d, \"bodies\": %d, ", soa_model_nq(model),
              soa_model_nv(model), soa_model_body_count(model));
    put_value(out, "mass", soa_model_mass(model));
    put_list(out, "gravity", gravity, 3);
    out_print(out, "\"bytes\": {\"model\": %zu, \"work\": %zu, \"batch\": %zu},\n ",
              soa_model_bytes(model), soa_work_size(model), app_batch_size(model));
    put_joints(out, model, "joints", 0);
    put_joints(out, model, "mimic", 1);
    put_key(out, "frames");
    out_char(out, '[');
    for (int f = 0; f < soa_model_frame_count(model); ++f) {
        if (soa_model_frame(model, f, &frame) != SOA_OK) continue;
        out_text(out, f ? ",\n  {" : "\n  {");
        put_named(out, "name", frame.name);
        put_named(out, "body", link_of(model, frame.body));
        out_print(out, "\"is_link\": %s, ", frame.is_link ? "true" : "false");
        put_list(out, "R", frame.placement.R, 9);
        put_key(out, "p");
        out_vector(out, frame.placement.p, 3);
        out_char(out, '}');
    }
    out_text(out, "],\n ");
    put_key(out, "constraints");
    app_put_constraints(out, model, constraints);
    out_text(out, "}\n");
}

/* --- the tree --------------------------------------------------------------------------------- */
enum { CELLS = 8, DEPTH_SHOWN = 12 };
static const char *const titles[CELLS] = {"link", "joint", "type",    "axis",
                                          "q",    "v",     "mass kg", "limits"};

typedef struct row {
    char *cell[CELLS];
} row;

typedef struct table {
    row *rows;
    int count, room, failed;
    int width[CELLS];
} table;

static int short_of_memory; /* a text could not be made */

static char *join(const char *a, const char *b, const char *c) {
    size_t room = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(room);
    if (text)
        snprintf(text, room, "%s%s%s", a, b, c);
    else
        short_of_memory = 1;
    return text;
}

static row *add_row(table *t, const char *tree, const char *name) {
    static row nowhere;
    if (t->count == t->room) {
        int want = t->room ? 2 * t->room : 64;
        row *grown = realloc(t->rows, (size_t)want * sizeof *grown);
        if (!grown) {
            t->failed = 1;
            return &nowhere;
        }
        t->rows = grown;
        t->room = want;
    }
    row *r = &t->rows[t->count++];
    memset(r, 0, sizeof *r);
    r->cell[0] = join(tree, name, "");
    return r;
}

static void set_cell(row *r, int cell, const char *text) {
    if (r->cell[0] && !r->cell[cell]) r->cell[cell] = join(text, "", "");
}

static void axis_text(char *text, size_t room, const double axis[3]) {
    for (int i = 0; i < 3; ++i) {
        double rest = fabs(axis[(i + 1) % 3]) + fabs(axis[(i + 2) % 3]);
        if (rest < 1e-12 && fabs(fabs(axis[i]) - 1) < 1e-12) {
            snprintf(text, room, "%s%c", axis[i] < 0 ? "-" : "", 'x' + i);
            return;
        }
    }
    snprintf(text, room, "%.4g %.4g %.4g", axis[0], axis[1], axis[2]);
}

static void index_text(char *text, size_t room, int first, int count) {
    if (count == 1)
        snprintf(text, room, "%d", first);
    else if (count > 1)
        snprintf(text, room, "%d..%d", first, first + count - 1);
    else
        snprintf(text, room, "-");
}

static void describe_body(row *r, const soa_model *model, const soa_body_info *b) {
    char text[240], more[80] = "";
    set_cell(r, 1, b->joint);
    set_cell(r, 2, soa_joint_type_name(b->type));
    if (has_axis(b->type)) {
        axis_text(text, sizeof text, b->axis);
        set_cell(r, 3, text);
    }
    if (has_axis2(b->type)) {
        axis_text(more, sizeof more, b->axis2);
        snprintf(text, sizeof text, "%.70s, %.70s", r->cell[3] ? r->cell[3] : "", more);
        free(r->cell[3]);
        r->cell[3] = NULL;
        set_cell(r, 3, text);
    }
    index_text(text, sizeof text, b->q_index, b->nq);
    set_cell(r, 4, text);
    index_text(text, sizeof text, b->v_index, b->nv);
    set_cell(r, 5, text);
    snprintf(text, sizeof text, "%.6g", b->mass);
    set_cell(r, 6, text);
    if (b->mimic >= 0) {
        soa_body_info followed;
        const char *name =
            soa_model_body(model, b->mimic, &followed) == SOA_OK ? followed.joint : "?";
        if (b->mimic_offset != 0) snprintf(more, sizeof more, " %+.4g", b->mimic_offset);
        snprintf(text, sizeof text, "= %.4g * %.100s%s", b->mimic_ratio, name, more);
        set_cell(r, 7, text);
    } else if (isfinite(b->lower) || isfinite(b->upper)) {
        snprintf(text, sizeof text, "%.4g .. %.4g", b->lower, b->upper);
        set_cell(r, 7, text);
    }
}

/* Children of every body as linked lists: bodies, and frames other than the bodies' own links. */
typedef struct kin {
    int *child, *sibling, *frame, *next_frame;
} kin;

static int make_kin(const soa_model *model, kin *k) {
    size_t bodies = (size_t)soa_model_body_count(model) + 1,
           frames = (size_t)soa_model_frame_count(model) + 1;
    soa_body_info body;
    soa_frame_info frame;
    k->child = calloc(bodies, sizeof(int));
    k->sibling = calloc(bodies, sizeof(int));
    k->frame = malloc(bodies * sizeof(int));
    k->next_frame = malloc(frames * sizeof(int));
    if (!k->child || !k->sibling || !k->frame || !k->next_frame) return -1;
    for (size_t b = 0; b < bodies; ++b)
        k->frame[b] = -1;
    for (int b = soa_model_body_count(model); b > 0; --b) {
        if (soa_model_body(model, b, &body) != SOA_OK) continue;
        k->sibling[b] = k->child[body.parent];
        k->child[body.parent] = b;
    }
    for (int f = soa_model_frame_count(model) - 1; f >= 0; --f) {
        if (soa_model_frame(model, f, &frame) != SOA_OK) continue;
        if (frame.body > 0 && soa_model_body(model, frame.body, &body) == SOA_OK && body.frame == f)
            continue;
        /* The world itself. */
        if (f == 0 && frame.body == 0 && !frame.is_link) continue;
        k->next_frame[f] = k->frame[frame.body];
        k->frame[frame.body] = f;
    }
    return 0;
}

static void free_kin(kin *k) {
    free(k->child);
    free(k->sibling);
    free(k->frame);
    free(k->next_frame);
}

/* The lines drawn to the left of a body's children. */
typedef struct drawing {
    char *branch, *last, *under, *under_last;
    int next; /* next child to draw; 0: no more */
} drawing;

static void free_drawing(drawing *d) {
    free(d->branch);
    free(d->last);
    free(d->under);
    free(d->under_last);
}

/* Adds the rows of a body's frames. Returns the drawing for its children, which follow. */
static drawing add_frames(table *t, const soa_model *model, const kin *k, int body,
                          const char *lines, int depth) {
    soa_frame_info frame;
    /* Long chains would not fit on the page: they are drawn straight down, with a count. */
    int deep = depth >= DEPTH_SHOWN;
    char level[24] = "";
    if (deep) snprintf(level, sizeof level, "(+%d) ", depth - DEPTH_SHOWN + 1);
    drawing d = {join(lines, "|- ", level), join(lines, "`- ", level),
                 join(lines, deep ? "" : "|  ", ""), join(lines, deep ? "" : "   ", ""), 0};
    if (short_of_memory) return d;
    d.next = k->child[body];
    for (int f = k->frame[body]; f >= 0; f = k->next_frame[f]) {
        if (soa_model_frame(model, f, &frame) != SOA_OK) continue;
        int more = k->next_frame[f] >= 0 || k->child[body] > 0;
        set_cell(add_row(t, more ? d.branch : d.last, frame.name), 2,
                 frame.is_link ? "fixed" : "frame");
    }
    return d;
}

/* Adds rows for everything attached to the world. Uses a stack of drawings instead of recursion:
 * chains may have 100,000 bodies. */
static void add_children(table *t, const soa_model *model, const kin *k) {
    soa_body_info info;
    drawing *stack = malloc(((size_t)soa_model_body_count(model) + 2) * sizeof *stack);
    int depth = 0;
    if (!stack) {
        t->failed = 1;
        return;
    }
    stack[depth++] = add_frames(t, model, k, 0, "", 0);
    while (depth > 0) {
        drawing *d = &stack[depth - 1];
        const int b = d->next;
        if (b <= 0 || t->failed || short_of_memory) {
            free_drawing(d);
            --depth;
            continue;
        }
        d->next = k->sibling[b];
        if (soa_model_body(model, b, &info) != SOA_OK) continue;
        int more = k->sibling[b] > 0;
        describe_body(add_row(t, more ? d->branch : d->last, info.link), model, &info);
        stack[depth] = add_frames(t, model, k, b, more ? d->under : d->under_last, depth);
        ++depth;
    }
    free(stack);
}

static void print_cells(app_out *out, const table *t, const char *const *cell) {
    int final = CELLS - 1;
    while (final > 0 && (!cell[final] || !cell[final][0] || t->width[final] == 0))
        --final;
    for (int i = 0; i <= final; ++i) {
        const char *text = cell[i] ? cell[i] : "";
        if (t->width[i] == 0) continue;
        int pad = t->width[i] - (int)strlen(text), right = i >= 4 && i <= 6;
        out_print(out, "%*s%s%*s", right ? pad : 0, "", text, right || i == final ? 0 : pad, "");
        out_text(out, i == final ? "" : "  ");
    }
    out_char(out, '\n');
}

static void print_tree(app_out *out, const soa_model *model, table *t) {
    double g[3];
    int mimic = 0, joints = 0;
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(model); ++b)
        if (soa_model_body(model, b, &info) == SOA_OK) info.mimic >= 0 ? ++mimic : ++joints;
    soa_model_gravity(model, g);
    out_print(
        out,
        "%s: %d joint%s, nq %d, nv %d; %d moving bod%s of %.6g kg in all; gravity %g %g %g m/s^2\n",
        soa_model_name(model), joints, joints == 1 ? "" : "s", soa_model_nq(model),
        soa_model_nv(model), soa_model_body_count(model),
        soa_model_body_count(model) == 1 ? "y" : "ies", soa_model_mass(model), g[0], g[1], g[2]);
    out_print(out, "memory: model %zu, work space %zu, batch %zu bytes\n", soa_model_bytes(model),
              soa_work_size(model), app_batch_size(model));
    if (mimic)
        out_print(out, "%d more joint%s follow%s another one (--ideal sets them free)\n", mimic,
                  mimic == 1 ? "" : "s", mimic == 1 ? "s" : "");
    out_char(out, '\n');
    for (int i = 0; i < t->count; ++i)
        for (int j = 0; j < CELLS; ++j)
            if (t->rows[i].cell[j] && (int)strlen(t->rows[i].cell[j]) > t->width[j])
                t->width[j] = (int)strlen(t->rows[i].cell[j]);
    for (int j = 0; j < CELLS; ++j)
        if (t->width[j] > 0 && t->width[j] < (int)strlen(titles[j]))
            t->width[j] = (int)strlen(titles[j]);
    print_cells(out, t, titles);
    for (int i = 0; i < t->count; ++i)
        print_cells(out, t, (const char *const *)t->rows[i].cell);
}

static int print_people(app_out *out, const soa_model *model) {
    kin k = {NULL, NULL, NULL, NULL};
    table t = {NULL, 0, 0, 0, {0}};
    int failed = make_kin(model, &k);
    if (!failed) {
        add_row(&t, "", "world");
        add_children(&t, model, &k);
        failed = t.failed || short_of_memory;
    }
    if (!failed) print_tree(out, model, &t);
    for (int i = 0; i < t.count; ++i)
        for (int j = 0; j < CELLS; ++j)
            free(t.rows[i].cell[j]);
    free(t.rows);
    free_kin(&k);
    return failed;
}

static void print_frames(app_out *out, const soa_model *model, int links_alone) {
    soa_frame_info frame;
    for (int f = 0; f < soa_model_frame_count(model); ++f)
        if (soa_model_frame(model, f, &frame) == SOA_OK && (frame.is_link || !links_alone))
            out_print(out, "%s\n", frame.name);
}

static void print_joints(app_out *out, const soa_model *model) {
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(model); ++b)
        if (soa_model_body(model, b, &info) == SOA_OK && info.nq > 0)
            out_print(out, "%s\n", info.joint);
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_info, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    int ways = 0;
    for (int way = JSON; way <= TREE; ++way)
        ways += args.value[way] != NULL;
    if (ways > 1)
        return app_fail(&app_info,
                        "--json, --links, --frames, --joints and --tree exclude each other");
    soa_constraint_list constraints;
    const soa_model *model = app_open_closed(&app_info, &args, &constraints);
    if (!model) return APP_FAILED;
    app_out out;
    out_start(&out, 1);
    code = APP_OK;
    if (args.value[JSON])
        print_json(&out, model, &constraints);
    else if (args.value[LINKS] || args.value[FRAMES])
        print_frames(&out, model, args.value[LINKS] != NULL);
    else if (args.value[JOINTS])
        print_joints(&out, model);
    else if (args.value[TREE] ? app_print_tree(&out, model, &constraints) != 0
                              : print_people(&out, model) != 0)
        code = app_fail(&app_info, "out of memory");
    else if (!args.value[TREE])
        app_print_constraints(&out, model, &constraints);
    soa_constraint_list_free(&constraints);
    soa_model_free(model);
    return app_finish(&app_info, &out, code);
}

const app_command app_info = {
    .name = "info",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Shows what is in a model: links, joints, coordinates, masses",
    .text = "The order of the joints here is the order of q, v and tau everywhere.  Columns q and "
            "v give the places of\n"
            "a joint's numbers, from 0: spherical joints have a quaternion (w x y z), free ones "
            "position and quaternion\n"
            "in q, and angular before linear velocity, in the body's axes, in v.\n"
            "--tree draws what is joined to what: the tree, with the joints at which loops were "
            "cut (~), then the same as\n"
            "WD89's binary tree, with the loops' closure equations.\n",
    .options = options,
    .examples = "  soa info puma560\n"
                "  soa info robot.urdf --floating\n"
                "  soa info four-bar --tree\n"
                "  soa info robot.urdf --json | python3 -m json.tool\n",
    .run = run,
};
