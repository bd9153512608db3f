/* fuzz_view_message.c  any bytes as a page's message: a request with all numbers within bounds, or
 * an error sentence. */
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "fuzz_view_message: %s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    view_message m;
    char why[100] = "";
    const int bad = view_message_parse((const char *)data, size, &m, why);
    demand(memchr(why, 0, sizeof why) != NULL, "a sentence without an end");
    if (bad) {
        demand(why[0] != 0, "refused without a word");
        return 0;
    }
    demand(size <= VIEW_MESSAGE_MOST && (int)m.what >= 0 && m.what < VIEW_DO_COUNT, "no wish");
    demand(isfinite(m.t) && isfinite(m.t0) && isfinite(m.t1) && isfinite(m.value),
           "a number that is none");
    demand(m.t0 <= m.t1 && m.signal_count >= 0 && m.signal_count <= VIEW_SIGNALS_MOST,
           "a stretch of nothing");
    for (int i = 0; i < m.signal_count; ++i)
        demand(m.signals[i] >= 0, "a signal of nothing");
    if (m.what == VIEW_OVERVIEW)
        demand(m.columns >= 1 && m.columns <= VIEW_COLUMNS_MOST, "columns");
    if (m.what == VIEW_STEP) demand(m.count >= 1 && m.count <= VIEW_STEPS_MOST, "steps");
    if (m.what == VIEW_SPEED) demand(m.value >= 0, "a speed");
    if (m.what == VIEW_JOINT) demand(m.q >= 0, "a joint of nothing");
    if (m.what == VIEW_PULL) demand(m.body >= 1, "a body of nothing");
    for (int k = 0; k < 3; ++k)
        demand(fabs(m.at[k]) < 1e9 && fabs(m.to[k]) < 1e9, "a point of nothing");
    return 0;
}
