/* expr.h  internals of expressions: nodes, the table of leaves. */
#ifndef SOAI_EXPR_H
#define SOAI_EXPR_H
#include "../base/base_internal.h"
#include "soa/operator.h"

/* Leaves: code, name in text, from, to, causality, definition by other leaves (NULL: primitive),
 * meaning. ANY is the space of an identity until its neighbours fix it. Numbers such as (a.4) are
 * equations of RK88-I. */
enum { ANY = SOA_SPACE_COUNT };
#define SOAI_LEAVES(X)                                                                             \
    X(ID, "I", ANY, ANY, SOA_MEMORYLESS, NULL, "identity")                                         \
    X(PHI, "phi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, NULL,                                \
      "inv(I - E_phi), forces carried inward, (3.3)")                                              \
    X(PSI, "psi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, NULL,                                \
      "inv(I - E_psi), the same through free joints")                                              \
    X(SHIFT, "S", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, NULL,                                \
      "incidence: child's edge to parent's link")                                                  \
    X(XPHI, "Delta_phi", SOA_SPACE_LINK, SOA_SPACE_EDGE, SOA_MEMORYLESS, NULL,                     \
      "diag phi(parent, child), (a.4)")                                                            \
    X(HINGE, "H", SOA_SPACE_LINK, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint map")              \
    X(GAIN, "G", SOA_SPACE_JOINT, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "P H' inv(D), (a.2)")      \
    X(ART, "P", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                              \
      "articulated inertia, RJK91 (8)")                                                            \
    X(DIAG, "D", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                           \
      "H P H' (with rotors), (a.1)")                                                               \
    X(DINV, "inv(D)", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "inverse of D")      \
    X(RIGID, "M", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "link inertias")           \
    X(COMPOSITE, "Mc", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                       \
      "composite inertias, R87 (32)")                                                              \
    X(ROTOR, "Jr", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                         \
      "reflected rotor inertias, diagonal")                                                        \
    X(TIPS, "B", SOA_SPACE_TIP, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "tip forces to their links") \
    X(INJECT, "E", SOA_SPACE_BASE, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                           \
      "base acceleration to the root links")                                                       \
    X(PHIT, "phit", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "phi - I", "phi~, (a.3)")          \
    X(PSIT, "psit", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "psi - I", "psi~")                 \
    X(BIGPHI, "Phi", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, "phi S", "(a.6)")                 \
    X(BIGPSI, "Psi", SOA_SPACE_EDGE, SOA_SPACE_LINK, SOA_CAUSAL, "psi S", "(a.7)")                 \
    X(EPHI, "E_phi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_phi", "one step inward") \
    X(EPSI, "E_psi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_psi",                    \
      "one step through a free joint")                                                             \
    X(XPSI, "Delta_psi", SOA_SPACE_LINK, SOA_SPACE_EDGE, SOA_MEMORYLESS, "Delta_phi (I - G H)",    \
      "(a.5)")                                                                                     \
    X(LOOP, "L", SOA_SPACE_JOINT, SOA_SPACE_EDGE, SOA_MEMORYLESS, "Delta_phi G", "(a.12)")         \
    X(KALMAN, "K", SOA_SPACE_JOINT, SOA_SPACE_LINK, SOA_CAUSAL, "S Delta_phi G",                   \
      "shifted gain, RJK91 (10)")                                                                  \
    X(JACOB, "J", SOA_SPACE_JOINT, SOA_SPACE_TIP, SOA_ANTICAUSAL, "B' phi' H'",                    \
      "Jacobian of the tips")                                                                      \
    X(MASS, "Mass", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MIXED, "H phi M phi' H' + Jr",           \
      "mass matrix, RJK91 (3)")                                                                    \
    X(INCIDENCE, "Inc", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_ANTICAUSAL, "I - E_phi'",              \
      "FO00 3.5: inverse of phi'")                                                                 \
    X(TORQUE, "T", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint torques")          \
    X(THD, "thd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint velocities")        \
    X(THDD, "thdd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "joint accelerations")   \
    X(TIPFORCE, "f0", SOA_SPACE_ONE, SOA_SPACE_TIP, SOA_MEMORYLESS, NULL,                          \
      "tip forces on the environment")                                                             \
    X(BASEACC, "g", SOA_SPACE_ONE, SOA_SPACE_BASE, SOA_MEMORYLESS, NULL,                           \
      "base acceleration standing for gravity")                                                    \
    X(BIASACC, "a", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, NULL,                           \
      "V x H' thd and so on, with E g")                                                            \
    X(BIASFORCE, "b", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, NULL,                         \
      "V x* M V less external wrenches")                                                           \
    X(VELOCITY, "V", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "phi' H' thd",                 \
      "link velocities")                                                                           \
    X(ALPHA, "alpha", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "phi' (H' thdd + a)",         \
      "link accelerations")                                                                        \
    X(COSTATE, "Delta", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                      \
      "costate covariance, diagonal blocks of psi' H' inv(D) H psi, R87 (81), (82)")               \
    X(ROOT, "sqrt(D)", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                     \
      "D = sqrt(D) sqrt(D)', lower triangular for each joint, RJK91 section 6")                    \
    X(ROOTINV, "inv(sqrt(D))", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,             \
      "inverse of sqrt(D)")                                                                        \
    X(PPLUS, "Pplus", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, "P - G H P",                 \
      "articulated inertia inboard of the hinge, R87 (43)")                                        \
    X(SMOOTHED, "Sigma", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, "P - P Delta P",          \
      "smoothed covariance, R87 (65)")                                                             \
    X(CENTRIPETAL, "wxv", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, NULL,                     \
      "[0; omega x v] of each link: classical less spatial acceleration")                          \
    X(CLASSICACC, "ac", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "a + Inc wxv",              \
      "bias accelerations of RK88-I: classical")                                                   \
    X(CLASSICFORCE, "bc", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "b - M wxv",              \
      "bias forces of RK88-I: classical")                                                          \
    X(CLASSICALPHA, "alphac", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL, "alpha + wxv",        \
      "classical link accelerations, RK88-I (2.14)")                                               \
    /* derivatives, differentiate.c */                                                             \
    X(DQ, "dq", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                              \
      "direction of d(...): change of q, in the tangent space")                                    \
    X(DTHD, "dthd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "its change of thd")     \
    X(DTHDD, "dthdd", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "its change of thdd")  \
    X(DTORQUE, "dT", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL, "its change of T")      \
    X(DTIPFORCE, "df0", SOA_SPACE_ONE, SOA_SPACE_TIP, SOA_MEMORYLESS, NULL, "its change of f0")    \
    X(TURNING, "Ht", SOA_SPACE_LINK, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                        \
      "rows of H about which its others turn (universal, planar joints)")                          \
    X(LINEAR, "Lv", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                          \
      "[0; v] of [omega; v]: linear part of link vectors")                                         \
    X(WRENCH, "Wx", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                          \
      "change of external wrenches given in world axes when links turn")                           \
    X(THETA, "Theta", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                        \
      "-cross(H' dq)', so that dE_phi = E_phi Theta")                                              \
    X(DHINGE, "dH", SOA_SPACE_LINK, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                         \
      "-H cross(Ht' dq)', change of H")                                                            \
    X(DART, "dP", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "change of P")             \
    X(DCOMPOSITE, "dMc", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL, "change of Mc")     \
    X(DDIAG, "dD", SOA_SPACE_JOINT, SOA_SPACE_JOINT, SOA_MEMORYLESS,                               \
      "H dP H' + dH P H' + H P dH'", "change of D")                                                \
    X(DGAIN, "dG", SOA_SPACE_JOINT, SOA_SPACE_LINK, SOA_MEMORYLESS,                                \
      "(I - G H) (dP H' + P dH') inv(D) - G dH G", "change of G")                                  \
    X(DEPSI, "dE_psi", SOA_SPACE_LINK, SOA_SPACE_LINK, SOA_CAUSAL,                                 \
      "E_phi (Theta (I - G H) - dG H - G dH)", "change of E_psi")                                  \
    X(DVELOCITY, "dV", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL,                              \
      "phi' (Theta' E_phi' V + dH' thd + H' dthd)", "change of V")                                 \
    X(DBIASACC, "da", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL,                               \
      "cross(dV - Ht' dthd) H' thd + cross(V - Ht' thd) (dH' thd + H' dthd) + Theta' E g",         \
      "change of a")                                                                               \
    X(DBIASFORCE, "db", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL,                             \
      "bar(M V) dV - cross(V)' M dV - Wx phi' H' dq", "change of b")                               \
    X(DALPHA, "dalpha", SOA_SPACE_ONE, SOA_SPACE_LINK, SOA_ANTICAUSAL,                             \
      "phi' (Theta' E_phi' alpha + dH' thdd + H' dthdd + da)", "change of alpha")                  \
    /* closed chains, closure.c */                                                                 \
    X(CONSTRAIN, "Bc", SOA_SPACE_CONSTRAINT, SOA_SPACE_LINK, SOA_MEMORYLESS, NULL,                 \
      "constraint forces to their links")                                                          \
    X(GEARS, "Rc", SOA_SPACE_CONSTRAINT, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                    \
      "constraint forces to joints, where a constraint names them (gears)")                        \
    X(CLOSING, "Gc", SOA_SPACE_JOINT, SOA_SPACE_CONSTRAINT, SOA_ANTICAUSAL, "Bc' phi' H' + Rc'",   \
      "rows of the constraints: Gc thdd + gammac = 0")                                             \
    X(GAMMAC, "gammac", SOA_SPACE_ONE, SOA_SPACE_CONSTRAINT, SOA_MEMORYLESS, NULL,                 \
      "second rate of the constraints at thdd = 0")                                                \
    X(HELD, "Ao", SOA_SPACE_OBJECT, SOA_SPACE_TIP, SOA_MEMORYLESS, NULL,                           \
      "motion of the held object at the tips, A of RK88-II (2.6)")                                 \
    X(OBJECT, "Mo", SOA_SPACE_OBJECT, SOA_SPACE_OBJECT, SOA_MEMORYLESS, NULL,                      \
      "inertia of the held object, M(C) of RK88-II")                                               \
    X(OBJECTBIAS, "bo", SOA_SPACE_ONE, SOA_SPACE_OBJECT, SOA_MEMORYLESS, NULL,                     \
      "its bias force, b(C)")                                                                      \
    X(SELECT, "Tc", SOA_SPACE_CONSTRAINT, SOA_SPACE_TIP, SOA_MEMORYLESS, NULL,                     \
      "contact forces to the tips, T of RK88-II (a.7)")                                            \
    X(GAMMAO, "gammao", SOA_SPACE_ONE, SOA_SPACE_CONSTRAINT, SOA_MEMORYLESS, NULL,                 \
      "rest of the contacts' second rate")                                                         \
    X(EMBED, "Eq", SOA_SPACE_PRIMARY, SOA_SPACE_JOINT, SOA_MIXED, NULL,                            \
      "E(Q), primary to all joint velocities, WD89 (5)")                                           \
    X(EMBEDREST, "ed", SOA_SPACE_ONE, SOA_SPACE_JOINT, SOA_MEMORYLESS, NULL,                       \
      "joint accelerations while primary ones are zero, WD89 (7)")

