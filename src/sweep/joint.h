/* joint.h  the joint interface: all that the sweeps know of joint types.
 *
 *   angles           sines and cosines of all q, before the first joint_position
 *   joint_position   R of the body in its parent from q, but of level joints; p and H* where they
 *                    depend on q
 *   joint_R          R: from the work space, or from sine and cosine where it is not stored
 *   joint_origin     p: from the table where it is constant, else from the work space
 *   joint_sense      x with the sense of a level joint, x itself of all others
 *   joint_rot, _back R x and R'x
 *   joint_add        V += H* x
 *   joint_project    x  = H f
 *   joint_apparent_rate  a += (apparent rate of H* at joint rates v) x, nonzero only where H*
 *                    varies in body axes
 *   joint_inertia    U  = P H*; of level joints P e, without the sense
 *
 * The plain pages (aba.h, ud.h, mass.h, two_sweep.h, operator_steps.h) use these instead, on a
 * `joint`, which knows its place:
 *
 *   joint_at         the joint of body i
 *   joint_pose       R, p and, where they vary, H* from q, into the work space
 *   joint_read       R and p by value
 *   joint_size       degrees of freedom
 *   joint_entries    the joint's entries of a vector of the tree; put_joint_entries: back
 *   hinge_column     a column of H*
 *   hinge_apparent_rate  c += (apparent rate of H*) v
 *   hinge_armature, hinge_is_free, hinge_has_rotor    what the hinge is
 *
 * `kind` is a literal at every call, so the compiler keeps only the case that applies. */
#ifndef SOAI_JOINT_H
#define SOAI_JOINT_H
#include "work_space.h"
#include "../table/joint_types.h"

/* Kinds that occur, a bit each: generated code knows.  Aligned kinds occur only in the tables of
 * aligned_frames.c, which aba, rnea, crba, minv_mul after aba, and planned expressions read, and
 * every sweep of lanes. */
#ifdef SOAI_KINDS
#define SOAI_ALIGNED_KINDS SOAI_KINDS
#else
#define SOAI_ALIGNED_KINDS ~0
#define SOAI_KINDS (SOAI_LANES > 1 ? ~0 : ~(63 << SOAI_KIND_LEVEL_X))
#endif
/* The kinds of joint and their degrees of freedom; 0: the body's nv. */
#define JOINT_KINDS(X, ...)       \
    X(REVOLUTE_X, 1, __VA_ARGS__) \
    X(REVOLUTE_Y, 1, __VA_ARGS__) \
    X(REVOLUTE_Z, 1, __VA_ARGS__) \
    X(REVOLUTE, 1, __VA_ARGS__)   \
    X(PRISMATIC, 1, __VA_ARGS__)  \
    X(SPHERICAL, 3, __VA_ARGS__)  \
    X(FREE, 6, __VA_ARGS__)       \
    X(GENERAL, 0, __VA_ARGS__)    \
    X(LEVEL_X, 1, __VA_ARGS__)    \
    X(LEVEL_Y, 1, __VA_ARGS__)    \
    X(LEVEL_Z, 1, __VA_ARGS__)    \
    X(PIVOT_X, 1, __VA_ARGS__)    \
    X(PIVOT_Y, 1, __VA_ARGS__)    \
    X(PIVOT_Z, 1, __VA_ARGS__)

/* The one place where kinds are told apart at run time: runs the statement with `kind` and `nv` of
 * body b; kind is a constant, and so is nv but for general joints.  WITH_KIND is for the user's
 * tables, WITH_ALIGNED_KIND also for those of aligned_frames.c.  Do not nest: every kind of the
 * outer one would hold every kind of the inner one. */
#define SOAI_KIND_CASE_(name, count, kinds, b, ...)          \
    case SOAI_KIND_##name: {                                 \
        const int kind = SOAI_KIND_##name;                   \
        const int nv = (count) ? (count) : (b)->nv;          \
        if (!((kinds) >> kind & 1)) __builtin_unreachable(); \
        (void)nv;                                            \
        __VA_ARGS__;                                         \
        break;                                               \
    }
