/* test_saved_model.c  a model as bytes: the same bits after saving, loading and moving. Anything
 * cut, damaged or forged is refused, or at least harmless.
 *
 * Forged means damaged and given a matching checksum (FNV-1a over all bytes, with its own field,
 * bytes 24 to 31, as zero). */
#include "check.h"
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)

static void *room(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}
/* Exactly so many bytes: a read past them is seen by the sanitizers. */
static unsigned char *aligned(size_t size) {
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, size ? size : 1), 0);
    return p;
}

static const soa_model *stock(const char *family, long number) {
    const soa_model *model = NULL;
    char name[64];
    snprintf(name, sizeof name, number < 0 ? "%s" : "%s:%ld", family, number);
    OK(soa_stock_model_create(name, NULL, &model, NULL));
    return model;
}

/* Bytes 24 to 31 of a model that has been changed. */
static void seal(unsigned char *bytes, size_t size) {
    uint64_t h = 1469598103934665603u;
    memset(bytes + 24, 0, sizeof h);
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    memcpy(bytes + 24, &h, sizeof h);
}

/* --- the same bits ---------------------------------------------------------------------------- */

typedef struct answers {
    double *numbers;
    size_t count;
} answers;

/* Results of many calls at one state, as bits. */
static answers ask(const soa_model *m, long seed) {
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m),
                 n = (size_t)soa_model_body_count(m);
    const size_t parts = 4 * nv + 2 * nv * nv + 2 + 12 + 10 * n;
    answers x = {room(parts + 6, sizeof(double)), parts};
    double *q = room(nq, 8), *v = room(nv, 8), *a = room(nv, 8), *out = x.numbers;
    soa_work *w;
    soa_batch *b;
    soa_frame pose;
    dice random = {(uint64_t)seed};
    OK(soa_work_create(m, &w));
    OK(soa_batch_create(m, &b));
    roll_many(&random, -1, 1, nv, v);
    roll_many(&random, -1, 1, nv, a);
    soa_q_neutral(m, q);
    OK(soa_q_integrate(m, q, v, 1, q));
    const int last = soa_model_frame_count(m) - 1;
    const soa_wrench f = {last, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}};
    OK(soa_rnea(m, w, q, v, a, &f, 1, out));
    out += nv;
    OK(soa_aba(m, w, q, v, a, &f, 1, out));
    out += nv;
    OK(soa_crba(m, w, q, out));
    out += nv * nv;
    OK(soa_minv(m, w, q, out));
    out += nv * nv;
    OK(soa_energy(m, w, q, v, out, out + 1));
    out += 2;
    OK(soa_model_inertial_parameters(m, out));
    out += 10 * n;
    OK(soa_kinematics(m, w, q, v, a));
    OK(soa_pose(m, w, last, &pose));
    memcpy(out, &pose, sizeof pose);
    out += 12;
    OK(soa_aba_batch(m, b, 1, q, v, a, NULL, out));
    out += nv;
    OK(soa_rnea_batch(m, b, 1, q, v, a, NULL, out));
    out += nv;
    assert_int_equal(out - x.numbers, parts);
    soa_work_free(w);
    soa_batch_free(b);
    free(q);
    free(v);
    free(a);
    return x;
}
static void same_answers(const soa_model *a, const soa_model *b, const char *how, long seed) {
    answers x = ask(a, seed), y = ask(b, seed);
    assert_int_equal(x.count, y.count);
    for (size_t i = 0; i < x.count; i++)
        if (memcmp(&x.numbers[i], &y.numbers[i], sizeof(double)) || !isfinite(x.numbers[i]))
            fail_msg("%s, %s, seed %ld, number %d: got %.17g, expected %.17g to the last bit",
                     soa_model_name(a), how, seed, (int)i, y.numbers[i], x.numbers[i]);
    free(x.numbers);
    free(y.numbers);
}

static void one_round_trip(const soa_model *model, const char *path, long seed) {
    const size_t size = soa_model_bytes(model);
    const soa_model *loaded = NULL, *taken = NULL, *moved = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soa_model_save(model, path, &report) != SOA_OK) fail_msg("%s", report.text);
    if (soa_model_load(path, &loaded, &report) != SOA_OK) fail_msg("%s", report.text);
    assert_int_equal(soa_model_bytes(loaded), size);
    assert_memory_equal(loaded, model, size);
    same_answers(model, loaded, "loaded", seed);

    unsigned char *copy = aligned(size), *farther = aligned(size + 64);
    memcpy(copy, model, size);
    OK(soa_model_from_bytes(copy, size, &taken, &report));
    assert_ptr_equal(taken, copy);
    memcpy(farther + 64, copy, size); /* no pointer inside may still lead to the old place */
    memset(copy, 0x5a, size);
    OK(soa_model_from_bytes(farther + 64, size, &moved, &report));
    same_answers(model, moved, "moved", seed);
    free(copy);
    free(farther);
    soa_model_free(loaded);
}

