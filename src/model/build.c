/* build.c  builds a model from a definition: validation, merging of fixed links, tables.
 *
 * A link on a fixed joint belongs to the body that carries it: its mass is added there and its
 * frame stays accessible. Tree coordinates number every moving joint. The caller's coordinates
 * leave out mimic joints, which follow other joints by q = ratio q_leader + offset; chains of
 * followers are resolved here. */
#include "model_internal.h"
#include "../spatial/algebra.h"
#include <stdlib.h>

soa_joint_def soa_joint_default(soa_joint_type type) {
    return (soa_joint_def){.type = type,
                           .axis = {0, 0, 1},
                           .axis2 = {1, 0, 0},
                           .gear_ratio = 1,
                           .lower = -INFINITY,
                           .upper = INFINITY,
                           .max_speed = INFINITY,
                           .max_effort = INFINITY,
                           .mimic = -1,
                           .mimic_ratio = 1};
}
soa_body_def soa_body_default(const char *name, int parent, soa_joint_type type) {
    soa_body_def b = {.name = name, .parent = parent};
    b.placement = soa_frame_identity();
    b.joint = soa_joint_default(type);
    return b;
}
soa_model_def soa_model_default(const char *name, const soa_body_def *bodies, int body_count) {
    return (soa_model_def){
        .name = name, .gravity = {0, 0, -9.81}, .bodies = bodies, .body_count = body_count};
}
void soa_body_box(soa_body_def *b, double mass, double x, double y, double z) {
    if (!b) return;
    const double I[6] = {mass / 12 * (y * y + z * z), mass / 12 * (x * x + z * z),
                         mass / 12 * (x * x + y * y)};
    b->mass = mass;
    memcpy(b->inertia, I, sizeof I);
}
void soa_body_cylinder_z(soa_body_def *b, double mass, double radius, double length) {
    if (!b) return;
    const double side = mass / 12 * (3 * radius * radius + length * length);
    const double I[6] = {side, side, mass / 2 * radius * radius};
    b->mass = mass;
    memcpy(b->inertia, I, sizeof I);
}
void soa_body_sphere(soa_body_def *b, double mass, double radius) {
    if (!b) return;
    const double i = 0.4 * mass * radius * radius, I[6] = {i, i, i};
    b->mass = mass;
    memcpy(b->inertia, I, sizeof I);
}

/* Data of each link needed while building; index 0 is the world. */
typedef struct link_row {
    int body;        /* body that carries it */
    soa_frame place; /* of the link, in that body */
    int leader;      /* link it follows, resolved, or -1 */
    double ratio, offset;
    /* Row i, of body i, for guard_leaders. beyond: inertia of the body and everything outward at
     * q = 0. moved: inertia that the joint moves. led: inertia moved by its followers. given: sum
     * of the guards, as felt at the joint. */
    double beyond[10], moved, led, given;
    int leads;
} link_row;

typedef struct builder {
    const soa_model_def *def;
    soa_report *report;
    link_row *link; /* body_count + 1 */
    soa_model head; /* counts and offsets */
} builder;

#define FAIL(code, i, ...) return soai_report(b->report, code, i, 0, __VA_ARGS__)

int soai_rotation_fits(const soa_frame *f) {
    if (!soai_all_finite(f->R, 9) || !soai_all_finite(f->p, 3)) return 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            double d = 0;
            for (int k = 0; k < 3; ++k)
                d += f->R[3 * i + k] * f->R[3 * j + k];
            if (!(fabs(d - (i == j)) <= 1e-9)) return 0;
        }
    const double *R = f->R;
    const double det = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                       R[2] * (R[3] * R[7] - R[4] * R[6]);
    return det > 0;
}

static int unit(const double a[3], double out[3]) {
    const double n = sqrt(v3_dot(a, a));
    if (!(n > 1e-12) || !(n < 1e12)) return 0;
    for (int i = 0; i < 3; ++i)
        out[i] = a[i] / n;
    return 1;
}

int soai_joint_axes(const soa_joint_def *j, double u[3], double u2[3]) {
    static const double z[3] = {0, 0, 1}, x[3] = {1, 0, 0};
    memcpy(u, z, sizeof z);
    memcpy(u2, x, sizeof x);
    if (j->type == SOA_FIXED || j->type == SOA_SPHERICAL || j->type == SOA_FREE) return 1;
    if (!unit(j->axis, u)) return 0;
    if (j->type != SOA_UNIVERSAL && j->type != SOA_PLANAR) return 1;
    double c[3];
    if (!unit(j->axis2, u2)) return 0;
    v3_cross(u, u2, c);
    if (!(v3_dot(c, c) > 1e-12)) return 0;
    return j->type == SOA_UNIVERSAL || fabs(v3_dot(u, u2)) <= 1e-9;
}

static int one_dof(soa_joint_type t) {
    return soai_nv_of(t) == 1;
}

