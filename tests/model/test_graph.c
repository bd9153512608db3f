/* test_graph.c  graphs of links and joints: spanning trees, reversed joints, WD89's binary tree.
 *
 * The reference for a spanning tree is any other one of the same graph: whichever joints are cut,
 * every joint and every link must have the same acceleration. One choice cuts every joint, so that
 * all links are free bodies held only by constraints. */
#include "check.h"
#include "soa/soa.h"
#include <time.h>

enum { LINKS = 8, JOINTS = 16, ROOM = 64 };
static const soa_joint_type moving[8] = {SOA_REVOLUTE,    SOA_PRISMATIC, SOA_HELICAL,
                                         SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,
                                         SOA_SPHERICAL,   SOA_FREE};

static int pick(dice *d, int n) {
    const int i = (int)roll(d, 0, n);
    return i < n ? i : n - 1;
}
static void unit_vector(dice *d, double a[3]) {
    double size = 0;
    do {
        roll_many(d, -1, 1, 3, a);
        size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    } while (size < 0.2);
    for (int i = 0; i < 3; ++i)
        a[i] /= size;
}
static soa_frame random_frame(dice *d) {
    double r[3], p[3];
    roll_many(d, -2, 2, 3, r);
    roll_many(d, -0.5, 0.5, 3, p);
    return soa_frame_from_rpy(r[0], r[1], r[2], p[0], p[1], p[2]);
}
static soa_joint_def random_joint(dice *d, soa_joint_type type) {
    soa_joint_def j = soa_joint_default(type);
    unit_vector(d, j.axis);
    do {
        unit_vector(d, j.axis2);
        const double c = j.axis[0] * j.axis2[0] + j.axis[1] * j.axis2[1] + j.axis[2] * j.axis2[2];
        if (type == SOA_PLANAR) {
            double size = 0;
            for (int i = 0; i < 3; ++i) {
                j.axis2[i] -= c * j.axis[i];
                size += j.axis2[i] * j.axis2[i];
            }
            for (int i = 0; i < 3; ++i)
                j.axis2[i] /= sqrt(size);
            break;
        }
        if (fabs(c) < 0.7) break;
    } while (1);
    j.pitch = type == SOA_HELICAL ? roll(d, -0.3, 0.3) : 0;
    return j;
}
static int nv_of(soa_joint_type t) {
    static const int nv[SOA_JOINT_TYPE_COUNT] = {0, 1, 1, 1, 2, 2, 3, 3, 6};
    return nv[t];
}
/* A random pose that the joint allows, by turns and shifts of its axes. */
static soa_frame random_pose(dice *d, const soa_joint_def *j) {
    static const double none[3] = {0, 0, 0};
    const double *a = j->axis, *b = j->axis2, turn = roll(d, -2.5, 2.5), far = roll(d, -0.5, 0.5);
    double p[3] = {0, 0, 0};
    switch (j->type) {
    case SOA_REVOLUTE: return soa_frame_from_axis_angle(a, turn, none);
    case SOA_PRISMATIC:
        for (int i = 0; i < 3; ++i)
            p[i] = far * a[i];
        return soa_frame_from_axis_angle(a, 0, p);
    case SOA_HELICAL:
        for (int i = 0; i < 3; ++i)
            p[i] = j->pitch * turn * a[i];
        return soa_frame_from_axis_angle(a, turn, p);
    case SOA_CYLINDRICAL:
        for (int i = 0; i < 3; ++i)
            p[i] = far * a[i];
        return soa_frame_from_axis_angle(a, turn, p);
    case SOA_UNIVERSAL: {
        const soa_frame one = soa_frame_from_axis_angle(a, turn, none),
                        two = soa_frame_from_axis_angle(b, 2 * far, none);
        return soa_frame_compose(&one, &two);
    }
    case SOA_PLANAR: {
        const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                             a[0] * b[1] - a[1] * b[0]};
        const double along = roll(d, -0.5, 0.5);
        for (int i = 0; i < 3; ++i)
            p[i] = far * b[i] + along * c[i];
        return soa_frame_from_axis_angle(a, turn, p);
    }
    case SOA_SPHERICAL: {
        soa_frame X = random_frame(d);
        memset(X.p, 0, sizeof X.p);
        return X;
    }
    case SOA_FREE: return random_frame(d);
    default: return soa_frame_identity();
    }
}
static double frame_difference(const soa_frame *a, const soa_frame *b) {
    double worst = 0;
    for (int i = 0; i < 9; ++i)
        worst = fmax(worst, fabs(a->R[i] - b->R[i]));
    for (int i = 0; i < 3; ++i)
        worst = fmax(worst, fabs(a->p[i] - b->p[i]));
    return worst;
}

/* --- joints by themselves --------------------------------------------------------------------- */

/* A model of one joint, at random coordinates. */
typedef struct one_joint {
    soa_body_def body;
    const soa_model *m;
    soa_work *w;
    int nv;
    double q[7], v[6], a[6];
    long seed;
} one_joint;
static void model_of(const soa_body_def *body, const soa_model **m, soa_work **w) {
    const soa_model_def def = soa_model_default("one", body, 1);
    assert_int_equal(SOA_OK, soa_model_create(&def, m, NULL));
    assert_int_equal(SOA_OK, soa_work_create(*m, w));
}
static one_joint open_joint(long seed) {
    dice d = {(uint64_t)seed};
    const soa_joint_type type = moving[seed % 8];
    one_joint j = {.body = soa_body_default("b", 0, type), .nv = nv_of(type), .seed = seed};
    j.body.joint = random_joint(&d, type);
    j.body.placement = random_frame(&d);
    j.body.mass = 1;
    j.body.inertia[0] = j.body.inertia[1] = j.body.inertia[2] = 0.1;
    model_of(&j.body, &j.m, &j.w);
    assert_int_equal(j.nv, soa_model_nv(j.m));
    roll_many(&d, -1.4, 1.4, 7, j.q);
    roll_many(&d, -2, 2, 6, j.v);
    roll_many(&d, -2, 2, 6, j.a);
    if (type == SOA_HELICAL) j.q[0] *= 10; /* several turns */
    assert_int_equal(SOA_OK, soa_q_normalise(j.m, j.q));
    assert_int_equal(SOA_OK, soa_kinematics(j.m, j.w, j.q, j.v, j.a));
    return j;
}
static void close_joint(one_joint *j) {
    soa_work_free(j->w);
    soa_model_free(j->m);
}
/* q, v and a of the joint, from the kinematics of its model */
static void compare_coordinates(one_joint *j, worst_case *back) {
    const soa_loop_def loop = {"b", 0, 1, j->body.placement, soa_frame_identity(), j->body.joint};
    double q[7], v[6], a[6], off[6];
    assert_int_equal(SOA_OK, soa_loop_coordinates(j->m, j->w, &loop, q, v, a));
    /* the quaternion has two signs */
    assert_int_equal(SOA_OK, soa_q_difference(j->m, j->q, q, off));
    for (int i = 0; i < j->nv; ++i)
        note(back, fabs(off[i]), j->seed);
    note(back, relative(v, j->v, (size_t)j->nv), j->seed);
    note(back, relative(a, j->a, (size_t)j->nv), j->seed);
    assert_int_equal(SOA_OK, soa_loop_coordinates(j->m, j->w, &loop, q, NULL, NULL));
}
/* Joints about and along one axis keep their coordinates, a universal one exchanges them. */
static void compare_reversed_coordinates(const one_joint *j, const double *q, const double *v,
                                         worst_case *same) {
    const soa_joint_type type = j->body.joint.type;
    if (nv_of(type) == 1 || type == SOA_CYLINDRICAL) {
        for (int i = 0; i < j->nv; ++i) {
            note(same, fabs(q[i] - j->q[i]), j->seed);
            note(same, fabs(v[i] - j->v[i]), j->seed);
        }
    }
    if (type == SOA_UNIVERSAL) {
        for (int i = 0; i < 2; ++i) {
            note(same, fabs(q[i] - j->q[1 - i]), j->seed);
            note(same, fabs(v[i] - j->v[1 - i]), j->seed);
        }
    }
}
/* Pose, velocity and acceleration of the world seen from the link, at the joint's place in the
 * world. The world is at rest: the rate of -phi*(X) V1 is -phi*(X) A1 + V x phi*(X) V1, and V x V
 * is 0. */
