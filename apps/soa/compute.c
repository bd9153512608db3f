/* compute.c  answers one line of `soa compute`. */
#include "compute.h"
#include "nearest.h"
#include "soa/forms.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum function {
    RNEA,
    BIAS,
    GRAVITY,
    ABA,
    MASS,
    MASS_INV,
    POSE,
    JACOBIAN,
    JDOT_V,
    COMPLIANCE,
    OPERATIONAL,
    ENERGY,
    COM,
    MOMENTUM,
    DABA_DQ,
    DABA_DV,
    DRNEA_DQ,
    DRNEA_DV,
    OBSERVABILITY,
    ESTIMATE,
    FD_TWO_SWEEP,
    FD_UD,
    CLOSED,
    ASSEMBLE,
    CLOSED_ID,
    FUNCTION_COUNT
};

const compute_function compute_functions[] = {
    {"rnea", TAKES_NOTHING},       {"bias", TAKES_NOTHING},     {"gravity", TAKES_NOTHING},
    {"aba", TAKES_NOTHING},        {"mass", TAKES_NOTHING},     {"mass_inv", TAKES_NOTHING},
    {"pose", TAKES_LINK},          {"jacobian", TAKES_LINK},    {"jdot_v", TAKES_LINK},
    {"compliance", TAKES_LINK},    {"operational", TAKES_LINK}, {"energy", TAKES_NOTHING},
    {"com", TAKES_NOTHING},        {"momentum", TAKES_NOTHING}, {"daba_dq", TAKES_NOTHING},
    {"daba_dv", TAKES_NOTHING},    {"drnea_dq", TAKES_NOTHING}, {"drnea_dv", TAKES_NOTHING},
    {"observability", TAKES_LINK}, {"estimate", TAKES_NOTHING}, {"fd_two_sweep", TAKES_LINK},
    {"fd_ud", TAKES_NOTHING},      {"closed", TAKES_METHOD},    {"assemble", TAKES_NOTHING},
    {"closed_id", TAKES_JOINT},    {NULL, TAKES_NOTHING},
};

/* In the order of soa_closed_method. */
const char *const compute_methods[] = {"auto", "kkt", "forces", "null_space", NULL};

/* One function of the list, with the frames for which it is requested. */
typedef struct item {
    enum function function;
    int *frames, frame_count;
} item;

/* The four arrays of a state. */
enum { IN_Q, IN_V, IN_A, IN_TAU, IN_COUNT };
static const char *const in_names[IN_COUNT] = {"q", "v", "a", "tau"};

struct compute {
    const soa_model *model;
    soa_work *work;
    size_t nq, nv;
    item items[FUNCTION_COUNT];
    int item_count;
    int wanted[FUNCTION_COUNT];

    double *in[IN_COUNT];
    soa_wrench *wrenches;
    int wrench_count, wrench_room;

    /* nv numbers; nv x nv or 6 x nv, whichever is needed. */
    double *vector, *matrix;
    double *task;                               /* memory for soa_operational_space */
    double *daba[2], *drnea[2];                 /* d/dq and d/dv */
    soa_constraints *constraints;               /* if closed, assemble or closed_id are requested */
    int constraint_count, method;               /* method of closed; -1: not given */
    unsigned char *actuated;                    /* coordinates for closed_id; NULL: all */
    double *lambda, *residual;                  /* one per row; residuals and their rates */
    int have_kinematics, have_daba, have_drnea; /* valid for the present line */
    double *redundant;                          /* nv x nv, if observability is requested */
    /* for estimate: variances of measurements, wrenches of which a covariance is known */
    soa_estimator *estimator;
    double *variance[2];
    int have_variance[2];
    soa_unknown_wrench *unknowns;
    int unknown_count, unknown_room;

    int full_only;
    char error[COMPUTE_MESSAGE];
};

/* --- the list --------------------------------------------------------------------------------- */

/* Writes "no link 'x'; did you mean 'y'?". */
static void say_no_link(const soa_model *model, const char *name, char *message, size_t room) {
    char hint[APP_HINT];
    snprintf(message, room, "the model has no link '%.80s'%s", name,
             app_nearest_link(model, name, hint));
}

/* Link of the last joint that has its own coordinates, or -1. */
static int last_joint_frame(const soa_model *model) {
    soa_body_info info;
    for (int b = soa_model_body_count(model); b > 0; --b)
        if (soa_model_body(model, b, &info) == SOA_OK && info.nq > 0) return info.frame;
    return -1;
}

static int add_frame(item *it, int frame) {
    for (int i = 0; i < it->frame_count; ++i)
        if (it->frames[i] == frame) return 0;
    int *grown = realloc(it->frames, ((size_t)it->frame_count + 1) * sizeof *grown);
    if (!grown) return -1;
    it->frames = grown;
    it->frames[it->frame_count++] = frame;
    return 0;
}

static int add_all_links(const soa_model *model, item *it) {
    soa_frame_info info;
    for (int f = 0; f < soa_model_frame_count(model); ++f)
        if (soa_model_frame(model, f, &info) == SOA_OK && info.is_link && add_frame(it, f) != 0)
            return -1;
    return 0;
}

static int set_method(compute *c, const char *name, char message[COMPUTE_MESSAGE]) {
    int m = 0;
    app_nearest search = app_nearest_to(name);
    for (; compute_methods[m] && strcmp(compute_methods[m], name) != 0; ++m)
        app_nearest_try(&search, compute_methods[m]);
    if (compute_methods[m] && (c->method < 0 || c->method == m)) {
        c->method = m;
        return 0;
    }
    char hint[APP_HINT];
    if (compute_methods[m])
        snprintf(message, COMPUTE_MESSAGE,
                 "closed is asked for by two methods, %s and %s; one at a time",
                 compute_methods[c->method], name);
    else
        snprintf(message, COMPUTE_MESSAGE, "closed has no method '%.80s'%s", name,
                 search.best ? app_nearest_hint(&search, hint)
                             : "; there are auto, kkt, forces and null_space");
    return -1;
}

/* Adds a joint whose motor closed_id may use. */
static int add_actuated(compute *c, const char *joint, char message[COMPUTE_MESSAGE]) {
    soa_body_info info;
    const int body = soa_model_find_joint(c->model, joint);
    if (body < 0 || soa_model_body(c->model, body, &info) != SOA_OK || info.nv == 0) {
        char hint[APP_HINT];
        app_nearest search = app_nearest_to(joint);
        for (int b = 1; b <= soa_model_body_count(c->model); ++b)
            if (soa_model_body(c->model, b, &info) == SOA_OK && info.nv > 0)
                app_nearest_try(&search, info.joint);
        snprintf(message, COMPUTE_MESSAGE, "the model has no joint '%.80s' with coordinates%s",
                 joint, app_nearest_hint(&search, hint));
        return -1;
    }
    if (!c->actuated) c->actuated = calloc(c->nv ? c->nv : 1, 1);
    if (!c->actuated) {
        snprintf(message, COMPUTE_MESSAGE, "out of memory");
        return -1;
    }
    memset(c->actuated + info.v_index, 1, (size_t)info.nv);
    return 0;
}

