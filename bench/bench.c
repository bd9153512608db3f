/* bench.c  compares the speed of libsoa with its peers: one core, one run.
 *
 *   usage: bench [--out DIR] [--peers DIR] [--facts FILE] [--rounds R] [--longest N] [MODEL...]
 *
 * For each model every library first answers the same random states. An answer that differs from
 * ours is reported, and that routine is not timed. Then the calls are timed in rounds, all
 * libraries in turn within a round. Each sample lasts at least a millisecond, and states change
 * from call to call. There are 201 rounds for the robots and for chains beyond 1,000, 25 for the
 * others, or R. In every round the stack, our work spaces and our arrays are at another place
 * (docs/decisions/moving-bench.md). The figure is the median of the rounds; the spread is the
 * distance between quartiles, in per cent of the median. Writes DIR/bench.json and
 * DIR/bench.svg. */
#define _GNU_SOURCE
#include "flops.h"
#include "peer.h"
#include "soa/dynamics.h"
#include "soa/io.h"
#include "soa/plot.h"

#include <alloca.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS 1e6  /* a sample lasts at least this long */
#define BUDGET_NS 3e9  /* about the total time of the rounds of one slow call */
#define LEAST_ROUNDS 5 /* for any budget */
#define AGREE 1e-6     /* largest relative difference that counts as equal */
#define AGREE_NEW 1e-9 /* for Pinocchio and the MuJoCo of today, up to nv = LARGE */
#define AGREE_FLOAT 1e-3
/* Only up to nv = 30: beyond, single precision cannot compute fd accurately. */
#define AGREE_FLOAT_FD 2e-2
#define MOST_ENTRIES 128
#define MOST_PEERS 16
/* Beyond this nv only forward and inverse dynamics and the mass matrix are timed. */
#define LARGE 100
#define MOST_ROUNDS 201
#define POOL_PAGES 4096 /* range in which our memory is moved */
#define STACK_PAGES 256 /* and the stack */

/* --- generated code --------------------------------------------------------------------------- */
typedef struct generated {
    const char *model;
    int (*fd)(const double *q, const double *v, const double *tau, double *qdd);
    int (*id)(const double *q, const double *v, const double *a, double *tau);
    int (*mass)(const double *q, double *M);
    int (*fd_batch)(long n, const double *q, const double *v, const double *tau, double *qdd);
    int (*id_batch)(long n, const double *q, const double *v, const double *a, double *tau);
    int (*mass_batch)(long n, const double *q, double *M);
} generated;

#if SOA_BENCH_GEN
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
static const generated generated_code[] = {ROW(arm7), ROW(quadruped), ROW(humanoid), {0}};
#else
static const generated generated_code[] = {{0}};
#endif

/* --- measured data ---------------------------------------------------------------------------- */
typedef struct numbers { /* states and answers */
    double *q, *v, *a, *tau, *out, *M;
    float *qf, *vf, *af, *tauf, *outf, *Mf;
} numbers;
typedef struct states {
    const soa_model *model;
    int nq, nv, bodies, count, batch, mass_batch; /* states; states per batch call */
    int last;                                     /* frame of the last body */
    soa_body_info *body;
    /* As drawn, without answers; where they are in this round. */
    numbers home, at;
    soa_work *work;
    soa_batch *lanes;
    const generated *gen;
    char *pool; /* holds all of these except home */
    size_t pool_bytes;
    uint64_t seed;
    int failed; /* calls of ours that did not return SOA_OK */
} states;

typedef struct entry entry;
struct entry {
    const char *fn, *lib, *how;
    void (*run)(entry *e, int state);
    states *s;
    const peer_library *library; /* only for peers */
    void *peer;
    peer_fn peer_fn;
    int way;
    double states_per_run;
    long repeat;
    int rounds, next, state;
    double ns[MOST_ROUNDS], median, spread;
};

typedef struct result {
    const char *model, *fn, *lib;
    int n;
    double ns, spread;
} result;

/* Arithmetic of one of our calls, per state. */
typedef struct work_done {
    const char *model, *fn;
    int n, wide;
    double flops, instructions, ns;
} work_done;

typedef struct bench {
    peer_library const *library[MOST_PEERS];
    int libraries, rounds, longest, complaints;
    result *results;
    int count, room;
    double peak, peak_wide; /* with registers of up to 256 bits, of 512 */
    work_done done[32];
    int done_count, not_counted;
} bench;

/* Time that this process has used on the core, all threads together. Time of other processes does
 * not count. */
static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *need(size_t count, size_t size) {
    void *p = NULL;
    size_t bytes = (count * size + 63) / 64 * 64;
    if (posix_memalign(&p, 64, bytes ? bytes : 64) != 0) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    memset(p, 0, bytes ? bytes : 64);
    return p;
}

/* Splitmix: the same states on every machine. */
static double uniform(uint64_t *seed) {
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return 2.0 * (double)((z ^ z >> 31) >> 11) / 9007199254740992.0 - 1.0;
}

static void random_unit(uint64_t *seed, double *x, int n) {
    double s = 0;
    while (s < 0.1 || s > 1) {
        s = 0;
        for (int i = 0; i < n; ++i) {
            x[i] = uniform(seed);
            s += x[i] * x[i];
        }
    }
    for (int i = 0; i < n; ++i)
        x[i] /= sqrt(s);
}

static void random_state(const states *s, uint64_t *seed, int k) {
    double *q = s->home.q + (ptrdiff_t)k * s->nq;
    for (int i = 1; i <= s->bodies; ++i) {
        const soa_body_info *b = &s->body[i];
        double *qi = q + b->q_index;
        int vectors;
        if (b->type == SOA_FREE) {
            vectors = 3;
        } else if (b->type == SOA_SPHERICAL) {
            vectors = 0;
        } else {
            vectors = b->nq;
        }
        for (int j = 0; j < vectors; ++j)
            qi[j] = 3 * uniform(seed);
        if (vectors < b->nq) random_unit(seed, qi + vectors, 4);
    }
    for (int i = 0; i < s->nv; ++i) {
        ptrdiff_t at = (ptrdiff_t)k * s->nv + i;
        s->home.v[at] = uniform(seed);
        s->home.a[at] = uniform(seed);
        s->home.tau[at] = uniform(seed);
    }
}

