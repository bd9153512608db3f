/* contact.c  contact between shapes: normal forces and friction.
 *
 * normal      WD89 section 2.5: f = Kp (e - d) / d - Kd d' for d < e, at the nearest points, equal
 *             and opposite; and the other laws of soa_contact_law. The energy of the spring is
 *             counted, so that the energy a contact returns can be compared with what it took.
 * patches     Every point of a patch has the full law, but points close to each other share it:
 *             with K(x) = (1 - x^2)^2 and x their distance over 10 margins,
 *                 weight_i = 1 / (1 + sum_j a_j K(x_ij)),
 *             a_j = depth of j relative to i, at most 1. A weight does not grow while the point
 *             presses. If a point appears deeper than its motion can explain (because other
 *             features meet now), only the depth added afterwards counts. So the force does not
 *             jump when clipping makes two corners out of one. The energy that each point's spring
 *             has taken is integrated with the motion, and the spring returns no more: no energy is
 *             created however the points move. The paper's law is not changed in this way.
 * tangential  A spring s and a damper: f = -(k s + c v), limited to friction * pressure
 *             (Coulomb). s is part of the state (Dupont, Hayward, Armstrong & Altpeter 2002, an
 *             elasto-plastic friction law):
 *                 s' = v - phi(k |s| / bound) max(0, v . s/|s|) s/|s| + w x s,
 *                 phi from 0 below 0.9 to 1 at 1
 *             v is the sliding velocity of the material points, so rolling is not resisted. w is
 *             the common spin about the normal, so that a held object may be carried around. In
 *             fast sliding the first two terms are reduced by the factor 2 bound / (c |v|), so that
 *             they do not shorten the steps. Below 0.9 the contact sticks: displacements are
 *             reversible and nothing creeps. f . v + (k |s|^2 / 2)' <= 0 always: friction creates
 *             no energy. Friction against spin about the normal is not modelled at a single point;
 *             patches resist it.
 * slots       A lasting touch keeps its spring in a slot, identified by the pair of shapes and the
 *             features that meet. When the features change, the spring moves to the nearest new
 *             point of the same pair. */
#include "world_internal.h"
#include "../base/small_algebra.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BRUTE = 64 }; /* up to this many pairs need no broad phase */

/* Normal force for a distance and its rate, and the energy in the spring. SOA_E_ARGUMENT if the
 * paper's law has no value (d <= 0). saved: the law was continued below its least distance. */
soa_status soai_contact_force(const soa_contact_pair *law, double d, double rate, double *force,
                              double *stored, int *saved) {
    const double e = law->margin, k = law->stiffness;
    *force = *stored = 0;
    *saved = 0;
    if (!(d < e)) return d == d ? SOA_OK : SOA_E_NOT_FINITE;
    switch (law->law) {
    case SOA_CONTACT_PAPER:
        if (!(d > 0)) return SOA_E_ARGUMENT;
        *force = k * (e - d) / d - law->damping * rate;
        *stored = k * (e * log(e / d) - (e - d)); /* integral of the spring from d to e */
        return SOA_OK;
    case SOA_CONTACT_SAFE: {
        const double m = law->least_distance, x = fmax(d, m), beyond = x - d;
        const double at = k * (e - x) / x, slope = k * e / (x * x);
        *saved = d < m;
        *force = at + slope * beyond - law->damping * rate;
        *stored = k * (e * log(e / x) - (e - x)) + beyond * (at + 0.5 * slope * beyond);
        break;
    }
    case SOA_CONTACT_HUNT_CROSSLEY: {
        const double x = e - d, spring = k * pow(x, law->exponent);
        *force = spring * (1 - law->loss * rate);
        *stored = spring * x / (law->exponent + 1);
        break;
    }
    case SOA_CONTACT_LINEAR:
        *force = k * (e - d) - law->damping * rate;
        *stored = 0.5 * k * (e - d) * (e - d);
        break;
    }
    /* A contact never pulls. */
    if (!(*force > 0)) *force = *force == *force ? 0 : NAN;
    return SOA_OK;
}

