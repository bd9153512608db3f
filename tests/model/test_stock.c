/* test_stock.c  every shipped model can be built, has the stated properties and can be saved;
 * soa_model_open finds names and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)

static const soa_model *stock(const char *name, int floating, int ideal) {
    soa_read_options options = {.floating = floating, .ideal = ideal};
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_stock_model_create(name, &options, &model, &report);
    if (status != SOA_OK) fail_msg("%s: %s", name, report.text);
    return model;
}

/* Fails unless |got - expected| <= tolerance, so NaN fails. */
static void near(const char *what, double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s: got %.17g, expected %.17g, off by %.3g, allowed %.3g", what, got, expected,
                 got - expected, tolerance);
}

/* Numbers in [-1, 1] without libm, for states. */
static double noise(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

static void random_state(const soa_model *model, uint64_t seed, double *q, double *v, double *a) {
    double *step = malloc((size_t)(soa_model_nv(model) + soa_model_nq(model) + 1) * sizeof(double)),
           *q0 = step + soa_model_nv(model);
    assert_non_null(step);
    soa_q_neutral(model, q0);
    for (int i = 0; i < soa_model_nv(model); i++) {
        step[i] = noise(&seed);
        v[i] = noise(&seed);
        a[i] = noise(&seed);
    }
    OK(soa_q_integrate(model, q0, step, 1, q));
    free(step);
}

/* aba(rnea(a)) = a, and M is positive: a^T M a > 0. */
static double round_trip(const soa_model *model, uint64_t seed) {
    int nq = soa_model_nq(model), nv = soa_model_nv(model);
    double *q = calloc((size_t)(nq + 5 * nv + 1), sizeof(double));
    assert_non_null(q);
    double *v = q + nq, *a = v + nv, *tau = a + nv, *back = tau + nv, *Ma = back + nv;
    soa_work *work;
    random_state(model, seed, q, v, a);
    OK(soa_work_create(model, &work));
    OK(soa_rnea(model, work, q, v, a, NULL, 0, tau));
    soa_status status = soa_aba(model, work, q, v, tau, NULL, 0, back);
    if (status != SOA_OK)
        fail_msg("%s: aba: %s, body %d", soa_model_name(model), soa_status_text(status),
                 soa_work_failed_body(work));
    OK(soa_mass_mul(model, work, q, a, Ma));
    double worst = 0, energy = 0;
    for (int i = 0; i < nv; i++) {
        double off = fabs(back[i] - a[i]);
        if (!(off <= worst)) worst = off;
        energy += a[i] * Ma[i];
    }
    assert_true(nv == 0 || energy > 0);
    soa_work_free(work);
    free(q);
    return worst;
}

static void promised_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int floating, nq, nv, bodies;
        double mass; /* of the moving bodies; 0: not checked */
    } promise[] = {
        {"puma560", 0, 6, 6, 6, 23.45},
        {"puma560", 1, 13, 12, 7, 53.45},
        {"puma560-akb", 0, 6, 6, 6, 23.45},
        {"puma560-akb", 1, 13, 12, 7, 0},
        {"two-puma", 0, 12, 12, 12, 46.9},
        {"two-puma", 1, 19, 18, 13, 346.9},
        {"two-puma-object", 0, 18, 18, 18, 66.9},
        {"arm7", 0, 7, 7, 7, 25.61},
        {"arm7", 1, 14, 13, 8, 30.61},
        {"satellite", 0, 21, 20, 15, 574},
        {"satellite", 1, 21, 20, 15, 574},
        {"quadruped", 0, 19, 18, 13, 26.16},
        {"quadruped", 1, 19, 18, 13, 0},
        {"humanoid", 0, 31, 30, 25, 65.6},
        {"planar-chain:1", 0, 1, 1, 1, 1},
        {"planar-chain:5", 0, 5, 5, 5, 5},
        {"chain:1", 0, 1, 1, 1, 1},
        {"chain:7", 1, 14, 13, 8, 12},
        {"dh-arm:6", 0, 6, 6, 6, 6.6},
        {"dh-arm-90:6", 1, 13, 12, 7, 11.6},
        {"chain:1000", 0, 1000, 1000, 1000, 1000},
    };
    for (size_t i = 0; i < sizeof promise / sizeof promise[0]; i++) {
        const soa_model *model = stock(promise[i].name, promise[i].floating, 0);
        if (soa_model_nq(model) != promise[i].nq || soa_model_nv(model) != promise[i].nv ||
            soa_model_body_count(model) != promise[i].bodies)
            fail_msg("%s%s: nq %d nv %d bodies %d, promised %d %d %d", promise[i].name,
                     promise[i].floating ? " floating" : "", soa_model_nq(model),
                     soa_model_nv(model), soa_model_body_count(model), promise[i].nq, promise[i].nv,
                     promise[i].bodies);
        if (promise[i].mass > 0)
            near(promise[i].name, soa_model_mass(model), promise[i].mass, 1e-9);
        assert_string_equal(soa_model_name(model), promise[i].name);
        if (promise[i].floating) {
            soa_body_info root;
            OK(soa_model_body(model, 1, &root));
            assert_string_equal(root.joint, "root");
            assert_int_equal(root.type, SOA_FREE);
        }
        /* torques of 1e6 N m, rounded, act on hinges of 1e-3 kg m^2 at the end of the long chain */
        near("aba(rnea)", round_trip(model, 7 + i), 0, soa_model_nv(model) > 100 ? 1e-4 : 1e-10);
        soa_model_free(model);
    }
}

