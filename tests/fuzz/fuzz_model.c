/* fuzz_model.c  any bytes as a saved model: refused with a report, or a model that works in every
 * sweep.
 *
 * The bytes are tried as they are and with a correct checksum, to get past the first check.
 * replay.c replays the corpus, tests/corpus/model. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soa/soa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "fuzz_model: %s\n", what);
    abort();
}

/* Memory of exactly this size, so that sanitizers detect a read past the end. */
static void *aligned(size_t size) {
    void *memory = NULL;
    demand(posix_memalign(&memory, 64, size > 0 ? size : 1) == 0, "no memory");
    return memory;
}
static void *numbers(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    demand(memory != NULL, "no memory");
    return memory;
}

/* FNV-1a over all bytes, with its own field (24 to 31) taken as zero. */
static void seal(uint8_t *bytes, size_t size) {
    uint64_t length, h = 1469598103934665603u;
    memcpy(&length, bytes + 16, sizeof length);
    if (length < size) size = (size_t)length;
    memset(bytes + 24, 0, sizeof h);
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    memcpy(bytes + 24, &h, sizeof h);
}

static size_t read_texts(const soa_model *m) {
    size_t letters = strlen(soa_model_name(m));
    for (int i = 1; i <= soa_model_body_count(m); i++) {
        soa_body_info body;
        demand(soa_model_body(m, i, &body) == SOA_OK, "a body cannot be read");
        demand(body.parent >= 0 && body.parent < i, "a parent comes after its child");
        letters += strlen(body.link) + strlen(body.joint);
    }
    for (int i = 0; i < soa_model_frame_count(m); i++) {
        soa_frame_info frame;
        demand(soa_model_frame(m, i, &frame) == SOA_OK, "a frame cannot be read");
        letters += strlen(frame.name);
    }
    return letters;
}

static void sweep(const soa_model *m) {
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m),
                 n = (size_t)soa_model_body_count(m);
    demand(nq >= nv && n < (size_t)1 << 20, "odd sizes");
    if (n > 64) return; /* to save time */
    const int last = soa_model_frame_count(m) - 1;
    const soa_wrench f[2] = {{last, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}},
                             {last, SOA_AXES_BODY, {6, 5, 4, 3, 2, 1}}};
    double *q = numbers(5 * nq, sizeof *q), *v = numbers(5 * nv, sizeof *v), V[6], kinetic,
           potential;
    double *out = numbers(5 * nv * nv + 6 * nv + 10 * n * nv, sizeof *out),
           *out2 = numbers(nv * nv, sizeof *out2);
    float *qf = numbers(nq, sizeof *qf), *out_f = numbers(nv * nv, sizeof *out_f);
    soa_work *w = NULL;
    soa_batch *b = NULL;
    soa_frame pose;
    demand(soa_work_create(m, &w) == SOA_OK && soa_batch_create(m, &b) == SOA_OK, "no work space");
    for (size_t s = 0; s < 5; s++)
        soa_q_neutral(m, q + s * nq);
    for (size_t i = 0; i < 5 * nv; i++)
        v[i] = 0.25;
    for (size_t i = 0; i < nq; i++)
        qf[i] = (float)q[i];
    demand(soa_rnea(m, w, q, v, v, f, 2, out) == SOA_OK, "rnea refuses a neutral state");
    soa_aba(m, w, q, v, v, f, 2, out);
    demand(soa_crba(m, w, q, out) == SOA_OK, "crba refuses a neutral state");
    soa_minv(m, w, q, out);
    soa_coriolis_mul(m, w, q, v, v, out);
    soa_energy(m, w, q, v, &kinetic, &potential);
    soa_regressor(m, w, q, v, v, out);
    soa_aba_derivatives(
        m, w, &(soa_input){.q = q, .v = v, .tau = v, .wrenches = f, .wrench_count = 2}, out, out2);
    demand(soa_kinematics(m, w, q, v, v) == SOA_OK, "kinematics refuses a neutral state");
    for (int i = 0; i <= last; i++) {
        soa_pose(m, w, i, &pose);
        soa_jacobian(m, w, i, SOA_AXES_BODY, out);
        soa_jacobian_dot_v(m, w, i, SOA_AXES_WORLD, V);
    }
    soa_aba_batch(m, b, 5, q, v, v, NULL, out);
    soa_crba_batch(m, b, 5, q, out);
    soa_rnea_batch_f(m, b, 1, qf, NULL, NULL, NULL, out_f);
    soa_crba_f(m, w, qf, out_f);
    soa_q_integrate(m, q, v, 0.1, q);
    soa_work_free(w);
    soa_batch_free(b);
    free(q);
    free(v);
    free(out);
    free(out2);
    free(qf);
    free(out_f);
}

static void try(const uint8_t *bytes, size_t size) {
    const soa_model *model = NULL;
    soa_report report;
    memset(&report, 0, sizeof report);
    const soa_status status = soa_model_from_bytes(bytes, size, &model, &report);
    demand((status == SOA_OK) == (model != NULL), "status and model disagree");
    if (status != SOA_OK) {
        demand(report.status == status && report.text[0] != 0, "refused without a report");
        return;
    }
    demand(read_texts(model) < (size_t)1 << 40, "endless texts");
    sweep(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = aligned(size);
    if (size > 0) memcpy(bytes, data, size);
    try(bytes, size);
    if (size >= 32) {
        seal(bytes, size);
        try(bytes, size);
    }
    free(bytes);
    return 0;
}
