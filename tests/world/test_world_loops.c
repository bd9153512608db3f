/* test_world_loops.c  machines with loops in scenarios: loops from models, their forces, and
 * control laws on them. */
#include "worlds.h"

#include "soa/io.h"

#include <stdlib.h>
#include <unistd.h>

/* --- a four-bar, cut at any of its joints ----------------------------------------------------- */
/* Links and joints in the plane y = 0, at q = 0: the base 0, crank 1, coupler 2, rocker 3; joint i
 * joins link i to link i + 1 (the last one to the base) at point[i], about y, and turns the second
 * of them. */
static const double point[4][2] = {{0, 0}, {0.2, 0.1}, {0.8, 0.5}, {0.7, -0.1}};
static const char *const joint_names[4] = {"A", "B", "C", "D"};
static const char *const link_names[4] = {"base", "crank", "coupler", "rocker"};
static const double link_mass[4] = {0, 0.4, 0.9, 0.7};
static const double link_inertia[4] = {0, 0.004, 0.03, 0.02};

static void put_link(FILE *f, int link, int carrier) {
    double middle[2];
    for (int k = 0; k < 2; ++k)
        middle[k] = 0.5 * (point[link - 1][k] + point[link][k]) - point[carrier][k];
    fprintf(f,
            "<link name='%s'><inertial><origin xyz='%.17g 0 %.17g'/><mass value='%g'/><inertia "
            "ixx='%g' iyy='%g' "
            "izz='%g' ixy='0' ixz='0' iyz='0'/></inertial></link>\n",
            link_names[link], middle[0], middle[1], link_mass[link], link_inertia[link],
            link_inertia[link], link_inertia[link]);
}
static void put_joint(FILE *f, int joint, int parent, int child, int carrier_of_parent,
                      int turned) {
    double at[2] = {point[joint][0], point[joint][1]};
    for (int k = 0; k < 2 && carrier_of_parent >= 0; ++k)
        at[k] -= point[carrier_of_parent][k];
    fprintf(f,
            "<joint name='%s' type='continuous'><parent link='%s'/><child link='%s'/><origin "
            "xyz='%.17g 0 %.17g'/>"
            "<axis xyz='0 %d 0'/></joint>\n",
            joint_names[joint], link_names[parent], link_names[child], at[0], at[1],
            turned ? -1 : 1);
}
/* Both chains from the base to the joint that is cut. */
static void write_four_bar(const char *path, int cut) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "<robot name='bars'><link name='base'/>\n");
    int carrier[4] = {-1, -1, -1, -1};
    for (int i = 0; i < cut; ++i) {
        carrier[i + 1] = i;
        put_link(f, i + 1, i);
        put_joint(f, i, i, i + 1, carrier[i], 0);
    }
    for (int i = 3; i > cut; --i) {
        const int parent = (i + 1) % 4;
        carrier[i] = i;
        put_link(f, i, i);
        put_joint(f, i, parent, i, carrier[parent], 1);
    }
    const int one = cut;
    const int two = (cut + 1) % 4;
    fprintf(f, "<loop_joint name='%s' type='revolute'>", joint_names[cut]);
    for (int side = 0; side < 2; ++side) {
        const int link = side ? two : one;
        double at[2] = {point[cut][0], point[cut][1]};
        for (int k = 0; k < 2 && carrier[link] >= 0; ++k)
            at[k] -= point[carrier[link]][k];
        fprintf(f, "<link%d link='%s' xyz='%.17g 0 %.17g'/>", side + 1, link_names[link], at[0],
                at[1]);
    }
    fprintf(f, "<axis xyz='0 1 0'/></loop_joint></robot>\n");
    assert_int_equal(fclose(f), 0);
}

static char folder[] = "/tmp/soa-loops-XXXXXX";
static char urdf[4][64];
static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    for (int cut = 0; cut < 4; ++cut) {
        snprintf(urdf[cut], sizeof urdf[cut], "%s/cut-%s.urdf", folder, joint_names[cut]);
        write_four_bar(urdf[cut], cut);
    }
    return 0;
}
static int remove_files(void **state) {
    (void)state;
    for (int cut = 0; cut < 4; ++cut)
        unlink(urdf[cut]);
    return rmdir(folder);
}

