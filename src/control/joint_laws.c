/* joint_laws.c  laws in joint coordinates, O(n) each but for what nobody drives (u: O(n) for each
 *               of its coordinates).
 *
 *     e = q_d (-) q,  e' = v_d - v
 * PD                  tau = K e + D e' + g
 * inverse dynamics    a = a_d + D e' + K e through the estimated machine                       WD89
 *                     section 3
 * passivity           tau = M a_r + C(q,v) v_r + g + D s
 *                     Slotine and Li Wen and Bayard's three forms (soa/control.h)
 *                     RJK91 section 6
 *     On a floating base s_u makes (M s)_u = 0 and a_r,u makes the torque at u vanish.  With V =
 *     s'M s / 2 and dM/dt
 *     - 2C skew, V' = s'M s' + s'C s; (M s)_u = 0 makes only s'_a count, so V' = -s_a'D s_a as on a
 *       fixed base.
 * decoupled           the same with D = m diag(rate) m*, m = (I + H phi K) D^1/2, M = m m*
 *                     RJK91 (11), section 6
 *     sigma = m* s obeys sigma' = -(skew) sigma - rate sigma.  Equal rates need no m: m k m* s = k
 *     M s, zero at u. */
#include "control_internal.h"
#include "soa/forms.h"

/* e and e' of own coordinates, zero elsewhere.  Passive and foreign joints stand where they are. */
static soa_status errors(soa_control *c, const double *q, const double *v,
                         const soa_joint_reference *r, double *e, double *rate) {
    const soa_model *m = c->model;
    if (!r || !r->q) return SOA_E_ARGUMENT;
    memcpy(c->q_ref, r->q, (size_t)c->nq * sizeof *c->q_ref);
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *meta = soai_metas(m) + i;
        if (meta->leader >= 0) continue;
        const int nq = soai_nq_of((soa_joint_type)soai_bodies(m)[i].type),
                  nv = soai_bodies(m)[i].nv;
        int own = 0;
        for (int k = 0; k < nv; ++k)
            own |= soai_own(c, meta->user_v + k);
        if (!own) memcpy(c->q_ref + meta->user_q, q + meta->user_q, (size_t)nq * sizeof *q);
    }
    const soa_status s = soai_check_state(m, c->q_ref, NULL, NULL, NULL, &c->work->body);
    if (s) return s;
    for (int j = 0; j < c->nv; ++j) {
        const double vd = r->v && soai_own(c, j) ? r->v[j] : 0;
        const double ad = r->a && soai_own(c, j) ? r->a[j] : 0;
        if (!soai_all_finite(&vd, 1) || !soai_all_finite(&ad, 1)) return SOA_E_NOT_FINITE;
        rate[j] = soai_own(c, j) ? vd - v[j] : 0;
    }
    const soa_status bad = soa_q_difference(m, q, c->q_ref, e);
    for (int j = 0; j < c->nv && !bad; ++j)
        if (!soai_own(c, j)) e[j] = 0;
    return bad;
}
/* One gain: not negative, zero where there is none. */
static soa_status check_gains(const soa_control *c, const double *gain) {
    for (int j = 0; gain && j < c->nv; ++j) {
        if (!soai_own(c, j)) continue;
        if (!soai_all_finite(gain + j, 1)) return SOA_E_NOT_FINITE;
        if (!(gain[j] >= 0)) return SOA_E_ARGUMENT;
    }
    return SOA_OK;
}
static double at(const double *x, int j) {
    return x ? x[j] : 0;
}
/* Acceleration or velocity that others give their coordinates. */
static double foreign(const soa_control *c, const double *x, int j) {
    return x && c->drive[j] == SOA_DRIVE_OTHER ? x[j] : 0;
}
static soa_status begin(soa_control *c, const double *q, const double *v,
                        const soa_joint_reference *r, const double *stiffness,
                        const double *damping, const double *tau, double *e, double *rate) {
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s || (s = check_gains(c, stiffness)) || (s = check_gains(c, damping))) return s;
    return errors(c, q, v, r, e, rate);
}

