/* ik.c  soa ik: finds joint positions for given poses of links, one target per line. */
#define _POSIX_C_SOURCE 200809L
#include "../app.h"
#include "soa/forms.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = APP_MODEL_OPTION_COUNT, TIP, TOLERANCE, STEPS, NO_LIMITS };
enum { MESSAGE = 400, MOST_TIPS = 64 };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--in", NULL, "FILE", "read targets from FILE instead of standard input"},
    {"--tip", NULL, "LINK",
     "the link that a target without a link's name is for (default: the link of the last joint)"},
    {"--tolerance", NULL, "X", "the residual that is good enough (default 1e-9)"},
    {"--steps", NULL, "N", "at most N steps a line (default 200)"},
    {"--no-limits", NULL, NULL, "joints may leave their limits"},
    APP_OPTION_END,
};

typedef struct ik {
    const soa_model *model;
    soa_tip_work *work;
    int tip; /* number of the frame */
    soa_ik_options options;
    soa_ik_target targets[MOST_TIPS];
    int count;
    double *q;
    char error[MESSAGE];
} ik;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
say(ik *k, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(k->error, sizeof k->error, format, list);
    va_end(list);
    return -1;
}

/* --- a line ----------------------------------------------------------------------------------- */
static int numbers(ik *k, const char *name, const json_t *value, double *x, size_t n) {
    if (!json_is_array(value)) return say(k, "%.60s: a list of %zu numbers is wanted", name, n);
    if (json_array_size(value) != n)
        return say(k, "%.60s has %zu numbers, %zu are wanted", name, json_array_size(value), n);
    for (size_t i = 0; i < n; ++i) {
        const json_t *number = json_array_get(value, i);
        x[i] = json_is_number(number) ? json_number_value(number) : NAN;
        if (!isfinite(x[i])) return say(k, "%.60s[%zu] is not a finite number", name, i);
    }
    return 0;
}
/* Reads {"p": [3], "R": [9], "weights": [angular, linear]}. All except p are optional; p may be
 * omitted if R is given. */
