/* closed_systems.h  closed chains for tests: random trees (fixed and floating bases, mimic joints,
 * rotors, friction, springs) closed by random constraints of every kind, and a dense oracle for
 * them.
 *
 * The oracle is the dense system FO00 (20), RK88-II (2.11):
 *   [M G'; G 0] [vdot; -lambda] = [tau - bias; -gamma],
 * and for redundant rows the singular values of C^-1 G', M = C C', by LAPACK. */
#ifndef SOA_TESTS_CLOSED_SYSTEMS_H
#define SOA_TESTS_CLOSED_SYSTEMS_H
#include "check.h"

#include "soa/io.h"
#include "soa/soa.h"
#include <lapacke.h>

#define OK(call) assert_int_equal(call, SOA_OK)
#define REFUSED(status, call) assert_int_equal(call, status)
enum { MOST_CONSTRAINTS = 8, MOST_ROWS = 48 };

static inline long systems(void) {
    const char *s = getenv("SOA_TREES");
    return s ? strtol(s, NULL, 10) : 1000;
}
static inline int below(dice *d, int n) {
    return (int)roll(d, 0, n - 1e-9);
}
static inline double dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

/* --- random places and motions ---------------------------------------------------------------- */
static inline void direction(dice *d, double a[3]) {
    double size;
    do {
        roll_many(d, -1, 1, 3, a);
        size = sqrt(dot(3, a, a));
    } while (size > 1 || size < 0.1);
    for (int j = 0; j < 3; ++j)
        a[j] /= size;
}
static inline soa_frame any_place(dice *d, double far) {
    double a[3], p[3];
    direction(d, a);
    roll_many(d, -far, far, 3, p);
    return soa_frame_from_axis_angle(a, roll(d, -3, 3), p);
}
/* Pose of a joint's body in its joint frame for coordinates q, written from docs/notation.md. */
static inline soa_frame joint_motion(soa_joint_type type, const double u[3], const double u2[3],
                                     double pitch, const double *q) {
    const double zero[3] = {0, 0, 0};
    double p[3] = {0, 0, 0}, e2[3];
    soa_frame X = soa_frame_identity(), Y;
    switch (type) {
    case SOA_REVOLUTE: return soa_frame_from_axis_angle(u, q[0], zero);
    case SOA_PRISMATIC:
        for (int j = 0; j < 3; ++j)
            X.p[j] = q[0] * u[j];
        return X;
    case SOA_HELICAL:
        for (int j = 0; j < 3; ++j)
            p[j] = pitch * q[0] * u[j];
        return soa_frame_from_axis_angle(u, q[0], p);
    case SOA_CYLINDRICAL:
        for (int j = 0; j < 3; ++j)
            p[j] = q[1] * u[j];
        return soa_frame_from_axis_angle(u, q[0], p);
    case SOA_UNIVERSAL:
        X = soa_frame_from_axis_angle(u, q[0], zero);
        Y = soa_frame_from_axis_angle(u2, q[1], zero);
        return soa_frame_compose(&X, &Y);
    case SOA_PLANAR:
        e2[0] = u[1] * u2[2] - u[2] * u2[1];
        e2[1] = u[2] * u2[0] - u[0] * u2[2];
        e2[2] = u[0] * u2[1] - u[1] * u2[0];
        for (int j = 0; j < 3; ++j)
            p[j] = q[0] * u2[j] + q[1] * e2[j];
        return soa_frame_from_axis_angle(u, q[2], p);
    case SOA_SPHERICAL:
    case SOA_FREE: {
        const double *e = type == SOA_FREE ? q + 3 : q, w = e[0], x = e[1], y = e[2], z = e[3];
        const double R[9] = {
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
        memcpy(X.R, R, sizeof R);
        if (type == SOA_FREE) memcpy(X.p, q, 3 * sizeof *q);
        return X;
    }
    default: return X;
    }
}
static const int joint_nq[SOA_JOINT_TYPE_COUNT] = {0, 1, 1, 1, 2, 2, 3, 4, 7};
static const int joint_nv[SOA_JOINT_TYPE_COUNT] = {0, 1, 1, 1, 2, 2, 3, 3, 6};
static inline void any_joint_q(dice *d, soa_joint_type type, double *q) {
    roll_many(d, -1.5, 1.5, (size_t)joint_nq[type], q);
    if (type != SOA_SPHERICAL && type != SOA_FREE) return;
    double *e = type == SOA_FREE ? q + 3 : q;
    const double size = sqrt(dot(4, e, e));
    for (int j = 0; j < 4; ++j)
        e[j] /= size;
}
static inline void any_axes(dice *d, soa_joint_type type, double u[3], double u2[3]) {
    double along;
    direction(d, u);
    do {
        direction(d, u2);
        along = dot(3, u, u2);
    } while (fabs(along) > 0.7);
    if (type != SOA_PLANAR) return;
    for (int j = 0; j < 3; ++j)
        u2[j] -= along * u[j];
    const double size = sqrt(dot(3, u2, u2));
    for (int j = 0; j < 3; ++j)
        u2[j] /= size;
}

/* --- a random closed system ------------------------------------------------------------------- */
typedef struct wave {
    double middle, size, speed, phase;
} wave;
static inline void drive(void *user, double t, double out[3]) {
    const wave *w = user;
    const double x = w->speed * t + w->phase;
    out[0] = w->middle + w->size * sin(x);
    out[1] = w->size * w->speed * cos(x);
    out[2] = -w->size * w->speed * w->speed * sin(x);
}

typedef struct closed {
    long seed;
    dice d;
    const soa_model *m;
    soa_work *w;
    soa_constraints *c;
    int nq, nv, nb, rows, count;
    soa_constraint_def def[MOST_CONSTRAINTS];
    wave waves[MOST_CONSTRAINTS];
    double t;
    double *q, *v, *tau, *qdd, *q1, *v1; /* state; scratch */
    double *G, *M, *A, *K, *U;           /* rows x nv, nv^2, (nv + rows)^2 each */
    double effort[MOST_CONSTRAINTS][6];
    double g[MOST_ROWS], rate[MOST_ROWS], gamma[MOST_ROWS], lambda[MOST_ROWS];
    soa_wrench f[2];
} closed;

static inline int has_one_dof(const soa_model *m, int body) {
    soa_body_info b;
    OK(soa_model_body(m, body, &b));
    return b.nv == 1 && b.mimic < 0;
}
static inline soa_frame pose_of(closed *s, int frame) {
    soa_frame X;
    OK(soa_pose(s->m, s->w, frame, &X));
    return X;
}
/* Makes a constraint that holds at q, t: place2, value, ... are chosen for this. Returns 0 if this
 * tree has none of that kind. */
static inline int any_constraint(closed *s, soa_constraint_kind kind, soa_constraint_def *def,
                                 wave *w) {
    dice *d = &s->d;
    const int frames = soa_model_frame_count(s->m);
    soa_frame_info i1, i2;
    *def = soa_constraint_default(kind, below(d, frames), below(d, frames));
    OK(soa_model_frame(s->m, def->frame1, &i1));
    OK(soa_model_frame(s->m, def->frame2, &i2));
    const int driven =
        (kind == SOA_DISTANCE || kind == SOA_RATIO || kind == SOA_PLANE) && roll(d, 0, 1) < 0.5;
    if (kind == SOA_RATIO) {
        int terms = 0;
        for (int k = 0; k < 3; ++k) {
            const int body = 1 + below(d, s->nb);
            soa_body_info b;
            if (!has_one_dof(s->m, body)) continue;
            OK(soa_model_body(s->m, body, &b));
            def->coordinate[k] = body;
            def->coefficient[k] = roll(d, 0.3, 2) * (k & 1 ? -1 : 1);
            def->value += def->coefficient[k] * s->q[b.q_index];
            ++terms;
        }
        if (!terms) return 0;
    } else {
        if (i1.body == i2.body) return 0;
        def->place1 = any_place(d, 0.3);
        def->place2 = any_place(d, 0.3);
    }
    OK(soa_kinematics(s->m, s->w, s->q, NULL, NULL));
    const soa_frame X1 = pose_of(s, def->frame1), X2 = pose_of(s, def->frame2);
    soa_frame P1 = soa_frame_compose(&X1, &def->place1), P2 = soa_frame_compose(&X2, &def->place2);
    if (kind == SOA_LOOP) {
        double q[7];
        def->joint = (soa_joint_type)below(d, SOA_JOINT_TYPE_COUNT);
        any_axes(d, def->joint, def->axis, def->axis2);
        def->pitch = def->joint == SOA_HELICAL ? roll(d, -0.2, 0.2) : 0;
        any_joint_q(d, def->joint, q);
        const soa_frame J = joint_motion(def->joint, def->axis, def->axis2, def->pitch, q),
                        there = soa_frame_compose(&P1, &J), back = soa_frame_inverse(&X2);
        def->place2 = soa_frame_compose(&back, &there);
        def->damping = roll(d, 0, 0.5);
        def->friction = roll(d, 0, 0.5);
    } else if (kind == SOA_DISTANCE) {
        double e[3];
        for (int j = 0; j < 3; ++j)
            e[j] = P2.p[j] - P1.p[j];
        def->value = sqrt(dot(3, e, e));
        if (def->value < 0.05) return 0;
    } else if (kind == SOA_PLANE) {
        const soa_frame back = soa_frame_inverse(&P1);
        def->value = soa_frame_compose(&back, &P2).p[2];
    } else if (kind == SOA_ROLLING) {
        def->value = roll(d, 0.05, 0.4);
        const soa_frame stand = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                                 {roll(d, -1, 1), roll(d, -1, 1), def->value}};
        const soa_frame there = soa_frame_compose(&P1, &stand), back = soa_frame_inverse(&X2);
        memcpy(def->place2.p, soa_frame_compose(&back, &there).p, sizeof def->place2.p);
    } else if (kind == SOA_DISC) {
        const soa_frame back1 = soa_frame_inverse(&P1), between = soa_frame_compose(&back1, &P2);
        const double lean = sqrt(between.R[2] * between.R[2] + between.R[5] * between.R[5]);
        if (lean < 0.8) return 0; /* far from flat */
        def->value = roll(d, 0.05, 0.4);
        soa_frame stand = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                           {roll(d, -1, 1), roll(d, -1, 1), def->value * lean}};
        const soa_frame there = soa_frame_compose(&P1, &stand), back = soa_frame_inverse(&X2);
        memcpy(def->place2.p, soa_frame_compose(&back, &there).p, sizeof def->place2.p);
    } else if (kind == SOA_VELOCITY) {
        def->row_count = 1 + below(d, 3);
        def->rows_in_frame2 = below(d, 2);
        roll_many(d, -1, 1, 36, &def->rows[0][0]);
    }
    if (driven) {
        w->size = roll(d, 0.1, 1);
        w->speed = roll(d, 0.5, 3);
        w->phase = roll(d, -3, 3);
        w->middle = def->value - w->size * sin(w->speed * s->t + w->phase);
        def->drive = drive;
        def->user = w;
    }
    return 1;
}

