/* test_oscillators.c  what accuracy the tolerances of a run give.
 *
 * Oscillators of 1 Hz to 1 MHz over 20 periods, every method and order: the error at all samples is
 * within 100 times the tolerance, or the run ends with a status and a reason. SOA_OSCILLATORS=all
 * uses all decades and all tolerances (make oscillator-campaign), which takes minutes for low
 * orders. Then stiff damping, forces that jump, fixed steps beyond their stability bound, and the
 * pairs themselves: whether their estimates detect oscillations and jumps. */
#include "soa/io.h"
#include "worlds.h"

#include "world/stepper.h"

#include <complex.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <unistd.h>

static const double allowed = 100; /* times the tolerance, after 20 periods */

typedef struct way {
    const char *method;
    int order;
} way;
static const way ways[] = {{"explicit", 2}, {"explicit", 3}, {"explicit", 4}, {"explicit", 5},
                           {"explicit", 6}, {"explicit", 8}, {"implicit", 2}, {"implicit", 3},
                           {"implicit", 4}, {"implicit", 5}, {"cvode", 1},    {"cvode", 2},
                           {"cvode", 3},    {"cvode", 4},    {"cvode", 5}};
enum { WAYS = sizeof ways / sizeof *ways };

static char folder[] = "/tmp/soa-oscillators-XXXXXX";
static char model_path[64];
static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(model_path, sizeof model_path, "%s/o.urdf", folder);
    return 0;
}
static int close_folder(void **state) {
    (void)state;
    unlink(model_path);
    return rmdir(folder);
}

/* A mass on a prismatic joint; `more` goes into the joint. */
static void write_model(double mass, const char *more) {
    FILE *file = fopen(model_path, "w");
    assert_non_null(file);
    fprintf(file,
            "<robot name=\"o\"><link name=\"base\"/><link name=\"a\"><inertial><mass "
            "value=\"%.17g\"/><inertia "
            "ixx=\"1e-2\" "
            "iyy=\"1e-2\" izz=\"1e-2\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link><joint "
            "name=\"p\" "
            "type=\"prismatic\"><parent link=\"base\"/><child link=\"a\"/><axis xyz=\"0 0 "
            "1\"/>%s</joint></robot>",
            mass, more);
    assert_int_equal(fclose(file), 0);
}
static const char *spring(double stiffness, double damping) {
    static char text[240];
    snprintf(text, sizeof text,
             "<limit lower=\"-9\" upper=\"9\" effort=\"1e9\" velocity=\"1e9\"/><dynamics "
             "damping=\"%.17g\" "
             "friction=\"0\"/><soa "
             "stiffness=\"%.17g\" rest=\"0\"/>",
             damping, stiffness);
    return text;
}

typedef struct outcome {
    soa_status status;
    soa_report report;
    double error; /* largest at any tick, in parts of the amplitude */
    long long steps;
    int warnings; /* of unstable steps */
    soa_world_warning warning;
} outcome;

static void look_for_warnings(const stage *s, outcome *out) {
    int count;
    const soa_world_warning *list = soa_world_warnings(s->world, &count);
    out->warnings = 0;
    for (int i = 0; i < count; ++i)
        if (!strcmp(list[i].code, "fixed-step-unstable")) {
            ++out->warnings;
            out->warning = list[i];
        }
}