#define SOAI_WITH_KIND_OF_(kinds, which, b, ...)                                               \
    switch (which) {                                                                           \
        JOINT_KINDS(SOAI_KIND_CASE_, kinds, b, __VA_ARGS__) default : __builtin_unreachable(); \
    }
#define WITH_KIND(b, ...) SOAI_WITH_KIND_OF_(SOAI_KINDS, (b)->kind, b, __VA_ARGS__)
#define WITH_ALIGNED_KIND(b, ...) SOAI_WITH_KIND_OF_(SOAI_ALIGNED_KINDS, (b)->kind, b, __VA_ARGS__)

/* A step, a statement about body number i with row b, for every body: base to tips, tips to base.
 * ACROSS is the same for steps that do not use PASSED (work_space.h): generated code then goes
 * through the limbs side by side, so that a body seldom waits for its neighbour. */
#ifndef SOAI_OUTWARD
#define SOAI_OUTWARD_ACROSS SOAI_OUTWARD
#define SOAI_INWARD_ACROSS SOAI_INWARD
#define SOAI_OUTWARD(k, ...)                 \
    for (int i = 1; i <= (k)->nb; ++i) {     \
        const body_table *b = (k)->body + i; \
        __VA_ARGS__;                         \
    }
#define SOAI_INWARD(k, ...)                  \
    for (int i = (k)->nb; i >= 1; --i) {     \
        const body_table *b = (k)->body + i; \
        __VA_ARGS__;                         \
    }
#endif

/* A kind about a coordinate axis, that axis, and the two that follow it (x y z x ...).  Of a level
 * kind R is no more than the turn about that axis; its H* is sense e, e the unit six-vector of a
 * turn about it, sense = +-1 in the table's axis.  A pivot is a level kind whose p is not
 * read: it is zero, or the parent is the world, where nothing asks for it (aligned_frames.c). */
#define IS_LEVEL(kind) ((kind) >= SOAI_KIND_LEVEL_X)
#define IS_PIVOT(kind) ((kind) >= SOAI_KIND_PIVOT_X)
#define ON_AXIS(kind) ((kind) <= SOAI_KIND_REVOLUTE_Z || IS_LEVEL(kind))
#define FIRST_LEVEL_OR_REVOLUTE(kind) (IS_LEVEL(kind) ? SOAI_KIND_LEVEL_X : SOAI_KIND_REVOLUTE_X)
#define FIRST_ON_AXIS(kind) (IS_PIVOT(kind) ? SOAI_KIND_PIVOT_X : FIRST_LEVEL_OR_REVOLUTE(kind))
#define AXIS_OF(kind) ((kind) - (FIRST_ON_AXIS(kind)))
#define NEXT(ax) (((ax) + 1) % 3)
#define LAST(ax) (((ax) + 2) % 3)
/* Cases of all nine. */
#define CASE_ON_AXIS           \
    case SOAI_KIND_REVOLUTE_X: \
    case SOAI_KIND_REVOLUTE_Y: \
    case SOAI_KIND_REVOLUTE_Z: \
    case SOAI_KIND_LEVEL_X:    \
    case SOAI_KIND_LEVEL_Y:    \
    case SOAI_KIND_LEVEL_Z:    \
    case SOAI_KIND_PIVOT_X:    \
    case SOAI_KIND_PIVOT_Y:    \
    case SOAI_KIND_PIVOT_Z

/* sense x: a rate, an acceleration or a torque */
SOAI_INLINE real joint_sense(const body_table *b, int kind, real x) {
    return IS_LEVEL(kind) ? x * b->axis[AXIS_OF(kind)] : x;
}
/* R x and R'x; out may be x.  Of level joints R holds the cosine and the sine alone. */
SOAI_INLINE void joint_rot(int kind, const real *R, const real x[3], real out[3]) {
    if (IS_LEVEL(kind))
        turn_mul(AXIS_OF(kind), R, x, out);
    else
        rot_mul(R, x, out);
}
SOAI_INLINE void joint_rot_back(int kind, const real *R, const real x[3], real out[3]) {
    if (IS_LEVEL(kind))
        turn_tmul(AXIS_OF(kind), R, x, out);
    else
        rot_tmul(R, x, out);
}

