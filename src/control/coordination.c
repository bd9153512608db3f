/* coordination.c  several hands move one object: wrench on the object, its share to each hand,
 *                 squeeze, arms' torques.
 *
 * object     m (a_c - g) = f,  I w' + w x I w = n about its centre of mass c            gains and
 *            reference give (n, f)
 * load       hands at r_i from c with shares w_i (sum 1) and couple length l, least sum of (|f_i|^2
 *            + |n_i|^2 / l^2)
 * / w_i:
 *                f_i = w_i (x + y x r_i),  n_i = w_i l^2 y,
 *                [l^2 1 - sum w_i (r_i - r)~^2] y = n - r x f,   x = f - y x r,   r = sum w_i r_i
 *            the forces of a rigid body with masses w_i: none of it squeezes
 * squeeze    d_i = (middle - p_i) / (mean distance): sum and moment zero; two hands: unit vectors
 *            towards each other
 * arms       PASSIVE: J_i'F_i and the machine's own torques.  LINEARISING: hands accelerate with
 *            the object while
 * -F_i acts
 *            on them (frame_laws.c): then object, arms and base obey their equations of motion with
 *            just these F_i, and where contact forces are determined they are these.
 * O(n), and O(hands^3).  RK88-II (2.9); RJK91 section 6 (load balancing, Kreutz & Lokshin 1988). */
#include "control_internal.h"
#include <math.h>

soa_coordination soa_coordination_default(int object, int relative_to) {
    return (soa_coordination){.form = SOA_COORDINATE_PASSIVE,
                              .object = object,
                              .relative_to = relative_to,
                              .couple_length = 0.2,
                              .max_integral = 50};
}

/* What the load's distribution needs. */
typedef struct hold {
    int n;
    double c[3], share[SOA_HANDS];
    double p[SOA_HANDS][3], r[SOA_HANDS][3]; /* hands in the world, and from c */
    double middle[3], length;
    double d[SOA_HANDS][3]; /* squeeze */
} hold;

