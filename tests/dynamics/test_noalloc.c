/* test_noalloc.c  once the work space exists, no call allocates, frees or prints: every function is
 * called with the allocator watched and the standard streams caught, both when it succeeds and when
 * it fails.
 *
 * The allocator is replaced by one in this program (glibc), or watched through the sanitizer's
 * hooks. */
#define _GNU_SOURCE /* dladdr */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

/* --- the watched allocator -------------------------------------------------------------------- */

static volatile long heap_calls; /* since the program started */
static int only_ours;            /* nonzero: calls that SUNDIALS makes are not counted */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(SANITIZED)
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
static void saw_malloc(const volatile void *p, size_t size) {
    (void)p;
    (void)size;
    heap_calls++;
}
static void saw_free(const volatile void *p) {
    heap_calls += p != NULL;
}
static int watch(void) {
    return __sanitizer_install_malloc_and_free_hooks(saw_malloc, saw_free) > 0;
}
#elif defined(__GLIBC__)
static long of_sundials(const void *caller) {
    Dl_info info;
    return only_ours && dladdr(caller, &info) && info.dli_fname &&
           strstr(info.dli_fname, "sundials");
}
#define COUNT_CALL (heap_calls += !of_sundials(__builtin_return_address(0)))
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
int posix_memalign(void **out, size_t alignment, size_t size);

void *malloc(size_t size) {
    COUNT_CALL;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    COUNT_CALL;
    return __libc_calloc(count, size);
}
void *realloc(void *p, size_t size) {
    COUNT_CALL;
    return __libc_realloc(p, size);
}
void free(void *p) {
    if (p != NULL) COUNT_CALL;
    __libc_free(p);
}
void *aligned_alloc(size_t alignment, size_t size) {
    COUNT_CALL;
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    COUNT_CALL;
    void *p = __libc_memalign(alignment, size);
    if (p != NULL) *out = p;
    return p != NULL ? 0 : ENOMEM;
}
static int watch(void) {
    return 1;
}
#else
static int watch(void) {
    return 0;
}
#endif

/* --- the streams ------------------------------------------------------------------------------ */

static int kept[2];
static FILE *caught[2];

static void catch_output(void) {
    FILE *streams[2] = {stdout, stderr};
    for (int k = 0; k < 2; k++) {
        fflush(streams[k]);
        kept[k] = dup(k + 1);
        caught[k] = tmpfile();
        assert_true(kept[k] >= 0 && caught[k] != NULL);
        assert_int_equal(dup2(fileno(caught[k]), k + 1), k + 1);
    }
}
/* Ends it; the bytes that arrived on the two streams. */
static long give_back(void) {
    FILE *streams[2] = {stdout, stderr};
    long bytes = 0;
    for (int k = 0; k < 2; k++) {
        fflush(streams[k]);
        bytes += (long)lseek(fileno(caught[k]), 0, SEEK_END);
        dup2(kept[k], k + 1);
        close(kept[k]);
        fclose(caught[k]);
    }
    return bytes;
}

/* --- every call ------------------------------------------------------------------------------- */

/* Runs one call; it must give the status expected and leave the heap alone. */
static long checked;
#define QUIET(expected, call)                                                         \
    do {                                                                              \
        const long before_ = heap_calls;                                              \
        const soa_status got_ = (call);                                               \
        const long used_ = heap_calls - before_;                                      \
        checked++;                                                                    \
        if (used_ != 0 || got_ != (expected)) {                                       \
            give_back();                                                              \
            fail_msg("%s: %ld heap calls; got \"%s\", expected \"%s\"", #call, used_, \
                     soa_status_text(got_), soa_status_text(expected));               \
        }                                                                             \
    } while (0)
