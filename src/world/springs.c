/* springs.c  spring-dampers between two points.
 *
 * Let d be the vector from point 1 to point 2, L = |d| and u = d / L. Point 1 is pulled along u by
 * f = k (L - L0) + c L', point 2 by the opposite force. The energy k (L - L0)^2 / 2 is part of the
 * potential; the power c L'^2 counts as viscous friction. A spring with L0 = 0 has no direction
 * when the points coincide, and no force either. */
#include "world_internal.h"

#include <math.h>
#include <stdlib.h>

/* A spring at a state. The kinematics must be those of the state. */
typedef struct reach {
    double point[2][3], u[3], length, rate;
} reach;

static soa_status point_of(const soa_world *w, int frame, const double place[3], double point[3],
                           double rate[3]) {
    soa_frame at;
    double V[6];
    soa_status s = soa_pose(w->model, w->work, frame, &at);
    if (!s) s = soa_velocity(w->model, w->work, frame, SOA_AXES_WORLD, V);
    if (s) return s;
    double arm[3];
    for (int k = 0; k < 3; ++k) {
        arm[k] = at.R[3 * k] * place[0] + at.R[3 * k + 1] * place[1] + at.R[3 * k + 2] * place[2];
        point[k] = at.p[k] + arm[k];
    }
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3;
        const int j = (k + 2) % 3;
        rate[k] = V[3 + k] + V[i] * arm[j] - V[j] * arm[i];
    }
    return SOA_OK;
}
static soa_status reach_of(const soa_world *w, const soai_spring *spring, reach *r) {
    double rate[2][3];
    for (int side = 0; side < 2; ++side) {
        const soa_status s =
            point_of(w, spring->frame[side], spring->def->place[side], r->point[side], rate[side]);
        if (s) return s;
    }
    r->length = 0;
    r->rate = 0;
    for (int k = 0; k < 3; ++k) {
        r->u[k] = r->point[1][k] - r->point[0][k];
        r->length += r->u[k] * r->u[k];
    }
    r->length = sqrt(r->length);
    for (int k = 0; k < 3; ++k) {
        r->u[k] = r->length > 0 ? r->u[k] / r->length : 0;
        r->rate += r->u[k] * (rate[1][k] - rate[0][k]);
    }
    return SOA_OK;
}
static double force_of(const soai_spring *spring, const reach *r) {
    return spring->def->stiffness * (r->length - spring->rest) + spring->def->damping * r->rate;
}

soa_status soai_springs_open(soa_world *w, soa_report *report) {
    const soa_scenario *sc = w->scenario;
    if (!sc->spring_count) return SOA_OK;
    w->springs = calloc((size_t)sc->spring_count, sizeof *w->springs);
    if (!w->springs) return SOA_E_MEMORY;
    for (int i = 0; i < sc->spring_count; ++i) {
        soai_spring *spring = &w->springs[i];
        spring->def = &sc->springs[i];
        for (int side = 0; side < 2; ++side) {
            const char *name = spring->def->frame[side];
            soa_frame_info info;
            spring->frame[side] = !strcmp(name, "world") ? 0 : soa_model_find_frame(w->model, name);
            if (spring->frame[side] < 0)
                return soai_scenario_fault(sc, spring->def->mark, SOA_E_NAME, report,
                                           "spring '%s': there is no frame '%s'%s",
                                           spring->def->name, name,
                                           soai_nearest_frame(w->model, name));
            soa_model_frame(w->model, spring->frame[side], &info);
            spring->body[side] = info.body;
        }
        if (spring->body[0] == spring->body[1])
            return soai_scenario_fault(
                sc, spring->def->mark, SOA_E_ARGUMENT, report,
                "spring '%s': both of its points are on one body; it would do nothing",
                spring->def->name);
        ++w->spring_count;
    }
    return SOA_OK;
}
void soai_springs_close(soa_world *w) {
    free(w->springs);
}
int soai_springs_hold_world(const soa_world *w) {
    for (int i = 0; i < w->spring_count; ++i)
        if (!w->springs[i].body[0] || !w->springs[i].body[1]) return 1;
    return 0;
}
/* Springs without a given length are relaxed at the start. The kinematics must be those of the
 * start. */
soa_status soai_springs_start(soa_world *w) {
    for (int i = 0; i < w->spring_count; ++i) {
        soai_spring *spring = &w->springs[i];
        reach r;
        spring->rest = spring->def->length;
        if (spring->rest >= 0) continue;
        const soa_status s = reach_of(w, spring, &r);
        if (s) return s;
        spring->rest = r.length;
    }
    return SOA_OK;
}
soa_status soai_springs_pull(soa_world *w, double *ledger) {
    for (int i = 0; i < w->spring_count; ++i) {
        const soai_spring *spring = &w->springs[i];
        reach r;
        const soa_status s = reach_of(w, spring, &r);
        if (s) return s;
        double force[3];
        for (int k = 0; k < 3; ++k)
            force[k] = force_of(spring, &r) * r.u[k];
        soai_push(w, spring->body[0], r.point[0], force, 1);
        soai_push(w, spring->body[1], r.point[1], force, -1);
        ledger[SOAI_VISCOUS] += spring->def->damping * r.rate * r.rate;
    }
    return SOA_OK;
}
soa_status soai_springs_energy(const soa_world *w, double *energy) {
    *energy = 0;
    for (int i = 0; i < w->spring_count; ++i) {
        const soai_spring *spring = &w->springs[i];
        reach r;
        const soa_status s = reach_of(w, spring, &r);
        if (s) return s;
        *energy +=
            0.5 * spring->def->stiffness * (r.length - spring->rest) * (r.length - spring->rest);
    }
    return SOA_OK;
}
soa_status soai_spring_now(const soa_world *w, int index, double *length, double *force) {
    reach r;
    const soa_status s = reach_of(w, &w->springs[index], &r);
    if (s) return s;
    *length = r.length;
    *force = force_of(&w->springs[index], &r);
    return SOA_OK;
}
