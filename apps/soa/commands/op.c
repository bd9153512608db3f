/* op.c  soa op: an operator expression: run at states read line by line, formed as a matrix,
 * explained or derived. */
#define _POSIX_C_SOURCE 200809L
#include "../app.h"
#include "../operator_count.h"
#include "../operator_loops.h"
#include "../operator_page/op_page.h"
#include "../target.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN = APP_MODEL_OPTION_COUNT,
    TIP,
    DENSE,
    EXPLAIN,
    DERIVE,
    AS_WRITTEN,
    COUNT,
    EMIT,
    AXES,
    BY_MATRIX,
    GENERIC,
    PARTS,
    HTML,
    TO,
    JACOBIAN
};
enum { MESSAGE = 600, MOST_VARS = 32, MOST_TIPS = 64 };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--in", NULL, "FILE", "read states from FILE instead of standard input"},
    {"--tip", NULL, "LINK,...", "the frames of tip space (default: the link of the last joint)"},
    {"--dense", NULL, NULL, "the matrix, formed by dense arithmetic, instead of running sweeps"},
    {"--explain", NULL, NULL, "print the sweeps as recursions and stop"},
    {"--derive", NULL, NULL, "print how the expression was rewritten and stop"},
    {"--as-written", NULL, NULL, "do not look for a cheaper form first"},
    {"--count", NULL, NULL,
     "print the additions, multiplications and divisions of every link and stop"},
    {"--emit-c", NULL, NULL, "print a C function for this expression and model and stop"},
    {"--axes", NULL, "link|world",
     "axes the counted or printed operations work in (default: each link's own)"},
    {"--by-matrix", NULL, NULL,
     "count or print inv(Mass) x by forming, factoring and solving the mass matrix"},
    {"--generic", NULL, NULL, "lengths and masses that happen to be 1 count as any number"},
    {"--parts", NULL, "LINK|all",
     "count by parts of the work (rows of R87's tables), of one link or of all"},
    {"--html", NULL, "FILE",
     "with --explain: write a page with pictures to FILE, at the first state of --in"},
    {"--to", NULL, "EXPRESSION", "with --derive: how to get from the expression to this one"},
    {"--jacobian", NULL, "q|v|a|tau|f0",
     "the Jacobian of the vector EXPRESSION with respect to this part of the state"},
    APP_OPTION_END,
};

typedef struct op {
    const char *text;
    int dense, as_written;
    int jacobian; /* with respect to this soa_direction; SOA_DIRECTION_COUNT: none */
    soa_machine *machine;
    const soa_model *model;
    app_loops loops;
    /* Variables of the parsed expression. */
    soa_variable vars[MOST_VARS];
    char names[MOST_VARS][32];
    int var_count, parsed;
    const soa_expr *expr;
    soa_plan *plan;
    double *q, *v, *a, *tau, *f0, *result;
    double *direction[SOA_DIRECTION_COUNT];
    size_t result_room;
    char error[MESSAGE];
} op;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
say(op *o, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(o->error, sizeof o->error, format, list);
    va_end(list);
    return -1;
}

static const char *why_not(const soa_machine *machine, soa_status s) {
    const char *why = soa_machine_failure(machine);
    return why[0] ? why : soa_status_text(s);
}

/* Columns of the result. */
static int column_count(const op *o) {
    if (o->jacobian == SOA_DIRECTION_COUNT || o->dense)
        return soa_machine_space_size(o->machine, soa_expr_domain(o->expr));
    return soa_machine_space_size(o->machine, o->jacobian == SOA_DIRECTION_F0 ? SOA_SPACE_TIP
                                                                              : SOA_SPACE_JOINT);
}
/* With --jacobian, replaces e by its derivative, or with --dense by the Jacobian as an operator. */
static int differentiated(op *o, const soa_expr **e) {
    const soa_expr *made = NULL;
    if (o->jacobian == SOA_DIRECTION_COUNT) return 0;
    soa_status s = SOA_E_ARGUMENT;
    if (soa_expr_domain(*e) != SOA_SPACE_ONE)
        say(o, "--jacobian: this is an operator, expected a vector");
    else
        s = o->dense ? soa_expr_jacobian(*e, (soa_direction)o->jacobian, &made)
                     : soa_expr_differentiate(*e, NULL, NULL, &made);
    soa_expr_free(*e);
    *e = made;
    if (s == SOA_OK) return 0;
    if (s == SOA_E_NO_CONVERGENCE)
        return say(o, "--jacobian --dense: it contains dP or dMc, of which no operator in dq is "
                      "made; leave --dense out");
    if (o->error[0]) return -1;
    if (s == SOA_E_ARGUMENT)
        return say(o, "--jacobian: the expression contains something that has no derivative here: "
                      "dq and the like, Delta, pinv");
    return say(o, "%s", soa_status_text(s));
}
/* Parses and simplifies the expression with the variables in o->vars. */
static int prepare(op *o) {
    const soa_expr *e = NULL, *better = NULL;
    soa_plan_free(o->plan);
    soa_expr_free(o->expr);
    o->plan = NULL;
    o->expr = NULL;
    o->parsed = 0;
    if (soa_expr_parse(o->text, o->vars, o->var_count, &e, o->error, sizeof o->error) != SOA_OK) {
        if (!o->error[0]) say(o, "out of memory");
        return -1;
    }
    if (differentiated(o, &e)) return -1;
    if (!o->dense && !o->as_written && soa_expr_domain(e) == SOA_SPACE_ONE) {
        const soa_status s = soa_expr_improve(e, 0, NULL, NULL, &better);
        soa_expr_free(e);
        if (s != SOA_OK) return say(o, "%s", soa_status_text(s));
        e = better;
    }
    o->expr = e;
    const size_t size =
        (size_t)soa_machine_space_size(o->machine, soa_expr_codomain(e)) * (size_t)column_count(o);
    double *room = realloc(o->result, (size + 1) * sizeof *room);
    if (!room) return say(o, "out of memory");
    o->result = room;
    o->result_room = size;
    o->parsed = 1;
    return 0;
}

