/* manifold.c  the configuration space: integration, difference, rates.
 *
 * q (+) v: for joints with q' = v the numbers are added; quaternions are multiplied by exp(v/2) on
 * the right (rates in body axes); a free joint moves along the screw exp6([w; v]) in its own frame.
 * soa_q_difference is the inverse: q0 (+) difference(q0, q1) = q1. */
#include "model_internal.h"
#include "../base/small_algebra.h"
#include <math.h>

static void quaternion_rotate(const double e[4], const double x[3], double out[3]) {
    const double *u = e + 1;
    const double c[3] = {u[1] * x[2] - u[2] * x[1] + e[0] * x[0],
                         u[2] * x[0] - u[0] * x[2] + e[0] * x[1],
                         u[0] * x[1] - u[1] * x[0] + e[0] * x[2]};
    const double r[3] = {x[0] + 2 * (u[1] * c[2] - u[2] * c[1]),
                         x[1] + 2 * (u[2] * c[0] - u[0] * c[2]),
                         x[2] + 2 * (u[0] * c[1] - u[1] * c[0])};
    memcpy(out, r, sizeof r);
}
static void quaternion_unit(double e[4]) {
    const double n = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
    for (int i = 0; i < 4; ++i)
        e[i] /= n;
}
static void quaternion_exp(const double w[3], double out[4]) {
    const double a = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    const double s = a > 1e-4 ? sin(a / 2) / a : 0.5 - a * a / 48;
    out[0] = cos(a / 2);
    for (int i = 0; i < 3; ++i)
        out[1 + i] = s * w[i];
}
/* Rotation vector of the shorter rotation. */
static void quaternion_log(const double e[4], double w[3]) {
    const double sign = e[0] < 0 ? -1 : 1, n = sqrt(e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
    const double half = atan2(n, sign * e[0]);
    const double k = n > 1e-8 ? 2 * half / n : 2;
    for (int i = 0; i < 3; ++i)
        w[i] = sign * k * e[1 + i];
}
/* out = x + a (w x x) + b (w x (w x x)) */
static void screw_series(const double w[3], double a, double b, const double x[3], double out[3]) {
    const double c[3] = {w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2],
                         w[0] * x[1] - w[1] * x[0]};
    const double d[3] = {w[1] * c[2] - w[2] * c[1], w[2] * c[0] - w[0] * c[2],
                         w[0] * c[1] - w[1] * c[0]};
    for (int i = 0; i < 3; ++i)
        out[i] = x[i] + a * c[i] + b * d[i];
}

static soa_status check(const soa_model *m, const double *q, const double *v) {
    if (!m || !q) return SOA_E_ARGUMENT;
    if (!soai_all_finite(q, (size_t)m->nq) || (v && !soai_all_finite(v, (size_t)m->nv)))
        return SOA_E_NOT_FINITE;
    for (int i = 1; i <= m->nb; ++i) {
        const int at = soai_quaternion_at(soai_bodies(m)[i].type, soai_metas(m)[i].user_q);
        if (at < 0 || soai_metas(m)[i].leader >= 0) continue;
        const double *e = q + at;
        if (!(fabs(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] - 1) <=
              SOAI_QUATERNION_TOLERANCE))
            return SOA_E_QUATERNION;
    }
    return SOA_OK;
}

void soa_q_neutral(const soa_model *m, double *q) {
    if (!m || !q) return;
    memset(q, 0, (size_t)m->nq * sizeof *q);
    for (int i = 1; i <= m->nb; ++i) {
        const int at = soai_quaternion_at(soai_bodies(m)[i].type, soai_metas(m)[i].user_q);
        if (at >= 0) q[at] = 1;
    }
}

soa_status soa_q_normalise(const soa_model *m, double *q) {
    if (!m || !q) return SOA_E_ARGUMENT;
    if (!soai_all_finite(q, (size_t)m->nq)) return SOA_E_NOT_FINITE;
    for (int pass = 0; pass < 2; ++pass) /* check all before changing any */
        for (int i = 1; i <= m->nb; ++i) {
            const int at = soai_quaternion_at(soai_bodies(m)[i].type, soai_metas(m)[i].user_q);
            if (at < 0) continue;
            double *e = q + at;
            if (!(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] > 1e-24))
                return SOA_E_QUATERNION;
            if (pass) quaternion_unit(e);
        }
    return SOA_OK;
}

