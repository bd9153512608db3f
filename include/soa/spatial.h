/* soa/spatial.h  frames and six-vectors, as plain values.
 *
 * A spatial vector has its angular part first: V = [w; v], f = [n; f].  Rotations are 3 x 3, row by
 * row.  A frame is the pose of a child frame in its parent: x_parent = R x_child + p.  Conventions:
 * docs/notation.md.  Nothing here is checked.  A missing frame (NULL) counts as the identity, a
 * missing vector as zero; without a place for the result nothing is done. */
#ifndef SOA_SPATIAL_H
#define SOA_SPATIAL_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soa_frame {
    double R[9]; /* rotation, child axes to parent axes, row by row */
    double p[3]; /* origin of the child in the parent, m */
} soa_frame;

/* The identity. */
SOA_API soa_frame soa_frame_identity(void);
/* The pose of b's child in a's parent: first a, then b. */
SOA_API soa_frame soa_frame_compose(const soa_frame *a, const soa_frame *b);
/* The pose of the parent in the child. */
SOA_API soa_frame soa_frame_inverse(const soa_frame *a);
/* Roll, pitch and yaw as in URDF (about the fixed axes x, y, z), and a position. */
SOA_API soa_frame soa_frame_from_rpy(double roll, double pitch, double yaw, double x, double y,
                                     double z);
/* Rotation by the angle (rad) about the axis.  The length of the axis does not matter, but must not
 * be 0; NULL: no rotation.  p NULL: zero. */
SOA_API soa_frame soa_frame_from_axis_angle(const double axis[3], double angle, const double p[3]);

/* Motion vector of the parent, seen in the child, phi* V: [R'w; R'(v + w x p)].  Input and output
 * may be the same. */
SOA_API void soa_frame_motion_to_child(const soa_frame *X, const double V_parent[6],
                                       double V_child[6]);
/* Force vector of the child, seen in the parent, phi f: [R n + p x R f; R f].  Input and output may
 * be the same. */
SOA_API void soa_frame_force_to_parent(const soa_frame *X, const double f_child[6],
                                       double f_parent[6]);
/* V x A: cross product of two motions.  V x* f: cross product of a motion with a force.  out may be
 * either input. */
SOA_API void soa_spatial_cross_motion(const double V[6], const double A[6], double out[6]);
SOA_API void soa_spatial_cross_force(const double V[6], const double f[6], double out[6]);

#ifdef __cplusplus
}
#endif
#endif
