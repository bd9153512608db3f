/* test_journal.c  the journal: what is written is read back; files that are cut, damaged, killed,
 * full or still growing.
 *
 * Everything is compared with a list kept in memory: samples bit by bit, overviews with a search of
 * all samples, resumed files byte by byte with an uninterrupted one. */
#define _DEFAULT_SOURCE
#include "base/new_file.h"
#include "check.h"
#include "../fuzz/fuzz_journal.c"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- an allocator that fails when asked to ---------------------------------------------------- */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#if defined(__GLIBC__) && !defined(SANITIZED)
#define CAN_FAIL 1
static volatile long until_failure = -1, live, calls;
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
static int refused(void) {
    ++calls;
    if (until_failure < 0 || until_failure-- > 0) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t size) {
    void *p = refused() ? NULL : __libc_malloc(size);
    live += p != NULL;
    return p;
}
void *calloc(size_t count, size_t size) {
    void *p = refused() ? NULL : __libc_calloc(count, size);
    live += p != NULL;
    return p;
}
void *realloc(void *old, size_t size) {
    void *p = refused() ? NULL : __libc_realloc(old, size);
    live += p != NULL && old == NULL;
    return p;
}
void free(void *p) {
    live -= p != NULL;
    __libc_free(p);
}
#else
#define CAN_FAIL 0
#endif

