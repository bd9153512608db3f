/* frame_laws.c  laws of frames: impedance, operational space with the generalized Jacobian, hybrid,
 *               base attitude.
 *
 * Errors of a frame H against its goal G, in G's axes:  e = [log(R_G R_H'); p_G - p_H],  e' = V_G -
 * V_H.  Operational space, f being what nobody drives and what others drive, J_f and M_af its
 * columns, N = [-M_ff^-1 M_fa; 1]:
 *     M^-1 = [M_ff^-1 0; 0 0] + N M_r^-1 N',   J_g = J N       so   J_g M_r^-1 J_g' = J M^-1 J' -
 *     J_f M_ff^-1 J_f'
 * with J M^-1 J' by RJK91 (20) in O(n).  A goal given in a frame that moves with the machine makes
 * a relative task: J is then the frame's less that frame's, so nothing need be known of its
 * acceleration.  a_b: driven coordinates do not accelerate, those that nobody drives as they must;
 * others are taken to apply their torques of that motion.
 *     F = Lambda_g (a - J'v - J a_b),   tau = (torques at a_b) + J_a'F - M_af M_ff^-1 J_f'F */
#include "control_internal.h"
#include <math.h>

soa_motion soa_motion_at_rest(const soa_frame *pose) {
    soa_motion m = {.pose = pose ? *pose : soa_frame_identity()};
    return m;
}
soa_frame_law soa_frame_law_default(int frame, int relative_to) {
    return (soa_frame_law){.frame = frame, .relative_to = relative_to};
}

static int frame_fits(const soa_control *c, int frame) {
    return frame >= 0 && frame < c->model->frames;
}
static void turn(const double R[9], const double x[6], double out[6]) {
    rot_mul(R, x, out);
    rot_mul(R, x + 3, out + 3);
}
static void turn_back(const double R[9], const double x[6], double out[6]) {
    rot_tmul(R, x, out);
    rot_tmul(R, x + 3, out + 3);
}
int soai_motion_fits(const soa_motion *g) {
    return g && soai_rotation_fits(&g->pose) && soai_all_finite(g->twist, 6) &&
           soai_all_finite(g->acceleration, 6);
}

