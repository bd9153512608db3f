/* test_observability.c  singular and redundant directions of arms, and the Gramians they come from,
 * against LAPACK's singular values of J; on random trees with every joint type, at exactly singular
 * poses of puma560 and arm7, close to them, and on redundant chains.
 * SOA_SEED=n chooses other models. */
#include "check.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <lapacke.h>

enum { TREES = 150 };
#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct bench {
    const soa_model *m;
    soa_work *w, *other;
    size_t nv;
    double *q, *J, *joints, *redundant, *U, *V;
    double sigma[6];
    soa_tip tip;
    soa_axes axes;
    soa_observability_result r;
    long seed;
} bench;
static double *room(size_t n) {
    return calloc(n + 1, sizeof(double));
}
static bench open_bench(const char *name, long seed) {
    bench b = {.seed = seed};
    soa_report report;
    dice d = {(uint64_t)seed * 29 + 3};
    if (soa_stock_model_create(name, NULL, &b.m, &report)) fail_msg("%s: %s", name, report.text);
    OK(soa_work_create(b.m, &b.w));
    OK(soa_work_create(b.m, &b.other));
    b.nv = (size_t)soa_model_nv(b.m);
    b.q = room((size_t)soa_model_nq(b.m));
    b.J = room(6 * b.nv + 36);
    b.joints = room(6 * b.nv);
    b.redundant = room(b.nv * b.nv);
    b.U = room(36);
    b.V = room(b.nv * b.nv);
    double *v = room(b.nv);
    roll_many(&d, -2, 2, b.nv, v);
    soa_q_neutral(b.m, b.q);
    OK(soa_q_integrate(b.m, b.q, v, 1, b.q));
    free(v);
    b.tip = (soa_tip){.angular = 1, .linear = 1};
    b.tip.frame = soa_model_frame_count(b.m) - 1;
    b.axes = SOA_AXES_WORLD;
    return b;
}
static void close_bench(bench *b) {
    soa_work_free(b->w);
    soa_work_free(b->other);
    soa_model_free(b->m);
    free(b->q);
    free(b->J);
    free(b->joints);
    free(b->redundant);
    free(b->U);
    free(b->V);
}
/* J with its weights, and its singular values and vectors by LAPACK. */
static void judge(bench *b) {
    const int nv = (int)b->nv;
    OK(soa_kinematics(b->m, b->other, b->q, NULL, NULL));
    OK(soa_jacobian(b->m, b->other, b->tip.frame, b->axes, b->J));
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < nv; ++c)
            b->J[nv * r + c] *= r < 3 ? b->tip.angular : b->tip.linear;
    double *copy = room(6 * b->nv), s[6] = {0}, super[6];
    memcpy(copy, b->J, 6 * b->nv * sizeof *copy);
    assert_int_equal(
        LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'A', 'A', 6, nv, copy, nv, s, b->U, 6, b->V, nv, super),
        0);
    memcpy(b->sigma, s, sizeof s);
    free(copy);
}
enum { SIGMA, DECOMPOSED, ORTHONORMAL, TIP_RESTS, COMPLETE, NULL_SPACE, HELD, GRAMIAN, CHECKS };
static const char *const names[CHECKS] = {
    "singular values = LAPACK's",
    "J' U = V S",
    "U, V and the redundant directions are orthonormal",
    "J times a redundant direction = 0",
    "V and the redundant directions span all joint rates",
    "redundant directions = null space of LAPACK",
    "directions that are not reached = LAPACK's",
    "gramian = J J*",
};
static double gap(const double *s, int rank) { /* sigma(rank) / sigma(1): how well it is decided */
    return rank ? s[rank - 1] / s[0] : 1;
}
static void check_orthonormal(const bench *b, worst_case *w) {
    const size_t nv = b->nv, rank = (size_t)b->r.rank, free_ = (size_t)b->r.redundant;
    double worst = 0;
    for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) {
            double s = i == j ? -1 : 0;
            for (size_t k = 0; k < 6; ++k)
                s += b->r.directions[6 * i + k] * b->r.directions[6 * j + k];
            if (!(fabs(s) <= worst)) worst = fabs(s);
        }
    for (size_t i = 0; i < rank + free_; ++i)
        for (size_t j = 0; j <= i; ++j) {
            const double *x = i < rank ? b->joints + nv * i : b->redundant + nv * (i - rank);
            const double *y = j < rank ? b->joints + nv * j : b->redundant + nv * (j - rank);
            double s = i == j ? -1 : 0;
            for (size_t k = 0; k < nv; ++k)
                s += x[k] * y[k];
            if (!(fabs(s) <= worst)) worst = fabs(s);
        }
    note(w + ORTHONORMAL, worst, b->seed);
    note(w + COMPLETE, rank + free_ == nv ? 0 : 1, b->seed);
}
/* Largest difference of the projectors on two sets of rows. */
static double projector(size_t n, const double *A, size_t a, const double *B, size_t c) {
    double worst = 0;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            double s = 0;
            for (size_t k = 0; k < a; ++k)
                s += A[n * k + i] * A[n * k + j];
            for (size_t k = 0; k < c; ++k)
                s -= B[n * k + i] * B[n * k + j];
            if (!(fabs(s) <= worst)) worst = fabs(s);
        }
    return worst;
}
static void run(bench *b, worst_case w[CHECKS]) {
    const size_t nv = b->nv;
    judge(b);
    OK(soa_observability(b->m, b->w, b->q, &b->tip, b->axes, &b->r, b->joints, b->redundant));
    const size_t rank = (size_t)b->r.rank;
    double size = fmax(b->sigma[0], 1e-9), worst = 0, rests = 0, JJ[36], UT[36];
    for (int i = 0; i < 6; ++i)
        worst = fmax(worst, fabs(b->r.singular[i] - b->sigma[i]) / size);
    note(w + SIGMA, worst, b->seed);
    int expected = 0;
    for (int i = 0; i < 6; ++i)
        expected += b->sigma[i] > 0 && b->sigma[i] > 1e-10 * b->sigma[0];
    assert_int_equal(b->r.rank, expected);
    assert_int_equal(b->r.redundant, (int)nv - expected);
    worst = 0;
    for (size_t i = 0; i < 6; ++i)
        for (size_t c = 0; c < nv; ++c) {
            double s = 0;
            for (size_t k = 0; k < 6; ++k)
                s += b->J[nv * k + c] * b->r.directions[6 * i + k];
            const double want = i < rank ? b->r.singular[i] * b->joints[nv * i + c] : 0;
            worst = fmax(worst, fabs(s - want) / size);
        }
    note(w + DECOMPOSED, worst, b->seed);
    for (size_t i = 0; i < nv - rank; ++i)
        for (size_t r = 0; r < 6; ++r) {
            double s = 0;
            for (size_t c = 0; c < nv; ++c)
                s += b->J[nv * r + c] * b->redundant[nv * i + c];
            rests = fmax(rests, fabs(s) / size);
        }
    note(w + TIP_RESTS, rests, b->seed);
    check_orthonormal(b, w);
    const double sharp = gap(b->sigma, b->r.rank);
    note(w + NULL_SPACE,
         projector(nv, b->redundant, nv - rank, b->V + nv * rank, nv - rank) * sharp, b->seed);
    for (int i = 0; i < 36; ++i)
        UT[i] = b->U[6 * (i % 6) + i / 6];
    note(w + HELD,
         projector(6, b->r.directions + 6 * rank, 6 - rank, UT + 6 * rank, 6 - rank) * sharp,
         b->seed);
    for (size_t r = 0; r < 6; ++r)
        for (size_t c = 0; c < 6; ++c) {
            JJ[6 * r + c] = 0;
            for (size_t k = 0; k < nv; ++k)
                JJ[6 * r + c] += b->J[nv * r + k] * b->J[nv * c + k];
        }
    note(w + GRAMIAN, relative(b->r.gramian, JJ, 36), b->seed);
}
static void conclude_all(const worst_case w[CHECKS]) {
    for (int c = 0; c < CHECKS; ++c)
        conclude(names[c], w + c, 1e-11);
}

