/* closed.c  closed mechanisms: bodies of the spanning tree, and the loops. */
#include "closed.h"
#include "stock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loop {
    int body1, body2; /* links; 0 the world */
    double at1[3], at2[3];
    double axis[3];
} loop;

typedef struct plan {
    soa_body_def *bodies;
    loop *loops;
    int body_count, loop_count;
    double gravity[3], *q, *v;
} plan;

static soa_body_def *add(plan *p, const char *name, int parent, double x, double y, double z,
                         const double axis[3]) {
    soa_body_def *b = p->bodies + p->body_count++;
    *b = soa_body_default(name, parent, SOA_REVOLUTE);
    b->placement = soai_at(x, y, z);
    memcpy(b->joint.axis, axis, sizeof b->joint.axis);
    return b;
}
static const double ex[3] = {1, 0, 0}, ey[3] = {0, 1, 0}, ez[3] = {0, 0, 1};
/* A uniform rod along x of its frame. */
static void rod(soa_body_def *b, double mass, double length) {
    soa_body_box(b, mass, length, 0, 0);
    b->inertia[0] = 1e-4 * mass; /* about itself: other libraries want some */
    soai_com(b, length / 2, 0, 0);
}
static void close_loop(plan *p, int body1, double x1, double y1, double z1, int body2, double x2,
                       double y2, double z2, const double axis[3]) {
    loop *l = p->loops + p->loop_count++;
    *l = (loop){body1, body2, {x1, y1, z1}, {x2, y2, z2}, {axis[0], axis[1], axis[2]}};
}

static void fourbar(plan *p) {
    const double crank = 0.4, coupler = 0.9, rocker = 0.7, base = 1, start = 1.1;
    rod(add(p, "crank", 0, 0, 0, 0, ez), 1, crank);
    rod(add(p, "coupler", 1, crank, 0, 0, ez), 2, coupler);
    rod(add(p, "rocker", 0, base, 0, 0, ez), 1.5, rocker);
    close_loop(p, 2, coupler, 0, 0, 3, rocker, 0, 0, ez);
    p->gravity[1] = -9.81;
    const double x = crank * cos(start) - base, y = crank * sin(start), d = sqrt(x * x + y * y);
    const double along = (rocker * rocker - coupler * coupler + d * d) / (2 * d);
    const double turn = atan2(y, x) - acos(along / rocker);
    p->q[0] = start;
    p->q[2] = turn;
    p->q[1] = atan2(rocker * sin(turn) - y, rocker * cos(turn) - x) - start;
    p->v[0] = 2; /* the others follow by projection */
}

/* Angles from x here; phi of IFToMM A02's formula is from the vertical, clockwise. */
static void windows(plan *p, int n) {
    for (int i = 0; i <= n; ++i)
        rod(add(p, NULL, 0, i, 0, 0, ez), 1, 1);
    for (int i = 0; i < n; ++i)
        rod(add(p, NULL, i + 1, 1, 0, 0, ez), 1, 1);
    for (int i = 0; i < n; ++i)
        close_loop(p, n + 2 + i, 1, 0, 0, i + 2, 1, 0, 0, ez);
    for (int i = 0; i <= n; ++i) {
        p->q[i] = SOAI_PI / 2;
        p->v[i] = -1;
    }
    for (int i = 0; i < n; ++i) {
        p->q[n + 1 + i] = -SOAI_PI / 2;
        p->v[n + 1 + i] = 1;
    }
    p->gravity[1] = -9.81;
}

