/* recut.c  chooses another spanning tree for a part's model, so that the joints that a scenario
 * names are joints of the tree.
 *
 * In a model with loops some joints are cut. A scenario may give a position, rate, goal or motor to
 * such a joint, or let a law drive it. Then the graph is rebuilt from the model and its loops, and
 * a tree is chosen that contains the named joints (soa_linkage_span); another joint of the loop is
 * cut instead. Links, frames and coordinates keep their names and meaning. */
#include "world_internal.h"

#include <stdlib.h>

/* --- what the scenario names ------------------------------------------------------------------ */
static int in_values(const soa_named_value *values, int count, const char *joint) {
    for (int k = 0; k < count; ++k) {
        const size_t n = strcspn(values[k].name, "[");
        if (!strncmp(values[k].name, joint, n) && !joint[n]) return 1;
    }
    return 0;
}
/* The beginning of a name means joints of the tree only. A cut joint must be given by its full
 * name. */
static int in_choices(const soa_joint_choice *choices, int count, const char *joint) {
    for (int k = 0; k < count; ++k)
        if (!strcmp(choices[k].name, joint)) return 1;
    return 0;
}
static int in_action(const soa_action *a, const soa_part *part, const char *joint) {
    if (!a->part || strcmp(a->part, part->name)) return 0;
    if (in_choices(a->joints, a->joint_count, joint)) return 1;
    return in_values(a->positions, a->position_count, joint);
}
static int is_named(const soa_scenario *sc, const soa_part *part, const char *joint) {
    if (in_values(part->positions, part->position_count, joint)) return 1;
    if (in_values(part->rates, part->rate_count, joint)) return 1;
    if (in_choices(part->motors, part->motor_count, joint)) return 1;
    for (int p = 0; p < sc->control.phase_count; ++p) {
        const soa_phase *phase = &sc->control.phases[p];
        for (int a = 0; a < phase->action_count; ++a)
            if (in_action(&phase->actions[a], part, joint)) return 1;
    }
    return 0;
}

/* --- the graph -------------------------------------------------------------------------------- */
typedef struct graph {
    soa_link_def *links;
    soa_edge_def *edges;
    soa_frame_def *frames;
    int edge_count, frame_count;
} graph;

