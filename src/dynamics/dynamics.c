/* dynamics.c  the public calls: check, map coordinates, run a sweep, map back.
 *
 * coordinates.h maps between the caller's vectors and the tree's. */
#include "coordinates.h"
#include "../spatial/algebra.h"

/* --- checks ----------------------------------------------------------------------------------- */
/* Every public call starts here: right model, finite numbers, unit quaternions. */
static soa_status begin(const soa_model *m, soa_work *w, const double *q, const double *v,
                        const double *a, const double *t) {
    if (!m || !w || w->model != m) return SOA_E_ARGUMENT;
    const soa_status s = soai_check_state(m, q, v, a, t, &w->body);
    if (s == SOA_OK) soai_work_take(w);
    return s;
}
static soa_status hinge(soa_work *w, int body) {
    if (!body) return SOA_OK;
    w->body = body;
    return SOA_E_HINGE_SINGULAR;
}
static soa_status check_wrenches(const soa_model *m, soa_work *w, const soa_wrench *f, int count) {
    if (count < 0 || (count && !f)) return SOA_E_ARGUMENT;
    for (int i = 0; i < count; ++i) {
        if (f[i].frame < 0 || f[i].frame >= m->frames || !soai_is_axes(f[i].axes))
            return SOA_E_ARGUMENT;
        if (!soai_all_finite(f[i].value, 6)) {
            w->body = SOAI_AT(m, soai_frame_row, frame)[f[i].frame].body;
            return SOA_E_NOT_FINITE;
        }
    }
    return SOA_OK;
}

/* Wrenches in body axes at body origins (NULL if there are none).  Those fixed in the world are
 * left out when `only_body` asks so; their axes need poses, which are then computed. */
static double *body_wrenches(soa_work *w, const double *tq, const soa_wrench *f, int count,
                             int only_body) {
    const soa_model *m = w->model;
    if (!count) return NULL;
    int posed = 0;
    for (int j = 0; j < 6 * m->nb; ++j)
        w->fext[j] = 0;
    for (int i = 0; i < count; ++i) {
        const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + f[i].frame;
        if (!row->body) continue;
        double n[3], g[3];
        if (f[i].axes == SOA_AXES_WORLD) {
            if (only_body) continue;
            if (!posed) {
                w->k->kinematics(&w->view, &w->w, tq, w->zero, w->zero);
                posed = 1;
            }
            rot_tmul(w->w.Rw + 9 * row->body, f[i].value, n);
            rot_tmul(w->w.Rw + 9 * row->body, f[i].value + 3, g);
        } else {
            rot_mul(row->R, f[i].value, n);
            rot_mul(row->R, f[i].value + 3, g);
        }
        v3_cross_add(row->p, g, n);
        double *out = w->fext + 6 * (row->body - 1);
        for (int j = 0; j < 3; ++j) {
            out[j] += n[j];
            out[3 + j] += g[j];
        }
    }
    return w->fext;
}

/* --- kinematics ------------------------------------------------------------------------------- */
/* For a call of its own: readers do not see it. */
static soa_status move(const soa_model *m, soa_work *w, const double *q, const double *v,
                       const double *a) {
    const soa_status s = begin(m, w, q, v, a, NULL);
    if (s == SOA_OK)
        w->k->kinematics(&w->view, &w->w, tree_q(w, q), tree_motion(w, v, w->tv),
                         tree_motion(w, a, w->ta));
    return s;
}
soa_status soa_kinematics(const soa_model *m, soa_work *w, const double *q, const double *v,
                          const double *a) {
    const soa_status s = move(m, w, q, v, a);
    if (s == SOA_OK) w->readable = SOAI_READ_KINEMATICS;
    return s;
}

/* Pose of a frame: rotation to world axes and position. */
static void frame_pose(const soa_work *w, const soai_frame_row *f, double R[9], double p[3]) {
    if (!f->body) {
        memcpy(R, f->R, sizeof f->R);
        memcpy(p, f->p, sizeof f->p);
        return;
    }
    rot_rot(w->w.Rw + 9 * f->body, f->R, R);
    rot_mul(w->w.Rw + 9 * f->body, f->p, p);
    for (int i = 0; i < 3; ++i)
        p[i] += w->w.pw[3 * f->body + i];
}
/* How a reader starts: a frame of the model, axes, and soa_kinematics before it. */
static soa_status begin_reading(const soa_model *m, const soa_work *w, int frame, soa_axes axes,
                                const soai_frame_row **row) {
    if (!m || !w || w->model != m || frame < 0 || frame >= m->frames || !soai_is_axes(axes))
        return SOA_E_ARGUMENT;
    *row = SOAI_AT(m, soai_frame_row, frame) + frame;
    return w->readable == SOAI_READ_KINEMATICS ? SOA_OK : SOA_E_ORDER;
}

