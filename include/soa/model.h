/* soa/model.h  describe a machine, build it, save it, load it.
 *
 * A definition (soa_model_def) is plain data in memory of the caller: fill the bodies from
 * soa_body_default(), change what is different, build.  The result, soa_model, is one relocatable
 * buffer without pointers.  It is immutable, can be shared between threads and copied by memcpy,
 * and is saved and loaded by code that needs only the C library.
 *
 * Body 0 is the world.  The i-th entry of the definition (from 0) is "link" i+1.  Its parent is
 * given by such a number, parents before children.  Links on fixed joints are merged into the body
 * that carries them.  Every link, merged or not, has a named frame with the number of the link.
 * Additional frames come after the links.  Strings returned by the model belong to it and live as
 * long as it does. */
#ifndef SOA_MODEL_H
#define SOA_MODEL_H

#include "soa/spatial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of q and v and their meaning: docs/notation.md, section "Joints". */
typedef enum soa_joint_type {
    SOA_FIXED,       /* nq 0 nv 0  link merged into its parent */
    SOA_REVOLUTE,    /* nq 1 nv 1  angle about axis */
    SOA_PRISMATIC,   /* nq 1 nv 1  displacement along axis */
    SOA_HELICAL,     /* nq 1 nv 1  angle; moves by pitch metres per radian along axis */
    SOA_CYLINDRICAL, /* nq 2 nv 2  angle about, displacement along axis */
    SOA_UNIVERSAL,   /* nq 2 nv 2  angle about axis, then about axis2 */
    /* nq 3 nv 3  displacement along axis2, along axis x axis2, then angle about axis */
    SOA_PLANAR,
    SOA_SPHERICAL, /* nq 4 nv 3  unit quaternion w x y z; angular velocity in the body's frame */
    SOA_FREE,      /* nq 7 nv 6  position, unit quaternion w x y z; [w; v] in the body's frame */
    SOA_JOINT_TYPE_COUNT
} soa_joint_type;

typedef enum soa_rotor_model {
    SOA_ROTOR_REFLECTED, /* G^2 Jm on the diagonal of the mass matrix, nothing else */
    SOA_ROTOR_EXACT      /* a spinning body: also its coupling to the link that carries the motor */
} soa_rotor_model;

/* Values that all degrees of freedom of a joint share.  Start from soa_joint_default(). */
typedef struct soa_joint_def {
    soa_joint_type type;
    /* direction in the frame of the joint; need not be of unit length.  Default z */
    double axis[3];
    double axis2[3]; /* universal: second axis; planar: first direction in the plane.  Default x */
    double pitch;    /* helical: m/rad */

    double rotor_inertia;        /* Jm, kg m^2, >= 0 */
    double gear_ratio;           /* G, motor turns per joint turn, with sign */
    soa_rotor_model rotor_model; /* exact: only for joints with one degree of freedom */
    /* exact: spin axis in the frame of the joint; zero: the axis of the joint */
    double rotor_axis[3];

    double damping;           /* viscous, N m s/rad or N s/m, >= 0 */
    double friction_positive; /* Coulomb torque opposing v > 0, >= 0 */
    double friction_negative; /* Coulomb torque opposing v < 0, >= 0 */
    /* spring torque -stiffness (q - rest); joints with nq == nv only */
    double stiffness;
    double rest;
    /* limits of the position, for control; no algorithm enforces them.  Default -inf, inf */
    double lower;
    double upper;
    double max_speed;  /* default inf */
    double max_effort; /* default inf */

    /* Number of the link whose joint it follows (joints with one degree of freedom); -1
     * (default): none */
    int mimic;
    double mimic_ratio; /* q = mimic_ratio * q of the leader + mimic_offset */
    double mimic_offset;
} soa_joint_def;

typedef struct soa_body_def {
    const char *name;       /* link name, unique, needed */
    const char *joint_name; /* NULL: the name of the link */
    int parent;             /* number of the link; 0: the world */
    /* frame of the joint in the frame of the parent link; at q = 0 it is the link's frame */
    soa_frame placement;
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
    bool ideal; /* true: no friction, springs or rotors; mimic joints move independently */
} soa_model_def;

/* Everything that is not an argument: axis z, axis2 x, gear ratio 1, no limits (infinite), no mimic
 * (-1, ratio 1), identity placements, gravity 0 0 -9.81; the rest is 0 or NULL, so that a body has
 * no mass at first. */
SOA_API soa_joint_def soa_joint_default(soa_joint_type type);
SOA_API soa_body_def soa_body_default(const char *name, int parent, soa_joint_type type);
SOA_API soa_model_def soa_model_default(const char *name, const soa_body_def *bodies,
                                        int body_count);

/* The inertia of a solid of the given mass about its centre: fills mass and inertia[6], and leaves
 * com unchanged.  x, y, z and length are full lengths, m. */
