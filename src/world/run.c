/* run.c  a world from its time to its end: samples, events and checkpoints go to a journal.
 *
 * Samples and checkpoints fall on ticks, and the integrator starts anew at every tick, so a run taken up again from a
 * checkpoint gives the same bits, and the same bytes of the journal, as one that was never interrupted.              */
#include "world_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- signals ------------------------------------------------------------------------------------------------------ */
/* What is recorded: one list, walked by the calls below. `put` sees every signal with its value. */
typedef void put_fn(void *user, const char *unit, double value, const char *format, const char *a, const char *b);

static const char *const free_names[7] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
static const char *const free_rates[6] = {"wx", "wy", "wz", "vx", "vy", "vz"};

static void walk(soa_world *w, put_fn *put, void *user) {
    const double *q = w->y, *v = w->y + w->at_v, *ledger = w->y + w->at_ledger;
    char index[12];
    for (int rates = 0; rates < 3; ++rates)
        for (int b = 1; b <= w->bodies; ++b) {
            soa_body_info info;
            soa_body(w->model, b, &info);
            const int n = rates ? info.nv : info.nq;
            for (int k = 0; k < n; ++k) {
                const int linear = info.type == SOA_PRISMATIC || (info.type == SOA_FREE && (rates ? k >= 3 : k < 3));
                const char *name = "";
                snprintf(index, sizeof index, "%d", k);
                if (n > 1) name = info.type != SOA_FREE ? index : rates ? free_rates[k] : free_names[k];
                const char *dot = n > 1 ? "%s.%s" : "%s%s";
                char full[300];
                snprintf(full, sizeof full, dot, info.joint, name);
                if (!rates)
                    put(user, linear ? "m" : info.type == SOA_FREE || info.type == SOA_SPHERICAL ? "" : "rad",
                        q[info.q_index + k], "q.%s%s", full, "");
                else if (rates == 1)
                    put(user, linear ? "m/s" : "rad/s", v[info.v_index + k], "v.%s%s", full, "");
                else if (w->actuated[info.v_index + k])
                    put(user, linear ? "N" : "N m", w->tau[info.v_index + k], "tau.%s%s", full, "");
            }
        }
    double kinetic = 0, potential = 0, stored = 0, h[6], com[3], mass, inertia[6], sums[2];
    soa_energy(w->model, w->work, q, v, &kinetic, &potential);
    for (int i = 0; i < w->touch_count; ++i) stored += w->touch[i].stored;
    put(user, "J", kinetic, "energy.%s%s", "kinetic", "");
    put(user, "J", potential, "energy.%s%s", "potential", "");
    put(user, "J", stored, "energy.%s%s", "contacts", "");
    put(user, "J", ledger[SOAI_SUPPLIED], "energy.%s%s", "supplied", "");
    put(user, "J", ledger[SOAI_VISCOUS] - ledger[SOAI_RUBBED] - ledger[SOAI_STOPPED] - ledger[SOAI_CONTACT] - stored,
        "energy.%s%s", "dissipated", "");
    memset(h, 0, sizeof h);
    soai_momentum(w, w->y, h, com, &mass, inertia, sums);
    const double *h0 = w->state->stats.momentum_start;
    double off[2] = {0};
    for (int k = 0; k < 6; ++k) off[k / 3] += pow(h[k] - h0[k] - ledger[SOAI_IMPULSE + k], 2);
    put(user, "N m s", sqrt(off[0]), "momentum.%s%s", "angular_error", "");
    put(user, "N s", sqrt(off[1]), "momentum.%s%s", "linear_error", "");
    for (int i = 0; i < w->solid_count; ++i) {
        int first = 1;
        for (int k = 0; k < i; ++k) first = first && strcmp(w->solids[k].group, w->solids[i].group);
        if (!first) continue;
        double pressure = 0, rub = 0;
        int points = 0;
        for (int k = 0; k < w->touch_count; ++k) {
            const soai_touch *t = &w->touch[k];
            const soai_meeting *m = &w->meetings[t->meeting];
            if (strcmp(w->solids[m->a].group, w->solids[i].group) && strcmp(w->solids[m->b].group, w->solids[i].group))
                continue;
            ++points, pressure += t->pressure;
            rub += sqrt(t->tangential[0] * t->tangential[0] + t->tangential[1] * t->tangential[1] +
                        t->tangential[2] * t->tangential[2]);
        }
        put(user, "", points, "contact.%s.%s", w->solids[i].group, "points");
        put(user, "N", pressure, "contact.%s.%s", w->solids[i].group, "pressure");
        put(user, "N", rub, "contact.%s.%s", w->solids[i].group, "friction");
    }
    if (w->controller) {
        put(user, "", soai_controller_phase(w), "control.%s%s", "phase", "");
        soai_object_figures(w, h);
        if (w->scenario->success.object) {
            put(user, "m", h[0], "object.%s%s", "position_error", "");
            put(user, "rad", h[1], "object.%s%s", "attitude_error", "");
            put(user, "N", h[2], "object.%s%s", "internal_force", "");
        }
    }
}

