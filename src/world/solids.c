/* solids.c  what can touch: shapes of the scenario, <collision> shapes of URDF parts, which pairs
 * meet and by which law.
 *
 * names     A <collision> is "part.link", or "part.link.NAME" and "part.link.2" if a link has
 *           several. Its group is the part. Contacts, signals and success may use all three.
 * meetings  Two shapes meet by the last contact of the scenario that names them. Without one, a
 *           <collision> meets shapes of other parts and of the world. It meets those of its own
 *           part if the scenario requests it (`collisions: self`), except neighbours: the next
 *           link up the tree that has a shape. Two shapes that cannot move relative to each other
 *           do not meet. A body for which the scenario gives shapes touches with those only.
 * law       Hunt and Crossley's, one for each part. A single point under the weight of the whole
 *           machine is pressed in by `sink`. This is also the margin, so that shapes placed
 *           exactly on each other rest there. Between two machines: the law of the lighter one.
 * overlap   at the start, deeper than the margin: mounted machines overlap by design, so the pair
 *           is left out and a warning is given. If a floating part would fall through the world,
 *           the scenario is refused. */
#include "world_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The first GAPS_SAID gaps of a part have a warning each; the others share one. */
enum { SOLIDS_MOST = 3000, GAPS_SAID = 4 };
/* m: depth of one point under the machine's weight. */
static const double sink = 2e-4;
static const double usual_gravity = 9.81;   /* m/s^2: used if the scenario has no gravity */
static const double default_exponent = 1.5; /* Hertz */
/* s/m: a body that arrives at 2 m/s leaves at less than 0.2 m/s. */
static const double default_loss = 5;
static const double default_friction = 0.6; /* dry metal or plastic */
/* Fraction of critical damping, for the whole machine. */
static const double tangential_damping_part = 0.05;

/* --- parts ------------------------------------------------------------------------------------ */
static soa_status open_parts(soa_world *w) {
    const soa_scenario *sc = w->scenario;
    const size_t count = (size_t)sc->part_count;
    w->parts = calloc(count + 1, sizeof *w->parts);
    w->collisions = calloc(count + 1, sizeof *w->collisions);
    w->law_count = sc->contact_count + sc->part_count;
    w->laws = calloc((size_t)w->law_count + 1, sizeof *w->laws);
    if (!w->parts || !w->collisions || !w->laws) return SOA_E_MEMORY;
    if (sc->contact_count)
        memcpy(w->laws, sc->contacts, (size_t)sc->contact_count * sizeof *w->laws);
    for (int p = 0; p < sc->part_count; ++p)
        w->parts[p].name = sc->parts[p].name;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const int p = soai_part_of(w, info.joint);
        if (p < 0) continue;
        w->parts[p].moves = true;
        if (!info.parent && (info.type == SOA_FREE || !sc->parts[p].model))
            w->parts[p].floats = true;
        w->parts[p].mass += info.mass;
    }
    double g[3];
    soa_model_gravity(w->model, g);
    const double pull = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int p = 0; p < sc->part_count; ++p) {
        const double weight =
            (w->parts[p].mass > 0 ? w->parts[p].mass : 1) * (pull > 0 ? pull : usual_gravity);
        const double stiffness = weight / sink;
        soa_contact_pair law = soa_contact_pair_default(sc->parts[p].name, sc->parts[p].name);
        law.law = SOA_CONTACT_HUNT_CROSSLEY;
        law.margin = sink;
        law.exponent = default_exponent;
        law.stiffness = weight / pow(sink, default_exponent);
        law.loss = default_loss;
        law.friction = default_friction;
        law.tangential_stiffness = stiffness;
        law.tangential_damping =
            tangential_damping_part * 2 * sqrt(stiffness * weight / usual_gravity);
        w->laws[sc->contact_count + p] = w->parts[p].law = law;
    }
    return SOA_OK;
}

/* --- <collision> elements --------------------------------------------------------------------- */
/* True for a regular file of XML. Data from a pipe could not be read a second time. */
static int is_urdf_file(const char *path) {
    struct stat about;
    char head[512];
    if (stat(path, &about) || !S_ISREG(about.st_mode)) return 0;
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t length = fread(head, 1, sizeof head, file);
    fclose(file);
    return soa_urdf_begins_as_xml(head, length);
}

