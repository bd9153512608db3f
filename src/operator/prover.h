/* prover.h  proofs: expressions as sums of words. */
#ifndef SOAI_WORDS_H
#define SOAI_WORDS_H
#include "expr.h"

/* An expression without inverses that equals inv(e) for every machine, or NULL if none is known. */
const soa_expr *soai_inverse_of(const soa_expr *e);
/* Number of rules of the prover. */
int soai_rule_count(void);
#endif
