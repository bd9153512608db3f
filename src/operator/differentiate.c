/* differentiate.c  the derivative of an expression in a direction, as an expression; and Jacobians
 *                  as operators.
 *
 * Rules of sums, products and inverses, and one rule for each leaf (below; stated and proved in
 * docs/theory/operator-derivatives.md).  A product is differentiated from right to left,
 *   d(A y) = A dy + dA y,
 * and where dA = A L, as A (dy + L y), so that no factor is repeated to the left.  Terms that begin
 * with the same factors are then taken together.  inv(Mass) x is written with the factors of RJK91
 * (13), where W = I - H psi K removes H phi by lemma 4. */
#include "expr.h"
#include <stdio.h>
#include <stdlib.h>

/* How the derivative of a leaf A is written, C being the text of its row. */
typedef enum rule_kind {
    RULE_UNKNOWN,    /* refused                                       */
    RULE_CONSTANT,   /* dA = 0                                        */
    RULE_PLAIN,      /* dA = C                                        */
    RULE_SANDWICH,   /* dA = A C A, and so dA' = A' C' A'             */
    RULE_RIGHT,      /* dA = A C                                      */
    RULE_LEFT,       /* dA = C A                                      */
    RULE_DEFINITION, /* that of C, which equals A                     */
    RULE_DIRECTION   /* a direction or a derivative: refused too      */
} rule_kind;
typedef struct leaf_rule {
    rule_kind kind;
    const char *text, *name;
} leaf_rule;
static const char phi_shifted[] = "phi shifts motions rigidly: dE_phi = E_phi Theta";
static const char by_definition[] = "definition";
static leaf_rule rule_of(int leaf) {
    static const leaf_rule rules[LEAF_COUNT] = {
        [LEAF_PHI] = {RULE_SANDWICH, "E_phi Theta", "inverse of I - E_phi"},
        [LEAF_PSI] = {RULE_SANDWICH, "dE_psi", "inverse of I - E_psi"},
        [LEAF_XPHI] = {RULE_RIGHT, "Theta", phi_shifted},
        [LEAF_EPHI] = {RULE_RIGHT, "Theta", phi_shifted},
        [LEAF_EPSI] = {RULE_PLAIN, "dE_psi", "E_psi = E_phi (I - G H)"},
        [LEAF_HINGE] = {RULE_PLAIN, "dH", "columns of universal and planar joints turn"},
        [LEAF_GAIN] = {RULE_PLAIN, "dG", "G D = P H'"},
        [LEAF_ART] = {RULE_PLAIN, "dP", "Lyapunov recursion, gain stationary"},
        [LEAF_DIAG] = {RULE_PLAIN, "dD", "D = H P H' + Jr"},
        [LEAF_DINV] = {RULE_SANDWICH, "-dD", "inverse of D"},
        [LEAF_COMPOSITE] = {RULE_PLAIN, "dMc", "Lyapunov recursion"},
        [LEAF_INJECT] = {RULE_LEFT, "Theta'", "the base seen from displaced roots"},
        [LEAF_PHIT] = {RULE_DEFINITION, "phi - I", by_definition},
        [LEAF_PSIT] = {RULE_DEFINITION, "psi - I", by_definition},
        [LEAF_BIGPHI] = {RULE_DEFINITION, "phi S", by_definition},
        [LEAF_BIGPSI] = {RULE_DEFINITION, "psi S", by_definition},
        [LEAF_XPSI] = {RULE_DEFINITION, "Delta_phi (I - G H)", by_definition},
        [LEAF_LOOP] = {RULE_DEFINITION, "Delta_phi G", by_definition},
        [LEAF_KALMAN] = {RULE_DEFINITION, "E_phi G", by_definition},
        [LEAF_JACOB] = {RULE_DEFINITION, "B' phi' H'", by_definition},
        [LEAF_MASS] = {RULE_DEFINITION, "H phi M phi' H' + Jr", by_definition},
        [LEAF_INCIDENCE] = {RULE_DEFINITION, "I - E_phi'", by_definition},
        [LEAF_TORQUE] = {RULE_PLAIN, "dT", "direction"},
        [LEAF_THD] = {RULE_PLAIN, "dthd", "direction"},
        [LEAF_THDD] = {RULE_PLAIN, "dthdd", "direction"},
        [LEAF_TIPFORCE] = {RULE_PLAIN, "df0", "direction"},
        [LEAF_BIASACC] = {RULE_PLAIN, "da", "a = cross(V - Ht' thd) H' thd + E g"},
        [LEAF_BIASFORCE] = {RULE_PLAIN, "db", "b = -cross(V)' M V, less external wrenches"},
        [LEAF_VELOCITY] = {RULE_PLAIN, "dV", "V = phi' H' thd"},
        [LEAF_ALPHA] = {RULE_PLAIN, "dalpha", "alpha = phi' (H' thdd + a)"},
        [LEAF_DQ] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DTHD] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DTHDD] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DTORQUE] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DTIPFORCE] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_ID] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_SHIFT] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_RIGID] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_ROTOR] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_TIPS] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_BASEACC] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_TURNING] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_LINEAR] = {RULE_CONSTANT, NULL, NULL},
        [LEAF_CENTRIPETAL] = {RULE_PLAIN, "(cross(dV) Lv V + cross(V) Lv dV)",
                              "wxv = cross(V) Lv V"},
        [LEAF_CLASSICACC] = {RULE_DEFINITION, "a + Inc wxv", by_definition},
        [LEAF_CLASSICFORCE] = {RULE_DEFINITION, "b - M wxv", by_definition},
        [LEAF_CLASSICALPHA] = {RULE_DEFINITION, "alpha + wxv", by_definition},
        [LEAF_PPLUS] = {RULE_DEFINITION, "P - G H P", by_definition},
        [LEAF_THETA] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DHINGE] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DART] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DCOMPOSITE] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DDIAG] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DGAIN] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DEPSI] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DVELOCITY] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DBIASACC] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DBIASFORCE] = {RULE_DIRECTION, NULL, NULL},
        [LEAF_DALPHA] = {RULE_DIRECTION, NULL, NULL}};
    return leaf < LEAF_COUNT ? rules[leaf] : (leaf_rule){RULE_CONSTANT, NULL, NULL};
}

