/* compare_calls.c  the calls that `make compare` measures, on one version of libsoa.
 *
 * Compiled once with the headers of each version (compare_calls.h).  With those of version 0.1,
 * compare_names_0_1.h supplies the names and structs of 0.2. */
#include "compare_calls.h"

#include "soa/base.h"
#if SOA_VERSION_MAJOR == 0 && SOA_VERSION_MINOR == 1
#include "compare_names_0_1.h"
#else
#include "soa/embedding.h"
#include "soa/forms.h"
#include "soa/grasp.h"
#include "soa/operator.h"
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 16     /* random states of a machine; batch calls compute all of them */
#define LOOPS 4       /* at most so many tips are tied to the world */
#define PLANS 6       /* named forms that are run as plans */
#define MOST_DENSE 40 /* nv up to which dense operators are formed */
#define MOST_SUMS 40  /* nv up to which closed sums are formed, O(n^2) and more */
#define AGREE 1e-10   /* relative difference of answers; both versions solve the same equations */
#define AGREE_SOLVED 1e-8 /* of answers that lose digits with the condition of a matrix */
#define AGREE_FLOAT 1e-3
#define AGREE_FLOAT_FD 2e-2 /* of accelerations, which are as good as M is conditioned */
#define ABSENT ((soa_status)COMPARE_ABSENT)
#define PAGE 4096
#define LINE 64    /* of the cache */
#define IK_STEPS 8 /* of inverse kinematics; both versions stop there or earlier */

struct compare_machine {
    const soa_model *model;
    char *pool; /* holds the work spaces */
    soa_work *work;
    soa_batch *batch;
    soa_tip_work *tip_work;
    soa_divide *divide;
    soa_constraints *constraints;
    soa_embedding *embedding;
    soa_grasp *grasp;
    soa_machine *machine;
    soa_plan *plans[PLANS];
    int nq, nv, bodies;
    int tip, other_tip; /* frames of bodies without children */
    int loop_rows, contacts;
    double *q, *v, *a, *tau, *x; /* STATES of each */
    float *qf, *vf, *af, *tauf, *outf;
    soa_wrench wrenches[2];
    unsigned char *primary;
    void *memory; /* for calls that need some */
    size_t memory_bytes;
    double *out;
    long count;       /* numbers of the answer in out */
    double *scratch;  /* results that are not compared */
    double *guess;    /* nq numbers */
    float *as_floats; /* the answer, if it is in float */
};
typedef compare_machine machine;

/* --- memory and states ------------------------------------------------------------------------ */
static void *need(size_t count, size_t size) {
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "compare: no memory for %zu numbers\n", count);
        exit(2);
    }
    return p;
}

/* Splitmix: the same states for both versions, on every machine. */
static double uniform(uint64_t *seed) {
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return 2.0 * (double)((z ^ z >> 31) >> 11) / 9007199254740992.0 - 1.0;
}

static void random_state(machine *m, uint64_t *seed, int k) {
    double *tangent = m->scratch;
    double *neutral = m->scratch + m->nv;
    soa_q_neutral(m->model, neutral);
    for (int i = 0; i < m->nv; ++i) {
        const long at = (long)k * m->nv + i;
        tangent[i] = 1.5 * uniform(seed);
        m->v[at] = uniform(seed);
        m->a[at] = uniform(seed);
        m->tau[at] = uniform(seed);
        m->x[at] = uniform(seed);
    }
    soa_q_integrate(m->model, neutral, tangent, 1.0, m->q + (long)k * m->nq);
}

static float *as_float(const double *x, long n) {
    float *f = need((size_t)n, sizeof *f);
    for (long i = 0; i < n; ++i)
        f[i] = (float)x[i];
    return f;
}

static void make_states(machine *m) {
    const long nq = (long)STATES * m->nq, nv = (long)STATES * m->nv;
    uint64_t seed = 20;
    m->q = need((size_t)nq, sizeof(double));
    m->v = need((size_t)nv, sizeof(double));
    m->a = need((size_t)nv, sizeof(double));
    m->tau = need((size_t)nv, sizeof(double));
    m->x = need((size_t)nv, sizeof(double));
    for (int k = 0; k < STATES; ++k)
        random_state(m, &seed, k);
    m->qf = as_float(m->q, nq);
    m->vf = as_float(m->v, nv);
    m->af = as_float(m->a, nv);
    m->tauf = as_float(m->tau, nv);
}

/* A multiple of the cache line, less than a page. */
static size_t line_in_page(uint64_t *seed) {
    return (size_t)((uniform(seed) + 1) * (PAGE / LINE / 2)) * LINE;
}

/* --- machines --------------------------------------------------------------------------------- */
static bool is_tip(const machine *m, int body) {
    for (int i = body + 1; i <= m->bodies; ++i) {
        soa_body_info info;
        if (soa_model_body(m->model, i, &info) == SOA_OK && info.parent == body) return false;
    }
    return true;
}

/* Frames of up to `most` tips, the last bodies first. */
static int find_tips(const machine *m, int *frames, int most) {
    int count = 0;
    for (int body = m->bodies; body >= 1 && count < most; --body) {
        soa_body_info info;
        if (is_tip(m, body) && soa_model_body(m->model, body, &info) == SOA_OK)
            frames[count++] = info.frame;
    }
    return count;
}

static soa_status add_loop(machine *m, soa_constraint_def *def) {
    soa_report report;
    const soa_status status = soa_constraints_add(m->constraints, def, NULL, &report);
    if (status != SOA_OK) fprintf(stderr, "compare: constraint: %s\n", report.text);
    return status;
}

/* The loop of the stock model four-bar: its coupler, 0.9 m, meets its rocker, 0.7 m; the crank,
 * 0.4 m, is upright at q = 0, and the base is 1 m long. */
static soa_status close_four_bar(machine *m) {
    const double a = 0.4, b = 0.9, r = 0.7, hypotenuse = sqrt(1 + a * a);
    const double along = (b * b - r * r + 1 + a * a) / (2 * hypotenuse);
    const double up = sqrt(b * b - along * along);
    const double e[2] = {1 / hypotenuse, -a / hypotenuse};
    const double pin[2] = {along * e[0] - up * e[1], a + along * e[1] + up * e[0]};
    soa_body_info coupler, rocker;
    soa_model_body(m->model, 2, &coupler);
    soa_model_body(m->model, 3, &rocker);
    soa_constraint_def def = soa_constraint_default(SOA_LOOP, coupler.frame, rocker.frame);
    def.joint = SOA_REVOLUTE;
    def.axis[0] = 0;
    def.axis[1] = -1;
    def.axis[2] = 0;
    def.place1.p[0] = pin[0];
    def.place1.p[2] = pin[1] - a;
    def.place2.p[0] = pin[0] - 1;
    def.place2.p[2] = pin[1];
    return add_loop(m, &def);
}

/* Ties the origins of the tips to where they are in the world at state 0. */
static soa_status tie_tips(machine *m, const int *tips, int count) {
    soa_status status = soa_kinematics(m->model, m->work, m->q, NULL, NULL);
    for (int i = 0; i < count && status == SOA_OK; ++i) {
        soa_constraint_def def = soa_constraint_default(SOA_LOOP, tips[i], 0);
        def.joint = SOA_SPHERICAL;
        status = soa_pose(m->model, m->work, tips[i], &def.place2);
        if (status == SOA_OK) status = add_loop(m, &def);
    }
    return status;
}

