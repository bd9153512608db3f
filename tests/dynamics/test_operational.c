/* test_operational.c  compliance and operational space against their dense definitions, and by the
 * motion they predict.
 *
 * random:SEED contains every joint type, forests, free bases, mimic joints, both rotor models,
 * friction, springs. SOA_SEED=n chooses other models. */
#include "check.h"
#include "sweep/compiled_sweeps.h"
#include "model/model_internal.h"
#include "soa/io.h"
#include "soa/soa.h"

extern const soai_kernels soai_kernels_quad;
typedef __float128 quad;

enum { TREES = 300, MOST_FRAMES = 6 };
#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct machine {
    long seed;
    dice d;
    const soa_model *m;
    soa_work *w;
    size_t nq, nv;
    double *q, *v;
    double *Minv;
} machine;

/* M^-1 as the reference: soa_minv, or where M M^-1 shows that double precision does not suffice,
 * its columns in __float128. */
static long judged;
static void exact_minv(machine *t) {
    const soai_kernels *k = &soai_kernels_quad;
    const soai_view_double view = soai_model_view(t->m);
    const soai_map *map = SOAI_AT(t->m, soai_map, map_q);
    const size_t n = (size_t)t->m->tv;
    void *work = calloc(1, k->work_bytes);
    quad *arrays = calloc(k->work_reals(&view) + 1, sizeof(quad)),
         *q = calloc((size_t)t->m->tq + 1, sizeof(quad));
    quad *x = calloc(2 * n + 1, sizeof(quad)), *y = x + n;
    assert_true(work && arrays && q && x);
    k->work_place(&view, work, arrays);
    for (int i = 0; i < t->m->tq; ++i)
        q[i] = (quad)map[i].ratio * t->q[map[i].user] + map[i].offset;
    assert_int_equal(k->articulate(&view, work, q), 0);
    for (int b = 1; b <= t->m->nb; ++b)
        for (int c = 0; soai_metas(t->m)[b].leader < 0 && c < view.body[b].nv; ++c) {
            memset(x, 0, n * sizeof *x);
            x[view.body[b].iv + c] = 1;
            k->minv_mul(&view, work, x, y);
            for (int a = 1; a <= t->m->nb; ++a)
                for (int r = 0; soai_metas(t->m)[a].leader < 0 && r < view.body[a].nv; ++r)
                    t->Minv[t->nv * (size_t)(soai_metas(t->m)[a].user_v + r) +
                            (size_t)(soai_metas(t->m)[b].user_v + c)] =
                        (double)y[view.body[a].iv + r];
        }
    free(work);
    free(arrays);
    free(q);
    free(x);
    ++judged;
}
static void reference_minv(machine *t) {
    double *M = calloc(t->nv * t->nv + 1, sizeof *M), worst = 0;
    OK(soa_minv(t->m, t->w, t->q, t->Minv));
    OK(soa_crba(t->m, t->w, t->q, M));
    for (size_t i = 0; i < t->nv; ++i)
        for (size_t j = 0; j < t->nv; ++j) {
            double sum = -(double)(i == j);
            for (size_t k = 0; k < t->nv; ++k)
                sum += M[t->nv * i + k] * t->Minv[t->nv * k + j];
            if (!(fabs(sum) <= worst)) worst = fabs(sum);
        }
    free(M);
    if (!(worst <= 1e-12)) exact_minv(t);
}

static machine open_model(const char *name, int floating, int ideal, long seed) {
    const soa_read_options options = {floating, ideal};
    machine t = {.seed = seed, .d = {(uint64_t)seed * 77 + 5}};
    soa_report report = {0};
    if (soa_stock_model_create(name, &options, &t.m, &report))
        fail_msg("%s: %s", name, report.text);
    OK(soa_work_create(t.m, &t.w));
    t.nq = (size_t)soa_model_nq(t.m);
    t.nv = (size_t)soa_model_nv(t.m);
    t.q = calloc(t.nq + 1, sizeof(double));
    t.v = calloc(t.nv + 1, sizeof(double));
    t.Minv = calloc(t.nv * t.nv + 1, sizeof(double));
    soa_q_neutral(t.m, t.q);
    roll_many(&t.d, -2, 2, t.nv, t.v);
    OK(soa_q_integrate(t.m, t.q, t.v, 1, t.q)); /* any configuration */
    roll_many(&t.d, -1, 1, t.nv, t.v);
    reference_minv(&t);
    return t;
}
static machine open_tree(const char *family, long seed) {
    char name[64];
    snprintf(name, sizeof name, "%s:%ld", family, seed);
    return open_model(name, 0, 0, seed);
}
static void close_model(machine *t) {
    free(t->q);
    free(t->v);
    free(t->Minv);
    soa_work_free(t->w);
    soa_model_free(t->m);
}

/* ---- dense arithmetic, rows x columns -------------------------------------------------------- */
static double *matrix(size_t rows, size_t columns) {
    double *x = calloc(rows * columns + 1, sizeof *x);
    assert_non_null(x);
    return x;
}
/* A B and A B' */
static double *times(const double *A, const double *B, size_t n, size_t m, size_t k) {
    double *C = matrix(n, k);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < m; ++j)
            for (size_t l = 0; l < k; ++l)
                C[k * i + l] += A[m * i + j] * B[k * j + l];
    return C;
}
static double *turned(const double *A, size_t n, size_t m) {
    double *T = matrix(m, n);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < m; ++j)
            T[n * j + i] = A[m * i + j];
    return T;
}
/* A^-1 by Gauss and Jordan with row pivoting, in long double. */
static double *inverse_of(const double *A, size_t n) {
    long double *x = calloc(2 * n * n + 1, sizeof *x);
    double *out = matrix(n, n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j)
            x[2 * n * i + j] = A[n * i + j];
        x[2 * n * i + n + i] = 1;
    }
    for (size_t c = 0; c < n; ++c) {
        size_t best = c;
        for (size_t r = c; r < n; ++r)
            if (fabsl(x[2 * n * r + c]) > fabsl(x[2 * n * best + c])) best = r;
        for (size_t j = 0; j < 2 * n; ++j) {
            const long double t = x[2 * n * c + j];
            x[2 * n * c + j] = x[2 * n * best + j];
            x[2 * n * best + j] = t;
        }
        const long double pivot = x[2 * n * c + c];
        for (size_t j = 0; j < 2 * n; ++j)
            x[2 * n * c + j] /= pivot;
        for (size_t r = 0; r < n; ++r) {
            const long double s = x[2 * n * r + c];
            for (size_t j = 0; r != c && j < 2 * n; ++j)
                x[2 * n * r + j] -= s * x[2 * n * c + j];
        }
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            out[n * i + j] = (double)x[2 * n * i + n + j];
    free(x);
    return out;
}

/* Rows of J of the frames, in the axes of each. */
static double *jacobians(machine *t, const soa_task *tasks, int count) {
    double *J = matrix(6 * (size_t)count, t->nv);
    OK(soa_kinematics(t->m, t->w, t->q, t->v, NULL));
    for (int i = 0; i < count; ++i)
        OK(soa_jacobian(t->m, t->w, tasks[i].frame, tasks[i].axes, J + 6 * (size_t)i * t->nv));
    return J;
}
static double *dense_compliance(machine *t, const double *J, size_t rows) {
    double *JM = times(J, t->Minv, rows, t->nv, t->nv), *Jt = turned(J, rows, t->nv);
    double *Omega = times(JM, Jt, rows, t->nv, rows);
    free(JM);
    free(Jt);
    return Omega;
}

