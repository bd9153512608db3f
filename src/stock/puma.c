/* puma.c  the PUMA 560, alone and in pairs.
 *
 * puma560      standard DH, Corke & Armstrong-Helouvry 1994
 * puma560-akb  modified DH, Armstrong, Khatib & Burdick 1986; friction as in puma560, same motors
 * two-puma     two of the first on one base, as in WD89: connector links (fixed DH rows) carry the
 *              arms.  The paper's base is its inertial link, so ours is fixed; --floating makes it
 *              a space robot.  No gravity.
 * Motor-side numbers become joint-side ones: damping G^2 B, Coulomb |G| Tc.  A negative gear turns
 * the motor the other way but the published Tc+ belongs to positive *joint* speed (R1), so only |G|
 * enters. */
#include "stock.h"

#include <math.h>

typedef struct puma_row {
    double d, a, alpha; /* m, m, degrees */
    double mass, com[3], inertia[3];
    double rotor, gear;
} puma_row;

static const puma_row standard[6] = {
    {0, 0, 90, 0, {0, 0, 0}, {0, 0.35, 0}, 200e-6, -62.6111},
    {0, 0.4318, 0, 17.4, {-0.3638, 0.006, 0.2275}, {0.13, 0.524, 0.539}, 200e-6, 107.815},
    {0.15005,
     0.0203,
     -90,
     4.8,
     {-0.0203, -0.0141, 0.070},
     {0.066, 0.086, 0.0125},
     200e-6,
     -53.7063},
    {0.4318, 0, 90, 0.82, {0, 0.019, 0}, {1.8e-3, 1.3e-3, 1.8e-3}, 33e-6, 76.0364},
    {0, 0, -90, 0.34, {0, 0, 0}, {0.3e-3, 0.4e-3, 0.3e-3}, 33e-6, 71.923},
    {0, 0, 0, 0.09, {0, 0, 0.032}, {0.15e-3, 0.15e-3, 0.04e-3}, 33e-6, 76.686},
};

static const puma_row modified[6] = {
    {0, 0, 0, 0, {0, 0, 0}, {0, 0, 0.35}, 291e-6, -62.6111},
    {0.2435, 0, -90, 17.4, {0.068, 0.006, -0.016}, {0.13, 0.524, 0.539}, 409e-6, 107.815},
    {-0.0934, 0.4318, 0, 4.8, {0, -0.070, 0.014}, {0.066, 0.0125, 0.066}, 299e-6, -53.7063},
    {0.4331, -0.0203, 90, 0.82, {0, 0, -0.019}, {1.8e-3, 1.8e-3, 1.3e-3}, 35e-6, 76.0364},
    {0, 0, -90, 0.34, {0, 0, 0}, {0.3e-3, 0.3e-3, 0.4e-3}, 35e-6, 71.923},
    {0, 0, 90, 0.09, {0, 0, 0.032}, {0.15e-3, 0.15e-3, 0.04e-3}, 35e-6, 76.686},
};

/* Viscous and Coulomb friction at the motor (N m s/rad, N m), joint limits (degrees). */
static const struct {
    double viscous, positive, negative, lower, upper;
} motor[6] = {
    {1.48e-3, 0.395, 0.435, -160, 160},     {0.817e-3, 0.126, 0.071, -45, 225},
    {1.38e-3, 0.132, 0.105, -225, 45},      {71.2e-6, 11.2e-3, 16.9e-3, -110, 170},
    {82.6e-6, 9.26e-3, 14.5e-3, -100, 100}, {36.7e-6, 3.96e-3, 10.5e-3, -266, 266},
};

/* Appends `count` DH rows (at most 6) to the definition; gives the last one's DH frame in its
 * link. */
static soa_frame append(soai_stock *stock, soa_dh_form form, const soa_dh_row *rows, int count,
                        const char *prefix, int parent, const soa_frame *base) {
    enum { MOST = 6 };
    char names[MOST * SOA_DH_NAME];
    soa_frame end = soa_frame_identity();
    if (stock->status != SOA_OK || !soai_stock_room(stock, count, count)) return end;
    int at = stock->body_count, at_frame = stock->frame_count;
    soa_status status = soa_dh_chain_append(&(soa_dh_chain_def){.form = form,
                                                                .rows = rows,
                                                                .count = count,
                                                                .prefix = prefix,
                                                                .parent = parent,
                                                                .base = base},
                                            stock->bodies, at, stock->frames, at_frame, names);
    if (status != SOA_OK) {
        stock->status = status;
        return end;
    }
    for (int i = 0; i < count; i++) {
        stock->bodies[at + i].joint_name = NULL;
        stock->bodies[at + i].name = soai_stock_text(stock, "%s", stock->bodies[at + i].name);
        stock->frames[at_frame + i].name =
            soai_stock_text(stock, "%s", stock->frames[at_frame + i].name);
    }
    stock->body_count += count;
    stock->frame_count += count;
    return stock->frames[at_frame + count - 1].placement;
}