soa_status soa_q_integrate(const soa_model *m, const double *q, const double *v, double dt,
                           double *q_next) {
    if (!v || !q_next) return SOA_E_ARGUMENT;
    if (!soai_all_finite(&dt, 1)) return SOA_E_NOT_FINITE;
    const soa_status s = check(m, q, v);
    if (s) return s;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader >= 0) continue;
        const soa_joint_type type = (soa_joint_type)soai_bodies(m)[i].type;
        const double *x = q + e->user_q, *u = v + e->user_v;
        double *y = q_next + e->user_q;
        if (type != SOA_SPHERICAL && type != SOA_FREE) {
            const int nv = soai_nv_of(type);
            for (int c = 0; c < nv; ++c)
                y[c] = x[c] + dt * u[c];
            continue;
        }
        const double w[3] = {dt * u[0], dt * u[1], dt * u[2]};
        const int at = type == SOA_FREE ? 3 : 0;
        double turn[4], old[4];
        memcpy(old, x + at, sizeof old);
        if (type == SOA_FREE) {
            const double l[3] = {dt * u[3], dt * u[4], dt * u[5]},
                         a2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], a = sqrt(a2);
            const double half = sin(a / 2);
            const double c1 = a > 1e-3 ? 2 * half * half / a2 : 0.5 - a2 / 24;
            const double c2 =
                a > 1e-2 ? (a - sin(a)) / (a2 * a) : (1 - a2 / 20 + a2 * a2 / 840) / 6;
            double move[3];
            screw_series(w, c1, c2, l, move);
            quaternion_rotate(old, move, move);
            for (int c = 0; c < 3; ++c)
                y[c] = x[c] + move[c];
        }
        quaternion_exp(w, turn);
        soai_quaternion_mul(old, turn, y + at);
        quaternion_unit(y + at);
    }
    return SOA_OK;
}

soa_status soa_q_difference(const soa_model *m, const double *q0, const double *q1, double *v) {
    if (!v) return SOA_E_ARGUMENT;
    soa_status s = check(m, q0, 0);
    if (s || (s = check(m, q1, 0))) return s;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader >= 0) continue;
        const soa_joint_type type = (soa_joint_type)soai_bodies(m)[i].type;
        const double *x = q0 + e->user_q, *y = q1 + e->user_q;
        double *u = v + e->user_v;
        if (type != SOA_SPHERICAL && type != SOA_FREE) {
            const int nv = soai_nv_of(type);
            for (int c = 0; c < nv; ++c)
                u[c] = y[c] - x[c];
            continue;
        }
        const int at = type == SOA_FREE ? 3 : 0;
        const double back[4] = {x[at], -x[at + 1], -x[at + 2], -x[at + 3]};
        double turn[4];
        soai_quaternion_mul(back, y + at, turn);
        quaternion_log(turn, u);
        if (type == SOA_FREE) { /* inverse of the screw series */
            const double move[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
            const double a2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], a = sqrt(a2);
            const double c2 =
                a > 1e-2 ? (1 - a / 2 * cos(a / 2) / sin(a / 2)) / a2 : 1.0 / 12 + a2 / 720;
            double local[3];
            quaternion_rotate(back, move, local);
            screw_series(u, -0.5, c2, local, u + 3);
        }
    }
    return SOA_OK;
}

soa_status soa_q_rate(const soa_model *m, const double *q, const double *v, double *q_rate) {
    if (!v || !q_rate) return SOA_E_ARGUMENT;
    const soa_status s = check(m, q, v);
    if (s) return s;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader >= 0) continue;
        const soa_joint_type type = (soa_joint_type)soai_bodies(m)[i].type;
        const double *x = q + e->user_q, *u = v + e->user_v;
        double *y = q_rate + e->user_q;
        if (type != SOA_SPHERICAL && type != SOA_FREE) {
            const int nv = soai_nv_of(type);
            for (int c = 0; c < nv; ++c)
                y[c] = u[c];
            continue;
        }
        const int at = type == SOA_FREE ? 3 : 0;
        const double half[4] = {0, u[0] / 2, u[1] / 2, u[2] / 2};
        double rate[4], move[3] = {0, 0, 0};
        soai_quaternion_mul(x + at, half, rate);
        if (type == SOA_FREE) {
            quaternion_rotate(x + 3, u + 3, move);
            memcpy(y, move, sizeof move);
        }
        memcpy(y + at, rate, sizeof rate);
    }
    return SOA_OK;
}
