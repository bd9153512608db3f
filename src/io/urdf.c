/* urdf.c  URDF files to models.
 *
 * XML (libxml2) -> links and joints in document order -> tree, depth first, children in document
 * order of their joints -> soa_body_def -> soa_model_create.  Nothing recurses over the robot's
 * tree, names are found by bisection: a chain of n links costs O(n log n).
 *
 * Outside data: no network, no document type (so no entities), XML no deeper than libxml2's
 * default, size limited.  Extension, inside a <joint>, for what URDF cannot say:
 *   <soa axis2="x y z" pitch="m/rad" rotor_inertia="Jm" gear_ratio="G"
 *        rotor_model="reflected|exact" rotor_axis="x y z" stiffness="k" rest="q0"
 *        friction_positive="f" friction_negative="f"/>
 * and the joint types spherical, universal, cylindrical and helical.  Loops: urdf_constraints.c. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>

#include "../model/model_internal.h"
#include "urdf_internal.h"

#define MAX_BYTES ((size_t)64 << 20) /* PR2, a large robot, has 130 kB */
#define SHOWN SOAI_URDF_SHOWN
/* of one element: libxml2 compares each with all others; URDF has ten at most */
#define MAX_ATTRIBUTES 64
#define MAX_LINKS 100000 /* and as many joints: checking more takes longer than anybody waits */
/* names looked at for hints: a file of mistakes only must not take minutes */
#define MAX_COMPARED 20000

/* --- reports ---------------------------------------------------------------------------------- */

/* Makes text printable: control characters and broken UTF-8 (a message may have been cut inside a
 * character) become '?'. */
static void clean(char *text) {
    for (unsigned char *s = (unsigned char *)text; *s;) {
        int more;
        if (*s < 0x80) {
            more = 0;
        } else if ((*s & 0xe0) == 0xc0) {
            more = 1;
        } else if ((*s & 0xf0) == 0xe0) {
            more = 2;
        } else if ((*s & 0xf8) == 0xf0) {
            more = 3;
        } else {
            more = -1;
        }
        int good = 1;
        if (more < 0 || *s < 0x20 || *s == 0x7f) *s = '?';
        while (good <= more && (s[good] & 0xc0) == 0x80)
            ++good;
        if (good <= more) memset(s, '?', (size_t)good);
        s += good;
    }
}

/* "file:line: " into text; a long file name shows its end.  Returns the length. */
static size_t write_place(char *text, size_t size, const char *file, int line) {
    size_t length = strlen(file);
    bool cut = length > SHOWN;
    if (cut) file += length - SHOWN + 3;
    if (line > 0) return (size_t)snprintf(text, size, "%s%s:%d: ", cut ? "..." : "", file, line);
    return (size_t)snprintf(text, size, "%s%s: ", cut ? "..." : "", file);
}

/* "file:line: text" into the report. */
static void fill_report(soa_report *report, soa_status status, const char *file, int line,
                        const char *text) {
    report->status = status;
    report->body = -1;
    report->line = line;
    size_t place = write_place(report->text, sizeof report->text, file, line);
    snprintf(report->text + place, sizeof report->text - place, "%s", text);
    clean(report->text);
}

const char *soai_urdf_said(const soai_urdf *u) {
    char place[SHOWN + 32];
    return u->report.text + write_place(place, sizeof place, u->file, u->report.line);
}

void soai_urdf_say(soai_urdf *u, soa_lint_level level, soa_status status, int line,
                   const char *rule, const char *format, ...) {
    bool first = level == SOA_LINT_ERROR && u->status == SOA_OK;
    u->errors += level == SOA_LINT_ERROR;
    if (!first && u->sink == NULL) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    clean(text);
    if (first) {
        u->status = status;
        fill_report(&u->report, status, u->file, line, text);
    }
    if (u->sink != NULL) u->sink(u->user, level, line, rule, text);
}

void soai_urdf_no_memory(soai_urdf *u) {
    u->status = SOA_E_MEMORY;
    fill_report(&u->report, SOA_E_MEMORY, u->file, 0, "no memory left while reading");
}

/* --- XML -------------------------------------------------------------------------------------- */

typedef struct xml_state {
    int line; /* of the first fatal error */
    bool failed, doctype, no_memory;
    char text[200];
} xml_state;

#if LIBXML_VERSION >= 21200
typedef const xmlError *xml_error;
#else
typedef xmlErrorPtr xml_error;
#endif

static void on_error(void *user, xml_error error) {
    xml_state *state = user;
    if (error->code == XML_ERR_NO_MEMORY) state->no_memory = true;
    if (error->level != XML_ERR_FATAL || state->failed) return;
    state->failed = true;
    state->line = error->line;
    snprintf(state->text, sizeof state->text, "%s",
             error->message != NULL ? error->message : "malformed");
    state->text[strcspn(state->text, "\n")] = 0;
}

/* A document type could declare entities and name other files: URDF needs neither. */
static void on_doctype(void *user, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system) {
    (void)name;
    (void)external;
    (void)system;
    xmlParserCtxt *ctxt = user;
    xml_state *state = ctxt->_private;
    state->doctype = true;
    state->line = ctxt->input != NULL ? ctxt->input->line : 0;
    xmlStopParser(ctxt);
}

/* Notes the line on which the tag starts: libxml2 keeps the line of its end, in 16 bits.  Inside a
 * tag '<' cannot stand, so the nearest one backwards is the tag's; where the buffer no longer holds
 * it the end's line remains. */
static void on_element(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                       int namespaces, const xmlChar **namespace_list, int attributes,
                       int defaulted, const xmlChar **attribute_list) {
    xmlParserCtxt *ctxt = user;
    xmlSAX2StartElementNs(ctxt, name, prefix, uri, namespaces, namespace_list, attributes,
                          defaulted, attribute_list);
    if (ctxt->node == NULL || ctxt->input == NULL || ctxt->input->cur == NULL) return;
    int line = ctxt->input->line, back = 0;
    const xmlChar *s = ctxt->input->cur;
    while (s > ctxt->input->base && *s != '<')
        back += *--s == '\n';
    ctxt->node->_private = (void *)(intptr_t)(*s == '<' ? line - back : line);
}

/* The line of an element with more than MAX_ATTRIBUTES attributes, 0: none.  Before libxml2 sees
 * the text, because it needs time in the square of their number.  Zero bytes are passed over, so
 * that UTF-16 is read too. */
static int crowded_line(const char *text, size_t length) {
    enum { OUTSIDE, OPENED, COMMENT, OTHER, TAG } place = OUTSIDE;
    int line = 1, tag_line = 0, attributes = 0, dashes = 0;
    char quote = 0, before = 0;
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        if (c == 0) continue;
        line += c == '\n';
        if (place == OUTSIDE) {
            if (c == '<') place = OPENED;
        } else if (place == OPENED) { /* the first character of the tag */
            place = c == '!' || c == '?' ? OTHER : TAG;
            tag_line = line;
            attributes = dashes = 0;
            quote = 0;
        } else if (place == OTHER) { /* <!--, <![CDATA[, <?xml */
            dashes = c == '-' && (before == '!' || dashes) ? dashes + 1 : 0;
            if (dashes == 2) place = COMMENT;
            if (c == '>') place = OUTSIDE;
        } else if (place == COMMENT) {
            if (c == '>' && dashes >= 2) place = OUTSIDE;
            dashes = c == '-' ? dashes + 1 : 0;
        } else if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
            if (++attributes > MAX_ATTRIBUTES) return tag_line;
        } else if (c == '>') {
            place = OUTSIDE;
        }
        before = c;
    }
    return 0;
}

