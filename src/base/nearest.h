/* nearest.h  "did you mean": finds the valid name closest to a misspelt one. */
#ifndef SOAI_NEAREST_H
#define SOAI_NEAREST_H
#include "soa/base.h"

/* Try every candidate, then request the hint. */
typedef struct soai_nearest {
    const char *word, *best;
    int distance;
} soai_nearest;
SOA_API soai_nearest soai_nearest_to(const char *word);
SOA_API void soai_nearest_try(soai_nearest *search, const char *candidate);
/* Writes "; did you mean 'x'?" or "" into hint. */
#define SOAI_HINT 128
SOA_API const char *soai_nearest_hint(const soai_nearest *search, char hint[SOAI_HINT]);

#endif
