/* constraints.c  the object that holds constraints: room, adding, removing, switching. */
#include "constraint_internal.h"
#include "../spatial/algebra.h"
#include <stdio.h>
#include <stdlib.h>

soa_constraint_def soa_constraint_default(soa_constraint_kind kind, int frame1, int frame2) {
    soa_constraint_def d;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.frame1 = frame1;
    d.frame2 = frame2;
    d.place1 = d.place2 = soa_frame_identity();
    d.joint = SOA_REVOLUTE;
    d.axis[2] = 1;
    d.axis2[0] = 1;
    d.gear_ratio = 1;
    return d;
}

/* Numbers the trees; coordinates listed tree by tree.  Mimic joints may tie any of them together:
 * then one. */
static void find_trees(soa_constraints *c) {
    const soa_model *m = c->model;
    const soai_body_double *body = soai_bodies(m);
    int at = 0;
    c->trees = 0;
    c->tree[0] = -1;
    for (int i = 1; i <= m->nb; ++i) {
        if (m->nm) {
            c->tree[i] = 0;
        } else if (body[i].parent) {
            c->tree[i] = c->tree[body[i].parent];
        } else {
            c->tree[i] = c->trees++;
        }
    }
    if (m->nm) c->trees = 1;
    memset(c->tree_mark, 0, ((size_t)m->nb + 1) * sizeof *c->tree_mark);
    memset(c->tree_first, 0, ((size_t)m->nb + 2) * sizeof *c->tree_first);
    if (m->nm) {
        for (; at < m->nv; ++at)
            c->tree_dof[at] = at;
        c->tree_first[1] = m->nv;
        return;
    }
    for (int i = 1; i <= m->nb; ++i)
        c->tree_first[c->tree[i] + 1] += body[i].nv;
    for (int t = 0; t < c->trees; ++t)
        c->tree_first[t + 1] += c->tree_first[t];
    for (int i = 1; i <= m->nb; ++i) /* tree_mark counts what is written */
        for (int k = 0; k < body[i].nv; ++k)
            c->tree_dof[c->tree_first[c->tree[i]] + c->tree_mark[c->tree[i]]++] = body[i].iv + k;
    memset(c->tree_mark, 0, ((size_t)m->nb + 1) * sizeof *c->tree_mark);
}
/* Trees of the two frames join those of the constraint. */
static void touch(const soa_constraints *c, const soa_constraint_def *def, constraint *k) {
    const int frame[2] = {def->frame1, def->frame2};
    for (int i = 0; i < 2; ++i) {
        const int body = SOAI_AT(c->model, soai_frame_row, frame)[frame[i]].body;
        int known = body == 0;
        for (int j = 0; j < k->tree_count; ++j)
            known |= k->trees[j] == c->tree[body];
        if (!known) k->trees[k->tree_count++] = c->tree[body];
    }
}

