/* svg_plot.c  draws curves as an SVG file: light background, colours that colour-blind readers can
 * distinguish (Okabe & Ito), dashed lines from the eighth curve on. Numbers do not depend on the
 * locale. */
#include "../base/new_file.h"
#include "../base/visible.h"
#include "soa/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, LEFT = 84, RIGHT = 170, TOP = 74, PANEL = 250, GAP = 34, BOTTOM = 58 };

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#e69f00", "#222222"};
static const char *const dashes[] = {"", "7 4", "2 3", "9 3 2 3"};
enum { COLOURS = 7, DASHES = 4 };

/* --- scales ----------------------------------------------------------------------------------- */

enum { TICKS_MAX = 16 };

typedef struct scale {
    double low, high; /* data range, slightly widened; base-10 logarithms if log */
    int log;
    int count;
    double tick[TICKS_MAX]; /* in data units */
} scale;

/* About `wanted` round ticks: 1, 2 or 5 times a power of ten. */
static void linear_ticks(scale *s, int wanted, int tight) {
    double span = s->high - s->low;
    double power = pow(10, floor(log10(span / wanted)));
    double step = power;
    for (int k = 0; k < 3 && span / step > wanted; k++)
        step = power * (k == 0 ? 2 : k == 1 ? 5 : 10);
    if (!tight) {
        s->low = step * floor(s->low / step + 1e-9);
        s->high = step * ceil(s->high / step - 1e-9);
    }
    double first = ceil(s->low / step - 1e-9);
    for (s->count = 0; s->count < TICKS_MAX; s->count++) {
        double x = (first + s->count) * step;
        if (x > s->high + 1e-9 * step) break;
        s->tick[s->count] = x;
    }
}

static void log_ticks(scale *s, int tight) {
    if (!tight) {
        s->low = floor(s->low + 1e-9);
        s->high = ceil(s->high - 1e-9);
    }
    int decades = (int)ceil(s->high - s->low), step = 1 + decades / 10;
    for (int k = (int)ceil(s->low - 1e-9); k <= s->high + 1e-9 && s->count < TICKS_MAX; k += step)
        s->tick[s->count++] = pow(10, k);
}

static scale make_scale(double low, double high, int log, int wanted, int tight) {
    scale s = {.low = low, .high = high, .log = log};
    if (!(low <= high)) {
        s.low = log ? 1 : 0;
        s.high = log ? 10 : 1; /* no data */
    }
    if (log) {
        s.low = log10(s.low);
        s.high = log10(s.high);
    }
    double least = 1e-9 * fmax(fabs(s.low), fabs(s.high));
    if (s.high - s.low <= least) {
        double half = fmax(0.5 * fabs(s.low), 1e-6);
        if (log) half = 0.5;
        s.low -= half;
        s.high += half;
    }
    if (log)
        log_ticks(&s, tight);
    else
        linear_ticks(&s, wanted, tight);
    return s;
}

/* Position of x on the axis, 0 to 1. */
static double place(const scale *s, double x) {
    return ((s->log ? log10(x) : x) - s->low) / (s->high - s->low);
}

/* --- drawing ---------------------------------------------------------------------------------- */

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

static void text(FILE *file, double x, double y, const char *style, const char *words) {
    fputs("<text x=\"", file);
    pixel(file, x);
    fputs("\" y=\"", file);
    pixel(file, y);
    fprintf(file, "\" %s>", style);
    escaped(file, words);
    fputs("</text>\n", file);
}

static void line(FILE *file, double x1, double y1, double x2, double y2, const char *style) {
    const double at[4] = {x1, y1, x2, y2};
    const char *const name[4] = {"x1", "y1", "x2", "y2"};
    fputs("<line", file);
    for (int k = 0; k < 4; k++) {
        fprintf(file, " %s=\"", name[k]);
        pixel(file, at[k]);
        fputc('"', file);
    }
    fprintf(file, " %s/>\n", style);
}

static void tick_label(char label[32], double x) {
    snprintf(label, 32, "%.6g", fabs(x) < 1e-300 ? 0.0 : x);
    for (char *c = label; *c != '\0'; c++)
        if (*c == ',') *c = '.';
}

typedef struct box {
    double x, y, width, height;
} box;

static void include(double x, int log, double *low, double *high) {
    if (!isfinite(x) || (log && !(x > 0))) return;
    if (x < *low) *low = x;
    if (x > *high) *high = x;
}

static const double *curve_x(const soa_plot *plot, const soa_plot_curve *curve, long *count) {
    *count = curve->x != NULL ? curve->count : plot->count;
    return curve->x != NULL ? curve->x : plot->x;
}

static void curve(FILE *file, const soa_plot *plot, const soa_plot_panel *panel, int index,
                  const scale *sx, const scale *sy, box area) {
    const soa_plot_curve *c = &panel->curves[index];
    long count;
    const double *x = curve_x(plot, c, &count);
    const char *colour = colours[index % COLOURS], *dash = dashes[index / COLOURS % DASHES];
    fprintf(file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\"",
            colour);
    if (*dash != '\0') fprintf(file, " stroke-dasharray=\"%s\"", dash);
    fputs(" d=\"", file);
    int drawing = 0;
    for (long i = 0; i < count; i++) {
        if (!isfinite(x[i]) || !isfinite(c->y[i]) || (plot->x_log && !(x[i] > 0)) ||
            (panel->y_log && !(c->y[i] > 0))) {
            drawing = 0;
            continue;
        }
        fputc(drawing ? 'L' : 'M', file);
        pixel(file, area.x + area.width * place(sx, x[i]));
        fputc(' ', file);
        pixel(file, area.y + area.height * (1 - place(sy, c->y[i])));
        drawing = 1;
    }
    fputs("\"/>\n", file);
    for (long i = 0; c->markers && i < count; i++) {
        double px = place(sx, x[i]), py = place(sy, c->y[i]);
        if (!isfinite(px) || !isfinite(py)) continue;
        fputs("<circle r=\"3\" cx=\"", file);
        pixel(file, area.x + area.width * px);
        fputs("\" cy=\"", file);
        pixel(file, area.y + area.height * (1 - py));
        fprintf(file, "\" fill=\"%s\"/>\n", colour);
    }
    /* legend, beside the panel */
    double spacing = fmin(19, area.height / panel->curve_count), y = area.y + 8 + spacing * index;
    char style[96];
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"2.4\" stroke-dasharray=\"%s\"",
             colour, *dash != '\0' ? dash : "none");
    line(file, area.x + area.width + 16, y, area.x + area.width + 42, y, style);
    text(file, area.x + area.width + 49, y + 4, "class=\"k\"", c->name);
}