/* Inverse dynamics at the crank follows its path, whichever joint is cut: the same motion. */
static void crank_with_each_joint_cut(void **state) {
    (void)state;
    enum { SAMPLES = 31 };
    double path[4][SAMPLES];
    worst_case goal = {0}, same = {0}, closure = {0};
    for (int cut = 0; cut < 4; ++cut) {
        stage s = made("duration: 3\n"
                       "parts: [{name: m, model: %s}]\n"
                       "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\n"
                       "control: {rate: 1000, phases: [{name: go, actions: [{law: "
                       "inverse-dynamics, part: m, joints: A, "
                       "goal: {A: 1.0}, time: 1.5, stiffness: 100, damping: 20}]}]}\n",
                       urdf[cut]);
        for (int i = 0; i < SAMPLES; ++i) {
            run_to(&s, 0.1 * i);
            path[cut][i] = q_of(&s, "m.A")[0];
            note(&same, fabs(path[cut][i] - path[0][i]), cut);
        }
        note(&goal, fabs(path[cut][SAMPLES - 1] - 1), cut);
        const soa_world_summary sum = summary_of(&s);
        note(&closure, sum.closure_error, cut);
        near("energy balance", sum.energy_error_rel, 0, 1e-9);
        assert_int_equal(sum.warning_count, 0);
        closed(&s);
    }
    conclude("crank at its goal", &goal, 1e-6);
    conclude("the same motion, whichever joint is cut", &same, 1e-9);
    conclude("closure", &closure, 1e-10);
}

/* Every law that supports loops brings the machine to rest at its goal, and holds it against
 * gravity. */
static void laws_on_a_closed_machine(void **state) {
    (void)state;
    static const char *const laws[] = {
        "{law: joint-pd, part: m, joints: A, goal: {A: 0.5}, time: 1, stiffness: 60, damping: 10}",
        ("{law: inverse-dynamics, part: m, joints: A, goal: {A: 0.5}, time: 1, stiffness: 100, "
         "damping: 20}"),
        "{law: inverse-dynamics, part: m, goal: {A: 0.5}, time: 1, stiffness: 100, damping: 20}",
        "{law: joint-pd, part: m, goal: {D: 0.2}, time: 1, stiffness: 60, damping: 10}",
        "{law: joint-pd, part: m, goal: {C: -0.1}, time: 1, stiffness: 60, damping: 10}"};
    static const char *const joints[] = {"m.A", "m.A", "m.A", "m.D", "m.C"};
    static const double goals[] = {0.5, 0.5, 0.5, 0.2, -0.1};
    for (size_t k = 0; k < sizeof laws / sizeof *laws; ++k)
        for (int cut = 0; cut < 4; ++cut) {
            stage s = made("duration: 4\nparts: [{name: m, model: %s}]\n"
                           "control: {rate: 1000, phases: [{name: go, actions: [%s]}]}\n",
                           urdf[cut], laws[k]);
            run_to(&s, 4);
            near(laws[k], q_of(&s, joints[k])[0], goals[k], 1e-5);
            closed(&s);
        }
}

/* A machine with loops held by an impedance and by an operational law at a frame of the coupler. */
static void frame_laws_on_a_closed_machine(void **state) {
    (void)state;
    static const char *const laws[] = {
        "{law: impedance, frame: m.coupler, stiffness: [0, 400], damping: [0, 60], "
        "goal: {xyz: [0.02, 0, 0.02], offset: true}, time: 1}",
        "{law: operational, frame: m.coupler, stiffness: 100, damping: 20, time: 1}"};
    for (size_t k = 0; k < sizeof laws / sizeof *laws; ++k)
        for (int cut = 2; cut < 4; ++cut) { /* the coupler hangs on crank */
            stage s = made("duration: 3\nparts: [{name: m, model: %s}]\n"
                           "control: {rate: 1000, phases: [{name: go, actions: [%s]}]}\n",
                           urdf[cut], laws[k]);
            run_to(&s, 2);
            const double before = q_of(&s, "m.A")[0];
            run_to(&s, 3);
            near(laws[k], q_of(&s, "m.A")[0], before, 1e-4); /* at rest, held against gravity */
            near(laws[k], v_of(&s, "m.A")[0], 0, 1e-3);
            if (k) near("stays", before, 0, 1e-4);
            closed(&s);
        }
}