soa_status soa_pose(const soa_model *m, const soa_work *w, int frame, soa_frame *pose) {
    const soai_frame_row *f;
    if (!pose) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, SOA_AXES_WORLD, &f);
    if (s) return s;
    frame_pose(w, f, pose->R, pose->p);
    return SOA_OK;
}

/* A body's motion vector at the frame's origin, turned into the axes asked for. */
static void to_frame(const soa_work *w, const soai_frame_row *f, soa_axes axes,
                     const double *motion, double out[6]) {
    double X[6] = {0};
    if (f->body) motion_out(f->R, f->p, motion, X); /* in the frame's own axes */
    if (axes == SOA_AXES_WORLD) {
        double R[9], p[3];
        frame_pose(w, f, R, p);
        rot_mul(R, X, X);
        rot_mul(R, X + 3, X + 3);
    }
    memcpy(out, X, sizeof X);
}
soa_status soa_velocity(const soa_model *m, const soa_work *w, int frame, soa_axes axes,
                        double V[6]) {
    const soai_frame_row *f;
    if (!V) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    to_frame(w, f, axes, w->w.b[f->body].V, V);
    return SOA_OK;
}
soa_status soa_acceleration_spatial(const soa_model *m, const soa_work *w, int frame, soa_axes axes,
                                    double A[6]) {
    const soai_frame_row *f;
    if (!A) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    to_frame(w, f, axes, w->w.b[f->body].A, A);
    return SOA_OK;
}
/* classical = spatial + [0; w x v] */
static void add_centripetal(const soa_work *w, const soai_frame_row *f, soa_axes axes,
                            double A[6]) {
    double V[6];
    to_frame(w, f, axes, w->w.b[f->body].V, V);
    v3_cross_add(V, V + 3, A + 3);
}
soa_status soa_acceleration_classical(const soa_model *m, const soa_work *w, int frame,
                                      soa_axes axes, double A[6]) {
    const soa_status s = soa_acceleration_spatial(m, w, frame, axes, A);
    if (s == SOA_OK) add_centripetal(w, SOAI_AT(m, soai_frame_row, frame) + frame, axes, A);
    return s;
}

/* Rows of a motion (6 x cols) from world axes to the frame's. */
static void rows_to_axes(const double R[9], int cols, double *J) {
    for (int c = 0; c < cols; ++c)
        for (int half = 0; half < 6; half += 3) {
            double x[3];
            for (int r = 0; r < 3; ++r)
                x[r] = J[(size_t)(half + r) * (size_t)cols + (size_t)c];
            rot_tmul(R, x, x);
            for (int r = 0; r < 3; ++r)
                J[(size_t)(half + r) * (size_t)cols + (size_t)c] = x[r];
        }
}
soa_status soa_jacobian(const soa_model *m, soa_work *w, int frame, soa_axes axes, double *J) {
    const soai_frame_row *f;
    if (!J) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    double R[9], p[3], *tree = m->nm ? w->wide : J;
    frame_pose(w, f, R, p);
    memset(tree, 0, 6 * (size_t)m->tv * sizeof *tree);
    w->k->jacobian(&w->view, &w->w, f->body, p, tree);
    if (m->nm) user_columns(w, 6, tree, J);
    if (axes == SOA_AXES_BODY) rows_to_axes(R, m->nv, J);
    return SOA_OK;
}