static soa_joint_def joint_of_body(const soa_body_info *info) {
    soa_joint_def j = soa_joint_default(info->type);
    memcpy(j.axis, info->axis, sizeof j.axis);
    memcpy(j.axis2, info->axis2, sizeof j.axis2);
    memcpy(j.rotor_axis, info->rotor_axis, sizeof j.rotor_axis);
    j.pitch = info->pitch;
    j.damping = info->damping;
    j.friction_positive = info->friction_positive;
    j.friction_negative = info->friction_negative;
    j.stiffness = info->stiffness;
    j.rest = info->rest;
    j.rotor_inertia = info->rotor_inertia;
    j.gear_ratio = info->gear_ratio;
    j.rotor_model = info->rotor_model;
    j.lower = info->lower;
    j.upper = info->upper;
    j.max_speed = info->max_speed;
    j.max_effort = info->max_effort;
    if (info->mimic >= 0) {
        j.mimic = info->mimic - 1; /* body b is edge b - 1 */
        j.mimic_ratio = info->mimic_ratio;
        j.mimic_offset = info->mimic_offset;
    }
    return j;
}
static soa_joint_def joint_of_loop(const soa_constraint_def *def) {
    soa_joint_def j = soa_joint_default(def->joint);
    memcpy(j.axis, def->axis, sizeof j.axis);
    memcpy(j.axis2, def->axis2, sizeof j.axis2);
    memcpy(j.rotor_axis, def->rotor_axis, sizeof j.rotor_axis);
    j.pitch = def->pitch;
    j.damping = def->damping;
    j.friction_positive = j.friction_negative = def->friction;
    j.stiffness = def->stiffness;
    j.rest = def->rest;
    j.rotor_inertia = def->rotor_inertia;
    j.gear_ratio = def->gear_ratio;
    j.rotor_model = def->rotor_model;
    return j;
}
static void add_bodies(const soa_model *m, const soa_scenario *sc, const soa_part *part, graph *g) {
    for (int b = 1; b <= soa_model_body_count(m); ++b) {
        soa_body_info info;
        soa_model_body(m, b, &info);
        soa_link_def *link = &g->links[b - 1];
        *link = soa_link_default(info.link);
        link->mass = info.mass;
        memcpy(link->com, info.com, sizeof link->com);
        memcpy(link->inertia, info.inertia, sizeof link->inertia);
        soa_edge_def *edge = &g->edges[g->edge_count++];
        *edge = soa_edge_default(info.joint, info.parent, b, info.type);
        edge->place1 = info.placement;
        edge->joint = joint_of_body(&info);
        if (info.type == SOA_FREE || is_named(sc, part, info.joint)) edge->use = SOA_EDGE_KEEP;
    }
    /* Keep mimic joints and the joints they follow in the tree. */
    for (int b = 1; b <= soa_model_body_count(m); ++b) {
        soa_body_info info;
        soa_model_body(m, b, &info);
        if (info.mimic < 0) continue;
        g->edges[b - 1].use = SOA_EDGE_KEEP;
        g->edges[info.mimic - 1].use = SOA_EDGE_KEEP;
    }
    for (int f = 1; f < soa_model_frame_count(m); ++f) {
        soa_frame_info frame;
        soa_body_info info;
        soa_model_frame(m, f, &frame);
        if (frame.body && !soa_model_body(m, frame.body, &info) && info.frame == f) continue;
        g->frames[g->frame_count++] = (soa_frame_def){frame.name, frame.body, frame.placement};
    }
}
static void add_loops(const soa_model *m, const soa_constraint_list *loops, const soa_scenario *sc,
                      const soa_part *part, graph *g) {
    for (int i = 0; i < loops->count; ++i) {
        const soa_constraint_def *def = &loops->defs[i];
        for (int k = 0; k < SOA_RATIO_TERMS && def->kind == SOA_RATIO; ++k)
            if (def->coordinate[k] > 0) g->edges[def->coordinate[k] - 1].use = SOA_EDGE_KEEP;
        if (def->kind != SOA_LOOP) continue;
        soa_frame_info one;
        soa_frame_info two;
        soa_model_frame(m, def->frame1, &one);
        soa_model_frame(m, def->frame2, &two);
        soa_edge_def *edge = &g->edges[g->edge_count++];
        *edge = soa_edge_default(def->name, one.body, two.body, def->joint);
        edge->place1 = soa_frame_compose(&one.placement, &def->place1);
        edge->place2 = soa_frame_compose(&two.placement, &def->place2);
        edge->joint = joint_of_loop(def);
        edge->use = is_named(sc, part, def->name) ? SOA_EDGE_KEEP : SOA_EDGE_CUT;
    }
}

