/* urdf_lint.c  every doubtful thing in a URDF file.
 *
 * The reader's own errors come first (same rules, same words: urdf.c); then words nobody reads,
 * physics, joints, files; at last the builder is asked.  Remarks are collected, sorted by line and
 * handed over.  Levels: an error keeps the robot from loading or moving, or cannot be meant; a
 * warning is probably a mistake; a note is worth knowing.
 *
 * Inertia of a body of mass m with principal moments I1 <= I2 <= I3, about its centre of mass:
 *   positive    I1 >= 0
 *   triangle    I3 <= I1 + I2                                  (any distribution of positive mass
 *               obeys it)
 *   ellipsoid   a_k^2 = 5 / (2 m) (I1 + I2 + I3 - 2 I_k)       (solid, homogeneous, with the same m
 *               and I)
 *   density     m / (4/3 pi a1 a2 a3) */
#define _XOPEN_SOURCE 700 /* POSIX.1-2008 and realpath */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "urdf_internal.h"
#include "../base/small_algebra.h"

#define SHOWN 48

#define DENSITY_AIR 1.2       /* kg/m^3 */
#define DENSITY_OSMIUM 22590. /* the densest there is on Earth */
#define TRIANGLE_SLACK 1e-4   /* of I3: files carry five digits or so */
#define FAR_ORIGIN 20.        /* m from link to link */
/* coordinates and rows of a closed machine that is looked at as a whole: 18 MB a matrix */
#define DENSE_MOST 1500

/* --- remarks ---------------------------------------------------------------------------------- */

typedef struct remark {
    soa_lint_level level;
    int line, order;
    const char *rule;
    char *text;
} remark;

typedef struct lint {
    soai_urdf u;
    soai_urdf_files files;
    remark *remarks;
    int count, room;
    bool no_memory;
    bool tip; /* a joint was said to move no inertia */
    struct unread {
        const char *element, *attribute;
        int remark, count;
    } unread[32]; /* attributes told once: whose remark, how often they stand */
    int unread_count;
} lint;

static void collect(void *user, soa_lint_level level, int line, const char *rule,
                    const char *text) {
    lint *l = user;
    if (l->count == l->room) {
        int room = l->room > 0 ? 2 * l->room : 64;
        remark *more = xmlRealloc(l->remarks, (size_t)room * sizeof *more);
        if (more == NULL) {
            l->no_memory = true;
            return;
        }
        l->remarks = more;
        l->room = room;
    }
    char *kept = soai_urdf_copy(text, strlen(text));
    if (kept == NULL) {
        l->no_memory = true;
        return;
    }
    l->remarks[l->count] = (remark){level, line, l->count, rule, kept};
    ++l->count;
}

static int compare_remarks(const void *a, const void *b) {
    const remark *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* What the linter finds beyond the reader: the status is for errors only, and unused once the
 * document was read. */
#define NOTE(line, rule, ...) soai_urdf_say(&l->u, SOA_LINT_NOTE, SOA_OK, line, rule, __VA_ARGS__)
#define WARN(line, rule, ...) \
    soai_urdf_say(&l->u, SOA_LINT_WARNING, SOA_OK, line, rule, __VA_ARGS__)
#define FAULT(status, line, rule, ...) \
    soai_urdf_say(&l->u, SOA_LINT_ERROR, status, line, rule, __VA_ARGS__)

/* --- words ------------------------------------------------------------------------------------ */

/* What URDF knows: for each element its children and attributes, blank-separated. */
typedef struct word {
    const char *element, *children, *attributes;
} word;
static const word words[] = {
    {"robot", "link joint material transmission gazebo sensor loop_joint constraint",
     "name version"},
    {"link", "inertial visual collision contact self_collision_checking collision_checking",
     "name type"},
    {"inertial", "origin mass inertia", ""},
    {"mass", "", "value"},
    {"inertia", "", "ixx iyy izz ixy ixz iyz"},
    {"origin", "", "xyz rpy quat_xyzw"},
    {"visual", "origin geometry material", "name"},
    {"collision", "origin geometry verbose material contact_coefficients", "name"},
    {"geometry", "box cylinder sphere mesh capsule convex plane", "name"},
    {"box", "verbose", "size"},
    {"cylinder", "verbose", "radius length"},
    {"capsule", "verbose", "radius length"},
    {"sphere", "verbose", "radius"},
    {"mesh", "", "filename scale"},
    {"joint", "origin parent child axis calibration dynamics limit mimic safety_controller soa",
     "name type"},
    {"loop_joint", "link1 link2 axis dynamics soa", "name type"},
    {"constraint", "link1 link2 term row", "name type value axes"},
    {"link1", "", "link xyz rpy quat_xyzw"},
    {"link2", "", "link xyz rpy quat_xyzw"},
    {"term", "", "joint coefficient"},
    {"row", "", "angular linear"},
    {"parent", "", "link"},
    {"child", "", "link"},
    {"axis", "", "xyz"},
    {"calibration", "", "rising falling reference_position"},
    {"dynamics", "", "damping friction"},
    {"limit", "", "lower upper velocity effort acceleration deceleration jerk"},
    {"mimic", "", "joint multiplier offset"},
    {"safety_controller", "", "soft_lower_limit soft_upper_limit k_position k_velocity"},
    {"soa", "",
     "axis2 pitch rotor_inertia gear_ratio rotor_model rotor_axis stiffness rest friction_positive "
     "friction_negative"},
};
enum { WORDS = sizeof words / sizeof *words, MOST = 16 };

/* Splits a blank-separated list into a NULL-ended one. */
typedef struct word_list {
    char text[160];
    const char *word[MOST + 1];
    int count;
} word_list;

static void split(word_list *list, const char *text) {
    snprintf(list->text, sizeof list->text, "%s", text);
    list->count = 0;
    for (char *s = list->text; *s && list->count < MOST;) {
        list->word[list->count++] = s;
        s += strcspn(s, " ");
        if (*s) *s++ = 0;
    }
    list->word[list->count] = NULL;
}

static int index_of(const word_list *list, const char *name) {
    for (int i = 0; i < list->count; ++i)
        if (strcmp(list->word[i], name) == 0) return i;
    return -1;
}

static const word *word_of(const char *name) {
    for (int i = 0; i < WORDS; ++i)
        if (strcmp(words[i].element, name) == 0) return &words[i];
    return NULL;
}

/* Has this attribute of this element been told of?  Then it is counted. */
static bool told_before(lint *l, const char *element, const char *attribute) {
    for (int i = 0; i < l->unread_count; ++i)
        if (strcmp(l->unread[i].element, element) == 0 &&
            strcmp(l->unread[i].attribute, attribute) == 0)
            return ++l->unread[i].count > 1;
    if (l->unread_count < (int)(sizeof l->unread / sizeof *l->unread))
        l->unread[l->unread_count++] = (struct unread){element, attribute, l->count, 1};
    return false;
}
static void tell_how_often(lint *l) {
    for (int i = 0; i < l->unread_count; ++i) {
        const struct unread *told = &l->unread[i];
        if (told->count < 2 || told->remark >= l->count) continue;
        remark *r = &l->remarks[told->remark];
        char more[48];
        size_t length = strlen(r->text);
        int n = snprintf(more, sizeof more, " (and in %d more place%s)", told->count - 1,
                         told->count > 2 ? "s" : "");
        char *longer = xmlRealloc(r->text, length + (size_t)n + 1);
        if (longer == NULL) {
            l->no_memory = true;
            return;
        }
        memcpy(longer + length, more, (size_t)n + 1);
        r->text = longer;
    }
}

static void check_attributes(lint *l, const xmlNode *node, const word *known) {
    word_list list;
    split(&list, known->attributes);
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next) {
        const char *name = (const char *)a->name;
        if (a->ns != NULL || strchr(name, ':') != NULL || index_of(&list, name) >= 0) continue;
        const char *nearest = soai_urdf_nearest(name, list.word);
        int line = soai_urdf_line(node);
        if (nearest != NULL)
            WARN(line, "unknown-attribute",
                 "%s '%.*s', <%s>: attribute '%.*s' is not read; did you mean '%s'?", l->u.kind,
                 SHOWN, l->u.name, (const char *)node->name, SHOWN, name, nearest);
        else if (!told_before(l, (const char *)node->name, name))
            NOTE(line, "unknown-attribute", "%s '%.*s', <%s>: attribute '%.*s' is not read; %s%s",
                 l->u.kind, SHOWN, l->u.name, (const char *)node->name, SHOWN, name,
                 list.count > 0 ? "known there: " : "the element takes none", known->attributes);
    }
}

