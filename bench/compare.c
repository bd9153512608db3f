/* compare.c  runs the same calls of two versions of libsoa on the same machines and states.
 *
 *   usage: compare agree|count|time OLD.so NEW.so [only=TEXT] MODEL...
 *
 * OLD.so and NEW.so are modules made of compare_calls.c.  MODEL is NAME=FILE.soam, or NAME for a
 * machine that the modules build.  Both modules live in one process, each with its own libsoa.so,
 * in separate namespaces of the dynamic linker.  only: calls whose name contains the text.
 *   agree   compares the answers
 *   count   and counts the instructions of each call, by stopping after each (x86-64 only)
 *   time    and measures the times, in turn
 * Writes one line per machine and call, fields separated by tabs: machine, call, then
 *   "ok", largest relative difference; for count and time two numbers, the old and the new version
 *   "differ", difference, tolerance
 *   "refused", the status of both, for example of operators on mimic joints
 *   "status", status of the old, status of the new version
 * The exit status is 1 if an answer or a status differs. */
#define _GNU_SOURCE
#include "compare_calls.h"

#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if __x86_64__
#include <signal.h>
#include <ucontext.h>
#endif

#define SAMPLE_NS 4e5  /* a sample lasts at least this long */
#define PLACES 7       /* in memory, of the machines' work spaces */
#define PLACE_ROUNDS 9 /* samples of each version at each place */
#define BUDGET_NS 1e8  /* about the time of all samples of a slow call at one place */
#define COUNTED 1      /* states of which the instructions are counted */
#define COUNT_NS 1.5e5 /* longer calls are not counted, which takes thousands of times as long */
#define SMALL 1e-3     /* answers smaller than this are compared as if they were this large */
#define MOST_CALLS 256
#define STACK_LINES 64 /* the stack is moved by up to so many cache lines */
enum { LINE = 64, ROUNDS = PLACES * PLACE_ROUNDS };

typedef struct side {
    const compare_library *library;
    compare_machine *machine;
    int next_state;
} side;

/* What is known of a call on a machine. */
typedef struct row {
    int status[2];
    double difference, tolerance;
    double ns[2][ROUNDS]; /* samples */
    int rounds;
    double cost[2]; /* median time, or instructions */
} row;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* In a namespace, so that both versions of libsoa.so, which have the same name, can be loaded. */
static const compare_library *load(const char *path) {
    void *module = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
    compare_calls_fn *calls = NULL;
    if (module != NULL) *(void **)&calls = dlsym(module, "compare_calls");
    if (calls == NULL) {
        fprintf(stderr, "compare: %s: %s\n", path, dlerror());
        exit(2);
    }
    return calls();
}

static void open_machine(side *s, const char *model, int place) {
    char name[64];
    const char *path = strchr(model, '=');
    const size_t length = path == NULL ? strlen(model) : (size_t)(path - model);
    snprintf(name, sizeof name, "%.*s", (int)length, model);
    s->next_state = 0;
    s->machine = s->library->open(name, path == NULL ? NULL : path + 1, place);
    if (s->machine == NULL) exit(2);
}

/* max |x - y| / max(max |y|, SMALL); infinite if there is any NaN. */
static double difference(const double *x, const double *y, long n) {
    double largest = 0, scale = SMALL;
    for (long i = 0; i < n; ++i) {
        const double error = fabs(x[i] - y[i]);
        if (!(error <= 1e300)) return INFINITY;
        largest = fmax(largest, error);
        scale = fmax(scale, fabs(y[i]));
    }
    return largest / scale;
}

/* --- agreement -------------------------------------------------------------------------------- */
static int prepare_and_run(const side *s, int call, int state) {
    const int status = s->library->prepare(s->machine, call);
    return status != 0 ? status : s->library->run(s->machine, call, state);
}

/* The largest difference over all states; stops at the first status that is not 0. */
static void compare_answers(side sides[2], int call, row *r) {
    r->difference = 0;
    r->tolerance = sides[1].library->tolerance(call);
    for (int k = 0; k < sides[0].library->states; ++k) {
        const double *answer[2];
        long count[2];
        for (int i = 0; i < 2; ++i) {
            r->status[i] = prepare_and_run(&sides[i], call, k);
            answer[i] = sides[i].library->answer(sides[i].machine, &count[i]);
        }
        if (r->status[0] != 0 || r->status[1] != 0) return;
        r->difference =
            fmax(r->difference,
                 count[0] == count[1] ? difference(answer[1], answer[0], count[0]) : INFINITY);
    }
}
static bool agree(const row *r) {
    return r->status[0] == r->status[1] && (r->status[0] != 0 || r->difference <= r->tolerance);
}