/* --- making ----------------------------------------------------------------------------------- */
/* Chooses the shapes to record: those that take part in contacts. If these are too many, only those
 * that the scenario gives. None if there are more than SOAI_RECORDED or two have the same name. */
static void choose_recorded(soa_world *w, int among) {
    int count = 0;
    for (int i = 0; i < among; ++i) {
        int meets = 0;
        for (int k = 0; k < w->solid_count && !meets; ++k)
            meets = w->meeting_of[i * w->solid_count + k] >= 0;
        if (!meets) continue;
        if (count == SOAI_RECORDED) return;
        for (int k = 0; k < count; ++k)
            if (!strcmp(w->solids[w->recorded[k]].name, w->solids[i].name)) return;
        w->recorded[count++] = i;
    }
    w->recorded_count = count;
}

soa_status soai_contact_open(soa_world *w, soa_report *report) {
    const soa_status status = soai_solids_open(w, report);
    if (status) return status;
    const size_t n = (size_t)w->solid_count;
    w->order = malloc((n + 1) * sizeof *w->order);
    w->bounds = malloc((n + 1) * sizeof *w->bounds);
    w->pose = malloc((n + 1) * sizeof *w->pose);
    w->twist = malloc((n + 1) * 6 * sizeof *w->twist);
    if (!w->order || !w->bounds || !w->pose || !w->twist) return SOA_E_MEMORY;
    size_t points = 0;
    for (int a = 0; a < w->solid_count; ++a)
        w->order[a] = a;
    for (int m = 0; m < w->meeting_count; ++m)
        points += w->laws[w->meetings[m].law].patch ? SOA_PATCH_MOST : 1;
    choose_recorded(w, w->solid_count);
    if (!w->recorded_count) choose_recorded(w, w->scenario->shape_count);
    /* a body rests on few others; of the many shapes of a machine few touch at the same time */
    const size_t given = (size_t)w->scenario->shape_count,
                 likely = 16 * (given + 4) + 4 * (n - given);
    w->slot_count = (int)(points < likely ? points : likely);
    w->touch_most = w->slot_count;
    w->touch = malloc(((size_t)w->touch_most + 1) * sizeof *w->touch);
    w->pairs = malloc(((size_t)w->meeting_count + 1) * sizeof *w->pairs);
    w->first_slot = malloc(((size_t)w->meeting_count + 1) * sizeof *w->first_slot);
    w->next_slot = malloc(((size_t)w->slot_count + 1) * sizeof *w->next_slot);
    w->met = calloc((size_t)w->meeting_count + 1, 1);
    w->reach = malloc((n + 1) * sizeof *w->reach);
    if (!w->touch || !w->pairs || !w->first_slot || !w->next_slot || !w->met || !w->reach)
        return SOA_E_MEMORY;
    for (int m = 0; m < w->meeting_count; ++m)
        w->first_slot[m] = -1;
    return SOA_OK;
}

void soai_contact_close(soa_world *w) {
    soai_solids_close(w);
    free(w->order);
    free(w->bounds);
    free(w->pose);
    free(w->twist);
    free(w->touch);
    free(w->pairs);
    free(w->first_slot);
    free(w->next_slot);
    free(w->met);
    free(w->reach);
}

/* --- forces at one state ---------------------------------------------------------------------- */
/* Lists the slots of each meeting (first_slot, next_slot). Call whenever slots change. */
void soai_contact_index(soa_world *w) {
    for (int m = 0; m < w->meeting_count; ++m)
        w->first_slot[m] = -1;
    for (int k = w->slot_count - 1; k >= 0; --k) {
        const int m = w->slots[k].meeting;
        if (m < 0) continue;
        w->next_slot[k] = w->first_slot[m];
        w->first_slot[m] = k;
    }
}