/* --- errors ----------------------------------------------------------------------------------- */
soa_status soai_frame_error(soa_control *c, int frame, int relative_to, const soa_motion *goal,
                            soa_frame_error *out, double base_rate[3]) {
    soa_frame hand, base;
    double V[6], V_base[6], r[3], v[6], t[3];
    soa_status s = soa_pose(c->model, c->work, frame, &hand);
    if (s || (s = soa_velocity(c->model, c->work, frame, SOA_AXES_WORLD, V)) ||
        (s = soa_pose(c->model, c->work, relative_to, &base)) ||
        (s = soa_velocity(c->model, c->work, relative_to, SOA_AXES_WORLD, V_base)))
        return s;
    out->goal = soa_frame_compose(&base, &goal->pose);
    rot_mul(base.R, goal->pose.p, r);
    turn(base.R, goal->twist, v);
    /* the goal as a point of `base`, then its own motion */
    soai_shift_motion(V_base, r, out->twist);
    turn(base.R, goal->acceleration, out->acceleration);
    const double *w = V_base;
    v3_cross_add(w, v, out->acceleration); /* w_base x w_rel */
    v3_cross(w, r, t);
    v3_cross_add(w, t, out->acceleration + 3); /* centripetal */
    for (int j = 0; j < 3; ++j)
        t[j] = 2 * v[3 + j];
    v3_cross_add(w, t, out->acceleration + 3); /* Coriolis */
    for (int j = 0; j < 6; ++j)
        out->twist[j] += v[j];
    double between[9], x[6], transposed[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            transposed[3 * i + j] = hand.R[3 * j + i];
    rot_rot(out->goal.R, transposed, between);
    soa_rotation_to_vector(between, x);
    for (int j = 0; j < 3; ++j)
        x[3 + j] = out->goal.p[j] - hand.p[j];
    turn_back(out->goal.R, x, out->error);
    for (int j = 0; j < 3; ++j)
        t[j] = -x[3 + j];
    double rate[6];
    for (int j = 0; j < 6; ++j)
        rate[j] = out->twist[j] - V[j];
    v3_cross_add(w, t, rate + 3); /* as seen from `base` */
    turn_back(out->goal.R, rate, out->rate);
    if (base_rate) memcpy(base_rate, w, 3 * sizeof *base_rate);
    return SOA_OK;
}
void soai_wanted_acceleration(const soa_frame_error *e, const double w[3], const double K[6],
                              const double D[6], double A[6]) {
    double x[6], error[3], rate[6], t[3];
    for (int j = 0; j < 6; ++j)
        x[j] = K[j] * e->error[j] + D[j] * e->rate[j];
    turn(e->goal.R, x, x);
    turn(e->goal.R, e->rate, rate);
    rot_mul(e->goal.R, e->error + 3, error);
    for (int j = 0; j < 6; ++j)
        A[j] = e->acceleration[j] + x[j];
    /* from the goal's place in that frame to the hand's: w x (w x e), 2 w x e', w x (difference of
     * rates) */
    v3_cross(w, error, t);
    for (int j = 0; j < 3; ++j) {
        t[j] = -t[j] - 2 * rate[3 + j];
        rate[j] = -rate[j];
    }
    v3_cross_add(w, t, A + 3);
    v3_cross_add(w, rate, A);
}
soa_status soa_control_frame_error(soa_control *c, const double *q, const double *v, int frame,
                                   int relative_to, const soa_motion *goal,
                                   soa_frame_error *error) {
    soa_status s = soai_control_begin(c, q, v);
    if (s) return s;
    if (!error || !frame_fits(c, frame) || !frame_fits(c, relative_to)) return SOA_E_ARGUMENT;
    if (!soai_motion_fits(goal)) return goal ? SOA_E_FRAME : SOA_E_ARGUMENT;
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL))) return s;
    return soai_frame_error(c, frame, relative_to, goal, error, NULL);
}

soa_status soa_control_relative_motion(soa_control *c, const double *q, const double *v, int frame,
                                       int relative_to, soa_motion *motion) {
    soa_status s = soai_control_begin(c, q, v);
    if (s) return s;
    if (!motion || !frame_fits(c, frame) || !frame_fits(c, relative_to)) return SOA_E_ARGUMENT;
    soa_frame there, base;
    double V[6], V_base[6], r[3], carried[6];
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL)) ||
        (s = soa_pose(c->model, c->work, frame, &there)) ||
        (s = soa_velocity(c->model, c->work, frame, SOA_AXES_WORLD, V)) ||
        (s = soa_pose(c->model, c->work, relative_to, &base)) ||
        (s = soa_velocity(c->model, c->work, relative_to, SOA_AXES_WORLD, V_base)))
        return s;
    const soa_frame back = soa_frame_inverse(&base), pose = soa_frame_compose(&back, &there);
    *motion = soa_motion_at_rest(&pose);
    for (int j = 0; j < 3; ++j)
        r[j] = there.p[j] - base.p[j];
    soai_shift_motion(V_base, r, carried);
    for (int j = 0; j < 6; ++j)
        V[j] -= carried[j];
    turn_back(base.R, V, motion->twist);
    return SOA_OK;
}

static soa_status check_law(const soa_control *c, const soa_frame_law *law) {
    if (!law || !frame_fits(c, law->frame) || !frame_fits(c, law->relative_to))
        return SOA_E_ARGUMENT;
    if (!soai_all_finite(law->stiffness, 6) || !soai_all_finite(law->damping, 6))
        return SOA_E_NOT_FINITE;
    for (int j = 0; j < 6; ++j)
        if (!(law->stiffness[j] >= 0 && law->damping[j] >= 0)) return SOA_E_ARGUMENT;
    return law->max_force >= 0 && law->max_torque >= 0 ? SOA_OK : SOA_E_ARGUMENT;
}