static void world_from_link(one_joint *j, soa_frame *X, double V[6], double A[6]) {
    soa_frame pose;
    soa_pose(j->m, j->w, 1, &pose);
    const soa_frame out = soa_frame_inverse(&pose);
    *X = soa_frame_compose(&out, &j->body.placement);
    soa_velocity(j->m, j->w, 1, SOA_AXES_BODY, V);
    soa_acceleration_spatial(j->m, j->w, 1, SOA_AXES_BODY, A);
    soa_frame_motion_to_child(X, V, V);
    soa_frame_motion_to_child(X, A, A);
    for (int i = 0; i < 6; ++i) {
        V[i] = -V[i];
        A[i] = -A[i];
    }
}
/* The same joint turned round, in a separate model: the link carries the world. */
static void compare_reversed(one_joint *j, worst_case *turned, worst_case *same) {
    soa_body_def round = j->body;
    double q[7], v[6], a[6], V[6], A[6], V1[6], A1[6];
    assert_int_equal(SOA_OK, soa_joint_reverse(&j->body.joint, &round.joint));
    round.placement = soa_frame_identity();
    const soa_loop_def seen = {"r", 1, 0, soa_frame_identity(), j->body.placement, round.joint};
    assert_int_equal(SOA_OK, soa_loop_coordinates(j->m, j->w, &seen, q, v, a));
    compare_reversed_coordinates(j, q, v, same);

    soa_frame X, pose;
    const soa_model *m = NULL;
    soa_work *w = NULL;
    world_from_link(j, &X, V, A);
    model_of(&round, &m, &w);
    assert_int_equal(SOA_OK, soa_kinematics(m, w, q, v, a));
    soa_pose(m, w, 1, &pose);
    soa_velocity(m, w, 1, SOA_AXES_BODY, V1);
    soa_acceleration_spatial(m, w, 1, SOA_AXES_BODY, A1);
    note(turned, frame_difference(&pose, &X), j->seed);
    note(turned, relative(V1, V, 6), j->seed);
    note(turned, relative(A1, A, 6), j->seed);
    soa_work_free(w);
    soa_model_free(m);
}
static void joint_maps(void **unused) {
    (void)unused;
    worst_case back = {0}, turned = {0}, same = {0};
    for (long seed = first_seed(); seed < first_seed() + 400; ++seed) {
        one_joint j = open_joint(seed);
        compare_coordinates(&j, &back);
        compare_reversed(&j, &turned, &same);
        close_joint(&j);
    }
    conclude("coordinates out of motion", &back, 1e-12);
    conclude("joints turned round: motion", &turned, 1e-12);
    conclude("joints turned round: coordinates", &same, 1e-12);
}
static void joints_refused(void **unused) {
    (void)unused;
    soa_joint_def j = soa_joint_default(SOA_PLANAR), out;
    j.damping = 1;
    assert_int_equal(SOA_E_JOINT, soa_joint_reverse(&j, &out));
    j = soa_joint_default(SOA_SPHERICAL);
    j.damping = 1;
    assert_int_equal(SOA_OK, soa_joint_reverse(&j, &out));
    j.friction_positive = 1;
    assert_int_equal(SOA_E_JOINT, soa_joint_reverse(&j, &out));
    j = soa_joint_default(SOA_REVOLUTE);
    j.rotor_inertia = 1;
    j.rotor_model = SOA_ROTOR_EXACT;
    assert_int_equal(SOA_E_JOINT, soa_joint_reverse(&j, &out));
    j.type = (soa_joint_type)77;
    assert_int_equal(SOA_E_ARGUMENT, soa_joint_reverse(&j, &out));
    assert_int_equal(SOA_E_ARGUMENT, soa_joint_reverse(NULL, &out));
    double q[7], v[6];
    const double bad[6] = {0, NAN, 0, 0, 0, 0};
    soa_frame X = soa_frame_identity();
    j = soa_joint_default(SOA_REVOLUTE);
    assert_int_equal(SOA_E_NOT_FINITE, soa_joint_coordinates(&j, &X, bad, NULL, q, v, NULL));
    assert_int_equal(SOA_E_ARGUMENT, soa_joint_coordinates(&j, &X, NULL, NULL, q, v, NULL));
    X.R[0] = NAN;
    assert_int_equal(SOA_E_FRAME, soa_joint_coordinates(&j, &X, NULL, NULL, q, NULL, NULL));
}

/* --- random graphs ---------------------------------------------------------------------------- */

typedef struct graph {
    soa_link_def links[LINKS];
    soa_edge_def joints[JOINTS];
    soa_linkage_def def;
    char names[LINKS + JOINTS][16];
    soa_frame where[LINKS + 1]; /* links in the world */
    double torque[JOINTS];      /* of joints with one degree of freedom */
    soa_wrench wrench;          /* frame: link of the graph */
} graph;

