/* soa/model.h  describe a machine, build it, save it, load it.
 *
 * A definition (soa_model_def) is plain data in the caller's memory: fill bodies from
 * soa_body_default(), change what matters, build.  The result, soa_model, is one relocatable buffer
 * without pointers: immutable, shareable between threads, copied by memcpy, saved and loaded by
 * libc-only code.
 *
 * Body 0 is the world.  The i-th entry of the definition (from 0) is "link" i+1 there; its parent
 * is named by the same numbers, parents before children.  Links on fixed joints are merged into the
 * body that carries them; every link, merged or not, stays reachable as a named frame, whose number
 * is the link's.  Extra frames come after the links.  Texts that a model gives out are part of it:
 * they live as long as it does. */
#ifndef SOA_MODEL_H
#define SOA_MODEL_H

#include "soa/spatial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q numbers, v numbers and what they mean: docs/notation.md, section "Joints". */
typedef enum soa_joint_type {
    SOA_FIXED,       /* nq 0 nv 0  link merged into its parent */
    SOA_REVOLUTE,    /* nq 1 nv 1  angle about axis */
    SOA_PRISMATIC,   /* nq 1 nv 1  displacement along axis */
    SOA_HELICAL,     /* nq 1 nv 1  angle; moves pitch metres per radian along axis */
    SOA_CYLINDRICAL, /* nq 2 nv 2  angle about, displacement along axis */
    SOA_UNIVERSAL,   /* nq 2 nv 2  angle about axis, then about axis2 */
    SOA_PLANAR,      /* nq 3 nv 3  displacement along axis2, along axis x axis2, then angle about
                      * axis */
    SOA_SPHERICAL,   /* nq 4 nv 3  unit quaternion w x y z; angular velocity in the body's frame */
    SOA_FREE,        /* nq 7 nv 6  position, unit quaternion w x y z; [w; v] in the body's frame */
    SOA_JOINT_TYPE_COUNT
} soa_joint_type;

typedef enum soa_rotor_model {
    SOA_ROTOR_REFLECTED, /* G^2 Jm on the diagonal of the mass matrix, nothing else              */
    SOA_ROTOR_EXACT      /* a spinning body: also its coupling to the link that carries the motor */
} soa_rotor_model;

/* Values that all degrees of freedom of a joint share. Start from soa_joint_default(). */
typedef struct soa_joint_def {
    soa_joint_type type;
    double axis[3];  /* direction in the joint frame; need not be of unit length. Default z */
    double axis2[3]; /* universal: second axis; planar: first direction in the plane. Default x */
    double pitch;    /* helical: m/rad */

    double rotor_inertia;        /* Jm, kg m^2, >= 0 */
    double gear_ratio;           /* G, motor turns per joint turn, with sign */
    soa_rotor_model rotor_model; /* exact: 1-dof joints only */
    double rotor_axis[3];        /* exact: spin axis in the joint frame; zero means the joint's
                                  * axis */

    double damping;               /* viscous, N m s/rad or N s/m, >= 0 */
    double friction_positive;     /* Coulomb torque opposing v > 0, >= 0 */
    double friction_negative;     /* Coulomb torque opposing v < 0, >= 0 */
    double stiffness, rest;       /* spring torque -stiffness (q - rest); joints with nq == nv
                                   * only */
    double lower, upper;          /* position limits; default -inf, inf: data for control, no
                                   * algorithm clamps */
    double max_speed, max_effort; /* default inf */

    int mimic;          /* link number this 1-dof joint follows, or -1 (default) */
    double mimic_ratio; /* q = ratio * q_followed + offset */
    double mimic_offset;
} soa_joint_def;

typedef struct soa_body_def {
    const char *name;       /* link name, unique, needed */
    const char *joint_name; /* NULL: as the link */
    int parent;             /* link number, 0 the world */
    soa_frame placement;    /* joint frame in the parent link's frame; the link's frame coincides
                             * with it at 0 */
    soa_joint_def joint;
    double mass;       /* kg */
    double com[3];     /* centre of mass in the link's frame, m */
    double inertia[6]; /* about the centre of mass, link axes: xx yy zz xy xz yz, kg m^2 */
} soa_body_def;

/* A named frame fixed to a link. */
typedef struct soa_frame_def {
    const char *name;
    int link;
    soa_frame placement;
} soa_frame_def;

typedef struct soa_model_def {
    const char *name;
    double gravity[3]; /* m/s^2, default 0 0 -9.81 */
    int body_count;
    const soa_body_def *bodies;
    int frame_count;
    const soa_frame_def *frames;
    int ideal; /* nonzero: no friction, springs or rotors; mimic joints move independently */
} soa_model_def;

/* What is not named by the arguments: axis z, axis2 x, gear ratio 1, no limits (infinite), no mimic
 * (-1, ratio 1); placements identity; gravity 0 0 -9.81; everything else 0 or NULL, so a body
 * starts without mass. */
