/* test_grasp.c  grasps: contact coordinates and rates, agreement with loops, the object's state,
 * well-posedness, momentum, closure, loads and friction, bad input.
 *
 * SOA_SEED=n chooses other systems. */
#include "grasp_systems.h"

static const soa_grasp_method every[] = {SOA_GRASP_GENERAL, SOA_GRASP_RCCFD1, SOA_GRASP_RCCFD2,
                                         SOA_GRASP_RCCFD3,  SOA_GRASP_LOOSE,  SOA_GRASP_WOODBURY};
enum { METHODS = sizeof every / sizeof *every };

static double norm(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The accelerations keep T'V = 0 and give W', by central differences of V along the motion: every
 * rate of a direction is in it.  Theta's rate likewise. */
static void rates_of_contacts(void **unused) {
    (void)unused;
    worst_case held = {0}, free_rate = {0}, theta = {0}, shift = {0}, closed = {0};
    const recipe r = {.floating = -1, .mechanism = -1};
    for (long seed = first_seed(); seed < first_seed() + 100; ++seed) {
        grasp_system s = grasp_system_open(seed, &r);
        double qdd[MOST_V], W_rate[MOST_ROWS], force[MOST_ROWS];
        soa_grasp_report report;
        const soa_status status =
            soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, force,
                         W_rate, &report);
        if (status || report.condition > 1e6) {
            grasp_system_close(&s);
            continue;
        }
        const double h = 1e-4 / (1 + norm(qdd, s.nv) / 1e3);
        double qn[2][MOST_V], vn[2][MOST_V];
        for (int side = 0; side < 2; ++side) {
            const double t = side ? h : -h;
            double step[MOST_V];
            for (int j = 0; j < s.nv; ++j) {
                step[j] = t * s.v[j] + t * t / 2 * qdd[j];
                vn[side][j] = s.v[j] + t * qdd[j];
            }
            OK(soa_q_integrate(s.m, s.q, step, 1, qn[side]));
        }
        for (int a = 0; a < s.arms; ++a) {
            soa_contact_motion at, near[2];
            int first = 0, free = 0, index = -1;
            OK(soa_grasp_contact_motion(s.g, s.w, s.q, s.v, a, &at));
            OK(soa_grasp_contact_range(s.g, a, &index, &first, &free));
            assert_int_equal(index, a);
            assert_int_equal(free, at.free);
            note(&closed, at.rate, seed);
            note(&closed, at.gap, seed);
            for (int side = 0; side < 2; ++side)
                OK(soa_grasp_contact_motion(s.g, s.w, qn[side], vn[side], a, &near[side]));
            const double size = 1 + norm(qdd, s.nv);
            note(&held, fmax(near[0].rate, near[1].rate) / (h * size), seed); /* O(h^2) / h */
            for (int k = 0; k < free; ++k)
                note(&free_rate,
                     fabs((near[1].W[k] - near[0].W[k]) / (2 * h) - W_rate[first + k]) / size,
                     seed);
            double same = 0;
            for (int k = 0; k < 4; ++k)
                same += near[0].theta[k] * near[1].theta[k];
            for (int k = 0; k < 4 && same > 0; ++k)
                note(&theta,
                     fabs((near[1].theta[k] - near[0].theta[k]) / (2 * h) - at.theta_rate[k]) /
                         size,
                     seed);
            for (int k = 0; k < 3; ++k)
                note(&shift,
                     fabs((near[1].shift[k] - near[0].shift[k]) / (2 * h) - at.shift_rate[k]) /
                         size,
                     seed);
        }
        grasp_system_close(&s);
    }
    conclude("contacts are closed at the start", &closed, 1e-9);
    conclude("T'V stays zero to second order", &held, 1e-2);
    conclude("W' by differences", &free_rate, 1e-5);
    conclude("rate of the contact quaternion", &theta, 1e-5);
    conclude("rate of the contact's shift", &shift, 1e-5);
}

static void add_contacts(const grasp_system *s, soa_constraints *c) {
    for (int a = 0; a < s->arms; ++a) {
        soa_constraint_def defs[2];
        int count = 0;
        OK(soa_grasp_contact_constraints(s->g, a, defs, &count));
        for (int n = 0; n < count; ++n) {
            soa_report report;
            if (soa_constraints_add(c, defs + n, NULL, &report)) fail_msg("%s", report.text);
        }
    }
}
/* The same contacts as constraints: loops, and velocity rows where there is no such joint;
 * soa_closed_fd, three methods. */