/* ---- compliance ------------------------------------------------------------------------------ */
static int root_of(const soa_model *m, int body) {
    soa_body_info info;
    while (body && soa_model_body(m, body, &info) == SOA_OK && info.parent)
        body = info.parent;
    return body;
}
static int carries(const soa_model *m, int a, int b) { /* a is b or an ancestor of it */
    soa_body_info info;
    for (; b; b = info.parent) {
        if (a == b) return 1;
        OK(soa_model_body(m, b, &info));
    }
    return 0;
}
static int body_of(const soa_model *m, int frame) {
    soa_frame_info info;
    OK(soa_model_frame(m, frame, &info));
    return info.body;
}

typedef struct census {
    long same, ancestor, branches, roots, world, joints[SOA_JOINT_TYPE_COUNT], mimic, rotor;
} census;

static void check_compliance(machine *t, worst_case *worst, census *seen) {
    const int count = 1 + (int)roll(&t->d, 0, MOST_FRAMES - 1e-9);
    int frames[MOST_FRAMES];
    soa_task tasks[MOST_FRAMES];
    const soa_axes axes = roll(&t->d, 0, 1) < 0.5 ? SOA_AXES_WORLD : SOA_AXES_BODY;
    for (int i = 0; i < count; ++i) {
        frames[i] = (int)roll(&t->d, 0, soa_model_frame_count(t->m) - 1e-9);
        tasks[i] = (soa_task){frames[i], axes, 0};
    }
    const size_t rows = 6 * (size_t)count;
    double *J = jacobians(t, tasks, count), *Omega = dense_compliance(t, J, rows),
           *got = matrix(rows, rows);
    OK(soa_compliance(t->m, t->w, t->q, frames, count, axes, got));
    note(worst, relative(got, Omega, rows * rows), t->seed);
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < i; ++j) {
            const int a = body_of(t->m, frames[i]), b = body_of(t->m, frames[j]);
            if (!a || !b)
                ++seen->world;
            else if (a == b)
                ++seen->same;
            else if (carries(t->m, a, b) || carries(t->m, b, a))
                ++seen->ancestor;
            else if (root_of(t->m, a) == root_of(t->m, b))
                ++seen->branches;
            else
                ++seen->roots;
            for (size_t r = 0; r < 36; ++r) { /* bodies that meet only at the world */
                const double x = got[rows * (6 * (size_t)i + r / 6) + 6 * (size_t)j + r % 6];
                if (root_of(t->m, a) != root_of(t->m, b) && !seen->mimic) assert_true(x == 0);
            }
        }
    for (size_t i = 0; i < rows; ++i) /* symmetric to the last bit */
        for (size_t j = 0; j < i; ++j)
            assert_true(got[rows * i + j] == got[rows * j + i]);
    free(J);
    free(Omega);
    free(got);
}
static void count_joints(const machine *t, census *seen) {
    for (int i = 1; i <= soa_model_body_count(t->m); ++i) {
        soa_body_info info;
        OK(soa_model_body(t->m, i, &info));
        ++seen->joints[info.type];
        seen->mimic += info.mimic >= 0;
        seen->rotor += info.rotor_inertia > 0 && info.rotor_model == SOA_ROTOR_EXACT;
    }
}
/* Marks of the model at hand alone, so that blocks between roots are asked to be zero only without
 * mimic joints. */
static void compliance_on_random_trees(void **state) {
    (void)state;
    worst_case plain = {0}, mimic = {0};
    census all = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        machine t = open_tree("random", s);
        census here = {0};
        count_joints(&t, &here);
        for (int round = 0; round < 3; ++round)
            check_compliance(&t, here.mimic ? &mimic : &plain, &here);
        all.same += here.same;
        all.ancestor += here.ancestor;
        all.branches += here.branches;
        all.roots += here.roots;
        all.world += here.world;
        all.mimic += here.mimic;
        all.rotor += here.rotor;
        for (int k = 0; k < SOA_JOINT_TYPE_COUNT; ++k)
            all.joints[k] += here.joints[k];
        close_model(&t);
    }
    printf("  M^-1 in __float128 for %ld trees\n", judged);
    printf("  pairs of frames: %ld on one body, %ld ancestors, %ld branches, %ld roots, %ld at the "
           "world\n",
           all.same, all.ancestor, all.branches, all.roots, all.world);
    assert_true(all.same > 20 && all.ancestor > 20 && all.branches > 20 && all.roots > 20 &&
                all.world > 5);
    for (int k = SOA_REVOLUTE; k < SOA_JOINT_TYPE_COUNT; ++k)
        assert_true(all.joints[k] > 20);
    assert_true(all.mimic > 20 && all.rotor > 20);
    conclude("Omega = J M^-1 J'", &plain, 1e-11);
    conclude("Omega = J M^-1 J', mimic joints", &mimic, 1e-11);
}
static void compliance_on_shipped_models(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int floating, ideal;
    } models[] = {
        {"puma560", 0, 0},   {"two-puma-object", 0, 0}, {"arm7", 0, 0},     {"satellite", 1, 0},
        {"quadruped", 1, 0}, {"humanoid", 1, 0},        {"humanoid", 0, 1}, {"arm7", 1, 1},
        {"chain:60", 0, 0},  {"planar-chain:30", 0, 0}, {"two-puma", 0, 0}};
    worst_case worst = {0};
    census seen = {0};
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k)
        for (long s = first_seed(); s < first_seed() + 5; ++s) {
            machine t = open_model(models[k].name, models[k].floating, models[k].ideal, s);
            census here = {0};
            count_joints(&t, &here);
            for (int round = 0; round < 4; ++round)
                check_compliance(&t, &worst, &here);
            seen.branches += here.branches;
            seen.ancestor += here.ancestor;
            close_model(&t);
        }
    assert_true(seen.branches > 20 && seen.ancestor > 20);
    conclude("Omega = J M^-1 J', shipped models, some floating", &worst, 1e-11);
}

/* J M^-1 J' formed densely in __float128, world axes; ideal models, whose coordinates are the
 * tree's. */
static void quad_compliance(const machine *t, const int *frames, int count, double *Omega) {
    const soai_kernels *k = &soai_kernels_quad;
    const soai_view_double view = soai_model_view(t->m);
    const size_t n = t->nv, rows = 6 * (size_t)count;
    void *work = calloc(1, k->work_bytes);
    quad *arrays = calloc(k->work_reals(&view) + 1, sizeof(quad)),
         *q = calloc(t->nq + n + 1, sizeof(quad));
    quad *M = calloc(n * n + 1, sizeof(quad)), *J = calloc(rows * n + 1, sizeof(quad)),
         *zero = q + t->nq;
    assert_true(work && arrays && q && M && J);
    k->work_place(&view, work, arrays);
    for (size_t i = 0; i < t->nq; ++i)
        q[i] = t->q[i];
    k->kinematics(&view, work, q, zero, zero);
    OK(soa_kinematics(t->m, t->w, t->q, NULL, NULL));
    for (int i = 0; i < count; ++i) {
        soa_frame pose;
        OK(soa_pose(t->m, t->w, frames[i], &pose));
        const quad at[3] = {pose.p[0], pose.p[1], pose.p[2]};
        k->jacobian(&view, work, body_of(t->m, frames[i]), at, J + 6 * (size_t)i * n);
    }
    assert_int_equal(k->articulate(&view, work, q), 0);
    k->minv_form(&view, work, M);
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < rows; ++c) {
            quad sum = 0;
            for (size_t i = 0; i < n; ++i)
                for (size_t j = 0; J[n * r + i] != 0 && j < n; ++j)
                    sum += J[n * r + i] * M[n * i + j] * J[n * c + j];
            Omega[rows * r + c] = (double)sum;
        }
    free(work);
    free(arrays);
    free(q);
    free(M);
    free(J);
}
static void compliance_against_quadruple_precision(void **state) {
    (void)state;
    worst_case recursion = {0}, dense = {0};
    for (long s = first_seed(); s < first_seed() + 60; ++s) {
        machine t = open_tree("random-ideal", s);
        const int frames[3] = {soa_model_frame_count(t.m) - 1, soa_model_frame_count(t.m) / 2,
                               soa_model_frame_count(t.m) / 3};
        const soa_task tasks[3] = {{frames[0], SOA_AXES_WORLD, 0},
                                   {frames[1], SOA_AXES_WORLD, 0},
                                   {frames[2], SOA_AXES_WORLD, 0}};
        double want[18 * 18], got[18 * 18];
        quad_compliance(&t, frames, 3, want);
        OK(soa_compliance(t.m, t.w, t.q, frames, 3, SOA_AXES_WORLD, got));
        double *J = jacobians(&t, tasks, 3), *formed = dense_compliance(&t, J, 18);
        note(&recursion, relative(got, want, 18 * 18), s);
        note(&dense, relative(formed, want, 18 * 18), s);
        free(J);
        free(formed);
        close_model(&t);
    }
    conclude("Omega = J M^-1 J' in __float128", &recursion, 1e-11);
    conclude("(J M^-1 J' formed densely)", &dense, 1e-11);
}