static soa_status add_gap(soa_world *w, int part, const soa_urdf_collision *c, const char *fault) {
    soa_world_gap *more = realloc(w->gaps, ((size_t)w->gap_count + 1) * sizeof *more);
    if (!more) return SOA_E_MEMORY;
    w->gaps = more;
    more[w->gap_count++] = (soa_world_gap){w->parts[part].name, c->link, c->mesh, fault};
    return SOA_OK;
}

/* True if the scenario requests collisions explicitly: then a shape that cannot be used is an
 * error. */
static int is_asked(const soa_part *part) {
    return part->collisions == SOA_COLLISIONS_OTHERS || part->collisions == SOA_COLLISIONS_SELF;
}
static soa_status refuse_gap(soa_world *w, int p, const soa_urdf_collision *c, const char *fault,
                             soa_report *report) {
    return soai_scenario_fault(
        w->scenario, w->scenario->parts[p].mark, SOA_E_FILE, report,
        "part '%s' has collisions, but that of link '%.40s' cannot be used: %s%.60s%s%.60s",
        w->parts[p].name, c->link, c->mesh ? "mesh '" : "", c->mesh ? c->mesh : "",
        c->mesh ? "': " : "", fault);
}

static soa_status read_collisions(soa_world *w, int p, soa_report *report) {
    const soa_part *part = &w->scenario->parts[p];
    char path[1024];
    if (!part->model || part->collisions == SOA_COLLISIONS_NONE) return SOA_OK;
    soa_status s = SOA_OK;
    if (soai_model_path(w->scenario, part, path, sizeof path) && is_urdf_file(path)) {
        soa_report inner;
        s = soa_urdf_read_collisions(path, &w->collisions[p], &inner);
        if (s)
            return soai_scenario_fault(w->scenario, part->mark, s, report, "part '%s': %s",
                                       part->name, inner.text);
    }
    const soa_urdf_collision_list *list = &w->collisions[p];
    for (int i = 0; !s && i < list->count; ++i) {
        const soa_urdf_collision *c = &list->items[i];
        if (!c->fault)
            ++w->parts[p].collisions;
        else
            s = is_asked(part) ? refuse_gap(w, p, c, c->fault, report) : add_gap(w, p, c, c->fault);
    }
    if (!s && is_asked(part) && !w->parts[p].collisions)
        s = soai_scenario_fault(w->scenario, part->mark, SOA_E_ARGUMENT, report,
                                "part '%s' has collisions, but its model '%.60s' is no URDF file "
                                "with <collision> shapes",
                                part->name, part->model);
    return s;
}

/* --- solids ----------------------------------------------------------------------------------- */
int soai_in_group(const soai_solid *s, const char *name) {
    return !strcmp(s->name, name) || !strcmp(s->group, name) || (s->link && !strcmp(s->link, name));
}

/* Path of a mesh file, relative to the scenario's file. */
static const char *mesh_path(const soa_scenario *scenario, const char *mesh, char *path,
                             size_t size) {
    const char *slash = scenario->file ? strrchr(scenario->file, '/') : NULL;
    if (mesh[0] == '/' || !slash) return mesh;
    snprintf(path, size, "%.*s/%s", (int)(slash - scenario->file), scenario->file, mesh);
    return path;
}

