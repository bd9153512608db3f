/* scalar_graph_pose.c  pose, joint map and constants of every body as graph nodes.
 *
 * The way from a body to its parent is a list of steps (scalar_graph.h): the joint's rotation, the
 * part of the origin along its axis, the constant rotation, the rest of the origin. A constant
 * rotation that only exchanges axes costs nothing; one about the joint's own axis is added to the
 * angle; any other is multiplied with the joint's into one matrix. With world axes everything is
 * expressed in world axes at each body's origin; h, I, H and the origins are rotated once. */
#include "../table/joint_types.h"
#include "scalar_graph_spatial.h"

/* Index of the coordinate axis that u is parallel to, or -1. */
static int coordinate_axis(const double u[3], int *sign) {
    for (int k = 0; k < 3; ++k)
        if (fabs(clean(u[k])) == 1 && clean(u[(k + 1) % 3]) == 0 && clean(u[(k + 2) % 3]) == 0) {
            *sign = u[k] > 0 ? 1 : -1;
            return k;
        }
    return -1;
}
/* Coordinate axis of a constant rotation, or -1; 3 if it only exchanges axes,
 * which costs nothing. */
static int axis_of_rotation(const double A[9]) {
    int whole = 1, about = -1;
    for (int j = 0; j < 9; ++j)
        whole &= A[j] == round(A[j]);
    for (int k = 0; k < 3; ++k)
        if (A[4 * k] == 1) about = k;
    return whole ? 3 : about;
}
static void rotation_about(soa_scalar_graph *g, const double u[3], node q, node R[9]) {
    const node s = soai_sine(g, q), c = soai_cosine(g, q), t = subtract(constant(1), c);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int k = 3 - i - j;
            const node x = multiply(t, constant(clean(u[i] * u[j])));
            if (i == j) {
                R[3 * i + j] = add(x, c);
            } else {
                R[3 * i + j] =
                    add(x, multiply(s, constant(((j - i + 3) % 3 == 1 ? -1 : 1) * clean(u[k]))));
            }
        }
}
static void quaternion(soa_scalar_graph *g, const node e[4], node R[9]) {
    const node two = constant(2), one = constant(1), w = e[0], *v = e + 1;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int n = (i + 1) % 3, l = (i + 2) % 3, k = 3 - i - j;
            if (i == j) {
                R[3 * i + j] =
                    subtract(one, multiply(two, add(multiply(v[n], v[n]), multiply(v[l], v[l]))));
            } else {
                const node a = multiply(v[i], v[j]), b = multiply(w, v[k]);
                R[3 * i + j] = multiply(two, (j - i + 3) % 3 == 1 ? subtract(a, b) : add(a, b));
            }
        }
}
static void put_turn(soa_scalar_graph *g, passage *way, int k, int sign, node angle) {
    graph_step *t = next_step(way, STEP_TURN);
    t->k = k;
    t->sign = sign;
    t->angle = angle;
    t->c = soai_cosine(g, angle);
    t->s = sign > 0 ? soai_sine(g, angle) : negate(soai_sine(g, angle));
}
static void put_move(soa_scalar_graph *g, passage *way, const node p[3]) {
    if (IS(p[0], 0) && IS(p[1], 0) && IS(p[2], 0)) return;
    memcpy(next_step(way, STEP_MOVE)->p, p, 3 * sizeof *p);
}
/* A rotation about the unit axis u by q. */
static void put_joint_turn(soa_scalar_graph *g, passage *way, const double u[3], node q) {
    int sign = 1;
    const int k = coordinate_axis(u, &sign);
    if (k >= 0)
        put_turn(g, way, k, sign, q);
    else
        rotation_about(g, u, q, next_step(way, STEP_ROTATE)->R);
}
/* The placement: rotation A after the joint, origin p. `slide` is the joint's displacement, in the
 * axes before A. */