/* Matrices are formed by dense arithmetic, O(n^3) for each operator. Nonzero: this would take
 * minutes. */
static int refuse_dense(op *o) {
    /* Multiplications, about five seconds; products that form one leaf. */
    const double most = 2e10, forming = 4;
    const double n = soa_machine_space_size(o->machine, SOA_SPACE_LINK);
    if (!o->dense || (app_operator_count(o->expr) + forming) * n * n * n <= most) return 0;
    return say(o,
               "--dense: %d bodies make matrices %.0f wide, and this expression needs too many "
               "products of them; take "
               "fewer bodies (100, say), fewer operators, or leave --dense out",
               soa_model_body_count(o->model), n);
}

/* Reports mistakes that do not depend on the states: syntax, spaces, an operator without a vector.
 * An unknown name may still be among the vars of a state. */
static int check_expression(op *o) {
    if (prepare(o)) return strstr(o->error, "nor a vector") ? 0 : -1;
    if (refuse_dense(o)) return -1;
    if (o->dense ||
        soa_plan_create(o->machine, o->expr, &o->plan, o->error, sizeof o->error) == SOA_OK)
        return 0;
    return o->error[0] ? -1 : say(o, "out of memory");
}

/* --- a line ----------------------------------------------------------------------------------- */
static int numbers(op *o, const char *name, const json_t *value, double *x, size_t n) {
    if (!json_is_array(value) || json_array_size(value) != n)
        return say(o, "%s: a list of %zu numbers is wanted", name, n);
    for (size_t i = 0; i < n; ++i) {
        const json_t *number = json_array_get(value, i);
        x[i] = json_is_number(number) ? json_number_value(number) : NAN;
        if (!isfinite(x[i])) return say(o, "%s[%zu] is not a finite number", name, i);
    }
    return 0;
}
/* A space by name, other than one; SOA_SPACE_COUNT: there is no such space. */
static soa_space space_named(const json_t *name) {
    const char *word = json_string_value(name);
    int space = SOA_SPACE_JOINT;
    while (word && space < SOA_SPACE_COUNT && strcmp(word, soa_space_name((soa_space)space)) != 0)
        ++space;
    return word ? (soa_space)space : SOA_SPACE_COUNT;
}
/* What an entry of vars declares: a vector in "space", an operator "from" another space, or one with
 * a block for each body ("blocks": true). */