#define QUIET_VALUE(call)                                 \
    do {                                                  \
        const long before_ = heap_calls;                  \
        (void)(call);                                     \
        const long used_ = heap_calls - before_;          \
        checked++;                                        \
        if (used_ != 0) {                                 \
            give_back();                                  \
            fail_msg("%s: %ld heap calls", #call, used_); \
        }                                                 \
    } while (0)
#define OK(call) assert_int_equal(call, SOA_OK)

typedef struct arrays {
    double *q, *q1, *v, *a, *tau, *out, *M, *M2, *wide, *Y, *pi, *batch;
    double *task, *jbar, *null; /* operational space of two frames */
    float *qf, *vf, *af, *fext_f, *Mf, *batch_f;
    double *fext;
} arrays;

enum { STATES = 6 };

static void *room(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

static void readers(const soa_model *m, const char *name) {
    double g[3];
    soa_body_info body;
    soa_frame_info frame;
    QUIET_VALUE(soa_version());
    QUIET_VALUE(soa_status_text(SOA_E_TREE));
    QUIET_VALUE(soa_instruction_set());
    QUIET_VALUE(soa_model_bytes(m));
    QUIET_VALUE(soa_model_name(m));
    QUIET_VALUE(soa_model_nq(m) + soa_model_nv(m) + soa_model_body_count(m) +
                soa_model_frame_count(m));
    QUIET_VALUE((soa_model_gravity(m, g), soa_model_mass(m)));
    QUIET(SOA_OK, soa_model_body(m, 1, &body));
    QUIET(SOA_E_ARGUMENT, soa_model_body(m, 0, &body));
    QUIET(SOA_OK, soa_model_frame(m, 0, &frame));
    QUIET(SOA_E_ARGUMENT, soa_model_frame(m, -1, &frame));
    QUIET_VALUE(soa_model_find_frame(m, name));
    QUIET_VALUE(soa_model_find_joint(m, name));
    QUIET_VALUE(soa_joint_type_name(SOA_HELICAL));
    soa_frame X = soa_frame_identity();
    double V[6] = {1, 2, 3, 4, 5, 6}, u[3] = {0, 0, 1};
    QUIET_VALUE((X = soa_frame_from_rpy(1, 2, 3, 4, 5, 6), X = soa_frame_inverse(&X),
                 X = soa_frame_compose(&X, &X))
                    .p[0]);
    QUIET_VALUE((X = soa_frame_from_axis_angle(u, 1, u)).p[0]);
    QUIET_VALUE((soa_frame_motion_to_child(&X, V, V), soa_frame_force_to_parent(&X, V, V),
                 soa_spatial_cross_motion(V, V, V), soa_spatial_cross_force(V, V, V), 0));
}

static void manifold(const soa_model *m, arrays *x, const double *bad_q) {
    QUIET_VALUE((soa_q_neutral(m, x->q1), 0));
    QUIET(SOA_OK, soa_q_integrate(m, x->q, x->v, 0.1, x->q1));
    QUIET(SOA_OK, soa_q_difference(m, x->q, x->q1, x->out));
    QUIET(SOA_OK, soa_q_normalise(m, x->q1));
    QUIET(SOA_OK, soa_q_rate(m, x->q, x->v, x->q1));
    QUIET(SOA_E_NOT_FINITE, soa_q_integrate(m, bad_q, x->v, 0.1, x->q1));
    QUIET(SOA_E_NOT_FINITE, soa_q_difference(m, bad_q, x->q, x->out));
    QUIET(SOA_E_NOT_FINITE, soa_q_rate(m, bad_q, x->v, x->q1));
    QUIET(SOA_E_ARGUMENT, soa_q_normalise(m, NULL));
}

/* With the state and the first status given; the second is that of calls that solve for
 * accelerations. */
static void sweeps(const soa_model *m, soa_work *w, arrays *x, const double *q, soa_status plain,
                   soa_status solving) {
    double T, U, c[3], d[3], h[6], f[6], V[6];
    soa_frame pose;
    const int last = soa_model_frame_count(m) - 1;
    const soa_wrench wrench[2] = {{last, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}},
                                  {last, SOA_AXES_BODY, {1, 2, 3, 4, 5, 6}}};
    QUIET(plain, soa_kinematics(m, w, q, x->v, x->a));
    for (int axes = 0; plain == SOA_OK && axes < 2; axes++) {
        const soa_axes ax = axes ? SOA_AXES_BODY : SOA_AXES_WORLD;
        QUIET(SOA_OK, soa_pose(m, w, last, &pose));
        QUIET(SOA_OK, soa_velocity(m, w, last, ax, V));
        QUIET(SOA_OK, soa_acceleration_spatial(m, w, last, ax, V));
        QUIET(SOA_OK, soa_acceleration_classical(m, w, last, ax, V));
        QUIET(SOA_OK, soa_jacobian(m, w, last, ax, x->wide));
        QUIET(SOA_OK, soa_jacobian_mul(m, w, last, ax, x->v, V));
        QUIET(SOA_OK, soa_jacobian_transpose_mul(m, w, last, ax, V, x->out));
        QUIET(SOA_OK, soa_jacobian_dot_v(m, w, last, ax, V));
    }
    QUIET(SOA_E_ARGUMENT, soa_pose(m, w, last + 1, &pose));
    QUIET(SOA_E_ARGUMENT, soa_jacobian(m, w, -1, SOA_AXES_WORLD, x->wide));
    QUIET(plain, soa_rnea(m, w, q, x->v, x->a, wrench, 2, x->out));
    if (plain == SOA_OK) QUIET(SOA_OK, soa_joint_force(m, w, 1, f));
    QUIET(SOA_E_ARGUMENT, soa_joint_force(m, w, 0, f));
    QUIET(plain, soa_bias_torque(m, w, q, x->v, x->out));
    QUIET(plain, soa_gravity_torque(m, w, q, x->out));
    QUIET(plain, soa_coriolis_mul(m, w, q, x->v, x->a, x->out));
    QUIET(plain, soa_crba(m, w, q, x->M));
    QUIET(plain, soa_mass_r87(m, w, q, x->M));
    QUIET(plain, soa_mass_mul(m, w, q, x->v, x->out));
    QUIET(solving, soa_minv_mul(m, w, q, x->v, x->out));
    QUIET(solving, soa_minv(m, w, q, x->M));
    QUIET(solving, soa_aba(m, w, q, x->v, x->tau, wrench, 2, x->out));
    double Omega[144], lambda[144], mu[12], p[12], rcond;
    soa_body_info first;
    QUIET(SOA_OK, soa_model_body(m, 1, &first));
    const int frames[2] = {first.frame, last};
    const soa_task tasks[2] = {{first.frame, SOA_AXES_BODY, SOA_ROWS_ALL},
                               {last, SOA_AXES_WORLD, SOA_ROWS_LINEAR}};
    const soa_operational task = {x->wide, lambda, mu, p, x->jbar, x->null};
    const size_t size = soa_operational_space_size(m, 2);
    QUIET_VALUE(soa_operational_space_size(m, 2));
    QUIET(solving, soa_compliance(m, w, q, frames, 2, SOA_AXES_WORLD, Omega));
    QUIET(SOA_E_ARGUMENT, soa_compliance(m, w, q, frames, 0, SOA_AXES_WORLD, Omega));
    QUIET(solving, soa_operational_space(
                       m, w,
                       &(soa_operational_input){
                           .q = q, .v = x->v, .tasks = tasks, .task_count = 2, .damping = 1e-3},
                       x->task, size, &task, &rcond));
    QUIET_VALUE(soa_operational_space(
        m, w, &(soa_operational_input){.q = q, .v = x->v, .tasks = tasks, .task_count = 2}, x->task,
        size, &task, &rcond));
    QUIET(SOA_E_MEMORY,
          soa_operational_space(
              m, w, &(soa_operational_input){.q = q, .v = x->v, .tasks = tasks, .task_count = 2},
              x->task, size - 1, &task, &rcond));
    QUIET(plain, soa_energy(m, w, q, x->v, &T, &U));
    QUIET(plain, soa_centre_of_mass(m, w, q, x->v, c, d));
    QUIET(plain, soa_momentum(m, w, q, x->v, h, c));
    QUIET(plain, soa_centroidal_momentum_matrix(m, w, q, x->wide));
    QUIET(plain, soa_regressor(m, w, q, x->v, x->a, x->Y));
    QUIET(SOA_OK, soa_model_inertial_parameters(m, x->pi));
    QUIET(plain,
          soa_rnea_derivatives(
              m, w,
              &(soa_input){.q = q, .v = x->v, .a = x->a, .wrenches = wrench, .wrench_count = 2},
              x->M, x->M2));
    QUIET(solving,
          soa_aba_derivatives(
              m, w,
              &(soa_input){.q = q, .v = x->v, .tau = x->tau, .wrenches = wrench, .wrench_count = 2},
              x->M, x->M2));
    QUIET(SOA_E_ARGUMENT, soa_rnea(m, w, x->q, x->v, x->a, wrench, -1, x->out));
    QUIET_VALUE(soa_work_failed_body(w));
}

/* The other forms; the first status is that of calls for which mimic joints are no hindrance. */
static void forms(const soa_model *m, soa_work *w, soa_tip_work *t, arrays *x, const double *q,
                  soa_status plain, soa_status solving) {
    int mimics = 0;
    soa_body_info b;
    for (int i = 1; i <= soa_model_body_count(m); i++)
        mimics += soa_model_body(m, i, &b) == SOA_OK && b.mimic >= 0;
    const soa_status s = mimics ? SOA_E_MIMIC : solving;
    const int last = b.frame;
    const soa_wrench wrench = {last, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}};
    for (int f = 0; f < 8; f++)
        QUIET(s, soa_mass_factor_mul(m, w, q, (soa_factor)f, x->v, x->out));
    QUIET(SOA_E_ARGUMENT, soa_mass_factor_mul(m, NULL, q, SOA_FACTOR_L, x->v, x->out));
    QUIET(s, soa_nu_from_v(m, w, q, x->v, x->out));
    QUIET(s, soa_nu_to_v(m, w, q, x->v, x->out));
    QUIET(s, soa_nu_bias(m, w, q, x->v, x->out));
    QUIET(s, soa_nu_force(
                 m, w,
                 &(soa_input){
                     .q = q, .v = x->v, .tau = x->tau, .wrenches = &wrench, .wrench_count = 1},
                 x->out));
    QUIET(s, soa_nu_rate(
                 m, w, &(soa_input){.q = q, .tau = x->tau, .wrenches = &wrench, .wrench_count = 1},
                 x->v, x->M, x->out));

    const soa_tip tip = {last, 1, 2};
    double JJt[36];
    QUIET(plain, soa_jjt(m, w, q, &last, 1, SOA_AXES_BODY, JJt));
    QUIET(plain, soa_jtj(m, t, q, &tip, 1, 0.1, x->M));
    QUIET(plain, soa_jtj_inverse_mul(m, t, q, &tip, 1, 0.1, x->v, x->out));
    QUIET(plain, soa_jtj_inverse(m, t, q, &tip, 1, 0.1, x->M));
    QUIET(SOA_E_ARGUMENT, soa_jtj(m, t, q, &tip, -1, 0.1, x->M));
    QUIET_VALUE(soa_tip_work_failed_body(t));
    soa_ik_target target = {tip, soa_frame_identity()};
    soa_ik_result result;
    for (int far = 0; q && far < 2; far++) { /* perhaps in reach, and surely not */
        target.pose.p[0] = far ? 1000 : 0.3;
        memcpy(x->q1, q, (size_t)soa_model_nq(m) * sizeof *q);
        if (plain != SOA_OK)
            QUIET(plain, soa_inverse_kinematics(m, t, &target, 1, NULL, x->q1, &result));
        else
            QUIET_VALUE(soa_inverse_kinematics(m, t, &target, 1, NULL, x->q1, &result));
    }
}

