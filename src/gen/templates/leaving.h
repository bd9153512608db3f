/* Mass matrices that leave the lanes branch by branch. */
#if GEN_LEAVES
/* Numbers `end` ... of the matrices are in the lanes; those from `next` on have left them.  Lines
 * ahead are asked for. */
static __attribute__((noinline)) long GEN(leave)(const real *tree, long next, long end, double *M) {
    while (next - 8 >= end || (!end && next)) {
        const real *x[8];
        next = next < 8 ? 0 : next - 8; /* the first eight may go twice */
        double *ahead = M + (next > GEN_AHEAD ? next - GEN_AHEAD : 0);
        SOAI_UNROLL
        for (int l = 0; l < SOAI_LANES; ++l)
            __builtin_prefetch(ahead + (long)GEN_TV * GEN_TV * l, 1);
        SOAI_UNROLL
        for (int j = 0; j < 8; ++j)
            x[j] = tree + gen_from[next + j];
        lanes_leave(x, M + next, (long)GEN_TV * GEN_TV);
    }
    return next;
}
/* tree: room for the matrix; its last number is zero.  Branch by branch: angles, columns, then its
 * rows leave. */
SOAI_INLINE int GEN(mass_group)(int states, const double *q, real *tree, double *M) {
    GEN(room) r;
    kernel_work work = GEN_WORK(r), *w = &work;
    const view_table *k = &gen_level;
    const long all = (long)GEN_TV * GEN_TV;
    const int whole = states == SOAI_LANES, in_M = columns_in_M(k);
    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);
    long next = all;
    for (int l = 0; whole && l < SOAI_LANES; ++l)
        for (int j = 8; j <= GEN_AHEAD; j += 8)
            __builtin_prefetch(M + all * (l + 1) - j, 1);
#ifdef GEN_CHAIN
    for (const gen_branch *branch = gen_branches; branch->last; ++branch) {
        angles_row(w, tq, branch->angle, branch->angle_end);
        columns_outward(k, w, branch->first, branch->last, tq);
        for (int n = branch->last - 1; n >= branch->first - 1; --n)
            GEN_CHAIN(k, gen_order_chains,
                      columns_inward(k, w, chain, links, outermost, i, in_M, tree))
        if (whole) next = GEN(leave)(tree, next, branch->stands, M);
    }
#else
    angles(k, w, tq);
    columns_outward(k, w, 1, GEN_NB, tq);
    SOAI_INWARD(k, columns_inward(k, w, &b, 1, 1, i, in_M, tree))
    if (whole) next = GEN(leave)(tree, next, 0, M);
#endif
    for (long l = 0; !whole && l < states; ++l)
        for (long j = 0; j < all; ++j)
            M[all * l + j] = tree[gen_from[j]][l];
    return 0;
}
#endif
