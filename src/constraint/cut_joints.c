/* loops.c  cut joints of a graph: as constraints, and their coordinates where the tree stands.
 *
 * With place 2 at X in place 1, motions V1, V2 and accelerations A1, A2 of the places in their own
 *     axes, V = V2 - phi*(X) V1,    rate of its six numbers  A = A2 - phi*(X) A1 - V2 x V,
 * which soa_joint_coordinates takes apart. */
#include "constraint_internal.h"
#include <stdio.h>

soa_constraint_def soa_constraint_from_loop(const soa_loop_def *loop) {
    if (!loop) return soa_constraint_default(SOA_LOOP, 0, 0);
    soa_constraint_def d = soa_constraint_default(SOA_LOOP, loop->link1, loop->link2);
    d.name = loop->name;
    d.place1 = loop->place1;
    d.place2 = loop->place2;
    d.joint = loop->joint.type;
    memcpy(d.axis, loop->joint.axis, sizeof d.axis);
    memcpy(d.axis2, loop->joint.axis2, sizeof d.axis2);
    d.pitch = loop->joint.pitch;
    d.damping = loop->joint.damping;
    d.friction = loop->joint.friction_positive;
    d.stiffness = loop->joint.stiffness;
    d.rest = loop->joint.rest;
    d.rotor_inertia = loop->joint.rotor_inertia;
    d.gear_ratio = loop->joint.gear_ratio;
    d.rotor_model = loop->joint.rotor_model;
    memcpy(d.rotor_axis, loop->joint.rotor_axis, sizeof d.rotor_axis);
    if (d.joint == SOA_SPHERICAL && d.friction != 0) {
        d.frame1 = loop->link2;
        d.frame2 = loop->link1;
        d.place1 = loop->place2;
        d.place2 = loop->place1;
    }
    return d;
}

soa_constraint_capacity soa_linkage_tree_capacity(const soa_linkage_tree *tree) {
    soa_constraint_capacity room = {0, 0, 0};
    for (int i = 0; tree && i < tree->loop_count; ++i) {
        const soa_constraint_def d = soa_constraint_from_loop(tree->loops + i);
        room.rows += soa_constraint_def_row_count(&d);
    }
    if (tree) {
        room.constraints = tree->loop_count + tree->ratio_count;
        room.rows += tree->ratio_count;
    }
    return room;
}

/* The constraint of a loop, by its joint's name. */
static int find(const soa_constraints *c, const char *name) {
    for (int i = 0; i < c->capacity.constraints; ++i)
        if (c->list[i].used && c->list[i].def.kind == SOA_LOOP && !strcmp(c->list[i].name, name))
            return i;
    return -1;
}
/* A term of a ratio: the coordinate of joint `number` of the graph times `by`; mimic joints of the
 * tree by their leaders. 0 where the joint has no coordinate here. */
static int term(const soa_linkage_tree *tree, const soa_constraints *c, int number, double by,
                soa_constraint_def *d, int at) {
    const soa_edge_place *at_joint = tree->joints + number;
    soa_frame_info frame;
    soa_body_info body;
    d->coefficient[at] = by;
    if (at_joint->loop >= 0) {
        const int loop = find(c, tree->loops[at_joint->loop].name);
        d->coordinate[at] = ~loop;
        return loop >= 0;
    }
    if (soa_model_frame(c->model, at_joint->link, &frame) ||
        soa_model_body(c->model, frame.body, &body))
        return 0;
    d->coordinate[at] = frame.body;
    if (body.mimic >= 0) {
        d->coordinate[at] = body.mimic;
        d->coefficient[at] = by * body.mimic_ratio;
        d->value -= by * body.mimic_offset;
    }
    return 1;
}
soa_status soa_linkage_tree_constrain(const soa_linkage_tree *tree, soa_constraints *c,
                                      soa_report *report) {
    soai_report_reset(report);
    if (!tree || !c)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no spanning tree, or no constraints");
    for (int i = 0; i < tree->loop_count; ++i) {
        const soa_constraint_def d = soa_constraint_from_loop(tree->loops + i);
        soa_frame_info one, two;
        if (!soa_model_frame(c->model, d.frame1, &one) &&
            !soa_model_frame(c->model, d.frame2, &two) && one.body == two.body)
            continue;
        const soa_status s = soa_constraints_add(c, &d, NULL, report);
        if (s) return soai_report_end(report, s);
    }
    for (int i = 0; i < tree->ratio_count; ++i) {
        const soa_loop_ratio *r = tree->ratios + i;
        const soa_edge_place *at_joint = tree->joints + r->follower;
        const char *joint = at_joint->loop >= 0 ? tree->loops[at_joint->loop].name
                                                : tree->model.bodies[at_joint->link - 1].joint_name;
        soa_constraint_def d = soa_constraint_default(SOA_RATIO, 0, 0);
        char name[NAME_ROOM];
        snprintf(name, sizeof name, "%.25s mimic", joint);
        d.name = name;
        d.value = r->offset;
        if (!term(tree, c, r->follower, 1, &d, 0) || !term(tree, c, r->leader, -r->ratio, &d, 1))
            return soai_report(report, SOA_E_MIMIC, -1, 0,
                               "\"%s\": a joint there has no coordinate", name);
        const soa_status s = soa_constraints_add(c, &d, NULL, report);
        if (s) return soai_report_end(report, s);
    }
    return SOA_OK;
}

/* Pose, motion and acceleration of a place, in its own axes. */
static soa_status motion_of(const soa_model *m, const soa_work *w, int frame, const soa_frame *in,
                            soa_frame *X, double V[6], double A[6]) {
    soa_frame at;
    soa_status s = soa_pose(m, w, frame, &at);
    if (s || (s = soa_velocity(m, w, frame, SOA_AXES_BODY, V)) ||
        (s = soa_acceleration_spatial(m, w, frame, SOA_AXES_BODY, A)))
        return s;
    *X = soa_frame_compose(&at, in);
    soa_frame_motion_to_child(in, V, V);
    soa_frame_motion_to_child(in, A, A);
    return SOA_OK;
}

soa_status soa_loop_coordinates(const soa_model *model, soa_work *work, const soa_loop_def *loop,
                                double *q, double *v, double *a) {
    if (!model || !work || !loop || !q || (a && !v)) return SOA_E_ARGUMENT;
    soa_frame one, two;
    double V1[6], V2[6], A1[6], A2[6], turn[6];
    soa_status s = motion_of(model, work, loop->link1, &loop->place1, &one, V1, A1);
    if (s || (s = motion_of(model, work, loop->link2, &loop->place2, &two, V2, A2))) return s;
    const soa_frame back = soa_frame_inverse(&one), X = soa_frame_compose(&back, &two);
    soa_frame_motion_to_child(&X, V1, V1);
    soa_frame_motion_to_child(&X, A1, A1);
    for (int i = 0; i < 6; ++i)
        V1[i] = V2[i] - V1[i];
    soa_spatial_cross_motion(V2, V1, turn);
    for (int i = 0; i < 6; ++i)
        A1[i] = A2[i] - A1[i] - turn[i];
    return soa_joint_coordinates(&loop->joint, &X, v ? V1 : NULL, a ? A1 : NULL, q, v, a);
}