/* IFToMM A03, the usual numbers */
static const double b_x = -.03635, b_y = .03273, c_x = .014, c_y = .072, sc = 18e-3, sd = 2e-2;
const int soai_andrews_order[7] = {0, 1, 2, 4, 3, 6, 5};
static void andrews(plan *p) {
    const double a_x = -.06934, a_y = -.00227, d = 28e-3, da = 115e-4, e = 2e-2, ea = 1421e-5,
                 rr = 7e-3, ra = 92e-5;
    const double ss = 35e-3, sa = 1874e-5, sb = 1043e-5, ta = 2308e-5, tb = 916e-5, u = 4e-2,
                 ua = 1228e-5, ub = 449e-5;
    const double zf = 2e-2, zt = 4e-2, fa = 1421e-5;
    const struct {
        const char *name;
        int parent;
        double x, y, mass, inertia, com_x, com_y;
    } row[7] = {{"K1", 0, 0, 0, .04325, 2.194e-6, ra, 0},
                {"K2", 1, rr, 0, .00365, 4.410e-7, -da, 0},
                {"K3", 0, b_x, b_y, .02373, 5.255e-6, sb, -sa},
                {"K5", 0, a_x, a_y, .07050, 1.169e-5, ta, tb},
                {"K4", 4, zt, 0, .00706, 5.667e-7, 0, -(e - ea)},
                {"K7", 0, a_x, a_y, .05498, 1.912e-5, ua, ub},
                {"K6", 6, 0, -u, .00706, 5.667e-7, zf - fa, 0}};
    for (int i = 0; i < 7; ++i) {
        soa_body_def *b = add(p, row[i].name, row[i].parent, row[i].x, row[i].y, 0, ez);
        b->mass = row[i].mass;
        soai_com(b, row[i].com_x, row[i].com_y, 0);
        b->inertia[0] = b->inertia[1] = row[i].inertia / 2;
        b->inertia[2] = row[i].inertia; /* a flat body */
    }
    close_loop(p, 2, -d, 0, 0, 3, 0, -ss, 0, ez);
    close_loop(p, 2, -d, 0, 0, 5, 0, -e, 0, ez);
    close_loop(p, 2, -d, 0, 0, 7, zf, 0, 0, ez);
    static const double start[7] = {-0.0617138900142764496, 0,
                                    0.455279819163070380,   0.222668390165885885,
                                    0.487364979543842550,   -0.222668390165885885,
                                    1.23054744454982119};
    for (int i = 0; i < 7; ++i)
        p->q[soai_andrews_order[i]] = start[i];
}
static double spring_length(double gamma, double D[2]) { /* from B to D, and |D - C| */
    D[0] = sd * cos(gamma) + sc * sin(gamma);
    D[1] = sd * sin(gamma) - sc * cos(gamma);
    return hypot(D[0] + b_x - c_x, D[1] + b_y - c_y);
}
double soai_andrews_spring(double gamma) {
    double D[2], off = spring_length(gamma, D) - 7785e-5;
    return 4530 * off * off / 2;
}
static soa_status andrews_torque(void *user, double t, const double *q, const double *v,
                                 double *tau) {
    (void)user;
    (void)t;
    (void)v;
    double D[2];
    const double length = spring_length(q[2], D), force = 4530 * (length - 7785e-5);
    const double F[2] = {force * (c_x - D[0] - b_x) / length, force * (c_y - D[1] - b_y) / length};
    tau[0] = 33e-3;
    tau[2] = D[0] * F[1] - D[1] * F[0];
    return SOA_OK;
}

static void bricard(plan *p) {
    const struct {
        const double *axis;
        double x, y, z, along[3];
    } row[5] = {{ey, 0, 0, 0, {1, 0, 0}},
                {ez, 1, 0, 0, {0, -1, 0}},
                {ex, 0, -1, 0, {0, 0, 1}},
                {ey, 0, 0, 1, {-1, 0, 0}},
                {ez, -1, 0, 0, {0, 1, 0}}};
    for (int i = 0; i < 5; ++i) {
        const double *l = row[i].along;
        soa_body_def *b = add(p, NULL, i, row[i].x, row[i].y, row[i].z, row[i].axis);
        soa_body_box(b, 1, l[0] != 0 ? 1 : 0.1, l[1] != 0 ? 1 : 0.1, l[2] != 0 ? 1 : 0.1);
        soai_com(b, l[0] / 2, l[1] / 2, l[2] / 2);
    }
    close_loop(p, 5, 0, 1, 0, 0, 0, 0, 1, ex);
    p->gravity[1] = -9.81;
}

/* An arch: links of 0.1 m, curved so that tip and base are apart, twisted by the other axes. */
static void ring(plan *p, int n) {
    const double l = 0.1, *axes[3] = {ez, ey, ex};
    for (int i = 0; i < n; ++i) {
        soa_body_def *b = add(p, NULL, i, i ? l : 0, 0, 0, axes[i % 3]);
        soa_body_box(b, 0.2, l, 0.03, 0.02);
        soai_com(b, l / 2, 0.004, -0.003);
        if (i % 3 == 0) {
            p->q[i] = 4.0 / n;
        } else if (i % 3 == 1) {
            p->q[i] = 0.3 * cos(7.0 * i / n) / n;
        } else {
            p->q[i] = 0.2 / n;
        }
    }
    close_loop(p, n, l, 0, 0, 0, 0, 0, 0, ez);
    p->gravity[2] = -9.81;
}

