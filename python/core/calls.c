/* calls.c  the table of calls: arguments, results and the C function of each method of Tree.
 *
 * The parameters of a row are in the order of the method's arguments; c->in[i] is the i-th of
 * them. */
#include "core.h"
#include "texts.h"

#define Q {"q", POSITION, true}
#define Q_OR_NEUTRAL {"q", POSITION, false}
#define V {"v", VELOCITY, false}
#define A {"a", VELOCITY, false}
#define TAU {"tau", VELOCITY, false}
#define WRENCH_LIST {"wrenches", WRENCHES, false}

/* The input struct of a call: parameters 0, 1, 2 are q, v and a or tau. */
static soa_input input_of(const call *c) {
    return (soa_input){
        .q = c->in[0], .v = c->in[1], .wrenches = c->wrenches, .wrench_count = c->wrench_count};
}
static soa_input with_a(const call *c) {
    soa_input input = input_of(c);
    input.a = c->in[2];
    return input;
}
static soa_input with_tau(const call *c) {
    soa_input input = input_of(c);
    input.tau = c->in[2];
    return input;
}

/* --- dynamics --------------------------------------------------------------------------------- */
static soa_status aba(const soa_model *m, soa_work *w, const call *c) {
    return soa_aba(m, w, c->in[0], c->in[1], c->in[2], c->wrenches, c->wrench_count, c->out[0]);
}
static soa_status aba_float(const soa_model *m, soa_work *w, const call *c) {
    return soa_aba_f(m, w, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static soa_status aba_batch(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_aba_batch(m, b, count, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static soa_status aba_batch_float(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_aba_batch_f(m, b, count, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static const spec aba_spec = {"aba",           {Q, V, TAU, WRENCH_LIST}, {{NV}}, aba, aba_float,
                              aba_batch, aba_batch_float};

static soa_status rnea(const soa_model *m, soa_work *w, const call *c) {
    return soa_rnea(m, w, c->in[0], c->in[1], c->in[2], c->wrenches, c->wrench_count, c->out[0]);
}
static soa_status rnea_float(const soa_model *m, soa_work *w, const call *c) {
    return soa_rnea_f(m, w, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static soa_status rnea_batch(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_rnea_batch(m, b, count, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static soa_status rnea_batch_float(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_rnea_batch_f(m, b, count, c->in[0], c->in[1], c->in[2], NULL, c->out[0]);
}
static const spec rnea_spec = {"rnea",     {Q, V, A, WRENCH_LIST}, {{NV}}, rnea, rnea_float,
                               rnea_batch, rnea_batch_float};

static soa_status mass(const soa_model *m, soa_work *w, const call *c) {
    return soa_crba(m, w, c->in[0], c->out[0]);
}
static soa_status mass_float(const soa_model *m, soa_work *w, const call *c) {
    return soa_crba_f(m, w, c->in[0], c->out[0]);
}
static soa_status mass_batch(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_crba_batch(m, b, count, c->in[0], c->out[0]);
}
static soa_status mass_batch_float(const soa_model *m, soa_batch *b, long count, const call *c) {
    return soa_crba_batch_f(m, b, count, c->in[0], c->out[0]);
}
static const spec mass_spec = {"mass",     {Q},       {{NV, NV}}, mass, mass_float,
                               mass_batch, mass_batch_float};

static soa_status mass_r87(const soa_model *m, soa_work *w, const call *c) {
    return soa_mass_r87(m, w, c->in[0], c->out[0]);
}
static const spec mass_r87_spec = {"mass_r87", {Q}, {{NV, NV}}, mass_r87};

static soa_status minv(const soa_model *m, soa_work *w, const call *c) {
    return soa_minv(m, w, c->in[0], c->out[0]);
}
static const spec minv_spec = {"minv", {Q}, {{NV, NV}}, minv};

static soa_status mass_mul(const soa_model *m, soa_work *w, const call *c) {
    return soa_mass_mul(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec mass_mul_spec = {"mass_mul", {Q, {"x", VELOCITY, true}}, {{NV}}, mass_mul};

static soa_status minv_mul(const soa_model *m, soa_work *w, const call *c) {
    return soa_minv_mul(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec minv_mul_spec = {"minv_mul", {Q, {"x", VELOCITY, true}}, {{NV}}, minv_mul};

static soa_status bias_torque(const soa_model *m, soa_work *w, const call *c) {
    return soa_bias_torque(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec bias_torque_spec = {"bias_torque", {Q, V}, {{NV}}, bias_torque};

static soa_status gravity_torque(const soa_model *m, soa_work *w, const call *c) {
    return soa_gravity_torque(m, w, c->in[0], c->out[0]);
}
static const spec gravity_torque_spec = {"gravity_torque", {Q}, {{NV}}, gravity_torque};

static soa_status coriolis_mul(const soa_model *m, soa_work *w, const call *c) {
    return soa_coriolis_mul(m, w, c->in[0], c->in[1], c->in[2], c->out[0]);
}
static const spec coriolis_mul_spec = {
    "coriolis_mul", {Q, {"v", VELOCITY, true}, {"w", VELOCITY, true}}, {{NV}}, coriolis_mul};

/* --- derivatives ------------------------------------------------------------------------------ */
static soa_status aba_derivatives(const soa_model *m, soa_work *w, const call *c) {
    const soa_input input = with_tau(c);
    const soa_status status = soa_aba_derivatives(m, w, &input, c->out[0], c->out[1]);
    return status == SOA_OK ? soa_minv(m, w, input.q, c->out[2]) : status;
}
static const spec aba_derivatives_spec = {"aba_derivatives",
                                          {Q, V, TAU, WRENCH_LIST},
                                          {{NV, NV}, {NV, NV}, {NV, NV}},
                                          aba_derivatives};

static soa_status rnea_derivatives(const soa_model *m, soa_work *w, const call *c) {
    const soa_input input = with_a(c);
    const soa_status status = soa_rnea_derivatives(m, w, &input, c->out[0], c->out[1]);
    return status == SOA_OK ? soa_crba(m, w, input.q, c->out[2]) : status;
}
static const spec rnea_derivatives_spec = {"rnea_derivatives",
                                           {Q, V, A, WRENCH_LIST},
                                           {{NV, NV}, {NV, NV}, {NV, NV}},
                                           rnea_derivatives};

/* --- kinematics ------------------------------------------------------------------------------- */
#define FRAME_NEEDED {"frame", FRAME, true}
#define AXES_WORLD {"axes", AXES, false}

/* The homogeneous matrix of a pose, 4 x 4. */
static soa_status pose(const soa_model *m, soa_work *w, const call *c) {
    double *T = c->out[0];
    soa_frame X;
    soa_status status = soa_kinematics(m, w, c->in[0], NULL, NULL);
    if (status == SOA_OK) status = soa_pose(m, w, c->frames[0], &X);
    if (status != SOA_OK) return status;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) T[4 * row + column] = X.R[3 * row + column];
        T[4 * row + 3] = X.p[row];
        T[12 + row] = 0;
    }
    T[15] = 1;
    return SOA_OK;
}
static const spec pose_spec = {"pose", {Q, FRAME_NEEDED}, {{4, 4}}, pose};

static soa_status velocity(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], c->in[1], NULL);
    return status == SOA_OK ? soa_velocity(m, w, c->frames[0], c->axes, c->out[0]) : status;
}
static const spec velocity_spec = {"velocity", {Q, V, FRAME_NEEDED, AXES_WORLD}, {{6}}, velocity};

static soa_status acceleration(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], c->in[1], c->in[2]);
    return status == SOA_OK
               ? soa_acceleration_classical(m, w, c->frames[0], c->axes, c->out[0])
               : status;
}
static const spec acceleration_spec = {
    "acceleration", {Q, V, A, FRAME_NEEDED, AXES_WORLD}, {{6}}, acceleration};

static soa_status acceleration_spatial(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], c->in[1], c->in[2]);
    return status == SOA_OK ? soa_acceleration_spatial(m, w, c->frames[0], c->axes, c->out[0])
                            : status;
}
static const spec acceleration_spatial_spec = {
    "acceleration_spatial", {Q, V, A, FRAME_NEEDED, AXES_WORLD}, {{6}}, acceleration_spatial};

static soa_status jacobian(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], NULL, NULL);
    return status == SOA_OK ? soa_jacobian(m, w, c->frames[0], c->axes, c->out[0]) : status;
}
static const spec jacobian_spec = {"jacobian", {Q, FRAME_NEEDED, AXES_WORLD}, {{6, NV}}, jacobian};

static soa_status jacobian_mul(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], NULL, NULL);
    return status == SOA_OK
               ? soa_jacobian_mul(m, w, c->frames[0], c->axes, c->in[2], c->out[0])
               : status;
}
static const spec jacobian_mul_spec = {
    "jacobian_mul", {Q, FRAME_NEEDED, {"x", VELOCITY, true}, AXES_WORLD}, {{6}}, jacobian_mul};

static soa_status jacobian_transpose_mul(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], NULL, NULL);
    return status == SOA_OK
               ? soa_jacobian_transpose_mul(m, w, c->frames[0], c->axes, c->in[2], c->out[0])
               : status;
}
static const spec jacobian_transpose_mul_spec = {"jacobian_transpose_mul",
                                                 {Q, FRAME_NEEDED, {"f", SIX, true}, AXES_WORLD},
                                                 {{NV}},
                                                 jacobian_transpose_mul};

static soa_status jacobian_dot_v(const soa_model *m, soa_work *w, const call *c) {
    const soa_status status = soa_kinematics(m, w, c->in[0], c->in[1], NULL);
    return status == SOA_OK ? soa_jacobian_dot_v(m, w, c->frames[0], c->axes, c->out[0]) : status;
}
static const spec jacobian_dot_v_spec = {
    "jacobian_dot_v", {Q, V, FRAME_NEEDED, AXES_WORLD}, {{6}}, jacobian_dot_v};

static soa_status compliance(const soa_model *m, soa_work *w, const call *c) {
    return soa_compliance(m, w, c->in[0], c->frames, c->frame_count, c->axes, c->out[0]);
}
static const spec compliance_spec = {
    "compliance", {Q, {"frames", FRAMES, true}, AXES_WORLD}, {{SIX_FRAMES, SIX_FRAMES}},
    compliance};

static soa_status jjt(const soa_model *m, soa_work *w, const call *c) {
    return soa_jjt(m, w, c->in[0], c->frames, c->frame_count, c->axes, c->out[0]);
}
static const spec jjt_spec = {
    "jjt", {Q, {"frames", FRAMES, true}, AXES_WORLD}, {{SIX_FRAMES, SIX_FRAMES}}, jjt};

/* --- energy, momentum, identification --------------------------------------------------------- */
static soa_status energy(const soa_model *m, soa_work *w, const call *c) {
    return soa_energy(m, w, c->in[0], c->in[1], c->out[0], c->out[1]);
}
static const spec energy_spec = {"energy", {Q, V}, {{SCALAR}, {SCALAR}}, energy};

static soa_status centre_of_mass(const soa_model *m, soa_work *w, const call *c) {
    return soa_centre_of_mass(m, w, c->in[0], c->in[1], c->out[0], c->out[1]);
}
static const spec centre_of_mass_spec = {"centre_of_mass", {Q, V}, {{3}, {3}}, centre_of_mass};

static soa_status momentum(const soa_model *m, soa_work *w, const call *c) {
    return soa_momentum(m, w, c->in[0], c->in[1], c->out[0], NULL);
}
static const spec momentum_spec = {"momentum", {Q, V}, {{6}}, momentum};

static soa_status centroidal_momentum_matrix(const soa_model *m, soa_work *w, const call *c) {
    return soa_centroidal_momentum_matrix(m, w, c->in[0], c->out[0]);
}
static const spec centroidal_momentum_matrix_spec = {
    "centroidal_momentum_matrix", {Q}, {{6, NV}}, centroidal_momentum_matrix};

static soa_status regressor(const soa_model *m, soa_work *w, const call *c) {
    return soa_regressor(m, w, c->in[0], c->in[1], c->in[2], c->out[0]);
}
static const spec regressor_spec = {"regressor", {Q, V, A}, {{NV, TEN_BODIES}}, regressor};

/* --- configuration space ---------------------------------------------------------------------- */
static soa_status integrate(const soa_model *m, soa_work *w, const call *c) {
    (void)w;
    return soa_q_integrate(m, c->in[0], c->in[1], c->number, c->out[0]);
}
static const spec integrate_spec = {
    "integrate", {Q, {"v", VELOCITY, true}, {"dt", NUMBER, false}}, {{NQ}}, integrate};

static soa_status difference(const soa_model *m, soa_work *w, const call *c) {
    (void)w;
    return soa_q_difference(m, c->in[0], c->in[1], c->out[0]);
}
static const spec difference_spec = {
    "difference", {{"q0", POSITION, true}, {"q1", POSITION, true}}, {{NV}}, difference};

static soa_status normalise(const soa_model *m, soa_work *w, const call *c) {
    (void)w;
    const double *q = c->in[0];
    double *out = c->out[0];
    const int nq = soa_model_nq(m);
    for (int i = 0; i < nq; i++) out[i] = q[i];
    return soa_q_normalise(m, out);
}
static const spec normalise_spec = {"normalise", {Q}, {{NQ}}, normalise};

static soa_status q_rate(const soa_model *m, soa_work *w, const call *c) {
    (void)w;
    return soa_q_rate(m, c->in[0], c->in[1], c->out[0]);
}
static const spec q_rate_spec = {"q_rate", {Q, {"v", VELOCITY, true}}, {{NQ}}, q_rate};

/* --- the papers' other forms ------------------------------------------------------------------ */
static soa_status acceleration_parts(const soa_model *m, soa_work *w, const call *c) {
    const soa_input input = with_tau(c);
    return soa_acceleration_parts(m, w, &input, c->out[0], c->out[1], c->out[2]);
}
static const spec acceleration_parts_spec = {"acceleration_parts",
                                             {Q, V, TAU, WRENCH_LIST},
                                             {{NV}, {NV}, {NV}},
                                             acceleration_parts};

static soa_status mass_factor_mul(const soa_model *m, soa_work *w, const call *c) {
    return soa_mass_factor_mul(m, w, c->in[0], (soa_factor)c->factor, c->in[2], c->out[0]);
}
static const spec mass_factor_mul_spec = {
    "mass_factor_mul", {Q, {"factor", FACTOR, true}, {"x", VELOCITY, true}}, {{NV}},
    mass_factor_mul};

static soa_status nu_from_v(const soa_model *m, soa_work *w, const call *c) {
    return soa_nu_from_v(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec nu_from_v_spec = {"nu_from_v", {Q, V}, {{NV}}, nu_from_v};

static soa_status nu_to_v(const soa_model *m, soa_work *w, const call *c) {
    return soa_nu_to_v(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec nu_to_v_spec = {"nu_to_v", {Q, {"nu", VELOCITY, true}}, {{NV}}, nu_to_v};

static soa_status nu_bias(const soa_model *m, soa_work *w, const call *c) {
    return soa_nu_bias(m, w, c->in[0], c->in[1], c->out[0]);
}
static const spec nu_bias_spec = {"nu_bias", {Q, {"nu", VELOCITY, true}}, {{NV}}, nu_bias};

static soa_status nu_force(const soa_model *m, soa_work *w, const call *c) {
    const soa_input input = with_tau(c);
    return soa_nu_force(m, w, &input, c->out[0]);
}
static const spec nu_force_spec = {"nu_force", {Q, V, TAU, WRENCH_LIST}, {{NV}}, nu_force};

static soa_status nu_rate(const soa_model *m, soa_work *w, const call *c) {
    const soa_input input = {.q = c->in[0],
                             .tau = c->in[2],
                             .wrenches = c->wrenches,
                             .wrench_count = c->wrench_count};
    return soa_nu_rate(m, w, &input, c->in[1], c->out[0], c->out[1]);
}
static const spec nu_rate_spec = {
    "nu_rate", {Q, {"nu", VELOCITY, true}, TAU, WRENCH_LIST}, {{NV}, {NV}}, nu_rate};

/* --- the methods ------------------------------------------------------------------------------ */
/* Python calls a plain C function, which knows its row. */
#define METHODS(X)                                                                                \
    X(mass) X(mass_r87) X(mass_mul) X(coriolis_mul) X(pose) X(velocity) X(acceleration)           \
    X(acceleration_spatial) X(jacobian) X(jacobian_mul) X(jacobian_transpose_mul)                 \
    X(jacobian_dot_v) X(jjt) X(energy) X(centre_of_mass) X(momentum)                              \
    X(centroidal_momentum_matrix) X(regressor) X(integrate) X(difference) X(normalise) X(q_rate)  \
    X(mass_factor_mul) X(nu_from_v) X(nu_to_v) X(nu_bias)
/* Those that relate forces and accelerations: loops would change the result. */
#define FORCE_METHODS(X)                                                                          \
    X(aba) X(rnea) X(minv) X(minv_mul) X(bias_torque) X(gravity_torque) X(aba_derivatives)        \
    X(rnea_derivatives) X(compliance) X(acceleration_parts) X(nu_force) X(nu_rate)

#define METHOD(id)                                                                                \
    static PyObject *method_##id(PyObject *self, PyObject *const *arguments, Py_ssize_t count,    \
                                 PyObject *names) {                                               \
        return run_spec((tree *)self, &id##_spec, arguments, count, names);                       \
    }
#define FORCE_METHOD(id)                                                                          \
    static PyObject *method_##id(PyObject *self, PyObject *const *arguments, Py_ssize_t count,    \
                                 PyObject *names) {                                               \
        if (!note_loops((tree *)self, #id)) return NULL;                                          \
        return run_spec((tree *)self, &id##_spec, arguments, count, names);                       \
    }
METHODS(METHOD)
FORCE_METHODS(FORCE_METHOD)

#define ROW(id)                                                                                   \
    {#id, (PyCFunction)(void (*)(void))method_##id, METH_FASTCALL | METH_KEYWORDS, id##_text},
PyMethodDef tree_calls[] = {METHODS(ROW) FORCE_METHODS(ROW){NULL, NULL, 0, NULL}};