/* Estimates from noisy data, and what a tip can do (soa/forms.h). */
static void estimator(const soa_model *m, soa_work *w, arrays *x, const double *q) {
    soa_estimator *e = NULL;
    const size_t nv = (size_t)soa_model_nv(m), nb = (size_t)soa_model_body_count(m);
    double *noise = calloc(nv + 1, sizeof *noise), *joints = calloc(6 * nv + 1, sizeof *joints);
    double *rest = calloc(nv * nv + 1, sizeof *rest), *O = calloc(36 * nb + 1, sizeof *O);
    double *C = calloc(36 * nb + 1, sizeof *C);
    soa_observability_result r;
    const soa_tip tip = {.frame = soa_model_frame_count(m) - 1, .angular = 1, .linear = 1};
    for (size_t j = 0; j < nv; ++j)
        noise[j] = 0.1;
    const soa_status state = soa_kinematics(m, w, q, NULL, NULL); /* some q are refused */
    QUIET(state, soa_observability(m, w, q, &tip, SOA_AXES_BODY, &r, joints, rest));
    if (soa_estimator_create(m, &e) == SOA_OK) {
        static soa_estimate s;
        soa_estimator_result fit;
        soa_unknown_wrench u = {.frame = 0, .axes = SOA_AXES_WORLD};
        soa_frame_info info = {0};
        while (!info.body)
            soa_model_frame(m, ++u.frame, &info);
        for (int k = 0; k < 6; ++k)
            u.covariance[7 * k] = 1;
        double value[6], covariance[36];
        const soa_estimator_input in = {.q = q,
                                        .v = x->v,
                                        .tau = x->tau,
                                        .tau_variance = noise,
                                        .a_variance = noise,
                                        .unknowns = &u,
                                        .unknown_count = 1};
        QUIET(state, soa_observability_gramians(m, w, q, &tip, O, C));
        QUIET(state, soa_estimator_update(e, w, &in, &fit));
        const soa_status known = state == SOA_OK ? SOA_OK : SOA_E_ORDER;
        QUIET(known, soa_estimator_read(e, 1, &s));
        QUIET(known, soa_estimator_wrench(e, &u, value, covariance));
        noise[0] = -1;
        QUIET(SOA_E_ARGUMENT, soa_estimator_update(e, w, &in, &fit));
    } else {
        QUIET(SOA_E_MIMIC, soa_observability_gramians(m, w, q, &tip, O, C));
    }
    soa_estimator_free(e);
    free(noise);
    free(joints);
    free(rest);
    free(O);
    free(C);
}
/* R87's filter, smoother, boundary problem and inertia updates (soa/forms.h). */
static void estimation(const soa_model *m, soa_work *w, arrays *x, const double *q,
                       soa_status plain, soa_status solving) {
    static soa_smoothed s;
    double P[36];
    soa_boundary ends = {.given = SOA_BASE_FORCE | SOA_TIP_FORCE,
                         .base_inertia = {1, 0, 0, 0, 1, 1, 1, 0, 0, 0}};
    const soa_wrench wrench = {soa_model_frame_count(m) - 1, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}};
    QUIET(solving, soa_smoother(m, w, q, x->v, x->tau, &wrench, 1));
    if (solving == SOA_OK) {
        QUIET(SOA_OK, soa_smoother_read(m, w, 1, &s));
        QUIET(SOA_OK, soa_smoother_covariance(m, w, 1, P, P, P));
    }
    QUIET(SOA_E_ARGUMENT, soa_smoother_read(m, w, 0, &s));
    estimator(m, w, x, q);
    QUIET(
        solving,
        soa_acceleration_parts(
            m, w,
            &(soa_input){.q = q, .v = x->v, .tau = x->tau, .wrenches = &wrench, .wrench_count = 1},
            x->out, x->out, x->out));
    QUIET(plain,
          soa_inverse_sums(
              m, w,
              &(soa_input){.q = q, .v = x->v, .a = x->a, .wrenches = &wrench, .wrench_count = 1},
              NULL, NULL, x->M, x->out, x->out));
    QUIET(plain, soa_boundary_problem(
                     m, w, &(soa_input){.q = q, .v = x->v, .wrenches = &wrench, .wrench_count = 1},
                     x->a, &ends, x->out, NULL, NULL));
    for (int u = 0; u < SOA_UPDATE_COUNT; u++) {
        if (u == SOA_UPDATE_UD) { /* refuses exact rotors */
            QUIET_VALUE(soa_articulated_inertia(m, w, q, SOA_UPDATE_UD, SOA_STORAGE_FULL, 0, P));
            continue;
        }
        QUIET(u < SOA_COMPOSITE_29 ? solving : plain,
              soa_articulated_inertia(m, w, q, (soa_inertia_update)u, SOA_STORAGE_FULL, 0, P));
    }
}

