/* grasp_systems.h  random arms that hold a random object by random contacts, closed at their state;
 * and the dense system (2.11) of RK88-II in long double, with which every method is compared.
 *
 * T, J, M and biases are formed from public calls. Of the code under test only soa_grasp_impulse is
 * used, to find velocities that obey the contacts. */
#ifndef SOA_TESTS_GRASP_SYSTEMS_H
#define SOA_TESTS_GRASP_SYSTEMS_H
#include "check.h"
#include "soa/soa.h"

#define OK(call) assert_int_equal(call, SOA_OK)
enum { MOST_ARMS = 6, MOST_BODIES = 64, MOST_V = 160, MOST_ROWS = 6 * MOST_ARMS };

typedef struct recipe {
    int arms;      /* 0: 2 to 4 */
    int joints;    /* joints of each arm; 0: 3 to 9 */
    int floating;  /* arms on a floating base; -1: either */
    int rigid;     /* only rigid grasps */
    int loops;     /* only contacts that are also joints: rigid, line, point, face */
    int mechanism; /* the object has a lid; contacts on both bodies; -1: seldom */
    int no_gravity, no_losses;
    int turning_only; /* only revolute joints */
    int planar;       /* with parallel axes */
    int mimic;        /* some joints follow others */
} recipe;

typedef struct grasp_system {
    long seed;
    dice d;
    const soa_model *m;
    soa_work *w;
    soa_grasp *g;
    int arms, floating, mechanism, nq, nv, object; /* object: number of its frame */
    soa_contact_def contact[MOST_ARMS];
    double q[MOST_V], v[MOST_V], tau[MOST_V];
} grasp_system;

static inline void random_rotation(dice *d, double R[9]) {
    double axis[3];
    const double zero[3] = {0, 0, 0};
    roll_many(d, -1, 1, 3, axis);
    axis[0] += axis[0] > 0 ? 0.1 : -0.1;
    const soa_frame X = soa_frame_from_axis_angle(axis, roll(d, -3, 3), zero);
    memcpy(R, X.R, sizeof X.R);
}
static inline soa_frame random_frame(dice *d, double reach) {
    soa_frame X;
    random_rotation(d, X.R);
    roll_many(d, -reach, reach, 3, X.p);
    return X;
}
static inline int pick(dice *d, int n) {
    const int k = (int)roll(d, 0, n);
    return k < n ? k : n - 1;
}
static inline soa_body_def random_body(dice *d, const char *name, int parent, soa_joint_type type,
                                       const recipe *r) {
    soa_body_def b = soa_body_default(name, parent, type);
    b.placement = random_frame(d, 0.3);
    b.placement.p[2] += 0.2;
    soa_body_box(&b, roll(d, 0.5, 4), roll(d, 0.1, 0.5), roll(d, 0.1, 0.5), roll(d, 0.1, 0.5));
    roll_many(d, -0.2, 0.2, 3, b.com);
    roll_many(d, -1, 1, 3, b.joint.axis);
    b.joint.axis[pick(d, 3)] += 1.5;
    if (type == SOA_REVOLUTE && pick(d, 3) == 0) { /* about a coordinate axis */
        const int k = pick(d, 3);
        for (int j = 0; j < 3; ++j)
            b.joint.axis[j] = j == k;
    }
    /* Perpendicular to it: in a planar joint's plane. */
    const double *ax = b.joint.axis;
    const double across[3] = {ax[1] * 0.2 - ax[2], ax[2] * 0.3 - ax[0] * 0.2, ax[0] - ax[1] * 0.3};
    memcpy(b.joint.axis2, across, sizeof across);
    b.joint.pitch = 0.1;
    if (type != SOA_FREE && !r->no_losses && pick(d, 3) == 0) b.joint.damping = roll(d, 0, 0.5);
    if ((type == SOA_REVOLUTE || type == SOA_PRISMATIC) && pick(d, 6) == 0) {
        b.joint.rotor_inertia = 1e-4;
        b.joint.gear_ratio = 30;
        b.joint.rotor_model = pick(d, 2) ? SOA_ROTOR_EXACT : SOA_ROTOR_REFLECTED;
    }
    return b;
}

