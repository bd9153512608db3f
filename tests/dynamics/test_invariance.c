/* test_invariance.c  one mechanism described in several ways gives the same answer: renumbered,
 * re-rooted, with joints made of simpler ones, in other units, in another place, in free fall.
 *
 * Errors are max |difference| / max(max |reference|, 1e-3). SOA_SEED sets the first of the
 * seeds. */
#include "check.h"
#include "classical.h"
#include "soa/io.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)

enum { TRIALS = 1000, MOST = 40, MOST_V = 6 * MOST, MOST_Q = 7 * MOST };

static double noise(dice *d) {
    return roll(d, -1, 1);
}
static int below(dice *d, int count) {
    const int k = (int)roll(d, 0, count);
    return k < count ? k : count - 1;
}

/* Fails, NaN included, above the tolerance. */
static void compare(const char *what, long seed, const double *got, const double *expected,
                    int count, double allowed, double *worst) {
    double scale = 1e-3;
    for (int i = 0; i < count; i++)
        if (!(fabs(expected[i]) <= scale)) scale = fabs(expected[i]);
    for (int i = 0; i < count; i++) {
        const double error = fabs(got[i] - expected[i]) / scale;
        if (!(error <= allowed))
            fail_msg("%s, seed %ld, number %d: got %.17g, expected %.17g, relative error %.3g, "
                     "allowed %.3g",
                     what, seed, i, got[i], expected[i], error, allowed);
        if (error > *worst) *worst = error;
    }
}

/* --- a model at work -------------------------------------------------------------------------- */

typedef struct machine {
    const soa_model *model;
    soa_work *work;
    int nq, nv, n;
    double q[MOST_Q], v[MOST_V], a[MOST_V], tau[MOST_V], qdd[MOST_V];
    soa_wrench wrench[2];
    double *M;
} machine;

static void start(machine *m, const soa_model *model) {
    memset(m, 0, sizeof *m);
    m->model = model;
    OK(soa_work_create(model, &m->work));
    m->nq = soa_model_nq(model);
    m->nv = soa_model_nv(model);
    m->n = soa_model_body_count(model);
    assert_true(m->n <= MOST);
    m->M = malloc(((size_t)m->nv * (size_t)m->nv + 1) * sizeof *m->M);
    assert_non_null(m->M);
}
static void stop(machine *m) {
    free(m->M);
    soa_work_free(m->work);
    soa_model_free(m->model);
}
static soa_body_info info_of(const machine *m, int body) {
    soa_body_info info;
    OK(soa_model_body(m->model, body, &info));
    return info;
}
static void random_state(machine *m, dice *random) {
    for (int i = 0; i < m->nq; i++)
        m->q[i] = 2 * noise(random);
    for (int i = 0; i < m->nv; i++) {
        m->v[i] = noise(random);
        m->a[i] = noise(random);
        m->tau[i] = 5 * noise(random);
    }
    OK(soa_q_normalise(m->model, m->q));
}
static void forward(machine *m, int wrenches) {
    const soa_status s =
        soa_aba(m->model, m->work, m->q, m->v, m->tau, m->wrench, wrenches, m->qdd);
    if (s != SOA_OK)
        fail_msg("%s: aba: %s, body %d", soa_model_name(m->model), soa_status_text(s),
                 soa_work_failed_body(m->work));
}

/* --- random trees as definitions -------------------------------------------------------------- */

typedef struct tree {
    int n, frames;
    soa_body_def body[MOST];
    soa_frame_def frame[MOST]; /* "tipK" on link K */
    char name[MOST][16], tip[MOST][16];
    double gravity[3];
} tree;

static void direction(dice *random, double u[3]) {
    double square;
    do {
        square = 0;
        for (int k = 0; k < 3; k++) {
            u[k] = noise(random);
            square += u[k] * u[k];
        }
    } while (square > 1 || square < 0.05);
    for (int k = 0; k < 3; k++)
        u[k] /= sqrt(square);
}
static soa_frame placement(dice *random) {
    double u[3], p[3];
    direction(random, u);
    for (int k = 0; k < 3; k++)
        p[k] = 0.5 * noise(random);
    return soa_frame_from_axis_angle(u, 3 * noise(random), p);
}
static void solid(dice *random, soa_body_def *b) {
    soa_body_box(b, 2 + noise(random), 0.3 + 0.2 * noise(random), 0.3 + 0.2 * noise(random),
                 0.3 + 0.2 * noise(random));
    for (int k = 0; k < 3; k++) {
        b->com[k] = 0.2 * noise(random);
        b->inertia[3 + k] = 0.001 * noise(random);
    }
}
/* The part of axis2 across axis, of unit length. */
static void square_axes(soa_joint_def *j) {
    double along = 0, square = 0;
    for (int k = 0; k < 3; k++)
        along += j->axis[k] * j->axis2[k];
    for (int k = 0; k < 3; k++) {
        j->axis2[k] -= along * j->axis[k];
        square += j->axis2[k] * j->axis2[k];
    }
    for (int k = 0; k < 3; k++)
        j->axis2[k] /= sqrt(square);
}

static soa_body_def *sprout(tree *t, int parent, soa_joint_type type) {
    assert_true(t->n < MOST);
    snprintf(t->name[t->n], sizeof t->name[0], "link%d", t->n + 1);
    t->body[t->n] = soa_body_default(t->name[t->n], parent, type);
    return &t->body[t->n++];
}

