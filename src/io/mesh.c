/* mesh.c  meshes in files, read by assimp. */
#include "mesh.h"
#include "../base/base_internal.h"

#include <assimp/cfileio.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files as assimp sees them ---------------------------------------------------------------- */
/* A mesh may name other files (materials, buffers).  All of them must be regular and not too large:
 * a pipe or a device could keep us waiting, or reading, for ever. */

static size_t read_bytes(struct aiFile *file, char *to, size_t size, size_t count) {
    return fread(to, size, count, (FILE *)(void *)file->UserData);
}
static size_t write_bytes(struct aiFile *file, const char *from, size_t size, size_t count) {
    (void)file;
    (void)from;
    (void)size;
    (void)count;
    return 0; /* nothing is written here */
}
static size_t tell(struct aiFile *file) {
    const long at = ftell((FILE *)(void *)file->UserData);
    return at < 0 ? 0 : (size_t)at;
}
static enum aiReturn seek(struct aiFile *file, size_t offset, enum aiOrigin origin) {
    static const int from[] = {
        [aiOrigin_SET] = SEEK_SET, [aiOrigin_CUR] = SEEK_CUR, [aiOrigin_END] = SEEK_END};
    if ((unsigned)origin > (unsigned)aiOrigin_END) return aiReturn_FAILURE;
    return fseek((FILE *)(void *)file->UserData, (long)offset, from[origin]) ? aiReturn_FAILURE
                                                                             : aiReturn_SUCCESS;
}
static size_t size_of(struct aiFile *file) {
    struct stat about;
    return fstat(fileno((FILE *)(void *)file->UserData), &about) || about.st_size < 0
               ? 0
               : (size_t)about.st_size;
}
static void flush(struct aiFile *file) {
    (void)file;
}

/* NULL, or why the file cannot be opened; *no_memory is set if that is the reason. */
static const char *open_regular(const char *path, FILE **file, bool *no_memory) {
    /* a pipe without a writer shall not make us wait */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (fd < 0) return strerror(errno);
    const char *why = NULL;
    if (fstat(fd, &about))
        why = strerror(errno);
    else if (!S_ISREG(about.st_mode))
        why = "no regular file";
    else if (about.st_size > SOAI_MESH_MOST)
        why = "larger than 64 MiB";
    *file = why ? NULL : fdopen(fd, "rb");
    if (!why && !*file) {
        *no_memory = errno == ENOMEM;
        why = strerror(errno);
    }
    if (why) close(fd);
    return why;
}
static struct aiFile *open_file(struct aiFileIO *io, const char *path, const char *mode) {
    bool *no_memory = (bool *)(void *)io->UserData;
    FILE *stream = NULL;
    if (strchr(mode, 'w') || strchr(mode, 'a') || open_regular(path, &stream, no_memory))
        return NULL;
    struct aiFile *file = malloc(sizeof *file);
    if (!file) {
        *no_memory = true;
        fclose(stream);
        return NULL;
    }
    *file = (struct aiFile){.ReadProc = read_bytes,
                            .WriteProc = write_bytes,
                            .TellProc = tell,
                            .FileSizeProc = size_of,
                            .SeekProc = seek,
                            .FlushProc = flush,
                            .UserData = (char *)(void *)stream};
    return file;
}
static void close_file(struct aiFileIO *io, struct aiFile *file) {
    (void)io;
    if (!file) return;
    fclose((FILE *)(void *)file->UserData);
    free(file);
}

const struct aiScene *soai_mesh_open(const char *path, int triangles, soa_report *report) {
    FILE *there = NULL;
    bool no_memory = false;
    if (!soai_assimp_ready()) {
        soai_report(report, SOA_E_FILE, -1, 0,
                    "%.180s: meshes are read by assimp, which is not installed here "
                    "(Debian: apt install libassimp5)",
                    path);
        return NULL;
    }
    const char *why = open_regular(path, &there, &no_memory);
    if (why) {
        soai_report(report, no_memory ? SOA_E_MEMORY : SOA_E_FILE, -1, 0,
                    "%.180s: cannot be read: %s", path, why);
        return NULL;
    }
    fclose(there);
    struct aiFileIO files = {
        .OpenProc = open_file, .CloseProc = close_file, .UserData = (char *)(void *)&no_memory};
    struct aiPropertyStore *options = aiCreatePropertyStore();
    unsigned steps = aiProcess_PreTransformVertices; /* nodes' placements applied */
    /* z stays z */
    aiSetImportPropertyInteger(options, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
    if (triangles) {
        steps |= aiProcess_Triangulate | aiProcess_JoinIdenticalVertices | aiProcess_SortByPType |
                 aiProcess_RemoveComponent;
        aiSetImportPropertyInteger(options, AI_CONFIG_PP_SBP_REMOVE,
                                   aiPrimitiveType_POINT | aiPrimitiveType_LINE);
        aiSetImportPropertyInteger(
            options, AI_CONFIG_PP_RVC_FLAGS,
            aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                aiComponent_TEXCOORDS | aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS |
                aiComponent_TEXTURES | aiComponent_LIGHTS | aiComponent_CAMERAS);
    }
    const struct aiScene *scene = aiImportFileExWithProperties(path, steps, &files, options);
    aiReleasePropertyStore(options);
    /* assimp reports a file that cannot be opened, or does without a material file */
    if (no_memory) {
        if (scene) aiReleaseImport(scene);
        soai_report(report, SOA_E_MEMORY, -1, 0, "%.180s: no memory to read the mesh", path);
        return NULL;
    }
    if (!scene)
        soai_report(report, SOA_E_FORMAT, -1, 0, "%.120s: %.120s", path, aiGetErrorString());
    return scene;
}
