/* scene_internal.h  the scene as scene.c and frame.c see it. */
#ifndef VIEW_SCENE_INTERNAL_H
#define VIEW_SCENE_INTERNAL_H
#include "../output/damage.h"
#include "scene.h"

enum { VIEW_LINES = 64, VIEW_TRIED = 256, VIEW_CONTACTS = 512, VIEW_RECORDED = 64 };
#define VIEW_NEAR 0.5 /* m: farther apart no line is drawn */

typedef struct view_shape {
    char *name, *group;
    int body, is_visual, is_mesh;
    soa_frame place;        /* in the body's frame */
    const soa_shape *shape; /* NULL: the hull, drawn instead of a mesh too many */
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
    double gap; /* between boxes; then the distance */
    int pair;
    double on_a[3], on_b[3];
} view_near;

typedef struct view_summary_row {
    char *name, *value;
} view_summary_row;

struct view_scene {
    view_source from;
    const soa_model *model; /* NULL: plots only */
    soa_work *work;
    int nq, nv, bodies; /* bodies without the world */

    view_shape *shapes;
    int shape_count, shape_most;
    int contact_shapes; /* the first ones are the world's, with its numbers */
    view_pair *pairs;
    int pair_count;
    soa_urdf_shape_list *visuals; /* of the parts that are URDF files */
    int visual_count;
    long triangles;  /* of their meshes */
    soa_frame *pose; /* of bodies, then of the contact shapes */
    soa_bounds *bounds;
    view_near *near;

    /* where the coordinates stand in the record */
    int *column;      /* q, v, phase, then six for each recorded contact: numbers of signals */
    double *row;      /* their values, one sample */
    int column_count; /* 0: the record gives no frames */
    int has_v, phase_column;
    int recorded;       /* shapes whose contacts are shown from the record */
    int *recorded_of;   /* shape, and its only partner or -1, for each     */
    int first_recorded; /* column of the first of them                     */

    int *partner; /* of each contact shape: the only one it may touch, or -1 */
    int *shown;   /* of each: contacts are told as what this shape feels     */

    double t_made;  /* the world's time then: it may be moving by now */
    int64_t events; /* in the last JSON */
    double *q, *v;  /* of the last good state */
    double *q_now;  /* of the one being looked at */
    int phase_count;
    const char **phases;
    view_damage damage; /* met by overviews and samples */
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
