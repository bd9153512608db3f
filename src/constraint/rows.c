/* rows.c  the equations of every kind of constraint: residual, row of G, and rest of the second
 *         rate.
 *
 * Everything is said in the axes of place 1.  With R, p the pose of place 2 there, w and p' their
 *     rates, w = R1'(w2 - w1),   p' = R1'(v2 - v1 - w1 x d),   d = p2 - p1,
 * an equation is r . w + n . p' (+ time) = 0, and its second rate r . w' + n . p'' + rest.  The
 * kinds differ in r, n, rest:
 *     n . p   = 0                     r = 0,        n,  rest 0
 *     n . R a = 0                     r = R a x n,  0,  rest n . (w x (w x R a))
 * and combinations of these for turns, chosen so that the residual is an angle: it then gives the
 * direction back also from far away.  Rows are used with the opposite sign, so that their multiplier acts on body
 * 1 (soa/constraint.h). */
#include "constraint_internal.h"
#include "../base/small_algebra.h"
#include "../spatial/algebra.h"

/* Where a frame's origin is in the world. */
static void origin_of(const soa_model *m, const soa_work *w, int frame, double p[3]) {
    const soai_frame_row *f = SOAI_AT(m, soai_frame_row, frame) + frame;
    memcpy(p, f->p, sizeof f->p);
    if (!f->body) return;
    rot_mul(w->w.Rw + 9 * f->body, f->p, p);
    for (int j = 0; j < 3; ++j)
        p[j] += w->w.pw[3 * f->body + j];
}
soa_status soai_place_of(const soa_model *m, soa_work *work, int frame, const soa_frame *in,
                         place *out) {
    if (work->model != m || frame < 0 || frame >= m->frames) return SOA_E_ARGUMENT;
    if (work->readable != SOAI_READ_KINEMATICS) return SOA_E_ORDER;
    const soai_frame_row *f = SOAI_AT(m, soai_frame_row, frame) + frame;
    double R[9], local[3];
    if (!f->body) { /* the world: at rest */
        memset(out, 0, sizeof *out);
        rot_rot(f->R, in->R, out->R);
        rot_mul(f->R, in->p, out->arm);
        for (int j = 0; j < 3; ++j)
            out->p[j] = f->p[j] + out->arm[j];
        return SOA_OK;
    }
    const double *const Rw = work->w.Rw + 9 * f->body, *const V = work->w.b[f->body].V,
                        *const A = work->w.b[f->body].A;
    rot_rot(Rw, f->R, R);
    rot_rot(R, in->R, out->R);
    rot_mul(R, in->p, out->arm);
    origin_of(m, work, frame, out->p);
    rot_mul(f->R, in->p, local);
    double v[3], vd[3]; /* of the place's point, body axes; spatial so far */
    for (int j = 0; j < 3; ++j) {
        out->p[j] += out->arm[j];
        local[j] += f->p[j];
        v[j] = V[3 + j];
        vd[j] = A[3 + j];
    }
    v3_cross_add(V, local, v);
    v3_cross_add(A, local, vd);
    v3_cross_add(V, v, vd); /* classical = spatial + w x v */
    rot_mul(Rw, V, out->w);
    rot_mul(Rw, v, out->v);
    rot_mul(Rw, A, out->wd);
    rot_mul(Rw, vd, out->vd);
    return SOA_OK;
}

/* Place 2 seen from place 1. */
typedef struct relative {
    place one, two;
    double R[9], p[3], w[3], v[3], wd[3], vd[3]; /* rates at vdot = 0 */
    double d[3];
} relative;