/* x = A cos wt, at `ticks` ticks over `periods` periods; the first `run` of them are run. */
static outcome oscillate_some(double amplitude, double frequency, double mass, int ticks, int run,
                              double periods, const char *integration) {
    const double w = 2 * PI * frequency, duration = periods / frequency;
    outcome out = {.report = {SOA_OK, -1, 0, ""}};
    write_model(mass, spring(mass * w * w, 0));
    stage s = {malloc(sizeof *s.scenario), NULL};
    char text[1000];
    const int size = snprintf(text, sizeof text,
                              "name: oscillator\nduration: %.17g\ngravity: [0, 0, 0]\nparts: "
                              "[{name: g, model: %s, positions: "
                              "{p: %.17g}}]\nintegration: %s\nrecording: {rate: %.17g}\n",
                              duration, model_path, amplitude, integration, ticks / duration);
    assert_non_null(s.scenario);
    OK(soa_scenario_parse(text, (size_t)size, "test.yaml", s.scenario, &out.report));
    out.status = soa_world_create(s.scenario, &s.world, &out.report);
    for (int k = 0; k < run && !out.status; ++k) {
        if ((out.status = soa_world_tick(s.world, &out.report))) break;
        const double t = soa_world_time(s.world), x = q_of(&s, "g.p")[0] / amplitude;
        const double error =
            hypot(x - cos(w * t), v_of(&s, "g.p")[0] / (amplitude * w) + sin(w * t));
        if (!(error <= out.error)) out.error = error;
    }
    if (s.world) {
        out.steps = summary_of(&s).steps;
        look_for_warnings(&s, &out);
    }
    closed(&s);
    return out;
}

static outcome oscillate(double amplitude, double frequency, double mass, int ticks, double periods,
                         const char *integration) {
    return oscillate_some(amplitude, frequency, mass, ticks, ticks, periods, integration);
}

/* Low orders take 1e5 steps and more for a tight tolerance: a few of those are enough for every
 * day. */
static int is_long(const way *by, double tolerance, double frequency) {
    const int is_explicit = !strcmp(by->method, "explicit");
    if (by->order > 4) return 0;
    if (by->order > 2 && tolerance < 1e-11) return !is_explicit || frequency != 5e3;
    if (by->order > 2) return frequency < 5e3 || frequency == 1e4 || frequency == 1e5;
    if (by->order < 2) return 1;
    const int quick = tolerance > 1e-7 && frequency == 5e3;
    const int asked = is_explicit && tolerance == 1e-8 && frequency == 3e5;
    return !quick && !asked;
}

static void every_method_keeps_its_tolerance(void **state) {
    (void)state;
    static const double frequencies[] = {1, 10, 100, 1e3, 5e3, 1e4, 1e5, 3e5, 1e6},
                        tolerances[] = {1e-6, 1e-8, 1e-12};
    const int all = getenv("SOA_OSCILLATORS") && !strcmp(getenv("SOA_OSCILLATORS"), "all");
    int runs = 0, kept = 0;
    for (int k = 0; k < WAYS; ++k) {
        double worst = 0;
        int refused = 0, count = 0;
        long long steps = 0;
        const double began = cpu_time();
        char reason[256] = "";
        for (int f = 0; f < 9; ++f)
            for (int t = 0; t < 3; ++t) {
                char integration[120];
                const double relative = tolerances[t], absolute = 1e-2 * relative;
                if (!all && is_long(&ways[k], relative, frequencies[f])) continue;
                snprintf(integration, sizeof integration,
                         "{method: %s, order: %d, relative_tolerance: %g, absolute_tolerance: %g}",
                         ways[k].method, ways[k].order, relative, absolute);
                /* an amplitude where the absolute tolerance counts, and one where it does not */
                const double amplitude = f % 2 ? 1e-3 : 1;
                const outcome o = oscillate(amplitude, frequencies[f], 1, 7, 20, integration);
                ++count;
                steps += o.steps;
                if (o.status) { /* then with a reason, and only where there is one */
                    assert_true(strlen(o.report.text) > 20);
                    if (ways[k].order > 3)
                        fail_msg("%s at %g Hz: %s", integration, frequencies[f], o.report.text);
                    snprintf(reason, sizeof reason, "%.255s", o.report.text);
                    ++refused;
                    continue;
                }
                const double ratio = o.error / (relative + absolute / amplitude);
                if (!(ratio <= worst)) worst = ratio;
                if (!(ratio <= allowed))
                    fail_msg("%s at %g Hz: error %.3g, %.3g times the tolerance", integration,
                             frequencies[f], o.error, ratio);
            }
        printf("  %-8s %d: %2d runs, %2d refused, error at most %5.1f times the tolerance; %lld "
               "steps, %.1f s\n",
               ways[k].method, ways[k].order, count, refused, worst, steps, cpu_time() - began);
        if (refused) printf("      %s\n", reason);
        runs += count;
        kept += count - refused;
    }
    printf("  %d of %d runs kept their tolerance, %d ended with a reason\n", kept, runs,
           runs - kept);
    assert_true(kept > 100);
}

