/* expression.c  operator expressions in the playground: like `soa op`, but kept from one state to
 * the next.
 *
 * A vector expression is planned as it is. An operator E is planned as E x for a vector x owned by
 * the page, and run once for each unit vector, so that its matrix also comes from sweeps.
 * soa_machine_dense_matrix forms the same matrix from the definitions. */
#include "playground.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of link space; joints of a machine whose operations are counted. */
enum { MOST_DENSE = 360, MOST_COUNTED = 64 };

void play_expression_drop(play *p) {
    soa_plan_free(p->plan);
    soa_expr_free(p->expr);
    soa_expr_free(p->applied);
    p->plan = NULL;
    p->expr = p->applied = p->planned = NULL;
}

/* Plans the same expression for a new machine. A plan needs values for its vectors. */
int play_expression_plan(play *p, char *why, size_t room) {
    soa_plan_free(p->plan);
    p->plan = NULL;
    if (!p->planned || !p->machine) return 0;
    if (p->from != SOA_SPACE_ONE) {
        double *zero =
            calloc((size_t)soa_machine_space_size(p->machine, p->from) + 1, sizeof *zero);
        const soa_status s =
            zero ? soa_machine_set_vector(p->machine, "x", p->from, zero) : SOA_E_MEMORY;
        free(zero);
        if (s != SOA_OK) return play_status(s);
    }
    why[0] = 0;
    if (soa_plan_create(p->machine, p->planned, &p->plan, why, room) != SOA_OK) p->plan = NULL;
    return 0;
}

static void show_step(void *user, const char *rule, const char *result) {
    app_out *out = user;
    out_text(out, out->data[out->size - 1] == '[' ? "" : ", ");
    out_text(out, "{\"rule\": ");
    out_string(out, rule);
    out_text(out, ", \"result\": ");
    out_string(out, result);
    out_char(out, '}');
}
/* E x (or E itself if it is a vector), simplified; the steps are written to the text. NULL if a
 * vector is to be used as written, which needs no other expression, or if there is no memory. */
static const soa_expr *make_applied(const play *p, const soa_expr *x, int as_written,
                                    app_out *out) {
    const soa_expr *product = x ? soa_expr_product(p->expr, x) : NULL, *better = NULL;
    if (as_written || (x && !product)) return product;
    if (soa_expr_improve(x ? product : p->expr, 0, out ? show_step : NULL, out, &better) != SOA_OK)
        return product;
    soa_expr_free(product);
    return better;
}
/* Counts operations without known zeros and constants. An operator is counted for the vector of the
 * state that fits it. */
static void write_count(play *p, int as_written) {
    static const char *const with[SOA_SPACE_COUNT] = {
        [SOA_SPACE_JOINT] = "T", [SOA_SPACE_TIP] = "f0", [SOA_SPACE_BASE] = "g"};
    app_out *out = &p->text;
    soa_scalar_graph *graph = NULL;
    soa_count c;
    char why[600] = "";
    const soa_expr *x = NULL, *counted = NULL;
    const int vector = p->from == SOA_SPACE_ONE;
    if (p->plan && soa_model_nv(p->model) <= MOST_COUNTED) {
        if (!vector && with[p->from]) x = soa_expr_leaf(with[p->from]);
        if (x) counted = make_applied(p, x, as_written, NULL);
        if (vector || counted)
            if (soa_scalar_graph_create(p->machine, vector ? p->planned : counted, NULL, &graph,
                                        why, sizeof why) == SOA_OK &&
                soa_scalar_graph_operations(graph, 0, -1, &c) == SOA_OK) {
                out_format(out,
                           ", \"count\": {\"additions\": %ld, \"multiplications\": %ld, "
                           "\"divisions\": %ld, \"sines\": "
                           "%ld, \"on\": \"%s\"}",
                           c.additions, c.multiplications, c.divisions, c.sines,
                           vector ? "" : with[p->from]);
            }
        soa_scalar_graph_free(graph);
        soa_expr_free(counted);
        soa_expr_free(x);
    }
}

const char *play_expression(play *p, const char *text, int as_written) {
    static const char *const causality[] = {"memoryless", "causal", "anticausal", "mixed"};
    char why[600] = "";
    const char *name, *form_text, *what = "", *form = "";
    app_out *out = &p->text;
    play_expression_drop(p);
    if (!p->machine) {
        play_fail("%s", p->refused);
        return NULL;
    }
    for (int i = 0; (name = soa_expr_form_name(i, &form_text, &what)); ++i)
        if (!strcmp(name, text)) {
            form = name;
            text = form_text;
            break;
        }
    if (!name) what = "";
    if (soa_expr_parse(text, NULL, 0, &p->expr, why, sizeof why) != SOA_OK) {
        p->expr = NULL;
        play_fail("%s", why[0] ? why : "out of memory");
        return NULL;
    }
    p->from = soa_expr_domain(p->expr);
    p->to = soa_expr_codomain(p->expr);
    const int rows = soa_machine_space_size(p->machine, p->to),
              columns = soa_machine_space_size(p->machine, p->from);
    out->size = 0;
    out_text(out, "{\"given\": ");
    out_string(out, text);
    out_text(out, ", \"form\": ");
    out_string(out, form);
    out_text(out, ", \"what\": ");
    out_string(out, what);
    out_format(out,
               ", \"from\": \"%s\", \"to\": \"%s\", \"causality\": \"%s\", \"rows\": %d, "
               "\"columns\": %d, \"steps\": [",
               soa_space_name(p->from), soa_space_name(p->to),
               causality[soa_expr_causality(p->expr)], rows, columns);
    const soa_expr *x = p->from == SOA_SPACE_ONE ? NULL : soa_expr_variable("x", p->from);
    p->applied = make_applied(p, x, as_written, out);
    soa_expr_free(x);
    p->planned = p->applied ? p->applied : p->expr;
    if (soa_expr_domain(p->planned) != SOA_SPACE_ONE) {
        play_fail("out of memory");
        play_expression_drop(p);
        return NULL;
    }
    if (play_expression_plan(p, why, sizeof why)) return NULL;
    const size_t shown = soa_expr_print(p->planned, NULL, 0),
                 told = p->plan ? soa_plan_explain(p->plan, NULL, 0) : 0;
    char *room = malloc((shown > told ? shown : told) + 1);
    if (!room) {
        play_fail("out of memory");
        return NULL;
    }
    soa_expr_print(p->planned, room, shown + 1);
    out_text(out, "], \"expression\": ");
    out_string(out, room);
    room[0] = 0;
    if (p->plan) soa_plan_explain(p->plan, room, told + 1);
    out_format(out, ", \"planned\": %s, \"sweeps\": %d, \"recursions\": %d, \"message\": ",
               p->plan ? "true" : "false", p->plan ? soa_plan_sweep_count(p->plan) : 0,
               p->plan ? soa_plan_recursion_count(p->plan) : 0);
    out_string(out, why);
    out_text(out, ", \"explain\": ");
    out_string(out, room);
    free(room);
    write_count(p, as_written);
    out_char(out, '}');
    return play_text(p);
}