static int read_var_kind(op *o, const char *name, const json_t *entry, soa_variable *var) {
    const json_t *from = json_object_get(entry, "from"), *blocks = json_object_get(entry, "blocks");
    static const char *const spaces = "joint, link, edge, tip, base, constraint, object, primary";
    var->space = space_named(json_object_get(entry, "space"));
    if (var->space == SOA_SPACE_COUNT)
        return say(o, "vars.%.40s: its space is one of %s", name, spaces);
    var->from = from ? space_named(from) : SOA_SPACE_ONE;
    if (var->from == SOA_SPACE_COUNT)
        return say(o, "vars.%.40s: an operator maps one (\"from\") of %s to \"space\"", name,
                   spaces);
    if (blocks && !json_is_boolean(blocks))
        return say(o, "vars.%.40s: blocks is true or false", name);
    var->blocks = json_is_true(blocks);
    if (!var->blocks) return 0;
    if (!from) var->from = var->space;
    if (var->from != var->space || !soa_machine_blocks_size(o->machine, var->space))
        return say(o, "vars.%.40s: an operator with blocks maps joint, link or edge to itself",
                   name);
    return 0;
}
/* Reads the numbers, operators row by row, and sets them. */
static int read_var_value(op *o, const char *name, const json_t *value, const soa_variable *var) {
    soa_machine *m = o->machine;
    const soa_space from = var->from, to = var->space;
    size_t n = (size_t)soa_machine_space_size(m, to);
    if (var->blocks)
        n = soa_machine_blocks_size(m, to);
    else if (from != SOA_SPACE_ONE)
        n *= (size_t)soa_machine_space_size(m, from);
    double *x = malloc((n + 1) * sizeof *x);
    if (!x) return say(o, "out of memory");
    int bad = numbers(o, name, value, x, n);
    if (!bad) {
        soa_status s;
        if (var->blocks)
            s = soa_machine_set_blocks(m, name, to, x);
        else if (from != SOA_SPACE_ONE)
            s = soa_machine_set_matrix(m, name, from, to, x);
        else
            s = soa_machine_set_vector(m, name, to, x);
        if (s != SOA_OK) bad = say(o, "vars.%.40s: not usable", name);
    }
    free(x);
    return bad;
}
static int read_vars(op *o, json_t *vars) {
    const char *name;
    json_t *entry;
    int count = 0, changed = 0;
    if (!json_is_object(vars))
        return say(o, "vars is an object: {\"name\": {\"space\": \"joint\", \"value\": [...]}}");
    json_object_foreach(vars, name, entry) {
        soa_variable var = {0};
        if (count == MOST_VARS || strlen(name) >= sizeof o->names[0])
            return say(o, "vars: at most %d names of at most 31 letters", MOST_VARS);
        const int bad = read_var_kind(o, name, entry, &var);
        if (bad) return bad;
        if (read_var_value(o, name, json_object_get(entry, "value"), &var)) return -1;
        const soa_variable *old = o->vars + count;
        if (count >= o->var_count || strcmp(o->names[count], name) != 0 ||
            old->space != var.space || old->from != var.from || old->blocks != var.blocks)
            changed = 1;
        snprintf(o->names[count], sizeof o->names[count], "%s", name);
        var.name = o->names[count];
        o->vars[count] = var;
        ++count;
    }
    if (changed || count != o->var_count) o->parsed = 0;
    o->var_count = count;
    return 0;
}
static int read_wrenches(op *o, const json_t *list, soa_wrench **wrenches, int *count) {
    const size_t n = json_array_size(list);
    *wrenches = calloc(n + 1, sizeof **wrenches);
    if (!json_is_array(list) || !*wrenches)
        return say(o, "fext is a list of objects with link, wrench and frame");
    for (size_t i = 0; i < n; ++i) {
        const json_t *entry = json_array_get(list, i);
        const char *link = json_string_value(json_object_get(entry, "link")),
                   *frame = json_string_value(json_object_get(entry, "frame"));
        soa_wrench *w = *wrenches + i;
        w->frame = link ? soa_model_find_frame(o->model, link) : -1;
        char hint[APP_HINT];
        if (w->frame < 0)
            return say(o, "fext[%zu]: no link '%.60s'%s", i, link ? link : "",
                       app_nearest_link(o->model, link ? link : "", hint));
        if (json_object_get(entry, "frame") &&
            (!frame || (strcmp(frame, "world") && strcmp(frame, "body"))))
            return say(o, "fext[%zu]: frame is 'world' or 'body'", i);
        w->axes = frame && !strcmp(frame, "body") ? SOA_AXES_BODY : SOA_AXES_WORLD;
        if (numbers(o, "fext wrench", json_object_get(entry, "wrench"), w->value, 6)) return -1;
        *count = (int)i + 1;
    }
    return 0;
}
static int read_state(op *o, json_t *state) {
    static const char *const known[] = {"q",  "v",  "a",  "tau",  "f0",  "fext", "vars",
                                        "dq", "dv", "da", "dtau", "df0", NULL};
    enum { FEXT = 5, VARS, DIRECTION };
    const size_t nq = (size_t)soa_model_nq(o->model), nv = (size_t)soa_model_nv(o->model);
    const size_t tips = (size_t)soa_machine_space_size(o->machine, SOA_SPACE_TIP);
    const size_t size[5] = {nq, nv, nv, nv, tips};
    if (!json_is_object(state)) return say(o, "a state is a JSON object");
    const char *key;
    json_t *value;
    soa_wrench *wrenches = NULL;
    int wrench_count = 0, bad = 0;
    double *slots[5] = {NULL}, *direction[SOA_DIRECTION_COUNT] = {NULL};
    json_object_foreach(state, key, value) {
        app_nearest search = app_nearest_to(key);
        int i = 0;
        for (; known[i] && strcmp(known[i], key); ++i)
            app_nearest_try(&search, known[i]);
        char hint[APP_HINT];
        double *const to[5] = {o->q, o->v, o->a, o->tau, o->f0};
        if (!known[i]) {
            bad = say(o, "unknown key '%.60s'%s", key, app_nearest_hint(&search, hint));
        } else if (i < 5) {
            bad = numbers(o, key, value, to[i], size[i]);
            slots[i] = to[i];
        } else if (i == FEXT) {
            bad = read_wrenches(o, value, &wrenches, &wrench_count);
        } else if (i == VARS) {
            bad = read_vars(o, value);
        } else {
            const int which = i - DIRECTION;
            direction[which] = o->direction[which];
            bad = numbers(o, key, value, direction[which], which < 4 ? nv : tips);
        }
        if (bad) break;
    }
    if (!bad) {
        const soa_status s = soa_machine_set_state(o->machine, slots[0], slots[1], slots[2],
                                                   slots[3], slots[4], wrenches, wrench_count);
        if (s != SOA_OK) bad = say(o, "%s", soa_status_text(s));
    }
    if (!bad) {
        const soa_status s = app_loops_set(&o->loops, o->machine, slots[0], slots[1]);
        if (s != SOA_OK) bad = say(o, "the loops at this state: %s", soa_status_text(s));
    }
    if (!bad && soa_machine_set_direction(o->machine, direction[0], direction[1], direction[2],
                                          direction[3], direction[4]) != SOA_OK)
        bad = say(o, "the direction is not finite");
    free(wrenches);
    return bad;
}
static int answer(op *o, const char *line, app_out *out) {
    json_error_t where;
    json_t *state = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &where);
    if (!state) return say(o, "not JSON: %.200s", where.text);
    int bad = read_state(o, state);
    json_decref(state);
    if (bad || (!o->parsed && prepare(o))) return -1;
    soa_status s = SOA_OK;
    if (o->dense) {
        s = soa_machine_dense_matrix(o->machine, o->expr, o->result);
    } else {
        if (!o->plan &&
            soa_plan_create(o->machine, o->expr, &o->plan, o->error, sizeof o->error) != SOA_OK)
            return o->error[0] ? -1 : say(o, "out of memory");
        s = o->jacobian == SOA_DIRECTION_COUNT
                ? soa_plan_run(o->plan, o->result)
                : soa_plan_jacobian(o->plan, (soa_direction)o->jacobian, o->result);
    }
    if (s != SOA_OK) return say(o, "%s", why_not(o->machine, s));
    for (size_t i = 0; i < o->result_room; ++i)
        if (!isfinite(o->result[i])) return say(o, "the result is not finite");
    const size_t rows = (size_t)soa_machine_space_size(o->machine, soa_expr_codomain(o->expr)),
                 columns = (size_t)column_count(o);
    out_text(out, "{\"result\": ");
    if (soa_expr_domain(o->expr) == SOA_SPACE_ONE && o->jacobian == SOA_DIRECTION_COUNT)
        out_vector(out, o->result, rows);
    else
        out_matrix(out, o->result, rows, columns);
    out_text(out, "}\n");
    return 0;
}
static int answer_all(op *o, FILE *in, app_out *out) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    unsigned long number = 0, states = 0, bad = 0;
    char unknown[MESSAGE];
    /* The message of check_expression. */
    snprintf(unknown, sizeof unknown, "%s", o->error);
    while (!out->error && (n = getline(&line, &room, in)) >= 0) {
        ++number;
        if (strspn(line, " \t\r\n") == (size_t)n) continue;
        const size_t before = out->size;
        o->error[0] = 0;
        ++states;
        if (answer(o, line, out)) {
            out->size = before;
            if (!bad++) {
                char text[MESSAGE + 32];
                snprintf(text, sizeof text, "line %lu: %s", number, o->error);
                app_fail_lines(&app_op, text);
            }
            out_format(out, "{\"line\": %lu, \"error\": ", number);
            out_string(out, o->error);
            out_text(out, "}\n");
        }
        if (out->size > 1 << 16) out_flush(out);
    }
    free(line);
    if (!states && unknown[0]) return app_fail_lines(&app_op, unknown);
    return bad ? APP_SOME_BAD : APP_OK;
}