/* Two that went wrong: minimum steps of 1e-7 s, passed without error control. */
static void fast_ones_come_out_right(void **state) {
    (void)state;
    const outcome fast = oscillate(1e-3, 3e5, 1e-6, 4, 20, "{}");
    const outcome tight = oscillate(
        1e-3, 5e3, 1, 4, 20,
        "{method: explicit, order: 3, relative_tolerance: 1e-12, absolute_tolerance: 1e-14}");
    printf("  300 kHz, defaults: error %.1e of the amplitude; 5 kHz at 1e-12: %.1e\n", fast.error,
           tight.error);
    OK(fast.status);
    OK(tight.status);
    assert_true(fast.error <= 100 * (1e-8 + 1e-10 / 1e-3));
    assert_true(tight.error <= 100 * (1e-12 + 1e-14 / 1e-3));
    /* tighter is better */
    double before = INFINITY;
    for (int k = 6; k <= 12; k += 2) {
        char integration[80];
        snprintf(integration, sizeof integration,
                 "{relative_tolerance: 1e-%d, absolute_tolerance: 1e-%d}", k, k + 2);
        const outcome o = oscillate(1e-3, 5e3, 1, 4, 20, integration);
        OK(o.status);
        assert_true(o.error < 0.05 * before);
        before = o.error;
    }
}

/* Ticks cut the steps, and every method begins anew at each. */
static void ticks_do_not_matter(void **state) {
    (void)state;
    static const int ticks[] = {1, 40, 4000};
    for (int k = 0; k < WAYS; ++k) {
        if (ways[k].order < 3) continue;
        double worst = 0;
        for (int n = 0; n < 3; ++n) {
            char integration[120];
            snprintf(integration, sizeof integration,
                     "{method: %s, order: %d, relative_tolerance: 1e-6, absolute_tolerance: 1e-8}",
                     ways[k].method, ways[k].order);
            const outcome o = oscillate(1, 1, 1, ticks[n], 20, integration);
            OK(o.status);
            if (!(o.error <= worst)) worst = o.error;
        }
        printf("  %-8s %d: error at most %5.1f times the tolerance\n", ways[k].method,
               ways[k].order, worst / 1e-6);
        assert_true(worst <= allowed * 1.01e-6);
    }
}

/* m x'' + c x' + k x = 0, overdamped: rates -100 and -1e6 per second; from rest at x = 1 mm. */
static void stiff_damping(void **state) {
    (void)state;
    const double slow = 1e2, fast = 1e6, duration = 0.02, amplitude = 1e-3;
    write_model(1, spring(slow * fast, slow + fast));
    const double exact =
        amplitude * (fast * exp(-slow * duration) - slow * exp(-fast * duration)) / (fast - slow);
    for (int k = 0; k < WAYS; ++k) {
        if (ways[k].order < 2) continue;
        const double relative = ways[k].order == 2 ? 1e-6 : 1e-8, absolute = 1e-2 * relative;
        stage s = made(
            "name: damped\nduration: %g\ngravity: [0, 0, 0]\nparts: [{name: g, model: %s, "
            "positions: {p: 1 mm}}]\n"
            "integration: {method: %s, order: %d, relative_tolerance: %g, absolute_tolerance: %g}\n"
            "recording: {rate: 200}\n",
            duration, model_path, ways[k].method, ways[k].order, relative, absolute);
        while (soa_world_time(s.world) < duration - 1e-9)
            OK(tick(&s));
        const double error =
            fabs(q_of(&s, "g.p")[0] - exact) / amplitude / (relative + absolute / amplitude);
        printf("  %-8s %d: error %8.3g times the tolerance, %lld steps\n", ways[k].method,
               ways[k].order, error, summary_of(&s).steps);
        if (!(error <= allowed)) fail_msg("%s of order %d", ways[k].method, ways[k].order);
        closed(&s);
    }
}