/* `root` carries all; the joints of the others come from `types`. Universal axes are oblique. */
static void grow(tree *t, dice *random, int n, soa_joint_type root, const soa_joint_type *types,
                 int type_count) {
    memset(t, 0, sizeof *t);
    for (int i = 1; i <= n; i++) {
        int parent;
        if (i == 1) {
            parent = 0;
        } else if (noise(random) < 0) {
            parent = i - 1;
        } else {
            parent = 1 + below(random, i - 1);
        }
        soa_body_def *b = sprout(t, parent, i == 1 ? root : types[below(random, type_count)]);
        b->placement = placement(random);
        solid(random, b);
        do {
            direction(random, b->joint.axis);
            direction(random, b->joint.axis2);
        } while (fabs(b->joint.axis[0] * b->joint.axis2[0] + b->joint.axis[1] * b->joint.axis2[1] +
                      b->joint.axis[2] * b->joint.axis2[2]) > 0.8);
        if (noise(random) < 0) { /* along a coordinate axis */
            const int k = below(random, 3);
            for (int c = 0; c < 3; c++) {
                b->joint.axis[c] = c == k;
                b->joint.axis2[c] = c == (k + 1) % 3;
            }
        }
        if (b->joint.type == SOA_PLANAR) square_axes(&b->joint);
        if (b->joint.type == SOA_HELICAL) b->joint.pitch = 0.2 * noise(random);
        if (b->joint.type != SOA_FREE) {
            b->joint.rotor_inertia = 1e-4 * (1 + noise(random));
            b->joint.gear_ratio = 20 * noise(random);
            b->joint.damping = 0.1 * (1 + noise(random));
            if (b->joint.type != SOA_SPHERICAL) {
                b->joint.stiffness = 1 + noise(random);
                b->joint.rest = noise(random);
            }
        }
        snprintf(t->tip[i - 1], sizeof t->tip[0], "tip%d", i);
        t->frame[i - 1] =
            (soa_frame_def){.name = t->tip[i - 1], .link = i, .placement = placement(random)};
        t->frames++;
    }
    for (int k = 0; k < 3; k++)
        t->gravity[k] = 10 * noise(random);
}

static const soa_model *build(const tree *t) {
    soa_model_def def = soa_model_default("tree", t->body, t->n);
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    def.frames = t->frame;
    def.frame_count = t->frames;
    memcpy(def.gravity, t->gravity, sizeof def.gravity);
    if (soa_model_create(&def, &model, &report) != SOA_OK) fail_msg("%s", report.text);
    return model;
}

/* Two world-axis wrenches at frames of the same name in both machines. */
static void same_wrenches(machine *a, machine *b, const char *name, const char *name2,
                          dice *random) {
    const char *names[2] = {name, name2};
    for (int k = 0; k < 2; k++) {
        a->wrench[k].frame = soa_model_find_frame(a->model, names[k]);
        a->wrench[k].axes = SOA_AXES_WORLD;
        for (int c = 0; c < 6; c++)
            a->wrench[k].value[c] = 10 * noise(random);
        b->wrench[k] = a->wrench[k];
        b->wrench[k].frame = soa_model_find_frame(b->model, names[k]);
    }
}

/* Energy, momentum and centre of mass do not depend on the description. */
static void same_sums(machine *a, machine *b, long seed, double allowed, double *worst) {
    double Ta, Ua, Tb, Ub, ha[6], hb[6], ca[3], cb[3];
    OK(soa_energy(a->model, a->work, a->q, a->v, &Ta, &Ua));
    OK(soa_energy(b->model, b->work, b->q, b->v, &Tb, &Ub));
    OK(soa_momentum(a->model, a->work, a->q, a->v, ha, ca));
    OK(soa_momentum(b->model, b->work, b->q, b->v, hb, cb));
    compare("kinetic energy", seed, &Tb, &Ta, 1, allowed, worst);
    compare("potential energy", seed, &Ub, &Ua, 1, allowed, worst);
    compare("momentum", seed, hb, ha, 6, allowed, worst);
    compare("centre of mass", seed, cb, ca, 3, allowed, worst);
}

/* Frames of the same name stand, move and accelerate alike; a holds of each machine. */
static void same_frames(machine *a, machine *b, const tree *t, long seed, const double *qdd_a,
                        const double *qdd_b, double allowed, double *worst) {
    OK(soa_kinematics(a->model, a->work, a->q, a->v, qdd_a));
    OK(soa_kinematics(b->model, b->work, b->q, b->v, qdd_b));
    for (int i = 0; i < t->frames; i++) {
        const int fa = soa_model_find_frame(a->model, t->tip[i]),
                  fb = soa_model_find_frame(b->model, t->tip[i]);
        soa_frame pa, pb;
        double A[6], B[6];
        OK(soa_pose(a->model, a->work, fa, &pa));
        OK(soa_pose(b->model, b->work, fb, &pb));
        compare("pose R", seed, pb.R, pa.R, 9, allowed, worst);
        compare("pose p", seed, pb.p, pa.p, 3, allowed, worst);
        OK(soa_velocity(a->model, a->work, fa, SOA_AXES_WORLD, A));
        OK(soa_velocity(b->model, b->work, fb, SOA_AXES_WORLD, B));
        compare("velocity", seed, B, A, 6, allowed, worst);
        OK(soa_acceleration_classical(a->model, a->work, fa, SOA_AXES_WORLD, A));
        OK(soa_acceleration_classical(b->model, b->work, fb, SOA_AXES_WORLD, B));
        compare("acceleration", seed, B, A, 6, allowed, worst);
    }
}

/* --- renumbering ------------------------------------------------------------------------------ */

