/* world_constraints.c  constraints of a world: those of the models and those that the scenario
 * adds.
 *
 * opening    Constraints of models first, named "part.name", then the scenario's. Coulomb friction
 *            of cut joints is removed and modelled here like that of other joints: a spring and a
 *            damper within Coulomb's bounds.
 * start      The loops are closed. Coordinates that the scenario gives keep their values if the
 *            others can close the loops alone. If not, all may move, the given ones not farther
 *            than the scenario's assembly_bound.
 * motion     By soa_closed_fd. Stages of a step are off the constraints by about the tolerance,
 *            so redundant rows are not exactly dependent. There the rank is limited to the
 *            largest one found at accepted states.
 * forces     Multipliers at the state reached, as wrenches on the two bodies: for wrist sensors,
 *            the record, and the internal force of an object held by loops. */
#include "sticking_spring.h"
#include "world_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Relative: smaller moves of the assembly are rounding. */
static const double moved_least = 1e-9;
/* Relative: allowed disagreement of redundant rows within a step. */
static const double stage_disagree = 1e-2;

static const double lean_least = 0.02; /* rad: discs that lean less lie flat */
/* Largest move of a following joint in one step, in rad or m ... */
static const double jump_most = 0.05;
/* ... and relative to the move of the leading joints. */
static const double jump_ratio = 20;
/* Steps from the neutral position to the given one. */
enum { LEADING_STEPS = 100 };

/* --- opening ---------------------------------------------------------------------------------- */
static soa_status find_frame(const soa_scenario *sc, const soa_model *model, const char *what,
                             const char *name, soa_mark mark, int *frame, soa_report *report) {
    *frame = !name || !strcmp(name, "world") ? 0 : soa_model_find_frame(model, name);
    if (*frame >= 0) return SOA_OK;
    return soai_scenario_fault(sc, mark, SOA_E_NAME, report,
                               "constraint '%s': there is no frame '%s'%s", what, name,
                               soai_nearest_frame(model, name));
}

/* Converts constraint i of the scenario, with the model's numbers of frames and joints. */
static soa_status scenario_constraint(const soa_scenario *sc, const soa_model *model, int i,
                                      soa_mark mark, soa_constraint_def *def, soa_report *report) {
    const char *what = def->name ? def->name : "";
    for (int side = 0; side < 2; ++side) {
        const char *name = sc->constraint_frames ? sc->constraint_frames[2 * i + side] : NULL;
        int *frame = side ? &def->frame2 : &def->frame1;
        const soa_status s = find_frame(sc, model, what, name, mark, frame, report);
        if (s) return s;
    }
    for (int k = 0; k < SOA_RATIO_TERMS && sc->constraint_joints; ++k) {
        const char *name = sc->constraint_joints[SOA_RATIO_TERMS * i + k];
        if (!name) continue;
        def->coordinate[k] = soa_model_find_joint(model, name);
        if (def->coordinate[k] < 0)
            return soai_scenario_fault(sc, mark, SOA_E_NAME, report,
                                       "constraint '%s': there is no joint '%s'%s", what, name,
                                       soai_nearest_joint(model, name));
    }
    return SOA_OK;
}

static soa_mark mark_of(const soa_scenario *sc, const soa_constraint_list *own, int number) {
    const int i = number - own->count;
    return i >= 0 && sc->constraint_marks ? sc->constraint_marks[i] : (soa_mark){0};
}

soa_status soai_loops_create(const soa_scenario *sc, const soa_model *model,
                             const soa_constraint_list *own, soa_constraints **out,
                             soa_report *report) {
    const int count = own->count + sc->constraint_count;
    int rows = 0;
    *out = NULL;
    if (!count) return SOA_OK;
    for (int i = 0; i < own->count; ++i)
        rows += soa_constraint_def_row_count(&own->defs[i]);
    for (int i = 0; i < sc->constraint_count; ++i)
        rows += soa_constraint_def_row_count(&sc->constraints[i]);
    const soa_constraint_capacity capacity = {count, rows, 1};
    soa_status s = soa_constraints_create(model, &capacity, out);
    if (s == SOA_E_ARGUMENT)
        return soai_scenario_fault(
            sc, (soa_mark){0}, s, report,
            "%d constraints with %d rows on %d coordinates are more than there is room for", count,
            rows, soa_model_nv(model));
    for (int i = 0; !s && i < count; ++i) {
        const soa_mark mark = mark_of(sc, own, i);
        soa_constraint_def def = i < own->count ? own->defs[i] : sc->constraints[i - own->count];
        soa_report inner = {.body = -1};
        if (i >= own->count &&
            (s = scenario_constraint(sc, model, i - own->count, mark, &def, report)))
            break;
        def.friction = 0; /* handled by soai_loops_friction */
        s = soa_constraints_add(*out, &def, NULL, &inner);
        if (s) soai_scenario_fault(sc, mark, s, report, "%s", inner.text);
    }
    if (s) {
        soa_constraints_free(*out);
        *out = NULL;
    }
    return s;
}

