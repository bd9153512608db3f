/* playground.c  a session of the playground: a saved model, its state, and the quantities that
 * libsoa computes. */
#include "playground.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[1024];

const char *play_message(void) {
    return message;
}
const char *play_version(void) {
    return soa_version();
}
int play_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return -1;
}
int play_status(soa_status status) {
    return status == SOA_OK ? 0 : play_fail("%s", soa_status_text(status));
}
double *play_room(double **numbers, size_t *room, size_t count) {
    if (count > PLAY_MOST_NUMBERS) {
        play_fail("the answer would have %zu numbers", count);
        return NULL;
    }
    if (count > *room || !*numbers) {
        double *grown = realloc(*numbers, (count + 1) * sizeof *grown);
        if (!grown) {
            play_fail("out of memory");
            return NULL;
        }
        *numbers = grown;
        *room = count;
    }
    return *numbers;
}
const char *play_text(play *p) {
    out_char(&p->text, 0);
    if (!p->text.error) return p->text.data;
    play_fail("out of memory");
    return NULL;
}

/* --- a session -------------------------------------------------------------------------------- */
static double *zeros(int count) {
    return calloc((size_t)count + 1, sizeof(double));
}
/* Makes the operators for the present model and tips. A machine that has none (mimic joints, exact
 * rotors) is not an error. */
static void make_machine(play *p) {
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_plan_free(p->plan);
    p->plan = NULL;
    soa_machine_free(p->machine);
    p->machine = NULL;
    const soa_status s = soa_machine_create(p->model, p->tips, p->tip_count, &p->machine, &report);
    p->refused[0] = 0;
    if (s != SOA_OK) {
        p->machine = NULL;
        snprintf(p->refused, sizeof p->refused, "%s",
                 report.text[0] ? report.text : soa_status_text(s));
    }
    char why[256];
    play_expression_plan(p, why, sizeof why);
}
static int take_gravity(play *p, const double gravity[3]) {
    const soa_model *model = NULL;
    soa_work *work = NULL;
    soa_status s = soa_model_with_gravity(p->given, gravity, &model);
    if (s == SOA_OK) s = soa_work_create(model, &work);
    if (s != SOA_OK) {
        soa_model_free(model);
        return play_status(s);
    }
    soa_plan_free(p->plan);
    p->plan = NULL;
    soa_machine_free(p->machine);
    p->machine = NULL;
    soa_work_free(p->work);
    soa_model_free(p->model);
    p->model = model;
    p->work = work;
    make_machine(p);
    return 0;
}

play *play_open(const void *bytes, size_t size) {
    static const double none[3] = {0, 0, 0};
    enum { ALIGN = 64 };
    play *p = calloc(1, sizeof *p);
    if (!p || size > (size_t)1 << 28) {
        free(p);
        play_fail(p ? "larger than 256 MB" : "out of memory");
        return NULL;
    }
    out_start(&p->text, -1);
    p->push.frame = -1;
    p->lead.q = p->lead.v = -1;
    soa_report report = {SOA_OK, -1, 0, ""};
    p->bytes = aligned_alloc(ALIGN, (size + ALIGN) / ALIGN * ALIGN);
    soa_status s = p->bytes ? SOA_OK : SOA_E_MEMORY;
    if (s == SOA_OK) {
        memcpy(p->bytes, bytes, size);
        s = soa_model_from_bytes(p->bytes, size, &p->given, &report);
    }
    if (s == SOA_OK) s = soa_model_with_gravity(p->given, none, &p->floating);
    if (s == SOA_OK) s = soa_work_create(p->floating, &p->floating_work);
    if (s == SOA_OK) {
        const int nq = soa_model_nq(p->given), nv = soa_model_nv(p->given);
        p->q = zeros(nq);
        p->v = zeros(nv);
        p->a = zeros(nv);
        p->tau = zeros(nv);
        p->f0 = zeros(6 * PLAY_MOST_TIPS);
        p->stages = zeros(5 * (nq + 2 * nv));
        if (!p->q || !p->v || !p->a || !p->tau || !p->f0 || !p->stages) s = SOA_E_MEMORY;
    }
    if (s != SOA_OK) {
        play_fail("%s", report.text[0] ? report.text : soa_status_text(s));
        play_close(p);
        return NULL;
    }
    soa_q_neutral(p->given, p->q);
    /* Tip space as in `soa op`: the link of the last joint. */
    soa_body_info info;
    for (int b = soa_model_body_count(p->given); b > 0 && !p->tip_count; --b)
        if (soa_model_body(p->given, b, &info) == SOA_OK && info.nq > 0)
            p->tips[p->tip_count++] = info.frame;
    double gravity[3];
    soa_model_gravity(p->given, gravity);
    if (take_gravity(p, gravity)) {
        play_close(p);
        return NULL;
    }
    return p;
}
void play_close(play *p) {
    if (!p) return;
    play_expression_drop(p);
    soa_machine_free(p->machine);
    soa_work_free(p->work);
    soa_work_free(p->floating_work);
    soa_model_free(p->model);
    soa_model_free(p->floating);
    free(p->q);
    free(p->v);
    free(p->a);
    free(p->tau);
    free(p->f0);
    free(p->stages);
    free(p->numbers);
    free(p->dense);
    free(p->bytes);
    out_free(&p->text);
    free(p);
}

