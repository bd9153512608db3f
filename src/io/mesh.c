/* mesh.c  meshes in files, read by assimp. */
#include "mesh.h"
#include "../base/base_internal.h"

#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <stdio.h>
#include <sys/stat.h>

const struct aiScene *soai_mesh_open(const char *path, int triangles, soa_report *report) {
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* a pipe or device may never end */
        soai_report(report, SOA_E_FILE, -1, 0, "%.180s: no regular file", path);
        return NULL;
    }
    FILE *there = fopen(path, "rb");
    if (!there) {
        soai_report(report, SOA_E_FILE, -1, 0, "%.180s: cannot be read", path);
        return NULL;
    }
    fclose(there);
    struct aiPropertyStore *options = aiCreatePropertyStore();
    unsigned steps = aiProcess_PreTransformVertices; /* nodes' placements applied */
    aiSetImportPropertyInteger(options, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1); /* z stays z */
    if (triangles) {
        steps |=
            aiProcess_Triangulate | aiProcess_JoinIdenticalVertices | aiProcess_SortByPType | aiProcess_RemoveComponent;
        aiSetImportPropertyInteger(options, AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_POINT | aiPrimitiveType_LINE);
        aiSetImportPropertyInteger(options, AI_CONFIG_PP_RVC_FLAGS,
                                   aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                       aiComponent_TEXCOORDS | aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS |
                                       aiComponent_TEXTURES | aiComponent_LIGHTS | aiComponent_CAMERAS);
    }
    const struct aiScene *scene = aiImportFileExWithProperties(path, steps, NULL, options);
    aiReleasePropertyStore(options);
    if (!scene) soai_report(report, SOA_E_FORMAT, -1, 0, "%.120s: %.120s", path, aiGetErrorString());
    return scene;
}