static void make_constraints(machine *m, const char *name) {
    int tips[LOOPS];
    const bool four_bar = strcmp(name, "four-bar") == 0;
    const int most = m->nv > 12 ? LOOPS : 1;
    const soa_constraint_capacity capacity = {.constraints = LOOPS, .rows = 6 * LOOPS, .dense = 1};
    if (soa_constraints_create(m->model, &capacity, &m->constraints) != SOA_OK) exit(2);
    if (four_bar) {
        soa_q_neutral(m->model, m->q);
        if (close_four_bar(m) != SOA_OK) exit(2);
    } else if (tie_tips(m, tips, find_tips(m, tips, most)) != SOA_OK) {
        fprintf(stderr, "compare: the tips of %s cannot be tied\n", name);
        exit(2);
    }
    m->loop_rows = soa_constraints_row_count(m->constraints);
}

/* Primary joints: the crank of the four-bar; all but three of the arm with seven joints. */
static void make_embedding(machine *m, const char *name) {
    soa_report report;
    const bool four_bar = strcmp(name, "four-bar") == 0;
    m->primary = need((size_t)m->nv, 1);
    if (!four_bar && strcmp(name, "arm7") != 0) return;
    for (int i = 0; i < m->nv; ++i)
        m->primary[i] = four_bar ? i == 0 : i != 1 && i != 3 && i != 4;
    soa_embedding_def def = soa_embedding_default(m->primary);
    def.constraints = m->constraints;
    if (soa_embedding_create(m->model, &def, &m->embedding, &report) != SOA_OK)
        fprintf(stderr, "compare: embedding of %s: %s\n", name, report.text);
}

static const char *const plan_forms[PLANS] = {"FD1", "FD2", "FD3", "FD4", "ID", "compliance"};

/* Operators refuse exact rotors and mimic joints; such machines have no plans. */
static void make_plans(machine *m) {
    const int tips[2] = {m->tip, m->other_tip};
    const int count = m->tip != m->other_tip ? 2 : 1;
    soa_report report;
    char text[256];
    if (soa_machine_create(m->model, tips, count, &m->machine, &report) != SOA_OK) return;
    const int size = soa_machine_space_size(m->machine, SOA_SPACE_TIP);
    for (int i = 0; i < size; ++i)
        m->scratch[i] = 0.1 * (i + 1);
    soa_machine_set_state(m->machine, m->q, m->v, m->a, m->tau, m->scratch, NULL, 0);
    for (int i = 0; i < PLANS; ++i) {
        const soa_expr *expr = NULL;
        if (soa_expr_from_form(plan_forms[i], &expr) != SOA_OK ||
            soa_plan_create(m->machine, expr, &m->plans[i], text, sizeof text) != SOA_OK) {
            fprintf(stderr, "compare: no plan for %s\n", plan_forms[i]);
            exit(2);
        }
        soa_expr_free(expr);
    }
}

/* Two arms of seven joints, and a box of 2 kg that both hold. */
static const soa_model *two_arms(void) {
    soa_body_def bodies[15];
    static char names[15][8];
    const soa_model *model = NULL;
    soa_report report;
    for (int i = 0; i < 14; ++i) {
        snprintf(names[i], sizeof names[i], "%s%d", i < 7 ? "left" : "right", i % 7);
        bodies[i] = soa_body_default(names[i], i % 7 == 0 ? 0 : i, SOA_REVOLUTE);
        bodies[i].joint.axis[0] = i % 2 == 0 ? 0 : 1;
        bodies[i].joint.axis[2] = i % 2 == 0 ? 1 : 0;
        bodies[i].placement.p[0] = i == 7 ? 0.8 : 0;
        bodies[i].placement.p[2] = i % 7 == 0 ? 0 : 0.2;
        bodies[i].joint.damping = 0.1;
        soa_body_box(&bodies[i], 3.0 - 0.3 * (i % 7), 0.1, 0.12, 0.2);
        bodies[i].com[2] = 0.1;
    }
    snprintf(names[14], sizeof names[14], "object");
    bodies[14] = soa_body_default(names[14], 0, SOA_FREE);
    soa_body_box(&bodies[14], 2.0, 0.3, 0.2, 0.1);
    const soa_model_def def = soa_model_default("two-arms", bodies, 15);
    if (soa_model_create(&def, &model, &report) != SOA_OK)
        fprintf(stderr, "compare: two-arms: %s\n", report.text);
    return model;
}

/* Rigid contacts that are closed at state 0. */
static void make_grasp(machine *m) {
    soa_frame object, arm;
    soa_body_info body;
    soa_report report;
    soa_model_body(m->model, 15, &body);
    const int object_frame = body.frame;
    if (soa_grasp_create(m->model, 2, &m->grasp) != SOA_OK) exit(2);
    soa_kinematics(m->model, m->work, m->q, NULL, NULL);
    soa_pose(m->model, m->work, object_frame, &object);
    for (int i = 7; i <= 14; i += 7) {
        soa_model_body(m->model, i, &body);
        soa_pose(m->model, m->work, body.frame, &arm);
        soa_contact_def def = soa_contact_default(SOA_CONTACT_RIGID, body.frame, object_frame);
        const soa_frame inverse = soa_frame_inverse(&object);
        def.place_object = soa_frame_compose(&inverse, &arm);
        if (soa_grasp_add(m->grasp, &def, NULL, &report) != SOA_OK) {
            fprintf(stderr, "compare: contact: %s\n", report.text);
            exit(2);
        }
    }
    m->contacts = 2;
}

/* The largest answers are batches of mass matrices and regressors. */
static void make_room(machine *m) {
    const size_t nv = (size_t)m->nv, bodies = (size_t)m->bodies;
    const size_t most = STATES * nv * nv + 10 * nv * (bodies + 10) + 36 * bodies + 10000;
    const size_t operational = soa_operational_space_size(m->model, 2);
    const size_t forces = soa_fd_constraint_forces_size(m->model);
    m->memory_bytes = operational > forces ? operational : forces;
    m->memory = need(1, m->memory_bytes);
    m->out = need(most, sizeof(double));
    m->scratch = need(most, sizeof(double));
    m->outf = need(most, sizeof(float));
    m->guess = need((size_t)m->nq, sizeof(double));
}

static void make_work_spaces(machine *m, int place) {
    const size_t work = soa_work_size(m->model), batch = soa_batch_size(m->model);
    const size_t tips = soa_tip_work_size(m->model), room = work + batch + tips + 8 * PAGE;
    uint64_t seed = (uint64_t)place + 1;
    m->pool = aligned_alloc(PAGE, (room / PAGE + 1) * PAGE);
    if (m->pool == NULL) exit(2);
    char *at = m->pool + line_in_page(&seed);
    if (soa_work_init(m->model, at, work, &m->work) != SOA_OK) exit(2);
    at += (work / PAGE + 1) * PAGE + line_in_page(&seed);
    at -= (size_t)(at - m->pool) % LINE;
    if (soa_batch_init(m->model, at, batch, &m->batch) != SOA_OK) exit(2);
    at += (batch / PAGE + 1) * PAGE + line_in_page(&seed);
    at -= (size_t)(at - m->pool) % LINE;
    if (soa_tip_work_init(m->model, at, tips, &m->tip_work) != SOA_OK) exit(2);
}