static const soa_expr *from_text(const char *text) {
    const soa_expr *e = NULL;
    return soa_expr_parse(text, NULL, 0, &e, NULL, 0) == SOA_OK ? e : NULL;
}

/* --- limits ----------------------------------------------------------------------------------- */
/* Nodes of an expression that is differentiated: its derivative may have the square of that. The
 * papers' algorithms have at most 60. */
enum { MOST_NODES = 300 };
/* Nodes to the right of inv(Mass) that innovations() may write twice. */
enum { MOST_TWICE = 600 };
/* Nodes of e as a tree, at most `most`. */
static int nodes_of(const soa_expr *e, int most) {
    int n = 1;
    for (int i = 0; i < e->count && n < most; ++i)
        n += nodes_of(e->arg[i], most - n);
    return n;
}
int soai_too_large(const soa_expr *e) {
    return nodes_of(e, MOST_NODES + 1) > MOST_NODES;
}

/* --- degree in the direction ------------------------------------------------------------------ */
enum { DEGREE_MIXED = -1, DEGREE_ZERO = -2 }; /* neither linear nor constant; the number 0 */
static int degree(const soa_expr *e) {
    if (e->kind == EXPR_LEAF && !soai_is_zero(e)) return rule_of(e->leaf).kind == RULE_DIRECTION;
    if (soai_is_zero(e) || (e->kind == EXPR_SCALE && e->factor == 0)) return DEGREE_ZERO;
    int total = e->kind == EXPR_SUM ? DEGREE_ZERO : 0;
    for (int i = 0; i < e->count; ++i) {
        const int own = degree(e->arg[i]);
        if (own == DEGREE_MIXED) return own;
        if (e->kind != EXPR_SUM) {
            if (own == DEGREE_ZERO) return own;
            total += own;
        } else if (own != DEGREE_ZERO) {
            if (total != DEGREE_ZERO && total != own) return DEGREE_MIXED;
            total = own;
        }
    }
    return (e->kind == EXPR_INVERSE || e->kind == EXPR_PSEUDO) && total != 0 ? DEGREE_MIXED : total;
}
int soai_is_derivative(const soa_expr *e) {
    const int d = degree(e);
    return d == 1 || d == DEGREE_ZERO;
}
/* The name of what cannot be differentiated; NULL: everything can. */
const char *soai_undifferentiable(const soa_expr *e) {
    if (e->kind == EXPR_LEAF) {
        const rule_kind kind = rule_of(e->leaf).kind;
        return kind == RULE_UNKNOWN || kind == RULE_DIRECTION ? soai_leaves[e->leaf].name : NULL;
    }
    const char *found = NULL;
    for (int i = 0; i < e->count && !found; ++i)
        found = soai_undifferentiable(e->arg[i]);
    return found;
}
int soai_is_direction(const char *name) {
    for (int i = 0; i < LEAF_COUNT; ++i)
        if (!strcmp(name, soai_leaves[i].name)) return rule_of(i).kind == RULE_DIRECTION;
    return 0;
}

