/* joint_friction.h  friction of each degree of freedom of a tree. Friction of a mimic joint acts on
 * the joint it follows. */
#ifndef SOAI_LOSSES_H
#define SOAI_LOSSES_H
#include "soa/model.h"

#include <math.h>

/* Adds to arrays of nv numbers: viscous friction, and Coulomb friction for v > 0 and for v < 0.
 * Each array may be NULL. */
static inline void soai_losses(const soa_model *model, double *damping, double *up, double *down) {
    soa_body_info info, leader;
    for (int b = 1; b <= soa_model_body_count(model); b++) {
        if (soa_model_body(model, b, &info) != SOA_OK) continue;
        double ratio = 1;
        int first = info.v_index, count = info.nv;
        if (info.mimic > 0) {
            if (soa_model_body(model, info.mimic, &leader) != SOA_OK) continue;
            ratio = info.mimic_ratio;
            first = leader.v_index;
            count = 1;
        }
        const double positive = ratio > 0 ? info.friction_positive : info.friction_negative;
        const double negative = ratio > 0 ? info.friction_negative : info.friction_positive;
        for (int i = first; i < first + count; i++) {
            if (damping) damping[i] += ratio * ratio * info.damping;
            if (up) up[i] += fabs(ratio) * positive;
            if (down) down[i] += fabs(ratio) * negative;
        }
    }
}

/* Coulomb friction of sign(v), which soa_aba subtracts. Adding it to the torque undoes that. */
static inline double soai_undo_sign(double v, double up, double down) {
    if (v > 0) return up;
    if (v < 0) return -down;
    return 0;
}

/* Name of the joint of a degree of freedom. */
static inline const char *soai_joint_of(const soa_model *model, int dof) {
    soa_body_info info;
    for (int b = 1; b <= soa_model_body_count(model); b++)
        if (!soa_model_body(model, b, &info) && dof >= info.v_index && dof < info.v_index + info.nv)
            return info.joint;
    return "?";
}

#endif