/* --- impedance -------------------------------------------------------------------------------- */
void soai_clamp_wrench(double max_force, double max_torque, double F[6]) {
    const double n = sqrt(v3_dot(F, F)), f = sqrt(v3_dot(F + 3, F + 3));
    double scale = 1;
    if (max_torque > 0 && n > max_torque) scale = max_torque / n;
    if (max_force > 0 && f > max_force && max_force / f < scale) scale = max_force / f;
    for (int j = 0; j < 6; ++j)
        F[j] *= scale;
}
soa_status soa_control_impedance(soa_control *c, const double *q, const double *v,
                                 const soa_frame_law *law, const soa_motion *goal,
                                 const double force[6], double *tau,
                                 const soa_impedance_result *result) {
    double *wrench = result ? result->wrench : NULL;
    soa_frame_error *error = result ? result->error : NULL;
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s || (s = check_law(c, law))) return s;
    if (!soai_motion_fits(goal)) return goal ? SOA_E_FRAME : SOA_E_ARGUMENT;
    if (force && !soai_all_finite(force, 6)) return SOA_E_NOT_FINITE;
    double *torque = c->x[0], *own = c->x[1], F[6];
    for (int j = 0; j < c->nv; ++j)
        own[j] = 0;
    if (!law->plain && ((s = soai_control_torques(c, q, v, NULL, NULL, 0, c->compensate, own)) ||
                        (s = soai_closed_add_cut(c, q, v, own))))
        return s;
    soa_frame_error e;
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL)) ||
        (s = soai_frame_error(c, law->frame, law->relative_to, goal, &e, NULL)))
        return s;
    for (int j = 0; j < 6; ++j)
        F[j] =
            law->stiffness[j] * e.error[j] + law->damping[j] * e.rate[j] + (force ? force[j] : 0);
    soai_clamp_wrench(law->max_force, law->max_torque, F);
    turn(e.goal.R, F, F);
    if ((s = soa_jacobian_transpose_mul(c->model, c->work, law->frame, SOA_AXES_WORLD, F, torque)))
        return s;
    for (int j = 0; j < c->nv; ++j)
        torque[j] += own[j];
    if ((s = soai_control_write(c, q, torque, tau))) return s;
    if (wrench) memcpy(wrench, F, sizeof F);
    if (error) *error = e;
    return SOA_OK;
}

/* --- operational space ------------------------------------------------------------------------ */
/* A row of a task as wrenches: [n; f] on its frame, and what stands against it on the frame it is
 * relative to. */
typedef struct task_row {
    int task;
    double g[2][6];
} task_row;

/* Rows of J along the axes asked for and their drift J'v; kinematics stand. */
static soa_status task_rows(soa_control *c, const soai_hand_task *tasks, int count, task_row *list,
                            soai_task_space *space) {
    space->rows = 0;
    for (int k = 0; k < count; ++k) {
        const soai_hand_task *t = tasks + k;
        double drift[6], drift_base[6], shifted[6];
        soa_status s = soa_jacobian_dot_v(c->model, c->work, t->frame, SOA_AXES_WORLD, drift);
        if (s) return s;
        if (t->relative) {
            if ((s = soa_jacobian_dot_v(c->model, c->work, t->relative, SOA_AXES_WORLD,
                                        drift_base)))
                return s;
            soai_shift_motion(drift_base, t->arm, shifted);
            for (int j = 0; j < 6; ++j)
                drift[j] -= shifted[j];
        }
        turn_back(t->R, drift, drift);
        for (int j = 0; j < 6; ++j) {
            if (!(t->rows & 1u << j)) continue;
            double unit[6] = {0}, *row = c->rows + (size_t)space->rows * (size_t)c->nv;
            task_row *r = list + space->rows;
            unit[j] = 1;
            r->task = k;
            turn(t->R, unit, r->g[0]);
            for (int i = 0; i < 6; ++i)
                r->g[1][i] = -r->g[0][i];
            v3_cross_add(t->arm, r->g[1] + 3, r->g[1]);
            if ((s = soa_jacobian_transpose_mul(c->model, c->work, t->frame, SOA_AXES_WORLD,
                                                r->g[0], row)))
                return s;
            if (t->relative) {
                if ((s = soa_jacobian_transpose_mul(c->model, c->work, t->relative, SOA_AXES_WORLD,
                                                    r->g[1], c->unit)))
                    return s;
                for (int i = 0; i < c->nv; ++i)
                    row[i] += c->unit[i];
            }
            space->drift[space->rows++] = drift[j];
        }
    }
    return SOA_OK;
}
/* Omega_g in the rows asked for, from the compliance `whole` of all frames (tasks', then those they
 * are relative to) in world axes; M_ff factored. */