/* The dense oracle of the operators: B' psi' H' inv(D) H psi B, and J inv(Mass) J', of the same
 * frames. */
static void compliance_is_the_operator_expression(void **state) {
    (void)state;
    const char *texts[2] = {"J inv(Mass) J'", "B' psi' H' inv(D) H psi B"};
    worst_case worst = {0};
    for (long s = first_seed(); s < first_seed() + 60; ++s) {
        machine t = open_tree("random-ideal", s);
        int frames[3], count = 0;
        for (int f = soa_model_frame_count(t.m) - 1; f >= 0 && count < 3; f -= 2)
            if (body_of(t.m, f)) frames[count++] = f;
        soa_machine *k = NULL;
        if (count && soa_machine_create(t.m, frames, count, &k, NULL) == SOA_OK) {
            const size_t n = 6 * (size_t)count;
            double *got = matrix(n, n), *dense = matrix(n, n);
            OK(soa_machine_set_state(k, t.q, NULL, NULL, NULL, NULL, NULL, 0));
            OK(soa_compliance(t.m, t.w, t.q, frames, count, SOA_AXES_BODY, got));
            for (int i = 0; i < 2; ++i) {
                const soa_expr *e = NULL;
                OK(soa_expr_parse(texts[i], NULL, 0, &e, NULL, 0));
                OK(soa_machine_dense_matrix(k, e, dense));
                soa_expr_free(e);
                note(&worst, relative(got, dense, n * n), s);
            }
            free(got);
            free(dense);
            soa_machine_free(k);
        }
        close_model(&t);
    }
    conclude("Omega = the dense oracle's J inv(Mass) J'", &worst, 1e-11);
}