static soa_status relative_of(const soa_model *m, soa_work *work, const soa_constraint_def *def,
                              relative *s) {
    soa_status bad = soai_place_of(m, work, def->frame1, &def->place1, &s->one);
    if (bad || (bad = soai_place_of(m, work, def->frame2, &def->place2, &s->two))) return bad;
    const place *a = &s->one, *b = &s->two;
    double t[3], x[3], dv[3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            s->R[3 * i + j] =
                a->R[i] * b->R[j] + a->R[3 + i] * b->R[3 + j] + a->R[6 + i] * b->R[6 + j];
    for (int j = 0; j < 3; ++j) {
        s->d[j] = b->p[j] - a->p[j];
        dv[j] = b->v[j] - a->v[j];
    }
    rot_tmul(a->R, s->d, s->p);
    for (int j = 0; j < 3; ++j)
        x[j] = b->w[j] - a->w[j];
    rot_tmul(a->R, x, s->w);
    v3_cross(a->w, x, t);
    for (int j = 0; j < 3; ++j)
        x[j] = b->wd[j] - a->wd[j] - t[j]; /* w' */
    rot_tmul(a->R, x, s->wd);
    v3_cross(a->w, s->d, t);
    for (int j = 0; j < 3; ++j)
        x[j] = dv[j] - t[j]; /* p' */
    rot_tmul(a->R, x, s->v);
    double wwd[3], wdv[3], wdd[3];
    v3_cross(a->w, t, wwd);
    v3_cross(a->w, dv, wdv);
    v3_cross(a->wd, s->d, wdd);
    for (int j = 0; j < 3; ++j)
        x[j] = b->vd[j] - a->vd[j] - wdd[j] - 2 * wdv[j] + wwd[j]; /* p'' */
    rot_tmul(a->R, x, s->vd);
    return SOA_OK;
}

/* The wrenches of the row r . w + n . p', opposite sign, at the origins of the model's frames. */
static void to_forces(const relative *s, const double r[3], const double n[3], double force1[6],
                      double force2[6]) {
    double Rr[3], N[3];
    rot_mul(s->one.R, r, Rr);
    rot_mul(s->one.R, n, N);
    for (int j = 0; j < 3; ++j) {
        force1[j] = Rr[j];
        force1[3 + j] = N[j];
        force2[j] = -Rr[j];
        force2[3 + j] = -N[j];
    }
    v3_cross_add(s->d, N, force1);                /* about place 1 */
    v3_cross_add(s->one.arm, force1 + 3, force1); /* about the frame's origin */
    v3_cross_add(s->two.arm, force2 + 3, force2);
}
static constraint_row *put(constraint_row *row, const relative *s, const double r[3],
                           const double n[3], double g, double rest) {
    *row = (constraint_row){.g = -g};
    to_forces(s, r, n, row->force1, row->force2);
    row->gamma = -(v3_dot(r, s->wd) + v3_dot(n, s->vd) + rest);
    return row + 1;
}
static const double none[3] = {0, 0, 0};

/* n . p = 0 */
static constraint_row *put_point(constraint_row *row, const relative *s, const double n[3]) {
    return put(row, s, none, n, v3_dot(n, s->p), 0);
}
/* n . R a = at */
static constraint_row *put_angle(constraint_row *row, const relative *s, const double n[3],
                                 const double a[3], double at) {
    double u[3], r[3], wu[3], wwu[3];
    rot_mul(s->R, a, u);
    v3_cross(u, n, r);
    v3_cross(s->w, u, wu);
    v3_cross(s->w, wu, wwu);
    return put(row, s, r, none, v3_dot(n, u) - at, v3_dot(n, wwu));
}

/* The vector of a rotation, angle (at most half a turn) times axis. */
static void rotation_vector(const double R[9], double g[3]) {
    const double c = (R[0] + R[4] + R[8] - 1) / 2;
    /* sine times axis */
    const double x[3] = {(R[7] - R[5]) / 2, (R[2] - R[6]) / 2, (R[3] - R[1]) / 2};
    const double sine = sqrt(v3_dot(x, x)), angle = atan2(sine, c);
    if (c > -0.5) {
        for (int j = 0; j < 3; ++j)
            g[j] = sine > 0 ? x[j] * (angle / sine) : 0;
        return;
    }
    /* (R + R')/2 = c + (1 - c) u u' */
    int k;
    if (R[0] > R[4]) {
        k = R[0] > R[8] ? 0 : 2;
    } else {
        k = R[4] > R[8] ? 1 : 2;
    }
    double u[3], size, sign;
    for (int j = 0; j < 3; ++j)
        u[j] = (R[3 * j + k] + R[3 * k + j]) / 2 - (j == k ? c : 0);
    size = sqrt(v3_dot(u, u));
    sign = v3_dot(u, x) < 0 ? -1 : 1;
    for (int j = 0; j < 3; ++j)
        g[j] = sign * angle * u[j] / size;
}
/* No turn at all: g = log R = 0, three rows.  With y = |g|^2,
 *     g' = w - g x w / 2 + k(y) g x (g x w),     k = (1 - (|g|/2) cot(|g|/2)) / y,
 * which is exact for any R short of half a turn, so that assembly finds its way from afar. */
static constraint_row *put_no_turn(constraint_row *row, const relative *s) {
    double g[3], gw[3], ggw[3], rate[3], x[3], rest[3];
    rotation_vector(s->R, g);
    const double y = v3_dot(g, g), half = sqrt(y) / 2;
    /* k, and dk/dy */
    double k = 1 / 12.0 + y * (1 / 720.0 + y * (1 / 30240.0 + y / 1209600.0));
    /* for small turns */
    double dk = 1 / 720.0 + y * (1 / 15120.0 + y * (1 / 403200.0 + y / 11975040.0));
    if (y > 1e-2) {
        const double cot = cos(half) / sin(half), sine = sin(half);
        k = (1 - half * cot) / y;
        dk = ((half / (sine * sine) - cot) / (8 * half) - k) / y;
    }
    v3_cross(g, s->w, gw);
    v3_cross(g, gw, ggw);
    for (int j = 0; j < 3; ++j)
        rate[j] = s->w[j] - gw[j] / 2 + k * ggw[j];
    const double k_rate = dk * 2 * v3_dot(g, rate);
    for (int j = 0; j < 3; ++j)
        rest[j] = k_rate * ggw[j];
    v3_cross(rate, s->w, x);
    for (int j = 0; j < 3; ++j)
        rest[j] -= x[j] / 2;
    double t[3];
    v3_cross(g, x, t);
    for (int j = 0; j < 3; ++j)
        rest[j] += k * t[j];
    v3_cross(rate, gw, x);
    for (int j = 0; j < 3; ++j)
        rest[j] += k * x[j];
    for (int i = 0; i < 3; ++i) { /* row i of g' is r . w, r = e + g x e / 2 + k g x (g x e) */
        double e[3] = {i == 0, i == 1, i == 2}, ge[3], gge[3];
        v3_cross(g, e, ge);
        v3_cross(g, ge, gge);
        for (int j = 0; j < 3; ++j)
            e[j] += ge[j] / 2 + k * gge[j];
        row = put(row, s, e, none, g[i], rest[i]);
    }
    return row;
}
/* A turn about the axis a only, two rows: with u = R a, c = a . u = cos(angle between them), g =
 * f(c) (b1 . u, b2 . u), f = angle / sine.  (1 - c^2) f' = c f - 1, (1 - c^2) f'' = f + 3 c f'.
 * Exact wherever u is not -a. */
static constraint_row *put_about_axis(constraint_row *row, const relative *s, const constraint *c) {
    double u[3], wu[3], wwu[3], ua[3];
    rot_mul(s->R, c->a, u);
    v3_cross(s->w, u, wu);
    v3_cross(s->w, wu, wwu);
    v3_cross(u, c->a, ua);
    const double cosine = v3_dot(c->a, u), s1 = v3_dot(c->b1, u), s2 = v3_dot(c->b2, u),
                 sine2 = s1 * s1 + s2 * s2;
    if (cosine < 0 && sine2 < 1e-12) { /* upside down: any way round will do */
        double r2[3];
        for (int j = 0; j < 3; ++j)
            r2[j] = -c->b1[j];
        row = put(row, s, c->b2, none, atan2(sqrt(sine2), cosine), 0);
        return put(row, s, r2, none, 0, 0);
    }
    double f = 0, df = 0, ddf = 0;
    /* powers of y = 1 - c: coefficients 1, 1/3, 2/15, ..., the n-th n/(2n + 1) of the one before */
    if (cosine > 0.9) {
        const double y = sine2 / (1 + cosine);
        double a[13] = {1};
        for (int n = 1; n < 13; ++n)
            a[n] = a[n - 1] * n / (2 * n + 1);
        for (int n = 12; n >= 0; --n) {
            f = f * y + a[n];
            if (n > 0) df = df * y - n * a[n];
            if (n > 1) ddf = ddf * y + n * (n - 1) * a[n];
        }
    } else {
        f = atan2(sqrt(sine2), cosine) / sqrt(sine2);
        df = (cosine * f - 1) / sine2;
        ddf = (f + 3 * cosine * df) / sine2;
    }
    const double rate = v3_dot(c->a, wu);
    for (int i = 0; i < 2; ++i) {
        const double *b = i ? c->b2 : c->b1;
        const double si = i ? s2 : s1;
        double r[3];
        v3_cross(u, b, r);
        for (int j = 0; j < 3; ++j)
            r[j] = f * r[j] + si * df * ua[j];
        const double rest = f * v3_dot(b, wwu) +
                            df * (si * v3_dot(c->a, wwu) + 2 * rate * v3_dot(b, wu)) +
                            ddf * rate * rate * si;
        row = put(row, s, r, none, f * si, rest);
    }
    return row;
}
/* A screw: way along the axis = pitch * angle, up to whole turns.  The angle is that of u = R b1
 * about the axis; with x, y, z = u . b1, b2, a and h = (x b1 + y b2) / (x^2 + y^2) its rate is (a -
 * z h) . w. */
static constraint_row *put_screw(constraint_row *row, const relative *s, const constraint *c) {
    double u[3], wu[3], r[3], rest = 0;
    rot_mul(s->R, c->b1, u);
    v3_cross(s->w, u, wu);
    const double x = v3_dot(u, c->b1), y = v3_dot(u, c->b2), z = v3_dot(u, c->a),
                 size = x * x + y * y;
    const double dx = v3_dot(wu, c->b1), dy = v3_dot(wu, c->b2), dz = v3_dot(wu, c->a),
                 pitch = c->def.pitch;
    const double lead = 2 * SOAI_PI * pitch, fall = size > 0 ? 2 * (x * dx + y * dy) / size : 0;
    double g = v3_dot(c->a, s->p) - pitch * atan2(y, x);
    if (lead != 0) g -= lead * floor(g / lead + 0.5);
    for (int j = 0; j < 3; ++j) {
        const double h = size > 0 ? (x * c->b1[j] + y * c->b2[j]) / size : 0;
        const double dh = size > 0 ? (dx * c->b1[j] + dy * c->b2[j]) / size - fall * h : 0;
        r[j] = -pitch * (c->a[j] - z * h);
        rest += pitch * (dz * h + z * dh) * s->w[j];
    }
    return put(row, s, r, c->a, g, rest);
}

static constraint_row *loop_rows(const constraint *c, const relative *s, constraint_row *row) {
    static const double e[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const soa_joint_type type = c->def.joint;
    switch (type) { /* how it may turn */
    case SOA_FIXED:
    case SOA_PRISMATIC: row = put_no_turn(row, s); break;
    case SOA_UNIVERSAL: /* the axes keep their angle */
        row = put_angle(row, s, c->def.axis, c->def.axis2, v3_dot(c->def.axis, c->def.axis2));
        break;
    case SOA_SPHERICAL:
    case SOA_FREE: break;
    default: row = put_about_axis(row, s, c);
    }
    switch (type) { /* how it may shift */
    case SOA_FREE: break;
    case SOA_PLANAR: row = put_point(row, s, c->a); break;
    case SOA_PRISMATIC:
    case SOA_CYLINDRICAL:
    case SOA_HELICAL:
        row = put_point(row, s, c->b1);
        row = put_point(row, s, c->b2);
        break;
    default:
        for (int k = 0; k < 3; ++k)
            row = put_point(row, s, e[k]);
    }
    return type == SOA_HELICAL ? put_screw(row, s, c) : row;
}

/* Rates of the free coordinates of a cut joint, r[i] . w + n[i] . p': the same as those of a joint
 * of the tree whose joint frame is place 1 and whose body's frame is place 2. */
static int free_rows(const constraint *c, const relative *s, double r[MOST_FREE][3],
                     double n[MOST_FREE][3]) {
    static const double e[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int count = 0;
    memset(r, 0, MOST_FREE * sizeof *r);
    memset(n, 0, MOST_FREE * sizeof *n);
    switch (c->def.joint) {
    case SOA_REVOLUTE:
    case SOA_HELICAL: memcpy(r[count++], c->a, sizeof c->a); break;
    case SOA_PRISMATIC: memcpy(n[count++], c->a, sizeof c->a); break;
    case SOA_CYLINDRICAL:
        memcpy(r[count++], c->a, sizeof c->a);
        memcpy(n[count++], c->a, sizeof c->a);
        break;
    case SOA_PLANAR:
        memcpy(n[count++], c->b1, sizeof c->a);
        memcpy(n[count++], c->b2, sizeof c->a);
        memcpy(r[count++], c->a, sizeof c->a);
        break;
    case SOA_UNIVERSAL: { /* w = axis * rate1 + (R axis2) * rate2: the dual of the two */
        double u[3];
        rot_mul(s->R, c->def.axis2, u);
        const double ab = v3_dot(c->def.axis, u), det = 1 - ab * ab;
        for (int j = 0; det > 0 && j < 3; ++j) {
            r[0][j] = (c->def.axis[j] - ab * u[j]) / det;
            r[1][j] = (u[j] - ab * c->def.axis[j]) / det;
        }
        count = 2;
        break;
    }
    case SOA_SPHERICAL:
    case SOA_FREE:
        for (int k = 0; k < 3; ++k)
            rot_mul(s->R, e[k], r[count++]);
        for (int k = 0; k < 3 && c->def.joint == SOA_FREE; ++k)
            rot_mul(s->R, e[k], n[count++]);
        break;
    default: break;
    }
    return count;
}

/* tau += J1' force1 + J2' force2 */
static void add_torque(const soa_model *m, soa_work *w, const soa_constraint_def *def,
                       const double force1[6], const double force2[6], double *room, double *tau) {
    const int frame[2] = {def->frame1, def->frame2};
    const double *force[2] = {force1, force2};
    for (int i = 0; i < 2; ++i) {
        /* the world does not move */
        if (!SOAI_AT(m, soai_frame_row, frame)[frame[i]].body) continue;
        if (soa_jacobian_transpose_mul(m, w, frame[i], SOA_AXES_WORLD, force[i], room)) continue;
        for (int j = 0; j < m->nv; ++j)
            tau[j] += room[j];
    }
}

/* Coordinates of a cut joint, angles nearest to k->near. */
static soa_status coordinates_of(const constraint *k, const relative *s, double q[7]) {
    const double turn = 2 * SOAI_PI;
    soa_joint_def joint = soa_joint_default(k->def.joint);
    soa_frame X;
    memcpy(X.R, s->R, sizeof X.R);
    memcpy(X.p, s->p, sizeof X.p);
    memcpy(joint.axis, k->def.axis, sizeof joint.axis);
    memcpy(joint.axis2, k->def.joint == SOA_PLANAR ? k->b1 : k->def.axis2, sizeof joint.axis2);
    joint.pitch = k->def.pitch;
    const soa_status bad = soa_joint_coordinates(&joint, &X, NULL, NULL, q, NULL, NULL);
    for (int i = 0; i < 3 && !bad; ++i)
        if (soa_joint_type_turns(k->def.joint, i) &&
            !(k->def.joint == SOA_HELICAL && k->def.pitch != 0))
            q[i] += turn * floor((k->near[i] - q[i]) / turn + 0.5);
    return bad;
}
static soa_status read_coordinates(soa_constraints *c, soa_work *w, int number, double q[7]) {
    relative x;
    const soa_status s = relative_of(c->model, w, &c->list[number].def, &x);
    return s ? s : coordinates_of(c->list + number, &x, q);
}
soa_status soa_constraints_joint_coordinates(soa_constraints *c, soa_work *w, int number,
                                             double *q) {
    double all[7];
    if (!c || !w || w->model != c->model || !q || number < 0 || number >= c->capacity.constraints ||
        !c->list[number].used || c->list[number].def.kind != SOA_LOOP)
        return SOA_E_ARGUMENT;
    const soa_status s = read_coordinates(c, w, number, all);
    if (!s) memcpy(q, all, (size_t)soai_nq_of(c->list[number].def.joint) * sizeof *q);
    return s;
}
soa_status soa_constraints_follow_turns(soa_constraints *c, soa_work *w) {
    if (!c || !w || w->model != c->model) return SOA_E_ARGUMENT;
    for (int i = 0; i < c->capacity.constraints; ++i) {
        double q[7];
        constraint *k = c->list + i;
        if (!k->used || !k->counted) continue;
        const soa_status s = read_coordinates(c, w, i, q);
        if (s) return s;
        memcpy(k->near, q, (size_t)(6 - k->rows) * sizeof *q); /* never spherical or free */
    }
    return SOA_OK;
}

/* Driven, rubbing and sprung cut joints. */
static soa_status cut_torques(soa_constraints *c, soa_work *w, constraint *k, const relative *s) {
    double r[MOST_FREE][3], n[MOST_FREE][3], q[7] = {0};
    const int count = free_rows(k, s, r, n);
    const soa_status bad = k->def.stiffness != 0 ? coordinates_of(k, s, q) : SOA_OK;
    if (bad) return bad;
    k->spring = 0;
    memset(k->cut_force, 0, sizeof k->cut_force);
    for (int i = 0; i < count; ++i) {
        const double rate = k->rate[i] = v3_dot(r[i], s->w) + v3_dot(n[i], s->v),
                     out = q[i] - k->def.rest;
        const double effort = k->effort[i] - k->def.damping * rate -
                              k->def.friction * ((rate > 0) - (rate < 0)) -
                              (k->def.stiffness != 0 ? k->def.stiffness * out : 0);
        if (k->def.stiffness != 0) k->spring += k->def.stiffness * out * out / 2;
        if (effort == 0) continue;
        double force1[6], force2[6];
        to_forces(s, r[i], n[i], force1, force2);
        for (int j = 0; j < 6; ++j) {
            force1[j] *= -effort;
            force2[j] *= -effort;
            k->cut_force[0][j] += force1[j];
            k->cut_force[1][j] += force2[j];
        }
        add_torque(c->model, w, &k->def, force1, force2, c->step, c->cut);
    }
    return SOA_OK;
}
soa_status soai_cut_losses(soa_constraints *c, soa_work *w, const double *q, const double *v,
                           const double *a, double *out) {
    int rows = 0;
    const soa_status s = soai_constraint_evaluate(c, w, q, v ? v : w->zero, 0, &rows);
    if (s) return s;
    soai_constraint_form(c, w, rows, c->G);
    for (int j = 0; j < c->model->nv; ++j)
        out[j] = -c->cut[j];
    soai_cut_force(c, a, 1, out);
    return SOA_OK;
}
soa_status soa_constraints_wrench(const soa_constraints *c, int number, const double *lambda,
                                  double on_frame1[6], double on_frame2[6]) {
    if (!c || !lambda || number < 0 || number >= c->capacity.constraints || !c->list[number].used ||
        c->list[number].def.kind == SOA_RATIO)
        return SOA_E_ARGUMENT;
    const constraint *k = c->list + number;
    double *const out[2] = {on_frame1, on_frame2};
    int first = 0, count = 0;
    const soa_status s = soa_constraints_row_range(c, number, &first, &count);
    if (s) return s;
    for (int side = 0; side < 2; ++side)
        for (int j = 0; out[side] && j < 6; ++j) {
            out[side][j] = k->on && k->def.kind == SOA_LOOP ? k->cut_force[side][j] : 0;
            for (int r = first; r < first + count; ++r) {
                const double *f = side ? c->row[r].force2 : c->row[r].force1;
                out[side][j] += lambda[r] * f[j];
            }
        }
    return SOA_OK;
}
/* Rows of B and W of a cut joint's rotor (cut_inertia.c), in the sign of `put`; the gyroscopic
 * couple of an exact one on link 1, -G Jm rate (w1 x u), is a torque. */
static void cut_inertias(soa_constraints *c, soa_work *w, int number, const relative *s,
                         int moves) {
    const constraint *k = c->list + number;
    const double gear = k->def.gear_ratio, spin = k->def.rotor_inertia * gear;
    double r[MOST_FREE][3], n[MOST_FREE][3];
    if (spin == 0) return;
    const int count = free_rows(k, s, r, n);
    for (int i = 0; i < count; ++i, ++c->inertias) {
        put(c->inertia_row + c->inertias, s, r[i], n[i], 0, 0);
        c->W[c->inertias] = gear * spin;
        c->W_next[c->inertias] = 0;
        c->inertia_owner[c->inertias] = number;
    }
    if (k->def.rotor_model != SOA_ROTOR_EXACT ||
        !SOAI_AT(c->model, soai_frame_row, frame)[k->def.frame1].body)
        return;
    constraint_row *row = c->inertia_row + c->inertias;
    double u[3], couple[3], force1[6] = {0}, none6[6] = {0};
    rot_mul(s->one.R, k->def.rotor_axis, u);
    *row = (constraint_row){.absolute = 1, .gamma = -v3_dot(u, s->one.wd)};
    for (int j = 0; j < 3; ++j)
        row->force1[j] = -u[j];
    c->W_next[c->inertias - 1] = spin;
    c->W[c->inertias] = c->W_next[c->inertias] = 0;
    c->inertia_owner[c->inertias++] = number;
    if (!moves) return;
    v3_cross(s->one.w, u, couple);
    for (int j = 0; j < 3; ++j)
        force1[j] = -spin * k->rate[0] * couple[j];
    add_torque(c->model, w, &k->def, force1, none6, c->step, c->cut);
}
/* The cut joint of a RATIO: its row, in the sign of `put`, and coordinate. */
static soa_status ratio_term(soa_constraints *c, soa_work *w, int number, constraint_row *row,
                             double *q) {
    const constraint *k = c->list + number;
    relative x;
    double r[MOST_FREE][3], n[MOST_FREE][3], all[7];
    soa_status s = relative_of(c->model, w, &k->def, &x);
    if (s || (s = coordinates_of(k, &x, all))) return s;
    free_rows(k, &x, r, n);
    put(row, &x, r[0], n[0], 0, 0);
    *q = all[0];
    return SOA_OK;
}

static constraint_row *velocity_rows(const constraint *c, const relative *s, constraint_row *row) {
    for (int i = 0; i < c->def.row_count; ++i) {
        const double *r = c->def.rows[i], *n = r + 3;
        double rr[3], nn[3], rest = 0;
        if (c->def.rows_in_frame2) { /* they turn with frame 2: (R r)' = w x R r */
            double t[3];
            rot_mul(s->R, r, rr);
            rot_mul(s->R, n, nn);
            v3_cross(s->w, rr, t);
            rest += v3_dot(t, s->w);
            v3_cross(s->w, nn, t);
            rest += v3_dot(t, s->v);
        } else {
            memcpy(rr, r, sizeof rr);
            memcpy(nn, n, sizeof nn);
        }
        row = put(row, s, rr, nn, 0, rest);
        row[-1].on_velocity = 1;
    }
    return row;
}

/* A disc about a = R z rolls on the plane z = 0.  With m = z . a, h = z - m a and s = |h|, the
 * lowest point of its rim is at p + c, c = -radius h / s.  Its material does not move: p' + w x c =
 * 0, whose part along z is the rate of p_z - radius s. c' = -radius (h'/s - h s'/s^2), h' = -m'a -
 * m a', a' = w x a, m' = z . a', s' = -m m'/s. */
static soa_status disc_rows(const relative *x, double radius, int moves, constraint_row **rows) {
    static const double e[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double a[3] = {x->R[2], x->R[5], x->R[8]};
    const double m = a[2];
    double h[3];
    double c[3];
    double a_rate[3];
    double c_rate[3];
    double turning[3];
    for (int j = 0; j < 3; ++j)
        h[j] = e[2][j] - m * a[j];
    const double s = sqrt(v3_dot(h, h));
    if (!(s > 1e-6)) { /* flat: to begin with, any way to lean will do */
        if (moves) return SOA_E_SINGULAR;
        h[0] = 1e-6;
    }
    const double size = fmax(s, 1e-6);
    v3_cross(x->w, a, a_rate);
    const double m_rate = a_rate[2];
    const double s_rate = -m * m_rate / size;
    for (int j = 0; j < 3; ++j) {
        const double h_rate = -m_rate * a[j] - m * a_rate[j];
        c[j] = -radius * h[j] / size;
        c_rate[j] = -radius * (h_rate / size - h[j] * s_rate / (size * size));
    }
    v3_cross(x->w, c_rate, turning);
    constraint_row *row = *rows;
    for (int k = 2; k >= 0; --k) {
        double r[3];
        v3_cross(c, e[k], r);
        row = put(row, x, r, e[k], k == 2 ? x->p[2] - radius * s : 0, turning[k]);
        row[-1].on_velocity = k < 2;
    }
    *rows = row;
    return SOA_OK;
}

soa_status soai_constraint_evaluate(soa_constraints *c, soa_work *w, const double *q,
                                    const double *v, double t, int *rows) {
    const soa_model *m = c->model;
    soa_status s = soa_kinematics(m, w, q, v, NULL);
    if (s) return s;
    constraint_row *row = c->row;
    for (int j = 0; j < m->nv; ++j)
        c->cut[j] = 0;
    c->inertias = 0;
    c->last_method = SOA_CLOSED_AUTO;
    for (int i = 0; i < c->capacity.constraints; ++i) {
        constraint *k = c->list + i;
        if (!k->used || !k->on) continue;
        constraint_row *const first = row;
        const soa_constraint_def *def = &k->def;
        double value[3] = {def->value, 0, 0};
        if (def->drive) {
            def->drive(def->user, t, value);
            if (!soai_all_finite(value, 3)) return SOA_E_NOT_FINITE;
        }
        relative x;
        if (def->kind != SOA_RATIO && (s = relative_of(m, w, def, &x))) return s;
        switch (def->kind) {
        case SOA_LOOP:
            row = loop_rows(k, &x, row);
            if (v && (s = cut_torques(c, w, k, &x))) return s;
            cut_inertias(c, w, i, &x, v != NULL);
            break;
        case SOA_DISTANCE: {
            const double length = sqrt(v3_dot(x.p, x.p)), far = sqrt(v3_dot(x.one.p, x.one.p));
            /* no direction: to begin with, any will do */
            const int together = !(length > 1e-14 * far) || !(length > 0);
            double e[3] = {1, 0, 0};
            if (together && v) return SOA_E_SINGULAR;
            for (int j = 0; j < 3 && !together; ++j)
                e[j] = x.p[j] / length;
            const double along = v3_dot(e, x.v);
            row = put(row, &x, none, e, length - value[0],
                      (v3_dot(x.v, x.v) - along * along) / length);
            row[-1].drift = value[1];
            row[-1].gamma += value[2];
            break;
        }
        case SOA_RATIO: {
            double g = -value[0], gamma = -value[2];
            for (int j = 0; j < SOA_RATIO_TERMS; ++j) {
                if (!def->coordinate[j]) continue;
                if (def->coordinate[j] < 0) {
                    constraint_row term;
                    double angle;
                    if ((s = ratio_term(c, w, ~def->coordinate[j], &term, &angle))) return s;
                    g += def->coefficient[j] * angle;
                    gamma -= def->coefficient[j] * term.gamma;
                    continue;
                }
                const soai_meta *e = soai_metas(m) + def->coordinate[j];
                g += def->coefficient[j] * (q ? q[e->user_q] : 0);
            }
            *row++ = (constraint_row){.g = g, .drift = -value[1], .gamma = gamma};
            break;
        }
        case SOA_ROLLING: {
            static const double ex[3] = {1, 0, 0}, ey[3] = {0, 1, 0}, ez[3] = {0, 0, 1};
            /* the ball's point below the centre stands still: p' + w x (-radius z) along x and y */
            const double rx[3] = {0, -value[0], 0}, ry[3] = {value[0], 0, 0};
            row = put(row, &x, none, ez, x.p[2] - value[0], 0);
            row = put(row, &x, rx, ex, 0, 0);
            row = put(row, &x, ry, ey, 0, 0);
            row[-1].on_velocity = row[-2].on_velocity = 1;
            break;
        }
        case SOA_DISC:
            if ((s = disc_rows(&x, value[0], v != NULL, &row))) return s;
            break;
        case SOA_VELOCITY: row = velocity_rows(k, &x, row); break;
        case SOA_PLANE: {
            static const double ez[3] = {0, 0, 1};
            row = put(row, &x, none, ez, x.p[2] - value[0], 0);
            row[-1].drift = value[1];
            row[-1].gamma += value[2];
            break;
        }
        }
        for (constraint_row *r = first; r < row; ++r)
            c->owner[r - c->row] = i;
    }
    *rows = (int)(row - c->row);
    return SOA_OK;
}

/* What the numbers of a row are measured by, from the joints that carry its two frames: how far
 * they are from the frame, those that move both frames alike left out (own) or not (all). */
typedef struct reach {
    double own[2], all;
    int depth, moved[2];
} reach;
static reach reach_of(const soa_model *m, const soa_work *w, const soa_constraint_def *def) {
    const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame);
    const int frame[2] = {def->frame1, def->frame2};
    int body[2] = {row[def->frame1].body, row[def->frame2].body}, meet[2] = {body[0], body[1]};
    while (meet[0] != meet[1]) { /* parents have smaller numbers */
        const int i = meet[0] < meet[1];
        meet[i] = w->view.body[meet[i]].parent;
    }
    reach x = {{0, 0}, 0, 4, {0, 0}}; /* squares, to the end */
    for (int i = 0; i < 2; ++i) {
        double at[3];
        int own = 1;
        origin_of(m, w, frame[i], at);
        x.all = fmax(x.all, v3_dot(at, at));
        for (int b = body[i]; b; b = w->view.body[b].parent, ++x.depth) {
            double arm[3];
            for (int j = 0; j < 3; ++j)
                arm[j] = at[j] - w->w.pw[3 * b + j];
            const double far = v3_dot(arm, arm);
            if (b == meet[0]) own = 0;
            if (own) {
                x.own[i] = fmax(x.own[i], far);
                x.moved[i] = 1;
            }
            x.all = fmax(x.all, far);
        }
    }
    x.own[0] = sqrt(x.own[0]);
    x.own[1] = sqrt(x.own[1]);
    x.all = sqrt(x.all);
    return x;
}

/* Entries of G for all rows of one constraint: the bodies on the two ways to the nearest common
 * ancestor, whose joints (and all before it) move both frames alike.  A joint moves the frame's
 * origin by u = v + w x arm and turns it by w, so the entry is w . n + u . f.  `sum` and `bound`:
 * squares of the entries, and of them if nothing cancelled. */
static void walk(const soa_model *m, const soa_work *w, int body, int stop, const double point[3],
                 int side, int rows, const constraint_row *row, double *G, double *sum,
                 double *bound) {
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    double size[6];
    for (int r = 0; r < rows; ++r) {
        const double *f = side ? row[r].force2 : row[r].force1;
        size[r] = v6_dot(f, f);
    }
    for (int i = body; i != stop; i = w->view.body[i].parent) {
        const soai_body_double *b = w->view.body + i;
        const int varies = b->type == SOA_UNIVERSAL || b->type == SOA_PLANAR;
        double arm[3];
        for (int j = 0; j < 3; ++j)
            arm[j] = point[j] - w->w.pw[3 * i + j];
        const double far = v3_dot(arm, arm);
        for (int c = 0; c < b->nv; ++c) {
            const double *H = varies ? w->w.H + 6 * (b->iv + c) : w->view.dof[b->iv + c].H;
            const int to = m->nm ? map[b->iv + c].user : b->iv + c;
            const double ratio = m->nm ? map[b->iv + c].ratio : 1;
            double turn[3], shift[3];
            rot_mul(w->w.Rw + 9 * i, H, turn);
            rot_mul(w->w.Rw + 9 * i, H + 3, shift);
            const double turning =
                ratio * ratio * (v3_dot(turn, turn) * (1 + far) + v3_dot(shift, shift));
            v3_cross_add(turn, arm, shift);
            for (int r = 0; r < rows; ++r) {
                const double *f = side ? row[r].force2 : row[r].force1;
                const double x = ratio * (v3_dot(turn, f) + v3_dot(shift, f + 3));
                G[(size_t)r * (size_t)m->nv + (size_t)to] += x;
                sum[r] += x * x;
                bound[r] += turning * size[r];
            }
        }
    }
}
/* out += G's rows of one constraint; `out` is zero or holds others. */
static void form(const soa_model *m, soa_work *w, const soa_constraint_def *def, int count,
                 const constraint_row *row, double *out, double *sum, double *bound) {
    const soai_frame_row *frames = SOAI_AT(m, soai_frame_row, frame);
    const int frame[2] = {def->frame1, def->frame2};
    int body[2] = {frames[frame[0]].body, frames[frame[1]].body}, stop[2] = {body[0], body[1]};
    while (stop[0] != stop[1]) { /* parents have smaller numbers */
        const int deeper = stop[1] > stop[0];
        stop[deeper] = w->view.body[stop[deeper]].parent;
    }
    if (row->absolute) {
        stop[0] = 0;
        stop[1] = body[1];
    }
    for (int side = 0; side < 2; ++side) {
        double at[3];
        if (body[side] == stop[side]) continue;
        origin_of(m, w, frame[side], at);
        walk(m, w, body[side], stop[side], at, side, count, row, out, sum, bound);
    }
}
soa_status soa_constraints_joint_row(soa_constraints *c, soa_work *w, int number, int coordinate,
                                     double *row, double *rest) {
    if (!c || !w || w->model != c->model || !row || number < 0 ||
        number >= c->capacity.constraints || !c->list[number].used ||
        c->list[number].def.kind != SOA_LOOP || coordinate < 0 ||
        coordinate >= 6 - c->list[number].rows)
        return SOA_E_ARGUMENT;
    const constraint *k = c->list + number;
    double r[MOST_FREE][3], n[MOST_FREE][3], sum = 0, bound = 0;
    constraint_row one;
    relative x;
    const soa_status s = relative_of(c->model, w, &k->def, &x);
    if (s) return s;
    free_rows(k, &x, r, n);
    put(&one, &x, r[coordinate], n[coordinate], 0, 0);
    for (int j = 0; j < 6; ++j) {
        one.force1[j] = -one.force1[j];
        one.force2[j] = -one.force2[j];
    }
    memset(row, 0, (size_t)c->model->nv * sizeof *row);
    form(c->model, w, &k->def, 1, &one, row, &sum, &bound);
    if (rest) *rest = -one.gamma;
    return SOA_OK;
}
void soai_constraint_form(soa_constraints *c, soa_work *w, int rows, double *G) {
    const soa_model *m = c->model;
    for (int i = 0; i < c->inertias; ++i) {
        double *const out = c->B + (size_t)i * (size_t)m->nv, sum = 0, bound = 0;
        memset(out, 0, (size_t)m->nv * sizeof *out);
        form(m, w, &c->list[c->inertia_owner[i]].def, 1, c->inertia_row + i, out, &sum, &bound);
    }
    for (int first = 0, next; first < rows; first = next) {
        const soa_constraint_def *def = &c->list[c->owner[first]].def;
        double *const out = G + (size_t)first * (size_t)m->nv;
        for (next = first + 1; next < rows && c->owner[next] == c->owner[first];)
            ++next;
        const int count = next - first;
        memset(out, 0, (size_t)count * (size_t)m->nv * sizeof *out);
        if (def->kind == SOA_RATIO) {
            for (int j = 0; j < SOA_RATIO_TERMS; ++j) {
                constraint_row term;
                double angle, sum = 0, bound = 0;
                if (def->coordinate[j] > 0)
                    out[soai_metas(m)[def->coordinate[j]].user_v] += def->coefficient[j];
                if (def->coordinate[j] >= 0 || ratio_term(c, w, ~def->coordinate[j], &term, &angle))
                    continue;
                for (int i = 0; i < 6; ++i) {
                    term.force1[i] *= -def->coefficient[j];
                    term.force2[i] *= -def->coefficient[j];
                }
                form(m, w, &c->list[~def->coordinate[j]].def, 1, &term, out, &sum, &bound);
            }
            c->strength[first] = c->natural[first] = 1;
            continue;
        }
        double sum[6] = {0}, bound[6] = {0};
        form(m, w, def, count, c->row + first, out, sum, bound);
        const reach x = reach_of(m, w, def);
        const int all = soai_support(c, c->owner[first], c->order);
        for (int r = 0; r < count; ++r) {
            const constraint_row *row = c->row + first + r;
            double *g = out + (size_t)r * (size_t)m->nv, most = 0, natural = 0, size = 0;
            /* |moment| + |force| * arm: what a number of the row may be at most */
            for (int i = 0; i < 2; ++i) {
                const double *f = i ? row->force2 : row->force1, n = sqrt(v3_dot(f, f)),
                             p = sqrt(v3_dot(f + 3, f + 3));
                size = fmax(size, n + p * x.all);
                if (x.moved[i]) natural = fmax(natural, n + p * x.own[i]);
            }
            /* Where only rounding is left of a number it is zero: else a row that always holds (of
             * a planar loop, say) would look like a constraint. */
            const double noise = 2.3e-16 * x.depth * size;
            for (int k = 0; k < all; ++k) {
                double *entry = g + (all == m->nv ? k : c->order[k]);
                if (fabs(*entry) < noise) *entry = 0;
                if (fabs(*entry) > most) most = fabs(*entry);
            }
            c->natural[first + r] = most < natural ? most / natural : 1;
            c->strength[first + r] = bound[r] > 0 && most > 0 ? sqrt(sum[r] / bound[r]) : 0;
        }
    }
}
