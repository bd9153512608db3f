/* test_view_scene.c  the viewer's scene and frames: complete and consistent JSON, places and
 * momenta compared with the library's own calls and an independent sum, records with NaN,
 * reports. */
#include "report.h"
#include "session.h"
#include "worlds.h"

#include <jansson.h>
#include <unistd.h>

/* --- reading bytes ---------------------------------------------------------------------------- */
static uint32_t u32_at(const app_out *out, size_t at) {
    uint32_t x;
    assert_true(at + 4 <= out->size);
    memcpy(&x, out->data + at, 4); /* little-endian machine */
    return x;
}
static double f32_at(const app_out *out, size_t at) {
    float x;
    assert_true(at + 4 <= out->size);
    memcpy(&x, out->data + at, 4);
    return (double)x;
}
static double f64_at(const app_out *out, size_t at) {
    double x;
    assert_true(at + 8 <= out->size);
    memcpy(&x, out->data + at, 8);
    return x;
}
typedef struct frame {
    double t, place[400][7], sums[9], contact[64][8], line[64][7];
    int id, phase, bodies, contacts, lines;
} frame;
static void read_frame(const app_out *out, frame *f) {
    assert_int_equal(u32_at(out, 0), 1);
    f->id = (int)u32_at(out, 4);
    f->t = f64_at(out, 8);
    f->phase = (int)(int32_t)u32_at(out, 16);
    f->bodies = (int)u32_at(out, 20);
    f->contacts = (int)u32_at(out, 24);
    f->lines = (int)u32_at(out, 28);
    assert_true(f->bodies <= 400 && f->contacts <= 64 && f->lines <= 64);
    size_t at = 32;
    for (int b = 0; b < f->bodies; ++b)
        for (int k = 0; k < 7; ++k, at += 4)
            f->place[b][k] = f32_at(out, at);
    for (int k = 0; k < 9; ++k, at += 4)
        f->sums[k] = f32_at(out, at);
    for (int i = 0; i < f->contacts; ++i)
        for (int k = 0; k < 8; ++k, at += 4)
            f->contact[i][k] = f32_at(out, at);
    for (int i = 0; i < f->lines; ++i)
        for (int k = 0; k < 7; ++k, at += 4)
            f->line[i][k] = f32_at(out, at);
    assert_int_equal(at, out->size);
    for (size_t i = 0; 32 + 4 * i < out->size; ++i)
        assert_true(isfinite(f32_at(out, 32 + 4 * i)));
}

/* --- JSON ------------------------------------------------------------------------------------- */
static double number(const json_t *object, const char *key) {
    const json_t *x = json_object_get(object, key);
    if (!json_is_number(x)) fail_msg("'%s' is no number", key);
    return json_number_value(x);
}
static const char *text(const json_t *object, const char *key) {
    const json_t *x = json_object_get(object, key);
    if (!json_is_string(x)) fail_msg("'%s' is no text", key);
    return json_string_value(x);
}
static void numbers(const json_t *object, const char *key, double *out, size_t count) {
    const json_t *list = json_object_get(object, key);
    if (!json_is_array(list) || json_array_size(list) != count)
        fail_msg("'%s' is no list of %zu", key, count);
    for (size_t i = 0; i < count; ++i) {
        assert_true(json_is_number(json_array_get(list, i)));
        out[i] = json_number_value(json_array_get(list, i));
    }
}
static void unit(const double q[4]) {
    near("quaternion", q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-12);
}
static void rotation(const double q[4], double R[9]) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double all[9] = {
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
        2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, all, sizeof all);
}

