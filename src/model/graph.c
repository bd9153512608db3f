/* graph.c  turns a graph of links and joints into a spanning tree and the remaining loops.
 *
 * Prim's algorithm from the world, over the joints that may be kept, ordered by (class, depth,
 * number):
 *     class 0      the caller keeps it
 *           1      it cannot be cut: friction that differs by direction, a free joint with friction
 *                  or a rotor
 *           2      better kept: spring, rotor, mimic
 *           3 + nv any other, by its degrees of freedom
 *           10     it would have to be reversed, and cannot
 * The result is a spanning tree of least weight, so the joints that are cut have the most degrees
 * of freedom. Both nv of the tree and the number of loop rows, 6 - nv each, are then smallest.
 * Among equals, depth makes the search breadth first, which keeps the sweeps and the rows of G
 * short. A part that is not connected to the world floats: its first link gets a free joint. The
 * tree is written depth first, children in the order of their joints. O(joints log joints). */
#include "model_internal.h"
#include "soa/graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

soa_link_def soa_link_default(const char *name) {
    return (soa_link_def){.name = name};
}
soa_edge_def soa_edge_default(const char *name, int link1, int link2, soa_joint_type type) {
    soa_edge_def e = {
        .name = name, .link1 = link1, .link2 = link2, .joint = soa_joint_default(type)};
    e.place1 = e.place2 = soa_frame_identity();
    return e;
}
soa_linkage_def soa_linkage_default(const char *name, const soa_link_def *links, int link_count,
                                    const soa_edge_def *joints, int joint_count) {
    return (soa_linkage_def){.name = name,
                             .gravity = {0, 0, -9.81},
                             .link_count = link_count,
                             .links = links,
                             .joint_count = joint_count,
                             .joints = joints};
}

/* The result and everything it points to. */
typedef struct whole {
    soa_linkage_tree tree;
    soa_body_def *bodies;
    soa_frame_def *frames;
    soa_loop_def *loops;
    soa_loop_ratio *ratios;
    int *link;
    soa_edge_place *joints;
    char *names;
} whole;

typedef struct candidate {
    int class, depth, joint;
} candidate;

typedef struct span {
    const soa_linkage_def *def;
    soa_report *report;
    whole *out;
    int *first, *at;  /* joints of link l, in order: at[first[l]] .. at[first[l + 1] - 1] */
    int *depth;       /* of a link; -1: not reached */
    int *carrier;     /* joint that carries a link; -1: it floats */
    int *stack;       /* links still to visit */
    char *followed;   /* of a joint: another joint mimics it */
    candidate *queue; /* binary heap */
    int queued;
    size_t text;
} span;

#define FAIL(status, ...) return soai_report(s->report, status, -1, 0, __VA_ARGS__)

/* Returns why a joint cannot be cut, or NULL. */
static const char *uncuttable(const span *s, int number) {
    const soa_joint_def *j = &s->def->joints[number].joint;
    if (s->def->ideal) return NULL;
    if (j->friction_positive != j->friction_negative)
        return "its friction, which differs by direction";
    if (j->type == SOA_FREE && (j->damping != 0 || j->friction_positive != 0))
        return "its friction";
    if (j->type == SOA_FREE && j->rotor_inertia > 0 && j->gear_ratio != 0) return "its rotor";
    return NULL;
}
/* Class of a joint that would carry a link; reversed: from its link 2 to its link 1. */
static int class_of(const span *s, int number, int reversed) {
    const soa_edge_def *e = s->def->joints + number;
    const soa_joint_def *j = &e->joint;
    soa_joint_def turned;
    if (e->use == SOA_EDGE_KEEP) return 0;
    if (s->def->ideal) return 3 + soai_nv_of(j->type);
    if (reversed && soa_joint_reverse(j, &turned)) return 10;
    if (uncuttable(s, number)) return 1;
    if (j->mimic >= 0 || s->followed[number] || j->stiffness != 0 ||
        (j->rotor_inertia > 0 && j->gear_ratio != 0))
        return 2;
    return 3 + soai_nv_of(j->type);
}

