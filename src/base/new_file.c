/* new_file.c  writes a file under a temporary name in the same folder and renames
 * it when complete. */
#define _DEFAULT_SOURCE /* for flock */
#define _XOPEN_SOURCE 700
#include "new_file.h"

#if defined(__unix__) || defined(__APPLE__) || defined(__EMSCRIPTEN__) /* other systems lack them */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINKS_MOST = 40,      /* symbolic links followed, as on Linux */
    NAME_KEPT = 200,      /* characters of the name kept in the temporary name; 255 is the limit */
    SUFFIX = 7,           /* length of ".XXXXXX" */
    TRIES = 100,          /* temporary names tried before giving up */
    WRITE_MOST = 1 << 30, /* bytes per call; some systems accept no more */
    SLOTS = 16            /* temporary files that can be removed when a signal ends the process */
};

int soai_write_all(int fd, const void *data, size_t size) {
    const char *p = data;
    while (size) {
        const ssize_t n = write(fd, p, size < WRITE_MOST ? size : WRITE_MOST);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}
int soai_sync(int fd) {
    while (fsync(fd)) {
        if (errno == EINTR) continue;
        return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
    }
    return 0;
}

/* --- temporary files to remove on a signal ---------------------------------------------------- */
static _Atomic(char *) unfinished[SLOTS];
static void remember(char *temporary) {
    for (int i = 0; i < SLOTS; ++i) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, temporary)) return;
    }
}
static void forget(char *temporary) {
    for (int i = 0; i < SLOTS; ++i) {
        char *this = temporary;
        if (atomic_compare_exchange_strong(&unfinished[i], &this, NULL)) return;
    }
}
void soai_new_files_remove(void) {
    for (int i = 0; i < SLOTS; ++i) {
        const char *name = atomic_load(&unfinished[i]);
        if (name) unlink(name);
    }
}

/* --- names ------------------------------------------------------------------------------------ */
/* File descriptor meant by a name such as "-" or /dev/stdout, or -1. */
static int descriptor_of(const char *path) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!strcmp(path, "-")) return STDOUT_FILENO;
    for (int i = 0; i < 3; ++i)
        if (!strcmp(path, names[i])) return i;
    for (int i = 0; i < 2; ++i) {
        const size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) || path[n] < '0' || path[n] > '9') continue;
        char *end;
        const long number = strtol(path + n, &end, 10);
        if (!*end && number <= INT_MAX) return (int)number;
    }
    return -1;
}
/* Length of a path up to and including its last slash. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}
/* Target of a symbolic link, as a path relative to the current folder; NULL with errno. */
static char *target_of(const char *link_path) {
    char target[PATH_MAX];
    const ssize_t n = readlink(link_path, target, sizeof target - 1);
    if (n < 0) return NULL;
    target[n] = 0;
    const size_t folder = target[0] == '/' ? 0 : folder_length(link_path);
    char *path = malloc(folder + (size_t)n + 1);
    if (!path) return NULL;
    memcpy(path, link_path, folder);
    memcpy(path + folder, target, (size_t)n + 1);
    return path;
}
/* The path with symbolic links followed, even if no file exists at their end; NULL with errno. */
static char *follow_links(const char *path) {
    char *at = strdup(path);
    for (int links = 0; at; ++links) {
        struct stat about;
        /* Links under /proc are not paths. */
        if (descriptor_of(at) >= 0 || !strncmp(at, "/proc/", 6)) return at;
        if (lstat(at, &about) || !S_ISLNK(about.st_mode)) return at;
        char *next = links < LINKS_MOST ? target_of(at) : NULL;
        const int reason = links < LINKS_MOST ? errno : ELOOP;
        free(at);
        at = next;
        if (!at) errno = reason;
    }
    return NULL;
}
/* Opens the folder of a path. -1 with errno; errno 0 means a folder that may be written but not
 * read, so it cannot be synchronised. */
static int open_folder_of(const char *path) {
    const size_t n = folder_length(path);
    char *name = n ? strdup(path) : NULL;
    if (n && !name) return -1;
    if (name) name[n] = 0;
    const int fd = open(name ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int reason = fd < 0 && errno == EACCES ? 0 : errno;
    free(name);
    errno = reason;
    return fd;
}

/* --- opening ---------------------------------------------------------------------------------- */
/* Creates PATH.xxxxxx with random letters. mkstemp() would ignore the umask, and no thread can read
 * the umask safely. */
static int open_temporary(soai_new_file *f, mode_t mode) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static _Atomic uint64_t counter;
    const size_t folder = folder_length(f->path);
    size_t kept = strlen(f->path) - folder;
    if (kept > NAME_KEPT) kept = NAME_KEPT;
    char *name = malloc(folder + kept + SUFFIX + 1);
    if (!name) return errno;
    memcpy(name, f->path, folder + kept);
    int error = EEXIST;
    for (int tries = 0; error == EEXIST && tries < TRIES; ++tries) {
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t seed[4] = {(uint64_t)now.tv_nsec, (uint64_t)now.tv_sec, (uint64_t)getpid(),
                                  atomic_fetch_add(&counter, 1)};
        uint64_t random = soai_checksum(seed, sizeof seed);
        char *suffix = name + folder + kept;
        *suffix++ = '.';
        for (int i = 1; i < SUFFIX; ++i) {
            *suffix++ = letters[random % (sizeof letters - 1)];
            random /= sizeof letters - 1;
        }
        *suffix = 0;
        f->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        error = f->fd < 0 ? errno : 0;
    }
    if (error) {
        free(name);
        return error;
    }
    f->temporary = name;
    remember(name);
    return 0;
}
/* Gives the new file the owner and permissions of the file it replaces, as far as allowed. */
static int copy_permissions(int fd, const struct stat *old) {
    struct stat new;
    if (fstat(fd, &new)) return errno;
    mode_t mode = old->st_mode & 07777;
    if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid))
        mode &= 0777; /* drop set-user-id if the owner changes */
    if (!fchmod(fd, mode)) return 0;
    /* These errors mean that the file system has no permissions. */
    return errno == EPERM || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}