static const char *const other_functions[][2] = {{"fd", "aba"},
                                                 {"forward_dynamics", "aba"},
                                                 {"qdd", "aba"},
                                                 {"id", "rnea"},
                                                 {"inverse_dynamics", "rnea"},
                                                 {"tau", "rnea"},
                                                 {"crba", "mass"},
                                                 {"M", "mass"},
                                                 {"H", "mass"},
                                                 {"mass_matrix", "mass"},
                                                 {"inertia", "mass"},
                                                 {"minv", "mass_inv"},
                                                 {"Minv", "mass_inv"},
                                                 {"fk", "pose"},
                                                 {"kinematics", "pose"},
                                                 {"poses", "pose"},
                                                 {"nle", "bias"},
                                                 {"coriolis", "bias"},
                                                 {"kinetic", "energy"},
                                                 {"potential", "energy"},
                                                 {"jac", "jacobian"},
                                                 {"J", "jacobian"},
                                                 {"svd", "observability"},
                                                 {"null_space", "observability"},
                                                 {"gramian", "observability"},
                                                 {"filter", "estimate"},
                                                 {"kalman", "estimate"},
                                                 {NULL, NULL}};
static int add_entry(compute *c, char *entry, char message[COMPUTE_MESSAGE]) {
    char *link = strchr(entry, ':');
    if (link) *link++ = '\0';
    int f = 0;
    app_nearest search = app_nearest_to(entry);
    for (; compute_functions[f].name && strcmp(compute_functions[f].name, entry) != 0; ++f)
        app_nearest_try(&search, compute_functions[f].name);
    app_nearest_synonyms(&search, other_functions);
    if (!compute_functions[f].name) {
        char hint[APP_HINT];
        snprintf(message, COMPUTE_MESSAGE, "unknown function '%.80s'%s", entry,
                 search.best ? app_nearest_hint(&search, hint) : " (soa help compute lists them)");
        return -1;
    }
    const compute_suffix takes = compute_functions[f].takes;
    if (link && takes == TAKES_NOTHING) {
        snprintf(message, COMPUTE_MESSAGE,
                 "%s is not of one link; only pose, jacobian, jdot_v, compliance, "
                 "operational, observability and fd_two_sweep take ':LINK' (closed ':METHOD', "
                 "closed_id ':JOINT')",
                 entry);
        return -1;
    }
    item *it = NULL;
    for (int i = 0; i < c->item_count; ++i)
        if (c->items[i].function == (enum function)f) it = &c->items[i];
    if (!it) {
        it = &c->items[c->item_count++];
        *it = (item){(enum function)f, NULL, 0};
        c->wanted[f] = 1;
    }
    if (takes == TAKES_METHOD) return link ? set_method(c, link, message) : 0;
    if (takes == TAKES_JOINT) return link ? add_actuated(c, link, message) : 0;
    if (takes != TAKES_LINK) return 0;

    int frame = -1, failed;
    if (link) {
        frame = soa_model_find_frame(c->model, link);
        if (frame < 0) {
            say_no_link(c->model, link, message, COMPUTE_MESSAGE);
            return -1;
        }
        failed = add_frame(it, frame);
    } else if (f == POSE) {
        failed = add_all_links(c->model, it);
    } else {
        frame = last_joint_frame(c->model);
        if (frame < 0) {
            snprintf(message, COMPUTE_MESSAGE, "no joint of the model moves; name a link: %s:LINK",
                     entry);
            return -1;
        }
        failed = add_frame(it, frame);
    }
    if (failed) snprintf(message, COMPUTE_MESSAGE, "out of memory");
    return failed;
}

/* End of an entry: its first comma, or a later comma (or the end) if the text before that is the
 * name of a link or joint. */
static char *entry_end(const compute *c, char *entry) {
    char *first = entry + strcspn(entry, ","), *name = memchr(entry, ':', (size_t)(first - entry));
    const int is_joint = strncmp(entry, "closed_id:", 10) == 0;
    for (char *end = first; name; end += 1 + strcspn(end + 1, ",")) {
        const char kept = *end;
        *end = '\0';
        const int found = is_joint ? soa_model_find_joint(c->model, name + 1)
                                   : soa_model_find_frame(c->model, name + 1);
        *end = kept;
        if (found >= 0) return end;
        if (!kept) break;
    }
    return first;
}

static int read_list(compute *c, const char *list, char message[COMPUTE_MESSAGE]) {
    char *copy = malloc(strlen(list) + 1), *at = copy;
    if (!copy) {
        snprintf(message, COMPUTE_MESSAGE, "out of memory");
        return -1;
    }
    memcpy(copy, list, strlen(list) + 1);
    int failed = 0;
    while (at && !failed) {
        at += strspn(at, " ");
        char *next = entry_end(c, at);
        if (*next)
            *next++ = '\0';
        else
            next = NULL;
        for (size_t n = strlen(at); n > 0 && at[n - 1] == ' '; --n)
            at[n - 1] = '\0';
        if (at[0] == '\0') {
            snprintf(message, COMPUTE_MESSAGE, "a name is missing in --fn '%.200s'", list);
            failed = -1;
        } else {
            failed = add_entry(c, at, message);
        }
        at = next;
    }
    free(copy);
    return failed;
}

/* --- preparation ------------------------------------------------------------------------------ */

/* rows x columns zeros, at least one; NULL if there is no memory. */
static double *numbers(size_t rows, size_t columns) {
    if (columns && rows > SIZE_MAX / sizeof(double) / columns) return NULL;
    return calloc(rows * columns > 0 ? rows * columns : 1, sizeof(double));
}

static int allocate(compute *c) {
    int complete = 1;
    const int *w = c->wanted;
    for (int i = 0; i < IN_COUNT; ++i)
        complete &= (c->in[i] = numbers(1, i == IN_Q ? c->nq : c->nv)) != NULL;
    const int square = (w[MASS] || w[MASS_INV]) && c->nv > 6;
    complete &= (c->vector = numbers(1, c->nv)) != NULL;
    complete &= (c->matrix = numbers(square ? c->nv : 6, c->nv)) != NULL;
    if (w[OPERATIONAL])
        complete &=
            (c->task = numbers(1, soa_operational_space_size(c->model, 1) / sizeof(double))) !=
            NULL;
    if (w[OBSERVABILITY]) complete &= (c->redundant = numbers(c->nv, c->nv)) != NULL;
    for (int i = 0; i < 2; ++i) {
        if (w[ESTIMATE]) complete &= (c->variance[i] = numbers(1, c->nv)) != NULL;
        if (w[DABA_DQ] || w[DABA_DV]) complete &= (c->daba[i] = numbers(c->nv, c->nv)) != NULL;
        if (w[DRNEA_DQ] || w[DRNEA_DV]) complete &= (c->drnea[i] = numbers(c->nv, c->nv)) != NULL;
    }
    return complete ? 0 : -1;
}

/* Opens the constraints if they are needed. Dense methods are available up to DENSE_MOST
 * coordinates and rows. */
