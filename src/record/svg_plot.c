/* svg_plot.c  soa_plot_write_svg: a chart (plot_draw.h) as an SVG file of a few kinds of elements.
 * Text remains text, so that it can be searched and translated. */
#include "../base/new_file.h"
#include "../base/visible.h"
#include "plot_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, TOP = 74 };

/* Lengths in pixels. */
static const soai_plot_style style = {.left = 84,
                                      .panel = 250,
                                      .gap = 34,
                                      .bottom = 58,
                                      .title_y = 32,
                                      .subtitle_y = 54,
                                      .tick_mark = 5,
                                      .y_tick = {-9, 4},
                                      .x_tick = {0, 20},
                                      .y_label_x = 20,
                                      .x_label_y = 42,
                                      .key_from = 16,
                                      .key_to = 42,
                                      .key_text = 49,
                                      .key_text_y = 4,
                                      .key_first = 8,
                                      .key_line = 19,
                                      .key_room = 170,
                                      .thin = {-1, -1},
                                      .x_ticks = 10,
                                      .y_ticks = 6};

/* --- canvas ----------------------------------------------------------------------------------- */

/* Writes a coordinate in pixels with two decimals. */
static void pixel(FILE *file, double x) {
    long hundredths = lround(x * 100), size = hundredths < 0 ? -hundredths : hundredths;
    fprintf(file, "%s%ld.%02ld", hundredths < 0 ? "-" : "", size / 100, size % 100);
}

