/* bench_distance.c  distance between two convex hulls of 8 to 1,000 vertices: libsoa, Bullet and
 * FCL.
 *
 * cold    every call starts anew, at places unrelated to each other
 * warm    along a path, each call starts from the last result; a method that cannot is measured
 *         cold
 *
 * Vertices are random on a sphere; the hulls are apart. All methods get the same shapes and places,
 * in turn, in every round; times are medians over the rounds. "off": the largest relative
 * difference from ours, whose answers are proved (docs/theory/distance.md). */
#define _POSIX_C_SOURCE 200809L
#include "distance_peer.h"
#include "soa/io.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 8, PLACES = 64, ROUNDS = 31, MOST = 8, SIZES = 8 };
static const int SIZE[SIZES] = {8, 16, 32, 64, 128, 256, 512, 1000};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static uint64_t state = 1;
static double uniform(double low, double high) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + (high - low) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

/* --- libsoa, in the same form ----------------------------------------------------------------- */
typedef struct own_pair {
    soa_shape a, b;
    soa_frame A[PLACES], B[PLACES];
    soa_distance_cache cache;
} own_pair;
static void *own_open(const soa_shape *a, const soa_shape *b, int places) {
    (void)places;
    own_pair *p = calloc(1, sizeof *p);
    if (p) {
        p->a = *a;
        p->b = *b;
    }
    return p;
}
static void own_place(void *pair, int at, const soa_frame *a, const soa_frame *b) {
    own_pair *p = pair;
    p->A[at] = *a;
    p->B[at] = *b;
}
static double own_distance(void *pair, int at, int warm) {
    own_pair *p = pair;
    soa_distance out;
    if (soa_shape_distance(&p->a, &p->A[at], &p->b, &p->B[at], warm ? &p->cache : NULL, &out))
        return NAN;
    return out.distance;
}
static const distance_peer OWN = {"libsoa", 1, own_open, own_place, own_distance, free};

/* --- shapes and places ------------------------------------------------------------------------ */
static int random_hull(int count, soa_shape *s) {
    static double x[1000][3];
    for (int i = 0; i < count; ++i) {
        double r;
        do {
            for (int k = 0; k < 3; ++k)
                x[i][k] = uniform(-1, 1);
            r = sqrt(x[i][0] * x[i][0] + x[i][1] * x[i][1] + x[i][2] * x[i][2]);
        } while (!(r <= 1 && r > 0.1));
        for (int k = 0; k < 3; ++k)
            x[i][k] /= r;
    }
    return soa_hull_from_points(x[0], count, s, NULL) == SOA_OK;
}
/* warm: along a path; else anywhere. The hulls are apart in both cases. */
static void places(const soa_shape *a, const soa_shape *b, int warm, soa_frame *A, soa_frame *B) {
    double t[9];
    for (int k = 0; k < 9; ++k)
        t[k] = uniform(-3, 3);
    for (int at = 0; at < PLACES; ++at) {
        soa_distance d;
        const double s = warm ? 0.01 * at : 0;
        do {
            if (!warm)
                for (int k = 0; k < 9; ++k)
                    t[k] = uniform(-3, 3);
            A[at] = soa_frame_from_rpy(t[0] + s, t[1] - s, t[2], 0, 0, 0);
            B[at] = soa_frame_from_rpy(t[3] - s, t[4], t[5] + s, t[6] + s, t[7] - s, t[8] + s);
            if (soa_shape_distance(a, &A[at], b, &B[at], NULL, &d)) d.distance = 0;
            if (warm && !(d.distance > 0.05)) {
                t[6] *= 1.2;
                t[7] *= 1.2;
                t[8] *= 1.2;
            }
        } while (!(d.distance > 0.05));
    }
}

int main(int argc, char **argv) {
    const distance_peer *method[MOST] = {&OWN};
    int methods = 1, slower = 0;
    static const char *const modules[] = {"distance_bullet", "distance_fcl"};
    for (int m = 0; m < 2; ++m) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.so", argc > 1 ? argv[1] : ".", modules[m]);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        distance_peer_fn *get = NULL;
        if (module) *(void **)&get = dlsym(module, "soa_distance_peer");
        if (!get) printf("%s: not here\n", modules[m]);
        for (int i = 0; get && get(i) && methods < MOST; ++i)
            method[methods++] = get(i);
    }
    for (int warm = 0; warm < 2; ++warm) {
        printf("\nDistance of two convex hulls, %s: ns a call, median of %d rounds (off: largest "
               "relative "
               "difference)\n%9s",
               warm ? "warm" : "cold", ROUNDS, "vertices");
        for (int m = 0; m < methods; ++m)
            printf("%28s", method[m]->name);
        printf("\n");
        for (int size = 0; size < SIZES; ++size) {
            void *pair[PAIRS][MOST];
            soa_shape s[PAIRS][2];
            static double time[MOST][ROUNDS], answer[PAIRS][PLACES];
            double off[MOST] = {0}, own = 0;
            for (int p = 0; p < PAIRS; ++p) {
                soa_frame A[PLACES], B[PLACES];
                if (!random_hull(SIZE[size], &s[p][0]) || !random_hull(SIZE[size], &s[p][1]))
                    return 2;
                places(&s[p][0], &s[p][1], warm, A, B);
                for (int m = 0; m < methods; ++m) {
                    pair[p][m] = method[m]->open(&s[p][0], &s[p][1], PLACES);
                    if (!pair[p][m]) return 2;
                    for (int at = 0; at < PLACES; ++at)
                        method[m]->place(pair[p][m], at, &A[at], &B[at]);
                }
            }
            /* The first round is not measured. */
            for (int round = -1; round < ROUNDS; ++round)
                for (int m = 0; m < methods; ++m) {
                    const int on = warm && method[m]->warms;
                    for (int p = 0; on && p < PAIRS; ++p)
                        method[m]->distance(pair[p][m], 0, 1);
                    const double begin = seconds();
                    double sum = 0;
                    for (int p = 0; p < PAIRS; ++p)
                        for (int at = 0; at < PLACES; ++at) {
                            const double d = method[m]->distance(pair[p][m], at, on);
                            sum += d;
                            if (round >= 0) continue;
                            if (m == 0) answer[p][at] = d;
                            const double e = fabs(d - answer[p][at]) / answer[p][at];
                            if (!(e <= off[m])) off[m] = e;
                        }
                    if (round >= 0) time[m][round] = (seconds() - begin) / (PAIRS * PLACES);
                    if (!(fabs(sum) < 1e300)) off[m] = NAN;
                }
            printf("%9d", SIZE[size]);
            for (int m = 0; m < methods; ++m) {
                qsort(time[m], ROUNDS, sizeof time[m][0], ascending);
                const double t = time[m][ROUNDS / 2];
                if (m == 0) own = t;
                if (m > 0 && t < own) slower = 1;
                printf("%12.0f (off %.0e)%s", 1e9 * t, off[m], m > 0 && t < own ? " <" : "  ");
            }
            printf("\n");
            for (int p = 0; p < PAIRS; ++p) {
                for (int m = 0; m < methods; ++m)
                    method[m]->close(pair[p][m]);
                soa_hull_free(&s[p][0]);
                soa_hull_free(&s[p][1]);
            }
        }
    }
    printf(slower ? "\nA method marked < is faster than libsoa.\n"
                  : "\nlibsoa is the fastest at every size, cold and warm.\n");
    return 0;
}
