/* alloc_fault.c  library for LD_PRELOAD: makes one chosen allocation fail.
 *
 *   SOA_ALLOC_FAULT=K     allocation number K (from 1) of malloc, calloc, realloc, aligned_alloc,
 *                         memalign or posix_memalign fails with ENOMEM, also when libc or C++
 *                         call it (strdup, fopen, new). 0 or not set: none fails
 *   SOA_ALLOC_REPORT=FILE what happened, one line each:
 *                         "count N"                at the end: number of allocations
 *                         "failed OWNER STACK"     the failed allocation and its caller
 *                         "crashed SIGNAL OWNER STACK"
 *
 * OWNER is the innermost object (program or shared library) of the stack that is neither libc, the
 * C++ run time nor this library. STACK is the list of innermost addresses as OBJECT+OFFSET
 * (addr2line -e OBJECT OFFSET). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { FRAMES = 40, LINE = 4096 };
static long fault_at;
static atomic_long calls;
static char report_path[1024];
/* Allocations made by the report itself are not counted and do not fail. */
static _Thread_local int inside;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
static int is_run_time(const char *object) {
    static const char *const names[] = {"libc.so",     "ld-linux", "libstdc++", "libgcc_s",
                                        "alloc_fault", "libgomp",  "libm.so",   "linux-vdso"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!strncmp(object, names[i], strlen(names[i]))) return 1;
    return 0;
}
/* The program has its own allocator in front of this one (apps/soa/out_of_memory.c). */
static int is_allocator(const char *function) {
    static const char *const names[] = {"malloc",        "calloc",   "realloc",
                                        "aligned_alloc", "memalign", "posix_memalign"};
    for (size_t i = 0; function && i < sizeof names / sizeof *names; ++i)
        if (!strcmp(function, names[i])) return 1;
    return 0;
}
static void report(const char *line, size_t length) {
    if (!report_path[0]) return;
    const int fd = open(report_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return;
    if (write(fd, line, length) < 0) {
    }
    close(fd);
}
static void report_stack(const char *what) {
    void *frame[FRAMES];
    char line[LINE], stack[LINE];
    const char *owner = "?";
    size_t at = 0;
    const int count = backtrace(frame, FRAMES);
    stack[0] = 0;
    for (int i = 0; i < count && at + 300 < sizeof stack; ++i) {
        Dl_info info;
        if (!dladdr(frame[i], &info) || !info.dli_fname) continue;
        const char *object = base_name(info.dli_fname);
        if (!strncmp(object, "alloc_fault", 11) || is_allocator(info.dli_sname)) continue;
        if (*owner == '?' && !is_run_time(object)) owner = object;
        at += (size_t)snprintf(stack + at, sizeof stack - at, " %.200s+0x%lx", object,
                               (unsigned long)((uintptr_t)frame[i] - (uintptr_t)info.dli_fbase));
    }
    const int length = snprintf(line, sizeof line, "%s %s%.3500s\n", what, owner, stack);
    report(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}
static void crashed(int number) {
    char what[32];
    inside = 1;
    snprintf(what, sizeof what, "crashed %d", number);
    report_stack(what);
    signal(number, SIG_DFL);
    raise(number);
}
__attribute__((constructor)) static void begin(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const char *at = getenv("SOA_ALLOC_FAULT"), *path = getenv("SOA_ALLOC_REPORT");
    void *frame[2];
    inside = 1;
    /* Loads what it needs now, not in a signal handler. */
    backtrace(frame, 2);
    if (path) snprintf(report_path, sizeof report_path, "%s", path);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
        signal(faults[i], crashed);
    atomic_store(&calls, 0);
    if (at) fault_at = atol(at);
    inside = 0;
}
__attribute__((destructor)) static void end(void) {
    char line[64];
    const int length = snprintf(line, sizeof line, "count %ld\n", atomic_load(&calls));
    inside = 1;
    report(line, (size_t)length);
}
static int refused(void) {
    if (inside) return 0;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    if (number != fault_at) return 0;
    inside = 1;
    report_stack("failed");
    inside = 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) {
    return refused() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return refused() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return refused() ? NULL : __libc_realloc(old, size);
}
void *reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return refused() ? NULL : __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
    return refused() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *p = refused() ? NULL : __libc_memalign(alignment, size);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