/* Name with anything removed that would end a C comment. The caller frees it. NULL: no memory. */
static char *name_in_comment(const char *name) {
    char *copy = strdup(name);
    for (char *c = copy; c && *c; ++c)
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*')) c[1] = ' ';
    return copy;
}
/* --- explaining ------------------------------------------------------------------------------- */
static void show_step(void *out, const char *rule, const char *result) {
    static const char *const given = "given";
    if (strcmp(rule, given) == 0)
        out_print(out, "    %s\n", result);
    else
        out_print(out, "  = %-100s   [%s]\n", result, rule);
}
static void count_line(app_out *out, const char *name, const soa_count *c) {
    out_print(out, "%-24s %10ld %16ld %10ld %8ld\n", name, c->additions, c->multiplications,
              c->divisions, c->sines);
    if (c->roots) out_print(out, "%-24s %10ld\n", "  square roots", c->roots);
}
/* Zeros for the letters of an expression, so that it can be planned without a state. */
static void zero_letters(op *o, const soa_expr *e) {
    soa_expr_info info;
    if (!e || soa_expr_get_info(e, &info) != SOA_OK) return;
    for (int i = 0; i < info.count; ++i)
        zero_letters(o, soa_expr_part(e, i));
    if (info.kind != SOA_EXPR_LEAF || info.what) return;
    const soa_space from = soa_expr_domain(e), to = soa_expr_codomain(e);
    const size_t columns =
        from == SOA_SPACE_ONE ? 1 : (size_t)soa_machine_space_size(o->machine, from);
    const size_t n = info.blocks ? soa_machine_blocks_size(o->machine, to)
                                 : columns * (size_t)soa_machine_space_size(o->machine, to);
    double *zero = calloc(n + 1, sizeof *zero);
    if (!zero) return;
    if (info.blocks)
        soa_machine_set_blocks(o->machine, info.name, to, zero);
    else if (from == SOA_SPACE_ONE)
        soa_machine_set_vector(o->machine, info.name, to, zero);
    else
        soa_machine_set_matrix(o->machine, info.name, from, to, zero);
    free(zero);
}
/* Prints the operations one by one: counted, or as C. */
static int scalars(op *o, const app_args *args, app_out *out) {
    const char *axes = args->value[AXES], *link = args->value[PARTS];
    soa_scalar_graph_options how = {.axes = SOA_AXES_BODY,
                                    .by_matrix = args->value[BY_MATRIX] != NULL,
                                    .generic = args->value[GENERIC] != NULL};
    if (axes && strcmp(axes, "link") && strcmp(axes, "world"))
        return app_fail(&app_op, "--axes %s: it is link or world", axes);
    if (axes && !strcmp(axes, "world")) how.axes = SOA_AXES_WORLD;
    /* The rewriter would remove the matrix. */
    if (how.by_matrix) o->as_written = 1;
    if (prepare(o)) return app_fail_lines(&app_op, o->error);
    zero_letters(o, o->expr);
    int body = 0;
    soa_body_info info;
    while (link && strcmp(link, "all") &&
           (soa_model_body(o->model, ++body, &info) != SOA_OK || strcmp(info.link, link) != 0))
        if (body > soa_model_body_count(o->model)) {
            char hint[APP_HINT];
            return app_fail(&app_op, "--parts: no link '%s'%s", link,
                            app_nearest_link(o->model, link, hint));
        }
    soa_scalar_graph *graph = NULL;
    const soa_status s =
        soa_scalar_graph_create(o->machine, o->expr, &how, &graph, o->error, sizeof o->error);
    if (s != SOA_OK) return app_fail_lines(&app_op, o->error[0] ? o->error : soa_status_text(s));
    soa_count c;
    soa_scalar_graph_operations(graph, 0, -1, &c);
    int code = APP_OK;
    if (args->value[EMIT]) {
        char *text = NULL, *shown = malloc(4000);
        size_t length = 0;
        if (shown && soa_scalar_graph_emit_c(graph, "soa_op", &text, &length) == SOA_OK) {
            soa_expr_print(o->expr, shown, 4000);
            char *name = name_in_comment(soa_model_name(o->model));
            out_print(out,
                      "/* %s\n * for the model %s%s%s: %ld additions, %ld multiplications, %ld "
                      "divisions, %ld sines "
                      "and cosines. */\n",
                      shown, name ? name : "",
                      how.axes == SOA_AXES_WORLD ? ", axes of the world" : "",
                      how.by_matrix ? ", by the mass matrix" : "", c.additions, c.multiplications,
                      c.divisions, c.sines);
            free(name);
            out_bytes(out, text, length);
        } else {
            code = app_fail(&app_op, "out of memory");
        }
        free(text);
        free(shown);
    } else {
        out_format(out, "%-24s %10s %16s %10s %8s\n", link ? "part" : "link", "additions",
                   "multiplications", "divisions", "sin cos");
        soa_count l;
        const char *name;
        for (int p = 0; link && (name = soa_scalar_graph_part_name(p, NULL)); ++p)
            if (soa_scalar_graph_operations(graph, body, p, &l) == SOA_OK &&
                l.additions + l.multiplications + l.divisions + l.sines > 0)
                count_line(out, name, &l);
        for (int b = 1; !link && b <= soa_model_body_count(o->model); ++b)
            if (soa_model_body(o->model, b, &info) == SOA_OK &&
                soa_scalar_graph_operations(graph, b, -1, &l) == SOA_OK)
                count_line(out, info.link, &l);
        soa_scalar_graph_operations(graph, body, -1, &l);
        count_line(out, link ? link : "all", &l);
    }
    soa_scalar_graph_free(graph);
    return code;
}
static void show_rule(void *out, const char *rule, const char *result) {
    out_print(out, "    %-100s   [%s]\n", result, rule);
}
/* The rules that differentiate what stands in each d(...) of the text; mistakes are reported when
 * the whole is parsed. */
