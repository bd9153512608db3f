/* plot_draw.h  the one drawing of charts: scales, ticks, curves, legends and their places. What
 * differs between kinds of files is a canvas: SVG text (svg_plot.c), or a cairo surface for SVG,
 * PDF and PNG (apps/soa/draw/chart.c). Lengths are in units of the canvas; y points down. */
#ifndef SOAI_PLOT_DRAW_H
#define SOAI_PLOT_DRAW_H
#include "soa/plot.h"

/* What a text or a line is for. The canvas knows its size, colour and width. */
typedef enum soai_plot_text {
    SOAI_TEXT_TICK,
    SOAI_TEXT_KEY,
    SOAI_TEXT_LABEL,
    SOAI_TEXT_TITLE,
    SOAI_TEXT_SUBTITLE,
    SOAI_TEXT_PHASE,
    SOAI_TEXTS
} soai_plot_text;
typedef enum soai_plot_line { SOAI_LINE_GRID, SOAI_LINE_ZERO, SOAI_LINE_AXIS } soai_plot_line;

typedef struct soai_plot_box {
    double x, y, width, height;
} soai_plot_box;

typedef struct soai_plot_words {
    const char *text;
    double x, y;   /* of the anchor, on the base line */
    double anchor; /* 0 left, 0.5 middle, 1 right */
    double room;   /* a canvas that can measure text makes it smaller to fit; 0: any length */
    int upward;    /* nonzero: reads from bottom to top */
} soai_plot_words;

typedef struct soai_plot_canvas {
    void *paper;
    void (*line)(void *paper, soai_plot_line use, double x1, double y1, double x2, double y2);
    void (*text)(void *paper, soai_plot_text use, const soai_plot_words *words);
    /* Curve `index` of a panel: start, points (joined: with a line from the one before), end. A
     * filled curve is the outline of an area. */
    void (*curve_start)(void *paper, int index, soai_plot_box panel);
    void (*curve_point)(void *paper, double x, double y, int joined);
    void (*curve_end)(void *paper, int index, int filled);
    void (*dot)(void *paper, int index, double x, double y);
    void (*key)(void *paper, int index, double x1, double x2, double y);
    /* NULL: this canvas cannot measure text; the style says how much room the legend gets. */
    double (*text_width)(void *paper, soai_plot_text use, const char *text);
    /* A shaded rectangle behind the curves. Sheets with phases need it, and text_width. */
    void (*shade)(void *paper, soai_plot_box where);
} soai_plot_canvas;

typedef struct soai_plot_style {
    double left, panel, gap, bottom; /* margin of the labels; height of a panel; between panels */
    double title_y, subtitle_y;
    double tick_mark;            /* how far the lines of the last panel reach below it */
    double y_tick[2], x_tick[2]; /* from the end of a grid line to its label */
    double y_label_x;            /* from the left edge */
    double x_label_y;            /* below the last panel */
    double key_from, key_to, key_text, key_text_y; /* from the right edge of the panel */
    double key_first, key_line;                    /* first entry, and distance between entries */
    double key_least;     /* entries are moved together to this, and the rest is only counted */
    double key_over;      /* the legend may reach so far below the panel */
    double key_room;      /* width of the legend for a canvas that cannot measure text */
    double thin[2];       /* points closer than this to the last one are left out; -1: none */
    double area_least;    /* least thickness of an area */
    int x_ticks, y_ticks; /* about so many */
    int powers;           /* nonzero: powers of ten are written once, at the label */
} soai_plot_style;

typedef struct soai_plot_phase {
    char name[48];
    double start;
} soai_plot_phase;

typedef struct soai_plot_sheet {
    const soa_plot *plot; /* curves without a name are not in the legend */
    const soai_plot_style *style;
    double width, top;          /* of the sheet; of the first panel */
    int columns;                /* panels side by side */
    double x_low, x_high;       /* NAN: the range of the data */
    const char *x_unit;         /* NULL: the label has it */
    const char *const *y_units; /* one for each panel; NULL: the labels have them */
    /* 0: curves. Otherwise areas, from y[i] to y[i + area]. */
    long area;
    const soai_plot_phase *phases; /* shown behind the curves */
    int phase_count;
} soai_plot_sheet;

/* Colour of a curve as 0xRRGGBB. */
SOA_API unsigned soai_plot_colour(int index);
/* Lengths of the dashes and gaps of a curve; the count is 0 if it is solid. */
enum { SOAI_PLOT_DASHES = 4 };
SOA_API int soai_plot_dash(int index, double lengths[SOAI_PLOT_DASHES]);

SOA_API double soai_plot_height(const soai_plot_sheet *sheet);
SOA_API void soai_plot_draw(const soai_plot_sheet *sheet, const soai_plot_canvas *canvas);
#endif
