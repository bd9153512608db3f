/* identity.c  soa identity: is LEFT = RIGHT for every machine? By proof, otherwise by trial on
 * random machines. */
#include "../app.h"
#include "../operator_count.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON, TRIALS, SHOW, LIST, SEED, ALL_MODELS, RULES };
static const app_option options[] = {
    {"--json", NULL, NULL, "the answer as a JSON object"},
    {"--trials", NULL, "N", "random machines to try (default 20)"},
    {"--proof", NULL, NULL, "print the proof, step by step"},
    {"--list", NULL, NULL,
     "the papers' identities by name; with --proof each is proved, with --trials tried too"},
    {"--seed", NULL, "N", "of the random machines and states (default 1)"},
    {"--all-models", NULL, NULL,
     "try shipped models of every family in turn, not only random trees"},
    {"--rules", NULL, NULL, "the rules by which soa op --derive rewrites, by name"},
    APP_OPTION_END,
};

static unsigned long long state;
static double random_number(void) { /* xorshift, -1 ... 1 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}
static void show_step(void *out, const char *rule, const char *result) {
    out_print(out, "  %-28s %s\n", rule, result);
}

enum { WHY = 1000, MESSAGE = 600 };
/* Inverses up to this condition number are accurate to five digits or more; beyond it a difference
 * proves nothing. */
#define MOST_CONDITION 1e9
/* Rounding error allowed in a difference, as a multiple of the condition number. */
#define ROUNDING 1e-14

typedef struct trial {
    soa_status status; /* SOA_E_MEMORY: no result */
    int done;          /* both sides were formed; otherwise `why` explains */
    int bodies;        /* number of bodies of the machine */
    double apart;      /* |left - right| / max(|left|, |right|, 1e-3) */
    double condition;  /* largest condition number of the inverses on both sides */
    char why[WHY];
} trial;

/* Gives random numbers to the letters of an expression that no operator or vector of the machine
 * is: the same ones wherever a letter occurs. */
static soa_status set_letter(soa_machine *m, const soa_expr *e, const soa_expr_info *info) {
    const soa_space from = soa_expr_domain(e), to = soa_expr_codomain(e);
    const char *name = info->name;
    const size_t columns = from == SOA_SPACE_ONE ? 1 : (size_t)soa_machine_space_size(m, from);
    const size_t n = info->blocks ? soa_machine_blocks_size(m, to)
                                  : (size_t)soa_machine_space_size(m, to) * columns;
    double *x = calloc(n + 1, sizeof *x);
    if (!x) return SOA_E_MEMORY;
    const unsigned long long before = state;
    for (const char *c = name; *c; ++c)
        state = state * 31 + (unsigned char)*c;
    for (size_t i = 0; i < n; ++i)
        x[i] = random_number();
    state = before;
    soa_status s;
    if (info->blocks)
        s = soa_machine_set_blocks(m, name, to, x);
    else if (from == SOA_SPACE_ONE)
        s = soa_machine_set_vector(m, name, to, x);
    else
        s = soa_machine_set_matrix(m, name, from, to, x);
    free(x);
    return s;
}
static soa_status set_letters(soa_machine *m, const soa_expr *e) {
    soa_expr_info info;
    soa_status s = soa_expr_get_info(e, &info);
    for (int i = 0; s == SOA_OK && i < info.count; ++i)
        s = set_letters(m, soa_expr_part(e, i));
    if (s == SOA_OK && info.kind == SOA_EXPR_LEAF && !info.what) s = set_letter(m, e, &info);
    return s;
}

/* Random rows of constraints, a held object and primary coordinates: numbers for the leaves of closed
 * chains, which no machine has by itself. */
static soa_status set_closure(soa_machine *m, const soa_model *model, int seed) {
    enum { ROWS = 3, TERMS = 6, LINK = 6 };
    const size_t nv = (size_t)soa_model_nv(model),
                 tips = (size_t)soa_machine_space_size(m, SOA_SPACE_TIP);
    const int frames = soa_model_frame_count(model);
    soa_row_wrench term[TERMS];
    double M[LINK * LINK] = {0}, bias[LINK], gamma[ROWS];
    double *x = calloc((nv + tips) * LINK + 1, sizeof *x);
    if (!x) return SOA_E_MEMORY;
    state = 2862933555777941757ull + (unsigned long long)seed * 104729;
    for (int i = 0; i < TERMS; ++i) {
        term[i].row = i % ROWS;
        term[i].frame = (int)((random_number() + 1) / 2 * (frames - 1));
        for (int j = 0; j < LINK; ++j)
            term[i].wrench[j] = random_number();
    }
    for (int i = 0; i < ROWS; ++i)
        gamma[i] = random_number();
    for (int r = 0; r < LINK; ++r) {
        bias[r] = random_number();
        for (int c = 0; c < r; ++c)
            M[LINK * r + c] = M[LINK * c + r] = 0.3 * random_number();
        M[LINK * r + r] = 3;
    }
    for (size_t i = 0; i < (nv + tips) * LINK; ++i)
        x[i] = random_number();
    soa_status s = soa_machine_set_constraints(m, ROWS, term, TERMS, x, gamma);
    if (s == SOA_OK) s = soa_machine_set_objects(m, 1, x, M, bias, x + tips, gamma);
    if (s == SOA_OK) s = soa_machine_set_primary(m, nv > 1 ? 2 : (int)nv, x + 1, x);
    free(x);
    return s;
}

/* Forms both sides at a random state of a machine with these tips. */
static void form_sides(soa_machine *m, const soa_model *model, int seed, const soa_expr *left,
                       const soa_expr *right, trial *t) {
    const size_t nq = (size_t)soa_model_nq(model), nv = (size_t)soa_model_nv(model),
                 rows = (size_t)soa_machine_space_size(m, soa_expr_codomain(left)),
                 columns = (size_t)soa_machine_space_size(m, soa_expr_domain(left)),
                 n = rows * columns;
    double *room = calloc(nq + 7 * nv + 2 * n + 1, sizeof *room), f[24];
    if (!room) {
        t->status = SOA_E_MEMORY;
        return;
    }
    double *q = room, *v = q + nq, *a = v + nv, *tau = a + nv, *side[2] = {tau + nv, tau + nv + n},
           *direction = tau + nv + 2 * n;
    state = 88172645463325252ull + (unsigned long long)seed * 7919;
    for (size_t i = 0; i < nv; ++i) {
        a[i] = random_number();
        v[i] = random_number();
        tau[i] = random_number();
    }
    for (size_t i = 0; i < 4 * nv; ++i)
        direction[i] = random_number();
    for (int i = 0; i < 24; ++i)
        f[i] = random_number();
    soa_q_neutral(model, q);
    soa_q_integrate(model, q, a, 1, q);
    soa_status s = soa_machine_set_state(m, q, v, a, tau, f, NULL, 0);
    if (s == SOA_OK)
        s = soa_machine_set_direction(m, direction, direction + nv, direction + 2 * nv,
                                      direction + 3 * nv, f + 12);
    if (s == SOA_OK) s = set_letters(m, left);
    if (s == SOA_OK) s = set_letters(m, right);
    t->condition = 1;
    for (int i = 0; i < 2 && s == SOA_OK; ++i) {
        s = soa_machine_dense_matrix(m, i ? right : left, side[i]);
        t->condition = fmax(t->condition, soa_machine_condition(m));
    }
    const char *why = soa_machine_failure(m);
    t->status = s;
    if (s != SOA_OK) {
        snprintf(t->why, sizeof t->why, "%s", why[0] ? why : soa_status_text(s));
    } else if (!(t->condition <= MOST_CONDITION)) {
        snprintf(t->why, sizeof t->why,
                 "an inverse is too close to singular to compare (condition %.1e, limit %.0e)",
                 t->condition, MOST_CONDITION);
    } else {
        double size = 1e-3, apart = 0;
        for (size_t i = 0; i < n; ++i) {
            size = fmax(size, fmax(fabs(side[0][i]), fabs(side[1][i])));
            if (!(fabs(side[0][i] - side[1][i]) <= apart)) apart = fabs(side[0][i] - side[1][i]);
        }
        t->apart = apart / size;
        t->done = 1;
    }
    free(room);
}
/* Tries two tips and, if an inverse does not exist with two, one. */
static trial try_machine(const char *name, int seed, const soa_expr *left, const soa_expr *right) {
    const soa_read_options ideal = {0, 1};
    const soa_model *model = NULL;
    trial t = {0};
    soa_report report = {SOA_OK, -1, 0, ""};
    const soa_status opened = soa_stock_model_create(name, &ideal, &model, &report);
    t.status = opened;
    if (opened != SOA_OK) {
        snprintf(t.why, sizeof t.why, "%s", report.text[0] ? report.text : soa_status_text(opened));
        return t;
    }
    const int last = soa_model_body_count(model);
    t.bodies = last;
    soa_body_info one, two;
    soa_model_body(model, last, &one);
    soa_model_body(model, 1 + last / 2, &two);
    const int tips[2] = {one.frame, two.frame};
    for (int count = one.frame == two.frame ? 1 : 2;
         count > 0 && !t.done && t.status != SOA_E_MEMORY; --count) {
        soa_machine *m = NULL;
        soa_status made = soa_machine_create(model, tips, count, &m, &report);
        if (made == SOA_OK) made = set_closure(m, model, seed);
        t.status = made;
        if (made == SOA_OK)
            form_sides(m, model, seed, left, right, &t);
        else
            snprintf(t.why, sizeof t.why, "%s",
                     report.text[0] ? report.text : soa_status_text(made));
        soa_machine_free(m);
    }
    soa_model_free(model);
    return t;
}

/* After this many multiplications of dense matrices no further machine is tried: about two seconds.
 * Only expressions with hundreds of operators reach it. */
#define MOST_EFFORT 1e10

/* Result of all trials. */
typedef struct verdict {
    int tried, skipped, where;
    int cut_short;           /* the expression is too long for more trials */
    int short_of_memory;     /* the trials ended early */
    double worst;            /* |left - right| relative to its size */
    double excess;           /* the same as a multiple of what is allowed */
    char bad[48], first[48]; /* machine of excess; first machine left out */
    char why[WHY];           /* reason for leaving it out */
} verdict;
/* What is wanted of the trials. */
typedef struct wish {
    long trials, seed;
    int json, proof, all_models;
} wish;
/* The machine of trial i, from 0: a few shipped ones, then random trees; or models of all families
 * in turn, those of N bodies with 1 to 12. */
static void machine_of(const wish *w, long i, char *name, size_t room) {
    static const char *const fixed[] = {"planar-chain:3", "chain:5", "arm7", "satellite"};
    enum { FIXED = sizeof fixed / sizeof *fixed, MOST_BODIES = 12 };
    int families = 0;
    while (soa_stock_model_name(families))
        ++families;
    if (w->all_models && families) {
        const char *family = soa_stock_model_name((int)(i % families));
        const char *colon = strchr(family, ':');
        const int n = colon ? (int)(colon - family) : (int)strlen(family);
        const long number = i / families;
        if (!colon)
            snprintf(name, room, "%s", family);
        else
            snprintf(name, room, "%.*s:%ld", n, family,
                     colon[1] == 'N' ? 1 + number % MOST_BODIES : number);
    } else if (i < FIXED) {
        snprintf(name, room, "%s", fixed[i]);
    } else {
        snprintf(name, room, "random-ideal:%ld", i);
    }
}
static verdict try_all(const wish *w, double allowed, const soa_expr *left, const soa_expr *right) {
    enum { USUAL_TRIALS = 20 };
    const double nodes = app_operator_count(left) + app_operator_count(right);
    const double most = MOST_EFFORT * fmax(1, (double)w->trials / USUAL_TRIALS);
    double effort = 0;
    verdict all = {0};
    for (long k = 0; k < w->trials && all.excess <= 1; ++k) {
        const int i = (int)(k + w->seed - 1);
        char name[48];
        all.cut_short = effort > most;
        if (all.cut_short) break;
        machine_of(w, i, name, sizeof name);
        const trial t = try_machine(name, i + 1, left, right);
        effort += nodes * pow(6 * t.bodies, 3);
        if (t.status == SOA_E_MEMORY) {
            all.short_of_memory = 1;
            break;
        }
        if (!t.done) {
            if (!all.skipped++) {
                snprintf(all.first, sizeof all.first, "%s", name);
                snprintf(all.why, sizeof all.why, "%s", t.why);
            }
            continue;
        }
        ++all.tried;
        const double excess = t.apart / fmax(allowed, ROUNDING * t.condition);
        if (!(t.apart <= all.worst)) all.worst = t.apart;
        if (!(excess <= all.excess)) {
            all.excess = excess;
            all.where = i + 1;
            snprintf(all.bad, sizeof all.bad, "%s", name);
        }
    }
    return all;
}

/* --- the answer ------------------------------------------------------------------------------- */
/* Differences allowed where rewriting has proved the identity, and where it has not. */
#define ALLOWED_PROVED 1e-7
#define ALLOWED_UNPROVED 1e-9

static void print_json(app_out *out, const verdict *all, int proved, long trials) {
    const int settled = all->tried > 0, holds = settled && all->excess <= 1;
    const char *how = proved ? "proved" : "tested";
    if (!holds) how = settled ? "counter-example" : "not settled";
    const char *truth = holds ? "true" : "false";
    out_print(out,
              "{\"true\": %s, \"how\": \"%s\", \"trials\": %d, \"skipped\": %d, \"residual\": ",
              settled ? truth : "null", how, all->tried, all->skipped);
    if (settled)
        out_number(out, all->worst);
    else
        out_text(out, "null");
    if (settled && !holds)
        out_print(out, ", \"counter_example\": \"%s\", \"state_seed\": %d", all->bad, all->where);
    if (all->skipped) {
        out_text(out, ", \"why_skipped\": ");
        out_string(out, all->why);
    }
    if (all->cut_short) out_print(out, ", \"trials_wanted\": %ld", trials);
    out_text(out, "}\n");
}
static void print_text(app_out *out, const verdict *all, int proved, long trials) {
    const int settled = all->tried > 0, holds = settled && all->excess <= 1;
    if (!settled) {
        out_print(out, "not settled: %s, and no machine on which both sides exist\n",
                  proved ? "the sides are equal by rewriting" : "no proof");
    } else if (!holds) {
        out_print(out, "false: on %s at random state %d the sides differ by %.2g of their size\n",
                  all->bad, all->where, all->worst);
    } else {
        out_print(out, "true: %s; largest residual %.1e on %d random machine%s\n",
                  proved ? "proved by rewriting" : "not proved, but tested", all->worst, all->tried,
                  all->tried == 1 ? "" : "s");
    }
    if (all->cut_short)
        out_print(out, "the expression is long: %d machines tried instead of %ld\n",
                  all->tried + all->skipped, trials);
    if (all->skipped)
        out_print(out, "skipped: %d of %d machines, where a side is undefined; first %s: %s\n",
                  all->skipped, all->skipped + all->tried, all->first, all->why);
}
/* Proves and tries one equation: exit code. */
static int answer(app_out *out, const wish *w, const soa_expr *left, const soa_expr *right) {
    const soa_status proof = soa_expr_prove(left, right, w->proof ? show_step : NULL, out);
    const int proved = proof == SOA_OK;
    verdict all = {.short_of_memory = 1};
    if (proof != SOA_E_MEMORY)
        all = try_all(w, proved ? ALLOWED_PROVED : ALLOWED_UNPROVED, left, right);
    if (all.short_of_memory) return app_fail(&app_identity, "out of memory");
    if (w->json)
        print_json(out, &all, proved, w->trials);
    else
        print_text(out, &all, proved, w->trials);
    if (!all.tried) return APP_FAILED;
    return all.excess <= 1 ? APP_OK : APP_SOME_BAD;
}
/* The equation itself, or the papers' one of that name. */
static int answer_one(app_out *out, const wish *w, const char *word) {
    const soa_expr *left = NULL, *right = NULL;
    const char *text = word;
    char message[MESSAGE] = "";
    const int named = strchr(word, '=') ? -1 : soa_expr_find_identity(word);
    if (named >= 0) {
        const char *name = soa_expr_identity_name(named, &text);
        if (!w->json) out_print(out, "%s: %s\n", name, text);
    }
    if (soa_expr_parse_equation(text, NULL, 0, &left, &right, message, sizeof message) != SOA_OK) {
        if (!strchr(word, '='))
            snprintf(message, sizeof message,
                     "an identity has two sides, LEFT = RIGHT, or is one of soa identity --list");
        return app_fail_lines(&app_identity, message[0] ? message : "out of memory");
    }
    const int code = answer(out, w, left, right);
    soa_expr_free(left);
    soa_expr_free(right);
    return code;
}
/* All identities by name; proved and tried if wanted, the steps of the proofs are not shown. */
static int list_all(app_out *out, const wish *w, int prove, int try) {
    const char *name, *text;
    int code = APP_OK;
    for (int i = 0; code == APP_OK && (name = soa_expr_identity_name(i, &text)) != NULL; ++i) {
        if (w->json) {
            out_text(out, "{\"name\": ");
            out_string(out, name);
            out_text(out, ", \"text\": ");
            out_string(out, text);
            out_text(out, "}\n");
        } else {
            out_print(out, "%-44s %s\n", name, text);
        }
        if (!prove && !try) continue;
        const soa_expr *left = NULL, *right = NULL;
        if (soa_expr_parse_equation(text, NULL, 0, &left, &right, NULL, 0) != SOA_OK)
            return app_fail(&app_identity, "out of memory");
        if (try) {
            code = answer(out, w, left, right);
        } else if (soa_expr_prove(left, right, show_step, out) != SOA_OK) {
            code = app_fail(&app_identity, "%s: not proved", name);
        }
        soa_expr_free(left);
        soa_expr_free(right);
        out_flush(out);
    }
    return code;
}
static int list_rules(app_out *out) {
    const char *name, *left, *right;
    bool ideal;
    for (int i = 0; (name = soa_expr_rule_name(i, &left, &right, &ideal)) != NULL; ++i)
        out_print(out, "%-38s %s = %s%s\n", name, left, right,
                  ideal ? "   (machines without rotors)" : "");
    return APP_OK;
}
/* A whole number within its limits; -1 after a mistake, which is reported. */
static long number_of(const app_args *args, int option, long otherwise, long most) {
    const char *text = args->value[option];
    char *end = NULL;
    const long value = text ? strtol(text, &end, 10) : otherwise;
    if (!end || (!*end && end != text && value >= 1 && value <= most)) return value;
    app_fail(&app_identity, "%s '%s': a number from 1 to %ld is wanted", options[option].name, text,
             most);
    return -1;
}
static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_identity, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const int list = args.value[LIST] != NULL;
    const wish w = {.trials = number_of(&args, TRIALS, 20, 100000),
                    .seed = number_of(&args, SEED, 1, 1000000000),
                    .json = args.value[JSON] != NULL,
                    .proof = args.value[SHOW] != NULL,
                    .all_models = args.value[ALL_MODELS] != NULL};
    if (w.trials < 0 || w.seed < 0) return APP_FAILED;
    const int rules = args.value[RULES] != NULL;
    if ((list || rules) == (args.words > 0) || (list && rules))
        return app_fail(&app_identity, list || rules
                                           ? "--list and --rules are alone, without an identity"
                                           : "'LEFT = RIGHT', a name, or --list is missing");
    app_out out;
    out_start(&out, 1);
    if (rules)
        code = list_rules(&out);
    else if (list)
        code = list_all(&out, &w, w.proof, args.value[TRIALS] != NULL);
    else
        code = answer_one(&out, &w, args.word[0]);
    return app_finish(&app_identity, &out, code);
}