/* Elements that may stand more than once. */
static bool repeatable(const char *name) {
    static const char *const many =
        " link joint material transmission gazebo sensor visual collision verbose "
        "loop_joint constraint term row ";
    char padded[40];
    snprintf(padded, sizeof padded, " %s ", name);
    return strstr(many, padded) != NULL;
}

/* Names and attributes of the element and all below it; what has its own vocabulary (gazebo,
 * transmission ...) is left alone.  URDF's own elements nest four deep, so the recursion ends. */
static void check_words(lint *l, const xmlNode *node, const word *known) {
    word_list list;
    int seen[MOST] = {0};
    check_attributes(l, node, known);
    split(&list, known->children);
    for (const xmlNode *child = node->children; child != NULL; child = child->next) {
        if (child->type != XML_ELEMENT_NODE) continue;
        const char *name = (const char *)child->name;
        int line = soai_urdf_line(child);
        if ((child->ns != NULL && child->ns->prefix != NULL) || strchr(name, ':') != NULL) {
            bool xacro = (child->ns != NULL && child->ns->prefix != NULL &&
                          strcmp((const char *)child->ns->prefix, "xacro") == 0) ||
                         strncmp(name, "xacro:", 6) == 0;
            if (xacro)
                WARN(line, "xacro",
                     "%s '%.*s' holds an xacro element <%.*s>, which is not read; run xacro on the "
                     "file first",
                     l->u.kind, SHOWN, l->u.name, SHOWN, name);
            continue;
        }
        int i = index_of(&list, name);
        if (i < 0) {
            const char *nearest = soai_urdf_nearest(name, list.word);
            if (nearest != NULL)
                WARN(line, "unknown-element",
                     "%s '%.*s': <%.*s> in <%s> is not read; did you mean <%s>?", l->u.kind, SHOWN,
                     l->u.name, SHOWN, name, (const char *)node->name, nearest);
            else
                NOTE(line, "unknown-element", "%s '%.*s': <%.*s> in <%s> is not read; %s%s",
                     l->u.kind, SHOWN, l->u.name, SHOWN, name, (const char *)node->name,
                     list.count > 0 ? "known there: " : "nothing is known there", known->children);
            continue;
        }
        if (++seen[i] == 2 && !repeatable(name))
            WARN(line, "duplicate-element",
                 "%s '%.*s': <%s> stands twice in <%s>; the first one is used, remove the other",
                 l->u.kind, SHOWN, l->u.name, name, (const char *)node->name);
        const word *next = word_of(name);
        bool own = strcmp(name, "link") == 0 || strcmp(name, "joint") == 0 ||
                   strcmp(name, "loop_joint") == 0 ||
                   strcmp(name, "constraint") == 0; /* met with their names known */
        if (next != NULL && !own) check_words(l, child, next);
    }
}

/* --- physics ---------------------------------------------------------------------------------- */

/* Box around the shapes of a link, link axes; false if there are none or a mesh, whose extent is
 * unknown. */
static bool geometry_box(lint *l, const xmlNode *link, double low[3], double high[3]) {
    bool any = false;
    for (int i = 0; i < 3; ++i) {
        low[i] = DBL_MAX;
        high[i] = -DBL_MAX;
    }
    for (const xmlNode *n = link->children; n != NULL; n = n->next) {
        if (!soai_urdf_is(n, "collision") && !soai_urdf_is(n, "visual")) continue;
        const xmlNode *geometry = soai_urdf_child(n, "geometry", NULL), *shape;
        double half[3] = {0, 0, 0}, radius = 0, length = 0;
        if ((shape = soai_urdf_child(geometry, "box", NULL)) != NULL) {
            soai_urdf_numbers(&l->u, shape, "size", half, 3, false);
            for (int i = 0; i < 3; ++i)
                half[i] *= 0.5;
        } else if ((shape = soai_urdf_child(geometry, "sphere", NULL)) != NULL) {
            soai_urdf_numbers(&l->u, shape, "radius", &radius, 1, false);
            half[0] = half[1] = half[2] = radius;
        } else {
            bool capsule = (shape = soai_urdf_child(geometry, "cylinder", NULL)) == NULL;
            if (capsule) shape = soai_urdf_child(geometry, "capsule", NULL);
            if (shape == NULL) return false;
            soai_urdf_numbers(&l->u, shape, "radius", &radius, 1, false);
            soai_urdf_numbers(&l->u, shape, "length", &length, 1, false);
            half[0] = half[1] = radius;
            half[2] = 0.5 * length + (capsule ? radius : 0);
        }
        soa_frame frame = soai_urdf_origin(&l->u, soai_urdf_child(n, "origin", NULL));
        for (int i = 0; i < 3; ++i) {
            double reach = 0;
            for (int j = 0; j < 3; ++j)
                reach += fabs(frame.R[3 * i + j] * half[j]);
            low[i] = fmin(low[i], frame.p[i] - reach);
            high[i] = fmax(high[i], frame.p[i] + reach);
        }
        any = true;
    }
    return any;
}

/* The centre of mass lies inside the convex hull of the body: outside the box of its primitives, or
 * far off by the size its inertia suggests, it is probably in other units or another frame. */
