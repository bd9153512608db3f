/* bench_operators.c  times planned expressions against the hand-written calls in one run, and their
 * growth with the number of joints.
 *
 *     soa_bench_operators [--json FILE]
 *
 * Every form is measured twice: in the form that the rewriter makes of it, which is what `soa op`
 * runs, and as it is written.  A plan and its call are timed in turns, with the state set each
 * time; medians of all rounds.  Rows are added to FILE: {"model", "n", "fn", "lib", "ns", "call_ns"}
 * with fn plan_fd1 ..., plan_fd1_as_written ..., and those of the calls that FILE does not have. */
#define _POSIX_C_SOURCE 200809L
#include "soa/io.h"
#include "soa/soa.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, LENGTHS = 4, MOST_JSON = 1 << 22 };
static const int lengths[LENGTHS] = {7, 100, 1000, 10000};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- the calls ------------------------------------------------------------------------------- */
typedef struct state {
    const soa_model *model;
    soa_work *work;
    int tip;
    double *q, *v, *t, f0[6];
    double *memory; /* of soa_operational_space */
    size_t size;
} state;
typedef int hand_written(const state *s, double *out);

static int forward(const state *s, double *out) {
    return soa_aba(s->model, s->work, s->q, s->v, s->t, NULL, 0, out) != SOA_OK;
}
static int inverse(const state *s, double *out) {
    return soa_rnea(s->model, s->work, s->q, s->v, s->v, NULL, 0, out) != SOA_OK;
}
static int minv_times(const state *s, double *out) {
    return soa_minv_mul(s->model, s->work, s->q, s->t, out) != SOA_OK;
}
/* The compliance of the tip, times f0. */
static int compliance(const state *s, double *out) {
    double Omega[36];
    if (soa_compliance(s->model, s->work, s->q, &s->tip, 1, SOA_AXES_BODY, Omega) != SOA_OK)
        return 1;
    for (int r = 0; r < 6; ++r) {
        out[r] = 0;
        for (int c = 0; c < 6; ++c)
            out[r] += Omega[6 * r + c] * s->f0[c];
    }
    return 0;
}
/* The operational-space inertia, times f0. */
static int task_inertia(const state *s, double *out) {
    double lambda[36];
    const soa_task task = {s->tip, SOA_AXES_BODY, SOA_ROWS_ALL};
    const soa_operational_input input = {.q = s->q, .v = s->v, .tasks = &task, .task_count = 1};
    const soa_operational wanted = {.lambda = lambda};
    if (soa_operational_space(s->model, s->work, &input, s->memory, s->size, &wanted, NULL) !=
        SOA_OK)
        return 1;
    for (int r = 0; r < 6; ++r) {
        out[r] = 0;
        for (int c = 0; c < 6; ++c)
            out[r] += lambda[6 * r + c] * s->f0[c];
    }
    return 0;
}

enum { REST, FD, ID };
/* ---- rows ------------------------------------------------------------------------------------ */
typedef struct row {
    const char *fn, *call, *form; /* form: a name or an expression */
    hand_written *hand;
    int moves;               /* which of v, thdd and T the state has, as the call has them */
    double goal_small, goal; /* allowed time relative to the call, at 7 joints and from 100 on */
} row;
static const row rows[] = {
    {"plan_fd1", "fd", "FD1", forward, FD, 1.5, 1.2},
    {"plan_fd2", "fd", "FD2", forward, FD, 1.5, 1.2},
    {"plan_fd3", "fd", "FD3", forward, FD, 1.5, 1.2},
    {"plan_fd4", "fd", "FD4", forward, FD, 1.5, 1.2},
    {"plan_id", "id", "H phi (M phi' (H' thdd + a) + b)", inverse, ID, 1.5, 1.2},
    {"plan_minv_x", "minv_x", "inv(Mass) T", minv_times, REST, 1.5, 1.2},
    {"plan_omega", "omega", "J inv(Mass) J' f0", compliance, REST, 1.5, 1.2},
    {"plan_osim", "osim", "task_force", task_inertia, REST, 1.5, 1.2},
};
enum { ROWS = sizeof rows / sizeof *rows };
typedef struct result {
    const row *row;
    int n, as_written;
    double plan_ns, call_ns;
} result;

