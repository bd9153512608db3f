/* base.c  status texts, version, reports, aligned memory layout, checksum, test
 * for finite numbers. */
#include "base_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *soa_status_text(soa_status status) {
    static const char *const text[] = {
#define SOA_STATUS_TEXT_(code, words) words,
        SOA_STATUS_LIST(SOA_STATUS_TEXT_)
#undef SOA_STATUS_TEXT_
    };
    return (unsigned)status < SOA_STATUS_COUNT ? text[status] : "unknown status";
}

const char *soa_version(void) {
    return SOA_VERSION;
}

soa_status soai_report(soa_report *report, soa_status status, int body, int line,
                       const char *format, ...) {
    if (!report) return status;
    report->status = status;
    report->body = body;
    report->line = line;
    va_list list;
    va_start(list, format);
    vsnprintf(report->text, sizeof report->text, format, list);
    va_end(list);
    return status;
}

void soai_report_reset(soa_report *report) {
    if (!report) return;
    report->status = SOA_OK;
    report->body = -1;
    report->line = 0;
    report->text[0] = '\0';
}

soa_status soai_report_end(soa_report *report, soa_status status) {
    if (!report) return status;
    if (status == SOA_OK) {
        soai_report_reset(report);
        return status;
    }
    report->status = status;
    if (!report->text[0])
        soai_report(report, status, report->body, report->line, "%s", soa_status_text(status));
    return status;
}

void *soai_take(char *memory, size_t *at, size_t bytes) {
    *at = (*at + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *p = memory ? memory + *at : NULL;
    *at += bytes;
    return p;
}

uint64_t soai_checksum(const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < size; ++i)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* x - x is 0 for every finite number and NaN for NaN and infinities. Works on four numbers at a
 * time; the last four may overlap the four before. This file must be compiled without
 * -ffinite-math-only. */
#define ALL_FINITE(real)                                              \
    typedef real four __attribute__((vector_size(4 * sizeof(real)))); \
    four sum = {0}, y;                                                \
    if (n < 4) {                                                      \
        for (size_t i = 0; i < n; ++i)                                \
            sum[0] += x[i] - x[i];                                    \
    } else {                                                          \
        for (size_t i = 0; i + 4 < n; i += 4) {                       \
            memcpy(&y, x + i, sizeof y);                              \
            sum += y - y;                                             \
        }                                                             \
        memcpy(&y, x + n - 4, sizeof y);                              \
        sum += y - y;                                                 \
    }                                                                 \
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) == 0;

int soai_all_finite(const double *x, size_t n) {
    ALL_FINITE(double)
}
int soai_all_finite_f(const float *x, size_t n) {
    ALL_FINITE(float)
}
