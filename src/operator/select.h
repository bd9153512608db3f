/* select.h  chooses the steps of a plan. */
#ifndef SOAI_SELECT_H
#define SOAI_SELECT_H
#include "plan.h"

/* What the vector of a link is: the frames of aligned_frames.c differ in their origins too. */
enum { NO_TYPE, FORCE_TYPE, MOTION_TYPE, CLASH_OF_TYPES };

/* One step of operator_steps.h, or a dense solve, with the values that it reads and makes; -1 for
 * none.  They are in the order in which they can be done. */
typedef struct chosen_step {
    int code;
    int in[3]; /* a, b, and forces at tips, times `tips` */
    int out[3];
    int way;   /* 1 inward, -1 outward, 0 any */
    int gain;  /* needs D and G, or makes them */
    int after; /* a step that must be done before besides, or -1 */
    double
        base; /* row 0 of the result is this times the base acceleration that stands for gravity */
    double tips;
    double sign; /* GATHER, FILTER: x of operator_steps.h */
    int pass;
} chosen_step;
struct selection {
    chosen_step *step;
    int count, room;
    int maker[MOST_VALUES]; /* of each value: the step that makes it, or -1 */
    char type[MOST_VALUES]; /* of each value of links: force or motion */
    int passes, first;      /* first: 1 if the first pass is inward, else -1 */
    int articulates;        /* D and G are needed */
    int keeps;              /* ... by other steps than filter and smoother */
};

/* Steps that make value `last` of b, which may get more values; NULL if there are none, or without
 * memory: then the plan runs in the user's frames. */
selection *soai_select(builder *b, int last);
void soai_selection_free(selection *s);
/* The pass after which the dense solve runs that makes value v; -1: before the first. */
int soai_selection_pass(const selection *s, int v);
/* Nonzero if some step has this code. */
int soai_selection_has(const selection *s, int code);
/* Nonzero if the plan is B* psi* H* D^-1 H psi B times its unknown vector. */
int soai_is_compliance(soa_plan *p);
#endif
