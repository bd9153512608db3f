/* test_control.c  every control law against dense formulas and against the motion that it must
 * produce.
 *
 * References: M by soa_crba, C by columns of soa_coriolis_mul, J by soa_jacobian, soa_aba and
 * soa_grasp_fd as the plant. */
#include "control_systems.h"

static int trees(void) {
    const char *s = getenv("SOA_TREES");
    return s ? atoi(s) : 60;
}
static int shape_of(long seed) {
    static const int shapes[] = {TREE_CHAIN, TREE_CHAINS, TREE_BRANCHED, 0};
    return shapes[seed % 4] | TREE_FITTED;
}

/* A x = b, n x n, in place. */
static void solve(int n, double *A, double *b) {
    for (int k = 0; k < n; ++k) {
        int p = k;
        for (int i = k + 1; i < n; ++i)
            if (fabs(A[n * i + k]) > fabs(A[n * p + k])) p = i;
        for (int j = 0; j < n; ++j) {
            const double t = A[n * k + j];
            A[n * k + j] = A[n * p + j];
            A[n * p + j] = t;
        }
        const double t = b[k];
        b[k] = b[p];
        b[p] = t;
        for (int i = k + 1; i < n; ++i) {
            const double l = A[n * i + k] / A[n * k + k];
            for (int j = k; j < n; ++j)
                A[n * i + j] -= l * A[n * k + j];
            b[i] -= l * b[k];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j)
            b[i] -= A[n * i + j] * b[j];
        b[i] /= A[n * i + i];
    }
}

/* --- WD89 section 3 --------------------------------------------------------------------------- */
static void recursion_is_inverse_dynamics(void **unused) {
    (void)unused;
    worst_case rnea = {0}, sum = {0};
    for (long seed = first_seed(); seed < first_seed() + trees(); ++seed) {
        driven_tree t = driven_tree_open(seed, 2 + (int)(seed % 12), shape_of(seed), 0);
        const int n = soa_model_body_count(t.m), cols = t.nv / 2 + 1;
        double *F = numbers(6 * n), *eta = numbers(t.nv + 3), *rho = numbers(t.nv + 3),
               *E = numbers((t.nv + 3) * cols), *tau = numbers(cols);
        OK(soa_control_inverse_feedback(t.c, t.s.q, t.s.v, t.s.tau, F, eta));
        OK(soa_control_recursion(t.c, t.s.q, &(soa_feedback){.F = F, .eta = eta, .rows = t.nv}, rho,
                                 t.tau));
        OK(soa_rnea(t.m, t.w, t.s.q, t.s.v, t.s.tau, NULL, 0, t.h));
        note(&rnea, relative(t.tau, t.h, (size_t)t.nv), seed);
        note(&rnea, relative(rho, t.h, (size_t)t.nv), seed);
        /* any F: the sum of J'F over bodies, and E' */
        dice d = {(uint64_t)seed};
        roll_many(&d, -3, 3, 6 * (size_t)n, F);
        roll_many(&d, -2, 2, (size_t)t.nv + 3, eta);
        roll_many(&d, -1, 1, (size_t)((t.nv + 3) * cols), E);
        OK(soa_control_recursion(
            t.c, t.s.q,
            &(soa_feedback){.F = F, .eta = eta, .rows = t.nv + 3, .E = E, .columns = cols}, rho,
            tau));
        OK(soa_kinematics(t.m, t.w, t.s.q, NULL, NULL));
        double *expect = numbers(t.nv + 3), *expect_tau = numbers(cols);
        memcpy(expect, eta, sizeof *eta * (size_t)(t.nv + 3));
        for (int i = 1; i <= n; ++i) {
            soa_body_info b;
            OK(soa_model_body(t.m, i, &b));
            OK(soa_jacobian_transpose_mul(t.m, t.w, b.frame, SOA_AXES_BODY, F + 6 * (i - 1), t.x));
            for (int j = 0; j < t.nv; ++j)
                expect[j] += t.x[j];
        }
        for (int k = 0; k < cols; ++k)
            for (int j = 0; j < t.nv + 3; ++j)
                expect_tau[k] += E[j * cols + k] * expect[j];
        note(&sum, relative(rho, expect, (size_t)t.nv + 3), seed);
        note(&sum, relative(tau, expect_tau, (size_t)cols), seed);
        free(F);
        free(eta);
        free(rho);
        free(E);
        free(tau);
        free(expect);
        free(expect_tau);
        driven_tree_close(&t);
    }
    /* exact rotors and mimic joints */
    static const char *const shipped[] = {"random:3", "random:4", "random:5",
                                          "random:6", "random:7", "random:8",
                                          "puma560",  "arm7",     "quadruped"};
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; ++k) {
        const soa_model *m;
        soa_report report;
        if (soa_stock_model_create(shipped[k], NULL, &m, &report)) fail_msg("%s", report.text);
        soa_control_def def = soa_control_default(NULL);
        def.compensate = SOA_COMPENSATE_ALL;
        def.coulomb_rate = 1e-12;
        soa_control *c;
        soa_work *w;
        OK(soa_control_create(m, &def, &c));
        OK(soa_work_create(m, &w));
        tree_state s = random_tree_state(m, (long)k + 1);
        double *F = numbers(6 * soa_model_body_count(m)), *eta = numbers(soa_model_nv(m)),
               *tau = numbers(soa_model_nv(m)), *expect = numbers(soa_model_nv(m));
        OK(soa_control_inverse_feedback(c, s.q, s.v, s.tau, F, eta));
        OK(soa_control_recursion(
            c, s.q, &(soa_feedback){.F = F, .eta = eta, .rows = soa_model_nv(m)}, NULL, tau));
        OK(soa_rnea(m, w, s.q, s.v, s.tau, NULL, 0, expect));
        note(&rnea, relative(tau, expect, (size_t)soa_model_nv(m)), (long)k);
        free(F);
        free(eta);
        free(tau);
        free(expect);
        free_tree_state(&s);
        soa_control_free(c);
        soa_work_free(w);
        soa_model_free(m);
    }
    conclude("WD89's F and eta through the recursion = soa_rnea", &rnea, 1e-13);
    conclude("any F and eta, tau = E' rho", &sum, 1e-12);
}

