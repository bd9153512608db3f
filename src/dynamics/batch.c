/* batch.c  many states of one model: states are packed into SIMD lanes, swept, and unpacked.
 *
 * The sweeps run on tables in which bodies have frames of our choice (aligned_frames.c); wrenches
 * are brought into them.  A group is `lanes` consecutive states; the last one is filled up by
 * repeating its last state, so every state runs through the same instructions whatever the batch's
 * size.  One text (GROUPS) serves double and float. */
#include "work.h"
#include <stdlib.h>

/* Mass matrices of more coordinates than this leave the lanes: a group of them would not fit any
 * cache. */
enum { MOST_LANE_MASS = 128 };

struct soa_batch {
    const soa_model *model;
    long state; /* named by the last failure */
    int body;
    struct half { /* one per precision */
        const soai_kernels *k;
        int (*mass_matrix)(const void *view, void *work, const void *q, void *M);
        const void *view;
        void *work;
        void *frames;                 /* chosen for the bodies, 12 numbers each */
        void *q, *v, *a, *fext, *out; /* packed: tree coordinates */
        void *mass;                   /* packed; stays zero where M is zero for all q */
        void *one_q, *one_v, *one_a;  /* mimic models: expanded rows, `lanes` of each */
        void *one_out;
    } d, f;
    soai_view_double view_d;
    soai_view_float view_f;
    int *quaternion;  /* where unit quaternions start in the caller's q; -1 ends them */
    soa_work *single; /* for mass matrices too large for lanes */
    void *zero;       /* max(tq, tv, 6 nb) zeros */
};

static void layout_half(const soa_model *m, struct half *h, char *memory, size_t *at) {
    const size_t lane = h->k->real_bytes, number = lane / (size_t)h->k->lanes,
                 L = (size_t)h->k->lanes;
    const size_t tq = (size_t)m->tq, tv = (size_t)m->tv, nb = (size_t)m->nb;
    const size_t mass = m->tv <= MOST_LANE_MASS ? tv * tv : 0;
    h->frames = soai_take(memory, at, 12 * (nb + 1) * number);
    h->work = soai_take(memory, at, h->k->work_bytes);
    void *arrays = soai_take(memory, at, h->k->work_reals(h->view) * lane);
    h->q = soai_take(memory, at, tq * lane);
    h->v = soai_take(memory, at, tv * lane);
    h->a = soai_take(memory, at, tv * lane);
    h->fext = soai_take(memory, at, 6 * nb * lane);
    h->out = soai_take(memory, at, tv * lane);
    h->mass = soai_take(memory, at, mass * lane);
    if (memory) memset(h->mass, 0, mass * lane);
    h->one_q = soai_take(memory, at, m->nm ? L * tq * number : 0);
    h->one_v = soai_take(memory, at, m->nm ? L * tv * number : 0);
    h->one_a = soai_take(memory, at, m->nm ? L * tv * number : 0);
    h->one_out = soai_take(memory, at, m->nm ? L * (tv + mass) * number : 0);
    if (!memory) return;
    h->k->work_place(h->view, h->work, arrays);
    h->mass_matrix = soai_by_columns(m->nb, soai_bodies(m)) ? h->k->mass_columns : h->k->crba;
}

