/* bench_closed.c  closed chains: libsoa, MuJoCo (equality constraints) and Simbody (constraints)
 * with the same mechanisms in the same run; and our own time against the number of joints and of
 * loops.
 *
 * evaluations   accelerations with constraints at 16 states of the motion, computed anew each time
 * motions       10 s from the same start; closure and energy of all states computed by libsoa, the
 *               largest and the last */
#define _POSIX_C_SOURCE 200809L
#include "stock/closed.h"
#include "closed_peer.h"
#include "soa/soa.h"
#include "soa/world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ROUNDS = 25, STATES = 16, SAMPLES = 100, MOST_PEERS = 2 };
/* s of motion; s of processor time for one motion. */
static const double LENGTH = 10, PATIENCE = 10;

typedef struct mechanism {
    const char *name;
    soai_mechanism k;
    soa_work *work;
    int nq;
    double *state; /* STATES x (q, v), then scratch */
    peer_model peer;
    soa_body_info *body;
    closed_tie *tie;
    int tie_count;
} mechanism;

static double *state_of(mechanism *m, int i) {
    return m->state + (size_t)i * 2 * (size_t)m->nq;
}
static bool keep_states(void *user, const soa_closed_sample *s) {
    mechanism *m = user;
    const int i = (int)(s->t / LENGTH * (STATES - 1) + 0.5);
    if (i < 0 || i >= STATES) return 0;
    memcpy(state_of(m, i), s->q, (size_t)m->nq * sizeof(double));
    memcpy(state_of(m, i) + m->nq, s->v, (size_t)m->nq * sizeof(double));
    return 0;
}

/* Builds a mechanism and stores states of its motion. */
static int open_mechanism(mechanism *m, const char *name) {
    soa_report report = {SOA_OK, -1, 0, ""};
    memset(m, 0, sizeof *m);
    m->name = name;
    if (soai_mechanism_make(name, SOA_SPHERICAL, NULL, &m->k, &report) ||
        soa_work_create(m->k.model, &m->work)) {
        printf("%s: %s\n", name, report.text);
        return 1;
    }
    m->nq = soa_model_nq(m->k.model);
    m->state = calloc((size_t)(STATES + 1) * 2 * (size_t)m->nq, sizeof *m->state);
    const int bodies = soa_model_body_count(m->k.model);
    m->body = calloc((size_t)bodies + 1, sizeof *m->body);
    m->tie_count = soa_constraints_count(m->k.constraints);
    m->tie = calloc((size_t)m->tie_count, sizeof *m->tie);
    if (!m->state || !m->body || !m->tie) return 1;
    for (int b = 1; b <= bodies; ++b)
        soa_model_body(m->k.model, b, &m->body[b]);
    m->peer =
        (peer_model){.name = name, .nq = m->nq, .nv = m->nq, .bodies = bodies, .body = m->body};
    soa_model_gravity(m->k.model, m->peer.gravity);
    for (int i = 0; i < m->tie_count; ++i) {
        soa_constraint_def d;
        soa_constraints_get_def(m->k.constraints, i, &d);
        const int frame[2] = {d.frame1, d.frame2};
        const soa_frame *place[2] = {&d.place1, &d.place2};
        for (int side = 0; side < 2; ++side) {
            soa_frame_info info;
            /* A link's frame is its body's. */
            soa_model_frame(m->k.model, frame[side], &info);
            m->tie[i].body[side] = info.body;
            memcpy(m->tie[i].at[side], place[side]->p, sizeof place[side]->p);
        }
    }
    return 0;
}
static void close_mechanism(mechanism *m) {
    soa_work_free(m->work);
    soai_mechanism_free(&m->k);
    free(m->state);
    free(m->body);
    free(m->tie);
}