static void check_com(lint *l, const soai_urdf_link *link, double largest) {
    double low[3], high[3], off = hypot(hypot(link->com[0], link->com[1]), link->com[2]);
    int line = soai_urdf_line(link->inertial);
    const char *advice = "check its frame and units (metres)";
    soa_lint_level level = l->u.level;
    soai_urdf_sink *sink = l->u.sink;
    l->u.level = SOA_LINT_NOTE;
    l->u.sink = NULL; /* bad numbers there are reported by check_shapes */
    bool boxed = geometry_box(l, link->node, low, high);
    l->u.level = level;
    l->u.sink = sink;
    if (boxed) {
        double size = sqrt(pow(high[0] - low[0], 2) + pow(high[1] - low[1], 2) +
                           pow(high[2] - low[2], 2)),
               out = 0;
        for (int i = 0; i < 3; ++i)
            out = fmax(out, fmax(low[i] - link->com[i], link->com[i] - high[i]));
        if (out > 0.25 * size + 1e-3)
            WARN(line, "com-far",
                 "link '%.*s': centre of mass (%g %g %g) lies %.3g m outside its geometry (size "
                 "%.3g m); %s",
                 SHOWN, link->name, link->com[0], link->com[1], link->com[2], out, size, advice);
        return;
    }
    if (largest > 0 ? off > 0.5 && off > 10 * largest : off > 10)
        WARN(line, "com-far",
             "link '%.*s': centre of mass (%g %g %g) is %.3g m from the link's origin, its inertia "
             "tells a half length "
             "of %.3g m; %s",
             SHOWN, link->name, link->com[0], link->com[1], link->com[2], off, largest, advice);
}

static void check_inertial(lint *l, const soai_urdf_link *link) {
    if (link->inertial == NULL || link->faulty) return;
    const xmlNode *node = soai_urdf_child(link->inertial, "inertia", NULL);
    int mass_line = soai_urdf_line(soai_urdf_child(link->inertial, "mass", NULL));
    int line = node != NULL ? soai_urdf_line(node) : soai_urdf_line(link->inertial);
    double w[3], m = link->mass, a[3] = {0, 0, 0};
    soai_urdf_moments(link->inertia, w);
    double most = fmax(fabs(w[0]), fabs(w[2])); /* w ascends */
    for (int i = 0; i < 3; ++i)
        if (fabs(w[i]) < 1e-15 * most) w[i] = 0; /* rounding */
    static const char *const products[3] = {"ixy", "ixz", "iyz"};
    char list[SOAI_URDF_SHOWN];
    int missing = node != NULL ? soai_urdf_missing(node, products, 3, list) : 0;
    if (missing > 0)
        NOTE(line, "inertia-product",
             "link '%.*s': <inertia> has no %s, taken as 0; write %s, other readers ask for %s",
             SHOWN, link->name, list, missing > 1 ? "them" : "it", missing > 1 ? "them" : "it");
    if (w[2] - w[0] - w[1] > TRIANGLE_SLACK * w[2])
        WARN(line, "inertia-triangle",
             "link '%.*s': principal moments %g %g %g kg m^2 break the triangle inequality, %g > "
             "%g + %g; no mass "
             "distribution has them, recompute <inertia>",
             SHOWN, link->name, w[0], w[1], w[2], w[2], w[0], w[1]);
    else if (m > 0 && most > 0) {
        double trace = w[0] + w[1] + w[2];
        for (int i = 0; i < 3; ++i)
            a[i] = sqrt(fmax(0, 2.5 / m * (trace - 2 * w[i])));
        double density = m / (4. / 3 * SOAI_PI * a[0] * a[1] * a[2]);
        bool thin = a[2] < 1e-3 * a[0]; /* a rod or a plate idealised: no volume to judge */
        if (density < DENSITY_AIR)
            WARN(line, "inertia-density",
                 "link '%.*s': mass %g kg with this inertia is a solid of half axes %.3g %.3g %.3g "
                 "m and %.3g kg/m^3, "
                 "lighter than air; mass or inertia is wrong (units? a placeholder?)",
                 SHOWN, link->name, m, a[0], a[1], a[2], density);
        else if (!thin && density > DENSITY_OSMIUM)
            WARN(line, "inertia-density",
                 "link '%.*s': mass %g kg with this inertia is a solid of half axes %.3g %.3g %.3g "
                 "m and %.3g kg/m^3, "
                 "denser than osmium; mass or inertia is wrong (units? a placeholder?)",
                 SHOWN, link->name, m, a[0], a[1], a[2], density);
    }
    if (m == 0 && most > 0) /* without <mass> it was refused */
        WARN(mass_line, "zero-mass-with-inertia",
             "link '%.*s': no mass, but moments of inertia up to %g kg m^2; give it a mass or zero "
             "inertia",
             SHOWN, link->name, most);
    check_com(l, link, a[0]);
}

/* Sum of rigid bodies: mass, centre of mass, inertia about it. */
typedef struct solid {
    double m, c[3], I[6];
    bool moving_child; /* carries another moving body                          */
    bool unknown;      /* some of it was refused                               */
    bool told;         /* its joint, or that of what carries it, moves nothing */
} solid;

/* I += m (d'd 1 - d d') */
static void add_offset(double I[6], double m, const double d[3]) {
    double s = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    for (int i = 0; i < 3; ++i)
        I[i] += m * (s - d[i] * d[i]);
    I[3] -= m * d[0] * d[1];
    I[4] -= m * d[0] * d[2];
    I[5] -= m * d[1] * d[2];
}

/* a += b seen through the frame X (b's frame in a's). */
static void add_solid(solid *a, const solid *b, const soa_frame *X) {
    double c[3], I[6], m = a->m + b->m, d[3];
    const double *R = X->R;
    const double B[9] = {b->I[0], b->I[3], b->I[4], b->I[3], b->I[1],
                         b->I[5], b->I[4], b->I[5], b->I[2]};
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < 3; ++i)
        c[i] = R[3 * i] * b->c[0] + R[3 * i + 1] * b->c[1] + R[3 * i + 2] * b->c[2] + X->p[i];
    for (int k = 0; k < 6; ++k) {
        I[k] = a->I[k];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                I[k] += R[3 * row[k] + i] * B[3 * i + j] * R[3 * column[k] + j];
    }
    for (int i = 0; i < 3; ++i)
        d[i] = c[i] - a->c[i];
    if (m > 0) add_offset(I, a->m * b->m / m, d); /* reduced mass */
    for (int i = 0; i < 3; ++i)
        if (m > 0) a->c[i] = (a->m * a->c[i] + b->m * c[i]) / m;
    memcpy(a->I, I, sizeof I);
    a->m = m;
}

/* u' I v */
static double along(const double I[6], const double u[3], const double v[3]) {
    return u[0] * (I[0] * v[0] + I[3] * v[1] + I[4] * v[2]) +
           u[1] * (I[3] * v[0] + I[1] * v[1] + I[5] * v[2]) +
           u[2] * (I[4] * v[0] + I[5] * v[1] + I[2] * v[2]);
}