static soa_status check(const span *s) {
    const soa_linkage_def *d = s->def;
    for (int i = 0; i < d->link_count; ++i)
        if (!d->links[i].name || !*d->links[i].name) FAIL(SOA_E_NAME, "link %d has no name", i + 1);
    for (int i = 0; i < d->joint_count; ++i) {
        const soa_edge_def *e = d->joints + i;
        if (!e->name || !*e->name) FAIL(SOA_E_NAME, "joint %d has no name", i);
        if (e->link1 < 0 || e->link1 > d->link_count || e->link2 < 0 || e->link2 > d->link_count)
            FAIL(SOA_E_TREE, "joint \"%s\" joins links %d and %d; there are 0 (the world) to %d",
                 e->name, e->link1, e->link2, d->link_count);
        if (e->link1 == e->link2)
            FAIL(SOA_E_TREE, "joint \"%s\" joins link %d to itself", e->name, e->link1);
        if (!soai_rotation_fits(&e->place1) || !soai_rotation_fits(&e->place2))
            FAIL(SOA_E_FRAME,
                 "joint \"%s\": a place on its links is not a rotation and a finite shift",
                 e->name);
        if ((unsigned)e->joint.type >= SOA_JOINT_TYPE_COUNT)
            FAIL(SOA_E_JOINT, "joint \"%s\": no type of joint has number %d", e->name,
                 (int)e->joint.type);
        if (e->joint.mimic < -1 || e->joint.mimic >= d->joint_count)
            FAIL(SOA_E_MIMIC, "joint \"%s\" mimics joint %d; there are 0 to %d", e->name,
                 e->joint.mimic, d->joint_count - 1);
        if (e->joint.mimic == i) FAIL(SOA_E_MIMIC, "joint \"%s\" mimics itself", e->name);
        if (e->joint.mimic >= 0) s->followed[e->joint.mimic] = 1;
    }
    for (int i = 0; i < d->frame_count; ++i)
        if (d->frames[i].link < 0 || d->frames[i].link > d->link_count)
            FAIL(SOA_E_TREE, "frame \"%s\": link %d does not exist",
                 d->frames[i].name ? d->frames[i].name : "", d->frames[i].link);
    return SOA_OK;
}

/* --- choosing --------------------------------------------------------------------------------- */
static int before(const candidate *a, const candidate *b) {
    if (a->class != b->class) return a->class < b->class;
    if (a->depth != b->depth) return a->depth < b->depth;
    return a->joint < b->joint;
}
static void push(span *s, candidate c) {
    int i = s->queued++;
    for (; i > 0 && before(&c, s->queue + (i - 1) / 2); i = (i - 1) / 2)
        s->queue[i] = s->queue[(i - 1) / 2];
    s->queue[i] = c;
}
static candidate pop(span *s) {
    const candidate top = s->queue[0], last = s->queue[--s->queued];
    int i = 0;
    for (int child; (child = 2 * i + 1) < s->queued; i = child) {
        if (child + 1 < s->queued && before(s->queue + child + 1, s->queue + child)) ++child;
        if (!before(s->queue + child, &last)) break;
        s->queue[i] = s->queue[child];
    }
    s->queue[i] = last;
    return top;
}

static void reach(span *s, int link, int depth, int carrier) {
    s->depth[link] = depth;
    s->carrier[link] = carrier;
    for (int k = s->first[link]; k < s->first[link + 1]; ++k) {
        const soa_edge_def *e = s->def->joints + s->at[k];
        const int other = e->link1 == link ? e->link2 : e->link1;
        if (e->use == SOA_EDGE_CUT || s->depth[other] >= 0) continue;
        push(s, (candidate){class_of(s, s->at[k], e->link2 == link), depth, s->at[k]});
    }
}

