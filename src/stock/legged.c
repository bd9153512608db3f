/* legged.c  a quadruped (18 degrees of freedom) and a humanoid (30): x forward, y left, z up;
 *           numbers of our own. */
#include "stock.h"

/* A revolute joint with its link; the body returned still needs its inertia. */
static soa_body_def *link(soai_stock *stock, const char *side, const char *name, int parent,
                          soa_frame at, char axis) {
    soa_body_def *body = soai_stock_body(stock, soai_stock_text(stock, "%s%s_link", side, name),
                                         parent, SOA_REVOLUTE);
    body->joint_name = soai_stock_text(stock, "%s%s", side, name);
    body->placement = at;
    soai_axis(body, axis == 'x', axis == 'y', axis == 'z');
    return body;
}

/* A box of the given mass hanging from (z < 0) or standing on (z > 0) its joint; offset moves its
 * centre. */
static void limb(soa_body_def *body, double mass, double x, double y, double z, double dx,
                 double dy) {
    soa_body_box(body, mass, x, y, z < 0 ? -z : z);
    soai_com(body, dx, dy, 0.5 * z);
}

static void foot(soai_stock *stock, const char *name, double z, double mass, double radius) {
    int shank = stock->body_count;
    soa_body_def *body = soai_stock_body(stock, name, shank, SOA_FIXED);
    body->placement = soai_at(0, 0, z);
    soa_body_sphere(body, mass, radius);
}

void soai_stock_quadruped(soai_stock *stock) {
    static const struct {
        const char *name, *foot;
        double x, y;
    } leg[4] = {{"fl_", "fl_foot", 1, 1},
                {"fr_", "fr_foot", 1, -1},
                {"rl_", "rl_foot", -1, 1},
                {"rr_", "rr_foot", -1, -1}};
    stock->floating = 1;
    soa_body_def *trunk = soai_stock_base(stock);
    trunk->name = "trunk";
    soa_body_box(trunk, 14.0, 0.50, 0.22, 0.12);
    soai_com(trunk, 0.012, 0.002, 0.004);
    for (int i = 0; i < 4; i++) {
        double x = leg[i].x, y = leg[i].y;
        soa_body_def *hip =
            link(stock, leg[i].name, "hip_roll", 1, soai_at(0.21 * x, 0.07 * y, 0), 'x');
        soa_body_box(hip, 1.1, 0.10, 0.09, 0.10);
        soai_com(hip, -0.006 * x, 0.01 * y, 0);
        soai_limits(hip, -0.9, 0.9, 20, 35);
        soa_body_def *thigh =
            link(stock, leg[i].name, "hip_pitch", stock->body_count, soai_at(0, 0.09 * y, 0), 'y');
        limb(thigh, 1.6, 0.06, 0.05, -0.26, -0.004, -0.016 * y);
        soai_limits(thigh, -1.6, 3.4, 20, 35);
        soa_body_def *shank =
            link(stock, leg[i].name, "knee", stock->body_count, soai_at(0, 0, -0.26), 'y');
        limb(shank, 0.28, 0.03, 0.025, -0.26, 0.004, 0);
        soai_limits(shank, -2.7, -0.3, 20, 50);
        foot(stock, leg[i].foot, -0.26, 0.06, 0.022);
    }
}

static void humanoid_arm(soai_stock *stock, int torso, const char *side, double y) {
    soa_body_def *body =
        link(stock, side, "shoulder_pitch", torso, soai_at(0, 0.20 * y, 0.36), 'y');
    soa_body_box(body, 0.9, 0.10, 0.10, 0.10);
    soai_com(body, 0, 0.03 * y, 0);
    soai_limits(body, -3.0, 1.5, 6, 60);
    body = link(stock, side, "shoulder_roll", stock->body_count, soai_at(0, 0.06 * y, 0), 'x');
    soa_body_box(body, 0.8, 0.09, 0.09, 0.10);
    soai_com(body, 0, 0.01 * y, -0.02);
    soai_limits(body, -1.7, 1.7, 6, 60);
    body = link(stock, side, "shoulder_yaw", stock->body_count, soai_at(0, 0, -0.06), 'z');
    limb(body, 1.6, 0.08, 0.08, -0.22, 0.003, 0);
    soai_limits(body, -1.6, 1.6, 6, 40);
    body = link(stock, side, "elbow", stock->body_count, soai_at(0.01, 0, -0.22), 'y');
    limb(body, 1.4, 0.07, 0.07, -0.28, 0.005, 0.002 * y);
    soai_limits(body, -2.4, 0, 6, 40);
    soa_frame hand = soai_at(0, 0, -0.30);
    soai_stock_frame(stock, soai_stock_text(stock, "%shand", side), stock->body_count, &hand);
}

