/* joint_map.c  one joint by itself: its reversal, and its coordinates from the child's pose and
 * motion.
 *
 * X(q) = (R, p) is the pose of the child in the joint's frame and V = H* v its motion, in the
 * child's axes (src/sweep/joint.h). Reversed:
 *     revolute, prismatic, helical, cylindrical      X(q)^-1 has the axis -a and the same q
 *     universal   R = R(a, q0) R(b, q1)              R' = R(-b, q1) R(-a, q0): axes -b, -a,
 *                                                    coordinates exchanged
 *     planar      p = q0 e1 + q1 e2, R(a, q2)        axis -a; the displacements become those of the
 *                                                    other frame
 *     spherical, free                                no axis
 * Joint forces act along the coordinates. If reversal changes more than the order of the
 * coordinates, only isotropic effects stay the same: damping and reflected inertia of a spherical
 * joint. */
#include "model_internal.h"
#include "../base/small_algebra.h"
#include "../spatial/algebra.h"
#include "soa/graph.h"

soa_status soa_joint_reverse(const soa_joint_def *joint, soa_joint_def *reversed) {
    if (!joint || !reversed || (unsigned)joint->type >= SOA_JOINT_TYPE_COUNT) return SOA_E_ARGUMENT;
    const int rotor = joint->rotor_inertia > 0 && joint->gear_ratio != 0;
    const int rubs = joint->friction_positive != 0 || joint->friction_negative != 0;
    /* Its motor is on link 1. */
    if (rotor && joint->rotor_model == SOA_ROTOR_EXACT) return SOA_E_JOINT;
    if (joint->type == SOA_SPHERICAL && rubs) return SOA_E_JOINT;
    if ((joint->type == SOA_PLANAR || joint->type == SOA_FREE) &&
        (rotor || rubs || joint->damping != 0 || joint->stiffness != 0))
        return SOA_E_JOINT;
    const soa_joint_def from = *joint;
    *reversed = from;
    for (int i = 0; i < 3; ++i) {
        reversed->axis[i] = -(from.type == SOA_UNIVERSAL ? from.axis2[i] : from.axis[i]);
        if (from.type == SOA_UNIVERSAL) reversed->axis2[i] = -from.axis[i];
    }
    return SOA_OK;
}