SOAI_INLINE int joint_varies(const body_table *b) {
    return b->type == SOAI_JOINT_UNIVERSAL || b->type == SOAI_JOINT_PLANAR;
}

/* Column c of H* of a general joint. */
SOAI_INLINE void joint_column(const view_table *k, const kernel_work *w, const body_table *b, int c,
                              real out[6]) {
    if (joint_varies(b)) {
        v6_copy(w->H + 6 * (b->iv + c), out);
    } else {
        const konst *H = k->dof[b->iv + c].H;
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i)
            out[i] = REAL(H[i]);
    }
}

/* Are there angles among the coordinates? */
SOAI_INLINE int joint_turns(int kind) {
    return kind != SOAI_KIND_PRISMATIC && kind != SOAI_KIND_SPHERICAL && kind != SOAI_KIND_FREE;
}
/* Sines and cosines of coordinates first ... end - 1. */
SOAI_INLINE void angles_row(kernel_work *w, const real *q, int first, int end) {
#if SOAI_PACKED
    real_sincos_all(end - first, q + first, w->sine + first, w->cosine + first);
#elif SOAI_LANES > 1
    pack squares = {0};
    SOAI_ROLLED for (int j = first; j < end; ++j) {
        squares += q[j] * q[j];
        pack_sincos(q[j], w->sine + j, w->cosine + j);
    }
    if (__builtin_expect(!SOAI_SINCOS_NEAR(squares), 0))
        sincos_far((long)(end - first) * SOAI_LANES, q + first, w->sine + first, w->cosine + first);
#else
    for (int j = first; j < end; ++j)
        real_sincos(q[j], w->sine + j, w->cosine + j);
#endif
}
/* Sines and cosines before the first joint_position.  Double and float: of all coordinates, angles
 * or not, four at a time.  Other number types: of angles alone; joints with successive coordinates
 * are taken together, so that their long chains of operations overlap. */
SOAI_INLINE void angles(const view_table *k, kernel_work *w, const real *q) {
#if SOAI_PACKED
    angles_row(w, q, 0, k->nq);
/* generated code: first coordinate and one past the last of each row of them */
#elif defined(SOAI_ANGLES)
    (void)k;
    static const int row[][2] = {SOAI_ANGLES};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i)
        angles_row(w, q, row[i][0], row[i][1]);
#else
    for (int i = 1; i <= k->nb; ++i) {
        const int first = k->body[i].iq;
        int end = first;
        for (; i <= k->nb && k->body[i].iq == end && joint_turns(k->body[i].kind); ++i)
            end += k->body[i].nv;
        if (end == first) continue;
        angles_row(w, q, first, end);
        --i;
    }
#endif
}
/* Sine and cosine of coordinate j of joint b. */
SOAI_INLINE void joint_sincos(const kernel_work *w, const body_table *b, int j, real *s, real *c) {
    *s = w->sine[b->iq + j];
    *c = w->cosine[b->iq + j];
}

/* R0 + cos R1 + sin R2 (table_fields.h): placement, and rotation by coordinate j. */
SOAI_INLINE void rot_axis(const kernel_work *w, const body_table *b, int j, real R[9]) {
    real s, c;
    joint_sincos(w, b, j, &s, &c);
    SOAI_UNROLL
    for (int i = 0; i < 9; ++i)
        R[i] = b->R0[i] + c * b->R1[i] + s * b->R2[i];
}
/* The same about coordinate axis ax: two columns turn, the third stays. */
SOAI_INLINE void rot_on_axis(const kernel_work *w, const body_table *b, int ax, real R[9]) {
    real s, c;
    joint_sincos(w, b, 0, &s, &c);
    SOAI_UNROLL
    for (int r = 0; r < 9; r += 3) {
        const konst x = b->R1[r + NEXT(ax)], y = b->R1[r + LAST(ax)];
        R[r + NEXT(ax)] = c * x + s * y;
        R[r + LAST(ax)] = c * y - s * x;
        R[r + ax] = REAL(b->R0[r + ax]);
    }
}
SOAI_INLINE void rot_placement(const body_table *b, real R[9]) {
    SOAI_UNROLL
    for (int i = 0; i < 9; ++i)
        R[i] = REAL(b->R0[i] + b->R1[i]);
}
/* Rotation about a constant unit axis u by coordinate j (Rodrigues). */
SOAI_INLINE void rot_about(const kernel_work *w, const body_table *b, const konst u[3], int j,
                           real R[9]) {
    real s, c;
    joint_sincos(w, b, j, &s, &c);
    const real t = REAL(1) - c;
    R[0] = c + t * (u[0] * u[0]);
    R[1] = t * (u[0] * u[1]) - s * u[2];
    R[2] = t * (u[0] * u[2]) + s * u[1];
    R[3] = t * (u[0] * u[1]) + s * u[2];
    R[4] = c + t * (u[1] * u[1]);
    R[5] = t * (u[1] * u[2]) - s * u[0];
    R[6] = t * (u[0] * u[2]) - s * u[1];
    R[7] = t * (u[1] * u[2]) + s * u[0];
    R[8] = c + t * (u[2] * u[2]);
}

