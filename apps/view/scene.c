/* scene.c  the scene: opened from a world, a single machine or a log, and written as JSON
 * (docs/view-protocol.md).
 *
 * Bodies are those of the model, 0 the world. The first shapes are the world's own, with its
 * numbers, because contacts and pairs refer to them. Coordinates are found in the record by their
 * names, as src/world/run.c writes them: q.JOINT, or q.JOINT.PART if a joint has several. */
#include "scene_internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MOST = 4000, NOTES_MOST = 64, TRIANGLES_MOST = 150000 };

static soa_status fail(soa_report *report, soa_status status, const char *text) {
    if (report) {
        *report = (soa_report){.status = status, .body = -1};
        snprintf(report->text, sizeof report->text, "%s", text);
    }
    return status;
}
static soa_status no_memory(soa_report *report) {
    return fail(report, SOA_E_MEMORY, "out of memory");
}
static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy) strcpy(copy, text);
    return copy;
}

/* Quaternion w x y z of a rotation, from its largest component (Shepperd 1978). */
void view_quaternion(const double R[9], double q[4]) {
    const double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8],
                              1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (square[i] > square[k]) k = i;
    const double twice = sqrt(square[k]), s = 0.5 / twice; /* 2 |q_k| */
    const double a = s * (R[7] - R[5]), b = s * (R[2] - R[6]), c = s * (R[3] - R[1]);
    const double xy = s * (R[1] + R[3]), xz = s * (R[2] + R[6]), yz = s * (R[5] + R[7]),
                 half = 0.5 * twice;
    const double each[4][4] = {
        {half, a, b, c}, {a, half, xy, xz}, {b, xy, half, yz}, {c, xz, yz, half}};
    memcpy(q, each[k], sizeof each[k]);
}

void view_note(view_scene *scene, const char *format, ...) {
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (scene->note_count >= NOTES_MOST) return;
    char **more = realloc(scene->notes, ((size_t)scene->note_count + 1) * sizeof *more);
    if (!more) return;
    scene->notes = more;
    if ((more[scene->note_count] = copy_text(text))) ++scene->note_count;
}
void view_scene_add_note(view_scene *scene, const char *text) {
    view_note(scene, "%s", text);
}
const view_damage *view_scene_damage(const view_scene *scene) {
    return &scene->damage;
}
const char *view_scene_note(const view_scene *scene, int index) {
    return index >= 0 && index < scene->note_count ? scene->notes[index] : NULL;
}

soa_status view_scene_add_summary(view_scene *scene, const char *name, const char *value) {
    view_summary_row *more =
        realloc(scene->summary, ((size_t)scene->summary_count + 1) * sizeof *more);
    if (!more) return SOA_E_MEMORY;
    scene->summary = more;
    view_summary_row row = {copy_text(name), copy_text(value)};
    if (!row.name || !row.value) {
        free(row.name);
        free(row.value);
        return SOA_E_MEMORY;
    }
    more[scene->summary_count++] = row;
    return SOA_OK;
}
void view_scene_clear_summary(view_scene *scene) {
    for (int i = 0; i < scene->summary_count; ++i) {
        free(scene->summary[i].name);
        free(scene->summary[i].value);
    }
    scene->summary_count = 0;
}

static const soa_shape *shape_of(const view_shape *shape) {
    return shape->shape ? shape->shape : &shape->hull;
}
/* True for files that are read as XML. Saved and shipped models have no visual shapes. */
static int is_urdf(const char *model) {
    const size_t n = model ? strlen(model) : 0;
    return n && (strchr(model, '/') || strchr(model, '.')) &&
           !(n > 5 && !strcmp(model + n - 5, ".soam"));
}