/* A state of the model, without constraints yet. Takes ownership of the model. */
static inline closed *start(const soa_model *m, long seed) {
    closed *s = calloc(1, sizeof *s);
    s->seed = seed;
    s->d.state = (uint64_t)seed * 7919 + 3;
    s->m = m;
    dice *d = &s->d;
    OK(soa_work_create(m, &s->w));
    const soa_constraint_capacity room = {MOST_CONSTRAINTS, MOST_ROWS, 1};
    OK(soa_constraints_create(m, &room, &s->c));
    s->nq = soa_model_nq(m);
    s->nv = soa_model_nv(m);
    s->nb = soa_model_body_count(m);
    const size_t nv = (size_t)s->nv, all = (nv + MOST_ROWS) * (nv + MOST_ROWS);
    s->q = calloc((size_t)s->nq, 8);
    s->q1 = calloc((size_t)s->nq, 8);
    s->v = calloc(nv, 8);
    s->v1 = calloc(nv, 8);
    s->tau = calloc(nv, 8);
    s->qdd = calloc(nv, 8);
    s->G = calloc(MOST_ROWS * nv, 8);
    s->M = calloc(nv * nv, 8);
    s->A = calloc(all, 8);
    s->K = calloc(all, 8);
    s->U = calloc(all, 8);
    s->t = roll(d, -2, 2);
    soa_q_neutral(m, s->q);
    roll_many(d, -2, 2, nv, s->v);
    OK(soa_q_integrate(m, s->q, s->v, 1, s->q));
    roll_many(d, -1, 1, nv, s->v);
    roll_many(d, -5, 5, nv, s->tau);
    for (int i = 0; i < 2; ++i) {
        s->f[i].frame = below(d, soa_model_frame_count(m));
        s->f[i].axes = i ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(d, -4, 4, 6, s->f[i].value);
    }
    return s;
}
/* Adds a constraint and records it. */
static inline int add(closed *s, const soa_constraint_def *def) {
    soa_report report = {0};
    int number = -1;
    if (soa_constraints_add(s->c, def, &number, &report))
        fail_msg("seed %ld: %s", s->seed, report.text);
    assert_int_equal(number, s->count);
    s->def[s->count++] = *def;
    s->rows = soa_constraints_row_count(s->c);
    return number;
}
static inline void refresh(closed *s) {
    OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .t = s->t}, s->g,
                                s->rate, s->G, s->gamma));
}
static inline closed *open_closed(long seed, int most) {
    char name[64];
    soa_report report = {0};
    const soa_model *m;
    snprintf(name, sizeof name, "%s:%ld", seed % 3 ? "random" : "random-ideal", seed);
    if (soa_stock_model_create(name, NULL, &m, &report)) fail_msg("%s: %s", name, report.text);
    closed *s = start(m, seed);
    dice *d = &s->d;
    const size_t nv = (size_t)s->nv;
    const int wanted = 1 + below(d, most);
    for (int tries = 0; tries < 30 && s->count < wanted; ++tries) {
        const int pick = below(d, 10); /* loops half of the time */
        soa_constraint_kind kind;
        if (pick < 5) {
            kind = SOA_LOOP;
        } else if (pick < 6) {
            kind = SOA_DISTANCE;
        } else if (pick < 7) {
            kind = SOA_RATIO;
        } else if (pick < 8) {
            kind = seed % 2 ? SOA_ROLLING : SOA_DISC;
        } else {
            kind = pick < 9 ? SOA_VELOCITY : SOA_PLANE;
        }
        const int k = s->count;
        soa_constraint_def def;
        if (!any_constraint(s, kind, &def, s->waves + k)) continue;
        const int number = add(s, &def);
        memcpy(s->v1, s->v, nv * sizeof *s->v);
        /* a drive may contradict the other constraints: then it is removed */
        const soa_status bad = soa_closed_project(s->c, s->w, s->t, s->q, s->v, NULL);
        if (bad && bad != SOA_E_INCONSISTENT && bad != SOA_E_NO_CONVERGENCE)
            fail_msg("seed %ld: %s", seed, soa_status_text(bad));
        if (!bad && s->rows <= s->nv) {
            roll_many(d, -2, 2, 6, s->effort[k]);
            if (kind == SOA_LOOP) OK(soa_constraints_set_effort(s->c, number, s->effort[k]));
            continue;
        }
        OK(soa_constraints_remove(s->c, number));
        s->count = k;
        s->rows = soa_constraints_row_count(s->c);
        memcpy(s->v, s->v1, nv * sizeof *s->v);
    }
    refresh(s);
    return s;
}
static inline void close_closed(closed *s) {
    free(s->q);
    free(s->q1);
    free(s->v);
    free(s->v1);
    free(s->tau);
    free(s->qdd);
    free(s->G);
    free(s->M);
    free(s->A);
    free(s->K);
    free(s->U);
    soa_constraints_free(s->c);
    soa_work_free(s->w);
    soa_model_free(s->m);
    free(s);
}

