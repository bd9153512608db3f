/* sim_report.c  shows a run of a world: opens its scenario, prints progress and a summary, writes
 * the summary as JSON. */
#include "sim_report.h"
#include "target.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Coordinates and missing meshes listed on the terminal. */
enum { ASSEMBLY_SHOWN = 12, GAPS_SHOWN = 1 };

static volatile sig_atomic_t interrupted;
static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* --- the scenario ----------------------------------------------------------------------------- */
/* True if cases differ in their noise. */
static int is_noisy(const soa_sensor_set *s) {
    return s->position_noise > 0 || s->rate_noise > 0 || s->force_noise > 0 ||
           s->torque_noise > 0 || s->pose_noise[0] + s->pose_noise[1] > 0 ||
           s->twist_noise[0] + s->twist_noise[1] > 0 || s->imu_noise[0] + s->imu_noise[1] > 0;
}
int app_cases_alike(const soa_scenario *scenario) {
    return !scenario->variation_count && !is_noisy(&scenario->control.sensors);
}
int app_open_scenario(const app_command *command, const char *spec, const char *seed,
                      const char *number, soa_scenario *scenario, soa_scenario *original) {
    soa_report report = {.body = -1};
    uint64_t seed_value = 0, number_value = 0;
    *original = (soa_scenario){0};
    if ((seed && app_read_whole(command, "--seed", seed, 0, UINT64_MAX, &seed_value) != APP_OK) ||
        (number &&
         app_read_whole(command, "--case", number, 0, UINT64_MAX, &number_value) != APP_OK))
        return APP_FAILED;
    if (soa_scenario_open(spec, scenario, &report)) return app_fail_scenario(command, report.text);
    if (seed) scenario->seed = seed_value;
    if (!number) return APP_OK;
    *original = *scenario;
    *scenario = (soa_scenario){0};
    if (app_cases_alike(original))
        app_fail(command,
                 "--case %s: %s has no sweep and no noisy sensors, so all its cases are one; leave "
                 "--case out",
                 number, spec);
    else if (!soa_scenario_vary(original, number_value, scenario, NULL, &report))
        return APP_OK;
    else
        app_fail(command, "%s", report.text);
    soa_scenario_free(original);
    return APP_FAILED;
}

/* --- progress --------------------------------------------------------------------------------- */

static double seconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}
bool app_show_progress(void *user, soa_world *world) {
    app_progress *b = user;
    const double t = soa_world_time(world), wall = seconds_since(&b->begun);
    if (!b->quiet) {
        const char *phase = soa_world_phase(world);
        if (strcmp(phase, b->phase)) {
            snprintf(b->phase, sizeof b->phase, "%s", phase);
            if (b->tty) app_note("\r\033[K");
            app_note("  %8.3f s  phase %s\n", t, phase);
        }
        if (b->tty ? wall - b->shown > 0.1 : wall - b->shown > 5) {
            enum { BAR = 30 };
            char line[BAR + 1];
            for (int k = 0; k < BAR; ++k)
                line[k] = k < t / b->end * BAR ? '#' : '.';
            line[BAR] = 0;
            soa_world_summary s;
            soa_world_contact c;
            if (!soa_world_summarise(world, &s))
                app_note(
                    b->tty ? "\r[%s] %.2f of %g s, %.1f x real time, %lld steps, %d contacts\033[K"
                           : "[%s] %.2f of %g s, %.1f x real time, %lld steps, %d contacts\n",
                    line, t, b->end, (t - b->t0) / wall, s.steps, soa_world_contacts(world, &c, 0));
            b->shown = wall;
        }
    }
    return interrupted != 0;
}

app_progress app_progress_start(const soa_world *world, double end, int quiet) {
    app_progress b = {.end = end, .t0 = soa_world_time(world), .quiet = quiet, .tty = isatty(2)};
    clock_gettime(CLOCK_MONOTONIC, &b.begun);
    return b;
}
void app_progress_end(const app_progress *b) {
    if (b->tty && !b->quiet) app_note("\r\033[K");
}
void app_catch_signals(void) {
    /* The second signal ends the program. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    /* A file that may not grow is a failed write, as on a full disk. */
    sigaction(SIGXFSZ, &ignore, NULL);
}
int app_interrupted(void) {
    return interrupted != 0;
}

