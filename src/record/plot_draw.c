/* plot_draw.c  the one drawing of charts (plot_draw.h). Colours that colour-blind readers can
 * distinguish (Okabe & Ito), dashed lines from the eighth curve on. Numbers do not depend on the
 * locale. */
#include "plot_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- pens ------------------------------------------------------------------------------------- */

static const unsigned colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                   0x56b4e9, 0xe69f00, 0x222222};
static const struct {
    int count;
    double lengths[SOAI_PLOT_DASHES];
} dashes[] = {{0, {0}}, {2, {7, 4}}, {2, {2, 3}}, {4, {9, 3, 2, 3}}};
enum { COLOURS = sizeof colours / sizeof *colours, DASHES = sizeof dashes / sizeof *dashes };

unsigned soai_plot_colour(int index) {
    return colours[index % COLOURS];
}

int soai_plot_dash(int index, double lengths[SOAI_PLOT_DASHES]) {
    const int kind = index / COLOURS % DASHES;
    memcpy(lengths, dashes[kind].lengths, sizeof dashes[kind].lengths);
    return dashes[kind].count;
}

/* --- scales ----------------------------------------------------------------------------------- */

/* Part of a range, or of a step, that is rounding only. */
#define ROUNDING 1e-9

enum { TICKS_MAX = 16, TICK_ROOM = 48 };

typedef struct scale {
    double low, high; /* data range, slightly widened; base-10 logarithms if log */
    int log;
    int powers;    /* labels are tick / factor with `decimals` decimals */
    double factor; /* a power of ten */
    int decimals;
    int count;
    double tick[TICKS_MAX]; /* in data units */
} scale;

/* How a scale is wanted. */
typedef struct range {
    double low, high;
    int log;
    int ticks; /* about so many */
    int tight; /* nonzero: ends where the data ends, otherwise on a tick */
    int powers;
} range;

/* About `wanted` round ticks: 1, 2 or 5 times a power of ten. */
static void linear_ticks(scale *s, int wanted, int tight) {
    static const int round[] = {2, 5, 10};
    const double span = s->high - s->low;
    const double power = pow(10, floor(log10(span / wanted)));
    double step = power;
    for (int k = 0; k < 3 && span / step > wanted; ++k)
        step = power * round[k];
    if (!tight) {
        s->low = step * floor(s->low / step + ROUNDING);
        s->high = step * ceil(s->high / step - ROUNDING);
    }
    const double first = ceil(s->low / step - ROUNDING);
    for (s->count = 0; s->count < TICKS_MAX; ++s->count) {
        const double x = (first + s->count) * step;
        if (x > s->high + ROUNDING * step) break;
        s->tick[s->count] = x;
    }
    if (!s->powers) return;
    const double size = floor(log10(fmax(fabs(s->low), fabs(s->high))) + ROUNDING);
    if (size > 4 || size < -3) s->factor = pow(10, size);
    s->decimals = (int)fmin(fmax(0, -floor(log10(step / s->factor) + ROUNDING)), 12);
}

static void log_ticks(scale *s, int tight) {
    if (!tight) {
        s->low = floor(s->low + ROUNDING);
        s->high = ceil(s->high - ROUNDING);
    }
    const int decades = (int)ceil(s->high - s->low);
    const int step = 1 + decades / 10;
    int k = (int)ceil(s->low - ROUNDING);
    for (; k <= s->high + ROUNDING && s->count < TICKS_MAX; k += step)
        s->tick[s->count++] = pow(10, k);
}

static scale make_scale(const range *r) {
    scale s = {.low = r->low, .high = r->high, .log = r->log, .factor = 1};
    s.powers = r->powers && !r->log;
    if (!(s.low <= s.high)) { /* no data */
        s.low = r->log ? 1 : 0;
        s.high = r->log ? 10 : 1;
    }
    if (r->log) {
        s.low = log10(s.low);
        s.high = log10(s.high);
    }
    const double least = ROUNDING * fmax(fabs(s.low), fabs(s.high));
    if (!(s.high - s.low > least)) {
        const double half = r->log ? 0.5 : fmax(0.5 * fabs(s.low), 1e-9);
        s.low -= half;
        s.high += half;
    }
    if (r->log)
        log_ticks(&s, r->tight);
    else
        linear_ticks(&s, r->ticks, r->tight);
    return s;
}

/* Position of x on the axis, 0 to 1; not finite for what a logarithmic axis cannot show. */
static double place(const scale *s, double x) {
    return ((s->log ? log10(x) : x) - s->low) / (s->high - s->low);
}