static void random_trees_and_arms(void **state) {
    (void)state;
    worst_case w[CHECKS] = {{0}};
    for (long seed = first_seed(); seed < first_seed() + TREES; ++seed) {
        char name[64];
        snprintf(name, sizeof name, seed % 3 ? "random:%ld" : "random-ideal:%ld", seed);
        bench b = open_bench(name, seed);
        dice d = {(uint64_t)seed * 7 + 1};
        b.tip.frame = (int)roll(&d, 0, soa_model_frame_count(b.m) - 1e-9);
        b.tip.angular = seed % 5 ? roll(&d, 0.1, 3) : 0;
        b.tip.linear = seed % 7 ? roll(&d, 0.1, 3) : 0;
        b.axes = seed & 1 ? SOA_AXES_WORLD : SOA_AXES_BODY;
        run(&b, w);
        close_bench(&b);
    }
    static const char *const named[] = {"arm7",     "puma560",        "chain:30", "chain:200",
                                        "humanoid", "planar-chain:4", "satellite"};
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        bench b = open_bench(named[i], first_seed() + (long)i);
        run(&b, w);
        printf("  %-16s rank %d, redundant %d\n", named[i], b.r.rank, b.r.redundant);
        close_bench(&b);
    }
    conclude_all(w);
}

/* ---- singular poses -------------------------------------------------------------------------- */
/* A lost direction: the tip's velocity has no component along it for any joint rates, and a wrench
 * along it is in balance without joint torques. */