static void temporary(char path[32]) {
    strcpy(path, "/tmp/soa_test_XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
}

static void round_trips(void **state) {
    (void)state;
    static const char *const shipped[] = {"puma560",   "puma560-akb", "two-puma-object", "arm7",
                                          "satellite", "quadruped",   "humanoid"};
    char path[32];
    temporary(path);
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; k++) {
        const soa_model *model = stock(shipped[k], -1);
        one_round_trip(model, path, (long)k);
        soa_model_free(model);
    }
    for (long seed = 1; seed <= 200; seed++) {
        const soa_model *model = stock("random", seed);
        one_round_trip(model, path, seed);
        soa_model_free(model);
    }
    unlink(path);
}

/* Rotors that are none: whatever can be built can be loaded. */
static void odd_rotors(void **state) {
    (void)state;
    static const double gears[] = {0, -0.0, 1e-200, -1e-200, 1, -1};
    static const double inertias[] = {0, 1e-320, 1e-4};
    char path[32];
    temporary(path);
    /* both models, axes x, y, z and -z, y, x, also on the world */
    for (size_t g = 0; g < sizeof gears / sizeof *gears; g++)
        for (size_t j = 0; j < sizeof inertias / sizeof *inertias; j++)
            for (int k = 0; k < 12; k++) {
                soa_body_def bodies[2] = {soa_body_default("a", 0, SOA_REVOLUTE),
                                          soa_body_default("b", 1, SOA_REVOLUTE)};
                for (int i = 0; i < 2; i++) {
                    soa_joint_def *joint = &bodies[i].joint;
                    soa_body_box(&bodies[i], 1, 0.1, 0.2, 0.3);
                    memset(joint->axis, 0, sizeof joint->axis);
                    joint->axis[(k + i) % 3] = k % 4 < 2 ? 1 : -1;
                    joint->rotor_inertia = inertias[j];
                    joint->gear_ratio = gears[g];
                    joint->rotor_model = k < 6 ? SOA_ROTOR_EXACT : SOA_ROTOR_REFLECTED;
                }
                soa_model_def def = soa_model_default("rotors", bodies, 2);
                const soa_model *model = NULL;
                OK(soa_model_create(&def, &model, NULL));
                one_round_trip(model, path, k);
                soa_model_free(model);
            }
    unlink(path);
}

/* Two builds of one definition are the same bytes: no padding, no address gets in. */
static void bytes_are_reproducible(void **state) {
    (void)state;
    for (long seed = 1; seed <= 50; seed++) {
        const soa_model *a = stock("random", seed);
        void *disturb = malloc(1000 + (size_t)seed);
        const soa_model *b = stock("random", seed);
        assert_int_equal(soa_model_bytes(a), soa_model_bytes(b));
        assert_memory_equal(a, b, soa_model_bytes(a));
        free(disturb);
        soa_model_free(a);
        soa_model_free(b);
    }
}

/* --- refusals --------------------------------------------------------------------------------- */

/* A small model with every section in use: mimic joint, extra frame, rotors, friction. */
static const soa_model *small(void) {
    soa_body_def bodies[4] = {
        soa_body_default("base", 0, SOA_FREE), soa_body_default("upper", 1, SOA_REVOLUTE),
        soa_body_default("lower", 2, SOA_REVOLUTE), soa_body_default("hand", 3, SOA_UNIVERSAL)};
    for (int i = 0; i < 4; i++) {
        soa_body_box(&bodies[i], 1 + i, 0.1, 0.2, 0.3);
        bodies[i].placement.p[0] = 0.3 * i;
    }
    bodies[1].joint.rotor_inertia = 1e-4;
    bodies[1].joint.rotor_model = SOA_ROTOR_EXACT;
    bodies[1].joint.gear_ratio = 10;
    bodies[2].joint.mimic = 2;
    bodies[2].joint.mimic_ratio = 0.5;
    bodies[3].joint.damping = 0.1;
    bodies[3].joint.stiffness = 1;
    const soa_frame_def tool = {
        .name = "tool", .link = 4, .placement = soa_frame_from_rpy(1, 2, 3, 4, 5, 6)};
    soa_model_def def = soa_model_default("small", bodies, 4);
    def.frames = &tool;
    def.frame_count = 1;
    const soa_model *model = NULL;
    OK(soa_model_create(&def, &model, NULL));
    return model;
}