static void humanoid_leg(soai_stock *stock, const char *side, double y) {
    soa_body_def *body = link(stock, side, "hip_yaw", 1, soai_at(0, 0.09 * y, -0.08), 'z');
    soa_body_box(body, 1.0, 0.11, 0.10, 0.08);
    soai_com(body, -0.02, 0, -0.01);
    soai_limits(body, -0.8, 0.8, 10, 80);
    body = link(stock, side, "hip_roll", stock->body_count, soai_at(0, 0, -0.04), 'x');
    soa_body_box(body, 1.2, 0.11, 0.11, 0.10);
    soai_com(body, 0.01, 0.01 * y, 0);
    soai_limits(body, -0.5, 0.5, 10, 120);
    body = link(stock, side, "hip_pitch", stock->body_count, soai_at(0, 0, 0), 'y');
    limb(body, 6.0, 0.13, 0.12, -0.38, 0.01, 0.01 * y);
    soai_limits(body, -1.9, 0.7, 10, 150);
    body = link(stock, side, "knee", stock->body_count, soai_at(0, 0, -0.38), 'y');
    limb(body, 3.4, 0.10, 0.09, -0.38, 0.005, 0);
    soai_limits(body, 0, 2.5, 10, 180);
    body = link(stock, side, "ankle_pitch", stock->body_count, soai_at(0, 0, -0.38), 'y');
    soa_body_box(body, 0.4, 0.06, 0.06, 0.05);
    soai_limits(body, -1.0, 0.7, 10, 80);
    body = link(stock, side, "ankle_roll", stock->body_count, soai_at(0, 0, 0), 'x');
    soa_body_box(body, 1.1, 0.22, 0.10, 0.05);
    soai_com(body, 0.03, 0, -0.05);
    soai_limits(body, -0.4, 0.4, 10, 50);
    soa_frame sole = soai_at(0, 0, -0.075);
    soai_stock_frame(stock, soai_stock_text(stock, "%ssole", side), stock->body_count, &sole);
}

void soai_stock_humanoid(soai_stock *stock) {
    stock->floating = 1;
    soa_body_def *body = soai_stock_base(stock);
    body->name = "pelvis";
    soa_body_box(body, 8.0, 0.18, 0.26, 0.16);
    soai_com(body, -0.01, 0, 0.02);
    body = link(stock, "", "waist_yaw", 1, soai_at(0, 0, 0.10), 'z');
    soa_body_box(body, 1.5, 0.12, 0.16, 0.06);
    soai_limits(body, -1.2, 1.2, 6, 100);
    body = link(stock, "", "waist_pitch", stock->body_count, soai_at(0, 0, 0.04), 'y');
    limb(body, 17.0, 0.20, 0.32, 0.42, -0.01, 0);
    soai_limits(body, -0.3, 0.9, 6, 150);
    int torso = stock->body_count;
    body = link(stock, "", "neck_yaw", torso, soai_at(0, 0, 0.44), 'z');
    soa_body_box(body, 0.5, 0.07, 0.07, 0.08);
    soai_com(body, 0, 0, 0.04);
    soai_limits(body, -1.5, 1.5, 6, 10);
    body = link(stock, "", "neck_pitch", stock->body_count, soai_at(0, 0, 0.08), 'y');
    limb(body, 3.0, 0.18, 0.15, 0.22, 0.02, 0);
    soai_limits(body, -0.6, 0.7, 6, 10);
    humanoid_arm(stock, torso, "left_", 1);
    humanoid_arm(stock, torso, "right_", -1);
    humanoid_leg(stock, "left_", 1);
    humanoid_leg(stock, "right_", -1);
}
