/* bench_world.c  whole simulations: libsoa, MuJoCo and Simbody with the same scenes in the same
 * run.
 *
 * arm        a 7-joint arm swings from rest for 3 s under gravity, no friction (from a raised
 *            posture errors grow a thousandfold per second, whichever program computes)
 * two arms   a free-flying satellite with two moving 7-joint arms, and a box that tumbles beside
 *            it; no gravity
 * hold       the same, with the box tied to both tips at one point each: a closed chain
 * boxes      100 cubes fall on a plane
 *
 * Scenes without contact: processor time per simulated second against the error of the last state
 * (largest difference of a coordinate or a velocity; rad, m, rad/s, m/s) from our reference with
 * tolerance 1e-13, which is checked by a method of another order. All programs run in turn, in
 * several rounds; the smallest time of each counts. Building and setting up are not timed. Boxes:
 * time, energy and depth, all computed from the states by the same code.
 *
 *   soa_bench_world DIRECTORY_OF_PEERS [PICTURE.svg [ROUNDS [free | boxes | heap]]] */
#define _GNU_SOURCE /* for RTLD_DEEPBIND */
#include "soa/soa.h"
#include "soa/world.h"
#include "world_peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_PEERS = 2, MOST_POINTS = 160, MOST_CURVES = 16, MOST_VALUES = 24 };

/* s of processor time for one fall of the boxes. */
static const double PATIENCE = 30;
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- scenes ----------------------------------------------------------------------------------- */
static const char arm_text[] =
    "name: arm\nduration: 3\ngravity: [0, 0, -9.81]\n"
    "parts:\n"
    "  - {name: arm, model: arm7, limits: false, damping_scale: 0, friction_scale: 0,\n"
    "     rotor_scale: 0,\n"
    "     positions: {joint2: 2.8, joint3: 0.1, joint4: -0.3, joint5: 0.1, joint6: 0.3}}\n"
    "recording: {rate: 0.333333333333333333}\n";
static const char two_arms_text[] =
    "name: two arms and a box\nduration: 5\ngravity: [0, 0, 0]\n"
    "parts:\n"
    "  - {name: robot, model: satellite, limits: false, damping_scale: 0, friction_scale: 0,\n"
    "     rotor_scale: 0,\n"
    "     positions: {left_elbow: 0.6, right_elbow: 0.5, left_shoulder_pitch: -0.3, "
    "right_shoulder_pitch: -0.2},\n"
    "     rates: {left_shoulder_yaw: 0.5, left_shoulder_pitch: -0.4, left_upper_roll: 0.6, "
    "left_elbow: 0.8,\n"
    "             left_wrist_pitch: -1, left_wrist_yaw: 0.7, left_wrist_roll: 1.2, "
    "right_shoulder_yaw: -0.6,\n"
    "             right_shoulder_pitch: 0.3, right_upper_roll: -0.7, right_elbow: 0.9, "
    "right_wrist_pitch: 0.8,\n"
    "             right_wrist_yaw: -0.5, right_wrist_roll: -1}}\n"
    "  - {name: box, body: {mass: 30, box: [0.6, 0.9, 0.4]}, place: [5, 0, 0.4],\n"
    "     twist: {angular: [0.3, 1, -0.2], linear: [-0.2, 0.1, 0]}}\n"
    "recording: {rate: 0.2}\n";
static const char hold_text[] =
    "name: two arms hold a box\nduration: 5\ngravity: [0, 0, 0]\n"
    "parts:\n"
    "  - {name: robot, model: satellite, limits: false, damping_scale: 0, friction_scale: 0,\n"
    "     rotor_scale: 0,\n"
    "     positions: {left_elbow: 0.6, right_elbow: 0.6, left_shoulder_pitch: -0.3, "
    "right_shoulder_pitch: -0.3},\n"
    "     rates: {left_shoulder_yaw: 0.1, left_shoulder_pitch: -0.2, left_upper_roll: 0.2, "
    "left_elbow: 0.4,\n"
    "             left_wrist_pitch: -0.3, right_shoulder_pitch: 0.1, right_upper_roll: -0.2, "
    "right_elbow: 0.3}}\n"
    "  - {name: box, body: {mass: 30, box: [0.6, 0.9, 0.4]}, place: [3.4, 0, 0.1]}\n"
    "constraints:\n"
    "  - {kind: loop, joint: spherical, frames: [robot.left_tip, box], place2: [0, 0.45, 0]}\n"
    "  - {kind: loop, joint: spherical, frames: [robot.right_tip, box], place2: [0, -0.45, 0]}\n"
    "recording: {rate: 0.2}\n";