/* Closed chains: made in given memory, used, changed, refused. */
typedef struct loops {
    soa_constraints *c;
    soa_embedding *e;
    void *memory, *embedding_memory;
    size_t size, embedding_size;
    unsigned char *primary;
} loops;
static const soa_constraint_capacity loop_room = {3, 12, 1};
static bool all_but_one(void *user, soa_taylor *q) { /* the last coordinate follows the first */
    const int *nq = user;
    q[*nq - 1] = soa_taylor_sin(q[0]);
    return 0;
}
static void closed_chains(const soa_model *m, soa_work *w, loops *l, arrays *x, const double *q,
                          soa_status plain) {
    double g[12], rate[12], gamma[12], error[2], rates[6], lambda[12];
    const double effort[6] = {1, 2, 3, 4, 5, 6};
    soa_report report;
    soa_closed_report told;
    soa_body_info last;
    int number = 0, first;
    OK(soa_model_body(m, soa_model_body_count(m), &last));
    soa_constraint_def def = soa_constraint_default(SOA_LOOP, 0, last.frame);
    QUIET_VALUE(soa_constraint_default(SOA_LOOP, 0, 1).kind);
    QUIET_VALUE(soa_constraints_size(m, &loop_room));
    QUIET(SOA_E_MEMORY, soa_constraints_init(m, &loop_room, l->memory, l->size - 1, &l->c));
    QUIET(SOA_OK, soa_constraints_init(m, &loop_room, l->memory, l->size, &l->c));
    def.joint = SOA_SPHERICAL;
    def.name = "ball";
    if (soa_kinematics(m, w, x->q, NULL, NULL) == SOA_OK) soa_pose(m, w, last.frame, &def.place1);
    QUIET(SOA_OK, soa_constraints_add(l->c, &def, &number, &report));
    QUIET(SOA_E_NAME, soa_constraints_add(l->c, &def, &number, &report));
    QUIET(SOA_OK, soa_constraints_set_effort(l->c, number, effort));
    QUIET_VALUE(soa_constraints_count(l->c) + soa_constraints_row_count(l->c));
    QUIET(SOA_OK, soa_constraints_row_range(l->c, number, &first, &first));
    QUIET_VALUE(soa_constraints_name(l->c, number));
    QUIET(plain, soa_constraints_evaluate(l->c, w, &(soa_input){.q = q, .v = x->v}, g, rate,
                                          x->batch, gamma));
    QUIET(SOA_OK, soa_constraints_joint_rates(l->c, number, rates, NULL));
    for (int twice = 0; twice < 2; twice++) { /* the second time with redundant rows */
        for (int k = SOA_CLOSED_AUTO; k <= SOA_CLOSED_NULL_SPACE; k++) {
            soa_closed_options o = soa_closed_options_default();
            o.method = (soa_closed_method)k;
            QUIET_VALUE(soa_closed_fd(l->c, w, &o, &(soa_input){.q = q, .v = x->v, .tau = x->tau},
                                      x->out, lambda, &told));
        }
        QUIET_VALUE(soa_closed_id(l->c, w, &(soa_input){.q = q, .v = x->v, .a = x->out}, l->primary,
                                  x->M, lambda));
        if (q) {
            memcpy(x->q1, q, (size_t)soa_model_nq(m) * sizeof *q);
            memcpy(x->M, x->v, (size_t)soa_model_nv(m) * sizeof *x->M);
            QUIET_VALUE(soa_closed_project(l->c, w, 0, x->q1, x->M, error));
            QUIET_VALUE(soa_closed_assemble(l->c, w, 0, NULL, x->q1, &report));
            def.place1.p[0] += 100; /* out of reach */
            def.name = "far";
            if (twice) QUIET(SOA_OK, soa_constraints_add(l->c, &def, NULL, &report));
            if (twice) QUIET_VALUE(soa_closed_assemble(l->c, w, 0, NULL, x->q1, &report));
        }
        def.name = "again";
        if (!twice) QUIET(SOA_OK, soa_constraints_add(l->c, &def, NULL, &report));
    }
    QUIET(SOA_OK, soa_constraints_switch(l->c, number, 0));
    QUIET(SOA_OK, soa_constraints_switch(l->c, number, 1));
    QUIET(SOA_OK, soa_constraints_remove(l->c, number));
    QUIET(SOA_E_ARGUMENT, soa_constraints_remove(l->c, number));

    int nq = soa_model_nq(m);
    soa_embedding_def e = soa_embedding_default(l->primary);
    QUIET(SOA_E_ARGUMENT,
          soa_embedding_init(m, &e, l->embedding_memory, l->embedding_size, &l->e, &report));
    for (int implicit = 0; implicit < 2; implicit++) {
        e.function = implicit ? NULL : all_but_one;
        e.user = &nq;
        e.constraints = implicit ? l->c : NULL;
        QUIET_VALUE(soa_embedding_size(m, &e));
        QUIET(SOA_OK,
              soa_embedding_init(m, &e, l->embedding_memory, l->embedding_size, &l->e, &report));
        QUIET_VALUE(soa_embedding_nq(l->e) + soa_embedding_nv(l->e));
        if (!q) continue;
        memcpy(x->q1, q, (size_t)nq * sizeof *q);
        QUIET_VALUE(soa_embedding_state(l->e, w, &(soa_input){.q = q, .v = x->v, .a = x->a}, x->q1,
                                        x->out, NULL, x->M));
        QUIET_VALUE(
            soa_embedding_id(l->e, w, &(soa_input){.q = q, .v = x->v, .a = x->a}, x->q1, x->out));
        QUIET_VALUE(soa_embedding_terms(l->e, w, &(soa_input){.q = q, .v = x->v}, x->q1, x->M,
                                        x->out, NULL));
        QUIET_VALUE(soa_embedding_fd(l->e, w, SOA_EMBEDDING_COLUMNS,
                                     &(soa_input){.q = q, .v = x->v, .tau = x->tau}, x->q1,
                                     x->out));
        QUIET_VALUE(soa_embedding_fd(l->e, w, SOA_EMBEDDING_SWEEPS,
                                     &(soa_input){.q = q, .v = x->v, .tau = x->tau}, x->q1,
                                     x->out));
    }
    const soa_taylor z = soa_taylor_variable(6, 0.5, 1);
    QUIET_VALUE(soa_taylor_atan2(soa_taylor_sqrt(z), soa_taylor_div(z, soa_taylor_exp(z))).c[6]);
}

static void floats(const soa_model *m, soa_work *w, arrays *x, const float *q, soa_status plain,
                   soa_status solving) {
    QUIET(plain, soa_rnea_f(m, w, q, x->vf, x->af, x->fext_f, x->batch_f));
    QUIET(solving, soa_aba_f(m, w, q, x->vf, x->af, x->fext_f, x->batch_f));
    QUIET_VALUE(soa_fd_ud_f(m, w, q, x->vf, x->af, x->fext_f, x->batch_f));
    QUIET(plain, soa_crba_f(m, w, q, x->Mf));
}

