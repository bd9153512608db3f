/* stops.c  joint limits: where the stops are, how stiff they are, and their torques.
 *
 * where   At the limits of the model. Limits of a mimic joint are converted to limits of the joint
 *         it follows. If a joint starts beyond a limit, its stop is where it starts, so that the
 *         stop does not throw the joint back.
 * law     Beyond the limit by x, moving outwards at x':  f = k x + c min(x / soft, 1) x', never
 *         pulling. The damper grows in proportion to the depth, so the force does not jump when a
 *         joint arrives, and error control works there too. A joint that leaves faster than its
 *         stop follows feels no force on the last part of the way.
 * k, c    If the scenario gives none: k = J w^2, where J is the largest inertia that the joint may
 *         have to stop, with everything it carries stretched out. A joint that arrives at its
 *         largest speed v goes v / (e w) beyond the limit if it is critically damped; w is chosen
 *         so that this is the `give` of the joint, 1 % of its range. k is also large enough that a
 *         motor at its largest effort presses the stop in by no more, and likewise the weight of a
 *         floating machine that rests on what the joint carries. The smallest inertia,
 *         1 / (M^-1)_ii at the start with all other joints free, limits k and c, so that time steps
 *         do not become needlessly short. c = 2 sqrt(k m) is critical for the geometric mean m of
 *         the two inertias. */
#include "world_internal.h"
#include "../base/small_algebra.h"

#include <math.h>
#include <stdlib.h>

static const double give_part = 0.01;              /* fraction of the range between the limits */
static const double give_angle[2] = {1e-3, 2e-2};  /* rad: least, most */
static const double give_length[2] = {1e-4, 5e-3}; /* m: least, most */
/* rad/s, m/s: smallest value used; joints without motors become fast. */
static const double usual_speed[2] = {10, 1};
/* rad/s, with J: gravity presses a slide in by 1 mm. */
static const double frequency_least = 100;
/* rad/s, with J: a period of 6 ms. */
static const double frequency_most = 1000;
/* rad/s, with the smallest inertia: steps of about 1 ms. */
static const double frequency_light = 2500;
/* Fraction of the give at which the damper is complete. */
static const double soft_part = 0.25;
/* Relative: a start on the limit except for rounding. */
static const double outside = 1e-9;
/* Bodies times joints. Beyond this, the diagonal of M is used instead of that of M^-1. */
enum { INERTIA_COST = 4000000 };

/* --- where ------------------------------------------------------------------------------------ */
/* True if the positions of a joint are numbers between limits. */
static int has_positions(const soa_body_info *info) {
    return info->nq == info->nv && info->nv > 0;
}

/* Converts limits of a mimic joint to limits of the joint that it follows. */
static void follower_limits(const soa_body_info *info, double *lower, double *upper) {
    *lower = -INFINITY;
    *upper = INFINITY;
    if (info->mimic_ratio == 0) return;
    const double a = (info->lower - info->mimic_offset) / info->mimic_ratio;
    const double b = (info->upper - info->mimic_offset) / info->mimic_ratio;
    *lower = fmin(a, b);
    *upper = fmax(a, b);
}

static void narrow(soa_world *w, int i, double lower, double upper, const char *follower) {
    const double low = fmax(w->lower[i], lower);
    const double high = fmin(w->upper[i], upper);
    if (low <= high) {
        w->lower[i] = low;
        w->upper[i] = high;
        return;
    }
    soai_warn(w, "limits-exclude", follower, lower,
              "it follows another joint whose limits (%.4g to %.4g) leave no position within its "
              "own (%.4g to %.4g "
              "there); its own do not act; correct the model",
              w->lower[i], w->upper[i], lower, upper);
}

/* Part of a body, from its name "part.link"; -1: none. */
int soai_part_of(const soa_world *w, const char *name) {
    for (int p = 0; p < w->scenario->part_count; ++p) {
        const char *part = w->scenario->parts[p].name;
        const size_t n = strlen(part);
        if (!strncmp(name, part, n) && (name[n] == '.' || !name[n])) return p;
    }
    return -1;
}

static void find_limits(soa_world *w) {
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        for (int k = 0; k < info.nv; ++k) {
            const int positions = has_positions(&info);
            w->lower[info.v_index + k] = positions ? info.lower : -INFINITY;
            w->upper[info.v_index + k] = positions ? info.upper : INFINITY;
        }
    }
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info, leader;
        soa_model_body(w->model, b, &info);
        if (info.mimic < 0 || soa_model_body(w->model, info.mimic, &leader) || leader.nv != 1)
            continue;
        double lower, upper;
        follower_limits(&info, &lower, &upper);
        narrow(w, leader.v_index, lower, upper, info.joint);
    }
}

static int is_limited(const soa_world *w, int i) {
    return w->lower[i] > -INFINITY || w->upper[i] < INFINITY;
}

