/* watchdog.c  detects runs that continue but not as intended: motors at their limits, torques that
 * chatter, gains too high for a sampled law, goals out of reach, parts that fall for ever. Each
 * gives a warning with a number and a remedy.
 *
 * The checks run after every tick, before the summary's figures: a few comparisons per motor and
 * occasionally one product with M^-1. The counters are part of the state block, so a resumed run
 * ends with the same warnings.
 *
 * Sampled laws. A law tau = -K e - D e', held for ticks of dt on an inertia I, is, with d = D dt /
 * I and a = K dt^2 / I,
 *     x+ = [1 - a/2  1 - d/2; -a  1 - d] x,    stable for    a/2 < d < 2.
 * With measurements n ticks late, the upper bound becomes d < 2 sin(pi / (2 (2n + 1))) (for a
 * damper alone) and the lower bound a (1/2 + n) < d. I is 1 / (M^-1)_ii, the inertia of joint i
 * with the others free. The bound is then necessary for a law with the same gain for all its
 * joints, so such a law is unstable beyond it. If other laws drive the neighbouring joints, it is
 * an estimate. */
#include "world_internal.h"
#include "../base/small_algebra.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    /* Ticks over which jumps of torque are averaged, and for which they must last. */
    WINDOW = 50,
    GAIN_PERIOD = 16,   /* ticks between checks of the gains, one more joint each time */
    FRAME_PERIOD = 256, /* ticks between checks of the gains of frame laws */
    /* With more coordinates, inertias of joints are not computed: they cost O(n) each. */
    COORDINATES_MOST = 1000,
    LONG_TICKS = 10 /* fewer ticks at a limit do not count as a share of the run */
};
/* Fraction of the run that a motor may be at its limit. */
static const double limit_share = 0.1;
static const double limit_at_end = 0.1; /* s at the limit at the end of a run */
/* Mean jump from tick to tick, relative to the motor's limit. */
static const double chatter_of_limit = 0.25;
/* The same relative to the mean torque, for motors without limit. */
static const double chatter_of_torque = 0.5;
/* And then also relative to the largest torque seen, so that it matters. */
static const double chatter_of_most = 0.1;
/* m, rad (joints too): larger errors count as missed. */
static const double missed_position = 5e-3, missed_angle = 0.02;
/* 1/s: if an error changes less than this, relative to its size, it is not decreasing. */
static const double missed_rate = 0.02;
/* s: from the end of a path until its goal should be reached. */
static const double settling = 0.5;
static const double fall_least = 1; /* m */
/* Fraction of the energy of a free fall, as downward speed. */
static const double fall_share = 0.98;

/* Counters of each velocity coordinate. */
typedef struct watched {
    double last;     /* torque of the previous tick */
    double jump;     /* running mean of |change of torque| */
    double level;    /* running mean of |torque| */
    double most;     /* largest |torque| */
    int64_t limited; /* total number of ticks at the limit */
    int32_t stretch; /* successive ticks at the limit */
    int32_t chatter; /* successive ticks with chatter */
    int32_t side;    /* 1, -1: at this limit; 0: within */
    int32_t unused;
} watched;
typedef struct head {
    int64_t phase; /* phase whose gains and goals were checked; -1: none yet */
} head;

static head *head_of(const soa_world *w) {
    return (head *)(void *)w->watch_memory;
}
static watched *watched_of(const soa_world *w) {
    return (watched *)(void *)(w->watch_memory + sizeof(head) / sizeof(double));
}
size_t soai_watchdog_memory(const soa_world *w) {
    _Static_assert(sizeof(head) % sizeof(double) == 0 && sizeof(watched) % sizeof(double) == 0,
                   "they follow it");
    return sizeof(head) + (size_t)w->nv * sizeof(watched);
}

/* Text "law 'x' of phase 'y'", or what else drives the coordinate. */
static const char *driver_of(const soa_world *w, int coordinate, char text[160]) {
    const soa_action *a = soai_controller_driver(w, coordinate);
    if (a)
        snprintf(text, 160, "law '%.50s' of phase '%.50s'", a->name ? a->name : "",
                 soa_world_phase(w));
    else
        snprintf(text, 160, "%s", "the controller");
    return text;
}
static int is_linear(const soa_world *w, int coordinate) {
    return !w->angle[w->v_of_q[coordinate]];
}

