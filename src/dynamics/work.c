/* work.c  laying out a work space, choosing the instruction set, checking states. */
#include "work.h"
#include "../table/inertia_factors.h"
#include <stdio.h>
#include <stdlib.h>

#define TABLE(number, set) extern const soai_kernels soai_kernels_##number##_##set
TABLE(double, portable);
TABLE(float, portable);
TABLE(double_lanes, portable);
TABLE(float_lanes, portable);
#ifdef SOAI_HAVE_AVX2
TABLE(double, avx2);
TABLE(float, avx2);
TABLE(double_lanes, avx2);
TABLE(float_lanes, avx2);
#endif

const soai_kernels *soai_kernels_for(soai_number number) {
    static const soai_kernels *const plain[] = {
        &soai_kernels_double_portable, &soai_kernels_float_portable,
        &soai_kernels_double_lanes_portable, &soai_kernels_float_lanes_portable};
#ifdef SOAI_HAVE_AVX2
    static const soai_kernels *const avx2[] = {&soai_kernels_double_avx2, &soai_kernels_float_avx2,
                                               &soai_kernels_double_lanes_avx2,
                                               &soai_kernels_float_lanes_avx2};
    const char *asked = getenv("SOA_INSTRUCTION_SET");
    if (!(asked && !strcmp(asked, "portable")) && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return avx2[number];
#endif
    return plain[number];
}
const char *soa_instruction_set(void) {
    return soai_kernels_for(SOAI_K_DOUBLE)->instruction_set;
}

static void align(soa_work *w) {
    const soai_alignment which = w->k->armatures ? SOAI_ALIGN_ALL : SOAI_ALIGN_WITHOUT_MOTORS;
    w->aligned.geared = soai_level(&w->view, which, (soai_body_double *)w->aligned.body,
                                   (soai_dof_double *)w->aligned.dof, w->frames);
    w->aligned_f.geared = w->aligned.geared;
    soai_factor_inertias(w->aligned.nb, w->aligned.body, w->factors);
}

static size_t layout(const soa_model *m, char *memory) {
    soa_work scratch, *w = memory ? (soa_work *)(void *)memory : &scratch;
    size_t at = 0;
    soai_take(memory, &at, sizeof *w);
    if (memory) memset(memory, 0, sizeof *w);
    w->model = m;
    w->k = soai_kernels_for(SOAI_K_DOUBLE);
    w->kf = soai_kernels_for(SOAI_K_FLOAT);
    w->view = soai_model_view(m);
    w->articulated = &w->view;
    w->aligned_f = soai_model_view_float(m);
    w->body = -1;
    const size_t tq = (size_t)m->tq, tv = (size_t)m->tv, nb = (size_t)m->nb,
                 most = tq > tv ? tq : tv;
    const size_t reals = w->k->work_reals(&w->view), reals_f = w->kf->work_reals(&w->aligned_f);
    soai_body_double *body = soai_take(memory, &at, (nb + 1) * sizeof *body);
    soai_dof_double *dof = soai_take(memory, &at, tv * sizeof *dof);
    soai_body_float *body_f = soai_take(memory, &at, (nb + 1) * sizeof *body_f);
    soai_dof_float *dof_f = soai_take(memory, &at, tv * sizeof *dof_f);
    w->frames = soai_take(memory, &at, (nb + 1) * sizeof *w->frames);
    w->factors = soai_take(memory, &at, SOAI_FACTOR_SIZE * (nb + 1) * sizeof(double));
    w->factors_f = soai_take(memory, &at, SOAI_FACTOR_SIZE * (nb + 1) * sizeof(float));
    void *arrays = soai_take(memory, &at, reals * sizeof(double));
    w->w_f = soai_take(memory, &at, w->kf->work_bytes);
    void *arrays_f = soai_take(memory, &at, reals_f * sizeof(float));
    w->zero = soai_take(memory, &at, most * sizeof(double));
    w->neutral_q = soai_take(memory, &at, (size_t)m->nq * sizeof(double));
    w->tq = soai_take(memory, &at, tq * sizeof(double));
    w->tv = soai_take(memory, &at, tv * sizeof(double));
    w->ta = soai_take(memory, &at, tv * sizeof(double));
    w->tt = soai_take(memory, &at, tv * sizeof(double));
    w->user = soai_take(memory, &at, tv * sizeof(double));
    w->wide = soai_take(memory, &at, 6 * tv * sizeof(double));
    w->fext = soai_take(memory, &at, 6 * nb * sizeof(double));
    w->fext_f = soai_take(memory, &at, 6 * nb * sizeof(float));
    w->path = soai_take(memory, &at, 4 * (nb + 1) * sizeof(int));
    const size_t square = 2 * tv * tv, regress = 10 * nb * tv;
    const size_t larger = square > regress ? square : regress;
    w->matrix = soai_take(memory, &at, m->nm ? larger * sizeof(double) : 0);
    w->tq_f = soai_take(memory, &at, tq * sizeof(float));
    w->tv_f = soai_take(memory, &at, tv * sizeof(float));
    w->ta_f = soai_take(memory, &at, tv * sizeof(float));
    w->tt_f = soai_take(memory, &at, tv * sizeof(float));
    w->zero_f = soai_take(memory, &at, most * sizeof(float));
    w->matrix_f = soai_take(memory, &at, m->nm ? tv * tv * sizeof(float) : 0);
    if (memory) {
        w->k->work_place(&w->view, &w->w, arrays);
        w->kf->work_place(&w->aligned_f, w->w_f, arrays_f);
        w->aligned = w->view;
        w->aligned.body = body;
        w->aligned.dof = dof;
        w->aligned_f.body = body_f;
        w->aligned_f.dof = dof_f;
        align(w);
        soai_round_tables(m->nb, w->aligned.body, m->tv, w->aligned.dof,
                          (soai_body_float *)w->aligned_f.body, (soai_dof_float *)w->aligned_f.dof);
        for (size_t j = SOAI_FACTOR_SIZE; j < SOAI_FACTOR_SIZE * (nb + 1); ++j)
            w->factors_f[j] = (float)w->factors[j];
        w->by_columns = soai_by_columns(m->nb, soai_bodies(m));
        /* NaN: a sweep that reads what nobody wrote shows itself */
        memset(arrays, 0xff, reals * sizeof(double));
        memset(arrays_f, 0xff, reals_f * sizeof(float));
        memset(w->path, 0, 4 * (nb + 1) * sizeof(int));
        memset(w->zero, 0, most * sizeof(double));
        memset(w->zero_f, 0, most * sizeof(float));
        soa_q_neutral(m, w->neutral_q);
    }
    return at;
}

size_t soa_work_size(const soa_model *model) {
    return model ? layout(model, NULL) : 0;
}

soa_status soa_work_init(const soa_model *model, void *memory, size_t size, soa_work **work) {
    if (!model || !work) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, NULL))
        return SOA_E_MEMORY;
    layout(model, memory);
    *work = memory;
    return SOA_OK;
}