/* Finds the slot of each point of a patch; -1: none. A point keeps the slot of its features. Points
 * with new features take the nearest remaining slot. */
static void match_slots(const soa_world *w, int meeting, const soa_patch *patch, double margin,
                        int slot[SOA_PATCH_MOST]) {
    int left = 0;
    for (int p = 0; p < patch->count; ++p) {
        slot[p] = -1;
        for (int k = w->first_slot[meeting]; k >= 0 && slot[p] < 0; k = w->next_slot[k])
            if (w->slots[k].id == patch->points[p].id) slot[p] = k;
        for (int o = 0; o < p && slot[p] >= 0; ++o)
            if (slot[o] == slot[p]) slot[p] = -1;
        left += slot[p] < 0;
    }
    for (; left > 0; --left) {
        double least = INFINITY, deepest = 0;
        int point = -1, best = -1;
        for (int k = w->first_slot[meeting]; k >= 0; k = w->next_slot[k])
            deepest = fmax(deepest, w->slots[k].depth);
        for (int k = w->first_slot[meeting]; k >= 0; k = w->next_slot[k]) {
            int taken = 0;
            for (int p = 0; p < patch->count; ++p)
                taken = taken || slot[p] == k;
            for (int p = 0; p < patch->count && !taken; ++p) {
                /* Of two at the same place, prefer the one that presses. */
                double off = deepest > 0 ? -margin * margin * w->slots[k].depth / deepest : 0;
                for (int j = 0; j < 3; ++j)
                    off += pow(patch->points[p].point_a[j] - w->slots[k].point[j], 2);
                if (slot[p] < 0 && off < least) {
                    least = off;
                    point = p;
                    best = k;
                }
            }
        }
        if (best < 0) break;
        slot[point] = best;
    }
}

/* The part of the motion that is slip: smooth from 0 below 0.9 to 1 at 1. */
double soai_slip_part(double use) {
    const double x = fmin(fmax((use - 0.9) / 0.1, 0), 1);
    return x * x * (3 - 2 * x);
}

/* Turns a spring into the plane perpendicular to the normal without changing its length: the normal
 * has rotated with the bodies since. */
static void across_normal(const double spring[3], const double normal[3], double out[3]) {
    const double along = soai_dot3(spring, normal), length = soai_dot3(spring, spring);
    for (int j = 0; j < 3; ++j)
        out[j] = spring[j] - along * normal[j];
    const double left = soai_dot3(out, out);
    if (left > 0.25 * length)
        for (int j = 0; j < 3; ++j)
            out[j] *= sqrt(length / left);
}

/* Computes position, velocity and depth of one contact point. */
static soa_status place_touch(soa_world *w, int meeting, double time, const double normal[3],
                              const soa_patch_point *p, int slot) {
    const soai_meeting *m = &w->meetings[meeting];
    const soa_contact_pair *law = &w->laws[m->law];
    if (w->touch_count >= w->touch_most) return SOA_E_MEMORY;
    soai_touch *t = &w->touch[w->touch_count++];
    *t = (soai_touch){
        .meeting = meeting, .id = p->id, .distance = p->distance, .slot = slot, .weight = 1};
    memcpy(t->normal, normal, sizeof t->normal);
    double between[3];
    for (int k = 0; k < 3; ++k)
        t->point[k] = 0.5 * (p->point_a[k] + p->point_b[k]);
    for (int side = 0; side < 2; ++side) { /* velocity of a's material minus that of b */
        const int i = side ? m->b : m->a;
        const double *V = w->twist + 6 * i, *o = w->pose[i].p;
        double arm[3], turn[3];
        for (int k = 0; k < 3; ++k)
            arm[k] = t->point[k] - o[k];
        soai_cross3(V, arm, turn);
        for (int k = 0; k < 3; ++k)
            between[k] = side ? between[k] - V[3 + k] - turn[k] : V[3 + k] + turn[k];
    }
    t->rate = soai_dot3(normal, between);
    for (int k = 0; k < 3; ++k)
        t->velocity[k] = between[k] - t->rate * normal[k];
    const double deep = law->margin - p->distance;
    if (law->law != SOA_CONTACT_PAPER && w->first_slot[meeting] >= 0) {
        const soai_slot *kept = slot < 0 ? NULL : &w->slots[slot];
        if (kept) t->offset = fmin(kept->offset, deep);
        /* Depth that the motion cannot explain does not count. */
        if (!kept || kept->id != p->id) {
            const double come =
                (kept ? kept->depth : 0) + 1.5 * fmax(0, -t->rate) * (time - w->state->kept);
            t->offset = fmax(t->offset, deep - come);
        }
    }
    t->depth = deep - t->offset;
    return SOA_OK;
}

