/* satellite.c  a servicing satellite: free bus, two solar panels (fixed links), two 7-joint arms.
 *              No gravity.
 * Numbers of our own: 450 kg bus, 20 kg panels, arms of 42 kg and 2.6 m reach with geared
 * motors. */
#include "stock.h"

typedef struct satellite_joint {
    const char *name;
    double axis[3];
    double at[3];                /* in the link before */
    double mass, length, radius; /* a tube along x, or along z where length < 0 */
    double effort;
} satellite_joint;

static const satellite_joint joint[7] = {
    {"shoulder_yaw", {0, 0, 1}, {0, 0, 0}, 5.0, -0.15, 0.08, 120},
    {"shoulder_pitch", {0, 1, 0}, {0, 0, 0.15}, 5.0, 0.20, 0.08, 120},
    {"upper_roll", {1, 0, 0}, {0.20, 0, 0}, 10.0, 0.95, 0.06, 120},
    {"elbow", {0, 1, 0}, {0.95, 0.05, 0}, 9.0, 0.95, 0.06, 80},
    {"wrist_pitch", {0, 1, 0}, {0.95, -0.05, 0}, 4.5, 0.18, 0.07, 40},
    {"wrist_yaw", {0, 0, 1}, {0.18, 0, 0}, 4.5, 0.18, 0.07, 40},
    {"wrist_roll", {1, 0, 0}, {0.18, 0, 0}, 4.0, 0.20, 0.07, 40},
};

static void arm(soai_stock *stock, const char *side, double y) {
    int parent = 1;
    for (int i = 0; i < 7; i++) {
        const satellite_joint *j = &joint[i];
        soa_body_def *link = soai_stock_body(
            stock, soai_stock_text(stock, "%s_%s_link", side, j->name), parent, SOA_REVOLUTE);
        link->joint_name = soai_stock_text(stock, "%s_%s", side, j->name);
        soai_axis(link, j->axis[0], j->axis[1], j->axis[2]);
        link->placement = i == 0 ? soai_at(0.9, y, 0.4) : soai_at(j->at[0], j->at[1], j->at[2]);
        if (j->length < 0) {
            soa_body_cylinder_z(link, j->mass, j->radius, -j->length);
            soai_com(link, 0, 0, -0.5 * j->length);
        } else {
            soa_body_cylinder_z(link, j->mass, j->radius, j->length);
            double across = link->inertia[0], along = link->inertia[2];
            link->inertia[0] = along;
            link->inertia[2] = across;
            soai_com(link, 0.5 * j->length, 0, 0);
        }
        soai_limits(link, -2.8, 2.8, 0.2, j->effort);
        link->joint.rotor_inertia = 1.2e-5;
        link->joint.gear_ratio = 100;
        parent = stock->body_count;
    }
    soa_frame tip = soai_at(0.20, 0, 0);
    soai_stock_frame(stock, soai_stock_text(stock, "%s_tip", side), parent, &tip);
}

void soai_stock_satellite(soai_stock *stock) {
    stock->gravity[2] = 0;
    stock->floating = 1;
    soa_body_def *bus = soai_stock_base(stock);
    bus->name = "bus";
    soa_body_box(bus, 450.0, 1.8, 1.2, 1.0);
    soai_com(bus, -0.05, 0.01, 0.02);
    for (int side = 0; side < 2; side++) {
        soa_body_def *panel =
            soai_stock_body(stock, side == 0 ? "left_panel" : "right_panel", 1, SOA_FIXED);
        panel->placement = soai_at(-0.5, side == 0 ? 2.2 : -2.2, 0);
        soa_body_box(panel, 20.0, 1.2, 3.0, 0.03);
    }
    arm(stock, "left", 0.45);
    arm(stock, "right", -0.45);
}