static void put_placement(soa_scalar_graph *g, passage *way, const double A[9], const double p[3],
                          const node slide[3]) {
    const int about = axis_of_rotation(A);
    node origin[3], before[3] = {slide[0], slide[1], slide[2]};
    for (int j = 0; j < 3; ++j)
        origin[j] = parameter(p[j]);
    graph_step *joint = way->count ? way->step + way->count - 1 : NULL,
               rotation = {.kind = STEP_ROTATE};
    for (int j = 0; j < 9; ++j)
        rotation.R[j] = constant(A[j]);
    const int planar = about >= 0 && about < 3, i = (about + 1) % 3, j = (about + 2) % 3;
    /* About the joint's own axis: one rotation. */
    if (planar && joint && joint->kind == STEP_TURN && joint->k == about) {
        const double angle = joint->sign * atan2(A[3 * j + i], A[3 * i + i]);
        const node q = add(joint->angle, constant(angle));
        --way->count;
        put_turn(g, way, about, joint->sign, q);
        turn(g, &rotation, 0, before, before);
    } else if (planar) {
        /* D-H: the part of p along the joint's axis goes before the rotation, where it has one
         * component */
        const int k = joint && joint->kind == STEP_TURN ? joint->k : -1;
        double along = 0, left = 0;
        for (int r = 0; k >= 0 && r < 3; ++r)
            along += p[r] * A[3 * r + k];
        for (int r = 0; k >= 0 && r < 3; ++r)
            if (r != about) left += fabs(p[r] - along * A[3 * r + k]);
        if (k >= 0 && left < 1e-14 * fabs(along)) {
            before[k] = add(before[k], parameter(along));
            origin[i] = origin[j] = 0;
        }
        put_move(g, way, before);
        graph_step *t = next_step(way, STEP_TURN);
        t->k = about;
        t->sign = 1;
        t->c = constant(A[3 * i + i]);
        t->s = constant(A[3 * j + i]);
        t->angle = constant(atan2(A[3 * j + i], A[3 * i + i]));
        memset(before, 0, sizeof before);
    } else {
        turn(g, &rotation, 0, before, before);
        if (about < 0 && joint && way->count == 1) { /* one matrix for both */
            graph_step both = {.kind = STEP_ROTATE};
            for (int r = 0; r < 3; ++r)
                turn(g, joint, 1, rotation.R + 3 * r, both.R + 3 * r);
            *joint = both;
        } else if (about < 0 || A[0] != 1 || A[4] != 1) {
            *next_step(way, STEP_ROTATE) = rotation;
        }
    }
    for (int r = 0; r < 3; ++r)
        origin[r] = add(origin[r], before[r]);
    put_move(g, way, origin);
}
static void pose(soa_scalar_graph *g, int i) {
    const soai_view_double *view = &g->m->work->view;
    const soai_body_double *b = view->body + i;
    graph_body *o = g->body_of + i;
    const double *u = b->axis, *H1 = b->nv > 1 ? view->dof[b->iv + 1].H : NULL;
    double A[9], p[3];
    node slide[3] = {0}, q[7];
    /* Indices that do not exist are not used. */
    for (int j = 0; j < 7; ++j)
        q[j] = input(g, IN_Q, b->iq + j);
    for (int j = 0; j < 9; ++j)
        A[j] = clean(b->R0[j] + b->R1[j]);
    for (int j = 0; j < 3; ++j)
        p[j] = fabs(b->p[j]) < 1e-15 ? 0 : b->p[j];
    for (int c = 0; c < b->nv; ++c)
        for (int j = 0; j < 6; ++j) {
            const double h = view->dof[b->iv + c].H[j];
            o->H[6 * c + j] = constant(fabs(h) <= 1 ? clean(h) : h);
        }
    if (b->type == SOAI_JOINT_REVOLUTE || b->type == SOAI_JOINT_PRISMATIC ||
        b->type == SOAI_JOINT_SPHERICAL || b->type == SOAI_JOINT_FREE) {
        for (int c = 0; c < b->nv; ++c) {
            for (int j = 0; j < 6; ++j) {
                if (b->nv > 1) {
                    o->H[6 * c + j] = constant(j == c);
                } else {
                    o->H[6 * c + j] =
                        constant((j < 3) == (b->type == SOAI_JOINT_REVOLUTE) ? clean(u[j % 3]) : 0);
                }
            }
        }
    }
    switch (b->type) {
    case SOAI_JOINT_REVOLUTE: put_joint_turn(g, &o->in, u, q[0]); break;
    case SOAI_JOINT_HELICAL:
    case SOAI_JOINT_CYLINDRICAL:
        put_joint_turn(g, &o->in, u, q[0]);
        /* fall through */
    case SOAI_JOINT_PRISMATIC:
        for (int j = 0; j < 3; ++j) { /* slide is in the parent's axes */
            double before = 0;
            for (int r = 0; r < 3; ++r)
                before += A[3 * r + j] * b->slide[r];
            slide[j] = multiply(q[b->type == SOAI_JOINT_CYLINDRICAL],
                                constant(fabs(before) < 1e-15 ? 0 : clean(before)));
        }
        break;
    case SOAI_JOINT_UNIVERSAL: {
        put_joint_turn(g, &o->in, H1, q[1]);
        node axis[3];
        for (int j = 0; j < 3; ++j)
            axis[j] = constant(clean(u[j]));
        turn(g, o->in.step, 1, axis, o->H);
        for (int j = 3; j < 6; ++j)
            o->H[j] = 0;
        put_joint_turn(g, &o->in, u, q[0]);
        break;
    }
    case SOAI_JOINT_PLANAR:
        put_joint_turn(g, &o->in, u, q[2]);
        for (int j = 0; j < 3; ++j)
            slide[j] = add(multiply(q[0], o->H[3 + j]), multiply(q[1], o->H[9 + j]));
        for (int c = 0; c < 2; ++c)
            turn(g, o->in.step, 1, o->H + 6 * c + 3, o->H + 6 * c + 3);
        break;
    case SOAI_JOINT_SPHERICAL:
    case SOAI_JOINT_FREE:
        quaternion(g, q + (b->type == SOAI_JOINT_FREE ? 3 : 0), next_step(&o->in, STEP_ROTATE)->R);
        if (b->type == SOAI_JOINT_FREE) memcpy(slide, q, sizeof slide);
        break;
    default: break;
    }
    put_placement(g, &o->in, A, p, slide);
    for (int j = 0; j < 10; ++j)
        o->M[j] = parameter(b->M[j]);
}
/* The body's axes in the world: one rotation while all are about the same coordinate axis, else a
 * matrix. */
