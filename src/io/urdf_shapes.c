/* urdf_shapes.c  how the links of a URDF look: boxes, cylinders, spheres, capsules, meshes,
 *                colours.
 *
 * The document is opened as by the reader (entities off, no network, sizes bounded); then the
 * shapes are taken from it.  What is wrong with a shape leaves that shape out and is reported in a
 * note.  Bounds: SHAPES_MOST shapes, mesh files of FILE_MOST bytes that are regular files of the
 * endings named below, BYTES_MOST bytes and TRIANGLES_MOST triangles in all. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "mesh.h"
#include "urdf_internal.h"

#include <assimp/material.h>

enum { SHAPES_MOST = 20000, NOTES_MOST = 50, FILE_MOST = SOAI_MESH_MOST, TRIANGLES_MOST = 4000000 };
#define BYTES_MOST (256LL << 20) /* what assimp reads in some five seconds */

typedef struct reader {
    soai_urdf u;
    soai_urdf_files files;
    long long bytes; /* of meshes read so far */
    soa_urdf_shape_list *list;
    int room;
    long triangles;
    soai_urdf_name *materials; /* sorted */
    double (*colours)[4];
    int material_count;
    int missing; /* meshes whose files do not exist */
    char first_missing[121];
    bool no_memory;
} reader;

static void note(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(reader *r, const char *format, ...) {
    char text[320];
    va_list list;
    if (r->list->note_count >= NOTES_MOST) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *c = text; *c; ++c)
        if ((unsigned char)*c < 0x20) *c = ' ';
    char **more = realloc(r->list->notes, (size_t)(r->list->note_count + 1) * sizeof *more);
    char *copy = malloc(strlen(text) + 1);
    if (more) r->list->notes = more;
    if (!more || !copy) {
        free(copy);
        r->no_memory = true;
        return;
    }
    more[r->list->note_count++] = strcpy(copy, text);
}

/* A place for one more; NULL if there is none. */
static soa_urdf_shape *new_shape(reader *r, const soa_frame *place, const double *colour) {
    soa_urdf_shape_list *l = r->list;
    if (l->count == SHAPES_MOST) {
        note(r, "more than %d shapes: the rest is left out", SHAPES_MOST);
        return NULL;
    }
    if (l->count == r->room) {
        const int room = r->room ? 2 * r->room : 32;
        soa_urdf_shape *more = realloc(l->shapes, (size_t)room * sizeof *more);
        if (!more) {
            r->no_memory = true;
            return NULL;
        }
        l->shapes = more;
        r->room = room;
    }
    char *name = malloc(strlen(r->u.name) + 1);
    if (!name) {
        r->no_memory = true;
        return NULL;
    }
    soa_urdf_shape *s = &l->shapes[l->count++];
    *s = (soa_urdf_shape){
        .link = strcpy(name, r->u.name), .place = *place, .has_colour = colour != NULL};
    if (colour) memcpy(s->colour, colour, sizeof s->colour);
    return s;
}

/* --- colours ---------------------------------------------------------------------------------- */
static bool own_colour(reader *r, const xmlNode *material, double colour[4]) {
    double x[4];
    const xmlNode *node = soai_urdf_child(material, "color", NULL);
    if (node == NULL || !soai_urdf_numbers(&r->u, node, "rgba", x, 4, false)) return false;
    for (int k = 0; k < 4; ++k)
        colour[k] = fmin(fmax(x[k], 0), 1);
    return true;
}
static void add_material(reader *r, const xmlNode *material) {
    const char *name = material != NULL ? soai_urdf_attribute(material, "name") : NULL;
    if (name == NULL || !*name || !own_colour(r, material, r->colours[r->material_count])) return;
    r->materials[r->material_count] = (soai_urdf_name){name, r->material_count};
    ++r->material_count;
}
/* Materials with a colour, by name: those at the top of the file, then those within links; the
 * first of a name counts. */
