/* compose.c  makes one model from the parts of a scenario: WD89's dynamic world model, robot and
 * object in one tree.
 *
 * If a part is a model, it is opened and its bodies, frames and loop constraints are copied, with
 * names "part.name". If a part is a body, it becomes one link on a free joint, or WD89's chain of
 * six 1-dof joints with five massless links between them. */
#include "soa/io.h"
#include "world_internal.h"

#include <sys/stat.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A constraint from a part's model. Frames and joints are stored by name, because their numbers in
 * the whole model are known only later. */
typedef struct own_loop {
    soa_constraint_def def;
    const char *name, *frame[2]; /* frame NULL: the world */
    const char *joint[SOA_RATIO_TERMS];
} own_loop;

typedef struct composer {
    const soa_scenario *scenario;
    const soai_estimate *estimate;
    soa_body_def *bodies;
    soa_frame_def *frames;
    int body_count, body_most, frame_count, frame_most;
    own_loop *loops;
    int loop_count, loop_most;
    char **texts;
    int text_count, text_most;
    soa_report *report;
} composer;

soa_status soai_scenario_fault(const soa_scenario *scenario, soa_mark mark, soa_status status,
                               soa_report *report, const char *format, ...) {
    char text[sizeof report->text];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const char *file = scenario->file ? scenario->file : scenario->name;
    const char *tail = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (mark.line)
        return soai_report(report, status, -1, mark.line, "%.60s:%d:%d: %s", tail, mark.line,
                           mark.column, text);
    return soai_report(report, status, -1, 0, "%.60s: %s", tail ? tail : "scenario", text);
}

static int grow(void **array, int *most, int count, size_t size) {
    if (count < *most) return 1;
    const int more = *most ? 2 * *most : 32;
    void *bigger = realloc(*array, (size_t)more * size);
    if (!bigger) return 0;
    *array = bigger;
    *most = more;
    return 1;
}
static const char *text(composer *c, const char *part, const char *name) {
    if (!grow((void **)&c->texts, &c->text_most, c->text_count, sizeof *c->texts)) return NULL;
    const size_t size = strlen(part) + strlen(name) + 2;
    char *made = malloc(size);
    if (!made) return NULL;
    snprintf(made, size, name[0] ? "%s.%s" : "%s%s", part, name);
    return c->texts[c->text_count++] = made;
}
static soa_body_def *new_body(composer *c, const char *part, const char *name, int parent,
                              soa_joint_type type) {
    const char *named = text(c, part, name);
    if (!named || !grow((void **)&c->bodies, &c->body_most, c->body_count, sizeof *c->bodies))
        return NULL;
    soa_body_def *body = &c->bodies[c->body_count++];
    *body = soa_body_default(named, parent, type);
    return body;
}
static int new_frame(composer *c, const char *part, const char *name, int link,
                     const soa_frame *place) {
    const char *named = text(c, part, name);
    if (!named || !grow((void **)&c->frames, &c->frame_most, c->frame_count, sizeof *c->frames))
        return 0;
    c->frames[c->frame_count++] = (soa_frame_def){named, link, *place};
    return 1;
}
/* Scales mass and inertia about the centre of mass separately: neither changes the other. */
static void scale_inertia(const composer *c, const soa_part *part, soa_body_def *body) {
    body->mass *= part->mass_scale * c->estimate->mass;
    for (int k = 0; k < 6; ++k)
        body->inertia[k] *= part->inertia_scale * c->estimate->inertia;
}