static void make_graph(graph *g, dice *d) {
    const int links = 2 + pick(d, LINKS - 2), extra = 1 + pick(d, 3), joints = links + extra;
    memset(g, 0, sizeof *g);
    g->where[0] = soa_frame_identity();
    for (int l = 1; l <= links; ++l) {
        soa_link_def *k = g->links + l - 1;
        snprintf(g->names[l - 1], sizeof g->names[0], "L%d", l);
        *k = soa_link_default(g->names[l - 1]);
        k->mass = roll(d, 0.5, 2);
        roll_many(d, -0.2, 0.2, 3, k->com);
        for (int i = 0; i < 3; ++i) {
            k->inertia[i] = roll(d, 0.05, 0.09);
            k->inertia[3 + i] = roll(d, -0.01, 0.01);
        }
        g->where[l] = random_frame(d);
    }
    const double kind = roll(d, 0, 1);
    const int motors = pick(d, 3); /* without any, trees that share no loop are swept together */
    double q[JOINTS];
    for (int j = 0; j < joints; ++j) {
        char *name = g->names[LINKS + j];
        snprintf(name, sizeof g->names[0], "J%d", j);
        int one = j < links ? pick(d, j + 1) : pick(d, links + 1);
        int two = j < links ? j + 1 : pick(d, links + 1);
        while (two == one)
            two = pick(d, links + 1);
        if (pick(d, 2)) { /* either way round */
            const int t = one;
            one = two;
            two = t;
        }
        soa_joint_type type = moving[pick(d, kind < 0.5 ? 7 : 8)];
        /* loops that move have many freedoms */
        if (kind > 0.3 && pick(d, 2)) type = moving[4 + pick(d, 3)];
        if (pick(d, 12) == 0) type = SOA_FIXED;
        soa_edge_def *e = g->joints + j;
        *e = soa_edge_default(name, one, two, type);
        e->joint = random_joint(d, type);
        if (type != SOA_PLANAR && type != SOA_FREE) e->joint.damping = roll(d, 0, 0.2);
        /* a planar one with forces cannot be turned round */
        const int turnable = type != SOA_PLANAR || kind > 0.8;
        if (type != SOA_SPHERICAL && type != SOA_FREE && turnable && pick(d, 3) == 0) {
            e->joint.stiffness = roll(d, 0, 5);
            e->joint.rest = roll(d, -1, 1);
        }
        if (motors && type != SOA_FREE && turnable && pick(d, 3) == 0) {
            e->joint.rotor_inertia = roll(d, 0, 0.02);
            e->joint.gear_ratio = roll(d, 1, 5) * (pick(d, 2) ? 1 : -1);
            if (nv_of(type) == 1 && pick(d, 2)) {
                e->joint.rotor_model = SOA_ROTOR_EXACT;
                if (pick(d, 2)) unit_vector(d, e->joint.rotor_axis);
            }
        }
        if (nv_of(type) <= 2 && pick(d, 2))
            e->joint.friction_positive = e->joint.friction_negative = roll(d, 0, 0.1);
        if (pick(d, 3)) e->place1 = random_frame(d);
        /* place 2 is where the joint, at some q, brings it */
        const soa_frame X = random_pose(d, &e->joint),
                        at = soa_frame_compose(&g->where[one], &e->place1);
        const soa_frame to = soa_frame_compose(&at, &X), back = soa_frame_inverse(&g->where[two]);
        e->place2 = soa_frame_compose(&back, &to);
        if (type != SOA_FIXED && j < links && pick(d, 3) == 0 && two != 0 &&
            two == j + 1) { /* a joint at the link's frame */
            e->place2 = soa_frame_identity();
            const soa_frame undo = soa_frame_inverse(&X),
                            place = soa_frame_compose(&g->where[two], &undo),
                            from = soa_frame_inverse(&g->where[one]);
            e->place1 = soa_frame_compose(&from, &place);
        }
        g->torque[j] = roll(d, -1, 1);
        if (nv_of(type) == 1)
            assert_int_equal(SOA_OK, soa_joint_coordinates(&e->joint, &X, NULL, NULL, &q[j], 0, 0));
    }
    const int leader = pick(d, joints), follower = pick(d, joints); /* one follows another */
    if (leader != follower && nv_of(g->joints[leader].joint.type) == 1 &&
        nv_of(g->joints[follower].joint.type) == 1) {
        soa_joint_def *f = &g->joints[follower].joint;
        f->mimic = leader;
        f->mimic_ratio = roll(d, -2, 2);
        f->mimic_offset = q[follower] - f->mimic_ratio * q[leader];
    }
    g->def = soa_linkage_default("random", g->links, links, g->joints, joints);
    g->wrench = (soa_wrench){1 + pick(d, links), SOA_AXES_WORLD, {0}};
    roll_many(d, -2, 2, 6, g->wrench.value);
}

/* One spanning tree of a graph, ready to move. */
typedef struct machine {
    soa_linkage_tree *tree;
    const soa_model *m;
    soa_work *w;
    soa_constraints *c;
    double q[7 * LINKS], v[6 * LINKS], qdd[6 * LINKS], tau[6 * LINKS];
} machine;

static soa_loop_def joint_in(const machine *k, const graph *g, int j) {
    const soa_edge_def *e = g->joints + j;
    return (soa_loop_def){
        e->name, k->tree->link[e->link1], k->tree->link[e->link2], e->place1, e->place2, e->joint};
}

/* 0 where a joint would have to be turned round that cannot. */
static int build(machine *k, const graph *g) {
    soa_report report;
    memset(k, 0, sizeof *k);
    if (soa_linkage_span(&g->def, &k->tree, &report)) {
        if (!strstr(report.text, "exchange its links")) fail_msg("%s", report.text);
        return 0;
    }
    if (soa_model_create(&k->tree->model, &k->m, &report)) fail_msg("%s", report.text);
    assert_int_equal(SOA_OK, soa_work_create(k->m, &k->w));
    soa_constraint_capacity room = soa_linkage_tree_capacity(k->tree);
    room.dense = 1;
    assert_int_equal(SOA_OK, soa_constraints_create(k->m, &room, &k->c));
    return 1;
}
/* 0 where a mimic joint's coordinate cannot move, because fixed joints hold both its links. */
static int add_loops(machine *k, const graph *g) {
    soa_report report;
    const soa_status s = soa_linkage_tree_constrain(k->tree, k->c, &report);
    if (s == SOA_E_MIMIC) return 0;
    if (s) fail_msg("%s", report.text);
    for (int i = 0; i < k->tree->loop_count + k->tree->ratio_count; ++i)
        for (int j = 0; j < g->def.joint_count; ++j) {
            const char *name = soa_constraints_name(k->c, i);
            if (name && !strcmp(name, g->joints[j].name) && nv_of(g->joints[j].joint.type) == 1)
                assert_int_equal(SOA_OK, soa_constraints_set_effort(k->c, i, &g->torque[j]));
        }
    return 1;
}
static void release(machine *k) {
    soa_constraints_free(k->c);
    soa_work_free(k->w);
    soa_model_free(k->m);
    soa_linkage_tree_free(k->tree);
}

/* State of the tree from the poses of the graph, velocities from those of another tree (NULL:
 * random). */
static void set_state(machine *k, const graph *g, machine *from, dice *d) {
    soa_q_neutral(k->m, k->q);
    memset(k->tau, 0, sizeof k->tau);
    for (int l = 1; l <= g->def.link_count; ++l) {
        int carrier = -1;
        for (int j = 0; j < g->def.joint_count; ++j)
            if (k->tree->joints[j].loop < 0 &&
                (k->tree->joints[j].reversed ? g->joints[j].link1 : g->joints[j].link2) == l)
                carrier = j;
        soa_joint_def joint = soa_joint_default(SOA_FREE);
        soa_frame near = soa_frame_identity(), far = near;
        int parent = 0, link = k->tree->link[l];
        if (carrier >= 0) {
            const soa_edge_def *e = g->joints + carrier;
            const int reversed = k->tree->joints[carrier].reversed;
            link = k->tree->joints[carrier].link;
            joint = k->tree->model.bodies[link - 1].joint;
            parent = reversed ? e->link2 : e->link1;
            near = reversed ? e->place2 : e->place1;
            far = reversed ? e->place1 : e->place2;
        }
        soa_frame_info frame;
        soa_body_info body;
        soa_model_frame(k->m, link, &frame);
        if (joint.type == SOA_FIXED) continue;
        soa_model_body(k->m, frame.body, &body);
        if (body.mimic > 0) { /* its leader has its coordinates, and feels its torque */
            soa_body_info leader;
            soa_model_body(k->m, body.mimic, &leader);
            k->tau[leader.v_index] += body.mimic_ratio * g->torque[carrier];
            continue;
        }
        const soa_frame a = soa_frame_compose(&g->where[parent], &near),
                        b = soa_frame_compose(&g->where[l], &far);
        const soa_frame back = soa_frame_inverse(&a), X = soa_frame_compose(&back, &b);
        assert_int_equal(
            SOA_OK, soa_joint_coordinates(&joint, &X, NULL, NULL, k->q + body.q_index, NULL, NULL));
        double *v = k->v + body.v_index, q[7];
        if (from) {
            const soa_loop_def seen = {
                "", from->tree->link[parent], from->tree->link[l], near, far, joint};
            assert_int_equal(SOA_OK, soa_loop_coordinates(from->m, from->w, &seen, q, v, NULL));
        } else {
            roll_many(d, -1, 1, (size_t)body.nv, v);
        }
        if (nv_of(joint.type) == 1) k->tau[body.v_index] += g->torque[carrier];
    }
}