/* --- torques ---------------------------------------------------------------------------------- */
static void warn_limit(soa_world *w, int i, const watched *x) {
    char who[160];
    const double share = (double)x->limited / (double)soai_last_tick(w, w->scenario->duration);
    soai_warn(w, "saturated", soai_coordinate_name(w, i), share,
              "motor at its limit of %.4g %s for %.3g %% of the run; %s asks for more: give it "
              "more time, less stiffness, or "
              "the joint more effort",
              w->effort[i], is_linear(w, i) ? "N" : "N m", 100 * share, driver_of(w, i, who));
}
static void watch_limit(soa_world *w, int i, watched *x, int last) {
    const double limit = w->scenario->control.saturate ? w->effort[i] : INFINITY;
    const int at = fabs(w->tau[i]) >= limit;
    const int side = at ? (w->tau[i] > 0) - (w->tau[i] < 0) : 0;
    const int stays = side && side == x->side; /* a change from one limit to the other is chatter */
    x->limited += stays;
    x->stretch = stays ? x->stretch + 1 : 0;
    x->side = side;
    const double allowed =
        fmax(limit_share * (double)soai_last_tick(w, w->scenario->duration), LONG_TICKS);
    const int long_enough = (double)x->limited > allowed;
    const int at_end =
        last && x->stretch >= LONG_TICKS && x->stretch * w->tick_length >= limit_at_end;
    if ((long_enough && (stays || last)) || at_end) {
        const int first = long_enough && (double)(x->limited - 1) <= allowed;
        if (first || last) warn_limit(w, i, x);
    }
}

/* Tests whether a torque jumps because a law is unstable. Noise makes torques jump too: with a
 * motor limit the two can be distinguished; without one, noisy sensors excuse the jumps. */
static int jumps(const soa_world *w, int i, const watched *x) {
    const soa_sensor_set *noise = &w->scenario->control.sensors;
    if (w->effort[i] < INFINITY) return x->jump > chatter_of_limit * w->effort[i];
    const double noisy = noise->position_noise + noise->rate_noise + noise->pose_noise[0] +
                         noise->pose_noise[1] + noise->twist_noise[0] + noise->twist_noise[1] +
                         noise->force_noise + noise->torque_noise;
    return !(noisy > 0) && x->jump > chatter_of_torque * x->level &&
           x->jump > chatter_of_most * x->most;
}
static void watch_jumps(soa_world *w, int i, watched *x) {
    const double torque = w->tau[i];
    x->jump += (fabs(torque - x->last) - x->jump) / WINDOW;
    x->level += (fabs(torque) - x->level) / WINDOW;
    x->most = fmax(x->most, fabs(torque));
    x->last = torque;
    x->chatter = jumps(w, i, x) ? x->chatter + 1 : 0;
    if (x->chatter != WINDOW) return;
    char who[160];
    soai_warn(w, "chatter", soai_coordinate_name(w, i), x->jump,
              "torque jumps by %.3g %s from tick to tick, on average; %s fights itself at %.4g Hz: "
              "lower its damping and "
              "stiffness, or raise control.rate",
              x->jump, is_linear(w, i) ? "N" : "N m", driver_of(w, i, who), 1 / w->tick_length);
}

/* --- gains ------------------------------------------------------------------------------------ */
static int late_ticks(const soa_world *w) {
    return (int)lround(w->scenario->control.sensors.delay / w->tick_length);
}
static double damping_bound(const soa_world *w) {
    return 2 * sin(SOAI_PI / (2 * (2 * late_ticks(w) + 1)));
}

/* Checks a law with stiffness K and damping D on an inertia I (I = 1 if the gains are in 1/s^2 and
 * 1/s), all for one coordinate. `loss`: friction of the coordinate itself, which also damps. */