static float *single(const double *x, size_t n) {
    float *f = need(n, sizeof *f);
    for (size_t i = 0; i < n; ++i)
        f[i] = (float)x[i];
    return f;
}

/* Address in the pool, at a cache line somewhere in a page; filled from `from` unless that is
 * NULL. */
static void *put(states *s, size_t *at, const void *from, size_t bytes) {
    size_t start = *at + (size_t)((uniform(&s->seed) + 1) * 32) * 64;
    *at += (bytes + 4095) / 4096 * 4096 + 4096;
    if (!s->pool) return NULL;
    if (from) memcpy(s->pool + start, from, bytes);
    return s->pool + start;
}
/* Moves work spaces, states and answers to another place in the pool. Without a pool, returns how
 * much they need. */
static size_t move(states *s) {
    size_t nq = (size_t)s->batch * (size_t)s->nq, nv = (size_t)s->batch * (size_t)s->nv;
    size_t matrices = s->nv <= 1000 ? (size_t)s->mass_batch * (size_t)s->nv * (size_t)s->nv : 0;
    size_t work = soa_work_size(s->model), lanes = soa_batch_size(s->model);
    size_t at = (size_t)((uniform(&s->seed) + 1) * 0.5 * (POOL_PAGES - 1)) * 4096;
    if (!s->pool) at = POOL_PAGES * 4096;
    void *work_at = put(s, &at, NULL, work), *lanes_at = put(s, &at, NULL, lanes);
    s->at.q = put(s, &at, s->home.q, nq * sizeof(double));
    s->at.v = put(s, &at, s->home.v, nv * sizeof(double));
    s->at.a = put(s, &at, s->home.a, nv * sizeof(double));
    s->at.tau = put(s, &at, s->home.tau, nv * sizeof(double));
    s->at.out = put(s, &at, NULL, nv * sizeof(double));
    s->at.M = put(s, &at, NULL, matrices * sizeof(double));
    s->at.qf = put(s, &at, s->home.qf, nq * sizeof(float));
    s->at.vf = put(s, &at, s->home.vf, nv * sizeof(float));
    s->at.af = put(s, &at, s->home.af, nv * sizeof(float));
    s->at.tauf = put(s, &at, s->home.tauf, nv * sizeof(float));
    s->at.outf = put(s, &at, NULL, nv * sizeof(float));
    s->at.Mf = put(s, &at, NULL, matrices * sizeof(float));
    if (s->pool && (soa_work_init(s->model, work_at, work, &s->work) != SOA_OK ||
                    soa_batch_init(s->model, lanes_at, lanes, &s->lanes) != SOA_OK)) {
        fprintf(stderr, "bench: no work space\n");
        exit(2);
    }
    return at;
}

/* Address for the matrix of state k. Up to nv = 100 each state has its own, in single calls as in a
 * batch, so that both must write beyond the nearest cache. Peers keep theirs in one place. */
static double *matrix(const states *s, int k) {
    return s->at.M + (s->nv <= 100 ? (ptrdiff_t)(k % s->mass_batch) * s->nv * s->nv : 0);
}

/* The same for three matrices, one behind the other. */
static double *three_matrices(const states *s, int k) {
    return s->at.M + (ptrdiff_t)(k % (s->mass_batch / 3)) * 3 * s->nv * s->nv;
}

/* --- our own calls ---------------------------------------------------------------------------- */
#define OURS(name, call)                                                                       \
    static void name(entry *e, int k) {                                                        \
        states *s = e->s;                                                                      \
        const double *q = s->at.q + (ptrdiff_t)k * s->nq;                                      \
        const double *v = s->at.v + (ptrdiff_t)k * s->nv, *x = s->at.a + (ptrdiff_t)k * s->nv; \
        const double *tau = s->at.tau + (ptrdiff_t)k * s->nv;                                  \
        (void)q;                                                                               \
        (void)v;                                                                               \
        (void)x;                                                                               \
        (void)tau;                                                                             \
        s->failed += (call) != 0;                                                              \
    }
OURS(own_fd, soa_aba(s->model, s->work, q, v, tau, NULL, 0, s->at.out))
OURS(own_id, soa_rnea(s->model, s->work, q, v, x, NULL, 0, s->at.out))
OURS(own_mass, soa_crba(s->model, s->work, q, matrix(s, k)))
OURS(own_bias, soa_bias_torque(s->model, s->work, q, v, s->at.out))
OURS(own_jacobian, soa_kinematics(s->model, s->work, q, NULL, NULL) ||
                       soa_jacobian(s->model, s->work, s->last, SOA_AXES_WORLD, s->at.out))

/* All three derivatives, as the peers give them: the third is the inverse mass matrix, or the mass
 * matrix. */
static soa_status fd_derivatives(const states *s, const soa_input *in, double *out) {
    const ptrdiff_t n = (ptrdiff_t)s->nv * s->nv;
    const soa_status status = soa_aba_derivatives(s->model, s->work, in, out, out + n);
    return status != SOA_OK ? status : soa_minv(s->model, s->work, in->q, out + 2 * n);
}
static soa_status id_derivatives(const states *s, const soa_input *in, double *out) {
    const ptrdiff_t n = (ptrdiff_t)s->nv * s->nv;
    const soa_status status = soa_rnea_derivatives(s->model, s->work, in, out, out + n);
    return status != SOA_OK ? status : soa_crba(s->model, s->work, in->q, out + 2 * n);
}
OURS(own_fd_derivatives,
     fd_derivatives(s, &(soa_input){.q = q, .v = v, .tau = tau}, three_matrices(s, k)))
OURS(own_id_derivatives,
     id_derivatives(s, &(soa_input){.q = q, .v = v, .a = x}, three_matrices(s, k)))
OURS(own_fd_batch,
     soa_aba_batch(s->model, s->lanes, s->batch, s->at.q, s->at.v, s->at.tau, NULL, s->at.out))
OURS(own_id_batch,
     soa_rnea_batch(s->model, s->lanes, s->batch, s->at.q, s->at.v, s->at.a, NULL, s->at.out))
OURS(own_mass_batch, soa_crba_batch(s->model, s->lanes, s->mass_batch, s->at.q, s->at.M))
OURS(own_fd_batch_f, soa_aba_batch_f(s->model, s->lanes, s->batch, s->at.qf, s->at.vf, s->at.tauf,
                                     NULL, s->at.outf))
