/* cmd_sim.c  soa sim: a scenario in time. */
#include "app.h"
#include "soa/world.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUT, SUMMARY, RESUME, UNTIL, SEED, CASE, DIAGRAM, QUIET };

static const app_option options[] = {
    {"--out", "-o", "LOG", "record the run in this journal (soa export turns it into CSV or HDF5)"},
    {"--summary", NULL, "FILE", "write every figure of the summary as JSON, also when the run fails"},
    {"--resume", NULL, "LOG", "go on with a journal whose run was stopped or killed; no SCENARIO then"},
    {"--until", NULL, "T", "stop at this time, s, instead of the scenario's duration"},
    {"--seed", NULL, "N", "another seed for noise and variations"},
    {"--case", NULL, "N", "case N of the scenario's sweep, its quantities drawn as soa sweep draws them"},
    {"--diagram", NULL, "FILE", "write the supervisor's phases as Graphviz text, and do not run"},
    {"--quiet", "-q", NULL, "no progress and no summary on the terminal"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_sim = {
    .name = "sim",
    .words = "SCENARIO",
    .least = 0,
    .most = 1,
    .summary = "Runs a scenario: machines, contacts, controllers, in time",
    .text = "A scenario is a YAML file (docs/scenarios.md).  Ctrl-C stops at the next tick with everything recorded; a run\n"
            "that was stopped, or killed at any instant, is taken up again by --resume and ends in the same bits as one\n"
            "that was not.\n"
            "Exit status: 0 ran to its end (and held what it was asked to hold), 1 ran but did not, 2 could not run.\n",
    .options = options,
    .examples = "  soa sim scenarios/grapple.yaml --summary summary.json\n"
                "  soa sim scenarios/grapple.yaml -o grapple.soalog\n"
                "  soa sim --resume grapple.soalog\n"
                "  soa sim scenarios/grapple.yaml --diagram phases.dot && dot -Tsvg phases.dot -o phases.svg\n",
    .run = run,
};

static volatile sig_atomic_t interrupted;
static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* --- progress ----------------------------------------------------------------------------------------------------- */
typedef struct bar {
    double end, shown, t0;
    struct timespec begun;
    int tty, quiet;
    char phase[64];
} bar;

static double seconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}
static int progress(void *user, soa_world *world) {
    bar *b = user;
    const double t = soa_world_time(world), wall = seconds_since(&b->begun);
    if (!b->quiet) {
        const char *phase = soa_world_phase(world);
        if (strcmp(phase, b->phase)) {
            snprintf(b->phase, sizeof b->phase, "%s", phase);
            fprintf(stderr, "%s  %8.3f s  phase %s\n", b->tty ? "\r\033[K" : "", t, phase);
        }
        if (b->tty ? wall - b->shown > 0.1 : wall - b->shown > 5) {
            enum { BAR = 30 };
            char line[BAR + 1];
            for (int k = 0; k < BAR; ++k) line[k] = k < t / b->end * BAR ? '#' : '.';
            line[BAR] = 0;
            soa_world_summary s;
            soa_world_contact c;
            if (!soa_world_summarise(world, &s))
                fprintf(stderr, "%s[%s] %.2f of %g s, %.1f x real time, %lld steps, %d contacts%s", b->tty ? "\r" : "", line, t,
                        b->end, (t - b->t0) / wall, s.steps, soa_world_contacts(world, &c, 0), b->tty ? "\033[K" : "\n");
            b->shown = wall;
        }
    }
    return interrupted != 0;
}

/* --- the summary -------------------------------------------------------------------------------------------------- */
static void put(app_out *out, const char *name, double value) {
    out_format(out, "  \"%s\": ", name);
    out_number(out, value);
    out_text(out, ",\n");
}
static void put_count(app_out *out, const char *name, long long value) {
    out_format(out, "  \"%s\": %lld,\n", name, value);
}

static int write_summary(const char *path, const soa_scenario *scenario, const soa_world_summary *s, const char *fault) {
    char part[1024];
    snprintf(part, sizeof part, "%.1000s.part", path);
    FILE *file = fopen(part, "w");
    if (!file) return app_fail(&app_sim, "%s: %s", part, strerror(errno));
    app_out out;
    out_start(&out, fileno(file));
    out_text(&out, "{\n  \"scenario\": ");
    out_string(&out, scenario->name ? scenario->name : "");
    out_format(&out, ",\n  \"seed\": %llu,\n  \"completed\": %s,\n  \"fault\": ", (unsigned long long)scenario->seed,
               fault ? "false" : "true");
    if (fault)
        out_string(&out, fault);
    else
        out_text(&out, "null");
    out_text(&out, ",\n");
    put(&out, "simulated_s", s->t), put(&out, "wall_s", s->wall_time), put(&out, "real_time_factor", s->real_time_factor);
    put_count(&out, "ticks", s->ticks), put_count(&out, "steps", s->steps), put_count(&out, "steps_rejected", s->rejected);
    put_count(&out, "evaluations", s->evaluations), put_count(&out, "touches", s->touches);
    put_count(&out, "releases", s->releases), put_count(&out, "slips", s->slips);
    put_count(&out, "below_least_distance", s->saves);
    put(&out, "kinetic_J", s->kinetic), put(&out, "potential_J", s->potential), put(&out, "contact_stored_J", s->stored);
    put(&out, "supplied_J", s->supplied), put(&out, "viscous_J", s->viscous), put(&out, "coulomb_J", -s->rubbed);
    put(&out, "stops_J", -s->stopped), put(&out, "contact_work_J", s->contact), put(&out, "disturbance_J", s->disturbed);
    put(&out, "energy_error_rel", s->energy_error_rel), put(&out, "contact_created_J", s->contact_created);
    put(&out, "momentum_error_rel", s->is_free ? s->momentum_error_rel : NAN), put(&out, "closure_error", s->closure_error);
    if (s->judged) {
        out_format(&out, "  \"held\": %s,\n", s->held && !fault ? "true" : "false");
        put(&out, "position_error_m", s->position_error_m), put(&out, "attitude_error_deg", s->attitude_error_deg);
        put_count(&out, "fingers", s->finger_count), put_count(&out, "fingers_lost", s->fingers_lost);
        put_count(&out, "fingers_slipped", s->fingers_slipped), put(&out, "slip_worst_m", s->slip_worst_m);
        put(&out, "internal_force_N", s->internal_force_N), put(&out, "internal_force_least_N", s->internal_force_least);
        put(&out, "internal_force_most_N", s->internal_force_most);
    }
    out_text(&out, "  \"phase\": ");
    out_string(&out, s->phase);
    out_text(&out, "\n}\n");
    const int bad = out_flush(&out) != 0;
    const int reason = out.error;
    out_free(&out);
    if (fclose(file) != 0 || bad || rename(part, path) != 0) {
        const int why = reason ? reason : errno;
        remove(part);
        return app_fail(&app_sim, "%s: %s", path, strerror(why));
    }
    return APP_OK;
}

static void print_summary(const soa_scenario *scenario, const soa_world_summary *s, const char *log) {
    printf("\n%s: %g s in %.2f s, %.1f times real time; %lld steps (%lld tried again), %lld evaluations\n",
           scenario->name ? scenario->name : "scenario", s->t, s->wall_time, s->real_time_factor, s->steps, s->rejected,
           s->evaluations);
    printf("energy     kinetic %.6g J, potential %.6g J, in contacts %.3g J\n", s->kinetic, s->potential, s->stored);
    printf("           motors %+.6g J, viscous friction %+.6g J, Coulomb %+.3g J, stops %+.3g J, contacts %+.6g J\n",
           s->supplied, 0 - s->viscous, s->rubbed, s->stopped, s->contact);
    printf("           balance within %.1e of the largest; contacts created %.1e J\n", s->energy_error_rel, s->contact_created);
    if (s->is_free) printf("momentum   kept within %.1e of the sum over bodies\n", s->momentum_error_rel);
    if (s->closure_error > 0) printf("loops      closed within %.1e\n", s->closure_error);
    if (s->touches) printf("contacts   %lld touches, %lld releases, %lld slips\n", s->touches, s->releases, s->slips);
    if (s->saves) printf("           %lld steps ended below a contact law's least distance (continued linearly there)\n", s->saves);
    if (s->judged) {
        printf("object     off its goal by %.3g mm and %.3g deg; internal force %.3g N (%.3g to %.3g)\n",
               1e3 * s->position_error_m, s->attitude_error_deg, s->internal_force_N, s->internal_force_least,
               s->internal_force_most);
        printf("           %d of %d fingers lost, %d slipped (%.2g mm at most)\n", s->fingers_lost, s->finger_count,
               s->fingers_slipped, 1e3 * s->slip_worst_m);
        printf("           %s\n", s->held ? "HELD" : "NOT HELD");
    }
    if (log) printf("record     %s\n", log);
}

/* --- the command -------------------------------------------------------------------------------------------------- */
static int draw_diagram(const soa_world *world, const char *path) {
    size_t length = 0;
    if (soa_world_diagram(world, NULL, 0, &length)) return app_fail(&app_sim, "the scenario has no phases to draw");
    char *text = malloc(length + 1);
    if (!text) return app_fail(&app_sim, "out of memory");
    soa_status s = soa_world_diagram(world, text, length + 1, NULL);
    FILE *file = s ? NULL : fopen(path, "w");
    const int bad = !file || fputs(text, file) == EOF;
    free(text);
    if ((file && fclose(file)) || bad) return app_fail(&app_sim, "%s: %s", path, strerror(errno));
    return APP_OK;
}

static int number(const char *text, const char *what, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value)) return app_fail(&app_sim, "%s wants a number, not '%s'", what, text);
    return APP_OK;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_sim, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *log = args.value[RESUME] ? args.value[RESUME] : args.value[OUT];
    if (!args.value[RESUME] == !args.words) return app_fail(&app_sim, "give a SCENARIO, or --resume LOG alone");
    soa_scenario scenario, original = {0}; /* original: what a case was drawn from */
    soa_report report = {.body = -1};
    soa_journal *journal = NULL;
    soa_world *world = NULL;
    void *blob = NULL;
    size_t blob_size = 0;
    double t = 0, until = 0, value;
    if (args.value[UNTIL] && (code = number(args.value[UNTIL], "--until", &until)) != APP_OK) return code;
    if (args.value[RESUME]) {
        char *text = NULL;
        size_t size = 0;
        if (soa_journal_reopen(log, &journal, &t, &blob, &blob_size, &text, &size, &report))
            return app_fail(&app_sim, "%s: %s", log, report.text);
        const soa_status s = soa_scenario_parse(text, size, log, &scenario, &report);
        free(text);
        if (s) {
            soa_journal_abandon(journal, NULL), free(blob);
            return app_fail(&app_sim, "%s", report.text);
        }
    } else if (soa_scenario_read(args.word[0], &scenario, &report))
        return app_fail(&app_sim, "%s", report.text);
    code = APP_FAILED;
    soa_status s = SOA_OK;
    if (args.value[SEED]) {
        if (number(args.value[SEED], "--seed", &value) != APP_OK) goto done;
        scenario.seed = (uint64_t)value;
    }
    if (args.value[CASE]) {
        if (number(args.value[CASE], "--case", &value) != APP_OK) goto done;
        original = scenario;
        if (soa_scenario_vary(&original, (uint64_t)value, &scenario, NULL, &report)) {
            app_fail(&app_sim, "%s", report.text);
            scenario = original, original = (soa_scenario){0};
            goto done;
        }
    }
    if ((s = soa_world_create(&scenario, &world, &report)) ||
        (blob && (s = soa_world_restore(world, blob, blob_size))) ||
        (!journal && log && !args.value[DIAGRAM] && (s = soa_world_record(world, log, &journal, &report)))) {
        app_fail(&app_sim, "%s", report.text[0] ? report.text : soa_status_text(s));
        goto done;
    }
    if (args.value[DIAGRAM]) {
        code = draw_diagram(world, args.value[DIAGRAM]);
        goto done;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL), sigaction(SIGTERM, &action, NULL);
    bar b = {.end = until > 0 ? until : scenario.duration, .t0 = soa_world_time(world), .quiet = args.value[QUIET] != NULL};
    b.tty = isatty(2);
    clock_gettime(CLOCK_MONOTONIC, &b.begun);
    const soa_run_options how = {.until = until, .progress = progress, .user = &b};
    report.text[0] = 0;
    s = soa_world_run(world, journal, &how, &report);
    if (b.tty && !b.quiet) fputs("\r\033[K", stderr);
    soa_world_summary summary;
    soa_world_summarise(world, &summary);
    code = s ? APP_FAILED : summary.judged && !summary.held && !interrupted ? APP_SOME_BAD : APP_OK;
    if (s) app_fail(&app_sim, "%s", report.text);
    if (journal) {
        soa_report closing = {.body = -1};
        const soa_status end = s || interrupted ? soa_journal_abandon(journal, &closing) : soa_journal_close(journal, &closing);
        journal = NULL;
        if (end && !s) code = app_fail(&app_sim, "%s", closing.text);
    }
    if (!args.value[QUIET]) print_summary(&scenario, &summary, log);
    if (interrupted && !s) {
        if (!args.value[QUIET])
            printf("stopped by a signal at t = %g s%s%s\n", summary.t, log ? "; go on with: soa sim --resume " : "", log ? log : "");
        code = APP_SOME_BAD;
    }
    if (args.value[SUMMARY] && write_summary(args.value[SUMMARY], &scenario, &summary, s ? report.text : NULL) != APP_OK)
        code = APP_FAILED;
done:
    if (journal) soa_journal_abandon(journal, NULL);
    soa_world_free(world);
    soa_scenario_free(&scenario), soa_scenario_free(&original);
    free(blob);
    return code;
}