/* --- opening ---------------------------------------------------------------------------------- */
static soa_status open_shapes(view_scene *s) {
    const soa_world *w = s->from.world;
    const int count = w ? soa_world_shape_count(w) : 0;
    s->shapes = calloc((size_t)count + 1, sizeof *s->shapes);
    if (!s->shapes) return SOA_E_MEMORY;
    s->shape_most = count + 1;
    for (int i = 0; i < count; ++i) {
        soa_world_shape from;
        soa_status status = soa_world_get_shape(w, i, &from);
        if (status) return status;
        view_shape *to = &s->shapes[s->shape_count++];
        *to = (view_shape){.body = from.body, .place = from.place, .shape = from.shape};
        to->name = copy_text(from.name);
        to->group = copy_text(from.group);
        if (!to->name || !to->group) return SOA_E_MEMORY;
    }
    s->contact_shapes = count;
    s->pair_count = w ? soa_world_pair_count(w) : 0;
    s->pairs = calloc((size_t)s->pair_count + 1, sizeof *s->pairs);
    s->near = calloc((size_t)s->pair_count + 1, sizeof *s->near);
    s->bounds = calloc((size_t)count + 1, sizeof *s->bounds);
    s->pose = calloc((size_t)s->bodies + 1 + (size_t)count, sizeof *s->pose);
    if (!s->pairs || !s->near || !s->bounds || !s->pose) return SOA_E_MEMORY;
    for (int i = 0; i < s->pair_count; ++i) {
        soa_world_pair pair;
        soa_status status = soa_world_get_pair(w, i, &pair);
        if (status) return status;
        s->pairs[i] = (view_pair){.a = pair.a, .b = pair.b, .margin = pair.margin};
    }
    return SOA_OK;
}

/* --- visuals ---------------------------------------------------------------------------------- */
/* Draws a mesh beyond the limit by its hull. */
static void take_hull(view_shape *to) {
    soa_shape hull = {.type = SOA_SHAPE_POLYTOPE};
    if (soa_hull_from_points(to->shape->vertices, to->shape->vertex_count, &hull, NULL)) return;
    /* shape_of finds it, even if the list is moved. */
    to->hull = hull;
    to->shape = NULL;
    to->is_mesh = 0;
}

/* Adds the visual shapes of a URDF's links, which are frames "PREFIXlink" of the model. */
static soa_status add_visuals(view_scene *s, const char *path, const char *prefix) {
    soa_report report = {.body = -1};
    soa_urdf_shape_list *more = realloc(s->visuals, ((size_t)s->visual_count + 1) * sizeof *more);
    if (!more) return SOA_E_MEMORY;
    s->visuals = more;
    soa_urdf_shape_list *list = &more[s->visual_count];
    soa_status status = soa_urdf_read_shapes(path, list, &report);
    if (status == SOA_E_MEMORY) return status;
    /* It was opened just before, so this is rare. */
    if (status) {
        view_note(s, "%s", report.text);
        return SOA_OK;
    }
    ++s->visual_count;
    for (int i = 0; i < list->note_count; ++i)
        view_note(s, "%s", list->notes[i]);
    const size_t room = (size_t)s->shape_count + (size_t)list->count + 1;
    view_shape *shapes = realloc(s->shapes, room * sizeof *shapes);
    if (!shapes) return SOA_E_MEMORY;
    s->shapes = shapes;
    int hulls = 0;
    for (int i = 0; i < list->count; ++i) {
        const soa_urdf_shape *from = &list->shapes[i];
        char name[600];
        soa_frame_info frame;
        snprintf(name, sizeof name, "%s%s", prefix, from->link);
        const int number = soa_model_find_frame(s->model, name);
        /* A link that no joint carries. */
        if (number < 0 || soa_model_frame(s->model, number, &frame)) continue;
        view_shape *to = &s->shapes[s->shape_count];
        *to = (view_shape){
            .body = frame.body, .is_visual = 1, .is_mesh = from->is_mesh, .shape = &from->shape};
        to->place = soa_frame_compose(&frame.placement, &from->place);
        to->has_colour = from->has_colour;
        memcpy(to->colour, from->colour, sizeof to->colour);
        to->name = copy_text(name);
        to->group = copy_text(name);
        if (!to->name || !to->group) {
            free(to->name);
            free(to->group);
            return SOA_E_MEMORY;
        }
        ++s->shape_count;
        if (!to->is_mesh) continue;
        if (s->triangles + from->shape.face_count <= TRIANGLES_MOST) {
            s->triangles += from->shape.face_count;
        } else {
            take_hull(to);
            ++hulls;
        }
    }
    if (hulls)
        view_note(
            s,
            "%s: %d meshes are drawn by their convex hulls, for there are more than %d triangles",
            path, hulls, (int)TRIANGLES_MOST);
    return SOA_OK;
}

/* Adds the visual shapes of every part that is a URDF file. File names are relative to the
 * scenario's file. */
