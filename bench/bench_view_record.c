/* bench_view_record.c FILE [HOURS]  writes a long record for viewing: a humanoid and a lump, 105
 * signals, 1 kHz, an hour.
 *
 * Nothing is simulated: every coordinate oscillates with its own period; quaternions are unit.
 * bench_view.py opens the file with `soa view` and scrubs in it. */
#include "soa/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "name: hour\n"
                           "text: a long record\n"
                           "duration: 3600\n"
                           "gravity: [0, 0, 0]\n"
                           "parts:\n"
                           "  - {name: robot, model: humanoid}\n"
                           "  - {name: lump, body: {mass: 2, box: [0.2, 0.1, 0.1]}}\n"
                           "recording: {rate: 1000}\n";

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: bench_view_record FILE [HOURS]\n");
        return 2;
    }
    const double hours = count > 2 ? atof(words[2]) : 1;
    soa_scenario scenario;
    soa_world *world = NULL;
    soa_journal *journal = NULL;
    soa_report report = {.body = -1};
    if (soa_scenario_parse(text, strlen(text), "hour.yaml", &scenario, &report) ||
        soa_world_create(&scenario, &world, &report) ||
        soa_world_create_journal(world, words[1], &journal, &report)) {
        fprintf(stderr, "%s\n", report.text);
        return 1;
    }
    const soa_model *model = soa_world_model(world);
    const int n = soa_world_signal_count(world), nq = soa_model_nq(model);
    double *values = malloc((size_t)n * sizeof *values);
    if (!values) return 1;
    const long samples = (long)(3.6e6 * hours) + 1;
    for (long k = 0; k < samples; ++k) {
        const double t = 1e-3 * (double)k;
        for (int i = 0; i < n; ++i)
            values[i] = 0.3 * sin(t * (0.2 + 0.01 * i) + i);
        for (int b = 1; b <= soa_model_body_count(model); ++b) { /* q comes first in the record */
            soa_body_info info;
            soa_model_body(model, b, &info);
            if (info.type != SOA_FREE || info.q_index + 7 > nq) continue;
            const double angle = 0.1 * t;
            values[info.q_index + 3] = cos(angle);
            values[info.q_index + 6] = sin(angle);
            values[info.q_index + 4] = values[info.q_index + 5] = 0;
        }
        if (k % 60000 == 0) soa_journal_write_event(journal, t, "minute", "another one");
        if (soa_journal_write_sample(journal, t, values)) break;
    }
    const soa_status s = soa_journal_close(journal, &report);
    if (s) fprintf(stderr, "%s\n", report.text);
    printf("%s: %ld samples of %d signals\n", words[1], samples, n);
    free(values);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    return s ? 1 : 0;
}