/* --- the summary ------------------------------------------------------------------------------ */
static void put(app_out *out, const char *name, double value) {
    out_format(out, "  \"%s\": ", name);
    out_number(out, value);
    out_text(out, ",\n");
}
static void put_count(app_out *out, const char *name, long long value) {
    out_format(out, "  \"%s\": %lld,\n", name, value);
}

static int count_gaps(const soa_world_summary *s, const char *part) {
    int count = 0;
    for (int i = 0; i < s->gap_count; ++i)
        count += strcmp(s->gaps[i].part, part) == 0;
    return count;
}
/* True for a part that moves among shapes of others and has no shape that meets them. */
static int cannot_touch(const soa_world_summary *s, int p) {
    int others = 0;
    for (int i = 0; i < s->part_count; ++i)
        others = others || (i != p && s->parts[i].shapes + s->parts[i].collisions);
    return others && s->parts[p].moves && !s->parts[p].can_touch;
}

static void put_assembly(app_out *out, const soa_world_summary *s) {
    out_text(out, "  \"assembly\": [");
    for (int i = 0; i < s->assembly_count; ++i) {
        out_text(out, i ? ", {\"name\": " : "{\"name\": ");
        out_string(out, s->assembly[i].name);
        out_text(out, ", \"from\": ");
        out_number(out, s->assembly[i].from);
        out_text(out, ", \"to\": ");
        out_number(out, s->assembly[i].to);
        out_text(out, "}");
    }
    out_text(out, "],\n");
}
static void put_warnings(app_out *out, const soa_world_summary *s) {
    out_text(out, "  \"warnings\": [");
    for (int i = 0; i < s->warning_count; ++i) {
        const soa_world_warning *warning = &s->warnings[i];
        out_text(out, i ? ",\n    {\"code\": " : "\n    {\"code\": ");
        out_string(out, warning->code);
        out_text(out, ", \"name\": ");
        out_string(out, warning->name);
        out_text(out, ", \"value\": ");
        out_number(out, warning->value);
        out_text(out, ", \"remedy\": ");
        out_string(out, warning->remedy);
        out_text(out, "}");
    }
    out_text(out, s->warning_count ? "\n  ],\n" : "],\n");
}

static void put_pair(app_out *out, const char *name, const double x[2]) {
    out_format(out, ", \"%s\": ", name);
    out_vector(out, x, 2);
}
static void put_limits(app_out *out, const soa_world_summary *s) {
    int count = 0;
    out_text(out, "  \"limits\": [");
    for (int i = 0; i < s->part_count; ++i) {
        const soa_world_part *part = &s->parts[i];
        if (!part->limits) continue;
        out_text(out, count++ ? ",\n    {\"part\": " : "\n    {\"part\": ");
        out_string(out, part->name);
        out_format(out, ", \"limited\": %d, \"stops\": %d", part->limits, part->stops);
        if (part->stops) put_pair(out, "stiffness", part->stop_stiffness);
        if (part->stops) put_pair(out, "damping", part->stop_damping);
        out_text(out, "}");
    }
    out_text(out, count ? "\n  ],\n" : "],\n");
}
static void put_gaps(app_out *out, const soa_world_summary *s, const char *part) {
    int count = 0;
    out_text(out, ", \"unusable\": [");
    for (int i = 0; i < s->gap_count; ++i) {
        const soa_world_gap *gap = &s->gaps[i];
        if (strcmp(gap->part, part) != 0) continue;
        out_text(out, count++ ? ", {\"link\": " : "{\"link\": ");
        out_string(out, gap->link);
        out_text(out, ", \"mesh\": ");
        if (gap->mesh)
            out_string(out, gap->mesh);
        else
            out_text(out, "null");
        out_text(out, ", \"why\": ");
        out_string(out, gap->fault);
        out_text(out, "}");
    }
    out_text(out, "]");
}
static void put_law(app_out *out, const soa_contact_pair *law) {
    const struct {
        const char *name;
        double value;
    } list[] = {{"margin", law->margin},
                {"stiffness", law->stiffness},
                {"exponent", law->exponent},
                {"loss", law->loss},
                {"friction", law->friction},
                {"tangential_stiffness", law->tangential_stiffness},
                {"tangential_damping", law->tangential_damping}};
    out_text(out, ", \"law\": \"hunt-crossley\"");
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        out_format(out, ", \"%s\": ", list[k].name);
        out_number(out, list[k].value);
    }
}
/* For URDF parts: their <collision> shapes, those in use, the law without contacts in the scenario,
 * those that cannot be used. */
