/* rewrite.h  single rewritings of an expression: rules of the papers, definitions, multiplying out
 * and taking together. */
#ifndef SOAI_REWRITE_H
#define SOAI_REWRITE_H
#include "expr.h"

/* What kind of rewriting led to a form. The first ones, up to STEP_LIKE, bring every expression
 * nearer to a sum of products of vectors; with STEP_WORDS, of operators too. */
typedef enum step_kind {
    STEP_NAMES,    /* Psi L = psi K and so on, at all places */
    STEP_UNFOLD,   /* the definition of J, V, alpha; a known inverse; the adjoint of a product */
    STEP_CONTRACT, /* a rule that makes the expression cheaper */
    STEP_MULTIPLY, /* A (x + y) = A x + A y with all factors before the sum of vectors */
    STEP_LIKE,     /* like terms are added up */
    STEP_WORDS,    /* a sum of operators multiplied out; rules for single words */
    STEP_OTHER,    /* taken together, part of a product multiplied out, a definition put in */
    STEP_BACK      /* a rule from right to left */
} step_kind;

typedef struct soai_rules soai_rules;
/* NULL: no memory. ideal: also the rules that hold for machines without rotors only. */
soai_rules *soai_rules_create(int ideal);
void soai_rules_free(soai_rules *rules);

/* Receives each form; it owns e. `name` is valid during the call. Nonzero: no more are wanted. */
typedef int soai_form_fn(void *user, const soa_expr *e, step_kind kind, const char *name);
/* All forms one rewriting away from e; both_ways: with the rules from right to left. */
void soai_rewritings(const soai_rules *rules, const soa_expr *e, int both_ways, soai_form_fn *fn,
                     void *user);
/* Names for the two ways of the distributive law. */
extern const char soai_multiplied_out[], soai_taken_together[];

/* Equal numbers for expressions that differ at most in the order of terms and in where adjoints of
 * products are written. */
uint64_t soai_form_key(const soa_expr *e);
int soai_form_size(const soa_expr *e);
#endif
