/* damage.c  reads a log that contains damaged records. */
#include "damage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the position of the damage from the journal's message. */
static void take(view_damage *damage, const soa_report *report, int64_t good, double last) {
    static const char mark[] = "damaged at byte ";
    const char *at = NULL;
    for (const char *c = report->text; (c = strstr(c, mark)); ++c)
        at = c;
    if (damage)
        *damage =
            (view_damage){1, 0, at ? strtoll(at + sizeof mark - 1, NULL, 10) : -1, good, last};
}
static soa_status tell(soa_report *report, const soa_report *inner, soa_status status) {
    if (status && report) *report = *inner;
    return status;
}

soa_status view_damage_find(soa_log *log, double t0, double t1, int64_t *first, int64_t *after,
                            soa_report *report) {
    soa_report inner = {.body = -1};
    soa_log_info info;
    soa_status status = soa_log_find_sample(log, t0, first, &inner);
    if (status) return tell(report, &inner, status);
    status = soa_log_find_sample(log, nextafter(t1, INFINITY), after, &inner);
    if (status != SOA_E_CHECKSUM) return tell(report, &inner, status);
    /* Damaged before t1: reading will end there. */
    soa_log_get_info(log, &info);
    *after = info.samples;
    return SOA_OK;
}

soa_status view_damage_read(soa_log *log, int64_t first, int64_t count, const int *signals,
                            int signal_count, double *t, double *values, int64_t *got,
                            view_damage *damage, soa_report *report) {
    soa_report inner = {.body = -1};
    const soa_status status = soa_log_read_samples(
        log,
        &(soa_log_range){
            .first = first, .count = count, .signals = signals, .signal_count = signal_count},
        t, values, got, &inner);
    if (status != SOA_E_CHECKSUM || !*got) return tell(report, &inner, status);
    take(damage, &inner, first + *got, t[*got - 1]);
    return SOA_OK;
}

/* Reads sample by sample, up to the damage. */
static soa_status by_samples(soa_log *log, const int *signals, int n, double t0, double t1,
                             int columns, double *low, double *high, view_damage *damage,
                             soa_report *report) {
    enum { VALUES = 1 << 18 };
    const size_t wide = n > 0 ? (size_t)n : 1;
    const size_t rows = wide < VALUES ? VALUES / wide : 1;
    const size_t all = (size_t)n * (size_t)columns;
    double *t = malloc(rows * sizeof *t), *values = malloc(rows * wide * sizeof *values),
           last = NAN;
    int64_t begin = 0, after = 0;
    soa_report inner = {.body = -1};
    soa_status status =
        t && values ? view_damage_find(log, t0, t1, &begin, &after, &inner) : SOA_E_MEMORY;
    for (size_t i = 0; i < all; ++i)
        low[i] = high[i] = NAN;
    for (int64_t at = begin; !status && at < after;) {
        int64_t got = 0;
        const int64_t left = after - at, count = left < (int64_t)rows ? left : (int64_t)rows;
        status = soa_log_read_samples(
            log,
            &(soa_log_range){.first = at, .count = count, .signals = signals, .signal_count = n}, t,
            values, &got, &inner);
        for (int64_t i = 0; i < got && t[i] <= t1; ++i) {
            const double x = t1 > t0 ? (t[i] - t0) * (columns / (t1 - t0)) : 0;
            size_t column;
            if (!(x >= 0)) {
                column = 0;
            } else if (x >= columns) {
                column = (size_t)columns - 1;
            } else {
                column = (size_t)x;
            }
            last = t[i];
            for (size_t k = 0; k < (size_t)n; ++k) {
                const size_t to = k * (size_t)columns + column;
                low[to] = fmin(low[to], values[(size_t)i * wide + k]); /* fmin ignores NaN */
                high[to] = fmax(high[to], values[(size_t)i * wide + k]);
            }
        }
        at += got;
        if (status == SOA_E_CHECKSUM && at > begin) {
            take(damage, &inner, at, last);
            status = SOA_OK;
            break;
        }
        if (!got) break;
    }
    free(t);
    free(values);
    return tell(report, &inner, status);
}

soa_status view_damage_overview(soa_log *log, const int *signals, int signal_count, double t0,
                                double t1, int columns, double *low, double *high,
                                view_damage *damage, soa_report *report) {
    soa_report inner = {.body = -1};
    const soa_status status = soa_log_overview(log,
                                               &(soa_log_window){.signals = signals,
                                                                 .signal_count = signal_count,
                                                                 .t0 = t0,
                                                                 .t1 = t1,
                                                                 .columns = columns},
                                               low, high, &inner);
    if (status != SOA_E_CHECKSUM) return tell(report, &inner, status);
    return by_samples(log, signals, signal_count, t0, t1, columns, low, high, damage, report);
}

void view_damage_of_end(const soa_log *log, view_damage *damage) {
    soa_log_info info;
    soa_log_get_info(log, &info);
    if (!damage->found && !info.complete && info.torn > 0 && info.samples > 0)
        *damage = (view_damage){1, 1, info.bytes, info.samples, info.last};
}

void view_damage_text(const view_damage *damage, char text[160]) {
    char at[40] = "";
    if (damage->byte >= 0) snprintf(at, sizeof at, " at byte %lld", damage->byte);
    snprintf(text, 160, "damaged%s%s: nothing is shown after t = %.6g s",
             damage->at_end ? " or unfinished" : "", at, damage->last);
}
