/* compiled_sweeps.c  all sweeps for one number type (SOAI_NUMBER) and instruction set, exported as
 *                    one table (SOAI_TABLE). */
#include "../sweep/compiled_sweeps.h"
#include "../sweep/aba.h"
#include "../sweep/fast/aba_fast.h"
#include "../sweep/crba.h"
#include "../sweep/lanes.h"
#include "../sweep/mass.h"
#include "../sweep/rnea.h"
#if SOAI_LANES == 1
#include "../sweep/ud.h"
#endif

/* Lanes and float serve batches and small targets: forward and inverse dynamics and the mass
 * matrix. */
#define SOAI_EVERYTHING \
    (SOAI_NUMBER == SOAI_DOUBLE || SOAI_NUMBER == SOAI_COMPLEX || SOAI_NUMBER == SOAI_QUAD)
#if SOAI_EVERYTHING
#include "../sweep/coriolis.h"
#include "../sweep/derivatives.h"
#include "../sweep/kinematics.h"
#include "../sweep/minv.h"
#include "../sweep/diagonalised.h"
#include "../sweep/operational.h"
#include "../sweep/two_sweep.h"
#if SOAI_NUMBER == SOAI_DOUBLE
#include "../sweep/segment_sweeps.h"
#endif
#endif

static size_t k_work_reals(const void *view) {
    return kernel_layout(view, 0, 0);
}
static void k_work_place(const void *view, void *work, void *memory) {
    kernel_layout(view, work, memory);
}
static int k_rnea(const void *view, void *work, const void *q, const void *v, const void *a,
                  const void *fext, void *tau) {
    return rnea(view, work, q, v, a, fext, tau);
}
static int k_aba(const void *view, void *work, const void *q, const void *v, const void *tau,
                 const void *fext, void *vdot) {
#if SOAI_LANES > 1
    return aba_fast(view, work, q, v, tau, fext, vdot);
#else
    return aba(view, work, q, v, tau, fext, vdot);
#endif
}
static int k_crba(const void *view, void *work, const void *q, void *M) {
    return crba(view, work, q, M);
}
#if SOAI_EVERYTHING
static int k_mass_r87(const void *view, void *work, const void *q, void *M) {
    return mass_r87(view, work, q, M);
}
static int k_aba_spatial(const void *view, void *work, const void *q, const void *v,
                         const void *tau, const void *fext, void *vdot) {
    return aba_spatial(view, work, q, v, tau, fext, vdot);
}
static int k_articulate(const void *view, void *work, const void *q) {
    const view_table *k = view;
    const int bad = articulate(k, work, q);
    if (bad) return bad;
    return k->nm && mimic_prepare(k, work) ? k->nb : 0;
}
static void k_minv_mul(const void *view, void *work, const void *x, void *y) {
    const view_table *k = view;
    minv_mul(k, work, x, y);
    if (k->nm) mimic_project(k, work, y);
}
static void k_minv_filter(const void *view, void *work, const void *x) {
    minv_filter(view, work, x);
}
static void k_minv_smooth(const void *view, void *work, void *y) {
    minv_smooth(view, work, y);
}
static void k_minv_form(const void *view, void *work, void *M) {
    minv_form(view, work, M);
}
static void k_compliance(const void *view, void *work, const struct soai_task_frames *frames,
                         void *Omega) {
    compliance(view, work, frames, Omega);
}
static void k_positions(const void *view, void *work, const void *q) {
    positions(view, work, q);
}
static void k_mass_mul(const void *view, void *work, const void *x, void *y) {
    mass_mul(view, work, x, y);
}
static int k_kinematics(const void *view, void *work, const void *q, const void *v, const void *a) {
    return kinematics(view, work, q, v, a);
}
static void k_jacobian(const void *view, void *work, int body, const void *point, void *J) {
    jacobian(view, work, body, point, J);
}
static void k_momentum(const void *view, void *work, const void *v, void *kinetic, void *h) {
    momentum(view, work, v, kinetic, h);
}
static void k_first_moment(const void *view, void *work, void *mass, void *moment) {
    first_moment(view, work, mass, moment);
}
static void k_centroidal(const void *view, void *work, const void *com, void *A) {
    centroidal(view, work, com, A);
}
static int k_coriolis_mul(const void *view, void *work, const void *q, const void *v, const void *x,
                          void *out) {
    return coriolis_mul(view, work, q, v, x, out);
}
static void k_regressor(const void *view, void *work, void *Y) {
    regressor(view, work, Y);
}
static int k_rnea_derivatives(const void *view, void *work, const void *q, const void *v,
                              const void *a, const void *fext, const void *wrench, int wrenches,
                              void *dq, void *dv) {
    return rnea_derivatives(view, work, q, v, a, fext, wrench, wrenches, dq, dv);
}
static void k_factor_mul(const void *view, void *work, int factor, const void *x, void *y) {
    factor_mul(view, work, factor, x, y);
}
static void k_diagonal_bias(const void *view, void *work, const void *nu, void *v, void *mu) {
    diagonal_bias(view, work, nu, v, mu);
}
static int k_two_sweep(const void *view, void *work, const void *factors, const void *q,
                       const void *v, const void *tau, const void *fext, void *vdot) {
    return two_sweep(view, work, factors, q, v, tau, fext, vdot);
}
static void k_two_sweep_compliance(const void *work, int body, void *C) {
    two_sweep_compliance(work, body, C);
}
#endif