static void reduced_compliance(soa_control *c, const soai_hand_task *tasks, int count, int frames,
                               const task_row *list, int rows, double *omega) {
    const int n = 6 * frames, nf = c->free;
    for (int r = 0; r < rows; ++r) {
        double y[2 * SOAI_TASK_ROWS] = {0}; /* motions of all frames due to row r */
        for (int side = 0; side < (tasks[list[r].task].relative ? 2 : 1); ++side)
            for (int i = 0; i < 6; ++i) {
                const double *column = c->whole + n * (6 * (list[r].task + side * count) + i);
                for (int k = 0; k < n; ++k)
                    y[k] += list[r].g[side][i] * column[k];
            }
        for (int s = 0; s <= r; ++s) {
            double sum = v6_dot(list[s].g[0], y + 6 * list[s].task);
            if (tasks[list[s].task].relative)
                sum += v6_dot(list[s].g[1], y + 6 * (list[s].task + count));
            omega[rows * r + s] = sum;
        }
        double *x = c->rows_f + (size_t)r * (size_t)nf;
        for (int p = 0; p < nf; ++p)
            x[p] = c->rows[(size_t)r * (size_t)c->nv + (size_t)c->passive[p]];
        soai_passive_solve(c, nf, x);
        for (int i = 0; i < 6; ++i)
            c->base_f[SOAI_TASK_ROWS * i + r] = frames > count ? y[6 * count + i] : 0;
    }
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s <= r; ++s) { /* less J_f M_ff^-1 J_f' */
            const double *J = c->rows + (size_t)s * (size_t)c->nv,
                         *x = c->rows_f + (size_t)r * (size_t)nf;
            for (int p = 0; p < nf; ++p)
                omega[rows * r + s] -= x[p] * J[c->passive[p]];
            omega[rows * s + r] = omega[rows * r + s];
        }
}
/* Units that make the mean of the diagonal of J M^-1 J' 1 over all rows of the tasks' frames,
 * angular and linear ones apart. */
static int unit_sizes(int count, int frames, const double *whole, double size[2]) {
    size[0] = size[1] = 0;
    for (int i = 0; i < 6 * count; ++i)
        size[i % 6 >= 3] += whole[(6 * frames + 1) * i] / (3 * count);
    for (int k = 0; k < 2; ++k)
        size[k] = sqrt(size[k]);
    return size[0] > 0 || size[1] > 0;
}
/* Lambda = Omega^-1 through those units; damping is added to the diagonal there.  rcond: of Omega
 * without it, in the 1-norm, small too where driven joints hardly move the rows. */
static soa_status invert(const soai_hand_task *tasks, int count, int rows, const double unit[2],
                         double damping, double *omega, double *factor, double *lambda,
                         double *rcond) {
    double size[SOAI_TASK_ROWS], most = 0;
    for (int k = 0, r = 0; k < count; ++k)
        for (int j = 0; j < 6; ++j)
            if (tasks[k].rows & 1u << j) size[r++] = unit[j >= 3];
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int s = 0; s < rows; ++s) {
            omega[rows * r + s] =
                size[r] > 0 && size[s] > 0 ? omega[rows * r + s] / (size[r] * size[s]) : 0;
            sum += fabs(omega[rows * r + s]);
        }
        most = fmax(most, sum);
    }
    *rcond = fmin(1, soai_spd_inverse(rows, omega, factor, lambda) * fmin(most, 1));
    if (damping > 0) {
        for (int r = 0; r < rows; ++r)
            omega[(rows + 1) * r] += damping;
        if (!(soai_spd_inverse(rows, omega, factor, lambda) > 0)) return SOA_E_SINGULAR;
    } else if (!(*rcond >= 1e-12)) {
        return SOA_E_SINGULAR;
    }
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < rows; ++s)
            lambda[rows * r + s] =
                size[r] > 0 && size[s] > 0 ? lambda[rows * r + s] / (size[r] * size[s]) : 0;
    return SOA_OK;
}
static double row_dot(const soa_control *c, int row, const double *x) {
    const double *J = c->rows + (size_t)row * (size_t)c->nv;
    double sum = 0;
    for (int j = 0; j < c->nv; ++j)
        sum += J[j] * x[j];
    return sum;
}

