/* test_bad_input.c  wrong input is refused with the right status and the right body, and nothing is
 * written: NaN, infinity, NULL, work spaces of other models, quaternions, wrenches, definitions,
 * massless tips, a failing allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- an allocator that fails when asked to ---------------------------------------------------- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static volatile long until_failure = -1; /* the allocation after so many fails; negative: none */
static volatile long live;               /* allocations not yet freed */

#if defined(__GLIBC__) && !defined(SANITIZED)
#define CAN_FAIL 1
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
int posix_memalign(void **out, size_t alignment, size_t size);

static int refused(void) {
    if (until_failure < 0) return 0;
    if (until_failure-- > 0) return 0;
    errno = ENOMEM;
    return 1;
}
static void *counted(void *p) {
    live += p != NULL;
    return p;
}
void *malloc(size_t size) {
    return refused() ? NULL : counted(__libc_malloc(size));
}
void *calloc(size_t count, size_t size) {
    return refused() ? NULL : counted(__libc_calloc(count, size));
}
void *realloc(void *p, size_t size) {
    if (refused()) return NULL;
    void *moved = __libc_realloc(p, size);
    if (p == NULL) live += moved != NULL;
    return moved;
}
void *aligned_alloc(size_t alignment, size_t size) {
    return refused() ? NULL : counted(__libc_memalign(alignment, size));
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *p = refused() ? NULL : counted(__libc_memalign(alignment, size));
    if (p != NULL) *out = p;
    return p != NULL ? 0 : ENOMEM;
}
void free(void *p) {
    live -= p != NULL;
    __libc_free(p);
}
#else
#define CAN_FAIL 0
#endif

static void *room(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

static void expect(const char *what, const char *fault, soa_status got, soa_status expected) {
    if (got != expected)
        fail_msg("%s, %s: got \"%s\", expected \"%s\"", what, fault, soa_status_text(got),
                 soa_status_text(expected));
}

/* --- a mechanism with every joint type -------------------------------------------------------- */

enum { BODIES = 10, MIMIC_BODY = 5 };

static void define(soa_body_def bodies[BODIES], int mimic) {
    static const soa_joint_type type[BODIES] = {
        SOA_FREE,    SOA_REVOLUTE,    SOA_SPHERICAL, SOA_PRISMATIC, SOA_REVOLUTE,
        SOA_HELICAL, SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,    SOA_SPHERICAL};
    static const int parent[BODIES] = {0, 1, 2, 2, 4, 5, 1, 7, 8, 8};
    static const char *const name[BODIES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (int i = 0; i < BODIES; i++) {
        soa_body_def *b = &bodies[i];
        *b = soa_body_default(name[i], parent[i], type[i]);
        soa_body_box(b, 1 + i, 0.1, 0.2, 0.3);
        b->placement = soa_frame_from_rpy(0.1 * i, 0.2, 0.3, 0.1, 0.2 * i, 0.3);
        b->com[0] = 0.1;
        if (type[i] != SOA_SPHERICAL && type[i] != SOA_FREE) b->joint.stiffness = 1;
        b->joint.damping = 0.1;
    }
    bodies[5].joint.pitch = 0.1;
    if (mimic) {
        bodies[MIMIC_BODY - 1].joint.mimic = 2;
        bodies[MIMIC_BODY - 1].joint.mimic_ratio = -0.5;
    }
}

static const soa_model *mechanism(int mimic) {
    soa_body_def bodies[BODIES];
    define(bodies, mimic);
    const soa_model *model = NULL;
    soa_model_def def = soa_model_default(mimic ? "mimic" : "plain", bodies, BODIES);
    OK(soa_model_create(&def, &model, NULL));
    return model;
}

/* --- calls with a work space ------------------------------------------------------------------ */

enum {
    Q = 1,
    V = 2,
    A = 4,
    TAU = 8,
    WRENCH = 16,
    SOLVES = 32,
    NEEDS_V = 64,
    SECOND = 128,
    OPTIONAL = 256
};
enum { OUT = 4000 }; /* numbers in an output, larger than any needed */

typedef struct context {
    const soa_model *m;
    soa_work *w;
    int nq, nv, n;
    double *q, *v, *a, *tau;
    const soa_wrench *wrench;
    int wrenches;
    double *out, *out2;
} context;

#define CALL(name, expression)                  \
    static soa_status call_##name(context *c) { \
        return expression;                      \
    }
CALL(kinematics, soa_kinematics(c->m, c->w, c->q, c->v, c->a))
CALL(rnea, soa_rnea(c->m, c->w, c->q, c->v, c->a, c->wrench, c->wrenches, c->out))
CALL(bias, soa_bias_torque(c->m, c->w, c->q, c->v, c->out))
CALL(gravity, soa_gravity_torque(c->m, c->w, c->q, c->out))
CALL(coriolis_mul, soa_coriolis_mul(c->m, c->w, c->q, c->v, c->a, c->out))
CALL(crba, soa_crba(c->m, c->w, c->q, c->out))
CALL(mass_r87, soa_mass_r87(c->m, c->w, c->q, c->out))
CALL(mass_mul, soa_mass_mul(c->m, c->w, c->q, c->v, c->out))
CALL(minv_mul, soa_minv_mul(c->m, c->w, c->q, c->v, c->out))
CALL(minv, soa_minv(c->m, c->w, c->q, c->out))
CALL(aba, soa_aba(c->m, c->w, c->q, c->v, c->tau, c->wrench, c->wrenches, c->out))
CALL(energy, soa_energy(c->m, c->w, c->q, c->v, c->out, c->out2))
CALL(center_of_mass, soa_centre_of_mass(c->m, c->w, c->q, c->v, c->out, c->out2))
CALL(momentum, soa_momentum(c->m, c->w, c->q, c->v, c->out, c->out2))
CALL(centroidal_matrix, soa_centroidal_momentum_matrix(c->m, c->w, c->q, c->out))
CALL(regressor, soa_regressor(c->m, c->w, c->q, c->v, c->a, c->out))
CALL(rnea_derivatives, soa_rnea_derivatives(c->m, c->w,
                                            &(soa_input){.q = c->q,
                                                         .v = c->v,
                                                         .a = c->a,
                                                         .wrenches = c->wrench,
                                                         .wrench_count = c->wrenches},
                                            c->out, c->out2))
CALL(aba_derivatives, soa_aba_derivatives(c->m, c->w,
                                          &(soa_input){.q = c->q,
                                                       .v = c->v,
                                                       .tau = c->tau,
                                                       .wrenches = c->wrench,
                                                       .wrench_count = c->wrenches},
                                          c->out, c->out2))

enum size { ZERO, ONE, THREE, SIX, NV, NV_NV, SIX_NV, REGRESSOR };
static const struct call {
    const char *name;
    soa_status (*run)(context *);
    int uses;
    enum size out, out2;
} calls[] = {
    {"kinematics", call_kinematics, Q | V | A | OPTIONAL, ZERO, ZERO},
    {"rnea", call_rnea, Q | V | A | WRENCH, NV, ZERO},
    {"bias", call_bias, Q | V, NV, ZERO},
    {"gravity", call_gravity, Q, NV, ZERO},
    {"coriolis_mul", call_coriolis_mul, Q | V | A, NV, ZERO},
    {"crba", call_crba, Q, NV_NV, ZERO},
    {"mass_r87", call_mass_r87, Q, NV_NV, ZERO},
    {"mass_mul", call_mass_mul, Q | V | NEEDS_V, NV, ZERO},
    {"minv_mul", call_minv_mul, Q | V | NEEDS_V | SOLVES, NV, ZERO},
    {"minv", call_minv, Q | SOLVES, NV_NV, ZERO},
    {"aba", call_aba, Q | V | TAU | WRENCH | SOLVES, NV, ZERO},
    {"energy", call_energy, Q | V | SECOND | OPTIONAL, ONE, ONE},
    {"center_of_mass", call_center_of_mass, Q | V | SECOND | OPTIONAL, THREE, THREE},
    {"momentum", call_momentum, Q | V | SECOND, SIX, THREE},
    {"centroidal_matrix", call_centroidal_matrix, Q, SIX_NV, ZERO},
    {"regressor", call_regressor, Q | V | A, REGRESSOR, ZERO},
    {"rnea_derivatives", call_rnea_derivatives, Q | V | A | WRENCH | SECOND | OPTIONAL, NV_NV,
     NV_NV},
    {"aba_derivatives", call_aba_derivatives, Q | V | TAU | WRENCH | SECOND | SOLVES | OPTIONAL,
     NV_NV, NV_NV},
};

static int size_of(const context *c, enum size size) {
    switch (size) {
    case ONE: return 1;
    case THREE: return 3;
    case SIX: return 6;
    case NV: return c->nv;
    case NV_NV: return c->nv * c->nv;
    case SIX_NV: return 6 * c->nv;
    case REGRESSOR: return 10 * c->n * c->nv;
    default: return 0;
    }
}

static context open_context(const soa_model *m) {
    context c = {
        .m = m, .nq = soa_model_nq(m), .nv = soa_model_nv(m), .n = soa_model_body_count(m)};
    OK(soa_work_create(m, &c.w));
    c.q = room((size_t)c.nq, sizeof(double));
    c.v = room((size_t)c.nv, sizeof(double));
    c.a = room((size_t)c.nv, sizeof(double));
    c.tau = room((size_t)c.nv, sizeof(double));
    c.out = room(OUT, sizeof(double));
    c.out2 = room(OUT, sizeof(double));
    soa_q_neutral(m, c.q);
    for (int i = 0; i < c.nv; i++) {
        c.v[i] = 0.1 + 0.01 * i;
        c.a[i] = 0.2 - 0.01 * i;
        c.tau[i] = 0.3;
    }
    OK(soa_q_integrate(m, c.q, c.v, 1, c.q));
    assert_true(10 * c.n * c.nv < OUT);
    return c;
}
static void close_context(context *c) {
    soa_work_free(c->w);
    soa_model_free(c->m);
    free(c->q);
    free(c->v);
    free(c->a);
    free(c->tau);
    free(c->out);
    free(c->out2);
}

static const unsigned char canary = 0xa5;
static void paint(context *c) {
    memset(c->out, canary, OUT * sizeof(double));
    memset(c->out2, canary, OUT * sizeof(double));
}
/* Bytes from number `from` on are as painted. */
static int untouched(const double *out, int from) {
    const unsigned char *p = (const unsigned char *)out;
    for (size_t i = (size_t)from * sizeof *out; i < OUT * sizeof *out; i++)
        if (p[i] != canary) return 0;
    return 1;
}

/* Runs a call that must fail. body: the one to be named, or -2 for any. */
static void refuse(const struct call *f, context *c, const char *fault, soa_status expected,
                   int body) {
    double *out = c->out, *out2 = c->out2;
    soa_work *w = c->w;
    context painted = *c;
    if (out != NULL) paint(c);
    const soa_status got = f->run(&painted);
    expect(f->name, fault, got, expected);
    if (body != -2 && soa_work_failed_body(w) != body)
        fail_msg("%s, %s: body %d is named, expected %d", f->name, fault, soa_work_failed_body(w),
                 body);
    if (out != NULL && (!untouched(out, 0) || !untouched(out2, 0)))
        fail_msg("%s, %s: an output was written", f->name, fault);
}

static int body_of(const soa_model *m, int index, int is_q) {
    for (int i = 1; i <= soa_model_body_count(m); i++) {
        soa_body_info info;
        OK(soa_model_body(m, i, &info));
        const int first = is_q ? info.q_index : info.v_index;
        const int count = is_q ? info.nq : info.nv;
        if (index >= first && index < first + count) return i;
    }
    return -1;
}

static void not_finite(void **state) {
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int mimic = 0; mimic < 2; mimic++) {
        context c = open_context(mechanism(mimic));
        struct {
            const char *name;
            double *x;
            int flag, count;
        } inputs[] = {{"q", c.q, Q, c.nq},
                      {"v", c.v, V, c.nv},
                      {"a", c.a, A, c.nv},
                      {"tau", c.tau, TAU, c.nv}};
        for (int k = 0; k < COUNT(calls); k++)
            for (int in = 0; in < COUNT(inputs); in++)
                for (int j = 0; j < (calls[k].uses & inputs[in].flag ? inputs[in].count : 0); j++)
                    for (int x = 0; x < COUNT(values); x++) {
                        char fault[64];
                        const double good = inputs[in].x[j];
                        snprintf(fault, sizeof fault, "%s[%d] = %g", inputs[in].name, j, values[x]);
                        inputs[in].x[j] = values[x];
                        refuse(&calls[k], &c, fault, SOA_E_NOT_FINITE,
                               body_of(c.m, j, inputs[in].flag == Q));
                        inputs[in].x[j] = good;
                    }
        close_context(&c);
    }
}