/* out += motion x of body i (body axes), seen at point p in world axes */
static void add_at_point(const soa_work *w, int i, const double x[6], const double p[3],
                         double out[6]) {
    double y[6], arm[3];
    rot_mul(w->w.Rw + 9 * i, x, y);
    rot_mul(w->w.Rw + 9 * i, x + 3, y + 3);
    for (int j = 0; j < 3; ++j)
        arm[j] = w->w.pw[3 * i + j] - p[j];
    v3_cross_add(arm, y, y + 3);
    for (int j = 0; j < 6; ++j)
        out[j] += y[j];
}
static void column_of(const soa_work *w, const soai_body_double *b, int c, double H[6]) {
    const int varies = b->type == SOA_UNIVERSAL || b->type == SOA_PLANAR;
    memcpy(H, varies ? w->w.H + 6 * (b->iv + c) : w->view.dof[b->iv + c].H, 6 * sizeof *H);
}
soa_status soa_jacobian_mul(const soa_model *m, soa_work *w, int frame, soa_axes axes,
                            const double *v, double V[6]) {
    const soai_frame_row *f;
    if (!v || !V) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    if (!soai_all_finite(v, (size_t)m->nv)) return SOA_E_NOT_FINITE;
    const double *x = tree_motion(w, v, w->tt);
    double R[9], p[3], out[6] = {0};
    frame_pose(w, f, R, p);
    for (int i = f->body; i; i = w->view.body[i].parent) {
        const soai_body_double *b = w->view.body + i;
        double H[6], sum[6] = {0};
        for (int c = 0; c < b->nv; ++c) {
            column_of(w, b, c, H);
            v6_add_scaled(x[b->iv + c], H, sum);
        }
        add_at_point(w, i, sum, p, out);
    }
    if (axes == SOA_AXES_BODY) rows_to_axes(R, 1, out);
    memcpy(V, out, sizeof out);
    return SOA_OK;
}
soa_status soa_jacobian_transpose_mul(const soa_model *m, soa_work *w, int frame, soa_axes axes,
                                      const double force[6], double *tau) {
    const soai_frame_row *f;
    if (!force || !tau) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    if (!soai_all_finite(force, 6)) return SOA_E_NOT_FINITE;
    double R[9], p[3], g[6], *tree = m->nm ? w->tt : tau;
    frame_pose(w, f, R, p);
    memcpy(g, force, sizeof g);
    if (axes == SOA_AXES_BODY) {
        rot_mul(R, g, g);
        rot_mul(R, g + 3, g + 3);
    }
    for (int j = 0; j < m->tv; ++j)
        tree[j] = 0;
    for (int i = f->body; i; i = w->view.body[i].parent) {
        const soai_body_double *b = w->view.body + i;
        double x[6], arm[3], H[6];
        memcpy(x, g, sizeof x);
        for (int j = 0; j < 3; ++j)
            arm[j] = p[j] - w->w.pw[3 * i + j];
        v3_cross_add(arm, g + 3, x);
        rot_tmul(w->w.Rw + 9 * i, x, x);
        rot_tmul(w->w.Rw + 9 * i, x + 3, x + 3);
        for (int c = 0; c < b->nv; ++c) {
            column_of(w, b, c, H);
            tree[b->iv + c] = v6_dot(H, x);
        }
    }
    if (m->nm) user_torque(w, tree, tau);
    return SOA_OK;
}
soa_status soa_jacobian_dot_v(const soa_model *m, soa_work *w, int frame, soa_axes axes,
                              double A[6]) {
    const soai_frame_row *f;
    if (!A) return SOA_E_ARGUMENT;
    const soa_status s = begin_reading(m, w, frame, axes, &f);
    if (s) return s;
    double R[9], p[3], out[6] = {0};
    frame_pose(w, f, R, p);
    for (int i = f->body; i; i = w->view.body[i].parent)
        add_at_point(w, i, w->w.c + 6 * i, p, out);
    if (axes == SOA_AXES_BODY) rows_to_axes(R, 1, out);
    add_centripetal(w, f, axes, out);
    memcpy(A, out, sizeof out);
    return SOA_OK;
}

/* --- inverse dynamics ------------------------------------------------------------------------- */
soa_status soa_rnea(const soa_model *m, soa_work *w, const double *q, const double *v,
                    const double *a, const soa_wrench *wrenches, int wrench_count, double *tau) {
    soa_status s = begin(m, w, q, v, a, NULL);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s || (s = check_wrenches(m, w, wrenches, wrench_count))) return s;
    const double *tq = tree_q(w, q);
    const double *fext =
        soai_wrenches_to_chosen(w, body_wrenches(w, tq, wrenches, wrench_count, 0));
    double *out = m->nm ? w->tt : tau;
    w->k->rnea(&w->aligned, &w->w, tq, tree_motion(w, v, w->tv), tree_motion(w, a, w->ta), fext,
               out);
    if (m->nm) user_torque(w, out, tau);
    w->readable = SOAI_READ_FORCES;
    return SOA_OK;
}
soa_status soa_bias_torque(const soa_model *m, soa_work *w, const double *q, const double *v,
                           double *tau) {
    return soa_rnea(m, w, q, v, NULL, NULL, 0, tau);
}
soa_status soa_gravity_torque(const soa_model *m, soa_work *w, const double *q, double *tau) {
    soa_status s = begin(m, w, q, NULL, NULL, NULL);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s) return s;
    soai_view_double view = w->aligned;
    view.losses = 0; /* springs are not gravity */
    double *out = m->nm ? w->tt : tau;
    w->k->rnea(&view, &w->w, tree_q(w, q), w->zero, w->zero, NULL, out);
    if (m->nm) user_torque(w, out, tau);
    return SOA_OK;
}
soa_status soa_coriolis_mul(const soa_model *m, soa_work *w, const double *q, const double *v,
                            const double *x, double *out) {
    soa_status s = begin(m, w, q, v, x, NULL);
    if (s == SOA_OK && !out) s = SOA_E_ARGUMENT;
    if (s) return s;
    double *tree = m->nm ? w->tt : w->user; /* `out` may be one of the inputs */
    w->k->coriolis_mul(&w->view, &w->w, tree_q(w, q), tree_motion(w, v, w->tv),
                       tree_motion(w, x, w->ta), tree);
    if (m->nm)
        user_torque(w, tree, out);
    else
        memcpy(out, tree, (size_t)m->nv * sizeof *out);
    return SOA_OK;
}
soa_status soa_joint_force(const soa_model *m, const soa_work *w, int body, double f[6]) {
    if (!m || !w || w->model != m || body < 1 || body > m->nb || !f) return SOA_E_ARGUMENT;
    if (w->readable != SOAI_READ_FORCES) return SOA_E_ORDER;
    soai_wrench_from_chosen(w->frames + body, w->w.b[body].f, f);
    return SOA_OK;
}

