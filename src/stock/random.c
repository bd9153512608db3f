/* random.c  random trees and forests: every joint type, fixed and mimic joints, both rotor models,
 *           friction, springs,
 * massless inner links.
 *
 * Only + - * / and sqrt are used, so a seed gives the same numbers on every machine. */
#include "stock.h"

#include <math.h>
#include <stdint.h>

enum { MOST_LINKS = 30 };

/* splitmix64 (Steele, Lea & Flood 2014) */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state, double low, double high) {
    return low + (high - low) * ((double)(next(state) >> 11) * 0x1p-53);
}

static int below(uint64_t *state, int count) {
    return (int)(next(state) % (uint64_t)count);
}

static int chance(uint64_t *state, double p) {
    return uniform(state, 0, 1) < p;
}

static void direction(uint64_t *state, double axis[3]) {
    double square;
    do {
        square = 0;
        for (int k = 0; k < 3; k++) {
            axis[k] = uniform(state, -1, 1);
            square += axis[k] * axis[k];
        }
    } while (square > 1 || square < 0.01);
    double length = sqrt(square);
    for (int k = 0; k < 3; k++)
        axis[k] /= length;
}

/* A joint's axis: often a coordinate axis, as in real machines (such joints have sweeps of their
 * own). */
static void joint_axis(uint64_t *state, double axis[3]) {
    if (!chance(state, 0.5)) {
        direction(state, axis);
        return;
    }
    const int along = below(state, 3);
    for (int k = 0; k < 3; k++) {
        if (k == along) {
            axis[k] = chance(state, 0.8) ? 1 : -1;
        } else {
            axis[k] = 0;
        }
    }
}

/* Uniform over all rotations: a unit quaternion by rejection. */
static void rotation(uint64_t *state, double R[9]) {
    double q[4], square;
    do {
        square = 0;
        for (int k = 0; k < 4; k++) {
            q[k] = uniform(state, -1, 1);
            square += q[k] * q[k];
        }
    } while (square > 1 || square < 0.01);
    double s = 2 / square, w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - s * (y * y + z * z);
    R[1] = s * (x * y - w * z);
    R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z);
    R[4] = 1 - s * (x * x + z * z);
    R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y);
    R[7] = s * (y * z + w * x);
    R[8] = 1 - s * (x * x + y * y);
}

/* A solid of three unequal widths, turned and off-centre. */
static void inertia(uint64_t *state, soa_body_def *body) {
    double R[9], width[3], moment[3];
    body->mass = uniform(state, 0.5, 5);
    rotation(state, R);
    for (int k = 0; k < 3; k++) {
        width[k] = uniform(state, 0.1, 0.5);
        body->com[k] = uniform(state, -0.2, 0.2);
    }
    for (int k = 0; k < 3; k++) {
        double a = width[(k + 1) % 3], b = width[(k + 2) % 3];
        moment[k] = body->mass * (a * a + b * b) / 12;
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++) {
        body->inertia[k] = 0;
        for (int l = 0; l < 3; l++)
            body->inertia[k] += R[3 * row[k] + l] * moment[l] * R[3 * column[k] + l];
    }
}

/* Transmission, friction and spring. */
static void fittings(uint64_t *state, soa_joint_def *joint, int one_dof) {
    if (chance(state, 0.4)) {
        joint->rotor_inertia = uniform(state, 1e-5, 1e-3);
        joint->gear_ratio = uniform(state, -50, 50);
        if (one_dof && chance(state, 0.5)) {
            joint->rotor_model = SOA_ROTOR_EXACT;
            if (chance(state, 0.5)) direction(state, joint->rotor_axis);
        }
    }
    if (chance(state, 0.4)) joint->damping = uniform(state, 0, 0.5);
    if (chance(state, 0.3)) {
        joint->friction_positive = uniform(state, 0, 0.5);
        joint->friction_negative = uniform(state, 0, 0.5);
    }
    if (joint->type != SOA_SPHERICAL && joint->type != SOA_FREE && chance(state, 0.3)) {
        joint->stiffness = uniform(state, 0, 20);
        joint->rest = uniform(state, -0.5, 0.5);
    }
}

/* A quarter turn, or several. */
static void quarter_turns(uint64_t *state, double R[9]) {
    const int first = below(state, 3), second = (first + 1 + below(state, 2)) % 3;
    const double one = chance(state, 0.5) ? 1 : -1;
    const double two = chance(state, 0.5) ? 1 : -1;
    /* right-handed: the third row follows */
    const double even = second == (first + 1) % 3 ? 1 : -1;
    for (int k = 0; k < 9; k++)
        R[k] = 0;
    R[first] = one;
    R[3 + second] = two;
    R[6 + 3 - first - second] = even * one * two;
}

/* `square`: the machine is drawn with quarter turns, axes along x, y and z, and origins that are
 * often in line. */