/* --- forces that jump ------------------------------------------------------------------------- */
/* One jump may leave 170 times the tolerance (pairs_are_honest, explicit order 5); those of several
 * differ in sign. An error in speed at one bounce shifts the next, and so on: after some bounces a
 * ball is off by ten times as much. */
typedef struct jumping {
    const char *name, *text; /* of the scenario, before integration */
    const char *joint;       /* into the model */
    const char *what;        /* joint looked at */
    double size, speed;      /* of the motion */
    double bound;            /* times the tolerance */
} jumping;
static const jumping jumps[] = {
    {"Coulomb friction", "parts: [{name: g, model: %s, positions: {p: 0.1}}]\ngravity: [0, 0, 0]\n",
     "<limit lower=\"-9\" upper=\"9\" effort=\"1e9\" velocity=\"1e9\"/><dynamics friction=\"0.5\" "
     "damping=\"0\"/><soa "
     "stiffness=\"1000\" rest=\"0\"/>",
     "g.p", 0.1, 3, 200},
    {"a stop",
     "parts: [{name: g, model: %s, positions: {p: 0.1}, stop_stiffness: 1e5, stop_damping: "
     "100}]\ngravity: [0, 0, 0]\n",
     "<limit lower=\"-0.05\" upper=\"0.2\" effort=\"1e9\" velocity=\"1e9\"/><soa "
     "stiffness=\"1000\" rest=\"0\"/>",
     "g.p", 0.1, 3, 200},
    {"a stop, friction and damping",
     "parts: [{name: g, model: %s, positions: {p: 0.1}, stop_stiffness: 1e5, stop_damping: "
     "100}]\ngravity: [0, 0, 0]\n",
     "<limit lower=\"-0.05\" upper=\"0.2\" effort=\"1e9\" velocity=\"1e9\"/><dynamics "
     "friction=\"0.5\" "
     "damping=\"0.1\"/><soa "
     "stiffness=\"1000\" rest=\"0\"/>",
     "g.p", 0.1, 3, 200},
    {"a ball that bounces",
     "parts: [{name: g, model: %s}, {name: ball, body: {mass: 0.5, sphere: 50 mm}, place: [0, 0, "
     "0.3]}]\n"
     "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: ball, sphere: 50 mm}\n"
     "contacts:\n  - {between: [skin, floor], law: linear, stiffness: 1e5, damping: 20}\n",
     "<limit lower=\"-9\" upper=\"9\" effort=\"1e9\" velocity=\"1e9\"/><soa stiffness=\"1000\" "
     "rest=\"0\"/>",
     "ball.root", 0.3, 3, 1000}};

/* Position and speed at the end. */
static void jump(const jumping *of, const char *integration, double out[2]) {
    char start[1000];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(start, sizeof start, of->text, model_path);
#pragma GCC diagnostic pop
    stage s = made("name: jumps\nduration: 2\n%sintegration: %s\nrecording: {rate: 50}\n", start,
                   integration);
    run_to(&s, 2);
    const int is_ball = !strcmp(of->what, "ball.root");
    out[0] = q_of(&s, of->what)[is_ball ? 2 : 0];
    out[1] = v_of(&s, of->what)[is_ball ? 5 : 0];
    closed(&s);
}
static void jumps_are_seen(void **state) {
    (void)state;
    const double relative = 1e-8;
    for (size_t j = 0; j < sizeof jumps / sizeof *jumps; ++j) {
        double best[2], other[2], worst = 0;
        const char *slowest = "";
        write_model(1, jumps[j].joint);
        jump(&jumps[j], "{order: 8, relative_tolerance: 1e-12, absolute_tolerance: 1e-14}", best);
        jump(&jumps[j], "{order: 5, relative_tolerance: 1e-11, absolute_tolerance: 1e-13}", other);
        const double apart = fabs(best[0] - other[0]) / jumps[j].size;
        printf("  %s: references %.1e apart\n", jumps[j].name, apart);
        if (!(apart <= 10 * jumps[j].bound * 1e-11))
            fail_msg("references of %s differ", jumps[j].name);
        for (int k = 0; k < WAYS; ++k) {
            char integration[120];
            if (ways[k].order < 3) continue;
            snprintf(integration, sizeof integration, "{method: %s, order: %d}", ways[k].method,
                     ways[k].order);
            jump(&jumps[j], integration, other);
            const double error = fmax(fabs(other[0] - best[0]) / jumps[j].size,
                                      fabs(other[1] - best[1]) / jumps[j].speed);
            if (!(error / relative <= worst)) {
                worst = error / relative;
                slowest = ways[k].method;
            }
            if (!(error <= jumps[j].bound * relative))
                fail_msg("%s, %s: error %.3g, %.3g times the tolerance", jumps[j].name, integration,
                         error, error / relative);
        }
        printf("    at most %.1f times the tolerance (%s)\n", worst, slowest);
    }
}