/* --- errors of a motion ----------------------------------------------------------------------- */
typedef struct errors {
    double start, scale, closure, closure_end, energy, energy_end; /* metres; joules */
    int lost;                                                      /* it failed */
    double cpu; /* s that it would take, if that is too long to wait for */
} errors;
static void measure(mechanism *m, const double *q, const double *v, int first, errors *e) {
    double g[4096], kinetic = 0, potential = 0, most = 0;
    const int rows = soa_constraints_row_count(m->k.constraints);
    if (rows > 4096 ||
        soa_constraints_evaluate(m->k.constraints, m->work, &(soa_input){.q = q, .v = v}, g, NULL,
                                 NULL, NULL) ||
        soa_energy(m->k.model, m->work, q, v, &kinetic, &potential)) {
        e->lost = 1;
        return;
    }
    for (int r = 0; r < rows; ++r)
        most = fmax(most, fabs(g[r]));
    if (first) e->start = kinetic + potential;
    e->scale = fmax(e->scale, kinetic);
    e->closure_end = most;
    e->energy_end = fabs(kinetic + potential - e->start);
    e->closure = fmax(e->closure, most);
    e->energy = fmax(e->energy, e->energy_end);
}
typedef struct run {
    char who[64], how[64];
    double time; /* s per simulated second */
    errors e;
} run;
static void print_run(const run *r) {
    if (r->e.cpu > 0)
        printf("  %-10s %-34s %10.0f, left out\n", r->who, r->how, r->e.cpu / LENGTH * 1e3);
    else if (r->e.lost)
        printf("  %-10s %-34s could not\n", r->who, r->how);
    else
        printf("  %-10s %-34s %10.3f %12.1e %12.1e %12.1e %12.1e\n", r->who, r->how, r->time * 1e3,
               r->e.closure, r->e.closure_end, r->e.energy / r->e.scale,
               r->e.energy_end / r->e.scale);
}

typedef struct watch {
    mechanism *m;
    errors *e;
    double spent;
} watch;
static bool look(void *user, const soa_closed_sample *s) {
    watch *w = user;
    const double t = seconds();
    measure(w->m, s->q, s->v, s->t == 0, w->e);
    keep_states(w->m, s);
    w->spent += seconds() - t;
    return 0;
}
static void ours(mechanism *m, int order, double tolerance, run *r) {
    soa_closed_sim_options o = soa_closed_sim_options_default();
    soa_closed_sim_result result;
    soa_report report;
    watch w = {m, &r->e, 0};
    double *q = state_of(m, STATES), *v = q + m->nq;
    memset(r, 0, sizeof *r);
    snprintf(r->who, sizeof r->who, "libsoa");
    snprintf(r->how, sizeof r->how, "order %d, tolerance %.0e", order, tolerance);
    memcpy(q, m->k.q, (size_t)m->nq * sizeof *q);
    memcpy(v, m->k.v, (size_t)m->nq * sizeof *v);
    o.duration = LENGTH;
    o.sample_time = LENGTH / SAMPLES;
    o.order = order;
    o.relative_tolerance = tolerance;
    o.absolute_tolerance = tolerance / 10;
    o.sample = look;
    o.sample_user = &w;
    const double begin = seconds();
    if (soa_closed_simulate(m->k.constraints, q, v, &o, &result, &report)) {
        r->e.lost = 1;
        printf("  %s\n", report.text);
    }
    r->time = (seconds() - begin - w.spent) / LENGTH;
}
static void theirs(mechanism *m, const closed_peer *p, void *peer, int setting, run *r) {
    double *q = state_of(m, STATES), *v = q + m->nq, spent = 0;
    memset(r, 0, sizeof *r);
    snprintf(r->who, sizeof r->who, "%s", p->name);
    snprintf(r->how, sizeof r->how, "%s", p->setting(setting));
    p->load(peer, m->k.q, m->k.v);
    measure(m, m->k.q, m->k.v, 1, &r->e);
    double begin = seconds();
    r->e.lost = p->begin(peer, setting);
    spent += seconds() - begin;
    for (int i = 1; i <= SAMPLES && !r->e.lost; ++i) {
        begin = seconds();
        r->e.lost = p->advance(peer, LENGTH * i / SAMPLES);
        spent += seconds() - begin;
        if (r->e.lost) break;
        if (spent / i * SAMPLES > PATIENCE && spent > 0.2) {
            r->e.cpu = spent / i * SAMPLES;
            r->e.lost = 1;
            break;
        }
        p->state(peer, q, v);
        measure(m, q, v, 0, &r->e);
    }
    r->time = spent / LENGTH;
}

