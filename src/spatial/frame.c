/* frame.c  the public functions on frames and 6-vectors, on top of algebra.h. */
#include "soa/spatial.h"
#include "algebra.h"

soa_frame soa_frame_identity(void) {
    return (soa_frame){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
}

soa_frame soa_frame_compose(const soa_frame *a, const soa_frame *b) {
    if (!a && !b) return soa_frame_identity();
    if (!a) return *b;
    if (!b) return *a;
    soa_frame out;
    rot_rot(a->R, b->R, out.R);
    rot_mul(a->R, b->p, out.p);
    for (int i = 0; i < 3; ++i)
        out.p[i] += a->p[i];
    return out;
}

soa_frame soa_frame_inverse(const soa_frame *a) {
    if (!a) return soa_frame_identity();
    soa_frame out;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            out.R[3 * i + j] = a->R[3 * j + i];
    rot_tmul(a->R, a->p, out.p);
    for (int i = 0; i < 3; ++i)
        out.p[i] = -out.p[i];
    return out;
}

soa_frame soa_frame_from_rpy(double roll, double pitch, double yaw, double x, double y, double z) {
    const double cr = cos(roll), sr = sin(roll), cp = cos(pitch), sp = sin(pitch), cy = cos(yaw),
                 sy = sin(yaw);
    return (soa_frame){{cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, sy * cp,
                        sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, -sp, cp * sr, cp * cr},
                       {x, y, z}};
}

soa_frame soa_frame_from_axis_angle(const double axis[3], double angle, const double p[3]) {
    static const double origin[3];
    if (!p) p = origin;
    if (!axis) return soa_frame_from_rpy(0, 0, 0, p[0], p[1], p[2]);
    const double n = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    const double u = axis[0] / n, v = axis[1] / n, w = axis[2] / n, c = cos(angle), s = sin(angle),
                 t = 1 - c;
    return (soa_frame){{c + t * u * u, t * u * v - s * w, t * u * w + s * v, t * u * v + s * w,
                        c + t * v * v, t * v * w - s * u, t * u * w - s * v, t * v * w + s * u,
                        c + t * w * w},
                       {p[0], p[1], p[2]}};
}

/* Used where the caller passes NULL for a vector. */
static const double zero[6];

void soa_frame_motion_to_child(const soa_frame *X, const double V[6], double out[6]) {
    if (!out) return;
    if (!V) V = zero;
    if (!X) {
        memmove(out, V, sizeof zero);
        return;
    }
    motion_out(X->R, X->p, V, out);
}
void soa_frame_force_to_parent(const soa_frame *X, const double f[6], double out[6]) {
    if (!out) return;
    if (!f) f = zero;
    if (!X) {
        memmove(out, f, sizeof zero);
        return;
    }
    double t[6] = {0};
    force_in_add(X->R, X->p, f, t);
    memcpy(out, t, sizeof t);
}
void soa_spatial_cross_motion(const double V[6], const double A[6], double out[6]) {
    if (out) cross_motion(V ? V : zero, A ? A : zero, out);
}
void soa_spatial_cross_force(const double V[6], const double f[6], double out[6]) {
    if (out) cross_force(V ? V : zero, f ? f : zero, out);
}
