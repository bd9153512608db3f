/* bench_divide.c  divide-and-conquer forward dynamics and the constraint-force forms against
 * soa_aba: operations, and wall time on one core and on all. Best of 200 short rounds, interleaved,
 * so that other work on the machine has the least influence. Argument: the longest chain (4096). */
#define _POSIX_C_SOURCE 200809L
#include "flops.h"
#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ABA, ONE, ALL, COARSE_ONE, COARSE_ALL, TREE, TRIDIAGONAL, WAYS, ROUNDS = 200 };
typedef struct job {
    const soa_model *m;
    soa_work *w;
    soa_divide *fine, *coarse;
    void *room;
    size_t size;
    double *q, *v, *tau, *out;
    int way, threads;
} job;
static void call(void *p) {
    job *j = p;
    soa_divide *d = j->way == ONE || j->way == ALL ? j->fine : j->coarse;
    soa_parallel_for *run = j->way == ALL || j->way == COARSE_ALL ? soa_openmp_parallel_for : NULL;
    soa_status s;
    if (j->way == ABA)
        s = soa_aba(j->m, j->w, j->q, j->v, j->tau, NULL, 0, j->out);
    else if (j->way == TREE)
        s = soa_fd_constraint_forces(j->m, j->w, j->room, j->size,
                                     &(soa_input){.q = j->q, .v = j->v, .tau = j->tau}, j->out,
                                     NULL, NULL);
    else if (j->way == TRIDIAGONAL)
        s = soa_fd_tridiagonal(j->m, j->w, j->room, j->size,
                               &(soa_input){.q = j->q, .v = j->v, .tau = j->tau}, j->out, NULL,
                               NULL);
    else
        s = soa_divide_fd(d, &(soa_input){.q = j->q, .v = j->v, .tau = j->tau}, run, &j->threads,
                          j->out);
    if (s) {
        fprintf(stderr, "%s\n", soa_status_text(s));
        exit(1);
    }
}
static void measure(job *j, int links, double us[WAYS]) {
    static double times[WAYS][ROUNDS];
    const int calls = 1000 / links + 1;
    for (int r = 0; r < ROUNDS; ++r)
        for (int way = 0; way < WAYS; ++way) {
            j->way = way;
            const double start = seconds();
            for (int i = 0; i < calls; ++i)
                call(j);
            times[way][r] = (seconds() - start) / calls * 1e6;
        }
    for (int way = 0; way < WAYS; ++way) {
        qsort(times[way], ROUNDS, sizeof(double), ascending);
        us[way] = times[way][0];
    }
}

int main(int argc, char **argv) {
    const int most = argc > 1 ? atoi(argv[1]) : 4096, threads = soa_openmp_thread_count();
    printf("%d threads, %s\n\n", threads, soa_instruction_set());
    printf("| links | levels | critical path, flops | all, flops | executed | aba, flops | "
           "executed | aba / critical |\n");
    printf("|---|---|---|---|---|---|---|---|\n");
    double table[16][WAYS];
    int links[16], rows = 0;
    for (int n = 64; n <= most && rows < 16; n *= 2, ++rows) {
        char name[32];
        const soa_read_options ideal = {0, 1};
        job j = {.threads = threads};
        soa_divide_count c;
        snprintf(name, sizeof name, "chain:%d", n);
        if (soa_stock_model_create(name, &ideal, &j.m, NULL) || soa_work_create(j.m, &j.w) ||
            soa_divide_create(j.m, 1, &j.fine) ||
            soa_divide_create(j.m, 2 * n / (2 * threads + 3) + 1, &j.coarse) ||
            soa_divide_operations(j.fine, &c))
            return 1;
        const size_t nv = (size_t)soa_model_nv(j.m);
        j.size = soa_fd_constraint_forces_size(j.m);
        j.room = malloc(j.size);
        j.q = calloc(4 * nv, sizeof(double));
        j.v = j.q + nv;
        j.tau = j.q + 2 * nv;
        j.out = j.q + 3 * nv;
        if (!j.room || !j.q) return 1;
        for (size_t i = 0; i < nv; ++i) {
            j.q[i] = 0.1 * (double)(i % 60);
            j.v[i] = 0.3;
            j.tau[i] = 0.2;
        }
        flop_count f[2] = {{0}};
        for (int k = 0; k < 2 && n <= 64; ++k) {
            j.way = k ? ABA : ONE;
            if (!flops_counted(call, &j, f + k)) f[k].flops = 0;
        }
        printf("| %d | %d | %.0f | %.0f | %ld | %.0f | %ld | %.1f |\n", n, c.levels, c.critical,
               c.flops, f[0].flops, c.aba, f[1].flops, c.aba / c.critical);
        measure(&j, n, table[rows]);
        links[rows] = n;
        free(j.room);
        free(j.q);
        soa_divide_free(j.fine);
        soa_divide_free(j.coarse);
        soa_work_free(j.w);
        soa_model_free(j.m);
    }
    printf("\nmicroseconds a call\n\n| links | soa_aba | divided, 1 thread | %d threads | a run a "
           "thread, 1 thread | %d "
           "threads | (27) | (28) |\n",
           threads, threads);
    printf("|---|---|---|---|---|---|---|---|\n");
    for (int r = 0; r < rows; ++r) {
        printf("| %d |", links[r]);
        for (int way = 0; way < WAYS; ++way)
            printf(" %.1f |", table[r][way]);
        printf("\n");
    }
    return 0;
}