/* ---- R87 (81), (82) and RJK91 (20) by their own recursions ----------------------------------- */
typedef struct six {
    double x[36];
} six;
static six six_mul(const six *a, const six *b) {
    six c = {{0}};
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j)
            for (int k = 0; k < 6; ++k)
                c.x[6 * i + k] += a->x[6 * i + j] * b->x[6 * j + k];
    return c;
}
static six six_turn(const six *a) {
    six t;
    for (int i = 0; i < 36; ++i)
        t.x[i] = a->x[6 * (i % 6) + i / 6];
    return t;
}
static six six_congruence(const six *a, const six *m) { /* a' m a */
    const six t = six_turn(a), l = six_mul(&t, m);
    return six_mul(&l, a);
}
/* phi: forces of the child to the parent */
static six six_phi(const soa_frame *X) {
    six phi;
    for (int c = 0; c < 6; ++c) {
        double f[6] = {0};
        f[c] = 1;
        soa_frame_force_to_parent(X, f, f);
        for (int r = 0; r < 6; ++r)
            phi.x[6 * r + c] = f[r];
    }
    return phi;
}
static six six_inertia(const soa_body_info *b) { /* about the body's origin */
    static const int at[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    const double *c = b->com, m = b->mass, C[9] = {0, -c[2], c[1], c[2], 0, -c[0], -c[1], c[0], 0};
    six M = {{0}};
    for (int i = 0; i < 3; ++i) {
        M.x[7 * (3 + i)] = m;
        for (int j = 0; j < 3; ++j) {
            double cc = 0;
            for (int k = 0; k < 3; ++k)
                cc += C[3 * i + k] * C[3 * j + k];
            M.x[6 * i + j] = b->inertia[at[3 * i + j]] + m * cc;
            M.x[6 * i + 3 + j] = m * C[3 * i + j];
            M.x[6 * (3 + i) + j] = m * C[3 * j + i];
        }
    }
    return M;
}
/* A serial arm of one-dof joints, base to tip; R87 numbers from tip to base. Here k = 0 is the body
 * next to the base. */
enum { LINKS = 9 };
typedef struct serial_arm {
    const soa_model *m;
    soa_work *w;
    double q[LINKS];
    six phi[LINKS + 1]; /* takes forces of body k to its parent, the last those of the tip */
    six pass[LINKS];    /* I - G H */
    six HDH[LINKS];     /* H* D^-1 H */
} serial_arm;
static serial_arm random_arm(long seed) {
    static const soa_joint_type types[3] = {SOA_REVOLUTE, SOA_PRISMATIC, SOA_HELICAL};
    dice d = {(uint64_t)seed * 31 + 7};
    soa_body_def bodies[LINKS];
    char names[LINKS][16];
    for (int i = 0; i < LINKS; ++i) {
        snprintf(names[i], sizeof names[i], "l%d", i);
        bodies[i] = soa_body_default(names[i], i, types[(int)roll(&d, 0, 2.999)]);
        soa_body_box(&bodies[i], roll(&d, 1, 3), 0.1, 0.2, 0.3);
        roll_many(&d, -0.2, 0.2, 3, bodies[i].com);
        bodies[i].placement = soa_frame_from_rpy(roll(&d, -2, 2), roll(&d, -1, 1), roll(&d, -2, 2),
                                                 roll(&d, -1, 1), roll(&d, -1, 1), roll(&d, -1, 1));
        roll_many(&d, 0.1, 1, 3, bodies[i].joint.axis);
        bodies[i].joint.pitch = 0.1;
    }
    const soa_frame_def tip = {"tip", LINKS, soa_frame_from_rpy(0.3, 0.2, 0.1, 0.1, 0.2, 0.3)};
    soa_model_def def = soa_model_default("arm", bodies, LINKS);
    def.frames = &tip;
    def.frame_count = 1;
    serial_arm a = {0};
    OK(soa_model_create(&def, &a.m, NULL));
    OK(soa_work_create(a.m, &a.w));
    assert_int_equal(soa_model_nv(a.m), LINKS);
    roll_many(&d, -2, 2, LINKS, a.q);
    return a;
}
static void find_phi(serial_arm *a) {
    soa_frame before = soa_frame_identity();
    OK(soa_kinematics(a->m, a->w, a->q, NULL, NULL));
    for (int k = 0; k <= LINKS; ++k) {
        soa_frame pose;
        char name[16];
        snprintf(name, sizeof name, k < LINKS ? "l%d" : "tip", k);
        OK(soa_pose(a->m, a->w, soa_model_find_frame(a->m, name), &pose));
        const soa_frame back = soa_frame_inverse(&before), X = soa_frame_compose(&back, &pose);
        a->phi[k] = six_phi(&X);
        before = pose;
    }
}
/* H, in axes of the body. */
static void joint_row(const soa_body_info *b, double h[6]) {
    for (int i = 0; i < 3; ++i) {
        h[i] = b->type == SOA_PRISMATIC ? 0 : b->axis[i];
        if (b->type == SOA_PRISMATIC) {
            h[3 + i] = b->axis[i];
        } else if (b->type == SOA_HELICAL) {
            h[3 + i] = b->pitch * b->axis[i];
        } else {
            h[3 + i] = 0;
        }
    }
}
/* R87 (37) to (39), (43), tip to base. */
static void filter_arm(serial_arm *a) {
    six P = {{0}};
    for (int k = LINKS - 1; k >= 0; --k) {
        soa_body_info b;
        OK(soa_model_body(a->m, k + 1, &b));
        const six M = six_inertia(&b);
        for (int i = 0; i < 36; ++i)
            P.x[i] += M.x[i];
        double h[6], PH[6] = {0}, D = 0;
        joint_row(&b, h);
        for (int i = 0; i < 36; ++i)
            PH[i / 6] += P.x[i] * h[i % 6];
        for (int i = 0; i < 6; ++i)
            D += h[i] * PH[i];
        for (int i = 0; i < 36; ++i) {
            a->pass[k].x[i] = (i % 7 == 0) - PH[i / 6] / D * h[i % 6];
            a->HDH[k].x[i] = h[i / 6] * h[i % 6] / D;
        }
        const six Plus = six_mul(&a->pass[k], &P), back = six_turn(&a->phi[k]),
                  half = six_mul(&a->phi[k], &Plus);
        P = six_mul(&half, &back);
    }
}
/* From the terminal condition at the base (82) and (81) by turns; in the end Delta+(0). */
static six delta_plus_0(const serial_arm *a) {
    six plus = {{0}};
    for (int k = 0; k < LINKS; ++k) {
        six minus = six_congruence(&a->pass[k], &plus);
        for (int i = 0; i < 36; ++i)
            minus.x[i] += a->HDH[k].x[i];
        plus = six_congruence(&a->phi[k + 1], &minus);
    }
    return plus;
}
/* RJK91 after (20): Omega(k) = psi* Omega(k+1) psi + H* D^-1 H. */
static six omega_0(const serial_arm *a) {
    six omega = {{0}};
    for (int k = 0; k < LINKS; ++k) {
        const six psi = six_mul(&a->phi[k], &a->pass[k]);
        omega = six_congruence(&psi, &omega);
        for (int i = 0; i < 36; ++i)
            omega.x[i] += a->HDH[k].x[i];
    }
    return six_congruence(&a->phi[LINKS], &omega);
}
static void R87_81_82_delta_plus_0_equals_RJK91_20_omega_0(void **state) {
    (void)state;
    worst_case r87 = {0}, rjk91 = {0};
    for (long s = first_seed(); s < first_seed() + 100; ++s) {
        serial_arm a = random_arm(s);
        find_phi(&a);
        filter_arm(&a);
        const six plus = delta_plus_0(&a), omega = omega_0(&a);
        const int tip = soa_model_find_frame(a.m, "tip");
        double Omega[36];
        OK(soa_compliance(a.m, a.w, a.q, &tip, 1, SOA_AXES_BODY, Omega));
        note(&r87, relative(Omega, plus.x, 36), s);
        note(&rjk91, relative(Omega, omega.x, 36), s);
        soa_work_free(a.w);
        soa_model_free(a.m);
    }
    conclude("R87 (81), (82): Delta+(0) = soa_compliance", &r87, 1e-11);
    conclude("RJK91 (20): Omega(0) = soa_compliance", &rjk91, 1e-11);
}

/* ---- operational space ----------------------------------------------------------------------- */
typedef struct space {
    soa_task tasks[4];
    int count;
    size_t r; /* rows chosen */
    soa_operational out;
    void *memory;
    size_t size;
    double rcond;
} space;

static size_t pick(const soa_task *tasks, int count, size_t columns, const double *all,
                   double *chosen) {
    size_t r = 0;
    for (int i = 0; i < 6 * count; ++i) {
        const unsigned rows = tasks[i / 6].rows ? tasks[i / 6].rows : 63u;
        if (rows >> i % 6 & 1)
            memcpy(chosen + columns * r++, all + columns * (size_t)i, columns * sizeof *all);
    }
    return r;
}
static space open_space(const machine *t, const soa_task *tasks, int count) {
    space o = {.count = count};
    memcpy(o.tasks, tasks, (size_t)count * sizeof *tasks);
    const size_t n = 6 * (size_t)count;
    o.size = soa_operational_space_size(t->m, count);
    assert_true(o.size > 0);
    o.memory = malloc(o.size);
    o.out = (soa_operational){matrix(n, t->nv), matrix(n, n),     matrix(n, 1),
                              matrix(n, 1),     matrix(t->nv, n), matrix(t->nv, t->nv)};
    return o;
}
static void close_space(space *o) {
    free(o->memory);
    free(o->out.jacobian);
    free(o->out.lambda);
    free(o->out.mu);
    free(o->out.p);
    free(o->out.jbar);
    free(o->out.null);
}
static space random_tasks(machine *t) {
    soa_task tasks[4];
    static const unsigned masks[] = {SOA_ROWS_ALL, SOA_ROWS_ANGULAR, SOA_ROWS_LINEAR, 8, 33, 2, 40};
    const int count = 1 + (int)roll(&t->d, 0, 2.999);
    for (int i = 0; i < count; ++i)
        tasks[i] = (soa_task){(int)roll(&t->d, 0, soa_model_frame_count(t->m) - 1e-9),
                              roll(&t->d, 0, 1) < 0.5 ? SOA_AXES_WORLD : SOA_AXES_BODY,
                              masks[(int)roll(&t->d, 0, sizeof masks / sizeof *masks - 1e-9)]};
    return open_space(t, tasks, count);
}
/* Error of got = L (J M^-1 tau - drift), as a share of the same with all numbers taken positive:
 * terms that cancel leave the rounding of their size. */
static double task_force_error(const machine *t, const double *J, const double *L, size_t r,
                               const double *tau, const double *drift, const double *got) {
    const size_t n = t->nv;
    double worst = 0, scale = 1e-3;
    double *x = times(t->Minv, tau, n, n, 1), *size = matrix(n, 1);
    for (size_t i = 0; i < n * n; ++i)
        size[i / n] += fabs(t->Minv[i] * tau[i % n]);
    for (size_t i = 0; i < r; ++i) {
        double sum = 0, sizes = 0;
        for (size_t j = 0; j < r; ++j) {
            double a = drift ? -drift[j] : 0, b = fabs(a);
            for (size_t k = 0; k < n; ++k) {
                a += J[n * j + k] * x[k];
                b += fabs(J[n * j + k]) * size[k];
            }
            sum += L[r * i + j] * a;
            sizes += fabs(L[r * i + j]) * b;
        }
        if (!(fabs(got[i] - sum) <= worst)) worst = fabs(got[i] - sum);
        if (sizes > scale) scale = sizes;
    }
    free(x);
    free(size);
    return worst / scale;
}

/* 1 / (max(1, |S|) |S^-1|) in the 1-norm, S being the chosen rows of Omega (`all` of them given) in
 * units that make the mean of the diagonal 1, angular and linear rows apart. */
static double reach(const machine *t, int frame) {
    soa_frame_info info;
    soa_frame pose, in;
    double sum = 0;
    OK(soa_model_frame(t->m, frame, &info));
    OK(soa_pose(t->m, t->w, frame, &pose));
    for (int b = info.body; b;) {
        soa_body_info body;
        OK(soa_model_body(t->m, b, &body));
        OK(soa_pose(t->m, t->w, body.frame, &in)); /* the body's own: its link's frame */
        sum += hypot(hypot(pose.p[0] - in.p[0], pose.p[1] - in.p[1]), pose.p[2] - in.p[2]);
        pose = in;
        b = body.parent;
    }
    return sum;
}
static double dense_rcond(const machine *t, const soa_task *tasks, int count, const double *all) {
    double mean[2] = {0, 0}, norm[2] = {1, 0}, far = 0;
    const size_t n = 6 * (size_t)count;
    size_t r = 0, rows[24];
    for (size_t i = 0; i < n; ++i) {
        if ((tasks[i / 6].rows ? tasks[i / 6].rows : 63u) >> i % 6 & 1) rows[r++] = i;
        mean[i % 6 >= 3] += all[(n + 1) * i] / (3 * count);
    }
    for (int i = 0; i < count; ++i)
        far = fmax(far, reach(t, tasks[i].frame));
    mean[1] = fmax(mean[1], mean[0] * 1e-14 * far * far);
    double *S = matrix(r, r);
    for (size_t i = 0; i < r * r; ++i) {
        const double unit = sqrt(mean[rows[i / r] % 6 >= 3] * mean[rows[i % r] % 6 >= 3]);
        S[i] = unit > 0 ? all[n * rows[i / r] + rows[i % r]] / unit : 0;
    }
    double *inverse = inverse_of(S, r);
    for (size_t c = 0; c < r; ++c) {
        double sum[2] = {0, 0};
        for (size_t i = 0; i < r; ++i) {
            sum[0] += fabs(S[r * i + c]);
            sum[1] += fabs(inverse[r * i + c]);
        }
        for (int k = 0; k < 2; ++k)
            norm[k] = sum[k] > norm[k] || isnan(sum[k]) ? sum[k] : norm[k];
    }
    free(S);
    free(inverse);
    return norm[0] * norm[1] > 0 ? 1 / (norm[0] * norm[1]) : 0;
}

/* Errors grow with the condition number, so they are taken times rcond. */
typedef struct results {
    worst_case rcond, J, lambda, mu, p, jbar, null, one, idempotent, free, acceleration;
    long singular;
} results;

/* The dense form of a space: chosen rows of J and dJ/dt v, Omega = J M^-1 J', and where it can be
 * inverted Lambda, jbar = M^-1 J' Lambda and N' = 1 - J' jbar'. */
typedef struct dense_space {
    size_t r, n; /* rows: chosen, all */
    double *J, *drift, *Omega, rcond;
    double *lambda, *jbar, *null;
} dense_space;
static dense_space dense_open(machine *t, const space *o) {
    const size_t n = 6 * (size_t)o->count;
    double *all = jacobians(t, o->tasks, o->count), *drift_all = matrix(n, 1);
    dense_space d = {.n = n, .J = matrix(n, t->nv), .drift = matrix(n, 1)};
    d.r = pick(o->tasks, o->count, t->nv, all, d.J);
    for (int i = 0; i < o->count; ++i)
        OK(soa_jacobian_dot_v(t->m, t->w, o->tasks[i].frame, o->tasks[i].axes, drift_all + 6 * i));
    pick(o->tasks, o->count, 1, drift_all, d.drift);
    d.Omega = dense_compliance(t, d.J, d.r);
    double *Omega_all = dense_compliance(t, all, n);
    d.rcond = dense_rcond(t, o->tasks, o->count, Omega_all);
    free(Omega_all);
    free(drift_all);
    free(all);
    return d;
}
static void dense_invert(const machine *t, dense_space *d) {
    const size_t nv = t->nv, r = d->r;
    d->lambda = inverse_of(d->Omega, r);
    double *Jt = turned(d->J, r, nv), *MJ = times(t->Minv, Jt, nv, nv, r);
    d->jbar = times(MJ, d->lambda, nv, r, r);
    double *Jbt = turned(d->jbar, nv, r);
    d->null = times(Jt, Jbt, nv, r, nv);
    for (size_t i = 0; i < nv * nv; ++i)
        d->null[i] = (i % (nv + 1) == 0) - d->null[i];
    free(Jt);
    free(MJ);
    free(Jbt);
}
static void dense_close(dense_space *d) {
    free(d->J);
    free(d->drift);
    free(d->Omega);
    free(d->lambda);
    free(d->jbar);
    free(d->null);
}

static void compare_dense(const machine *t, const space *o, const dense_space *d, results *e) {
    const size_t nv = t->nv, r = d->r;
    const double g = o->rcond;
    double *tau = matrix(nv, 1);
    note(&e->J, relative(o->out.jacobian, d->J, r * nv), t->seed);
    note(&e->lambda, g * relative(o->out.lambda, d->lambda, r * r), t->seed);
    note(&e->jbar, g * relative(o->out.jbar, d->jbar, nv * r), t->seed);
    note(&e->null, g * relative(o->out.null, d->null, nv * nv), t->seed);
    OK(soa_coriolis_mul(t->m, t->w, t->q, t->v, t->v, tau));
    note(&e->mu, g * task_force_error(t, d->J, d->lambda, r, tau, d->drift, o->out.mu), t->seed);
    OK(soa_gravity_torque(t->m, t->w, t->q, tau));
    note(&e->p, g * task_force_error(t, d->J, d->lambda, r, tau, NULL, o->out.p), t->seed);
    free(tau);
}
/* J jbar = 1; N' N' = N'; J M^-1 N' = 0. */
static void compare_products(const machine *t, const space *o, const dense_space *d, results *e) {
    const size_t nv = t->nv, r = d->r;
    const double g = o->rcond;
    double *one = times(o->out.jacobian, o->out.jbar, r, nv, r), *unit = matrix(r, r);
    for (size_t i = 0; i < r; ++i)
        unit[(r + 1) * i] = 1;
    note(&e->one, g * relative(one, unit, r * r), t->seed);
    double *twice = times(o->out.null, o->out.null, nv, nv, nv);
    note(&e->idempotent, g * relative(twice, o->out.null, nv * nv), t->seed);
    double *JM = times(d->J, t->Minv, r, nv, nv), *JMN = times(JM, o->out.null, r, nv, nv);
    for (size_t i = 0; i < r * nv; ++i)
        JMN[i] += JM[i]; /* compared with J M^-1, for its size */
    note(&e->free, g * relative(JMN, JM, r * nv), t->seed);
    free(one);
    free(unit);
    free(twice);
    free(JM);
    free(JMN);
}
/* tau = J' (Lambda want + mu + p) + N' tau0, and what makes up for friction and springs: the rest
 * of the bias. */
static void operational_torques(const machine *t, const space *o, size_t r, const double *want,
                                const double *tau0, double *tau) {
    const size_t nv = t->nv;
    double *force = matrix(r, 1), *loss = matrix(nv, 1), *b = matrix(nv, 1);
    for (size_t i = 0; i < r; ++i) {
        force[i] = o->out.mu[i] + o->out.p[i];
        for (size_t j = 0; j < r; ++j)
            force[i] += o->out.lambda[r * i + j] * want[j];
    }
    OK(soa_bias_torque(t->m, t->w, t->q, t->v, loss));
    OK(soa_coriolis_mul(t->m, t->w, t->q, t->v, t->v, b));
    OK(soa_gravity_torque(t->m, t->w, t->q, tau));
    for (size_t i = 0; i < nv; ++i) {
        tau[i] = loss[i] - b[i] - tau[i];
        for (size_t j = 0; j < r; ++j)
            tau[i] += o->out.jacobian[nv * j + i] * force[j];
        for (size_t j = 0; j < nv; ++j)
            tau[i] += o->out.null[nv * i + j] * tau0[j];
    }
    free(force);
    free(loss);
    free(b);
}
/* Such torques give the task the acceleration wanted, whatever tau0 is. */
static void compare_motion(machine *t, const space *o, const dense_space *d, results *e) {
    const size_t nv = t->nv, r = d->r;
    double *want = matrix(r, 1), *tau0 = matrix(nv, 1), *tau = matrix(nv, 1), *vdot = matrix(nv, 1),
           *got_all = matrix(d->n, 1), *got = matrix(d->n, 1), scale = 1;
    roll_many(&t->d, -3, 3, r, want);
    roll_many(&t->d, -20, 20, nv, tau0);
    operational_torques(t, o, r, want, tau0, tau);
    OK(soa_aba(t->m, t->w, t->q, t->v, tau, NULL, 0, vdot));
    OK(soa_kinematics(t->m, t->w, t->q, t->v, vdot));
    for (int i = 0; i < o->count; ++i)
        OK(soa_acceleration_classical(t->m, t->w, o->tasks[i].frame, o->tasks[i].axes,
                                      got_all + 6 * i));
    pick(o->tasks, o->count, 1, got_all, got);
    for (size_t i = 0; i < nv; ++i)
        scale = fabs(vdot[i]) > scale ? fabs(vdot[i]) : scale;
    for (size_t i = 0; i < r; ++i)
        note(&e->acceleration, o->rcond * fabs(got[i] - want[i]) / scale, t->seed);
    free(want);
    free(tau0);
    free(tau);
    free(vdot);
    free(got_all);
    free(got);
}
static void check_space(machine *t, results *e) {
    space o = random_tasks(t);
    const soa_status s = soa_operational_space(
        t->m, t->w,
        &(soa_operational_input){.q = t->q, .v = t->v, .tasks = o.tasks, .task_count = o.count},
        o.memory, o.size, &o.out, &o.rcond);
    dense_space d = dense_open(t, &o);
    note(&e->rcond, fabs(o.rcond - d.rcond) / (d.rcond + 1e-3), t->seed);
    if (s == SOA_E_SINGULAR) {
        assert_true(o.rcond < 1e-12 && d.rcond < 1e-11); /* so says the dense form too */
        for (size_t i = 0; i < d.r * d.r; ++i)
            assert_true(o.out.lambda[i] == 0);
        ++e->singular;
    } else {
        OK(s);
        assert_true(o.rcond >= 1e-12 && o.rcond <= 1);
        dense_invert(t, &d);
        compare_dense(t, &o, &d, e);
        compare_products(t, &o, &d, e);
        compare_motion(t, &o, &d, e);
    }
    dense_close(&d);
    close_space(&o);
}
static void conclude_space(results *e) {
    printf("  %ld singular tasks among them\n", e->singular);
    conclude("reciprocal condition number", &e->rcond, 1e-9);
    conclude("J", &e->J, 1e-13);
    conclude("Lambda (J M^-1 J') = 1, errors times rcond", &e->lambda, 1e-11);
    conclude("mu", &e->mu, 1e-11);
    conclude("p", &e->p, 1e-11);
    conclude("jbar = M^-1 J' Lambda", &e->jbar, 1e-11);
    conclude("N' = 1 - J' jbar'", &e->null, 1e-11);
    conclude("J jbar = 1", &e->one, 1e-11);
    conclude("N' N' = N'", &e->idempotent, 1e-11);
    conclude("J M^-1 N' = 0", &e->free, 1e-11);
    conclude("tau = J'(Lambda a + mu + p) + N' tau0 gives a", &e->acceleration, 1e-11);
}
static void operational_space_on_random_trees(void **state) {
    (void)state;
    results e = {0};
    for (long s = first_seed(); s < first_seed() + TREES; ++s) {
        machine t = open_tree("random", s);
        for (int round = 0; round < 2; ++round)
            check_space(&t, &e);
        close_model(&t);
    }
    assert_true(e.singular > 20 && e.lambda.count > TREES / 2);
    conclude_space(&e);
}
static void operational_space_of_shipped_models(void **state) {
    (void)state;
    static const char *const names[] = {"arm7",      "puma560",   "humanoid",
                                        "quadruped", "satellite", "two-puma-object"};
    results e = {0};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        for (long s = first_seed(); s < first_seed() + 10; ++s) {
            machine t = open_model(names[k], k >= 2 && k < 5, 0, s);
            check_space(&t, &e);
            close_model(&t);
        }
    conclude_space(&e);
}

/* ---- singular tasks -------------------------------------------------------------------------- */
static double largest_gap(const double *a, const double *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; ++i)
        most = fabs(a[i] - b[i]) > most ? fabs(a[i] - b[i]) : most;
    return most;
}
static soa_status run(machine *t, space *o, double damping) {
    return soa_operational_space(
        t->m, t->w,
        &(soa_operational_input){
            .q = t->q, .v = t->v, .tasks = o->tasks, .task_count = o->count, .damping = damping},
        o->memory, o->size, &o->out, &o->rcond);
}
/* A PUMA and its last link, all rows of it a task. */
typedef struct wrist {
    machine t;
    soa_task all, linear;
    space o; /* of all */
} wrist;
static wrist open_wrist(void) {
    wrist p = {.t = open_model("puma560", 0, 0, 3)};
    soa_body_info last;
    OK(soa_model_body(p.t.m, soa_model_body_count(p.t.m), &last));
    p.all = (soa_task){last.frame, SOA_AXES_WORLD, SOA_ROWS_ALL};
    p.linear = (soa_task){last.frame, SOA_AXES_WORLD, SOA_ROWS_LINEAR};
    p.o = open_space(&p.t, &p.all, 1);
    return p;
}
static void close_wrist(wrist *p) {
    close_space(&p->o);
    close_model(&p->t);
}
/* The wrist stretched: axes of joints 4 and 6 on one line. */
static void singular_wrist(void **state) {
    (void)state;
    wrist p = open_wrist();
    space *o = &p.o;
    OK(run(&p.t, o, 0));
    assert_true(o->rcond > 1e-6);
    p.t.q[4] = 0;
    memset(o->out.lambda, 0, 36 * sizeof(double));
    memset(o->out.mu, 0, 6 * sizeof(double));
    assert_int_equal(run(&p.t, o, 0), SOA_E_SINGULAR);
    assert_true(o->rcond >= 0 && o->rcond < 1e-14);
    for (int i = 0; i < 36; ++i)
        assert_true(o->out.lambda[i] == 0 && (i > 5 || o->out.mu[i] == 0));
    space position = open_space(&p.t, &p.linear, 1);
    OK(run(&p.t, &position, 0)); /* its position is still free */
    close_space(&position);
    /* near it rcond falls as the square of the angle */
    double before = 0;
    for (int k = 1; k <= 4; ++k) {
        p.t.q[4] = pow(10, -k);
        OK(run(&p.t, o, 0));
        if (k > 1) assert_true(o->rcond < before / 50 && o->rcond > before / 200);
        before = o->rcond;
    }
    close_wrist(&p);
}
/* Damped: Lambda (Omega + damping mean) = 1, with the mean of the diagonal, angular and linear rows
 * apart. */
