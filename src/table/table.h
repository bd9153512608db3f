/* table.h  the tables that sweeps read, and other tables made from them: rounded to float, in
 *          aligned body frames. */
#ifndef SOAI_TABLE_H
#define SOAI_TABLE_H
#include "soa/base.h"
#include "tables.h"

/* How body i starts its parent's sums (table_fields.h). */
static inline int soai_starts(const soai_body_double *body, int i) {
    return i && body[body[i].parent].child == i ? SOAI_STARTS_WITH : 0;
}
/* One past the last v of body i and those beyond it, where bodies are numbered branch by branch. */
static inline int soai_end(const soai_body_double *body, int i) {
    return body[i].child ? body[body[i].child].end : body[i].iv + body[i].nv;
}

/* A rigid inertia in the layout of articulated ones in packs (src/spatial/algebra.h). */
void soai_inertia_packs(const double M[10], double P[24]);
/* The float tables of the double ones. */
void soai_round_tables(int bodies, const soai_body_double *body, int dofs,
                       const soai_dof_double *dof, soai_body_float *body_f, soai_dof_float *dof_f);
/* Tables of the same machine in other body frames, aligned_frames.c: nb + 1 rows, nv rows, nb + 1
 * frames: axes chosen for each body, as columns in its own, and the origin chosen, from its own, in
 * the chosen axes.  Gives the view's `geared`. */
typedef struct soai_frame {
    double axes[9], origin[3];
} soai_frame;
typedef enum soai_alignment {
    SOAI_ALIGN_ALL, /* joints with an armature too: for sweeps of one state with packed inertias */
    /* for the others, whose steps for joints on an axis have no armature (hinge.h) */
    SOAI_ALIGN_WITHOUT_MOTORS
} soai_alignment;
SOA_API int soai_level(const soai_view_double *view, soai_alignment which, soai_body_double *body,
                       soai_dof_double *dof, soai_frame *frame);
/* In such tables, moves inward what of a level body's inertia its joint cannot tell from the
 * parent's: m, h along the axis, and as much about both axes across it as one of them has.  Three
 * of ten numbers become zero and all joint numbers stay. */
SOA_API void soai_regroup(int bodies, soai_body_double *body);
/* Are bodies numbered branch by branch, each one's parent the body before it or one of that one's
 * ancestors? */
SOA_API int soai_branch_by_branch(int bodies, const soai_body_double *body);
/* And with so few ancestors each that mass_columns takes less work than crba? */
SOA_API int soai_by_columns(int bodies, const soai_body_double *body);

#endif
