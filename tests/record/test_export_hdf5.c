/* test_export_hdf5.c  journals as HDF5, read back with the HDF5 library: numbers, names, units,
 * events, texts; the same bytes every time; and a failed export keeps the older file. */
#include "check.h"
#include "soa/journal.h"

#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 7, SAMPLES = 9000 };
static const soa_signal names[SIGNALS] = {{"arm.q1", "rad"}, {"arm.v.1", "rad/s"}, {"energy", "J"},
                                          {"arm", "1"},      {"a/b.c/d", "m"},     {"a_b.c_d", ""},
                                          {".x", "N"}};
static const char *const places[SIGNALS] = {"arm/q1",  "arm/v.1",   "energy", "arm_2",
                                            "a_b/c_d", "a_b/c_d_2", ".x"};
static char folder[64], log_path[128], out_path[128];
static soa_log *log_;

static double value_of(long k, int i) {
    return k % 1000 == 77 ? NAN : sin((double)k + 0.1 * i) * exp(0.001 * (double)k);
}
static int make(void **state) {
    (void)state;
    soa_journal *j = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    strcpy(folder, "/tmp/soa_export_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(log_path, sizeof log_path, "%s/run.soalog", folder);
    snprintf(out_path, sizeof out_path, "%s/run.h5", folder);
    if (soa_journal_create(log_path, "name: x\n", 8, names, SIGNALS, &j, &report) != SOA_OK)
        return -1;
    for (long k = 0; k < SAMPLES; ++k) {
        double values[SIGNALS];
        char text[40];
        for (int i = 0; i < SIGNALS; ++i)
            values[i] = value_of(k, i);
        snprintf(text, sizeof text, "at step %ld", k);
        if (k % 10 == 0 &&
            soa_journal_write_event(j, 0.001 * (double)k, k % 20 ? "touch" : "release", text))
            return -1;
        if (soa_journal_write_sample(j, 0.001 * (double)k, values)) return -1;
    }
    if (soa_journal_close(j, &report)) return -1;
    return soa_log_open(log_path, &log_, &report) == SOA_OK ? 0 : -1;
}
static int clear(void **state) {
    (void)state;
    soa_log_close(log_);
    unlink(log_path);
    unlink(out_path);
    return rmdir(folder);
}
static void export(const soa_export_options *options) {
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soa_log_export_hdf5(log_, out_path, options, &report) != SOA_OK)
        fail_msg("%s", report.text);
}
static void text_attribute(hid_t at, const char *name, const char *expected) {
    char *text = NULL;
    const hid_t a = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(a);
    assert_true(a >= 0 && H5Tis_variable_str(type) > 0);
    assert_true(H5Aread(a, type, &text) >= 0);
    assert_string_equal(text, expected);
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(a);
}
static hsize_t read_set(hid_t file, const char *name, double *values, hsize_t most,
                        const char *unit) {
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) fail_msg("there is no %s", name);
    const hid_t space = H5Dget_space(set);
    hsize_t size;
    assert_int_equal(H5Sget_simple_extent_dims(space, &size, NULL), 1);
    assert_true(size <= most);
    if (size)
        assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    text_attribute(set, "unit", unit);
    H5Sclose(space);
    H5Dclose(set);
    return size;
}
typedef struct row {
    double t;
    char *kind, *text;
} row;
static hsize_t read_events(hid_t file, long first) {
    static row rows[SAMPLES];
    const hid_t set = H5Dopen2(file, "events", H5P_DEFAULT), space = H5Dget_space(set);
    const hid_t text = H5Tcopy(H5T_C_S1), type = H5Tcreate(H5T_COMPOUND, sizeof(row));
    hsize_t size = 0;
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    H5Tinsert(type, "t", offsetof(row, t), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "kind", offsetof(row, kind), text);
    H5Tinsert(type, "text", offsetof(row, text), text);
    assert_true(set >= 0 && H5Sget_simple_extent_dims(space, &size, NULL) == 1 && size <= SAMPLES);
    if (size) assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    for (hsize_t i = 0; i < size; ++i) {
        const long k = first + (long)i * 10;
        char expected[40];
        snprintf(expected, sizeof expected, "at step %ld", k);
        assert_true(rows[i].t == 0.001 * (double)k);
        assert_string_equal(rows[i].kind, k % 20 ? "touch" : "release");
        assert_string_equal(rows[i].text, expected);
    }
    if (size) H5Dvlen_reclaim(type, space, H5P_DEFAULT, rows);
    H5Tclose(type);
    H5Tclose(text);
    H5Sclose(space);
    H5Dclose(set);
    return size;
}