static xmlDoc *read_xml(soai_urdf *u, const char *text, size_t length) {
    if (length > MAX_BYTES) {
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_FORMAT, 0, "too-large", SOAI_URDF_TOO_LARGE);
        return NULL;
    }
    const int crowded = crowded_line(text, length);
    if (crowded > 0) {
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_FORMAT, crowded, "attributes",
            "an element with more than %d attributes; no element of URDF has so many, remove them",
            MAX_ATTRIBUTES);
        return NULL;
    }
    /* This thread's handler hears everything, also what belongs to no parser (encodings, the tree)
     * and would be printed otherwise. */
    xmlInitParser();
    xml_state state = {0};
    xmlStructuredErrorFunc handler = xmlStructuredError;
    void *handler_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(&state, on_error);
    xmlDoc *doc = NULL;
    bool whole = false;
    xmlParserCtxt *ctxt = xmlNewParserCtxt();
    if (ctxt == NULL)
        state.no_memory = true;
    else {
        ctxt->_private = &state;
        ctxt->sax->internalSubset = on_doctype;
        ctxt->sax->startElementNs = on_element;
        doc = xmlCtxtReadMemory(ctxt, text, (int)length, NULL, NULL,
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                    XML_PARSE_COMPACT);
        whole = ctxt->wellFormed != 0;
        if (ctxt->errNo == XML_ERR_NO_MEMORY) state.no_memory = true;
        if (doc == NULL) xmlFreeDoc(ctxt->myDoc); /* stopped by on_doctype */
        ctxt->myDoc = NULL;
        xmlFreeParserCtxt(ctxt);
    }
    xmlSetStructuredErrorFunc(handler_context, handler);
    if (doc != NULL && whole && !state.failed && !state.doctype && !state.no_memory) return doc;

    xmlFreeDoc(doc);
    if (state.no_memory)
        soai_urdf_no_memory(u);
    else if (state.doctype)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_FORMAT, state.line, "doctype",
                      "a document type (<!DOCTYPE>) is not read, since it may hide entities and "
                      "other files; remove it");
    else
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_FORMAT, state.line, "xml", "not well-formed XML: %s",
                      state.failed ? state.text : "the parser stopped");
    return NULL;
}

int soai_urdf_line(const xmlNode *node) {
    return node != NULL ? (int)(intptr_t)node->_private : 0;
}

bool soai_urdf_is(const xmlNode *node, const char *name) {
    return node->type == XML_ELEMENT_NODE && (node->ns == NULL || node->ns->prefix == NULL) &&
           strcmp((const char *)node->name, name) == 0;
}

const xmlNode *soai_urdf_child(const xmlNode *parent, const char *name, const xmlNode *after) {
    const xmlNode *node;
    if (after != NULL) {
        node = after->next;
    } else if (parent != NULL) {
        node = parent->children;
    } else {
        node = NULL;
    }
    while (node != NULL && !soai_urdf_is(node, name))
        node = node->next;
    return node;
}

const char *soai_urdf_attribute(const xmlNode *node, const char *name) {
    if (node == NULL) return NULL;
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (a->ns == NULL && strcmp((const char *)a->name, name) == 0)
            return a->children != NULL && a->children->content != NULL
                       ? (const char *)a->children->content
                       : "";
    return NULL;
}

/* --- numbers ---------------------------------------------------------------------------------- */

soa_status soai_urdf_enter(soai_urdf_locale *saved) {
    saved->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (saved->c == (locale_t)0) return SOA_E_MEMORY;
    saved->before = uselocale(saved->c);
    return SOA_OK;
}

void soai_urdf_leave(soai_urdf_locale *saved) {
    uselocale(saved->before);
    freelocale(saved->c);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* "inf", "infinity" in any case. */
static bool is_infinity(const char *s, size_t length) {
    static const char word[] = "infinity";
    if (length != 3 && length != 8) return false;
    for (size_t i = 0; i < length; ++i)
        if ((s[i] | 0x20) != word[i]) return false;
    return true;
}

typedef enum number_fault { NUMBER_GOOD, NUMBER_SYNTAX, NUMBER_INFINITE } number_fault;

/* Plain decimal numbers only: no hexadecimal, no decimal comma. strtod (in the "C" locale) rounds
 * correctly. */
static number_fault read_number(const char *s, size_t length, bool infinite, double *out) {
    const char *end = s + length, *p = s;
    int digits = 0;
    if (p < end && (*p == '+' || *p == '-')) ++p;
    if (is_infinity(p, (size_t)(end - p))) {
        if (!infinite) return NUMBER_INFINITE;
        *out = *s == '-' ? -(double)INFINITY : (double)INFINITY;
        return NUMBER_GOOD;
    }
    if (end - p == 3 && (p[0] | 0x20) == 'n' && (p[1] | 0x20) == 'a' && (p[2] | 0x20) == 'n')
        return NUMBER_INFINITE;
    for (; p < end && is_digit(*p); ++p)
        ++digits;
    if (p < end && *p == '.')
        for (++p; p < end && is_digit(*p); ++p)
            ++digits;
    if (digits == 0) return NUMBER_SYNTAX;
    if (p < end && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p < end && (*p == '+' || *p == '-')) ++p;
        if (p == end) return NUMBER_SYNTAX;
        while (p < end && is_digit(*p))
            ++p;
        if (!is_digit(p[-1])) return NUMBER_SYNTAX;
    }
    if (p != end) return NUMBER_SYNTAX;
    double value = strtod(s, NULL); /* stops at the white space or NUL after the number */
    if (!infinite && !(fabs(value) <= DBL_MAX)) return NUMBER_INFINITE;
    *out = value;
    return NUMBER_GOOD;
}

/* Reads numbers from `text`, the value of <node name="text"> or, with name NULL, of
 * <node>text</node>. */
static bool read_numbers(soai_urdf *u, const xmlNode *node, const char *name, const char *text,
                         double *out, int count, bool infinite) {
    double value[4];
    int found = 0;
    const char *bad = NULL;
    size_t bad_length = 0;
    number_fault fault = NUMBER_GOOD;
    for (const char *s = text;;) {
        while (is_space(*s))
            ++s;
        if (*s == 0) break;
        size_t length = 0;
        while (s[length] != 0 && !is_space(s[length]))
            ++length;
        double x = 0;
        fault = read_number(s, length, infinite, &x);
        if (fault != NUMBER_GOOD) {
            bad = s;
            bad_length = length;
            break;
        }
        if (found < count) value[found] = x;
        ++found;
        s += length;
    }
    if (fault == NUMBER_GOOD && found == count) {
        memcpy(out, value, (size_t)count * sizeof *out);
        return true;
    }
    char where[160];
    if (name != NULL)
        snprintf(where, sizeof where, "<%.40s %.20s=\"%.*s\">", (const char *)node->name, name,
                 SHOWN, text);
    else
        snprintf(where, sizeof where, "<%.40s>%.*s", (const char *)node->name, SHOWN, text);
    int line = soai_urdf_line(node), shown = bad_length < SHOWN ? (int)bad_length : SHOWN;
    if (fault == NUMBER_INFINITE)
        soai_urdf_say(u, u->level, SOA_E_NOT_FINITE, line, "bad-number",
                      "%s '%.*s', %s: '%.*s' is not a finite number; write a finite one", u->kind,
                      SHOWN, u->name, where, shown, bad);
    else if (fault == NUMBER_SYNTAX && strstr(text, "${") != NULL)
        soai_urdf_say(u, u->level, SOA_E_FORMAT, line, "bad-number",
                      "%s '%.*s', %s: this is xacro, not URDF; run xacro on the file first",
                      u->kind, SHOWN, u->name, where);
    else if (fault == NUMBER_SYNTAX)
        soai_urdf_say(u, u->level, SOA_E_FORMAT, line, "bad-number",
                      "%s '%.*s', %s: '%.*s' is not a number; write numbers as 1.5 or -2e-3, "
                      "separated by blanks",
                      u->kind, SHOWN, u->name, where, shown, bad);
    else
        soai_urdf_say(u, u->level, SOA_E_FORMAT, line, "bad-number",
                      "%s '%.*s', %s: %d number%s found where %d %s needed; write %d", u->kind,
                      SHOWN, u->name, where, found, found == 1 ? "" : "s", count,
                      count == 1 ? "is" : "are", count);
    return false;
}