/* --- sums and products; they take ownership --------------------------------------------------- */
/* a + b; NULL is zero. */
static const soa_expr *added(const soa_expr *a, const soa_expr *b) {
    if (!a || !b) return a ? a : b;
    return soai_two(EXPR_SUM, a, b);
}
static const soa_expr *scaled(double factor, const soa_expr *a) {
    return a ? soai_unary(EXPR_SCALE, factor, a) : NULL;
}
/* a y, numbers first; y NULL: nothing to the right. */
static const soa_expr *before(const soa_expr *a, const soa_expr *y) {
    if (!y) return a;
    if (!a) { /* out of memory */
        soa_expr_free(y);
        return NULL;
    }
    double factor = 1;
    const soa_expr *part[2] = {a, y};
    for (int i = 0; i < 2; ++i) {
        const soa_expr *whole = part[i];
        if (whole->kind != EXPR_SCALE) continue;
        factor *= whole->factor;
        part[i] = soai_hold(whole->arg[0]);
        soa_expr_free(whole);
    }
    return scaled(factor, soai_nary(EXPR_PRODUCT, part, 2));
}
/* a', with (A B)' = B' A'. */
static const soa_expr *turned_if(int turned, const soa_expr *a) {
    if (!turned || !a) return a;
    if (a->kind == EXPR_SCALE) {
        const soa_expr *inner = turned_if(1, soai_hold(a->arg[0]));
        const double factor = a->factor;
        soa_expr_free(a);
        return scaled(factor, inner);
    }
    if (a->kind != EXPR_PRODUCT) return soai_unary(EXPR_ADJOINT, 1, a);
    const soa_expr **args = soai_zeroed((size_t)a->count, sizeof *args);
    for (int i = 0; args && i < a->count; ++i)
        args[i] = turned_if(1, soai_hold(a->arg[a->count - 1 - i]));
    const soa_expr *out = args ? soai_nary(EXPR_PRODUCT, args, a->count) : NULL;
    free(args);
    soa_expr_free(a);
    return out;
}
static int is_unit(const soa_expr *e) {
    return e->kind == EXPR_LEAF && e->leaf == LEAF_ID;
}

/* --- rules ------------------------------------------------------------------------------------ */
typedef struct differentiation {
    soa_derivation_fn *fn;
    void *user;
    int told[LEAF_COUNT];
} differentiation;
/* y and dy, y NULL: nothing to the right yet; dy NULL: zero. */
typedef struct pair {
    const soa_expr *y, *dy;
} pair;
static pair prepend(differentiation *d, const soa_expr *e, int turned, pair right);

/* Reports the rule of a leaf the first time that it is used. */
static void tell(differentiation *d, int leaf, const leaf_rule *rule) {
    if (!d->fn || d->told[leaf]++) return;
    const char *name = soai_leaves[leaf].name;
    char text[200];
    if (rule->kind == RULE_SANDWICH && rule->text[0] == '-')
        snprintf(text, sizeof text, "d(%s) = -%s %s %s", name, name, rule->text + 1, name);
    else if (rule->kind == RULE_SANDWICH)
        snprintf(text, sizeof text, "d(%s) = %s %s %s", name, name, rule->text, name);
    else if (rule->kind == RULE_RIGHT)
        snprintf(text, sizeof text, "d(%s) = %s %s", name, name, rule->text);
    else if (rule->kind == RULE_LEFT)
        snprintf(text, sizeof text, "d(%s) = %s %s", name, rule->text, name);
    else if (rule->kind == RULE_DEFINITION)
        snprintf(text, sizeof text, "%s = %s", name, rule->text);
    else
        snprintf(text, sizeof text, "d(%s) = %s", name, rule->text);
    d->fn(d->user, rule->name, text);
    for (int i = 0; rule->kind == RULE_PLAIN && i < LEAF_COUNT; ++i) /* what the new letter is */
        if (!strcmp(soai_leaves[i].name, rule->text) && soai_leaves[i].definition) {
            snprintf(text, sizeof text, "%s = %s", rule->text, soai_leaves[i].definition);
            d->fn(d->user, soai_leaves[i].what, text);
        }
}

