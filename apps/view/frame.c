/* frame.c  writes frames, overviews and samples as bytes (docs/view-protocol.md).
 *
 * Places of bodies come from soa_kinematics, the centre of mass and the momenta from soa_momentum.
 * Lines between nearest points: among the pairs that may touch, those whose boxes are nearer than
 * VIEW_NEAR are examined, at most the VIEW_TRIED nearest boxes, and the VIEW_LINES nearest of these
 * pairs are drawn. Cost: O(bodies + pairs), and at most VIEW_TRIED distances, warm-started. */
#include "scene_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- bytes ------------------------------------------------------------------------------------ */
static void put_u32(app_out *out, uint32_t x) {
    const char b[4] = {(char)(x & 255), (char)(x >> 8 & 255), (char)(x >> 16 & 255),
                       (char)(x >> 24 & 255)};
    out_bytes(out, b, 4);
}
static void put_u64(app_out *out, uint64_t x) {
    put_u32(out, (uint32_t)(x & 0xffffffff));
    put_u32(out, (uint32_t)(x >> 32));
}
static void put_f64(app_out *out, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_u64(out, bits);
}
static void put_f32(app_out *out, double x) {
    /* NaN is kept. */
    float f;
    if (x > FLT_MAX) {
        f = FLT_MAX;
    } else if (x < -FLT_MAX) {
        f = -FLT_MAX;
    } else {
        f = (float)x;
    }
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put_u32(out, bits);
}
static void put_f32s(app_out *out, const double *x, int count) {
    for (int i = 0; i < count; ++i)
        put_f32(out, x[i]);
}

static soa_status fail(soa_report *report, soa_status status, const char *text) {
    if (report) {
        *report = (soa_report){.status = status, .body = -1};
        snprintf(report->text, sizeof report->text, "%s", text);
    }
    return status;
}
static soa_status finish(app_out *out, size_t before, soa_status status) {
    if (!status && out->error) status = SOA_E_MEMORY;
    if (status) out->size = before;
    return status;
}
static int all_finite(const double *x, int n) {
    for (int i = 0; i < n; ++i)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* --- frames ----------------------------------------------------------------------------------- */
static int by_gap(const void *a, const void *b) {
    const view_near *x = a, *y = b;
    if (x->gap != y->gap) return x->gap < y->gap ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* Distance between two boxes. */
static double box_gap(const soa_bounds *a, const soa_bounds *b) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        const double gap = fmax(a->low[k] - b->high[k], b->low[k] - a->high[k]);
        if (gap > 0) sum += gap * gap;
    }
    return sqrt(sum);
}

/* Finds nearest points of shapes that may touch and do not, into s->near. Returns their number. */
static int find_lines(view_scene *s, const soa_frame *body) {
    soa_frame *pose = s->pose + s->bodies + 1;
    int count = 0, lines = 0;
    if (!s->pair_count) return 0;
    for (int i = 0; i < s->contact_shapes; ++i) {
        pose[i] = soa_frame_compose(&body[s->shapes[i].body], &s->shapes[i].place);
        if (soa_shape_bounds(s->shapes[i].shape, &pose[i], 0, &s->bounds[i])) return 0;
    }
    for (int p = 0; p < s->pair_count; ++p) {
        const double gap = box_gap(&s->bounds[s->pairs[p].a], &s->bounds[s->pairs[p].b]);
        if (gap < VIEW_NEAR) s->near[count++] = (view_near){.gap = gap, .pair = p};
    }
    if (count > VIEW_TRIED) {
        qsort(s->near, (size_t)count, sizeof *s->near, by_gap);
        count = VIEW_TRIED;
    }
    for (int i = 0; i < count; ++i) {
        view_pair *pair = &s->pairs[s->near[i].pair];
        soa_distance d;
        if (soa_shape_distance(s->shapes[pair->a].shape, &pose[pair->a], s->shapes[pair->b].shape,
                               &pose[pair->b], &pair->cache, &d) ||
            !(d.distance > pair->margin && d.distance < VIEW_NEAR))
            continue;
        view_near *line = &s->near[lines++]; /* lines <= i, so no entry is overwritten too early */
        *line = (view_near){.gap = d.distance, .pair = s->near[i].pair};
        memcpy(line->on_a, d.point_a, sizeof d.point_a);
        memcpy(line->on_b, d.point_b, sizeof d.point_b);
    }
    qsort(s->near, (size_t)lines, sizeof *s->near, by_gap);
    return lines < VIEW_LINES ? lines : VIEW_LINES;
}

