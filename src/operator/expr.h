/* expr.h  expressions inside: nodes, the table of leaves. */
#ifndef SOAI_EXPR_H
#define SOAI_EXPR_H
#include "../base/base_internal.h"
#include "soa/operator.h"

/* Leaves: code, name in text, from, to, causality, definition in terms of others (NULL: primitive), what it is.
 * ANY is the identity's space until its neighbours fix it.                                                           */
enum { ANY = SOA_SPACE_COUNT };
#define SOAI_LEAVES(X)                                                                                              \
    X(ID, "I", ANY, ANY, SOA_MEMORYLESS, NULL, "identity")                                                          \
    X(PHI, "phi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, NULL, "inv(I - E_phi), forces carried inward, (3.3)") \
    X(PSI, "psi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, NULL, "inv(I - E_psi), the same through free joints") \
    X(SHIFT, "S", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, NULL, "incidence: child's edge to parent's link")     \
    X(XPHI, "Delta_phi", SOA_SPACE_LINK, SOA_SPACE_EDGE, SOA_MEMORYLESS, NULL, "diag phi(parent, child), (a.4)")    \
    X(HINGE, "H", SOA_SPACE_LINK, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint map")                               \
    X(GAIN, "G", SOA_SPACE_JOINT, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "P H' inv(D), (a.2)")                       \
    X(ART, "P", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "articulated inertia, RJK91 (8)")             \
    X(DIAG, "D", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "H P H' (with rotors), (a.1)")             \
    X(DINV, "inv(D)", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "inverse of D")                       \
    X(RIGID, "M", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "link inertias")                            \
    X(COMPOSITE, "Mc", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "composite inertias, R87 (32)")        \
    X(ROTOR, "Jr", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "reflected rotor inertias, diagonal")    \
    X(TIPS, "B", SOA_SPACE_TIP, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "tip forces to their links")                  \
    X(INJECT, "E", SOA_SPACE_BASE, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "base acceleration to the root links")     \
    X(PHIT, "phit", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "phi - I", "phi~, (a.3)")                           \
    X(PSIT, "psit", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "psi - I", "psi~")                                  \
    X(BIGPHI, "Phi", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, "phi S", "(a.6)")                                  \
    X(BIGPSI, "Psi", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, "psi S", "(a.7)")                                  \
    X(EPHI, "E_phi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_phi", "one step inward")                  \
    X(EPSI, "E_psi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_psi", "one step through a free joint")    \
    X(XPSI, "Delta_psi", SOA_SPACE_LINK, SOA_SPACE_EDGE, SOA_MEMORYLESS, "Delta_phi (I - G H)", "(a.5)")            \
    X(LOOP, "L", SOA_SPACE_JOINT, SOA_SPACE_EDGE, SOA_MEMORYLESS, "Delta_phi G", "(a.12)")                          \
    X(KALMAN, "K", SOA_SPACE_JOINT, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_phi G", "shifted gain, RJK91 (10)")        \
    X(JACOB, "J", SOA_SPACE_JOINT, SOA_SPACE_TIP, SOA_ANTICAUSAL, "B' phi' H'", "Jacobian of the tips")             \
    X(MASS, "Mass", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MIXED, "H phi M phi' H' + Jr", "mass matrix, RJK91 (3)")  \
    X(INCIDENCE, "Inc", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_ANTICAUSAL, "I - E_phi'", "FO00 3.5: inverse of phi'")  \
    X(TORQUE, "T", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint torques")                           \
    X(THD, "thd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint velocities")                         \
    X(THDD, "thdd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint accelerations")                    \
    X(TIPFORCE, "f0", SOA_SPACE_ONE, SOA_SPACE_TIP, SOA_MEMORYLESS, NULL, "tip forces on the environment")          \
    X(BASEACC, "g", SOA_SPACE_ONE, SOA_SPACE_BASE, SOA_MEMORYLESS, NULL, "base acceleration standing for gravity")  \
    X(BIASACC, "a", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, NULL, "V x H' thd and so on, with E g")          \
    X(BIASFORCE, "b", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, NULL, "V x* M V less external wrenches")       \
    X(VELOCITY, "V", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "phi' H' thd", "link velocities")               \
    X(ALPHA, "alpha", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "phi' (H' thdd + a)", "link accelerations")

enum {
#define SOAI_LEAF_CODE_(code, name, from, to, causality, definition, what) LEAF_##code,
    SOAI_LEAVES(SOAI_LEAF_CODE_)
#undef SOAI_LEAF_CODE_
        LEAF_COUNT,
    LEAF_VARIABLE = LEAF_COUNT, /* a vector of the caller's   */
    LEAF_MATRIX                 /* an operator of the caller's */
};
typedef struct soai_leaf {
    const char *name;
    int from, to;
    soa_causality causality;
    const char *definition, *what;
} soai_leaf;
extern const soai_leaf soai_leaves[];

typedef enum expr_kind { EXPR_LEAF, EXPR_SUM, EXPR_PRODUCT, EXPR_SCALE, EXPR_ADJOINT, EXPR_INVERSE } expr_kind;
struct soa_expr {
    int refs;
    expr_kind kind;
    int leaf;      /* EXPR_LEAF: its code                 */
    int from, to;  /* spaces; ANY only inside a parse     */
    double factor; /* EXPR_SCALE                          */
    char name[32]; /* of a variable or matrix             */
    int count;     /* arguments: sum and product any      */
    const soa_expr *arg[];
};

/* Memory of this room: calloc and realloc that count what they could not get.  Below the public calls NULL means "spaces do
 * not match" as well as "no memory"; a public call compares the count before and after, and says SOA_E_MEMORY where it
 * has grown.  (Another thread's failure may be seen too: memory is then short for both.) */
void *soai_zeroed(size_t count, size_t size);
void *soai_resized(void *old, size_t bytes);
unsigned soai_refusals(void);

const soa_expr *soai_hold(const soa_expr *e);
/* All take over their arguments (also on failure); NULL arguments give NULL.  Sums, products are flattened, double
 * adjoints and scales of scales removed.                                                                            */
const soa_expr *soai_leaf_new(int code, int space);
/* Has the caller, not the table, its name and spaces? */
static inline int soai_callers(const soa_expr *e) {
    return e->leaf >= LEAF_COUNT;
}
const soa_expr *soai_nary(expr_kind kind, const soa_expr **args, int count);
const soa_expr *soai_two(expr_kind kind, const soa_expr *a, const soa_expr *b);
const soa_expr *soai_unary(expr_kind kind, double factor, const soa_expr *a);
/* The same with every ANY below it settled; takes over e. */
const soa_expr *soai_settle(const soa_expr *e, int from, int to);
/* Leaves with a definition replaced by it, everywhere. */
const soa_expr *soai_expand(const soa_expr *e);
/* Own leaf of the primitive set whose adjoint is itself. */
int soai_self_adjoint(int leaf);
int soai_same(const soa_expr *a, const soa_expr *b);

/* Cost of the plan a vector (or operator, applied to an unknown vector) would have: sweeps, then recursions, then
 * steps; negative if it has no plan. */
typedef struct soai_cost {
    int sweeps, recursions, steps;
} soai_cost;
int soai_plan_cost(const soa_expr *e, soai_cost *cost);

#endif
