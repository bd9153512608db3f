/* scene.h  what is drawn: the scene as JSON; frames, overviews and samples as bytes
 * (docs/view-protocol.md).
 *
 * A view_scene is made once from a world, a single machine or a log, and converts states to frames.
 * It has its own work space, so frames of a copy of (q, v) may be made while the world moves in
 * another thread. A scene itself belongs to one thread at a time. Messages are appended to an
 * app_out (out.h, fd -1: memory); its earlier contents are kept, so a caller may write a header
 * first. If a call fails, nothing is appended. */
#ifndef VIEW_SCENE_H
#define VIEW_SCENE_H

#include "../output/damage.h"
#include "../output/out.h"
#include "soa/io.h"
#include "soa/world.h"

typedef struct view_scene view_scene;

/* What is shown: a world with its scenario; or a model; or neither: only plots of a log. Everything
 * referenced here must outlive the scene. */
typedef struct view_source {
    const char *kind; /* "scenario", "log", "model" */
    int live;
    const soa_scenario *scenario;
    soa_world *world;
    const soa_model *model;                 /* instead of a world */
    const soa_constraint_list *constraints; /* constraints of the model; may be NULL */
    /* Name by which the model was opened, for a URDF's visual shapes; may be NULL. */
    const char *spec;
    soa_log *log;             /* the record; may be NULL */
    const char *title, *text; /* NULL: the scenario's or the model's */
} view_source;

/* Allocates. What cannot be shown (a missing mesh) is not a failure; view_scene_note reports it. */
soa_status view_scene_create(const view_source *source, view_scene **scene, soa_report *report);
void view_scene_free(view_scene *scene);
/* Remarks; NULL after the last. */
const char *view_scene_note(const view_scene *scene, int index);
void view_scene_add_note(view_scene *scene, const char *text);

/* Damage of the log that overviews and samples have found so far. */
const view_damage *view_scene_damage(const view_scene *scene);

/* Adds one row of the summary. Texts are copied. */
soa_status view_scene_add_summary(view_scene *scene, const char *name, const char *value);
void view_scene_clear_summary(view_scene *scene);

/* Writes the scene, with the record as it is now. */
soa_status view_scene_json(view_scene *scene, app_out *out);
/* Writes only its summary and notes, for clients that have the scene already. */
soa_status view_summary_json(const view_scene *scene, app_out *out);
/* Number of events in the last scene; long lists are shortened. */
int64_t view_event_count(const view_scene *scene);
/* Sets another record of the same world, after the run was restarted. */
void view_scene_set_log(view_scene *scene, soa_log *log);

/* Number of a shape by its name in the scenario; -1: none. Likewise for phases. */
int view_shape_of(const view_scene *scene, const char *name);
int view_phase_of(const view_scene *scene, const char *name);
/* Number of bodies drawn, including the world; 0: only plots. */
int view_body_count(const view_scene *scene);

/* --- messages --------------------------------------------------------------------------------- */
typedef struct view_contact {
    double point[3], force[3]; /* on shape a, world axes */
    int a, b;                  /* shapes of the scene, -1: not known */
} view_contact;

typedef struct view_state {
    double t;
    int phase;         /* -1: none */
    const double *q;   /* nq numbers; quaternions are normalised in a copy */
    const double *v;   /* nv numbers, or NULL: at rest */
    int contact_count; /* contacts that are not finite are left out */
    const view_contact *contacts;
} view_state;

/* Converts a contact of the world, for the same shape as in a record, so that live and recorded
 * forces have the same sign. */
void view_contact_of(const view_scene *scene, const soa_world_contact *from, view_contact *to);

/* Writes a frame (message 1). A state that is not finite is drawn at the last good one. */
soa_status view_frame(view_scene *scene, uint32_t id, const view_state *state, app_out *out);
/* Frame of the world's present state. */
soa_status view_frame_of_world(view_scene *scene, uint32_t id, const soa_world *world,
                               app_out *out);
/* Frame of the last sample of the scene's log that is not after t, with contacts as recorded.
 * SOA_E_ARGUMENT: no log, no samples, or no bodies. */
soa_status view_frame_of_log(view_scene *scene, uint32_t id, double t, app_out *out,
                             soa_report *report);
/* Frame of one sample by its number. */
soa_status view_frame_of_sample(view_scene *scene, uint32_t id, int64_t sample, app_out *out,
                                soa_report *report);

/* Messages 2 and 3 from the scene's log. signals NULL: all. */
soa_status view_overview(view_scene *scene, uint32_t id, const int *signals, int signal_count,
                         double t0, double t1, int columns, app_out *out, soa_report *report);
/* Writes the samples in [t0, t1], at most `most` values in all. If there are more, the first ones,
 * and the message says so. */
soa_status view_samples(view_scene *scene, uint32_t id, const int *signals, int signal_count,
                        double t0, double t1, int64_t most, app_out *out, soa_report *report);

#endif