/* --- mass matrix ------------------------------------------------------------------------------ */
typedef enum mass_form { MASS_ALIGNED, MASS_USER, MASS_AS_PRINTED } mass_form;
static soa_status form_mass(const soa_model *m, soa_work *w, const double *q, double *M,
                            mass_form form) {
    soa_status s = begin(m, w, q, NULL, NULL, NULL);
    if (s == SOA_OK && !M) s = SOA_E_ARGUMENT;
    if (s) return s;
    double *tree = m->nm ? w->matrix : M;
    const soai_view_double *view = form == MASS_ALIGNED ? &w->aligned : &w->view;
    if (form == MASS_AS_PRINTED)
        w->k->mass_r87(view, &w->w, tree_q(w, q), tree);
    else
        (w->by_columns ? w->k->mass : w->k->crba)(view, &w->w, tree_q(w, q), tree);
    if (m->nm) user_matrix(w, tree, M);
    return SOA_OK;
}
soa_status soa_crba(const soa_model *m, soa_work *w, const double *q, double *M) {
    return form_mass(m, w, q, M, MASS_ALIGNED);
}
soa_status soai_crba_user(const soa_model *m, soa_work *w, const double *q, double *M) {
    return form_mass(m, w, q, M, MASS_USER);
}
soa_status soa_mass_r87(const soa_model *m, soa_work *w, const double *q, double *M) {
    return form_mass(m, w, q, M, MASS_AS_PRINTED);
}

soa_status soa_mass_mul(const soa_model *m, soa_work *w, const double *q, const double *x,
                        double *y) {
    soa_status s = begin(m, w, q, x, NULL, NULL);
    if (s == SOA_OK && (!x || !y)) s = SOA_E_ARGUMENT;
    if (s) return s;
    double *out = m->nm ? w->tt : y;
    w->k->positions(&w->view, &w->w, tree_q(w, q));
    w->k->mass_mul(&w->view, &w->w, tree_motion(w, x, w->tv), out);
    if (m->nm) user_torque(w, out, y);
    return SOA_OK;
}
soa_status soa_minv_mul(const soa_model *m, soa_work *w, const double *q, const double *x,
                        double *y) {
    soa_status s = begin(m, w, q, x, NULL, NULL);
    if (s == SOA_OK && (!x || !y)) s = SOA_E_ARGUMENT;
    if (s) return s;
    double *out = m->nm ? w->tt : y;
    s = hinge(w, soai_work_accelerate(w, tree_q(w, q), tree_torque(w, x, w->tv), out));
    if (s == SOA_OK && m->nm) user_motion(w, out, y);
    return s;
}
soa_status soai_minv_mul_articulated(const soa_model *m, soa_work *w, const double *q,
                                     const double *x, double *y) {
    soa_status s = begin(m, w, q, x, NULL, NULL);
    if (s || (s = hinge(w, soai_work_articulate(w, tree_q(w, q))))) return s;
    double *out = m->nm ? w->tt : y;
    w->k->minv_mul(&w->view, &w->w, tree_torque(w, x, w->tv), out);
    if (m->nm) user_motion(w, out, y);
    return SOA_OK;
}
/* Columns of M^-1 X in place, X being nv x nv in the caller's coordinates; articulated inertias
 * are valid. */