static void check_gains(soa_world *w, const soa_action *a, const char *name, double K, double D,
                        double I, double loss) {
    const double dt = w->tick_length, bound = damping_bound(w), d = D * dt / I;
    const double lag = (0.5 + late_ticks(w)) * dt;
    const char *law = a->name ? a->name : "";
    if (d > bound) {
        /* A higher rate would make the delay more ticks long. */
        char other[64] = "or less delay of the sensors";
        if (!late_ticks(w))
            snprintf(other, sizeof other, "or a rate above %.4g Hz", d / (bound * dt));
        soai_warn(w, "sampled-gain", name, d,
                  "law '%.40s' of phase '%.40s': damping %.4g makes D dt / I = %.3g; at %.4g Hz it "
                  "is unstable beyond %.3g: "
                  "damping below %.3g, %s",
                  law, soa_world_phase(w), D, d, 1 / dt, bound, bound * I / dt, other);
    }
    if (K > 0 && K * lag > (D + loss) * (1 + 1e-9))
        soai_warn(w, "sampled-spring", name, K * lag / fmax(D + loss, 1e-300),
                  "law '%.40s' of phase '%.40s': stiffness %.4g with damping %.3g; held for ticks "
                  "and measured late it adds "
                  "energy: damping above %.3g, or a higher rate",
                  law, soa_world_phase(w), K, D + loss, K * lag);
}

/* 1 / (M^-1)_ii; NaN: not known. */
static double inertia_of(soa_world *w, int coordinate) {
    if (w->constraints || w->nv > COORDINATES_MOST) return NAN;
    double *unit = w->qdd, *out = w->torque; /* scratch between ticks */
    memset(unit, 0, (size_t)w->nv * sizeof *unit);
    unit[coordinate] = 1;
    if (soa_minv_mul(w->model, w->work, w->y, unit, out)) return NAN;
    return out[coordinate] > 0 ? 1 / out[coordinate] : NAN;
}

/* Checks laws whose gains are torques per rad: joint-pd, and the damping of passivity. */
static void check_joint(soa_world *w, const soa_action *a, int i) {
    const double inertia = inertia_of(w, i);
    const double K = a->stiffness[0], D = a->damping[0];
    if (!(inertia > 0)) return;
    if (a->kind == SOA_ACT_JOINT_PD)
        check_gains(w, a, soai_coordinate_name(w, i), K, D, inertia, w->damping[i]);
    else /* L and D: M L + D on the rate, L D on the error */
        check_gains(w, a, soai_coordinate_name(w, i), K * D, K * inertia + D, inertia,
                    w->damping[i]);
}

/* Diagonal of J_o (M^-1)_oo J_o', where o are the joints that an action drives: how a unit force
 * moves its frame along and about the world's axes. */
static soa_status mobility_of(soa_world *w, int action, double diagonal[6]) {
    double *own = w->qdd, *out = w->torque; /* scratch between ticks */
    for (int k = 0; k < 6; ++k) {
        double unit[6] = {0};
        unit[k] = 1;
        const int frame = soai_controller_frame(w, action);
        soa_status s = soa_kinematics(w->model, w->work, w->y, NULL, NULL);
        if (!s) s = soa_jacobian_transpose_mul(w->model, w->work, frame, SOA_AXES_WORLD, unit, own);
        for (int i = 0; i < w->nv; ++i)
            if (!soai_controller_drives(w, action, i)) own[i] = 0;
        if (!s) s = soa_minv_mul(w->model, w->work, w->y, own, out);
        if (s) return s;
        diagonal[k] = 0;
        for (int i = 0; i < w->nv; ++i)
            diagonal[k] += own[i] * out[i];
    }
    return SOA_OK;
}
static void check_impedance(soa_world *w, const soa_action *a, int action) {
    double diagonal[6];
    if (w->constraints || w->nv > COORDINATES_MOST || mobility_of(w, action, diagonal)) return;
    for (int half = 0; half < 2; ++half) {
        double most = 0;
        for (int k = 3 * half; k < 3 * half + 3; ++k)
            most = fmax(most, diagonal[k]);
        char name[90];
        snprintf(name, sizeof name, "%.60s, %s", a->frame ? a->frame : "",
                 half ? "linear" : "angular");
        if (most > 0) check_gains(w, a, name, a->stiffness[half], a->damping[half], 1 / most, 0);
    }
}

/* Checks laws whose gains are accelerations, 1/s^2 and 1/s. */
static void check_accelerations(soa_world *w, const soa_action *a) {
    const char *name = a->name ? a->name : "";
    if (a->kind == SOA_ACT_DECOUPLED) {
        check_gains(w, a, name, a->stiffness[0] * a->damping[0], a->stiffness[0] + a->damping[0], 1,
                    0);
        return;
    }
    const int halves = a->kind == SOA_ACT_INVERSE_DYNAMICS || a->kind == SOA_ACT_BASE_HOLD ? 1 : 2;
    for (int half = 0; half < halves; ++half)
        check_gains(w, a, name, a->stiffness[half], a->damping[half], 1, 0);
}