/* Adds a single rigid body. */
static soa_status add_body(composer *c, const soa_part *part) {
    static const struct {
        const char *name;
        soa_joint_type type;
        int axis;
    } freedom[6] = {{"x", SOA_PRISMATIC, 0},  {"y", SOA_PRISMATIC, 1},    {"z", SOA_PRISMATIC, 2},
                    {"yaw", SOA_REVOLUTE, 2}, {"pitch", SOA_REVOLUTE, 1}, {"", SOA_REVOLUTE, 0}};
    soa_body_def *body = NULL;
    if (part->massless_links)
        for (int i = 0; i < 6; ++i) {
            body = new_body(c, part->name, freedom[i].name, i ? c->body_count : 0, freedom[i].type);
            if (!body) return SOA_E_MEMORY;
            for (int k = 0; k < 3; ++k)
                body->joint.axis[k] = k == freedom[i].axis;
            if (i == 5 && !(body->joint_name = text(c, part->name, "roll"))) return SOA_E_MEMORY;
        }
    else {
        body = new_body(c, part->name, "", 0, part->fixed ? SOA_FIXED : SOA_FREE);
        if (!body || !(body->joint_name = text(c, part->name, "root"))) return SOA_E_MEMORY;
        if (part->fixed) body->placement = part->place;
    }
    body->mass = part->mass;
    memcpy(body->com, part->com, sizeof body->com);
    memcpy(body->inertia, part->inertia, sizeof body->inertia);
    scale_inertia(c, part, body);
    return SOA_OK;
}

/* Adds one constraint of a part's model `m`. `first` is the number of the model's first constraint
 * in the whole. */
static soa_status add_loop(composer *c, const soa_part *part, const soa_model *m,
                           const soa_constraint_def *def, int first) {
    if (!grow((void **)&c->loops, &c->loop_most, c->loop_count, sizeof *c->loops))
        return SOA_E_MEMORY;
    own_loop *loop = &c->loops[c->loop_count++];
    *loop = (own_loop){.def = *def};
    if (!(loop->name = text(c, part->name, def->name ? def->name : "loop"))) return SOA_E_MEMORY;
    loop->def.damping *= part->damping_scale * c->estimate->damping;
    loop->def.friction *= part->friction_scale;
    loop->def.rotor_inertia *= part->rotor_scale;
    for (int side = 0; side < 2 && def->kind != SOA_RATIO; ++side) {
        const int frame = side ? def->frame2 : def->frame1;
        soa_frame *place = side ? &loop->def.place2 : &loop->def.place1;
        soa_frame_info info;
        if (!frame) { /* the ground of the model is at the part's place */
            if (!part->floating) *place = soa_frame_compose(&part->place, place);
            continue;
        }
        soa_model_frame(m, frame, &info);
        if (!(loop->frame[side] = text(c, part->name, info.name))) return SOA_E_MEMORY;
    }
    for (int k = 0; k < SOA_RATIO_TERMS && def->kind == SOA_RATIO; ++k) {
        soa_body_info info;
        const int body = def->coordinate[k];
        /* The cut joint of another loop. */
        if (body < 0) loop->def.coordinate[k] = ~(first + ~body);
        if (body <= 0) continue;
        soa_model_body(m, body, &info);
        if (!(loop->joint[k] = text(c, part->name, info.joint))) return SOA_E_MEMORY;
    }
    return SOA_OK;
}

/* Lists the constraints of all models with the numbers of the whole model. Their names are stored
 * behind the definitions. */
static soa_status list_loops(const composer *c, const soa_model *model, soa_constraint_list *list) {
    size_t size = (size_t)c->loop_count * sizeof *list->defs;
    for (int i = 0; i < c->loop_count; ++i)
        size += strlen(c->loops[i].name) + 1;
    *list = (soa_constraint_list){0, NULL};
    if (!c->loop_count) return SOA_OK;
    if (!(list->defs = malloc(size))) return SOA_E_MEMORY;
    char *names = (char *)(list->defs + c->loop_count);
    for (int i = 0; i < c->loop_count; ++i) {
        const own_loop *loop = &c->loops[i];
        soa_constraint_def *def = &list->defs[i];
        *def = loop->def;
        def->name = names;
        strcpy(names, loop->name);
        names += strlen(names) + 1;
        def->frame1 = loop->frame[0] ? soa_model_find_frame(model, loop->frame[0]) : 0;
        def->frame2 = loop->frame[1] ? soa_model_find_frame(model, loop->frame[1]) : 0;
        for (int k = 0; k < SOA_RATIO_TERMS; ++k)
            if (loop->joint[k]) def->coordinate[k] = soa_model_find_joint(model, loop->joint[k]);
    }
    list->count = c->loop_count;
    return SOA_OK;
}