static int make_constraints(compute *c, const soa_constraint_list *list,
                            char message[COMPUTE_MESSAGE]) {
    enum { DENSE_MOST = 2000 };
    static const soa_constraint_list none = {0, NULL};
    soa_report report = {SOA_OK, -1, 0, ""};
    if (!c->wanted[CLOSED] && !c->wanted[ASSEMBLE] && !c->wanted[CLOSED_ID]) return 0;
    if (!list) list = &none;
    const int dense = c->nv + 6 * (size_t)list->count <= DENSE_MOST;
    soa_status status = soa_constraints_from_list(list, c->model, dense, &c->constraints, &report);
    if (status != SOA_OK) {
        snprintf(message, COMPUTE_MESSAGE, "%s",
                 report.text[0] ? report.text : soa_status_text(status));
        return -1;
    }
    c->constraint_count = list->count;
    const size_t rows = (size_t)soa_constraints_row_count(c->constraints);
    c->lambda = numbers(1, rows);
    c->residual = numbers(2, rows);
    if (c->lambda && c->residual) return 0;
    snprintf(message, COMPUTE_MESSAGE, "out of memory");
    return -1;
}

compute *compute_create(const soa_model *model, const soa_constraint_list *constraints,
                        const char *list, char message[COMPUTE_MESSAGE]) {
    compute *c = calloc(1, sizeof *c);
    snprintf(message, COMPUTE_MESSAGE, "out of memory");
    if (!c) return NULL;
    c->model = model;
    c->nq = (size_t)soa_model_nq(model);
    c->nv = (size_t)soa_model_nv(model);
    c->method = -1;
    if (read_list(c, list, message) != 0 || make_constraints(c, constraints, message) != 0) {
        compute_free(c);
        return NULL;
    }
    /* Numbers in nv x nv matrices of one state: 300 MB of text, five seconds. */
    enum { NUMBERS_MOST = 16000000 };
    const int *w = c->wanted;
    const double squares = !!w[MASS] + !!w[MASS_INV] + !!w[DABA_DQ] + !!w[DABA_DV] + !!w[DRNEA_DQ] +
                           !!w[DRNEA_DV] + !!w[OBSERVABILITY];
    if (squares * (double)c->nv * (double)c->nv > NUMBERS_MOST) {
        snprintf(message, COMPUTE_MESSAGE,
                 "%.0f matrices of %zu x %zu numbers: at most %d numbers are written for a state "
                 "(one matrix of 4000 "
                 "degrees of freedom); ask for less",
                 squares, c->nv, c->nv, NUMBERS_MOST);
        compute_free(c);
        return NULL;
    }
    soa_status status = soa_work_create(model, &c->work);
    if (status == SOA_OK && w[ESTIMATE]) status = soa_estimator_create(model, &c->estimator);
    if (status != SOA_OK || allocate(c) != 0) {
        snprintf(message, COMPUTE_MESSAGE, "%s",
                 soa_status_text(status != SOA_OK ? status : SOA_E_MEMORY));
        compute_free(c);
        return NULL;
    }
    return c;
}

void compute_free(compute *c) {
    if (!c) return;
    soa_work_free(c->work);
    for (int i = 0; i < c->item_count; ++i)
        free(c->items[i].frames);
    for (int i = 0; i < IN_COUNT; ++i)
        free(c->in[i]);
    for (int i = 0; i < 2; ++i) {
        free(c->daba[i]);
        free(c->drnea[i]);
        free(c->variance[i]);
    }
    soa_estimator_free(c->estimator);
    free(c->redundant);
    free(c->unknowns);
    free(c->wrenches);
    free(c->vector);
    free(c->matrix);
    free(c->task);
    soa_constraints_free(c->constraints);
    free(c->actuated);
    free(c->lambda);
    free(c->residual);
    free(c);
}

void compute_tree_alone(const compute *c, char names[COMPUTE_MESSAGE]) {
    static const enum function of_the_state[] = {POSE,   COM,      MOMENTUM, ENERGY,
                                                 CLOSED, ASSEMBLE, CLOSED_ID};
    size_t at = 0;
    names[0] = '\0';
    for (int i = 0; i < c->item_count; ++i) {
        int same = 0;
        for (size_t k = 0; k < sizeof of_the_state / sizeof *of_the_state; ++k)
            same |= c->items[i].function == of_the_state[k];
        if (same || at >= COMPUTE_MESSAGE) continue;
        at += (size_t)snprintf(names + at, COMPUTE_MESSAGE - at, "%s%s", at ? ", " : "",
                               compute_functions[c->items[i].function].name);
    }
}

const char *compute_error(const compute *c) {
    return c->error;
}

void compute_full_reader_only(compute *c, int on) {
    c->full_only = on;
}

/* --- reading a line --------------------------------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
say(compute *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->error, sizeof c->error, format, arguments);
    va_end(arguments);
    return -1;
}

static size_t in_size(const compute *c, int which) {
    return which == IN_Q ? c->nq : c->nv;
}

static void reset_state(compute *c) {
    soa_q_neutral(c->model, c->in[IN_Q]);
    for (int i = IN_V; i < IN_COUNT; ++i)
        memset(c->in[i], 0, c->nv * sizeof(double));
    c->wrench_count = 0;
    c->unknown_count = 0;
    c->have_variance[0] = c->have_variance[1] = 0;
}

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        ++at;
    return at;
}

static const char *skip_digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9')
        ++at;
    return at;
}

/* End of a JSON number, or NULL. */
static const char *skip_number(const char *at, const char *end) {
    if (at < end && *at == '-') ++at;
    const char *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1)) return NULL;
    if (at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        if (at == digits) return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        ++at;
        if (at < end && (*at == '+' || *at == '-')) ++at;
        digits = at;
        at = skip_digits(at, end);
        if (at == digits) return NULL;
    }
    return at;
}

/* Fast reader for {"q": [...], "tau": [...]} with the right sizes. Returns 0 if the line has this
 * form and was read. */
static int read_quickly(compute *c, const char *at, const char *end) {
    unsigned seen = 0;
    at = skip_space(at, end);
    if (at == end || *at++ != '{') return -1;
    do {
        at = skip_space(at, end);
        int which = 0;
        for (; which < IN_COUNT; ++which) {
            size_t n = strlen(in_names[which]);
            if ((size_t)(end - at) > n + 2 && at[0] == '"' && at[n + 1] == '"' &&
                memcmp(at + 1, in_names[which], n) == 0) {
                at += n + 2;
                break;
            }
        }
        if (which == IN_COUNT || (seen & 1u << which)) return -1;
        seen |= 1u << which;
        at = skip_space(at, end);
        if (at == end || *at++ != ':') return -1;
        at = skip_space(at, end);
        if (at == end || *at++ != '[') return -1;
        size_t count = in_size(c, which);
        for (size_t i = 0; i < count; ++i) {
            at = skip_space(at, end);
            const char *tail = skip_number(at, end);
            if (!tail || tail == end) return -1;
            /* What follows is not part of a number, so strtod stops at tail. */
            const char *next = skip_space(tail, end);
            if (next == end || *next != (i + 1 < count ? ',' : ']')) return -1;
            c->in[which][i] = strtod(at, NULL);
            if (!isfinite(c->in[which][i])) return -1;
            at = next + 1;
        }
        if (count == 0) {
            at = skip_space(at, end);
            if (at == end || *at++ != ']') return -1;
        }
        at = skip_space(at, end);
    } while (at < end && *at++ == ',');
    return at[-1] == '}' && skip_space(at, end) == end ? 0 : -1;
}

