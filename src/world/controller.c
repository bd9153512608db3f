/* controller.c  the controller at each tick: takes what sensors.c measured, decides, and computes
 * torques.
 *
 * decide     Conditions of the supervisor on measured signals. A change of phase sets the starts of
 *            paths.
 * compute    Each action of the phase by its law (soa/control.h) with the estimated model, each on
 *            its own joints. The torques are added. Gravity and friction of a joint are compensated
 *            once. Torques do not jump from one phase to the next, and the motors limit them.
 *
 * Without phases the torques come from the caller's function (soa_world_set_torque), or are zero.
 * In phases with actions of SOA_ACT_EXTERNAL it gives the torques of their joints.
 * Everything that changes is in the world's state block (struct memory and what follows it). */
#include "world_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACTIONS = 8, SIGNALS = 64 };
/* m: couple length of grasps that turn. Hands are to exert forces, not moments. */
static const double no_couples = 1e-4;
/* Reciprocal condition number below which a hand's torques become too large. */
static const double near_singular = 1e-3;

typedef struct action_memory {
    soa_motion from; /* start of the path, relative */
    soa_frame to;
    soa_motion goal; /* present goal */
    soa_hybrid_state hybrid;
    soa_coordination_state coordination;
    soa_frame grasp[SOA_HANDS];
    double error[4]; /* m, rad, m/s, rad/s */
    double squeeze;  /* measured, N */
} action_memory;
typedef struct memory {
    soa_supervisor_state supervisor;
    int started, counting; /* counting: the phase from which fingers count has begun */
    /* State of final_goal: 0 unset, 1 given by a law, 2 the object's place when it began to
     * count. */
    int final_valid;
    int unused;
    action_memory action[ACTIONS];
    soa_frame final_goal; /* goal of the object of `success`, relative */
} memory;

typedef enum signal_kind {
    TOUCHING,
    FORCE,
    DISTANCE,
    SLIP,
    ERROR,
    ANGLE_ERROR,
    RATE,
    TURN_RATE
} signal_kind;
typedef struct signal {
    signal_kind kind;
    char name[64];
    const char *of; /* name of the group or action */
} signal;

typedef struct law {
    const soa_action *action;
    soa_control *control;
    soa_constraints *loops; /* loops of the machine that it drives; NULL: none */
    int turning_grasp;      /* a hand holds the object by a joint that turns */
    unsigned char *drive;
    /* nv flags: another law of the phase compensates gravity at this joint. NULL: none does. */
    unsigned char *yields;
    int frame, relative_to, hands[SOA_HANDS];
    double *goal_q; /* nq numbers: goals of joints; NAN: keeps its position */
} law;

struct soai_controller {
    const soa_model *model;
    soa_constraint_list own_loops; /* loops of the estimated parts */
    soa_control *sight;            /* for errors and poses of what is measured */
    law (*laws)[ACTIONS];
    soa_supervisor supervisor;
    soa_supervisor_phase *phases;
    soa_supervisor_transition *transitions;
    soa_supervisor_condition *conditions;
    signal signals[SIGNALS];
    const char *names[SIGNALS];
    int signal_count;
    const double *q, *v; /* as measured at this tick */
    double *tau, *part, *rest, *command, *path_q, *path_v, *path_a, *gain_k, *gain_d;
    double *asked; /* what the caller's function gave at this tick */
    double *numbers;
};

static memory *memory_of(const soa_world *w) {
    return (memory *)(void *)w->control_memory;
}
/* nv offsets for a change of phase without a jump in torque; then ACTIONS x nq starts of joints. */
static double *offsets(const soa_world *w) {
    return w->control_memory + sizeof(memory) / sizeof(double);
}
static double *starts(const soa_world *w, int action) {
    return offsets(w) + w->nv + action * w->nq;
}
size_t soai_controller_memory(const soa_world *w) {
    _Static_assert(sizeof(memory) % sizeof(double) == 0, "arrays follow it");
    if (w->scenario->control.phase_count < 1) return 0;
    return sizeof(memory) + ((size_t)w->nv + ACTIONS * (size_t)w->nq) * sizeof(double);
}
/* Checks a state that was read: no index in it is out of range. */
int soai_controller_fits(const soa_world *w) {
    if (!w->controller) return 1;
    const memory *m = memory_of(w);
    const int phases = w->controller->supervisor.phase_count;
    const soa_supervisor_state *x = &m->supervisor;
    if (x->phase < 0 || x->phase >= phases || x->before < -1 || x->before >= phases ||
        x->changes < 0)
        return 0;
    return (m->started == 0 || m->started == 1) && m->final_valid >= 0 && m->final_valid <= 2 &&
           (m->counting == 0 || m->counting == 1);
}

/* --- making ----------------------------------------------------------------------------------- */
static soa_status find(soa_world *w, const char *name, soa_mark mark, const char *what, int *frame,
                       soa_report *report) {
    *frame = !name || !strcmp(name, "world") ? 0 : soa_model_find_frame(w->model, name);
    if (*frame >= 0) return SOA_OK;
    return soai_scenario_fault(w->scenario, mark, SOA_E_NAME, report,
                               "%s: there is no frame '%s'%s", what, name,
                               soai_nearest_frame(w->model, name));
}

/* Marks a body and the bodies that carry it, up to the body `top`. */
static void mark_up(const soa_world *w, int body, int top, unsigned char *marked) {
    for (int b = body; b > 0 && b != top;) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        marked[b] = 1;
        b = info.parent;
    }
}
/* Nearest body that carries both; 0: the world. */
static int common_carrier(const soa_world *w, int a, int b) {
    while (a != b) { /* parents have smaller numbers */
        soa_body_info info;
        soa_model_body(w->model, a > b ? a : b, &info);
        if (a > b)
            a = info.parent;
        else
            b = info.parent;
    }
    return a;
}
/* If a loop within a part contains a marked body, marks the whole loop and all bodies that carry
 * it. Returns whether it did. */
static int mark_loop(const soa_world *w, const soai_loop *loop, unsigned char *marked) {
    if (loop->kind == SOA_RATIO || loop->part[0] != loop->part[1]) return 0;
    const int top = common_carrier(w, loop->body[0], loop->body[1]);
    int touched = 0;
    int whole = 1;
    for (int side = 0; side < 2; ++side)
        for (int b = loop->body[side]; b > 0 && b != top;) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            touched = touched || marked[b];
            whole = whole && marked[b];
            b = info.parent;
        }
    if (!touched || whole) return 0;
    mark_up(w, loop->body[0], 0, marked);
    mark_up(w, loop->body[1], 0, marked);
    return 1;
}
/* Flags the driven joints that move a frame: those between it and its root, and those of its part's
 * loops that contain one of these. */
static soa_status drive_path(const soa_world *w, int frame, unsigned char *drive) {
    soa_frame_info at;
    unsigned char *marked = calloc((size_t)w->bodies + 1, 1);
    if (!marked) return SOA_E_MEMORY;
    soa_model_frame(w->model, frame, &at);
    mark_up(w, at.body, 0, marked);
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < w->loop_count; ++i)
            more = more || mark_loop(w, &w->loops[i], marked);
    }
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        for (int k = 0; marked[b] && k < info.nv; ++k)
            if (w->actuated[info.v_index + k]) drive[info.v_index + k] = SOA_DRIVE_OWN;
    }
    free(marked);
    return SOA_OK;
}

