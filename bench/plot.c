/* plot.c  writes a log-log chart, three panels side by side, as SVG text. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 64, TOP = 76, PANEL = 370, GAP = 46, HEIGHT = 430, BOTTOM = 52, LEGEND = 30 };

static const char *const palette[] = {"#d1242f", "#0969da", "#8250df",
                                      "#1a7f37", "#9a6700", "#57606a"};

typedef struct axes {
    double x0, x1, y0, y1; /* decades */
    int left;
} axes;

static double across(const axes *a, double x) {
    return a->left + PANEL * (log10(x) - a->x0) / (a->x1 - a->x0);
}
static double down(const axes *a, double y) {
    return TOP + HEIGHT - HEIGHT * (log10(y) - a->y0) / (a->y1 - a->y0);
}

static void time_label(FILE *f, double x, double y, int decade) {
    static const char *const unit[] = {"ns", "&#181;s", "ms", "s"};
    int value = (int)lround(pow(10, decade % 3));
    fprintf(f, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d %s</text>\n", x, y, value,
            unit[decade / 3]);
}

static void frame(FILE *f, const axes *a, const char *name, int labels) {
    fprintf(f, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\" text-anchor=\"middle\">%s</text>\n",
            a->left + PANEL / 2, TOP - 10, name);
    for (int d = (int)a->y0; d <= (int)a->y1; ++d) {
        double y = down(a, pow(10, d));
        fprintf(f, "<path d=\"M%d %.1fh%d\" stroke=\"#d0d7de\"/>\n", a->left, y, PANEL);
        if (labels) time_label(f, a->left - 6, y + 4, d);
    }
    for (int d = (int)a->x0; d <= (int)ceil(a->x1); ++d) {
        double x = across(a, pow(10, d));
        if (x > a->left + PANEL + 0.5) continue;
        fprintf(f, "<path d=\"M%.1f %dv%d\" stroke=\"#d0d7de\"/>\n", x, TOP, HEIGHT);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x,
                TOP + HEIGHT + 16, pow(10, d));
    }
    fprintf(
        f,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#57606a\"/>\n",
        a->left, TOP, PANEL, HEIGHT);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">joints N</text>\n",
            a->left + PANEL / 2, TOP + HEIGHT + 34);
}

static int by_x(const void *a, const void *b) {
    double d = ((const plot_point *)a)->x - ((const plot_point *)b)->x;
    return (d > 0) - (d < 0);
}

static const char *style(const char *const *series, int k, int *dashed) {
    const char *space = strchr(series[k], ' ');
    *dashed = space != NULL;
    if (!space) return palette[k % 6];
    for (int i = 0; series[i]; ++i)
        if (strlen(series[i]) == (size_t)(space - series[k]) &&
            !strncmp(series[i], series[k], strlen(series[i])))
            return palette[i % 6];
    return palette[k % 6];
}

static void curve(FILE *f, const axes *a, const plot_point *p, int n, const char *colour,
                  int dashed, int strong) {
    fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s points=\"", colour,
            strong ? "2.6" : "1.5", dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (int i = 0; i < n; ++i)
        fprintf(f, "%.1f,%.1f ", across(a, p[i].x), down(a, p[i].y));
    fprintf(f, "\"/>\n");
    for (int i = 0; i < n && !dashed; ++i)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>\n", across(a, p[i].x),
                down(a, p[i].y), strong ? "3" : "2.2", colour);
}

void plot_write(FILE *f, const char *title, const char *const *panels,
                const char *const *panel_titles, const char *const *series,
                const plot_point *points, int count) {
    plot_point *own = malloc((size_t)(count + 1) * sizeof *own);
    int panel_count = 0, at = LEFT;
    double low = 1e300, high = 0;
    if (!own) return;
    while (panels[panel_count])
        ++panel_count;
    for (int i = 0; i < count; ++i) {
        low = fmin(low, points[i].y);
        high = fmax(high, points[i].y);
    }
    int width = LEFT + panel_count * PANEL + (panel_count - 1) * GAP + 24;
    int height = TOP + HEIGHT + BOTTOM + LEGEND;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n"
            "<text x=\"%d\" y=\"30\" font-size=\"18\" font-weight=\"bold\">%s</text>\n",
            width, height, width, height, width, height, LEFT, title);
    for (int k = 0; k < panel_count; ++k) {
        axes a = {0, 0, floor(log10(low)), ceil(log10(high)), LEFT + k * (PANEL + GAP)};
        double far = 10;
        for (int i = 0; i < count; ++i)
            if (!strcmp(points[i].panel, panels[k])) far = fmax(far, points[i].x);
        a.x1 = log10(far) + 0.05;
        frame(f, &a, panel_titles[k], k == 0);
        for (int s = 0; series[s]; ++s) {
            int n = 0, dashed;
            for (int i = 0; i < count; ++i)
                if (!strcmp(points[i].panel, panels[k]) && !strcmp(points[i].series, series[s]))
                    own[n++] = points[i];
            qsort(own, (size_t)n, sizeof *own, by_x);
            const char *colour = style(series, s, &dashed);
            if (n) curve(f, &a, own, n, colour, dashed, s == 0);
        }
    }
    for (int s = 0; series[s]; ++s) {
        int dashed, y = TOP + HEIGHT + BOTTOM + 10;
        const char *colour = style(series, s, &dashed);
        fprintf(f, "<path d=\"M%d %dh26\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", at, y - 4,
                colour, s ? "2" : "3", dashed ? " stroke-dasharray=\"6 4\"" : "");
        fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text>\n", at + 32, y, series[s]);
        at += 32 + 9 * (int)strlen(series[s]) + 28;
    }
    fprintf(f, "</svg>\n");
    free(own);
}