/* Angle of the rotation about the unit axis a that takes x to y. Components along a are ignored. */
static double angle_about(const double a[3], const double x[3], const double y[3]) {
    double c[3];
    v3_cross(x, y, c);
    return atan2(v3_dot(a, c), v3_dot(x, y) - v3_dot(a, x) * v3_dot(a, y));
}
/* Angle of the rotation R about its axis a. */
static double turn_about(const double a[3], const double R[9]) {
    const double twice_sine[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
    return atan2(v3_dot(a, twice_sine), R[0] + R[4] + R[8] - 1);
}
/* Unit quaternion (w x y z, w >= 0) of a rotation, computed from its largest component. */
static void quaternion_of(const double R[9], double e[4]) {
    const double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8],
                              1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]}; /* 4 e_k^2 */
    const double sum[4][4] = {                                                 /* 4 e_j e_k */
                              {square[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                              {R[7] - R[5], square[1], R[1] + R[3], R[2] + R[6]},
                              {R[2] - R[6], R[1] + R[3], square[2], R[5] + R[7]},
                              {R[3] - R[1], R[2] + R[6], R[5] + R[7], square[3]}};
    int most = 0;
    for (int k = 1; k < 4; ++k)
        if (square[k] > square[most]) most = k;
    double size = 0;
    for (int k = 0; k < 4; ++k)
        size += sum[most][k] * sum[most][k];
    size = sum[most][0] < 0 ? -sqrt(size) : sqrt(size);
    for (int k = 0; k < 4; ++k)
        e[k] = sum[most][k] / size;
}

/* Solves H* x = V by projection. For universal and planar joints the columns of H*
 * are passed in. */
static void project(soa_joint_type type, const double a[3], const double first[3],
                    const double second[3], const double V[6], double *x) {
    switch (type) {
    case SOA_REVOLUTE:
    case SOA_HELICAL: x[0] = v3_dot(a, V); break;
    case SOA_PRISMATIC: x[0] = v3_dot(a, V + 3); break;
    case SOA_CYLINDRICAL:
        x[0] = v3_dot(a, V);
        x[1] = v3_dot(a, V + 3);
        break;
    case SOA_UNIVERSAL: {
        const double c = v3_dot(first, second), d = 1 - c * c, f = v3_dot(first, V),
                     s = v3_dot(second, V);
        x[0] = (f - c * s) / d;
        x[1] = (s - c * f) / d;
        break;
    }
    case SOA_PLANAR:
        x[0] = v3_dot(first, V + 3);
        x[1] = v3_dot(second, V + 3);
        x[2] = v3_dot(a, V);
        break;
    case SOA_SPHERICAL: memcpy(x, V, 3 * sizeof *x); break;
    case SOA_FREE: memcpy(x, V, 6 * sizeof *x); break;
    default: break;
    }
}

soa_status soa_joint_coordinates(const soa_joint_def *joint, const soa_frame *X, const double V[6],
                                 const double A[6], double *q, double *v, double *a) {
    double u[3], u2[3], e2[3], first[3] = {0, 0, 0}, second[3] = {0, 0, 0};
    if (!joint || !X || !q || !V != !v || !A != !a || (A && !V) ||
        (unsigned)joint->type >= SOA_JOINT_TYPE_COUNT)
        return SOA_E_ARGUMENT;
    if (!soai_rotation_fits(X)) return SOA_E_FRAME;
    if ((V && !soai_all_finite(V, 6)) || (A && !soai_all_finite(A, 6))) return SOA_E_NOT_FINITE;
    if (!soai_joint_axes(joint, u, u2)) return SOA_E_JOINT;
    const double *R = X->R, *p = X->p;
    switch (joint->type) {
    case SOA_REVOLUTE: q[0] = turn_about(u, R); break;
    case SOA_PRISMATIC: q[0] = v3_dot(u, p); break;
    case SOA_CYLINDRICAL:
        q[0] = turn_about(u, R);
        q[1] = v3_dot(u, p);
        break;
    case SOA_HELICAL: {
        const double turn = 2 * SOAI_PI;
        q[0] = turn_about(u, R);
        if (joint->pitch != 0)
            q[0] += turn * floor((v3_dot(u, p) / joint->pitch - q[0]) / turn + 0.5);
        if (!soai_all_finite(q, 1)) return SOA_E_NOT_FINITE;
        break;
    }
    case SOA_UNIVERSAL: {
        double b[3];
        rot_mul(R, u2, b);
        rot_tmul(R, u, first); /* H* = [R'a, b] */
        memcpy(second, u2, sizeof u2);
        q[0] = angle_about(u, u2, b);
        q[1] = angle_about(u2, first, u);
        break;
    }
    case SOA_PLANAR: /* H* = [R'e1, R'e2 (linear), a] */
        v3_cross(u, u2, e2);
        rot_tmul(R, u2, first);
        rot_tmul(R, e2, second);
        q[0] = v3_dot(u2, p);
        q[1] = v3_dot(e2, p);
        q[2] = turn_about(u, R);
        break;
    case SOA_SPHERICAL: quaternion_of(R, q); break;
    case SOA_FREE:
        memcpy(q, p, 3 * sizeof *q);
        quaternion_of(R, q + 3);
        break;
    default: break;
    }
    if (!V) return SOA_OK;
    project(joint->type, u, first, second, V, v);
    if (!A) return SOA_OK;
    double rest[6], t[3]; /* A = H* a + (rate of H*) v */
    memcpy(rest, A, sizeof rest);
    if (joint->type == SOA_UNIVERSAL) { /* (R'a)' = R'a x b v1 */
        v3_cross(first, second, t);
        for (int i = 0; i < 3; ++i)
            rest[i] -= t[i] * v[0] * v[1];
    } else if (joint->type == SOA_PLANAR) { /* (R'e)' = R'e x a v2 */
        double g[3];
        for (int i = 0; i < 3; ++i)
            g[i] = first[i] * v[0] + second[i] * v[1];
        v3_cross(g, u, t);
        for (int i = 0; i < 3; ++i)
            rest[3 + i] -= t[i] * v[2];
    }
    project(joint->type, u, first, second, rest, a);
    return SOA_OK;
}
