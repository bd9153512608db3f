/* check_scenario.c  checks a scenario before a world is made from it, and computes a number that
 * identifies the scenario.
 *
 * The reader of scenario files has made the same checks; here they are made for scenarios filled in
 * C. The number is FNV-1a over names and numbers of the model, shapes, contacts, laws and settings,
 * and over the library's version. Every saved state contains it. A state is refused if it belongs
 * to another scenario, to a model file that has changed since, or to another version. */
#include "../base/nearest.h"
#include "world_internal.h"

#include <math.h>
#include <stdio.h>

/* --- ranges ----------------------------------------------------------------------------------- */
static int finite(double x) {
    return fabs(x) < INFINITY;
}
static soa_status check_number(const soa_scenario *sc, soa_mark mark, const char *of,
                               const char *what, double x, int positive, soa_report *report) {
    if (finite(x) && (positive ? x > 0 : x >= 0)) return SOA_OK;
    return soai_scenario_fault(sc, mark, finite(x) ? SOA_E_ARGUMENT : SOA_E_NOT_FINITE, report,
                               "%s: %s must be %s, not %g", of, what, positive ? "> 0" : ">= 0", x);
}

static soa_status check_contact(const soa_scenario *sc, const soa_contact_pair *c,
                                soa_report *report) {
    char of[160];
    if (!c->group1 || !c->group2)
        return soai_scenario_fault(sc, c->mark, SOA_E_ARGUMENT, report,
                                   "a contact names no shapes");
    snprintf(of, sizeof of, "contact of '%.60s' and '%.60s'", c->group1, c->group2);
    if ((int)c->law < 0 || c->law > SOA_CONTACT_LINEAR)
        return soai_scenario_fault(sc, c->mark, SOA_E_ARGUMENT, report, "%s: there is no such law",
                                   of);
    const struct {
        const char *what;
        double x;
        int positive;
    } list[] = {{"margin", c->margin, 1},
                {"stiffness", c->stiffness, 1},
                {"damping", c->damping, 0},
                {"friction", c->friction, 0},
                {"tangential_stiffness", c->friction > 0 ? c->tangential_stiffness : 1, 1},
                {"tangential_damping", c->tangential_damping, 0},
                {"least_distance", c->law == SOA_CONTACT_SAFE ? c->least_distance : 1, 1},
                {"exponent", c->law == SOA_CONTACT_HUNT_CROSSLEY ? c->exponent : 1, 1},
                {"loss", c->law == SOA_CONTACT_HUNT_CROSSLEY ? c->loss : 0, 0}};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        const soa_status s =
            check_number(sc, c->mark, of, list[k].what, list[k].x, list[k].positive, report);
        if (s) return s;
    }
    if (c->law == SOA_CONTACT_SAFE && !(c->least_distance <= c->margin))
        return soai_scenario_fault(sc, c->mark, SOA_E_ARGUMENT, report,
                                   "%s: least_distance %g is above margin %g", of,
                                   c->least_distance, c->margin);
    return SOA_OK;
}