double *play_vector(play *p, const char *name) {
    if (!strcmp(name, "q")) return p->q;
    if (!strcmp(name, "v")) return p->v;
    if (!strcmp(name, "a")) return p->a;
    if (!strcmp(name, "tau")) return p->tau;
    if (!strcmp(name, "f0")) return p->f0;
    return NULL;
}
int play_frame(const play *p, const char *name) {
    return soa_model_find_frame(p->given, name);
}
int play_gravity(play *p, double x, double y, double z) {
    return take_gravity(p, (double[3]){x, y, z});
}
int play_tips(play *p, const int *frames, int count) {
    if (count < 0 || count > PLAY_MOST_TIPS) return play_fail("at most %d tips", PLAY_MOST_TIPS);
    for (int i = 0; i < count; ++i)
        if (frames[i] < 0 || frames[i] >= soa_model_frame_count(p->given))
            return play_fail("tip %d: no such frame", i + 1);
    for (int i = 0; i < count; ++i)
        p->tips[i] = frames[i];
    p->tip_count = count;
    play_expression_drop(p);
    make_machine(p);
    return 0;
}
int play_push(play *p, int frame, double nx, double ny, double nz, double fx, double fy,
              double fz) {
    if (frame >= soa_model_frame_count(p->given)) return play_fail("no such frame");
    p->push = (soa_wrench){frame, SOA_AXES_WORLD, {nx, ny, nz, fx, fy, fz}};
    p->pushes = frame >= 0;
    return 0;
}

