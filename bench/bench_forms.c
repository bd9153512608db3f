/* bench_forms.c  what the forms of forward dynamics cost: operations per link, counted in the
 *                machine code that runs, and time.
 *
 *   soa_bench_forms [SECONDS]
 *
 * Operations are those of an arm of 40 links less those of 20, by 20: a general arm of revolute
 * joints (dh-arm), additions, multiplications and divisions together.  SOA_INSTRUCTION_SET=portable
 * gives the counts of scalar code; packed code also computes numbers that nobody needs. */
#include "flops.h"
#include "soa/io.h"
#include "soa/soa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1000 };
typedef struct job {
    const soa_model *m;
    soa_work *w;
    double q[MOST], v[MOST], tau[MOST], out[MOST];
    float qf[MOST], vf[MOST], tauf[MOST], outf[MOST];
} job;
static void plain(void *p) {
    job *j = p;
    if (soa_aba(j->m, j->w, j->q, j->v, j->tau, NULL, 0, j->out)) exit(2);
}
static void two_sweep(void *p) {
    job *j = p;
    const soa_input in = {.q = j->q, .v = j->v, .tau = j->tau};
    if (soa_fd_two_sweep(j->m, j->w, &in, 0, SOA_AXES_WORLD, j->out, NULL)) exit(2);
}
static void factored(void *p) {
    job *j = p;
    if (soa_fd_ud(j->m, j->w, &(soa_input){.q = j->q, .v = j->v, .tau = j->tau}, j->out)) exit(2);
}
static void plain_f(void *p) {
    job *j = p;
    if (soa_aba_f(j->m, j->w, j->qf, j->vf, j->tauf, NULL, j->outf)) exit(2);
}
static void factored_f(void *p) {
    job *j = p;
    if (soa_fd_ud_f(j->m, j->w, j->qf, j->vf, j->tauf, NULL, j->outf)) exit(2);
}
static const struct {
    const char *name;
    void (*call)(void *);
} forms[] = {{"soa_aba", plain},
             {"soa_fd_two_sweep", two_sweep},
             {"soa_fd_ud", factored},
             {"soa_aba_f", plain_f},
             {"soa_fd_ud_f", factored_f}};
enum { FORMS = sizeof forms / sizeof *forms };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void open_job(job *j, const char *name) {
    const soa_read_options ideal = {.ideal = true};
    if (soa_stock_model_create(name, &ideal, &j->m, NULL) || soa_work_create(j->m, &j->w)) exit(2);
    for (int k = 0; k < MOST; ++k) {
        j->q[k] = j->qf[k] = 0.25F + 0.125F * (float)(k % 7);
        j->v[k] = j->vf[k] = 0.25F - 0.0625F * (float)(k % 5);
        j->tau[k] = j->tauf[k] = 0.5F * (float)(k % 3);
    }
}
static void close_job(job *j) {
    soa_work_free(j->w);
    soa_model_free(j->m);
}

int main(int argc, char **argv) {
    static job few, many;
    const double budget = argc > 1 ? strtod(argv[1], NULL) : 1;
    static const char *const models[] = {"arm7", "chain:100"};
    double time[2][FORMS];
    for (int k = 0; k < 2; ++k) {
        open_job(&few, models[k]);
        for (int f = 0; f < FORMS; ++f)
            time[k][f] = INFINITY;
        const int calls = k ? 50 : 500;
        for (const double end = seconds() + budget; seconds() < end;)
            for (int f = 0; f < FORMS; ++f) {
                const double start = seconds();
                for (int c = 0; c < calls; ++c)
                    forms[f].call(&few);
                time[k][f] = fmin(time[k][f], (seconds() - start) / calls);
            }
        close_job(&few);
    }
    open_job(&few, "dh-arm:20");
    open_job(&many, "dh-arm:40");
    printf("%s: operations per link; us per call\n%-18s %10s %10s %10s\n", soa_instruction_set(),
           "", "operations", models[0], models[1]);
    for (int f = 0; f < FORMS; ++f) {
        flop_count a, b;
        printf("%-18s ", forms[f].name);
        if (flops_counted(forms[f].call, &few, &a) && flops_counted(forms[f].call, &many, &b))
            printf("%10.1f", (double)(b.flops - a.flops) / 20);
        else
            printf("%10s", "-");
        printf(" %10.2f %10.2f\n", 1e6 * time[0][f], 1e6 * time[1][f]);
    }
    close_job(&few);
    close_job(&many);
    return 0;
}