static soa_status add_scenario_shape(soa_world *w, int i, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    const soa_scene_shape *from = &sc->shapes[i];
    soai_solid *s = &w->solids[w->solid_count];
    *s = (soai_solid){.shape = from->shape, .place = from->place, .name = from->name, .source = i};
    s->group = from->group ? from->group : from->name;
    s->frame = strcmp(from->frame, "world") ? soa_model_find_frame(w->model, from->frame) : 0;
    if (s->frame < 0)
        return soai_scenario_fault(sc, from->mark, SOA_E_NAME, report,
                                   "shape '%s': there is no frame '%s'%s", from->name, from->frame,
                                   soai_nearest_frame(w->model, from->frame));
    soa_frame_info info;
    soa_model_frame(w->model, s->frame, &info);
    s->body = info.body;
    s->part = s->frame ? soai_part_of(w, from->frame) : -1;
    if (s->part >= 0) ++w->parts[s->part].shapes;
    ++w->solid_count;
    soa_report inner;
    soa_status status = SOA_OK;
    char path[1024];
    const double k = from->mesh_scale;
    if (from->mesh)
        status = soa_hull_from_mesh(mesh_path(sc, from->mesh, path, sizeof path),
                                    (double[3]){k, k, k}, &s->hull, &inner);
    else if (from->shape.type == SOA_SHAPE_POLYTOPE && !from->shape.neighbours)
        status =
            soa_hull_from_points(from->shape.vertices, from->shape.vertex_count, &s->hull, &inner);
    if (!status) {
        if (s->hull.vertices) s->shape = s->hull;
        s->shape.radius = from->shape.radius;
        status = soa_shape_check(&s->shape, &inner);
    }
    if (status)
        return soai_scenario_fault(sc, from->mark, status, report, "shape '%s': %s", from->name,
                                   inner.text);
    return SOA_OK;
}

/* Makes "a.b" or "a.b.c", stored with the world. */
static const char *keep_text(soa_world *w, const char *a, const char *b, const char *c) {
    char **more = realloc(w->texts, ((size_t)w->text_count + 1) * sizeof *more);
    if (!more) return NULL;
    w->texts = more;
    const size_t size = strlen(a) + strlen(b) + strlen(c) + 3;
    char *text = malloc(size);
    if (!text) return NULL;
    snprintf(text, size, *c ? "%s.%s.%s" : "%s.%s%s", a, b, c);
    return w->texts[w->text_count++] = text;
}

/* Position of a collision among those of its link; *of: their number. */
static int number_in_link(const soa_urdf_collision_list *list, int i, int *of) {
    int before = 0;
    *of = 0;
    for (int k = 0; k < list->count; ++k) {
        if (strcmp(list->items[k].link, list->items[i].link) != 0) continue;
        before += k < i;
        ++*of;
    }
    return before;
}

/* Adds a <collision>. Its hull is made later, if it is needed. */
static soa_status add_collision(soa_world *w, int p, int i) {
    const soa_urdf_collision_list *list = &w->collisions[p];
    const soa_urdf_collision *c = &list->items[i];
    int of;
    char number[32] = "";
    const int before = number_in_link(list, i, &of);
    if (of > 1 && !c->name[0]) snprintf(number, sizeof number, "%d", before + 1);
    soai_solid *s = &w->solids[w->solid_count];
    *s = (soai_solid){
        .shape = c->shape, .place = c->place, .group = w->parts[p].name, .part = p, .source = i};
    s->link = keep_text(w, w->parts[p].name, c->link, "");
    if (of > 1) {
        s->name = keep_text(w, w->parts[p].name, c->link, c->name[0] ? c->name : number);
    } else {
        s->name = s->link;
    }
    if (!s->link || !s->name) return SOA_E_MEMORY;
    s->frame = soa_model_find_frame(w->model, s->link);
    /* A link that no joint carries is not part of the model. */
    if (s->frame < 0) return SOA_OK;
    soa_frame_info info;
    soa_model_frame(w->model, s->frame, &info);
    s->body = info.body;
    ++w->solid_count;
    return SOA_OK;
}

/* --- which shapes meet ------------------------------------------------------------------------ */
typedef struct tree { /* tree of bodies; 0 is the world */
    int *above;       /* next body up the tree with a <collision>; 0: the world */
    unsigned char *shaped;
} tree;

static soa_status open_tree(const soa_world *w, tree *t) {
    const size_t n = (size_t)w->bodies + 1;
    t->above = calloc(n, sizeof *t->above);
    t->shaped = calloc(n, 1);
    if (!t->above || !t->shaped) return SOA_E_MEMORY;
    for (int i = 0; i < w->solid_count; ++i)
        if (w->solids[i].link) t->shaped[w->solids[i].body] = 1;
    for (int b = 1; b <= w->bodies; ++b) { /* parents first */
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        t->above[b] = info.parent && !t->shaped[info.parent] ? t->above[info.parent] : info.parent;
    }
    return SOA_OK;
}
static void close_tree(tree *t) {
    free(t->above);
    free(t->shaped);
}