static size_t layout(const soa_model *m, char *memory) {
    soa_batch scratch, *b = memory ? (soa_batch *)(void *)memory : &scratch;
    size_t at = 0;
    soai_take(memory, &at, sizeof *b);
    memset(b, 0, sizeof *b);
    b->model = m;
    b->state = -1;
    b->body = -1;
    b->view_d = soai_model_view(m);
    b->view_f = soai_model_view_float(m);
    const size_t B = (size_t)m->nb + 1, V = (size_t)m->tv;
    soai_body_double *body = soai_take(memory, &at, B * sizeof *body);
    soai_body_float *body_f = soai_take(memory, &at, B * sizeof *body_f);
    soai_dof_double *dof = soai_take(memory, &at, V * sizeof *dof);
    soai_dof_float *dof_f = soai_take(memory, &at, V * sizeof *dof_f);
    b->d.k = soai_kernels_for(SOAI_K_DOUBLE_LANES);
    b->d.view = &b->view_d;
    b->f.k = soai_kernels_for(SOAI_K_FLOAT_LANES);
    b->f.view = &b->view_f;
    layout_half(m, &b->d, memory, &at);
    layout_half(m, &b->f, memory, &at);
    if (memory) {
        double *numbers = b->d.frames;
        soai_level(&b->view_d, SOAI_ALIGN_WITHOUT_MOTORS, body, dof, b->d.frames);
        soai_round_tables(m->nb, body, m->tv, dof, body_f, dof_f);
        for (size_t i = 0; i < 12 * B; ++i)
            ((float *)b->f.frames)[i] = (float)numbers[i];
        b->view_d.body = body;
        b->view_d.dof = dof;
        b->view_f.body = body_f;
        b->view_f.dof = dof_f;
    }
    const size_t most = 6 * (size_t)m->nb + (size_t)m->tq + (size_t)m->tv;
    b->quaternion = soai_take(memory, &at, B * sizeof(int));
    int quaternions = 0;
    for (int i = 1; memory && i <= m->nb; ++i) {
        const int first = soai_quaternion_at(soai_bodies(m)[i].type, soai_metas(m)[i].user_q);
        if (first >= 0) b->quaternion[quaternions++] = first;
    }
    if (memory) b->quaternion[quaternions] = -1;
    b->zero = soai_take(memory, &at, most * sizeof(double));
    if (memory) memset(b->zero, 0, most * sizeof(double));
    if (m->tv > MOST_LANE_MASS) {
        const size_t size = soa_work_size(m);
        void *room = soai_take(memory, &at, size);
        if (memory) soa_work_init(m, room, size, &b->single);
    }
    return at;
}

