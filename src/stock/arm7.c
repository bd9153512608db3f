/* arm7.c  a 7-joint arm: the numbers of the KUKA iiwa, every axis z. */
#include "stock.h"

typedef struct arm7_row {
    double rpy[3], xyz[3]; /* joint frame in the link before */
    double mass, com[3], inertia[3];
    double limit, speed, effort; /* +-rad, rad/s, N m */
} arm7_row;

void soai_stock_arm7(soai_stock *stock) {
    const double half = SOAI_PI / 2, pi = SOAI_PI;
    const arm7_row row[7] = {
        {{0, 0, 0},
         {0, 0, 0.1575},
         5.76,
         {0, -0.03, 0.12},
         {0.033, 0.0333, 0.0123},
         2.967,
         1.483,
         320},
        {{half, 0, pi},
         {0, 0, 0.2025},
         6.35,
         {0.0003, 0.059, 0.042},
         {0.0305, 0.0304, 0.011},
         2.094,
         1.483,
         320},
        {{half, 0, pi},
         {0, 0.2045, 0},
         3.5,
         {0, 0.03, 0.13},
         {0.025, 0.0238, 0.0076},
         2.967,
         1.745,
         176},
        {{half, 0, 0},
         {0, 0, 0.2155},
         3.5,
         {0, 0.067, 0.034},
         {0.017, 0.0164, 0.006},
         2.094,
         1.308,
         176},
        {{-half, pi, 0},
         {0, 0.1845, 0},
         3.5,
         {0.0001, 0.021, 0.076},
         {0.01, 0.0087, 0.00449},
         2.967,
         2.268,
         110},
        {{half, 0, 0},
         {0, 0, 0.2155},
         1.8,
         {0, 0.0006, 0.0004},
         {0.0049, 0.0047, 0.0036},
         2.094,
         2.356,
         40},
        {{-half, pi, 0}, {0, 0.081, 0}, 1.2, {0, 0, 0.02}, {0.001, 0.001, 0.001}, 3.054, 2.356, 40},
    };
    soa_body_def *base = soai_stock_base(stock);
    soa_body_cylinder_z(base, 5.0, 0.11, 0.15);
    soai_com(base, 0, 0, 0.07);
    for (int i = 0; i < 7; i++) {
        const arm7_row *r = &row[i];
        soa_body_def *link =
            soai_stock_body(stock, soai_stock_text(stock, "link%d", i + 1), i + 1, SOA_REVOLUTE);
        link->joint_name = soai_stock_text(stock, "joint%d", i + 1);
        link->placement =
            soa_frame_from_rpy(r->rpy[0], r->rpy[1], r->rpy[2], r->xyz[0], r->xyz[1], r->xyz[2]);
        link->mass = r->mass;
        for (int k = 0; k < 3; k++) {
            link->com[k] = r->com[k];
            link->inertia[k] = r->inertia[k];
        }
        soai_limits(link, -r->limit, r->limit, r->speed, r->effort);
    }
    soa_frame flange = soai_at(0, 0, 0.045);
    soai_stock_frame(stock, "flange", stock->body_count, &flange);
}
