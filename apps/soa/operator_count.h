/* operator_count.h  how many operators an expression has: the effort of forming it densely. */
#ifndef SOA_APP_OPERATOR_COUNT_H
#define SOA_APP_OPERATOR_COUNT_H

#include "soa/operator.h"

/* One with a definition counts as the operators of its definition; the longest has eight. */
static inline double app_operator_count(const soa_expr *e) {
    const double longest_definition = 8;
    soa_expr_info info;
    double n = soa_expr_get_info(e, &info) == SOA_OK && info.definition ? longest_definition : 1;
    for (int i = 0; soa_expr_part(e, i); ++i)
        n += app_operator_count(soa_expr_part(e, i));
    return n;
}
#endif
