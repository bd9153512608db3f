/* main.c  soa-mpi: `soa sweep` with its cases divided among MPI ranks. `soa sweep` under mpirun
 * starts this program. */
#include "../soa/app.h"
#include "../soa/ranks.h"
#include "../soa/target.h"

#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const app_command *const app_commands[] = {&app_sweep, NULL};

/* Sends the bytes of every rank to all ranks, in order of rank. */
static soa_status exchange(void *user, const char *mine, size_t size, char **all,
                           size_t *all_size) {
    (void)user;
    *all = NULL;
    *all_size = 0;
    const int own = size > INT_MAX ? -1 : (int)size;
    int *sizes = calloc(2 * (size_t)app_mpi.size, sizeof *sizes),
        *starts = sizes ? sizes + app_mpi.size : NULL;
    if (!sizes || MPI_Allgather(&own, 1, MPI_INT, sizes, 1, MPI_INT, MPI_COMM_WORLD)) {
        free(sizes);
        return SOA_E_MEMORY;
    }
    long long total = 0;
    int bad = 0;
    for (int r = 0; r < app_mpi.size; ++r) {
        starts[r] = (int)total;
        total += sizes[r];
        bad = bad || sizes[r] < 0 || total > INT_MAX;
    }
    *all = bad ? NULL : malloc((size_t)total + 1);
    if (*all && !MPI_Allgatherv(mine, own, MPI_CHAR, *all, sizes, starts, MPI_CHAR, MPI_COMM_WORLD))
        *all_size = (size_t)total;
    else
        bad = 1;
    free(sizes);
    return bad ? SOA_E_MEMORY : SOA_OK;
}

int main(int argc, char **argv) {
    int provided;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided)) {
        fputs("soa-mpi: MPI does not start\n", stderr);
        return APP_FAILED;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &app_mpi.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &app_mpi.size);
    app_mpi.exchange = exchange;
    /* "soa-mpi sweep ..." as typed by users, or "sweep ..." as started by soa */
    const int skip = argc > 1 && !strcmp(argv[1], "sweep");
    app_remove_temporaries();
    int code = app_sweep.run(argc - skip, argv + skip);
    if (app_print_error() && code != APP_FAILED)
        code = app_fail(&app_sweep, "cannot write the output: %s", strerror(app_print_error()));
    if (code == APP_FAILED) MPI_Abort(MPI_COMM_WORLD, code); /* do not let the other ranks wait */
    MPI_Finalize();
    return code;
}