/* Share of a point: 1 unless other points of its patch are close. It does not grow while the point
 * presses. */
static double weight_of(const soa_world *w, int first, int i, double margin) {
    const soai_touch *t = &w->touch[i];
    double sum = 1;
    for (int j = first; j < w->touch_count; ++j) {
        const soai_touch *o = &w->touch[j];
        double off = 0;
        for (int k = 0; k < 3; ++k)
            off += pow(t->point[k] - o->point[k], 2);
        off /= 100 * margin * margin;
        if (j == i || !(off < 1) || !(o->depth > 0)) continue;
        sum += (1 - off) * (1 - off) * (o->depth < t->depth ? o->depth / t->depth : 1);
    }
    const int pressed = t->slot >= 0 && w->slots[t->slot].depth > 0.01 * margin;
    return pressed ? fmin(1 / sum, w->slots[t->slot].weight) : 1 / sum;
}

/* A point of a patch may move along the bodies without doing work and become deeper. So its spring
 * returns no more energy than it took. That energy is part of the state; if it is less than half of
 * what the depth implies, the spring returns with less force. While the points separate, the energy
 * taken by the damper stays in it until the step ends, so that the rates have no corners. */
static int has_tank(const soa_contact_pair *law) {
    return law->patch && law->law != SOA_CONTACT_PAPER;
}
static soa_status give_back(const soa_world *w, soai_touch *t, const soa_contact_pair *law,
                            const double y[]) {
    const double held = y[w->at_slots + SOAI_SLOT_NUMBERS * t->slot + SOAI_TANK];
    const double least = 1e-9 * w->state->stats.energy_scale, said = t->stored;
    double spring, unused;
    int saved;
    const soa_status s =
        soai_contact_force(law, t->distance + t->offset, 0, &spring, &unused, &saved);
    const double part =
        t->rate > 0 && said > 0 ? fmin(1, fmax(0, 2 * (held + least) / (said + least))) : 1;
    t->pressure *= part;
    t->said = said;
    t->stored = held;
    t->tank_rate = t->rate > 0 ? -t->pressure * t->rate : -t->weight * spring * t->rate;
    return s;
}