/* The same units from Omega itself, over the rows asked for. */
static int row_sizes(const soai_hand_task *tasks, int count, int rows, const double *omega,
                     double size[2]) {
    int number[2] = {0, 0};
    size[0] = size[1] = 0;
    for (int k = 0, r = 0; k < count; ++k)
        for (int j = 0; j < 6; ++j) {
            if (!(tasks[k].rows & 1u << j)) continue;
            size[j >= 3] += omega[(rows + 1) * r++];
            ++number[j >= 3];
        }
    for (int k = 0; k < 2; ++k)
        size[k] = number[k] ? sqrt(size[k] / number[k]) : 0;
    return size[0] > 0 || size[1] > 0;
}
/* A machine with loops. */
static soa_status prepare_closed(soa_control *c, const double *q, const double *v,
                                 const soai_hand_task *tasks, int count, double damping,
                                 soai_task_space *space) {
    task_row list[SOAI_TASK_ROWS];
    double unit[2];
    soa_status s = soa_kinematics(c->model, c->work, q, v, NULL);
    if (s || (s = task_rows(c, tasks, count, list, space))) return s;
    if (!space->rows) return SOA_E_ARGUMENT;
    if ((s = soai_closed_compliance(c, q, v, space->rows, c->omega))) return s;
    if (!row_sizes(tasks, count, space->rows, c->omega, unit)) return SOA_E_SINGULAR;
    return invert(tasks, count, space->rows, unit, damping, c->omega, c->factor, c->lambda,
                  &space->rcond);
}