static int meets_own(const soa_world *w, const tree *t, const soai_solid *a, const soai_solid *b) {
    if (!a->link || !b->link || w->scenario->parts[a->part].collisions != SOA_COLLISIONS_SELF)
        return 0;
    const int neighbours =
        (a->body && t->above[a->body] == b->body) || (b->body && t->above[b->body] == a->body);
    return !neighbours;
}

/* Number of the law by which two solids meet; -1: they do not. */
static int law_of(const soa_world *w, const tree *t, const soai_solid *a, const soai_solid *b) {
    const soa_scenario *sc = w->scenario;
    if (a->body == b->body) return -1;
    if (a->shape.type == SOA_SHAPE_PLANE && b->shape.type == SOA_SHAPE_PLANE) return -1;
    for (int k = sc->contact_count - 1; k >= 0; --k) { /* the last one that fits */
        const soa_contact_pair *c = &sc->contacts[k];
        if ((soai_in_group(a, c->group1) && soai_in_group(b, c->group2)) ||
            (soai_in_group(b, c->group1) && soai_in_group(a, c->group2)))
            return k;
    }
    if ((!a->link && !b->link) || a->replaced || b->replaced) return -1;
    if (a->part == b->part && !meets_own(w, t, a, b)) return -1;
    const int first = a->link ? a->part : b->part;
    const int second = b->link ? b->part : a->part;
    const double stiffness = w->parts[second].law.stiffness;
    return sc->contact_count + (stiffness < w->parts[first].law.stiffness ? second : first);
}

/* Marks the bodies for which the scenario gives shapes. */
static void mark_replaced(soa_world *w) {
    for (int i = 0; i < w->solid_count; ++i)
        for (int k = 0; w->solids[i].link && w->solids[i].body && k < w->scenario->shape_count; ++k)
            if (w->solids[k].body == w->solids[i].body) w->solids[i].replaced = 1;
}

/* Makes the hull of a mesh. A mesh that cannot be used becomes a gap (*usable 0). */
static soa_status make_hull(soa_world *w, soai_solid *s, int *usable, soa_report *report) {
    const soa_urdf_collision *c = &w->collisions[s->part].items[s->source];
    soa_report inner = {.body = -1};
    soa_status status = c->mesh ? soa_hull_from_mesh(c->mesh, c->scale, &s->hull, &inner) : SOA_OK;
    if (!status && c->mesh) s->shape = s->hull;
    if (!status) status = soa_shape_check(&s->shape, &inner);
    *usable = !status;
    if (!status || status == SOA_E_MEMORY) return status;
    if (is_asked(&w->scenario->parts[s->part]))
        return refuse_gap(w, s->part, c, inner.text, report);
    char **more = realloc(w->texts, ((size_t)w->text_count + 1) * sizeof *more);
    char *fault = malloc(strlen(inner.text) + 1);
    if (more) w->texts = more;
    if (!more || !fault) {
        free(fault);
        return SOA_E_MEMORY;
    }
    w->texts[w->text_count++] = strcpy(fault, inner.text);
    --w->parts[s->part].collisions;
    return add_gap(w, s->part, c, fault);
}

/* Limit for pairs of shapes that may touch, and for comparisons of their names with contacts: work
 * of a few seconds. */
enum { PAIRS_MOST = 200000 };
#define COMPARED_MOST 3e8

static soa_status refuse_pairs(const soa_world *w, soa_report *report, const char *what) {
    const soa_scenario *sc = w->scenario;
    const soa_mark mark = sc->contact_count ? sc->contacts[0].mark : (soa_mark){0, 0};
    return soai_scenario_fault(
        sc, mark, SOA_E_ARGUMENT, report,
        "%d contacts among %d shapes: %s; put shapes into groups and name fewer of them, or leave "
        "those of a model out (collisions: false)",
        sc->contact_count, w->solid_count, what);
}