static const char *kind_of(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a string";
    case JSON_NULL: return "null";
    case JSON_TRUE:
    case JSON_FALSE: return "a truth value";
    default: return "a number";
    }
}

static int read_numbers(compute *c, const char *name, const json_t *value, double *x,
                        size_t count) {
    if (!json_is_array(value))
        return say(c, "%s is %s, a list of %zu numbers is wanted", name, kind_of(value), count);
    if (json_array_size(value) != count)
        return say(c, "%s has %zu numbers, %zu are wanted", name, json_array_size(value), count);
    for (size_t i = 0; i < count; ++i) {
        const json_t *element = json_array_get(value, i);
        if (!json_is_number(element))
            return say(c, "%s[%zu] is %s, a number is wanted", name, i, kind_of(element));
        x[i] = json_number_value(element);
        if (!isfinite(x[i])) return say(c, "%s[%zu] is not finite", name, i);
    }
    return 0;
}

static const char *const other_keys[][2] = {
    {"qd", "v"},       {"dq", "v"},   {"qdot", "v"},      {"u", "v"},         {"velocity", "v"},
    {"qvel", "v"},     {"qdd", "a"},  {"ddq", "a"},       {"qddot", "a"},     {"acceleration", "a"},
    {"qacc", "a"},     {"vd", "a"},   {"torque", "tau"},  {"torques", "tau"}, {"qfrc", "tau"},
    {"position", "q"}, {"qpos", "q"}, {"forces", "fext"}, {"f_ext", "fext"},  {"wrenches", "fext"},
    {NULL, NULL}};
static int unknown_key(compute *c, const char *where, const char *key, const char *const *known) {
    char hint[APP_HINT];
    app_nearest search = app_nearest_to(key);
    size_t at = 0;
    for (int i = 0; known[i]; ++i)
        app_nearest_try(&search, known[i]);
    if (!where[0]) app_nearest_synonyms(&search, other_keys);
    if (search.best)
        return say(c, "%sunknown key '%.60s'%s", where, key, app_nearest_hint(&search, hint));
    for (int i = 0; known[i] && at < sizeof hint; ++i)
        at += (size_t)snprintf(hint + at, sizeof hint - at, "%s%s", i ? " " : "", known[i]);
    return say(c, "%sunknown key '%.60s'; the keys are %s", where, key, hint);
}

static int read_wrench(compute *c, size_t number, json_t *entry) {
    static const char *const known[] = {"link", "wrench", "frame", NULL};
    char where[48], name[64];
    snprintf(where, sizeof where, "fext[%zu]: ", number);
    snprintf(name, sizeof name, "%swrench", where);
    if (!json_is_object(entry))
        return say(c, "%sis %s, an object with link, wrench and frame is wanted", where,
                   kind_of(entry));
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value) {
        if (strcmp(key, "link") != 0 && strcmp(key, "wrench") != 0 && strcmp(key, "frame") != 0)
            return unknown_key(c, where, key, known);
    }
    const json_t *link = json_object_get(entry, "link"), *wrench = json_object_get(entry, "wrench"),
                 *frame = json_object_get(entry, "frame");
    if (!link || !wrench) return say(c, "%s'%s' is missing", where, link ? "wrench" : "link");
    if (!json_is_string(link))
        return say(c, "%slink is %s, a name is wanted", where, kind_of(link));

    soa_wrench *w = &c->wrenches[c->wrench_count];
    w->frame = soa_model_find_frame(c->model, json_string_value(link));
    if (w->frame < 0) {
        char text[COMPUTE_MESSAGE - sizeof where];
        say_no_link(c->model, json_string_value(link), text, sizeof text);
        return say(c, "%s%s", where, text);
    }
    const char *axes = frame ? json_string_value(frame) : "world";
    if (!axes || (strcmp(axes, "world") != 0 && strcmp(axes, "body") != 0))
        return say(c, "%sframe is %s%.40s%s, 'world' or 'body' is wanted", where, axes ? "'" : "",
                   axes ? axes : kind_of(frame), axes ? "'" : "");
    w->axes = axes[0] == 'w' ? SOA_AXES_WORLD : SOA_AXES_BODY;
    if (read_numbers(c, name, wrench, w->value, 6) != 0) return -1;
    ++c->wrench_count;
    return 0;
}

static int read_wrenches(compute *c, const json_t *list) {
    if (!json_is_array(list))
        return say(c, "fext is %s, a list of objects with link, wrench and frame is wanted",
                   kind_of(list));
    size_t count = json_array_size(list);
    if (count > 1u << 24) return say(c, "fext has %zu entries, more than can be meant", count);
    if (count > (size_t)c->wrench_room) {
        soa_wrench *grown = realloc(c->wrenches, count * sizeof *grown);
        if (!grown) return say(c, "out of memory");
        c->wrenches = grown;
        c->wrench_room = (int)count;
    }
    for (size_t i = 0; i < count; ++i)
        if (read_wrench(c, i, json_array_get(list, i)) != 0) return -1;
    return 0;
}