/* Checks all gains of a phase that has just begun, later one joint at a time, because inertias
 * change. */
static void watch_gains(soa_world *w, int begun) {
    const int phase = soai_controller_phase(w);
    const int64_t tick = w->state->tick;
    int now;
    if (tick % GAIN_PERIOD == 0) {
        now = (int)(tick / GAIN_PERIOD % (w->nv ? w->nv : 1));
    } else {
        now = -1;
    }
    const soa_phase *def = &w->scenario->control.phases[phase];
    for (int k = 0; k < def->action_count; ++k) {
        const soa_action *a = &def->actions[k];
        if (a->kind == SOA_ACT_EXTERNAL) continue; /* its gains are the program's */
        const int by_torque = a->kind == SOA_ACT_JOINT_PD || a->kind == SOA_ACT_PASSIVITY;
        if (by_torque)
            for (int i = begun ? 0 : now; i >= 0 && i < (begun ? w->nv : now + 1); ++i)
                if (soai_controller_drives(w, k, i)) check_joint(w, a, i);
        if (a->kind == SOA_ACT_IMPEDANCE && (begun || tick % FRAME_PERIOD == 0))
            check_impedance(w, a, k);
        if (begun && !by_torque && a->kind != SOA_ACT_IMPEDANCE && !a->passive)
            check_accelerations(w, a);
    }
}

/* --- goals ------------------------------------------------------------------------------------ */
static void check_joint_goals(soa_world *w, const soa_action *a) {
    for (int k = 0; k < a->position_count; ++k) {
        char name[256];
        soa_body_info info;
        snprintf(name, sizeof name, "%s.%s", a->part ? a->part : "", a->positions[k].name);
        const int b = soa_model_find_joint(w->model, name);
        if (b < 0 || soa_model_body(w->model, b, &info)) continue;
        const double goal = a->positions[k].value;
        if (goal >= info.lower && goal <= info.upper) continue;
        soai_warn(w, "out-of-reach", name, goal,
                  "the goal %.4g of law '%.50s' is outside the joint's limits %.4g to %.4g: move "
                  "the goal",
                  goal, a->name ? a->name : "", info.lower, info.upper);
    }
}

/* Largest distance of a frame from the point where its machine is fixed, and that point; infinite
 * if something slides without limits. */
static double reach_of(const soa_world *w, int frame, double base[3]) {
    soa_frame_info at;
    if (soa_model_frame(w->model, frame, &at) || !at.body) return INFINITY;
    double reach =
        sqrt(at.placement.p[0] * at.placement.p[0] + at.placement.p[1] * at.placement.p[1] +
             at.placement.p[2] * at.placement.p[2]);
    for (int b = at.body; b > 0;) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const double *p = info.placement.p;
        if (info.type == SOA_PRISMATIC)
            reach += fmax(fabs(info.lower), fabs(info.upper));
        else if (info.type != SOA_REVOLUTE && info.type != SOA_SPHERICAL &&
                 info.type != SOA_UNIVERSAL)
            return INFINITY;
        if (info.parent)
            reach += sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        else
            memcpy(base, p, 3 * sizeof *base);
        b = info.parent;
    }
    return reach;
}
static void check_frame_goal(soa_world *w, const soa_action *a, int action) {
    soa_frame_info from;
    double base[3];
    const soa_frame *to = soai_controller_target(w, action);
    const int hand = soai_controller_frame(w, action),
              relative = soai_controller_relative(w, action);
    /* The frame of the goal moves and may come within reach. */
    if (soa_model_frame(w->model, relative, &from) || from.body) return;
    const double reach = reach_of(w, hand, base);
    const soa_frame goal = soa_frame_compose(&from.placement, to);
    double far = 0;
    for (int k = 0; k < 3; ++k)
        far += (goal.p[k] - base[k]) * (goal.p[k] - base[k]);
    far = sqrt(far);
    if (!(far > reach * (1 + 1e-9) + 1e-9)) return;
    soai_warn(w, "out-of-reach", a->frame ? a->frame : "", far,
              "the goal of law '%.50s' is %.4g m from where the machine is fixed; the frame gets "
              "at most %.4g m from "
              "there: move the goal nearer",
              a->name ? a->name : "", far, reach);
}
static void watch_goals(soa_world *w) {
    const soa_phase *def = &w->scenario->control.phases[soai_controller_phase(w)];
    for (int k = 0; k < def->action_count; ++k) {
        const soa_action *a = &def->actions[k];
        if (a->kind <= SOA_ACT_DECOUPLED)
            check_joint_goals(w, a);
        else if (a->has_goal && (a->kind == SOA_ACT_OPERATIONAL || a->kind == SOA_ACT_IMPEDANCE))
            check_frame_goal(w, a, k);
    }
}

