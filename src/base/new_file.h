/* new_file.h  the only way in which files are written: under a temporary name in the same folder,
 * renamed when complete.
 *
 * Until soai_new_file_commit() returns SOA_OK, an existing file of that name is unchanged;
 * afterwards the new one is complete and on disk. The temporary file is created with O_EXCL, so no
 * other file is touched and no link is followed. If the output is a symbolic link, the link stays
 * and its target is replaced. An output that is not a regular file (a device, a pipe, /dev/stdout)
 * is written in place and never removed. */
#ifndef SOAI_NEW_FILE_H
#define SOAI_NEW_FILE_H
#include "base_internal.h"

typedef struct soai_new_file {
    char *path;      /* final path, symbolic links followed */
    char *temporary; /* NULL: written in place, or committed */
    int fd;          /* -1: none */
    int folder;      /* the folder, to be synchronised; -1: none */
    int old;         /* with a lock: the existing file, locked; -1: none */
    int lock;        /* the caller wants the lock and keeps fd */
    int error;       /* errno of the last failure */
} soai_new_file;
#define SOAI_NO_FILE                 \
    (soai_new_file) {                \
        NULL, NULL, -1, -1, -1, 0, 0 \
    }

/* Opens a temporary file beside PATH for writing; "-" is standard output. An existing file keeps
 * its permissions when it is replaced; one without write permission is refused. lock: lock the
 * file; refused with SOA_E_FILE if another process holds a lock on the existing one. After a
 * failure nothing is open. */
SOA_API soa_status soai_new_file_open(soai_new_file *f, const char *path, int lock,
                                      soa_report *report);
/* fsync, close (with a lock the descriptor stays open), rename, fsync of the folder. */
SOA_API soa_status soai_new_file_commit(soai_new_file *f, soa_report *report);
/* Removes a file that was not committed, closes what is open and frees memory. If the caller took
 * over fd, it must set fd = -1 first. */
SOA_API void soai_new_file_end(soai_new_file *f);

/* Open, write and commit in one call. */
SOA_API soa_status soai_new_file_write(const char *path, const void *data, size_t size,
                                       soa_report *report);

/* Removes the temporary files of this process. Safe in a handler of a fatal signal. */
SOA_API void soai_new_files_remove(void);

/* Writes all bytes and repeats interrupted calls. Returns 0 or errno. */
SOA_API int soai_write_all(int fd, const void *data, size_t size);
/* fsync; returns 0 or errno. What cannot be synchronised (pipes, devices) is not an error. */
SOA_API int soai_sync(int fd);
#endif
