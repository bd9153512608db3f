/* report.c  writes a run as one HTML file (docs/view-protocol.md, "A report").
 *
 * Sizes: the bytes of VIEW_REPORT_MOST that the page and the scene leave are shared. Frames get up
 * to FRAMES bytes; if all samples need more, equally spaced ones are used. Signals are included as
 * recorded if they fit into SAMPLES. Otherwise an overview is included, with as many columns as fit
 * into OVERVIEW, from the log's own tree of smallest and largest values, so that the time does not
 * grow with the length of the run. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FRAMES = 6000000,
    SAMPLES = 8000000,
    OVERVIEW = 6000000,
    SPARE = 200000,
    COLUMNS_MOST = 100000
};

static soa_status fail(soa_report *report, soa_status status, const char *text) {
    if (report) {
        *report = (soa_report){.status = status, .body = -1};
        snprintf(report->text, sizeof report->text, "%s", text);
    }
    return status;
}

/* --- base64 ----------------------------------------------------------------------------------- */
typedef struct base64 {
    app_out *out;
    unsigned char left[3];
    int count;
} base64;
static void put_group(base64 *b) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned x = (unsigned)b->left[0] << 16 | (unsigned)b->left[1] << 8 | b->left[2];
    char text[4] = {letters[x >> 18], letters[x >> 12 & 63], letters[x >> 6 & 63], letters[x & 63]};
    for (int k = b->count + 1; k < 4; ++k)
        text[k] = '=';
    out_bytes(b->out, text, 4);
    memset(b->left, 0, sizeof b->left);
    b->count = 0;
}
static void put_base64(base64 *b, const char *data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        b->left[b->count++] = (unsigned char)data[i];
        if (b->count == 3) put_group(b);
    }
}
/* Writes a message with its length before it and zeros after it. `message` is emptied. */
static void put_message(base64 *b, app_out *message) {
    const size_t n = message->size, padding = (8 - n % 8) % 8;
    const char head[8] = {(char)(n & 255), (char)(n >> 8 & 255), (char)(n >> 16 & 255),
                          (char)(n >> 24 & 255)};
    static const char zeros[8] = {0};
    put_base64(b, head, 8);
    put_base64(b, message->data, n);
    put_base64(b, zeros, padding);
    message->size = 0;
}

/* --- the messages ----------------------------------------------------------------------------- */
static int64_t sample_of(int64_t frame, int64_t frames, int64_t samples) {
    return frames < 2
               ? 0
               : (int64_t)floor((double)frame * (double)(samples - 1) / (double)(frames - 1) + 0.5);
}

/* Computes how many frames fit, from the size of some of them. */
static soa_status plan_frames(view_scene *scene, int64_t samples, size_t budget, app_out *message,
                              int64_t *frames, size_t *size, soa_report *report) {
    enum { TRIED = 64 };
    const int64_t tried = samples < TRIED ? samples : TRIED;
    size_t most = 0, sum = 0;
    for (int64_t i = 0; i < tried; ++i) {
        const soa_status s =
            view_frame_of_sample(scene, 0, sample_of(i, tried, samples), message, report);
        if (s == SOA_E_CHECKSUM) continue; /* skip a damaged record */
        if (s) return s;
        sum += message->size + 16;
        most = message->size + 16 > most ? message->size + 16 : most;
        message->size = 0;
    }
    if (!tried || !most) {
        *frames = 0;
        return SOA_OK;
    }
    const double each = 0.5 * ((double)most + (double)sum / (double)tried),
                 fit = floor((double)budget / each);
    *frames = fit < (double)samples ? (int64_t)fit : samples;
    *size = (size_t)fmin((double)*frames * (double)most, 1.125 * (double)budget);
    return SOA_OK;
}

static soa_status put_frames(view_replay *r, int64_t samples, int64_t frames, size_t budget,
                             view_report_progress_fn *progress, void *user, base64 *to,
                             app_out *message, view_report_result *result, size_t *used,
                             soa_report *report) {
    const view_damage *damage = view_scene_damage(r->scene);
    int left_out = 0;
    for (int64_t i = 0; i < frames && *used < budget; ++i) {
        const int64_t sample = sample_of(i, frames, samples);
        if (damage->found && sample >= damage->good) break; /* as for the signals */
        const soa_status s = view_frame_of_sample(r->scene, 0, sample, message, report);
        if (s == SOA_E_CHECKSUM) {
            const char *at = report ? strstr(report->text, "damaged at byte") : NULL;
            char text[160];
            snprintf(text, sizeof text, "%.60s: frames from there are left out",
                     at ? at : "damaged");
            if (!left_out++) view_scene_add_note(r->scene, text);
            continue;
        }
        if (s) return s;
        *used += message->size + 8;
        put_message(to, message);
        ++result->frames;
        if (progress && i % 64 == 0 && progress(user, 0.8 * (double)i / (double)frames))
            return fail(report, SOA_E_FILE, "stopped by a signal");
    }
    return SOA_OK;
}