/* --- times ------------------------------------------------------------------------------------ */
static double sample(side *s, int call, long repeat) {
    const compare_library *library = s->library;
    library->prepare(s->machine, call);
    const double start = now_ns();
    for (long i = 0; i < repeat; ++i) {
        library->run(s->machine, call, s->next_state);
        s->next_state = s->next_state + 1 < library->states ? s->next_state + 1 : 0;
    }
    return (now_ns() - start) / (double)repeat;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* The same with the stack elsewhere: docs/decisions/moving-bench.md. */
static double sample_moved(side *s, int call, long repeat) {
    volatile char *shift = alloca((size_t)(rand() % STACK_LINES + 1) * LINE);
    shift[0] = 0;
    return sample(s, call, repeat);
}

/* Samples at one place in memory. */
static void measure(side sides[2], int call, row *r) {
    long repeat = 1;
    double once = sample(&sides[0], call, repeat);
    while (once * (double)repeat < SAMPLE_NS) {
        repeat *= 2;
        once = sample(&sides[0], call, repeat);
    }
    const int most = (int)fmin(PLACE_ROUNDS, 1 + BUDGET_NS / (2 * once * (double)repeat));
    for (int round = 0; round < most; ++round, ++r->rounds) {
        for (int i = 0; i < 2; ++i) { /* who is first changes from round to round */
            const int who = i ^ (round & 1);
            r->ns[who][r->rounds] = sample_moved(&sides[who], call, repeat);
        }
    }
}

/* --- instructions ----------------------------------------------------------------------------- */
#if __x86_64__
enum { TRAP_FLAG = 0x100 };
static volatile long counted;
static greg_t last_at;

/* The processor stops after every instruction while the trap flag is set.  A repeated string
 * instruction stops after each repetition, and counts once. */
static void after_instruction(int signal, siginfo_t *info, void *context) {
    const greg_t at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)signal;
    (void)info;
    counted += at != last_at;
    last_at = at;
}

static void start_trap(void) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::"i"(TRAP_FLAG)
                     : "memory", "cc");
}
static void stop_trap(void) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::"i"(~TRAP_FLAG)
                     : "memory", "cc");
}

/* Instructions of a call, mean of the first states; negative: it takes too long. */
static double instructions(side *s, int call) {
    const struct sigaction action = {.sa_sigaction = after_instruction, .sa_flags = SA_SIGINFO};
    if (sample(s, call, 1) > COUNT_NS) return -1;
    sigaction(SIGTRAP, &action, NULL);
    s->library->prepare(s->machine, call);
    counted = 0;
    for (int k = 0; k < COUNTED; ++k) {
        start_trap();
        s->library->run(s->machine, call, k);
        stop_trap();
    }
    return (double)counted / COUNTED;
}
#else
static double instructions(side *s, int call) {
    (void)s;
    (void)call;
    fprintf(stderr, "compare: instructions are counted on x86-64 only\n");
    exit(2);
}
#endif

/* --- the tasks -------------------------------------------------------------------------------- */
typedef enum task { AGREE, COUNT, TIME } task;

static void run_task(side sides[2], int call, task what, row *r) {
    if (what == TIME) measure(sides, call, r);
    if (what == COUNT) {
        r->cost[0] = instructions(&sides[0], call);
        r->cost[1] = instructions(&sides[1], call);
    }
}

static void print_row(const compare_library *library, const char *model, int call, row *r) {
    printf("%.*s\t%s\t", (int)strcspn(model, "="), model, library->name(call));
    if (r->status[0] != r->status[1]) {
        printf("status\t%s\t%s\n", library->status_text(r->status[0]),
               library->status_text(r->status[1]));
    } else if (r->status[0] != 0) {
        printf("refused\t%s\n", library->status_text(r->status[0]));
    } else if (!agree(r)) {
        printf("differ\t%g\t%g\n", r->difference, r->tolerance);
    } else {
        for (int i = 0; i < 2 && r->rounds > 0; ++i)
            r->cost[i] = median(r->ns[i], r->rounds);
        printf("ok\t%g\t%.8g\t%.8g\n", r->difference, r->cost[0], r->cost[1]);
    }
    fflush(stdout);
}

/* Returns whether the versions agree. */
static bool compare_model(side sides[2], const char *only, const char *model, task what) {
    static row rows[MOST_CALLS];
    const compare_library *library = sides[1].library;
    bool fine = true;
    memset(rows, 0, sizeof rows);
    for (int place = 0; place < (what == TIME ? PLACES : 1); ++place) {
        for (int i = 0; i < 2; ++i)
            open_machine(&sides[i], model, place);
        for (int call = 0; call < MOST_CALLS && library->name(call) != NULL; ++call) {
            row *r = &rows[call];
            if (strstr(library->name(call), only) == NULL) continue;
            if (place == 0) compare_answers(sides, call, r);
            if (agree(r) && r->status[0] == 0) run_task(sides, call, what, r);
        }
        for (int i = 0; i < 2; ++i)
            sides[i].library->close(sides[i].machine);
    }
    for (int call = 0; call < MOST_CALLS && library->name(call) != NULL; ++call) {
        if (strstr(library->name(call), only) == NULL) continue;
        if (rows[call].status[0] == COMPARE_ABSENT && rows[call].status[1] == COMPARE_ABSENT)
            continue;
        print_row(library, model, call, &rows[call]);
        fine = agree(&rows[call]) && fine;
    }
    return fine;
}

static int compare(const char *const paths[2], const char *only, char **models, int count,
                   task what) {
    side sides[2];
    bool fine = true;
    for (int i = 0; i < 2; ++i)
        sides[i].library = load(paths[i]);
    for (int model = 0; model < count; ++model)
        fine = compare_model(sides, only, models[model], what) && fine;
    return fine ? 0 : 1;
}

int main(int argc, char **argv) {
    static const char *const tasks[] = {"agree", "count", "time"};
    const bool some = argc >= 5 && strncmp(argv[4], "only=", 5) == 0;
    const char *only = some ? argv[4] + 5 : "";
    const int first = some ? 5 : 4;
    for (int what = AGREE; argc > first && what <= TIME; ++what) {
        const char *const paths[2] = {argv[2], argv[3]};
        if (strcmp(argv[1], tasks[what]) == 0)
            return compare(paths, only, argv + first, argc - first, (task)what);
    }
    fprintf(stderr, "usage: compare agree|count|time OLD.so NEW.so [only=TEXT] MODEL...\n");
    return 2;
}
