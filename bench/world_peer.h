/* world_peer.h  what bench_world needs of another simulator: a scene built from plain data and moved in time.
 *
 * One module per library, with one entry, world_peer_get().  States are ours: free joints [p; quaternion w x y z] and
 * [w; v] in the body's axes.  Only `advance` is timed.                                                                */
#ifndef SOA_BENCH_WORLD_PEER_H
#define SOA_BENCH_WORLD_PEER_H
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two points that stay together. */
typedef struct world_tie {
    int body[2];
    double at[2][3]; /* in the bodies' frames */
} world_tie;

typedef struct world_scene {
    peer_model model;
    int tie_count;
    const world_tie *tie;
    int boxes; /* nonzero: every body is a box of these half lengths, above the plane z = 0 */
    double half[3];
    double stiffness, damping; /* of our contacts at one corner, N/m, N s/m */
    double friction;
} world_scene;

/* One way of moving a scene: a point of a work-precision curve. */
typedef struct world_way {
    const char *curve; /* the method */
    double value;      /* its step, s, or its accuracy */
    int fixed;         /* nonzero: `value` is a step */
} world_way;

typedef struct world_peer {
    const char *name, *version;
    /* NULL if the library cannot hold this scene; why then says so. */
    void *(*open)(const world_scene *scene, char *why, size_t size);
    void (*close)(void *peer);
    int (*way)(void *peer, int way, world_way *out); /* zero past the last */
    int (*begin)(void *peer, int way, const double *q, const double *v);
    int (*advance)(void *peer, double time); /* to this time; nonzero: it could not */
    void (*state)(void *peer, double *q, double *v);
    int (*contacts)(void *peer); /* points that touch now; NULL: not told */
} world_peer;

typedef const world_peer *world_peer_get_fn(void);
__attribute__((visibility("default"))) const world_peer *world_peer_get(void);

#ifdef __cplusplus
}
#endif
#endif
