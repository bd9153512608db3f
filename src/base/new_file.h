/* new_file.h  the one way in which files are written: beside their name, and renamed when they are complete.
 *
 * Until soai_new_file_commit() returns SOA_OK an older file of that name is unchanged; afterwards the new one is
 * complete and on disk.  The temporary name is new (O_EXCL), so no other file is touched and no link is followed.
 * An output that is a symbolic link stays one: its target is replaced.  What is no regular file (a device, a pipe,
 * /dev/stdout) is written in place and never removed.                                                              */
#ifndef SOAI_NEW_FILE_H
#define SOAI_NEW_FILE_H
#include "base_internal.h"

typedef struct soai_new_file {
    char *path;      /* where it will be, symbolic links followed         */
    char *temporary; /* NULL: written in place, or committed              */
    int fd;          /* -1: none                                          */
    int folder;      /* the directory, to be synchronised; -1: none       */
    int old;         /* with a lock: the older file, locked; -1: none     */
    int lock;        /* the caller wants the lock and keeps fd            */
    int error;       /* errno of the last failure                         */
} soai_new_file;
#define SOAI_NO_FILE                 \
    (soai_new_file) {                \
        NULL, NULL, -1, -1, -1, 0, 0 \
    }

/* Opens a temporary file beside PATH for writing; "-" is standard output.  A file that is there keeps its permissions
 * when it is replaced; one that we may not write is refused.  lock: the file is locked, and refused (SOA_E_FILE) where
 * another process holds a lock on an older one.  After a failure nothing is open. */
SOA_API soa_status soai_new_file_open(soai_new_file *f, const char *path, int lock, soa_report *report);
/* fsync, close (not with a lock: the descriptor stays open), rename, fsync of the directory. */
SOA_API soa_status soai_new_file_commit(soai_new_file *f, soa_report *report);
/* Removes what was not committed, closes what is open (but not fd where the caller took it: fd = -1), frees. */
SOA_API void soai_new_file_end(soai_new_file *f);

/* All of it in one call. */
SOA_API soa_status soai_new_file_write(const char *path, const void *data, size_t size, soa_report *report);

/* Removes the temporary files of this process; safe in a handler of a signal that ends it. */
SOA_API void soai_new_files_remove(void);

/* 0, or errno.  All bytes; interrupted calls are repeated. */
SOA_API int soai_write_all(int fd, const void *data, size_t size);
/* fsync, 0 or errno; what cannot be synchronised (pipes, devices) is fine. */
SOA_API int soai_sync(int fd);
#endif