static compare_machine *machine_open(const char *name, const char *path, int place) {
    machine *m = need(1, sizeof *m);
    soa_report report;
    int tips[2];
    if (path == NULL) {
        m->model = two_arms();
    } else if (soa_model_load(path, &m->model, &report) != SOA_OK) {
        fprintf(stderr, "compare: %s: %s\n", path, report.text);
    }
    if (m->model == NULL) {
        free(m);
        return NULL;
    }
    m->nq = soa_model_nq(m->model);
    m->nv = soa_model_nv(m->model);
    m->bodies = soa_model_body_count(m->model);
    make_room(m);
    make_states(m);
    make_work_spaces(m, place);
    m->other_tip = find_tips(m, tips, 2) == 2 ? tips[1] : tips[0];
    m->tip = tips[0];
    for (int i = 0; i < 2; ++i) {
        m->wrenches[i].frame = i == 0 ? m->tip : m->other_tip;
        m->wrenches[i].axes = i == 0 ? SOA_AXES_WORLD : SOA_AXES_BODY;
        for (int j = 0; j < 6; ++j)
            m->wrenches[i].value[j] = 1 + i + j;
    }
    if (path == NULL) {
        make_grasp(m);
    } else {
        make_constraints(m, name);
        make_embedding(m, name);
    }
    if (soa_divide_create(m->model, 1, &m->divide) != SOA_OK) m->divide = NULL;
    make_plans(m);
    return m;
}

static void machine_close(compare_machine *m) {
    for (int i = 0; i < PLANS; ++i)
        soa_plan_free(m->plans[i]);
    soa_machine_free(m->machine);
    soa_divide_free(m->divide);
    soa_grasp_free(m->grasp);
    soa_embedding_free(m->embedding);
    soa_constraints_free(m->constraints);
    free(m->pool);
    soa_model_free(m->model);
    double *const doubles[] = {m->q, m->v, m->a, m->tau, m->x, m->out, m->scratch, m->guess};
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; ++i)
        free(doubles[i]);
    float *const floats[] = {m->qf, m->vf, m->af, m->tauf, m->outf};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; ++i)
        free(floats[i]);
    free(m->memory);
    free(m->primary);
    free(m);
}

/* --- one state -------------------------------------------------------------------------------- */
static const double *row(const double *x, int length, int state) {
    return x + (long)state * length;
}
static const double *q_of(const machine *m, int k) {
    return row(m->q, m->nq, k);
}
static const double *v_of(const machine *m, int k) {
    return row(m->v, m->nv, k);
}
static const double *a_of(const machine *m, int k) {
    return row(m->a, m->nv, k);
}
static const double *tau_of(const machine *m, int k) {
    return row(m->tau, m->nv, k);
}
static const double *x_of(const machine *m, int k) {
    return row(m->x, m->nv, k);
}
/* Everything of state k.  Closed machines keep the positions of state 0, where they are closed. */
static soa_input input_of(const machine *m, int k) {
    soa_input in = {0};
    in.q = q_of(m, k);
    in.v = v_of(m, k);
    in.a = a_of(m, k);
    in.tau = tau_of(m, k);
    return in;
}
static soa_input closed_input_of(const machine *m, int k) {
    soa_input in = input_of(m, k);
    in.q = q_of(m, 0);
    return in;
}
static long square(const machine *m) {
    return (long)m->nv * m->nv;
}

typedef soa_status call_fn(machine *m, int k);

/* The answer has `count` numbers in m->out. */
static soa_status answers(machine *m, long count, soa_status status) {
    m->count = count;
    m->as_floats = NULL;
    return status;
}
static soa_status answers_float(machine *m, long count, soa_status status) {
    m->count = count;
    m->as_floats = m->outf;
    return status;
}

static soa_status fd(machine *m, int k) {
    return answers(
        m, m->nv,
        soa_aba(m->model, m->work, q_of(m, k), v_of(m, k), tau_of(m, k), NULL, 0, m->out));
}
static soa_status id(machine *m, int k) {
    return answers(
        m, m->nv, soa_rnea(m->model, m->work, q_of(m, k), v_of(m, k), a_of(m, k), NULL, 0, m->out));
}
static soa_status mass(machine *m, int k) {
    return answers(m, square(m), soa_crba(m->model, m->work, q_of(m, k), m->out));
}
static soa_status fd_wrenches(machine *m, int k) {
    return answers(
        m, m->nv,
        soa_aba(m->model, m->work, q_of(m, k), v_of(m, k), tau_of(m, k), m->wrenches, 2, m->out));
}
static soa_status id_wrenches(machine *m, int k) {
    return answers(
        m, m->nv,
        soa_rnea(m->model, m->work, q_of(m, k), v_of(m, k), a_of(m, k), m->wrenches, 2, m->out));
}
static soa_status mass_r87(machine *m, int k) {
    return answers(m, square(m), soa_mass_r87(m->model, m->work, q_of(m, k), m->out));
}
static soa_status mass_mul(machine *m, int k) {
    return answers(m, m->nv, soa_mass_mul(m->model, m->work, q_of(m, k), x_of(m, k), m->out));
}
static soa_status minv_mul(machine *m, int k) {
    return answers(m, m->nv, soa_minv_mul(m->model, m->work, q_of(m, k), x_of(m, k), m->out));
}
static soa_status minv(machine *m, int k) {
    return answers(m, square(m), soa_minv(m->model, m->work, q_of(m, k), m->out));
}
static soa_status bias(machine *m, int k) {
    return answers(m, m->nv, soa_bias_torque(m->model, m->work, q_of(m, k), v_of(m, k), m->out));
}
static soa_status gravity(machine *m, int k) {
    return answers(m, m->nv, soa_gravity_torque(m->model, m->work, q_of(m, k), m->out));
}
static soa_status coriolis(machine *m, int k) {
    return answers(m, m->nv,
                   soa_coriolis_mul(m->model, m->work, q_of(m, k), v_of(m, k), x_of(m, k), m->out));
}
static soa_status joint_force(machine *m, int k) {
    (void)k;
    return answers(m, 6, soa_joint_force(m->model, m->work, 1, m->out));
}

/* --- kinematics ------------------------------------------------------------------------------- */
static soa_status poses(machine *m, int k) {
    return answers(m, 0, soa_kinematics(m->model, m->work, q_of(m, k), NULL, NULL));
}
static soa_status kinematics(machine *m, int k) {
    return answers(m, 0, soa_kinematics(m->model, m->work, q_of(m, k), v_of(m, k), a_of(m, k)));
}
static soa_status pose(machine *m, int k) {
    soa_frame frame;
    (void)k;
    const soa_status status = soa_pose(m->model, m->work, m->tip, &frame);
    memcpy(m->out, frame.p, sizeof frame.p);
    return answers(m, 3, status);
}
static soa_status velocity(machine *m, int k) {
    (void)k;
    return answers(m, 6, soa_velocity(m->model, m->work, m->tip, SOA_AXES_WORLD, m->out));
}
static soa_status acceleration_spatial(machine *m, int k) {
    (void)k;
    return answers(m, 6,
                   soa_acceleration_spatial(m->model, m->work, m->tip, SOA_AXES_WORLD, m->out));
}
static soa_status acceleration_classical(machine *m, int k) {
    (void)k;
    return answers(m, 6,
                   soa_acceleration_classical(m->model, m->work, m->tip, SOA_AXES_WORLD, m->out));
}
static soa_status jacobian(machine *m, int k) {
    (void)k;
    return answers(m, 6L * m->nv, soa_jacobian(m->model, m->work, m->tip, SOA_AXES_WORLD, m->out));
}
static soa_status jacobian_body(machine *m, int k) {
    (void)k;
    return answers(m, 6L * m->nv, soa_jacobian(m->model, m->work, m->tip, SOA_AXES_BODY, m->out));
}
static soa_status jacobian_mul(machine *m, int k) {
    return answers(m, 6,
                   soa_jacobian_mul(m->model, m->work, m->tip, SOA_AXES_WORLD, x_of(m, k), m->out));
}
static soa_status jacobian_transpose_mul(machine *m, int k) {
    (void)k;
    return answers(m, m->nv,
                   soa_jacobian_transpose_mul(m->model, m->work, m->tip, SOA_AXES_WORLD,
                                              m->wrenches[0].value, m->out));
}
static soa_status jacobian_dot_v(machine *m, int k) {
    (void)k;
    return answers(m, 6, soa_jacobian_dot_v(m->model, m->work, m->tip, SOA_AXES_WORLD, m->out));
}
static soa_status q_integrate(machine *m, int k) {
    return answers(m, m->nq, soa_q_integrate(m->model, q_of(m, k), v_of(m, k), 0.01, m->out));
}
static soa_status q_difference(machine *m, int k) {
    return answers(m, m->nv, soa_q_difference(m->model, q_of(m, k), q_of(m, 0), m->out));
}
static soa_status q_rate(machine *m, int k) {
    return answers(m, m->nq, soa_q_rate(m->model, q_of(m, k), v_of(m, k), m->out));
}