static int by_name(const void *a, const void *b) {
    const soa_body_def *x = *(const soa_body_def *const *)a, *y = *(const soa_body_def *const *)b;
    return strcmp(x->name, y->name);
}
static const char *joint_name(const soa_body_def *d) {
    return d->joint_name ? d->joint_name : d->name;
}
static int by_joint(const void *a, const void *b) {
    const soa_body_def *x = *(const soa_body_def *const *)a, *y = *(const soa_body_def *const *)b;
    return strcmp(joint_name(x), joint_name(y));
}

static soa_status check_names(builder *b) {
    const int n = b->def->body_count;
    if (n == 0) return SOA_OK;
    const soa_body_def **row = malloc((size_t)n * sizeof *row);
    if (!row) FAIL(SOA_E_MEMORY, -1, "no memory to check the names of %d links", n);
    int moving = 0, twice = -1;
    for (int i = 0; i < n; ++i)
        row[i] = b->def->bodies + i;
    qsort(row, (size_t)n, sizeof *row, by_name);
    for (int i = 1; i < n && twice < 0; ++i)
        if (!strcmp(row[i - 1]->name, row[i]->name)) twice = (int)(row[i] - b->def->bodies);
    const int in_links = twice >= 0;
    for (int i = 0; i < n; ++i)
        if (b->def->bodies[i].joint.type != SOA_FIXED) row[moving++] = b->def->bodies + i;
    qsort(row, (size_t)moving, sizeof *row, by_joint);
    for (int i = 1; i < moving && twice < 0; ++i)
        if (!strcmp(joint_name(row[i - 1]), joint_name(row[i])))
            twice = (int)(row[i] - b->def->bodies);
    free(row);
    if (twice < 0) return SOA_OK;
    if (in_links)
        FAIL(SOA_E_NAME, twice + 1, "two links are called \"%s\"; names must be unique",
             b->def->bodies[twice].name);
    FAIL(SOA_E_NAME, twice + 1, "two moving joints are called \"%s\"; names must be unique",
         joint_name(b->def->bodies + twice));
}

static soa_status check_inertia(builder *b, int i, const soa_body_def *d) {
    if (!soai_all_finite(&d->mass, 1) || !soai_all_finite(d->com, 3) ||
        !soai_all_finite(d->inertia, 6))
        FAIL(SOA_E_NOT_FINITE, i, "link \"%s\": mass, com or inertia is not a finite number",
             d->name);
    if (d->mass < 0) FAIL(SOA_E_INERTIA, i, "link \"%s\": mass %g is negative", d->name, d->mass);
    double e[3];
    soai_sym3_eigenvalues(d->inertia, e);
    if (!(e[0] >= -1e-9 * fabs(e[2]) - 1e-300))
        FAIL(SOA_E_INERTIA, i,
             "link \"%s\": inertia is not positive (principal moments %g %g %g kg m^2)", d->name,
             e[0], e[1], e[2]);
    return SOA_OK;
}

static soa_status check_joint(builder *b, int i, const soa_body_def *d) {
    const soa_joint_def *j = &d->joint;
    double u[3], u2[3];
    const double numbers[] = {j->pitch,
                              j->rotor_inertia,
                              j->gear_ratio,
                              j->damping,
                              j->friction_positive,
                              j->friction_negative,
                              j->stiffness,
                              j->rest,
                              j->mimic_ratio,
                              j->mimic_offset};
    if ((unsigned)j->type >= SOA_JOINT_TYPE_COUNT)
        FAIL(SOA_E_JOINT, i, "link \"%s\": joint type %d is unknown", d->name, (int)j->type);
    if (!soai_all_finite(j->axis, 3) || !soai_all_finite(j->axis2, 3) ||
        !soai_all_finite(j->rotor_axis, 3) ||
        !soai_all_finite(numbers, sizeof numbers / sizeof *numbers) || isnan(j->lower) ||
        isnan(j->upper) || isnan(j->max_speed) || isnan(j->max_effort))
        FAIL(SOA_E_NOT_FINITE, i,
             "joint of \"%s\": an axis, pitch, rotor, friction, spring, limit or mimic number is "
             "not finite",
             d->name);
    if (!soai_joint_axes(j, u, u2) && j->type != SOA_UNIVERSAL && j->type != SOA_PLANAR)
        FAIL(SOA_E_JOINT, i, "joint of \"%s\" (%s): axis (%g %g %g) has no direction", d->name,
             soa_joint_type_name(j->type), j->axis[0], j->axis[1], j->axis[2]);
    if (!soai_joint_axes(j, u, u2))
        FAIL(SOA_E_JOINT, i,
             "joint of \"%s\" (%s): axis (%g %g %g) and axis2 (%g %g %g) do not define it%s",
             d->name, soa_joint_type_name(j->type), j->axis[0], j->axis[1], j->axis[2], j->axis2[0],
             j->axis2[1], j->axis2[2],
             j->type == SOA_PLANAR ? "; axis2 must lie in the plane" : "");
    if (j->rotor_inertia < 0 || j->damping < 0 || j->friction_positive < 0 ||
        j->friction_negative < 0)
        FAIL(SOA_E_JOINT, i,
             "joint of \"%s\": rotor inertia %g, damping %g and friction %g, %g must not be "
             "negative",
             d->name, j->rotor_inertia, j->damping, j->friction_positive, j->friction_negative);
    if (j->rotor_inertia > 0 && j->rotor_model == SOA_ROTOR_EXACT && !one_dof(j->type))
        FAIL(SOA_E_JOINT, i,
             "joint of \"%s\" (%s): exact rotors need a joint of one degree of freedom", d->name,
             soa_joint_type_name(j->type));
    if (j->stiffness != 0 && (j->type == SOA_SPHERICAL || j->type == SOA_FREE))
        FAIL(SOA_E_JOINT, i,
             "joint of \"%s\" (%s): springs need a joint whose q and v have the same size", d->name,
             soa_joint_type_name(j->type));
    return SOA_OK;
}