static void as_loops(void **unused) {
    (void)unused;
    worst_case motion = {0}, torque = {0}, projected = {0};
    static dense_grasp D;
    for (long seed = first_seed() + 1000; seed < first_seed() + 1160; ++seed) {
        const recipe r = {.floating = -1, .mechanism = -1, .loops = seed % 2 == 0};
        grasp_system s = grasp_system_open(seed, &r);
        soa_constraints *c = NULL;
        const soa_constraint_capacity room = {2 * MOST_ARMS, MOST_ROWS, 1};
        OK(soa_constraints_create(s.m, &room, &c));
        add_contacts(&s, c);
        double qdd[MOST_V], f[MOST_ROWS], closed[MOST_V], lambda[MOST_ROWS], t1[MOST_V], t2[MOST_V],
            v[MOST_V];
        static double G[MOST_ROWS * MOST_V];
        soa_grasp_report report;
        dense_form(&s, s.q, s.v, &D);
        const soa_status status = soa_grasp_fd(
            s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f, NULL, &report);
        if (report.condition < 1e8) {
            OK(status);
            OK(soa_constraints_evaluate(c, s.w, &(soa_input){.q = s.q, .v = s.v}, NULL, NULL, G,
                                        NULL));
            dense_torques(&D, f, t1);
            for (int method = SOA_CLOSED_KKT; method <= SOA_CLOSED_NULL_SPACE; ++method) {
                soa_closed_options o = soa_closed_options_default();
                o.method = (soa_closed_method)method;
                OK(soa_closed_fd(c, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, closed,
                                 lambda, NULL));
                note(&motion, relative(qdd, closed, (size_t)s.nv), seed);
                for (int j = 0; j < s.nv; ++j) {
                    t2[j] = 0;
                    for (int n = 0; n < D.rows; ++n)
                        t2[j] += G[s.nv * n + j] * lambda[n];
                }
                note(&torque, relative(t1, t2, (size_t)s.nv), seed);
            }
            /* closing by constraints and by contacts is one */
            double wild[MOST_V], by_contacts[MOST_V];
            roll_many(&s.d, -1, 1, (size_t)s.nv, wild);
            OK(soa_closed_impulse(c, s.w, 0, s.q, wild, v, NULL));
            OK(soa_grasp_impulse(s.g, s.w, s.q, wild, by_contacts, NULL));
            note(&projected, relative(by_contacts, v, (size_t)s.nv), seed);
        }
        soa_constraints_free(c);
        grasp_system_close(&s);
    }
    conclude("vdot: grasp against three closed-chain methods", &motion, 1e-9);
    conclude("J'f against G'lambda", &torque, 1e-9);
    conclude("v after closing, two ways", &projected, 1e-9);
}

/* (2.8), (2.9): the arms' ends tell what the object does. */
static void the_object(void **unused) {
    (void)unused;
    worst_case velocity = {0}, acceleration = {0}, force = {0}, tips = {0};
    const recipe r = {.floating = -1};
    for (long seed = first_seed() + 2000; seed < first_seed() + 2100; ++seed) {
        grasp_system s = grasp_system_open(seed, &r);
        double qdd[MOST_V], f[MOST_ROWS], V[6], A[6], alpha0[MOST_ROWS];
        soa_grasp_report report;
        const soa_status status = soa_grasp_fd(
            s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f, NULL, &report);
        if (!status && report.condition < 1e8) {
            soa_grasp_object o;
            OK(soa_grasp_object_state(s.g, s.w, &(soa_input){.q = s.q, .v = s.v, .a = qdd}, f,
                                      s.object, &o, alpha0));
            OK(soa_kinematics(s.m, s.w, s.q, s.v, qdd));
            OK(soa_velocity(s.m, s.w, s.object, SOA_AXES_WORLD, V));
            OK(soa_acceleration_classical(s.m, s.w, s.object, SOA_AXES_WORLD, A));
            note(&velocity, relative(o.V, V, 6), seed);
            note(&acceleration, relative(o.alpha, A, 6), seed);
            for (int a = 0; a < s.arms; ++a) {
                double B[6];
                soa_frame X;
                OK(soa_acceleration_classical(s.m, s.w, s.contact[a].arm, SOA_AXES_WORLD, B));
                OK(soa_pose(s.m, s.w, s.contact[a].arm, &X));
                note(&tips, relative(alpha0 + 6 * a, B, 3), seed);
            }
            /* the object alone under f(C) and its own joint torque moves so: torque of the object
             * without contacts */
            double torque[MOST_V], body[6];
            soa_frame pose;
            OK(soa_pose(s.m, s.w, s.object, &pose));
            OK(soa_rnea(s.m, s.w, s.q, s.v, qdd, NULL, 0, torque));
            turn_back(pose.R, o.f, body);
            turn_back(pose.R, o.f + 3, body + 3);
            for (int j = 0; j < 6; ++j)
                body[j] += s.tau[s.nv - 6 + j];
            note(&force, relative(body, torque + s.nv - 6, 6), seed);
        }
        grasp_system_close(&s);
    }
    conclude("V(C) from the arms' ends (2.8a)", &velocity, 1e-9);
    conclude("alpha(C) from the arms' ends (2.8b)", &acceleration, 1e-9);
    conclude("angular accelerations alpha(0) of the ends", &tips, 1e-12);
    conclude("f(C) moves the object (2.4), (2.9)", &force, 1e-9);
}

/* Arms with three joints: Omega is singular by counting, and for parallel axes also where the
 * machine moves. */
