/* cmd_identity.c  soa identity: is LEFT = RIGHT for every machine?  By proof, else by trial on random ones. */
#include "app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON, TRIALS, SHOW };
static const app_option options[] = {
    {"--json", NULL, NULL, "the answer as a JSON object"},
    {"--trials", NULL, "N", "random machines to try (default 20)"},
    {"--proof", NULL, NULL, "print the proof, step by step"},
    APP_OPTION_END,
};

static unsigned long long state;
static double random_number(void) { /* xorshift, -1 ... 1 */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}
static void show_step(void *out, const char *rule, const char *result) {
    out_format(out, "  %-28s %s\n", rule, result);
}

/* |left - right| / max(|left|, |right|, 1e-3) at a random state of a machine; -1 when it cannot be told. */
static double residual(const char *name, int seed, const soa_expr *left, const soa_expr *right) {
    const soa_read_options ideal = {0, 1};
    const soa_model *model = NULL;
    soa_machine *m = NULL;
    double worst = -1;
    if (soa_stock_model(name, &ideal, &model, NULL) != SOA_OK) return -1;
    const int nq = soa_nq(model), nv = soa_nv(model), last = soa_body_count(model);
    soa_body_info one, two;
    soa_body(model, last, &one), soa_body(model, 1 + last / 2, &two);
    const int tips[2] = {one.frame, two.frame}, tip_count = one.frame == two.frame ? 1 : 2;
    if (soa_machine_create(model, tips, tip_count, &m, NULL) == SOA_OK) {
        double *q = calloc((size_t)nq + 1, sizeof *q), *v = calloc((size_t)nv + 1, sizeof *v),
               *a = calloc((size_t)nv + 1, sizeof *a), *t = calloc((size_t)nv + 1, sizeof *t), f[12];
        const size_t rows = (size_t)soa_machine_size(m, soa_expr_to(left)),
                     columns = (size_t)soa_machine_size(m, soa_expr_from(left)), n = rows * columns;
        double *x = calloc(n + 1, sizeof *x), *y = calloc(n + 1, sizeof *y);
        if (q && v && a && t && x && y) {
            state = 88172645463325252ull + (unsigned long long)seed * 7919;
            for (int i = 0; i < nv; ++i) a[i] = random_number(), v[i] = random_number(), t[i] = random_number();
            for (int i = 0; i < 12; ++i) f[i] = random_number();
            soa_neutral(model, q);
            soa_integrate(model, q, a, 1, q);
            if (soa_machine_state(m, q, v, a, t, f, NULL, 0) == SOA_OK && soa_dense(m, left, x) == SOA_OK &&
                soa_dense(m, right, y) == SOA_OK) {
                double size = 1e-3;
                worst = 0;
                for (size_t i = 0; i < n; ++i) {
                    size = fmax(size, fmax(fabs(x[i]), fabs(y[i])));
                    if (!(fabs(x[i] - y[i]) <= worst)) worst = fabs(x[i] - y[i]);
                }
                worst /= size;
            }
        }
        free(q), free(v), free(a), free(t), free(x), free(y);
    }
    soa_machine_free(m);
    soa_model_free(model);
    return worst;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_identity, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const soa_expr *left = NULL, *right = NULL;
    char message[600];
    if (soa_equation_parse(args.word[0], &left, &right, message, sizeof message) != SOA_OK)
        return app_fail(&app_identity, "%s", message[0] ? message : "out of memory");
    char *end = NULL;
    const long trials = args.value[TRIALS] ? strtol(args.value[TRIALS], &end, 10) : 20;
    if (end && (*end || trials < 1 || trials > 100000)) {
        soa_expr_free(left), soa_expr_free(right);
        return app_fail(&app_identity, "--trials '%s': a number from 1 to 100000 is wanted", args.value[TRIALS]);
    }
    app_out out;
    out_start(&out, 1);
    const int proved = soa_expr_prove(left, right, args.value[SHOW] ? show_step : NULL, &out) == SOA_OK;
    double worst = 0;
    int tried = 0, where = 0;
    char name[48], bad[48] = "";
    for (int i = 0; i < trials; ++i) {
        static const char *const fixed[] = {"planar-chain:3", "chain:5", "arm7", "satellite"};
        if (i < 4)
            snprintf(name, sizeof name, "%s", fixed[i]);
        else
            snprintf(name, sizeof name, "random-ideal:%d", i);
        const double r = residual(name, i + 1, left, right);
        if (r < 0) continue;
        ++tried;
        if (!(r <= worst)) worst = r, where = i + 1, snprintf(bad, sizeof bad, "%s", name);
        if (!(worst <= 1e-7)) break;
    }
    const int holds = proved ? worst <= 1e-7 : tried > 0 && worst <= 1e-9;
    if (args.value[JSON]) {
        out_format(&out, "{\"true\": %s, \"how\": \"%s\", \"trials\": %d, \"residual\": ", holds ? "true" : "false",
                   !holds   ? "counter-example"
                   : proved ? "proved"
                            : "tested",
                   tried);
        out_number(&out, worst);
        if (!holds) out_format(&out, ", \"counter_example\": \"%s\", \"state_seed\": %d", bad, where);
        out_text(&out, "}\n");
    } else if (!holds && tried) {
        out_format(&out, "false: on %s at random state %d the sides differ by %.2g of their size\n", bad, where, worst);
    } else if (!tried) {
        out_text(&out, "not settled: no proof, and no machine on which both sides could be formed\n");
    } else {
        out_format(&out, "true: %s; largest residual %.1e on %d random machines\n",
                   proved ? "proved by rewriting" : "not proved, but tested", worst, tried);
    }
    soa_expr_free(left), soa_expr_free(right);
    return app_finish(&app_identity, &out, holds ? APP_OK : tried ? APP_SOME_BAD : APP_FAILED);
}

const app_command app_identity = {
    .name = "identity",
    .words = "'LEFT = RIGHT'",
    .least = 1,
    .most = 1,
    .summary = "Proves or refutes an identity between operators",
    .text =
        "Both sides are written as for soa op.  First a proof is sought: definitions are put in, and both sides are\n"
        "rewritten until nothing is left of their difference.  Then both sides are formed as matrices on serial arms,\n"
        "trees with every joint type and floating bases, all without rotors; one that differs is the counter-example.\n"
        "Exit status: 0 true, 1 false, 2 not understood.\n",
    .options = options,
    .examples = "  soa identity 'inv(I + H phi K) = I - H psi K' --proof\n"
                "  soa identity \"J inv(Mass) J' = B' psi' H' inv(D) H psi B\"\n"
                "  soa identity 'phi = psi'\n",
    .run = run,
};