/* Does the joint of a tip body move inertia in each of its directions?  H M H* of the body alone,
 * up to its pivots. */
static bool tip_moves_inertia(const soa_joint_def *def, const solid *s) {
    double w[3], about[6];
    const double *a = def->axis, *b = def->axis2;
    memcpy(about, s->I, sizeof about); /* about the joint's origin */
    add_offset(about, s->m, s->c);
    double most = fmax(about[0], fmax(about[1], about[2])), small = 1e-14 * most;
    switch (def->type) {
    case SOA_PRISMATIC: return s->m > 0;
    case SOA_REVOLUTE: return along(about, a, a) > small;
    case SOA_HELICAL: return along(about, a, a) + s->m * def->pitch * def->pitch > small;
    case SOA_CYLINDRICAL: return s->m > 0 && along(about, a, a) > small;
    case SOA_PLANAR: return s->m > 0 && along(s->I, a, a) > small;
    case SOA_UNIVERSAL:
        return along(about, a, a) * along(about, b, b) - pow(along(about, a, b), 2) > small * small;
    case SOA_SPHERICAL: soai_urdf_moments(about, w); return w[0] > small;
    case SOA_FREE: soai_urdf_moments(s->I, w); return s->m > 0 && w[0] > small;
    default: return true;
    }
}

/* Merges links on fixed joints into what carries them, tips first, then looks at every moving
 * body. */
static void check_bodies(lint *l) {
    soai_urdf *u = &l->u;
    solid *bodies = xmlMalloc((size_t)(u->order_count > 0 ? u->order_count : 1) * sizeof *bodies);
    if (bodies == NULL) {
        l->no_memory = true;
        return;
    }
    for (int i = 0; i < u->order_count; ++i) {
        const soai_urdf_link *link = &u->links[u->order[i]];
        bodies[i] = (solid){.m = link->mass, .unknown = link->faulty};
        memcpy(bodies[i].c, link->com, sizeof link->com);
        memcpy(bodies[i].I, link->inertia, sizeof link->inertia);
    }
    for (int i = u->order_count - 1; i >= 0; --i) { /* children stand after their parents */
        const soai_urdf_link *link = &u->links[u->order[i]];
        if (link->joint < 0) continue;
        const soai_urdf_joint *joint = &u->joints[link->joint];
        solid *parent = &bodies[u->links[joint->parent].number - 1], *self = &bodies[i];
        if (joint->def.type == SOA_FIXED) {
            if (joint->known) add_solid(parent, self, &joint->placement);
            parent->moving_child |= self->moving_child;
            parent->unknown |= self->unknown || joint->faulty;
            continue;
        }
        double inertia = fmax(fabs(self->I[0]), fmax(fabs(self->I[1]), fabs(self->I[2])));
        bool massless = self->m == 0 && inertia == 0,
             rotor = joint->def.rotor_inertia > 0 && joint->def.gear_ratio != 0;
        bool coupled = joint->follows >= 0 || joint->followed || joint->mimic_name != NULL;
        if (self->unknown || joint->faulty) {
            /* told */
        } else if (self->moving_child || rotor || coupled) {
            /* not a tip: massless inner links are legal; a rotor moves its own inertia; joints
             * coupled by mimic move each other's */
            if (massless && link->inertial == NULL)
                WARN(link->line, "missing-inertial",
                     "link '%.*s' moves (joint '%.*s') and has no <inertial>: mass 0; add one "
                     "unless it is meant to be "
                     "massless",
                     SHOWN, link->name, SHOWN, joint->name);
        } else if (massless) {
            self->told = true;
            FAULT(SOA_E_HINGE_SINGULAR, link->line, "massless-tip",
                  "link '%.*s' and what is fixed to it have mass 0, yet joint '%.*s' moves them "
                  "and nothing else: its "
                  "acceleration is undefined; give an <inertial>, make the joint fixed, or give a "
                  "rotor inertia",
                  SHOWN, link->name, SHOWN, joint->name);
        } else if (!tip_moves_inertia(&joint->def, self)) {
            self->told = true;
            FAULT(SOA_E_HINGE_SINGULAR, link->line, "point-tip",
                  "link '%.*s' has mass %g kg, but no inertia in a direction in which joint '%.*s' "
                  "moves it: its "
                  "acceleration is undefined; give <inertia>, or a rotor inertia",
                  SHOWN, link->name, self->m, SHOWN, joint->name);
        }
        l->tip |= self->told;
        parent->moving_child |= !massless || self->unknown || self->moving_child;
    }
    /* points that are not told by the joint that moves them */
    for (int i = 0; i < u->order_count; ++i) {
        const soai_urdf_link *link = &u->links[u->order[i]];
        const soai_urdf_joint *joint = link->joint >= 0 ? &u->joints[link->joint] : NULL;
        if (joint != NULL && joint->def.type == SOA_FIXED)
            bodies[i].told = bodies[u->links[joint->parent].number - 1].told;
        const double *I = link->inertia;
        bool point = link->mass > 0 && fmax(fabs(I[0]), fmax(fabs(I[1]), fabs(I[2]))) == 0;
        const xmlNode *inertia = soai_urdf_child(link->inertial, "inertia", NULL);
        if (point && !link->faulty && !bodies[i].told)
            WARN(soai_urdf_line(inertia != NULL ? inertia : link->inertial), "inertia-zero",
                 "link '%.*s': mass %g kg without inertia, a point; give <inertia> of its shape",
                 SHOWN, link->name, link->mass);
    }
    xmlFree(bodies);
    if (u->root < 0) return;
    for (int i = 0; i < u->link_count; ++i)
        if (i != u->root && strcmp(u->links[i].name, "world") == 0)
            NOTE(u->links[i].line, "name-world",
                 "link 'world' is not the root; soa info calls what stands still by that name, "
                 "give it another");
    const soai_urdf_link *root = &u->links[u->root];
    if (root->mass != 0)
        NOTE(soai_urdf_line(root->inertial), "fixed-base-inertia",
             "root link '%.*s' has mass %g kg: with a fixed base it does not move and counts for "
             "nothing; it does with "
             "a floating base",
             SHOWN, root->name, root->mass);
}

/* --- joints ----------------------------------------------------------------------------------- */