soa_status soai_task_prepare(soa_control *c, const double *q, const double *v,
                             const soai_hand_task *tasks, int count, double damping,
                             soai_task_space *space) {
    task_row list[SOAI_TASK_ROWS];
    int frames[2 * SOA_FRAME_TASKS], number = count;
    double unit[2];
    space->rcond = 0;
    if (!(damping >= 0)) return SOA_E_ARGUMENT;
    if (c->closed.constraints) return prepare_closed(c, q, v, tasks, count, damping, space);
    /* nothing that is driven moves it */
    for (int k = 0; k < count; ++k)
        if (!soai_frame_is_driven(c, tasks[k].frame)) return SOA_E_SINGULAR;
    soa_status s = soai_passive_factor(c, q, c->free);
    if (s || (s = soa_kinematics(c->model, c->work, q, v, NULL)) ||
        (s = task_rows(c, tasks, count, list, space)))
        return s;
    if (!space->rows) return SOA_E_ARGUMENT;
    for (int k = 0; k < count; ++k) {
        frames[k] = tasks[k].frame;
        frames[count + k] = tasks[k].relative;
        if (tasks[k].relative) number = 2 * count;
    }
    if ((s = soa_compliance(c->model, c->work, q, frames, number, SOA_AXES_WORLD, c->whole)))
        return s;
    if (!unit_sizes(count, number, c->whole, unit)) return SOA_E_SINGULAR;
    reduced_compliance(c, tasks, count, number, list, space->rows, c->omega);
    return invert(tasks, count, space->rows, unit, damping, c->omega, c->factor, c->lambda,
                  &space->rcond);
}
soa_status soai_task_solve(soa_control *c, const double *q, const double *v,
                           const soai_task_space *space, const double *wanted,
                           const soa_wrench *wrenches, int wrench_count, const double *posture,
                           double *torque, double *a_out) {
    if (c->closed.constraints)
        return soai_closed_task(c, q, v, space, wanted, wrenches, wrench_count, posture, torque,
                                a_out);
    const soa_model *m = c->model;
    const int rows = space->rows;
    double *a = c->x[0], *force = c->x[1], *x = c->x[2], *y = c->x[3], right[SOAI_TASK_ROWS];
    for (int j = 0; j < c->nv; ++j)
        a[j] = 0;
    soa_status s = soai_passive_accelerations(c, q, v, wrenches, wrench_count, a); /* a_b */
    if (s || (s = soai_control_torques(c, q, v, a, wrenches, wrench_count, c->compensate, torque)))
        return s;
    if (posture && (s = soa_minv_mul(m, c->work, q, posture, x))) return s;
    for (int r = 0; r < rows; ++r)
        right[r] =
            wanted[r] - space->drift[r] - row_dot(c, r, a) - (posture ? row_dot(c, r, x) : 0);
    for (int j = 0; j < c->nv; ++j)
        force[j] = 0;
    for (int r = 0; r < rows; ++r) {
        double F = 0;
        for (int i = 0; i < rows; ++i)
            F += c->lambda[rows * r + i] * right[i];
        for (int j = 0; j < c->nv; ++j)
            force[j] += c->rows[(size_t)r * (size_t)c->nv + (size_t)j] * F; /* J'F */
    }
    if (c->free) { /* J_g'F: less M_af M_ff^-1 J_f'F */
        for (int p = 0; p < c->free; ++p)
            c->small[p] = force[c->passive[p]];
        soai_passive_solve(c, c->free, c->small);
        for (int j = 0; j < c->nv; ++j)
            x[j] = 0;
        for (int p = 0; p < c->free; ++p)
            x[c->passive[p]] = c->small[p];
        if ((s = soa_mass_mul(m, c->work, q, x, y))) return s;
        for (int j = 0; j < c->nv; ++j)
            force[j] -= y[j];
    }
    for (int j = 0; j < c->nv; ++j) {
        if (soai_own(c, j)) {
            force[j] = force[j] + (posture ? posture[j] : 0);
        } else {
            force[j] = 0;
        }
    }
    if (a_out) {
        if ((s = soa_minv_mul(m, c->work, q, force, x))) return s;
        for (int j = 0; j < c->nv; ++j)
            a_out[j] = a[j] + x[j];
    }
    for (int j = 0; j < c->nv; ++j)
        torque[j] += force[j];
    return SOA_OK;
}

/* The task of one law: the goal's axes, relative to the frame the goal is given in where that moves
 * with what is driven; kinematics stand. */
static soa_status task_of(const soa_control *c, const soa_frame_law *law, unsigned rows,
                          const soa_frame_error *e, soai_hand_task *t) {
    soa_frame hand, base;
    soa_status s = soa_pose(c->model, c->work, law->frame, &hand);
    if (s || (s = soa_pose(c->model, c->work, law->relative_to, &base))) return s;
    *t = (soai_hand_task){.frame = law->frame, .rows = rows ? rows : 63};
    memcpy(t->R, e->goal.R, sizeof t->R);
    if (!soai_frame_is_driven(c, law->relative_to)) return SOA_OK;
    t->relative = law->relative_to;
    for (int j = 0; j < 3; ++j)
        t->arm[j] = hand.p[j] - base.p[j];
    return SOA_OK;
}

