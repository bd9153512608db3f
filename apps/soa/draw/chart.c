/* chart.c  draws signals of a log as a picture for papers.
 *
 * One panel for each unit, in the order in which units appear. The legends are beside the panels,
 * without the common beginning of the names in a panel. Intervals of up to MOST samples are drawn
 * as lines. Longer ones are drawn as a band from the smallest to the largest value in each of
 * COLUMNS equal parts, which the log finds without reading all samples. A value that is not finite
 * is a gap. The drawing itself is src/record/plot_draw.h; here are the choice of the data and the
 * canvas, a cairo surface. Lengths are in points, 1/72 inch. Text is drawn as glyphs, so that a
 * picture looks the same everywhere. */
#include "chart.h"

#include "../../../src/base/visible.h"
#include "../../../src/record/plot_draw.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000, COLUMNS = 1000, PHASES = 100 };
static const double TOP = 12;
/* Sizes of letters. */
static const double SMALL = 7.5, LARGE = 11;

/* Lengths in points; the offsets of labels follow from the sizes of their letters. */
static const soai_plot_style style = {.left = 52,
                                      .panel = 130,
                                      .gap = 16,
                                      .bottom = 34,
                                      .title_y = 19,
                                      .y_tick = {-4, 2.7},
                                      .x_tick = {0, 10.5},
                                      .y_label_x = 10,
                                      .x_label_y = 24,
                                      .key_from = 6,
                                      .key_to = 22,
                                      .key_text = 25,
                                      .key_text_y = 2.5,
                                      .key_first = 3.5,
                                      .key_line = 10.5,
                                      .key_least = 10.5,
                                      .key_over = 16,
                                      .thin = {0.3, 0.02},
                                      .area_least = 0.9,
                                      .x_ticks = 8,
                                      .y_ticks = 5,
                                      .powers = 1};

typedef struct sketch {
    const chart *what;
    soa_log_info info;
    int *order; /* signals, panel by panel */
    soa_plot_panel *panels;
    soa_plot_curve *curves;
    const char **units; /* one for each panel */
    char (*labels)[220];
    int panel_count;
    double *t;      /* samples, or the middles of the columns */
    double *values; /* one row for each signal: its values, or the least of its columns, and after
                     * the rows of all signals the largest */
    long area;      /* from the least values to the largest; 0: the values themselves */
    long count;
    soai_plot_phase phases[PHASES];
    int phase_count;
} sketch;

/* --- the data --------------------------------------------------------------------------------- */
static const char *name_of(const sketch *s, int k) {
    return s->info.signals[s->order[k]].name;
}

/* Length of the common beginning of the names of a panel, up to a point. */
static size_t common_beginning(const sketch *s, int from, int count) {
    const char *first = name_of(s, from);
    const char *point = strrchr(first, '.');
    size_t same = strlen(first);
    if (count == 1) return point ? (size_t)(point - first) + 1 : 0;
    for (int k = 1; k < count; ++k) {
        const char *other = name_of(s, from + k);
        size_t m = 0;
        while (m < same && other[m] == first[m])
            ++m;
        same = m;
    }
    while (same > 0 && first[same - 1] != '.')
        --same;
    return same;
}

/* The panel of `count` signals from place `from` in the order: its curves and its label. */
static void add_panel(sketch *s, const char *unit, int from, int count) {
    const int p = s->panel_count++;
    const size_t prefix = common_beginning(s, from, count);
    for (int k = 0; k < count && count > 1; ++k)
        s->curves[from + k].name = name_of(s, from + k) + prefix;
    if (count == 1)
        snprintf(s->labels[p], sizeof *s->labels, "%.200s", name_of(s, from));
    else
        snprintf(s->labels[p], sizeof *s->labels, "%.*s", (int)(prefix ? prefix - 1 : 0),
                 name_of(s, from));
    if (!s->labels[p][0] && !unit[0]) snprintf(s->labels[p], sizeof *s->labels, "value");
    s->units[p] = unit;
    s->panels[p] =
        (soa_plot_panel){.y_label = s->labels[p], .curves = s->curves + from, .curve_count = count};
}

