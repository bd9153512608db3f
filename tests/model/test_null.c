/* test_null.c  NULL for any pointer of any public function returns, without a crash.
 *
 * null_calls.py writes null_calls.h from the headers: every public function that takes a pointer.
 * Each is called in a separate process with valid arguments, with NULL for each of its pointers in
 * turn, with NULL for each pair of them and for all, and with zeros for each struct, each time with
 * whole numbers 1 and 0. A signal, a sanitizer's report or a hang fails the test. A soa_report is
 * full of garbage before each call; after it, it must be reset (SOA_OK) or hold the status that was
 * returned and a text.
 * SOA_NULL_CALL=NAME: only that function, in this process (for a debugger). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

#define OK(call) assert_int_equal(call, SOA_OK)

enum { ROOM = 1 << 18, ROOMS = 16, LINKS = 4, FREEDOMS = 6, HANG_S = 60 };

/* What public functions take.  Those that change it do so in a process that ends. */
static struct {
    const soa_model *model;
    /* after kinematics; after these calls */
    soa_work *work, *rnea_work, *smoother_work, *closed_work;
    soa_batch *batch;
    soa_tip_work *tip_work;
    soa_estimator *estimator;
    soa_unknown_wrench unknown;
    soa_constraints *constraints;
    soa_embedding *embedding;
    soa_grasp *grasp;
    soa_control *control;
    soa_machine *machine;
    const soa_expr *expr;
    soa_plan *plan;
    soa_scalar_graph *graph;
    soa_divide *divide;
    soa_linkage_tree *linkage;
    soa_journal *journal;
    soa_log *log;
    soa_scenario scenario;
    soa_world *world;
    void *blob, *force_memory;
    size_t blob_size;
    soa_body_def bodies[LINKS];
    soa_model_def model_def;
    soa_frame frame;
    soa_shape shape;
    soa_bounds bounds;
    soa_constraint_def constraint_def;
    soa_constraint_capacity capacity;
    soa_loop_def loop;
    soa_closed_options closed_options;
    soa_control_def control_def;
    soa_joint_reference joint_reference;
    soa_joint_gains joint_gains;
    soa_motion motion;
    soa_frame_law frame_law;
    soa_frame_task frame_task;
    soa_hybrid_law hybrid_law;
    soa_coordination coordination;
    soa_path_limits path_limits;
    soa_profile profile;
    soa_supervisor supervisor;
    soa_supervisor_phase phases[2];
    soa_supervisor_transition transition;
    soa_supervisor_state supervisor_state;
    soa_wrench wrench;
    soa_task task;
    soa_operational operational;
    soa_embedding_def embedding_def;
    soa_tip tip;
    soa_ik_target ik_target;
    soa_link_def links[3];
    soa_edge_def edges[4];
    soa_linkage_def linkage_def;
    soa_joint_def joint;
    soa_contact_def contact_def;
    soa_grasp_options grasp_options;
    soa_constraint_list constraint_list;
    soa_urdf_shape_list shape_list;
    soa_signal signal;
    soa_export_options export_options;
    soa_dh_row dh_row;
    soa_variable variable;
    soa_sim_options sim_options;
    soa_closed_sim_options closed_sim_options;
    soa_grasp_sim_options grasp_sim_options;
    soa_world_pull pull;
    soa_world_hold hold;
    soa_run_options run_options;
    soa_sweep_options sweep_options;
    soa_plot plot;
    soa_plot_panel panel;
    soa_plot_curve curve;
    unsigned char mask[FREEDOMS];
    int frames[2];
    double numbers[1024], ones[6], cube[24];
    float floats[1024];
    const char *urdf, *scenario_text;
    char urdf_path[64], saved_path[64], mesh_path[64], log_path[64], journal_path[64], new_path[64],
        scenario_path[64];
} f;

static _Alignas(64) char rooms[ROOMS][ROOM]; /* results of any kind, one for each parameter */
static void *room(int parameter) {
    return rooms[parameter];
}
static void on_lint(void *user, const soa_lint *remark) {
    (void)user;
    (void)remark;
}
static void on_derivation(void *user, const char *rule, const char *result) {
    (void)user;
    (void)rule;
    (void)result;
}
static void on_step(void *user, const soa_plan_step *step) {
    (void)user;
    (void)step;
}
static void on_task(void *data, int index) {
    (void)data;
    (void)index;
}
static void run_all(void *user, int count, soa_parallel_task *task, void *data) {
    (void)user;
    for (int i = 0; i < count; ++i)
        task(data, i);
}
static soa_status on_torque(void *user, const soa_world *world, double t, const double *q,
                            const double *v, double *tau) {
    (void)user;
    (void)world;
    (void)t;
    (void)q;
    (void)v;
    (void)tau;
    return SOA_OK;
}
static bool on_pair(void *user, int i, int j) {
    (void)user;
    return i != j;
}

