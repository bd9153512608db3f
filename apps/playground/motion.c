/* motion.c  free motion of the machine: q' = rate(q, v), v' = soa_aba(q, v) minus damping, in fixed
 * steps.
 *
 * Classical Runge-Kutta method of order four on the numbers of q. Quaternions are normalised before
 * every stage: the motion stays on the unit sphere, and outside it this defines a smooth field, so
 * the order is kept. Each step calls soa_aba four times, O(n).
 *
 * A pulled body is connected by a spring and damper between one of its points and a point of the
 * world. Both are scaled with the mass of the machine and limited by the inertia at that point
 * (soa_compliance), so that steps of one millisecond are stable. A led joint has its own spring and
 * damper, critically damped. */
#include "playground.h"

#include <math.h>
#include <string.h>

enum { LEAD_RATE = 15, LARGEST_RATE = 400 }; /* rad/s */

typedef struct where {
    const soa_model *model;
    soa_work *work;
    double decay;
} where;

static void cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
/* Vector from the origin of the frame to the pulled point, in world axes. */
static void arm_of(const soa_frame *X, const double at[3], double r[3]) {
    for (int i = 0; i < 3; ++i)
        r[i] = X->R[3 * i] * at[0] + X->R[3 * i + 1] * at[1] + X->R[3 * i + 2] * at[2];
}

static soa_status pull_wrench(const play *p, const where *at, const double *q, const double *v,
                              soa_wrench *w) {
    soa_body_info b;
    soa_frame X;
    double V[6], r[3], spin[3];
    soa_status s = soa_model_body(at->model, p->pull.body, &b);
    if (s == SOA_OK) s = soa_kinematics(at->model, at->work, q, v, NULL);
    if (s == SOA_OK) s = soa_pose(at->model, at->work, b.frame, &X);
    if (s == SOA_OK) s = soa_velocity(at->model, at->work, b.frame, SOA_AXES_WORLD, V);
    if (s != SOA_OK) return s;
    arm_of(&X, p->pull.at, r);
    cross(V, r, spin);
    w->frame = b.frame;
    w->axes = SOA_AXES_WORLD;
    for (int i = 0; i < 3; ++i)
        w->value[3 + i] = p->pull.stiffness * (p->pull.to[i] - X.p[i] - r[i]) -
                          p->pull.damping * (V[3 + i] + spin[i]);
    cross(r, w->value + 3, w->value);
    return SOA_OK;
}

static soa_status rates(const play *p, const where *at, const double *q, const double *v,
                        double *tau, double *dq, double *dv) {
    const int nv = soa_model_nv(at->model);
    soa_wrench wrench[2];
    int wrenches = 0;
    soa_status s = SOA_OK;
    memset(tau, 0, (size_t)nv * sizeof *tau);
    if (p->lead.q >= 0)
        tau[p->lead.v] =
            p->lead.stiffness * (p->lead.to - q[p->lead.q]) - p->lead.damping * v[p->lead.v];
    if (p->pushes) wrench[wrenches++] = p->push;
    if (p->pull.body) s = pull_wrench(p, at, q, v, &wrench[wrenches++]);
    if (s == SOA_OK) s = soa_aba(at->model, at->work, q, v, tau, wrench, wrenches, dv);
    if (s == SOA_OK) s = soa_q_rate(at->model, q, v, dq);
    for (int i = 0; s == SOA_OK && i < nv; ++i)
        dv[i] -= at->decay * v[i];
    return s;
}

static soa_status step(play *p, const where *at, double dt) {
    static const double part[4] = {0, 0.5, 0.5, 1},
                        weight[4] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
    const int nq = soa_model_nq(at->model), nv = soa_model_nv(at->model);
    double *q = p->stages, *v = q + nq, *tau = v + nv, *dq = tau + nv, *dv = dq + 4 * nq;
    soa_status s = SOA_OK;
    for (int k = 0; s == SOA_OK && k < 4; ++k) {
        const double h = part[k] * dt;
        for (int i = 0; i < nq; ++i)
            q[i] = p->q[i] + (k ? h * dq[(k - 1) * nq + i] : 0);
        for (int i = 0; i < nv; ++i)
            v[i] = p->v[i] + (k ? h * dv[(k - 1) * nv + i] : 0);
        s = soa_q_normalise(at->model, q);
        if (s == SOA_OK) s = rates(p, at, q, v, tau, dq + k * nq, dv + k * nv);
    }
    if (s != SOA_OK) return s;
    for (int i = 0; i < nq; ++i) {
        q[i] = p->q[i];
        for (int k = 0; k < 4; ++k)
            q[i] += dt * weight[k] * dq[k * nq + i];
    }
    for (int i = 0; i < nv; ++i) {
        v[i] = p->v[i];
        for (int k = 0; k < 4; ++k)
            v[i] += dt * weight[k] * dv[k * nv + i];
        if (!isfinite(v[i])) return SOA_E_NOT_FINITE;
    }
    s = soa_q_normalise(at->model, q);
    if (s != SOA_OK) return s;
    memcpy(p->q, q, (size_t)nq * sizeof *q);
    memcpy(p->v, v, (size_t)nv * sizeof *v);
    return SOA_OK;
}