static void quaternions(void **state) {
    (void)state;
    static const double scales[] = {0, 0.99, 1.01, 2, -1.01};
    for (int mimic = 0; mimic < 2; mimic++) {
        context c = open_context(mechanism(mimic));
        for (int k = 0; k < COUNT(calls); k++)
            for (int i = 1; i <= c.n; i++) {
                soa_body_info info;
                OK(soa_model_body(c.m, i, &info));
                if (info.type != SOA_SPHERICAL && info.type != SOA_FREE) continue;
                double *e = c.q + info.q_index + info.nq - 4, good[4];
                memcpy(good, e, sizeof good);
                for (int x = 0; x < COUNT(scales); x++) {
                    for (int j = 0; j < 4; j++)
                        e[j] = scales[x] * good[j];
                    refuse(&calls[k], &c, "quaternion of wrong length", SOA_E_QUATERNION, i);
                }
                for (int j = 0; j < 4; j++)
                    e[j] = (1 + 1e-10) * good[j]; /* rounding is no offence */
                expect(calls[k].name, "quaternion good to 1e-10", calls[k].run(&c), SOA_OK);
                memcpy(e, good, sizeof good);
            }
        close_context(&c);
    }
}

/* Missing arguments, foreign work spaces; then the same call with good ones fills exactly its
 * outputs. */
static void arguments(void **state) {
    (void)state;
    for (int mimic = 0; mimic < 2; mimic++) {
        context c = open_context(mechanism(mimic)), other = open_context(mechanism(mimic));
        for (int k = 0; k < COUNT(calls); k++) {
            const struct call *f = &calls[k];
            context bad = c;
            bad.m = NULL;
            refuse(f, &bad, "no model", SOA_E_ARGUMENT, -2);
            bad = c;
            bad.w = NULL;
            refuse(f, &bad, "no work space", SOA_E_ARGUMENT, -1);
            bad = c;
            bad.w = other.w;
            refuse(f, &bad, "work space of another model", SOA_E_ARGUMENT, -2);
            bad = c;
            bad.out = NULL;
            if (!(f->uses & OPTIONAL)) refuse(f, &bad, "no output", SOA_E_ARGUMENT, -2);
            bad = c;
            bad.v = NULL;
            if (f->uses & NEEDS_V) refuse(f, &bad, "no vector", SOA_E_ARGUMENT, -2);
            bad = c;
            if (f->uses & OPTIONAL) {
                bad.out = NULL;
                expect(f->name, "first output left out", f->run(&bad), SOA_OK);
                bad = c;
                bad.out2 = NULL;
                expect(f->name, "second output left out", f->run(&bad), SOA_OK);
            }
            paint(&c);
            expect(f->name, "good arguments", f->run(&c), SOA_OK);
            const int used = size_of(&c, f->out), used2 = size_of(&c, f->out2);
            if (!untouched(c.out, used) || !untouched(c.out2, used2))
                fail_msg("%s wrote past its output", f->name);
            for (int i = 0; i < used; i++)
                if (!isfinite(c.out[i])) fail_msg("%s: number %d is %g", f->name, i, c.out[i]);
            for (int i = 0; i < used2; i++)
                if (!isfinite(c.out2[i]))
                    fail_msg("%s: number %d of the second output is %g", f->name, i, c.out2[i]);
        }
        close_context(&c);
        close_context(&other);
    }
}

static void wrenches(void **state) {
    (void)state;
    for (int mimic = 0; mimic < 2; mimic++) {
        context c = open_context(mechanism(mimic));
        soa_wrench x[2] = {{1, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}},
                           {0, SOA_AXES_BODY, {1, 2, 3, 4, 5, 6}}};
        const int frame = soa_model_find_frame(c.m, "h");
        c.wrench = x;
        c.wrenches = 2;
        for (int k = 0; k < COUNT(calls); k++) {
            const struct call *f = &calls[k];
            if (!(f->uses & WRENCH)) continue;
            x[1].frame = frame;
            expect(f->name, "good wrenches", f->run(&c), SOA_OK);
            for (int j = 0; j < 6; j++) {
                const double good = x[1].value[j];
                for (int axes = 0; axes < 2; axes++) {
                    x[1].axes = axes ? SOA_AXES_BODY : SOA_AXES_WORLD;
                    x[1].value[j] = NAN;
                    refuse(f, &c, "NaN in a wrench", SOA_E_NOT_FINITE, 8);
                    x[1].value[j] = -INFINITY;
                    refuse(f, &c, "infinity in a wrench", SOA_E_NOT_FINITE, 8);
                }
                x[1].value[j] = good;
            }
            x[1].frame = -1;
            refuse(f, &c, "wrench on frame -1", SOA_E_ARGUMENT, -1);
            x[1].frame = soa_model_frame_count(c.m);
            refuse(f, &c, "wrench on a frame past the last", SOA_E_ARGUMENT, -1);
            x[1].frame = frame;
            c.wrenches = -1;
            refuse(f, &c, "-1 wrenches", SOA_E_ARGUMENT, -1);
            c.wrenches = 1;
            c.wrench = NULL;
            refuse(f, &c, "wrenches missing", SOA_E_ARGUMENT, -1);
            c.wrench = x;
            c.wrenches = 2;
        }
        close_context(&c);
    }
}