static void minv_columns(soa_work *w, double sign, double *X) {
    const soa_model *m = w->model;
    const size_t n = (size_t)m->nv;
    for (size_t c = 0; c < n; ++c) {
        for (size_t r = 0; r < n; ++r)
            w->user[r] = sign * X[n * r + c];
        w->k->minv_mul(w->articulated, &w->w, tree_torque(w, w->user, w->tv), w->tt);
        if (m->nm)
            user_motion(w, w->tt, w->user);
        else
            memcpy(w->user, w->tt, n * sizeof *w->user);
        for (size_t r = 0; r < n; ++r)
            X[n * r + c] = w->user[r];
    }
}
soa_status soa_minv(const soa_model *m, soa_work *w, const double *q, double *Minv) {
    soa_status s = begin(m, w, q, NULL, NULL, NULL);
    if (s == SOA_OK && !Minv) s = SOA_E_ARGUMENT;
    if (s || (s = hinge(w, soai_work_articulate(w, tree_q(w, q))))) return s;
    if (!m->nm) {
        w->k->minv_form(&w->view, &w->w, Minv);
        return SOA_OK;
    }
    const size_t n = (size_t)m->nv;
    for (size_t j = 0; j < n * n; ++j)
        Minv[j] = j % (n + 1) == 0;
    minv_columns(w, 1, Minv);
    return SOA_OK;
}

/* --- forward dynamics ------------------------------------------------------------------------- */
soa_status soa_aba(const soa_model *m, soa_work *w, const double *q, const double *v,
                   const double *tau, const soa_wrench *wrenches, int wrench_count, double *qdd) {
    soa_status s = begin(m, w, q, v, NULL, tau);
    if (s == SOA_OK && !qdd) s = SOA_E_ARGUMENT;
    if (s || (s = check_wrenches(m, w, wrenches, wrench_count))) return s;
    const double *tq = tree_q(w, q);
    const double *fext =
        soai_wrenches_to_chosen(w, body_wrenches(w, tq, wrenches, wrench_count, 0));
    double *out = m->nm ? w->tt : qdd;
    s = hinge(w, w->k->aba(&w->aligned, &w->w, tq, tree_motion(w, v, w->tv),
                           tree_torque(w, tau, w->ta), fext, out));
    if (s == SOA_OK && m->nm) user_motion(w, out, qdd);
    return s;
}

soa_status soai_aba_articulated(const soa_model *m, soa_work *w, const soa_input *input,
                                double *qdd) {
    w->w.keeps = 1;
    const soa_status s =
        soa_aba(m, w, input->q, input->v, input->tau, input->wrenches, input->wrench_count, qdd);
    w->w.keeps = 0;
    w->articulated = &w->aligned;
    return s;
}

soa_status soai_forward_inputs(const soa_model *m, soa_work *w, const soa_input *input,
                               soai_inputs *in) {
    soa_status s = begin(m, w, input->q, input->v, NULL, input->tau);
    if (s || (s = check_wrenches(m, w, input->wrenches, input->wrench_count))) return s;
    for (int i = 1; i <= m->nb; ++i) {
        if (!w->view.body[i].rotor && soai_metas(m)[i].leader < 0) continue;
        w->body = i;
        return w->view.body[i].rotor ? SOA_E_JOINT : SOA_E_MIMIC;
    }
    *in = (soai_inputs){.q = tree_q(w, input->q),
                        .v = tree_motion(w, input->v, w->tv),
                        .tau = tree_torque(w, input->tau, w->ta)};
    in->fext = body_wrenches(w, in->q, input->wrenches, input->wrench_count, 0);
    return SOA_OK;
}

