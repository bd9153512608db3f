/* summary.c  the summary table of a run: of a live run at its present state, of a log from the
 * state at its last checkpoint, as `soa sim` prints it; also the log's phases and events, and the
 * ranges of signals. */
#include "replay.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    view_scene *scene;
    soa_status status;
} table;
static void row(table *t, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void row(table *t, const char *name, const char *format, ...) {
    char value[200];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    if (!t->status) t->status = view_scene_add_summary(t->scene, name, value);
}

/* over: the run has ended, so what is held can be judged. */
static void from_world(table *t, const soa_scenario *sc, const soa_world_summary *s, int over) {
    if (s->judged) {
        char name[120];
        snprintf(name, sizeof name, "%.100s held", sc->success.object);
        const char *answer = s->held ? "yes" : "no";
        row(t, name, "%s", over ? answer : "judged at the end");
        /* At the beginning there may be no goal. */
        if (over || isfinite(s->position_error_m))
            row(t, over ? "worst error while holding" : "off its goal by", "%.3g mm, %.3g deg",
                1e3 * s->position_error_m, s->attitude_error_deg);
        row(t, "internal force", "%.3g N (%.3g to %.3g N)", s->internal_force_N,
            s->internal_force_least, s->internal_force_most);
        if (s->finger_count)
            row(t, "fingers", "%d of %d %s, %d slipped (%.2g mm at most)", s->fingers_lost,
                s->finger_count, over ? "lost" : "lost or not there yet", s->fingers_slipped,
                1e3 * s->slip_worst_m);
    }
    if (s->touches)
        row(t, "contacts", "%lld touches, %lld releases, %lld slips", s->touches, s->releases,
            s->slips);
    row(t, "energy", "kinetic %.4g J, potential %.4g J, in contacts %.3g J", s->kinetic,
        s->potential, s->stored);
    row(t, "work",
        "motors %+.4g J, viscous friction %+.4g J, Coulomb %+.3g J, stops %+.3g J, contacts %+.4g "
        "J",
        s->supplied, 0 - s->viscous, s->rubbed, s->stopped, s->contact);
    row(t, "energy balance", "within %.1e of the largest", s->energy_error_rel);
    if (s->is_free)
        row(t, "momentum", "kept within %.1e of the sum over bodies", s->momentum_error_rel);
    if (s->closure_error > 0) row(t, "loops", "closed within %.1e", s->closure_error);
    row(t, "integration", "%lld steps (%lld tried again), %lld evaluations", s->steps, s->rejected,
        s->evaluations);
}

/* Adds the largest and last value of a signal, if the record has it. */
static void from_signal(table *t, soa_log *log, const soa_log_info *info, const char *signal,
                        const char *name, double factor, const char *unit) {
    const int i = soa_log_find_signal(log, signal);
    double low, high, last;
    int64_t got = 0;
    if (i < 0 || !info->samples) return;
    soa_status status = soa_log_overview(
        log,
        &(soa_log_window){
            .signals = &i, .signal_count = 1, .t0 = info->first, .t1 = info->last, .columns = 1},
        &low, &high, NULL);
    if (!status)
        status = soa_log_read_samples(
            log,
            &(soa_log_range){
                .first = info->samples - 1, .count = 1, .signals = &i, .signal_count = 1},
            NULL, &last, &got, NULL);
    if (status == SOA_E_MEMORY) t->status = status;
    if (status || got != 1 || !isfinite(high)) return;
    row(t, name, "%.3g %s at most, %.3g %s at the end", factor * high, unit, factor * last, unit);
}

/* Adds the phases with their times, and counts of events of each kind. */
static void from_events(table *t, soa_log *log, const soa_log_info *info) {
    enum { KINDS = 12, PHASES = 40 };
    struct {
        char kind[32];
        int64_t count;
    } kinds[KINDS];
    struct {
        char name[64];
        double t;
    } phases[PHASES];
    int kind_count = 0, phase_count = 0, more = 0;
    for (int64_t i = 0; i < info->events; ++i) {
        soa_log_event_info e;
        const soa_status status = soa_log_read_event(log, i, &e, NULL);
        if (status == SOA_E_MEMORY) t->status = status;
        if (status) break; /* the record is damaged from here on */
        int k = 0;
        while (k < kind_count && strncmp(kinds[k].kind, e.kind, sizeof kinds[k].kind - 1))
            ++k;
        if (k == kind_count && k < KINDS) {
            snprintf(kinds[k].kind, sizeof kinds[k].kind, "%s", e.kind);
            kinds[k].count = 0;
            ++kind_count;
        }
        if (k < kind_count) ++kinds[k].count;
        if (strcmp(e.kind, "phase")) continue;
        if (phase_count == PHASES) {
            ++more;
        } else {
            snprintf(phases[phase_count].name, sizeof phases[0].name, "%s", e.text);
            phases[phase_count++].t = e.t;
        }
    }
    for (int p = 0; p < phase_count; ++p) {
        char name[80];
        snprintf(name, sizeof name, "phase %.64s", phases[p].name);
        const double last = more ? NAN : info->last;
        row(t, name, "%.2f s to %.2f s", phases[p].t, p + 1 < phase_count ? phases[p + 1].t : last);
    }
    if (more) row(t, "phase", "and %d more", more);
    char all[200] = "none";
    size_t n = 0;
    for (int k = 0; k < kind_count && n + 60 < sizeof all; ++k)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%lld %s", k ? ", " : "",
                              (long long)kinds[k].count, kinds[k].kind);
    row(t, "events", "%s", all);
}

