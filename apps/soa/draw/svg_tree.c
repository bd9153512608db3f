/* svg_tree.c  draws the bodies of a model, and sweeps along them.
 *
 * Bodies are placed in columns by depth, with the base at the left, and in rows by branch. An
 * unbranched chain longer than LONG shows only its ends, a body with many children shows WIDE of
 * them, and of a large tree only the first MOST nodes are drawn, level by level. A node with three
 * dots represents the rest. Cost O(n). */
#include "../operator_page/op_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG = 9,
    ENDS = 3,
    MOST = 48,
    WIDE = 8,
    COLUMN = 58,
    ELBOW = 22,
    ROW = 50,
    LEFT = 34,
    TOP = 26,
    RADIUS = 13
};

typedef struct node {
    int body;   /* 0: represents others */
    int hidden; /* number of bodies represented */
    int parent; /* number of the node; -1: the base */
    int depth, tips;
    double y;
} node;
struct svg_tree {
    node *nodes;
    int count, hidden, depth;
    double width, height, base_y;
};

typedef struct bodies {
    const soa_model *model;
    int n, *parent, *children, *first, *next, *size, *tips; /* size: of the subtree */
} bodies;

static int add(svg_tree *t, int parent, int body, int hidden, int tips) {
    const int depth = parent < 0 ? 0 : t->nodes[parent].depth + 1;
    if (depth > t->depth) t->depth = depth;
    t->hidden += hidden;
    t->nodes[t->count] =
        (node){.body = body, .hidden = hidden, .parent = parent, .depth = depth, .tips = tips};
    return t->count++;
}
/* Adds the children of a body to the queue. If there are very many: the first WIDE, and the others
 * as one node. */
static void push(svg_tree *t, const bodies *b, int body, int at, int *queue, int *hang, int *tail) {
    int count = 0, left = 0;
    for (int c = b->first[body]; c; c = b->next[c]) {
        if (b->children[body] <= WIDE + 1 || count++ < WIDE) {
            queue[*tail] = c;
            hang[(*tail)++] = at;
        } else {
            left += b->size[c];
        }
    }
    if (left) add(t, at, 0, left, 0);
}
/* Chooses the nodes level by level, with a queue of bodies and the node that each is attached
 * to. */
static void choose(svg_tree *t, const bodies *b, int *queue, int *hang) {
    int head = 0, tail = 0;
    push(t, b, 0, -1, queue, hang, &tail);
    while (head < tail) {
        int body = queue[head], at = hang[head], run = 1, end = body;
        ++head;
        if (t->count >= MOST) { /* no room: all branches of a body as one */
            node *last = t->nodes + t->count - 1;
            if (!last->body && last->parent == at) {
                last->hidden += b->size[body];
                t->hidden += b->size[body];
            } else {
                add(t, at, 0, b->size[body], 0);
            }
            continue;
        }
        while (b->children[end] == 1 && !b->tips[end]) {
            end = b->first[end];
            ++run;
        }
        if (run > LONG) {
            for (int i = 0; i < ENDS; ++i, body = b->first[body])
                at = add(t, at, body, 0, b->tips[body]);
            int skipped = run - 2 * ENDS, from = body;
            for (int i = 0; i < skipped; ++i)
                from = b->first[from];
            at = add(t, at, 0, skipped, 0);
            for (int i = 0; i < ENDS; ++i, from = b->first[from]) {
                at = add(t, at, from, 0, b->tips[from]);
                if (from == end) break;
            }
        } else {
            at = add(t, at, body, 0, b->tips[body]);
            end = body;
        }
        push(t, b, end, at, queue, hang, &tail);
    }
}
/* Rows: leaves one below the other in the order of the tree, a parent in the middle of its
 * children. */
