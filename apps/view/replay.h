/* replay.h  a log opened to be looked at: its scenario, its world, its scene with a summary. */
#ifndef VIEW_REPLAY_H
#define VIEW_REPLAY_H
#include "scene.h"

typedef struct view_replay {
    soa_log *log;
    soa_scenario scenario;
    int has_scenario;
    soa_world *world; /* NULL: it could not be made; then there are plots only, and `why` says why */
    view_scene *scene;
    char why[sizeof((soa_report *)0)->text + 40];
    char *title;
} view_replay;

/* Opens; on a fault nothing is left behind.  `replay` must stay where it is until it is closed. */
soa_status view_replay_open(const char *path, view_replay *replay, soa_report *report);
void view_replay_close(view_replay *replay);

/* The rows of the summary, from the log and from the state at its last checkpoint, which the world (NULL: none) is set to;
 * into the scene. */
soa_status view_summarise(view_scene *scene, soa_log *log, const soa_scenario *scenario, soa_world *world,
                          soa_report *report);
/* The same of a live run, in place of the rows before; over: it has come to its end. */
soa_status view_summarise_run(view_scene *scene, const soa_scenario *scenario, const soa_world_summary *summary,
                              int over);
#endif
