/* grasp.c  the object that holds contacts: room, adding, switching; contacts at a state.
 *
 * With the contact point o, which is the origin of one place while the axes turn with the other,
 * the object moves relative to the arm by V = [w2 - w1; v2 + w2 x (o - p2) - v1 - w1 x (o - p1)].
 * In contact axes, which turn with w, V = H* W with H* constant, so that
 *     (rate of V) - w x V = H* W',      rate of v + w x (o - p):  v' + w' x (o - p) + w x (o' - v)
 * is (a.8) with its H*' W: no direction has to be differentiated.  Accelerations are classical,
 * both sides. */
#include "grasp_internal.h"
#include "../spatial/algebra.h"
#include <stdlib.h>

soa_contact_def soa_contact_default(soa_contact_type type, int arm, int object) {
    soa_contact_def d;
    memset(&d, 0, sizeof d);
    d.type = type;
    d.arm = arm;
    d.object = object;
    d.place_arm = d.place_object = soa_frame_identity();
    d.one_sided = type == SOA_CONTACT_SOFT_FINGER;
    d.friction = d.torsion = d.patch = INFINITY;
    return d;
}

/* --- room ------------------------------------------------------------------------------------- */
static size_t layout(const soa_model *m, int contacts, char *memory) {
    soa_grasp scratch, *g = memory ? (soa_grasp *)(void *)memory : &scratch;
    const size_t l = (size_t)contacts, n = 6 * l, nv = (size_t)m->nv;
    size_t at = 0;
    soai_take(memory, &at, sizeof *g);
    memset(g, 0, sizeof *g);
    g->model = m;
    g->capacity = contacts;
    g->list = soai_take(memory, &at, l * sizeof *g->list);
    if (memory) memset(g->list, 0, l * sizeof *g->list);
    g->on = soai_take(memory, &at, l * sizeof *g->on);
    g->frame = soai_take(memory, &at, 2 * l * sizeof *g->frame);
    g->visits = soai_take(memory, &at, ((size_t)m->nb + 1) * sizeof *g->visits);
    if (memory) memset(g->visits, 0, ((size_t)m->nb + 1) * sizeof *g->visits);
    g->least.pivot = soai_take(memory, &at, n * sizeof *g->least.pivot);
    const struct {
        double **p;
        size_t numbers;
    } part[] = {{&g->compliance, 4 * n * n},
                {&g->Omega, n * n},
                {&g->S, n * n},
                {&g->least.L, n * n},
                {&g->least.N, n * n},
                {&g->least.scale, n},
                {&g->least.part, n},
                {&g->sum.Lambda, 6 * n},
                {&g->sum.Pi, 6 * n},
                {&g->sum.K, MOST_SHARED * n},
                {&g->rate, n},
                {&g->drift, n},
                {&g->size, n},
                {&g->force, n},
                {&g->more, n},
                {&g->y, n},
                {&g->part, n},
                {&g->floor, n},
                {&g->torque, nv},
                {&g->bias, nv},
                {&g->qdd, nv},
                {&g->a, nv},
                {&g->b, nv},
                {&g->e, nv}};
    for (size_t i = 0; i < sizeof part / sizeof *part; ++i)
        *part[i].p = soai_take(memory, &at, part[i].numbers * sizeof(double));
    return at;
}
static int usable(const soa_model *m, int contacts) {
    return m && contacts >= 1 && contacts <= 2000;
}
size_t soa_grasp_size(const soa_model *m, int contacts) {
    return usable(m, contacts) ? layout(m, contacts, NULL) : 0;
}
soa_status soa_grasp_init(const soa_model *m, int contacts, void *memory, size_t size,
                          soa_grasp **grasp) {
    if (!usable(m, contacts) || !grasp) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(m, contacts, NULL))
        return SOA_E_MEMORY;
    layout(m, contacts, memory);
    *grasp = memory;
    return SOA_OK;
}
soa_status soa_grasp_create(const soa_model *m, int contacts, soa_grasp **grasp) {
    if (!usable(m, contacts) || !grasp) return SOA_E_ARGUMENT;
    const size_t size = (layout(m, contacts, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    return memory ? soa_grasp_init(m, contacts, memory, size, grasp) : SOA_E_MEMORY;
}
void soa_grasp_free(soa_grasp *grasp) {
    free(grasp);
}

/* --- contacts --------------------------------------------------------------------------------- */
/* Free directions of the types, by number: 0 to 2 turn about, 3 to 5 shift along x, y, z. */
static const char *const free_of[SOA_CONTACT_TYPE_COUNT] = {"",    "0",     "01", "012",
                                                            "234", "01234", ""};

/* H and, as the rest of an orthonormal basis, T.  0 where H is not of full rank. */
static int directions(contact *k) {
    const char *list = free_of[k->def.type];
    memset(k->H, 0, sizeof k->H);
    memset(k->T, 0, sizeof k->T);
    if (k->def.type != SOA_CONTACT_OWN) { /* the other unit directions bear */
        for (int j = 0; j < 6; ++j) {
            const int is_free = strchr(list, '0' + j) != NULL;
            (is_free ? k->H[k->free++] : k->T[k->held++])[j] = 1;
        }
        return 1;
    }
    double A[36], beta[6];
    int pivot[6];
    k->free = k->def.free_count;
    k->held = 6 - k->free;
    for (int r = 0; r < k->free; ++r)
        for (int j = 0; j < 6; ++j)
            k->H[r][j] = A[k->free * j + r] = k->def.free[r][j];
    if (k->free && soai_qr(6, k->free, A, beta, pivot, 1e-9) < k->free) return 0;
    for (int r = 0; r < k->held; ++r) {
        k->T[r][k->free + r] = 1;
        if (k->free) soai_qr_apply(6, k->free, A, beta, 0, k->T[r]);
    }
    return 1;
}

static contact *find(const soa_grasp *g, int number) {
    return g && number >= 0 && number < g->capacity && g->list[number].used ? g->list + number
                                                                            : NULL;
}
static void recount(soa_grasp *g) {
    g->count = g->rows = g->free = 0;
    for (int i = 0; i < g->capacity; ++i) {
        if (!g->list[i].used || !g->list[i].on) continue;
        g->on[g->count++] = i;
        g->rows += g->list[i].held;
        g->free += g->list[i].free;
    }
}

#define FAIL(status, ...) return soai_report(report, status, -1, 0, __VA_ARGS__)
soa_status soa_grasp_add(soa_grasp *g, const soa_contact_def *def, int *number,
                         soa_report *report) {
    soai_report_reset(report);
    if (!g || !def) FAIL(SOA_E_ARGUMENT, "no grasp, or no contact");
    const soa_model *m = g->model;
    int at = 0;
    while (at < g->capacity && g->list[at].used)
        ++at;
    if (at == g->capacity) FAIL(SOA_E_MEMORY, "there is room for %d contacts", g->capacity);
    if ((unsigned)def->type >= SOA_CONTACT_TYPE_COUNT)
        FAIL(SOA_E_ARGUMENT, "no type of contact has number %d", def->type);
    if (def->type == SOA_CONTACT_SOFT_FINGER && !def->one_sided)
        FAIL(SOA_E_ARGUMENT,
             "a soft finger is one-sided: no pair of surfaces holds like it from both sides");
    contact k;
    memset(&k, 0, sizeof k);
    k.def = *def;
    const int frame[2] = {def->arm, def->object};
    for (int i = 0; i < 2; ++i) {
        if (frame[i] < 0 || frame[i] >= m->frames)
            FAIL(SOA_E_NAME, "frame %d of the %s; the model has frames 0 to %d", frame[i],
                 i ? "object" : "arm", (int)m->frames - 1);
        k.body[i] = SOAI_AT(m, soai_frame_row, frame)[frame[i]].body;
        k.frame[i] = k.body[i] ? soai_metas(m)[k.body[i]].frame : 0;
    }
    if (k.body[0] == k.body[1])
        FAIL(SOA_E_ARGUMENT, "both frames are on body %d; a contact needs two", k.body[0]);
    if (!soai_is_rotation(&def->place_arm) || !soai_is_rotation(&def->place_object))
        FAIL(SOA_E_FRAME, "a place in its frame is not a rotation and a finite shift");
    if (!(def->friction >= 0) || !(def->torsion >= 0) || !(def->patch >= 0))
        FAIL(SOA_E_ARGUMENT, "friction %g, torsion %g, patch %g: none may be negative",
             def->friction, def->torsion, def->patch);
    if (def->type == SOA_CONTACT_OWN &&
        (def->free_count < 0 || def->free_count > 6 || !soai_all_finite(&def->free[0][0], 36)))
        FAIL(SOA_E_ARGUMENT, "%d free directions; 0 to 6, all finite", def->free_count);
    if (!directions(&k))
        FAIL(SOA_E_SINGULAR, "the %d free directions are not independent", def->free_count);
    k.used = k.on = 1;
    g->list[at] = k;
    recount(g);
    if (number) *number = at;
    return SOA_OK;
}
soa_status soa_grasp_remove(soa_grasp *g, int number) {
    contact *k = find(g, number);
    if (!k) return SOA_E_ARGUMENT;
    memset(k, 0, sizeof *k);
    recount(g);
    return SOA_OK;
}
soa_status soa_grasp_switch(soa_grasp *g, int number, bool on) {
    contact *k = find(g, number);
    if (!k) return SOA_E_ARGUMENT;
    k->on = on;
    recount(g);
    return SOA_OK;
}
soa_status soa_grasp_get_contact(const soa_grasp *g, int number, soa_contact_def *def) {
    const contact *k = find(g, number);
    if (!k) return SOA_E_ARGUMENT;
    if (def) *def = k->def;
    return SOA_OK;
}
const soa_model *soa_grasp_model(const soa_grasp *g) {
    return g ? g->model : NULL;
}
int soa_grasp_contact_count(const soa_grasp *g, int *free) {
    if (free) *free = g ? g->free : 0;
    return g ? g->count : 0;
}
soa_status soa_grasp_contact_range(const soa_grasp *g, int number, int *index, int *first,
                                   int *free) {
    const contact *k = find(g, number);
    if (!k) return SOA_E_ARGUMENT;
    int at = 0, rates = 0;
    for (; at < g->count && g->on[at] < number; ++at)
        rates += g->list[g->on[at]].free;
    if (index) *index = k->on ? at : -1;
    if (first) *first = rates;
    if (free) *free = k->on ? k->free : 0;
    return SOA_OK;
}

soa_status soa_grasp_contact_constraints(const soa_grasp *g, int number, soa_constraint_def defs[2],
                                         int *count) {
    const contact *k = find(g, number);
    if (!k || !defs || !count) return SOA_E_ARGUMENT;
    const soa_contact_def *d = &k->def;
    soa_constraint_def loop = soa_constraint_default(SOA_LOOP, d->object, d->arm);
    loop.place1 = d->place_object;
    loop.place2 = d->place_arm;
    soa_constraint_def rates = loop;
    rates.kind = SOA_VELOCITY;
    if (d->axes_on_arm) { /* rows measure the origin of frame 2 in the axes of frame 1 */
        rates.frame1 = d->arm;
        rates.place1 = d->place_arm;
        rates.frame2 = d->object;
        rates.place2 = d->place_object;
    }
    const double x[3] = {1, 0, 0};
    int has_loop = 1;
    switch (d->type) {
    case SOA_CONTACT_RIGID: loop.joint = SOA_FIXED; break;
    case SOA_CONTACT_LINE:
        loop.joint = SOA_REVOLUTE;
        memcpy(loop.axis, x, sizeof x);
        break;
    case SOA_CONTACT_SOFT_FINGER:
        loop.joint = SOA_SPHERICAL;
        rates.row_count = 1;
        rates.rows[0][2] = 1;
        break;
    case SOA_CONTACT_POINT: loop.joint = SOA_SPHERICAL; break;
    case SOA_CONTACT_SLIDING_FACE: loop.joint = SOA_PLANAR; break;
    case SOA_CONTACT_SLIDING_POINT:
        loop = rates;
        loop.kind = SOA_PLANE;
        break; /* the point in the plane of the axes */
    default:
        has_loop = 0;
        rates.row_count = k->held;
        memcpy(rates.rows, k->T, sizeof rates.rows);
    }
    *count = 0;
    if (has_loop) defs[(*count)++] = loop;
    if (rates.row_count) defs[(*count)++] = rates;
    return SOA_OK;
}

/* --- at a state ------------------------------------------------------------------------------- */
static void evaluate(const soa_model *m, const soa_work *w, contact *k, double rate[6],
                     double *size) {
    const place *turning = &k->end[k->def.axes_on_arm ? 0 : 1];
    const place *point = &k->end[k->def.axes_on_arm ? 1 : 0];
    double V[6] = {0}, A[6] = {0}, large[6] = {0}, t[3];
    memcpy(k->R, turning->R, sizeof k->R);
    memcpy(k->p, point->p, sizeof k->p);
    for (int i = 0; i < 2; ++i) {
        const place *e = &k->end[i];
        double r[3], dv[3], x[6], y[6];
        for (int j = 0; j < 3; ++j) {
            r[j] = point->p[j] - e->p[j];
            dv[j] = point->v[j] - e->v[j];
            x[j] = e->w[j];
            x[3 + j] = e->v[j];
            y[j] = e->wd[j];
            y[3 + j] = e->vd[j];
        }
        v3_cross_add(e->w, r, x + 3);
        v3_cross_add(e->wd, r, y + 3);
        v3_cross_add(e->w, dv, y + 3);
        for (int j = 0; j < 6; ++j) {
            V[j] += i ? x[j] : -x[j];
            A[j] += i ? y[j] : -y[j];
            large[j] += fabs(y[j]);
        }
    }
    for (int h = 0; h < 6; h += 3) {
        v3_cross(turning->w, V + h, t);
        for (int j = 0; j < 3; ++j) {
            A[h + j] -= t[j];
            large[h + j] += fabs(t[j]);
        }
    }
    for (int h = 0; h < 6; h += 3) {
        rot_tmul(k->R, V + h, k->V + h);
        rot_tmul(k->R, A + h, rate + h);
        const double norm = sqrt(v3_dot(large + h, large + h));
        for (int j = 0; size && j < 3; ++j)
            size[h + j] = norm;
    }
    soa_frame here;
    memcpy(here.R, k->R, sizeof here.R);
    memcpy(here.p, k->p, sizeof here.p);
    for (int i = 0; i < 2; ++i) {
        soa_frame body = soa_frame_identity();
        if (k->body[i]) soa_pose(m, w, k->frame[i], &body);
        body = soa_frame_inverse(&body);
        k->at[i] = soa_frame_compose(&body, &here);
    }
}
soa_status soai_grasp_evaluate(soa_grasp *g, soa_work *w, const double *q, const double *v,
                               const double *a, double *out, double *size) {
    soa_status s = soa_kinematics(g->model, w, q, v, a);
    for (int i = 0; !s && i < g->count; ++i) {
        contact *k = g->list + g->on[i];
        if ((s = soai_place_of(g->model, w, k->def.arm, &k->def.place_arm, &k->end[0])) ||
            (s = soai_place_of(g->model, w, k->def.object, &k->def.place_object, &k->end[1])))
            break;
        evaluate(g->model, w, k, out + 6 * i, size ? size + 6 * i : NULL);
    }
    return s;
}

/* Omega(i, j) = sum over ends of +- phi' C phi, C the compliance of the bodies at their origins. */
static void block(const contact *a, const contact *b, int sides, const double *C, size_t row,
                  size_t column, size_t width, double out[36]) {
    memset(out, 0, 36 * sizeof *out);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            for (int c = 0; c < 6; ++c) {
                double unit[6] = {0}, f[6], m[6] = {0}, x[6];
                unit[c] = 1;
                soa_frame_force_to_parent(&b->at[j], unit, f);
                const double *from =
                    C + width * (row + (size_t)(i * sides)) + column + (size_t)(j * sides);
                for (int r = 0; r < 6; ++r)
                    for (int k = 0; k < 6; ++k)
                        m[r] += from[width * (size_t)r + (size_t)k] * f[k];
                soa_frame_motion_to_child(&a->at[i], m, x);
                for (int r = 0; r < 6; ++r)
                    out[6 * r + c] += i == j ? x[r] : -x[r];
            }
}
soa_status soai_grasp_compliance(soa_grasp *g, soa_work *w, const double *q) {
    const int l = g->count;
    for (int i = 0; i < l; ++i)
        for (int j = 0; j < 2; ++j)
            g->frame[l * j + i] = g->list[g->on[i]].frame[j];
    const soa_status s =
        l ? soa_compliance(g->model, w, q, g->frame, 2 * l, SOA_AXES_BODY, g->compliance)
          : soai_minv_prepare_posed(w, q);
    if (s) return s;
    const size_t n = 6 * (size_t)l;
    for (int i = 0; i < l; ++i)
        for (int j = 0; j <= i; ++j) {
            double B[36];
            block(g->list + g->on[i], g->list + g->on[j], (int)n, g->compliance, 6 * (size_t)i,
                  6 * (size_t)j, 2 * n, B);
            for (size_t r = 0; r < 6; ++r)
                for (size_t c = 0; c < 6; ++c)
                    g->Omega[n * (6 * (size_t)i + r) + 6 * (size_t)j + c] =
                        g->Omega[n * (6 * (size_t)j + c) + 6 * (size_t)i + r] = B[6 * r + c];
        }
    return SOA_OK;
}

/* Angular rows: rounding of the angular part.  Linear ones: also of that part times the square of
 * the lengths it was carried over. */
void soai_grasp_floor(const contact *k, const soa_work *w, const double *X, size_t width,
                      double *floor) {
    double reach = 0, turn = 0, shift = 0;
    for (int i = 0; i < 2; ++i) {
        double length = sqrt(v3_dot(k->at[i].p, k->at[i].p));
        for (int b = k->body[i]; b && w->view.body[b].parent; b = w->view.body[b].parent)
            length += sqrt(v3_dot(w->w.b[b].p, w->w.b[b].p));
        if (k->body[i]) reach = fmax(reach, length);
    }
    for (size_t j = 0; j < 3; ++j) {
        turn = fmax(turn, X[width * j + j]);
        shift = fmax(shift, X[width * (3 + j) + 3 + j]);
    }
    shift = fmax(shift, turn * reach * reach);
    for (int r = 0; r < k->held; ++r) {
        const double *t = k->T[r];
        floor[r] = 1e-14 * (v3_dot(t, t) * turn + v3_dot(t + 3, t + 3) * shift);
    }
}
void soai_grasp_borne(const soa_grasp *g, const double *x, double *y) {
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        for (int r = 0; r < k->held; ++r)
            *y++ = v6_dot(k->T[r], x + 6 * i);
    }
}
void soai_grasp_forces(const soa_grasp *g, const double *y, double *f) {
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        v6_zero(f + 6 * i);
        for (int r = 0; r < k->held; ++r)
            v6_add_scaled(*y++, k->T[r], f + 6 * i);
    }
}
void soai_grasp_to_world(const soa_grasp *g, const double *in, double *out) {
    for (int i = 0; i < 2 * g->count; ++i) {
        double x[3];
        rot_mul(g->list[g->on[i / 2]].R, in + 3 * i, x);
        memcpy(out + 3 * i, x, sizeof x);
    }
}
void soai_grasp_from_world(const soa_grasp *g, const double *in, double *out) {
    for (int i = 0; i < 2 * g->count; ++i) {
        double x[3];
        rot_tmul(g->list[g->on[i / 2]].R, in + 3 * i, x);
        memcpy(out + 3 * i, x, sizeof x);
    }
}

