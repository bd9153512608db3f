/* chart.c  draws signals of a log as a picture for papers.
 *
 * One panel for each unit, in the order in which units appear. The legends are beside the panels,
 * without the common beginning of the names in a panel. Intervals of up to MOST samples are drawn
 * as lines. Longer ones are drawn as a band from the smallest to the largest value in each of
 * COLUMNS equal parts, which the log finds without reading all samples. A value that is not finite
 * is a gap. Colours that colour-blind readers can distinguish (Okabe & Ito), dashed lines from the
 * eighth curve on. Lengths are in points, 1/72 inch. Text is drawn as glyphs, so that a picture
 * looks the same everywhere. */
#include "chart.h"

#include "../../../src/base/visible.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000, COLUMNS = 1000, TICKS = 16, PHASES = 100 };
static const double LEFT = 52, GAP = 16, TOP = 12, BOTTOM = 34, PANEL = 130, SMALL = 7.5,
                    NORMAL = 8.5, LARGE = 11, THIN = 0.9;
static const double COLOURS[7][3] = {{0, 0.447, 0.698},    {0.835, 0.369, 0},     {0, 0.620, 0.451},
                                     {0.8, 0.475, 0.655},  {0.337, 0.706, 0.914}, {0.902, 0.624, 0},
                                     {0.133, 0.133, 0.133}};

typedef struct axis {
    double low, high, factor; /* labels are values divided by factor */
    int count, decimals;
    double tick[TICKS];
} axis;

typedef struct panel {
    const char *unit;
    int first, count; /* range in the sorted list of signals */
    size_t prefix;    /* length of the common beginning of its names */
    axis y;
    double legend; /* width of its names */
} panel;

typedef struct sketch {
    const chart *what;
    soa_log_info info;
    int *order; /* signals, panel by panel */
    panel *panels;
    int panel_count;
    int64_t first, count; /* samples; count 0: columns are drawn */
    double *t, *values;   /* values[sample][signal]; or min[signal][column], then max */
    axis x;
    struct {
        char name[48];
        double t;
    } phases[PHASES];
    int phase_count;
    cairo_t *c;
} sketch;

/* --- axes ------------------------------------------------------------------------------------- */
/* Makes an axis with about `wanted` ticks at 1, 2 or 5 times a power of ten. A range that is not
 * tight ends on ticks. */
static axis make_axis(double low, double high, int wanted, int tight) {
    axis a = {.low = low, .high = high, .factor = 1};
    if (!(low <= high)) {
        a.low = 0;
        a.high = 1; /* nothing to draw */
    }
    const double least = 1e-9 * fmax(fabs(a.low), fabs(a.high));
    if (!(a.high - a.low > least)) {
        const double half = fmax(0.5 * fabs(a.low), 1e-9);
        a.low -= half;
        a.high += half;
    }
    const double span = a.high - a.low, power = pow(10, floor(log10(span / wanted)));
    double step = power;
    for (int k = 0; k < 3 && span / step > wanted; ++k)
        step = power * (k == 0 ? 2 : k == 1 ? 5 : 10);
    if (!tight) {
        a.low = step * floor(a.low / step + 1e-9);
        a.high = step * ceil(a.high / step - 1e-9);
    }
    const double first = ceil(a.low / step - 1e-9);
    for (; a.count < TICKS; ++a.count) {
        a.tick[a.count] = (first + a.count) * step;
        if (a.tick[a.count] > a.high + 1e-9 * step) break;
    }
    const double size = floor(log10(fmax(fabs(a.low), fabs(a.high))) + 1e-9);
    if (size > 4 || size < -3) a.factor = pow(10, size);
    a.decimals = (int)fmin(fmax(0, -floor(log10(step / a.factor) + 1e-9)), 12);
    return a;
}
static void label_tick(const axis *a, int k, char text[48]) {
    char number[40];
    const double x = a->tick[k] / a->factor;
    snprintf(number, sizeof number, "%.*f", a->decimals, fabs(x) < 1e-12 ? 0.0 : x);
    for (char *p = number; *p; ++p)
        if (*p == ',') *p = '.';
    snprintf(text, 48, "%s%s", number[0] == '-' ? "\xe2\x88\x92" : "",
             number[0] == '-' ? number + 1 : number);
}
/* Writes " (unit)" with the power of ten that the labels omit. */
static void label_unit(const axis *a, const char *unit, char *text, size_t size) {
    char power[24] = "";
    if (a->factor != 1) snprintf(power, sizeof power, "1e%d", (int)lround(log10(a->factor)));
    if (!*power && !*unit)
        *text = 0;
    else
        snprintf(text, size, " (%s%s%.60s)", power, *power && *unit ? " " : "", unit);
}