/* --- operational space, sums over bodies, derivatives ----------------------------------------- */
static soa_status compliance(machine *m, int k) {
    return answers(
        m, 36, soa_compliance(m->model, m->work, q_of(m, k), &m->tip, 1, SOA_AXES_WORLD, m->out));
}
static soa_status compliance_two(machine *m, int k) {
    const int frames[2] = {m->tip, m->other_tip};
    return answers(
        m, 144, soa_compliance(m->model, m->work, q_of(m, k), frames, 2, SOA_AXES_WORLD, m->out));
}
static soa_status operational_space(machine *m, int k) {
    const soa_task task = {.frame = m->tip, .axes = SOA_AXES_WORLD, .rows = SOA_ROWS_LINEAR};
    const soa_operational_input in = {
        .q = q_of(m, k), .v = v_of(m, k), .tasks = &task, .task_count = 1};
    double *at = m->out;
    soa_operational out;
    double rcond;
    out.jacobian = at;
    out.lambda = at += 3L * m->nv;
    out.mu = at += 9;
    out.p = at += 3;
    out.jbar = at += 3;
    out.null = at += 3L * m->nv;
    return answers(
        m, 6L * m->nv + 15 + square(m),
        soa_operational_space(m->model, m->work, &in, m->memory, m->memory_bytes, &out, &rcond));
}
static soa_status energy(machine *m, int k) {
    return answers(m, 2, soa_energy(m->model, m->work, q_of(m, k), v_of(m, k), m->out, m->out + 1));
}
static soa_status centre_of_mass(machine *m, int k) {
    return answers(
        m, 6, soa_centre_of_mass(m->model, m->work, q_of(m, k), v_of(m, k), m->out, m->out + 3));
}
static soa_status momentum(machine *m, int k) {
    return answers(m, 9,
                   soa_momentum(m->model, m->work, q_of(m, k), v_of(m, k), m->out, m->out + 6));
}
static soa_status centroidal(machine *m, int k) {
    return answers(m, 6L * m->nv,
                   soa_centroidal_momentum_matrix(m->model, m->work, q_of(m, k), m->out));
}
static soa_status regressor(machine *m, int k) {
    return answers(m, 10L * m->nv * m->bodies,
                   soa_regressor(m->model, m->work, q_of(m, k), v_of(m, k), a_of(m, k), m->out));
}
static soa_status id_derivatives(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, 2 * square(m),
                   soa_rnea_derivatives(m->model, m->work, &in, m->out, m->out + square(m)));
}
static soa_status id_derivatives_wrenches(machine *m, int k) {
    soa_input in = input_of(m, k);
    in.wrenches = m->wrenches;
    in.wrench_count = 2;
    return answers(m, 2 * square(m),
                   soa_rnea_derivatives(m->model, m->work, &in, m->out, m->out + square(m)));
}
static soa_status fd_derivatives(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, 2 * square(m),
                   soa_aba_derivatives(m->model, m->work, &in, m->out, m->out + square(m)));
}

/* --- batches and single precision ------------------------------------------------------------- */
static soa_status fd_batch(machine *m, int k) {
    (void)k;
    return answers(m, (long)STATES * m->nv,
                   soa_aba_batch(m->model, m->batch, STATES, m->q, m->v, m->tau, NULL, m->out));
}
static soa_status id_batch(machine *m, int k) {
    (void)k;
    return answers(m, (long)STATES * m->nv,
                   soa_rnea_batch(m->model, m->batch, STATES, m->q, m->v, m->a, NULL, m->out));
}
static soa_status mass_batch(machine *m, int k) {
    (void)k;
    return answers(m, STATES * square(m), soa_crba_batch(m->model, m->batch, STATES, m->q, m->out));
}
static soa_status fd_batch_f(machine *m, int k) {
    (void)k;
    return answers_float(
        m, (long)STATES * m->nv,
        soa_aba_batch_f(m->model, m->batch, STATES, m->qf, m->vf, m->tauf, NULL, m->outf));
}
static soa_status id_batch_f(machine *m, int k) {
    (void)k;
    return answers_float(
        m, (long)STATES * m->nv,
        soa_rnea_batch_f(m->model, m->batch, STATES, m->qf, m->vf, m->af, NULL, m->outf));
}
static soa_status mass_batch_f(machine *m, int k) {
    (void)k;
    return answers_float(m, STATES * square(m),
                         soa_crba_batch_f(m->model, m->batch, STATES, m->qf, m->outf));
}
static soa_status fd_f(machine *m, int k) {
    const long at = (long)k * m->nv;
    return answers_float(m, m->nv,
                         soa_aba_f(m->model, m->work, m->qf + (long)k * m->nq, m->vf + at,
                                   m->tauf + at, NULL, m->outf));
}
static soa_status id_f(machine *m, int k) {
    const long at = (long)k * m->nv;
    return answers_float(m, m->nv,
                         soa_rnea_f(m->model, m->work, m->qf + (long)k * m->nq, m->vf + at,
                                    m->af + at, NULL, m->outf));
}
static soa_status mass_f(machine *m, int k) {
    return answers_float(m, square(m),
                         soa_crba_f(m->model, m->work, m->qf + (long)k * m->nq, m->outf));
}