/* Variances: one number for all, or nv; null: not measured. */
static const char *const variance_names[2] = {"tau_variance", "a_variance"};
static int read_variance(compute *c, int which, const json_t *value) {
    const char *name = variance_names[which];
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    c->have_variance[which] = 1;
    if (!c->wanted[ESTIMATE]) return 0; /* of another function */
    if (json_is_array(value) && count != c->nv)
        return say(c, "%s has %zu numbers, %zu are wanted", name, count, c->nv);
    for (size_t i = 0; i < c->nv; ++i) {
        const json_t *element = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_number(element) && !json_is_null(element))
            return say(c, "%s[%zu] is %s, a number or null (not measured) is wanted", name, i,
                       kind_of(element));
        const double x = json_is_null(element) ? INFINITY : json_number_value(element);
        if (!(x >= 0)) return say(c, "%s[%zu] is negative", name, i);
        c->variance[which][i] = x;
    }
    return 0;
}
/* Six variances, or six rows of six. */
static int read_covariance(compute *c, const char *name, const json_t *value, double out[36]) {
    memset(out, 0, 36 * sizeof *out);
    if (!json_is_array(value) || !json_is_array(json_array_get(value, 0))) {
        double variance[6];
        if (read_numbers(c, name, value, variance, 6) != 0) return -1;
        for (int i = 0; i < 6; ++i)
            out[7 * i] = variance[i];
        return 0;
    }
    if (json_array_size(value) != 6)
        return say(c, "%s has %zu rows, 6 are wanted", name, json_array_size(value));
    for (size_t i = 0; i < 6; ++i)
        if (read_numbers(c, name, json_array_get(value, i), out + 6 * i, 6) != 0) return -1;
    return 0;
}
static int read_unknown(compute *c, size_t number, json_t *entry) {
    static const char *const known[] = {"link", "covariance", "mean", "frame", NULL};
    char where[48], name[64];
    snprintf(where, sizeof where, "unknown[%zu]: ", number);
    if (!json_is_object(entry))
        return say(c, "%sis %s, an object with link and covariance is wanted", where,
                   kind_of(entry));
    const char *key;
    json_t *value;
    soa_unknown_wrench *u = &c->unknowns[c->unknown_count];
    *u = (soa_unknown_wrench){.frame = -1, .axes = SOA_AXES_WORLD};
    json_object_foreach(entry, key, value) {
        snprintf(name, sizeof name, "%s%.12s", where, key);
        if (strcmp(key, "link") == 0) {
            if (!json_is_string(value))
                return say(c, "%slink is %s, a name is wanted", where, kind_of(value));
            u->frame = soa_model_find_frame(c->model, json_string_value(value));
            if (u->frame >= 0) continue;
            char text[COMPUTE_MESSAGE - sizeof where];
            say_no_link(c->model, json_string_value(value), text, sizeof text);
            return say(c, "%s%s", where, text);
        }
        if (strcmp(key, "covariance") == 0) {
            if (read_covariance(c, name, value, u->covariance) != 0) return -1;
        } else if (strcmp(key, "mean") == 0) {
            if (read_numbers(c, name, value, u->mean, 6) != 0) return -1;
        } else if (strcmp(key, "frame") == 0) {
            const char *axes = json_string_value(value);
            if (!axes || (strcmp(axes, "world") != 0 && strcmp(axes, "body") != 0))
                return say(c, "%sframe is %s, 'world' or 'body' is wanted", where,
                           axes ? axes : kind_of(value));
            u->axes = axes[0] == 'w' ? SOA_AXES_WORLD : SOA_AXES_BODY;
        } else {
            return unknown_key(c, where, key, known);
        }
    }
    if (u->frame < 0) return say(c, "%s'link' is missing", where);
    if (!json_object_get(entry, "covariance")) return say(c, "%s'covariance' is missing", where);
    ++c->unknown_count;
    return 0;
}
static int read_unknowns(compute *c, const json_t *list) {
    if (!json_is_array(list))
        return say(c, "unknown is %s, a list of objects with link and covariance is wanted",
                   kind_of(list));
    const size_t count = json_array_size(list);
    if (count > 1u << 20) return say(c, "unknown has %zu entries, more than can be meant", count);
    if (count > (size_t)c->unknown_room) {
        soa_unknown_wrench *grown = realloc(c->unknowns, count * sizeof *grown);
        if (!grown) return say(c, "out of memory");
        c->unknowns = grown;
        c->unknown_room = (int)count;
    }
    for (size_t i = 0; i < count; ++i)
        if (read_unknown(c, i, json_array_get(list, i)) != 0) return -1;
    return 0;
}

static int read_object(compute *c, json_t *line) {
    static const char *const known[] = {"q",          "v",       "a", "tau", "fext", "tau_variance",
                                        "a_variance", "unknown", NULL};
    const char *key;
    json_t *value;
    if (!json_is_object(line))
        return say(c, "the line is %s, an object {...} is wanted", kind_of(line));
    json_object_foreach(line, key, value) {
        int which = 0, failed = 0;
        while (which < IN_COUNT && strcmp(key, in_names[which]) != 0)
            ++which;
        if (which < IN_COUNT)
            failed = read_numbers(c, key, value, c->in[which], in_size(c, which));
        else if (strcmp(key, "fext") == 0)
            failed = read_wrenches(c, value);
        else if (strcmp(key, variance_names[0]) == 0)
            failed = read_variance(c, 0, value);
        else if (strcmp(key, variance_names[1]) == 0)
            failed = read_variance(c, 1, value);
        else if (strcmp(key, "unknown") == 0)
            failed = read_unknowns(c, value);
        else if (strcmp(key, "vars") != 0) /* used by other commands */
            failed = unknown_key(c, "", key, known);
        if (failed) return -1;
    }
    return 0;
}

/* Reports jansson's message, which has the position, with a hint for common mistakes. */
static int say_not_json(compute *c, const char *text, size_t length, const json_error_t *error) {
    const char *hint = "", *end = strstr(error->text, "end of file");
    char next =
        error->position >= 0 && (size_t)error->position < length ? text[error->position] : ' ';
    if (json_error_code(error) == json_error_numeric_overflow)
        return say(c, "column %d: %s, larger than any double", error->column, error->text);
    if (memchr(text, '\0', length))
        hint = " (the line holds a NUL byte)";
    else if (strstr(error->text, "NaN") || strstr(error->text, "nan") ||
             strstr(error->text, "Inf") || strstr(error->text, "inf") ||
             (next == 'I' && strstr(error->text, "'-'")))
        hint = " (numbers must be finite)";
    if (!end) return say(c, "not JSON: column %d: %s%s", error->column, error->text, hint);
    return say(c, "not JSON: column %d: %.*send of line%s%s", error->column,
               (int)(end - error->text), error->text, end + strlen("end of file"), hint);
}