static soa_status check(const soa_control *c, const soa_coordination *k) {
    const soa_model *m = c->model;
    if (!k || k->object < 1 || k->object >= m->frames || k->relative_to < 0 ||
        k->relative_to >= m->frames || k->hands < 1 || k->hands > SOA_HANDS ||
        !SOAI_AT(m, soai_frame_row, frame)[k->object].body ||
        (k->form != SOA_COORDINATE_LINEARISING && k->form != SOA_COORDINATE_PASSIVE))
        return SOA_E_ARGUMENT;
    const double numbers[] = {k->couple_length,       k->squeeze_gain[0],   k->squeeze_gain[1],
                              k->max_integral,        k->max_force,         k->max_torque,
                              k->damping_of_lambda,   k->squeeze,           k->follow_stiffness[0],
                              k->follow_stiffness[1], k->follow_damping[0], k->follow_damping[1]};
    const size_t count = sizeof numbers / sizeof *numbers;
    if (!soai_all_finite(numbers, count) || !soai_all_finite(k->stiffness, 6) ||
        !soai_all_finite(k->damping, 6) || !soai_all_finite(k->share, (size_t)k->hands))
        return SOA_E_NOT_FINITE;
    for (size_t i = 0; i < count; ++i)
        if (!(numbers[i] >= 0)) return SOA_E_ARGUMENT;
    for (int j = 0; j < 6; ++j)
        if (!(k->stiffness[j] >= 0 && k->damping[j] >= 0)) return SOA_E_ARGUMENT;
    for (int i = 0; i < k->hands; ++i) {
        if (k->hand[i] < 1 || k->hand[i] >= m->frames || !(k->share[i] >= 0)) return SOA_E_ARGUMENT;
        if (k->has_grasp && !soai_rotation_fits(k->grasp + i)) return SOA_E_FRAME;
    }
    return k->couple_length > 0 ? SOA_OK : SOA_E_ARGUMENT;
}
/* Kinematics stand. */
static soa_status take_hold(soa_control *c, const soa_coordination *k, hold *h) {
    const soai_frame_row *row = SOAI_AT(c->model, soai_frame_row, frame) + k->object;
    const soai_meta *meta = soai_metas(c->model) + row->body;
    soa_frame body, pose;
    soa_status s = soa_pose(c->model, c->work, meta->frame, &body);
    double sum = 0, mean = 0;
    if (s) return s;
    h->n = k->hands;
    h->length = k->couple_length;
    rot_mul(body.R, meta->com, h->c);
    for (int j = 0; j < 3; ++j) {
        h->c[j] += body.p[j];
        h->middle[j] = 0;
    }
    for (int i = 0; i < h->n; ++i) {
        if ((s = soa_pose(c->model, c->work, k->hand[i], &pose))) return s;
        sum += k->share[i];
        for (int j = 0; j < 3; ++j) {
            h->p[i][j] = pose.p[j];
            h->r[i][j] = pose.p[j] - h->c[j];
            h->middle[j] += pose.p[j] / h->n;
        }
    }
    for (int i = 0; i < h->n; ++i) {
        h->share[i] = sum > 0 ? k->share[i] / sum : 1.0 / h->n;
        for (int j = 0; j < 3; ++j)
            h->d[i][j] = h->middle[j] - h->p[i][j];
        mean += sqrt(v3_dot(h->d[i], h->d[i])) / h->n;
    }
    for (int i = 0; i < h->n; ++i)
        for (int j = 0; j < 3; ++j)
            h->d[i][j] = mean > 1e-9 ? h->d[i][j] / mean : 0;
    return SOA_OK;
}
/* W = [n; f] about c to hand wrenches [n_i; f_i] at the hands. */
static void distribute(const hold *h, const double W[6], double F[][6]) {
    double A[9] = {0}, r[3] = {0}, y[3], x[3], t[3];
    for (int i = 0; i < h->n; ++i)
        for (int j = 0; j < 3; ++j)
            r[j] += h->share[i] * h->r[i][j];
    for (int i = 0; i < h->n; ++i) {
        double s[3];
        for (int j = 0; j < 3; ++j)
            s[j] = h->r[i][j] - r[j];
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
                A[3 * a + b] += h->share[i] * ((a == b ? v3_dot(s, s) : 0) - s[a] * s[b]);
    }
    for (int a = 0; a < 3; ++a)
        A[4 * a] += h->length * h->length;
    v3_cross(r, W + 3, t);
    for (int j = 0; j < 3; ++j)
        y[j] = W[j] - t[j];
    soai_solve(3, A, y); /* positive definite */
    v3_cross(y, r, t);
    for (int j = 0; j < 3; ++j)
        x[j] = W[3 + j] - t[j];
    for (int i = 0; i < h->n; ++i) {
        v3_cross(y, h->r[i], t);
        for (int j = 0; j < 3; ++j) {
            F[i][j] = h->share[i] * h->length * h->length * y[j];
            F[i][3 + j] = h->share[i] * (x[j] + t[j]);
        }
    }
}

soa_status soa_control_internal_force(soa_control *c, const double *q, const soa_coordination *k,
                                      const double *hand_wrenches, double *force) {
    if (!c || !q || !hand_wrenches || !force) return SOA_E_ARGUMENT;
    soa_status s = check(c, k);
    if (s) return s;
    if (!soai_all_finite(hand_wrenches, 6 * (size_t)k->hands)) return SOA_E_NOT_FINITE;
    hold h;
    if ((s = soa_kinematics(c->model, c->work, q, NULL, NULL)) || (s = take_hold(c, k, &h)))
        return s;
    double W[6] = {0}, F[SOA_HANDS][6], along = 0, size = 0;
    for (int i = 0; i < h.n; ++i) {
        const double *f = hand_wrenches + 6 * i;
        for (int j = 0; j < 6; ++j)
            W[j] += f[j];
        v3_cross_add(h.r[i], f + 3, W);
    }
    distribute(&h, W, F);
    for (int i = 0; i < h.n; ++i)
        for (int j = 0; j < 3; ++j) {
            along += h.d[i][j] * (hand_wrenches[6 * i + 3 + j] - F[i][3 + j]);
            size += h.d[i][j] * h.d[i][j];
        }
    *force = size > 0 ? along / size : 0;
    return SOA_OK;
}