/* --- energy, momentum, identification --------------------------------------------------------- */
soa_status soa_energy(const soa_model *m, soa_work *w, const double *q, const double *v,
                      double *kinetic, double *potential) {
    const soa_status s = move(m, w, q, v, NULL);
    if (s) return s;
    const double *tq = tree_q(w, q), *tv = tree_motion(w, v, w->tv);
    double T, h[6], mass, moment[3];
    w->k->momentum(&w->view, &w->w, tv, &T, h);
    w->k->first_moment(&w->view, &w->w, &mass, moment);
    double U = -v3_dot(m->gravity, moment);
    if (m->losses)
        for (int i = 1; i <= m->nb; ++i) {
            const soai_body_double *b = w->view.body + i;
            for (int c = 0;
                 c < b->nv && b->kind != SOAI_KIND_SPHERICAL && b->kind != SOAI_KIND_FREE; ++c) {
                const soai_dof_double *d = w->view.dof + b->iv + c;
                const double x = tq[b->iq + c] - d->rest;
                U += d->stiffness * x * x / 2;
            }
        }
    if (kinetic) *kinetic = T;
    if (potential) *potential = U;
    return SOA_OK;
}
soa_status soa_centre_of_mass(const soa_model *m, soa_work *w, const double *q, const double *v,
                              double com[3], double velocity[3]) {
    double h[6], c[3];
    const soa_status s = soa_momentum(m, w, q, v, h, c);
    if (s) return s;
    if (com) memcpy(com, c, sizeof c);
    for (int i = 0; velocity && i < 3; ++i)
        velocity[i] = m->mass > 0 ? h[3 + i] / m->mass : 0;
    return SOA_OK;
}
soa_status soa_momentum(const soa_model *m, soa_work *w, const double *q, const double *v,
                        double h[6], double com[3]) {
    const soa_status s = h ? move(m, w, q, v, NULL) : SOA_E_ARGUMENT;
    if (s) return s;
    double T, g[6], mass, c[3];
    w->k->momentum(&w->view, &w->w, tree_motion(w, v, w->tv), &T, g);
    w->k->first_moment(&w->view, &w->w, &mass, c);
    for (int i = 0; i < 3; ++i)
        c[i] = mass > 0 ? c[i] / mass : 0;
    double t[3];
    v3_cross(c, g + 3, t); /* angular about the centre of mass */
    for (int i = 0; i < 3; ++i)
        g[i] -= t[i];
    memcpy(h, g, sizeof g);
    if (com) memcpy(com, c, sizeof c);
    return SOA_OK;
}
soa_status soa_centroidal_momentum_matrix(const soa_model *m, soa_work *w, const double *q,
                                          double *A) {
    const soa_status s = A ? move(m, w, q, NULL, NULL) : SOA_E_ARGUMENT;
    if (s) return s;
    double mass, c[3], *tree = m->nm ? w->wide : A;
    w->k->first_moment(&w->view, &w->w, &mass, c);
    for (int i = 0; i < 3; ++i)
        c[i] = mass > 0 ? c[i] / mass : 0;
    w->k->centroidal(&w->view, &w->w, c, tree);
    if (m->nm) user_columns(w, 6, tree, A);
    return SOA_OK;
}
soa_status soa_regressor(const soa_model *m, soa_work *w, const double *q, const double *v,
                         const double *a, double *Y) {
    const soa_status s = Y ? move(m, w, q, v, a) : SOA_E_ARGUMENT;
    if (s) return s;
    double *tree = m->nm ? w->matrix : Y;
    w->k->regressor(&w->view, &w->w, tree);
    if (m->nm) {
        const soai_map *map = SOAI_AT(m, soai_map, map_v);
        const size_t cols = 10 * (size_t)m->nb;
        for (size_t j = 0; j < cols * (size_t)m->nv; ++j)
            Y[j] = 0;
        for (size_t t = 0; t < (size_t)m->tv; ++t)
            for (size_t c = 0; c < cols; ++c)
                Y[cols * (size_t)map[t].user + c] += map[t].ratio * tree[cols * t + c];
    }
    return SOA_OK;
}
soa_status soa_model_inertial_parameters(const soa_model *m, double *pi) {
    if (!m || !pi) return SOA_E_ARGUMENT;
    for (int i = 1; i <= m->nb; ++i)
        memcpy(pi + 10 * (i - 1), soai_bodies(m)[i].M, 10 * sizeof *pi);
    return SOA_OK;
}

/* --- derivatives ------------------------------------------------------------------------------ */
/* A wrench fixed in the world, as derivatives.h reads it. */
typedef struct world_wrench {
    int body;
    double point[3], value[6];
} world_wrench;
enum { MAX_WORLD_WRENCHES = 64 };