soa_status soa_work_create(const soa_model *model, soa_work **work) {
    if (!model || !work) return SOA_E_ARGUMENT;
    const size_t size = (layout(model, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    if (!memory) return SOA_E_MEMORY;
    return soa_work_init(model, memory, size, work);
}
void soa_work_free(soa_work *work) {
    free(work);
}
int soa_work_failed_body(const soa_work *work) {
    return work ? work->body : -1;
}

int soai_body_of_q(const soa_model *m, int j) {
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader < 0 && j >= e->user_q &&
            j < e->user_q + soai_nq_of((soa_joint_type)soai_bodies(m)[i].type))
            return i;
    }
    return -1;
}
int soai_body_of_v(const soa_model *m, int j) {
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader < 0 && j >= e->user_v &&
            j < e->user_v + soai_nv_of((soa_joint_type)soai_bodies(m)[i].type))
            return i;
    }
    return -1;
}

/* One text for both precisions. */
#define CHECK_STATE(real, finite, tolerance)                                                    \
    const real *rows[3] = {v, a, t};                                                            \
    *body = -1;                                                                                 \
    if (q && !finite(q, (size_t)m->nq)) {                                                       \
        for (int j = 0; j < m->nq; ++j)                                                         \
            if (!finite(q + j, 1)) {                                                            \
                *body = soai_body_of_q(m, j);                                                   \
                break;                                                                          \
            }                                                                                   \
        return SOA_E_NOT_FINITE;                                                                \
    }                                                                                           \
    for (int r = 0; r < 3; ++r)                                                                 \
        if (rows[r] && !finite(rows[r], (size_t)m->nv)) {                                       \
            for (int j = 0; j < m->nv; ++j)                                                     \
                if (!finite(rows[r] + j, 1)) {                                                  \
                    *body = soai_body_of_v(m, j);                                               \
                    break;                                                                      \
                }                                                                               \
            return SOA_E_NOT_FINITE;                                                            \
        }                                                                                       \
    if (q && m->nq != m->nv)                                                                    \
        for (int i = 1; i <= m->nb; ++i) {                                                      \
            const int at = soai_quaternion_at(soai_bodies(m)[i].type, soai_metas(m)[i].user_q); \
            if (at < 0) continue;                                                               \
            const real *e = q + at, n = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3];  \
            if (!(n - 1 <= tolerance && 1 - n <= tolerance)) {                                  \
                *body = i;                                                                      \
                return SOA_E_QUATERNION;                                                        \
            }                                                                                   \
        }                                                                                       \
    return SOA_OK;

soa_status soai_check_state(const soa_model *m, const double *q, const double *v, const double *a,
                            const double *t, int *body){
    CHECK_STATE(double, soai_all_finite, SOAI_QUATERNION_TOLERANCE)} soa_status
    soai_check_state_f(const soa_model *m, const float *q, const float *v, const float *a,
                       const float *t, int *body) {
    CHECK_STATE(float, soai_all_finite_f, 1e-5f)
}
