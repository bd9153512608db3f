/* soa/collision.h  convex shapes: their distance, and the points where they touch.
 *
 * A shape is a convex core (point, segment, box, polytope, or a cylinder with flat ends) grown by
 * `radius`.  A sphere is a point with a radius, a capsule a segment with a radius.  No function
 * here allocates.  Shapes and vertices belong to the caller and are not changed.  No model is
 * needed.  Status: SOA_E_ARGUMENT (a pointer is missing, or a shape cannot be used),
 * SOA_E_NOT_FINITE (also for a result that overflows).  Rotations of poses are not checked.
 * docs/theory/distance.md. */
#ifndef SOA_COLLISION_H
#define SOA_COLLISION_H

#include "soa/spatial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_shape_type {
    SOA_SHAPE_SPHERE,   /* radius */
    SOA_SHAPE_CAPSULE,  /* half[2]: half length of its axis, which is along z; radius */
    SOA_SHAPE_BOX,      /* half lengths along x, y, z */
    SOA_SHAPE_CYLINDER, /* axis z; half[2]: half length; half[0]: its radius */
    SOA_SHAPE_POLYTOPE, /* convex hull of vertices */
    SOA_SHAPE_PLANE,    /* the half space z <= 0, for ground and walls; two planes never collide */
    SOA_SHAPE_TYPE_COUNT
} soa_shape_type;

typedef struct soa_shape {
    soa_shape_type type;
    double half[3];
    double radius;          /* m, >= 0; the core grows by it; not for a plane */
    int vertex_count;       /* POLYTOPE */
    const double *vertices; /* POLYTOPE: x y z of each */
    /* POLYTOPE, the edges: the vertices that an edge joins to vertex i are
     * neighbours[neighbour_start[i]] to neighbours[neighbour_start[i + 1] - 1].  NULL: not known;
     * every search then looks at all vertices.  soa_hull_* (soa/io.h) fill these arrays. */
    const int *neighbour_start;
    const int *neighbours;
    /* POLYTOPE, the faces: the corners of each, counter-clockwise seen from outside, stored like
     * the edges.  NULL: not known; a patch then has one point. */
    int face_count;
    const int *face_start;
    const int *faces;
} soa_shape;
/* Checks that sizes are finite and not negative, and that indices are in range.  A size of 0 is
 * allowed: a flat box, a disc, a point.  Whether the vertices of a polytope are those of a convex
 * body is not checked. */
SOA_API soa_status soa_shape_check(const soa_shape *shape, soa_report *report);

/* Where the last search between two shapes ended.  Passed to the next search, it makes that one
 * shorter.  Fill it with zeros at the beginning. */
typedef struct soa_distance_cache {
    int count; /* vertices of the simplex; 0: nothing is stored */
    int a[4];  /* support points on each shape */
    int b[4];
    double direction[3];
} soa_distance_cache;

typedef struct soa_distance {
    double distance;   /* m; < 0: overlap, minus the shortest translation that separates them */
    double point_a[3]; /* nearest (or deepest) points, world axes */
    double point_b[3];
    double normal[3]; /* unit, from B to A: d' = normal . (velocity of A - velocity of B) */
    int iterations;
} soa_distance;

/* Distance of two convex shapes at their poses in the world.  cache may be NULL.  The shapes are
 * not checked again (soa_shape_check does that).  The number of iterations is bounded;
 * SOA_E_NO_CONVERGENCE is not expected.  Uses about 50 kB of stack if cores overlap.  Two planes:
 * SOA_E_ARGUMENT. */
SOA_API soa_status soa_shape_distance(const soa_shape *a, const soa_frame *pose_a,
                                      const soa_shape *b, const soa_frame *pose_b,
                                      soa_distance_cache *cache, soa_distance *out);

/* The points where two shapes touch: several if faces or edges lie on each other, otherwise one. */
enum { SOA_PATCH_MOST = 8 };
typedef struct soa_patch_point {
    double point_a[3]; /* on each shape, world axes */
    double point_b[3];
    double distance; /* along the common normal */
    unsigned id;     /* of the features that meet; a point keeps its id from one step to the next */
} soa_patch_point;
typedef struct soa_patch {
    double normal[3]; /* from B to A, the same for all points */
    int count;
    soa_patch_point points[SOA_PATCH_MOST];
} soa_patch;
/* The points that are closer than `margin`; none if the shapes are farther apart.  nearest may be
 * NULL; cache, nearest and status are those of soa_shape_distance. */
SOA_API soa_status soa_shape_patch(const soa_shape *a, const soa_frame *pose_a, const soa_shape *b,
                                   const soa_frame *pose_b, double margin,
                                   soa_distance_cache *cache, soa_distance *nearest,
                                   soa_patch *patch);

/* Broad phase: boxes that enclose the shapes are sorted along the axis on which they spread most.
 * The order is kept between calls, so that the cost grows with the number of near pairs only. */
typedef struct soa_bounds {
    double low[3];
    double high[3];
} soa_bounds;
/* The box along the world axes that encloses the shape at its pose, larger by `margin` on every
 * side.  The box of a plane is infinite (1e300), except along its normal if that is a world axis.
 * O(vertices) for a polytope, otherwise O(1). */
SOA_API soa_status soa_shape_bounds(const soa_shape *shape, const soa_frame *pose, double margin,
                                    soa_bounds *bounds);
/* Says whether a pair is needed. */
typedef bool soa_pair_wanted_fn(void *user, int i, int j);
/* Writes the pairs (i < j) whose boxes overlap, at most `most` of them.  *found is their number and
 * may be larger than `most` (with SOA_OK); call again with more room.  pairs NULL with most 0: only
 * counts.  order: `count` numbers, kept between calls, at first 0, 1, 2, ...  wanted may be NULL:
 * all pairs.  SOA_E_NOT_FINITE: a box has NaN, or a low above its high. */
SOA_API soa_status soa_bounds_pairs(const soa_bounds *bounds, int count, int *order,
                                    soa_pair_wanted_fn *wanted, void *user, int (*pairs)[2],
                                    int most, int *found);

#ifdef __cplusplus
}
#endif
#endif