static soa_status sort_panels(sketch *s) {
    const int n = s->what->signal_count;
    s->order = malloc((size_t)n * sizeof *s->order);
    s->panels = calloc((size_t)n, sizeof *s->panels);
    s->curves = calloc((size_t)n, sizeof *s->curves);
    s->units = calloc((size_t)n, sizeof *s->units);
    s->labels = calloc((size_t)n, sizeof *s->labels);
    if (!s->order || !s->panels || !s->curves || !s->units || !s->labels) return SOA_E_MEMORY;
    int at = 0;
    for (int i = 0; i < n; ++i) {
        const char *unit = s->info.signals[s->what->signals[i]].unit;
        const int first = at;
        int known = 0;
        for (int p = 0; p < s->panel_count; ++p)
            known = known || !strcmp(s->units[p], unit);
        if (known) continue;
        for (int k = i; k < n; ++k)
            if (!strcmp(s->info.signals[s->what->signals[k]].unit, unit))
                s->order[at++] = s->what->signals[k];
        add_panel(s, unit, first, at - first);
    }
    return SOA_OK;
}

/* Reads `count` samples from `first` on. */
static soa_status read_samples(sketch *s, int64_t first, int64_t count, soa_report *report) {
    const chart *w = s->what;
    const size_t n = (size_t)w->signal_count;
    int64_t got = 0;
    double *rows = malloc(((size_t)count * n + 1) * sizeof *rows);
    s->t = malloc(((size_t)count + 1) * sizeof *s->t);
    s->values = malloc(((size_t)count * n + 1) * sizeof *s->values);
    soa_status status = SOA_E_MEMORY;
    if (rows && s->t && s->values)
        status = view_damage_read(w->log, first, count, s->order, w->signal_count, s->t, rows, &got,
                                  w->damage, report);
    s->count = (long)got;
    for (size_t i = 0; !status && i < (size_t)got; ++i)
        for (size_t k = 0; k < n; ++k)
            s->values[k * (size_t)got + i] = rows[i * n + k];
    free(rows);
    return status;
}

/* Reads the least and the largest value of each column. */
static soa_status read_columns(sketch *s, soa_report *report) {
    const chart *w = s->what;
    const size_t n = (size_t)w->signal_count;
    s->t = malloc(COLUMNS * sizeof *s->t);
    s->values = malloc(2 * n * COLUMNS * sizeof *s->values);
    if (!s->t || !s->values) return SOA_E_MEMORY;
    for (int i = 0; i < COLUMNS; ++i)
        s->t[i] = w->from + (w->to - w->from) * (i + 0.5) / COLUMNS;
    s->count = COLUMNS;
    s->area = (long)n * COLUMNS;
    return view_damage_overview(w->log, s->order, w->signal_count, w->from, w->to, COLUMNS,
                                s->values, s->values + s->area, w->damage, report);
}

static soa_status read_values(sketch *s, soa_report *report) {
    int64_t first = 0, after = 0;
    soa_status status =
        view_damage_find(s->what->log, s->what->from, s->what->to, &first, &after, report);
    if (status) return status;
    if (after - first <= MOST)
        status = read_samples(s, first, after - first, report);
    else
        status = read_columns(s, report);
    for (int k = 0; k < s->what->signal_count && !status; ++k)
        s->curves[k].y = s->values + (size_t)k * (size_t)s->count;
    return status;
}

static soa_status read_phases(sketch *s, soa_report *report) {
    soa_log_event_info e;
    for (int64_t i = 0; i < s->info.events && s->phase_count < PHASES; ++i) {
        const soa_status status = soa_log_read_event(s->what->log, i, &e, report);
        if (status == SOA_E_MEMORY) return status;
        if (status) break; /* the record is damaged from here on */
        if (strcmp(e.kind, "phase")) continue;
        s->phases[s->phase_count].start = e.t;
        snprintf(s->phases[s->phase_count++].name, sizeof s->phases[0].name, "%s", e.text);
    }
    return SOA_OK;
}

