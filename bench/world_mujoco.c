/* world_mujoco.c  MuJoCo's motion of the scenes of bench_world.
 *
 * contact-free  constraints and everything passive switched off: mj_step is kinematics, inertia,
 *               forces, integrator
 * ties          equality constraints "connect", as stiff as the step allows (solref 2 steps, solimp
 *               0.9999)
 * boxes         geoms of type box on a plane, solver and contact parameters as shipped */
#include "peer_mujoco.c"

#include "world_peer.h"

typedef struct world {
    mujoco *base;
    int ties, boxes;
} world;

static void silent(const char *message) {
    (void)message;
}

static const world_way tree_ways[] = {
    {"Euler", 2e-2, 1},    {"Euler", 1e-2, 1},    {"Euler", 5e-3, 1},    {"Euler", 2e-3, 1},
    {"Euler", 1e-3, 1},    {"Euler", 2e-4, 1},    {"RK4", 2e-2, 1},      {"RK4", 1e-2, 1},
    {"RK4", 5e-3, 1},      {"RK4", 2e-3, 1},      {"RK4", 1e-3, 1},      {"RK4", 5e-4, 1},
    {"RK4", 2e-4, 1},      {"implicit", 2e-2, 1}, {"implicit", 1e-2, 1}, {"implicit", 5e-3, 1},
    {"implicit", 2e-3, 1}, {"implicit", 1e-3, 1}, {"implicit", 2e-4, 1}};
static const world_way box_ways[] = {{"Euler", 4e-3, 1}, {"Euler", 2e-3, 1},    {"Euler", 1e-3, 1},
                                     {"RK4", 2e-3, 1},   {"implicit", 2e-3, 1}, {"Euler", 5e-4, 1}};

static int world_way_at(void *peer, int i, world_way *out) {
    const world *w = peer;
    const int count = w->boxes ? (int)(sizeof box_ways / sizeof *box_ways)
                               : (int)(sizeof tree_ways / sizeof *tree_ways);
    if (i < 0 || i >= count) return 0;
    *out = w->boxes ? box_ways[i] : tree_ways[i];
    return 1;
}

static void world_close(void *peer) {
    world *w = peer;
    if (w->base) mujoco_close(w->base);
    free(w);
}

/* The model of mujoco_open with geoms, ties and memory for them. */
static mjModel *compile_scene(const world_scene *scene, char *why, size_t size) {
    text t = {0};
    put(&t, "<equality>");
    for (int i = 0; i < scene->tie_count; ++i) {
        put(&t, "<connect body1=\"b%d\" body2=\"b%d\"", scene->tie[i].body[0],
            scene->tie[i].body[1]);
        put_numbers(&t, "anchor", scene->tie[i].at[0], 3);
        put(&t, "/>\n");
    }
    put(&t, "</equality>");
    mjModel *m = compile(&scene->model, t.data, 3 * scene->tie_count + 10, why, size);
    free(t.data);
    /* The compiler ties the points at q = 0. */
    for (int i = 0; m && i < scene->tie_count; ++i)
        memcpy(m->eq_data + mjNEQDATA * i + 3, scene->tie[i].at[1], 3 * sizeof(double));
    return m;
}
/* Boxes on a plane have a separate file: bodies with geoms. */
static mjModel *compile_boxes(const world_scene *scene, char *why, size_t size) {
    const peer_model *model = &scene->model;
    const int most = 15 * model->bodies;
    text t = {0};
    put(&t, "<mujoco><compiler inertiafromgeom=\"false\"/><option");
    put_numbers(&t, "gravity", model->gravity, 3);
    put(&t, "/><size njmax=\"%d\" nconmax=\"%d\" nstack=\"%d\"/><worldbody>\n", 50 * model->bodies,
        most, 8000000);
    put(&t, "<geom type=\"plane\" size=\"100 100 1\" friction=\"%.17g 0.005 0.0001\"/>\n",
        scene->friction);
    for (int i = 1; i <= model->bodies; ++i) {
        const soa_body_info *b = &model->body[i];
        put(&t,
            "<body name=\"b%d\"><freejoint name=\"j%d_0\"/><inertial pos=\"0 0 0\" mass=\"%.17g\"",
            i, i, b->mass);
        put_numbers(&t, "diaginertia", b->inertia, 3);
        put(&t, "/><geom type=\"box\" friction=\"%.17g 0.005 0.0001\"", scene->friction);
        put_numbers(&t, "size", scene->half, 3);
        put(&t, "/></body>\n");
    }
    put(&t, "</worldbody></mujoco>\n");
    mjModel *m = NULL;
    mjVFS *vfs = malloc(sizeof *vfs);
    if (vfs) {
        char error[1000] = "";
        mj_defaultVFS(vfs);
        mj_makeEmptyFileVFS(vfs, "boxes.xml", (int)t.length);
        memcpy(vfs->filedata[mj_findFileVFS(vfs, "boxes.xml")], t.data, t.length);
        m = mj_loadXML("boxes.xml", vfs, error, sizeof error);
        if (!m) snprintf(why, size, "%s", error);
        mj_deleteVFS(vfs);
        free(vfs);
    }
    free(t.data);
    return m;
}

