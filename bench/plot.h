/* plot.h  time against N in a log-log chart, as an SVG picture. */
#ifndef SOA_BENCH_PLOT_H
#define SOA_BENCH_PLOT_H

#include <stdio.h>

typedef struct plot_point {
    const char *panel, *series; /* function and library */
    double x, y;                /* N and ns */
} plot_point;

/* Panels and series appear in the order of the lists (NULL at the end). The first series is
 * drawn strongest. A series whose name contains a space is drawn dashed in the colour of its
 * first word. */
void plot_write(FILE *file, const char *title, const char *const *panels,
                const char *const *panel_titles, const char *const *series,
                const plot_point *points, int count);

#endif
