/* test_mujoco.c  forward and inverse dynamics and the mass matrix against MuJoCo, an independent
 * code.
 *
 * Random forests of every joint type that both have (revolute, prismatic, cylindrical, universal,
 * planar, spherical, free at the roots), some links on fixed joints; and the shipped robots. MuJoCo
 * gets the mechanism only from soa_model_body(), through the bench's translation, and works in its
 * own coordinates. SOA_SEED=n chooses other models. */
#include "peer.h"
#include "soa/dynamics.h"
#include "soa/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MODELS = 50, STATES = 3, MOST_LINKS = 16 };
#define TOLERANCE 1e-9

static const char *const fn_name[PEER_FN_COUNT] = {
    "fd", "id", "mass", "bias", "jacobian", "fd_derivatives", "id_derivatives"};

static double uniform(uint64_t *seed) { /* in -1 .. 1, splitmix */
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return 2.0 * (double)((z ^ z >> 31) >> 11) / 9007199254740992.0 - 1.0;
}

static int below(uint64_t *seed, int n) {
    int k = (int)((uniform(seed) + 1) / 2 * n);
    return k < n ? k : n - 1;
}

static void unit(uint64_t *seed, double *x, int n) {
    double s = 0;
    while (s < 0.1 || s > 1) {
        s = 0;
        for (int i = 0; i < n; ++i) {
            x[i] = uniform(seed);
            s += x[i] * x[i];
        }
    }
    for (int i = 0; i < n; ++i)
        x[i] /= sqrt(s);
}

static soa_joint_type random_joint(uint64_t *seed, int parent) {
    static const soa_joint_type any[] = {SOA_REVOLUTE,  SOA_REVOLUTE,    SOA_PRISMATIC,
                                         SOA_SPHERICAL, SOA_CYLINDRICAL, SOA_UNIVERSAL,
                                         SOA_PLANAR,    SOA_FIXED};
    if (parent == 0 && below(seed, 2)) return SOA_FREE;
    return any[below(seed, (int)(sizeof any / sizeof any[0]))];
}

/* A link of uneven mass, its inertia that of a box turned any way about its centre of mass. */
static void random_mass(uint64_t *seed, soa_body_def *body) {
    double q[4], R[9], box[6];
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    soa_body_box(body, 1.2 + uniform(seed), 0.2 + 0.1 * uniform(seed), 0.2 + 0.1 * uniform(seed),
                 0.2 + 0.1 * uniform(seed));
    memcpy(box, body->inertia, sizeof box);
    unit(seed, q, 4);
    peer_rotation(q, R);
    for (int k = 0; k < 6; ++k) {
        body->inertia[k] = 0;
        for (int l = 0; l < 3; ++l)
            body->inertia[k] += R[3 * row[k] + l] * box[l] * R[3 * col[k] + l];
    }
    for (int k = 0; k < 3; ++k)
        body->com[k] = 0.1 * uniform(seed);
}

static const soa_model *random_model(uint64_t seed, int kinds[SOA_JOINT_TYPE_COUNT]) {
    soa_body_def bodies[MOST_LINKS];
    char names[MOST_LINKS][16];
    int count = 1 + below(&seed, MOST_LINKS), moving = 0;
    for (int i = 0; i < count; ++i) {
        /* chains more often than chance would have them */
        int parent = below(&seed, 4) ? below(&seed, i + 1) : i;
        soa_joint_type type = random_joint(&seed, parent);
        if (i == count - 1 && !moving && type == SOA_FIXED) type = SOA_REVOLUTE;
        moving += type != SOA_FIXED;
        kinds[type]++;
        snprintf(names[i], sizeof names[i], "link%d", i + 1);
        bodies[i] = soa_body_default(names[i], parent, type);
        double q[4];
        unit(&seed, q, 4);
        peer_rotation(q, bodies[i].placement.R);
        for (int k = 0; k < 3; ++k)
            bodies[i].placement.p[k] = 0.4 * uniform(&seed);
        unit(&seed, bodies[i].joint.axis, 3);
        double other[3];
        unit(&seed, other, 3);
        peer_cross(bodies[i].joint.axis, other, bodies[i].joint.axis2);
        random_mass(&seed, &bodies[i]);
    }
    soa_model_def def = soa_model_default("random", bodies, count);
    for (int k = 0; k < 3; ++k)
        def.gravity[k] = 10 * uniform(&seed);
    const soa_model *model = NULL;
    soa_report report = {0};
    if (soa_model_create(&def, &model, &report) != SOA_OK) fail_msg("not built: %s", report.text);
    return model;
}

/* max |x - reference| / max(max |reference|, 1e-3); anything not finite fails. */
static double difference(const double *x, const double *reference, size_t n) {
    double d = 0, scale = 1e-3;
    for (size_t i = 0; i < n; ++i) {
        double e = fabs(x[i] - reference[i]);
        if (!(e <= 1e300)) return INFINITY;
        if (e > d) d = e;
        if (fabs(reference[i]) > scale) scale = fabs(reference[i]);
    }
    return d / scale;
}

