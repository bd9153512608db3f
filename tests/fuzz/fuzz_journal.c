/* fuzz_journal.c  the reader of journals, on the bytes as they are and again with all checksums
 * corrected, so that the code behind the checksums is reached too.
 *
 * For any file: no crash, and no allocation larger than the file allows. Results are within their
 * bounds, times are finite and events are texts. */
#include "record/journal_format.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "fuzz_journal: %s\n", what);
    abort();
}

static void repair(uint8_t *d, size_t size) {
    soai_crc c;
    soai_crc_init(&c);
    if (size < HEADER_SIZE) return;
    const uint64_t start = get_u64(d + 16);
    if (start >= HEADER_SIZE && start <= size && start % 8 == 0)
        put_u32(d + 48, soai_crc_add(&c, 0, d + HEADER_SIZE, (size_t)start - HEADER_SIZE));
    put_u32(d + 60, soai_crc_add(&c, 0, d, 60));
    for (uint64_t at = start; at % 8 == 0 && at <= size && size - at >= HEAD;) {
        const uint32_t length = get_u32(d + at + 4);
        if (padded(length) > size - at - HEAD) break;
        const uint32_t crc = soai_crc_add(&c, 0, d + at + HEAD, padded(length));
        soai_head_put(&c, d + at, at, get_u32(d + at), length, crc);
        at += HEAD + padded(length);
    }
}

static void use(const uint8_t *data, size_t size) {
    enum { ROWS = 4, COLUMNS = 7 };
    soa_log *log = NULL;
    soa_log_info info;
    soa_report report;
    if (soai_log_open(-1, data, size, "fuzz", &log, &report) != SOA_OK) {
        demand(log == NULL && report.text[0] && report.status != SOA_OK,
               "a refusal without a word");
        return;
    }
    soa_log_get_info(log, &info);
    demand(info.bytes >= 0 && (size_t)info.bytes <= size && info.bytes + info.torn == (int64_t)size,
           "more than there is");
    demand(strlen(info.program_version) <= SOA_JOURNAL_MAX_NAME &&
               info.scenario[info.scenario_size] == 0,
           "texts");
    for (int i = 0; i < info.signal_count; ++i)
        demand(info.signals[i].name[0] && soa_log_find_signal(log, info.signals[i].name) <= i,
               "a signal's name");
    const size_t n = (size_t)info.signal_count * COLUMNS + 1;
    double t[ROWS],
        *children = malloc(((size_t)info.signal_count * 2 * FAN + 1) * sizeof *children),
        *values = malloc(n * sizeof *values), *min = malloc(n * sizeof *min),
        *max = malloc(n * sizeof *max);
    demand(children && values && min && max, "no memory");
    int64_t got, sample;
    const int64_t from[4] = {0, info.samples / 3, info.samples - 2, info.samples - 70};
    for (int k = 0; k < 4; ++k) {
        if (from[k] < 0) continue;
        soa_log_read_samples(log, &(soa_log_range){.first = from[k], .count = ROWS}, t, values,
                             &got, &report);
        demand(got >= 0 && got <= ROWS, "more rows than asked for");
        for (int64_t i = 0; i < got; ++i)
            demand(isfinite(t[i]), "a time that is none");
    }
    if (info.samples) {
        demand(isfinite(info.first) && isfinite(info.last), "no first or last time");
        const double middle = info.first + 0.4 * (info.last - info.first);
        if (soa_log_find_sample(log, middle, &sample, &report) == SOA_OK)
            demand(sample >= 0 && sample <= info.samples, "a sample that is not there");
        soa_log_overview(log,
                         &(soa_log_window){.t0 = info.first, .t1 = info.last, .columns = COLUMNS},
                         min, max, &report);
        soa_log_overview(log, &(soa_log_window){.t0 = middle, .t1 = middle, .columns = 1}, min, max,
                         &report);
    }
    for (int64_t i = 0; i < info.events && i < 20; ++i) {
        soa_log_event_info event;
        if (soa_log_read_event(log, i, &event, &report) != SOA_OK) continue;
        demand(isfinite(event.t) && strlen(event.kind) <= SOA_JOURNAL_MAX_NAME &&
                   strlen(event.text) <= SOA_JOURNAL_MAX_TEXT,
               "no event");
    }
    void *blob;
    size_t blob_size;
    if (soa_log_read_checkpoint(log, t, &blob, &blob_size, &report) == SOA_OK) {
        demand(blob_size <= size, "a checkpoint larger than the file");
        free(blob);
    }
    bool news = true;
    int found = 0;
    demand(soa_log_refresh(log, &news, &report) == SOA_OK && !news,
           "news of a file that stays as it is");
    if (soai_log_cut(log, &found, &report) == SOA_OK) {
        const soai_place *p = soai_log_place(log);
        demand(p->end <= size && !found == !p->checkpoints, "cut back to nowhere");
        for (int i = 0; i < p->peaks; ++i)
            soai_log_bounds(log, p->peak[i].offset, values, children, &report);
    }
    free(children);
    free(values);
    free(min);
    free(max);
    soa_log_close(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    use(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    demand(copy != NULL, "no memory");
    memcpy(copy, data, size);
    repair(copy, size);
    use(copy, size);
    free(copy);
    return 0;
}
