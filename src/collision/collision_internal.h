/* collision_internal.h  what the files of this room share: a pair of shapes in one frame, and their
 *                       difference.
 *
 * Everything between two shapes is asked in A's axes at A's origin.  The Minkowski difference of
 * the cores is the set of w = a - b; the cores are apart if 0 is not in it.  Its points are
 * doubles, each rounded once from the same numbers in the same way: so they are exact data, and
 * what is then computed of them (in double, or twice double where that is not enough) has one true
 * answer. */
#ifndef SOAI_COLLISION_INTERNAL_H
#define SOAI_COLLISION_INTERNAL_H
#include "soa/collision.h"
#include <math.h>
#include <string.h>

#define SOAI_DOT(a, b) ((a)[0] * (b)[0] + (a)[1] * (b)[1] + (a)[2] * (b)[2])
static inline void soai_cross(const double a[3], const double b[3], double out[3]) {
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
                 z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}
/* x_parent = R x + p and its directions, there and back. */
static inline void soai_turn(const double R[9], const double x[3], double out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}
static inline void soai_turn_back(const double R[9], const double x[3], double out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

/* One point of the difference and where it comes from, in A's axes. */
typedef struct soai_vertex {
    double w[3], a[3], b[3];
    int ia, ib; /* number of the support point on each; -1: on a curved rim */
} soai_vertex;

typedef struct soai_pair {
    const soa_shape *a, *b;
    const soa_frame *pose_a, *pose_b;
    double R[9], p[3];  /* pose of B in A */
    int hint_a, hint_b; /* where hill climbing begins */
    int curved;         /* a cylinder is among them */
} soai_pair;

/* What a search ends with, on the cores, in A's axes: w = a - b nearest to 0 (or on the nearest
 * face), unit normal. */
typedef struct soai_nearest {
    double distance; /* of the cores; < 0: depth */
    double a[3], b[3], normal[3];
    int iterations;
} soai_nearest;

/* Farthest point of the core along d (shape's axes); *index: in, where to begin; out, its
 * number. */
void soai_shape_support(const soa_shape *shape, const double d[3], double x[3], int *index);
/* The point that a number stands for. */
void soai_support_point(const soa_shape *shape, int index, double x[3]);
/* The point of the difference farthest along -v. */
void soai_pair_support(soai_pair *pair, const double v[3], soai_vertex *out);
/* Core is a hull of numbered points (not a cylinder). */
static inline int soai_is_numbered(const soa_shape *shape) {
    return shape->type != SOA_SHAPE_CYLINDER;
}

/* Least translation that parts the cores.  1; 0: they do not overlap; surely: they do or all but
 * do, so that the answer may be a distance far below rounding. */
int soai_penetration(soai_pair *pair, int surely, soai_nearest *out);
/* Distance of the cores, cold, in double or else exactly; 0: they overlap. */
int soai_distance_apart(soai_pair *pair, soai_nearest *out);
/* Distance of the cores in twice double; 0: they overlap. */
int soai_distance_exact(soai_pair *pair, soai_nearest *out);

#endif
