/* closed_peer.h  what bench_closed needs from another library: a tree of hinges with points tied
 * together.
 *
 * One module per library, with one entry, closed_peer_get(). States are in our convention (angles
 * and their rates). */
#ifndef SOA_BENCH_CLOSED_PEER_H
#define SOA_BENCH_CLOSED_PEER_H
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct closed_tie {
    int body[2];     /* 0: the world */
    double at[2][3]; /* the points, in the bodies' frames */
} closed_tie;

typedef struct closed_peer {
    const char *name, *version;
    /* Returns NULL if the library cannot represent this mechanism; `why` explains. */
    void *(*open)(const peer_model *model, const closed_tie *ties, int tie_count, char *why,
                  size_t size);
    void (*close)(void *peer);
    void (*load)(void *peer, const double *q, const double *v);
    /* Accelerations with constraints, computed anew. */
    void (*evaluate)(void *peer, const double *q, const double *v);
    void (*accelerations)(void *peer, double *qdd); /* of the last evaluation */
    /* Settings for motions: their names, NULL after the last. begin starts one from the loaded
     * state, advance continues it. */
    const char *(*setting)(int setting);
    int (*begin)(void *peer, int setting);
    /* Moves to this time. Nonzero: failed. */
    int (*advance)(void *peer, double time);
    void (*state)(void *peer, double *q, double *v);
} closed_peer;

typedef const closed_peer *closed_peer_get_fn(void);
__attribute__((visibility("default"))) const closed_peer *closed_peer_get(void);

#ifdef __cplusplus
}
#endif
#endif