/* The inverse dynamics controller of a closed machine: tau = E'rho = soa_embedding_id. */
static void recursion_of_closed_machine(void **unused) {
    (void)unused;
    const soa_model *m;
    soa_constraint_list list;
    soa_constraints *loops;
    soa_report report;
    if (soa_model_open("four-bar", NULL, &m, &list, &report)) fail_msg("%s", report.text);
    OK(soa_constraints_from_list(&list, m, 1, &loops, &report));
    soa_work *w;
    OK(soa_work_create(m, &w));
    const int nv = soa_model_nv(m), nq = soa_model_nq(m);
    unsigned char *primary = calloc((size_t)nv, 1);
    primary[0] = 1;
    double *q = numbers(nq), *v = numbers(nv), *a = numbers(nv), *E = numbers(nv),
           *F = numbers(6 * soa_model_body_count(m)), *eta = numbers(nv);
    soa_q_neutral(m, q);
    OK(soa_closed_assemble(loops, w, 0, NULL, q, &report));
    soa_embedding_def def = soa_embedding_default(primary);
    def.constraints = loops;
    soa_embedding *e;
    if (soa_embedding_create(m, &def, &e, &report)) fail_msg("%s", report.text);
    soa_control_def cd = soa_control_default(NULL);
    cd.compensate = SOA_COMPENSATE_ALL;
    cd.coulomb_rate = 1e-12;
    soa_control *c;
    OK(soa_control_create(m, &cd, &c));
    worst_case same = {0};
    for (int i = 0; i < 20; ++i) {
        const double Q = q[0] + 0.02, V = 1.3 - 0.1 * i, A = -2 + 0.3 * i;
        double tau, expect;
        OK(soa_embedding_state(e, w, &(soa_input){.q = &Q, .v = &V, .a = &A}, q, v, a, E));
        OK(soa_control_inverse_feedback(c, q, v, a, F, eta));
        OK(soa_control_recursion(
            c, q, &(soa_feedback){.F = F, .eta = eta, .rows = nv, .E = E, .columns = 1}, NULL,
            &tau));
        OK(soa_embedding_id(e, w, &(soa_input){.q = &Q, .v = &V, .a = &A}, q, &expect));
        note(&same, relative(&tau, &expect, 1), i);
    }
    conclude("four-bar: tau = E'rho = soa_embedding_id", &same, 1e-12);
    free(primary);
    free(q);
    free(v);
    free(a);
    free(E);
    free(F);
    free(eta);
    soa_control_free(c);
    soa_embedding_free(e);
    soa_constraints_free(loops);
    soa_constraint_list_free(&list);
    soa_work_free(w);
    soa_model_free(m);
}

/* --- joint laws ------------------------------------------------------------------------------- */
typedef struct tracked { /* a reference and gains for a random machine */
    double *q, *v, *a, *K, *D;
    soa_joint_reference r;
    soa_joint_gains g;
} tracked;
static tracked random_tracking(const driven_tree *t, long seed) {
    tracked x = {
        numbers(t->nq), numbers(t->nv), numbers(t->nv), numbers(t->nv), numbers(t->nv), {0}, {0}};
    dice d = {(uint64_t)seed * 17 + 3};
    roll_many(&d, -0.5, 0.5, (size_t)t->nv, x.v);
    OK(soa_q_integrate(t->m, t->s.q, x.v, 1, x.q));
    roll_many(&d, -1, 1, (size_t)t->nv, x.v);
    roll_many(&d, -2, 2, (size_t)t->nv, x.a);
    roll_many(&d, 0.5, 4, (size_t)t->nv, x.K);
    roll_many(&d, 0.5, 4, (size_t)t->nv, x.D);
    x.r = (soa_joint_reference){x.q, x.v, x.a};
    x.g = (soa_joint_gains){x.K, x.D};
    return x;
}
static void tracked_free(tracked *x) {
    free(x->q);
    free(x->v);
    free(x->a);
    free(x->K);
    free(x->D);
}

static void pd_and_inverse_dynamics(void **unused) {
    (void)unused;
    worst_case pd = {0}, plant = {0}, idle = {0}, dense = {0};
    for (long seed = first_seed(); seed < first_seed() + trees(); ++seed) {
        driven_tree t = driven_tree_open(seed, 2 + (int)(seed % 12), shape_of(seed), 1);
        tracked x = random_tracking(&t, seed);
        double *e = numbers(t.nv), *a = numbers(t.nv);
        OK(soa_q_difference(t.m, t.s.q, x.q, e));
        /* PD: gravity and springs of soa_rnea at rest, friction at v_d */
        OK(soa_control_joint_pd(t.c, t.s.q, t.s.v, &x.r, &x.g, t.tau));
        for (int j = 0; j < t.nv; ++j)
            t.x[j] = t.drive[j] ? x.v[j] : 0;
        OK(soa_rnea(t.m, t.w, t.s.q, t.x, NULL, NULL, 0, t.h));
        OK(soa_coriolis_mul(t.m, t.w, t.s.q, t.x, t.x, t.y));
        for (int j = 0; j < t.nv; ++j)
            t.h[j] =
                t.drive[j] ? t.h[j] - t.y[j] + x.K[j] * e[j] + x.D[j] * (x.v[j] - t.s.v[j]) : 0;
        note(&pd, relative(t.tau, t.h, (size_t)t.nv), seed);
        /* inverse dynamics: what the plant does with these torques and wrenches */
        OK(soa_control_inverse_dynamics(
            t.c, t.s.q, t.s.v, &x.r, &x.g,
            &(soa_inverse_dynamics_options){.wrenches = t.s.wrench, .wrench_count = 3}, t.tau, a));
        OK(soa_aba(t.m, t.w, t.s.q, t.s.v, t.tau, t.s.wrench, 3, t.x));
        int k = 0;
        for (int j = 0; j < t.nv; ++j) {
            if (!t.drive[j]) {
                note(&idle, fabs(t.tau[j]), seed);
                continue;
            }
            t.h[k] = x.a[j] + x.D[j] * (x.v[j] - t.s.v[j]) + x.K[j] * e[j];
            t.y[k++] = t.x[j];
        }
        note(&plant, relative(t.y, t.h, (size_t)k), seed);
        /* passive accelerations, dense: M_uu a_u = -(M_ua a_a + h_u), whole model */
        OK(soa_crba(t.m, t.w, t.s.q, t.M));
        OK(soa_rnea(t.m, t.w, t.s.q, t.s.v, NULL, t.s.wrench, 3, t.h));
        int *u = calloc((size_t)t.nv + 1, sizeof *u), nu = 0;
        for (int j = 0; j < t.nv; ++j)
            if (!t.drive[j]) u[nu++] = j;
        double *A = numbers(nu * nu), *b = numbers(nu);
        for (int i = 0; i < nu; ++i) {
            b[i] = -t.h[u[i]];
            for (int j = 0; j < nu; ++j)
                A[nu * i + j] = t.M[t.nv * u[i] + u[j]];
            for (int j = 0; j < t.nv; ++j)
                if (t.drive[j]) b[i] -= t.M[t.nv * u[i] + j] * a[j];
        }
        solve(nu, A, b);
        soa_body_info root;
        OK(soa_model_body(t.m, 1, &root));
        int forest = 0; /* trees without a driven joint are left alone */
        for (int i = 2; i <= soa_model_body_count(t.m); ++i) {
            soa_body_info info;
            OK(soa_model_body(t.m, i, &info));
            forest += info.parent == 0;
        }
        for (int i = 0; !forest && i < nu; ++i)
            note(&dense, fabs(a[u[i]] - b[i]) / (1 + fabs(b[i])), seed);
        free(u);
        free(A);
        free(b);
        free(e);
        free(a);
        tracked_free(&x);
        driven_tree_close(&t);
    }
    conclude("PD with gravity", &pd, 1e-12);
    conclude("inverse dynamics: the plant accelerates as commanded", &plant, 1e-9);
    conclude("no torque where nobody drives", &idle, 0);
    conclude("passive accelerations against dense M_uu", &dense, 1e-9);
}