static void singular_omega(void **unused) {
    (void)unused;
    worst_case motion = {0}, least = {0}, torque = {0};
    long singular = 0, moving = 0;
    static dense_grasp D;
    for (long seed = first_seed() + 3000; seed < first_seed() + 3200; ++seed) {
        const recipe r = {.arms = 3 + (int)(seed % 2),
                          .joints = 3,
                          .rigid = seed % 3 == 0,
                          .turning_only = 1,
                          .floating = seed % 5 == 0,
                          .planar = seed % 4 > 1};
        grasp_system s = grasp_system_open(seed, &r);
        soa_grasp_rank full, reduced;
        OK(soa_grasp_compliance(s.g, s.w, s.q, NULL, &full, &reduced));
        assert_int_equal(full.rows, 6 * s.arms);
        singular += full.rank < full.rows;
        double expected[MOST_V], f0[MOST_ROWS], qdd[MOST_V], f[MOST_ROWS], t1[MOST_V], t2[MOST_V];
        dense_form(&s, s.q, s.v, &D);
        const int rank = dense_solve(&D, s.tau, expected, f0);
        dense_torques(&D, f0, t1);
        /* A structure at rest stays there: the dense system, with rows rounded and condition up to
         * 1e8, knows it less well. */
        if (rank == s.nv && norm(s.v, s.nv) <= 1e-12) memset(expected, 0, sizeof expected);
        for (int k = 0; reduced.condition < 1e8 && k < METHODS; ++k) {
            soa_grasp_options o = soa_grasp_options_default();
            soa_grasp_report report;
            o.method = every[k];
            const soa_status status =
                soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f,
                             NULL, &report);
            if (every[k] == SOA_GRASP_WOODBURY) {
                if (rank < D.rows) assert_int_equal(status, SOA_E_SINGULAR);
                continue;
            }
            if (status)
                fail_msg("seed %ld: %s, residual %g", seed, soa_status_text(status),
                         report.residual);
            assert_int_equal(report.rank, rank);
            assert_int_equal(report.least_norm, rank < D.rows);
            note(&motion, relative(qdd, expected, (size_t)s.nv), seed);
            dense_torques(&D, f, t2);
            note(&torque, relative(t2, t1, (size_t)s.nv), seed);
            /* no solution is shorter */
            note(&least, fmax(0, norm(f, D.n6) / norm(f0, D.n6) - 1), seed);
        }
        moving += rank < D.rows && norm(s.v, s.nv) > 1e-6;
        grasp_system_close(&s);
    }
    printf("  Omega singular in %ld of 200 systems; redundant forces in %ld that move\n", singular,
           moving);
    assert_true(singular > 100 && moving > 20);
    conclude("vdot, least-norm forces, against (2.11)", &motion, 1e-9);
    conclude("J'f, least-norm forces, against (2.11)", &torque, 1e-9);
    conclude("forces longer than another solution's", &least, 1e-9);
}

/* RK88-II section 4's conjecture: along motions that obey the contacts the right side of (4.9d)
 * stays in the image of Omega.  Planar arms: redundant forces and a machine that moves.  Along
 * others it need not, and the status says so. */
static void conjecture(void **unused) {
    (void)unused;
    worst_case inside = {0}, gap = {0};
    long outside = 0, told = 0, moved = 0;
    for (long seed = first_seed() + 3500; seed < first_seed() + 3560; ++seed) {
        const recipe r = {.arms = 2 + (int)(seed % 3),
                          .joints = 4,
                          .planar = 1,
                          .rigid = seed % 2 == 0,
                          .loops = 1,
                          .floating = seed % 3 == 0};
        grasp_system s = grasp_system_open(seed, &r);
        soa_constraints *c = NULL;
        const soa_constraint_capacity room = {2 * MOST_ARMS, MOST_ROWS, 0};
        OK(soa_constraints_create(s.m, &room, &c));
        add_contacts(&s, c);
        double start[MOST_V], way[MOST_V], qdd[MOST_V], step[MOST_V];
        memcpy(start, s.q, sizeof start);
        soa_grasp_report report = {0};
        const double dt = 2e-3;
        for (int k = 0; k < 50; ++k) {
            const soa_status status =
                soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd,
                             NULL, NULL, &report);
            if (report.condition > 1e8) break; /* near another singularity */
            note(&inside, report.residual, seed);
            OK(status);
            for (int j = 0; j < s.nv; ++j) {
                step[j] = dt * s.v[j] + dt * dt / 2 * qdd[j];
                s.v[j] += dt * qdd[j];
            }
            OK(soa_q_integrate(s.m, s.q, step, 1, s.q));
            if (soa_closed_project(c, s.w, 0, s.q, s.v, NULL)) break;
            soa_contact_motion m;
            OK(soa_grasp_contact_motion(s.g, s.w, s.q, s.v, 0, &m));
            note(&gap, fmax(m.gap, m.rate), seed);
        }
        OK(soa_q_difference(s.m, start, s.q, way));
        moved += norm(way, s.nv) > 1e-2 && report.least_norm;
        if (report.least_norm && report.condition < 1e8) { /* velocities that do not obey */
            roll_many(&s.d, -1, 1, (size_t)s.nv, s.v);
            ++outside;
            const soa_status status =
                soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd,
                             NULL, NULL, &report);
            told += status == SOA_E_INCONSISTENT && report.residual > 1e-7;
        }
        soa_constraints_free(c);
        grasp_system_close(&s);
    }
    printf("  %ld of 60 machines with singular Omega moved; velocities that break the contacts: "
           "refused %ld of %ld\n",
           moved, told, outside);
    assert_true(moved > 20 && outside > 20 && told == outside);
    conclude("right side of (4.9d) outside the image of Omega", &inside, 1e-9);
    conclude("contacts stay closed on the way", &gap, 1e-9);
}