/* Follows the chain of mimic joints to a joint that moves independently. */
static soa_status resolve_mimic(builder *b, int i) {
    const soa_body_def *bodies = b->def->bodies;
    link_row *l = b->link + i;
    l->leader = -1;
    l->ratio = 1;
    l->offset = 0;
    if (b->def->ideal || bodies[i - 1].joint.mimic < 0) return SOA_OK;
    int at = i, steps = 0;
    while (bodies[at - 1].joint.mimic >= 0) {
        const soa_joint_def *j = &bodies[at - 1].joint;
        const int next = j->mimic;
        if (!one_dof(j->type))
            FAIL(SOA_E_MIMIC, i,
                 "joint of \"%s\" (%s) cannot mimic: it needs one degree of freedom",
                 bodies[at - 1].name, soa_joint_type_name(j->type));
        if (next < 1 || next > b->def->body_count)
            FAIL(SOA_E_MIMIC, i, "joint of \"%s\" mimics link %d, which does not exist",
                 bodies[at - 1].name, next);
        if (!one_dof(bodies[next - 1].joint.type))
            FAIL(SOA_E_MIMIC, i,
                 "joint of \"%s\" mimics that of \"%s\" (%s), which has not one degree of freedom",
                 bodies[at - 1].name, bodies[next - 1].name,
                 soa_joint_type_name(bodies[next - 1].joint.type));
        l->offset += l->ratio * j->mimic_offset;
        l->ratio *= j->mimic_ratio;
        at = next;
        if (++steps > b->def->body_count)
            FAIL(SOA_E_MIMIC, i, "joint of \"%s\" mimics itself through others",
                 bodies[i - 1].name);
    }
    if (!(fabs(l->ratio) <= 1e12) || !isfinite(l->offset))
        FAIL(SOA_E_MIMIC, i,
             "joint of \"%s\" follows that of \"%s\" with ratio %g and offset %g; at most 1e12, "
             "and finite",
             bodies[i - 1].name, bodies[at - 1].name, l->ratio, l->offset);
    l->leader = at;
    return SOA_OK;
}

static soa_status survey(builder *b) {
    const soa_model_def *def = b->def;
    if (!def || def->body_count < 0 || def->body_count > SOAI_MAX_BODIES ||
        (def->body_count && !def->bodies) || def->frame_count < 0 ||
        def->frame_count > SOAI_MAX_BODIES || (def->frame_count && !def->frames))
        FAIL(SOA_E_ARGUMENT, -1,
             "the definition is incomplete, or has more than %d links or frames", SOAI_MAX_BODIES);
    if (!soai_all_finite(def->gravity, 3))
        FAIL(SOA_E_NOT_FINITE, -1, "gravity is not a finite vector");
    const int n = def->body_count;
    size_t text = 1 + (def->name ? strlen(def->name) : 0) + sizeof "world";
    b->link = calloc((size_t)n + 1, sizeof *b->link);
    if (!b->link) FAIL(SOA_E_MEMORY, -1, "no memory for %d links", n);
    b->link[0] = (link_row){.body = 0, .place = soa_frame_identity(), .leader = -1};
    for (int i = 1; i <= n; ++i) {
        const soa_body_def *d = def->bodies + i - 1;
        if (!d->name || !*d->name) FAIL(SOA_E_NAME, i, "link %d has no name", i);
        text += strlen(d->name) + strlen(joint_name(d)) + 2;
    }
    soa_status s = check_names(b);
    if (s) return s;
    for (int i = 1; i <= n; ++i) {
        const soa_body_def *d = def->bodies + i - 1;
        if (d->parent < 0 || d->parent >= i)
            FAIL(SOA_E_TREE, i,
                 "link %d \"%s\": parent %d must be 0 (the world) or an earlier link", i, d->name,
                 d->parent);
        if (!soai_rotation_fits(&d->placement))
            FAIL(SOA_E_FRAME, i,
                 "link \"%s\": the placement of its joint is not a rotation and a finite "
                 "translation",
                 d->name);
        if ((s = check_joint(b, i, d)) || (s = check_inertia(b, i, d)) || (s = resolve_mimic(b, i)))
            return s;
        link_row *l = b->link + i;
        const link_row *p = b->link + d->parent;
        if (d->joint.type == SOA_FIXED) {
            l->body = p->body;
            l->place = soa_frame_compose(&p->place, &d->placement);
            continue;
        }
        l->body = ++b->head.nb;
        l->place = soa_frame_identity();
        const int nv = soai_nv_of(d->joint.type), nq = soai_nq_of(d->joint.type);
        b->head.tq += nq;
        b->head.tv += nv;
        b->head.nd += nv * nv;
        if (l->leader >= 0) {
            ++b->head.nm;
        } else {
            b->head.nq += nq;
            b->head.nv += nv;
        }
    }
    for (int i = 0; i < def->frame_count; ++i) {
        const soa_frame_def *f = def->frames + i;
        if (!f->name || !*f->name) FAIL(SOA_E_NAME, -1, "frame %d has no name", i);
        if (f->link < 0 || f->link > n)
            FAIL(SOA_E_TREE, -1, "frame \"%s\": link %d does not exist", f->name, f->link);
        if (!soai_rotation_fits(&f->placement))
            FAIL(SOA_E_FRAME, -1, "frame \"%s\": not a rotation and a finite translation", f->name);
        text += strlen(f->name) + 1;
    }
    b->head.frames = 1 + n + def->frame_count;
    b->head.text_size = text;
    b->head.size = soai_model_place(&b->head);
    return SOA_OK;
}