/* V at a state moved by h along the plant's motion, the reference moved too. */
typedef struct moment {
    double V, power; /* s'D s, or sigma' rate sigma */
} moment;
static moment passivity_at(driven_tree *t, const tracked *x, soa_passivity form, int decoupled,
                           const double *rate, double h, double *tau) {
    moment out = {0};
    double *q = numbers(t->nq), *v = numbers(t->nv), *qd = numbers(t->nq), *vd = numbers(t->nv),
           *step = numbers(t->nv), *sigma = numbers(t->nv);
    for (int j = 0; j < t->nv; ++j) {
        step[j] = h * t->s.v[j] + h * h / 2 * t->x[j]; /* t->x: the plant's accelerations */
        v[j] = t->s.v[j] + h * t->x[j];
    }
    OK(soa_q_integrate(t->m, t->s.q, step, 1, q));
    for (int j = 0; j < t->nv; ++j) {
        step[j] = h * x->v[j] + h * h / 2 * x->a[j];
        vd[j] = x->v[j] + h * x->a[j];
    }
    OK(soa_q_integrate(t->m, x->q, step, 1, qd));
    const soa_joint_reference r = {qd, vd, x->a};
    if (decoupled) {
        OK(soa_control_decoupled(t->c, q, v, &r, x->K, rate, tau, sigma));
        for (int j = 0; j < t->nv; ++j) {
            out.V += sigma[j] * sigma[j] / 2;
            out.power += rate[j] * sigma[j] * sigma[j];
        }
    } else {
        OK(soa_control_passivity(t->c, form, q, v, &r, &x->g, tau, &out.V));
        OK(soa_q_difference(t->m, q, qd, step));
        for (int j = 0; j < t->nv; ++j) {
            const double s = vd[j] - v[j] + (form == SOA_SLOTINE_LI ? x->K[j] * step[j] : 0);
            if (t->drive[j]) out.power += x->D[j] * s * s;
        }
    }
    free(q);
    free(v);
    free(qd);
    free(vd);
    free(step);
    free(sigma);
    return out;
}
/* Machines with q' = v in every joint, so that references move as tangent vectors do. */
static int plain_joints(const soa_model *m) {
    for (int i = 1; i <= soa_model_body_count(m); ++i) {
        soa_body_info b;
        OK(soa_model_body(m, i, &b));
        if ((b.type == SOA_SPHERICAL || b.type == SOA_FREE) && !(i == 1 && b.parent == 0)) return 0;
    }
    return 1;
}
static void passivity(void **unused) {
    (void)unused;
    worst_case slotine = {0}, wen = {0}, same = {0}, uniform = {0}, rates = {0}, energy = {0};
    for (long seed = first_seed(); seed < first_seed() + 6 * trees(); ++seed) {
        const int passive = seed % 3 != 0;
        driven_tree t = driven_tree_open(seed, 2 + (int)(seed % 7), shape_of(seed), passive);
        if (!plain_joints(t.m) || (!passive && soa_model_nq(t.m) != soa_model_nv(t.m))) {
            driven_tree_close(&t);
            continue;
        }
        tracked x = random_tracking(&t, seed);
        double *tau = numbers(t.nv), *rate = numbers(t.nv);
        for (int j = 0; j < t.nv; ++j)
            rate[j] = passive ? 1.7 : 0.5 + 0.3 * j;
        /* Slotine-Li, Wen-Bayard 1, decoupled with equal rates, with any */
        for (int law = 0; law < 4; ++law) {
            const soa_passivity form = law == 1 ? SOA_WEN_BAYARD_1 : SOA_SLOTINE_LI;
            if (law == 3 && passive) continue;
            for (int j = 0; law == 2 && j < t.nv; ++j)
                t.y[j] = 1.7;
            const double *r = law == 3 ? rate : t.y;
            memset(t.x, 0, sizeof *t.x * (size_t)t.nv);
            const moment now = passivity_at(&t, &x, form, law >= 2, r, 0, t.tau);
            OK(soa_aba(t.m, t.w, t.s.q, t.s.v, t.tau, NULL, 0, t.x));
            double slope = 0; /* central differences, extrapolated */
            for (int half = 0; half < 2; ++half) {
                const double h = half ? 2e-5 : 4e-5;
                slope += (half ? 4.0 / 3 : -1.0 / 3) *
                         (passivity_at(&t, &x, form, law >= 2, r, h, tau).V -
                          passivity_at(&t, &x, form, law >= 2, r, -h, tau).V) /
                         (2 * h);
            }
            worst_case *w;
            if (law == 0) {
                w = &slotine;
            } else if (law == 1) {
                w = &wen;
            } else if (law == 2) {
                w = &uniform;
            } else {
                w = &rates;
            }
            note(w, fabs(slope + now.power) / (1 + now.power + now.V), seed);
            if (law == 2) note(w, fabs(slope + 2 * 1.7 * now.V) / (1 + now.V), seed);
            if (law == 0) t.h[0] = now.V;
            /* |sigma|^2 / 2 = s'M s / 2 */
            if (law == 2) note(&energy, fabs(now.V - t.h[0]) / (1 + t.h[0]), seed);
        }
        if (!passive) { /* dense: M, C by columns */
            double *Cd = numbers(t.nv), *e = numbers(t.nv);
            OK(soa_crba(t.m, t.w, t.s.q, t.M));
            OK(soa_q_difference(t.m, t.s.q, x.q, e));
            OK(soa_rnea(t.m, t.w, t.s.q, t.s.v, NULL, NULL, 0, t.h));
            /* h - y: gravity, friction, springs */
            OK(soa_coriolis_mul(t.m, t.w, t.s.q, t.s.v, t.s.v, t.y));
            for (int form = 0; form < SOA_PASSIVITY_COUNT; ++form) {
                const int sl = form == SOA_SLOTINE_LI;
                OK(soa_control_passivity(t.c, (soa_passivity)form, t.s.q, t.s.v, &x.r, &x.g, t.tau,
                                         NULL));
                for (int j = 0; j < t.nv; ++j)
                    rate[j] = x.v[j] + (sl ? x.K[j] * e[j] : 0);
                OK(soa_coriolis_mul(t.m, t.w, t.s.q, form >= 2 ? x.v : t.s.v,
                                    form == 3 ? t.s.v : rate, Cd));
                for (int i = 0; i < t.nv; ++i) {
                    double sum = t.h[i] - t.y[i] + Cd[i] + x.D[i] * (rate[i] - t.s.v[i]) +
                                 (sl ? 0 : x.K[i] * e[i]);
                    for (int j = 0; j < t.nv; ++j)
                        sum +=
                            t.M[t.nv * i + j] * (x.a[j] + (sl ? x.K[j] * (x.v[j] - t.s.v[j]) : 0));
                    tau[i] = sum;
                }
                note(&same, relative(t.tau, tau, (size_t)t.nv), seed);
            }
            free(Cd);
            free(e);
        }
        free(tau);
        free(rate);
        tracked_free(&x);
        driven_tree_close(&t);
    }
    conclude("passivity laws, dense formulas", &same, 1e-11);
    conclude("Slotine-Li: V' = -s'D s, floating bases too", &slotine, 1e-6);
    conclude("Wen-Bayard 1: V' = -e''D e'", &wen, 1e-6);
    conclude("decoupled, equal rates: V' = -2 k V", &uniform, 1e-6);
    conclude("decoupled, any rates: V' = -sigma' rate sigma", &rates, 1e-6);
    conclude("|sigma|^2 = s'M s", &energy, 1e-12);
}