/* A planar arm held by the world: three of six rows do not move at all, and are no reason to invent
 * forces. */
static void held_by_the_world(void **unused) {
    (void)unused;
    worst_case motion = {0};
    for (long seed = first_seed() + 3800; seed < first_seed() + 3850; ++seed) {
        const recipe r = {.arms = 1, .joints = 5, .planar = 1, .rigid = 1};
        grasp_system s = grasp_system_open(seed, &r);
        OK(soa_grasp_remove(s.g, 0));
        OK(soa_kinematics(s.m, s.w, s.q, NULL, NULL));
        soa_frame pose;
        OK(soa_pose(s.m, s.w, s.contact[0].arm, &pose));
        s.contact[0].object = 0;
        s.contact[0].place_object = soa_frame_compose(&pose, &s.contact[0].place_arm);
        OK(soa_grasp_add(s.g, &s.contact[0], NULL, NULL));
        OK(soa_grasp_impulse(s.g, s.w, s.q, s.v, s.v, NULL));
        static dense_grasp D;
        double qdd[MOST_V], f[MOST_ROWS], expected[MOST_V], f0[MOST_ROWS];
        dense_form(&s, s.q, s.v, &D);
        const int rank = dense_solve(&D, s.tau, expected, f0);
        assert_int_equal(rank, 3);
        for (int k = 0; k < METHODS; ++k) {
            soa_grasp_options o = soa_grasp_options_default();
            soa_grasp_report report;
            o.method = every[k];
            const soa_status status =
                soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, f,
                             NULL, &report);
            if (every[k] == SOA_GRASP_WOODBURY) {
                assert_int_equal(status, SOA_E_SINGULAR);
                continue;
            }
            OK(status);
            assert_int_equal(report.rank, 3);
            note(&motion, relative(qdd, expected, (size_t)s.nv), seed);
            assert_true(norm(f, 6) < 1e4);
        }
        grasp_system_close(&s);
    }
    conclude("vdot of a planar arm held by the world", &motion, 1e-9);
}

/* RJK91 section 6: arms with six joints, bases moved at random: well posed almost always. */
static void generic_bases(void **unused) {
    (void)unused;
    long full_rank = 0, all = 0;
    double worst = 0;
    for (long seed = first_seed() + 4000; seed < first_seed() + 4300; ++seed) {
        const recipe r = {.joints = 6, .rigid = 1, .turning_only = 1};
        grasp_system s = grasp_system_open(seed, &r);
        soa_grasp_rank full;
        OK(soa_grasp_compliance(s.g, s.w, s.q, NULL, &full, NULL));
        full_rank += full.rank == full.rows;
        ++all;
        worst = fmax(worst, full.condition);
        grasp_system_close(&s);
    }
    printf("  Omega of full rank in %ld of %ld random placements, largest condition %.1e\n",
           full_rank, all, worst);
    assert_int_equal(full_rank, all);
}

/* Total momentum and its rate about the inertial origin: joint forces of the root bodies, brought
 * there. */