static void put_collisions(app_out *out, const soa_world_summary *s) {
    int count = 0;
    out_text(out, "  \"collisions\": [");
    for (int i = 0; i < s->part_count; ++i) {
        const soa_world_part *part = &s->parts[i];
        const int gaps = count_gaps(s, part->name);
        if (!part->collisions && !gaps) continue;
        out_text(out, count++ ? ",\n    {\"part\": " : "\n    {\"part\": ");
        out_string(out, part->name);
        out_format(out, ", \"shapes\": %d, \"in_use\": %d", part->collisions, part->in_use);
        put_law(out, &part->law);
        put_gaps(out, s, part->name);
        out_text(out, "}");
    }
    out_text(out, count ? "\n  ],\n" : "],\n");
    count = 0;
    out_text(out, "  \"cannot_touch\": [");
    for (int i = 0; i < s->part_count; ++i) {
        if (!cannot_touch(s, i)) continue;
        if (count++) out_text(out, ", ");
        out_string(out, s->parts[i].name);
    }
    out_text(out, "],\n");
}

int app_write_summary(const app_command *command, const char *path, const soa_scenario *scenario,
                      const soa_world_summary *s, const char *fault) {
    app_target file;
    if (app_target_open(&file, path)) return app_fail(command, "%s: %s", path, strerror(errno));
    app_out out;
    out_start(&out, file.fd);
    out_text(&out, "{\n  \"scenario\": ");
    out_string(&out, scenario->name ? scenario->name : "");
    out_format(&out, ",\n  \"seed\": %llu,\n  \"completed\": %s,\n  \"fault\": ",
               (unsigned long long)scenario->seed, fault ? "false" : "true");
    if (fault)
        out_string(&out, fault);
    else
        out_text(&out, "null");
    out_text(&out, ",\n");
    put(&out, "simulated_s", s->t);
    put(&out, "wall_s", s->wall_time);
    put(&out, "real_time_factor", s->real_time_factor);
    put_count(&out, "ticks", s->ticks);
    put_count(&out, "steps", s->steps);
    put_count(&out, "steps_rejected", s->rejected);
    put_count(&out, "evaluations", s->evaluations);
    put_count(&out, "touches", s->touches);
    put_count(&out, "releases", s->releases);
    put_count(&out, "slips", s->slips);
    put_count(&out, "below_least_distance", s->saves);
    put(&out, "kinetic_J", s->kinetic);
    put(&out, "potential_J", s->potential);
    put(&out, "contact_stored_J", s->stored);
    put(&out, "supplied_J", s->supplied);
    put(&out, "viscous_J", s->viscous);
    put(&out, "coulomb_J", 0 - s->rubbed);
    put(&out, "stops_J", 0 - s->stopped);
    put(&out, "contact_work_J", s->contact);
    put(&out, "disturbance_J", s->disturbed);
    put(&out, "energy_error_rel", s->energy_error_rel);
    put(&out, "contact_created_J", s->contact_created);
    put(&out, "momentum_error_rel", s->is_free ? s->momentum_error_rel : NAN);
    put(&out, "closure_error", s->closure_error);
    put_count(&out, "constraint_rows", s->constraint_rows);
    put_count(&out, "constraint_rank", s->constraint_rank);
    out_text(&out, "  \"redundant\": ");
    out_string(&out, s->redundancy ? s->redundancy : "");
    out_text(&out, ",\n");
    if (s->judged) {
        out_format(&out, "  \"held\": %s,\n  \"verdict\": ", s->held && !fault ? "true" : "false");
        out_string(&out, s->verdict[0] ? s->verdict : "the run could not begin");
        out_text(&out, ",\n");
        put(&out, "position_error_m", s->position_error_m);
        put(&out, "attitude_error_deg", s->attitude_error_deg);
        put_count(&out, "fingers", s->finger_count);
        put_count(&out, "fingers_lost", s->fingers_lost);
        put_count(&out, "fingers_slipped", s->fingers_slipped);
        put(&out, "slip_worst_m", s->slip_worst_m);
        put(&out, "internal_force_N", s->internal_force_N);
        put(&out, "internal_force_least_N", s->internal_force_least);
        put(&out, "internal_force_most_N", s->internal_force_most);
    }
    put_assembly(&out, s);
    put_warnings(&out, s);
    put_limits(&out, s);
    put_collisions(&out, s);
    out_text(&out, "  \"phase\": ");
    out_string(&out, s->phase);
    out_text(&out, "\n}\n");
    const int bad = out_flush(&out) != 0, reason = out.error;
    out_free(&out);
    const int lost = app_target_close(&file, !bad);
    if (bad) return app_fail(command, "%s: %s", path, strerror(reason));
    return lost ? app_fail(command, "%s: %s", path, strerror(errno)) : APP_OK;
}