/* --- other forms of the papers ---------------------------------------------------------------- */
static soa_status smoother(machine *m, int k) {
    return answers(m, 0,
                   soa_smoother(m->model, m->work, q_of(m, k), v_of(m, k), tau_of(m, k), NULL, 0));
}
static soa_status smoother_read(machine *m, int k) {
    soa_smoothed smoothed;
    (void)k;
    const soa_status status = soa_smoother_read(m->model, m->work, m->bodies, &smoothed);
    memcpy(m->out, smoothed.P_minus, sizeof smoothed.P_minus);
    memcpy(m->out + 36, smoothed.x_minus, sizeof smoothed.x_minus);
    return answers(m, 42, status);
}
static soa_status covariances(machine *m, int k) { /* the first call after soa_smoother is O(n) */
    soa_status status =
        soa_smoother(m->model, m->work, q_of(m, k), v_of(m, k), tau_of(m, k), NULL, 0);
    if (status == SOA_OK)
        status =
            soa_smoother_covariance(m->model, m->work, m->bodies, m->out, m->out + 36, m->out + 72);
    return answers(m, 108, status);
}
static soa_status acceleration_parts(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, 3L * m->nv,
                   soa_acceleration_parts(m->model, m->work, &in, m->out, m->out + m->nv,
                                          m->out + 2L * m->nv));
}
static soa_status inverse_sums(machine *m, int k) {
    const soa_input in = input_of(m, k);
    if (m->nv > MOST_SUMS) return ABSENT;
    return answers(m, m->nv,
                   soa_inverse_sums(m->model, m->work, &in, NULL, NULL, NULL, NULL, m->out));
}
static soa_status boundary(machine *m, int k) {
    const soa_input in = input_of(m, k);
    soa_boundary ends = {.torques = 1, .tip = m->tip};
    return answers(
        m, m->nv,
        soa_boundary_problem(m->model, m->work, &in, tau_of(m, k), &ends, m->out, NULL, NULL));
}
static soa_status articulated_inertia(machine *m, int k) {
    return answers(m, 36,
                   soa_articulated_inertia(m->model, m->work, q_of(m, k), SOA_UPDATE_43_U,
                                           SOA_STORAGE_SYMMETRIC, 1, m->out));
}
static soa_status factor(machine *m, int k) {
    return answers(
        m, m->nv,
        soa_mass_factor_mul(m->model, m->work, q_of(m, k), SOA_FACTOR_L, x_of(m, k), m->out));
}
static soa_status factor_inverse(machine *m, int k) {
    return answers(m, m->nv,
                   soa_mass_factor_mul(m->model, m->work, q_of(m, k), SOA_FACTOR_L_INVERSE_ADJOINT,
                                       x_of(m, k), m->out));
}
static soa_status nu_from_v(machine *m, int k) {
    return answers(m, m->nv, soa_nu_from_v(m->model, m->work, q_of(m, k), v_of(m, k), m->out));
}
static soa_status nu_to_v(machine *m, int k) {
    return answers(m, m->nv, soa_nu_to_v(m->model, m->work, q_of(m, k), x_of(m, k), m->out));
}
static soa_status nu_bias(machine *m, int k) {
    return answers(m, m->nv, soa_nu_bias(m->model, m->work, q_of(m, k), x_of(m, k), m->out));
}
static soa_status nu_force(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, m->nv, soa_nu_force(m->model, m->work, &in, m->out));
}
static soa_status nu_rate(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, 2L * m->nv,
                   soa_nu_rate(m->model, m->work, &in, x_of(m, k), m->out, m->out + m->nv));
}
static soa_status jjt(machine *m, int k) {
    const int frames[2] = {m->tip, m->other_tip};
    return answers(m, 144,
                   soa_jjt(m->model, m->work, q_of(m, k), frames, 2, SOA_AXES_WORLD, m->out));
}
static soa_status jtj(machine *m, int k) {
    const soa_tip tip = {.frame = m->tip, .angular = 1, .linear = 1};
    return answers(m, square(m), soa_jtj(m->model, m->tip_work, q_of(m, k), &tip, 1, 0.1, m->out));
}
static soa_status jtj_inverse_mul(machine *m, int k) {
    const soa_tip tip = {.frame = m->tip, .angular = 1, .linear = 1};
    return answers(
        m, m->nv,
        soa_jtj_inverse_mul(m->model, m->tip_work, q_of(m, k), &tip, 1, 0.1, x_of(m, k), m->out));
}
static soa_status jtj_inverse(machine *m, int k) {
    const soa_tip tip = {.frame = m->tip, .angular = 1, .linear = 1};
    return answers(m, square(m),
                   soa_jtj_inverse(m->model, m->tip_work, q_of(m, k), &tip, 1, 0.1, m->out));
}
static soa_status inverse_kinematics(machine *m, int k) {
    soa_ik_target target = {.tip = {.frame = m->tip, .angular = 0, .linear = 1}};
    const soa_ik_options options = {.most_steps = IK_STEPS, .tolerance = 0.01, .ignore_limits = 1};
    soa_status status = soa_kinematics(m->model, m->work, q_of(m, k), NULL, NULL);
    if (status == SOA_OK) status = soa_pose(m->model, m->work, m->tip, &target.pose);
    memcpy(m->out, q_of(m, k), (size_t)m->nq * sizeof *m->out);
    target.pose.p[0] += 0.1;
    if (status == SOA_OK) {
        status = soa_inverse_kinematics(m->model, m->tip_work, &target, 1, &options, m->out, NULL);
        if (status == SOA_E_NO_CONVERGENCE) status = SOA_OK;
    }
    return answers(m, m->nq, status);
}
static soa_status constraint_forces(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(m, m->nv + 6L * m->bodies,
                   soa_fd_constraint_forces(m->model, m->work, m->memory, m->memory_bytes, &in,
                                            m->out, m->out + m->nv, NULL));
}
static soa_status tridiagonal(machine *m, int k) {
    const soa_input in = input_of(m, k);
    return answers(
        m, m->nv,
        soa_fd_tridiagonal(m->model, m->work, m->memory, m->memory_bytes, &in, m->out, NULL, NULL));
}
static soa_status divide(machine *m, int k) {
    const soa_input in = input_of(m, k);
    if (m->divide == NULL) return ABSENT;
    return answers(m, m->nv, soa_divide_fd(m->divide, &in, NULL, NULL, m->out));
}

/* --- operators -------------------------------------------------------------------------------- */
static soa_status run_plan(machine *m, int plan) {
    if (m->machine == NULL) return ABSENT;
    const int space = plan == PLANS - 1 ? SOA_SPACE_TIP : SOA_SPACE_JOINT;
    return answers(m, soa_machine_space_size(m->machine, (soa_space)space),
                   soa_plan_run(m->plans[plan], m->out));
}
static soa_status plan_fd1(machine *m, int k) {
    (void)k;
    return run_plan(m, 0);
}
static soa_status plan_fd2(machine *m, int k) {
    (void)k;
    if (m->machine == NULL) return ABSENT;
    return answers(m, soa_machine_space_size(m->machine, SOA_SPACE_LINK),
                   soa_plan_run(m->plans[1], m->out));
}
static soa_status plan_fd3(machine *m, int k) {
    (void)k;
    return run_plan(m, 2);
}
static soa_status plan_fd4(machine *m, int k) {
    (void)k;
    return run_plan(m, 3);
}
static soa_status plan_id(machine *m, int k) {
    (void)k;
    return run_plan(m, 4);
}
static soa_status plan_compliance(machine *m, int k) {
    (void)k;
    return run_plan(m, 5);
}
static soa_status plan_create(machine *m, int k) {
    const soa_expr *expr = NULL;
    soa_plan *plan = NULL;
    char text[256];
    (void)k;
    if (m->machine == NULL) return ABSENT;
    soa_status status = soa_expr_from_form("FD4", &expr);
    if (status == SOA_OK) status = soa_plan_create(m->machine, expr, &plan, text, sizeof text);
    soa_plan_free(plan);
    soa_expr_free(expr);
    return answers(m, 0, status);
}
static soa_status set_state(machine *m, int k) {
    if (m->machine == NULL) return ABSENT;
    return answers(m, 0,
                   soa_machine_set_state(m->machine, q_of(m, k), v_of(m, k), a_of(m, k),
                                         tau_of(m, k), NULL, NULL, 0));
}
static soa_status dense(machine *m, int k) {
    const soa_expr *expr = NULL;
    char text[256];
    (void)k;
    if (m->machine == NULL) return ABSENT;
    if (m->nv > MOST_DENSE) return ABSENT;
    soa_status status =
        soa_expr_parse("(I - H psi K)' inv(D) (I - H psi K)", NULL, 0, &expr, text, sizeof text);
    if (status == SOA_OK) status = soa_machine_dense_matrix(m->machine, expr, m->out);
    soa_expr_free(expr);
    return answers(m, square(m), status);
}
static soa_status prove(machine *m, int k) { /* does not depend on the machine: arm7 alone */
    const soa_expr *left = NULL, *right = NULL;
    char text[256];
    (void)k;
    if (m->nv != 7) return ABSENT;
    soa_status status = soa_expr_parse("inv(I + H phi K)", NULL, 0, &left, text, sizeof text);
    if (status == SOA_OK)
        status = soa_expr_parse("I - H psi K", NULL, 0, &right, text, sizeof text);
    if (status == SOA_OK) status = soa_expr_prove(left, right, NULL, NULL);
    soa_expr_free(left);
    soa_expr_free(right);
    return answers(m, 0, status);
}