SOA_API soa_joint_def soa_joint_default(soa_joint_type type);
SOA_API soa_body_def soa_body_default(const char *name, int parent, soa_joint_type type);
SOA_API soa_model_def soa_model_default(const char *name, const soa_body_def *bodies,
                                        int body_count);

/* Inertia of a solid of the given mass about its centre: fills mass and inertia[6], com stays.  x,
 * y, z and length are whole lengths, m. */
SOA_API void soa_body_box(soa_body_def *body, double mass, double x, double y, double z);
SOA_API void soa_body_cylinder_z(soa_body_def *body, double mass, double radius, double length);
SOA_API void soa_body_sphere(soa_body_def *body, double mass, double radius);

/* Denavit-Hartenberg rows.  Inertial data refer to the DH link frame (at the far end for the
 * standard form); the builder converts to joint-origin frames and adds each DH frame as a named
 * frame "<link>_dh". */
typedef struct soa_dh_row {
    double theta, d, a, alpha; /* theta (revolute) or d (prismatic) is the constant part of the
                                * joint variable */
    int prismatic;
    double mass, com[3], inertia[6]; /* com and inertia axes: the DH frame; inertia about com: xx yy
                                      * zz xy xz yz */
    soa_joint_def joint;             /* transmission, friction, limits; type and axis are set by the
                                      * call */
} soa_dh_row;
typedef enum soa_dh_form { SOA_DH_STANDARD, SOA_DH_MODIFIED } soa_dh_form;
/* A revolute row with theta 0, no mass, and joint as soa_joint_default. */
SOA_API soa_dh_row soa_dh_row_default(double d, double a, double alpha);
/* Appends `count` links named prefix1, prefix2, ... to bodies[at..] (chained on link `parent`,
 * whose DH frame is `base` in it) and `count` frames to frames[at_frame..]. `names` holds the text
 * and must outlive the definition: count * SOA_DH_NAME bytes.  base NULL: identity.  A WD89
 * connector link is a row whose joint is fixed (joint.type = SOA_FIXED).  SOA_E_NAME: the prefix is
 * longer than 12 letters; SOA_E_ARGUMENT: something is missing or negative. */
#define SOA_DH_NAME 64
typedef struct soa_dh_chain_def {
    soa_dh_form form;       /* default SOA_DH_STANDARD */
    const soa_dh_row *rows; /* needed */
    int count;
    const char *prefix;    /* of the links' names, needed */
    int parent;            /* link number; default 0, the world */
    const soa_frame *base; /* NULL: identity */
} soa_dh_chain_def;
SOA_API soa_status soa_dh_chain_append(const soa_dh_chain_def *def, soa_body_def *bodies, int at,
                                       soa_frame_def *frames, int at_frame, char *names);

typedef struct soa_model soa_model;

/* These three: SOA_OK only if the definition is valid; else SOA_E_ARGUMENT, _NOT_FINITE, _NAME,
 * _TREE, _FRAME, _JOINT, _INERTIA, _MIMIC or _MEMORY, and the report says why.  At most 1,000,000
 * links and as many frames.  Nothing of the definition is kept.  Links without mass are fine, also
 * at a tip that moves: only calls that need M^-1 then fail (SOA_E_HINGE_SINGULAR).
 * Bytes the model will need. */
SOA_API soa_status soa_model_size(const soa_model_def *def, size_t *size, soa_report *report);
/* Builds into the caller's memory (aligned to 64 bytes, else SOA_E_MEMORY). Uses the heap only for
 * scratch while building.  Not to be given to soa_model_free. */
SOA_API soa_status soa_model_init(const soa_model_def *def, void *memory, size_t size,
                                  const soa_model **model, soa_report *report);
/* Convenience: heap memory; release with soa_model_free (NULL is fine). */
SOA_API soa_status soa_model_create(const soa_model_def *def, const soa_model **model,
                                    soa_report *report);
SOA_API void soa_model_free(const soa_model *model);

/* The model is one buffer: these bytes, copied anywhere aligned to 64 bytes, are the model. */
SOA_API size_t soa_model_bytes(const soa_model *model);
/* Checks header, version, checksum and every offset and index of a buffer somebody gives us; cost
 * O(size).  The model is that buffer, not a copy: it must stay, unchanged, as long as the model is
 * used, and is released by who made it.  SOA_E_MEMORY (not aligned to 64 bytes), SOA_E_FORMAT,
 * SOA_E_VERSION, SOA_E_CHECKSUM. */
SOA_API soa_status soa_model_from_bytes(const void *buffer, size_t size, const soa_model **model,
                                        soa_report *report);
/* Plain files of those bytes (little-endian, IEEE doubles).  save replaces an older file, and
 * removes it if writing fails; load takes heap memory, to be released with soa_model_free.
 * SOA_E_FILE, and for load those of from_bytes. */