/* The object as it moves: estimated mass and inertia about c in world axes, twist of its frame, c
 * from its frame. */
typedef struct body_state {
    double m, I[9], V[6], r[3];
    soa_frame frame;
} body_state;
static soa_status object_state(soa_control *c, const soa_coordination *k, const hold *h,
                               body_state *o) {
    const soai_frame_row *row = SOAI_AT(c->model, soai_frame_row, frame) + k->object;
    const soai_meta *meta = soai_metas(c->model) + row->body;
    soa_frame body;
    soa_status s = soa_pose(c->model, c->work, meta->frame, &body);
    if (s || (s = soa_pose(c->model, c->work, k->object, &o->frame)) ||
        (s = soa_velocity(c->model, c->work, k->object, SOA_AXES_WORLD, o->V)))
        return s;
    o->m = meta->mass;
    double turned[6];
    sym_rotate(body.R, meta->inertia, turned);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            o->I[3 * a + b] = turned[SYM(a, b)];
    for (int j = 0; j < 3; ++j)
        o->r[j] = h->c[j] - o->frame.p[j];
    return SOA_OK;
}
/* W about c for the classical acceleration A of the frame's origin; w: angular velocity of the
 * reference (the object's own for the true dynamics): n = I alpha + w x I omega, a_c = a + alpha x
 * r + omega x (w x r). */
static void object_wrench(const soa_control *c, const body_state *o, const double A[6],
                          const double w[3], double W[6]) {
    double t[3], u[3], a[3];
    const unsigned gravity = c->compensate & SOA_COMPENSATE_GRAVITY;
    v3_cross(w, o->r, t);
    v3_cross(o->V, t, u);
    v3_cross(A, o->r, a);
    for (int j = 0; j < 3; ++j) {
        a[j] += A[3 + j] + u[j];
        W[3 + j] = o->m * (a[j] - (gravity ? c->model->gravity[j] : 0));
    }
    rot_mul(o->I, A, W);
    rot_mul(o->I, o->V, t);
    v3_cross_add(w, t, W);
}

/* W about c, and the squeeze, to the hands. */
static void share_out(const hold *h, const body_state *o, const double W[6],
                      soa_coordination_result *out) {
    memcpy(out->wrench, W, sizeof out->wrench);
    v3_cross_add(o->r, W + 3, out->wrench);
    distribute(h, W, out->hand_wrench);
    for (int i = 0; i < h->n; ++i)
        for (int j = 0; j < 3; ++j)
            out->hand_wrench[i][3 + j] += out->squeeze * h->d[i][j];
}
/* Springs and dampers between the hands and where the object would carry them, world axes;
 * kinematics stand. */
static soa_status follow_object(soa_control *c, const soa_coordination *k, const body_state *o,
                                double follow[][6]) {
    for (int i = 0; i < k->hands; ++i) {
        soa_frame hand;
        double V[6], there[6], arm[3], lag[6] = {0};
        soa_status s = soa_pose(c->model, c->work, k->hand[i], &hand);
        if (s || (s = soa_velocity(c->model, c->work, k->hand[i], SOA_AXES_WORLD, V))) return s;
        for (int j = 0; j < 3; ++j)
            arm[j] = hand.p[j] - o->frame.p[j];
        soai_shift_motion(o->V, arm, there);
        if (k->has_grasp) {
            const soa_frame place = soa_frame_compose(&o->frame, k->grasp + i);
            double between[9], back[9];
            for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b)
                    back[3 * a + b] = hand.R[3 * b + a];
            rot_rot(place.R, back, between);
            soa_rotation_to_vector(between, lag);
            for (int j = 0; j < 3; ++j)
                lag[3 + j] = place.p[j] - hand.p[j];
        }
        for (int j = 0; j < 6; ++j)
            follow[i][j] =
                k->follow_stiffness[j / 3] * lag[j] + k->follow_damping[j / 3] * (there[j] - V[j]);
    }
    return SOA_OK;
}

/* The linearising law while the frame of the goal, the base, accelerates with a_base, and so the
 * object with A. */
