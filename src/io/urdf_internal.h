/* urdf_internal.h  what the URDF reader (urdf.c) and the linter (urdf_lint.c) share.
 *
 * A document is opened into arrays of links and joints in document order.  Every fault goes through
 * soai_urdf_say(): the reader keeps the first error, the linter hears all of them and adds its own
 * rules, so that both speak with one voice.  Memory comes from libxml2's allocator, so that one
 * hook makes every allocation of a reading fail in turn. */
#ifndef SOA_URDF_INTERNAL_H
#define SOA_URDF_INTERNAL_H

#include <locale.h> /* locale_t: POSIX.1-2008, the including file asks for it */
#include <stdbool.h>
#include <stddef.h>

#include <libxml/tree.h>

#include "../base/base_internal.h"
#include "../base/nearest.h"
#include "soa/io.h"

#define SOAI_URDF_SHOWN 48 /* characters of a foreign text shown in a message */
#define SOAI_URDF_TOO_LARGE \
    "more than 64 MiB, too large for a URDF; name the file of the robot itself"

typedef struct soai_urdf_link {
    const xmlNode *node;
    const char *name;
    int line;
    int joint;       /* index of the joint that carries it, -1: none                     */
    int first, last; /* its child joints, a list through soai_urdf_joint.next; -1: none  */
    int number;      /* link number in the definition (from 1), 0: not in the tree       */
    const xmlNode *inertial;
    bool has_mass, has_inertia;
    bool faulty; /* its <inertial> was refused: nothing can be said of it */
    double mass, com[3];
    double inertia[6]; /* about the centre of mass, link axes: xx yy zz xy xz yz */
} soai_urdf_link;

typedef struct soai_urdf_joint {
    const xmlNode *node;
    const char *name;
    int line;
    const char *type;  /* as written                              */
    bool known;        /* the type is one of ours                 */
    bool continuous;   /* revolute without position limits        */
    int parent, child; /* indices of links, -1: missing or unknown */
    int next;          /* next joint of the same parent            */
    soa_frame placement;
    soa_joint_def def;
    double axis_length; /* of the axis as written */
    const char *mimic_name;
    int mimic_line;
    int follows;               /* index of the joint its mimic names, -1 */
    bool followed;             /* another joint mimics it                */
    bool faulty, faulty_limit; /* its numbers, or those of <limit>, were refused */
    int mark;                  /* 0 untouched, 1 on the path, 2 done: while mimic chains are
                                * resolved */
} soai_urdf_joint;

/* A <loop_joint> or <constraint>. */
typedef struct soai_urdf_constraint {
    const xmlNode *node;
    const char *kind, *name; /* element, name */
    int line;
    bool known;         /* the type is one of ours                              */
    bool has_axis;      /* <axis> or not, where the type has one                 */
    double axis_length; /* of the axis as written                                */
    int link[2];        /* indices of links; SOAI_URDF_WORLD, or -1: none        */
    int joint[SOA_RATIO_TERMS];
    soa_constraint_def def; /* frames and bodies are filled in when a model is built */
} soai_urdf_constraint;
#define SOAI_URDF_WORLD (-2)

typedef struct soai_urdf_name {
    const char *name;
    int index;
} soai_urdf_name;

typedef void soai_urdf_sink(void *user, soa_lint_level level, int line, const char *rule,
                            const char *text);

typedef struct soai_urdf {
    const char *file; /* name for messages */
    xmlDoc *doc;
    const xmlNode *robot;
    soai_urdf_link *links;
    soai_urdf_joint *joints;
    soai_urdf_constraint *constraints;
    int link_count, joint_count, constraint_count;
    soai_urdf_name *link_names, *joint_names; /* sorted; equal names in document order */
    int *order;                               /* links, depth first */
    int order_count;
    int root; /* index of the only root link, or -1 */

    const char *kind, *name; /* element being read, for messages: "link", "elbow" */
    soa_lint_level level;    /* of the number faults found now: error where the reader needs the
                              * number */
    soa_status status;       /* of the first error */
    int errors;              /* so far              */
    int compared;            /* names that were looked at for hints */
    soa_report report;
    soai_urdf_sink *sink; /* NULL: stop caring after the first error */
    void *user;
} soai_urdf;

/* Whole file into xmlMalloc'ed memory. */
soa_status soai_urdf_slurp(const char *path, char **text, size_t *length, soa_report *report);
/* Opens: XML, links, joints, tree. u->sink, u->user may be set before, all else zero. Close in any
 * case. Call between soai_urdf_enter and soai_urdf_leave: numbers are read and written with a
 * point, whatever the locale. */
soa_status soai_urdf_open(soai_urdf *u, const char *text, size_t length, const char *name);
void soai_urdf_close(soai_urdf *u);
/* The thread's locale is "C" in between. */
typedef struct soai_urdf_locale {
    locale_t c, before;
} soai_urdf_locale;
soa_status soai_urdf_enter(soai_urdf_locale *saved);
void soai_urdf_leave(soai_urdf_locale *saved);
/* Definition and model of an opened document without errors. */
soa_status soai_urdf_build(soai_urdf *u, const soa_read_options *options, const soa_model **model);
/* Reads <loop_joint> and <constraint>, links and joints being known; then, for a model built from
 * the document, their definitions, each of which a soa_constraints takes (list NULL: only
 * tried). */