static void damped_wrist(void **state) {
    (void)state;
    wrist p = open_wrist();
    space *o = &p.o;
    const double damping = 1e-3;
    double Omega[36], mean[2] = {0, 0};
    p.t.q[4] = 0;
    OK(run(&p.t, o, damping));
    assert_true(o->rcond < 1e-14);
    OK(soa_compliance(p.t.m, p.t.w, p.t.q, &p.all.frame, 1, SOA_AXES_WORLD, Omega));
    for (int i = 0; i < 6; ++i)
        mean[i / 3] += Omega[7 * i] / 3;
    for (int i = 0; i < 6; ++i)
        Omega[7 * i] += damping * mean[i / 3];
    double *L = inverse_of(Omega, 6);
    assert_true(relative(o->out.lambda, L, 36) < 1e-11);
    free(L);
    /* little damping changes little where nothing is singular */
    p.t.q[4] = 1;
    double exact[36];
    OK(run(&p.t, o, 0));
    memcpy(exact, o->out.lambda, sizeof exact);
    OK(run(&p.t, o, 1e-12));
    assert_true(largest_gap(exact, o->out.lambda, 36) < 1e-6 * fabs(exact[0] + exact[35]));
    close_wrist(&p);
}
static void one_frame_twice(void **state) {
    (void)state;
    wrist p = open_wrist();
    p.t.q[4] = 1;
    const soa_task twice[2] = {p.linear, p.linear};
    space o = open_space(&p.t, twice, 2);
    assert_int_equal(run(&p.t, &o, 0), SOA_E_SINGULAR);
    assert_true(o.rcond < 1e-12);
    OK(run(&p.t, &o, 1e-6));
    close_space(&o);
    close_wrist(&p);
}
/* Motions in the plane x z: turning about y, x, z. */
static void out_of_the_plane(void **state) {
    (void)state;
    machine chain = open_model("planar-chain:5", 0, 0, 4);
    const int tip = soa_model_find_frame(chain.m, "tip");
    assert_true(tip >= 0);
    for (unsigned row = 0; row < 6; ++row) {
        const soa_task task = {tip, SOA_AXES_WORLD, 1u << row};
        space o = open_space(&chain, &task, 1);
        const int moves = row == 1 || row == 3 || row == 5;
        assert_int_equal(run(&chain, &o, 0), moves ? SOA_OK : SOA_E_SINGULAR);
        assert_true(moves ? o.rcond > 0.01 : o.rcond == 0);
        close_space(&o);
    }
    const soa_task plane = {tip, SOA_AXES_WORLD, 2 + 8 + 32};
    space o = open_space(&chain, &plane, 1);
    OK(run(&chain, &o, 0));
    close_space(&o);
    close_model(&chain);
}
static void task_of_the_world(void **state) {
    (void)state;
    machine arm = open_model("arm7", 0, 0, 5);
    soa_frame_info info;
    int world = 0;
    while (world < soa_model_frame_count(arm.m) && soa_model_frame(arm.m, world, &info) == SOA_OK &&
           info.body)
        ++world;
    if (world < soa_model_frame_count(arm.m)) {
        const soa_task still = {world, SOA_AXES_BODY, 0};
        double Omega[36];
        memset(Omega, 1, sizeof Omega);
        OK(soa_compliance(arm.m, arm.w, arm.q, &world, 1, SOA_AXES_WORLD, Omega));
        for (int i = 0; i < 36; ++i)
            assert_true(Omega[i] == 0);
        space o = open_space(&arm, &still, 1);
        assert_int_equal(run(&arm, &o, 0), SOA_E_SINGULAR);
        assert_int_equal(run(&arm, &o, 0.1), SOA_E_SINGULAR); /* nothing to damp */
        assert_true(o.rcond == 0);
        close_space(&o);
    }
    close_model(&arm);
}