static void renumbering(void **state) {
    (void)state;
    double worst_id = 0, worst_fd = 0, worst_m = 0, worst_sum = 0;
    int moved = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 31 + 7};
        char name[32];
        const soa_model *model;
        static machine a, b;
        snprintf(name, sizeof name, "random:%ld", seed);
        OK(soa_stock_model_create(name, NULL, &model, NULL));
        start(&a, model);

        int order[MOST + 1], at[MOST + 1] = {0}; /* order[new] = old, at[old] = new */
        for (int k = 1; k <= a.n; k++) {         /* any body whose parent is placed may come next */
            int old, parent;
            do {
                old = 1 + below(&random, a.n);
                parent = info_of(&a, old).parent;
            } while (at[old] > 0 || (parent > 0 && at[parent] == 0));
            order[k] = old;
            at[old] = k;
            moved += old != k;
        }
        soa_body_def bodies[MOST];
        for (int k = 1; k <= a.n; k++) {
            const soa_body_info info = info_of(&a, order[k]);
            bodies[k - 1] = classical_definition(&info, at);
        }
        soa_model_def def = soa_model_default("renumbered", bodies, a.n);
        soa_model_gravity(a.model, def.gravity);
        OK(soa_model_create(&def, &model, NULL));
        start(&b, model);
        assert_int_equal(a.nq, b.nq);
        assert_int_equal(a.nv, b.nv);

        int v_at[MOST_V]; /* number of a's v in b */
        random_state(&a, &random);
        for (int i = 1; i <= a.n; i++) {
            const soa_body_info from = info_of(&a, i), to = info_of(&b, at[i]);
            assert_string_equal(from.joint, to.joint);
            for (int c = 0; c < from.nq; c++)
                b.q[to.q_index + c] = a.q[from.q_index + c];
            for (int c = 0; c < from.nv; c++)
                v_at[from.v_index + c] = to.v_index + c;
        }
        for (int i = 0; i < a.nv; i++) {
            b.v[v_at[i]] = a.v[i];
            b.a[v_at[i]] = a.a[i];
            b.tau[v_at[i]] = a.tau[i];
        }
        same_wrenches(&a, &b, info_of(&a, a.n).link, info_of(&a, 1 + a.n / 2).link, &random);

        double ta[MOST_V], tb[MOST_V], sorted[MOST_V];
        OK(soa_rnea(a.model, a.work, a.q, a.v, a.a, a.wrench, 2, ta));
        OK(soa_rnea(b.model, b.work, b.q, b.v, b.a, b.wrench, 2, tb));
        for (int i = 0; i < a.nv; i++)
            sorted[i] = tb[v_at[i]];
        compare("rnea", seed, sorted, ta, a.nv, 1e-11, &worst_id);
        forward(&a, 2);
        forward(&b, 2);
        for (int i = 0; i < a.nv; i++)
            sorted[i] = b.qdd[v_at[i]];
        compare("aba", seed, sorted, a.qdd, a.nv, 1e-9, &worst_fd);
        OK(soa_crba(a.model, a.work, a.q, a.M));
        OK(soa_crba(b.model, b.work, b.q, b.M));
        for (int i = 0; i < a.nv; i++) {
            for (int j = 0; j < a.nv; j++)
                sorted[j] = b.M[v_at[i] * a.nv + v_at[j]];
            compare("crba", seed, sorted, a.M + i * a.nv, a.nv, 1e-11, &worst_m);
        }
        same_sums(&a, &b, seed, 1e-10, &worst_sum);
        stop(&a);
        stop(&b);
    }
    assert_true(moved > TRIALS);
    printf("renumbering: %d trees from seed %ld, worst relative error: rnea %.2g, aba %.2g, crba "
           "%.2g, sums %.2g\n",
           TRIALS, first_seed(), worst_id, worst_fd, worst_m, worst_sum);
}

/* --- re-rooting ------------------------------------------------------------------------------- */

/* The same joint seen from its child's side. */
static soa_joint_def reversed(const soa_joint_def *j) {
    soa_joint_def r = *j;
    const int swap = j->type == SOA_UNIVERSAL;
    for (int k = 0; k < 3; k++) {
        r.axis[k] = swap ? -j->axis2[k] : -j->axis[k];
        r.axis2[k] = swap ? -j->axis[k] : j->axis2[k];
    }
    return r;
}

