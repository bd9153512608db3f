/* test_closed.c  closed chains on 1,000 random systems: random trees (fixed and floating bases, mimic joints, rotors,
 * friction, springs) closed by random constraints of every kind, against differences and against LAPACK.
 *
 * The oracle is the dense system FO00 (20), RK88-II (2.11):  [M G'; G 0] [vdot; -lambda] = [tau - bias; -gamma], and for
 * redundant rows the singular values of C^-1 G', M = C C'.  SOA_SEED=n chooses other systems, SOA_TREES their number. */
#include "check.h"

#include "soa/io.h"
#include "soa/soa.h"
#include <lapacke.h>

#define OK(call) assert_int_equal(call, SOA_OK)
#define REFUSED(status, call) assert_int_equal(call, status)
enum { MOST_CONSTRAINTS = 8, MOST_ROWS = 48 };

static long systems(void) {
    const char *s = getenv("SOA_TREES");
    return s ? strtol(s, NULL, 10) : 1000;
}
static int below(dice *d, int n) {
    return (int)roll(d, 0, n - 1e-9);
}
static double dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/* ---- random places and motions ------------------------------------------------------------------------------------ */
static void direction(dice *d, double a[3]) {
    double size;
    do {
        roll_many(d, -1, 1, 3, a);
        size = sqrt(dot(3, a, a));
    } while (size > 1 || size < 0.1);
    for (int j = 0; j < 3; ++j) a[j] /= size;
}
static soa_frame any_place(dice *d, double far) {
    double a[3], p[3];
    direction(d, a);
    roll_many(d, -far, far, 3, p);
    return soa_frame_axis_angle(a, roll(d, -3, 3), p);
}
/* Pose of a joint's body in its joint frame for coordinates q, written out from docs/notation.md. */
static soa_frame joint_motion(soa_joint_type type, const double u[3], const double u2[3], double pitch,
                              const double *q) {
    const double zero[3] = {0, 0, 0};
    double p[3] = {0, 0, 0}, e2[3];
    soa_frame X = soa_frame_identity(), Y;
    switch (type) {
    case SOA_REVOLUTE: return soa_frame_axis_angle(u, q[0], zero);
    case SOA_PRISMATIC:
        for (int j = 0; j < 3; ++j) X.p[j] = q[0] * u[j];
        return X;
    case SOA_HELICAL:
        for (int j = 0; j < 3; ++j) p[j] = pitch * q[0] * u[j];
        return soa_frame_axis_angle(u, q[0], p);
    case SOA_CYLINDRICAL:
        for (int j = 0; j < 3; ++j) p[j] = q[1] * u[j];
        return soa_frame_axis_angle(u, q[0], p);
    case SOA_UNIVERSAL:
        X = soa_frame_axis_angle(u, q[0], zero), Y = soa_frame_axis_angle(u2, q[1], zero);
        return soa_frame_compose(&X, &Y);
    case SOA_PLANAR:
        e2[0] = u[1] * u2[2] - u[2] * u2[1], e2[1] = u[2] * u2[0] - u[0] * u2[2], e2[2] = u[0] * u2[1] - u[1] * u2[0];
        for (int j = 0; j < 3; ++j) p[j] = q[0] * u2[j] + q[1] * e2[j];
        return soa_frame_axis_angle(u, q[2], p);
    case SOA_SPHERICAL:
    case SOA_FREE: {
        const double *e = type == SOA_FREE ? q + 3 : q, w = e[0], x = e[1], y = e[2], z = e[3];
        const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
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
static void any_joint_q(dice *d, soa_joint_type type, double *q) {
    roll_many(d, -1.5, 1.5, (size_t)joint_nq[type], q);
    if (type != SOA_SPHERICAL && type != SOA_FREE) return;
    double *e = type == SOA_FREE ? q + 3 : q;
    const double size = sqrt(dot(4, e, e));
    for (int j = 0; j < 4; ++j) e[j] /= size;
}
static void any_axes(dice *d, soa_joint_type type, double u[3], double u2[3]) {
    double along;
    direction(d, u);
    do {
        direction(d, u2);
        along = dot(3, u, u2);
    } while (fabs(along) > 0.7);
    if (type != SOA_PLANAR) return;
    for (int j = 0; j < 3; ++j) u2[j] -= along * u[j];
    const double size = sqrt(dot(3, u2, u2));
    for (int j = 0; j < 3; ++j) u2[j] /= size;
}

/* ---- a random closed system ---------------------------------------------------------------------------------------- */
typedef struct wave {
    double middle, size, speed, phase;
} wave;
static void drive(void *user, double t, double out[3]) {
    const wave *w = user;
    const double x = w->speed * t + w->phase;
    out[0] = w->middle + w->size * sin(x), out[1] = w->size * w->speed * cos(x);
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
    double *q, *v, *tau, *qdd, *q1, *v1; /* state; room */
    double *G, *M, *A, *K, *U;           /* rows x nv, nv^2, (nv + rows)^2 each */
    double effort[MOST_CONSTRAINTS][6];
    double g[MOST_ROWS], rate[MOST_ROWS], gamma[MOST_ROWS], lambda[MOST_ROWS];
    soa_wrench f[2];
} closed;

static int has_one_dof(const soa_model *m, int body) {
    soa_body_info b;
    OK(soa_body(m, body, &b));
    return b.nv == 1 && b.mimic < 0;
}
static soa_frame pose_of(closed *s, int frame) {
    soa_frame X;
    OK(soa_pose(s->m, s->w, frame, &X));
    return X;
}
/* A constraint that holds at q, t: place2, value, ... are chosen so.  0 where this tree has none of that kind. */
static int any_constraint(closed *s, soa_constraint_kind kind, soa_constraint_def *def, wave *w) {
    dice *d = &s->d;
    const int frames = soa_frame_count(s->m);
    soa_frame_info i1, i2;
    *def = soa_constraint_default(kind, below(d, frames), below(d, frames));
    OK(soa_frame_get(s->m, def->frame1, &i1));
    OK(soa_frame_get(s->m, def->frame2, &i2));
    const int driven = (kind == SOA_DISTANCE || kind == SOA_RATIO) && roll(d, 0, 1) < 0.5;
    if (kind == SOA_RATIO) {
        int terms = 0;
        for (int k = 0; k < 3; ++k) {
            const int body = 1 + below(d, s->nb);
            soa_body_info b;
            if (!has_one_dof(s->m, body)) continue;
            OK(soa_body(s->m, body, &b));
            def->coordinate[k] = body, def->coefficient[k] = roll(d, 0.3, 2) * (k & 1 ? -1 : 1);
            def->value += def->coefficient[k] * s->q[b.q_index], ++terms;
        }
        if (!terms) return 0;
    } else {
        if (i1.body == i2.body) return 0;
        def->place1 = any_place(d, 0.3), def->place2 = any_place(d, 0.3);
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
        def->damping = roll(d, 0, 0.5), def->friction = roll(d, 0, 0.5);
    } else if (kind == SOA_DISTANCE) {
        double e[3];
        for (int j = 0; j < 3; ++j) e[j] = P2.p[j] - P1.p[j];
        def->value = sqrt(dot(3, e, e));
        if (def->value < 0.05) return 0;
    } else if (kind == SOA_ROLLING) {
        def->value = roll(d, 0.05, 0.4);
        const soa_frame stand = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {roll(d, -1, 1), roll(d, -1, 1), def->value}};
        const soa_frame there = soa_frame_compose(&P1, &stand), back = soa_frame_inverse(&X2);
        memcpy(def->place2.p, soa_frame_compose(&back, &there).p, sizeof def->place2.p);
    } else if (kind == SOA_VELOCITY) {
        def->row_count = 1 + below(d, 3), def->rows_in_frame2 = below(d, 2);
        roll_many(d, -1, 1, 36, &def->rows[0][0]);
    }
    if (driven) {
        w->size = roll(d, 0.1, 1), w->speed = roll(d, 0.5, 3), w->phase = roll(d, -3, 3);
        w->middle = def->value - w->size * sin(w->speed * s->t + w->phase);
        def->drive = drive, def->user = w;
    }
    return 1;
}

static closed *open_closed(long seed, int most) {
    closed *s = calloc(1, sizeof *s);
    s->seed = seed, s->d.state = (uint64_t)seed * 7919 + 3;
    dice *d = &s->d;
    char name[64];
    soa_report report = {0};
    snprintf(name, sizeof name, "%s:%ld", seed % 3 ? "random" : "random-ideal", seed);
    if (soa_stock_model(name, NULL, &s->m, &report)) fail_msg("%s: %s", name, report.text);
    OK(soa_work_create(s->m, &s->w));
    const soa_constraint_capacity room = {MOST_CONSTRAINTS, MOST_ROWS, 1};
    OK(soa_constraints_create(s->m, &room, &s->c));
    s->nq = soa_nq(s->m), s->nv = soa_nv(s->m), s->nb = soa_body_count(s->m);
    const size_t nv = (size_t)s->nv, all = (nv + MOST_ROWS) * (nv + MOST_ROWS);
    s->q = calloc((size_t)s->nq, 8), s->q1 = calloc((size_t)s->nq, 8), s->v = calloc(nv, 8), s->v1 = calloc(nv, 8);
    s->tau = calloc(nv, 8), s->qdd = calloc(nv, 8), s->G = calloc(MOST_ROWS * nv, 8), s->M = calloc(nv * nv, 8);
    s->A = calloc(all, 8), s->K = calloc(all, 8), s->U = calloc(all, 8);
    s->t = roll(d, -2, 2);
    soa_neutral(s->m, s->q);
    roll_many(d, -2, 2, nv, s->v);
    OK(soa_integrate(s->m, s->q, s->v, 1, s->q));
    roll_many(d, -1, 1, nv, s->v), roll_many(d, -5, 5, nv, s->tau);
    for (int i = 0; i < 2; ++i) {
        s->f[i].frame = below(d, soa_frame_count(s->m)), s->f[i].axes = i ? SOA_AXES_BODY : SOA_AXES_WORLD;
        roll_many(d, -4, 4, 6, s->f[i].value);
    }
    const int wanted = 1 + below(d, most);
    for (int tries = 0; tries < 30 && s->count < wanted; ++tries) {
        const int pick = below(d, 10); /* loops half of the time */
        const soa_constraint_kind kind = pick < 5   ? SOA_LOOP
                                         : pick < 6 ? SOA_DISTANCE
                                         : pick < 7 ? SOA_RATIO
                                         : pick < 8 ? SOA_ROLLING
                                                    : SOA_VELOCITY;
        const int k = s->count;
        int number = -1;
        if (!any_constraint(s, kind, s->def + k, s->waves + k)) continue;
        if (soa_constraint_add(s->c, s->def + k, &number, &report)) fail_msg("seed %ld: %s", seed, report.text);
        assert_int_equal(number, k);
        s->count = k + 1, s->rows = soa_constraint_rows(s->c);
        memcpy(s->v1, s->v, nv * sizeof *s->v);
        /* a drive may ask for what the rest forbids: that one is taken back */
        const soa_status bad = soa_closed_project(s->c, s->w, s->t, s->q, s->v, NULL);
        if (bad && bad != SOA_E_INCONSISTENT && bad != SOA_E_NO_CONVERGENCE)
            fail_msg("seed %ld: %s", seed, soa_status_text(bad));
        if (!bad && s->rows <= s->nv) {
            roll_many(d, -2, 2, 6, s->effort[k]);
            if (kind == SOA_LOOP) OK(soa_constraint_set_effort(s->c, number, s->effort[k]));
            continue;
        }
        OK(soa_constraint_remove(s->c, number));
        s->count = k, s->rows = soa_constraint_rows(s->c);
        memcpy(s->v, s->v1, nv * sizeof *s->v);
    }
    OK(soa_constraint_rows_at(s->c, s->w, s->q, s->v, s->t, s->g, s->rate, s->G, s->gamma));
    return s;
}
static void close_closed(closed *s) {
    free(s->q), free(s->q1), free(s->v), free(s->v1), free(s->tau), free(s->qdd), free(s->G), free(s->M), free(s->A),
        free(s->K), free(s->U);
    soa_constraints_free(s->c), soa_work_free(s->w), soa_model_free(s->m);
    free(s);
}

/* ---- residuals, rows and gamma by differences ---------------------------------------------------------------------- */
/* Fourth-order differences of the values at -2h, -h, h, 2h. */
static double slope(const double f[4], double h) {
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
}
/* Rates of velocity rows from poses alone: [w; p'] of place 2 in place 1, from the poses at +-h and +-2h. */
static void relative_rates(closed *s, const soa_constraint_def *def, const double *d, double h, soa_frame *now,
                           double w[3], double p[3]) {
    soa_frame X[5];
    for (int k = 0; k < 5; ++k) {
        OK(soa_integrate(s->m, s->q, d, (k - 2) * h, s->q1));
        OK(soa_kinematics(s->m, s->w, s->q1, NULL, NULL));
        const soa_frame X1 = pose_of(s, def->frame1), X2 = pose_of(s, def->frame2);
        const soa_frame P1 = soa_frame_compose(&X1, &def->place1), P2 = soa_frame_compose(&X2, &def->place2),
                        B = soa_frame_inverse(&P1);
        X[k] = soa_frame_compose(&B, &P2);
    }
    *now = X[2];
    double S[9];
    for (int i = 0; i < 3; ++i) {
        const double f[4] = {X[0].p[i], X[1].p[i], X[3].p[i], X[4].p[i]};
        p[i] = slope(f, h);
        for (int j = 0; j < 3; ++j) { /* R' R^T */
            double y = 0;
            for (int k = 0; k < 3; ++k) {
                const double r[4] = {X[0].R[3 * i + k], X[1].R[3 * i + k], X[3].R[3 * i + k], X[4].R[3 * i + k]};
                y += slope(r, h) * now->R[3 * j + k];
            }
            S[3 * i + j] = y;
        }
    }
    w[0] = S[7], w[1] = S[2], w[2] = S[3];
}
static double expected_rate(const soa_constraint_def *def, const soa_frame *X, const double w[3], const double p[3],
                            int row) {
    if (def->kind == SOA_ROLLING) return row == 1 ? -(p[0] - def->value * w[1]) : -(p[1] + def->value * w[0]);
    double V[6];
    for (int j = 0; j < 3; ++j) {
        V[j] = def->rows_in_frame2 ? X->R[j] * w[0] + X->R[3 + j] * w[1] + X->R[6 + j] * w[2] : w[j];
        V[3 + j] = def->rows_in_frame2 ? X->R[j] * p[0] + X->R[3 + j] * p[1] + X->R[6 + j] * p[2] : p[j];
    }
    return -dot(6, def->rows[row], V);
}
/* Off the constraints: near half a turn, or near a screw's next thread, g jumps. */
static int may_jump(const soa_constraint_def *def, double g) {
    return fabs(g) > 2 || (def->joint == SOA_HELICAL && !(fabs(g) + 0.02 < 2 * fabs(def->pitch)));
}
static int on_velocity(const soa_constraint_def *def, int row) {
    return def->kind == SOA_VELOCITY || (def->kind == SOA_ROLLING && row > 0);
}

static void rows_by_differences(void **state) {
    (void)state;
    worst_case closure = {0}, admissible = {0}, rates = {0}, matrix = {0}, second = {0}, velocity = {0}, far = {0};
    int kinds[5] = {0}, joints[SOA_JOINT_TYPE_COUNT] = {0}, drives = 0, mimics = 0, floating = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        const int nv = s->nv, rows = s->rows;
        for (int r = 0; r < rows; ++r) {
            note(&closure, fabs(s->g[r]), seed);
            note(&admissible, fabs(s->rate[r]), seed);
        }
        for (int b = 1; b <= s->nb; ++b) {
            soa_body_info info;
            OK(soa_body(s->m, b, &info));
            mimics += info.mimic >= 0, floating += info.type == SOA_FREE && info.parent == 0;
        }
        for (int k = 0; k < s->count; ++k) {
            ++kinds[s->def[k].kind], drives += s->def[k].drive != NULL;
            if (s->def[k].kind == SOA_LOOP) ++joints[s->def[k].joint];
        }
        for (int away = 0; away < 2; ++away) { /* on the constraints, then off them and with any velocity */
            double *v = s->v, at[4][MOST_ROWS], dt[4][MOST_ROWS], f[4];
            if (away) {
                roll_many(&s->d, -0.3, 0.3, (size_t)nv, s->v1);
                OK(soa_integrate(s->m, s->q, s->v1, 1, s->q));
                roll_many(&s->d, -1, 1, (size_t)nv, s->v);
                OK(soa_constraint_rows_at(s->c, s->w, s->q, v, s->t, s->g, s->rate, s->G, s->gamma));
            }
            double fastest = 1; /* a drive near a dead point asks for high speeds */
            for (int j = 0; j < nv; ++j) fastest = fmax(fastest, fabs(v[j]));
            const double h = 1e-3 / fastest;
            /* q(t) = q + v t with v constant: G v + dg/dt is the rate of g, gamma that of G v + dg/dt */
            for (int k = 0; k < 4; ++k) {
                const double x = (k < 2 ? k - 2 : k - 1) * h;
                OK(soa_integrate(s->m, s->q, v, x, s->q1));
                OK(soa_constraint_rows_at(s->c, s->w, s->q1, v, s->t + x, at[k], dt[k], NULL, NULL));
            }
            for (int k = 0, r = 0; k < s->count; ++k) {
                int first, n;
                OK(soa_constraint_span(s->c, k, &first, &n));
                assert_int_equal(first, r);
                double w[3], p[3];
                soa_frame X;
                const int poses = s->def[k].kind == SOA_VELOCITY || s->def[k].kind == SOA_ROLLING;
                if (poses) relative_rates(s, s->def + k, v, h, &X, w, p);
                for (int i = 0; i < n; ++i, ++r) {
                    for (int j = 0; j < 4; ++j) f[j] = dt[j][r];
                    note(away ? &far : &second, fabs(slope(f, h) - s->gamma[r]) / fmax(fastest * fastest, fabs(s->gamma[r])), seed);
                    if (on_velocity(s->def + k, i)) {
                        assert_true(s->g[r] == 0);
                        note(&velocity, fabs(s->rate[r] - expected_rate(s->def + k, &X, w, p, i)) / fastest, seed);
                        continue;
                    }
                    if (away && may_jump(s->def + k, s->g[r])) continue;
                    for (int j = 0; j < 4; ++j) f[j] = at[j][r];
                    note(away ? &far : &rates, fabs(slope(f, h) - s->rate[r]) / fmax(fastest, fabs(s->rate[r])), seed);
                }
            }
            /* G, as the derivative of g along any direction at one time */
            roll_many(&s->d, -1, 1, (size_t)nv, s->v1);
            for (int k = 0; k < 4; ++k) {
                OK(soa_integrate(s->m, s->q, s->v1, (k < 2 ? k - 2 : k - 1) * h, s->q1));
                OK(soa_constraint_rows_at(s->c, s->w, s->q1, NULL, s->t, at[k], NULL, NULL, NULL));
            }
            for (int k = 0, r = 0; k < s->count; ++k) {
                int n;
                OK(soa_constraint_span(s->c, k, NULL, &n));
                for (int i = 0; i < n; ++i, ++r) {
                    if (on_velocity(s->def + k, i) || (away && may_jump(s->def + k, s->g[r]))) continue;
                    for (int j = 0; j < 4; ++j) f[j] = at[j][r];
                    const double along = dot(nv, s->G + nv * r, s->v1);
                    note(away ? &far : &matrix, fabs(slope(f, h) - along) / fmax(1, fabs(along)), seed);
                }
            }
        }
        close_closed(s);
    }
    printf("  loops %d, distances %d, ratios %d, rolling %d, velocities %d; driven %d; mimic joints %d, free bases %d\n",
           kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], drives, mimics, floating);
    for (int j = 0; j < SOA_JOINT_TYPE_COUNT; ++j)
        printf("  %s %d%s", soa_joint_type_name((soa_joint_type)j), joints[j],
               j + 1 < SOA_JOINT_TYPE_COUNT ? "," : "\n");
    conclude("closed by construction", &closure, 1e-12);
    conclude("velocities made admissible", &admissible, 1e-10);
    conclude("rate = dg/dt", &rates, 1e-8);
    conclude("rates of velocity rows from poses", &velocity, 1e-8);
    conclude("G = dg/dq", &matrix, 1e-8);
    conclude("gamma = d(rate)/dt", &second, 1e-8);
    conclude("all of these off the constraints", &far, 1e-6);
}

