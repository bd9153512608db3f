/* inertia_factors.h  the inertia of every body as M = U diag(d) U*, for the sweeps that carry
 *                    factors: src/sweep/two_sweep.h and src/sweep/ud.h.
 *
 * U is unit upper triangular with respect to an order of the six coordinates in which those of the
 * hinge come last, where the hinge moves along coordinates.  Column j of U has the entries i < j and
 * a 1 at j.  One row of 21 numbers per body: U(i,j) at SOAI_U(i, j), then d. */
#ifndef SOAI_INERTIA_FACTORS_H
#define SOAI_INERTIA_FACTORS_H
#include "tables.h"

enum { SOAI_FACTOR_SIZE = 21, SOAI_FACTOR_D = 15 };
#define SOAI_U(i, j) ((j) * ((j)-1) / 2 + (i))

/* By kind: the coordinate (0 to 2 angular, 3 to 5 linear) at each place of the order. */
/* clang-format off */
static const unsigned char soai_factor_order[SOAI_KIND_COUNT][6] = {
    [SOAI_KIND_REVOLUTE_X] = {1, 2, 3, 4, 5, 0},
    [SOAI_KIND_REVOLUTE_Y] = {2, 0, 3, 4, 5, 1},
    [SOAI_KIND_REVOLUTE_Z] = {0, 1, 3, 4, 5, 2},
    [SOAI_KIND_REVOLUTE]   = {0, 1, 2, 3, 4, 5},
    [SOAI_KIND_PRISMATIC]  = {0, 1, 2, 3, 4, 5},
    [SOAI_KIND_SPHERICAL]  = {3, 4, 5, 0, 1, 2},
    [SOAI_KIND_FREE]       = {0, 1, 2, 3, 4, 5},
    [SOAI_KIND_GENERAL]    = {0, 1, 2, 3, 4, 5},
    [SOAI_KIND_LEVEL_X]    = {1, 2, 3, 4, 5, 0},
    [SOAI_KIND_LEVEL_Y]    = {2, 0, 3, 4, 5, 1},
    [SOAI_KIND_LEVEL_Z]    = {0, 1, 3, 4, 5, 2},
    [SOAI_KIND_PIVOT_X]    = {1, 2, 3, 4, 5, 0},
    [SOAI_KIND_PIVOT_Y]    = {2, 0, 3, 4, 5, 1},
    [SOAI_KIND_PIVOT_Z]    = {0, 1, 3, 4, 5, 2},
};
/* clang-format on */

/* U and d of one inertia, in the given order. */
void soai_factor_inertia(const double M[10], const unsigned char order[6],
                         double factor[SOAI_FACTOR_SIZE]);
/* The rows of bodies 1 to `bodies` of a table; row 0 is not written.  O(n). */
void soai_factor_inertias(int bodies, const soai_body_double *body, double *factors);

#endif