typedef struct trial {
    soa_control *c;
    const soa_coordination *k;
    const hold *h;
    const body_state *o;
    soai_task_space space;
    double wanted[SOAI_TASK_ROWS];
    double A[6], arm[3];                  /* of the object while a_base = 0; object from base */
    double base[6], rest[SOAI_TASK_ROWS]; /* of base and rows without hands' wrenches:
                                           * accelerations; what is lacking */
} trial;
/* Wrenches of hands on the object, and the opposite ones on the hands. */
static void shares_of(const trial *t, const double a_base[6], int clamp,
                      soa_coordination_result *out, soa_wrench *f) {
    const soa_coordination *k = t->k;
    double A[6], W[6];
    soai_shift_motion(a_base, t->arm, A);
    for (int j = 0; j < 6; ++j)
        A[j] += t->A[j];
    object_wrench(t->c, t->o, A, t->o->V, W);
    if (clamp) soai_clamp_wrench(k->max_force, k->max_torque, W);
    share_out(t->h, t->o, W, out);
    for (int i = 0; i <= k->hands; ++i) {
        f[i] = (soa_wrench){.frame = i < k->hands ? k->hand[i] : k->object, .axes = SOA_AXES_WORLD};
        for (int j = 0; j < 6; ++j)
            f[i].value[j] = i < k->hands ? -out->hand_wrench[i][j] : out->wrench[j];
    }
}
/* What the base does under these wrenches, by products of small matrices: u gives way with M_uu^-1
 * J_u'f, the hands are driven by F = Lambda (what is lacking), and base_f F is the base's
 * answer. */
static void base_answer(const trial *t, const soa_wrench *f, double found[6]) {
    soa_control *c = t->c;
    const int np = c->passives, rows = t->space.rows;
    double *x = c->small, right[SOAI_TASK_ROWS];
    for (int p = 0; p < np; ++p)
        x[p] = 0;
    for (int i = 0; i < 6 * (t->k->hands + 1); ++i)
        for (int p = 0; p < np; ++p)
            x[p] += c->hands_u[(size_t)i * (size_t)np + (size_t)p] * f[i / 6].value[i % 6];
    soai_passive_solve(c, np, x);
    for (int r = 0; r < rows; ++r) {
        right[r] = t->rest[r];
        for (int p = 0; p < np; ++p)
            right[r] -= c->rows[(size_t)r * (size_t)c->nv + (size_t)c->passive[p]] * x[p];
    }
    for (int i = 0; i < 6; ++i) {
        found[i] = t->base[i];
        for (int p = 0; p < np; ++p)
            found[i] += c->base[(size_t)i * (size_t)c->nv + (size_t)c->passive[p]] * x[p];
    }
    for (int r = 0; r < rows; ++r) {
        double F = 0;
        for (int s = 0; s < rows; ++s)
            F += c->lambda[rows * r + s] * right[s];
        for (int i = 0; i < 6; ++i)
            found[i] += c->base_f[SOAI_TASK_ROWS * i + r] * F;
    }
}
/* J_u of the hands and the object, J of the base; kinematics stand. */
static soa_status jacobians(soa_control *c, const soa_coordination *k, int base) {
    const size_t np = (size_t)c->passives;
    soa_status s = soa_jacobian(c->model, c->work, base, SOA_AXES_WORLD, c->base);
    for (int i = 0; s == SOA_OK && np && i < 6 * (k->hands + 1); ++i) {
        double unit[6] = {0};
        unit[i % 6] = 1;
        s = soa_jacobian_transpose_mul(c->model, c->work,
                                       i < 6 * k->hands ? k->hand[i / 6] : k->object,
                                       SOA_AXES_WORLD, unit, c->unit);
        for (size_t p = 0; p < np; ++p)
            c->hands_u[(size_t)i * np + p] = c->unit[c->passive[p]];
    }
    return s;
}
/* base_f less J_B,f M_ff^-1 J_f', the accelerations without wrenches, what rows lack of theirs;
 * tasks prepared. */
