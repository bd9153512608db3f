/* figures.c  draws the pictures of docs/grapple.md: the paper's controller and the supervised one
 * in the same task.
 *
 *   soa_grapple_figures SCENARIOS OUT
 *
 * reads SCENARIOS/grapple.yaml and grapple-paper.yaml, runs both, and writes OUT/grapple-errors.svg
 * (satellite and fingers) and OUT/grapple-approach.svg (the paper's approach). */
#include "soa/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct record {
    long count, most;
    double *t, *position, *attitude, *force, *fingers, *joints;
} record;

static int index_of(const soa_world *world, const char *name) {
    for (int i = 0; i < soa_world_signal_count(world); ++i)
        if (!strcmp(soa_world_signal_name(world, i, NULL), name)) return i;
    return -1;
}
/* Number of finger shapes that are pressed. */
static int touching(const soa_world *world) {
    soa_world_contact contacts[64];
    int count = soa_world_contacts(world, contacts, 64), fingers = 0;
    for (int i = 0; i < count && i < 64; ++i) {
        int first = contacts[i].pressure > 0;
        for (int k = 0; k < i; ++k)
            if (!strcmp(contacts[k].shape_a, contacts[i].shape_a) &&
                !strcmp(contacts[k].shape_b, contacts[i].shape_b))
                first = 0;
        fingers += first;
    }
    return fingers;
}
/* Largest joint distance from the goal of the first phase's first action, rad. */
static double joint_error(const soa_world *world, const soa_scenario *scenario,
                          const double *values) {
    const soa_action *law = &scenario->control.phases[0].actions[0];
    double worst = NAN;
    for (int k = 0; k < law->position_count; ++k) {
        char name[200];
        snprintf(name, sizeof name, "q.%.60s.%.100s", law->part, law->positions[k].name);
        const int at = index_of(world, name);
        if (at >= 0) worst = fmax(worst, fabs(values[at] - law->positions[k].value));
    }
    return worst;
}

static soa_status run(const char *path, record *r, soa_report *report) {
    soa_scenario scenario;
    soa_world *world = NULL;
    soa_status s = soa_scenario_read(path, &scenario, report);
    if (s) return s;
    double *values = NULL;
    if (!(s = soa_world_create(&scenario, &world, report))) {
        const int position = index_of(world, "object.position_error"),
                  attitude = index_of(world, "object.attitude_error"),
                  force = index_of(world, "object.internal_force");
        const long every = lround(0.02 / soa_world_tick_length(world)),
                   ticks = lround(scenario.duration / soa_world_tick_length(world));
        const size_t most = (size_t)(ticks / every + 2);
        double **const lists[] = {&r->t,     &r->position, &r->attitude,
                                  &r->force, &r->fingers,  &r->joints};
        for (size_t k = 0; k < 6; ++k)
            if (!(*lists[k] = calloc(most, sizeof **lists[k]))) s = SOA_E_MEMORY;
        values = calloc((size_t)soa_world_signal_count(world) + 1, sizeof *values);
        if (!values || position < 0 || attitude < 0 || force < 0) s = SOA_E_MEMORY;
        for (long tick = 0; !s && tick <= ticks; ++tick) {
            if (tick % every == 0 && !(s = soa_world_signal_values(world, values))) {
                const long n = r->count++;
                r->t[n] = soa_world_time(world);
                r->position[n] = fmax(1e3 * values[position], 1e-3);
                r->attitude[n] = fmax(57.29577951308232 * values[attitude], 1e-3);
                r->force[n] = values[force];
                r->fingers[n] = touching(world);
                r->joints[n] = joint_error(world, &scenario, values);
                if (values[position] != values[position]) r->position[n] = r->attitude[n] = NAN;
            }
            if (!s && tick < ticks) s = soa_world_tick(world, report);
        }
        soa_world_summary summary;
        if (!s && !soa_world_summarise(world, &summary))
            printf("%s: %s, off by %.3g mm and %.3g deg, %d of %d fingers lost\n", path,
                   summary.held ? "held" : "not held", 1e3 * summary.position_error_m,
                   summary.attitude_error_deg, summary.fingers_lost, summary.finger_count);
    }
    free(values);
    soa_world_free(world);
    soa_scenario_free(&scenario);
    return s;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: soa_grapple_figures SCENARIOS OUT\n", stderr);
        return 2;
    }
    static const char *const names[2] = {"grapple-paper.yaml", "grapple.yaml"};
    record r[2] = {{0}, {0}};
    soa_report report = {.body = -1};
    soa_status s = SOA_OK;
    char path[1000];
    for (int i = 0; !s && i < 2; ++i) {
        snprintf(path, sizeof path, "%.900s/%s", argv[1], names[i]);
        s = run(path, &r[i], &report);
    }
    if (!s) {
        long count = 0; /* the first three seconds */
        while (count < r[0].count && r[0].t[count] <= 3)
            ++count;
        const soa_plot_curve joint[1] = {{.name = "farthest joint", .y = r[0].joints}},
                             finger[1] = {{.name = "fingers", .y = r[0].fingers}};
        const soa_plot_panel panels[2] = {{"joint error (rad)", 1, joint, 1},
                                          {"fingers that touch", 0, finger, 1}};
        const soa_plot plot = {.title = "The paper's controller: a good approach",
                               .x_label = "time (s)",
                               .x = r[0].t,
                               .count = count,
                               .panels = panels,
                               .panel_count = 2};
        snprintf(path, sizeof path, "%.900s/grapple-approach.svg", argv[2]);
        s = soa_plot_write_svg(&plot, path, &report);
    }
    if (!s) {
        soa_plot_curve curves[4][2];
        const char *const labels[2] = {"paper", "supervised"};
        for (int i = 0; i < 2; ++i) {
            double *const y[5] = {r[i].position, r[i].attitude, r[i].fingers, r[i].force, r[i].t};
            long n = 0;
            for (long k = 0; k < r[i].count; k += 10, ++n) /* five points per second are enough */
                for (int p = 0; p < 5; ++p)
                    y[p][n] = y[p][k];
            r[i].count = n;
            for (int p = 0; p < 4; ++p)
                curves[p][i] =
                    (soa_plot_curve){.name = labels[i], .y = y[p], .x = r[i].t, .count = n};
        }
        const soa_plot_panel panels[4] = {{"off its goal (mm)", 1, curves[0], 2},
                                          {"off its goal (deg)", 1, curves[1], 2},
                                          {"fingers that touch", 0, curves[2], 2},
                                          {"internal force (N)", 0, curves[3], 2}};
        const soa_plot plot = {
            .title =
                "The same drifting satellite: the paper's single law, and a law for each phase",
            .subtitle = "goal: the paper's, where the satellite was; supervised, at rest and then "
                        "0.3 m and 30 deg away",
            .x_label = "time (s)",
            .x = r[0].t,
            .count = r[0].count,
            .panels = panels,
            .panel_count = 4};
        snprintf(path, sizeof path, "%.900s/grapple-errors.svg", argv[2]);
        s = soa_plot_write_svg(&plot, path, &report);
    }
    for (int i = 0; i < 2; ++i) {
        free(r[i].t);
        free(r[i].position);
        free(r[i].attitude);
        free(r[i].force);
        free(r[i].fingers);
        free(r[i].joints);
    }
    if (s)
        fprintf(stderr, "soa_grapple_figures: %s\n",
                report.text[0] ? report.text : soa_status_text(s));
    return s ? 2 : 0;
}