static void batches(const soa_model *m, soa_batch *b, arrays *x, long count, soa_status plain,
                    soa_status solving) {
    QUIET(solving, soa_aba_batch(m, b, count, x->q, x->v, x->tau, x->fext, x->batch));
    QUIET(plain, soa_rnea_batch(m, b, count, x->q, x->v, x->a, x->fext, x->batch));
    QUIET(plain, soa_crba_batch(m, b, count, x->q, x->batch));
    QUIET(solving, soa_aba_batch_f(m, b, count, x->qf, x->vf, x->af, x->fext_f, x->batch_f));
    QUIET(plain, soa_rnea_batch_f(m, b, count, x->qf, x->vf, x->af, x->fext_f, x->batch_f));
    QUIET(plain, soa_crba_batch_f(m, b, count, x->qf, x->batch_f));
    QUIET_VALUE(soa_batch_failed_state(b) + soa_batch_failed_body(b));
}

static void constraint_forms(const soa_model *m, soa_work *w, soa_divide *d, void *memory,
                             arrays *x, const double *q, soa_status solving) {
    const size_t size = soa_fd_constraint_forces_size(m);
    if (!d) { /* exact rotors or mimic joints */
        soa_fd_constraint_forces(m, w, memory, size, &(soa_input){.q = q, .v = x->v, .tau = x->tau},
                                 x->out, NULL, NULL);
        return;
    }
    QUIET(solving, soa_fd_constraint_forces(m, w, memory, size,
                                            &(soa_input){.q = q, .v = x->v, .tau = x->tau}, x->out,
                                            NULL, NULL));
    QUIET(SOA_E_MEMORY,
          soa_fd_constraint_forces(m, w, memory, 8, &(soa_input){.q = q, .v = x->v, .tau = x->tau},
                                   x->out, NULL, NULL));
    QUIET(solving, soa_fd_ud(m, w, &(soa_input){.q = q, .v = x->v, .tau = x->tau}, x->out));
    QUIET_VALUE(soa_fd_two_sweep(m, w, &(soa_input){.q = q, .v = x->v, .tau = x->tau}, 0,
                                 SOA_AXES_WORLD, x->out, NULL));
    QUIET_VALUE(soa_fd_tridiagonal(
        m, w, memory, size, &(soa_input){.q = q, .v = x->v, .tau = x->tau}, x->out, NULL, NULL));
    QUIET(solving,
          soa_divide_fd(d, &(soa_input){.q = q, .v = x->v, .tau = x->tau}, NULL, NULL, x->out));
}

/* What the calls read and write: random states, and room for every answer. */
static arrays arrays_open(const soa_model *m) {
    const size_t nq = (size_t)soa_model_nq(m), nv = (size_t)soa_model_nv(m),
                 n = (size_t)soa_model_body_count(m);
    arrays x = {.q = room(STATES * nq, 8),
                .q1 = room(nq, 8),
                .v = room(STATES * nv, 8),
                .a = room(STATES * nv, 8),
                .tau = room(STATES * nv, 8),
                .out = room(nv, 8),
                .M = room(nv * nv, 8),
                .M2 = room(nv * nv, 8),
                .wide = room(12 * nv, 8),
                .task = room(soa_operational_space_size(m, 2) / 8, 8),
                .jbar = room(12 * nv, 8),
                .null = room(nv * nv, 8),
                .Y = room(10 * n * nv, 8),
                .pi = room(10 * n, 8),
                .batch = room(STATES * nv * nv, 8),
                .qf = room(STATES * nq, 4),
                .vf = room(STATES * nv, 4),
                .af = room(STATES * nv, 4),
                .fext_f = room(STATES * n * 6, 4),
                .Mf = room(nv * nv, 4),
                .batch_f = room(STATES * nv * nv, 4),
                .fext = room(STATES * n * 6, 8)};
    uint64_t seed = 5;
    for (size_t i = 0; i < STATES; i++) {
        for (size_t k = 0; k < nv; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            x.v[i * nv + k] = x.a[i * nv + k] = x.tau[i * nv + k] =
                (double)(seed >> 11) * 0x1p-52 - 1;
            x.vf[i * nv + k] = x.af[i * nv + k] = (float)x.v[i * nv + k];
        }
        soa_q_neutral(m, x.q1);
        OK(soa_q_integrate(m, x.q1, x.v + i * nv, 1, x.q + i * nq));
    }
    for (size_t k = 0; k < STATES * nq; k++)
        x.qf[k] = (float)x.q[k];
    return x;
}
static void arrays_close(arrays *x) {
    free(x->q);
    free(x->q1);
    free(x->v);
    free(x->a);
    free(x->tau);
    free(x->out);
    free(x->M);
    free(x->M2);
    free(x->wide);
    free(x->Y);
    free(x->task);
    free(x->jbar);
    free(x->null);
    free(x->pi);
    free(x->batch);
    free(x->qf);
    free(x->vf);
    free(x->af);
    free(x->fext_f);
    free(x->Mf);
    free(x->batch_f);
    free(x->fext);
}

/* Plans of operators. Not every model has operators: no exact rotors, no mimic joints. */
typedef struct plans {
    soa_machine *machine; /* or NULL */
    soa_plan *forward, *inverse, *derivative;
    double *linked;
} plans;
static soa_plan *plan_of(soa_machine *machine, const char *text) {
    const soa_expr *e = NULL;
    soa_plan *plan = NULL;
    OK(soa_expr_parse(text, NULL, 0, &e, NULL, 0));
    OK(soa_plan_create(machine, e, &plan, NULL, 0));
    soa_expr_free(e);
    return plan;
}
static plans plans_open(const soa_model *m) {
    const size_t links = 6 * (size_t)soa_model_body_count(m);
    plans p = {.linked = calloc(links * links + 1, sizeof *p.linked)};
    if (soa_machine_create(m, NULL, 0, &p.machine, NULL) == SOA_OK) {
        p.forward = plan_of(p.machine, "psi' H' inv(D) (I - H psi K) T");
        p.inverse = plan_of(p.machine, "H phi (M phi' (H' thdd + a) + b)");
        p.derivative = plan_of(p.machine, "d(psi' H' inv(D) (I - H psi K) T)");
    }
    return p;
}
static void plans_close(plans *p) {
    soa_plan_free(p->forward);
    soa_plan_free(p->inverse);
    soa_plan_free(p->derivative);
    soa_machine_free(p->machine);
    free(p->linked);
}
static void plan_runs(plans *p, const arrays *x, const double *bad, soa_status solving) {
    if (!p->machine) return;
    QUIET(SOA_OK, soa_machine_set_state(p->machine, x->q, x->v, x->a, x->tau, NULL, NULL, 0));
    QUIET(SOA_OK, soa_plan_run(p->inverse, p->linked));
    QUIET(solving, soa_plan_run(p->forward, p->linked));
    QUIET(SOA_OK, soa_machine_set_direction(p->machine, x->v, x->v, x->a, x->tau, NULL));
    QUIET(solving, soa_plan_run(p->derivative, p->linked));
    QUIET(solving, soa_plan_jacobian(p->derivative, SOA_DIRECTION_Q, p->linked));
    QUIET(SOA_E_NOT_FINITE,
          soa_machine_set_state(p->machine, bad, NULL, NULL, NULL, NULL, NULL, 0));
}