static soa_status prepare_answer(trial *t, const double *q, const double *v,
                                 const double drift[6]) {
    soa_control *c = t->c;
    const size_t nv = (size_t)c->nv, nf = (size_t)c->free;
    double *a = c->x[0];
    for (int j = 0; j < c->nv; ++j)
        a[j] = 0;
    const soa_status s = soai_passive_accelerations(c, q, v, NULL, 0, a);
    if (s) return s;
    for (size_t i = 0; i < 6; ++i) {
        t->base[i] = drift[i];
        for (size_t j = 0; j < nv; ++j)
            t->base[i] += c->base[i * nv + j] * a[j];
        for (size_t r = 0; r < (size_t)t->space.rows; ++r)
            for (size_t p = 0; p < nf; ++p)
                c->base_f[SOAI_TASK_ROWS * i + r] -=
                    c->base[i * nv + (size_t)c->passive[p]] * c->rows_f[r * nf + p];
    }
    for (size_t r = 0; r < (size_t)t->space.rows; ++r) {
        t->rest[r] = t->wanted[r] - t->space.drift[r];
        for (size_t j = 0; j < nv; ++j)
            t->rest[r] -= c->rows[r * nv + j] * a[j];
    }
    return SOA_OK;
}
/* Hands accelerate with the object, relative to the frame of its goal; that frame's own
 * acceleration, which the object's wrench depends on, is found from seven trials: everything is
 * affine in it.  Kinematics stand. */
