/* force_estimate.c  external wrenches from noisy sensors of joint torques and accelerations.
 *
 * measure   The motion is evaluated at the state, under the torques held so far; inverse dynamics of
 *           the same model without friction and springs gives the torques of the joints: what a
 *           sensor behind them reads, or the motor's current with friction taken off.  Rotors are
 *           part of the model.
 * take      soa_estimator_update, with the noise of the sensors as variances and the scenario's
 *           standard deviations of the wrenches.  Joints of floating roots transmit nothing, which is
 *           exact, and their accelerations are not measured. */
#include "soa/forms.h"
#include "world_internal.h"

#include <math.h>
#include <stdlib.h>

struct soai_force_estimate {
    const soa_model *ideal;
    soa_work *work;
    soa_estimator *estimator;
    soa_unknown_wrench *unknown; /* of the scenario */
    soa_wrench *wrenches;        /* one for each body */
    double *a_variance, *tau_variance;
    bool *is_root; /* nv */
};

bool soai_force_is_root(const soai_force_estimate *e, int v) {
    return e->is_root[v];
}
void soai_force_estimate_close(soai_force_estimate *e) {
    if (!e) return;
    soa_estimator_free(e->estimator);
    soa_work_free(e->work);
    soa_model_free(e->ideal);
    free(e->unknown);
    free(e->wrenches);
    free(e->a_variance);
    free(e->tau_variance);
    free(e->is_root);
    free(e);
}

static soa_status find_frames(const soa_world *w, soai_force_estimate *e, soa_report *report) {
    const soa_scene_estimator *def = &w->scenario->estimator;
    for (int i = 0; i < def->wrench_count; ++i) {
        const soa_scene_wrench_prior *prior = &def->wrenches[i];
        const int frame = soa_model_find_frame(w->model, prior->frame);
        soa_frame_info info;
        if (frame < 0)
            return soai_scenario_fault(w->scenario, prior->mark, SOA_E_NAME, report,
                                       "estimator: there is no frame '%s'%s", prior->frame,
                                       soai_nearest_frame(w->model, prior->frame));
        soa_model_frame(w->model, frame, &info);
        if (!info.body)
            return soai_scenario_fault(w->scenario, prior->mark, SOA_E_NAME, report,
                                       "estimator: frame '%s' does not move; no joint feels a "
                                       "wrench there",
                                       prior->frame);
        e->unknown[i] = (soa_unknown_wrench){.frame = frame, .axes = SOA_AXES_WORLD};
        for (int k = 0; k < 6; ++k) {
            const double sigma = k < 3 ? prior->torque : prior->force;
            e->unknown[i].covariance[7 * k] = sigma * sigma;
        }
    }
    return SOA_OK;
}
static void set_variances(const soa_world *w, soai_force_estimate *e) {
    const soa_scene_estimator *def = &w->scenario->estimator;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const bool root = info.type == SOA_FREE;
        for (int i = info.v_index; i < info.v_index + info.nv; ++i) {
            e->is_root[i] = root;
            e->tau_variance[i] = root ? 0 : def->joint_torque_noise * def->joint_torque_noise;
            e->a_variance[i] = root ? INFINITY : def->acceleration_noise * def->acceleration_noise;
        }
    }
}
soa_status soai_force_estimate_open(soa_world *w, soai_force_estimate **made, soa_report *report) {
    const soa_scene_estimator *def = &w->scenario->estimator;
    const size_t nv = (size_t)w->nv + 1;
    if (w->constraints)
        return soai_scenario_fault(w->scenario, def->mark, SOA_E_ARGUMENT, report,
                                   "estimator: the scenario has loops (constraints), whose forces "
                                   "joint sensors cannot tell from those of the surroundings; "
                                   "leave out the loops or the estimator");
    soai_force_estimate *e = *made = calloc(1, sizeof *e);
    if (!e) return SOA_E_MEMORY;
    soa_status s = soa_model_without_losses(w->model, SOA_FRICTION | SOA_SPRINGS, &e->ideal);
    if (!s) s = soa_work_create(e->ideal, &e->work);
    if (!s) s = soa_estimator_create(e->ideal, &e->estimator);
    if (s == SOA_E_MIMIC)
        return soai_scenario_fault(w->scenario, def->mark, s, report,
                                   "estimator: the scenario has mimic joints, which the estimator "
                                   "does not know");
    if (s) return s;
    e->unknown = calloc((size_t)def->wrench_count, sizeof *e->unknown);
    e->wrenches = calloc((size_t)w->bodies + 1, sizeof *e->wrenches);
    e->a_variance = calloc(nv, sizeof *e->a_variance);
    e->tau_variance = calloc(nv, sizeof *e->tau_variance);
    e->is_root = calloc(nv, sizeof *e->is_root);
    if (!e->unknown || !e->wrenches || !e->a_variance || !e->tau_variance || !e->is_root)
        return SOA_E_MEMORY;
    set_variances(w, e);
    return find_frames(w, e, report);
}

soa_status soai_force_measure(soa_world *w, soai_force_estimate *e, double *tau, double *a) {
    soa_distance_cache *own = w->caches;
    const double when = w->when;
    int count = 0;
    if (w->meeting_count) memcpy(w->spare_caches, own, (size_t)w->meeting_count * sizeof *own);
    w->caches = w->spare_caches;
    /* Include disturbances that begin now. */
    w->when = w->state->t + 1e-6 * w->tick_length;
    soa_status s = soai_motion(w, w->state->t, w->y, w->y_scratch[0]);
    w->when = when;
    w->caches = own;
    if (s) return s;
    memcpy(a, w->qdd, (size_t)w->nv * sizeof *a);
    for (int b = 1; b <= w->bodies; ++b) {
        const double *f = w->wrench + 6 * b;
        soa_wrench *out = e->wrenches + count++;
        *out = (soa_wrench){.frame = w->body_frame[b], .axes = SOA_AXES_WORLD};
        memcpy(out->value, f, sizeof out->value);
    }
    return soa_rnea(e->ideal, e->work, w->q, w->y + w->at_v, a, e->wrenches, count, tau);
}

soa_status soai_force_estimate_take(const soa_world *w, soai_force_estimate *e, const double *q,
                                    const double *v, const double *tau, const double *a,
                                    double *out) {
    const int count = w->scenario->estimator.wrench_count;
    const soa_estimator_input input = {.q = q,
                                       .v = v,
                                       .tau = tau,
                                       .tau_variance = e->tau_variance,
                                       .a = a,
                                       .a_variance = e->a_variance,
                                       .unknowns = e->unknown,
                                       .unknown_count = count};
    soa_estimator_result result;
    soa_status s = soa_estimator_update(e->estimator, e->work, &input, &result);
    for (int i = 0; !s && i < count; ++i)
        s = soa_estimator_wrench(e->estimator, e->unknown + i, out + SOAI_ESTIMATE_NUMBERS * i,
                                 out + SOAI_ESTIMATE_NUMBERS * i + 6);
    if (!s) out[SOAI_ESTIMATE_NUMBERS * count] = result.chi_square;
    return s;
}
