/* coordinates.h  the ways between the caller's vectors and the tree's.
 *
 * With mimic joints the caller's velocities v and the tree's are v_tree = Gamma v; torques go back
 * by Gamma'.  Without them (the ordinary case) the caller's arrays go to the sweeps as they are. */
#ifndef SOAI_COORDINATES_H
#define SOAI_COORDINATES_H
#include "work.h"

static inline const double *tree_q(soa_work *w, const double *q) {
    const soa_model *m = w->model;
    if (!q) q = w->neutral_q;
    if (!m->nm) return q;
    const soai_map *map = SOAI_AT(m, soai_map, map_q);
    for (int t = 0; t < m->tq; ++t)
        w->tq[t] = map[t].ratio * q[map[t].user] + map[t].offset;
    return w->tq;
}
static inline const double *tree_motion(soa_work *w, const double *v, double *room) {
    const soa_model *m = w->model;
    if (!v) return w->zero;
    if (!m->nm) return v;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int t = 0; t < m->tv; ++t)
        room[t] = map[t].ratio * v[map[t].user];
    return room;
}
/* The torques act on the leaders; any tree torque with Gamma' tree = tau would do. */
static inline const double *tree_torque(soa_work *w, const double *tau, double *room) {
    const soa_model *m = w->model;
    if (!tau) return w->zero;
    if (!m->nm) return tau;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int t = 0; t < m->tv; ++t)
        room[t] = tau[map[t].user];
    for (int k = 0; k < m->nm; ++k)
        room[w->view.mimic[k].follower] = 0;
    return room;
}
static inline void user_motion(const soa_work *w, const double *tree, double *v) {
    const soa_model *m = w->model;
    const soai_body_double *b = soai_bodies(m);
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader < 0)
            for (int c = 0; c < b[i].nv; ++c)
                v[e->user_v + c] = tree[b[i].iv + c];
    }
}
static inline void user_torque(const soa_work *w, const double *tree, double *tau) {
    const soa_model *m = w->model;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int u = 0; u < m->nv; ++u)
        tau[u] = 0;
    for (int t = 0; t < m->tv; ++t)
        tau[map[t].user] += map[t].ratio * tree[t];
}
/* rows x tv to rows x nv: columns are motions */
static inline void user_columns(const soa_work *w, int rows, const double *tree, double *out) {
    const soa_model *m = w->model;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int r = 0; r < rows; ++r) {
        double *o = out + (size_t)r * (size_t)m->nv;
        const double *x = tree + (size_t)r * (size_t)m->tv;
        for (int u = 0; u < m->nv; ++u)
            o[u] = 0;
        for (int t = 0; t < m->tv; ++t)
            o[map[t].user] += map[t].ratio * x[t];
    }
}
/* Gamma' X Gamma */
static inline void user_matrix(const soa_work *w, const double *tree, double *out) {
    const soa_model *m = w->model;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    const size_t nv = (size_t)m->nv, tv = (size_t)m->tv;
    for (size_t j = 0; j < nv * nv; ++j)
        out[j] = 0;
    for (size_t r = 0; r < tv; ++r)
        for (size_t c = 0; c < tv; ++c)
            out[nv * (size_t)map[r].user + (size_t)map[c].user] +=
                map[r].ratio * map[c].ratio * tree[tv * r + c];
}

#endif