static void check_origin(lint *l, const xmlNode *origin) {
    double rpy[3] = {0, 0, 0}, xyz[3] = {0, 0, 0};
    soai_urdf *u = &l->u;
    soai_urdf_sink *sink = u->sink;
    soa_lint_level level = u->level;
    u->level = SOA_LINT_NOTE;
    u->sink = NULL; /* syntax was told before */
    soai_urdf_numbers(u, origin, "rpy", rpy, 3, false);
    soai_urdf_numbers(u, origin, "xyz", xyz, 3, false);
    u->level = level;
    u->sink = sink;
    double turn = fmax(fabs(rpy[0]), fmax(fabs(rpy[1]), fabs(rpy[2])));
    double far = fmax(fabs(xyz[0]), fmax(fabs(xyz[1]), fabs(xyz[2])));
    if (turn > 2 * SOAI_PI + 1e-2)
        WARN(
            soai_urdf_line(origin), "rpy-degrees",
            "%s '%.*s': <origin rpy=\"%.*s\"> holds %g; rpy is in radians, not degrees: write %.6g",
            u->kind, SHOWN, u->name, SHOWN, soai_urdf_attribute(origin, "rpy"), turn,
            turn * SOAI_PI / 180);
    if (far > FAR_ORIGIN)
        WARN(soai_urdf_line(origin), "origin-far",
             "%s '%.*s': <origin xyz=\"%.*s\"> reaches %g m; xyz is in metres, correct the unit",
             u->kind, SHOWN, u->name, SHOWN, soai_urdf_attribute(origin, "xyz"), far);
}

static void check_limit(lint *l, const soai_urdf_joint *joint) {
    const soa_joint_def *def = &joint->def;
    const xmlNode *limit = soai_urdf_child(joint->node, "limit", NULL);
    const char *name = joint->name;
    bool ranged = soai_urdf_one_dof(def->type) && !joint->continuous,
         mimic = joint->mimic_name != NULL;
    int line = limit != NULL ? soai_urdf_line(limit) : joint->line;
    if (limit == NULL) {
        if (ranged && !mimic)
            WARN(line, "limit-missing",
                 "joint '%.*s' is %s and has no <limit>; add <limit lower upper effort velocity/> "
                 "(none is taken as "
                 "unlimited)",
                 SHOWN, name, joint->type);
        return;
    }
    bool lower = soai_urdf_attribute(limit, "lower") != NULL,
         upper = soai_urdf_attribute(limit, "upper") != NULL;
    if (ranged && !lower && !upper)
        WARN(line, "limit-missing",
             "joint '%.*s': <limit> has no lower and upper, URDF takes both as 0, so it may not "
             "move; write them",
             SHOWN, name);
    else if (ranged && (!lower || !upper))
        WARN(line, "limit-missing", "joint '%.*s': <limit> has no %s, URDF takes it as 0; write it",
             SHOWN, name, lower ? "upper" : "lower");
    if (joint->faulty_limit) return; /* told */
    if (!joint->continuous && def->lower > def->upper)
        FAULT(SOA_E_JOINT, line, "limit-order",
              "joint '%.*s': lower limit %g is above upper limit %g; swap them", SHOWN, name,
              def->lower, def->upper);
    else if (ranged && (lower || upper) && def->lower == def->upper)
        WARN(line, "limit-empty",
             "joint '%.*s': lower and upper limit are both %g, so it may not move; write its range",
             SHOWN, name, def->lower);
    double most = fmax(fabs(def->lower), fabs(def->upper));
    if (ranged && def->type == SOA_REVOLUTE && most >= 20 && most <= 1000)
        WARN(line, "limit-degrees",
             "joint '%.*s': limits %g to %g; they are in radians, not degrees: write %.6g to %.6g",
             SHOWN, name, def->lower, def->upper, def->lower * SOAI_PI / 180,
             def->upper * SOAI_PI / 180);
    const struct {
        const char *attribute, *zero, *unit;
        double value;
    } both[2] = {
        {"effort", "limit-zero-effort", def->type == SOA_PRISMATIC ? "N" : "N m", def->max_effort},
        {"velocity", "limit-zero-velocity", def->type == SOA_PRISMATIC ? "m/s" : "rad/s",
         def->max_speed}};
    for (int i = 0; i < 2; ++i) {
        if (soai_urdf_attribute(limit, both[i].attribute) == NULL)
            WARN(line, "limit-missing",
                 "joint '%.*s': <limit> has no %s; write it in %s (none is taken as unlimited)",
                 SHOWN, name, both[i].attribute, both[i].unit);
        else if (both[i].value == 0)
            WARN(line, both[i].zero,
                 "joint '%.*s': %s limit is 0 %s, so it may not move; write the real one", SHOWN,
                 name, both[i].attribute, both[i].unit);
        else if (both[i].value < 0)
            FAULT(SOA_E_JOINT, line, "limit-negative",
                  "joint '%.*s': %s limit %g %s is negative; write its size", SHOWN, name,
                  both[i].attribute, both[i].value, both[i].unit);
    }
}

static void check_joint(lint *l, const soai_urdf_joint *joint) {
    const soa_joint_def *def = &joint->def;
    int axis_line = soai_urdf_line(soai_urdf_child(joint->node, "axis", NULL));
    const xmlNode *mimic = soai_urdf_child(joint->node, "mimic", NULL);
    check_origin(l, soai_urdf_child(joint->node, "origin", NULL));
    if (!joint->known) return;
    if (def->type == SOA_FIXED) {
        if (mimic != NULL)
            WARN(soai_urdf_line(mimic), "mimic-ignored",
                 "joint '%.*s' is fixed, its <mimic> means nothing; remove it", SHOWN, joint->name);
        return;
    }
    if (joint->axis_length > 0 && fabs(joint->axis_length - 1) > 1e-6)
        WARN(axis_line, "axis-not-unit",
             "joint '%.*s': the axis has length %.9g and is used as (%.9g %.9g %.9g); write that",
             SHOWN, joint->name, joint->axis_length, def->axis[0], def->axis[1], def->axis[2]);
    else if (axis_line == 0 && def->type != SOA_FREE && def->type != SOA_SPHERICAL)
        NOTE(joint->line, "axis-missing",
             "joint '%.*s' has no <axis>: URDF takes \"1 0 0\"; write it", SHOWN, joint->name);
    check_limit(l, joint);
    bool chained = joint->follows >= 0 && l->u.joints[joint->follows].mimic_name != NULL;
    if (chained && l->u.joints[def->mimic].mimic_name == NULL) /* else a ring, told before */
        NOTE(joint->mimic_line, "mimic-chain",
             "joint '%.*s' mimics '%.*s', which itself mimics '%.*s'; read as a multiple %g of "
             "'%.*s' plus %g, other "
             "readers may not; write that",
             SHOWN, joint->name, SHOWN, joint->mimic_name, SHOWN,
             l->u.joints[joint->follows].mimic_name, def->mimic_ratio, SHOWN,
             l->u.joints[def->mimic].name, def->mimic_offset);
    if (joint->mimic_name != NULL && def->mimic_ratio == 0)
        WARN(joint->mimic_line, "mimic-zero",
             "joint '%.*s': multiplier 0 keeps it at %g for ever; make it fixed", SHOWN,
             joint->name, def->mimic_offset);
}

/* --- loops ------------------------------------------------------------------------------------ */