/* Readers of the kinematics and of the joint forces. */
static soa_status read_by(int which, const soa_model *m, soa_work *w, int frame, const double *in,
                          double *out) {
    switch (which) {
    case 0: return soa_pose(m, w, frame, (soa_frame *)(void *)out);
    case 1: return soa_velocity(m, w, frame, SOA_AXES_WORLD, out);
    case 2: return soa_acceleration_spatial(m, w, frame, SOA_AXES_BODY, out);
    case 3: return soa_acceleration_classical(m, w, frame, SOA_AXES_WORLD, out);
    case 4: return soa_jacobian(m, w, frame, SOA_AXES_WORLD, out);
    case 5: return soa_jacobian_dot_v(m, w, frame, SOA_AXES_WORLD, out);
    case 6: return soa_jacobian_mul(m, w, frame, SOA_AXES_WORLD, in, out);
    case 7: return soa_jacobian_transpose_mul(m, w, frame, SOA_AXES_WORLD, in, out);
    default: return soa_joint_force(m, w, frame, out);
    }
}
/* Calls of other rooms that compute by those above: what they leave is of their own q, v and a. */
static void taken_by_others(void **state) {
    (void)state;
    soa_body_def bodies[] = {soa_body_default("arm", 0, SOA_REVOLUTE),
                             soa_body_default("object", 0, SOA_FREE)};
    for (int i = 0; i < 2; i++) {
        soa_body_box(&bodies[i], 1, 0.1, 0.2, 0.3);
        bodies[i].com[0] = 0.5;
    }
    soa_model_def def = soa_model_default("holds", bodies, 2);
    const soa_model *m;
    soa_work *w;
    soa_grasp *g;
    soa_constraints *c;
    soa_embedding *e;
    soa_body_info info[2];
    OK(soa_model_create(&def, &m, NULL));
    OK(soa_work_create(m, &w));
    for (int i = 0; i < 2; i++)
        OK(soa_model_body(m, i + 1, &info[i]));
    const int arm = info[0].frame, object = info[1].frame;
    const soa_contact_def contact = soa_contact_default(SOA_CONTACT_RIGID, arm, object);
    const soa_constraint_capacity room = {1, 6, 1};
    soa_constraint_def loop = soa_constraint_default(SOA_LOOP, arm, object);
    loop.joint = SOA_FIXED;
    OK(soa_grasp_create(m, 1, &g));
    OK(soa_grasp_add(g, &contact, NULL, NULL));
    OK(soa_constraints_create(m, &room, &c));
    OK(soa_constraints_add(c, &loop, NULL, NULL));
    const unsigned char primary[7] = {1};
    soa_embedding_def how = soa_embedding_default(primary);
    how.constraints = c;
    OK(soa_embedding_create(m, &how, &e, NULL));
    double q[8], v[7] = {0}, a[7] = {0}, out[512], more[512], wrench[6] = {0}, force[6] = {0},
                 two[2];
    const double Q1[1] = {0}, bad[8] = {NAN};
    soa_q_neutral(m, q);
    soa_grasp_report said;
    soa_grasp_rank rank[2];
    soa_grasp_object seen;
    soa_contact_motion motion;
    soa_contact_check check[1];
    int count, rows, broken;
    soa_frame pose;
#define TAKES(call)                                                          \
    OK(soa_kinematics(m, w, q, v, a));                                       \
    OK(call);                                                                \
    expect(#call, "kinematics", soa_pose(m, w, object, &pose), SOA_E_ORDER); \
    OK(soa_rnea(m, w, q, v, a, NULL, 0, out));                               \
    OK(call);                                                                \
    expect(#call, "forces", soa_joint_force(m, w, 1, wrench), SOA_E_ORDER);  \
    memset(wrench, 0, sizeof wrench)
    TAKES(soa_jjt(m, w, q, &object, 1, SOA_AXES_WORLD, out));
    TAKES(soa_constraints_evaluate(c, w, &(soa_input){.q = q, .v = v}, out, NULL, NULL, NULL));
    TAKES(soa_closed_fd(c, w, NULL, &(soa_input){.q = q, .v = v}, out, NULL, NULL));
    TAKES(soa_closed_energy(c, w, q, v, two, two + 1));
    TAKES(soa_closed_id(c, w, &(soa_input){.q = q, .v = v, .a = a}, NULL, out, NULL));
    TAKES(soa_closed_project(c, w, 0, q, v, NULL));
    TAKES(soa_closed_impulse(c, w, 0, q, v, out, NULL));
    TAKES(soa_closed_assemble(c, w, 0, NULL, q, NULL));
    TAKES(soa_grasp_contact_motion(g, w, q, v, 0, &motion));
    TAKES(soa_grasp_fd(g, w, NULL, &(soa_input){.q = q, .v = v}, out, NULL, NULL, &said));
    TAKES(soa_grasp_compliance(g, w, q, out, rank, rank + 1));
    TAKES(soa_grasp_object_state(g, w, &(soa_input){.q = q, .v = v, .a = a}, NULL, object, &seen,
                                 NULL));
    TAKES(soa_grasp_impulse(g, w, q, v, out, NULL));
    TAKES(soa_grasp_map(g, w, q, object, out));
    TAKES(soa_grasp_internal_basis(g, w, q, object, NULL, &count, &rows));
    TAKES(soa_grasp_distribute(g, w, q, object, wrench, NULL, out));
    TAKES(soa_grasp_internal_force(g, w, q, object, force, out));
    TAKES(soa_grasp_check_contacts(g, w, q, force, check, &broken));
    TAKES(soa_embedding_state(e, w, &(soa_input){.q = Q1}, q, out, more, NULL));
    TAKES(soa_embedding_terms(e, w, &(soa_input){.q = Q1}, q, out, NULL, NULL));
    TAKES(soa_embedding_id(e, w, &(soa_input){.q = Q1}, q, out));
    TAKES(soa_embedding_fd(e, w, SOA_EMBEDDING_COLUMNS, &(soa_input){.q = Q1}, q, out));
#undef TAKES
    /* what is refused at once leaves all as it was */
    OK(soa_kinematics(m, w, q, v, a));
    assert_int_equal(soa_jjt(m, w, bad, &object, 1, SOA_AXES_WORLD, out), SOA_E_NOT_FINITE);
    assert_int_equal(soa_closed_fd(c, w, NULL, &(soa_input){.q = bad, .v = v}, out, NULL, NULL),
                     SOA_E_NOT_FINITE);
    assert_int_equal(soa_grasp_map(g, w, bad, object, out), SOA_E_NOT_FINITE);
    OK(soa_pose(m, w, object, &pose));
    soa_embedding_free(e);
    soa_constraints_free(c);
    soa_grasp_free(g);
    soa_work_free(w);
    soa_model_free(m);
}
static void readers(void **state) {
    (void)state;
    static const char *const name[] = {
        "pose",       "velocity", "acceleration_spatial", "acceleration_classical",
        "jacobian",   "jdot_v",   "jacobian_mul",         "jacobian_transpose_mul",
        "joint_force"};
    for (int mimic = 0; mimic < 2; mimic++) {
        context c = open_context(mechanism(mimic)), other = open_context(mechanism(mimic));
        for (int k = 0; k < COUNT(name); k++) {
            const int last = k == 8 ? c.n : soa_model_frame_count(c.m) - 1;
            double bad[64] = {0};
            paint(&c);
            expect(name[k], "nothing computed yet", read_by(k, other.m, other.w, last, c.v, c.out),
                   SOA_E_ORDER);
            /* whichever takes q, but kinematics itself */
            for (int between = 1; between < COUNT(calls); between++) {
                OK(k == 8 ? soa_rnea(c.m, c.w, c.q, c.v, c.a, NULL, 0, c.out2)
                          : soa_kinematics(c.m, c.w, c.q, c.v, c.a));
                OK(calls[between].run(&c));
                paint(&c);
                const soa_status after = read_by(k, c.m, c.w, last, c.v, c.out);
                if (k == 8 && (calls[between].run == call_rnea || calls[between].run == call_bias))
                    continue;
                expect(name[k], calls[between].name, after, SOA_E_ORDER);
            }
            paint(&c);
            OK(soa_rnea(c.m, c.w, c.q, c.v, c.a, NULL, 0, c.out2));
            OK(soa_kinematics(c.m, c.w, c.q, c.v, c.a));
            if (k == 8) {
                expect(name[k], "another call came between", read_by(k, c.m, c.w, last, c.v, c.out),
                       SOA_E_ORDER);
                OK(soa_rnea(c.m, c.w, c.q, c.v, c.a, NULL, 0, c.out2));
            }
            expect(name[k], "frame -1", read_by(k, c.m, c.w, -1, c.v, c.out), SOA_E_ARGUMENT);
            expect(name[k], "frame past the last", read_by(k, c.m, c.w, last + 1, c.v, c.out),
                   SOA_E_ARGUMENT);
            expect(name[k], "no model", read_by(k, NULL, c.w, last, c.v, c.out), SOA_E_ARGUMENT);
            expect(name[k], "no work space", read_by(k, c.m, NULL, last, c.v, c.out),
                   SOA_E_ARGUMENT);
            expect(name[k], "foreign work space", read_by(k, c.m, other.w, last, c.v, c.out),
                   SOA_E_ARGUMENT);
            expect(name[k], "no output", read_by(k, c.m, c.w, last, c.v, NULL), SOA_E_ARGUMENT);
            if (k == 6 || k == 7) {
                expect(name[k], "no vector", read_by(k, c.m, c.w, last, NULL, c.out),
                       SOA_E_ARGUMENT);
                for (int j = 0; j < (k == 6 ? c.nv : 6); j++) {
                    bad[j] = NAN;
                    expect(name[k], "NaN", read_by(k, c.m, c.w, last, bad, c.out),
                           SOA_E_NOT_FINITE);
                    bad[j] = INFINITY;
                    expect(name[k], "infinity", read_by(k, c.m, c.w, last, bad, c.out),
                           SOA_E_NOT_FINITE);
                    bad[j] = 0;
                }
            }
            if (!untouched(c.out, 0)) fail_msg("%s wrote an output though it failed", name[k]);
            expect(name[k], "good arguments", read_by(k, c.m, c.w, last, c.v, c.out), SOA_OK);
        }
        close_context(&c);
        close_context(&other);
    }
}

static void manifold(void **state) {
    (void)state;
    context c = open_context(mechanism(1));
    const soa_model *m = c.m;
    double *q1 = room((size_t)c.nq, sizeof *q1), *good = room((size_t)c.nq, sizeof *good);
    memcpy(q1, c.q, (size_t)c.nq * sizeof *q1);
    memcpy(good, c.q, (size_t)c.nq * sizeof *q1);
    paint(&c);
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int x = 0; x < COUNT(values); x++) {
        for (int j = 0; j < c.nq; j++) {
            c.q[j] = values[x];
            expect("integrate", "bad q", soa_q_integrate(m, c.q, c.v, 1, c.out), SOA_E_NOT_FINITE);
            expect("difference", "bad q0", soa_q_difference(m, c.q, q1, c.out), SOA_E_NOT_FINITE);
            expect("difference", "bad q1", soa_q_difference(m, q1, c.q, c.out), SOA_E_NOT_FINITE);
            expect("q_rate", "bad q", soa_q_rate(m, c.q, c.v, c.out), SOA_E_NOT_FINITE);
            memcpy(c.out2, c.q, (size_t)c.nq * sizeof *q1);
            expect("normalize", "bad q", soa_q_normalise(m, c.out2), SOA_E_NOT_FINITE);
            assert_memory_equal(c.out2, c.q, (size_t)c.nq * sizeof *q1);
            c.q[j] = good[j];
        }
        for (int j = 0; j < c.nv; j++) {
            const double old = c.v[j];
            c.v[j] = values[x];
            expect("integrate", "bad v", soa_q_integrate(m, c.q, c.v, 1, c.out), SOA_E_NOT_FINITE);
            expect("q_rate", "bad v", soa_q_rate(m, c.q, c.v, c.out), SOA_E_NOT_FINITE);
            c.v[j] = old;
        }
        expect("integrate", "bad dt", soa_q_integrate(m, c.q, c.v, values[x], c.out),
               SOA_E_NOT_FINITE);
    }
    for (int j = 3; j < 7; j++)
        c.q[j] *= 1.1; /* the free root's quaternion */
    expect("integrate", "quaternion", soa_q_integrate(m, c.q, c.v, 1, c.out), SOA_E_QUATERNION);
    expect("difference", "quaternion", soa_q_difference(m, c.q, q1, c.out), SOA_E_QUATERNION);
    expect("difference", "quaternion", soa_q_difference(m, q1, c.q, c.out), SOA_E_QUATERNION);
    expect("q_rate", "quaternion", soa_q_rate(m, c.q, c.v, c.out), SOA_E_QUATERNION);
    memcpy(c.out2, c.q, (size_t)c.nq * sizeof *q1);
    OK(soa_q_normalise(m, c.out2));
    for (int j = 0; j < c.nq; j++)
        assert_true(fabs(c.out2[j] - good[j]) <= 1e-15);
    for (int j = 3; j < 7; j++)
        c.out2[j] = 0;
    memcpy(c.q, c.out2, (size_t)c.nq * sizeof *q1);
    expect("normalize", "zero quaternion", soa_q_normalise(m, c.out2), SOA_E_QUATERNION);
    assert_memory_equal(c.out2, c.q, (size_t)c.nq * sizeof *q1);
    expect("integrate", "NULL", soa_q_integrate(NULL, q1, c.v, 1, c.out), SOA_E_ARGUMENT);
    expect("integrate", "NULL", soa_q_integrate(m, NULL, c.v, 1, c.out), SOA_E_ARGUMENT);
    expect("integrate", "NULL", soa_q_integrate(m, q1, NULL, 1, c.out), SOA_E_ARGUMENT);
    expect("integrate", "NULL", soa_q_integrate(m, q1, c.v, 1, NULL), SOA_E_ARGUMENT);
    expect("difference", "NULL", soa_q_difference(NULL, q1, q1, c.out), SOA_E_ARGUMENT);
    expect("difference", "NULL", soa_q_difference(m, NULL, q1, c.out), SOA_E_ARGUMENT);
    expect("difference", "NULL", soa_q_difference(m, q1, NULL, c.out), SOA_E_ARGUMENT);
    expect("difference", "NULL", soa_q_difference(m, q1, q1, NULL), SOA_E_ARGUMENT);
    expect("q_rate", "NULL", soa_q_rate(NULL, q1, c.v, c.out), SOA_E_ARGUMENT);
    expect("q_rate", "NULL", soa_q_rate(m, NULL, c.v, c.out), SOA_E_ARGUMENT);
    expect("q_rate", "NULL", soa_q_rate(m, q1, NULL, c.out), SOA_E_ARGUMENT);
    expect("q_rate", "NULL", soa_q_rate(m, q1, c.v, NULL), SOA_E_ARGUMENT);
    expect("normalize", "NULL", soa_q_normalise(NULL, q1), SOA_E_ARGUMENT);
    expect("normalize", "NULL", soa_q_normalise(m, NULL), SOA_E_ARGUMENT);
    assert_true(untouched(c.out, 0));
    free(q1);
    free(good);
    close_context(&c);
}

/* --- single precision and batches ------------------------------------------------------------- */

enum { STATES = 19 };

/* All states of a batch in both precisions; f says which functions run. */
typedef struct herd {
    const soa_model *m;
    soa_batch *b;
    soa_work *w;
    size_t nq, nv, n;
    double *q, *v, *a, *fext, *out;
    float *qf, *vf, *af, *fext_f, *out_f;
} herd;

static herd open_herd(const soa_model *m) {
    herd h = {.m = m,
              .nq = (size_t)soa_model_nq(m),
              .nv = (size_t)soa_model_nv(m),
              .n = (size_t)soa_model_body_count(m)};
    OK(soa_batch_create(m, &h.b));
    OK(soa_work_create(m, &h.w));
    h.q = room(STATES * h.nq, 8);
    h.v = room(STATES * h.nv, 8);
    h.a = room(STATES * h.nv, 8);
    h.fext = room(STATES * h.n * 6, 8);
    h.out = room(STATES * h.nv * h.nv, 8);
    h.qf = room(STATES * h.nq, 4);
    h.vf = room(STATES * h.nv, 4);
    h.af = room(STATES * h.nv, 4);
    h.fext_f = room(STATES * h.n * 6, 4);
    h.out_f = room(STATES * h.nv * h.nv, 4);
    for (size_t k = 0; k < STATES * h.nv; k++) {
        h.v[k] = 0.1 + 0.001 * (double)k;
        h.vf[k] = (float)h.v[k];
        h.a[k] = 0.2;
        h.af[k] = 0.2f;
    }
    for (size_t s = 0; s < STATES; s++) {
        soa_q_neutral(m, h.q + s * h.nq);
        OK(soa_q_integrate(m, h.q + s * h.nq, h.v + s * h.nv, 1, h.q + s * h.nq));
    }
    for (size_t k = 0; k < STATES * h.nq; k++)
        h.qf[k] = (float)h.q[k];
    return h;
}
static void close_herd(herd *h) {
    soa_batch_free(h->b);
    soa_work_free(h->w);
    soa_model_free(h->m);
    free(h->q);
    free(h->v);
    free(h->a);
    free(h->fext);
    free(h->out);
    free(h->qf);
    free(h->vf);
    free(h->af);
    free(h->fext_f);
    free(h->out_f);
}

/* 0 .. 2 double, 3 .. 5 float: forward, inverse, mass */
static soa_status run_batch(const herd *h, int which, long count) {
    switch (which) {
    case 0: return soa_aba_batch(h->m, h->b, count, h->q, h->v, h->a, h->fext, h->out);
    case 1: return soa_rnea_batch(h->m, h->b, count, h->q, h->v, h->a, h->fext, h->out);
    case 2: return soa_crba_batch(h->m, h->b, count, h->q, h->out);
    case 3: return soa_aba_batch_f(h->m, h->b, count, h->qf, h->vf, h->af, h->fext_f, h->out_f);
    case 4: return soa_rnea_batch_f(h->m, h->b, count, h->qf, h->vf, h->af, h->fext_f, h->out_f);
    default: return soa_crba_batch_f(h->m, h->b, count, h->qf, h->out_f);
    }
}
static soa_status run_float(const herd *h, int which) {
    switch (which) {
    case 3: return soa_aba_f(h->m, h->w, h->qf, h->vf, h->af, h->fext_f, h->out_f);
    case 4: return soa_rnea_f(h->m, h->w, h->qf, h->vf, h->af, h->fext_f, h->out_f);
    default: return soa_crba_f(h->m, h->w, h->qf, h->out_f);
    }
}
static const char *const batch_name[6] = {"aba_batch",   "rnea_batch",   "crba_batch",
                                          "aba_batch_f", "rnea_batch_f", "crba_batch_f"};

static void paint_herd(herd *h) {
    memset(h->out, canary, STATES * h->nv * h->nv * sizeof *h->out);
    memset(h->out_f, canary, STATES * h->nv * h->nv * sizeof *h->out_f);
}
/* Whether the result of state s was written: some byte differs from the paint. */
static int written(const herd *h, int which, size_t s) {
    const size_t wide = (which % 3 == 2 ? h->nv * h->nv : h->nv) * (which < 3 ? 8 : 4);
    const unsigned char *p =
        (const unsigned char *)(which < 3 ? (void *)h->out : (void *)h->out_f) + s * wide;
    for (size_t i = 0; i < wide; i++)
        if (p[i] != canary) return 1;
    return 0;
}

/* input 0 q, 1 v, 2 a, 3 fext */
static void put(herd *h, int which, int input, size_t index, double value) {
    double *x[4] = {h->q, h->v, h->a, h->fext};
    float *f[4] = {h->qf, h->vf, h->af, h->fext_f};
    if (which < 3)
        x[input][index] = value;
    else
        f[input][index] = (float)value;
}
static double get(const herd *h, int which, int input, size_t index) {
    const double *const x[4] = {h->q, h->v, h->a, h->fext};
    const float *const f[4] = {h->qf, h->vf, h->af, h->fext_f};
    return which < 3 ? x[input][index] : (double)f[input][index];
}

static void batches(void **state) {
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    /* the widest group of lanes; the state made bad, in the second of them */
    enum { GROUP = 8, BAD = 10 };
    for (int mimic = 0; mimic < 2; mimic++) {
        herd h = open_herd(mechanism(mimic));
        const size_t width[4] = {h.nq, h.nv, h.nv, 6 * h.n};
        for (int which = 0; which < 6; which++) {
            const char *name = batch_name[which];
            for (int input = 0; input < (which % 3 == 2 ? 1 : 4); input++)
                for (size_t j = 0; j < width[input]; j++) {
                    const size_t at = BAD * width[input] + j;
                    const double good = get(&h, which, input, at);
                    paint_herd(&h);
                    put(&h, which, input, at, values[j % 3]);
                    expect(name, "a number of one state", run_batch(&h, which, STATES),
                           SOA_E_NOT_FINITE);
                    put(&h, which, input, at, good);
                    if (soa_batch_failed_state(h.b) != BAD)
                        fail_msg("%s: state %ld is named, expected %d", name,
                                 soa_batch_failed_state(h.b), BAD);
                    const int owner =
                        input == 3 ? 1 + (int)j / 6 : body_of(h.m, (int)j, input == 0);
                    if (soa_batch_failed_body(h.b) != owner)
                        fail_msg("%s, input %d number %d: body %d is named, expected %d", name,
                                 input, (int)j, soa_batch_failed_body(h.b), owner);
                    for (size_t s = 0; s < STATES; s++) {
                        if (s < GROUP && !written(&h, which, s))
                            fail_msg("%s: state %d, of an earlier group, is missing", name, (int)s);
                        if (s >= BAD && written(&h, which, s))
                            fail_msg("%s: state %d was written", name, (int)s);
                    }
                }
            const size_t e = BAD * h.nq + 3;
            const double good = get(&h, which, 0, e);
            put(&h, which, 0, e, good + 0.5);
            expect(name, "quaternion", run_batch(&h, which, STATES), SOA_E_QUATERNION);
            assert_int_equal(soa_batch_failed_state(h.b), BAD);
            assert_int_equal(soa_batch_failed_body(h.b), 1);
            put(&h, which, 0, e, good);
            paint_herd(&h);
            expect(name, "-1 states", run_batch(&h, which, -1), SOA_E_ARGUMENT);
            herd bad = h;
            bad.m = NULL;
            expect(name, "no model", run_batch(&bad, which, 2), SOA_E_ARGUMENT);
            bad = h;
            bad.b = NULL;
            expect(name, "no batch", run_batch(&bad, which, 2), SOA_E_ARGUMENT);
            bad = h;
            bad.q = NULL;
            bad.qf = NULL;
            expect(name, "no q", run_batch(&bad, which, 2), SOA_E_ARGUMENT);
            bad = h;
            bad.out = NULL;
            bad.out_f = NULL;
            expect(name, "no output", run_batch(&bad, which, 2), SOA_E_ARGUMENT);
            const soa_model *other = mechanism(mimic);
            bad = h;
            bad.m = other;
            expect(name, "batch of another model", run_batch(&bad, which, 2), SOA_E_ARGUMENT);
            soa_model_free(other);
            expect(name, "no states", run_batch(&h, which, 0), SOA_OK);
            for (size_t s = 0; s < STATES; s++)
                assert_false(written(&h, which, s));
            expect(name, "good states", run_batch(&h, which, STATES - 1), SOA_OK);
            for (size_t s = 0; s < STATES; s++)
                assert_int_equal(written(&h, which, s), s < STATES - 1);
        }
        close_herd(&h);
    }
}

static void single_precision(void **state) {
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int mimic = 0; mimic < 2; mimic++) {
        herd h = open_herd(mechanism(mimic));
        const size_t width[4] = {h.nq, h.nv, h.nv, 6 * h.n};
        for (int which = 3; which < 6; which++) {
            const char *name = batch_name[which];
            paint_herd(&h);
            for (int input = 0; input < (which % 3 == 2 ? 1 : 4); input++)
                for (size_t j = 0; j < width[input]; j++) {
                    const double good = get(&h, which, input, j);
                    put(&h, which, input, j, values[j % 3]);
                    expect(name, "a number, one state", run_float(&h, which), SOA_E_NOT_FINITE);
                    put(&h, which, input, j, good);
                    const int owner =
                        input == 3 ? 1 + (int)j / 6 : body_of(h.m, (int)j, input == 0);
                    if (soa_work_failed_body(h.w) != owner)
                        fail_msg("%s, one state, input %d number %d: body %d is named, expected %d",
                                 name, input, (int)j, soa_work_failed_body(h.w), owner);
                }
            put(&h, which, 0, 3, get(&h, which, 0, 3) + 0.5);
            expect(name, "quaternion, one state", run_float(&h, which), SOA_E_QUATERNION);
            assert_int_equal(soa_work_failed_body(h.w), 1);
            put(&h, which, 0, 3, get(&h, which, 0, 3) - 0.5);
            herd bad = h;
            bad.m = NULL;
            expect(name, "no model, one state", run_float(&bad, which), SOA_E_ARGUMENT);
            bad = h;
            bad.w = NULL;
            expect(name, "no work space, one state", run_float(&bad, which), SOA_E_ARGUMENT);
            bad = h;
            bad.out_f = NULL;
            expect(name, "no output, one state", run_float(&bad, which), SOA_E_ARGUMENT);
            assert_false(written(&h, which, 0));
            expect(name, "good arguments, one state", run_float(&h, which), SOA_OK);
            assert_true(written(&h, which, 0) && !written(&h, which, 1));
        }
        close_herd(&h);
    }
}

