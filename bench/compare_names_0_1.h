/* compare_names_0_1.h  the interface of libsoa 0.2 for compare_calls.c compiled with the headers of
 *                      0.1: names that changed (CHANGELOG.md), and inputs in one struct. */
#ifndef SOA_COMPARE_NAMES_0_1_H
#define SOA_COMPARE_NAMES_0_1_H

#include "soa/embedding.h"
#include "soa/forms.h"
#include "soa/grasp.h"
#include "soa/operator.h"

/* clang-format off */
#define soa_model_nq soa_nq
#define soa_model_nv soa_nv
#define soa_model_body_count soa_body_count
#define soa_model_frame_count soa_frame_count
#define soa_model_body soa_body
#define soa_model_frame soa_frame_get
#define soa_q_neutral soa_neutral
#define soa_q_integrate soa_integrate
#define soa_q_difference soa_difference
#define soa_jacobian_dot_v soa_jdot_v
#define soa_bias_torque soa_bias
#define soa_gravity_torque soa_gravity
#define soa_centre_of_mass soa_center_of_mass
#define soa_centroidal_momentum_matrix soa_centroidal_matrix
#define soa_operational_space_size soa_operational_size
#define soa_mass_factor_mul soa_factor_mul
#define soa_nu_from_v soa_nu_from_rates
#define soa_nu_to_v soa_rates_from_nu
#define soa_jtj_inverse_mul soa_jtj_solve
#define soa_fd_constraint_forces_size soa_constraint_force_size
#define soa_constraints_add soa_constraint_add
#define soa_constraints_row_count soa_constraint_rows
#define soa_constraints_wrench soa_constraint_wrench
#define soa_closed_options_default soa_closed_default
#define soa_grasp_options_default soa_grasp_default
#define soa_grasp_compliance soa_grasp_omega
#define soa_grasp_impulse soa_grasp_close
#define soa_grasp_internal_basis soa_grasp_internal
#define soa_machine_space_size soa_machine_size
#define soa_machine_set_state soa_machine_state
#define soa_expr_codomain soa_expr_to
#define soa_expr_from_form soa_form
#define soa_machine_dense_matrix soa_dense
/* clang-format on */

typedef struct soa_input {
    const double *q, *v, *a, *tau;
    const soa_wrench *wrenches;
    int wrench_count;
    double t;
} soa_input;

typedef struct soa_operational_input {
    const double *q, *v;
    const soa_task *tasks;
    int task_count;
    double damping;
} soa_operational_input;

static inline soa_status now_rnea_derivatives(const soa_model *model, soa_work *work,
                                              const soa_input *in, double *dq, double *dv) {
    return soa_rnea_derivatives(model, work, in->q, in->v, in->a, in->wrenches, in->wrench_count,
                                dq, dv);
}
#define soa_rnea_derivatives now_rnea_derivatives

static inline soa_status now_aba_derivatives(const soa_model *model, soa_work *work,
                                             const soa_input *in, double *dq, double *dv) {
    return soa_aba_derivatives(model, work, in->q, in->v, in->tau, in->wrenches, in->wrench_count,
                               dq, dv);
}
#define soa_aba_derivatives now_aba_derivatives

static inline soa_status now_operational_space(const soa_model *model, soa_work *work,
                                               const soa_operational_input *in, void *memory,
                                               size_t size, const soa_operational *out,
                                               double *rcond) {
    return soa_operational_space(model, work, in->q, in->v, in->tasks, in->task_count, in->damping,
                                 memory, size, out, rcond);
}
#define soa_operational_space now_operational_space

static inline soa_status now_acceleration_parts(const soa_model *model, soa_work *work,
                                                const soa_input *in, double *a1, double *a2,
                                                double *a3) {
    return soa_acceleration_parts(model, work, in->q, in->v, in->tau, in->wrenches,
                                  in->wrench_count, a1, a2, a3);
}
#define soa_acceleration_parts now_acceleration_parts

static inline soa_status now_inverse_sums(const soa_model *model, soa_work *work,
                                          const soa_input *in, double *x, double *lambda,
                                          double *mass, double *bias, double *tau) {
    return soa_inverse_sums(model, work, in->q, in->v, in->a, in->wrenches, in->wrench_count, x,
                            lambda, mass, bias, tau);
}
#define soa_inverse_sums now_inverse_sums

static inline soa_status now_boundary_problem(const soa_model *model, soa_work *work,
                                              const soa_input *in, const double *given,
                                              soa_boundary *ends, double *found, double *x,
                                              double *lambda) {
    return soa_boundary_problem(model, work, in->q, in->v, given, in->wrenches, in->wrench_count,
                                ends, found, x, lambda);
}
#define soa_boundary_problem now_boundary_problem

