/* test_ranks.c  sweeps shared between ranks, with the other ranks simulated by the test
 * (test_sweep.sh has real ones). */
#include "worlds.h"

#include <unistd.h>

/* Ranks look for what a stopped sweep has left before any of them writes: a slow one takes no fresh
 * file for an old one. */
typedef struct meeting {
    char side[80];
    int calls, early; /* early: the file was there when all met first */
} meeting;
static soa_status meet(void *user, const char *mine, size_t size, char **all, size_t *all_size) {
    meeting *m = user;
    if (!m->calls++) m->early = !access(m->side, F_OK);
    if (!(*all = malloc(size + 1))) return SOA_E_MEMORY;
    memcpy(*all, mine, size);
    *all_size = size; /* the other rank has nothing yet */
    return SOA_OK;
}
static void ranks_look_before_they_write(void **state) {
    (void)state;
    char folder[] = "/tmp/soa-sweep-XXXXXX", table[60];
    assert_non_null(mkdtemp(folder));
    meeting m = {.calls = 0};
    snprintf(table, sizeof table, "%s/table.csv", folder);
    snprintf(m.side, sizeof m.side, "%s.cases", table);
    stage s = made(
        "name: fall\nduration: 0.01\nparts:\n  - {name: ball, body: {mass: 1, sphere: 0.1}}\n");
    soa_sweep_options how = soa_sweep_options_default();
    how.cases = 2;
    how.threads = 1;
    how.table = table;
    how.ranks = 2;
    how.exchange = meet;
    how.user = &m;
    soa_sweep_result result;
    soa_report report = {SOA_OK, -1, 0, ""};
    OK(soa_scenario_sweep(s.scenario, &how, &result, &report));
    assert_true(m.calls > 1 && !m.early && result.ran == 1 && result.stopped);
    OK(access(m.side, F_OK)); /* this rank's row is kept */
    unlink(m.side);
    rmdir(folder);
    closed(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_look_before_they_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