/* Removes each <collision> that meets nothing or cannot be used. */
static soa_status keep_useful(soa_world *w, const tree *t, soa_report *report) {
    const int all = w->solid_count;
    if ((double)all * all / 2 * (w->scenario->contact_count + 1) > COMPARED_MOST)
        return refuse_pairs(w, report, "too many to go through");
    unsigned char *useful = calloc((size_t)all + 1, 1);
    if (!useful) return SOA_E_MEMORY;
    for (int a = 0; a < all; ++a)
        for (int b = a + 1; b < all; ++b)
            if ((!useful[a] || !useful[b]) && law_of(w, t, &w->solids[a], &w->solids[b]) >= 0)
                useful[a] = useful[b] = 1;
    soa_status s = SOA_OK;
    int count = 0;
    for (int i = 0; i < all && !s; ++i) {
        int usable = !w->solids[i].link || useful[i];
        if (w->solids[i].link && usable) s = make_hull(w, &w->solids[i], &usable, report);
        if (!usable) {
            soa_hull_free(&w->solids[i].hull);
            w->solids[i].hull = (soa_shape){0};
            continue;
        }
        const soai_solid kept = w->solids[i];
        w->solids[i].hull = (soa_shape){0};
        w->solids[count++] = kept;
    }
    if (!s) w->solid_count = count;
    free(useful);
    return s;
}

static soa_status make_meetings(soa_world *w, const tree *t, soa_report *report) {
    const size_t n = (size_t)w->solid_count;
    w->meeting_of = malloc((n * n + 1) * sizeof *w->meeting_of);
    if (!w->meeting_of) return SOA_E_MEMORY;
    int count = 0;
    for (int a = 0; a < w->solid_count; ++a) {
        w->meeting_of[a * w->solid_count + a] = -1;
        for (int b = a + 1; b < w->solid_count; ++b) {
            const int law = law_of(w, t, &w->solids[a], &w->solids[b]);
            w->meeting_of[a * w->solid_count + b] = law;
            count += law >= 0;
        }
    }
    if (count > PAIRS_MOST)
        return refuse_pairs(w, report, "more than 200000 pairs of shapes may touch");
    w->meetings = malloc(((size_t)count + 1) * sizeof *w->meetings);
    if (!w->meetings) return SOA_E_MEMORY;
    for (int a = 0; a < w->solid_count; ++a)
        for (int b = a + 1; b < w->solid_count; ++b) {
            const int law = w->meeting_of[a * w->solid_count + b];
            const int number = law >= 0 ? w->meeting_count : -1;
            if (law >= 0) w->meetings[w->meeting_count++] = (soai_meeting){a, b, law};
            w->meeting_of[a * w->solid_count + b] = w->meeting_of[b * w->solid_count + a] = number;
        }
    return SOA_OK;
}

/* Checks that all solids named by contacts exist. */
static soa_status check_names(const soa_world *w, soa_report *report) {
    for (int k = 0; k < w->scenario->contact_count; ++k) {
        const soa_contact_pair *c = &w->scenario->contacts[k];
        for (int side = 0; side < 2; ++side) {
            const char *name = side ? c->group2 : c->group1;
            int known = 0;
            for (int i = 0; i < w->solid_count && !known; ++i)
                known = soai_in_group(&w->solids[i], name);
            if (known) continue;
            return soai_scenario_fault(
                w->scenario, c->mark, SOA_E_NAME, report,
                "contact: '%.60s' is no shape or group, nor a part or link with <collision> "
                "shapes that can be used",
                name);
        }
    }
    return SOA_OK;
}

soa_status soai_solids_open(soa_world *w, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    size_t count = (size_t)sc->shape_count;
    soa_status s = open_parts(w);
    for (int p = 0; p < sc->part_count && !s; ++p) {
        s = read_collisions(w, p, report);
        count += (size_t)w->parts[p].collisions;
    }
    if (s) return s;
    if (count > SOLIDS_MOST && count > (size_t)sc->shape_count)
        return soai_scenario_fault(
            sc, (soa_mark){0}, SOA_E_ARGUMENT, report,
            "%zu shapes, more than %d; write collisions: false for parts that need not touch",
            count, SOLIDS_MOST);
    w->solids = calloc(count + 1, sizeof *w->solids);
    if (!w->solids) return SOA_E_MEMORY;
    for (int i = 0; i < sc->shape_count && !s; ++i)
        s = add_scenario_shape(w, i, report);
    for (int p = 0; p < sc->part_count && !s; ++p)
        for (int i = 0; i < w->collisions[p].count && !s; ++i)
            if (!w->collisions[p].items[i].fault) s = add_collision(w, p, i);
    tree t = {0};
    if (!s) s = open_tree(w, &t);
    if (!s) mark_replaced(w);
    if (!s) s = check_names(w, report);
    if (!s) s = keep_useful(w, &t, report);
    if (!s) s = check_names(w, report);
    if (!s) s = make_meetings(w, &t, report);
    close_tree(&t);
    return s;
}

