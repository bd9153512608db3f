/* assimp_calls.h  assimp's functions: linked, or found at run time where the build asks for it
 * (SOAI_ASSIMP_AT_RUN_TIME: the Python package, which must load without assimp). */
#ifndef SOAI_ASSIMP_CALLS_H
#define SOAI_ASSIMP_CALLS_H
#include <assimp/cimport.h>
#include <assimp/material.h>
#include <stdbool.h>

#define SOAI_ASSIMP_LIST(X)         \
    X(aiCreatePropertyStore)        \
    X(aiSetImportPropertyInteger)   \
    X(aiImportFileExWithProperties) \
    X(aiReleasePropertyStore)       \
    X(aiReleaseImport)              \
    X(aiGetErrorString)             \
    X(aiGetMaterialString)          \
    X(aiGetMaterialColor)

#ifdef SOAI_ASSIMP_AT_RUN_TIME
typedef struct soai_assimp {
#define SOAI_ASSIMP_FIELD(name) __typeof__(&name) name;
    SOAI_ASSIMP_LIST(SOAI_ASSIMP_FIELD)
#undef SOAI_ASSIMP_FIELD
} soai_assimp;
extern soai_assimp soai_assimp_calls;
/* Loads the library at the first call; false where it is not installed. */
bool soai_assimp_ready(void);

#define aiCreatePropertyStore soai_assimp_calls.aiCreatePropertyStore
#define aiSetImportPropertyInteger soai_assimp_calls.aiSetImportPropertyInteger
#define aiImportFileExWithProperties soai_assimp_calls.aiImportFileExWithProperties
#define aiReleasePropertyStore soai_assimp_calls.aiReleasePropertyStore
#define aiReleaseImport soai_assimp_calls.aiReleaseImport
#define aiGetErrorString soai_assimp_calls.aiGetErrorString
#define aiGetMaterialString soai_assimp_calls.aiGetMaterialString
#define aiGetMaterialColor soai_assimp_calls.aiGetMaterialColor
#else
static inline bool soai_assimp_ready(void) {
    return true;
}
#endif
#endif