/* Tests whether a joint law has a goal for the coordinate. */
static unsigned char has_goal(const soa_world *w, const law *l, int v) {
    const double goal = l->goal_q[w->v_of_q[v]];
    return l->drive[v] == SOA_DRIVE_OWN && goal == goal;
}

/* --- loops of the machine that a law drives --------------------------------------------------- */
/* Joins the trees that constraint i connects. `tree` gives for each body the root of its tree, or
 * of a tree connected to it. */
static int root_of(const int *tree, int body) {
    while (tree[body] != body)
        body = tree[body];
    return body;
}
static int ends_of(const soa_world *w, const soa_constraint_def *def, int ends[SOA_RATIO_TERMS]) {
    int count = 0;
    if (def->kind != SOA_RATIO) {
        const int frame[2] = {def->frame1, def->frame2};
        for (int side = 0; side < 2; ++side) {
            soa_frame_info info;
            soa_model_frame(w->model, frame[side], &info);
            if (info.body) ends[count++] = info.body;
        }
        return count;
    }
    for (int k = 0; k < SOA_RATIO_TERMS; ++k)
        if (def->coordinate[k] > 0) ends[count++] = def->coordinate[k];
    return count;
}
/* Tests for a grasp that the coordination law makes itself: a loop between a hand and the
 * object. */
static int is_grasp(const soa_world *w, const law *l, const soa_constraint_def *def) {
    if (l->action->kind != SOA_ACT_COORDINATION || def->kind == SOA_RATIO) return 0;
    soa_frame_info object;
    soa_frame_info one;
    soa_frame_info two;
    soa_model_frame(w->model, l->frame, &object);
    soa_model_frame(w->model, def->frame1, &one);
    soa_model_frame(w->model, def->frame2, &two);
    for (int k = 0; k < l->action->hand_count; ++k) {
        soa_frame_info hand;
        soa_model_frame(w->model, l->hands[k], &hand);
        if (one.body == object.body && two.body == hand.body) return 1;
        if (two.body == object.body && one.body == hand.body) return 1;
    }
    return 0;
}
/* Connects the trees joined by the active constraints: tree[b] of all bodies of one group leads to
 * the same root. */
static void tie_trees(const soa_world *w, const law *l, int *tree) {
    tree[0] = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        tree[b] = info.parent ? root_of(tree, info.parent) : b;
    }
    for (int i = 0; i < w->loop_count; ++i) {
        soa_constraint_def def;
        int ends[SOA_RATIO_TERMS] = {0};
        int rows = 0;
        if (soa_constraints_get_def(l->loops, i, &def)) continue;
        soa_constraints_row_range(l->loops, i, NULL, &rows);
        const int count = rows ? ends_of(w, &def, ends) : 0;
        for (int k = 1; k < count; ++k)
            tree[root_of(tree, ends[k])] = root_of(tree, ends[0]);
    }
}
/* Keeps only the constraints that are connected with the joints the law drives. Returns their
 * number. */
static int keep_tied(const soa_world *w, law *l, int *tree) {
    int kept = 0;
    for (int i = 0; i < w->loop_count; ++i) {
        soa_constraint_def def;
        soa_constraints_get_def(l->loops, i, &def);
        if (!is_grasp(w, l, &def)) continue;
        soa_constraints_switch(l->loops, i, 0);
        if (def.kind != SOA_LOOP || (def.joint != SOA_FIXED && def.joint != SOA_PRISMATIC))
            l->turning_grasp = 1;
    }
    tie_trees(w, l, tree);
    for (int i = 0; i < w->loop_count; ++i) {
        soa_constraint_def def;
        int ends[SOA_RATIO_TERMS] = {0};
        int rows = 0;
        int own = 0;
        soa_constraints_get_def(l->loops, i, &def);
        soa_constraints_row_range(l->loops, i, NULL, &rows);
        if (!rows) continue;
        const int count = ends_of(w, &def, ends);
        for (int b = 1; b <= w->bodies && !own; ++b) {
            soa_body_info info;
            soa_model_body(w->model, b, &info);
            int driven = 0;
            for (int k = 0; k < info.nv; ++k)
                driven |= l->drive[info.v_index + k] == SOA_DRIVE_OWN;
            for (int k = 0; driven && k < count; ++k)
                own |= root_of(tree, b) == root_of(tree, ends[k]);
        }
        if (!own) soa_constraints_switch(l->loops, i, 0);
        kept += own;
    }
    return kept;
}
static soa_status open_loops(soa_world *w, law *l, const char *what, soa_report *report) {
    const soa_action *a = l->action;
    soai_controller *c = w->controller;
    soa_status s = soai_loops_create(w->scenario, c->model, &c->own_loops, &l->loops, report);
    if (s || !l->loops) return s;
    int *tree = calloc((size_t)w->bodies + 1, sizeof *tree);
    if (!tree) return SOA_E_MEMORY;
    const int kept = keep_tied(w, l, tree);
    free(tree);
    if (!kept) {
        soa_constraints_free(l->loops);
        l->loops = NULL;
        return SOA_OK;
    }
    if (a->kind == SOA_ACT_PASSIVITY || a->kind == SOA_ACT_DECOUPLED)
        return soai_scenario_fault(
            w->scenario, a->mark, SOA_E_ARGUMENT, report,
            "action '%s': its machine has loops, which this law does not know; take "
            "inverse-dynamics or joint-pd",
            what);
    if (a->kind == SOA_ACT_COORDINATION && !a->passive && l->relative_to)
        return soai_scenario_fault(
            w->scenario, a->mark, SOA_E_ARGUMENT, report,
            "action '%s': its arms have loops of their own; give passive: true, or a goal "
            "relative to the world",
            what);
    return SOA_OK;
}

/* Finds the joints that an action drives: from those flagged (joints of its part, or between its
 * frame and the root) the chosen ones. */
static soa_status open_drive(soa_world *w, const soa_action *a, const char *part, const char *what,
                             unsigned char *own, soa_report *report) {
    _Static_assert(SOA_DRIVE_OWN == 1 && SOA_DRIVE_NONE == 0, "flags are drives");
    int count = 0;
    if (a->joint_count) {
        const soa_status s = soai_choose_own(w, a, part, what, own, report);
        if (s) return s;
    }
    for (int i = 0; i < w->nv; ++i)
        count += own[i];
    if (count) return SOA_OK;
    if (a->kind <= SOA_ACT_DECOUPLED || a->kind == SOA_ACT_BASE_HOLD || a->kind == SOA_ACT_EXTERNAL)
        return soai_scenario_fault(w->scenario, a->mark, SOA_E_NAME, report,
                                   "action '%s': part '%s' has no joint with a motor", what, part);
    return soai_scenario_fault(w->scenario, a->mark, SOA_E_NAME, report,
                               "action '%s': no joint with a motor moves frame '%s'", what,
                               a->kind == SOA_ACT_COORDINATION ? a->hands[0] : a->frame);
}

/* Opens an action whose torques the caller's function gives: its joints, and the frames where it
 * wants wrist sensors. */