static void read_materials(reader *r) {
    size_t count = 1;
    for (const xmlNode *m = NULL; (m = soai_urdf_child(r->u.robot, "material", m)) != NULL;)
        ++count;
    for (int i = 0; i < r->u.link_count; ++i)
        for (const xmlNode *v = NULL;
             (v = soai_urdf_child(r->u.links[i].node, "visual", v)) != NULL;)
            ++count;
    r->materials = soai_urdf_memory(count, sizeof *r->materials);
    r->colours = soai_urdf_memory(count, sizeof *r->colours);
    if (r->materials == NULL || r->colours == NULL) {
        r->no_memory = true;
        return;
    }
    for (const xmlNode *m = NULL; (m = soai_urdf_child(r->u.robot, "material", m)) != NULL;)
        add_material(r, m);
    for (int i = 0; i < r->u.link_count; ++i)
        for (const xmlNode *v = NULL;
             (v = soai_urdf_child(r->u.links[i].node, "visual", v)) != NULL;)
            add_material(r, soai_urdf_child(v, "material", NULL));
    soai_urdf_sort(r->materials, r->material_count);
}
static bool colour_of(reader *r, const xmlNode *visual, double colour[4]) {
    const xmlNode *material = soai_urdf_child(visual, "material", NULL);
    if (material == NULL) return false;
    if (own_colour(r, material, colour)) return true;
    const char *name = soai_urdf_attribute(material, "name");
    const int found = name != NULL ? soai_urdf_find(r->materials, r->material_count, name) : -1;
    if (found >= 0) memcpy(colour, r->colours[found], sizeof r->colours[found]);
    return found >= 0;
}

