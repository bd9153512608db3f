/* test_closed_vectors.c  closed chains against an independent library (vectors/closed_*.json of the
 * reference directory).
 *
 * Its rows have the linear part first, in the axes of frame 1 at its origin; lambda acts on body 1,
 * as in libsoa. */
#include "check.h"

#include "soa/io.h"
#include "soa/soa.h"
#include <dirent.h>
#include <jansson.h>

static void numbers(const json_t *a, double *out) {
    size_t i;
    json_t *x;
    json_array_foreach((json_t *)a, i, x) out[i] = json_number_value(x);
}
static soa_frame pose(const json_t *R, const json_t *p) {
    soa_frame X;
    numbers(R, X.R);
    numbers(p, X.p);
    return X;
}

enum { MOST = 32 };
static const soa_model *model_of(const json_t *d) {
    static soa_body_def body[MOST];
    const json_t *joints = json_object_get(d, "joints");
    const int n = (int)json_array_size(joints);
    assert_true(n < MOST);
    for (int i = 0; i < n; ++i) {
        const json_t *j = json_array_get(joints, (size_t)i);
        const char *type = json_string_value(json_object_get(j, "type"));
        const int index = (int)json_integer_value(json_object_get(j, "index"));
        assert_int_equal(index, i + 1);
        body[i] = soa_body_default(json_string_value(json_object_get(j, "name")),
                                   (int)json_integer_value(json_object_get(j, "parent_index")),
                                   !strcmp(type, "prismatic") ? SOA_PRISMATIC : SOA_REVOLUTE);
        if (strcmp(type, "prismatic") && strcmp(type, "revolute")) fail_msg("joint type %s", type);
        numbers(json_object_get(j, "axis"), body[i].joint.axis);
        body[i].placement =
            pose(json_object_get(j, "placement_R"), json_object_get(j, "placement_p"));
        body[i].mass = json_number_value(json_object_get(j, "mass"));
        numbers(json_object_get(j, "com"), body[i].com);
        double I[9];
        numbers(json_object_get(j, "inertia_com"), I);
        const double packed[6] = {I[0], I[4], I[8], I[1], I[2], I[5]};
        memcpy(body[i].inertia, packed, sizeof packed);
    }
    soa_model_def def = soa_model_default(json_string_value(json_object_get(d, "name")), body, n);
    numbers(json_object_get(d, "gravity"), def.gravity);
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    return m;
}

