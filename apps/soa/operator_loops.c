/* operator_loops.c  the loops of a model as leaves of operator expressions. */
#include "operator_loops.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool app_names_loops(const char *text) {
    static const char *const leaves[] = {"Bc", "Rc", "Gc", "gammac"};
    while (*text) {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            ++n;
        for (size_t i = 0; n && i < sizeof leaves / sizeof *leaves; ++i)
            if (strlen(leaves[i]) == n && !strncmp(text, leaves[i], n)) return true;
        text += n ? n : 1;
    }
    return false;
}
soa_status app_loops_open(app_loops *loops, const soa_model *model, const soa_constraint_list *list,
                          soa_machine *machine) {
    soa_status s = soa_constraints_from_list(list, model, false, &loops->constraints, NULL);
    if (!s) s = soa_work_create(model, &loops->work);
    return s ? s : app_loops_set(loops, machine, NULL, NULL);
}
soa_status app_loops_set(app_loops *loops, soa_machine *machine, const double *q, const double *v) {
    if (!loops->constraints) return SOA_OK;
    const soa_model *model = soa_constraints_model(loops->constraints);
    double *neutral = calloc((size_t)soa_model_nq(model) + 1, sizeof *neutral);
    if (!neutral) return SOA_E_MEMORY;
    soa_q_neutral(model, neutral);
    const soa_input in = {.q = q ? q : neutral, .v = v};
    const soa_status s =
        soa_constraints_close_machine(loops->constraints, loops->work, &in, machine);
    free(neutral);
    return s;
}
void app_loops_free(app_loops *loops) {
    soa_constraints_free(loops->constraints);
    soa_work_free(loops->work);
    *loops = (app_loops){NULL, NULL};
}