/* Work spaces in memory that the caller gives, and a copy of the model as bytes. */
typedef struct buffer {
    void *memory;
    size_t size;
} buffer;
static buffer aligned_buffer(size_t size) {
    const buffer b = {aligned_alloc(64, (size + 63) / 64 * 64), size};
    assert_true(b.size > 0 && b.memory != NULL);
    return b;
}
typedef struct work_spaces {
    buffer work_buffer, batch_buffer, tip_buffer, copy;
    soa_work *w;
    soa_batch *b;
    soa_tip_work *t;
} work_spaces;
static work_spaces work_spaces_open(const soa_model *m) {
    const work_spaces s = {.work_buffer = aligned_buffer(soa_work_size(m)),
                           .batch_buffer = aligned_buffer(soa_batch_size(m)),
                           .tip_buffer = aligned_buffer(soa_tip_work_size(m)),
                           .copy = aligned_buffer(soa_model_bytes(m))};
    memcpy(s.copy.memory, m, s.copy.size);
    return s;
}
static void work_spaces_close(work_spaces *s) {
    free(s->work_buffer.memory);
    free(s->batch_buffer.memory);
    free(s->tip_buffer.memory);
    free(s->copy.memory);
}
/* Making the work space in given memory allocates nothing either. */
static void inits(const soa_model *m, work_spaces *s) {
    const buffer work = s->work_buffer, batch = s->batch_buffer, tip = s->tip_buffer,
                 copy = s->copy;
    soa_report report;
    const soa_model *again;
    QUIET_VALUE(soa_work_size(m));
    QUIET_VALUE(soa_batch_size(m));
    QUIET(SOA_E_MEMORY, soa_work_init(m, work.memory, work.size - 1, &s->w));
    QUIET(SOA_OK, soa_work_init(m, work.memory, work.size, &s->w));
    QUIET(SOA_E_MEMORY, soa_batch_init(m, batch.memory, batch.size - 1, &s->b));
    QUIET(SOA_OK, soa_batch_init(m, batch.memory, batch.size, &s->b));
    QUIET(SOA_OK, soa_model_from_bytes(copy.memory, copy.size, &again, &report));
    ((char *)copy.memory)[copy.size - 1] ^= 1;
    QUIET(SOA_E_CHECKSUM, soa_model_from_bytes(copy.memory, copy.size, &again, &report));
    QUIET(SOA_E_FORMAT, soa_model_from_bytes(copy.memory, 10, &again, &report));
    QUIET_VALUE(soa_tip_work_size(m));
    QUIET(SOA_E_MEMORY, soa_tip_work_init(m, tip.memory, tip.size - 1, &s->t));
    QUIET(SOA_OK, soa_tip_work_init(m, tip.memory, tip.size, &s->t));
}

static loops loops_open(const soa_model *m) {
    const size_t nv = (size_t)soa_model_nv(m);
    loops l = {.size = soa_constraints_size(m, &loop_room), .primary = room(nv, 1)};
    soa_body_info tip;
    OK(soa_model_body(m, soa_model_body_count(m), &tip));
    l.memory = aligned_buffer(l.size).memory;
    OK(soa_constraints_init(m, &loop_room, l.memory, l.size, &l.c));
    memset(l.primary, 1, nv);
    for (int c = 0; c < tip.nv; c++)
        l.primary[tip.v_index + c] = 0;
    soa_embedding_def largest = soa_embedding_default(l.primary);
    largest.constraints = l.c;
    l.embedding_size = soa_embedding_size(m, &largest);
    l.embedding_memory = aligned_buffer(l.embedding_size).memory;
    return l;
}
static void loops_close(loops *l) {
    free(l->memory);
    free(l->embedding_memory);
    free(l->primary);
}

static void every_call(const soa_model *m, soa_status solving) {
    const size_t nq = (size_t)soa_model_nq(m);
    const soa_status not_finite = SOA_E_NOT_FINITE;
    arrays x = arrays_open(m);
    work_spaces s = work_spaces_open(m);
    plans p = plans_open(m);
    loops l = loops_open(m);
    soa_divide *divide = NULL;
    const soa_status divided = soa_divide_create(m, 1, &divide); /* no rotors, no mimic joints */
    assert_true(divided == SOA_OK || divided == SOA_E_JOINT || divided == SOA_E_MIMIC);
    void *constraint_memory = malloc(soa_fd_constraint_forces_size(m));
    double *bad = room(nq, sizeof *bad);
    float *bad_f = room(nq, sizeof *bad_f);
    memcpy(bad, x.q, nq * sizeof *bad);
    memcpy(bad_f, x.qf, nq * sizeof *bad_f);
    bad[nq - 1] = NAN;
    bad_f[nq - 1] = NAN;

    catch_output();
    plan_runs(&p, &x, bad, solving);
    inits(m, &s);
    readers(m, "no such name");
    manifold(m, &x, bad);
    sweeps(m, s.w, &x, x.q, SOA_OK, solving);
    estimation(m, s.w, &x, x.q, SOA_OK, solving);
    sweeps(m, s.w, &x, NULL, SOA_OK, solving);
    estimation(m, s.w, &x, NULL, SOA_OK, solving);
    sweeps(m, s.w, &x, bad, not_finite, not_finite);
    forms(m, s.w, s.t, &x, x.q, SOA_OK, solving);
    forms(m, s.w, s.t, &x, NULL, SOA_OK, solving);
    forms(m, s.w, s.t, &x, bad, not_finite, not_finite);
    estimation(m, s.w, &x, bad, not_finite, not_finite);
    closed_chains(m, s.w, &l, &x, x.q, SOA_OK);
    closed_chains(m, s.w, &l, &x, NULL, SOA_OK);
    closed_chains(m, s.w, &l, &x, bad, not_finite);
    floats(m, s.w, &x, x.qf, SOA_OK, solving);
    floats(m, s.w, &x, bad_f, not_finite, not_finite);
    for (long count = 0; count <= STATES; count++)
        batches(m, s.b, &x, count, SOA_OK, count ? solving : SOA_OK);
    x.q[nq - 1] = NAN;
    x.qf[nq - 1] = NAN;
    batches(m, s.b, &x, STATES, not_finite, not_finite);
    constraint_forms(m, s.w, divide, constraint_memory, &x, NULL, solving);
    constraint_forms(m, s.w, divide, constraint_memory, &x, bad, not_finite);
    const long bytes = give_back();
    if (bytes != 0) fail_msg("%s: %ld bytes were printed", soa_model_name(m), bytes);

    soa_divide_free(divide);
    free(constraint_memory);
    plans_close(&p);
    loops_close(&l);
    work_spaces_close(&s);
    arrays_close(&x);
    free(bad);
    free(bad_f);
}