OURS(own_id_batch_f,
     soa_rnea_batch_f(s->model, s->lanes, s->batch, s->at.qf, s->at.vf, s->at.af, NULL, s->at.outf))
OURS(own_mass_batch_f, soa_crba_batch_f(s->model, s->lanes, s->mass_batch, s->at.qf, s->at.Mf))
OURS(gen_fd, s->gen->fd(q, v, tau, s->at.out))
OURS(gen_id, s->gen->id(q, v, x, s->at.out))
OURS(gen_mass, s->gen->mass(q, matrix(s, k)))
OURS(gen_fd_batch, s->gen->fd_batch(s->batch, s->at.q, s->at.v, s->at.tau, s->at.out))
OURS(gen_id_batch, s->gen->id_batch(s->batch, s->at.q, s->at.v, s->at.a, s->at.out))
OURS(gen_mass_batch, s->gen->mass_batch(s->mass_batch, s->at.q, s->at.M))

typedef enum flavour { SCALAR, BATCH, BATCH_FLOAT, GENERATED, GENERATED_BATCH, FLAVOURS } flavour;
/* The first PEER_FN_COUNT are the single calls, in the order of peer_fn. */
static const struct own {
    const char *fn;
    peer_fn kind;
    flavour flavour;
    void (*run)(entry *e, int state);
} own_calls[] = {
    {"fd", PEER_FD, SCALAR, own_fd},
    {"id", PEER_ID, SCALAR, own_id},
    {"mass", PEER_MASS, SCALAR, own_mass},
    {"bias", PEER_BIAS, SCALAR, own_bias},
    {"jacobian", PEER_JACOBIAN, SCALAR, own_jacobian},
    {"fd_derivatives", PEER_FD_DERIVATIVES, SCALAR, own_fd_derivatives},
    {"id_derivatives", PEER_ID_DERIVATIVES, SCALAR, own_id_derivatives},
    {"fd_batch", PEER_FD, BATCH, own_fd_batch},
    {"id_batch", PEER_ID, BATCH, own_id_batch},
    {"mass_batch", PEER_MASS, BATCH, own_mass_batch},
    {"fd_batch_f", PEER_FD, BATCH_FLOAT, own_fd_batch_f},
    {"id_batch_f", PEER_ID, BATCH_FLOAT, own_id_batch_f},
    {"mass_batch_f", PEER_MASS, BATCH_FLOAT, own_mass_batch_f},
    {"fd_gen", PEER_FD, GENERATED, gen_fd},
    {"id_gen", PEER_ID, GENERATED, gen_id},
    {"mass_gen", PEER_MASS, GENERATED, gen_mass},
    {"fd_gen_batch", PEER_FD, GENERATED_BATCH, gen_fd_batch},
    {"id_gen_batch", PEER_ID, GENERATED_BATCH, gen_id_batch},
    {"mass_gen_batch", PEER_MASS, GENERATED_BATCH, gen_mass_batch},
};
enum { OWN_CALLS = sizeof own_calls / sizeof own_calls[0] };

static void run_peer(entry *e, int k) {
    e->library->run(e->peer, e->peer_fn, e->way, k);
}

/* --- comparison of answers -------------------------------------------------------------------- */
/* max |x - reference| / max(max |reference|, 1e-3); infinite if there is any NaN. */
static double difference(const double *x, const double *reference, size_t n) {
    double d = 0, scale = 1e-3;
    for (size_t i = 0; i < n; ++i) {
        double e = fabs(x[i] - reference[i]);
        if (!(e <= 1e300)) return INFINITY;
        d = fmax(d, e);
        scale = fmax(scale, fabs(reference[i]));
    }
    return d / scale;
}

/* An answer consists of that many parts, compared each by itself. */
static size_t answer_parts(peer_fn fn) {
    return fn == PEER_FD_DERIVATIVES || fn == PEER_ID_DERIVATIVES ? 3 : 1;
}

static size_t answer_size(const states *s, peer_fn fn) {
    const size_t nv = (size_t)s->nv;
    switch (fn) {
    case PEER_MASS: return nv * nv;
    case PEER_JACOBIAN: return 6 * nv;
    case PEER_FD_DERIVATIVES:
    case PEER_ID_DERIVATIVES: return 3 * nv * nv;
    default: return nv;
    }
}

static const double *answer_place(const states *s, peer_fn fn, int k) {
    if (fn == PEER_MASS) return matrix(s, k);
    return answer_parts(fn) == 3 ? three_matrices(s, k) : s->at.out;
}

/* Our answer for state k from single calls. */
static void reference(states *s, peer_fn fn, int k, double *out) {
    entry e = {.s = s};
    own_calls[fn].run(&e, k);
    memcpy(out, answer_place(s, fn, k), answer_size(s, fn) * sizeof *out);
}

static double compare_own(states *s, const struct own *call) {
    size_t n = answer_size(s, call->kind);
    double *want = need(n, sizeof *want), *got = need(n, sizeof *got), worst = 0;
    int batched =
        call->flavour == BATCH || call->flavour == BATCH_FLOAT || call->flavour == GENERATED_BATCH;
    int of = call->kind == PEER_MASS ? s->mass_batch : s->batch;
    for (int k = 0; k < 4; ++k) {
        int state = batched ? k * (of - 1) / 3 : k;
        size_t at;
        if (batched) {
            at = (size_t)state * n;
        } else if (call->kind == PEER_MASS) {
            at = (size_t)(matrix(s, state) - s->at.M);
        } else {
            at = 0;
        }
        entry e = {.s = s};
        reference(s, call->kind, state, want);
        call->run(&e, state);
        for (size_t i = 0; i < n; ++i)
            if (call->flavour == BATCH_FLOAT)
                got[i] = (double)(call->kind == PEER_MASS ? s->at.Mf : s->at.outf)[at + i];
            else
                got[i] = (call->kind == PEER_MASS ? s->at.M : s->at.out)[at + i];
        worst = fmax(worst, difference(got, want, n));
    }
    free(want);
    free(got);
    return worst;
}

static double compare_peer(states *s, const entry *e) {
    size_t n = answer_size(s, e->peer_fn);
    double *want = need(n, sizeof *want), *got = need(n, sizeof *got), worst = 0;
    for (int k = 0; k < 3; ++k) {
        reference(s, e->peer_fn, k, want);
        e->library->run(e->peer, e->peer_fn, e->way, k);
        e->library->fetch(e->peer, e->peer_fn, e->way, k, got);
        const size_t part = n / answer_parts(e->peer_fn);
        for (size_t i = 0; i < n; i += part)
            worst = fmax(worst, difference(got + i, want + i, part));
    }
    free(want);
    free(got);
    return worst;
}