/* The loop is there without control too: it falls as one machine, energy kept, whichever joint is
 * cut. */
static void falling(void **state) {
    (void)state;
    double at[4];
    for (int cut = 0; cut < 4; ++cut) {
        stage s = made("duration: 2\nparts: [{name: m, model: %s, rates: {A: 1}}]\n"
                       "integration: {relative_tolerance: 1e-11, absolute_tolerance: 1e-13}\n",
                       urdf[cut]);
        near("rate of the crank", v_of(&s, "m.A")[0], 1, 1e-12); /* what is given stays */
        run_to(&s, 2);
        at[cut] = q_of(&s, "m.A")[0];
        near("the same fall", at[cut], at[0], 1e-8);
        near("energy", summary_of(&s).energy_error_rel, 0, 1e-9);
        closed(&s);
    }
}

/* --- assembly --------------------------------------------------------------------------------- */
static void assembly(void **state) {
    (void)state;
    /* a position that is given stays, the others follow */
    stage s = made("duration: 1\nparts: [{name: m, model: %s, positions: {A: 0.4}}]\n", urdf[2]);
    near("A stays", q_of(&s, "m.A")[0], 0.4, 1e-13);
    soa_world_summary sum = summary_of(&s);
    assert_int_equal(sum.assembly_count, 2);
    assert_string_equal(sum.assembly[0].name, "m.B");
    assert_string_equal(sum.assembly[1].name, "m.D");
    near("from", sum.assembly[0].from, 0, 0);
    near("to", sum.assembly[0].to, q_of(&s, "m.B")[0], 0);
    closed(&s);
    /* nothing to move */
    s = made("duration: 1\nparts: [{name: m, model: %s}]\n", urdf[2]);
    assert_int_equal(summary_of(&s).assembly_count, 0);
    closed(&s);
    /* two that contradict: within the bound one of them gives way, and it is said */
    s = made("duration: 1\nparts: [{name: m, model: %s, positions: {A: 0.4, D: "
             "0.05}}]\nassembly_bound: 2\n",
             urdf[2]);
    /* B, and the one of A and D that moves less */
    assert_int_equal(summary_of(&s).assembly_count, 2);
    near("closed", summary_of(&s).closure_error, 0, 1e-12);
    closed(&s);
    /* beyond it: refused by the loop's name */
    char text[512];
    soa_scenario scenario;
    soa_report report;
    soa_world *world = NULL;
    snprintf(text, sizeof text,
             "duration: 1\nparts: [{name: m, model: %s, positions: {A: 0.9, D: -0.4}}]\n", urdf[2]);
    OK(soa_scenario_parse(text, strlen(text), "test.yaml", &scenario, &report));
    assert_int_equal(soa_world_create(&scenario, &world, &report), SOA_E_NO_CONVERGENCE);
    printf("  %s\n", report.text);
    assert_non_null(strstr(report.text, "loop 'm.C' is open by"));
    assert_non_null(strstr(report.text, "assembly_bound 0.1"));
    soa_scenario_free(&scenario);
    /* rates that contradict are moved, and it is said */
    s = made("duration: 1\nparts: [{name: m, model: %s, rates: {A: 1, D: -5}}]\n", urdf[2]);
    sum = summary_of(&s);
    int rates = 0;
    for (int i = 0; i < sum.assembly_count; ++i)
        rates += !strncmp(sum.assembly[i].name, "rate of m.", 10);
    assert_int_equal(rates, 2);
    closed(&s);
}

/* A crank that turns fully is put anywhere: the others stay on the branch that begins at the
 * neutral position. */
static void branches(void **state) {
    (void)state;
    worst_case step = {0}, kept = {0};
    for (int way = -1; way <= 1; way += 2) {
        double before = 0;
        for (int k = 1; k < 36; ++k) {
            const double angle = way * k * PI / 36;
            stage s = made("duration: 1\nparts: [{name: m, model: %s, positions: {A: %.17g}}]\n",
                           urdf[2], angle);
            note(&kept, fabs(q_of(&s, "m.A")[0] - angle), way * k);
            note(&step, fabs(q_of(&s, "m.D")[0] - before), way * k);
            assert_int_equal(summary_of(&s).warning_count, 0);
            before = q_of(&s, "m.D")[0];
            closed(&s);
        }
    }
    conclude("the crank is where it was put", &kept, 1e-12);
    conclude("the rocker, from one position to the next 5 deg on", &step, 0.06);
}