static void grow(soai_stock *stock, int square) {
    static const soa_joint_type kinds[] = {
        SOA_REVOLUTE,  SOA_REVOLUTE, SOA_REVOLUTE,    SOA_REVOLUTE,  SOA_PRISMATIC,
        SOA_PRISMATIC, SOA_HELICAL,  SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_PLANAR,
        SOA_SPHERICAL, SOA_FREE,     SOA_FIXED,       SOA_FIXED,
    };
    uint64_t state = (uint64_t)stock->number;
    int count = 1 + below(&state, MOST_LINKS), moving = 0;
    double straight = uniform(&state, 0, 1); /* how much like a chain the tree is */
    /* link that the next one must give its inertia to, or 0 */
    int massless = 0;
    int leader[MOST_LINKS + 1], leaders = 0; /* links a mimic joint may follow */
    for (int k = 0; k < 3; k++)
        stock->gravity[k] = uniform(&state, -10, 10);
    const int branch_by_branch = square && chance(&state, 0.5);
    int above[MOST_LINKS + 1] = {0};

    for (int i = 1; i <= count; i++) {
        int parent = 0;
        if (massless > 0 || (i > 1 && chance(&state, straight)))
            parent = i - 1;
        else if (i > 1 && !chance(&state, 0.1))
            parent = 1 + below(&state, i - 1);
        if (branch_by_branch && i > 1) /* the link before, or one it hangs on */
            for (parent = i - 1; above[parent] && !chance(&state, 0.8);)
                parent = above[parent];
        above[i] = parent;
        soa_joint_type type = kinds[below(&state, (int)(sizeof kinds / sizeof kinds[0]))];
        if (square && chance(&state, 0.6)) type = SOA_REVOLUTE;
        /* What a massless link carries must give it inertia: one more hinge does, a free joint does
         * not. */
        if (massless > 0) type = SOA_REVOLUTE;
        if (i == count && moving == 0 && type == SOA_FIXED) type = SOA_REVOLUTE;

        soa_body_def *body =
            soai_stock_body(stock, soai_stock_text(stock, "link%d", i), parent, type);
        soa_joint_def *joint = &body->joint;
        body->joint_name = soai_stock_text(stock, "joint%d", i);
        rotation(&state, body->placement.R);
        for (int k = 0; k < 3; k++)
            body->placement.p[k] = uniform(&state, -0.4, 0.4);
        joint_axis(&state, joint->axis);
        if (square && chance(&state, 0.9)) {
            const int ax = below(&state, 3);
            quarter_turns(&state, body->placement.R);
            for (int k = 0; k < 3; k++) {
                if (chance(&state, 0.6)) body->placement.p[k] = 0;
                if (k == ax) {
                    joint->axis[k] = chance(&state, 0.7) ? 1 : -1;
                } else {
                    joint->axis[k] = 0;
                }
            }
        }
        double along;
        do { /* a second axis well away from the first */
            direction(&state, joint->axis2);
            along = 0;
            for (int k = 0; k < 3; k++)
                along += joint->axis[k] * joint->axis2[k];
        } while (fabs(along) > 0.7);
        if (type == SOA_PLANAR || type == SOA_UNIVERSAL) {
            double size = 0;
            for (int k = 0; k < 3; k++)
                joint->axis2[k] -= along * joint->axis[k];
            for (int k = 0; k < 3; k++)
                size += joint->axis2[k] * joint->axis2[k];
            for (int k = 0; k < 3; k++)
                joint->axis2[k] /= sqrt(size);
        }
        if (type == SOA_HELICAL) joint->pitch = uniform(&state, -0.1, 0.1);
        if (type != SOA_FIXED) moving++;

        int one_dof = type == SOA_REVOLUTE || type == SOA_PRISMATIC || type == SOA_HELICAL;
        int was_massless = massless;
        massless = 0;
        if (i < count && was_massless == 0 && (type == SOA_REVOLUTE || type == SOA_PRISMATIC) &&
            !square && chance(&state, 0.15))
            massless = i;
        else
            inertia(&state, body);
        if (type == SOA_FIXED) continue;
        if (massless == 0 && was_massless == 0 && one_dof && leaders > 0 && chance(&state, 0.15)) {
            joint->mimic = leader[below(&state, leaders)];
            joint->mimic_ratio = uniform(&state, -2, 2);
            joint->mimic_offset = uniform(&state, -0.5, 0.5);
        } else if (one_dof && massless == 0) {
            leader[leaders++] = i;
        }
        if (massless == 0 && was_massless == 0 && !(square && chance(&state, 0.6)))
            fittings(&state, joint, one_dof);
    }
}
void soai_stock_random(soai_stock *stock) {
    grow(stock, 0);
}
void soai_stock_random_square(soai_stock *stock) {
    grow(stock, 1);
}

void soai_stock_random_ideal(soai_stock *stock) {
    soai_stock_random(stock);
    stock->ideal = 1;
}