/* --- joints that move nothing ----------------------------------------------------------------- */

static void massless_tips(void **state) {
    (void)state;
    static const soa_joint_type types[] = {SOA_REVOLUTE,    SOA_PRISMATIC, SOA_HELICAL,
                                           SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,
                                           SOA_SPHERICAL,   SOA_FREE};
    for (int t = 0; t < COUNT(types); t++)
        for (int mimic = 0; mimic < 2; mimic++)
            for (int where = 0; where < 2; where++) { /* after the others, or before them */
                soa_body_def bodies[BODIES + 1];
                define(bodies, mimic);
                int tip = BODIES + 1;
                bodies[BODIES] = soa_body_default("massless", 3, types[t]);
                if (where == 1) { /* hang it on the world, as body 1 */
                    memmove(bodies + 1, bodies, BODIES * sizeof *bodies);
                    for (int i = 1; i <= BODIES; i++) {
                        if (bodies[i].parent > 0) bodies[i].parent++;
                        if (bodies[i].joint.mimic > 0) bodies[i].joint.mimic++;
                    }
                    bodies[0] = soa_body_default("massless", 0, types[t]);
                    tip = 1;
                }
                soa_model_def def = soa_model_default("massless tip", bodies, BODIES + 1);
                const soa_model *m = NULL;
                OK(soa_model_create(&def, &m, NULL)); /* inverse dynamics is well defined */
                context c = open_context(m);
                for (int k = 0; k < COUNT(calls); k++) {
                    if (calls[k].uses & SOLVES)
                        refuse(&calls[k], &c, soa_joint_type_name(types[t]), SOA_E_HINGE_SINGULAR,
                               tip);
                    else
                        expect(calls[k].name, "massless tip", calls[k].run(&c), SOA_OK);
                }
                const soa_model *copy = NULL;
                static const double g[3] = {0, 0, -1};
                OK(soa_model_with_gravity(m, g, &copy));
                herd h = open_herd(copy);
                for (int which = 0; which < 6; which += 3) {
                    paint_herd(&h);
                    expect(batch_name[which], "massless tip", run_batch(&h, which, STATES),
                           SOA_E_HINGE_SINGULAR);
                    assert_int_equal(soa_batch_failed_body(h.b), tip);
                    assert_int_equal(soa_batch_failed_state(h.b), 0);
                    for (size_t s = 0; s < STATES; s++)
                        assert_false(written(&h, which, s));
                }
                expect("aba_f", "massless tip", run_float(&h, 3), SOA_E_HINGE_SINGULAR);
                assert_int_equal(soa_work_failed_body(h.w), tip);
                assert_false(written(&h, 3, 0));
                close_herd(&h);
                close_context(&c);
            }
}

