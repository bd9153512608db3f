/* verdict.c  decides whether the object of `success` is held, and explains why in words.
 *
 * Fingers and the force band are judged if the scenario has them. Errors of the object are judged
 * if a law gave it a goal, if their bounds are given, or if there is nothing else to judge. Each
 * bound that is not met gives a reason; without any reason the object is held. */
#include "world_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const double degree = 0.017453292519943295; /* rad */

/* A list of clauses. */
typedef struct clauses {
    char text[sizeof((soa_world_summary *)0)->verdict];
    size_t length;
    int count;
} clauses;

static void add(clauses *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(clauses *c, const char *format, ...) {
    const size_t room = sizeof c->text;
    if (c->count++ && c->length < room)
        c->length += (size_t)snprintf(c->text + c->length, room - c->length, "; ");
    if (c->length >= room) return;
    va_list list;
    va_start(list, format);
    c->length += (size_t)vsnprintf(c->text + c->length, room - c->length, format, list);
    va_end(list);
}

/* Reasons against, and what was found in order. */
typedef struct judge {
    const soa_world *w;
    const soa_world_summary *out;
    clauses reasons, fine;
} judge;

/* Tests whether the run has an end that can be judged. */
static int judge_end(judge *j) {
    const soa_world *w = j->w;
    if (w->failed)
        add(&j->reasons, "the run failed at t = %.4g s", w->state->t);
    else if (w->state->tick < soai_last_tick(w, w->scenario->duration) ||
             !w->state->stats.hold_samples)
        add(&j->reasons, "the run has not reached its end (t = %.4g of %.4g s)", w->state->t,
            w->scenario->duration);
    return !j->reasons.count;
}

static void judge_fingers(judge *j) {
    const soa_world_summary *o = j->out;
    const char *phase = j->w->scenario->success.from_phase;
    if (!o->finger_count) return;
    if (!j->w->state->stats.grasped)
        add(&j->reasons, "its %d fingers never touched all at once%s%s%s", o->finger_count,
            phase ? " in '" : "", phase ? phase : "", phase ? "' or later" : "");
    else if (o->fingers_lost)
        add(&j->reasons, "%d of %d fingers lost", o->fingers_lost, o->finger_count);
    else
        add(&j->fine, "all %d fingers kept", o->finger_count);
    if (o->fingers_slipped)
        add(&j->reasons, "%d of %d fingers slipped, by up to %.3g mm", o->fingers_slipped,
            o->finger_count, 1e3 * o->slip_worst_m);
}

static void judge_force(judge *j) {
    const soa_success *ask = &j->w->scenario->success;
    const soa_world_summary *o = j->out;
    const int fits =
        o->internal_force_least >= ask->force_low && o->internal_force_most <= ask->force_high;
    add(fits ? &j->fine : &j->reasons, "internal force %.3g to %.3g N (%.3g to %.3g asked)",
        o->internal_force_least, o->internal_force_most, ask->force_low, ask->force_high);
}

/* Judges one error of the object, in the unit shown. */
static void judge_error(judge *j, double error, double bound, const char *unit) {
    const char *how = j->out->has_goal ? "off its goal" : "moved";
    add(error <= bound ? &j->fine : &j->reasons, "%s by %.3g %s (%.3g allowed)", how, error, unit,
        bound);
}

static void judge_errors(judge *j, int both) {
    const soa_success *ask = &j->w->scenario->success;
    const soa_world_summary *o = j->out;
    const int asked = both ? SOA_ASK_POSITION | SOA_ASK_ATTITUDE : ask->errors_asked;
    /* There is no error yet: it counts only from a certain phase on. */
    if (!isfinite(o->position_error_m)) {
        if (asked)
            add(&j->reasons, "phase '%.60s' has not begun", ask->from_phase ? ask->from_phase : "");
        return;
    }
    if (asked & SOA_ASK_POSITION)
        judge_error(j, 1e3 * o->position_error_m, 1e3 * ask->position_error, "mm");
    if (asked & SOA_ASK_ATTITUDE)
        judge_error(j, o->attitude_error_deg, ask->attitude_error / degree, "deg");
    if (!asked)
        add(&j->fine,
            "it moved by %.3g mm and %.3g deg, which is not judged: no law gave it a goal",
            1e3 * o->position_error_m, o->attitude_error_deg);
}

void soai_judge(const soa_world *w, soa_world_summary *out) {
    const soa_success *ask = &w->scenario->success;
    judge j = {.w = w, .out = out};
    const int band = ask->force_low > 0 || ask->force_high < HUGE_VAL;
    out->has_goal = soai_controller_gave_goal(w);
    if (judge_end(&j)) {
        judge_fingers(&j);
        judge_errors(&j, out->has_goal || (!ask->errors_asked && !band && !out->finger_count));
        if (band) judge_force(&j);
    }
    out->held = !j.reasons.count;
    snprintf(out->verdict, sizeof out->verdict, "%s", out->held ? j.fine.text : j.reasons.text);
}