static soa_status check_part(const soa_scenario *sc, const soa_part *p, soa_report *report) {
    char of[100];
    snprintf(of, sizeof of, "part '%.60s'", p->name ? p->name : "");
    if (!p->name || !p->name[0])
        return soai_scenario_fault(sc, p->mark, SOA_E_NAME, report, "a part has no name");
    if (p->position_count < 0 || p->rate_count < 0 || p->frame_count < 0 || p->motor_count < 0)
        return soai_scenario_fault(sc, p->mark, SOA_E_ARGUMENT, report, "%s: a count is negative",
                                   of);
    const double at_least_zero[] = {p->damping_scale, p->friction_scale, p->rotor_scale, p->effort};
    static const char *const names[] = {"damping_scale", "friction_scale", "rotor_scale", "effort"};
    soa_status s = check_number(sc, p->mark, of, "mass_scale", p->mass_scale, 1, report);
    if (!s) s = check_number(sc, p->mark, of, "inertia_scale", p->inertia_scale, 1, report);
    for (int k = 0; !s && k < 4; ++k)
        s = check_number(sc, p->mark, of, names[k], at_least_zero[k], 0, report);
    if (!s && p->stop_stiffness != SOA_STOP_DERIVED)
        s = check_number(sc, p->mark, of, "stop_stiffness", p->stop_stiffness, 1, report);
    if (!s && p->stop_damping != SOA_STOP_DERIVED)
        s = check_number(sc, p->mark, of, "stop_damping", p->stop_damping, 0, report);
    if (!s && ((int)p->collisions < 0 || p->collisions > SOA_COLLISIONS_SELF))
        s = soai_scenario_fault(sc, p->mark, SOA_E_ARGUMENT, report,
                                "%s: there is no such choice of collisions", of);
    if (!s && !p->model && !p->fixed) s = check_number(sc, p->mark, of, "mass", p->mass, 1, report);
    double sum = 0; /* not finite if one of them is not */
    for (int k = 0; k < 9; ++k)
        sum += 0 * p->place.R[k];
    for (int k = 0; k < 3; ++k)
        sum += 0 * p->place.p[k] + 0 * p->com[k];
    for (int k = 0; k < 6; ++k)
        sum += 0 * p->twist[k] + 0 * p->inertia[k];
    if (!s && !(sum == 0))
        s = soai_scenario_fault(sc, p->mark, SOA_E_NOT_FINITE, report,
                                "%s: place, twist, com or inertia is not finite", of);
    return s;
}

static soa_status check_action(const soa_scenario *sc, const soa_phase *p, const soa_action *a,
                               soa_report *report) {
    char of[160];
    snprintf(of, sizeof of, "phase '%.60s', action '%.60s'", p->name, a->name ? a->name : "");
    if ((int)a->kind < 0 || a->kind >= SOA_ACT_KIND_COUNT)
        return soai_scenario_fault(sc, a->mark, SOA_E_ARGUMENT, report, "%s: there is no such law",
                                   of);
    const double list[] = {a->time,
                           a->stiffness[0],
                           a->stiffness[1],
                           a->damping[0],
                           a->damping[1],
                           a->force_gain[0],
                           a->force_gain[1],
                           a->max_force,
                           a->max_torque,
                           a->squeeze,
                           a->share,
                           a->follow_stiffness[0],
                           a->follow_stiffness[1],
                           a->follow_damping[0],
                           a->follow_damping[1]};
    static const char *const names[] = {
        "time",       "stiffness",        "stiffness",        "damping",        "damping",
        "force_gain", "force_gain",       "max_force",        "max_torque",     "squeeze",
        "share",      "follow_stiffness", "follow_stiffness", "follow_damping", "follow_damping"};
    soa_status s = SOA_OK;
    if (a->frame_count < 0 || (a->frame_count && a->kind != SOA_ACT_EXTERNAL))
        return soai_scenario_fault(sc, a->mark, SOA_E_ARGUMENT, report,
                                   "%s: has %d frames for wrist sensors; only SOA_ACT_EXTERNAL has "
                                   "some",
                                   of, a->frame_count);
    for (size_t k = 0; !s && k < sizeof list / sizeof *list; ++k)
        s = check_number(sc, a->mark, of, names[k], list[k], 0, report);
    double sum = 0;
    for (int k = 0; k < 9; ++k)
        sum += 0 * a->goal.R[k];
    for (int k = 0; k < 3; ++k)
        sum += 0 * a->goal.p[k];
    for (int k = 0; k < 6; ++k)
        sum += 0 * a->force[k];
    for (int k = 0; k < a->position_count; ++k)
        sum += 0 * a->positions[k].value;
    if (!s && !(sum == 0))
        s = soai_scenario_fault(sc, a->mark, SOA_E_NOT_FINITE, report,
                                "%s: goal or force is not finite", of);
    return s;
}