/* --- timing ----------------------------------------------------------------------------------- */
/* Nanoseconds per run. Each run uses another state than the one before: some libraries recognise an
 * old one. */
static double time_run(entry *e, long repeat) {
    int count = e->s->count, k = e->state;
    double t = now_ns();
    for (long r = 0; r < repeat; ++r) {
        k = k + 1 == count ? 0 : k + 1;
        e->run(e, k);
    }
    t = now_ns() - t;
    e->state = k;
    return t / (double)repeat;
}

/* Finds how often to repeat for one sample, and how many samples; also warms up. Returns a first
 * estimate. */
static double calibrate(entry *e, int rounds) {
    double once = time_run(e, 1);
    long repeat = 1;
    for (; once * (double)repeat < 0.2 * SAMPLE_NS; repeat *= 2)
        once = time_run(e, repeat);
    for (int k = 0; k < 5 && once < 20 * SAMPLE_NS; ++k)
        once = fmin(once, time_run(e, repeat));
    e->repeat = (long)ceil(SAMPLE_NS / once);
    double sample = once * (double)e->repeat, affordable = BUDGET_NS / sample;
    if (affordable < LEAST_ROUNDS) {
        e->rounds = LEAST_ROUNDS;
    } else if (affordable < rounds) {
        e->rounds = (int)affordable;
    } else {
        e->rounds = rounds;
    }
    return once;
}

static int ascending(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* One round: every call once, with the stack `deeper` bytes further down. */
static __attribute__((noinline)) void measure_round(entry *entries, int count, int r,
                                                    size_t deeper) {
    char *volatile unused = alloca(deeper);
    (void)unused;
    for (int i = 0; i < count; ++i) {
        entry *e = &entries[(i + r) % count];
        if (e->next >= e->rounds) continue;
        /* Brings its data back into the caches. */
        time_run(e, 1 + e->repeat / 8);
        e->ns[e->next++] = time_run(e, e->repeat) / e->states_per_run;
    }
}
static void measure(states *s, entry *entries, int count, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        move(s);
        measure_round(entries, count, r,
                      64 + (size_t)((uniform(&s->seed) + 1) * 32 * STACK_PAGES) * 64);
    }
    for (int i = 0; i < count; ++i) {
        entry *e = &entries[i];
        int n = e->next;
        qsort(e->ns, (size_t)n, sizeof(double), ascending);
        e->median = n % 2 ? e->ns[n / 2] : 0.5 * (e->ns[n / 2 - 1] + e->ns[n / 2]);
        e->spread = (e->ns[(3 * n) / 4] - e->ns[n / 4]) / e->median;
    }
}

static void record(bench *b, const char *model, int n, const entry *e) {
    if (b->count == b->room) {
        b->room = 2 * b->room + 256;
        b->results = realloc(b->results, (size_t)b->room * sizeof *b->results);
        if (!b->results) exit(2);
    }
    b->results[b->count++] = (result){model, e->fn, e->lib, n, e->median, e->spread};
}

/* --- one model -------------------------------------------------------------------------------- */
static int states_open(states *s, const char *spec, const char *name) {
    soa_read_options options = {.ideal = true};
    soa_report report = {0};
    memset(s, 0, sizeof *s);
    if (soa_stock_model_create(spec, &options, &s->model, &report) != SOA_OK) {
        fprintf(stderr, "bench: %s: %s\n", spec, report.text);
        return 0;
    }
    s->nq = soa_model_nq(s->model);
    s->nv = soa_model_nv(s->model);
    s->bodies = soa_model_body_count(s->model);
    s->body = need((size_t)s->bodies + 1, sizeof *s->body);
    for (int i = 1; i <= s->bodies; ++i)
        soa_model_body(s->model, i, &s->body[i]);
    s->last = s->body[s->bodies].frame;
    if (s->nv <= 100) {
        s->batch = 256;
    } else if (s->nv <= 1000) {
        s->batch = 64;
    } else {
        s->batch = 8;
    }
    /* Their matrices stay in the core's level 2 cache. */
    s->mass_batch = s->nv <= 100 ? 64 : 8;
    if (s->nv <= 100) {
        s->count = 64;
    } else if (s->nv <= 300) {
        s->count = 16;
    } else {
        s->count = 8;
    }
    size_t nq = (size_t)s->batch * (size_t)s->nq, nv = (size_t)s->batch * (size_t)s->nv;
    s->home.q = need(nq, sizeof(double));
    s->home.v = need(nv, sizeof(double));
    s->home.a = need(nv, sizeof(double));
    s->home.tau = need(nv, sizeof(double));
    s->seed = 20240501u + (uint64_t)s->nv;
    for (int k = 0; k < s->batch; ++k)
        random_state(s, &s->seed, k);
    s->home.qf = single(s->home.q, nq);
    s->home.vf = single(s->home.v, nv);
    s->home.af = single(s->home.a, nv);
    s->home.tauf = single(s->home.tau, nv);
    for (const generated *g = generated_code; g->model; ++g)
        if (!strcmp(g->model, name)) s->gen = g;
    s->pool_bytes = move(s);
    void *pool =
        mmap(NULL, s->pool_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) {
        perror("bench: memory");
        return 0;
    }
    /* Pages from anywhere, like those of a heap. */
    madvise(pool, s->pool_bytes, MADV_NOHUGEPAGE);
    memset(pool, 0, s->pool_bytes);
    s->pool = pool;
    move(s);
    return 1;
}

static void states_close(states *s) {
    munmap(s->pool, s->pool_bytes);
    soa_model_free(s->model);
    free(s->body);
    free(s->home.q);
    free(s->home.v);
    free(s->home.a);
    free(s->home.tau);
    free(s->home.qf);
    free(s->home.vf);
    free(s->home.af);
    free(s->home.tauf);
}

/* Beyond LARGE only the first three answers are timed; of the longest chains no matrices. */
static int is_timed(const states *s, peer_fn fn) {
    return fn <= PEER_MASS || s->nv <= LARGE;
}