/* --- the pairs -------------------------------------------------------------------------------- */
static int still(double t, N_Vector y, N_Vector rate, void *user) {
    (void)t;
    (void)y;
    (void)user;
    N_VConst(0, rate);
    return 0;
}
/* Local error and its estimate for y' = i y, steps of h. */
static void oscillator_step(const ARKodeButcherTable table, double h, double *error,
                            double *estimate) {
    double complex k[16], y = 1, e = 0;
    for (int i = 0; i < table->stages; ++i) {
        double complex at = 1;
        for (int j = 0; j < i; ++j)
            at += I * h * table->A[i][j] * k[j];
        k[i] = at / (1 - I * h * table->A[i][i]);
        y += I * h * table->b[i] * k[i];
        e += I * h * (table->b[i] - table->d[i]) * k[i];
    }
    *error = cabs(y - cexp(I * h));
    *estimate = cabs(e);
}
static void pairs_are_honest(void **state) {
    (void)state;
    SUNContext context;
    OK(SUNContext_Create(NULL, &context));
    N_Vector y = N_VNew_Serial(2, context);
    for (int n = 0; n < WAYS; ++n) {
        const int is_implicit = !strcmp(ways[n].method, "implicit");
        if (!strcmp(ways[n].method, "cvode")) continue;
        void *ark =
            ARKStepCreate(is_implicit ? NULL : still, is_implicit ? still : NULL, 0, y, context);
        double t, oscillation = 0, unseen = 0;
        ARKodeButcherTable implicit, table;
        assert_non_null(ark);
        OK(is_implicit ? soai_use_implicit(ark, ways[n].order)
                       : soai_use_explicit(ark, ways[n].order));
        SUNMatrix matrix = SUNDenseMatrix(2, 2, context);
        SUNLinearSolver solver = SUNLinSol_Dense(y, matrix, context);
        if (is_implicit) OK(ARKStepSetLinearSolver(ark, solver, matrix));
        OK(ARKStepSStolerances(ark, 1e-3, 1e-3));
        /* which settles and checks the table */
        assert_true(ARKStepEvolve(ark, 1, y, &t, ARK_ONE_STEP) >= 0);
        OK(ARKStepGetCurrentButcherTables(ark, &implicit, &table));
        if (is_implicit) table = implicit;
        for (double h = 0.5; h > 3e-3; h *= 0.8) {
            double error, estimate;
            oscillator_step(table, h, &error, &estimate);
            if (estimate > 1e-13) oscillation = fmax(oscillation, 40 * PI / h * error / estimate);
        }
        for (int k = 0; k < 1000; ++k) { /* y' = 0 before x of the step, 1 after */
            const double x = (k + 0.5) / 1000;
            double made = 0, estimate = 0;
            for (int i = 0; i < table->stages; ++i) {
                if (table->c[i] > x) {
                    made += table->b[i];
                    estimate += table->b[i] - table->d[i];
                }
            }
            unseen = fmax(unseen, fabs(made - (1 - x)) / fabs(estimate));
        }
        const double sharper = soai_sharpness(is_implicit ? 0 : ways[n].order);
        printf("  %s %d: 20 periods %5.1f times the estimate of a step over %g, a jump %5.1f\n",
               ways[n].method, ways[n].order, oscillation, sharper, unseen);
        assert_true(oscillation / sharper <= 70 && unseen <= 200);
        ARKStepFree(&ark);
        SUNLinSolFree(solver);
        SUNMatDestroy(matrix);
    }
    N_VDestroy(y);
    SUNContext_Free(&context);
}