soa_status soa_control_operational_space(soa_control *c, const double *q, const double *v,
                                         const soa_frame_task *tasks, int count,
                                         const soa_operational_options *options, double *tau,
                                         const soa_operational_result *result) {
    double *a_out = result ? result->a : NULL;
    soa_frame_error *error = result ? result->error : NULL;
    double *rcond = result ? result->rcond : NULL;
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && (!tau || !tasks || count < 1 || count > SOA_FRAME_TASKS)) s = SOA_E_ARGUMENT;
    if (s) return s;
    const soa_operational_options none = {0}, *o = options ? options : &none;
    soai_hand_task hands[SOA_FRAME_TASKS];
    soai_task_space space;
    soa_frame_error e[SOA_FRAME_TASKS];
    double wanted[SOAI_TASK_ROWS], *posture = c->x[4], *torque = c->x[5], *a = c->x[6];
    for (int k = 0; k < count; ++k) {
        if ((s = check_law(c, &tasks[k].law))) return s;
        if (tasks[k].rows >= 64) return SOA_E_ARGUMENT;
        if (!soai_motion_fits(&tasks[k].goal)) return SOA_E_FRAME;
    }
    for (int j = 0; j < c->nv; ++j)
        posture[j] = o->posture && soai_own(c, j) ? o->posture[j] : 0;
    if (!soai_all_finite(posture, (size_t)c->nv)) return SOA_E_NOT_FINITE;
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL))) return s;
    for (int k = 0, r = 0; k < count; ++k) {
        const soa_frame_law *law = &tasks[k].law;
        double A[6], turning[3];
        if ((s = soai_frame_error(c, law->frame, law->relative_to, &tasks[k].goal, e + k,
                                  turning)) ||
            (s = task_of(c, law, tasks[k].rows, e + k, hands + k)))
            return s;
        soai_wanted_acceleration(e + k, turning, law->stiffness, law->damping, A);
        turn_back(hands[k].R, A, A);
        for (int j = 0; j < 6; ++j)
            if (hands[k].rows & 1u << j) wanted[r++] = A[j];
    }
    s = soai_task_prepare(c, q, v, hands, count, o->damping, &space);
    if (rcond) *rcond = space.rcond;
    if (s || (s = soai_task_solve(c, q, v, &space, wanted, o->wrenches, o->wrench_count,
                                  o->posture ? posture : NULL, torque, a_out ? a : NULL)))
        return s;
    soai_write_own(c, torque, tau);
    for (int j = 0; a_out && j < c->nv; ++j)
        a_out[j] = a[j];
    for (int k = 0; error && k < count; ++k)
        error[k] = e[k];
    return SOA_OK;
}

soa_status soa_control_generalised_jacobian(soa_control *c, const double *q, int frame,
                                            soa_axes axes, double *J) {
    if (!c || !q || !J || !frame_fits(c, frame) || c->closed.constraints) return SOA_E_ARGUMENT;
    const int nv = c->nv;
    double *x = c->x[0], *y = c->x[1], *rows = c->rows;
    soa_status s = soa_kinematics(c->model, c->work, q, NULL, NULL);
    if (s || (s = soa_jacobian(c->model, c->work, frame, axes, rows)) ||
        (s = soai_passive_factor(c, q, c->passives)))
        return s;
    for (int j = 0; j < nv; ++j)
        x[j] = 0;
    for (int r = 0; r < 6; ++r) {
        double *row = rows + r * nv;
        for (int p = 0; p < c->passives; ++p)
            c->small[p] = row[c->passive[p]];
        soai_passive_solve(c, c->passives, c->small);
        for (int p = 0; p < c->passives; ++p)
            x[c->passive[p]] = c->small[p];
        if (c->passives && (s = soa_mass_mul(c->model, c->work, q, x, y))) return s;
        for (int j = 0; c->passives && j < nv; ++j)
            row[j] -= y[j];
    }
    for (int r = 0; r < 6; ++r)
        for (int j = 0; j < nv; ++j)
            J[r * nv + j] = soai_own(c, j) ? rows[r * nv + j] : 0;
    return SOA_OK;
}

/* --- hybrid, base ----------------------------------------------------------------------------- */
/* The surroundings push back with F_d (and its correction) along force rows, with what is measured
 * along the others; under these wrenches the hand is to accelerate as the motion rows say and only
 * be damped along force rows. */
