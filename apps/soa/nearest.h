/* nearest.h  "did you mean": the program's names for the helper it shares with the readers of files. */
#ifndef SOA_NEAREST_H
#define SOA_NEAREST_H
#include "../../src/base/nearest.h"
#include "soa/model.h"

#define APP_HINT SOAI_HINT
typedef soai_nearest app_nearest;
#define app_nearest_to soai_nearest_to
#define app_nearest_try soai_nearest_try
#define app_nearest_hint soai_nearest_hint
/* The hint among the links and frames of a model. */
static inline const char *app_nearest_link(const soa_model *model, const char *name, char hint[APP_HINT]) {
    app_nearest search = app_nearest_to(name);
    soa_frame_info info;
    for (int f = 0; f < soa_frame_count(model); ++f)
        if (soa_frame_get(model, f, &info) == SOA_OK) app_nearest_try(&search, info.name);
    return app_nearest_hint(&search, hint);
}

#endif