/* --- the canvas ------------------------------------------------------------------------------- */
static const struct {
    double size, grey;
} fonts[SOAI_TEXTS] = {[SOAI_TEXT_TICK] = {7.5, 0.2},     [SOAI_TEXT_KEY] = {7.5, 0.1},
                       [SOAI_TEXT_LABEL] = {8.5, 0.05},   [SOAI_TEXT_TITLE] = {11, 0},
                       [SOAI_TEXT_SUBTITLE] = {8.5, 0.3}, [SOAI_TEXT_PHASE] = {7.5, 0.35}};
static const struct {
    double width, grey;
} lines[] = {
    [SOAI_LINE_GRID] = {0.5, 0.86}, [SOAI_LINE_ZERO] = {0.5, 0.6}, [SOAI_LINE_AXIS] = {0.8, 0.2}};

static void set_grey(cairo_t *c, double grey) {
    cairo_set_source_rgb(c, grey, grey, grey);
}

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
static double width_at(cairo_t *c, double size, const char *text) {
    cairo_text_extents_t e;
    char shown[TEXT_SHOWN];
    cairo_set_font_size(c, size);
    cairo_text_extents(c, drawable(text, shown), &e);
    return e.x_advance;
}
static double text_width(void *paper, soai_plot_text use, const char *text) {
    return width_at(paper, fonts[use].size, text);
}
static void put_text(void *paper, soai_plot_text use, const soai_plot_words *words) {
    const double least_size = 5, quarter_turn = 1.5707963267948966;
    cairo_t *c = paper;
    char shown[TEXT_SHOWN];
    double size = fonts[use].size;
    double width = width_at(c, size, words->text);
    while (words->room > 0 && width > words->room && size > least_size) {
        size -= 0.5;
        width = width_at(c, size, words->text);
    }
    cairo_save(c);
    set_grey(c, fonts[use].grey);
    cairo_translate(c, words->x, words->y);
    if (words->upward) cairo_rotate(c, -quarter_turn);
    cairo_move_to(c, -words->anchor * width, 0);
    cairo_show_text(c, drawable(words->text, shown));
    cairo_restore(c);
}

static void put_line(void *paper, soai_plot_line use, double x1, double y1, double x2, double y2) {
    cairo_t *c = paper;
    set_grey(c, lines[use].grey);
    cairo_set_line_width(c, lines[use].width);
    cairo_set_line_cap(c, use == SOAI_LINE_AXIS ? CAIRO_LINE_CAP_SQUARE : CAIRO_LINE_CAP_BUTT);
    cairo_move_to(c, x1, y1);
    cairo_line_to(c, x2, y2);
    cairo_stroke(c);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_BUTT);
}

static void shade(void *paper, soai_plot_box where) {
    set_grey(paper, 0.945);
    cairo_rectangle(paper, where.x, where.y, where.width, where.height);
    cairo_fill(paper);
}

static void set_colour(cairo_t *c, int index, double opaque) {
    const unsigned colour = soai_plot_colour(index);
    cairo_set_source_rgba(c, (colour >> 16) / 255.0, (colour >> 8 & 0xff) / 255.0,
                          (colour & 0xff) / 255.0, opaque);
}
/* Ends the path as a line in the pen of a curve. */
static void stroke(cairo_t *c, int index) {
    const double scale = 0.7; /* the lines are thinner than those of an SVG plot, too */
    double lengths[SOAI_PLOT_DASHES];
    const int count = soai_plot_dash(index, lengths);
    for (int k = 0; k < count; ++k)
        lengths[k] *= scale;
    set_colour(c, index, 1);
    cairo_set_line_width(c, 1);
    cairo_set_dash(c, lengths, count, 0);
    cairo_stroke(c);
    cairo_set_dash(c, NULL, 0, 0);
}
static void start_curve(void *paper, int index, soai_plot_box panel) {
    (void)index;
    cairo_save(paper);
    cairo_rectangle(paper, panel.x, panel.y - 1, panel.width, panel.height + 2);
    cairo_clip(paper);
}
static void put_point(void *paper, double x, double y, int joined) {
    if (joined)
        cairo_line_to(paper, x, y);
    else
        cairo_move_to(paper, x, y);
}
static void end_curve(void *paper, int index, int filled) {
    const double see_through = 0.7; /* curves behind are visible */
    if (filled) {
        set_colour(paper, index, see_through);
        cairo_fill(paper);
    } else {
        stroke(paper, index);
    }
    cairo_restore(paper);
}
static void put_dot(void *paper, int index, double x, double y) {
    const double radius = 1.7, full_turn = 6.283185307179586;
    set_colour(paper, index, 1);
    cairo_arc(paper, x, y, radius, 0, full_turn);
    cairo_fill(paper);
}
static void put_key(void *paper, int index, double x1, double x2, double y) {
    cairo_move_to(paper, x1, y);
    cairo_line_to(paper, x2, y);
    stroke(paper, index);
}