/* a y, both given up; nothing if y is zero. */
static const soa_expr *before_change(const soa_expr *a, const soa_expr *dy) {
    if (dy) return before(a, dy);
    soa_expr_free(a);
    return NULL;
}
/* A y with dA = A C A; C NULL is zero. */
static pair sandwich(const soa_expr *a, const soa_expr *c, pair right) {
    const soa_expr *y = before(soai_hold(a), right.y);
    const soa_expr *inner = added(right.dy, c ? before(c, soai_hold(y)) : NULL);
    return (pair){y, before_change(a, inner)};
}
/* A y with dA = A C. */
static pair changed_right(const soa_expr *a, const soa_expr *c, pair right) {
    const soa_expr *own = before(c, soai_hold(right.y));
    const soa_expr *inner = added(right.dy, own);
    return (pair){before(soai_hold(a), right.y), before_change(a, inner)};
}
/* A y with dA = C A. */
static pair changed_left(const soa_expr *a, const soa_expr *c, pair right) {
    const soa_expr *y = before(soai_hold(a), right.y);
    const soa_expr *own = before(c, soai_hold(y));
    return (pair){y, added(own, before_change(a, right.dy))};
}
/* A y with dA as given; NULL is zero. */
static pair changed(const soa_expr *a, const soa_expr *da, pair right) {
    const soa_expr *own = da ? before(da, soai_hold(right.y)) : NULL;
    const soa_expr *y = before(soai_hold(a), right.y);
    return (pair){y, added(own, before_change(a, right.dy))};
}
static pair prepend_leaf(differentiation *d, const soa_expr *e, int turned, pair right) {
    if (is_unit(e) && right.y) return right;
    const leaf_rule rule = rule_of(e->leaf);
    const soa_expr *a = turned_if(turned, soai_hold(e));
    if (rule.kind == RULE_CONSTANT) return changed(a, NULL, right);
    tell(d, e->leaf, &rule);
    const soa_expr *c = from_text(rule.text);
    if (rule.kind == RULE_DEFINITION) { /* y keeps the name */
        const pair known = {soai_hold(right.y), right.dy};
        const pair full = prepend(d, c, turned, known);
        soa_expr_free(c);
        soa_expr_free(full.y);
        return (pair){before(a, right.y), full.dy};
    }
    c = turned_if(turned, c);
    switch (rule.kind) {
    case RULE_SANDWICH: return sandwich(a, c, right);
    case RULE_RIGHT: return turned ? changed_left(a, c, right) : changed_right(a, c, right);
    case RULE_LEFT: return turned ? changed_right(a, c, right) : changed_left(a, c, right);
    default: return changed(a, c, right);
    }
}
/* The derivative of e (or e') alone. */
static const soa_expr *derivative_of(differentiation *d, const soa_expr *e, int turned) {
    const pair nothing = {NULL, NULL};
    const pair p = prepend(d, e, turned, nothing);
    soa_expr_free(p.y);
    return p.dy;
}
/* (A + B) y: the sum stays together before dy. */
static pair prepend_sum(differentiation *d, const soa_expr *e, int turned, pair right) {
    const soa_expr *own = NULL;
    for (int i = 0; i < e->count; ++i) {
        const pair constant = {soai_hold(right.y), NULL};
        const pair term = prepend(d, e->arg[i], turned, constant);
        soa_expr_free(term.y);
        own = added(own, term.dy);
    }
    const soa_expr *a = turned_if(turned, soai_hold(e));
    return (pair){before(soai_hold(a), right.y), added(before_change(a, right.dy), own)};
}
/* u = inv(X) y:  du = inv(X) (dy - dX u), u constant in dX u. */
static pair prepend_inverse(differentiation *d, const soa_expr *e, int turned, pair right) {
    const soa_expr *a = turned_if(turned, soai_hold(e));
    const soa_expr *u = before(soai_hold(a), right.y);
    const pair constant = {soai_hold(u), NULL};
    const pair product = prepend(d, e->arg[0], turned, constant);
    if (d->fn && product.dy) d->fn(d->user, "X inv(X) = I", "d(inv(X)) = -inv(X) d(X) inv(X)");
    soa_expr_free(product.y);
    return (pair){u, before_change(a, added(right.dy, scaled(-1, product.dy)))};
}
/* The derivative of X y (or X' y), y constant; takes y. */
static const soa_expr *change_times(differentiation *d, const soa_expr *x, int turned,
                                    const soa_expr *y) {
    const pair constant = {y, NULL};
    const pair product = prepend(d, x, turned, constant);
    soa_expr_free(product.y);
    return product.dy;
}
/* u = P y, P = pinv(X) of constant rank (Golub and Pereyra):
 *   du = P (dy - dX u + P' dX' (y - X u)) + (I - P X) dX' P' u */
static pair prepend_pseudo(differentiation *d, const soa_expr *e, int turned, pair right) {
    const soa_expr *x = turned_if(turned, soai_hold(e->arg[0]));
    const soa_expr *p = turned_if(turned, soai_hold(e)), *adjoint = turned_if(1, soai_hold(p));
    const int to = turned ? e->arg[0]->from : e->arg[0]->to;
    const soa_expr *y = right.y ? soai_hold(right.y) : soai_leaf_new(LEAF_ID, to);
    const soa_expr *u = before(soai_hold(p), right.y);
    const soa_expr *moved = scaled(-1, change_times(d, e->arg[0], turned, soai_hold(u)));
    const soa_expr *left = added(y, scaled(-1, before(soai_hold(x), soai_hold(u))));
    const soa_expr *missed = change_times(d, e->arg[0], !turned, left);
    const soa_expr *inner = missed ? before(soai_hold(adjoint), missed) : NULL;
    const soa_expr *range = change_times(d, e->arg[0], !turned, before(adjoint, soai_hold(u)));
    const soa_expr *out = range ? before(soai_hold(x), soai_hold(range)) : NULL;
    if (d->fn && moved)
        d->fn(d->user, "constant rank",
              "d(pinv(X)) = -pinv(X) d(X) pinv(X) + pinv(X) pinv(X)' d(X)' (I - X pinv(X)) + "
              "(I - pinv(X) X) d(X)' pinv(X)' pinv(X)");
    const soa_expr *near = added(added(right.dy, moved), added(inner, scaled(-1, out)));
    soa_expr_free(x);
    return (pair){u, added(before_change(p, near), range)};
}
/* e y, or e' y, and the derivative. */
static pair prepend(differentiation *d, const soa_expr *e, int turned, pair right) {
    if (!e) return right; /* out of memory */
    switch (e->kind) {
    case EXPR_LEAF: return prepend_leaf(d, e, turned, right);
    case EXPR_ADJOINT: return prepend(d, e->arg[0], !turned, right);
    case EXPR_SCALE: {
        const pair p = prepend(d, e->arg[0], turned, right);
        return (pair){scaled(e->factor, p.y), scaled(e->factor, p.dy)};
    }
    case EXPR_PRODUCT:
        for (int i = 0; i < e->count; ++i)
            right = prepend(d, e->arg[turned ? i : e->count - 1 - i], turned, right);
        return right;
    case EXPR_SUM: return prepend_sum(d, e, turned, right);
    case EXPR_INVERSE: return prepend_inverse(d, e, turned, right);
    case EXPR_PSEUDO: return prepend_pseudo(d, e, turned, right);
    default: { /* cross and bar are linear */
        const soa_expr *inner = derivative_of(d, e->arg[0], 0);
        const soa_expr *da = inner ? soai_unary(e->kind, 1, inner) : NULL;
        return changed(turned_if(turned, soai_hold(e)), turned_if(turned, da), right);
    }
    }
}

