/* stops.c  joints at their limits: where the stops are, how hard they are, what they do.
 *
 * where   the limits of the model; those of a joint that follows another (mimic) are carried over to the joint it follows.
 *         A joint that starts beyond a limit has its stop where it starts: a stop pushes back, it does not throw
 * law     beyond the limit by x, moving outwards at x':  f = k x + c s(x / soft) x', never pulling.  s rises smoothly from
 *         0 to 1, so that the force does not jump where a joint arrives: error control means something there too
 * k, c    where the scenario says nothing: a spring and damper of frequency w = sqrt(k / m), critically damped, m being the
 *         inertia that the joint moves at the start, 1 / (M^-1)_ii.  A joint that arrives at its largest speed goes
 *         v / (e w) beyond the limit; w makes that the `give` of the joint, 1 % of its range, and lets a motor at its
 *         largest effort press the stop in by no more.  Bounds on w keep the steps of time from becoming needlessly short */
#include "world_internal.h"

#include <math.h>
#include <stdlib.h>

static const double give_part = 0.01;                    /* of the range between the limits */
static const double give_angle[2] = {1e-3, 2e-2};        /* rad: least, most */
static const double give_length[2] = {1e-4, 5e-3};       /* m */
static const double usual_speed[2] = {10, 1};            /* rad/s, m/s: of joints without a largest speed */
static const double frequency_least = 100;               /* rad/s: gravity presses a slide in by 1 mm */
static const double frequency_most = 1000;               /* rad/s: a period of 6 ms */
static const double soft_part = 0.25;                    /* of the give: where the damper is whole */
static const double outside = 1e-9;                      /* relative: a start that is on the limit but for rounding */
enum { INERTIA_COST = 4000000 }; /* bodies times joints: beyond it M's diagonal has to do instead of that of M^-1 */

/* --- where -------------------------------------------------------------------------------------------------------- */
/* Whether positions of a joint are numbers between limits. */
static int has_positions(const soa_body_info *info) {
    return info->nq == info->nv && info->nv > 0;
}

/* Limits of a follower, as limits of the joint that it follows. */
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
              "it follows another joint whose limits (%.4g to %.4g) leave no position within its own (%.4g to %.4g "
              "there); its own do not act; correct the model",
              w->lower[i], w->upper[i], lower, upper);
}

/* The part that a body belongs to, by its name "part.link"; -1: none. */
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
        soa_body(w->model, b, &info);
        for (int k = 0; k < info.nv; ++k) {
            const int positions = has_positions(&info);
            w->lower[info.v_index + k] = positions ? info.lower : -INFINITY;
            w->upper[info.v_index + k] = positions ? info.upper : INFINITY;
        }
    }
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info, leader;
        soa_body(w->model, b, &info);
        if (info.mimic < 0 || soa_body(w->model, info.mimic, &leader) || leader.nv != 1) continue;
        double lower, upper;
        follower_limits(&info, &lower, &upper);
        narrow(w, leader.v_index, lower, upper, info.joint);
    }
}

static int is_limited(const soa_world *w, int i) {
    return w->lower[i] > -INFINITY || w->upper[i] < INFINITY;
}

/* Says which joints are outside; at the start their stops move out to them. */
static void look_outside(soa_world *w, const double *q, int move_stops) {
    for (int i = 0; i < w->nv; ++i) {
        if (!(w->stop_k[i] > 0)) continue;
        const double at = q[w->v_of_q[i]];
        const double lower = w->lower[i];
        const double upper = w->upper[i];
        const double rounding = outside * (1 + fabs(at));
        if (!(at < lower - rounding) && !(at > upper + rounding)) continue;
        soai_warn(w, "start-outside-limits", soai_coordinate_name(w, i), at,
                  "it %s at %.6g, outside its limits %.6g to %.6g; %s; give a position within them, or limits: false",
                  move_stops ? "starts" : "was put", at, lower, upper,
                  move_stops ? "its stop is where it starts, for the whole run" : "its stop pushes it back");
        if (!move_stops) continue;
        w->lower[i] = fmin(lower, at);
        w->upper[i] = fmax(upper, at);
    }
}
void soai_stops_look(soa_world *w) {
    look_outside(w, w->y, 0);
}

/* --- how hard ----------------------------------------------------------------------------------------------------- */
static double between(double x, double least, double most) {
    return fmin(fmax(x, least), most);
}