/* ---- the dense oracle ------------------------------------------------------------------------------------------------ */
/* Torques of cut joints by virtual work: their rates are linear in v. */
static void cut_torques(closed *s, double *torque) {
    const int nv = s->nv;
    double now[MOST_CONSTRAINTS][6], unit[6];
    int n[MOST_CONSTRAINTS] = {0};
    OK(soa_constraint_rows_at(s->c, s->w, s->q, s->v, s->t, NULL, NULL, NULL, NULL));
    for (int k = 0; k < s->count; ++k)
        if (s->def[k].kind == SOA_LOOP) OK(soa_constraint_rates(s->c, k, now[k], n + k));
    memset(s->v1, 0, (size_t)nv * sizeof *s->v1);
    for (int j = 0; j < nv; ++j) {
        torque[j] = 0, s->v1[j] = 1;
        OK(soa_constraint_rows_at(s->c, s->w, s->q, s->v1, s->t, NULL, NULL, NULL, NULL));
        s->v1[j] = 0;
        for (int k = 0; k < s->count; ++k) {
            if (!n[k]) continue;
            OK(soa_constraint_rates(s->c, k, unit, NULL));
            for (int i = 0; i < n[k]; ++i)
                torque[j] += unit[i] * (s->effort[k][i] - s->def[k].damping * now[k][i] -
                                        s->def[k].friction * ((now[k][i] > 0) - (now[k][i] < 0)));
        }
    }
}
typedef struct answer {
    int rank;
    double condition;   /* of G M^-1 G' on its range */
    double gap;         /* largest eigenvalue left out, relative */
    double off;         /* how far the redundant rows contradict */
    double free;        /* size of the acceleration without constraints */
    double *vdot, *pull; /* nv: vdot, G' lambda */
    double lambda[MOST_ROWS];
} answer;
/* x0 = tau + cut torques - bias, then by singular values of C^-1 G'; lambda of least norm. */
static void solve_dense(closed *s, const double *tau, answer *a) {
    const int nv = s->nv, rows = s->rows, k = rows < nv ? rows : nv;
    double *x0 = a->pull, *x = a->vdot, S[MOST_ROWS], y[MOST_ROWS], super[MOST_ROWS], b[MOST_ROWS];
    cut_torques(s, x);
    OK(soa_rnea(s->m, s->w, s->q, s->v, NULL, s->f, 2, x0));
    for (int j = 0; j < nv; ++j) x0[j] = x[j] + (tau ? tau[j] : 0) - x0[j];
    OK(soa_crba(s->m, s->w, s->q, s->M));
    OK(soa_minv_mul(s->m, s->w, s->q, x0, x));
    a->free = 0;
    for (int j = 0; j < nv; ++j) a->free = fmax(a->free, fabs(x[j]));
    double *C = s->K, *U = s->U, *A = s->A, *V = s->K + nv * nv;
    memcpy(C, s->M, (size_t)(nv * nv) * sizeof *C);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', nv, C, nv), 0);
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < nv; ++j) A[rows * j + r] = s->G[nv * r + j];
    if (rows) assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, rows, C, nv, A, rows), 0);
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, 1, C, nv, x0, 1), 0);
    if (rows)
        assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', nv, rows, A, rows, S, U, k, V, rows, super), 0);
    a->rank = 0, a->gap = 0, a->condition = 1, a->off = 0;
    for (int i = 0; i < k; ++i) {
        const double e = S[0] > 0 ? S[i] / S[0] * (S[i] / S[0]) : 0;
        if (e > 1e-16)
            a->rank = i + 1, a->condition = 1 / e;
        else if (e > a->gap)
            a->gap = e;
    }
    memcpy(x, x0, (size_t)nv * sizeof *x);
    for (int r = 0; r < rows; ++r) a->lambda[r] = 0;
    for (int i = 0; i < a->rank; ++i) { /* U1'x = -S^-1 V1'gamma; lambda = V1 S^-1 U1'(x - x0) */
        double held = 0, free = 0;
        for (int r = 0; r < rows; ++r) held -= V[rows * i + r] * s->gamma[r] / S[i];
        for (int j = 0; j < nv; ++j) free += U[k * j + i] * x0[j];
        for (int j = 0; j < nv; ++j) x[j] += U[k * j + i] * (held - free);
        y[i] = (held - free) / S[i];
        for (int r = 0; r < rows; ++r) a->lambda[r] += V[rows * i + r] * y[i];
    }
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'T', 'N', nv, 1, C, nv, x, 1), 0);
    for (int r = 0; r < rows; ++r) {
        b[r] = s->gamma[r] + dot(nv, s->G + nv * r, x);
        a->off = fmax(a->off, fabs(b[r]));
    }
    for (int j = 0; j < nv; ++j) {
        a->pull[j] = 0;
        for (int r = 0; r < rows; ++r) a->pull[j] += s->G[nv * r + j] * a->lambda[r];
    }
}
/* The whole system (20) by LU; only where the rows are independent. */
static void solve_whole(closed *s, const double *tau, answer *a) {
    const int nv = s->nv, rows = s->rows, n = nv + rows;
    double *K = s->K, *x = s->U, *cut = s->A;
    lapack_int pivot[512];
    assert_true(n <= 512);
    cut_torques(s, cut);
    OK(soa_rnea(s->m, s->w, s->q, s->v, NULL, s->f, 2, x));
    OK(soa_crba(s->m, s->w, s->q, s->M));
    for (int i = 0; i < nv; ++i) {
        x[i] = cut[i] + (tau ? tau[i] : 0) - x[i];
        for (int j = 0; j < nv; ++j) K[n * i + j] = s->M[nv * i + j];
        for (int r = 0; r < rows; ++r) K[n * i + nv + r] = K[n * (nv + r) + i] = s->G[nv * r + i];
    }
    for (int r = 0; r < rows; ++r) {
        x[nv + r] = -s->gamma[r];
        for (int c = 0; c < rows; ++c) K[n * (nv + r) + nv + c] = 0;
    }
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, K, n, pivot, x, 1), 0);
    memcpy(a->vdot, x, (size_t)nv * sizeof *x);
    for (int r = 0; r < rows; ++r) a->lambda[r] = -x[nv + r];
    for (int j = 0; j < nv; ++j) {
        a->pull[j] = 0;
        for (int r = 0; r < rows; ++r) a->pull[j] += s->G[nv * r + j] * a->lambda[r];
    }
}
static answer make_answer(const closed *s) {
    answer a = {.vdot = calloc((size_t)s->nv, 8), .pull = calloc((size_t)s->nv, 8)};
    return a;
}
static void free_answer(answer *a) {
    free(a->vdot), free(a->pull);
}
static void pull_of(const closed *s, const double *lambda, double *pull) {
    for (int j = 0; j < s->nv; ++j) {
        pull[j] = 0;
        for (int r = 0; r < s->rows; ++r) pull[j] += s->G[s->nv * r + j] * lambda[r];
    }
}
/* Relative to the answer, or to a thousandth of the acceleration without constraints: what cannot move at all has vdot = 0
 * up to the rounding of what is held back. */