static soa_status make_signals(view_replay *r, const soa_log_info *info, size_t budget,
                               app_out *message, view_report_result *result, soa_report *report) {
    const double n = (double)info->samples, count = info->signal_count,
                 all = 8 * n * (count + 1) + 4 * count + 64;
    if (!info->samples || !info->signal_count) return SOA_OK;
    soa_status s;
    if (all <= SAMPLES && all <= (double)budget) {
        s = view_samples(r->scene, 0, NULL, 0, info->first, info->last, INT64_MAX, message, report);
    } else {
        const double room = fmin(OVERVIEW, (double)budget) - 4 * count - 64,
                     columns = floor(room / (8 * count));
        if (columns < 1) {
            view_scene_add_note(
                r->scene, "there are too many signals for one file: their plots are left out");
            return SOA_OK;
        }
        result->columns = (int64_t)fmin(fmin(columns, COLUMNS_MOST), 2 * n);
        s = view_overview(r->scene, 0, NULL, 0, info->first, info->last, (int)result->columns,
                          message, report);
    }
    view_damage damage = *view_scene_damage(r->scene);
    view_damage_of_end(r->log, &damage);
    if (!s && damage.found) {
        char text[160];
        view_damage_text(&damage, text);
        view_scene_add_note(r->scene, text);
        s = view_scene_add_summary(r->scene, "the record is", text);
    }
    return s;
}

/* Writes JSON inside a script element: it must not contain "<". */
static void put_escaped(app_out *out, const char *text, size_t size) {
    for (size_t i = 0, from = 0; i <= size; ++i) {
        if (i < size && text[i] != '<') continue;
        out_bytes(out, text + from, i - from);
        if (i < size) out_text(out, "\\u003c");
        from = i + 1;
    }
}

/* Position of the last "</body>"; the end if there is none. */
static size_t end_of_body(const char *page, size_t size) {
    static const char mark[] = "</body>";
    for (size_t i = size; i-- > 0;)
        if (size - i >= sizeof mark - 1 && !memcmp(page + i, mark, sizeof mark - 1)) return i;
    return size;
}

soa_status view_report_build(view_replay *r, const char *page, size_t page_size,
                             view_report_progress_fn *progress, void *user, app_out *out,
                             view_report_result *result, soa_report *report) {
    view_report_result ignored;
    if (!result) result = &ignored;
    *result = (view_report_result){0};
    soa_log_info info;
    soa_log_get_info(r->log, &info);
    result->samples = info.samples;
    result->signals = info.signal_count;
    const size_t before = out->size, cut = end_of_body(page, page_size);
    app_out scene, message, signals, data;
    out_start(&scene, -1);
    out_start(&message, -1);
    out_start(&signals, -1);
    out_start(&data, -1);
    /* The messages first: the scene says what they leave out. */
    soa_status s = view_scene_json(r->scene, &scene);
    /* "<" is longer when escaped. */
    const size_t taken = page_size + scene.size + scene.size / 8 + SPARE;
    const size_t raw = !s && taken < VIEW_REPORT_MOST ? (VIEW_REPORT_MOST - taken) / 4 * 3 : 0;
    if (!s && raw < 100000)
        s = fail(report, SOA_E_MEMORY, "the scene alone is too large for a report");
    base64 to = {.out = &data};
    size_t used = 0, planned = 0, budget = raw / 2 < FRAMES ? raw / 2 : FRAMES;
    int64_t frames = 0;
    if (!s && view_body_count(r->scene))
        s = plan_frames(r->scene, info.samples, budget, &message, &frames, &planned, report);
    /* Signals before frames: they show where a log is damaged. */
    if (!s) s = make_signals(r, &info, raw > planned ? raw - planned : 0, &signals, result, report);
    budget += budget / 8;
    if (!s && raw < signals.size + budget) budget = raw > signals.size ? raw - signals.size : 0;
    if (!s)
        s = put_frames(r, info.samples, frames, budget, progress, user, &to, &message, result,
                       &used, report);
    if (!s && signals.size) put_message(&to, &signals);
    if (!s && to.count) put_group(&to);
    if (!s) {
        scene.size = 0;
        s = view_scene_json(r->scene, &scene);
    }
    if (!s && data.error) s = SOA_E_MEMORY;
    if (!s) {
        out_bytes(out, page, cut);
        out_text(out, "<script type=\"application/json\" id=\"soa-scene\">");
        put_escaped(out, scene.data, scene.size);
        out_text(out, "</script>\n<script type=\"text/plain\" id=\"soa-data\">");
        out_bytes(out, data.data, data.size);
        out_text(out, "</script>\n");
        out_bytes(out, page + cut, page_size - cut);
        result->bytes = out->size - before;
        if (out->error) s = SOA_E_MEMORY;
        if (progress) progress(user, 1);
    }
    if (s == SOA_E_MEMORY && report && !report->text[0]) fail(report, s, soa_status_text(s));
    out_free(&scene);
    out_free(&message);
    out_free(&signals);
    out_free(&data);
    if (s) out->size = before;
    return s;
}