static void show_rules(const char *text, app_out *out) {
    for (const char *at = text; (at = strstr(at, "d(")) != NULL; ++at) {
        const int inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        int depth = 0;
        const char *end = at + 1;
        do {
            depth += *end == '(';
            depth -= *end == ')';
            ++end;
        } while (*end && depth > 0);
        char *part = inside || depth ? NULL : strndup(at + 2, (size_t)(end - at - 3));
        const soa_expr *e = NULL, *d = NULL;
        if (part && soa_expr_parse(part, NULL, 0, &e, NULL, 0) == SOA_OK)
            soa_expr_differentiate(e, show_rule, out, &d);
        soa_expr_free(e);
        soa_expr_free(d);
        free(part);
    }
}
/* The Jacobian as an operator, as text; empty: it is none. */
static int say_operator(op *o, char *text, size_t room) {
    text[0] = 0;
    const soa_expr *e = NULL, *j = NULL;
    soa_status s = soa_expr_parse(o->text, o->vars, o->var_count, &e, NULL, 0);
    if (s == SOA_OK) s = soa_expr_jacobian(e, (soa_direction)o->jacobian, &j);
    if (s == SOA_OK) soa_expr_print(j, text, room);
    soa_expr_free(e);
    soa_expr_free(j);
    return s == SOA_E_MEMORY ? -1 : 0;
}
/* Both as one equation, so that letters and the space of I are those of the other side. */
static soa_status parse_both(const op *o, const char *to, const soa_expr **a, const soa_expr **b,
                             char *message, size_t room) {
    const size_t n = strlen(o->text) + strlen(to) + 4;
    char *both = malloc(n);
    if (!both) return SOA_E_MEMORY;
    snprintf(both, n, "%s = %s", o->text, to);
    const soa_status s = soa_expr_parse_equation(both, NULL, 0, a, b, message, room);
    free(both);
    return s;
}
static int derive_to(op *o, const char *to, app_out *out) {
    const soa_expr *e = NULL, *goal = NULL;
    soa_status s = parse_both(o, to, &e, &goal, o->error, sizeof o->error);
    if (s != SOA_OK) return app_fail_lines(&app_op, o->error[0] ? o->error : soa_status_text(s));
    s = soa_expr_derive(e, goal, 0, show_step, out);
    int code = APP_OK;
    if (s == SOA_E_NO_CONVERGENCE && soa_expr_prove(e, goal, NULL, NULL) == SOA_OK)
        code = app_fail(&app_op, "--to: no derivation was found, but the two are equal: soa "
                                 "identity --proof shows why");
    else if (s == SOA_E_NO_CONVERGENCE)
        code = app_fail(&app_op, "--to: no derivation was found, nor a proof that the two are "
                                 "equal: soa identity tries them on machines");
    else if (s != SOA_OK)
        code = app_fail(&app_op, "%s", soa_status_text(s));
    soa_expr_free(e);
    soa_expr_free(goal);
    return code;
}
static int derive(op *o, const char *to, app_out *out) {
    const soa_expr *e = NULL, *better = NULL;
    if (to) return derive_to(o, to, out);
    if (soa_expr_parse(o->text, NULL, 0, &e, o->error, sizeof o->error) != SOA_OK)
        return app_fail_lines(&app_op, o->error);
    show_rules(o->text, out);
    if (o->jacobian != SOA_DIRECTION_COUNT) {
        const soa_expr *d = NULL;
        soa_expr_differentiate(e, show_rule, out, &d);
        soa_expr_free(d);
    }
    if (differentiated(o, &e)) return app_fail_lines(&app_op, o->error);
    const soa_status s = soa_expr_improve(e, 0, show_step, out, &better);
    soa_expr_free(e);
    soa_expr_free(better);
    return s == SOA_OK ? APP_OK : app_fail(&app_op, "out of memory");
}
static int explain(op *o, const app_args *args, app_out *out) {
    if (args->value[DERIVE]) {
        const int code = derive(o, args->value[TO], out);
        if (code != APP_OK || args->value[TO]) return code;
    }
    if (args->value[COUNT] || args->value[EMIT] || args->value[PARTS]) {
        const int code = scalars(o, args, out);
        if (code != APP_OK) return code;
    }
    if (args->value[EXPLAIN] && !args->value[HTML]) {
        if (prepare(o)) return app_fail_lines(&app_op, o->error);
        zero_letters(o, o->expr);
        if (soa_plan_create(o->machine, o->expr, &o->plan, o->error, sizeof o->error) != SOA_OK)
            return app_fail_lines(&app_op, o->error[0] ? o->error : "out of memory");
        char *text = malloc(1 << 20);
        if (!text) return app_fail(&app_op, "out of memory");
        if (o->jacobian != SOA_DIRECTION_COUNT && say_operator(o, text, 1 << 20)) {
            free(text);
            return app_fail(&app_op, "out of memory");
        }
        if (o->jacobian != SOA_DIRECTION_COUNT && text[0])
            out_print(out, "as an operator: %s\none column, a direction at a time: ", text);
        soa_expr_print(o->expr, text, 1 << 20);
        out_print(out, "%s\n", text);
        soa_plan_explain(o->plan, text, 1 << 20);
        out_text(out, text);
        free(text);
    }
    return APP_OK;
}