static void *world_open(const world_scene *scene, char *why, size_t size) {
    const peer_model *model = &scene->model;
    world *w = calloc(1, sizeof *w);
    mujoco *p = w ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        free(w);
        return NULL;
    }
    w->base = p;
    w->ties = scene->tie_count;
    w->boxes = scene->boxes;
    /* Otherwise it writes a file in the working folder. */
    mju_user_warning = silent;
    p->m = scene->boxes ? compile_boxes(scene, why, size) : compile_scene(scene, why, size);
    p->d = p->m ? mj_makeData(p->m) : NULL;
    p->q_at = calloc((size_t)model->bodies + 1, sizeof(int));
    p->v_at = calloc((size_t)model->bodies + 1, sizeof(int));
    if (!p->d || !p->q_at || !p->v_at || p->m->nv != model->nv || p->m->neq != scene->tie_count) {
        if (p->m) snprintf(why, size, "the compiled model has other coordinates or constraints");
        world_close(w);
        return NULL;
    }
    p->body = model->body;
    p->bodies = model->bodies;
    p->nv = model->nv;
    if (!scene->boxes)
        p->m->opt.disableflags |=
            mjDSBL_FRICTIONLOSS | mjDSBL_LIMIT | mjDSBL_CONTACT | PASSIVE | mjDSBL_CLAMPCTRL |
            mjDSBL_FILTERPARENT | mjDSBL_ACTUATION | mjDSBL_SENSOR |
            (scene->tie_count ? 0 : mjDSBL_CONSTRAINT | mjDSBL_EQUALITY | mjDSBL_WARMSTART);
    for (int i = 1; i <= model->bodies; ++i) {
        char name[32];
        snprintf(name, sizeof name, "j%d_0", i);
        const int j = mj_name2id(p->m, mjOBJ_JOINT, name);
        if (j >= 0) {
            p->q_at[i] = p->m->jnt_qposadr[j];
            p->v_at[i] = p->m->jnt_dofadr[j];
        }
    }
    return w;
}

static int world_begin(void *peer, int way, const double *q, const double *v) {
    world *w = peer;
    mujoco *p = w->base;
    world_way how;
    if (!world_way_at(w, way, &how)) return 1;
    mj_resetData(p->m, p->d);
    p->m->opt.timestep = how.value;
    if (!strcmp(how.curve, "RK4")) {
        p->m->opt.integrator = mjINT_RK4;
    } else if (!strcmp(how.curve, "Euler")) {
        p->m->opt.integrator = mjINT_EULER;
    } else {
        p->m->opt.integrator = mjINT_IMPLICIT;
    }
    for (int i = 0; i < w->ties; ++i) {
        double *ref = p->m->eq_solref + mjNREF * i, *imp = p->m->eq_solimp + mjNIMP * i;
        ref[0] = 2 * how.value;
        ref[1] = 1;
        imp[0] = imp[1] = 0.9999;
    }
    for (int i = 1; i <= p->bodies; ++i) {
        const soa_body_info *b = &p->body[i];
        double *to = p->d->qpos + p->q_at[i], *rate = p->d->qvel + p->v_at[i];
        const double *qi = q + b->q_index, *vi = v + b->v_index;
        if (b->type != SOA_FREE) {
            to[0] = qi[0];
            rate[0] = vi[0];
            continue;
        }
        double placed[4], R[9];
        peer_mul(b->placement.R, qi, to);
        for (int k = 0; k < 3; ++k)
            to[k] += b->placement.p[k];
        peer_quaternion(b->placement.R, placed);
        quaternion_product(placed, qi + 3, to + 3);
        peer_rotation(to + 3, R);
        peer_mul(R, vi + 3, rate);
        memcpy(rate + 3, vi, 3 * sizeof *rate);
    }
    return 0;
}
/* When MuJoCo detects instability it restarts from time 0: this ends the motion. */
static int world_advance(void *peer, double time) {
    const world *w = peer;
    mujoco *p = w->base;
    double last = p->d->time;
    while (p->d->time < time - 0.5 * p->m->opt.timestep) {
        mj_step(p->m, p->d);
        if (!(p->d->time > last)) return 1;
        last = p->d->time;
    }
    return 0;
}
static void world_state(void *peer, double *q, double *v) {
    const world *w = peer;
    const mujoco *p = w->base;
    for (int i = 1; i <= p->bodies; ++i) {
        const soa_body_info *b = &p->body[i];
        const double *from = p->d->qpos + p->q_at[i], *rate = p->d->qvel + p->v_at[i];
        double *qi = q + b->q_index, *vi = v + b->v_index;
        if (b->type != SOA_FREE) {
            qi[0] = from[0];
            vi[0] = rate[0];
            continue;
        }
        double placed[4], R[9], off[3];
        for (int k = 0; k < 3; ++k)
            off[k] = from[k] - b->placement.p[k];
        peer_mul_t(b->placement.R, off, qi);
        peer_quaternion(b->placement.R, placed);
        for (int k = 1; k < 4; ++k)
            placed[k] = -placed[k];
        quaternion_product(placed, from + 3, qi + 3);
        peer_rotation(from + 3, R);
        peer_mul_t(R, rate, vi + 3);
        memcpy(vi, rate + 3, 3 * sizeof *vi);
    }
}
static int world_contacts(void *peer) {
    const world *w = peer;
    return w->base->d->ncon;
}

const world_peer *world_peer_get(void) {
    static char version[64];
    static const world_peer library = {"MuJoCo",      version,      world_open,
                                       world_close,   world_way_at, world_begin,
                                       world_advance, world_state,  world_contacts};
    snprintf(version, sizeof version, "MuJoCo %s", mj_versionString());
    return &library;
}
