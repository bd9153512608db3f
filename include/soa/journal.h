/* soa/journal.h  the record of a run: an append-only file that survives its writer. */
#ifndef SOA_JOURNAL_H
#define SOA_JOURNAL_H

#include "soa/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
