/* inverse_kinematics.c  q for given poses of several frames, by Levenberg-Marquardt steps, O(n)
 *                       each.
 *
 * error of a tip, in its own axes:  e = [log(R*R_target); R*(p_target - p)],  cost = 1/2 sum |W
 * e|^2;
 * its gradient is -J*W^2 e exactly (a rotation vector is an eigenvector of its own Jacobian), and a
 *     step solves (J*W^2 J + lambda^2 1) dv = J*W^2 e                 the mass matrix of the
 *     massless twin, jacobian_products.h
 * lambda^2 = mu min(|W e|^2, |W|^2) goes to zero with the error: steps converge quadratically, and
 * stay short where J loses rank.  mu falls after good steps and rises after bad ones, which are
 * taken back; no angle moves more than 1 rad a step. Coordinates at a limit that want to go on are
 * held (infinite inertia); what still leaves its limits is put back on them.  A search that the
 * limits stopped is tried once more from the start without them, its angles turned back by whole
 * turns, and finished within them. */
#include "jacobian_products.h"
#include "../spatial/algebra.h"
#include <math.h>

enum { DEFAULT_STEPS = 200 };
#define DEFAULT_TOLERANCE 1e-9
#define TURN_MOST 1.0
#define MU_FIRST 0.1
#define MU_LEAST 1e-6
#define MU_MOST 1e12
/* Damping below this part of the sum of the tips' weights is lost in rounding where J has lost
 * rank. */
#define DAMPING_LEAST 1e-13
/* A step that lowers the cost by less than this part of it, or is shorter than this, leads
 * nowhere. */
#define STALLED 1e-15
#define ROTATION_TOLERANCE 1e-6

/* The rotation vector of R, at most pi long. */
static void rotation_vector(const double R[9], double w[3]) {
    double e[4];
    const double trace = R[0] + R[4] + R[8];
    if (trace > 0) {
        e[0] = 1 + trace;
        e[1] = R[7] - R[5];
        e[2] = R[2] - R[6];
        e[3] = R[3] - R[1];
    } else { /* the largest of x y z gives the others */
        int i;
        if (R[0] >= R[4] && R[0] >= R[8]) {
            i = 0;
        } else if (R[4] >= R[8]) {
            i = 1;
        } else {
            i = 2;
        }
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        e[0] = R[3 * k + j] - R[3 * j + k];
        e[1 + i] = 1 + R[4 * i] - R[4 * j] - R[4 * k];
        e[1 + j] = R[3 * i + j] + R[3 * j + i];
        e[1 + k] = R[3 * i + k] + R[3 * k + i];
    }
    const double n = sqrt(e[1] * e[1] + e[2] * e[2] + e[3] * e[3]), sign = e[0] < 0 ? -1 : 1;
    const double k = n > 0 ? sign * 2 * atan2(n, sign * e[0]) / n : 0;
    for (int i = 0; i < 3; ++i)
        w[i] = k * e[1 + i];
}

/* Cost at q (|W e|^2); with a gradient wanted, J*W^2 e too. */
static soa_status judge(soa_tip_work *t, const soa_ik_target *targets, int count, const double *q,
                        double *cost, double *gradient) {
    const soa_model *m = t->twin;
    soa_status s = soa_kinematics(m, t->work, q, NULL, NULL);
    *cost = 0;
    for (int j = 0; gradient && j < m->nv; ++j)
        gradient[j] = 0;
    for (int k = 0; s == SOA_OK && k < count; ++k) {
        const soa_tip *tip = &targets[k].tip;
        const soa_frame *goal = &targets[k].pose;
        soa_frame at;
        double e[6], turn[9];
        s = soa_pose(m, t->work, tip->frame, &at);
        if (s) break;
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) /* R*R_target */
                turn[3 * r + c] = at.R[r] * goal->R[c] + at.R[3 + r] * goal->R[3 + c] +
                                  at.R[6 + r] * goal->R[6 + c];
        rotation_vector(turn, e);
        for (int r = 0; r < 3; ++r)
            turn[r] = goal->p[r] - at.p[r];
        rot_tmul(at.R, turn, e + 3);
        for (int r = 0; r < 6; ++r) {
            const double weight = r < 3 ? tip->angular : tip->linear;
            if (weight == 0) e[r] = 0; /* no orientation may have been given */
            *cost += weight * weight * e[r] * e[r];
            e[r] *= weight * weight;
        }
        if (!gradient) continue;
        s = soa_jacobian_transpose_mul(m, t->work, tip->frame, SOA_AXES_BODY, e, t->check);
        for (int j = 0; j < m->nv; ++j)
            gradient[j] += t->check[j];
    }
    return s;
}