void soai_urdf_read_constraints(soai_urdf *u);
soa_status soai_urdf_constraints(soai_urdf *u, const soa_read_options *options,
                                 const soa_model *model, soa_constraint_list *list);

/* Says that something is wrong. level SOA_LINT_ERROR refuses the document with that status. */
#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
void soai_urdf_say(soai_urdf *u, soa_lint_level level, soa_status status, int line, const char *rule,
                   const char *format, ...);
void soai_urdf_no_memory(soai_urdf *u);
/* What u->report says, without file and line. */
const char *soai_urdf_said(const soai_urdf *u);

int soai_urdf_line(const xmlNode *node);
bool soai_urdf_is(const xmlNode *node, const char *name);
/* Next child element of that name after `after` (NULL: first). */
const xmlNode *soai_urdf_child(const xmlNode *parent, const char *name, const xmlNode *after);
/* Value, "" if empty, NULL if there is none. */
const char *soai_urdf_attribute(const xmlNode *node, const char *name);
/* `count` finite numbers (infinite ones too if `infinite`); false, and out untouched, if missing or
 * wrong. */
bool soai_urdf_numbers(soai_urdf *u, const xmlNode *node, const char *name, double *out, int count,
                       bool infinite);
/* xyz and rpy (or quat_xyzw); identity if node is NULL. */
soa_frame soai_urdf_origin(soai_urdf *u, const xmlNode *node);
/* Index of the first of that name, or -1. */
int soai_urdf_find(const soai_urdf_name *names, int count, const char *name);
/* Word of the NULL-ended list nearest to `word`, or NULL if none is near. */
const char *soai_urdf_nearest(const char *word, const char *const *words);
/* "; did you mean 'x'?" for the name of a link, or of a joint that can be followed, other than
 * `except`; or `otherwise`. */
const char *soai_urdf_hint(soai_urdf *u, bool links, const char *word, const char *except,
                           const char *otherwise, char hint[SOAI_HINT]);
bool soai_urdf_one_dof(soa_joint_type type);
/* xmlMalloc of at least one element. */
void *soai_urdf_memory(size_t count, size_t size);
/* The joint type of that name; false if there is none. */
bool soai_urdf_type(const char *name, soa_joint_type *type);
/* Scales to unit length without overflow or underflow; returns the length, 0 if it is zero or
 * subnormal. */
double soai_urdf_normalize(double a[3]);
/* <soa rotor_axis>, of unit length; zero: the joint's own axis. */
void soai_urdf_rotor_axis(soai_urdf *u, const xmlNode *soa, double axis[3]);
/* First direction in the plane with normal n, where none is given. */
void soai_urdf_plane_direction(const double n[3], double axis2[3]);
/* Needed number of <node name="...">. */
bool soai_urdf_number_needed(soai_urdf *u, const xmlNode *node, const char *name, soa_status status,
                             double *out);
/* The needed attributes that are not there, quoted, into text; how many. */
int soai_urdf_missing(const xmlNode *node, const char *const *names, int count,
                      char text[SOAI_URDF_SHOWN]);
/* <node name="..."> must not be below 0, if it is there. */
void soai_urdf_not_negative(soai_urdf *u, const xmlNode *node, const char *name, soa_status status);
/* Eigenvalues of the symmetric matrix xx yy zz xy xz yz, ascending. */
void soai_urdf_moments(const double I[6], double w[3]);
/* u->name is missing. */
void soai_urdf_name_needed(soai_urdf *u, int line);
/* Sorts names for soai_urdf_find. */
void soai_urdf_sort(soai_urdf_name *names, int count);
/* Names of the joint types the reader knows, NULL-ended. */
extern const char *const soai_urdf_joint_types[];

/* Parses into a model and, if list is not NULL, its constraints. */
soa_status soai_urdf_parse(const char *text, size_t length, const char *name,
                           const soa_read_options *options, const soa_model **model,
                           soa_constraint_list *list, soa_report *report);

/* --- urdf_files.c: where meshes are ----------------------------------------------------------- */
/* A package:// name and where it was found. */
typedef struct soai_urdf_package {
    struct soai_urdf_package *next;      /* of all, the last one first */
    struct soai_urdf_package *in_bucket; /* the next of those with the same hash */
    char *name, *root;                   /* root NULL: not found */
    int line, uses;
} soai_urdf_package;
enum { SOAI_PACKAGE_BUCKETS = 4096 };
typedef struct soai_urdf_files {
    const char *directory; /* of the URDF, absolute */
    soai_urdf_package *packages;
    soai_urdf_package *bucket[SOAI_PACKAGE_BUCKETS];
    bool no_memory;
} soai_urdf_files;
typedef enum soai_mesh_found {
    SOAI_MESH_FOUND,
    SOAI_MESH_MISSING,
    SOAI_MESH_NO_FILE, /* a folder, a pipe or a device */
    SOAI_MESH_NO_PACKAGE,
    SOAI_MESH_SCHEME, /* http:// and the like: never looked for */
    SOAI_MESH_NO_MEMORY
} soai_mesh_found;
/* *path: xmlMalloc'ed, the caller's; NULL but for FOUND and MISSING. */
soai_mesh_found soai_urdf_find_mesh(soai_urdf_files *files, const char *file, int line,
                                    char **path);
void soai_urdf_files_end(soai_urdf_files *files);
char *soai_urdf_copy(const char *text, size_t length); /* xmlMalloc */

#endif