/* --- taking together -------------------------------------------------------------------------- */
enum { MOST_TERMS = 256, MOST_FACTORS = 64 };
typedef struct summand {
    double factor;
    int count;
    const soa_expr *x[MOST_FACTORS]; /* held by the expression that they come from */
} summand;
static const soa_expr *tidy(const soa_expr *e);

static const soa_expr *product_of(const soa_expr *const *x, int count) {
    const soa_expr **args = soai_zeroed((size_t)count, sizeof *args);
    for (int i = 0; args && i < count; ++i)
        args[i] = soai_hold(x[i]);
    const soa_expr *e = args ? soai_nary(EXPR_PRODUCT, args, count) : NULL;
    free(args);
    return e;
}
/* Splits terms of sums in sums; returns how many, or -1 if there are too many. */
static int split(const soa_expr *e, double factor, summand *list, int count) {
    if (e->kind == EXPR_SCALE) return split(e->arg[0], factor * e->factor, list, count);
    if (e->kind == EXPR_SUM) {
        for (int i = 0; i < e->count && count >= 0; ++i)
            count = split(e->arg[i], factor, list, count);
        return count;
    }
    const int product = e->kind == EXPR_PRODUCT;
    if (count == MOST_TERMS || (product && e->count > MOST_FACTORS)) return -1;
    summand *t = list + count;
    t->factor = factor;
    t->count = product ? e->count : 1;
    for (int i = 0; i < t->count; ++i)
        t->x[i] = product ? e->arg[i] : e;
    return count + 1;
}
/* Number of equal factors at the left; all of them only if the terms are equal. */
static int common(const summand *a, const summand *b) {
    int n = 0;
    while (n < a->count && n < b->count && soai_same(a->x[n], b->x[n]))
        ++n;
    if (n == a->count && n == b->count) return n;
    const int most = a->count < b->count ? a->count : b->count;
    return n < most ? n : most - 1;
}
static const soa_expr *term_of(const summand *t) {
    return soai_unary(EXPR_SCALE, t->factor, product_of(t->x, t->count));
}
/* The sum of some terms, those with equal first factors taken together. */
static const soa_expr *together(const summand *list, int count) {
    char *done = soai_zeroed((size_t)count, 1);
    const soa_expr *total = NULL;
    for (int i = 0; done && i < count; ++i) {
        if (done[i]) continue;
        int same = 0;
        for (int j = i + 1; j < count; ++j) {
            const int n = done[j] ? 0 : common(list + i, list + j);
            if (n > 0 && (same == 0 || n < same)) same = n;
        }
        if (same == 0) {
            total = added(total, term_of(list + i));
            continue;
        }
        /* terms with the first `same` factors of this one */
        const soa_expr *rest = NULL;
        double equal = 0; /* times the term itself */
        const double unit = list[i].factor;
        for (int j = i; j < count; ++j) {
            if (done[j] || (j > i && common(list + i, list + j) < same)) continue;
            done[j] = 1;
            if (list[j].count == same) {
                equal += list[j].factor;
            } else {
                summand left = {.factor = list[j].factor / unit, .count = list[j].count - same};
                memcpy(left.x, list[j].x + same, (size_t)left.count * sizeof left.x[0]);
                rest = added(rest, term_of(&left));
            }
        }
        const soa_expr *head = product_of(list[i].x, same);
        if (rest) {
            const soa_expr *inner = tidy(rest);
            soa_expr_free(rest);
            total = added(total, scaled(unit, before(head, inner)));
        } else if (equal != 0) {
            total = added(total, scaled(equal, head));
        } else {
            soa_expr_free(head);
        }
    }
    free(done);
    return total;
}
/* e with its terms taken together, at every depth; NULL: it is zero. */
static const soa_expr *tidy(const soa_expr *e) {
    if (!e) return NULL; /* out of memory */
    if (e->count == 0) return soai_hold(e);
    if (e->kind != EXPR_SUM && e->kind != EXPR_PRODUCT) {
        const soa_expr *inner = tidy(e->arg[0]);
        if (!inner && e->kind == EXPR_INVERSE) return soai_hold(e);
        return inner ? soai_unary(e->kind, e->factor, inner) : NULL;
    }
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    int count = 0;
    for (int i = 0; args && i < e->count; ++i) {
        const soa_expr *x = tidy(e->arg[i]);
        if (x) args[count++] = x;
    }
    const soa_expr *out = NULL;
    if (args && e->kind == EXPR_PRODUCT && count == e->count) {
        out = soai_nary(EXPR_PRODUCT, args, count);
    } else if (args && e->kind == EXPR_SUM && count) {
        const soa_expr *sum = soai_nary(EXPR_SUM, args, count);
        summand *list = soai_zeroed(MOST_TERMS, sizeof *list);
        const int terms = sum && list ? split(sum, 1, list, 0) : -1;
        out = terms > 0 ? together(list, terms) : soai_hold(sum);
        free(list);
        soa_expr_free(sum);
    } else {
        for (int i = 0; i < count; ++i)
            soa_expr_free(args[i]);
    }
    free(args);
    return out;
}