bool soai_urdf_numbers(soai_urdf *u, const xmlNode *node, const char *name, double *out, int count,
                       bool infinite) {
    const char *text = soai_urdf_attribute(node, name);
    return text != NULL && read_numbers(u, node, name, text, out, count, infinite);
}

bool soai_urdf_number_needed(soai_urdf *u, const xmlNode *node, const char *name, soa_status status,
                             double *out) {
    if (soai_urdf_attribute(node, name) != NULL)
        return soai_urdf_numbers(u, node, name, out, 1, false);
    soai_urdf_say(u, SOA_LINT_ERROR, status, soai_urdf_line(node), "missing-attribute",
                  "%s '%.*s', <%s>: attribute '%s' is missing; write %s=\"number\"", u->kind, SHOWN,
                  u->name, (const char *)node->name, name, name);
    return false;
}

soa_frame soai_urdf_origin(soai_urdf *u, const xmlNode *node) {
    double xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0}, q[4];
    soai_urdf_numbers(u, node, "xyz", xyz, 3, false);
    bool has_rpy = soai_urdf_numbers(u, node, "rpy", rpy, 3, false);
    if (!soai_urdf_numbers(u, node, "quat_xyzw", q, 4, false))
        return soa_frame_from_rpy(rpy[0], rpy[1], rpy[2], xyz[0], xyz[1], xyz[2]);

    double norm = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
    if (has_rpy)
        soai_urdf_say(u, u->level, SOA_E_FRAME, soai_urdf_line(node), "origin-twice",
                      "%s '%.*s', <origin>: rpy and quat_xyzw both given; keep one", u->kind, SHOWN,
                      u->name);
    if (!(fabs(norm - 1) <= 1e-3)) { /* more than digits cut off */
        soai_urdf_say(u, u->level, SOA_E_QUATERNION, soai_urdf_line(node), "quaternion",
                      "%s '%.*s', <origin quat_xyzw>: its length is %g; a rotation needs length 1, "
                      "divide by it",
                      u->kind, SHOWN, u->name, norm);
        return soa_frame_from_rpy(0, 0, 0, xyz[0], xyz[1], xyz[2]);
    }
    double s = hypot(hypot(q[0], q[1]), q[2]), axis[3] = {0, 0, 1};
    if (s > 0)
        for (int i = 0; i < 3; ++i)
            axis[i] = q[i] / s;
    return soa_frame_from_axis_angle(axis, 2 * atan2(s, q[3]), xyz);
}

/* --- names ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
    const soai_urdf_name *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

void soai_urdf_sort(soai_urdf_name *names, int count) {
    qsort(names, (size_t)count, sizeof *names, compare_names);
}

int soai_urdf_find(const soai_urdf_name *names, int count, const char *name) {
    int low = 0, high = count; /* first entry not before `name` */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(names[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(names[low].name, name) == 0 ? names[low].index : -1;
}

const char *soai_urdf_nearest(const char *word, const char *const *words) {
    soai_nearest search = soai_nearest_to(word);
    for (; *words != NULL; ++words)
        soai_nearest_try(&search, *words);
    return search.best;
}

const char *soai_urdf_hint(soai_urdf *u, bool links, const char *word, const char *except,
                           const char *otherwise, char hint[SOAI_HINT]) {
    soai_nearest search = soai_nearest_to(word);
    const soai_urdf_name *names = links ? u->link_names : u->joint_names;
    const int count = links ? u->link_count : u->joint_count;
    for (int i = 0;
         i < count && u->compared < MAX_COMPARED && (u->sink != NULL || u->status == SOA_OK); ++i) {
        if (except != NULL && strcmp(names[i].name, except) == 0) continue;
        if (!links && !soai_urdf_one_dof(u->joints[names[i].index].def.type)) continue;
        soai_nearest_try(&search, names[i].name);
        ++u->compared;
    }
    return search.best != NULL ? soai_nearest_hint(&search, hint) : otherwise;
}

/* --- links and joints ------------------------------------------------------------------------- */

/* R I R' for I = xx yy zz xy xz yz. */
static void rotate_inertia(const double R[9], double I[6]) {
    const double A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    double B[9], C[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            B[3 * i + j] = R[3 * i] * A[j] + R[3 * i + 1] * A[3 + j] + R[3 * i + 2] * A[6 + j];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            C[3 * i + j] =
                B[3 * i] * R[3 * j] + B[3 * i + 1] * R[3 * j + 1] + B[3 * i + 2] * R[3 * j + 2];
    I[0] = C[0];
    I[1] = C[4];
    I[2] = C[8];
    I[3] = 0.5 * (C[1] + C[3]);
    I[4] = 0.5 * (C[2] + C[6]);
    I[5] = 0.5 * (C[5] + C[7]);
}

/* By Jacobi's rotations; scaled against overflow. */
void soai_urdf_moments(const double I[6], double w[3]) {
    double most = 0;
    for (int i = 0; i < 6; ++i)
        most = fmax(most, fabs(I[i]));
    if (most == 0) {
        w[0] = w[1] = w[2] = 0;
        return;
    }
    double A[3][3] = {{I[0] / most, I[3] / most, I[4] / most},
                      {I[3] / most, I[1] / most, I[5] / most},
                      {I[4] / most, I[5] / most, I[2] / most}};
    for (int sweep = 0; sweep < 12; ++sweep)
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                if (fabs(A[p][q]) < 1e-300) continue;
                double tau = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
                double c = 1 / sqrt(1 + t * t), s = t * c;
                for (int k = 0; k < 3; ++k) { /* A G, then G' A */
                    double x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; ++k) {
                    double x = A[p][k], y = A[q][k];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                }
            }
    for (int i = 0; i < 3; ++i)
        w[i] = A[i][i] * most;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2 - i; ++j)
            if (w[j] > w[j + 1]) {
                double x = w[j];
                w[j] = w[j + 1];
                w[j + 1] = x;
            }
}

void soai_urdf_name_needed(soai_urdf *u, int line) {
    if (u->name[0] == 0)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_NAME, line, "missing-name",
                      "a <%s> has no name; write <%s name=\"...\">", u->kind, u->kind);
}

int soai_urdf_missing(const xmlNode *node, const char *const *names, int count,
                      char text[SOAI_URDF_SHOWN]) {
    int missing = 0;
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < count; ++i)
        if (soai_urdf_attribute(node, names[i]) == NULL)
            used += (size_t)snprintf(text + used, SHOWN - used, "%s'%.5s'", missing++ ? ", " : "",
                                     names[i]);
    return missing;
}

/* Mass and inertia that no body has. */
static void judge_inertial(soai_urdf *u, const soai_urdf_link *link, const xmlNode *mass,
                           const xmlNode *inertia) {
    double w[3];
    soai_urdf_moments(link->inertia, w);
    if (link->mass < 0)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_INERTIA, soai_urdf_line(mass), "negative-mass",
                      "link '%.*s': mass %g kg; a mass cannot be negative, correct it", SHOWN,
                      link->name, link->mass);
    if (w[0] < -1e-9 * fmax(fabs(w[0]), fabs(w[2]))) /* w ascends */
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_INERTIA, soai_urdf_line(inertia),
                      "inertia-indefinite",
                      "link '%.*s': principal moments %g %g %g kg m^2; none can be negative, "
                      "correct <inertia> (signs "
                      "of the products?)",
                      SHOWN, link->name, w[0], w[1], w[2]);
}

