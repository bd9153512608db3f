/* What is called with many states. */
#define GEN_GROUPS(call)                                                   \
    for (long s = 0; s < n; s += SOAI_LANES) {                             \
        const int states = n - s < SOAI_LANES ? (int)(n - s) : SOAI_LANES; \
        const int bad = call;                                              \
        if (bad) return bad;                                               \
    }                                                                      \
    return 0;
int PREFIX_fd_batch(long n, const double *q, const double *v, const double *tau, double *qdd) {
    GEN_GROUPS(
        GEN(fd_group)(states, q + s * GEN_NQ, v + s * GEN_NV, tau + s * GEN_NV, qdd + s * GEN_NV))
}
int PREFIX_id_batch(long n, const double *q, const double *v, const double *a, double *tau) {
    GEN_GROUPS(
        GEN(id_group)(states, q + s * GEN_NQ, v + s * GEN_NV, a + s * GEN_NV, tau + s * GEN_NV))
}
int PREFIX_mass_batch(long n, const double *q, double *M) {
#if GEN_TV > 128 /* too large for lanes, and for the stack */
    for (long s = 0; s < n; ++s) {
        const int bad = PREFIX_mass(q + s * GEN_NQ, M + s * GEN_NV * GEN_NV);
        if (bad) return bad;
    }
    return 0;
#else
    real tree[GEN_TV * GEN_TV + 1];
    for (int j = GEN_LEAVES ? GEN_TV * GEN_TV : 0; j <= GEN_TV * GEN_TV; ++j)
        tree[j] = REAL(0);
    GEN_GROUPS(GEN(mass_group)(states, q + s * GEN_NQ, tree, M + s * GEN_NV * GEN_NV))
#endif
}