static void world_axes(soa_scalar_graph *g, const passage *parent, const passage *in,
                       passage *out) {
    const graph_step *up = parent->count ? parent->step : NULL;
    int k;
    if (up) {
        k = up->kind == STEP_TURN ? up->k : -2;
    } else {
        k = -1;
    }
    int one = k != -2;
    int sign = up ? up->sign : 1;
    node angle = up ? up->angle : 0;
    for (int n = 0; n < in->count && one; ++n) {
        const graph_step *t = in->step + n;
        if (t->kind == STEP_MOVE) continue;
        one = t->kind == STEP_TURN && (k < 0 || k == t->k);
        if (k < 0) sign = t->sign;
        k = t->k;
        if (one) angle = sign == t->sign ? add(angle, t->angle) : subtract(angle, t->angle);
    }
    *out = (passage){0};
    if (one && k < 0) return;
    if (one) {
        put_turn(g, out, k, sign, angle);
        return;
    }
    graph_step *t = next_step(out, STEP_ROTATE);
    for (int r = 0; r < 3; ++r) {
        /* Row r of the parent's R, times the steps. */
        node e[3] = {constant(r == 0), constant(r == 1), constant(r == 2)};
        if (up) turn(g, up, 1, e, e);
        for (int n = in->count - 1; n >= 0; --n)
            turn(g, in->step + n, 1, e, e);
        memcpy(t->R + 3 * r, e, sizeof e);
    }
}
/* Expresses everything of body i in world axes, at its own origin. */
static void to_world(soa_scalar_graph *g, int i) {
    const soai_body_double *b = g->m->work->view.body + i;
    graph_body *o = g->body_of + i;
    const passage *parent = &g->body_of[b->parent].world;
    node p[3] = {0};
    for (int n = 0; n < o->in.count; ++n) { /* the origin in the parent's axes */
        const graph_step *t = o->in.step + n;
        for (int j = 0; t->kind == STEP_MOVE && j < 3; ++j)
            p[j] = add(p[j], t->p[j]);
        turn(g, t, 0, p, p);
    }
    if (parent->count) turn(g, parent->step, 0, p, p);
    world_axes(g, parent, &o->in, &o->world);
    o->in.count = 0;
    put_move(g, &o->in, p);
    if (!o->world.count) return;
    const graph_step *t = o->world.step;
    for (int c = 0; c < b->nv; ++c) {
        turn(g, t, 0, o->H + 6 * c, o->H + 6 * c);
        turn(g, t, 0, o->H + 6 * c + 3, o->H + 6 * c + 3);
    }
    rigid_inward(g, &o->world, 1, o->M);
}
void soai_graph_pose(soa_scalar_graph *g) {
    const soai_view_double *view = &g->m->work->view;
    for (int i = 1; i <= view->nb; ++i) {
        const soai_body_double *b = view->body + i;
        graph_body *o = g->body_of + i;
        g->body = i;
        g->part = PART_POSE;
        pose(g, i);
        if (g->options.axes == SOA_AXES_WORLD) to_world(g, i);
        o->free_axes = b->nv > 0;
        for (int c = 0; c < b->nv; ++c) {
            int others = 0;
            for (int j = 0; j < 6; ++j) {
                const node h = o->H[6 * c + j];
                if (IS(h, 1) || IS(h, -1)) {
                    o->unit[c] = j + 1;
                    o->sign[c] = IS(h, 1) ? 1 : -1;
                } else {
                    others += !IS(h, 0);
                }
            }
            o->free_axes &= o->unit[c] && !others && view->dof[b->iv + c].armature == 0;
            for (int d = 0; d < c; ++d)
                o->free_axes &= o->unit[d] != o->unit[c];
        }
    }
}