static void read_link(soai_urdf *u, soai_urdf_link *link, const xmlNode *node) {
    const char *name = soai_urdf_attribute(node, "name");
    *link = (soai_urdf_link){
        .node = node, .name = name != NULL ? name : "", .line = soai_urdf_line(node)};
    link->joint = link->first = link->last = -1;
    u->kind = "link";
    u->name = link->name;
    soai_urdf_name_needed(u, link->line);

    const xmlNode *inertial = link->inertial = soai_urdf_child(node, "inertial", NULL);
    if (inertial == NULL) return;
    const xmlNode *origin = soai_urdf_child(inertial, "origin", NULL);
    const xmlNode *mass = soai_urdf_child(inertial, "mass", NULL);
    const xmlNode *inertia = soai_urdf_child(inertial, "inertia", NULL);
    const int errors = u->errors;
    soa_frame frame = soai_urdf_origin(u, origin);
    memcpy(link->com, frame.p, sizeof link->com);
    if (mass != NULL)
        link->has_mass = soai_urdf_number_needed(u, mass, "value", SOA_E_INERTIA, &link->mass);
    else if (inertia != NULL || origin != NULL)
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_INERTIA, soai_urdf_line(inertial), "inertial-incomplete",
            "link '%.*s': <inertial> without <mass>; add <mass value=\"kg\"/> or remove <inertial>",
            SHOWN, link->name);
    static const char *const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    char list[SOAI_URDF_SHOWN];
    const int missing = inertia != NULL ? soai_urdf_missing(inertia, names, 3, list) : 0;
    link->has_inertia = inertia != NULL;
    if (missing > 0)
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_INERTIA, soai_urdf_line(inertia), "missing-attribute",
            "link '%.*s', <inertia>: attribute%s %s %s missing; write %s as a number in kg m^2",
            SHOWN, link->name, missing > 1 ? "s" : "", list, missing > 1 ? "are" : "is",
            missing > 1 ? "each" : "it");
    for (int i = 0; i < 6; ++i)
        soai_urdf_numbers(u, inertia, names[i], &link->inertia[i], 1, false);
    const char *rpy = soai_urdf_attribute(origin, "rpy"),
               *quat = soai_urdf_attribute(origin, "quat_xyzw");
    if (rpy != NULL || quat != NULL) rotate_inertia(frame.R, link->inertia);
    if (u->errors == errors) judge_inertial(u, link, mass, inertia);
    link->faulty = u->errors != errors;
}

static const struct {
    const char *name;
    soa_joint_type type;
} joint_types[] = {
    {"revolute", SOA_REVOLUTE},   {"continuous", SOA_REVOLUTE}, {"prismatic", SOA_PRISMATIC},
    {"fixed", SOA_FIXED},         {"floating", SOA_FREE},       {"planar", SOA_PLANAR},
    {"spherical", SOA_SPHERICAL}, {"universal", SOA_UNIVERSAL}, {"cylindrical", SOA_CYLINDRICAL},
    {"helical", SOA_HELICAL},
};
enum { JOINT_TYPES = sizeof joint_types / sizeof *joint_types };

const char *const soai_urdf_joint_types[] = {"revolute",    "continuous", "prismatic", "fixed",
                                             "floating",    "planar",     "spherical", "universal",
                                             "cylindrical", "helical",    NULL};

bool soai_urdf_one_dof(soa_joint_type type) {
    return soai_nv_of(type) == 1;
}

bool soai_urdf_type(const char *name, soa_joint_type *type) {
    for (int i = 0; i < JOINT_TYPES; ++i)
        if (strcmp(name, joint_types[i].name) == 0) {
            *type = joint_types[i].type;
            return true;
        }
    return false;
}

static void read_type(soai_urdf *u, soai_urdf_joint *joint) {
    soa_joint_type type;
    joint->known = soai_urdf_type(joint->type, &type);
    if (joint->known) joint->def = soa_joint_default(type);
    joint->continuous = strcmp(joint->type, "continuous") == 0;
    if (joint->known) return;
    const char *nearest = soai_urdf_nearest(joint->type, soai_urdf_joint_types);
    if (joint->type[0] == 0)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, joint->line, "joint-type",
                      "joint '%.*s' has no type; write type=\"revolute\", \"fixed\" or another",
                      SHOWN, joint->name);
    else if (nearest != NULL)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, joint->line, "joint-type",
                      "joint '%.*s': type '%.*s' is unknown; did you mean '%s'?", SHOWN,
                      joint->name, SHOWN, joint->type, nearest);
    else
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, joint->line, "joint-type",
                      "joint '%.*s': type '%.*s' is unknown; use revolute, continuous, prismatic, "
                      "fixed, floating, "
                      "planar, spherical, universal, cylindrical or helical",
                      SHOWN, joint->name, SHOWN, joint->type);
}

/* Index of the link that <parent> or <child> names. */
static int read_end(soai_urdf *u, const soai_urdf_joint *joint, const char *which) {
    const xmlNode *node = soai_urdf_child(joint->node, which, NULL);
    const char *name = soai_urdf_attribute(node, "link");
    if (name == NULL || name[0] == 0) {
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_TREE,
                      node != NULL ? soai_urdf_line(node) : joint->line,
                      which[0] == 'p' ? "missing-parent" : "missing-child",
                      "joint '%.*s' names no %s link; add <%s link=\"...\"/>", SHOWN, joint->name,
                      which, which);
        return -1;
    }
    int link = soai_urdf_find(u->link_names, u->link_count, name);
    if (link < 0) {
        char hint[SOAI_HINT];
        const char *other = soai_urdf_attribute(
            soai_urdf_child(joint->node, which[0] == 'p' ? "child" : "parent", NULL), "link");
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_NAME, soai_urdf_line(node), "unknown-link",
            "joint '%.*s': %s link '%.*s' does not exist%s", SHOWN, joint->name, which, SHOWN, name,
            soai_urdf_hint(u, true, name, other, "; add the link or correct the name", hint));
    }
    return link;
}

double soai_urdf_normalize(double a[3]) {
    double most = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
    if (!(most >= DBL_MIN)) return 0;
    for (int i = 0; i < 3; ++i)
        a[i] /= most;
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; ++i)
        a[i] /= length;
    return fmin(most * length, DBL_MAX);
}

void soai_urdf_rotor_axis(soai_urdf *u, const xmlNode *soa, double axis[3]) {
    double written[3];
    if (!soai_urdf_numbers(u, soa, "rotor_axis", written, 3, false)) return;
    if (soai_urdf_normalize(written) > 0)
        memcpy(axis, written, sizeof written);
    else
        soai_urdf_say(u, SOA_LINT_WARNING, SOA_OK, soai_urdf_line(soa), "axis-zero",
                      "%s '%.*s': <soa rotor_axis=\"%.*s\"> has no direction, the joint's axis is "
                      "taken; write one, or "
                      "remove it",
                      u->kind, SHOWN, u->name, SHOWN, soai_urdf_attribute(soa, "rotor_axis"));
}

/* Direction in the plane with normal n: the coordinate axis after n's largest one (z -> x, x -> y,
 * y -> z), made perpendicular to n.  (axis2, n x axis2, n) is right-handed. */
void soai_urdf_plane_direction(const double n[3], double axis2[3]) {
    int k = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(n[i]) > fabs(n[k])) k = i;
    int e = (k + 1) % 3;
    for (int i = 0; i < 3; ++i)
        axis2[i] = (i == e ? 1.0 : 0.0) - n[e] * n[i];
    soai_urdf_normalize(axis2);
}