/* into a frame that stands at F in the old one */
static void move_inertia(const soa_frame *F, soa_body_def *b) {
    const soa_frame back = soa_frame_inverse(F);
    const double *R = back.R, *I = b->inertia,
                 S[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    double com[3], J[6];
    for (int k = 0; k < 3; k++)
        com[k] =
            back.p[k] + R[3 * k] * b->com[0] + R[3 * k + 1] * b->com[1] + R[3 * k + 2] * b->com[2];
    for (int k = 0; k < 6; k++) {
        J[k] = 0;
        for (int l = 0; l < 3; l++)
            for (int m = 0; m < 3; m++)
                J[k] += R[3 * row[k] + l] * S[3 * l + m] * R[3 * column[k] + m];
    }
    memcpy(b->com, com, sizeof com);
    memcpy(b->inertia, J, sizeof J);
}

/* The same mechanism with link `root` on the free joint. */
static void reroot(const tree *t, int root, tree *out) {
    int at[MOST + 1] = {0}, on_path[MOST + 1] = {0};
    soa_frame moved[MOST + 1]; /* new link frame in the old one */
    for (int i = 0; i <= t->n; i++)
        moved[i] = soa_frame_identity();
    for (int i = root; i > 1; i = t->body[i - 1].parent) {
        on_path[i] = 1;
        moved[t->body[i - 1].parent] = t->body[i - 1].placement;
    }
    on_path[1] = 1;
    *out = *t;
    out->n = 0;
    for (int i = root, below_it = 0; i > 0; below_it = i, i = t->body[i - 1].parent) {
        soa_body_def *b = &out->body[out->n++];
        *b = t->body[i - 1];
        at[i] = out->n;
        move_inertia(&moved[i], b);
        if (below_it == 0) {
            b->parent = 0;
            b->placement = soa_frame_identity();
            b->joint = t->body[0].joint;
            b->joint_name = "root";
        } else {
            b->parent = at[below_it];
            b->placement = soa_frame_inverse(&moved[below_it]);
            b->joint = reversed(&t->body[below_it - 1].joint);
            b->joint_name = t->body[below_it - 1].name;
        }
    }
    for (int i = 1; i <= t->n; i++) {
        if (on_path[i]) continue;
        soa_body_def *b = &out->body[out->n++];
        const soa_frame back = soa_frame_inverse(&moved[t->body[i - 1].parent]);
        *b = t->body[i - 1];
        at[i] = out->n;
        b->parent = at[t->body[i - 1].parent];
        b->placement = soa_frame_compose(&back, &t->body[i - 1].placement);
        b->joint_name = t->body[i - 1].name;
    }
    for (int k = 0; k < t->frames; k++) {
        const soa_frame back = soa_frame_inverse(&moved[t->frame[k].link]);
        out->frame[k].link = at[t->frame[k].link];
        out->frame[k].placement = soa_frame_compose(&back, &t->frame[k].placement);
    }
}

/* x (v, vdot or tau) of a joint, as the reversed joint has it. */
static void reverse_vector(const soa_body_info *b, const double *q, const double *x, double *out) {
    if (b->type == SOA_UNIVERSAL) {
        out[0] = x[1];
        out[1] = x[0];
    } else if (b->type == SOA_SPHERICAL) { /* -R x */
        const double *e = q + 1;
        double c[3];
        for (int k = 0; k < 3; k++)
            c[k] = e[(k + 1) % 3] * x[(k + 2) % 3] - e[(k + 2) % 3] * x[(k + 1) % 3] + q[0] * x[k];
        for (int k = 0; k < 3; k++)
            out[k] =
                -(x[k] + 2 * (e[(k + 1) % 3] * c[(k + 2) % 3] - e[(k + 2) % 3] * c[(k + 1) % 3]));
    } else {
        memcpy(out, x, (size_t)b->nv * sizeof *x);
    }
}

/* A random tree on a free joint, and the same machine with another link as its root. */
typedef struct rerooted {
    long seed;
    tree t;
    machine a, b;
    int root;             /* the link that is b's root */
    int passed[MOST + 1]; /* joints of a that b has reversed */
    int turned[MOST + 1]; /* the joint of that name in b */
} rerooted;
/* A link to which no planar joint leads: such a joint has no reverse of its own kind. */
static int any_root(const tree *t, dice *random) {
    int root, turnable;
    do {
        root = 1 + below(random, t->n);
        turnable = 1;
        for (int i = root; i > 1; i = t->body[i - 1].parent)
            turnable = turnable && t->body[i - 1].joint.type != SOA_PLANAR;
    } while (!turnable);
    return root;
}
static void start_rerooted(rerooted *p, long seed, dice *random) {
    static const soa_joint_type types[] = {SOA_REVOLUTE,  SOA_REVOLUTE,    SOA_PRISMATIC,
                                           SOA_HELICAL,   SOA_CYLINDRICAL, SOA_UNIVERSAL,
                                           SOA_SPHERICAL, SOA_PLANAR};
    static tree u;
    p->seed = seed;
    grow(&p->t, random, 2 + below(random, 14), SOA_FREE, types, 8);
    p->t.body[0].joint_name = "root";
    p->root = any_root(&p->t, random);
    memset(p->passed, 0, sizeof p->passed);
    for (int i = p->root; i > 1; i = p->t.body[i - 1].parent)
        p->passed[i] = 1;
    reroot(&p->t, p->root, &u);
    start(&p->a, build(&p->t));
    start(&p->b, build(&u));
    random_state(&p->a, random);
    memset(p->a.tau, 0, 6 * sizeof *p->a.tau); /* internal torques only */
    const soa_body_info free_a = info_of(&p->a, 1), free_b = info_of(&p->b, 1);
    assert_true(free_a.type == SOA_FREE && free_b.type == SOA_FREE && free_a.v_index == 0 &&
                free_b.v_index == 0);
}
/* q, v and tau of b's joint of the same name as joint i of a. */
static void share_joint(rerooted *p, int i) {
    machine *a = &p->a, *b = &p->b;
    const soa_body_info ia = info_of(a, i);
    p->turned[i] = soa_model_find_joint(b->model, ia.joint);
    const soa_body_info ib = info_of(b, p->turned[i]);
    assert_int_equal(ia.type, ib.type);
    const double *qa = a->q + ia.q_index;
    double *qb = b->q + ib.q_index;
    memcpy(qb, qa, (size_t)ia.nq * sizeof *qa);
    if (!p->passed[i]) {
        memcpy(b->v + ib.v_index, a->v + ia.v_index, (size_t)ia.nv * sizeof *a->v);
        memcpy(b->tau + ib.v_index, a->tau + ia.v_index, (size_t)ia.nv * sizeof *a->tau);
        return;
    }
    if (ia.type == SOA_UNIVERSAL) {
        qb[0] = qa[1];
        qb[1] = qa[0];
    }
    if (ia.type == SOA_SPHERICAL)
        for (int k = 1; k < 4; k++)
            qb[k] = -qa[k];
    reverse_vector(&ia, qa, a->v + ia.v_index, b->v + ib.v_index);
    reverse_vector(&ia, qa, a->tau + ia.v_index, b->tau + ib.v_index);
}
static void quaternion_of(const double R[9], double e[4]) {
    const double K[16] = {
        1 + R[0] + R[4] + R[8], R[7] - R[5], R[2] - R[6], R[3] - R[1], R[7] - R[5],
        1 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6], R[2] - R[6], R[1] + R[3],
        1 - R[0] + R[4] - R[8], R[5] + R[7], R[3] - R[1], R[2] + R[6], R[5] + R[7],
        1 - R[0] - R[4] + R[8]};
    int row = 0; /* K = 4 e e': take the row with the largest diagonal */
    for (int k = 1; k < 4; k++)
        if (K[5 * k] > K[5 * row]) row = k;
    for (int k = 0; k < 4; k++)
        e[k] = K[4 * row + k] / sqrt(4 * K[5 * row]);
}
static int frame_of_root(const rerooted *p) {
    return soa_model_find_frame(p->a.model, p->t.name[p->root - 1]);
}
/* Where and how fast the new root is: pose to position and quaternion, V in body axes. */
static void share_root(rerooted *p) {
    machine *a = &p->a, *b = &p->b;
    soa_frame pose;
    OK(soa_kinematics(a->model, a->work, a->q, a->v, NULL));
    OK(soa_pose(a->model, a->work, frame_of_root(p), &pose));
    OK(soa_velocity(a->model, a->work, frame_of_root(p), SOA_AXES_BODY, b->v));
    memcpy(b->q, pose.p, sizeof pose.p);
    quaternion_of(pose.R, b->q + 3);
}
/* Accelerations of a as b's coordinates have them: expected in a.a, compared with b.qdd. */
static void compare_accelerations(rerooted *p, double *worst) {
    machine *a = &p->a, *b = &p->b;
    for (int i = 2; i <= a->n; i++) {
        const soa_body_info ia = info_of(a, i), ib = info_of(b, p->turned[i]);
        double expected[6];
        memcpy(expected, a->qdd + ia.v_index, (size_t)ia.nv * sizeof *expected);
        if (p->passed[i]) reverse_vector(&ia, a->q + ia.q_index, a->qdd + ia.v_index, expected);
        memcpy(a->a + ib.v_index, expected, (size_t)ia.nv * sizeof *expected);
    }
    OK(soa_kinematics(a->model, a->work, a->q, a->v, a->qdd));
    /* body-axis rate of V */
    OK(soa_acceleration_spatial(a->model, a->work, frame_of_root(p), SOA_AXES_BODY, a->a));
    compare("accelerations", p->seed, b->qdd, a->a, b->nv, 1e-9, worst);
}

