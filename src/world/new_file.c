/* new_file.c  files written beside their name and renamed when they are whole. */
#define _DEFAULT_SOURCE /* flock */
#define _XOPEN_SOURCE 700
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int soai_write_all(int fd, const void *data, size_t size) {
    const char *p = data;
    while (size) {
        const ssize_t n = write(fd, p, size < 1 << 30 ? size : 1 << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        p += n, size -= (size_t)n;
    }
    return 0;
}
int soai_sync(int fd) {
    while (fsync(fd))
        if (errno != EINTR) return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
    return 0;
}
/* The directory of a path, open; -1 with errno (0: one that we may write but not read, and so cannot synchronise). */
static int open_directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = slash ? strdup(path) : NULL;
    if (slash && !name) return -1;
    if (name) name[slash == path ? 1 : slash - path] = 0;
    const int fd = open(name ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) errno = 0;
    free(name);
    return fd;
}

soa_status soai_new_file_open(soai_new_file *f, const char *path, const char *suffix, int lock, soa_report *report) {
    struct stat about;
    *f = (soai_new_file){NULL, NULL, -1, -1};
    if (!strcmp(path, "-") || !strncmp(path, "/dev/std", 8) || !strncmp(path, "/dev/fd/", 8) ||
        !strncmp(path, "/proc/", 6)) {
        f->path = strdup(path);
        if (!f->path) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
        f->fd = path[0] == '-' ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC);
        if (f->fd >= 0) return SOA_OK;
        soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path, strerror(errno));
        soai_new_file_end(f);
        return SOA_E_FILE;
    }
    const int exists = stat(path, &about) == 0;
    f->path = exists ? realpath(path, NULL) : strdup(path);
    if (exists && !S_ISREG(about.st_mode) && !f->path) f->path = strdup(path); /* a pipe has no path */
    if (!f->path)
        return soai_report(report, errno == ENOMEM ? SOA_E_MEMORY : SOA_E_FILE, -1, 0, "%s: %s", path, strerror(errno));
    if (exists && S_ISDIR(about.st_mode)) {
        soai_new_file_end(f);
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: is a directory", path);
    }
    if (exists && !S_ISREG(about.st_mode)) {
        f->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (f->fd >= 0) return SOA_OK;
        soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path, strerror(errno));
        soai_new_file_end(f);
        return SOA_E_FILE;
    }
    int old = exists && lock ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;
    const int busy = old >= 0 && flock(old, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (old >= 0) close(old);
    int no_memory = 0;
    const size_t size = strlen(f->path) + strlen(suffix) + 1;
    char *temporary = malloc(size);
    errno = 0;
    if (temporary && !busy) f->folder = open_directory_of(f->path);
    const int no_folder = temporary && !busy && f->folder < 0 ? errno : 0;
    if (temporary && !no_folder) {
        snprintf(temporary, size, "%s%s", f->path, suffix);
        if (!busy) f->fd = open(temporary, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    }
    if (busy || (f->fd >= 0 && lock && flock(f->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)) {
        soai_report(report, SOA_E_FILE, -1, 0, "%s: another process is writing it", path);
    } else if (!temporary || no_folder == ENOMEM) {
        no_memory = 1;
        soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    } else if (no_folder || f->fd < 0 || ftruncate(f->fd, 0)) {
        soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path,
                    strerror(no_folder ? no_folder : errno));
    } else {
        f->temporary = temporary;
        if (exists) (void)!fchmod(f->fd, about.st_mode & 0777); /* as the file it replaces */
        return SOA_OK;
    }
    free(temporary);
    soai_new_file_end(f);
    return no_memory ? SOA_E_MEMORY : SOA_E_FILE;
}

soa_status soai_new_file_commit(soai_new_file *f, soa_report *report) {
    int error = soai_sync(f->fd);
    if (!error && f->temporary) {
        if (rename(f->temporary, f->path)) error = errno;
        if (!error) {
            free(f->temporary), f->temporary = NULL;
            error = f->folder >= 0 ? soai_sync(f->folder) : 0;
        }
    }
    if (error) return soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", f->path, strerror(error));
    return SOA_OK;
}

void soai_new_file_end(soai_new_file *f) {
    if (f->temporary) unlink(f->temporary);
    if (f->fd >= 0) close(f->fd);
    if (f->folder >= 0) close(f->folder);
    free(f->temporary), free(f->path);
    *f = (soai_new_file){NULL, NULL, -1, -1};
}
