/* tree.c  soa info: shows the connections: the spanning tree with its cut joints, WD89's binary
 * tree, the constraints. */
#include "../app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */
/* In the order of soa_constraint_kind. */
static const char *const kinds[] = {"loop",     "distance", "gear", "rolling",
                                    "velocity", "plane",    "disc"};
_Static_assert(sizeof kinds / sizeof *kinds == SOA_CONSTRAINT_KIND_COUNT, "a word for each kind");

static const char *frame_name(const soa_model *model, int frame) {
    soa_frame_info info;
    return soa_model_frame(model, frame, &info) == SOA_OK ? info.name : "?";
}
static const char *joint_name(const soa_model *model, int body) {
    soa_body_info info;
    return soa_model_body(model, body, &info) == SOA_OK ? info.joint : "?";
}
static int body_of(const soa_model *model, int frame) {
    soa_frame_info info;
    return soa_model_frame(model, frame, &info) == SOA_OK ? info.body : 0;
}
static int has_axis(soa_joint_type type) {
    return type != SOA_FIXED && type != SOA_SPHERICAL && type != SOA_FREE;
}

/* --- constraints ------------------------------------------------------------------------------ */
void app_print_constraints(app_out *out, const soa_model *model, const soa_constraint_list *list) {
    int width[3] = {0, 0, 0};
    if (list->count == 0) return;
    for (int i = 0; i < list->count; ++i) {
        const soa_constraint_def *d = &list->defs[i];
        const char *text[3] = {d->name,
                               d->kind == SOA_LOOP ? soa_joint_type_name(d->joint) : kinds[d->kind],
                               d->kind == SOA_RATIO ? "" : frame_name(model, d->frame1)};
        for (int k = 0; k < 3; ++k)
            if ((int)strlen(text[k]) > width[k]) width[k] = (int)strlen(text[k]);
    }
    out_print(out, "\n%d constraint%s (soa compute --fn closed):\n", list->count,
              list->count == 1 ? "" : "s");
    for (int i = 0; i < list->count; ++i) {
        const soa_constraint_def *d = &list->defs[i];
        const char *kind = d->kind == SOA_LOOP ? soa_joint_type_name(d->joint) : kinds[d->kind];
        out_print(out, "%-*s  %-*s  %d row%s  ", width[0], d->name, width[1], kind,
                  soa_constraint_def_row_count(d),
                  soa_constraint_def_row_count(d) == 1 ? " " : "s");
        if (d->kind == SOA_RATIO) {
            int terms = 0;
            for (int k = 0; k < SOA_RATIO_TERMS; ++k)
                if (d->coordinate[k])
                    out_print(out, "%s%.6g %s", terms++ ? " + " : "", d->coefficient[k],
                              joint_name(model, d->coordinate[k]));
            out_print(out, " = %.6g\n", d->value);
            continue;
        }
        out_print(out, "%-*s - %s", width[2], frame_name(model, d->frame1),
                  frame_name(model, d->frame2));
        if (d->kind == SOA_DISTANCE || d->kind == SOA_ROLLING || d->kind == SOA_DISC)
            out_print(out, "  %.6g m", d->value);
        if (d->kind == SOA_LOOP && has_axis(d->joint))
            out_print(out, "  axis %.4g %.4g %.4g", d->axis[0], d->axis[1], d->axis[2]);
        out_char(out, '\n');
    }
}

static void put_numbers(app_out *out, const char *key, const double *x, size_t count) {
    out_print(out, ", \"%s\": ", key);
    if (count == 1)
        out_number(out, *x);
    else
        out_vector(out, x, count);
}