/* Cosine and sine of a level joint, with its sense.  No other R of it is kept. */
SOAI_INLINE void level_turn(const kernel_work *w, const body_table *b, int kind, real turn[2]) {
    joint_sincos(w, b, 0, turn + 1, turn);
    turn[1] = joint_sense(b, kind, turn[1]);
}

/* Position, then quaternion. */
SOAI_INLINE void joint_position_free(const body_table *b, const real *q, real *R, real *p) {
    real T[9], Q[9];
    rot_placement(b, T);
    rot_quaternion(q + 3, Q);
    rot_rot(T, Q, R);
    rot_mul(T, q, p);
    SOAI_UNROLL
    for (int i = 0; i < 3; ++i)
        p[i] += b->p[i];
}
/* Helical joints and those with more than one coordinate; kept out of the hot loop. */
static __attribute__((noinline, unused)) void
joint_position_multi(const view_table *k, kernel_work *w, const body_table *b, const real *q,
                     real *R, real *p) {
    real T[9], Q[9];
    real *H = w->H + 6 * b->iv;
    switch (b->type) {
    case SOAI_JOINT_HELICAL:
        rot_axis(w, b, 0, R);
        for (int i = 0; i < 3; ++i)
            p[i] = b->p[i] + q[0] * b->slide[i];
        break;
    case SOAI_JOINT_CYLINDRICAL:
        rot_axis(w, b, 0, R);
        for (int i = 0; i < 3; ++i)
            p[i] = b->p[i] + q[1] * b->slide[i];
        break;
    case SOAI_JOINT_UNIVERSAL: {
        /* R = T Q, T the placement and then the turn q0 about axis, Q the turn q1 about axis2;
         * H* = [Q' axis, axis2] (angular) */
        rot_axis(w, b, 0, T);
        rot_about(w, b, k->dof[b->iv + 1].H, 1, Q);
        rot_rot(T, Q, R);
        const real u[3] = {REAL(b->axis[0]), REAL(b->axis[1]), REAL(b->axis[2])};
        v6_zero(H);
        v6_zero(H + 6);
        rot_tmul(Q, u, H);
        for (int i = 0; i < 3; ++i) {
            H[6 + i] = REAL(k->dof[b->iv + 1].H[i]);
            p[i] = REAL(b->p[i]);
        }
        break;
    }
    /* slide q0 e1 + q1 e2, then turn q2; H* = [Q'e1, Q'e2 (linear), axis (angular)] */
    case SOAI_JOINT_PLANAR: {
        rot_axis(w, b, 2, R);
        rot_placement(b, T);
        rot_about(w, b, b->axis, 2, Q);
        const konst *e1 = k->dof[b->iv].H + 3, *e2 = k->dof[b->iv + 1].H + 3;
        real t[3];
        for (int i = 0; i < 3; ++i)
            t[i] = q[0] * e1[i] + q[1] * e2[i];
        rot_mul(T, t, p);
        for (int i = 0; i < 3; ++i)
            p[i] += b->p[i];
        v6_zero(H);
        v6_zero(H + 6);
        v6_zero(H + 12);
        for (int i = 0; i < 3; ++i)
            H[12 + i] = REAL(b->axis[i]);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                H[3 + i] += Q[3 * j + i] * e1[j];
                H[9 + i] += Q[3 * j + i] * e2[j];
            }
        }
        break;
    }
    case SOAI_JOINT_SPHERICAL:
        rot_placement(b, T);
        rot_quaternion(q, Q);
        rot_rot(T, Q, R);
        break;
    default: joint_position_free(b, q, R, p);
    }
}