static void check_lost(bench *b, worst_case *motion, worst_case *torque) {
    const double none[3] = {0};
    const soa_model *light;
    soa_work *w;
    dice d = {(uint64_t)b->seed};
    double *v = room(b->nv), *tau = room(b->nv);
    OK(soa_model_with_gravity(b->m, none, &light));
    OK(soa_work_create(light, &w));
    for (int i = b->r.rank; i < 6; ++i) {
        double V[6], along = 0, most = 0;
        const double *u = b->r.directions + 6 * i;
        roll_many(&d, -1, 1, b->nv, v);
        OK(soa_kinematics(b->m, b->other, b->q, v, NULL));
        OK(soa_velocity(b->m, b->other, b->tip.frame, b->axes, V));
        for (int k = 0; k < 6; ++k)
            along += V[k] * u[k];
        note(motion, fabs(along), b->seed);
        soa_wrench f = {.frame = b->tip.frame, .axes = b->axes};
        memcpy(f.value, u, sizeof f.value);
        OK(soa_rnea(light, w, b->q, NULL, NULL, &f, 1, tau));
        for (size_t j = 0; j < b->nv; ++j)
            most = fmax(most, fabs(tau[j]));
        note(torque, most, b->seed);
    }
    soa_work_free(w);
    soa_model_free(light);
    free(v);
    free(tau);
}
static void exactly_singular_poses(void **state) {
    (void)state;
    worst_case w[CHECKS] = {{0}}, motion = {0}, torque = {0};
    const double right = acos(-1) / 2;
    /* wrist axes 4 and 6 in line; and of arm7 the straight arm, its elbow at 0, its wrist at 0 */
    const struct {
        const char *model;
        double q[7];
        int rank;
    } poses[] = {
        {"puma560", {0.3, -0.7, 0.9, 0.4, 0, -0.2}, 5},
        {"puma560", {0.3, -right, right, 0.4, 0, -0.2}, -1},
        {"arm7", {0, 0, 0, 0, 0, 0, 0}, -1},
        {"arm7", {0.2, 0, 0.3, 0, 0.4, 0, 0.5}, -1},
        {"arm7", {0.2, 0.5, 0.3, 0, 0.4, 0.6, 0.5}, -1},
        {"arm7", {0.2, 0.5, 0.3, 0.8, 0.4, 0, 0.5}, -1},
    };
    int singular = 0;
    for (size_t i = 0; i < sizeof poses / sizeof *poses; ++i) {
        bench b = open_bench(poses[i].model, first_seed() + (long)i);
        memcpy(b.q, poses[i].q, b.nv * sizeof *b.q);
        run(&b, w);
        if (poses[i].rank >= 0) assert_int_equal(b.r.rank, poses[i].rank);
        singular += b.r.rank < 6;
        check_lost(&b, &motion, &torque);
        printf("  %-8s pose %zu: rank %d, redundant %d, singular values %.3g ... %.3g %.2g\n",
               poses[i].model, i, b.r.rank, b.r.redundant, b.r.singular[0], b.r.singular[4],
               b.r.singular[5]);
        close_bench(&b);
    }
    assert_true(singular >= 4);
    conclude_all(w);
    conclude("lost directions: the tip does not move along them", &motion, 1e-12);
    conclude("lost directions: wrenches held without torques", &torque, 1e-12);
}
/* Close to the wrist singularity of the PUMA the smallest singular value is proportional to the angle
 * of joint 5.  The eigenvalues of the Gramian lose it below 1e-8. */
