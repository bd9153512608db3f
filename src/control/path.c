/* path.c  paths: a profile s(t) from 0 to 1, and what it moves: joints on their manifold, poses.
 *
 * quintic     s = 10 x^3 - 15 x^4 + 6 x^5, x = t / T: least jerk between rests.  |s'| <= 15/8 / T,
 *             |s''| <= 10/sqrt 3
 * / T^2
 * trapezoid   s'' = +-1 / (ramp (T - ramp)), s' <= 1 / (T - ramp)
 * joints      q = q0 (+) s d, v = s' d, a = s'' d, d = q1 (-) q0: for quaternions and free joints a
 *             constant axis or
 * screw
 * pose        p straight, R = R0 exp(s rho)
 * Time for limits: both profiles are s(t / T), so speeds go with 1 / T and accelerations with 1 /
 * T^2; torques do so but for gravity, springs and friction, so the least T is found by bisection
 * over samples. */
#include "control_internal.h"
#include <math.h>

soa_profile soa_profile_quintic(double time) {
    return (soa_profile){.kind = SOA_PROFILE_QUINTIC, .time = time};
}
void soa_profile_at(const soa_profile *p, double t, double s[3]) {
    if (!s) return;
    s[0] = s[1] = s[2] = 0;
    if (!p) return;
    const double T = p->time;
    if (!(T > 0) || t >= T) {
        s[0] = T > 0 || t >= 0;
        return;
    }
    if (!(t > 0)) return;
    if (p->kind == SOA_PROFILE_QUINTIC) {
        const double x = t / T;
        s[0] = x * x * x * (10 + x * (-15 + 6 * x));
        s[1] = 30 * x * x * (1 - x) * (1 - x) / T;
        s[2] = 60 * x * (1 - x) * (1 - 2 * x) / (T * T);
        return;
    }
    const double ramp = fmin(p->ramp, T / 2), top = 1 / (T - ramp);
    if (!(ramp > 0)) {
        s[0] = t / T;
        s[1] = 1 / T;
    } else if (t < ramp) {
        s[0] = top * t * t / (2 * ramp);
        s[1] = top * t / ramp;
        s[2] = top / ramp;
    } else if (t <= T - ramp) {
        s[0] = top * (t - ramp / 2);
        s[1] = top;
    } else {
        const double left = T - t;
        s[0] = 1 - top * left * left / (2 * ramp);
        s[1] = top * left / ramp;
        s[2] = -top / ramp;
    }
}
soa_status soa_profile_fastest(soa_profile_kind kind, double speed, double acceleration,
                               soa_profile *profile) {
    if (!profile || !(speed > 0) || !(acceleration > 0) || (isinf(speed) && isinf(acceleration)))
        return SOA_E_ARGUMENT;
    soa_profile p = {.kind = kind};
    switch (kind) {
    case SOA_PROFILE_QUINTIC:
        p.time = fmax(15.0 / 8 / speed, sqrt(10 / sqrt(3.0) / acceleration));
        break;
    case SOA_PROFILE_TRAPEZOID: /* speed reached within half the way, or not */
        if (isinf(acceleration)) return SOA_E_ARGUMENT;
        if (speed * speed >= acceleration) {
            p.time = 2 / sqrt(acceleration);
            p.ramp = p.time / 2;
        } else {
            p.ramp = speed / acceleration;
            p.time = 1 / speed + p.ramp;
        }
        break;
    default: return SOA_E_ARGUMENT;
    }
    *profile = p;
    return SOA_OK;
}

/* --- joints ----------------------------------------------------------------------------------- */
soa_status soa_path_joint(const soa_model *m, const double *q0, const double *q1, const double s[3],
                          double *q, double *v, double *a) {
    if (!m || !q0 || !q1 || !s || !q || !v) return SOA_E_ARGUMENT;
    if (!soai_all_finite(s, 3)) return SOA_E_NOT_FINITE;
    soa_status bad = soa_q_difference(m, q0, q1, v);
    if (bad || (bad = soa_q_integrate(m, q0, v, s[0], q))) return bad;
    for (int j = 0; j < m->nv; ++j) {
        if (a) a[j] = s[2] * v[j];
        v[j] *= s[1];
    }
    return SOA_OK;
}

