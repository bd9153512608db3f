/* bench_fused.c  does it pay to fuse the last sweep of forward dynamics with the first of the next
 *                evaluation?
 *
 *   soa_bench_fused [SECONDS]   time per step, three sweeps and two, in turn
 *
 * A step of semi-implicit Euler: v += h vdot(q, v), q += h v.  Three sweeps: src/sweep/aba.h as it
 * is, then the step for all joints.  Two: the outward sweep finds vdot of joint k, takes the step of
 * that joint, and makes pose and w of body k for the next evaluation at once.  Children still need
 * the acceleration of the parent at the old state, so the inward sweep leaves c for them, and w of
 * the parent is not needed.  Both are compiled here with the flags of the library's sweeps.
 * docs/theory/two-sweep.md has the table. */
#define SOAI_NUMBER SOAI_DOUBLE
#include "../src/sweep/aba.h"
#include "../src/dynamics/work.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) { /* time on the core */
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* aba_inward of aba.h, which also leaves c. */
SOAI_INLINE int inward_leaving_c(joint J, int kind, const real *v, const real *tau) {
    const pose X = joint_read(J, kind);
    real M[ABI_SIZE];
    abi_rotated Q;
    real U[36];
    real Dfac[36];
    real G[36];
    real z[6];
    real t[3];
    real rate[6];
    real eps[6];
    real nu[6];
    real z_plus[6];
    real *c = J.w->c + 6 * J.i;
    const real *P = gathered_inertia(J, M);
    hinge_inertia(J, kind, P, U);
    if (!hinge_gain(J, kind, P, U, Dfac, G)) return 0;
    gyroscopic_force(J, J.own->V, 0, z);
    gathered_force(J, z);
    joint_entries(J, kind, v, rate);
    v6_zero(c);
    add_joint_bias(J, kind, J.own->V, rate, c);
    hinge_innovation(J, kind, tau, z, c, eps);
    hinge_solve(J, kind, Dfac, eps, nu);
    hinge_keep(J, kind, P, U, Dfac, G, nu);
    if (!J.b->parent) return 1;
    lever(X, J.parent->V, t);
    inertia_after_hinge(J, kind, X, P, U, Dfac, G, Q);
    force_after_hinge(J, kind, X, Q, G, c, t, eps, z, z_plus);
    pass_inertia(J, kind, Q, X.p);
    pass_force(J, X.p, z_plus);
    real back[3];
    rot_tmul(X.R, t, back);
    for (int j = 0; j < 3; ++j)
        c[3 + j] += back[j];
    return 1;
}
/* vdot, the step of the joint, and pose and w of the body for the next evaluation. */
SOAI_INLINE void smooth_step_and_go_on(joint J, int kind, double h, real *q, real *v) {
    const pose X = joint_read(J, kind);
    const real *nu = J.w->e + J.b->iv;
    const real *G = J.w->G + 6 * J.b->iv;
    real A[6];
    real accel[6];
    real rate[6];
    motion_out(X.R, X.p, J.parent->A, A);
    for (int j = 0; j < 6; ++j)
        A[j] += J.w->c[6 * J.i + j];
    hinge_accelerate(J, kind, nu, G, A, accel);
    v6_copy(A, J.own->A);
    joint_entries(J, kind, v, rate);
    rate[0] += h * accel[0];
    put_joint_entries(J, kind, rate, v);
    q[J.b->iq] += h * v[J.b->iv];
    real angle[4] = {q[J.b->iq]}; /* sines come four at a time: three for nothing */
    real sine[4];
    real cosine[4];
    real_sincos_all(1, angle, sine, cosine);
    J.w->sine[J.b->iq] = sine[0];
    J.w->cosine[J.b->iq] = cosine[0];
    joint_pose(J, kind, q);
    angular_velocity(J, kind, joint_read(J, kind), rate, J.own->V);
}