soa_status soa_control_hybrid(soa_control *c, const double *q, const double *v,
                              const soa_hybrid_law *h, const soa_hybrid_input *input,
                              soa_hybrid_state *state, double *tau, soa_frame_error *error) {
    if (!input) return SOA_E_ARGUMENT;
    const soa_motion *goal = input->goal;
    const double *force = input->force;
    const double *measured = input->measured;
    double dt = input->dt;
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && (!h || !force || !measured || !state || !tau || !goal)) s = SOA_E_ARGUMENT;
    if (s || (s = check_law(c, &h->law))) return s;
    if (h->force_rows >= 64 || !(dt >= 0) || !(h->force_gain[0] >= 0) || !(h->force_gain[1] >= 0) ||
        !(h->max_integral >= 0) || !(h->damping_of_lambda >= 0))
        return SOA_E_ARGUMENT;
    if (!soai_all_finite(force, 6) || !soai_all_finite(measured, 6) || !soai_all_finite(&dt, 1) ||
        !soai_all_finite(h->force_gain, 2) || !soai_all_finite(state->integral, 6))
        return SOA_E_NOT_FINITE;
    if (!soai_motion_fits(goal)) return SOA_E_FRAME;
    soa_frame_error e;
    double turning[3];
    if ((s = soa_kinematics(c->model, c->work, q, v, NULL)) ||
        (s = soai_frame_error(c, h->law.frame, h->law.relative_to, goal, &e, turning)))
        return s;
    soai_hand_task hand;
    soai_task_space space;
    soa_hybrid_state next = *state;
    double F[6], a[6], still[6], zero[6] = {0}, *torque = c->x[5];
    if ((s = task_of(c, &h->law, 0, &e, &hand))) return s;
    soai_wanted_acceleration(&e, turning, h->law.stiffness, h->law.damping, a);
    turn_back(hand.R, a, a);
    soa_motion calm = *goal; /* along force rows the hand is only damped */
    soa_frame_error there;
    memset(calm.acceleration, 0, sizeof calm.acceleration);
    if ((s = soai_frame_error(c, h->law.frame, h->law.relative_to, &calm, &there, NULL))) return s;
    soai_wanted_acceleration(&there, turning, zero, h->law.damping, still);
    turn_back(hand.R, still, still);
    const double kp = h->force_gain[0], ki = h->force_gain[1];
    for (int j = 0; j < 6; ++j) {
        if (!(h->force_rows & 1u << j)) {
            F[j] = measured[j];
            continue;
        }
        const double lack = force[j] - measured[j];
        next.integral[j] += lack * dt;
        if (ki > 0)
            next.integral[j] =
                fmax(fmin(next.integral[j], h->max_integral / ki), -h->max_integral / ki);
        a[j] = still[j];
        F[j] = force[j] + kp * lack + ki * next.integral[j];
    }
    soai_clamp_wrench(h->law.max_force, h->law.max_torque, F);
    soa_wrench back = {.frame = h->law.frame, .axes = SOA_AXES_WORLD};
    turn(hand.R, F, back.value);
    for (int j = 0; j < 6; ++j)
        back.value[j] = -back.value[j];
    if ((s = soai_task_prepare(c, q, v, &hand, 1, h->damping_of_lambda, &space)) ||
        (s = soai_task_solve(c, q, v, &space, a, &back, 1, NULL, torque, NULL)))
        return s;
    soai_write_own(c, torque, tau);
    *state = next;
    if (error) *error = e;
    return SOA_OK;
}

soa_status soa_control_base_attitude(soa_control *c, const double *q, const double *v,
                                     const soa_attitude_law *law, const soa_motion *goal,
                                     const soa_operational_options *options, double *tau,
                                     soa_frame_error *error) {
    if (!law) return SOA_E_ARGUMENT;
    int base_frame = law->frame;
    double stiffness = law->stiffness;
    double damping = law->damping;
    if (!goal) return SOA_E_ARGUMENT;
    soa_frame_task task = {
        .law = soa_frame_law_default(base_frame, 0), .rows = SOA_ROWS_ANGULAR, .goal = *goal};
    for (int j = 0; j < 3; ++j) {
        task.law.stiffness[j] = stiffness;
        task.law.damping[j] = damping;
    }
    return soa_control_operational_space(c, q, v, &task, 1, options, tau,
                                         &(soa_operational_result){.error = error});
}