static soa_status linearise(soa_control *c, const double *q, const double *v,
                            const soa_coordination *k, const hold *h, const body_state *o,
                            const double A[6], double follow[][6], soa_coordination_result *out,
                            double *torque) {
    const int base = soai_frame_is_driven(c, k->relative_to) ? k->relative_to : 0;
    soai_hand_task tasks[SOA_HANDS];
    trial t = {.c = c, .k = k, .h = h, .o = o};
    soa_wrench f[SOA_HANDS + 1];
    soa_frame B;
    double a_base[6] = {0}, first[6], found[6], drift[6], G[36];
    if (base && c->closed.constraints) return SOA_E_ARGUMENT;
    soa_status s = soa_pose(c->model, c->work, base, &B);
    if (s || (s = soa_jacobian_dot_v(c->model, c->work, base, SOA_AXES_WORLD, drift)) ||
        (s = jacobians(c, k, base)))
        return s;
    memcpy(t.A, A, sizeof t.A);
    for (int j = 0; j < 3; ++j)
        t.arm[j] = o->frame.p[j] - B.p[j];
    for (int i = 0; i < h->n; ++i) {
        double arm[3], x[3], a[6];
        tasks[i] = (soai_hand_task){
            .frame = k->hand[i], .relative = base, .rows = 63, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
        for (int j = 0; j < 3; ++j) {
            arm[j] = h->p[i][j] - o->frame.p[j];
            tasks[i].arm[j] = h->p[i][j] - B.p[j];
        }
        soai_shift_motion(A, arm, a); /* a point of the object */
        v3_cross(o->V, arm, x);
        v3_cross_add(o->V, x, a + 3);
        for (int j = 0; j < 6; ++j)
            t.wanted[6 * i + j] = a[j] + follow[i][j];
    }
    if ((s = soai_task_prepare(c, q, v, tasks, h->n, k->damping_of_lambda, &t.space))) return s;
    if (base) { /* (1 - G) a_base = first */
        if ((s = prepare_answer(&t, q, v, drift))) return s;
        shares_of(&t, a_base, 0, out, f);
        base_answer(&t, f, first);
        for (int n = 0; n < 6; ++n) {
            double unit[6] = {0};
            unit[n] = 1;
            shares_of(&t, unit, 0, out, f);
            base_answer(&t, f, found);
            for (int r = 0; r < 6; ++r)
                G[6 * r + n] = (r == n) - (found[r] - first[r]);
        }
        memcpy(a_base, first, sizeof first);
        if (!soai_solve(6, G, a_base)) return SOA_E_SINGULAR;
    }
    shares_of(&t, a_base, 1, out, f);
    return soai_task_solve(c, q, v, &t.space, t.wanted, f, k->hands + 1, NULL, torque, NULL);
}

soa_status soa_control_coordination(soa_control *c, const double *q, const double *v,
                                    const soa_coordination *k, const soa_coordination_input *input,
                                    soa_coordination_state *state, double *tau,
                                    soa_coordination_result *result) {
    if (!input) return SOA_E_ARGUMENT;
    const soa_motion *goal = input->goal;
    const double *measured = input->measured;
    double dt = input->dt;
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && (!goal || !state || !tau || !(dt >= 0))) s = SOA_E_ARGUMENT;
    if (s || (s = check(c, k))) return s;
    if (!soai_motion_fits(goal)) return SOA_E_FRAME;
    if ((measured && !soai_all_finite(measured, 1)) || !soai_all_finite(&dt, 1) ||
        !soai_all_finite(&state->integral, 1))
        return SOA_E_NOT_FINITE;

    double *own = c->x[6], *torque = c->x[7];
    const int passive = k->form == SOA_COORDINATE_PASSIVE;
    for (int j = 0; j < c->nv; ++j)
        own[j] = 0;
    if (passive && !k->plain &&
        ((s = soai_control_torques(c, q, v, NULL, NULL, 0, c->compensate, own)) ||
         (s = soai_closed_add_cut(c, q, v, own))))
        return s;
    hold h;
    body_state o;
    soa_coordination_result out = {.squeeze = k->squeeze};
    soa_frame_error *e = &out.error;
    double turning[3];
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL)) || (s = take_hold(c, k, &h)) ||
        (s = soai_frame_error(c, k->object, k->relative_to, goal, e, turning)) ||
        (s = object_state(c, k, &h, &o)))
        return s;

    /* squeeze, with its measured size fed back */
    soa_coordination_state next = *state;
    if (measured) {
        const double lack = k->squeeze - *measured, ki = k->squeeze_gain[1];
        next.integral += lack * dt;
        if (ki > 0)
            next.integral = fmax(fmin(next.integral, k->max_integral / ki), -k->max_integral / ki);
        out.squeeze = fmax(k->squeeze + k->squeeze_gain[0] * lack + ki * next.integral, 0);
    }

    /* of the object's spring and damper; what keeps hands with the object */
    double P[6], follow[SOA_HANDS][6];
    for (int j = 0; j < 6; ++j)
        P[j] = k->stiffness[j] * e->error[j] + k->damping[j] * e->rate[j];
    rot_mul(e->goal.R, P, P);
    rot_mul(e->goal.R, P + 3, P + 3);
    if ((s = follow_object(c, k, &o, follow))) return s;
    if (passive) {
        /* feedforward of the goal's motion in its frame: none for a goal at rest there, so nothing
         * but P does work */
        double W[6], t[3], F[6], A[6], w[3], *part = c->x[5];
        for (int half = 0; half < 6; half += 3) {
            rot_tmul(goal->pose.R, goal->acceleration + half, t);
            rot_mul(e->goal.R, t, A + half);
        }
        rot_tmul(goal->pose.R, goal->twist, t);
        rot_mul(e->goal.R, t, w);
        object_wrench(c, &o, A, w, W);
        v3_cross(o.r, P + 3, t); /* they act at the frame's origin */
        for (int j = 0; j < 3; ++j) {
            W[j] += P[j] - t[j];
            W[3 + j] += P[3 + j];
        }
        soai_clamp_wrench(k->max_force, k->max_torque, W);
        share_out(&h, &o, W, &out);
        memcpy(torque, own, (size_t)c->nv * sizeof *torque);
        for (int i = 0; i < h.n; ++i) {
            for (int j = 0; j < 6; ++j)
                F[j] = out.hand_wrench[i][j] + follow[i][j];
            if ((s = soa_jacobian_transpose_mul(c->model, c->work, k->hand[i], SOA_AXES_WORLD, F,
                                                part)))
                return s;
            for (int j = 0; j < c->nv; ++j)
                torque[j] += part[j];
        }
    } else {
        double A[6];
        soai_wanted_acceleration(e, turning, k->stiffness, k->damping, A);
        if ((s = linearise(c, q, v, k, &h, &o, A, follow, &out, torque))) return s;
    }
    if (passive)
        s = soai_control_write(c, q, torque, tau);
    else
        soai_write_own(c, torque, tau);
    if (s) return s;
    *state = next;
    if (result) *result = out;
    return SOA_OK;
}
