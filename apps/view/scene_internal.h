/* scene_internal.h  the scene's data, shared by scene.c and frame.c. */
#ifndef VIEW_SCENE_INTERNAL_H
#define VIEW_SCENE_INTERNAL_H
#include "../output/damage.h"
#include "scene.h"

enum { VIEW_LINES = 64, VIEW_TRIED = 256, VIEW_CONTACTS = 512, VIEW_RECORDED = 64 };
#define VIEW_NEAR 0.5 /* m: no line is drawn between shapes farther apart */

typedef struct view_shape {
    char *name, *group;
    int body, is_visual, is_mesh;
    soa_frame place;        /* in the body's frame */
    const soa_shape *shape; /* NULL: the hull, drawn instead of a mesh beyond the limit */
    soa_shape hull;
    int has_colour;
    double colour[3];
} view_shape;

typedef struct view_pair {
    int a, b;
    double margin;
    soa_distance_cache cache;
} view_pair;

typedef struct view_near {
    double gap; /* distance of boxes; later the true distance */
    int pair;
    double on_a[3], on_b[3];
} view_near;

typedef struct view_summary_row {
    char *name, *value;
} view_summary_row;

struct view_scene {
    view_source from;
    const soa_model *model; /* NULL: only plots */
    soa_work *work;
    int nq, nv, bodies; /* bodies without the world */

    view_shape *shapes;
    int shape_count, shape_most;
    int contact_shapes; /* the first shapes are the world's, with its numbers */
    view_pair *pairs;
    int pair_count;
    soa_urdf_shape_list *visuals; /* of the parts that are URDF files */
    int visual_count;
    long triangles;  /* number of triangles in their meshes */
    soa_frame *pose; /* poses of bodies, then of the contact shapes */
    soa_bounds *bounds;
    view_near *near;

    /* positions of the coordinates in the record */
    /* Numbers of signals: q, v, phase, then six for each recorded contact. */
    int *column;
    double *row;      /* their values for one sample */
    int column_count; /* 0: the record gives no frames */
    int has_v, phase_column;
    int recorded;       /* number of shapes whose contacts are shown from the record */
    int *recorded_of;   /* for each: the shape, and its only partner or -1 */
    int first_recorded; /* column of the first of them */

    int *partner; /* for each contact shape: the only one it may touch, or -1 */
    int *shown;   /* for each: contacts are given as forces on this shape */

    double t_made;  /* the world's time when this was made; it may be moving now */
    int64_t events; /* number of events in the last JSON */
    double *q, *v;  /* the last good state */
    double *q_now;  /* the state being shown */
    int phase_count;
    const char **phases;
    view_damage damage; /* found by overviews and samples */
    char **notes;
    int note_count;
    view_summary_row *summary;
    int summary_count;
};

void view_quaternion(const double R[9], double q[4]);
void view_note(view_scene *scene, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
#endif