static void shipped(const char *name) {
    const soa_model *model;
    OK(soa_stock_model_create(name, NULL, &model, NULL));
    every_call(model, SOA_OK);
    soa_model_free(model);
}

static int watching;

static void plain_models(void **state) {
    (void)state;
    if (!watching) skip();
    shipped("arm7");
    shipped("quadruped");
    shipped("puma560");
    shipped("two-puma-object");
    shipped("chain:60");
}

static void mimic_models(void **state) {
    (void)state;
    if (!watching) skip();
    int found = 0;
    for (int seed = 1; found < 10; seed++) {
        const soa_model *model;
        char name[32];
        int mimics = 0;
        snprintf(name, sizeof name, "random:%d", seed);
        OK(soa_stock_model_create(name, NULL, &model, NULL));
        for (int i = 1; i <= soa_model_body_count(model); i++) {
            soa_body_info info;
            OK(soa_model_body(model, i, &info));
            mimics += info.mimic >= 0;
        }
        if (mimics > 0) {
            every_call(model, SOA_OK);
            found++;
        }
        soa_model_free(model);
    }
}

static void massless_tip(void **state) {
    (void)state;
    if (!watching) skip();
    soa_body_def bodies[2] = {soa_body_default("a", 0, SOA_REVOLUTE),
                              soa_body_default("tip", 1, SOA_REVOLUTE)};
    soa_body_box(&bodies[0], 1, 0.1, 0.2, 0.3);
    soa_model_def def = soa_model_default("massless tip", bodies, 2);
    const soa_model *model;
    OK(soa_model_create(&def, &model, NULL));
    every_call(model, SOA_E_HINGE_SINGULAR);
    soa_model_free(model);
}

/* A floating machine with two arms, its base not driven, and what control laws read and write. */
enum { NV = 20, NQ = 21, BODIES = 15 };
typedef struct controlled {
    const soa_model *m;
    void *memory;
    size_t size; /* of the memory of the control */
    soa_control_def def;
    soa_control *c;
    int hand, other;
    unsigned char drive[NV];
    double q[NQ], q1[NQ], bad[NQ], v[NV], a[NV], K[NV];
    double tau[NV], sigma[NV], F[6 * BODIES], J[6 * NV]; /* answers */
} controlled;
static void controlled_open(controlled *s) {
    memset(s, 0, sizeof *s);
    OK(soa_stock_model_create("satellite", NULL, &s->m, NULL));
    assert_true(soa_model_nv(s->m) == NV && soa_model_nq(s->m) == NQ &&
                soa_model_body_count(s->m) == BODIES);
    soa_q_neutral(s->m, s->q);
    for (int j = 0; j < NV; ++j) {
        s->v[j] = 0.1;
        s->a[j] = 0.2;
        s->K[j] = 2;
        s->drive[j] = j >= 6;
    }
    for (int j = 7; j < NQ; ++j)
        s->q[j] = 0.3 + 0.05 * j;
    memcpy(s->q1, s->q, sizeof s->q1);
    memcpy(s->bad, s->q, sizeof s->bad);
    s->q1[9] += 0.4;
    s->bad[9] = NAN;
    s->hand = soa_model_find_frame(s->m, "left_tip");
    s->other = soa_model_find_frame(s->m, "right_tip");
    s->def = soa_control_default(s->drive);
    s->size = soa_control_size(s->m, &s->def);
    s->memory = aligned_alloc(64, (s->size + 63) / 64 * 64);
}
static void controlled_close(controlled *s) {
    free(s->memory);
    soa_model_free(s->m);
}