static soa_status open_external(soa_world *w, const soa_action *a, const char *what, law *l,
                                soa_report *report) {
    if (!a->part)
        return soai_scenario_fault(w->scenario, a->mark, SOA_E_NAME, report,
                                   "action '%s' names no part", what);
    for (int k = 0; k < a->frame_count; ++k) {
        int frame;
        const soa_status s = find(w, a->frames[k], a->mark, what, &frame, report);
        if (s) return s;
        if (!frame)
            return soai_scenario_fault(w->scenario, a->mark, SOA_E_NAME, report,
                                       "action '%s', frames: the world has no wrist sensor", what);
    }
    soai_motors_of(w, a->part, l->drive);
    return open_drive(w, a, a->part, what, l->drive, report);
}

static soa_status open_law(soa_world *w, const soa_action *a, law *l, soa_report *report) {
    static const char *const words[] = {
        "joint-pd",  "inverse-dynamics", "passivity", "decoupled",    "operational",
        "impedance", "hybrid",           "base-hold", "coordination", "external"};
    _Static_assert(sizeof words / sizeof *words == SOA_ACT_KIND_COUNT, "a name for each law");
    const char *what = a->name ? a->name : words[a->kind];
    const int of_joints = a->kind <= SOA_ACT_DECOUPLED;
    l->action = a;
    l->drive = calloc((size_t)w->nv + 1, 1);
    l->goal_q = malloc(((size_t)w->nq + 1) * sizeof *l->goal_q);
    if (!l->drive || !l->goal_q) return SOA_E_MEMORY;
    for (int i = 0; i < w->nq; ++i)
        l->goal_q[i] = NAN;
    if (a->kind == SOA_ACT_EXTERNAL) return open_external(w, a, what, l, report);
    soa_status s = SOA_OK;
    if (of_joints) {
        if (!a->part)
            return soai_scenario_fault(w->scenario, a->mark, SOA_E_NAME, report,
                                       "action '%s' names no part", what);
        soai_motors_of(w, a->part, l->drive);
        if ((s = open_drive(w, a, a->part, what, l->drive, report))) return s;
        for (int k = 0; k < a->position_count; ++k) {
            char name[256];
            snprintf(name, sizeof name, "%s.%s", a->part, a->positions[k].name);
            soa_body_info info;
            const int b = soa_model_find_joint(w->model, name);
            if (b < 0 || soa_model_body(w->model, b, &info) || info.nq != 1)
                return soai_scenario_fault(w->scenario, a->positions[k].mark, SOA_E_NAME, report,
                                           "action '%s': there is no joint '%s' of one freedom%s",
                                           what, name, soai_nearest_joint(w->model, name));
            if (!l->drive[info.v_index])
                return soai_scenario_fault(
                    w->scenario, a->positions[k].mark, SOA_E_NAME, report,
                    "action '%s': goal of joint '%s', %s", what, name,
                    w->actuated[info.v_index]
                        ? "which its 'joints' do not choose; add it there or leave the goal out"
                        : "which has no motor; name it in the 'motors' of its part");
            if ((s = soai_check_unit(w, &a->positions[k], &info, 0, 0, report))) return s;
            l->goal_q[info.q_index] = a->positions[k].value;
        }
    } else {
        char root[256];
        soa_body_info base;
        snprintf(root, sizeof root, "%s.root", a->part ? a->part : "");
        if (a->kind == SOA_ACT_BASE_HOLD &&
            !soa_model_body(w->model, soa_model_find_joint(w->model, root), &base))
            l->frame = base.frame;
        else if (!a->frame)
            return soai_scenario_fault(
                w->scenario, a->mark, SOA_E_NAME, report, "action '%s' names no frame%s", what,
                a->kind == SOA_ACT_BASE_HOLD ? " and its part does not float" : "");
        if ((!l->frame && (s = find(w, a->frame, a->mark, what, &l->frame, report))) ||
            (s = find(w, a->relative_to, a->mark, what, &l->relative_to, report)))
            return s;
        if (a->kind == SOA_ACT_COORDINATION) {
            if (a->hand_count < 2 || a->hand_count > SOA_HANDS)
                return soai_scenario_fault(w->scenario, a->mark, SOA_E_ARGUMENT, report,
                                           "action '%s' needs 2 to %d hands", what, SOA_HANDS);
            for (int k = 0; k < a->hand_count; ++k) {
                if ((s = find(w, a->hands[k], a->mark, what, &l->hands[k], report))) return s;
                if ((s = drive_path(w, l->hands[k], l->drive))) return s;
            }
        } else if (a->kind == SOA_ACT_BASE_HOLD) {
            soai_motors_of(w, a->part ? a->part : "", l->drive);
        } else if ((s = drive_path(w, l->frame, l->drive)))
            return s;
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)strcspn(a->frame ? a->frame : "", "."),
                 a->frame ? a->frame : "");
        if ((s = open_drive(w, a, a->part ? a->part : part, what, l->drive, report))) return s;
    }
    return open_loops(w, l, what, report);
}

/* Opens the law's controller. Joints with goals remain independent where loops make joints follow
 * others. */
static soa_status open_control(soa_world *w, law *l) {
    soa_control_def def = soa_control_default(l->drive);
    unsigned char *primary = l->loops ? calloc((size_t)w->nv + 1, 1) : NULL;
    if (l->loops && !primary) return SOA_E_MEMORY;
    for (int i = 0; l->loops && i < w->nv; ++i)
        primary[i] = has_goal(w, l, i);
    def.constraints = l->loops;
    def.primary = primary;
    const soa_status s = soa_control_create(w->controller->model, &def, &l->control);
    free(primary);
    return s;
}

/* True for laws that compute with accelerations of the whole machine. The others add the torques of
 * the machine at rest. */
static int is_dynamic(const soa_action *a) {
    switch (a->kind) {
    case SOA_ACT_JOINT_PD:
    case SOA_ACT_IMPEDANCE: return 0;
    case SOA_ACT_COORDINATION: return !a->passive;
    default: return 1;
    }
}

/* The law of a phase that compensates gravity, friction and springs at a coordinate: the caller's
 * function if it drives it, else the first one that computes with the machine's dynamics, else the
 * first that drives it. -1: none drives it. */
static int compensating_law(const soa_phase *phase, const law *laws, int coordinate) {
    int first = -1;
    for (int k = 0; k < phase->action_count; ++k)
        if (laws[k].action->kind == SOA_ACT_EXTERNAL && laws[k].drive[coordinate] == SOA_DRIVE_OWN)
            return k;
    for (int k = 0; k < phase->action_count; ++k) {
        if (laws[k].drive[coordinate] != SOA_DRIVE_OWN) continue;
        if (is_dynamic(laws[k].action)) return k;
        if (first < 0) first = k;
    }
    return first;
}

/* The caller's function gives one torque for a coordinate, so only one action may take it. */
static soa_status check_externals(soa_world *w, const soa_phase *phase, const law *laws,
                                  int coordinate, soa_report *report) {
    const soa_action *first = NULL;
    for (int k = 0; k < phase->action_count; ++k) {
        const soa_action *a = laws[k].action;
        if (a->kind != SOA_ACT_EXTERNAL || laws[k].drive[coordinate] != SOA_DRIVE_OWN) continue;
        if (first)
            return soai_scenario_fault(
                w->scenario, a->mark, SOA_E_ARGUMENT, report,
                "phase '%s': the actions '%s' and '%s' both take the program's torque of joint "
                "'%s'; divide the joints among them with 'joints', or leave one out",
                phase->name, first->name ? first->name : "external", a->name ? a->name : "external",
                soai_coordinate_name(w, coordinate));
        first = a;
    }
    return SOA_OK;
}