static soa_status build(plan *p, soa_joint_type closer, const soa_frame *turn, int follow_tip,
                        soai_mechanism *out, soa_report *report) {
    char(*names)[24] = calloc((size_t)p->body_count + 1, sizeof *names);
    soa_work *work = NULL;
    soa_status s = names ? SOA_OK : SOA_E_MEMORY;
    for (int i = 0; !s && i < p->body_count; ++i) {
        soa_body_def *b = p->bodies + i;
        snprintf(names[i], sizeof *names, "link%d", i + 1);
        if (!b->name) b->name = names[i];
        if (!b->parent && turn) b->placement = soa_frame_compose(turn, &b->placement);
    }
    soa_model_def def = soa_model_default("closed", p->bodies, p->body_count);
    for (int j = 0; j < 3; ++j) {
        def.gravity[j] = 0;
        for (int k = 0; k < 3; ++k)
            def.gravity[j] += (turn ? turn->R[3 * j + k] : j == k) * p->gravity[k];
    }
    const soa_constraint_capacity room = {p->loop_count, 6 * p->loop_count, p->body_count <= 64};
    if (!s) s = soa_model_create(&def, &out->model, report);
    if (!s) s = soa_work_create(out->model, &work);
    if (!s) s = soa_constraints_create(out->model, &room, &out->constraints);
    for (int i = 0; !s && i < p->loop_count; ++i) {
        const loop *l = p->loops + i;
        const int body[2] = {l->body1, l->body2};
        const double *at[2] = {l->at1, l->at2};
        int frame[2] = {0, 0};
        soa_frame place[2];
        for (int k = 0; k < 2; ++k) {
            soa_body_info info;
            place[k] = soai_at(at[k][0], at[k][1], at[k][2]);
            if (!body[k] && turn) place[k] = soa_frame_compose(turn, &place[k]);
            if (body[k] && !(s = soa_model_body(out->model, body[k], &info))) frame[k] = info.frame;
        }
        soa_constraint_def d = soa_constraint_default(SOA_LOOP, frame[0], frame[1]);
        if (follow_tip && !s && !(s = soa_kinematics(out->model, work, p->q, NULL, NULL))) {
            soa_frame tip;
            s = soa_pose(out->model, work, frame[0], &tip);
            place[1] = soa_frame_compose(&tip, &place[0]);
        }
        char name[24];
        snprintf(name, sizeof name, "loop%d", i + 1);
        d.name = name;
        d.place1 = place[0];
        d.place2 = place[1];
        d.joint = closer;
        memcpy(d.axis, l->axis, sizeof d.axis);
        if (!s) s = soa_constraints_add(out->constraints, &d, NULL, report);
    }
    if (!s) s = soa_closed_project(out->constraints, work, 0, p->q, p->v, NULL);
    soa_work_free(work);
    free(names);
    return s;
}

soa_status soai_mechanism_make(const char *name, soa_joint_type closer, const soa_frame *turn,
                               soai_mechanism *out, soa_report *report) {
    const char *colon = strchr(name, ':');
    const int n = colon ? atoi(colon + 1) : 1;
    memset(out, 0, sizeof *out);
    if (n < 1 || n > 100000) return SOA_E_ARGUMENT;
    plan p = {.bodies = calloc(2 * (size_t)n + 16, sizeof *p.bodies),
              .loops = calloc((size_t)n + 3, sizeof *p.loops),
              .q = calloc(2 * (size_t)n + 16, sizeof *p.q),
              .v = calloc(2 * (size_t)n + 16, sizeof *p.v)};
    soa_status s = p.bodies && p.loops && p.q && p.v ? SOA_OK : SOA_E_MEMORY;
    if (!s) {
        if (!strcmp(name, "fourbar")) {
            fourbar(&p);
        } else if (!strcmp(name, "andrews")) {
            andrews(&p);
            out->torque = andrews_torque;
        } else if (!strcmp(name, "bricard")) {
            bricard(&p);
        } else if (!strncmp(name, "windows:", 8)) {
            windows(&p, n);
        } else if (!strncmp(name, "ring:", 5)) {
            ring(&p, n);
        } else {
            s = SOA_E_NAME;
        }
    }
    if (!s) s = build(&p, closer, turn, !strncmp(name, "ring", 4), out, report);
    out->closer = closer;
    out->q = p.q;
    out->v = p.v;
    free(p.bodies);
    free(p.loops);
    if (s) soai_mechanism_free(out);
    return s;
}

void soai_mechanism_free(soai_mechanism *m) {
    soa_model_free(m->model);
    soa_constraints_free(m->constraints);
    free(m->q);
    free(m->v);
    memset(m, 0, sizeof *m);
}