/* --- files ------------------------------------------------------------------------------------ */
static char folder[64], paths[4][128];
static int make_folder(void **state) {
    (void)state;
    strcpy(folder,
           access("/dev/shm", W_OK) ? "/tmp/soa_journal_XXXXXX" : "/dev/shm/soa_journal_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    for (int i = 0; i < 4; ++i)
        snprintf(paths[i], sizeof paths[i], "%s/%c.soalog", folder, "abcd"[i]);
    return 0;
}
static int remove_folder(void **state) {
    (void)state;
    for (int i = 0; i < 4; ++i) {
        char name[600];
        glob_t left = {0};
        unlink(paths[i]);
        /* of writers that were killed as they began */
        snprintf(name, sizeof name, "%s.??????", paths[i]);
        if (!glob(name, 0, NULL, &left))
            for (size_t k = 0; k < left.gl_pathc; ++k)
                unlink(left.gl_pathv[k]);
        globfree(&left);
    }
    return rmdir(folder); /* fails if anything else was left */
}
typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;
static bytes load(const char *path) {
    bytes b = {NULL, 0};
    struct stat about;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &about), 0);
    b.size = (size_t)about.st_size;
    b.data = malloc(b.size + 1);
    assert_int_equal(fread(b.data, 1, b.size, f), b.size);
    fclose(f);
    return b;
}
static void store(const char *path, const uint8_t *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}
static soa_report said;
#define FINE(call)                                                                                 \
    do {                                                                                           \
        const soa_status status_ = (call);                                                         \
        if (status_ != SOA_OK) fail_msg("%s: %s: %s", #call, soa_status_text(status_), said.text); \
    } while (0)

/* --- a run: every step follows from its number ------------------------------------------------ */
enum { MOST_SIGNALS = 7 };
typedef struct run {
    int signals;
    long steps, events_every, checkpoints_every; /* 0: none */
    size_t blob;
    int odd; /* NaN, infinities, equal times */
} run;
static const char scenario[] = "name: test\nwhat: \xc3\xa4 text with a \0 in it\n";
static const soa_signal names[MOST_SIGNALS] = {
    {"arm.q1", "rad"},  {"arm.v1", "rad/s"}, {"energy", "J"},           {"a.b.c", NULL},
    {"x,y", "m \"s\""}, {"arm", ""},         {"\xce\xb1/\xce\xb2", "1"}};
static double random_of(long k, int i) {
    dice d = {(uint64_t)k * 1000003u + (uint64_t)i * 7919u + 12345u};
    return roll(&d, -1, 1);
}
static double time_of(const run *r, long k) {
    return 0.001 * (double)(r->odd ? k / 3 * 2 : k) +
           (r->odd ? 0.0005 * sin(0.001 * (double)(k / 3)) : 0);
}
static double value_of(const run *r, long k, int i) {
    const double x = random_of(k, i) * exp(4 * sin(0.001 * (double)k + i));
    if (!r->odd) return x;
    if ((k / 200) % 5 == i) return NAN;
    if (k % 711 == 5) return INFINITY;
    if (k % 913 == 7) return -INFINITY;
    if (k % 3 == 0) return -0.0;
    return x;
}
static void blob_of(const run *r, long k, uint8_t *blob) {
    for (size_t i = 0; i < r->blob; ++i)
        blob[i] = (uint8_t)((size_t)k * 31 + i * 7);
    if (r->blob >= 8) put_u64(blob, (uint64_t)k);
}
static int event_text(long k, char text[100]) {
    return snprintf(text, 100, "step %ld%.*s", k, (int)(k % 9), " \t\n,\"abcd");
}
/* One step; SOA_OK or the first refusal. */
static soa_status step(const run *r, soa_journal *j, long k) {
    double values[MOST_SIGNALS];
    char text[100];
    soa_status s = SOA_OK;
    for (int i = 0; i < r->signals; ++i)
        values[i] = value_of(r, k, i);
    if (r->events_every && k % r->events_every == 3) {
        event_text(k, text);
        s = soa_journal_write_event(j, time_of(r, k) - 0.0001, k % 2 ? "touch" : "release", text);
    }
    if (s == SOA_OK) s = soa_journal_write_sample(j, time_of(r, k), values);
    if (s == SOA_OK && r->checkpoints_every && (k + 1) % r->checkpoints_every == 0) {
        uint8_t *blob = malloc(r->blob + 1);
        blob_of(r, k + 1, blob);
        s = soa_journal_write_checkpoint(j, time_of(r, k), blob, r->blob);
        free(blob);
    }
    return s;
}
static soa_journal *create(const run *r, const char *path) {
    soa_journal *j = NULL;
    FINE(soa_journal_create(path, scenario, sizeof scenario - 1, names, r->signals, &j, &said));
    return j;
}
static void write_all(const run *r, const char *path) {
    soa_journal *j = create(r, path);
    for (long k = 0; k < r->steps; ++k)
        assert_int_equal(step(r, j, k), SOA_OK);
    FINE(soa_journal_close(j, &said));
}
static int same(double a, double b) {
    return memcmp(&a, &b, 8) == 0;
}
/* Every sample of the log is that of the run; returns the first that cannot be read (info.samples:
 * none). */
static int64_t check_samples(const run *r, soa_log *log) {
    soa_log_info info;
    double t[100], values[100 * MOST_SIGNALS];
    int64_t done = 0, got = 0;
    soa_log_get_info(log, &info);
    soa_status s = SOA_OK;
    for (; s == SOA_OK && done < info.samples; done += got) {
        s = soa_log_read_samples(log, &(soa_log_range){.first = done, .count = 100}, t, values,
                                 &got, NULL);
        for (int64_t k = 0; k < got; ++k) {
            if (!same(t[k], time_of(r, done + k))) fail_msg("time of sample %ld", (long)(done + k));
            for (int i = 0; i < r->signals; ++i)
                if (!same(values[k * r->signals + i], value_of(r, done + k, i)))
                    fail_msg("sample %ld, signal %d", (long)(done + k), i);
        }
        if (s == SOA_OK) assert_true(got > 0);
    }
    return done;
}
/* Likewise events; returns how many could not be read. */
static int64_t check_events(const run *r, soa_log *log) {
    soa_log_info info;
    int64_t bad = 0;
    soa_log_get_info(log, &info);
    for (int64_t i = 0; i < info.events; ++i) {
        soa_log_event_info event;
        char text[100];
        const long k = 3 + (long)i * r->events_every;
        if (soa_log_read_event(log, i, &event, NULL) != SOA_OK) {
            ++bad;
            continue;
        }
        event_text(k, text);
        assert_true(same(event.t, time_of(r, k) - 0.0001));
        assert_string_equal(event.kind, k % 2 ? "touch" : "release");
        assert_string_equal(event.text, text);
    }
    return bad;
}

/* --- tests ------------------------------------------------------------------------------------ */
static void checksum(void **state) {
    (void)state;
    soai_crc c;
    uint8_t data[300], zero[32] = {0};
    soai_crc_init(&c);
    assert_int_equal(soai_crc_add(&c, 0, "123456789", 9), 0xe3069283); /* RFC 3720 */
    assert_int_equal(soai_crc_add(&c, 0, zero, 32), 0x8a9136aa);
    dice d = {1};
    for (int i = 0; i < 300; ++i)
        data[i] = (uint8_t)roll(&d, 0, 256);
    for (size_t n = 0; n <= 300; ++n) {
        soai_crc table = c;
        table.hardware = 0;
        const uint32_t whole = soai_crc_add(&c, 0, data, n);
        assert_int_equal(whole, soai_crc_add(&table, 0, data, n));
        assert_int_equal(
            whole, soai_crc_add(&c, soai_crc_add(&table, 0, data, n / 3), data + n / 3, n - n / 3));
    }
}

static void round_trip(void **state) {
    (void)state;
    const run runs[] = {
        {5, 20000, 37, 500, 1000, 0}, {7, 2500, 4, 64, 70000, 1}, {1, 64 * 16 * 16 + 5, 0, 0, 0, 0},
        {0, 300, 10, 100, 0, 0},      {3, 0, 0, 0, 0, 0},         {2, 63, 5, 63, 300000, 0}};
    for (size_t c = 0; c < sizeof runs / sizeof *runs; ++c) {
        const run *r = runs + c;
        soa_log *log = NULL;
        soa_log_info info;
        write_all(r, paths[0]);
        write_all(r, paths[1]);
        bytes a = load(paths[0]), b = load(paths[1]);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        FINE(soa_log_open(paths[0], &log, &said));
        soa_log_get_info(log, &info);
        assert_int_equal(info.complete, 1);
        assert_int_equal(info.torn, 0);
        assert_int_equal(info.bytes, a.size);
        assert_int_equal(info.samples, r->steps);
        assert_int_equal(info.events, r->events_every
                                          ? (r->steps + r->events_every - 1 - 3) / r->events_every
                                          : 0);
        assert_int_equal(info.checkpoints,
                         r->checkpoints_every ? r->steps / r->checkpoints_every : 0);
        assert_int_equal(info.scenario_size, sizeof scenario - 1);
        assert_memory_equal(info.scenario, scenario, sizeof scenario);
        assert_string_equal(info.program_version, SOA_VERSION);
        assert_int_equal(info.signal_count, r->signals);
        for (int i = 0; i < r->signals; ++i) {
            assert_string_equal(info.signals[i].name, names[i].name);
            assert_string_equal(info.signals[i].unit, names[i].unit ? names[i].unit : "");
            assert_int_equal(soa_log_find_signal(log, names[i].name), i);
        }
        assert_int_equal(soa_log_find_signal(log, "nothing"), -1);
        assert_int_equal(check_samples(r, log), r->steps);
        assert_int_equal(check_events(r, log), 0);
        if (r->steps) {
            assert_true(same(info.first, time_of(r, 0)) &&
                        same(info.last, time_of(r, r->steps - 1)));
        } else {
            assert_true(isnan(info.first) && isnan(info.last));
        }
        double t;
        void *blob;
        size_t size;
        FINE(soa_log_read_checkpoint(log, &t, &blob, &size, &said));
        if (info.checkpoints) {
            const long k = r->steps / r->checkpoints_every * r->checkpoints_every;
            uint8_t *expected = malloc(r->blob + 1);
            blob_of(r, k, expected);
            assert_int_equal(size, r->blob);
            assert_memory_equal(blob, expected, size);
            assert_true(same(t, time_of(r, k - 1)) && same(info.checkpoint, t));
            free(expected);
        } else {
            assert_null(blob);
            assert_true(isnan(info.checkpoint));
        }
        free(blob);
        /* searching and reading at random */
        dice d = {(uint64_t)first_seed() + c};
        for (int trial = 0; trial < 300 && r->steps; ++trial) {
            const long k = (long)roll(&d, 0, (double)r->steps);
            const double at = time_of(r, k) + (trial % 3 ? 0 : roll(&d, -1, 1) * 1e-3);
            int64_t found, got;
            long low = 0, high = r->steps;
            while (low < high) {
                const long middle = (low + high) / 2;
                if (time_of(r, middle) >= at)
                    high = middle;
                else
                    low = middle + 1;
            }
            FINE(soa_log_find_sample(log, at, &found, &said));
            assert_int_equal(found, low);
            const int signal = r->signals - 1;
            double values[5], times[5];
            FINE(soa_log_read_samples(
                log,
                &(soa_log_range){
                    .first = k, .count = 5, .signals = &signal, .signal_count = r->signals > 0},
                times, values, &got, &said));
            assert_int_equal(got, r->steps - k < 5 ? r->steps - k : 5);
            for (int64_t i = 0; i < got; ++i) {
                assert_true(same(times[i], time_of(r, k + i)));
                if (r->signals) assert_true(same(values[i], value_of(r, k + i, signal)));
            }
        }
        int64_t found;
        FINE(soa_log_find_sample(log, -INFINITY, &found, &said));
        assert_int_equal(found, 0);
        FINE(soa_log_find_sample(log, INFINITY, &found, &said));
        assert_int_equal(found, r->steps);
        soa_log_close(log);
        free(a.data);
        free(b.data);
    }
}

static void compare_overview(const run *r, soa_log *log, long steps, const int *signals, int count,
                             double t0, double t1, int columns) {
    const size_t n = (size_t)(signals ? count : r->signals) * (size_t)columns;
    double *min = malloc((n + 1) * 8), *max = malloc((n + 1) * 8), *low = malloc((n + 1) * 8),
           *high = malloc((n + 1) * 8);
    for (size_t i = 0; i < n; ++i)
        low[i] = high[i] = NAN;
    for (long k = 0; k < steps; ++k) {
        const double t = time_of(r, k);
        if (t < t0 || t > t1) continue;
        int column = t1 > t0 ? (int)((t - t0) * (columns / (t1 - t0))) : 0;
        if (column >= columns) column = columns - 1;
        for (int i = 0; i < (signals ? count : r->signals); ++i) {
            const double x = value_of(r, k, signals ? signals[i] : i);
            const size_t at = (size_t)i * (size_t)columns + (size_t)column;
            if (!isnan(x)) {
                low[at] = fmin(low[at], x);
                high[at] = fmax(high[at], x);
            }
        }
    }
    FINE(soa_log_overview(
        log,
        &(soa_log_window){
            .signals = signals, .signal_count = count, .t0 = t0, .t1 = t1, .columns = columns},
        min, max, &said));
    for (size_t i = 0; i < n; ++i)
        if (!((min[i] == low[i] || (isnan(min[i]) && isnan(low[i]))) &&
              (max[i] == high[i] || (isnan(max[i]) && isnan(high[i])))))
            fail_msg("overview [%g, %g], %d columns, row %zu column %zu: %g %g, expected %g %g", t0,
                     t1, columns, i / (size_t)columns, i % (size_t)columns, min[i], max[i], low[i],
                     high[i]);
    free(min);
    free(max);
    free(low);
    free(high);
}
static void overview(void **state) {
    (void)state;
    for (int odd = 0; odd < 2; ++odd) {
        const run r = {3, 18000, 50, 700, 100, odd};
        soa_journal *j = create(&r, paths[0]);
        soa_log *log = NULL;
        dice d = {(uint64_t)first_seed()};
        printf("  seed %ld\n", first_seed());
        for (long k = 0; k < r.steps; ++k) {
            assert_int_equal(step(&r, j, k), SOA_OK);
            if (k + 1 != 1 && k + 1 != 63 && k + 1 != 64 && k + 1 != 1024 && k + 1 != 5000 &&
                k + 1 != r.steps)
                continue;
            assert_int_equal(soa_journal_flush(j), SOA_OK);
            if (!log)
                FINE(soa_log_open(paths[0], &log, &said));
            else
                FINE(soa_log_refresh(log, NULL, &said));
            const double end = time_of(&r, k);
            const int two[2] = {2, 0};
            compare_overview(&r, log, k + 1, NULL, 0, 0, end, 100);
            compare_overview(&r, log, k + 1, NULL, 0, -1, 2 * end + 1, 1);
            compare_overview(&r, log, k + 1, two, 2, end, end, 3);
            compare_overview(&r, log, k + 1, two, 2, end + 1, end + 2, 3);
            for (int trial = 0; trial < 15; ++trial) {
                const double a = roll(&d, -0.1, end), b = roll(&d, a, 1.1 * end);
                compare_overview(&r, log, k + 1, two, 1 + trial % 2, a, b,
                                 1 + (int)roll(&d, 0, trial % 5 ? 60 : 3000));
            }
        }
        FINE(soa_journal_close(j, &said));
        soa_log_close(log);
    }
}

/* The whole records in the first `size` bytes, found without the library: samples, events,
 * checkpoints, and their end. */
typedef struct tally {
    int64_t samples, events, checkpoints, end, complete;
} tally;
static tally count_records(const uint8_t *data, size_t size) {
    size_t at = (size_t)get_u64(data + 16);
    tally c = {0, 0, 0, (int64_t)at, 0};
    while (at + 16 <= size && at + 16 + padded(get_u32(data + at + 4)) <= size) {
        const uint8_t *p = data + at;
        c.samples += !memcmp(p, "SMPL", 4);
        c.events += !memcmp(p, "EVNT", 4);
        c.checkpoints += !memcmp(p, "CKPT", 4);
        c.complete += !memcmp(p, "END.", 4);
        at += 16 + padded(get_u32(p + 4));
        c.end = (int64_t)at;
    }
    return c;
}
static void expect_tally(soa_log *log, tally c) {
    soa_log_info info;
    soa_log_get_info(log, &info);
    assert_int_equal(info.samples, c.samples);
    assert_int_equal(info.events, c.events);
    assert_int_equal(info.checkpoints, c.checkpoints);
    assert_int_equal(info.bytes, c.end);
    assert_int_equal(info.complete, c.complete);
}
static const run small = {2, 150, 20, 40, 50, 0};
/* Goes on from the last checkpoint to the end of the run. */
static void resume(const run *r, const char *path) {
    soa_journal *j = NULL;
    double t;
    void *blob;
    char *text;
    size_t size, text_size;
    FINE(soa_journal_reopen(path, &j, &t, &blob, &size, &text, &text_size, &said));
    assert_int_equal(text_size, sizeof scenario - 1);
    assert_memory_equal(text, scenario, sizeof scenario);
    long k = 0;
    if (blob) {
        k = (long)get_u64(blob);
        assert_int_equal(size, r->blob);
        assert_true(same(t, time_of(r, k - 1)));
    }
    soa_journal_state now;
    soa_journal_get_state(j, &now);
    assert_int_equal(now.samples, k);
    assert_true(blob ? same(now.safe, t) : isnan(now.safe));
    for (; k < r->steps; ++k)
        assert_int_equal(step(r, j, k), SOA_OK);
    FINE(soa_journal_close(j, &said));
    free(blob);
    free(text);
}
static void expect_same_file(const char *path, bytes whole) {
    bytes b = load(path);
    assert_int_equal(b.size, whole.size);
    assert_memory_equal(b.data, whole.data, whole.size);
    free(b.data);
}
static void truncated(void **state) {
    (void)state;
    write_all(&small, paths[0]);
    bytes whole = load(paths[0]);
    const size_t header = (size_t)get_u64(whole.data + 16);
    soa_log *growing = NULL;
    for (size_t size = 0; size <= whole.size; ++size) {
        soa_log *log = NULL;
        uint8_t *exact = malloc(size ? size : 1); /* its end is watched by sanitizers */
        memcpy(exact, whole.data, size);
        const soa_status s = soai_log_open(-1, exact, size, "cut", &log, NULL);
        if (size < header) {
            assert_true(s == SOA_E_FORMAT || s == SOA_E_CHECKSUM);
            assert_null(log);
        } else {
            const tally c = count_records(whole.data, size);
            assert_int_equal(s, SOA_OK);
            expect_tally(log, c);
            assert_int_equal(check_samples(&small, log), c.samples);
            assert_int_equal(check_events(&small, log), 0);
            if (size % 7 == 0) compare_overview(&small, log, (long)c.samples, NULL, 0, 0, 0.2, 17);
            soa_log_close(log);
            /* the same file growing byte by byte under a follower */
            bool news;
            if (!growing) {
                store(paths[1], whole.data, size);
                FINE(soa_log_open(paths[1], &growing, &said));
            } else {
                const tally before = count_records(whole.data, size - 1);
                FILE *f = fopen(paths[1], "ab");
                fwrite(whole.data + size - 1, 1, 1, f);
                fclose(f);
                FINE(soa_log_refresh(growing, &news, &said));
                assert_int_equal(news, c.end != before.end);
            }
            expect_tally(growing, c);
            /* and cut here, it goes on to the same bytes */
            if (size % 5 == 0 || size + 100 > whole.size) {
                store(paths[2], whole.data, size);
                resume(&small, paths[2]);
                expect_same_file(paths[2], whole);
            }
        }
        free(exact);
    }
    assert_int_equal(check_samples(&small, growing), small.steps);
    /* cut back under the follower */
    assert_int_equal(truncate(paths[1], (off_t)(whole.size * 2 / 3)), 0);
    FINE(soa_log_refresh(growing, NULL, &said));
    expect_tally(growing, count_records(whole.data, whole.size * 2 / 3));
    soa_log_close(growing);
    /* garbage and zeros behind */
    for (int kind = 0; kind < 2; ++kind) {
        const size_t keep = whole.size * 3 / 4, more = 100000;
        uint8_t *longer = calloc(1, keep + more);
        soa_log *log = NULL;
        soa_log_info info;
        memcpy(longer, whole.data, keep);
        for (size_t i = 0; kind && i < more; ++i)
            longer[keep + i] = (uint8_t)(random_of((long)i, 0) * 128);
        FINE(soai_log_open(-1, longer, keep + more, "longer", &log, &said));
        expect_tally(log, count_records(whole.data, keep));
        soa_log_get_info(log, &info);
        assert_int_equal(info.torn, (int64_t)(keep + more) - info.bytes);
        soa_log_close(log);
        free(longer);
    }
    free(whole.data);
}

/* One byte changed anywhere: what is still given out is right, and if nothing complains everything
 * is there. */
static void flipped(void **state) {
    (void)state;
    write_all(&small, paths[0]);
    bytes whole = load(paths[0]);
    const tally all = count_records(whole.data, whole.size);
    long refused_files = 0, shorter = 0, noticed = 0;
    for (size_t at = 0; at < whole.size; ++at) {
        const uint8_t was = whole.data[at];
        soa_log *log = NULL;
        whole.data[at] ^= (uint8_t)(1u << at % 8);
        const soa_status s = soai_log_open(-1, whole.data, whole.size, "flipped", &log, NULL);
        if (s != SOA_OK) {
            ++refused_files;
            assert_true(at < (size_t)get_u64(whole.data + 16) || at < 64);
        } else {
            soa_log_info info;
            soa_log_get_info(log, &info);
            int complaints = info.samples < all.samples || !info.complete;
            shorter += complaints;
            assert_true(info.samples <= all.samples && info.events <= all.events);
            complaints += check_samples(&small, log) < info.samples;
            complaints += check_events(&small, log) > 0;
            double min[2 * 9], max[2 * 9], t;
            if (soa_log_overview(log, &(soa_log_window){.t1 = 0.2, .columns = 9}, min, max, NULL) !=
                SOA_OK)
                ++complaints;
            else
                compare_overview(&small, log, (long)info.samples, NULL, 0, 0, 0.2, 9);
            if (soa_log_overview(log, &(soa_log_window){.t1 = 1, .columns = 1}, min, max, NULL) !=
                SOA_OK)
                ++complaints;
            else
                compare_overview(&small, log, (long)info.samples, NULL, 0, 0, 1, 1);
            void *blob = NULL;
            size_t size = 0;
            if (soa_log_read_checkpoint(log, &t, &blob, &size, NULL) != SOA_OK) {
                ++complaints;
            } else if (blob) {
                uint8_t expected[50];
                blob_of(&small, (long)get_u64(blob), expected);
                assert_int_equal(size, sizeof expected);
                assert_memory_equal(blob, expected, size);
                assert_true(same(t, time_of(&small, (long)get_u64(blob) - 1)));
            }
            free(blob);
            noticed += complaints > 0;
            /* an older checkpoint, or a link that nobody needed: all that can be asked for is
             * right */
            if (!complaints) {
                size_t record = (size_t)get_u64(whole.data + 16), length = 0;
                for (; record + (length = 16 + padded(get_u32(whole.data + record + 4))) <= at;
                     record += length) {
                }
                if (memcmp(whole.data + record, "CKPT", 4))
                    fail_msg("byte %zu changed, in a record %.4s, and nothing noticed", at,
                             (char *)whole.data + record);
            }
            soa_log_close(log);
        }
        if (at % 11 == 0) { /* a writer that goes on makes it whole again, from a good checkpoint */
            store(paths[2], whole.data, whole.size);
            soa_journal *j = NULL;
            double t;
            void *blob;
            size_t size;
            if (soa_journal_reopen(paths[2], &j, &t, &blob, &size, NULL, NULL, NULL) == SOA_OK) {
                long k = blob ? (long)get_u64(blob) : 0;
                for (; k < small.steps; ++k)
                    assert_int_equal(step(&small, j, k), SOA_OK);
                FINE(soa_journal_close(j, &said));
                whole.data[at] = was;
                /* equal but for damage before the two last checkpoints, which is kept */
                bytes b = load(paths[2]);
                assert_int_equal(b.size, whole.size);
                size_t differ = 0;
                for (size_t i = 0; i < b.size; ++i)
                    differ += b.data[i] != whole.data[i];
                assert_true(differ <= 1 && (differ == 0 || b.data[at] != was));
                free(b.data);
                free(blob);
            } else {
                assert_true(at < (size_t)get_u64(whole.data + 16) || at < 64);
            }
        }
        whole.data[at] = was;
    }
    printf(
        "  %zu bytes changed, one at a time: %ld files refused, %ld shorter, %ld noticed in all\n",
        whole.size, refused_files, shorter, refused_files + noticed);
    free(whole.data);
}

/* Numbers changed at random and all checksums made right again: nothing crashes
 * (tests/fuzz/fuzz_journal.c). */
static void mangled(void **state) {
    (void)state;
    const run two_levels = {1, 1100, 100, 300, 10, 0};
    dice d = {(uint64_t)first_seed() + 5};
    const int trials = getenv("SOA_TRIALS") ? atoi(getenv("SOA_TRIALS")) : 1500;
    printf("  seed %ld\n", first_seed());
    for (int file = 0; file < 2; ++file) {
        write_all(file ? &two_levels : &small, paths[0]);
        bytes whole = load(paths[0]);
        for (int trial = 0; trial < trials >> 2 * file; ++trial) {
            const size_t size =
                trial % 4 ? whole.size : (size_t)roll(&d, 0, (double)whole.size + 0.99);
            uint8_t *copy = malloc(size + 1);
            memcpy(copy, whole.data, size);
            for (int change = (int)roll(&d, 0, 4); change >= 0 && size >= 8; --change) {
                static const uint64_t odd[] = {
                    0, 1, 8, 63, 64, 0x7fffffff, 0xffffffff, UINT64_MAX, 0x7ff0000000000000};
                size_t at = (size_t)roll(&d, 0, (double)size - 7.01);
                if (trial % 2) at &= ~(size_t)7;
                const uint64_t old = get_u64(copy + at);
                const double which = roll(&d, 0, 4);
                if (which < 1)
                    copy[at] = (uint8_t)roll(&d, 0, 256);
                else if (which < 2)
                    put_u64(copy + at, odd[(int)roll(&d, 0, 8.99)]);
                else if (which < 3)
                    put_u64(copy + at, old + (uint64_t)(int64_t)roll(&d, -70, 70));
                else
                    put_u64(copy + at, get_u64(copy + (size_t)roll(&d, 0, (double)size - 7.01)));
            }
            LLVMFuzzerTestOneInput(copy, size);
            free(copy);
        }
        free(whole.data);
    }
}

static void killed(void **state) {
    (void)state;
    const run r = {3, 30000, 50, 250, 500, 0};
    write_all(&r, paths[0]);
    bytes whole = load(paths[0]);
    dice d = {(uint64_t)first_seed() + 77};
    long kills = 0, finished = 0, resumed = 0;
    const long wanted = getenv("SOA_KILLS") ? atol(getenv("SOA_KILLS")) : 100;
    unlink(paths[1]);
    fflush(stdout);
    while (kills < wanted || !finished) {
        const int fresh = access(paths[1], F_OK) != 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            soa_journal *j = NULL;
            double t;
            void *blob = NULL;
            size_t size;
            long k = 0;
            if (fresh) {
                if (soa_journal_create(paths[1], scenario, sizeof scenario - 1, names, r.signals,
                                       &j, NULL))
                    _exit(2);
            } else {
                if (soa_journal_reopen(paths[1], &j, &t, &blob, &size, NULL, NULL, NULL)) _exit(3);
                if (blob) k = (long)get_u64(blob);
            }
            for (; k < r.steps; ++k) {
                if (step(&r, j, k) != SOA_OK) _exit(4);
                if (k % 3 == 0 && soa_journal_flush(j) != SOA_OK) _exit(5);
            }
            _exit(soa_journal_close(j, NULL) == SOA_OK ? 0 : 6);
        }
        int status;
        double wait;
        if (kills < wanted) {
            wait = roll(&d, 0, roll(&d, 0, 1) < 0.5 ? 2e-3 : 20e-3);
        } else {
            wait = 60;
        }
        if (wait < 1) {
            nanosleep(&(struct timespec){0, (long)(wait * 1e9)}, NULL);
            kill(child, SIGKILL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            expect_same_file(paths[1], whole);
            unlink(paths[1]);
            ++finished;
            continue;
        }
        assert_int_equal(WTERMSIG(status), SIGKILL);
        ++kills;
        resumed += !fresh;
        soa_log *log = NULL; /* whatever was left reads well */
        soa_report report;
        const soa_status s = soa_log_open(paths[1], &log, &report);
        if (s == SOA_OK) {
            soa_log_info info;
            soa_log_get_info(log, &info);
            if (kills % 10 == 0) assert_int_equal(check_samples(&r, log), info.samples);
            soa_log_close(log);
        } else { /* killed before there was a file */
            assert_int_equal(s, SOA_E_FILE);
            assert_true(access(paths[1], F_OK) != 0);
        }
    }
    printf("  seed %ld: %ld kills, %ld of them of a run that had gone on, %ld runs ended, all with "
           "the same %zu bytes\n",
           first_seed(), kills, resumed, finished, whole.size);
    free(whole.data);
}

static void full_disk(void **state) {
    (void)state;
    const run r = {3, 4000, 50, 300, 2000, 0};
    soa_journal *j = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    write_all(&r, paths[0]);
    bytes whole = load(paths[0]);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    dice d = {(uint64_t)first_seed()};
    for (int trial = 0; trial < 40; ++trial) {
        const size_t most = (size_t)roll(&d, 0, (double)whole.size);
        const struct rlimit limit = {most, before.rlim_max};
        unlink(paths[1]);
        setrlimit(RLIMIT_FSIZE, &limit);
        soa_status s = soa_journal_create(paths[1], scenario, sizeof scenario - 1, names, r.signals,
                                          &j, &report);
        if (s != SOA_OK) {
            setrlimit(RLIMIT_FSIZE, &before);
            assert_int_equal(s, SOA_E_FILE);
            assert_non_null(strstr(report.text, strerror(EFBIG)));
            assert_true(access(paths[1], F_OK) != 0);
            continue;
        }
        long k = 0;
        for (; k < r.steps && s == SOA_OK; ++k)
            s = step(&r, j, k);
        soa_journal_state now;
        if (s == SOA_OK)
            s = soa_journal_close(j, &report);
        else {
            soa_journal_get_state(j, &now);
            assert_int_equal(now.status, SOA_E_FILE);
            assert_int_equal(step(&r, j, k), SOA_E_FILE); /* and nothing more */
            assert_int_equal(soa_journal_flush(j), SOA_E_FILE);
            const long safe = isnan(now.safe) ? 0 : (long)(now.safe * 1000 + 1.5);
            assert_true(safe % r.checkpoints_every == 0 && safe < k);
            s = soa_journal_close(j, &report);
            assert_string_equal(report.text, now.text);
            assert_non_null(strstr(now.text, strerror(EFBIG)));
            assert_non_null(
                strstr(now.text, safe ? "safe up to the checkpoint at t = " : "no checkpoint"));
        }
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(s, SOA_E_FILE);
        bytes b = load(paths[1]);
        assert_memory_equal(b.data, whole.data, b.size);
        soa_log *log = NULL;
        FINE(soa_log_open(paths[1], &log, &said));
        const tally c = count_records(b.data, b.size);
        expect_tally(log, c);
        assert_int_equal(check_samples(&r, log), c.samples);
        soa_log_close(log);
        free(b.data);
        resume(&r, paths[1]);
        expect_same_file(paths[1], whole);
    }
    signal(SIGXFSZ, handler);
    printf("  the last one said: %s\n", report.text);
    free(whole.data);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(soa_journal_create("/dev/full", NULL, 0, names, 2, &j, &report),
                         SOA_E_FILE);
        assert_non_null(strstr(report.text, strerror(ENOSPC)));
        struct stat about;
        assert_true(stat("/dev/full", &about) == 0 && S_ISCHR(about.st_mode));
    }
}

