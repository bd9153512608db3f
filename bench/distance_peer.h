/* distance_peer.h  what a module of bench_distance offers: the distance of two hulls, prepared beforehand. */
#ifndef SOA_BENCH_DISTANCE_PEER_H
#define SOA_BENCH_DISTANCE_PEER_H
#include "soa/collision.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct distance_peer {
    const char *name;
    int warms; /* it can begin where it ended */
    void *(*open)(const soa_shape *a, const soa_shape *b, int places);
    void (*place)(void *pair, int at, const soa_frame *a, const soa_frame *b);
    double (*distance)(void *pair, int at, int warm); /* warm: as the last call left it */
    void (*close)(void *pair);
} distance_peer;
/* The module's methods, until NULL: void soa_distance_peer(int i) */
typedef const distance_peer *distance_peer_fn(int i);
#ifdef __cplusplus
}
#endif
#endif
