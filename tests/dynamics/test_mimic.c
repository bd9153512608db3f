/* test_mimic.c  forward dynamics with mimic joints and links that are massless, points or rods. If
 * the mimic joints were independent, the tree might have no forward dynamics; the machine has it if
 * Gamma'M Gamma is regular. The reference forms that matrix (from soa_crba, which has no guards)
 * and solves it in long double. */
#include "check.h"
#include "soa/dynamics.h"
#include "soa/forms.h"
#include "trees.h"

enum { MOST = 40 };
typedef long double wide;

/* A = L d L'; the smallest pivot over the largest entry, or 0. */
static double factor(int n, const double *A, wide *L) {
    wide least = INFINITY, most = 0;
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            wide x = A[n * i + j];
            for (int m = 0; m < j; ++m)
                x -= L[n * i + m] * L[n * j + m] * L[n * m + m];
            L[n * i + j] = i == j ? x : x / L[n * j + j];
        }
        most = fmaxl(most, fabsl(A[n * j + j]));
        least = fminl(least, L[n * j + j]);
        if (!(L[n * j + j] > 0)) return 0;
    }
    return (double)(least / most);
}
static void solve(int n, const wide *L, const double *b, double *x) {
    wide y[MOST];
    for (int i = 0; i < n; ++i) {
        y[i] = b[i];
        for (int m = 0; m < i; ++m)
            y[i] -= L[n * i + m] * y[m];
    }
    for (int i = 0; i < n; ++i)
        y[i] /= L[n * i + i];
    for (int i = n - 1; i >= 0; --i) {
        for (int m = i + 1; m < n; ++m)
            y[i] -= L[n * m + i] * y[m];
        x[i] = (double)y[i];
    }
}

/* Light links and mimic joints, leaders before and after their followers. */
static const soa_model *light_machine(long seed, int ideal) {
    static const soa_joint_type types[] = {
        SOA_REVOLUTE, SOA_REVOLUTE,    SOA_REVOLUTE,  SOA_PRISMATIC, SOA_PRISMATIC,
        SOA_HELICAL,  SOA_CYLINDRICAL, SOA_UNIVERSAL, SOA_SPHERICAL, SOA_REVOLUTE};
    dice d = {(uint64_t)seed * 6007};
    soa_body_def bodies[12];
    char names[12][16];
    const int count = 3 + (int)roll(&d, 0, 8.999), floats = roll(&d, 0, 1) < 0.3;
    for (int i = 0; i < count; ++i) {
        soa_body_def *b = bodies + i;
        snprintf(names[i], sizeof names[i], "link%d", i + 1);
        int parent;
        if (i == 0) {
            parent = 0;
        } else if (roll(&d, 0, 1) < 0.6) {
            parent = i;
        } else {
            parent = 1 + (int)roll(&d, 0, i - 1e-9);
        }
        *b = soa_body_default(names[i], parent,
                              i == 0 && floats ? SOA_FREE : types[(int)roll(&d, 0, 9.999)]);
        b->placement = random_place(&d, 0.4);
        double *u = b->joint.axis, *u2 = b->joint.axis2;
        u[0] = u[1] = u[2] = 0;
        u[(int)roll(&d, 0, 2.999)] = 1;
        if (roll(&d, 0, 1) < 0.3) roll_many(&d, 0.2, 1, 3, u);
        u2[0] = u[1] + 0.3;
        u2[1] = u[2] - 0.4;
        u2[2] = -u[0];
        b->joint.pitch = 0.1;
        soa_body_box(b, roll(&d, 0.5, 5), roll(&d, 0.1, 0.5), roll(&d, 0.1, 0.5),
                     roll(&d, 0.1, 0.5));
        roll_many(&d, -0.2, 0.2, 3, b->com);
        const double light = roll(&d, 0, 1); /* nothing, a point, a rod, a box */
        if (light < 0.35) {
            b->mass = 0;
            memset(b->com, 0, sizeof b->com);
        }
        if (light < 0.45) memset(b->inertia, 0, sizeof b->inertia);
        if (light >= 0.45 && light < 0.5) {
            memset(b->inertia, 0, sizeof b->inertia);
            b->inertia[0] = b->inertia[1] = 0.02;
        }
        if (roll(&d, 0, 1) < 0.1) {
            b->joint.rotor_inertia = 1e-4;
            b->joint.gear_ratio = 20;
        }
        if (roll(&d, 0, 1) < 0.2) {
            b->joint.damping = 0.2;
            b->joint.friction_positive = b->joint.friction_negative = 0.1;
        }
    }
    int leads[12] = {0};
    for (int i = 0; i < count; ++i) {
        const soa_joint_type type = bodies[i].joint.type;
        const int to = (int)roll(&d, 0, count - 1e-9);
        if (type != SOA_REVOLUTE && type != SOA_PRISMATIC && type != SOA_HELICAL) continue;
        const soa_joint_type other = bodies[to].joint.type;
        if (other != SOA_REVOLUTE && other != SOA_PRISMATIC && other != SOA_HELICAL) continue;
        if (to == i || leads[i] || bodies[to].joint.mimic > 0 || roll(&d, 0, 1) > 0.6) continue;
        leads[to] = 1;
        bodies[i].joint.mimic = to + 1;
        bodies[i].joint.mimic_offset = roll(&d, -0.5, 0.5);
        const double kind = roll(&d, 0, 1);
        if (kind < 0.1) {
            bodies[i].joint.mimic_ratio = 0;
        } else if (kind < 0.2) {
            bodies[i].joint.mimic_ratio = -1;
        } else {
            bodies[i].joint.mimic_ratio = roll(&d, -3, 3);
        }
    }
    soa_model_def def = soa_model_default("light", bodies, count);
    roll_many(&d, -10, 10, 3, def.gravity);
    def.ideal = ideal;
    const soa_model *model = NULL;
    soa_report report;
    if (soa_model_create(&def, &model, &report) != SOA_OK)
        fail_msg("seed %ld: %s", seed, report.text);
    return model;
}