/* --- frame laws ------------------------------------------------------------------------------- */
static soa_motion random_motion(dice *d) {
    soa_motion g = {.pose = random_place(d, 0.5)};
    roll_many(d, -1, 1, 6, g.twist);
    roll_many(d, -1, 1, 6, g.acceleration);
    return g;
}
static int random_tip(const soa_model *m, dice *d) {
    soa_body_info b;
    OK(soa_model_body(m, 1 + (int)roll(d, 0, soa_model_body_count(m) - 1e-9), &b));
    return b.frame;
}
static void turn_back(const double R[9], const double x[3], double out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

/* A random frame law on a random tree, its goal, and the answer of the law. */
typedef struct impedance_case {
    long seed;
    driven_tree t;
    dice d;
    soa_frame_law law;
    soa_motion goal;
    double force[6], wrench[6];
    soa_frame_error e;
} impedance_case;
static impedance_case impedance_open(long seed) {
    impedance_case c = {.seed = seed, .d = {(uint64_t)seed * 5 + 1}};
    driven_tree *t = &c.t;
    *t = driven_tree_open(seed, 3 + (int)(seed % 9), shape_of(seed), 1);
    c.law = soa_frame_law_default(random_tip(t->m, &c.d), seed % 2 ? random_tip(t->m, &c.d) : 0);
    roll_many(&c.d, 0, 50, 6, c.law.stiffness);
    roll_many(&c.d, 0, 20, 6, c.law.damping);
    c.goal = random_motion(&c.d);
    roll_many(&c.d, -9, 9, 6, c.force);
    if (seed % 3 == 0) {
        c.law.max_force = 5;
        c.law.max_torque = 3;
    }
    OK(soa_control_impedance(t->c, t->s.q, t->s.v, &c.law, &c.goal, c.force, t->tau,
                             &(soa_impedance_result){.wrench = c.wrench, .error = &c.e}));
    return c;
}

/* The wrench is K e + D e' + force, clamped. */
static void compare_wrench(const impedance_case *c, worst_case *w) {
    const soa_frame_law *law = &c->law;
    double f[6], local[6];
    for (int j = 0; j < 6; ++j)
        f[j] = law->stiffness[j] * c->e.error[j] + law->damping[j] * c->e.rate[j] + c->force[j];
    if (law->max_force > 0) {
        const double n = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]),
                     l = sqrt(f[3] * f[3] + f[4] * f[4] + f[5] * f[5]);
        const double k = fmin(1, fmin(3 / n, 5 / l));
        for (int j = 0; j < 6; ++j)
            f[j] *= k;
    }
    turn_back(c->e.goal.R, c->wrench, local);
    turn_back(c->e.goal.R, c->wrench + 3, local + 3);
    note(w, relative(local, f, 6), c->seed);
}
/* tau is J'F and the bias, where there is a drive. */
static void compare_drive_torques(impedance_case *c, worst_case *w) {
    driven_tree *t = &c->t;
    OK(soa_rnea(t->m, t->w, t->s.q, t->s.v, NULL, NULL, 0, t->h));
    OK(soa_kinematics(t->m, t->w, t->s.q, t->s.v, NULL));
    OK(soa_jacobian_transpose_mul(t->m, t->w, c->law.frame, SOA_AXES_WORLD, c->wrench, t->x));
    for (int j = 0; j < t->nv; ++j)
        t->h[j] = t->drive[j] ? t->h[j] + t->x[j] : 0;
    note(w, relative(t->tau, t->h, (size_t)t->nv), c->seed);
}

/* The goal s seconds ahead, up to s^2. */
static soa_motion goal_ahead(const soa_motion *goal, double s) {
    soa_motion g = *goal;
    double rho[3], R[9];
    for (int j = 0; j < 3; ++j) {
        rho[j] = s * goal->twist[j] + s * s / 2 * goal->acceleration[j];
        g.pose.p[j] += s * goal->twist[3 + j] + s * s / 2 * goal->acceleration[3 + j];
    }
    soa_rotation_from_vector(rho, R);
    const soa_frame turned = {{R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]}, {0, 0, 0}};
    soa_frame pose = goal->pose;
    pose.p[0] = pose.p[1] = pose.p[2] = 0;
    pose = soa_frame_compose(&turned, &pose);
    memcpy(g.pose.R, pose.R, sizeof pose.R);
    for (int j = 0; j < 6; ++j)
        g.twist[j] += s * goal->acceleration[j];
    return g;
}
/* The law's error s seconds ahead, if the machine accelerates by t.x. */
static soa_frame_error error_ahead(impedance_case *c, double s) {
    driven_tree *t = &c->t;
    double *q = numbers(t->nq), *v = numbers(t->nv);
    for (int j = 0; j < t->nv; ++j) {
        t->y[j] = s * t->s.v[j] + s * s / 2 * t->x[j];
        v[j] = t->s.v[j] + s * t->x[j];
    }
    OK(soa_q_integrate(t->m, t->s.q, t->y, 1, q));
    const soa_motion g = goal_ahead(&c->goal, s);
    soa_frame_error e;
    OK(soa_control_frame_error(t->c, q, v, c->law.frame, c->law.relative_to, &g, &e));
    free(q);
    free(v);
    return e;
}
/* Differences of twists; `relative_to` accelerates here, which the call leaves out, so its part is
 * added. */
static void compare_goal_acceleration(impedance_case *c, const soa_frame_error ahead[2], double h,
                                      worst_case *w) {
    driven_tree *t = &c->t;
    soa_frame base;
    double A[6], arm[3], numeric[6];
    OK(soa_kinematics(t->m, t->w, t->s.q, t->s.v, t->x));
    OK(soa_pose(t->m, t->w, c->law.relative_to, &base));
    OK(soa_acceleration_classical(t->m, t->w, c->law.relative_to, SOA_AXES_WORLD, A));
    for (int j = 0; j < 3; ++j)
        arm[j] = c->e.goal.p[j] - base.p[j];
    cross_add(A, arm, A + 3);
    for (int j = 0; j < 6; ++j) {
        A[j] += c->e.acceleration[j];
        numeric[j] = (ahead[0].twist[j] - ahead[1].twist[j]) / (2 * h);
    }
    note(w, relative(numeric, A, 6), c->seed);
}
/* Differences of poses. */
static void compare_goal_twist(const impedance_case *c, const soa_frame_error ahead[2], double h,
                               worst_case *w) {
    double between[9], turned[6];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            between[3 * i + j] = 0;
            for (int k = 0; k < 3; ++k)
                between[3 * i + j] += ahead[0].goal.R[3 * i + k] * ahead[1].goal.R[3 * j + k];
        }
    soa_rotation_to_vector(between, turned);
    for (int j = 0; j < 3; ++j) {
        turned[j] /= 2 * h;
        turned[3 + j] = (ahead[0].goal.p[j] - ahead[1].goal.p[j]) / (2 * h);
    }
    note(w, relative(turned, c->e.twist, 6), c->seed);
}
/* A frame's own motion in another, as its goal: no error and no rate. */
static void compare_own_motion(impedance_case *c, worst_case *w) {
    driven_tree *t = &c->t;
    const soa_frame_law *law = &c->law;
    soa_motion here;
    soa_frame_error e;
    OK(soa_control_relative_motion(t->c, t->s.q, t->s.v, law->frame, law->relative_to, &here));
    OK(soa_control_frame_error(t->c, t->s.q, t->s.v, law->frame, law->relative_to, &here, &e));
    for (int j = 0; j < 6; ++j)
        note(w, fabs(e.error[j]) + fabs(e.rate[j]), c->seed);
}
/* Rotation vectors there and back, near half turns too. */
static void compare_rotation_vectors(impedance_case *c, worst_case *w) {
    static const double angles[] = {0, 1e-12, 1e-6, 1e-3, 1, 3, 3.14159, 3.141592653};
    double rho[3], R[9], again[3], x[3];
    roll_many(&c->d, -1, 1, 3, rho);
    const double size = sqrt(rho[0] * rho[0] + rho[1] * rho[1] + rho[2] * rho[2]);
    for (size_t k = 0; k < sizeof angles / sizeof *angles; ++k) {
        for (int j = 0; j < 3; ++j)
            x[j] = rho[j] / size * angles[k];
        soa_rotation_from_vector(x, R);
        soa_rotation_to_vector(R, again);
        for (int j = 0; j < 3; ++j)
            note(w, fabs(again[j] - x[j]), c->seed);
    }
}