/* Text such as "1e+03", or "1e+03 to 2e+04". */
static const char *range_text(const double x[2], char text[48]) {
    snprintf(text, 48, x[0] == x[1] ? "%.3g" : "%.3g to %.3g", x[0], x[1]);
    return text;
}
static void print_limits(const soa_world_summary *s) {
    const char *label = "limits";
    for (int i = 0; i < s->part_count; ++i) {
        const soa_world_part *part = &s->parts[i];
        char stiffness[48], damping[48];
        if (!part->limits) continue;
        if (part->stops)
            app_print("%-11s%s: %d stop%s, stiffness %s, damping %s\n", label, part->name,
                      part->stops, part->stops == 1 ? "" : "s",
                      range_text(part->stop_stiffness, stiffness),
                      range_text(part->stop_damping, damping));
        else
            app_print("%-11s%s: %d joint%s with limits that do not act (limits: false)\n", label,
                      part->name, part->limits, part->limits == 1 ? "" : "s");
        label = "";
    }
}
/* True if a warning says which shapes of a part cannot be used. */
static int has_gap_warning(const soa_world_summary *s, const char *part) {
    const size_t n = strlen(part);
    for (int i = 0; i < s->warning_count; ++i) {
        const soa_world_warning *w = &s->warnings[i];
        const int about =
            !strcmp(w->code, "mesh-missing") || !strcmp(w->code, "collision-unusable");
        if (about && !strncmp(w->name, part, n) && (w->name[n] == '.' || !w->name[n])) return 1;
    }
    return 0;
}
static void print_collisions(const soa_world_summary *s) {
    const char *label = "collisions";
    for (int i = 0; i < s->part_count; ++i) {
        const soa_world_part *part = &s->parts[i];
        const soa_contact_pair *law = &part->law;
        const int gaps = count_gaps(s, part->name);
        if (!part->collisions && !gaps) continue;
        app_print("%-11s%s: %d <collision> shape%s, %d can touch something here", label, part->name,
                  part->collisions, part->collisions == 1 ? "" : "s", part->in_use);
        if (gaps) app_print("; %d cannot be used", gaps);
        app_print("\n");
        if (part->in_use)
            app_print("           by default hunt-crossley: stiffness %.3g N/m^%g, loss %g s/m, "
                      "margin %g mm, friction %g\n",
                      law->stiffness, law->exponent, law->loss, 1e3 * law->margin, law->friction);
        label = "";
    }
    int count = 0;
    for (int i = 0; i < s->part_count; ++i) {
        if (!cannot_touch(s, i)) continue;
        if (!count++)
            app_print("%-11scannot touch: %s", label, s->parts[i].name);
        else
            app_print(", %s", s->parts[i].name);
    }
    if (count) app_print("\n");
    int shown = 0, left = 0;
    for (int i = 0; i < s->gap_count; ++i) {
        const soa_world_gap *gap = &s->gaps[i];
        if (has_gap_warning(s, gap->part)) continue;
        if (shown == GAPS_SHOWN) {
            ++left;
            continue;
        }
        ++shown;
        app_print("           %s.%s cannot touch: %s%s%s%s\n", gap->part, gap->link,
                  gap->mesh ? "mesh '" : "", gap->mesh ? gap->mesh : "", gap->mesh ? "': " : "",
                  gap->fault);
    }
    if (left) app_print("           and %d more (--summary FILE lists all)\n", left);
}