static void tick_label(const scale *s, int k, char label[TICK_ROOM]) {
    char number[40];
    const double x = s->tick[k] / s->factor;
    if (s->powers)
        snprintf(number, sizeof number, "%.*f", s->decimals, fabs(x) < 1e-12 ? 0.0 : x);
    else
        snprintf(number, sizeof number, "%.6g", fabs(x) < 1e-300 ? 0.0 : x);
    for (char *c = number; *c != '\0'; ++c)
        if (*c == ',') *c = '.';
    const int minus = s->powers && number[0] == '-';
    snprintf(label, TICK_ROOM, "%s%s", minus ? "\xe2\x88\x92" : "", number + minus);
}

enum { LABEL_ROOM = 400 };

/* The label of an axis: `name (unit)`, the unit with the power of ten that the ticks omit. */
static const char *axis_label(const scale *s, const char *name, const char *unit,
                              char text[LABEL_ROOM]) {
    char power[24] = "";
    if (unit == NULL) unit = "";
    if (s->factor != 1) snprintf(power, sizeof power, "1e%d", (int)lround(log10(s->factor)));
    if (power[0] == '\0' && unit[0] == '\0') return name;
    const char *const between = power[0] != '\0' && unit[0] != '\0' ? " " : "";
    snprintf(text, LABEL_ROOM, "%.250s (%s%s%.60s)", name, power, between, unit);
    return text;
}

/* --- the data --------------------------------------------------------------------------------- */

static void include(double x, int log, double *low, double *high) {
    if (!isfinite(x) || (log && !(x > 0))) return;
    if (x < *low) *low = x;
    if (x > *high) *high = x;
}

static const double *curve_x(const soa_plot *plot, const soa_plot_curve *curve, long *count) {
    *count = curve->x != NULL ? curve->count : plot->count;
    return curve->x != NULL ? curve->x : plot->x;
}

static scale x_scale(const soai_plot_sheet *sheet) {
    const soa_plot *plot = sheet->plot;
    const soai_plot_style *style = sheet->style;
    range r = {sheet->x_low, sheet->x_high, plot->x_log, style->x_ticks, 1, style->powers};
    if (sheet->columns > 1) r.ticks /= 2;
    if (!isnan(r.low)) return make_scale(&r);
    r.low = INFINITY;
    r.high = -INFINITY;
    for (int p = 0; p < plot->panel_count; ++p) {
        for (int k = 0; k < plot->panels[p].curve_count; ++k) {
            long count;
            const double *x = curve_x(plot, &plot->panels[p].curves[k], &count);
            for (long i = 0; i < count; ++i)
                include(x[i], plot->x_log, &r.low, &r.high);
        }
    }
    return make_scale(&r);
}

static scale y_scale(const soai_plot_sheet *sheet, const soa_plot_panel *panel) {
    range r = {INFINITY, -INFINITY, panel->y_log, sheet->style->y_ticks, 0, sheet->style->powers};
    for (int k = 0; k < panel->curve_count; ++k) {
        const double *y = panel->curves[k].y;
        long count;
        curve_x(sheet->plot, &panel->curves[k], &count);
        for (long i = 0; i < count; ++i) {
            include(y[i], panel->y_log, &r.low, &r.high);
            include(y[i + sheet->area], panel->y_log, &r.low, &r.high);
        }
    }
    return make_scale(&r);
}

/* --- drawing ---------------------------------------------------------------------------------- */

typedef struct drawing {
    const soai_plot_sheet *sheet;
    const soai_plot_canvas *canvas;
    scale x, y; /* y: of the panel that is being drawn */
    soai_plot_box box;
    double legend; /* width */
} drawing;

static double at_x(const drawing *d, double x) {
    return d->box.x + d->box.width * place(&d->x, x);
}
static double at_y(const drawing *d, double y) {
    return d->box.y + d->box.height * (1 - place(&d->y, y));
}

static void put(const drawing *d, soai_plot_text use, double x, double y, double anchor,
                const char *text) {
    d->canvas->text(d->canvas->paper, use,
                    &(soai_plot_words){.text = text, .x = x, .y = y, .anchor = anchor});
}
static void rule(const drawing *d, soai_plot_line use, double x1, double y1, double x2, double y2) {
    d->canvas->line(d->canvas->paper, use, x1, y1, x2, y2);
}

static int row_count(const soai_plot_sheet *sheet) {
    return (sheet->plot->panel_count + sheet->columns - 1) / sheet->columns;
}
double soai_plot_height(const soai_plot_sheet *sheet) {
    const soai_plot_style *s = sheet->style;
    return sheet->top + row_count(sheet) * (s->panel + s->gap) - s->gap + s->bottom;
}