/* One name per row of the list, numbers filled in. */
static void listed_name(int index, char *name, size_t size) {
    const char *listed = soa_stock_model_name(index);
    snprintf(name, size, "%.*s%s", (int)strcspn(listed, ":"), listed,
             strchr(listed, ':') != NULL ? ":9" : "");
}

static void whole_list(void **state) {
    (void)state;
    int count = 0;
    char path[] = "/tmp/soa_stock_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_null(soa_stock_model_name(-1));
    for (; soa_stock_model_name(count) != NULL; count++) {
        char name[64];
        assert_non_null(soa_stock_model_text(count));
        listed_name(count, name, sizeof name);
        for (int ideal = 0; ideal < 2; ideal++) {
            const soa_model *model = stock(name, 0, ideal), *loaded = NULL;
            OK(soa_model_save(model, path, NULL));
            OK(soa_model_load(path, &loaded, NULL));
            assert_int_equal(soa_model_bytes(model), soa_model_bytes(loaded));
            assert_memory_equal(model, loaded, soa_model_bytes(model));
            soa_model_free(loaded);
            /* the same through the general door, which knows it by its bytes */
            OK(soa_model_open(path, NULL, &loaded, NULL, NULL));
            assert_memory_equal(model, loaded, soa_model_bytes(model));
            soa_model_free(loaded);
            near(name, round_trip(model, 3), 0, 1e-10);
            soa_body_info info;
            for (int b = 1; ideal && b <= soa_model_body_count(model); b++) {
                OK(soa_model_body(model, b, &info));
                assert_true(info.damping == 0 && info.friction_positive == 0 &&
                            info.friction_negative == 0);
                assert_true(info.stiffness == 0 && info.rotor_inertia == 0 && info.mimic < 0);
            }
            soa_model_free(model);
        }
    }
    assert_int_equal(count, 18);
    assert_null(soa_stock_model_text(count));
    unlink(path);
}