/* The unit of length does not matter to rcond: the same arm in millimetres (masses and seconds
 * stay). */
static void rcond_does_not_depend_on_the_unit_of_length(void **state) {
    (void)state;
    double rcond[2];
    for (int k = 0; k < 2; ++k) {
        const double unit = k ? 1000 : 1;
        soa_body_def b[6];
        static const char *const names[6] = {"a", "b", "c", "d", "e", "f"};
        for (int i = 0; i < 6; ++i) {
            b[i] = soa_body_default(names[i], i, SOA_REVOLUTE);
            soa_body_box(&b[i], 1 + i, 0.1 * unit, 0.2 * unit, 0.3 * unit);
            b[i].placement =
                soa_frame_from_rpy(0.7, 0.4 * i, 0.3, 0.3 * unit, 0.1 * unit, 0.2 * unit);
        }
        soa_model_def def = soa_model_default("arm", b, 6);
        const soa_model *m = NULL;
        soa_work *w = NULL;
        OK(soa_model_create(&def, &m, NULL));
        OK(soa_work_create(m, &w));
        const soa_task task = {soa_model_find_frame(m, "f"), SOA_AXES_WORLD, 0};
        const double q[6] = {0.3, 0.9, -0.4, 0.8, 1.1, -0.6};
        const size_t size = soa_operational_space_size(m, 1);
        void *memory = malloc(size);
        const soa_operational nothing = {0};
        OK(soa_operational_space(m, w,
                                 &(soa_operational_input){.q = q, .tasks = &task, .task_count = 1},
                                 memory, size, &nothing, &rcond[k]));
        free(memory);
        soa_work_free(w);
        soa_model_free(m);
    }
    assert_true(fabs(rcond[0] - rcond[1]) < 1e-10 * rcond[0]);
}