/* Friction in the definition of constraint `number`. */
static double friction_of(const soa_world *w, int number) {
    const soa_constraint_list *own = &w->own_loops;
    return number < own->count ? own->defs[number].friction
                               : w->scenario->constraints[number - own->count].friction;
}

soa_status soai_loops_open(soa_world *w, soa_report *report) {
    soa_status s = soai_loops_create(w->scenario, w->model, &w->own_loops, &w->constraints, report);
    if (s || !w->constraints) return s;
    w->loop_count = w->own_loops.count + w->scenario->constraint_count;
    const int rows = soa_constraints_row_count(w->constraints);
    w->loops = calloc((size_t)w->loop_count, sizeof *w->loops);
    w->cuts = calloc(6 * (size_t)w->loop_count, sizeof *w->cuts);
    w->lambda = calloc((size_t)rows + 1, sizeof *w->lambda);
    if (!w->loops || !w->cuts || !w->lambda) return SOA_E_MEMORY;
    for (int i = 0; i < w->loop_count; ++i) {
        soai_loop *loop = &w->loops[i];
        soa_constraint_def def;
        soa_constraints_get_def(w->constraints, i, &def);
        loop->kind = def.kind;
        loop->free = def.kind == SOA_LOOP ? 6 - soa_constraint_def_row_count(&def) : 0;
        loop->turns = def.kind == SOA_LOOP && def.joint != SOA_SPHERICAL && def.joint != SOA_FREE
                          ? loop->free
                          : 0;
        loop->name = soa_constraints_name(w->constraints, i);
        loop->mark = mark_of(w->scenario, &w->own_loops, i);
        for (int side = 0; side < 2 && def.kind != SOA_RATIO; ++side) {
            soa_frame_info info;
            loop->frame[side] = side ? def.frame2 : def.frame1;
            loop->place[side] = side ? def.place2 : def.place1;
            soa_model_frame(w->model, loop->frame[side], &info);
            loop->body[side] = info.body;
            soa_body_info body;
            const int on_body = info.body && !soa_model_body(w->model, info.body, &body);
            loop->part[side] = on_body ? soai_part_of(w, body.joint) : -1; /* -1: the world */
        }
        const double friction = friction_of(w, i);
        for (int k = 0; friction > 0 && k < loop->free; ++k)
            w->cuts[w->cut_count++] = (soai_cut){i, k, friction};
    }
    return SOA_OK;
}

void soai_loops_close(soa_world *w) {
    soa_constraints_free(w->constraints);
    soa_constraint_list_free(&w->own_loops);
    free(w->loops);
    free(w->cuts);
    free(w->lambda);
}

/* Nonzero if a constraint ties something to the world. */
int soai_loops_hold_world(const soa_world *w) {
    for (int i = 0; i < w->loop_count; ++i)
        if (w->loops[i].kind != SOA_RATIO && (!w->loops[i].body[0] || !w->loops[i].body[1]))
            return 1;
    return 0;
}

/* --- the start -------------------------------------------------------------------------------- */
/* The constraint with the largest error at q; off: that error. */
static soa_status worst_loop(soa_world *w, const double *q, int *worst, double *off) {
    double *g = w->lambda; /* room for as many numbers */
    const soa_status s = soa_constraints_evaluate(w->constraints, w->work, &(soa_input){.q = q}, g,
                                                  NULL, NULL, NULL);
    *worst = 0;
    *off = 0;
    for (int i = 0; !s && i < w->loop_count; ++i) {
        int first = 0;
        int count = 0;
        soa_constraints_row_range(w->constraints, i, &first, &count);
        for (int r = first; r < first + count; ++r) {
            if (!(fabs(g[r]) > *off)) continue;
            *off = fabs(g[r]);
            *worst = i;
        }
    }
    return s;
}