/* A condition on the error of an action that has none could never hold. */
static soa_status check_error_signal(soa_world *w, const soa_phase *phase,
                                     const soa_condition *condition, const signal *asked,
                                     soa_report *report) {
    for (int k = 0; asked->kind >= ERROR && k < phase->action_count; ++k) {
        const soa_action *a = &phase->actions[k];
        if (a->kind != SOA_ACT_EXTERNAL || !a->name || strcmp(a->name, asked->of) != 0) continue;
        return soai_scenario_fault(w->scenario, condition->mark, SOA_E_NAME, report,
                                   "signal '%s': action '%s' of law 'external' has no goal, and so "
                                   "no error",
                                   condition->signal, a->name);
    }
    return SOA_OK;
}

/* Gives each law of a phase what it must know of the others: the joints they drive, and where they
 * compensate gravity. A joint that no law drives has no torque, with or without a motor. */
static soa_status share_joints(soa_world *w, const soa_phase *phase, law *laws,
                               soa_report *report) {
    for (int i = 0; i < w->nv; ++i) {
        soa_status s = check_externals(w, phase, laws, i, report);
        if (s) return s;
        const int keeper = compensating_law(phase, laws, i);
        for (int k = 0; keeper >= 0 && k < phase->action_count; ++k) {
            law *l = &laws[k];
            if (l->drive[i] != SOA_DRIVE_OWN) {
                l->drive[i] = SOA_DRIVE_OTHER;
                continue;
            }
            if (k == keeper) continue;
            if (!l->yields && !(l->yields = calloc((size_t)w->nv + 1, 1))) return SOA_E_MEMORY;
            l->yields[i] = 1;
        }
    }
    for (int k = 0; k < phase->action_count; ++k) {
        if (laws[k].action->kind == SOA_ACT_EXTERNAL) continue;
        const soa_status s = open_control(w, &laws[k]);
        if (s) return s;
    }
    return SOA_OK;
}

static int parse_signal(soa_world *w, const char *text, signal *out) {
    static const struct {
        const char *prefix;
        signal_kind kind;
    } known[] = {{"touching.", TOUCHING}, {"force.", FORCE},        {"distance.", DISTANCE},
                 {"slip.", SLIP},         {"error.", ERROR},        {"angle_error.", ANGLE_ERROR},
                 {"rate.", RATE},         {"turn_rate.", TURN_RATE}};
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        const size_t n = strlen(known[k].prefix);
        if (strncmp(text, known[k].prefix, n)) continue;
        out->kind = known[k].kind;
        out->of = text + n;
        snprintf(out->name, sizeof out->name, "%s", text);
        if (out->kind <= SLIP) {
            for (int i = 0; i < w->solid_count; ++i)
                if (soai_in_group(&w->solids[i], out->of)) return 1;
            return 0;
        }
        /* Actions differ from phase to phase; a missing one gives NaN. */
        return 1;
    }
    return 0;
}

soa_status soai_controller_open(soa_world *w, soa_report *report) {
    const soa_scene_control *def = &w->scenario->control;
    if (def->phase_count < 1) return SOA_OK;
    soai_controller *c = w->controller = calloc(1, sizeof *c);
    if (!c) return SOA_E_MEMORY;
    const soai_estimate estimate = {def->mass_estimate, def->inertia_estimate,
                                    def->damping_estimate};
    soa_status s = soai_world_model(w->scenario, &estimate, &c->model, &c->own_loops, report);
    if (s) return s;
    c->numbers = calloc(9 * (size_t)w->nv + (size_t)w->nq + 1, sizeof *c->numbers);
    if (!c->numbers) return SOA_E_MEMORY;
    double *at = c->numbers;
    c->path_q = at;
    at += w->nq;
    c->tau = at;
    c->part = at + w->nv;
    c->path_v = at + 2 * w->nv;
    c->path_a = at + 3 * w->nv;
    c->gain_k = at + 4 * w->nv;
    c->gain_d = at + 5 * w->nv;
    c->rest = at + 6 * w->nv;
    c->command = at + 7 * w->nv;
    c->asked = at + 8 * w->nv;
    soa_control_def all = soa_control_default(NULL);
    if ((s = soa_control_create(c->model, &all, &c->sight))) return s;
    size_t transitions = 0, conditions = 0;
    for (int p = 0; p < def->phase_count; ++p) {
        for (int t = 0; t < def->phases[p].transition_count; ++t) {
            ++transitions;
            conditions += (size_t)def->phases[p].transitions[t].condition_count;
        }
    }
    const size_t phases = (size_t)(def->phase_count & 0x7fffffff);
    c->laws = calloc(phases, sizeof *c->laws);
    c->phases = calloc(phases, sizeof *c->phases);
    c->transitions = calloc(transitions + 1, sizeof *c->transitions);
    c->conditions = calloc(conditions + 1, sizeof *c->conditions);
    if (!c->laws || !c->phases || !c->transitions || !c->conditions) return SOA_E_MEMORY;
    soa_supervisor_transition *next = c->transitions;
    soa_supervisor_condition *when = c->conditions;
    for (int p = 0; p < def->phase_count; ++p) {
        const soa_phase *from = &def->phases[p];
        c->phases[p] =
            (soa_supervisor_phase){from->name, from->blend, from->transition_count, next};
        if (from->action_count > ACTIONS)
            return soai_scenario_fault(w->scenario, from->mark, SOA_E_ARGUMENT, report,
                                       "phase '%s' has %d actions; %d are possible", from->name,
                                       from->action_count, ACTIONS);
        for (int a = 0; a < from->action_count; ++a)
            if ((s = open_law(w, &from->actions[a], &c->laws[p][a], report))) return s;
        if ((s = share_joints(w, from, c->laws[p], report))) return s;
        for (int t = 0; t < from->transition_count; ++t, ++next) {
            const soa_transition *go = &from->transitions[t];
            next->to = -1;
            next->condition_count = go->condition_count;
            next->conditions = when;
            for (int k = 0; k < def->phase_count; ++k)
                if (!strcmp(def->phases[k].name, go->to)) next->to = k;
            if (next->to < 0)
                return soai_scenario_fault(w->scenario, go->mark, SOA_E_NAME, report,
                                           "there is no phase '%s'", go->to);
            for (int k = 0; k < go->condition_count; ++k, ++when) {
                const soa_condition *cond = &go->conditions[k];
                *when = (soa_supervisor_condition){
                    SOA_SIGNAL_PHASE_TIME, cond->compare == SOA_ABOVE, cond->value, cond->hold};
                if (!strcmp(cond->signal, "phase_time")) continue;
                signal parsed;
                if (!parse_signal(w, cond->signal, &parsed))
                    return soai_scenario_fault(
                        w->scenario, cond->mark, SOA_E_NAME, report,
                        "there is no signal '%s' (phase_time, touching.GROUP, force.GROUP, "
                        "distance.GROUP, slip.GROUP, error.ACTION, rate.ACTION, "
                        "angle_error.ACTION, "
                        "turn_rate.ACTION)",
                        cond->signal);
                if ((s = check_error_signal(w, from, cond, &parsed, report))) return s;
                for (when->signal = 0; when->signal < c->signal_count; ++when->signal)
                    if (!strcmp(c->signals[when->signal].name, parsed.name)) break;
                if (when->signal == c->signal_count) {
                    if (c->signal_count == SIGNALS) return SOA_E_MEMORY;
                    c->signals[c->signal_count] = parsed;
                    c->names[c->signal_count] = c->signals[c->signal_count].name;
                    ++c->signal_count;
                }
            }
        }
    }
    c->supervisor = (soa_supervisor){def->phase_count, c->phases, c->signal_count, c->names};
    return soa_supervisor_check(&c->supervisor, report);
}

