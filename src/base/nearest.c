/* nearest.c  finds the valid name closest to a misspelt one. */
#include "nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 96 };

/* Number of insertions, deletions, replacements and swaps of neighbours that change a into b,
 * ignoring case. */
static int edit_distance(const char *a, const char *b) {
    int la = (int)strlen(a), lb = (int)strlen(b);
    int row[3][WORD_MAX + 1];
    for (int j = 0; j <= lb; ++j)
        row[0][j] = j;
    for (int i = 1; i <= la; ++i) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= lb; ++j) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            int best = last[j - 1] + (x != y);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[la % 3][lb];
}

soai_nearest soai_nearest_to(const char *word) {
    return (soai_nearest){word, NULL, WORD_MAX};
}

/* A candidate counts as close if it needs at most a third of the longer name's length in changes
 * (one change for names shorter than six letters), or if the word is the beginning of it. */
void soai_nearest_try(soai_nearest *search, const char *candidate) {
    const size_t length = strlen(search->word), other = strlen(candidate),
                 longer = length > other ? length : other;
    if (length == 0 || longer > WORD_MAX) return;
    const int begun = length > 2 && strncmp(search->word, candidate, length) == 0;
    const int distance = begun ? 1 : edit_distance(search->word, candidate);
    const int most = longer < 6 ? 1 : (int)longer / 3;
    if (distance <= most && distance < search->distance && distance < (int)longer) {
        search->distance = distance;
        search->best = candidate;
    }
}

const char *soai_nearest_hint(const soai_nearest *search, char hint[SOAI_HINT]) {
    hint[0] = '\0';
    if (search->best) snprintf(hint, SOAI_HINT, "; did you mean '%s'?", search->best);
    return hint;
}
