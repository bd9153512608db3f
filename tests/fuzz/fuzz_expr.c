/* fuzz_expr.c  the parser of operator expressions, then printing, proving, rewriting and
 * planning. */
#include "soa/soa.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "fuzz_expr: %s\n", what);
    abort();
}

static void count_step(void *steps, const char *rule, const char *result) {
    demand(rule && result && result[0], "a step without a text");
    ++*(int *)steps;
}
/* A derivation, if there is one, begins and ends where it should. */
static void derive(const soa_expr *from, const soa_expr *to) {
    enum { FORMS = 40 };
    int steps = 0;
    const soa_status s = soa_expr_derive(from, to, FORMS, count_step, &steps);
    demand(s == SOA_OK ? steps > 0 : steps == 0, "a derivation in part");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 400) return 0;
    static const soa_model *model;
    static soa_machine *machine;
    if (!model) {
        soa_body_def body[3] = {soa_body_default("a", 0, SOA_FREE),
                                soa_body_default("b", 1, SOA_REVOLUTE),
                                soa_body_default("c", 1, SOA_UNIVERSAL)};
        for (int i = 0; i < 3; ++i)
            soa_body_box(&body[i], 1, 0.1, 0.2, 0.3);
        body[2].joint.axis2[0] = 1;
        body[2].joint.axis2[2] = 0;
        const soa_model_def def = soa_model_default("fuzz", body, 3);
        const int tip = 3;
        demand(soa_model_create(&def, &model, NULL) == SOA_OK, "no model");
        demand(soa_machine_create(model, &tip, 1, &machine, NULL) == SOA_OK, "no machine");
    }
    char text[401], message[300], out[8000];
    memcpy(text, data, size);
    text[size] = 0;
    const soa_variable variable[2] = {{"x", SOA_SPACE_LINK, SOA_SPACE_ONE, false},
                                      {"A", SOA_SPACE_BASE, SOA_SPACE_TIP, false}};
    const soa_expr *e = NULL, *again = NULL, *better = NULL, *left = NULL, *right = NULL;
    const double zero[36] = {0};
    soa_machine_set_vector(machine, "x", SOA_SPACE_LINK, zero);
    soa_machine_set_matrix(machine, "A", SOA_SPACE_TIP, SOA_SPACE_BASE, zero);
    if (soa_expr_parse(text, variable, 2, &e, message, sizeof message) == SOA_OK) {
        /* letters that the text declares are not declared in what is printed */
        if (!strchr(text, ':') && soa_expr_print(e, out, sizeof out) < sizeof out)
            demand(soa_expr_parse(out, variable, 2, &again, message, sizeof message) == SOA_OK,
                   "what was printed cannot be read");
        soa_expr_causality(e);
        demand(soa_expr_improve(e, 30, NULL, NULL, &better) == SOA_OK, "no form at all");
        derive(e, better);
        if (soa_expr_domain(better) == SOA_SPACE_ONE) {
            soa_plan *plan = NULL;
            double result[64];
            if (soa_plan_create(machine, better, &plan, message, sizeof message) == SOA_OK) {
                soa_plan_run(plan, result);
                soa_plan_explain(plan, out, sizeof out);
                soa_plan_free(plan);
            }
        }
    } else {
        demand(message[0] != 0, "refused without a word");
    }
    if (soa_expr_parse_equation(text, variable, 2, &left, &right, message, sizeof message) ==
        SOA_OK) {
        soa_expr_prove(left, right, NULL, NULL);
        derive(left, right);
    }
    soa_expr_free(e);
    soa_expr_free(again);
    soa_expr_free(better);
    soa_expr_free(left);
    soa_expr_free(right);
    return 0;
}