const app_command app_identity = {
    .name = "identity",
    .words = "'LEFT = RIGHT'|NAME",
    .least = 0,
    .most = 1,
    .summary = "Proves or refutes an identity between operators",
    .text =
        "Both sides are written as for soa op, with its algorithms by name (FD1 = FD4); or NAME is "
        "one of --list, or a\n"
        "part of it (a.35).  Letters of your own are declared first: "
        "'x: joint, A: tip>base; A J x = ...'.  First a proof is sought: definitions are put "
        "in, and both sides are\n"
        "rewritten until nothing is left of their difference.  Then both sides are formed as "
        "matrices on serial arms,\n"
        "trees with every joint type and floating bases, all without rotors; one that differs "
        "is the counter-example.\n"
        "Where an inverse does not exist, or nearly so, there is nothing to compare: such "
        "machines are skipped, and "
        "how\n"
        "many is said; long expressions are tried on fewer.  With --json: \"true\" is null and "
        "\"how\" \"not settled\" "
        "where all of them were.\n"
        "Exit status: 0 true, 1 false, 2 not understood, or not settled because every machine "
        "was skipped.\n",
    .options = options,
    .examples = "  soa identity --list\n"
                "  soa identity a.35 --proof\n"
                "  soa identity 'FD1 = FD4'\n"
                "  soa identity 'inv(I + H phi K) = I - H psi K' --proof\n"
                "  soa identity \"J inv(Mass) J' = B' psi' H' inv(D) H psi B\"\n"
                "  soa identity 'phi = psi'\n",
    .run = run,
};