static size_t layout(const soa_model *m, const soa_constraint_capacity *capacity, char *memory) {
    soa_constraints scratch, *c = memory ? (soa_constraints *)(void *)memory : &scratch;
    const size_t nv = (size_t)m->nv, nq = (size_t)m->nq, rows = (size_t)capacity->rows,
                 both = nv + rows;
    size_t at = 0;
    soai_take(memory, &at, sizeof *c);
    memset(c, 0, sizeof *c);
    c->model = m;
    c->capacity = *capacity;
    c->list = soai_take(memory, &at, (size_t)capacity->constraints * sizeof *c->list);
    if (memory) memset(c->list, 0, (size_t)capacity->constraints * sizeof *c->list);
    const size_t bodies = (size_t)m->nb + 1;
    c->tree = soai_take(memory, &at, bodies * sizeof(int));
    c->tree_first = soai_take(memory, &at, (bodies + 1) * sizeof(int));
    c->tree_mark = soai_take(memory, &at, (bodies + 1) * sizeof(int));
    c->tree_dof = soai_take(memory, &at, nv * sizeof(int));
    if (memory) find_trees(c);
    c->row = soai_take(memory, &at, rows * sizeof *c->row);
    c->owner = soai_take(memory, &at, rows * sizeof *c->owner);
    c->pivot = soai_take(memory, &at, both * sizeof *c->pivot);
    c->order = soai_take(memory, &at, 2 * both * sizeof *c->order);
    double **const by_rows[] = {&c->natural, &c->scale, &c->right, &c->lambda,  &c->gamma,
                                &c->rate,    &c->g,     &c->part,  &c->strength};
    double **const by_nv[] = {&c->cut, &c->vdot, &c->torque, &c->step, &c->spread};
    double **const by_nq[] = {&c->q, &c->try_q};
    for (size_t i = 0; i < sizeof by_rows / sizeof *by_rows; ++i)
        *by_rows[i] = soai_take(memory, &at, rows * sizeof(double));
    for (size_t i = 0; i < sizeof by_nv / sizeof *by_nv; ++i)
        *by_nv[i] = soai_take(memory, &at, nv * sizeof(double));
    for (size_t i = 0; i < sizeof by_nq / sizeof *by_nq; ++i)
        *by_nq[i] = soai_take(memory, &at, nq * sizeof(double));
    c->G = soai_take(memory, &at, rows * nv * sizeof(double));
    c->Y = soai_take(memory, &at, rows * nv * sizeof(double));
    c->inertia_row = soai_take(memory, &at, rows * sizeof *c->inertia_row);
    c->inertia_owner = soai_take(memory, &at, rows * sizeof *c->inertia_owner);
    c->B = soai_take(memory, &at, rows * nv * sizeof(double));
    c->Z = soai_take(memory, &at, rows * nv * sizeof(double));
    c->W = soai_take(memory, &at, rows * sizeof(double));
    c->W_next = soai_take(memory, &at, rows * sizeof(double));
    c->S = soai_take(memory, &at, rows * rows * sizeof(double));
    c->S_right = soai_take(memory, &at, rows * rows * sizeof(double));
    c->part2 = soai_take(memory, &at, 2 * rows * sizeof(double));
    c->L = soai_take(memory, &at, rows * rows * sizeof(double));
    c->N = soai_take(memory, &at, rows * rows * sizeof(double));
    if (capacity->dense) {
        c->M = soai_take(memory, &at, nv * nv * sizeof(double));
        c->K = soai_take(memory, &at, both * both * sizeof(double));
        c->beta = soai_take(memory, &at, both * sizeof(double));
        c->x = soai_take(memory, &at, both * sizeof(double));
    }
    return at;
}
static int usable(const soa_model *m, const soa_constraint_capacity *c) {
    return m && c && c->constraints >= 0 && c->rows >= 0 && c->constraints <= 1000000 &&
           c->rows <= 20000 &&
           !(c->dense && m->nv + c->rows > 30000); /* products of sizes stay within int */
}