static void close_to_a_singular_pose(void **state) {
    (void)state;
    worst_case w = {0};
    double at_one = 0;
    int lost = 0;
    for (int p = 2; p <= 9; ++p) {
        bench b = open_bench("puma560", first_seed());
        const double angle = pow(10, -p), q[6] = {0.3, -0.7, 0.9, 0.4, angle, -0.2};
        double G[36], values[6];
        memcpy(b.q, q, sizeof q);
        OK(soa_observability(b.m, b.w, b.q, &b.tip, b.axes, &b.r, b.joints, NULL));
        assert_int_equal(b.r.rank, 6);
        memcpy(G, b.r.gramian, sizeof G);
        assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 6, G, 6, values), 0);
        const double slope = b.r.singular[5] / angle, by_gramian = sqrt(fabs(values[0]));
        if (p == 2) at_one = slope;
        note(&w, fabs(slope / at_one - 1), p);
        lost += fabs(by_gramian / b.r.singular[5] - 1) > 0.1;
        printf("  q5 = 1e-%d: sigma_6 = %.6e; root of the Gramian's eigenvalue %.6e\n", p,
               b.r.singular[5], by_gramian);
        close_bench(&b);
    }
    conclude("sigma_6 / q5 is constant", &w, 1e-3);
    assert_true(lost >= 1);
}

/* ---- the Gramians along the chain ------------------------------------------------------------ */
static double *dense(soa_machine *machine, const char *text, size_t n) {
    const soa_expr *e = NULL;
    char message[600];
    double *x = room(n);
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK)
        fail_msg("%s", message);
    OK(soa_machine_dense_matrix(machine, e, x));
    soa_expr_free(e);
    return x;
}
/* Squares of the singular values of the tip's J with joints outboard of body k locked, by LAPACK. */
static void with_locked(bench *b, int k, double s[6]) {
    const int nv = (int)b->nv;
    double *copy = room(6 * b->nv), super[6];
    judge(b);
    for (int i = 1; i <= soa_model_body_count(b->m); ++i) {
        soa_body_info info;
        int j = k;
        OK(soa_model_body(b->m, i, &info));
        for (; j > i;) { /* is i inboard of k, or k itself? */
            soa_body_info own;
            OK(soa_model_body(b->m, j, &own));
            j = own.parent;
        }
        for (int c = 0; j == i && c < info.nv; ++c)
            for (int r = 0; r < 6; ++r)
                copy[nv * r + info.v_index + c] = b->J[nv * r + info.v_index + c];
    }
    assert_int_equal(
        LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', 6, nv, copy, nv, s, b->U, 6, b->V, nv, super),
        0);
    free(copy);
}
static int descending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}
static void gramians_along_the_chain(void **state) {
    (void)state;
    worst_case o = {0}, jj = {0}, hankel = {0}, trace = {0};
    static const char *const named[] = {"arm7",           "puma560",         "chain:12",
                                        "random-ideal:4", "random-ideal:10", "quadruped"};
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        bench b = open_bench(named[i], first_seed() + (long)i);
        const size_t nb = (size_t)soa_model_body_count(b.m);
        soa_machine *machine;
        soa_report report;
        soa_body_info last;
        OK(soa_model_body(b.m, (int)nb, &last));
        b.tip = (soa_tip){.frame = last.frame, .angular = 0.7, .linear = 1.3};
        if (b.nv < 6) fail_msg("LAPACK's values are six for nv >= 6");
        double *O = room(36 * nb), *C = room(36 * nb), *JJ = room(36), sum = 0, total = 0;
        OK(soa_observability_gramians(b.m, b.w, b.q, &b.tip, O, C));
        OK(soa_machine_create(b.m, NULL, 0, &machine, &report));
        OK(soa_machine_set_state(machine, b.q, NULL, NULL, NULL, NULL, NULL, 0));
        double *all = dense(machine, "phi' H' H phi", 36 * nb * nb);
        for (int k = 1; k <= (int)nb; ++k) {
            soa_body_info info;
            double block[36];
            const double *Ok = O + 36 * (k - 1), *Ck = C + 36 * (k - 1);
            OK(soa_model_body(b.m, k, &info));
            for (size_t j = 0; j < 36; ++j)
                block[j] =
                    all[(6 * (size_t)(k - 1) + j / 6) * 6 * nb + 6 * (size_t)(k - 1) + j % 6];
            note(&o, relative(Ok, block, 36), b.seed);
            OK(soa_jjt(b.m, b.other, b.q, &info.frame, 1, SOA_AXES_BODY, JJ));
            note(&jj, relative(Ok, JJ, 36), b.seed);
            double diagonal = 0;
            for (int j = 0; j < 6; ++j)
                diagonal += Ck[7 * j];
            if (diagonal == 0) continue; /* beside the path */
            double product[36], real[6], imaginary[6], s[6] = {0}, squares[6];
            for (int j = 0; j < 36; ++j) {
                product[j] = 0;
                for (int c = 0; c < 6; ++c)
                    product[j] += Ok[6 * (j / 6) + c] * Ck[6 * c + j % 6];
            }
            assert_int_equal(LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', 6, product, 6, real,
                                           imaginary, NULL, 6, NULL, 6),
                             0);
            qsort(real, 6, sizeof *real, descending);
            with_locked(&b, k, s);
            for (int j = 0; j < 6; ++j)
                squares[j] = s[j] * s[j];
            note(&hankel, relative(real, squares, 6), b.seed);
        }
        /* tr J*J = sum of H(k) C(k) H'(k) */
        judge(&b);
        for (size_t j = 0; j < 6 * b.nv; ++j)
            total += b.J[j] * b.J[j];
        OK(soa_smoother(b.m, b.other, b.q, NULL, NULL, NULL, 0));
        for (int k = 1; k <= (int)nb; ++k) {
            soa_smoothed s;
            OK(soa_smoother_read(b.m, b.other, k, &s));
            for (int c = 0; c < s.nv; ++c)
                for (int j = 0; j < 36; ++j)
                    sum += s.H[6 * c + j / 6] * C[36 * (k - 1) + j] * s.H[6 * c + j % 6];
        }
        note(&trace, relative(&sum, &total, 1), b.seed);
        free(all);
        free(O);
        free(C);
        free(JJ);
        soa_machine_free(machine);
        close_bench(&b);
    }
    conclude("O(k) = diagonal of phi* H* H phi", &o, 1e-12);
    conclude("O(k) = J J* of body k", &jj, 1e-12);
    conclude("eigenvalues of O(k) C(k) = sigma^2, outboard locked", &hankel, 1e-10);
    conclude("sum of H C H' = trace of J*J", &trace, 1e-12);
}