/* --- the data --------------------------------------------------------------------------------- */
static const char *name_of(const sketch *s, int k) {
    return s->info.signals[s->order[k]].name;
}

static soa_status sort_panels(sketch *s) {
    const int n = s->what->signal_count;
    s->order = malloc((size_t)n * sizeof *s->order);
    s->panels = calloc((size_t)n, sizeof *s->panels);
    if (!s->order || !s->panels) return SOA_E_MEMORY;
    int at = 0;
    for (int i = 0; i < n; ++i) {
        const char *unit = s->info.signals[s->what->signals[i]].unit;
        int known = 0;
        for (int p = 0; p < s->panel_count; ++p)
            known = known || !strcmp(s->panels[p].unit, unit);
        if (known) continue;
        panel *p = &s->panels[s->panel_count++];
        *p = (panel){.unit = unit, .first = at};
        for (int k = i; k < n; ++k) {
            if (!strcmp(s->info.signals[s->what->signals[k]].unit, unit)) {
                s->order[at++] = s->what->signals[k];
                ++p->count;
            }
        }
        /* the common beginning, up to a point or an underscore */
        const char *first = name_of(s, p->first);
        size_t same = strlen(first);
        for (int k = 1; k < p->count; ++k) {
            const char *other = name_of(s, p->first + k);
            size_t m = 0;
            while (m < same && other[m] == first[m])
                ++m;
            same = m;
        }
        if (p->count == 1)
            same = strrchr(first, '.') ? (size_t)(strrchr(first, '.') - first) + 1 : 0;
        while (same > 0 && first[same - 1] != '.')
            --same;
        p->prefix = same;
    }
    return SOA_OK;
}

static void include(double x, double *low, double *high) {
    if (!isfinite(x)) return;
    if (x < *low) *low = x;
    if (x > *high) *high = x;
}

static soa_status read_values(sketch *s, soa_report *report) {
    const chart *w = s->what;
    const size_t n = (size_t)w->signal_count;
    int64_t after = 0, got = 0;
    soa_status status = view_damage_find(w->log, w->from, w->to, &s->first, &after, report);
    if (status) return status;
    const int64_t count = after - s->first;
    if (count <= MOST) {
        s->t = malloc(((size_t)count + 1) * sizeof *s->t);
        s->values = malloc(((size_t)count * n + 1) * sizeof *s->values);
        if (!s->t || !s->values) return SOA_E_MEMORY;
        status = view_damage_read(w->log, s->first, count, s->order, w->signal_count, s->t,
                                  s->values, &got, w->damage, report);
        s->count = got;
    } else {
        s->values = malloc(2 * n * COLUMNS * sizeof *s->values);
        if (!s->values) return SOA_E_MEMORY;
        status = view_damage_overview(w->log, s->order, w->signal_count, w->from, w->to, COLUMNS,
                                      s->values, s->values + n * COLUMNS, w->damage, report);
    }
    for (int p = 0; p < s->panel_count && !status; ++p) {
        double low = INFINITY, high = -INFINITY;
        for (int k = s->panels[p].first; k < s->panels[p].first + s->panels[p].count; ++k) {
            for (int64_t i = 0; i < s->count; ++i)
                include(s->values[(size_t)i * n + (size_t)k], &low, &high);
            for (size_t i = 0; !s->t && i < COLUMNS; ++i) {
                include(s->values[(size_t)k * COLUMNS + i], &low, &high);
                include(s->values[n * COLUMNS + (size_t)k * COLUMNS + i], &low, &high);
            }
        }
        s->panels[p].y = make_axis(low, high, 5, 0);
    }
    s->x = make_axis(w->from, w->to, 8 / (w->columns > 2 ? 2 : w->columns), 1);
    return status;
}

static soa_status read_phases(sketch *s, soa_report *report) {
    soa_log_event_info e;
    for (int64_t i = 0; i < s->info.events && s->phase_count < PHASES; ++i) {
        const soa_status status = soa_log_read_event(s->what->log, i, &e, report);
        if (status == SOA_E_MEMORY) return status;
        if (status) break; /* the record is damaged from here on */
        if (strcmp(e.kind, "phase")) continue;
        s->phases[s->phase_count].t = e.t;
        snprintf(s->phases[s->phase_count++].name, sizeof s->phases[0].name, "%s", e.text);
    }
    return SOA_OK;
}

