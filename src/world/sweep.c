/* sweep.c  runs many cases of one scenario, each with its own random numbers, and writes one
 * table.
 *
 * case k     By soa_scenario_vary. Its numbers depend only on (seed, k, number of the variation),
 *            so it does not matter where or in what order cases run. Its row is one line of text
 *            with 17 digits and no wall-clock time.
 * threads    The remaining cases are given to threads one by one (OpenMP); each world is used by
 *            one thread only.
 * ranks      Rank r of n takes every n-th of them. Rows are exchanged as text before and after
 *            (options->exchange), so all ranks know all rows; rank 0 writes the table.
 * killed     Each finished row is appended, with a checksum, to TABLE.cases (TABLE.cases.R for
 *            rank R > 0). A resumed sweep reads all such files it finds, drops an incomplete last
 *            line, and runs the missing cases.
 *
 * The table gets its name when it is complete; then the side files are removed. */
#define _XOPEN_SOURCE 700
#include "../base/new_file.h"
#include "../base/visible.h"
#include "world_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIGURES = 15, RANKS_MOST = 4096 };
static const char *const figure_names[FIGURES] = {"case",
                                                  "held",
                                                  "position_error_m",
                                                  "attitude_error_deg",
                                                  "fingers_lost",
                                                  "fingers_slipped",
                                                  "slip_worst_m",
                                                  "internal_force_N",
                                                  "internal_force_least_N",
                                                  "internal_force_most_N",
                                                  "momentum_error_rel",
                                                  "energy_error_rel",
                                                  "touches",
                                                  "simulated_s",
                                                  "warnings"};

typedef struct sweep {
    const soa_scenario *scenario;
    const soa_sweep_options *o;
    soa_sweep_result *result;
    char **rows; /* one per case; NULL: not done */
    int *todo, todo_count;
    char head[200]; /* first line of the side files: identifies the sweep */
    char *side;     /* this rank's side file */
    int fd;
    time_t synced;
    _Atomic soa_status status; /* first failure that ends the sweep; all threads read it */
    soa_report *report;
} sweep;