static const soa_expr *expression(const char *form, int as_written) {
    const soa_expr *e = NULL;
    const soa_expr *better = NULL;
    if (soa_expr_from_form(form, &e) != SOA_OK &&
        soa_expr_parse(form, NULL, 0, &e, NULL, 0) != SOA_OK)
        return NULL;
    if (as_written) return e;
    if (soa_expr_improve(e, 0, NULL, NULL, &better) != SOA_OK) better = NULL;
    soa_expr_free(e);
    return better;
}
/* Medians of a plan (with setting its state) and of its call, in turns. */
static int time_both(const state *s, soa_machine *k, soa_plan *p, double *out, result *r) {
    double times[2][ROUNDS];
    const int calls = 100000 / (r->n + 20) + 1;
    int bad = 0;
    for (int i = 0; i < ROUNDS && !bad; ++i) {
        double start = seconds();
        for (int j = 0; j < calls; ++j)
            bad |= soa_machine_set_state(k, s->q, r->row->moves ? s->v : NULL,
                                         r->row->moves == ID ? s->v : NULL,
                                         r->row->moves == ID ? NULL : s->t, s->f0, NULL, 0) ||
                   soa_plan_run(p, out);
        times[0][i] = (seconds() - start) / calls * 1e9;
        start = seconds();
        for (int j = 0; j < calls; ++j)
            bad |= r->row->hand(s, out);
        times[1][i] = (seconds() - start) / calls * 1e9;
    }
    if (bad) return 1;
    qsort(times[0], ROUNDS, sizeof(double), ascending);
    qsort(times[1], ROUNDS, sizeof(double), ascending);
    r->plan_ns = times[0][ROUNDS / 2];
    r->call_ns = times[1][ROUNDS / 2];
    return 0;
}
static int measure(result *r) {
    const soa_read_options ideal = {0, 1};
    state s = {.f0 = {1, 2, 3, 4, 5, 6}};
    soa_machine *k = NULL;
    soa_plan *p = NULL;
    soa_body_info last;
    char name[40];
    char message[300] = "";
    snprintf(name, sizeof name, "chain:%d", r->n);
    if (soa_stock_model_create(name, &ideal, &s.model, NULL) != SOA_OK) return 1;
    const size_t nv = (size_t)soa_model_nv(s.model);
    soa_model_body(s.model, soa_model_body_count(s.model), &last);
    s.tip = last.frame;
    s.q = calloc(nv + 1, sizeof(double));
    s.v = calloc(nv + 1, sizeof(double));
    s.t = calloc(nv + 1, sizeof(double));
    s.size = soa_operational_space_size(s.model, 1);
    s.memory = malloc(s.size + 1);
    double *out = calloc(6 * nv + 6, sizeof(double));
    const soa_expr *e = expression(r->row->form, r->as_written);
    int bad = !e || !s.q || !s.v || !s.t || !s.memory || !out ||
              soa_work_create(s.model, &s.work) ||
              soa_machine_create(s.model, &s.tip, 1, &k, NULL) ||
              soa_plan_create(k, e, &p, message, sizeof message);
    for (size_t i = 0; i < nv && !bad; ++i) {
        s.q[i] = 0.1 * (double)i;
        s.v[i] = 0.3;
        s.t[i] = 0.2;
    }
    bad = bad || time_both(&s, k, p, out, r);
    if (bad) fprintf(stderr, "%s, %s: %s\n", name, r->row->fn, message);
    soa_plan_free(p);
    soa_expr_free(e);
    soa_machine_free(k);
    soa_work_free(s.work);
    soa_model_free(s.model);
    free(s.q);
    free(s.v);
    free(s.t);
    free(s.memory);
    free(out);
    return bad;
}