/* --- closed chains ---------------------------------------------------------------------------- */
static soa_status constraint_rows(machine *m, int k) {
    const soa_input in = closed_input_of(m, k);
    const long rows = m->loop_rows;
    if (m->constraints == NULL) return ABSENT;
    return answers(m, rows * (3 + m->nv),
                   soa_constraints_evaluate(m->constraints, m->work, &in, m->out, m->out + rows,
                                            m->out + 3 * rows, m->out + 2 * rows));
}
static soa_status closed_by(machine *m, int k, soa_closed_method method) {
    const soa_input in = closed_input_of(m, k);
    soa_closed_options options = soa_closed_options_default();
    options.method = method;
    if (m->constraints == NULL) return ABSENT;
    return answers(m, m->nv,
                   soa_closed_fd(m->constraints, m->work, &options, &in, m->out, NULL, NULL));
}
static soa_status closed_auto(machine *m, int k) {
    return closed_by(m, k, SOA_CLOSED_AUTO);
}
static soa_status closed_kkt(machine *m, int k) {
    return closed_by(m, k, SOA_CLOSED_KKT);
}
static soa_status closed_forces(machine *m, int k) {
    return closed_by(m, k, SOA_CLOSED_FORCES);
}
static soa_status closed_null_space(machine *m, int k) {
    return closed_by(m, k, SOA_CLOSED_NULL_SPACE);
}
static soa_status closed_response(machine *m, int k) {
    if (m->constraints == NULL) return ABSENT;
    return answers(m, m->nv, soa_closed_response(m->constraints, m->work, x_of(m, k), m->out));
}
/* The accelerations and rates of state 0, which obey the constraints: see prepare_closed_id. */
static soa_status closed_id(machine *m, int k) {
    soa_input in = closed_input_of(m, 0);
    (void)k;
    if (m->constraints == NULL) return ABSENT;
    in.a = m->scratch;
    return answers(m, m->nv, soa_closed_id(m->constraints, m->work, &in, NULL, m->out, NULL));
}
static soa_status closed_project(machine *m, int k) {
    if (m->constraints == NULL) return ABSENT;
    for (int i = 0; i < m->nv; ++i)
        m->scratch[i] = 0.001 * x_of(m, k)[i];
    soa_status status = soa_q_integrate(m->model, q_of(m, 0), m->scratch, 1.0, m->out);
    memcpy(m->out + m->nq, v_of(m, k), (size_t)m->nv * sizeof *m->out);
    if (status == SOA_OK)
        status = soa_closed_project(m->constraints, m->work, 0, m->out, m->out + m->nq, NULL);
    return answers(m, m->nq + m->nv, status);
}
static soa_status closed_impulse(machine *m, int k) {
    if (m->constraints == NULL) return ABSENT;
    return answers(
        m, m->nv,
        soa_closed_impulse(m->constraints, m->work, 0, q_of(m, 0), v_of(m, k), m->out, NULL));
}
static soa_status closed_energy(machine *m, int k) {
    if (m->constraints == NULL) return ABSENT;
    return answers(
        m, 2,
        soa_closed_energy(m->constraints, m->work, q_of(m, 0), v_of(m, k), m->out, m->out + 1));
}

/* --- embedding: primary numbers are the first ones of those of state k ------------------------ */
static soa_input primary_of(machine *m, int k) {
    soa_input in = {0};
    int n = 0;
    for (int i = 0; i < m->nv; ++i)
        if (m->primary[i]) m->scratch[n++] = q_of(m, 0)[i];
    in.q = m->scratch;
    in.v = v_of(m, k);
    in.a = a_of(m, k);
    in.tau = tau_of(m, k);
    memcpy(m->guess, q_of(m, 0), (size_t)m->nq * sizeof *m->guess);
    return in;
}
static soa_status embedding_state(machine *m, int k) {
    if (m->embedding == NULL) return ABSENT;
    const soa_input in = primary_of(m, k);
    const long nv = m->nv;
    return answers(m, (2 + soa_embedding_nv(m->embedding)) * nv,
                   soa_embedding_state(m->embedding, m->work, &in, m->guess, m->out, m->out + nv,
                                       m->out + 2 * nv));
}
static soa_status embedding_terms(machine *m, int k) {
    if (m->embedding == NULL) return ABSENT;
    const soa_input in = primary_of(m, k);
    const long n = soa_embedding_nv(m->embedding);
    return answers(m, n * (n + 2),
                   soa_embedding_terms(m->embedding, m->work, &in, m->guess, m->out + 2 * n, m->out,
                                       m->out + n));
}
static soa_status embedding_id(machine *m, int k) {
    if (m->embedding == NULL) return ABSENT;
    const soa_input in = primary_of(m, k);
    return answers(m, soa_embedding_nv(m->embedding),
                   soa_embedding_id(m->embedding, m->work, &in, m->guess, m->out));
}
static soa_status embedding_by(machine *m, int k, soa_embedding_method method) {
    if (m->embedding == NULL) return ABSENT;
    const soa_input in = primary_of(m, k);
    return answers(m, soa_embedding_nv(m->embedding),
                   soa_embedding_fd(m->embedding, m->work, method, &in, m->guess, m->out));
}
static soa_status embedding_columns(machine *m, int k) {
    return embedding_by(m, k, SOA_EMBEDDING_COLUMNS);
}
static soa_status embedding_sweeps(machine *m, int k) {
    return embedding_by(m, k, SOA_EMBEDDING_SWEEPS);
}