static int read_fully(compute *c, const char *text, size_t length) {
    json_error_t error;
    json_t *line =
        json_loadb(text, length, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &error);
    if (!line && json_error_code(&error) == json_error_duplicate_key)
        return say(c, "a key stands twice: %s", error.text);
    if (!line && json_error_code(&error) == json_error_null_character)
        return say(c, "a string holds a NUL character (\\u0000)");
    if (!line) return say_not_json(c, text, length, &error);
    int failed = read_object(c, line);
    json_decref(line);
    return failed;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Reports a status of the library in words, with the names of the joint and link. */
static int say_status(compute *c, const char *function, soa_status status) {
    soa_body_info info;
    int body = soa_work_failed_body(c->work);
    if (body <= 0 || soa_model_body(c->model, body, &info) != SOA_OK)
        return say(c, "%s: %s", function, soa_status_text(status));
    if (status == SOA_E_QUATERNION && info.nq >= 4) {
        int first = info.q_index + info.nq - 4;
        const double *p = c->in[IN_Q] + first;
        return say(c, "%s: joint '%s' (link '%s'): its quaternion q[%d..%d] has norm %.9g, not 1",
                   function, info.joint, info.link, first, first + 3,
                   hypot(hypot(p[0], p[1]), hypot(p[2], p[3])));
    }
    return say(c, "%s: body '%s' (joint '%s'): %s", function, info.link, info.joint,
               soa_status_text(status));
}

/* Writes `"key": ` and the numbers, as a vector if rows is 0. Returns -1 with an error if one is
 * not finite. */
static int put(compute *c, app_out *out, const char *key, const double *x, size_t rows,
               size_t columns) {
    out_string(out, key);
    out_bytes(out, ": ", 2);
    long bad = rows ? out_matrix(out, x, rows, columns) : out_vector(out, x, columns);
    if (bad < 0) return 0;
    return rows ? say(c, "%s[%ld][%ld] is not finite: the numbers given are too large", key,
                      bad / (long)columns, bad % (long)columns)
                : say(c, "%s[%ld] is not finite: the numbers given are too large", key, bad);
}

static int put_scalar(compute *c, app_out *out, const char *key, double x) {
    out_string(out, key);
    out_bytes(out, ": ", 2);
    out_number(out, x);
    return isfinite(x) ? 0 : say(c, "%s is not finite: the numbers given are too large", key);
}

/* pose, jacobian and jdot_v: {link: value, ...} for the requested frames. */
static int put_frames(compute *c, app_out *out, const item *it) {
    const char *name = compute_functions[it->function].name;
    soa_status status = SOA_OK;
    if (!c->have_kinematics)
        status = soa_kinematics(c->model, c->work, c->in[IN_Q], c->in[IN_V], NULL);
    if (status != SOA_OK) return say_status(c, name, status);
    c->have_kinematics = 1;
    out_format(out, "\"%s\": {", name);
    for (int i = 0; i < it->frame_count; ++i) {
        int frame = it->frames[i], failed = 0;
        soa_frame_info info;
        soa_frame pose;
        double A[6];
        status = soa_model_frame(c->model, frame, &info);
        if (status == SOA_OK && it->function == POSE)
            status = soa_pose(c->model, c->work, frame, &pose);
        else if (status == SOA_OK && it->function == JACOBIAN)
            status = soa_jacobian(c->model, c->work, frame, SOA_AXES_WORLD, c->matrix);
        else if (status == SOA_OK)
            status = soa_jacobian_dot_v(c->model, c->work, frame, SOA_AXES_WORLD, A);
        if (status != SOA_OK) return say_status(c, name, status);
        if (i) out_bytes(out, ", ", 2);
        if (it->function == POSE) {
            out_string(out, info.name);
            out_text(out, ": {");
            failed |= put(c, out, "R", pose.R, 0, 9);
            out_bytes(out, ", ", 2);
            failed |= put(c, out, "p", pose.p, 0, 3);
            out_char(out, '}');
        } else if (it->function == JACOBIAN) {
            failed = put(c, out, info.name, c->matrix, 6, c->nv);
        } else {
            failed = put(c, out, info.name, A, 0, 6);
        }
        if (failed) return -1;
    }
    out_char(out, '}');
    return 0;
}

/* compliance and operational: the same with 6 x 6 matrices; lambda, mu, p. */
static int put_tasks(compute *c, app_out *out, const item *it) {
    const char *name = compute_functions[it->function].name;
    const double *q = c->in[IN_Q], *v = c->in[IN_V];
    c->have_kinematics = 0;
    out_format(out, "\"%s\": {", name);
    for (int i = 0; i < it->frame_count; ++i) {
        const soa_task task = {it->frames[i], SOA_AXES_WORLD, SOA_ROWS_ALL};
        double matrix[36], mu[6], p[6], rcond;
        const soa_operational wanted = {.lambda = matrix, .mu = mu, .p = p};
        soa_frame_info info;
        int failed = 0;
        soa_status status = soa_model_frame(c->model, task.frame, &info);
        if (status == SOA_OK && it->function == COMPLIANCE)
            status = soa_compliance(c->model, c->work, q, &task.frame, 1, task.axes, matrix);
        else if (status == SOA_OK)
            status = soa_operational_space(
                c->model, c->work,
                &(soa_operational_input){.q = q, .v = v, .tasks = &task, .task_count = 1}, c->task,
                soa_operational_space_size(c->model, 1), &wanted, &rcond);
        if (status == SOA_E_SINGULAR)
            return say(c,
                       "%s: link '%s' cannot move in all six directions here (reciprocal condition "
                       "number %.2g)",
                       name, info.name, rcond);
        if (status != SOA_OK) return say_status(c, name, status);
        if (i) out_bytes(out, ", ", 2);
        if (it->function == COMPLIANCE) {
            failed = put(c, out, info.name, matrix, 6, 6);
        } else {
            out_string(out, info.name);
            out_text(out, ": {");
            failed |= put(c, out, "lambda", matrix, 6, 6);
            out_bytes(out, ", ", 2);
            failed |= put(c, out, "mu", mu, 0, 6);
            out_bytes(out, ", ", 2);
            failed |= put(c, out, "p", p, 0, 6);
            out_char(out, '}');
        }
        if (failed) return -1;
    }
    out_char(out, '}');
    return 0;
}

/* observability: what each requested frame can do, {link: {...}, ...}. */
static int put_observability(compute *c, app_out *out, const item *it) {
    c->have_kinematics = 0;
    out_text(out, "\"observability\": {");
    for (int i = 0; i < it->frame_count; ++i) {
        const soa_tip tip = {.frame = it->frames[i], .angular = 1, .linear = 1};
        soa_observability_result found;
        soa_frame_info info;
        soa_status status = soa_model_frame(c->model, tip.frame, &info);
        if (status == SOA_OK)
            status = soa_observability(c->model, c->work, c->in[IN_Q], &tip, SOA_AXES_WORLD, &found,
                                       c->matrix, c->redundant);
        if (status != SOA_OK) return say_status(c, "observability", status);
        if (i) out_bytes(out, ", ", 2);
        out_string(out, info.name);
        out_format(out, ": {\"rank\": %d, ", found.rank);
        int failed = put(c, out, "singular", found.singular, 0, 6);
        out_bytes(out, ", ", 2);
        failed |= put(c, out, "directions", found.directions, 6, 6);
        const struct {
            const char *key;
            const double *x;
            int rows;
        } lists[] = {{"joints", c->matrix, found.rank},
                     {"redundant", c->redundant, found.redundant}};
        for (int k = 0; k < 2; ++k) {
            out_bytes(out, ", ", 2);
            if (lists[k].rows)
                failed |= put(c, out, lists[k].key, lists[k].x, (size_t)lists[k].rows, c->nv);
            else
                out_format(out, "\"%s\": []", lists[k].key);
        }
        out_char(out, '}');
        if (failed) return -1;
    }
    out_char(out, '}');
    return 0;
}

/* Value and standard deviation of joint accelerations (which 0) or torques (1) of all joints. */
static int put_estimated(compute *c, app_out *out, const char *key, int which) {
    char name[32];
    for (int deviation = 0; deviation < 2; ++deviation) {
        for (int b = 1; b <= soa_model_body_count(c->model); ++b) {
            soa_estimate e;
            soa_body_info info;
            soa_status status = soa_model_body(c->model, b, &info);
            if (status == SOA_OK) status = soa_estimator_read(c->estimator, b, &e);
            if (status != SOA_OK) return say_status(c, "estimate", status);
            const double *value = which ? e.torque : e.acceleration;
            const double *covariance = which ? e.torque_covariance : e.acceleration_covariance;
            for (int j = 0; j < e.nv; ++j)
                c->vector[info.v_index + j] =
                    deviation ? sqrt(fmax(covariance[(e.nv + 1) * j], 0)) : value[j];
        }
        snprintf(name, sizeof name, "%s%s", key, deviation ? "_deviation" : "");
        if (deviation) out_bytes(out, ", ", 2);
        if (put(c, out, name, c->vector, 0, c->nv) != 0) return -1;
    }
    return 0;
}
static int say_estimate(compute *c, soa_status status) {
    soa_body_info info;
    const int body = soa_estimator_failed_body(c->estimator);
    const char *text = soa_status_text(status);
    if (status == SOA_E_SINGULAR)
        text = "its torque is exact and already follows from what is known outboard, or its "
               "acceleration follows from nothing; give more variance";
    if (status == SOA_E_ARGUMENT && body > 0)
        text = "a covariance must be symmetric and positive semi-definite";
    if (body <= 0 || soa_model_body(c->model, body, &info) != SOA_OK)
        return say(c, "estimate: %s", text);
    return say(c, "estimate: body '%s' (joint '%s'): %s", info.link, info.joint, text);
}
/* estimate: accelerations, torques, unknown wrenches, with standard deviations and covariances. */
static int put_estimate(compute *c, app_out *out) {
    soa_estimator_result result;
    const soa_estimator_input input = {.q = c->in[IN_Q],
                                       .v = c->in[IN_V],
                                       .tau = c->in[IN_TAU],
                                       .tau_variance = c->have_variance[0] ? c->variance[0] : NULL,
                                       .a = c->in[IN_A],
                                       .a_variance = c->have_variance[1] ? c->variance[1] : NULL,
                                       .wrenches = c->wrenches,
                                       .wrench_count = c->wrench_count,
                                       .unknowns = c->unknowns,
                                       .unknown_count = c->unknown_count};
    c->have_kinematics = 0;
    for (int i = 0; i < c->unknown_count; ++i) {
        soa_frame_info info;
        soa_model_frame(c->model, c->unknowns[i].frame, &info);
        if (!info.body) return say(c, "unknown[%d]: link '%s' is fixed to the world", i, info.name);
    }
    const soa_status status = soa_estimator_update(c->estimator, c->work, &input, &result);
    if (status == SOA_E_QUATERNION) return say_status(c, "estimate", status);
    if (status != SOA_OK) return say_estimate(c, status);
    out_text(out, "\"estimate\": {");
    if (put_estimated(c, out, "a", 0) != 0) return -1;
    out_bytes(out, ", ", 2);
    if (put_estimated(c, out, "tau", 1) != 0) return -1;
    out_text(out, ", \"wrenches\": [");
    for (int i = 0; i < c->unknown_count; ++i) {
        double value[6], covariance[36];
        soa_frame_info info;
        soa_status found = soa_model_frame(c->model, c->unknowns[i].frame, &info);
        if (found == SOA_OK)
            found = soa_estimator_wrench(c->estimator, c->unknowns + i, value, covariance);
        if (found != SOA_OK) return say_estimate(c, found);
        out_text(out, i ? ", {\"link\": " : "{\"link\": ");
        out_string(out, info.name);
        out_bytes(out, ", ", 2);
        if (put(c, out, "wrench", value, 0, 6) != 0) return -1;
        out_bytes(out, ", ", 2);
        if (put(c, out, "covariance", covariance, 6, 6) != 0) return -1;
        out_char(out, '}');
    }
    out_text(out, "], ");
    if (put_scalar(c, out, "chi_square", result.chi_square) != 0) return -1;
    out_format(out, ", \"degrees\": %d}", result.degrees);
    return 0;
}

/* How far the loops are open at the state, and how fast they open: "closure": [g, rate], the
 * largest of each. */
static int put_closure(compute *c, app_out *out, const char *function) {
    const int rows = soa_constraints_row_count(c->constraints);
    double most[2] = {0, 0};
    soa_status status = soa_constraints_evaluate(c->constraints, c->work,
                                                 &(soa_input){.q = c->in[IN_Q], .v = c->in[IN_V]},
                                                 c->residual, c->residual + rows, NULL, NULL);
    if (status != SOA_OK) return say_status(c, function, status);
    for (int i = 0; i < 2 * rows; ++i)
        most[i >= rows] = fmax(most[i >= rows], fabs(c->residual[i]));
    return put(c, out, "closure", most, 0, 2);
}

/* "lambda": {constraint: its rows, ...} */
static int put_lambda(compute *c, app_out *out) {
    out_text(out, "\"lambda\": {");
    for (int i = 0; i < c->constraint_count; ++i) {
        int first = 0, count = 0;
        soa_constraints_row_range(c->constraints, i, &first, &count);
        if (i) out_bytes(out, ", ", 2);
        if (put(c, out, soa_constraints_name(c->constraints, i), c->lambda + first, 0,
                (size_t)count) != 0)
            return -1;
    }
    out_char(out, '}');
    return 0;
}

/* closed, assemble and closed_id: one object each. */
static int put_closed(compute *c, app_out *out, const item *it) {
    const char *name = compute_functions[it->function].name;
    double *q = c->in[IN_Q], *v = c->in[IN_V], *x = c->vector;
    soa_status status = SOA_OK;
    int failed = 0;
    c->have_kinematics = 0;
    out_format(out, "\"%s\": {", name);
    if (it->function == CLOSED) {
        soa_closed_options options = soa_closed_options_default();
        soa_closed_report report = {.condition = 0};
        options.method = (soa_closed_method)(c->method < 0 ? 0 : c->method);
        status = soa_closed_fd(c->constraints, c->work, &options,
                               &(soa_input){.q = q,
                                            .v = v,
                                            .tau = c->in[IN_TAU],
                                            .wrenches = c->wrenches,
                                            .wrench_count = c->wrench_count},
                               x, c->lambda, &report);
        if (status == SOA_E_SINGULAR && report.condition > 0)
            return say(c, "closed: near a singular position, the condition number is %.2g",
                       report.condition);
        if (status == SOA_E_INCONSISTENT)
            return say(c, "closed: %s: %s", soa_status_text(status), report.text);
        if (status == SOA_E_MEMORY)
            return say(c, "closed: %s is too large for this machine, use closed:forces",
                       compute_methods[options.method]);
        if (status != SOA_OK) return say_status(c, name, status);
        failed |= put(c, out, "qdd", x, 0, c->nv);
        out_bytes(out, ", ", 2);
        failed |= put_lambda(c, out);
        out_format(out, ", \"rows\": %d, \"rank\": %d, ", report.rows, report.rank);
        failed |= put_scalar(c, out, "condition", report.condition);
        out_text(out, ", \"redundant\": ");
        out_string(out, report.text);
        out_format(out, ", \"method\": \"%s\", ", compute_methods[report.method]);
        failed |= put_closure(c, out, name);
    } else if (it->function == ASSEMBLE) {
        soa_report report = {SOA_OK, -1, 0, ""};
        status = soa_closed_assemble(c->constraints, c->work, 0, NULL, q, &report);
        if (status == SOA_E_NO_CONVERGENCE) return say(c, "assemble: %s", report.text);
        if (status == SOA_OK) status = soa_closed_project(c->constraints, c->work, 0, q, v, NULL);
        if (status != SOA_OK) return say_status(c, name, status);
        failed |= put(c, out, "q", q, 0, c->nq);
        out_bytes(out, ", ", 2);
        failed |= put(c, out, "v", v, 0, c->nv);
        out_bytes(out, ", ", 2);
        failed |= put_closure(c, out, name);
        c->have_daba = c->have_drnea = 0; /* these belong to the previous state */
    } else {
        status = soa_closed_id(c->constraints, c->work,
                               &(soa_input){.q = q,
                                            .v = v,
                                            .a = c->in[IN_A],
                                            .wrenches = c->wrenches,
                                            .wrench_count = c->wrench_count},
                               c->actuated, x, c->lambda);
        if (status == SOA_E_INCONSISTENT)
            return say(c, "closed_id: a does not obey the constraints, or the actuated joints "
                          "cannot give it");
        if (status == SOA_E_MEMORY)
            return say(c, "closed_id: too many coordinates and constraints");
        if (status != SOA_OK) return say_status(c, name, status);
        failed |= put(c, out, "tau", x, 0, c->nv);
        out_bytes(out, ", ", 2);
        failed |= put_lambda(c, out);
    }
    out_char(out, '}');
    return failed ? -1 : 0;
}

/* fd_two_sweep: {"qdd": [nv], "compliance": {link: 6 x 6, ...}} */
static int put_two_sweep(compute *c, app_out *out, const item *it) {
    const soa_input input = {.q = c->in[IN_Q],
                             .v = c->in[IN_V],
                             .tau = c->in[IN_TAU],
                             .wrenches = c->wrenches,
                             .wrench_count = c->wrench_count};
    c->have_kinematics = 0;
    out_text(out, "\"fd_two_sweep\": {");
    for (int i = 0; i < it->frame_count; ++i) {
        double C[36];
        soa_frame_info info;
        soa_status status = soa_model_frame(c->model, it->frames[i], &info);
        if (status == SOA_OK)
            status = soa_fd_two_sweep(c->model, c->work, &input, it->frames[i], SOA_AXES_WORLD,
                                      c->vector, C);
        if (status == SOA_E_ARGUMENT)
            return say(c, "fd_two_sweep: link '%s' is not at the end of a chain", info.name);
        if (status != SOA_OK) return say_status(c, "fd_two_sweep", status);
        if (i == 0) {
            if (put(c, out, "qdd", c->vector, 0, c->nv) != 0) return -1;
            out_text(out, ", \"compliance\": {");
        } else {
            out_bytes(out, ", ", 2);
        }
        if (put(c, out, info.name, C, 6, 6) != 0) return -1;
    }
    out_text(out, "}}");
    return 0;
}

static int put_item(compute *c, app_out *out, const item *it) {
    const soa_model *m = c->model;
    soa_work *w = c->work;
    const double *q = c->in[IN_Q], *v = c->in[IN_V], *a = c->in[IN_A], *tau = c->in[IN_TAU];
    double *x = c->vector, h[6];
    const char *name = compute_functions[it->function].name, *key = name;
    size_t rows = 0, columns = c->nv;
    soa_status status = SOA_OK;

    if (it->function == COMPLIANCE || it->function == OPERATIONAL) return put_tasks(c, out, it);
    if (it->function == OBSERVABILITY) return put_observability(c, out, it);
    if (it->function == ESTIMATE) return put_estimate(c, out);
    if (it->function == FD_TWO_SWEEP) return put_two_sweep(c, out, it);
    if (compute_functions[it->function].takes == TAKES_LINK) return put_frames(c, out, it);
    if (it->function >= CLOSED) return put_closed(c, out, it);
    c->have_kinematics = 0; /* every call below uses q */
    switch (it->function) {
    case RNEA:
        key = "tau";
        status = soa_rnea(m, w, q, v, a, c->wrenches, c->wrench_count, x);
        break;
    case BIAS: status = soa_bias_torque(m, w, q, v, x); break;
    case GRAVITY: status = soa_gravity_torque(m, w, q, x); break;
    case ABA:
        key = "qdd";
        status = soa_aba(m, w, q, v, tau, c->wrenches, c->wrench_count, x);
        break;
    case FD_UD:
        status = soa_fd_ud(m, w,
                           &(soa_input){.q = q,
                                        .v = v,
                                        .tau = tau,
                                        .wrenches = c->wrenches,
                                        .wrench_count = c->wrench_count},
                           x);
        break;
    case MASS:
        rows = c->nv;
        status = soa_crba(m, w, q, x = c->matrix);
        break;
    case MASS_INV:
        rows = c->nv;
        status = soa_minv(m, w, q, x = c->matrix);
        break;
    case ENERGY:
        status = soa_energy(m, w, q, v, &h[0], &h[1]);
        if (status != SOA_OK) break;
        if (put_scalar(c, out, "kinetic", h[0]) != 0) return -1;
        out_bytes(out, ", ", 2);
        return put_scalar(c, out, "potential", h[1]);
    case COM: {
        double velocity[3];
        columns = 3;
        status = soa_centre_of_mass(m, w, q, v, x = h, velocity);
        break;
    }
    case MOMENTUM:
        columns = 6;
        status = soa_momentum(m, w, q, v, x = h, NULL);
        break;
    case DABA_DQ:
    case DABA_DV:
        rows = c->nv;
        if (!c->have_daba)
            status = soa_aba_derivatives(m, w,
                                         &(soa_input){.q = q,
                                                      .v = v,
                                                      .tau = tau,
                                                      .wrenches = c->wrenches,
                                                      .wrench_count = c->wrench_count},
                                         c->daba[0], c->daba[1]);
        c->have_daba = 1;
        x = c->daba[it->function == DABA_DV];
        break;
    case DRNEA_DQ:
    case DRNEA_DV:
        rows = c->nv;
        if (!c->have_drnea)
            status = soa_rnea_derivatives(m, w,
                                          &(soa_input){.q = q,
                                                       .v = v,
                                                       .a = a,
                                                       .wrenches = c->wrenches,
                                                       .wrench_count = c->wrench_count},
                                          c->drnea[0], c->drnea[1]);
        c->have_drnea = 1;
        x = c->drnea[it->function == DRNEA_DV];
        break;
    default: break;
    }
    if (status != SOA_OK) return say_status(c, name, status);
    return put(c, out, key, x, rows, columns);
}

static int is_blank(const char *text, size_t length) {
    return skip_space(text, text + length) == text + length;
}

compute_outcome compute_line(compute *c, const char *text, size_t length, unsigned long number,
                             app_out *out) {
    size_t start = out->size;
    int failed = 0;
    if (number == 1 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        text += 3;
        length -= 3;
    }
    if (is_blank(text, length)) return COMPUTE_BLANK;
    reset_state(c);
    if (c->full_only || read_quickly(c, text, text + length) != 0) {
        reset_state(c);
        failed = read_fully(c, text, length);
    }
    c->have_kinematics = c->have_daba = c->have_drnea = 0;
    out_char(out, '{');
    for (int i = 0; i < c->item_count && !failed; ++i) {
        if (i) out_bytes(out, ", ", 2);
        failed = put_item(c, out, &c->items[i]);
    }
    if (failed) { /* remove what was already written of the answer */
        out->size = start;
        out_format(out, "{\"line\": %lu, \"error\": ", number);
        out_string(out, c->error);
    }
    out_bytes(out, "}\n", 2);
    return failed ? COMPUTE_BAD : COMPUTE_ANSWERED;
}
