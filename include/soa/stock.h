/* soa/stock.h  the shipped models by name (libsoa-io), and the constraints that a model brings
 *              along. */
#ifndef SOA_STOCK_H
#define SOA_STOCK_H

#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soa_read_options {
    bool floating; /* put a free joint named "root" under the root link */
    bool ideal;    /* no friction, springs or rotors; mimic joints independent */
} soa_read_options;

/* The constraints that a URDF file (<loop_joint>, <constraint>) or a shipped model brings along, as
 * definitions over the frames and bodies of its model.  The calls above read the tree alone.  A
 * saved model holds no constraints. */
typedef struct soa_constraint_list {
    int count;
    soa_constraint_def *defs; /* the caller may change what they hold; names belong to the list */
} soa_constraint_list;
/* what it holds, not the struct */
SOA_API void soa_constraint_list_free(soa_constraint_list *list);
/* All of them in a soa_constraints of just that size.  dense: as in soa_constraint_capacity.  Names
 * are copied: the list may go, the model must stay.  Release with soa_constraints_free. */
SOA_API soa_status soa_constraints_from_list(const soa_constraint_list *list,
                                             const soa_model *model, bool dense,
                                             soa_constraints **constraints, soa_report *report);

/* Shipped models: names and what they are by number (NULL past the end), build by name;
 * docs/models.md.  Listed as "chain:N" or "random:SEED" they take a number there: N from 1 to
 * 100,000 (planar-chain, chain, dh-arm, dh-arm-90), SEED from 0 to 2,147,483,647 (random,
 * random-ideal, random-square).  SOA_E_NAME: no such name, or a number that is missing, out of
 * range or not taken; SOA_E_ARGUMENT: options->floating of one that cannot float. */
SOA_API const char *soa_stock_model_name(int index);
SOA_API const char *soa_stock_model_text(int index);
SOA_API soa_status soa_stock_model_create(const char *name, const soa_read_options *options,
                                          const soa_model **model, soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