static void root_forces(const grasp_system *s, const double *qdd, double rate[6], double *size) {
    double torque[MOST_V];
    OK(soa_rnea(s->m, s->w, s->q, s->v, qdd, NULL, 0, torque));
    *size = 0;
    for (int b = 1; b <= soa_model_body_count(s->m); ++b) {
        double f[6];
        OK(soa_joint_force(s->m, s->w, b, f));
        *size += norm(f, 6);
    }
    memset(rate, 0, 6 * sizeof *rate);
    OK(soa_kinematics(s->m, s->w, s->q, s->v, NULL));
    for (int b = 1; b <= soa_model_body_count(s->m); ++b) {
        soa_body_info info;
        OK(soa_model_body(s->m, b, &info));
        if (info.parent) continue;
        soa_frame X;
        double f[6];
        OK(soa_pose(s->m, s->w, info.frame, &X));
        soa_frame_force_to_parent(&X, torque + info.v_index, f);
        for (int j = 0; j < 6; ++j)
            rate[j] += f[j];
    }
}
static void momentum(const grasp_system *s, const double *v, double h[6], double *size) {
    double com[3];
    OK(soa_momentum(s->m, s->w, s->q, v, h, com));
    double t[3];
    cross(com, h + 3, t);
    for (int j = 0; j < 3; ++j)
        h[j] += t[j];
    *size = norm(h, 6);
}
static void free_floating(void **unused) {
    (void)unused;
    worst_case rate = {0}, jump = {0}, by_loops = {0}, energy = {0};
    for (long seed = first_seed() + 5000; seed < first_seed() + 5100; ++seed) {
        const recipe r = {
            .arms = 2,
            .joints = 6,
            .floating = 1,
            .no_gravity = 1,
        };
        grasp_system s = grasp_system_open(seed, &r);
        double qdd[MOST_V], h[6], size;
        for (int j = 0; j < 6; ++j)
            s.tau[j] = s.tau[s.nv - 6 + j] = 0; /* internal torques only */
        for (int k = 0; k < METHODS; ++k) {
            soa_grasp_options o = soa_grasp_options_default();
            o.method = every[k];
            soa_grasp_report report;
            if (soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd,
                             NULL, NULL, &report))
                continue;
            root_forces(&s, qdd, h, &size);
            for (int j = 0; j < 6; ++j)
                note(&rate, fabs(h[j]) / size, seed);
        }
        /* closing: wild velocities before */
        double v0[MOST_V], v1[MOST_V], before[6], after[6], P[MOST_ROWS], size0, size1, K0, K1;
        roll_many(&s.d, -1, 1, (size_t)s.nv, v0);
        if (soa_grasp_impulse(s.g, s.w, s.q, v0, v1, P) == SOA_OK) {
            momentum(&s, v0, before, &size0);
            momentum(&s, v1, after, &size1);
            size = fmax(fmax(size0, size1), norm(P, 6 * s.arms));
            for (int j = 0; j < 6; ++j)
                note(&jump, fabs(after[j] - before[j]) / size, seed);
            OK(soa_energy(s.m, s.w, s.q, v0, &K0, NULL));
            OK(soa_energy(s.m, s.w, s.q, v1, &K1, NULL));
            note(&energy, fmax(0, K1 - K0) / K0, seed); /* never gained */
        }
        {
            soa_constraints *c = NULL;
            const soa_constraint_capacity room = {2 * MOST_ARMS, MOST_ROWS, 0};
            OK(soa_constraints_create(s.m, &room, &c));
            add_contacts(&s, c);
            if (soa_closed_impulse(c, s.w, 0, s.q, v0, v1, P) == SOA_OK) {
                momentum(&s, v1, after, &size1);
                for (int j = 0; j < 6; ++j)
                    note(&by_loops, fabs(after[j] - before[j]) / fmax(size0, size1), seed);
            }
            soa_constraints_free(c);
        }
        grasp_system_close(&s);
    }
    conclude("rate of total momentum / sum of force magnitudes", &rate, 1e-12);
    conclude("momentum across closing, by contacts", &jump, 1e-12);
    conclude("momentum across closing, by constraints", &by_loops, 1e-12);
    conclude("kinetic energy gained by closing", &energy, 1e-12);
}

