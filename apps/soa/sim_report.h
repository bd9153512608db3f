/* sim_report.h  how a run of a world is shown: its scenario opened, progress, summary for people, summary as JSON. */
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
/* A soa_run_progress_fn; user is an app_progress.  Ends the run when a signal asks for it. */
int app_show_progress(void *user, soa_world *world);
void app_progress_end(const app_progress *progress);
/* From here on SIGINT and SIGTERM end a run at the next tick; nonzero once one has come. */
void app_catch_signals(void);
int app_interrupted(void);

/* Whether all cases of a scenario are one: nothing is varied, no sensor is noisy. */
int app_cases_alike(const soa_scenario *scenario);
/* A scenario with --seed and --case (NULL: not given); original: what a case was drawn from, else empty.  Free both.  An exit
 * code; on a fault there is nothing to free. */
int app_open_scenario(const app_command *command, const char *spec, const char *seed, const char *number,
                      soa_scenario *scenario, soa_scenario *original);

void app_print_summary(const soa_scenario *scenario, const soa_world_summary *summary);
/* fault NULL: the run went to its end.  Returns an exit code; mistakes are explained in the name of `command`. */
int app_write_summary(const app_command *command, const char *path, const soa_scenario *scenario,
                      const soa_world_summary *summary, const char *fault);
/* The report of a log (report.c), said in the name of `command`. */
int app_write_report(const app_command *command, const char *log, const char *path, int quiet);
#endif
