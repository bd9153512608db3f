/* new_file.h  a file that appears under its name only when it is whole: written beside it, renamed at the end. */
#ifndef SOAI_NEW_FILE_H
#define SOAI_NEW_FILE_H
#include "../base/base_internal.h"

typedef struct soai_new_file {
    char *path;      /* where it shall be, symbolic links followed     */
    char *temporary; /* NULL: path is no regular file, written directly */
    int fd, folder;  /* -1: none; the directory's                       */
} soai_new_file;

/* Opens PATH + suffix for writing, empty.  What is no regular file, /dev/stdout and the like are opened themselves; "-" is
 * standard output.  lock: refuses (SOA_E_FILE) where another process holds a lock on either, and
 * locks it (released with the descriptor). */
soa_status soai_new_file_open(soai_new_file *f, const char *path, const char *suffix, int lock, soa_report *report);
/* Waits until the disk has it, renames it, waits for the directory.  The descriptor stays open. */
soa_status soai_new_file_commit(soai_new_file *f, soa_report *report);
/* Frees the names; removes what was not committed; closes the descriptor unless it was taken (fd = -1). */
void soai_new_file_end(soai_new_file *f);

/* 0, or errno.  All bytes, signals withstood. */
int soai_write_all(int fd, const void *data, size_t size);
/* fsync; what cannot be synchronised (pipes, devices) is fine. */
int soai_sync(int fd);
#endif