/* Warns of joints outside their limits. At the start, their stops are moved out to them. */
static void look_outside(soa_world *w, const double *q, int move_stops) {
    for (int i = 0; i < w->nv; ++i) {
        if (!(w->stop_k[i] > 0)) continue;
        const double at = q[w->v_of_q[i]];
        const double lower = w->lower[i];
        const double upper = w->upper[i];
        const double rounding = outside * (1 + fabs(at));
        if (!(at < lower - rounding) && !(at > upper + rounding)) continue;
        soai_warn(w, "start-outside-limits", soai_coordinate_name(w, i), at,
                  "it %s at %.6g, outside its limits %.6g to %.6g; %s; give a position within "
                  "them, or limits: false",
                  move_stops ? "starts" : "was put", at, lower, upper,
                  move_stops ? "its stop is where it starts, for the whole run"
                             : "its stop pushes it back");
        if (!move_stops) continue;
        w->lower[i] = fmin(lower, at);
        w->upper[i] = fmax(upper, at);
    }
}
void soai_stops_look(soa_world *w) {
    look_outside(w, w->y, 0);
}

/* --- how stiff -------------------------------------------------------------------------------- */
static double between(double x, double least, double most) {
    return fmin(fmax(x, least), most);
}

/* Allowed deflection beyond the limit. */
static double give_of(const soa_world *w, int i, int turns) {
    const double *bounds = turns ? give_angle : give_length;
    const double range = w->upper[i] - w->lower[i];
    return range < INFINITY ? between(give_part * range, bounds[0], bounds[1]) : bounds[1];
}

/* A body with everything it carries, as an upper bound: mass, first and second moments about its
 * joint with all joints stretched out, and how far it reaches. */
typedef struct load {
    double mass, first, second, reach;
} load;

/* Distance by which a slide can move its load. */
static double stroke(const soa_body_info *info) {
    if (info->type != SOA_PRISMATIC) return 0;
    const double most = fmax(fabs(info->lower), fabs(info->upper));
    return most < INFINITY ? most : 0;
}

static void weigh(const soa_world *w, load *of) {
    for (int f = 1; f < soa_model_frame_count(w->model); ++f) {
        soa_frame_info info;
        soa_model_frame(w->model, f, &info);
        of[info.body].reach = fmax(of[info.body].reach, soai_norm3(info.placement.p));
    }
    for (int b = w->bodies; b >= 1; --b) { /* children first */
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const double arm = soai_norm3(info.com);
        const double *I = info.inertia;
        of[b].reach = fmax(of[b].reach, arm);
        of[b].mass += info.mass;
        of[b].first += info.mass * arm;
        of[b].second += info.mass * arm * arm + fmax(I[0], fmax(I[1], I[2]));
        const double length = soai_norm3(info.placement.p) + stroke(&info);
        load *parent = &of[info.parent];
        parent->second += of[b].second + length * (2 * of[b].first + length * of[b].mass);
        parent->first += of[b].first + length * of[b].mass;
        parent->mass += of[b].mass;
        parent->reach = fmax(parent->reach, length + of[b].reach);
    }
}

/* Largest inertia that a joint coordinate may have to stop. */
static double most_inertia(const soa_body_info *info, const load *of, int turns) {
    const double rotor = info->rotor_inertia * info->gear_ratio * info->gear_ratio;
    return (turns ? of->second : of->mass) + rotor;
}
static int turns_of(const soa_body_info *info) {
    return info->type == SOA_REVOLUTE || info->type == SOA_HELICAL;
}
/* Inertia of the mimic joints that follow a joint and are stopped with it. */
static double followers_inertia(const soa_world *w, int leader, const load *of) {
    double sum = 0;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        if (info.mimic != leader) continue;
        sum += info.mimic_ratio * info.mimic_ratio * most_inertia(&info, &of[b], turns_of(&info));
    }
    return sum;
}

/* Inertia seen by coordinate i with the other joints free; if M has no inverse, with the others
 * held; 0: none. */
static double inertia_of(soa_world *w, const double *q, int i, int exact) {
    double *x = w->torque; /* scratch until the first step */
    double *y = w->qdd;
    memset(x, 0, (size_t)w->nv * sizeof *x);
    x[i] = 1;
    if (exact && !soa_minv_mul(w->model, w->work, q, x, y) && y[i] > 0) return 1 / y[i];
    return !soa_mass_mul(w->model, w->work, q, x, y) && y[i] > 0 ? y[i] : 0;
}

/* True if a law or the caller commands torques here. */
static int is_driven(const soa_world *w, int i) {
    const soa_scene_control *control = &w->scenario->control;
    return w->actuated[i] && (control->phase_count > 0 || control->external);
}

/* What a stop has to stop and hold. */
typedef struct burden {
    /* Inertia: with everything stretched out; with all other joints free (0: not known). */
    double most, least;
    /* Inertia of a floating machine that rests on what the joint carries. */
    double beyond;
    double weight; /* its torque or force */
} burden;

