/* peer_mujoco.c  MuJoCo as a peer: the mechanism as MJCF text in memory, the answers through its C
 * interface.  Compiled once for Debian's MuJoCo 2 ("mujoco" in bench.json) and once for the library
 * of the PyPI wheel ("mujoco3": version 3 or later).
 *
 * fd        mj_forward with the contact, constraint, passive, actuator and sensor stages off
 * id        mj_kinematics, mj_comPos, mj_comVel, mj_rne with accelerations: only what mj_inverse
 *           needs
 * mass      mj_kinematics, mj_comPos, mj_crb (3: mj_makeM), mj_fullM
 * bias      as id, mj_rne without accelerations
 * jacobian  mj_kinematics, mj_comPos, mj_jacBody
 *
 * MuJoCo's derivatives (mjd_inverseFD, mjd_transitionFD) are finite differences, whose errors are
 * far beyond what counts as equal here: none are timed.
 *
 * The velocity of a free joint is [v world; w body] there. Free joints occur only at the root. */
#include "peer.h"

#include <limits.h>
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* 222 is 2.2.2; later versions have seven digits. */
#define MUJOCO_3 (mjVERSION_HEADER >= 300)

#if MUJOCO_3
#define NAME "mujoco3"
#define PASSIVE (mjDSBL_SPRING | mjDSBL_DAMPER)
#define MOST_FILES INT_MAX
#else
#define NAME "mujoco"
#define PASSIVE mjDSBL_PASSIVE
#define MOST_FILES mjMAXVFS
#endif

/* The XML reader refuses deep nesting, so a long chain is divided into files that include one
 * another. */
#define NEST 40

typedef struct text {
    char *data;
    size_t length, room;
} text;

typedef struct mujoco {
    mjModel *m;
    mjData *d;
    const soa_body_info *body;
    int bodies, nv, states;
    int *q_at, *v_at; /* first coordinates of a body in MuJoCo */
    double *qpos, *qvel, *qacc, *tau, *M, *J;
    int last;          /* MuJoCo's number of the last body */
    peer_block *block; /* states x bodies */
} mujoco;

static void put(text *t, const char *format, ...) {
    for (;;) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(t->data + t->length, t->room - t->length, format, args);
        va_end(args);
        if ((size_t)n < t->room - t->length) {
            t->length += (size_t)n;
            return;
        }
        t->room = 2 * t->room + (size_t)n + 1;
        t->data = realloc(t->data, t->room);
        if (!t->data) abort();
    }
}

static void put_numbers(text *t, const char *name, const double *x, int n) {
    put(t, " %s=\"", name);
    for (int i = 0; i < n; ++i)
        put(t, i ? " %.17g" : "%.17g", x[i]);
    put(t, "\"");
}

static void put_joint(text *t, int body, int k, const char *type, const double *axis) {
    put(t, "<joint name=\"j%d_%d\" type=\"%s\" limited=\"false\" armature=\"0\" damping=\"0\"",
        body, k, type);
    if (axis) put_numbers(t, "axis", axis, 3);
    put(t, "/>\n");
}

/* Writes the joints of one body, in the order in which they move it. */
static int put_joints(text *t, int i, const soa_body_info *b) {
    double third[3];
    switch (b->type) {
    case SOA_REVOLUTE: put_joint(t, i, 0, "hinge", b->axis); return 1;
    case SOA_PRISMATIC: put_joint(t, i, 0, "slide", b->axis); return 1;
    case SOA_CYLINDRICAL:
        put_joint(t, i, 0, "hinge", b->axis);
        put_joint(t, i, 1, "slide", b->axis);
        return 1;
    case SOA_UNIVERSAL:
        put_joint(t, i, 0, "hinge", b->axis);
        put_joint(t, i, 1, "hinge", b->axis2);
        return 1;
    case SOA_PLANAR:
        peer_cross(b->axis, b->axis2, third);
        put_joint(t, i, 0, "slide", b->axis2);
        put_joint(t, i, 1, "slide", third);
        put_joint(t, i, 2, "hinge", b->axis);
        return 1;
    case SOA_SPHERICAL: put_joint(t, i, 0, "ball", NULL); return 1;
    case SOA_FREE:
        if (b->parent == 0) {
            put(t, "<freejoint name=\"j%d_0\"/>\n", i);
            return 1;
        }
        return 0;
    default: return 0;
    }
}