/* --- refusals, warnings ----------------------------------------------------------------------- */
static void what_cannot_be_kept_is_refused(void **state) {
    (void)state;
    static const char *const unfit[] = {"{order: 5, relative_tolerance: 1e-14}",
                                        "{order: 3, relative_tolerance: 1e-13}",
                                        "{method: cvode, order: 1, relative_tolerance: 1e-8}",
                                        "{method: cvode, relative_tolerance: 1e-14}",
                                        "{method: implicit, order: 4, relative_tolerance: 1e-13}"};
    for (size_t k = 0; k < sizeof unfit / sizeof *unfit; ++k) {
        const outcome o = oscillate(1, 1, 1, 4, 1, unfit[k]);
        printf("  %s\n", o.report.text);
        assert_int_equal(o.status, SOA_E_ARGUMENT);
        assert_non_null(strstr(o.report.text, "relative_tolerance"));
    }
    const outcome o = oscillate(1, 5e3, 1, 4, 20,
                                "{order: 2, relative_tolerance: 1e-12, absolute_tolerance: 1e-14}");
    printf("  %s\n", o.report.text);
    assert_int_equal(o.status, SOA_E_NO_CONVERGENCE);
    assert_non_null(strstr(o.report.text, "higher order"));
    /* the order of cvode is the order asked for */
    const outcome low =
        oscillate(1, 1, 1, 4, 5, "{method: cvode, order: 2, relative_tolerance: 1e-5}");
    const outcome high =
        oscillate(1, 1, 1, 4, 5, "{method: cvode, order: 5, relative_tolerance: 1e-5}");
    OK(low.status);
    OK(high.status);
    assert_true(low.steps > 5 * high.steps);
}

static outcome fixed(double amplitude, int order, double phase, double periods, int ticks,
                     int run) {
    char integration[80];
    snprintf(integration, sizeof integration, "{method: fixed, order: %d, step: %.17g}", order,
             phase / (2 * PI * 1e3));
    return oscillate_some(amplitude, 1e3, 1, ticks, run, periods, integration);
}
static void is_warned(const outcome *o, int wanted, const char *what) {
    if (o->warnings)
        printf("  %s: %s (%.3g): %s\n", what, o->warning.name, o->warning.value, o->warning.remedy);
    if (o->warnings != wanted) fail_msg("%s: %d warnings, status %d", what, o->warnings, o->status);
}
/* Imaginary axis: bounds 1.73 (order 3), 2.83 (order 4); order 2 has none, |R| = 1 + phase^4 /
 * 8. */