size_t soa_constraints_size(const soa_model *model, const soa_constraint_capacity *capacity) {
    return usable(model, capacity) ? layout(model, capacity, NULL) : 0;
}
soa_status soa_constraints_init(const soa_model *model, const soa_constraint_capacity *capacity,
                                void *memory, size_t size, soa_constraints **constraints) {
    if (!usable(model, capacity) || !constraints) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, capacity, NULL))
        return SOA_E_MEMORY;
    layout(model, capacity, memory);
    *constraints = memory;
    return SOA_OK;
}
soa_status soa_constraints_create(const soa_model *model, const soa_constraint_capacity *capacity,
                                  soa_constraints **constraints) {
    if (!usable(model, capacity) || !constraints) return SOA_E_ARGUMENT;
    const size_t size = (layout(model, capacity, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    if (!memory) return SOA_E_MEMORY;
    return soa_constraints_init(model, capacity, memory, size, constraints);
}
void soa_constraints_free(soa_constraints *constraints) {
    free(constraints);
}

/* A unit vector, or 0. */
static int unit(double a[3]) {
    const double size = sqrt(v3_dot(a, a));
    if (!(size > 1e-12) || !(size < 1e12)) return 0;
    for (int j = 0; j < 3; ++j)
        a[j] /= size;
    return 1;
}
int soai_is_rotation(const soa_frame *X) {
    if (!soai_all_finite(X->R, 9) || !soai_all_finite(X->p, 3)) return 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(fabs(v3_dot(X->R + 3 * i, X->R + 3 * j) - (i == j)) <= 1e-9)) return 0;
    double x[3];
    v3_cross(X->R, X->R + 3, x);
    return v3_dot(x, X->R + 6) > 0;
}
int soa_constraint_def_row_count(const soa_constraint_def *d) {
    if (!d) return -1;
    switch (d->kind) {
    case SOA_LOOP: return (unsigned)d->joint < SOA_JOINT_TYPE_COUNT ? 6 - soai_nv_of(d->joint) : -1;
    case SOA_ROLLING:
    case SOA_DISC: return 3;
    case SOA_VELOCITY: return d->row_count;
    case SOA_DISTANCE:
    case SOA_PLANE:
    case SOA_RATIO: return 1;
    default: return -1;
    }
}
int soa_constraints_row_count(const soa_constraints *c) {
    int rows = 0;
    for (int i = 0; c && i < c->capacity.constraints; ++i)
        if (c->list[i].used && c->list[i].on) rows += c->list[i].rows;
    return rows;
}
int soa_constraints_count(const soa_constraints *c) {
    int count = 0;
    for (int i = 0; c && i < c->capacity.constraints; ++i)
        count += c->list[i].used;
    return count;
}

static constraint *find(const soa_constraints *c, int number) {
    return c && number >= 0 && number < c->capacity.constraints && c->list[number].used
               ? c->list + number
               : NULL;
}
static int free_of(const constraint *k) {
    return k->def.kind == SOA_LOOP ? 6 - k->rows : 0;
}

#define FAIL(status, ...) return soai_report(report, status, -1, 0, __VA_ARGS__)
/* Name of constraint `at`: the caller's, or its number. */
static soa_status take_name(const soa_constraints *c, int at, constraint *k, soa_report *report) {
    const char *name = k->def.name;
    if (name && strlen(name) >= NAME_ROOM)
        FAIL(SOA_E_NAME, "\"%.40s\" is longer than %d letters", name, NAME_ROOM - 1);
    if (name)
        strcpy(k->name, name);
    else
        snprintf(k->name, sizeof k->name, "constraint %d", at + 1);
    k->def.name = NULL;
    for (int i = 0; i < c->capacity.constraints; ++i)
        if (c->list[i].used && !strcmp(c->list[i].name, k->name))
            FAIL(SOA_E_NAME, "there is a constraint \"%s\" already", k->name);
    return SOA_OK;
}
static soa_status check_coordinate(const soa_constraints *c, const constraint *k, int body,
                                   soa_report *report) {
    const soa_model *m = c->model;
    if (body < 0) {
        const constraint *loop = find(c, ~body);
        if (!loop || free_of(loop) != 1)
            FAIL(SOA_E_JOINT, "\"%s\": constraint %d is no cut joint with one coordinate", k->name,
                 ~body);
        return SOA_OK;
    }
    if (body < 1 || body > m->nb || soai_bodies(m)[body].nv != 1)
        FAIL(SOA_E_JOINT, "\"%s\": body %d has no joint with one coordinate", k->name, body);
    if (soai_metas(m)[body].leader >= 0)
        FAIL(SOA_E_MIMIC, "\"%s\": body %d follows another joint (mimic); name that one", k->name,
             body);
    return SOA_OK;
}
static soa_status check_ratio(const soa_constraints *c, const constraint *k, soa_report *report) {
    int terms = 0;
    for (int j = 0; j < SOA_RATIO_TERMS; ++j) {
        const double coefficient = k->def.coefficient[j];
        if (!k->def.coordinate[j]) continue;
        if (!(fabs(coefficient) <= 1e12))
            FAIL(SOA_E_NOT_FINITE, "\"%s\": coefficient %d is not finite", k->name, j);
        terms += coefficient != 0;
        const soa_status s = check_coordinate(c, k, k->def.coordinate[j], report);
        if (s) return s;
    }
    if (!terms) FAIL(SOA_E_ARGUMENT, "\"%s\": no coordinate with a coefficient", k->name);
    return SOA_OK;
}
static soa_status check_frames(const soa_model *m, const constraint *k, soa_report *report) {
    const soa_constraint_def *def = &k->def;
    const int frame[2] = {def->frame1, def->frame2};
    for (int i = 0; i < 2; ++i)
        if (frame[i] < 0 || frame[i] >= m->frames)
            FAIL(SOA_E_NAME, "\"%s\": frame%d is %d; the model has frames 0 to %d", k->name, i + 1,
                 frame[i], (int)m->frames - 1);
    const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame);
    if (row[def->frame1].body == row[def->frame2].body)
        FAIL(SOA_E_ARGUMENT, "\"%s\": both frames are on body %d; a constraint needs two bodies",
             k->name, (int)row[def->frame1].body);
    if (!soai_is_rotation(&def->place1) || !soai_is_rotation(&def->place2))
        FAIL(SOA_E_FRAME, "\"%s\": a place in its frame is not a rotation and a finite shift",
             k->name);
    return SOA_OK;
}
/* Numbers that every kind has. */
static soa_status check_values(const constraint *k, soa_report *report) {
    const soa_constraint_def *def = &k->def;
    if (def->drive && def->kind != SOA_DISTANCE && def->kind != SOA_RATIO && def->kind != SOA_PLANE)
        FAIL(SOA_E_ARGUMENT, "\"%s\": only a distance, a ratio or a plane can be driven in time",
             k->name);
    if (!(fabs(def->value) <= 1e300) || !(def->damping >= 0 && def->damping <= 1e300) ||
        !(def->friction >= 0 && def->friction <= 1e300) || !(fabs(def->pitch) <= 1e12))
        FAIL(SOA_E_NOT_FINITE,
             "\"%s\": value, damping, friction or pitch is not finite (or negative)", k->name);
    return SOA_OK;
}
/* Checks the joint that is cut; its axes become unit vectors. */
static soa_status check_loop(constraint *k, soa_report *report) {
    soa_constraint_def *def = &k->def;
    if ((unsigned)def->joint >= SOA_JOINT_TYPE_COUNT)
        FAIL(SOA_E_JOINT, "\"%s\": no joint type has number %d", k->name, def->joint);
    if (!unit(def->axis)) FAIL(SOA_E_JOINT, "\"%s\": axis has no direction", k->name);
    if (def->joint == SOA_UNIVERSAL &&
        (!unit(def->axis2) || !(fabs(v3_dot(def->axis, def->axis2)) < 1 - 1e-9)))
        FAIL(SOA_E_JOINT,
             "\"%s\": the axes of a universal joint are parallel, or one has no direction",
             k->name);
    const int rotor = def->rotor_inertia != 0 && def->gear_ratio != 0,
              exact = def->rotor_model == SOA_ROTOR_EXACT;
    if (!(fabs(def->stiffness) <= 1e300) || !(fabs(def->rest) <= 1e300) ||
        !(def->rotor_inertia >= 0 && def->rotor_inertia <= 1e300) ||
        !(fabs(def->gear_ratio) <= 1e150))
        FAIL(SOA_E_NOT_FINITE, "\"%s\": its spring or rotor is not finite (or negative)", k->name);
    if (def->stiffness != 0 && (def->joint == SOA_SPHERICAL || def->joint == SOA_FREE))
        FAIL(SOA_E_JOINT, "\"%s\": a %s joint has no spring", k->name,
             soa_joint_type_name(def->joint));
    if (rotor && def->joint == SOA_FREE)
        FAIL(SOA_E_JOINT, "\"%s\": a free joint that is cut has no rotor", k->name);
    if (rotor && ((unsigned)def->rotor_model > SOA_ROTOR_EXACT ||
                  (exact && soa_constraint_def_row_count(def) != 5)))
        FAIL(SOA_E_JOINT, "\"%s\": an exact rotor needs a joint with one coordinate", k->name);
    if (!soai_all_finite(def->rotor_axis, 3))
        FAIL(SOA_E_NOT_FINITE, "\"%s\": rotor_axis is not finite", k->name);
    if (!unit(def->rotor_axis)) memcpy(def->rotor_axis, def->axis, sizeof def->axis);
    return SOA_OK;
}
/* The first coordinate axis that is not close to a. */
static int axis_across(const double a[3]) {
    if (fabs(a[0]) < 0.6) return 0;
    if (fabs(a[1]) < 0.6) return 1;
    return 2;
}
/* a, b1, b2 of a cut joint: its axis and two directions across it, right-handed. */
static void loop_axes(constraint *k) {
    memcpy(k->a, k->def.axis, sizeof k->a);
    memcpy(k->b1, k->def.axis2, sizeof k->b1); /* a planar joint counts along axis2 */
    const double along = v3_dot(k->a, k->b1);
    for (int j = 0; j < 3; ++j)
        k->b1[j] -= along * k->a[j];
    if (!unit(k->b1) || k->def.joint != SOA_PLANAR) { /* any direction across the axis */
        const int across = axis_across(k->a);
        for (int j = 0; j < 3; ++j)
            k->b1[j] = (j == across) - k->a[across] * k->a[j];
        unit(k->b1);
    }
    v3_cross(k->a, k->b1, k->b2);
}
/* Numbers that only one kind has. */
static soa_status check_kind(const constraint *k, soa_report *report) {
    const soa_constraint_def *def = &k->def;
    if (def->kind == SOA_DISTANCE && !def->drive && !(def->value > 0))
        FAIL(SOA_E_ARGUMENT,
             "\"%s\": a distance of %g; it must be positive (a spherical loop joins points)",
             k->name, def->value);
    if ((def->kind == SOA_ROLLING || def->kind == SOA_DISC) && !(def->value > 0))
        FAIL(SOA_E_ARGUMENT, "\"%s\": a radius of %g", k->name, def->value);
    if (def->kind == SOA_VELOCITY &&
        (def->row_count < 1 || def->row_count > 6 || !soai_all_finite(&def->rows[0][0], 36)))
        FAIL(SOA_E_ARGUMENT, "\"%s\": %d rows; 1 to 6, all finite", k->name, def->row_count);
    return SOA_OK;
}
/* Constraints that are switched off must fit too. */
static soa_status check_room(const soa_constraints *c, const constraint *k, soa_report *report) {
    const int rows = soa_constraints_row_count(c);
    for (int i = 0, all = k->rows; i < c->capacity.constraints; ++i) {
        if (c->list[i].used) all += c->list[i].rows;
        if (all > c->capacity.rows)
            FAIL(SOA_E_MEMORY,
                 "\"%s\" has %d rows; with the %d of the others that is more than the %d there is "
                 "room for",
                 k->name, k->rows, rows, c->capacity.rows);
    }
    return SOA_OK;
}
/* The trees that a ratio joins, and the cut joints whose coordinates it reads. */
static void join_ratio(soa_constraints *c, constraint *k) {
    for (int j = 0; j < SOA_RATIO_TERMS; ++j) {
        const int body = k->def.coordinate[j];
        if (body < 0) {
            touch(c, &c->list[~body].def, k);
            c->list[~body].counted = 1;
        }
        int known = body <= 0;
        for (int i = 0; i < k->tree_count && !known; ++i)
            known = k->trees[i] == c->tree[body];
        if (!known) k->trees[k->tree_count++] = c->tree[body];
    }
}