static void two_sweeps(const view_table *k, kernel_work *w, long steps, double h, real *q, real *v,
                       const real *tau) {
    angles(k, w, q);
    v6_zero(w->b[0].V);
    base_acceleration(k, w->b[0].A);
    for (int i = 1; i <= k->nb; ++i) {
        const body_table *b = k->body + i;
        WITH_ALIGNED_KIND(b, aba_outward(joint_at(k, w, b, i), kind, q, v))
    }
    for (long s = 0; s < steps; ++s) {
        for (int i = k->nb; i >= 1; --i) {
            const body_table *b = k->body + i;
            int moves = 0;
            WITH_ALIGNED_KIND(b, moves = inward_leaving_c(joint_at(k, w, b, i), kind, v, tau))
            if (!moves) exit(2);
        }
        for (int i = 1; i <= k->nb; ++i) {
            const body_table *b = k->body + i;
            WITH_ALIGNED_KIND(b, smooth_step_and_go_on(joint_at(k, w, b, i), kind, h, q, v))
        }
    }
}
static void three_sweeps(const view_table *k, kernel_work *w, long steps, double h, real *q,
                         real *v, const real *tau, real *vdot) {
    for (long s = 0; s < steps; ++s) {
        if (aba(k, w, q, v, tau, 0, vdot)) exit(2);
        for (int j = 0; j < k->nv; ++j) {
            v[j] += h * vdot[j];
            q[j] += h * v[j];
        }
    }
}

static void measure(const char *name, double budget) {
    const soa_model *m = NULL;
    const soa_read_options ideal = {.ideal = true};
    soa_work *w = NULL;
    if (soa_stock_model_create(name, &ideal, &m, NULL) || soa_work_create(m, &w)) exit(2);
    const size_t n = (size_t)soa_model_nv(m);
    if (n != (size_t)soa_model_nq(m)) exit(2);
    double *q[2], *v[2], *tau = calloc(n, sizeof *tau), *vdot = calloc(n, sizeof *vdot);
    for (int s = 0; s < 2; ++s) {
        q[s] = calloc(n, sizeof(double));
        v[s] = calloc(n, sizeof(double));
    }
    const double h = 1e-5;
    enum { STEPS = 20, ROUNDS = 2000 };
    double best[2] = {INFINITY, INFINITY}, worst_difference = 0;
    const double end = seconds() + budget;
    for (int round = 0; round < ROUNDS && seconds() < end; ++round) {
        for (int s = 0; s < 2; ++s) {
            for (size_t j = 0; j < n; ++j) {
                q[s][j] = 0.3 + 0.1 * (double)(j % 7);
                v[s][j] = 0.2 - 0.05 * (double)(j % 5);
            }
            const double start = seconds();
            if (s)
                two_sweeps(&w->aligned, &w->w, STEPS, h, q[s], v[s], tau);
            else
                three_sweeps(&w->aligned, &w->w, STEPS, h, q[s], v[s], tau, vdot);
            best[s] = fmin(best[s], (seconds() - start) / STEPS);
        }
        for (size_t j = 0; j < n; ++j)
            worst_difference =
                fmax(worst_difference,
                     fabs(q[0][j] - q[1][j]) + fabs(v[0][j] - v[1][j]) / (1 + fabs(v[0][j])));
    }
    printf("%-10s %8.2f %8.2f %8.3f %10.1e\n", name, 1e6 * best[0], 1e6 * best[1],
           best[1] / best[0], worst_difference);
    for (int s = 0; s < 2; ++s) {
        free(q[s]);
        free(v[s]);
    }
    free(tau);
    free(vdot);
    soa_work_free(w);
    soa_model_free(m);
}

int main(int argc, char **argv) {
    const double budget = argc > 1 ? strtod(argv[1], NULL) : 1;
    static const char *const models[] = {"arm7", "dh-arm:7", "chain:30", "chain:100", "chain:1000"};
    printf("us per step of semi-implicit Euler, best of many\n%-10s %8s %8s %8s %10s\n", "model",
           "three", "two", "ratio", "difference");
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i)
        measure(models[i], budget);
    return 0;
}