static double vdot_error(const double *got, const answer *a, int nv) {
    double scale = 1e-3 * fmax(1, a->free), worst = 0;
    for (int j = 0; j < nv; ++j) {
        scale = fmax(scale, fabs(a->vdot[j]));
        if (!(fabs(got[j] - a->vdot[j]) <= worst)) worst = fabs(got[j] - a->vdot[j]);
    }
    return worst / scale;
}
static const soa_closed_method methods[] = {SOA_CLOSED_AUTO, SOA_CLOSED_KKT, SOA_CLOSED_FORCES, SOA_CLOSED_NULL_SPACE};

static void dynamics(void **state) {
    (void)state;
    worst_case vdot = {0}, pull = {0}, lambda = {0}, whole[3] = {{0}}, least = {0}, dull = {0}, hidden = {0};
    long full = 0, redundant = 0, beyond = 0, refused = 0, moving = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 4);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s), b = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int independent = a.rank == rows, clear = a.condition < 1e8 && a.gap < 1e-26;
        full += clear && independent, redundant += clear && !independent, beyond += !clear;
        moving += rows > 0 && nv > a.rank;
        if (clear && independent) {
            solve_whole(s, s->tau, &b);
            note(&whole[0], vdot_error(b.vdot, &a, nv), seed);
            note(&whole[1], relative(b.pull, a.pull, (size_t)nv), seed);
            note(&whole[2], relative(b.lambda, a.lambda, (size_t)rows), seed);
        }
        for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
            soa_closed_options o = soa_closed_default();
            soa_closed_report report;
            o.method = methods[k];
            const soa_status got =
                soa_closed_fd(s->c, s->w, &o, s->q, s->v, s->tau, s->f, 2, s->t, s->qdd, s->lambda, &report);
            if (clear && got) fail_msg("seed %ld, method %d: %s", seed, (int)k, soa_status_text(got));
            assert_int_equal(report.rows, rows);
            if (clear) {
                if (report.rank != a.rank)
                    fail_msg("seed %ld, method %d: rank %d, expected %d of %d", seed, (int)k, report.rank, a.rank, rows);
                assert_int_equal(report.redundant, rows - a.rank);
                assert_true((report.redundant > 0) == (report.text[0] != 0));
                note(&vdot, vdot_error(s->qdd, &a, nv), seed);
                pull_of(s, s->lambda, s->v1);
                note(&pull, relative(s->v1, a.pull, (size_t)nv), seed);
                note(independent ? &lambda : &least, relative(s->lambda, a.lambda, (size_t)rows), seed);
            } else { /* the status is the answer: fine within what the condition allows, or singular */
                refused += got != SOA_OK;
                if (got == SOA_OK) {
                    for (int r = 0; r < rows; ++r) {
                        double sum = s->gamma[r], size = 1;
                        for (int j = 0; j < nv; ++j)
                            sum += s->G[nv * r + j] * s->qdd[j], size = fmax(size, fabs(s->G[nv * r + j] * s->qdd[j]));
                        note(&dull, fabs(sum) / size, seed);
                    }
                } else if (got == SOA_E_SINGULAR) {
                    note(&hidden, 1e9 / report.condition, seed); /* the report tells why */
                } else {
                    assert_int_equal(got, SOA_E_INCONSISTENT);
                }
            }
        }
        free_answer(&a), free_answer(&b), close_closed(s);
    }
    printf("  %ld systems with independent rows, %ld with redundant ones, %ld beyond 1e8 (%ld refusals); %ld can move\n",
           full, redundant, beyond, refused, moving);
    conclude("oracles: vdot of (20) and by singular values", whole, 1e-9);
    conclude("oracles: G' lambda", whole + 1, 1e-9);
    conclude("oracles: lambda", whole + 2, 1e-9);
    conclude("vdot, four methods", &vdot, 1e-9);
    conclude("G' lambda, four methods", &pull, 1e-9);
    conclude("lambda, independent rows", &lambda, 1e-9);
    conclude("lambda, redundant rows, of least norm", &least, 1e-9);
    if (dull.count) conclude("beyond 1e8, where an answer is given: G vdot + gamma", &dull, 1e-6);
    if (hidden.count) conclude("beyond 1e8, singular: 1e9 / condition told", &hidden, 1);
}