/* Loads: A* against moments by hand, internal forces, least norm, squeezing. */
static void loads(void **unused) {
    (void)unused;
    worst_case map = {0}, leaves = {0}, borne = {0}, gives = {0}, shorter = {0}, split = {0},
               ortho = {0};
    const recipe r = {.floating = -1};
    long refused = 0, counted = 0;
    static dense_grasp D;
    for (long seed = first_seed() + 6000; seed < first_seed() + 6150; ++seed) {
        grasp_system s = grasp_system_open(seed, &r);
        const int n = 6 * s.arms;
        double A[6 * MOST_ROWS], basis[MOST_ROWS * MOST_ROWS], f[MOST_ROWS], wrench[6], got[6],
            squeeze[MOST_ROWS];
        int count = 0, rank = 0;
        dense_form(&s, s.q, s.v, &D);
        OK(soa_grasp_map(s.g, s.w, s.q, s.object, A));
        OK(soa_grasp_internal_basis(s.g, s.w, s.q, s.object, basis, &count, &rank));
        assert_int_equal(count + rank, D.rows);
        counted += count;
        roll_many(&s.d, -1, 1, (size_t)n, f);
        soa_grasp_object o;
        OK(soa_grasp_object_state(s.g, s.w, &(soa_input){.q = s.q}, f, s.object, &o, NULL));
        for (int i = 0; i < 6; ++i) {
            got[i] = 0;
            for (int j = 0; j < n; ++j)
                got[i] += A[n * i + j] * f[j];
        }
        note(&map, relative(got, o.f, 6), seed);
        for (int e = 0; e < count; ++e) {
            const double *x = basis + n * e;
            for (int i = 0; i < 6; ++i) {
                double sum = 0;
                for (int j = 0; j < n; ++j)
                    sum += A[n * i + j] * x[j];
                note(&leaves, fabs(sum), seed);
            }
            for (int e2 = 0; e2 <= e; ++e2) {
                double dot = 0;
                for (int j = 0; j < n; ++j)
                    dot += x[j] * basis[n * e2 + j];
                note(&ortho, fabs(dot - (e == e2)), seed);
            }
            double total = 0; /* all of it along T: |T'x| = |x| */
            for (int row = 0; row < D.rows; ++row) {
                double local[MOST_ROWS];
                for (int a = 0; a < s.arms; ++a) {
                    turn_back(D.R[a], x + 6 * a, local + 6 * a);
                    turn_back(D.R[a], x + 6 * a + 3, local + 6 * a + 3);
                }
                const double y = along_T(&D, row, local);
                total += y * y;
            }
            note(&borne, fabs(total - 1), seed);
        }
        roll_many(&s.d, -10, 10, 6, wrench);
        const soa_status status = soa_grasp_distribute(s.g, s.w, s.q, s.object, wrench, NULL, f);
        if (rank < 6) {
            assert_int_equal(status, SOA_E_INCONSISTENT);
            ++refused;
        } else {
            OK(status);
            for (int i = 0; i < 6; ++i) {
                got[i] = 0;
                for (int j = 0; j < n; ++j)
                    got[i] += A[n * i + j] * f[j];
            }
            note(&gives, relative(got, wrench, 6), seed);
            double along = 0;
            for (int e = 0; e < count; ++e) {
                double dot = 0;
                for (int j = 0; j < n; ++j)
                    dot += basis[n * e + j] * f[j];
                along = fmax(along, fabs(dot));
            }
            note(&shorter, along / norm(f, n), seed); /* nothing internal in it: least norm */
            double want[MOST_ROWS] = {0}, both[MOST_ROWS];
            for (int e = 0; e < count; ++e) {
                const double y = roll(&s.d, -5, 5);
                for (int j = 0; j < n; ++j)
                    want[j] += y * basis[n * e + j];
            }
            OK(soa_grasp_distribute(s.g, s.w, s.q, s.object, wrench, want, both));
            OK(soa_grasp_internal_force(s.g, s.w, s.q, s.object, both, squeeze));
            note(&split, relative(squeeze, want, (size_t)n), seed);
            for (int j = 0; j < n; ++j)
                both[j] -= squeeze[j];
            note(&split, relative(both, f, (size_t)n), seed);
        }
        grasp_system_close(&s);
    }
    printf("  %ld internal forces; %ld grasps that cannot bear every wrench\n", counted, refused);
    conclude("grasp map against (2.9)", &map, 1e-12);
    conclude("internal forces leave the object alone", &leaves, 1e-12);
    conclude("internal forces are borne", &borne, 1e-12);
    conclude("basis orthonormal", &ortho, 1e-12);
    conclude("load distribution gives the wrench", &gives, 1e-9);
    conclude("it is of least norm", &shorter, 1e-9);
    conclude("squeeze and load come apart again", &split, 1e-9);
}

/* A box of 2 kg between two soft fingers with one joint each. */
typedef struct pinch {
    const soa_model *m;
    soa_work *w;
    soa_grasp *g;
    double q[9];
} pinch;
static const soa_model *pinch_model(void) {
    soa_body_def body[3] = {soa_body_default("left", 0, SOA_PRISMATIC),
                            soa_body_default("right", 0, SOA_PRISMATIC),
                            soa_body_default("object", 0, SOA_FREE)};
    const double x[3] = {1, 0, 0};
    for (int i = 0; i < 2; ++i) {
        memcpy(body[i].joint.axis, x, sizeof x);
        soa_body_box(&body[i], 1, 0.1, 0.1, 0.1);
    }
    soa_body_box(&body[2], 2, 0.2, 0.2, 0.2);
    const soa_model_def def = soa_model_default("pinch", body, 3);
    const soa_model *m = NULL;
    OK(soa_model_create(&def, &m, NULL));
    return m;
}
/* z into the object: +x on the left, -x on the right */
static void add_finger(pinch *p, int right) {
    const double y[3] = {0, 1, 0}, zero[3] = {0, 0, 0};
    const double quarter = right ? -1.57079632679489662 : 1.57079632679489662;
    soa_contact_def c = soa_contact_default(SOA_CONTACT_SOFT_FINGER,
                                            soa_model_find_frame(p->m, right ? "right" : "left"),
                                            soa_model_find_frame(p->m, "object"));
    c.place_arm = soa_frame_from_axis_angle(y, quarter, zero);
    c.place_object = c.place_arm;
    c.place_object.p[0] = right ? 0.1 : -0.1;
    c.friction = 0.5;
    c.torsion = 0.01;
    OK(soa_grasp_add(p->g, &c, NULL, NULL));
}
static pinch open_pinch(void) {
    pinch p = {.m = pinch_model()};
    soa_contact_motion motion;
    OK(soa_work_create(p.m, &p.w));
    OK(soa_grasp_create(p.m, 2, &p.g));
    soa_q_neutral(p.m, p.q);
    p.q[0] = -0.1;
    p.q[1] = 0.1;
    add_finger(&p, 0);
    add_finger(&p, 1);
    OK(soa_grasp_contact_motion(p.g, p.w, p.q, NULL, 0, &motion));
    assert_true(motion.gap < 1e-15 && motion.free == 2);
    return p;
}
static void close_pinch(pinch *p) {
    soa_grasp_free(p->g);
    soa_work_free(p->w);
    soa_model_free(p->m);
}