/* A random spanning tree: joints in random order, kept unless they close a loop. */
static void random_cuts(graph *g, dice *d) {
    int root[LINKS + 1], order[JOINTS];
    for (int l = 0; l <= g->def.link_count; ++l)
        root[l] = l;
    for (int j = 0; j < g->def.joint_count; ++j)
        order[j] = j;
    for (int j = g->def.joint_count - 1; j > 0; --j) {
        const int k = pick(d, j + 1), t = order[j];
        order[j] = order[k];
        order[k] = t;
    }
    for (int i = 0; i < g->def.joint_count; ++i) {
        soa_edge_def *e = g->joints + order[i];
        const int one = root[e->link1], two = root[e->link2];
        e->use = one == two ? SOA_EDGE_CUT : SOA_EDGE_KEEP;
        for (int l = 0; l <= g->def.link_count; ++l)
            if (root[l] == two) root[l] = one;
        if (e->joint.type == SOA_FIXED && one == two) e->use = SOA_EDGE_CUT;
    }
}

/* Items are numbered: bodies, then terminating links, then connectors. */
static soa_item_kind kind_of(int i, int bodies, int loops) {
    if (i <= bodies) return SOA_ITEM_SUCCESSOR;
    if (i <= bodies + loops) return SOA_ITEM_TERMINATING;
    return SOA_ITEM_CONNECTOR;
}
/* The products of WD89 (8), (9): both ways to a cut joint meet; every item has its place. */
static void check_binary(machine *k, worst_case *closure, long seed) {
    static soa_binary_item item[8 * ROOM];
    int count = 0, all = 0;
    assert_int_equal(
        SOA_OK, soa_model_binary_tree(k->m, k->tree->loops, k->tree->loop_count, NULL, 0, &count));
    assert_int_equal(SOA_E_MEMORY, soa_model_binary_tree(k->m, k->tree->loops, k->tree->loop_count,
                                                         item, count - 1, &all));
    assert_int_equal(SOA_OK, soa_model_binary_tree(k->m, k->tree->loops, k->tree->loop_count, item,
                                                   (int)(sizeof item / sizeof *item), &all));
    assert_int_equal(count, all);
    const int bodies = soa_model_body_count(k->m), loops = k->tree->loop_count;
    int links = 0, ends = 0;
    for (int i = 1; i < count; ++i) {
        const soa_binary_item *t = item + i, *up = item + t->predecessor;
        assert_true(t->predecessor >= 0 && t->predecessor < count);
        assert_int_equal(t->kind, kind_of(i, bodies, loops));
        if (t->kind == SOA_ITEM_CONNECTOR)
            assert_int_equal(up->connector, i);
        else
            assert_int_equal(up->successor, i);
        links += (t->successor > 0) + (t->connector > 0);
        ends += t->kind == SOA_ITEM_CONNECTOR && t->loop >= 0;
    }
    links += (item[0].successor > 0) + (item[0].connector > 0);
    assert_int_equal(links, count - 1);
    assert_int_equal(ends, loops);
    assert_int_equal(SOA_OK, soa_kinematics(k->m, k->w, k->q, NULL, NULL));
    soa_frame T[2][8 * ROOM]; /* of each item, by placements and the poses of bodies */
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < count; ++i) {
            /* predecessors of bodies and terminating links may be connectors, which stand behind:
             * follow the chain */
            soa_frame at = soa_frame_identity();
            int up = i;
            while (up > bodies || (up == i && i > 0 && item[i].kind != SOA_ITEM_SUCCESSOR)) {
                at = soa_frame_compose(&item[up].placement, &at);
                up = item[up].predecessor;
            }
            soa_frame pose = soa_frame_identity();
            if (up > 0) {
                soa_body_info b;
                soa_model_body(k->m, up, &b);
                soa_pose(k->m, k->w, b.frame, &pose);
            }
            T[pass][i] = soa_frame_compose(&pose, &at);
        }
    for (int i = bodies + loops + 1; i < count; ++i) {
        if (item[i].loop < 0) continue;
        const soa_loop_def *loop = k->tree->loops + item[i].loop;
        /* T(0 .. terminating) X(q) = T(0 .. connector), X from the joint's own coordinates, in a
         * model of that joint */
        soa_body_def body = soa_body_default("x", 0, loop->joint.type);
        body.joint = loop->joint;
        body.mass = 1;
        body.inertia[0] = body.inertia[1] = body.inertia[2] = 1;
        double q[7];
        assert_int_equal(SOA_OK, soa_loop_coordinates(k->m, k->w, loop, q, NULL, NULL));
        const soa_model_def def = soa_model_default("x", &body, 1);
        const soa_model *m = NULL;
        soa_work *w = NULL;
        soa_frame X;
        assert_int_equal(SOA_OK, soa_model_create(&def, &m, NULL));
        assert_int_equal(SOA_OK, soa_work_create(m, &w));
        assert_int_equal(SOA_OK, soa_kinematics(m, w, q, NULL, NULL));
        soa_pose(m, w, 1, &X);
        const soa_frame arrives = soa_frame_compose(&T[0][1 + bodies + item[i].loop], &X);
        note(closure, frame_difference(&arrives, &T[1][i]), seed);
        soa_work_free(w);
        soa_model_free(m);
    }
}

typedef struct cut_counts {
    long refused, mobile, redundant, bad_condition; /* graphs */
    long compared;                                  /* trees */
    long reversed;                                  /* joints */
    long springs, rotors, exact, ratios;            /* on cut joints */
} cut_counts;
typedef struct cut_errors {
    worst_case joints, links, closed, start;
} cut_errors;
/* Accelerations of a graph's links (in world axes) and joints. */
typedef struct accelerations {
    double link[LINKS + 1][6], joint[JOINTS][6];
    double size; /* largest of the links', at least 1e-3 */
    int mobility;
} accelerations;

