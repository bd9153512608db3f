/* test_bricard.c  Bricard's mechanism (IFToMM A04): names its redundant row, keeps its energy, and
 * all methods agree. */
#include "check.h"

#include "stock/closed.h"
#include "soa/soa.h"
#include "soa/world.h"

enum { N = 5, SAMPLES = 41 };

static soai_mechanism make(void) {
    soai_mechanism k;
    soa_report report = {SOA_OK, -1, 0, ""};
    if (soai_mechanism_make("bricard", SOA_REVOLUTE, NULL, &k, &report))
        fail_msg("%s", report.text);
    return k;
}

static void redundancy(void **unused) {
    (void)unused;
    soai_mechanism k = make();
    soa_work *w = NULL;
    assert_int_equal(SOA_OK, soa_work_create(k.model, &w));
    for (int method = SOA_CLOSED_AUTO; method <= SOA_CLOSED_NULL_SPACE; ++method) {
        soa_closed_options o = soa_closed_options_default();
        soa_closed_report report;
        double qdd[N], lambda[5];
        o.method = (soa_closed_method)method;
        assert_int_equal(SOA_OK, soa_closed_fd(k.constraints, w, &o, &(soa_input){.q = k.q}, qdd,
                                               lambda, &report));
        printf("  %d rows, rank %d, condition %.3g: \"%s\"\n", report.rows, report.rank,
               report.condition, report.text);
        assert_int_equal(5, report.rows);
        assert_int_equal(4, report.rank);
        assert_int_equal(1, report.redundant);
        assert_int_equal(0, report.redundant_constraint[0]);
        assert_non_null(strstr(report.text, "loop1 repeats rows of its own"));
        /* least norm: no part of lambda in the null space of G' */
        double G[5 * N];
        assert_int_equal(SOA_OK, soa_constraints_evaluate(k.constraints, w, &(soa_input){.q = k.q},
                                                          NULL, NULL, G, NULL));
        double change[5], along = 0, size = 0;
        for (int r = 0; r < 5; ++r) { /* a vector with G' change = 0, by minors */
            double A[4 * 4], det = 1;
            for (int i = 0, a = 0; i < 5; ++i)
                if (i != r) {
                    for (int j = 0; j < 4; ++j)
                        A[4 * a + j] = G[N * i + j] + G[N * i + 4] * (0.3 + 0.1 * j);
                    ++a;
                }
            for (int c = 0; c < 4; ++c) {
                int best = c;
                for (int i = c; i < 4; ++i)
                    if (fabs(A[4 * i + c]) > fabs(A[4 * best + c])) best = i;
                if (best != c) det = -det;
                for (int j = 0; j < 4; ++j) {
                    const double t = A[4 * c + j];
                    A[4 * c + j] = A[4 * best + j];
                    A[4 * best + j] = t;
                }
                det *= A[4 * c + c];
                for (int i = c + 1; i < 4 && A[4 * c + c] != 0; ++i)
                    for (int j = 3; j >= c; --j)
                        A[4 * i + j] -= A[4 * i + c] / A[4 * c + c] * A[4 * c + j];
            }
            change[r] = r % 2 ? -det : det;
            size += change[r] * change[r];
            along += change[r] * lambda[r];
        }
        assert_true(size > 0);
        for (int j = 0; j < N; ++j) {
            double x = 0;
            for (int r = 0; r < 5; ++r)
                x += G[N * r + j] * change[r];
            /* so the minors are right, and the rank is 4 */
            assert_true(fabs(x) <= 1e-12 * sqrt(size));
        }
        assert_true(fabs(along) <= 1e-9 * sqrt(size));
    }
    soa_work_free(w);
    soai_mechanism_free(&k);
}

typedef struct history {
    soai_mechanism *k;
    soa_work *w;
    double q[SAMPLES][N], t[SAMPLES];
    int count;
    worst_case methods;
} history;

/* Keeps the state and asks all methods for the acceleration there. */
static bool record(void *user, const soa_closed_sample *s) {
    history *h = user;
    assert_true(h->count < SAMPLES);
    h->t[h->count] = s->t;
    memcpy(h->q[h->count], s->q, sizeof h->q[0]);
    ++h->count;
    double qdd[4][N];
    for (int method = SOA_CLOSED_KKT; method <= SOA_CLOSED_NULL_SPACE; ++method) {
        soa_closed_options o = soa_closed_options_default();
        o.method = (soa_closed_method)method;
        assert_int_equal(SOA_OK, soa_closed_fd(h->k->constraints, h->w, &o,
                                               &(soa_input){.q = s->q, .v = s->v, .t = s->t},
                                               qdd[method], NULL, NULL));
        note(&h->methods, relative(qdd[method], qdd[SOA_CLOSED_KKT], N), h->count);
    }
    return 0;
}

static void ten_seconds(void **unused) {
    (void)unused;
    static const struct {
        soa_closed_method method;
        int order;
    } way[2] = {{SOA_CLOSED_FORCES, 8}, {SOA_CLOSED_NULL_SPACE, 5}};
    static history h[2];
    for (int n = 0; n < 2; ++n) {
        soai_mechanism k = make();
        soa_closed_sim_options o = soa_closed_sim_options_default();
        soa_closed_sim_result r;
        soa_report report = {SOA_OK, -1, 0, ""};
        h[n].k = &k;
        assert_int_equal(SOA_OK, soa_work_create(k.model, &h[n].w));
        o.duration = 10;
        o.sample_time = 0.25;
        o.order = way[n].order;
        o.closed.method = way[n].method;
        o.relative_tolerance = 1e-11;
        o.absolute_tolerance = 1e-12;
        o.sample = record;
        o.sample_user = &h[n];
        if (soa_closed_simulate(k.constraints, k.q, k.v, &o, &r, &report))
            fail_msg("%s", report.text);
        printf("  order %d: %ld steps (%ld rejected), %.2f s; g %.1e (%.1e before projection), "
               "energy %.1e of %.3g J; "
               "rank "
               "%d to %d of %d, condition %.1e; \"%s\"\n",
               o.order, r.steps, r.rejected, r.wall_time, r.position_error, r.drift_worst,
               r.balance_worst, r.energy_scale, r.rank_least, r.rank_most, r.rows,
               r.condition_worst, r.redundancy);
        assert_true(r.balance_worst <= 1e-8 * r.energy_scale);
        assert_true(r.position_error <= 1e-12);
        assert_int_equal(4, r.rank_least);
        assert_int_equal(4, r.rank_most);
        assert_non_null(strstr(r.redundancy, "loop1"));
        conclude("accelerations along the way, three methods", &h[n].methods, 1e-9);
        soa_work_free(h[n].w);
        soai_mechanism_free(&k);
    }
    worst_case apart = {0};
    assert_int_equal(SAMPLES, h[0].count);
    assert_int_equal(SAMPLES, h[1].count);
    for (int i = 0; i < SAMPLES; ++i)
        note(&apart, relative(h[0].q[i], h[1].q[i], N), i);
    conclude("q of the two motions, 10 s", &apart, 1e-7);
    double moved = 0;
    for (int i = 0; i < SAMPLES; ++i)
        moved = fmax(moved, fabs(h[0].q[i][0] - h[0].q[0][0]));
    printf("  joint 1 moves by up to %.3f rad\n", moved);
    assert_true(moved > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(redundancy), cmocka_unit_test(ten_seconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