static void followed(void **state) {
    (void)state;
    const run r = {3, 3000, 7, 100, 3000, 0};
    /* a byte for every 300 samples seen: the writer waits for it, so the reader sees it grow */
    int seen_so_far[2];
    assert_int_equal(pipe(seen_so_far), 0);
    unlink(paths[1]);
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        soa_journal *j = NULL;
        char byte;
        close(seen_so_far[1]);
        if (soa_journal_create(paths[1], scenario, sizeof scenario - 1, names, r.signals, &j, NULL))
            _exit(2);
        for (long k = 0; k < r.steps; ++k) {
            if (step(&r, j, k) != SOA_OK) _exit(4);
            if (k % 10 == 0 && soa_journal_flush(j) != SOA_OK) _exit(5);
            if (k % 300 == 299 && k < r.steps - 1 && read(seen_so_far[0], &byte, 1) != 1) _exit(7);
        }
        _exit(soa_journal_close(j, NULL) == SOA_OK ? 0 : 6);
    }
    soa_log *log = NULL;
    for (int tries = 0; tries < 10000 && soa_log_open(paths[1], &log, NULL) != SOA_OK; ++tries)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_non_null(log);
    int64_t seen = 0, looks = 0, changes = 0, told = 0;
    soa_log_info info;
    for (;; ++looks) {
        bool news;
        int status;
        const int gone = waitpid(child, &status, WNOHANG) == child;
        FINE(soa_log_refresh(log, &news, &said));
        soa_log_get_info(log, &info);
        changes += news;
        while (seen < info.samples) { /* only what is new */
            double t[64], values[64 * 3];
            int64_t got;
            FINE(soa_log_read_samples(log, &(soa_log_range){.first = seen, .count = 64}, t, values,
                                      &got, &said));
            assert_true(got > 0);
            for (int64_t k = 0; k < got; ++k, ++seen) {
                assert_true(same(t[k], time_of(&r, seen)));
                for (int i = 0; i < 3; ++i)
                    assert_true(same(values[3 * k + i], value_of(&r, seen, i)));
            }
        }
        /* the last flush of 300 is after their 291st */
        for (; 300 * (told + 1) <= seen + 9; ++told)
            assert_int_equal(write(seen_so_far[1], "", 1), 1);
        if (info.events && looks % 10 == 0) assert_int_equal(check_events(&r, log), 0);
        if (gone) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            break;
        }
        assert_true(looks < 1000000);
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    close(seen_so_far[0]);
    close(seen_so_far[1]); /* both were open till now: a byte too many harms nobody */
    assert_int_equal(info.complete, 1);
    assert_int_equal(seen, r.steps);
    assert_true(changes >= 8); /* nine waits, the first perhaps over when the log was opened */
    bool news;
    FINE(soa_log_refresh(log, &news, &said));
    assert_int_equal(news, 0);
    /* resumed after its end: the follower sees the end go */
    soa_journal *j = NULL;
    double t;
    void *blob;
    size_t size;
    FINE(soa_journal_reopen(paths[1], &j, &t, &blob, &size, NULL, NULL, &said));
    free(blob);
    FINE(soa_log_refresh(log, &news, &said));
    soa_log_get_info(log, &info);
    assert_true(news && !info.complete);
    FINE(soa_journal_abandon(j, &said));
    soa_log_close(log);
    printf("  %ld looks, %ld with news\n", (long)looks, (long)changes);
}