/* At the end of the run: warns of a goal that is missed and not approached although nothing is in
 * the way. */
static void watch_missed(soa_world *w) {
    const soa_phase *def = &w->scenario->control.phases[soai_controller_phase(w)];
    if (w->touch_count || w->constraints || w->scenario->disturbance_count || w->pull_count ||
        w->hold_count)
        return;
    for (int k = 0; k < def->action_count; ++k) {
        const soa_action *a = &def->actions[k];
        const int of_joints = a->kind <= SOA_ACT_DECOUPLED;
        if (soai_controller_phase_time(w) < a->time + settling) continue;
        if (!of_joints && a->kind != SOA_ACT_OPERATIONAL && a->kind != SOA_ACT_IMPEDANCE) continue;
        /* The law limits its force on purpose. */
        if (a->max_force > 0 || a->max_torque > 0 || a->force_rows) continue;
        double push = 0;
        for (int j = 0; j < 6; ++j)
            push += fabs(a->force[j]);
        /* The law has no position goal. */
        if (push > 0 || (a->stiffness[0] == 0 && (of_joints || a->stiffness[1] == 0))) continue;
        const double far = soai_controller_error(w, k, 0), angle = soai_controller_error(w, k, 1);
        const int by_place = far > (of_joints ? missed_angle : missed_position);
        const double error = by_place ? far : angle;
        const double rate = soai_controller_error(w, k, by_place ? 2 : 3);
        if (!(by_place || angle > missed_angle) || rate > missed_rate * error) continue;
        const char *unit = by_place ? "m" : "rad";
        soai_warn(w, "out-of-reach", of_joints ? a->name : a->frame, error,
                  "law '%.50s' ends %.3g %s from its goal and comes no nearer: the goal is out of "
                  "reach, or the law too "
                  "weak; move the goal, or raise stiffness or effort",
                  a->name ? a->name : "", error, of_joints ? "rad or m" : unit);
    }
}

/* --- parts that fall -------------------------------------------------------------------------- */
/* Part of a body; -1: none. */
static int part_of(const soa_world *w, const char *joint) {
    const size_t n = strcspn(joint, ".");
    for (int p = 0; p < w->scenario->part_count; ++p) {
        const char *name = w->scenario->parts[p].name;
        if (strncmp(name, joint, n) == 0 && !name[n]) return p;
    }
    return -1;
}
/* For each part (3 numbers): mass, and mass times height and speed along `down`. loose: whether it
 * can leave its place. The kinematics must be up to date. */
static void sum_parts(const soa_world *w, const double down[3], double *sums,
                      unsigned char *loose) {
    memset(sums, 0, 3 * (size_t)w->scenario->part_count * sizeof *sums);
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_frame at;
        double V[6];
        soa_model_body(w->model, b, &info);
        const int p = part_of(w, info.joint);
        if (p < 0 || soa_pose(w->model, w->work, info.frame, &at) ||
            soa_velocity(w->model, w->work, info.frame, SOA_AXES_WORLD, V))
            continue;
        double arm[3];
        for (int k = 0; k < 3; ++k)
            arm[k] = at.R[3 * k] * info.com[0] + at.R[3 * k + 1] * info.com[1] +
                     at.R[3 * k + 2] * info.com[2];
        const double v[3] = {V[3] + V[1] * arm[2] - V[2] * arm[1],
                             V[4] + V[2] * arm[0] - V[0] * arm[2],
                             V[5] + V[0] * arm[1] - V[1] * arm[0]};
        sums[3 * p] += info.mass;
        for (int k = 0; k < 3; ++k) {
            sums[3 * p + 1] += info.mass * down[k] * (at.p[k] + arm[k]);
            sums[3 * p + 2] += info.mass * down[k] * v[k];
        }
        const int slides = info.type == SOA_FREE || info.type == SOA_PRISMATIC ||
                           info.type == SOA_CYLINDRICAL || info.type == SOA_PLANAR;
        if (loose && slides && !info.parent) loose[p] = 1;
    }
}
static double downwards(const soa_world *w, double down[3]) {
    double g[3];
    soa_model_gravity(w->model, g);
    const double size = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int k = 0; k < 3; ++k)
        down[k] = size > 0 ? g[k] / size : 0;
    return size;
}