void soai_controller_close(soa_world *w) {
    soai_controller *c = w->controller;
    if (!c) return;
    for (int p = 0; c->laws && p < w->scenario->control.phase_count; ++p) {
        for (int a = 0; a < ACTIONS; ++a) {
            soa_control_free(c->laws[p][a].control);
            soa_constraints_free(c->laws[p][a].loops);
            free(c->laws[p][a].drive);
            free(c->laws[p][a].yields);
            free(c->laws[p][a].goal_q);
        }
    }
    soa_control_free(c->sight);
    soa_constraint_list_free(&c->own_loops);
    if (c->model) soa_model_free(c->model);
    free(c->laws);
    free(c->phases);
    free(c->transitions);
    free(c->conditions);
    free(c->numbers);
    free(c);
}

/* --- a phase begins --------------------------------------------------------------------------- */
static soa_status relative_motion(soa_world *w, int frame, int relative_to, soa_motion *out) {
    soai_controller *c = w->controller;
    soa_frame_error e;
    const soa_frame same = soa_frame_identity();
    const soa_motion at = soa_motion_at_rest(&same);
    soa_frame base, own;
    soa_status s = soa_control_frame_error(c->sight, c->q, c->v, frame, relative_to, &at, &e);
    if (!s) s = soa_pose(c->model, soa_control_work(c->sight), relative_to, &base);
    if (!s) s = soa_pose(c->model, soa_control_work(c->sight), frame, &own);
    if (s) return s;
    const soa_frame back = soa_frame_inverse(&base);
    *out = soa_motion_at_rest(&same);
    out->pose = soa_frame_compose(&back, &own);
    for (int k = 0; k < 6; ++k)
        out->twist[k] = 0;
    /* twist of the frame minus that of the base's material there, in the base's axes */
    double V[6], B[6], arm[3];
    if ((s = soa_velocity(c->model, soa_control_work(c->sight), frame, SOA_AXES_WORLD, V)) ||
        (s = soa_velocity(c->model, soa_control_work(c->sight), relative_to, SOA_AXES_WORLD, B)))
        return s;
    for (int k = 0; k < 3; ++k)
        arm[k] = own.p[k] - base.p[k];
    const double turn[3] = {B[1] * arm[2] - B[2] * arm[1], B[2] * arm[0] - B[0] * arm[2],
                            B[0] * arm[1] - B[1] * arm[0]};
    for (int k = 0; k < 3; ++k) {
        V[k] -= B[k];
        V[3 + k] -= B[3 + k] + turn[k];
    }
    for (int k = 0; k < 3; ++k) {
        for (int r = 0; r < 3; ++r) {
            out->twist[k] += base.R[3 * r + k] * V[r];
            out->twist[3 + k] += base.R[3 * r + k] * V[3 + r];
        }
    }
    return SOA_OK;
}

/* Rotates a pose in the axes it is given in; the origin is kept. */
static void turn_by(const double R[9], soa_frame *pose) {
    soa_frame by = soa_frame_identity(), own = *pose;
    memcpy(by.R, R, sizeof by.R);
    memset(own.p, 0, sizeof own.p);
    const soa_frame turned = soa_frame_compose(&by, &own);
    memcpy(pose->R, turned.R, sizeof turned.R);
}

/* Warns of goals for joints that other joints with goals determine through the loops: they cannot
 * be reached independently. */
static void warn_of_followers(soa_world *w, const law *l) {
    unsigned char *follows = calloc((size_t)w->nv + 1, 1);
    if (!follows || soa_control_dependent_coordinates(l->control, w->controller->q, follows)) {
        free(follows);
        return;
    }
    for (int i = 0; i < w->nv; ++i)
        if (follows[i] && has_goal(w, l, i))
            soai_warn(w, "goal-follows", soai_coordinate_name(w, i), l->goal_q[w->v_of_q[i]],
                      "the loops let this joint follow the other joints that have goals, so its "
                      "own goal is not pursued; "
                      "leave it out");
    free(follows);
}

static soa_status begin_phase(soa_world *w, int phase, int before) {
    soai_controller *c = w->controller;
    memory *m = memory_of(w);
    action_memory kept[ACTIONS];
    memcpy(kept, m->action, sizeof kept);
    const soa_phase *def = &w->scenario->control.phases[phase];
    for (int a = 0; a < def->action_count; ++a) {
        const law *l = &c->laws[phase][a];
        action_memory *now = &m->action[a];
        const action_memory *last = NULL;
        *now = (action_memory){.from = {.pose = soa_frame_identity()}};
        memcpy(starts(w, a), c->q, (size_t)w->nq * sizeof *c->q);
        if (l->loops) warn_of_followers(w, l);
        if (l->action->kind <= SOA_ACT_DECOUPLED || l->action->kind == SOA_ACT_EXTERNAL) continue;
        for (int k = 0; before >= 0 && k < w->scenario->control.phases[before].action_count; ++k) {
            const law *old = &c->laws[before][k];
            if (old->action->kind == l->action->kind && old->frame == l->frame &&
                old->relative_to == l->relative_to)
                last = &kept[k];
        }
        soa_status s = relative_motion(w, l->frame, l->relative_to, &now->from);
        if (s) return s;
        if (last) { /* the same law continues: its goal must not jump */
            now->from = last->goal;
            now->hybrid = last->hybrid;
            now->coordination = last->coordination;
            memcpy(now->grasp, last->grasp, sizeof now->grasp);
        } else if (l->action->kind == SOA_ACT_COORDINATION)
            for (int k = 0; k < l->action->hand_count; ++k) {
                soa_motion hand;
                if ((s = relative_motion(w, l->hands[k], l->frame, &hand))) return s;
                now->grasp[k] = hand.pose;
            }
        now->to = now->from.pose;
        if (!l->action->has_goal) { /* the path comes to rest */
            double turn[3], R[9];
            for (int k = 0; k < 3; ++k) {
                now->to.p[k] += 0.5 * l->action->time * now->from.twist[3 + k];
                turn[k] = 0.5 * l->action->time * now->from.twist[k];
            }
            soa_rotation_from_vector(turn, R);
            turn_by(R, &now->to);
        } else if (l->action->goal_is_offset) {
            turn_by(l->action->goal.R, &now->to);
            for (int k = 0; k < 3; ++k)
                now->to.p[k] += l->action->goal.p[k];
        } else
            now->to = l->action->goal;
        const char *object = w->scenario->success.object;
        if (object && l->action->frame && !strcmp(l->action->frame, object)) {
            m->final_goal = now->to;
            m->final_valid = 1;
        }
    }
    const soa_success *success = &w->scenario->success;
    if (!success->from_phase || !strcmp(def->name, success->from_phase)) m->counting = 1;
    /* No law moves the object: it should stay where it is. */
    if (success->object && m->counting && !m->final_valid) {
        soa_motion now;
        const soa_status s = relative_motion(w, w->object, w->object_base, &now);
        if (s) return s;
        m->final_goal = now.pose;
        m->final_valid = 2;
    }
    return SOA_OK;
}