static soa_status refuse_move(soa_world *w, const double *before, int coordinate, double move,
                              soa_report *report) {
    int worst = 0;
    double off = 0;
    const soa_status s = worst_loop(w, before, &worst, &off);
    if (s) return s;
    const soai_loop *loop = &w->loops[worst];
    return soai_scenario_fault(
        w->scenario, loop->mark, SOA_E_NO_CONVERGENCE, report,
        "loop '%.60s' is open by %.3g (m or rad) at the start; closing it would move '%.60s' by "
        "%.3g, beyond assembly_bound %g",
        loop->name, off, soai_coordinate_name(w, coordinate), move, w->scenario->assembly_bound);
}

/* Lists the coordinates that the assembly moved by more than rounding. */
static soa_status note_moves(soa_world *w, const double *before) {
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        for (int k = 0; k < info.nq; ++k) {
            const double from = before[info.q_index + k];
            const double to = w->y[info.q_index + k];
            if (fabs(to - from) <= moved_least * (1 + fabs(from))) continue;
            char name[128];
            if (info.nq == 1)
                snprintf(name, sizeof name, "%s", info.joint);
            else
                snprintf(name, sizeof name, "%s[%d]", info.joint, k);
            const soa_status s = soai_note_move(w, name, from, to);
            if (s) return s;
        }
    }
    return SOA_OK;
}
static soa_status note_rates(soa_world *w, const double *before) {
    for (int i = 0; i < w->nv; ++i) {
        const double to = w->y[w->at_v + i];
        if (!w->given_rate[i] || fabs(to - before[i]) <= moved_least * (1 + fabs(before[i])))
            continue;
        char name[140];
        snprintf(name, sizeof name, "rate of %.120s", soai_coordinate_name(w, i));
        const soa_status s = soai_note_move(w, name, before[i], to);
        if (s) return s;
    }
    return SOA_OK;
}

/* Checks that a small step of the leading joints moves the others by a small step too. Otherwise
 * the machine has jumped to another branch. */
static soa_status stays_near(soa_world *w, const double *from, const double *to,
                             const double *way) {
    double *moved = w->torque;
    double led = 0;
    const soa_status s = soa_q_difference(w->model, from, to, moved);
    for (int i = 0; i < w->nv; ++i)
        led = fmax(led, fabs(way[i]) / LEADING_STEPS);
    for (int i = 0; !s && i < w->nv; ++i)
        if (!(fabs(moved[i]) <= jump_most + jump_ratio * led)) return SOA_E_NO_CONVERGENCE;
    return s;
}
/* Leads the given joints from the neutral position, where the loops are closed first, to their
 * given positions; the others follow. So the machine stays on its branch. The place of a part is
 * given from the beginning. Changes nothing if the end cannot be reached. */
static soa_status lead_positions(soa_world *w, int *led) {
    const size_t size = (size_t)w->nq * sizeof *w->y;
    double *at = w->y_scratch[2];
    double *way = w->qdd;
    soa_q_neutral(w->model, at);
    *led = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        if (info.type == SOA_FREE)
            memcpy(at + info.q_index, w->y + info.q_index, (size_t)info.nq * sizeof *at);
        for (int k = 0; k < info.nv && info.type != SOA_FREE; ++k)
            *led += w->given[info.v_index + k];
    }
    double *next = w->y_scratch[1];
    soa_status s = *led ? SOA_OK : SOA_E_NO_CONVERGENCE;
    if (!s) s = soa_closed_assemble(w->constraints, w->work, 0, NULL, at, NULL);
    if (!s) s = soa_q_difference(w->model, at, w->y, way); /* from the closed position */
    for (int i = 0; !s && i < w->nv; ++i)
        if (!w->given[i]) way[i] = 0;
    for (int k = 0; !s && k < LEADING_STEPS; ++k) {
        s = soa_q_integrate(w->model, at, way, 1.0 / LEADING_STEPS, next);
        if (!s) s = soa_closed_assemble(w->constraints, w->work, 0, w->given, next, NULL);
        if (!s) s = stays_near(w, at, next, way);
        if (!s) memcpy(at, next, size);
    }
    if (!s) memcpy(w->y, at, size);
    return s;
}

/* Positions may contradict each other slightly because of rounded digits. Releases one of the given
 * joints, the one that has to move least. Changes nothing if none closes the loops within the
 * bound. */