/* --- evaluations ------------------------------------------------------------------------------ */
static double our_evaluation(mechanism *m) {
    double times[ROUNDS], *qdd = calloc((size_t)m->nq, sizeof *qdd);
    int calls = 2000 / (m->nq + 3) + 1, bad = !qdd;
    for (int round = 0; round < ROUNDS && !bad; ++round) {
        const double begin = seconds();
        for (int i = 0; i < calls * STATES; ++i) {
            const double *q = state_of(m, i % STATES);
            bad |= soa_closed_fd(m->k.constraints, m->work, NULL,
                                 &(soa_input){.q = q, .v = q + m->nq}, qdd, NULL, NULL) != SOA_OK;
        }
        times[round] = (seconds() - begin) / (calls * STATES);
    }
    free(qdd);
    qsort(times, ROUNDS, sizeof *times, ascending);
    return bad ? NAN : times[ROUNDS / 2];
}
/* Runs ours and theirs in turn, so that both meet the same load of the machine; medians. */
static double their_evaluation(mechanism *m, const closed_peer *p, void *peer, double *own) {
    double times[ROUNDS], mine[ROUNDS], *qdd = calloc((size_t)m->nq, sizeof *qdd);
    const int calls = STATES * (2000 / (m->nq * (1 + m->nq / 50) + 3) + 1);
    p->load(peer, state_of(m, 0), state_of(m, 0) + m->nq);
    for (int round = 0; round < ROUNDS && qdd; ++round) {
        double begin = seconds();
        for (int i = 0; i < calls; ++i) {
            const double *q = state_of(m, i % STATES);
            p->evaluate(peer, q, q + m->nq);
        }
        times[round] = (seconds() - begin) / calls;
        begin = seconds();
        for (int i = 0; i < calls; ++i) {
            const double *q = state_of(m, i % STATES);
            soa_closed_fd(m->k.constraints, m->work, NULL, &(soa_input){.q = q, .v = q + m->nq},
                          qdd, NULL, NULL);
        }
        mine[round] = (seconds() - begin) / calls;
    }
    *own = NAN;
    if (!qdd) return NAN;
    free(qdd);
    qsort(times, ROUNDS, sizeof *times, ascending);
    qsort(mine, ROUNDS, sizeof *mine, ascending);
    *own = mine[ROUNDS / 2];
    return times[ROUNDS / 2];
}

/* Checks that it is the same mechanism: compares accelerations from rest, where velocity terms do
 * not matter (MuJoCo's constraints have none), with the peer's stiffer second setting; relative to
 * gravity or more. */
static double difference(mechanism *m, const closed_peer *p, void *peer, double *room) {
    double *v = room, *own = room + m->nq, *other = room + 2 * m->nq, size = 9.81, off = 0;
    memset(v, 0, (size_t)m->nq * sizeof *v);
    if (soa_closed_fd(m->k.constraints, m->work, NULL, &(soa_input){.q = m->k.q, .v = v}, own, NULL,
                      NULL))
        return NAN;
    p->load(peer, m->k.q, v);
    if (p->begin(peer, 1)) return NAN;
    p->load(peer, m->k.q, v);
    p->evaluate(peer, m->k.q, v);
    p->accelerations(peer, other);
    for (int j = 0; j < m->nq; ++j) {
        if (!(fabs(own[j] - other[j]) <= off)) off = fabs(own[j] - other[j]);
        size = fmax(size, fabs(own[j]));
    }
    return off / size;
}

/* Compares one mechanism with the peers. */
static int compare(const char *name, const closed_peer *const *peers, int peer_count) {
    static const struct {
        int order;
        double tolerance;
    } way[] = {{5, 1e-5}, {8, 1e-7}, {8, 1e-9}, {8, 1e-12}};
    enum { WAYS = sizeof way / sizeof *way };
    mechanism m;
    run own[WAYS], other[MOST_PEERS * 4];
    int others = 0;
    if (open_mechanism(&m, name)) return 1;
    printf("\n%s: %d joints, %d loops\n  %-10s %-34s %10s %12s %12s %12s %12s\n", name, m.nq,
           m.tie_count, "", "", "ms per s", "closure, m", "at 10 s", "energy, rel.", "at 10 s");
    for (int i = 0; i < WAYS; ++i) {
        ours(&m, way[i].order, way[i].tolerance, &own[i]);
        print_run(&own[i]);
    }
    double *qdd = calloc(3 * (size_t)m.nq, sizeof *qdd);
    double evaluation[MOST_PEERS], beside[MOST_PEERS], apart[MOST_PEERS];
    for (int n = 0; n < peer_count; ++n) {
        char why[300] = "";
        void *peer = peers[n]->open(&m.peer, m.tie, m.tie_count, why, sizeof why);
        evaluation[n] = beside[n] = apart[n] = NAN;
        if (!peer) {
            printf("  %-10s %s\n", peers[n]->name, why);
            continue;
        }
        evaluation[n] = their_evaluation(&m, peers[n], peer, &beside[n]);
        apart[n] = difference(&m, peers[n], peer, qdd);
        for (int s = 0; peers[n]->setting(s) && others < MOST_PEERS * 4; ++s) {
            theirs(&m, peers[n], peer, s, &other[others]);
            print_run(&other[others++]);
        }
        peers[n]->close(peer);
    }
    for (int n = 0; n < peer_count; ++n)
        printf("  accelerations, one evaluation, in turn: libsoa %.2f us, %s %.2f us: %.2f times "
               "(differs by %.0e from "
               "rest)\n",
               beside[n] * 1e6, peers[n]->name, evaluation[n] * 1e6, evaluation[n] / beside[n],
               apart[n]);
    for (int n = 0; n < peer_count; ++n)
        printf("  goal, evaluation faster than %s: %s\n", peers[n]->name,
               beside[n] < evaluation[n] ? "met" : "NOT MET");
    /* Is there a setting of ours that is faster and 100 times better in both errors? */
    for (int i = 0; i < others; ++i) {
        const run *best = NULL;
        if (other[i].e.lost) continue;
        for (int k = 0; k < WAYS; ++k)
            if (!own[k].e.lost && own[k].time < other[i].time &&
                own[k].e.closure * 100 <= other[i].e.closure &&
                own[k].e.energy * 100 <= other[i].e.energy && (!best || own[k].time < best->time))
                best = &own[k];
        printf("  goal, against %s, %s: %s%s\n", other[i].who, other[i].how,
               best ? "met by " : "NOT MET", best ? best->how : "");
    }
    free(qdd);
    close_mechanism(&m);
    return 0;
}