/* Errors' rates against differences of poses; the law against J' F. */
static void impedance(void **unused) {
    (void)unused;
    const double h = 1e-5;
    worst_case law_case = {0}, rate = {0}, acceleration = {0}, vectors = {0}, own = {0};
    for (long seed = first_seed(); seed < first_seed() + trees(); ++seed) {
        impedance_case c = impedance_open(seed);
        compare_wrench(&c, &law_case);
        compare_drive_torques(&c, &law_case);
        OK(soa_aba(c.t.m, c.t.w, c.t.s.q, c.t.s.v, NULL, NULL, 0, c.t.x));
        const soa_frame_error ahead[2] = {error_ahead(&c, h), error_ahead(&c, -h)};
        compare_goal_acceleration(&c, ahead, h, &acceleration);
        compare_goal_twist(&c, ahead, h, &rate);
        compare_own_motion(&c, &own);
        compare_rotation_vectors(&c, &vectors);
        driven_tree_close(&c.t);
    }
    conclude("impedance: clamped wrench, tau = own J'F + bias", &law_case, 1e-12);
    conclude("goal's twist, by differences of poses", &rate, 1e-7);
    conclude("goal's acceleration, by differences of twists", &acceleration, 1e-6);
    conclude("a frame's own motion as its goal", &own, 1e-12);
    conclude("rotation vectors there and back", &vectors, 1e-14);
}

/* The plant gives the frames the accelerations wanted; generalized Jacobian by dense formulas. */
static void operational(void **unused) {
    (void)unused;
    worst_case plant = {0}, predicted = {0}, jacobian = {0};
    int singular = 0;
    for (long seed = first_seed(); seed < first_seed() + 3 * trees(); ++seed) {
        driven_tree t = driven_tree_open(seed, 6 + (int)(seed % 9),
                                         shape_of(seed) & ~(TREE_CHAINS | TREE_BRANCHED), 1);
        dice d = {(uint64_t)seed * 5 + 2};
        soa_frame_task task[2];
        soa_frame_error e[2];
        const int count = 1 + (int)(seed % 2);
        for (int k = 0; k < count; ++k) {
            task[k] = (soa_frame_task){
                .law = soa_frame_law_default(random_tip(t.m, &d), k ? random_tip(t.m, &d) : 0)};
            roll_many(&d, 0, 5, 6, task[k].law.stiffness);
            roll_many(&d, 0, 5, 6, task[k].law.damping);
            task[k].goal = random_motion(&d);
            task[k].rows = 1u << (int)roll(&d, 0, 5.99) | 1u << (int)roll(&d, 0, 5.99);
        }
        roll_many(&d, -5, 5, (size_t)t.nv, t.h);
        soa_operational_options o = {
            .wrenches = t.s.wrench, .wrench_count = 3, .posture = seed % 3 ? t.h : NULL};
        double rcond, *a = numbers(t.nv);
        const soa_status s = soa_control_operational_space(
            t.c, t.s.q, t.s.v, task, count, &o, t.tau,
            &(soa_operational_result){.a = a, .error = e, .rcond = &rcond});
        if (s == SOA_E_SINGULAR || (s == SOA_OK && rcond < 1e-5)) {
            ++singular;
        } else {
            OK(s);
            OK(soa_aba(t.m, t.w, t.s.q, t.s.v, t.tau, t.s.wrench, 3, t.x));
            /* trees nobody drives are left out of a */
            note(&predicted, relative(a, t.x, (size_t)t.nv) * rcond / 1e-3, seed);
            OK(soa_kinematics(t.m, t.w, t.s.q, t.s.v, t.x));
            for (int k = 0; k < count; ++k) {
                double A[6], world[6], got[6], want[6];
                const soa_frame_law *law = &task[k].law;
                OK(soa_acceleration_classical(t.m, t.w, law->frame, SOA_AXES_WORLD, A));
                wanted_in_frame(t.m, t.w, law->frame, law->relative_to, &task[k].goal, e + k,
                                law->stiffness, law->damping, world);
                turn_back(e[k].goal.R, A, got);
                turn_back(e[k].goal.R, A + 3, got + 3);
                turn_back(e[k].goal.R, world, want);
                turn_back(e[k].goal.R, world + 3, want + 3);
                for (int j = 0; j < 6; ++j)
                    if (task[k].rows & 1u << j)
                        note(&plant, fabs(got[j] - want[j]) / (1 + fabs(want[j])), seed);
            }
        }
        /* J_g = J_a - J_u M_uu^-1 M_ua, dense, with u in the driven tree (the only one here) */
        double *J = numbers(6 * t.nv), *Jg = numbers(6 * t.nv), *expect = numbers(6 * t.nv);
        OK(soa_kinematics(t.m, t.w, t.s.q, NULL, NULL));
        OK(soa_jacobian(t.m, t.w, task[0].law.frame, SOA_AXES_BODY, J));
        OK(soa_crba(t.m, t.w, t.s.q, t.M));
        int *u = calloc((size_t)t.nv + 1, sizeof *u), nu = 0;
        for (int j = 0; j < t.nv; ++j)
            if (!t.drive[j]) u[nu++] = j;
        double *A = numbers(nu * nu), *b = numbers(nu);
        for (int j = 0; j < t.nv; ++j) {
            if (!t.drive[j]) continue;
            for (int i = 0; i < nu; ++i) {
                b[i] = t.M[t.nv * u[i] + j];
                for (int l = 0; l < nu; ++l)
                    A[nu * i + l] = t.M[t.nv * u[i] + u[l]];
            }
            solve(nu, A, b);
            for (int r = 0; r < 6; ++r) {
                expect[r * t.nv + j] = J[r * t.nv + j];
                for (int i = 0; i < nu; ++i)
                    expect[r * t.nv + j] -= J[r * t.nv + u[i]] * b[i];
            }
        }
        OK(soa_control_generalised_jacobian(t.c, t.s.q, task[0].law.frame, SOA_AXES_BODY, Jg));
        note(&jacobian, relative(Jg, expect, 6 * (size_t)t.nv), seed);
        free(J);
        free(Jg);
        free(expect);
        free(u);
        free(A);
        free(b);
        free(a);
        driven_tree_close(&t);
    }
    printf("  %d of %d cases were near singular and left out\n", singular, 3 * trees());
    assert_true(singular < 3 * trees() / 2);
    conclude("operational space: frames accelerate as wanted", &plant, 1e-7);
    conclude("accelerations foretold", &predicted, 1e-6);
    conclude("generalized Jacobian, dense", &jacobian, 1e-9);
}