/* A point mass on two links, the inner one massless: singular when stretched, so one state of a
 * batch is bad. */
static void singular_in_one_state(void **state) {
    (void)state;
    soa_body_def bodies[2] = {soa_body_default("upper", 0, SOA_REVOLUTE),
                              soa_body_default("lower", 1, SOA_REVOLUTE)};
    bodies[1].placement.p[0] = 1;
    bodies[1].mass = 1;
    bodies[1].com[0] = 1;
    soa_model_def def = soa_model_default("point mass", bodies, 2);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    soa_batch *b;
    soa_work *w;
    OK(soa_batch_create(m, &b));
    OK(soa_work_create(m, &w));
    for (long bad = 0; bad < STATES; bad++) {
        double q[2 * STATES], qdd[2 * STATES], zero[2] = {0, 0}, one[2];
        for (int i = 0; i < STATES; i++) {
            q[2 * i] = 0.1 * i;
            q[2 * i + 1] = 1;
        }
        OK(soa_aba_batch(m, b, STATES, q, NULL, NULL, NULL, qdd));
        q[2 * bad + 1] = 0;
        expect("aba", "stretched", soa_aba(m, w, q + 2 * bad, zero, zero, NULL, 0, one),
               SOA_E_HINGE_SINGULAR);
        assert_int_equal(soa_work_failed_body(w), 1);
        expect("aba_batch", "stretched", soa_aba_batch(m, b, STATES, q, NULL, NULL, NULL, qdd),
               SOA_E_HINGE_SINGULAR);
        assert_int_equal(soa_batch_failed_body(b), 1);
        if (soa_batch_failed_state(b) != bad)
            fail_msg("aba_batch: state %ld is named, expected %ld", soa_batch_failed_state(b), bad);
    }
    soa_batch_free(b);
    soa_work_free(w);
    soa_model_free(m);
}

/* More joints than the heavy body beyond them can resist: no state has an answer, and none may be
 * made of rounding errors.  Seven turns under one body; a massless free body that carries an arm of
 * one joint, or of two. */
static void too_many_joints(void **state) {
    (void)state;
    enum { MOST = 8, TRIES = 40 };
    for (int which = 0; which < 4; which++) {
        int n;
        if (which == 0) {
            n = 7;
        } else if (which == 1) {
            n = 2;
        } else {
            n = 3;
        }
        const int base = which == 0 || which == 3 ? SOA_REVOLUTE : SOA_FREE;
        soa_body_def bodies[MOST];
        for (int i = 0; i < n; i++) {
            bodies[i] = soa_body_default(NULL, i, i ? SOA_REVOLUTE : (soa_joint_type)base);
            static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g"};
            bodies[i].name = name[i];
            for (int k = 0; k < 3; k++) {
                bodies[i].joint.axis[k] = cos(3 * i + k);
                bodies[i].placement.p[k] = sin(i + 2 * k);
            }
        }
        /* five of six: well */
        if (which == 3) bodies[1].joint = soa_body_default("b", 1, SOA_SPHERICAL).joint;
        for (int i = which == 2 ? 1 : n - 1; i < n; i++) {
            bodies[i].mass = 2;
            for (int k = 0; k < 3; k++) {
                bodies[i].com[k] = 0.1 * k;
                bodies[i].inertia[k] = 0.3 + 0.05 * k;
            }
        }
        soa_model_def def = soa_model_default("too many joints", bodies, n);
        const soa_model *m;
        OK(soa_model_create(&def, &m, NULL));
        soa_work *w;
        soa_batch *b;
        OK(soa_work_create(m, &w));
        OK(soa_batch_create(m, &b));
        double q[16], tau[16], qdd[16], Minv[256];
        for (int t = 0; t < TRIES; t++) {
            soa_q_neutral(m, q);
            for (int j = 0; j < soa_model_nq(m); j++)
                q[j] += sin(1.7 * t + j);
            soa_q_normalise(m, q);
            for (int j = 0; j < soa_model_nv(m); j++)
                tau[j] = cos(t + j);
            /* the count is not too strict */
            const soa_status wanted = which == 3 ? SOA_OK : SOA_E_HINGE_SINGULAR;
            expect("aba", "too many joints", soa_aba(m, w, q, tau, tau, NULL, 0, qdd), wanted);
            if (wanted) assert_int_equal(soa_work_failed_body(w), 1);
            expect("minv", "too many joints", soa_minv(m, w, q, Minv), wanted);
            expect("aba_batch", "too many joints", soa_aba_batch(m, b, 1, q, tau, tau, NULL, qdd),
                   wanted);
            expect("rnea", "too many joints", soa_rnea(m, w, q, tau, tau, NULL, 0, qdd), SOA_OK);
        }
        soa_batch_free(b);
        soa_work_free(w);
        soa_model_free(m);
    }
}
/* A massless ball joint with its neighbour's axis in one line of turns: not a matter of counting, D
 * itself shows it. */
