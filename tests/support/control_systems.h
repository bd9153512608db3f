/* control_systems.h  machines for tests of control: random trees with only some coordinates driven,
 * and two PUMA arms on a floating base beside a floating satellite, all in one model. */
#ifndef SOA_TESTS_CONTROL_SYSTEMS_H
#define SOA_TESTS_CONTROL_SYSTEMS_H
#include "soa/io.h"
#include "soa/soa.h"
#include "trees.h"

#define OK(call) assert_int_equal(call, SOA_OK)

/* A random machine whose first root and about a quarter of the other joints are not driven. */
typedef struct driven_tree {
    const soa_model *m;
    soa_work *w; /* work space of the test's own computation */
    soa_control *c;
    unsigned char *drive;
    int nq, nv;
    tree_state s;
    double *M, *h, *x, *y, *tau; /* M, bias, scratch */
} driven_tree;
static inline double *numbers(int n) {
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}
static inline driven_tree driven_tree_open(long seed, int count, int shape, int passive) {
    driven_tree t = {.m = random_tree(seed, count, shape)};
    dice d = {(uint64_t)seed * 31 + 7};
    t.nq = soa_model_nq(t.m);
    t.nv = soa_model_nv(t.m);
    t.drive = calloc((size_t)t.nv + 1, 1);
    int own = 0;
    for (int i = 1; i <= soa_model_body_count(t.m); ++i) {
        soa_body_info b;
        OK(soa_model_body(t.m, i, &b));
        /* A joint that is not driven, or some of its coordinates. */
        const int whole = roll(&d, 0, 1) < 0.2;
        for (int j = 0; j < b.nv; ++j) {
            const int none = passive && (whole || i == 1 || roll(&d, 0, 1) < 0.1);
            t.drive[b.v_index + j] = none ? SOA_DRIVE_NONE : SOA_DRIVE_OWN;
            own += !none;
        }
    }
    if (!own) t.drive[t.nv - 1] = SOA_DRIVE_OWN;
    soa_control_def def = soa_control_default(t.drive);
    /* The sign function, as in the model. */
    def.compensate = SOA_COMPENSATE_ALL;
    def.coulomb_rate = 1e-12;
    OK(soa_control_create(t.m, &def, &t.c));
    OK(soa_work_create(t.m, &t.w));
    t.s = random_tree_state(t.m, seed);
    t.M = numbers(t.nv * t.nv);
    t.h = numbers(t.nv);
    t.x = numbers(t.nv);
    t.y = numbers(t.nv);
    t.tau = numbers(t.nv);
    return t;
}
static inline void driven_tree_close(driven_tree *t) {
    soa_control_free(t->c);
    soa_work_free(t->w);
    free_tree_state(&t->s);
    free(t->drive);
    free(t->M);
    free(t->h);
    free(t->x);
    free(t->y);
    free(t->tau);
    soa_model_free(t->m);
}

static inline void cross_add(const double a[3], const double b[3], double out[3]) {
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}
/* World acceleration of a frame whose motion relative to the frame of its goal obeys a_rel = a_goal
 * + K e + D e'. w must contain the kinematics with accelerations. */
static inline void wanted_in_frame(const soa_model *m, const soa_work *w, int frame, int base,
                                   const soa_motion *goal, const soa_frame_error *e,
                                   const double K[6], const double D[6], double want[6]) {
    soa_frame B, H;
    double V[6], VB[6], AB[6], r[3], t[3] = {0}, rel[6];
    OK(soa_pose(m, w, base, &B));
    OK(soa_pose(m, w, frame, &H));
    OK(soa_velocity(m, w, base, SOA_AXES_WORLD, VB));
    OK(soa_velocity(m, w, frame, SOA_AXES_WORLD, V));
    OK(soa_acceleration_classical(m, w, base, SOA_AXES_WORLD, AB));
    for (int j = 0; j < 3; ++j)
        r[j] = H.p[j] - B.p[j];
    cross_add(VB, r, t); /* w x r */
    for (int j = 0; j < 3; ++j) {
        rel[j] = V[j] - VB[j];
        rel[3 + j] = V[3 + j] - VB[3 + j] - t[j];
    }
    memcpy(want, AB, sizeof AB);
    cross_add(AB, r, want + 3);
    cross_add(VB, t, want + 3);
    cross_add(VB, rel, want);
    for (int twice = 0; twice < 2; ++twice)
        cross_add(VB, rel + 3, want + 3);
    for (int h = 0; h < 6; h += 3)
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                want[h + i] +=
                    B.R[3 * i + j] * goal->acceleration[h + j] +
                    e->goal.R[3 * i + j] * (K[h + j] * e->error[h + j] + D[h + j] * e->rate[h + j]);
}

/* Two PUMA arms on a floating base (two-puma), each with a palm frame, and a floating box: one
 * model, no gravity. */