static int zeroed; /* a missing struct is one full of zeros, whose pointers are NULL */
static const _Alignas(64) char zeros[1 << 14];
#define EMPTY(type) ((type)(zeroed ? (const void *)zeros : NULL))
#define MISSING(pointer) (missing >> (pointer)&1)
#include "null_calls.h"

/* --- the objects ------------------------------------------------------------------------------ */

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A planar arm of three links and an object that slides and turns in its plane: closed, grasped,
 * controlled. */
static void make_model(void) {
    static const char *const name[LINKS] = {"a", "b", "c", "object"};
    for (int i = 0; i < LINKS; ++i) {
        f.bodies[i] = soa_body_default(name[i], i < 3 ? i : 0, i < 3 ? SOA_REVOLUTE : SOA_PLANAR);
        soa_body_box(&f.bodies[i], 1 + i, 0.5, 0.1, 0.1);
        if (i > 0) f.bodies[i].placement.p[0] = 0.5;
    }
    f.model_def = soa_model_default("planar", f.bodies, LINKS);
    OK(soa_model_create(&f.model_def, &f.model, NULL));
    assert_int_equal(soa_model_nv(f.model), FREEDOMS);
    OK(soa_work_create(f.model, &f.work));
    OK(soa_batch_create(f.model, &f.batch));
    OK(soa_tip_work_create(f.model, &f.tip_work));
    OK(soa_estimator_create(f.model, &f.estimator));
    OK(soa_estimator_update(f.estimator, f.work, &(soa_estimator_input){0}, NULL));
    f.unknown.frame = 1;
    OK(soa_divide_create(f.model, 1, &f.divide));
    OK(soa_kinematics(f.model, f.work, f.numbers, f.numbers, f.numbers));
}

static void make_inputs(void) {
    for (int i = 0; i < 1024; ++i)
        f.numbers[i] = 0.1;
    for (int i = 0; i < 1024; ++i)
        f.floats[i] = 0.1f;
    for (int i = 0; i < 6; ++i)
        f.ones[i] = 1;
    for (int i = 0; i < 24; ++i)
        f.cube[i] = i / 3 >> i % 3 & 1;
    f.frames[0] = 3;
    f.frames[1] = 4;
    f.frame = soa_frame_identity();
    f.shape = (soa_shape){.type = SOA_SHAPE_BOX, .half = {1, 1, 1}};
    f.bounds = (soa_bounds){{0, 0, 0}, {1, 1, 1}};
    f.motion = soa_motion_at_rest(&f.frame);
    f.joint = soa_joint_default(SOA_REVOLUTE);
    f.joint_reference = (soa_joint_reference){f.numbers, f.numbers, f.numbers};
    f.joint_gains = (soa_joint_gains){f.numbers, f.numbers};
    f.frame_law = soa_frame_law_default(3, 0);
    f.frame_task = (soa_frame_task){f.frame_law, 1u << 3 | 1u << 4, f.motion};
    f.hybrid_law.law = f.frame_law;
    f.hybrid_law.force_rows = 1u << 3;
    f.coordination = soa_coordination_default(4, 0);
    f.coordination.hands = 2;
    f.coordination.hand[0] = 3;
    f.coordination.hand[1] = 2;
    f.path_limits = (soa_path_limits){f.ones, f.ones, 0};
    f.profile = soa_profile_quintic(1);
    f.transition = (soa_supervisor_transition){1, 0, NULL};
    f.phases[0] = (soa_supervisor_phase){"one", 0.1, 1, &f.transition};
    f.phases[1] = (soa_supervisor_phase){"two", 0.1, 0, NULL};
    f.supervisor = (soa_supervisor){2, f.phases, 1, NULL};
    f.wrench.frame = 1;
    f.task = (soa_task){3, SOA_AXES_WORLD, 1u << 3 | 1u << 4};
    f.tip = (soa_tip){3, 1, 1};
    f.ik_target = (soa_ik_target){f.tip, f.frame};
    f.signal = (soa_signal){"x", "m"};
    f.export_options = soa_export_options_default();
    f.dh_row = soa_dh_row_default(0.1, 0.2, 0.3);
    f.variable = (soa_variable){"u", SOA_SPACE_JOINT, SOA_SPACE_ONE, false};
    f.sim_options = soa_sim_options_default();
    f.sim_options.duration = 0.01;
    f.closed_sim_options = soa_closed_sim_options_default();
    f.closed_sim_options.duration = 0.01;
    f.grasp_sim_options = soa_grasp_sim_options_default();
    f.grasp_sim_options.duration = 0.01;
    f.pull.body = 1;
    f.hold = (soa_world_hold){6, 0.1, 1, 1, 1};
    f.sweep_options = soa_sweep_options_default();
    f.sweep_options.cases = 1;
    f.sweep_options.threads = 1;
    f.curve = (soa_plot_curve){.name = "y", .y = f.numbers};
    f.panel = (soa_plot_panel){"y", 0, &f.curve, 1};
    f.plot = (soa_plot){.title = "t",
                        .x_label = "x",
                        .x = f.numbers,
                        .count = 3,
                        .panels = &f.panel,
                        .panel_count = 1};
    f.closed_options = soa_closed_options_default();
    f.grasp_options = soa_grasp_options_default();
}