/* The figures of the world at the last checkpoint, at time `at`; false if the record does not have
 * them. */
static bool last_figures(table *t, soa_log *log, soa_world *world, double *at,
                         soa_world_summary *figures) {
    void *blob = NULL;
    size_t size = 0;
    soa_status status = soa_log_read_checkpoint(log, at, &blob, &size, NULL);
    const bool found = !status && blob;
    if (found) status = soa_world_restore_state(world, blob, size);
    if (found && !status) status = soa_world_summarise(world, figures);
    if (status == SOA_E_MEMORY) t->status = status;
    free(blob);
    return found && !status;
}

soa_status view_summarise(view_scene *scene, soa_log *log, const soa_scenario *scenario,
                          soa_world *world, soa_report *report) {
    table t = {scene, SOA_OK};
    soa_log_info info;
    soa_log_get_info(log, &info);
    const double last = info.samples ? info.last : 0;
    row(&t, "record", "%.6g s to %.6g s, %lld samples of %d signals%s",
        info.samples ? info.first : 0, last, (long long)info.samples, info.signal_count,
        info.complete ? "" : "; the run was not finished");
    double at = 0;
    soa_world_summary s;
    if (world && scenario && last_figures(&t, log, world, &at, &s)) {
        if (at < last - 1e-9) row(&t, "figures below", "up to the last checkpoint, %.6g s", at);
        from_world(&t, scenario, &s, 1);
    } else {
        from_signal(&t, log, &info, "object.position_error", "position error", 1e3, "mm");
        from_signal(&t, log, &info, "object.attitude_error", "attitude error", 57.29577951308232,
                    "deg");
        from_signal(&t, log, &info, "object.internal_force", "internal force", 1, "N");
        from_signal(&t, log, &info, "energy.kinetic", "kinetic energy", 1, "J");
        from_signal(&t, log, &info, "momentum.linear_error", "linear momentum off by", 1, "N s");
        from_signal(&t, log, &info, "momentum.angular_error", "angular momentum off by", 1,
                    "N m s");
    }
    from_events(&t, log, &info);
    row(&t, "written by", "soa %s", info.program_version);
    if (t.status && report) {
        *report = (soa_report){.status = t.status, .body = -1};
        snprintf(report->text, sizeof report->text, "%s", soa_status_text(t.status));
    }
    return t.status;
}

soa_status view_summarise_run(view_scene *scene, const soa_scenario *scenario,
                              const soa_world_summary *s, int over) {
    table t = {scene, SOA_OK};
    view_scene_clear_summary(scene);
    row(&t, "run", "%.6g s%s%s%s", s->t, over ? ", ended" : " so far",
        *s->phase ? ", in phase " : "", s->phase);
    from_world(&t, scenario, s, over);
    return t.status;
}