enum {
#define SOAI_LEAF_CODE_(code, name, from, to, causality, definition, what) LEAF_##code,
    SOAI_LEAVES(SOAI_LEAF_CODE_)
#undef SOAI_LEAF_CODE_
        LEAF_COUNT,
    LEAF_VARIABLE = LEAF_COUNT, /* a vector of the caller */
    LEAF_MATRIX,                /* an operator of the caller */
    LEAF_BLOCKS,                /* the same, one block for each body or joint */
    LEAF_AT,                    /* keeps the numbers of one body, which it names */
    LEAF_ZERO                   /* of any spaces; ANY until its neighbours fix them */
};
typedef struct soai_leaf {
    const char *name;
    int from, to;
    soa_causality causality;
    const char *definition, *what;
} soai_leaf;
extern const soai_leaf soai_leaves[];

typedef enum expr_kind {
    EXPR_LEAF,
    EXPR_SUM,
    EXPR_PRODUCT,
    EXPR_SCALE,
    EXPR_ADJOINT,
    EXPR_INVERSE,
    EXPR_PSEUDO, /* least-norm inverse */
    EXPR_CROSS,  /* diag x(k) x, of a link vector x */
    EXPR_BAR     /* bar(f) x = x x* f, of a link vector f */
} expr_kind;
/* Bytes of the name of a leaf, with its zero; a caller's own have at most MOST_OWN_NAME. */
enum { MOST_LEAF_NAME = 64, MOST_OWN_NAME = 32 };
struct soa_expr {
    int refs;
    expr_kind kind;
    int leaf;                  /* EXPR_LEAF: its code */
    int from, to;              /* spaces; ANY only during parsing */
    double factor;             /* EXPR_SCALE */
    char name[MOST_LEAF_NAME]; /* of a leaf that is not in the table */
    int count;                 /* number of arguments; sum and product: any number */
    const soa_expr *arg[];
};