void soai_solids_close(soa_world *w) {
    for (int i = 0; i < w->solid_count; ++i)
        soa_hull_free(&w->solids[i].hull);
    for (int p = 0; w->collisions && p < w->scenario->part_count; ++p)
        soa_urdf_collision_list_free(&w->collisions[p]);
    for (int i = 0; i < w->text_count; ++i)
        free(w->texts[i]);
    free(w->solids);
    free(w->meeting_of);
    free(w->meetings);
    free(w->laws);
    free(w->collisions);
    free(w->parts);
    free(w->gaps);
    free(w->texts);
}

/* --- the start -------------------------------------------------------------------------------- */
static soa_status place_solids(soa_world *w) {
    soa_status s = soa_kinematics(w->model, w->work, w->y, NULL, NULL);
    for (int i = 0; i < w->solid_count && !s; ++i) {
        soa_frame at;
        s = soa_pose(w->model, w->work, w->solids[i].frame, &at);
        if (!s) w->pose[i] = soa_frame_compose(&at, &w->solids[i].place);
    }
    return s;
}

/* True if a floating part would fall through the world. */
static int would_fall(const soa_world *w, const soai_solid *a, const soai_solid *b) {
    if (a->body && b->body) return 0;
    const int part = a->body ? a->part : b->part;
    return part >= 0 && w->parts[part].floats;
}

/* Two shapes overlap by `depth` at the start: warns, or refuses. */
static soa_status judge_overlap(soa_world *w, const soai_meeting *m, double depth,
                                soa_report *report) {
    const soai_solid *a = &w->solids[m->a];
    const soai_solid *b = &w->solids[m->b];
    if (would_fall(w, a, b))
        return soai_scenario_fault(
            w->scenario, (soa_mark){0}, SOA_E_ARGUMENT, report,
            "shapes '%.50s' and '%.50s' overlap by %.3g m at the start; move the parts apart, or "
            "write collisions: false",
            a->name, b->name, depth);
    char name[96];
    snprintf(name, sizeof name, "%.40s %.40s", a->part >= 0 ? w->parts[a->part].name : "world",
             b->part >= 0 ? w->parts[b->part].name : "world");
    soai_warn(w, "overlap-left-out", name, depth,
              "shapes '%.50s' and '%.50s' overlap by %.3g m at the start, so they do not touch in "
              "this run; move the parts "
              "apart, or write collisions: false",
              a->name, b->name, depth);
    return SOA_OK;
}

static soa_status drop_overlaps(soa_world *w, soa_report *report) {
    int count = 0;
    for (int k = 0; k < w->meeting_count; ++k) {
        const soai_meeting m = w->meetings[k];
        const int by_default = m.law >= w->scenario->contact_count;
        soa_distance_cache cold = {0};
        soa_distance d = {.distance = 0};
        soa_status s = SOA_OK;
        if (by_default)
            s = soa_shape_distance(&w->solids[m.a].shape, &w->pose[m.a], &w->solids[m.b].shape,
                                   &w->pose[m.b], &cold, &d);
        if (s) return s;
        const int dropped = by_default && d.distance < -w->laws[m.law].margin;
        if (dropped && (s = judge_overlap(w, &m, -d.distance, report))) return s;
        const int number = dropped ? -1 : count;
        w->meeting_of[m.a * w->solid_count + m.b] = w->meeting_of[m.b * w->solid_count + m.a] =
            number;
        if (!dropped) w->meetings[count++] = m;
    }
    w->meeting_count = count;
    return SOA_OK;
}