/* Marks the coordinates at a limit that want to go on; returns the largest entry of the rest of the
 * gradient. */
static double hold(soa_tip_work *t, int limits, const double *q) {
    const soa_model *m = t->model;
    double most = 0;
    memset(t->held, 0, (size_t)m->nv);
    for (int i = 1; limits && i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        const soa_joint_type type = (soa_joint_type)soai_bodies(m)[i].type;
        if (e->leader >= 0 || soai_nq_of(type) != soai_nv_of(type)) continue;
        for (int c = 0; c < soai_nv_of(type); ++c) {
            const double g = t->gradient[e->user_v + c], x = q[e->user_q + c];
            t->held[e->user_v + c] = (char)((x <= t->lower[e->user_q + c] && g < 0) ||
                                            (x >= t->upper[e->user_q + c] && g > 0));
        }
    }
    for (int j = 0; j < m->nv; ++j)
        if (!t->held[j] && fabs(t->gradient[j]) > most) most = fabs(t->gradient[j]);
    return most;
}
static void clamp(const soa_tip_work *t, double *q) {
    for (int j = 0; j < t->model->nq; ++j) {
        if (q[j] < t->lower[j]) q[j] = t->lower[j];
        if (q[j] > t->upper[j]) q[j] = t->upper[j];
    }
}
/* Whole turns that bring an angle back into its limits. */
static void turn_back(const soa_tip_work *t, double *q) {
    const soa_model *m = t->model;
    const double turn = 6.283185307179586;
    for (int i = 1; i <= m->nb; ++i) {
        const int j = soai_metas(m)[i].user_q;
        if (soai_bodies(m)[i].type != SOA_REVOLUTE || j < 0) continue;
        const double up = q[j] + turn * ceil((t->lower[j] - q[j]) / turn),
                     down = q[j] - turn * ceil((q[j] - t->upper[j]) / turn);
        if (q[j] < t->lower[j] && up <= t->upper[j]) q[j] = up;
        if (q[j] > t->upper[j] && down >= t->lower[j]) q[j] = down;
    }
}
static int is_rotation(const double R[9]) {
    for (int r = 0; r < 3; ++r)
        for (int c = r; c < 3; ++c)
            if (!(fabs(v3_dot(R + 3 * r, R + 3 * c) - (r == c)) <= ROTATION_TOLERANCE)) return 0;
    double n[3];
    v3_cross(R, R + 3, n);
    return v3_dot(n, R + 6) > 0;
}

static soa_status check(const soa_model *m, soa_tip_work *t, const soa_ik_target *targets,
                        int count, const soa_ik_options *o, const double *q) {
    if (!m || !t || t->model != m || count < 1 || !targets || !q) return SOA_E_ARGUMENT;
    t->body = -1;
    if (o && (o->most_steps < 0 || !(o->tolerance >= 0))) return SOA_E_ARGUMENT;
    for (int k = 0; k < count; ++k) {
        const soa_tip *tip = &targets[k].tip;
        const soa_frame *pose = &targets[k].pose;
        const soa_status s = soai_tip_check(m, t, tip);
        if (s) return s;
        const int body = SOAI_AT(m, soai_frame_row, frame)[tip->frame].body;
        if (!body || (tip->angular == 0 && tip->linear == 0))
            return SOA_E_ARGUMENT; /* nothing moves, or nothing is asked */
        if ((tip->linear > 0 && !soai_all_finite(pose->p, 3)) ||
            (tip->angular > 0 && !soai_all_finite(pose->R, 9))) {
            t->body = body;
            return SOA_E_NOT_FINITE;
        }
        if (tip->angular > 0 && !is_rotation(pose->R)) {
            t->body = body;
            return SOA_E_FRAME;
        }
    }
    return soai_check_state(m, q, NULL, NULL, NULL, &t->body);
}

static void swap(double **a, double **b) {
    double *const kept = *a;
    *a = *b;
    *b = kept;
}

/* What a search runs on; limits: do they hold? */
typedef struct search {
    const soa_ik_target *targets;
    int count, limits, most;
    double weights, tolerance;
    int steps;   /* so far */
    double cost; /* of t->q */
} search;

