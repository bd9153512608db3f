/* chart.h  draws signals of a log as a picture for papers: SVG, PDF or PNG from one drawing
 * (cairo). */
#ifndef SOA_CHART_H
#define SOA_CHART_H
#include "../../output/damage.h"
#include "../../output/out.h"
#include "soa/journal.h"

typedef struct chart {
    soa_log *log;
    const int *signals; /* in the order of their colours */
    int signal_count;
    double from, to;   /* s */
    const char *title; /* NULL: none */
    int columns;       /* panels side by side */
    double width;      /* mm */
    double dots;       /* dots per inch, for PNG */
    int bands;         /* nonzero: show the supervisor's phases behind the curves */
    /* Set if the drawing ends at damage in the log; may be NULL. */
    view_damage *damage;
} chart;

typedef enum chart_format { CHART_SVG, CHART_PDF, CHART_PNG } chart_format;

/* Draws one panel for each unit and appends the bytes of the file to `out`. Memory and time do not
 * grow with the length of the record: long records are drawn by the smallest and largest values of
 * each column. */
soa_status chart_draw(const chart *chart, chart_format format, app_out *out, soa_report *report);
#endif