static soai_plot_box panel_box(const drawing *d, int index) {
    const soai_plot_sheet *sheet = d->sheet;
    const soai_plot_style *s = sheet->style;
    const double share = sheet->width / sheet->columns;
    const int row = index / sheet->columns;
    return (soai_plot_box){share * (index % sheet->columns) + s->left,
                           sheet->top + row * (s->panel + s->gap), share - s->left - d->legend,
                           s->panel};
}
/* Nothing is below the panel: it has the labels of the x axis. */
static int is_lowest(const soai_plot_sheet *sheet, int index) {
    return index + sheet->columns >= sheet->plot->panel_count;
}

/* Width of the legends: the longest name, up to a part of the sheet. */
static double legend_width(const soai_plot_sheet *sheet, const soai_plot_canvas *canvas) {
    const double most = 0.45 * sheet->width / sheet->columns;
    const double margin = 5;
    double width = 2 * margin;
    if (canvas->text_width == NULL) return sheet->style->key_room;
    for (int p = 0; p < sheet->plot->panel_count; ++p) {
        const soa_plot_panel *panel = &sheet->plot->panels[p];
        for (int k = 0; k < panel->curve_count; ++k) {
            if (panel->curves[k].name == NULL) continue;
            width = fmax(
                width, sheet->style->key_text + margin +
                           canvas->text_width(canvas->paper, SOAI_TEXT_KEY, panel->curves[k].name));
        }
    }
    return fmin(width, most);
}

static void draw_phases(const drawing *d, int named) {
    const soai_plot_sheet *sheet = d->sheet;
    for (int i = 0; i < sheet->phase_count; ++i) {
        const double next = i + 1 < sheet->phase_count ? sheet->phases[i + 1].start : INFINITY;
        const double from = fmax(sheet->phases[i].start, d->x.low);
        const double to = fmin(next, d->x.high);
        if (!(to > from)) continue;
        const double x = at_x(d, from);
        const double width = at_x(d, to) - x;
        const char *name = sheet->phases[i].name;
        if (i % 2 == 0)
            d->canvas->shade(d->canvas->paper, (soai_plot_box){x, d->box.y, width, d->box.height});
        if (named && d->canvas->text_width(d->canvas->paper, SOAI_TEXT_PHASE, name) < width - 2)
            put(d, SOAI_TEXT_PHASE, x + 0.5 * width, d->box.y - 3.5, 0.5, name);
    }
}

static void draw_y_label(const drawing *d, int index) {
    const soai_plot_style *s = d->sheet->style;
    const char *name = d->sheet->plot->panels[index].y_label;
    const char *unit = d->sheet->y_units != NULL ? d->sheet->y_units[index] : NULL;
    char room[LABEL_ROOM];
    if (name == NULL) return;
    const soai_plot_words words = {.text = axis_label(&d->y, name, unit, room),
                                   .x = d->box.x - s->left + s->y_label_x,
                                   .y = d->box.y + 0.5 * d->box.height,
                                   .anchor = 0.5,
                                   .room = d->box.height + s->gap,
                                   .upward = 1};
    d->canvas->text(d->canvas->paper, SOAI_TEXT_LABEL, &words);
}

static void draw_axes(const drawing *d, int index) {
    const soai_plot_style *s = d->sheet->style;
    const soai_plot_box b = d->box;
    const double right = b.x + b.width, below = b.y + b.height;
    const int lowest = is_lowest(d->sheet, index);
    char label[TICK_ROOM];
    for (int k = 0; k < d->y.count; ++k) {
        const double y = at_y(d, d->y.tick[k]);
        rule(d, d->y.tick[k] == 0 ? SOAI_LINE_ZERO : SOAI_LINE_GRID, b.x, y, right, y);
        tick_label(&d->y, k, label);
        put(d, SOAI_TEXT_TICK, b.x + s->y_tick[0], y + s->y_tick[1], 1, label);
    }
    for (int k = 0; k < d->x.count; ++k) {
        const double x = at_x(d, d->x.tick[k]);
        rule(d, SOAI_LINE_GRID, x, b.y, x, below + (lowest ? s->tick_mark : 0));
        tick_label(&d->x, k, label);
        if (lowest) put(d, SOAI_TEXT_TICK, x + s->x_tick[0], below + s->x_tick[1], 0.5, label);
    }
    rule(d, SOAI_LINE_AXIS, b.x, below, right, below);
    rule(d, SOAI_LINE_AXIS, b.x, b.y, b.x, below);
    draw_y_label(d, index);
}

static void draw_line(const drawing *d, const double *x, const double *y, long count) {
    const double *thin = d->sheet->style->thin;
    int joined = 0;
    double last[2] = {0, 0};
    for (long i = 0; i < count; ++i) {
        const double px = at_x(d, x[i]), py = at_y(d, y[i]);
        if (!isfinite(px) || !isfinite(py)) {
            joined = 0;
            continue;
        }
        const int ends = i + 1 == count || !isfinite(at_y(d, y[i + 1]));
        if (joined && !ends && fabs(px - last[0]) <= thin[0] && fabs(py - last[1]) <= thin[1])
            continue;
        d->canvas->curve_point(d->canvas->paper, px, py, joined);
        last[0] = px;
        last[1] = py;
        joined = 1;
    }
}