static void count_cut(const machine *k, const graph *g, cut_counts *n) {
    for (int j = 0; j < g->def.joint_count; ++j) {
        const soa_joint_def *joint = &g->joints[j].joint;
        const int cut = k->tree->joints[j].loop >= 0;
        n->springs += cut && joint->stiffness > 0;
        n->rotors += cut && joint->rotor_inertia > 0;
        n->exact += cut && joint->rotor_inertia > 0 && joint->rotor_model == SOA_ROTOR_EXACT;
    }
}
/* The graph's chosen tree with a random velocity that its loops allow; 0 if there is none. */
static int open_first(machine *k, graph *g, dice *d, long seed, cut_counts *n) {
    double error[2];
    if (!build(k, g)) return 0;
    if (!add_loops(k, g)) {
        release(k);
        return 0;
    }
    count_cut(k, g, n);
    set_state(k, g, NULL, d);
    const soa_status s = soa_closed_project(k->c, k->w, 0, k->q, k->v, error);
    if (s)
        fail_msg("seed %ld: projection: %s (%g %g)", seed, soa_status_text(s), error[0], error[1]);
    assert_int_equal(SOA_OK, soa_kinematics(k->m, k->w, k->q, k->v, NULL));
    set_state(k, g, k, NULL); /* its own velocities */
    return 1;
}
/* The same graph with other joints cut (every one, or random ones), in the state of the first; 0 if
 * none of thirty random choices can be built. */
static int open_other(machine *k, graph *g, int every, machine *first, dice *d, cut_counts *n) {
    enum { TRIES = 30 };
    int tries = 0, built = 0;
    for (int j = 0; j < g->def.joint_count; ++j)
        g->joints[j].use = every ? SOA_EDGE_CUT : SOA_EDGE_ANY;
    while (!built && tries++ < TRIES) {
        if (!every) random_cuts(g, d);
        built = build(k, g);
    }
    if (!built) return 0;
    if (!add_loops(k, g)) {
        release(k);
        return 0;
    }
    count_cut(k, g, n);
    n->ratios += k->tree->ratio_count;
    assert_int_equal(SOA_OK, soa_kinematics(first->m, first->w, first->q, first->v, NULL));
    set_state(k, g, first, NULL);
    return 1;
}
/* Loops are closed, in position and velocity. */
static void check_start(machine *k, long seed, cut_errors *e) {
    double rows[6 * JOINTS], rate[6 * JOINTS];
    assert_int_equal(SOA_OK,
                     soa_constraints_evaluate(k->c, k->w, &(soa_input){.q = k->q, .v = k->v}, rows,
                                              rate, NULL, NULL));
    for (int r = 0; r < soa_constraints_row_count(k->c); ++r) {
        note(&e->start, fabs(rows[r]), seed);
        note(&e->start, fabs(rate[r]), seed);
    }
}
/* qdd of the tree, by one of the four methods; 0 where the loops are too near a singularity. */
static int solve(machine *k, const graph *g, long seed, int variant, soa_closed_report *report) {
    soa_wrench wrench = g->wrench;
    wrench.frame = k->tree->link[g->wrench.frame];
    const soa_input input = {
        .q = k->q, .v = k->v, .tau = k->tau, .wrenches = &wrench, .wrench_count = 1};
    soa_closed_options by = soa_closed_options_default();
    by.method = (soa_closed_method)((seed + variant) % 4);
    const soa_status s = soa_closed_fd(k->c, k->w, &by, &input, k->qdd, NULL, report);
    if (report->condition > 1e8 || s == SOA_E_SINGULAR) return 0;
    if (s)
        fail_msg("seed %ld variant %d: %s (%s; rank %d of %d, condition %g, residual "
                 "%g, nv %d)",
                 seed, variant, soa_status_text(s), report->text, report->rank, report->rows,
                 report->condition, report->residual, soa_model_nv(k->m));
    return 1;
}
static void read_accelerations(machine *k, const graph *g, accelerations *a) {
    double q[7], v[6];
    assert_int_equal(SOA_OK, soa_kinematics(k->m, k->w, k->q, k->v, k->qdd));
    a->size = 1e-3;
    for (int l = 1; l <= g->def.link_count; ++l) {
        soa_acceleration_spatial(k->m, k->w, k->tree->link[l], SOA_AXES_WORLD, a->link[l]);
        for (int i = 0; i < 6; ++i)
            a->size = fmax(a->size, fabs(a->link[l][i]));
    }
    for (int j = 0; j < g->def.joint_count; ++j) {
        const soa_loop_def seen = joint_in(k, g, j);
        assert_int_equal(SOA_OK, soa_loop_coordinates(k->m, k->w, &seen, q, v, a->joint[j]));
    }
}
static void compare_accelerations(const graph *g, const accelerations *got,
                                  const accelerations *want, long seed, cut_errors *e) {
    for (int l = 1; l <= g->def.link_count; ++l)
        for (int i = 0; i < 6; ++i)
            note(&e->links, fabs(got->link[l][i] - want->link[l][i]) / want->size, seed);
    for (int j = 0; j < g->def.joint_count; ++j)
        for (int i = 0; i < nv_of(g->joints[j].joint.type); ++i)
            note(&e->joints, fabs(got->joint[j][i] - want->joint[j][i]) / want->size, seed);
}
/* One tree: variant 0 sets the reference, later ones are compared with it. 0: near a singularity */
static int compare_tree(machine *k, const graph *g, long seed, int variant, accelerations *first,
                        cut_counts *n, cut_errors *e) {
    soa_closed_report report;
    accelerations found = {0};
    for (int j = 0; j < g->def.joint_count; ++j)
        n->reversed += k->tree->joints[j].reversed;
    check_start(k, seed, e);
    check_binary(k, &e->closed, seed);
    if (!solve(k, g, seed, variant, &report)) {
        ++n->bad_condition;
        return 0;
    }
    const int mobility = soa_model_nv(k->m) - report.rank;
    read_accelerations(k, g, &found);
    if (variant) {
        assert_int_equal(first->mobility, mobility);
        compare_accelerations(g, &found, first, seed, e);
    } else {
        *first = found;
        first->mobility = mobility;
        n->mobile += mobility > 0;
        n->redundant += report.redundant > 0;
    }
    ++n->compared;
    return 1;
}
static void compare_cuts(long seed, cut_counts *n, cut_errors *e) {
    enum { VARIANTS = 4 }; /* the chosen tree, two random ones, all joints cut */
    dice d = {(uint64_t)seed};
    graph g;
    machine one, other;
    accelerations first = {0};
    make_graph(&g, &d);
    if (!open_first(&one, &g, &d, seed, n)) {
        ++n->refused;
        return;
    }
    int usable = compare_tree(&one, &g, seed, 0, &first, n, e);
    for (int variant = 1; variant < VARIANTS && usable; ++variant) {
        if (!open_other(&other, &g, variant == VARIANTS - 1, &one, &d, n)) continue;
        usable = compare_tree(&other, &g, seed, variant, &first, n, e);
        release(&other);
    }
    release(&one);
}
static void any_cut(void **unused) {
    (void)unused;
    const long cases = getenv("SOA_GRAPHS") ? strtol(getenv("SOA_GRAPHS"), NULL, 10) : 1000;
    cut_counts n = {0};
    cut_errors e = {0};
    for (long seed = first_seed(); seed < first_seed() + cases; ++seed)
        compare_cuts(seed, &n, &e);
    printf("  %ld graphs from seed %ld: %ld can move, %ld have redundant loops; %ld trees "
           "compared, %ld joints turned "
           "round, %ld graphs too near a singularity\n",
           cases, first_seed(), n.mobile, n.redundant, n.compared, n.reversed, n.bad_condition);
    printf("  on cut joints: %ld springs, %ld rotors (%ld exact), %ld mimic; %ld graphs refused\n",
           n.springs, n.rotors, n.exact, n.ratios, n.refused);
    conclude("start: loops closed, in position and velocity", &e.start, 1e-9);
    conclude("both ways round a loop, by the binary tree", &e.closed, 1e-12);
    conclude("accelerations of links, other cuts", &e.links, 1e-9);
    conclude("accelerations of joints, other cuts", &e.joints, 1e-9);
    assert_true(n.mobile * 4 > cases && n.bad_condition * 10 < cases && n.reversed > cases &&
                n.refused * 10 < cases);
    assert_true(n.springs > cases && n.rotors > cases && n.exact * 4 > cases &&
                n.ratios * 20 > cases);
}