static void check_constraint(lint *l, const soai_urdf_constraint *c) {
    const soa_constraint_def *def = &c->def;
    for (int i = 0; i < 2; ++i)
        check_origin(l, soai_urdf_child(c->node, i ? "link2" : "link1", NULL));
    if (c->axis_length > 0 && fabs(c->axis_length - 1) > 1e-6)
        WARN(soai_urdf_line(soai_urdf_child(c->node, "axis", NULL)), "axis-not-unit",
             "%s '%.*s': the axis has length %.9g and is used as (%.9g %.9g %.9g); write that",
             c->kind, SHOWN, c->name, c->axis_length, def->axis[0], def->axis[1], def->axis[2]);
    if (!c->has_axis)
        NOTE(c->line, "axis-missing", "%s '%.*s' has no <axis>: \"1 0 0\" is taken; write it",
             c->kind, SHOWN, c->name);
    if (c->known && def->kind == SOA_LOOP && def->joint == SOA_FREE)
        WARN(c->line, "loop-free", "loop_joint '%.*s' is floating and restricts nothing; remove it",
             SHOWN, c->name);
}

/* The largest residual of each constraint, and of all. */
static double open_by(const soa_constraints *all, const double *g, int constraint, int count,
                      int *worst) {
    double most = 0;
    for (int i = constraint < 0 ? 0 : constraint; i < (constraint < 0 ? count : constraint + 1);
         ++i) {
        int first = 0, rows = 0;
        soa_constraints_row_range(all, i, &first, &rows);
        for (int r = first; r < first + rows; ++r) {
            if (!(fabs(g[r]) <= most)) {
                most = fabs(g[r]);
                *worst = i;
            }
        }
    }
    return most;
}

/* Joints that move no inertia in the tree, in a machine whose loops hold what they move: the closed
 * machine has an answer. */
static void forgive_tips(lint *l) {
    static const char held[] =
        "; the loops hold it, and the closed machine has an answer, but calls for the tree alone "
        "(aba, minv ...) have none";
    for (int i = 0; i < l->count; ++i) {
        remark *r = &l->remarks[i];
        const int tip = strcmp(r->rule, "massless-tip") == 0 || strcmp(r->rule, "point-tip") == 0;
        char *semicolon = tip ? strrchr(r->text, ';') : NULL; /* what to do about it follows */
        if (semicolon == NULL) continue;
        const size_t length = (size_t)(semicolon - r->text);
        char *text = xmlMalloc(length + sizeof held);
        if (text == NULL) {
            l->no_memory = true;
            return;
        }
        memcpy(text, r->text, length);
        memcpy(text + length, held, sizeof held);
        xmlFree(r->text);
        r->text = text;
        r->level = SOA_LINT_NOTE;
    }
}

/* What the numbers say: do the loops close at q = 0, or from there; what is redundant; can anything
 * move. */
static void check_closure(lint *l, const soa_model *model, soa_constraints *all, soa_work *work,
                          double *q, double *g) {
    const soai_urdf *u = &l->u;
    soa_closed_report closed;
    soa_report report;
    double *qdd = g + soa_constraints_row_count(all);
    int count = u->constraint_count, worst = 0;
    soa_q_neutral(model, q);
    if (soa_constraints_evaluate(all, work, &(soa_input){.q = q}, g, NULL, NULL, NULL) != SOA_OK) {
        NOTE(soai_urdf_line(u->robot), "loop-unchecked",
             "at q = 0 the constraints have no directions; not looked at");
        return;
    }
    if (open_by(all, g, -1, count, &worst) > 1e-9) {
        double before = open_by(all, g, -1, count, &worst);
        const soai_urdf_constraint *c = &u->constraints[worst];
        if (soa_closed_assemble(all, work, 0, NULL, q, &report) != SOA_OK) {
            WARN(c->line, "loop-not-closable",
                 "%s '%.*s' is open by %.3g (m or rad) at q = 0, and the loops do not close from "
                 "there (%s); correct "
                 "the "
                 "places, or start elsewhere",
                 c->kind, SHOWN, c->name, before, report.text);
            return;
        }
        for (int i = 0; i < count; ++i) {
            int own = 0;
            double by = open_by(all, g, i, count, &own);
            if (by > 1e-9)
                NOTE(u->constraints[i].line, "loop-open",
                     "%s '%.*s' is open by %.3g (m or rad) at q = 0; the loops close from there "
                     "(soa compute --fn "
                     "assemble)",
                     u->constraints[i].kind, SHOWN, u->constraints[i].name, by);
        }
    }
    soa_status status = soa_closed_fd(all, work, NULL, &(soa_input){.q = q}, qdd, NULL, &closed);
    if (status == SOA_E_SINGULAR)
        NOTE(u->constraints[0].line, "loop-singular",
             "closed as at q = 0, the machine is near a singular position (condition %.2g)",
             closed.condition);
    else if (status == SOA_E_INCONSISTENT)
        WARN(u->constraints[closed.redundant > 0 ? closed.redundant_constraint[0] : 0].line,
             "loop-contradiction",
             "closed as at q = 0, constraints contradict each other: %s; take one of them away",
             closed.text);
    else if (status == SOA_E_HINGE_SINGULAR && !l->tip)
        WARN(u->constraints[0].line, "hinge-singular",
             "closed as at q = 0, joints can move without moving any mass: forward dynamics has no "
             "answer; give an "
             "<inertial> to the links without one");
    if (status != SOA_OK) return;
    if (l->tip) forgive_tips(l);
    if (closed.redundant > 0)
        NOTE(u->constraints[closed.redundant_constraint[0]].line, "loop-redundant",
             "%d of %d rows of the constraints %s%s); their forces are not determined, the motion "
             "is",
             closed.redundant, closed.rows,
             closed.redundant == 1 ? "is redundant (" : "are redundant (the first: ", closed.text);
    if (closed.rank == soa_model_nv(model) && closed.rank > 0)
        WARN(u->constraints[0].line, "loop-locked",
             "the constraints have rank %d, as many as nv: closed as at q = 0 nothing can move; "
             "take one away, or free "
             "a joint",
             closed.rank);
}

static soa_status check_loops(lint *l, const soa_model *model) {
    soai_urdf *u = &l->u;
    if (u->constraint_count == 0) return SOA_OK;
    soa_constraint_list list = {0, NULL};
    soa_constraints *all = NULL;
    soa_work *work = NULL;
    soa_report report;
    double *q = NULL, *g = NULL;
    soa_status status = soai_urdf_constraints(u, NULL, model, &list);
    const size_t rows = 6 * (size_t)u->constraint_count, nv = (size_t)soa_model_nv(model),
                 nq = (size_t)soa_model_nq(model);
    /* a step costs rows^2 nv */
    if (status == SOA_OK && (nv == 0 || rows > 3000 || rows * rows > 20000000 / nv)) {
        soa_constraint_list_free(&list);
        NOTE(u->constraints[0].line, "loop-unchecked",
             "%s; whether the loops close was not looked at",
             nv == 0 ? "nothing moves" : "too many constraints and coordinates");
        return SOA_OK;
    }
    const int dense = rows + nv <= DENSE_MOST; /* massless links that loops hold need it */
    if (status == SOA_OK) status = soa_constraints_from_list(&list, model, dense, &all, &report);
    if (status == SOA_OK) status = soa_work_create(model, &work);
    if (status == SOA_OK) {
        q = xmlMalloc((nq + 1) * sizeof *q);
        g = xmlMalloc((rows + nv + 1) * sizeof *g);
        if (q == NULL || g == NULL)
            status = SOA_E_MEMORY;
        else
            check_closure(l, model, all, work, q, g);
    }
    if (status == SOA_E_MEMORY) l->no_memory = true;
    if (q != NULL) xmlFree(q);
    if (g != NULL) xmlFree(g);
    soa_work_free(work);
    soa_constraints_free(all);
    soa_constraint_list_free(&list);
    return status;
}