/* --- hands, dense ----------------------------------------------------------------------------- */
/* Any tree, any frames as hands of any object, and the answer of the law. */
typedef struct hands_case {
    long seed;
    driven_tree t;
    soa_coordination k;
    double total; /* of the shares */
    soa_motion goal;
    soa_coordination_state state;
    soa_coordination_result r;
    soa_frame O, H[SOA_HANDS]; /* the object and the hands in the world */
} hands_case;
static hands_case hands_open(long seed) {
    hands_case c = {.seed = seed,
                    .t = driven_tree_open(seed, 5 + (int)(seed % 9), shape_of(seed), 1)};
    driven_tree *t = &c.t;
    soa_coordination *k = &c.k;
    dice d = {(uint64_t)seed * 3 + 2};
    *k = soa_coordination_default(random_tip(t->m, &d), seed % 2 ? random_tip(t->m, &d) : 0);
    k->hands = 1 + (int)(seed % 4);
    k->couple_length = roll(&d, 0.1, 1);
    k->squeeze = k->hands > 1 ? 20 : 0;
    for (int i = 0; i < k->hands; ++i) {
        k->hand[i] = random_tip(t->m, &d);
        k->share[i] = roll(&d, 0.1, 1);
        c.total += k->share[i];
        k->grasp[i] = random_place(&d, 0.3);
    }
    k->has_grasp = true;
    roll_many(&d, 0, 50, 6, k->stiffness);
    roll_many(&d, 0, 20, 6, k->damping);
    roll_many(&d, 0, 9, 2, k->follow_stiffness);
    roll_many(&d, 0, 9, 2, k->follow_damping);
    c.goal = random_motion(&d);
    OK(soa_control_coordination(t->c, t->s.q, t->s.v, k, &(soa_coordination_input){.goal = &c.goal},
                                &c.state, t->tau, &c.r));
    OK(soa_kinematics(t->m, t->w, t->s.q, t->s.v, NULL));
    OK(soa_pose(t->m, t->w, k->object, &c.O));
    for (int i = 0; i < k->hands; ++i)
        OK(soa_pose(t->m, t->w, k->hand[i], c.H + i));
    return c;
}
static void arm_of_hand(const hands_case *c, int i, double l[3]) {
    for (int j = 0; j < 3; ++j)
        l[j] = c->H[i].p[j] - c->O.p[j];
}

/* The hands' wrenches, moved to the object's frame, add up to the object's. */
static void compare_sum_of_hands(const hands_case *c, worst_case *w) {
    double sum[6] = {0}, l[3];
    for (int i = 0; i < c->k.hands; ++i) {
        const double *F = c->r.hand_wrench[i];
        arm_of_hand(c, i, l);
        for (int j = 0; j < 6; ++j)
            sum[j] += F[j];
        cross_add(l, F + 3, sum);
    }
    note(w, relative(sum, c->r.wrench, 6), c->seed);
}
/* The squeeze is seen, if the hands are not all in one place. */
static void compare_squeeze(const hands_case *c, worst_case *w) {
    double s, spread = 0;
    OK(soa_control_internal_force(c->t.c, c->t.s.q, &c->k, &c->r.hand_wrench[0][0], &s));
    for (int i = 1; i < c->k.hands; ++i)
        for (int j = 0; j < 3; ++j)
            spread = fmax(spread, fabs(c->H[i].p[j] - c->H[0].p[j]));
    if (spread > 1e-6) note(w, fabs(s - c->k.squeeze) / 20, c->seed);
}

/* G: the hands' wrenches (columns) to their sum at the object's frame. */
static void grasp_matrix(const hands_case *c, double G[6][6 * SOA_HANDS]) {
    for (int i = 0; i < c->k.hands; ++i)
        for (int column = 0; column < 6; ++column) {
            double unit[6] = {0}, l[3];
            unit[column] = 1;
            arm_of_hand(c, i, l);
            cross_add(l, unit + 3, unit);
            for (int row = 0; row < 6; ++row)
                G[row][6 * i + column] = unit[row];
        }
}
static double weight_of(const hands_case *c, int column) {
    const double length = c->k.couple_length;
    return c->k.share[column / 6] / c->total * (column % 6 < 3 ? length * length : 1);
}
/* Least norm: G F = W, weighted; F = B G'(G B G')^-1 W, without the squeeze. */
static void compare_shares(hands_case *c, worst_case *w) {
    driven_tree *t = &c->t;
    soa_coordination plain = c->k;
    soa_coordination_result r;
    plain.squeeze = 0;
    OK(soa_control_coordination(t->c, t->s.q, t->s.v, &plain,
                                &(soa_coordination_input){.goal = &c->goal}, &c->state, t->x, &r));
    const int columns = 6 * c->k.hands;
    double G[6][6 * SOA_HANDS] = {{0}}, A[36] = {0}, y[6], expect[6 * SOA_HANDS];
    grasp_matrix(c, G);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            for (int j = 0; j < columns; ++j)
                A[6 * a + b] += G[a][j] * weight_of(c, j) * G[b][j];
    memcpy(y, r.wrench, sizeof y);
    solve(6, A, y);
    for (int j = 0; j < columns; ++j) {
        expect[j] = 0;
        for (int a = 0; a < 6; ++a)
            expect[j] += weight_of(c, j) * G[a][j] * y[a];
    }
    note(w, relative(&r.hand_wrench[0][0], expect, (size_t)columns), c->seed);
}

/* Wrench of hand i with what makes it follow its place on the object, which moves with V. */
static void wrench_with_follow(const hands_case *c, int i, const double V[6], double f[6]) {
    const driven_tree *t = &c->t;
    const soa_coordination *k = &c->k;
    const soa_frame place = soa_frame_compose(&c->O, k->grasp + i);
    const double *F = c->r.hand_wrench[i], *p = c->H[i].p;
    double there[6], Vh[6], l[3], between[9], rho[3];
    OK(soa_velocity(t->m, t->w, k->hand[i], SOA_AXES_WORLD, Vh));
    memcpy(there, V, sizeof there);
    arm_of_hand(c, i, l);
    cross_add(V, l, there + 3);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            between[3 * a + b] = 0;
            for (int j = 0; j < 3; ++j)
                between[3 * a + b] += place.R[3 * a + j] * c->H[i].R[3 * b + j];
        }
    soa_rotation_to_vector(between, rho);
    for (int j = 0; j < 6; ++j)
        f[j] = F[j] + k->follow_damping[j / 3] * (there[j] - Vh[j]) +
               k->follow_stiffness[j / 3] * (j < 3 ? rho[j] : place.p[j - 3] - p[j - 3]);
}
/* tau is J'(F + follow) and the bias, where there is a drive. */
static void compare_hand_torques(hands_case *c, worst_case *w) {
    driven_tree *t = &c->t;
    double V[6], f[6];
    OK(soa_rnea(t->m, t->w, t->s.q, t->s.v, NULL, NULL, 0, t->h));
    OK(soa_kinematics(t->m, t->w, t->s.q, t->s.v, NULL));
    OK(soa_velocity(t->m, t->w, c->k.object, SOA_AXES_WORLD, V));
    for (int i = 0; i < c->k.hands; ++i) {
        wrench_with_follow(c, i, V, f);
        OK(soa_jacobian_transpose_mul(t->m, t->w, c->k.hand[i], SOA_AXES_WORLD, f, t->x));
        for (int j = 0; j < t->nv; ++j)
            t->h[j] += t->x[j];
    }
    for (int j = 0; j < t->nv; ++j)
        if (!t->drive[j]) t->h[j] = 0;
    note(w, relative(t->tau, t->h, (size_t)t->nv), c->seed);
}

/* The hands' wrenches add up to the object's, by shares that are the normal equations of least
 * norm; the squeeze is seen, and nothing else; the torques are J'F. */