static void ball_and_turn(void **state) {
    (void)state;
    soa_body_def bodies[2] = {soa_body_default("ball", 0, SOA_SPHERICAL),
                              soa_body_default("arm", 1, SOA_REVOLUTE)};
    for (int k = 0; k < 3; k++) {
        bodies[1].com[k] = 0.3 - 0.1 * k;
        bodies[1].inertia[k] = 0.3 + 0.05 * k;
    }
    bodies[1].mass = 2;
    soa_model_def def = soa_model_default("ball and turn", bodies, 2);
    const soa_model *m;
    OK(soa_model_create(&def, &m, NULL));
    soa_work *w;
    OK(soa_work_create(m, &w));
    double q[5], tau[4] = {1, 2, 3, 4}, qdd[4];
    for (int t = 0; t < 200; t++) { /* four turns about one point */
        for (int j = 0; j < 5; j++)
            q[j] = sin(1.7 * t + j);
        soa_q_normalise(m, q);
        expect("aba", "ball and turn", soa_aba(m, w, q, tau, tau, NULL, 0, qdd),
               SOA_E_HINGE_SINGULAR);
    }
    soa_work_free(w);
    soa_model_free(m);
}

/* --- definitions ------------------------------------------------------------------------------ */

typedef struct bad_definition {
    const char *fault;
    void (*spoil)(soa_model_def *def, soa_body_def *bodies, soa_frame_def *frames);
    soa_status status;
    int body;
} bad_definition;

#define SPOIL(name, action)                                                           \
    static void spoil_##name(soa_model_def *def, soa_body_def *b, soa_frame_def *f) { \
        (void)def;                                                                    \
        (void)b;                                                                      \
        (void)f;                                                                      \
        action;                                                                       \
    }
SPOIL(gravity, def->gravity[1] = NAN)
SPOIL(count, def->body_count = -1)
SPOIL(bodies, def->bodies = NULL)
SPOIL(frame_count, def->frame_count = -1)
SPOIL(frames, def->frames = NULL)
SPOIL(no_name, b[3].name = NULL)
SPOIL(empty_name, b[3].name = "")
SPOIL(same_link, b[6].name = b[2].name)
SPOIL(same_joint, b[6].joint_name = b[2].name)
SPOIL(frame_name, f[0].name = NULL)
SPOIL(parent_self, b[4].parent = 5)
SPOIL(parent_later, b[4].parent = 7)
SPOIL(parent_negative, b[4].parent = -1)
SPOIL(parent_far, b[4].parent = 1000000)
SPOIL(first_parent, b[0].parent = 1)
SPOIL(frame_link, f[0].link = BODIES + 1)
SPOIL(frame_link_negative, f[0].link = -1)
SPOIL(placement_scaled, b[2].placement.R[0] = 1.1)
SPOIL(placement_mirrored, for (int k = 0; k < 9; k++) b[2].placement.R[k] = -b[2].placement.R[k])
SPOIL(placement_nan, b[2].placement.R[4] = NAN)
SPOIL(placement_inf, b[2].placement.p[1] = INFINITY)
SPOIL(placement_zero, memset(b[2].placement.R, 0, sizeof b[2].placement.R))
SPOIL(frame_placement, f[0].placement.R[0] = 2)
SPOIL(type_low, b[1].joint.type = (soa_joint_type)-1)
SPOIL(type_high, b[1].joint.type = SOA_JOINT_TYPE_COUNT)
SPOIL(axis_zero, memset(b[1].joint.axis, 0, sizeof b[1].joint.axis))
SPOIL(axis_nan, b[1].joint.axis[0] = NAN)
SPOIL(axis_inf, b[1].joint.axis[0] = INFINITY)
SPOIL(axis2_zero, memset(b[7].joint.axis2, 0, sizeof b[7].joint.axis2))
SPOIL(axis2_parallel, memcpy(b[7].joint.axis2, b[7].joint.axis, sizeof b[7].joint.axis))
SPOIL(axis2_oblique, b[8].joint.axis2[2] = 0.1)
SPOIL(pitch, b[5].joint.pitch = NAN)
SPOIL(rotor_negative, b[1].joint.rotor_inertia = -1e-6)
SPOIL(rotor_nan, b[1].joint.rotor_inertia = NAN)
SPOIL(gear, b[1].joint.gear_ratio = INFINITY)
SPOIL(rotor_axis, b[1].joint.rotor_axis[2] = NAN)
SPOIL(rotor_multi, b[2].joint.rotor_inertia = 1e-4; b[2].joint.rotor_model = SOA_ROTOR_EXACT)
SPOIL(damping, b[1].joint.damping = -1)
SPOIL(friction, b[1].joint.friction_positive = -1)
SPOIL(friction2, b[1].joint.friction_negative = -1)
SPOIL(spring_free, b[0].joint.stiffness = 1)
SPOIL(spring_sphere, b[2].joint.stiffness = 1)
SPOIL(rest, b[1].joint.rest = NAN)
SPOIL(limit, b[1].joint.lower = NAN)
SPOIL(limit2, b[1].joint.max_effort = NAN)
SPOIL(mass_negative, b[3].mass = -1e-3)
SPOIL(mass_nan, b[3].mass = NAN)
SPOIL(mass_inf, b[3].mass = INFINITY)
SPOIL(com, b[3].com[2] = NAN)
SPOIL(inertia_nan, b[3].inertia[5] = NAN)
SPOIL(inertia_negative, b[3].inertia[0] = -1)
SPOIL(inertia_indefinite, b[3].inertia[3] = 10)
SPOIL(mimic_self, b[4].joint.mimic = 5)
SPOIL(mimic_pair, b[4].joint.mimic = 4; b[3].joint.mimic = 5)
SPOIL(mimic_three, b[1].joint.mimic = 5; b[4].joint.mimic = 4; b[3].joint.mimic = 2)
SPOIL(mimic_into_cycle, b[1].joint.mimic = 5; b[4].joint.mimic = 4; b[3].joint.mimic = 5)
SPOIL(mimic_far, b[4].joint.mimic = BODIES + 1)
SPOIL(mimic_world, b[4].joint.mimic = 0)
SPOIL(mimic_ball, b[4].joint.mimic = 3)
SPOIL(ball_mimics, b[2].joint.mimic = 2)
SPOIL(mimic_ratio, b[4].joint.mimic = 2; b[4].joint.mimic_ratio = NAN)
SPOIL(mimic_offset, b[4].joint.mimic = 2; b[4].joint.mimic_offset = INFINITY)

