/* mesh.h  meshes in files, read by assimp. */
#ifndef SOAI_MESH_H
#define SOAI_MESH_H
#include "assimp_calls.h"
#include "soa/base.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>

#define SOAI_MESH_MOST (64 << 20) /* bytes of a mesh, or of a file that it names */

/* The scene in a file, the nodes' placements applied, z up as it is written; release with
 * aiReleaseImport.  triangles: faces of three corners alone, vertices at one place joined, nothing
 * but places kept.  NULL: the report says why. */
const struct aiScene *soai_mesh_open(const char *path, int triangles, soa_report *report);
#endif