/* R of the body in its parent, if it is kept; p too where it moves. */
SOAI_INLINE void joint_position(const view_table *k, kernel_work *w, const body_table *b, int i,
                                int kind, const real *q_tree) {
    const real *q = q_tree + b->iq;
    real *R = w->b[i].R, *p = w->b[i].p;
    switch (kind) {
    case SOAI_KIND_LEVEL_X:
    case SOAI_KIND_LEVEL_Y:
    case SOAI_KIND_LEVEL_Z:
    case SOAI_KIND_PIVOT_X:
    case SOAI_KIND_PIVOT_Y:
    case SOAI_KIND_PIVOT_Z: break; /* joint_R takes sine and cosine */
    case SOAI_KIND_REVOLUTE_X:
    case SOAI_KIND_REVOLUTE_Y:
    case SOAI_KIND_REVOLUTE_Z: rot_on_axis(w, b, AXIS_OF(kind), R); break;
    case SOAI_KIND_REVOLUTE: rot_axis(w, b, 0, R); break;
    case SOAI_KIND_PRISMATIC:
        rot_placement(b, R);
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            p[j] = b->p[j] + q[0] * b->slide[j];
        break;
#ifdef SOAI_GENERATED
    case SOAI_KIND_FREE: joint_position_free(b, q, R, p); break;
#endif
    default: joint_position_multi(k, w, k->body + i, q, R, p); /* a row in memory */
    }
}
/* R as joint_rot and its like take it, made in `turn` where it is not kept. */
SOAI_INLINE const real *joint_R(const kernel_work *w, const body_table *b, int i, int kind,
                                real turn[2]) {
    if (!IS_LEVEL(kind)) return w->b[i].R;
    level_turn(w, b, kind, turn);
    return turn;
}
/* p: the body's origin in its parent, a constant of the model for joints that only turn. */
SOAI_INLINE void joint_origin(const kernel_work *w, const body_table *b, int i, int kind,
                              real p[3]) {
    if (IS_PIVOT(kind)) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            p[j] = REAL(0);
    } else if (ON_AXIS(kind) || kind == SOAI_KIND_REVOLUTE || kind == SOAI_KIND_SPHERICAL) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            p[j] = REAL(b->p[j]);
    } else {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            p[j] = w->b[i].p[j];
    }
}

/* V += H* x */
SOAI_INLINE void joint_add(const view_table *k, const kernel_work *w, const body_table *b, int kind,
                           int nv, const real *x, real V[6]) {
    switch (kind) {
    CASE_ON_AXIS:
        V[AXIS_OF(kind)] += joint_sense(b, kind, x[0]);
        break;
    case SOAI_KIND_REVOLUTE:
        V[0] += b->axis[0] * x[0];
        V[1] += b->axis[1] * x[0];
        V[2] += b->axis[2] * x[0];
        break;
    case SOAI_KIND_PRISMATIC:
        V[3] += b->axis[0] * x[0];
        V[4] += b->axis[1] * x[0];
        V[5] += b->axis[2] * x[0];
        break;
    case SOAI_KIND_SPHERICAL:
    case SOAI_KIND_FREE:
        SOAI_UNROLL
        for (int i = 0; i < nv; ++i)
            V[i] += x[i];
        break;
    default:
        for (int c = 0; c < nv; ++c) {
            real H[6];
            joint_column(k, w, b, c, H);
            v6_add_scaled(x[c], H, V);
        }
    }
}