static void choose(span *s) {
    const soa_linkage_def *d = s->def;
    for (int l = 0; l <= d->link_count; ++l) {
        s->depth[l] = s->carrier[l] = -1;
        s->first[l] = 0;
    }
    s->first[d->link_count + 1] = 0;
    for (int j = 0; j < d->joint_count; ++j) {
        ++s->first[d->joints[j].link1 + 1];
        ++s->first[d->joints[j].link2 + 1];
    }
    for (int l = 0; l <= d->link_count; ++l)
        s->first[l + 1] += s->first[l];
    /* Backwards: `first` ends at the start of each list. */
    for (int j = d->joint_count - 1; j >= 0; --j) {
        s->at[--s->first[d->joints[j].link1 + 1]] = j;
        s->at[--s->first[d->joints[j].link2 + 1]] = j;
    }
    for (int l = 0; l <= d->link_count; ++l)
        s->first[l] = s->first[l + 1];
    s->first[d->link_count + 1] = 2 * d->joint_count;
    reach(s, 0, 0, -1);
    for (int next = 1;;) {
        while (s->queued) {
            const int j = pop(s).joint, one = d->joints[j].link1, two = d->joints[j].link2;
            if (s->depth[one] >= 0 && s->depth[two] >= 0) continue;
            const int from = s->depth[one] >= 0 ? one : two;
            const int to = from == one ? two : one;
            reach(s, to, s->depth[from] + 1, j);
        }
        while (next <= d->link_count && s->depth[next] >= 0)
            ++next;
        if (next > d->link_count) return;
        ++s->out->tree.floating;
        reach(s, next, 1, -1);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */
static int is_identity(const soa_frame *f) {
    for (int i = 0; i < 9; ++i)
        if (f->R[i] != (i % 4 == 0)) return 0;
    return f->p[0] == 0 && f->p[1] == 0 && f->p[2] == 0;
}
static soa_body_def *add(span *s, const char *name, int parent, soa_joint_type type) {
    soa_model_def *m = &s->out->tree.model;
    soa_body_def *b = s->out->bodies + m->body_count++;
    *b = soa_body_default(name, parent, type);
    return b;
}

/* Writes the link's body on the joint that carries it, or on a free joint. */
static soa_status write_link(span *s, int link) {
    const soa_linkage_def *d = s->def;
    const soa_link_def *l = d->links + link - 1;
    soa_linkage_tree *t = &s->out->tree;
    const int j = s->carrier[link];
    soa_body_def *b;
    if (j < 0) {
        b = add(s, l->name, 0, SOA_FREE);
    } else {
        const soa_edge_def *e = d->joints + j;
        const int reversed = e->link2 != link,
                  parent = s->out->link[reversed ? e->link2 : e->link1];
        const soa_frame *near = reversed ? &e->place2 : &e->place1;
        const soa_frame *far = reversed ? &e->place1 : &e->place2;
        const soa_frame back = soa_frame_inverse(far);
        soa_joint_def joint = e->joint;
        if (reversed && d->ideal) { /* in an ideal model no force acts in the joint */
            joint.damping = joint.friction_positive = joint.friction_negative = joint.stiffness = 0;
            joint.rotor_inertia = 0;
        }
        if (reversed && soa_joint_reverse(&joint, &joint))
            FAIL(SOA_E_JOINT,
                 "joint \"%s\" (%s) would be used from link 2 to link 1, but its friction, spring "
                 "or rotor is defined "
                 "from link 1 to link 2; exchange its links or cut it",
                 e->name, soa_joint_type_name(joint.type));
        if (joint.type == SOA_FIXED || is_identity(far)) {
            b = add(s, l->name, parent, joint.type);
        } else { /* the moving frame, then the link's own frame */
            char *name = s->out->names + s->text;
            s->text += (size_t)sprintf(name, "%s@%s", l->name, e->name) + 1;
            b = add(s, name, parent, joint.type);
        }
        b->joint_name = e->name;
        b->joint = joint;
        b->placement = joint.type == SOA_FIXED ? soa_frame_compose(near, &back) : *near;
        s->out->joints[j] = (soa_edge_place){t->model.body_count, reversed, -1};
        if (joint.type != SOA_FIXED && !is_identity(far)) {
            b = add(s, l->name, t->model.body_count, SOA_FIXED);
            b->placement = back;
        }
    }
    b->mass = l->mass;
    memcpy(b->com, l->com, sizeof b->com);
    memcpy(b->inertia, l->inertia, sizeof b->inertia);
    s->out->link[link] = t->model.body_count;
    return SOA_OK;
}

/* Depth first. Children wait on the stack, the first on top. */
static soa_status write_tree(span *s) {
    const soa_linkage_def *d = s->def;
    int waiting = 0;
    soa_status bad;
    /* Floating parts come after those tied to the world. */
    for (int l = d->link_count; l > 0; --l)
        if (s->carrier[l] < 0) s->stack[waiting++] = l;
    s->out->link[0] = 0;
    for (int link = 0;;) {
        for (int k = s->first[link + 1] - 1; k >= s->first[link]; --k) {
            const int j = s->at[k],
                      other = d->joints[j].link1 == link ? d->joints[j].link2 : d->joints[j].link1;
            if (other && s->carrier[other] == j && s->carrier[link] != j)
                s->stack[waiting++] = other;
        }
        if (!waiting) return SOA_OK;
        link = s->stack[--waiting];
        if ((bad = write_link(s, link))) return bad;
    }
}

static soa_status write_loops(span *s) {
    const soa_linkage_def *d = s->def;
    soa_linkage_tree *t = &s->out->tree;
    for (int j = 0; j < d->joint_count; ++j) {
        const soa_edge_def *e = d->joints + j;
        if (s->carrier[e->link1] == j || s->carrier[e->link2] == j) continue;
        const char *why = uncuttable(s, j);
        if (e->use == SOA_EDGE_KEEP)
            FAIL(SOA_E_TREE,
                 "joint \"%s\" is to be kept, but closes a loop of joints that are all kept",
                 e->name);
        if (why)
            FAIL(SOA_E_JOINT, "joint \"%s\" (%s) cannot be cut: %s; cut another joint of its loop",
                 e->name, soa_joint_type_name(e->joint.type), why);
        s->out->joints[j] = (soa_edge_place){0, 0, t->loop_count};
        soa_loop_def *l = s->out->loops + t->loop_count++;
        *l = (soa_loop_def){
            e->name, s->out->link[e->link1], s->out->link[e->link2], e->place1, e->place2,
            e->joint};
        l->joint.mimic = -1;
        if (d->ideal) {
            l->joint.damping = l->joint.friction_positive = l->joint.friction_negative =
                l->joint.stiffness = 0;
            l->joint.rotor_inertia = 0;
        }
    }
    for (int j = 0; j < d->joint_count; ++j) { /* mimic joints, after all links are placed */
        const soa_joint_def *joint = &d->joints[j].joint;
        const int link = s->out->joints[j].link,
                  leader = joint->mimic >= 0 ? s->out->joints[joint->mimic].link : 0;
        if (joint->mimic < 0) continue;
        if (link) s->out->bodies[link - 1].joint.mimic = d->ideal || !leader ? -1 : leader;
        if (!d->ideal && !(link && leader))
            s->out->ratios[t->ratio_count++] =
                (soa_loop_ratio){j, joint->mimic, joint->mimic_ratio, joint->mimic_offset};
    }
    for (int i = 0; i < d->frame_count; ++i) {
        s->out->frames[i] = d->frames[i];
        s->out->frames[i].link = s->out->link[d->frames[i].link];
    }
    return SOA_OK;
}

soa_status soa_linkage_span(const soa_linkage_def *def, soa_linkage_tree **tree,
                            soa_report *report) {
    soai_report_reset(report);
    span space = {.def = def, .report = report}, *s = &space;
    if (!def || !tree || def->link_count < 0 || def->link_count > SOAI_MAX_BODIES / 2 ||
        def->joint_count < 0 || def->joint_count > 2 * SOAI_MAX_BODIES ||
        (def->link_count && !def->links) || (def->joint_count && !def->joints) ||
        def->frame_count < 0 || (def->frame_count && !def->frames))
        FAIL(SOA_E_ARGUMENT, "the graph is incomplete, or has more than %d links",
             SOAI_MAX_BODIES / 2);
    const size_t links = (size_t)def->link_count + 1, joints = (size_t)def->joint_count, more = 2;
    size_t text = 1;
    for (size_t i = 0; i < joints; ++i) { /* room for every possible name LINK@JOINT */
        const soa_edge_def *e = def->joints + i;
        const int end[2] = {e->link1, e->link2};
        for (int k = 0; k < 2; ++k)
            if (end[k] > 0 && end[k] <= def->link_count && def->links[end[k] - 1].name && e->name)
                text += strlen(def->links[end[k] - 1].name) + strlen(e->name) + 2;
    }
    s->out = calloc(1, sizeof *s->out);
    if (s->out) {
        s->out->bodies = calloc(2 * links, sizeof *s->out->bodies);
        s->out->frames = calloc((size_t)def->frame_count + 1, sizeof *s->out->frames);
        s->out->loops = calloc(joints + 1, sizeof *s->out->loops);
        s->out->ratios = calloc(joints + 1, sizeof *s->out->ratios);
        s->out->link = calloc(links, sizeof *s->out->link);
        s->out->joints = calloc(joints + 1, sizeof *s->out->joints);
        s->out->names = malloc(text);
    }
    int *ints = calloc(4 * links + more + 2 * joints, sizeof *ints);
    s->queue = calloc(2 * joints + 1, sizeof *s->queue);
    s->followed = calloc(joints + 1, 1);
    soa_status bad = SOA_OK;
    if (!s->out || !s->out->bodies || !s->out->frames || !s->out->loops || !s->out->ratios ||
        !s->out->link || !s->out->joints || !s->out->names || !ints || !s->queue || !s->followed)
        bad = soai_report(report, SOA_E_MEMORY, -1, 0,
                          "no memory for a graph of %d links and %d joints", def->link_count,
                          def->joint_count);
    if (!bad) bad = check(s);
    if (!bad) {
        s->first = ints;
        s->depth = s->first + links + more;
        s->carrier = s->depth + links;
        s->stack = s->carrier + links;
        s->at = s->stack + links;
        soa_linkage_tree *t = &s->out->tree;
        t->model = soa_model_default(def->name, s->out->bodies, 0);
        memcpy(t->model.gravity, def->gravity, sizeof def->gravity);
        t->model.frames = s->out->frames;
        t->model.frame_count = def->frame_count;
        t->model.ideal = def->ideal;
        t->loops = s->out->loops;
        t->ratios = s->out->ratios;
        t->link = s->out->link;
        t->joints = s->out->joints;
        choose(s);
        bad = write_tree(s);
        if (!bad) bad = write_loops(s);
    }
    free(ints);
    free(s->queue);
    free(s->followed);
    if (bad) {
        soa_linkage_tree_free(s->out ? &s->out->tree : NULL);
        return soai_report_end(report, bad);
    }
    *tree = &s->out->tree;
    return SOA_OK;
}

void soa_linkage_tree_free(soa_linkage_tree *tree) {
    whole *w = (whole *)(void *)tree; /* the tree is its first member */
    if (!w) return;
    free(w->bodies);
    free(w->frames);
    free(w->loops);
    free(w->ratios);
    free(w->link);
    free(w->joints);
    free(w->names);
    free(w);
}
