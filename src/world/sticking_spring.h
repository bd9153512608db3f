/* sticking_spring.h  Coulomb friction of a coordinate of a world: a spring and a damper whose sum
 * stays within Coulomb's bounds. The deflection of the spring is part of the state. Joints of the
 * tree (motion.c) and cut joints (world_constraints.c) use it; tangential friction of contacts has
 * the same law in the plane (contact.c). */
#ifndef SOAI_STICKING_SPRING_H
#define SOAI_STICKING_SPRING_H
#include "world_internal.h"

#include <math.h>

/* rad or m: deflection of a sticking joint at its full friction. */
static const double soai_joint_give = 1e-4;
/* s: damping over stiffness of that spring. */
static const double soai_joint_calm = 2e-3;

static inline double soai_sticking_stiffness(double up, double down) {
    return fmax(up, down) / soai_joint_give;
}

/* Friction force at rate v; `up` and `down` bound it for v > 0 and v < 0. spring_rate: rate of the
 * deflection. A spring stretched to its bound slips, gradually so that steps see no corner. */
static inline double soai_sticking_force(double up, double down, double spring, double v,
                                         double *spring_rate) {
    const double k = soai_sticking_stiffness(up, down);
    *spring_rate = v;
    if (v * spring > 0) {
        const double use = spring > 0 ? k * spring / up : -k * spring / down;
        *spring_rate = v * (1 - soai_slip_part(use));
    }
    return fmin(fmax(-k * spring - soai_joint_calm * k * v, -up), down);
}

#endif