static int add_own(bench *b, states *s, entry *entries, int long_chain) {
    int n = 0;
    for (int i = 0; i < OWN_CALLS; ++i) {
        const struct own *call = &own_calls[i];
        int generated_call = call->flavour == GENERATED || call->flavour == GENERATED_BATCH;
        if (generated_call && !s->gen) continue;
        if (!is_timed(s, call->kind)) continue;
        if (long_chain && (call->flavour != SCALAR || call->kind == PEER_MASS)) continue;
        if (call->flavour != SCALAR) {
            double d = compare_own(s, call), limit = AGREE;
            if (call->flavour == BATCH_FLOAT) {
                if (call->kind != PEER_FD) {
                    limit = AGREE_FLOAT;
                } else if (s->nv <= 30) {
                    limit = AGREE_FLOAT_FD;
                } else {
                    limit = 1e300;
                }
            }
            printf("%s%s %.0e",
                   call->flavour == BATCH && call->kind == PEER_FD
                       ? "  soa      against the scalar call: "
                       : ", ",
                   call->fn, d);
            if (!(d <= limit)) {
                printf(" DIFFERS: not timed");
                ++b->complaints;
                continue;
            }
        }
        entry *e = &entries[n++];
        *e = (entry){.fn = call->fn,
                     .lib = "soa",
                     .how = "soa",
                     .run = call->run,
                     .s = s,
                     .states_per_run = 1};
        if (call->flavour == BATCH || call->flavour == BATCH_FLOAT ||
            call->flavour == GENERATED_BATCH)
            e->states_per_run = call->kind == PEER_MASS ? s->mass_batch : s->batch;
    }
    printf("\n");
    return n;
}

/* Adds a library's routines for each answer, if they agree with ours. Prints how far each is from
 * ours. */
static int add_peer(bench *b, states *s, const peer_library *library, void *peer, entry *entries) {
    int n = 0;
    for (int k = 0; k < s->count; ++k)
        library->load(peer, k, s->at.q + (ptrdiff_t)k * s->nq, s->at.v + (ptrdiff_t)k * s->nv,
                      s->at.a + (ptrdiff_t)k * s->nv, s->at.tau + (ptrdiff_t)k * s->nv);
    printf("  %-9s", library->name);
    const int new = !strcmp(library->name, "pinocchio") || !strcmp(library->name, "mujoco3");
    const double agree = new && s->nv <= LARGE ? AGREE_NEW : AGREE;
    for (peer_fn fn = PEER_FD; fn < PEER_FN_COUNT; ++fn) {
        if (!is_timed(s, fn)) continue;
        double estimate[8], best = INFINITY;
        int first = n;
        for (int way = 0; way < 8 && library->way(peer, fn, way); ++way) {
            entry *e = &entries[n];
            *e = (entry){
                .fn = own_calls[fn].fn, .lib = library->name, .how = library->way(peer, fn, way)};
            e->run = run_peer;
            e->s = s;
            e->states_per_run = 1;
            e->library = library;
            e->peer = peer;
            e->peer_fn = fn;
            e->way = way;
            double d = compare_peer(s, e);
            printf("%s %s %.0e", way ? "," : fn ? ";" : "", e->how, d);
            if (d <= agree) {
                estimate[n - first] = calibrate(e, b->rounds);
                best = fmin(best, estimate[n++ - first]);
            } else {
                printf(" DISAGREES: not timed");
                ++b->complaints;
            }
        }
        int end = n; /* routines far too slow are left out */
        n = first;
        for (int i = first; i < end; ++i)
            if (estimate[i - first] <= 3 * best) entries[n++] = entries[i];
    }
    printf("\n");
    return n;
}

static int rivals(const entry *a, const entry *b) {
    return !strcmp(a->lib, b->lib) && !strcmp(a->fn, b->fn);
}

/* True if another routine of the same library, or the same one of another compiler, gives the same
 * answer faster: only the fastest counts. */
static int beaten(const entry *entries, int count, int i) {
    for (int k = 0; k < count; ++k)
        if (k != i && rivals(&entries[k], &entries[i]) &&
            (entries[k].median < entries[i].median ||
             (entries[k].median == entries[i].median && k < i)))
            return 1;
    return 0;
}

/* For a routine that counts: what it was faster than. */
static void print_rivals(const entry *entries, int count, int i) {
    const entry *e = &entries[i];
    int any = 0;
    for (int k = 0; k < count; ++k)
        if (k != i && rivals(&entries[k], e)) {
            if (!any++) printf("  %s %s: %s %.0f ns counts;", e->lib, e->fn, e->how, e->median);
            printf(" %s %.0f ns", entries[k].how, entries[k].median);
        }
    if (any) printf("\n");
}

static void count_call(void *arg) {
    entry *e = arg;
    e->run(e, 0);
}

/* Counts flops of our forward dynamics; for a batch call on a batch of 8. */
static void count_work(bench *b, const char *model, int n, entry *entries, int count) {
    for (int i = 0; i < count; ++i) {
        entry *e = &entries[i];
        flop_count c;
        int batch = e->s->batch;
        double per_run = e->states_per_run > 1 ? 8 : 1;
        if (strncmp(e->fn, "fd", 2) != 0 || !strcmp(e->fn, "fd_derivatives") ||
            strcmp(e->lib, "soa") != 0 || b->done_count == 32)
            continue;
        e->s->batch = 8;
        if (flops_counted(count_call, e, &c))
            b->done[b->done_count++] = (work_done){model,
                                                   e->fn,
                                                   n,
                                                   c.wide,
                                                   (double)c.flops / per_run,
                                                   (double)c.instructions / per_run,
                                                   e->median};
        else
            b->not_counted = 1;
        e->s->batch = batch;
    }
}

/* Nanoseconds per state for writing the matrices of a batch and nothing else, median: a lower bound
 * for any method. */
static double write_matrices(const states *s) {
    enum { ROUNDS = 101 };
    const size_t bytes = answer_size(s, PEER_MASS) * sizeof(double);
    double ns[ROUNDS], *one = need(answer_size(s, PEER_MASS), sizeof *one);
    for (int r = 0; r < ROUNDS; ++r) {
        double t = now_ns();
        for (int k = 0; k < 4 * s->mass_batch; ++k)
            memcpy(matrix(s, k), one, bytes);
        ns[r] = (now_ns() - t) / (4 * s->mass_batch);
    }
    free(one);
    qsort(ns, ROUNDS, sizeof *ns, ascending);
    return ns[ROUNDS / 2];
}