/* ---- projection and assembly ----------------------------------------------------------------------------------------- */
/* step = -M^-1 G' (G M^-1 G')^+ b by LAPACK, from s->G and M at q. */
static void mass_step(closed *s, const double *q, const double *G, int rows, const double *b, double *step) {
    const int nv = s->nv, k = rows < nv ? rows : nv;
    double *C = s->K, *U = s->U, *A = s->A, *V = s->K + nv * nv, S[MOST_ROWS], super[MOST_ROWS];
    OK(soa_crba(s->m, s->w, q, C));
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', nv, C, nv), 0);
    for (int j = 0; j < nv; ++j) step[j] = 0;
    if (!rows) return;
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < nv; ++j) A[rows * j + r] = G[nv * r + j];
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'N', 'N', nv, rows, C, nv, A, rows), 0);
    assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', nv, rows, A, rows, S, U, k, V, rows, super), 0);
    for (int i = 0; i < k && S[i] > 1e-8 * S[0]; ++i) {
        double y = 0;
        for (int r = 0; r < rows; ++r) y -= V[rows * i + r] * b[r] / S[i];
        for (int j = 0; j < nv; ++j) step[j] += U[k * j + i] * y;
    }
    assert_int_equal(LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, 'L', 'T', 'N', nv, 1, C, nv, step, 1), 0);
}
static double kinetic_norm(closed *s, const double *q, const double *x) {
    OK(soa_mass_mul(s->m, s->w, q, x, s->A));
    return sqrt(fmax(0, dot(s->nv, x, s->A)));
}
static void projection(void **state) {
    (void)state;
    worst_case back = {0}, rates = {0}, velocity = {0}, position = {0}, tangent = {0};
    long done = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 3);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int clear = a.condition < 1e6 && a.gap < 1e-26; /* a dead point is no place to come back to */
        free_answer(&a);
        if (!clear || !rows) {
            close_closed(s);
            continue;
        }
        ++done;
        double error[2], *q0 = calloc((size_t)s->nq, 8), *v0 = calloc((size_t)nv, 8), *step = calloc((size_t)nv, 8);
        /* velocity: linear, so exactly the dense formula, here for a velocity that is far off */
        roll_many(&s->d, -3, 3, (size_t)nv, v0);
        memcpy(s->v1, v0, (size_t)nv * sizeof *v0), memcpy(s->q1, s->q, (size_t)s->nq * sizeof *q0);
        OK(soa_closed_project(s->c, s->w, s->t, s->q1, s->v1, error));
        OK(soa_constraint_rows_at(s->c, s->w, s->q1, v0, s->t, NULL, s->rate, s->G, NULL));
        mass_step(s, s->q1, s->G, rows, s->rate, step);
        for (int j = 0; j < nv; ++j) step[j] += v0[j];
        note(&velocity, relative(s->v1, step, (size_t)nv), seed);
        OK(soa_constraint_rows_at(s->c, s->w, s->q1, s->v1, s->t, NULL, s->rate, NULL, NULL));
        for (int r = 0; r < rows; ++r) note(&rates, fabs(s->rate[r]), seed);
        /* position: a small way off, back to it; the step is the dense one up to its square */
        roll_many(&s->d, -1e-5, 1e-5, (size_t)nv, step);
        OK(soa_integrate(s->m, s->q, step, 1, q0));
        memcpy(s->q1, q0, (size_t)s->nq * sizeof *q0);
        OK(soa_closed_project(s->c, s->w, s->t, s->q1, NULL, error));
        OK(soa_constraint_rows_at(s->c, s->w, s->q1, NULL, s->t, s->g, NULL, NULL, NULL));
        for (int r = 0; r < rows; ++r) note(&back, fabs(s->g[r]), seed);
        OK(soa_constraint_rows_at(s->c, s->w, q0, NULL, s->t, s->g, NULL, s->G, NULL));
        int n = 0; /* rows on positions only, as they stand on the constraints: off them redundant rows seem independent */
        OK(soa_constraint_rows_at(s->c, s->w, s->q1, NULL, s->t, NULL, NULL, s->G, NULL));
        for (int k = 0, r = 0; k < s->count; ++k) {
            int count;
            OK(soa_constraint_span(s->c, k, NULL, &count));
            for (int i = 0; i < count; ++i, ++r) {
                if (on_velocity(s->def + k, i)) continue;
                memmove(s->G + nv * n, s->G + nv * r, (size_t)nv * sizeof *s->G), s->g[n++] = s->g[r];
            }
        }
        mass_step(s, s->q1, s->G, n, s->g, step);
        OK(soa_difference(s->m, q0, s->q1, s->v1));
        for (int j = 0; j < nv; ++j) v0[j] = s->v1[j] - step[j];
        note(&position, kinetic_norm(s, s->q1, v0) / fmax(1e-7, kinetic_norm(s, s->q1, step)), seed);
        /* and it is mass-orthogonal to every motion that the constraints allow */
        OK(soa_mass_mul(s->m, s->w, s->q1, s->v1, v0));
        roll_many(&s->d, -1, 1, (size_t)nv, s->tau);
        double rate[MOST_ROWS];
        for (int r = 0; r < n; ++r) rate[r] = dot(nv, s->G + nv * r, s->tau);
        mass_step(s, s->q1, s->G, n, rate, step);
        for (int j = 0; j < nv; ++j) step[j] += s->tau[j]; /* admissible */
        const double size = kinetic_norm(s, s->q1, s->v1) * kinetic_norm(s, s->q1, step);
        if (size > 1e-7) note(&tangent, fabs(dot(nv, v0, step)) / size, seed);
        free(q0), free(v0), free(step), close_closed(s);
    }
    printf("  %ld systems\n", done);
    conclude("|g| after projection", &back, 1e-12);
    conclude("|G v + dg/dt| after projection", &rates, 1e-10);
    conclude("v is the nearest in kinetic energy", &velocity, 1e-9);
    conclude("q is the nearest, to the square of the way", &position, 1e-2);
    conclude("the way is mass-orthogonal to admissible motions", &tangent, 1e-2);
}