SOA_API void soa_body_box(soa_body_def *body, double mass, double x, double y, double z);
SOA_API void soa_body_cylinder_z(soa_body_def *body, double mass, double radius, double length);
SOA_API void soa_body_sphere(soa_body_def *body, double mass, double radius);

/* Denavit-Hartenberg rows.  Inertial data refer to the DH frame of the link (at its far end in the
 * standard form).  The builder converts them to frames at the joint origins and adds each DH frame
 * as a named frame "<link>_dh". */
typedef struct soa_dh_row {
    double theta; /* revolute: constant part of the joint variable */
    double d;     /* prismatic: constant part of the joint variable */
    double a;
    double alpha;
    bool prismatic;
    double mass;
    double com[3];       /* in the DH frame */
    double inertia[6];   /* about com, axes of the DH frame: xx yy zz xy xz yz */
    soa_joint_def joint; /* transmission, friction, limits; the call sets type and axis */
} soa_dh_row;
typedef enum soa_dh_form { SOA_DH_STANDARD, SOA_DH_MODIFIED } soa_dh_form;
/* A revolute row with theta 0, no mass, and its joint from soa_joint_default. */
SOA_API soa_dh_row soa_dh_row_default(double d, double a, double alpha);
/* Appends `count` links named prefix1, prefix2, ... to bodies[at..], as a chain on link `parent`,
 * and `count` frames to frames[at_frame..].  `base` is the pose of the first DH frame in `parent`.
 * `names` receives the text of the names, count * SOA_DH_NAME bytes, and must outlive the
 * definition.  A connector link of WD89 is a row with a fixed joint (joint.type = SOA_FIXED).
 * SOA_E_NAME: the prefix is longer than 12 letters.  SOA_E_ARGUMENT: something is missing or
 * negative. */
#define SOA_DH_NAME 64
typedef struct soa_dh_chain_def {
    soa_dh_form form;       /* default SOA_DH_STANDARD */
    const soa_dh_row *rows; /* needed */
    int count;
    const char *prefix;    /* of the names of the links, needed */
    int parent;            /* number of the link; default 0, the world */
    const soa_frame *base; /* NULL: identity */
} soa_dh_chain_def;
SOA_API soa_status soa_dh_chain_append(const soa_dh_chain_def *def, soa_body_def *bodies, int at,
                                       soa_frame_def *frames, int at_frame, char *names);

typedef struct soa_model soa_model;

/* The next three functions return SOA_OK only if the definition is valid; else SOA_E_ARGUMENT,
 * _NOT_FINITE, _NAME, _TREE, _FRAME, _JOINT, _INERTIA, _MIMIC or _MEMORY, and the report says why.
 * At most 1,000,000 links and as many frames.  The model keeps no pointer into the definition.
 * Links without mass are allowed, also at a tip that moves; then only functions that need M^-1 fail
 * (SOA_E_HINGE_SINGULAR).
 * Bytes that the model will need. */
SOA_API soa_status soa_model_size(const soa_model_def *def, size_t *size, soa_report *report);
/* Builds in memory of the caller (aligned to 64 bytes, else SOA_E_MEMORY).  Uses the heap only for
 * temporary memory.  Do not pass this model to soa_model_free. */
SOA_API soa_status soa_model_init(const soa_model_def *def, void *memory, size_t size,
                                  const soa_model **model, soa_report *report);
/* The same in memory from the heap; release with soa_model_free, which accepts NULL. */
SOA_API soa_status soa_model_create(const soa_model_def *def, const soa_model **model,
                                    soa_report *report);
SOA_API void soa_model_free(const soa_model *model);

/* The size of the model in bytes.  A copy of these bytes at any address that is aligned to 64 bytes
 * is the same model. */
SOA_API size_t soa_model_bytes(const soa_model *model);
/* Checks header, version, checksum and every offset and index of a buffer from outside; O(size).
 * The model is that buffer and not a copy.  The buffer must not change as long as the model is
 * used, and its owner releases it.  SOA_E_MEMORY (not aligned to 64 bytes), SOA_E_FORMAT,
 * SOA_E_VERSION, SOA_E_CHECKSUM. */
SOA_API soa_status soa_model_from_bytes(const void *buffer, size_t size, const soa_model **model,
                                        soa_report *report);
/* Files of these bytes (little-endian, IEEE doubles).  save replaces an older file, and removes it
 * if writing fails.  load allocates; release with soa_model_free.  SOA_E_FILE, and for load the
 * status of soa_model_from_bytes. */
SOA_API soa_status soa_model_save(const soa_model *model, const char *path, soa_report *report);
SOA_API soa_status soa_model_load(const char *path, const soa_model **model, soa_report *report);
/* A copy with another gravity.  Allocates; release with soa_model_free. */
SOA_API soa_status soa_model_with_gravity(const soa_model *model, const double gravity[3],
                                          const soa_model **copy);
