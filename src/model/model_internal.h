/* model_internal.h  the layout of a soa_model: one buffer with offsets from its start and no
 * pointers.
 *
 * header | body (double) | dof (double) | mimic (double) | the same in float | meta | coordinate
 * maps | frames | text
 *
 * Sections start on 64-byte boundaries. Tables: src/table/table_fields.h. */
#ifndef SOAI_MODEL_INTERNAL_H
#define SOAI_MODEL_INTERNAL_H
#include "../base/base_internal.h"
#include "soa/model.h"

#include "../table/table.h"

#define SOAI_MODEL_MAGIC "soamodel"
#define SOAI_MODEL_VERSION 4u
#define SOAI_MODEL_ORDER 0x01020304u
#define SOAI_MAX_BODIES 1000000

/* Data of a body that the sweeps do not read: for reports, control and queries. Index 0 is the
 * world. */
typedef struct soai_meta {
    int32_t link_text, joint_text; /* offsets into the text section */
    int32_t frame;                 /* of its link */
    int32_t leader;                /* body followed (mimic), or -1 */
    /* First of its coordinates in the caller's vectors; -1 for followers. */
    int32_t user_q, user_v;
    int32_t rotor_model;
    int32_t stuck;        /* of the world: a body whose hinge moves no inertia at any q, or 0 */
    double ratio, offset; /* mimic, relative to a joint that is not a follower */
    double axis[3], axis2[3], pitch;
    double R[9], p[3];
    double mass, com[3], inertia[6];
    double rotor_inertia, gear_ratio, rotor_axis[3];
    double damping, friction_positive, friction_negative, stiffness, rest;
    double lower, upper, max_speed, max_effort;
} soai_meta;

/* tree q (or v) number t = ratio * caller's number `user` + offset */
typedef struct soai_map {
    int32_t user, pad;
    double ratio, offset;
} soai_map;

typedef struct soai_frame_row {
    int32_t text, body, is_link, pad;
    double R[9], p[3];
} soai_frame_row;

struct soa_model {
    char magic[8];
    uint32_t version, order;
    uint64_t size, checksum; /* of the whole buffer, with this field zero */
    int32_t nb, nq, nv;      /* bodies; the caller's coordinates */
    int32_t tq, tv, nd, nm;  /* tree coordinates, D entries, mimic joints */
    /* Rows of mimic after the first nm: leaders with a hold, see table_fields.h. */
    int32_t held;
    /* As meta[0].stuck, for the tree with its mimic joints free and no guards. */
    int32_t stuck_free;
    int32_t losses, frames, name_text;
    double gravity[3], mass;
    uint64_t body_d, dof_d, mimic_d, body_f, dof_f, mimic_f, meta, map_q, map_v, frame, text,
        text_size;
};

#define SOAI_AT(model, type, offset) ((const type *)((const char *)(model) + (model)->offset))

static inline const soai_meta *soai_metas(const soa_model *m) {
    return SOAI_AT(m, soai_meta, meta);
}
static inline const soai_body_double *soai_bodies(const soa_model *m) {
    return SOAI_AT(m, soai_body_double, body_d);
}

SOA_API soai_view_double soai_model_view(const soa_model *model);
soai_view_float soai_model_view_float(const soa_model *model);

/* Kind and sizes of a joint type. */
int soai_kind_of(soa_joint_type type, const double axis[3], int has_rotor);
SOA_API int soai_nq_of(soa_joint_type type);
SOA_API int soai_nv_of(soa_joint_type type);
/* 1 if R is a right-handed rotation and p is finite. */
int soai_rotation_fits(const soa_frame *frame);
/* Unit axes of a joint; those that its type does not use get their default. Returns 0 if they do
 * not define the joint. */
int soai_joint_axes(const soa_joint_def *joint, double axis[3], double axis2[3]);

/* Sets the offsets of all sections for the given counts; returns the size. */
uint64_t soai_model_place(soa_model *header);

/* Index of the quaternion of a spherical or free joint in the caller's q, or -1. */
static inline int soai_quaternion_at(int type, int user_q) {
    if (type == SOA_SPHERICAL) return user_q;
    if (type == SOA_FREE) return user_q + 3;
    return -1;
}
#define SOAI_QUATERNION_TOLERANCE 1e-6

#endif