/* --- rows ------------------------------------------------------------------------------------- */
static void put_number(FILE *out, double x) {
    if (x != x)
        fputs(",nan", out); /* the sign of NaN has no meaning */
    else
        fprintf(out, ",%.17g", x);
}
static void put_text(FILE *out, const char *text) {
    fputs(",\"", out);
    while (*text) {
        char escaped[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(text, strlen(text), escaped);
        if (*text == '"') fputc('"', out);
        if (escaped[0])
            fputs(escaped, out);
        else
            fwrite(text, 1, n, out);
        text += n;
    }
    fputc('"', out);
}
static char *row_of(const soa_scenario *scenario, int number, const soa_world_summary *s,
                    const double *values, const char *fault) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    const int began = !fault[0] || s->t > 0;
    const double judged[] = {s->held && !fault[0] ? 1 : 0, s->position_error_m,
                             s->attitude_error_deg,        s->fingers_lost,
                             s->fingers_slipped,           s->slip_worst_m,
                             s->internal_force_N,          s->internal_force_least,
                             s->internal_force_most};
    fprintf(out, "%d", number);
    for (size_t i = 0; i < sizeof judged / sizeof *judged; ++i)
        put_number(out, s->judged && began ? judged[i] : NAN);
    put_number(out, s->is_free && began ? s->momentum_error_rel : NAN);
    put_number(out, began ? s->energy_error_rel : NAN);
    fprintf(out, ",%lld", s->touches);
    put_number(out, s->t);
    fprintf(out, ",%d", s->warning_count + s->more_warnings);
    for (int i = 0; i < scenario->variation_count; ++i)
        put_number(out, values[i]);
    put_text(out, s->phase ? s->phase : "");
    put_text(out, fault);
    const int bad = ferror(out);
    if (fclose(out) || bad) {
        free(text);
        text = NULL;
    }
    return text;
}
static char *heading(const soa_scenario *scenario) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (int i = 0; i < FIGURES; ++i)
        fprintf(out, "%s%s", i ? "," : "", figure_names[i]);
    for (int i = 0; i < scenario->variation_count; ++i) {
        const char *path = scenario->variations[i].path;
        int plain = !strpbrk(path, ",\"\\");
        for (const char *c = path; *c; ++c)
            plain = plain && *c >= ' ' && *c < 0x7f;
        if (plain)
            fprintf(out, ",%s", path);
        else
            put_text(out, path);
    }
    fputs(",phase,fault\n", out);
    const int bad = ferror(out);
    if (fclose(out) || bad) {
        free(text);
        text = NULL;
    }
    return text;
}
/* Stores `length` bytes of text as the row of the case it begins with. An existing row is kept. */
static soa_status take_row(sweep *w, const char *text, size_t length) {
    char *end;
    const long number = strtol(text, &end, 10);
    if (end == text || *end != ',' || number < 0) return SOA_E_FORMAT;
    if (number >= w->o->cases || w->rows[number]) return SOA_OK;
    char *copy = malloc(length + 1);
    if (!copy) return SOA_E_MEMORY;
    memcpy(copy, text, length);
    copy[length] = 0;
    w->rows[number] = copy;
    return SOA_OK;
}
/* Computes counts and worst figures of all rows. */
static void sum_up(sweep *w) {
    soa_sweep_result *r = w->result;
    r->done = r->held = r->faults = r->warned = 0;
    r->position_error_m = r->attitude_error_deg = r->energy_error_rel = 0;
    r->momentum_error_rel = NAN;
    for (int k = 0; k < w->o->cases; ++k) {
        if (!w->rows[k]) continue;
        double f[FIGURES] = {0};
        const char *at = w->rows[k];
        for (int i = 0; i < FIGURES && *at; ++i) {
            char *end;
            f[i] = strtod(at, &end);
            at = *end ? end + 1 : end;
        }
        const size_t length = strlen(w->rows[k]);
        ++r->done;
        if (length < 3 || strcmp(w->rows[k] + length - 3, ",\"\"")) ++r->faults;
        if (f[10] == f[10] && !(f[10] <= r->momentum_error_rel)) r->momentum_error_rel = f[10];
        r->warned += f[14] > 0;
        if (f[11] > r->energy_error_rel) r->energy_error_rel = f[11];
        if (!(f[1] > 0)) continue;
        ++r->held;
        r->position_error_m = fmax(r->position_error_m, f[2]);
        r->attitude_error_deg = fmax(r->attitude_error_deg, f[3]);
    }
}