/* Derivatives in the caller's coordinates; inputs have been checked. */
static void inverse_derivatives(soa_work *w, const soa_input *input, const double *a, double *dq,
                                double *dv) {
    const double *q = input->q, *v = input->v;
    const soa_wrench *f = input->wrenches;
    const int count = input->wrench_count;
    const soa_model *m = w->model;
    world_wrench fixed[MAX_WORLD_WRENCHES];
    int n = 0;
    for (int i = 0; i < count; ++i) {
        const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + f[i].frame;
        if (f[i].axes != SOA_AXES_WORLD || !row->body) continue;
        fixed[n] = (world_wrench){.body = row->body, .point = {row->p[0], row->p[1], row->p[2]}};
        memcpy(fixed[n++].value, f[i].value, sizeof f[i].value);
    }
    const size_t tv = (size_t)m->tv;
    double *tree_dq;
    if (!dq) {
        tree_dq = NULL;
    } else if (m->nm) {
        tree_dq = w->matrix;
    } else {
        tree_dq = dq;
    }
    double *tree_dv;
    if (!dv) {
        tree_dv = NULL;
    } else if (m->nm) {
        tree_dv = w->matrix + tv * tv;
    } else {
        tree_dv = dv;
    }
    const double *tq = tree_q(w, q), *fext = body_wrenches(w, tq, f, count, 1);
    w->k->rnea_derivatives(&w->view, &w->w, tq, tree_motion(w, v, w->tv), tree_motion(w, a, w->ta),
                           fext, fixed, n, tree_dq, tree_dv);
    if (m->nm && dq) user_matrix(w, tree_dq, dq);
    if (m->nm && dv) user_matrix(w, tree_dv, dv);
}
static soa_status check_world_wrenches(const soa_model *m, soa_work *w, const soa_wrench *f,
                                       int count) {
    const soa_status s = check_wrenches(m, w, f, count);
    int n = 0;
    for (int i = 0; s == SOA_OK && i < count; ++i)
        n += f[i].axes == SOA_AXES_WORLD;
    if (s) return s;
    if (n > MAX_WORLD_WRENCHES) return SOA_E_ARGUMENT;
    return SOA_OK;
}
soa_status soa_rnea_derivatives(const soa_model *m, soa_work *w, const soa_input *input,
                                double *dtau_dq, double *dtau_dv) {
    if (!input) return SOA_E_ARGUMENT;
    soa_status s = begin(m, w, input->q, input->v, input->a, NULL);
    if (s || (s = check_world_wrenches(m, w, input->wrenches, input->wrench_count))) return s;
    inverse_derivatives(w, input, input->a, dtau_dq, dtau_dv);
    return SOA_OK;
}
soa_status soa_aba_derivatives(const soa_model *m, soa_work *w, const soa_input *input,
                               double *dqdd_dq, double *dqdd_dv) {
    if (!input) return SOA_E_ARGUMENT;
    soa_status s = begin(m, w, input->q, input->v, NULL, input->tau);
    if (s || (s = check_world_wrenches(m, w, input->wrenches, input->wrench_count))) return s;
    /* d vdot = -M^-1 d(inverse dynamics at vdot); outputs are touched only when nothing can fail
     * any more */
    const double *tq = tree_q(w, input->q);
    const double *fext =
        soai_wrenches_to_chosen(w, body_wrenches(w, tq, input->wrenches, input->wrench_count, 0));
    s = hinge(w, w->k->aba(&w->aligned, &w->w, tq, tree_motion(w, input->v, w->tv),
                           tree_torque(w, input->tau, w->ta), fext, w->tt));
    if (s) return s;
    if (m->nm)
        user_motion(w, w->tt, w->user);
    else
        memcpy(w->user, w->tt, (size_t)m->nv * sizeof *w->user);
    inverse_derivatives(w, input, w->user, dqdd_dq, dqdd_dv);
    soai_work_articulate_aligned(w, tree_q(w, input->q));
    if (dqdd_dq) minv_columns(w, -1, dqdd_dq);
    if (dqdd_dv) minv_columns(w, -1, dqdd_dv);
    return SOA_OK;
}

/* --- single precision ------------------------------------------------------------------------- */
static soa_status begin_f(const soa_model *m, soa_work *w, const float *q, const float *v,
                          const float *a, const float *fext) {
    if (!m || !w || w->model != m || !q) return SOA_E_ARGUMENT;
    const soa_status s = soai_check_state_f(m, q, v, a, NULL, &w->body);
    for (int i = 1; s == SOA_OK && fext && i <= m->nb; ++i)
        if (!soai_all_finite_f(fext + 6 * (i - 1), 6)) {
            w->body = i;
            return SOA_E_NOT_FINITE;
        }
    return s;
}
static const float *tree_f(const soa_work *w, const float *x, const soai_map *map, int n,
                           float *room) {
    if (!x) return w->zero_f;
    if (!w->model->nm) return x;
    for (int t = 0; t < n; ++t)
        room[t] = (float)map[t].ratio * x[map[t].user] + (float)map[t].offset;
    return room;
}
/* Wrenches in the frames chosen for the bodies. */
static const float *chosen_wrenches_f(soa_work *w, const float *fext) {
    if (!fext) return NULL;
    for (int i = 1; i <= w->model->nb; ++i) {
        double f[6];
        for (int j = 0; j < 6; ++j)
            f[j] = fext[6 * (i - 1) + j];
        soai_wrench_to_chosen(w->frames + i, f, f);
        for (int j = 0; j < 6; ++j)
            w->fext_f[6 * (i - 1) + j] = (float)f[j];
    }
    return w->fext_f;
}
#define TREE_Q_F(x) tree_f(w, x, SOAI_AT(m, soai_map, map_q), m->tq, w->tq_f)
#define TREE_V_F(x, room) tree_f(w, x, SOAI_AT(m, soai_map, map_v), m->tv, room)

