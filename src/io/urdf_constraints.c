/* urdf_constraints.c  what closes loops in a URDF file: an extension, elements beside <link> and
 *                     <joint>.
 *
 *   <loop_joint name="pin" type="revolute">             the types of <joint>
 *     <link1 link="coupler" xyz="0.4 0 0" rpy="0 0 0"/>   where the joint's frame is on each link
 *                                                         (also quat_xyzw);
 *     <link2 link="rocker" xyz="0.3 0 0"/>                link="world" is the world, unless a link
 *                                                         has that name
 *     <axis xyz="0 1 0"/>                               in the frame on link1; default 1 0 0, as
 *                                                       for <joint>
 *     <dynamics damping="0.1" friction="0"/>  <soa axis2="x y z" pitch="m/rad"/>, spring and rotor
 *     too
 *   </loop_joint>
 *   <constraint name="bar" type="distance" value="m">   <link1/> <link2/>  the two places keep that
 *                                                       distance
 *   <constraint name="mesh" type="gear" value="0">      <term joint="a" coefficient="2"/> ...  sum
 *                                                       coefficient q = value
 *   <constraint name="ball" type="rolling" value="m">   <link1/> <link2/>  a ball of that radius
 *                                                       about the place on link2 rolls on the plane
 *                                                       z = 0 of the place on link1
 *   <constraint name="table" type="plane" value="m">    <link1/> <link2/>  the place on link2 stays
 *                                                       in the plane z = value of the place on
 *                                                       link1
 *   <constraint name="skate" type="velocity" axes="link1|link2">  <link1/> <link2/>
 *     <row angular="x y z" linear="x y z"/> ...         these sums of the relative velocity's
 *                                                       numbers are zero
 * Names are 31 letters at most, and the constraints' own. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "urdf_internal.h"

#define SHOWN SOAI_URDF_SHOWN
#define FAULT(status, line, rule, ...) \
    soai_urdf_say(u, SOA_LINT_ERROR, status, line, rule, __VA_ARGS__)

static const char *const constraint_types[] = {"distance", "gear", "rolling", "velocity",
                                               "plane",    "disc", NULL};
static const soa_constraint_kind kinds[] = {SOA_DISTANCE, SOA_RATIO, SOA_ROLLING,
                                            SOA_VELOCITY, SOA_PLANE, SOA_DISC};
_Static_assert(sizeof kinds / sizeof *kinds == SOA_CONSTRAINT_KIND_COUNT - 1,
               "every kind but the loop, which is <loop_joint>");

/* The link that <link1> or <link2> names, and the place on it. */
static void read_end(soai_urdf *u, soai_urdf_constraint *c, int which) {
    const char *element = which ? "link2" : "link1";
    const xmlNode *node = soai_urdf_child(c->node, element, NULL);
    const char *name = soai_urdf_attribute(node, "link");
    if (name == NULL || name[0] == 0) {
        FAULT(SOA_E_NAME, node != NULL ? soai_urdf_line(node) : c->line, "missing-end",
              "%s '%.*s' names no %s; add <%s link=\"...\"/>", c->kind, SHOWN, c->name, element,
              element);
        return;
    }
    c->link[which] = soai_urdf_find(u->link_names, u->link_count, name);
    if (c->link[which] < 0 && strcmp(name, "world") == 0) c->link[which] = SOAI_URDF_WORLD;
    if (c->link[which] == -1) {
        char hint[SOAI_HINT];
        const char *other =
            soai_urdf_attribute(soai_urdf_child(c->node, which ? "link1" : "link2", NULL), "link");
        FAULT(SOA_E_NAME, soai_urdf_line(node), "unknown-link",
              "%s '%.*s': %s '%.*s' does not exist%s", c->kind, SHOWN, c->name, element, SHOWN,
              name,
              soai_urdf_hint(u, true, name, other, "; add the link or correct the name", hint));
    }
    *(which ? &c->def.place2 : &c->def.place1) = soai_urdf_origin(u, node);
}

/* A direction in <node name="x y z">; false if it is missing or wrong. */
static bool read_direction(soai_urdf *u, const soai_urdf_constraint *c, const xmlNode *node,
                           const char *name, double out[3], double *length) {
    double axis[3];
    if (!soai_urdf_numbers(u, node, name, axis, 3, false)) return false;
    *length = soai_urdf_normalize(axis);
    if (*length > 0) {
        memcpy(out, axis, sizeof axis);
        return true;
    }
    FAULT(SOA_E_JOINT, soai_urdf_line(node), "axis-zero",
          "%s '%.*s': <%s %s=\"%.*s\"> has no direction; write one, e.g. \"0 0 1\"", c->kind, SHOWN,
          c->name, (const char *)node->name, name, SHOWN, soai_urdf_attribute(node, name));
    return false;
}