static void read_axis(soai_urdf *u, soai_urdf_joint *joint) {
    soa_joint_def *def = &joint->def;
    double axis[3] = {1, 0, 0};
    const xmlNode *node = soai_urdf_child(joint->node, "axis", NULL);
    joint->axis_length = 1;
    memcpy(def->axis, axis, sizeof axis);
    if (soai_urdf_numbers(u, node, "xyz", axis, 3, false)) {
        double written[3];
        memcpy(written, axis, sizeof axis);
        joint->axis_length = soai_urdf_normalize(axis);
        if (joint->axis_length > 0)
            memcpy(def->axis, joint->axis_length == 1 ? written : axis, sizeof axis);
        else
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, soai_urdf_line(node), "axis-zero",
                          "joint '%.*s': <axis xyz=\"%.*s\"> has no direction; write the joint's "
                          "axis, e.g. \"0 0 1\"",
                          SHOWN, joint->name, SHOWN, soai_urdf_attribute(node, "xyz"));
    }
    if (def->type == SOA_PLANAR) soai_urdf_plane_direction(def->axis, def->axis2);
}

void soai_urdf_not_negative(soai_urdf *u, const xmlNode *node, const char *name,
                            soa_status status) {
    double value = 0;
    const soa_lint_level level = u->level;
    soai_urdf_sink *sink = u->sink;
    u->level = SOA_LINT_NOTE;
    u->sink = NULL; /* what is no number was told before */
    soai_urdf_numbers(u, node, name, &value, 1, false);
    u->level = level;
    u->sink = sink;
    if (value < 0)
        soai_urdf_say(u, SOA_LINT_ERROR, status, soai_urdf_line(node), "joint-negative",
                      "%s '%.*s': <%s %s=\"%.*s\"> is negative; write its size", u->kind, SHOWN,
                      u->name, (const char *)node->name, name, SHOWN,
                      soai_urdf_attribute(node, name));
}

/* What <soa> gives to the wrong joint. */
static void judge_extension(soai_urdf *u, const soai_urdf_joint *joint, const xmlNode *soa) {
    const soa_joint_def *def = &joint->def;
    const double *a = def->axis, *b = def->axis2, along = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                             a[0] * b[1] - a[1] * b[0]};
    const int line = soai_urdf_line(soa);
    if (def->type == SOA_UNIVERSAL &&
        !(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2] > 1e-12))
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, line, "axis-parallel",
                      "joint '%.*s': <soa axis2=\"%.*s\"> is parallel to the axis (%g %g %g); "
                      "write another direction",
                      SHOWN, joint->name, SHOWN, soai_urdf_attribute(soa, "axis2"), a[0], a[1],
                      a[2]);
    if (def->type == SOA_PLANAR && !(fabs(along) <= 1e-9))
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, line, "axis-not-in-plane",
                      "joint '%.*s': <soa axis2=\"%.*s\"> leaves the plane with normal (%g %g %g), "
                      "the cosine between "
                      "them is %g; write a direction in the plane",
                      SHOWN, joint->name, SHOWN, soai_urdf_attribute(soa, "axis2"), a[0], a[1],
                      a[2], along);
    if (def->rotor_inertia > 0 && def->rotor_model == SOA_ROTOR_EXACT &&
        !soai_urdf_one_dof(def->type))
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, line, "soa-rotor-model",
                      "joint '%.*s' is %s: exact rotors need a revolute, continuous, prismatic or "
                      "helical one; write "
                      "rotor_model=\"reflected\"",
                      SHOWN, joint->name, joint->type);
    if (def->stiffness != 0 && (def->type == SOA_SPHERICAL || def->type == SOA_FREE))
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_JOINT, line, "soa-stiffness",
            "joint '%.*s' is %s and cannot have a spring (stiffness %g); remove stiffness", SHOWN,
            joint->name, joint->type, def->stiffness);
}

static void read_extension(soai_urdf *u, soai_urdf_joint *joint) {
    soa_joint_def *def = &joint->def;
    const xmlNode *soa = soai_urdf_child(joint->node, "soa", NULL);
    int line = soa != NULL ? soai_urdf_line(soa) : joint->line;
    bool has_axis2 = soai_urdf_attribute(soa, "axis2") != NULL,
         has_pitch = soai_urdf_attribute(soa, "pitch") != NULL;
    if (def->type == SOA_UNIVERSAL && !has_axis2)
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_JOINT, line, "soa-missing",
            "joint '%.*s': a universal joint needs a second axis; add <soa axis2=\"x y z\"/>",
            SHOWN, joint->name);
    if (def->type == SOA_HELICAL && !has_pitch)
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_JOINT, line, "soa-missing",
            "joint '%.*s': a helical joint needs a pitch; add <soa pitch=\"metres per radian\"/>",
            SHOWN, joint->name);
    if (soa == NULL) return;

    double axis2[3];
    if (soai_urdf_numbers(u, soa, "axis2", axis2, 3, false)) {
        if (soai_urdf_normalize(axis2) > 0)
            memcpy(def->axis2, axis2, sizeof axis2);
        else
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, line, "axis-zero",
                          "joint '%.*s': <soa axis2=\"%.*s\"> has no direction; write a second "
                          "axis, e.g. \"0 1 0\"",
                          SHOWN, joint->name, SHOWN, soai_urdf_attribute(soa, "axis2"));
    }
    soai_urdf_rotor_axis(u, soa, def->rotor_axis);
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"pitch", &def->pitch},
                   {"rotor_inertia", &def->rotor_inertia},
                   {"gear_ratio", &def->gear_ratio},
                   {"stiffness", &def->stiffness},
                   {"rest", &def->rest},
                   {"friction_positive", &def->friction_positive},
                   {"friction_negative", &def->friction_negative}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        soai_urdf_numbers(u, soa, numbers[i].name, numbers[i].value, 1, false);

    const char *model = soai_urdf_attribute(soa, "rotor_model");
    if (model == NULL) return;
    if (strcmp(model, "reflected") == 0)
        def->rotor_model = SOA_ROTOR_REFLECTED;
    else if (strcmp(model, "exact") == 0)
        def->rotor_model = SOA_ROTOR_EXACT;
    else
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_JOINT, line, "soa-rotor-model",
                      "joint '%.*s': <soa rotor_model=\"%.*s\">: write \"reflected\" or \"exact\"",
                      SHOWN, joint->name, SHOWN, model);
}

/* URDF: lower and upper default to 0 where a joint has a range (revolute, prismatic). */
static void read_limit(soai_urdf *u, soai_urdf_joint *joint) {
    soa_joint_def *def = &joint->def;
    const xmlNode *limit = soai_urdf_child(joint->node, "limit", NULL);
    if (limit == NULL) return;
    if (!joint->continuous) {
        if (def->type == SOA_REVOLUTE || def->type == SOA_PRISMATIC) def->lower = def->upper = 0;
        soai_urdf_numbers(u, limit, "lower", &def->lower, 1, true);
        soai_urdf_numbers(u, limit, "upper", &def->upper, 1, true);
    }
    soai_urdf_numbers(u, limit, "velocity", &def->max_speed, 1, true);
    soai_urdf_numbers(u, limit, "effort", &def->max_effort, 1, true);
}

static void read_mimic(soai_urdf *u, soai_urdf_joint *joint) {
    soa_joint_def *def = &joint->def;
    const xmlNode *mimic = soai_urdf_child(joint->node, "mimic", NULL);
    if (mimic == NULL) return;
    joint->mimic_name = soai_urdf_attribute(mimic, "joint");
    if (joint->mimic_name != NULL && joint->mimic_name[0] == 0) joint->mimic_name = NULL;
    joint->mimic_line = soai_urdf_line(mimic);
    def->mimic_ratio = 1;
    def->mimic_offset = 0;
    soai_urdf_numbers(u, mimic, "multiplier", &def->mimic_ratio, 1, false);
    soai_urdf_numbers(u, mimic, "offset", &def->mimic_offset, 1, false);
    if (joint->mimic_name == NULL)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, joint->mimic_line, "mimic-unknown",
                      "joint '%.*s': <mimic> names no joint; write <mimic joint=\"...\"/>", SHOWN,
                      joint->name);
    if (joint->known && !soai_urdf_one_dof(def->type)) {
        joint->mimic_name = NULL;
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, joint->mimic_line, "mimic-type",
                      "joint '%.*s' is %s: only revolute, continuous, prismatic and helical joints "
                      "can mimic; remove <mimic>",
                      SHOWN, joint->name, joint->type);
    }
}