soa_status view_frame(view_scene *s, uint32_t id, const view_state *state, app_out *out) {
    if (!s || !s->model || !state || !state->q) return SOA_E_ARGUMENT;
    /* a copy with unit quaternions; a state that cannot be drawn keeps the last one */
    double *q = s->q_now;
    const int good_v = state->v && all_finite(state->v, s->nv);
    soa_status status = SOA_OK;
    if (all_finite(state->q, s->nq)) {
        memcpy(q, state->q, (size_t)s->nq * sizeof *q);
        if (!soa_q_normalise(s->model, q) && all_finite(q, s->nq)) {
            memcpy(s->q, q, (size_t)s->nq * sizeof *q);
            if (good_v)
                memcpy(s->v, state->v, (size_t)s->nv * sizeof *s->v);
            else
                memset(s->v, 0, (size_t)s->nv * sizeof *s->v);
        }
    }
    double h[6] = {0}, com[3] = {0};
    status = soa_kinematics(s->model, s->work, s->q, s->v, NULL);
    if (status) return status;
    s->pose[0] = soa_frame_identity();
    for (int b = 1; b <= s->bodies && !status; ++b) {
        soa_body_info info;
        soa_model_body(s->model, b, &info);
        status = soa_pose(s->model, s->work, info.frame, &s->pose[b]);
    }
    if (status) return status;
    if (soa_momentum(s->model, s->work, s->q, s->v, h, com)) {
        memset(h, 0, sizeof h);
        memset(com, 0, sizeof com);
    }
    const int lines = find_lines(s, s->pose);
    int contacts = 0;
    for (int i = 0; i < state->contact_count && contacts < VIEW_CONTACTS; ++i)
        contacts +=
            all_finite(state->contacts[i].point, 3) && all_finite(state->contacts[i].force, 3);

    const size_t before = out->size;
    put_u32(out, 1);
    put_u32(out, id);
    put_f64(out, state->t);
    put_u32(out, (uint32_t)state->phase);
    put_u32(out, (uint32_t)s->bodies + 1);
    put_u32(out, (uint32_t)contacts);
    put_u32(out, (uint32_t)lines);
    for (int b = 0; b <= s->bodies; ++b) {
        double turn[4];
        view_quaternion(s->pose[b].R, turn);
        put_f32s(out, s->pose[b].p, 3);
        put_f32s(out, turn, 4);
    }
    put_f32s(out, com, 3);
    put_f32s(out, h + 3, 3);
    put_f32s(out, h, 3);
    for (int i = 0; i < state->contact_count && contacts > 0; ++i) {
        const view_contact *c = &state->contacts[i];
        if (!all_finite(c->point, 3) || !all_finite(c->force, 3)) continue;
        put_f32s(out, c->point, 3);
        put_f32s(out, c->force, 3);
        put_f32(out, c->a);
        put_f32(out, c->b);
        --contacts;
    }
    for (int i = 0; i < lines; ++i) {
        put_f32s(out, s->near[i].on_a, 3);
        put_f32s(out, s->near[i].on_b, 3);
        put_f32(out, s->near[i].gap);
    }
    return finish(out, before, SOA_OK);
}

void view_contact_of(const view_scene *s, const soa_world_contact *from, view_contact *to) {
    const int a = view_shape_of(s, from->shape_a), b = view_shape_of(s, from->shape_b);
    const int swap = a >= 0 && b >= 0 && s->shown[b] && !s->shown[a];
    to->a = swap ? b : a;
    to->b = swap ? a : b;
    for (int k = 0; k < 3; ++k) {
        const double force = from->pressure * from->normal[k] + from->tangential[k];
        to->point[k] = from->point[k];
        to->force[k] = swap ? -force : force;
    }
}

