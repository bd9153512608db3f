/* closed_mujoco.c  MuJoCo with equality constraints ("connect"), for bench_closed. */
#include "peer_mujoco.c"

#include "closed_peer.h"

static void silent(const char *message) {
    (void)message;
}
static void *closed_open(const peer_model *model, const closed_tie *ties, int count, char *why,
                         size_t size) {
    mujoco *p = calloc(1, sizeof *p);
    text t = {0};
    if (!p) return NULL;
    /* Otherwise it writes a file in the working folder. */
    mju_user_warning = silent;
    put(&t, "<equality>");
    for (int i = 0; i < count; ++i) {
        const int first = ties[i].body[0] ? 0 : 1, other = ties[i].body[1 - first];
        char name[32] = "";
        if (other) snprintf(name, sizeof name, " body2=\"b%d\"", other);
        put(&t, "<connect body1=\"b%d\"%s", ties[i].body[first], name);
        put_numbers(&t, "anchor", ties[i].at[first], 3);
        put(&t, "/>\n");
    }
    put(&t, "</equality>");
    p->m = compile(model, t.data, 3 * count + 10, why, size);
    free(t.data);
    p->d = p->m ? mj_makeData(p->m) : NULL;
    if (!p->d || p->m->nv != model->nv || p->m->neq != count) {
        if (p->m) snprintf(why, size, "the compiled model has other coordinates or constraints");
        mujoco_close(p);
        return NULL;
    }
    /* The compiler ties the points at q = 0; our loops are closed elsewhere. */
    for (int i = 0; i < count; ++i) {
        const int first = ties[i].body[0] ? 0 : 1;
        memcpy(p->m->eq_data + mjNEQDATA * i + 3, ties[i].at[1 - first], 3 * sizeof(double));
    }
    p->m->opt.disableflags |= mjDSBL_FRICTIONLOSS | mjDSBL_LIMIT | mjDSBL_CONTACT | PASSIVE |
                              mjDSBL_CLAMPCTRL | mjDSBL_FILTERPARENT | mjDSBL_ACTUATION |
                              mjDSBL_SENSOR;
    p->nv = model->nv;
    p->bodies = model->bodies;
    p->v_at = calloc((size_t)model->nv, sizeof(int));
    if (!p->v_at) {
        mujoco_close(p);
        return NULL;
    }
    for (int i = 1; i <= model->bodies; ++i) {
        char name[32];
        snprintf(name, sizeof name, "j%d_0", i);
        const int j = mj_name2id(p->m, mjOBJ_JOINT, name);
        if (j >= 0) p->v_at[model->body[i].v_index] = p->m->jnt_dofadr[j];
    }
    return p;
}

static void closed_load(void *peer, const double *q, const double *v) {
    mujoco *p = peer;
    mj_resetData(p->m, p->d);
    for (int i = 0; i < p->nv; ++i) {
        p->d->qpos[p->v_at[i]] = q[i];
        p->d->qvel[p->v_at[i]] = v[i];
    }
}
static void closed_evaluate(void *peer, const double *q, const double *v) {
    mujoco *p = peer;
    for (int i = 0; i < p->nv; ++i) {
        p->d->qpos[p->v_at[i]] = q[i];
        p->d->qvel[p->v_at[i]] = v[i];
    }
    mj_forward(p->m, p->d);
}
static void closed_accelerations(void *peer, double *qdd) {
    mujoco *p = peer;
    for (int i = 0; i < p->nv; ++i)
        qdd[i] = p->d->qacc[p->v_at[i]];
}
static void closed_state(void *peer, double *q, double *v) {
    mujoco *p = peer;
    for (int i = 0; i < p->nv; ++i) {
        q[i] = p->d->qpos[p->v_at[i]];
        v[i] = p->d->qvel[p->v_at[i]];
    }
}

/* Settings: as shipped; and as stiff as its documentation allows, with smaller steps. */
static const struct {
    const char *name;
    double step;
    int rk4, stiff;
} settings[] = {{"as shipped (Euler, 2 ms)", 2e-3, 0, 0},
                {"RK4, 1 ms, stiff", 1e-3, 1, 1},
                {"RK4, 0.1 ms, stiff", 1e-4, 1, 1}};

static const char *closed_setting(int setting) {
    return setting < (int)(sizeof settings / sizeof *settings) ? settings[setting].name : NULL;
}
static int closed_begin(void *peer, int setting) {
    mujoco *p = peer;
    p->m->opt.timestep = settings[setting].step;
    p->m->opt.integrator = settings[setting].rk4 ? mjINT_RK4 : mjINT_EULER;
    for (int i = 0; i < p->m->neq; ++i) {
        mjtNum *ref = p->m->eq_solref + mjNREF * i, *imp = p->m->eq_solimp + mjNIMP * i;
        ref[0] = settings[setting].stiff ? 2 * settings[setting].step : 0.02;
        ref[1] = 1;
        imp[0] = settings[setting].stiff ? 0.9999 : 0.9;
        imp[1] = settings[setting].stiff ? 0.9999 : 0.95;
    }
    return 0;
}
/* When MuJoCo detects instability it restarts from time 0: this ends the motion. */
static int closed_advance(void *peer, double time) {
    mujoco *p = peer;
    double last = p->d->time;
    while (p->d->time < time - 0.5 * p->m->opt.timestep) {
        mj_step(p->m, p->d);
        if (!(p->d->time > last)) return 1;
        last = p->d->time;
    }
    return 0;
}

const closed_peer *closed_peer_get(void) {
    static char version[64];
    static const closed_peer library = {
        "MuJoCo",     version,         closed_open,          mujoco_close,
        closed_load,  closed_evaluate, closed_accelerations, closed_setting,
        closed_begin, closed_advance,  closed_state};
    snprintf(version, sizeof version, "MuJoCo %s", mj_versionString());
    return &library;
}