static soa_status open_visuals(view_scene *s) {
    const soa_scenario *sc = s->from.scenario;
    soa_status status = SOA_OK;
    for (int p = 0; sc && s->from.world && p < sc->part_count && !status; ++p) {
        const char *model = sc->parts[p].model, *slash = sc->file ? strrchr(sc->file, '/') : NULL;
        char path[2048], prefix[300];
        if (!is_urdf(model)) continue;
        if (slash && model[0] != '/')
            snprintf(path, sizeof path, "%.*s/%s", (int)(slash - sc->file), sc->file, model);
        else
            snprintf(path, sizeof path, "%s", model);
        snprintf(prefix, sizeof prefix, "%.280s.", sc->parts[p].name);
        status = add_visuals(s, path, prefix);
    }
    if (!sc && is_urdf(s->from.spec)) status = add_visuals(s, s->from.spec, "");
    return status;
}

static void coordinate_name(const soa_body_info *info, int rates, int k, char name[600]) {
    static const char *const places[7] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
    static const char *const speeds[6] = {"wx", "wy", "wz", "vx", "vy", "vz"};
    const int n = rates ? info->nv : info->nq;
    const char *group = rates ? "v" : "q";
    if (n == 1)
        snprintf(name, 600, "%s.%s", group, info->joint);
    else if (info->type == SOA_FREE)
        snprintf(name, 600, "%s.%s.%s", group, info->joint, rates ? speeds[k] : places[k]);
    else
        snprintf(name, 600, "%s.%s.%d", group, info->joint, k);
}

/* Chooses the shapes whose recorded forces are drawn. Each contact acts on two shapes, so one of
 * each pair is enough. Shapes of the world (a table), then those that meet many others (the hull
 * that fingers touch), are left out if all of their partners are shown. */
static int ranks_before(const view_scene *s, const int *degree, int i, int j) {
    const int world_i = !s->shapes[i].body, world_j = !s->shapes[j].body;
    return world_i != world_j ? world_i : degree[i] > degree[j];
}
static soa_status choose_recorded(view_scene *s) {
    const int n = s->contact_shapes;
    int *degree = calloc((size_t)n + 1, sizeof *degree);
    int *partner = s->partner = malloc(((size_t)n + 1) * sizeof *partner);
    int *shown = s->shown = calloc((size_t)n + 1, sizeof *shown);
    if (!degree || !partner || !shown) {
        free(degree);
        return SOA_E_MEMORY;
    }
    for (int i = 0; i < n; ++i)
        partner[i] = -1;
    for (int i = 0; i < s->pair_count; ++i) {
        const int a = s->pairs[i].a, b = s->pairs[i].b;
        ++degree[a];
        ++degree[b];
        partner[a] = b;
        partner[b] = a;
        shown[a] = shown[b] = 1;
    }
    int taking_part = 0;
    for (int i = 0; i < n; ++i)
        taking_part += shown[i];
    /* So many shapes are not recorded. */
    if (taking_part > VIEW_RECORDED) memset(shown, 0, (size_t)n * sizeof *shown);
    /* in the order above. */
    for (int done = 0; done < n && taking_part <= VIEW_RECORDED; ++done) {
        int most = -1;
        for (int i = 0; i < n; ++i)
            if (degree[i] > 0 && (most < 0 || ranks_before(s, degree, i, most))) most = i;
        if (most < 0) break;
        int covered = 1;
        for (int i = 0; i < s->pair_count && covered; ++i) {
            const int a = s->pairs[i].a, b = s->pairs[i].b;
            if (a == most || b == most) covered = shown[a == most ? b : a];
        }
        shown[most] = !covered;
        if (degree[most] != 1) partner[most] = -1;
        degree[most] = 0;
    }
    free(degree);
    return SOA_OK;
}