/* --- WD89's Figure 1 -------------------------------------------------------------------------- */

/* Links and joints as in the paper, joints 8 and 9 at its arrows; planar, dimensions of our own:
 * places in the plane z = 0 at q = 0. */
typedef struct figure {
    soa_linkage_tree *t;
    const soa_model *m;
    soa_work *w;
    double q[7], v[7];
    soa_binary_item item[14];
} figure;
static const char *const figure_names[9] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
static soa_linkage_tree *span_figure(void) {
    static const struct {
        int from, to;
        double at[2];
    } joint[9] = {{0, 1, {0, 0}},    {1, 2, {0, 1}},      {2, 3, {0.4, 1.9}},
                  {0, 4, {-1.5, 0}}, {4, 5, {-1.6, 1}},   {0, 6, {2, 0}},
                  {6, 7, {2.3, 1}},  {5, 1, {-0.2, 0.7}}, {7, 2, {0.7, 1.3}}};
    soa_link_def link[7];
    soa_edge_def edge[9];
    double at[8][2] = {{0, 0}}; /* link frames at the joints that carry them */
    for (int i = 0; i < 7; ++i) {
        link[i] = soa_link_default(figure_names[i]);
        link[i].mass = 1 + 0.1 * i;
        link[i].com[0] = 0.1;
        link[i].com[1] = 0.4;
        link[i].inertia[0] = 0.1;
        link[i].inertia[1] = 0.02;
        link[i].inertia[2] = 0.11;
        memcpy(at[i + 1], joint[i].at, sizeof at[0]);
    }
    for (int i = 0; i < 9; ++i) {
        edge[i] = soa_edge_default(figure_names[i], joint[i].from, joint[i].to, SOA_REVOLUTE);
        for (int j = 0; j < 2; ++j) {
            edge[i].place1.p[j] = joint[i].at[j] - at[joint[i].from][j];
            edge[i].place2.p[j] = joint[i].at[j] - at[joint[i].to][j];
        }
    }
    soa_linkage_def def = soa_linkage_default("WD89 figure 1", link, 7, edge, 9);
    def.gravity[1] = -9.81;
    def.gravity[2] = 0;
    soa_linkage_tree *t = NULL;
    soa_report report;
    if (soa_linkage_span(&def, &t, &report)) fail_msg("%s", report.text);
    return t;
}
/* Chosen without help: the arrows of the figure are cut. "The descendants of link 1 are links 2 and
 * 3", 0 has three: 1, 6 and 4 */
static void check_figure_tree(const figure *f) {
    static const int predecessor[8] = {-1, 0, 1, 2, 0, 4, 0, 6};
    assert_int_equal(2, f->t->loop_count);
    assert_string_equal("8", f->t->loops[0].name);
    assert_string_equal("9", f->t->loops[1].name);
    assert_int_equal(0, f->t->floating);
    assert_int_equal(7, soa_model_nv(f->m));
    for (int i = 1; i <= 7; ++i) {
        soa_body_info b;
        soa_model_body(f->m, i, &b);
        assert_string_equal(figure_names[i - 1], b.link);
        assert_string_equal(figure_names[i - 1], b.joint);
        assert_int_equal(predecessor[i], b.parent);
    }
}
/* The binary tree of Figure 1(b): 7 successor, 2 terminating links, 4 connectors. Ours number the
 * connectors of 0 by the links they lead to (the paper's 10 leads to 6 and 11 to 4), and those of
 * the loops' ends by loop (its 13 is our 12). */
static void check_figure_binary(figure *f) {
    static const int expected[14][2] = {{1, 10}, {2, 12}, {3, 13}, {0, 0},  {5, 0}, {8, 0}, {7, 0},
                                        {9, 0},  {0, 0},  {0, 0},  {4, 11}, {6, 0}, {0, 0}, {0, 0}};
    int count = 0, down[14][2];
    assert_int_equal(SOA_OK, soa_model_binary_tree(f->m, f->t->loops, 2, f->item, 14, &count));
    assert_int_equal(14, count);
    for (int i = 0; i < 14; ++i) {
        down[i][0] = f->item[i].successor;
        down[i][1] = f->item[i].connector;
    }
    assert_memory_equal(expected, down, sizeof down);
    assert_int_equal(0, f->item[12].loop);
    assert_int_equal(1, f->item[13].loop);
    for (int i = 10; i < 14; ++i)
        assert_int_equal(SOA_ITEM_CONNECTOR, f->item[i].kind);
}
/* Joints 5, 7 and 3 are primary: held, nothing moves. */
static void check_primary_joints(figure *f, soa_constraints *c) {
    static const int primary[3] = {5, 7, 3};
    double qdd[7];
    soa_report report;
    soa_closed_report closed;
    for (int k = 0; k < 3; ++k) {
        soa_constraint_def hold = soa_constraint_default(SOA_RATIO, 0, 0);
        hold.coordinate[0] = primary[k];
        hold.coefficient[0] = 1;
        hold.value = f->q[primary[k] - 1];
        assert_int_equal(SOA_OK, soa_constraints_add(c, &hold, NULL, &report));
    }
    assert_int_equal(SOA_OK,
                     soa_closed_fd(c, f->w, NULL, &(soa_input){.q = f->q}, qdd, NULL, &closed));
    assert_int_equal(7, closed.rank);
    for (int i = 0; i < 7; ++i)
        assert_true(fabs(qdd[i]) < 1e-9);
    for (int k = 2; k < 5; ++k)
        assert_int_equal(SOA_OK, soa_constraints_remove(c, k));
}
/* Mobility from the rank: 7 - 4 = 3, six of the ten rows being redundant in the plane. Leaves q and
 * v closed. */
static void check_figure_mobility(figure *f) {
    const soa_constraint_capacity room = {5, 20, 1};
    soa_constraints *c = NULL;
    double qdd[7];
    soa_report report;
    soa_closed_report closed;
    assert_int_equal(SOA_OK, soa_constraints_create(f->m, &room, &c));
    for (int k = 0; k < 2; ++k) {
        const soa_constraint_def loop = soa_constraint_from_loop(f->t->loops + k);
        assert_int_equal(SOA_OK, soa_constraints_add(c, &loop, NULL, &report));
    }
    assert_int_equal(SOA_OK, soa_closed_assemble(c, f->w, 0, NULL, f->q, &report));
    assert_int_equal(SOA_OK, soa_closed_project(c, f->w, 0, f->q, f->v, NULL));
    assert_int_equal(SOA_OK, soa_closed_fd(c, f->w, NULL, &(soa_input){.q = f->q, .v = f->v}, qdd,
                                           NULL, &closed));
    assert_int_equal(10, closed.rows);
    assert_int_equal(4, closed.rank);
    assert_int_equal(3, soa_model_nv(f->m) - closed.rank);
    assert_int_equal(6, closed.redundant);
    check_primary_joints(f, c);
    soa_constraints_free(c);
}
/* (8) and (9), product by product: T_01 T_1,12 = T_0,10 T_10,4 T_45 T_58, T_01 T_12 T_2,13 =
 *     T_0,11 T_11,6 T_67 T_79 */