static double place(svg_tree *t, int at, const int *first, const int *next, double *row) {
    double low = 0, high = 0;
    int children = 0;
    for (int c = first[at]; c >= 0; c = next[c], ++children) {
        high = place(t, c, first, next, row);
        if (!children) low = high;
    }
    if (!children) low = high = TOP + ROW * (*row)++;
    return t->nodes[at].y = (low + high) / 2;
}
static int arrange(svg_tree *t) {
    int *first = malloc(((size_t)t->count + 1) * sizeof *first),
        *next = malloc(((size_t)t->count + 1) * sizeof *next);
    int root = -1;
    double row = 0, low = TOP, high = TOP;
    if (first && next) {
        for (int i = 0; i < t->count; ++i)
            first[i] = next[i] = -1;
        /* Nodes that represent others come last. */
        for (int real = 0; real < 2; ++real)
            for (int i = t->count - 1; i >= 0; --i) {
                int *list = t->nodes[i].parent < 0 ? &root : first + t->nodes[i].parent;
                if ((t->nodes[i].body > 0) == real) {
                    next[i] = *list;
                    *list = i;
                }
            }
        for (int r = root, k = 0; r >= 0; r = next[r], ++k) {
            high = place(t, r, first, next, &row);
            if (!k) low = high;
        }
    }
    const int good = first && next;
    free(first);
    free(next);
    t->base_y = (low + high) / 2;
    t->width = LEFT + COLUMN * (t->depth + 1) + RADIUS + 16;
    t->height = TOP + ROW * (row > 1 ? row - 1 : 0) + 36;
    return good;
}
svg_tree *svg_tree_create(const soa_model *model, const int *tips, int tip_count) {
    const int n = soa_model_body_count(model);
    svg_tree *t = calloc(1, sizeof *t);
    int *room = calloc(9 * ((size_t)n + 1), sizeof *room);
    if (t) t->nodes = calloc((size_t)n + 2 + 2 * MOST, sizeof *t->nodes);
    int good = t && t->nodes && room;
    if (good) {
        int *at[8];
        for (int i = 0; i < 8; ++i)
            at[i] = room + (size_t)i * (size_t)(n + 1);
        bodies b = {model, n, at[0], at[1], at[2], at[3], at[4], at[5]};
        soa_body_info info;
        soa_frame_info frame;
        for (int i = n; i >= 1; --i) {
            if (soa_model_body(model, i, &info) != SOA_OK) continue;
            b.parent[i] = info.parent;
            b.next[i] = b.first[info.parent];
            b.first[info.parent] = i;
            b.size[i] += 1;
            b.size[info.parent] += b.size[i];
            b.children[info.parent]++;
        }
        for (int i = 0; i < tip_count; ++i)
            if (soa_model_frame(model, tips[i], &frame) == SOA_OK && frame.body >= 0 &&
                frame.body <= n)
                b.tips[frame.body]++;
        choose(t, &b, at[6], at[7]);
        good = arrange(t);
    }
    free(room);
    if (!good) {
        svg_tree_free(t);
        t = NULL;
    }
    return t;
}
void svg_tree_free(svg_tree *t) {
    if (t) free(t->nodes);
    free(t);
}
int svg_tree_hidden(const svg_tree *t) {
    return t->hidden;
}