static int read_pose(ik *k, const char *link, int frame, json_t *pose) {
    static const char *const known[] = {"p", "R", "weights", NULL};
    const char *key;
    json_t *value;
    soa_frame_info info;
    if (!json_is_object(pose))
        return say(k, "target of %.60s: an object with p and perhaps R is wanted", link);
    if (k->count == MOST_TIPS) return say(k, "target: at most %d links", MOST_TIPS);
    if (soa_model_frame(k->model, frame, &info) != SOA_OK || info.body == 0)
        return say(k, "target: link '%.60s' does not move", link);
    soa_ik_target *t = k->targets + k->count;
    *t = (soa_ik_target){{frame, 0, 0}, soa_frame_identity()};
    json_object_foreach(pose, key, value) {
        app_nearest search = app_nearest_to(key);
        char hint[APP_HINT];
        int i = 0;
        for (; known[i] && strcmp(known[i], key); ++i)
            app_nearest_try(&search, known[i]);
        if (!known[i])
            return say(k, "target of %.60s: unknown key '%.60s'%s", link, key,
                       app_nearest_hint(&search, hint));
    }
    const json_t *p = json_object_get(pose, "p"), *R = json_object_get(pose, "R"),
                 *weights = json_object_get(pose, "weights");
    double w[2] = {1, 1};
    if (!p && !R) return say(k, "target of %.60s: neither p nor R is given", link);
    if ((p && numbers(k, "p", p, t->pose.p, 3)) || (R && numbers(k, "R", R, t->pose.R, 9)) ||
        (weights && numbers(k, "weights", weights, w, 2)))
        return -1;
    if (!(w[0] >= 0 && w[1] >= 0)) return say(k, "weights: none may be negative");
    t->tip.angular = R ? w[0] : 0;
    t->tip.linear = p ? w[1] : 0;
    if (!(t->tip.angular + t->tip.linear > 0))
        return say(k, "target of %.60s: its weights leave nothing of it", link);
    ++k->count;
    return 0;
}
/* Reads poses by link, or a single pose for the tip. */
static int read_target(ik *k, json_t *target) {
    const char *key;
    json_t *value;
    k->count = 0;
    if (!json_is_object(target) || !json_object_size(target))
        return say(k, "target: {\"LINK\": {\"p\": [...], \"R\": [...]}} is wanted");
    if (json_is_array(json_object_get(target, "p")) ||
        json_is_array(json_object_get(target, "R"))) {
        soa_frame_info info;
        if (k->tip < 0) return say(k, "no joint of the model moves");
        soa_model_frame(k->model, k->tip, &info);
        return read_pose(k, info.name, k->tip, target);
    }
    json_object_foreach(target, key, value) {
        const int frame = soa_model_find_frame(k->model, key);
        char hint[APP_HINT];
        if (frame < 0)
            return say(k, "target: no link '%.60s'%s", key, app_nearest_link(k->model, key, hint));
        if (read_pose(k, key, frame, value)) return -1;
    }
    return 0;
}
static int read_line(ik *k, json_t *line) {
    static const char *const known[] = {"q", "target", NULL};
    const char *key;
    json_t *value;
    if (!json_is_object(line)) return say(k, "a line is a JSON object with target and perhaps q");
    json_object_foreach(line, key, value) {
        app_nearest search = app_nearest_to(key);
        char hint[APP_HINT];
        int i = 0;
        for (; known[i] && strcmp(known[i], key); ++i)
            app_nearest_try(&search, known[i]);
        if (!known[i]) return say(k, "unknown key '%.60s'%s", key, app_nearest_hint(&search, hint));
    }
    json_t *q = json_object_get(line, "q"), *target = json_object_get(line, "target");
    soa_q_neutral(k->model, k->q);
    if (q && numbers(k, "q", q, k->q, (size_t)soa_model_nq(k->model))) return -1;
    if (!target) return say(k, "target is missing");
    return read_target(k, target);
}
/* Returns 0: answered; 1: answered with the best found; -1: error. */
static int answer(ik *k, const char *text, app_out *out) {
    json_error_t where;
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &where);
    if (!line) return say(k, "not JSON: %.200s", where.text);
    const int bad = read_line(k, line);
    json_decref(line);
    if (bad) return bad;
    soa_ik_result result;
    const soa_status s =
        soa_inverse_kinematics(k->model, k->work, k->targets, k->count, &k->options, k->q, &result);
    if (s == SOA_E_FRAME) return say(k, "target: R is not a rotation (9 numbers, row by row)");
    if (s != SOA_OK && s != SOA_E_NO_CONVERGENCE) return say(k, "%s", soa_status_text(s));
    out_text(out, "{\"q\": ");
    out_vector(out, k->q, (size_t)soa_model_nq(k->model));
    out_text(out, ", \"residual\": ");
    out_number(out, result.residual);
    out_format(out, ", \"iterations\": %d, \"converged\": %s}\n", result.steps,
               s == SOA_OK ? "true" : "false");
    return s != SOA_OK;
}
static int answer_all(ik *k, FILE *in, app_out *out) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    unsigned long number = 0, bad = 0, missed = 0;
    while (!out->error && (n = getline(&line, &room, in)) >= 0) {
        ++number;
        if (strspn(line, " \t\r\n") == (size_t)n) continue;
        const size_t before = out->size;
        const int done = answer(k, line, out);
        if (done > 0) ++missed;
        if (done < 0) {
            out->size = before;
            if (!bad++) app_fail(&app_ik, "line %lu: %s", number, k->error);
            out_format(out, "{\"line\": %lu, \"error\": ", number);
            out_string(out, k->error);
            out_text(out, "}\n");
        }
        if (out->size > 1 << 16) out_flush(out);
    }
    free(line);
    if (missed)
        app_fail(&app_ik, "%lu of %lu lines not reached; theirs is the best found", missed, number);
    return bad || missed ? APP_SOME_BAD : APP_OK;
}