#define ROW(fault, name, status, body) \
    { fault, spoil_##name, status, body }
static const bad_definition bad_definitions[] = {
    ROW("gravity NaN", gravity, SOA_E_NOT_FINITE, -1),
    ROW("-1 bodies", count, SOA_E_ARGUMENT, -1),
    ROW("no bodies", bodies, SOA_E_ARGUMENT, -1),
    ROW("-1 frames", frame_count, SOA_E_ARGUMENT, -1),
    ROW("no frames", frames, SOA_E_ARGUMENT, -1),
    ROW("link without name", no_name, SOA_E_NAME, 4),
    ROW("link with an empty name", empty_name, SOA_E_NAME, 4),
    ROW("two links of one name", same_link, SOA_E_NAME, 7),
    ROW("two joints of one name", same_joint, SOA_E_NAME, 7),
    ROW("frame without name", frame_name, SOA_E_NAME, -1),
    ROW("own parent", parent_self, SOA_E_TREE, 5),
    ROW("parent after child", parent_later, SOA_E_TREE, 5),
    ROW("parent -1", parent_negative, SOA_E_TREE, 5),
    ROW("parent 1000000", parent_far, SOA_E_TREE, 5),
    ROW("first link on itself", first_parent, SOA_E_TREE, 1),
    ROW("frame on no link", frame_link, SOA_E_TREE, -1),
    ROW("frame on link -1", frame_link_negative, SOA_E_TREE, -1),
    ROW("stretched placement", placement_scaled, SOA_E_FRAME, 3),
    ROW("mirrored placement", placement_mirrored, SOA_E_FRAME, 3),
    ROW("NaN in a placement", placement_nan, SOA_E_FRAME, 3),
    ROW("infinity in a placement", placement_inf, SOA_E_FRAME, 3),
    ROW("zero placement", placement_zero, SOA_E_FRAME, 3),
    ROW("stretched frame", frame_placement, SOA_E_FRAME, -1),
    ROW("joint type -1", type_low, SOA_E_JOINT, 2),
    ROW("joint type past the last", type_high, SOA_E_JOINT, 2),
    ROW("zero axis", axis_zero, SOA_E_JOINT, 2),
    ROW("NaN in the axis", axis_nan, SOA_E_NOT_FINITE, 2),
    ROW("infinity in the axis", axis_inf, SOA_E_NOT_FINITE, 2),
    ROW("zero second axis", axis2_zero, SOA_E_JOINT, 8),
    ROW("parallel axes", axis2_parallel, SOA_E_JOINT, 8),
    ROW("planar with an oblique axis2", axis2_oblique, SOA_E_JOINT, 9),
    ROW("pitch NaN", pitch, SOA_E_NOT_FINITE, 6),
    ROW("negative rotor", rotor_negative, SOA_E_JOINT, 2),
    ROW("rotor NaN", rotor_nan, SOA_E_NOT_FINITE, 2),
    ROW("gear infinite", gear, SOA_E_NOT_FINITE, 2),
    ROW("rotor axis NaN", rotor_axis, SOA_E_NOT_FINITE, 2),
    ROW("exact rotor on a ball joint", rotor_multi, SOA_E_JOINT, 3),
    ROW("negative damping", damping, SOA_E_JOINT, 2),
    ROW("negative friction", friction, SOA_E_JOINT, 2),
    ROW("negative friction backwards", friction2, SOA_E_JOINT, 2),
    ROW("spring on a free joint", spring_free, SOA_E_JOINT, 1),
    ROW("spring on a ball joint", spring_sphere, SOA_E_JOINT, 3),
    ROW("rest NaN", rest, SOA_E_NOT_FINITE, 2),
    ROW("limit NaN", limit, SOA_E_NOT_FINITE, 2),
    ROW("effort NaN", limit2, SOA_E_NOT_FINITE, 2),
    ROW("negative mass", mass_negative, SOA_E_INERTIA, 4),
    ROW("mass NaN", mass_nan, SOA_E_NOT_FINITE, 4),
    ROW("mass infinite", mass_inf, SOA_E_NOT_FINITE, 4),
    ROW("com NaN", com, SOA_E_NOT_FINITE, 4),
    ROW("inertia NaN", inertia_nan, SOA_E_NOT_FINITE, 4),
    ROW("negative inertia", inertia_negative, SOA_E_INERTIA, 4),
    ROW("indefinite inertia", inertia_indefinite, SOA_E_INERTIA, 4),
    ROW("mimic of itself", mimic_self, SOA_E_MIMIC, 5),
    ROW("mimic pair", mimic_pair, SOA_E_MIMIC, 4),
    ROW("mimic cycle of three", mimic_three, SOA_E_MIMIC, 2),
    ROW("mimic of a cycle", mimic_into_cycle, SOA_E_MIMIC, 2),
    ROW("mimic of no link", mimic_far, SOA_E_MIMIC, 5),
    ROW("mimic of the world", mimic_world, SOA_E_MIMIC, 5),
    ROW("mimic of a ball joint", mimic_ball, SOA_E_MIMIC, 5),
    ROW("mimicking ball joint", ball_mimics, SOA_E_MIMIC, 3),
    ROW("mimic ratio NaN", mimic_ratio, SOA_E_NOT_FINITE, 5),
    ROW("mimic offset infinite", mimic_offset, SOA_E_NOT_FINITE, 5),
};

static void definitions(void **state) {
    (void)state;
    static _Alignas(64) unsigned char memory[1 << 17];
    for (int k = -1; k < COUNT(bad_definitions); k++) { /* -1: nothing is wrong */
        soa_body_def bodies[BODIES];
        soa_frame_def frames[1] = {{.name = "tool", .link = 2, .placement = soa_frame_identity()}};
        define(bodies, 0);
        soa_model_def def = soa_model_default("def", bodies, BODIES);
        def.frames = frames;
        def.frame_count = 1;
        const bad_definition *bad = k < 0 ? NULL : &bad_definitions[k];
        if (bad != NULL) bad->spoil(&def, bodies, frames);
        const char *fault = bad != NULL ? bad->fault : "nothing";
        for (int way = 0; way < 3; way++) {
            static const char *const name[3] = {"model_size", "model_build", "model_create"};
            soa_report report = {SOA_OK, -7, -7, ""};
            size_t size = 12345;
            /* a value to be left alone */
            const soa_model *model = (const soa_model *)(const void *)&report;
            const soa_model *const before = model;
            memset(memory, canary, sizeof memory);
            soa_status got;
            if (way == 0)
                got = soa_model_size(&def, &size, &report);
            else if (way == 1)
                got = soa_model_init(&def, memory, sizeof memory, &model, &report);
            else
                got = soa_model_create(&def, &model, &report);
            expect(name[way], fault, got, bad != NULL ? bad->status : SOA_OK);
            if (bad == NULL) {
                if (way == 2) soa_model_free(model);
                continue;
            }
            assert_int_equal(report.status, bad->status);
            if (report.body != bad->body)
                fail_msg("%s, %s: body %d is named, expected %d", name[way], fault, report.body,
                         bad->body);
            assert_int_equal(report.line, 0);
            if (strlen(report.text) < 10) fail_msg("%s, %s: no text", name[way], fault);
            assert_int_equal(size, 12345);
            assert_ptr_equal(model, before);
            for (size_t i = 0; i < sizeof memory; i++)
                if (memory[i] != canary) fail_msg("%s, %s: memory was written", name[way], fault);
            /* without a report the same status */
            soa_status quiet;
            if (way == 0) {
                quiet = soa_model_size(&def, &size, NULL);
            } else if (way == 1) {
                quiet = soa_model_init(&def, memory, sizeof memory, &model, NULL);
            } else {
                quiet = soa_model_create(&def, &model, NULL);
            }
            assert_int_equal(quiet, bad->status);
        }
    }
    printf("%d bad definitions refused in three ways\n", COUNT(bad_definitions));
}

static const soa_model *defined_model(void) {
    soa_body_def bodies[BODIES];
    define(bodies, 1);
    const soa_model_def def = soa_model_default("def", bodies, BODIES);
    const soa_model *m = NULL;
    OK(soa_model_create(&def, &m, NULL));
    return m;
}
/* Memory that is too small, misaligned or missing; missing pointers. */
static _Alignas(64) unsigned char block[1 << 20];
static void model_memory(void **state) {
    (void)state;
    soa_body_def bodies[BODIES];
    define(bodies, 1);
    soa_model_def def = soa_model_default("def", bodies, BODIES);
    const soa_model *m = NULL;
    soa_report report;
    size_t size = 0;
    OK(soa_model_size(&def, &size, NULL));
    expect("model_build", "too small", soa_model_init(&def, block, size - 1, &m, &report),
           SOA_E_MEMORY);
    expect("model_build", "misaligned",
           soa_model_init(&def, block + 8, sizeof block - 8, &m, &report), SOA_E_MEMORY);
    expect("model_build", "no memory", soa_model_init(&def, NULL, size, &m, &report), SOA_E_MEMORY);
    expect("model_size", "no definition", soa_model_size(NULL, &size, &report), SOA_E_ARGUMENT);
    expect("model_build", "no definition", soa_model_init(NULL, block, sizeof block, &m, &report),
           SOA_E_ARGUMENT);
    expect("model_create", "no definition", soa_model_create(NULL, &m, &report), SOA_E_ARGUMENT);
    expect("model_create", "no model", soa_model_create(&def, NULL, &report), SOA_E_ARGUMENT);
    assert_null(m);
    OK(soa_model_init(&def, block, size, &m, &report));
    assert_ptr_equal(m, block);
}
static void work_memory(void **state) {
    (void)state;
    const soa_model *m = defined_model();
    const size_t need = soa_work_size(m);
    soa_work *w = NULL;
    assert_true(need > 0 && need + 32 < sizeof block);
    expect("work_init", "too small", soa_work_init(m, block, need - 1, &w), SOA_E_MEMORY);
    expect("work_init", "misaligned", soa_work_init(m, block + 32, need, &w), SOA_E_MEMORY);
    expect("work_init", "no memory", soa_work_init(m, NULL, need, &w), SOA_E_MEMORY);
    expect("work_init", "no model", soa_work_init(NULL, block, need, &w), SOA_E_ARGUMENT);
    expect("work_init", "no work", soa_work_init(m, block, need, NULL), SOA_E_ARGUMENT);
    expect("work_create", "no model", soa_work_create(NULL, &w), SOA_E_ARGUMENT);
    expect("work_create", "no work", soa_work_create(m, NULL), SOA_E_ARGUMENT);
    assert_null(w);
    soa_model_free(m);
}
static void batch_memory(void **state) {
    (void)state;
    const soa_model *m = defined_model();
    const size_t need = soa_batch_size(m);
    soa_batch *b = NULL;
    assert_true(need > 0 && need + 32 < sizeof block);
    expect("batch_init", "too small", soa_batch_init(m, block, need - 1, &b), SOA_E_MEMORY);
    expect("batch_init", "misaligned", soa_batch_init(m, block + 32, need, &b), SOA_E_MEMORY);
    expect("batch_init", "no memory", soa_batch_init(m, NULL, need, &b), SOA_E_MEMORY);
    expect("batch_init", "no model", soa_batch_init(NULL, block, need, &b), SOA_E_ARGUMENT);
    expect("batch_init", "no batch", soa_batch_init(m, block, need, NULL), SOA_E_ARGUMENT);
    expect("batch_create", "no model", soa_batch_create(NULL, &b), SOA_E_ARGUMENT);
    expect("batch_create", "no batch", soa_batch_create(m, NULL), SOA_E_ARGUMENT);
    assert_null(b);
    soa_model_free(m);
}
static void bodies_and_frames(void **state) {
    (void)state;
    const soa_model *m = defined_model();
    soa_body_info info;
    soa_frame_info frame;
    expect("body", "0", soa_model_body(m, 0, &info), SOA_E_ARGUMENT);
    expect("body", "past the last", soa_model_body(m, BODIES + 1, &info), SOA_E_ARGUMENT);
    expect("body", "no model", soa_model_body(NULL, 1, &info), SOA_E_ARGUMENT);
    expect("body", "no info", soa_model_body(m, 1, NULL), SOA_E_ARGUMENT);
    expect("frame_get", "-1", soa_model_frame(m, -1, &frame), SOA_E_ARGUMENT);
    expect("frame_get", "past the last", soa_model_frame(m, soa_model_frame_count(m), &frame),
           SOA_E_ARGUMENT);
    expect("frame_get", "no model", soa_model_frame(NULL, 0, &frame), SOA_E_ARGUMENT);
    expect("frame_get", "no info", soa_model_frame(m, 0, NULL), SOA_E_ARGUMENT);
    expect("inertial_parameters", "NULL", soa_model_inertial_parameters(m, NULL), SOA_E_ARGUMENT);
    assert_int_equal(soa_model_find_frame(m, "nobody"), -1);
    assert_int_equal(soa_model_find_joint(m, "nobody"), -1);
    assert_int_equal(soa_model_find_frame(NULL, "a"), -1);
    assert_int_equal(soa_model_find_joint(m, NULL), -1);
    soa_model_free(m);
}
static void copies(void **state) {
    (void)state;
    const soa_model *m = defined_model(), *copy = NULL;
    static const double down[3] = {0, 0, -1}, nan[3] = {0, NAN, 0};
    expect("with_gravity", "NaN", soa_model_with_gravity(m, nan, &copy), SOA_E_NOT_FINITE);
    expect("with_gravity", "no model", soa_model_with_gravity(NULL, down, &copy), SOA_E_ARGUMENT);
    expect("with_gravity", "no gravity", soa_model_with_gravity(m, NULL, &copy), SOA_E_ARGUMENT);
    expect("with_gravity", "no copy", soa_model_with_gravity(m, down, NULL), SOA_E_ARGUMENT);
    expect("without", "no model", soa_model_without_losses(NULL, SOA_FRICTION, &copy),
           SOA_E_ARGUMENT);
    expect("without", "no copy", soa_model_without_losses(m, SOA_FRICTION, NULL), SOA_E_ARGUMENT);
    expect("without", "no such loss", soa_model_without_losses(m, 4, &copy), SOA_E_ARGUMENT);
    assert_null(copy);
    soa_model_free(m);
}
static void saving_and_loading(void **state) {
    (void)state;
    const soa_model *m = defined_model(), *copy = NULL;
    const size_t size = soa_model_bytes(m);
    soa_report report;
    expect("save", "no path", soa_model_save(m, NULL, &report), SOA_E_ARGUMENT);
    expect("save", "no model", soa_model_save(NULL, "x", &report), SOA_E_ARGUMENT);
    expect("save", "no directory", soa_model_save(m, "/nonexistent/model.soam", &report),
           SOA_E_FILE);
    expect("load", "no path", soa_model_load(NULL, &copy, &report), SOA_E_ARGUMENT);
    expect("load", "no model", soa_model_load("x", NULL, &report), SOA_E_ARGUMENT);
    expect("load", "no file", soa_model_load("/nonexistent/model.soam", &copy, &report),
           SOA_E_FILE);
    expect("from_bytes", "no buffer", soa_model_from_bytes(NULL, 10, &copy, &report),
           SOA_E_ARGUMENT);
    expect("from_bytes", "no model", soa_model_from_bytes(m, size, NULL, &report), SOA_E_ARGUMENT);
    assert_null(copy);
    soa_model_free(m);
}
/* NULLs and numbers without a name that do no harm. */
static void harmless(void **state) {
    (void)state;
    assert_int_equal(soa_work_size(NULL), 0);
    assert_int_equal(soa_batch_size(NULL), 0);
    assert_int_equal(soa_work_failed_body(NULL), -1);
    assert_int_equal(soa_batch_failed_state(NULL), -1);
    assert_int_equal(soa_batch_failed_body(NULL), -1);
    soa_model_free(NULL);
    soa_work_free(NULL);
    soa_batch_free(NULL);
    for (int s = -1; s <= SOA_STATUS_COUNT; s++)
        assert_non_null(soa_status_text((soa_status)s));
    assert_non_null(soa_joint_type_name((soa_joint_type)99));
}
static void dh_chains(void **state) {
    (void)state;
    soa_dh_row row = soa_dh_row_default(1, 0, 0);
    soa_body_def body;
    soa_frame_def frame;
    char names[SOA_DH_NAME];
    const soa_dh_chain_def good = {.rows = &row, .count = 1, .prefix = "a"};
    soa_dh_chain_def chain = good;
    expect("dh_chain", "no names", soa_dh_chain_append(&chain, &body, 0, &frame, 0, NULL),
           SOA_E_ARGUMENT);
    chain.rows = NULL;
    expect("dh_chain", "no rows", soa_dh_chain_append(&chain, &body, 0, &frame, 0, names),
           SOA_E_ARGUMENT);
    chain = good;
    chain.parent = 1;
    expect("dh_chain", "parent to come", soa_dh_chain_append(&chain, &body, 0, &frame, 0, names),
           SOA_E_ARGUMENT);
    chain = good;
    chain.prefix = "a prefix that is far too long to fit";
    expect("dh_chain", "long prefix", soa_dh_chain_append(&chain, &body, 0, &frame, 0, names),
           SOA_E_NAME);
}

/* A model without bodies is a model: every call answers. */
static void empty_model(void **state) {
    (void)state;
    soa_model_def def = soa_model_default("empty", NULL, 0);
    const soa_model *m = NULL;
    OK(soa_model_create(&def, &m, NULL));
    context c = open_context(m);
    for (int k = 0; k < COUNT(calls); k++)
        expect(calls[k].name, "no bodies", calls[k].run(&c), SOA_OK);
    soa_batch *b;
    OK(soa_batch_create(m, &b));
    OK(soa_aba_batch(m, b, 3, c.q, c.v, c.tau, NULL, c.out));
    OK(soa_crba_batch(m, b, 3, c.q, c.out));
    soa_batch_free(b);
    close_context(&c);
}

/* --- an allocator that says no ---------------------------------------------------------------- */

/* Makes something while one allocation is refused; releases what was made.  left: a result that a
 * failure wrote; injected: whether it came to the refusal. */
static soa_status make(int what, const soa_model_def *def, const soa_model *model, const char *path,
                       const void **left, int *injected) {
    const soa_model *made = NULL;
    soa_work *w = NULL;
    soa_batch *b = NULL;
    soa_report report;
    size_t size;
    static _Alignas(64) unsigned char memory[1 << 20];
    static const double gravity[3] = {1, 2, 3};
    soa_status s = SOA_OK;
    switch (what) {
    case 0: s = soa_model_create(def, &made, &report); break;
    case 1: s = soa_model_size(def, &size, &report); break;
    case 2: s = soa_model_init(def, memory, sizeof memory, &made, &report); break;
    case 3: s = soa_work_create(model, &w); break;
    case 4: s = soa_batch_create(model, &b); break;
    case 5: s = soa_model_with_gravity(model, gravity, &made); break;
    case 6: s = soa_model_load(path, &made, &report); break;
    case 7: s = soa_model_save(model, path, &report); break;
    default: s = soa_stock_model_create("humanoid", NULL, &made, &report); break;
    }
    *injected = until_failure < 0;
    until_failure = -1;
    if (s != SOA_OK) {
        if (made != NULL) {
            *left = (const void *)made;
        } else if (w != NULL) {
            *left = (const void *)w;
        } else {
            *left = (const void *)b;
        }
    }
    if (s == SOA_OK && what != 2) soa_model_free(made);
    if (s == SOA_OK) {
        soa_work_free(w);
        soa_batch_free(b);
    }
    return s;
}

static void out_of_memory(void **state) {
    (void)state;
    if (!CAN_FAIL) {
        printf("the allocator belongs to a sanitizer here: skipped\n");
        skip();
    }
    static const char *const name[] = {"model_create", "model_size",   "model_build",
                                       "work_create",  "batch_create", "model_with_gravity",
                                       "model_load",   "model_save",   "stock_model"};
    char path[] = "/tmp/soa_test_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    soa_body_def bodies[BODIES];
    define(bodies, 1);
    soa_model_def def = soa_model_default("def", bodies, BODIES);
    const soa_model *model = mechanism(1);
    for (int what = 0; what < COUNT(name); what++) {
        OK(soa_model_save(model, path, NULL));
        int refusals = 0, spared = 0, injected = 1;
        for (long n = 0; injected; n++) {
            const void *left = NULL;
            const long before = live;
            until_failure = n;
            const soa_status s = make(what, &def, model, path, &left, &injected);
            const long leaked = live - before;
            assert_true(n < 1000);
            if (s == SOA_OK) { /* libc may do without: qsort's room, a stream's buffer */
                spared += injected;
            } else {
                refusals++;
                assert_true(injected);
                if (s != SOA_E_MEMORY && !(s == SOA_E_FILE && (what == 6 || what == 7)))
                    fail_msg("%s, allocation %ld: got \"%s\"", name[what], n, soa_status_text(s));
                if (left != NULL)
                    fail_msg("%s, allocation %ld: failed, yet wrote its result", name[what], n);
            }
            if (leaked != 0)
                fail_msg("%s, allocation %ld: %ld allocations leaked", name[what], n, leaked);
        }
        printf("  %s: %d allocations refused, %d more not missed\n", name[what], refusals, spared);
        assert_true(refusals > 0);
    }
    soa_model_free(model);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_finite),
                                       cmocka_unit_test(quaternions),
                                       cmocka_unit_test(arguments),
                                       cmocka_unit_test(wrenches),
                                       cmocka_unit_test(readers),
                                       cmocka_unit_test(taken_by_others),
                                       cmocka_unit_test(manifold),
                                       cmocka_unit_test(batches),
                                       cmocka_unit_test(single_precision),
                                       cmocka_unit_test(massless_tips),
                                       cmocka_unit_test(singular_in_one_state),
                                       cmocka_unit_test(too_many_joints),
                                       cmocka_unit_test(ball_and_turn),
                                       cmocka_unit_test(definitions),
                                       cmocka_unit_test(model_memory),
                                       cmocka_unit_test(work_memory),
                                       cmocka_unit_test(batch_memory),
                                       cmocka_unit_test(bodies_and_frames),
                                       cmocka_unit_test(copies),
                                       cmocka_unit_test(saving_and_loading),
                                       cmocka_unit_test(harmless),
                                       cmocka_unit_test(dh_chains),
                                       cmocka_unit_test(empty_model),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