typedef struct names {
    int count;
    char (*name)[320];
    const char **unit;
} names;
static void count_signal(void *user, const char *unit, double value, const char *format, const char *a, const char *b) {
    (void)unit, (void)value, (void)format, (void)a, (void)b;
    ++*(int *)user;
}
static void name_signal(void *user, const char *unit, double value, const char *format, const char *a, const char *b) {
    names *n = user;
    (void)value;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(n->name[n->count], sizeof n->name[0], format, a, b);
#pragma GCC diagnostic pop
    n->unit[n->count++] = unit;
}
static void value_signal(void *user, const char *unit, double value, const char *format, const char *a, const char *b) {
    double **at = user;
    (void)unit, (void)format, (void)a, (void)b;
    *(*at)++ = value;
}

soa_status soai_signals_open(soa_world *w) {
    int count = 0;
    walk(w, count_signal, &count);
    w->signal_name = malloc((size_t)count * sizeof *w->signal_name);
    w->signal_unit = malloc((size_t)count * sizeof *w->signal_unit);
    if (!w->signal_name || !w->signal_unit) return SOA_E_MEMORY;
    names n = {0, w->signal_name, w->signal_unit};
    walk(w, name_signal, &n);
    w->signal_count = count;
    return SOA_OK;
}
int soa_world_signal_count(const soa_world *w) {
    return w->signal_count;
}
const char *soa_world_signal(const soa_world *w, int index, const char **unit) {
    if (index < 0 || index >= w->signal_count) return NULL;
    if (unit) *unit = w->signal_unit[index];
    return w->signal_name[index];
}
soa_status soa_world_signals(soa_world *w, double *values) {
    if (!w || !values) return SOA_E_ARGUMENT;
    double *at = values;
    walk(w, value_signal, &at);
    return SOA_OK;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */
static soa_status record_events(soa_world *w, soa_journal *journal) {
    int count;
    const soa_world_event *e = soa_world_events(w, &count);
    soa_status s = SOA_OK;
    for (int i = 0; !s && i < count; ++i) s = soa_journal_event(journal, e[i].t, e[i].kind, e[i].text);
    return s;
}

soa_status soa_world_record(soa_world *w, const char *path, soa_journal **journal, soa_report *report) {
    if (!w || !path || !journal) return SOA_E_ARGUMENT;
    soa_signal *signals = malloc((size_t)w->signal_count * sizeof *signals);
    if (!signals) return SOA_E_MEMORY;
    for (int i = 0; i < w->signal_count; ++i) signals[i] = (soa_signal){w->signal_name[i], w->signal_unit[i]};
    const soa_scenario *sc = w->scenario;
    soa_status s = soa_journal_create(path, sc->source ? sc->source : "", sc->source_size, signals, w->signal_count,
                                      journal, report);
    free(signals);
    return s;
}

soa_status soa_world_run(soa_world *w, soa_journal *journal, const soa_run_options *options, soa_report *report) {
    static const soa_run_options plain = {0};
    if (!w) return SOA_E_ARGUMENT;
    if (!options) options = &plain;
    const soa_scenario *sc = w->scenario;
    const double end = options->until > 0 ? options->until : sc->duration, rate = 1 / w->tick_length;
    const int64_t last = (int64_t)floor(end * rate + 1e-6);
    const int64_t every = sc->recording.rate > 0 ? (int64_t)fmax(1, floor(rate / sc->recording.rate + 0.5)) : 0;
    const int64_t keep = sc->recording.checkpoint > 0 ? (int64_t)fmax(1, floor(rate * sc->recording.checkpoint + 0.5)) : 0;
    double *values = malloc(((size_t)w->signal_count + 1) * sizeof *values);
    void *blob = malloc(w->state_size);
    soa_status s = values && blob ? SOA_OK : SOA_E_MEMORY, disk = SOA_OK;
    if (!s && journal && w->state->tick == 0) {
        disk = record_events(w, journal);
        if (!disk) s = soa_world_signals(w, values);
        if (!s && !disk) disk = soa_journal_sample(journal, w->state->t, values);
    }
    int stop = 0;
    while (!s && !disk && !stop && w->state->tick < last) {
        s = soa_world_tick(w, report);
        if (journal) disk = record_events(w, journal); /* what happened up to a failure, too */
        if (s || disk) break;
        const int64_t tick = w->state->tick;
        if (journal && every && tick % every == 0 && !(s = soa_world_signals(w, values)))
            disk = soa_journal_sample(journal, w->state->t, values);
        if (journal && !s && !disk && ((keep && tick % keep == 0) || tick == last)) {
            soa_world_save(w, blob);
            disk = soa_journal_checkpoint(journal, w->state->t, blob, w->state_size);
        }
        if (options->progress) stop = options->progress(options->user, w);
    }
    if (stop && journal && !disk && !s) { /* stopped between checkpoints: keep this very state */
        soa_world_save(w, blob);
        disk = soa_journal_checkpoint(journal, w->state->t, blob, w->state_size);
    }
    free(values), free(blob);
    if (disk && !s) {
        soa_journal_state state;
        soa_journal_get(journal, &state);
        return soai_report(report, disk, -1, 0, "the record: %s", state.text[0] ? state.text : soa_status_text(disk));
    }
    if (s && report && !report->text[0]) soai_report(report, s, -1, 0, "%s", soa_status_text(s));
    return s;
}
