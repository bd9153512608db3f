/* chart.h  signals of a log as a picture for papers: SVG, PDF or PNG from one drawing (cairo). */
#ifndef SOA_CHART_H
#define SOA_CHART_H
#include "../../output/damage.h"
#include "../../output/out.h"
#include "soa/journal.h"

typedef struct chart {
    soa_log *log;
    const int *signals; /* numbers, in the order of their colours */
    int signal_count;
    double from, to;     /* s */
    const char *title;   /* NULL: none */
    int columns;         /* panels side by side */
    double width;        /* mm */
    double dots;         /* PNG: per inch */
    int bands;           /* nonzero: the supervisor's phases behind the curves */
    view_damage *damage; /* told here, if what is drawn ends at damage; may be NULL */
} chart;

typedef enum chart_format { CHART_SVG, CHART_PDF, CHART_PNG } chart_format;

/* Draws, one panel for each unit, the file's bytes appended to `out`.  Memory and time do not grow with the length of the
 * record: long ones are drawn by the smallest and largest values of each column. */
soa_status chart_draw(const chart *chart, chart_format format, app_out *out, soa_report *report);
#endif
