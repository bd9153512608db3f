/* scene.h  what is drawn: the scene as JSON, frames, overviews and samples as bytes (docs/view-protocol.md).
 *
 * A view_scene is made once from a world, a machine alone or a log, and turns states into frames.  It keeps its own work
 * space, so frames of a copy of (q, v) may be made while the world moves on in another thread; a scene itself belongs to
 * one thread at a time.  Messages are appended to an app_out (out.h, fd -1: memory): what stands there before stays, so a
 * caller may put its own head first.  Where a call fails, nothing is appended.                                         */
#ifndef VIEW_SCENE_H
#define VIEW_SCENE_H

#include "../output/damage.h"
#include "../output/out.h"
#include "soa/io.h"
#include "soa/world.h"

typedef struct view_scene view_scene;

/* What is to be seen.  A world with its scenario; or a model; or neither: plots of a log alone.  All that is named here
 * must outlive the scene. */
typedef struct view_source {
    const char *kind; /* "scenario", "log", "model" */
    int live;
    const soa_scenario *scenario;
    soa_world *world;
    const soa_model *model;                 /* instead of a world                                     */
    const soa_constraint_list *constraints; /* of the model; may be NULL                              */
    const char *spec;                       /* what the model was opened by, for a URDF's visuals; may be NULL */
    soa_log *log;                           /* the record; may be NULL                                */
    const char *title, *text;               /* NULL: the scenario's or the model's                    */
} view_source;

/* Allocates.  What could not be shown (a mesh that is missing) is told by view_scene_note, never a failure. */
soa_status view_scene_create(const view_source *source, view_scene **scene, soa_report *report);
void view_scene_free(view_scene *scene);
/* Remarks, NULL past the end. */
const char *view_scene_note(const view_scene *scene, int index);
void view_scene_add_note(view_scene *scene, const char *text);

/* Damage of the log that overviews and samples have met so far. */
const view_damage *view_scene_damage(const view_scene *scene);

/* One row of the summary.  Texts are copied. */
soa_status view_scene_add_summary(view_scene *scene, const char *name, const char *value);
void view_scene_clear_summary(view_scene *scene);

/* The scene, with the record as it is now. */
soa_status view_scene_json(view_scene *scene, app_out *out);
/* Its summary and notes alone, for those who have it already. */
soa_status view_summary_json(const view_scene *scene, app_out *out);
/* How many events the last one held: long lists are thinned out. */
int64_t view_event_count(const view_scene *scene);
/* Another record of the same world: a run begun anew. */
void view_scene_set_log(view_scene *scene, soa_log *log);

/* Shapes by their name in the scenario; -1: none.  Phases likewise. */
int view_shape_of(const view_scene *scene, const char *name);
int view_phase_of(const view_scene *scene, const char *name);
/* Bodies drawn, the world included; 0: plots only. */
int view_body_count(const view_scene *scene);

/* --- messages ------------------------------------------------------------------------------------------------------- */
typedef struct view_contact {
    double point[3], force[3]; /* on shape a, world axes */
    int a, b;                  /* shapes of the scene, -1: not known */
} view_contact;

typedef struct view_state {
    double t;
    int phase;         /* -1: none                                          */
    const double *q;   /* nq numbers; quaternions are made unit in a copy    */
    const double *v;   /* nv numbers, or NULL: at rest                      */
    int contact_count; /* those that are not finite are left out            */
    const view_contact *contacts;
} view_state;

/* A contact of the world, told for the shape that a record tells it for: live and recorded forces have one sign. */
void view_contact_of(const view_scene *scene, const soa_world_contact *from, view_contact *to);

/* A frame (message 1).  A state that is not finite is drawn where the last good one was. */
soa_status view_frame(view_scene *scene, uint32_t id, const view_state *state, app_out *out);
/* Of the world now. */
soa_status view_frame_of_world(view_scene *scene, uint32_t id, const soa_world *world, app_out *out);
/* Of the last sample of the scene's log that is not after t; contacts as they were recorded.  SOA_E_ARGUMENT: no log, no
 * samples, or no bodies. */
soa_status view_frame_of_log(view_scene *scene, uint32_t id, double t, app_out *out, soa_report *report);
/* Of one sample by its number. */
soa_status view_frame_of_sample(view_scene *scene, uint32_t id, int64_t sample, app_out *out, soa_report *report);

/* Message 2 and 3 from the scene's log.  signals NULL: all. */
soa_status view_overview(view_scene *scene, uint32_t id, const int *signals, int signal_count, double t0, double t1,
                         int columns, app_out *out, soa_report *report);
/* The samples in [t0, t1], at most `most` values in all (the first ones; the message says if there were more). */
soa_status view_samples(view_scene *scene, uint32_t id, const int *signals, int signal_count, double t0, double t1,
                        int64_t most, app_out *out, soa_report *report);

#endif