/* --- the scene -------------------------------------------------------------------------------- */
/* x y z, then the quaternion w x y z. */
static void place_of(const soa_frame *X, double place[7]) {
    const double *R = X->R;
    const double trace = R[0] + R[4] + R[8];
    double e[4];
    memcpy(place, X->p, 3 * sizeof *place);
    if (trace > 0) {
        e[0] = 1 + trace;
        e[1] = R[7] - R[5];
        e[2] = R[2] - R[6];
        e[3] = R[3] - R[1];
    } else { /* the largest of x, y, z first */
        int i;
        if (R[4] > R[0]) {
            i = R[8] > R[4] ? 2 : 1;
        } else {
            i = R[8] > R[0] ? 2 : 0;
        }
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        e[0] = R[3 * k + j] - R[3 * j + k];
        e[1 + i] = 1 + R[4 * i] - R[4 * j] - R[4 * k];
        e[1 + j] = R[3 * j + i] + R[3 * i + j];
        e[1 + k] = R[3 * k + i] + R[3 * i + k];
    }
    const double length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
    for (int i = 0; i < 4; ++i)
        place[3 + i] = e[i] / length;
}
static const char *unit_of(soa_joint_type type) {
    if (type == SOA_PRISMATIC) return "m";
    return type == SOA_REVOLUTE || type == SOA_HELICAL ? "rad" : "";
}
static void write_joint(app_out *out, const soa_body_info *b) {
    out_text(out, ", \"joint\": {\"name\": ");
    out_string(out, b->joint);
    out_format(out, ", \"type\": \"%s\"", soa_joint_type_name(b->type));
    if (b->type != SOA_SPHERICAL && b->type != SOA_FREE) {
        out_text(out, ", \"axis\": ");
        out_vector(out, b->axis, 3);
    }
    out_format(out, ", \"q\": %d, \"nq\": %d, \"v\": %d, \"nv\": %d", b->q_index, b->nq, b->v_index,
               b->nv);
    if (isfinite(b->lower)) {
        out_text(out, ", \"lower\": ");
        out_number(out, b->lower);
    }
    if (isfinite(b->upper)) {
        out_text(out, ", \"upper\": ");
        out_number(out, b->upper);
    }
    out_format(out, ", \"unit\": \"%s\"}", unit_of(b->type));
}
const char *play_scene(play *p) {
    app_out *out = &p->text;
    double place[7], gravity[3];
    soa_body_info b;
    soa_frame_info f;
    out->size = 0;
    soa_model_gravity(p->given, gravity);
    out_text(out, "{\"kind\": \"scene\", \"version\": 1, \"title\": ");
    out_string(out, soa_model_name(p->given));
    out_text(out, ", \"text\": \"\", \"source\": \"model\", \"live\": true, \"mass\": ");
    out_number(out, soa_model_mass(p->given));
    out_text(out, ", \"gravity\": ");
    out_vector(out, gravity, 3);
    out_format(out, ", \"nq\": %d, \"nv\": %d, \"refused\": ", soa_model_nq(p->given),
               soa_model_nv(p->given));
    out_string(out, p->refused);
    out_text(out, ", \"bodies\": [{\"name\": \"world\", \"part\": \"\", \"parent\": 0, \"place\": "
                  "[0, 0, 0, 1, 0, 0, 0], "
                  "\"mass\": 0, \"com\": [0, 0, 0], \"inertia\": [0, 0, 0, 0, 0, 0]}");
    for (int i = 1; i <= soa_model_body_count(p->given); ++i) {
        if (soa_model_body(p->given, i, &b) != SOA_OK) continue;
        place_of(&b.placement, place);
        out_text(out, ",\n{\"name\": ");
        out_string(out, b.link);
        out_format(out, ", \"part\": \"\", \"parent\": %d, \"frame\": %d, \"place\": ", b.parent,
                   b.frame);
        out_vector(out, place, 7);
        out_text(out, ", \"mass\": ");
        out_number(out, b.mass);
        out_text(out, ", \"com\": ");
        out_vector(out, b.com, 3);
        out_text(out, ", \"inertia\": ");
        out_vector(out, b.inertia, 6);
        write_joint(out, &b);
        out_char(out, '}');
    }
    out_text(out, "],\n\"shapes\": [], \"constraints\": [], \"signals\": [], \"phases\": [], "
                  "\"events\": [], \"summary\": [],\n"
                  "\"time\": {\"first\": 0, \"last\": 0, \"samples\": 0, \"tick\": 0.001}, "
                  "\"scenario\": \"\",\n\"frames\": [");
    for (int i = 0; i < soa_model_frame_count(p->given); ++i) {
        if (soa_model_frame(p->given, i, &f) != SOA_OK) continue;
        place_of(&f.placement, place);
        out_format(out, "%s{\"name\": ", i ? ",\n" : "");
        out_string(out, f.name);
        out_format(out, ", \"body\": %d, \"link\": %s, \"place\": ", f.body,
                   f.is_link ? "true" : "false");
        out_vector(out, place, 7);
        out_char(out, '}');
    }
    out_text(out, "],\n\"tips\": [");
    for (int i = 0; i < p->tip_count; ++i)
        out_format(out, "%s%d", i ? ", " : "", p->tips[i]);
    out_text(out, "], \"q\": ");
    out_vector(out, p->q, (size_t)soa_model_nq(p->given));
    out_char(out, '}');
    return play_text(p);
}

/* --- quantities ------------------------------------------------------------------------------- */
static soa_status places(play *p, double *x) {
    soa_status s = soa_kinematics(p->model, p->work, p->q, NULL, NULL);
    const double world[7] = {0, 0, 0, 1, 0, 0, 0};
    memcpy(x, world, sizeof world);
    for (int i = 1; s == SOA_OK && i <= soa_model_body_count(p->model); ++i) {
        soa_body_info b;
        soa_frame X;
        s = soa_model_body(p->model, i, &b);
        if (s == SOA_OK) s = soa_pose(p->model, p->work, b.frame, &X);
        /* The frame of the link is that of the body; a link on a fixed joint is not a body. */
        if (s == SOA_OK) place_of(&X, x + 7 * i);
    }
    return s;
}
static soa_status pose(play *p, int frame, double *x) {
    soa_frame X = soa_frame_identity();
    const soa_status s = soa_pose(p->model, p->work, frame, &X);
    memcpy(x, X.R, sizeof X.R);
    memcpy(x + 9, X.p, sizeof X.p);
    return s;
}
typedef enum quantity {
    PLACES,
    POSE,
    VELOCITY,
    JACOBIAN,
    JDOT_V,
    MASS,
    MASS_INV,
    RNEA,
    BIAS,
    GRAVITY,
    ABA,
    ENERGY,
    COM,
    MOMENTUM,
    DRNEA_DQ,
    DRNEA_DV,
    DABA_DQ,
    DABA_DV,
    QUANTITIES
} quantity;
static const char *const names[QUANTITIES] = {
    "places",   "pose",     "velocity", "jacobian", "jdot_v",  "mass",
    "mass_inv", "rnea",     "bias",     "gravity",  "aba",     "energy",
    "com",      "momentum", "drnea_dq", "drnea_dv", "daba_dq", "daba_dv"};