static int put_body(text *files, int *file_count, int file, const peer_model *model, int i,
                    int depth) {
    if (depth == NEST) {
        int next = (*file_count)++;
        put(&files[file], "<include file=\"part%d.xml\"/>\n", next);
        put(&files[next], "<mujocoinclude>\n");
        int ok = put_body(files, file_count, next, model, i, 0);
        put(&files[next], "</mujocoinclude>\n");
        return ok;
    }
    const soa_body_info *b = &model->body[i];
    text *t = &files[file];
    double quat[4], moments[3], axes[9];
    put(t, "<body name=\"b%d\"", i);
    put_numbers(t, "pos", b->placement.p, 3);
    peer_quaternion(b->placement.R, quat);
    put_numbers(t, "quat", quat, 4);
    put(t, "><inertial mass=\"%.17g\"", b->mass);
    put_numbers(t, "pos", b->com, 3);
    peer_principal(b->inertia, moments, axes);
    peer_quaternion(axes, quat);
    put_numbers(t, "quat", quat, 4);
    put_numbers(t, "diaginertia", moments, 3);
    put(t, "/>\n");
    if (!put_joints(t, i, b)) return 0;
    for (int k = i + 1; k <= model->bodies; ++k)
        if (model->body[k].parent == i && !put_body(files, file_count, file, model, k, depth + 1))
            return 0;
    put(&files[file], "</body>\n");
    return 1;
}

/* The files in memory, read as one; NULL with the reason in `error`. */
static mjModel *load_files(const text *files, int count, char *error, int size) {
    mjModel *m = NULL;
    mjVFS *vfs = malloc(sizeof *vfs);
    if (!vfs) return NULL;
    mj_defaultVFS(vfs);
    for (int k = 0; k < count; ++k) {
        char name[32];
        snprintf(name, sizeof name, "part%d.xml", k);
#if MUJOCO_3
        mj_addBufferVFS(vfs, name, files[k].data, (int)files[k].length);
#else
        mj_makeEmptyFileVFS(vfs, name, (int)files[k].length);
        memcpy(vfs->filedata[mj_findFileVFS(vfs, name)], files[k].data, files[k].length);
#endif
    }
    m = mj_loadXML("part0.xml", vfs, error, size);
    mj_deleteVFS(vfs);
    free(vfs);
    return m;
}

/* sections: further parts of the file, or ""; njmax: largest number of constraint rows. */
static mjModel *compile(const peer_model *model, const char *sections, int njmax, char *why,
                        size_t size) {
    int file_count = 1, room = model->bodies + 2, ok = 1;
    text *files = calloc((size_t)room, sizeof *files);
    if (!files) return NULL;
    put(&files[0], "<mujoco><compiler angle=\"radian\" inertiafromgeom=\"false\" "
                   "balanceinertia=\"false\" boundmass=\"0\" "
                   "boundinertia=\"0\" settotalmass=\"-1\"/><option");
    put_numbers(&files[0], "gravity", model->gravity, 3);
#if MUJOCO_3
    (void)njmax; /* it finds the room by itself */
    put(&files[0], "/><worldbody>\n");
#else
    put(&files[0], "/><size njmax=\"%d\" nconmax=\"1\" nstack=\"%d\"/><worldbody>\n", njmax,
        100000 + 200 * model->nv + 2 * model->nv * model->nv + 20 * njmax * (model->nv + njmax));
#endif
    for (int i = 1; ok && i <= model->bodies; ++i)
        if (model->body[i].parent == 0) ok = put_body(files, &file_count, 0, model, i, 0);
    put(&files[0], "</worldbody>%s</mujoco>\n", sections);

    mjModel *m = NULL;
    if (ok && file_count <= MOST_FILES) {
        char error[1000] = "";
        m = load_files(files, file_count, error, sizeof error);
        if (!m) snprintf(why, size, "%s", error);
    } else
        snprintf(why, size, "no such joint in MuJoCo, or too many files");
    for (int k = 0; k < file_count; ++k)
        free(files[k].data);
    free(files);
    return m;
}