/* How far a joint may go beyond its limit. */
static double give_of(const soa_world *w, int i, int turns) {
    const double *bounds = turns ? give_angle : give_length;
    const double range = w->upper[i] - w->lower[i];
    return range < INFINITY ? between(give_part * range, bounds[0], bounds[1]) : bounds[1];
}

/* The inertia that coordinate i moves, the others free; where M has no inverse, the others held; 0: none. */
static double inertia_of(soa_world *w, const double *q, int i, int exact) {
    double *x = w->torque; /* scratch until the first step */
    double *y = w->qdd;
    memset(x, 0, (size_t)w->nv * sizeof *x);
    x[i] = 1;
    if (exact && !soa_minv_mul(w->model, w->work, q, x, y) && y[i] > 0) return 1 / y[i];
    return !soa_mass_mul(w->model, w->work, q, x, y) && y[i] > 0 ? y[i] : 0;
}

/* Whether somebody commands torques. */
static int is_driven(const soa_world *w, int i) {
    const soa_scene_control *control = &w->scenario->control;
    return w->actuated[i] && (control->phase_count > 0 || control->external);
}

static void derive_stop(soa_world *w, const soa_part *part, const soa_body_info *info, int i, double inertia) {
    const int turns = w->angle[w->v_of_q[i]];
    const double give = give_of(w, i, turns);
    const int has_speed = info->max_speed > 0 && info->max_speed < INFINITY;
    const double speed = has_speed ? info->max_speed : usual_speed[!turns];
    const double effort = is_driven(w, i) && w->effort[i] < INFINITY ? w->effort[i] : 0;
    const double e = 2.718281828459045;
    double frequency = speed / (e * give);
    if (inertia > 0) frequency = fmax(frequency, sqrt(effort / (give * inertia)));
    frequency = between(frequency, frequency_least, frequency_most);
    const double mass = inertia > 0 ? inertia : fmax(effort, 1) / (give * frequency * frequency);
    const int own = part->stop_stiffness != SOA_STOP_DERIVED;
    w->stop_k[i] = own ? part->stop_stiffness : mass * frequency * frequency;
    w->stop_c[i] = part->stop_damping != SOA_STOP_DERIVED ? part->stop_damping : 2 * sqrt(w->stop_k[i] * mass);
    w->stop_soft[i] = soft_part * give;
}

/* Stops of all joints with limits at the state of the start. */
void soai_stops_open(soa_world *w) {
    find_limits(w);
    int64_t count = 0;
    for (int i = 0; i < w->nv; ++i) count += is_limited(w, i);
    const int exact = count * w->bodies <= INERTIA_COST;
    for (int b = 1; b <= w->bodies; ++b) {
        soa_body_info info;
        soa_body(w->model, b, &info);
        const int p = soai_part_of(w, info.joint);
        if (p < 0 || !w->scenario->parts[p].model) continue;
        for (int k = 0; k < info.nv; ++k) {
            const int i = info.v_index + k;
            soa_world_part *about = &w->parts[p];
            if (!is_limited(w, i)) continue;
            ++about->limits;
            if (!w->scenario->parts[p].limits) continue;
            derive_stop(w, &w->scenario->parts[p], &info, i, inertia_of(w, w->y, i, exact));
            const int first = !about->stops++;
            about->stop_stiffness[0] = first ? w->stop_k[i] : fmin(about->stop_stiffness[0], w->stop_k[i]);
            about->stop_stiffness[1] = fmax(about->stop_stiffness[1], w->stop_k[i]);
            about->stop_damping[0] = first ? w->stop_c[i] : fmin(about->stop_damping[0], w->stop_c[i]);
            about->stop_damping[1] = fmax(about->stop_damping[1], w->stop_c[i]);
        }
    }
    memset(w->torque, 0, (size_t)w->nv * sizeof *w->torque);
    memset(w->qdd, 0, (size_t)w->nv * sizeof *w->qdd);
    look_outside(w, w->y, 1);
}

/* --- what they do ------------------------------------------------------------------------------------------------- */
/* The torque of coordinate i's stop at q and v; 0 within the limits. */
double soai_stop_torque(const soa_world *w, int i, double q, double v) {
    if (!(w->stop_k[i] > 0) || (q <= w->upper[i] && q >= w->lower[i])) return 0;
    const double side = q > w->upper[i] ? 1 : -1;
    const double depth = side > 0 ? q - w->upper[i] : w->lower[i] - q;
    const double x = fmin(depth / w->stop_soft[i], 1);
    const double part = x * x * (3 - 2 * x);
    const double force = w->stop_k[i] * depth + part * w->stop_c[i] * side * v;
    return force > 0 ? -side * force : 0;
}