uint64_t soai_model_place(soa_model *h) {
    uint64_t at = sizeof *h;
    const uint64_t B = (uint64_t)h->nb + 1;
#define PLACE(field, type, count)                         \
    at = (at + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN; \
    h->field = at;                                        \
    at += (uint64_t)(count) * sizeof(type)
    PLACE(body_d, soai_body_double, B);
    PLACE(dof_d, soai_dof_double, h->tv);
    PLACE(mimic_d, soai_mimic_double, 2 * (uint64_t)h->nm);
    PLACE(body_f, soai_body_float, B);
    PLACE(dof_f, soai_dof_float, h->tv);
    PLACE(mimic_f, soai_mimic_float, 2 * (uint64_t)h->nm);
    PLACE(meta, soai_meta, B);
    PLACE(map_q, soai_map, h->tq);
    PLACE(map_v, soai_map, h->tv);
    PLACE(frame, soai_frame_row, h->frames);
    PLACE(text, char, h->text_size);
#undef PLACE
    return (at + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
}

static void fill_rotation(const soa_frame *place, const double u[3], soai_body_double *t) {
    double uu[9], cc[9];
    const double x[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            uu[3 * i + j] = u[i] * u[j];
            cc[3 * i + j] = (i == j) - u[i] * u[j];
        }
    }
    rot_rot(place->R, uu, t->R0);
    rot_rot(place->R, cc, t->R1);
    rot_rot(place->R, x, t->R2);
    memcpy(t->p, place->p, sizeof place->p);
}

static void fill_columns(const soa_joint_def *j, const double u[3], const double u2[3],
                         soai_dof_double *dof) {
    double e2[3];
    v3_cross(u, u2, e2);
    for (int i = 0; i < 3; ++i)
        switch (j->type) {
        case SOA_REVOLUTE: dof[0].H[i] = u[i]; break;
        case SOA_PRISMATIC: dof[0].H[3 + i] = u[i]; break;
        case SOA_HELICAL:
            dof[0].H[i] = u[i];
            dof[0].H[3 + i] = j->pitch * u[i];
            break;
        case SOA_CYLINDRICAL:
            dof[0].H[i] = u[i];
            dof[1].H[3 + i] = u[i];
            break;
        case SOA_UNIVERSAL:
            dof[0].H[i] = u[i];
            dof[1].H[i] = u2[i];
            break;
        case SOA_PLANAR:
            dof[0].H[3 + i] = u2[i];
            dof[1].H[3 + i] = e2[i];
            dof[2].H[i] = u[i];
            break;
        case SOA_SPHERICAL: dof[i].H[i] = 1; break;
        case SOA_FREE: dof[i].H[i] = dof[3 + i].H[3 + i] = 1; break;
        default: break;
        }
}

/* Adds a link's inertia to the table of its body. */
static void add_inertia(const soa_frame *place, const soa_body_def *d, double M[10]) {
    double at_com[10] = {d->mass, 0, 0, 0};
    memcpy(at_com + 4, d->inertia, sizeof d->inertia);
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double local[10] = {0};
    rigid_in_add(one, d->com, at_com, local, local);
    rigid_in_add(place->R, place->p, local, M, M);
}

static int put_text(char *text, size_t *at, const char *words) {
    const size_t n = strlen(words) + 1, start = *at;
    memcpy(text + start, words, n);
    *at += n;
    return (int)start;
}

/* Returns a body whose hinge moves no inertia at any q, or 0. Example: seven revolute joints in
 * series under one heavy body allow a motion that leaves that body at rest. The sweeps would find
 * it too, but only after computing with rounding errors. For each body this counts the largest
 * number of directions in which P can have inertia: those of M, and those that each child's hinge
 * leaves. */
static int stuck_body(int nb, int guarded, const soai_body_double *body, const soai_dof_double *dof,
                      soai_meta *meta) {
    int stuck = 0;
    for (int i = nb; i >= 1 && !stuck; --i) {
        const double *I = meta[i].inertia, *M = body[i].M,
                     least = 1e-14 * (fabs(M[4]) + fabs(M[5]) + fabs(M[6]));
        int turns = 0;
        int32_t *rank = &meta[i].stuck; /* holds the children's sum */
        for (int k = 0; k < 6; ++k)
            turns |= fabs(I[k]) > least;
        *rank = *rank + 3 * (meta[i].mass > 0) + 3 * turns;
        if (*rank > 6) *rank = 6;
        /* Then D is positive and P+ keeps its directions. */
        const int driven = dof[body[i].iv].armature > 0 || (guarded && body[i].hinge > 0);
        if (!driven && *rank < body[i].nv) stuck = i;
        meta[body[i].parent].stuck += *rank - (driven ? 0 : body[i].nv) + (body[i].rotor != 0);
    }
    for (int i = 1; i <= nb; ++i)
        meta[i].stuck = 0;
    return stuck;
}

/* Inertia that a joint moves at q = 0 if everything outward is rigid with inertia M. If more joints
 * follow, a part of the inertia that it moves when they have turned is added. */
static double moved_by(const soai_body_double *b, const double *M) {
    const double *u = b->axis, *I = M + 4, trace = I[XX] + I[YY] + I[ZZ]; /* about the origin */
    double turned = 0;
    if (b->type != SOA_PRISMATIC) {
        turned = I[XX] * u[0] * u[0] + I[YY] * u[1] * u[1] + I[ZZ] * u[2] * u[2] +
                 2 * (I[XY] * u[0] * u[1] + I[XZ] * u[0] * u[2] + I[YZ] * u[1] * u[2]);
        /* A rod about its own axis: only rounding is left. */
        if (turned < 1e-12 * trace) turned = 0;
        if (b->child) turned += 1e-3 * trace;
    }
    return b->armature + turned + M[0] * v3_dot(b->slide, b->slide);
}
/* Any guard gives the right result. These limits keep a guard times a squared ratio finite in
 * single precision too. */
static double within(double guard) {
    return fmin(fmax(guard, 1e-30), 1e10);
}
/* Sets the guards of followers and leaders (table_fields.h). With its followers set free, the tree
 * may have no forward dynamics, or accelerations so large that digits are lost when the followers
 * are tied again (light links beside heavy ones, large ratios). A guard is as large as the inertia
 * that the joint moves: a larger one loses digits when it is removed, a smaller one loses digits in
 * the tree. Writes the rows of leaders after those of followers; returns their number. */
static int guard_leaders(link_row *of, const soa_model *m, soai_body_double *body,
                         const soai_meta *meta, soai_mimic_double *mimic) {
    int held = 0;
    if (!m->nm) return 0;
    for (int i = 0; i <= m->nb; ++i) {
        memcpy(of[i].beyond, body[i].M, sizeof of[i].beyond);
        of[i].led = of[i].given = 0;
    }
    for (int i = m->nb; i >= 1; --i) {
        double R[9], *in = of[body[i].parent].beyond;
        for (int k = 0; k < 9; ++k)
            R[k] = body[i].R0[k] + body[i].R1[k];
        rigid_in_add(R, body[i].p, of[i].beyond, in, in);
    }
    for (int i = 1; i <= m->nb; ++i)
        of[i].moved = moved_by(body + i, of[i].beyond);
    for (int i = 1; i <= m->nb; ++i)
        if (meta[i].leader >= 0)
            of[meta[i].leader].led += meta[i].ratio * meta[i].ratio * of[i].moved;
    for (int i = 1; i <= m->nb; ++i) {
        if (meta[i].leader < 0) continue;
        const double square = meta[i].ratio * meta[i].ratio,
                     all = of[meta[i].leader].moved + of[meta[i].leader].led;
        double guard = of[i].moved;
        /* Finite for any small ratio. */
        if (!(guard > 0)) guard = all > 0 ? all / fmax(square, 1e-3) : 1;
        guard = within(guard);
        body[i].hinge = body[i].armature + guard;
        of[meta[i].leader].given += square * guard;
        of[meta[i].leader].leads = 1;
    }
    for (int i = 1; i <= m->nb; ++i) {
        if (of[i].leads) {
            const double all = of[i].moved + of[i].led, guard = within(all > 0 ? all : 1);
            body[i].hinge = body[i].armature + guard;
            of[i].given += guard;
            mimic[m->nm + held++] = (soai_mimic_double){
                .follower = body[i].iv, .leader = body[i].iv, .hold = 1 / of[i].given};
        }
        if (body[i].hinge > 0)
            body[i].kind = soai_kind_of((soa_joint_type)body[i].type, body[i].axis, 1);
    }
    return held;
}

/* --- filling the tables ----------------------------------------------------------------------- */
/* The model's tables, and where the next joint's coordinates and the next text go. */
typedef struct filling {
    const builder *b;
    soa_model *m;
    soai_body_double *body;
    soai_dof_double *dof;
    soai_mimic_double *mimic;
    soai_meta *meta;
    soai_map *map_q, *map_v;
    soai_frame_row *frame;
    char *text;
    size_t text_at;
    int iq, iv, id; /* in the tree */
    int uq, uv;     /* in the caller's coordinates */
} filling;

#define SECTION(m, type, field) ((type *)((char *)(m) + (m)->field))

static filling begin_filling(const builder *b, soa_model *m) {
    memset(m, 0, (size_t)b->head.size);
    *m = b->head;
    memcpy(m->magic, SOAI_MODEL_MAGIC, 8);
    m->version = SOAI_MODEL_VERSION;
    m->order = SOAI_MODEL_ORDER;
    memcpy(m->gravity, b->def->gravity, sizeof m->gravity);
    return (filling){.b = b,
                     .m = m,
                     .body = SECTION(m, soai_body_double, body_d),
                     .dof = SECTION(m, soai_dof_double, dof_d),
                     .mimic = SECTION(m, soai_mimic_double, mimic_d),
                     .meta = SECTION(m, soai_meta, meta),
                     .map_q = SECTION(m, soai_map, map_q),
                     .map_v = SECTION(m, soai_map, map_v),
                     .frame = SECTION(m, soai_frame_row, frame),
                     .text = SECTION(m, char, text)};
}
static int add_text(filling *f, const char *words) {
    return put_text(f->text, &f->text_at, words);
}

/* How far a joint slides along its axis for each unit of its coordinate. */
static double slide_of(const soa_joint_def *j) {
    if (j->type == SOA_PRISMATIC || j->type == SOA_CYLINDRICAL) return 1;
    return j->type == SOA_HELICAL ? j->pitch : 0;
}

/* The joint's row for the sweeps, at `place` in the body inboard of it, with axes u and u2. */
static void fill_body(const filling *f, int i, const soa_frame *place, const double u[3],
                      const double u2[3]) {
    const soa_body_def *d = f->b->def->bodies + i - 1;
    const soa_joint_def *j = &d->joint;
    soai_body_double *t = f->body + f->b->link[i].body;
    t->parent = f->b->link[d->parent].body;
    t->type = (int)j->type;
    t->nv = soai_nv_of(j->type);
    t->iq = f->iq;
    t->iv = f->iv;
    t->id = f->id;
    fill_rotation(place, u, t);
    memcpy(t->axis, u, sizeof t->axis);
    const double slide = slide_of(j);
    rot_mul(place->R, u, t->slide);
    for (int k = 0; k < 3; ++k)
        t->slide[k] *= slide;
    fill_columns(j, u, u2, f->dof + f->iv);
}

/* Rotor, friction and spring, for the sweeps and as given. */
static void fill_motor(const filling *f, int i, const soa_frame *place, const double u[3]) {
    const soa_joint_def *j = &f->b->def->bodies[i - 1].joint;
    soai_body_double *t = f->body + f->b->link[i].body;
    soai_meta *e = f->meta + f->b->link[i].body;
    const double G = j->gear_ratio;
    double spin[3], axis[3];
    if (!unit(j->rotor_axis, spin)) memcpy(spin, u, sizeof spin);
    t->rotor = j->rotor_inertia > 0 && j->rotor_model == SOA_ROTOR_EXACT;
    rot_mul(place->R, spin, axis);
    for (int c = 0; c < t->nv; ++c) {
        soai_dof_double *o = f->dof + t->iv + c;
        o->armature = G * G * j->rotor_inertia;
        if (t->nv == 1) t->armature = t->hinge = o->armature;
        o->damping = j->damping;
        o->stiffness = j->stiffness;
        o->rest = j->rest;
        o->friction_positive = j->friction_positive;
        o->friction_negative = j->friction_negative;
        for (int k = 0; t->rotor && k < 3; ++k)
            o->rotor[k] = j->rotor_inertia * G * axis[k];
        if (o->damping != 0 || o->friction_positive != 0 || o->friction_negative != 0 ||
            o->stiffness != 0)
            f->m->losses = 1;
    }
    e->rotor_inertia = j->rotor_inertia;
    e->gear_ratio = G;
    e->rotor_model = (int32_t)j->rotor_model;
    memcpy(e->rotor_axis, spin, sizeof spin);
    e->damping = j->damping;
    e->stiffness = j->stiffness;
    e->rest = j->rest;
    e->friction_positive = j->friction_positive;
    e->friction_negative = j->friction_negative;
}

/* The joint as reported to the caller. */
static void fill_meta(const filling *f, int i, const soa_frame *place, const double u[3],
                      const double u2[3]) {
    const soa_joint_def *j = &f->b->def->bodies[i - 1].joint;
    const link_row *l = f->b->link + i;
    const int follows = l->leader >= 0;
    soai_meta *e = f->meta + l->body;
    e->link_text = f->frame[i].text;
    e->frame = i;
    e->leader = follows ? f->b->link[l->leader].body : -1;
    e->ratio = l->ratio;
    e->offset = l->offset;
    e->user_q = follows ? -1 : f->uq;
    e->user_v = follows ? -1 : f->uv;
    memcpy(e->axis, u, sizeof e->axis);
    memcpy(e->axis2, u2, sizeof e->axis2);
    e->pitch = j->pitch;
    memcpy(e->R, place->R, sizeof place->R);
    memcpy(e->p, place->p, sizeof place->p);
    e->lower = j->lower;
    e->upper = j->upper;
    e->max_speed = j->max_speed;
    e->max_effort = j->max_effort;
}

/* Gives the joint its coordinates, in the tree and, if it follows no other, the caller's. */
static void take_coordinates(filling *f, int i) {
    const link_row *l = f->b->link + i;
    const soa_joint_type type = f->b->def->bodies[i - 1].joint.type;
    const int nv = soai_nv_of(type), nq = soai_nq_of(type);
    if (l->leader < 0) {
        for (int c = 0; c < nq; ++c)
            f->map_q[f->iq + c] = (soai_map){.user = f->uq + c, .ratio = 1};
        for (int c = 0; c < nv; ++c)
            f->map_v[f->iv + c] = (soai_map){.user = f->uv + c, .ratio = 1};
        f->uq += nq;
        f->uv += nv;
    }
    f->iq += nq;
    f->iv += nv;
    f->id += nv * nv;
}

/* A link's frame, its mass, and its joint if that moves. */
static void fill_link(filling *f, int i) {
    const soa_body_def *d = f->b->def->bodies + i - 1;
    const link_row *l = f->b->link + i;
    soai_frame_row *row = f->frame + i;
    *row = (soai_frame_row){.text = add_text(f, d->name), .body = l->body, .is_link = 1};
    memcpy(row->R, l->place.R, sizeof l->place.R);
    memcpy(row->p, l->place.p, sizeof l->place.p);
    const int joint_text = add_text(f, joint_name(d));
    soai_body_double *t = f->body + l->body;
    add_inertia(&l->place, d, t->M);
    if (d->joint.type == SOA_FIXED) return;
    const soa_frame place = soa_frame_compose(&f->b->link[d->parent].place, &d->placement);
    double u[3], u2[3];
    soai_joint_axes(&d->joint, u, u2);
    fill_body(f, i, &place, u, u2);
    fill_meta(f, i, &place, u, u2);
    f->meta[l->body].joint_text = joint_text;
    if (!f->b->def->ideal) {
        fill_motor(f, i, &place, u);
    } else {
        f->meta[l->body].gear_ratio = 1;
        memcpy(f->meta[l->body].rotor_axis, u, sizeof u);
    }
    t->run = t->parent && t->parent == l->body - 1 ? t[-1].run : l->body;
    f->body[t->parent].child = l->body;
    t->kind = soai_kind_of(d->joint.type, u, t->rotor != 0 || t->armature > 0);
    take_coordinates(f, i);
}

/* Followers read their leader's coordinates, so all leaders have theirs before this. */
static void fill_followers(const filling *f) {
    int k = 0;
    for (int i = 1; i <= f->m->nb; ++i) {
        const soai_meta *e = f->meta + i;
        if (e->leader < 0) continue;
        const soai_body_double *own = f->body + i;
        const soai_meta *lead = f->meta + e->leader;
        f->map_q[own->iq] =
            (soai_map){.user = lead->user_q, .ratio = e->ratio, .offset = e->offset};
        f->map_v[own->iv] = (soai_map){.user = lead->user_v, .ratio = e->ratio};
        f->mimic[k++] = (soai_mimic_double){
            .follower = own->iv, .leader = f->body[e->leader].iv, .ratio = e->ratio};
    }
}

/* Frames that are not links. */
static void fill_frames(filling *f) {
    const soa_model_def *def = f->b->def;
    for (int i = 0; i < def->frame_count; ++i) {
        const soa_frame_def *d = def->frames + i;
        const link_row *l = f->b->link + d->link;
        const soa_frame place = soa_frame_compose(&l->place, &d->placement);
        soai_frame_row *row = f->frame + 1 + def->body_count + i;
        *row = (soai_frame_row){.text = add_text(f, d->name), .body = l->body};
        memcpy(row->R, place.R, sizeof place.R);
        memcpy(row->p, place.p, sizeof place.p);
    }
}

/* What the sweeps know of the tree's shape, after all parents and children are set. */
static void fill_shape(const filling *f) {
    for (int i = f->m->nb; i >= 1; --i) {
        soai_body_double *t = f->body + i;
        t->starts = soai_starts(f->body, i);
        t->levers = t->child != 0;
        t->end = soai_end(f->body, i);
        t->path = i;
        t->path_in = t->parent;
    }
    /* mass fixed to the world never moves */
    f->body[0] = (soai_body_double){.child = f->body[0].child};
}

/* Masses of the bodies, links on fixed joints included, as reported to the caller. */
static void fill_masses(const filling *f) {
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int i = 1; i <= f->m->nb; ++i) {
        const double *M = f->body[i].M;
        soai_meta *e = f->meta + i;
        soai_inertia_packs(M, f->body[i].P);
        e->mass = M[0];
        for (int k = 0; k < 3; ++k)
            e->com[k] = M[0] > 0 ? M[1 + k] / M[0] : 0;
        const double back[10] = {-M[0], 0, 0, 0, 0, 0, 0, 0, 0, 0};
        double shifted[10];
        memcpy(shifted, M, sizeof shifted);
        /* I about com = I about origin - m (c.c 1 - c c') */
        rigid_in_add(one, e->com, back, shifted, shifted);
        memcpy(e->inertia, shifted + 4, sizeof e->inertia);
        f->m->mass += M[0];
    }
}

