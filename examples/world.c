/* world.c  a ball falls on a table beside an arm that the program's own controller holds; half way
 *          the world is saved,
 * at the end it is taken back and runs again: the same bits. */
#include <math.h>
#include <soa/world.h>
#include <stdio.h>
#include <stdlib.h>

/* Asked at every tick: q and v as the sensors give them, tau is zero.  A spring and a damper on
 * every joint. */
static soa_status spring(void *user, const soa_world *world, double t, const double *q,
                         const double *v, double *tau) {
    const soa_model *model = soa_world_model(world);
    (void)user;
    (void)t;
    for (int b = 1; b <= soa_model_body_count(model); ++b) {
        soa_body_info body;
        soa_model_body(model, b, &body);
        if (body.nv == 1) tau[body.v_index] = -20 * q[body.q_index] - 4 * v[body.v_index];
    }
    return SOA_OK;
}

int main(void) {
    soa_part parts[3] = {soa_part_default("table"), soa_part_default("ball"),
                         soa_part_default("arm")};
    parts[0].fixed = true;
    parts[1].mass = 0.1;
    parts[1].place.p[2] = 0.5; /* 2/5 m r^2 */
    for (int k = 0; k < 3; ++k)
        parts[1].inertia[k] = 0.4 * 0.1 * 0.02 * 0.02;
    parts[2].model = "arm7";
    parts[2].effort = 300;
    parts[2].place.p[0] = 2;
    const soa_scene_shape shapes[2] = {{.name = "top",
                                        .frame = "table",
                                        .place = soa_frame_identity(),
                                        .shape = {.type = SOA_SHAPE_PLANE}},
                                       {.name = "skin",
                                        .frame = "ball",
                                        .place = soa_frame_identity(),
                                        .shape = {.type = SOA_SHAPE_SPHERE, .radius = 0.02}}};
    soa_contact_pair contact = soa_contact_pair_default("skin", "top");
    contact.law = SOA_CONTACT_HUNT_CROSSLEY;
    contact.stiffness = 1e6;
    soa_scenario scenario = soa_scenario_default("ball and arm");
    scenario.duration = 1;
    scenario.control.external = true;
    scenario.parts = parts;
    scenario.part_count = 3;
    scenario.shapes = shapes;
    scenario.shape_count = 2;
    scenario.contacts = &contact;
    scenario.contact_count = 1;

    soa_world *world;
    soa_report report;
    if (soa_world_create(&scenario, &world, &report)) {
        puts(report.text);
        return 1;
    }
    soa_world_set_torque(world, spring, NULL);
    const soa_run_options half = {.until = 0.5};
    void *state = malloc(soa_world_state_size(world));
    if (!state || soa_world_run(world, NULL, &half, &report)) {
        puts(report.text);
        return 1;
    }
    soa_world_save_state(world, state);
    double height[2];
    for (int k = 0; k < 2; ++k) {
        if (soa_world_run(world, NULL, NULL, &report)) {
            puts(report.text);
            return 1;
        }
        height[k] = soa_world_q(world)[2]; /* the ball's root comes first: x y z and a quaternion */
        if (!k) soa_world_restore_state(world, state, soa_world_state_size(world));
    }
    soa_world_summary summary;
    soa_world_summarise(world, &summary);
    printf(
        "height after 1 s: %.9f m, again %.9f m; %lld touches, energy error %.1e of the largest\n",
        height[0], height[1], summary.touches, summary.energy_error_rel);
    free(state);
    soa_world_free(world);
    return height[0] == height[1] && summary.touches > 0 && summary.energy_error_rel < 1e-6 ? 0 : 1;
}
