/* test_control_closed.c  control laws on machines with loops, against the closed machine itself.
 *
 * Random trees closed by random constraints (closed_systems.h). Every answer is checked in another
 * way: torques of a law are applied in soa_closed_fd, soa_closed_id finds them again, virtual work
 * confirms E*rho. */
#include "closed_systems.h"

#include "soa/control.h"

enum { SYSTEMS = 400 };

/* A system without drives and friction of joints; NULL: this seed has none. */
static closed *undriven(long seed) {
    closed *s = open_closed(3 * seed, 3); /* ideal trees */
    int good = s->count > 0;
    for (int k = 0; k < s->count; ++k)
        good = good && !s->def[k].drive;
    if (good) return s;
    close_closed(s);
    return NULL;
}
static soa_control *control_of(closed *s, const unsigned char *drive,
                               const unsigned char *primary) {
    soa_control_def def = soa_control_default(drive);
    soa_control *control;
    def.constraints = s->c;
    def.primary = primary;
    OK(soa_control_create(s->m, &def, &control));
    return control;
}
static double size_of(const double *x, int n) {
    double most = 0;
    for (int j = 0; j < n; ++j)
        if (!(fabs(x[j]) <= most)) most = fabs(x[j]);
    return most;
}
static long seeds(void) {
    const long asked = systems();
    return asked < SYSTEMS ? asked : SYSTEMS;
}
/* How badly the machine is conditioned at this state; such states are left to other tests. */
static int is_sound(closed *s) {
    soa_closed_report report;
    const soa_status bad = soa_closed_fd(
        s->c, s->w, NULL, &(soa_input){.q = s->q, .v = s->v, .t = s->t}, s->qdd, NULL, &report);
    return !bad && report.condition < 1e5;
}

/* Accelerations asked for are those that follow; the torques are those that soa_closed_id finds for
 * the same motors. */
static void inverse_dynamics(void **state) {
    (void)state;
    worst_case motion = {0}, asked = {0}, torque = {0};
    int used = 0, motors = 0, follow = 0;
    for (long seed = 1; seed <= seeds(); ++seed) {
        closed *s = undriven(seed);
        if (!s) continue;
        const size_t nv = (size_t)s->nv;
        unsigned char *drive = calloc(nv, 1), *primary = calloc(nv, 1), *mask = calloc(nv, 1);
        double *a = calloc(nv, 8), *tau = calloc(nv, 8), *out = calloc(nv, 8),
               *again = calloc(nv, 8);
        for (size_t j = 0; j < nv; ++j) {
            drive[j] = roll(&s->d, 0, 1) < 0.5 ? SOA_DRIVE_OWN : SOA_DRIVE_NONE;
            primary[j] = roll(&s->d, 0, 1) < 0.3;
        }
        drive[below(&s->d, s->nv)] = SOA_DRIVE_OWN;
        roll_many(&s->d, -3, 3, nv, a);
        soa_control *control = control_of(s, drive, primary);
        const soa_joint_reference reference = {s->q, s->v, a};
        const soa_joint_gains gains = {NULL, NULL};
        soa_status status = SOA_E_SINGULAR;
        if (is_sound(s))
            status = soa_control_inverse_dynamics(
                control, s->q, s->v, &reference, &gains,
                &(soa_inverse_dynamics_options){.wrenches = s->f, .wrench_count = 2}, tau, out);
        if (!status && size_of(tau, s->nv) < 1e6) {
            ++used;
            OK(soa_closed_fd(s->c, s->w, NULL,
                             &(soa_input){.q = s->q,
                                          .v = s->v,
                                          .tau = tau,
                                          .wrenches = s->f,
                                          .wrench_count = 2,
                                          .t = s->t},
                             s->qdd, NULL, NULL));
            const double scale = 1 + size_of(out, s->nv);
            for (int j = 0; j < s->nv; ++j) {
                note(&motion, fabs(s->qdd[j] - out[j]) / scale, seed);
                mask[j] = tau[j] != 0;
                if (drive[j] != SOA_DRIVE_OWN) assert_true(tau[j] == 0);
                if (mask[j]) {
                    note(&asked, fabs(s->qdd[j] - a[j]) / scale, seed);
                    ++motors;
                }
                follow += drive[j] == SOA_DRIVE_OWN && !mask[j];
            }
            if (!soa_closed_id(s->c, s->w,
                               &(soa_input){.q = s->q,
                                            .v = s->v,
                                            .a = s->qdd,
                                            .wrenches = s->f,
                                            .wrench_count = 2,
                                            .t = s->t},
                               mask, again, NULL))
                for (int j = 0; j < s->nv; ++j)
                    note(&torque, fabs(tau[j] - again[j]) / (1 + size_of(tau, s->nv)), seed);
        } else if (status && status != SOA_E_SINGULAR && status != SOA_E_HINGE_SINGULAR)
            fail_msg("seed %ld: %s", seed, soa_status_text(status));
        soa_control_free(control);
        free(drive);
        free(primary);
        free(mask);
        free(a);
        free(tau);
        free(out);
        free(again);
        close_closed(s);
    }
    printf("  %d machines, %d motors, %d own joints that follow\n", used, motors, follow);
    assert_true(used > seeds() / 8 && follow > 0);
    conclude("accelerations that a law says = those that follow", &motion, 1e-9);
    conclude("accelerations asked for = those that follow", &asked, 1e-9);
    conclude("torques = soa_closed_id", &torque, 1e-9);
}

