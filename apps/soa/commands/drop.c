/* drop.c  soa drop: drops a machine, shows where its energy goes, writes a table and a picture. */
#include "../signals.h"
#include "../../../src/base/small_algebra.h"
#include "soa/world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT, SECONDS, MODEL, START };

static const app_option options[] = {
    {"--out", "-o", "DIR", "where the results go; made if missing (default: here)"},
    {"--seconds", NULL, "S", "how long it falls (default 2)"},
    {"--model", NULL, "MODEL", "what falls: any model that soa info takes (default puma560)"},
    {"--q", NULL, "Q1,Q2,...",
     "where it starts (default: pose qn of the PUMA 560, else the neutral one)"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_drop = {
    .name = "drop",
    .words = "",
    .summary = "Drops a PUMA 560 from rest and writes a table and a picture of its motion",
    .text = "The arm starts at pose qn and falls for 2 s under gravity, with the viscous and "
            "Coulomb friction of its\n"
            "joints; joints stick and break loose as they would.  Kinetic + potential + dissipated "
            "energy must stay\n"
            "what it was: the summary shows how well it does.  Joint limits are not modelled.\n",
    .options = options,
    .examples = "  soa drop\n"
                "  soa drop --seconds 5 --out fall\n"
                "  soa drop --model planar-chain:3 --q 1,0.5,0\n",
    .run = run,
};

/* The samples, row after row. */
typedef struct record {
    int nq, nv, columns; /* t, q, v, kinetic, potential, dissipated, balance */
    long count, room;
    double *rows;
    double seconds;
    int tty, shown; /* for progress */
    int out_of_memory;
} record;

/* --- while it runs ---------------------------------------------------------------------------- */

static void progress(record *r, double t) {
    enum { BAR = 40 };
    int percent = r->seconds > 0 ? (int)(100 * t / r->seconds + 1e-6) : 100;
    if (percent <= r->shown || (!r->tty && percent / 25 == r->shown / 25)) return;
    r->shown = percent;
    if (r->tty) {
        char bar[BAR + 1];
        for (int k = 0; k < BAR; k++)
            bar[k] = k < percent * BAR / 100 ? '#' : '.';
        bar[BAR] = '\0';
        app_note("\rsimulating [%s] %3d %%  t = %.2f s", bar, percent, t);
        if (percent == 100) app_note("\n");
    } else {
        app_note("simulating: %3d %%, t = %.2f s\n", percent, t);
    }
}

static bool keep(void *user, const soa_sim_sample *s) {
    record *r = user;
    if (r->count == r->room) {
        long room = r->room == 0 ? 512 : 2 * r->room;
        double *rows = realloc(r->rows, (size_t)room * (size_t)r->columns * sizeof(double));
        if (rows == NULL) {
            r->out_of_memory = 1;
            return 1;
        }
        r->rows = rows;
        r->room = room;
    }
    double *row = r->rows + r->count++ * r->columns;
    *row++ = s->t;
    memcpy(row, s->q, (size_t)r->nq * sizeof(double));
    row += r->nq;
    memcpy(row, s->v, (size_t)r->nv * sizeof(double));
    row += r->nv;
    row[0] = s->kinetic;
    row[1] = s->potential;
    row[2] = s->dissipated;
    row[3] = s->balance;
    progress(r, s->t);
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static int write_csv(const record *r, const char *path) {
    app_out out;
    out_start(&out, -1);
    out_char(&out, 't');
    for (int i = 1; i <= r->nq; i++)
        out_format(&out, ",q%d", i);
    for (int i = 1; i <= r->nv; i++)
        out_format(&out, ",v%d", i);
    out_text(&out, ",kinetic,potential,dissipated,balance\n");
    for (long k = 0; k < r->count; k++) {
        const double *row = r->rows + k * r->columns;
        for (int i = 0; i < r->columns; i++) {
            char text[NUMBER_ROOM];
            number_print(text, row[i]);
            if (i > 0) out_char(&out, ',');
            out_text(&out, text);
        }
        out_char(&out, '\n');
    }
    const int code = out.error ? app_fail(&app_drop, "%s: %s", path, strerror(out.error))
                               : app_write_file(&app_drop, path, out.data, out.size);
    out_free(&out);
    return code;
}

/* Kind of a coordinate, for the picture. */
typedef enum kind { ANGLE, LENGTH, OTHER } kind;

static kind kind_of(soa_joint_type type, int k) {
    const int position = 3; /* of a free joint: the quaternion follows */
    if (soa_joint_type_turns(type, k)) return ANGLE;
    if (type == SOA_SPHERICAL || (type == SOA_FREE && k >= position)) return OTHER;
    return LENGTH;
}

/* What is added to a joint's name for its coordinate k. */
static const char *suffix_of(const soa_body_info *info, int k) {
    static const char *const xyz[] = {".x", ".y", ".z"}, *const number[] = {".1", ".2", ".3"};
    if (info->nq == 1) return "";
    return info->type == SOA_FREE ? xyz[k] : number[k];
}

typedef struct picture {
    soa_plot_curve *curves;
    char (*names)[40];
    double *columns;
    int curve_count;
    long rows;
} picture;

static double *add_curve(picture *p, const char *name) {
    int i = p->curve_count++;
    double *y = p->columns + i * p->rows;
    snprintf(p->names[i], sizeof p->names[i], "%.30s", name);
    p->curves[i] = (soa_plot_curve){.name = p->names[i], .y = y};
    return y;
}

/* Adds curves of all coordinates of one kind: positions if rates is zero, else speeds. */
static int add_joints(picture *p, const soa_model *model, const record *r, kind wanted, int rates) {
    int before = p->curve_count;
    double unit = wanted == ANGLE ? 180 / SOAI_PI : 1;
    for (int b = 1; b <= soa_model_body_count(model); b++) {
        soa_body_info info;
        if (soa_model_body(model, b, &info) != SOA_OK || (rates && info.nq != info.nv)) continue;
        for (int k = 0; k < info.nq && p->curve_count - before < 28; k++) {
            if (kind_of(info.type, k) != wanted) continue;
            char name[40];
            snprintf(name, sizeof name, "%.30s%s", info.joint, suffix_of(&info, k));
            double *y = add_curve(p, name);
            int column = rates ? 1 + r->nq + info.v_index + k : 1 + info.q_index + k;
            double low = INFINITY, high = -INFINITY;
            for (long i = 0; i < r->count; i++) {
                y[i] = unit * r->rows[i * r->columns + column];
                low = fmin(low, y[i]);
                high = fmax(high, y[i]);
            }
            if (high - low < 1e-9) strcat(p->names[p->curve_count - 1], " (still)");
        }
    }
    return p->curve_count - before;
}

static int add_energies(picture *p, const record *r) {
    static const char *const names[4] = {"kinetic", "potential", "dissipated", "balance"};
    int first = 1 + r->nq + r->nv;
    for (int k = 0; k < 4; k++) {
        double *y = add_curve(p, names[k]), start = k == 1 ? r->rows[first + 1] : 0;
        for (long i = 0; i < r->count; i++)
            y[i] = r->rows[i * r->columns + first + k] - start;
    }
    return 4;
}

static int draw(const soa_model *model, const record *r, const char *path) {
    enum { MOST = 2 * 28 + 28 + 4 };
    soa_plot_curve curves[MOST];
    char names[MOST][40];
    picture p = {.curves = curves, .names = names, .rows = r->count};
    soa_plot_panel panels[4];
    int count = 0;
    p.columns = malloc((size_t)(MOST + 1) * (size_t)r->count * sizeof(double));
    if (p.columns == NULL) return app_fail(&app_drop, "no memory for the picture");
    double *t = p.columns + MOST * r->count;
    for (long i = 0; i < r->count; i++)
        t[i] = r->rows[i * r->columns];

    static const struct {
        const char *label;
        kind kind;
        int rates;
    } wanted[3] = {{"joint angle (deg)", ANGLE, 0},
                   {"displacement (m)", LENGTH, 0},
                   {"joint speed (deg/s)", ANGLE, 1}};
    for (int k = 0; k < 3; k++) {
        int first = p.curve_count,
            added = add_joints(&p, model, r, wanted[k].kind, wanted[k].rates);
        if (added > 0)
            panels[count++] = (soa_plot_panel){
                .y_label = wanted[k].label, .curves = curves + first, .curve_count = added};
    }
    int first = p.curve_count, added = add_energies(&p, r);
    panels[count++] = (soa_plot_panel){
        .y_label = "energy since start (J)", .curves = curves + first, .curve_count = added};

    char title[96];
    snprintf(title, sizeof title, "%.60s dropped from rest", soa_model_name(model));
    soa_plot plot = {.title = title,
                     .subtitle = "gravity and joint friction, no motor torque; kinetic + potential "
                                 "+ dissipated energy is constant",
                     .x_label = "time (s)",
                     .x = t,
                     .count = r->count,
                     .panels = panels,
                     .panel_count = count};
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_plot_write_svg(&plot, path, &report);
    free(p.columns);
    return status == SOA_OK ? APP_OK : app_fail(&app_drop, "%s", report.text);
}

static void summary(const soa_model *model, const soa_sim_result *r) {
    double speed = r->wall_time > 0 ? r->t / r->wall_time : 0;
    double scale = r->energy_scale > 0 ? r->energy_scale : 1;
    double g[3];
    soa_model_gravity(model, g);
    app_print("\n%s, left to itself for %.4g s%s\n", soa_model_name(model), r->t,
              g[0] == 0 && g[1] == 0 && g[2] == 0 ? " (this model has no gravity: nothing falls)"
                                                  : "");
    app_print("  steps                %10ld   accepted, %ld rejected\n", r->steps, r->rejected);
    app_print("  forward dynamics     %10ld   evaluations\n", r->evaluations);
    app_print("  joints that stopped  %10ld   %ld broke loose later\n", r->stops, r->releases);
    app_print("  wall time            %10.1f   ms, %.0f times faster than real time\n",
              1e3 * r->wall_time, speed);
    app_print("\n  energy (J)                start            end         change\n");
    app_print("  kinetic        %14.6f %14.6f %14.6f\n", r->kinetic_start, r->kinetic,
              r->kinetic - r->kinetic_start);
    app_print("  potential      %14.6f %14.6f %14.6f\n", r->potential_start, r->potential,
              r->potential - r->potential_start);
    app_print("  viscous loss   %14.6f %14.6f %14.6f\n", 0.0, r->viscous, r->viscous);
    app_print("  Coulomb loss   %14.6f %14.6f %14.6f\n", 0.0, r->coulomb, r->coulomb);
    app_print("  balance        %14s %14s %14.2e   worst %.1e of the energy moved\n", "", "",
              r->balance, r->balance_worst / scale);
}

/* --- before it runs --------------------------------------------------------------------------- */

static int make_directories(const char *path) {
    char part[4096];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return -1;
    }
    struct stat about;
    if (stat(path, &about) != 0) return -1;
    if (!S_ISDIR(about.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    return 0;
}

static int read_start(const soa_model *model, const char *name, const char *list, double *q) {
    int nq = soa_model_nq(model);
    soa_q_neutral(model, q);
    if (list == NULL) {
        const double quarter = 0.78539816339744830962;
        /* The position qn. */
        if (strcmp(name, "puma560") == 0) {
            q[1] = quarter;
            q[2] = 4 * quarter;
            q[4] = quarter;
        }
        return APP_OK;
    }
    int count = 0;
    for (char *end;; list = end + 1) {
        const double x = strtod(list, &end);
        end += end == list ? 0 : strspn(end, " ");
        if (end == list || !isfinite(x) || (*end && *end != ','))
            return app_fail(
                &app_drop, "--q must be %d numbers with commas between; something is wrong at '%s'",
                nq, list);
        if (count++ < nq) q[count - 1] = x;
        if (!*end) break;
    }
    if (count != nq)
        return app_fail(&app_drop, "--q must be %d numbers with commas between, %d %s given", nq,
                        count, count == 1 ? "was" : "were");
    return APP_OK;
}

static int simulate(const soa_model *model, const double *q, record *r, soa_sim_result *result) {
    soa_sim_options o = soa_sim_options_default();
    o.duration = r->seconds;
    if (r->seconds > 10) o.sample_time = r->seconds / 2000;
    o.sample = keep;
    o.sample_user = r;
    r->nq = soa_model_nq(model);
    r->nv = soa_model_nv(model);
    r->columns = 1 + r->nq + r->nv + 4;
    r->tty = isatty(2);
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_status status = soa_simulate(model, q, NULL, &o, result, &report);
    if (r->tty && r->shown < 100) app_note("\n");
    if (status != SOA_OK)
        return app_fail(&app_drop, "%s",
                        report.text[0] != '\0' ? report.text : soa_status_text(status));
    return r->out_of_memory ? app_fail(&app_drop, "no memory left to keep the motion") : APP_OK;
}

static int drop(const soa_model *model, const char *name, const app_args *args, record *r) {
    const char *dir = args->value[OUT] != NULL ? args->value[OUT] : ".";
    char csv[4200], svg[4200];
    if (make_directories(dir) != 0)
        return app_fail(&app_drop, "--out %s: %s", dir, strerror(errno));
    snprintf(csv, sizeof csv, "%.4000s/drop.csv", dir);
    snprintf(svg, sizeof svg, "%.4000s/drop.svg", dir);
    double *q = malloc((size_t)(soa_model_nq(model) + 1) * sizeof(double));
    if (q == NULL) return app_fail(&app_drop, "no memory left");
    int code = read_start(model, name, args->value[START], q);
    soa_sim_result result;
    if (code == APP_OK) {
        code = simulate(model, q, r, &result);
        /* The samples so far, also after a failure. */
        int written = write_csv(r, csv);
        if (code == APP_OK) code = written;
    }
    if (code == APP_OK) code = draw(model, r, svg);
    if (code == APP_OK) {
        summary(model, &result);
        app_print("\nresults: %s (%ld rows), %s\n", csv, r->count, svg);
    }
    free(q);
    return code;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_drop, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *name = args.value[MODEL] != NULL ? args.value[MODEL] : "puma560";
    record r = {.seconds = 2};
    if (args.value[SECONDS] != NULL) {
        char *end;
        r.seconds = strtod(args.value[SECONDS], &end);
        if (end == args.value[SECONDS] || *end != '\0' || !(r.seconds > 0 && r.seconds <= 1e5))
            return app_fail(&app_drop, "--seconds '%s': write a number above 0, at most 100000",
                            args.value[SECONDS]);
    }
    const soa_model *model = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_constraint_list constraints;
    soa_status status = soa_model_open(name, NULL, &model, &constraints, &report);
    if (status != SOA_OK)
        return app_fail(&app_drop, "--model: %s",
                        report.text[0] != '\0' ? report.text : soa_status_text(status));
    app_say_left_out(&app_drop, name, constraints.count);
    soa_constraint_list_free(&constraints);
    code = drop(model, name, &args, &r);
    soa_model_free(model);
    free(r.rows);
    return code;
}