/* --- torques ---------------------------------------------------------------------------------- */
/* Computes the present point of a joint law's path (c->path_q, path_v, path_a) and the error of all
 * joints from it (w->qdd). */
static soa_status joint_path(soa_world *w, int index, const law *l, double time) {
    soai_controller *c = w->controller;
    double s[3];
    const soa_profile profile = soa_profile_quintic(l->action->time);
    soa_profile_at(&profile, time, s);
    double *end = w->q; /* scratch */
    memcpy(end, starts(w, index), (size_t)w->nq * sizeof *end);
    for (int i = 0; i < w->nq; ++i)
        if (l->goal_q[i] == l->goal_q[i]) end[i] = l->goal_q[i];
    const soa_status st =
        soa_path_joint(w->model, starts(w, index), end, s, c->path_q, c->path_v, c->path_a);
    return st ? st : soa_q_difference(w->model, c->q, c->path_q, w->qdd);
}

/* Computes the accelerations commanded by the inverse dynamics laws of a phase, into c->command.
 * Each law takes those of the others into account, so joints may be divided among several laws. */
static soa_status command_joints(soa_world *w, const soa_phase *phase, const law *laws,
                                 double time) {
    soai_controller *c = w->controller;
    memset(c->command, 0, (size_t)w->nv * sizeof *c->command);
    for (int k = 0; phase->action_count > 1 && k < phase->action_count; ++k) {
        const soa_action *a = laws[k].action;
        if (a->kind != SOA_ACT_INVERSE_DYNAMICS) continue;
        const soa_status s = joint_path(w, k, &laws[k], time);
        if (s) return s;
        for (int i = 0; i < w->nv; ++i)
            if (laws[k].drive[i] == SOA_DRIVE_OWN)
                c->command[i] += c->path_a[i] + a->stiffness[0] * w->qdd[i] +
                                 a->damping[0] * (c->path_v[i] - c->v[i]);
    }
    return SOA_OK;
}

static soa_status joint_action(soa_world *w, int index, const law *l, double time) {
    soai_controller *c = w->controller;
    const soa_action *a = l->action;
    const soa_status st = joint_path(w, index, l, time);
    if (st) return st;
    for (int i = 0; i < w->nv; ++i) {
        c->gain_k[i] = a->stiffness[0];
        c->gain_d[i] = a->damping[0];
        if (l->drive[i] == SOA_DRIVE_OTHER) c->path_a[i] = c->command[i];
    }
    const soa_joint_reference reference = {c->path_q, c->path_v, c->path_a};
    const soa_joint_gains gains = {c->gain_k, c->gain_d};
    double *error = memory_of(w)->action[index].error;
    memset(error, 0, 4 * sizeof *error);
    for (int i = 0; i < w->nv; ++i)
        if (l->drive[i] == SOA_DRIVE_OWN && (!l->loops || has_goal(w, l, i))) {
            error[0] = error[1] = fmax(error[0], fabs(w->qdd[i]));
            error[2] = error[3] = fmax(error[2], fabs(c->path_v[i] - c->v[i]));
        }
    switch (a->kind) {
    case SOA_ACT_JOINT_PD:
        return soa_control_joint_pd(l->control, c->q, c->v, &reference, &gains, c->part);
    case SOA_ACT_INVERSE_DYNAMICS:
        return soa_control_inverse_dynamics(l->control, c->q, c->v, &reference, &gains, NULL,
                                            c->part, NULL);
    case SOA_ACT_PASSIVITY:
        return soa_control_passivity(l->control, SOA_SLOTINE_LI, c->q, c->v, &reference, &gains,
                                     c->part, NULL);
    default:
        return soa_control_decoupled(l->control, c->q, c->v, &reference, c->gain_k, c->gain_d,
                                     c->part, NULL);
    }
}

static soa_frame_law frame_law(const law *l) {
    const soa_action *a = l->action;
    soa_frame_law f = soa_frame_law_default(l->frame, l->relative_to);
    for (int k = 0; k < 6; ++k) {
        f.stiffness[k] = a->stiffness[k / 3];
        f.damping[k] = a->damping[k / 3];
    }
    f.max_force = a->max_force;
    f.max_torque = a->max_torque;
    return f;
}

/* Wrench measured by a hand's wrist sensor, rotated into world axes with the measured attitude. */
static soa_status wrist_wrench(soa_world *w, int frame, double out[6]) {
    soai_controller *c = w->controller;
    const double *felt = soai_seen_wrist(w, frame);
    soa_frame at;
    const soa_status s =
        felt ? soa_pose(c->model, soa_control_work(c->sight), frame, &at) : SOA_E_NAME;
    for (int half = 0; !s && half < 6; half += 3)
        for (int k = 0; k < 3; ++k)
            out[half + k] = at.R[3 * k] * felt[half] + at.R[3 * k + 1] * felt[half + 1] +
                            at.R[3 * k + 2] * felt[half + 2];
    return s;
}

/* Input of soa_control_coordination for a law. */
static soa_coordination coordination_of(const law *l, const action_memory *m) {
    const soa_action *a = l->action;
    soa_coordination ask = soa_coordination_default(l->frame, l->relative_to);
    ask.form = a->passive ? SOA_COORDINATE_PASSIVE : SOA_COORDINATE_LINEARISING;
    ask.hands = a->hand_count;
    for (int k = 0; k < a->hand_count; ++k) {
        ask.hand[k] = l->hands[k];
        ask.grasp[k] = m->grasp[k];
        ask.share[k] = k ? (1 - a->share) / (a->hand_count - 1) : a->share;
    }
    ask.has_grasp = true;
    if (l->turning_grasp) ask.couple_length = no_couples;
    for (int k = 0; k < 6; ++k) {
        ask.stiffness[k] = a->stiffness[k / 3];
        ask.damping[k] = a->damping[k / 3];
    }
    for (int k = 0; k < 2; ++k) {
        ask.follow_stiffness[k] = a->follow_stiffness[k];
        ask.follow_damping[k] = a->follow_damping[k];
        ask.squeeze_gain[k] = a->force_gain[k];
    }
    ask.squeeze = a->squeeze;
    ask.max_force = a->max_force;
    ask.max_torque = a->max_torque;
    return ask;
}

static soa_status coordination_action(soa_world *w, int index, const law *l,
                                      soa_frame_error *error) {
    soai_controller *c = w->controller;
    const soa_action *a = l->action;
    action_memory *m = &memory_of(w)->action[index];
    const soa_coordination ask = coordination_of(l, m);
    double wrenches[6 * SOA_HANDS], measured = 0;
    soa_status s = soa_kinematics(c->model, soa_control_work(c->sight), c->q, c->v, NULL);
    for (int k = 0; !s && k < a->hand_count; ++k)
        s = wrist_wrench(w, l->hands[k], wrenches + 6 * k);
    if (!s) s = soa_control_internal_force(l->control, c->q, &ask, wrenches, &measured);
    if (s) return s;
    m->squeeze = measured;
    soa_coordination_result result;
    s = soa_control_coordination(
        l->control, c->q, c->v, &ask,
        &(soa_coordination_input){.goal = &m->goal, .measured = &measured, .dt = w->tick_length},
        &m->coordination, c->part, &result);
    if (!s) *error = result.error;
    return s;
}