/* calloc and realloc that count their failures. Inside this room NULL can mean "spaces do not
 * match" or "no memory"; a public call compares the count before and after and returns SOA_E_MEMORY
 * if it has grown. (A failure in another thread may be counted too: memory is then short for both.)
 */
void *soai_zeroed(size_t count, size_t size);
void *soai_resized(void *old, size_t bytes);
unsigned soai_refusals(void);

const soa_expr *soai_hold(const soa_expr *e);
/* These functions take ownership of their arguments, also on failure; NULL arguments give NULL.
 * Sums and products are flattened; double adjoints and scales of scales are removed. */
const soa_expr *soai_leaf_new(int code, int space);
const soa_expr *soai_zero_new(int from, int to);
/* at(name); NULL if the name is too long. */
const soa_expr *soai_at_new(const char *name);
/* 1 if name and spaces come from the expression and not from the table. */
static inline int soai_callers(const soa_expr *e) {
    return e->leaf >= LEAF_COUNT;
}
/* 1 for a leaf of the table whose numbers the caller sets: those of closed chains. */
static inline int soai_is_closure(int leaf) {
    return leaf >= LEAF_CONSTRAIN && leaf <= LEAF_EMBEDREST && leaf != LEAF_CLOSING;
}
/* Its name, of the table or not. */
const char *soai_leaf_name(const soa_expr *e);
static inline int soai_is_zero(const soa_expr *e) {
    return e->kind == EXPR_LEAF && e->leaf == LEAF_ZERO;
}
const soa_expr *soai_nary(expr_kind kind, const soa_expr **args, int count);
const soa_expr *soai_two(expr_kind kind, const soa_expr *a, const soa_expr *b);
const soa_expr *soai_unary(expr_kind kind, double factor, const soa_expr *a);
/* The same expression with every ANY replaced; takes ownership of e. */
const soa_expr *soai_settle(const soa_expr *e, int from, int to);
/* Replaces every leaf that has a definition by the definition. */
const soa_expr *soai_expand(const soa_expr *e);
/* Definitions expanded; without terms in Ht and dH, for models in which they are zero. */
const soa_expr *soai_without_turning(const soa_expr *e);
/* The name of a leaf or function in e that has no derivative; NULL: everything has.  Is a leaf of
 * that name a direction, or a derivative itself? */
const char *soai_undifferentiable(const soa_expr *e);
int soai_is_direction(const char *name);
/* Has e too many nodes to be differentiated? */
int soai_too_large(const soa_expr *e);
/* 1: linear in the direction dq, dthd, ...; 0 times anything is too. */
int soai_is_derivative(const soa_expr *e);
/* 1 for a primitive leaf that equals its adjoint. */
int soai_self_adjoint(int leaf);
/* 1 for spaces that have numbers for each body or joint: joint, link, edge. */
static inline int soai_has_blocks(int space) {
    return space == SOA_SPACE_JOINT || space == SOA_SPACE_LINK || space == SOA_SPACE_EDGE;
}
int soai_same(const soa_expr *a, const soa_expr *b);

/* Cost of the plan for a vector, or for an operator applied to an unknown vector: sweeps, then
 * recursions, then steps. Returns a negative number if there is no plan. */
typedef struct soai_cost {
    int sweeps, recursions, steps;
} soai_cost;
int soai_plan_cost(const soa_expr *e, soai_cost *cost);

#endif