static void fixed_steps_warn(void **state) {
    (void)state;
    static const struct {
        int order;
        double phase, periods;
        int warns;
    } list[] = {{2, 0.05, 20, 0}, {2, 0.5, 20, 1}, {2, 0.05, 2000, 0}, {2, 0.05, 20000, 1},
                {3, 1.70, 20, 0}, {3, 1.9, 20, 1}, {4, 2.80, 20, 0},   {4, 2.95, 20, 1},
                {5, 0.9, 20, 0},  {5, 2.5, 20, 1}, {6, 1, 20, 0},      {6, 4, 20, 1},
                {8, 2, 20, 0},    {8, 8, 20, 1}};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        char what[80];
        /* the first ticks are enough: the warning is about the whole run */
        const int ticks = list[k].periods > 100 ? 1000 : 3;
        const outcome o = fixed(1e-6, list[k].order, list[k].phase, list[k].periods, ticks, 3);
        snprintf(what, sizeof what, "order %d, %g rad a step, %g periods", list[k].order,
                 list[k].phase, list[k].periods);
        is_warned(&o, list[k].warns, what);
        if (list[k].warns) assert_true(fabs(o.warning.value / list[k].phase - 1) < 0.05);
    }
    const outcome gone = fixed(1e-3, 4, 20, 200, 40, 40);
    printf("  %s\n", gone.report.text);
    assert_int_equal(gone.status, SOA_E_NO_CONVERGENCE);
    assert_non_null(strstr(gone.report.text, "diverged"));
}
/* Real axis: 2.79 for order 4. And a ball on a floor, whose spring only acts while it touches. */
static void fixed_steps_warn_of_dampers_and_contacts(void **state) {
    (void)state;
    write_model(1, spring(0, 1000));
    for (int k = 0; k < 2; ++k) {
        stage s = made("name: damper\nduration: 1\ngravity: [0, 0, 0]\nparts: [{name: g, model: "
                       "%s, positions: {p: 0.1}}]\n"
                       "integration: {method: fixed, order: 4, step: %g}\nrecording: {rate: 100}\n",
                       model_path, k ? 2.95e-3 : 2.7e-3);
        OK(tick(&s));
        outcome o = {.status = SOA_OK};
        look_for_warnings(&s, &o);
        is_warned(&o, k, "damper");
        closed(&s);
    }
    for (int k = 0; k < 2; ++k) { /* 0.5 kg on 2e4 N/m: 200 rad/s */
        stage s = made(
            "name: ball\nduration: 1\nparts: [{name: ball, body: {mass: 0.5, sphere: 50 mm}, "
            "place: [0, 0, 0.06]}]\n"
            "shapes:\n  - {name: floor, on: world, plane: {}}\n  - {name: skin, on: ball, sphere: "
            "50 mm}\n"
            "contacts:\n  - {between: [skin, floor], law: linear, stiffness: 2e4, damping: 5}\n"
            "integration: {method: fixed, order: 4, step: %g}\nrecording: {rate: 50}\n",
            k ? 19e-3 : 2e-3);
        while (soa_world_time(s.world) < 0.9 && !tick(&s))
            continue;
        outcome o = {.status = SOA_OK};
        look_for_warnings(&s, &o);
        is_warned(&o, k, "ball");
        closed(&s);
    }
}

/* soa_simulate takes the same pairs. */
static void drops_keep_their_tolerance(void **state) {
    (void)state;
    static const int orders[] = {2, 3, 4, 5, 6, 8};
    const double w = 2 * PI * 1e3, amplitude = 1;
    const soa_model *heavy = NULL, *model = NULL;
    const double none[3] = {0, 0, 0};
    soa_report report = {SOA_OK, -1, 0, ""};
    write_model(1, spring(w * w, 0));
    if (soa_urdf_read(model_path, NULL, &heavy, NULL, &report)) fail_msg("%s", report.text);
    OK(soa_model_with_gravity(heavy, none, &model));
    for (int k = 0; k < 6; ++k) {
        soa_sim_options o = soa_sim_options_default();
        soa_sim_result r;
        const double q[1] = {amplitude}, relative = orders[k] == 2 ? 1e-6 : 1e-8;
        o.order = orders[k];
        o.relative_tolerance = relative;
        o.absolute_tolerance = 1e-2 * relative;
        o.duration = 19.87e-3;
        o.sample_time = o.duration;
        if (soa_simulate(model, q, NULL, &o, &r, &report)) fail_msg("%s", report.text);
        const double kinetic = 0.5 * w * w * pow(sin(w * o.duration), 2), scale = 0.5 * w * w;
        const double error = fabs(r.kinetic - kinetic) / scale / relative;
        printf("  order %d: kinetic energy %.3g times the tolerance off, %ld steps\n", orders[k],
               error, r.steps);
        assert_true(error <= 2 * allowed); /* a square */
    }
    soa_model_free(model);
    soa_model_free(heavy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_honest),
                                       cmocka_unit_test(fast_ones_come_out_right),
                                       cmocka_unit_test(every_method_keeps_its_tolerance),
                                       cmocka_unit_test(ticks_do_not_matter),
                                       cmocka_unit_test(stiff_damping),
                                       cmocka_unit_test(jumps_are_seen),
                                       cmocka_unit_test(what_cannot_be_kept_is_refused),
                                       cmocka_unit_test(fixed_steps_warn),
                                       cmocka_unit_test(fixed_steps_warn_of_dampers_and_contacts),
                                       cmocka_unit_test(drops_keep_their_tolerance)};
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
