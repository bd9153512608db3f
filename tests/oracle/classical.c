/* classical.c  Newton and Euler in world axes, body by body.
 *
 * RK88-I (2.1)-(2.13) numbers links from the tip. Here parents come first, so (2.2)-(2.6) run
 * upwards and (2.9)-(2.13) downwards. A joint is described as seen by an observer on the parent:
 * the body's rotation Q and displacement s in the joint frame, and their rates. The motion of that
 * observer is added:
 *   w    = wp + wr                      v    = vp + wp x l + s'        l = from parent to body
 *   wdot = wpdot + wp x wr + wr'        vdot = vpdot + wpdot x l + wp x (wp x l) + 2 wp x s' + s''
 * with ' the rate seen by the observer; s = 0 gives (2.2)-(2.5). */
#include "classical.h"

#include <math.h>
#include <string.h>

static void cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
static void add(double k, const double a[3], double sum[3]) {
    for (int i = 0; i < 3; i++)
        sum[i] += k * a[i];
}
static void add_cross(const double a[3], const double b[3], double sum[3]) {
    double c[3];
    cross(a, b, c);
    add(1, c, sum);
}
static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static void turn(const double R[9], const double a[3], double b[3]) {
    double r[3];
    for (int i = 0; i < 3; i++)
        r[i] = dot(R + 3 * i, a);
    memcpy(b, r, sizeof r);
}
static void turn_back(const double R[9], const double a[3], double b[3]) {
    double r[3];
    for (int i = 0; i < 3; i++)
        r[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
    memcpy(b, r, sizeof r);
}
static void product(const double A[9], const double B[9], double C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}
/* Rodrigues: rotates each unit vector about u. */
static void about(const double u[3], double angle, double R[9]) {
    for (int j = 0; j < 3; j++) {
        double e[3] = {j == 0, j == 1, j == 2}, ue[3];
        cross(u, e, ue);
        for (int i = 0; i < 3; i++)
            R[3 * i + j] = cos(angle) * e[i] + sin(angle) * ue[i] + (1 - cos(angle)) * u[j] * u[i];
    }
}
/* x -> x + 2 e x (e x x + e0 x), column by column. */
static void from_quaternion(const double e[4], double R[9]) {
    for (int j = 0; j < 3; j++) {
        double x[3] = {j == 0, j == 1, j == 2}, c[3], d[3];
        cross(e + 1, x, c);
        add(e[0], x, c);
        cross(e + 1, c, d);
        for (int i = 0; i < 3; i++)
            R[3 * i + j] = x[i] + 2 * d[i];
    }
}

/* The joint that body i follows, and q = ratio * q_lead + offset. */
static soa_body_info leader(const soa_model *model, int i, double *ratio, double *offset) {
    soa_body_info info;
    soa_model_body(model, i, &info);
    *ratio = 1;
    *offset = 0;
    while (info.mimic >= 0) {
        *offset += *ratio * info.mimic_offset;
        *ratio *= info.mimic_ratio;
        soa_model_body(model, info.mimic, &info);
    }
    return info;
}

/* Coordinates of body i's own joint. */
static void coordinates(const soa_model *model, int i, const double *q, const double *v,
                        const double *a, double qj[7], double vj[6], double aj[6]) {
    double ratio, offset;
    const soa_body_info lead = leader(model, i, &ratio, &offset);
    for (int k = 0; k < lead.nq; k++)
        qj[k] = ratio * q[lead.q_index + k] + offset;
    for (int k = 0; k < lead.nv; k++) {
        vj[k] = v ? ratio * v[lead.v_index + k] : 0;
        aj[k] = a ? ratio * a[lead.v_index + k] : 0;
    }
}

static int freedoms(soa_joint_type type) {
    switch (type) {
    case SOA_REVOLUTE:
    case SOA_PRISMATIC:
    case SOA_HELICAL: return 1;
    case SOA_CYLINDRICAL:
    case SOA_UNIVERSAL: return 2;
    case SOA_PLANAR:
    case SOA_SPHERICAL: return 3;
    case SOA_FREE: return 6;
    default: return 0;
    }
}

/* Joint motion seen by the observer on the parent, in the joint frame. */
typedef struct seen {
    double Q[9], s[3];
    double turn[6][3], move[6][3];  /* wr = sum turn v, s' = sum move v */
    double wr_extra[3], s_extra[3]; /* parts of wr', s'' that remain when a = 0 */
} seen;

static seen see(const soa_body_info *b, const double *q, const double *v) {
    static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double *u = b->axis, *u2 = b->axis2;
    double Q2[9], c[3], w[3], l[3];
    seen o;
    memset(&o, 0, sizeof o);
    memcpy(o.Q, unit, sizeof unit);
    switch (b->type) {
    case SOA_REVOLUTE:
        about(u, q[0], o.Q);
        add(1, u, o.turn[0]);
        break;
    case SOA_PRISMATIC:
        add(q[0], u, o.s);
        add(1, u, o.move[0]);
        break;
    case SOA_HELICAL:
        about(u, q[0], o.Q);
        add(b->pitch * q[0], u, o.s);
        add(1, u, o.turn[0]);
        add(b->pitch, u, o.move[0]);
        break;
    case SOA_CYLINDRICAL:
        about(u, q[0], o.Q);
        add(q[1], u, o.s);
        add(1, u, o.turn[0]);
        add(1, u, o.move[1]);
        break;
    case SOA_UNIVERSAL: { /* the first rotation moves the second axis */
        double Q1[9];
        about(u, q[0], Q1);
        about(u2, q[1], Q2);
        product(Q1, Q2, o.Q);
        add(1, u, o.turn[0]);
        turn(Q1, u2, o.turn[1]);
        cross(u, o.turn[1], c);
        add(v[0] * v[1], c, o.wr_extra);
        break;
    }
    case SOA_PLANAR:
        cross(u, u2, c);
        about(u, q[2], o.Q);
        add(q[0], u2, o.s);
        add(q[1], c, o.s);
        add(1, u2, o.move[0]);
        add(1, c, o.move[1]);
        add(1, u, o.turn[2]);
        break;
    case SOA_SPHERICAL: /* wr = Q w and wr' = Q wdot: w x w = 0 */
        from_quaternion(q, o.Q);
        for (int k = 0; k < 3; k++)
            turn(o.Q, unit + 3 * k, o.turn[k]);
        break;
    case SOA_FREE: /* s' = Q l, s'' = Q (ldot + w x l) */
        from_quaternion(q + 3, o.Q);
        add(1, q, o.s);
        for (int k = 0; k < 3; k++) {
            turn(o.Q, unit + 3 * k, o.turn[k]);
            turn(o.Q, unit + 3 * k, o.move[3 + k]);
        }
        turn(o.Q, v, w);
        turn(o.Q, v + 3, l);
        cross(w, l, o.s_extra);
        break;
    default: break;
    }
    return o;
}

static int exact_rotor(const soa_body_info *b) {
    return b->rotor_model == SOA_ROTOR_EXACT && b->rotor_inertia > 0;
}

void classical_motion(const soa_model *model, const double *q, const double *v, const double *a,
                      const double base_acceleration[3], classical_body *body) {
    memset(body, 0, (size_t)(soa_model_body_count(model) + 1) * sizeof *body);
    body[0].R[0] = body[0].R[4] = body[0].R[8] = 1; /* (2.1) */
    memcpy(body[0].vdot, base_acceleration, sizeof body[0].vdot);
    for (int i = 1; i <= soa_model_body_count(model); i++) {
        soa_body_info info;
        soa_model_body(model, i, &info);
        const classical_body *p = body + info.parent;
        classical_body *b = body + i;
        double qj[7], RJ[9], l[3], wr[3] = {0}, wr_rate[3] = {0}, s_rate[3] = {0}, s_rate2[3] = {0},
                                   c[3];
        coordinates(model, i, q, v, a, qj, b->vj, b->aj);
        const seen o = see(&info, qj, b->vj);

        product(p->R, info.placement.R, RJ);
        product(RJ, o.Q, b->R);
        turn(p->R, info.placement.p, l);
        turn(RJ, o.s, c);
        add(1, c, l); /* l: from the parent's origin to the body's */
        for (int k = 0; k < 3; k++)
            b->o[k] = p->o[k] + l[k];
        for (int k = 0; k < freedoms(info.type); k++) {
            turn(RJ, o.turn[k], b->turn[k]);
            turn(RJ, o.move[k], b->move[k]);
            add(b->vj[k], b->turn[k], wr);
            add(b->aj[k], b->turn[k], wr_rate);
            add(b->vj[k], b->move[k], s_rate);
            add(b->aj[k], b->move[k], s_rate2);
        }
        turn(RJ, o.wr_extra, c);
        add(1, c, wr_rate);
        turn(RJ, o.s_extra, c);
        add(1, c, s_rate2);

        add(1, p->w, b->w);
        add(1, wr, b->w); /* (2.2) */
        add(1, p->v, b->v);
        add_cross(p->w, l, b->v); /* (2.3) */
        add(1, s_rate, b->v);
        add(1, p->wdot, b->wdot);
        add(1, wr_rate, b->wdot); /* (2.4) */
        add_cross(p->w, wr, b->wdot);
        /* (2.5), with the Coriolis term 2 w x s'. */
        add(1, p->vdot, b->vdot);
        add_cross(p->wdot, l, b->vdot);
        cross(p->w, l, c);
        add(2, s_rate, c);
        add_cross(p->w, c, b->vdot);
        add(1, s_rate2, b->vdot);

        if (exact_rotor(&info)) {
            turn(RJ, info.rotor_axis, c);
            add(info.rotor_inertia * info.gear_ratio * b->vj[0], c, b->spin);
        }
    }
}

/* I(com) x, world axes. */
static void inertia_mul(const double R[9], const double I[6], const double x[3], double y[3]) {
    double b[3];
    turn_back(R, x, b);
    const double c[3] = {I[0] * b[0] + I[3] * b[1] + I[4] * b[2],
                         I[3] * b[0] + I[1] * b[1] + I[5] * b[2],
                         I[4] * b[0] + I[5] * b[1] + I[2] * b[2]};
    turn(R, c, y);
}

void classical_frame(const soa_model *model, const classical_body *body, int frame, soa_frame *pose,
                     double V[6], double A[6]) {
    soa_frame_info info;
    soa_model_frame(model, frame, &info);
    const classical_body *b = body + info.body;
    double l[3], c[3];
    turn(b->R, info.placement.p, l);
    product(b->R, info.placement.R, pose->R);
    cross(b->w, l, c);
    for (int k = 0; k < 3; k++) { /* (2.7) */
        pose->p[k] = b->o[k] + l[k];
        V[k] = b->w[k];
        V[3 + k] = b->v[k] + c[k];
        A[k] = b->wdot[k];
        A[3 + k] = b->vdot[k];
    }
    add_cross(b->wdot, l, A + 3);
    add_cross(b->w, c, A + 3);
}

/* An external wrench on the body reduces the force that the joint must supply. */
static void subtract_wrench(const soa_model *model, const soa_wrench *x, classical_body *body) {
    soa_frame_info info;
    soa_frame pose;
    double V[6], A[6], n[3], f[3], l[3];
    soa_model_frame(model, x->frame, &info);
    classical_frame(model, body, x->frame, &pose, V, A);
    classical_body *b = body + info.body;
    memcpy(n, x->value, sizeof n);
    memcpy(f, x->value + 3, sizeof f);
    if (x->axes == SOA_AXES_BODY) {
        turn(pose.R, n, n);
        turn(pose.R, f, f);
    }
    for (int k = 0; k < 3; k++)
        l[k] = pose.p[k] - b->o[k];
    add_cross(l, f, n);
    add(-1, n, b->N);
    add(-1, f, b->F);
}

void classical_inverse(const soa_model *model, const double *q, const double *v, const double *a,
                       const soa_wrench *wrenches, int wrench_count, classical_body *body,
                       double *tau) {
    double up[3];
    soa_model_gravity(model, up);
    /* (2.1): the base is accelerated against gravity. */
    for (int k = 0; k < 3; k++)
        up[k] = -up[k];
    classical_motion(model, q, v, a, up, body);
    memset(tau, 0, (size_t)soa_model_nv(model) * sizeof *tau);
    for (int k = 0; k < wrench_count; k++)
        subtract_wrench(model, wrenches + k, body); /* (2.8) */
    for (int i = soa_model_body_count(model); i >= 1; i--) {
        soa_body_info info;
        soa_model_body(model, i, &info);
        classical_body *b = body + i, *p = body + info.parent;
        double c[3], vc[3] = {0}, Nc[3], Fc[3], Iw[3], l[3];
        turn(b->R, info.com, c); /* p(k) of the paper */
        add(1, b->vdot, vc);
        add_cross(b->wdot, c, vc);
        cross(b->w, c, l);
        add_cross(b->w, l, vc); /* (2.6) */
        inertia_mul(b->R, info.inertia, b->wdot, Nc);
        inertia_mul(b->R, info.inertia, b->w, Iw);
        add_cross(b->w, Iw, Nc); /* (2.9) */
        for (int k = 0; k < 3; k++)
            Fc[k] = info.mass * vc[k]; /* (2.10) */
        /* (2.11); children have already added theirs. */
        add(1, Fc, b->F);
        add_cross(c, Fc, b->N);
        add(1, Nc, b->N); /* (2.12) */
        for (int k = 0; k < 3; k++)
            l[k] = b->o[k] - p->o[k];
        add(1, b->F, p->F);
        add(1, b->N, p->N);
        add_cross(l, b->F, p->N);

        double ratio, offset, qj[7], vj[6], aj[6];
        const soa_body_info lead = leader(model, i, &ratio, &offset);
        coordinates(model, i, q, v, a, qj, vj, aj);
        const double J = info.rotor_inertia, G = info.gear_ratio;
        for (int k = 0; k < freedoms(info.type); k++) {
            double T = dot(b->turn[k], b->N) + dot(b->move[k], b->F); /* (2.13): virtual power */
            T += info.damping * vj[k] + (vj[k] > 0 ? info.friction_positive : 0) -
                 (vj[k] < 0 ? info.friction_negative : 0);
            if (info.stiffness != 0) T += info.stiffness * (qj[k] - info.rest);
            /* The carrier supplies the rate of Jm G qdot u to the rotor; the joint turns it. */
            if (exact_rotor(&info)) {
                double u[3], RJ[9];
                product(p->R, info.placement.R, RJ);
                turn(RJ, info.rotor_axis, u);
                T += G * J * (dot(u, p->wdot) + G * aj[k]);
                add(J * G * aj[k], u, p->N);
                add_cross(p->w, b->spin, p->N);
            } else {
                T += G * G * J * aj[k];
            }
            tau[lead.v_index + k] += ratio * T;
        }
    }
}

double classical_kinetic(const soa_model *model, const classical_body *body) {
    double twice = 0;
    for (int i = 1; i <= soa_model_body_count(model); i++) {
        soa_body_info info;
        soa_model_body(model, i, &info);
        const classical_body *b = body + i, *p = body + info.parent;
        double c[3], vc[3] = {0}, Iw[3];
        turn(b->R, info.com, c);
        add(1, b->v, vc);
        add_cross(b->w, c, vc);
        inertia_mul(b->R, info.inertia, b->w, Iw);
        twice += info.mass * dot(vc, vc) + dot(b->w, Iw);
        const double GJG = info.gear_ratio * info.rotor_inertia * info.gear_ratio;
        for (int k = 0; k < freedoms(info.type); k++)
            twice += GJG * b->vj[k] * b->vj[k];
        /* The rest of Jm (u.wp + G qdot)^2 is in the carrier's inertia. */
        twice += 2 * dot(p->w, b->spin);
    }
    return twice / 2;
}

void classical_momentum(const soa_model *model, const classical_body *body, double h[6],
                        double com[3]) {
    double mass = 0;
    memset(h, 0, 6 * sizeof *h);
    memset(com, 0, 3 * sizeof *com);
    for (int i = 1; i <= soa_model_body_count(model); i++) {
        soa_body_info info;
        soa_model_body(model, i, &info);
        const classical_body *b = body + i;
        double c[3], x[3], mv[3] = {0}, Iw[3];
        turn(b->R, info.com, c);
        for (int k = 0; k < 3; k++)
            x[k] = b->o[k] + c[k];
        add(info.mass, b->v, mv);
        for (int k = 0; k < 3; k++)
            c[k] *= info.mass;
        add_cross(b->w, c, mv);
        inertia_mul(b->R, info.inertia, b->w, Iw);
        add(1, Iw, h);
        add_cross(x, mv, h);
        add(1, mv, h + 3);
        /* Also for a rotor fixed to the world: it spins. */
        add(1, b->spin, h);
        add(info.mass, x, com);
        mass += info.mass;
    }
    for (int k = 0; k < 3; k++)
        com[k] /= mass;
    const double back[3] = {-com[0], -com[1], -com[2]};
    add_cross(back, h + 3, h);
}

double classical_potential(const soa_model *model, const double *q, const classical_body *body) {
    double g[3], sum = 0;
    soa_model_gravity(model, g);
    for (int i = 1; i <= soa_model_body_count(model); i++) {
        soa_body_info info;
        soa_model_body(model, i, &info);
        double c[3], qj[7], vj[6], aj[6];
        turn(body[i].R, info.com, c);
        add(1, body[i].o, c);
        sum -= info.mass * dot(g, c);
        coordinates(model, i, q, NULL, NULL, qj, vj, aj);
        if (info.stiffness != 0)
            for (int k = 0; k < freedoms(info.type); k++)
                sum += info.stiffness * (qj[k] - info.rest) * (qj[k] - info.rest) / 2;
    }
    return sum;
}

soa_body_def classical_definition(const soa_body_info *b, const int *link) {
    soa_body_def d = soa_body_default(b->link, link[b->parent], b->type);
    d.joint_name = b->joint;
    d.placement = b->placement;
    d.mass = b->mass;
    memcpy(d.com, b->com, sizeof d.com);
    memcpy(d.inertia, b->inertia, sizeof d.inertia);
    soa_joint_def *j = &d.joint;
    memcpy(j->axis, b->axis, sizeof j->axis);
    memcpy(j->axis2, b->axis2, sizeof j->axis2);
    memcpy(j->rotor_axis, b->rotor_axis, sizeof j->rotor_axis);
    j->pitch = b->pitch;
    j->rotor_inertia = b->rotor_inertia;
    j->gear_ratio = b->gear_ratio;
    j->rotor_model = b->rotor_model;
    j->damping = b->damping;
    j->friction_positive = b->friction_positive;
    j->friction_negative = b->friction_negative;
    j->stiffness = b->stiffness;
    j->rest = b->rest;
    if (b->mimic >= 0) {
        j->mimic = link[b->mimic];
        j->mimic_ratio = b->mimic_ratio;
        j->mimic_offset = b->mimic_offset;
    }
    return d;
}