/* A tip that two chains carry is moved by the motors of both. */
static void both_chains(void **state) {
    (void)state;
    static const char five_bar[] = "<robot name='five'><link name='base'/>\n"
                                   "%s</robot>\n";
    static const char chain[] = "<link name='u%d'><inertial><origin xyz='0 0 0.1'/><mass "
                                "value='0.5'/><inertia ixx='0.002' iyy='0.002' "
                                "izz='0.001' "
                                "ixy='0' ixz='0' iyz='0'/></inertial></link>\n"
                                "<joint name='m%d' type='continuous'><parent link='base'/><child "
                                "link='u%d'/><origin xyz='%g 0 0' rpy='0 %g "
                                "0'/><axis xyz='0 1 0'/></joint>\n"
                                "<link name='l%d'><inertial><origin xyz='0 0 0.15'/><mass "
                                "value='0.4'/><inertia ixx='0.003' iyy='0.003' "
                                "izz='0.001' "
                                "ixy='0' ixz='0' iyz='0'/></inertial></link>\n"
                                "<joint name='p%d' type='continuous'><parent link='u%d'/><child "
                                "link='l%d'/><origin xyz='0 0 0.2' rpy='0 %g "
                                "0'/><axis "
                                "xyz='0 1 0'/></joint>\n";
    char text[4000], path[] = "/tmp/soa-five-XXXXXX";
    size_t at = 0;
    for (int k = 1; k <= 2; ++k) {
        const double side = k == 1 ? -1 : 1;
        at += (size_t)snprintf(text + at, sizeof text - at, chain, k, k, k, 0.1 * side, 0.6 * side,
                               k, k, k, k, -1.2 * side);
    }
    snprintf(text + at, sizeof text - at,
             "<loop_joint name='tip' type='revolute'><link1 link='l1' xyz='0 0 0.3'/><link2 "
             "link='l2' xyz='0 0 "
             "0.3'/><axis xyz='0 "
             "1 0'/></loop_joint>");
    const int handle = mkstemp(path);
    assert_true(handle >= 0);
    FILE *f = fdopen(handle, "w");
    fprintf(f, five_bar, text);
    fclose(f);
    static const char *const joints[] = {"", ", joints: [m1, m2]"};
    for (int k = 0; k < 2; ++k) {
        stage s = made("duration: 4\nparts: [{name: f, model: %s, motors: [m1, m2], frames: "
                       "[{name: tip, on: l1, at: [0, 0, "
                       "0.3]}]}]\ncontrol: {rate: 1000, phases: [{name: go, actions: [{law: "
                       "impedance, frame: f.tip, stiffness: "
                       "[0, 800], damping: [0, 80], goal: {xyz: [0.04, 0, 0.02], offset: true}, "
                       "time: 1%s}]}]}\n",
                       path, joints[k]);
        soa_frame start, end;
        const soa_model *model = soa_world_model(s.world);
        soa_work *work;
        OK(soa_work_create(model, &work));
        const int tip = soa_model_find_frame(model, "f.tip");
        OK(soa_kinematics(model, work, soa_world_q(s.world), NULL, NULL));
        OK(soa_pose(model, work, tip, &start));
        run_to(&s, 4);
        OK(soa_kinematics(model, work, soa_world_q(s.world), NULL, NULL));
        OK(soa_pose(model, work, tip, &end));
        near("tip, x", end.p[0] - start.p[0], 0.04, 1e-6);
        near("tip, z", end.p[2] - start.p[2], 0.02, 1e-6);
        soa_work_free(work);
        closed(&s);
    }
    unlink(path);
}