/* Copies the other constraints of the list to the new model. */
static soa_status carry_over(const soa_model *old, const soa_model *new, soa_constraint_def *def) {
    for (int side = 0; side < 2 && def->kind != SOA_RATIO; ++side) {
        int *frame = side ? &def->frame2 : &def->frame1;
        soa_frame_info info;
        if (!*frame) continue;
        soa_model_frame(old, *frame, &info);
        *frame = soa_model_find_frame(new, info.name);
        if (*frame < 0) return SOA_E_NAME;
    }
    for (int k = 0; k < SOA_RATIO_TERMS && def->kind == SOA_RATIO; ++k) {
        soa_body_info info;
        if (def->coordinate[k] < 0) return SOA_E_JOINT; /* a ratio of a cut joint */
        if (!def->coordinate[k]) continue;
        soa_model_body(old, def->coordinate[k], &info);
        def->coordinate[k] = soa_model_find_joint(new, info.joint);
        if (def->coordinate[k] < 0) return SOA_E_NAME;
    }
    return SOA_OK;
}
static soa_status new_list(const soa_model *old, const soa_model *new,
                           const soa_constraint_list *loops, const soa_linkage_tree *tree,
                           soa_constraint_list *out) {
    size_t size = (size_t)(tree->loop_count + loops->count) * sizeof *out->defs;
    for (int i = 0; i < tree->loop_count; ++i)
        size += strlen(tree->loops[i].name) + 1;
    for (int i = 0; i < loops->count; ++i)
        size += strlen(loops->defs[i].name) + 1;
    *out = (soa_constraint_list){0, malloc(size)};
    if (!out->defs) return SOA_E_MEMORY;
    char *names = (char *)(out->defs + tree->loop_count + loops->count);
    for (int i = 0; i < tree->loop_count; ++i) {
        soa_constraint_def *def = &out->defs[out->count++];
        *def = soa_constraint_from_loop(&tree->loops[i]);
        strcpy(names, tree->loops[i].name);
        def->name = names;
        names += strlen(names) + 1;
    }
    for (int i = 0; i < loops->count; ++i) {
        if (loops->defs[i].kind == SOA_LOOP) continue;
        soa_constraint_def *def = &out->defs[out->count++];
        *def = loops->defs[i];
        strcpy(names, loops->defs[i].name);
        def->name = names;
        names += strlen(names) + 1;
        const soa_status s = carry_over(old, new, def);
        if (s) return s;
    }
    return SOA_OK;
}

static soa_status span(const soa_scenario *sc, const soa_part *part, const graph *g, int links,
                       const soa_model **model, soa_constraint_list *loops, soa_report *report) {
    soa_linkage_def def =
        soa_linkage_default(soa_model_name(*model), g->links, links, g->edges, g->edge_count);
    def.frames = g->frames;
    def.frame_count = g->frame_count;
    soa_model_gravity(*model, def.gravity);
    soa_linkage_tree *tree = NULL;
    const soa_model *made = NULL;
    soa_constraint_list list = {0, NULL};
    soa_report inner = {.body = -1};
    soa_status s = soa_linkage_span(&def, &tree, &inner);
    if (!s) s = soa_model_create(&tree->model, &made, &inner);
    if (!s) s = new_list(*model, made, loops, tree, &list);
    soa_linkage_tree_free(tree);
    if (s) {
        soa_constraint_list_free(&list);
        if (made) soa_model_free(made);
        return soai_scenario_fault(
            sc, part->mark, s, report,
            "part '%s': a joint that the scenario names is cut in its model, and no other joint "
            "of its loop can be cut instead: %s",
            part->name, inner.text[0] ? inner.text : soa_status_text(s));
    }
    soa_constraint_list_free(loops);
    soa_model_free(*model);
    *model = made;
    *loops = list;
    return SOA_OK;
}

soa_status soai_recut(const soa_scenario *sc, const soa_part *part, const soa_model **model,
                      soa_constraint_list *loops, soa_report *report) {
    int wanted = 0;
    for (int i = 0; i < loops->count; ++i)
        wanted += loops->defs[i].kind == SOA_LOOP && loops->defs[i].name &&
                  is_named(sc, part, loops->defs[i].name);
    if (!wanted) return SOA_OK;
    const size_t bodies = (size_t)soa_model_body_count(*model);
    graph g = {.links = calloc(bodies, sizeof *g.links),
               .edges = calloc(bodies + (size_t)loops->count, sizeof *g.edges),
               .frames = calloc((size_t)soa_model_frame_count(*model), sizeof *g.frames)};
    soa_status s = g.links && g.edges && g.frames ? SOA_OK : SOA_E_MEMORY;
    if (!s) {
        add_bodies(*model, sc, part, &g);
        add_loops(*model, loops, sc, part, &g);
        s = span(sc, part, &g, (int)bodies, model, loops, report);
    }
    free(g.links);
    free(g.edges);
    free(g.frames);
    return s;
}