/* --- growth ----------------------------------------------------------------------------------- */
static double one_size(const char *name) {
    mechanism m;
    if (open_mechanism(&m, name)) return NAN;
    for (int i = 0; i < STATES; ++i) {
        memcpy(state_of(&m, i), m.k.q, (size_t)m.nq * sizeof(double));
        memcpy(state_of(&m, i) + m.nq, m.k.v, (size_t)m.nq * sizeof(double));
    }
    const double time = our_evaluation(&m);
    close_mechanism(&m);
    return time;
}
static void growth(void) {
    static const int joints[] = {10, 30, 100, 300, 1000, 3000, 5000},
                     loops[] = {1, 2, 4, 8, 16, 32, 64};
    enum { N = sizeof joints / sizeof *joints, L = sizeof loops / sizeof *loops };
    double time[N], of_loops[L];
    char name[32];
    printf("\nlibsoa, one evaluation against the joints of a chain closed at its end (3 rows)\n ");
    for (int i = 0; i < N; ++i) {
        snprintf(name, sizeof name, "ring:%d", joints[i]);
        time[i] = one_size(name);
        printf(" n = %d: %.2f us;", joints[i], time[i] * 1e6);
    }
    const double exponent = log(time[N - 1] / time[2]) / log((double)joints[N - 1] / joints[2]);
    printf("\n  exponent from 100 to 5000: %.3f; goal, linear (1.1 at most): %s\n", exponent,
           exponent <= 1.1 ? "met" : "NOT MET");
    printf("against the number of loops (windows of four-bars, 2 L + 1 joints, 3 L rows)\n ");
    for (int i = 0; i < L; ++i) {
        snprintf(name, sizeof name, "windows:%d", loops[i]);
        of_loops[i] = one_size(name);
        printf(" L = %d: %.2f us;", loops[i], of_loops[i] * 1e6);
    }
    printf("\n  exponent from 1 to 8: %.2f, from 16 to 64: %.2f\n",
           log(of_loops[3] / of_loops[0]) / log(8),
           log(of_loops[L - 1] / of_loops[L - 3]) / log(4));
}

int main(int count, char **argument) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    static const char *const file[] = {"closed_mujoco.so", "closed_simbody.so"};
    const closed_peer *peers[MOST_PEERS];
    int peer_count = 0;
    for (int i = 0; i < MOST_PEERS && count > 1; ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argument[1], file[i]);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!module) continue;
        closed_peer_get_fn *get;
        *(void **)&get = dlsym(module, "closed_peer_get");
        if (get) peers[peer_count++] = get();
    }
    printf("closed chains, 10 s of motion; errors are the largest of %d samples and the last, by "
           "libsoa for everybody",
           SAMPLES);
    for (int i = 0; i < peer_count; ++i)
        printf("; %s", peers[i]->version);
    printf("\n");
    if (compare("fourbar", peers, peer_count) || compare("windows:2", peers, peer_count) ||
        compare("ring:12", peers, peer_count) || compare("ring:30", peers, peer_count))
        return 1;
    growth();
    return 0;
}