static soa_status frame_action(soa_world *w, int index, const law *l, double time) {
    soai_controller *c = w->controller;
    const soa_action *a = l->action;
    action_memory *m = &memory_of(w)->action[index];
    soa_frame_error error = {{0}, {0}, {{0}, {0}}, {0}, {0}};
    soa_status s = SOA_OK;
    if (a->time > 0)
        s = soa_path_pose_from_motion(&m->from, &m->to, a->time, time, &m->goal);
    else
        m->goal = soa_motion_at_rest(&m->to);
    if (s) return s;
    const soa_frame_law f = frame_law(l);
    switch (a->kind) {
    case SOA_ACT_IMPEDANCE:
        s = soa_control_impedance(l->control, c->q, c->v, &f, &m->goal, a->force, c->part,
                                  &(soa_impedance_result){.error = &error});
        break;
    case SOA_ACT_OPERATIONAL: {
        const soa_frame_task task = {f, SOA_ROWS_ALL, m->goal};
        const soa_operational_options options = {.damping = 1e-6};
        double rcond = 1;
        s = soa_control_operational_space(
            l->control, c->q, c->v, &task, 1, &options, c->part,
            &(soa_operational_result){.error = &error, .rcond = &rcond});
        if (!s && rcond < near_singular)
            soai_warn(w, "singular", a->frame, 1 / fmax(rcond, 1e-300),
                      "law '%.50s' of phase '%.50s': its joints hardly move the frame in some "
                      "direction (reciprocal "
                      "condition %.1e), so torques may become huge: goals nearer, another posture, "
                      "or law impedance",
                      a->name ? a->name : "", soa_world_phase(w), rcond);
        break;
    }
    case SOA_ACT_HYBRID: {
        double world[6], measured[6];
        const soa_hybrid_law h = {f, a->force_rows, {a->force_gain[0], a->force_gain[1]}, 50, 1e-6};
        if ((s = soa_control_frame_error(c->sight, c->q, c->v, l->frame, l->relative_to, &m->goal,
                                         &error)))
            return s;
        if ((s = wrist_wrench(w, l->frame, world))) return s;
        for (int half = 0; half < 2; ++half)
            for (int k = 0; k < 3; ++k) {
                measured[3 * half + k] = 0;
                for (int r = 0; r < 3; ++r)
                    measured[3 * half + k] += error.goal.R[3 * r + k] * world[3 * half + r];
            }
        s = soa_control_hybrid(
            l->control, c->q, c->v, &h,
            &(soa_hybrid_input){
                .goal = &m->goal, .force = a->force, .measured = measured, .dt = w->tick_length},
            &m->hybrid, c->part, &error);
        break;
    }
    case SOA_ACT_BASE_HOLD: {
        const soa_operational_options options = {.damping = 1e-6};
        s = soa_control_base_attitude(l->control, c->q, c->v,
                                      &(soa_attitude_law){.frame = l->frame,
                                                          .stiffness = a->stiffness[0],
                                                          .damping = a->damping[0]},
                                      &m->goal, &options, c->part, &error);
        break;
    }
    default: s = coordination_action(w, index, l, &error); break;
    }
    if (s) return s;
    m->error[0] = sqrt(error.error[3] * error.error[3] + error.error[4] * error.error[4] +
                       error.error[5] * error.error[5]);
    m->error[1] = sqrt(error.error[0] * error.error[0] + error.error[1] * error.error[1] +
                       error.error[2] * error.error[2]);
    m->error[2] = sqrt(error.rate[3] * error.rate[3] + error.rate[4] * error.rate[4] +
                       error.rate[5] * error.rate[5]);
    m->error[3] = sqrt(error.rate[0] * error.rate[0] + error.rate[1] * error.rate[1] +
                       error.rate[2] * error.rate[2]);
    return SOA_OK;
}

/* Removes from c->part what another law of the phase already adds: gravity, friction and springs of
 * shared joints. For each law this is what it would add itself without errors and gains. */
static soa_status leave_out_rest(soa_world *w, const law *l) {
    soai_controller *c = w->controller;
    const soa_joint_gains none = {NULL, NULL};
    soa_status s = SOA_OK;
    if (l->action->kind == SOA_ACT_JOINT_PD) {
        const soa_joint_reference here = {c->q, c->path_v, NULL};
        s = soa_control_joint_pd(l->control, c->q, c->v, &here, &none, c->rest);
    } else if (is_dynamic(l->action)) {
        const soa_joint_reference here = {c->q, c->v, NULL};
        s = soa_control_inverse_dynamics(l->control, c->q, c->v, &here, &none, NULL, c->rest, NULL);
    } else
        s = soa_control_compensation(l->control, c->q, c->v, NULL, NULL, 0, c->rest);
    for (int i = 0; !s && i < w->nv; ++i)
        if (l->yields[i]) c->part[i] -= c->rest[i];
    return s;
}

static double signal_value(soa_world *w, const signal *s, int phase) {
    if (s->kind >= ERROR) {
        const soa_phase *def = &w->scenario->control.phases[phase];
        for (int a = 0; a < def->action_count; ++a)
            if (def->actions[a].name && !strcmp(def->actions[a].name, s->of))
                return memory_of(w)->action[a].error[s->kind - ERROR];
        return NAN;
    }
    static const int which[] = {[TOUCHING] = SOAI_SEEN_TOUCHING,
                                [FORCE] = SOAI_SEEN_FORCE,
                                [DISTANCE] = SOAI_SEEN_DISTANCE,
                                [SLIP] = SOAI_SEEN_SLIP};
    double total = 0, least = INFINITY, most = 0;
    for (int i = 0; i < w->solid_count; ++i) {
        if (!soai_in_group(&w->solids[i], s->of)) continue;
        const double x = soai_seen_solid(w, i, which[s->kind]);
        total += x;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    if (s->kind == DISTANCE) return least;
    if (s->kind == SLIP) return most;
    return total;
}

static soa_status check_finite(const soa_world *w, const double *tau, const char *who,
                               soa_report *report) {
    for (int i = 0; i < w->nv; ++i)
        if (!(fabs(tau[i]) < INFINITY))
            return soai_report(
                report, SOA_E_NOT_FINITE, -1, 0,
                "%s gave a torque that is not a number (%g) at t = %.9g s, joint '%s'", who, tau[i],
                w->state->t, soai_coordinate_name(w, i));
    return SOA_OK;
}

/* Holds the given torques for the tick, limited by the motors. */
static soa_status hold(soa_world *w, const double *tau, const char *who, soa_report *report) {
    const soa_status s = check_finite(w, tau, who, report);
    if (s) return s;
    for (int i = 0; i < w->nv; ++i) {
        const double own = w->actuated[i] ? tau[i] : 0;
        w->tau[i] =
            w->scenario->control.saturate ? fmin(fmax(own, -w->effort[i]), w->effort[i]) : own;
    }
    return SOA_OK;
}

/* Calls the caller's own controller. */
static soa_status ask_caller(soa_world *w, double *tau, soa_report *report) {
    memset(tau, 0, (size_t)w->nv * sizeof *tau);
    const soa_status s =
        w->torque_fn(w->torque_user, w, w->state->t, soai_seen_q(w), soai_seen_v(w), tau);
    if (s)
        return soai_report(report, s, -1, 0, "the controller gave up at t = %.9g s: %s",
                           w->state->t, soa_status_text(s));
    return check_finite(w, tau, "the controller", report);
}

/* Asks the caller's controller where an action of the phase takes its torques. */
static soa_status ask_in_phase(soa_world *w, const soa_phase *phase, soa_report *report) {
    int k = 0;
    while (k < phase->action_count && phase->actions[k].kind != SOA_ACT_EXTERNAL)
        ++k;
    if (k == phase->action_count) return SOA_OK;
    if (!w->torque_fn)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "t = %.9g s: the torques of phase '%s', action '%s' come from the "
                           "program's controller, and none is set: soa_world_set_torque (in "
                           "Python: controller=...)",
                           w->state->t, phase->name,
                           phase->actions[k].name ? phase->actions[k].name : "external");
    return ask_caller(w, w->controller->asked, report);
}