/* --- the dense oracle ------------------------------------------------------------------------- */
/* Torques of cut joints by virtual work: their rates are linear in v. */
static inline void cut_torques(closed *s, double *torque) {
    const int nv = s->nv;
    double now[MOST_CONSTRAINTS][6], unit[6];
    int n[MOST_CONSTRAINTS] = {0};
    OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q, .v = s->v, .t = s->t}, NULL,
                                NULL, NULL, NULL));
    for (int k = 0; k < s->count; ++k)
        if (s->def[k].kind == SOA_LOOP) OK(soa_constraints_joint_rates(s->c, k, now[k], n + k));
    memset(s->v1, 0, (size_t)nv * sizeof *s->v1);
    for (int j = 0; j < nv; ++j) {
        torque[j] = 0;
        s->v1[j] = 1;
        OK(soa_constraints_evaluate(s->c, s->w, &(soa_input){.q = s->q, .v = s->v1, .t = s->t},
                                    NULL, NULL, NULL, NULL));
        s->v1[j] = 0;
        for (int k = 0; k < s->count; ++k) {
            if (!n[k]) continue;
            OK(soa_constraints_joint_rates(s->c, k, unit, NULL));
            for (int i = 0; i < n[k]; ++i)
                torque[j] += unit[i] * (s->effort[k][i] - s->def[k].damping * now[k][i] -
                                        s->def[k].friction * ((now[k][i] > 0) - (now[k][i] < 0)));
        }
    }
}
typedef struct answer {
    int rank;
    double condition;    /* condition number of G M^-1 G' on its range */
    double gap;          /* largest eigenvalue left out, relative */
    double off;          /* contradiction of the redundant rows */
    double free;         /* size of the acceleration without constraints */
    double *vdot, *pull; /* nv: vdot, G' lambda */
    double lambda[MOST_ROWS];
} answer;
/* x0 = tau + cut torques - bias, then by singular values of C^-1 G'; lambda of least norm. */
static inline void solve_dense(closed *s, const double *tau, answer *a) {
    const int nv = s->nv, rows = s->rows, k = rows < nv ? rows : nv;
    double *x0 = a->pull, *x = a->vdot, S[MOST_ROWS], y[MOST_ROWS], super[MOST_ROWS], b[MOST_ROWS];
    cut_torques(s, x);
    OK(soa_rnea(s->m, s->w, s->q, s->v, NULL, s->f, 2, x0));
    for (int j = 0; j < nv; ++j)
        x0[j] = x[j] + (tau ? tau[j] : 0) - x0[j];
    OK(soa_crba(s->m, s->w, s->q, s->M));
    OK(soa_minv_mul(s->m, s->w, s->q, x0, x));
    a->free = 0;
    for (int j = 0; j < nv; ++j)
        a->free = fmax(a->free, fabs(x[j]));
    double *C = s->K, *U = s->U, *A = s->A, *V = s->K + nv * nv;
    memcpy(C, s->M, (size_t)(nv * nv) * sizeof *C);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', nv, C, nv), 0);
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < nv; ++j)
            A[rows * j + r] = s->G[nv * r + j];
    if (rows)
        assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, rows, C, nv, A, rows),
                         0);
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, 1, C, nv, x0, 1), 0);
    if (rows)
        assert_int_equal(
            LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', nv, rows, A, rows, S, U, k, V, rows, super),
            0);
    a->rank = 0;
    a->gap = 0;
    a->condition = 1;
    a->off = 0;
    for (int i = 0; i < k; ++i) {
        const double e = S[0] > 0 ? S[i] / S[0] * (S[i] / S[0]) : 0;
        if (e > 1e-16) {
            a->rank = i + 1;
            a->condition = 1 / e;
        } else if (e > a->gap) {
            a->gap = e;
        }
    }
    memcpy(x, x0, (size_t)nv * sizeof *x);
    for (int r = 0; r < rows; ++r)
        a->lambda[r] = 0;
    for (int i = 0; i < a->rank; ++i) { /* U1'x = -S^-1 V1'gamma; lambda = V1 S^-1 U1'(x - x0) */
        double held = 0, free = 0;
        for (int r = 0; r < rows; ++r)
            held -= V[rows * i + r] * s->gamma[r] / S[i];
        for (int j = 0; j < nv; ++j)
            free += U[k * j + i] * x0[j];
        for (int j = 0; j < nv; ++j)
            x[j] += U[k * j + i] * (held - free);
        y[i] = (held - free) / S[i];
        for (int r = 0; r < rows; ++r)
            a->lambda[r] += V[rows * i + r] * y[i];
    }
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'T', 'N', nv, 1, C, nv, x, 1), 0);
    for (int r = 0; r < rows; ++r) {
        b[r] = s->gamma[r] + dot(nv, s->G + nv * r, x);
        a->off = fmax(a->off, fabs(b[r]));
    }
    for (int j = 0; j < nv; ++j) {
        a->pull[j] = 0;
        for (int r = 0; r < rows; ++r)
            a->pull[j] += s->G[nv * r + j] * a->lambda[r];
    }
}
/* Solves the whole system (20) by LU, refined; only if the rows are independent. */
static inline void solve_whole(closed *s, const double *tau, answer *a) {
    const int nv = s->nv, rows = s->rows, n = nv + rows;
    double *K = s->K, *x = s->U, *cut = s->A;
    lapack_int pivot[512];
    assert_true(n <= 512);
    cut_torques(s, cut);
    OK(soa_rnea(s->m, s->w, s->q, s->v, NULL, s->f, 2, x));
    OK(soa_crba(s->m, s->w, s->q, s->M));
    for (int i = 0; i < nv; ++i) {
        x[i] = cut[i] + (tau ? tau[i] : 0) - x[i];
        for (int j = 0; j < nv; ++j)
            K[n * i + j] = s->M[nv * i + j];
        for (int r = 0; r < rows; ++r)
            K[n * i + nv + r] = K[n * (nv + r) + i] = s->G[nv * r + i];
    }
    for (int r = 0; r < rows; ++r) {
        x[nv + r] = -s->gamma[r];
        for (int c = 0; c < rows; ++c)
            K[n * (nv + r) + nv + c] = 0;
    }
    /* Scaled and refined. */
    double rows_scale[512], columns_scale[512], rcond, forward, backward, growth;
    char scaled;
    LAPACKE_dgesvx(LAPACK_ROW_MAJOR, 'E', 'N', n, 1, K, n, s->A, n, pivot, &scaled, rows_scale,
                   columns_scale, x, 1, x + n, 1, &rcond, &forward, &backward, &growth);
    x += n;
    memcpy(a->vdot, x, (size_t)nv * sizeof *x);
    for (int r = 0; r < rows; ++r)
        a->lambda[r] = -x[nv + r];
    for (int j = 0; j < nv; ++j) {
        a->pull[j] = 0;
        for (int r = 0; r < rows; ++r)
            a->pull[j] += s->G[nv * r + j] * a->lambda[r];
    }
}
static inline answer make_answer(const closed *s) {
    answer a = {.vdot = calloc((size_t)s->nv, 8), .pull = calloc((size_t)s->nv, 8)};
    return a;
}
static inline void free_answer(answer *a) {
    free(a->vdot);
    free(a->pull);
}
static inline void pull_of(const closed *s, const double *lambda, double *pull) {
    for (int j = 0; j < s->nv; ++j) {
        pull[j] = 0;
        for (int r = 0; r < s->rows; ++r)
            pull[j] += s->G[s->nv * r + j] * lambda[r];
    }
}
/* Relative to the answer, or to a thousandth of the acceleration without constraints: if nothing
 * can move, vdot = 0 up to the rounding of the constrained accelerations. */
static inline double vdot_error(const double *got, const answer *a, int nv) {
    double scale = 1e-3 * fmax(1, a->free), worst = 0;
    for (int j = 0; j < nv; ++j) {
        scale = fmax(scale, fabs(a->vdot[j]));
        if (!(fabs(got[j] - a->vdot[j]) <= worst)) worst = fabs(got[j] - a->vdot[j]);
    }
    return worst / scale;
}
static const soa_closed_method methods[] = {SOA_CLOSED_AUTO, SOA_CLOSED_KKT, SOA_CLOSED_FORCES,
                                            SOA_CLOSED_NULL_SPACE};

#endif