static soa_status release_one(soa_world *w, const double *before) {
    const size_t size = (size_t)w->nq * sizeof *w->y;
    double *best = w->y_scratch[3];
    const double bound = w->scenario->assembly_bound;
    double least = bound > 0 ? bound : INFINITY;
    int found = 0;
    for (int i = 0; i < w->nv; ++i) {
        int led;
        double move = INFINITY;
        if (!w->given[i]) continue;
        w->given[i] = 0;
        if (!lead_positions(w, &led) && !soa_q_difference(w->model, before, w->y, w->qdd))
            move = fabs(w->qdd[i]);
        w->given[i] = 1;
        if (move <= least) {
            least = move;
            found = 1;
            memcpy(best, w->y, size);
        }
        memcpy(w->y, before, size);
    }
    if (found) memcpy(w->y, best, size);
    return found ? SOA_OK : SOA_E_NO_CONVERGENCE;
}

static void warn_of_branch(soa_world *w) {
    soai_warn(w, "assembly-branch", w->loops[0].name, NAN,
              "the loops close with the positions that are given, but not by a way from the "
              "neutral position; if the machine "
              "is on the wrong branch, give the position of one more of its joints");
}

static soa_status close_positions(soa_world *w, soa_report *report) {
    soa_report inner = {.body = -1};
    double *before = w->y_scratch[0];
    memcpy(before, w->y, (size_t)w->nq * sizeof *before);
    int led = 0;
    soa_status s = lead_positions(w, &led);
    if (s) {
        s = soa_closed_assemble(w->constraints, w->work, 0, w->given, w->y, &inner);
        if (!s && led) warn_of_branch(w);
    }
    if (s == SOA_E_NO_CONVERGENCE) s = release_one(w, before);
    if (s == SOA_E_NO_CONVERGENCE) {
        s = soa_closed_assemble(w->constraints, w->work, 0, NULL, w->y, &inner);
        double *move = w->qdd;
        if (!s) s = soa_q_difference(w->model, before, w->y, move);
        for (int i = 0; !s && i < w->nv; ++i)
            if (w->given[i] && w->scenario->assembly_bound > 0 &&
                !(fabs(move[i]) <= w->scenario->assembly_bound))
                return refuse_move(w, before, i, move[i], report);
    }
    if (!s) s = soa_closed_project(w->constraints, w->work, 0, w->y, NULL, NULL);
    if (!s) return note_moves(w, before);
    int worst = 0;
    double off = 0;
    worst_loop(w, before, &worst, &off);
    return soai_scenario_fault(w->scenario, w->loops[worst].mark, s, report,
                               "the loops do not close at the start: %s",
                               inner.text[0] ? inner.text : soa_status_text(s));
}

static soa_status close_rates(soa_world *w, soa_report *report) {
    double *v = w->y + w->at_v;
    double *before = w->torque; /* scratch until the first step */
    double left = 0;
    memcpy(before, v, (size_t)w->nv * sizeof *v);
    soa_status s =
        soa_closed_project_rates(w->constraints, w->work, 0, w->y, w->given_rate, v, &left);
    if (s == SOA_E_INCONSISTENT || !s)
        s = soa_closed_project(w->constraints, w->work, 0, w->y, v, NULL);
    if (s)
        return soai_scenario_fault(w->scenario, (soa_mark){0}, s, report,
                                   "no rates at the start meet the loops' equations: %s",
                                   soa_status_text(s));
    return note_rates(w, before);
}

/* Counts angles of cut joints from their initial values. */
static soa_status count_turns(soa_world *w) {
    soa_status s = soa_kinematics(w->model, w->work, w->y, w->y + w->at_v, NULL);
    for (int i = 0; !s && i < w->loop_count; ++i)
        if (w->loops[i].turns)
            s = soa_constraints_joint_coordinates(w->constraints, w->work, i, w->turns + 6 * i);
    return s ? s : soai_loops_recount(w);
}

/* Refuses a disc that lies flat: it has no lowest point to roll on. */
static soa_status refuse_flat_discs(soa_world *w, soa_report *report) {
    soa_status s = soa_kinematics(w->model, w->work, w->y, NULL, NULL);
    for (int i = 0; !s && i < w->loop_count; ++i) {
        const soai_loop *loop = &w->loops[i];
        soa_frame at[2];
        if (loop->kind != SOA_DISC) continue;
        for (int side = 0; !s && side < 2; ++side) {
            s = soa_pose(w->model, w->work, loop->frame[side], &at[side]);
            at[side] = soa_frame_compose(&at[side], &loop->place[side]);
        }
        double up = 0;
        for (int k = 0; k < 3; ++k)
            up += at[0].R[3 * k + 2] * at[1].R[3 * k + 2];
        if (!s && !(fabs(up) < cos(lean_least)))
            return soai_scenario_fault(
                w->scenario, loop->mark, SOA_E_SINGULAR, report,
                "disc '%.60s' lies flat on its plane at the start; it rolls on its rim, so let it "
                "lean by %g rad or more",
                loop->name, lean_least);
    }
    return s;
}

