/* soa/stock.h  the shipped models by name (libsoa-io), and the constraints of a model. */
#ifndef SOA_STOCK_H
#define SOA_STOCK_H

#include "soa/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soa_read_options {
    bool floating; /* the root link gets a free joint named "root" */
    bool ideal;    /* no friction, springs or rotors; mimic joints move independently */
} soa_read_options;

/* The constraints of a URDF file (<loop_joint>, <constraint>) or of a shipped model, as definitions
 * on the frames and bodies of its model.  soa_stock_model_create makes the tree alone.  A saved
 * model contains no constraints. */
typedef struct soa_constraint_list {
    int count;
    soa_constraint_def *defs; /* the caller may change their contents; names belong to the list */
} soa_constraint_list;
/* Frees what the list points to, not the struct. */
SOA_API void soa_constraint_list_free(soa_constraint_list *list);
/* Makes a soa_constraints of just the right size with all of them.  dense: as in
 * soa_constraint_capacity.  Names are copied, so the list may be freed; the model must outlive the
 * constraints.  Release with soa_constraints_free. */
SOA_API soa_status soa_constraints_from_list(const soa_constraint_list *list,
                                             const soa_model *model, bool dense,
                                             soa_constraints **constraints, soa_report *report);

/* Shipped models: their names and descriptions by number (NULL past the end), and a model by its
 * name; docs/models.md.  A name that is listed as "chain:N" or "random:SEED" needs a number: N from
 * 1 to 100,000 (planar-chain, chain, dh-arm, dh-arm-90), SEED from 0 to 2,147,483,647 (random,
 * random-ideal, random-square).  SOA_E_NAME: no such name, or a number that is missing, out of
 * range or not expected.  SOA_E_ARGUMENT: options->floating for a model that cannot float. */
SOA_API const char *soa_stock_model_name(int index);
SOA_API const char *soa_stock_model_text(int index);
SOA_API soa_status soa_stock_model_create(const char *name, const soa_read_options *options,
                                          const soa_model **model, soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