static void everything(void **state) {
    (void)state;
    static double values[SAMPLES];
    export(NULL);
    const hid_t file = H5Fopen(out_path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_int_equal(read_set(file, "t", values, SAMPLES, "s"), SAMPLES);
    for (long k = 0; k < SAMPLES; ++k)
        assert_true(values[k] == 0.001 * (double)k);
    for (int i = 0; i < SIGNALS; ++i) {
        char path[100];
        snprintf(path, sizeof path, "/signals/%s", places[i]);
        assert_int_equal(read_set(file, path, values, SAMPLES, names[i].unit), SAMPLES);
        for (long k = 0; k < SAMPLES; ++k) {
            const double expected = value_of(k, i);
            assert_true(values[k] == expected || (isnan(values[k]) && isnan(expected)));
        }
        const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
        text_attribute(set, "name", names[i].name);
        H5Dclose(set);
    }
    assert_int_equal(read_events(file, 0), SAMPLES / 10);
    text_attribute(file, "program_version", SOA_VERSION);
    text_attribute(file, "export_version", SOA_VERSION);
    int number = -1;
    const hid_t a = H5Aopen(file, "complete", H5P_DEFAULT);
    assert_true(a >= 0 && H5Aread(a, H5T_NATIVE_INT, &number) >= 0 && number == 1);
    H5Aclose(a);
    const hid_t set = H5Dopen2(file, "scenario", H5P_DEFAULT), type = H5Dget_type(set);
    char text[9] = "";
    assert_int_equal(H5Tget_size(type), 8);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    assert_string_equal(text, "name: x\n");
    H5Tclose(type);
    H5Dclose(set);
    assert_true(H5Fclose(file) >= 0);
}

static void parts(void **state) {
    (void)state;
    static double values[SAMPLES];
    const int picked[2] = {3, 0};
    soa_export_options options = soa_export_options_default();
    options.signals = picked;
    options.signal_count = 2;
    options.from = 4.0005;
    options.to = 8.5;
    export(&options);
    hid_t file = H5Fopen(out_path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_int_equal(read_set(file, "t", values, SAMPLES, "s"), 4500);
    assert_true(values[0] == 4.001 && values[4499] == 8.5);
    assert_int_equal(read_set(file, "/signals/arm/q1", values, SAMPLES, "rad"), 4500);
    for (long k = 0; k < 4500; ++k)
        assert_true(values[k] == value_of(4001 + k, 0) || isnan(value_of(4001 + k, 0)));
    assert_int_equal(read_events(file, 4010), 450);
    H5Fclose(file);
    options.from = 100;
    options.to = 101;
    options.signals = NULL; /* nothing */
    export(&options);
    file = H5Fopen(out_path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_int_equal(read_set(file, "/signals/arm/q1", values, SAMPLES, "rad"), 0);
    assert_int_equal(read_events(file, 0), 0);
    H5Fclose(file);
}

static long size_and_sum(const char *path, unsigned *sum) {
    FILE *f = fopen(path, "rb");
    long n = 0;
    assert_non_null(f);
    *sum = 0;
    for (int c; (c = getc(f)) != EOF; ++n)
        *sum = *sum * 31 + (unsigned)c;
    fclose(f);
    return n;
}
static void full_disk(void **state) {
    (void)state;
    unsigned before, after, again;
    export(NULL);
    const long size = size_and_sum(out_path, &before);
    nanosleep(&(struct timespec){1, 100000000}, NULL); /* in another second */
    export(NULL);
    assert_int_equal(size_and_sum(out_path, &again), size);
    assert_int_equal(before, again); /* the same journal, the same file */
    printf("  %ld bytes\n", size);
    fflush(stdout);
    /* in a process of its own, so that its ending is seen too: it must not complain or crash */
    for (long limit = 0; limit < size; limit += size / 12) {
        int status, pipes[2];
        assert_int_equal(pipe(pipes), 0);
        const pid_t child = fork();
        if (child == 0) {
            struct rlimit most;
            soa_report report = {SOA_OK, -1, 0, ""};
            dup2(pipes[1], 1);
            dup2(pipes[1], 2);
            signal(SIGXFSZ, SIG_IGN);
            getrlimit(RLIMIT_FSIZE, &most);
            most.rlim_cur = (rlim_t)limit;
            setrlimit(RLIMIT_FSIZE, &most);
            const soa_status s = soa_log_export_hdf5(log_, out_path, NULL, &report);
            most.rlim_cur = most.rlim_max;
            exit(s == SOA_E_FILE && strstr(report.text, "File too large") ? 0 : 10 + (int)s);
        }
        close(pipes[1]);
        char said[500] = "";
        const ssize_t n = read(pipes[0], said, sizeof said - 1);
        close(pipes[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (n != 0 || !WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("limit %ld: status %d, exit %d, said: %s", limit, status, WEXITSTATUS(status),
                     said);
        assert_int_equal(size_and_sum(out_path, &after), size);
        assert_int_equal(before, after);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything),
        cmocka_unit_test(parts),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, make, clear);
}
