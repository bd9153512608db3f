/* model.c  read access to a soa_model: counts, names, frames, views. */
#include "../table/joint_types.h"
#include "model_internal.h"
#include <stdlib.h>

int soai_kind_of(soa_joint_type type, const double u[3], int has_rotor) {
    switch (type) {
    case SOA_REVOLUTE:
        for (int i = 0; i < 3 && !has_rotor; ++i)
            if (u[i] == 1 && u[(i + 1) % 3] == 0 && u[(i + 2) % 3] == 0)
                return SOAI_KIND_REVOLUTE_X + i;
        return SOAI_KIND_REVOLUTE;
    case SOA_PRISMATIC: return SOAI_KIND_PRISMATIC;
    case SOA_SPHERICAL: return SOAI_KIND_SPHERICAL;
    case SOA_FREE: return SOAI_KIND_FREE;
    default: return SOAI_KIND_GENERAL;
    }
}
/* What differs between joint types and is no arithmetic; the arithmetic is in build.c and
 * src/sweep/joint.h. */
static const struct {
    const char *name;
    int nq, nv;
    unsigned turns; /* bit k: coordinate k is an angle */
} joint_types[] = {[SOA_FIXED] = {"fixed", 0, 0, 0},
                   [SOA_REVOLUTE] = {"revolute", 1, 1, 1},
                   [SOA_PRISMATIC] = {"prismatic", 1, 1, 0},
                   [SOA_HELICAL] = {"helical", 1, 1, 1},
                   [SOA_CYLINDRICAL] = {"cylindrical", 2, 2, 1},
                   [SOA_UNIVERSAL] = {"universal", 2, 2, 3},
                   [SOA_PLANAR] = {"planar", 3, 3, 4},
                   [SOA_SPHERICAL] = {"spherical", 4, 3, 0},
                   [SOA_FREE] = {"free", 7, 6, 0}};
_Static_assert(sizeof joint_types / sizeof *joint_types == SOA_JOINT_TYPE_COUNT,
               "a row for each joint type");
_Static_assert((int)SOAI_JOINT_FREE == (int)SOA_JOINT_TYPE_COUNT - 1,
               "src/table/joint_types.h has the same types");

int soai_nq_of(soa_joint_type type) {
    return joint_types[type].nq;
}
int soai_nv_of(soa_joint_type type) {
    return joint_types[type].nv;
}
const char *soa_joint_type_name(soa_joint_type type) {
    return (unsigned)type < SOA_JOINT_TYPE_COUNT ? joint_types[type].name : "unknown";
}
bool soa_joint_type_turns(soa_joint_type type, int coordinate) {
    if ((unsigned)type >= SOA_JOINT_TYPE_COUNT || coordinate < 0) return false;
    return coordinate < joint_types[type].nq && (joint_types[type].turns >> coordinate & 1);
}

soai_view_double soai_model_view(const soa_model *m) {
    return (soai_view_double){.nb = m->nb,
                              .nq = m->tq,
                              .nv = m->tv,
                              .nd = m->nd,
                              .nm = m->nm + m->held,
                              .losses = m->losses,
                              .stuck = soai_metas(m)->stuck,
                              .gravity = {m->gravity[0], m->gravity[1], m->gravity[2]},
                              .body = SOAI_AT(m, soai_body_double, body_d),
                              .dof = SOAI_AT(m, soai_dof_double, dof_d),
                              .mimic = SOAI_AT(m, soai_mimic_double, mimic_d)};
}
soai_view_float soai_model_view_float(const soa_model *m) {
    return (soai_view_float){
        .nb = m->nb,
        .nq = m->tq,
        .nv = m->tv,
        .nd = m->nd,
        .nm = m->nm + m->held,
        .losses = m->losses,
        .stuck = soai_metas(m)->stuck,
        .gravity = {(float)m->gravity[0], (float)m->gravity[1], (float)m->gravity[2]},
        .body = SOAI_AT(m, soai_body_float, body_f),
        .dof = SOAI_AT(m, soai_dof_float, dof_f),
        .mimic = SOAI_AT(m, soai_mimic_float, mimic_f)};
}

