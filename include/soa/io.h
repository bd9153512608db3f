/* soa/io.h  models from files (libsoa-io): URDF, saved models, the shipped models by name; the
 *           linter; the generator.
 *
 * Calls allocate; on a fault there is nothing to release, and the report says why, with the line of
 * the file where there is one.  Status of those that read: SOA_E_FILE, SOA_E_FORMAT (not what it
 * should be), SOA_E_NAME, SOA_E_MEMORY, SOA_E_ARGUMENT, and those of soa_model_create for what the
 * file says. */
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
    const char *text; /* what was found, with the number, and what to do */
} soa_lint;
typedef void soa_lint_fn(void *user, const soa_lint *remark);

/* A URDF in memory. */
typedef struct soa_urdf_source {
    const char *text;
    size_t length;
    const char *name;      /* for messages; NULL: "(memory)" */
    const char *directory; /* where relative and package:// names start from; NULL: meshes are not
                            * looked for */
} soa_urdf_source;
/* URDF from a file or from memory, at most 64 MiB: the tree, and the constraints of <loop_joint>
 * and <constraint> (constraints NULL: the tree alone).  options NULL: all zero.  Release with
 * soa_model_free and soa_constraint_list_free. */
SOA_API soa_status soa_urdf_read(const char *path, const soa_read_options *options,
                                 const soa_model **model, soa_constraint_list *constraints,
                                 soa_report *report);
SOA_API soa_status soa_urdf_parse(const soa_urdf_source *source, const soa_read_options *options,
                                  const soa_model **model, soa_constraint_list *constraints,
                                  soa_report *report);
/* Every doubtful thing in a URDF file, in the order of its lines, to fn (NULL: only counted).
 * SOA_OK if the file could be opened and looked at: also one that is no XML or no URDF, which is an
 * error among the remarks like any other (rules "xml", "doctype", "too-large", "robot-element";
 * line 0: the file as a whole).  Another status (no such file, no memory) means that nothing was
 * looked at, and no remark is made.  Counts may be NULL; they are set in any case, without remarks
 * to 0. */
SOA_API soa_status soa_urdf_lint(const char *path, soa_lint_fn *fn, void *user, int *errors,
                                 int *warnings, soa_report *report);
/* The same from memory. */
SOA_API soa_status soa_urdf_lint_text(const soa_urdf_source *source, soa_lint_fn *fn, void *user,
                                      int *errors, int *warnings, soa_report *report);
/* True if the text begins as XML does: a byte order mark or none, white space, '<'. */
SOA_API bool soa_urdf_begins_as_xml(const char *text, size_t length);

/* How the links of a URDF look, for drawing: its <visual> elements; those of <collision> where the
 * file has no <visual>.  A mesh is STL, OBJ, DAE, PLY or GLB, one shape for each of its materials:
 * type POLYTOPE with its triangles as faces, not convex, so for drawing alone.  What cannot be
 * shown (a mesh that is missing, damaged or too large) is left out and told in a note.  Names of
 * links are found as frames of the model (soa_model_find_frame), merged links too. */
typedef struct soa_urdf_shape {
    const char *link;
    soa_frame place; /* in the link's frame */
    soa_shape shape; /* SPHERE, CAPSULE, BOX, CYLINDER, or a mesh */
    bool is_mesh;
    bool has_colour;
    double colour[4]; /* red, green, blue, how opaque: 0 to 1 */
} soa_urdf_shape;
typedef struct soa_urdf_shape_list {
    int count, note_count;
    soa_urdf_shape *shapes;
    char **notes;
} soa_urdf_shape_list;
/* Allocates.  Status: that of reading the file; the shapes themselves only give notes. */
SOA_API soa_status soa_urdf_read_shapes(const char *path, soa_urdf_shape_list *list,
                                        soa_report *report);
/* The same from memory. */
SOA_API soa_status soa_urdf_parse_shapes(const soa_urdf_source *source, soa_urdf_shape_list *list,
                                         soa_report *report);
/* what it holds, not the struct */
SOA_API void soa_urdf_shape_list_free(soa_urdf_shape_list *list);

/* What the links of a URDF touch with: its <collision> elements, in the order of the file.  A mesh
 * is found but not read (soa_hull_from_mesh).  What cannot be used stays in the list, with the
 * reason: a mesh that is missing or no regular file of a kind read here, a size that is wrong. */
typedef struct soa_urdf_collision {
    const char *link;
    const char *name;  /* of the element, "": none */
    soa_frame place;   /* in the link's frame */
    soa_shape shape;   /* SPHERE, CAPSULE, BOX or CYLINDER; not set for a mesh */
    const char *mesh;  /* its file; where that was not found, its name in the URDF; NULL: no mesh */
    double scale[3];   /* of the mesh */
    const char *fault; /* why it cannot be used; NULL: it can */
} soa_urdf_collision;
typedef struct soa_urdf_collision_list {
    int count;
    soa_urdf_collision *items;
} soa_urdf_collision_list;
/* Allocates.  Status: that of reading the file; a collision that cannot be used is no fault. */
SOA_API soa_status soa_urdf_read_collisions(const char *path, soa_urdf_collision_list *list,
                                            soa_report *report);
/* what it holds, not the struct */
SOA_API void soa_urdf_collision_list_free(soa_urdf_collision_list *list);

/* Whatever `spec` names: a shipped model, a saved model (.soam) or a URDF file, told by what they
 * begin with.  URDF may come through a pipe (/dev/stdin).  A saved model takes no options that are
 * not 0 (SOA_E_ARGUMENT); SOA_E_VERSION, SOA_E_CHECKSUM of one.  SOA_E_NAME: neither a file nor a
 * shipped model.  constraints: those that the model has, none for a saved model; NULL: not wanted.
 * Release with soa_model_free and soa_constraint_list_free. */
SOA_API soa_status soa_model_open(const char *spec, const soa_read_options *options,
                                  const soa_model **model, soa_constraint_list *constraints,
                                  soa_report *report);

/* Self-contained C for one model, into the file `path`: tables as constants plus the library's own
 * kernels; what it holds is said at its head.  prefix names the functions: letters, digits and _,
 * no digit first (SOA_E_NAME).  At most 1,000 bodies (SOA_E_ARGUMENT, as for NULL).  Replaces an
 * older file, and removes it if writing fails (SOA_E_FILE). */
SOA_API soa_status soa_model_generate_c(const soa_model *model, const char *prefix,
                                        const char *path, soa_report *report);

/* Convex hulls as shapes of soa/collision.h (radius 0), with the edges and faces that make
 * distances and patches fast.  Allocates; release with soa_hull_free (what it points to, not the
 * struct).  Points in a plane, on a line or in one place give a flat hull.  A mesh is STL, OBJ, DAE
 * or what else assimp reads, in its own axes and units after the placements it states; scale (NULL:
 * 1; none 0) makes metres of them.  Its parts become one hull.  1 to 100,000,000 points, finite and
 * below 1e150. */
SOA_API soa_status soa_hull_from_points(const double *points, int count, soa_shape *hull,
                                        soa_report *report);
SOA_API soa_status soa_hull_from_mesh(const char *path, const double scale[3], soa_shape *hull,
                                      soa_report *report);
SOA_API void soa_hull_free(soa_shape *hull);

#ifdef __cplusplus
}
#endif
#endif