/* --- side files ------------------------------------------------------------------------------- */
static char *side_name(const char *table, int rank) {
    const size_t size = strlen(table) + 24;
    char *name = malloc(size);
    if (!name) return NULL;
    if (rank)
        snprintf(name, size, "%s.cases.%d", table, rank);
    else
        snprintf(name, size, "%s.cases", table);
    return name;
}
static soa_status read_whole(const char *path, char **text, size_t *size) {
    FILE *file = fopen(path, "rb");
    *text = NULL;
    *size = 0;
    if (!file) return SOA_E_FILE;
    size_t most = 0, n = 1;
    while (n > 0) {
        if (*size + 1 >= most) {
            char *bigger = realloc(*text, most = most ? 2 * most : 65536);
            if (!bigger) break;
            *text = bigger;
        }
        n = fread(*text + *size, 1, most - *size - 1, file);
        *size += n;
    }
    const int bad = ferror(file) || n > 0;
    fclose(file);
    if (bad) {
        free(*text);
        *text = NULL;
        return SOA_E_FILE;
    }
    (*text)[*size] = 0;
    return SOA_OK;
}
/* Reads the rows of one side file. `good`: bytes up to the end of its last good line. */
static soa_status read_side(sweep *w, const char *path, size_t *good) {
    char *text;
    size_t size;
    *good = 0;
    soa_status s = read_whole(path, &text, &size);
    if (s) return soai_report(w->report, s, -1, 0, "%.150s: %s", path, strerror(errno));
    const size_t head = strlen(w->head);
    if (size < head || memcmp(text, w->head, head)) {
        /* an incomplete first line: the file has no rows */
        if (size >= head || memcmp(text, w->head, size))
            s = soai_report(
                w->report, SOA_E_FORMAT, -1, 0,
                "%.120s is of another scenario, seed or version; remove it to begin anew", path);
        free(text);
        return s;
    }
    *good = head;
    for (char *line = text + head; !s;) {
        char *end = strchr(line, '\n');
        if (!end) break;
        uint64_t sum;
        int skip = 0;
        if (sscanf(line, "%16" SCNx64 " %n", &sum, &skip) != 1 || skip != 17 ||
            soai_checksum(line + skip, (size_t)(end - line - skip)) != sum)
            break;
        s = take_row(w, line + skip, (size_t)(end - line - skip));
        line = end + 1;
        *good = (size_t)(line - text);
    }
    free(text);
    return s;
}
/* Reads all existing side files. */
static soa_status read_sides(sweep *w, size_t *own) {
    soa_status s = SOA_OK;
    *own = 0;
    for (int rank = 0; !s && rank < RANKS_MOST; ++rank) {
        char *name = side_name(w->o->table, rank);
        size_t good = 0;
        if (!name) return SOA_E_MEMORY;
        if (!access(name, F_OK)) {
            if (!w->o->resume)
                s = soai_report(w->report, SOA_E_FILE, -1, 0,
                                "%.120s holds finished cases of a sweep that was stopped; resume "
                                "it, or remove that file",
                                name);
            else
                s = read_side(w, name, &good);
            if (rank == w->o->rank) *own = good;
        }
        free(name);
    }
    return s;
}
static soa_status open_side(sweep *w, size_t good) {
    /* read_sides has found that there is none. */
    const int fresh = w->o->resume ? 0 : O_EXCL;
    w->fd = open(w->side, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | fresh, 0666);
    if (w->fd < 0 || flock(w->fd, LOCK_EX | LOCK_NB) || ftruncate(w->fd, (off_t)good) ||
        lseek(w->fd, (off_t)good, SEEK_SET) < 0 ||
        (!good && (errno = soai_write_all(w->fd, w->head, strlen(w->head)))))
        return soai_report(w->report, SOA_E_FILE, -1, 0, "%.150s: %s", w->side,
                           errno == EWOULDBLOCK ? "another sweep writes it" : strerror(errno));
    return SOA_OK;
}
static soa_status append(sweep *w, const char *row) {
    if (w->fd < 0) return SOA_OK;
    const size_t size = strlen(row) + 24;
    char *line = malloc(size);
    if (!line) return SOA_E_MEMORY;
    const int length =
        snprintf(line, size, "%016" PRIx64 " %s\n", soai_checksum(row, strlen(row)), row);
    int bad = soai_write_all(w->fd, line, (size_t)length);
    free(line);
    const time_t now = time(NULL);
    if (!bad && now - w->synced >= 2) {
        bad = soai_sync(w->fd);
        w->synced = now;
    }
    return bad ? soai_report(w->report, SOA_E_FILE, -1, 0, "%.150s: %s", w->side, strerror(bad))
               : SOA_OK;
}