void soai_grasp_load(const soa_grasp *g, soa_work *w, const double *f) {
    for (int i = 0; i <= g->model->nb; ++i)
        v6_zero(w->w.b[i].f);
    for (int i = 0; f && i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        for (int j = 0; j < 2; ++j) {
            double x[6];
            soa_frame_force_to_parent(&k->at[j], f + 6 * i, x);
            if (k->body[j]) v6_add_scaled(j ? -1 : 1, x, w->w.b[k->body[j]].f);
        }
    }
}
void soai_grasp_read(const soa_grasp *g, const soa_work *w, double *out, double *size) {
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        v6_zero(out + 6 * i);
        if (size) v6_zero(size + 6 * i);
        for (int j = 0; j < 2; ++j) {
            double x[6];
            if (!k->body[j]) continue;
            soa_frame_motion_to_child(&k->at[j], w->w.b[k->body[j]].A, x);
            v6_add_scaled(j ? 1 : -1, x, out + 6 * i);
            for (int r = 0; size && r < 6; ++r)
                size[6 * i + r] += sqrt(v3_dot(x + r / 3 * 3, x + r / 3 * 3));
        }
    }
}
void soai_grasp_torques(const soa_grasp *g, soa_work *w, const double *f, double *room,
                        double *tau) {
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        for (int j = 0; j < 2; ++j) {
            double x[6];
            soa_frame_force_to_parent(&k->at[j], f + 6 * i, x);
            if (!k->body[j] ||
                soa_jacobian_transpose_mul(g->model, w, k->frame[j], SOA_AXES_BODY, x, room))
                continue;
            for (int n = 0; n < g->model->nv; ++n)
                tau[n] += j ? room[n] : -room[n];
        }
    }
}