static soa_status open_columns(view_scene *s) {
    static const char *const parts[6] = {"x", "y", "z", "fx", "fy", "fz"};
    const size_t n = (size_t)s->contact_shapes,
                 most = (size_t)s->nq + (size_t)s->nv + 1 + 6 * (n + 1);
    s->column = malloc(most * sizeof *s->column);
    s->row = calloc(most, sizeof *s->row);
    s->recorded_of = malloc((2 * n + 2) * sizeof *s->recorded_of);
    soa_status status = s->column && s->row && s->recorded_of ? SOA_OK : SOA_E_MEMORY;
    char name[600];
    const char *missing = NULL;
    int count = 0;
    s->has_v = 1;
    s->phase_column = -1;
    for (int rates = 0; !status && rates < 2 && !missing; ++rates)
        for (int b = 1; b <= s->bodies && !missing; ++b) {
            soa_body_info info;
            soa_model_body(s->model, b, &info);
            for (int k = 0; k < (rates ? info.nv : info.nq) && !missing; ++k) {
                coordinate_name(&info, rates, k, name);
                const int at = soa_log_find_signal(s->from.log, name);
                if (at < 0 && !rates) missing = name;
                if (at < 0 && rates) s->has_v = 0;
                /* coordinates may be in another order than the bodies */
                s->column[rates ? s->nq + info.v_index + k : info.q_index + k] = at < 0 ? 0 : at;
            }
        }
    count = s->nq + s->nv;
    if (!status && missing) {
        view_note(s, "the record has no signal '%s', so that its machine cannot be drawn", missing);
    } else if (!status) {
        s->phase_column = soa_log_find_signal(s->from.log, "control.phase");
        if (s->phase_column >= 0) {
            s->column[count] = s->phase_column;
            s->phase_column = count++;
        }
        s->first_recorded = count;
        for (int i = 0; i < s->contact_shapes; ++i) {
            int at[6], all = s->shown[i];
            for (int k = 0; k < 6 && all; ++k) {
                snprintf(name, sizeof name, "contact.%s.%s", s->shapes[i].name, parts[k]);
                all = (at[k] = soa_log_find_signal(s->from.log, name)) >= 0;
            }
            if (!all) continue;
            for (int k = 0; k < 6; ++k)
                s->column[count++] = at[k];
            s->recorded_of[2 * s->recorded] = i;
            s->recorded_of[2 * s->recorded + 1] = s->partner[i];
            ++s->recorded;
        }
        s->column_count = count;
    }
    return status;
}

soa_status view_scene_create(const view_source *source, view_scene **scene, soa_report *report) {
    if (!source || !scene || (source->world && !source->scenario))
        return fail(report, SOA_E_ARGUMENT,
                    "a scene needs a world with its scenario, a model or a log");
    view_scene *s = calloc(1, sizeof *s);
    if (!s) return no_memory(report);
    s->from = *source;
    s->model = source->world ? soa_world_model(source->world) : source->model;
    soa_status status = SOA_OK;
    if (s->model) {
        s->nq = soa_model_nq(s->model);
        s->nv = soa_model_nv(s->model);
        s->bodies = soa_model_body_count(s->model);
        status = soa_work_create(s->model, &s->work);
        s->q = calloc((size_t)s->nq + 1, sizeof *s->q);
        s->v = calloc((size_t)s->nv + 1, sizeof *s->v);
        s->q_now = calloc((size_t)s->nq + 1, sizeof *s->q_now);
        if (!s->q || !s->v || !s->q_now) status = SOA_E_MEMORY;
        if (!status && source->world) {
            memcpy(s->q, soa_world_q(source->world), (size_t)s->nq * sizeof *s->q);
            s->t_made = soa_world_time(source->world);
        } else if (!status) {
            soa_q_neutral(s->model, s->q);
        }
        if (!status) status = open_shapes(s);
        if (!status) status = open_visuals(s);
        if (!status) status = choose_recorded(s);
        if (!status && source->log) status = open_columns(s);
    }
    if (!status && source->scenario) {
        const soa_scene_control *control = &source->scenario->control;
        s->phases = calloc((size_t)control->phase_count + 1, sizeof *s->phases);
        if (!s->phases) status = SOA_E_MEMORY;
        for (int i = 0; !status && i < control->phase_count; ++i)
            s->phases[s->phase_count++] = control->phases[i].name;
    }
    if (status) {
        view_scene_free(s);
        return fail(report, status, soa_status_text(status));
    }
    *scene = s;
    return SOA_OK;
}

void view_scene_free(view_scene *s) {
    if (!s) return;
    for (int i = 0; i < s->shape_count; ++i) {
        free(s->shapes[i].name);
        free(s->shapes[i].group);
        if (!s->shapes[i].shape) soa_hull_free(&s->shapes[i].hull);
    }
    for (int i = 0; i < s->visual_count; ++i)
        soa_urdf_shape_list_free(&s->visuals[i]);
    free(s->visuals);
    for (int i = 0; i < s->note_count; ++i)
        free(s->notes[i]);
    view_scene_clear_summary(s);
    soa_work_free(s->work);
    free(s->shapes);
    free(s->notes);
    free(s->summary);
    free(s->phases);
    free(s->pairs);
    free(s->near);
    free(s->bounds);
    free(s->partner);
    free(s->shown);
    free(s->pose);
    free(s->column);
    free(s->row);
    free(s->recorded_of);
    free(s->q);
    free(s->v);
    free(s->q_now);
    free(s);
}

