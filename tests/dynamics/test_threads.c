/* test_threads.c  the same bits always: from any thread that shares the model, in any batch, after
 * any other call. */
#include "check.h"
#include <pthread.h>

#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

#define OK(call) assert_int_equal(call, SOA_OK)

enum { THREADS = 4, STATES = 24, ROUNDS = 3 };

static void *room(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

/* States of one model, in both precisions. */
typedef struct herd {
    const soa_model *m;
    size_t nq, nv, n;
    double *q, *v, *a, *fext;
    float *qf, *vf, *af, *fext_f;
} herd;

static herd gather(const char *name) {
    herd h = {.m = NULL};
    OK(soa_stock_model_create(name, NULL, &h.m, NULL));
    h.nq = (size_t)soa_model_nq(h.m);
    h.nv = (size_t)soa_model_nv(h.m);
    h.n = (size_t)soa_model_body_count(h.m);
    h.q = room(STATES * h.nq, 8);
    h.v = room(STATES * h.nv, 8);
    h.a = room(STATES * h.nv, 8);
    h.fext = room(STATES * h.n * 6, 8);
    h.qf = room(STATES * h.nq, 4);
    h.vf = room(STATES * h.nv, 4);
    h.af = room(STATES * h.nv, 4);
    h.fext_f = room(STATES * h.n * 6, 4);
    dice random = {1};
    roll_many(&random, -1, 1, STATES * h.nv, h.v);
    roll_many(&random, -1, 1, STATES * h.nv, h.a);
    roll_many(&random, -1, 1, STATES * h.n * 6, h.fext);
    for (size_t s = 0; s < STATES; s++) {
        double *q = h.q + s * h.nq;
        soa_q_neutral(h.m, q);
        OK(soa_q_integrate(h.m, q, h.v + s * h.nv, 1 + (double)s, q));
        /* lanes leave the common way for huge angles */
        for (int i = 1; s % 5 == 3 && i <= (int)h.n; i++) {
            soa_body_info info;
            OK(soa_model_body(h.m, i, &info));
            if (info.type == SOA_REVOLUTE && info.nq == 1 && i % 2) q[info.q_index] *= 1e7;
        }
    }
    for (size_t i = 0; i < STATES * h.nv; i++) {
        h.vf[i] = (float)h.v[i];
        h.af[i] = (float)h.a[i];
    }
    for (size_t i = 0; i < STATES * h.nq; i++)
        h.qf[i] = (float)h.q[i];
    for (size_t i = 0; i < STATES * h.n * 6; i++)
        h.fext_f[i] = (float)h.fext[i];
    return h;
}
static void scatter(herd *h) {
    soa_model_free(h->m);
    free(h->q);
    free(h->v);
    free(h->a);
    free(h->fext);
    free(h->qf);
    free(h->vf);
    free(h->af);
    free(h->fext_f);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Numbers that one state gives in `everything`. */
static size_t numbers(const herd *h) {
    return 8 * h->nv + 5 * h->nv * h->nv + 6 * h->nv + 2 + 9 + 6;
}

/* Many calls at state s; returns how many failed.  No cmocka here: it is not for threads. */
static int everything(const herd *h, soa_work *w, soa_batch *b, size_t s, double *out) {
    const soa_model *m = h->m;
    const size_t nv = h->nv;
    const double *q = h->q + s * h->nq, *v = h->v + s * nv, *a = h->a + s * nv;
    const int last = soa_model_frame_count(m) - 1;
    const soa_wrench f = {last, SOA_AXES_WORLD, {1, 2, 3, 4, 5, 6}};
    int bad = 0;
    bad += soa_rnea(m, w, q, v, a, &f, 1, out) != SOA_OK;
    out += nv;
    bad += soa_aba(m, w, q, v, a, &f, 1, out) != SOA_OK;
    out += nv;
    bad += soa_gravity_torque(m, w, q, out) != SOA_OK;
    out += nv;
    bad += soa_coriolis_mul(m, w, q, v, a, out) != SOA_OK;
    out += nv;
    bad += soa_mass_mul(m, w, q, v, out) != SOA_OK;
    out += nv;
    bad += soa_minv_mul(m, w, q, v, out) != SOA_OK;
    out += nv;
    bad += soa_crba(m, w, q, out) != SOA_OK;
    out += nv * nv;
    bad += soa_minv(m, w, q, out) != SOA_OK;
    out += nv * nv;
    bad += soa_aba_derivatives(
               m, w, &(soa_input){.q = q, .v = v, .tau = a, .wrenches = &f, .wrench_count = 1}, out,
               out + nv * nv) != SOA_OK;
    out += 2 * nv * nv;
    bad += soa_energy(m, w, q, v, out, out + 1) != SOA_OK;
    out += 2;
    bad += soa_momentum(m, w, q, v, out, out + 6) != SOA_OK;
    out += 9;
    bad += soa_kinematics(m, w, q, v, a) != SOA_OK;
    bad += soa_acceleration_classical(m, w, last, SOA_AXES_WORLD, out) != SOA_OK;
    out += 6;
    bad += soa_jacobian(m, w, last, SOA_AXES_WORLD, out) != SOA_OK;
    out += 6 * nv;
    bad += soa_aba_batch(m, b, 1, q, v, a, NULL, out) != SOA_OK;
    out += nv;
    bad += soa_rnea_batch(m, b, 1, q, v, a, NULL, out) != SOA_OK;
    out += nv;
    bad += soa_crba_batch(m, b, 1, q, out) != SOA_OK;
    return bad;
}

typedef struct job {
    const herd *h;
    size_t first; /* each thread starts elsewhere */
    double *out;
    int bad;
} job;

static void *work_hard(void *argument) {
    job *j = argument;
    soa_work *w = NULL;
    soa_batch *b = NULL;
    j->bad += soa_work_create(j->h->m, &w) != SOA_OK || soa_batch_create(j->h->m, &b) != SOA_OK;
    for (int round = 0; round < ROUNDS && !j->bad; round++)
        for (size_t k = 0; k < STATES; k++) {
            /* another order each round */
            const size_t s = (j->first + k * (size_t)(round + 1)) % STATES;
            j->bad += everything(j->h, w, b, s, j->out + s * numbers(j->h));
        }
    for (size_t s = 0; s < STATES && !j->bad; s++)
        j->bad += everything(j->h, w, b, s, j->out + s * numbers(j->h));
    soa_work_free(w);
    soa_batch_free(b);
    return NULL;
}

static void shared_model(void **state) {
    (void)state;
    static const char *const names[] = {"arm7",      "humanoid",  "satellite", "random:7",
                                        "random:12", "random:31", "puma560"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        herd h = gather(names[k]);
        const size_t size = STATES * numbers(&h);
        job alone = {.h = &h, .out = room(size, sizeof(double))}, together[THREADS];
        work_hard(&alone);
        assert_int_equal(alone.bad, 0);
        pthread_t thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            together[t] = (job){.h = &h, .first = (size_t)t * 5, .out = room(size, sizeof(double))};
            assert_int_equal(pthread_create(&thread[t], NULL, work_hard, &together[t]), 0);
        }
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_join(thread[t], NULL), 0);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(together[t].bad, 0);
            for (size_t i = 0; i < size; i++)
                if (memcmp(&together[t].out[i], &alone.out[i], sizeof(double)) ||
                    !isfinite(alone.out[i]))
                    fail_msg("%s, thread %d, state %d, number %d: got %.17g, expected %.17g to the "
                             "last bit",
                             names[k], t, (int)(i / numbers(&h)), (int)(i % numbers(&h)),
                             together[t].out[i], alone.out[i]);
            free(together[t].out);
        }
        free(alone.out);
        scatter(&h);
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

static const char *const batch_name[6] = {"aba_batch",   "rnea_batch",   "crba_batch",
                                          "aba_batch_f", "rnea_batch_f", "crba_batch_f"};

/* States first .. first + count - 1; results as bytes. */
static soa_status run(const herd *h, soa_batch *b, int which, size_t first, size_t count,
                      int wrenches, void *out) {
    const double *q = h->q + first * h->nq, *v = h->v + first * h->nv, *a = h->a + first * h->nv;
    const double *x = wrenches ? h->fext + first * h->n * 6 : NULL;
    const float *qf = h->qf + first * h->nq, *vf = h->vf + first * h->nv,
                *af = h->af + first * h->nv;
    const float *xf = wrenches ? h->fext_f + first * h->n * 6 : NULL;
    switch (which) {
    case 0: return soa_aba_batch(h->m, b, (long)count, q, v, a, x, out);
    case 1: return soa_rnea_batch(h->m, b, (long)count, q, v, a, x, out);
    case 2: return soa_crba_batch(h->m, b, (long)count, q, out);
    case 3: return soa_aba_batch_f(h->m, b, (long)count, qf, vf, af, xf, out);
    case 4: return soa_rnea_batch_f(h->m, b, (long)count, qf, vf, af, xf, out);
    default: return soa_crba_batch_f(h->m, b, (long)count, qf, out);
    }
}

static void batch_bits(void **state) {
    (void)state;
    static const char *const names[] = {"arm7",      "humanoid",  "quadruped",
                                        "random:7",  "random:12", "random:31",
                                        "random:40", "puma560",   "chain:1"};
    long compared = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        herd h = gather(names[k]);
        soa_batch *b, *fresh;
        OK(soa_batch_create(h.m, &b));
        for (int which = 0; which < 6; which++)
            for (int wrenches = 0; wrenches < (which % 3 == 2 ? 1 : 2); wrenches++) {
                const size_t wide = (which % 3 == 2 ? h.nv * h.nv : h.nv) *
                                    (which < 3 ? sizeof(double) : sizeof(float));
                unsigned char *all = room(STATES, wide), *some = room(STATES, wide);
                OK(soa_batch_create(h.m, &fresh));
                OK(run(&h, fresh, which, 0, STATES, wrenches, all));
                soa_batch_free(fresh);
                for (size_t count = 1; count <= 17; count++)
                    for (size_t first = 0; first + count <= STATES; first++) {
                        OK(run(&h, b, which, first, count, wrenches, some));
                        for (size_t s = 0; s < count; s++, compared++)
                            if (memcmp(some + s * wide, all + (first + s) * wide, wide))
                                fail_msg(
                                    "%s, %s: state %d differs in a batch of %d that starts at %d",
                                    names[k], batch_name[which], (int)(first + s), (int)count,
                                    (int)first);
                    }
                free(all);
                free(some);
            }
        soa_batch_free(b);
        scatter(&h);
    }
    printf("%ld states of batches compared, every bit the same\n", compared);
}