static double *numbers(size_t n) {
    double *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Our answer to what MuJoCo is asked, and how many numbers it has. */
static soa_status answer(const soa_model *model, soa_work *work, peer_fn fn, const double *q,
                         const double *v, const double *a, const double *tau, double *out) {
    switch (fn) {
    case PEER_FD: return soa_aba(model, work, q, v, tau, NULL, 0, out);
    case PEER_ID: return soa_rnea(model, work, q, v, a, NULL, 0, out);
    case PEER_MASS: return soa_crba(model, work, q, out);
    case PEER_BIAS: return soa_bias_torque(model, work, q, v, out);
    case PEER_JACOBIAN: {
        soa_body_info last;
        soa_status s = soa_model_body(model, soa_model_body_count(model), &last);
        if (!s) s = soa_kinematics(model, work, q, NULL, NULL);
        return s ? s : soa_jacobian(model, work, last.frame, SOA_AXES_WORLD, out);
    }
    default: fail_msg("no answer of ours to %s", fn_name[fn]);
    }
    return SOA_E_ARGUMENT;
}
static size_t answer_size(peer_fn fn, size_t nv) {
    if (fn == PEER_MASS) return nv * nv;
    return fn == PEER_JACOBIAN ? 6 * nv : nv;
}

/* Largest difference over states; fails with the model's name where it is too large. */
static double compare(const soa_model *model, const char *name, uint64_t seed) {
    const peer_library *mujoco = peer_get();
    size_t nq = (size_t)soa_model_nq(model), nv = (size_t)soa_model_nv(model);
    int bodies = soa_model_body_count(model);
    soa_body_info *body = calloc((size_t)bodies + 1, sizeof *body);
    double *q = numbers(nq), *v = numbers(nv), *a = numbers(nv), *tau = numbers(nv);
    double *ours = numbers(nv * (nv + 6)), *theirs = numbers(nv * (nv + 6)), worst = 0;
    peer_model plain = {name, (int)nq, (int)nv, bodies, {0, 0, 0}, body};
    char why[1000] = "";
    soa_work *work = NULL;
    assert_non_null(body);
    for (int i = 1; i <= bodies; ++i)
        assert_int_equal(soa_model_body(model, i, &body[i]), SOA_OK);
    soa_model_gravity(model, plain.gravity);
    assert_int_equal(soa_work_create(model, &work), SOA_OK);
    void *peer = mujoco->open(&plain, 1, why, sizeof why);
    if (!peer) fail_msg("%s: MuJoCo refuses the model: %s", name, why);

    for (int state = 0; state < STATES; ++state) {
        for (int i = 1; i <= bodies; ++i) {
            int vectors;
            if (body[i].type == SOA_FREE) {
                vectors = 3;
            } else if (body[i].type == SOA_SPHERICAL) {
                vectors = 0;
            } else {
                vectors = body[i].nq;
            }
            double *qi = q + body[i].q_index;
            for (int k = 0; k < vectors; ++k)
                qi[k] = 3 * uniform(&seed);
            if (vectors < body[i].nq) unit(&seed, qi + vectors, 4);
        }
        for (size_t i = 0; i < nv; ++i) {
            v[i] = uniform(&seed);
            a[i] = uniform(&seed);
            tau[i] = uniform(&seed);
        }
        mujoco->load(peer, 0, q, v, a, tau);
        for (peer_fn fn = PEER_FD; fn < PEER_FN_COUNT; ++fn) {
            if (!mujoco->way(peer, fn, 0)) continue; /* MuJoCo has no derivatives but differences */
            const soa_status status = answer(model, work, fn, q, v, a, tau, ours);
            assert_int_equal(status, SOA_OK);
            mujoco->run(peer, fn, 0, 0);
            mujoco->fetch(peer, fn, 0, 0, theirs);
            double d = difference(ours, theirs, answer_size(fn, nv));
            if (!(d <= TOLERANCE))
                fail_msg("%s, state %d, %s: differs by %.3g, allowed %g", name, state, fn_name[fn],
                         d, TOLERANCE);
            if (d > worst) worst = d;
        }
    }
    mujoco->close(peer);
    soa_work_free(work);
    free(body);
    free(q);
    free(v);
    free(a);
    free(tau);
    free(ours);
    free(theirs);
    return worst;
}

static void random_models_agree(void **state) {
    const char *given = getenv("SOA_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    int kinds[SOA_JOINT_TYPE_COUNT] = {0};
    double worst = 0;
    (void)state;
    print_message("%s; %d models, seeds %llu to %llu\n", peer_get()->version, MODELS,
                  (unsigned long long)first, (unsigned long long)first + MODELS - 1);
    for (uint64_t seed = first; seed < first + MODELS; ++seed) {
        char name[40];
        snprintf(name, sizeof name, "random model, seed %llu", (unsigned long long)seed);
        const soa_model *model = random_model(seed, kinds);
        double d = compare(model, name, ~seed);
        if (d > worst) worst = d;
        soa_model_free(model);
    }
    print_message("largest relative difference %.2g; joints:", worst);
    for (int k = 0; k < SOA_JOINT_TYPE_COUNT; ++k)
        if (kinds[k]) print_message(" %d %s", kinds[k], soa_joint_type_name((soa_joint_type)k));
    print_message("\n");
    assert_true(kinds[SOA_REVOLUTE] && kinds[SOA_PRISMATIC] && kinds[SOA_SPHERICAL] &&
                kinds[SOA_FREE]);
}

static void shipped_models_agree(void **state) {
    static const char *const names[] = {"arm7", "quadruped", "humanoid", "chain:30"};
    soa_read_options ideal = {.ideal = true};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const soa_model *model = NULL;
        soa_report report = {0};
        if (soa_stock_model_create(names[i], &ideal, &model, &report) != SOA_OK)
            fail_msg("%s: %s", names[i], report.text);
        print_message("%s: largest relative difference %.2g\n", names[i],
                      compare(model, names[i], 7 + i));
        soa_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_models_agree),
                                       cmocka_unit_test(shipped_models_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