#if SOAI_NUMBER == SOAI_DOUBLE
static void k_segment(const void *view, void *work, const struct soai_segments *segments, int sweep,
                      int n, const double *q, const double *v, const double *tau,
                      const double *fext, double *vdot) {
    segment_task(view, work, segments, sweep, n, q, v, tau, fext, vdot);
}
/* src/operator/compiled_operator_sweep.c */
soai_operator_sweep_fn SOAI_OPERATOR_SWEEP;
soai_operator_steps_fn SOAI_OPERATOR_STEPS;
#endif

#if SOAI_LANES == 1
static void k_inertia(const void *work, int body, void *P) {
    const kernel_work *w = work;
    real *out = P;
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            out[6 * r + c] = abi_entry(w->b[body].P, r, c);
}
static int k_aba_ud(const void *view, void *work, const void *factors, const void *q, const void *v,
                    const void *tau, const void *fext, void *vdot) {
    return aba_ud(view, work, factors, q, v, tau, fext, vdot);
}
static void k_ud_inertia(const void *view, const void *work, const void *factors, int body,
                         void *P) {
    ud_inertia(view, work, factors, body, P);
}
static int k_mass(const void *view, void *work, const void *q, void *M) {
    return mass(view, work, q, M);
}
#define k_mass_columns 0
#define k_pack 0
#define k_unpack 0
#define k_unpack_symmetric 0
#define k_level 0
#else
#define k_mass 0
#define k_aba_ud 0
#define k_ud_inertia 0
#define k_inertia 0
static int k_mass_columns(const void *view, void *work, const void *q, void *M) {
    return mass_columns(view, work, q, M);
}
static int k_pack(const void *from, long stride, int count, int states, void *to) {
    return lanes_pack(from, stride, count, states, to);
}
static void k_unpack(const void *from, int count, int states, void *to, long stride) {
    lanes_unpack(from, count, states, to, stride);
}
static void k_unpack_symmetric(const void *from, int n, int states, void *to) {
    lanes_unpack_symmetric(from, n, states, to);
}
static void k_level(const void *frames, int bodies, void *wrenches) {
    lanes_level(frames, bodies, wrenches);
}
#endif

#ifndef SOAI_ISA_NAME
#define SOAI_ISA_NAME "portable"
#endif
extern const soai_kernels SOAI_TABLE;
const soai_kernels SOAI_TABLE = {
    .instruction_set = SOAI_ISA_NAME,
    .lanes = SOAI_LANES,
    .armatures = SOAI_ABI_PACKED,
    .real_bytes = sizeof(real),
    .work_bytes = sizeof(kernel_work),
    .work_reals = k_work_reals,
    .work_place = k_work_place,
    .rnea = k_rnea,
    .aba = k_aba,
    .mass = k_mass,
    .crba = k_crba,
    .aba_ud = k_aba_ud,
    .ud_inertia = k_ud_inertia,
    .inertia = k_inertia,
#if SOAI_EVERYTHING
    .mass_r87 = k_mass_r87,
    .aba_spatial = k_aba_spatial,
    .articulate = k_articulate,
    .minv_mul = k_minv_mul,
    .minv_filter = k_minv_filter,
    .minv_smooth = k_minv_smooth,
    .minv_form = k_minv_form,
    .compliance = k_compliance,
    .positions = k_positions,
    .mass_mul = k_mass_mul,
    .kinematics = k_kinematics,
    .jacobian = k_jacobian,
    .momentum = k_momentum,
    .first_moment = k_first_moment,
    .centroidal = k_centroidal,
    .coriolis_mul = k_coriolis_mul,
    .regressor = k_regressor,
    .rnea_derivatives = k_rnea_derivatives,
    .factor_mul = k_factor_mul,
    .diagonal_bias = k_diagonal_bias,
    .two_sweep = k_two_sweep,
    .two_sweep_compliance = k_two_sweep_compliance,
#endif
#if SOAI_NUMBER == SOAI_DOUBLE
    .exec = SOAI_OPERATOR_SWEEP,
    .steps = SOAI_OPERATOR_STEPS,
    .segment = k_segment,
#endif
    .mass_columns = k_mass_columns,
    .pack = k_pack,
    .unpack = k_unpack,
    .unpack_symmetric = k_unpack_symmetric,
    .level = k_level,
};