static void rerooting(void **state) {
    (void)state;
    static rerooted p;
    double worst = 0, worst_sum = 0;
    long path = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 17 + 3};
        start_rerooted(&p, seed, &random);
        for (int i = 2; i <= p.a.n; i++) {
            share_joint(&p, i);
            path += p.passed[i];
        }
        share_root(&p);
        same_wrenches(&p.a, &p.b, p.t.tip[0], p.t.tip[p.t.n - 1], &random);
        same_sums(&p.a, &p.b, seed, 1e-10, &worst_sum);
        forward(&p.a, 2);
        forward(&p.b, 2);
        compare_accelerations(&p, &worst);
        same_frames(&p.a, &p.b, &p.t, seed, p.a.qdd, p.b.qdd, 1e-9, &worst);
        stop(&p.a);
        stop(&p.b);
    }
    printf("re-rooting: %d trees from seed %ld, %ld joints reversed, worst relative error: "
           "accelerations %.2g, sums "
           "%.2g\n",
           TRIALS, first_seed(), path, worst, worst_sum);
}

/* A floating mechanism cannot feel a uniform field. */
static void free_fall(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE,    SOA_PRISMATIC, SOA_HELICAL,
                                           SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_SPHERICAL,
                                           SOA_PLANAR,      SOA_FREE};
    double worst = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 11 + 1};
        static tree t;
        static machine a, b;
        grow(&t, &random, 1 + below(&random, 14), SOA_FREE, types, 8);
        start(&a, build(&t));
        memset(t.gravity, 0, sizeof t.gravity);
        start(&b, build(&t));
        random_state(&a, &random);
        memcpy(b.q, a.q, sizeof a.q);
        memcpy(b.v, a.v, sizeof a.v);
        memcpy(b.tau, a.tau, sizeof a.tau);
        forward(&a, 0);
        forward(&b, 0);
        compare("joint accelerations", seed, a.qdd + 6, b.qdd + 6, a.nv - 6, 1e-9, &worst);
        stop(&a);
        stop(&b);
    }
    printf("free fall: %d trees from seed %ld, worst relative error %.2g\n", TRIALS, first_seed(),
           worst);
}

/* The mechanism set down elsewhere, far away and turned, with the field turned alike. */
static void elsewhere(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE,    SOA_PRISMATIC, SOA_HELICAL,
                                           SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_SPHERICAL,
                                           SOA_PLANAR,      SOA_FREE};
    double worst_id = 0, worst_fd = 0, worst_m = 0, worst_d = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 29 + 2};
        static tree t;
        static machine a, b;
        grow(&t, &random, 1 + below(&random, 12), types[below(&random, 8)], types, 8);
        start(&a, build(&t));
        soa_frame X = placement(&random);
        double g[3];
        for (int k = 0; k < 3; k++) {
            X.p[k] = 1e5 * noise(&random);
            g[k] = 0;
        }
        for (int k = 0; k < 9; k++)
            g[k / 3] += X.R[k] * t.gravity[k % 3];
        memcpy(t.gravity, g, sizeof g);
        t.body[0].placement = soa_frame_compose(&X, &t.body[0].placement);
        start(&b, build(&t));
        random_state(&a, &random);
        memcpy(b.q, a.q, sizeof a.q);
        memcpy(b.v, a.v, sizeof a.v);
        memcpy(b.tau, a.tau, sizeof a.tau);
        double ta[MOST_V], tb[MOST_V];
        OK(soa_rnea(a.model, a.work, a.q, a.v, a.a, NULL, 0, ta));
        OK(soa_rnea(b.model, b.work, a.q, a.v, a.a, NULL, 0, tb));
        compare("rnea", seed, tb, ta, a.nv, 1e-11, &worst_id);
        forward(&a, 0);
        forward(&b, 0);
        compare("aba", seed, b.qdd, a.qdd, a.nv, 1e-9, &worst_fd);
        OK(soa_crba(a.model, a.work, a.q, a.M));
        OK(soa_crba(b.model, b.work, a.q, b.M));
        compare("crba", seed, b.M, a.M, a.nv * a.nv, 1e-11, &worst_m);
        OK(soa_rnea_derivatives(a.model, a.work, &(soa_input){.q = a.q, .v = a.v, .a = a.a}, a.M,
                                NULL));
        OK(soa_rnea_derivatives(b.model, b.work, &(soa_input){.q = a.q, .v = a.v, .a = a.a}, b.M,
                                NULL));
        compare("rnea derivatives", seed, b.M, a.M, a.nv * a.nv, 1e-9, &worst_d);
        stop(&a);
        stop(&b);
    }
    printf("elsewhere: %d trees from seed %ld, worst relative error: rnea %.2g, aba %.2g, crba "
           "%.2g, derivatives %.2g\n",
           TRIALS, first_seed(), worst_id, worst_fd, worst_m, worst_d);
}