/* --- grasps ----------------------------------------------------------------------------------- */
static soa_status grasp_by(machine *m, int k, soa_grasp_method method) {
    const soa_input in = closed_input_of(m, k);
    soa_grasp_options options = soa_grasp_options_default();
    options.method = method;
    if (m->grasp == NULL) return ABSENT;
    return answers(
        m, m->nv + 6L * m->contacts,
        soa_grasp_fd(m->grasp, m->work, &options, &in, m->out, m->out + m->nv, NULL, NULL));
}
static soa_status grasp_general(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_GENERAL);
}
static soa_status grasp_1(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_RCCFD1);
}
static soa_status grasp_2(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_RCCFD2);
}
static soa_status grasp_3(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_RCCFD3);
}
static soa_status grasp_loose(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_LOOSE);
}
static soa_status grasp_woodbury(machine *m, int k) {
    return grasp_by(m, k, SOA_GRASP_WOODBURY);
}
static soa_status grasp_compliance(machine *m, int k) {
    (void)k;
    if (m->grasp == NULL) return ABSENT;
    return answers(m, 36L * m->contacts * m->contacts,
                   soa_grasp_compliance(m->grasp, m->work, q_of(m, 0), m->out, NULL, NULL));
}
static soa_status grasp_impulse(machine *m, int k) {
    if (m->grasp == NULL) return ABSENT;
    return answers(m, m->nv,
                   soa_grasp_impulse(m->grasp, m->work, q_of(m, 0), v_of(m, k), m->out, NULL));
}
static soa_status grasp_map(machine *m, int k) {
    soa_body_info object;
    (void)k;
    if (m->grasp == NULL) return ABSENT;
    soa_model_body(m->model, m->bodies, &object);
    return answers(m, 36L * m->contacts,
                   soa_grasp_map(m->grasp, m->work, q_of(m, 0), object.frame, m->out));
}
static soa_status grasp_distribute(machine *m, int k) {
    soa_body_info object;
    (void)k;
    if (m->grasp == NULL) return ABSENT;
    soa_model_body(m->model, m->bodies, &object);
    return answers(m, 6L * m->contacts,
                   soa_grasp_distribute(m->grasp, m->work, q_of(m, 0), object.frame,
                                        m->wrenches[0].value, NULL, m->out));
}

/* --- generated code --------------------------------------------------------------------------- */
#if SOA_COMPARE_GENERATED
typedef struct generated {
    const char *model;
    int (*fd)(const double *q, const double *v, const double *tau, double *qdd);
    int (*id)(const double *q, const double *v, const double *a, double *tau);
    int (*mass)(const double *q, double *M);
    int (*fd_batch)(long n, const double *q, const double *v, const double *tau, double *qdd);
    int (*id_batch)(long n, const double *q, const double *v, const double *a, double *tau);
    int (*mass_batch)(long n, const double *q, double *M);
} generated;
#define DECLARE(m)                                                                              \
    int m##_fd(const double *q, const double *v, const double *tau, double *qdd);               \
    int m##_id(const double *q, const double *v, const double *a, double *tau);                 \
    int m##_mass(const double *q, double *M);                                                   \
    int m##_fd_batch(long n, const double *q, const double *v, const double *tau, double *qdd); \
    int m##_id_batch(long n, const double *q, const double *v, const double *a, double *tau);   \
    int m##_mass_batch(long n, const double *q, double *M);