soa_status soai_scenario_check(const soa_scenario *sc, soa_report *report) {
    const soa_mark none = {0};
    const soa_scene_control *c = &sc->control;
    const soa_sensor_set *x = &c->sensors;
    const soa_integration *o = &sc->integration;
    const int by_controller = c->phase_count > 0 || c->external;
    soa_status s = SOA_OK;
    if (sc->part_count < 0 || sc->shape_count < 0 || sc->contact_count < 0 ||
        sc->constraint_count < 0 || sc->disturbance_count < 0 || c->phase_count < 0 ||
        sc->estimator.wrench_count < 0)
        return soai_scenario_fault(sc, none, SOA_E_ARGUMENT, report, "a count is negative");
    if (c->external && c->phase_count && !soa_scenario_find_external(sc, NULL, NULL))
        return soai_scenario_fault(
            sc, none, SOA_E_ARGUMENT, report,
            "a controller of the program was given, but no phase of control has an action that "
            "takes its torques; add {law: external, part: PART} to the actions of the phase in "
            "which it is to act (in place of the laws that moved these joints), or leave out "
            "control.phases");
    const struct {
        const char *of, *what;
        double x;
        int positive;
    } list[] = {{"scenario", "duration", sc->duration, 1},
                {"control", "rate", by_controller ? c->rate : 1, 1},
                {"recording", "rate", by_controller ? 1 : sc->recording.rate, 1},
                {"recording", "rate", sc->recording.rate, 0},
                {"recording", "checkpoint", sc->recording.checkpoint, 0},
                {"integration", "relative_tolerance", o->relative_tolerance, 1},
                {"integration", "absolute_tolerance", o->absolute_tolerance, 1},
                {"integration", "step", o->step, o->method == SOA_INTEGRATE_FIXED},
                {"integration", "max_joint_step", o->max_joint_step, 0},
                {"sensors", "position_noise", x->position_noise, 0},
                {"sensors", "rate_noise", x->rate_noise, 0},
                {"sensors", "pose_noise", x->pose_noise[0], 0},
                {"sensors", "pose_noise", x->pose_noise[1], 0},
                {"sensors", "twist_noise", x->twist_noise[0], 0},
                {"sensors", "twist_noise", x->twist_noise[1], 0},
                {"sensors", "force_noise", x->force_noise, 0},
                {"sensors", "torque_noise", x->torque_noise, 0},
                {"sensors", "imu_noise", x->imu_noise[0], 0},
                {"sensors", "imu_noise", x->imu_noise[1], 0},
                {"sensors", "delay", x->delay, 0},
                {"estimator", "joint_torque_noise", sc->estimator.joint_torque_noise,
                 sc->estimator.wrench_count > 0},
                {"estimator", "acceleration_noise", sc->estimator.acceleration_noise, 0},
                {"estimate", "mass", c->mass_estimate, 1},
                {"estimate", "inertia", c->inertia_estimate, 1},
                {"estimate", "damping", c->damping_estimate, 0}};
    for (size_t k = 0; !s && k < sizeof list / sizeof *list; ++k)
        s = check_number(sc, none, list[k].of, list[k].what, list[k].x, list[k].positive, report);
    const double rate = by_controller ? c->rate : sc->recording.rate;
    if (!s && !(rate <= 1e9))
        s = soai_scenario_fault(sc, none, SOA_E_ARGUMENT, report,
                                "a rate of %g Hz is beyond 1e9 Hz", rate);
    if (!s && !(sc->duration * rate < 9007199254740992.0))
        s = soai_scenario_fault(sc, none, SOA_E_ARGUMENT, report,
                                "a duration of %g s is too long: more than 2^53 ticks of %g s",
                                sc->duration, 1 / rate);
    if (!s && sc->has_gravity &&
        !(finite(sc->gravity[0]) && finite(sc->gravity[1]) && finite(sc->gravity[2])))
        s = soai_scenario_fault(sc, none, SOA_E_NOT_FINITE, report, "gravity is not finite");
    for (int i = 0; !s && i < sc->part_count; ++i)
        s = check_part(sc, &sc->parts[i], report);
    for (int i = 0; !s && i < sc->contact_count; ++i)
        s = check_contact(sc, &sc->contacts[i], report);
    for (int i = 0; !s && i < sc->shape_count; ++i)
        if (!sc->shapes[i].name || !sc->shapes[i].frame)
            s = soai_scenario_fault(sc, sc->shapes[i].mark, SOA_E_ARGUMENT, report,
                                    "a shape has no name or sits on no frame");
    for (int i = 0; !s && i < sc->estimator.wrench_count; ++i) {
        const soa_scene_wrench_prior *p = &sc->estimator.wrenches[i];
        if (!p->frame || !(p->force >= 0) || !(p->torque >= 0) || !finite(p->force) ||
            !finite(p->torque))
            s = soai_scenario_fault(sc, p->mark, SOA_E_ARGUMENT, report,
                                    "a wrench of the estimator has no frame, or a standard "
                                    "deviation that is negative or not finite");
    }
    for (int i = 0; !s && i < sc->disturbance_count; ++i) {
        const soa_disturbance *d = &sc->disturbances[i];
        double sum = 0;
        for (int k = 0; k < 6; ++k)
            sum += 0 * d->wrench[k];
        if (!d->frame || !(sum == 0) || !finite(d->start) || !finite(d->duration))
            s = soai_scenario_fault(sc, d->mark, SOA_E_NOT_FINITE, report,
                                    "a disturbance has no frame or is not finite");
    }
    for (int p = 0; !s && p < c->phase_count; ++p) {
        if (!c->phases[p].name)
            return soai_scenario_fault(sc, c->phases[p].mark, SOA_E_NAME, report,
                                       "a phase has no name");
        s = check_number(sc, c->phases[p].mark, c->phases[p].name, "blend", c->phases[p].blend, 0,
                         report);
        for (int a = 0; !s && a < c->phases[p].action_count; ++a)
            s = check_action(sc, &c->phases[p], &c->phases[p].actions[a], report);
    }
    return s;
}