/* --- joints made of simpler ones -------------------------------------------------------------- */

/* Replaces the last body of `out`, a copy of `b`, by its chain of 1-dof joints; massless links
 * inside. */
static void unfold(tree *out, const soa_body_def *b, int parent) {
    soa_joint_type type[3] = {SOA_REVOLUTE, SOA_REVOLUTE, SOA_REVOLUTE};
    double axis[3][3];
    int count = 2;
    const double *u = b->joint.axis, *u2 = b->joint.axis2;
    const double across[3] = {u[1] * u2[2] - u[2] * u2[1], u[2] * u2[0] - u[0] * u2[2],
                              u[0] * u2[1] - u[1] * u2[0]};
    memcpy(axis[0], u, sizeof axis[0]);
    switch (b->joint.type) {
    case SOA_CYLINDRICAL:
        type[1] = SOA_PRISMATIC;
        memcpy(axis[1], u, sizeof axis[1]);
        break;
    case SOA_UNIVERSAL: memcpy(axis[1], u2, sizeof axis[1]); break;
    case SOA_PLANAR:
        type[0] = type[1] = SOA_PRISMATIC;
        count = 3;
        memcpy(axis[0], u2, sizeof axis[0]);
        memcpy(axis[1], across, sizeof axis[1]);
        memcpy(axis[2], u, sizeof axis[2]);
        break;
    default:
        count = 1;
        type[0] = b->joint.type;
        break;
    }
    for (int k = 0; k < count; k++) {
        soa_body_def *d = sprout(out, k == 0 ? parent : out->n, type[k]);
        d->joint = b->joint;
        d->joint.type = type[k];
        memcpy(d->joint.axis, axis[k], sizeof axis[k]);
        if (k == 0) d->placement = b->placement;
        if (k < count - 1) continue;
        d->mass = b->mass;
        memcpy(d->com, b->com, sizeof b->com);
        memcpy(d->inertia, b->inertia, sizeof b->inertia);
    }
}

static void compound_joints(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,
                                           SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,
                                           SOA_SPHERICAL,   SOA_HELICAL};
    double worst_id = 0, worst_fd = 0, worst_m = 0, worst_sum = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 13 + 5};
        static tree t, chain;
        static machine a, b;
        grow(&t, &random, 1 + below(&random, 10), types[below(&random, 8)], types, 8);
        chain = t;
        chain.n = 0;
        int last[MOST + 1] = {0};
        for (int i = 1; i <= t.n; i++) {
            unfold(&chain, &t.body[i - 1], last[t.body[i - 1].parent]);
            last[i] = chain.n;
            chain.frame[i - 1].link = chain.n;
        }
        start(&a, build(&t));
        start(&b, build(&chain));
        assert_int_equal(a.nv, b.nv); /* the coordinates are the same, in the same order */
        assert_int_equal(a.nq, b.nq);
        random_state(&a, &random);
        memcpy(b.q, a.q, sizeof a.q);
        memcpy(b.v, a.v, sizeof a.v);
        memcpy(b.tau, a.tau, sizeof a.tau);
        same_wrenches(&a, &b, t.tip[0], t.tip[t.n - 1], &random);
        double ta[MOST_V], tb[MOST_V];
        OK(soa_rnea(a.model, a.work, a.q, a.v, a.a, a.wrench, 2, ta));
        OK(soa_rnea(b.model, b.work, a.q, a.v, a.a, b.wrench, 2, tb));
        compare("rnea", seed, tb, ta, a.nv, 1e-11, &worst_id);
        forward(&a, 2);
        forward(&b, 2);
        compare("aba", seed, b.qdd, a.qdd, a.nv, 1e-9, &worst_fd);
        OK(soa_crba(a.model, a.work, a.q, a.M));
        OK(soa_crba(b.model, b.work, b.q, b.M));
        compare("crba", seed, b.M, a.M, a.nv * a.nv, 1e-11, &worst_m);
        same_sums(&a, &b, seed, 1e-10, &worst_sum);
        same_frames(&a, &b, &t, seed, a.qdd, b.qdd, 1e-9, &worst_fd);
        stop(&a);
        stop(&b);
    }
    printf("compound joints: %d trees from seed %ld, worst relative error: rnea %.2g, aba %.2g, "
           "crba %.2g, sums %.2g\n",
           TRIALS, first_seed(), worst_id, worst_fd, worst_m, worst_sum);
}

/* A fixed joint is a hinge that does not move: links merged by the builder against links held
 * still. */