static json_t *parsed_scene(view_scene *scene) {
    app_out out;
    out_start(&out, -1);
    out_text(&out, "before");
    OK(view_scene_json(scene, &out));
    json_error_t error;
    json_t *j = json_loadb(out.data + 6, out.size - 6, JSON_REJECT_DUPLICATES, &error);
    if (!j) fail_msg("not JSON: %s at %d:%d", error.text, error.line, error.column);
    out_free(&out);
    return j;
}
static void check_place(const json_t *object, const char *key, double place[7]) {
    numbers(object, key, place, 7);
    unit(place + 3);
}
static void check_head(const json_t *j) {
    assert_string_equal(text(j, "kind"), "scene");
    assert_int_equal((int)number(j, "version"), 1);
    text(j, "title");
    text(j, "text");
    text(j, "source");
    text(j, "scenario");
    assert_true(json_is_boolean(json_object_get(j, "live")));
    const json_t *time = json_object_get(j, "time");
    assert_true(number(time, "first") <= number(time, "last") && number(time, "tick") >= 0);
}
static void check_joint(const json_t *joint, const soa_body_info *info) {
    double axis[3];
    assert_string_equal(text(joint, "name"), info->joint);
    assert_string_equal(text(joint, "type"), soa_joint_type_name(info->type));
    assert_int_equal((int)number(joint, "q"), info->q_index);
    assert_int_equal(json_object_get(joint, "lower") != NULL, info->lower > -INFINITY);
    const int has_axis = info->type != SOA_SPHERICAL && info->type != SOA_FREE;
    assert_int_equal(json_object_get(joint, "axis") != NULL, has_axis);
    if (has_axis) numbers(joint, "axis", axis, 3);
}
/* Body b of the model; 0 is the world. */
static void check_body(const json_t *body, int b, const soa_model *model) {
    const int parent = (int)number(body, "parent");
    double place[7], x[6], R[9];
    soa_body_info info;
    assert_true(b ? parent >= 0 && parent < b : parent == -1);
    check_place(body, "place", place);
    numbers(body, "com", x, 3);
    numbers(body, "inertia", x, 6);
    assert_true(number(body, "mass") >= 0);
    if (!b) return;
    OK(soa_model_body(model, b, &info));
    assert_string_equal(text(body, "name"), info.link);
    assert_int_equal(parent, info.parent);
    rotation(place + 3, R);
    for (int k = 0; k < 9; ++k)
        near("placement", R[k], info.placement.R[k], 1e-14);
    for (int k = 0; k < 3; ++k)
        assert_true(place[k] == info.placement.p[k]); /* to the bit */
    assert_true(number(body, "mass") == info.mass);
    check_joint(json_object_get(body, "joint"), &info);
}
/* All bodies, or none if nothing is drawn; how many. */
static int check_bodies(const json_t *j, int drawn, const soa_model *model) {
    const json_t *bodies = json_object_get(j, "bodies");
    const int count = (int)json_array_size(bodies);
    int nq = 0, nv = 0;
    assert_int_equal(count, drawn);
    for (int b = 0; b < count; ++b) {
        const json_t *body = json_array_get(bodies, (size_t)b),
                     *joint = json_object_get(body, "joint");
        check_body(body, b, model);
        if (!b) continue;
        nq += (int)number(joint, "nq");
        nv += (int)number(joint, "nv");
    }
    if (drawn) assert_true(nq == soa_model_nq(model) && nv == soa_model_nv(model));
    assert_int_equal(json_array_size(json_object_get(j, "q")), drawn ? soa_model_nq(model) : 0);
    return count;
}
/* Vertices and faces of what has some; every corner is a vertex. */
static void check_faces(const json_t *shape, int is_mesh) {
    const json_t *vertices = json_object_get(shape, "vertices"),
                 *faces = json_object_get(shape, "faces");
    assert_int_equal(json_is_array(vertices) && json_is_array(faces), is_mesh);
    for (size_t f = 0; f < json_array_size(faces); ++f) {
        const json_t *face = json_array_get(faces, f);
        assert_true(json_array_size(face) >= 1);
        for (size_t k = 0; k < json_array_size(face); ++k) {
            const long long corner = json_integer_value(json_array_get(face, k));
            assert_true(corner >= 0 && corner < (long long)json_array_size(vertices));
        }
    }
}
static void check_shape(const json_t *shape, int bodies) {
    const int body = (int)number(shape, "body");
    const char *type = text(shape, "type"), *role = text(shape, "role");
    double place[7], half[3];
    assert_true(body >= 0 && body < bodies);
    check_place(shape, "place", place);
    numbers(shape, "half", half, 3);
    assert_true(!strcmp(role, "contact") || !strcmp(role, "visual"));
    assert_true(strstr(" box sphere capsule cylinder hull mesh ", type) &&
                number(shape, "radius") >= 0);
    check_faces(shape, !strcmp(type, "hull") || !strcmp(type, "mesh"));
    text(shape, "name");
    text(shape, "group");
}
static void check_named_frame(const json_t *named, int bodies, const soa_model *model) {
    double place[7];
    assert_true(number(named, "body") >= 0 && number(named, "body") < bodies);
    check_place(named, "place", place);
    assert_true(soa_model_find_frame(model, text(named, "name")) > 0);
}
static void check_constraint(const json_t *constraint, int bodies) {
    double place[7];
    assert_true(number(constraint, "body_a") >= 0 && number(constraint, "body_a") < bodies);
    assert_true(number(constraint, "body_b") >= 0 && number(constraint, "body_b") < bodies);
    if (json_object_get(constraint, "place_a")) {
        check_place(constraint, "place_a", place);
        check_place(constraint, "place_b", place);
    } else {
        assert_null(json_object_get(constraint, "joint"));
    }
}
static void check_record(const json_t *j) {
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(j, "signals"), i, item) {
        text(item, "name");
        text(item, "unit");
    }
    json_array_foreach(json_object_get(j, "events"), i, item) {
        number(item, "t");
        text(item, "kind");
        text(item, "text");
    }
    json_array_foreach(json_object_get(j, "summary"), i, item) {
        assert_int_equal(json_array_size(item), 2);
    }
}
/* The scene as text, parsed and looked through; to be freed. */
static json_t *checked_scene(view_scene *scene, const soa_model *model) {
    json_t *j = parsed_scene(scene), *item;
    size_t i;
    check_head(j);
    const int bodies = check_bodies(j, view_body_count(scene), model);
    json_array_foreach(json_object_get(j, "shapes"), i, item) {
        check_shape(item, bodies);
    }
    json_array_foreach(json_object_get(j, "frames"), i, item) {
        check_named_frame(item, bodies, model);
    }
    json_array_foreach(json_object_get(j, "constraints"), i, item) {
        check_constraint(item, bodies);
    }
    check_record(j);
    return j;
}