static burden burden_of(const soa_world *w, const soa_world_part *part, const soa_body_info *info,
                        const load *of, int turns) {
    burden out = {.most = most_inertia(info, of, turns)};
    double g[3];
    if (!part->floats) return out;
    soa_model_gravity(w->model, g);
    const double arm = turns ? of->reach : 1;
    out.beyond = part->mass * arm * arm;
    out.weight = part->mass * soai_norm3(g) * arm;
    return out;
}

static void derive_stop(soa_world *w, const soa_part *part, const soa_body_info *info, int i,
                        const burden *of) {
    const int turns = w->angle[w->v_of_q[i]];
    const double give = give_of(w, i, turns);
    const double speed =
        fmax(usual_speed[!turns], info->max_speed < INFINITY ? info->max_speed : 0);
    const double effort = is_driven(w, i) && w->effort[i] < INFINITY ? w->effort[i] : 0;
    const double e = 2.718281828459045;
    const double frequency = between(speed / (e * give), frequency_least, frequency_most);
    const double press = fmax(effort, of->weight) / give;
    const double J = of->most > 0 ? of->most : fmax(press, 1) / (frequency * frequency);
    const double least = of->least > 0 && of->least < J ? of->least : J;
    const double k =
        fmin(fmax(J * frequency * frequency, press), least * frequency_light * frequency_light);
    w->stop_k[i] = part->stop_stiffness != SOA_STOP_DERIVED ? part->stop_stiffness : k;
    const double middle = sqrt(fmax(J, of->beyond) * least);
    const double c = fmin(2 * sqrt(w->stop_k[i] * middle), 2 * least * frequency_light);
    w->stop_c[i] = part->stop_damping != SOA_STOP_DERIVED ? part->stop_damping : c;
    w->stop_soft[i] = soft_part * give;
}

/* Opens the stops of all joints with limits, at the state of the start. */
soa_status soai_stops_open(soa_world *w) {
    load *loads = calloc((size_t)w->bodies + 1, sizeof *loads);
    if (!loads) return SOA_E_MEMORY;
    weigh(w, loads);
    find_limits(w);
    int64_t count = 0;
    for (int i = 0; i < w->nv; ++i)
        count += is_limited(w, i);
    const int exact = count * w->bodies <= INERTIA_COST;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_model_body(w->model, b, &info);
        const int p = soai_part_of(w, info.joint);
        if (p < 0 || !w->scenario->parts[p].model) continue;
        for (int k = 0; k < info.nv; ++k) {
            const int i = info.v_index + k;
            soa_world_part *about = &w->parts[p];
            if (!is_limited(w, i)) continue;
            ++about->limits;
            if (!w->scenario->parts[p].limits) continue;
            const soa_part *part = &w->scenario->parts[p];
            burden of = burden_of(w, about, &info, &loads[b], w->angle[w->v_of_q[i]]);
            of.most += followers_inertia(w, b, loads);
            of.least = inertia_of(w, w->y, i, exact);
            derive_stop(w, part, &info, i, &of);
            ++w->stop_count;
            const int first = !about->stops++;
            about->stop_stiffness[0] =
                first ? w->stop_k[i] : fmin(about->stop_stiffness[0], w->stop_k[i]);
            about->stop_stiffness[1] = fmax(about->stop_stiffness[1], w->stop_k[i]);
            about->stop_damping[0] =
                first ? w->stop_c[i] : fmin(about->stop_damping[0], w->stop_c[i]);
            about->stop_damping[1] = fmax(about->stop_damping[1], w->stop_c[i]);
        }
    }
    memset(w->torque, 0, (size_t)w->nv * sizeof *w->torque);
    memset(w->qdd, 0, (size_t)w->nv * sizeof *w->qdd);
    look_outside(w, w->y, 1);
    free(loads);
    return SOA_OK;
}

/* --- torques ---------------------------------------------------------------------------------- */
/* Torque of coordinate i's stop at q and v; 0 within the limits. */
double soai_stop_torque(const soa_world *w, int i, double q, double v) {
    if (!(w->stop_k[i] > 0) || (q <= w->upper[i] && q >= w->lower[i])) return 0;
    const double side = q > w->upper[i] ? 1 : -1;
    const double depth = side > 0 ? q - w->upper[i] : w->lower[i] - q;
    const double part = fmin(depth / w->stop_soft[i], 1);
    const double force = w->stop_k[i] * depth + part * w->stop_c[i] * side * v;
    return force > 0 ? -side * force : 0;
}

/* Time until a joint reaches its limit or leaves its stop, at its present rate. A longer step might
 * pass over a stop that is only touched lightly, and none of its stages would see it. */
double soai_stops_longest(const soa_world *w, const double *y) {
    double h = INFINITY;
    for (int i = 0; w->stop_count && i < w->nv; ++i) {
        if (!(w->stop_k[i] > 0)) continue;
        const double q = y[w->v_of_q[i]];
        const double v = y[w->at_v + i];
        const double gap[2] = {w->lower[i] - q, w->upper[i] - q};
        for (int side = 0; side < 2; ++side)
            if (gap[side] * v > 0) h = fmin(h, gap[side] / v);
    }
    return h;
}
