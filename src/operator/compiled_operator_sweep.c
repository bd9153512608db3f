/* compiled_operator_sweep.c  the sweeps of planned expressions, compiled once per instruction set as
 *                            SOAI_OPERATOR_SWEEP and SOAI_OPERATOR_STEPS. */
#include "../sweep/compiled_sweeps.h"
#include "../sweep/operator_sweep.h"
#include "../sweep/operator_steps.h"

soai_operator_sweep_fn SOAI_OPERATOR_SWEEP;
int SOAI_OPERATOR_SWEEP(const void *view, void *work, int inward, const struct soai_op *ops,
                        int count, const struct soai_tips *tips, const double *thd,
                        const double *fext) {
    return exec_sweep(view, work, inward, ops, count, tips, thd, fext);
}
soai_operator_steps_fn SOAI_OPERATOR_STEPS;
int SOAI_OPERATOR_STEPS(const void *view, void *work, int inward, const struct soai_step *steps,
                        int count, const struct soai_step_data *data) {
    return operator_steps(view, work, inward, steps, count, data);
}