/* The tables of single precision. */
static void fill_floats(const filling *f) {
    soa_model *m = f->m;
    soai_mimic_float *mimic_f = SECTION(m, soai_mimic_float, mimic_f);
    soai_round_tables(m->nb, f->body, m->tv, f->dof, SECTION(m, soai_body_float, body_f),
                      SECTION(m, soai_dof_float, dof_f));
    for (int i = 0; i < m->nm + m->held; ++i) {
        const soai_mimic_double *row = f->mimic + i;
        mimic_f[i] =
            (soai_mimic_float){row->follower, row->leader, (float)row->ratio, (float)row->hold};
    }
}

static void fill(const builder *b, soa_model *m) {
    filling f = begin_filling(b, m);
    m->name_text = add_text(&f, b->def->name ? b->def->name : "");
    f.frame[0] = (soai_frame_row){.text = add_text(&f, "world"), .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int i = 1; i <= b->def->body_count; ++i)
        fill_link(&f, i);
    fill_followers(&f);
    fill_frames(&f);
    fill_shape(&f);
    fill_masses(&f);
    m->stuck_free = stuck_body(m->nb, 0, f.body, f.dof, f.meta);
    m->held = guard_leaders(b->link, m, f.body, f.meta, f.mimic);
    f.meta[0].stuck = stuck_body(m->nb, 1, f.body, f.dof, f.meta);
    fill_floats(&f);
    m->checksum = 0;
    m->checksum = soai_checksum(m, (size_t)m->size);
}
#undef SECTION