static inline soa_status now_nu_force(const soa_model *model, soa_work *work, const soa_input *in,
                                      double *eps) {
    return soa_nu_force(model, work, in->q, in->v, in->tau, in->wrenches, in->wrench_count, eps);
}
#define soa_nu_force now_nu_force

static inline soa_status now_nu_rate(const soa_model *model, soa_work *work, const soa_input *in,
                                     const double *nu, double *v, double *rate) {
    return soa_nu_rate(model, work, in->q, nu, in->tau, in->wrenches, in->wrench_count, v, rate);
}
#define soa_nu_rate now_nu_rate

static inline soa_status now_fd_constraint_forces(const soa_model *model, soa_work *work,
                                                  void *memory, size_t size, const soa_input *in,
                                                  double *qdd, double *forces, double *beta) {
    return soa_fd_constraint_forces(model, work, memory, size, in->q, in->v, in->tau, in->wrenches,
                                    in->wrench_count, qdd, forces, beta);
}
#define soa_fd_constraint_forces now_fd_constraint_forces

static inline soa_status now_fd_tridiagonal(const soa_model *model, soa_work *work, void *memory,
                                            size_t size, const soa_input *in, double *qdd,
                                            double *forces, double *beta) {
    return soa_fd_tridiagonal(model, work, memory, size, in->q, in->v, in->tau, in->wrenches,
                              in->wrench_count, qdd, forces, beta);
}
#define soa_fd_tridiagonal now_fd_tridiagonal

static inline soa_status now_divide_fd(soa_divide *divide, const soa_input *in,
                                       soa_parallel_for *run, void *user, double *qdd) {
    return soa_fd_divide(divide, in->q, in->v, in->tau, in->wrenches, in->wrench_count, run, user,
                         qdd);
}
#define soa_divide_fd now_divide_fd

static inline soa_status now_constraints_evaluate(soa_constraints *constraints, soa_work *work,
                                                  const soa_input *in, double *g, double *rate,
                                                  double *G, double *gamma) {
    return soa_constraint_rows_at(constraints, work, in->q, in->v, in->t, g, rate, G, gamma);
}
#define soa_constraints_evaluate now_constraints_evaluate

static inline soa_status now_closed_fd(soa_constraints *constraints, soa_work *work,
                                       const soa_closed_options *options, const soa_input *in,
                                       double *qdd, double *lambda, soa_closed_report *report) {
    return soa_closed_fd(constraints, work, options, in->q, in->v, in->tau, in->wrenches,
                         in->wrench_count, in->t, qdd, lambda, report);
}
#define soa_closed_fd now_closed_fd

static inline soa_status now_closed_id(soa_constraints *constraints, soa_work *work,
                                       const soa_input *in, const unsigned char *actuated,
                                       double *tau, double *lambda) {
    return soa_closed_id(constraints, work, in->q, in->v, in->a, in->wrenches, in->wrench_count,
                         in->t, actuated, tau, lambda);
}
#define soa_closed_id now_closed_id

static inline soa_status now_embedding_state(soa_embedding *embedding, soa_work *work,
                                             const soa_input *in, double *q, double *v, double *a,
                                             double *E) {
    return soa_embedding_state(embedding, work, in->q, in->v, in->a, in->t, q, v, a, E);
}
#define soa_embedding_state now_embedding_state

static inline soa_status now_embedding_terms(soa_embedding *embedding, soa_work *work,
                                             const soa_input *in, double *q, double *H, double *C,
                                             double *G) {
    return soa_embedding_terms(embedding, work, in->q, in->v, in->wrenches, in->wrench_count, in->t,
                               q, H, C, G);
}
#define soa_embedding_terms now_embedding_terms

static inline soa_status now_embedding_id(soa_embedding *embedding, soa_work *work,
                                          const soa_input *in, double *q, double *tau) {
    return soa_embedding_id(embedding, work, in->q, in->v, in->a, in->wrenches, in->wrench_count,
                            in->t, q, tau);
}
#define soa_embedding_id now_embedding_id

static inline soa_status now_embedding_fd(soa_embedding *embedding, soa_work *work,
                                          soa_embedding_method method, const soa_input *in,
                                          double *q, double *Qdd) {
    return soa_embedding_fd(embedding, work, method, in->q, in->v, in->tau, in->wrenches,
                            in->wrench_count, in->t, q, Qdd);
}
#define soa_embedding_fd now_embedding_fd

static inline soa_status now_grasp_fd(soa_grasp *grasp, soa_work *work,
                                      const soa_grasp_options *options, const soa_input *in,
                                      double *qdd, double *force, double *W_rate,
                                      soa_grasp_report *report) {
    return soa_grasp_fd(grasp, work, options, in->q, in->v, in->tau, in->wrenches, in->wrench_count,
                        qdd, force, W_rate, report);
}
#define soa_grasp_fd now_grasp_fd

#endif