/* M^-1 x, column by column */
static void solve_many(int n, const wide *L, int columns, const double *B, double *X) {
    for (int c = 0; c < columns; ++c) {
        double b[MOST], x[MOST];
        for (int i = 0; i < n; ++i)
            b[i] = B[columns * i + c];
        solve(n, L, b, x);
        for (int i = 0; i < n; ++i)
            X[columns * i + c] = x[i];
    }
}

/* A light machine in a random state, and its mass matrix factored: M = L d L'. */
typedef struct light_case {
    long seed;
    const soa_model *m;
    soa_work *w;
    tree_state s;
    int n, nq;
    double pivot; /* as factor() returns it */
    wide L[MOST * MOST];
} light_case;
static void open_case(light_case *c, long seed) {
    double M[MOST * MOST];
    c->seed = seed;
    c->m = light_machine(seed, 0);
    c->n = soa_model_nv(c->m);
    c->nq = soa_model_nq(c->m);
    assert_int_equal(soa_work_create(c->m, &c->w), SOA_OK);
    c->s = random_tree_state(c->m, seed);
    assert_true(c->n <= MOST);
    assert_int_equal(soa_crba(c->m, c->w, c->s.q, M), SOA_OK);
    c->pivot = factor(c->n, M, c->L);
}
static void close_case(light_case *c) {
    free_tree_state(&c->s);
    soa_work_free(c->w);
    soa_model_free(c->m);
}
static int mimic_joints(const soa_model *m) {
    int mimics = 0;
    for (int i = 1; i <= soa_model_body_count(m); ++i) {
        soa_body_info info;
        soa_model_body(m, i, &info);
        mimics += info.mimic >= 0;
    }
    return mimics;
}

