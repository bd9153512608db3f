/* machine.h  a model with tips and a state, as plans and the dense oracle see it; and programs for the sweeps. */
#ifndef SOAI_MACHINE_H
#define SOAI_MACHINE_H
#include "../dynamics/work.h"
#include "expr.h"
#include "../sweep/operator_program.h"

enum { MOST_VARIABLES = 32 };
typedef struct machine_variable {
    char name[32];
    int space, from; /* from: SOA_SPACE_ONE, or where an operator starts */
    double *value;
} machine_variable;

struct soa_machine {
    const soa_model *model;
    soa_work *work;
    int size[SOA_SPACE_COUNT];
    soai_tips tips;
    double *q, *thd, *thdd, *torque, *f0, *fext; /* fext: 6 (nb + 1), on the body */
    double base[6];
    int posed;         /* R, p of every body stand for this state */
    int articulated;   /* so do P, D, U */
    int composed;      /* so does composite */
    double *composite; /* m, h, I of every body with all it carries; 10 (nb + 1) */
    machine_variable variable[MOST_VARIABLES];
    int variable_count;
    double condition; /* largest of the inverses formed in the last run */
    char why[400];    /* what the last run failed at; empty: nothing, or the status says all */
};

/* Before a run. */
void soai_run_begins(soa_machine *m);
/* What a run failed at: the inverse of `what` at this condition; the joint of a body.  They return the status. */
soa_status soai_run_singular(soa_machine *m, const soa_expr *what, double condition);
soa_status soai_run_hinge(soa_machine *m, int body);

/* Number of doubles a vector takes inside plans: link and edge vectors have a row for the world. */
size_t soai_slot_size(const soa_machine *m, int space);
/* Makes R, p stand. */
void soai_pose(soa_machine *m);
/* Makes P, D, U stand; SOA_E_HINGE_SINGULAR with the body in soa_work_failed_body. */
soa_status soai_articulate(soa_machine *m);
/* Makes the composite inertias stand. */
void soai_compose(soa_machine *m);
/* The value of a vector leaf that is data (T, thd, thdd, f0, g, variables), or NULL. */
const double *soai_vector(const soa_machine *m, const soa_expr *leaf);
/* The numbers of an operator of the caller's, or NULL. */
const double *soai_matrix(const soa_machine *m, const soa_expr *leaf);

#endif