static void mujoco_close(void *peer) {
    mujoco *p = peer;
    if (p->d) mj_deleteData(p->d);
    if (p->m) mj_deleteModel(p->m);
    free(p->q_at);
    free(p->v_at);
    free(p->block);
    free(p->qpos);
    free(p->qvel);
    free(p->qacc);
    free(p->tau);
    free(p->M);
    free(p->J);
    free(p);
}

static void *mujoco_open(const peer_model *model, int states, char *why, size_t size) {
    mujoco *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->m = compile(model, "", 1, why, size);
    p->d = p->m ? mj_makeData(p->m) : NULL;
    if (!p->d) {
        mujoco_close(p);
        return NULL;
    }
    p->m->opt.disableflags |= mjDSBL_CONSTRAINT | mjDSBL_EQUALITY | mjDSBL_FRICTIONLOSS |
                              mjDSBL_LIMIT | mjDSBL_CONTACT | PASSIVE | mjDSBL_CLAMPCTRL |
                              mjDSBL_WARMSTART | mjDSBL_FILTERPARENT | mjDSBL_ACTUATION |
                              mjDSBL_REFSAFE | mjDSBL_SENSOR;
    p->body = model->body;
    p->bodies = model->bodies;
    p->nv = model->nv;
    p->states = states;
    size_t count = (size_t)states, nq = (size_t)p->m->nq, nv = (size_t)p->m->nv,
           bodies = (size_t)model->bodies;
    p->q_at = calloc(bodies + 1, sizeof(int));
    p->v_at = calloc(bodies + 1, sizeof(int));
    p->qpos = calloc(count * nq, sizeof(double));
    p->qvel = calloc(count * nv, sizeof(double));
    p->qacc = calloc(count * nv, sizeof(double));
    p->tau = calloc(count * nv, sizeof(double));
    p->M = calloc(nv * nv, sizeof(double));
    p->J = calloc(6 * nv, sizeof(double));
    p->block = calloc(count * bodies, sizeof(peer_block));
    int lost = !p->q_at || !p->v_at || !p->qpos || !p->qvel || !p->qacc || !p->tau || !p->M ||
               !p->J || !p->block;
    for (int i = 1; !lost && i <= model->bodies; ++i) {
        char name[32];
        snprintf(name, sizeof name, "j%d_0", i);
        int j = mj_name2id(p->m, mjOBJ_JOINT, name);
        lost = j < 0;
        if (!lost) {
            p->q_at[i] = p->m->jnt_qposadr[j];
            p->v_at[i] = p->m->jnt_dofadr[j];
            p->last = p->m->jnt_bodyid[j];
        }
    }
    if (lost || p->m->nv != model->nv) {
        snprintf(why, size, "the compiled model has other coordinates");
        mujoco_close(p);
        return NULL;
    }
    return p;
}