soa_status soai_loops_start(soa_world *w, soa_report *report) {
    if (!w->constraints) return SOA_OK;
    soa_status s = close_positions(w, report);
    if (!s) s = refuse_flat_discs(w, report);
    if (!s) s = close_rates(w, report);
    if (!s) s = count_turns(w);
    if (s) return s;
    soa_closed_report found;
    w->fresh = 1;
    s = soa_closed_fd(w->constraints, w->work, NULL, &(soa_input){.q = w->y, .v = w->y + w->at_v},
                      w->qdd, NULL, &found);
    if (s && s != SOA_E_SINGULAR) {
        w->fault.body = soa_work_failed_body(w->work);
        return soai_scenario_fault(w->scenario, (soa_mark){0}, s, report,
                                   "the closed machine cannot move: %s%s%s", soa_status_text(s),
                                   found.text[0] ? "; " : "", found.text);
    }
    w->state->rank_most = found.rank;
    w->closed_rows = found.rows;
    w->closed_rank = found.rank;
    snprintf(w->redundancy, sizeof w->redundancy, "%s", found.text);
    return SOA_OK;
}

soa_status soai_loops_recount(soa_world *w) {
    soa_status s = SOA_OK;
    for (int i = 0; !s && i < w->loop_count; ++i)
        if (w->loops[i].turns) s = soa_constraints_set_turns(w->constraints, i, w->turns + 6 * i);
    return s;
}

/* --- motion ----------------------------------------------------------------------------------- */
/* Applies friction of cut joints as efforts. Their springs are at the end of y. */
static soa_status rub_cuts(soa_world *w, double t, const double *y, double *rate, double *rubbed) {
    soa_status s = soa_constraints_evaluate(w->constraints, w->work,
                                            &(soa_input){.q = w->q, .v = y + w->at_v, .t = t}, NULL,
                                            NULL, NULL, NULL);
    for (int i = 0; !s && i < w->cut_count;) {
        const int number = w->cuts[i].loop;
        double speed[6];
        double effort[6] = {0};
        s = soa_constraints_joint_rates(w->constraints, number, speed, NULL);
        for (; !s && i < w->cut_count && w->cuts[i].loop == number; ++i) {
            const soai_cut *cut = &w->cuts[i];
            const double v = speed[cut->coordinate];
            const double rub = soai_sticking_force(cut->friction, cut->friction, y[w->at_cuts + i],
                                                   v, &rate[w->at_cuts + i]);
            effort[cut->coordinate] = rub;
            *rubbed += rub * v;
        }
        if (!s) s = soa_constraints_set_effort(w->constraints, number, effort);
    }
    return s;
}
void soai_loops_keep(const soa_world *w, double *y) {
    for (int i = 0; i < w->cut_count; ++i) {
        double *spring = &y[w->at_cuts + i];
        *spring = fmin(fmax(*spring, -soai_joint_give), soai_joint_give);
    }
}

soa_status soai_loops_accelerate(soa_world *w, double t, const double *y, int wrench_count,
                                 double *rate) {
    double *ledger = rate + w->at_ledger;
    double rubbed = 0;
    soa_status s = w->cut_count ? rub_cuts(w, t, y, rate, &rubbed) : SOA_OK;
    if (s) return s;
    soa_closed_options o = soa_closed_options_default();
    soa_closed_report found;
    const int accepted = w->fresh;
    o.brief = true;
    /* Near singular configurations the steps' error control decides. */
    o.most_condition = 1e16;
    o.rank_tolerance = 1e-14;
    if (!accepted) {
        o.rank_most = w->state->rank_most;
        o.consistency = stage_disagree;
    }
    w->fresh = 0;
    s = soa_closed_fd(w->constraints, w->work, &o,
                      &(soa_input){.q = w->q,
                                   .v = y + w->at_v,
                                   .tau = w->torque,
                                   .wrenches = w->wrenches,
                                   .wrench_count = wrench_count,
                                   .t = t},
                      w->qdd, w->feeling ? w->lambda : NULL, &found);
    if (s) return s;
    if (accepted && found.rank > w->state->rank_most) w->state->rank_most = found.rank;
    double supplied = 0;
    double dissipated = 0;
    s = soa_closed_power(w->constraints, &supplied, &dissipated);
    /* Efforts of cut joints are friction here, not work of motors. */
    ledger[SOAI_SUPPLIED] += supplied - rubbed;
    ledger[SOAI_RUBBED] += rubbed;
    ledger[SOAI_VISCOUS] += dissipated;
    return s;
}