static void read_joint(soai_urdf *u, soai_urdf_joint *joint, const xmlNode *node) {
    const char *name = soai_urdf_attribute(node, "name"), *type = soai_urdf_attribute(node, "type");
    *joint = (soai_urdf_joint){
        .node = node, .name = name != NULL ? name : "", .line = soai_urdf_line(node)};
    joint->type = type != NULL ? type : "";
    joint->def = soa_joint_default(SOA_FIXED);
    joint->parent = joint->child = joint->next = joint->follows = -1;
    u->kind = "joint";
    u->name = joint->name;
    soai_urdf_name_needed(u, joint->line);
    read_type(u, joint);
    joint->parent = read_end(u, joint, "parent");
    joint->child = read_end(u, joint, "child");
    int errors = u->errors;
    joint->placement = soai_urdf_origin(u, soai_urdf_child(node, "origin", NULL));
    joint->faulty = !joint->known || u->errors != errors;
    /* what else stands there has no meaning */
    if (!joint->known || joint->def.type == SOA_FIXED) return;

    soa_joint_def *def = &joint->def;
    const xmlNode *soa = soai_urdf_child(node, "soa", NULL);
    if (def->type != SOA_FREE && def->type != SOA_SPHERICAL) read_axis(u, joint);
    joint->faulty |= u->errors != errors;
    const xmlNode *dynamics = soai_urdf_child(node, "dynamics", NULL);
    soai_urdf_numbers(u, dynamics, "damping", &def->damping, 1, false);
    soai_urdf_numbers(u, dynamics, "friction", &def->friction_positive, 1, false);
    def->friction_negative = def->friction_positive;
    soai_urdf_not_negative(u, dynamics, "damping", SOA_E_JOINT);
    soai_urdf_not_negative(u, dynamics, "friction", SOA_E_JOINT);
    int before = u->errors;
    read_limit(u, joint);
    joint->faulty_limit = u->errors != before;
    read_mimic(u, joint);
    before = u->errors;
    read_extension(u, joint);
    soai_urdf_not_negative(u, soa, "rotor_inertia", SOA_E_JOINT);
    soai_urdf_not_negative(u, soa, "friction_positive", SOA_E_JOINT);
    soai_urdf_not_negative(u, soa, "friction_negative", SOA_E_JOINT);
    if (soa != NULL && u->errors == before) judge_extension(u, joint, soa);
    joint->faulty |= u->errors != before;
}

/* <mechanicalReduction> is used for joints whose rotor inertia is given, and only where <soa> gives
 * no gear ratio. */
static void read_transmission(soai_urdf *u, const xmlNode *transmission) {
    const char *name = soai_urdf_attribute(transmission, "name");
    const xmlNode *actuator = soai_urdf_child(transmission, "actuator", NULL);
    const xmlNode *common = soai_urdf_child(actuator, "mechanicalReduction", NULL);
    if (common == NULL) common = soai_urdf_child(transmission, "mechanicalReduction", NULL);
    for (const xmlNode *node = NULL;
         (node = soai_urdf_child(transmission, "joint", node)) != NULL;) {
        const char *joint_name = soai_urdf_attribute(node, "name");
        int j =
            joint_name != NULL ? soai_urdf_find(u->joint_names, u->joint_count, joint_name) : -1;
        if (j < 0 || !(u->joints[j].def.rotor_inertia > 0)) continue;
        if (soai_urdf_attribute(soai_urdf_child(u->joints[j].node, "soa", NULL), "gear_ratio") !=
            NULL)
            continue;
        const xmlNode *reduction = soai_urdf_child(node, "mechanicalReduction", NULL);
        if (reduction == NULL) reduction = common;
        if (reduction == NULL) continue;
        const xmlNode *text = reduction->children;
        u->kind = "transmission";
        u->name = name != NULL ? name : "";
        read_numbers(u, reduction, NULL,
                     text != NULL && text->content != NULL ? (const char *)text->content : "",
                     &u->joints[j].def.gear_ratio, 1, false);
    }
}

/* --- tree ------------------------------------------------------------------------------------- */

/* q_a = r q_b + o and q_b = s q_c + p  give  q_a = r s q_c + (r p + o).  Each joint is visited
 * twice at most. */
static void resolve_mimics(soai_urdf *u, int *path) {
    for (int j = 0; j < u->joint_count; ++j) {
        soai_urdf_joint *joint = &u->joints[j];
        if (joint->mimic_name == NULL) continue;
        int k = joint->follows = soai_urdf_find(u->joint_names, u->joint_count, joint->mimic_name);
        char hint[SOAI_HINT];
        if (k < 0)
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, joint->mimic_line, "mimic-unknown",
                          "joint '%.*s': mimics joint '%.*s', which does not exist%s", SHOWN,
                          joint->name, SHOWN, joint->mimic_name,
                          soai_urdf_hint(u, false, joint->mimic_name, joint->name,
                                         "; correct the name", hint));
        else if (u->joints[k].known && !soai_urdf_one_dof(u->joints[k].def.type)) {
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, joint->mimic_line, "mimic-type",
                          "joint '%.*s' mimics joint '%.*s', which is %s; it must follow a "
                          "revolute, continuous, "
                          "prismatic or helical one",
                          SHOWN, joint->name, SHOWN, joint->mimic_name, u->joints[k].type);
            joint->follows = -1;
        } else
            u->joints[k].followed = true;
    }
    for (int start = 0; start < u->joint_count; ++start) {
        int length = 0, j = start;
        while (u->joints[j].mark == 0 && u->joints[j].follows >= 0) {
            u->joints[j].mark = 1;
            path[length++] = j;
            j = u->joints[j].follows;
        }
        if (u->joints[j].mark == 1 && u->joints[j].follows == j)
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, u->joints[j].mimic_line, "mimic-cycle",
                          "joint '%.*s' mimics itself; name another joint, or remove <mimic>",
                          SHOWN, u->joints[j].name);
        else if (u->joints[j].mark == 1)
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, u->joints[j].mimic_line, "mimic-cycle",
                          "joint '%.*s' mimics itself through '%.*s'; let one joint of the ring "
                          "move on its own",
                          SHOWN, u->joints[j].name, SHOWN, u->joints[j].mimic_name);
        u->joints[j].mark = 2;
        while (length > 0) {
            soai_urdf_joint *joint = &u->joints[path[--length]];
            const soai_urdf_joint *next = &u->joints[joint->follows];
            joint->mark = 2;
            if (next->def.mimic < 0)
                joint->def.mimic = joint->follows; /* an index here, the link's number when built */
            else {
                joint->def.mimic = next->def.mimic;
                joint->def.mimic_offset += joint->def.mimic_ratio * next->def.mimic_offset;
                joint->def.mimic_ratio *= next->def.mimic_ratio;
                if (!isfinite(joint->def.mimic_ratio) || !isfinite(joint->def.mimic_offset))
                    soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_MIMIC, joint->mimic_line, "mimic-ratio",
                                  "joint '%.*s' follows '%.*s', and so on: its multipliers or "
                                  "offsets together are too "
                                  "large for a number; correct them",
                                  SHOWN, joint->name, SHOWN, joint->mimic_name);
            }
        }
    }
}

static void connect(soai_urdf *u) {
    for (int j = 0; j < u->joint_count; ++j) {
        soai_urdf_joint *joint = &u->joints[j];
        if (joint->child < 0) continue;
        soai_urdf_link *child = &u->links[joint->child];
        if (child->joint >= 0) {
            soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_TREE, joint->line, "two-parents",
                          "link '%.*s' is the child of joint '%.*s' and of joint '%.*s' (line %d); "
                          "a tree allows one; "
                          "remove a joint, or make it a <loop_joint>",
                          SHOWN, child->name, SHOWN, joint->name, SHOWN,
                          u->joints[child->joint].name, u->joints[child->joint].line);
            continue;
        }
        child->joint = j;
        if (joint->parent < 0) continue;
        soai_urdf_link *parent = &u->links[joint->parent];
        if (parent->last >= 0)
            u->joints[parent->last].next = j;
        else
            parent->first = j;
        parent->last = j;
    }
}