soa_status view_frame_of_world(view_scene *s, uint32_t id, const soa_world *w, app_out *out) {
    if (!s || !w) return SOA_E_ARGUMENT;
    const int most = soa_world_contacts(w, NULL, 0);
    soa_world_contact *now = calloc((size_t)most + 1, sizeof *now);
    view_contact *contacts = calloc((size_t)most + 1, sizeof *contacts);
    soa_status status = SOA_E_MEMORY;
    if (now && contacts) {
        soa_world_contacts(w, now, most);
        for (int i = 0; i < most; ++i)
            view_contact_of(s, &now[i], &contacts[i]);
        const view_state state = {.t = soa_world_time(w),
                                  .phase = view_phase_of(s, soa_world_phase(w)),
                                  .q = soa_world_q(w),
                                  .v = soa_world_v(w),
                                  .contact_count = most,
                                  .contacts = contacts};
        status = view_frame(s, id, &state, out);
    }
    free(now);
    free(contacts);
    return status;
}

soa_status view_frame_of_sample(view_scene *s, uint32_t id, int64_t sample, app_out *out,
                                soa_report *report) {
    if (!s || !s->from.log || !s->column_count)
        return fail(report, SOA_E_ARGUMENT, "the record gives no frames");
    view_contact contacts[VIEW_RECORDED];
    double t;
    int64_t got = 0;
    soa_status status = soa_log_read_samples(
        s->from.log,
        &(soa_log_range){
            .first = sample, .count = 1, .signals = s->column, .signal_count = s->column_count},
        &t, s->row, &got, report);
    if (status) return status;
    if (got != 1) return fail(report, SOA_E_ARGUMENT, "no such sample");
    view_state state = {.t = t,
                        .phase = -1,
                        .q = s->row,
                        .v = s->has_v ? s->row + s->nq : NULL,
                        .contacts = contacts};
    if (s->phase_column >= 0) {
        const double phase = s->row[s->phase_column];
        if (phase >= 0 && phase < s->phase_count) state.phase = (int)phase;
    }
    for (int i = 0; i < s->recorded && state.contact_count < VIEW_RECORDED; ++i) {
        const double *x = s->row + s->first_recorded + 6 * i;
        view_contact *c = &contacts[state.contact_count];
        if (!all_finite(x, 6)) continue; /* it does not touch */
        *c = (view_contact){.a = s->recorded_of[2 * i], .b = s->recorded_of[2 * i + 1]};
        memcpy(c->point, x, sizeof c->point);
        memcpy(c->force, x + 3, sizeof c->force);
        ++state.contact_count;
    }
    status = view_frame(s, id, &state, out);
    return status ? fail(report, status, soa_status_text(status)) : SOA_OK;
}

soa_status view_frame_of_log(view_scene *s, uint32_t id, double t, app_out *out,
                             soa_report *report) {
    if (!s || !s->from.log || !s->column_count)
        return fail(report, SOA_E_ARGUMENT, "the record gives no frames");
    soa_log_info info;
    soa_log_get_info(s->from.log, &info);
    if (!info.samples) return fail(report, SOA_E_ARGUMENT, "the record has no samples yet");
    if (isnan(t)) return fail(report, SOA_E_NOT_FINITE, "the time asked for is not a number");
    int64_t after = 0;
    const soa_status status =
        soa_log_find_sample(s->from.log, nextafter(t, INFINITY), &after, report);
    if (status) return status;
    return view_frame_of_sample(s, id, after > 0 ? after - 1 : 0, out, report);
}