/* --- meshes ----------------------------------------------------------------------------------- */
static bool known_ending(const char *path) {
    static const char *const endings[] = {".stl", ".obj", ".dae", ".ply", ".glb"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; ++i)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

/* A regular file that is read here: pipes and devices have no end. */
static bool is_mesh_file(const char *path) {
    struct stat about;
    return known_ending(path) && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size <= FILE_MOST;
}

/* One mesh of the file: vertices, then face starts and corners, in one block that begins with the
 * vertices. */
static void add_mesh(reader *r, const struct aiMesh *mesh, const struct aiMaterial *material,
                     const double scale[3], const soa_frame *place, const double *colour) {
    const size_t n = mesh->mNumVertices, most = mesh->mNumFaces;
    double own[4];
    struct aiColor4D diffuse;
    if (!n || !most) return;
    if (n > INT32_MAX / 8 || most > (size_t)(TRIANGLES_MOST - r->triangles)) {
        note(r, "link '%.*s': its mesh has %zu triangles, more than can be shown; it is left out",
             SOAI_URDF_SHOWN, r->u.name, most);
        return;
    }
    struct aiString name = {0}; /* STL has no materials: assimp's own grey is none of the file's */
    const bool made_up = material != NULL &&
                         aiGetMaterialString(material, AI_MATKEY_NAME, &name) == AI_SUCCESS &&
                         strcmp(name.data, AI_DEFAULT_MATERIAL_NAME) == 0;
    if (!colour && material != NULL && !made_up &&
        aiGetMaterialColor(material, AI_MATKEY_COLOR_DIFFUSE, &diffuse) == AI_SUCCESS) {
        const float x[4] = {diffuse.r, diffuse.g, diffuse.b, diffuse.a};
        colour = own;
        for (int k = 0; k < 4; ++k)
            own[k] = isfinite((double)x[k]) ? fmin(fmax((double)x[k], 0), 1) : 0.5;
        if (!(own[3] > 0)) own[3] = 1; /* some files mean the other way round */
    }
    char *block = malloc(3 * n * sizeof(double) + (4 * most + 1) * sizeof(int));
    if (block == NULL) {
        r->no_memory = true;
        return;
    }
    double *x = (double *)(void *)block;
    int *start = (int *)(void *)(block + 3 * n * sizeof(double)), *corner = start + most + 1,
        faces = 0;
    for (size_t i = 0; i < n; ++i) {
        const struct aiVector3D *v = &mesh->mVertices[i];
        x[3 * i] = scale[0] * (double)v->x;
        x[3 * i + 1] = scale[1] * (double)v->y;
        x[3 * i + 2] = scale[2] * (double)v->z;
    }
    start[0] = 0;
    for (size_t f = 0; f < most; ++f) {
        const struct aiFace *face = &mesh->mFaces[f];
        bool good = face->mNumIndices == 3;
        for (unsigned k = 0; good && k < 3; ++k) {
            const unsigned i = face->mIndices[k];
            good = i < n && isfinite(x[3 * i]) && isfinite(x[3 * i + 1]) && isfinite(x[3 * i + 2]);
        }
        if (!good) continue;
        /* corners stay counter-clockwise from outside */
        const bool mirrored = scale[0] * scale[1] * scale[2] < 0;
        for (int k = 0; k < 3; ++k)
            corner[3 * faces + k] = (int)face->mIndices[mirrored ? 2 - k : k];
        ++faces;
        start[faces] = 3 * faces;
    }
    for (size_t i = 0; i < 3 * n; ++i) /* those that no face uses */
        if (!isfinite(x[i])) x[i] = 0;
    soa_urdf_shape *s = faces ? new_shape(r, place, colour) : NULL;
    if (s == NULL) {
        free(block);
        return;
    }
    s->is_mesh = true;
    s->shape = (soa_shape){.type = SOA_SHAPE_POLYTOPE,
                           .vertex_count = (int)n,
                           .vertices = x,
                           .face_count = faces,
                           .face_start = start,
                           .faces = corner};
    r->triangles += faces;
}

static void read_mesh(reader *r, const xmlNode *node, const soa_frame *place,
                      const double *colour) {
    const char *file = soai_urdf_attribute(node, "filename");
    double scale[3] = {1, 1, 1};
    if (file == NULL || !*file) {
        note(r, "link '%.*s': a mesh names no file", SOAI_URDF_SHOWN, r->u.name);
        return;
    }
    if (r->files.directory == NULL) return;
    soai_urdf_numbers(&r->u, node, "scale", scale, 3, false);
    char *path = NULL;
    switch (soai_urdf_find_mesh(&r->files, file, soai_urdf_line(node), &path)) {
    case SOAI_MESH_FOUND: break;
    case SOAI_MESH_NO_MEMORY: r->no_memory = true; return;
    case SOAI_MESH_NO_PACKAGE: return; /* told once for each package */
    case SOAI_MESH_SCHEME:
        note(r, "link '%.*s': mesh '%.120s' is not looked for", SOAI_URDF_SHOWN, r->u.name, file);
        return;
    case SOAI_MESH_NO_FILE:
        note(r, "link '%.*s': mesh '%.120s' is a folder, a pipe or a device, not a file",
             SOAI_URDF_SHOWN, r->u.name, file);
        xmlFree(path);
        return;
    case SOAI_MESH_MISSING:
        if (r->missing++ == 0) snprintf(r->first_missing, sizeof r->first_missing, "%s", file);
        xmlFree(path);
        return;
    }
    const struct aiScene *scene = NULL;
    soa_report why = {.body = -1};
    struct stat about;
    if (r->bytes > BYTES_MOST) { /* said when it happened */
        xmlFree(path);
        return;
    }
    if (!is_mesh_file(path) || stat(path, &about) != 0)
        note(r,
             "link '%.*s': mesh '%.120s' is no file of up to %d MiB that is read here (STL, OBJ, "
             "DAE, PLY, GLB)",
             SOAI_URDF_SHOWN, r->u.name, file, FILE_MOST >> 20);
    else if ((r->bytes += about.st_size) > BYTES_MOST)
        note(r, "meshes of more than %lld MiB in all: the rest is left out", BYTES_MOST >> 20);
    else if ((scene = soai_mesh_open(path, 1, &why)) == NULL && why.status == SOA_E_MEMORY)
        r->no_memory = true;
    else if (scene == NULL)
        note(r, "link '%.*s': mesh %.200s", SOAI_URDF_SHOWN, r->u.name, why.text);
    for (unsigned m = 0; scene != NULL && m < scene->mNumMeshes && !r->no_memory; ++m) {
        const struct aiMesh *mesh = scene->mMeshes[m];
        add_mesh(r, mesh,
                 mesh->mMaterialIndex < scene->mNumMaterials
                     ? scene->mMaterials[mesh->mMaterialIndex]
                     : NULL,
                 scale, place, colour);
    }
    if (scene != NULL) aiReleaseImport(scene);
    xmlFree(path);
}

/* --- shapes ----------------------------------------------------------------------------------- */
static bool size_of(reader *r, const xmlNode *node, const char *name, double *out, int count) {
    bool good = soai_urdf_numbers(&r->u, node, name, out, count, false);
    for (int k = 0; good && k < count; ++k)
        good = out[k] >= 0;
    if (!good)
        note(r, "link '%.*s': <%s> has no usable %s", SOAI_URDF_SHOWN, r->u.name,
             (const char *)node->name, name);
    return good;
}

/* A box, sphere, cylinder or capsule; SOA_SHAPE_TYPE_COUNT, and a note: none of them. */
static soa_shape read_primitive(reader *r, const xmlNode *geometry) {
    const xmlNode *node;
    double x[3], length;
    soa_shape shape = {.type = SOA_SHAPE_TYPE_COUNT};
    if ((node = soai_urdf_child(geometry, "box", NULL)) != NULL) {
        if (size_of(r, node, "size", x, 3))
            shape =
                (soa_shape){.type = SOA_SHAPE_BOX, .half = {0.5 * x[0], 0.5 * x[1], 0.5 * x[2]}};
    } else if ((node = soai_urdf_child(geometry, "sphere", NULL)) != NULL) {
        if (size_of(r, node, "radius", x, 1))
            shape = (soa_shape){.type = SOA_SHAPE_SPHERE, .radius = x[0]};
    } else if ((node = soai_urdf_child(geometry, "cylinder", NULL)) != NULL) {
        if (size_of(r, node, "radius", x, 1) && size_of(r, node, "length", &length, 1))
            shape = (soa_shape){.type = SOA_SHAPE_CYLINDER, .half = {x[0], 0, 0.5 * length}};
    } else if ((node = soai_urdf_child(geometry, "capsule", NULL)) != NULL) {
        if (size_of(r, node, "radius", x, 1) && size_of(r, node, "length", &length, 1))
            shape = (soa_shape){
                .type = SOA_SHAPE_CAPSULE, .half = {0, 0, 0.5 * length}, .radius = x[0]};
    } else
        note(r, "link '%.*s': a shape is none of box, cylinder, sphere, capsule, mesh",
             SOAI_URDF_SHOWN, r->u.name);
    return shape;
}

static void read_shape(reader *r, const xmlNode *visual) {
    const xmlNode *geometry = soai_urdf_child(visual, "geometry", NULL), *node;
    const soa_frame place = soai_urdf_origin(&r->u, soai_urdf_child(visual, "origin", NULL));
    double colour[4];
    const bool coloured = colour_of(r, visual, colour);
    if (geometry == NULL) return;
    if ((node = soai_urdf_child(geometry, "mesh", NULL)) != NULL) {
        read_mesh(r, node, &place, coloured ? colour : NULL);
        return;
    }
    const soa_shape shape = read_primitive(r, geometry);
    soa_urdf_shape *s;
    if (shape.type == SOA_SHAPE_TYPE_COUNT) {
        s = NULL;
    } else {
        s = new_shape(r, &place, coloured ? colour : NULL);
    }
    if (s != NULL) s->shape = shape;
}

/* Meshes that are not there, in one line for each cause. */
static void tell_missing(reader *r) {
    static const char drawn[] = "links without any other shape are drawn as rods";
    for (const soai_urdf_package *p = r->files.packages; p != NULL; p = p->next)
        if (p->root == NULL)
            note(r,
                 "%d mesh%s of package '%.*s' %s not found: it is no folder, nor named by a "
                 "package.xml, beside the "
                 "file or above; %s",
                 p->uses, p->uses == 1 ? "" : "es", SOAI_URDF_SHOWN, p->name,
                 p->uses == 1 ? "is" : "are", drawn);
    if (r->missing == 1)
        note(r, "mesh '%s' does not exist; %s", r->first_missing, drawn);
    else if (r->missing > 1)
        note(r, "%d meshes do not exist, the first is '%s'; %s", r->missing, r->first_missing,
             drawn);
}

static void read_shapes(reader *r) {
    const char *element = "collision";
    for (int i = 0; i < r->u.link_count; ++i)
        if (soai_urdf_child(r->u.links[i].node, "visual", NULL) != NULL) element = "visual";
    r->u.level = SOA_LINT_NOTE;
    r->u.sink = NULL; /* wrong numbers leave a shape out */
    r->u.kind = "material";
    r->u.name = "";
    read_materials(r);
    for (int i = 0; i < r->u.link_count; ++i) {
        r->u.kind = "link";
        r->u.name = r->u.links[i].name;
        for (const xmlNode *v = NULL;
             (v = soai_urdf_child(r->u.links[i].node, element, v)) != NULL;)
            if (!r->no_memory && r->list->count < SHAPES_MOST) read_shape(r, v);
    }
    if (!r->no_memory) tell_missing(r);
}

soa_status soa_urdf_parse_shapes(const soa_urdf_source *source, soa_urdf_shape_list *list,
                                 soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (!source) return soai_report_end(report, SOA_E_ARGUMENT);
    const char *text = source->text;
    size_t length = source->length;
    const char *name = source->name;
    const char *directory = source->directory;
    if (list == NULL || (text == NULL && length > 0)) {
        *report = (soa_report){.status = SOA_E_ARGUMENT,
                               .body = -1,
                               .text = "soa_urdf_read_shapes: no text or no list"};
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    *list = (soa_urdf_shape_list){0};
    soai_urdf_locale saved;
    if (soai_urdf_enter(&saved) != SOA_OK) {
        *report =
            (soa_report){.status = SOA_E_MEMORY, .body = -1, .text = "no memory left for a locale"};
        return soai_report_end(report, SOA_E_MEMORY);
    }
    reader r = {.files.directory = directory, .list = list};
    soa_status status = soai_urdf_open(&r.u, text, length, name != NULL ? name : "urdf");
    *report = r.u.report;
    if (status == SOA_OK) {
        *report = (soa_report){.status = SOA_OK, .body = -1};
        read_shapes(&r);
        if (r.no_memory || r.files.no_memory) {
            status = SOA_E_MEMORY;
            *report =
                (soa_report){.status = status, .body = -1, .text = "no memory left for the shapes"};
        }
    }
    if (r.materials != NULL) xmlFree(r.materials);
    if (r.colours != NULL) xmlFree(r.colours);
    soai_urdf_close(&r.u);
    soai_urdf_leave(&saved);
    soai_urdf_files_end(&r.files);
    if (status != SOA_OK) soa_urdf_shape_list_free(list);
    return soai_report_end(report, status);
}

soa_status soa_urdf_read_shapes(const char *path, soa_urdf_shape_list *list, soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (path == NULL || list == NULL) {
        *report = (soa_report){.status = SOA_E_ARGUMENT,
                               .body = -1,
                               .text = "soa_urdf_read_shapes: no path or no list"};
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    *list = (soa_urdf_shape_list){0};
    char *text = NULL;
    size_t length = 0;
    soa_status status = soai_urdf_slurp(path, &text, &length, report);
    if (status != SOA_OK) return soai_report_end(report, status);
    char *directory = realpath(path, NULL),
         *slash = directory != NULL ? strrchr(directory, '/') : NULL;
    if (slash != NULL) *slash = 0;
    status =
        soa_urdf_parse_shapes(&(soa_urdf_source){.text = text,
                                                 .length = length,
                                                 .name = path,
                                                 .directory = slash != NULL ? directory : NULL},
                              list, report);
    free(directory);
    xmlFree(text);
    return soai_report_end(report, status);
}

void soa_urdf_shape_list_free(soa_urdf_shape_list *list) {
    if (list == NULL) return;
    for (int i = 0; i < list->count; ++i) {
        free((void *)(uintptr_t)list->shapes[i].link);
        if (list->shapes[i].is_mesh) free((void *)(uintptr_t)list->shapes[i].shape.vertices);
    }
    for (int i = 0; i < list->note_count; ++i)
        free(list->notes[i]);
    free(list->shapes);
    free(list->notes);
    *list = (soa_urdf_shape_list){0};
}

/* --- collisions ------------------------------------------------------------------------------- */
static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL) strcpy(copy, text);
    return copy;
}

/* The last note of the reader becomes the reason why a collision cannot be used. */
static void take_fault(reader *r, soa_urdf_collision *c) {
    soa_urdf_shape_list *notes = r->list;
    if (notes->note_count == 0) {
        r->no_memory = true;
        return;
    }
    c->fault = notes->notes[--notes->note_count];
    while (notes->note_count > 0)
        free(notes->notes[--notes->note_count]);
}

static void find_collision_mesh(reader *r, const xmlNode *node, soa_urdf_collision *c) {
    const char *file = soai_urdf_attribute(node, "filename");
    char *path = NULL;
    c->mesh = copy_text(file != NULL ? file : "");
    if (c->mesh == NULL) {
        r->no_memory = true;
        return;
    }
    soai_urdf_numbers(&r->u, node, "scale", c->scale, 3, false);
    if (file == NULL || *file == 0) {
        note(r, "it names no file");
        take_fault(r, c);
        return;
    }
    if (!(c->scale[0] != 0 && c->scale[1] != 0 && c->scale[2] != 0)) {
        note(r, "its scale is zero");
        take_fault(r, c);
        return;
    }
    const soai_mesh_found found = soai_urdf_find_mesh(&r->files, file, soai_urdf_line(node), &path);
    if (found == SOAI_MESH_NO_MEMORY)
        r->no_memory = true;
    else if (found == SOAI_MESH_NO_PACKAGE)
        note(r, "its package is not found beside the file or above");
    else if (found == SOAI_MESH_SCHEME)
        note(r, "its address is not looked for");
    else if (found == SOAI_MESH_MISSING)
        note(r, "the file does not exist");
    else if (found == SOAI_MESH_NO_FILE)
        note(r, "it is no regular file but a folder, a pipe or a device");
    else if (!is_mesh_file(path))
        note(r, "it is no regular file of up to %d MiB that is read here (STL, OBJ, DAE, PLY, GLB)",
             FILE_MOST >> 20);
    if (found == SOAI_MESH_FOUND && r->list->note_count == 0) {
        free((void *)(uintptr_t)c->mesh);
        c->mesh = copy_text(path);
        if (c->mesh == NULL) r->no_memory = true;
    } else if (!r->no_memory)
        take_fault(r, c);
    if (path != NULL) xmlFree(path);
}

static void read_collision(reader *r, const xmlNode *node, soa_urdf_collision *c) {
    const xmlNode *geometry = soai_urdf_child(node, "geometry", NULL);
    const char *name = soai_urdf_attribute(node, "name");
    *c = (soa_urdf_collision){.link = copy_text(r->u.name),
                              .name = copy_text(name != NULL ? name : ""),
                              .place =
                                  soai_urdf_origin(&r->u, soai_urdf_child(node, "origin", NULL)),
                              .shape.type = SOA_SHAPE_TYPE_COUNT,
                              .scale = {1, 1, 1}};
    if (c->link == NULL || c->name == NULL) {
        r->no_memory = true;
        return;
    }
    const xmlNode *mesh = geometry != NULL ? soai_urdf_child(geometry, "mesh", NULL) : NULL;
    if (mesh != NULL) {
        find_collision_mesh(r, mesh, c);
        return;
    }
    if (geometry != NULL)
        c->shape = read_primitive(r, geometry);
    else
        note(r, "link '%.*s': a collision has no geometry", SOAI_URDF_SHOWN, r->u.name);
    if (c->shape.type == SOA_SHAPE_TYPE_COUNT && !r->no_memory) take_fault(r, c);
}

static void read_collisions(reader *r, soa_urdf_collision_list *list) {
    size_t count = 0;
    for (int i = 0; i < r->u.link_count; ++i)
        for (const xmlNode *v = NULL;
             (v = soai_urdf_child(r->u.links[i].node, "collision", v)) != NULL;)
            ++count;
    list->items = calloc(count + 1, sizeof *list->items);
    if (list->items == NULL) {
        r->no_memory = true;
        return;
    }
    r->u.level = SOA_LINT_NOTE;
    r->u.sink = NULL;
    r->u.kind = "link";
    for (int i = 0; i < r->u.link_count; ++i) {
        r->u.name = r->u.links[i].name;
        for (const xmlNode *v = NULL;
             (v = soai_urdf_child(r->u.links[i].node, "collision", v)) != NULL;) {
            if (r->no_memory) return;
            read_collision(r, v, &list->items[list->count++]);
        }
    }
}

soa_status soa_urdf_read_collisions(const char *path, soa_urdf_collision_list *list,
                                    soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (path == NULL || list == NULL) {
        *report = (soa_report){.status = SOA_E_ARGUMENT,
                               .body = -1,
                               .text = "soa_urdf_read_collisions: no path or no list"};
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    *list = (soa_urdf_collision_list){0};
    char *text = NULL;
    size_t length = 0;
    soai_urdf_locale saved;
    soa_status status = soai_urdf_slurp(path, &text, &length, report);
    if (status != SOA_OK) return soai_report_end(report, status);
    char *directory = realpath(path, NULL);
    char *slash = directory != NULL ? strrchr(directory, '/') : NULL;
    if (slash != NULL) *slash = 0;
    soa_urdf_shape_list notes = {0};
    reader r = {.files.directory = slash != NULL ? directory : ".", .list = &notes};
    status = soai_urdf_enter(&saved);
    if (status == SOA_OK) {
        status = soai_urdf_open(&r.u, text, length, path);
        *report = r.u.report;
        if (status == SOA_OK) read_collisions(&r, list);
        soai_urdf_close(&r.u);
        soai_urdf_leave(&saved);
    }
    if (r.no_memory || r.files.no_memory) status = SOA_E_MEMORY;
    if (status == SOA_E_MEMORY)
        *report = (soa_report){
            .status = status, .body = -1, .text = "no memory left for the collision shapes"};
    soai_urdf_files_end(&r.files);
    soa_urdf_shape_list_free(&notes);
    free(directory);
    xmlFree(text);
    if (status != SOA_OK) soa_urdf_collision_list_free(list);
    return soai_report_end(report, status);
}

void soa_urdf_collision_list_free(soa_urdf_collision_list *list) {
    if (list == NULL) return;
    for (int i = 0; i < list->count; ++i) {
        const soa_urdf_collision *c = &list->items[i];
        free((void *)(uintptr_t)c->link);
        free((void *)(uintptr_t)c->name);
        free((void *)(uintptr_t)c->mesh);
        free((void *)(uintptr_t)c->fault);
    }
    free(list->items);
    *list = (soa_urdf_collision_list){0};
}