typedef struct scene {
    soa_scenario scenario;
    soa_world *world; /* at the start */
    soa_body_info *body;
    world_tie tie[8];
    world_scene peer;
    int nq, nv;
    /* floor: accuracy of the reference. */
    double *q, *v, *q_ref, *v_ref, floor;
} scene;

static void close_scene(scene *s) {
    soa_world_free(s->world);
    soa_scenario_free(&s->scenario);
    free(s->body);
    free(s->q);
}
static int open_scene(scene *s, const char *text, size_t size) {
    soa_report report = {.body = -1};
    memset(s, 0, sizeof *s);
    if (soa_scenario_parse(text, size, "scene", &s->scenario, &report) ||
        soa_world_create(&s->scenario, &s->world, &report)) {
        printf("%s\n", report.text);
        return 1;
    }
    const soa_model *m = soa_world_model(s->world);
    const int bodies = soa_model_body_count(m);
    s->nq = soa_model_nq(m);
    s->nv = soa_model_nv(m);
    const size_t nq = (size_t)s->nq, nv = (size_t)s->nv;
    s->body = calloc((size_t)bodies + 1, sizeof *s->body);
    s->q = calloc(2 * (nq + nv), sizeof *s->q);
    if (!s->body || !s->q) return 1;
    s->v = s->q + nq;
    s->q_ref = s->v + nv;
    s->v_ref = s->q_ref + nq;
    memcpy(s->q, soa_world_q(s->world), nq * sizeof *s->q);
    memcpy(s->v, soa_world_v(s->world), nv * sizeof *s->v);
    for (int b = 1; b <= bodies; ++b)
        soa_model_body(m, b, &s->body[b]);
    s->peer.model = (peer_model){
        .name = s->scenario.name, .nq = s->nq, .nv = s->nv, .bodies = bodies, .body = s->body};
    soa_model_gravity(m, s->peer.model.gravity);
    for (int i = 0; i < s->scenario.constraint_count; ++i)
        for (int side = 0; side < 2; ++side) {
            const soa_constraint_def *d = &s->scenario.constraints[i];
            soa_frame_info info;
            soa_model_frame(m, soa_model_find_frame(m, s->scenario.constraint_frames[2 * i + side]),
                            &info);
            const soa_frame at = soa_frame_compose(&info.placement, side ? &d->place2 : &d->place1);
            s->tie[i].body[side] = info.body;
            memcpy(s->tie[i].at[side], at.p, sizeof at.p);
        }
    s->peer.tie = s->tie;
    s->peer.tie_count = s->scenario.constraint_count;
    return 0;
}

/* --- one motion ------------------------------------------------------------------------------- */
typedef struct point {
    const char *who;
    char how[64]; /* name of the curve */
    world_way way;
    int order, plain; /* order of ours; plain: soa_simulate */
    int number;       /* number of the peer's setting */
    const world_peer *peer;
    void *machine;
    double time, error; /* s per simulated second */
    long long steps, evaluations;
    int lost;
} point;