int play_move(play *p, double dt, int count, double decay, int floats) {
    if (!(dt > 0 && dt <= 0.1) || count < 0 || count > 100000 || !(decay >= 0 && decay <= 1000))
        return play_fail("steps of at most 0.1 s, at most 100000 of them");
    const where at = {floats ? p->floating : p->model, floats ? p->floating_work : p->work, decay};
    soa_status s = SOA_OK;
    for (int i = 0; s == SOA_OK && i < count; ++i)
        s = step(p, &at, dt);
    return s == SOA_E_NOT_FINITE
               ? play_fail("the motion has become too violent for steps of %g s", dt)
               : play_status(s);
}

int play_pull_body(play *p, int body, double ax, double ay, double az, double x, double y,
                   double z) {
    const double point[6] = {ax, ay, az, x, y, z};
    for (int i = 0; i < 6; ++i)
        if (!isfinite(point[i])) return play_status(SOA_E_NOT_FINITE);
    soa_body_info b;
    if (body < 1 || soa_model_body(p->model, body, &b) != SOA_OK) return play_fail("no such body");
    const int again = body == p->pull.body && !memcmp(p->pull.at, point, sizeof p->pull.at);
    memcpy(p->pull.at, point, sizeof p->pull.at);
    memcpy(p->pull.to, point + 3, sizeof p->pull.to);
    if (again) return 0;
    double omega[36], r[3], trace = 0;
    soa_frame X;
    soa_status s = soa_compliance(p->model, p->work, p->q, &b.frame, 1, SOA_AXES_WORLD, omega);
    if (s == SOA_OK) s = soa_kinematics(p->model, p->work, p->q, NULL, NULL);
    if (s == SOA_OK) s = soa_pose(p->model, p->work, b.frame, &X);
    if (s != SOA_OK) {
        p->pull.body = 0;
        return play_status(s);
    }
    arm_of(&X, p->pull.at, r);
    /* Row i of [-r x, 1]: velocity of the point along axis i. */
    for (int i = 0; i < 3; ++i) {
        double row[6] = {0}, axis[3] = {0};
        axis[i] = row[3 + i] = 1;
        cross(r, axis, row);
        for (int j = 0; j < 6; ++j)
            for (int k = 0; k < 6; ++k)
                trace += row[j] * omega[6 * j + k] * row[k];
    }
    const double all = soa_model_mass(p->model), own = trace > 0 ? fmin(1 / trace, all) : all;
    p->pull.body = body;
    p->pull.stiffness = fmin(30 * all, own * LARGEST_RATE * LARGEST_RATE);
    p->pull.damping = fmin(0.6 * sqrt(p->pull.stiffness * all), own * LARGEST_RATE);
    return 0;
}
int play_lead_joint(play *p, int q, double to) {
    soa_body_info b;
    if (!isfinite(to)) return play_status(SOA_E_NOT_FINITE);
    for (int i = 1; i <= soa_model_body_count(p->model); ++i) {
        if (soa_model_body(p->model, i, &b) != SOA_OK || b.nq != 1 || b.q_index != q) continue;
        if (p->lead.q != q) {
            double *unit = p->stages, *answer = unit + soa_model_nv(p->model);
            memset(unit, 0, (size_t)soa_model_nv(p->model) * sizeof *unit);
            unit[b.v_index] = 1;
            const soa_status s = soa_minv_mul(p->model, p->work, p->q, unit, answer);
            if (s != SOA_OK) return play_status(s);
            const double inertia = 1 / answer[b.v_index];
            p->lead = (play_lead){q, b.v_index, to, inertia * LEAD_RATE * LEAD_RATE,
                                  2 * inertia * LEAD_RATE};
        }
        p->lead.to = to;
        return 0;
    }
    return play_fail("no joint has the coordinate %d alone", q);
}
void play_release(play *p) {
    p->pull.body = 0;
    p->lead.q = p->lead.v = -1;
}