soa_status soa_control_joint_pd(soa_control *c, const double *q, const double *v,
                                const soa_joint_reference *r, const soa_joint_gains *gains,
                                double *tau) {
    if (!c || !gains) return SOA_E_ARGUMENT;
    double *e = c->x[0], *rate = c->x[1], *held = c->x[2], *vd = c->x[3];
    soa_status s = begin(c, q, v, r, gains->stiffness, gains->damping, tau, e, rate);
    if (s) return s;
    for (int j = 0; j < c->nv; ++j)
        vd[j] = soai_own(c, j) ? at(r->v, j) : 0;
    const unsigned which = c->compensate & ~(unsigned)SOA_COMPENSATE_CORIOLIS;
    if ((s = soai_control_torques(c, q, vd, NULL, NULL, 0, which, held)) ||
        (s = soai_closed_add_cut(c, q, NULL, held)))
        return s;
    if (c->closed.constraints && (s = soai_closed_split(c, q))) return s;
    for (int j = 0; j < c->nv; ++j) {
        if (c->closed.constraints && c->closed.dependent[j]) continue; /* it follows */
        held[j] += at(gains->stiffness, j) * e[j] + at(gains->damping, j) * rate[j];
    }
    if (c->closed.constraints) soai_closed_reduce(c, held);
    soai_write_own(c, held, tau);
    return SOA_OK;
}

soa_status soa_control_inverse_dynamics(soa_control *c, const double *q, const double *v,
                                        const soa_joint_reference *r, const soa_joint_gains *gains,
                                        const soa_inverse_dynamics_options *options, double *tau,
                                        double *a_out) {
    const soa_wrench *wrenches = options ? options->wrenches : NULL;
    int wrench_count = options ? options->wrench_count : 0;
    if (!c || !gains) return SOA_E_ARGUMENT;
    double *e = c->x[0], *rate = c->x[1], *a = c->x[2], *torque = c->x[3];
    soa_status s = begin(c, q, v, r, gains->stiffness, gains->damping, tau, e, rate);
    if (s) return s;
    for (int j = 0; j < c->nv; ++j)
        a[j] = soai_own(c, j)
                   ? at(r->a, j) + at(gains->damping, j) * rate[j] + at(gains->stiffness, j) * e[j]
                   : foreign(c, r->a, j);
    if (c->closed.constraints) {
        if ((s = soai_closed_inverse(c, q, v, wrenches, wrench_count, a, torque))) return s;
    } else {
        if (c->passives &&
            (s = soa_control_passive_acceleration(c, q, v, wrenches, wrench_count, a)))
            return s;
        if ((s = soai_control_torques(c, q, v, a, wrenches, wrench_count, c->compensate, torque)))
            return s;
    }
    soai_write_own(c, torque, tau);
    for (int j = 0; a_out && j < c->nv; ++j)
        a_out[j] = a[j];
    return SOA_OK;
}

/* s_u such that (M s)_u = 0, for s whose other entries stand; M_uu factored.  Ms: M s. */
static soa_status without_momentum(soa_control *c, const double *q, double *s, double *Ms) {
    for (int k = 0; k < c->passives; ++k)
        s[c->passive[k]] = 0;
    soa_status bad = soa_mass_mul(c->model, c->work, q, s, Ms);
    if (bad || !c->passives) return bad;
    soai_passive_cancel(c, Ms, s);
    return soa_mass_mul(c->model, c->work, q, s, Ms);
}
/* torque = M a_r + C(q,vc) w + g + friction at v, with a_r,u such that it vanishes at u; M_uu
 * factored. */
static soa_status reference_torque(soa_control *c, const double *q, const double *v,
                                   const double *vc, const double *w, double *a, double *torque,
                                   double *Cw) {
    const unsigned which = c->compensate & ~(unsigned)SOA_COMPENSATE_CORIOLIS;
    soa_status s = SOA_OK;
    for (int k = 0; k < c->passives; ++k)
        a[c->passive[k]] = 0;
    for (int j = 0; j < c->nv; ++j)
        Cw[j] = 0;
    if ((c->compensate & SOA_COMPENSATE_CORIOLIS) &&
        (s = soa_coriolis_mul(c->model, c->work, q, vc, w, Cw)))
        return s;
    for (int pass = 0; pass < (c->passives ? 2 : 1); ++pass) {
        if ((s = soai_control_torques(c, q, v, a, NULL, 0, which, torque))) return s;
        for (int j = 0; j < c->nv; ++j)
            torque[j] += Cw[j];
        if (pass == 0 && c->passives) soai_passive_cancel(c, torque, a);
    }
    return SOA_OK;
}

