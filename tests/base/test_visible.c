/* test_visible.c  text for terminals: every character against an independent list of the harmful
 * ones, broken bytes, and the formats of out_print against those of printf. */
#include "base/visible.h"
#include "check.h"
#include "out.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* UTF-8 as RFC 3629 defines it. */
static size_t encode(uint32_t c, char *s) {
    if (c < 0x80) {
        s[0] = (char)c;
        return 1;
    }
    size_t n = 2;
    if (c >= 0x800) n = 3;
    if (c >= 0x10000) n = 4;
    static const unsigned lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; --i) {
        s[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    s[0] = (char)(lead[n] | c);
    return n;
}
static void every_character(void **state) {
    (void)state;
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    long escaped_count = 0, shown = 0;
    for (uint32_t c = 0; c <= 0x10ffff; ++c) {
        char text[5] = "", escaped[SOAI_VISIBLE_ROOM];
        int harmful = 0;
        if (c >= 0xd800 && c <= 0xdfff) continue;
        const size_t n = encode(c, text);
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i)
            harmful = harmful || (c >= ranges[i][0] && c <= ranges[i][1]);
        assert_int_equal(soai_visible(text, n, escaped), n);
        assert_int_equal(escaped[0] != 0, harmful);
        for (const char *e = escaped; *e; ++e)
            assert_true(*e > ' ' && *e < 0x7f);
        if (harmful && c >= 0x80) assert_int_equal(strtoul(escaped + 2, NULL, 16), c);
        if (harmful && c < 0x80 && c != '\n' && c != '\t')
            assert_int_equal(strtoul(escaped + 2, NULL, 16), c);
        ++(*(harmful ? &escaped_count : &shown));
        for (size_t cut = 1; cut < n; ++cut) { /* cut off: its bytes one by one */
            assert_int_equal(soai_visible(text, cut, escaped), 1);
            assert_int_equal(strtoul(escaped + 2, NULL, 16), (unsigned char)text[0]);
        }
    }
    printf("  %ld characters shown, %ld escaped\n", shown, escaped_count);
}
static void broken_bytes(void **state) {
    (void)state;
    static const char *const broken[] = {
        "\x80",         "\x9b[2J",          "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80",
        "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe",
        "\xff"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; ++i) {
        char escaped[SOAI_VISIBLE_ROOM], want[SOAI_VISIBLE_ROOM];
        assert_int_equal(soai_visible(broken[i], strlen(broken[i]), escaped), 1);
        snprintf(want, sizeof want, "\\x%02x", (unsigned char)broken[i][0]);
        assert_string_equal(escaped, want);
    }
}

#define AGAINST_PRINTF(...)                       \
    do {                                          \
        char want[1000];                          \
        app_out got;                              \
        snprintf(want, sizeof want, __VA_ARGS__); \
        out_start(&got, -1);                      \
        out_print(&got, __VA_ARGS__);             \
        out_char(&got, 0);                        \
        assert_int_equal(got.error, 0);           \
        assert_string_equal(got.data, want);      \
        out_free(&got);                           \
    } while (0)
static void formats(void **state) {
    (void)state;
    AGAINST_PRINTF("plain, 100 %%\n");
    AGAINST_PRINTF("[%s] [%10s] [%-10s] [%.3s] [%*s] [%-*s] [%.*s] [%-*.*s]", "ab", "cd", "ef",
                   "ghijk", 7, "lm", 7, "no", 2, "pqrs", 9, 2, "tuvw");
    AGAINST_PRINTF("%d %5d %-5d| %05d %+d %i %u %x %X %o %#x %c%c", -7, 8, 9, 10, 11, INT_MIN,
                   UINT_MAX, 255u, 255u, 8u, 16u, 'a', 'b');
    AGAINST_PRINTF("%ld %lu %lld %llu %zu %20lld", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX,
                   (size_t)-1, 5LL);
    AGAINST_PRINTF("%g %.3g %e %.1e %f %8.3f %-12.6g| %+.2f %.17g", 1e-9, 3.14159, 2.5, 1e300, -0.0,
                   1.5, 7.0, 2.0, 0.1);
    app_out got;
    out_start(&got, -1);
    out_print(&got, "\n%s|%8s|%.4s|%.2s\n", "a\nb\033\xff\t", "\x07", "ab\xc3\xa9z", "a\xc3\xa9");
    out_char(&got, 0);
    assert_string_equal(got.data, "\na\\nb\\x1b\\xff\\t|    \\x07|ab\xc3\xa9|a\n");
    out_free(&got);
}
static void strings(void **state) {
    (void)state;
    app_out got;
    out_start(&got, -1);
    out_string(&got, "a\"\\\n\x7f\xc2\x9b\xe2\x80\xae\xff\xc3\xa9");
    out_html(&got, "<&'\"\x1b\xc2\x9b\n\xc3\xa9");
    out_char(&got, 0);
    assert_string_equal(got.data, "\"a\\\"\\\\\\u000a\\u007f\\u009b\\u202e\xef\xbf\xbd\xc3\xa9\""
                                  "&lt;&amp;&#39;&quot;\xef\xbf\xbd\xef\xbf\xbd\n\xc3\xa9");
    out_free(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_character),
                                       cmocka_unit_test(broken_bytes), cmocka_unit_test(formats),
                                       cmocka_unit_test(strings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
