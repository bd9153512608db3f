/* python_calls.c  the C side of bench/python.py: soa_aba and soa_aba_batch called in a loop.
 *
 * The functions are those of the installed package: their addresses are given, so that both sides
 * time the same machine code. */
#define _GNU_SOURCE
#include "soa/dynamics.h"

#include <time.h>

typedef soa_status aba_function(const soa_model *model, soa_work *work, const double *q,
                                const double *v, const double *tau, const soa_wrench *wrenches,
                                int wrench_count, double *qdd);
typedef soa_status batch_function(const soa_model *model, soa_batch *batch, long count,
                                  const double *q, const double *v, const double *tau,
                                  const double *fext, double *qdd);

__attribute__((visibility("default"))) double
time_aba(void *aba, const soa_model *model, soa_work *work, int nq, int nv, const double *q,
         const double *v, const double *tau, double *qdd, long count, long repeat);
__attribute__((visibility("default"))) double time_batch(void *aba_batch, const soa_model *model,
                                                         soa_batch *batch, long count,
                                                         const double *q, const double *v,
                                                         const double *tau, double *qdd);

/* CPU time of this process, as time.process_time() gives it. */
static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nanoseconds per call, over `repeat` passes of `count` states; negative if a call failed. */
double time_aba(void *aba, const soa_model *model, soa_work *work, int nq, int nv, const double *q,
                const double *v, const double *tau, double *qdd, long count, long repeat) {
    aba_function *call;
    *(void **)&call = aba;
    const double start = now_ns();
    for (long r = 0; r < repeat; ++r)
        for (long k = 0; k < count; ++k)
            if (call(model, work, q + k * nq, v + k * nv, tau + k * nv, NULL, 0, qdd) != SOA_OK)
                return -1;
    return (now_ns() - start) / (double)(repeat * count);
}

/* Nanoseconds per state. */
double time_batch(void *aba_batch, const soa_model *model, soa_batch *batch, long count,
                  const double *q, const double *v, const double *tau, double *qdd) {
    batch_function *call;
    *(void **)&call = aba_batch;
    const double start = now_ns();
    if (call(model, batch, count, q, v, tau, NULL, qdd) != SOA_OK) return -1;
    return (now_ns() - start) / (double)count;
}
