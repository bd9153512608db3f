/* ranks.h  how a command knows of others that share its work; filled by apps/mpi/main.c. */
#ifndef SOA_APP_RANKS_H
#define SOA_APP_RANKS_H
#include "soa/base.h"

typedef struct app_ranks {
    int rank, size;
    soa_status (*exchange)(void *user, const char *mine, size_t size, char **all, size_t *all_size); /* NULL: alone */
} app_ranks;
extern app_ranks app_mpi;
#endif