static int print_row(const row *x, int as_written, result *r) {
    int met = 1;
    printf("%-12s %-11s", x->fn, as_written ? "as written" : "");
    for (int i = 0; i < LENGTHS; ++i) {
        r[i] = (result){.row = x, .n = lengths[i], .as_written = as_written};
        if (measure(r + i)) return 1;
        const double ratio = r[i].plan_ns / r[i].call_ns;
        met &= ratio <= (i ? x->goal : x->goal_small);
        printf(" %8.2f", ratio);
    }
    printf("   %6.3f", log(r[3].plan_ns / r[1].plan_ns) / log(100));
    if (!as_written)
        printf("   goal %.1f, %.1f: %s", x->goal_small, x->goal, met ? "met" : "NOT MET");
    printf("\n");
    return 0;
}

/* ---- bench.json ------------------------------------------------------------------------------ */
static int has(const char *text, const char *fn, int n) {
    char key[120];
    snprintf(key, sizeof key, "\"model\": \"chain\", \"n\": %d, \"fn\": \"%s\", \"lib\": \"soa\"",
             n, fn);
    return strstr(text, key) != NULL;
}
/* The rows of the file without those that are measured here. */
static char *old_rows(const char *path) {
    char *text = calloc(MOST_JSON, 1);
    char line[1000];
    FILE *f = fopen(path, "r");
    size_t at = 0;
    while (text && f && fgets(line, sizeof line, f)) {
        const size_t length = strcspn(line, "\n");
        const int kept = line[0] == '{' && !strstr(line, "\"fn\": \"plan_");
        if (!kept || at + length + 3 > MOST_JSON) continue;
        memcpy(text + at, line, length);
        at += length;
        if (text[at - 1] == ',') --at;
        memcpy(text + at, ",\n", 3);
        at += 2;
    }
    if (f) fclose(f);
    return text;
}
static int write_rows(const char *path, const result *r, int count) {
    char *old = old_rows(path);
    FILE *f = old ? fopen(path, "w") : NULL;
    int last_call = 0;
    if (!f) {
        free(old);
        return 1;
    }
    fprintf(f, "[\n%s", old);
    for (int i = 0; i < count; ++i) {
        const char *call = r[i].row->call;
        last_call = i >= 2 * LENGTHS && !strcmp(call, r[i - 2 * LENGTHS].row->call);
        if (!r[i].as_written && !last_call && !has(old, call, r[i].n))
            fprintf(f,
                    "{\"model\": \"chain\", \"n\": %d, \"fn\": \"%s\", \"lib\": \"soa\", "
                    "\"ns\": %.6g},\n",
                    r[i].n, call, r[i].call_ns);
        fprintf(f,
                "{\"model\": \"chain\", \"n\": %d, \"fn\": \"%s%s\", \"lib\": \"soa\", "
                "\"ns\": %.6g, \"call_ns\": %.6g}%s\n",
                r[i].n, r[i].row->fn, r[i].as_written ? "_as_written" : "", r[i].plan_ns,
                r[i].call_ns, i + 1 < count ? "," : "");
    }
    fprintf(f, "]\n");
    free(old);
    return fclose(f) != 0;
}

int main(int argc, char **argv) {
    static result results[2 * ROWS * LENGTHS];
    int count = 0;
    printf("planned expressions on chains: time as a share of the call in the same run (states set "
           "each time; medians of %d rounds)\n",
           ROUNDS);
    printf("%-24s", "");
    for (int i = 0; i < LENGTHS; ++i)
        printf(" %8d", lengths[i]);
    printf("   exponent 100 to 10000\n");
    for (int i = 0; i < ROWS; ++i)
        for (int as_written = 0; as_written < 2; ++as_written) {
            if (print_row(rows + i, as_written, results + count)) return 1;
            count += LENGTHS;
        }
    if (argc == 3 && !strcmp(argv[1], "--json") && write_rows(argv[2], results, count)) {
        fprintf(stderr, "cannot write %s\n", argv[2]);
        return 1;
    }
    return 0;
}