static void one_file(const char *path) {
    json_error_t error;
    json_t *d = json_load_file(path, 0, &error);
    if (!d) fail_msg("%s: %s", path, error.text);
    const soa_model *m = model_of(d);
    soa_work *w = NULL;
    soa_constraints *c = NULL;
    const soa_constraint_capacity room = {8, 48, 1};
    assert_int_equal(SOA_OK, soa_work_create(m, &w));
    assert_int_equal(SOA_OK, soa_constraints_create(m, &room, &c));
    size_t i;
    json_t *k, *sample;
    json_array_foreach(json_object_get(d, "constraints"), i, k) {
        const int six = !strcmp(json_string_value(json_object_get(k, "type")), "6D");
        soa_body_info b1, b2;
        soa_model_body(m, soa_model_find_joint(m, json_string_value(json_object_get(k, "joint1"))),
                       &b1);
        soa_model_body(m, soa_model_find_joint(m, json_string_value(json_object_get(k, "joint2"))),
                       &b2);
        soa_constraint_def def = soa_constraint_default(SOA_LOOP, b1.frame, b2.frame);
        const json_t *p1 = json_object_get(k, "placement1"), *p2 = json_object_get(k, "placement2");
        def.place1 = pose(json_object_get(p1, "R"), json_object_get(p1, "p"));
        def.place2 = pose(json_object_get(p2, "R"), json_object_get(p2, "p"));
        def.joint = six ? SOA_FIXED : SOA_SPHERICAL;
        soa_report report;
        if (soa_constraints_add(c, &def, NULL, &report)) fail_msg("%s", report.text);
    }
    const int nv = soa_model_nv(m), rows = soa_constraints_row_count(c);
    worst_case vdot = {0}, torque = {0}, jacobian = {0}, closed = {0};
    json_array_foreach(json_object_get(d, "samples"), i, sample) {
        double q[MOST], v[MOST], tau[MOST], expected[MOST], qdd[MOST], lambda[MOST], J[MOST * MOST],
            G[MOST * MOST], g[MOST], rate[MOST];
        numbers(json_object_get(sample, "q"), q);
        numbers(json_object_get(sample, "v"), v);
        numbers(json_object_get(sample, "tau"), tau);
        numbers(json_object_get(sample, "qddot"), expected);
        double theirs[MOST];
        numbers(json_object_get(sample, "lambda"), theirs);
        size_t r;
        json_t *row;
        json_array_foreach(json_object_get(sample, "J"), r, row) numbers(row, J + nv * (int)r);
        assert_int_equal(
            SOA_OK, soa_constraints_evaluate(c, w, &(soa_input){.q = q, .v = v}, g, rate, G, NULL));
        for (int n = 0; n < rows; ++n) {
            note(&closed, fabs(g[n]), (long)i);
            note(&closed, fabs(rate[n]), (long)i);
        }
        /* their rows per constraint: linear, angular; ours angular, linear */
        for (int n = 0; n < rows; ++n) {
            const int theirs_at =
                rows == (int)json_array_size(json_object_get(d, "constraints")) * 6
                    ? n / 6 * 6 + (n % 6 + 3) % 6
                    : n;
            note(&jacobian, relative(G + nv * n, J + nv * theirs_at, (size_t)nv), (long)i);
        }
        for (int method = SOA_CLOSED_AUTO; method <= SOA_CLOSED_NULL_SPACE; ++method) {
            soa_closed_options o = soa_closed_options_default();
            soa_closed_report report;
            o.method = (soa_closed_method)method;
            assert_int_equal(SOA_OK,
                             soa_closed_fd(c, w, &o, &(soa_input){.q = q, .v = v, .tau = tau}, qdd,
                                           lambda, &report));
            note(&vdot, relative(qdd, expected, (size_t)nv), (long)i);
            double ours[MOST], ref[MOST];
            for (int j = 0; j < nv; ++j) {
                ours[j] = ref[j] = 0;
                for (int n = 0; n < rows; ++n)
                    ours[j] += G[nv * n + j] * lambda[n];
                for (size_t n = 0; n < json_array_size(json_object_get(sample, "lambda")); ++n)
                    ref[j] += J[nv * (int)n + j] * theirs[n];
            }
            note(&torque, relative(ours, ref, (size_t)nv), (long)i);
        }
    }
    printf("  %s\n", strrchr(path, '/') + 1);
    conclude("closure of their states", &closed, 1e-12);
    conclude("J", &jacobian, 1e-12);
    conclude("vdot, four methods", &vdot, 1e-9);
    conclude("J' lambda, four methods", &torque, 1e-9);
    soa_constraints_free(c);
    soa_work_free(w);
    soa_model_free(m);
    json_decref(d);
}

static void closed_vectors(void **unused) {
    (void)unused;
    const char *root = getenv("SOA_REFERENCE_DIR");
    char path[4096];
    DIR *dir = NULL;
    if (root) {
        snprintf(path, sizeof path, "%s/vectors", root);
        dir = opendir(path);
    }
    if (!dir) {
        printf("SKIPPED: no reference directory (SOA_REFERENCE_DIR)\n");
        skip();
    }
    int found = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (!strncmp(e->d_name, "closed_", 7) && strstr(e->d_name, ".json")) {
            snprintf(path, sizeof path, "%s/vectors/%s", root, e->d_name);
            one_file(path);
            ++found;
        }
    closedir(dir);
    assert_true(found > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