static int begin(play *p, double **numbers, size_t *room, int *rows, int *columns) {
    if (!p->expr || !p->machine) return play_fail("no expression");
    if (play_status(soa_machine_set_state(p->machine, p->q, p->v, p->a, p->tau, p->f0, &p->push,
                                          p->pushes)))
        return -1;
    *rows = soa_machine_space_size(p->machine, p->to);
    *columns = soa_machine_space_size(p->machine, p->from);
    return play_room(numbers, room, (size_t)*rows * (size_t)*columns) ? 0 : -1;
}
static int finite(const double *x, int count) {
    for (int i = 0; i < count; ++i)
        if (!isfinite(x[i])) return 0;
    return 1;
}
static int refuse(const play *p, soa_status s) {
    const char *why = soa_machine_failure(p->machine);
    return why[0] ? play_fail("%s", why) : play_status(s);
}
int play_run(play *p) {
    int rows, columns;
    if (begin(p, &p->numbers, &p->room, &rows, &columns)) return -1;
    if (!p->plan) return play_fail("this expression has no plan of sweeps");
    soa_status s = SOA_OK;
    if (p->from == SOA_SPACE_ONE) {
        s = soa_plan_run(p->plan, p->numbers);
    } else {
        double *unit = calloc((size_t)columns + 1, sizeof *unit),
               *column = calloc((size_t)rows + 1, sizeof *column);
        if (!unit || !column) s = SOA_E_MEMORY;
        for (int c = 0; s == SOA_OK && c < columns; ++c) {
            unit[c] = 1;
            s = soa_machine_set_vector(p->machine, "x", p->from, unit);
            unit[c] = 0;
            if (s == SOA_OK) s = soa_plan_run(p->plan, column);
            for (int r = 0; s == SOA_OK && r < rows; ++r)
                p->numbers[r * columns + c] = column[r];
        }
        free(unit);
        free(column);
    }
    if (s == SOA_OK && !finite(p->numbers, rows * columns))
        return play_fail("the result is not finite");
    return s == SOA_OK ? rows * columns : refuse(p, s);
}
int play_run_dense(play *p) {
    int rows, columns;
    p->difference = NAN;
    if (begin(p, &p->dense, &p->dense_room, &rows, &columns)) return -1;
    if (soa_machine_space_size(p->machine, SOA_SPACE_LINK) > MOST_DENSE)
        return play_fail("too many bodies for dense arithmetic here");
    const soa_status s = soa_machine_dense_matrix(p->machine, p->expr, p->dense);
    if (s != SOA_OK) return refuse(p, s);
    if (!finite(p->dense, rows * columns)) return play_fail("the dense result is not finite");
    double most = 0, apart = 0;
    for (int i = 0; i < rows * columns; ++i) {
        most = fmax(most, fabs(p->dense[i]));
        if (p->plan && p->numbers && p->room >= (size_t)(rows * columns))
            apart = fmax(apart, fabs(p->dense[i] - p->numbers[i]));
    }
    p->difference = apart / fmax(most, 1e-3);
    return rows * columns;
}
double play_difference(const play *p) {
    return p->difference;
}
double *play_dense_numbers(play *p) {
    return p->dense;
}
const char *play_forms(play *p) {
    app_out *out = &p->text;
    const char *name, *text, *what;
    out->size = 0;
    out_text(out, "{\"forms\": [");
    for (int i = 0; (name = soa_expr_form_name(i, &text, &what)); ++i) {
        out_text(out, i ? ",\n{\"name\": " : "{\"name\": ");
        out_string(out, name);
        out_text(out, ", \"text\": ");
        out_string(out, text);
        out_text(out, ", \"what\": ");
        out_string(out, what);
        out_char(out, '}');
    }
    out_text(out, "],\n\"leaves\": [");
    for (int i = 0; (name = soa_expr_leaf_name(i, &what)); ++i) {
        out_text(out, i ? ",\n{\"name\": " : "{\"name\": ");
        out_string(out, name);
        out_text(out, ", \"what\": ");
        out_string(out, what);
        out_char(out, '}');
    }
    out_text(out, "]}");
    return play_text(p);
}