/* --- the number that identifies a scenario ---------------------------------------------------- */
static void add_bytes(uint64_t *h, const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size; ++i)
        *h = (*h ^ p[i]) * 1099511628211u;
}
static void add_text(uint64_t *h, const char *text) {
    add_bytes(h, text ? text : "", text ? strlen(text) + 1 : 1);
}
static void add_doubles(uint64_t *h, const double *x, size_t n) {
    add_bytes(h, x, n * sizeof *x);
}
static void add_int(uint64_t *h, int64_t x) {
    add_bytes(h, &x, sizeof x);
}

static void add_choices(uint64_t *h, const soa_joint_choice *list, int count) {
    add_int(h, count);
    for (int k = 0; k < count; ++k)
        add_text(h, list[k].name);
}

static void add_frame(uint64_t *h, const soa_frame *f) {
    add_doubles(h, f->R, 9);
    add_doubles(h, f->p, 3);
}

static void add_model(uint64_t *h, const soa_world *w) {
    double g[3];
    soa_model_gravity(w->model, g);
    add_doubles(h, g, 3);
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info i;
        soa_model_body(w->model, b, &i);
        add_text(h, i.link);
        add_text(h, i.joint);
        add_int(h, i.type);
        add_int(h, i.parent);
        const double numbers[] = {
            i.mass,  i.damping, i.friction_positive, i.friction_negative, i.stiffness,  i.rest,
            i.lower, i.upper,   i.max_effort,        i.rotor_inertia,     i.gear_ratio, i.pitch};
        add_doubles(h, numbers, sizeof numbers / sizeof *numbers);
        add_doubles(h, i.com, 3);
        add_doubles(h, i.inertia, 6);
        add_doubles(h, i.axis, 3);
        add_frame(h, &i.placement);
    }
}
static void add_parts(uint64_t *h, const soa_world *w) {
    const soa_scenario *sc = w->scenario;
    for (int p = 0; p < sc->part_count; ++p) {
        add_doubles(h, sc->parts[p].twist, 6);
        add_frame(h, &sc->parts[p].place);
        add_int(h, sc->parts[p].has_motors);
        add_choices(h, sc->parts[p].motors, sc->parts[p].motor_count);
        add_int(h, sc->parts[p].collisions);
    }
    add_doubles(h, w->lower, (size_t)w->nv);
    add_doubles(h, w->upper, (size_t)w->nv);
    add_doubles(h, w->stop_k, (size_t)w->nv);
    add_doubles(h, w->stop_c, (size_t)w->nv);
}
/* Shapes, which of them can touch, and how. */
static void add_contacts(uint64_t *h, const soa_world *w) {
    for (int k = 0; k < w->solid_count; ++k) {
        const soai_solid *s = &w->solids[k];
        add_text(h, s->name);
        add_text(h, s->group);
        add_int(h, s->frame);
        add_int(h, s->shape.type);
        add_doubles(h, s->shape.half, 3);
        add_doubles(h, &s->shape.radius, 1);
        add_int(h, s->shape.vertex_count);
        if (s->shape.type == SOA_SHAPE_POLYTOPE)
            add_doubles(h, s->shape.vertices, 3 * (size_t)s->shape.vertex_count);
        add_frame(h, &s->place);
    }
    for (int k = 0; k < w->meeting_count; ++k) {
        add_int(h, w->meetings[k].a);
        add_int(h, w->meetings[k].b);
        add_int(h, w->meetings[k].law);
    }
    for (int k = 0; k < w->law_count; ++k) {
        const soa_contact_pair *c = &w->laws[k];
        const double numbers[] = {c->margin,
                                  c->least_distance,
                                  c->stiffness,
                                  c->damping,
                                  c->exponent,
                                  c->loss,
                                  c->friction,
                                  c->tangential_stiffness,
                                  c->tangential_damping};
        add_text(h, c->group1);
        add_text(h, c->group2);
        add_int(h, c->law);
        add_int(h, c->patch);
        add_doubles(h, numbers, sizeof numbers / sizeof *numbers);
    }
}
static void add_disturbances(uint64_t *h, const soa_world *w) {
    for (int k = 0; k < w->scenario->disturbance_count; ++k) {
        const soa_disturbance *d = &w->scenario->disturbances[k];
        const double numbers[] = {d->start, d->duration};
        add_doubles(h, numbers, 2);
        add_doubles(h, d->wrench, 6);
        add_int(h, w->disturbed[k]);
    }
}
static void add_estimator(uint64_t *h, const soa_world *w) {
    const soa_scene_estimator *e = &w->scenario->estimator;
    const double noise[] = {e->joint_torque_noise, e->acceleration_noise};
    if (!e->wrench_count) return;
    add_doubles(h, noise, 2);
    for (int k = 0; k < e->wrench_count; ++k) {
        const double size[] = {e->wrenches[k].force, e->wrenches[k].torque};
        add_text(h, e->wrenches[k].frame);
        add_doubles(h, size, 2);
    }
}
static void add_loops(uint64_t *h, const soa_world *w) {
    for (int k = 0; k < w->loop_count; ++k) {
        soa_constraint_def c;
        if (soa_constraints_get_def(w->constraints, k, &c)) continue;
        const double numbers[] = {c.pitch, c.damping,       c.value,     c.stiffness,
                                  c.rest,  c.rotor_inertia, c.gear_ratio};
        add_text(h, c.name);
        add_int(h, c.kind);
        add_int(h, c.joint);
        add_int(h, c.frame1);
        add_int(h, c.frame2);
        add_doubles(h, numbers, sizeof numbers / sizeof *numbers);
        add_doubles(h, c.axis, 3);
        add_doubles(h, c.axis2, 3);
        add_doubles(h, c.coefficient, SOA_RATIO_TERMS);
        add_int(h, c.row_count);
        add_doubles(h, &c.rows[0][0], 36);
        add_frame(h, &c.place1);
        add_frame(h, &c.place2);
    }
    for (int k = 0; k < w->cut_count; ++k)
        add_doubles(h, &w->cuts[k].friction, 1);
}
static void add_springs(uint64_t *h, const soa_world *w) {
    for (int k = 0; k < w->spring_count; ++k) {
        const soai_spring *spring = &w->springs[k];
        const double numbers[] = {spring->def->stiffness, spring->def->damping, spring->rest};
        add_text(h, spring->def->name);
        add_int(h, spring->frame[0]);
        add_int(h, spring->frame[1]);
        add_doubles(h, &spring->def->place[0][0], 6);
        add_doubles(h, numbers, 3);
    }
}
static void add_integration(uint64_t *h, const soa_integration *o) {
    const double steps[] = {o->relative_tolerance, o->absolute_tolerance, o->step,
                            o->max_joint_step};
    add_int(h, o->method);
    add_int(h, o->order);
    add_int(h, o->keep_momentum);
    add_doubles(h, steps, 4);
}
static void add_action(uint64_t *h, const soa_action *act) {
    const double numbers[] = {act->time,          act->stiffness[0], act->stiffness[1],
                              act->damping[0],    act->damping[1],   act->force_gain[0],
                              act->force_gain[1], act->max_force,    act->max_torque,
                              act->squeeze,       act->share};
    add_choices(h, act->joints, act->joint_count);
    add_int(h, act->kind);
    add_text(h, act->part);
    add_text(h, act->frame);
    add_text(h, act->relative_to);
    add_doubles(h, numbers, sizeof numbers / sizeof *numbers);
    add_doubles(h, act->force, 6);
    for (int k = 0; k < act->frame_count; ++k)
        add_text(h, act->frames[k]);
    add_int(h, act->has_goal);
    add_frame(h, &act->goal);
    for (int k = 0; k < act->position_count; ++k) {
        add_text(h, act->positions[k].name);
        add_doubles(h, &act->positions[k].value, 1);
    }
}
static void add_transition(uint64_t *h, const soa_transition *t) {
    add_text(h, t->to);
    for (int k = 0; k < t->condition_count; ++k) {
        const soa_condition *c = &t->conditions[k];
        add_text(h, c->signal);
        add_int(h, c->compare);
        add_doubles(h, &c->value, 1);
        add_doubles(h, &c->hold, 1);
    }
}
/* Sensors, the controller's model and its phases. */
static void add_control(uint64_t *h, const soa_scene_control *c) {
    const soa_sensor_set *x = &c->sensors;
    const double noise[] = {x->position_noise, x->rate_noise,     x->pose_noise[0],
                            x->pose_noise[1],  x->twist_noise[0], x->twist_noise[1],
                            x->force_noise,    x->torque_noise,   x->imu_noise[0],
                            x->imu_noise[1],   x->delay};
    const double estimate[] = {c->mass_estimate, c->inertia_estimate, c->damping_estimate};
    add_doubles(h, noise, sizeof noise / sizeof *noise);
    add_doubles(h, estimate, 3);
    add_int(h, c->saturate);
    /* With phases the flag changes nothing. */
    add_int(h, c->external && !c->phase_count);
    for (int p = 0; p < c->phase_count; ++p) {
        const soa_phase *phase = &c->phases[p];
        add_text(h, phase->name);
        add_doubles(h, &phase->blend, 1);
        for (int a = 0; a < phase->action_count; ++a)
            add_action(h, &phase->actions[a]);
        for (int t = 0; t < phase->transition_count; ++t)
            add_transition(h, &phase->transitions[t]);
    }
}