/* --- frames ----------------------------------------------------------------------------------- */
/* Places by a work space of its own, momenta as a sum over bodies of m v and I w + r x m v. */
static void check_frame(const frame *f, const soa_model *model, const double *q, const double *v,
                        int sums) {
    soa_work *work = NULL;
    OK(soa_work_create(model, &work));
    OK(soa_kinematics(model, work, q, v, NULL));
    const int n = soa_model_body_count(model);
    assert_int_equal(f->bodies, n + 1);
    double mass = 0, com[3] = {0}, linear[3] = {0}, about[3] = {0}, size = 1;
    for (int b = 1; b <= n; ++b) {
        soa_body_info info;
        soa_frame at;
        double V[6], R[9], c[3], arm[3], speed[3], spin[3] = {0}, local[3], turned[3];
        OK(soa_model_body(model, b, &info));
        OK(soa_pose(model, work, info.frame, &at));
        OK(soa_velocity(model, work, info.frame, SOA_AXES_WORLD, V));
        rotation(f->place[b] + 3, R);
        for (int k = 0; k < 9; ++k)
            near("rotation", R[k], at.R[k], 1e-6);
        for (int k = 0; k < 3; ++k)
            near("place", f->place[b][k], at.p[k], 1e-6 * (1 + fabs(at.p[k])));
        for (int k = 0; k < 3; ++k) {
            arm[k] = at.R[3 * k] * info.com[0] + at.R[3 * k + 1] * info.com[1] +
                     at.R[3 * k + 2] * info.com[2];
            c[k] = at.p[k] + arm[k];
            local[k] = at.R[k] * V[0] + at.R[3 + k] * V[1] + at.R[6 + k] * V[2]; /* R' w */
        }
        for (int k = 0; k < 3; ++k) {
            const int i = (k + 1) % 3, j = (k + 2) % 3;
            speed[k] = V[3 + k] + V[i] * arm[j] - V[j] * arm[i];
        }
        const double *I = info.inertia;
        turned[0] = I[0] * local[0] + I[3] * local[1] + I[4] * local[2];
        turned[1] = I[3] * local[0] + I[1] * local[1] + I[5] * local[2];
        turned[2] = I[4] * local[0] + I[5] * local[1] + I[2] * local[2];
        mass += info.mass;
        for (int k = 0; k < 3; ++k) {
            const int i = (k + 1) % 3, j = (k + 2) % 3;
            spin[k] =
                at.R[3 * k] * turned[0] + at.R[3 * k + 1] * turned[1] + at.R[3 * k + 2] * turned[2];
            com[k] += info.mass * c[k];
            linear[k] += info.mass * speed[k];
            about[k] += spin[k] + info.mass * (c[i] * speed[j] - c[j] * speed[i]);
            size += fabs(about[k]) + fabs(info.mass * c[k]) + fabs(linear[k]) * (1 + fabs(c[k]));
        }
    }
    for (int k = 0; k < 3 && mass > 0; ++k)
        com[k] /= mass;
    for (int k = 0; k < 3 && mass > 0 && sums; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        near("centre of mass", f->sums[k], com[k], 1e-6 * (1 + size / mass));
        near("momentum", f->sums[3 + k], linear[k], 1e-6 * size);
        near("angular momentum", f->sums[6 + k],
             about[k] - (com[i] * linear[j] - com[j] * linear[i]), 1e-6 * size);
    }
    soa_work_free(work);
}

