/* compiled_operator_sweep.c  the sweep of planned expressions, compiled once per instruction set as
 *                            SOAI_OPERATOR_SWEEP. */
#include "../sweep/compiled_sweeps.h"
#include "../sweep/operator_sweep.h"

soai_operator_sweep_fn SOAI_OPERATOR_SWEEP;
void SOAI_OPERATOR_SWEEP(const void *view, void *work, int inward, const struct soai_op *ops,
                         int count, const struct soai_tips *tips, const double *thd,
                         const double *fext) {
    exec_sweep(view, work, inward, ops, count, tips, thd, fext);
}
