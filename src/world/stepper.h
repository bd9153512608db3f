/* stepper.h  explicit steps with error control and events, by ARKODE, for time_loop.c; and the
 * methods and norms that worlds (motion.c) use too.
 *
 * An event is a function that falls through zero. ARKODE finds it on its interpolant. The caller
 * then goes back to the state before the step and integrates again up to the event
 * (soai_stepper_again), so that no interpolated state enters a motion. */
#ifndef SOAI_STEPPER_H
#define SOAI_STEPPER_H
#include "integration_fault.h"
#include "soa/world.h"

#include <stdio.h> /* the next header needs FILE */

#include <arkode/arkode_arkstep.h>
#include <sundials/sundials_nonlinearsolver.h>

/* The Runge-Kutta pairs, one for each order offered. Each was chosen because its error estimate is
 * reliable in two cases:
 *     an oscillator   after 20 periods the error is a fixed multiple of the tolerance, at most
 *                     50, at any tolerance
 *     a jump          of the rates anywhere within the step is detected: the error it leaves is at
 *                     most 170 times the estimate
 * Both follow from the tables (tests/world/test_oscillators.c). Fehlberg's pair of orders 7 and 8,
 * for example, detects no jump at all: its estimate compares only stages at the ends of the step.
 * Methods without a stage at the start miss jumps just after it.
 *
 * These functions return ARKODE's flags; ARK_ILL_INPUT: no such order. */
int soai_has_explicit(int order);
int soai_use_explicit(void *ark, int order);
int soai_use_implicit(void *ark, int order);

/* SUNDIALS uses the root mean square of the errors over all numbers of y, most of which may be at
 * rest. After this call the vector and its clones use the largest error, so every coordinate is
 * within its own tolerance. */
void soai_measure_worst(N_Vector y);
/* Errors of angles are relative to at most 1 rad, however many turns they have made. Writes 1 for
 * the coordinates that are angles, 0 for the others: nq numbers. */
void soai_mark_angles(const soa_model *model, unsigned char *angle);
/* The tolerances of one step are the requested ones divided by this number. Over many periods of an
 * oscillator the errors of steps add up, by an amount that differs from pair to pair: explicit
 * order 3 needs a quarter of the tolerance to stay within 100 times the tolerance after 20 periods.
 * 0: another method. */
double soai_sharpness(int explicit_order);
/* Most tries of one step, each at most 0.3 times as long: enough to go from any step down to
 * rounding. */
enum { SOAI_MOST_TRIES = 60 };

/* Newton's iteration for implicit steps. It judges convergence by the corrections of the same
 * solve. SUNDIALS' own test keeps the rate of earlier solves: after an easy solve it accepts the
 * first iterate, although the matrix belongs to another step, and errors of 1e4 times the tolerance
 * pass its error control. */
typedef struct soai_newton {
    SUNNonlinearSolver solver;
    double before; /* size of the last correction */
} soai_newton;
soai_newton *soai_newton_open(N_Vector like, SUNContext context); /* NULL: no memory */
void soai_newton_close(soai_newton *newton);
/* Call after the solver was attached to the integrator, which sets its own test. Returns 0 or the
 * solver's flag. */
int soai_newton_judge(soai_newton *newton);

typedef struct soai_stepper {
    SUNContext context;
    N_Vector y;
    void *ark;
    double *data, *before; /* numbers of y; of y at t_before, the last good state */
    /* Numbers in y; which events were found, as from ARKStepGetRootInfo. */
    int size, *found;
    double t, t_before;
    int watching; /* zero while an interval is integrated again: no events */
    soai_integration_fault fault;
} soai_stepper;

/* Functions that the integrator calls, and its settings. */
typedef struct soai_step_plan {
    ARKRhsFn rate;
    ARKPostProcessFn after; /* called after each step; or NULL */
    ARKEwtFn weights;       /* NULL: use the tolerances below */
    ARKRootFn watch;        /* computes `events` functions */
    int events, order;
    double relative, absolute, max_step; /* max_step 0: no limit */
} soai_step_plan;

/* Opens a stepper with y of `size` zeros. */
soa_status soai_stepper_open(soai_stepper *s, int size);
void soai_stepper_close(soai_stepper *s, long *rejected);
/* Starts at s->t; `user` is passed to the functions. These return ARKODE's flags. */
int soai_stepper_start(soai_stepper *s, const soai_step_plan *plan, void *user);
/* soai_stepper_mark stores the state; soai_stepper_step takes one step, not beyond `end`. */
void soai_stepper_mark(soai_stepper *s);
int soai_stepper_step(soai_stepper *s, double end);
/* soai_stepper_back restores the stored state; soai_stepper_again integrates from there to `end`
 * without events. */
int soai_stepper_back(soai_stepper *s);
int soai_stepper_again(soai_stepper *s, double end);
/* Reason of a failure: the caller's status, else that of the last evaluation, else ARKODE's flag;
 * SOA_OK if there is none. soai_stepper_explain reports it, with time and link. */
soa_status soai_stepper_reason(const soai_stepper *s, soa_status status, int flag);
soa_status soai_stepper_explain(const soai_stepper *s, const soa_model *model, soa_status status,
                                int flag, soa_report *report);

/* Check the input that all simulations have in common. */
soa_status soai_check_span(double start, double duration, double sample_time, soa_report *report);
soa_status soai_check_steps(double relative, double absolute, int order, double max_step,
                            soa_report *report);

/* Time of a monotonic clock. */
double soai_seconds(void);

#endif