/* Says so if a named form, whose results are accelerations, includes gravity. */
static void say_gravity(const soa_model *model, const char *form) {
    static const char *const forms[] = {"FD2", "FD2_tip", "FD3_link"};
    double g[3] = {0};
    soa_model_gravity(model, g);
    if (g[0] == 0 && g[1] == 0 && g[2] == 0) return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
        if (!strcmp(form, forms[i]))
            app_fail(&app_op,
                     "note: %s gives accelerations less gravity, which acts as an acceleration of "
                     "the base: at rest "
                     "they show it upward; subtract %sphi' E g for those in the world",
                     form, i == 1 ? "B' " : "");
}

/* Reads the state for the page: the first line of --in that is not blank. *line remains NULL if no
 * file was given. */
static int first_state(op *o, const char *path, char **line) {
    if (!path) return 0;
    FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
    if (!in) return app_fail(&app_op, "--in %s: %s", path, strerror(errno));
    size_t room = 0;
    ssize_t n;
    while ((n = getline(line, &room, in)) >= 0 && strspn(*line, " \t\r\n") == (size_t)n)
        continue;
    if (in != stdin) fclose(in);
    if (n < 0) return app_fail(&app_op, "--in %s: there is no state in it", path);
    json_error_t where;
    json_t *state = json_loads(*line, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &where);
    const int bad = state ? read_state(o, state) : say(o, "not JSON: %.200s", where.text);
    json_decref(state);
    return bad ? app_fail(&app_op, "--in %s: %s", path, o->error) : 0;
}
static int write_page(op *o, const app_args *args, const int *tips, int tip_count) {
    char *line = NULL;
    const char *path = args->value[HTML];
    app_target file;
    app_out out;
    int code = first_state(o, args->value[IN], &line);
    out_start(&out, -1); /* in memory until it is complete */
    const op_page page = {args->word[1], o->text,  o->vars, o->var_count, o->as_written,
                          o->machine,    o->model, tips,    tip_count,    line};
    if (!code && op_page_put(&out, &page, o->error, sizeof o->error))
        code = app_fail_lines(&app_op, o->error);
    if (!code && out.error) code = app_fail(&app_op, "%s", strerror(out.error));
    if (!code && app_target_open(&file, path)) {
        code = app_fail(&app_op, "%s: %s", path, strerror(errno));
    } else if (!code) {
        out.fd = file.fd;
        if (out_flush(&out)) code = app_fail(&app_op, "%s: %s", path, strerror(out.error));
        if (app_target_close(&file, !code) && !code)
            code = app_fail(&app_op, "%s: %s", path, strerror(errno));
    }
    out_free(&out);
    free(line);
    return code;
}