/* ---- bad input ------------------------------------------------------------------------------- */
#define REFUSED(status, call) assert_int_equal(call, status)
/* An arm with a task at its last link; puma560's work space belongs to another model. */
typedef struct refusing {
    machine t, other;
    int frame;
    soa_task task;
    double *bad; /* nq numbers, the third of them not finite */
} refusing;
static refusing open_refusing(void) {
    refusing f = {.t = open_model("arm7", 0, 0, 6), .other = open_model("puma560", 0, 0, 6)};
    soa_body_info last;
    OK(soa_model_body(f.t.m, soa_model_body_count(f.t.m), &last));
    f.frame = last.frame;
    f.task = (soa_task){last.frame, SOA_AXES_WORLD, 0};
    f.bad = matrix(f.t.nq, 1);
    f.bad[2] = NAN;
    return f;
}
static void close_refusing(refusing *f) {
    free(f->bad);
    close_model(&f->t);
    close_model(&f->other);
}
static void compliance_refused(void **state) {
    (void)state;
    refusing f = open_refusing();
    machine t = f.t;
    double Omega[36] = {0};
    const int frame = f.frame, wrong[2] = {-1, soa_model_frame_count(t.m)};
    const soa_axes world = SOA_AXES_WORLD;
    REFUSED(SOA_E_ARGUMENT, soa_compliance(NULL, t.w, t.q, &frame, 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, NULL, t.q, &frame, 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, f.other.w, t.q, &frame, 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, NULL, 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &frame, 0, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &frame, -1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &wrong[0], 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &wrong[1], 1, world, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &frame, 1, (soa_axes)2, Omega));
    REFUSED(SOA_E_ARGUMENT, soa_compliance(t.m, t.w, t.q, &frame, 1, world, NULL));
    REFUSED(SOA_E_NOT_FINITE, soa_compliance(t.m, t.w, f.bad, &frame, 1, world, Omega));
    assert_int_equal(soa_work_failed_body(t.w), 3);
    for (int i = 0; i < 36; ++i)
        assert_true(Omega[i] == 0);
    OK(soa_compliance(t.m, t.w, NULL, &frame, 1, world, Omega)); /* neutral */
    close_refusing(&f);
}
#define CALL(M, W, Q, V, T, N, DAMPING, MEMORY, SIZE, OUT)                                         \
    soa_operational_space(                                                                         \
        M, W,                                                                                      \
        &(soa_operational_input){.q = Q, .v = V, .tasks = T, .task_count = N, .damping = DAMPING}, \
        MEMORY, SIZE, OUT, &rcond)
