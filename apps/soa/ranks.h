/* ranks.h  information about other processes that share a command's work; set by
 * apps/mpi/main.c. */
#ifndef SOA_APP_RANKS_H
#define SOA_APP_RANKS_H
#include "soa/base.h"

typedef struct app_ranks {
    int rank, size;
    /* NULL: there are no others. */
    soa_status (*exchange)(void *user, const char *mine, size_t size, char **all, size_t *all_size);
} app_ranks;
extern app_ranks app_mpi;
#endif