void app_print_summary(const soa_scenario *scenario, const soa_world_summary *s) {
    app_print("\n%s: %g s in %.2f s, %.1f times real time; %lld steps (%lld tried again), %lld "
              "evaluations\n",
              scenario->name ? scenario->name : "scenario", s->t, s->wall_time, s->real_time_factor,
              s->steps, s->rejected, s->evaluations);
    app_print("energy     kinetic %.6g J, potential %.6g J, in contacts %.3g J\n", s->kinetic,
              s->potential, s->stored);
    app_print("           motors %+.6g J, viscous friction %+.6g J, Coulomb %+.3g J, stops %+.3g "
              "J, contacts %+.6g J\n",
              s->supplied, 0 - s->viscous, s->rubbed, s->stopped, s->contact);
    if (s->disturbed != 0) app_print("           disturbances %+.6g J\n", s->disturbed);
    app_print("           balance within %.1e of the largest; contacts created %.1e J\n",
              s->energy_error_rel, s->contact_created);
    if (s->is_free)
        app_print("momentum   kept within %.1e of the sum over bodies\n", s->momentum_error_rel);
    const char *moved = "assembly";
    for (int i = 0; i < s->assembly_count && i < ASSEMBLY_SHOWN; ++i) {
        const soa_world_move *move = &s->assembly[i];
        app_print("%-11s%s moved from %.6g to %.6g to close the loops\n", moved, move->name,
                  move->from, move->to);
        moved = "";
    }
    if (s->assembly_count > ASSEMBLY_SHOWN)
        app_print("           and %d more coordinates (--summary FILE lists all)\n",
                  s->assembly_count - ASSEMBLY_SHOWN);
    if (s->constraint_rows)
        app_print("loops      %d equations, %d of them independent; closed within %.1e\n",
                  s->constraint_rows, s->constraint_rank, s->closure_error);
    if (s->redundancy && s->redundancy[0]) app_print("           redundant: %s\n", s->redundancy);
    print_limits(s);
    print_collisions(s);
    if (s->touches)
        app_print("contacts   %lld touches, %lld releases, %lld slips\n", s->touches, s->releases,
                  s->slips);
    if (s->saves)
        app_print("           %lld steps ended below a contact law's least distance (continued "
                  "linearly there)\n",
                  s->saves);
    if (s->judged) {
        const char *label = "object"; /* no line for what has not been measured yet */
        if (isfinite(s->position_error_m) && isfinite(s->attitude_error_deg)) {
            app_print("%-11s%s by %.3g mm and %.3g deg\n", label,
                      s->has_goal ? "off its goal" : "moved", 1e3 * s->position_error_m,
                      s->attitude_error_deg);
            label = "";
        }
        if (isfinite(s->internal_force_N) && isfinite(s->internal_force_least) &&
            isfinite(s->internal_force_most)) {
            app_print("%-11sinternal force %.3g N (%.3g to %.3g)\n", label, s->internal_force_N,
                      s->internal_force_least, s->internal_force_most);
            label = "";
        }
        app_print("%-11s%d of %d fingers lost, %d slipped (%.2g mm at most)\n", label,
                  s->fingers_lost, s->finger_count, s->fingers_slipped, 1e3 * s->slip_worst_m);
        app_print("           %s: %s\n", s->held ? "HELD" : "NOT HELD", s->verdict);
    }
    for (int i = 0; i < s->warning_count; ++i)
        app_print("warning    [%s] %s: %s\n", s->warnings[i].code, s->warnings[i].name,
                  s->warnings[i].remedy);
    if (s->more_warnings) app_print("warning    and %d more, not listed\n", s->more_warnings);
}