/* The model's loop closed again by the scenario: named, solved, the same motion. */
static void closed_twice(void **state) {
    (void)state;
    double at[2];
    for (int twice = 0; twice < 2; ++twice) {
        char again[400] = "";
        if (twice)
            snprintf(again, sizeof again,
                     "constraints: [{kind: loop, name: again, frames: [m.coupler, m.rocker], "
                     "joint: revolute, axis: "
                     "[0, 1, 0], "
                     "place1: [%.17g, 0, %.17g], place2: [%.17g, 0, %.17g]}]\n",
                     point[2][0] - point[1][0], point[2][1] - point[1][1],
                     point[2][0] - point[3][0], point[2][1] - point[3][1]);
        stage s =
            made("duration: 2\nparts: [{name: m, model: %s, rates: {A: 1}}]\n%s", urdf[2], again);
        const soa_world_summary sum = summary_of(&s);
        if (twice) printf("  %s\n", sum.redundancy);
        if (twice) assert_non_null(strstr(sum.redundancy, "repeats rows of"));
        assert_int_equal(sum.constraint_rows, twice ? 10 : 5);
        assert_int_equal(sum.constraint_rank, 2);
        run_to(&s, 2);
        at[twice] = q_of(&s, "m.A")[0];
        closed(&s);
    }
    near("closed twice", at[1], at[0], 1e-9);
}

/* --- forces ----------------------------------------------------------------------------------- */
static double signal_of(stage *s, const char *name) {
    const int count = soa_world_signal_count(s->world);
    double *values = calloc((size_t)count, sizeof *values);
    double found = NAN;
    OK(soa_world_signal_values(s->world, values));
    for (int i = 0; i < count; ++i)
        if (!strcmp(soa_world_signal_name(s->world, i, NULL), name)) found = values[i];
    free(values);
    return found;
}
/* A weight on a rope: the constraint carries it, and the record says so. */
static void recorded_forces(void **state) {
    (void)state;
    stage s =
        made("duration: 1\nparts: [{name: b, body: {mass: 2, sphere: 0.1}, place: [0, 0, -0.5]}]\n"
             "constraints: [{kind: distance, name: rope, frames: [b, world], value: 0.5}]\n");
    run_to(&s, 0.5);
    near("force of the rope on the weight", signal_of(&s, "loop.rope.fz"), 2 * 9.81, 1e-8);
    near("nothing sideways", signal_of(&s, "loop.rope.fx"), 0, 1e-9);
    closed(&s);
    s = made("duration: 1\nparts: [{name: b, body: {mass: 2, box: [0.2, 0.2, 0.2]}}]\n"
             "constraints: [{kind: loop, name: bolt, frames: [world, b], joint: fixed, place2: "
             "[0.3, 0, 0], place1: "
             "[0.3, 0, 0]}]\n"
             "disturbances: [{frame: b, duration: 1, force: [0, 5, 0]}]\n");
    run_to(&s, 0.5);
    near("on the world, fz", signal_of(&s, "loop.bolt.fz"), -2 * 9.81, 1e-8);
    near("on the world, fy", signal_of(&s, "loop.bolt.fy"), 5, 1e-8);
    /* r = -0.3 x, f = -mg z */
    near("about the bolt, ny", signal_of(&s, "loop.bolt.ny"), -0.3 * 2 * 9.81, 1e-8);
    near("about the bolt, nz", signal_of(&s, "loop.bolt.nz"), -0.3 * 5, 1e-8);
    closed(&s);
}
/* A wrist feels what a loop ties its hand to. */
static void wrists_feel_loops(void **state) {
    (void)state;
    stage s = made("duration: 2\n"
                   "parts:\n  - {name: r, model: arm7, friction_scale: 0, positions: {joint2: 0.6, "
                   "joint4: -1.2, joint6: 0.5}}\n"
                   "  - {name: b, body: {mass: 3, sphere: 0.1}}\n"
                   "constraints: [{kind: loop, name: grip, frames: [r.flange, b], joint: fixed}]\n"
                   "control: {rate: 1000, phases: [{name: hold, actions: [{law: operational, "
                   "frame: r.flange, stiffness: 100, "
                   "damping: 20}]}]}\n");
    run_to(&s, 2);
    double f = 0;
    static const char *const axes[3] = {"fx", "fy", "fz"};
    for (int k = 0; k < 3; ++k) {
        char name[64];
        snprintf(name, sizeof name, "sensor.wrist.r.flange.%s", axes[k]);
        f += pow(signal_of(&s, name), 2);
    }
    near("weight at the wrist", sqrt(f), 3 * 9.81, 1e-3);
    closed(&s);
}
/* Two hands that push a box against each other by fixed loops: the internal force is what they were
 * asked for. */