static void share_of_peak(const bench *b) {
    printf(
        "\nShare of the core's peak, %.1f Gflop/s in double precision as measured by a loop of "
        "independent fused\n"
        "multiply-adds (single precision: twice that). Flops: every add, multiply, divide and root "
        "executed in one\n"
        "call, a fused pair as 2, sine and cosine included, counted by single-stepping the call.\n",
        b->peak);
    if (b->peak_wide > 1.2 * b->peak)
        printf("Generated batches compiled for AVX-512 take eight states at a time: their peak is "
               "%.1f Gflop/s.\n",
               b->peak_wide);
    for (int i = 0; i < b->done_count; ++i) {
        const work_done *d = &b->done[i];
        double peak;
        if (d->wide > 1) {
            peak = b->peak_wide;
        } else if (strstr(d->fn, "_f")) {
            peak = 2 * b->peak;
        } else {
            peak = b->peak;
        }
        double rate = d->flops / d->ns;
        printf("  %-9s n=%-5d %-13s %8.0f flops, %8.0f instructions a state, %6.2f Gflop/s, %5.1f "
               "%% of peak\n",
               d->model, d->n, d->fn, d->flops, d->instructions, rate, 100 * rate / peak);
    }
    if (b->not_counted) printf("  some not counted: single-stepping is not possible here\n");
}

static int bench_model(bench *b, const char *spec, const char *name) {
    static entry entries[MOST_ENTRIES];
    states s;
    void *peers[MOST_PEERS] = {0};
    double start = now_ns();
    if (!states_open(&s, spec, name)) return 0;
    int long_chain = s.nv > 1000, n;
    printf("\n%s: nv %d, %d bodies\n", spec, s.nv, s.bodies);
    n = add_own(b, &s, entries, long_chain);
    for (int i = 0; i < n; ++i)
        calibrate(&entries[i], b->rounds);
    for (int k = 0; k < b->libraries && !long_chain; ++k) {
        peer_model model = {spec, s.nq, s.nv, s.bodies, {0, 0, 0}, s.body};
        char why[300] = "it did not say why";
        soa_model_gravity(s.model, model.gravity);
        peers[k] = b->library[k]->open(&model, s.count, why, sizeof why);
        if (!peers[k])
            printf("  %-9s left out: %s\n", b->library[k]->name, why);
        else
            n += add_peer(b, &s, b->library[k], peers[k], entries + n);
        fflush(stdout);
    }
    measure(&s, entries, n, b->rounds);
    for (int i = 0; i < n; ++i)
        if (!beaten(entries, n, i)) {
            print_rivals(entries, n, i);
            record(b, name, s.nv, &entries[i]);
        }
    if (!strcmp(spec, "arm7") || !strcmp(spec, "humanoid") || (s.nv == 100 && s.bodies == 100))
        count_work(b, name, s.nv, entries, n);
    for (int k = 0; k < b->libraries; ++k)
        if (peers[k]) b->library[k]->close(peers[k]);
    if (s.failed) {
        printf("  %d calls of ours FAILED\n", s.failed);
        ++b->complaints;
    }
    if (s.gen)
        printf("  writing a mass matrix of a batch, and nothing else: %.0f ns\n",
               write_matrices(&s));
    printf("  %d calls timed, %.1f s\n", n, 1e-9 * (now_ns() - start));
    fflush(stdout);
    states_close(&s);
    return 1;
}

/* --- report ----------------------------------------------------------------------------------- */
static const char *const libs[] = {"soa",  "mujoco",    "bullet",  "kdl", "simbody",
                                   "dart", "pinocchio", "mujoco3", NULL};
/* The modules peer_NAME.so.  Pinocchio is compiled twice; the faster one counts, call by call. */
static const char *const modules[] = {"mujoco",          "bullet",  "kdl",
                                      "simbody",         "dart",    "pinocchio_gcc",
                                      "pinocchio_clang", "mujoco3", NULL};

static const result *find(const bench *b, const char *model, int n, const char *fn,
                          const char *lib) {
    for (int i = 0; i < b->count; ++i) {
        const result *r = &b->results[i];
        if (!strcmp(r->model, model) && (n == 0 || r->n == n) && !strcmp(r->fn, fn) &&
            !strcmp(r->lib, lib))
            return r;
    }
    return NULL;
}

static void cell(const result *r) {
    if (r)
        printf(" %10.4g %s%-2.0f%%", r->ns, "\xC2\xB1", fmin(99, 50 * r->spread));
    else
        printf(" %10s     ", "-");
}

static void table_robots(const bench *b) {
    static const char *const robots[] = {"arm7", "quadruped", "humanoid", NULL};
    static const char *const fns[] = {"fd", "id", "mass", NULL};
    static const char *const kinds[] = {"_batch", "_batch_f", "_gen", "_gen_batch", NULL};
    for (int m = 0; robots[m]; ++m) {
        if (!find(b, robots[m], 0, "fd", "soa")) continue;
        printf("\n%-9s ns, median \xC2\xB1 half the distance between quartiles\n%16s", robots[m],
               "");
        for (int l = 0; libs[l]; ++l)
            printf(" %15s", libs[l]);
        printf("\n");
        for (int f = 0; f < PEER_FN_COUNT; ++f) {
            printf("  %-14s", own_calls[f].fn);
            for (int l = 0; libs[l]; ++l)
                cell(find(b, robots[m], 0, own_calls[f].fn, libs[l]));
            printf("\n");
        }
        printf("%6s", "");
        for (int k = 0; kinds[k]; ++k)
            printf(" %15s", kinds[k] + 1);
        printf("   soa, per state\n");
        for (int f = 0; fns[f]; ++f) {
            printf("  %-4s", fns[f]);
            for (int k = 0; kinds[k]; ++k) {
                char fn[32];
                snprintf(fn, sizeof fn, "%s%s", fns[f], kinds[k]);
                cell(find(b, robots[m], 0, fn, "soa"));
            }
            printf("\n");
        }
    }
}

