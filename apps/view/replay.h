/* replay.h  a log opened for viewing: its scenario, its world, its scene with a summary. */
#ifndef VIEW_REPLAY_H
#define VIEW_REPLAY_H
#include "scene.h"

typedef struct view_replay {
    soa_log *log;
    soa_scenario scenario;
    int has_scenario;
    /* NULL: it could not be made. Then there are only plots, and `why` explains. */
    soa_world *world;
    view_scene *scene;
    char why[sizeof((soa_report *)0)->text + 40];
    char *title;
} view_replay;

/* Opens a log; after a failure nothing needs closing. `replay` must not move in memory until it is
 * closed. */
soa_status view_replay_open(const char *path, view_replay *replay, soa_report *report);
void view_replay_close(view_replay *replay);

/* Adds the rows of the summary to the scene, from the log and from the state at its last
 * checkpoint. The world (NULL: none) is set to that state. */
soa_status view_summarise(view_scene *scene, soa_log *log, const soa_scenario *scenario,
                          soa_world *world, soa_report *report);
/* The same for a live run; replaces the previous rows. over: the run has ended. */
soa_status view_summarise_run(view_scene *scene, const soa_scenario *scenario,
                              const soa_world_summary *summary, int over);
#endif
