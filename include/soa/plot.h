/* soa/plot.h  curves as an SVG file (libsoa-sim). */
#ifndef SOA_PLOT_H
#define SOA_PLOT_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Curves over a common x axis, in one panel or in several, one below the other. */
typedef struct soa_plot_curve {
    const char *name; /* in the legend */
    const double *y;  /* as many numbers as x; a number that is not finite makes a gap */
    const double *x;  /* the x of this curve; NULL: that of the plot */
    long count;       /* number of points of `x`; not used if x is NULL */
    bool markers;     /* true: a dot at every point */
} soa_plot_curve;

typedef struct soa_plot_panel {
    const char *y_label; /* with unit, e.g. "angle (deg)" */
    bool y_log;
    const soa_plot_curve *curves;
    int curve_count;
} soa_plot_panel;

typedef struct soa_plot {
    const char *title;    /* NULL: none */
    const char *subtitle; /* NULL: none */
    const char *x_label;
    bool x_log;
    const double *x; /* count numbers */
    long count;
    const soa_plot_panel *panels;
    int panel_count;
} soa_plot;

/* Writes the file, and replaces an older one.  SOA_E_ARGUMENT: no panel or no path.  SOA_E_FILE. */
SOA_API soa_status soa_plot_write_svg(const soa_plot *plot, const char *path, soa_report *report);

#ifdef __cplusplus
}
#endif
#endif