/* n letters x; to be freed. */
static char *letters(size_t n) {
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = 0;
    return text;
}
/* Longer than a name may be; the longest text. */
enum { TOO_LONG_NAME = 399, LONGEST_TEXT = 65535 };

static void creation_refused(void **state) {
    (void)state;
    soa_journal *j = NULL;
    soa_report report;
    char *long_name = letters(TOO_LONG_NAME);
    const soa_signal bad[][2] = {{{"a", ""}, {"a", ""}},     {{"a", ""}, {"", ""}},
                                 {{"a", ""}, {NULL, ""}},    {{"a", ""}, {"b\n", ""}},
                                 {{"a", ""}, {"b", "\x7f"}}, {{"a", ""}, {long_name, ""}}};
    unlink(paths[0]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        assert_int_equal(soa_journal_create(paths[0], NULL, 0, bad[i], 2, &j, &report), SOA_E_NAME);
    assert_int_equal(soa_journal_create(NULL, NULL, 0, names, 2, &j, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_create(paths[0], NULL, 5, names, 2, &j, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_create(paths[0], NULL, 0, names, -1, &j, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_create("/nonexistent/x", NULL, 0, names, 2, &j, &report),
                     SOA_E_FILE);
    assert_int_equal(soa_journal_create(folder, NULL, 0, names, 2, &j, &report), SOA_E_FILE);
    assert_true(access(paths[0], F_OK) != 0);
    free(long_name);
}

static void second_writer_refused(void **state) {
    (void)state;
    soa_journal *j = NULL, *other = NULL;
    soa_report report;
    double t;
    void *blob;
    size_t size;
    FINE(soa_journal_create(paths[0], "s", 1, names, 3, &j, &said));
    assert_int_equal(soa_journal_create(paths[0], "s", 1, names, 3, &other, &report), SOA_E_FILE);
    assert_int_equal(soa_journal_reopen(paths[0], &other, &t, &blob, &size, NULL, NULL, &report),
                     SOA_E_FILE);
    assert_non_null(strstr(report.text, "another"));
    FINE(soa_journal_close(j, &said));
    assert_int_equal(soa_journal_close(NULL, NULL), SOA_OK);
}

static void events_refused(soa_journal *j) {
    char *long_name = letters(TOO_LONG_NAME), *long_text = letters(LONGEST_TEXT + 1);
    assert_int_equal(soa_journal_write_event(j, 1, "", "text"), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_event(j, 1, NULL, "text"), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_event(j, 1, "a\n", "text"), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_event(j, 1, long_name, "text"), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_event(j, 1, "kind", "\x01"), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_event(j, 1, "kind", long_text), SOA_E_ARGUMENT);
    long_text[LONGEST_TEXT] = 0;
    assert_int_equal(soa_journal_write_event(j, 1, "kind", long_text), SOA_OK);
    assert_int_equal(soa_journal_write_event(j, INFINITY, "kind", "text"), SOA_E_NOT_FINITE);
    free(long_name);
    free(long_text);
}
/* Leaves in paths[0] what was accepted: two samples, the longest event and an empty checkpoint. */
static void accept_and_refuse(void) {
    soa_journal *j = NULL;
    const double values[3] = {1, 2, 3};
    double t;
    void *blob;
    size_t size;
    FINE(soa_journal_create(paths[0], "s", 1, names, 3, &j, &said));
    assert_int_equal(soa_journal_write_sample(j, NAN, values), SOA_E_NOT_FINITE);
    assert_int_equal(soa_journal_write_sample(j, 1, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_sample(j, 1, values), SOA_OK);
    assert_int_equal(soa_journal_write_sample(j, 0.5, values), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_sample(j, 1, values), SOA_OK);
    events_refused(j);
    assert_int_equal(soa_journal_write_checkpoint(j, 1, NULL, 5), SOA_E_ARGUMENT);
    assert_int_equal(soa_journal_write_checkpoint(j, NAN, "", 0), SOA_E_NOT_FINITE);
    assert_int_equal(soa_journal_write_checkpoint(j, 1, NULL, 0), SOA_OK);
    FINE(soa_journal_abandon(j, &said));
    FINE(soa_journal_reopen(paths[0], &j, &t, &blob, &size, NULL, NULL, &said));
    assert_true(blob && size == 0 && t == 1); /* an empty checkpoint is one */
    free(blob);
    FINE(soa_journal_close(j, &said));
}
static void writing_refused(void **state) {
    (void)state;
    accept_and_refuse();
}

static void opening_refused(void **state) {
    (void)state;
    enum { NO_JOURNAL = 5000 };
    soa_journal *j = NULL;
    soa_log *log = NULL;
    soa_report report;
    double t;
    void *blob;
    size_t size;
    char *text = letters(NO_JOURNAL);
    assert_int_equal(soa_log_open("/nonexistent/x", &log, &report), SOA_E_FILE);
    assert_int_equal(soa_log_open(folder, &log, &report), SOA_E_FILE);
    assert_int_equal(soa_log_open("/dev/null", &log, &report), SOA_E_FILE);
    store(paths[1], (const uint8_t *)text, NO_JOURNAL);
    assert_int_equal(soa_log_open(paths[1], &log, &report), SOA_E_FORMAT);
    assert_int_equal(soa_journal_reopen(paths[1], &j, &t, &blob, &size, NULL, NULL, &report),
                     SOA_E_FORMAT);
    bytes b = load(paths[1]);
    assert_int_equal(b.size, NO_JOURNAL);
    free(b.data);
    free(text);
    soa_log_close(NULL);
}

static void events_read(soa_log *log) {
    soa_report report;
    soa_log_event_info event;
    char *longest = letters(LONGEST_TEXT);
    FINE(soa_log_read_event(log, 0, &event, &said));
    assert_string_equal(event.text, longest);
    assert_int_equal(soa_log_read_event(log, 1, &event, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_log_read_event(log, -1, &event, &report), SOA_E_ARGUMENT);
    free(longest);
}
static void samples_read(soa_log *log, const int *no_signal) {
    soa_report report;
    double t, values[3];
    int64_t got;
    const soa_log_range signal = {.count = 1, .signals = no_signal, .signal_count = 1},
                        before = {.first = -1, .count = 1}, after = {.first = 2, .count = 1};
    assert_int_equal(soa_log_read_samples(log, &signal, &t, values, &got, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_log_read_samples(log, &before, &t, values, &got, &report), SOA_E_ARGUMENT);
    FINE(soa_log_read_samples(log, &after, &t, values, &got, &said));
    assert_int_equal(got, 0);
}
static void overview_refused(soa_log *log, soa_log_window window) {
    soa_report report;
    double min[3], max[3];
    assert_int_equal(soa_log_overview(log, &window, min, max, &report), SOA_E_ARGUMENT);
}
static void reading_refused(void **state) {
    (void)state;
    accept_and_refuse();
    soa_log *log = NULL;
    const int no_signal = 3;
    FINE(soa_log_open(paths[0], &log, &said));
    events_read(log);
    samples_read(log, &no_signal);
    overview_refused(
        log, (soa_log_window){.signals = &no_signal, .signal_count = 1, .t1 = 1, .columns = 1});
    overview_refused(log, (soa_log_window){.t0 = 1, .columns = 1});
    overview_refused(log, (soa_log_window){.t1 = NAN, .columns = 1});
    overview_refused(log, (soa_log_window){.t1 = 1});
    soa_log_close(log);
}

/* Another version is reported as such. */
static void newer_version_refused(void **state) {
    (void)state;
    accept_and_refuse();
    soa_log *log = NULL;
    soa_report report;
    soai_crc c;
    bytes b = load(paths[0]);
    soai_crc_init(&c);
    put_u32(b.data + 8, 2);
    put_u32(b.data + 60, soai_crc_add(&c, 0, b.data, 60));
    assert_int_equal(soai_log_open(-1, b.data, b.size, "newer", &log, &report), SOA_E_VERSION);
    free(b.data);
}

static void csv_reads_back(void **state) {
    (void)state;
    const run r = {5, 3000, 50, 0, 0, 1};
    soa_log *log = NULL;
    write_all(&r, paths[0]);
    FINE(soa_log_open(paths[0], &log, &said));
    soa_export_options options = soa_export_options_default();
    for (int part = 0; part < 2; ++part) {
        const int picked[2] = {4, 0};
        if (part) {
            options.from = 0.3;
            options.to = time_of(&r, 900);
            options.signals = picked;
            options.signal_count = 2;
        }
        FINE(soa_log_export_csv(log, paths[1], &options, &said));
        FILE *f = fopen(paths[1], "r");
        char line[1000];
        assert_non_null(fgets(line, sizeof line, f));
        assert_string_equal(
            line,
            part ? "t [s],\"x,y [m \"\"s\"\"]\",arm.q1 [rad]\n"
                 : "t [s],arm.q1 [rad],arm.v1 [rad/s],energy [J],a.b.c,\"x,y [m \"\"s\"\"]\"\n");
        for (long k = 0; k < r.steps; ++k) {
            if (!(time_of(&r, k) >= options.from && time_of(&r, k) <= options.to)) continue;
            assert_non_null(fgets(line, sizeof line, f));
            char *p = line;
            assert_true(same(strtod(p, &p), time_of(&r, k)));
            for (int i = 0; i < (part ? 2 : r.signals); ++i) {
                assert_int_equal(*p++, ',');
                const double x = strtod(p, &p), expected = value_of(&r, k, part ? picked[i] : i);
                assert_true(same(x, expected) || (isnan(x) && isnan(expected)));
            }
            assert_int_equal(*p, '\n');
        }
        assert_null(fgets(line, sizeof line, f));
        fclose(f);
    }
    /* what cannot be written leaves the older file */
    bytes before = load(paths[1]);
    struct rlimit limit, small_limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    small_limit = limit;
    small_limit.rlim_cur = 5000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small_limit);
    soa_report report = {SOA_OK, -1, 0, ""};
    const soa_status s = soa_log_export_csv(log, paths[1], NULL, &report);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, handler);
    assert_int_equal(s, SOA_E_FILE);
    assert_non_null(strstr(report.text, strerror(EFBIG)));
    expect_same_file(paths[1], before);
    free(before.data);
    options = soa_export_options_default();
    options.from = NAN;
    assert_int_equal(soa_log_export_csv(log, paths[1], &options, &report), SOA_E_ARGUMENT);
    soa_log_close(log);
}

static void memory(void **state) {
    (void)state;
#if CAN_FAIL
    const run r = {3, 2000, 10, 150, 100, 0};
    double t;
    void *blob;
    size_t size;
    char *text;
    soa_log *log = NULL;
    write_all(&r, paths[0]);
    bytes whole = load(paths[0]);
    for (int what = 0; what < 5; ++what) {
        long n = 0;
        for (;; ++n) {
            soa_journal *j = NULL;
            soa_log_event_info event;
            soa_report report = {SOA_OK, -1, 0, ""};
            soa_status s = SOA_OK;
            if (what >= 3 && !log) FINE(soa_log_open(paths[0], &log, &said));
            const long before = live;
            until_failure = n;
            if (what == 0)
                s = soa_journal_create(paths[1], scenario, sizeof scenario - 1, names, 3, &j,
                                       &report);
            if (what == 1)
                s = soa_journal_reopen(paths[0], &j, &t, &blob, &size, &text, NULL, &report);
            if (what == 2) s = soa_log_open(paths[0], &log, &report);
            if (what == 3) s = soa_log_read_event(log, 5, &event, &report);
            if (what == 4) s = soa_log_export_csv(log, paths[1], NULL, &report);
            const int missed = until_failure < 0;
            until_failure = -1;
            if (s == SOA_OK && !missed) {
                if (what < 2) soa_journal_abandon(j, NULL);
                if (what == 1) {
                    free(blob);
                    free(text);
                }
                if (what == 1) store(paths[0], whole.data, whole.size);
                if (what == 2) {
                    soa_log_close(log);
                    log = NULL;
                }
                break;
            }
            if (s == SOA_OK) fail_msg("case %d: allocation %ld refused and not missed", what, n);
            if (s != SOA_E_MEMORY)
                fail_msg("case %d, allocation %ld: %s: %s", what, n, soa_status_text(s),
                         report.text);
            if (live != before)
                fail_msg("case %d, allocation %ld: %ld leaked", what, n, live - before);
            assert_true(j == NULL && report.text[0]);
            if (what == 1) expect_same_file(paths[0], whole);
            assert_true(n < 1000);
        }
        printf("  case %d: %ld allocations refused\n", what, n);
    }
    soa_log_close(log);
    /* after creation nothing is allocated */
    soa_journal *j = create(&r, paths[1]);
    double values[3] = {1, 2, 3};
    static uint8_t big[500000];
    const long before = calls;
    for (int k = 0; k < 3000; ++k) {
        assert_int_equal(soa_journal_write_sample(j, k, values), SOA_OK);
        if (k % 10 == 0) assert_int_equal(soa_journal_write_event(j, k, "kind", "text"), SOA_OK);
        if (k % 500 == 0)
            assert_int_equal(soa_journal_write_checkpoint(j, k, big, sizeof big), SOA_OK);
    }
    assert_int_equal(soa_journal_flush(j), SOA_OK);
    assert_int_equal(calls, before);
    FINE(soa_journal_close(j, &said));
    free(whole.data);
#else
    printf("  the allocator cannot be replaced here\n");
#endif
}

/* A new journal replaces an older file when something is recorded, and not before; links stay
 * links. */
static void replaced(void **state) {
    (void)state;
    const double values[3] = {1, 2, 3};
    const uint8_t mine[] = "an older file";
    soa_journal *j = NULL, *other = NULL;
    soa_journal_state about;
    soa_report report;
    unlink(paths[0]);
    store(paths[1], mine, sizeof mine);
    assert_int_equal(chmod(paths[1], 0640), 0);
    assert_int_equal(symlink(paths[1], paths[0]), 0);
    for (int samples = 0; samples < 3; ++samples) {
        FINE(soa_journal_create(paths[0], "s", 1, names, 3, &j, &said));
        expect_same_file(paths[1], (bytes){(uint8_t *)(uintptr_t)mine, sizeof mine});
        assert_int_equal(soa_journal_create(paths[1], "s", 1, names, 3, &other, &report),
                         SOA_E_FILE);
        assert_non_null(strstr(report.text, "another process"));
        for (int k = 0; k < samples; ++k)
            assert_int_equal(soa_journal_write_sample(j, k, values), SOA_OK);
        soa_journal_get_state(j, &about);
        assert_int_equal(about.pending, 1);
        FINE(soa_journal_abandon(j, &said));
        if (samples < 2)
            expect_same_file(paths[1], (bytes){(uint8_t *)(uintptr_t)mine, sizeof mine});
    }
    soa_log *log = NULL;
    soa_log_info info;
    struct stat is;
    FINE(soa_log_open(paths[1], &log, &said));
    soa_log_get_info(log, &info);
    assert_int_equal(info.samples, 2);
    soa_log_close(log);
    assert_true(!lstat(paths[0], &is) && S_ISLNK(is.st_mode));
    assert_true(!lstat(paths[1], &is) && S_ISREG(is.st_mode) && (is.st_mode & 07777) == 0640);
    /* a link to nothing: the file appears where it points to */
    unlink(paths[1]);
    FINE(soa_journal_create(paths[0], "s", 1, names, 3, &j, &said));
    soa_journal_get_state(j, &about);
    assert_int_equal(about.pending, 0);
    FINE(soa_journal_close(j, &said));
    assert_true(!lstat(paths[0], &is) && S_ISLNK(is.st_mode));
    assert_true(!lstat(paths[1], &is) && S_ISREG(is.st_mode));
    unlink(paths[0]);
}

/* What others do to the file while it is written is noticed at the next checkpoint, or at the
 * end. */
static void disturbed(void **state) {
    (void)state;
    static const char *const messages[] = {"was removed",         "was moved",
                                           "is another file now", "was cut short",
                                           "was cut short",       "was written by something else"};
    enum { REMOVED, MOVED, REPLACED, EMPTIED, CUT, GROWN, CASES };
    const double values[3] = {1, 2, 3};
    for (int what = 0; what < CASES; ++what)
        for (int resumed = 0; resumed < 2; ++resumed)
            for (int at_end = 0; at_end < 2; ++at_end) {
                soa_journal *j = NULL;
                soa_report report = {SOA_OK, -1, 0, ""};
                double t = 0;
                void *blob = NULL;
                size_t size = 0;
                unlink(paths[1]);
                unlink(paths[2]);
                FINE(soa_journal_create(paths[1], "s", 1, names, 3, &j, &said));
                for (int k = 0; k < 1000; ++k)
                    assert_int_equal(soa_journal_write_sample(j, k, values), SOA_OK);
                assert_int_equal(soa_journal_write_checkpoint(j, 1000, "xy", 2), SOA_OK);
                if (resumed) {
                    FINE(soa_journal_abandon(j, &said));
                    FINE(soa_journal_reopen(paths[1], &j, &t, &blob, &size, NULL, NULL, &said));
                    free(blob);
                }
                if (what == REMOVED) assert_int_equal(unlink(paths[1]), 0);
                if (what == MOVED || what == REPLACED)
                    assert_int_equal(rename(paths[1], paths[2]), 0);
                if (what == REPLACED) store(paths[1], (const uint8_t *)"new", 3);
                if (what == EMPTIED) assert_int_equal(truncate(paths[1], 0), 0);
                if (what == CUT) assert_int_equal(truncate(paths[1], 20000), 0);
                if (what == GROWN) {
                    const int fd = open(paths[1], O_WRONLY | O_APPEND);
                    assert_int_equal(write(fd, "x", 1), 1);
                    close(fd);
                }
                for (int k = 1000; k < 50000; ++k) /* more than the buffer holds */
                    assert_int_equal(soa_journal_write_sample(j, k, values), SOA_OK);
                soa_status s = SOA_OK;
                if (!at_end) s = soa_journal_write_checkpoint(j, 50000, "xy", 2);
                if (!at_end) assert_int_equal(s, SOA_E_FILE);
                s = soa_journal_close(j, &report);
                assert_int_equal(s, SOA_E_FILE);
                if (!strstr(report.text, messages[what]))
                    fail_msg("case %d: %s", what, report.text);
            }
    unlink(paths[2]);
    soa_journal *j = NULL; /* a name that we remove ourselves is none */
    FINE(soa_journal_create(paths[1], "s", 1, names, 3, &j, &said));
    assert_int_equal(soa_journal_unlink(j), SOA_OK);
    assert_true(access(paths[1], F_OK) != 0);
    assert_int_equal(soa_journal_write_checkpoint(j, 0, "xy", 2), SOA_OK);
    FINE(soa_journal_close(j, &said));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(overview),
        cmocka_unit_test(truncated),
        cmocka_unit_test(flipped),
        cmocka_unit_test(mangled),
        cmocka_unit_test(killed),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(followed),
        cmocka_unit_test(creation_refused),
        cmocka_unit_test(second_writer_refused),
        cmocka_unit_test(writing_refused),
        cmocka_unit_test(opening_refused),
        cmocka_unit_test(reading_refused),
        cmocka_unit_test(newer_version_refused),
        cmocka_unit_test(csv_reads_back),
        cmocka_unit_test(memory),
        cmocka_unit_test(replaced),
        cmocka_unit_test(disturbed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
