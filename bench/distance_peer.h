/* distance_peer.h  interface of a module of bench_distance: the distance between two hulls prepared
 * in advance. */
#ifndef SOA_BENCH_DISTANCE_PEER_H
#define SOA_BENCH_DISTANCE_PEER_H
#include "soa/collision.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct distance_peer {
    const char *name;
    int warms; /* it can start from its last result */
    void *(*open)(const soa_shape *a, const soa_shape *b, int places);
    void (*place)(void *pair, int at, const soa_frame *a, const soa_frame *b);
    /* warm: start from the result of the last call. */
    double (*distance)(void *pair, int at, int warm);
    void (*close)(void *pair);
} distance_peer;
/* The module's function soa_distance_peer(i) returns its methods; NULL after the last. */
typedef const distance_peer *distance_peer_fn(int i);
#ifdef __cplusplus
}
#endif
#endif
