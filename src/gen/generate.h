/* generate.h  what the parts of the generator share: which bodies share the text of a step
 *             (generate_sweeps.c). */
#ifndef SOA_GENERATE_H
#define SOA_GENERATE_H
#include "../model/model_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* How fine the distinction between bodies is: each its own text, those built alike one, those of
 * one kind, all. */
typedef enum soai_gen_by {
    SOAI_GEN_EACH,
    SOAI_GEN_BUILD,
    SOAI_GEN_KIND,
    SOAI_GEN_NONE
} soai_gen_by;
typedef enum soai_gen_states {
    SOAI_GEN_ONE_STATE,
    SOAI_GEN_LANES_OF_4,
    SOAI_GEN_LANES_OF_8
} soai_gen_states;
typedef struct soai_gen_sharing {
    soai_gen_by by;
    int bodies;
    int own;     /* bodies that differ in it are not alike: lanes, whose inward step of aba asks for
                  * it */
    int *order;  /* of the bodies in the outward sweep */
    int *across; /* of the same by depth, limbs side by side */
    int *like;   /* of body i: the first in that order with the same step */
    int *links;  /* of the chain that body i goes through at one step, see share_chains; 1
                  * elsewhere */
} soai_gen_sharing;

/* Marks in the rows of the bodies what lanes ask for. */
void soai_gen_mark(int bodies, soai_body_double *body);
void soai_gen_share(const soai_view_double v, soai_gen_states states, soai_gen_sharing *s);
/* The sweeps of the kernels (SOAI_OUTWARD and the like, joint.h) over these bodies. */
void soai_gen_put_each(FILE *f, const soai_gen_sharing *s);
void soai_gen_put_sweeps(FILE *f, const soai_view_double v, const soai_gen_sharing *s,
                         const char *name);
/* Do mass matrices leave the lanes branch by branch?  Then what generated/leaving.h needs. */
int soai_gen_leaves(const soai_view_double v);
void soai_gen_put_leaving(FILE *f, const soai_view_double v, soai_gen_sharing *s);

/* Are there angles among a joint's coordinates?  joint_turns() in joint.h */
static inline int soai_gen_turns(int kind) {
    return kind != SOAI_KIND_PRISMATIC && kind != SOAI_KIND_SPHERICAL && kind != SOAI_KIND_FREE;
}
#endif
