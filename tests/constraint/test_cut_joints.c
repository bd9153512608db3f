/* test_cut_joints.c  springs, rotors and mimic on cut joints: in motion, in inverse dynamics, in
 * primary coordinates.
 *
 * The reference is the same machine with another joint cut, so that the joint in question belongs
 * to the tree. */
#include "check.h"
#include "soa/soa.h"
#include "soa/world.h"

/* A four-bar in a tilted plane: crank A-B, coupler B-C, rocker C-D; `cut` is the joint that is
 * cut. */
typedef struct machine {
    soa_link_def link[3];
    soa_edge_def edge[4];
    soa_linkage_def def;
    soa_linkage_tree *tree;
    const soa_model *m;
    soa_work *w;
    soa_constraints *c;
    double q[3], v[3];
} machine;

static void prepare(machine *k) {
    static const char *const link[3] = {"crank", "coupler", "rocker"}, *const joint[4] = {"A", "B",
                                                                                          "C", "D"};
    /* joints in the plane, z about */
    static const double at[4][2] = {{0, 0}, {0, 0.2}, {0.5, 0.45}, {0.5, 0}};
    static const int end[4][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
    /* of world and links: the joint where their frames stand */
    static const int origin[4] = {0, 0, 1, 3};
    memset(k, 0, sizeof *k);
    for (int i = 0; i < 3; ++i) {
        k->link[i] = soa_link_default(link[i]);
        k->link[i].mass = 1 + 0.3 * i;
        k->link[i].com[0] = 0.1;
        k->link[i].com[1] = 0.05 * i;
        k->link[i].com[2] = 0.02;
        k->link[i].inertia[0] = 0.02;
        k->link[i].inertia[1] = 0.03;
        k->link[i].inertia[2] = 0.04;
    }
    for (int i = 0; i < 4; ++i) {
        soa_edge_def *e = k->edge + i;
        *e = soa_edge_default(joint[i], end[i][0], end[i][1], SOA_REVOLUTE);
        for (int j = 0; j < 2; ++j) {
            e->place1.p[j] = at[i][j] - (end[i][0] ? at[origin[end[i][0]]][j] : 0);
            e->place2.p[j] = at[i][j] - at[origin[end[i][1]]][j];
        }
    }
    k->def = soa_linkage_default("four-bar", k->link, 3, k->edge, 4);
    k->def.gravity[0] = 2;
    k->def.gravity[1] = -7;
    k->def.gravity[2] = 3;
}
static void build(machine *k, int cut) {
    soa_report report;
    for (int i = 0; i < 4; ++i)
        k->edge[i].use = i == cut ? SOA_EDGE_CUT : SOA_EDGE_ANY;
    k->def.links = k->link;
    k->def.joints = k->edge;
    if (soa_linkage_span(&k->def, &k->tree, &report)) fail_msg("%s", report.text);
    if (soa_model_create(&k->tree->model, &k->m, &report)) fail_msg("%s", report.text);
    soa_constraint_capacity room = soa_linkage_tree_capacity(k->tree);
    room.dense = true;
    assert_int_equal(SOA_OK, soa_work_create(k->m, &k->w));
    assert_int_equal(SOA_OK, soa_constraints_create(k->m, &room, &k->c));
    if (soa_linkage_tree_constrain(k->tree, k->c, &report)) fail_msg("%s", report.text);
}
static void release(machine *k) {
    soa_constraints_free(k->c);
    soa_work_free(k->w);
    soa_model_free(k->m);
    soa_linkage_tree_free(k->tree);
}
/* Coordinates and rates of joint j, cut or not. */
static void joint_state(machine *k, int j, double *q, double *v, double *a, const double *qdd) {
    const soa_edge_def *e = k->edge + j;
    const soa_loop_def seen = {
        e->name, k->tree->link[e->link1], k->tree->link[e->link2], e->place1, e->place2, e->joint};
    assert_int_equal(SOA_OK, soa_kinematics(k->m, k->w, k->q, k->v, qdd));
    assert_int_equal(SOA_OK, soa_loop_coordinates(k->m, k->w, &seen, q, v, a));
}
/* State of `to` from that of `from`. */
static void carry(machine *to, machine *from) {
    soa_body_info b;
    for (int j = 0; j < 4; ++j) {
        double q, v;
        const int body = soa_model_find_joint(to->m, to->edge[j].name);
        if (body < 0 || soa_model_body(to->m, body, &b) || b.mimic >= 0) continue;
        joint_state(from, j, &q, &v, NULL, NULL);
        to->q[b.q_index] = q;
        to->v[b.v_index] = v;
    }
}
/* Springs and rotors on every joint; that of joint `exact` is an exact one, askew to its joint. */
enum { NO_EXACT = -1 };
static void furnish(machine *k, int exact) {
    for (int j = 0; j < 4; ++j) {
        soa_joint_def *joint = &k->edge[j].joint;
        joint->stiffness = 3 + j;
        joint->rest = 0.2 - 0.1 * j;
        joint->damping = 0.01 * (j + 1);
        joint->rotor_inertia = 1e-3;
        joint->gear_ratio = j & 1 ? 4 : -5;
        if (j != exact) continue;
        joint->rotor_model = SOA_ROTOR_EXACT;
        joint->rotor_axis[0] = 0.3;
        joint->rotor_axis[1] = -0.5;
        joint->rotor_axis[2] = 1;
    }
}

static void in_motion(void **unused) {
    (void)unused;
    double end[4], most = 0;
    for (int cut = 0; cut < 4; ++cut) {
        machine k, first;
        soa_closed_sim_result r;
        soa_report report;
        prepare(&k);
        furnish(&k, NO_EXACT);
        build(&k, cut);
        prepare(&first);
        furnish(&first, NO_EXACT);
        build(&first, 2); /* all start alike */
        first.v[0] = 3;
        assert_int_equal(SOA_OK, soa_closed_project(first.c, first.w, 0, first.q, first.v, NULL));
        carry(&k, &first);
        release(&first);
        soa_closed_sim_options o = soa_closed_sim_options_default();
        o.duration = 3;
        o.order = 8;
        o.relative_tolerance = 1e-11;
        o.absolute_tolerance = 1e-12;
        if (soa_closed_simulate(k.c, k.q, k.v, &o, &r, &report))
            fail_msg("cut %d: %s", cut, report.text);
        double q, v;
        joint_state(&k, 0, &q, &v, NULL, NULL);
        end[cut] = v;
        most = fmax(most, fabs(r.balance_worst / r.energy_scale));
        release(&k);
    }
    double apart = 0;
    for (int cut = 1; cut < 4; ++cut)
        apart = fmax(apart, fabs(end[cut] - end[0]));
    printf("  four-bar with springs and rotors, each joint cut in turn: crank's speed at 3 s apart "
           "by %.1e, energy "
           "balance %.1e\n",
           apart, most);
    assert_true(apart <= 1e-8 && most <= 1e-8);
}

/* Inverse dynamics, primary coordinates and impulses; every method.  A and D of the judge's tree
 * carry C. */
static void other_ways(void **unused) {
    (void)unused;
    worst_case forward = {0}, inverse = {0}, primary = {0}, blow = {0}, energy = {0};
    for (int cut = 1; cut < 4; ++cut) {
        machine k, judge;
        prepare(&k);
        furnish(&k, cut == 3 ? NO_EXACT : cut);
        build(&k, cut);
        prepare(&judge);
        furnish(&judge, cut == 3 ? NO_EXACT : cut);
        /* B from crank to coupler, C from coupler to rocker: not turned round */
        build(&judge, cut == 1 ? 2 : 3);
        judge.v[0] = 2;
        assert_int_equal(SOA_OK, soa_closed_project(judge.c, judge.w, 0, judge.q, judge.v, NULL));
        carry(&k, &judge);
        double qdd[3], ref[3], a, b, q, v, energies[4];
        assert_int_equal(SOA_OK,
                         soa_closed_fd(judge.c, judge.w, NULL,
                                       &(soa_input){.q = judge.q, .v = judge.v}, ref, NULL, NULL));
        joint_state(&judge, 0, &q, &v, &b, ref);
        for (int method = 1; method < 4; ++method) {
            soa_closed_options o = soa_closed_options_default();
            o.method = (soa_closed_method)method;
            assert_int_equal(SOA_OK, soa_closed_fd(k.c, k.w, &o, &(soa_input){.q = k.q, .v = k.v},
                                                   qdd, NULL, NULL));
            joint_state(&k, 0, &q, &v, &a, qdd);
            note(&forward, fabs(a - b) / (1 + fabs(b)), cut);
        }
        /* no torque is needed for the motion without torque */
        double tau[3];
        unsigned char one[3] = {0, 0, 0};
        const int crank = soa_model_find_joint(k.m, cut == 3 ? "A" : "D");
        soa_body_info info;
        soa_model_body(k.m, crank, &info);
        one[info.v_index] = 1;
        assert_int_equal(SOA_OK, soa_closed_id(k.c, k.w, &(soa_input){.q = k.q, .v = k.v, .a = qdd},
                                               one, tau, NULL));
        note(&inverse, fabs(tau[info.v_index]), cut);
        /* primary coordinates */
        soa_embedding_def def = soa_embedding_default(one);
        def.constraints = k.c;
        soa_embedding *e = NULL;
        soa_report report;
        if (soa_embedding_create(k.m, &def, &e, &report)) fail_msg("%s", report.text);
        double Q = k.q[info.q_index], V = k.v[info.v_index], Qdd, H, C, G, T, at[3];
        for (int way = 0; way < 2; ++way) {
            memcpy(at, k.q, sizeof at);
            assert_int_equal(SOA_OK, soa_embedding_fd(e, k.w, (soa_embedding_method)way,
                                                      &(soa_input){.q = &Q, .v = &V}, at, &Qdd));
            note(&primary, fabs(Qdd - qdd[info.v_index]) / (1 + fabs(Qdd)), cut);
        }
        assert_int_equal(
            SOA_OK, soa_embedding_terms(e, k.w, &(soa_input){.q = &Q, .v = &V}, at, &H, &C, &G));
        note(&primary, fabs(H * Qdd + C + G) / (1 + fabs(G)), cut);
        assert_int_equal(
            SOA_OK, soa_embedding_id(e, k.w, &(soa_input){.q = &Q, .v = &V, .a = &Qdd}, at, &T));
        note(&primary, fabs(T) / (1 + fabs(G)), cut);
        soa_embedding_free(e);
        assert_int_equal(SOA_OK, soa_closed_energy(k.c, k.w, k.q, k.v, energies, energies + 1));
        assert_int_equal(SOA_OK, soa_closed_energy(judge.c, judge.w, judge.q, judge.v, energies + 2,
                                                   energies + 3));
        note(&energy, fabs(energies[0] - energies[2]) / energies[0], cut);
        note(&energy, fabs(energies[1] - energies[3]) / fabs(energies[1]), cut);
        /* an impulse closes the loop; M (v_after - v) = G'P, with M from accelerations that torques
         * cause */
        double open[3] = {1, 2, -1}, after[3], P[8], rate[8], rows[24], push[3] = {0, 0, 0},
               free_a[3], with_a[3];
        assert_int_equal(SOA_OK, soa_closed_impulse(k.c, k.w, 0, k.q, open, after, P));
        assert_int_equal(SOA_OK,
                         soa_constraints_evaluate(k.c, k.w, &(soa_input){.q = k.q, .v = after},
                                                  NULL, rate, rows, NULL));
        for (int r = 0; r < soa_constraints_row_count(k.c); ++r) {
            note(&blow, fabs(rate[r]), cut);
            for (int j = 0; j < 3; ++j)
                push[j] += rows[3 * r + j] * P[r];
        }
        soa_closed_options open_loop = soa_closed_options_default();
        /* rows so soft that they bear nothing: the tree with the cut joint's rotor */
        open_loop.damping = 1e100;
        assert_int_equal(SOA_OK, soa_closed_fd(k.c, k.w, &open_loop, &(soa_input){.q = k.q}, free_a,
                                               NULL, NULL));
        assert_int_equal(SOA_OK,
                         soa_closed_fd(k.c, k.w, &open_loop, &(soa_input){.q = k.q, .tau = push},
                                       with_a, NULL, NULL));
        for (int j = 0; j < 3; ++j)
            note(&blow, fabs(with_a[j] - free_a[j] - (after[j] - open[j])), cut);
        release(&k);
        release(&judge);
    }
    conclude("forward dynamics, rotor in the tree or cut", &forward, 1e-10);
    conclude("inverse dynamics", &inverse, 1e-9);
    conclude("primary coordinates", &primary, 1e-9);
    conclude("energies", &energy, 1e-12);
    conclude("impulses", &blow, 1e-11);
}

/* A motor on a cut hinge winds up its spring by several turns: one link hinged to the world by a
 * loop alone. */
static void many_turns(void **unused) {
    (void)unused;
    soa_body_def body = soa_body_default("wheel", 0, SOA_PLANAR);
    body.mass = 1;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.5;
    soa_model_def def = soa_model_default("wheel", &body, 1);
    memset(def.gravity, 0, sizeof def.gravity);
    const soa_model *m = NULL;
    soa_constraints *c = NULL;
    soa_work *w = NULL;
    const soa_constraint_capacity room = {1, 6, 1};
    assert_int_equal(SOA_OK, soa_model_create(&def, &m, NULL));
    assert_int_equal(SOA_OK, soa_constraints_create(m, &room, &c));
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    soa_constraint_def hinge =
        soa_constraint_default(SOA_LOOP, 0, soa_model_find_frame(m, "wheel"));
    hinge.stiffness = 0.02;
    hinge.rotor_inertia = 0.01;
    hinge.gear_ratio = 7;
    assert_int_equal(SOA_OK, soa_constraints_add(c, &hinge, NULL, NULL));
    const double inertia = 0.5 + 0.49, speed = 3, rate = sqrt(0.02 / inertia),
                 quarter = 1.5707963267948966 / rate;
    double q[3] = {0, 0, 0}, v[3] = {0, 0, speed}, turns;
    soa_closed_sim_options o = soa_closed_sim_options_default();
    soa_closed_sim_result r;
    soa_report report;
    o.duration = quarter;
    o.relative_tolerance = 1e-10;
    if (soa_closed_simulate(c, q, v, &o, &r, &report)) fail_msg("%s", report.text);
    assert_int_equal(SOA_OK, soa_kinematics(m, w, q, NULL, NULL));
    assert_int_equal(SOA_OK, soa_constraints_joint_coordinates(c, w, 0, &turns));
    printf("  spring wound by %.6f rad (%.6f expected), energy balance %.1e\n", turns, speed / rate,
           r.balance_worst);
    assert_true(fabs(turns - speed / rate) < 1e-7 && turns > 18 && fabs(v[2]) < 1e-7 &&
                r.balance_worst < 1e-7);
    const double other[1] = {0};
    assert_int_equal(SOA_OK, soa_constraints_set_turns(c, 0, other));
    assert_int_equal(SOA_OK, soa_constraints_joint_coordinates(c, w, 0, &turns));
    assert_true(fabs(turns) <= 3.1415926535897936);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_model_free(m);
}

/* What is refused, and ratios of cut joints. */
static void ratios(void **unused) {
    (void)unused;
    machine k;
    soa_report report;
    prepare(&k);
    build(&k, 2);
    soa_constraints *c = NULL;
    const soa_constraint_capacity room = {4, 20, 1};
    assert_int_equal(SOA_OK, soa_constraints_create(k.m, &room, &c));
    soa_constraint_def loop = soa_constraint_from_loop(k.tree->loops), bad = loop,
                       r = soa_constraint_default(SOA_RATIO, 0, 0);
    bad.joint = SOA_SPHERICAL;
    bad.stiffness = 1;
    assert_int_equal(SOA_E_JOINT, soa_constraints_add(c, &bad, NULL, &report));
    bad = loop;
    bad.stiffness = NAN;
    assert_int_equal(SOA_E_NOT_FINITE, soa_constraints_add(c, &bad, NULL, &report));
    bad = loop;
    bad.rotor_inertia = -1;
    assert_int_equal(SOA_E_NOT_FINITE, soa_constraints_add(c, &bad, NULL, &report));
    bad = loop;
    bad.joint = SOA_UNIVERSAL;
    bad.rotor_inertia = 1;
    bad.rotor_model = SOA_ROTOR_EXACT;
    assert_int_equal(SOA_E_JOINT, soa_constraints_add(c, &bad, NULL, &report));
    bad = loop;
    bad.joint = SOA_FREE;
    bad.rotor_inertia = 1;
    assert_int_equal(SOA_E_JOINT, soa_constraints_add(c, &bad, NULL, &report));
    r.coordinate[0] = ~0;
    r.coefficient[0] = 1;
    /* there is no constraint 0 yet */
    assert_int_equal(SOA_E_JOINT, soa_constraints_add(c, &r, NULL, &report));
    assert_int_equal(SOA_OK, soa_constraints_add(c, &loop, NULL, &report));
    assert_int_equal(SOA_OK, soa_constraints_add(c, &r, NULL, &report));
    assert_int_equal(SOA_E_ARGUMENT, soa_constraints_remove(c, 0)); /* the ratio counts with it */
    assert_int_equal(SOA_OK, soa_constraints_remove(c, 1));
    /* rows of a ratio by differences of the coordinate */
    r.coefficient[0] = 1.5;
    r.coordinate[1] = 1;
    r.coefficient[1] = -0.7;
    assert_int_equal(SOA_OK, soa_constraints_add(c, &r, NULL, &report));
    double q[3] = {0.3, -0.2, 0.5}, v[3] = {1, -2, 0.7}, G[18], gamma[6], g[2][6], rate[2][6],
           worst = 0;
    assert_int_equal(SOA_OK, soa_constraints_evaluate(c, k.w, &(soa_input){.q = q, .v = v}, g[0],
                                                      rate[0], G, gamma));
    const double step = 1e-6;
    for (int s = 0; s < 2; ++s) {
        double at[3];
        for (int j = 0; j < 3; ++j)
            at[j] = q[j] + (s ? step : -step) * v[j];
        assert_int_equal(SOA_OK, soa_constraints_evaluate(c, k.w, &(soa_input){.q = at, .v = v},
                                                          g[s], rate[s], NULL, NULL));
    }
    double now = 0;
    for (int j = 0; j < 3; ++j)
        now += G[15 + j] * v[j];
    worst = fmax(fabs((g[1][5] - g[0][5]) / (2 * step) - now),
                 fabs((rate[1][5] - rate[0][5]) / (2 * step) - gamma[5]));
    printf("  ratio of a cut joint: row and gamma by differences %.1e\n", worst);
    assert_true(worst < 1e-7);
    soa_constraints_free(c);
    release(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_motion), cmocka_unit_test(other_ways),
                                       cmocka_unit_test(many_turns), cmocka_unit_test(ratios)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