/* Computes the forces at a contact point. */
static soa_status press(soa_world *w, soai_touch *t, const double y[]) {
    const soai_meeting *m = &w->meetings[t->meeting];
    const soa_contact_pair *law = &w->laws[m->law];
    double across[3];
    /* The damper of a point whose depth the motion cannot explain grows with the depth, not at
     * once. */
    soa_contact_pair softer = *law;
    if (t->offset > 0) softer.damping *= fmin(1, fmax(0, t->depth) / (0.1 * law->margin));
    soa_status s = soai_contact_force(&softer, t->distance + t->offset, t->rate, &t->pressure,
                                      &t->stored, &t->saved);
    if (s) return s;
    t->pressure *= t->weight;
    t->stored *= t->weight;
    if (has_tank(law) && t->slot >= 0 && (s = give_back(w, t, law, y))) return s;
    t->bound = law->friction * fmax(t->pressure, 0);
    if (!(law->friction > 0)) return SOA_OK;
    const double k = t->weight * law->tangential_stiffness, c = t->weight * law->tangential_damping;
    double spin = 0;
    t->stiffness = k;
    if (t->slot >= 0)
        across_normal(y + w->at_slots + SOAI_SLOT_NUMBERS * t->slot, t->normal, across);
    else
        across[0] = across[1] = across[2] = 0;
    for (int j = 0; j < 3; ++j) {
        t->tangential[j] = -k * across[j] - c * t->velocity[j];
        spin += 0.5 * t->normal[j] * (w->twist[6 * m->a + j] + w->twist[6 * m->b + j]);
    }
    const double size = sqrt(soai_dot3(t->tangential, t->tangential)),
                 length = sqrt(soai_dot3(across, across));
    t->sliding = size > t->bound;
    if (t->sliding)
        for (int j = 0; j < 3; ++j)
            t->tangential[j] *= t->bound / size;
    if (k > 0) t->stored += 0.5 * pow(fmin(k * length, t->bound), 2) / k;
    const double stretch = length > 0 ? soai_dot3(across, t->velocity) / length : 0;
    double slip;
    if (stretch > 0) {
        slip = soai_slip_part(t->bound > 0 ? k * length / t->bound : 1) * stretch / length;
    } else {
        slip = 0;
    }
    soai_cross3(t->normal, across, t->spring_rate);
    /* when the damper alone exceeds the bound, the spring may follow the motion slowly: 2 k / c
     * instead of |v| / |s| */
    const double speed = sqrt(soai_dot3(t->velocity, t->velocity)),
                 pace = c * speed > 2 * t->bound ? 2 * t->bound / (c * speed) : 1;
    for (int j = 0; j < 3; ++j)
        t->spring_rate[j] = pace * (t->velocity[j] - slip * across[j]) + spin * t->spring_rate[j];
    t->slip_rate = t->sliding ? fmax(slip * length, (1 - pace) * speed) : slip * length;
    return SOA_OK;
}

static bool wanted(void *user, int i, int j) {
    const soa_world *w = user;
    return w->meeting_of[i * w->solid_count + j] >= 0;
}
static int by_meeting(const void *a, const void *b) {
    const int *x = a, *y = b;
    return x[0] != y[0] ? x[0] - y[0] : x[1] - y[1];
}

/* Lists in w->pairs the pairs that may meet and whose boxes overlap, in the order of their
 * numbers. */
soa_status soai_near_pairs(soa_world *w, const soa_bounds *bounds, int *found) {
    int count = 0;
    if (w->meeting_count <= BRUTE)
        for (int m = 0; m < w->meeting_count; ++m) {
            const soa_bounds *a = &bounds[w->meetings[m].a], *b = &bounds[w->meetings[m].b];
            int meet = 1;
            for (int k = 0; k < 3; ++k)
                meet = meet && a->low[k] <= b->high[k] && b->low[k] <= a->high[k];
            if (meet) {
                w->pairs[count][0] = w->meetings[m].a;
                w->pairs[count++][1] = w->meetings[m].b;
            }
        }
    else {
        const soa_status s = soa_bounds_pairs(bounds, w->solid_count, w->order, wanted, w, w->pairs,
                                              w->meeting_count, &count);
        if (s) return s;
        qsort(w->pairs, (size_t)count, sizeof *w->pairs, by_meeting);
    }
    *found = count;
    return SOA_OK;
}