enum { PUMA_V = 24, PUMA_Q = 26, PUMA_SATELLITE_V = 18, PUMA_SATELLITE_Q = 19 };
typedef struct two_pumas {
    const soa_model *m;
    int base, hand[2], satellite;
    unsigned char drive[PUMA_V];
} two_pumas;
static inline two_pumas two_pumas_open(int coulomb, double satellite_mass, double mass_scale,
                                       double damping_scale) {
    const soa_read_options options = {.floating = true};
    const soa_model *arms;
    soa_report report;
    if (soa_stock_model_create("two-puma", &options, &arms, &report)) fail_msg("%s", report.text);
    soa_body_def body[16];
    int n = 0;
    for (int i = 1; i <= soa_model_body_count(arms); ++i, ++n) {
        soa_body_info b;
        OK(soa_model_body(arms, i, &b));
        body[n] = soa_body_default(b.link, b.parent, b.type);
        body[n].joint_name = b.joint;
        body[n].placement = b.placement;
        memcpy(body[n].joint.axis, b.axis, sizeof b.axis);
        memcpy(body[n].joint.axis2, b.axis2, sizeof b.axis2);
        body[n].mass = b.mass * mass_scale;
        memcpy(body[n].com, b.com, sizeof b.com);
        for (int j = 0; j < 6; ++j)
            body[n].inertia[j] = b.inertia[j] * mass_scale;
        body[n].joint.rotor_inertia = b.rotor_inertia;
        body[n].joint.gear_ratio = b.gear_ratio;
        body[n].joint.damping = b.damping * damping_scale;
        if (coulomb) {
            body[n].joint.friction_positive = b.friction_positive;
            body[n].joint.friction_negative = b.friction_negative;
        }
        body[n].joint.lower = b.lower;
        body[n].joint.upper = b.upper;
    }
    body[n] = soa_body_default("satellite", 0, SOA_FREE);
    soa_body_box(&body[n], satellite_mass, 0.4, 0.6, 0.4);
    body[n].com[0] = 0.03;
    ++n;
    const soa_frame_def frames[2] = {{"left_palm", 7, soa_frame_from_rpy(0, 0, 0, 0, 0, 0.1)},
                                     {"right_palm", 13, soa_frame_from_rpy(0, 0, 0, 0, 0, 0.1)}};
    soa_model_def def = soa_model_default("two pumas and a satellite", body, n);
    def.gravity[2] = 0;
    def.frames = frames;
    def.frame_count = 2;
    two_pumas t = {0};
    if (soa_model_create(&def, &t.m, &report)) fail_msg("%s", report.text);
    soa_model_free(arms);
    t.base = soa_model_find_frame(t.m, "base");
    t.satellite = soa_model_find_frame(t.m, "satellite");
    t.hand[0] = soa_model_find_frame(t.m, "left_palm");
    t.hand[1] = soa_model_find_frame(t.m, "right_palm");
    assert_int_equal(soa_model_nv(t.m), PUMA_V);
    for (int j = 0; j < PUMA_V; ++j)
        t.drive[j] = j >= 6 && j < PUMA_SATELLITE_V ? SOA_DRIVE_OWN : SOA_DRIVE_NONE;
    return t;
}
/* Elbows up, palms facing each other at about x = 0.6: found by inverse kinematics from here. */
static inline void two_pumas_pose(const two_pumas *t, double apart, double *q) {
    const double left[6] = {0.3, -0.6, 2.2 - 3.14159 / 2, 0.1, 0.6, 0.2};
    soa_q_neutral(t->m, q);
    for (int i = 0; i < 6; ++i) {
        q[7 + i] = left[i];
        q[13 + i] = left[i];
    }
    q[PUMA_SATELLITE_Q] = 0.65;
    q[PUMA_SATELLITE_Q + 2] = 0.1;
    soa_tip_work *w;
    OK(soa_tip_work_create(t->m, &w));
    const double right_angle = 1.5707963267948966;
    soa_ik_target target[4] = {
        {{t->hand[0], 1, 1}, soa_frame_from_rpy(right_angle, 0, 0, 0.65, apart / 2, 0.1)},
        {{t->hand[1], 1, 1}, soa_frame_from_rpy(-right_angle, 0, 0, 0.65, -apart / 2, 0.1)},
        {{t->base, 1, 1}, soa_frame_identity()},
        {{t->satellite, 1, 1}, soa_frame_from_rpy(0, 0, 0, 0.65, 0, 0.1)}};
    const soa_ik_options options = {.ignore_limits = true, .most_steps = 1000, .tolerance = 1e-11};
    soa_ik_result result;
    const soa_status s = soa_inverse_kinematics(t->m, w, target, 4, &options, q, &result);
    if (s) fail_msg("inverse kinematics: %s, residual %g", soa_status_text(s), result.residual);
    soa_tip_work_free(w);
}

#endif
