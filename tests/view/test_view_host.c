/* test_view_host.c  which Host headers and Origins are the server's own (apps/view/message.c). */
#include "check.h"
#include "message.h"

static void own_hosts(void **unused) {
    (void)unused;
    static const struct {
        const char *given, *own;
        int same;
    } cases[] = {
        {"127.0.0.1:40123", "127.0.0.1:40123", 1},
        {"LocalHost:40123", "localhost:40123", 1},
        {"127.0.0.1", "127.0.0.1:80", 1},
        {"127.0.0.1:80", "127.0.0.1:80", 1},
        {"127.0.0.1:80", "127.0.0.1", 1},
        {"127.0.0.1", "127.0.0.1:40123", 0},
        {"127.0.0.1:80", "127.0.0.1:40123", 0},
        {"127.0.0.1:8080", "127.0.0.1:80", 0},
        {"127.0.0.1", "127.0.0.1:8080", 0},
        {"127.0.0.1:80:80", "127.0.0.1:80", 0},
        {"127.0.0.1:080", "127.0.0.1:80", 0},
        {"", "127.0.0.1:80", 0},
        {":80", "127.0.0.1:80", 0},
        {"127.0.0.1:", "127.0.0.1:80", 0},
        {"evil.example", "127.0.0.1:80", 0},
        {"127.0.0.1.evil.example", "127.0.0.1:80", 0},
        {"127.0.0.1:80 ", "127.0.0.1:80", 0},
        {"127.0.0.", "127.0.0.1:80", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (view_same_host(cases[i].given, cases[i].own) != cases[i].same)
            fail_msg("'%s' against '%s': expected %d", cases[i].given, cases[i].own, cases[i].same);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_hosts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