/* Finds all touches for the kinematics in the work space, into w->touch. */
soa_status soai_contact_evaluate(soa_world *w, double time, const double *y) {
    soa_status s = SOA_OK;
    w->touch_count = 0;
    if (!w->meeting_count) return SOA_OK;
    double margin = 0;
    for (int k = 0; k < w->law_count; ++k)
        margin = fmax(margin, w->laws[k].margin);
    for (int i = 0; !s && i < w->solid_count; ++i) {
        soa_frame at;
        s = soa_pose(w->model, w->work, w->solids[i].frame, &at);
        if (!s)
            s = soa_velocity(w->model, w->work, w->solids[i].frame, SOA_AXES_WORLD,
                             w->twist + 6 * i);
        if (s) return s;
        w->pose[i] = soa_frame_compose(&at, &w->solids[i].place);
        double arm[3], turn[3];
        for (int k = 0; k < 3; ++k)
            arm[k] = w->pose[i].p[k] - at.p[k];
        soai_cross3(w->twist + 6 * i, arm, turn);
        for (int k = 0; k < 3; ++k)
            w->twist[6 * i + 3 + k] += turn[k];
        s = soa_shape_bounds(&w->solids[i].shape, &w->pose[i], 0.5 * margin, &w->bounds[i]);
    }
    if (s) return s;
    int count = 0;
    if ((s = soai_near_pairs(w, w->bounds, &count))) return s;
    for (int p = 0; !s && p < count; ++p) {
        const int meeting = w->meeting_of[w->pairs[p][0] * w->solid_count + w->pairs[p][1]];
        const soai_meeting *m = &w->meetings[meeting];
        const soa_contact_pair *law = &w->laws[m->law];
        const soa_shape *a = &w->solids[m->a].shape, *b = &w->solids[m->b].shape;
        soa_patch patch = {.count = 0};
        int slot[SOA_PATCH_MOST];
        if (law->patch)
            s = soa_shape_patch(a, &w->pose[m->a], b, &w->pose[m->b], law->margin,
                                &w->caches[meeting], NULL, &patch);
        else {
            soa_distance d;
            s = soa_shape_distance(a, &w->pose[m->a], b, &w->pose[m->b], &w->caches[meeting], &d);
            if (!s) {
                memcpy(patch.normal, d.normal, sizeof d.normal);
                patch.count = 1;
                patch.points[0] = (soa_patch_point){.distance = d.distance};
                memcpy(patch.points[0].point_a, d.point_a, sizeof d.point_a);
                memcpy(patch.points[0].point_b, d.point_b, sizeof d.point_b);
            }
        }
        if (s) return s;
        const int first = w->touch_count, all = patch.count;
        patch.count = 0;
        for (int k = 0; k < all; ++k)
            if (patch.points[k].distance < law->margin)
                patch.points[patch.count++] = patch.points[k];
        match_slots(w, meeting, &patch, law->margin, slot);
        for (int k = 0; !s && k < patch.count; ++k)
            s = place_touch(w, meeting, time, patch.normal, &patch.points[k], slot[k]);
        for (int i = first; law->law != SOA_CONTACT_PAPER && i < w->touch_count; ++i)
            w->touch[i].weight = weight_of(w, first, i, law->margin);
        for (int i = first; !s && i < w->touch_count; ++i)
            s = press(w, &w->touch[i], y);
    }
    return s;
}

/* --- after a step ----------------------------------------------------------------------------- */
/* Assigns slots to the touches of the accepted state, and shortens springs to what friction can
 * hold. */
