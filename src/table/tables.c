/* tables.c  packed inertias, and the float tables of the double ones. */
#include "table.h"
#include <stddef.h>
#include <string.h>

void soai_inertia_packs(const double M[10], double P[24]) {
    const double m = M[0], *h = M + 1, *I = M + 4;
    const double packs[24] = {I[0], m, 0,     0,    I[1], m, 0,    0,     I[2], m, 0,     0,
                              I[3], 0, -h[2], h[2], I[4], 0, h[1], -h[1], I[5], 0, -h[0], h[0]};
    memcpy(P, packs, sizeof packs);
}
void soai_round_tables(int bodies, const soai_body_double *body, int dofs,
                       const soai_dof_double *dof, soai_body_float *body_f, soai_dof_float *dof_f) {
    for (int i = 0; i <= bodies; ++i) {
        memcpy(body_f + i, body + i, offsetof(soai_body_double, R0)); /* the integers */
        const double *from = (const double *)(const void *)((const char *)(body + i) +
                                                            offsetof(soai_body_double, R0));
        float *to = (float *)(void *)((char *)(body_f + i) + offsetof(soai_body_float, R0));
        for (size_t k = 0; k < (sizeof *body - offsetof(soai_body_double, R0)) / sizeof(double);
             ++k)
            to[k] = (float)from[k];
    }
    for (int i = 0; i < dofs; ++i)
        for (size_t k = 0; k < sizeof *dof / sizeof(double); ++k)
            ((float *)(dof_f + i))[k] = (float)((const double *)(dof + i))[k];
}