/* --- one case --------------------------------------------------------------------------------- */
static bool poll_stop(void *user, soa_world *world) {
    const sweep *w = user;
    (void)world;
    return w->status || (w->o->stop && w->o->stop(w->o->user));
}
static void run_case(sweep *w, int number) {
    soa_scenario varied;
    soa_world *world = NULL;
    soa_report report = {.body = -1};
    soa_world_summary summary = {.phase = ""};
    double *values = calloc((size_t)w->scenario->variation_count + 1, sizeof *values);
    soa_status s = values ? SOA_OK : SOA_E_MEMORY;
    int made = 0, stopped = 0;
    if (poll_stop(w, NULL)) {
        free(values);
        return;
    }
    if (!s) {
/* The libraries that read models use shared tables. */
#ifdef _OPENMP
#pragma omp critical(soa_sweep_open)
#endif
        {
            s = soa_scenario_vary(w->scenario, (uint64_t)number, &varied, values, &report);
            if (!s) {
                made = 1;
                s = soa_world_create(&varied, &world, &report);
            }
        }
    }
    if (!s) {
        const soa_run_options how = {.progress = poll_stop, .user = w};
        report.text[0] = 0;
        s = soa_world_run(world, NULL, &how, &report);
        stopped =
            !s && soa_world_time(world) < varied.duration - 0.5 * soa_world_tick_length(world);
        soa_world_summarise(world, &summary);
    }
    if (!stopped) {
        char *row;
        if (s == SOA_E_MEMORY) {
            row = NULL;
        } else {
            const char *why = report.text[0] ? report.text : soa_status_text(s);
            row = row_of(w->scenario, number, &summary, values, s ? why : "");
        }
#ifdef _OPENMP
#pragma omp critical(soa_sweep_done)
#endif
        {
            soa_status ended = row ? append(w, row) : SOA_E_MEMORY;
            w->rows[number] = row;
            if (ended && !w->status) w->status = ended;
            ++w->result->ran;
            if (w->o->progress) {
                sum_up(w);
                w->o->progress(w->o->user, w->result);
            }
        }
    }
    soa_world_free(world);
    if (made) soa_scenario_free(&varied);
    free(values);
}

/* --- the sweep -------------------------------------------------------------------------------- */
/* Exchanges all rows among the ranks, and whether each rank has succeeded; without ranks nothing
 * happens. `own`: status of this rank. Returns the same status, or the failure of another rank. */
static soa_status exchange(sweep *w, soa_status own) {
    if (!w->o->exchange) return own;
    char *mine = NULL, *all = NULL;
    size_t size = 0, all_size = 0;
    FILE *out = open_memstream(&mine, &size);
    if (!out) return SOA_E_MEMORY;
    if (own) fputs("failed\n", out);
    for (int k = 0; k < w->o->cases; ++k)
        if (w->rows[k]) fprintf(out, "%s\n", w->rows[k]);
    if (fclose(out)) {
        free(mine);
        return SOA_E_MEMORY;
    }
    soa_status s = w->o->exchange(w->o->user, mine, size, &all, &all_size);
    free(mine);
    int failed = 0;
    for (size_t at = 0; !s && at < all_size;) {
        const char *end = memchr(all + at, '\n', all_size - at);
        if (!end) break;
        if (all[at] == 'f')
            failed = 1;
        else
            s = take_row(w, all + at, (size_t)(end - all) - at);
        at = (size_t)(end - all) + 1;
    }
    free(all);
    if (own) return own;
    if (s)
        return soai_report(w->report, s, -1, 0, "the ranks could not exchange their rows: %s",
                           soa_status_text(s));
    return failed ? soai_report(w->report, SOA_E_FILE, -1, 0,
                                "another rank failed; finished cases are kept")
                  : SOA_OK;
}
static soa_status write_table(sweep *w) {
    soai_new_file file;
    char *head = heading(w->scenario);
    if (!head) return SOA_E_MEMORY;
    soa_status s = soai_new_file_open(&file, w->o->table, 0, w->report);
    if (!s) {
        int bad = soai_write_all(file.fd, head, strlen(head));
        for (int k = 0; !bad && k < w->o->cases; ++k) {
            bad = soai_write_all(file.fd, w->rows[k], strlen(w->rows[k]));
            if (!bad) bad = soai_write_all(file.fd, "\n", 1);
        }
        s = bad ? soai_report(w->report, SOA_E_FILE, -1, 0, "%.150s: %s", w->o->table,
                              strerror(bad))
                : soai_new_file_commit(&file, w->report);
    }
    soai_new_file_end(&file);
    free(head);
    return s;
}

soa_sweep_options soa_sweep_options_default(void) {
    return (soa_sweep_options){.cases = 100, .ranks = 1};
}