/* x = H f */
SOAI_INLINE void joint_project(const view_table *k, const kernel_work *w, const body_table *b,
                               int kind, int nv, const real f[6], real *x) {
    switch (kind) {
    CASE_ON_AXIS:
        x[0] = joint_sense(b, kind, f[AXIS_OF(kind)]);
        break;
    case SOAI_KIND_REVOLUTE:
        x[0] = b->axis[0] * f[0] + b->axis[1] * f[1] + b->axis[2] * f[2];
        break;
    case SOAI_KIND_PRISMATIC:
        x[0] = b->axis[0] * f[3] + b->axis[1] * f[4] + b->axis[2] * f[5];
        break;
    case SOAI_KIND_SPHERICAL:
    case SOAI_KIND_FREE:
        SOAI_UNROLL
        for (int i = 0; i < nv; ++i)
            x[i] = f[i];
        break;
    default:
        for (int c = 0; c < nv; ++c) {
            real H[6];
            joint_column(k, w, b, c, H);
            x[c] = v6_dot(H, f);
        }
    }
}

/* a += (apparent rate of H*, as seen in the body) x, for joint rates v.
 * universal: d(Q'u)/dt = -axis2 v1 x Q'u.   planar: d(Q'e)/dt = -axis v2 x Q'e.   Others are
 * constant. */
SOAI_INLINE void joint_apparent_rate(const view_table *k, const kernel_work *w, const body_table *b,
                                     const real *v, const real *x, real a[6]) {
    (void)k;
    if (!joint_varies(b)) return;
    const real *H = w->H + 6 * b->iv;
    real t[3];
    if (b->type == SOAI_JOINT_UNIVERSAL) {
        v3_cross(H, H + 6, t);
        for (int i = 0; i < 3; ++i)
            a[i] += t[i] * v[1] * x[0];
    } else {
        real g[3];
        for (int i = 0; i < 3; ++i)
            g[i] = H[3 + i] * x[0] + H[9 + i] * x[1];
        v3_cross(g, H + 12, t);
        for (int i = 0; i < 3; ++i)
            a[3 + i] += t[i] * v[2];
    }
}

/* U = P H* (6 x nv, by columns); of level joints P e */
SOAI_INLINE void joint_inertia(const view_table *k, const kernel_work *w, const body_table *b,
                               int kind, int nv, const real *P, real *U) {
    const konst *u = b->axis;
    switch (kind) {
    CASE_ON_AXIS:
        abi_column(P, AXIS_OF(kind), U);
        break;
    case SOAI_KIND_REVOLUTE:
    case SOAI_KIND_PRISMATIC: {
        const int at = kind == SOAI_KIND_REVOLUTE ? 0 : 3;
        SOAI_UNROLL
        for (int i = 0; i < 6; ++i)
            U[i] = abi_entry(P, i, at) * u[0] + abi_entry(P, i, at + 1) * u[1] +
                   abi_entry(P, i, at + 2) * u[2];
        break;
    }
    case SOAI_KIND_SPHERICAL:
    case SOAI_KIND_FREE:
        SOAI_UNROLL
        for (int c = 0; c < nv; ++c)
            abi_column(P, c, U + 6 * c);
        break;
    default:
        for (int c = 0; c < nv; ++c) {
            real H[6];
            joint_column(k, w, b, c, H);
            abi_mul(P, H, U + 6 * c);
        }
    }
}

/* ---- accessors with literals -------------------------------------------------------------- */

