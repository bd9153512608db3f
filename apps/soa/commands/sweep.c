/* sweep.c  soa sweep: runs many cases of a scenario, on all cores, and on several machines under
 * mpirun. */
#include "../../../src/base/visible.h"
#include "../app.h"
#include "../ranks.h"
#include "../sim_report.h"
#include "soa/world.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CASES, OUT, JOBS, RESUME, SEED, STRICT, QUIET };
static const app_option options[] = {
    {"--cases", "-n", "N", "how many cases, numbered from 0 (default 100)"},
    {"--out", "-o", "TABLE", "the table, CSV (default: the scenario's name with -sweep.csv)"},
    {"--jobs", "-j", "N", "threads (default: all cores; under mpirun one per rank)"},
    {"--resume", NULL, NULL,
     "go on with a sweep that was stopped or killed: its finished cases are kept"},
    {"--seed", NULL, "N", "another seed than the scenario's: other draws, other noise"},
    {"--strict", NULL, NULL, "exit with 1 if a case ends with a warning"},
    {"--quiet", "-q", NULL, "no progress and no summary on the terminal"},
    APP_OPTION_END,
};

static int run(int argc, char **argv);
const app_command app_sweep = {
    .name = "sweep",
    .words = "SCENARIO",
    .least = 1,
    .most = 1,
    .summary = "Runs many cases of a scenario, their quantities drawn at random",
    .text = "What varies stands under `sweep` in the scenario (docs/scenarios.md).  The numbers of "
            "a case depend on "
            "the seed and\n"
            "the case alone, so the table has the same bytes for any number of threads and, "
            "started under mpirun, of "
            "ranks.\n"
            "Finished cases are kept in TABLE.cases until the table is whole: Ctrl-C stops, a kill "
            "loses at most the "
            "cases that\n"
            "were running, --resume goes on.  One case again: soa sim SCENARIO --case N.\n"
            "Exit status: 0 all cases ran, 1 some ended in a fault or (with --strict) with a "
            "warning, or the sweep was "
            "stopped, 2 could not run.\n",
    .options = options,
    .examples = "  soa sweep grapple --cases 100 -o grapple.csv\n"
                "  soa sweep grapple --cases 100 -o grapple.csv --resume\n"
                "  mpirun -n 4 soa sweep grapple --cases 100 -o grapple.csv\n",
    .run = run,
};

app_ranks app_mpi = {.size = 1};

static volatile sig_atomic_t interrupted;
static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

typedef struct bar {
    struct timespec begun;
    double shown;
    /* asked: the scenario says what is to be held. */
    int tty, quiet, asked;
} bar;
static bool stop(void *user) {
    (void)user;
    return interrupted != 0;
}
static void progress(void *user, const soa_sweep_result *now) {
    bar *b = user;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double wall =
        (double)(t.tv_sec - b->begun.tv_sec) + 1e-9 * (double)(t.tv_nsec - b->begun.tv_nsec);
    const int last = now->ran == now->mine;
    if (b->quiet || (!last && now->ran && wall - b->shown < (b->tty ? 0.1 : 10))) return;
    enum { BAR = 30 };
    char line[BAR + 1], left[64] = "";
    for (int k = 0; k < BAR; ++k)
        line[k] = k * now->cases < now->done * BAR ? '#' : '.';
    line[BAR] = 0;
    if (now->ran && !last) {
        const double rest = wall / now->ran * (now->mine - now->ran);
        snprintf(left, sizeof left, ", about %d:%02d min left", (int)(rest / 60),
                 (int)fmod(rest, 60));
    }
    char held[32] = "";
    if (b->asked) snprintf(held, sizeof held, ", %d held", now->held);
    app_note(b->tty ? "\r[%s] %d of %d cases%s%s\033[K" : "[%s] %d of %d cases%s%s\n", line,
             now->done, now->cases, held, left);
    b->shown = wall;
}

/* Under mpirun, a program built without MPI hands over to the one beside it that has it. */
static int started_by_mpirun(void) {
    const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < 2; ++i)
        if (getenv(names[i]) && atoi(getenv(names[i])) > 1) return 1;
    return 0;
}
static int hand_over(char **argv) {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash = NULL;
    if (n > 0) {
        path[n] = 0;
        slash = strrchr(path, '/');
    }
    if (slash) {
        memcpy(slash + 1, "soa-mpi", 8);
        execv(path, argv);
    }
    return app_fail(
        &app_sweep,
        "started under mpirun, but soa-mpi is not beside soa: build it where MPI is installed (%s)",
        strerror(errno));
}