/* Forward dynamics with wrenches; the accelerations are left in qdd. */
static void compare_accelerations(const light_case *c, double *qdd, worst_case *w) {
    const int n = c->n;
    double bias[MOST], want[MOST];
    assert_int_equal(soa_rnea(c->m, c->w, c->s.q, c->s.v, NULL, c->s.wrench, 3, bias), SOA_OK);
    for (int i = 0; i < n; ++i)
        bias[i] = c->s.tau[i] - bias[i];
    solve(n, c->L, bias, want);
    const soa_status status = soa_aba(c->m, c->w, c->s.q, c->s.v, c->s.tau, c->s.wrench, 3, qdd);
    if (status != SOA_OK) fail_msg("seed %ld: %s", c->seed, soa_status_text(status));
    note(w, relative(qdd, want, (size_t)n), c->seed);
}
static void compare_product(const light_case *c, worst_case *w) {
    double want[MOST], got[MOST];
    solve(c->n, c->L, c->s.v, want);
    assert_int_equal(soa_minv_mul(c->m, c->w, c->s.q, c->s.v, got), SOA_OK);
    note(w, relative(got, want, (size_t)c->n), c->seed);
}
static void compare_inverse(const light_case *c, worst_case *w) {
    const int n = c->n;
    double one[MOST * MOST] = {0}, want[MOST * MOST], got[MOST * MOST];
    for (int i = 0; i < n; ++i)
        one[(n + 1) * i] = 1;
    solve_many(n, c->L, n, one, want);
    assert_int_equal(soa_minv(c->m, c->w, c->s.q, got), SOA_OK);
    note(w, relative(got, want, (size_t)(n * n)), c->seed);
}
/* J M^-1 J' of the last link. */
static void compare_compliance(const light_case *c, worst_case *w) {
    const int n = c->n;
    soa_body_info tip;
    double J[6 * MOST], turned[6 * MOST], Y[6 * MOST], Omega[36], want[36] = {0};
    soa_model_body(c->m, soa_model_body_count(c->m), &tip);
    assert_int_equal(soa_kinematics(c->m, c->w, c->s.q, NULL, NULL), SOA_OK);
    assert_int_equal(soa_jacobian(c->m, c->w, tip.frame, SOA_AXES_WORLD, J), SOA_OK);
    for (int i = 0; i < n; ++i)
        for (int r = 0; r < 6; ++r)
            turned[6 * i + r] = J[n * r + i];
    solve_many(n, c->L, 6, turned, Y);
    for (int r = 0; r < 6; ++r)
        for (int k = 0; k < 6; ++k)
            for (int i = 0; i < n; ++i)
                want[6 * r + k] += J[n * r + i] * Y[6 * i + k];
    assert_int_equal(soa_compliance(c->m, c->w, c->s.q, &tip.frame, 1, SOA_AXES_WORLD, Omega),
                     SOA_OK);
    note(w, relative(Omega, want, 36), c->seed);
}
/* d aba / dv = -M^-1 d rnea / dv. */
static void compare_slopes(const light_case *c, const double *qdd, worst_case *w) {
    const int n = c->n;
    double dq[MOST * MOST], dv[MOST * MOST], rq[MOST * MOST], rv[MOST * MOST], want[MOST * MOST];
    soa_input input = {.q = c->s.q, .v = c->s.v, .wrenches = c->s.wrench, .wrench_count = 3};
    input.a = qdd;
    assert_int_equal(soa_rnea_derivatives(c->m, c->w, &input, rq, rv), SOA_OK);
    input.a = NULL;
    input.tau = c->s.tau;
    assert_int_equal(soa_aba_derivatives(c->m, c->w, &input, dq, dv), SOA_OK);
    solve_many(n, c->L, n, rv, want);
    for (int i = 0; i < n * n; ++i)
        want[i] = -want[i];
    note(w, relative(dv, want, (size_t)(n * n)), c->seed);
}
/* The last of five equal states against qdd, the accelerations without wrenches. */
static void compare_lanes(const light_case *c, const double *qdd, worst_case *w) {
    enum { LANES = 5 };
    const size_t n = (size_t)c->n, nq = (size_t)c->nq;
    double *q = calloc(LANES, nq * sizeof *q), *v = calloc(LANES, n * sizeof *v),
           *tau = calloc(LANES, n * sizeof *tau), *a = calloc(LANES, n * sizeof *a);
    soa_batch *batch;
    assert_int_equal(soa_batch_create(c->m, &batch), SOA_OK);
    for (size_t l = 0; l < LANES; ++l) {
        memcpy(q + l * nq, c->s.q, nq * sizeof *q);
        memcpy(v + l * n, c->s.v, n * sizeof *v);
        memcpy(tau + l * n, c->s.tau, n * sizeof *tau);
    }
    assert_int_equal(soa_aba_batch(c->m, batch, LANES, q, v, tau, NULL, a), SOA_OK);
    note(w, relative(a + (LANES - 1) * n, qdd, n), c->seed);
    free(q);
    free(v);
    free(tau);
    free(a);
    soa_batch_free(batch);
}
/* The smoother reads out the tree whose followers are free: it agrees, or that tree has no
 * dynamics. Returns 0 in the second case. */