/* |tau| along the path within max_effort, at this time. */
static soa_status effort_fits(soa_control *c, const double *q0, const double *q1,
                              const soa_profile *p, int *fits) {
    enum { SAMPLES = 64 };
    const soa_model *m = c->model;
    double *v = c->x[0], *a = c->x[1], *tau = c->x[2], s[3];
    *fits = 1;
    for (int i = 0; i < SAMPLES + 5 && *fits; ++i) {
        /* evenly, ends from within; and both sides of a trapezoid's corners, where torques jump */
        const double corner = i & 1 ? p->time - p->ramp : p->ramp;
        const double side = i & 2 ? 1e-9 : -1e-9;
        double at;
        if (i == 0) {
            at = 1e-9;
        } else if (i == SAMPLES) {
            at = 1 - 1e-9;
        } else {
            at = (double)i / SAMPLES;
        }
        soa_profile_at(p, i > SAMPLES ? corner + side * p->time : at * p->time, s);
        soa_status bad = soa_path_joint(m, q0, q1, s, c->q_ref, v, a);
        if (bad || (bad = soa_rnea(m, c->work, c->q_ref, v, a, NULL, 0, tau))) return bad;
        for (int b = 1; b <= m->nb; ++b) {
            const soai_meta *e = soai_metas(m) + b;
            for (int j = 0; e->leader < 0 && j < soai_bodies(m)[b].nv; ++j)
                if (soai_own(c, e->user_v + j) && !(fabs(tau[e->user_v + j]) <= e->max_effort))
                    *fits = 0;
        }
    }
    return SOA_OK;
}
static void set_time(soa_profile *p, double time) {
    p->ramp *= p->time > 0 ? time / p->time : 0;
    p->time = time;
}
soa_status soa_path_joint_profile(soa_control *c, const double *q0, const double *q1,
                                  soa_profile_kind kind, const soa_path_limits *limits,
                                  soa_profile *profile) {
    if (!c || !q0 || !q1 || !limits || !profile ||
        (kind != SOA_PROFILE_QUINTIC && kind != SOA_PROFILE_TRAPEZOID))
        return SOA_E_ARGUMENT;
    const soa_model *m = c->model;
    double *d = c->x[3], speed = INFINITY, acceleration = INFINITY, way = 0;
    soa_status s = soa_q_difference(m, q0, q1, d);
    if (s) return s;
    for (int b = 1; b <= m->nb; ++b) {
        const soai_meta *e = soai_metas(m) + b;
        for (int j = 0; e->leader < 0 && j < soai_bodies(m)[b].nv; ++j) {
            const int k = e->user_v + j;
            const double most = limits->speed ? limits->speed[k] : e->max_speed;
            if (!soai_own(c, k)) {
                d[k] = 0;
                continue;
            }
            if (!(most > 0) || (limits->acceleration && !(limits->acceleration[k] > 0)))
                return SOA_E_ARGUMENT;
            if (!(fabs(d[k]) > 0)) continue;
            way = fmax(way, fabs(d[k]));
            speed = fmin(speed, most / fabs(d[k]));
            if (limits->acceleration)
                acceleration = fmin(acceleration, limits->acceleration[k] / fabs(d[k]));
        }
    }
    soa_profile p = {.kind = kind};
    if (!(way > 0)) { /* nowhere to go */
        *profile = p;
        return SOA_OK;
    }
    if (isinf(speed) && isinf(acceleration)) {
        if (!limits->effort) return SOA_E_ARGUMENT;
        p.time = 1e-3;
        p.ramp = 0.5e-3;
    } else if (kind == SOA_PROFILE_TRAPEZOID && isinf(acceleration)) {
        /* a third of the time each */
        p.time = 1.5 / speed;
        p.ramp = p.time / 3;
    } else if ((s = soa_profile_fastest(kind, speed, acceleration, &p))) {
        return s;
    }
    if (limits->effort) {
        int fits = 0;
        double low = p.time, high = p.time; /* too short; long enough */
        if ((s = effort_fits(c, q0, q1, &p, &fits))) return s;
        while (!fits) {
            low = high;
            high *= 2;
            if (high > 1e6) return SOA_E_INCONSISTENT;
            set_time(&p, high);
            if ((s = effort_fits(c, q0, q1, &p, &fits))) return s;
        }
        while (high - low > 1e-6 * high) {
            const double middle = (low + high) / 2;
            set_time(&p, middle);
            if ((s = effort_fits(c, q0, q1, &p, &fits))) return s;
            if (fits)
                high = middle;
            else
                low = middle;
        }
        set_time(&p, high);
    }
    *profile = p;
    return SOA_OK;
}