/* --- inv(Mass) -------------------------------------------------------------------------------- */
static int is_leaf(const soa_expr *e, int leaf) {
    return e->kind == EXPR_LEAF && e->leaf == leaf;
}
static int is_turned(const soa_expr *e, int leaf) {
    return e->kind == EXPR_ADJOINT && is_leaf(e->arg[0], leaf);
}
/* inv(D) (x - H psi (K x - y)) of x + H phi y, where W (x + H phi y) = x - H psi (K x - y). */
static const soa_expr *innovations(const soa_expr *right) {
    summand *list = soai_zeroed(MOST_TERMS, sizeof *list);
    const int terms = list ? split(right, 1, list, 0) : -1;
    const soa_expr *x = NULL, *y = NULL;
    for (int i = 0; i < terms; ++i) {
        summand t = list[i];
        if (t.count > 2 && is_leaf(t.x[0], LEAF_HINGE) && is_leaf(t.x[1], LEAF_PHI)) {
            t.count -= 2;
            memmove(t.x, t.x + 2, (size_t)t.count * sizeof t.x[0]);
            y = added(y, term_of(&t));
        } else if (is_turned(t.x[0], LEAF_JACOB)) { /* J' = H phi B */
            const soa_expr *tips = from_text("B");
            t.x[0] = tips;
            y = added(y, term_of(&t));
            soa_expr_free(tips);
        } else {
            x = added(x, term_of(&t));
        }
    }
    free(list);
    if (terms <= 0) return NULL;
    if (!x) return before(from_text("inv(D) H psi"), y);
    const soa_expr *kx = before(from_text("K"), soai_hold(x));
    const soa_expr *least = y ? scaled(-1, y) : NULL;
    const soa_expr *all = added(kx, least), *inner = tidy(all);
    soa_expr_free(all);
    const soa_expr *passed = before(from_text("H psi"), inner);
    return before(from_text("inv(D)"), added(x, scaled(-1, passed)));
}
/* Replaces the factors first ... count - 1 by one expression. */
static int replace_end(const soa_expr **args, int first, int count, const soa_expr *by) {
    for (int i = first; i < count; ++i)
        soa_expr_free(args[i]);
    args[first] = by;
    return first + 1;
}
/* e with every inv(Mass) x, x given, as W' inv(D) W x by RJK91 (13); W H phi = H psi. */
static const soa_expr *innovated(const soa_expr *e) {
    if (e->count == 0) return soai_hold(e);
    if (e->kind != EXPR_SUM && e->kind != EXPR_PRODUCT)
        return soai_unary(e->kind, e->factor, innovated(e->arg[0]));
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    int count = e->count;
    for (int i = 0; args && i < count; ++i)
        args[i] = innovated(e->arg[i]);
    for (int i = count - 2; args && e->kind == EXPR_PRODUCT && i >= 0; --i) {
        if (!args[i] || (i > 0 && !args[i - 1]) || (i > 1 && !args[i - 2])) continue;
        if (args[i]->kind != EXPR_INVERSE || !is_leaf(args[i]->arg[0], LEAF_MASS)) continue;
        const soa_expr *rest = product_of(args + i + 1, count - i - 1);
        const int small = rest && nodes_of(rest, MOST_TWICE) < MOST_TWICE;
        const soa_expr *form = small ? innovations(rest) : NULL;
        soa_expr_free(rest);
        if (!form) continue;
        int first = i;
        const char *head = "(I - H psi K)'";
        if (i > 0 && is_leaf(args[i - 1], LEAF_JACOB)) {
            first = i - 1;
            head = "B' psi' H'";
        } else if (i > 1 && is_turned(args[i - 1], LEAF_HINGE) &&
                   is_turned(args[i - 2], LEAF_PHI)) {
            first = i - 2;
            head = "psi' H'";
        }
        count = replace_end(args, first, count, before(from_text(head), form));
        i = first; /* the factors up to i are one now */
    }
    const soa_expr *out = args ? soai_nary(e->kind, args, count) : NULL;
    free(args);
    return out;
}
static int has_inverse_mass(const soa_expr *e) {
    if (e->kind == EXPR_INVERSE && is_leaf(e->arg[0], LEAF_MASS)) return 1;
    int found = 0;
    for (int i = 0; i < e->count && !found; ++i)
        found = has_inverse_mass(e->arg[i]);
    return found;
}

