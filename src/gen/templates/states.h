/* Some states (one, or as many as there are lanes): in and out of tree coordinates, and the sweeps
 * between. */
typedef struct GEN(room) {
    body_work b[GEN_NB + 1];
    real c[6 * (GEN_NB + 1)], Rw[9 * (GEN_NB + 1)], pw[3 * (GEN_NB + 1)];
    real sine[GEN_TQ + 4], cosine[GEN_TQ + 4], H[6 * GEN_TV + 1], U[6 * GEN_TV + 1], D[GEN_ND + 1],
        e[GEN_TV + 1], x[GEN_TV + 1], S[6 * GEN_TV + 4];
    real Y[GEN_NM * GEN_TV + 1], W[GEN_NM * GEN_NM + 1];
    real q[GEN_TQ + 1], v[GEN_TV + 1], a[GEN_TV + 1], out[GEN_TV + 1];
} GEN(room);
#define GEN_WORK(r)                                                                           \
    {                                                                                         \
        .b = r.b, .c = r.c, .sine = r.sine, .cosine = r.cosine, .H = r.H, .U = r.U, .D = r.D, \
        .e = r.e, .x = r.x, .Rw = r.Rw, .pw = r.pw, .S = r.S, .Y = r.Y, .W = r.W              \
    }
/* Tree coordinates of SOAI_LANES states, `states` of them real, `stride` numbers apart; `out` or,
 * where they are the caller's own, x. */
SOAI_INLINE const real *GEN(load)(const double *x, long stride, int states, const gen_map *map,
                                  int n, int torque, real *out) {
    (void)stride;
    (void)states;
    (void)map;
    (void)n;
    (void)torque;
#if GEN_NM == 0 && SOAI_LANES == 1
    (void)out;
    return x;
#elif GEN_NM == 0
    lanes_pack(x, stride, n, states, out);
    return out;
#else
    for (int t = 0; t < n; ++t) {
        const double ratio = torque ? gen_leads[t] : map[t].ratio;
        const double offset = torque ? 0 : map[t].offset;
#if SOAI_LANES > 1
        for (int l = 0; l < SOAI_LANES; ++l)
            out[t][l] = ratio * x[stride * (l < states ? l : states - 1) + map[t].user] + offset;
#else
        out[t] = ratio * x[map[t].user] + offset;
#endif
    }
    return out;
#endif
}
#if SOAI_LANES > 1
#define GEN_AT(x, l) ((x)[l])
#else
#define GEN_AT(x, l) (x)
#endif
SOAI_INLINE void GEN(store_motion)(const real *x, int states, double *out) {
#if GEN_NM == 0 && SOAI_LANES > 1
    lanes_unpack(x, GEN_TV, states, out, GEN_NV);
    return;
#endif
    for (int l = 0; l < states; ++l)
        for (int t = 0; t < GEN_TV; ++t)
            if (gen_leads[t]) out[(long)GEN_NV * l + gen_map_v[t].user] = GEN_AT(x[t], l);
}
SOAI_INLINE void GEN(store_torque)(const real *x, int states, double *out) {
#if GEN_NM == 0 && SOAI_LANES > 1
    lanes_unpack(x, GEN_TV, states, out, GEN_NV);
    return;
#endif
    for (int l = 0; l < states; ++l) {
        for (int u = 0; u < GEN_NV; ++u)
            out[(long)GEN_NV * l + u] = 0;
        for (int t = 0; t < GEN_TV; ++t)
            out[(long)GEN_NV * l + gen_map_v[t].user] += gen_map_v[t].ratio * GEN_AT(x[t], l);
    }
}
SOAI_INLINE int GEN(fd_group)(int states, const double *q, const double *v, const double *tau,
                              double *qdd) {
    GEN(room) r;
    kernel_work w = GEN_WORK(r);
    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);
    const real *tv = GEN(load)(v, GEN_NV, states, gen_map_v, GEN_TV, 0, r.v);
    const real *ta = GEN(load)(tau, GEN_NV, states, gen_map_v, GEN_TV, 1, r.a);
#if GEN_NM == 0 && SOAI_LANES == 1
    (void)states;
    return aba_fast(&gen_level, &w, tq, tv, ta, 0, qdd);
#else
/* what has been read makes room: torques for innovations, these for accelerations */
#if GEN_NM == 0
    real *const out = w.e = r.a;
#else
    real *const out = r.out;
#endif
    const int bad = aba_fast(&gen_level, &w, tq, tv, ta, 0, out);
    if (!bad) GEN(store_motion)(out, states, qdd);
    return bad;
#endif
}
SOAI_INLINE int GEN(id_group)(int states, const double *q, const double *v, const double *a,
                              double *tau) {
    GEN(room) r;
    kernel_work w = GEN_WORK(r);
    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);
    const real *tv = GEN(load)(v, GEN_NV, states, gen_map_v, GEN_TV, 0, r.v);
    const real *ta = GEN(load)(a, GEN_NV, states, gen_map_v, GEN_TV, 0, r.a);
#if GEN_NM == 0 && SOAI_LANES == 1
    (void)states;
    return rnea(&gen_level, &w, tq, tv, ta, 0, tau);
#else
    rnea(&gen_level, &w, tq, tv, ta, 0, r.out);
    GEN(store_torque)(r.out, states, tau);
    return 0;
#endif
}
#if SOAI_LANES == 1 || !GEN_LEAVES
/* tree: room for the matrix in tree coordinates, zero at the first call. */
SOAI_INLINE int GEN(mass_group)(int states, const double *q, real *tree, double *M) {
    GEN(room) r;
    kernel_work w = GEN_WORK(r);
    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);
#if GEN_NM == 0 && SOAI_LANES == 1
    (void)states;
    (void)tree;
    return GEN_MASS(&gen_level, &w, tq, M);
#else
    GEN_MASS(&gen_level, &w, tq, tree);
#if GEN_NM == 0
    lanes_unpack_symmetric(tree, GEN_TV, states, M);
    return 0;
#endif
    for (int l = 0; l < states; ++l) {
        double *out = M + (long)GEN_NV * GEN_NV * l;
        for (int j = 0; j < GEN_NV * GEN_NV; ++j)
            out[j] = 0;
        for (int i = 0; i < GEN_TV; ++i)
            for (int j = 0; j < GEN_TV; ++j)
                out[GEN_NV * gen_map_v[i].user + gen_map_v[j].user] +=
                    gen_map_v[i].ratio * gen_map_v[j].ratio *
                    GEN_AT(tree[i > j ? GEN_TV * i + j : GEN_TV * j + i], l);
    }
    return 0;
#endif
}
#endif
