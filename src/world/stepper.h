/* stepper.h  explicit steps with error control and events, for the machines of drop.c, closed_simulate.c and
 * grasp_simulate.c: ARKODE's, opened, started, taken again, explained and closed.
 *
 * An event is a function that falls through zero.  ARKODE sees it on its interpolant; the caller then goes back to the
 * state before the step and takes the stretch up to the event again (soai_stepper_again), so that no interpolated state
 * enters a motion.                                                                                                    */
#ifndef SOAI_STEPPER_H
#define SOAI_STEPPER_H
#include "soa/world.h"

#include <stdio.h> /* the next one needs FILE */

#include <arkode/arkode_arkstep.h>
#include <sundials/sundials_nonlinearsolver.h>

/* The Runge-Kutta pairs of each order offered.  Each was chosen for an error estimate that is honest in two cases:
 *     an oscillator   after 20 periods its error is a fixed multiple of the tolerance, at most 50, at any tolerance
 *     a jump          of the rates anywhere within the step is seen: what it leaves is at most 170 times the estimate
 * Both follow from the tables (tests/world/test_oscillators.c).  Fehlberg's pair of orders 7 and 8, for one, sees no jump at all:
 * its estimate compares stages at the ends of the step alone; methods without a stage at its start miss those just after it.
 * These return ARKODE's flags; ARK_ILL_INPUT: no such order. */
int soai_has_explicit(int order);
int soai_use_explicit(void *ark, int order);
int soai_use_implicit(void *ark, int order);

/* SUNDIALS takes the root mean square of the errors over all numbers of y, most of which may be at rest.  A vector (and
 * its clones) measured so takes the largest: every coordinate is within its own tolerance. */
void soai_measure_worst(N_Vector y);
/* Tolerances of one step are those asked for over this number.  Over many periods of an oscillator the errors of steps
 * add up; the pairs differ in how much of the estimate that is, and explicit order 3 needs a quarter of the tolerance to
 * stay within 100 times the tolerance after 20 periods.  0: another method. */
double soai_sharpness(int explicit_order);
enum { SOAI_MOST_TRIES = 60 }; /* of one step, each at most 0.3 times as long: from any step down to rounding */

/* Newton's iteration for implicit steps, which judges its convergence by what it saw in the same solve.  SUNDIALS keeps the
 * rate of earlier solves: after an easy one it takes a first iterate for the solution, though the matrix is of another
 * step, and errors of 1e4 times the tolerance pass its error control. */
typedef struct soai_newton {
    SUNNonlinearSolver solver;
    double before; /* size of the last correction */
} soai_newton;
soai_newton *soai_newton_open(N_Vector like, SUNContext context); /* NULL: no memory */
void soai_newton_close(soai_newton *newton);
/* After the integrator took the solver, which sets a separate test: 0, or the solver's flag. */
int soai_newton_judge(soai_newton *newton);

typedef struct soai_stepper {
    SUNContext context;
    N_Vector y;
    void *ark;
    double *data, *before; /* of y; of y at t_before, the last good state */
    int size, *found;      /* numbers in y; which events were found, as ARKStepGetRootInfo says */
    double t, t_before;
    int watching;      /* zero while a stretch is taken again: no events */
    soa_status status; /* of the last evaluation that the integrator asked for */
    int body;          /* at fault, or -1 */
    char message[160]; /* ARKODE's */
} soai_stepper;

/* What the integrator calls, and how it is to go. */
typedef struct soai_step_plan {
    ARKRhsFn rate;
    ARKPostProcessFn after; /* each step; or NULL */
    ARKEwtFn weights;       /* NULL: the tolerances as they are */
    ARKRootFn watch;        /* `events` functions */
    int events, order;
    double relative, absolute, max_step; /* max_step 0: none */
} soai_step_plan;

/* y of `size` zeros. */
soa_status soai_stepper_open(soai_stepper *s, int size);
void soai_stepper_close(soai_stepper *s, long *rejected);
/* From s->t; `user` goes to the functions.  These return ARKODE's flags. */
int soai_stepper_start(soai_stepper *s, const soai_step_plan *plan, void *user);
/* One step, not beyond `end`; mark remembers the state before it. */
void soai_stepper_mark(soai_stepper *s);
int soai_stepper_step(soai_stepper *s, double end);
/* Back to the state remembered; from there to `end` without events. */
int soai_stepper_back(soai_stepper *s);
int soai_stepper_again(soai_stepper *s, double end);
/* The reason of a failure: a status of the caller's, else that of the last evaluation, else ARKODE's flag; SOA_OK if
 * there is none.  explain reports it, with time and link. */
soa_status soai_stepper_reason(const soai_stepper *s, soa_status status, int flag);
soa_status soai_stepper_explain(const soai_stepper *s, const soa_model *model, soa_status status, int flag,
                                soa_report *report);

/* Whether numbers that all simulations ask for are fit for use. */
soa_status soai_check_span(double start, double duration, double sample_time, soa_report *report);
soa_status soai_check_steps(double relative, double absolute, int order, double max_step, soa_report *report);

/* Of a clock that only goes forward. */
double soai_seconds(void);

#endif