static void make_closed(void) {
    /* the object's place follows the arm */
    static const unsigned char primary[FREEDOMS] = {1, 1, 1, 0, 0, 1};
    memcpy(f.mask, primary, sizeof f.mask);
    f.constraint_def = soa_constraint_default(SOA_LOOP, 3, 4);
    f.constraint_def.damping = 0.1;
    f.capacity = (soa_constraint_capacity){4, 24, 1};
    OK(soa_constraints_create(f.model, &f.capacity, &f.constraints));
    /* so that the cut joint is number 1 */
    const soa_constraint_def plane = soa_constraint_default(SOA_PLANE, 0, 4);
    OK(soa_constraints_add(f.constraints, &plane, NULL, NULL));
    OK(soa_constraints_add(f.constraints, &f.constraint_def, NULL, NULL));
    f.embedding_def = soa_embedding_default(f.mask);
    f.embedding_def.constraints = f.constraints;
    OK(soa_embedding_create(f.model, &f.embedding_def, &f.embedding, NULL));
    f.loop = (soa_loop_def){"loop", 3, 4, f.frame, f.frame, f.joint};
    f.contact_def = soa_contact_default(SOA_CONTACT_POINT, 3, 4);
    OK(soa_grasp_create(f.model, 4, &f.grasp));
    OK(soa_grasp_add(f.grasp, &f.contact_def, NULL, NULL));
    OK(soa_grasp_add(f.grasp, &f.contact_def, NULL, NULL));
    f.control_def = soa_control_default(NULL);
    OK(soa_control_create(f.model, &f.control_def, &f.control));
    static const char *const name[3] = {"crank", "coupler", "rocker"};
    for (int i = 0; i < 3; ++i) {
        f.links[i] = soa_link_default(name[i]);
        f.links[i].mass = 1;
        for (int k = 0; k < 3; ++k)
            f.links[i].inertia[k] = 0.1;
    }
    static const char *const joint[4] = {"j0", "j1", "j2", "j3"};
    for (int i = 0; i < 4; ++i)
        f.edges[i] = soa_edge_default(joint[i], i, i == 3 ? 0 : i + 1, SOA_REVOLUTE);
    f.linkage_def = soa_linkage_default("four-bar", f.links, 3, f.edges, 4);
    OK(soa_linkage_span(&f.linkage_def, &f.linkage, NULL));
    OK(soa_supervisor_start(&f.supervisor, &f.supervisor_state));
    OK(soa_kinematics(f.model, f.work, f.numbers, f.numbers, f.numbers));
}

static void make_operators(void) {
    OK(soa_machine_create(f.model, f.frames, 2, &f.machine, NULL));
    OK(soa_expr_from_form("FD3", &f.expr));
    OK(soa_plan_create(f.machine, f.expr, &f.plan, NULL, 0));
    OK(soa_scalar_graph_create(f.machine, f.expr, NULL, &f.graph, NULL, 0));
    f.force_memory = room(ROOMS - 1);
    OK(soa_fd_constraint_forces(f.model, f.work, f.force_memory, ROOM,
                                &(soa_input){.q = f.numbers, .v = f.numbers, .tau = f.numbers},
                                room(0), NULL, NULL));
    OK(soa_kinematics(f.model, f.work, f.numbers, f.numbers, f.numbers));
    OK(soa_work_create(f.model, &f.rnea_work));
    OK(soa_rnea(f.model, f.rnea_work, f.numbers, f.numbers, f.numbers, NULL, 0, room(0)));
    OK(soa_work_create(f.model, &f.smoother_work));
    OK(soa_smoother(f.model, f.smoother_work, f.numbers, f.numbers, f.numbers, NULL, 0));
    OK(soa_work_create(f.model, &f.closed_work));
    OK(soa_closed_fd(f.constraints, f.closed_work, NULL,
                     &(soa_input){.q = f.numbers, .v = f.numbers}, room(0), NULL, NULL));
    memset(rooms, 0, sizeof *rooms);
}