static soa_status try_bytes(const unsigned char *bytes, size_t size, const char *what, size_t at) {
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    const soa_status s = soa_model_from_bytes(bytes, size, &model, &report);
    if ((s == SOA_OK) != (model != NULL))
        fail_msg("%s at %zu: status \"%s\", yet model %p", what, at, soa_status_text(s),
                 (const void *)model);
    if (s != SOA_OK && (report.status != s || strlen(report.text) < 5))
        fail_msg("%s at %zu: no report", what, at);
    return s;
}

static void cut_short(void **state) {
    (void)state;
    const soa_model *model = small();
    const size_t size = soa_model_bytes(model);
    for (size_t length = 0; length < size; length++) {
        unsigned char *cut = aligned(length);
        memcpy(cut, model, length);
        if (try_bytes(cut, length, "cut", length) != SOA_E_FORMAT)
            fail_msg("cut to %zu of %zu bytes, yet not refused", length, size);
        free(cut);
    }
    char path[32];
    temporary(path);
    OK(soa_model_save(model, path, NULL));
    for (size_t length = size; length-- > 0;) { /* as a file */
        const soa_model *loaded = NULL;
        soa_report report = {SOA_OK, -1, 0, ""};
        assert_int_equal(truncate(path, (off_t)length), 0);
        if (soa_model_load(path, &loaded, &report) != SOA_E_FORMAT)
            fail_msg("file cut to %zu of %zu bytes, yet not refused", length, size);
        assert_null(loaded);
        assert_int_equal(report.status, SOA_E_FORMAT);
    }
    unlink(path);
    printf("%zu lengths refused, in memory and as files\n", size);
    soa_model_free(model);
}

/* Every bit, all bits, a step. */
enum { DAMAGES = 10 };
static unsigned char damaged(unsigned char good, int k) {
    if (k < 8) return (unsigned char)(good ^ (1 << k));
    if (k == 8) return (unsigned char)~good;
    return (unsigned char)(good + 1);
}
static void one_byte_damaged(void **state) {
    (void)state;
    const soa_model *model = small();
    const size_t size = soa_model_bytes(model);
    unsigned char *bytes = aligned(size);
    memcpy(bytes, model, size);
    long refused = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned char good = bytes[i];
        for (int k = 0; k < DAMAGES; k++) {
            bytes[i] = damaged(good, k);
            if (try_bytes(bytes, size, "damaged", i) == SOA_OK)
                fail_msg("byte %zu made %d from %d, yet not refused", i, bytes[i], good);
            refused++;
        }
        bytes[i] = good;
    }
    assert_int_equal(try_bytes(bytes, size, "whole", 0), SOA_OK);
    printf("%ld damaged models refused\n", refused);
    free(bytes);
    soa_model_free(model);
}

static void wrong_kind(void **state) {
    (void)state;
    const soa_model *model = small();
    const size_t size = soa_model_bytes(model);
    unsigned char *bytes = aligned(size + 64);
    memcpy(bytes, model, size);
    seal(bytes, size);
    assert_memory_equal(bytes, model, size); /* we know the checksum */
    bytes[0] ^= 0x20;
    seal(bytes, size);
    assert_int_equal(try_bytes(bytes, size, "magic", 0), SOA_E_FORMAT);
    bytes[0] ^= 0x20;
    bytes[8]++;
    seal(bytes, size);
    assert_int_equal(try_bytes(bytes, size, "version", 8), SOA_E_VERSION);
    bytes[8]--;
    for (int k = 0; k < 4; k++)
        bytes[12 + k] = (unsigned char)(1 + k); /* the other byte order */
    seal(bytes, size);
    assert_int_equal(try_bytes(bytes, size, "order", 12), SOA_E_FORMAT);
    memcpy(bytes, model, size);
    bytes[24] ^= 1;
    assert_int_equal(try_bytes(bytes, size, "checksum", 24), SOA_E_CHECKSUM);
    memmove(bytes + 8, model, size);
    assert_int_equal(try_bytes(bytes + 8, size, "misaligned", 0), SOA_E_MEMORY);
    memcpy(bytes, model, size);
    memset(bytes + size, 0xee, 64); /* more than needed is harmless */
    assert_int_equal(try_bytes(bytes, size + 64, "longer", size), SOA_OK);
    assert_int_equal(try_bytes((const unsigned char *)"", 0, "nothing", 0) != SOA_OK, 1);
    free(bytes);

    char path[32];
    temporary(path);
    const soa_model *loaded = NULL;
    static const char *const texts[] = {
        "", "soamodel", "<?xml version=\"1.0\"?><robot name=\"r\"><link name=\"l\"/></robot>"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(texts[k], f);
        fclose(f);
        assert_int_equal(soa_model_load(path, &loaded, NULL), SOA_E_FORMAT);
    }
    assert_true(soa_model_load("/tmp", &loaded, NULL) != SOA_OK);
    assert_null(loaded);
    unlink(path);
    soa_model_free(model);
}