static inline soa_contact_def random_contact(grasp_system *s, const recipe *r, int arm,
                                             int object) {
    static const soa_contact_type loops[] = {SOA_CONTACT_RIGID, SOA_CONTACT_LINE, SOA_CONTACT_POINT,
                                             SOA_CONTACT_SLIDING_FACE};
    dice *d = &s->d;
    soa_contact_type type;
    if (r->rigid) {
        type = SOA_CONTACT_RIGID;
    } else if (r->loops) {
        type = loops[pick(d, 4)];
    } else {
        type = (soa_contact_type)pick(d, SOA_CONTACT_TYPE_COUNT);
    }
    soa_contact_def c = soa_contact_default(type, arm, object);
    c.place_arm = random_frame(d, 0.2);
    c.axes_on_arm = pick(d, 3) == 0;
    if (r->loops) c.axes_on_arm = 0;
    const double x[3] = {1, 0, 0}, z[3] = {0, 0, 1}, zero[3] = {0, 0, 0};
    /* The object's pose in the arm's frame. */
    soa_frame turn = soa_frame_identity();
    double shift[3] = {0, 0, 0};
    const double angle = roll(d, -1, 1);
    switch (type) {
    case SOA_CONTACT_LINE: turn = soa_frame_from_axis_angle(x, angle, zero); break;
    case SOA_CONTACT_SLIDING_FACE: turn = soa_frame_from_axis_angle(z, angle, zero); break;
    case SOA_CONTACT_RIGID: break;
    default: random_rotation(d, turn.R);
    }
    if (type == SOA_CONTACT_SLIDING_FACE || type == SOA_CONTACT_SLIDING_POINT ||
        type == SOA_CONTACT_OWN)
        roll_many(d, -0.1, 0.1, 2, shift);
    if (type == SOA_CONTACT_OWN) {
        c.free_count = pick(d, 6);
        for (int i = 0; i < c.free_count; ++i)
            roll_many(d, -1, 1, 6, c.free[i]);
    }
    soa_frame arm_pose, object_pose, back;
    OK(soa_pose(s->m, s->w, arm, &arm_pose));
    OK(soa_pose(s->m, s->w, object, &object_pose));
    const soa_frame there = soa_frame_compose(&arm_pose, &c.place_arm);
    soa_frame here = soa_frame_compose(&there, &turn);
    /* Within the plane given by the axes. */
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            here.p[i] -= (c.axes_on_arm ? &there : &here)->R[3 * i + j] * shift[j];
    back = soa_frame_inverse(&object_pose);
    c.place_object = soa_frame_compose(&back, &here);
    return c;
}