/* Friction cones by hand */
static void friction(void **unused) {
    (void)unused;
    pinch p = open_pinch();
    soa_contact_check check[2];
    int broken = -1;
    /* pressed with 20 N each, 9 N across on the left: holds; 11 N: slips */
    double f[12] = {0, 0, 0, 20, 9, 0, 0, 0, 0, -20, 0, 0};
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, f, check, &broken));
    assert_int_equal(broken, 0);
    assert_true(fabs(check[0].normal - 20) < 1e-12 && fabs(check[1].normal - 20) < 1e-12);
    assert_true(fabs(check[0].tangential - 9) < 1e-12 && fabs(check[0].margin - 2) < 1e-12);
    f[4] = 11;
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, f, check, &broken));
    assert_true(broken == 1 && check[0].event == SOA_CONTACT_SLIPS && check[0].margin < 0);
    f[4] = 0;
    f[0] = 0.21; /* torsion about the normal: 0.2 N m at most */
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, f, check, &broken));
    assert_true(broken == 1 && check[0].event == SOA_CONTACT_SLIPS);
    f[0] = 0.15;
    f[4] = 8; /* each alone would hold */
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, f, check, &broken));
    assert_true(broken == 1 && check[0].event == SOA_CONTACT_SLIPS);
    f[0] = 0;
    f[4] = 0;
    f[9] = 1; /* pulled off on the right */
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, f, check, &broken));
    assert_true(broken == 1 && check[1].event == SOA_CONTACT_BREAKS && check[1].margin < 0);
    close_pinch(&p);
}

/* The machine itself: squeezed by 20 N, weight 2 x 9.81 carried by friction of two fingers */
static void squeezed(pinch *p, soa_grasp_method method) {
    double qdd[8], force[12], W[4], tau[8] = {20, -20};
    soa_grasp_report report;
    soa_contact_check check[2];
    int broken = -1;
    soa_grasp_options o = soa_grasp_options_default();
    o.method = method;
    const soa_status s =
        soa_grasp_fd(p->g, p->w, &o, &(soa_input){.q = p->q, .tau = tau}, qdd, force, W, &report);
    if (method == SOA_GRASP_WOODBURY) {
        assert_int_equal(s, SOA_E_SINGULAR); /* a finger with one joint is a singular arm */
        return;
    }
    OK(s);
    assert_true(report.least_norm);
    for (int j = 0; j < 2; ++j)
        assert_true(fabs(force[6 * j + 3] - (j ? -20 : 20)) < 1e-9);
    assert_true(fabs(force[5] - 9.81) < 1e-9 && fabs(force[11] - 9.81) < 1e-9);
    for (int j = 0; j < 8; ++j)
        assert_true(fabs(qdd[j]) < 1e-9);
    OK(soa_grasp_check_contacts(p->g, p->w, p->q, force, check, &broken));
    assert_int_equal(broken, 0); /* 9.81 < 0.5 * 20 */
}
static void weight_on_friction(void **unused) {
    (void)unused;
    pinch p = open_pinch();
    for (int k = 0; k < METHODS; ++k)
        squeezed(&p, every[k]);
    double qdd[8], force[12], W[4], tau[8] = {19, -19}; /* 9.81 > 9.5 */
    soa_grasp_report report;
    soa_contact_check check[2];
    int broken = -1;
    OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .tau = tau}, qdd, force, W, &report));
    OK(soa_grasp_check_contacts(p.g, p.w, p.q, force, check, &broken));
    assert_int_equal(broken, 2);
    close_pinch(&p);
}

/* The object falls, the finger goes its way; nothing else has to be rebuilt. */
static void release(void **unused) {
    (void)unused;
    pinch p = open_pinch();
    double qdd[8], tau[8] = {19, -19};
    soa_grasp_report report;
    OK(soa_grasp_switch(p.g, 0, 0));
    OK(soa_grasp_switch(p.g, 1, 0));
    OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .tau = tau}, qdd, NULL, NULL, &report));
    assert_true(report.rows == 0 && fabs(qdd[7] + 9.81) < 1e-12 && fabs(qdd[0] - 19) < 1e-12);
    OK(soa_grasp_switch(p.g, 0, 1));
    OK(soa_grasp_remove(p.g, 1));
    assert_int_equal(soa_grasp_contact_count(p.g, NULL), 1);
    OK(soa_grasp_fd(p.g, p.w, NULL, &(soa_input){.q = p.q, .tau = tau}, qdd, NULL, NULL, &report));
    close_pinch(&p);
}