static int find_tips(const soa_model *model, const char *list, int *tips) {
    if (!list) {
        soa_body_info info;
        for (int b = soa_model_body_count(model); b > 0; --b)
            if (soa_model_body(model, b, &info) == SOA_OK && info.nq > 0) {
                tips[0] = info.frame;
                return 1;
            }
        return 0;
    }
    int count = 0;
    char name[256];
    while (*list) {
        const size_t n = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), list);
        if (count == MOST_TIPS || (tips[count++] = soa_model_find_frame(model, name)) < 0) {
            char hint[APP_HINT];
            app_fail(&app_op, "--tip: no link '%s'%s", name, app_nearest_link(model, name, hint));
            return -1;
        }
        list += n + (list[n] == ',');
    }
    return count;
}

static double *room_for(int n) {
    return calloc((size_t)n + 1, sizeof(double));
}
static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_op, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    soa_constraint_list loops;
    const soa_model *model = app_open_closed(&app_op, &args, &loops);
    if (!model) return APP_FAILED;
    const char *expression = args.word[1], *text, *name;
    for (int i = 0; (name = soa_expr_form_name(i, &text, NULL)); ++i)
        if (!strcmp(name, expression)) expression = text; /* the name of an algorithm */
    if (args.value[TO] && !args.value[DERIVE]) {
        soa_constraint_list_free(&loops);
        soa_model_free(model);
        return app_fail(&app_op, "--to is the end of a derivation: give --derive too");
    }
    const bool closed = loops.count && app_names_loops(expression);
    if (!closed) app_say_left_out(&app_op, args.word[0], loops.count);
    say_gravity(model, args.word[1]);
    op o = {.text = expression,
            .model = model,
            .dense = args.value[DENSE] != NULL,
            .as_written = args.value[AS_WRITTEN] != NULL};
    static const char *const parts[] = {"q", "v", "a", "tau", "f0"};
    const char *with = args.value[JACOBIAN];
    while (o.jacobian < SOA_DIRECTION_COUNT && (!with || strcmp(with, parts[o.jacobian])))
        ++o.jacobian;
    if (with && o.jacobian == SOA_DIRECTION_COUNT) {
        soa_model_free(model);
        return app_fail(&app_op, "--jacobian %s: it is q, v, a, tau or f0", with);
    }
    if (with && args.value[HTML]) {
        soa_model_free(model);
        return app_fail(&app_op, "--jacobian has no page; --html draws d(EXPRESSION)");
    }
    int tips[MOST_TIPS];
    const int tip_count = find_tips(model, args.value[TIP], tips);
    soa_report report = {SOA_OK, -1, 0, ""};
    app_out out;
    out_start(&out, 1);
    code = APP_FAILED;
    o.q = room_for(soa_model_nq(model));
    o.v = room_for(soa_model_nv(model));
    o.a = room_for(soa_model_nv(model));
    o.tau = room_for(soa_model_nv(model));
    o.f0 = room_for(6 * MOST_TIPS);
    int directions = 0;
    for (; directions < SOA_DIRECTION_COUNT; ++directions) {
        o.direction[directions] =
            room_for(directions == SOA_DIRECTION_F0 ? 6 * MOST_TIPS : soa_model_nv(model));
        if (!o.direction[directions]) break;
    }
    FILE *in = stdin;
    if (tip_count >= 0) {
        if (soa_machine_create(model, tips, tip_count, &o.machine, &report) != SOA_OK)
            app_fail(&app_op, "%s", report.text);
        else if (closed && app_loops_open(&o.loops, model, &loops, o.machine) != SOA_OK)
            app_fail(&app_op, "the loops of %s: out of memory, or a cut joint has a rotor",
                     args.word[0]);
        else if (!o.q || !o.v || !o.a || !o.tau || !o.f0 || directions < SOA_DIRECTION_COUNT)
            app_fail(&app_op, "out of memory");
        else if (args.value[DERIVE] || args.value[EXPLAIN] || args.value[COUNT] ||
                 args.value[EMIT] || args.value[PARTS])
            code = explain(&o, &args, &out);
        else if (args.value[HTML])
            code = APP_OK;
        else if (app_refuse_one_input(&app_op, args.word[0], args.value[IN]) != APP_OK)
            code = APP_FAILED;
        else if (args.value[IN] && strcmp(args.value[IN], "-") &&
                 !(in = fopen(args.value[IN], "r")))
            app_fail(&app_op, "--in %s: %s", args.value[IN], strerror(errno));
        else if (check_expression(&o))
            app_fail_lines(&app_op, o.error);
        else
            code = answer_all(&o, in, &out);
    }
    if (args.value[HTML] && o.machine && code == APP_OK)
        code = write_page(&o, &args, tips, tip_count);
    if (in && in != stdin) fclose(in);
    soa_plan_free(o.plan);
    soa_expr_free(o.expr);
    soa_machine_free(o.machine);
    app_loops_free(&o.loops);
    soa_constraint_list_free(&loops);
    free(o.q);
    free(o.v);
    free(o.a);
    free(o.tau);
    free(o.f0);
    for (int i = 0; i < SOA_DIRECTION_COUNT; ++i)
        free(o.direction[i]);
    free(o.result);
    soa_model_free(model);
    return app_finish(&app_op, &out, code);
}