size_t soa_batch_size(const soa_model *model) {
    return model ? layout(model, NULL) : 0;
}
soa_status soa_batch_init(const soa_model *model, void *memory, size_t size, soa_batch **batch) {
    if (!model || !batch) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, NULL))
        return SOA_E_MEMORY;
    layout(model, memory);
    *batch = memory;
    return SOA_OK;
}
soa_status soa_batch_create(const soa_model *model, soa_batch **batch) {
    if (!model || !batch) return SOA_E_ARGUMENT;
    const size_t size = (layout(model, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    return memory ? soa_batch_init(model, memory, size, batch) : SOA_E_MEMORY;
}
void soa_batch_free(soa_batch *batch) {
    free(batch);
}
long soa_batch_failed_state(const soa_batch *batch) {
    return batch ? batch->state : -1;
}
int soa_batch_failed_body(const soa_batch *batch) {
    return batch ? batch->body : -1;
}

typedef enum job { FORWARD, INVERSE, MASS } job;

/* One group in tree coordinates: pack, sweep.  Returns 0, the body at fault, or NOT_FINITE with
 * nothing swept. */
enum { NOT_FINITE = -1 };
static int run_group(const struct half *h, job what, int states, const void *q, long sq,
                     const void *v, long sv, const void *a, long sa, const void *fext, long sf) {
    const soai_view_double *shape = h->view; /* the integers stand alike in both views */
    const int tq = shape->nq, tv = shape->nv;
    int fine = h->k->pack(q, sq, tq, states, h->q);
    if (what != MASS)
        fine &= h->k->pack(v, sv, tv, states, h->v) & h->k->pack(a, sa, tv, states, h->a);
    if (fext) fine &= h->k->pack(fext, sf, 6 * shape->nb, states, h->fext);
    if (!fine) return NOT_FINITE;
    if (fext) h->k->level(h->frames, shape->nb, h->fext);
    if (what == MASS) return h->mass_matrix(h->view, h->work, h->q, h->mass);
    return (what == FORWARD ? h->k->aba : h->k->rnea)(h->view, h->work, h->q, h->v, h->a,
                                                      fext ? h->fext : NULL, h->out);
}

#define GROUPS(name, real, check, finite)                                                          \
    static void expand_##name(const real *x, long stride, int states, const soai_map *map, int n,  \
                              real *out) {                                                         \
        for (int l = 0; l < states; ++l)                                                           \
            for (int t = 0; t < n; ++t)                                                            \
                out[(long)l * n + t] =                                                             \
                    (real)map[t].ratio * x[stride * l + map[t].user] + (real)map[t].offset;        \
    }                                                                                              \
    static soa_status run_##name(const soa_model *m, soa_batch *b, struct half *h, job what,       \
                                 long count, const real *q, const real *v, const real *a,          \
                                 const real *fext, real *out) {                                    \
        const int L = h->k->lanes;                                                                 \
        const soai_map *map_q = SOAI_AT(m, soai_map, map_q), *map_v = SOAI_AT(m, soai_map, map_v); \
        for (long first = 0; first < count; first += L) {                                          \
            const int states = count - first < L ? (int)(count - first) : L;                       \
            const real *gq = q + first * m->nq, *gf = fext ? fext + first * 6 * m->nb : NULL;      \
            const real *gv = v ? v + first * m->nv : NULL, *ga = a ? a + first * m->nv : NULL;     \
            const real *uq = gq, *uv = gv, *ua = ga;                                               \
            for (int l = 0; l < states; ++l) /* quaternions; the rest is seen when packed */       \
                for (const int *at = b->quaternion; *at >= 0; ++at) {                              \
                    const real *e = uq + (long)l * m->nq + *at;                                    \
                    const real off = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] - 1;    \
                    if (off <= (real)SOAI_QUATERNION_TOLERANCE &&                                  \
                        -off <= (real)SOAI_QUATERNION_TOLERANCE)                                   \
                        continue;                                                                  \
                    const soa_status s =                                                           \
                        check(m, uq + (long)l * m->nq, NULL, NULL, NULL, &b->body);                \
                    if (s) b->state = first + l;                                                   \
                    if (s) return s;                                                               \
                }                                                                                  \
            long sq = m->nq, sv = gv ? m->nv : 0, sa = ga ? m->nv : 0;                             \
            if (m->nm) {                                                                           \
                expand_##name(gq, sq, states, map_q, m->tq, h->one_q);                             \
                if (gv) {                                                                          \
                    expand_##name(gv, sv, states, map_v, m->tv, h->one_v);                         \
                    gv = h->one_v;                                                                 \
                    sv = m->tv;                                                                    \
                }                                                                                  \
                if (ga) {                                                                          \
                    expand_##name(ga, sa, states, map_v, m->tv, h->one_a);                         \
                    ga = h->one_a;                                                                 \
                    sa = m->tv;                                                                    \
                }                                                                                  \
                if (ga && what == FORWARD) /* torques act on the leaders */                        \
                    for (int l = 0; l < states; ++l)                                               \
                        for (int k = 0; k < m->nm; ++k)                                            \
                            ((real *)h->one_a)[(long)l * m->tv + b->view_d.mimic[k].follower] = 0; \
                gq = h->one_q;                                                                     \
                sq = m->tq;                                                                        \
            }                                                                                      \
            const void *zero = b->zero;                                                            \
            const int bad = run_group(h, what, states, gq, sq, gv ? (const void *)gv : zero, sv,   \
                                      ga ? (const void *)ga : zero, sa, gf, 6L * m->nb);           \
            for (int l = 0; bad && l < states; ++l) { /* which of them was it? */                  \
                const int body = run_group(h, what, 1, gq + l * sq, sq,                            \
                                           gv ? (const void *)(gv + l * sv) : zero, sv,            \
                                           ga ? (const void *)(ga + l * sa) : zero, sa,            \
                                           gf ? gf + (long)l * 6 * m->nb : NULL, 6L * m->nb);      \
                if (!body) continue;                                                               \
                b->state = first + l;                                                              \
                b->body = body;                                                                    \
                if (body != NOT_FINITE) return SOA_E_HINGE_SINGULAR;                               \
                if (!check(m, uq + (long)l * m->nq, uv ? uv + (long)l * m->nv : NULL,              \
                           ua ? ua + (long)l * m->nv : NULL, NULL, &b->body))                      \
                    for (int i = m->nb; gf && i; --i)                                              \
                        if (!finite(gf + (long)l * 6 * m->nb + 6 * (i - 1), 6)) b->body = i;       \
                return SOA_E_NOT_FINITE;                                                           \
            }                                                                                      \
            const int rows = what == MASS ? m->tv * m->tv : m->tv;                                 \
            const long wide = what == MASS ? (long)m->nv * m->nv : m->nv;                          \
            real *to = m->nm ? (real *)h->one_out : out + first * wide;                            \
            if (what == MASS)                                                                      \
                h->k->unpack_symmetric(h->mass, m->tv, states, to);                                \
            else                                                                                   \
                h->k->unpack(h->out, rows, states, to, rows);                                      \
            if (!m->nm) continue;                                                                  \
            for (int l = 0; l < states; ++l) {                                                     \
                const real *tree = (const real *)h->one_out + (long)l * rows;                      \
                real *user = out + (first + l) * wide;                                             \
                for (long j = 0; j < wide; ++j)                                                    \
                    user[j] = 0;                                                                   \
                for (int r = 0; r < m->tv; ++r) {                                                  \
                    if (what == INVERSE) user[map_v[r].user] += (real)map_v[r].ratio * tree[r];    \
                    for (int c = 0; what == MASS && c < m->tv; ++c)                                \
                        user[(long)m->nv * map_v[r].user + map_v[c].user] +=                       \
                            (real)(map_v[r].ratio * map_v[c].ratio) * tree[(long)m->tv * r + c];   \
                }                                                                                  \
                for (int i = 1; what == FORWARD && i <= m->nb; ++i) {                              \
                    const soai_meta *e = soai_metas(m) + i;                                        \
                    for (int c = 0; e->leader < 0 && c < b->view_d.body[i].nv; ++c)                \
                        user[e->user_v + c] = tree[b->view_d.body[i].iv + c];                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return SOA_OK;                                                                             \
    }

GROUPS(d, double, soai_check_state, soai_all_finite)
GROUPS(f, float, soai_check_state_f, soai_all_finite_f)

static soa_status begin(const soa_model *m, soa_batch *b, long count, const void *q,
                        const void *out) {
    if (!m || !b || b->model != m || count < 0 || (count && (!q || !out))) return SOA_E_ARGUMENT;
    b->state = -1;
    b->body = -1;
    return SOA_OK;
}

soa_status soa_aba_batch(const soa_model *m, soa_batch *b, long count, const double *q,
                         const double *v, const double *tau, const double *fext, double *qdd) {
    const soa_status s = begin(m, b, count, q, qdd);
    return s ? s : run_d(m, b, &b->d, FORWARD, count, q, v, tau, fext, qdd);
}
soa_status soa_rnea_batch(const soa_model *m, soa_batch *b, long count, const double *q,
                          const double *v, const double *a, const double *fext, double *tau) {
    const soa_status s = begin(m, b, count, q, tau);
    return s ? s : run_d(m, b, &b->d, INVERSE, count, q, v, a, fext, tau);
}
soa_status soa_crba_batch(const soa_model *m, soa_batch *b, long count, const double *q,
                          double *M) {
    soa_status s = begin(m, b, count, q, M);
    if (s || !b->single) return s ? s : run_d(m, b, &b->d, MASS, count, q, NULL, NULL, NULL, M);
    for (long i = 0; i < count && s == SOA_OK; ++i) {
        if ((s = soa_crba(m, b->single, q + i * m->nq, M + i * m->nv * m->nv))) {
            b->state = i;
            b->body = soa_work_failed_body(b->single);
        }
    }
    return s;
}
soa_status soa_aba_batch_f(const soa_model *m, soa_batch *b, long count, const float *q,
                           const float *v, const float *tau, const float *fext, float *qdd) {
    const soa_status s = begin(m, b, count, q, qdd);
    return s ? s : run_f(m, b, &b->f, FORWARD, count, q, v, tau, fext, qdd);
}
soa_status soa_rnea_batch_f(const soa_model *m, soa_batch *b, long count, const float *q,
                            const float *v, const float *a, const float *fext, float *tau) {
    const soa_status s = begin(m, b, count, q, tau);
    return s ? s : run_f(m, b, &b->f, INVERSE, count, q, v, a, fext, tau);
}
soa_status soa_crba_batch_f(const soa_model *m, soa_batch *b, long count, const float *q,
                            float *M) {
    soa_status s = begin(m, b, count, q, M);
    if (s || !b->single) return s ? s : run_f(m, b, &b->f, MASS, count, q, NULL, NULL, NULL, M);
    for (long i = 0; i < count && s == SOA_OK; ++i) {
        if ((s = soa_crba_f(m, b->single, q + i * m->nq, M + i * m->nv * m->nv))) {
            b->state = i;
            b->body = soa_work_failed_body(b->single);
        }
    }
    return s;
}