static void draw_all(cairo_t *c, const soai_plot_sheet *sheet, double height) {
    const soai_plot_canvas canvas = {.paper = c,
                                     .line = put_line,
                                     .text = put_text,
                                     .curve_start = start_curve,
                                     .curve_point = put_point,
                                     .curve_end = end_curve,
                                     .dot = put_dot,
                                     .key = put_key,
                                     .text_width = text_width,
                                     .shade = shade};
    set_grey(c, 1);
    /* Also covers the last fraction of a pixel. */
    cairo_rectangle(c, 0, 0, sheet->width + 2, height + 2);
    cairo_fill(c);
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    soai_plot_draw(sheet, &canvas);
}

/* --- the file --------------------------------------------------------------------------------- */
static cairo_status_t to_out(void *user, const unsigned char *data, unsigned length) {
    app_out *out = user;
    out_bytes(out, (const char *)data, length);
    return out->error ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static soa_status draw_file(const soai_plot_sheet *sheet, double dots, chart_format format,
                            app_out *out, soa_report *report) {
    const double width = sheet->width, height = soai_plot_height(sheet), scale = dots / 72;
    cairo_surface_t *surface;
    if (format == CHART_SVG) {
        surface = cairo_svg_surface_create_for_stream(to_out, out, width, height);
    } else if (format == CHART_PDF) {
        surface = cairo_pdf_surface_create_for_stream(to_out, out, width, height);
    } else {
        surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale),
                                             (int)ceil(height * scale));
    }
    cairo_t *c = cairo_create(surface);
    if (format == CHART_PNG) cairo_scale(c, scale, scale);
    draw_all(c, sheet, height);
    cairo_status_t drawn = cairo_status(c);
    cairo_destroy(c);
    if (!drawn && format == CHART_PNG)
        drawn = cairo_surface_write_to_png_stream(surface, to_out, out);
    cairo_surface_finish(surface);
    if (!drawn) drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (!drawn && !out->error) return SOA_OK;
    if (report) {
        *report = (soa_report){.status = SOA_E_MEMORY, .body = -1};
        snprintf(report->text, sizeof report->text, "the picture cannot be drawn: %s",
                 cairo_status_to_string(drawn ? drawn : CAIRO_STATUS_NO_MEMORY));
    }
    return SOA_E_MEMORY;
}

soa_status chart_draw(const chart *what, chart_format format, app_out *out, soa_report *report) {
    sketch s = {.what = what};
    const size_t before = out->size;
    soa_log_get_info(what->log, &s.info);
    soa_status status = sort_panels(&s);
    if (!status) status = read_values(&s, report);
    if (!status && what->bands) status = read_phases(&s, report);
    if (!status) {
        const soa_plot plot = {.title = what->title,
                               .x_label = "time",
                               .x = s.t,
                               .count = s.count,
                               .panels = s.panels,
                               .panel_count = s.panel_count};
        const soai_plot_sheet sheet = {.plot = &plot,
                                       .style = &style,
                                       .width = what->width * 72 / 25.4,
                                       .top = TOP + (what->title ? LARGE + 6 : 0) +
                                              (s.phase_count ? SMALL + 2 : 0),
                                       .columns = what->columns,
                                       .x_low = what->from,
                                       .x_high = what->to,
                                       .x_unit = "s",
                                       .y_units = s.units,
                                       .area = s.area,
                                       .phases = s.phases,
                                       .phase_count = s.phase_count};
        status = draw_file(&sheet, what->dots, format, out, report);
    }
    if (status) out->size = before;
    free(s.order);
    free(s.panels);
    free(s.curves);
    free(s.units);
    free(s.labels);
    free(s.t);
    free(s.values);
    return status;
}
