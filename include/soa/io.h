/* soa/io.h  models from files (libsoa-io): URDF, saved models, shipped models by name; the linter;
 *           the code generator.
 *
 * Functions allocate.  After a failure there is nothing to release, and the report says why, with
 * the line of the file if there is one.  Status of functions that read: SOA_E_FILE, SOA_E_FORMAT
 * (the data are not in the expected format), SOA_E_NAME, SOA_E_MEMORY, SOA_E_ARGUMENT, and those of
 * soa_model_create for the contents. */
#ifndef SOA_IO_H
#define SOA_IO_H

#include "soa/collision.h"
#include "soa/stock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One remark of the linter. */
typedef enum soa_lint_level { SOA_LINT_NOTE, SOA_LINT_WARNING, SOA_LINT_ERROR } soa_lint_level;
typedef struct soa_lint {
    soa_lint_level level;
    int line;
    const char *rule; /* short, stable name, e.g. "inertia-triangle" */
    const char *text; /* what was found, with the value, and what to do */
} soa_lint;
typedef void soa_lint_fn(void *user, const soa_lint *remark);

/* A URDF in memory. */
typedef struct soa_urdf_source {
    const char *text;
    size_t length;
    const char *name; /* for messages; NULL: "(memory)" */
    /* folder where relative and package:// names start; NULL: meshes are not opened */
    const char *directory;
} soa_urdf_source;
/* Reads a URDF from a file or from memory, at most 64 MiB: the tree, and the constraints of
 * <loop_joint> and <constraint> (constraints NULL: the tree alone).  options NULL: all false.
 * Release with soa_model_free and soa_constraint_list_free. */
SOA_API soa_status soa_urdf_read(const char *path, const soa_read_options *options,
                                 const soa_model **model, soa_constraint_list *constraints,
                                 soa_report *report);
SOA_API soa_status soa_urdf_parse(const soa_urdf_source *source, const soa_read_options *options,
                                  const soa_model **model, soa_constraint_list *constraints,
                                  soa_report *report);
/* Calls fn for every doubtful thing in a URDF file, in the order of the lines (fn NULL: only
 * counts).  SOA_OK: the file was opened and checked.  A file that is not XML or not a URDF gives
 * SOA_OK too; that is an error among the remarks like any other (rules "xml", "doctype",
 * "too-large", "robot-element"; line 0: the whole file).  Another status (no such file, no memory)
 * means that nothing was checked and no remark was made.  Counts may be NULL; they are always set,
 * to 0 if nothing was checked. */
SOA_API soa_status soa_urdf_lint(const char *path, soa_lint_fn *fn, void *user, int *errors,
                                 int *warnings, soa_report *report);
/* The same from memory. */
SOA_API soa_status soa_urdf_lint_text(const soa_urdf_source *source, soa_lint_fn *fn, void *user,
                                      int *errors, int *warnings, soa_report *report);
/* True if the text begins like XML: a byte order mark or none, white space, "<". */
SOA_API bool soa_urdf_begins_as_xml(const char *text, size_t length);

/* How the links of a URDF look, for drawing: its <visual> elements, or <collision> if the file has
 * no <visual>.  A mesh may be STL, OBJ, DAE, PLY or GLB and gives one shape for each of its
 * materials: type POLYTOPE with the triangles as faces.  It need not be convex, so it is for
 * drawing only.  What cannot be shown (a mesh that is missing, damaged or too large) is left out,
 * and a note says so.  Names of links, merged links too, are found as frames of the model
 * (soa_model_find_frame). */
typedef struct soa_urdf_shape {
    const char *link;
    soa_frame place; /* in the link's frame */
    soa_shape shape; /* SPHERE, CAPSULE, BOX, CYLINDER, or a mesh */
    bool is_mesh;
    bool has_colour;
    double colour[4]; /* red, green, blue, opacity: 0 to 1 */
} soa_urdf_shape;
typedef struct soa_urdf_shape_list {
    int count;
    int note_count;
    soa_urdf_shape *shapes;
    char **notes;
} soa_urdf_shape_list;
/* Allocates.  Status: that of reading the file; faults of shapes only give notes. */
SOA_API soa_status soa_urdf_read_shapes(const char *path, soa_urdf_shape_list *list,
                                        soa_report *report);