static void operational_space_refused(void **state) {
    (void)state;
    refusing f = open_refusing();
    machine t = f.t;
    const soa_task task = f.task;
    soa_task odd = task;
    double rcond = -7;
    space o = open_space(&t, &task, 1);
    assert_true(soa_operational_space_size(NULL, 1) == 0 &&
                soa_operational_space_size(t.m, 0) == 0 &&
                soa_operational_space_size(t.m, -3) == 0);
    REFUSED(SOA_E_ARGUMENT, CALL(NULL, t.w, t.q, t.v, &task, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, NULL, t.q, t.v, &task, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, f.other.w, t.q, t.v, &task, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, NULL, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &task, 0, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &task, 1, -1, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &task, 1, NAN, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &task, 1, INFINITY, o.memory, o.size, &o.out));
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &task, 1, 0, o.memory, o.size, NULL));
    REFUSED(SOA_E_MEMORY, CALL(t.m, t.w, t.q, t.v, &task, 1, 0, NULL, o.size, &o.out));
    REFUSED(SOA_E_MEMORY, CALL(t.m, t.w, t.q, t.v, &task, 1, 0, o.memory, o.size - 1, &o.out));
    REFUSED(SOA_E_MEMORY,
            CALL(t.m, t.w, t.q, t.v, &task, 1, 0, (char *)o.memory + 1, o.size, &o.out));
    odd.frame = soa_model_frame_count(t.m);
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &odd, 1, 0, o.memory, o.size, &o.out));
    odd = task;
    odd.rows = 64;
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &odd, 1, 0, o.memory, o.size, &o.out));
    odd = task;
    odd.axes = (soa_axes)7;
    REFUSED(SOA_E_ARGUMENT, CALL(t.m, t.w, t.q, t.v, &odd, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_NOT_FINITE, CALL(t.m, t.w, f.bad, t.v, &task, 1, 0, o.memory, o.size, &o.out));
    REFUSED(SOA_E_NOT_FINITE, CALL(t.m, t.w, t.q, f.bad, &task, 1, 0, o.memory, o.size, &o.out));
    for (size_t i = 0; i < t.nq; ++i)
        f.bad[i] = 1e200; /* too fast for the numbers */
    REFUSED(SOA_E_NOT_FINITE, CALL(t.m, t.w, t.q, f.bad, &task, 1, 0, o.memory, o.size, &o.out));
    assert_true(rcond == -7);
    for (int i = 0; i < 36; ++i)
        assert_true(o.out.lambda[i] == 0 && o.out.mu[i % 6] == 0);
    close_space(&o);
    close_refusing(&f);
}
/* Any output may be left out, and what is asked for does not depend on the rest. */
static void outputs_left_out(void **state) {
    (void)state;
    refusing f = open_refusing();
    machine t = f.t;
    space o = open_space(&t, &f.task, 1);
    OK(run(&t, &o, 0));
    double lambda[36], mu[6], p[6];
    const soa_operational some[3] = {{.lambda = lambda}, {.mu = mu}, {.p = p}};
    for (int i = 0; i < 3; ++i)
        OK(soa_operational_space(
            t.m, t.w,
            &(soa_operational_input){.q = t.q, .v = t.v, .tasks = &f.task, .task_count = 1},
            o.memory, o.size, &some[i], NULL));
    assert_memory_equal(lambda, o.out.lambda, sizeof lambda);
    assert_memory_equal(mu, o.out.mu, sizeof mu);
    assert_memory_equal(p, o.out.p, sizeof p);
    close_space(&o);
    close_refusing(&f);
}
/* The hinge of a massless tip moves nothing. */
static void massless_tip(void **state) {
    (void)state;
    soa_body_def bodies[2] = {soa_body_default("a", 0, SOA_REVOLUTE),
                              soa_body_default("tip", 1, SOA_REVOLUTE)};
    soa_body_box(&bodies[0], 1, 0.1, 0.2, 0.3);
    soa_model_def def = soa_model_default("massless tip", bodies, 2);
    const soa_model *m = NULL;
    soa_work *w = NULL;
    OK(soa_model_create(&def, &m, NULL));
    OK(soa_work_create(m, &w));
    const int tip = soa_model_find_frame(m, "tip");
    const soa_task on_tip = {tip, SOA_AXES_WORLD, 1};
    const size_t size = soa_operational_space_size(m, 1);
    void *memory = malloc(size);
    const soa_operational nothing = {0};
    double Omega[36], rcond;
    REFUSED(SOA_E_HINGE_SINGULAR, soa_compliance(m, w, NULL, &tip, 1, SOA_AXES_WORLD, Omega));
    assert_int_equal(soa_work_failed_body(w), 2);
    REFUSED(SOA_E_HINGE_SINGULAR, CALL(m, w, NULL, NULL, &on_tip, 1, 0, memory, size, &nothing));
    free(memory);
    soa_work_free(w);
    soa_model_free(m);
}

/* Long arms: as exact at 1,000 joints, against one solve with the mass matrix. */
static void long_chains(void **state) {
    (void)state;
    worst_case worst = {0};
    for (int k = 0; k < 2; ++k) {
        machine t = {.seed = k, .d = {9}};
        OK(soa_stock_model_create(k ? "planar-chain:1000" : "chain:1000", NULL, &t.m, NULL));
        OK(soa_work_create(t.m, &t.w));
        t.nv = (size_t)soa_model_nv(t.m);
        double *q = matrix(t.nv, 1), *x = matrix(t.nv, 1), *y = matrix(t.nv, 1), got[36], want[36];
        roll_many(&t.d, -0.1, 0.1, t.nv, q);
        soa_body_info last;
        OK(soa_model_body(t.m, soa_model_body_count(t.m), &last));
        OK(soa_compliance(t.m, t.w, q, &last.frame, 1, SOA_AXES_WORLD, got));
        for (int c = 0; c < 6; ++c) {
            double unit[6] = {0}, A[6];
            unit[c] = 1;
            OK(soa_kinematics(t.m, t.w, q, NULL, NULL));
            OK(soa_jacobian_transpose_mul(t.m, t.w, last.frame, SOA_AXES_WORLD, unit, x));
            OK(soa_minv_mul(t.m, t.w, q, x, y));
            OK(soa_kinematics(t.m, t.w, q, NULL, NULL));
            OK(soa_jacobian_mul(t.m, t.w, last.frame, SOA_AXES_WORLD, y, A));
            for (int r = 0; r < 6; ++r)
                want[6 * r + c] = A[r];
        }
        note(&worst, relative(got, want, 36), k);
        free(q);
        free(x);
        free(y);
        soa_work_free(t.w);
        soa_model_free(t.m);
    }
    conclude("chains of 1,000: Omega = J (M^-1 (J' f))", &worst, 1e-11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compliance_on_random_trees),
        cmocka_unit_test(compliance_on_shipped_models),
        cmocka_unit_test(compliance_against_quadruple_precision),
        cmocka_unit_test(compliance_is_the_operator_expression),
        cmocka_unit_test(R87_81_82_delta_plus_0_equals_RJK91_20_omega_0),
        cmocka_unit_test(operational_space_on_random_trees),
        cmocka_unit_test(operational_space_of_shipped_models),
        cmocka_unit_test(singular_wrist),
        cmocka_unit_test(damped_wrist),
        cmocka_unit_test(one_frame_twice),
        cmocka_unit_test(out_of_the_plane),
        cmocka_unit_test(task_of_the_world),
        cmocka_unit_test(rcond_does_not_depend_on_the_unit_of_length),
        cmocka_unit_test(compliance_refused),
        cmocka_unit_test(operational_space_refused),
        cmocka_unit_test(outputs_left_out),
        cmocka_unit_test(massless_tip),
        cmocka_unit_test(long_chains),
    };
    return cmocka_run_group_tests_name("operational", tests, NULL, NULL);
}