size_t soa_model_bytes(const soa_model *model) {
    return model ? (size_t)model->size : 0;
}
const char *soa_model_name(const soa_model *m) {
    return m ? SOAI_AT(m, char, text) + m->name_text : "";
}
int soa_model_nq(const soa_model *m) {
    return m ? m->nq : 0;
}
int soa_model_nv(const soa_model *m) {
    return m ? m->nv : 0;
}
int soa_model_body_count(const soa_model *m) {
    return m ? m->nb : 0;
}
int soa_model_frame_count(const soa_model *m) {
    return m ? m->frames : 0;
}
double soa_model_mass(const soa_model *m) {
    return m ? m->mass : 0;
}
void soa_model_gravity(const soa_model *m, double gravity[3]) {
    static const double none[3];
    if (gravity) memcpy(gravity, m ? m->gravity : none, sizeof none);
}
void soa_model_free(const soa_model *model) {
    free((void *)(uintptr_t)model);
}

soa_status soa_model_body(const soa_model *m, int body, soa_body_info *info) {
    if (!m || !info || body < 1 || body > m->nb) return SOA_E_ARGUMENT;
    const soai_meta *t = soai_metas(m) + body;
    const soai_body_double *b = soai_bodies(m) + body;
    const char *text = SOAI_AT(m, char, text);
    const soa_joint_type type = (soa_joint_type)b->type;
    const int follows = t->leader >= 0;
    *info = (soa_body_info){.link = text + t->link_text,
                            .joint = text + t->joint_text,
                            .parent = b->parent,
                            .type = type,
                            .q_index = t->user_q,
                            .nq = follows ? 0 : soai_nq_of(type),
                            .v_index = t->user_v,
                            .nv = follows ? 0 : soai_nv_of(type),
                            .mimic = t->leader,
                            .mimic_ratio = t->ratio,
                            .mimic_offset = t->offset,
                            .frame = t->frame,
                            .pitch = t->pitch,
                            .mass = t->mass,
                            .rotor_inertia = t->rotor_inertia,
                            .gear_ratio = t->gear_ratio,
                            .rotor_model = (soa_rotor_model)t->rotor_model,
                            .damping = t->damping,
                            .friction_positive = t->friction_positive,
                            .friction_negative = t->friction_negative,
                            .stiffness = t->stiffness,
                            .rest = t->rest,
                            .lower = t->lower,
                            .upper = t->upper,
                            .max_speed = t->max_speed,
                            .max_effort = t->max_effort};
    memcpy(info->axis, t->axis, sizeof t->axis);
    memcpy(info->axis2, t->axis2, sizeof t->axis2);
    memcpy(info->rotor_axis, t->rotor_axis, sizeof t->rotor_axis);
    memcpy(info->placement.R, t->R, sizeof t->R);
    memcpy(info->placement.p, t->p, sizeof t->p);
    memcpy(info->com, t->com, sizeof t->com);
    memcpy(info->inertia, t->inertia, sizeof t->inertia);
    return SOA_OK;
}

soa_status soa_model_frame(const soa_model *m, int frame, soa_frame_info *info) {
    if (!m || !info || frame < 0 || frame >= m->frames) return SOA_E_ARGUMENT;
    const soai_frame_row *f = SOAI_AT(m, soai_frame_row, frame) + frame;
    info->name = SOAI_AT(m, char, text) + f->text;
    info->body = f->body;
    info->is_link = f->is_link;
    memcpy(info->placement.R, f->R, sizeof f->R);
    memcpy(info->placement.p, f->p, sizeof f->p);
    return SOA_OK;
}

int soa_model_find_frame(const soa_model *m, const char *name) {
    if (!m || !name) return -1;
    const soai_frame_row *f = SOAI_AT(m, soai_frame_row, frame);
    const char *text = SOAI_AT(m, char, text);
    for (int i = 1; i < m->frames; ++i) /* a link named "world" takes precedence */
        if (!strcmp(text + f[i].text, name)) return i;
    return strcmp(text + f[0].text, name) ? -1 : 0;
}

int soa_model_find_joint(const soa_model *m, const char *joint) {
    if (!m || !joint) return -1;
    for (int i = 1; i <= m->nb; ++i)
        if (!strcmp(SOAI_AT(m, char, text) + soai_metas(m)[i].joint_text, joint)) return i;
    return -1;
}