static int compare_smoother(const light_case *c, const double *qdd, worst_case *w) {
    double got[MOST] = {0};
    const soa_status smooth = soa_smoother(c->m, c->w, c->s.q, c->s.v, c->s.tau, NULL, 0);
    if (smooth != SOA_OK) {
        assert_int_equal(smooth, SOA_E_HINGE_SINGULAR);
        return 0;
    }
    for (int i = 1; i <= soa_model_body_count(c->m); ++i) {
        soa_body_info info;
        soa_smoothed at;
        soa_model_body(c->m, i, &info);
        assert_int_equal(soa_smoother_read(c->m, c->w, i, &at), SOA_OK);
        for (int k = 0; info.mimic < 0 && k < info.nv; ++k)
            got[info.v_index + k] = at.acceleration[k];
    }
    note(w, relative(got, qdd, (size_t)c->n), c->seed);
    return 1;
}
/* Does the same tree have forward dynamics if its mimic joints are independent? */
static int dynamics_without_mimics(long seed) {
    const soa_model *tree = light_machine(seed, 1);
    soa_work *w;
    assert_int_equal(soa_work_create(tree, &w), SOA_OK);
    double *neutral = calloc((size_t)soa_model_nq(tree) + 1, sizeof(double));
    double *out = calloc((size_t)soa_model_nv(tree) + 1, sizeof(double));
    soa_q_neutral(tree, neutral);
    const soa_status status = soa_aba(tree, w, neutral, NULL, NULL, NULL, 0, out);
    free(neutral);
    free(out);
    soa_work_free(w);
    soa_model_free(tree);
    return status == SOA_OK;
}

static void light_links(void **state) {
    (void)state;
    worst_case fd = {0}, spatial = {0}, inverse = {0}, product = {0}, lanes = {0}, compliance = {0},
               slopes = {0};
    long judged = 0, freed = 0, refused = 0, tried = 0;
    for (long seed = first_seed(); tried < 20000 && judged < 2000; ++seed, ++tried) {
        static light_case c;
        double qdd[MOST];
        open_case(&c, seed);
        if (mimic_joints(c.m) && c.pivot > 1e-5) {
            ++judged;
            compare_accelerations(&c, qdd, &fd);
            compare_product(&c, &product);
            compare_inverse(&c, &inverse);
            compare_compliance(&c, &compliance);
            compare_slopes(&c, qdd, &slopes);
            assert_int_equal(soa_aba(c.m, c.w, c.s.q, c.s.v, c.s.tau, NULL, 0, qdd), SOA_OK);
            compare_lanes(&c, qdd, &lanes);
            refused += !compare_smoother(&c, qdd, &spatial);
            freed += !dynamics_without_mimics(seed);
        }
        close_case(&c);
    }
    printf("  %ld machines judged; of %ld the tree without mimic joints has no forward dynamics, "
           "by the smoother %ld\n",
           judged, freed, refused);
    assert_true(judged == 2000 && freed > 200 && refused > 0);
    conclude("aba = (Gamma'M Gamma)^-1 (tau - bias)", &fd, 1e-9);
    conclude("M^-1 x", &product, 1e-9);
    conclude("M^-1", &inverse, 1e-9);
    conclude("J M^-1 J'", &compliance, 1e-9);
    conclude("d aba / d v", &slopes, 1e-8);
    conclude("lanes", &lanes, 1e-8);
    conclude("smoother", &spatial, 1e-8);
}

/* Links that are light beside their neighbours, down to 1e-14 of them, slender ones, rods, ratios
 * from 0.01 to 1,000: every leader and follower may be the light one. */
