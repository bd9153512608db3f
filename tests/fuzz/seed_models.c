/* seed_models.c  writes the fuzzer's initial saved models; run it again when their format changes:
 * seed_models DIR
 *
 * One model for every joint type, one with all of them, models for the checks that involve several
 * joints, and models broken in one place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soa/io.h"
#include "soa/soa.h"

static const char *folder;

static void fail(const char *name, const soa_report *report) {
    fprintf(stderr, "seed_models: %s: %s\n", name, report->text);
    exit(1);
}
static const char *path_of(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s.soam", folder, name);
    return path;
}
static void save(const char *name, const soa_model *model) {
    soa_report report = {0};
    if (soa_model_save(model, path_of(name), &report) != SOA_OK) fail(name, &report);
}
static void build(const char *name, const soa_body_def *bodies, int count,
                  const soa_frame_def *frame) {
    const soa_model *model = NULL;
    soa_report report = {0};
    soa_model_def def = soa_model_default(name, bodies, count);
    def.frames = frame;
    def.frame_count = frame != NULL;
    if (soa_model_create(&def, &model, &report) != SOA_OK) fail(name, &report);
    save(name, model);
    soa_model_free(model);
}
static soa_body_def body(const char *name, int parent, soa_joint_type type) {
    soa_body_def b = soa_body_default(name, parent, type);
    soa_body_box(&b, 1, 0.1, 0.2, 0.3);
    b.com[2] = 0.1;
    b.placement.p[0] = parent ? 0.5 : 0;
    if (type == SOA_HELICAL) b.joint.pitch = 0.1;
    return b;
}
/* Writes the pendulum's bytes with those from `at` on replaced, or only the first `size` of
 * them. */
static void broken(const char *name, size_t size, size_t at, const void *bytes, size_t count) {
    unsigned char text[65536];
    FILE *in = fopen(path_of("pendulum"), "rb");
    size_t all = in ? fread(text, 1, sizeof text, in) : 0;
    if (in) fclose(in);
    FILE *out = fopen(path_of(name), "wb");
    if (!all || at + count > all || !out) {
        fprintf(stderr, "seed_models: %s cannot be written\n", path_of(name));
        exit(1);
    }
    memcpy(text + at, bytes, count);
    fwrite(text, 1, size < all ? size : all, out);
    if (fclose(out)) exit(1);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: seed_models DIR\n");
        return 2;
    }
    folder = argv[1];
    static const char *const names[] = {"pendulum",  "prismatic", "helical",   "cylindrical",
                                        "universal", "planar",    "spherical", "free"};
    soa_body_def all[8];
    for (int i = 0; i < 8; ++i) {
        const soa_body_def one = body(names[i], 0, (soa_joint_type)(SOA_REVOLUTE + i));
        build(names[i], &one, 1, NULL);
        all[i] = body(names[i], i % 3 ? i : 0, (soa_joint_type)(SOA_REVOLUTE + i));
    }
    build("all_joints", all, 8, NULL);
    build("no_bodies", NULL, 0, NULL);

    soa_body_def hand[4] = {body("palm", 0, SOA_REVOLUTE), body("finger", 1, SOA_REVOLUTE),
                            body("thumb", 1, SOA_REVOLUTE), body("tip", 2, SOA_FIXED)};
    hand[2].joint.mimic = 2;
    hand[2].joint.mimic_ratio = -0.5;
    hand[2].joint.mimic_offset = 0.1;
    hand[1].joint.rotor_inertia = 1e-4;
    hand[1].joint.gear_ratio = 30;
    hand[1].joint.rotor_model = SOA_ROTOR_EXACT;
    hand[0].joint.damping = 0.1;
    hand[0].joint.stiffness = 2;
    hand[0].joint.friction_positive = 0.3;
    const soa_frame_def tool = {"tool", 4, soa_body_default("", 0, SOA_FIXED).placement};
    build("mimic_rotor_frame", hand, 4, &tool);

    soa_body_def forest[4] = {body("trunk", 0, SOA_SPHERICAL), body("branch", 1, SOA_UNIVERSAL),
                              body("other", 0, SOA_FREE), body("twig", 3, SOA_PRISMATIC)};
    /* a massless inner link. */
    forest[0].mass = 0;
    memset(forest[0].inertia, 0, sizeof forest[0].inertia);
    build("forest", forest, 4, NULL);
    /* Forward dynamics is not defined. */
    forest[3].mass = 0;
    memset(forest[3].inertia, 0, sizeof forest[3].inertia);
    build("forest_massless_tip", forest, 4, NULL);

    const unsigned version = 9, order = 0x04030201, count = 200;
    const unsigned char last = 1;
    const size_t end = (size_t)-1;
    broken("version", end, 8, &version, sizeof version);
    broken("byte_order", end, 12, &order, sizeof order);
    broken("body_count", end, 32, &count, sizeof count);
    broken("checksum", end, 3000, &last, 1);
    broken("cut", 1824, 0, "s", 1);
    broken("header_only", 232, 0, "s", 1);
    broken("magic_only", 8, 0, "s", 1);
    broken("nothing", 0, 0, "s", 1);
    return 0;
}