int play_compute(play *p, const char *name, int frame) {
    const soa_model *m = p->model;
    soa_work *w = p->work;
    const double *q = p->q, *v = p->v;
    const size_t n = (size_t)soa_model_nv(m), bodies = (size_t)soa_model_body_count(m) + 1;
    const size_t size[QUANTITIES] = {[PLACES] = 7 * bodies,
                                     [POSE] = 12,
                                     [VELOCITY] = 6,
                                     [JACOBIAN] = 6 * n,
                                     [JDOT_V] = 6,
                                     [MASS] = n * n,
                                     [MASS_INV] = n * n,
                                     [RNEA] = n,
                                     [BIAS] = n,
                                     [GRAVITY] = n,
                                     [ABA] = n,
                                     [ENERGY] = 2,
                                     [COM] = 6,
                                     [MOMENTUM] = 9,
                                     [DRNEA_DQ] = n * n,
                                     [DRNEA_DV] = n * n,
                                     [DABA_DQ] = n * n,
                                     [DABA_DV] = n * n};
    int which = 0;
    while (which < QUANTITIES && strcmp(name, names[which]) != 0)
        ++which;
    if (which == QUANTITIES) return play_fail("no quantity '%.60s'", name);
    if (which >= POSE && which <= JDOT_V && (frame < 0 || frame >= soa_model_frame_count(m)))
        return play_fail("no such frame");
    double *x = play_room(&p->numbers, &p->room, size[which]);
    if (!x) return -1;
    soa_status s = SOA_OK;
    if (which >= POSE && which <= JDOT_V) s = soa_kinematics(m, w, q, v, p->a);
    if (s == SOA_OK) switch ((quantity)which) {
        case PLACES: s = places(p, x); break;
        case POSE: s = pose(p, frame, x); break;
        case VELOCITY: s = soa_velocity(m, w, frame, SOA_AXES_WORLD, x); break;
        case JACOBIAN: s = soa_jacobian(m, w, frame, SOA_AXES_WORLD, x); break;
        case JDOT_V: s = soa_jacobian_dot_v(m, w, frame, SOA_AXES_WORLD, x); break;
        case MASS: s = soa_crba(m, w, q, x); break;
        case MASS_INV: s = soa_minv(m, w, q, x); break;
        case RNEA: s = soa_rnea(m, w, q, v, p->a, &p->push, p->pushes, x); break;
        case BIAS: s = soa_bias_torque(m, w, q, v, x); break;
        case GRAVITY: s = soa_gravity_torque(m, w, q, x); break;
        case ABA: s = soa_aba(m, w, q, v, p->tau, &p->push, p->pushes, x); break;
        case ENERGY: s = soa_energy(m, w, q, v, x, x + 1); break;
        case COM: s = soa_centre_of_mass(m, w, q, v, x, x + 3); break;
        case MOMENTUM: s = soa_momentum(m, w, q, v, x, x + 6); break;
        case DRNEA_DQ:
            s = soa_rnea_derivatives(
                m, w,
                &(soa_input){
                    .q = q, .v = v, .a = p->a, .wrenches = &p->push, .wrench_count = p->pushes},
                x, NULL);
            break;
        case DRNEA_DV:
            s = soa_rnea_derivatives(
                m, w,
                &(soa_input){
                    .q = q, .v = v, .a = p->a, .wrenches = &p->push, .wrench_count = p->pushes},
                NULL, x);
            break;
        case DABA_DQ:
            s = soa_aba_derivatives(
                m, w,
                &(soa_input){
                    .q = q, .v = v, .tau = p->tau, .wrenches = &p->push, .wrench_count = p->pushes},
                x, NULL);
            break;
        case DABA_DV:
            s = soa_aba_derivatives(
                m, w,
                &(soa_input){
                    .q = q, .v = v, .tau = p->tau, .wrenches = &p->push, .wrench_count = p->pushes},
                NULL, x);
            break;
        case QUANTITIES: break;
        }
    return s == SOA_OK ? (int)size[which] : play_status(s);
}
double *play_numbers(play *p) {
    return p->numbers;
}
int play_repeat(play *p, int count) {
    double *x = play_room(&p->numbers, &p->room, (size_t)soa_model_nv(p->model));
    soa_status s = x ? SOA_OK : SOA_E_MEMORY;
    for (int i = 0; s == SOA_OK && i < count; ++i)
        s = soa_aba(p->model, p->work, p->q, p->v, p->tau, NULL, 0, x);
    return play_status(s);
}