const app_command app_op = {
    .name = "op",
    .words = "MODEL EXPRESSION",
    .least = 2,
    .most = 2,
    .summary = "Runs an operator expression as O(n) sweeps",
    .text =
        "Operators   H phi psi phit psit Phi Psi M Mc P D G K L S E_phi E_psi Delta_phi "
        "Delta_psi B J E Mass Inc I\n"
        "            Delta Sigma Pplus sqrt(D) phi(i, j) psi(i, j) at(i) 0 pinv(...); closed "
        "chains: "
        "Bc Rc Gc gammac\n"
        "            (Greek letters are understood); ' is the adjoint, inv(...) the inverse, + "
        "- and numbers as usual\n"
        "Vectors     T tau, thd v, thdd a, f0, a b V alpha (from the state), g (gravity), and "
        "the state's own vars\n"
        "Algorithms  by name instead of an expression: FD1 FD2 FD2_tip FD3 FD3_link FD4 ID "
        "due_to_torque due_to_force\n"
        "            due_to_acceleration due_to_tip innovations filter compliance task_force\n"
        "Input lines are states as for soa compute (q v a tau fext), with f0 (6 numbers per "
        "tip) and\n"
        "  vars      {\"x\": {\"space\": \"joint\"|\"link\"|\"edge\"|\"tip\"|\"base\", "
        "\"value\": [...]}}; with\n"
        "            \"from\": a space, an operator from there, row by row; \"blocks\": true, one "
        "block for each body\n"
        "Derivatives  d(EXPRESSION) in the direction that the state gives as dq dv da dtau df0 "
        "(dq in the tangent\n"
        "            space); --jacobian q prints the matrix instead; --derive the rules\n"
        "Output lines are {\"result\": [...]}: joints in the order of soa info, links angular "
        "part first, each in its\n"
        "own frame.  Friction and springs are not part of T.  Gravity is an acceleration of "
        "the base (in a and alpha), "
        "so\n"
        "FD2, FD2_tip, FD3_link and alpha are accelerations less gravity: at rest they show it "
        "upward.  A model's "
        "loops\n"
        "are left out unless the expression names Bc, Rc, Gc or gammac: the operators are those "
        "of its spanning tree.\n"
        "docs/operators.md is a tour.\n"
        "Exit status: 0 all answered, 1 some lines bad, 2 usage, model or expression.\n",
    .options = options,
    .examples = "  echo '{}' | soa op arm7 \"inv(Mass) T\"\n"
                "  echo '{\"q\": [0,0.5,0,-1,0,0.3,0]}' | soa op arm7 --ideal \\\n"
                "      \"(I - H psi K)' inv(D) (I - H psi K) (T - H phi (M phi' a + b))\"\n"
                "  soa op arm7 FD3 --explain\n"
                "  soa op arm7 --derive \"J inv(Mass) J' f0\"\n"
                "  soa op arm7 FD1 --derive --to FD4\n"
                "  soa op arm7 --explain \"inv(Mass) (T - H phi (M phi' a + b + B f0))\"\n"
                "  soa op arm7 FD3 --explain --html fd3.html\n"
                "  echo '{\"dq\": [1,0,0,0,0,0,0]}' | soa op arm7 \"d(inv(Mass) T)\"\n"
                "  echo '{\"v\": [0,1,0,1,0,1,0]}' | soa op arm7 --jacobian q ID\n"
                "  echo '{}' | soa op arm7 --dense \"J inv(Mass) J'\"\n",
    .run = run,
};