soa_status soai_loops_settle(soa_world *w, double t, double *y) {
    double error[2];
    soa_status s = soa_closed_project(w->constraints, w->work, t, y, y + w->at_v, error);
    if (s) return s;
    w->fresh = 1;
    w->state->stats.closure_worst = fmax(w->state->stats.closure_worst, error[0]);
    s = soa_kinematics(w->model, w->work, y, y + w->at_v, NULL);
    if (!s) s = soa_constraints_follow_turns(w->constraints, w->work);
    for (int i = 0; !s && i < w->loop_count; ++i)
        if (w->loops[i].turns)
            s = soa_constraints_joint_coordinates(w->constraints, w->work, i, w->turns + 6 * i);
    return s;
}

soa_status soai_energy(soa_world *w, const double *q, const double *v, double *kinetic,
                       double *potential) {
    soa_status s = w->constraints
                       ? soa_closed_energy(w->constraints, w->work, q, v, kinetic, potential)
                       : soa_energy(w->model, w->work, q, v, kinetic, potential);
    if (s || !w->spring_count) return s;
    double springs = 0;
    s = soa_kinematics(w->model, w->work, q, v, NULL);
    if (!s) s = soai_springs_energy(w, &springs);
    *potential += springs;
    return s;
}

/* --- forces ----------------------------------------------------------------------------------- */
/* Computes the multipliers at the state with the torques that are held, and the wrenches on the
 * bodies. The state does not change; afterwards kinematics and touches are those of the state. */
soa_status soai_loops_feel(soa_world *w) {
    if (!w->constraints) return SOA_OK;
    soa_distance_cache *own = w->caches;
    const double when = w->when;
    const int32_t rank = w->state->rank_most;
    if (w->meeting_count) memcpy(w->spare_caches, own, (size_t)w->meeting_count * sizeof *own);
    w->caches = w->spare_caches;
    w->feeling = 1;
    w->fresh = 0;
    /* Include disturbances that begin now. */
    w->when = w->state->t + 1e-6 * w->tick_length;
    soa_status s = soai_motion(w, w->state->t, w->y, w->y_scratch[0]);
    w->feeling = 0;
    w->fresh = 1;
    w->when = when;
    w->state->rank_most = rank;
    w->caches = own;
    for (int i = 0; !s && i < w->loop_count; ++i) {
        soai_loop *loop = &w->loops[i];
        int first = 0;
        int count = 0;
        soa_constraints_row_range(w->constraints, i, &first, &count);
        loop->lambda = count ? w->lambda[first] : 0;
        if (loop->kind != SOA_RATIO)
            s = soa_constraints_wrench(w->constraints, i, w->lambda, loop->wrench[0],
                                       loop->wrench[1]);
    }
    const soa_status looked = soai_peek(w);
    for (int i = 0; !s && !looked && i < w->loop_count; ++i)
        for (int side = 0; side < 2 && w->loops[i].kind != SOA_RATIO; ++side)
            s = soa_pose(w->model, w->work, w->loops[i].frame[side], &w->loops[i].at[side]);
    return s ? s : looked;
}

/* Point of a constraint on a body, in world axes. */
void soai_loop_point(const soai_loop *loop, int side, double point[3]) {
    const soa_frame *at = &loop->at[side];
    const double *p = loop->place[side].p;
    for (int k = 0; k < 3; ++k)
        point[k] =
            at->p[k] + at->R[3 * k] * p[0] + at->R[3 * k + 1] * p[1] + at->R[3 * k + 2] * p[2];
}
/* Wrench on the body of one side, moved from the frame's origin to `point`. */
void soai_loop_wrench(const soai_loop *loop, int side, const double point[3], double out[6]) {
    const double *f = loop->wrench[side];
    double r[3];
    for (int k = 0; k < 3; ++k)
        r[k] = loop->at[side].p[k] - point[k];
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3;
        const int j = (k + 2) % 3;
        out[k] = f[k] + r[i] * f[3 + j] - r[j] * f[3 + i];
        out[3 + k] = f[3 + k];
    }
}
