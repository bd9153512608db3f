/* io_fault.c  library for LD_PRELOAD: makes one chosen call fail that writes, opens, closes,
 * synchronises or renames.
 *
 *   SOA_IO_FAULT=K:MODE   call number K (from 1) fails. MODE: EIO or ENOSPC, the call fails once;
 *                         FULL, every write from call K on fails with ENOSPC; SHORT, a write takes
 *                         half of its bytes. K = 0: no call fails
 *   SOA_IO_COUNT=FILE     at the end the names of all calls are written there, one per line
 *
 * Only calls of the program itself count (its own code and static libraries), not those of shared
 * libraries: these open fonts and other files a varying number of times. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MOST = 1 << 16 };
static long fault_at;
static char fault_mode[16];
static atomic_long calls;
static const char *names[NAMES_MOST];
static uintptr_t program_begin, program_end;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        program_begin = info->dlpi_addr + p->p_vaddr;
        program_end = program_begin + p->p_memsz;
    }
    return 1; /* the first object is the program */
}
__attribute__((constructor)) static void begin(void) {
    const char *what = getenv("SOA_IO_FAULT");
    if (what) sscanf(what, "%ld:%15s", &fault_at, fault_mode);
    dl_iterate_phdr(find_program, NULL);
}
__attribute__((destructor)) static void end(void) {
    const char *path = getenv("SOA_IO_COUNT");
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    FILE *file = path ? real(path, "w") : NULL;
    const long count = atomic_load(&calls);
    for (long i = 0; file && i < count && i < NAMES_MOST; ++i)
        fprintf(file, "%s\n", names[i]);
    if (file) fclose(file);
}

/* Counts a call. Returns 0, or the errno with which it must fail. is_write: a write to a file;
 * *part: it must take half of its bytes. */
static int fault(const char *name, const void *caller, int is_write, int *part) {
    const uintptr_t from = (uintptr_t)caller;
    if (from < program_begin || from >= program_end) return 0;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    if (number <= NAMES_MOST) names[number - 1] = name;
    if (!fault_at || number < fault_at) return 0;
    if (!strcmp(fault_mode, "FULL")) return is_write ? ENOSPC : 0;
    if (number != fault_at) return 0;
    if (!strcmp(fault_mode, "SHORT")) {
        if (part) *part = is_write;
        return 0;
    }
    return strcmp(fault_mode, "EIO") ? ENOSPC : EIO;
}
#define CALLER __builtin_return_address(0)
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(name, is_write, part, result)                        \
    do {                                                             \
        const int error_ = fault(#name, CALLER, (is_write), (part)); \
        if (error_) {                                                \
            errno = error_;                                          \
            return (result);                                         \
        }                                                            \
    } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    int part = 0;
    FAIL_IF(write, fd > STDERR_FILENO || strcmp(fault_mode, "FULL"), &part, -1);
    return REAL(write)(fd, data, part && size > 1 ? size / 2 : size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    int part = 0;
    FAIL_IF(pwrite, 1, &part, -1);
    return REAL(pwrite)(fd, data, part && size > 1 ? size / 2 : size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    int part = 0;
    FAIL_IF(pwrite64, 1, &part, -1);
    return REAL(pwrite64)(fd, data, part && size > 1 ? size / 2 : size, at);
}
int ftruncate(int fd, off_t size) {
    FAIL_IF(ftruncate, 1, NULL, -1);
    return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    FAIL_IF(ftruncate64, 1, NULL, -1);
    return REAL(ftruncate64)(fd, size);
}
int fsync(int fd) {
    FAIL_IF(fsync, 0, NULL, -1);
    return REAL(fsync)(fd);
}
int fdatasync(int fd) {
    FAIL_IF(fdatasync, 0, NULL, -1);
    return REAL(fdatasync)(fd);
}
int rename(const char *from, const char *to) {
    FAIL_IF(rename, 0, NULL, -1);
    return REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
    FAIL_IF(link, 0, NULL, -1);
    return REAL(link)(from, to);
}
int fchmod(int fd, mode_t mode) {
    FAIL_IF(fchmod, 0, NULL, -1);
    return REAL(fchmod)(fd, mode);
}
int close(int fd) {
    const int error = fault("close", CALLER, 0, NULL);
    const int result = REAL(close)(fd);
    if (!error) return result;
    errno = error;
    return -1; /* closed nevertheless, as in Linux */
}
FILE *fopen(const char *path, const char *mode) {
    FAIL_IF(fopen, 0, NULL, NULL);
    return REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    FAIL_IF(fopen64, 0, NULL, NULL);
    return REAL(fopen64)(path, mode);
}
#define OPEN(name)                               \
    int name(const char *path, int flags, ...) { \
        mode_t mode = 0;                         \
        if (flags & (O_CREAT | O_TMPFILE)) {     \
            va_list list;                        \
            va_start(list, flags);               \
            mode = va_arg(list, mode_t);         \
            va_end(list);                        \
        }                                        \
        FAIL_IF(name, 0, NULL, -1);              \
        return REAL(name)(path, flags, mode);    \
    }
OPEN(open)
OPEN(open64)