static void check_figure_products(figure *f) {
    static const int way[4][5] = {
        {1, 12, -1}, {10, 4, 5, 8, -1}, {1, 2, 13, -1}, {10, 11, 6, 7, 9}};
    static const double z[3] = {0, 0, 1}, none[3] = {0, 0, 0};
    double angle[10];
    soa_frame T[4];
    assert_int_equal(SOA_OK, soa_kinematics(f->m, f->w, f->q, f->v, NULL));
    for (int i = 1; i <= 7; ++i)
        angle[i] = f->q[i - 1];
    for (int k = 0; k < 2; ++k)
        assert_int_equal(
            SOA_OK, soa_loop_coordinates(f->m, f->w, f->t->loops + k, &angle[8 + k], NULL, NULL));
    for (int k = 0; k < 4; ++k) {
        T[k] = soa_frame_identity();
        for (int i = 0; i < 5 && way[k][i] >= 0; ++i) {
            const int n = way[k][i];
            const soa_frame turn = soa_frame_from_axis_angle(z, n < 10 ? angle[n] : 0, none);
            assert_int_equal(i ? way[k][i - 1] : 0, f->item[n].predecessor);
            T[k] = soa_frame_compose(&T[k], &f->item[n].placement);
            T[k] = soa_frame_compose(&T[k], &turn);
        }
    }
    printf("  WD89 (8) closes to %.1e, (9) to %.1e\n", frame_difference(&T[0], &T[1]),
           frame_difference(&T[2], &T[3]));
    assert_true(frame_difference(&T[0], &T[1]) <= 1e-12 && frame_difference(&T[2], &T[3]) <= 1e-12);
}
static void wd89_figure_1(void **unused) {
    (void)unused;
    soa_report report;
    figure f = {.t = span_figure(),
                .q = {0.1, -0.2, 0.3, 0.05, -0.1, 0.2, 0.1},
                .v = {1, -1, 2, 0.5, 0.3, -0.7, 0.2}};
    assert_int_equal(SOA_OK, soa_model_create(&f.t->model, &f.m, &report));
    assert_int_equal(SOA_OK, soa_work_create(f.m, &f.w));
    check_figure_tree(&f);
    check_figure_binary(&f);
    check_figure_mobility(&f);
    check_figure_products(&f);
    soa_work_free(f.w);
    soa_model_free(f.m);
    soa_linkage_tree_free(f.t);
}

/* --- the rule, names, refusals ---------------------------------------------------------------- */

/* A platform on six legs of a universal, a prismatic and a spherical joint each; all legs from the
 * platform down. */
typedef struct platform {
    soa_link_def link[13];
    soa_edge_def edge[18]; /* of leg i: 3 i spherical, 3 i + 1 prismatic, 3 i + 2 universal */
    char name[31][16];
    soa_frame_def tool;
    soa_linkage_def def;
} platform;
static void open_platform(platform *p) {
    for (int i = 0; i < 13; ++i) {
        snprintf(p->name[i], sizeof p->name[0], "l%d", i + 1);
        p->link[i] = soa_link_default(p->name[i]);
        p->link[i].mass = 1;
        p->link[i].inertia[0] = p->link[i].inertia[1] = p->link[i].inertia[2] = 0.1;
    }
    for (int i = 0; i < 6; ++i) {
        char(*n)[16] = p->name + 13 + 3 * i;
        soa_edge_def *e = p->edge + 3 * i;
        for (int k = 0; k < 3; ++k)
            snprintf(n[k], sizeof p->name[0], "%c%d", "upb"[k], i + 1);
        e[0] = soa_edge_default(n[2], 13, 2 * i + 2, SOA_SPHERICAL);
        e[1] = soa_edge_default(n[1], 2 * i + 1, 2 * i + 2, SOA_PRISMATIC);
        e[2] = soa_edge_default(n[0], 0, 2 * i + 1, SOA_UNIVERSAL);
        e[0].place1 = soa_frame_from_rpy(0, 0, 0, cos(i), sin(i), 0);
        e[2].place1 = soa_frame_from_rpy(0, 0, 0, 2 * cos(i), 2 * sin(i), -1);
    }
    p->def = soa_linkage_default("platform", p->link, 13, p->edge, 18);
    p->tool = (soa_frame_def){"tool", 13, soa_frame_identity()};
    p->def.frames = &p->tool;
    p->def.frame_count = 1;
}
static soa_linkage_tree *span(const platform *p) {
    soa_linkage_tree *t = NULL;
    soa_report report;
    if (soa_linkage_span(&p->def, &t, &report)) fail_msg("%s", report.text);
    return t;
}
static void span_refused(const platform *p, soa_status status, const char *text) {
    soa_linkage_tree *t = NULL;
    soa_report report;
    assert_int_equal(status, soa_linkage_span(&p->def, &t, &report));
    if (text) assert_non_null(strstr(report.text, text));
}