DECLARE(arm7)
DECLARE(quadruped)
DECLARE(humanoid)
#define ROW(m) \
    { #m, m##_fd, m##_id, m##_mass, m##_fd_batch, m##_id_batch, m##_mass_batch }
static const generated generated_code[] = {ROW(arm7), ROW(quadruped), ROW(humanoid)};
static const generated *generated_of(const machine *m) {
    for (size_t i = 0; i < sizeof generated_code / sizeof *generated_code; ++i)
        if (strcmp(soa_model_name(m->model), generated_code[i].model) == 0)
            return &generated_code[i];
    return NULL;
}
static soa_status from_generated(int failed) {
    return failed ? SOA_E_HINGE_SINGULAR : SOA_OK;
}
static soa_status gen_fd(machine *m, int k) {
    const generated *g = generated_of(m);
    if (g == NULL) return ABSENT;
    return answers(m, m->nv, from_generated(g->fd(q_of(m, k), v_of(m, k), tau_of(m, k), m->out)));
}
static soa_status gen_id(machine *m, int k) {
    const generated *g = generated_of(m);
    if (g == NULL) return ABSENT;
    return answers(m, m->nv, from_generated(g->id(q_of(m, k), v_of(m, k), a_of(m, k), m->out)));
}
static soa_status gen_mass(machine *m, int k) {
    const generated *g = generated_of(m);
    if (g == NULL) return ABSENT;
    return answers(m, square(m), from_generated(g->mass(q_of(m, k), m->out)));
}
static soa_status gen_fd_batch(machine *m, int k) {
    const generated *g = generated_of(m);
    (void)k;
    if (g == NULL) return ABSENT;
    return answers(m, (long)STATES * m->nv,
                   from_generated(g->fd_batch(STATES, m->q, m->v, m->tau, m->out)));
}
static soa_status gen_id_batch(machine *m, int k) {
    const generated *g = generated_of(m);
    (void)k;
    if (g == NULL) return ABSENT;
    return answers(m, (long)STATES * m->nv,
                   from_generated(g->id_batch(STATES, m->q, m->v, m->a, m->out)));
}
static soa_status gen_mass_batch(machine *m, int k) {
    const generated *g = generated_of(m);
    (void)k;
    if (g == NULL) return ABSENT;
    return answers(m, STATES * square(m), from_generated(g->mass_batch(STATES, m->q, m->out)));
}
#endif

/* --- the list --------------------------------------------------------------------------------- */
static soa_status prepare_closed(machine *m, int k) {
    return closed_auto(m, k);
}
/* An acceleration that obeys the constraints, in scratch. */
static soa_status prepare_closed_id(machine *m, int k) {
    const soa_status status = closed_auto(m, k);
    memcpy(m->scratch, m->out, (size_t)m->nv * sizeof *m->out);
    return status;
}

static const struct {
    const char *name;
    call_fn *run;
    call_fn *prepare; /* NULL: nothing */
    double tolerance; /* 0: AGREE */
} calls[] = {
    {"fd", fd, NULL, AGREE_SOLVED},
    {"id", id, NULL, 0},
    {"mass", mass, NULL, 0},
    {"fd, wrenches", fd_wrenches, NULL, AGREE_SOLVED},
    {"id, wrenches", id_wrenches, NULL, 0},
    {"mass_r87", mass_r87, NULL, 0},
    {"mass_mul", mass_mul, NULL, 0},
    {"minv_mul", minv_mul, NULL, AGREE_SOLVED},
    {"minv", minv, NULL, AGREE_SOLVED},
    {"bias_torque", bias, NULL, 0},
    {"gravity_torque", gravity, NULL, 0},
    {"coriolis_mul", coriolis, NULL, 0},
    {"joint_force", joint_force, id, 0},
    {"kinematics, q", poses, NULL, 0},
    {"kinematics, q v a", kinematics, NULL, 0},
    {"pose", pose, kinematics, 0},
    {"velocity", velocity, kinematics, 0},
    {"acceleration_spatial", acceleration_spatial, kinematics, 0},
    {"acceleration_classical", acceleration_classical, kinematics, 0},
    {"jacobian, world axes", jacobian, kinematics, 0},
    {"jacobian, body axes", jacobian_body, kinematics, 0},
    {"jacobian_mul", jacobian_mul, kinematics, 0},
    {"jacobian_transpose_mul", jacobian_transpose_mul, kinematics, 0},
    {"jacobian_dot_v", jacobian_dot_v, kinematics, 0},
    {"q_integrate", q_integrate, NULL, 0},
    {"q_difference", q_difference, NULL, 0},
    {"q_rate", q_rate, NULL, 0},
    {"compliance, one frame", compliance, NULL, AGREE_SOLVED},
    {"compliance, two frames", compliance_two, NULL, AGREE_SOLVED},
    {"operational_space", operational_space, NULL, AGREE_SOLVED},
    {"energy", energy, NULL, 0},
    {"centre_of_mass", centre_of_mass, NULL, 0},
    {"momentum", momentum, NULL, 0},
    {"centroidal_momentum_matrix", centroidal, NULL, 0},
    {"regressor", regressor, NULL, 0},
    {"rnea_derivatives", id_derivatives, NULL, 0},
    {"rnea_derivatives, wrenches", id_derivatives_wrenches, NULL, 0},
    {"aba_derivatives", fd_derivatives, NULL, AGREE_SOLVED},
    {"fd batch", fd_batch, NULL, AGREE_SOLVED},
    {"id batch", id_batch, NULL, 0},
    {"mass batch", mass_batch, NULL, 0},
    {"fd batch, float", fd_batch_f, NULL, AGREE_FLOAT_FD},
    {"id batch, float", id_batch_f, NULL, AGREE_FLOAT},
    {"mass batch, float", mass_batch_f, NULL, AGREE_FLOAT},
    {"fd, float", fd_f, NULL, AGREE_FLOAT_FD},
    {"id, float", id_f, NULL, AGREE_FLOAT},
    {"mass, float", mass_f, NULL, AGREE_FLOAT},
    {"smoother", smoother, NULL, 0},
    {"smoother_read", smoother_read, smoother, AGREE_SOLVED},
    {"smoother and covariance", covariances, NULL, AGREE_SOLVED},
    {"acceleration_parts", acceleration_parts, NULL, AGREE_SOLVED},
    {"inverse_sums", inverse_sums, NULL, 0},
    {"boundary_problem", boundary, NULL, AGREE_SOLVED},
    {"articulated_inertia", articulated_inertia, NULL, 0},
    {"mass_factor_mul, L", factor, NULL, AGREE_SOLVED},
    {"mass_factor_mul, inv(L)'", factor_inverse, NULL, AGREE_SOLVED},
    {"nu_from_v", nu_from_v, NULL, AGREE_SOLVED},
    {"nu_to_v", nu_to_v, NULL, AGREE_SOLVED},
    {"nu_bias", nu_bias, NULL, AGREE_SOLVED},
    {"nu_force", nu_force, NULL, AGREE_SOLVED},
    {"nu_rate", nu_rate, NULL, AGREE_SOLVED},
    {"jjt", jjt, NULL, 0},
    {"jtj", jtj, NULL, 0},
    {"jtj_inverse_mul", jtj_inverse_mul, NULL, AGREE_SOLVED},
    {"jtj_inverse", jtj_inverse, NULL, AGREE_SOLVED},
    {"inverse_kinematics", inverse_kinematics, NULL, AGREE_SOLVED},
    {"fd_constraint_forces", constraint_forces, NULL, AGREE_SOLVED},
    {"fd_tridiagonal", tridiagonal, NULL, AGREE_SOLVED},
    {"divide_fd", divide, NULL, AGREE_SOLVED},
    {"machine_set_state", set_state, NULL, 0},
    {"plan_run, FD1", plan_fd1, set_state, AGREE_SOLVED},
    {"plan_run, FD2", plan_fd2, set_state, AGREE_SOLVED},
    {"plan_run, FD3", plan_fd3, set_state, AGREE_SOLVED},
    {"plan_run, FD4", plan_fd4, set_state, AGREE_SOLVED},
    {"plan_run, ID", plan_id, set_state, 0},
    {"plan_run, compliance", plan_compliance, set_state, AGREE_SOLVED},
    {"plan_create", plan_create, NULL, 0},
    {"machine_dense_matrix", dense, set_state, AGREE_SOLVED},
    {"expr_prove", prove, NULL, 0},
    {"constraints_evaluate", constraint_rows, NULL, 0},
    {"closed_fd, automatic", closed_auto, NULL, AGREE_SOLVED},
    {"closed_fd, KKT", closed_kkt, NULL, AGREE_SOLVED},
    {"closed_fd, forces", closed_forces, NULL, AGREE_SOLVED},
    {"closed_fd, null space", closed_null_space, NULL, AGREE_SOLVED},
    {"closed_response", closed_response, prepare_closed, AGREE_SOLVED},
    {"closed_id", closed_id, prepare_closed_id, AGREE_SOLVED},
    {"closed_project", closed_project, NULL, AGREE_SOLVED},
    {"closed_impulse", closed_impulse, NULL, AGREE_SOLVED},
    {"closed_energy", closed_energy, NULL, 0},
    {"embedding_state", embedding_state, NULL, AGREE_SOLVED},
    {"embedding_terms", embedding_terms, NULL, AGREE_SOLVED},
    {"embedding_id", embedding_id, NULL, AGREE_SOLVED},
    {"embedding_fd, columns", embedding_columns, NULL, AGREE_SOLVED},
    {"embedding_fd, sweeps", embedding_sweeps, NULL, AGREE_SOLVED},
    {"grasp_fd, general", grasp_general, NULL, AGREE_SOLVED},
    {"grasp_fd, RCCFD1", grasp_1, NULL, AGREE_SOLVED},
    {"grasp_fd, RCCFD2", grasp_2, NULL, AGREE_SOLVED},
    {"grasp_fd, RCCFD3", grasp_3, NULL, AGREE_SOLVED},
    {"grasp_fd, loose", grasp_loose, NULL, AGREE_SOLVED},
    {"grasp_fd, Woodbury", grasp_woodbury, NULL, AGREE_SOLVED},
    {"grasp_compliance", grasp_compliance, NULL, AGREE_SOLVED},
    {"grasp_impulse", grasp_impulse, NULL, AGREE_SOLVED},
    {"grasp_map", grasp_map, NULL, 0},
    {"grasp_distribute", grasp_distribute, NULL, AGREE_SOLVED},
#if SOA_COMPARE_GENERATED
    {"generated fd", gen_fd, NULL, AGREE_SOLVED},
    {"generated id", gen_id, NULL, 0},
    {"generated mass", gen_mass, NULL, 0},
    {"generated fd batch", gen_fd_batch, NULL, AGREE_SOLVED},
    {"generated id batch", gen_id_batch, NULL, 0},
    {"generated mass batch", gen_mass_batch, NULL, 0},
#endif
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static const char *call_name(int call) {
    return call >= 0 && call < CALLS ? calls[call].name : NULL;
}
static int call_prepare(compare_machine *m, int call) {
    return calls[call].prepare == NULL ? SOA_OK : (int)calls[call].prepare(m, 0);
}
static int call_run(compare_machine *m, int call, int state) {
    return (int)calls[call].run(m, state);
}
static const double *machine_answer(const compare_machine *m, long *count) {
    *count = m->count;
    for (long i = 0; i < m->count && m->as_floats != NULL; ++i)
        m->out[i] = (double)m->as_floats[i];
    return m->out;
}
static double call_tolerance(int call) {
    return calls[call].tolerance > 0 ? calls[call].tolerance : AGREE;
}
static const char *status_text(int status) {
    return soa_status_text((soa_status)status);
}

SOA_API const compare_library *compare_calls(void);
const compare_library *compare_calls(void) {
    static const compare_library library = {
        .version = SOA_VERSION,
        .states = STATES,
        .open = machine_open,
        .close = machine_close,
        .name = call_name,
        .prepare = call_prepare,
        .run = call_run,
        .answer = machine_answer,
        .tolerance = call_tolerance,
        .status_text = status_text,
    };
    return &library;
}
