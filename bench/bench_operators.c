/* bench_operators.c  times planned expressions against the hand-written calls in one run, and their
 * growth with the number of joints. */
#define _POSIX_C_SOURCE 200809L
#include "soa/io.h"
#include "soa/soa.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ROUNDS = 15 };
/* The hand-written calls: forward dynamics; the compliance of the tip, then times f0. */
typedef int hand_written(const soa_model *m, soa_work *w, int tip, const double *q, const double *v,
                         const double *t, const double f0[6], double *out);
static int forward(const soa_model *m, soa_work *w, int tip, const double *q, const double *v,
                   const double *t, const double f0[6], double *out) {
    (void)tip;
    (void)f0;
    return soa_aba(m, w, q, v, t, NULL, 0, out) != SOA_OK;
}
static int compliance(const soa_model *m, soa_work *w, int tip, const double *q, const double *v,
                      const double *t, const double f0[6], double *out) {
    double Omega[36];
    (void)v;
    (void)t;
    if (soa_compliance(m, w, q, &tip, 1, SOA_AXES_BODY, Omega) != SOA_OK) return 1;
    for (int r = 0; r < 6; ++r) {
        out[r] = 0;
        for (int c = 0; c < 6; ++c)
            out[r] += Omega[6 * r + c] * f0[c];
    }
    return 0;
}

/* Median times of the plan (including setting its state) and of a hand-written call,
 * interleaved. */
static int measure(const char *name, const char *text, int improve, hand_written *hand,
                   double *plan_ns, double *hand_ns) {
    const soa_read_options ideal = {0, 1};
    const soa_model *m = NULL;
    if (soa_stock_model_create(name, &ideal, &m, NULL) != SOA_OK) return -1;
    soa_work *w = NULL;
    soa_machine *k = NULL;
    soa_plan *p = NULL;
    soa_body_info last;
    const soa_expr *e = NULL, *better = NULL;
    const int nv = soa_model_nv(m);
    soa_model_body(m, soa_model_body_count(m), &last);
    char message[300];
    double *q = calloc((size_t)nv + 1, sizeof *q), *v = calloc((size_t)nv + 1, sizeof *v),
           *t = calloc((size_t)nv + 1, sizeof *t);
    double *out = calloc(6 * (size_t)nv + 6, sizeof *out), f0[6] = {1, 2, 3, 4, 5, 6},
           times[2][ROUNDS];
    int bad = soa_work_create(m, &w) || soa_machine_create(m, &last.frame, 1, &k, NULL) ||
              soa_expr_parse(text, NULL, 0, &e, message, sizeof message) ||
              soa_expr_improve(e, 0, NULL, NULL, &better) ||
              soa_plan_create(k, improve ? better : e, &p, message, sizeof message) || !q || !v ||
              !t || !out;
    for (int i = 0; !bad && i < nv; ++i) {
        q[i] = 0.1 * i;
        v[i] = 0.3;
        t[i] = 0.2;
    }
    const int calls = 100000 / (nv + 20) + 1;
    for (int r = 0; !bad && r < ROUNDS; ++r) {
        double start = seconds();
        for (int i = 0; i < calls; ++i)
            bad |= soa_machine_set_state(k, q, v, v, t, f0, NULL, 0) || soa_plan_run(p, out);
        times[0][r] = (seconds() - start) / calls * 1e9;
        start = seconds();
        for (int i = 0; i < calls; ++i)
            bad |= hand(m, w, last.frame, q, v, t, f0, out);
        times[1][r] = (seconds() - start) / calls * 1e9;
    }
    for (int i = 0; i < 2; ++i)
        qsort(times[i], ROUNDS, sizeof(double), ascending);
    *plan_ns = times[0][ROUNDS / 2];
    *hand_ns = times[1][ROUNDS / 2];
    soa_plan_free(p);
    soa_expr_free(e);
    soa_expr_free(better);
    soa_machine_free(k);
    soa_work_free(w);
    soa_model_free(m);
    free(q);
    free(v);
    free(t);
    free(out);
    return bad ? -1 : 0;
}

typedef struct row {
    const char *name, *text;
    int improve;
    hand_written *hand;
    /* Allowed time relative to the hand-written call, at 7 joints and from 100 on; 0: no limit. */
    double goal_small, goal;
} row;

static int print_row(const row *r, double hand[4]) {
    static const char *const models[] = {"arm7", "chain:100", "chain:1000", "chain:10000"};
    double ratio[4], ns[4];
    printf("%-30s", r->name);
    for (int i = 0; i < 4; ++i) {
        if (measure(models[i], r->text, r->improve, r->hand, &ns[i], &hand[i])) return 1;
        ratio[i] = ns[i] / hand[i];
        printf(" %9.2f", ratio[i]);
    }
    printf("   %.3f", log(ns[3] / ns[1]) / log(100));
    if (r->goal > 0)
        printf("   goal %.1f, %.1f: %s", r->goal_small, r->goal,
               ratio[0] <= r->goal_small && ratio[1] <= r->goal && ratio[2] <= r->goal &&
                       ratio[3] <= r->goal
                   ? "met"
                   : "NOT MET");
    printf("\n");
    return 0;
}

int main(void) {
    static const row rows[] = {
        /* Rewritten, this is FD3, which plans recognise and pass to the library's filter and
         * smoother. The next row is the same form with K written as S L, which they do not
         * recognise: it measures the sweeps that the planner makes. */
        {"forward dynamics, recognised", "inv(Mass) (T - H phi (M phi' a + b))", 1, forward, 3,
         1.5},
        {"the same, planner's sweeps", "(I - H psi S L)' inv(D) (T - H psi (S L T + M phi' a + b))",
         0, forward, 0, 0},
        {"FD1, sweep by sweep",
         "(I - H Psi L)' inv(D) (I - H Psi L) (T - H phi (M phi' a + b + B f0))", 0, forward, 0, 0},
        {"FD2, link accelerations",
         "psi' H' inv(D) (I - H Psi L) (T - H phi (M phi' a + b + B f0)) + phi' a", 0, forward, 0,
         0},
        {"FD3, sweep by sweep", "(I - H Psi L)' inv(D) (T - H psi (S L T + M phi' a + b + B f0))",
         0, forward, 0, 0},
        {"FD4, sweep by sweep",
         "(I - H Psi L)' (inv(D) (I - H Psi L) T - inv(D) H psit P a - inv(D) H psi (b + B f0)) - "
         "L' Psi' (I - G H)' a "
         "- G' a",
         0, forward, 0, 0},
        {"Omega f0, rewritten", "J inv(Mass) J' f0", 1, forward, 0, 0},
        {"M x, a product", "H phi M phi' H' thdd", 0, forward, 0, 0},
    };
    static const row omega = {"Omega f0, rewritten", "J inv(Mass) J' f0", 1, compliance, 3, 1.5};
    double ns[4];
    printf("planned expressions, time as a share of soa_aba in the same run (states set each time; "
           "medians of %d "
           "rounds)\n",
           ROUNDS);
    printf("%-30s %9s %9s %9s %9s   %s\n", "", "N = 7", "100", "1000", "10000",
           "exponent 100 to 10000");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
        if (print_row(rows + r, ns)) return 1;
    printf("the same as a share of soa_compliance of one tip, times f0\n");
    if (print_row(&omega, ns)) return 1;
    printf("%-30s %9.2f %9.2f %9.2f %9.2f   %.3f   microseconds\n", "soa_compliance, one tip",
           ns[0] / 1e3, ns[1] / 1e3, ns[2] / 1e3, ns[3] / 1e3, log(ns[3] / ns[1]) / log(100));
    return 0;
}