/* --- files ------------------------------------------------------------------------------------ */

static void check_mesh(lint *l, const xmlNode *mesh) {
    const char *file = soai_urdf_attribute(mesh, "filename");
    int line = soai_urdf_line(mesh);
    if (file == NULL || file[0] == 0) {
        WARN(line, "mesh-missing", "link '%.*s': <mesh> names no file; write filename=\"...\"",
             SHOWN, l->u.name);
        return;
    }
    if (l->files.directory == NULL) return;
    char *path = NULL;
    switch (soai_urdf_find_mesh(&l->files, file, line, &path)) {
    case SOAI_MESH_FOUND:
    case SOAI_MESH_NO_PACKAGE: break; /* told once for each package */
    case SOAI_MESH_NO_MEMORY: l->no_memory = true; break;
    case SOAI_MESH_SCHEME:
        NOTE(line, "mesh-scheme",
             "link '%.*s': mesh '%.*s' is not looked for; use package://, file:// or a relative "
             "path",
             SHOWN, l->u.name, SHOWN, file);
        break;
    case SOAI_MESH_NO_FILE:
        WARN(line, "mesh-missing",
             "link '%.*s': mesh '%.*s' is a folder, a pipe or a device; name a file", SHOWN,
             l->u.name, SHOWN, file);
        break;
    case SOAI_MESH_MISSING: {
        size_t length = strlen(path);
        WARN(line, "mesh-missing",
             "link '%.*s': mesh file '%s%s' does not exist; put it there or correct the name",
             SHOWN, l->u.name, length > 200 ? "..." : "", path + (length > 200 ? length - 200 : 0));
    }
    }
    if (path != NULL) xmlFree(path);
}

/* Numbers and files of visual and collision shapes: the reader does not need them, others do. */
static void check_shapes(lint *l, const soai_urdf_link *link) {
    static const char *const kinds[2] = {"visual", "collision"};
    static const struct {
        const char *shape, *attribute;
        int count;
    } sizes[] = {{"box", "size", 3},      {"cylinder", "radius", 1}, {"cylinder", "length", 1},
                 {"sphere", "radius", 1}, {"capsule", "radius", 1},  {"capsule", "length", 1}};
    soai_urdf *u = &l->u;
    u->level = SOA_LINT_WARNING;
    for (int k = 0; k < 2; ++k)
        for (const xmlNode *n = NULL; (n = soai_urdf_child(link->node, kinds[k], n)) != NULL;) {
            const xmlNode *origin = soai_urdf_child(n, "origin", NULL),
                          *geometry = soai_urdf_child(n, "geometry", NULL);
            const xmlNode *mesh = soai_urdf_child(geometry, "mesh", NULL);
            soai_urdf_origin(u, origin);
            check_origin(l, origin);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
                const xmlNode *shape = soai_urdf_child(geometry, sizes[i].shape, NULL);
                double size[3] = {1, 1, 1};
                if (shape == NULL) continue;
                bool given =
                    soai_urdf_numbers(u, shape, sizes[i].attribute, size, sizes[i].count, false);
                if (!given && soai_urdf_attribute(shape, sizes[i].attribute) == NULL)
                    WARN(soai_urdf_line(shape), "missing-attribute",
                         "link '%.*s': <%s> has no %s; write it", SHOWN, link->name, sizes[i].shape,
                         sizes[i].attribute);
                if (!(size[0] > 0 && size[1] > 0 && size[2] > 0))
                    WARN(soai_urdf_line(shape), "shape-size",
                         "link '%.*s': <%s %s=\"%.*s\">: sizes must be above 0, correct it", SHOWN,
                         link->name, sizes[i].shape, sizes[i].attribute, SHOWN,
                         soai_urdf_attribute(shape, sizes[i].attribute));
            }
            if (mesh != NULL) check_mesh(l, mesh);
        }
    u->level = SOA_LINT_ERROR;
}