/* Quaternion w x y z of a rotation, the largest of its numbers first found. */
static void quaternion_of(const double R[9], double e[4]) {
    const double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8],
                              1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (square[i] > square[k]) k = i;
    const double c = sqrt(square[k]) / 2, s = 0.25 / c;
    const double wx = R[7] - R[5], wy = R[2] - R[6], wz = R[3] - R[1], xy = R[1] + R[3],
                 xz = R[2] + R[6], yz = R[5] + R[7];
    const double rest[4][4] = {{0, wx, wy, wz}, {wx, 0, xy, xz}, {wy, xy, 0, yz}, {wz, xz, yz, 0}};
    for (int i = 0; i < 4; ++i)
        e[i] = i == k ? c : s * rest[k][i];
}

static soa_status grasp_motion(soa_grasp *g, soa_work *w, const double *q, const double *v,
                               int number, soa_contact_motion *out) {
    contact *k = find(g, number);
    if (!k || !w || w->model != g->model || !out) return SOA_E_ARGUMENT;
    double rate[6], d[3], turn[3], slip[3], wr[3];
    soa_status s = soa_kinematics(g->model, w, q, v, NULL);
    if (s || (s = soai_place_of(g->model, w, k->def.arm, &k->def.place_arm, &k->end[0])) ||
        (s = soai_place_of(g->model, w, k->def.object, &k->def.place_object, &k->end[1])))
        return s;
    evaluate(g->model, w, k, rate, NULL);
    memset(out, 0, sizeof *out);
    const place *one = &k->end[0], *two = &k->end[1];
    double R[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            R[3 * i + j] = one->R[i] * two->R[j] + one->R[3 + i] * two->R[3 + j] +
                           one->R[6 + i] * two->R[6 + j];
    quaternion_of(R, out->theta);
    double dw[3];
    for (int j = 0; j < 3; ++j) {
        dw[j] = two->w[j] - one->w[j];
        d[j] = one->p[j] - two->p[j];
    }
    /* angular velocity in the object's place: theta' = theta turn / 2 */
    rot_tmul(two->R, dw, turn);
    const double *e = out->theta;
    out->theta_rate[0] = -(e[1] * turn[0] + e[2] * turn[1] + e[3] * turn[2]) / 2;
    out->theta_rate[1] = (e[0] * turn[0] + e[2] * turn[2] - e[3] * turn[1]) / 2;
    out->theta_rate[2] = (e[0] * turn[1] + e[3] * turn[0] - e[1] * turn[2]) / 2;
    out->theta_rate[3] = (e[0] * turn[2] + e[1] * turn[1] - e[2] * turn[0]) / 2;
    rot_tmul(two->R, d, out->shift);
    v3_cross(two->w, d, wr);
    for (int j = 0; j < 3; ++j)
        slip[j] = one->v[j] - two->v[j] - wr[j];
    rot_tmul(two->R, slip, out->shift_rate);
    /* W = (H H*)^-1 H V */
    double HH[36];
    out->free = k->free;
    for (int r = 0; r < k->free; ++r) {
        out->W[r] = v6_dot(k->H[r], k->V);
        for (int c = 0; c < k->free; ++c)
            HH[k->free * r + c] = v6_dot(k->H[r], k->H[c]);
    }
    if (k->free && !soai_solve(k->free, HH, out->W)) return SOA_E_SINGULAR;
    for (int r = 0; r < k->held; ++r)
        out->rate = fmax(out->rate, fabs(v6_dot(k->T[r], k->V)));
    /* turns and shifts that are not free, contact axes; a soft finger may come to any attitude, OWN
     * to any place */
    double gap[6] = {0}, x[3];
    int axis;
    if (k->def.type == SOA_CONTACT_LINE) {
        axis = 0;
    } else if (k->def.type == SOA_CONTACT_SLIDING_FACE) {
        axis = 2;
    } else {
        axis = -1;
    }
    if (axis >= 0) { /* the axes agree */
        const double n1[3] = {one->R[axis], one->R[3 + axis], one->R[6 + axis]};
        const double n2[3] = {two->R[axis], two->R[3 + axis], two->R[6 + axis]};
        v3_cross(n1, n2, x);
        rot_tmul(k->R, x, gap);
    }
    for (int j = 0; j < 3 && k->def.type == SOA_CONTACT_RIGID; ++j)
        gap[j] = 2 * e[1 + j];
    if (k->def.type != SOA_CONTACT_OWN) rot_tmul(k->R, d, gap + 3);
    for (int r = 0; r < k->held; ++r)
        out->gap = fmax(out->gap, fabs(v6_dot(k->T[r], gap)));
    return SOA_OK;
}
soa_status soa_grasp_contact_motion(soa_grasp *g, soa_work *w, const double *q, const double *v,
                                    int number, soa_contact_motion *out) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_motion(g, w, q, v, number, out));
}