soa_status soa_scenario_sweep(const soa_scenario *scenario, const soa_sweep_options *options,
                              soa_sweep_result *result, soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    soa_sweep_result unseen;
    if (!result) result = &unseen;
    *result = (soa_sweep_result){0};
    if (!scenario || !options || options->cases < 1 || options->cases > 100000000 ||
        options->threads < 0 || options->ranks < 1 || options->ranks > RANKS_MOST ||
        options->rank < 0 || options->rank >= options->ranks ||
        (options->ranks > 1 && !options->exchange))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "a sweep wants a scenario, 1 case or more, and ranks that can talk");
    /* A trial world: reports errors in the scenario before anything is written. */
    soa_world *trial = NULL;
    soa_status s = soa_world_create(scenario, &trial, report);
    soa_world_free(trial);
    int phase;
    int action;
    if (!s && soa_scenario_find_external(scenario, &phase, &action)) {
        const soa_phase *of = &scenario->control.phases[phase];
        s = soai_scenario_fault(scenario, of->actions[action].mark, SOA_E_ARGUMENT, report,
                                "the torques of phase '%s', action '%s' come from a program "
                                "(law external), which a sweep cannot ask; run the cases from "
                                "Python or C (in Python: scenario.run(case=N, controller=...))",
                                of->name,
                                of->actions[action].name ? of->actions[action].name : "external");
    }
    const size_t cases = (size_t)options->cases;
    sweep w = {.scenario = scenario,
               .o = options,
               .result = result,
               .fd = -1,
               .synced = time(NULL),
               .report = report};
    result->cases = options->cases;
    w.rows = calloc(cases, sizeof *w.rows);
    w.todo = calloc(cases, sizeof *w.todo);
    if (!w.rows || !w.todo) {
        free(w.rows);
        free(w.todo);
        return soai_report(report, SOA_E_MEMORY, -1, 0, "%s", soa_status_text(SOA_E_MEMORY));
    }
    const char *title = scenario->name ? scenario->name : "";
    snprintf(w.head, sizeof w.head,
             "soa sweep 1, soa %s, scenario %016" PRIx64 ", seed %" PRIu64 "\n", SOA_VERSION,
             scenario->source ? soai_checksum(scenario->source, scenario->source_size)
                              : soai_checksum(title, strlen(title)),
             scenario->seed);
    size_t good = 0;
    if (!s && options->table) {
        w.side = side_name(options->table, options->rank);
        s = w.side ? read_sides(&w, &good) : SOA_E_MEMORY;
    }
    /* All ranks look before any writes, so that a new side file is not taken for one of a stopped
     * sweep. */
    s = exchange(&w, s);
    if (!s && options->table) s = open_side(&w, good);
    /* All ranks meet here, also those that failed, so that none is left waiting. */
    w.status = s = exchange(&w, s);
    int turn = 0;
    for (int k = 0; !s && k < options->cases; ++k)
        if (!w.rows[k] && turn++ % options->ranks == options->rank) w.todo[w.todo_count++] = k;
    if (!s) {
        sum_up(&w);
        result->kept = result->done;
        result->mine = w.todo_count;
    }
    if (!s && options->progress) options->progress(options->user, result);
#ifdef _OPENMP
    const int threads = options->threads ? options->threads : soa_openmp_thread_count();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
#endif
    for (int i = 0; i < w.todo_count; ++i)
        run_case(&w, w.todo[i]);
    const int unsafe = w.fd >= 0 ? soai_sync(w.fd) : 0;
    if (unsafe && !w.status)
        w.status = soai_report(report, SOA_E_FILE, -1, 0, "%.150s: %s", w.side, strerror(unsafe));
    if (!s) s = exchange(&w, w.status);
    sum_up(&w);
    if (!s) result->stopped = result->done < options->cases;
    if (!s && !result->stopped && options->table) {
        if (!options->rank) s = write_table(&w);
        /* All ranks wait for the table before they remove their rows. */
        s = exchange(&w, s);
        for (int rank = 0; !s && rank < RANKS_MOST; ++rank) {
            char *name = side_name(options->table, rank);
            if (name && (rank == options->rank || !options->rank)) unlink(name);
            free(name);
        }
    }
    if (w.fd >= 0) close(w.fd);
    for (size_t k = 0; k < cases; ++k)
        free(w.rows[k]);
    free(w.rows);
    free(w.todo);
    free(w.side);
    return soai_report_end(report, s);
}
