/* trees.h  random machines of a given shape for tests: every joint type in turn, rotors, friction,
 * springs, massless inner links; and a random state with wrenches in both kinds of axes. */
#ifndef SOA_TESTS_TREES_H
#define SOA_TESTS_TREES_H
#include "check.h"
#include "soa/dynamics.h"

enum {
    TREE_CHAIN = 1,    /* one chain */
    TREE_CHAINS = 2,   /* a forest of chains */
    TREE_BRANCHED = 4, /* a forest of trees (neither: one branched tree) */
    TREE_FITTED = 8,   /* reflected rotors, friction, springs */
    TREE_MASSLESS = 16 /* some inner links have no mass, some only one moment */
};

static inline soa_frame random_place(dice *d, double size) {
    double axis[3], p[3], n = 0;
    roll_many(d, -1, 1, 3, axis);
    roll_many(d, -size, size, 3, p);
    for (int j = 0; j < 3; ++j)
        n += axis[j] * axis[j];
    n = sqrt(n + 1e-6);
    for (int j = 0; j < 3; ++j)
        axis[j] /= n;
    const double exact = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    for (int j = 0; j < 3; ++j)
        axis[j] /= exact;
    return soa_frame_from_axis_angle(axis, roll(d, -3, 3), p);
}

static inline const soa_model *random_tree(long seed, int count, int shape) {
    static const soa_joint_type types[] = {SOA_REVOLUTE, SOA_REVOLUTE,    SOA_PRISMATIC,
                                           SOA_HELICAL,  SOA_CYLINDRICAL, SOA_UNIVERSAL,
                                           SOA_PLANAR,   SOA_SPHERICAL,   SOA_FREE};
    dice d = {(uint64_t)seed * 7919 + (uint64_t)shape};
    soa_body_def *bodies = calloc((size_t)count, sizeof *bodies);
    char(*names)[16] = calloc((size_t)count, sizeof *names);
    int hungry = 0; /* the previous link must get inertia from this one */
    for (int i = 0; i < count; ++i) {
        snprintf(names[i], sizeof names[i], "link%d", i + 1);
        int parent = i;
        if (!(shape & TREE_CHAIN) && !hungry && i > 0) {
            if (shape & (TREE_CHAINS | TREE_BRANCHED)) parent = roll(&d, 0, 1) < 0.15 ? 0 : i;
            if (!(shape & TREE_CHAINS) && parent && roll(&d, 0, 1) < 0.5)
                parent = 1 + (int)roll(&d, 0, i - 1e-9);
        }
        soa_joint_type type = types[(int)roll(&d, 0, sizeof types / sizeof *types - 1e-9)];
        if (type == SOA_FREE && parent && roll(&d, 0, 1) < 0.7) type = SOA_REVOLUTE;
        if (hungry) type = SOA_REVOLUTE;
        soa_body_def *b = bodies + i;
        *b = soa_body_default(names[i], parent, type);
        b->placement = random_place(&d, 0.4);
        double *u = b->joint.axis, *u2 = b->joint.axis2;
        if (roll(&d, 0, 1) < 0.5) {
            roll_many(&d, 0.2, 1, 3, u);
            if (roll(&d, 0, 1) < 0.5) u[1] = -u[1];
        } else {
            u[0] = u[1] = u[2] = 0;
            u[(int)roll(&d, 0, 2.999)] = 1;
        }
        u2[0] = u[1] + 0.3;
        u2[1] = u[2] - 0.4;
        u2[2] = -u[0];
        if (type == SOA_PLANAR) { /* in the plane */
            double along = 0, uu = 0;
            for (int j = 0; j < 3; ++j) {
                along += u[j] * u2[j];
                uu += u[j] * u[j];
            }
            for (int j = 0; j < 3; ++j)
                u2[j] -= along / uu * u[j];
        }
        b->joint.pitch = 0.05;
        soa_body_box(b, roll(&d, 0.5, 5), roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5),
                     roll(&d, 0.1, 0.5));
        roll_many(&d, -0.2, 0.2, 3, b->com);
        if ((shape & TREE_FITTED) && roll(&d, 0, 1) < 0.5) {
            b->joint.rotor_inertia = roll(&d, 1e-5, 1e-3);
            b->joint.gear_ratio = roll(&d, 1, 40);
        }
        if ((shape & TREE_FITTED) && roll(&d, 0, 1) < 0.5) {
            b->joint.damping = 0.2;
            b->joint.friction_positive = 0.3;
            b->joint.friction_negative = 0.1;
        }
        if ((shape & TREE_FITTED) && type != SOA_SPHERICAL && type != SOA_FREE &&
            roll(&d, 0, 1) < 0.3) {
            b->joint.stiffness = 5;
            b->joint.rest = 0.2;
        }
        const int can = (type == SOA_REVOLUTE || type == SOA_PRISMATIC) && !hungry && i + 1 < count;
        hungry = 0;
        if ((shape & TREE_MASSLESS) && can && roll(&d, 0, 1) < 0.4) {
            memset(b->inertia, 0, sizeof b->inertia);
            memset(b->com, 0, sizeof b->com);
            b->mass = 0;
            hungry = 1;
        }
    }
    soa_model_def def = soa_model_default("random", bodies, count);
    roll_many(&d, -10, 10, 3, def.gravity);
    const soa_model *model = NULL;
    soa_report report;
    if (soa_model_create(&def, &model, &report) != SOA_OK)
        fail_msg("seed %ld: %s", seed, report.text);
    free(bodies);
    free(names);
    return model;
}

typedef struct tree_state {
    double *q, *v, *tau;
    soa_wrench wrench[3];
} tree_state;
static inline tree_state random_tree_state(const soa_model *m, long seed) {
    dice d = {(uint64_t)seed * 104729};
    const size_t nq = (size_t)soa_model_nq(m) + 1, nv = (size_t)soa_model_nv(m) + 1;
    tree_state s = {
        calloc(nq, sizeof(double)), calloc(nv, sizeof(double)), calloc(nv, sizeof(double)), {{0}}};
    roll_many(&d, -1, 1, nv, s.v);
    soa_q_neutral(m, s.q);
    soa_q_integrate(m, s.q, s.v, 1, s.q);
    roll_many(&d, -1, 1, nv, s.v);
    roll_many(&d, -3, 3, nv, s.tau);
    for (int f = 0; f < 3; ++f) {
        soa_body_info info;
        soa_model_body(m, 1 + (int)roll(&d, 0, soa_model_body_count(m) - 1e-9), &info);
        s.wrench[f].frame = info.frame;
        s.wrench[f].axes = f % 2 ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(&d, -5, 5, 6, s.wrench[f].value);
    }
    return s;
}
static inline void free_tree_state(tree_state *s) {
    free(s->q);
    free(s->v);
    free(s->tau);
}
#endif
