/* closed_peer.h  what bench_closed needs of another library: a tree of hinges whose points are tied together.
 *
 * One module per library, with one entry, closed_peer_get().  States are ours (angles and their rates).              */
#ifndef SOA_BENCH_CLOSED_PEER_H
#define SOA_BENCH_CLOSED_PEER_H
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct closed_tie {
    int body[2];     /* 0 the world */
    double at[2][3]; /* the points, in the bodies' frames */
} closed_tie;

typedef struct closed_peer {
    const char *name, *version;
    /* NULL if the library cannot hold this mechanism; why then says so. */
    void *(*open)(const peer_model *model, const closed_tie *ties, int tie_count, char *why, size_t size);
    void (*close)(void *peer);
    void (*load)(void *peer, const double *q, const double *v);
    void (*evaluate)(void *peer, const double *q, const double *v); /* accelerations with constraints, all anew */
    void (*accelerations)(void *peer, double *qdd);                 /* of the last one */
    /* Ways to move: their names, NULL past the last; begin sets one up from the loaded state, advance goes on. */
    const char *(*setting)(int setting);
    int (*begin)(void *peer, int setting);
    int (*advance)(void *peer, double time); /* to this time; nonzero: it could not */
    void (*state)(void *peer, double *q, double *v);
} closed_peer;

typedef const closed_peer *closed_peer_get_fn(void);
__attribute__((visibility("default"))) const closed_peer *closed_peer_get(void);

#ifdef __cplusplus
}
#endif
#endif