/* One step from t->q with t->gradient.  0 where nothing is left to try. */
static int advance(soa_tip_work *t, search *a, double *mu) {
    const soa_model *m = t->model;
    const double damping2 = fmax(*mu * fmin(a->cost, a->weights), DAMPING_LEAST * a->weights);
    double next = INFINITY, promised = 0, longest = 0;
    soai_twin_damp(t, damping2, t->held);
    if (soai_minv_mul_articulated(t->twin, t->work, t->q, t->gradient, t->step) == SOA_OK) {
        for (int j = 0; j < m->nv; ++j) {
            if (t->held[j]) t->step[j] = 0;
            promised += t->step[j] * (damping2 * t->step[j] + t->gradient[j]);
            longest = fmax(longest, fabs(t->step[j]));
            if (t->turns[j]) t->step[j] = fmax(-TURN_MOST, fmin(TURN_MOST, t->step[j]));
        }
        if (soa_q_integrate(m, t->q, t->step, 1, t->trial) == SOA_OK) {
            if (a->limits) clamp(t, t->trial);
            if (judge(t, a->targets, a->count, t->trial, &next, t->next_gradient) != SOA_OK)
                next = INFINITY;
        }
    }
    if (!(next < a->cost)) { /* taken back */
        *mu *= 4;
        return *mu <= MU_MOST && !(longest <= STALLED);
    }
    const double gain = (a->cost - next) / promised;
    if (gain > 0.75) *mu = fmax(*mu / 4, MU_LEAST);
    if (!(gain > 0.25)) *mu = fmin(*mu * 2, MU_MOST);
    const int stalled = a->cost - next <= STALLED * a->cost;
    a->cost = next;
    swap(&t->q, &t->trial);
    swap(&t->gradient, &t->next_gradient);
    return !stalled;
}
/* Steps from t->q until it is good enough, is at a minimum, or no steps are left. */
static soa_status run(soa_tip_work *t, search *a) {
    double mu = MU_FIRST;
    if (a->limits) clamp(t, t->q);
    const soa_status s = judge(t, a->targets, a->count, t->q, &a->cost, t->gradient);
    while (s == SOA_OK && !(a->cost <= a->tolerance * a->tolerance) && a->steps < a->most) {
        if (!(hold(t, a->limits, t->q) > STALLED * a->weights * sqrt(a->cost))) break;
        ++a->steps;
        if (!advance(t, a, &mu)) break;
    }
    return s;
}

soa_status soa_inverse_kinematics(const soa_model *m, soa_tip_work *t, const soa_ik_target *targets,
                                  int count, const soa_ik_options *o, double *q,
                                  soa_ik_result *result) {
    soa_status s = check(m, t, targets, count, o, q);
    if (s) return s;
    search a = {.targets = targets,
                .count = count,
                .limits = !(o && o->ignore_limits),
                .most = o && o->most_steps ? o->most_steps : DEFAULT_STEPS,
                .tolerance = o && o->tolerance > 0 ? o->tolerance : DEFAULT_TOLERANCE};
    const double enough = a.tolerance * a.tolerance;
    const size_t size = (size_t)m->nq * sizeof *q;
    soai_twin_clear(t);
    for (int k = 0; k < count; ++k) {
        const soa_tip *tip = &targets[k].tip;
        soai_twin_add(t, tip);
        a.weights += tip->angular * tip->angular + tip->linear * tip->linear;
    }
    memcpy(t->q, q, size);
    if ((s = run(t, &a))) return s;
    if (a.limits && t->limited && !(a.cost <= enough) &&
        a.steps < a.most) { /* stuck: round the limits, if that is a way */
        const double cost = a.cost;
        memcpy(t->best, t->q, size);
        memcpy(t->q, q, size);
        a.limits = 0;
        if ((s = run(t, &a))) return s;
        turn_back(t, t->q);
        a.limits = 1;
        if ((s = run(t, &a))) return s;
        if (!(a.cost < cost)) {
            a.cost = cost;
            memcpy(t->q, t->best, size);
        }
    }
    memcpy(q, t->q, size);
    if (result) *result = (soa_ik_result){.residual = sqrt(a.cost), .steps = a.steps};
    return a.cost <= enough ? SOA_OK : SOA_E_NO_CONVERGENCE;
}