/* Every coordinate driven: what compensates holds the machine at rest, springs and efforts of cut
 * joints included. */
static void holding(void **state) {
    (void)state;
    worst_case rest = {0}, push = {0};
    int used = 0;
    for (long seed = 1; seed <= seeds(); ++seed) {
        closed *s = undriven(seed);
        if (!s) continue;
        const size_t nv = (size_t)s->nv;
        double *tau = calloc(nv, 8), *still = calloc(nv, 8);
        soa_control *control = control_of(s, NULL, NULL);
        if (is_sound(s)) {
            ++used;
            OK(soa_control_compensation(control, s->q, still, NULL, NULL, 0, tau));
            OK(soa_closed_fd(s->c, s->w, NULL,
                             &(soa_input){.q = s->q, .v = still, .tau = tau, .t = s->t}, s->qdd,
                             NULL, NULL));
            note(&rest, size_of(s->qdd, s->nv) / (1 + size_of(tau, s->nv)), seed);
            /* a hand held by a spring against a push */
            soa_frame_law law = soa_frame_law_default(s->f[0].frame, 0);
            OK(soa_kinematics(s->m, s->w, s->q, still, NULL));
            const soa_frame here = pose_of(s, law.frame);
            const soa_motion goal = soa_motion_at_rest(&here);
            double force[6];
            for (int half = 0; half < 6; half += 3) /* the goal's axes */
                for (int k = 0; k < 3; ++k)
                    force[half + k] = here.R[k] * s->f[0].value[half] +
                                      here.R[3 + k] * s->f[0].value[half + 1] +
                                      here.R[6 + k] * s->f[0].value[half + 2];
            for (int k = 0; k < 6; ++k)
                force[k] = -force[k];
            OK(soa_control_impedance(control, s->q, still, &law, &goal, force, tau, NULL));
            OK(soa_closed_fd(s->c, s->w, NULL,
                             &(soa_input){.q = s->q,
                                          .v = still,
                                          .tau = tau,
                                          .wrenches = s->f,
                                          .wrench_count = 1,
                                          .t = s->t},
                             s->qdd, NULL, NULL));
            note(&push, size_of(s->qdd, s->nv) / (1 + size_of(tau, s->nv)), seed);
        }
        soa_control_free(control);
        free(tau);
        free(still);
        close_closed(s);
    }
    printf("  %d machines\n", used);
    assert_true(used > seeds() / 8);
    conclude("compensated, at rest: accelerations", &rest, 1e-9);
    conclude("impedance against a push, at rest: accelerations", &push, 1e-9);
}

/* tau . v = rho . v for motions in which only own coordinates move by themselves: E*rho. */
static void virtual_work(void **state) {
    (void)state;
    worst_case work = {0};
    int used = 0;
    for (long seed = 1; seed <= seeds(); ++seed) {
        closed *s = undriven(seed);
        if (!s) continue;
        const size_t nv = (size_t)s->nv;
        const double zero[6] = {0};
        for (int k = 0; k < s->count; ++k)
            if (s->def[k].kind == SOA_LOOP) OK(soa_constraints_set_effort(s->c, k, zero));
        unsigned char *drive = calloc(nv, 1), *follows = calloc(nv, 1), *held = calloc(nv, 1);
        double *tau = calloc(nv, 8), *still = calloc(nv, 8), *rho = calloc(nv, 8),
               *v = calloc(nv, 8);
        for (size_t j = 0; j < nv; ++j)
            drive[j] = roll(&s->d, 0, 1) < 0.5 ? SOA_DRIVE_OWN : SOA_DRIVE_NONE;
        soa_control *control = control_of(s, drive, NULL);
        OK(soa_control_compensation(control, s->q, still, NULL, NULL, 0, tau));
        OK(soa_control_dependent_coordinates(control, s->q, follows));
        for (size_t j = 0; j < nv; ++j) {
            held[j] = !follows[j];
            if (held[j] && drive[j] == SOA_DRIVE_OWN) v[j] = roll(&s->d, -1, 1);
        }
        if (is_sound(s) && !soa_closed_project_rates(s->c, s->w, s->t, s->q, held, v, NULL)) {
            ++used;
            OK(soa_rnea(s->m, s->w, s->q, still, NULL, NULL, 0, rho));
            const double scale = (1 + size_of(rho, s->nv)) * (1 + size_of(v, s->nv));
            note(&work, fabs(dot(s->nv, tau, v) - dot(s->nv, rho, v)) / scale, seed);
        }
        soa_control_free(control);
        free(drive);
        free(follows);
        free(held);
        free(tau);
        free(still);
        free(rho);
        free(v);
        close_closed(s);
    }
    printf("  %d machines\n", used);
    assert_true(used > seeds() / 8);
    conclude("virtual work of tau = that of rho", &work, 1e-12);
}