static void escaped(FILE *file, const char *text) {
    while (*text != '\0') {
        char instead[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(text, strlen(text), instead);
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (instead[0] != '\0')
            fputs(instead, file);
        else
            fwrite(text, 1, n, file);
        text += n;
    }
}

static void put_text(void *paper, soai_plot_text use, const soai_plot_words *words) {
    static const char classes[SOAI_TEXTS] = {
        [SOAI_TEXT_TICK] = 't',  [SOAI_TEXT_KEY] = 'k',      [SOAI_TEXT_LABEL] = 'l',
        [SOAI_TEXT_TITLE] = 'h', [SOAI_TEXT_SUBTITLE] = 's', [SOAI_TEXT_PHASE] = 't'};
    FILE *file = paper;
    const double y = words->upward ? floor(words->y + 0.5) : words->y;
    fputs("<text x=\"", file);
    pixel(file, words->x);
    fputs("\" y=\"", file);
    pixel(file, y);
    fprintf(file, "\" class=\"%c\"", classes[use]);
    if (words->anchor != 0)
        fprintf(file, " text-anchor=\"%s\"", words->anchor == 1 ? "end" : "middle");
    if (words->upward)
        fprintf(file, " transform=\"rotate(-90 %ld %ld)\"", lround(words->x), lround(y));
    fputc('>', file);
    escaped(file, words->text);
    fputs("</text>\n", file);
}

/* The attributes of a line without its style. */
static void start_line(FILE *file, double x1, double y1, double x2, double y2) {
    const double at[4] = {x1, y1, x2, y2};
    const char *const name[4] = {"x1", "y1", "x2", "y2"};
    fputs("<line", file);
    for (int k = 0; k < 4; k++) {
        fprintf(file, " %s=\"", name[k]);
        pixel(file, at[k]);
        fputc('"', file);
    }
}
static void put_line(void *paper, soai_plot_line use, double x1, double y1, double x2, double y2) {
    static const char classes[] = {
        [SOAI_LINE_GRID] = 'g', [SOAI_LINE_ZERO] = 'z', [SOAI_LINE_AXIS] = 'a'};
    start_line(paper, x1, y1, x2, y2);
    fprintf(paper, " class=\"%c\"/>\n", classes[use]);
}

/* Lengths of the dashes of a curve, separated by spaces, or `solid`. */
static void put_dash(FILE *file, int index, const char *solid) {
    double lengths[SOAI_PLOT_DASHES];
    const int count = soai_plot_dash(index, lengths);
    if (count == 0) fputs(solid, file);
    for (int k = 0; k < count; ++k)
        fprintf(file, "%s%ld", k > 0 ? " " : "", lround(lengths[k]));
}
static void start_curve(void *paper, int index, soai_plot_box panel) {
    double lengths[SOAI_PLOT_DASHES];
    FILE *file = paper;
    (void)panel; /* the scales are as wide as the data: no curve leaves its panel */
    fprintf(file,
            "<path fill=\"none\" stroke=\"#%06x\" stroke-width=\"1.8\" stroke-linejoin=\"round\"",
            soai_plot_colour(index));
    if (soai_plot_dash(index, lengths) > 0) {
        fputs(" stroke-dasharray=\"", file);
        put_dash(file, index, "");
        fputc('"', file);
    }
    fputs(" d=\"", file);
}
static void put_point(void *paper, double x, double y, int joined) {
    fputc(joined ? 'L' : 'M', paper);
    pixel(paper, x);
    fputc(' ', paper);
    pixel(paper, y);
}
static void end_curve(void *paper, int index, int filled) {
    (void)index;
    (void)filled; /* soa_plot has no areas */
    fputs("\"/>\n", paper);
}
static void put_dot(void *paper, int index, double x, double y) {
    fputs("<circle r=\"3\" cx=\"", paper);
    pixel(paper, x);
    fputs("\" cy=\"", paper);
    pixel(paper, y);
    fprintf(paper, "\" fill=\"#%06x\"/>\n", soai_plot_colour(index));
}
static void put_key(void *paper, int index, double x1, double x2, double y) {
    start_line(paper, x1, y, x2, y);
    fprintf(paper, " stroke=\"#%06x\" stroke-width=\"2.4\" stroke-dasharray=\"",
            soai_plot_colour(index));
    put_dash(paper, index, "none");
    fputs("\"/>\n", paper);
}

/* --- the file --------------------------------------------------------------------------------- */

static void write_svg(FILE *file, const soa_plot *plot) {
    const soai_plot_sheet sheet = {.plot = plot,
                                   .style = &style,
                                   .width = WIDTH,
                                   .top = TOP,
                                   .columns = 1,
                                   .x_low = NAN,
                                   .x_high = NAN};
    const soai_plot_canvas canvas = {.paper = file,
                                     .line = put_line,
                                     .text = put_text,
                                     .curve_start = start_curve,
                                     .curve_point = put_point,
                                     .curve_end = end_curve,
                                     .dot = put_dot,
                                     .key = put_key};
    const long height = lround(soai_plot_height(&sheet));
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %ld\" width=\"%d\" "
            "height=\"%ld\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            "<style>.t{font-size:12px;fill:#444}.k{font-size:13px;fill:#222}.l{font-size:14px;fill:"
            "#222}"
            ".h{font-size:19px;font-weight:bold;fill:#111}.s{font-size:13px;fill:#555}"
            ".g{stroke:#e4e4e4;stroke-width:1}.z{stroke:#aaa;stroke-width:1}.a{stroke:#444;stroke-"
            "width:1.2}</style>\n"
            "<rect width=\"%d\" height=\"%ld\" fill=\"#ffffff\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    soai_plot_draw(&sheet, &canvas);
    fputs("</svg>\n", file);
}

soa_status soa_plot_write_svg(const soa_plot *plot, const char *path, soa_report *report) {
    soai_report_reset(report);
    if (plot == NULL || path == NULL || plot->panel_count < 1 || plot->panels == NULL)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "%.150s: a plot needs panels and a path",
                           path != NULL ? path : "plot");
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file != NULL) write_svg(file, plot);
    const int broken = file == NULL || ferror(file);
    const int lost = file != NULL && fclose(file) != 0;
    soa_status s;
    if (broken || lost)
        s = soai_report(report, SOA_E_MEMORY, -1, 0, "%.150s: no memory", path);
    else
        s = soai_new_file_write(path, text, size, report);
    free(text);
    return soai_report_end(report, s);
}