static void assembly(void **state) {
    (void)state;
    worst_case shut = {0};
    long tried = 0, found = 0;
    for (long seed = first_seed(); seed < first_seed() + systems() / 2; ++seed) {
        closed *s = open_closed(seed, 3);
        soa_report report = {0};
        roll_many(&s->d, -0.3, 0.3, (size_t)s->nv, s->v1);
        OK(soa_integrate(s->m, s->q, s->v1, 1, s->q1));
        memcpy(s->q, s->q1, (size_t)s->nq * sizeof *s->q);
        const soa_status got = soa_closed_assemble(s->c, s->w, s->t, s->q1, &report);
        ++tried;
        if (got == SOA_OK) {
            ++found;
            OK(soa_constraint_rows_at(s->c, s->w, s->q1, NULL, s->t, s->g, NULL, NULL, NULL));
            for (int r = 0; r < s->rows; ++r) note(&shut, fabs(s->g[r]), seed);
        } else {
            assert_int_equal(got, SOA_E_NO_CONVERGENCE);
            assert_int_equal(report.status, got);
            assert_true(strstr(report.text, "constraint") != NULL && strstr(report.text, "left open") != NULL);
            assert_memory_equal(s->q, s->q1, (size_t)s->nq * sizeof *s->q); /* the guess is left */
        }
        close_closed(s);
    }
    printf("  %ld of %ld guesses up to 0.3 away closed\n", found, tried);
    assert_true(found >= tried * 97 / 100);
    conclude("|g| after assembly", &shut, 1e-10);
}