/* --- drawing ---------------------------------------------------------------------------------- */
typedef struct box {
    double x, y, width, height;
} box;

/* Draws text with its anchor (0 left, 0.5 middle, 1 right) at x and its base line at y. */
/* Makes text drawable: names come from files, and cairo fails on text that is not UTF-8. */
enum { TEXT_SHOWN = 1000 };
static const char *drawable(const char *text, char shown[TEXT_SHOWN]) {
    size_t used = 0;
    for (size_t left = strlen(text); left > 0 && used + SOAI_VISIBLE_ROOM < TEXT_SHOWN;) {
        char escaped[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(text, left, escaped);
        const size_t size = escaped[0] ? strlen(escaped) : n;
        memcpy(shown + used, escaped[0] ? escaped : text, size);
        used += size;
        text += n;
        left -= n;
    }
    shown[used] = 0;
    return shown;
}
static double text_width(cairo_t *c, double size, const char *text) {
    cairo_text_extents_t e;
    char shown[TEXT_SHOWN];
    cairo_set_font_size(c, size);
    cairo_text_extents(c, drawable(text, shown), &e);
    return e.x_advance;
}
static void put_text(cairo_t *c, double x, double y, double anchor, double size, const char *text) {
    char shown[TEXT_SHOWN];
    const double width = text_width(c, size, text);
    cairo_move_to(c, x - anchor * width, y);
    cairo_show_text(c, drawable(text, shown));
}
static double place(const axis *a, double x) {
    return (x - a->low) / (a->high - a->low);
}
static double at_x(const sketch *s, box b, double t) {
    return b.x + b.width * place(&s->x, t);
}
static double at_y(const panel *p, box b, double y) {
    return b.y + b.height * (1 - place(&p->y, y));
}

static void draw_phases(sketch *s, box b, int named) {
    cairo_t *c = s->c;
    for (int i = 0; i < s->phase_count; ++i) {
        const double from = fmax(s->phases[i].t, s->x.low),
                     to = i + 1 < s->phase_count ? fmin(s->phases[i + 1].t, s->x.high) : s->x.high;
        if (!(to > from)) continue;
        const double x = at_x(s, b, from), width = at_x(s, b, to) - x;
        if (i % 2 == 0) {
            cairo_set_source_rgb(c, 0.945, 0.945, 0.945);
            cairo_rectangle(c, x, b.y, width, b.height);
            cairo_fill(c);
        }
        cairo_set_source_rgb(c, 0.35, 0.35, 0.35);
        if (named && text_width(c, SMALL, s->phases[i].name) < width - 2)
            put_text(c, x + 0.5 * width, b.y - 3.5, 0.5, SMALL, s->phases[i].name);
    }
}

static void draw_axes(sketch *s, const panel *p, box b, int last) {
    cairo_t *c = s->c;
    char text[400], unit[100];
    cairo_set_line_width(c, 0.5);
    for (int k = 0; k < p->y.count; ++k) {
        const double y = at_y(p, b, p->y.tick[k]), grey = p->y.tick[k] == 0 ? 0.6 : 0.86;
        cairo_set_source_rgb(c, grey, grey, grey);
        cairo_move_to(c, b.x, y);
        cairo_line_to(c, b.x + b.width, y);
        cairo_stroke(c);
        cairo_set_source_rgb(c, 0.2, 0.2, 0.2);
        label_tick(&p->y, k, text);
        put_text(c, b.x - 4, y + 0.36 * SMALL, 1, SMALL, text);
    }
    for (int k = 0; k < s->x.count; ++k) {
        const double x = at_x(s, b, s->x.tick[k]);
        cairo_set_source_rgb(c, 0.86, 0.86, 0.86);
        cairo_move_to(c, x, b.y);
        cairo_line_to(c, x, b.y + b.height);
        cairo_stroke(c);
        cairo_set_source_rgb(c, 0.2, 0.2, 0.2);
        label_tick(&s->x, k, text);
        if (last) put_text(c, x, b.y + b.height + SMALL + 3, 0.5, SMALL, text);
    }
    cairo_set_source_rgb(c, 0.2, 0.2, 0.2);
    cairo_set_line_width(c, 0.8);
    cairo_move_to(c, b.x, b.y);
    cairo_line_to(c, b.x, b.y + b.height);
    cairo_line_to(c, b.x + b.width, b.y + b.height);
    cairo_stroke(c);
    cairo_set_source_rgb(c, 0.05, 0.05, 0.05);
    if (last) {
        label_unit(&s->x, "s", unit, sizeof unit);
        snprintf(text, sizeof text, "time%s", unit);
        put_text(c, b.x + 0.5 * b.width, b.y + b.height + 2 * NORMAL + 7, 0.5, NORMAL, text);
    }
    label_unit(&p->y, p->unit, unit, sizeof unit);
    snprintf(text, sizeof text, "%.*s%s", (int)(p->prefix ? p->prefix - 1 : 0),
             name_of(s, p->first), unit);
    if (p->count == 1) snprintf(text, sizeof text, "%.200s%s", name_of(s, p->first), unit);
    double size = NORMAL;
    while (size > 5 && text_width(c, size, text) > b.height + GAP)
        size -= 0.5;
    cairo_save(c);
    cairo_translate(c, b.x - LEFT + 10, b.y + 0.5 * b.height);
    cairo_rotate(c, -1.5707963267948966);
    put_text(c, 0, 0, 0.5, size, *text ? text : "value");
    cairo_restore(c);
}

static void set_pen(cairo_t *c, int index) {
    static const double dashes[4][4] = {{0}, {5, 2.5, 5, 2.5}, {1.5, 2, 1.5, 2}, {6, 2, 1.5, 2}};
    const double *colour = COLOURS[index % 7];
    const int dash = index / 7 % 4;
    cairo_set_source_rgb(c, colour[0], colour[1], colour[2]);
    cairo_set_dash(c, dashes[dash], dash ? 4 : 0, 0);
    cairo_set_line_width(c, 1);
}

static void line_to(cairo_t *c, int drawing, double x, double y) {
    if (drawing)
        cairo_line_to(c, x, y);
    else
        cairo_move_to(c, x, y);
}

static void draw_curve(sketch *s, const panel *p, int k, box b) {
    cairo_t *c = s->c;
    const size_t n = (size_t)s->what->signal_count, at = (size_t)(p->first + k);
    set_pen(c, k);
    if (s->t) {
        int drawing = 0;
        double last[2] = {0, 0};
        for (int64_t i = 0; i < s->count; ++i) {
            const double y = s->values[(size_t)i * n + at];
            if (isfinite(y)) {
                const double px = at_x(s, b, s->t[i]), py = at_y(p, b, y);
                const int ends =
                    i + 1 == s->count || !isfinite(s->values[(size_t)(i + 1) * n + at]);
                /* points too close to be distinguished are left out */
                if (!drawing || ends || fabs(px - last[0]) > 0.3 || fabs(py - last[1]) > 0.02) {
                    line_to(c, drawing, px, py);
                    last[0] = px;
                    last[1] = py;
                }
            }
            drawing = isfinite(y);
        }
        cairo_stroke(c);
        return;
    }
    const double *low = s->values + at * COLUMNS, *high = low + n * COLUMNS,
                 step = b.width / COLUMNS;
    /* Intervals without gaps: along the top, and back along the bottom. */
    for (int from = 0; from < COLUMNS;) {
        if (!isfinite(low[from]) || !isfinite(high[from])) {
            ++from;
            continue;
        }
        int end = from;
        while (end < COLUMNS && isfinite(low[end]) && isfinite(high[end]))
            ++end;
        for (int pass = 0; pass < 2; ++pass)
            for (int turn = 0; turn < end - from; ++turn) {
                const int i = pass ? end - 1 - turn : from + turn;
                /* At least as thick as a line. */
                const double top = at_y(p, b, high[i]), bottom = at_y(p, b, low[i]),
                             more = fmax(0, 0.5 * (THIN - (bottom - top)));
                line_to(c, pass || turn > 0, b.x + step * (i + 0.5),
                        pass ? bottom + more : top - more);
            }
        cairo_close_path(c);
        from = end;
    }
    /* Transparent, so that curves behind are visible. */
    cairo_set_source_rgba(c, COLOURS[k % 7][0], COLOURS[k % 7][1], COLOURS[k % 7][2], 0.7);
    cairo_fill(c);
}

static void draw_legend(sketch *s, const panel *p, box b) {
    cairo_t *c = s->c;
    const double line = SMALL + 3;
    const int room = (int)floor((b.height + GAP) / line), all = p->count <= room,
              shown = all ? p->count : room - 1;
    for (int k = 0; k < shown; ++k) {
        const double y = b.y + 6 + line * k;
        set_pen(c, k);
        cairo_move_to(c, b.x + b.width + 6, y - 2.5);
        cairo_line_to(c, b.x + b.width + 22, y - 2.5);
        cairo_stroke(c);
        cairo_set_dash(c, NULL, 0, 0);
        cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
        put_text(c, b.x + b.width + 25, y, 0, SMALL, name_of(s, p->first + k) + p->prefix);
    }
    if (!all) {
        char text[40];
        snprintf(text, sizeof text, "and %d more", p->count - shown);
        cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
        put_text(c, b.x + b.width + 25, b.y + 6 + line * shown, 0, SMALL, text);
    }
    cairo_set_dash(c, NULL, 0, 0);
}

static double heading(const sketch *s) {
    return TOP + (s->what->title ? LARGE + 6 : 0) + (s->phase_count ? SMALL + 2 : 0);
}
static int row_count(const sketch *s) {
    return (s->panel_count + s->what->columns - 1) / s->what->columns;
}
static double full_height(const sketch *s) {
    return heading(s) + row_count(s) * (PANEL + GAP) - GAP + BOTTOM;
}

static void draw_all(sketch *s, double width, double height) {
    cairo_t *c = s->c;
    const int columns = s->what->columns;
    cairo_set_source_rgb(c, 1, 1, 1);
    /* Also covers the last fraction of a pixel. */
    cairo_rectangle(c, 0, 0, width + 2, height + 2);
    cairo_fill(c);
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    if (s->what->title) {
        cairo_set_source_rgb(c, 0, 0, 0);
        put_text(c, LEFT, TOP + LARGE - 4, 0, LARGE, s->what->title);
    }
    double legend = 0;
    for (int p = 0; p < s->panel_count; ++p)
        for (int k = 0; k < s->panels[p].count && s->panels[p].count > 1; ++k)
            legend = fmax(
                legend, 30 + text_width(c, SMALL,
                                        name_of(s, s->panels[p].first + k) + s->panels[p].prefix));
    const double share = width / columns, most = 0.45 * share;
    if (legend > most) legend = most;
    for (int p = 0; p < s->panel_count; ++p) {
        const int column = p % columns, line = p / columns, last = p + columns >= s->panel_count;
        const box b = {share * column + LEFT, heading(s) + line * (PANEL + GAP),
                       share - LEFT - fmax(legend, 10), PANEL};
        if (s->what->bands) draw_phases(s, b, line == 0);
        draw_axes(s, &s->panels[p], b, last);
        cairo_save(c);
        cairo_rectangle(c, b.x, b.y - 1, b.width, b.height + 2);
        cairo_clip(c);
        for (int k = 0; k < s->panels[p].count; ++k)
            draw_curve(s, &s->panels[p], k, b);
        cairo_restore(c);
        if (s->panels[p].count > 1) draw_legend(s, &s->panels[p], b);
    }
}

static cairo_status_t to_out(void *user, const unsigned char *data, unsigned length) {
    app_out *out = user;
    out_bytes(out, (const char *)data, length);
    return out->error ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

soa_status chart_draw(const chart *what, chart_format format, app_out *out, soa_report *report) {
    sketch s = {.what = what};
    const size_t before = out->size;
    soa_log_get_info(what->log, &s.info);
    soa_status status = sort_panels(&s);
    if (!status) status = read_values(&s, report);
    if (!status && what->bands) status = read_phases(&s, report);
    if (!status) {
        const double width = what->width * 72 / 25.4, height = full_height(&s),
                     scale = what->dots / 72;
        cairo_surface_t *surface;
        if (format == CHART_SVG) {
            surface = cairo_svg_surface_create_for_stream(to_out, out, width, height);
        } else if (format == CHART_PDF) {
            surface = cairo_pdf_surface_create_for_stream(to_out, out, width, height);
        } else {
            surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale),
                                                 (int)ceil(height * scale));
        }
        s.c = cairo_create(surface);
        if (format == CHART_PNG) cairo_scale(s.c, scale, scale);
        draw_all(&s, width, height);
        cairo_status_t drawn = cairo_status(s.c);
        cairo_destroy(s.c);
        if (!drawn && format == CHART_PNG)
            drawn = cairo_surface_write_to_png_stream(surface, to_out, out);
        cairo_surface_finish(surface);
        if (!drawn) drawn = cairo_surface_status(surface);
        cairo_surface_destroy(surface);
        if (drawn || out->error) {
            status = SOA_E_MEMORY;
            if (report) {
                *report = (soa_report){.status = status, .body = -1};
                snprintf(report->text, sizeof report->text, "the picture cannot be drawn: %s",
                         cairo_status_to_string(drawn ? drawn : CAIRO_STATUS_NO_MEMORY));
            }
        }
    }
    if (status) out->size = before;
    free(s.order);
    free(s.panels);
    free(s.t);
    free(s.values);
    return status;
}