int64_t view_event_count(const view_scene *s) {
    return s->events;
}
void view_scene_set_log(view_scene *s, soa_log *log) {
    s->from.log = log;
}
int view_shape_of(const view_scene *s, const char *name) {
    for (int i = 0; i < s->contact_shapes; ++i)
        if (!strcmp(s->shapes[i].name, name)) return i;
    return -1;
}
int view_phase_of(const view_scene *s, const char *name) {
    for (int i = 0; i < s->phase_count; ++i)
        if (!strcmp(s->phases[i], name)) return i;
    return -1;
}
int view_body_count(const view_scene *s) {
    return s->model && (!s->from.log || s->from.live || s->column_count) ? s->bodies + 1 : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */
static void put_key(app_out *out, const char *key) {
    out_format(out, ", \"%s\": ", key);
}
static void put_text(app_out *out, const char *key, const char *text) {
    put_key(out, key);
    out_string(out, text ? text : "");
}
static void put_number(app_out *out, const char *key, double x) {
    put_key(out, key);
    out_number(out, x);
}
static void put_place(app_out *out, const char *key, const soa_frame *f) {
    double place[7];
    memcpy(place, f->p, sizeof f->p);
    view_quaternion(f->R, place + 3);
    put_key(out, key);
    out_vector(out, place, 7);
}

/* Writes the part of the scenario that a name "part.thing" belongs to. */
static void put_part(const view_scene *s, app_out *out, const char *name) {
    const soa_scenario *sc = s->from.scenario;
    const char *part = "";
    size_t longest = 0;
    for (int p = 0; sc && p < sc->part_count; ++p) {
        const size_t n = strlen(sc->parts[p].name);
        if (n >= longest && !strncmp(name, sc->parts[p].name, n) && (name[n] == '.' || !name[n])) {
            part = sc->parts[p].name;
            longest = n;
        }
    }
    put_text(out, "part", sc ? part : soa_model_name(s->model));
}

static int has_axis(soa_joint_type type) {
    return type != SOA_FIXED && type != SOA_SPHERICAL && type != SOA_FREE;
}
static void put_body(const view_scene *s, app_out *out, int b) {
    soa_body_info info;
    soa_model_body(s->model, b, &info);
    out_text(out, "{\"name\": ");
    out_string(out, info.link);
    put_part(s, out, info.link);
    put_key(out, "parent");
    out_format(out, "%d", info.parent);
    put_place(out, "place", &info.placement);
    put_number(out, "mass", info.mass);
    put_key(out, "com");
    out_vector(out, info.com, 3);
    put_key(out, "inertia");
    out_vector(out, info.inertia, 6);
    out_text(out, ", \"joint\": {\"name\": ");
    out_string(out, info.joint);
    put_text(out, "type", soa_joint_type_name(info.type));
    if (has_axis(info.type)) {
        put_key(out, "axis");
        out_vector(out, info.axis, 3);
    }
    out_format(out, ", \"q\": %d, \"nq\": %d, \"v\": %d, \"nv\": %d", info.q_index, info.nq,
               info.v_index, info.nv);
    if (isfinite(info.lower)) put_number(out, "lower", info.lower);
    if (isfinite(info.upper)) put_number(out, "upper", info.upper);
    const char *unit = "";
    if (info.nq == 1 || info.mimic >= 0) unit = soa_joint_type_turns(info.type, 0) ? "rad" : "m";
    put_text(out, "unit", unit);
    out_text(out, "}}");
}

/* Largest distance of anything from the origin at the start. Half spaces are drawn slightly
 * larger. */
static double reach_of(view_scene *s) {
    double reach = 1;
    if (soa_kinematics(s->model, s->work, s->q, NULL, NULL)) return 10;
    for (int i = 0; i < s->contact_shapes; ++i) {
        const view_shape *shape = &s->shapes[i];
        soa_frame at = soa_frame_identity();
        soa_body_info info;
        soa_bounds box;
        if (shape->shape->type == SOA_SHAPE_PLANE) continue;
        if (shape->body && (soa_model_body(s->model, shape->body, &info) ||
                            soa_pose(s->model, s->work, info.frame, &at)))
            continue;
        at = soa_frame_compose(&at, &shape->place);
        if (soa_shape_bounds(shape->shape, &at, 0, &box)) continue;
        for (int k = 0; k < 3; ++k)
            reach = fmax(reach, fmax(fabs(box.low[k]), fabs(box.high[k])));
    }
    return fmin(reach, 1000);
}

/* Writes a coordinate of a mesh, rounded to a micrometre. */
static void put_short(app_out *out, double x) {
    char text[40];
    if (!(fabs(x) < 1e9)) x = 0;
    const long long micro = llround(1e6 * x), size = micro < 0 ? -micro : micro;
    int n = snprintf(text, sizeof text, "%s%lld.%06lld", micro < 0 ? "-" : "", size / 1000000,
                     size % 1000000);
    while (text[n - 1] == '0')
        --n;
    if (text[n - 1] == '.') --n;
    out_bytes(out, text, (size_t)n);
}
static void put_polytope(app_out *out, const soa_shape *shape, int is_mesh) {
    put_key(out, "vertices");
    if (!is_mesh) out_matrix(out, shape->vertices, (size_t)shape->vertex_count, 3);
    for (int i = 0; is_mesh && i < 3 * shape->vertex_count; ++i) {
        const char *const between = i % 3 ? "," : "],[";
        out_text(out, i ? between : "[[");
        put_short(out, shape->vertices[i]);
    }
    if (is_mesh) out_text(out, "]]");
    put_key(out, "faces");
    out_char(out, '[');
    for (int f = 0; f < shape->face_count; ++f) {
        out_text(out, f ? ",[" : "[");
        for (int k = shape->face_start[f]; k < shape->face_start[f + 1]; ++k)
            out_format(out, k > shape->face_start[f] ? ",%d" : "%d", shape->faces[k]);
        out_char(out, ']');
    }
    out_char(out, ']');
}

static void put_shape(view_scene *s, app_out *out, int index) {
    static const char *const types[SOA_SHAPE_TYPE_COUNT] = {"sphere",   "capsule", "box",
                                                            "cylinder", "hull",    "box"};
    const view_shape *shape = &s->shapes[index];
    const soa_shape *core = shape_of(shape);
    const double grown = core->radius;
    double half[3] = {core->half[0], core->half[1], core->half[2]}, radius = grown;
    soa_frame place = shape->place;
    switch (core->type) {
    case SOA_SHAPE_BOX: /* with a margin: without the round edges */
        for (int k = 0; k < 3; ++k)
            half[k] += grown;
        radius = 0;
        break;
    case SOA_SHAPE_CYLINDER:
        radius = half[0] + grown;
        half[2] += grown;
        half[0] = half[1] = radius;
        break;
    case SOA_SHAPE_PLANE: { /* the top of a flat box */
        const double reach = 2 * reach_of(s), thin = 0.002 * reach;
        half[0] = half[1] = reach;
        half[2] = thin;
        radius = 0;
        for (int k = 0; k < 3; ++k)
            place.p[k] -= thin * place.R[3 * k + 2];
        break;
    }
    default: break;
    }
    out_text(out, "{\"name\": ");
    out_string(out, shape->name);
    put_text(out, "group", shape->group);
    put_key(out, "body");
    out_format(out, "%d", shape->body);
    put_place(out, "place", &place);
    put_text(out, "role", shape->is_visual ? "visual" : "contact");
    put_text(out, "type", shape->is_mesh ? "mesh" : types[core->type]);
    put_key(out, "half");
    out_vector(out, half, 3);
    put_number(out, "radius", radius);
    if (shape->has_colour) {
        put_key(out, "colour");
        out_vector(out, shape->colour, 3);
    }
    if (core->type == SOA_SHAPE_POLYTOPE) put_polytope(out, core, shape->is_mesh);
    out_char(out, '}');
}

static void put_frames(const view_scene *s, app_out *out) {
    int count = 0;
    for (int f = 1; f < soa_model_frame_count(s->model); ++f) {
        soa_frame_info frame;
        soa_body_info info;
        soa_model_frame(s->model, f, &frame);
        /* The body itself. */
        if (frame.body && !soa_model_body(s->model, frame.body, &info) && info.frame == f) continue;
        out_text(out, count++ ? ",\n  {\"name\": " : "\n  {\"name\": ");
        out_string(out, frame.name);
        put_key(out, "body");
        out_format(out, "%d", frame.body);
        put_place(out, "place", &frame.placement);
        out_char(out, '}');
    }
}

/* `place` rotated so that its z axis lies along `axis`: the shortest rotation to it or, if it
 * points down, to its opposite followed by half a turn about x. */
static soa_frame along(const soa_frame *place, const double axis[3]) {
    const double size = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]),
                 up = axis[2] < 0 ? -1 : 1;
    soa_frame turn = soa_frame_identity();
    if (!(size > 0) || !isfinite(size)) return *place;
    const double x = up * axis[0] / size, y = up * axis[1] / size, z = up * axis[2] / size,
                 k = 1 / (1 + z);
    const double R[9] = {
        1 - k * x * x, -up * k * x * y, up * x, -k * x * y, up * (1 - k * y * y), up * y, -x,
        -up * y,       up * z};
    memcpy(turn.R, R, sizeof R);
    return soa_frame_compose(place, &turn);
}
static void put_constraint(const view_scene *s, app_out *out, int index,
                           const soa_constraint_def *def, const int frames[2]) {
    char made[32];
    const int is_loop = def->kind == SOA_LOOP;
    snprintf(made, sizeof made, "constraint %d", index + 1);
    out_text(out, index ? ",\n  {\"name\": " : "\n  {\"name\": ");
    out_string(out, def->name && *def->name ? def->name : made);
    for (int side = 0; side < 2; ++side) {
        soa_frame_info in = {.placement = soa_frame_identity()};
        if (frames[side] > 0 && soa_model_frame(s->model, frames[side], &in)) in.body = 0;
        put_key(out, side ? "body_b" : "body_a");
        out_format(out, "%d", in.body);
        if (def->kind == SOA_RATIO) continue; /* it has no place */
        soa_frame place = soa_frame_compose(&in.placement, side ? &def->place2 : &def->place1);
        if (is_loop && has_axis(def->joint))
            place = along(&place, side && def->joint == SOA_UNIVERSAL ? def->axis2 : def->axis);
        put_place(out, side ? "place_b" : "place_a", &place);
    }
    if (is_loop) put_text(out, "joint", soa_joint_type_name(def->joint));
    out_char(out, '}');
}
/* Writes the constraints of a world: those of its models and those of the scenario. */
static void put_constraints(const view_scene *s, app_out *out) {
    const soa_constraint_list *list = s->from.constraints;
    const soa_constraints *all = s->from.world ? soa_world_constraints(s->from.world) : NULL;
    soa_constraint_def def;
    for (int i = 0; all && !soa_constraints_get_def(all, i, &def); ++i)
        put_constraint(s, out, i, &def, (int[]){def.frame1, def.frame2});
    for (int i = 0; !s->from.world && list && i < list->count; ++i)
        put_constraint(s, out, i, &list->defs[i],
                       (int[]){list->defs[i].frame1, list->defs[i].frame2});
}

