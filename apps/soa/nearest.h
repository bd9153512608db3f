/* nearest.h  "did you mean": the program's interface to the helper that it shares with the file
 * readers. */
#ifndef SOA_NEAREST_H
#define SOA_NEAREST_H
#include "../../src/base/nearest.h"
#include "soa/model.h"

#include <stdio.h>
#include <string.h>

#define APP_HINT SOAI_HINT
typedef soai_nearest app_nearest;
#define app_nearest_to soai_nearest_to
#define app_nearest_try soai_nearest_try
#define app_nearest_hint soai_nearest_hint
/* Names that other programs use for ours: pairs of theirs and ours, ending with NULL. A match here
 * has precedence over similar names. */
static inline void app_nearest_synonyms(app_nearest *search, const char *const (*pairs)[2]) {
    for (; (*pairs)[0]; ++pairs) {
        if (!strcmp((*pairs)[0], search->word)) {
            search->best = (*pairs)[1];
            search->distance = 0;
        }
    }
}
/* Hint with the nearest name among the links and frames of a model. */
static inline const char *app_nearest_link(const soa_model *model, const char *name,
                                           char hint[APP_HINT]) {
    app_nearest search = app_nearest_to(name);
    soa_frame_info info;
    for (int f = 0; f < soa_model_frame_count(model); ++f)
        if (soa_model_frame(model, f, &info) == SOA_OK) app_nearest_try(&search, info.name);
    if (search.best && search.distance <= 0) return app_nearest_hint(&search, hint);
    soa_body_info body;
    const int b = soa_model_find_joint(model, name);
    if (b > 0 && soa_model_body(model, b, &body) == SOA_OK)
        snprintf(hint, APP_HINT, "; that is a joint, its link is '%.60s'", body.link);
    else if (!app_nearest_hint(&search, hint)[0])
        snprintf(hint, APP_HINT, " (soa info MODEL --frames lists them)");
    return hint;
}

#endif