/* --- drawing ---------------------------------------------------------------------------------- */
static double x_of(const node *n) {
    return LEFT + COLUMN * (n->depth + 1);
}
/* Draws an edge that leaves its parent, turns up or down, and reaches the child from the left. */
static void put_edge(app_out *out, double x, double y, const node *c) {
    if (y == c->y)
        out_format(out, "M%g %gH%g", x, y, x_of(c));
    else
        out_format(out, "M%g %gh%dV%gH%g", x, y, ELBOW, c->y, x_of(c));
}
/* Draws lines and heads of arrows along all edges in one direction. */
static void put_edges(app_out *out, const svg_tree *t, int inward) {
    out_format(out, "<g id=\"%s\"><path class=\"shaft\" d=\"", inward ? "inward" : "outward");
    for (int i = 0; i < t->count; ++i)
        if (t->nodes[i].parent >= 0)
            put_edge(out, x_of(t->nodes + t->nodes[i].parent), t->nodes[t->nodes[i].parent].y,
                     t->nodes + i);
    out_text(out, "\"/><path class=\"head\" d=\"");
    for (int i = 0; i < t->count; ++i)
        if (t->nodes[i].parent >= 0)
            out_format(out, inward ? "M%g %gl8 -4v8z" : "M%g %gl-8 -4v8z",
                       x_of(t->nodes + i) - COLUMN + ELBOW + (inward ? 5 : 16), t->nodes[i].y);
    out_text(out, "\"/></g>\n");
}
void svg_tree_define(app_out *out, const svg_tree *t) {
    out_text(out, "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n");
    put_edges(out, t, 1);
    put_edges(out, t, 0);
    out_text(out, "<path id=\"edges\" class=\"thin\" d=\"");
    for (int i = 0; i < t->count; ++i) {
        const node *c = t->nodes + i;
        if (c->parent < 0)
            put_edge(out, LEFT - 14, t->base_y, c);
        else
            put_edge(out, x_of(t->nodes + c->parent), t->nodes[c->parent].y, c);
    }
    out_format(out, "\"/>\n<g id=\"bodies\"><path class=\"base\" d=\"M%d %gv40\"/>", LEFT - 16,
               t->base_y - 20);
    out_text(out, "<path class=\"ground\" d=\"");
    for (int i = 0; i <= 4; ++i)
        out_format(out, "M%d %gl-8 8", LEFT - 16, t->base_y - 20 + 8 * i);
    out_text(out, "\"/>");
    for (int i = 0; i < t->count; ++i) {
        const node *n = t->nodes + i;
        if (n->tips)
            out_format(out, "<path class=\"tip\" d=\"M%g %gl11 -6v12z\"/>", x_of(n) + RADIUS - 1,
                       n->y);
        if (n->body)
            out_format(out,
                       "<circle class=\"body\" cx=\"%g\" cy=\"%g\" r=\"%d\"/>"
                       "<text class=\"%s\" x=\"%g\" y=\"%g\">%d</text>\n",
                       x_of(n), n->y, RADIUS, n->body < 100 ? "n" : "n small", x_of(n), n->y + 4,
                       n->body);
        else
            out_format(
                out,
                "<rect class=\"more\" x=\"%g\" y=\"%g\" width=\"38\" height=\"24\" rx=\"8\"/>"
                "<text class=\"n small\" x=\"%g\" y=\"%g\">⋯%d</text>\n",
                x_of(n) - 19, n->y - 12, x_of(n), n->y + 4, n->hidden);
    }
    out_text(out, "</g></defs></svg>\n");
}
void svg_tree_put(app_out *out, const svg_tree *t, const svg_sweep *s, const char *label) {
    out_format(out,
               "<div class=\"scroll\"><svg class=\"tree\" viewBox=\"0 0 %g %g\" width=\"%g\" "
               "height=\"%g\" "
               "style=\"min-width:%.0fpx\" role=\"img\" aria-label=\"",
               t->width, t->height, 1.3 * t->width, 1.3 * t->height, 0.75 * t->width);
    out_html(out, label);
    out_text(out, "\"><use href=\"#edges\"/>");
    const int lanes = s->lanes > SVG_LANES ? SVG_LANES : s->lanes;
    for (int i = 0; i < lanes; ++i)
        out_format(
            out, "<g class=\"%s lane-%c\" transform=\"translate(%g %g)\"><use href=\"#%s\"/></g>",
            s->way == SOA_CAUSAL ? "causal" : "anticausal", s->lane[i], 3 * (i - (lanes - 1) / 2.0),
            7 * (i - (lanes - 1) / 2.0), s->way == SOA_CAUSAL ? "inward" : "outward");
    out_text(out, "<use href=\"#bodies\"/>");
    const int dots = s->dots > 6 ? 6 : s->dots;
    if (dots) {
        out_text(out, "<path class=\"dots\" d=\"");
        for (int i = 0; i < t->count; ++i)
            for (int k = 0; t->nodes[i].body && k < dots; ++k)
                out_format(out, "M%g %gh0", x_of(t->nodes + i) + 6 * (k - (dots - 1) / 2.0),
                           t->nodes[i].y + 20);
        out_text(out, "\"/>");
    }
    out_text(out, "</svg></div>\n");
}