/* k from its definition, but for its trees. */
static soa_status check(const soa_constraints *c, int at, constraint *k, soa_report *report) {
    const soa_constraint_kind kind = k->def.kind;
    soa_status s = take_name(c, at, k, report);
    if (s) return s;
    if (at == c->capacity.constraints)
        FAIL(SOA_E_MEMORY, "\"%s\" would be constraint %d; there is room for %d", k->name, at + 1,
             at);
    if ((unsigned)kind >= SOA_CONSTRAINT_KIND_COUNT)
        FAIL(SOA_E_ARGUMENT, "\"%s\": no kind of constraint has number %d", k->name, kind);
    s = kind == SOA_RATIO ? check_ratio(c, k, report) : check_frames(c->model, k, report);
    if (s || (s = check_values(k, report))) return s;
    if (kind == SOA_LOOP) {
        if ((s = check_loop(k, report))) return s;
        k->counted = k->def.stiffness != 0;
        loop_axes(k);
    }
    if ((s = check_kind(k, report))) return s;
    k->rows = soa_constraint_def_row_count(&k->def);
    return check_room(c, k, report);
}

soa_status soa_constraints_add(soa_constraints *c, const soa_constraint_def *def, int *number,
                               soa_report *report) {
    soai_report_reset(report);
    if (!c || !def) FAIL(SOA_E_ARGUMENT, "no constraints, or no definition");
    int at = 0;
    while (at < c->capacity.constraints && c->list[at].used)
        ++at;
    constraint k;
    memset(&k, 0, sizeof k);
    k.def = *def;
    const soa_status s = check(c, at, &k, report);
    if (s) return s;
    if (k.def.kind == SOA_RATIO)
        join_ratio(c, &k);
    else
        touch(c, &k.def, &k);
    k.used = k.on = 1;
    c->list[at] = k;
    if (number) *number = at;
    return SOA_OK;
}