static const soa_model *uneven_machine(long seed) {
    dice d = {(uint64_t)seed * 7013};
    soa_body_def bodies[8];
    char names[8][16];
    const int count = 2 + (int)roll(&d, 0, 6.999);
    for (int i = 0; i < count; ++i) {
        soa_body_def *b = bodies + i;
        snprintf(names[i], sizeof names[i], "link%d", i + 1);
        const int parent = i == 0 || roll(&d, 0, 1) < 0.3 ? 0 : 1 + (int)roll(&d, 0, i - 1e-9);
        *b =
            soa_body_default(names[i], parent, roll(&d, 0, 1) < 0.7 ? SOA_REVOLUTE : SOA_PRISMATIC);
        b->placement = random_place(&d, 0.4);
        double *u = b->joint.axis, size[3];
        u[0] = u[1] = u[2] = 0;
        u[(int)roll(&d, 0, 2.999)] = 1;
        if (roll(&d, 0, 1) < 0.3) roll_many(&d, 0.2, 1, 3, u);
        roll_many(&d, 0.1, 0.5, 3, size);
        if (roll(&d, 0, 1) < 0.3) {
            size[0] *= 1e-3;
            size[1] *= 1e-3;
        }
        const double light = roll(&d, 0, 1) < 0.5 ? pow(10, roll(&d, -14, 0)) : 1;
        soa_body_box(b, light * roll(&d, 0.5, 5), size[0], size[1], size[2]);
        if (roll(&d, 0, 1) < 0.5) roll_many(&d, -0.2, 0.2, 3, b->com);
    }
    int leads[8] = {0};
    for (int i = 0; i < count; ++i) {
        const int to = (int)roll(&d, 0, count - 1e-9);
        if (to == i || leads[i] || bodies[to].joint.mimic > 0 || roll(&d, 0, 1) > 0.7) continue;
        leads[to] = 1;
        bodies[i].joint.mimic = to + 1;
        /* it stays within a metre or so */
        const double most = bodies[i].joint.type == SOA_PRISMATIC ? 0 : 3;
        bodies[i].joint.mimic_ratio = pow(10, roll(&d, -2, most)) * (roll(&d, 0, 1) < 0.5 ? 1 : -1);
    }
    /* followers that are rods about their own axes: rounding is all they turn */
    for (int i = 0; i < count; ++i) {
        double *u = bodies[i].joint.axis, *I = bodies[i].inertia,
               size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        if (bodies[i].joint.mimic <= 0 || roll(&d, 0, 1) > 0.5) continue;
        /* one that is not rounding beside it */
        const soa_body_def *leader = bodies + bodies[i].joint.mimic - 1;
        const double least = fmin(leader->inertia[0], fmin(leader->inertia[1], leader->inertia[2]));
        if (least < 1e-3 * leader->mass || leader->mass < 0.1 * bodies[i].mass) continue;
        bodies[i].joint.mimic_ratio = roll(&d, -3, 3);
        const double along = 0.01 * bodies[i].mass, at = roll(&d, -0.3, 0.3);
        for (int k = 0; k < 3; ++k) {
            u[k] /= size;
            bodies[i].com[k] = at * u[k];
            I[k] = along * (1 - u[k] * u[k]);
        }
        I[3] = -along * u[0] * u[1];
        I[4] = -along * u[0] * u[2];
        I[5] = -along * u[1] * u[2];
    }
    soa_model_def def = soa_model_default("uneven", bodies, count);
    const soa_model *model = NULL;
    soa_report report;
    if (soa_model_create(&def, &model, &report) != SOA_OK)
        fail_msg("seed %ld: %s", seed, report.text);
    return model;
}
/* max |x - y| / max |y|, each number times scale */
static double scaled_error(int n, const double *x, const double *y, const double *scale) {
    double off = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        off = fmax(off, isfinite(x[i]) ? fabs(x[i] - y[i]) * scale[i] : INFINITY);
        size = fmax(size, fabs(y[i]) * scale[i]);
    }
    return size > 0 ? off / size : off;
}
static void uneven_links(void **state) {
    (void)state;
    worst_case fd = {0}, inverse = {0}, single = {0};
    long judged = 0, singles = 0;
    for (long seed = first_seed(), tried = 0; tried < 40000 && judged < 2000; ++seed, ++tried) {
        const soa_model *m = uneven_machine(seed);
        const int n = soa_model_nv(m);
        soa_work *w;
        assert_int_equal(soa_work_create(m, &w), SOA_OK);
        tree_state s = random_tree_state(m, seed);
        double M[MOST * MOST], even[MOST * MOST], scale[MOST], qdd[MOST], bias[MOST], want[MOST],
            got[MOST], tau[MOST];
        wide L[MOST * MOST];
        int mimics = 0;
        for (int i = 1; i <= soa_model_body_count(m); ++i) {
            soa_body_info info;
            soa_model_body(m, i, &info);
            mimics += info.mimic >= 0;
        }
        /* each coordinate by the root of its inertia, so that their units do not matter */
        assert_int_equal(soa_crba(m, w, s.q, M), SOA_OK);
        for (int i = 0; i < n; ++i)
            scale[i] = sqrt(M[(n + 1) * i]);
        for (int i = 0; i < n * n; ++i)
            even[i] = M[i] / (scale[i / n] * scale[i % n]);
        const double regular = mimics ? factor(n, even, L) : 0;
        if (regular > 1e-3) {
            ++judged;
            assert_int_equal(soa_rnea(m, w, s.q, s.v, NULL, NULL, 0, bias), SOA_OK);
            for (int i = 0; i < n; ++i)
                tau[i] = bias[i] + (s.tau[i] - 0.5) * scale[i];
            for (int i = 0; i < n; ++i)
                got[i] = (tau[i] - bias[i]) / scale[i];
            solve(n, L, got, want);
            for (int i = 0; i < n; ++i)
                want[i] /= scale[i];
            const soa_status status = soa_aba(m, w, s.q, s.v, tau, NULL, 0, qdd);
            if (status != SOA_OK) fail_msg("seed %ld: %s", seed, soa_status_text(status));
            /* what was added to tau above was rounded by the size of the bias */
            double lost = 1;
            for (int i = 0; i < n; ++i)
                lost = fmax(lost, fabs(bias[i]) / scale[i]);
            note(&fd, scaled_error(n, qdd, want, scale) / lost, seed);
            for (int i = 0; i < n; ++i) {
                tau[i] = (s.tau[i] - 0.5) * scale[i];
                got[i] = tau[i] / scale[i];
            }
            solve(n, L, got, want);
            for (int i = 0; i < n; ++i)
                want[i] /= scale[i];
            assert_int_equal(soa_minv_mul(m, w, s.q, tau, got), SOA_OK);
            note(&inverse, scaled_error(n, got, want, scale), seed);
            if (regular > 0.03) {
                float q[MOST], v[MOST] = {0}, t[MOST], a[MOST];
                double still[MOST];
                ++singles;
                assert_int_equal(soa_rnea(m, w, s.q, NULL, NULL, NULL, 0, bias), SOA_OK);
                lost = 1;
                for (int i = 0; i < n; ++i)
                    lost = fmax(lost, fabs(bias[i]) / scale[i]);
                for (int i = 0; i < n; ++i) {
                    q[i] = (float)s.q[i];
                    t[i] = (float)(bias[i] + tau[i]);
                }
                if (soa_aba_f(m, w, q, v, t, NULL, a) != SOA_OK)
                    fail_msg("seed %ld: refused in single precision", seed);
                for (int i = 0; i < n; ++i)
                    still[i] = (double)a[i];
                note(&single, scaled_error(n, still, want, scale) / lost, seed);
            }
        }
        free_tree_state(&s);
        soa_work_free(w);
        soa_model_free(m);
    }
    printf("  %ld machines judged, %ld in single precision\n", judged, singles);
    assert_true(judged == 2000 && singles > 500);
    conclude("aba", &fd, 1e-11);
    conclude("M^-1 x", &inverse, 1e-11);
    conclude("aba in single precision", &single, 1e-3);
}

