/* What is called with one state. */
int PREFIX_fd(const double *q, const double *v, const double *tau, double *qdd) {
    return GEN(fd_group)(1, q, v, tau, qdd);
}
int PREFIX_id(const double *q, const double *v, const double *a, double *tau) {
    return GEN(id_group)(1, q, v, a, tau);
}
int PREFIX_mass(const double *q, double *M) {
    real tree[GEN_NM ? GEN_TV * GEN_TV : 1];
    return GEN(mass_group)(1, q, tree, M);
}
int PREFIX_kinematics(const double *q, double *R, double *p) {
    GEN(room) r;
    kernel_work w = GEN_WORK(r);
    positions(&gen_own, &w, GEN(load)(q, GEN_NQ, 1, gen_map_q, GEN_TQ, 0, r.q));
    for (int i = 1; i <= GEN_NB; ++i) {
        step_pose(&gen_own, &w, i);
        for (int j = 0; j < 9; ++j)
            R[9 * (i - 1) + j] = r.Rw[9 * i + j];
        for (int j = 0; j < 3; ++j)
            p[3 * (i - 1) + j] = r.pw[3 * i + j];
    }
    return 0;
}
int PREFIX_jacobian(const double *q, int body, double *J) {
    GEN(room) r;
    kernel_work w = GEN_WORK(r);
    double tree[6 * GEN_TV + 1] = {0};
    if (body < 1 || body > GEN_NB) return -1;
    positions(&gen_own, &w, GEN(load)(q, GEN_NQ, 1, gen_map_q, GEN_TQ, 0, r.q));
    for (int i = 1; i <= GEN_NB; ++i)
        step_pose(&gen_own, &w, i);
    jacobian(&gen_own, &w, body, r.pw + 3 * body, tree);
    for (int i = 0; i < 6; ++i)
        GEN(store_torque)(tree + GEN_TV * i, 1, J + GEN_NV * i);
    return 0;
}