/* Locks the existing file. Returns 0 or errno; EWOULDBLOCK if another process is writing it. */
static int lock_old(soai_new_file *f) {
    f->old = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f->old < 0) return errno == ENOENT ? 0 : errno;
    return flock(f->old, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}
static int open_beside(soai_new_file *f, const struct stat *old) {
    const mode_t everyone = 0666, nobody_else = 0600;
    int error = old && faccessat(AT_FDCWD, f->path, W_OK, AT_EACCESS) ? errno : 0;
    if (!error && old && f->lock) error = lock_old(f);
    if (error) return error;
    errno = 0;
    f->folder = open_folder_of(f->path);
    if (f->folder < 0 && errno) return errno;
    error = open_temporary(f, old ? nobody_else : everyone);
    if (!error && old) error = copy_permissions(f->fd, old);
    if (!error && f->lock && flock(f->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) error = errno;
    return error;
}
/* Returns 0 or errno. */
static int open_output(soai_new_file *f, const char *path) {
    struct stat about;
    if (!path[0]) return ENOENT;
    f->path = follow_links(path);
    if (!f->path) return errno;
    const int descriptor = descriptor_of(f->path);
    if (descriptor >= 0) {
        f->fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        return f->fd < 0 ? errno : 0;
    }
    const int exists = stat(f->path, &about) == 0;
    if (!exists && errno != ENOENT) return errno;
    if (exists && S_ISDIR(about.st_mode)) return EISDIR;
    if (!exists || (S_ISREG(about.st_mode) && strncmp(f->path, "/proc/", 6)))
        return open_beside(f, exists ? &about : NULL);
    f->fd = open(f->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return f->fd < 0 ? errno : 0;
}
static soa_status explain(soai_new_file *f, const char *path, int error, soa_report *report) {
    f->error = error;
    if (error == EISDIR) return soai_report(report, SOA_E_FILE, -1, 0, "%s: is a directory", path);
    if (error == EWOULDBLOCK)
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: another process is writing it", path);
    if (error == ENOMEM) return soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    return soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path,
                       strerror(error));
}
soa_status soai_new_file_open(soai_new_file *f, const char *path, int lock, soa_report *report) {
    *f = SOAI_NO_FILE;
    f->lock = lock;
    const int error = open_output(f, path);
    if (!error) return SOA_OK;
    soai_new_file_end(f);
    return explain(f, path, error, report);
}

/* --- committing ------------------------------------------------------------------------------- */
/* Gives a locked file its name where no file existed. Never replaces a file that another process
 * created in the meantime. */
static int take_free_name(soai_new_file *f) {
    if (!link(f->temporary, f->path)) {
        unlink(f->temporary);
        return 0;
    }
    if (errno == EEXIST) return EWOULDBLOCK;
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK) return errno;
    return rename(f->temporary, f->path) ? errno : 0; /* the file system has no hard links */
}
static int take_name(soai_new_file *f) {
    struct stat old, there;
    if (!f->lock) return rename(f->temporary, f->path) ? errno : 0;
    if (stat(f->path, &there)) return errno == ENOENT ? take_free_name(f) : errno;
    if (f->old < 0) return EWOULDBLOCK; /* created in the meantime */
    if (fstat(f->old, &old)) return errno;
    if (old.st_ino != there.st_ino || old.st_dev != there.st_dev) return EWOULDBLOCK;
    return rename(f->temporary, f->path) ? errno : 0;
}
static int close_now(int *fd) {
    const int failed = close(*fd) != 0 && errno != EINTR;
    *fd = -1;
    return failed ? errno : 0;
}
soa_status soai_new_file_commit(soai_new_file *f, soa_report *report) {
    int error = soai_sync(f->fd);
    if (!error && !f->lock) error = close_now(&f->fd);
    if (!error && f->temporary) {
        error = take_name(f);
        if (!error) {
            forget(f->temporary);
            free(f->temporary);
            f->temporary = NULL;
            if (f->folder >= 0) error = soai_sync(f->folder);
        }
    }
    return error ? explain(f, f->path, error, report) : SOA_OK;
}
void soai_new_file_end(soai_new_file *f) {
    if (f->temporary) {
        unlink(f->temporary);
        forget(f->temporary);
    }
    if (f->fd >= 0) close(f->fd);
    if (f->folder >= 0) close(f->folder);
    if (f->old >= 0) close(f->old);
    free(f->temporary);
    free(f->path);
    *f = SOAI_NO_FILE;
}

soa_status soai_new_file_write(const char *path, const void *data, size_t size,
                               soa_report *report) {
    soai_new_file f;
    soa_status s = soai_new_file_open(&f, path, 0, report);
    if (s != SOA_OK) return s;
    const int error = soai_write_all(f.fd, data, size);
    s = error ? explain(&f, path, error, report) : soai_new_file_commit(&f, report);
    soai_new_file_end(&f);
    return s;
}
#else
typedef int soai_new_file_needs_posix;
#endif