/* ---- inverse dynamics -------------------------------------------------------------------------------------------------- */
static void inverse(void **state) {
    (void)state;
    worst_case back = {0}, part = {0}, least = {0}, zero = {0}, multipliers = {0};
    long subsets = 0, refused = 0;
    for (long seed = first_seed(); seed < first_seed() + systems(); ++seed) {
        closed *s = open_closed(seed, 3);
        const int nv = s->nv, rows = s->rows;
        answer a = make_answer(s);
        solve_dense(s, s->tau, &a);
        const int clear = a.condition < 1e6 && a.gap < 1e-26;
        unsigned char *mask = calloc((size_t)nv, 1);
        double *acc = calloc((size_t)nv, 8), *tau = calloc((size_t)nv, 8), lambda[MOST_ROWS];
        memcpy(acc, a.vdot, (size_t)nv * sizeof *acc); /* an acceleration the machine can have */
        for (int round = 0; clear && round < 3; ++round) {
            const int full = round == 0;
            int driven = 0;
            for (int j = 0; j < nv; ++j) driven += mask[j] = full || roll(&s->d, 0, 1) < (round == 1 ? 0.8 : 0.5);
            const soa_status got = soa_closed_id(s->c, s->w, s->q, s->v, acc, s->f, 2, s->t, full ? NULL : mask, tau, lambda);
            /* can the others be held by the constraints alone?  G_u' lambda = f_u */
            double *f = s->v1, *rest = s->qdd;
            cut_torques(s, rest);
            OK(soa_rnea(s->m, s->w, s->q, s->v, acc, s->f, 2, f));
            for (int j = 0; j < nv; ++j) f[j] -= rest[j];
            const int u = nv - driven, big = u > rows ? u : rows;
            double *A = s->A, *x = s->U, off = 0, size = 1;
            lapack_int rank = 0;
            double sv[512];
            for (int j = 0, k = 0; j < nv; ++j) {
                size = fmax(size, fabs(f[j]));
                if (mask[j]) continue;
                for (int r = 0; r < rows; ++r) A[rows * k + r] = s->G[nv * r + j];
                x[k++] = f[j];
            }
            for (int i = u; i < big; ++i) x[i] = 0;
            if (u && rows) LAPACKE_dgelsd(LAPACK_ROW_MAJOR, u, rows, 1, A, rows, x, 1, sv, 1e-10, &rank);
            for (int j = 0, k = 0; j < nv; ++j) {
                if (mask[j]) continue;
                double held = 0;
                for (int r = 0; r < rows; ++r) held += s->G[nv * r + j] * x[r];
                off = fmax(off, fabs(f[j] - (rows ? held : 0))), ++k;
            }
            if (got == SOA_E_INCONSISTENT) {
                ++refused;
                assert_false(full);
                assert_true(off > 1e-10 * size);
                continue;
            }
            if (got) fail_msg("seed %ld, round %d: %s", seed, round, soa_status_text(got));
            assert_true(off <= 1e-6 * size);
            subsets += !full;
            for (int j = 0; j < nv; ++j)
                if (!mask[j]) note(&zero, fabs(tau[j]), seed);
            /* lambda given is one that goes with tau: f = tau + G' lambda */
            pull_of(s, lambda, rest);
            for (int j = 0; j < nv; ++j) rest[j] += tau[j];
            note(&multipliers, relative(rest, f, (size_t)nv), seed);
            /* least norm: tau is orthogonal to G_a' z for every z with G_u' z = 0 */
            if (rows && driven) {
                double *N = s->K, S2[MOST_ROWS], V[MOST_ROWS * MOST_ROWS], super[512];
                int k = 0;
                for (int j = 0; j < nv; ++j)
                    if (!mask[j])
                        for (int r = 0, to = k++; r < rows; ++r) N[rows * to + r] = s->G[nv * r + j];
                int free_from = 0;
                if (u) {
                    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'A', u, rows, N, rows, S2, NULL, u, V, rows, super);
                    while (free_from < (u < rows ? u : rows) && S2[free_from] > 1e-9 * fmax(1, S2[0])) ++free_from;
                } else {
                    for (int i = 0; i < rows * rows; ++i) V[i] = i % (rows + 1) == 0;
                }
                for (int e = free_from; e < rows; ++e) {
                    double along = 0, way = 0, force = 0;
                    for (int j = 0; j < nv; ++j) {
                        double y = 0;
                        for (int r = 0; r < rows; ++r) y += s->G[nv * r + j] * V[rows * e + r];
                        along += y * tau[j], way = fmax(way, fabs(y)), force = fmax(force, fabs(f[j]));
                    }
                    note(&least, fabs(along) / fmax(1, way * force), seed);
                }
            }
            const soa_status forward = soa_closed_fd(s->c, s->w, NULL, s->q, s->v, tau, s->f, 2, s->t, s->qdd, NULL, NULL);
            OK(forward);
            note(full ? &back : &part, vdot_error(s->qdd, &a, nv), seed);
        }
        free(mask), free(acc), free(tau), free_answer(&a), close_closed(s);
    }
    printf("  %ld subsets of motors could do it, %ld could not\n", subsets, refused);
    conclude("forward(inverse(a)) = a, all joints with motors", &back, 1e-9);
    conclude("forward(inverse(a)) = a, some joints with motors", &part, 1e-9);
    conclude("M a + bias = tau + G' lambda", &multipliers, 1e-9);
    conclude("tau of least norm", &least, 1e-9);
    conclude("no torque where there is no motor", &zero, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_differences), cmocka_unit_test(dynamics), cmocka_unit_test(projection), cmocka_unit_test(assembly), cmocka_unit_test(inverse)};
    return cmocka_run_group_tests_name("closed", tests, NULL, NULL);
}