/* A machine that stays singular with its mimic joints is still refused. */
static void singular(void **state) {
    (void)state;
    soa_body_def bodies[2] = {soa_body_default("a", 0, SOA_REVOLUTE),
                              soa_body_default("b", 1, SOA_REVOLUTE)};
    soa_body_box(&bodies[1], 1, 0.1, 0.1, 0.1);
    bodies[1].joint.mimic = 1;
    bodies[1].joint.mimic_ratio = -1; /* coaxial: b never turns, a has no inertia */
    soa_model_def def = soa_model_default("still", bodies, 2);
    const soa_model *m;
    soa_work *w;
    double q = 0.3, qdd;
    assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    assert_int_equal(soa_aba(m, w, &q, NULL, NULL, NULL, 0, &qdd), SOA_E_HINGE_SINGULAR);
    soa_work_free(w);
    soa_model_free(m);
    bodies[1].joint.mimic_ratio = 2; /* M = 9 I */
    assert_int_equal(soa_model_create(&def, &m, NULL), SOA_OK);
    assert_int_equal(soa_work_create(m, &w), SOA_OK);
    double tau = 1, M;
    assert_int_equal(soa_crba(m, w, &q, &M), SOA_OK);
    assert_int_equal(soa_aba(m, w, &q, NULL, &tau, NULL, 0, &qdd), SOA_OK);
    assert_true(fabs(qdd * M - 1) <= 1e-13);
    soa_work_free(w);
    soa_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(light_links),
                                       cmocka_unit_test(uneven_links), cmocka_unit_test(singular)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