/* A copy whose joints have no friction (viscous and Coulomb), no springs, or neither.  Allocates;
 * release with soa_model_free.  Unlike in an ideal model, rotors and mimic joints remain.
 * SOA_E_ARGUMENT: there is no such bit. */
typedef enum soa_losses { SOA_FRICTION = 1, SOA_SPRINGS = 2 } soa_losses;
SOA_API soa_status soa_model_without_losses(const soa_model *model, unsigned losses,
                                            const soa_model **copy);

/* What a model contains; NULL counts as empty.  Bodies are numbered from 1 to soa_model_body_count,
 * one for each joint that moves, parents first.  Frames are numbered from 0 (the world) to
 * soa_model_frame_count - 1. */
SOA_API const char *soa_model_name(const soa_model *model);
SOA_API int soa_model_nq(const soa_model *model);
SOA_API int soa_model_nv(const soa_model *model);
SOA_API int soa_model_body_count(const soa_model *model);
SOA_API int soa_model_frame_count(const soa_model *model);
SOA_API void soa_model_gravity(const soa_model *model, double gravity[3]);
SOA_API double soa_model_mass(const soa_model *model); /* of the moving bodies */

typedef struct soa_body_info {
    const char *link;
    const char *joint;
    int parent; /* body */
    soa_joint_type type;
    /* Its coordinates in q and v.  A mimic joint has nq = nv = 0 and the indices -1. */
    int q_index;
    int nq;
    int v_index;
    int nv;
    int mimic; /* body of the leader, or -1: no mimic joint */
    double mimic_ratio;
    double mimic_offset;
    int frame;      /* frame of the link */
    double axis[3]; /* unit */
    double axis2[3];
    double pitch;
    soa_frame placement; /* in the parent body's frame */
    double mass;         /* with merged links, as the next two */
    double com[3];
    double inertia[6]; /* about com, body axes: xx yy zz xy xz yz */
    double rotor_inertia;
    double gear_ratio;
    soa_rotor_model rotor_model;
    double rotor_axis[3]; /* unit, in the frame of the joint */
    double damping;
    double friction_positive;
    double friction_negative;
    double stiffness;
    double rest;
    double lower;
    double upper;
    double max_speed;
    double max_effort;
} soa_body_info;
/* SOA_E_ARGUMENT: there is no such body; the world, 0, is not one. */
SOA_API soa_status soa_model_body(const soa_model *model, int body, soa_body_info *info);

typedef struct soa_frame_info {
    const char *name;
    int body; /* 0: fixed to the world */
    /* true: a link of the definition; false: an additional frame, or the world */
    bool is_link;
    soa_frame placement; /* in that body's frame */
} soa_frame_info;
/* SOA_E_ARGUMENT: there is no such frame. */
SOA_API soa_status soa_model_frame(const soa_model *model, int frame, soa_frame_info *info);
/* The first frame of that name (links, then additional frames, then "world"), or -1; and the body
 * whose joint has that name, or -1.  O(size of the model). */
SOA_API int soa_model_find_frame(const soa_model *model, const char *name);
SOA_API int soa_model_find_joint(const soa_model *model, const char *joint);
/* "revolute" and so on; "unknown" if there is no such type. */
SOA_API const char *soa_joint_type_name(soa_joint_type type);
/* Is this coordinate of the joint, from 0 on, an angle?  Otherwise it is a length or a part of a
 * quaternion. */
SOA_API bool soa_joint_type_turns(soa_joint_type type, int coordinate);

/* Configuration space.  Tangent vectors are like v: nv numbers.  No pointer may be NULL
 * (SOA_E_ARGUMENT).  Numbers must be finite (SOA_E_NOT_FINITE), and quaternions of unit length to
 * 1e-6 (SOA_E_QUATERNION; except for soa_q_normalise).  On failure nothing is written.  Mimic
 * joints have no numbers here.  Outputs must not overlap inputs unless the text says so. */
SOA_API void soa_q_neutral(const soa_model *model, double *q); /* zeros, unit quaternions */
/* q moved by v for the time dt (docs/notation.md).  Quaternions of the result are of unit length.
 * q_next may be q. */
SOA_API soa_status soa_q_integrate(const soa_model *model, const double *q, const double *v,
                                   double dt, double *q_next);
/* q1 - q0: the v that takes q0 to q1 in the time 1; quaternions take the shorter way. */
SOA_API soa_status soa_q_difference(const soa_model *model, const double *q0, const double *q1,
                                    double *v);
/* Scales quaternions to unit length; functions that take q never do this silently.
 * SOA_E_QUATERNION: one is zero (shorter than 1e-12). */
SOA_API soa_status soa_q_normalise(const soa_model *model, double *q);
/* The rate q' for v, nq numbers; for spherical and free joints the rates of quaternions. */
SOA_API soa_status soa_q_rate(const soa_model *model, const double *q, const double *v,
                              double *q_rate);

#ifdef __cplusplus
}
#endif
#endif
