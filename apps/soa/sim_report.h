/* sim_report.h  shows a run of a world: opens its scenario, prints progress and a summary, writes
 * the summary as JSON. */
#ifndef SOA_SIM_REPORT_H
#define SOA_SIM_REPORT_H
#include "app.h"
#include "soa/world.h"

#include <time.h>

typedef struct app_progress {
    double end, shown, t0;
    struct timespec begun;
    int tty, quiet;
    char phase[64];
} app_progress;
app_progress app_progress_start(const soa_world *world, double end, int quiet);
/* A soa_run_progress_fn; user is an app_progress. Ends the run after a signal. */
bool app_show_progress(void *user, soa_world *world);
void app_progress_end(const app_progress *progress);
/* After this call SIGINT and SIGTERM end a run at the next tick. app_interrupted() is nonzero after
 * one of them. */
void app_catch_signals(void);
int app_interrupted(void);

/* True if all cases of a scenario are equal: nothing is varied and no sensor is noisy. */
int app_cases_alike(const soa_scenario *scenario);
/* Opens a scenario with --seed and --case (NULL: not given). original: the scenario from which a
 * case was drawn, else empty. Free both. Returns an exit code; after a failure there is nothing to
 * free. */
int app_open_scenario(const app_command *command, const char *spec, const char *seed,
                      const char *number, soa_scenario *scenario, soa_scenario *original);

void app_print_summary(const soa_scenario *scenario, const soa_world_summary *summary);
/* fault NULL: the run reached its end. Returns an exit code; mistakes are reported in the name of
 * `command`. */
int app_write_summary(const app_command *command, const char *path, const soa_scenario *scenario,
                      const soa_world_summary *summary, const char *fault);
/* Writes the report of a log (report.c), with messages in the name of `command`. */
int app_write_report(const app_command *command, const char *log, const char *path, int quiet);
#endif
