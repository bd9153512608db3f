/* out_of_memory.c  ends the program with a message when a library runs out of memory, instead of a
 * crash.
 *
 * When an allocation fails, our own code gets NULL and reports it. But SUNDIALS and HDF5 crash,
 * assimp throws through C, and libfyaml, libxml2 and fontconfig return something that looks like a
 * damaged file or an empty answer (docs/robustness.md). No caller can repair that. So the program
 * has its own malloc, calloc, realloc and aligned variants in front of libc's: if a small request
 * from a shared library fails, the program ends with status 2. Temporary files are removed. Records
 * are as after a kill, and `soa sim --resume` continues them.
 *
 * Requests of a gigabyte and more fail as usual: these are sizes read from a damaged file, which
 * libraries do check. Only for glibc, and not with sanitizers, which have their own allocator. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dl_iterate_phdr */
#include "app.h"
#include "../../src/base/new_file.h"

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than any library needs for the inputs that are accepted. */
#define SMALL ((size_t)1 << 30)
#define PUBLIC __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
/* Hidden by strict C11 without _POSIX_C_SOURCE. */
/* NOLINTNEXTLINE(readability-redundant-declaration) */
int posix_memalign(void **out, size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);

/* The allocator behind this one: libc's, or that of a preloaded library. */
static void *(*next_malloc)(size_t) = __libc_malloc;
static void *(*next_calloc)(size_t, size_t) = __libc_calloc;
static void *(*next_realloc)(void *, size_t) = __libc_realloc;
static void *(*next_aligned)(size_t, size_t) = __libc_memalign;
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
/* dlsym returns an object pointer; ISO C has no cast from it to a function pointer. */
static void take_next(const char *name, void *function) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol) memcpy(function, &symbol, sizeof symbol);
}
__attribute__((constructor)) static void begin(void) {
    dl_iterate_phdr(find_program, NULL);
    take_next("malloc", &next_malloc);
    take_next("calloc", &next_calloc);
    take_next("realloc", &next_realloc);
    take_next("aligned_alloc", &next_aligned);
}

/* Returns only if the caller can handle the failure. */
static void refused(size_t size, const void *caller) {
    const uintptr_t at = (uintptr_t)caller;
    const int ours = at >= program_begin && at < program_end;
    if (ours || size == 0 || size >= SMALL || program_end == 0) {
        errno = ENOMEM;
        return;
    }
    Dl_info who = {0};
    const char *name = dladdr(caller, &who) && who.dli_fname ? who.dli_fname : "a library";
    const char *slash = strrchr(name, '/');
    char text[256];
    const int length =
        snprintf(text, sizeof text, "soa: out of memory: %.100s needs %zu bytes more\n",
                 slash ? slash + 1 : name, size);
    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
    }
    soai_new_files_remove();
    _exit(APP_FAILED);
}
#define CALLER __builtin_return_address(0)

PUBLIC void *malloc(size_t size) {
    void *p = next_malloc(size);
    if (!p) refused(size, CALLER);
    return p;
}
PUBLIC void *calloc(size_t count, size_t size) {
    void *p = next_calloc(count, size);
    if (!p) refused(size && count > SMALL / size ? SMALL : count * size, CALLER);
    return p;
}
PUBLIC void *realloc(void *old, size_t size) {
    void *p = next_realloc(old, size);
    if (!p) refused(size, CALLER);
    return p;
}
PUBLIC void *aligned_alloc(size_t alignment, size_t size) {
    void *p = next_aligned(alignment, size);
    if (!p) refused(size, CALLER);
    return p;
}
PUBLIC void *memalign(size_t alignment, size_t size) {
    void *p = next_aligned(alignment, size);
    if (!p) refused(size, CALLER);
    return p;
}
PUBLIC int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment) return EINVAL;
    void *p = next_aligned(alignment, size);
    if (!p) {
        refused(size, CALLER);
        return ENOMEM;
    }
    *out = p;
    return 0;
}
#endif