int soai_model_path(const soa_scenario *scenario, const soa_part *part, char *path, size_t size) {
    const char *slash = scenario->file ? strrchr(scenario->file, '/') : NULL;
    const int is_file = strchr(part->model, '.') != NULL && part->model[0] != '/';
    const int folder = is_file && slash ? (int)(slash - scenario->file) + 1 : 0;
    const int length =
        snprintf(path, size, "%.*s%s", folder, folder ? scenario->file : "", part->model);
    return length >= 0 && (size_t)length < size;
}

/* Adds the frame with the part's own name: at the root link of a floating machine, else at the
 * part's place. */
static int add_part_frame(composer *c, const soa_part *part, const soa_model *m, int first) {
    const soa_frame origin = soa_frame_identity();
    for (int b = 1; b <= soa_model_body_count(m); ++b) {
        soa_body_info info;
        soa_model_body(m, b, &info);
        if (!info.parent && info.type == SOA_FREE)
            return new_frame(c, part->name, "", first + b, &origin);
    }
    return new_frame(c, part->name, "", 0, &part->place);
}

static soa_status add_model(composer *c, const soa_part *part) {
    const soa_model *m = NULL;
    soa_constraint_list loops = {0, NULL};
    soa_report inner;
    const soa_read_options options = {.floating = part->floating};
    char path[1024];
    if (!soai_model_path(c->scenario, part, path, sizeof path))
        return soai_scenario_fault(c->scenario, part->mark, SOA_E_NAME, c->report,
                                   "part '%s': the path of its model is longer than %d bytes",
                                   part->name, (int)sizeof path - 1);
    struct stat about;
    /* Reading it could block for ever. */
    if (!stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return soai_scenario_fault(c->scenario, part->mark, SOA_E_FILE, c->report,
                                   "part '%s': model %.200s is a pipe or a device; name a file",
                                   part->name, path);
    soa_status s = soa_model_open(path, &options, &m, &loops, &inner);
    if (s)
        return soai_scenario_fault(c->scenario, part->mark, s, c->report, "part '%s': %s",
                                   part->name, inner.text);
    if ((s = soai_recut(c->scenario, part, &m, &loops, c->report))) {
        soa_constraint_list_free(&loops);
        soa_model_free(m);
        return s;
    }
    const int first = c->body_count;
    for (int b = 1; !s && b <= soa_model_body_count(m); ++b) {
        soa_body_info info;
        soa_model_body(m, b, &info);
        soa_body_def *body =
            new_body(c, part->name, info.link, info.parent ? first + info.parent : 0, info.type);
        if (!body || !(body->joint_name = text(c, part->name, info.joint))) {
            s = SOA_E_MEMORY;
            break;
        }
        body->placement = info.placement;
        if (!info.parent && !(part->floating && info.type == SOA_FREE))
            body->placement = soa_frame_compose(&part->place, &info.placement);
        soa_joint_def *joint = &body->joint;
        memcpy(joint->axis, info.axis, sizeof joint->axis);
        memcpy(joint->axis2, info.axis2, sizeof joint->axis2);
        joint->pitch = info.pitch;
        joint->rotor_inertia = info.rotor_inertia * part->rotor_scale;
        joint->gear_ratio = info.gear_ratio;
        joint->rotor_model = info.rotor_model;
        memcpy(joint->rotor_axis, info.rotor_axis, sizeof joint->rotor_axis);
        joint->damping = info.damping * part->damping_scale * c->estimate->damping;
        joint->friction_positive = info.friction_positive * part->friction_scale;
        joint->friction_negative = info.friction_negative * part->friction_scale;
        joint->stiffness = info.stiffness;
        joint->rest = info.rest;
        joint->lower = info.lower;
        joint->upper = info.upper;
        joint->max_speed = info.max_speed;
        joint->max_effort =
            !(info.max_effort < INFINITY) && part->effort > 0 && info.type != SOA_FREE
                ? part->effort
                : info.max_effort;
        if (info.mimic >= 0) {
            joint->mimic = first + info.mimic;
            joint->mimic_ratio = info.mimic_ratio;
            joint->mimic_offset = info.mimic_offset;
        }
        body->mass = info.mass;
        memcpy(body->com, info.com, sizeof body->com);
        memcpy(body->inertia, info.inertia, sizeof body->inertia);
        scale_inertia(c, part, body);
    }
    for (int f = 1; !s && f < soa_model_frame_count(m); ++f) { /* 0 is the world */
        soa_frame_info frame;
        soa_body_info info;
        soa_model_frame(m, f, &frame);
        if (frame.body && !soa_model_body(m, frame.body, &info) && info.frame == f) continue;
        const soa_frame at =
            frame.body ? frame.placement : soa_frame_compose(&part->place, &frame.placement);
        if (!new_frame(c, part->name, frame.name, frame.body ? first + frame.body : 0, &at))
            s = SOA_E_MEMORY;
    }
    if (!s && !add_part_frame(c, part, m, first)) s = SOA_E_MEMORY;
    const int first_loop = c->loop_count;
    for (int i = 0; !s && i < loops.count; ++i)
        s = add_loop(c, part, m, &loops.defs[i], first_loop);
    soa_constraint_list_free(&loops);
    soa_model_free(m);
    return s;
}

/* Adds the scenario's own frames, on links or on existing frames. */
static soa_status add_frames(composer *c, const soa_part *part) {
    for (int k = 0; k < part->frame_count; ++k) {
        const soa_part_frame *f = &part->frames[k];
        const char *on = text(c, part->name, f->on && strcmp(f->on, part->name) ? f->on : "");
        if (!on) return SOA_E_MEMORY;
        int link = -1;
        soa_frame place = f->place;
        for (int i = 0; i < c->body_count && link < 0; ++i)
            if (!strcmp(c->bodies[i].name, on)) link = i + 1;
        for (int i = 0; i < c->frame_count && link < 0; ++i) {
            if (!strcmp(c->frames[i].name, on)) {
                link = c->frames[i].link;
                place = soa_frame_compose(&c->frames[i].placement, &f->place);
            }
        }
        if (link < 0)
            return soai_scenario_fault(c->scenario, f->mark, SOA_E_NAME, c->report,
                                       "frame '%s' sits on '%s', which is no link or frame of '%s'",
                                       f->name, f->on ? f->on : "", part->name);
        if (!new_frame(c, part->name, f->name, link, &place)) return SOA_E_MEMORY;
    }
    return SOA_OK;
}

soa_status soai_world_model(const soa_scenario *scenario, const soai_estimate *estimate,
                            const soa_model **model, soa_constraint_list *loops,
                            soa_report *report) {
    static const soai_estimate truth = {1, 1, 1};
    composer c = {.scenario = scenario, .estimate = estimate ? estimate : &truth, .report = report};
    soa_status s = scenario->part_count > 0
                       ? SOA_OK
                       : soai_scenario_fault(scenario, (soa_mark){0}, SOA_E_ARGUMENT, report,
                                             "a scenario needs at least one part");
    for (int i = 0; !s && i < scenario->part_count; ++i) {
        const soa_part *part = &scenario->parts[i];
        s = part->model ? add_model(&c, part) : add_body(&c, part);
        if (!s) s = add_frames(&c, part);
    }
    if (!s) {
        soa_model_def def =
            soa_model_default(scenario->name ? scenario->name : "world", c.bodies, c.body_count);
        def.frames = c.frames;
        def.frame_count = c.frame_count;
        if (scenario->has_gravity) memcpy(def.gravity, scenario->gravity, sizeof def.gravity);
        soa_report inner;
        s = soa_model_create(&def, model, &inner);
        if (s) {
            /* the report counts links, which do not exist in the scenario: keep only its text */
            s = soai_scenario_fault(scenario, (soa_mark){0}, s, report, "%s", inner.text);
        } else {
            s = list_loops(&c, *model, loops);
        }
    } else if (s == SOA_E_MEMORY)
        soai_report(report, s, -1, 0, "%s", soa_status_text(s));
    for (int i = 0; i < c.text_count; ++i)
        free(c.texts[i]);
    free(c.texts);
    free(c.bodies);
    free(c.frames);
    free(c.loops);
    return s;
}