static inline grasp_system grasp_system_open(long seed, const recipe *r) {
    static const soa_joint_type types[] = {
        SOA_REVOLUTE,  SOA_REVOLUTE,  SOA_REVOLUTE,  SOA_REVOLUTE, SOA_REVOLUTE,
        SOA_REVOLUTE,  SOA_REVOLUTE,  SOA_PRISMATIC, SOA_HELICAL,  SOA_CYLINDRICAL,
        SOA_UNIVERSAL, SOA_SPHERICAL, SOA_PLANAR};
    grasp_system s = {.seed = seed, .d = {(uint64_t)seed * 7919 + 13}};
    dice *d = &s.d;
    static soa_body_def body[MOST_BODIES];
    static char name[MOST_BODIES][16];
    int n = 0, tip[MOST_ARMS];
    s.arms = r->arms ? r->arms : 2 + pick(d, 3);
    s.floating = r->floating < 0 ? pick(d, 2) : r->floating;
    s.mechanism = r->mechanism < 0 ? pick(d, 5) == 0 : r->mechanism;
    for (int i = 0; i < MOST_BODIES; ++i)
        snprintf(name[i], sizeof name[i], "body%d", i);
    if (s.floating) {
        body[n] = random_body(d, name[n], 0, SOA_FREE, r);
        soa_body_box(&body[n], 20, 1, 0.8, 0.6);
        ++n;
    }
    for (int a = 0; a < s.arms; ++a) {
        const int joints = r->joints ? r->joints : 3 + pick(d, 7);
        int parent = s.floating ? 1 : 0;
        for (int j = 0; j < joints; ++j, ++n) {
            body[n] =
                random_body(d, name[n], parent,
                            r->turning_only || r->planar ? SOA_REVOLUTE : types[pick(d, 13)], r);
            if (j == 0) body[n].placement = random_frame(d, 1);
            const double z[3] = {0, 0, 1};
            if (r->planar) {
                memcpy(body[n].joint.axis, z, sizeof z);
                body[n].placement =
                    soa_frame_from_axis_angle(z, roll(d, -3, 3), body[n].placement.p);
            }
            if (r->mimic && j > 1 && body[n].joint.type == SOA_REVOLUTE &&
                body[n - 1].joint.type == SOA_REVOLUTE && body[n - 1].joint.mimic < 0 &&
                pick(d, 2)) {
                body[n].joint.mimic = n; /* the previous link */
                body[n].joint.mimic_ratio = roll(d, -2, 2);
                body[n].joint.mimic_offset = 0.1;
            }
            parent = n + 1;
        }
        tip[a] = n;
    }
    body[n] = random_body(d, "object", 0, SOA_FREE, r);
    const int object = ++n;
    if (s.mechanism) {
        body[n] = random_body(d, "lid", object, SOA_REVOLUTE, r);
        ++n;
    }
    assert_true(n <= MOST_BODIES);
    soa_model_def def = soa_model_default("grasp", body, n);
    if (r->no_gravity) memset(def.gravity, 0, sizeof def.gravity);
    soa_report report;
    if (soa_model_create(&def, &s.m, &report)) fail_msg("seed %ld: %s", seed, report.text);
    OK(soa_work_create(s.m, &s.w));
    OK(soa_grasp_create(s.m, MOST_ARMS, &s.g));
    s.nq = soa_model_nq(s.m);
    s.nv = soa_model_nv(s.m);
    assert_true(s.nq <= MOST_V);
    s.object = soa_model_find_frame(s.m, "object");
    soa_q_neutral(s.m, s.q);
    roll_many(d, -1.5, 1.5, (size_t)s.nv, s.v);
    OK(soa_q_integrate(s.m, s.q, s.v, 1, s.q));
    OK(soa_kinematics(s.m, s.w, s.q, NULL, NULL));
    for (int a = 0; a < s.arms; ++a) {
        const int on = s.mechanism && pick(d, 2) ? soa_model_find_frame(s.m, "lid") : s.object;
        s.contact[a] = random_contact(&s, r, soa_model_find_frame(s.m, name[tip[a] - 1]), on);
        if (soa_grasp_add(s.g, &s.contact[a], NULL, &report))
            fail_msg("seed %ld: %s", seed, report.text);
    }
    roll_many(d, -1, 1, (size_t)s.nv, s.v);
    roll_many(d, -5, 5, (size_t)s.nv, s.tau);
    (void)soa_grasp_impulse(s.g, s.w, s.q, s.v, s.v, NULL);
    return s;
}
static inline void grasp_system_close(grasp_system *s) {
    soa_grasp_free(s->g);
    soa_work_free(s->w);
    soa_model_free(s->m);
}

/* --- dense ------------------------------------------------------------------------------------ */
static inline void rotate(const double R[9], const double x[3], double y[3]) {
    for (int i = 0; i < 3; ++i)
        y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}
static inline void turn_back(const double R[9], const double x[3], double y[3]) {
    for (int i = 0; i < 3; ++i)
        y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}
static inline void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