soa_status soa_constraints_remove(soa_constraints *c, int number) {
    constraint *k = find(c, number);
    if (!k) return SOA_E_ARGUMENT;
    for (int i = 0; i < c->capacity.constraints; ++i)
        for (int j = 0; j < SOA_RATIO_TERMS && c->list[i].used && c->list[i].def.kind == SOA_RATIO;
             ++j)
            if (c->list[i].def.coordinate[j] == ~number) return SOA_E_ARGUMENT;
    memset(k, 0, sizeof *k);
    return SOA_OK;
}
soa_status soa_constraints_switch(soa_constraints *c, int number, bool on) {
    constraint *k = find(c, number);
    if (!k) return SOA_E_ARGUMENT;
    k->on = on;
    return SOA_OK;
}
soa_status soa_constraints_set_effort(soa_constraints *c, int number, const double *effort) {
    constraint *k = find(c, number);
    if (!k || !effort || k->def.kind != SOA_LOOP) return SOA_E_ARGUMENT;
    if (!soai_all_finite(effort, (size_t)free_of(k))) return SOA_E_NOT_FINITE;
    memcpy(k->effort, effort, (size_t)free_of(k) * sizeof *effort);
    return SOA_OK;
}
soa_status soa_constraints_set_friction(soa_constraints *c, int number, double friction) {
    constraint *k = find(c, number);
    if (!k || k->def.kind != SOA_LOOP) return SOA_E_ARGUMENT;
    if (!(friction >= 0 && friction <= 1e300)) return SOA_E_NOT_FINITE;
    k->def.friction = friction;
    return SOA_OK;
}
soa_status soa_constraints_set_turns(soa_constraints *c, int number, const double *near) {
    constraint *k = find(c, number);
    if (!k || !near || k->def.kind != SOA_LOOP) return SOA_E_ARGUMENT;
    if (!soai_all_finite(near, (size_t)free_of(k))) return SOA_E_NOT_FINITE;
    memcpy(k->near, near, (size_t)free_of(k) * sizeof *near);
    return SOA_OK;
}
soa_status soa_constraints_joint_rates(const soa_constraints *c, int number, double rates[6],
                                       int *count) {
    const constraint *k = find(c, number);
    if (!k || !rates || k->def.kind != SOA_LOOP) return SOA_E_ARGUMENT;
    memcpy(rates, k->rate, (size_t)free_of(k) * sizeof *rates);
    if (count) *count = free_of(k);
    return SOA_OK;
}
soa_status soa_constraints_row_range(const soa_constraints *c, int number, int *first, int *count) {
    const constraint *k = find(c, number);
    if (!k) return SOA_E_ARGUMENT;
    int at = 0;
    for (int i = 0; i < number; ++i)
        if (c->list[i].used && c->list[i].on) at += c->list[i].rows;
    if (first) *first = at;
    if (count) *count = k->on ? k->rows : 0;
    return SOA_OK;
}
const char *soa_constraints_name(const soa_constraints *c, int number) {
    const constraint *k = find(c, number);
    return k ? k->name : NULL;
}
const soa_model *soa_constraints_model(const soa_constraints *c) {
    return c ? c->model : NULL;
}
soa_status soa_constraints_get_def(const soa_constraints *c, int number, soa_constraint_def *def) {
    const constraint *k = find(c, number);
    if (!k || !def) return SOA_E_ARGUMENT;
    *def = k->def;
    def->name = k->name;
    return SOA_OK;
}