static void random_trees(void **state) {
    (void)state;
    int type_seen[SOA_JOINT_TYPE_COUNT] = {0}, mimic = 0, exact = 0, reflected = 0, massless = 0,
        coulomb = 0, spring = 0;
    int forests = 0, smallest = 1000, largest = 0, merged = 0;
    double worst = 0;
    for (int seed = 0; seed <= 200; seed++) {
        char name[32];
        for (int family = 0; family < 3; family++) {
            const int ideal = family == 1;
            snprintf(name, sizeof name, "%s:%d",
                     (const char *const[]){"random", "random-ideal", "random-square"}[family],
                     seed);
            const soa_model *model = stock(name, 0, 0);
            double off = round_trip(model, (uint64_t)seed);
            if (!(off <= 1e-8)) fail_msg("%s: aba(rnea(a)) is off by %.3g", name, off);
            if (off > worst) worst = off;
            int links = 0, roots = 0;
            for (int f = 0; f < soa_model_frame_count(model); f++) {
                soa_frame_info frame;
                OK(soa_model_frame(model, f, &frame));
                links += frame.is_link != 0;
            }
            assert_true(links >= 1 && soa_model_body_count(model) >= 1 &&
                        soa_model_body_count(model) <= 30);
            if (links > soa_model_body_count(model)) merged++;
            for (int b = 1; b <= soa_model_body_count(model); b++) {
                soa_body_info info;
                OK(soa_model_body(model, b, &info));
                roots += info.parent == 0;
                if (ideal) {
                    assert_true(info.mimic < 0 && info.rotor_inertia == 0 && info.stiffness == 0 &&
                                info.damping == 0);
                    continue;
                }
                if (family == 2) continue;
                type_seen[info.type]++;
                mimic += info.mimic >= 0;
                exact += info.rotor_inertia > 0 && info.rotor_model == SOA_ROTOR_EXACT;
                reflected += info.rotor_inertia > 0 && info.rotor_model == SOA_ROTOR_REFLECTED;
                massless += info.mass == 0;
                coulomb += info.friction_positive > 0;
                spring += info.stiffness > 0;
            }
            if (soa_model_body_count(model) < smallest) smallest = soa_model_body_count(model);
            if (soa_model_body_count(model) > largest) largest = soa_model_body_count(model);
            forests += roots > 1;
            soa_model_free(model);
        }
    }
    for (int t = SOA_REVOLUTE; t < SOA_JOINT_TYPE_COUNT; t++)
        if (type_seen[t] < 20)
            fail_msg("joint type %s seen %d times only", soa_joint_type_name((soa_joint_type)t),
                     type_seen[t]);
    assert_true(mimic > 20 && exact > 20 && reflected > 20 && massless > 20 && coulomb > 20 &&
                spring > 20);
    assert_true(forests > 20 && smallest == 1 && largest >= 25 && merged > 20);
    printf("random trees: worst aba(rnea(a)) - a = %.2g\n", worst);
}

/* The same numbers on every machine. */
static void random_is_portable(void **state) {
    (void)state;
    const soa_model *model = stock("random:1", 0, 0), *again = stock("random:1", 0, 0);
    assert_memory_equal(model, again, soa_model_bytes(model));
    soa_body_info info;
    double gravity[3];
    OK(soa_model_body(model, 1, &info));
    soa_model_gravity(model, gravity);
    near("gravity x", gravity[0], 9.4200550717359235, 0);
    near("mass", info.mass, 4.3782272809641816, 0);
    soa_model_free(again);
    soa_model_free(model);
}

static void expect_error(const char *name, int floating, soa_status status, const char *part) {
    soa_read_options options = {.floating = floating};
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    for (int door = 0; door < 2; door++) {
        soa_status got = door == 0 ? soa_stock_model_create(name, &options, &model, &report)
                                   : soa_model_open(name, &options, &model, NULL, &report);
        if (got != status || report.status != status || strstr(report.text, part) == NULL)
            fail_msg("%s: got status %d, \"%s\", expected %d and \"%s\"", name, (int)got,
                     report.text, (int)status, part);
        assert_null(model);
    }
    assert_int_equal(soa_stock_model_create(name, &options, &model, NULL), status);
}