void app_put_constraints(app_out *out, const soa_model *model, const soa_constraint_list *list) {
    out_char(out, '[');
    for (int i = 0; i < list->count; ++i) {
        const soa_constraint_def *d = &list->defs[i];
        out_text(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        out_string(out, d->name);
        out_print(out, ", \"kind\": \"%s\", \"rows\": %d", kinds[d->kind],
                  soa_constraint_def_row_count(d));
        if (d->kind == SOA_LOOP) {
            out_print(out, ", \"type\": \"%s\"", soa_joint_type_name(d->joint));
            if (has_axis(d->joint)) put_numbers(out, "axis", d->axis, 3);
            if (d->joint == SOA_UNIVERSAL || d->joint == SOA_PLANAR)
                put_numbers(out, "axis2", d->axis2, 3);
            if (d->joint == SOA_HELICAL) put_numbers(out, "pitch", &d->pitch, 1);
            put_numbers(out, "damping", &d->damping, 1);
            put_numbers(out, "friction", &d->friction, 1);
        }
        if (d->kind != SOA_LOOP && d->kind != SOA_VELOCITY) put_numbers(out, "value", &d->value, 1);
        if (d->kind == SOA_RATIO) {
            int terms = 0;
            out_text(out, ", \"terms\": [");
            for (int k = 0; k < SOA_RATIO_TERMS; ++k) {
                if (!d->coordinate[k]) continue;
                out_text(out, terms++ ? ", {\"joint\": " : "{\"joint\": ");
                out_string(out, joint_name(model, d->coordinate[k]));
                put_numbers(out, "coefficient", &d->coefficient[k], 1);
                out_char(out, '}');
            }
            out_char(out, ']');
        } else {
            for (int k = 0; k < 2; ++k) {
                const soa_frame *place = k ? &d->place2 : &d->place1;
                out_print(out, ", \"link%d\": ", k + 1);
                out_string(out, frame_name(model, k ? d->frame2 : d->frame1));
                out_print(out, ", \"R%d\": ", k + 1);
                out_vector(out, place->R, 9);
                out_print(out, ", \"p%d\": ", k + 1);
                out_vector(out, place->p, 3);
            }
        }
        if (d->kind == SOA_VELOCITY) {
            out_print(out,
                      ", \"axes\": \"%s\", \"matrix\": ", d->rows_in_frame2 ? "link2" : "link1");
            out_matrix(out, &d->rows[0][0], (size_t)d->row_count, 6);
        }
        out_char(out, '}');
    }
    out_char(out, ']');
}

/* --- trees ------------------------------------------------------------------------------------ */

/* A tree to draw: children as ordered linked lists; `mark` is printed before a node. */
typedef struct node {
    int child, last, next, depth;
    char mark;
} node;

static void hang(node *nodes, int parent, int child, char mark) {
    nodes[child].mark = mark;
    if (nodes[parent].last)
        nodes[nodes[parent].last].next = child;
    else
        nodes[parent].child = child;
    nodes[parent].last = child;
}

typedef void text_fn(app_out *out, const void *user, int number);

/* Draws depth first, with a stack of waiting nodes. Deep trees are drawn straight down, with a
 * count. */
static int draw(app_out *out, node *nodes, int count, text_fn *text, const void *user) {
    enum { DEPTH_SHOWN = 12 };
    int *stack = malloc(((size_t)count + 1) * sizeof *stack), waiting = 0;
    char open[DEPTH_SHOWN + 1] = {0};
    if (!stack) return -1;
    nodes[0].depth = 0;
    for (int at = 0;;) {
        node *n = &nodes[at];
        const int depth = n->depth;
        for (int level = 1; level < depth && level <= DEPTH_SHOWN; ++level)
            out_text(out, open[level] ? "|  " : "   ");
        if (at) {
            if (depth <= DEPTH_SHOWN) open[depth] = n->next > 0;
            out_print(out, "%c%c ", n->next ? '|' : '`', n->mark);
            if (depth > DEPTH_SHOWN) out_print(out, "(+%d) ", depth - DEPTH_SHOWN);
        }
        text(out, user, at);
        out_char(out, '\n');
        if (n->next) {
            nodes[n->next].depth = depth;
            stack[waiting++] = n->next;
        }
        if (n->child) {
            nodes[n->child].depth = depth + 1;
            at = n->child;
        } else if (waiting) {
            at = stack[--waiting];
        } else {
            break;
        }
    }
    free(stack);
    return 0;
}

typedef struct picture {
    const soa_model *model;
    const soa_loop_def *loops;
    const soa_binary_item *items;
    int bodies;
} picture;

static void tree_text(app_out *out, const void *user, int number) {
    const picture *p = user;
    soa_body_info info;
    if (number == 0) {
        out_text(out, "world");
    } else if (number <= p->bodies) {
        if (soa_model_body(p->model, number, &info) == SOA_OK)
            out_print(out, "%s  (%s, %s%s)", info.link, info.joint, soa_joint_type_name(info.type),
                      info.mimic >= 0 ? ", follows" : "");
    } else {
        const soa_loop_def *l = &p->loops[number - p->bodies - 1];
        out_print(out, "%s  (%s, %s, cut)", frame_name(p->model, l->link2), l->name,
                  soa_joint_type_name(l->joint.type));
    }
}

static void binary_text(app_out *out, const void *user, int number) {
    const picture *p = user;
    const soa_binary_item *t = &p->items[number];
    soa_body_info info;
    const char *body = "world";
    if (t->body > 0 && soa_model_body(p->model, t->body, &info) == SOA_OK) body = info.link;
    out_print(out, "%d  ", number);
    if (number == 0)
        out_text(out, "inertial link");
    else if (t->kind == SOA_ITEM_SUCCESSOR)
        out_print(out, "%s  (%s, %s)", body, info.joint, soa_joint_type_name(info.type));
    else if (t->kind == SOA_ITEM_TERMINATING)
        out_print(out, "terminating link of %s  (%s)", p->loops[t->loop].name,
                  soa_joint_type_name(p->loops[t->loop].joint.type));
    else if (t->loop >= 0)
        out_print(out, "connector on %s, where %s arrives", body, p->loops[t->loop].name);
    else
        out_print(out, "connector on %s", body);
}

/* Writes "T0_1(A) T1_2(B) ...": the path from the inertial link to an item. */
static void put_way(app_out *out, const picture *p, int item) {
    enum { MOST = 24 };
    int way[MOST], length = 0;
    for (int i = item; i > 0; i = p->items[i].predecessor)
        if (length++ < MOST) way[length - 1] = i;
    if (length > MOST) out_text(out, "... ");
    for (int k = (length < MOST ? length : MOST) - 1; k >= 0; --k) {
        const soa_binary_item *t = &p->items[way[k]];
        out_print(out, "T%d_%d", t->predecessor, way[k]);
        if (t->kind == SOA_ITEM_SUCCESSOR) out_print(out, "(%s)", joint_name(p->model, t->body));
        if (t->kind == SOA_ITEM_TERMINATING) out_print(out, "(%s)", p->loops[t->loop].name);
        if (k) out_char(out, ' ');
    }
}

/* Prints rank and mobility if the loops close from q = 0. Nonzero: out of memory. */
static int print_mobility(app_out *out, const soa_model *model, const soa_constraint_list *list) {
    enum { MOST = 600 };
    soa_constraints *all = NULL;
    soa_work *work = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_closed_report closed = {.rank = 0};
    size_t nq = (size_t)soa_model_nq(model), nv = (size_t)soa_model_nv(model);
    if (list->count == 0 || nv == 0 || nv + 6 * (size_t)list->count > MOST) return 0;
    double *q = calloc(nq + nv, sizeof *q);
    soa_status status = q ? soa_constraints_from_list(list, model, 1, &all, &report) : SOA_E_MEMORY;
    if (status == SOA_OK) status = soa_work_create(model, &work);
    if (status == SOA_OK) {
        soa_q_neutral(model, q);
        status = soa_closed_assemble(all, work, 0, NULL, q, &report);
        if (status == SOA_OK)
            status = soa_closed_fd(all, work, NULL, &(soa_input){.q = q}, q + nq, NULL, &closed);
        if (status == SOA_OK) {
            out_print(out, "closed from q = 0: rank %d of %d rows, %d degree%s of freedom%s%s\n",
                      closed.rank, closed.rows, (int)nv - closed.rank,
                      (int)nv - closed.rank == 1 ? "" : "s", closed.text[0] ? "; " : "",
                      closed.text);
        } else {
            out_print(out, "from q = 0: %s\n",
                      report.text[0] ? report.text : soa_status_text(status));
        }
    }
    soa_work_free(work);
    soa_constraints_free(all);
    free(q);
    return status == SOA_E_MEMORY;
}

int app_print_tree(app_out *out, const soa_model *model, const soa_constraint_list *list) {
    const int bodies = soa_model_body_count(model);
    int count = 0, loops = 0, failed = 0;
    picture p = {.model = model, .bodies = bodies};
    soa_loop_def *loop = calloc((size_t)list->count + 1, sizeof *loop);
    soa_binary_item *items = NULL;
    node *nodes = NULL;
    soa_body_info info;
    if (!loop) return -1;
    for (int i = 0; i < list->count; ++i) {
        const soa_constraint_def *d = &list->defs[i];
        if (d->kind != SOA_LOOP) continue;
        soa_loop_def *l = &loop[loops++];
        *l = (soa_loop_def){d->name,   d->frame1, d->frame2,
                            d->place1, d->place2, soa_joint_default(d->joint)};
    }
    p.loops = loop;
    failed = soa_model_binary_tree(model, loop, loops, NULL, 0, &count) != SOA_OK;
    if (!failed) items = malloc((size_t)count * sizeof *items);
    if (!failed) nodes = calloc((size_t)count, sizeof *nodes);
    if (failed || !items || !nodes ||
        soa_model_binary_tree(model, loop, loops, items, count, &count) != SOA_OK)
        failed = -1;
    if (!failed) {
        out_print(out, "%s: %d bod%s, %d cut joint%s (~)\n", soa_model_name(model), bodies,
                  bodies == 1 ? "y" : "ies", loops, loops == 1 ? "" : "s");
        for (int b = 1; b <= bodies; ++b)
            if (soa_model_body(model, b, &info) == SOA_OK) hang(nodes, info.parent, b, '-');
        for (int k = 0; k < loops; ++k)
            hang(nodes, body_of(model, loop[k].link1), bodies + 1 + k, '~');
        failed = draw(out, nodes, count, tree_text, &p);
    }
    if (!failed) {
        app_print_constraints(out, model, list);
        failed = print_mobility(out, model, list);
    }
    if (!failed) {
        out_text(out, "\nbinary tree (WD89): o successor, x terminating, * connector links\n");
        memset(nodes, 0, (size_t)count * sizeof *nodes);
        p.items = items;
        for (int i = 0; i < count; ++i) {
            if (items[i].successor)
                hang(nodes, i, items[i].successor,
                     items[items[i].successor].kind == SOA_ITEM_SUCCESSOR ? 'o' : 'x');
            if (items[i].connector) hang(nodes, i, items[i].connector, '*');
        }
        failed = draw(out, nodes, count, binary_text, &p);
    }
    if (!failed && loops) {
        out_text(out, "\nthe loops are closed when, Ti_k being item k in item i:\n");
        for (int i = 0; i < count; ++i) {
            if (items[i].kind != SOA_ITEM_CONNECTOR || items[i].loop < 0) continue;
            out_print(out, "%s: ", loop[items[i].loop].name);
            put_way(out, &p, bodies + 1 + items[i].loop);
            out_text(out, " = ");
            put_way(out, &p, i);
            out_char(out, '\n');
        }
    }
    free(nodes);
    free(items);
    free(loop);
    return failed ? -1 : 0;
}
