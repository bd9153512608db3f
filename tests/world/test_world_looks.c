/* test_world_looks.c  queries do not change a world: summaries and signals between ticks leave
 * every bit unchanged. */
#include "soa/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *run(const soa_scenario *scenario, int ticks, int looks, size_t *size) {
    soa_report report = {.body = -1};
    soa_world *world = NULL;
    if (soa_world_create(scenario, &world, &report)) fail_msg("%s", report.text);
    double *values = calloc((size_t)soa_world_signal_count(world), sizeof *values);
    assert_non_null(values);
    for (int i = 0; i < ticks; ++i) {
        if (soa_world_tick(world, &report)) fail_msg("%s", report.text);
        soa_world_summary summary;
        if (looks && i % 7 == 0) assert_int_equal(soa_world_summarise(world, &summary), SOA_OK);
        if (looks && i % 5 == 0) assert_int_equal(soa_world_signal_values(world, values), SOA_OK);
    }
    *size = soa_world_state_size(world);
    void *state = malloc(*size);
    assert_non_null(state);
    soa_world_save_state(world, state);
    free(values);
    soa_world_free(world);
    return state;
}

static void test_looks(void **unused) {
    (void)unused;
    const char *root = getenv("SOA_SOURCE_DIR");
    char path[1000];
    soa_scenario scenario;
    soa_report report = {.body = -1};
    snprintf(path, sizeof path, "%.900s/scenarios/grapple.yaml", root ? root : ".");
    if (soa_scenario_read(path, &scenario, &report)) fail_msg("%s", report.text);
    size_t size[2];
    void *plain = run(&scenario, 3200, 0, &size[0]), *looked_at = run(&scenario, 3200, 1, &size[1]);
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(plain, looked_at, size[0]);
    free(plain);
    free(looked_at);
    soa_scenario_free(&scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_looks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