static void coordination_passive(void **unused) {
    (void)unused;
    worst_case law_case = {0}, least = {0}, seen = {0}, object_case = {0};
    for (long seed = first_seed(); seed < first_seed() + trees(); ++seed) {
        hands_case c = hands_open(seed);
        compare_sum_of_hands(&c, &object_case);
        compare_squeeze(&c, &seen);
        compare_shares(&c, &least);
        compare_hand_torques(&c, &law_case);
        driven_tree_close(&c.t);
    }
    conclude("hands' wrenches add up to the object's", &object_case, 1e-12);
    conclude("the squeeze is seen as it was asked for", &seen, 1e-11);
    conclude("shares: weighted least norm, dense", &least, 1e-9);
    conclude("tau = own J'(F + follow) + bias", &law_case, 1e-12);
}

/* The object's wrench is that of a free body which accelerates so: soa_rnea of a satellite
 * alone. */
static void object_wrench_is_rnea(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    soa_control *c;
    soa_work *w;
    const soa_control_def def = soa_control_default(t.drive);
    OK(soa_control_create(t.m, &def, &c));
    OK(soa_work_create(t.m, &w));
    worst_case same = {0};
    for (long seed = first_seed(); seed < first_seed() + 50; ++seed) {
        tree_state s = random_tree_state(t.m, seed);
        dice d = {(uint64_t)seed};
        soa_coordination k = soa_coordination_default(t.satellite, 0);
        k.form = SOA_COORDINATE_LINEARISING;
        k.hands = 2;
        k.hand[0] = t.hand[0];
        k.hand[1] = t.hand[1];
        k.damping_of_lambda = 1e-3;
        roll_many(&d, 0, 5, 6, k.stiffness);
        roll_many(&d, 0, 5, 6, k.damping);
        const soa_motion goal = random_motion(&d);
        soa_coordination_state state = {0};
        soa_coordination_result r;
        double tau[PUMA_V], a[PUMA_V] = {0}, x[6], V[6], got[6];
        OK(soa_control_coordination(c, s.q, s.v, &k, &(soa_coordination_input){.goal = &goal},
                                    &state, tau, &r));
        /* classical acceleration in the world to the free joint's: body axes, less w x v */
        soa_frame O;
        OK(soa_kinematics(t.m, w, s.q, s.v, NULL));
        OK(soa_pose(t.m, w, t.satellite, &O));
        OK(soa_velocity(t.m, w, t.satellite, SOA_AXES_WORLD, V));
        for (int h = 0; h < 6; h += 3)
            for (int i = 0; i < 3; ++i) {
                x[h + i] = r.error.acceleration[h + i];
                for (int j = 0; j < 3; ++j)
                    x[h + i] +=
                        r.error.goal.R[3 * i + j] * (k.stiffness[h + j] * r.error.error[h + j] +
                                                     k.damping[h + j] * r.error.rate[h + j]);
            }
        const double back[3] = {-V[0], -V[1], -V[2]};
        cross_add(back, V + 3, x + 3);
        turn_back(O.R, x, a + PUMA_SATELLITE_V);
        turn_back(O.R, x + 3, a + PUMA_SATELLITE_V + 3);
        OK(soa_rnea(t.m, w, s.q, s.v, a, NULL, 0, tau));
        turn_back(O.R, r.wrench, got);
        turn_back(O.R, r.wrench + 3, got + 3);
        note(&same, relative(got, tau + PUMA_SATELLITE_V, 6), seed);
        free_tree_state(&s);
    }
    conclude("object's wrench = soa_rnea of the satellite", &same, 1e-12);
    soa_control_free(c);
    soa_work_free(w);
    soa_model_free(t.m);
}

/* A law of one arm beside a law of the other: accelerations of the other given, the torques are
 * those of one law for both. */
static void two_laws(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(0, 300, 1, 1);
    worst_case same = {0};
    soa_control *both, *left;
    soa_control_def def = soa_control_default(t.drive);
    OK(soa_control_create(t.m, &def, &both));
    unsigned char drive[PUMA_V];
    memcpy(drive, t.drive, sizeof drive);
    for (int j = 12; j < 18; ++j)
        drive[j] = SOA_DRIVE_OTHER;
    def.drive = drive;
    OK(soa_control_create(t.m, &def, &left));
    for (long seed = first_seed(); seed < first_seed() + 20; ++seed) {
        tree_state s = random_tree_state(t.m, seed), g = random_tree_state(t.m, seed + 50);
        double K[PUMA_V], D[PUMA_V], a[PUMA_V], tau[PUMA_V], expect[PUMA_V], e[PUMA_V];
        for (int j = 0; j < PUMA_V; ++j) {
            K[j] = 4 + j;
            D[j] = 3;
        }
        const soa_joint_gains gains = {K, D};
        const soa_joint_reference r = {g.q, g.v, g.tau};
        OK(soa_control_inverse_dynamics(both, s.q, s.v, &r, &gains, NULL, expect, NULL));
        OK(soa_q_difference(t.m, s.q, g.q, e));
        for (int j = 0; j < PUMA_V; ++j)
            a[j] = g.tau[j] + (j < 12 ? 0 : K[j] * e[j] + D[j] * (g.v[j] - s.v[j]));
        const soa_joint_reference other = {g.q, g.v, a};
        OK(soa_control_inverse_dynamics(left, s.q, s.v, &other, &gains, NULL, tau, NULL));
        note(&same, relative(tau + 6, expect + 6, 6), seed);
        for (int j = 0; j < PUMA_V; ++j)
            if (drive[j] != SOA_DRIVE_OWN) assert_true(tau[j] == 0);
        free_tree_state(&s);
        free_tree_state(&g);
    }
    conclude("one arm's law beside the other's", &same, 1e-12);

    /* operational space of one hand, while the other arm applies what keeps its joints from
     * accelerating at first */
    worst_case hand = {0};
    soa_work *w;
    OK(soa_work_create(t.m, &w));
    for (long seed = first_seed(); seed < first_seed() + 20; ++seed) {
        tree_state s = random_tree_state(t.m, seed);
        dice d = {(uint64_t)seed * 11 + 4};
        soa_frame_task task = {.law = soa_frame_law_default(t.hand[0], seed % 2 ? t.base : 0),
                               .goal = random_motion(&d)};
        roll_many(&d, 0, 5, 6, task.law.stiffness);
        roll_many(&d, 0, 5, 6, task.law.damping);
        double a[PUMA_V] = {0}, tau[PUMA_V], other[PUMA_V], A[6], want[6], rcond;
        soa_frame_error e;
        const soa_status status =
            soa_control_operational_space(left, s.q, s.v, &task, 1, NULL, tau,
                                          &(soa_operational_result){.error = &e, .rcond = &rcond});
        if (status != SOA_E_SINGULAR && rcond > 1e-5) {
            OK(status);
            OK(soa_control_passive_acceleration(left, s.q, s.v, NULL, 0, a));
            OK(soa_rnea(t.m, w, s.q, s.v, a, NULL, 0, other));
            for (int j = 12; j < PUMA_SATELLITE_V; ++j)
                tau[j] = other[j];
            OK(soa_aba(t.m, w, s.q, s.v, tau, NULL, 0, a));
            OK(soa_kinematics(t.m, w, s.q, s.v, a));
            OK(soa_acceleration_classical(t.m, w, t.hand[0], SOA_AXES_WORLD, A));
            wanted_in_frame(t.m, w, t.hand[0], task.law.relative_to, &task.goal, &e,
                            task.law.stiffness, task.law.damping, want);
            note(&hand, relative(A, want, 6), seed);
        }
        free_tree_state(&s);
    }
    conclude("one hand's law beside an arm that holds still", &hand, 1e-9);
    soa_work_free(w);
    soa_control_free(both);
    soa_control_free(left);
    soa_model_free(t.m);
}

