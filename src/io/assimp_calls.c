/* assimp_calls.c  assimp loaded at run time, where the build asks for it. */
#ifdef SOAI_ASSIMP_AT_RUN_TIME
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* before assimp_calls.h replaces the names */
#include <assimp/cimport.h>
#include <assimp/material.h>
static const char *const names[] = {"aiCreatePropertyStore",
                                    "aiSetImportPropertyInteger",
                                    "aiImportFileExWithProperties",
                                    "aiReleasePropertyStore",
                                    "aiReleaseImport",
                                    "aiGetErrorString",
                                    "aiGetMaterialString",
                                    "aiGetMaterialColor"};

#include "assimp_calls.h"

soai_assimp soai_assimp_calls;
static bool loaded;

/* The functions are fields of one struct in the order of the names. */
_Static_assert(sizeof(soai_assimp) == sizeof names, "a name for each function");

static void load(void) {
    static const char *const libraries[] = {"libassimp.so.5", "libassimp.so.6", "libassimp.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !library; i++)
        library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    char *field = (char *)&soai_assimp_calls;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(library, names[i]);
        if (!function) return;
        memcpy(field + i * sizeof function, &function, sizeof function);
    }
    loaded = true;
}

bool soai_assimp_ready(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded;
}
#else
typedef int soai_assimp_is_linked; /* a file must declare something */
#endif