/* A joint in a sweep of one state: its row in the table, the work of its body and of the parent. */
typedef struct joint {
    const view_table *k;
    kernel_work *w;
    const body_table *b;
    int i; /* number of the body */
    body_work *own;
    body_work *parent;
} joint;
SOAI_INLINE joint joint_at(const view_table *k, kernel_work *w, const body_table *b, int i) {
    joint J = {.k = k, .w = w, .b = b, .i = i};
    J.own = w->b + i;
    J.parent = w->b + b->parent;
    return J;
}
SOAI_INLINE int joint_size(joint J, int kind) {
    if (kind == SOAI_KIND_GENERAL) return J.b->nv;
    if (kind == SOAI_KIND_FREE) return 6;
    return kind == SOAI_KIND_SPHERICAL ? 3 : 1;
}
/* R, p of the body in its parent and, where they vary, the columns of H*, from q. */
SOAI_INLINE void joint_pose(joint J, int kind, const real *q) {
    joint_position(J.k, J.w, J.b, J.i, kind, q);
}
/* R and p by value, with literal zeros and ones where the kind knows them. */
typedef struct pose {
    real R[9];
    real p[3];
} pose;
SOAI_INLINE pose joint_read(joint J, int kind) {
    pose X;
    if (IS_LEVEL(kind)) { /* a rotation about coordinate axis ax */
        const int ax = AXIS_OF(kind);
        real turn[2];
        level_turn(J.w, J.b, kind, turn);
        SOAI_UNROLL
        for (int j = 0; j < 9; ++j)
            X.R[j] = REAL(0);
        X.R[4 * ax] = REAL(1);
        X.R[4 * NEXT(ax)] = turn[0];
        X.R[4 * LAST(ax)] = turn[0];
        X.R[3 * NEXT(ax) + LAST(ax)] = -turn[1];
        X.R[3 * LAST(ax) + NEXT(ax)] = turn[1];
    } else {
        SOAI_UNROLL
        for (int j = 0; j < 9; ++j)
            X.R[j] = J.own->R[j];
    }
    joint_origin(J.w, J.b, J.i, kind, X.p);
    return X;
}
/* Column c of H*; of a level joint without its sense, which joint_entries and put_joint_entries
 * apply: it is a unit vector. */
SOAI_INLINE void hinge_column(joint J, int kind, int c, real H[6]) {
    v6_zero(H);
    if (ON_AXIS(kind)) {
        H[AXIS_OF(kind)] = REAL(1);
    } else if (kind == SOAI_KIND_REVOLUTE) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            H[j] = REAL(J.b->axis[j]);
    } else if (kind == SOAI_KIND_PRISMATIC) {
        SOAI_UNROLL
        for (int j = 0; j < 3; ++j)
            H[3 + j] = REAL(J.b->axis[j]);
    } else if (kind == SOAI_KIND_SPHERICAL || kind == SOAI_KIND_FREE) {
        H[c] = REAL(1);
    } else {
        joint_column(J.k, J.w, J.b, c, H);
    }
}
/* The joint's entries of a tree vector as they belong to hinge_column: those of a level joint times
 * its sense.  And back. */
SOAI_INLINE void joint_entries(joint J, int kind, const real *tree, real *x) {
    for (int c = 0; c < joint_size(J, kind); ++c)
        x[c] = joint_sense(J.b, kind, tree[J.b->iv + c]);
}
SOAI_INLINE void put_joint_entries(joint J, int kind, const real *x, real *tree) {
    for (int c = 0; c < joint_size(J, kind); ++c)
        tree[J.b->iv + c] = joint_sense(J.b, kind, x[c]);
}
/* Armature, (gear ratio)^2 Jm, with the guard of mimic joints (table_fields.h).  On-axis kinds have
 * no guard, and an armature only in tables for sweeps with packed inertias. */
SOAI_INLINE konst hinge_armature(joint J, int kind, int c) {
    if (ON_AXIS(kind)) return SOAI_ABI_PACKED ? J.b->armature : 0;
    if (joint_size(J, kind) > 1) return J.k->dof[J.b->iv + c].armature;
    return J.k->nm ? J.b->hinge : J.b->armature;
}
/* A free joint without armatures: D = P and G = 1. */
SOAI_INLINE int hinge_is_free(joint J, int kind) {
    if (kind != SOAI_KIND_FREE) return 0;
    konst rotors = 0;
    SOAI_UNROLL
    for (int c = 0; c < 6; ++c)
        rotors += J.k->dof[J.b->iv + c].armature;
    return rotors == 0;
}
/* Does an exact rotor sit on the parent? */
SOAI_INLINE int hinge_has_rotor(joint J, int kind) {
    return !ON_AXIS(kind) && J.b->rotor;
}
/* c += (apparent rate of H*) v */
SOAI_INLINE void hinge_apparent_rate(joint J, int kind, const real *v, real c[6]) {
    if (kind == SOAI_KIND_GENERAL) joint_apparent_rate(J.k, J.w, J.b, v, v, c);
}

#endif
