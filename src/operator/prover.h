/* prover.h  expressions as sums of words, for proofs. */
#ifndef SOAI_WORDS_H
#define SOAI_WORDS_H
#include "expr.h"

/* An expression without inverses that equals inv(e), or NULL if none is known.  Exact for every machine. */
const soa_expr *soai_inverse_of(const soa_expr *e);
/* Rules the prover works with: number of them, and the i-th as text. */
int soai_rule_count(void);
#endif