/* Depth first from link `root`, without a stack: up goes through the carrying joint. */
static void walk(soai_urdf *u, int root) {
    for (int link = root; link >= 0;) {
        u->order[u->order_count++] = link;
        u->links[link].number = u->order_count;
        int joint = u->links[link].first;
        while (joint < 0 && link != root) {
            int up = u->links[link].joint;
            joint = u->joints[up].next;
            link = u->joints[up].parent;
        }
        link = joint >= 0 ? u->joints[joint].child : -1;
    }
}

static void plant(soai_urdf *u) {
    int roots = 0, second = -1, told = 0; /* told: roots that came of what was said of a name */
    char names[128] = "";
    size_t used = 0;
    u->root = -1;
    for (int i = 0; i < u->link_count; ++i) {
        if (u->links[i].joint >= 0) continue;
        const char *name = u->links[i].name;
        told += name[0] == 0 || soai_urdf_find(u->link_names, u->link_count, name) != i;
        if (++roots == 1) u->root = i;
        if (roots == 2) second = i;
        if (roots <= 3 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s'%.32s'",
                                     roots > 1 ? ", " : "", u->links[i].name);
        walk(u, i); /* several roots: refused, but the linter still looks at every tree */
    }
    if (u->link_count == 0)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_TREE, soai_urdf_line(u->robot), "no-link",
                      "the robot has no <link>; a model needs one at least");
    for (int j = 0; j < u->joint_count; ++j)
        told += u->joints[j].child < 0;
    if (roots > 1) u->root = -1;
    if (roots > 1 + told)
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_TREE, u->links[second].line, "several-roots",
                      "%d links are no joint's child: %s%s; one root is allowed; connect the "
                      "others by joints",
                      roots, names, roots > 3 ? ", ..." : "");
    /* A link not reached hangs on a ring of joints: link_count steps towards the root end inside
     * it. Each ring is named once: its links, and those on it, are marked by number = -1. */
    for (int i = 0; i < u->link_count; ++i) {
        int link = i;
        while (link >= 0 && u->links[link].number == 0) {
            u->links[link].number = -1 - i;
            link = u->joints[u->links[link].joint].parent;
        }
        /* unknown parent, or a tree or ring already named */
        if (link < 0 || u->links[link].number != -1 - i) continue;
        const soai_urdf_joint *joint = &u->joints[u->links[link].joint];
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_TREE, joint->line, "cycle",
                      "joint '%.*s' closes a ring of links through '%.*s'; remove a joint of the "
                      "ring, or make it a "
                      "<loop_joint>",
                      SHOWN, joint->name, SHOWN, u->links[link].name);
    }
    for (int i = 0; i < u->link_count; ++i)
        if (u->links[i].number < 0) u->links[i].number = 0;
}

static int count_children(const xmlNode *parent, const char *name) {
    int count = 0;
    for (const xmlNode *node = NULL; (node = soai_urdf_child(parent, name, node)) != NULL;)
        ++count;
    return count;
}

void *soai_urdf_memory(size_t count, size_t size) {
    /* counts are below MAX_BYTES / 7: no overflow */
    return xmlMalloc((count > 0 ? count : 1) * size);
}

static void report_duplicates(soai_urdf *u, const soai_urdf_name *names, int count, bool links) {
    for (int i = 1; i < count; ++i) {
        if (names[i].name[0] == 0 || strcmp(names[i - 1].name, names[i].name) != 0) continue;
        int here = links ? u->links[names[i].index].line : u->joints[names[i].index].line;
        int there = links ? u->links[names[i - 1].index].line : u->joints[names[i - 1].index].line;
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_NAME, here, "duplicate-name",
            "%s name '%.*s' is used twice, before on line %d; give one of them another name",
            links ? "link" : "joint", SHOWN, names[i].name, there);
    }
}

static void sort_names(soai_urdf *u, soai_urdf_name *names, int count, bool links) {
    for (int i = 0; i < count; ++i)
        names[i] = (soai_urdf_name){links ? u->links[i].name : u->joints[i].name, i};
    soai_urdf_sort(names, count);
    report_duplicates(u, names, count, links);
}

/* What else a file of robots may be. */
static const char *other_format(const xmlNode *root) {
    const char *name = root != NULL ? (const char *)root->name : "";
    if (strcmp(name, "mujoco") == 0) return "MJCF";
    if (strcmp(name, "sdf") == 0) return "SDF";
    return "something else";
}

soa_status soai_urdf_open(soai_urdf *u, const char *text, size_t length, const char *name) {
    u->file = name != NULL ? name : "(memory)";
    u->level = SOA_LINT_ERROR;
    u->root = -1;
    u->kind = u->name = "";
    u->report = (soa_report){.status = SOA_OK, .body = -1};
    if ((u->doc = read_xml(u, text, length)) == NULL) return u->status;
    const xmlNode *robot = u->robot = xmlDocGetRootElement(u->doc);
    if (robot == NULL || !soai_urdf_is(robot, "robot")) {
        soai_urdf_say(
            u, SOA_LINT_ERROR, SOA_E_FORMAT, soai_urdf_line(robot), "robot-element",
            "the outermost element is <%.*s>, not <robot>: this is %s, not URDF; convert it first",
            SHOWN, robot != NULL ? (const char *)robot->name : "", other_format(robot));
        return u->status;
    }
    int links = count_children(robot, "link"), joints = count_children(robot, "joint"), count = 0;
    int constraints = count_children(robot, "loop_joint") + count_children(robot, "constraint");
    if (links > MAX_LINKS || joints > MAX_LINKS || constraints > MAX_LINKS) {
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_FORMAT, 0, "too-large",
                      "%d links, %d joints and %d constraints: a URDF may have %d of each; larger "
                      "machines are built in "
                      "C (soa_model_create) and saved",
                      links, joints, constraints, MAX_LINKS);
        return u->status;
    }
    int *path = soai_urdf_memory((size_t)joints, sizeof *path);
    u->links = soai_urdf_memory((size_t)links, sizeof *u->links);
    u->joints = soai_urdf_memory((size_t)joints, sizeof *u->joints);
    u->link_names = soai_urdf_memory((size_t)links, sizeof *u->link_names);
    u->joint_names = soai_urdf_memory((size_t)joints, sizeof *u->joint_names);
    u->order = soai_urdf_memory((size_t)links, sizeof *u->order);
    u->constraints = soai_urdf_memory((size_t)constraints, sizeof *u->constraints);
    if (!u->constraints || !path || !u->links || !u->joints || !u->link_names || !u->joint_names ||
        !u->order) {
        if (path) xmlFree(path);
        soai_urdf_no_memory(u);
        return u->status;
    }
    for (const xmlNode *n = NULL; (n = soai_urdf_child(robot, "link", n)) != NULL;)
        read_link(u, &u->links[count++], n);
    u->link_count = count;
    sort_names(u, u->link_names, u->link_count, true);
    count = 0;
    for (const xmlNode *n = NULL; (n = soai_urdf_child(robot, "joint", n)) != NULL;)
        read_joint(u, &u->joints[count++], n);
    u->joint_count = count;
    sort_names(u, u->joint_names, u->joint_count, false);
    for (const xmlNode *n = NULL; (n = soai_urdf_child(robot, "transmission", n)) != NULL;)
        read_transmission(u, n);
    connect(u);
    plant(u);
    resolve_mimics(u, path);
    xmlFree(path);
    if (constraints > 0) soai_urdf_read_constraints(u);
    return u->status;
}