static void wrong_names(void **state) {
    (void)state;
    expect_error("pumma560", 0, SOA_E_NAME, "did you mean 'puma560'?");
    expect_error("Chian:5", 0, SOA_E_NAME, "did you mean 'chain:N'?");
    expect_error("quadropod", 0, SOA_E_NAME, "did you mean 'quadruped'?");
    expect_error("billiard", 0, SOA_E_NAME, "(soa models lists them)"); /* nothing is near */
    expect_error("x", 0, SOA_E_NAME, "(soa models lists them)");
    expect_error("chain", 0, SOA_E_NAME, "chain:10");
    expect_error("chain:", 0, SOA_E_NAME, "chain:10");
    expect_error("chain:0", 0, SOA_E_NAME, "from 1 to");
    expect_error("chain:-3", 0, SOA_E_NAME, "from 1 to");
    expect_error("chain:3x", 0, SOA_E_NAME, "whole number");
    expect_error("chain:99999999999999999999", 0, SOA_E_NAME, "whole number");
    expect_error("random:SEED", 0, SOA_E_NAME, "whole number");
    expect_error("arm7:3", 0, SOA_E_NAME, "takes no number");
    expect_error("random:4", 1, SOA_E_ARGUMENT, "several roots");
    expect_error("planar-chain:4", 1, SOA_E_ARGUMENT, "plane");
    const soa_model *model = NULL;
    assert_int_equal(soa_stock_model_create(NULL, NULL, &model, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_stock_model_create("arm7", NULL, NULL, NULL), SOA_E_ARGUMENT);
}

static void expect_open_error(const char *spec, const soa_read_options *options, soa_status status,
                              const char *part) {
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status got = soa_model_open(spec, options, &model, NULL, &report);
    if (got != status || strstr(report.text, part) == NULL)
        fail_msg("%s: got status %d, \"%s\", expected %d and \"%s\"", spec, (int)got, report.text,
                 (int)status, part);
    assert_null(model);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void opening_files(void **state) {
    (void)state;
    char dir[] = "/tmp/soa_open_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    const soa_read_options floating = {.floating = true};
    const soa_model *model = NULL;

    expect_open_error("", NULL, SOA_E_ARGUMENT, "name a shipped model");
    expect_open_error("/nowhere/robot.urdf", NULL, SOA_E_FILE, "/nowhere/robot.urdf");
    expect_open_error(dir, NULL, SOA_E_FILE, "directory");

    snprintf(path, sizeof path, "%s/robot", dir); /* no ending: known by its first bytes */
    write_file(path, "");
    expect_open_error(path, NULL, SOA_E_FORMAT, "empty");
    write_file(
        path,
        "hello, this is no robot at all, though long enough to be read as a header, who knows; "
        "a saved model begins with its own bytes and this does not");
    expect_open_error(path, NULL, SOA_E_FORMAT, "neither");
    write_file(
        path,
        "\n<robot name=\"one\"><link name=\"base\"/><link name=\"arm\"><inertial><mass "
        "value=\"1\"/>"
        "<inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        "<joint name=\"hinge\" type=\"continuous\"><parent link=\"base\"/><child link=\"arm\"/>"
        "<axis xyz=\"0 0 1\"/></joint></robot>");
    OK(soa_model_open(path, NULL, &model, NULL, NULL));
    assert_int_equal(soa_model_nv(model), 1);
    soa_model_free(model);

    const soa_model *arm = stock("arm7", 0, 0);
    OK(soa_model_save(arm, path, NULL));
    model = NULL;
    expect_open_error(path, &floating, SOA_E_ARGUMENT, "built already");
    soa_model_free(arm);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_not_equal(soa_model_open(path, NULL, &model, NULL, NULL), SOA_OK);
    unlink(path);
    rmdir(dir);
}

/* --- what the models are, physically ---------------------------------------------------------- */

static void two_pumas_are_pumas(void **state) {
    (void)state;
    const soa_model *one = stock("puma560", 0, 0), *two = stock("two-puma", 0, 0), *heavy = NULL;
    const double gravity[3] = {0, 0, -9.81};
    double q[12], v[12], a[12], tau[12], single[6];
    soa_work *work;
    OK(soa_model_with_gravity(two, gravity, &heavy));
    random_state(heavy, 5, q, v, a);
    OK(soa_work_create(heavy, &work));
    OK(soa_rnea(heavy, work, q, v, a, NULL, 0, tau));
    soa_frame left, right;
    OK(soa_kinematics(heavy, work, q, NULL, NULL));
    OK(soa_pose(heavy, work, soa_model_find_frame(heavy, "left_link1"), &left));
    OK(soa_pose(heavy, work, soa_model_find_frame(heavy, "right_link1"), &right));
    near("distance of the arms", left.p[1] - right.p[1], 1.0, 1e-15);
    soa_work_free(work);
    OK(soa_work_create(one, &work));
    for (int arm = 0; arm < 2; arm++) {
        OK(soa_rnea(one, work, q + 6 * arm, v + 6 * arm, a + 6 * arm, NULL, 0, single));
        for (int i = 0; i < 6; i++)
            near("torque of one arm of two", tau[6 * arm + i], single[i], 1e-12);
    }
    soa_work_free(work);
    soa_model_free(heavy);
    soa_model_free(two);
    soa_model_free(one);
}

/* What is left out is what the joints' data say, and no more: mass matrix, rotors and the other
 * loss stay. */
static void without_losses(void **state) {
    (void)state;
    enum { MOST_V = 200, SEEDS = 60 };
    int rubbing = 0, springs = 0;
    for (int seed = 0; seed <= SEEDS; ++seed) {
        char name[32];
        snprintf(name, sizeof name, "random:%d", seed);
        const soa_model *full = stock(seed ? name : "puma560", 0, 0);
        const int nv = soa_model_nv(full);
        int follows = 0;
        soa_body_info info;
        for (int b = 1; b <= soa_model_body_count(full); ++b) {
            OK(soa_model_body(full, b, &info));
            follows |= info.mimic >= 0;
        }
        if (follows || nv > MOST_V) {
            soa_model_free(full);
            continue;
        }
        double q[2 * MOST_V], v[MOST_V], a[MOST_V], tau[MOST_V], less[MOST_V], want[MOST_V];
        double *mass = calloc(2 * (size_t)nv * (size_t)nv, sizeof *mass),
               *mass_less = mass + nv * nv;
        random_state(full, (uint64_t)seed, q, v, a);
        soa_work *work;
        OK(soa_work_create(full, &work));
        OK(soa_rnea(full, work, q, v, a, NULL, 0, tau));
        OK(soa_crba(full, work, q, mass));
        soa_work_free(work);
        for (unsigned which = 0; which <= (SOA_FRICTION | SOA_SPRINGS); ++which) {
            const soa_model *m = NULL;
            OK(soa_model_without_losses(full, which, &m));
            OK(soa_work_create(m, &work));
            OK(soa_rnea(m, work, q, v, a, NULL, 0, less));
            OK(soa_crba(m, work, q, mass_less));
            for (int i = 0; i < nv; ++i)
                want[i] = tau[i];
            for (int b = 1; b <= soa_model_body_count(full); ++b) {
                OK(soa_model_body(full, b, &info));
                for (int c = 0; c < info.nv; ++c) {
                    const double w = v[info.v_index + c];
                    const double dry = w > 0 ? info.friction_positive : -info.friction_negative;
                    if (which & SOA_FRICTION) want[info.v_index + c] -= info.damping * w + dry;
                    if (which & SOA_SPRINGS && info.nq == info.nv)
                        want[info.v_index + c] -=
                            info.stiffness * (q[info.q_index + c] - info.rest);
                }
                rubbing += info.damping > 0 || info.friction_positive > 0;
                springs += info.stiffness > 0;
                OK(soa_model_body(m, b, &info));
                if (which & SOA_FRICTION)
                    assert_true(info.damping == 0 && info.friction_positive == 0 &&
                                info.friction_negative == 0);
                if (which & SOA_SPRINGS) assert_true(info.stiffness == 0);
            }
            for (int i = 0; i < nv; ++i)
                near("torque without losses", less[i], want[i], 1e-10 * (1 + fabs(want[i])));
            assert_memory_equal(mass, mass_less, (size_t)nv * (size_t)nv * sizeof *mass);
            soa_work_free(work);
            soa_model_free(m);
        }
        free(mass);
        soa_model_free(full);
    }
    assert_true(rubbing > 50 && springs > 50);
}

/* WD89's object on five massless links answers a wrench as the free body does: V' = I^-1 (f - V x*
 * I V). */
static void massless_object_is_free(void **state) {
    (void)state;
    const soa_model *model = stock("two-puma-object", 0, 1);
    soa_body_def body = soa_body_default("object", 0, SOA_FREE);
    soa_body_box(&body, 20.0, 0.3, 0.6, 0.3);
    soa_model_def def = soa_model_default("free object", &body, 1);
    def.gravity[2] = 0;
    const soa_model *alone = NULL;
    OK(soa_model_create(&def, &alone, NULL));
    double q[18], v[18], a[18], qdd[18], V[6], A[6], free_q[7], free_a[6];
    random_state(model, 11, q, v, a);
    soa_work *work, *free_work;
    OK(soa_work_create(model, &work));
    OK(soa_work_create(alone, &free_work));
    int object = soa_model_find_frame(model, "object");
    soa_wrench wrench = {object, SOA_AXES_BODY, {1, -2, 3, -4, 5, -6}};
    OK(soa_aba(model, work, q, v, NULL, &wrench, 1, qdd));
    OK(soa_kinematics(model, work, q, v, qdd));
    OK(soa_velocity(model, work, object, SOA_AXES_BODY, V));
    OK(soa_acceleration_spatial(model, work, object, SOA_AXES_BODY, A));
    wrench.frame = soa_model_find_frame(alone, "object");
    soa_q_neutral(alone, free_q);
    OK(soa_aba(alone, free_work, free_q, V, NULL, &wrench, 1, free_a));
    for (int i = 0; i < 6; i++)
        near("object's acceleration", A[i], free_a[i], 1e-12);
    soa_work_free(work);
    soa_work_free(free_work);
    soa_model_free(alone);
    soa_model_free(model);
}

/* A planar chain held straight out: gravity torques are sums of m g x. */
static void planar_chain_is_rods(void **state) {
    (void)state;
    enum { N = 4 };
    const soa_model *model = stock("planar-chain:4", 0, 0);
    double q[N] = {0}, tau[N], M[N * N];
    soa_work *work;
    OK(soa_work_create(model, &work));
    OK(soa_gravity_torque(model, work, q, tau));
    for (int i = 0; i < N; i++)
        near("gravity torque", tau[i], 9.81 * 0.5 * (N - i) * (N - i), 1e-12);
    OK(soa_crba(model, work, q, M));
    near("tip's inertia", M[N * N - 1], 0.25 + (1 + 0.02 * 0.02) / 12, 1e-15);
    soa_work_free(work);
    soa_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promised_sizes),       cmocka_unit_test(whole_list),
        cmocka_unit_test(random_trees),         cmocka_unit_test(random_is_portable),
        cmocka_unit_test(wrong_names),          cmocka_unit_test(opening_files),
        cmocka_unit_test(two_pumas_are_pumas),  cmocka_unit_test(massless_object_is_free),
        cmocka_unit_test(planar_chain_is_rods), cmocka_unit_test(without_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