/* --- worlds ----------------------------------------------------------------------------------- */

enum { WORLDS = 4, TICKS = 60 };
typedef struct life {
    const soa_scenario *scenario;
    unsigned char *end; /* the state at the end */
    size_t size;
    int bad;
} life;

static void *live(void *argument) {
    life *l = argument;
    soa_world *world = NULL;
    soa_report report;
    l->bad += soa_world_create(l->scenario, &world, &report) != SOA_OK;
    for (int n = 0; n < TICKS && !l->bad; n++)
        l->bad += soa_world_tick(world, &report) != SOA_OK;
    if (!l->bad) {
        l->size = soa_world_state_size(world);
        l->end = malloc(l->size);
        l->bad += l->end == NULL;
        if (l->end) soa_world_save_state(world, l->end);
    }
    soa_world_free(world);
    return NULL;
}

/* Two worlds of each of two scenarios at once: each ends as it would alone. */
static void worlds_side_by_side(void **state) {
    (void)state;
    static const char *const names[2] = {"kill-arm", "kill-float"};
    const char *source = getenv("SOA_SOURCE_DIR");
    soa_scenario scenario[2];
    life alone[2], together[WORLDS];
    pthread_t thread[WORLDS];
    for (int k = 0; k < 2; k++) {
        char path[1000];
        soa_report report;
        snprintf(path, sizeof path, "%s/tests/scenarios/%s.yaml", source ? source : ".", names[k]);
        if (soa_scenario_read(path, &scenario[k], &report)) fail_msg("%s", report.text);
        alone[k] = (life){.scenario = &scenario[k]};
        live(&alone[k]);
        assert_int_equal(alone[k].bad, 0);
    }
    for (int t = 0; t < WORLDS; t++) {
        together[t] = (life){.scenario = &scenario[t % 2]};
        assert_int_equal(pthread_create(&thread[t], NULL, live, &together[t]), 0);
    }
    for (int t = 0; t < WORLDS; t++)
        assert_int_equal(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < WORLDS; t++) {
        assert_int_equal(together[t].bad, 0);
        assert_int_equal(together[t].size, alone[t % 2].size);
        assert_memory_equal(together[t].end, alone[t % 2].end, together[t].size);
        free(together[t].end);
    }
    for (int k = 0; k < 2; k++) {
        free(alone[k].end);
        soa_scenario_free(&scenario[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_model), cmocka_unit_test(batch_bits),
                                       cmocka_unit_test(worlds_side_by_side)};
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