static void fixed_links(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE,  SOA_PRISMATIC, SOA_HELICAL, SOA_UNIVERSAL,
                                           SOA_SPHERICAL, SOA_FIXED,     SOA_FIXED,   SOA_FIXED};
    double worst_id = 0, worst_m = 0, worst_sum = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 37 + 4};
        static tree t;
        static machine a, b;
        grow(&t, &random, 2 + below(&random, 14), SOA_FREE, types, 8);
        int fixed[MOST] = {0};
        for (int i = 0; i < t.n; i++) {
            soa_joint_def *j = &t.body[i].joint;
            fixed[i] = j->type == SOA_FIXED;
            if (fixed[i]) j->rotor_inertia = j->damping = j->stiffness = 0;
            if (j->type == SOA_REVOLUTE || j->type == SOA_PRISMATIC || j->type == SOA_HELICAL) {
                j->rotor_model = SOA_ROTOR_EXACT; /* its carrier may be a merged link */
                direction(&random, j->rotor_axis);
            }
        }
        start(&a, build(&t));
        for (int i = 0; i < t.n; i++)
            if (fixed[i]) t.body[i].joint.type = SOA_REVOLUTE;
        start(&b, build(&t));
        random_state(&a, &random);
        /* number of a's v in b, where the hinges held still are zero */
        int v_at[MOST_V], moving = 0;
        for (int i = 0; i < t.n; i++) {
            if (fixed[i]) continue;
            const soa_body_info from = info_of(&a, ++moving), to = info_of(&b, i + 1);
            assert_string_equal(from.link, to.link);
            memcpy(b.q + to.q_index, a.q + from.q_index, (size_t)from.nq * sizeof *a.q);
            for (int c = 0; c < from.nv; c++) {
                v_at[from.v_index + c] = to.v_index + c;
                b.v[to.v_index + c] = a.v[from.v_index + c];
                b.a[to.v_index + c] = a.a[from.v_index + c];
            }
        }
        assert_int_equal(moving, a.n);
        same_wrenches(&a, &b, t.tip[0], t.tip[t.n - 1], &random);
        double ta[MOST_V], tb[MOST_V], sorted[MOST_V];
        OK(soa_rnea(a.model, a.work, a.q, a.v, a.a, a.wrench, 2, ta));
        OK(soa_rnea(b.model, b.work, b.q, b.v, b.a, b.wrench, 2, tb));
        for (int i = 0; i < a.nv; i++)
            sorted[i] = tb[v_at[i]];
        compare("rnea", seed, sorted, ta, a.nv, 1e-11, &worst_id);
        OK(soa_crba(a.model, a.work, a.q, a.M));
        OK(soa_crba(b.model, b.work, b.q, b.M));
        for (int i = 0; i < a.nv; i++) {
            for (int j = 0; j < a.nv; j++)
                sorted[j] = b.M[v_at[i] * b.nv + v_at[j]];
            compare("crba", seed, sorted, a.M + i * a.nv, a.nv, 1e-11, &worst_m);
        }
        same_sums(&a, &b, seed, 1e-10, &worst_sum);
        same_frames(&a, &b, &t, seed, a.a, b.a, 1e-10, &worst_sum);
        stop(&a);
        stop(&b);
    }
    printf("fixed links: %d trees from seed %ld, worst relative error: rnea %.2g, crba %.2g, sums "
           "and frames %.2g\n",
           TRIALS, first_seed(), worst_id, worst_m, worst_sum);
}

/* WD89's floating object, five massless links and six 1-dof joints, against a free joint; it
 * carries a small arm. */
static void floating_object(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE, SOA_SPHERICAL, SOA_PRISMATIC};
    double worst = 0, worst_sum = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 19 + 11};
        static tree t, six;
        static machine a, b;
        grow(&t, &random, 1 + below(&random, 5), SOA_FREE, types, 3);
        six = t;
        six.n = 0;
        const soa_body_def object = t.body[0];
        for (int k = 0; k < 6; k++) { /* along x, y, z, then about z, y, x */
            soa_body_def *d = sprout(&six, k, k < 3 ? SOA_PRISMATIC : SOA_REVOLUTE);
            memset(d->joint.axis, 0, sizeof d->joint.axis);
            d->joint.axis[k < 3 ? k : 5 - k] = 1;
            if (k == 0) d->placement = object.placement;
        }
        six.body[5].mass = object.mass;
        memcpy(six.body[5].com, object.com, sizeof object.com);
        memcpy(six.body[5].inertia, object.inertia, sizeof object.inertia);
        for (int i = 2; i <= t.n; i++) {
            soa_body_def *d = sprout(&six, t.body[i - 1].parent + 5, t.body[i - 1].joint.type);
            const char *name = d->name;
            *d = t.body[i - 1];
            d->name = name;
            d->parent += 5;
        }
        for (int k = 0; k < six.frames; k++)
            six.frame[k].link += 5;
        start(&a, build(&t));
        start(&b, build(&six));
        assert_int_equal(a.nv, b.nv);

        random_state(&b, &random);
        b.q[4] = 1.2 * noise(&random); /* away from the gimbal's lock */
        memcpy(a.q + 7, b.q + 6, (size_t)(a.nq - 7) * sizeof *a.q);
        memcpy(a.v, b.v, sizeof a.v);
        memcpy(a.tau, b.tau, sizeof a.tau);
        memcpy(a.q, b.q, 3 * sizeof *a.q);
        double e[4] = {1, 0, 0, 0};
        for (int k = 0; k < 3; k++) { /* product of the three turns */
            const double c = cos(b.q[3 + k] / 2), s = sin(b.q[3 + k] / 2);
            double r[4] = {c, 0, 0, 0}, p[4];
            r[3 - k] = s;
            p[0] = e[0] * r[0] - e[1] * r[1] - e[2] * r[2] - e[3] * r[3];
            p[1] = e[0] * r[1] + e[1] * r[0] + e[2] * r[3] - e[3] * r[2];
            p[2] = e[0] * r[2] - e[1] * r[3] + e[2] * r[0] + e[3] * r[1];
            p[3] = e[0] * r[3] + e[1] * r[2] - e[2] * r[1] + e[3] * r[0];
            memcpy(e, p, sizeof e);
        }
        memcpy(a.q + 3, e, sizeof e);
        OK(soa_kinematics(b.model, b.work, b.q, b.v, NULL));
        OK(soa_velocity(b.model, b.work, soa_model_find_frame(b.model, "link6"), SOA_AXES_BODY,
                        a.v));
        memset(a.tau, 0, 6 * sizeof *a.tau);
        memset(b.tau, 0, 6 * sizeof *b.tau); /* nothing drives the object */
        same_wrenches(&a, &b, t.tip[0], t.tip[t.n - 1], &random);
        same_sums(&a, &b, seed, 1e-10, &worst_sum);
        forward(&a, 2);
        forward(&b, 2);
        same_frames(&a, &b, &t, seed, a.qdd, b.qdd, 1e-9, &worst);
        compare("arm", seed, b.qdd + 6, a.qdd + 6, a.nv - 6, 1e-9, &worst);
        stop(&a);
        stop(&b);
    }
    printf("floating object: %d trees from seed %ld, worst relative error: accelerations %.2g, "
           "sums %.2g\n",
           TRIALS, first_seed(), worst, worst_sum);
}