static void put_signals(const view_scene *s, app_out *out) {
    soa_log_info info;
    if (s->from.log) soa_log_get_info(s->from.log, &info);
    int count;
    if (s->from.log) {
        count = info.signal_count;
    } else if (s->from.world) {
        count = soa_world_signal_count(s->from.world);
    } else {
        count = 0;
    }
    for (int i = 0; i < count; ++i) {
        const char *unit = "", *name;
        if (s->from.log) {
            name = info.signals[i].name;
            unit = info.signals[i].unit;
        } else {
            name = soa_world_signal_name(s->from.world, i, &unit);
        }
        out_text(out, i ? ", {\"name\": " : "{\"name\": ");
        out_string(out, name);
        put_text(out, "unit", unit);
        out_char(out, '}');
    }
}

/* Writes every event if they are few enough. Otherwise leaves out slips and sticks, and then writes
 * the first ones and all phases. */
static void put_events(view_scene *s, app_out *out) {
    soa_log_info info;
    s->events = 0;
    if (!s->from.log) return;
    soa_log_get_info(s->from.log, &info);
    int64_t slips = 0, count = 0;
    soa_log_event_info e;
    for (int64_t i = 0; info.events > EVENTS_MOST && i < info.events; ++i)
        if (!soa_log_read_event(s->from.log, i, &e, NULL))
            slips += !strcmp(e.kind, "slip") || !strcmp(e.kind, "stick");
    for (int64_t i = 0; i < info.events; ++i) {
        const soa_status status = soa_log_read_event(s->from.log, i, &e, NULL);
        if (status == SOA_E_MEMORY) out->error = ENOMEM;
        if (status) break; /* the record is damaged from here on */
        const int slip = slips && (!strcmp(e.kind, "slip") || !strcmp(e.kind, "stick"));
        if (slip || (count >= EVENTS_MOST && strcmp(e.kind, "phase")) || count >= 2 * EVENTS_MOST)
            continue;
        out_text(out, count++ ? ",\n  {\"t\": " : "\n  {\"t\": ");
        out_number(out, e.t);
        char text[300]; /* in a record it may have 65 kB */
        snprintf(text, sizeof text, "%s", e.text);
        put_text(out, "kind", e.kind);
        put_text(out, "text", text);
        out_char(out, '}');
    }
    s->events = count;
}