typedef struct dense_grasp {
    int rows, n6, nv;
    double T[MOST_ROWS][6];               /* for each row: its direction, in contact axes */
    int owner[MOST_ROWS];                 /* for each row: its contact */
    double R[MOST_ARMS][9];               /* contact axes */
    double J[MOST_ROWS][MOST_V];          /* 6 per contact, in contact axes: object minus arm */
    double Ja[MOST_ROWS][MOST_V];         /* only the arm's part */
    double V[MOST_ROWS], bias[MOST_ROWS]; /* J v, and its rate at vdot = 0 */
    double M[MOST_V * MOST_V], C[MOST_V];
} dense_grasp;

/* Rows that complete the free directions, by Gram and Schmidt. */
static inline int complement(const soa_contact_def *c, double T[6][6]) {
    static const char *const free_of[] = {"", "0", "01", "012", "234", "01234"};
    double Q[12][6];
    int have = 0, rows = 0;
    for (int k = 0; k < 6; ++k) {
        double x[6] = {0};
        if (c->type == SOA_CONTACT_OWN && k < c->free_count)
            memcpy(x, c->free[k], sizeof x);
        else if (c->type != SOA_CONTACT_OWN && strchr(free_of[c->type], '0' + k))
            x[k] = 1;
        else
            continue;
        for (int pass = 0; pass < 2; ++pass)
            for (int j = 0; j < have; ++j) {
                double along = 0;
                for (int i = 0; i < 6; ++i)
                    along += x[i] * Q[j][i];
                for (int i = 0; i < 6; ++i)
                    x[i] -= along * Q[j][i];
            }
        double size = 0;
        for (int i = 0; i < 6; ++i)
            size += x[i] * x[i];
        for (int i = 0; i < 6; ++i)
            Q[have][i] = x[i] / sqrt(size);
        ++have;
    }
    const int free = have;
    while (have < 6) { /* the unit vector farthest from those present */
        double best[6], most = -1;
        for (int k = 0; k < 6; ++k) {
            double x[6] = {0}, size = 0;
            x[k] = 1;
            for (int pass = 0; pass < 2; ++pass)
                for (int j = 0; j < have; ++j) {
                    double along = 0;
                    for (int i = 0; i < 6; ++i)
                        along += x[i] * Q[j][i];
                    for (int i = 0; i < 6; ++i)
                        x[i] -= along * Q[j][i];
                }
            for (int i = 0; i < 6; ++i)
                size += x[i] * x[i];
            if (size > most) {
                most = size;
                for (int i = 0; i < 6; ++i)
                    best[i] = x[i] / sqrt(size);
            }
        }
        memcpy(Q[have++], best, sizeof best);
        memcpy(T[rows++], best, sizeof best);
    }
    assert_int_equal(free + rows, 6);
    return rows;
}

static inline void end_motion(const grasp_system *s, int frame, const soa_frame *place,
                              soa_frame *pose, double V[6], double A[6], double arm[3]) {
    soa_frame X;
    double t[3], u[3];
    OK(soa_pose(s->m, s->w, frame, &X));
    OK(soa_velocity(s->m, s->w, frame, SOA_AXES_WORLD, V));
    OK(soa_acceleration_classical(s->m, s->w, frame, SOA_AXES_WORLD, A));
    *pose = soa_frame_compose(&X, place);
    for (int j = 0; j < 3; ++j)
        arm[j] = pose->p[j] - X.p[j];
    cross(V, arm, t);
    cross(V, t, u);
    for (int j = 0; j < 3; ++j) {
        V[3 + j] += t[j];
        A[3 + j] += u[j];
    }
    cross(A, arm, t);
    for (int j = 0; j < 3; ++j)
        A[3 + j] += t[j];
}