/* --- forgeries -------------------------------------------------------------------------------- */

/* Whatever loads must survive every call; its numbers may be nonsense. */
static void survive(const soa_model *m) {
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m),
                 n = (size_t)soa_model_body_count(m);
    if (nq > 1000 || n > 1000) return;
    soa_work *w;
    soa_batch *b;
    OK(soa_work_create(m, &w));
    OK(soa_batch_create(m, &b));
    double *q = room(4 * nq, 8), *v = room(4 * nv, 8),
           *out = room(10 * n * nv + 4 * nv * nv + 6 * nv + 100, 8), *out2 = room(nv * nv + 100, 8);
    float *qf = room(4 * nq, 4), *outf = room(4 * nv * nv, 4);
    size_t letters = strlen(soa_model_name(m));
    for (int i = 1; i <= (int)n; i++) {
        soa_body_info info;
        OK(soa_model_body(m, i, &info));
        letters += strlen(info.link) + strlen(info.joint);
    }
    for (int s = 0; s < 4; s++)
        soa_q_neutral(m, q + (size_t)s * nq);
    for (size_t i = 0; i < 4 * nv; i++)
        v[i] = 0.1;
    for (size_t i = 0; i < 4 * nq; i++)
        qf[i] = (float)q[i];
    const soa_wrench f[2] = {{soa_model_frame_count(m) - 1, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}},
                             {0, SOA_AXES_BODY, {1, 2, 3, 4, 5, 6}}};
    soa_rnea(m, w, q, v, v, f, 2, out);
    soa_aba(m, w, q, v, v, f, 2, out);
    soa_crba(m, w, q, out);
    soa_mass_r87(m, w, q, out);
    soa_minv(m, w, q, out);
    soa_mass_mul(m, w, q, v, out);
    soa_minv_mul(m, w, q, v, out);
    soa_coriolis_mul(m, w, q, v, v, out);
    soa_gravity_torque(m, w, q, out);
    soa_energy(m, w, q, v, out, out + 1);
    soa_momentum(m, w, q, v, out, out + 6);
    soa_centre_of_mass(m, w, q, v, out, out + 3);
    soa_centroidal_momentum_matrix(m, w, q, out);
    soa_regressor(m, w, q, v, v, out);
    soa_model_inertial_parameters(m, out);
    soa_rnea_derivatives(
        m, w, &(soa_input){.q = q, .v = v, .a = v, .wrenches = f, .wrench_count = 2}, out, out2);
    soa_aba_derivatives(
        m, w, &(soa_input){.q = q, .v = v, .tau = v, .wrenches = f, .wrench_count = 2}, out, out2);
    soa_kinematics(m, w, q, v, v);
    for (int i = 0; i < soa_model_frame_count(m); i++) {
        soa_frame_info info;
        soa_frame pose;
        OK(soa_model_frame(m, i, &info));
        letters += strlen(info.name);
        soa_pose(m, w, i, &pose);
        soa_velocity(m, w, i, SOA_AXES_WORLD, out);
        soa_acceleration_classical(m, w, i, SOA_AXES_BODY, out);
        soa_jacobian(m, w, i, SOA_AXES_BODY, out);
        soa_jacobian_dot_v(m, w, i, SOA_AXES_WORLD, out);
        soa_jacobian_mul(m, w, i, SOA_AXES_WORLD, v, out);
        soa_jacobian_transpose_mul(m, w, i, SOA_AXES_WORLD, f[0].value, out);
    }
    assert_true(letters < (size_t)1 << 40);
    soa_aba_batch(m, b, 4, q, v, v, NULL, out);
    soa_rnea_batch(m, b, 3, q, v, v, NULL, out);
    soa_crba_batch(m, b, 4, q, out);
    soa_aba_batch_f(m, b, 2, qf, NULL, NULL, NULL, outf);
    soa_crba_batch_f(m, b, 2, qf, outf);
    soa_aba_f(m, w, qf, NULL, NULL, NULL, outf);
    soa_crba_f(m, w, qf, outf);
    soa_q_integrate(m, q, v, 0.1, out);
    soa_q_difference(m, q, q, out);
    soa_q_rate(m, q, v, out);
    soa_q_normalise(m, q);
    soa_model_find_frame(m, "tool");
    soa_model_find_joint(m, "hand");
    free(q);
    free(v);
    free(out);
    free(out2);
    free(qf);
    free(outf);
    soa_work_free(w);
    soa_batch_free(b);
}