/* One arm on link `parent`, links <side>link1 .., joints <side>joint1 .. */
static void arm(soai_stock *stock, soa_dh_form form, const puma_row *table, const char *side,
                int parent, const soa_frame *base) {
    soa_dh_row rows[6];
    for (int i = 0; i < 6; i++) {
        const puma_row *r = &table[i];
        soa_dh_row *row = &rows[i];
        *row = soa_dh_row_default(r->d, r->a, r->alpha * SOAI_DEGREE);
        row->mass = r->mass;
        for (int k = 0; k < 3; k++) {
            row->com[k] = r->com[k];
            row->inertia[k] = r->inertia[k];
        }
        row->joint.rotor_inertia = r->rotor;
        row->joint.gear_ratio = r->gear;
        row->joint.damping = r->gear * r->gear * motor[i].viscous;
        row->joint.friction_positive = fabs(r->gear) * motor[i].positive;
        row->joint.friction_negative = fabs(r->gear) * motor[i].negative;
        row->joint.lower = motor[i].lower * SOAI_DEGREE;
        row->joint.upper = motor[i].upper * SOAI_DEGREE;
    }
    int first = stock->body_count;
    append(stock, form, rows, 6, soai_stock_text(stock, "%slink", side), parent, base);
    for (int i = first; i < stock->body_count; i++)
        stock->bodies[i].joint_name = soai_stock_text(stock, "%sjoint%d", side, i - first + 1);
}

/* Base of a single arm: of use only when it floats; about what the real column weighs. */
static void column(soai_stock *stock) {
    soa_body_def *base = soai_stock_base(stock);
    soa_body_cylinder_z(base, 30.0, 0.09, 0.66);
    soai_com(base, 0, 0, -0.33);
}

void soai_stock_puma560(soai_stock *stock) {
    soa_frame identity = soa_frame_identity();
    column(stock);
    arm(stock, SOA_DH_STANDARD, standard, "", 1, &identity);
}

void soai_stock_puma560_akb(soai_stock *stock) {
    soa_frame identity = soa_frame_identity();
    column(stock);
    arm(stock, SOA_DH_MODIFIED, modified, "", 1, &identity);
}

/* Two connector rows place an arm at (0, y, 0) with the base's own axes: turn and go, turn back. */
static void mounted_arm(soai_stock *stock, const char *side, double y) {
    soa_dh_row connector[2] = {soa_dh_row_default(0, y, 0), soa_dh_row_default(0, 0, 0)};
    connector[0].theta = SOAI_PI / 2;
    connector[1].theta = -SOAI_PI / 2;
    connector[0].joint.type = connector[1].joint.type = SOA_FIXED;
    soa_frame identity = soa_frame_identity();
    soa_frame mount = append(stock, SOA_DH_STANDARD, connector, 2,
                             soai_stock_text(stock, "%smount", side), 1, &identity);
    arm(stock, SOA_DH_STANDARD, standard, side, stock->body_count, &mount);
}

void soai_stock_two_puma(soai_stock *stock) {
    soa_body_def *base = soai_stock_base(stock);
    soa_body_box(base, 300.0, 0.8, 1.6, 0.5);
    soai_com(base, 0, 0, -0.25);
    stock->gravity[2] = 0;
    mounted_arm(stock, "left_", 0.5);
    mounted_arm(stock, "right_", -0.5);
}

/* WD89 section 4: the object's six freedoms as three slides and three turns, massless links
 * between. */
void soai_stock_two_puma_object(soai_stock *stock) {
    static const struct {
        const char *name;
        soa_joint_type type;
        double axis[3];
    } freedom[6] = {
        {"object_x", SOA_PRISMATIC, {1, 0, 0}},    {"object_y", SOA_PRISMATIC, {0, 1, 0}},
        {"object_z", SOA_PRISMATIC, {0, 0, 1}},    {"object_yaw", SOA_REVOLUTE, {0, 0, 1}},
        {"object_pitch", SOA_REVOLUTE, {0, 1, 0}}, {"object", SOA_REVOLUTE, {1, 0, 0}},
    };
    soai_stock_two_puma(stock);
    int parent = 1;
    for (int i = 0; i < 6; i++) {
        soa_body_def *body = soai_stock_body(stock, freedom[i].name, parent, freedom[i].type);
        soai_axis(body, freedom[i].axis[0], freedom[i].axis[1], freedom[i].axis[2]);
        if (i == 0) body->placement = soai_at(0.8, 0, 0.2);
        if (i == 5) {
            body->joint_name = "object_roll";
            soa_body_box(body, 20.0, 0.3, 0.6, 0.3);
        }
        parent = stock->body_count;
    }
}