static void joint_laws(controlled *s) {
    const soa_joint_reference r = {s->q1, s->v, s->a};
    const soa_joint_gains g = {s->K, s->K};
    soa_control *c = s->c;
    double number = 1;
    QUIET(SOA_OK, soa_control_inverse_feedback(c, s->q, s->v, s->a, s->F, s->tau));
    QUIET(SOA_OK, soa_control_recursion(
                      c, s->q, &(soa_feedback){.F = s->F, .eta = s->a, .rows = NV}, NULL, s->tau));
    QUIET(SOA_OK, soa_control_passive_acceleration(c, s->q, s->v, NULL, 0, s->a));
    QUIET(SOA_OK, soa_control_compensation(c, s->q, s->v, s->a, NULL, 0, s->tau));
    QUIET(SOA_OK, soa_control_joint_pd(c, s->q, s->v, &r, &g, s->tau));
    QUIET(SOA_E_NOT_FINITE, soa_control_joint_pd(c, s->bad, s->v, &r, &g, s->tau));
    QUIET(SOA_OK, soa_control_inverse_dynamics(c, s->q, s->v, &r, &g, NULL, s->tau, s->a));
    for (int form = 0; form < SOA_PASSIVITY_COUNT; ++form)
        QUIET(SOA_OK,
              soa_control_passivity(c, (soa_passivity)form, s->q, s->v, &r, &g, s->tau, &number));
    QUIET(SOA_OK, soa_control_decoupled(c, s->q, s->v, &r, s->K, s->K, s->tau, s->sigma));
}
/* `e` receives the frame errors. */
static void frame_laws(controlled *s, soa_frame_error e[2]) {
    const soa_motion goal = soa_motion_at_rest(NULL);
    const soa_frame_law law = soa_frame_law_default(s->hand, 1);
    soa_frame_task task[2] = {{.law = law, .goal = goal},
                              {.law = soa_frame_law_default(s->other, 0), .goal = goal}};
    const soa_hybrid_law hybrid = {.law = law, .force_rows = 32, .force_gain = {1, 1}};
    soa_hybrid_state hybrid_state = {{0}};
    double six[6] = {0}, rcond = 1;
    soa_control *c = s->c;
    QUIET(SOA_OK, soa_control_frame_error(c, s->q, s->v, s->hand, s->other, &goal, e));
    QUIET(SOA_OK, soa_control_impedance(c, s->q, s->v, &law, &goal, six, s->tau,
                                        &(soa_impedance_result){.wrench = six, .error = e}));
    soa_operational_result result = {.a = s->a, .error = e, .rcond = &rcond};
    QUIET(SOA_OK, soa_control_operational_space(c, s->q, s->v, task, 2, NULL, s->tau, &result));
    task[1] = task[0];
    QUIET(SOA_E_SINGULAR,
          soa_control_operational_space(c, s->q, s->v, task, 2, NULL, s->tau, &result));
    QUIET(SOA_OK, soa_control_generalised_jacobian(c, s->q, s->hand, SOA_AXES_BODY, s->J));
    QUIET(SOA_OK, soa_control_hybrid(c, s->q, s->v, &hybrid,
                                     &(soa_hybrid_input){
                                         .goal = &goal, .force = six, .measured = six, .dt = 0.001},
                                     &hybrid_state, s->tau, e));
    QUIET(SOA_OK, soa_control_base_attitude(
                      c, s->q, s->v, &(soa_attitude_law){.frame = 1, .stiffness = 1, .damping = 1},
                      &goal, NULL, s->tau, e));
}
static void coordination_laws(controlled *s) {
    const soa_motion goal = soa_motion_at_rest(NULL);
    soa_coordination k = soa_coordination_default(1, 1);
    soa_coordination_state held = {0};
    soa_coordination_result result;
    double twelve[12] = {0}, number = 1;
    const soa_coordination_input input = {.goal = &goal, .measured = &number, .dt = 0.001};
    k.hands = 2;
    k.hand[0] = s->hand;
    k.hand[1] = s->other;
    k.squeeze = 10;
    QUIET(SOA_OK, soa_control_coordination(s->c, s->q, s->v, &k, &input, &held, s->tau, &result));
    k.form = SOA_COORDINATE_LINEARISING;
    k.relative_to = 0;
    QUIET(SOA_OK, soa_control_coordination(s->c, s->q, s->v, &k, &input, &held, s->tau, &result));
    QUIET(SOA_OK, soa_control_internal_force(s->c, s->q, &k, twelve, &number));
}
static void paths(controlled *s, const soa_frame *from) {
    const soa_path_limits limits = {NULL, s->K, 1};
    const soa_motion goal = soa_motion_at_rest(NULL);
    soa_motion moved;
    soa_profile profile;
    double at[3];
    QUIET(SOA_OK,
          soa_path_joint_profile(s->c, s->q, s->q1, SOA_PROFILE_TRAPEZOID, &limits, &profile));
    QUIET_VALUE((soa_profile_at(&profile, 0.1, at), 0));
    QUIET(SOA_OK, soa_path_joint(s->m, s->q, s->q1, at, s->bad, s->tau, s->a));
    QUIET(SOA_OK, soa_path_pose(&goal.pose, from, at, &moved));
    QUIET(SOA_OK, soa_path_pose_from_motion(&goal, from, 1, 0.5, &moved));
}
static void supervision(controlled *s) {
    const soa_supervisor_condition late = {SOA_SIGNAL_PHASE_TIME, 1, 0.5, 0};
    const soa_supervisor_transition on = {1, 1, &late};
    const soa_supervisor_phase phase[2] = {{"one", 0.1, 1, &on}, {"two", 0.1, 0, NULL}};
    const soa_supervisor watcher = {2, phase, 0, NULL};
    soa_supervisor_state now;
    soa_report report;
    char text[1000];
    bool changed;
    QUIET(SOA_OK, soa_supervisor_check(&watcher, &report));
    QUIET(SOA_OK, soa_supervisor_start(&watcher, &now));
    QUIET(SOA_OK, soa_supervisor_tick(&watcher, &now, NULL, 1, &changed));
    QUIET(SOA_OK, soa_supervisor_blend(&watcher, &now, changed, NV, s->a, s->sigma, s->tau));
    QUIET(SOA_OK, soa_supervisor_diagram(&watcher, text, sizeof text, NULL));
}
/* Control: every law on a floating machine, with and without trouble; paths; the supervisor. */
static void control_laws(void **state) {
    (void)state;
    if (!watching) skip();
    controlled s;
    soa_frame_error e[2];
    controlled_open(&s);
    catch_output();
    QUIET(SOA_OK, soa_control_init(s.m, &s.def, s.memory, s.size, &s.c));
    joint_laws(&s);
    frame_laws(&s, e);
    coordination_laws(&s);
    paths(&s, &e[0].goal);
    supervision(&s);
    assert_int_equal(give_back(), 0);
    controlled_close(&s);
}

/* The watch itself must be able to see. */
static void the_watch_sees(void **state) {
    (void)state;
    watching = watch();
    if (!watching) {
        printf("no way to watch the allocator here: all skipped\n");
        skip();
    }
    const long before = heap_calls;
    void *volatile p = malloc(10);
    free(p);
    p = aligned_alloc(64, 64);
    free(p);
    assert_true(heap_calls - before >= 4);
    catch_output();
    fputs("seen", stdout);
    fputs("seen", stderr);
    assert_int_equal(give_back(), 8);
}

/* Worlds: a tick, its signals, a saved state.  Explicit and fixed steps leave the heap alone; in
 * implicit ones SUNDIALS makes and frees small vectors for each Jacobian it differences, and nobody
 * else does anything. */
static void worlds(void **state) {
    (void)state;
    if (!watching) skip();
    static const char *const names[] = {"kill-arm", "kill-stick", "kill-float", "kill-smooth"};
    const char *source = getenv("SOA_SOURCE_DIR");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[1000];
        soa_scenario scenario;
        soa_world *world = NULL;
        soa_report report;
        snprintf(path, sizeof path, "%s/tests/scenarios/%s.yaml", source ? source : ".", names[k]);
        if (soa_scenario_read(path, &scenario, &report) ||
            soa_world_create(&scenario, &world, &report))
            fail_msg("%s", report.text);
        double *values = room((size_t)soa_world_signal_count(world), sizeof *values);
        void *block = room(soa_world_state_size(world), 1);
        soa_world_summary summary;
        /* the integrator takes its memory when it first moves */
        OK(soa_world_tick(world, &report));
        const soa_integrator method = scenario.integration.method;
        only_ours = method == SOA_INTEGRATE_IMPLICIT || method == SOA_INTEGRATE_CVODE;
#if defined(SANITIZED)
        if (only_ours) { /* who calls is not known to the hooks */
            only_ours = 0;
            free(values);
            free(block);
            soa_world_free(world);
            soa_scenario_free(&scenario);
            continue;
        }
#endif
        catch_output();
        for (int n = 0; n < 60; n++) {
            QUIET(SOA_OK, soa_world_tick(world, &report));
            QUIET(SOA_OK, soa_world_signal_values(world, values));
            QUIET(SOA_OK, soa_world_summarise(world, &summary));
        }
        QUIET_VALUE((soa_world_save_state(world, block), 0));
        assert_int_equal(give_back(), 0);
        only_ours = 0;
        free(values);
        free(block);
        soa_world_free(world);
        soa_scenario_free(&scenario);
    }
}

static void count(void **state) {
    (void)state;
    if (!watching) skip();
    printf("%ld calls watched on %s, none touched the heap or the streams\n", checked,
           soa_instruction_set());
    assert_true(checked > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watch_sees), cmocka_unit_test(plain_models),
        cmocka_unit_test(mimic_models),   cmocka_unit_test(massless_tip),
        cmocka_unit_test(control_laws),   cmocka_unit_test(worlds),
        cmocka_unit_test(count)};
    return cmocka_run_group_tests_name("noalloc", tests, NULL, NULL);
}