static void make_files(const char *directory) {
    f.urdf = "<robot name='r'><link name='a'><visual><geometry><box size='1 1 "
             "1'/></geometry></visual></link></robot>\n";
    f.scenario_text =
        "name: x\nduration: 0.01\nparts:\n  - {name: ground, fixed: true, body: {}}\n"
        "  - {name: b, body: {mass: 1, box: [1, 1, 1]}, place: {xyz: [0, 0, 0.5]}}\n"
        "  - {name: m, model: arm7}\n"
        "shapes: [{name: g, on: ground, plane: {}}, {name: s, on: b, box: [1, 1, 1]}]\n"
        "contacts: [{between: [s, g]}]\n";
    snprintf(f.urdf_path, sizeof f.urdf_path, "%s/a.urdf", directory);
    snprintf(f.saved_path, sizeof f.saved_path, "%s/a.soam", directory);
    snprintf(f.mesh_path, sizeof f.mesh_path, "%s/a.obj", directory);
    snprintf(f.log_path, sizeof f.log_path, "%s/a.soalog", directory);
    snprintf(f.journal_path, sizeof f.journal_path, "%s/b.soalog", directory);
    snprintf(f.new_path, sizeof f.new_path, "%s/new", directory);
    snprintf(f.scenario_path, sizeof f.scenario_path, "%s/a.yaml", directory);
    write_text(f.urdf_path, f.urdf);
    write_text(f.mesh_path,
               "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n");
    write_text(f.scenario_path, f.scenario_text);
    OK(soa_model_save(f.model, f.saved_path, NULL));
    soa_report report = {0};
    if (soa_scenario_read(f.scenario_path, &f.scenario, &report))
        fail_msg("scenario: %s", report.text);
    if (soa_world_create(&f.scenario, &f.world, &report)) fail_msg("world: %s", report.text);
    soa_journal *record = NULL;
    OK(soa_world_create_journal(f.world, f.log_path, &record, NULL));
    OK(soa_world_run(f.world, record, NULL, NULL));
    OK(soa_journal_close(record, NULL));
    OK(soa_log_open(f.log_path, &f.log, NULL));
    OK(soa_journal_create(f.journal_path, "x", 1, &f.signal, 1, &f.journal, NULL));
    f.blob_size = soa_world_state_size(f.world);
    f.blob = malloc(f.blob_size);
    assert_non_null(f.blob);
    soa_world_save_state(f.world, f.blob);
}

static void release(const char *directory) {
    free(f.blob);
    soa_journal_close(f.journal, NULL);
    soa_log_close(f.log);
    soa_world_free(f.world);
    soa_scenario_free(&f.scenario);
    soa_scalar_graph_free(f.graph);
    soa_plan_free(f.plan);
    soa_expr_free(f.expr);
    soa_machine_free(f.machine);
    soa_linkage_tree_free(f.linkage);
    soa_control_free(f.control);
    soa_grasp_free(f.grasp);
    soa_embedding_free(f.embedding);
    soa_constraints_free(f.constraints);
    soa_divide_free(f.divide);
    soa_estimator_free(f.estimator);
    soa_tip_work_free(f.tip_work);
    soa_batch_free(f.batch);
    soa_work_free(f.work);
    soa_work_free(f.rnea_work);
    soa_work_free(f.smoother_work);
    soa_work_free(f.closed_work);
    soa_model_free(f.model);
    const char *const paths[] = {f.urdf_path,    f.saved_path, f.mesh_path,    f.log_path,
                                 f.journal_path, f.new_path,   f.scenario_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i)
        remove(paths[i]);
    rmdir(directory);
}

/* --- the calls -------------------------------------------------------------------------------- */

/* How a child ended: a status of the library, NO_STATUS (the function returns none), BAD_REPORT (the
 * report does not agree with the status), or CRASHED and above. */
enum { BAD_REPORT = 254, NO_STATUS = 255, CRASHED = 300 };

