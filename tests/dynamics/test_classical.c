/* test_classical.c  the sweeps against the classical vector form (classical.c), on random trees of
 * every joint type.
 *
 * Relative error: max |difference| / max(max |reference|, 1e-3), per quantity and sample. SOA_SEED
 * sets the first of the seeds. */
#include "check.h"
#include "classical.h"
#include "soa/io.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)

enum { TREES = 1500, MOST_WRENCHES = 5 };
static const double tolerance = 1e-11;

static double noise(dice *d) {
    return roll(d, -1, 1);
}

/* One random tree with a random state. */
typedef struct sample {
    long seed;
    const soa_model *model;
    soa_work *work;
    int nq, nv, n;
    double *q, *v, *a, *tau, *got, *M;
    classical_body *body;
    soa_wrench wrench[MOST_WRENCHES];
    int wrenches;
    dice random;
} sample;

static void *room(int count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

/* The same tree with most axes along coordinate axes: the sweeps have shorter ways for those. */
static const soa_model *square_up(const soa_model *model, dice *random) {
    enum { MOST = 32 };
    soa_body_def bodies[MOST];
    int link[MOST + 1] = {0};
    const int n = soa_model_body_count(model);
    assert_true(n <= MOST);
    for (int i = 1; i <= n; i++) {
        soa_body_info info;
        OK(soa_model_body(model, i, &info));
        link[i] = i;
        soa_body_def *b = &bodies[i - 1];
        *b = classical_definition(&info, link);
        if (info.mimic > i) b->joint.mimic = info.mimic;
        if (noise(random) < -0.5) continue;
        const int k = (int)roll(random, 0, 3), k2 = (k + (noise(random) < 0 ? 1 : 2)) % 3;
        for (int c = 0; c < 3; c++)
            b->joint.axis[c] = b->joint.axis2[c] = 0;
        b->joint.axis[k] = noise(random) < 0.4 ? 1 : -1;
        b->joint.axis2[k2] = noise(random) < 0.4 ? 1 : -1;
    }
    soa_model_def def = soa_model_default(soa_model_name(model), bodies, n);
    const soa_model *squared = NULL;
    soa_model_gravity(model, def.gravity);
    OK(soa_model_create(&def, &squared, NULL));
    soa_model_free(model);
    return squared;
}

static sample draw(const char *family, long seed) {
    sample s = {.seed = seed, .random = {(uint64_t)seed * 7919 + 13}};
    char name[64];
    soa_report report = {SOA_OK, -1, 0, ""};
    snprintf(name, sizeof name, "%s:%ld", family, seed);
    if (soa_stock_model_create(name, NULL, &s.model, &report) != SOA_OK)
        fail_msg("%s: %s", name, report.text);
    if (seed % 2) s.model = square_up(s.model, &s.random);
    OK(soa_work_create(s.model, &s.work));
    s.nq = soa_model_nq(s.model);
    s.nv = soa_model_nv(s.model);
    s.n = soa_model_body_count(s.model);
    s.q = room(s.nq, sizeof(double));
    s.v = room(s.nv, sizeof(double));
    s.a = room(s.nv, sizeof(double));
    s.tau = room(s.nv, sizeof(double));
    s.got = room(s.nv, sizeof(double));
    s.M = room(s.nv * s.nv, sizeof(double));
    s.body = room(s.n + 1, sizeof(classical_body));
    for (int i = 0; i < s.nq; i++)
        s.q[i] = 3 * noise(&s.random);
    for (int i = 0; i < s.nv; i++) {
        s.v[i] = 2 * noise(&s.random);
        s.a[i] = 3 * noise(&s.random);
    }
    for (int i = 1; i <= s.n; i++) {
        soa_body_info info;
        OK(soa_model_body(s.model, i, &info));
        if (info.nq == info.nv) continue;
        double *e = s.q + info.q_index + info.nq - 4, norm = 0;
        for (int k = 0; k < 4; k++)
            norm += e[k] * e[k];
        for (int k = 0; k < 4; k++)
            e[k] /= sqrt(norm);
    }
    if (s.nv > 2 && seed % 4 == 0) s.v[s.nv / 2] = 0; /* Coulomb friction at rest */
    s.wrenches = (int)(seed % (MOST_WRENCHES + 1));
    for (int k = 0; k < s.wrenches; k++) {
        soa_wrench *x = s.wrench + k;
        x->frame = (int)((noise(&s.random) + 1) / 2 * soa_model_frame_count(s.model));
        x->axes = noise(&s.random) < 0 ? SOA_AXES_WORLD : SOA_AXES_BODY;
        for (int c = 0; c < 6; c++)
            x->value[c] = 20 * noise(&s.random);
    }
    return s;
}

static void drop(sample *s) {
    soa_work_free(s->work);
    soa_model_free(s->model);
    free(s->q);
    free(s->v);
    free(s->a);
    free(s->tau);
    free(s->got);
    free(s->M);
    free(s->body);
}

/* Relative error of a vector, remembered if the worst; fails, NaN included, above the tolerance. */
static void compare(const char *what, const sample *s, int item, const double *got,
                    const double *expected, int count, double allowed, double *worst) {
    double scale = 1e-3;
    for (int i = 0; i < count; i++)
        if (!(fabs(expected[i]) <= scale)) scale = fabs(expected[i]);
    for (int i = 0; i < count; i++) {
        const double error = fabs(got[i] - expected[i]) / scale;
        if (!(error <= allowed))
            fail_msg("%s, seed %ld (%s), item %d, number %d: got %.17g, expected %.17g, relative "
                     "error %.3g, allowed %.3g",
                     what, s->seed, soa_model_name(s->model), item, i, got[i], expected[i], error,
                     allowed);
        if (error > *worst) *worst = error;
    }
}

static void inverse_dynamics(void **state) {
    (void)state;
    double worst = 0, worst_force = 0, worst_bias = 0;
    int kinds[SOA_JOINT_TYPE_COUNT] = {0}, mimics = 0, rotors = 0, reflected = 0;
    for (long t = 0; t < TREES; t++) {
        sample s = draw(t % 5 == 4 ? "random-ideal" : "random", first_seed() + t);
        classical_inverse(s.model, s.q, s.v, s.a, s.wrench, s.wrenches, s.body, s.tau);
        OK(soa_rnea(s.model, s.work, s.q, s.v, s.a, s.wrench, s.wrenches, s.got));
        compare("rnea", &s, 0, s.got, s.tau, s.nv, tolerance, &worst);
        for (int i = 1; i <= s.n; i++) {
            soa_body_info info;
            OK(soa_model_body(s.model, i, &info));
            kinds[info.type]++;
            mimics += info.mimic >= 0;
            if (info.rotor_inertia > 0) {
                rotors += info.rotor_model == SOA_ROTOR_EXACT;
                reflected += info.rotor_model == SOA_ROTOR_REFLECTED;
            }
            const double *R = s.body[i].R, *N = s.body[i].N, *F = s.body[i].F;
            double got[6], expected[6];
            for (int k = 0; k < 3; k++) {
                expected[k] = R[k] * N[0] + R[3 + k] * N[1] + R[6 + k] * N[2];
                expected[3 + k] = R[k] * F[0] + R[3 + k] * F[1] + R[6 + k] * F[2];
            }
            OK(soa_joint_force(s.model, s.work, i, got));
            compare("joint_force", &s, i, got, expected, 6, 1e-10, &worst_force);
        }
        classical_inverse(s.model, s.q, s.v, NULL, NULL, 0, s.body, s.tau);
        OK(soa_bias_torque(s.model, s.work, s.q, s.v, s.got));
        compare("bias", &s, 0, s.got, s.tau, s.nv, tolerance, &worst_bias);
        classical_inverse(s.model, s.q, NULL, NULL, NULL, 0, s.body, s.tau);
        OK(soa_rnea(s.model, s.work, s.q, NULL, NULL, NULL, 0, s.got));
        compare("rnea at rest", &s, 0, s.got, s.tau, s.nv, tolerance, &worst_bias);
        drop(&s);
    }
    printf("inverse dynamics: %d trees from seed %ld, worst relative error: tau %.2g, joint forces "
           "%.2g, bias %.2g\n",
           TREES, first_seed(), worst, worst_force, worst_bias);
    for (int k = SOA_REVOLUTE; k < SOA_JOINT_TYPE_COUNT; k++) {
        printf("  %d %s", kinds[k], soa_joint_type_name((soa_joint_type)k));
        assert_true(kinds[k] > 100);
    }
    printf("; %d mimic, %d exact and %d reflected rotors\n", mimics, rotors, reflected);
    assert_true(mimics > 100 && rotors > 100 && reflected > 100);
}

static void to_axes(const soa_frame *pose, const double world[6], double own[6]) {
    for (int h = 0; h < 6; h += 3)
        for (int k = 0; k < 3; k++)
            own[h + k] = pose->R[k] * world[h] + pose->R[3 + k] * world[h + 1] +
                         pose->R[6 + k] * world[h + 2];
}

static void kinematics(void **state) {
    (void)state;
    static const double still[3] = {0, 0, 0};
    double worst[4] = {0};
    for (long t = 0; t < TREES; t++) {
        sample s = draw("random", first_seed() + t);
        classical_body *coasting = room(s.n + 1, sizeof *coasting); /* a = 0 */
        classical_motion(s.model, s.q, s.v, NULL, still, coasting);
        classical_motion(s.model, s.q, s.v, s.a, still, s.body);
        OK(soa_kinematics(s.model, s.work, s.q, s.v, s.a));
        for (int f = 0; f < soa_model_frame_count(s.model); f++) {
            soa_frame pose, got_pose, ignored;
            double V[6], A[6], A0[6], own[6], got[6], spatial[6];
            classical_frame(s.model, coasting, f, &ignored, V, A0);
            classical_frame(s.model, s.body, f, &pose, V, A);
            OK(soa_pose(s.model, s.work, f, &got_pose));
            compare("pose R", &s, f, got_pose.R, pose.R, 9, tolerance, &worst[0]);
            compare("pose p", &s, f, got_pose.p, pose.p, 3, tolerance, &worst[0]);
            OK(soa_velocity(s.model, s.work, f, SOA_AXES_WORLD, got));
            compare("velocity", &s, f, got, V, 6, tolerance, &worst[1]);
            OK(soa_velocity(s.model, s.work, f, SOA_AXES_BODY, got));
            to_axes(&pose, V, own);
            compare("velocity, body axes", &s, f, got, own, 6, tolerance, &worst[1]);
            OK(soa_jacobian_mul(s.model, s.work, f, SOA_AXES_WORLD, s.v, got));
            compare("J v", &s, f, got, V, 6, tolerance, &worst[1]);
            OK(soa_acceleration_classical(s.model, s.work, f, SOA_AXES_WORLD, got));
            compare("classical acceleration", &s, f, got, A, 6, tolerance, &worst[2]);
            OK(soa_acceleration_classical(s.model, s.work, f, SOA_AXES_BODY, got));
            to_axes(&pose, A, own);
            compare("classical acceleration, body axes", &s, f, got, own, 6, tolerance, &worst[2]);
            memcpy(spatial, A, sizeof spatial); /* classical = spatial + [0; w x v] */
            spatial[3] -= V[1] * V[5] - V[2] * V[4];
            spatial[4] -= V[2] * V[3] - V[0] * V[5];
            spatial[5] -= V[0] * V[4] - V[1] * V[3];
            OK(soa_acceleration_spatial(s.model, s.work, f, SOA_AXES_WORLD, got));
            compare("spatial acceleration", &s, f, got, spatial, 6, tolerance, &worst[2]);
            OK(soa_jacobian_dot_v(s.model, s.work, f, SOA_AXES_WORLD, got));
            compare("jdot_v", &s, f, got, A0, 6, 1e-10, &worst[3]); /* may be zero */
        }
        free(coasting);
        drop(&s);
    }
    printf("kinematics: %d trees from seed %ld, worst relative error: pose %.2g, velocity %.2g, "
           "acceleration %.2g, "
           "jdot_v %.2g\n",
           TREES, first_seed(), worst[0], worst[1], worst[2], worst[3]);
}

static void energy_and_momentum(void **state) {
    (void)state;
    static const double still[3] = {0, 0, 0};
    double worst = 0, worst_momentum = 0;
    for (long t = 0; t < TREES; t++) {
        sample s = draw("random", first_seed() + t);
        double got[2], expected[2], h[6], com[3], got_h[6], got_com[3], got_velocity[3];
        classical_motion(s.model, s.q, s.v, NULL, still, s.body);
        expected[0] = classical_kinetic(s.model, s.body);
        expected[1] = classical_potential(s.model, s.q, s.body);
        OK(soa_energy(s.model, s.work, s.q, s.v, &got[0], &got[1]));
        compare("kinetic energy", &s, 0, &got[0], &expected[0], 1, tolerance, &worst);
        compare("potential energy", &s, 0, &got[1], &expected[1], 1, 1e-10, &worst);
        classical_momentum(s.model, s.body, h, com);
        OK(soa_momentum(s.model, s.work, s.q, s.v, got_h, got_com));
        compare("momentum", &s, 0, got_h, h, 6, 1e-10, &worst_momentum);
        compare("centre of mass", &s, 0, got_com, com, 3, 1e-10, &worst_momentum);
        OK(soa_centre_of_mass(s.model, s.work, s.q, s.v, got_com, got_velocity));
        compare("centre of mass", &s, 1, got_com, com, 3, 1e-10, &worst_momentum);
        for (int k = 0; k < 3; k++)
            got_velocity[k] *= soa_model_mass(s.model);
        compare("velocity of the centre of mass, times mass", &s, 0, got_velocity, h + 3, 3, 1e-10,
                &worst_momentum);
        drop(&s);
    }
    printf("energy and momentum: %d trees from seed %ld, worst relative error: energy %.2g, "
           "momentum %.2g\n",
           TREES, first_seed(), worst, worst_momentum);
}

/* M by columns: what one unit acceleration at rest costs, less what rest costs. */
static void mass_matrix(void **state) {
    (void)state;
    double worst = 0;
    enum { SOME = TREES / 5 };
    for (long t = 0; t < SOME; t++) {
        sample s = draw("random", first_seed() + 5 * t);
        double *rest = room(s.nv, sizeof *rest), *M = room(s.nv * s.nv, sizeof *M);
        classical_inverse(s.model, s.q, NULL, NULL, NULL, 0, s.body, rest);
        for (int j = 0; j < s.nv; j++) {
            memset(s.a, 0, (size_t)s.nv * sizeof *s.a);
            s.a[j] = 1;
            classical_inverse(s.model, s.q, NULL, s.a, NULL, 0, s.body, s.tau);
            for (int i = 0; i < s.nv; i++)
                M[i * s.nv + j] = s.tau[i] - rest[i];
        }
        OK(soa_crba(s.model, s.work, s.q, s.M));
        compare("crba", &s, 0, s.M, M, s.nv * s.nv, tolerance, &worst);
        OK(soa_mass_r87(s.model, s.work, s.q, s.M));
        compare("mass_r87", &s, 0, s.M, M, s.nv * s.nv, tolerance, &worst);
        free(rest);
        free(M);
        drop(&s);
    }
    printf("mass matrix: %d trees from seed %ld, worst relative error %.2g\n", SOME, first_seed(),
           worst);
}

/* The accelerations of soa_aba need the torques it was given.  Error is measured against the
 * largest product |M_ij qdd_j|, the size of the terms that cancel. */
static void forward_dynamics(void **state) {
    (void)state;
    double worst = 0;
    for (long t = 0; t < TREES; t++) {
        sample s = draw("random", first_seed() + t);
        double *qdd = room(s.nv, sizeof *qdd), scale = 1e-3;
        for (int i = 0; i < s.nv; i++)
            s.tau[i] = 10 * noise(&s.random);
        OK(soa_aba(s.model, s.work, s.q, s.v, s.tau, s.wrench, s.wrenches, qdd));
        OK(soa_crba(s.model, s.work, s.q, s.M));
        classical_inverse(s.model, s.q, s.v, qdd, s.wrench, s.wrenches, s.body, s.got);
        for (int i = 0; i < s.nv * s.nv; i++) {
            const double term = fabs(s.M[i] * qdd[i % s.nv]);
            if (!(term <= scale)) scale = term;
        }
        for (int i = 0; i < s.nv; i++) {
            const double error = fabs(s.got[i] - s.tau[i]) / scale;
            if (!(error <= tolerance))
                fail_msg("aba, seed %ld, number %d: classical torque %.17g, given %.17g, error "
                         "%.3g of %.3g, allowed %.3g",
                         s.seed, i, s.got[i], s.tau[i], error, scale, tolerance);
            if (error > worst) worst = error;
        }
        free(qdd);
        drop(&s);
    }
    printf("forward dynamics: %d trees from seed %ld, worst error of the torques %.2g\n", TREES,
           first_seed(), worst);
}

/* Angles of any size, and those next to a quarter turn: the sweeps bring their own sine and
 * cosine. */
static void large_angles(void **state) {
    (void)state;
    double worst = 0;
    for (int t = 0; t < 2000; t++) {
        sample s = draw("chain", 7);
        s.seed = t;
        for (int i = 0; i < s.nq; i++) {
            const double size = pow(10, t % 40 - 20 * (t % 3)),
                         near = 1.5707963267948966 * floor(1e4 * noise(&s.random));
            s.q[i] = t % 2 ? size * noise(&s.random) : near * (1 + 4e-16 * noise(&s.random));
        }
        classical_inverse(s.model, s.q, s.v, s.a, NULL, 0, s.body, s.tau);
        OK(soa_rnea(s.model, s.work, s.q, s.v, s.a, NULL, 0, s.got));
        compare("rnea", &s, 0, s.got, s.tau, s.nv, tolerance, &worst);
        drop(&s);
    }
    printf("large angles: worst relative error %.2g\n", worst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_dynamics),    cmocka_unit_test(kinematics),
        cmocka_unit_test(energy_and_momentum), cmocka_unit_test(mass_matrix),
        cmocka_unit_test(forward_dynamics),    cmocka_unit_test(large_angles)};
    return cmocka_run_group_tests_name("classical", tests, NULL, NULL);
}
