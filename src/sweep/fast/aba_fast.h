/* aba_fast.h  forward dynamics for lanes and generated code, and in spatial accelerations for
 *             soa_smoother.
 *
 * equals   aba.h, to rounding: "aba in lanes" of tests/dynamics/test_identities.c,
 *          tests/program/test_generated.sh
 * assumes  nobody reads what a level joint's step leaves in lanes; in generated code, that the
 *          tables are constants
 * saves    level_filter and level_smooth of steps.h take P block by block, so that few numbers are
 *          under way at a time; generated code also drops what `own` of table_fields.h marks.  A
 *          prototype of the plain page took 0.99 to 1.03 of this in lanes, with other compiler
 *          flags; it was not measured again, nor in generated code
 * to do    aba_spatial is here because it shares step_filter; it should become a plain page, and
 *          step_filter with its mode bits go, when the lanes can use aba.h */
#ifndef SOAI_ABA_FAST_H
#define SOAI_ABA_FAST_H
#include "../articulate.h"

/* One body of each of the three sweeps. */
SOAI_INLINE void fused_outward(const view_table *k, kernel_work *w, const body_table *b, int i,
                               int kind, int nv, int form, const real *q, const real *v) {
    real V[6];
    joint_position(k, w, b, i, kind, q);
    if (form & CLASSICAL) {
        step_turning(k, w, b, i, kind, nv, w->b[b->parent].V, v, w->b[i].V);
    } else {
        step_velocity(k, w, b, i, kind, nv, v, V);
    }
}
SOAI_INLINE int fused_inward(const view_table *k, kernel_work *w, const body_table *b, int i,
                             int kind, int nv, int form, const real *v, const real *tau,
                             const real *fext) {
    body_work *own = PASSED(w, b, i);
    body_work *in = PASSED_IN(w, b);
    real z[6];
    LEVEL_STEP(kind, return level_filter(k, w, b, i, kind, v, tau, fext));
    if (!b->child) abi_set(b->M, own->P); /* z starts as b(k), P as M(k): hinge_shift */
    step_gather_force(w, b, i, form, fext, z);
    v6_copy(z, own->f);
    if (b->parent && b->starts) v6_zero(in->f);
    step_rotor_gyro(k, b, v, w->b[b->parent].V, in->f);
    return step_filter(k, w, b, i, kind, nv, ARTICULATE | INNOVATE | BIAS | form, v, tau);
}
SOAI_INLINE void fused_smooth(const view_table *k, kernel_work *w, const body_table *b, int i,
                              int kind, int nv, int form, const real *v, real *vdot) {
    LEVEL_STEP(kind, level_smooth(k, w, b, i, kind, BIAS, v, vdot); return );
    step_smooth(k, w, b, i, kind, nv, BIAS | form, v, vdot);
}
/* Spatial accelerations are for the user's tables, which have no aligned kinds. */
#define WITH_FORM_KIND(form, b, ...)                                                     \
    SOAI_WITH_KIND_OF_((form)&CLASSICAL ? SOAI_ALIGNED_KINDS : SOAI_KINDS, (b)->kind, b, \
                       __VA_ARGS__)
SOAI_INLINE int fused_inward_step(const view_table *k, kernel_work *w, const body_table *b, int i,
                                  int form, const real *v, const real *tau, const real *fext) {
    int moves = 0;
    WITH_FORM_KIND(form, b, moves = fused_inward(k, w, b, i, kind, nv, form, v, tau, fext))
    return moves;
}
SOAI_INLINE int fused_aba(const view_table *k, kernel_work *w, int form, const real *q,
                          const real *v, const real *tau, const real *fext, real *vdot) {
    if (k->stuck) return k->stuck;
    tau = torques_after_losses(k, w, q, v, tau);
    angles(k, w, q);
    v6_zero(w->b[0].V);
    SOAI_OUTWARD_ACROSS(k, WITH_FORM_KIND(form, b, fused_outward(k, w, b, i, kind, nv, form, q, v)))
    SOAI_INWARD(k, if (!fused_inward_step(k, w, b, i, form, v, tau, fext)) return i) /* filter */
    base_acceleration(k, w->b[0].A);
    /* smoother */
    SOAI_OUTWARD_ACROSS(k,
                        WITH_FORM_KIND(form, b, fused_smooth(k, w, b, i, kind, nv, form, v, vdot)))
    return mimic_constrain(k, w, vdot);
}
SOAI_SWEEP int aba_fast(const view_table *k, kernel_work *w, const real *q, const real *v,
                        const real *tau, const real *fext, real *vdot) {
    return fused_aba(k, w, CLASSICAL, q, v, tau, fext, vdot);
}
#if SOAI_LANES == 1
SOAI_SWEEP int aba_spatial(const view_table *k, kernel_work *w, const real *q, const real *v,
                           const real *tau, const real *fext, real *vdot) {
    return fused_aba(k, w, 0, q, v, tau, fext, vdot);
}
#endif

#endif