/* --- poses ------------------------------------------------------------------------------------ */
/* R0' R1 as a rotation vector, in R0's axes. */
static void turn_between(const double R0[9], const double R1[9], double rho[3]) {
    double between[9], back[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            back[3 * i + j] = R0[3 * j + i];
    rot_rot(back, R1, between);
    soa_rotation_to_vector(between, rho);
}
soa_status soa_path_pose(const soa_frame *from, const soa_frame *to, const double s[3],
                         soa_motion *motion) {
    if (!from || !to || !s || !motion) return SOA_E_ARGUMENT;
    if (!soai_rotation_fits(from) || !soai_rotation_fits(to)) return SOA_E_FRAME;
    if (!soai_all_finite(s, 3)) return SOA_E_NOT_FINITE;
    soa_motion m;
    double rho[3], part[3], axis[3], R[9];
    turn_between(from->R, to->R, rho);
    for (int j = 0; j < 3; ++j)
        part[j] = s[0] * rho[j];
    soa_rotation_from_vector(part, R);
    rot_rot(from->R, R, m.pose.R);
    rot_mul(from->R, rho, axis); /* the axis does not turn */
    for (int j = 0; j < 3; ++j) {
        const double way = to->p[j] - from->p[j];
        m.pose.p[j] = from->p[j] + s[0] * way;
        m.twist[j] = s[1] * axis[j];
        m.twist[3 + j] = s[1] * way;
        m.acceleration[j] = s[2] * axis[j];
        m.acceleration[3 + j] = s[2] * way;
    }
    *motion = m;
    return SOA_OK;
}

/* x, x', x'' of the quintic from (0, v0, acceleration 0) to rest at `way`, at time t of T. */
static void quintic_from(double v0, double way, double T, double t, double out[3]) {
    const double x = t / T, d = way - v0 * T, u = v0 * T; /* x(1) - start line; start slope */
    const double a3 = 10 * d + 4 * u, a4 = -15 * d - 7 * u, a5 = 6 * d + 3 * u;
    out[0] = x * (u + x * x * (a3 + x * (a4 + x * a5)));
    out[1] = (u + x * x * (3 * a3 + x * (4 * a4 + x * 5 * a5))) / T;
    out[2] = x * (6 * a3 + x * (12 * a4 + x * 20 * a5)) / (T * T);
}
/* Body rates of R = exp(rho):  w = rho' - b rho x rho' + c rho x (rho x rho'), b = (1 -
 * cos)/angle^2, c = (angle - sin)/angle^3, and their rate. */
static void vector_rates(const double rho[3], const double d1[3], const double d2[3], double w[3],
                         double w_rate[3]) {
    const double t2 = v3_dot(rho, rho), t = sqrt(t2), along = v3_dot(rho, d1);
    double b, c, db, dc; /* db, dc: derivative over angle, divided by angle */
    if (t > 0.05) {
        b = (1 - cos(t)) / t2;
        c = (t - sin(t)) / (t2 * t);
        db = (sin(t) / t - 2 * b) / t2;
        dc = ((1 - cos(t)) / t2 - 3 * c) / t2;
    } else {
        b = 0.5 - t2 * (1.0 / 24 - t2 / 720);
        c = 1.0 / 6 - t2 * (1.0 / 120 - t2 / 5040);
        db = -1.0 / 12 + t2 * (1.0 / 180 - t2 / 6720);
        dc = -1.0 / 60 + t2 * (1.0 / 1260 - t2 / 60480);
    }
    double x1[3], x2[3], y1[3], y2[3], z[3];
    v3_cross(rho, d1, x1);
    v3_cross(rho, x1, x2);
    v3_cross(rho, d2, y1);
    v3_cross(rho, y1, y2);
    v3_cross(d1, x1, z);
    for (int j = 0; j < 3; ++j) {
        w[j] = d1[j] - b * x1[j] + c * x2[j];
        w_rate[j] = d2[j] - b * y1[j] + c * (y2[j] + z[j]) + along * (dc * x2[j] - db * x1[j]);
    }
}
soa_status soa_path_pose_from_motion(const soa_motion *from, const soa_frame *to, double time,
                                     double t, soa_motion *motion) {
    if (!from || !to || !motion || !(time >= 0)) return SOA_E_ARGUMENT;
    if (!soai_motion_fits(from) || !soai_rotation_fits(to)) return SOA_E_FRAME;
    if (!soai_all_finite(&time, 1) || !soai_all_finite(&t, 1)) return SOA_E_NOT_FINITE;
    if (t >= time) {
        *motion = soa_motion_at_rest(to);
        return SOA_OK;
    }
    if (t < 0) t = 0;
    soa_motion m;
    double rho[3], w0[3], r[3][3], R[9], x[3], w[3], w_rate[3];
    turn_between(from->pose.R, to->R, rho);
    rot_tmul(from->pose.R, from->twist, w0);
    for (int j = 0; j < 3; ++j) {
        quintic_from(from->twist[3 + j], to->p[j] - from->pose.p[j], time, t, x);
        m.pose.p[j] = from->pose.p[j] + x[0];
        m.twist[3 + j] = x[1];
        m.acceleration[3 + j] = x[2];
        quintic_from(w0[j], rho[j], time, t, x);
        for (int i = 0; i < 3; ++i)
            r[i][j] = x[i];
    }
    soa_rotation_from_vector(r[0], R);
    rot_rot(from->pose.R, R, m.pose.R);
    vector_rates(r[0], r[1], r[2], w, w_rate);
    /* body axes to the parent's; w x w = 0: the rate turns likewise */
    rot_mul(m.pose.R, w, m.twist);
    rot_mul(m.pose.R, w_rate, m.acceleration);
    *motion = m;
    return SOA_OK;
}

soa_status soa_path_pose_profile(const soa_frame *from, const soa_frame *to, soa_profile_kind kind,
                                 const double speed[2], const double acceleration[2],
                                 soa_profile *profile) {
    if (!from || !to || !speed || !acceleration || !profile) return SOA_E_ARGUMENT;
    if (!soai_rotation_fits(from) || !soai_rotation_fits(to)) return SOA_E_FRAME;
    double rho[3], shift[3], most = INFINITY, hardest = INFINITY;
    turn_between(from->R, to->R, rho);
    for (int j = 0; j < 3; ++j)
        shift[j] = to->p[j] - from->p[j];
    const double way[2] = {sqrt(v3_dot(rho, rho)), sqrt(v3_dot(shift, shift))};
    for (int k = 0; k < 2; ++k) {
        if (!(speed[k] >= 0) || !(acceleration[k] >= 0)) return SOA_E_ARGUMENT;
        if (way[k] > 0 && speed[k] > 0) most = fmin(most, speed[k] / way[k]);
        if (way[k] > 0 && acceleration[k] > 0) hardest = fmin(hardest, acceleration[k] / way[k]);
    }
    if (!(way[0] > 0 || way[1] > 0)) {
        *profile = (soa_profile){.kind = kind};
        return SOA_OK;
    }
    return soa_profile_fastest(kind, most, hardest, profile);
}