uint64_t soai_fingerprint(const soa_world *w) {
    const soa_scenario *sc = w->scenario;
    uint64_t h = 1469598103934665603u;
    add_text(&h, soa_version());
    add_bytes(&h, sc->source ? sc->source : "", sc->source ? sc->source_size : 0);
    add_bytes(&h, &sc->seed, sizeof sc->seed);
    add_int(&h, (int64_t)w->state_size);
    add_doubles(&h, &w->tick_length, 1);
    add_model(&h, w);
    add_parts(&h, w);
    add_contacts(&h, w);
    add_disturbances(&h, w);
    add_estimator(&h, w);
    add_loops(&h, w);
    add_springs(&h, w);
    add_integration(&h, &sc->integration);
    add_control(&h, &sc->control);
    return h;
}

/* --- names ------------------------------------------------------------------------------------ */
const char *soai_coordinate_name(const soa_world *w, int i) {
    static _Thread_local char name[160];
    snprintf(name, sizeof name, "%d", i);
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        if (i < info.v_index || i >= info.v_index + info.nv) continue;
        if (info.nv == 1)
            snprintf(name, sizeof name, "%.120s", info.joint);
        else
            snprintf(name, sizeof name, "%.120s[%d]", info.joint, i - info.v_index);
        break;
    }
    return name;
}