/* Name of the table: the scenario's name with an extension, always in the present folder. */
static void default_table(char *table, size_t room, const char *name) {
    char safe[200];
    size_t used = 0;
    for (size_t left = strlen(name); left > 0 && used + 4 < sizeof safe;) {
        char escaped[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(name, left, escaped);
        const int odd = escaped[0] || *name == '/' || (*name == '.' && used == 0);
        memcpy(safe + used, odd ? "_" : name, odd ? 1 : n);
        used += odd ? 1 : n;
        name += n;
        left -= n;
    }
    safe[used] = 0;
    snprintf(table, room, "%s-sweep.csv", safe);
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_sweep, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    if (!app_mpi.exchange && started_by_mpirun()) return hand_over(argv);
    soa_sweep_options how = soa_sweep_options_default();
    uint64_t n = 0;
    if (args.value[CASES]) {
        if ((code = app_read_whole(&app_sweep, "--cases", args.value[CASES], 1, 100000000, &n)) !=
            APP_OK)
            return code;
        how.cases = (int)n;
    }
    if (app_mpi.exchange) how.threads = 1;
    if (args.value[JOBS]) {
        if ((code = app_read_whole(&app_sweep, "--jobs", args.value[JOBS], 1, 10000, &n)) != APP_OK)
            return code;
        how.threads = (int)n;
    }
    soa_scenario scenario;
    soa_report report = {.body = -1};
    if (app_refuse_others(&app_sweep, args.word[0], APP_SCENARIO) != APP_OK) return APP_FAILED;
    if (soa_scenario_open(args.word[0], &scenario, &report))
        return app_fail_scenario(&app_sweep, report.text);
    code = APP_FAILED;
    if (app_cases_alike(&scenario)) {
        app_fail(&app_sweep,
                 "%s has no sweep and no noisy sensors, so all its cases are one: run soa sim %s, "
                 "or say under `sweep` "
                 "what varies (docs/scenarios.md)",
                 args.word[0], args.word[0]);
        goto done;
    }
    if (args.value[SEED]) {
        if (app_read_whole(&app_sweep, "--seed", args.value[SEED], 0, UINT64_MAX, &n) != APP_OK)
            goto done;
        scenario.seed = n;
    }
    char table[PATH_MAX];
    if (args.value[OUT])
        snprintf(table, sizeof table, "%s", args.value[OUT]);
    else
        default_table(table, sizeof table, scenario.name ? scenario.name : "scenario");
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bar b = {.quiet = args.value[QUIET] != NULL || app_mpi.rank > 0,
             .tty = isatty(2),
             .asked = scenario.success.object != NULL};
    clock_gettime(CLOCK_MONOTONIC, &b.begun);
    how.table = table;
    how.resume = args.value[RESUME] != NULL;
    how.rank = app_mpi.rank;
    how.ranks = app_mpi.size;
    how.exchange = app_mpi.exchange;
    how.stop = stop;
    how.progress = progress;
    how.user = &b;
    soa_sweep_result r;
    const soa_status s = soa_scenario_sweep(&scenario, &how, &r, &report);
    if (b.tty && !b.quiet) app_note("\r\033[K");
    if (s) {
        app_fail(&app_sweep, "%s", report.text);
        goto done;
    }
    code = r.stopped || r.faults || (args.value[STRICT] && r.warned) ? APP_SOME_BAD : APP_OK;
    if (!b.quiet) {
        app_print("%s: ", scenario.name ? scenario.name : "scenario");
        if (b.asked)
            app_print("held %d of %d cases", r.held, r.done);
        else
            app_print("%d cases", r.done);
        if (r.faults) app_print(", %d ended in a fault", r.faults);
        if (r.warned)
            app_print(", %d with warnings (column warnings; soa sim SCENARIO --case N says which)",
                      r.warned);
        if (r.kept) app_print("; %d were kept from before", r.kept);
        if (b.asked)
            app_print("\nof those held the worst is off by %.3g mm and %.3g deg",
                      1e3 * r.position_error_m, r.attitude_error_deg);
        app_print("\n");
        if (r.momentum_error_rel == r.momentum_error_rel)
            app_print("momentum within %.1e, ", r.momentum_error_rel);
        app_print("energy balance within %.1e in all cases\n", r.energy_error_rel);
        if (r.stopped)
            app_print("stopped with %d of %d cases done; go on with --resume\n", r.done, r.cases);
        else
            app_print("table      %s\n", table);
    }
done:
    soa_scenario_free(&scenario);
    return code;
}