SOA_API soa_status soa_model_save(const soa_model *model, const char *path, soa_report *report);
SOA_API soa_status soa_model_load(const char *path, const soa_model **model, soa_report *report);
/* A copy with another gravity (heap; release with soa_model_free). */
SOA_API soa_status soa_model_with_gravity(const soa_model *model, const double gravity[3],
                                          const soa_model **copy);
/* A copy whose joints have no friction (viscous and Coulomb), no springs, or neither (heap,
 * likewise); rotors and mimic joints stay, unlike in an ideal model.  SOA_E_ARGUMENT: no such
 * bit. */
typedef enum soa_losses { SOA_FRICTION = 1, SOA_SPRINGS = 2 } soa_losses;
SOA_API soa_status soa_model_without_losses(const soa_model *model, unsigned losses,
                                            const soa_model **copy);

/* What is in a model (NULL: nothing).  Bodies: 1 .. soa_model_body_count, one for each
 * joint that moves, parents first.  Frames: 0 (the world) .. soa_model_frame_count - 1. */
SOA_API const char *soa_model_name(const soa_model *model);
SOA_API int soa_model_nq(const soa_model *model);
SOA_API int soa_model_nv(const soa_model *model);
SOA_API int soa_model_body_count(const soa_model *model);
SOA_API int soa_model_frame_count(const soa_model *model);
SOA_API void soa_model_gravity(const soa_model *model, double gravity[3]);
SOA_API double soa_model_mass(const soa_model *model); /* of the moving bodies */

typedef struct soa_body_info {
    const char *link, *joint;
    int parent; /* body */
    soa_joint_type type;
    int q_index, nq, v_index, nv; /* where its coordinates stand; a mimic joint has nq = nv = 0,
                                   * indices -1, and follows `mimic` */
    int mimic;                    /* body followed, or -1 */
    double mimic_ratio, mimic_offset;
    int frame;                       /* frame of the link itself */
    double axis[3], axis2[3], pitch; /* unit axes */
    soa_frame placement;             /* in the parent body's frame */
    double mass, com[3], inertia[6]; /* merged body; inertia about com, body axes, xx yy zz xy xz
                                      * yz */
    double rotor_inertia, gear_ratio;
    soa_rotor_model rotor_model;
    double rotor_axis[3]; /* unit, in the joint frame */
    double damping, friction_positive, friction_negative, stiffness, rest;
    double lower, upper, max_speed, max_effort;
} soa_body_info;
/* SOA_E_ARGUMENT where there is no such body; the world, 0, is none. */
SOA_API soa_status soa_model_body(const soa_model *model, int body, soa_body_info *info);

typedef struct soa_frame_info {
    const char *name;
    int body;            /* 0: fixed to the world */
    int is_link;         /* nonzero: a link of the definition, not an extra frame (nor the world) */
    soa_frame placement; /* in that body's frame */
} soa_frame_info;
/* SOA_E_ARGUMENT where there is no such frame. */
SOA_API soa_status soa_model_frame(const soa_model *model, int frame, soa_frame_info *info);
/* First frame of that name (links, then extra frames, then "world"), or -1. Body whose joint has
 * that name, or -1.  A search through all. */
SOA_API int soa_model_find_frame(const soa_model *model, const char *name);
SOA_API int soa_model_find_joint(const soa_model *model, const char *joint);
/* "revolute", ...; "unknown" for no type */
SOA_API const char *soa_joint_type_name(soa_joint_type type);
/* Nonzero: this coordinate of the joint, from 0 on, is an angle; otherwise a length or a part of a
 * quaternion. */
SOA_API int soa_joint_type_turns(soa_joint_type type, int coordinate);

/* Configuration space.  Tangent vectors are v-like: nv numbers.  No pointer may be NULL
 * (SOA_E_ARGUMENT).  Numbers must be finite (SOA_E_NOT_FINITE) and, but for soa_q_normalise,
 * quaternions unit to 1e-6 (SOA_E_QUATERNION); on a fault nothing is written.  Mimic joints have no
 * numbers here.  Outputs must not overlap inputs but where it is said. */
SOA_API void soa_q_neutral(const soa_model *model, double *q); /* zeros and unit quaternions   */
/* q moved by v for the time dt (docs/notation.md); quaternions leave unit.  q_next may be q. */
SOA_API soa_status soa_q_integrate(const soa_model *model, const double *q, const double *v,
                                   double dt, double *q_next);
/* q1 - q0: the v that takes q0 to q1 in the time 1, quaternions by the shorter way. */
SOA_API soa_status soa_q_difference(const soa_model *model, const double *q0, const double *q1,
                                    double *v);
/* Makes quaternions unit; explicit, never silent.  SOA_E_QUATERNION where one is zero (shorter than
 * 1e-12). */
SOA_API soa_status soa_q_normalise(const soa_model *model, double *q);
/* q' from v (quaternion rates for spherical and free joints), nq numbers. */
SOA_API soa_status soa_q_rate(const soa_model *model, const double *q, const double *v,
                              double *q_rate);

#ifdef __cplusplus
}
#endif
#endif