/* Without help the spherical joints are cut, but one: the platform hangs on its first leg. */
static void the_rule(void **unused) {
    (void)unused;
    static platform p;
    open_platform(&p);
    soa_linkage_tree *t = span(&p);
    assert_int_equal(5, t->loop_count);
    for (int k = 0; k < 5; ++k)
        assert_int_equal(SOA_SPHERICAL, t->loops[k].joint.type);
    const soa_model *m = NULL;
    soa_report report;
    assert_int_equal(SOA_OK, soa_model_create(&t->model, &m, &report));
    assert_int_equal(6 * 3 + 3, soa_model_nv(m));
    assert_true(t->joints[0].reversed && t->joints[0].link > 0);
    soa_frame_info info;
    const int found = soa_model_find_frame(m, "l13@b1"),
              platform_frame = soa_model_find_frame(m, "l13");
    assert_true(found > 0 && platform_frame == t->link[13]);
    soa_model_frame(m, platform_frame, &info);
    assert_true(soa_model_find_frame(m, "tool") > 0);
    soa_model_free(m);
    soa_linkage_tree_free(t);
}
static void cuts_of_the_caller(void **unused) {
    (void)unused;
    static platform p;
    open_platform(&p);
    for (int i = 0; i < 5; ++i) {
        p.edge[3 * i].use = SOA_EDGE_KEEP;
        p.edge[3 * i + 1].use = SOA_EDGE_CUT;
    }
    soa_linkage_tree *t = span(&p);
    assert_int_equal(5, t->loop_count);
    for (int k = 0; k < 5; ++k)
        assert_int_equal(SOA_PRISMATIC, t->loops[k].joint.type);
    soa_linkage_tree_free(t);
    for (int j = 0; j < 18; ++j)
        p.edge[j].use = SOA_EDGE_KEEP;
    span_refused(&p, SOA_E_TREE, "is to be kept");
}
/* What is better kept is kept before anything else, and cut if it must be. */
static void better_kept(void **unused) {
    (void)unused;
    static platform p;
    open_platform(&p);
    for (int i = 0; i < 6; ++i)
        p.edge[3 * i].joint.rotor_inertia = 1e-3; /* on a spherical joint: looks alike all round */
    for (int i = 1; i < 6; ++i)
        p.edge[3 * i + 2].joint.rotor_inertia = 0;
    soa_linkage_tree *t = span(&p);
    for (int k = 0; k < 5; ++k)
        assert_int_not_equal(SOA_SPHERICAL, t->loops[k].joint.type);
    soa_linkage_tree_free(t);
    p.edge[3].use = SOA_EDGE_CUT;
    t = span(&p);
    assert_int_equal(SOA_SPHERICAL, t->loops[t->joints[3].loop].joint.type);
    soa_linkage_tree_free(t);
    p.edge[3].joint.friction_positive = 1;
    span_refused(&p, SOA_E_JOINT, "\"b2\" (spherical) cannot be cut: its friction, which differs");
    p.edge[3].joint.friction_positive = 0;
    p.def.ideal = true;
    soa_linkage_tree_free(span(&p));
}
/* Mimic joints follow through the renumbering: p1 leads p2. */
static void mimic_followers(void **unused) {
    (void)unused;
    static platform p;
    open_platform(&p);
    p.edge[4].joint.mimic = 1;
    p.edge[4].joint.mimic_ratio = -2;
    p.edge[4].joint.mimic_offset = 0.1;
    soa_linkage_tree *t = span(&p);
    const soa_model *m = NULL;
    soa_report report;
    assert_int_equal(t->joints[1].link, t->model.bodies[t->joints[4].link - 1].joint.mimic);
    assert_int_equal(SOA_OK, soa_model_create(&t->model, &m, &report));
    assert_int_equal(20, soa_model_nv(m));
    soa_model_free(m);
    soa_linkage_tree_free(t);
    p.edge[4].use = SOA_EDGE_CUT; /* cut, it is a ratio beside the model */
    t = span(&p);
    assert_int_equal(1, t->ratio_count);
    assert_true(t->ratios[0].follower == 4 && t->ratios[0].leader == 1 && t->ratios[0].ratio == -2);
    soa_linkage_tree_free(t);
    p.edge[4].use = SOA_EDGE_ANY;
    p.edge[4].joint.mimic = 4;
    span_refused(&p, SOA_E_MIMIC, NULL);
    p.edge[4].joint.mimic = 99;
    span_refused(&p, SOA_E_MIMIC, NULL);
}
static void linkages_refused(void **unused) {
    (void)unused;
    static platform p;
    open_platform(&p);
    /* forces that have a direction */
    p.edge[0].joint.friction_positive = p.edge[0].joint.friction_negative = 0.1;
    p.edge[0].use = SOA_EDGE_KEEP;
    span_refused(&p, SOA_E_JOINT, "exchange its links or cut it");
    p.edge[0].joint.friction_positive = p.edge[0].joint.friction_negative = 0;
    p.edge[0].use = SOA_EDGE_ANY;
    /* links, places, names, types */
    p.edge[7].link1 = 14;
    span_refused(&p, SOA_E_TREE, NULL);
    p.edge[7].link1 = p.edge[7].link2;
    span_refused(&p, SOA_E_TREE, NULL);
    p.edge[7].link1 = 5;
    p.edge[7].place1.R[4] = NAN;
    span_refused(&p, SOA_E_FRAME, NULL);
    p.edge[7].place1 = soa_frame_identity();
    p.link[3].name = NULL;
    span_refused(&p, SOA_E_NAME, NULL);
    p.link[3].name = p.name[3];
    p.edge[2].name = "";
    span_refused(&p, SOA_E_NAME, NULL);
    p.edge[2].name = "u1";
    p.edge[2].joint.type = (soa_joint_type)-1;
    span_refused(&p, SOA_E_JOINT, NULL);
    soa_linkage_tree *t = NULL;
    int count;
    assert_int_equal(SOA_E_ARGUMENT, soa_linkage_span(NULL, &t, NULL));
    assert_int_equal(SOA_E_ARGUMENT, soa_model_binary_tree(NULL, NULL, 0, NULL, 0, &count));
    soa_linkage_tree_free(NULL);
}

/* Nothing at all; a ladder of many loops, for the cost. */
static void sizes(void **unused) {
    (void)unused;
    soa_linkage_def none = soa_linkage_default("none", NULL, 0, NULL, 0);
    soa_linkage_tree *t = NULL;
    soa_report report;
    assert_int_equal(SOA_OK, soa_linkage_span(&none, &t, &report));
    assert_int_equal(0, t->model.body_count);
    soa_linkage_tree_free(t);
    enum { RUNGS = 20000 };
    soa_link_def *link = calloc(2 * RUNGS, sizeof *link);
    soa_edge_def *edge = calloc(3 * RUNGS, sizeof *edge);
    char(*name)[16] = calloc(5 * RUNGS, sizeof *name);
    for (int i = 0; i < 2 * RUNGS; ++i) {
        snprintf(name[i], sizeof *name, "l%d", i);
        link[i] = soa_link_default(name[i]);
        link[i].mass = 1;
        link[i].inertia[0] = link[i].inertia[1] = link[i].inertia[2] = 0.1;
    }
    for (int i = 0; i < RUNGS; ++i)
        for (int k = 0; k < 3; ++k) {
            char *n = name[2 * RUNGS + 3 * i + k];
            snprintf(n, sizeof *name, "j%d", 3 * i + k);
            if (k < 2) {
                edge[3 * i + k] =
                    soa_edge_default(n, i ? 2 * i - 1 + k : 0, 2 * i + 1 + k, SOA_REVOLUTE);
            } else {
                edge[3 * i + k] = soa_edge_default(n, 2 * i + 1, 2 * i + 2, SOA_REVOLUTE);
            }
        }
    const soa_linkage_def def = soa_linkage_default("ladder", link, 2 * RUNGS, edge, 3 * RUNGS);
    const clock_t start = clock();
    assert_int_equal(SOA_OK, soa_linkage_span(&def, &t, &report));
    printf("  ladder of %d links and %d joints: %.3f s\n", 2 * RUNGS, 3 * RUNGS,
           (double)(clock() - start) / CLOCKS_PER_SEC);
    assert_int_equal(RUNGS, t->loop_count);
    for (int k = 0; k < RUNGS; ++k)
        assert_int_equal(0, (t->loops[k].name[0] != 'j') + (atoi(t->loops[k].name + 1) % 3 != 2));
    const soa_model *m = NULL;
    assert_int_equal(SOA_OK, soa_model_create(&t->model, &m, &report));
    int count = 0;
    assert_int_equal(SOA_OK, soa_model_binary_tree(m, t->loops, t->loop_count, NULL, 0, &count));
    assert_int_equal(1 + 2 * RUNGS + RUNGS + 1 + RUNGS + RUNGS - 1,
                     count); /* 0; links; ends; second at 0; both sides */
    soa_model_free(m);
    soa_linkage_tree_free(t);
    free(link);
    free(edge);
    free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_maps),       cmocka_unit_test(joints_refused),
        cmocka_unit_test(any_cut),          cmocka_unit_test(wd89_figure_1),
        cmocka_unit_test(the_rule),         cmocka_unit_test(cuts_of_the_caller),
        cmocka_unit_test(better_kept),      cmocka_unit_test(mimic_followers),
        cmocka_unit_test(linkages_refused), cmocka_unit_test(sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