static void put_scenario_text(const view_scene *s, app_out *out) {
    const soa_scenario *sc = s->from.scenario;
    const char *text = "";
    size_t size = 0;
    soa_log_info info;
    if (sc && sc->source) {
        text = sc->source;
        size = sc->source_size;
    } else if (s->from.log) {
        soa_log_get_info(s->from.log, &info);
        text = info.scenario;
        size = info.scenario_size;
    }
    if (size > 1 << 20) size = 1 << 20;
    char *copy = malloc(size + 1);
    if (!copy) {
        out->error = ENOMEM;
        return;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    put_text(out, "scenario", copy);
    free(copy);
}

static void put_summary(const view_scene *s, app_out *out) {
    out_text(out, ",\n \"summary\": [");
    for (int i = 0; i < s->summary_count; ++i) {
        out_text(out, i ? ",\n  [" : "\n  [");
        out_string(out, s->summary[i].name);
        out_text(out, ", ");
        out_string(out, s->summary[i].value);
        out_char(out, ']');
    }
    out_text(out, "],\n \"notes\": [");
    for (int i = 0; i < s->note_count; ++i) {
        out_text(out, i ? ", " : "");
        out_string(out, s->notes[i]);
    }
    out_char(out, ']');
}
soa_status view_summary_json(const view_scene *s, app_out *out) {
    const size_t before = out->size;
    out_text(out, "{\"kind\": \"summary\"");
    put_summary(s, out);
    out_text(out, "}\n");
    if (!out->error) return SOA_OK;
    out->size = before;
    return SOA_E_MEMORY;
}

soa_status view_scene_json(view_scene *s, app_out *out) {
    const soa_scenario *sc = s->from.scenario;
    const int drawn = view_body_count(s);
    const size_t before = out->size;
    soa_log_info info = {.first = 0, .last = 0};
    if (s->from.log) soa_log_get_info(s->from.log, &info);
    if (!info.samples) info.first = info.last = s->t_made;
    const char *title;
    if (s->from.title) {
        title = s->from.title;
    } else if (sc && sc->name) {
        title = sc->name;
    } else if (s->model) {
        title = soa_model_name(s->model);
    } else {
        title = "";
    }
    out_text(out, "{\"kind\": \"scene\", \"version\": 1");
    put_text(out, "title", title);
    const char *const own = sc && sc->text ? sc->text : "";
    put_text(out, "text", s->from.text ? s->from.text : own);
    put_text(out, "source", s->from.kind);
    put_key(out, "live");
    out_text(out, s->from.live ? "true" : "false");
    out_text(out, ",\n \"bodies\": [");
    if (drawn)
        out_text(out, "\n  {\"name\": \"world\", \"part\": \"\", \"parent\": -1, \"place\": [0, 0, "
                      "0, 1, 0, 0, 0], "
                      "\"mass\": 0, \"com\": [0, 0, 0], \"inertia\": [0, 0, 0, 0, 0, 0]}");
    for (int b = 1; b < drawn; ++b) {
        out_text(out, ",\n  ");
        put_body(s, out, b);
    }
    out_text(out, "],\n \"shapes\": [");
    for (int i = 0; drawn && i < s->shape_count; ++i) {
        out_text(out, i ? ",\n  " : "\n  ");
        put_shape(s, out, i);
    }
    out_text(out, "],\n \"frames\": [");
    if (drawn) put_frames(s, out);
    out_text(out, "],\n \"constraints\": [");
    if (drawn) put_constraints(s, out);
    out_text(out, "],\n \"signals\": [");
    put_signals(s, out);
    out_text(out, "],\n \"phases\": [");
    for (int i = 0; i < s->phase_count; ++i) {
        out_text(out, i ? ", " : "");
        out_string(out, s->phases[i]);
    }
    out_text(out, "],\n \"time\": {\"first\": ");
    out_number(out, info.first);
    put_number(out, "last", info.last);
    out_format(out, ", \"samples\": %lld", (long long)info.samples);
    put_number(out, "tick", s->from.world ? soa_world_tick_length(s->from.world) : 0);
    out_text(out, "},\n \"events\": [");
    put_events(s, out);
    out_char(out, ']');
    put_summary(s, out);
    put_scenario_text(s, out);
    put_key(out, "q");
    out_vector(out, s->q ? s->q : &(double){0}, drawn ? (size_t)s->nq : 0);
    out_text(out, "}\n");
    if (!out->error) return SOA_OK;
    out->size = before;
    return SOA_E_MEMORY;
}