/* True if something that one of the part's shapes may touch is still below it. */
static int may_land(const soa_world *w, int part, const double down[3]) {
    for (int m = 0; m < w->meeting_count; ++m) {
        for (int side = 0; side < 2; ++side) {
            const int own = side ? w->meetings[m].b : w->meetings[m].a;
            const int other = side ? w->meetings[m].a : w->meetings[m].b;
            soa_body_info info;
            if (!w->solids[own].body || soa_model_body(w->model, w->solids[own].body, &info))
                continue;
            if (part_of(w, info.joint) != part) continue;
            const soa_frame *a = &w->pose[own], *b = &w->pose[other];
            double below = 0, above = 0;
            for (int k = 0; k < 3; ++k) {
                below += down[k] * (b->p[k] - a->p[k]);
                /* Height above the surface of a plane. */
                above += b->R[3 * k + 2] * (a->p[k] - b->p[k]);
            }
            if (w->solids[other].shape.type == SOA_SHAPE_PLANE ? above > 0 : below > 0) return 1;
        }
    }
    return 0;
}

soa_status soai_watchdog_open(soa_world *w) {
    const size_t parts = (size_t)w->scenario->part_count;
    double down[3];
    head_of(w)->phase = -1;
    w->part_start = calloc(6 * parts + 1, sizeof *w->part_start);
    w->part_loose = calloc(parts + 1, 1);
    if (!w->part_start || !w->part_loose) return SOA_E_MEMORY;
    downwards(w, down);
    sum_parts(w, down, w->part_start, w->part_loose);
    return SOA_OK;
}

static void watch_falls(soa_world *w) {
    double down[3];
    const double g = downwards(w, down);
    /* Scratch behind the values of the start. */
    double *now = w->part_start + 3 * w->scenario->part_count;
    if (!(g > 0)) return;
    sum_parts(w, down, now, NULL);
    for (int p = 0; p < w->scenario->part_count; ++p) {
        const double mass = now[3 * p], *start = w->part_start + 3 * p;
        if (!w->part_loose[p] || !(mass > 0)) continue;
        const double depth = (now[3 * p + 1] - start[1]) / mass, speed = now[3 * p + 2] / mass;
        if (!(depth > fall_least && speed > 0 && speed * speed >= fall_share * 2 * g * depth))
            continue;
        if (may_land(w, p, down)) continue;
        soai_warn(w, "falls-forever", w->scenario->parts[p].name, depth,
                  "fell %.4g m and still falls, at %.4g m/s; nothing below can stop it: give it "
                  "shapes and a contact with "
                  "the ground, hold it, or set gravity to 0",
                  depth, speed);
    }
}

/* --- each tick -------------------------------------------------------------------------------- */
void soai_watchdog(soa_world *w) {
    const int last = w->state->tick == soai_last_tick(w, w->scenario->duration);
    watched *x = watched_of(w);
    for (int i = 0; (w->controller || w->torque_fn) && i < w->nv; ++i) {
        if (!w->actuated[i]) continue;
        watch_limit(w, i, &x[i], last);
        watch_jumps(w, i, &x[i]);
    }
    if (w->controller) {
        const int phase = soai_controller_phase(w), begun = head_of(w)->phase != phase;
        watch_gains(w, begun);
        if (begun) watch_goals(w);
        head_of(w)->phase = phase;
    }
    if (!last || soai_peek(w)) return;
    if (w->controller) watch_missed(w);
    watch_falls(w);
}