static inline void dense_form(const grasp_system *s, const double *q, const double *v,
                              dense_grasp *D) {
    memset(D, 0, sizeof *D);
    D->nv = s->nv;
    D->n6 = 6 * s->arms;
    OK(soa_kinematics(s->m, s->w, q, v, NULL));
    for (int a = 0; a < s->arms; ++a) {
        const soa_contact_def *c = &s->contact[a];
        soa_frame pose[2];
        double V[2][6], A[2][6], arm[2][3], t[3];
        end_motion(s, c->arm, &c->place_arm, &pose[0], V[0], A[0], arm[0]);
        end_motion(s, c->object, &c->place_object, &pose[1], V[1], A[1], arm[1]);
        const int axes = c->axes_on_arm ? 0 : 1, point = 1 - axes;
        memcpy(D->R[a], pose[axes].R, sizeof D->R[a]);
        for (int side = 0; side < 2; ++side) { /* at the contact point */
            double r[3], dv[3], reach[3], x[6], y[6];
            for (int j = 0; j < 3; ++j) {
                r[j] = pose[point].p[j] - pose[side].p[j];
                dv[j] = V[point][3 + j] - V[side][3 + j];
                reach[j] = arm[side][j] + r[j];
            }
            memcpy(x, V[side], sizeof x);
            memcpy(y, A[side], sizeof y);
            cross(V[side], r, t);
            for (int j = 0; j < 3; ++j)
                x[3 + j] += t[j];
            cross(A[side], r, t);
            for (int j = 0; j < 3; ++j)
                y[3 + j] += t[j];
            cross(V[side], dv, t);
            for (int j = 0; j < 3; ++j)
                y[3 + j] += t[j];
            for (int h = 0; h < 6; h += 3) {
                double local[3];
                cross(V[axes], x + h, t);
                for (int j = 0; j < 3; ++j)
                    y[h + j] -= t[j];
                turn_back(D->R[a], x + h, local);
                for (int j = 0; j < 3; ++j)
                    D->V[6 * a + h + j] += side ? local[j] : -local[j];
                turn_back(D->R[a], y + h, local);
                for (int j = 0; j < 3; ++j)
                    D->bias[6 * a + h + j] += side ? local[j] : -local[j];
            }
            static double J[6 * MOST_V];
            OK(soa_jacobian(s->m, s->w, side ? c->object : c->arm, SOA_AXES_WORLD, J));
            for (int k = 0; k < s->nv; ++k) {
                double w[3], u[3], z[6];
                for (int j = 0; j < 3; ++j) {
                    w[j] = J[s->nv * j + k];
                    u[j] = J[s->nv * (3 + j) + k];
                }
                cross(w, reach, t);
                for (int j = 0; j < 3; ++j)
                    u[j] += t[j];
                turn_back(D->R[a], w, z);
                turn_back(D->R[a], u, z + 3);
                for (int j = 0; j < 6; ++j) {
                    D->J[6 * a + j][k] += side ? z[j] : -z[j];
                    if (!side) D->Ja[6 * a + j][k] = z[j];
                }
            }
        }
        double T[6][6];
        const int held = complement(c, T);
        for (int k = 0; k < held; ++k, ++D->rows) {
            memcpy(D->T[D->rows], T[k], sizeof T[k]);
            D->owner[D->rows] = a;
        }
    }
    OK(soa_crba(s->m, s->w, q, D->M));
    OK(soa_rnea(s->m, s->w, q, v, NULL, NULL, 0, D->C));
}
/* T'x, row by row. */
static inline double along_T(const dense_grasp *D, int row, const double *x) {
    double sum = 0;
    for (int j = 0; j < 6; ++j)
        sum += D->T[row][j] * x[6 * D->owner[row] + j];
    return sum;
}

/* Solves A x = b (n x n) with complete pivoting in long double. Unknowns without a pivot above
 * `least` (relative) are set to zero. Returns the rank. */
