/* parallel.c  executor for libsoa's parallel calls, with OpenMP threads. */
#include "soa/world.h"
#ifdef _OPENMP
#include <omp.h>
#endif

int soa_openmp_thread_count(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
void soa_openmp_parallel_for(void *user, int count, soa_parallel_task *task, void *data) {
    if (!task) return;
#ifdef _OPENMP
    int threads = user ? *(const int *)user : soa_openmp_thread_count();
    if (threads > count) threads = count;
    if (threads > 1) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int i = 0; i < count; ++i)
            task(data, i);
        return;
    }
#endif
    (void)user;
    for (int i = 0; i < count; ++i)
        task(data, i);
}