static void bad_input(void **unused) {
    (void)unused;
    grasp_system s =
        grasp_system_open(first_seed() + 7000, &(recipe){.arms = 2, .joints = 6, .rigid = 1});
    double qdd[MOST_V], keep[MOST_V], f[MOST_ROWS] = {0}, wrench[6] = {0};
    soa_report report;
    soa_contact_def c = s.contact[0];
    for (int j = 0; j < s.nv; ++j)
        qdd[j] = keep[j] = 7;
#define REFUSED(status, call)                                       \
    do {                                                            \
        assert_int_equal(call, status);                             \
        assert_memory_equal(qdd, keep, (size_t)s.nv * sizeof *qdd); \
    } while (0)
    REFUSED(SOA_E_ARGUMENT,
            soa_grasp_fd(NULL, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, NULL,
                         NULL, NULL));
    REFUSED(SOA_E_ARGUMENT,
            soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, NULL, NULL,
                         NULL, NULL));
    soa_grasp_options o = soa_grasp_options_default();
    o.method = (soa_grasp_method)99;
    REFUSED(SOA_E_ARGUMENT,
            soa_grasp_fd(s.g, s.w, &o, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, NULL,
                         NULL, NULL));
    s.v[0] = NAN;
    REFUSED(SOA_E_NOT_FINITE,
            soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, qdd, NULL,
                         NULL, NULL));
    REFUSED(SOA_E_NOT_FINITE, soa_grasp_impulse(s.g, s.w, s.q, s.v, qdd, NULL));
    s.v[0] = 0;
    const soa_wrench bad = {-5, SOA_AXES_WORLD, {0}};
    REFUSED(SOA_E_ARGUMENT,
            soa_grasp_fd(
                s.g, s.w, NULL,
                &(soa_input){.q = s.q, .v = s.v, .tau = s.tau, .wrenches = &bad, .wrench_count = 1},
                qdd, NULL, NULL, NULL));
    c.object = 10000;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_NAME);
    c = s.contact[0];
    c.object = c.arm;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_ARGUMENT);
    c = s.contact[0];
    c.type = SOA_CONTACT_SOFT_FINGER;
    c.one_sided = false;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_ARGUMENT);
    c = s.contact[0];
    c.place_arm.R[0] = 3;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_FRAME);
    c = s.contact[0];
    c.friction = NAN;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_ARGUMENT);
    c = s.contact[0];
    c.type = SOA_CONTACT_OWN;
    c.free_count = 2;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_SINGULAR); /* two zeros */
    c = s.contact[0];
    c.type = SOA_CONTACT_OWN;
    c.free_count = 1;
    c.free[0][0] = INFINITY;
    assert_int_equal(soa_grasp_add(s.g, &c, NULL, &report), SOA_E_ARGUMENT);
    assert_int_equal(soa_grasp_remove(s.g, 5), SOA_E_ARGUMENT);
    assert_int_equal(soa_grasp_distribute(s.g, s.w, s.q, s.contact[0].arm, wrench, NULL, f),
                     SOA_E_ARGUMENT);
    wrench[2] = NAN;
    assert_int_equal(soa_grasp_distribute(s.g, s.w, s.q, s.object, wrench, NULL, f),
                     SOA_E_NOT_FINITE);
    assert_int_equal((int)soa_grasp_size(s.m, 0), 0);
    for (int i = 2; i < MOST_ARMS; ++i)
        OK(soa_grasp_add(s.g, &s.contact[0], NULL, &report));
    assert_int_equal(soa_grasp_add(s.g, &s.contact[0], NULL, &report), SOA_E_MEMORY);
    /* the same contact five times over: forces of least norm, the same motion */
    double q1[MOST_V], q2[MOST_V];
    soa_grasp_report found;
    OK(soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, q1, f, NULL,
                    &found));
    assert_true(found.least_norm && found.rank <= 12);
    for (int i = 2; i < MOST_ARMS; ++i)
        OK(soa_grasp_remove(s.g, i));
    OK(soa_grasp_fd(s.g, s.w, NULL, &(soa_input){.q = s.q, .v = s.v, .tau = s.tau}, q2, NULL, NULL,
                    &found));
    assert_true(relative(q1, q2, (size_t)s.nv) < 1e-9);
    grasp_system_close(&s);
}

int main(void) {
    printf("seed %ld\n", first_seed());
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_of_contacts),
                                       cmocka_unit_test(as_loops),
                                       cmocka_unit_test(the_object),
                                       cmocka_unit_test(singular_omega),
                                       cmocka_unit_test(conjecture),
                                       cmocka_unit_test(held_by_the_world),
                                       cmocka_unit_test(generic_bases),
                                       cmocka_unit_test(free_floating),
                                       cmocka_unit_test(loads),
                                       cmocka_unit_test(friction),
                                       cmocka_unit_test(weight_on_friction),
                                       cmocka_unit_test(release),
                                       cmocka_unit_test(bad_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