enum { GARBAGE = 0x5a };
static int report_agrees(const soa_report *report, int status) {
    if (status == SOA_OK)
        return report->status == SOA_OK && report->body == -1 && report->line == 0 &&
               report->text[0] == 0;
    /* a body or line that nothing has set is still garbage */
    int garbage;
    memset(&garbage, GARBAGE, sizeof garbage);
    return (int)report->status == status && report->body >= -1 && report->body != garbage &&
           report->line >= 0 && report->line != garbage && report->text[0] != 0 &&
           memchr(report->text, 0, sizeof report->text) != NULL;
}
static int call_in_child(const struct public_call *call, unsigned missing, int number) {
    const int reports = call->report >= 0 && !(missing >> call->report & 1);
    if (reports) memset(room(call->report_room), GARBAGE, sizeof(soa_report));
    const int status = call->call(missing, number);
    if (reports && !report_agrees(room(call->report_room), status)) return BAD_REPORT;
    return status & 255;
}

static int call_apart(const struct public_call *call, unsigned missing, int number) {
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* cmocka catches some of them */
        static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
            signal(faults[i], SIG_DFL);
        alarm(HANG_S);
        _exit(call_in_child(call, missing, number));
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFSIGNALED(how)) return CRASHED + WTERMSIG(how);
    const int status = WEXITSTATUS(how);
    return status < SOA_STATUS_COUNT || status >= BAD_REPORT ? status : CRASHED;
}
static void describe(const struct public_call *call, unsigned missing, int number, int outcome) {
    if (outcome == BAD_REPORT)
        print_error("%s: the report is neither reset nor filled", call->name);
    else
        print_error("%s: crashed (%d)", call->name, outcome - CRASHED);
    print_error(" with number %d and %s for", number, zeroed ? "zeros or NULL" : "NULL");
    for (int i = 0; i < call->pointers; ++i)
        if (missing >> i & 1) print_error(" %s", call->pointer[i]);
    print_error("\n");
}

static int tried, crashed, misreported, reporting, all_valid;

static int try_call(const struct public_call *call, unsigned missing, int number) {
    const int outcome = call_apart(call, missing, number);
    ++tried;
    crashed += outcome >= CRASHED;
    misreported += outcome == BAD_REPORT;
    if (outcome >= CRASHED || outcome == BAD_REPORT) describe(call, missing, number, outcome);
    return outcome;
}
static void try_function(const struct public_call *call) {
    const unsigned all = (1u << call->pointers) - 1;
    const int valid = try_call(call, 0, 1);
    reporting += call->report >= 0;
    if (valid == SOA_OK || valid == NO_STATUS)
        ++all_valid;
    else if (getenv("SOA_NULL_VERBOSE"))
        print_message("%s: valid call: %s\n", call->name, soa_status_text((soa_status)valid));
    for (int number = 1; number >= 0; --number) {
        for (int i = 0; i < call->pointers; ++i) {
            try_call(call, 1u << i, number);
            for (int k = 0; k < i; ++k)
                if (call->pointers > 2) try_call(call, 1u << i | 1u << k, number);
        }
        if (call->pointers > 1) try_call(call, all, number);
        zeroed = 1;
        for (int i = 0; i < call->pointers; ++i)
            try_call(call, 1u << i, number);
        zeroed = 0;
    }
}

static void no_pointer_crashes(void **unused) {
    (void)unused;
    const size_t count = sizeof public_calls / sizeof *public_calls;
    const char *only = getenv("SOA_NULL_CALL");
    for (size_t i = 0; i < count; ++i) {
        if (only && !strcmp(only, public_calls[i].name))
            for (int k = 0; k < public_calls[i].pointers; ++k)
                public_calls[i].call(1u << k, 1);
        if (!only) try_function(&public_calls[i]);
    }
    print_message("%zu public functions take pointers, %d do what they are for, %d calls with "
                  "NULL, %d crashes; %d of them take a report, %d reports are wrong\n",
                  count, all_valid, tried, crashed, reporting, misreported);
    assert_true(count > 350);
    /* else the objects above are not valid, and nothing is tested */
    assert_true(only || all_valid > (int)count * 9 / 10);
    assert_int_equal(crashed, 0);
    assert_int_equal(misreported, 0);
    assert_true(only || reporting > 50);
}

int main(void) {
    char directory[] = "/tmp/soa-null-XXXXXX";
    if (!mkdtemp(directory)) return 1;
    make_inputs();
    make_model();
    make_closed();
    make_operators();
    make_files(directory);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_pointer_crashes)};
    const int result = cmocka_run_group_tests_name("null", tests, NULL, NULL);
    release(directory);
    return result;
}