soa_status soa_control_passivity(soa_control *c, soa_passivity form, const double *q,
                                 const double *v, const soa_joint_reference *r,
                                 const soa_joint_gains *gains, double *tau, double *lyapunov) {
    if (!c || !gains || (unsigned)form >= SOA_PASSIVITY_COUNT || c->closed.constraints)
        return SOA_E_ARGUMENT;
    double *e = c->x[0], *rate = c->x[1], *w = c->x[2], *Ms = c->x[3], *a = c->x[4],
           *torque = c->x[5], *Cw = c->x[6];
    soa_status bad = begin(c, q, v, r, gains->stiffness, gains->damping, tau, e, rate);
    if (bad || (bad = soai_passive_factor(c, q, c->passives))) return bad;
    const int sliding = form == SOA_SLOTINE_LI;
    const double *K = gains->stiffness, *D = gains->damping;
    for (int j = 0; j < c->nv; ++j) {
        if (soai_own(c, j)) {
            a[j] = at(r->a, j) + (sliding ? at(K, j) * rate[j] : 0);
        } else {
            a[j] = foreign(c, r->a, j);
        }
        if (sliding) rate[j] += at(K, j) * e[j]; /* s = e' + L e */
    }
    if ((bad = without_momentum(c, q, rate, Ms))) return bad;
    double V = 0;
    for (int j = 0; j < c->nv; ++j) {
        V += rate[j] * Ms[j] / 2 + (sliding ? 0 : at(K, j) * e[j] * e[j] / 2);
        w[j] = v[j] + rate[j]; /* v_r, or v_d */
    }
    const double *turn = form == SOA_WEN_BAYARD_2 || form == SOA_WEN_BAYARD_3 ? w : v;
    if ((bad = reference_torque(c, q, v, turn, form == SOA_WEN_BAYARD_3 ? v : w, a, torque, Cw)))
        return bad;
    for (int j = 0; j < c->nv; ++j)
        torque[j] += at(D, j) * rate[j] + (sliding ? 0 : at(K, j) * e[j]);
    soai_write_own(c, torque, tau);
    if (lyapunov) *lyapunov = V;
    return SOA_OK;
}

soa_status soa_control_decoupled(soa_control *c, const double *q, const double *v,
                                 const soa_joint_reference *r, const double *stiffness,
                                 const double *damping, double *tau, double *sigma) {
    if (!c || !damping || c->closed.constraints) return SOA_E_ARGUMENT;
    double *e = c->x[0], *s = c->x[1], *w = c->x[2], *Ms = c->x[3], *a = c->x[4], *torque = c->x[5],
           *Cw = c->x[6];
    double *innovation = c->x[7];
    const soa_model *m = c->model;
    if (m->nm) return SOA_E_MIMIC;
    soa_status bad = begin(c, q, v, r, stiffness, damping, tau, e, s);
    if (bad || (bad = soai_passive_factor(c, q, c->passives))) return bad;
    double rate = -1;
    int equal = 1;
    for (int j = 0; j < c->nv; ++j) {
        if (!soai_own(c, j)) continue;
        if (rate < 0) rate = damping[j];
        equal &= damping[j] == rate;
    }
    if (!equal && c->free) return SOA_E_ARGUMENT;
    for (int j = 0; j < c->nv; ++j) {
        a[j] = soai_own(c, j) ? at(r->a, j) + at(stiffness, j) * s[j] : foreign(c, r->a, j);
        s[j] += at(stiffness, j) * e[j];
    }
    if ((bad = without_momentum(c, q, s, Ms))) return bad;
    for (int j = 0; j < c->nv; ++j)
        w[j] = v[j] + s[j];
    if ((bad = reference_torque(c, q, v, v, w, a, torque, Cw))) return bad;
    if (!equal || sigma) { /* sigma = m* s */
        if ((bad = soa_mass_factor_mul(m, c->work, q, SOA_FACTOR_L_ADJOINT, s, innovation)) ||
            (bad = soa_mass_factor_mul(m, c->work, q, SOA_FACTOR_ROOT_ADJOINT, innovation,
                                       innovation)))
            return bad;
    }
    if (!equal) { /* m diag(rate) sigma, in place of k M s */
        for (int j = 0; j < c->nv; ++j)
            Ms[j] = soai_own(c, j) ? damping[j] * innovation[j] : 0;
        if ((bad = soa_mass_factor_mul(m, c->work, q, SOA_FACTOR_ROOT, Ms, Ms)) ||
            (bad = soa_mass_factor_mul(m, c->work, q, SOA_FACTOR_L, Ms, Ms)))
            return bad;
    }
    for (int j = 0; j < c->nv; ++j)
        torque[j] += equal ? rate * Ms[j] : Ms[j];
    soai_write_own(c, torque, tau);
    for (int j = 0; sigma && j < c->nv; ++j)
        sigma[j] = innovation[j];
    return SOA_OK;
}
