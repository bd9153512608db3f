/* polynomial.h  a planned expression multiplied out: a sum of words, each a number times letters.
 *
 * A letter is a primitive leaf, its adjoint, or an inverse that is solved densely.  The words of an
 * expression do not depend on how its factors were grouped or named, so the planner finds the same
 * steps in all forms of one algorithm.  The last letter of a word is a vector; a word of an
 * operator ends where the unknown vector begins. */
#ifndef SOAI_POLYNOMIAL_H
#define SOAI_POLYNOMIAL_H
#include "expr.h"

/* A longer word or sum is planned as it is written. */
enum { MOST_ALPHABET = 120, MOST_WORD = 60, MOST_WORDS = 200 };

typedef struct letter {
    const soa_expr *e; /* a leaf, or what is inverted */
    int turned;        /* its adjoint */
    int inverse;
} letter;
typedef struct alphabet {
    letter at[MOST_ALPHABET];
    int count;
} alphabet;
typedef struct word {
    double factor;
    int length;
    unsigned char at[MOST_WORD]; /* letters, the last is applied first */
} word;
/* Words in a fixed order, no two alike, no factor zero. */
typedef struct polynomial {
    word *w;
    int count, room;
    int broken; /* too many words, or no memory */
} polynomial;

void soai_alphabet_free(alphabet *a);
/* The number of a leaf in the alphabet, from now on; -1 if it is full. */
int soai_letter(alphabet *a, const soa_expr *e, int turned, int inverse);

/* The words of an expression whose definitions have been expanded; broken also if it has no words:
 * numbers instead of vectors, the adjoint of a vector, an inverse that cannot be planned. */
polynomial soai_polynomial_of(alphabet *a, const soa_expr *wide);
void soai_polynomial_free(polynomial *p);
polynomial soai_polynomial_copy(const polynomial *p);
void soai_polynomial_add(polynomial *p, const word *w);
void soai_polynomial_remove(polynomial *p, int number);
/* p += scale left q */
void soai_polynomial_add_product(polynomial *p, double scale, const unsigned char *left, int length,
                                 const polynomial *q);
/* Nonzero if p = *scale q. */
int soai_polynomial_multiple(const polynomial *p, const polynomial *q, double *scale);
/* The sum of the words of p that begin with `left`, without it; they are taken out of p if `take`
 * is not zero. */
polynomial soai_polynomial_after(polynomial *p, const unsigned char *left, int length, int take);

#endif