static void show(soa_derivation_fn *fn, void *user, const char *rule, const soa_expr *e) {
    const size_t length = soa_expr_print(e, NULL, 0);
    char *text = soai_zeroed(length + 1, 1);
    if (text) {
        soa_expr_print(e, text, length + 1);
        fn(user, rule, text);
    }
    free(text);
}
soa_status soa_expr_differentiate(const soa_expr *expr, soa_derivation_fn *fn, void *user,
                                  const soa_expr **derivative) {
    if (!expr || !derivative || expr->from == ANY || expr->to == ANY ||
        soai_undifferentiable(expr) || soai_too_large(expr))
        return SOA_E_ARGUMENT;
    const unsigned refused = soai_refusals();
    differentiation d = {.fn = fn, .user = user};
    const soa_expr *raw = derivative_of(&d, expr, 0);
    const soa_expr *out = raw ? tidy(raw) : NULL;
    soa_expr_free(raw);
    if (!out) out = soai_zero_new(expr->from, expr->to);
    if (out && fn) show(fn, user, "product rule, equal first factors taken together", out);
    if (out && has_inverse_mass(out)) {
        const soa_expr *form = innovated(out);
        soa_expr_free(out);
        out = form;
        if (out && fn) show(fn, user, "RJK91 (13), lemma 4", out);
    }
    out = soai_settle(out, expr->from, expr->to);
    if (!out || soai_refusals() != refused) {
        soa_expr_free(out);
        return SOA_E_MEMORY;
    }
    *derivative = out;
    return SOA_OK;
}

/* --- Jacobians as operators ------------------------------------------------------------------- */
/* What a linear expression in the leaf `with` multiplies it by. */
typedef struct extraction {
    int with;
    int stuck; /* dP or dMc */
} extraction;
static const soa_expr *factor_of(extraction *x, const soa_expr *e);

static const soa_expr *joint_rows(const char *name, int turned) {
    return turned_if(turned, from_text(name));
}
/* The factor of `with` in A y, or A' y, y without it. */
static const soa_expr *operator_on(extraction *x, const soa_expr *a, int turned,
                                   const soa_expr *y) {
    switch (a->kind) {
    case EXPR_LEAF: {
        if (a->leaf != LEAF_THETA && a->leaf != LEAF_DHINGE) {
            x->stuck = 1;
            return NULL;
        }
        if (x->with != LEAF_DQ) return NULL;
        /* Theta y = bar(y) H' dq,  Theta' y = cross(y) H' dq,  dH y = H bar(y) Ht' dq,
         * dH' y = cross(H' y) Ht' dq */
        if (a->leaf == LEAF_THETA)
            return before(soai_unary(turned ? EXPR_CROSS : EXPR_BAR, 1, soai_hold(y)),
                          joint_rows("H", 1));
        if (!turned)
            return before(joint_rows("H", 0),
                          before(soai_unary(EXPR_BAR, 1, soai_hold(y)), joint_rows("Ht", 1)));
        return before(soai_unary(EXPR_CROSS, 1, before(joint_rows("H", 1), soai_hold(y))),
                      joint_rows("Ht", 1));
    }
    case EXPR_ADJOINT: return operator_on(x, a->arg[0], !turned, y);
    case EXPR_SCALE: return scaled(a->factor, operator_on(x, a->arg[0], turned, y));
    case EXPR_SUM: {
        const soa_expr *total = NULL;
        for (int i = 0; i < a->count; ++i)
            if (degree(a->arg[i]) == 1) total = added(total, operator_on(x, a->arg[i], turned, y));
        return total;
    }
    case EXPR_PRODUCT: {
        const soa_expr **args = soai_zeroed((size_t)a->count + 1, sizeof *args);
        for (int i = 0; args && i < a->count; ++i)
            args[i] = turned_if(turned, soai_hold(a->arg[turned ? a->count - 1 - i : i]));
        if (args) args[a->count] = soai_hold(y);
        const soa_expr *flat = args ? soai_nary(EXPR_PRODUCT, args, a->count + 1) : NULL;
        const soa_expr *out = flat ? factor_of(x, flat) : NULL;
        soa_expr_free(flat);
        free(args);
        return out;
    }
    case EXPR_CROSS: { /* cross(x) y = -cross(y) x,  cross(x)' y = -bar(y) x */
        const soa_expr *inner = factor_of(x, a->arg[0]);
        if (!inner) return NULL;
        return scaled(-1,
                      before(soai_unary(turned ? EXPR_BAR : EXPR_CROSS, 1, soai_hold(y)), inner));
    }
    case EXPR_BAR: { /* bar(x) y = -cross(y)' x,  bar(x)' = -bar(x) */
        const soa_expr *inner = factor_of(x, a->arg[0]);
        if (!inner) return NULL;
        const soa_expr *c = soai_unary(EXPR_CROSS, 1, soai_hold(y));
        return scaled(turned ? 1 : -1, before(turned_if(1, c), inner));
    }
    default: x->stuck = 1; return NULL;
    }
}
/* The factor of `with` in a vector; NULL: zero. */
static const soa_expr *factor_of(extraction *x, const soa_expr *e) {
    if (e->kind == EXPR_LEAF) return e->leaf == x->with ? soai_leaf_new(LEAF_ID, e->to) : NULL;
    if (e->kind == EXPR_SCALE) return scaled(e->factor, factor_of(x, e->arg[0]));
    if (e->kind == EXPR_SUM) {
        const soa_expr *total = NULL;
        for (int i = 0; i < e->count; ++i)
            total = added(total, factor_of(x, e->arg[i]));
        return total;
    }
    if (e->kind != EXPR_PRODUCT) {
        x->stuck = 1;
        return NULL;
    }
    int at = e->count - 1;
    while (at >= 0 && degree(e->arg[at]) == 0)
        --at;
    if (at < 0) return NULL;
    const soa_expr *own;
    if (at == e->count - 1) {
        own = factor_of(x, e->arg[at]);
    } else {
        const soa_expr *y = product_of(e->arg + at + 1, e->count - at - 1);
        own = operator_on(x, e->arg[at], 0, y);
        soa_expr_free(y);
    }
    if (!own || at == 0) return own;
    if (is_unit(own)) {
        soa_expr_free(own);
        return product_of(e->arg, at);
    }
    return before(product_of(e->arg, at), own);
}
/* Leaves of derivatives that have definitions, replaced by these. */
static const soa_expr *directions_expanded(const soa_expr *e) {
    if (e->kind == EXPR_LEAF) {
        if (rule_of(e->leaf).kind != RULE_DIRECTION || !soai_leaves[e->leaf].definition)
            return soai_hold(e);
        const soa_expr *d = from_text(soai_leaves[e->leaf].definition);
        const soa_expr *out = d ? directions_expanded(d) : NULL;
        soa_expr_free(d);
        return out;
    }
    if (e->kind != EXPR_SUM && e->kind != EXPR_PRODUCT)
        return soai_unary(e->kind, e->factor, directions_expanded(e->arg[0]));
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    for (int i = 0; args && i < e->count; ++i)
        args[i] = directions_expanded(e->arg[i]);
    const soa_expr *out = args ? soai_nary(e->kind, args, e->count) : NULL;
    free(args);
    return out;
}