/* A frame's acceleration along some rows, everything driven or half of it. */
static void operational(void **state) {
    (void)state;
    worst_case reached = {0}, said = {0};
    int used = 0;
    for (long seed = 1; seed <= seeds(); ++seed) {
        closed *s = undriven(seed);
        if (!s) continue;
        const size_t nv = (size_t)s->nv;
        unsigned char *drive = calloc(nv, 1);
        double *tau = calloc(nv, 8), *out = calloc(nv, 8);
        for (size_t j = 0; j < nv; ++j)
            drive[j] = seed % 2 || roll(&s->d, 0, 1) < 0.6 ? SOA_DRIVE_OWN : SOA_DRIVE_NONE;
        drive[below(&s->d, s->nv)] = SOA_DRIVE_OWN;
        soa_control *control = control_of(s, drive, NULL);
        soa_frame_task task = {
            .law = soa_frame_law_default(1 + below(&s->d, soa_model_frame_count(s->m) - 1), 0),
            .rows = 1u << (1 + below(&s->d, 5)) | 1u};
        OK(soa_kinematics(s->m, s->w, s->q, s->v, NULL));
        const soa_frame here = pose_of(s, task.law.frame);
        task.goal = soa_motion_at_rest(&here);
        OK(soa_velocity(s->m, s->w, task.law.frame, SOA_AXES_WORLD, task.goal.twist));
        roll_many(&s->d, -2, 2, 6, task.goal.acceleration);
        double rcond = 0;
        soa_status status = SOA_E_SINGULAR;
        if (is_sound(s))
            status =
                soa_control_operational_space(control, s->q, s->v, &task, 1, NULL, tau,
                                              &(soa_operational_result){.a = out, .rcond = &rcond});
        if (!status && rcond > 1e-6 && size_of(tau, s->nv) < 1e6) {
            ++used;
            OK(soa_closed_fd(s->c, s->w, NULL,
                             &(soa_input){.q = s->q, .v = s->v, .tau = tau, .t = s->t}, s->qdd,
                             NULL, NULL));
            OK(soa_kinematics(s->m, s->w, s->q, s->v, s->qdd));
            double A[6];
            OK(soa_acceleration_classical(s->m, s->w, task.law.frame, SOA_AXES_WORLD, A));
            const double scale = 1 + size_of(s->qdd, s->nv);
            for (int j = 0; j < s->nv; ++j) {
                note(&said, fabs(s->qdd[j] - out[j]) / scale, seed);
                if (drive[j] != SOA_DRIVE_OWN) assert_true(tau[j] == 0);
            }
            for (int r = 0; r < 6; ++r) { /* the rows are along the goal's axes */
                if (!(task.rows & 1u << r)) continue;
                double off = 0;
                for (int k = 0; k < 3; ++k)
                    off += here.R[3 * k + r % 3] *
                           (A[3 * (r / 3) + k] - task.goal.acceleration[3 * (r / 3) + k]);
                note(&reached, fabs(off) / scale, seed);
            }
        } else if (status && status != SOA_E_SINGULAR && status != SOA_E_HINGE_SINGULAR)
            fail_msg("seed %ld: %s", seed, soa_status_text(status));
        soa_control_free(control);
        free(drive);
        free(tau);
        free(out);
        close_closed(s);
    }
    printf("  %d machines\n", used);
    assert_true(used > seeds() / 16);
    conclude("accelerations of the frame", &reached, 1e-9);
    conclude("accelerations that the law says", &said, 1e-9);
}

static void refusals(void **state) {
    (void)state;
    for (long seed = 1;; ++seed) {
        closed *s = undriven(seed);
        if (!s) continue;
        soa_control *control = control_of(s, NULL, NULL);
        double *room = calloc(6 * (size_t)s->nv, 8);
        const soa_joint_reference reference = {s->q, s->v, NULL};
        const soa_joint_gains gains = {NULL, NULL};
        REFUSED(SOA_E_ARGUMENT, soa_control_passivity(control, SOA_SLOTINE_LI, s->q, s->v,
                                                      &reference, &gains, room, NULL));
        REFUSED(SOA_E_ARGUMENT,
                soa_control_decoupled(control, s->q, s->v, &reference, room, room, s->tau, NULL));
        REFUSED(SOA_E_ARGUMENT,
                soa_control_generalised_jacobian(control, s->q, 1, SOA_AXES_WORLD, room));
        REFUSED(SOA_E_ARGUMENT, soa_control_compensation(control, s->q, s->v, s->v, NULL, 0, room));
        REFUSED(SOA_E_ARGUMENT, soa_control_dependent_coordinates(control, s->q, NULL));
        soa_control_free(control);
        free(room);
        close_closed(s);
        return;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inverse_dynamics),
                                       cmocka_unit_test(holding), cmocka_unit_test(virtual_work),
                                       cmocka_unit_test(operational), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
