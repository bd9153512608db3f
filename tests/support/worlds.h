/* worlds.h  worlds for tests: made from scenario text, run and examined. */
#ifndef SOA_TESTS_WORLDS_H
#define SOA_TESTS_WORLDS_H
#include "check.h"

#include "soa/soa.h"
#include "soa/world.h"

#include <time.h>

#define PI 3.14159265358979323846
#define OK(call) assert_int_equal(call, SOA_OK)

/* Fails unless |got - expected| <= tolerance, so NaN fails. */
static inline void near(const char *what, double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s: got %.17g, expected %.17g, off by %.3g, allowed %.3g", what, got, expected,
                 got - expected, tolerance);
}

typedef struct stage {
    soa_scenario *scenario; /* the world points to it, so it must not move */
    soa_world *world;
} stage;

/* Makes a world from the text of a scenario. On failure, fails the test with the report's text. */
static inline stage opened(const char *text) {
    stage s = {malloc(sizeof *s.scenario), NULL};
    soa_report report = {SOA_OK, -1, 0, ""};
    assert_non_null(s.scenario);
    if (soa_scenario_parse(text, strlen(text), "test.yaml", s.scenario, &report))
        fail_msg("%s\n%s", report.text, text);
    if (soa_world_create(s.scenario, &s.world, &report)) fail_msg("%s\n%s", report.text, text);
    return s;
}
static inline stage made(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline stage made(const char *format, ...) {
    char text[1 << 15];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_true(length > 0 && (size_t)length < sizeof text);
    stage s = opened(text);
    s.scenario->source = NULL; /* the text is on the stack of this function */
    return s;
}
static inline void closed(stage *s) {
    soa_world_free(s->world);
    soa_scenario_free(s->scenario);
    free(s->scenario);
}
static inline soa_status tick(stage *s) {
    soa_report report = {SOA_OK, -1, 0, ""};
    const soa_status status = soa_world_tick(s->world, &report);
    if (status) printf("  %s\n", report.text);
    return status;
}
static inline void run_to(stage *s, double t) {
    while (soa_world_time(s->world) < t - 1e-9)
        OK(tick(s));
}
static inline soa_world_summary summary_of(stage *s) {
    soa_world_summary out;
    OK(soa_world_summarise(s->world, &out));
    return out;
}
/* First coordinates of the joint with this name. */
static inline const double *q_of(const stage *s, const char *joint) {
    soa_body_info info;
    const int b = soa_model_find_joint(soa_world_model(s->world), joint);
    if (b < 0) fail_msg("no joint %s", joint);
    soa_model_body(soa_world_model(s->world), b, &info);
    return soa_world_q(s->world) + info.q_index;
}
static inline const double *v_of(const stage *s, const char *joint) {
    soa_body_info info;
    const int b = soa_model_find_joint(soa_world_model(s->world), joint);
    if (b < 0) fail_msg("no joint %s", joint);
    soa_model_body(soa_world_model(s->world), b, &info);
    return soa_world_v(s->world) + info.v_index;
}
/* Velocity of a free body's origin in world axes (v is in the body's axes). */
static inline void velocity_of(const stage *s, const char *joint, double out[3]) {
    const double *q = q_of(s, joint) + 3, *v = v_of(s, joint) + 3;
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (int i = 0; i < 3; ++i)
        out[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
}
/* The first event of a kind in the last tick, or NULL. */
static inline const soa_world_event *event_of(const stage *s, const char *kind) {
    int count;
    const soa_world_event *e = soa_world_events(s->world, &count);
    for (int i = 0; i < count; ++i)
        if (!strcmp(e[i].kind, kind)) return &e[i];
    return NULL;
}
static inline double cpu_time(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}
#endif