static void quaternion_product(const double a[4], const double b[4], double c[4]) {
    c[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    c[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    c[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    c[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

static void mujoco_load(void *peer, int state, const double *q, const double *v, const double *a,
                        const double *tau) {
    mujoco *p = peer;
    double *qpos = p->qpos + (ptrdiff_t)state * p->m->nq;
    peer_block *block = p->block + (ptrdiff_t)state * p->bodies;
    for (int i = 1; i <= p->bodies; ++i) {
        const soa_body_info *b = &p->body[i];
        const double *qi = q + b->q_index;
        double *to = qpos + p->q_at[i];
        peer_block_plain(&block[i - 1], b->v_index, p->v_at[i], b->nv);
        if (b->type == SOA_FREE) { /* pose in the world; v = [R v; w] */
            double placed[4], R[9], t[3];
            const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zero[9] = {0};
            peer_mul(b->placement.R, qi, to);
            for (int k = 0; k < 3; ++k)
                to[k] += b->placement.p[k];
            peer_quaternion(b->placement.R, placed);
            quaternion_product(placed, qi + 3, to + 3);
            peer_rotation(to + 3, R);
            peer_block_set(&block[i - 1], 0, 0, zero);
            peer_block_set(&block[i - 1], 0, 3, R);
            peer_block_set(&block[i - 1], 3, 0, one);
            peer_block_set(&block[i - 1], 3, 3, zero);
            peer_cross(v + b->v_index, v + b->v_index + 3, t); /* rate of R v = R (v' + w x v) */
            peer_mul(R, t, block[i - 1].c);
        } else
            memcpy(to, qi, (size_t)b->nq * sizeof *to);
    }
    ptrdiff_t at = (ptrdiff_t)state * p->nv;
    peer_velocity_to(block, p->bodies, v, p->qvel + at, 0);
    peer_velocity_to(block, p->bodies, a, p->qacc + at, 1);
    peer_force_to(block, p->bodies, tau, p->tau + at);
}

static const char *mujoco_way(void *peer, peer_fn fn, int way) {
    static const char *const name[PEER_FN_COUNT] = {[PEER_FD] = "mj_forward",
                                                    [PEER_ID] = "mj_rne",
                                                    [PEER_MASS] = "mj_crb+mj_fullM",
                                                    [PEER_BIAS] = "mj_rne",
                                                    [PEER_JACOBIAN] = "mj_jacBody"};
    (void)peer;
    return way == 0 ? name[fn] : NULL;
}

static void full_mass(const mjModel *m, mjData *d, double *M) {
#if MUJOCO_3
    mj_makeM(m, d);
    mj_fullM(m, d, M);
#else
    mj_crb(m, d);
    mj_fullM(m, M, d->qM);
#endif
}

static void mujoco_run(void *peer, peer_fn fn, int way, int state) {
    mujoco *p = peer;
    const mjModel *m = p->m;
    mjData *d = p->d;
    size_t row = (size_t)m->nv * sizeof(double);
    ptrdiff_t at = (ptrdiff_t)state * m->nv;
    (void)way;
    memcpy(d->qpos, p->qpos + (ptrdiff_t)state * m->nq, (size_t)m->nq * sizeof(double));
    if (fn == PEER_FD) {
        memcpy(d->qvel, p->qvel + at, row);
        memcpy(d->qfrc_applied, p->tau + at, row);
        mj_forward(m, d);
        return;
    }
    mj_kinematics(m, d);
    mj_comPos(m, d);
    if (fn == PEER_MASS) {
        full_mass(m, d, p->M);
        return;
    }
    if (fn == PEER_JACOBIAN) {
        mj_jacBody(m, d, p->J + 3 * (ptrdiff_t)m->nv, p->J, p->last);
        return;
    }
    memcpy(d->qvel, p->qvel + at, row);
    mj_comVel(m, d);
    if (fn == PEER_BIAS) {
        mj_rne(m, d, 0, d->qfrc_inverse);
        return;
    }
    memcpy(d->qacc, p->qacc + at, row);
    mj_rne(m, d, 1, d->qfrc_inverse);
}

/* From the bias of MuJoCo to ours: B' (bias + M c), c from the blocks' accelerations. */
static void bias_from(mujoco *p, const peer_block *block, double *out) {
    const int nv = p->nv;
    double *force = p->J; /* room for nv numbers; the Jacobian is not needed now */
    full_mass(p->m, p->d, p->M);
    memcpy(force, p->d->qfrc_inverse, (size_t)nv * sizeof *force);
    for (int k = 0; k < p->bodies; ++k)
        for (int j = 0; j < block[k].n; ++j)
            for (int i = 0; i < nv; ++i)
                force[i] += p->M[(ptrdiff_t)i * nv + block[k].theirs + j] * block[k].c[j];
    peer_force_from(block, p->bodies, force, out);
}

static void mujoco_fetch(void *peer, peer_fn fn, int way, int state, double *out) {
    mujoco *p = peer;
    const peer_block *block = p->block + (ptrdiff_t)state * p->bodies;
    (void)way;
    if (fn == PEER_FD) peer_accel_from(block, p->bodies, p->d->qacc, out);
    if (fn == PEER_ID) peer_force_from(block, p->bodies, p->d->qfrc_inverse, out);
    if (fn == PEER_MASS) peer_mass_from(block, p->bodies, p->M, p->nv, out, p->nv);
    if (fn == PEER_BIAS) bias_from(p, block, out);
    if (fn == PEER_JACOBIAN) peer_jacobian_from(block, p->bodies, p->J, out, p->nv);
}

const peer_library *peer_get(void) {
    static char version[64];
    static const peer_library library = {NAME,        version,    mujoco_open, mujoco_close,
                                         mujoco_load, mujoco_way, mujoco_run,  mujoco_fetch};
    snprintf(version, sizeof version, "MuJoCo %s", mj_versionString());
    return &library;
}
