/* operator_loops.h  the loops of a model as leaves of operator expressions: Bc Rc Gc gammac. */
#ifndef APP_OPERATOR_LOOPS_H
#define APP_OPERATOR_LOOPS_H
#include "soa/soa.h"
#include "soa/stock.h"

typedef struct app_loops {
    soa_constraints *constraints; /* NULL: the expression names none of the leaves */
    soa_work *work;
} app_loops;

/* Whether a text names such a leaf. */
bool app_names_loops(const char *expression);
/* Takes the constraints of the model, and gives the machine their numbers at the neutral q. */
soa_status app_loops_open(app_loops *loops, const soa_model *model, const soa_constraint_list *list,
                          soa_machine *machine);
/* The numbers at q, v (NULL: neutral, zero); nothing if there are none. */
soa_status app_loops_set(app_loops *loops, soa_machine *machine, const double *q, const double *v);
void app_loops_free(app_loops *loops);

#endif