/* Takes the torques of an external action's joints from what the caller's controller gave. */
static void external_action(soa_world *w, const law *l) {
    soai_controller *c = w->controller;
    for (int i = 0; i < w->nv; ++i)
        c->part[i] = l->drive[i] == SOA_DRIVE_OWN ? c->asked[i] : 0;
}

static soa_status act(soa_world *w, int index, const law *l, double time) {
    if (l->action->kind == SOA_ACT_EXTERNAL) {
        external_action(w, l);
        return SOA_OK;
    }
    if (l->action->kind <= SOA_ACT_DECOUPLED) return joint_action(w, index, l, time);
    return frame_action(w, index, l, time);
}

/* Without phases: all torques are the caller's. */
static soa_status control_by_caller(soa_world *w, soa_report *report) {
    if (!w->torque_fn) return SOA_OK;
    double *tau = w->torque; /* scratch: the integrator overwrites it */
    const soa_status s = ask_caller(w, tau, report);
    return s ? s : hold(w, tau, "the controller", report);
}

soa_status soai_control(soa_world *w, soa_report *report) {
    soai_controller *c = w->controller;
    soa_status s = soai_sense(w);
    if (s == SOA_E_SINGULAR && w->scenario->estimator.wrench_count)
        return soai_report(report, s, -1, 0,
                           "estimator failed at t = %.9g s: its noise is so small beside the "
                           "forces assumed that some torques already follow from others; give "
                           "more joint_torque_noise",
                           w->state->t);
    if (s)
        return soai_report(report, s, -1, 0, "sensors failed at t = %.9g s: %s", w->state->t,
                           soa_status_text(s));
    if (!c) return control_by_caller(w, report);
    memory *m = memory_of(w);
    bool changed = false;
    c->q = soai_seen_q(w);
    c->v = soai_seen_v(w);
    if (!m->started) {
        s = soa_supervisor_start(&c->supervisor, &m->supervisor);
        if (!s) s = begin_phase(w, 0, -1);
        m->started = 1;
        if (!s) soai_event(w, w->state->t, "phase", "%s", c->phases[0].name);
    } else {
        double values[SIGNALS];
        const int before = m->supervisor.phase;
        for (int k = 0; k < c->signal_count; ++k)
            values[k] = signal_value(w, &c->signals[k], before);
        s = soa_supervisor_tick(&c->supervisor, &m->supervisor, values, w->tick_length, &changed);
        if (!s && changed) {
            s = begin_phase(w, m->supervisor.phase, before);
            soai_event(w, w->state->t, "phase", "%s", c->phases[m->supervisor.phase].name);
        }
    }
    memset(c->tau, 0, (size_t)w->nv * sizeof *c->tau);
    const int phase = m->supervisor.phase;
    const soa_phase *def = &w->scenario->control.phases[phase];
    if (!s) {
        const soa_status asked = ask_in_phase(w, def, report);
        if (asked) return asked;
    }
    if (!s) s = command_joints(w, def, c->laws[phase], m->supervisor.time);
    for (int a = 0; !s && a < def->action_count; ++a) {
        const law *l = &c->laws[phase][a];
        s = act(w, a, l, m->supervisor.time);
        if (!s && l->yields) s = leave_out_rest(w, l);
        if (s)
            return soai_report(
                report, s, -1, 0, "controller failed at t = %.9g s, phase '%s', action '%s': %s",
                w->state->t, def->name, def->actions[a].name ? def->actions[a].name : "",
                soa_status_text(s));
        for (int i = 0; i < w->nv; ++i)
            c->tau[i] += c->part[i];
    }
    if (!s)
        s = soa_supervisor_blend(&c->supervisor, &m->supervisor, changed, w->nv, w->tau, offsets(w),
                                 c->tau);
    if (s)
        return soai_report(report, s, -1, 0, "controller failed at t = %.9g s, phase '%s': %s",
                           w->state->t, def->name, soa_status_text(s));
    char who[100];
    snprintf(who, sizeof who, "the controller (phase '%.60s')", def->name);
    return hold(w, c->tau, who, report);
}

int soai_controller_phase(const soa_world *w) {
    return w->controller ? memory_of(w)->supervisor.phase : -1;
}
int soai_controller_squeeze(soa_world *w, int object, double *force) {
    if (!w->controller || !memory_of(w)->started) return 0;
    const int phase = memory_of(w)->supervisor.phase;
    const soa_phase *def = &w->scenario->control.phases[phase];
    for (int i = 0; i < def->action_count; ++i) {
        const law *l = &w->controller->laws[phase][i];
        double wrenches[6 * SOA_HANDS];
        soa_status s = SOA_OK;
        if (l->action->kind != SOA_ACT_COORDINATION || l->frame != object) continue;
        for (int k = 0; !s && k < l->action->hand_count; ++k) {
            soa_frame at;
            s = soai_feel_wrist(w, l->hands[k], &at, wrenches + 6 * k);
        }
        const soa_coordination ask = coordination_of(l, &memory_of(w)->action[i]);
        return !s && !soa_control_internal_force(l->control, w->y, &ask, wrenches, force);
    }
    return 0;
}
int soai_controller_counting(const soa_world *w) {
    return !w->controller || memory_of(w)->counting;
}
const soa_frame *soai_controller_goal(const soa_world *w) {
    return w->controller && memory_of(w)->final_valid ? &memory_of(w)->final_goal : NULL;
}
double soai_controller_phase_time(const soa_world *w) {
    return memory_of(w)->supervisor.time;
}
int soai_controller_drives(const soa_world *w, int action, int coordinate) {
    return w->controller->laws[soai_controller_phase(w)][action].drive[coordinate] == SOA_DRIVE_OWN;
}
const soa_action *soai_controller_driver(const soa_world *w, int coordinate) {
    const int phase = soai_controller_phase(w);
    if (phase < 0) return NULL;
    const soa_phase *def = &w->scenario->control.phases[phase];
    for (int k = 0; k < def->action_count; ++k)
        if (soai_controller_drives(w, k, coordinate)) return &def->actions[k];
    return NULL;
}
int soai_controller_frame(const soa_world *w, int action) {
    return w->controller->laws[soai_controller_phase(w)][action].frame;
}
int soai_controller_relative(const soa_world *w, int action) {
    return w->controller->laws[soai_controller_phase(w)][action].relative_to;
}
const soa_frame *soai_controller_target(const soa_world *w, int action) {
    return &memory_of(w)->action[action].to;
}
int soai_controller_gave_goal(const soa_world *w) {
    return w->controller && memory_of(w)->final_valid == 1;
}
double soai_controller_error(const soa_world *w, int action, int which) {
    return memory_of(w)->action[action].error[which];
}
const soa_supervisor *soai_controller_supervisor(const soa_world *w) {
    return w->controller ? &w->controller->supervisor : NULL;
}
