/* soa/collision.h  convex shapes: how far apart they are, where, and how they rest on each other.
 *
 * A shape is a convex core (point, segment, box, polytope; a cylinder's disc-ended core) grown by
 * `radius`: a sphere is a point and a radius, a capsule a segment and a radius.  No call allocates;
 * shapes and vertices are the caller's and are not changed.  Usable without a model.  Status:
 * SOA_E_ARGUMENT (a pointer is missing, a shape cannot be used), SOA_E_NOT_FINITE (also of results,
 * where sizes overflow); rotations of poses are taken as such. docs/theory/distance.md. */
#ifndef SOA_COLLISION_H
#define SOA_COLLISION_H

#include "soa/spatial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum soa_shape_type {
    SOA_SHAPE_SPHERE,   /* radius */
    SOA_SHAPE_CAPSULE,  /* half[2]: half length of its axis along z; radius */
    SOA_SHAPE_BOX,      /* half lengths along x, y, z */
    SOA_SHAPE_CYLINDER, /* axis z: half[2] half length, half[0] its radius */
    SOA_SHAPE_POLYTOPE, /* convex hull of vertices */
    SOA_SHAPE_PLANE,    /* the half space z <= 0: ground and walls; never two of them */
    SOA_SHAPE_TYPE_COUNT
} soa_shape_type;

typedef struct soa_shape {
    soa_shape_type type;
    double half[3];
    double radius; /* m, >= 0: the core grown by so much; for every type but the plane */
    int vertex_count;
    const double *vertices; /* POLYTOPE: x y z each */
    /* POLYTOPE: vertices joined to vertex i by an edge are neighbours[neighbour_start[i]] to
     * [neighbour_start[i + 1] - 1]; NULL: none known, every support is a scan.  soa_hull_*
     * (soa/io.h) gives them. */
    const int *neighbour_start, *neighbours;
    /* POLYTOPE: its faces, corners in counter-clockwise order seen from outside, as for the edges;
     * NULL: patches have one point. */
    int face_count;
    const int *face_start, *faces;
} soa_shape;
/* Finite sizes, none below 0 (0 is a flat box, a disc, a point), indices in range.  Whether a
 * polytope's vertices are those of a convex body is not looked at. */
SOA_API soa_status soa_shape_check(const soa_shape *shape, soa_report *report);

/* Where the last search between two shapes ended: given again it shortens the next one.  Zero it to
 * begin. */
typedef struct soa_distance_cache {
    int count;      /* vertices of the simplex, 0: cold */
    int a[4], b[4]; /* support features */
    double direction[3];
} soa_distance_cache;

typedef struct soa_distance {
    double distance; /* m; < 0: overlap, minus the least translation that parts them */
    double point_a[3], point_b[3]; /* nearest (or deepest) points, world axes */
    double normal[3]; /* unit, from B to A: d' = normal . (velocity of A - velocity of B) */
    int iterations;
} soa_distance;

/* Distance of two convex shapes at their poses (in the world); cache may be NULL.  The shapes are
 * taken as checked (soa_shape_check).  Bounded work; SOA_E_NO_CONVERGENCE is never expected.  Some
 * 50 kB of stack where cores overlap.  Two planes are SOA_E_ARGUMENT. */
SOA_API soa_status soa_shape_distance(const soa_shape *a, const soa_frame *pose_a,
                                      const soa_shape *b, const soa_frame *pose_b,
                                      soa_distance_cache *cache, soa_distance *out);

/* Several points where faces or edges rest on each other; one where they do not. */
enum { SOA_PATCH_MOST = 8 };
typedef struct soa_patch_point {
    double point_a[3], point_b[3]; /* on each shape, world axes */
    double distance;               /* along the common normal */
    unsigned id;                   /* the features met: the same point keeps it from one step to the
                                    * next */
} soa_patch_point;
typedef struct soa_patch {
    double normal[3]; /* from B to A, common to all points */
    int count;
    soa_patch_point points[SOA_PATCH_MOST];
} soa_patch;
/* The points closer than `margin`, none if the shapes are farther apart.  nearest (may be NULL): as
 * soa_shape_distance, which also says what cache and status are. */
SOA_API soa_status soa_shape_patch(const soa_shape *a, const soa_frame *pose_a, const soa_shape *b,
                                   const soa_frame *pose_b, double margin,
                                   soa_distance_cache *cache, soa_distance *nearest,
                                   soa_patch *patch);

/* Broad phase: boxes that enclose the shapes, swept along the axis of widest spread; kept sorted
 * between calls, so that cost grows with near pairs.  Memory from the caller, no allocation. */
typedef struct soa_bounds {
    double low[3], high[3];
} soa_bounds;
/* The box along the world's axes that encloses the shape at its pose, larger by `margin` on every
 * side.  A plane has no end (1e300) but where its normal is an axis.  O(vertices) for a polytope,
 * else O(1). */
SOA_API soa_status soa_shape_bounds(const soa_shape *shape, const soa_frame *pose, double margin,
                                    soa_bounds *bounds);
/* order: `count` numbers kept between calls, at first 0, 1, ...  wanted (may be NULL): asks whether
 * a pair matters.  Writes the pairs (i < j) whose boxes meet, at most `most`; *found is how many
 * there are, also where that is more (then SOA_OK too: call again with room for all).  pairs NULL
 * with most 0: only counts.  SOA_E_NOT_FINITE: a box whose low is above its high, or NaN. */
typedef bool soa_pair_wanted_fn(void *user, int i, int j);
SOA_API soa_status soa_bounds_pairs(const soa_bounds *bounds, int count, int *order,
                                    soa_pair_wanted_fn *wanted, void *user, int (*pairs)[2],
                                    int most, int *found);

#ifdef __cplusplus
}
#endif
#endif
