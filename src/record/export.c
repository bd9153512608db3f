/* export.c  exports a journal as CSV, and holds the functions that the HDF5 export uses too. */
#include "export.h"

#include "../base/visible.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

soa_export_options soa_export_options_default(void) {
    return (soa_export_options){-INFINITY, INFINITY, NULL, 0, 0};
}

soa_status soai_export_begin(soai_export *e, soa_log *log, const char *path,
                             const soa_export_options *options, int64_t most_rows,
                             soa_report *report) {
    memset(e, 0, sizeof *e);
    e->file = SOAI_NO_FILE;
    e->options = options ? *options : soa_export_options_default();
    if (!log || !path || isnan(e->options.from) || isnan(e->options.to) ||
        (e->options.signals && e->options.signal_count < 0))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "export: an argument is missing or out of range");
    e->log = log;
    soa_log_get_info(log, &e->info);
    e->signals = e->options.signals;
    e->signal_count = e->signals ? e->options.signal_count : e->info.signal_count;
    for (int i = 0; e->signals && i < e->signal_count; ++i)
        if (e->signals[i] < 0 || e->signals[i] >= e->info.signal_count)
            return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                               "export: there is no signal number %d", e->signals[i]);
    int64_t last = 0;
    soa_status s = soa_log_find_sample(log, e->options.from, &e->first, report);
    if (e->options.to == INFINITY)
        last = e->info.samples;
    else if (s == SOA_OK)
        s = soa_log_find_sample(log, nextafter(e->options.to, INFINITY), &last, report);
    if (s != SOA_OK) return s;
    e->count = last > e->first ? last - e->first : 0;
    e->rows = ((int64_t)1 << 22) / (e->signal_count + 1); /* at most 32 MB */
    if (e->rows > most_rows) e->rows = most_rows;
    if (e->rows < 16) e->rows = 16;
    e->t = malloc((size_t)e->rows * sizeof *e->t);
    e->values = malloc((size_t)e->rows * ((size_t)e->signal_count + 1) * sizeof *e->values);
    if (!e->t || !e->values) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    return soai_new_file_open(&e->file, path, 0, report);
}
soa_status soai_export_read(soai_export *e, int64_t done, int64_t *got, soa_report *report) {
    const int64_t left = e->count - done;
    *got = 0;
    if (left > 0)
        return soa_log_read_samples(e->log,
                                    &(soa_log_range){.first = e->first + done,
                                                     .count = left < e->rows ? left : e->rows,
                                                     .signals = e->signals,
                                                     .signal_count = e->signal_count},
                                    e->t, e->values, got, report);
    return SOA_OK;
}
void soai_export_end(soai_export *e) {
    soai_new_file_end(&e->file);
    free(e->t);
    free(e->values);
}

/* --- CSV -------------------------------------------------------------------------------------- */
typedef struct sink {
    int fd, error;
    size_t used;
    char text[1 << 16];
} sink;
static void pour(sink *out) {
    if (!out->error && out->used) out->error = soai_write_all(out->fd, out->text, out->used);
    out->used = 0;
}
static void put(sink *out, const char *s, size_t n) {
    while (n) {
        if (out->used == sizeof out->text) pour(out);
        const size_t room = sizeof out->text - out->used, k = n < room ? n : room;
        memcpy(out->text + out->used, s, k);
        out->used += k;
        s += k;
        n -= k;
    }
}
/* Writes a field as in RFC 4180: in quotes if necessary, quotes inside it doubled. */
static void put_field(sink *out, const char *s, const char *unit) {
    const int quoted = strpbrk(s, ",\"\r\n") || (unit && strpbrk(unit, ",\"\r\n"));
    if (quoted) put(out, "\"", 1);
    for (int part = 0; part < 2; ++part) {
        const char *p = part ? unit : s;
        if (!p || (part && !*p)) continue;
        if (part) put(out, " [", 2);
        while (*p) {
            char escaped[SOAI_VISIBLE_ROOM];
            const size_t n = soai_visible(p, strlen(p), escaped);
            const int line = *p == '\n' || *p == '\t'; /* allowed inside quotes */
            if (*p == '"')
                put(out, "\"\"", 2);
            else if (escaped[0] && !line)
                put(out, escaped, strlen(escaped));
            else
                put(out, p, n);
            p += n;
        }
        if (part) put(out, "]", 1);
    }
    if (quoted) put(out, "\"", 1);
}
static void put_number(sink *out, double x) {
    char text[40];
    if (isnan(x))
        put(out, "nan", 3);
    else
        put(out, text, (size_t)snprintf(text, sizeof text, "%.17g", x));
}
static soa_status put_samples(soai_export *e, sink *out, soa_report *report) {
    put_field(out, "t", "s");
    for (int i = 0; i < e->signal_count; ++i) {
        put(out, ",", 1);
        put_field(out, soai_export_signal(e, i)->name, soai_export_signal(e, i)->unit);
    }
    put(out, "\n", 1);
    int64_t got = 0;
    for (int64_t done = 0; !out->error; done += got) {
        const soa_status s = soai_export_read(e, done, &got, report);
        if (s != SOA_OK) return s;
        if (!got) break;
        for (int64_t k = 0; k < got; ++k) {
            put_number(out, e->t[k]);
            for (int i = 0; i < e->signal_count; ++i) {
                put(out, ",", 1);
                put_number(out, e->values[k * e->signal_count + i]);
            }
            put(out, "\n", 1);
        }
    }
    return SOA_OK;
}
static soa_status put_events(soai_export *e, sink *out, soa_report *report) {
    const char *const header = "t [s],kind,text\n";
    put(out, header, strlen(header));
    for (int64_t i = 0; i < e->info.events && !out->error; ++i) {
        soa_log_event_info event;
        const soa_status s = soa_log_read_event(e->log, i, &event, report);
        if (s != SOA_OK) return s;
        if (!soai_export_wants(e, &event)) continue;
        put_number(out, event.t);
        put(out, ",", 1);
        put_field(out, event.kind, NULL);
        put(out, ",", 1);
        put_field(out, event.text, NULL);
        put(out, "\n", 1);
    }
    return SOA_OK;
}
soa_status soa_log_export_csv(soa_log *log, const char *path, const soa_export_options *options,
                              soa_report *report) {
    soai_report_reset(report);
    soai_export e;
    soa_status s = soai_export_begin(&e, log, path, options, 4096, report);
    sink *out = s == SOA_OK ? malloc(sizeof *out) : NULL;
    /* Decimal point, not comma, in every locale. */
    locale_t plain = out ? newlocale(LC_NUMERIC_MASK, "C", (locale_t)0) : (locale_t)0;
    if (s == SOA_OK && !plain) s = soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    if (s == SOA_OK) {
        const locale_t before = uselocale(plain);
        out->fd = e.file.fd;
        out->error = 0;
        out->used = 0;
        s = e.options.events ? put_events(&e, out, report) : put_samples(&e, out, report);
        pour(out);
        uselocale(before);
        if (s == SOA_OK && out->error)
            s = soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path,
                            strerror(out->error));
    }
    if (s == SOA_OK) s = soai_new_file_commit(&e.file, report);
    if (plain) freelocale(plain);
    free(out);
    soai_export_end(&e);
    return soai_report_end(report, s);
}
