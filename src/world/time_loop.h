/* time_loop.h  the loop in time of soa_simulate, soa_closed_simulate and soa_grasp_simulate.
 *
 * A simulation is this loop with a mechanism: a table of functions that know the equations of
 * motion, the events and the samples. The mechanisms are trees with stick-slip (drop.c), machines
 * with loops (closed_simulate.c), and arms that hold an object (grasp_simulate.c).
 *
 * state    y = [q, v, supplied, dissipated ...]. The energies are integrated with the motion, so
 *          the balance is as accurate as the motion.
 * step     By ARKODE (stepper.h), one at a time, never beyond the next sample or change.
 * event    A function of the mechanism falls through zero. ARKODE's root finder finds it on its
 *          interpolant. The step is then integrated again to end at the event, and the mechanism
 *          refines the time. So no interpolated state enters the motion.
 * crowd    Events that follow each other without progress in time end the simulation.
 * change   at a time known before, for example a contact that closes; a step ends there.
 * balance  kinetic + potential + dissipated - supplied, minus its value at the start.
 *
 * Worlds (motion.c) have another loop: docs/decisions/time-loop.md says why. */
#ifndef SOAI_TIME_LOOP_H
#define SOAI_TIME_LOOP_H
#include "stepper.h"

/* Options that all simulations have in common. */
typedef struct soai_loop_settings {
    double start, duration, sample_time; /* s; sample_time 0: every step is shown */
    double relative, absolute, max_step; /* max_step 0: no limit */
    int order;
    long max_steps;
    soa_sim_torque_fn *torque;
    void *torque_user;
} soai_loop_settings;

/* All in J. The worst balance and the scale are the largest values so far. */
typedef struct soai_energies {
    double kinetic_start, potential_start, kinetic, potential;
    double supplied, dissipated;
    double balance, balance_worst, energy_scale;
} soai_energies;

/* Copies the energies to a result of world.h. The three types of results have these fields in
 * common; `dissipated` is not among them, because soa_sim_result keeps its two parts. */
#define SOAI_RECORD_ENERGIES(result, energies)                   \
    do {                                                         \
        (result)->kinetic_start = (energies)->kinetic_start;     \
        (result)->potential_start = (energies)->potential_start; \
        (result)->kinetic = (energies)->kinetic;                 \
        (result)->potential = (energies)->potential;             \
        (result)->supplied = (energies)->supplied;               \
        (result)->balance = (energies)->balance;                 \
        (result)->balance_worst = (energies)->balance_worst;     \
        (result)->energy_scale = (energies)->energy_scale;       \
    } while (0)

/* The functions of a mechanism. `user` is the mechanism's state. A function with a report reports
 * its own failures; the loop reports those of the others. */
typedef struct soai_mechanism {
    int losses;         /* energies in y that count as dissipated; at least 1 */
    int energy_by_step; /* 1: energies are measured after every step; 0: only at samples */

    /* --- the start --- */
    /* Sets the number of event functions; may correct the state. */
    soa_status (*prepare)(void *user, soa_report *report);
    /* Decides what sticks or holds. The first energies have been measured. */
    soa_status (*begin)(void *user);

    /* --- motion --- */
    /* Computes l->q, l->applied and l->qdd at (t, y). */
    soa_status (*accelerate)(void *user, double t, const double *y);
    /* Adds supplied and dissipated power, which are 0 before. NULL: soai_loop_joint_power. */
    soa_status (*power)(void *user, const double *v, double *power);
    /* Nonzero if a step that failed with this status may succeed when it is shorter. */
    int (*shorter_helps)(soa_status status);
    /* At l->q and the rates of the state. NULL: energies of the tree. */
    soa_status (*energy)(void *user, double *kinetic, double *potential);

    /* --- steps --- */
    /* Takes one step, not beyond `end`. NULL: soai_stepper_step. */
    soa_status (*step)(void *user, double end, int *flag, soa_report *report);
    /* Corrects y after a step. NULL: nothing to correct. */
    soa_status (*after_step)(void *user, double t, double *y);
    /* Computes 1 / (allowed error) of each number of y. NULL: from the tolerances. */
    void (*weights)(void *user, const double *y, double *w);

    /* --- events --- */
    /* Computes the event functions, which are 1 before the call and positive until the event. */
    soa_status (*watch)(void *user, double t, const double *y, double *g);
    /* Number of an event in the last step that the root finder missed, or -1. *when is the start of
     * the step and may be improved. NULL: none is missed. */
    int (*overdue)(void *user, double *when);
    /* Improves the time of the event found. The step was integrated up to *when. */
    soa_status (*refine)(void *user, int round, double *when);
    /* Changes what sticks or holds, at the event. */
    soa_status (*react)(void *user);
    /* Reports events without progress in time. */
    soa_status (*crowded)(void *user, int event, soa_report *report);
    /* Makes the changes that are due, and finds the time of the next one. NULL: no changes. */
    soa_status (*change)(void *user, double *next, soa_report *report);

    /* --- results --- */
    /* Copies energies and time to the result. */
    void (*record)(void *user);
    /* Refuses a motion that has gone wrong. NULL: none is refused. */
    soa_status (*check)(void *user, soa_report *report);
    /* Calls the user's function with a sample. */
    soa_status (*show)(void *user);
    /* Reports a failure. NULL: soai_stepper_explain. */
    soa_status (*explain)(void *user, soa_status status, int flag, soa_report *report);
} soai_mechanism;

typedef struct soai_time_loop {
    const soai_mechanism *mechanism;
    void *user;
    const soa_model *model;
    soa_work *work;
    soai_loop_settings settings;
    int nq, nv;
    /* nv numbers each; q: nq numbers, at the state of the last evaluation. */
    double *q, *qdd, *applied, *damping;
    double *numbers; /* memory of these arrays */

    soai_stepper step; /* y as above */
    int events;        /* number of event functions; set by prepare */
    soai_energies energy;
    long steps; /* accepted, without those integrated again up to an event */
    int stop;   /* set to end the simulation here, without an error */
    double last_event, opened;
    int crowd;
} soai_time_loop;

soa_status soai_loop_check(const soai_loop_settings *settings, soa_report *report);
soa_status soai_loop_open(soai_time_loop *l, const soai_mechanism *mechanism, void *user,
                          const soa_model *model, const soai_loop_settings *settings);
/* The whole motion from (q, v), v NULL: at rest. The last state is in l->step.data. */
soa_status soai_loop_run(soai_time_loop *l, const double *q, const double *v, soa_report *report);
void soai_loop_close(soai_time_loop *l, long *rejected, double *wall_time);

/* For mechanisms: l->q from y, normalised, and the user's torques there in l->applied. */
soa_status soai_loop_look(soai_time_loop *l, double t, const double *y);
/* Adds the power of applied torques to power[0], and of viscous friction to power[1]. */
void soai_loop_joint_power(const soai_time_loop *l, const double *v, double *power);
soa_status soai_loop_explain(soai_time_loop *l, soa_status status, int flag, soa_report *report);

#endif
