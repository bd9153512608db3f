/* nearest.h  "did you mean": the valid name nearest to a mistaken one. */
#ifndef SOA_NEAREST_H
#define SOA_NEAREST_H

/* Try every candidate, then ask for the hint. */
typedef struct app_nearest {
    const char *word, *best;
    int distance;
} app_nearest;
app_nearest app_nearest_to(const char *word);
void app_nearest_try(app_nearest *search, const char *candidate);
/* "; did you mean 'x'?" or "" into hint. */
#define APP_HINT 128
const char *app_nearest_hint(const app_nearest *search, char hint[APP_HINT]);

#endif