soa_status soa_model_size(const soa_model_def *def, size_t *size, soa_report *report) {
    soai_report_reset(report);
    builder b = {.def = def, .report = report};
    const soa_status s = survey(&b);
    free(b.link);
    if (s == SOA_OK && size) *size = (size_t)b.head.size;
    return soai_report_end(report, s);
}

soa_status soa_model_init(const soa_model_def *def, void *memory, size_t size,
                          const soa_model **model, soa_report *report) {
    soai_report_reset(report);
    builder b = {.def = def, .report = report};
    soa_status s =
        model ? survey(&b) : soai_report(report, SOA_E_ARGUMENT, -1, 0, "no place for the model");
    if (s == SOA_OK && (!memory || size < b.head.size || (uintptr_t)memory % SOAI_ALIGN))
        s = soai_report(report, SOA_E_MEMORY, -1, 0,
                        "the model needs %lu bytes aligned to %u, %lu were given",
                        (unsigned long)b.head.size, SOAI_ALIGN, (unsigned long)size);
    if (s == SOA_OK) {
        fill(&b, memory);
        *model = memory;
    }
    free(b.link);
    return soai_report_end(report, s);
}

soa_status soa_model_create(const soa_model_def *def, const soa_model **model, soa_report *report) {
    soai_report_reset(report);
    builder b = {.def = def, .report = report};
    soa_status s =
        model ? survey(&b) : soai_report(report, SOA_E_ARGUMENT, -1, 0, "no place for the model");
    if (s == SOA_OK) {
        soa_model *m = aligned_alloc(SOAI_ALIGN, (size_t)b.head.size);
        if (m) {
            fill(&b, m);
            *model = m;
        } else {
            s = soai_report(report, SOA_E_MEMORY, -1, 0, "no memory for a model of %lu bytes",
                            (unsigned long)b.head.size);
        }
    }
    free(b.link);
    return soai_report_end(report, s);
}