static void internal_force(void **state) {
    (void)state;
    for (int passive = 0; passive < 2; ++passive) {
        stage s = made(
            "duration: 3\ngravity: [0, 0, 0]\n"
            "parts:\n"
            "  - name: robot\n    model: two-puma\n    friction_scale: 0\n"
            "    positions: {left_joint1: -0.1109, left_joint2: 0.9847, left_joint3: -2.8869, "
            "left_joint4: "
            "1.5346, left_joint5: "
            "1.4660, left_joint6: 0.3334, right_joint1: 0.2766, right_joint2: 1.0679, "
            "right_joint3: "
            "-3.0169, right_joint4: "
            "1.6752, right_joint5: -1.3142, right_joint6: -3.5333}\n"
            "    frames: [{name: lh, on: left_link6, at: [0, 0, 0.14]}, {name: rh, on: "
            "right_link6, at: [0, "
            "0, 0.14]}]\n"
            "  - {name: box, body: {mass: 30, box: [0.7, 0.24, 0.6]}, place: [0.62, -0.1, 0.2]}\n"
            "constraints:\n"
            "  - {kind: loop, name: lg, frames: [robot.lh, box], joint: fixed, place2: {xyz: [0, "
            "0.24, 0], "
            "rpy: [90 deg, 0, 0]}}\n"
            "  - {kind: loop, name: rg, frames: [robot.rh, box], joint: fixed, place2: {xyz: [0, "
            "-0.24, 0], "
            "rpy: [-90 deg, 0, "
            "0]}}\n"
            "control: {rate: 500, phases: [{name: hold, actions: [{law: coordination, object: box, "
            "hands: "
            "[robot.lh, robot.rh], "
            "passive: %s, stiffness: %s, damping: %s, squeeze: 25}]}]}\n"
            "success: {object: box, hold: 0.5}\n",
            passive ? "true" : "false", passive ? "[80, 600]" : "30", passive ? "[60, 500]" : "11");
        run_to(&s, 3);
        const soa_world_summary sum = summary_of(&s);
        printf("  internal force %.6g N, off by %.2g mm\n", sum.internal_force_N,
               1e3 * sum.position_error_m);
        near("internal force", sum.internal_force_N, 25, 0.25);
        assert_true(sum.held);
        closed(&s);
    }
}
/* A floating machine whose parts are tied by loops keeps its momentum, and says so. */
static void momentum_of_loops(void **state) {
    (void)state;
    stage s = made("duration: 2\ngravity: [0, 0, 0]\n"
                   "parts:\n  - {name: a, body: {mass: 1, box: [0.2, 0.1, 0.1]}, twist: [0, 0, 3, "
                   "0.1, 0, 0]}\n"
                   "  - {name: b, body: {mass: 2, box: [0.1, 0.3, 0.1]}, place: [0.4, 0, 0], "
                   "twist: [0, 1, 0, 0.1, 1.2, 0]}\n"
                   "constraints: [{kind: loop, name: ball, frames: [a, b], joint: spherical, "
                   "place1: [0.2, 0, 0], place2: [-0.2, "
                   "0, 0]}]\nassembly_bound: 1\n");
    run_to(&s, 2);
    const soa_world_summary sum = summary_of(&s);
    assert_true(sum.is_free);
    near("momentum", sum.momentum_error_rel, 0, 1e-12);
    near("energy", sum.energy_error_rel, 0, 1e-8);
    near("closure", sum.closure_error, 0, 1e-12);
    closed(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crank_with_each_joint_cut),
                                       cmocka_unit_test(laws_on_a_closed_machine),
                                       cmocka_unit_test(frame_laws_on_a_closed_machine),
                                       cmocka_unit_test(falling),
                                       cmocka_unit_test(assembly),
                                       cmocka_unit_test(branches),
                                       cmocka_unit_test(both_chains),
                                       cmocka_unit_test(closed_twice),
                                       cmocka_unit_test(recorded_forces),
                                       cmocka_unit_test(wrists_feel_loops),
                                       cmocka_unit_test(internal_force),
                                       cmocka_unit_test(momentum_of_loops)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
