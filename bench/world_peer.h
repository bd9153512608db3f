/* world_peer.h  what bench_world needs from another simulator: a scene built from plain data and
 * moved in time.
 *
 * One module per library, with one entry, world_peer_get(). States are in our convention: free
 * joints [p; quaternion w x y z] and [w; v] in the body's axes. Only `advance` is timed. */
#ifndef SOA_BENCH_WORLD_PEER_H
#define SOA_BENCH_WORLD_PEER_H
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two points that remain together. */
typedef struct world_tie {
    int body[2];
    double at[2][3]; /* in the bodies' frames */
} world_tie;

typedef struct world_scene {
    peer_model model;
    int tie_count;
    const world_tie *tie;
    /* Nonzero: every body is a box of these half lengths, above the plane z = 0. */
    int boxes;
    double half[3];
    /* Of our contacts at one corner, N/m, N s/m. */
    double stiffness, damping;
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
    /* Returns NULL if the library cannot represent this scene; `why` explains. */
    void *(*open)(const world_scene *scene, char *why, size_t size);
    void (*close)(void *peer);
    /* Returns zero after the last. */
    int (*way)(void *peer, int way, world_way *out);
    int (*begin)(void *peer, int way, const double *q, const double *v);
    /* Moves to this time. Nonzero: failed. */
    int (*advance)(void *peer, double time);
    void (*state)(void *peer, double *q, double *v);
    int (*contacts)(void *peer); /* number of touching points; NULL: not available */
} world_peer;

typedef const world_peer *world_peer_get_fn(void);
__attribute__((visibility("default"))) const world_peer *world_peer_get(void);

#ifdef __cplusplus
}
#endif
#endif