void soai_urdf_close(soai_urdf *u) {
    void *blocks[] = {u->links, u->joints, u->link_names, u->joint_names, u->order, u->constraints};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i)
        if (blocks[i] != NULL) xmlFree(blocks[i]);
    xmlFreeDoc(u->doc);
    u->links = NULL;
    u->joints = NULL;
    u->link_names = u->joint_names = NULL;
    u->order = NULL;
    u->doc = NULL;
    u->constraints = NULL;
}

/* --- model ------------------------------------------------------------------------------------ */

/* The builder names a body; say the line of what it complains about. */
static void place_report(soai_urdf *u, soa_status status, const soa_report *built) {
    int line = 0;
    if (built->body >= 1 && built->body <= u->order_count) {
        const soai_urdf_link *link = &u->links[u->order[built->body - 1]];
        const soai_urdf_joint *joint = link->joint >= 0 ? &u->joints[link->joint] : NULL;
        bool of_joint = status == SOA_E_JOINT || status == SOA_E_FRAME || status == SOA_E_MIMIC;
        if (status == SOA_E_INERTIA && link->inertial != NULL)
            line = soai_urdf_line(link->inertial);
        else if (of_joint && joint != NULL)
            line = joint->line;
        else
            line = link->line;
    }
    fill_report(&u->report, status, u->file, line,
                built->text[0] != 0 ? built->text : soa_status_text(status));
    u->report.body = built->body;
}

soa_status soai_urdf_build(soai_urdf *u, const soa_read_options *options, const soa_model **model) {
    bool floating = options != NULL && options->floating;
    int taken = soai_urdf_find(u->joint_names, u->joint_count, "root");
    if (floating && taken >= 0 && u->joints[taken].def.type != SOA_FIXED) {
        soai_urdf_say(u, SOA_LINT_ERROR, SOA_E_NAME, u->joints[taken].line, "root-name",
                      "joint 'root' has the name of the floating base's own joint; rename it");
        return u->status;
    }
    soa_body_def *bodies = soai_urdf_memory((size_t)u->order_count, sizeof *bodies);
    if (bodies == NULL) {
        soai_urdf_no_memory(u);
        return u->status;
    }
    for (int i = 0; i < u->order_count; ++i) {
        const soai_urdf_link *link = &u->links[u->order[i]];
        const soai_urdf_joint *joint = link->joint >= 0 ? &u->joints[link->joint] : NULL;
        soa_joint_type type;
        if (joint != NULL) {
            type = joint->def.type;
        } else if (floating) {
            type = SOA_FREE;
        } else {
            type = SOA_FIXED;
        }
        soa_body_def *body = &bodies[i];
        *body =
            soa_body_default(link->name, joint != NULL ? u->links[joint->parent].number : 0, type);
        if (joint != NULL) {
            body->joint_name = joint->name;
        } else if (floating) {
            body->joint_name = "root";
        } else {
            body->joint_name = NULL;
        }
        if (joint != NULL) {
            body->placement = joint->placement;
            body->joint = joint->def;
            if (body->joint.mimic >= 0)
                body->joint.mimic = u->links[u->joints[body->joint.mimic].child].number;
        }
        body->mass = link->mass;
        memcpy(body->com, link->com, sizeof body->com);
        memcpy(body->inertia, link->inertia, sizeof body->inertia);
    }
    const char *name = soai_urdf_attribute(u->robot, "name");
    soa_model_def def =
        soa_model_default(name != NULL && name[0] != 0 ? name : "robot", bodies, u->order_count);
    def.ideal = options != NULL && options->ideal;
    soa_report built = {.status = SOA_OK, .body = -1};
    soa_status status = soa_model_create(&def, model, &built);
    xmlFree(bodies);
    if (status != SOA_OK) {
        u->status = status;
        place_report(u, status, &built);
    }
    return status;
}

soa_status soai_urdf_parse(const char *text, size_t length, const char *name,
                           const soa_read_options *options, const soa_model **model,
                           soa_constraint_list *list, soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    *report = (soa_report){.status = SOA_OK, .body = -1};
    soai_urdf u = {0};
    soai_urdf_locale saved;
    const soa_model *made = NULL;
    if (list != NULL) *list = (soa_constraint_list){0, NULL};
    if (text == NULL || model == NULL) {
        fill_report(report, SOA_E_ARGUMENT, "soa_urdf_parse", 0, "text or model is NULL");
        return SOA_E_ARGUMENT;
    }
    if (soai_urdf_enter(&saved) != SOA_OK) {
        fill_report(report, SOA_E_MEMORY, name != NULL ? name : "(memory)", 0,
                    "no memory left for a locale");
        return SOA_E_MEMORY;
    }
    soa_status status = soai_urdf_open(&u, text, length, name);
    if (status == SOA_OK) status = soai_urdf_build(&u, options, &made);
    if (status == SOA_OK && (list != NULL || u.constraint_count > 0))
        status = soai_urdf_constraints(&u, options, made, list);
    if (status == SOA_OK)
        *model = made;
    else
        soa_model_free(made);
    *report = u.report;
    soai_urdf_close(&u);
    soai_urdf_leave(&saved);
    return status;
}

soa_status soa_urdf_parse(const soa_urdf_source *source, const soa_read_options *options,
                          const soa_model **model, soa_constraint_list *constraints,
                          soa_report *report) {
    soai_report_reset(report);
    if (!source)
        return soai_report_end(report,
                               soai_urdf_parse(NULL, 0, NULL, options, model, constraints, report));
    return soai_report_end(report, soai_urdf_parse(source->text, source->length, source->name,
                                                   options, model, constraints, report));
}

soa_status soai_urdf_slurp(const char *path, char **text, size_t *length, soa_report *report) {
    FILE *file = fopen(path, "rb");
    size_t size = 0, room = 0;
    char *buffer = NULL, why[160];
    soa_status status = SOA_OK;
    if (file == NULL) {
        snprintf(why, sizeof why, "cannot be opened: %s", strerror(errno));
        fill_report(report, SOA_E_FILE, path, 0, why);
        return SOA_E_FILE;
    }
    for (;;) { /* until its end, not its size: pipes work */
        if (size == room) {
            room = room > 0 ? 2 * room : 65536;
            char *more = xmlRealloc(buffer, room);
            if (more == NULL) {
                fill_report(report, status = SOA_E_MEMORY, path, 0, "no memory left while reading");
                break;
            }
            buffer = more;
        }
        size_t got = fread(buffer + size, 1, room - size, file);
        size += got;
        if (size > MAX_BYTES) {
            fill_report(report, status = SOA_E_FORMAT, path, 0, SOAI_URDF_TOO_LARGE);
            break;
        }
        if (got > 0) continue;
        if (ferror(file)) {
            snprintf(why, sizeof why, "cannot be read: %s", strerror(errno));
            fill_report(report, status = SOA_E_FILE, path, 0, why);
        }
        break;
    }
    fclose(file);
    if (status != SOA_OK) {
        if (buffer != NULL) xmlFree(buffer);
        return status;
    }
    *text = buffer;
    *length = size;
    return SOA_OK;
}

soa_status soa_urdf_read(const char *path, const soa_read_options *options, const soa_model **model,
                         soa_constraint_list *constraints, soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    soai_report_reset(report);
    if (constraints) *constraints = (soa_constraint_list){0};
    if (path == NULL || model == NULL) {
        fill_report(report, SOA_E_ARGUMENT, "soa_urdf_read", 0, "path or model is NULL");
        return soai_report_end(report, SOA_E_ARGUMENT);
    }
    char *text = NULL;
    size_t length = 0;
    soa_status status = soai_urdf_slurp(path, &text, &length, report);
    if (status != SOA_OK) return soai_report_end(report, status);
    status = soai_urdf_parse(text, length, path, options, model, constraints, report);
    xmlFree(text);
    return soai_report_end(report, status);
}