/* --- signals ---------------------------------------------------------------------------------- */
/* Checks the requested signals; all of them for NULL. The caller frees the list. */
static int *signal_list(const soa_log *log, const int *signals, int *count, soa_report *report) {
    soa_log_info info;
    soa_log_get_info(log, &info);
    if (!signals) *count = info.signal_count;
    int *list = *count >= 0 && *count <= SOA_JOURNAL_MAX_SIGNALS
                    ? malloc(((size_t)*count + 1) * sizeof *list)
                    : NULL;
    if (!list) {
        fail(report, SOA_E_MEMORY, "no memory for so many signals");
        return NULL;
    }
    for (int i = 0; i < *count; ++i) {
        list[i] = signals ? signals[i] : i;
        if (list[i] >= 0 && list[i] < info.signal_count) continue;
        fail(report, SOA_E_ARGUMENT, "there is no such signal");
        free(list);
        return NULL;
    }
    return list;
}
static void put_signal_numbers(app_out *out, const int *list, int count) {
    for (int i = 0; i < count; ++i)
        put_u32(out, (uint32_t)list[i]);
    if (count % 2) put_u32(out, 0);
}

soa_status view_overview(view_scene *s, uint32_t id, const int *signals, int signal_count,
                         double t0, double t1, int columns, app_out *out, soa_report *report) {
    if (!s || !s->from.log || columns < 1 || columns > 1 << 20 || !isfinite(t0) || !isfinite(t1) ||
        !(t0 <= t1))
        return fail(report, SOA_E_ARGUMENT, "an overview needs a record, t0 <= t1 and columns");
    int *list = signal_list(s->from.log, signals, &signal_count, report);
    if (!list) return SOA_E_ARGUMENT;
    const size_t n = (size_t)signal_count * (size_t)columns;
    double *low = malloc((2 * n + 1) * sizeof *low), *high = low ? low + n : NULL;
    soa_status status = low ? SOA_OK : fail(report, SOA_E_MEMORY, "no memory for so many columns");
    if (!status)
        status = view_damage_overview(s->from.log, list, signal_count, t0, t1, columns, low, high,
                                      &s->damage, report);
    if (!status) {
        const size_t before = out->size;
        put_u32(out, 2);
        put_u32(out, id);
        put_u32(out, (uint32_t)columns);
        put_u32(out, (uint32_t)signal_count);
        put_f64(out, t0);
        put_f64(out, t1);
        put_signal_numbers(out, list, signal_count);
        for (size_t i = 0; i < 2 * n; ++i)
            put_f32(out, low[i]);
        status = finish(out, before, SOA_OK);
    }
    free(low);
    free(list);
    return status;
}

soa_status view_samples(view_scene *s, uint32_t id, const int *signals, int signal_count, double t0,
                        double t1, int64_t most, app_out *out, soa_report *report) {
    if (!s || !s->from.log || most < 1 || isnan(t0) || isnan(t1))
        return fail(report, SOA_E_ARGUMENT, "samples need a record and a stretch of time");
    int *list = signal_list(s->from.log, signals, &signal_count, report);
    if (!list) return SOA_E_ARGUMENT;
    int64_t first = 0, after = 0, got = 0;
    soa_status status = view_damage_find(s->from.log, t0, t1, &first, &after, report);
    int64_t count = after > first ? after - first : 0;
    const int64_t room = most / (signal_count > 0 ? signal_count : 1);
    const int more = count > room;
    if (more) count = room;
    double *t = NULL, *values = NULL;
    if (!status) {
        t = malloc(((size_t)count + 1) * sizeof *t);
        values = malloc(((size_t)count * (size_t)signal_count + 1) * sizeof *values);
        if (!t || !values) status = fail(report, SOA_E_MEMORY, "no memory for so many samples");
    }
    /* Samples before a damaged record are shown. */
    if (!status && count)
        status = view_damage_read(s->from.log, first, count, list, signal_count, t, values, &got,
                                  &s->damage, report);
    if (!status) {
        const size_t before = out->size;
        put_u32(out, 3);
        put_u32(out, id);
        put_u32(out, (uint32_t)got);
        put_u32(out, (uint32_t)signal_count);
        put_u32(out, more ? 1 : 0);
        put_u32(out, 0);
        put_signal_numbers(out, list, signal_count);
        for (int64_t i = 0; i < got; ++i)
            put_f64(out, t[i]);
        for (int64_t i = 0; i < got * signal_count; ++i)
            put_f64(out, values[i]);
        status = finish(out, before, SOA_OK);
    }
    free(t);
    free(values);
    free(list);
    return status;
}