soa_status soa_rnea_f(const soa_model *m, soa_work *w, const float *q, const float *v,
                      const float *a, const float *fext, float *tau) {
    soa_status s = begin_f(m, w, q, v, a, fext);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s) return s;
    float *out = m->nm ? w->tt_f : tau;
    w->kf->rnea(&w->aligned_f, w->w_f, TREE_Q_F(q), TREE_V_F(v, w->tv_f), TREE_V_F(a, w->ta_f),
                chosen_wrenches_f(w, fext), out);
    if (m->nm) {
        const soai_map *map = SOAI_AT(m, soai_map, map_v);
        for (int u = 0; u < m->nv; ++u)
            tau[u] = 0;
        for (int t = 0; t < m->tv; ++t)
            tau[map[t].user] += (float)map[t].ratio * out[t];
    }
    return SOA_OK;
}
soa_status soa_aba_f(const soa_model *m, soa_work *w, const float *q, const float *v,
                     const float *tau, const float *fext, float *qdd) {
    soa_status s = begin_f(m, w, q, v, tau, fext);
    if (s == SOA_OK && !qdd) s = SOA_E_ARGUMENT;
    if (s) return s;
    const float *tt = TREE_V_F(tau, w->ta_f);
    if (m->nm && tau) /* torques act on the leaders */
        for (int k = 0; k < m->nm; ++k)
            w->ta_f[w->view.mimic[k].follower] = 0;
    float *out = m->nm ? w->tt_f : qdd;
    s = hinge(w, w->kf->aba(&w->aligned_f, w->w_f, TREE_Q_F(q), TREE_V_F(v, w->tv_f), tt,
                            chosen_wrenches_f(w, fext), out));
    if (s == SOA_OK && m->nm)
        for (int i = 1; i <= m->nb; ++i) {
            const soai_meta *e = soai_metas(m) + i;
            for (int c = 0; e->leader < 0 && c < w->view.body[i].nv; ++c)
                qdd[e->user_v + c] = out[w->view.body[i].iv + c];
        }
    return s;
}
soa_status soa_crba_f(const soa_model *m, soa_work *w, const float *q, float *M) {
    soa_status s = begin_f(m, w, q, NULL, NULL, NULL);
    if (s == SOA_OK && !M) s = SOA_E_ARGUMENT;
    if (s) return s;
    float *tree = m->nm ? w->matrix_f : M;
    (w->by_columns ? w->kf->mass : w->kf->crba)(&w->aligned_f, w->w_f, TREE_Q_F(q), tree);
    if (m->nm) {
        const soai_map *map = SOAI_AT(m, soai_map, map_v);
        const size_t nv = (size_t)m->nv, tv = (size_t)m->tv;
        for (size_t j = 0; j < nv * nv; ++j)
            M[j] = 0;
        for (size_t r = 0; r < tv; ++r)
            for (size_t c = 0; c < tv; ++c)
                M[nv * (size_t)map[r].user + (size_t)map[c].user] +=
                    (float)(map[r].ratio * map[c].ratio) * tree[tv * r + c];
    }
    return SOA_OK;
}

/* --- for other rooms -------------------------------------------------------------------------- */
static soa_status enter(const soa_model *m, soa_work *w, const soa_input *input, const double *a,
                        const double *tau, soai_inputs *in) {
    soa_status s = begin(m, w, input->q, input->v, a, tau);
    if (s || (s = check_wrenches(m, w, input->wrenches, input->wrench_count))) return s;
    in->q = tree_q(w, input->q);
    in->fext = body_wrenches(w, in->q, input->wrenches, input->wrench_count, 0);
    in->v = tree_motion(w, input->v, w->tv);
    in->a = tree_motion(w, a, w->ta);
    in->tau = tree_torque(w, tau, w->tt);
    return SOA_OK;
}
soa_status soai_enter_forward(const soa_model *m, soa_work *w, const soa_input *input,
                              soai_inputs *in) {
    return enter(m, w, input, NULL, input->tau, in);
}
soa_status soai_enter_inverse(const soa_model *m, soa_work *w, const soa_input *input,
                              soai_inputs *in) {
    return enter(m, w, input, input->a, NULL, in);
}
void soai_user_motion(const soa_work *w, const double *tree, double *v) {
    user_motion(w, tree, v);
}
void soai_user_torque(const soa_work *w, const double *tree, double *tau) {
    user_torque(w, tree, tau);
}
void soai_user_matrix(const soa_work *w, const double *tree, double *out) {
    user_matrix(w, tree, out);
}
