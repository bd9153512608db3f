/* report.h  a run as one HTML file that needs nothing else: the page, its scene and its
 * messages. */
#ifndef VIEW_REPORT_H
#define VIEW_REPORT_H
#include "replay.h"

/* Bytes; a report is smaller for any length of the run. */
enum { VIEW_REPORT_MOST = 20000000 };

typedef struct view_report_result {
    size_t bytes;
    int64_t samples; /* samples of the log */
    int64_t frames;  /* frames included */
    int64_t columns; /* columns of the overview of signals; 0: all samples are included */
    int signals;
} view_report_result;

/* Called repeatedly with the fraction done, 0 to 1. Nonzero stops. */
typedef int view_report_progress_fn(void *user, double done);

/* Appends the report of a log to `out`. page: the built page. result may be NULL. Allocates. */
soa_status view_report_build(view_replay *replay, const char *page, size_t page_size,
                             view_report_progress_fn *progress, void *user, app_out *out,
                             view_report_result *result, soa_report *report);
#endif