static uint64_t state = 20260927;
static double uniform(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static void every_model(void **unused) {
    (void)unused;
    int count = 0;
    for (int i = 0; soa_stock_model_name(i); ++i)
        for (int seed = 1; seed <= 12; ++seed) {
            char name[100];
            snprintf(name, sizeof name, "%.80s", soa_stock_model_name(i));
            char *colon = strchr(name, ':');
            if (!colon && seed > 1) break;
            if (colon) sprintf(colon + 1, "%d", strstr(name, "random") ? 17 * seed : 3 * seed);
            const soa_model *model = NULL;
            soa_constraint_list constraints;
            soa_report report;
            if (soa_model_open(name, NULL, &model, &constraints, &report))
                fail_msg("%s: %s", name, report.text);
            const view_source source = {.kind = "model",
                                        .live = 1,
                                        .model = model,
                                        .constraints = &constraints,
                                        .spec = name};
            view_scene *scene = NULL;
            OK(view_scene_create(&source, &scene, &report));
            json_t *j = checked_scene(scene, model);
            assert_int_equal(json_array_size(json_object_get(j, "constraints")), constraints.count);
            json_decref(j);
            const int nq = soa_model_nq(model), nv = soa_model_nv(model);
            double *q = calloc((size_t)nq + 1, sizeof *q), *at = calloc((size_t)nq + 1, sizeof *at),
                   *v = calloc((size_t)nv + 1, sizeof *v);
            assert_true(q && at && v);
            int exact_rotors = 0;
            for (int b = 1; b <= soa_model_body_count(model); ++b) {
                soa_body_info info;
                soa_model_body(model, b, &info);
                exact_rotors += info.rotor_model == SOA_ROTOR_EXACT && info.rotor_inertia > 0;
            }
            for (int trial = 0; trial < 3; ++trial) {
                soa_q_neutral(model, q);
                for (int k = 0; k < nv; ++k)
                    v[k] = 4 * uniform() - 2;
                OK(soa_q_integrate(model, q, v, 1, at));
                const view_state now = {.t = 0.5 + trial, .phase = -1, .q = at, .v = v};
                static frame f;
                app_out out;
                out_start(&out, -1);
                OK(view_frame(scene, 7, &now, &out));
                read_frame(&out, &f);
                assert_true(f.id == 7 && f.t == 0.5 + trial && f.phase == -1 && !f.contacts &&
                            !f.lines);
                /* a rotor's spin is more than its link's inertia */
                check_frame(&f, model, at, v, !exact_rotors);
                out_free(&out);
            }
            /* a state that is none is drawn where the last one was */
            static frame f, again;
            app_out out;
            out_start(&out, -1);
            OK(view_frame(scene, 1, &(view_state){.q = at, .v = v, .phase = -1}, &out));
            read_frame(&out, &f);
            out.size = 0;
            if (nq) at[nq / 2] = NAN;
            OK(view_frame(scene, 1, &(view_state){.q = at, .v = v, .phase = -1}, &out));
            read_frame(&out, &again);
            assert_memory_equal(f.place, again.place, sizeof f.place[0] * (size_t)f.bodies);
            out_free(&out);
            free(q);
            free(at);
            free(v);
            view_scene_free(scene);
            soa_constraint_list_free(&constraints);
            soa_model_free(model);
            ++count;
        }
    printf("  %d models\n", count);
}

/* Nearest points: on the surfaces' distance, sorted, none that touches. */
static void check_lines(const frame *f, const soa_world *w) {
    const soa_model *model = soa_world_model(w);
    soa_work *work = NULL;
    OK(soa_work_create(model, &work));
    OK(soa_kinematics(model, work, soa_world_q(w), NULL, NULL));
    int near_ones = 0;
    for (int p = 0; p < soa_world_pair_count(w); ++p) {
        soa_world_pair pair;
        soa_world_shape shape[2];
        soa_frame at[2];
        soa_distance d;
        OK(soa_world_get_pair(w, p, &pair));
        for (int side = 0; side < 2; ++side) {
            OK(soa_world_get_shape(w, side ? pair.b : pair.a, &shape[side]));
            at[side] = soa_frame_identity();
            soa_body_info info;
            if (shape[side].body) {
                OK(soa_model_body(model, shape[side].body, &info));
                OK(soa_pose(model, work, info.frame, &at[side]));
            }
            at[side] = soa_frame_compose(&at[side], &shape[side].place);
        }
        OK(soa_shape_distance(shape[0].shape, &at[0], shape[1].shape, &at[1], NULL, &d));
        if (!(d.distance > pair.margin && d.distance < 0.5)) continue;
        ++near_ones;
        int found = f->lines == 64;
        for (int i = 0; i < f->lines; ++i)
            found = found || fabs(f->line[i][6] - d.distance) < 1e-6;
        assert_true(found);
    }
    assert_int_equal(f->lines, near_ones < 64 ? near_ones : 64);
    for (int i = 0; i < f->lines; ++i) {
        double length = 0;
        for (int k = 0; k < 3; ++k)
            length += pow(f->line[i][3 + k] - f->line[i][k], 2);
        near("length of a line", sqrt(length), f->line[i][6], 1e-5);
        if (i) assert_true(f->line[i][6] >= f->line[i - 1][6]);
    }
    soa_work_free(work);
}

enum { KEPT = 12, TICKS_BETWEEN = 5 };
static void check_live_scene(view_scene *scene, const stage *s) {
    json_t *j = checked_scene(scene, soa_world_model(s->world));
    assert_int_equal(json_array_size(json_object_get(j, "shapes")), s->scenario->shape_count);
    assert_int_equal(json_array_size(json_object_get(j, "signals")),
                     soa_world_signal_count(s->world));
    assert_int_equal(json_array_size(json_object_get(j, "phases")),
                     s->scenario->control.phase_count);
    json_decref(j);
}
/* Runs the world: its frames, which are kept, and a sample of each in the journal. */
static void record_frames(stage *s, view_scene *scene, const char *path, frame kept[KEPT]) {
    soa_report report = {.body = -1};
    soa_journal *journal = NULL;
    double *values = malloc((size_t)soa_world_signal_count(s->world) * sizeof *values);
    app_out out;
    out_start(&out, -1);
    OK(soa_world_create_journal(s->world, path, &journal, &report));
    for (int k = 0; k < KEPT; ++k) {
        OK(view_frame_of_world(scene, 0, s->world, &out));
        read_frame(&out, &kept[k]);
        out.size = 0;
        check_frame(&kept[k], soa_world_model(s->world), soa_world_q(s->world),
                    soa_world_v(s->world), 1);
        check_lines(&kept[k], s->world);
        OK(soa_world_signal_values(s->world, values));
        OK(soa_journal_write_sample(journal, soa_world_time(s->world), values));
        for (int n = 0; n < TICKS_BETWEEN; ++n)
            OK(tick(s));
    }
    OK(soa_journal_close(journal, &report));
    free(values);
    out_free(&out);
}
/* Forces: whole shapes' in the record, single points in the world; those of one partner are the
 * same. Each shape that the world says touches is in the record. */
static void compare_contacts(const frame *f, const frame *kept) {
    assert_int_equal(f->contacts > 0, kept->contacts > 0);
    for (int a = 0; a < kept->contacts; ++a) {
        int found = 0;
        for (int c = 0; c < f->contacts; ++c)
            found = found || f->contact[c][6] == kept->contact[a][6];
        assert_true(found);
    }
}
/* A frame of the record, a moment after the sample: the last sample before is still the one. */
static void compare_recorded(const view_replay *replay, const frame *kept, int phases) {
    static frame f;
    soa_report report = {.body = -1};
    app_out out;
    out_start(&out, -1);
    OK(view_frame_of_log(replay->scene, 5, kept->t + 1e-5, &out, &report));
    read_frame(&out, &f);
    assert_true(f.id == 5 && f.t == kept->t && f.bodies == kept->bodies && f.lines == kept->lines);
    assert_true(phases ? f.phase >= 0 : f.phase == -1);
    for (int b = 0; b < f.bodies; ++b)
        for (int e = 0; e < 7; ++e)
            near("place", f.place[b][e], kept->place[b][e], 1e-7 * (1 + fabs(f.place[b][e])));
    compare_contacts(&f, kept);
    out_free(&out);
}
static void check_before_first(const view_replay *replay, double first) {
    static frame f;
    soa_report report = {.body = -1};
    app_out out;
    out_start(&out, -1);
    OK(view_frame_of_log(replay->scene, 5, -1, &out, &report));
    read_frame(&out, &f);
    assert_true(f.t == first);
    out_free(&out);
}
static void check_samples(const view_replay *replay, const frame kept[KEPT]) {
    const int signals[3] = {0, 2, 1};
    soa_report report = {.body = -1};
    app_out out;
    out_start(&out, -1);
    OK(view_samples(replay->scene, 9, signals, 3, 0, 1e9, 1000, &out, &report));
    assert_true(u32_at(&out, 0) == 3 && u32_at(&out, 4) == 9 && u32_at(&out, 8) == KEPT &&
                u32_at(&out, 12) == 3);
    assert_true(u32_at(&out, 16) == 0 && u32_at(&out, 24 + 4) == 2);
    assert_true(f64_at(&out, 24 + 16 + 8 * 3) == kept[3].t);
    assert_int_equal(out.size, 24 + 16 + 8 * KEPT * 4);
    out.size = 0;
    /* five samples' room */
    OK(view_samples(replay->scene, 9, signals, 3, 0, 1e9, 15, &out, &report));
    assert_true(u32_at(&out, 8) == 5 && u32_at(&out, 16) == 1);
    out_free(&out);
}
/* Lowest and highest of two signals in four columns */
static void check_overview(const view_replay *replay, const frame kept[KEPT]) {
    const int signals[2] = {0, 2};
    soa_report report = {.body = -1};
    app_out out;
    out_start(&out, -1);
    OK(view_overview(replay->scene, 9, signals, 2, kept[0].t, kept[KEPT - 1].t, 4, &out, &report));
    assert_true(u32_at(&out, 0) == 2 && u32_at(&out, 8) == 4 && u32_at(&out, 12) == 2);
    assert_int_equal(out.size, 32 + 8 + 4 * 2 * 2 * 4);
    for (int k = 0; k < 8; ++k)
        assert_true(f32_at(&out, 40 + 4 * (size_t)k) <= f32_at(&out, 72 + 4 * (size_t)k));
    out_free(&out);
}
static void signals_refused(const view_replay *replay) {
    const int below[1] = {-1}, above[1] = {1 << 20}, signals[2] = {0, 2};
    soa_report report = {.body = -1};
    app_out out;
    out_start(&out, -1);
    assert_int_equal(view_overview(replay->scene, 9, below, 1, 0, 1, 4, &out, &report),
                     SOA_E_ARGUMENT);
    assert_int_equal(view_overview(replay->scene, 9, signals, 2, 0, NAN, 4, &out, &report),
                     SOA_E_ARGUMENT);
    assert_int_equal(view_samples(replay->scene, 9, above, 1, 0, 1, 4, &out, &report),
                     SOA_E_ARGUMENT);
    assert_int_equal(out.size, 0);
    out_free(&out);
}
static void check_replay(const stage *s, const char *path, const frame kept[KEPT]) {
    const soa_model *model = soa_world_model(s->world);
    soa_report report = {.body = -1};
    view_replay replay;
    if (view_replay_open(path, &replay, &report)) fail_msg("%s", report.text);
    assert_int_equal(view_body_count(replay.scene), soa_model_body_count(model) + 1);
    OK(view_summarise(replay.scene, replay.log, &replay.scenario, replay.world, &report));
    json_decref(checked_scene(replay.scene, model));
    for (int k = 0; k < KEPT; ++k)
        compare_recorded(&replay, &kept[k], s->scenario->control.phase_count);
    check_before_first(&replay, kept[0].t);
    check_samples(&replay, kept);
    check_overview(&replay, kept);
    signals_refused(&replay);
    view_replay_close(&replay);
}
/* Every shipped scenario: its scene, frames of the world, and the same frames from its record. */
static void every_scenario(void **unused) {
    (void)unused;
    static frame kept[KEPT];
    for (int i = 0; soa_stock_scenario_name(i); ++i) {
        const char *name = soa_stock_scenario_name(i);
        char path[] = "/tmp/soa-view-XXXXXX";
        stage s = opened(soa_stock_scenario_text(name));
        assert_string_equal(s.scenario->name, name);
        s.scenario->integration.max_joint_step = 0;
        soa_report report = {.body = -1};
        view_scene *scene = NULL;
        const view_source source = {
            .kind = "scenario", .live = 1, .scenario = s.scenario, .world = s.world};
        OK(view_scene_create(&source, &scene, &report));
        check_live_scene(scene, &s);
        const int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        record_frames(&s, scene, path, kept);
        check_replay(&s, path, kept);
        unlink(path);
        view_scene_free(scene);
        closed(&s);
        printf("  %s\n", name);
    }
}

/* A finger of one partner: its recorded force is that of its contact in the world. */
static void recorded_contacts(void **unused) {
    (void)unused;
    stage s = opened("duration: 1\nparts:\n  - {name: ball, body: {mass: 1, sphere: 0.05}, place: "
                     "[0, 0, 0.0502]}\n"
                     "  - {name: other, body: {mass: 2, sphere: 0.05}, place: [1, 0, 0.0502]}\n"
                     "  - {name: ground, fixed: true, body: {}}\n"
                     "shapes:\n  - {name: floor, on: ground, plane: {}}\n  - {name: skin, on: "
                     "ball, sphere: 0.05}\n"
                     "  - {name: hide, on: other, sphere: 0.05}\n"
                     "contacts: [{between: [floor, skin], law: linear, stiffness: 2000, damping: "
                     "200, margin: 1 mm},\n"
                     "           {between: [floor, hide], law: linear, stiffness: 2000, damping: "
                     "200, margin: 1 mm}]\n"
                     "recording: {rate: 100}\n");
    char path[] = "/tmp/soa-view-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    soa_journal *journal = NULL;
    soa_report report = {.body = -1};
    OK(soa_world_create_journal(s.world, path, &journal, &report));
    OK(soa_world_run(s.world, journal, &(soa_run_options){.until = 0.5}, &report));
    OK(soa_journal_close(journal, &report));
    view_replay replay;
    OK(view_replay_open(path, &replay, &report));
    app_out out;
    out_start(&out, -1);
    static frame live, back;
    OK(view_frame_of_world(replay.scene, 0, s.world, &out));
    read_frame(&out, &live);
    out.size = 0;
    OK(view_frame_of_log(replay.scene, 0, 1e300, &out, &report));
    read_frame(&out, &back);
    out.size = 0;
    assert_int_equal(live.contacts, 2);
    assert_int_equal(back.contacts, 2);
    /* both for the ball, although the scenario names the floor first */
    for (int i = 0; i < 2; ++i) {
        const double *x = live.contact[i], *y = back.contact[i];
        assert_true(x[6] == y[6] && x[7] == y[7] && y[6] > 0 && y[7] == 0);
        for (int k = 0; k < 3; ++k) {
            near("point", y[k], x[k], 1e-6);
            near("force", y[3 + k], x[3 + k], 1e-5);
        }
        near("weight", y[5], y[6] == 1 ? 9.81 : 19.62, 0.1);
    }
    out_free(&out);
    view_replay_close(&replay);
    closed(&s);
    unlink(path);
}

/* Balls that meet one another more often than the table: it is the table that is left out, and all
 * balls are told. */
static void world_left_out(void **unused) {
    (void)unused;
    stage s = opened(
        "duration: 1\nparts:\n  - {name: table, fixed: true, body: {}}\n"
        "  - {name: a, body: {mass: 1, sphere: 0.05}, place: [0, 0, 0.0502]}\n"
        "  - {name: b, body: {mass: 1, sphere: 0.05}, place: [1, 0, 0.0502]}\n"
        "  - {name: c, body: {mass: 1, sphere: 0.05}, place: [2, 0, 0.0502]}\n"
        "shapes:\n  - {name: skin_a, on: a, sphere: 0.05}\n  - {name: skin_b, on: b, sphere: "
        "0.05}\n"
        "  - {name: skin_c, on: c, sphere: 0.05}\n  - {name: cloth, on: table, plane: {}}\n"
        "contacts: [{between: [skin_a, skin_b], law: linear, stiffness: 2000, damping: 200},\n"
        "           {between: [skin_a, skin_c], law: linear, stiffness: 2000, damping: 200},\n"
        "           {between: [skin_b, skin_c], law: linear, stiffness: 2000, damping: 200},\n"
        "           {between: [skin_a, cloth], law: linear, stiffness: 2000, damping: 200, margin: "
        "1 mm}]\n"
        "recording: {rate: 100}\n");
    soa_report report = {.body = -1};
    view_scene *scene = NULL;
    const view_source source = {
        .kind = "scenario", .live = 1, .scenario = s.scenario, .world = s.world};
    OK(view_scene_create(&source, &scene, &report));
    for (int swap = 0; swap < 2; ++swap) {
        const soa_world_contact touch = {.shape_a = swap ? "cloth" : "skin_a",
                                         .shape_b = swap ? "skin_a" : "cloth",
                                         .normal = {0, 0, swap ? -1 : 1},
                                         .pressure = 3};
        view_contact told;
        view_contact_of(scene, &touch, &told);
        assert_true(told.a == view_shape_of(scene, "skin_a") &&
                    told.b == view_shape_of(scene, "cloth"));
        near("force", told.force[2], 3, 0);
    }
    view_scene_free(scene);
    closed(&s);
}

/* A point and the z axis of a place in a drawn body, in the world. */
static void in_world(const frame *f, const json_t *item, const char *body, const char *key,
                     double p[3], double z[3]) {
    double place[7], R[9], L[9];
    const double *at = f->place[(int)number(item, body)];
    numbers(item, key, place, 7);
    rotation(at + 3, R);
    rotation(place + 3, L);
    for (int k = 0; k < 3; ++k) {
        p[k] = at[k] + R[3 * k] * place[0] + R[3 * k + 1] * place[1] + R[3 * k + 2] * place[2];
        z[k] = R[3 * k] * L[2] + R[3 * k + 1] * L[5] + R[3 * k + 2] * L[8];
    }
}
/* Loops are closed where the scene says: the points of both bodies meet, their axes are one. */
static void loops_meet(void **unused) {
    (void)unused;
    int count = 0;
    for (int i = 0; soa_stock_model_name(i); ++i) {
        const char *name = soa_stock_model_name(i);
        view_machine machine;
        soa_report report = {.body = -1};
        if (strchr(name, ':')) continue;
        if (view_machine_open(name, 0, &machine, &report)) fail_msg("%s: %s", name, report.text);
        soa_world *world = NULL;
        if (soa_world_create(&machine.scenario, &world, &report))
            fail_msg("%s: %s", name, report.text);
        if (soa_world_constraints(world)) {
            view_scene *scene = NULL;
            const view_source source = {
                .kind = "model", .live = 1, .scenario = &machine.scenario, .world = world};
            OK(view_scene_create(&source, &scene, &report));
            json_t *j = checked_scene(scene, soa_world_model(world)), *item;
            static frame f;
            app_out out;
            size_t n;
            out_start(&out, -1);
            OK(view_frame_of_world(scene, 0, world, &out));
            read_frame(&out, &f);
            json_array_foreach(json_object_get(j, "constraints"), n, item) {
                double a[3], b[3], za[3], zb[3], same = 0;
                if (!json_object_get(item, "joint")) continue;
                const char *joint = text(item, "joint");
                in_world(&f, item, "body_a", "place_a", a, za);
                in_world(&f, item, "body_b", "place_b", b, zb);
                for (int k = 0; k < 3; ++k)
                    same += za[k] * zb[k];
                if (strstr(" revolute universal spherical fixed ", joint))
                    for (int k = 0; k < 3; ++k)
                        near(name, b[k], a[k], 1e-5);
                if (strstr(" revolute prismatic helical cylindrical planar fixed ", joint))
                    near(name, same, 1, 1e-5);
                if (!strcmp(joint, "universal")) near(name, same, 0, 1e-5);
                ++count;
            }
            printf("  %s\n", name);
            json_decref(j);
            out_free(&out);
            view_scene_free(scene);
        }
        soa_world_free(world);
        view_machine_free(&machine);
    }
    assert_true(count > 0);
    printf("  %d loops\n", count);
}

/* --- reports ---------------------------------------------------------------------------------- */
static const char page[] = "<!doctype html><html><body><p></body> is no end</p></body></html>";

static void make_log(const char *path, const char *scenario, int signals, int samples, int bad) {
    soa_report report = {.body = -1};
    soa_journal *journal = NULL;
    char(*names)[32] = malloc((size_t)signals * sizeof *names);
    soa_signal *list = malloc((size_t)signals * sizeof *list);
    double *values = malloc((size_t)signals * sizeof *values);
    for (int i = 0; i < signals; ++i) {
        snprintf(names[i], 32, "group.s%d", i);
        list[i] = (soa_signal){names[i], "m"};
    }
    OK(soa_journal_create(path, scenario, strlen(scenario), list, signals, &journal, &report));
    for (int k = 0; k < samples; ++k) {
        for (int i = 0; i < signals; ++i) {
            if (bad) {
                if (i % 3) {
                    values[i] = NAN;
                } else if (i % 2) {
                    values[i] = INFINITY;
                } else {
                    values[i] = -1e300;
                }
            } else {
                values[i] = sin(0.001 * k + i);
            }
        }
        OK(soa_journal_write_sample(journal, 0.001 * k, values));
    }
    OK(soa_journal_write_event(journal, 0.001 * samples, "note",
                               "</script><script>alert(1)</script> \xff & <b>"));
    OK(soa_journal_close(journal, &report));
    free(names);
    free(list);
    free(values);
}

static void reports(void **unused) {
    (void)unused;
    char path[] = "/tmp/soa-view-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const struct {
        const char *scenario;
        int signals, samples, bad, columns;
    } cases[] = {
        {"", 3, 100, 0, 0},           {"", 1, 0, 0, 0},       {"no: scenario", 5, 50, 1, 0},
        {"\x01\xff<<<<", 4, 9, 1, 0}, {"", 50, 100000, 0, 1}, {"", 40000, 40, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        make_log(path, cases[i].scenario, cases[i].signals, cases[i].samples, cases[i].bad);
        view_replay replay;
        view_report_result result;
        soa_report report = {.body = -1};
        app_out out;
        out_start(&out, -1);
        if (view_replay_open(path, &replay, &report)) fail_msg("%s", report.text);
        assert_int_equal(view_body_count(replay.scene), 0);
        assert_true(replay.why[0]);
        OK(view_summarise(replay.scene, replay.log, &replay.scenario, replay.world, &report));
        if (view_report_build(&replay, page, sizeof page - 1, NULL, NULL, &out, &result, &report))
            fail_msg("case %zu: %s", i, report.text);
        assert_true(result.bytes == out.size && out.size < VIEW_REPORT_MOST);
        assert_int_equal(result.columns > 0, cases[i].columns);
        out_char(&out, 0);
        /* the page as it was, the scene and the data before the last </body> */
        const size_t head = sizeof page - 1 - strlen("</body></html>");
        assert_memory_equal(out.data, page, head);
        assert_non_null(strstr(out.data, "</script>\n</body></html>"));
        const char *scene = strstr(out.data, "id=\"soa-scene\">") + strlen("id=\"soa-scene\">");
        const char *end = strchr(scene, '<');
        assert_memory_equal(end, "</script>", 9);
        json_error_t error;
        json_t *j = json_loadb(scene, (size_t)(end - scene), 0, &error);
        if (!j) fail_msg("case %zu: %s", i, error.text);
        assert_int_equal(json_array_size(json_object_get(j, "signals")), cases[i].signals);
        assert_int_equal(json_array_size(json_object_get(j, "bodies")), 0);
        json_decref(j);
        printf("  %d signals, %d samples: %zu bytes, %lld columns\n", cases[i].signals,
               cases[i].samples, out.size - 1, (long long)result.columns);
        out_free(&out);
        view_replay_close(&replay);
    }
    unlink(path);
}

/* A byte flipped anywhere: up to the damage the overview is that of the good log, behind it there
 * is nothing; where only the tree is damaged, everything. */
static void damaged_logs(void **unused) {
    (void)unused;
    enum { SAMPLES = 20000, COLUMNS = 50 };
    char path[] = "/tmp/soa-view-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    make_log(path, "", 2, SAMPLES, 0);
    static double low[2][2 * COLUMNS], high[2][2 * COLUMNS];
    const double t1 = 0.001 * (SAMPLES - 1);
    soa_report report = {.body = -1};
    int cut = 0, whole = 0;
    for (int trial = 0; trial <= 60; ++trial) { /* the good log first */
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, 0, SEEK_END);
        const long at = (long)((0.1 + 0.8 * uniform()) * (double)ftell(file));
        fseek(file, at, SEEK_SET);
        const int was = fgetc(file);
        fseek(file, at, SEEK_SET);
        if (trial) fputc(was ^ 16, file);
        fclose(file);
        soa_log *log = NULL;
        view_damage damage = {0};
        const int k = trial > 0;
        OK(soa_log_open(path, &log, &report));
        OK(view_damage_overview(log, NULL, 2, 0, t1, COLUMNS, low[k], high[k], &damage, &report));
        const int end = damage.found ? (int)(damage.last / t1 * COLUMNS) : COLUMNS;
        if (trial) {
            cut += damage.found;
            whole += !damage.found;
        }
        if (damage.found) {
            near("samples and time", damage.last, 0.001 * (double)(damage.good - 1), 1e-9);
            assert_true(damage.byte > 0 && damage.byte <= at);
        }
        for (int s = 0; s < 2; ++s)
            for (int c = 0; c < COLUMNS && trial; ++c) {
                const int i = COLUMNS * s + c;
                if (c < end) assert_true(low[1][i] == low[0][i] && high[1][i] == high[0][i]);
                if (c > end) assert_true(isnan(low[1][i]) && isnan(high[1][i]));
            }
        soa_log_close(log);
        file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, at, SEEK_SET);
        fputc(was, file);
        fclose(file);
    }
    printf("  %d cut at the damage, %d shown whole\n", cut, whole);
    assert_true(cut > 0);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model),       cmocka_unit_test(every_scenario),
        cmocka_unit_test(recorded_contacts), cmocka_unit_test(world_left_out),
        cmocka_unit_test(loops_meet),        cmocka_unit_test(reports),
        cmocka_unit_test(damaged_logs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
