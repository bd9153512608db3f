/* bench_journal.c FILE [SAMPLES [SIGNALS]]  writes a journal (default: an hour at 1 kHz, 100
 * signals), opens it, complete and cut off, reads overviews, and prints how long each took. The
 * file is removed at the end. */
#include "soa/journal.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void need(soa_status s, const soa_report *report) {
    if (s == SOA_OK) return;
    fprintf(stderr, "bench_journal: %s\n", report->text[0] ? report->text : soa_status_text(s));
    exit(2);
}
/* Drops the file from the cache, so that the next reading is from the disk. */
static void forget(const char *path) {
    const int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static void look(const char *path, const char *how) {
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_log *log = NULL;
    soa_log_info info;
    for (int warm = 0; warm < 2; ++warm) {
        if (!warm) forget(path);
        double start = now();
        need(soa_log_open(path, &log, &report), &report);
        soa_log_get_info(log, &info);
        printf("open, %s, %s: %.2f ms; %lld samples\n", how, warm ? "cached" : "from disk",
               1e3 * (now() - start), (long long)info.samples);
        const int signals[3] = {0, info.signal_count / 2, info.signal_count - 1};
        for (int columns = 100; columns <= 1600; columns *= 4) {
            double *min = malloc(3 * (size_t)columns * sizeof *min),
                   *max = malloc(3 * (size_t)columns * sizeof *max);
            if (!min || !max) exit(2);
            if (!warm) forget(path);
            start = now();
            need(soa_log_overview(log,
                                  &(soa_log_window){.signals = signals,
                                                    .signal_count = 3,
                                                    .t0 = info.first,
                                                    .t1 = info.last,
                                                    .columns = columns},
                                  min, max, &report),
                 &report);
            printf("    overview of 3 signals, all of it, %d columns: %.1f ms\n", columns,
                   1e3 * (now() - start));
            free(min);
            free(max);
        }
        double t[1000], *values = malloc(1000 * (size_t)info.signal_count * sizeof *values);
        if (!values) exit(2);
        int64_t sample, got;
        start = now();
        need(soa_log_find_sample(log, 0.37 * info.last, &sample, &report), &report);
        need(soa_log_read_samples(log, &(soa_log_range){.first = sample, .count = 1000}, t, values,
                                  &got, &report),
             &report);
        printf("    find a time, read %lld samples of all signals: %.2f ms\n", (long long)got,
               1e3 * (now() - start));
        free(values);
        soa_log_close(log);
    }
}

int main(int argc, char **argv) {
    const long samples = argc > 2 ? atol(argv[2]) : 3600000;
    const int signals = argc > 3 ? atoi(argv[3]) : 100;
    if (argc < 2 || samples < 1000 || signals < 1 || signals > SOA_JOURNAL_MAX_SIGNALS) {
        fprintf(stderr, "usage: bench_journal FILE [SAMPLES [SIGNALS]]\n");
        return 2;
    }
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_signal *table = malloc((size_t)signals * sizeof *table);
    char(*names)[24] = malloc((size_t)signals * sizeof *names);
    double *values = malloc((size_t)signals * sizeof *values);
    if (!table || !names || !values) return 2;
    for (int i = 0; i < signals; ++i) {
        snprintf(names[i], sizeof names[i], "arm%d.q%d", i / 10, i % 10);
        table[i] = (soa_signal){names[i], "rad"};
    }
    soa_journal *j = NULL;
    need(soa_journal_create(argv[1], "bench\n", 6, table, signals, &j, &report), &report);
    double start = now(), in_checkpoints = 0;
    static char blob[20000];
    for (long k = 0; k < samples; ++k) {
        for (int i = 0; i < signals; ++i)
            values[i] = (double)((k * (i + 7)) % 1009) - 0.001 * (double)i;
        need(soa_journal_write_sample(j, 0.001 * (double)k, values), &report);
        if (k % 60000 == 59999) {
            const double before = now();
            need(soa_journal_write_checkpoint(j, 0.001 * (double)k, blob, sizeof blob), &report);
            in_checkpoints += now() - before;
        }
    }
    soa_journal_state state;
    soa_journal_get_state(j, &state);
    need(soa_journal_close(j, &report), &report);
    const double all = now() - start;
    printf("written: %ld samples, %d signals, %.2f GB (values alone %.2f) in %.1f s, of which %.1f "
           "s in %lld checkpoints; "
           "%.2f us a sample besides\n",
           samples, signals, 1e-9 * (double)state.bytes, 8e-9 * (double)samples * (signals + 1),
           all, in_checkpoints, (long long)state.checkpoints,
           1e6 * (all - in_checkpoints) / (double)samples);
    look(argv[1], "complete");
    if (truncate(argv[1], (off_t)state.bytes - 12345)) return 2;
    look(argv[1], "torn");
    start = now();
    double t;
    void *state_of_old;
    size_t size;
    need(soa_journal_reopen(argv[1], &j, &t, &state_of_old, &size, NULL, NULL, &report), &report);
    printf("reopened at t = %.3f s: %.1f ms\n", t, 1e3 * (now() - start));
    free(state_of_old);
    need(soa_journal_abandon(j, &report), &report);
    unlink(argv[1]);
    free(table);
    free(names);
    free(values);
    return 0;
}