static void report_packages(lint *l) {
    for (const soai_urdf_package *p = l->files.packages; p != NULL; p = p->next)
        if (p->root == NULL)
            WARN(p->line, "package-not-found",
                 "package '%.*s' (%d mesh%s) is no folder, nor named by a package.xml, in '%.*s' "
                 "or above, nor in "
                 "ROS_PACKAGE_PATH or AMENT_PREFIX_PATH; drawings will lack it, dynamics do not "
                 "need it",
                 SHOWN, p->name, p->uses, p->uses == 1 ? "" : "es", 120, l->files.directory);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void check_name(lint *l, int line) {
    const char *name = l->u.name, *blanks = " \t\r\n";
    size_t length = strlen(name);
    if (length > 0 && (strchr(blanks, name[0]) != NULL || strchr(blanks, name[length - 1]) != NULL))
        WARN(line, "name-blank", "%s name '%.*s' starts or ends with a blank; remove it", l->u.kind,
             SHOWN, name);
}

static void check_all(lint *l) {
    soai_urdf *u = &l->u;
    const char *name = soai_urdf_attribute(u->robot, "name");
    u->kind = "robot";
    u->name = name != NULL ? name : "";
    if (u->name[0] == 0)
        WARN(soai_urdf_line(u->robot), "missing-name",
             "<robot> has no name; write <robot name=\"...\">");
    check_words(l, u->robot, word_of("robot"));
    for (int i = 0; i < u->link_count; ++i) {
        u->kind = "link";
        u->name = u->links[i].name;
        check_name(l, u->links[i].line);
        check_words(l, u->links[i].node, word_of("link"));
        check_origin(l, soai_urdf_child(u->links[i].inertial, "origin", NULL));
        check_inertial(l, &u->links[i]);
        check_shapes(l, &u->links[i]);
    }
    for (int j = 0; j < u->joint_count; ++j) {
        u->kind = "joint";
        u->name = u->joints[j].name;
        check_name(l, u->joints[j].line);
        check_words(l, u->joints[j].node, word_of("joint"));
        check_joint(l, &u->joints[j]);
    }
    for (int i = 0; i < u->constraint_count; ++i) {
        u->kind = u->constraints[i].kind;
        u->name = u->constraints[i].name;
        check_name(l, u->constraints[i].line);
        check_words(l, u->constraints[i].node, word_of(u->kind));
        check_constraint(l, &u->constraints[i]);
    }
    check_bodies(l);
    report_packages(l);
}

/* Can every joint be accelerated at q = 0?  More joints under one heavy link than directions in
 * which it can move have a motion that moves nothing.  Loops may hold it; they are looked at by
 * themselves. */
static void check_dynamics(lint *l, const soa_model *model) {
    const soai_urdf *u = &l->u;
    soa_work *work = NULL;
    soa_body_info info;
    double *qdd = malloc((size_t)(soa_model_nv(model) + 1) * sizeof *qdd);
    if (qdd == NULL || soa_work_create(model, &work) != SOA_OK)
        l->no_memory = true;
    else if (soa_aba(model, work, NULL, NULL, NULL, NULL, 0, qdd) == SOA_E_HINGE_SINGULAR &&
             soa_model_body(model, soa_work_failed_body(work), &info) == SOA_OK) {
        int line = 0;
        for (int i = 0; i < u->link_count; ++i)
            if (strcmp(u->links[i].name, info.link) == 0) line = u->links[i].line;
        WARN(line, "hinge-singular",
             "joint '%.*s' and those beyond it can move without moving any mass: forward dynamics "
             "has no answer at "
             "q = 0; give an <inertial> to the links without one, or the joints a rotor inertia",
             SHOWN, info.joint);
    }
    soa_work_free(work);
    free(qdd);
}

/* What only the builder sees. */
static bool ask_builder(lint *l, bool floating) {
    soai_urdf *u = &l->u;
    const soa_model *model = NULL;
    soai_urdf_sink *sink = u->sink;
    u->sink = NULL;
    u->status = SOA_OK;
    soa_status status = soai_urdf_build(u, &(soa_read_options){.floating = floating}, &model);
    if (status == SOA_OK && floating && u->constraint_count > 0)
        status = soai_urdf_constraints(u, NULL, model, NULL);
    u->sink = sink;
    /* it tells by itself */
    bool loops = status != SOA_OK || floating || check_loops(l, model) == SOA_OK;
    if (status == SOA_OK && !floating && u->constraint_count == 0 && !l->tip)
        check_dynamics(l, model);
    soa_model_free(model);
    if (status == SOA_OK) return loops;
    if (status == SOA_E_MEMORY)
        l->no_memory = true;
    else {
        soa_report report = u->report;
        const char *rule = floating && status == SOA_E_NAME ? "root-name" : "not-loadable";
        soai_urdf_say(u, floating ? SOA_LINT_WARNING : SOA_LINT_ERROR, status, report.line, rule,
                      "%sthe model cannot be built: %s", floating ? "with a floating base " : "",
                      soai_urdf_said(u));
    }
    return status == SOA_OK;
}

soa_status soa_urdf_lint_text(const soa_urdf_source *source, soa_lint_fn *fn, void *user,
                              int *errors, int *warnings, soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (!source) return soai_report_end(report, SOA_E_ARGUMENT);
    const char *text = source->text;
    size_t length = source->length;
    const char *name = source->name;
    const char *directory = source->directory;
    lint l = {.files.directory = directory};
    soai_urdf_locale saved;
    if (errors != NULL) *errors = 0;
    if (warnings != NULL) *warnings = 0;
    if (text == NULL) {
        *report = (soa_report){
            .status = SOA_E_ARGUMENT, .body = -1, .text = "soa_urdf_lint_text: text is NULL"};
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    if (soai_urdf_enter(&saved) != SOA_OK) {
        *report =
            (soa_report){.status = SOA_E_MEMORY, .body = -1, .text = "no memory left for a locale"};
        return soai_report_end(report, SOA_E_MEMORY);
    }
    l.u.sink = collect;
    l.u.user = &l;
    soa_status status = soai_urdf_open(&l.u, text, length, name);
    *report = l.u.report;
    if (status != SOA_E_MEMORY) { /* whatever else is wrong is a remark */
        bool whole = status == SOA_OK;
        status = SOA_OK;
        if (l.u.robot != NULL && soai_urdf_is(l.u.robot, "robot")) {
            check_all(&l);
            tell_how_often(&l);
        }
        if (whole) whole = ask_builder(&l, false);
        if (whole) ask_builder(&l, true);
        *report = (soa_report){.status = SOA_OK, .body = -1};
        if (l.no_memory) {
            status = SOA_E_MEMORY;
            *report = (soa_report){
                .status = SOA_E_MEMORY, .body = -1, .text = "no memory left while checking"};
        }
    }
    soai_urdf_close(&l.u);
    soai_urdf_leave(&saved); /* the caller's function runs in the caller's locale */
    if (l.count > 0) qsort(l.remarks, (size_t)l.count, sizeof *l.remarks, compare_remarks);
    int count[3] = {0, 0, 0};
    for (int i = 0; i < l.count; ++i) {
        const remark *r = &l.remarks[i];
        ++count[r->level];
        if (status == SOA_OK && fn != NULL)
            fn(user, &(soa_lint){r->level, r->line, r->rule, r->text});
        xmlFree(r->text);
    }
    if (l.remarks != NULL) xmlFree(l.remarks);
    soai_urdf_files_end(&l.files);
    if (status == SOA_OK && errors != NULL) *errors = count[SOA_LINT_ERROR];
    if (status == SOA_OK && warnings != NULL) *warnings = count[SOA_LINT_WARNING];
    return soai_report_end(report, status);
}

soa_status soa_urdf_lint(const char *path, soa_lint_fn *fn, void *user, int *errors, int *warnings,
                         soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (errors != NULL) *errors = 0;
    if (warnings != NULL) *warnings = 0;
    if (path == NULL) {
        *report = (soa_report){
            .status = SOA_E_ARGUMENT, .body = -1, .text = "soa_urdf_lint: path is NULL"};
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    char *text = NULL;
    size_t length = 0;
    soa_status status = soai_urdf_slurp(path, &text, &length, report);
    if (status == SOA_E_FORMAT) {
        if (fn != NULL) fn(user, &(soa_lint){SOA_LINT_ERROR, 0, "too-large", SOAI_URDF_TOO_LARGE});
        if (errors != NULL) *errors = 1;
        *report = (soa_report){.status = SOA_OK, .body = -1};
        return SOA_OK;
    }
    if (status != SOA_OK) return soai_report_end(report, status);
    char *directory = realpath(path, NULL); /* malloc'ed */
    char *slash = directory != NULL ? strrchr(directory, '/') : NULL;
    if (slash != NULL) *slash = 0;
    status = soa_urdf_lint_text(&(soa_urdf_source){.text = text,
                                                   .length = length,
                                                   .name = path,
                                                   .directory = slash != NULL ? directory : NULL},
                                fn, user, errors, warnings, report);
    free(directory);
    xmlFree(text);
    return soai_report_end(report, status);
}
