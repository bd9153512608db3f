/* fuzz_compute.c  one input line of `soa compute`, on a small machine with a free base, a ball
 * joint and a mimic joint.
 *
 * For any line, the answer must be one line with a JSON object: an error with its line number, or
 * every requested quantity, all finite. The fast and the full reader must give identical bytes. */
#include "../../apps/soa/compute.h"
#include "soa/model.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char functions[] =
    "rnea,bias,gravity,aba,mass,mass_inv,pose,jacobian,jdot_v,compliance,operational,energy,"
    "com,momentum,daba_dq,daba_dv,fd_two_sweep,fd_ud,drnea_dq,drnea_dv,jacobian:camera,closed:"
    "forces,closed_id,"
    "assemble";
static const char *const keys[] = {
    "tau",         "bias",     "gravity",   "qdd",      "mass",      "mass_inv",
    "pose",        "jacobian", "jdot_v",    "kinetic",  "com",       "momentum",
    "daba_dq",     "daba_dv",  "drnea_dq",  "drnea_dv", "potential", "compliance",
    "operational", "closed",   "closed_id", "assemble"};

static void demand(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "fuzz_compute: %s\n", what);
    abort();
}

static const soa_model *make_model(void) {
    soa_body_def body[6] = {
        soa_body_default("base", 0, SOA_FREE),        soa_body_default("upper", 1, SOA_SPHERICAL),
        soa_body_default("lower", 2, SOA_REVOLUTE),   soa_body_default("camera", 3, SOA_FIXED),
        soa_body_default("finger", 3, SOA_PRISMATIC), soa_body_default("thumb", 3, SOA_PRISMATIC),
    };
    for (int i = 0; i < 6; ++i) {
        soa_body_box(&body[i], 1.0 + i, 0.1, 0.2, 0.3);
        body[i].placement.p[2] = 0.4;
    }
    body[2].joint.damping = 0.1;
    body[2].joint.friction_positive = body[2].joint.friction_negative = 0.2;
    body[5].joint.mimic = 5;
    body[5].joint.mimic_ratio = -1;
    soa_model_def def = soa_model_default("fuzz", body, 6);
    soa_report report;
    const soa_model *model = NULL;
    demand(soa_model_create(&def, &model, &report) == SOA_OK, "the model does not build");
    return model;
}

static void check_answer(const char *text, size_t size, compute_outcome outcome) {
    json_error_t error;
    demand(size > 0 && text[size - 1] == '\n' && memchr(text, '\n', size - 1) == NULL,
           "the answer is not one line");
    json_t *answer = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    demand(json_is_object(answer), "the answer is not a JSON object");
    if (outcome == COMPUTE_BAD) {
        demand(json_object_size(answer) == 2 &&
                   json_integer_value(json_object_get(answer, "line")) == 1 &&
                   json_string_length(json_object_get(answer, "error")) > 0,
               "not an error object");
    } else {
        size_t count = sizeof keys / sizeof *keys;
        demand(json_object_size(answer) == count, "a quantity is missing or too many");
        for (size_t i = 0; i < count; ++i)
            demand(json_object_get(answer, keys[i]) != NULL, keys[i]);
        demand(strstr(text, "null") == NULL, "a number is not finite");
    }
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static compute *c;
    if (c == NULL) {
        char message[COMPUTE_MESSAGE];
        c = compute_create(make_model(), NULL, functions, message);
        demand(c != NULL, message);
    }
    const uint8_t *stop = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t length = stop != NULL ? (size_t)(stop - data) : size;
    /* Only the line and its terminator may be read. */
    char *line = malloc(length + 1);
    demand(line != NULL, "no memory");
    memcpy(line, data, length);
    line[length] = '\n';

    app_out quick, full;
    out_start(&quick, -1);
    out_start(&full, -1);
    compute_full_reader_only(c, 0);
    compute_outcome first = compute_line(c, line, length, 1, &quick);
    compute_full_reader_only(c, 1);
    compute_outcome second = compute_line(c, line, length, 1, &full);
    demand(first == second, "the readers disagree on the outcome");
    if (first == COMPUTE_BLANK) {
        demand(quick.size == 0 && full.size == 0, "a blank line was answered");
    } else {
        demand(quick.size == full.size && memcmp(quick.data, full.data, full.size) == 0,
               "the readers disagree");
        out_char(&quick, '\0'); /* for strstr */
        check_answer(quick.data, quick.size - 1, first);
    }
    out_free(&quick);
    out_free(&full);
    free(line);
    return 0;
}