/* Sanitizers make it ten times slower: every third place will do there. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SANITIZED)
enum { STRIDE = 3 };
#else
enum { STRIDE = 1 };
#endif

static long tried, accepted;
static void forge(unsigned char *bytes, size_t size, const char *what, size_t at) {
    seal(bytes, size);
    tried++;
    if (try_bytes(bytes, size, what, at) == SOA_OK) {
        accepted++;
        survive((const soa_model *)(const void *)bytes);
    }
}

static void forged_bytes(void **state) {
    (void)state;
    const soa_model *model = small();
    const size_t size = soa_model_bytes(model);
    unsigned char *bytes = aligned(size);
    memcpy(bytes, model, size);
    tried = accepted = 0;
    for (size_t i = 0; i < size; i += STRIDE) {
        const unsigned char good = bytes[i], bad[4] = {good ^ 1, good ^ 0x80, 0, 0xff};
        if (i >= 24 && i < 32) continue;
        for (int k = 0; k < 4; k++) {
            bytes[i] = bad[k];
            forge(bytes, size, "forged byte", i);
        }
        bytes[i] = good;
    }
    printf("%ld forged bytes, %ld of them accepted and harmless\n", tried, accepted);
    assert_true(accepted > 0 && accepted < tried);
    free(bytes);
    soa_model_free(model);
}

/* Whole numbers where they hurt: counts, indices, offsets, sizes. */
static void forged_words(void **state) {
    (void)state;
    static const int64_t words[] = {
        -1, 0, 1, 2, 5, 6, 7, 8, 64, 1000000, INT32_MAX, INT32_MIN, INT64_MIN, (int64_t)1 << 40};
    enum { HEADER = 256 }; /* its sizes and offsets are 8 bytes wide */
    const soa_model *model = small();
    const size_t size = soa_model_bytes(model);
    unsigned char *bytes = aligned(size);
    tried = accepted = 0;
    for (size_t i = 0; i + 8 <= size; i += 4 * STRIDE)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            for (size_t wide = 4; wide <= (i < HEADER ? 8 : 4); wide += 4) {
                memcpy(bytes, model, size);
                memcpy(bytes + i, &words[k], wide);
                forge(bytes, size, "forged word", i);
            }
    printf("%ld forged words, %ld of them accepted and harmless\n", tried, accepted);
    free(bytes);
    soa_model_free(model);
}

static void forged_at_random(void **state) {
    (void)state;
    tried = accepted = 0;
    for (long seed = first_seed(); seed < first_seed() + 2000 / STRIDE; seed++) {
        dice random = {(uint64_t)seed};
        const soa_model *model = stock("random", seed % 100 + 1);
        const size_t size = soa_model_bytes(model);
        unsigned char *bytes = aligned(size);
        memcpy(bytes, model, size);
        const int hits = (int)roll(&random, 1, 4);
        for (int h = 0; h < hits; h++) {
            const size_t at = (size_t)roll(&random, 0, (double)(size - 8)),
                         count = (size_t)roll(&random, 1, 9);
            for (size_t i = 0; i < count; i++)
                bytes[at + i] = (unsigned char)roll(&random, 0, 256);
        }
        forge(bytes, size, "forged at random, seed", (size_t)seed);
        free(bytes);
        soa_model_free(model);
    }
    printf("%ld models forged at random, %ld of them accepted and harmless\n", tried, accepted);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips),
                                       cmocka_unit_test(odd_rotors),
                                       cmocka_unit_test(bytes_are_reproducible),
                                       cmocka_unit_test(cut_short),
                                       cmocka_unit_test(one_byte_damaged),
                                       cmocka_unit_test(wrong_kind),
                                       cmocka_unit_test(forged_bytes),
                                       cmocka_unit_test(forged_words),
                                       cmocka_unit_test(forged_at_random)};
    return cmocka_run_group_tests_name("saved_model", tests, NULL, NULL);
}
