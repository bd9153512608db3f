/* urdf_files.c  where a URDF's meshes are: package://, file://, absolute and relative names. */
#include "urdf_internal.h"
#include "../base/base_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *soai_urdf_copy(const char *text, size_t length) {
    char *to = xmlMalloc(length + 1);
    if (to != NULL) {
        memcpy(to, text, length);
        to[length] = 0;
    }
    return to;
}

/* A folder, or a regular file: reading a pipe or a device named in a file could go on for ever. */
static bool exists(const char *path, bool directory) {
    struct stat info;
    return stat(path, &info) == 0 && (directory ? S_ISDIR(info.st_mode) : S_ISREG(info.st_mode));
}

/* directory/name, or directory alone; NULL without memory. */
static char *join(const char *directory, size_t directory_length, const char *name,
                  size_t name_length) {
    char *path = xmlMalloc(directory_length + name_length + 2);
    if (path == NULL) return NULL;
    memcpy(path, directory, directory_length);
    path[directory_length] = '/';
    memcpy(path + directory_length + 1, name, name_length);
    path[directory_length + 1 + name_length] = 0;
    return path;
}

/* Does this package.xml say <name>NAME</name>? */
static bool manifest_names(const char *path, const char *name) {
    char *text = NULL;
    size_t length = 0;
    soa_report ignored;
    bool same = false;
    if (!exists(path, false) || soai_urdf_slurp(path, &text, &length, &ignored) != SOA_OK)
        return false;
    if (length > 0) {
        text[length - 1] = 0; /* a manifest ends in '>' or white space */
        const char *at = strstr(text, "<name>");
        if (at != NULL) {
            at += 6 + strspn(at + 6, " \t\r\n");
            size_t n = strlen(name);
            same = strncmp(at, name, n) == 0 && strchr("< \t\r\n", at[n]) != NULL && at[n] != 0;
        }
    }
    xmlFree(text);
    return same;
}

/* The package at this place: a folder in it of that name, or itself by its package.xml. */
static char *package_at(soai_urdf_files *f, const char *place, size_t length, const char *name) {
    char *folder = join(place, length, name, strlen(name)),
         *manifest = join(place, length, "package.xml", 11);
    char *root = NULL;
    bool enough = folder != NULL && manifest != NULL;
    if (enough && exists(folder, true)) {
        root = folder;
        folder = NULL;
    } else if (enough && manifest_names(manifest, name)) {
        root = soai_urdf_copy(place, length);
        enough = root != NULL;
    }
    if (!enough) f->no_memory = true;
    if (folder != NULL) xmlFree(folder);
    if (manifest != NULL) xmlFree(manifest);
    return root;
}

/* In the folders of an environment variable, below `within` where that is not empty. */
static char *package_listed(soai_urdf_files *f, const char *variable, const char *within,
                            const char *name) {
    char *root = NULL;
    for (const char *at = getenv(variable);
         at != NULL && *at != 0 && root == NULL && !f->no_memory;) {
        size_t length = strcspn(at, ":");
        char *place = length > 0 ? join(at, length, within, strlen(within)) : NULL;
        if (length > 0 && place == NULL) f->no_memory = true;
        if (place != NULL) {
            root = package_at(f, place, strlen(place), name);
            xmlFree(place);
        }
        at += length + (at[length] == ':');
    }
    return root;
}

/* Walks up from the file; then where ROS looks (ROS 1: the folders themselves; ROS 2: their
 * share/). */
static char *find_package(soai_urdf_files *f, const char *name) {
    for (size_t length = strlen(f->directory);; --length) {
        while (length > 0 && f->directory[length] != '/' && f->directory[length] != 0)
            --length;
        char *root = package_at(f, f->directory, length, name);
        if (root != NULL || f->no_memory) return root;
        if (length == 0) break;
    }
    char *root = package_listed(f, "ROS_PACKAGE_PATH", ".", name);
    return root != NULL || f->no_memory ? root
                                        : package_listed(f, "AMENT_PREFIX_PATH", "share", name);
}

static soai_urdf_package *package_of(soai_urdf_files *f, const char *name, size_t length,
                                     int line) {
    soai_urdf_package **bucket = &f->bucket[soai_checksum(name, length) % SOAI_PACKAGE_BUCKETS],
                      *p = *bucket;
    while (p != NULL && (strncmp(p->name, name, length) != 0 || p->name[length] != 0))
        p = p->in_bucket;
    if (p != NULL) {
        ++p->uses;
        return p;
    }
    p = xmlMalloc(sizeof *p);
    char *kept = p != NULL ? soai_urdf_copy(name, length) : NULL;
    if (kept == NULL) {
        if (p != NULL) xmlFree(p);
        f->no_memory = true;
        return NULL;
    }
    *p = (soai_urdf_package){.next = f->packages,
                             .in_bucket = *bucket,
                             .name = kept,
                             .root = find_package(f, kept),
                             .line = line,
                             .uses = 1};
    f->packages = p;
    *bucket = p;
    return p;
}

/* The path of a mesh, as a name in the file gives it. */
soai_mesh_found soai_urdf_find_mesh(soai_urdf_files *f, const char *file, int line, char **path) {
    const char *folder = f->directory;
    *path = NULL;
    if (strncmp(file, "package://", 10) == 0) {
        file += 10;
        soai_urdf_package *p = package_of(f, file, strcspn(file, "/"), line);
        if (f->no_memory) return SOAI_MESH_NO_MEMORY;
        if (p->root == NULL) return SOAI_MESH_NO_PACKAGE;
        folder = p->root;
        file += strcspn(file, "/");
        file += strspn(file, "/");
    } else if (strncmp(file, "file://", 7) == 0) {
        folder = "";
        file += 7 + strspn(file + 7, "/");
    } else if (file[0] == '/') {
        folder = "";
        file += strspn(file, "/");
    } else if (strstr(file, "://") != NULL) {
        return SOAI_MESH_SCHEME;
    }
    *path = join(folder, strlen(folder), file, strlen(file));
    if (*path == NULL) return SOAI_MESH_NO_MEMORY;
    if (exists(*path, false)) return SOAI_MESH_FOUND;
    struct stat info;
    return stat(*path, &info) == 0 ? SOAI_MESH_NO_FILE : SOAI_MESH_MISSING;
}

void soai_urdf_files_end(soai_urdf_files *f) {
    for (soai_urdf_package *p = f->packages, *next; p != NULL; p = next) {
        next = p->next;
        if (p->root != NULL) xmlFree(p->root);
        xmlFree(p->name);
        xmlFree(p);
    }
    f->packages = NULL;
    memset(f->bucket, 0, sizeof f->bucket);
}