static void read_loop(soai_urdf *u, soai_urdf_constraint *c, const char *type) {
    soa_constraint_def *def = &c->def;
    const xmlNode *axis = soai_urdf_child(c->node, "axis", NULL),
                  *soa = soai_urdf_child(c->node, "soa", NULL),
                  *dynamics = soai_urdf_child(c->node, "dynamics", NULL);
    double length;
    def->kind = SOA_LOOP;
    c->known = soai_urdf_type(type, &def->joint);
    if (!c->known && type[0] == 0)
        FAULT(SOA_E_JOINT, c->line, "joint-type",
              "loop_joint '%.*s': its type is unknown, none is written; write type=\"revolute\" or "
              "another",
              SHOWN, c->name);
    else if (!c->known) {
        const char *nearest = soai_urdf_nearest(type, soai_urdf_joint_types);
        FAULT(SOA_E_JOINT, c->line, "joint-type",
              "loop_joint '%.*s': type '%.*s' is unknown; %s%s%s", SHOWN, c->name, SHOWN, type,
              nearest != NULL ? "did you mean '" : "use one of those of <joint>",
              nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    const bool turns =
        def->joint == SOA_FIXED || def->joint == SOA_SPHERICAL || def->joint == SOA_FREE;
    def->axis[0] = 1;
    def->axis[2] = 0; /* URDF's default */
    c->has_axis = axis != NULL || turns || !c->known;
    c->axis_length = 1;
    read_direction(u, c, axis, "xyz", def->axis, &c->axis_length);
    if (def->joint == SOA_PLANAR) soai_urdf_plane_direction(def->axis, def->axis2);
    if (c->known && def->joint == SOA_UNIVERSAL && soai_urdf_attribute(soa, "axis2") == NULL)
        FAULT(
            SOA_E_JOINT, soa != NULL ? soai_urdf_line(soa) : c->line, "soa-missing",
            "loop_joint '%.*s': a universal joint needs a second axis; add <soa axis2=\"x y z\"/>",
            SHOWN, c->name);
    if (c->known && def->joint == SOA_HELICAL && soai_urdf_attribute(soa, "pitch") == NULL)
        FAULT(SOA_E_JOINT, soa != NULL ? soai_urdf_line(soa) : c->line, "soa-missing",
              "loop_joint '%.*s': a helical joint needs a pitch; add <soa pitch=\"metres per "
              "radian\"/>",
              SHOWN, c->name);
    read_direction(u, c, soa, "axis2", def->axis2, &length);
    soai_urdf_numbers(u, soa, "pitch", &def->pitch, 1, false);
    soai_urdf_numbers(u, soa, "stiffness", &def->stiffness, 1, false);
    soai_urdf_numbers(u, soa, "rest", &def->rest, 1, false);
    soai_urdf_numbers(u, soa, "rotor_inertia", &def->rotor_inertia, 1, false);
    soai_urdf_numbers(u, soa, "gear_ratio", &def->gear_ratio, 1, false);
    soai_urdf_rotor_axis(u, soa, def->rotor_axis);
    const char *model = soai_urdf_attribute(soa, "rotor_model");
    if (model != NULL && strcmp(model, "exact") == 0)
        def->rotor_model = SOA_ROTOR_EXACT;
    else if (model != NULL && strcmp(model, "reflected") != 0)
        FAULT(SOA_E_JOINT, soai_urdf_line(soa), "soa-rotor-model",
              "loop_joint '%.*s': <soa rotor_model=\"%.*s\">: write \"reflected\" or \"exact\"",
              SHOWN, c->name, SHOWN, model);
    soai_urdf_numbers(u, dynamics, "damping", &def->damping, 1, false);
    soai_urdf_numbers(u, dynamics, "friction", &def->friction, 1, false);
    /* with the status of soa_constraints_add */
    soai_urdf_not_negative(u, dynamics, "damping", SOA_E_NOT_FINITE);
    soai_urdf_not_negative(u, dynamics, "friction", SOA_E_NOT_FINITE);
    soai_urdf_not_negative(u, soa, "rotor_inertia", SOA_E_NOT_FINITE);
}

static void read_terms(soai_urdf *u, soai_urdf_constraint *c) {
    int count = 0;
    for (const xmlNode *n = NULL; (n = soai_urdf_child(c->node, "term", n)) != NULL; ++count) {
        const char *name = soai_urdf_attribute(n, "joint");
        int line = soai_urdf_line(n),
            joint = name != NULL ? soai_urdf_find(u->joint_names, u->joint_count, name) : -1;
        if (count >= SOA_RATIO_TERMS) {
            FAULT(SOA_E_ARGUMENT, line, "gear-terms",
                  "constraint '%.*s': more than %d terms; take one away", SHOWN, c->name,
                  SOA_RATIO_TERMS);
            return;
        }
        double *coefficient = &c->def.coefficient[count];
        c->joint[count] = joint;
        char hint[SOAI_HINT];
        if (name == NULL || name[0] == 0)
            FAULT(SOA_E_NAME, line, "unknown-joint",
                  "constraint '%.*s': <term> names no joint; write joint=\"...\"", SHOWN, c->name);
        else if (joint < 0)
            FAULT(SOA_E_NAME, line, "unknown-joint",
                  "constraint '%.*s': <term joint=\"%.*s\">: there is no such joint%s", SHOWN,
                  c->name, SHOWN, name,
                  soai_urdf_hint(u, false, name, NULL, "; correct the name", hint));
        else if (u->joints[joint].known && !soai_urdf_one_dof(u->joints[joint].def.type))
            FAULT(SOA_E_JOINT, line, "gear-joint",
                  "constraint '%.*s': joint '%.*s' is %s; gears need revolute, continuous, "
                  "prismatic or helical ones",
                  SHOWN, c->name, SHOWN, name, u->joints[joint].type);
        soai_urdf_number_needed(u, n, "coefficient", SOA_E_ARGUMENT, coefficient);
    }
    if (count == 0)
        FAULT(SOA_E_ARGUMENT, c->line, "gear-terms",
              "constraint '%.*s' is a gear without joints; add <term joint=\"...\" "
              "coefficient=\"number\"/>",
              SHOWN, c->name);
}

static void read_rows(soai_urdf *u, soai_urdf_constraint *c) {
    soa_constraint_def *def = &c->def;
    const char *axes = soai_urdf_attribute(c->node, "axes");
    def->rows_in_frame2 = axes != NULL && strcmp(axes, "link2") == 0;
    if (axes != NULL && strcmp(axes, "link1") != 0 && strcmp(axes, "link2") != 0)
        FAULT(SOA_E_ARGUMENT, c->line, "constraint-axes",
              "constraint '%.*s': axes=\"%.*s\"; write \"link1\" or \"link2\"", SHOWN, c->name,
              SHOWN, axes);
    for (const xmlNode *n = NULL; (n = soai_urdf_child(c->node, "row", n)) != NULL;
         ++def->row_count) {
        if (def->row_count == 6) {
            FAULT(SOA_E_ARGUMENT, soai_urdf_line(n), "velocity-rows",
                  "constraint '%.*s': more than 6 rows; take one away", SHOWN, c->name);
            return;
        }
        double *row = def->rows[def->row_count];
        soai_urdf_numbers(u, n, "angular", row, 3, false);
        soai_urdf_numbers(u, n, "linear", row + 3, 3, false);
        bool any = false;
        for (int i = 0; i < 6; ++i)
            any |= row[i] != 0;
        if (!any)
            FAULT(SOA_E_ARGUMENT, soai_urdf_line(n), "velocity-rows",
                  "constraint '%.*s': a <row> is all zero; write angular or linear=\"x y z\"",
                  SHOWN, c->name);
    }
    if (def->row_count == 0)
        FAULT(SOA_E_ARGUMENT, c->line, "velocity-rows",
              "constraint '%.*s' has no <row>; add <row angular=\"x y z\" linear=\"x y z\"/>",
              SHOWN, c->name);
}

static void read_other(soai_urdf *u, soai_urdf_constraint *c, const char *type) {
    int i = 0;
    c->has_axis = true;
    c->axis_length = 1;
    while (constraint_types[i] != NULL && strcmp(type, constraint_types[i]) != 0)
        ++i;
    if (constraint_types[i] == NULL) {
        const char *nearest = soai_urdf_nearest(type, constraint_types);
        const char *known =
            "distance, gear, rolling, velocity, plane or disc, or use a <loop_joint>";
        if (type[0] == 0)
            FAULT(SOA_E_JOINT, c->line, "constraint-type",
                  "constraint '%.*s' has no type; write %s", SHOWN, c->name, known);
        else if (nearest != NULL)
            FAULT(SOA_E_JOINT, c->line, "constraint-type",
                  "constraint '%.*s': type '%.*s' is unknown; did you mean '%s'?", SHOWN, c->name,
                  SHOWN, type, nearest);
        else
            FAULT(SOA_E_JOINT, c->line, "constraint-type",
                  "constraint '%.*s': type '%.*s' is unknown; write %s", SHOWN, c->name, SHOWN,
                  type, known);
        return;
    }
    c->known = true;
    c->def.kind = kinds[i];
    if (c->def.kind == SOA_DISTANCE || c->def.kind == SOA_ROLLING || c->def.kind == SOA_DISC) {
        if (soai_urdf_number_needed(u, c->node, "value", SOA_E_ARGUMENT, &c->def.value) &&
            !(c->def.value > 0))
            FAULT(SOA_E_ARGUMENT, c->line, "constraint-value",
                  "constraint '%.*s': value %g m; a %s must be above 0%s", SHOWN, c->name,
                  c->def.value, c->def.kind == SOA_DISTANCE ? "distance" : "radius",
                  c->def.kind == SOA_DISTANCE ? " (a spherical <loop_joint> joins points)" : "");
    } else {
        soai_urdf_numbers(u, c->node, "value", &c->def.value, 1, false);
    }
    if (c->def.kind == SOA_RATIO) read_terms(u, c);
    if (c->def.kind == SOA_VELOCITY) read_rows(u, c);
}

static void read_one(soai_urdf *u, const xmlNode *node, bool loop) {
    soai_urdf_constraint *c = &u->constraints[u->constraint_count++];
    const char *name = soai_urdf_attribute(node, "name"), *type = soai_urdf_attribute(node, "type");
    *c = (soai_urdf_constraint){
        .node = node, .kind = loop ? "loop_joint" : "constraint", .name = name ? name : ""};
    c->line = soai_urdf_line(node);
    c->link[0] = c->link[1] = -1;
    for (int i = 0; i < SOA_RATIO_TERMS; ++i)
        c->joint[i] = -1;
    c->def = soa_constraint_default(SOA_LOOP, 0, 0);
    u->kind = c->kind;
    u->name = c->name;
    soai_urdf_name_needed(u, c->line);
    if (strlen(c->name) > 31)
        FAULT(SOA_E_NAME, c->line, "long-name",
              "%s name '%.*s' has %zu letters, is longer than 31; shorten it", c->kind, SHOWN,
              c->name, strlen(c->name));
    if (loop)
        read_loop(u, c, type != NULL ? type : "");
    else
        read_other(u, c, type != NULL ? type : "");
    if (!loop && !c->known) return; /* which ends it has is not known */
    for (int i = 0; i < 2 && c->def.kind != SOA_RATIO; ++i)
        read_end(u, c, i);
}

void soai_urdf_read_constraints(soai_urdf *u) {
    for (const xmlNode *n = u->robot->children; n != NULL; n = n->next) {
        const bool loop = soai_urdf_is(n, "loop_joint");
        if (loop || soai_urdf_is(n, "constraint")) read_one(u, n, loop);
    }
    soai_urdf_name *names = soai_urdf_memory((size_t)u->constraint_count, sizeof *names);
    if (names == NULL) {
        soai_urdf_no_memory(u);
        return;
    }
    for (int i = 0; i < u->constraint_count; ++i)
        names[i] = (soai_urdf_name){u->constraints[i].name, i};
    soai_urdf_sort(names, u->constraint_count);
    for (int i = 1; i < u->constraint_count; ++i)
        if (names[i].name[0] != 0 && strcmp(names[i - 1].name, names[i].name) == 0)
            FAULT(SOA_E_NAME, u->constraints[names[i].index].line, "duplicate-name",
                  "constraint name '%.*s' is used twice, before on line %d; give one of them "
                  "another name",
                  SHOWN, names[i].name, u->constraints[names[i - 1].index].line);
    xmlFree(names);
}

/* --- for a model ------------------------------------------------------------------------------ */

static void resolve(const soai_urdf *u, const soa_read_options *options, const soa_model *model,
                    const soai_urdf_constraint *c, soa_constraint_def *def) {
    *def = c->def;
    def->name = c->name;
    /* link i of the definition is frame i of the model */
    if (c->link[0] >= 0) def->frame1 = u->links[c->link[0]].number;
    if (c->link[1] >= 0) def->frame2 = u->links[c->link[1]].number;
    for (int i = 0; i < SOA_RATIO_TERMS; ++i)
        if (c->joint[i] >= 0)
            def->coordinate[i] = soa_model_find_joint(model, u->joints[c->joint[i]].name);
    if (options != NULL && options->ideal)
        def->damping = def->friction = def->stiffness = def->rotor_inertia = 0;
}

soa_status soai_urdf_constraints(soai_urdf *u, const soa_read_options *options,
                                 const soa_model *model, soa_constraint_list *list) {
    const soa_constraint_capacity one = {1, 6, 0};
    soa_constraints *trial = NULL;
    size_t text = 0, count = (size_t)u->constraint_count;
    for (int i = 0; i < u->constraint_count; ++i)
        text += strlen(u->constraints[i].name) + 1;
    soa_constraint_def *defs = NULL;
    /* names behind the definitions: one block, malloc'ed, since it is the caller's */
    if (list != NULL) {
        *list = (soa_constraint_list){0, NULL};
        if (count > 0) defs = malloc(count * sizeof *defs + text);
    }
    if ((list != NULL && count > 0 && defs == NULL) ||
        soa_constraints_create(model, &one, &trial) != SOA_OK) {
        free(defs);
        soai_urdf_no_memory(u);
        return u->status;
    }
    char *names = defs ? (char *)(defs + count) : NULL;
    for (int i = 0; i < u->constraint_count; ++i) {
        const soai_urdf_constraint *c = &u->constraints[i];
        soa_constraint_def def;
        soa_report report = {SOA_OK, -1, 0, ""};
        int number = 0;
        resolve(u, options, model, c, &def);
        soa_status status = soa_constraints_add(trial, &def, &number, &report);
        const bool links = c->link[0] >= 0 && c->link[1] >= 0;
        if (status != SOA_OK && links)
            FAULT(status, c->line, "constraint", "%s %s (links '%.*s' and '%.*s')", c->kind,
                  report.text, SHOWN, u->links[c->link[0]].name, SHOWN, u->links[c->link[1]].name);
        else if (status != SOA_OK)
            FAULT(status, c->line, "constraint", "%s %s", c->kind, report.text);
        else
            soa_constraints_remove(trial, number);
        if (defs == NULL) continue;
        size_t length = strlen(c->name) + 1;
        memcpy(names, c->name, length);
        def.name = names;
        names += length;
        defs[i] = def;
    }
    soa_constraints_free(trial);
    if (u->status != SOA_OK)
        free(defs);
    else if (list != NULL)
        *list = (soa_constraint_list){u->constraint_count, defs};
    return u->status;
}

void soa_constraint_list_free(soa_constraint_list *list) {
    if (list == NULL) return;
    free(list->defs);
    *list = (soa_constraint_list){0, NULL};
}

soa_status soa_constraints_from_list(const soa_constraint_list *list, const soa_model *model,
                                     bool dense, soa_constraints **constraints,
                                     soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    *report =
        (soa_report){SOA_E_ARGUMENT, -1, 0, "no list, no model, or no place for the constraints"};
    if (list == NULL || model == NULL || constraints == NULL)
        return soai_report_end(report, SOA_E_ARGUMENT);
    soa_constraint_capacity room = {list->count, 0, dense};
    for (int i = 0; i < list->count; ++i) {
        const int rows = soa_constraint_def_row_count(&list->defs[i]);
        if (rows > 0 && rows <= 6)
            room.rows += rows; /* what is wrong is reported when it is added */
    }
    soa_constraints *made = NULL;
    soa_status status = soa_constraints_create(model, &room, &made);
    if (status != SOA_OK)
        *report = (soa_report){status, -1, 0, "there is no room for that many constraints"};
    else
        *report = (soa_report){SOA_OK, -1, 0, ""};
    for (int i = 0; i < list->count && status == SOA_OK; ++i)
        status = soa_constraints_add(made, &list->defs[i], NULL, report);
    if (status != SOA_OK)
        soa_constraints_free(made);
    else
        *constraints = made;
    return soai_report_end(report, status);
}