static void table_chain(const bench *b) {
    static const char *const fns[] = {"fd", "id", "mass", NULL};
    for (int f = 0; fns[f]; ++f) {
        int any = 0;
        for (int i = 0; i < b->count; ++i) {
            const result *r = &b->results[i];
            if (strcmp(r->model, "chain") != 0 || strcmp(r->fn, fns[f]) != 0 ||
                strcmp(r->lib, "soa") != 0)
                continue;
            if (!any++) {
                printf("\nchain, %s, ns\n%7s", fns[f], "N");
                for (int l = 0; libs[l]; ++l)
                    printf(" %15s", libs[l]);
                printf(" %15s\n", "soa batch");
            }
            char batch[32];
            snprintf(batch, sizeof batch, "%s_batch", fns[f]);
            printf("%7d", r->n);
            for (int l = 0; libs[l]; ++l)
                cell(find(b, "chain", r->n, fns[f], libs[l]));
            cell(find(b, "chain", r->n, batch, "soa"));
            printf("\n");
        }
    }
}

static void goal(const char *text, const result *ours, const result *theirs, double limit) {
    if (!ours || !theirs) {
        printf("  %-58s not measured\n", text);
        return;
    }
    double ratio = ours->ns / theirs->ns;
    printf("  %-58s %6.3f  goal %.2f  %s\n", text, ratio, limit,
           ratio <= limit ? "met" : "NOT MET");
}

static void goals(const bench *b) {
    static const char *const robots[] = {"arm7", "quadruped", "humanoid", NULL};
    static const char *const fns[] = {"fd", "id", "mass", NULL};
    char text[80], fn[32];
    int slower = 0, compared = 0;
    printf("\nGoals: our time as a share of theirs\n");
    goal("arm7 fd / MuJoCo mj_forward", find(b, "arm7", 0, "fd", "soa"),
         find(b, "arm7", 0, "fd", "mujoco"), 0.30);
    goal("arm7 fd / KDL", find(b, "arm7", 0, "fd", "soa"), find(b, "arm7", 0, "fd", "kdl"), 0.16);
    goal("arm7 id / KDL", find(b, "arm7", 0, "id", "soa"), find(b, "arm7", 0, "id", "kdl"), 0.20);
    goal("arm7 mass / MuJoCo crb + fullM", find(b, "arm7", 0, "mass", "soa"),
         find(b, "arm7", 0, "mass", "mujoco"), 0.25);
    goal("chain of 1000 fd / Bullet", find(b, "chain", 1000, "fd", "soa"),
         find(b, "chain", 1000, "fd", "bullet"), 0.30);
    static const struct {
        const char *text, *ours, *theirs;
        double limit;
    } own[] = {{"4-lane batch / scalar", "_batch", "", 0.30},
               {"generated / generic", "_gen", "", 0.60},
               {"generated batch / generic batch", "_gen_batch", "_batch", 0.60}};
    for (int k = 0; k < 3; ++k)
        for (int m = 0; robots[m]; ++m)
            for (int f = 0; fns[f] && find(b, robots[m], 0, "fd", "soa"); ++f) {
                snprintf(text, sizeof text, "%s %s, %s", robots[m], fns[f], own[k].text);
                snprintf(fn, sizeof fn, "%s%s", fns[f], own[k].ours);
                const result *ours = find(b, robots[m], 0, fn, "soa");
                snprintf(fn, sizeof fn, "%s%s", fns[f], own[k].theirs);
                goal(text, ours, find(b, robots[m], 0, fn, "soa"), own[k].limit);
            }
    printf("  faster than every peer in every call, model and N:\n");
    for (int i = 0; i < b->count; ++i) {
        const result *r = &b->results[i];
        const result *ours = find(b, r->model, r->n, r->fn, "soa");
        if (!strcmp(r->lib, "soa") || !ours) continue;
        ++compared;
        if (ours->ns < r->ns) continue;
        ++slower;
        printf("    SLOWER: %s n=%d %s: %.0f ns, %s %.0f ns\n", r->model, r->n, r->fn, ours->ns,
               r->lib, r->ns);
    }
    printf("    %d of %d comparisons won: %s\n", compared - slower, compared,
           compared == 0 ? "not measured"
           : slower      ? "NOT MET"
                         : "met");
    const result *shorter = find(b, "chain", 100, "fd", "soa"),
                 *middle = find(b, "chain", 1000, "fd", "soa");
    const result *longer = find(b, "chain", 10000, "fd", "soa");
    if (!shorter || !middle || !longer) return;
    double exponent = log10(longer->ns / shorter->ns) / 2;
    printf("  fd linear to N = 10000: %.1f, %.1f, %.1f ns a joint at N = 100, 1000, 10000\n",
           shorter->ns / 100, middle->ns / 1000, longer->ns / 10000);
    printf("  %-58s %6.3f  goal 1.10  %s\n", "  time grows as N to the power", exponent,
           exponent <= 1.1 ? "met" : "NOT MET");
}

static FILE *create(const char *directory, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(2);
    }
    return f;
}

static int written(FILE *f) {
    int bad = ferror(f);
    return fclose(f) == 0 && !bad;
}

/* --- the picture: time against N for chains, a curve for each library ------------------------- */

enum { PANELS = 3, SERIES = 9 };
static const char *const panel_calls[PANELS] = {"fd", "id", "mass"};
static const char *const panel_labels[PANELS] = {"forward dynamics (µs)", "inverse dynamics (µs)",
                                                 "mass matrix (µs)"};
static const char *const series[SERIES] = {"soa",  "mujoco",    "bullet",    "kdl",    "simbody",
                                           "dart", "pinocchio", "soa batch", "mujoco3"};

/* Nonzero: the result is a point of this curve. Batches are a separate series. */
static int belongs(const result *r, const char *call, const char *name) {
    const size_t length = strlen(call);
    if (strcmp(r->model, "chain") != 0 || strncmp(r->fn, call, length) != 0) return 0;
    if (!strcmp(r->fn + length, "_batch")) return !strcmp(name, "soa batch");
    return r->fn[length] == '\0' && !strcmp(r->lib, name);
}

static int by_length(const void *a, const void *b) {
    const result *const *p = a;
    const result *const *q = b;
    return ((*p)->n > (*q)->n) - ((*p)->n < (*q)->n);
}

/* Room for the points of all curves; `used` of them are taken. */
typedef struct points {
    const result **found;
    double *n, *us;
    long used;
} points;