static void panel(FILE *file, const soa_plot *plot, int index, const scale *sx, box area) {
    const soa_plot_panel *p = &plot->panels[index];
    double low = INFINITY, high = -INFINITY;
    char label[32];
    for (int k = 0; k < p->curve_count; k++) {
        long count;
        curve_x(plot, &p->curves[k], &count);
        for (long i = 0; i < count; i++)
            include(p->curves[k].y[i], p->y_log, &low, &high);
    }
    scale sy = make_scale(low, high, p->y_log, 6, 0);

    for (int k = 0; k < sy.count; k++) {
        double y = area.y + area.height * (1 - place(&sy, sy.tick[k]));
        line(file, area.x, y, area.x + area.width, y,
             sy.tick[k] == 0 && !sy.log ? "class=\"z\"" : "class=\"g\"");
        tick_label(label, sy.tick[k]);
        text(file, area.x - 9, y + 4, "class=\"t\" text-anchor=\"end\"", label);
    }
    int last = index == plot->panel_count - 1;
    for (int k = 0; k < sx->count; k++) {
        double x = area.x + area.width * place(sx, sx->tick[k]);
        line(file, x, area.y, x, area.y + area.height + (last ? 5 : 0), "class=\"g\"");
        tick_label(label, sx->tick[k]);
        if (last)
            text(file, x, area.y + area.height + 20, "class=\"t\" text-anchor=\"middle\"", label);
    }
    line(file, area.x, area.y + area.height, area.x + area.width, area.y + area.height,
         "class=\"a\"");
    line(file, area.x, area.y, area.x, area.y + area.height, "class=\"a\"");
    if (p->y_label != NULL) {
        double y = area.y + 0.5 * area.height;
        char turned[128];
        snprintf(turned, sizeof turned,
                 "class=\"l\" text-anchor=\"middle\" transform=\"rotate(-90 20 %ld)\"", lround(y));
        text(file, 20, floor(y + 0.5), turned, p->y_label);
    }
    for (int k = 0; k < p->curve_count; k++)
        curve(file, plot, p, k, sx, &sy, area);
}

static void draw(FILE *file, const soa_plot *plot) {
    int height = TOP + plot->panel_count * (PANEL + GAP) - GAP + BOTTOM;
    double low = INFINITY, high = -INFINITY;
    for (int p = 0; p < plot->panel_count; p++)
        for (int k = 0; k < plot->panels[p].curve_count; k++) {
            long count;
            const double *x = curve_x(plot, &plot->panels[p].curves[k], &count);
            for (long i = 0; i < count; i++)
                include(x[i], plot->x_log, &low, &high);
        }
    scale sx = make_scale(low, high, plot->x_log, 10, 1);

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            "<style>.t{font-size:12px;fill:#444}.k{font-size:13px;fill:#222}.l{font-size:14px;fill:"
            "#222}"
            ".h{font-size:19px;font-weight:bold;fill:#111}.s{font-size:13px;fill:#555}"
            ".g{stroke:#e4e4e4;stroke-width:1}.z{stroke:#aaa;stroke-width:1}.a{stroke:#444;stroke-"
            "width:1.2}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    if (plot->title != NULL) text(file, LEFT, 32, "class=\"h\"", plot->title);
    if (plot->subtitle != NULL) text(file, LEFT, 54, "class=\"s\"", plot->subtitle);
    for (int p = 0; p < plot->panel_count; p++) {
        box area = {LEFT, TOP + p * (PANEL + GAP), WIDTH - LEFT - RIGHT, PANEL};
        panel(file, plot, p, &sx, area);
    }
    if (plot->x_label != NULL)
        text(file, LEFT + 0.5 * (WIDTH - LEFT - RIGHT), height - 16,
             "class=\"l\" text-anchor=\"middle\"", plot->x_label);
    fputs("</svg>\n", file);
}

static soa_status fail(soa_report *report, soa_status status, const char *path,
                       const char *reason) {
    if (report != NULL) {
        report->status = status;
        report->body = -1;
        report->line = 0;
        snprintf(report->text, sizeof report->text, "%.150s: %s", path, reason);
    }
    return status;
}

soa_status soa_plot_write_svg(const soa_plot *plot, const char *path, soa_report *report) {
    soai_report_reset(report);
    if (plot == NULL || path == NULL || plot->panel_count < 1 || plot->panels == NULL)
        return fail(report, SOA_E_ARGUMENT, path != NULL ? path : "plot",
                    "a plot needs panels and a path");
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file != NULL) draw(file, plot);
    const int broken = file == NULL || ferror(file);
    const int lost = file != NULL && fclose(file) != 0;
    const soa_status s = broken || lost ? fail(report, SOA_E_MEMORY, path, "no memory")
                                        : soai_new_file_write(path, text, size, report);
    free(text);
    return soai_report_end(report, s);
}