static void bad_calls(void **state) {
    (void)state;
    bench b = open_bench("arm7", first_seed());
    double G[36 * 7];
    b.tip.frame = soa_model_frame_count(b.m);
    assert_int_equal(soa_observability(b.m, b.w, b.q, &b.tip, b.axes, &b.r, b.joints, b.redundant),
                     SOA_E_ARGUMENT);
    b.tip.frame = 1;
    b.tip.linear = -1;
    assert_int_equal(soa_observability(b.m, b.w, b.q, &b.tip, b.axes, &b.r, b.joints, NULL),
                     SOA_E_ARGUMENT);
    b.tip.linear = NAN;
    assert_int_equal(soa_observability(b.m, b.w, b.q, &b.tip, b.axes, &b.r, b.joints, NULL),
                     SOA_E_NOT_FINITE);
    assert_int_equal(soa_observability_gramians(b.m, b.w, b.q, &b.tip, G, G), SOA_E_NOT_FINITE);
    OK(soa_observability_gramians(b.m, b.w, b.q, NULL, G, NULL));
    b.tip = (soa_tip){.angular = 1, .linear = 1}; /* the world does not move */
    OK(soa_observability(b.m, b.w, b.q, &b.tip, b.axes, &b.r, b.joints, b.redundant));
    assert_int_equal(b.r.rank, 0);
    assert_int_equal(b.r.redundant, 7);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees_and_arms), cmocka_unit_test(exactly_singular_poses),
        cmocka_unit_test(close_to_a_singular_pose), cmocka_unit_test(gramians_along_the_chain),
        cmocka_unit_test(bad_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
