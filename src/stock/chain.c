/* chain.c  chains of N equal links. */
#include "stock.h"

#include <math.h>

/* R87 section XII: rods of 1 m, 1 kg in a vertical plane.  At q = 0 the chain lies along x;
 * positive angles lift it. */
void soai_stock_planar_chain(soai_stock *stock) {
    for (int i = 0; i < stock->number; i++) {
        soa_body_def *link =
            soai_stock_body(stock, soai_stock_text(stock, "link%d", i + 1), i, SOA_REVOLUTE);
        link->joint_name = soai_stock_text(stock, "joint%d", i + 1);
        soai_axis(link, 0, -1, 0);
        if (i > 0) link->placement = soai_at(1, 0, 0);
        soa_body_box(link, 1.0, 1.0, 0.02, 0.02);
        soai_com(link, 0.5, 0, 0);
        if (stock->status != SOA_OK) return;
    }
    soa_frame tip = soai_at(1, 0, 0);
    soai_stock_frame(stock, "tip", stock->body_count, &tip);
}

/* A link of 0.3 m along x whose centre of mass is off its line and whose inertia has no zeros. */
static void uneven_link(soa_body_def *link, double mass) {
    soa_body_box(link, mass, 0.3, 0.1, 0.08);
    soai_com(link, 0.15, 0.02, -0.03);
    link->inertia[3] = 4e-4;
    link->inertia[4] = -3e-4;
    link->inertia[5] = 1e-4;
}

/* Links of 0.3 m, 1 kg along x, joint axes z, y, x in turn.  The centre of mass lies off the line
 * and the products of inertia are not zero: nothing cancels. */
void soai_stock_chain(soai_stock *stock) {
    soa_body_def *base = soai_stock_base(stock);
    soa_body_box(base, 5.0, 0.3, 0.3, 0.3);
    for (int i = 0; i < stock->number; i++) {
        soa_body_def *link =
            soai_stock_body(stock, soai_stock_text(stock, "link%d", i + 1), i + 1, SOA_REVOLUTE);
        link->joint_name = soai_stock_text(stock, "joint%d", i + 1);
        soai_axis(link, i % 3 == 2, i % 3 == 1, i % 3 == 0);
        if (i > 0) link->placement = soai_at(0.3, 0, 0);
        uneven_link(link, 1.0);
        if (stock->status != SOA_OK) return;
    }
    soa_frame tip = soai_at(0.3, 0, 0);
    soai_stock_frame(stock, "tip", stock->body_count, &tip);
}

/* Modified Denavit-Hartenberg rows: Rx(alpha) Tx(a) Rz(q) Tz(d), axes z; the first joint stands on
 * the base.  Equal links of 1.1 kg whose centre of mass and inertia have no zeros.  quarters: alpha
 * in quarter turns, else 0.7 and -0.4 rad. */
static void dh_arm(soai_stock *stock, int quarters) {
    static const double cosine[3] = {0, 1, 0}, sine[3] = {1, 0, -1};
    const double a = 0.25, d = 0.12;
    soa_body_def *base = soai_stock_base(stock);
    soa_body_box(base, 5.0, 0.3, 0.3, 0.3);
    for (int i = 0; i < stock->number; i++) {
        soa_body_def *link =
            soai_stock_body(stock, soai_stock_text(stock, "link%d", i + 1), i + 1, SOA_REVOLUTE);
        const double alpha = i % 2 ? 0.7 : -0.4;
        const double c = quarters ? cosine[i % 3] : cos(alpha);
        const double s = quarters ? sine[i % 3] : sin(alpha);
        link->joint_name = soai_stock_text(stock, "joint%d", i + 1);
        soai_axis(link, 0, 0, 1);
        if (i > 0) {
            link->placement = soai_at(a, -d * s, d * c);
            link->placement.R[4] = link->placement.R[8] = c;
            link->placement.R[7] = s;
            link->placement.R[5] = -s;
        }
        uneven_link(link, 1.1);
        if (stock->status != SOA_OK) return;
    }
    soa_frame tip = soai_at(0.3, 0, 0);
    soai_stock_frame(stock, "tip", stock->body_count, &tip);
}
void soai_stock_dh_arm(soai_stock *stock) {
    dh_arm(stock, 0);
}
void soai_stock_dh_arm_90(soai_stock *stock) {
    dh_arm(stock, 1);
}