/* Error of a state. q and -q of a quaternion are the same attitude. */
static double state_error(const scene *s, const double *q, const double *v) {
    double worst = 0;
    for (int b = 1; b <= s->peer.model.bodies; ++b) {
        const soa_body_info *info = &s->body[b];
        for (int k = 0; k < info->nq; ++k) {
            const int i = info->q_index + k;
            double off = fabs(q[i] - s->q_ref[i]);
            if (info->type == SOA_FREE && k >= 3) {
                double dot = 0;
                for (int j = 3; j < 7; ++j)
                    dot += q[info->q_index + j] * s->q_ref[info->q_index + j];
                off = fabs(q[i] - (dot < 0 ? -s->q_ref[i] : s->q_ref[i]));
            }
            if (!(off <= worst)) worst = off;
        }
    }
    for (int i = 0; i < s->nv; ++i) {
        const double off = fabs(v[i] - s->v_ref[i]);
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

static void move_ours(scene *s, point *p, double *q, double *v) {
    soa_report report = {.body = -1};
    soa_world *w = NULL;
    soa_integration *o = &s->scenario.integration;
    const soa_integration before = *o;
    o->method = p->way.fixed ? SOA_INTEGRATE_FIXED : SOA_INTEGRATE_EXPLICIT;
    o->order = p->order;
    o->step = p->way.fixed ? p->way.value : 0;
    if (!p->way.fixed) {
        o->relative_tolerance = p->way.value;
        o->absolute_tolerance = p->way.value;
    }
    p->lost = soa_world_create(&s->scenario, &w, &report) != SOA_OK;
    const double begin = seconds();
    while (!p->lost && soa_world_time(w) < s->scenario.duration * (1 - 1e-12))
        p->lost = soa_world_tick(w, &report) != SOA_OK;
    const double spent = (seconds() - begin) / s->scenario.duration;
    if (!p->lost) {
        soa_world_summary sum;
        p->time = fmin(p->time, spent);
        memcpy(q, soa_world_q(w), (size_t)s->nq * sizeof *q);
        memcpy(v, soa_world_v(w), (size_t)s->nv * sizeof *v);
        soa_world_summarise(w, &sum);
        p->steps = sum.steps;
        p->evaluations = sum.evaluations;
    }
    if (p->lost) printf("  %s: %s\n", p->way.curve, report.text);
    soa_world_free(w);
    *o = before;
}
typedef struct last {
    const scene *s;
    double *q, *v;
} last;
static bool keep_last(void *user, const soa_sim_sample *sample) {
    const last *l = user;
    memcpy(l->q, sample->q, (size_t)l->s->nq * sizeof *l->q);
    memcpy(l->v, sample->v, (size_t)l->s->nv * sizeof *l->v);
    return 0;
}
static void move_plain(scene *s, point *p, double *q, double *v) {
    soa_sim_options o = soa_sim_options_default();
    soa_sim_result result;
    soa_report report = {.body = -1};
    last l = {s, q, v};
    o.duration = o.sample_time = s->scenario.duration;
    o.order = p->order;
    o.relative_tolerance = o.absolute_tolerance = p->way.value;
    o.sample = keep_last;
    o.sample_user = &l;
    const double begin = seconds();
    p->lost = soa_simulate(soa_world_model(s->world), s->q, s->v, &o, &result, &report) != SOA_OK;
    p->time = fmin(p->time, (seconds() - begin) / s->scenario.duration);
    p->steps = result.steps;
    p->evaluations = result.evaluations;
}
static void move_theirs(scene *s, point *p, double *q, double *v) {
    p->lost = p->peer->begin(p->machine, p->number, s->q, s->v);
    if (p->lost) return;
    const double begin = seconds();
    p->lost = p->peer->advance(p->machine, s->scenario.duration);
    const double spent = (seconds() - begin) / s->scenario.duration;
    if (p->lost) return;
    p->time = fmin(p->time, spent);
    p->peer->state(p->machine, q, v);
}
static void move(scene *s, point *p) {
    double *q = calloc((size_t)(s->nq + s->nv), sizeof *q), *v = q + s->nq;
    if (!q) return;
    if (p->peer)
        move_theirs(s, p, q, v);
    else if (p->plain)
        move_plain(s, p, q, v);
    else
        move_ours(s, p, q, v);
    p->error = p->lost ? NAN : fmax(state_error(s, q, v), s->floor);
    free(q);
}

/* Computes the reference with order 8, and how far order 5 is from it. */
static int make_reference(scene *s) {
    point p = {.order = 8, .way = {"reference", 1e-13, 0}, .time = INFINITY};
    double *q = calloc((size_t)(s->nq + s->nv), sizeof *q), *v = q + s->nq;
    if (!q) return 1;
    move_ours(s, &p, s->q_ref, s->v_ref);
    p.order = 5;
    if (!p.lost) move_ours(s, &p, q, v);
    s->floor = p.lost ? NAN : state_error(s, q, v);
    free(q);
    return p.lost;
}

/* --- work and precision ----------------------------------------------------------------------- */
typedef struct peers {
    const world_peer *of[MOST_PEERS];
    int count;
} peers;

static int list_ours(const scene *s, point *p) {
    static const double tolerance[] = {1e-2, 1e-3, 1e-4,  1e-5,  1e-6, 1e-7,
                                       1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
    static const double step[] = {2e-1, 1e-1, 5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4};
    enum { TOLERANCES = sizeof tolerance / sizeof *tolerance, STEPS = sizeof step / sizeof *step };
    static const struct {
        const char *name;
        int order, plain, fixed;
    } curve[] = {{"world, order 5", 5, 0, 0},        {"world, order 8", 8, 0, 0},
                 {"soa_simulate, order 5", 5, 1, 0}, {"soa_simulate, order 8", 8, 1, 0},
                 {"world, fixed, order 2", 2, 0, 1}, {"world, fixed, order 4", 4, 0, 1},
                 {"world, fixed, order 5", 5, 0, 1}};
    int count = 0;
    for (size_t c = 0; c < sizeof curve / sizeof *curve; ++c) {
        if (curve[c].plain && s->peer.tie_count) continue;
        for (int i = 0; i < (curve[c].fixed ? STEPS : TOLERANCES); ++i) {
            p[count] = (point){.who = "libsoa",
                               .order = curve[c].order,
                               .plain = curve[c].plain,
                               .time = INFINITY};
            p[count].way =
                (world_way){curve[c].name, curve[c].fixed ? step[i] : tolerance[i], curve[c].fixed};
            snprintf(p[count].how, sizeof p[count].how, "%s", curve[c].name);
            ++count;
        }
    }
    return count;
}
static int list_theirs(const scene *s, const peers *others, void **machine, point *p, int most) {
    int count = 0;
    for (int n = 0; n < others->count; ++n) {
        char why[300] = "";
        machine[n] = others->of[n]->open(&s->peer, why, sizeof why);
        if (!machine[n]) printf("  %s: %s\n", others->of[n]->name, why);
        world_way way;
        for (int i = 0; machine[n] && count < most && others->of[n]->way(machine[n], i, &way);
             ++i) {
            p[count] =
                (point){.who = others->of[n]->name, .way = way, .number = i, .time = INFINITY};
            p[count].peer = others->of[n];
            p[count].machine = machine[n];
            snprintf(p[count].how, sizeof p[count].how, "%s%s", way.fixed ? "fixed, " : "",
                     way.curve);
            ++count;
        }
    }
    return count;
}

/* Our lower curve at this error: the fastest of our points that are at least as accurate. Within 1
 * %, because the same method with the same step has the same error except for rounding. */
static const point *best_of_ours(const point *p, int ours, double error, int fixed_only) {
    const point *best = NULL;
    for (int i = 0; i < ours; ++i)
        if (!p[i].lost && p[i].error <= 1.01 * error && (!fixed_only || p[i].way.fixed) &&
            (!best || p[i].time < best->time))
            best = &p[i];
    return best;
}

typedef struct picture {
    double error[MOST_CURVES][MOST_VALUES], time[MOST_CURVES][MOST_VALUES];
    soa_plot_curve curve[MOST_CURVES];
    int count;
} picture;

/* Short names of the curves that get a line. */
static const char *short_name(const point *p) {
    static const char *const name[][3] = {{"libsoa", "world, order 5", "libsoa 5"},
                                          {"libsoa", "world, order 8", "libsoa 8"},
                                          {"libsoa", "soa_simulate, order 8", "soa_simulate 8"},
                                          {"libsoa", "world, fixed, order 4", "libsoa fixed 4"},
                                          {"MuJoCo", "fixed, Euler", "MuJoCo Euler"},
                                          {"MuJoCo", "fixed, RK4", "MuJoCo RK4"},
                                          {"MuJoCo", "fixed, implicit", "MuJoCo implicit"},
                                          {"Simbody", "Merson 4", "Simbody Merson"},
                                          {"Simbody", "Feldberg 5", "Simbody Feldberg"},
                                          {"Simbody", "CPodes Adams", "Simbody CPodes"},
                                          {"Simbody", "fixed, Verlet", "Simbody Verlet"}};
    for (size_t i = 0; i < sizeof name / sizeof *name; ++i)
        if (!strcmp(p->who, name[i][0]) && !strcmp(p->how, name[i][1])) return name[i][2];
    return NULL;
}
static void draw(const point *p, int count, picture *out) {
    out->count = 0;
    for (int i = 0, next; i < count && out->count < MOST_CURVES; i = next) {
        const int c = out->count;
        int n = 0;
        for (next = i; next < count && p[next].who == p[i].who && !strcmp(p[next].how, p[i].how);
             ++next) {
            if (p[next].lost || !(p[next].error > 0 && p[next].error < 10) || n == MOST_VALUES)
                continue;
            out->error[c][n] = p[next].error;
            out->time[c][n++] = p[next].time * 1e3;
        }
        if (!n || !short_name(&p[i])) continue;
        out->curve[out->count++] =
            (soa_plot_curve){short_name(&p[i]), out->time[c], out->error[c], n, 1};
    }
}

static int compare(const char *text, size_t size, const peers *others, int rounds, picture *out) {
    static point p[MOST_POINTS];
    void *machine[MOST_PEERS] = {0};
    scene s;
    if (open_scene(&s, text, size)) return 1;
    printf("\n%s: %d coordinates, %d ties, %g s\n", s.scenario.name, s.nv, s.peer.tie_count,
           s.scenario.duration);
    if (make_reference(&s)) return 1;
    printf("  reference: order 8 against order 5 at tolerance 1e-13: %.1e\n", s.floor);
    const int ours = list_ours(&s, p),
              count = ours + list_theirs(&s, others, machine, p + ours, MOST_POINTS - ours);
    /* Long motions run only once. */
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < count; ++i)
            if (!round || (!p[i].lost && p[i].time * s.scenario.duration < 0.5)) move(&s, &p[i]);
    printf("  %-8s %-26s %9s %12s %10s %8s %9s   %s\n", "", "", "value", "us per s", "error",
           "steps", "evals", "libsoa as good: us per s, times faster");
    int worse = 0, judged = 0, garbage = 0;
    for (int i = 0; i < count; ++i) {
        printf("  %-8s %-26s %9.0e", p[i].who, p[i].how, p[i].way.value);
        if (p[i].lost) {
            printf(" could not\n");
            continue;
        }
        printf(" %12.1f %10.1e", p[i].time * 1e6, p[i].error);
        if (!p[i].peer) {
            printf(" %8lld %9lld\n", p[i].steps, p[i].evaluations);
            continue;
        }
        const point *best = best_of_ours(p, ours, p[i].error, 0),
                    *fixed = best_of_ours(p, ours, p[i].error, 1);
        printf(" %18s   %10.1f %6.1f", "", best ? best->time * 1e6 : NAN,
               best ? p[i].time / best->time : NAN);
        if (p[i].way.fixed && fixed)
            printf("; fixed steps %10.1f %6.1f", fixed->time * 1e6, p[i].time / fixed->time);
        ++judged;
        garbage += !(p[i].error < 1);
        const int lower = best && best->time <= p[i].time;
        worse += !lower;
        printf("%s\n", lower ? "" : "   NOT MET");
    }
    printf("  goal, the lower curve everywhere: %s (%d of %d points of others lie above ours; %d "
           "have errors of 1 or "
           "more)\n",
           worse || !judged ? "NOT MET" : "met", judged - worse, judged, garbage);
    draw(p, count, out);
    for (int n = 0; n < others->count; ++n)
        if (machine[n]) others->of[n]->close(machine[n]);
    close_scene(&s);
    return 0;
}

/* --- boxes ------------------------------------------------------------------------------------ */
/* 100 cubes of 0.1 m and 1 kg, randomly rotated. Spread: 10 x 10 above the plane, where they do not
 * meet each other. Heap: 25 columns of 4 that fall onto each other. */
/* At one corner, N/m, N s/m. */
static const double box_stiffness = 2e4, box_damping = 30, box_friction = 0.5;
static char *box_text(int heap, size_t *length) {
    const size_t room = 65536;
    char *text = malloc(room);
    size_t n = 0;
    if (!text) return NULL;
    n += (size_t)snprintf(
        text, room,
        "name: 100 boxes, %s\nduration: 1\ngravity: [0, 0, -9.81]\nrecording: {rate: 50}\nparts:\n",
        heap ? "in a heap" : "spread");
    for (int i = 0; i < 100; ++i) {
        double u[4];
        for (int k = 0; k < 4; ++k)
            u[k] = soa_scenario_uniform(1, (uint64_t)i, (uint64_t)k);
        const double x = heap ? 0.13 * (i % 5) : 0.25 * (i % 10);
        const double y = heap ? 0.13 * (i / 5 % 5) : 0.25 * (i / 10);
        const double z = heap ? 0.15 + 0.19 * (i / 25) : 0.15 + 0.25 * u[3];
        const double turn = heap ? 0.4 : 2;
        n += (size_t)snprintf(text + n, room - n,
                              "  - {name: b%d, body: {mass: 1, box: [0.1, 0.1, 0.1]}, place: {xyz: "
                              "[%.6f, %.6f, %.6f], "
                              "rpy: [%.6f, %.6f, %.6f]}}\n",
                              i, x, y, z, turn * (u[0] - 0.5), turn * (u[1] - 0.5),
                              turn * (u[2] - 0.5));
    }
    n += (size_t)snprintf(text + n, room - n,
                          "  - {name: ground, fixed: true, body: {}}\nshapes:\n");
    for (int i = 0; i < 100; ++i)
        n += (size_t)snprintf(text + n, room - n,
                              "  - {name: s%d, group: boxes, on: b%d, box: [0.1, 0.1, 0.1]}\n", i,
                              i);
    n += (size_t)snprintf(text + n, room - n,
                          "  - {name: floor, on: ground, plane: {}}\ncontacts:\n");
    for (int k = 0; k < 2; ++k)
        n += (size_t)snprintf(
            text + n, room - n,
            "  - {between: [boxes, %s], law: linear, margin: 1 mm, stiffness: %g, damping: %g, "
            "friction: %g, tangential_stiffness: 1e4, tangential_damping: 20}\n",
            k ? "boxes" : "floor", box_stiffness, box_damping, box_friction);
    *length = n;
    return text;
}

typedef struct tally {
    soa_work *work;
    /* J; m below the plane, ever and now. */
    double start, least, most, kinetic, deepest, lowest;
} tally;
static void take(const scene *s, const double *q, const double *v, int first, tally *t) {
    double kinetic = NAN, potential = NAN;
    soa_energy(soa_world_model(s->world), t->work, q, v, &kinetic, &potential);
    const double energy = kinetic + potential;
    if (first) {
        t->start = t->most = energy;
        t->deepest = -INFINITY;
    }
    if (!(energy <= t->most)) t->most = energy;
    t->kinetic = kinetic;
    t->lowest = -INFINITY;
    for (int b = 1; b <= s->peer.model.bodies; ++b) {
        double R[9], reach = 0;
        const double *at = q + s->body[b].q_index;
        peer_rotation(at + 3, R);
        for (int k = 0; k < 3; ++k)
            reach += fabs(R[6 + k]) * s->peer.half[k];
        t->lowest = fmax(t->lowest, reach - at[2]);
    }
    t->deepest = fmax(t->deepest, t->lowest);
}

static int drop_ours(scene *s, point *p, tally *t, soa_world_summary *sum, int *contacts) {
    soa_report report = {.body = -1};
    soa_world *w = NULL;
    soa_integration *o = &s->scenario.integration;
    o->method = p->way.fixed ? SOA_INTEGRATE_FIXED : SOA_INTEGRATE_EXPLICIT;
    o->order = p->order;
    o->step = p->way.fixed ? p->way.value : 0;
    if (!p->way.fixed) o->relative_tolerance = o->absolute_tolerance = p->way.value;
    p->lost = soa_world_create(&s->scenario, &w, &report) != SOA_OK;
    double spent = 0;
    if (!p->lost) take(s, s->q, s->v, 1, t);
    while (!p->lost && soa_world_time(w) < s->scenario.duration * (1 - 1e-12)) {
        const double begin = seconds();
        p->lost = soa_world_tick(w, &report) != SOA_OK;
        spent += seconds() - begin;
        if (!p->lost) take(s, soa_world_q(w), soa_world_v(w), 0, t);
        if (!p->lost && spent > PATIENCE &&
            soa_world_time(w) < s->scenario.duration * (1 - 1e-12)) {
            p->lost = 1;
            p->time = spent / soa_world_time(w); /* so far */
        }
    }
    if (p->lost && !(p->time < INFINITY)) printf("  %s\n", report.text);
    if (w) {
        soa_world_summarise(w, sum);
        *contacts = soa_world_contacts(w, NULL, 0);
    }
    soa_world_free(w);
    if (!p->lost) p->time = fmin(p->time, spent / s->scenario.duration);
    return p->lost;
}
static int drop_theirs(scene *s, point *p, tally *t, int *contacts) {
    double *q = calloc((size_t)(s->nq + s->nv), sizeof *q), *v = q + s->nq, spent = 0;
    p->lost = !q || p->peer->begin(p->machine, p->number, s->q, s->v);
    take(s, s->q, s->v, 1, t);
    const int samples = (int)(50 * s->scenario.duration + 0.5);
    for (int i = 1; i <= samples && !p->lost; ++i) {
        const double begin = seconds();
        p->lost = p->peer->advance(p->machine, i / 50.0);
        spent += seconds() - begin;
        if (p->lost) break;
        p->peer->state(p->machine, q, v);
        take(s, q, v, 0, t);
        if (spent > PATIENCE && i < samples) {
            p->lost = 1;
            p->time = spent / (i / 50.0); /* so far */
        }
    }
    *contacts = p->peer->contacts ? p->peer->contacts(p->machine) : -1;
    free(q);
    if (!p->lost) p->time = fmin(p->time, spent / s->scenario.duration);
    return p->lost;
}

static int boxes(int heap, const peers *others) {
    static point p[MOST_POINTS];
    static const struct {
        const char *name;
        int order, fixed;
        double value;
    } way[] = {{"world, order 3", 3, 0, 1e-3},        {"world, order 5", 5, 0, 1e-3},
               {"world, fixed, order 2", 2, 1, 2e-3}, {"world, fixed, order 2", 2, 1, 1e-3},
               {"world, fixed, order 2", 2, 1, 5e-4}, {"world, fixed, order 4", 4, 1, 4e-3},
               {"world, fixed, order 4", 4, 1, 2e-3}, {"world, fixed, order 4", 4, 1, 1e-3},
               {"world, fixed, order 4", 4, 1, 5e-4}};
    void *machine[MOST_PEERS] = {0};
    size_t length = 0;
    char *text = box_text(heap, &length);
    scene s;
    tally t = {0};
    if (!text || open_scene(&s, text, length) || soa_work_create(soa_world_model(s.world), &t.work))
        return 1;
    s.peer.boxes = 1;
    s.peer.friction = box_friction;
    s.peer.stiffness = box_stiffness;
    s.peer.damping = box_damping;
    for (int k = 0; k < 3; ++k)
        s.peer.half[k] = 0.05;
    printf("\n%s: %d coordinates, %g s; depths are of the lowest corner below the plane (negative: "
           "above it)\n",
           s.scenario.name, s.nv, s.scenario.duration);
    printf("  %-8s %-26s %9s %10s %9s %11s %11s %10s %10s %8s\n", "", "", "value", "ms per s",
           "steps", "energy", "kinetic", "deepest", "at end", "contacts");
    printf("  %-8s %-26s %9s %10s %9s %11s %11s %10s %10s %8s   %s\n", "", "", "", "", "",
           "rise, J", "at end, J", "mm", "mm", "at end", "balance, rel. (libsoa)");
    int ours = 0;
    for (size_t i = 0; i < sizeof way / sizeof *way; ++i) {
        p[ours] = (point){.who = "libsoa", .order = way[i].order, .time = INFINITY};
        p[ours].way = (world_way){way[i].name, way[i].value, way[i].fixed};
        snprintf(p[ours].how, sizeof p[ours].how, "%s", way[i].name);
        ++ours;
    }
    const int count = ours + list_theirs(&s, others, machine, p + ours, MOST_POINTS - ours);
    for (int i = 0; i < count; ++i) {
        soa_world_summary sum = {0};
        int contacts = 0;
        /* In Simbody boxes do not touch boxes. */
        if (heap && p[i].peer && !p[i].peer->contacts) continue;
        const int lost = p[i].peer ? drop_theirs(&s, &p[i], &t, &contacts)
                                   : drop_ours(&s, &p[i], &t, &sum, &contacts);
        printf("  %-8s %-26s %9.0e", p[i].who, p[i].how, p[i].way.value);
        if (lost) {
            if (p[i].time < INFINITY)
                printf(" %10.0f so far, left out\n", p[i].time * 1e3);
            else
                printf(" could not\n");
            continue;
        }
        printf(" %10.1f", p[i].time * 1e3);
        if (p[i].peer)
            printf(" %9s", "");
        else
            printf(" %9lld", sum.steps);
        printf(" %11.3g %11.3g %10.3f %10.3f", t.most - t.start, t.kinetic, t.deepest * 1e3,
               t.lowest * 1e3);
        if (contacts >= 0)
            printf(" %8d", contacts);
        else
            printf(" %8s", "");
        if (!p[i].peer)
            printf("   %.1e; contacts created %.1e J at most", sum.energy_error_rel,
                   sum.contact_created);
        printf("\n");
    }
    for (int n = 0; n < others->count; ++n)
        if (machine[n]) others->of[n]->close(machine[n]);
    soa_work_free(t.work);
    close_scene(&s);
    free(text);
    return 0;
}

int main(int count, char **argument) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    static const char *const file[] = {"world_mujoco.so", "world_simbody.so"};
    static picture pictures[3];
    peers others = {.count = 0};
    const int rounds = count > 3 ? atoi(argument[3]) : 3;
    for (int i = 0; i < MOST_PEERS && count > 1; ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argument[1], file[i]);
        /* Simbody contains its own CPODES. */
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        if (!module) continue;
        world_peer_get_fn *get;
        *(void **)&get = dlsym(module, "world_peer_get");
        if (get) others.of[others.count++] = get();
    }
    printf("simulations; processor time per simulated second, least of %d rounds", rounds);
    for (int i = 0; i < others.count; ++i)
        printf("; %s", others.of[i]->version);
    printf("\n");
    const char *only = count > 4 ? argument[4] : "";
    if (!strcmp(only, "boxes")) return boxes(0, &others) || boxes(1, &others);
    if (!strcmp(only, "heap")) return boxes(1, &others);
    if (compare(arm_text, sizeof arm_text - 1, &others, rounds, &pictures[0]) ||
        compare(two_arms_text, sizeof two_arms_text - 1, &others, rounds, &pictures[1]) ||
        compare(hold_text, sizeof hold_text - 1, &others, rounds, &pictures[2]))
        return 1;
    if (count > 2) {
        soa_report report = {.body = -1};
        static const char *const label[3] = {"arm: ms per s", "two arms, box: ms per s",
                                             "arms hold box: ms per s"};
        soa_plot_panel panel[3];
        for (int k = 0; k < 3; ++k)
            panel[k] = (soa_plot_panel){label[k], 1, pictures[k].curve, pictures[k].count};
        const soa_plot plot = {
            .title = "Processor time per simulated second against the error of the last state",
            .x_label = "error (rad, m, rad/s, m/s)",
            .x_log = true,
            .panels = panel,
            .panel_count = 3};
        if (soa_plot_write_svg(&plot, argument[2], &report)) printf("%s\n", report.text);
    }
    return !strcmp(only, "free") ? 0 : boxes(0, &others) || boxes(1, &others);
}