static void note_use(soa_world *w) {
    for (int i = 0; i < w->solid_count; ++i) {
        const soai_solid *s = &w->solids[i];
        int meets = 0, meets_others = 0;
        for (int k = 0; k < w->solid_count; ++k) {
            if (w->meeting_of[i * w->solid_count + k] < 0) continue;
            meets = 1;
            meets_others = meets_others || w->solids[k].part != s->part;
        }
        if (s->part < 0) continue;
        w->parts[s->part].in_use += s->link && meets;
        w->parts[s->part].can_touch = w->parts[s->part].can_touch || meets_others;
    }
}

/* True if there is anything that part p could touch. */
static int has_others(const soa_world *w, int p) {
    for (int i = 0; i < w->scenario->shape_count; ++i)
        if (w->solids[i].part != p) return 1;
    for (int k = 0; k < w->scenario->part_count; ++k)
        if (k != p && w->parts[k].collisions > 0) return 1;
    return 0;
}

static int is_constrained(const soa_world *w, int p) {
    const soa_scenario *sc = w->scenario;
    for (int i = 0; sc->constraint_frames && i < 2 * sc->constraint_count; ++i)
        if (sc->constraint_frames[i] && soai_part_of(w, sc->constraint_frames[i]) == p) return 1;
    for (int i = 0; i < sc->spring_count; ++i)
        for (int side = 0; side < 2; ++side)
            if (soai_part_of(w, sc->springs[i].frame[side]) == p) return 1;
    return 0;
}

static void warn_gaps(soa_world *w, int p) {
    int count = 0;
    for (int i = 0; i < w->gap_count; ++i) {
        const soa_world_gap *gap = &w->gaps[i];
        if (strcmp(gap->part, w->parts[p].name) != 0 || ++count > GAPS_SAID) continue;
        char name[96];
        snprintf(name, sizeof name, "%.40s.%.50s", gap->part, gap->link);
        soai_warn(w, gap->mesh ? "mesh-missing" : "collision-unusable", name, NAN,
                  "its collision %s%.110s%s%.60s; it cannot touch there; correct that, or give the "
                  "part shapes",
                  gap->mesh ? "mesh '" : "", gap->mesh ? gap->mesh : "", gap->mesh ? "': " : "",
                  gap->fault);
    }
    if (count > GAPS_SAID)
        soai_warn(w, "mesh-missing", w->parts[p].name, count - GAPS_SAID,
                  "%d more of its collision shapes cannot be used; the summary (--summary FILE) "
                  "lists them",
                  count - GAPS_SAID);
}

static void warn_parts(soa_world *w) {
    double g[3];
    soa_model_gravity(w->model, g);
    const int falls = g[0] != 0 || g[1] != 0 || g[2] != 0;
    for (int p = 0; p < w->scenario->part_count; ++p) {
        const soa_part *part = &w->scenario->parts[p];
        if (!has_others(w, p)) continue;
        warn_gaps(w, p);
        if (!falls || !w->parts[p].floats || w->parts[p].can_touch || is_constrained(w, p))
            continue;
        const int own = w->parts[p].shapes + w->parts[p].collisions;
        const char *advice = "give it shapes and contacts";
        if (own)
            advice = "give contacts";
        else if (part->model)
            advice = "give it shapes, or a URDF whose <collision> shapes can be used";
        soai_warn(w, "cannot-touch", part->name, NAN, "it falls and %s; %s",
                  own ? "no contact names its shapes" : "has no shape that could touch the others",
                  advice);
    }
}

soa_status soai_solids_settle(soa_world *w, soa_report *report) {
    soa_status s = w->meeting_count ? place_solids(w) : SOA_OK;
    if (!s && w->meeting_count) s = drop_overlaps(w, report);
    if (s) return s;
    note_use(w);
    warn_parts(w);
    return SOA_OK;
}

/* --- queries ---------------------------------------------------------------------------------- */
const soa_world_part *soa_world_parts(const soa_world *w, int *count) {
    if (count) *count = w ? w->scenario->part_count : 0;
    return w ? w->parts : NULL;
}
const soa_world_gap *soa_world_gaps(const soa_world *w, int *count) {
    if (count) *count = w ? w->gap_count : 0;
    return w ? w->gaps : NULL;
}