/* One outline for each interval without gaps: along the top, and back along the bottom. */
static void draw_area(const drawing *d, const double *x, const double *low, long count) {
    const double *high = low + d->sheet->area;
    for (long from = 0; from < count;) {
        if (!isfinite(low[from]) || !isfinite(high[from])) {
            ++from;
            continue;
        }
        long end = from;
        while (end < count && isfinite(low[end]) && isfinite(high[end]))
            ++end;
        for (long turn = 0; turn < 2 * (end - from); ++turn) {
            const int back = turn >= end - from;
            const long i = back ? 2 * end - from - 1 - turn : from + turn;
            const double top = at_y(d, high[i]), bottom = at_y(d, low[i]);
            const double more = fmax(0, 0.5 * (d->sheet->style->area_least - (bottom - top)));
            d->canvas->curve_point(d->canvas->paper, at_x(d, x[i]),
                                   back ? bottom + more : top - more, turn > 0);
        }
        from = end;
    }
}

static void draw_curve(const drawing *d, const soa_plot_curve *curve, int index) {
    const soai_plot_canvas *canvas = d->canvas;
    long count;
    const double *x = curve_x(d->sheet->plot, curve, &count);
    canvas->curve_start(canvas->paper, index, d->box);
    if (d->sheet->area != 0)
        draw_area(d, x, curve->y, count);
    else
        draw_line(d, x, curve->y, count);
    canvas->curve_end(canvas->paper, index, d->sheet->area != 0);
    for (long i = 0; curve->markers && i < count; ++i) {
        const double px = at_x(d, x[i]), py = at_y(d, curve->y[i]);
        if (isfinite(px) && isfinite(py)) canvas->dot(canvas->paper, index, px, py);
    }
}

/* Legend beside the panel: entry `index` of `count`. */
static void draw_key(const drawing *d, const char *name, int index, int count) {
    const soai_plot_style *s = d->sheet->style;
    const double right = d->box.x + d->box.width;
    const double height = d->box.height + s->key_over;
    const double line = fmax(fmin(s->key_line, height / count), s->key_least);
    const double y = d->box.y + s->key_first + line * index;
    const int fitting = (int)floor(height / line + ROUNDING);
    const int shown = count <= fitting ? count : fitting - 1;
    char more[40];
    if (name == NULL || index > shown) return;
    snprintf(more, sizeof more, "and %d more", count - shown);
    if (index < shown)
        d->canvas->key(d->canvas->paper, index, right + s->key_from, right + s->key_to, y);
    put(d, SOAI_TEXT_KEY, right + s->key_text, y + s->key_text_y, 0, index < shown ? name : more);
}

static void draw_x_label(drawing *d, int index) {
    const soai_plot_sheet *sheet = d->sheet;
    char room[LABEL_ROOM];
    if (sheet->plot->x_label == NULL || !is_lowest(sheet, index)) return;
    d->box = panel_box(d, index);
    put(d, SOAI_TEXT_LABEL, d->box.x + 0.5 * d->box.width,
        d->box.y + d->box.height + sheet->style->x_label_y, 0.5,
        axis_label(&d->x, sheet->plot->x_label, sheet->x_unit, room));
}

void soai_plot_draw(const soai_plot_sheet *sheet, const soai_plot_canvas *canvas) {
    const soa_plot *plot = sheet->plot;
    const soai_plot_style *s = sheet->style;
    drawing d = {.sheet = sheet, .canvas = canvas, .x = x_scale(sheet)};
    d.legend = legend_width(sheet, canvas);
    if (plot->title != NULL) put(&d, SOAI_TEXT_TITLE, s->left, s->title_y, 0, plot->title);
    if (plot->subtitle != NULL)
        put(&d, SOAI_TEXT_SUBTITLE, s->left, s->subtitle_y, 0, plot->subtitle);
    for (int p = 0; p < plot->panel_count; ++p) {
        const soa_plot_panel *panel = &plot->panels[p];
        d.y = y_scale(sheet, panel);
        d.box = panel_box(&d, p);
        draw_phases(&d, p < sheet->columns);
        draw_axes(&d, p);
        for (int k = 0; k < panel->curve_count; ++k) {
            draw_curve(&d, &panel->curves[k], k);
            draw_key(&d, panel->curves[k].name, k, panel->curve_count);
        }
    }
    for (int p = 0; p < plot->panel_count; ++p)
        draw_x_label(&d, p);
}