void soai_contact_keep(soa_world *w, double t, double *y) {
    /* Flags of a meeting: touches now; one of its points slid before; one slides now. */
    enum { MET = 1, SLID = 2, SLIDES = 4 };
    soai_stats *stats = &w->state->stats;
    for (int k = 0; k < w->slot_count; ++k) {
        w->next_slot[k] = 0; /* 1: it is kept */
        if (w->slots[k].meeting >= 0 && w->slots[k].sliding) w->met[w->slots[k].meeting] = SLID;
    }
    for (int i = 0; i < w->touch_count; ++i) {
        if (w->touch[i].slot >= 0) w->next_slot[w->touch[i].slot] = 1;
        w->met[w->touch[i].meeting] |= MET;
    }
    for (int k = 0; k < w->slot_count; ++k) {
        soai_slot *slot = &w->slots[k];
        if (slot->meeting < 0 || w->next_slot[k]) continue;
        const soai_meeting *m = &w->meetings[slot->meeting];
        if (!(w->met[slot->meeting] & MET) && w->first_slot[slot->meeting] >= 0) {
            ++stats->releases;
            w->first_slot[slot->meeting] = -1; /* report it only once */
            w->met[slot->meeting] = 0;
            soai_event(w, t, "release", "%s %s", w->solids[m->a].name, w->solids[m->b].name);
        }
        *slot = (soai_slot){.meeting = -1};
        memset(y + w->at_slots + SOAI_SLOT_NUMBERS * k, 0, SOAI_SLOT_NUMBERS * sizeof *y);
    }
    int free_slot = 0;
    for (int i = 0; i < w->touch_count; ++i) {
        soai_touch *now = &w->touch[i];
        const soai_meeting *m = &w->meetings[now->meeting];
        const soa_contact_pair *law = &w->laws[m->law];
        if (now->slot < 0) {
            while (free_slot < w->slot_count && w->slots[free_slot].meeting >= 0)
                ++free_slot;
            /* Cannot happen: touch_at refuses more points than slots. */
            if (free_slot == w->slot_count) continue;
            now->slot = free_slot;
            w->slots[now->slot] = (soai_slot){.meeting = now->meeting, .t = t};
            double *const kept = y + w->at_slots + SOAI_SLOT_NUMBERS * now->slot;
            memset(kept, 0, SOAI_SLOT_NUMBERS * sizeof *kept);
            if (has_tank(law)) kept[SOAI_TANK] = now->said = now->stored;
            if (w->first_slot[now->meeting] < 0) {
                w->first_slot[now->meeting] = now->slot;
                ++stats->touches;
                soai_event(w, t, "touch", "%s %s %.6g m/s", w->solids[m->a].name,
                           w->solids[m->b].name, now->rate + 0.0); /* +0.0: never -0 */
            }
        }
        soai_slot *slot = &w->slots[now->slot];
        slot->id = now->id;
        /* Account for what the damper took and what was lost while separating. */
        if (has_tank(law)) {
            double *const tank = y + w->at_slots + SOAI_SLOT_NUMBERS * now->slot + SOAI_TANK;
            now->stored += fmin(*tank, now->said) - *tank;
            *tank = fmin(*tank, now->said);
        }
        slot->depth = now->depth;
        slot->offset = now->offset;
        slot->weight = now->weight;
        memcpy(slot->point, now->point, sizeof slot->point);
        if (now->saved) ++stats->saves;
        if (!(law->friction > 0)) continue;
        double *spring = y + w->at_slots + SOAI_SLOT_NUMBERS * now->slot, across[3];
        across_normal(spring, now->normal, across);
        const double k = now->stiffness, length = sqrt(soai_dot3(across, across)),
                     most = k > 0 ? now->bound / k : 0;
        const double part = length > most ? most / length : 1;
        for (int j = 0; j < 3; ++j)
            spring[j] = part * across[j];
        if (length > most) slot->slipped += length - most;
        slot->slipped += now->slip_rate * (t - slot->t);
        slot->t = t;
        slot->sliding = length > 0 && k * length >= 0.99 * now->bound && now->slip_rate > 0;
        if (slot->sliding) w->met[now->meeting] |= SLIDES;
    }
    /* Two shapes slip when their first point slides, and stick when their last point stops. */
    for (int i = 0; i < w->touch_count; ++i) {
        const soai_meeting *m = &w->meetings[w->touch[i].meeting];
        const int about = w->met[w->touch[i].meeting], slides = (about & SLIDES) != 0;
        w->met[w->touch[i].meeting] = 0; /* report it only once */
        if (slides == ((about & SLID) != 0)) continue;
        stats->slips += slides;
        soai_event(w, t, slides ? "slip" : "stick", "%s %s", w->solids[m->a].name,
                   w->solids[m->b].name);
    }
    w->state->kept = t;
    soai_contact_index(w);
}