/* --- bad input -------------------------------------------------------------------------------- */
static void bad_input(void **unused) {
    (void)unused;
    two_pumas t = two_pumas_open(1, 300, 1, 1);
    soa_control_def def = soa_control_default(t.drive);
    soa_control *c;
    OK(soa_control_create(t.m, &def, &c));
    const size_t size = soa_control_size(t.m, &def);
    char *memory = aligned_alloc(64, (size + 127) / 64 * 64);
    soa_control *own;
    assert_int_equal(soa_control_init(t.m, &def, memory, size - 1, &own), SOA_E_MEMORY);
    assert_int_equal(soa_control_init(t.m, &def, memory + 8, size, &own), SOA_E_MEMORY);
    OK(soa_control_init(t.m, &def, memory, size, &own));
    free(memory);
    assert_int_equal(soa_control_size(NULL, &def), 0);
    unsigned char wrong[PUMA_V] = {7};
    def.drive = wrong;
    assert_int_equal(soa_control_size(t.m, &def), 0);
    assert_int_equal(soa_control_create(t.m, &def, &own), SOA_E_ARGUMENT);

    double q[PUMA_Q], bad_q[PUMA_Q], v[PUMA_V] = {0}, bad_v[PUMA_V] = {0}, K[PUMA_V], bad_K[PUMA_V],
                                     tau[PUMA_V];
    two_pumas_pose(&t, 0.6, q);
    memcpy(bad_q, q, sizeof q);
    bad_q[9] = NAN;
    bad_v[3] = INFINITY;
    for (int j = 0; j < PUMA_V; ++j) {
        K[j] = bad_K[j] = 1;
        tau[j] = 77;
    }
    bad_K[8] = -1;
    const soa_joint_reference r = {q, NULL, NULL}, no_r = {bad_q, NULL, NULL},
                              bad_r = {q, bad_v, NULL};
    const soa_joint_gains g = {K, K}, bad_g = {K, bad_K};
    const soa_motion goal = soa_motion_at_rest(NULL);
    soa_motion skew = goal;
    skew.pose.R[0] = 2;
    soa_frame_law law = soa_frame_law_default(t.hand[0], 0), lost = soa_frame_law_default(9999, 0);
    soa_coordination k = soa_coordination_default(t.satellite, t.base), none = k, many = k;
    k.hands = 2;
    k.hand[0] = t.hand[0];
    k.hand[1] = t.hand[1];
    many.hands = 99;
    soa_coordination_state state = {0};
    const double nan = NAN;
#define BAD(status, call) assert_int_equal(call, status)
    BAD(SOA_E_NOT_FINITE, soa_control_joint_pd(c, bad_q, v, &r, &g, tau));
    BAD(SOA_E_NOT_FINITE, soa_control_joint_pd(c, q, bad_v, &r, &g, tau));
    BAD(SOA_E_NOT_FINITE, soa_control_joint_pd(c, q, v, &no_r, &g, tau));
    BAD(SOA_E_ARGUMENT, soa_control_joint_pd(c, q, v, NULL, &g, tau));
    BAD(SOA_E_ARGUMENT, soa_control_joint_pd(c, q, v, &r, NULL, tau));
    BAD(SOA_E_ARGUMENT, soa_control_joint_pd(c, q, v, &r, &bad_g, tau));
    BAD(SOA_E_ARGUMENT, soa_control_inverse_dynamics(c, NULL, v, &r, &g, NULL, tau, NULL));
    BAD(SOA_E_ARGUMENT,
        soa_control_inverse_dynamics(
            c, q, v, &r, &g, &(soa_inverse_dynamics_options){.wrench_count = 2}, tau, NULL));
    BAD(SOA_E_ARGUMENT, soa_control_passivity(c, SOA_PASSIVITY_COUNT, q, v, &r, &g, tau, NULL));
    K[9] = 2; /* rates must be equal on a floating base */
    BAD(SOA_E_ARGUMENT, soa_control_decoupled(c, q, v, &r, K, K, tau, NULL));
    K[9] = 1;
    BAD(SOA_E_FRAME, soa_control_impedance(c, q, v, &law, &skew, NULL, tau, NULL));
    BAD(SOA_E_ARGUMENT, soa_control_impedance(c, q, v, &lost, &goal, NULL, tau, NULL));
    law.damping[2] = -1;
    BAD(SOA_E_ARGUMENT, soa_control_impedance(c, q, v, &law, &goal, NULL, tau, NULL));
    law.damping[2] = 0;
    /* seven tasks of two arms, and a frame nobody moves: singular, and said so */
    soa_frame_task task[8];
    for (int i = 0; i < 8; ++i)
        task[i] = (soa_frame_task){.law = law, .goal = goal};
    double rcond = 1;
    BAD(SOA_E_SINGULAR, soa_control_operational_space(c, q, v, task, 7, NULL, tau,
                                                      &(soa_operational_result){.rcond = &rcond}));
    assert_true(rcond < 1e-12);
    task[0].law.frame = 0;
    BAD(SOA_E_SINGULAR, soa_control_operational_space(c, q, v, task, 1, NULL, tau, NULL));
    task[0].law.frame = t.satellite;
    BAD(SOA_E_SINGULAR, soa_control_operational_space(c, q, v, task, 1, NULL, tau, NULL));
    BAD(SOA_E_ARGUMENT, soa_control_operational_space(c, q, v, task, 9, NULL, tau, NULL));
    BAD(SOA_E_ARGUMENT,
        soa_control_coordination(c, q, v, &none, &(soa_coordination_input){.goal = &goal}, &state,
                                 tau, NULL));
    BAD(SOA_E_ARGUMENT,
        soa_control_coordination(c, q, v, &many, &(soa_coordination_input){.goal = &goal}, &state,
                                 tau, NULL));
    BAD(SOA_E_NOT_FINITE,
        soa_control_coordination(c, q, v, &k,
                                 &(soa_coordination_input){.goal = &goal, .measured = &nan}, &state,
                                 tau, NULL));
    BAD(SOA_E_ARGUMENT,
        soa_control_coordination(c, q, v, &k, &(soa_coordination_input){.goal = &goal, .dt = NAN},
                                 &state, tau, NULL));
    for (int j = 0; j < PUMA_V; ++j)
        assert_true(tau[j] == 77); /* nothing was written */
    assert_true(state.integral == 0);
    /* bad numbers where nobody drives are not read */
    OK(soa_control_joint_pd(c, q, v, &bad_r, &g, tau));
#undef BAD
    soa_control_free(c);
    soa_model_free(t.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_is_inverse_dynamics),
        cmocka_unit_test(recursion_of_closed_machine),
        cmocka_unit_test(pd_and_inverse_dynamics),
        cmocka_unit_test(passivity),
        cmocka_unit_test(impedance),
        cmocka_unit_test(operational),
        cmocka_unit_test(coordination_passive),
        cmocka_unit_test(object_wrench_is_rnea),
        cmocka_unit_test(two_laws),
        cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
