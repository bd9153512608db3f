/* linkages.c  closed chains: their trees, and the loop joints that close them. */
#include "stock.h"

#include <math.h>
#include <string.h>

/* Closes a loop at points of two links, their axes being parallel there at q = 0. */
static void pin(soai_stock *stock, const char *name, int link1, const double at1[3], int link2,
                const double at2[3], const double axis[3]) {
    soa_constraint_def *c = soai_stock_constraint(stock, name, SOA_LOOP, link1, link2);
    c->joint = SOA_REVOLUTE;
    memcpy(c->axis, axis, sizeof c->axis);
    c->place1 = soai_at(at1[0], at1[1], at1[2]);
    c->place2 = soai_at(at2[0], at2[1], at2[2]);
}

/* A uniform rod from the link's origin to `end`, of square section. */
static void rod(soa_body_def *link, double mass, const double end[3], double section) {
    double square = 0;
    for (int i = 0; i < 3; ++i)
        square += end[i] * end[i];
    /* m/12 (L^2 (1 - d d') + s^2 (1 + d d')) about the middle */
    for (int i = 0; i < 6; ++i) {
        static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
        const double dd = end[row[i]] * end[column[i]] / square;
        link->inertia[i] =
            mass / 12 * (square * ((i < 3) - dd) + section * section * ((i < 3) + dd));
    }
    link->mass = mass;
    soai_com(link, end[0] / 2, end[1] / 2, end[2] / 2);
}

/* A crank that turns all round: base AD 1 m, crank AB 0.4, coupler BC 0.9, rocker DC 0.7, 1 kg/m,
 * in the vertical x-z plane; joints about -y, so that positive angles lift.  At q = 0 the crank
 * stands upright and the loop is closed. */
void soai_stock_four_bar(soai_stock *stock) {
    static const double axis[3] = {0, -1, 0};
    const double a = 0.4, b = 0.9, r = 0.7;
    /* C: at distance b from B = (0, a) and r from D = (1, 0) */
    const double along = (b * b - r * r + 1 + a * a) / (2 * sqrt(1 + a * a)),
                 up = sqrt(b * b - along * along);
    const double e[2] = {1 / sqrt(1 + a * a), -a / sqrt(1 + a * a)}; /* from B to D */
    const double C[3] = {along * e[0] - up * e[1], 0, a + along * e[1] + up * e[0]};
    const double end[3][3] = {{0, 0, a}, {C[0], 0, C[2] - a}, {C[0] - 1, 0, C[2]}};
    static const char *const links[3] = {"crank", "coupler", "rocker"}, *const joints[3] = {
                                                                            "A", "B", "D"};
    static const double length[3] = {0.4, 0.9, 0.7};
    for (int i = 0; i < 3; ++i) {
        soa_body_def *link = soai_stock_body(stock, links[i], i == 1, SOA_REVOLUTE);
        link->joint_name = joints[i];
        soai_axis(link, 0, -1, 0);
        if (i == 0) {
            link->placement = soai_at(0, 0, 0);
        } else if (i == 1) {
            link->placement = soai_at(0, 0, a);
        } else {
            link->placement = soai_at(1, 0, 0);
        }
        rod(link, length[i], end[i], 0.02);
    }
    pin(stock, "C", 2, end[1], 3, end[2], axis);
}

/* Andrews' squeezing mechanism (IFToMM A03) without its spring and drive: seven bodies in the plane
 * z = 0, three loops that meet at the tip P of K2; no gravity.  q is beta, Theta, gamma, delta,
 * Phi, epsilon, Omega. */
void soai_stock_andrews(soai_stock *stock) {
    static const double z[3] = {0, 0, 1};
    const double d = 28e-3, da = 115e-4, e = 2e-2, ea = 1421e-5, rr = 7e-3, ra = 92e-5, ss = 35e-3,
                 sa = 1874e-5;
    const double sb = 1043e-5, ta = 2308e-5, tb = 916e-5, u = 4e-2, ua = 1228e-5, ub = 449e-5,
                 zf = 2e-2, zt = 4e-2;
    const double fa = 1421e-5, xa = -.06934, ya = -.00227, xb = -.03635, yb = .03273;
    const struct {
        const char *link, *joint;
        int parent;
        double at[2], mass, com[2], inertia;
    } body[7] = {{"K1", "beta", 0, {0, 0}, .04325, {ra, 0}, 2.194e-6},
                 {"K2", "Theta", 1, {rr, 0}, .00365, {-da, 0}, 4.410e-7},
                 {"K3", "gamma", 0, {xb, yb}, .02373, {sb, -sa}, 5.255e-6},
                 {"K5", "delta", 0, {xa, ya}, .07050, {ta, tb}, 1.169e-5},
                 {"K4", "Phi", 4, {zt, 0}, .00706, {0, ea - e}, 5.667e-7},
                 {"K7", "epsilon", 0, {xa, ya}, .05498, {-ub, -ua}, 1.912e-5},
                 {"K6", "Omega", 6, {0, -u}, .00706, {zf - fa, 0}, 5.667e-7}};
    stock->gravity[2] = 0;
    for (int i = 0; i < 7; ++i) {
        soa_body_def *link = soai_stock_body(stock, body[i].link, body[i].parent, SOA_REVOLUTE);
        link->joint_name = body[i].joint;
        link->placement = soai_at(body[i].at[0], body[i].at[1], 0);
        link->mass = body[i].mass;
        soai_com(link, body[i].com[0], body[i].com[1], 0);
        link->inertia[0] = link->inertia[1] = body[i].inertia / 2; /* a plate; they do not count */
        link->inertia[2] = body[i].inertia;
    }
    const double P2[3] = {-d, 0, 0}, P3[3] = {0, -ss, 0}, P4[3] = {0, -e, 0}, P6[3] = {zf, 0, 0};
    pin(stock, "P3", 2, P2, 3, P3, z);
    pin(stock, "P4", 2, P2, 5, P4, z);
    pin(stock, "P6", 2, P2, 7, P6, z);
}

/* Bricard's mechanism (IFToMM A04): five rods of 1 m and 1 kg, six revolute joints, the last one to
 * the ground.  One row of its loop is redundant, so that it moves where counting says it is
 * locked. */
void soai_stock_bricard(soai_stock *stock) {
    static const double point[6][3] = {{0, 0, 0},  {1, 0, 0},  {1, -1, 0},
                                       {1, -1, 1}, {0, -1, 1}, {0, 0, 1}};
    static const double axis[6][3] = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0},
                                      {0, 1, 0}, {0, 0, 1}, {1, 0, 0}};
    double along[3] = {0, 0, 0};
    stock->gravity[1] = -9.81;
    stock->gravity[2] = 0;
    for (int i = 0; i < 5; ++i) {
        soa_body_def *link =
            soai_stock_body(stock, soai_stock_text(stock, "rod%d", i + 1), i, SOA_REVOLUTE);
        link->joint_name = soai_stock_text(stock, "joint%d", i + 1);
        soai_axis(link, axis[i][0], axis[i][1], axis[i][2]);
        link->placement = soai_at(along[0], along[1], along[2]);
        for (int k = 0; k < 3; ++k)
            along[k] = point[i + 1][k] - point[i][k];
        rod(link, 1, along, 0.1);
    }
    pin(stock, "joint6", 5, along, 0, point[5], axis[5]);
}