/* --- the command ------------------------------------------------------------------------------ */
/* Reads the numeric options. Returns 0 on success. */
static int read_options(ik *k, const app_args *args) {
    char *end;
    if (args->value[TOLERANCE]) {
        k->options.tolerance = strtod(args->value[TOLERANCE], &end);
        if (*end || end == args->value[TOLERANCE] || !isfinite(k->options.tolerance) ||
            !(k->options.tolerance > 0))
            return app_fail(&app_ik, "--tolerance '%s': a positive number is wanted",
                            args->value[TOLERANCE]);
    }
    if (args->value[STEPS]) {
        const long n = strtol(args->value[STEPS], &end, 10);
        if (*end || end == args->value[STEPS] || n < 1 || n > 1000000)
            return app_fail(&app_ik, "--steps '%s': a number from 1 to 1000000 is wanted",
                            args->value[STEPS]);
        k->options.most_steps = (int)n;
    }
    k->options.ignore_limits = args->value[NO_LIMITS] != NULL;
    k->tip = -1;
    if (args->value[TIP]) {
        char hint[APP_HINT];
        k->tip = soa_model_find_frame(k->model, args->value[TIP]);
        if (k->tip < 0)
            return app_fail(&app_ik, "--tip: no link '%s'%s", args->value[TIP],
                            app_nearest_link(k->model, args->value[TIP], hint));
    }
    soa_body_info info;
    for (int b = soa_model_body_count(k->model); b > 0 && k->tip < 0; --b)
        if (soa_model_body(k->model, b, &info) == SOA_OK && info.nq > 0) k->tip = info.frame;
    return 0;
}
static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_ik, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    if (app_refuse_one_input(&app_ik, args.word[0], args.value[IN]) != APP_OK) return APP_FAILED;
    ik k = {.model = app_open(&app_ik, &args)};
    if (!k.model) return APP_FAILED;
    app_out out;
    FILE *in = stdin;
    out_start(&out, 1);
    code = APP_FAILED;
    k.q = calloc((size_t)soa_model_nq(k.model) + 1, sizeof *k.q);
    if (!read_options(&k, &args)) {
        if (!k.q || soa_tip_work_create(k.model, &k.work) != SOA_OK)
            app_fail(&app_ik, "out of memory");
        else if (args.value[IN] && strcmp(args.value[IN], "-") &&
                 !(in = fopen(args.value[IN], "r")))
            app_fail(&app_ik, "--in %s: %s", args.value[IN], strerror(errno));
        else
            code = answer_all(&k, in, &out);
    }
    if (in && in != stdin) fclose(in);
    soa_tip_work_free(k.work);
    free(k.q);
    soa_model_free(k.model);
    return app_finish(&app_ik, &out, code);
}

const app_command app_ik = {
    .name = "ik",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Finds joint positions for wanted poses of links",
    .text = "Input lines are {\"q\": [...], \"target\": {\"LINK\": {\"p\": [3], \"R\": [9]}, "
            "...}}: where the search\n"
            "starts (default: the neutral position), and for each link where its origin shall be "
            "and how its axes shall\n"
            "stand in the world (rotation, row by row).  p or R may be left out: then only the "
            "other counts.\n"
            "A target {\"p\": ..., \"R\": ...} without a link's name is for the link of --tip.  "
            "\"weights\": [angular,\n"
            "linear] beside p and R weigh the errors (default 1 per rad, 1 per m).\n"
            "Output lines are {\"q\": [...], \"residual\": x, \"iterations\": n, \"converged\": "
            "true}.  Where the "
            "residual\n"
            "stays above the tolerance, converged is false and q the best found: out of reach, or "
            "a local minimum that\n"
            "another start may avoid.  Joints stay within their limits.\n"
            "Exit status: 0 all reached, 1 some lines bad or not reached, 2 usage or model.\n",
    .options = options,
    .examples = "  echo '{\"target\": {\"p\": [0.4, 0.1, 0.5]}}' | soa ik arm7\n"
                "  soa ik humanoid --in targets.jsonl > answers.jsonl\n"
                "  echo '{\"q\": [0,0.5,0,-1,0,0.3,0], \"target\": {\"p\": [0.5,0,0.4], \"R\": "
                "[0,0,1,0,1,0,-1,0,0]}}' |\n"
                "      soa ik arm7\n",
    .run = run,
};