static inline int solve_full(int n, long double *A, long double *b, double least) {
    int *column = malloc((size_t)n * sizeof *column), rank = 0;
    long double *x = calloc((size_t)n, sizeof *x), first = 0;
    for (int j = 0; j < n; ++j)
        column[j] = j;
    for (; rank < n; ++rank) {
        int p = rank, c = rank;
        long double most = 0;
        for (int i = rank; i < n; ++i) {
            for (int j = rank; j < n; ++j) {
                if (fabsl(A[n * i + j]) > most) {
                    most = fabsl(A[n * i + j]);
                    p = i;
                    c = j;
                }
            }
        }
        if (rank == 0) first = most;
        if (!(most > first * least)) break;
        for (int j = 0; j < n && p != rank; ++j) {
            const long double t = A[n * p + j];
            A[n * p + j] = A[n * rank + j];
            A[n * rank + j] = t;
        }
        const long double t = b[p];
        b[p] = b[rank];
        b[rank] = t;
        for (int i = 0; i < n && c != rank; ++i) {
            const long double y = A[n * i + c];
            A[n * i + c] = A[n * i + rank];
            A[n * i + rank] = y;
        }
        const int k = column[c];
        column[c] = column[rank];
        column[rank] = k;
        for (int i = rank + 1; i < n; ++i) {
            const long double l = A[n * i + rank] / A[n * rank + rank];
            if (l == 0) continue;
            for (int j = rank; j < n; ++j)
                A[n * i + j] -= l * A[n * rank + j];
            b[i] -= l * b[rank];
        }
    }
    for (int i = rank - 1; i >= 0; --i) {
        long double sum = b[i];
        for (int j = i + 1; j < rank; ++j)
            sum -= A[n * i + j] * x[column[j]];
        x[column[i]] = sum / A[n * i + i];
    }
    memcpy(b, x, (size_t)n * sizeof *x);
    free(column);
    free(x);
    return rank;
}

/* (2.11): [0 G; G' M] [-y; vdot] = [-gamma; tau - C], rows of G scaled. force: 6 per contact, in
 * world axes. Returns the rank of G. */
static inline int dense_solve(const dense_grasp *D, const double *tau, double *qdd, double *force) {
    const int nv = D->nv, n = nv + D->rows;
    long double *K = calloc((size_t)n * (size_t)n, sizeof *K), *x = calloc((size_t)n, sizeof *x);
    for (int i = 0; i < nv; ++i) {
        x[i] = (long double)tau[i] - D->C[i];
        for (int j = 0; j < nv; ++j)
            K[n * i + j] = D->M[nv * i + j];
    }
    for (int r = 0; r < D->rows; ++r) {
        x[nv + r] = -along_T(D, r, D->bias);
        for (int k = 0; k < nv; ++k) {
            long double sum = 0;
            for (int j = 0; j < 6; ++j)
                sum += (long double)D->T[r][j] * D->J[6 * D->owner[r] + j][k];
            K[n * (nv + r) + k] = K[n * k + nv + r] = sum;
        }
    }
    const int rank = solve_full(n, K, x, 1e-13) - nv;
    for (int j = 0; j < nv; ++j)
        qdd[j] = (double)x[j];
    for (int a = 0; a < D->n6 / 6; ++a) {
        double f[6] = {0};
        for (int r = 0; r < D->rows; ++r)
            for (int j = 0; D->owner[r] == a && j < 6; ++j)
                f[j] -= (double)x[nv + r] * D->T[r][j];
        rotate(D->R[a], f, force + 6 * a);
        rotate(D->R[a], f + 3, force + 6 * a + 3);
    }
    free(K);
    free(x);
    return rank;
}
/* J'f for forces in world axes. */
static inline void dense_torques(const dense_grasp *D, const double *force, double *tau) {
    for (int k = 0; k < D->nv; ++k)
        tau[k] = 0;
    for (int a = 0; a < D->n6 / 6; ++a) {
        double f[6];
        turn_back(D->R[a], force + 6 * a, f);
        turn_back(D->R[a], force + 6 * a + 3, f + 3);
        for (int j = 0; j < 6; ++j)
            for (int k = 0; k < D->nv; ++k)
                tau[k] += D->J[6 * a + j][k] * f[j];
    }
}

#endif