static soa_plot_curve make_curve(const bench *b, points *p, const char *call, const char *name) {
    double *const n = p->n + p->used, *const us = p->us + p->used;
    long count = 0;
    for (int i = 0; i < b->count; ++i)
        if (belongs(&b->results[i], call, name)) p->found[count++] = &b->results[i];
    qsort(p->found, (size_t)count, sizeof *p->found, by_length);
    for (long i = 0; i < count; ++i) {
        n[i] = p->found[i]->n;
        us[i] = 1e-3 * p->found[i]->ns;
    }
    p->used += count;
    return (soa_plot_curve){.name = name, .x = n, .y = us, .count = count, .markers = 1};
}

static int write_picture(const bench *b, const char *directory) {
    soa_plot_curve curves[PANELS][SERIES];
    soa_plot_panel panels[PANELS];
    const size_t most = (size_t)b->count + 1; /* each result is in one curve at most */
    points all = {need(most, sizeof *all.found), need(most, sizeof *all.n),
                  need(most, sizeof *all.us), 0};
    for (int p = 0; p < PANELS; ++p) {
        int count = 0;
        for (int s = 0; s < SERIES; ++s) {
            curves[p][count] = make_curve(b, &all, panel_calls[p], series[s]);
            if (curves[p][count].count > 0) ++count;
        }
        panels[p] = (soa_plot_panel){panel_labels[p], 1, curves[p], count};
    }
    const soa_plot plot = {.title = "A chain of N joints: time per state, one core",
                           .x_label = "joints N",
                           .x_log = 1,
                           .panels = panels,
                           .panel_count = PANELS};
    char path[4096];
    soa_report report = {.body = -1};
    soa_status s = SOA_OK;
    snprintf(path, sizeof path, "%s/bench.svg", directory);
    if (all.used > 0) s = soa_plot_write_svg(&plot, path, &report);
    if (s != SOA_OK) fprintf(stderr, "%s\n", report.text);
    free(all.found);
    free(all.n);
    free(all.us);
    return s == SOA_OK;
}

static int write_files(const bench *b, const char *directory) {
    FILE *f = create(directory, "bench.json");
    fprintf(f, "[\n");
    for (int i = 0; i < b->count; ++i) {
        const result *r = &b->results[i];
        fprintf(f,
                "{\"model\": \"%s\", \"n\": %d, \"fn\": \"%s\", \"lib\": \"%s\", \"ns\": %.6g}%s\n",
                r->model, r->n, r->fn, r->lib, r->ns, i + 1 < b->count ? "," : "");
    }
    fprintf(f, "]\n");
    return written(f) && write_picture(b, directory);
}

static void load_peers(bench *b, const char *directory) {
    for (int l = 0; modules[l]; ++l) {
        char path[4096];
        snprintf(path, sizeof path, "%s/peer_%s.so", directory, modules[l]);
        void *module = access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        peer_get_fn *get = NULL;
        if (module) *(void **)&get = dlsym(module, "peer_get");
        if (get) {
            b->library[b->libraries++] = get();
            printf("  %s\n", get()->version);
        } else
            printf("  %s: SKIPPED, not here (%s)\n", modules[l],
                   access(path, R_OK) == 0 ? dlerror() : "was not built");
    }
}

static void print_file(const char *path) {
    char line[512];
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f))
        printf("  %s", line);
    if (f) fclose(f);
}

static void print_processor(void) {
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10)) {
            printf("processor%s", strchr(line, ':') ? strchr(line, ':') : ":\n");
            break;
        }
    if (f) fclose(f);
}

static void one_core(void) {
    cpu_set_t set;
    int cpu = sched_getcpu();
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int wanted(char **models, int count, const char *name) {
    for (int i = 0; i < count; ++i)
        if (!strcmp(models[i], name)) return 1;
    return count == 0;
}

int main(int argc, char **argv) {
    static const char *const robots[] = {"arm7", "quadruped", "humanoid", NULL};
    static const int lengths[] = {1,   2,   3,   5,   7,   10,   20,   30,   50,    70,
                                  100, 200, 300, 500, 700, 1000, 2000, 5000, 10000, 0};
    static bench b = {.longest = 10000};
    int rounds[2] = {MOST_ROUNDS, 25}; /* robots, chains */
    const char *out = ".", *peers = ".", *facts = NULL;
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "--out"))
            out = argv[i + 1];
        else if (!strcmp(argv[i], "--peers"))
            peers = argv[i + 1];
        else if (!strcmp(argv[i], "--facts"))
            facts = argv[i + 1];
        else if (!strcmp(argv[i], "--rounds"))
            rounds[0] = rounds[1] = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--longest"))
            b.longest = atoi(argv[i + 1]);
        else
            break;
    }
    if ((i < argc && argv[i][0] == '-') || rounds[0] < LEAST_ROUNDS || rounds[0] > MOST_ROUNDS) {
        fprintf(
            stderr,
            "usage: bench [--out DIR] [--peers DIR] [--facts FILE] [--rounds %d..%d] [--longest N] "
            "[arm7|quadruped|humanoid|chain]...\n",
            LEAST_ROUNDS, MOST_ROUNDS);
        return 2;
    }
    one_core();
    print_processor();
    printf("libsoa %s, instruction set %s\npeers\n", soa_version(), soa_instruction_set());
    load_peers(&b, peers);
    print_file(facts);
    b.peak = flops_peak(0);
    b.peak_wide = flops_peak(2);
    b.rounds = rounds[0];
    for (int m = 0; robots[m]; ++m)
        if (wanted(argv + i, argc - i, robots[m]) && !bench_model(&b, robots[m], robots[m]))
            return 2;
    for (int k = 0; lengths[k] && lengths[k] <= b.longest && wanted(argv + i, argc - i, "chain");
         ++k) {
        char spec[32];
        /* The longest chains fill all caches, also those that other processes use. */
        b.rounds = rounds[lengths[k] <= 1000];
        snprintf(spec, sizeof spec, "chain:%d", lengths[k]);
        if (!bench_model(&b, spec, "chain")) return 2;
    }
    b.peak = fmax(b.peak, flops_peak(0));
    b.peak_wide = fmax(b.peak_wide, flops_peak(2));
    table_robots(&b);
    table_chain(&b);
    goals(&b);
    share_of_peak(&b);
    if (!write_files(&b, out)) {
        perror("bench: writing the results");
        return 2;
    }
    printf("\n%s/bench.json and %s/bench.svg written%s\n", out, out,
           b.complaints ? "; SOME ANSWERS DIFFERED, see above" : "");
    free(b.results);
    return b.complaints ? 1 : 0;
}