/* The same from memory. */
SOA_API soa_status soa_urdf_parse_shapes(const soa_urdf_source *source, soa_urdf_shape_list *list,
                                         soa_report *report);
/* Frees what the list points to, not the struct. */
SOA_API void soa_urdf_shape_list_free(soa_urdf_shape_list *list);

/* The shapes with which the links of a URDF touch: its <collision> elements, in the order of the
 * file.  A mesh is located but not read (see soa_hull_from_mesh).  A shape that cannot be used
 * stays in the list, with the reason: a mesh that is missing or not a regular file of a supported
 * kind, or a wrong size. */
typedef struct soa_urdf_collision {
    const char *link;
    const char *name; /* of the element; "": none */
    soa_frame place;  /* in the link's frame */
    soa_shape shape;  /* SPHERE, CAPSULE, BOX or CYLINDER; not set for a mesh */
    /* path of its file, or its name in the URDF if there is no such file; NULL: not a mesh */
    const char *mesh;
    double scale[3];   /* of the mesh */
    const char *fault; /* why it cannot be used; NULL: it can */
} soa_urdf_collision;
typedef struct soa_urdf_collision_list {
    int count;
    soa_urdf_collision *items;
} soa_urdf_collision_list;
/* Allocates.  Status: that of reading the file; a shape that cannot be used is not a fault. */
SOA_API soa_status soa_urdf_read_collisions(const char *path, soa_urdf_collision_list *list,
                                            soa_report *report);
/* Frees what the list points to, not the struct. */
SOA_API void soa_urdf_collision_list_free(soa_urdf_collision_list *list);

/* Opens what `spec` names: a shipped model, a saved model (.soam) or a URDF file; files are
 * recognised by how they begin.  A URDF may come through a pipe (/dev/stdin).  A saved model
 * accepts no options that are true (SOA_E_ARGUMENT), and may give SOA_E_VERSION or SOA_E_CHECKSUM.
 * SOA_E_NAME: neither a file nor a shipped model.  constraints: those of the model, none for a
 * saved model; NULL: not wanted.  Release with soa_model_free and soa_constraint_list_free. */
SOA_API soa_status soa_model_open(const char *spec, const soa_read_options *options,
                                  const soa_model **model, soa_constraint_list *constraints,
                                  soa_report *report);

/* Writes self-contained C for one model to the file `path`: tables as constants, and the kernels of
 * the library.  A comment at its beginning says what it contains.  prefix begins the names of the
 * functions: letters, digits and _, not a digit first (SOA_E_NAME).  At most 1,000 bodies
 * (SOA_E_ARGUMENT, as for NULL).  Replaces an older file, and removes it if writing fails
 * (SOA_E_FILE). */
SOA_API soa_status soa_model_generate_c(const soa_model *model, const char *prefix,
                                        const char *path, soa_report *report);

/* Convex hulls as shapes of soa/collision.h with radius 0, and with the edges and faces that make
 * distances and patches fast.  Allocates; release with soa_hull_free, which frees what the shape
 * points to, not the struct.  Points in a plane, on a line or in one place give a flat hull.  A
 * mesh may be STL, OBJ, DAE or another format that assimp reads.  It is taken in its axes and
 * units, after the placements that it contains; scale (NULL: 1; no component 0) converts to metres.
 * All parts together give one hull.  1 to 100,000,000 points, finite and below 1e150. */
SOA_API soa_status soa_hull_from_points(const double *points, int count, soa_shape *hull,
                                        soa_report *report);
SOA_API soa_status soa_hull_from_mesh(const char *path, const double scale[3], soa_shape *hull,
                                      soa_report *report);
SOA_API void soa_hull_free(soa_shape *hull);

#ifdef __cplusplus
}
#endif
#endif