/* e without Ht and dH, which are zero if no joint has columns that turn; NULL: zero. */
static const soa_expr *without_turning(const soa_expr *e) {
    if (is_leaf(e, LEAF_TURNING) || is_leaf(e, LEAF_DHINGE)) return NULL;
    if (e->count == 0) return soai_hold(e);
    const soa_expr **args = soai_zeroed((size_t)e->count, sizeof *args);
    int count = 0;
    for (int i = 0; args && i < e->count; ++i) {
        const soa_expr *x = without_turning(e->arg[i]);
        if (x) args[count++] = x;
    }
    const int zero = e->kind == EXPR_SUM ? count == 0 : count < e->count;
    const soa_expr *out = NULL;
    if (args && zero)
        for (int i = 0; i < count; ++i)
            soa_expr_free(args[i]);
    else if (args && (e->kind == EXPR_SUM || e->kind == EXPR_PRODUCT))
        out = soai_nary(e->kind, args, count);
    else if (args)
        out = soai_unary(e->kind, e->factor, args[0]);
    free(args);
    return out;
}
const soa_expr *soai_without_turning(const soa_expr *e) {
    const soa_expr *wide = soai_expand(e), *out = wide ? without_turning(wide) : NULL;
    if (wide && !out) out = soai_zero_new(wide->from, wide->to);
    soa_expr_free(wide);
    return out;
}

soa_status soa_expr_jacobian(const soa_expr *expr, soa_direction with, const soa_expr **jacobian) {
    static const int leaves[] = {LEAF_DQ, LEAF_DTHD, LEAF_DTHDD, LEAF_DTORQUE, LEAF_DTIPFORCE};
    if (!expr || !jacobian || (unsigned)with >= SOA_DIRECTION_COUNT || expr->from != SOA_SPACE_ONE)
        return SOA_E_ARGUMENT;
    const unsigned refused = soai_refusals();
    const soa_expr *d = NULL;
    const soa_status s = soa_expr_differentiate(expr, NULL, NULL, &d);
    if (s != SOA_OK) return s;
    extraction x = {.with = leaves[with]};
    const soa_expr *wide = directions_expanded(d);
    const soa_expr *raw = wide ? factor_of(&x, wide) : NULL;
    const soa_expr *out = raw ? tidy(raw) : NULL;
    if (!out && !x.stuck) { /* zero: no column depends on this argument */
        out = soai_zero_new(soai_leaves[x.with].to, expr->to);
    }
    soa_expr_free(raw);
    soa_expr_free(wide);
    soa_expr_free(d);
    if (x.stuck || !out || soai_refusals() != refused) {
        soa_expr_free(out);
        return x.stuck ? SOA_E_NO_CONVERGENCE : SOA_E_MEMORY;
    }
    *jacobian = out;
    return SOA_OK;
}