/* --- units ------------------------------------------------------------------------------------ */

typedef struct units {
    double length, mass, time; /* new units per old one */
} units;

/* Whether velocity c of a joint is a rotation. */
static int rotates(soa_joint_type type, int c) {
    switch (type) {
    case SOA_PRISMATIC: return 0;
    case SOA_CYLINDRICAL: return c == 0;
    case SOA_PLANAR: return c == 2;
    case SOA_FREE: return c < 3;
    default: return 1;
    }
}
static int mixed(soa_joint_type type) {
    return type == SOA_CYLINDRICAL || type == SOA_PLANAR || type == SOA_FREE;
}

static void rescale(tree *t, const units *x) {
    const double L = x->length, M = x->mass, T = x->time;
    for (int i = 0; i < t->n; i++) {
        soa_body_def *b = &t->body[i];
        soa_joint_def *j = &b->joint;
        /* torque per force, over coordinate per length */
        const double angle = rotates(j->type, 0) ? L * L : 1;
        b->mass *= M;
        for (int k = 0; k < 3; k++) {
            b->placement.p[k] *= L;
            b->com[k] *= L;
            t->frame[i].placement.p[k] *= L;
        }
        for (int k = 0; k < 6; k++)
            b->inertia[k] *= M * L * L;
        j->pitch *= L;
        j->rotor_inertia *= M * L * L;
        if (!rotates(j->type, 0)) {
            j->gear_ratio /= L;
            j->rest *= L;
        }
        j->damping *= angle * M / T;
        j->stiffness *= angle * M / (T * T);
    }
    for (int k = 0; k < 3; k++)
        t->gravity[k] *= L / (T * T);
}

static void scaling(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE,    SOA_PRISMATIC, SOA_HELICAL,
                                           SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_SPHERICAL,
                                           SOA_PLANAR,      SOA_FREE};
    static const units systems[] = {
        {100, 1000, 1},      {1000, 1e-3, 1},   {1 / 0.3048, 1 / 14.5939, 1},
        {1e-6, 1e-18, 1e-3}, {1e6, 1e12, 3600}, {1, 1, 1e-6},
        {1e9, 1e-9, 1}};
    enum { SYSTEMS = sizeof systems / sizeof *systems };
    double worst_id = 0, worst_fd = 0;
    for (long seed = first_seed(); seed < first_seed() + TRIALS; seed++) {
        dice random = {(uint64_t)seed * 23 + 9};
        static tree t;
        static machine a, b;
        grow(&t, &random, 1 + below(&random, 12), types[below(&random, 8)], types, 8);
        for (int i = 0; i < t.n; i++) /* one damping for metres and radians has no unit */
            if (mixed(t.body[i].joint.type))
                t.body[i].joint = (soa_joint_def){.type = t.body[i].joint.type,
                                                  .axis = {0, 0, 1},
                                                  .axis2 = {1, 0, 0},
                                                  .mimic = -1};
        start(&a, build(&t));
        const units *x = &systems[seed % SYSTEMS];
        rescale(&t, x);
        start(&b, build(&t));
        random_state(&a, &random);
        const double L = x->length, M = x->mass, T = x->time, force = M * L / (T * T);
        double ratio_q[MOST_Q], ratio_v[MOST_V]; /* of the units of q and v (without time) */
        for (int i = 1; i <= a.n; i++) {
            const soa_body_info info = info_of(&a, i);
            for (int c = 0; c < info.nq; c++) {
                if (info.type == SOA_FREE) {
                    ratio_q[info.q_index + c] = c < 3 ? L : 1;
                } else {
                    ratio_q[info.q_index + c] = rotates(info.type, c) ? 1 : L;
                }
            }
            for (int c = 0; c < info.nv; c++)
                ratio_v[info.v_index + c] = rotates(info.type, c) ? 1 : L;
        }
        for (int i = 0; i < a.nq; i++)
            b.q[i] = a.q[i] * ratio_q[i];
        for (int i = 0; i < a.nv; i++) {
            const double r = ratio_v[i];
            b.v[i] = a.v[i] * r / T;
            b.a[i] = a.a[i] * r / (T * T);
            b.tau[i] = a.tau[i] * force * L / r;
        }
        same_wrenches(&a, &b, t.tip[0], t.tip[t.n - 1], &random);
        for (int k = 0; k < 2; k++)
            for (int c = 0; c < 6; c++)
                b.wrench[k].value[c] *= c < 3 ? force * L : force;
        double ta[MOST_V], tb[MOST_V];
        OK(soa_rnea(a.model, a.work, a.q, a.v, a.a, a.wrench, 2, ta));
        OK(soa_rnea(b.model, b.work, b.q, b.v, b.a, b.wrench, 2, tb));
        for (int i = 0; i < a.nv; i++)
            tb[i] /= force * L / ratio_v[i];
        compare("rnea in other units", seed, tb, ta, a.nv, 1e-11, &worst_id);
        forward(&a, 2);
        forward(&b, 2);
        for (int i = 0; i < a.nv; i++)
            b.qdd[i] /= ratio_v[i] / (T * T);
        compare("aba in other units", seed, b.qdd, a.qdd, a.nv, 1e-9, &worst_fd);
        stop(&a);
        stop(&b);
    }
    printf("units: %d trees from seed %ld, %d systems, worst relative error: rnea %.2g, aba %.2g\n",
           TRIALS, first_seed(), SYSTEMS, worst_id, worst_fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renumbering),     cmocka_unit_test(rerooting),
        cmocka_unit_test(free_fall),       cmocka_unit_test(elsewhere),
        cmocka_unit_test(compound_joints), cmocka_unit_test(fixed_links),
        cmocka_unit_test(floating_object), cmocka_unit_test(scaling)};
    return cmocka_run_group_tests_name("invariance", tests, NULL, NULL);
}
